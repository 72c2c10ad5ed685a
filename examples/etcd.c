/* SPDX-License-Identifier: MIT
 *
 * A node number from an etcd cluster. `example ENDPOINTS` prints it.
 */
#include "flake.h"
#include "flake_etcd.h"
#include <stdio.h>

static flake_etcd claim; // its address must not change
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
    options.gate = flake_etcd_gate(&claim); // FLAKE_LEASE_LOST from here on when the claim is lost
    if (flake_init(&ids, &options, &why) != FLAKE_OK) return fprintf(stderr, "%s\n", why.text), 1;
    const flake_status status = flake_next(&ids, &id);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    printf("cluster %u, generator %u\n", flake_etcd_cluster(&claim), flake_etcd_generator(&claim));
    if (flake_etcd_release(&claim, &why) != FLAKE_OK) // after the last ID
        return fprintf(stderr, "%s\n", why.text), 1;
    return 0;
}
