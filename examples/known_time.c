/* SPDX-License-Identifier: MIT
 *
 * When a loop reads the clock once a turn anyway: no ID costs another reading. An older reading counts as
 * the newest unit, so it is harmless. FLAKE_AGAIN: the sequence of the reading's unit is exhausted.
 */
#include "flake.h"
#include <stdio.h>
#include <time.h>

static flake_gen ids;

int main(void) {
    flake_why why;
    // 0 to 1023: this host's numbers, all that the layout has; other hosts have ranges of their own
    if (flake_init(&ids, flake_node_any("ids", 0, 1023), NULL, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    for (int turn = 0; turn < 100; turn++) {
        struct timespec now;
        uint64_t id;
        if (timespec_get(&now, TIME_UTC) != TIME_UTC) return fprintf(stderr, "no clock\n"), 1;
        const int64_t unix_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
        for (int event = 0; event < 50; event++) {
            const flake_status status = flake_try_at(&ids, unix_ms, &id);
            if (status == FLAKE_AGAIN) break; // the other events get theirs in the next turn
            if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
        }
    }
    if (flake_close(&ids, &why) != FLAKE_OK) return fprintf(stderr, "%s\n", why.text), 1;
    return 0;
}
