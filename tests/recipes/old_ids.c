/* SPDX-License-Identifier: MIT
 *
 * When IDs of another library remain in use: each layout is that library's, bit for bit.
 */
#include "flake.h"
#include <stdio.h>

static flake_parts parts_of(const flake_layout *layout, uint64_t id) {
    flake_parts parts = {0, 0, 0};
    const flake_status status = flake_decompose(layout, id, &parts);
    if (status != FLAKE_OK) fprintf(stderr, "%s: %s\n", layout->name, flake_status_str(status));
    return parts;
}

int main(void) {
    const flake_parts idgen = parts_of(&flake_layout_idgen, UINT64_C(5828128208445124608));
    if (idgen.node != flake_idgen_node(7, 3) || idgen.seq != 0) return 1;
    flake_parts p = parts_of(&flake_layout_hazelcast, UINT64_C(5300086112257234));
    if (p.node != 1234 || p.seq != 0 || p.unix_ms != INT64_C(1516028439000)) return 1;
    // Of a Hazelcast whose clock was before its epoch, 2018: the time has a sign, and so has the ID.
    p = parts_of(&flake_layout_hazelcast, (uint64_t)INT64_C(-1));
    return p.node != 65535 || p.seq != 63 || p.unix_ms != INT64_C(1514764799999);
}
