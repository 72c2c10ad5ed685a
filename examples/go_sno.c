/* SPDX-License-Identifier: MIT
 *
 * When a program in Go is replaced: a generator continues from a snapshot of the Go package sno.
 */
#include "sno.h"
#include <stdio.h>

static sno_gen ids;
static sno_snapshot saved; // the result of Snapshot() of the Go generator

int main(void) {
    flake_why why;
    sno_id id, old;
    saved.partition = 'A' << 8 | 10;
    saved.sequence = 17;
    saved.wall_hi = INT64_C(100507406277);
    saved.drifts = 1;
    // the partition is unique among generators that run at the same time: the one in Go has ended
    if (sno_init(&ids, flake_node_fixed(NULL, saved.partition), &saved, NULL, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    const flake_status status = sno_next(&ids, 42, &id);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    // For a later run, here or in Go: it continues after all IDs of this one.
    if (sno_snapshot_take(&ids, &saved) != FLAKE_OK || saved.wall_hi <= INT64_C(100507406277))
        return fprintf(stderr, "no snapshot\n"), 1;
    // IDs that Go made mean the same here.
    if (sno_decode("22222223ikb5vnwx", 16, &old) != FLAKE_OK || sno_meta(old) != 132 ||
        sno_partition(old) != 37438 || sno_sequence(old) != 55263)
        return fprintf(stderr, "not the sno that Go made\n"), 1;
    return 0;
}
