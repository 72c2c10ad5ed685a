/* SPDX-License-Identifier: MIT
 *
 * Generators, shards, lanes, batches, prefetch, snapshots and 128-bit IDs of flake.h, against the oracle.
 */
#include "player_flake.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    flake_play(bytes, size, NULL);
    return 0;
}

#include "driver.h"
