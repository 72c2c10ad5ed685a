/* SPDX-License-Identifier: MIT
 *
 * When a program needs many IDs at once. flake_next_n fills an array with one atomic operation for each
 * time unit. flake_prefetch_next returns IDs one by one from a thread's own stock, claimed in one batch; they
 * are as old as the stock, so limit its age.
 */
#include "flake.h"
#include <stdio.h>

static flake_gen ids;
static flake_options options;
static flake_prefetch stock; // one for each thread
static uint64_t many[10000];

int main(void) {
    flake_why why;
    uint64_t id;
    options.layout = flake_layout_hazelcast;
    options.max_ahead_ms = 15000; // as Hazelcast: IDs may be up to 15 s ahead of the clock
    // 0 to 1023: this host's numbers; other hosts have ranges of their own
    if (flake_init(&ids, flake_node_any("ids", 0, 1023), &options, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    flake_status status = flake_next_n(&ids, many, 10000);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    if (flake_prefetch_init(&stock, &ids, 100, 10000, &why) != FLAKE_OK) // 100 IDs, for 10 s
        return fprintf(stderr, "%s\n", why.text), 1;
    status = flake_prefetch_next(&stock, &id);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    if (flake_close(&ids, &why) != FLAKE_OK) return fprintf(stderr, "%s\n", why.text), 1;
    return 0;
}
