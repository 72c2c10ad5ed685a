/* SPDX-License-Identifier: MIT
 *
 * README.md's example: a node number from an etcd cluster. `example ENDPOINTS` prints it.
 */
#include "flake.h"
#include "flake_etcd.h"
#include <stdio.h>

static flake_etcd claim; // // its address must not change
static flake_etcd_options cluster;
static flake_gen ids;
static flake_options options;

int main(int argc, char **argv) {
    flake_why why;
    uint64_t id;
    cluster.endpoints = argc > 1 ? argv[1] : "http://127.0.0.1:2379";
    cluster.name_space = "unique-id/";
    if (flake_etcd_claim(&claim, &cluster, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    options.layout = flake_layout_uniqueid_ordered;
    options.node = flake_etcd_node(&claim);
    options.gate = flake_etcd_gate(&claim); // // FLAKE_LEASE_LOST after this if the claim is lost
    if (flake_init(&ids, &options, NULL) != FLAKE_OK || flake_next(&ids, &id) != FLAKE_OK) return 1;
    printf("cluster %u, generator %u\n", flake_etcd_cluster(&claim), flake_etcd_generator(&claim));
    return flake_etcd_release(&claim, &why) != FLAKE_OK; // // after the last ID
}
