/* SPDX-License-Identifier: MIT
 *
 * When new IDs must follow those that a table already has, and their node may have been ahead of this clock: IDs
 * moved from Hazelcast, a dump of another host, a clock that was wrong. Init waits until the clock has passed the
 * time of max(id); it refuses a time that is more than a day ahead. A board without files stores a time, and starts
 * after that (docs/install.md). With a directory (numbers.c) a program's own earlier IDs need none of this.
 */
#include "flake.h"
#include <stdio.h>

static flake_gen ids;
static flake_options options;

int main(void) {
    flake_why why;
    flake_parts newest;
    uint64_t id;
    const uint64_t max_id = UINT64_C(12345678901234567); // SELECT max(id) FROM orders
    flake_status status = flake_decompose(&flake_layout_default, max_id, &newest);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    options.after_unix_ms = newest.unix_ms;
    // 0 to 1023: this host's numbers, all that the layout has; other hosts have ranges of their own
    if (flake_init(&ids, flake_node_any("ids", 0, 1023), &options, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    status = flake_next(&ids, &id);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    if (id <= max_id) return fprintf(stderr, "an ID before the table's\n"), 1;
    if (flake_close(&ids, &why) != FLAKE_OK) return fprintf(stderr, "%s\n", why.text), 1;
    return 0;
}
