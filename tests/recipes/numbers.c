/* SPDX-License-Identifier: MIT
 *
 * Containers, or processes, of one host share a directory, and each claims the lowest free number in it.
 * The next holder of a number starts after all IDs of the last one, even if that one was killed, ran ahead
 * of the clock, or saw it go backwards. Not on a network file system.
 */
#include "flake.h"
#include <stdio.h>
#include <sys/stat.h>

static flake_gen ids;
static flake_options options;
static flake_state state; // stays where it is while it is open
static flake_state_options where;

int main(void) {
    flake_why why;
    uint64_t id, number;
    where.dir = "ids.numbers";
    where.count = 1024; // the numbers 0 to 1023
    (void)mkdir(where.dir, 0777);
    if (flake_state_open(&state, &where, &options, &number, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    options.node = (uint32_t)number;
    options.state = &state; // or the next holder could repeat IDs
    if (flake_init(&ids, &options, NULL) != FLAKE_OK || flake_next(&ids, &id) != FLAKE_OK) return 1;
    printf("%llu of node %u\n", (unsigned long long)id, (unsigned)options.node);
    return flake_state_close(&state) != FLAKE_OK; // after the last ID
}
