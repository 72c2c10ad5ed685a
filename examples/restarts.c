/* SPDX-License-Identifier: MIT
 *
 * When no ID may be repeated after a crash or a step of the clock. A state file stores a time after all IDs
 * generated so far, and is on disk before an ID passes that time. A file that is damaged, another
 * generator's, or from the future is refused.
 *
 * After a crash the next run waits until that time has passed, three seconds at most by default; after a
 * clean close not at all, unless IDs ran ahead of the clock. About every second and a half one draw writes
 * the file. Where no draw may touch a disk, set `manual_extend` and call flake_state_extend from a timer. For
 * a stop and start without files, keep flake_newest_ms, and start with it as options.after_unix_ms.
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
    // 7 is yours: unique among generators that run at the same time, on all hosts
    const flake_node node = flake_node_fixed(NULL, 7);
    options.exclusive_dir = "."; // detects another generator with this node on this host, if it names this directory
    where.path = "ids.state";
    if (flake_state_open(&state, &where, node, &options, NULL, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    options.state = &state;
    if (flake_init(&ids, node, &options, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    const flake_status status = flake_next(&ids, &id);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    if (flake_state_close(&state, &why) != FLAKE_OK) // the next run need not wait
        return fprintf(stderr, "%s\n", why.text), 1;
    return 0;
}
