/* SPDX-License-Identifier: MIT
 *
 * Ids sort as the time does, so a range of time is a range of keys, found by the primary key's index.
 */
#include "flake.h"
#include <inttypes.h>
#include <stdio.h>

int main(void) {
    const flake_layout layout = flake_layout_twitter;
    const int64_t day_ms = 24 * 60 * 60 * 1000, new_year = INT64_C(1704067200000); // 2024-01-01
    uint64_t first, last;
    if (flake_min_at(&layout, new_year, &first) != FLAKE_OK) return 1;
    if (flake_max_at(&layout, new_year + day_ms - 1, &last) != FLAKE_OK) return 1;
    printf("SELECT * FROM events WHERE id BETWEEN %" PRIu64 " AND %" PRIu64 ";\n", first, last);
}
