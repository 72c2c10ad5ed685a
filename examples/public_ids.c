/* SPDX-License-Identifier: MIT
 *
 * When others see the IDs, and are not to learn when and how many were made: the program stores the ID itself, and
 * shows another form, which only the holder of a key can turn back.
 *
 *     an ID of 64 bits    a keyed permutation: no two IDs have one form, and the form of one says nothing of another
 *     a UUIDv7            its time is masked, and it calls itself version 4: the form of the program uuidv47
 *
 * Neither hides that two forms are of the same ID. The form of a UUID keeps the bits after the time: its counter shows
 * which UUIDs were made in one ms, and in which order. To hide that, too, take the permutation, or random tokens.
 * Whoever learns the key can turn back all forms, those of the past, too; with another key all forms change. Make the
 * key of random bytes, once, and keep it where passwords are kept.
 */
#include "flake.h"
#include <stdio.h>

typedef struct secret {
    uint64_t low, high; // 16 random bytes
} secret;

static uint64_t turned(uint64_t x, unsigned left) { return x << left | x >> (64 - left); }

static void sip_round(uint64_t v[4]) {
    v[0] += v[1], v[2] += v[3];
    v[1] = turned(v[1], 13) ^ v[0], v[3] = turned(v[3], 16) ^ v[2];
    v[0] = turned(v[0], 32);
    v[2] += v[1], v[0] += v[3];
    v[1] = turned(v[1], 17) ^ v[2], v[3] = turned(v[3], 21) ^ v[0];
    v[2] = turned(v[2], 32);
}

// SipHash-2-4 of at most 15 bytes.
static uint64_t siphash(secret key, const uint8_t *bytes, size_t n) {
    uint64_t v[4] = {key.low ^ 0x736f6d6570736575, key.high ^ 0x646f72616e646f6d, key.low ^ 0x6c7967656e657261,
                     key.high ^ 0x7465646279746573};
    uint64_t words[2] = {0, 0};
    for (size_t i = 0; i < n; i++) words[i / 8] |= (uint64_t)bytes[i] << i % 8 * 8;
    words[n / 8] |= (uint64_t)n << 56;
    for (size_t i = 0; i <= n / 8; i++) {
        v[3] ^= words[i];
        sip_round(v), sip_round(v);
        v[0] ^= words[i];
    }
    v[2] ^= 0xff;
    sip_round(v), sip_round(v), sip_round(v), sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

// Eight rounds of a Feistel network, whose function is the hash of a half and the round's number. To turn a form back
// is the same with the rounds in reverse order.
static uint64_t permuted(secret key, uint64_t id, bool back) {
    uint32_t left = (uint32_t)(id >> 32), right = (uint32_t)id;
    for (unsigned i = 0; i < 8; i++) {
        const uint8_t of[5] = {(uint8_t)right, (uint8_t)(right >> 8), (uint8_t)(right >> 16), (uint8_t)(right >> 24),
                               (uint8_t)(back ? 7 - i : i)};
        const uint32_t next = left ^ (uint32_t)siphash(key, of, sizeof of);
        left = right;
        right = next;
    }
    return (uint64_t)right << 32 | left;
}

// A UUIDv7 with version 4 and a masked time, or back. The mask is a hash of the random bits, which both have.
static void masked(secret key, uint8_t uuid[16], uint8_t version) {
    uint8_t random[10];
    memcpy(random, uuid + 6, sizeof random);
    random[0] &= 0x0f; // without the version
    random[2] &= 0x3f; // and the variant
    const uint64_t mask = siphash(key, random, sizeof random);
    for (unsigned i = 0; i < 6; i++) uuid[i] = (uint8_t)(uuid[i] ^ mask >> (40 - 8 * i));
    uuid[6] = (uint8_t)(version << 4 | random[0]);
}

static flake_gen ids;

int main(void) {
    const secret key = {0x0123456789abcdef, 0xfedcba9876543210}; // yours: of random bytes
    flake_why why;
    uint64_t id = 0;
    flake128 uuid, form;
    char text[37], form_text[37];
    // 0 to 1023: this host's numbers, all that the layout has; other hosts have ranges of their own
    if (flake_init(&ids, flake_node_any("ids", 0, 1023), NULL, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    flake_status status = flake_next(&ids, &id);
    if (status == FLAKE_OK) status = flake_uuid7_bytes(uuid.bytes);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    if (flake_close(&ids, &why) != FLAKE_OK) return fprintf(stderr, "%s\n", why.text), 1;

    const uint64_t shown = permuted(key, id, false);
    printf("%llu is shown as %016llx\n", (unsigned long long)id, (unsigned long long)shown);
    form = uuid;
    masked(key, form.bytes, 4);
    flake128_to_uuid(&uuid, text);
    flake128_to_uuid(&form, form_text);
    printf("%s is shown as %s\n", text, form_text);

    masked(key, form.bytes, 7);
    if (permuted(key, shown, true) != id || flake128_compare(&form, &uuid) != 0)
        return fprintf(stderr, "a form that does not turn back\n"), 1;
    // A UUID, and the form that uuidv47 makes of it with this key.
    uint8_t known[16] = {0x01, 0x8f, 0x2d, 0x9f, 0x9a, 0x2a, 0x7d, 0xef, 0x8c, 0x3f, 0x7b, 0x1a, 0x2c, 0x4d, 0x5e, 0x6f};
    const uint8_t expected[16] = {0x24, 0x63, 0xc7, 0x80, 0x7f, 0xca, 0x4d, 0xef,
                                  0x8c, 0x3f, 0x7b, 0x1a, 0x2c, 0x4d, 0x5e, 0x6f};
    masked(key, known, 4);
    if (memcmp(known, expected, sizeof known) != 0) return fprintf(stderr, "not the form of uuidv47\n"), 1;
    return 0;
}
