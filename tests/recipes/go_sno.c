/* SPDX-License-Identifier: MIT
 *
 * A generator of the Go package sno goes on where its snapshot says.
 */
#include "sno.h"

static sno_gen ids;
static sno_options options;
static sno_snapshot saved; // what Snapshot() of the Go generator said

int main(void) {
    sno_id old;
    saved.partition = 'A' << 8 | 10;
    saved.sequence = 17;
    saved.wall_hi = INT64_C(100507406277);
    saved.drifts = 1;
    options.snapshot = &saved;
    if (sno_init(&ids, &options) != FLAKE_OK || sno_is_zero(sno_new(&ids, 42))) return 1;
    if (sno_decode("22222223ikb5vnwx", 16, &old) != FLAKE_OK) return 1;
    return sno_meta(old) != 132 || sno_partition(old) != 37438 || sno_sequence(old) != 55263;
}
