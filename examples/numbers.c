/* SPDX-License-Identifier: MIT
 *
 * When processes of one host generate IDs, and no ID may be repeated after a crash or a backward step of the clock.
 * They share a directory, and each claims the lowest free number in it. A number's next holder starts after all
 * IDs of the last one, even if that one was killed, ran ahead of the clock, or saw it go backwards. A number from a
 * configuration is flake_node_fixed("ids", 7): a second process with it gets FLAKE_IN_USE, and after a crash init
 * waits, by default for 3 s. `flake nodes ids` lists the numbers and their holders.
 *
 * Hosts, and containers with directories of their own, do not see each other's numbers, and would claim the same
 * ones: give each a range of its own. The directory is on a local disk, and not on a network file system. Init
 * creates it, but not its parents.
 */
#include "flake.h"
#include <stdio.h>

static flake_gen ids;

int main(void) {
    flake_why why;
    uint64_t id;
    // "/var/lib/app/ids" in production; this host has the numbers 0 to 99
    if (flake_init(&ids, flake_node_any("ids", 0, 99), NULL, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    const flake_status status = flake_next(&ids, &id);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    printf("%llu of node %llu\n", (unsigned long long)id, (unsigned long long)flake_gen_node(&ids));
    if (flake_close(&ids, &why) != FLAKE_OK) // after the last ID: the number is free at once
        return fprintf(stderr, "%s\n", why.text), 1;
    return 0;
}
