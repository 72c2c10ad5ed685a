/* SPDX-License-Identifier: MIT
 *
 * Containers, or processes, of one host share a folder, and each claims the lowest free number in it.
 * Whoever has a number next begins behind all ids of the one before, though he was killed, ran ahead of
 * the clock, or had it put back. Not on a network file system.
 */
#include "flake.h"
#include <stdio.h>
#include <sys/stat.h>

static flake_gen ids;
static flake_options options;
static flake_slot slot; // stays where it is while it is held
static flake_slot_options folder;

int main(void) {
    flake_why why;
    uint64_t id;
    folder.dir = "ids.slots";
    folder.count = 1024; // the numbers 0 to 1023
    (void)mkdir(folder.dir, 0777);
    if (flake_slot_claim(&slot, &folder, &options.node, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    options.state = flake_slot_state(&slot); // or the next holder could repeat ids
    if (flake_init(&ids, &options) != FLAKE_OK || flake_next(&ids, &id) != FLAKE_OK) return 1;
    printf("%llu of node %u\n", (unsigned long long)id, (unsigned)options.node);
    return flake_slot_release(&slot) != FLAKE_OK; // after the last id
}
