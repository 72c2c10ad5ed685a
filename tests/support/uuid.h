/* SPDX-License-Identifier: MIT
 *
 * Generators of 128 bits on the scripted clock, with scripted random bytes; and the fields of UUIDs and ULIDs. It
 * includes flake.h. Define _GNU_SOURCE first.
 */
#ifndef UUID_H
#define UUID_H

#include "support.h"

/* Scripted random bytes: they repeat, and may fail. */
static struct {
    uint64_t seed;
    unsigned calls;
    bool fails, repeats; /* repeats: returns the same bytes to each call */
    uint64_t given[8]; /* by the last call */
} source;

static inline bool scripted_random(void *to, size_t n) {
    source.calls++;
    if (source.fails) return false;
    if (source.repeats) source.seed = 1;
    for (size_t i = 0; i < 8; i++) {
        source.given[i] = 0;
        for (int k = 0; k < 8; k++) source.given[i] = source.given[i] << 8 | random_next(&source.seed) >> 56;
    }
    memcpy(to, source.given, n);
    return true;
}

#define FLAKE_RANDOM_BYTES(to, n) scripted_random(to, n)
static unsigned lane_now; /* the calls' slot of the map */
#define FLAKE_LANE() lane_now
#include "flake.h"
#include "options.h"
#include "uuid_fields.h"

#define MS INT64_C(1000000) /* in ns */
static const int64_t T = 1700000000000;
static const uint64_t a_node = 0x9ba1a5c50962;

enum { steps = small ? 600 : 6000 };

/* Layouts, by `format` from FLAKE_I_UUID7 on; and boundary's. */
static const flake_layout layouts[] = {FLAKE_LAYOUT_UUID7, FLAKE_LAYOUT_UUID7_NODE, FLAKE_LAYOUT_UUID8,
                                       FLAKE_LAYOUT_ULID, FLAKE_LAYOUT_BOUNDARY};
#define EACH_LAYOUT(l) for (const flake_layout *l = layouts; l < layouts + 4; l++)

/* What a generator is opened with. */
typedef struct setup {
    flake_options options;
    flake_node node;      /* a_node, or none in a layout without one */
    uint32_t last_number; /* 0: 65,535. Fewer than an init accepts, so that a few draws exhaust a ms */
} setup;

/* The script at T, and options that a test may change before it opens a generator. */
static inline setup usual(const flake_layout *l) {
    setup s = {options_of_flake(0, 0, script_read, &script_now), node_in(l, a_node), 0};
    script_at_ms(T);
    source.fails = source.repeats = false;
    lane_now = 0;
    source.seed = 0x0123456789abcdef + l->format - 1;
    s.options.layout = *l;
    return s;
}

static inline void open_gen(flake_gen *g, const setup *s) {
    flake_i_engine_config config;
    uint64_t keys[4];
    flake_node node = s->node;
    (void)flake_i_process_owner_id(); /* the first draws random bytes: not between those of the keys */
    CHECK_EQ(flake_i_resolve(&s->options, &node, &config, keys, NULL), FLAKE_OK);
    if (s->last_number) {
        config.options.seq_max = s->last_number;
        config.unit_capacity = (uint64_t)s->last_number + 1;
    }
    flake_i_invalidate(g);
    CHECK_EQ(flake_i_claim_init(&g->claim, &node, &config, NULL, NULL), FLAKE_OK);
    CHECK_EQ(flake_i_gen_init(g, &config, node.number, keys, NULL), FLAKE_OK);
}

static inline void open_usual(flake_gen *g, const flake_layout *l) {
    const setup s = usual(l);
    open_gen(g, &s);
}

static inline void clock_at(int64_t unix_ms) { script_now.now_ns = unix_ms * MS; }

static inline flake128 drawn(flake_gen *g) {
    flake128 id = untouched;
    CHECK_EQ(flake128_next(g, &id), FLAKE_OK);
    return id;
}

static inline bool counts_by_one(const flake_layout *l, flake128 a, flake128 b) {
    const flake128 next = ulid_plus_one(a);
    if (l->format == FLAKE_I_ULID) return flake128_compare(&next, &b) == 0;
    return uuid_ms(a) == uuid_ms(b) && counter_of(a) + 1 == counter_of(b);
}

#endif
