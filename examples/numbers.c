/* SPDX-License-Identifier: MIT
 *
 * When containers, or processes, of one host have no node numbers. They share a directory, and each claims
 * the lowest free number in it. The next holder of a number starts after all IDs of the last one, even if
 * that one was killed, ran ahead of the clock, or saw it go backwards. Not on a network file system.
 */
#include "flake.h"
#include <stdio.h>
#include <sys/stat.h>

static flake_gen ids;
static flake_options options;
static flake_state state; // must not be moved while it is open
static flake_state_options where;

int main(void) {
    flake_why why;
    uint64_t id;
    where.dir = "ids.numbers";
    where.count = 1024; // the numbers 0 to 1023
    (void)mkdir(where.dir, 0777);
    if (flake_state_open(&state, &where, &options, &options.node, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    options.state = &state; // or the next holder could repeat IDs
    if (flake_init(&ids, &options, &why) != FLAKE_OK) return fprintf(stderr, "%s\n", why.text), 1;
    const flake_status status = flake_next(&ids, &id);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    printf("%llu of node %llu\n", (unsigned long long)id, (unsigned long long)options.node);
    if (flake_state_close(&state, &why) != FLAKE_OK) // after the last ID
        return fprintf(stderr, "%s\n", why.text), 1;
    return 0;
}
