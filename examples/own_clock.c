/* SPDX-License-Identifier: MIT
 *
 * When the time is not the system's, as in a simulation or a test: your clock is an option. (For all generators
 * there is the hook FLAKE_CLOCK_NS.)
 *
 * A test of your own code takes flake_node_fixed(NULL, 7), never the program's directory: a file that a clock of the
 * future has written refuses its number until that time. Draw with flake_try. Waits sleep in real time: if the clock
 * stands still and its unit is exhausted, flake_next returns FLAKE_AGAIN after max_wait_ms.
 */
#include "flake.h"
#include <stdio.h>

static int64_t steady_ns(void *user) { return *(const int64_t *)user; } // Unix time in ns

int main(void) {
    static flake_gen ids;
    static flake_options options;
    static int64_t now_ns = INT64_C(1767225600000000000); // 2026-01-01
    flake_why why;
    flake_parts parts;
    uint64_t id;
    options.clock.now_ns = steady_ns;
    options.clock.user = &now_ns;
    // 7 is yours: unique among generators that run at the same time, on all hosts
    if (flake_init(&ids, flake_node_fixed(NULL, 7), &options, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    flake_status status = flake_next(&ids, &id);
    if (status == FLAKE_OK) status = flake_decompose(&flake_layout_default, id, &parts);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    if (parts.unix_ms != now_ns / 1000000) return fprintf(stderr, "an ID of another time\n"), 1;
    return 0;
}
