/* SPDX-License-Identifier: MIT
 *
 * When programs on many hosts share the numbers of one layout: each claims a free one from an etcd cluster. All
 * programs whose IDs must differ name the same cluster and name_space. `example ENDPOINTS` prints the number.
 */
#include "flake.h"
#include "flake_etcd.h"
#include <stdio.h>

static flake_etcd claim; // its address must not change
static flake_etcd_options from;
static flake_gen ids;

int main(int argc, char **argv) {
    flake_why why;
    uint64_t id;
    from.endpoints = argc > 1 ? argv[1] : "http://127.0.0.1:2379";
    from.name_space = "orders/";
    from.last = 1023; // the numbers 0 to 1023, all that the default layout has
    if (flake_etcd_claim(&claim, &from, &why) != FLAKE_OK ||
        flake_init(&ids, flake_etcd_node(&claim), NULL, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    const flake_status status = flake_next(&ids, &id); // FLAKE_LEASE_LOST: the claim is lost
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    printf("%llu of node %llu\n", (unsigned long long)id, (unsigned long long)flake_gen_node(&ids));
    if (flake_etcd_release(&claim, &why) != FLAKE_OK) // after the last ID
        return fprintf(stderr, "%s\n", why.text), 1;
    return 0;
}
