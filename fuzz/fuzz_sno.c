/* SPDX-License-Identifier: MIT
 *
 * Generators, shards, lanes, batches and snapshots of sno.h, against the oracle with its two ticks.
 */
#include "player_sno.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    sno_play(bytes, size, NULL);
    return 0;
}

#include "driver.h"
