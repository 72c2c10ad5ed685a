/* SPDX-License-Identifier: MIT
 *
 * When IDs of another library remain in use: each layout is that library's, bit for bit.
 */
#include "flake.h"
#include <stdio.h>

static int show(const flake_layout *layout, uint64_t id) {
    flake_parts p;
    const flake_status status = flake_decompose(layout, id, &p);
    if (status != FLAKE_OK)
        return fprintf(stderr, "%s: %s\n", layout->name, flake_status_str(status)), 1;
    printf("%s: Unix ms %lld, node %llu, sequence %lu\n", layout->name, (long long)p.unix_ms,
           (unsigned long long)p.node, (unsigned long)p.seq);
    return 0;
}

int main(void) {
    // Fields that form a node together: datacenter 7, worker 3.
    const flake_parts parts = {INT64_C(1389534046279), flake_idgen_node(7, 3), 0};
    uint64_t id;
    if (flake_compose(&flake_layout_idgen, &parts, &id) != FLAKE_OK || id != UINT64_C(5828128208445124608))
        return fprintf(stderr, "not the ID that flake-idgen made\n"), 1;
    return show(&flake_layout_idgen, UINT64_C(5828128208445124608)) |
           show(&flake_layout_hazelcast, UINT64_C(5300086112257234)) |
           // Of a Hazelcast whose clock was before its epoch, 2018: time and ID have a sign.
           show(&flake_layout_hazelcast, (uint64_t)INT64_C(-1));
}
