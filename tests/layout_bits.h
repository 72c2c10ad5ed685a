/* SPDX-License-Identifier: MIT
 *
 * Layouts for tests: all that the header has, and what their ids must be, bit by bit. It includes flake.h.
 */
#ifndef LAYOUT_BITS_H
#define LAYOUT_BITS_H

#include "support.h"
#include <limits.h>
#include "flake.h"

static flake_gen gen;

static const flake_layout built_in[] = {
    FLAKE_LAYOUT_DEFAULT, FLAKE_LAYOUT_IDGEN,     FLAKE_LAYOUT_HAZELCAST, FLAKE_LAYOUT_UNIQUEID_ORDERED,
    FLAKE_LAYOUT_TWITTER, FLAKE_LAYOUT_SONYFLAKE, FLAKE_LAYOUT_DISCORD,   FLAKE_LAYOUT_UNIQUEID_SPREAD,
    FLAKE_LAYOUT_JS53,    FLAKE_LAYOUT_INSTAGRAM, FLAKE_LAYOUT_MASTODON};
enum { built_in_count = sizeof built_in / sizeof *built_in };

static const int64_t last_clock_ms = INT64_MAX / 1000000;

static inline flake_options on_script(flake_layout layout, uint64_t node) {
    flake_options o = {0};
    o.layout = layout;
    o.node = node;
    o.clock.now_ns = script_read;
    o.clock.user = &script_now;
    return o;
}

static inline uint64_t ones(unsigned bits) {
    return bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
}

static inline flake_parts parts_of(int64_t unix_ms, uint64_t node, uint64_t seq) {
    flake_parts p;
    p.unix_ms = unix_ms;
    p.node = node;
    p.seq = (uint32_t)seq;
    return p;
}

/* The id bit by bit, as the layout's comments describe it. */
static inline uint64_t id_by_bits(const flake_layout *l, uint64_t time, uint64_t node,
                                  uint64_t seq) {
    uint64_t id = 0;
    for (unsigned b = 0; b < l->time_bits; b++) {
        unsigned at = l->time_reversed ? l->time_bits - 1u - b : b;
        id |= (time >> b & 1) << (l->time_shift + at);
    }
    for (unsigned b = 0; b < l->node_bits; b++) {
        unsigned at = l->gap_at && b >= l->gap_at ? b + 1 : b;
        id |= (node >> b & 1) << (l->node_shift + at);
    }
    if (l->gap_at) id |= (uint64_t)l->gap_bit << (l->node_shift + l->gap_at);
    for (unsigned b = 0; b < l->seq_bits; b++) id |= (seq >> b & 1) << (l->seq_shift + b);
    return id;
}

/* The last unit whose start an int64_t of ms can hold. */
static inline uint64_t last_unit(const flake_layout *l) {
    uint64_t most = ((uint64_t)INT64_MAX - (uint64_t)l->epoch_ms) / l->unit_ms;
    return most < ones(l->time_bits) ? most : ones(l->time_bits);
}

static inline int64_t unit_start_ms(const flake_layout *l, uint64_t time) {
    return (int64_t)((uint64_t)l->epoch_ms + time * l->unit_ms);
}

static inline void check_parts(const flake_layout *l, uint64_t id, int64_t unix_ms, uint64_t node,
                               uint64_t seq) {
    flake_parts p = parts_of(0, 77, 77);
    CHECK_EQ(flake_decompose(l, id, &p), FLAKE_OK);
    CHECK_EQ(p.unix_ms, unix_ms);
    CHECK_EQ(p.node, node);
    CHECK_EQ(p.seq, seq);
}

/* One id, made by compose and taken apart again. */
static inline void check_id(const flake_layout *l, uint64_t id, int64_t unix_ms, uint64_t node,
                            uint64_t seq) {
    uint64_t composed = ~id;
    flake_parts p = parts_of(unix_ms, node, seq);
    CHECK_EQ(flake_compose(l, &p, &composed), FLAKE_OK);
    CHECK_EQ(composed, id);
    check_parts(l, id, unix_ms, node, seq);
}

/* The id that a fresh generator draws after `before` others at this time. */
static inline void check_drawn(const flake_options *o, uint64_t id, int64_t unix_ms,
                               uint64_t before) {
    uint64_t drawn = 0;
    script_at_ms(unix_ms);
    CHECK_EQ(flake_init(&gen, o, NULL), FLAKE_OK);
    for (uint64_t i = 0; i <= before; i++) CHECK_EQ(flake_try(&gen, &drawn), FLAKE_OK);
    CHECK_EQ(drawn, id);
    script_at_ms(unix_ms);
    CHECK_EQ(flake_init(&gen, o, NULL), FLAKE_OK);
    for (uint64_t i = 0; i <= before; i++) CHECK_EQ(flake_next(&gen, &drawn), FLAKE_OK);
    CHECK_EQ(drawn, id);
    CHECK_EQ(script_now.sleeps, 0);
}

#endif
