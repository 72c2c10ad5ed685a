/* SPDX-License-Identifier: MIT
 *
 * flake_next_n fills an array with one draw for each unit. flake_prefetch_next takes ids one by one from
 * a thread's own stock, bought in one draw; they are as old as the stock, so its age has a bound.
 */
#include "flake.h"

static flake_gen ids;
static flake_options options;
static flake_prefetch stock; // one for each thread
static uint64_t many[10000];

int main(void) {
    uint64_t id;
    options.layout = flake_layout_hazelcast;
    options.node = 1234;
    options.max_ahead_ms = 15000; // as Hazelcast: ids may lie up to 15 s in the future
    if (flake_init(&ids, &options, NULL) != FLAKE_OK) return 1;
    if (flake_next_n(&ids, many, 10000) != FLAKE_OK) return 1;
    if (flake_prefetch_init(&stock, &ids, 100, 10000, NULL) != FLAKE_OK) return 1; // 100 ids, for 10 s
    return flake_prefetch_next(&stock, &id) != FLAKE_OK;
}
