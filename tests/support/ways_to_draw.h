/* SPDX-License-Identifier: MIT
 *
 * All ways to draw an ID: one generator of each kind of both headers, made by ways_make, and a table of the calls that
 * draw from it. A test of what must hold for every way loops over all_ways, draws with way_draw, and compares the IDs
 * as numbers. Include it after process_scene.h and both headers.
 */
#ifndef WAYS_TO_DRAW_H
#define WAYS_TO_DRAW_H

#include "options.h"
#include "sno_key.h"

enum { way_batch = 5, way_halves = 2 };

static struct ways {
    flake_gen gen;
    flake_prefetch stock;
    flake_gen shards[way_halves];
    flake_gen wide;
    sno_gen sno;
    sno_gen sno_shards[way_halves];
    flake_lane lane[way_halves], wide_lane[way_halves];
    flake_gen lanes;
    flake_gen wide_lanes;
    flake_lane sno_lane[way_halves];
    sno_gen sno_lanes;
} ways;

/* The result of a draw: n IDs, as numbers. IDs of different families may have the same number. */
typedef struct way_ids {
    size_t n;
    uint64_t keys[way_batch];
    bool left_ids; /* a call that returned none: try_n has written, or another has left no zeros */
} way_ids;

typedef enum way_call { BY_NEXT, BY_TRY, BY_NEXT_N, BY_TRY_N, BY_TRY_AT, BY_PREFETCH } way_call;

static inline uint64_t way_key_64(uint64_t id) { return id; }

static inline uint64_t way_key_128(flake128 id) {
    flake_parts parts = {0, 0, 0};
    CHECK_EQ(flake128_decompose(&flake_layout_boundary, &id, &parts), FLAKE_OK);
    return parts.node << 57 | (uint64_t)parts.unix_ms << 16 | parts.seq;
}

static inline uint64_t way_key_sno(sno_id id) { return (uint64_t)(sno_partition(id) >> 3) << 57 | sno_key(id); }

static inline int64_t way_now_ms(void) { return flake_i_exact_ns(&ways.gen.engine.clock) / 1000000; }

/* A function that draws IDs of one type; from_stock is its prefetch call, if it has one. */
#define WAY_DRAWS(name, generator, type, key_of, from_stock, prefix, ...)                                \
    static inline flake_status name(generator *g, way_call call, way_ids *out) {                         \
        type id[way_batch], blank;                                                                       \
        size_t n = call == BY_NEXT_N ? way_batch : 1;                                                    \
        memset(id, 0x5a, sizeof id);                                                                     \
        memset(&blank, 0x5a, sizeof blank);                                                              \
        const flake_status status = call == BY_NEXT     ? prefix##_next(__VA_ARGS__, id)                 \
                                    : call == BY_TRY    ? prefix##_try(__VA_ARGS__, id)                  \
                                    : call == BY_NEXT_N ? prefix##_next_n(__VA_ARGS__, id, way_batch)    \
                                    : call == BY_TRY_N  ? prefix##_try_n(__VA_ARGS__, id, way_batch, &n) \
                                    : call == BY_TRY_AT ? prefix##_try_at(__VA_ARGS__, way_now_ms(), id) \
                                                        : from_stock;                                    \
        out->n = status == FLAKE_OK ? n : 0;                                                             \
        out->left_ids = false;                                                                           \
        for (size_t i = 0; i < out->n; i++) out->keys[i] = key_of(id[i]);                                \
        for (size_t i = 0; i < (n ? n : way_batch) && status != FLAKE_OK; i++)                           \
            out->left_ids |= call == BY_TRY_N ? memcmp(&id[i], &blank, sizeof blank) != 0                \
                                              : !is_zero(&id[i], sizeof blank);                          \
        return status;                                                                                   \
    }
WAY_DRAWS(way_draw64, flake_gen, uint64_t, way_key_64, flake_prefetch_next(&ways.stock, id), flake, g)
WAY_DRAWS(way_draw128, flake_gen, flake128, way_key_128, FLAKE_INVALID, flake128, g)
WAY_DRAWS(way_draw_sno, sno_gen, sno_id, way_key_sno, FLAKE_INVALID, sno, g, 7)

/* IDs of one family differ by their keys. */
enum { FAMILY_FLAKE, FAMILY_WIDE, FAMILY_SNO, FAMILY_SNO_SHARDS, FAMILY_SNO_LANES, families };

#define WAYS_OF(family, g)                                                                 \
    {#g ", next", family, &ways.g, BY_NEXT}, {#g ", try", family, &ways.g, BY_TRY},        \
        {#g ", next_n", family, &ways.g, BY_NEXT_N}, {#g ", try_n", family, &ways.g, BY_TRY_N}
#define WAYS_AT(family, g) {#g ", try_at", family, &ways.g, BY_TRY_AT}
static const struct way {
    const char *name;
    unsigned family;
    void *gen; /* sno_gen or flake_gen */
    way_call call;
} all_ways[] = {
    WAYS_OF(FAMILY_FLAKE, gen),
    WAYS_AT(FAMILY_FLAKE, gen),
    {"prefetch", FAMILY_FLAKE, &ways.gen, BY_PREFETCH},
    WAYS_OF(FAMILY_FLAKE, shards[0]),
    WAYS_AT(FAMILY_FLAKE, shards[1]),
    WAYS_OF(FAMILY_FLAKE, lanes),
    WAYS_OF(FAMILY_WIDE, wide),
    WAYS_AT(FAMILY_WIDE, wide),
    WAYS_OF(FAMILY_WIDE, wide_lanes),
    WAYS_OF(FAMILY_SNO, sno),
    WAYS_AT(FAMILY_SNO, sno),
    WAYS_OF(FAMILY_SNO_SHARDS, sno_shards[0]),
    WAYS_AT(FAMILY_SNO_SHARDS, sno_shards[1]),
    WAYS_OF(FAMILY_SNO_LANES, sno_lanes),
};
enum { ways_count = sizeof all_ways / sizeof *all_ways };

static inline flake_status way_draw(const struct way *w, way_ids *out) {
    if (w->family == FAMILY_FLAKE) return way_draw64((flake_gen *)w->gen, w->call, out);
    if (w->family == FAMILY_WIDE) return way_draw128((flake_gen *)w->gen, w->call, out);
    return way_draw_sno((sno_gen *)w->gen, w->call, out);
}

/* ---- the generators ---- */

typedef struct ways_setup {
    unsigned who; /* node, worker and partitions follow from it */
    bool again; /* by reinit */
    const char *dir; /* in which each generator has a number; NULL: none */
    bool no_wait;
    flake_gate gate;
} ways_setup;

static inline uint16_t ways_partition(unsigned who, unsigned family) { return (uint16_t)(8 * (who + 1) + family); }

static inline flake_node ways_node(const ways_setup *w, uint64_t number) {
    return w->gate.admit ? flake_node_gated(&w->gate, number) : flake_node_fixed(w->dir, number);
}
static inline flake_node ways_flake_node(const ways_setup *w) { return ways_node(w, w->who + 1); }
static inline flake_node ways_wide_node(const ways_setup *w) { return ways_node(w, w->who); }

/* Without a directory generators share numbers: they have different sequence numbers. */
static inline flake_node ways_other_node(const ways_setup *w, flake_node node, uint64_t number) {
    return w->dir ? ways_node(w, number) : node;
}

static inline flake_options ways_flake_options(const ways_setup *w, uint32_t seq_min, uint32_t seq_max) {
    flake_options o = options_of_flake(seq_min, seq_max, scene_clock, NULL);
    o.no_wait = w->no_wait;
    return o;
}

static inline flake_options ways_wide_options(const ways_setup *w) {
    flake_options o = ways_flake_options(w, 0, 99);
    o.layout = flake_layout_boundary;
    return o;
}

static inline flake_options ways_sno_options(void) {
    flake_options o = options_of_sno(scene_clock, NULL);
    o.max_wait_ms = 1000;
    return o;
}

static inline sno_snapshot ways_pool(unsigned who, unsigned family, uint16_t min, uint16_t max) {
    return pool_of_numbers(ways_partition(who, family), min, max);
}

static inline flake_options way_lanes_of(flake_options o, flake_lane *lanes) {
    o.lanes = lanes;
    o.lane_count = way_halves;
    return o;
}

static inline flake_status way_init(const ways_setup *w, flake_gen *g, flake_node node, const flake_options *o) {
    return w->again ? flake_reinit_after_fork(g, node, o, NULL) : flake_init(g, node, o, NULL);
}

static inline flake_status way_init_sno(const ways_setup *w, sno_gen *g, unsigned family, const flake_options *o) {
    const sno_snapshot pool = ways_pool(w->who, family, 0, 99);
    const flake_node node = ways_node(w, pool.partition);
    return w->again ? sno_reinit_after_fork(g, node, &pool, o, NULL) : sno_init(g, node, &pool, o, NULL);
}

/* Shards are not inherited: they are closed and made anew. */
static inline flake_status ways_make_shards(const ways_setup *w, const flake_options *of_snos) {
    const sno_snapshot pool = ways_pool(w->who, FAMILY_SNO_SHARDS, 0, 99);
    const flake_node node = ways_other_node(w, ways_flake_node(w), 2);
    const flake_options o = ways_flake_options(w, 100, 199);
    if (w->again) CHECK_EQ(flake_close(ways.shards, NULL), FLAKE_OK);
    if (w->again) CHECK_EQ(flake_close(&ways.sno_shards[0].gen, NULL), FLAKE_OK);
    const flake_status status = flake_init_shards(ways.shards, way_halves, node, &o, NULL);
    if (status != FLAKE_OK) return status;
    return sno_init_shards(ways.sno_shards, way_halves, ways_node(w, pool.partition), &pool, of_snos, NULL);
}

/* Up to the first that is refused. Lanes have the sequence numbers after the others'. */
static inline flake_status ways_make(const ways_setup *w) {
    const flake_options o = ways_flake_options(w, 0, 99), wide = ways_wide_options(w);
    const flake_options o_lanes = way_lanes_of(ways_flake_options(w, 300, 399), ways.lane);
    const flake_node node = ways_flake_node(w), wide_node = ways_wide_node(w);
    flake_options wide_lanes = way_lanes_of(wide, ways.wide_lane), s = ways_sno_options();
    wide_lanes.seq_min = 100, wide_lanes.seq_max = 199;
    s.no_wait = w->no_wait;
    const flake_options s_lanes = way_lanes_of(s, ways.sno_lane);
    flake_status status = way_init(w, &ways.lanes, ways_other_node(w, node, 3), &o_lanes);
    if (status == FLAKE_OK) status = way_init(w, &ways.wide_lanes, ways_other_node(w, wide_node, 4), &wide_lanes);
    if (status == FLAKE_OK) status = way_init_sno(w, &ways.sno_lanes, FAMILY_SNO_LANES, &s_lanes);
    if (status == FLAKE_OK) status = way_init(w, &ways.gen, node, &o);
    if (status == FLAKE_OK) status = way_init(w, &ways.wide, ways_other_node(w, wide_node, 5), &wide);
    if (status == FLAKE_OK) status = way_init_sno(w, &ways.sno, FAMILY_SNO, &s);
    if (status == FLAKE_OK) status = ways_make_shards(w, &s);
    if (status == FLAKE_OK && !w->again) status = flake_prefetch_init(&ways.stock, &ways.gen, 4, 0, NULL);
    return status;
}

/* In a directory: numbers 1 to 5, and the partitions of process 0. */
static inline flake_status ways_open(const char *dir, bool no_wait) {
    const ways_setup w = {.dir = dir, .no_wait = no_wait};
    return ways_make(&w);
}

/* The one that has the claim: a sno's is the generator in it. */
static inline flake_gen *way_gen(const struct way *w) {
    sno_gen *const of_sno = (sno_gen *)w->gen;
    if (w->family < FAMILY_SNO) return w->gen == &ways.shards[1] ? ways.shards : (flake_gen *)w->gen;
    return w->gen == &ways.sno_shards[1] ? &ways.sno_shards[0].gen : &of_sno->gen;
}

static inline void ways_close(void) {
    for (unsigned i = 0; i < ways_count; i++) (void)flake_close(way_gen(&all_ways[i]), NULL);
}

/* Records what was drawn, in the scene. */
static inline void way_note(unsigned family, const way_ids *ids) {
    for (size_t i = 0; i < ids->n; i++) note(ids->keys[i] * 0x9e3779b97f4a7c15 + family);
}

#endif
