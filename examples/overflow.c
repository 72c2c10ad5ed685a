/* SPDX-License-Identifier: MIT
 *
 * When an operator is to know that a generator is too slow for its callers. While they wait, an event goes
 * into a ring once a millisecond: how many wait, and for how long already. The last event has 0 waiting. No
 * caller waits for the ring: when it is full, events are dropped, and not counted. Draws by flake_try wait for
 * nothing and report nothing.
 */
#include "flake.h"
#include <stdio.h>

static flake_gen ids;
static flake_options options;
static flake_ring ring;
static flake_ring_slot slots[64];
static uint64_t many[1000];

int main(void) {
    flake_why why;
    flake_overflow event;
    flake_stats stats;
    options.layout = flake_layout_hazelcast; // 64 IDs a ms
    options.overflow = &ring;
    flake_status status = flake_ring_init(&ring, slots, 64);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    // 0 to 1023: this host's numbers; other hosts have ranges of their own
    if (flake_init(&ids, flake_node_any("ids", 0, 1023), &options, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    status = flake_next_n(&ids, many, 1000);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    while (flake_ring_pop(&ring, &event)) // from any thread
        printf("%u waiting, for %u ms\n", (unsigned)event.waiting, (unsigned)event.elapsed_ms);
    flake_stats_get(&ids, &stats); // since init
    printf("%llu IDs, %llu calls had to wait\n", (unsigned long long)stats.ids, (unsigned long long)stats.waits);
    if (flake_close(&ids, &why) != FLAKE_OK) return fprintf(stderr, "%s\n", why.text), 1;
    return 0;
}
