/* SPDX-License-Identifier: MIT
 *
 * When rows are to be found by time. IDs sort by time, so a range of time is a range of keys, which the
 * primary key's index finds.
 */
#include "flake.h"
#include <inttypes.h>
#include <stdio.h>

int main(void) {
    const int64_t day_ms = 24 * 60 * 60 * 1000, new_year = INT64_C(1767225600000); // 2026-01-01
    uint64_t first = 0, last = 0;
    flake_status status = flake_min_at(&flake_layout_default, new_year, &first);
    if (status == FLAKE_OK)
        status = flake_max_at(&flake_layout_default, new_year + day_ms - 1, &last);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    printf("SELECT * FROM events WHERE id BETWEEN %" PRIu64 " AND %" PRIu64 ";\n", first, last);
    return 0;
}
