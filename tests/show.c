/* SPDX-License-Identifier: MIT
 * What `make` shows: an id of each layout, taken apart. */
#include "flake.h"
#include <inttypes.h>
#include <stdio.h>

static void show(flake_layout layout) {
    static flake_gen gen;
    static flake_options options;
    flake_parts parts;
    uint64_t id;
    char text[FLAKE_TEXT_SIZE];
    options.layout = layout;
    options.node = layout.node_bits ? 5 : 0;
    if (flake_init(&gen, &options) != FLAKE_OK || flake_next(&gen, &id) != FLAKE_OK ||
        flake_decompose(&layout, id, &parts) != FLAKE_OK)
        return;
    (void)flake_format(id, FLAKE_BASE62, text, sizeof text);
    printf("%-17s %20" PRIu64 "  %-11s  %" PRId64 " ms, node %" PRIu32 ", seq %" PRIu32 "\n",
           layout.name, id, text, parts.unix_ms, parts.node, parts.seq);
}

int main(void) {
    static flake128_gen wide;
    flake128 id;
    char text[FLAKE128_TEXT_SIZE];
    show(flake_layout_idgen());
    show(flake_layout_hazelcast());
    show(flake_layout_uniqueid_ordered());
    show(flake_layout_uniqueid_spread());
    show(flake_layout_twitter());
    show(flake_layout_sonyflake());
    show(flake_layout_discord());
    show(flake_layout_instagram());
    show(flake_layout_mastodon());
    show(flake_layout_js53());
    if (flake128_init(&wide, 0x9ba1a5c50962, NULL) != FLAKE_OK ||
        flake128_next(&wide, &id) != FLAKE_OK)
        return 1;
    (void)flake128_format(id, 62, text, sizeof text);
    printf("%-17s %s\n", "boundary", text);
    return 0;
}
