/* SPDX-License-Identifier: MIT
 *
 * A state file keeps two runs apart, however close they are and whatever became of the clock. It holds
 * a time ahead of all ids given so far, is on disk before an id passes that time, and is refused rather
 * than guessed at when it is damaged, another generator's or from the future.
 *
 * After a crash the next run waits until that time has passed, three seconds at most by default; after
 * a clean close not at all, unless ids ran ahead of the clock. About every second and a half one draw
 * writes the file. Where no draw may touch a disk, set `manual_extend` and call flake_state_extend from a
 * timer. For a stop and start without files there is flake_snapshot_take, and flake_restore.
 */
#include "flake.h"
#include <stdio.h>

static flake_gen ids;
static flake_options options;
static flake_state state;
static flake_state_options where;

int main(void) {
    uint64_t id;
    flake_why why;
    where.path = "ids.state";
    if (flake_state_open(&state, &where, &options, NULL, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    options.state = &state;
    if (flake_init(&ids, &options, NULL) != FLAKE_OK || flake_next(&ids, &id) != FLAKE_OK) return 1;
    return flake_state_close(&state) != FLAKE_OK; // the next run need not wait
}
