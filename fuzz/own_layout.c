/* SPDX-License-Identifier: MIT
 *
 * The campaign on a custom layout and clock: README.md's example.
 */
#include <stdint.h>

// What your clock reads at a Unix time: this one moves every 10 ms, and steps back by 1 s each hour.
static int64_t my_clock_ns(int64_t true_ns) {
    return true_ns / 10000000 * 10000000 - true_ns / 3600000000000 * 1000000000;
}

#define FUZZ_READING(true_ns) my_clock_ns(true_ns)
#define CAMPAIGN_LAYOUT       flake_layout_of(41, 8, 14, 1735689600000)
#include "fuzz/campaign.c"
