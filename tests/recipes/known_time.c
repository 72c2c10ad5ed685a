/* SPDX-License-Identifier: MIT
 *
 * A loop that reads the clock once a turn hands that reading in, and no id costs another. An old reading
 * counts as the newest unit, so it can't harm; FLAKE_AGAIN says that the unit of the reading is spent.
 */
#include "flake.h"

static flake_gen ids;

int main(void) {
    if (flake_init(&ids, NULL, NULL) != FLAKE_OK) return 1;
    for (int turn = 0; turn < 100; turn++) {
        struct timespec now;
        uint64_t id;
        if (timespec_get(&now, TIME_UTC) != TIME_UTC) return 1;
        const int64_t unix_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
        for (int event = 0; event < 50; event++) {
            const flake_status status = flake_try_at(&ids, unix_ms, &id);
            if (status != FLAKE_OK && status != FLAKE_AGAIN) return 1;
        }
    }
}
