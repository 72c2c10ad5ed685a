/* SPDX-License-Identifier: MIT
 *
 * Ids that another library made keep their meaning: each layout is that of the peer, bit for bit.
 */
#include "flake.h"

int main(void) {
    const flake_layout idgen = flake_layout_idgen, hazelcast = flake_layout_hazelcast;
    flake_parts parts;
    if (flake_decompose(&idgen, UINT64_C(5828128208445124608), &parts) != FLAKE_OK) return 1;
    if (parts.node != flake_idgen_node(7, 3) || parts.seq != 0) return 1;
    if (flake_decompose(&hazelcast, UINT64_C(5300086112257234), &parts) != FLAKE_OK) return 1;
    if (parts.node != 1234 || parts.seq != 0 || parts.unix_ms != INT64_C(1516028439000)) return 1;
    // Of a Hazelcast whose clock was before its epoch, 2018: the time has a sign, and so has the id.
    if (flake_decompose(&hazelcast, (uint64_t)INT64_C(-1), &parts) != FLAKE_OK) return 1;
    return parts.node != 65535 || parts.seq != 63 || parts.unix_ms != INT64_C(1514764799999);
}
