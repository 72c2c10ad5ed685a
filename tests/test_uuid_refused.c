/* SPDX-License-Identifier: MIT
 *
 * A source that refuses random bytes at first, as at the start of a machine: the process-wide generator of
 * UUIDs says so, and is made when there are some.
 */
#include "support.h"

static unsigned refusals;

static bool random_bytes(void *to, size_t n) {
    static uint64_t seed = 20240229;
    uint8_t *bytes = (uint8_t *)to;
    if (refusals && refusals--) return false;
    while (n--) *bytes++ = (uint8_t)random_next(&seed);
    return true;
}

#define FLAKE_CLOCK_NS(kind)      script_read(&script_now)
#define FLAKE_RANDOM_BYTES(to, n) random_bytes(to, n)
#include "flake.h"

static void ids_rise_once_there_are_random_bytes(void) {
    char id[37] = "as it was", last[37] = "";
    script_at_ms(1700000000000);
    for (int i = 0; i < 50; i++) {
        CHECK(flake_i_new_salt()); /* so that it is the keys that are refused */
        refusals = 1;
        CHECK_EQ(flake_uuid7(id), FLAKE_IO);
        CHECK_STR(id, "as it was");
    }
    for (int i = 0; i < 10000; i++) {
        CHECK_EQ(flake_uuid7(id), FLAKE_OK);
        CHECK(strcmp(last, id) < 0);
        memcpy(last, id, sizeof last);
    }
}

int main(int argc, char **argv) {
    static const check_test all[] = {CHECK_TEST(ids_rise_once_there_are_random_bytes)};
    return CHECK_MAIN(argc, argv, all);
}
