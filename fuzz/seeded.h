/* SPDX-License-Identifier: MIT
 *
 * Plays inputs generated from a seed, as a test of check.h. A failure fails the test and prints the input; `xxd -r -p`
 * turns it into a file for build/fuzz/replay_flake or replay_sno. Include it after a player.
 */
#ifndef SEEDED_H
#define SEEDED_H

#include <setjmp.h>

/* How the bytes differ from random ones. */
typedef struct seeded {
    uint8_t first;   /* bits set in each first byte, which says what the clock may do */
    uint8_t call;    /* stored in place of some bytes, so that it occurs more often: */
    uint8_t bits;    /* these bits of it, */
    unsigned one_in; /* in one of so many bytes; 0: in none */
} seeded;

enum { seeded_longest = 250 };

static jmp_buf seeded_end;

static inline void seeded_fail(const char *failure) {
    check_fail(__FILE__, __LINE__, failure);
    printf("  input ");
    for (size_t i = 0; i < fuzz_input_size; i++) printf("%02x", fuzz_input[i]);
    printf("\n");
    longjmp(seeded_end, 1);
}

static inline void seeded_play_one(void (*play)(const uint8_t *, size_t), uint64_t seed, seeded how) {
    static uint8_t bytes[seeded_longest];
    uint64_t random = seed * 0x9e3779b97f4a7c15 | 1;
    const size_t size = 20 + (size_t)random_below(&random, seeded_longest - 20);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)random_below(&random, 256);
        if (how.one_in && random_below(&random, how.one_in) == 0)
            bytes[i] = (uint8_t)((bytes[i] & ~how.bits) | how.call);
    }
    bytes[0] |= how.first;
    if (!setjmp(seeded_end)) play(bytes, size); /* else it has failed */
}

static inline void seeded_play(void (*play)(const uint8_t *, size_t), uint64_t seed, int inputs, seeded how) {
#ifdef TEST_SMALL
    inputs /= 20;
#endif
    const uint64_t ids_before = fuzz_ids;
    fuzz_instead = seeded_fail;
    for (int i = 0; i < inputs && check_failures < 3; i++) seeded_play_one(play, seed + (uint64_t)i, how);
    CHECK(fuzz_ids > ids_before);
}

#endif
