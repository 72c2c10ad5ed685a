/* SPDX-License-Identifier: MIT
 *
 * A clock of one's own, as an option. (For all generators there is the hook FLAKE_CLOCK_NS.)
 */
#include "flake.h"

static int64_t steady_ns(void *user) { return *(const int64_t *)user; } // Unix time in ns

int main(void) {
    static flake_gen ids;
    static flake_options options;
    static int64_t now_ns = INT64_C(1704067200000000000); // 2024-01-01
    uint64_t id;
    options.clock.now_ns = steady_ns;
    options.clock.user = &now_ns;
    if (flake_init(&ids, &options, NULL) != FLAKE_OK || flake_next(&ids, &id) != FLAKE_OK) return 1;
    return id != UINT64_C(1704067200000) << 22;
}
