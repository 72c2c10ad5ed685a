/* SPDX-License-Identifier: MIT
 *
 * When containers, or processes, of one host have no node numbers. They share a directory, and each claims
 * the lowest free number in it. The next holder of a number starts after all IDs of the last one, even if
 * that one was killed, ran ahead of the clock, or saw it go backwards. Not on a network file system. Hosts do not
 * see each other's directories, and would claim the same numbers: give each host a range of its own.
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
    uint64_t id, number;
    where.dir = "ids.numbers";
    where.first = 0; // this host's: the numbers 0 to 99
    where.count = 100;
    (void)mkdir(where.dir, 0777);
    if (flake_state_open(&state, &where, flake_node_none(), &options, &number, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    options.state = &state; // or the next holder could repeat IDs
    if (flake_init(&ids, flake_node_fixed(NULL, number), &options, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    const flake_status status = flake_next(&ids, &id);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    printf("%llu of node %llu\n", (unsigned long long)id, (unsigned long long)number);
    if (flake_state_close(&state, &why) != FLAKE_OK) // after the last ID
        return fprintf(stderr, "%s\n", why.text), 1;
    return 0;
}
