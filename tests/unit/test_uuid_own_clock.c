/* SPDX-License-Identifier: MIT
 *
 * The program's own clock, without a counter: it is read for each UUID.
 */
#include "support.h"
#include <time.h>

/* Takes longer than a processor's counter. */
static int64_t read_slowly(void) {
    struct timespec unused;
    for (int i = 0; i < 3; i++) (void)timespec_get(&unused, TIME_UTC);
    return script_read(&script_now);
}

#define FLAKE_CLOCK_NS(kind) read_slowly()
#include "flake.h"

/* The processor's counter does not follow the script. */
TEST(the_processors_counter_is_not_read) {
    uint8_t id[16];
    script_at_ms(1700000000000);
    CHECK_EQ(flake_uuid7_bytes(id), FLAKE_OK);
    const struct flake_i_uuids *const g = FLAKE_ATOMIC_LOAD(&flake_i_default.gen, relaxed);
    CHECK_EQ(FLAKE_ATOMIC_LOAD(&g->engine.ticks_per_window, relaxed), 0);
}
