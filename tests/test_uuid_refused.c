/* SPDX-License-Identifier: MIT
 *
 * A source that refuses random bytes at first, as at the start of a machine: the process-wide generator of
 * UUIDs says so, and is made when there are some. And a clock of the program's own, without a counter.
 */
#include "support.h"
#include <time.h>

static unsigned refusals;

static bool random_bytes(void *to, size_t n) {
    static uint64_t seed = 20240229;
    uint8_t *bytes = (uint8_t *)to;
    if (refusals && refusals--) return false;
    while (n--) *bytes++ = (uint8_t)random_next(&seed);
    return true;
}

/* Takes longer than a processor's counter. */
static int64_t read_slowly(void) {
    struct timespec unused;
    for (int i = 0; i < 3; i++) (void)timespec_get(&unused, TIME_UTC);
    return script_read(&script_now);
}

#define FLAKE_CLOCK_NS(kind)      read_slowly()
#define FLAKE_RANDOM_BYTES(to, n) random_bytes(to, n)
#include "flake.h"

TEST(ids_rise_once_there_are_random_bytes) {
    char id[37] = "as it was", last[37] = "";
    script_at_ms(1700000000000);
    for (int i = 0; i < 50; i++) {
        CHECK(flake_i_new_salt()); /* so that it is the keys that are refused */
        refusals = 1;
        CHECK_EQ(flake_uuid7(id), FLAKE_IO);
        CHECK_STR(id, "");
    }
    for (int i = 0; i < 10000; i++) {
        CHECK_EQ(flake_uuid7(id), FLAKE_OK);
        CHECK(strcmp(last, id) < 0);
        memcpy(last, id, sizeof last);
    }
}

/* The processor's counter knows nothing of the script. */
TEST(a_clock_of_the_programs_own_is_read_for_each_id) {
    uint8_t id[16];
    script_at_ms(1700000000000);
    CHECK_EQ(flake_uuid7_bytes(id), FLAKE_OK);
    const struct flake_i_uuids *const g = FLAKE_ATOMIC_LOAD(&flake_i_default.gen, relaxed);
    CHECK_EQ(FLAKE_ATOMIC_LOAD(&g->engine.ticks_per_window, relaxed), 0);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
