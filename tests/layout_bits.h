/* SPDX-License-Identifier: MIT
 *
 * Layouts for tests: all that the header has, random ones, and what their ids must be, bit by bit. It
 * includes flake.h.
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

#ifdef TEST_SMALL
enum { rounds = 20 };
#else
enum { rounds = 400 };
#endif

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

static inline uint64_t random_bits(uint64_t *state, unsigned bits) {
    return bits ? random_next(state) >> (64 - bits) : 0;
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

static inline uint64_t random_unit(uint64_t *state, const flake_layout *l) {
    uint64_t last = last_unit(l);
    return last == UINT64_MAX ? random_next(state) : random_next(state) % (last + 1);
}

static inline int64_t unit_start_ms(const flake_layout *l, uint64_t time) {
    return (int64_t)((uint64_t)l->epoch_ms + time * l->unit_ms);
}

/* Fields of any width in any order, with gaps between them. */
static inline flake_layout random_layout(uint64_t *state) {
    static const uint32_t units[] = {1, 1, 4, 10, 1000, 86400000};
    flake_layout l = {0};
    l.name = "random";
    l.epoch_ms = (int64_t)random_below(state, 8000000000000) - 4000000000000;
    l.unit_ms = units[random_below(state, sizeof units / sizeof *units)];
    l.time_reversed = (uint8_t)random_below(state, 2);
    do {
        l.time_bits = (uint8_t)(1 + random_below(state, 64));
        l.node_bits = (uint8_t)random_below(state, 33);
        l.seq_bits = (uint8_t)random_below(state, 33);
    } while (l.time_bits + l.node_bits + l.seq_bits > 64);
    unsigned spare = 64u - l.time_bits - l.node_bits - l.seq_bits;
    if (spare && l.node_bits && random_below(state, 2)) {
        spare--;
        l.gap_at = (uint8_t)(1 + random_below(state, l.node_bits));
        l.gap_bit = (uint8_t)random_below(state, 2);
    }
    const unsigned width[3] = {l.time_bits, l.node_bits + (l.gap_at ? 1u : 0u), l.seq_bits};
    uint8_t *const shift[3] = {&l.time_shift, &l.node_shift, &l.seq_shift};
    unsigned field = (unsigned)random_below(state, 3), at = 0;
    const unsigned step = 1 + (unsigned)random_below(state, 2);
    for (int i = 0; i < 3; i++, field = (field + step) % 3) {
        unsigned gap = (unsigned)random_below(state, spare + 1);
        spare -= gap;
        at += gap;
        *shift[field] = (uint8_t)(width[field] ? at : 0);
        at += width[field];
    }
    return l;
}

/* time, node and seq from the top of a random width down, so that ids sort by time */
static inline flake_layout random_ordered_layout(uint64_t *state) {
    unsigned time_bits = 1 + (unsigned)random_below(state, 50), node_bits, seq_bits;
    do {
        node_bits = (unsigned)random_below(state, 33);
        seq_bits = (unsigned)random_below(state, 33);
    } while (time_bits + node_bits + seq_bits > 64);
    flake_layout l = flake_layout_of(time_bits, node_bits, seq_bits,
                                     (int64_t)random_below(state, 2000000) - 1000000);
    l.unit_ms = (uint32_t)(1 + random_below(state, 3) * 7);
    return l;
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
