/* SPDX-License-Identifier: MIT
 *
 * While callers queue, a note goes into a ring once a millisecond: how many wait, and for how long
 * already. The last note has count 0. Nobody waits for the ring: when it is full, notes are dropped.
 */
#include "flake.h"
#include <stdio.h>

static flake_gen ids;
static flake_options options;
static flake_ring ring;
static flake_ring_slot slots[64];
static uint64_t many[1000];

int main(void) {
    flake_overflow note;
    options.layout = flake_layout_hazelcast; // 64 ids a ms
    options.overflow = &ring;
    if (flake_ring_init(&ring, slots, 64) != FLAKE_OK || flake_init(&ids, &options, NULL) != FLAKE_OK) return 1;
    if (flake_next_n(&ids, many, 1000) != FLAKE_OK) return 1;
    while (flake_ring_pop(&ring, &note)) // from any thread
        printf("%u queued, for %u ms\n", (unsigned)note.waiting, (unsigned)note.elapsed_ms);
}
