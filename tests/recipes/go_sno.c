/* SPDX-License-Identifier: MIT
 *
 * A generator of the Go package sno goes on where its snapshot says.
 */
#include "sno.h"

static sno_gen ids;
static sno_snapshot saved; // what Snapshot() of the Go generator said

int main(void) {
    sno_id id, old;
    saved.partition = 'A' << 8 | 10;
    saved.sequence = 17;
    saved.wall_hi = INT64_C(100507406277);
    saved.drifts = 1;
    if (sno_init(&ids, &saved, NULL, NULL) != FLAKE_OK || sno_next(&ids, 42, &id) != FLAKE_OK)
        return 1;
    if (sno_decode("22222223ikb5vnwx", 16, &old) != FLAKE_OK) return 1;
    return sno_meta(old) != 132 || sno_partition(old) != 37438 || sno_sequence(old) != 55263;
}
