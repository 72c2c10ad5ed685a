/* SPDX-License-Identifier: MIT
 *
 * One generator of each kind of both headers, and all ways to draw from them, as one table: for tests
 * of what must hold for every way to draw. Include it after scene.h and both headers.
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

static const uint64_t way_blank = 0x5a5a5a5a5a5a5a5a;

typedef enum way_call { BY_NEXT, BY_TRY, BY_NEXT_N, BY_TRY_N, BY_TRY_AT, BY_PREFETCH } way_call;

static inline flake_status way_give(way_ids *out, way_call call, flake_status status,
                                   const uint64_t *keys, size_t n) {
    const uint64_t of_none = call == BY_TRY_N ? way_blank : 0;
    out->n = status == FLAKE_OK ? n : 0;
    out->left_ids = false;
    for (size_t i = 0; i < n; i++) {
        out->keys[i] = keys[i];
        out->left_ids |= status != FLAKE_OK && keys[i] != of_none;
    }
    return status;
}

static inline flake_status way_give_snos(way_ids *out, way_call call, flake_status status,
                                        const sno_id *ids, size_t n) {
    uint64_t keys[way_batch];
    sno_id blank;
    memset(&blank, 0x5a, sizeof blank);
    for (size_t i = 0; i < n; i++)
        keys[i] = status != FLAKE_OK && sno_equal(ids[i], blank)
                      ? way_blank
                      : (uint64_t)(sno_partition(ids[i]) >> 3) << 57 | sno_key(ids[i]);
    return way_give(out, call, status, keys, n);
}

static inline flake_status way_give_wide(way_ids *out, way_call call, flake_status status,
                                        const flake128 *ids, size_t n) {
    uint64_t keys[way_batch];
    flake_parts parts;
    memset(&parts, 0, sizeof parts);
    for (size_t i = 0; i < n; i++) {
        keys[i] = way_blank;
        if (status != FLAKE_OK && ids[i].bytes[0] == 0x5a) continue;
        CHECK_EQ(flake128_decompose(&flake_layout_boundary, &ids[i], &parts), FLAKE_OK);
        keys[i] = parts.node << 57 | (uint64_t)parts.unix_ms << 16 | parts.seq;
    }
    return way_give(out, call, status, keys, n);
}

static inline int64_t way_now_ms(void) { return flake_i_exact_ns(&ways.gen.engine.clock) / 1000000; }

/* Room for the IDs of a call, and how many of them it is to fill. */
#define WAY_ROOM(type, name)                      \
    type name[way_batch];                         \
    size_t n = call == BY_NEXT_N ? way_batch : 1; \
    memset(name, 0x5a, sizeof name)
#define WAY_DRAW(prefix, ...)                                             \
    (call == BY_NEXT     ? prefix##_next(__VA_ARGS__, id)                 \
     : call == BY_TRY    ? prefix##_try(__VA_ARGS__, id)                  \
     : call == BY_NEXT_N ? prefix##_next_n(__VA_ARGS__, id, way_batch)    \
     : call == BY_TRY_N  ? prefix##_try_n(__VA_ARGS__, id, way_batch, &n) \
                         : prefix##_try_at(__VA_ARGS__, way_now_ms(), id))

static inline flake_status way_draw64(flake_gen *g, way_call call, way_ids *out) {
    WAY_ROOM(uint64_t, id);
    const flake_status status =
        call == BY_PREFETCH ? flake_prefetch_next(&ways.stock, id) : WAY_DRAW(flake, g);
    return way_give(out, call, status, id, n ? n : way_batch);
}

static inline flake_status way_draw128(flake_gen *g, way_call call, way_ids *out) {
    WAY_ROOM(flake128, id);
    const flake_status status = WAY_DRAW(flake128, g);
    return way_give_wide(out, call, status, id, n ? n : way_batch);
}

static inline flake_status way_draw_sno(sno_gen *g, way_call call, way_ids *out) {
    WAY_ROOM(sno_id, id);
    const flake_status status = WAY_DRAW(sno, g, 7);
    return way_give_snos(out, call, status, id, n ? n : way_batch);
}

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
    flake_state *flake, *wide;
    flake_state *sno, *sno_shards;
    flake_gate gate;
} ways_setup;

static inline uint16_t ways_partition(unsigned who, unsigned family) {
    return (uint16_t)(8 * (who + 1) + family);
}

static inline flake_node ways_node(const ways_setup *w, uint64_t number) {
    return w->gate.admit ? flake_node_gated(&w->gate, number) : flake_node_fixed(NULL, number);
}
static inline flake_node ways_flake_node(const ways_setup *w) { return ways_node(w, w->who + 1); }
static inline flake_node ways_wide_node(const ways_setup *w) { return ways_node(w, w->who); }

static inline flake_options ways_flake_options(const ways_setup *w, uint32_t seq_min,
                                               uint32_t seq_max) {
    flake_options o = options_of_flake(seq_min, seq_max, scene_clock, NULL);
    o.state = w->flake;
    return o;
}

static inline flake_options ways_wide_options(const ways_setup *w) {
    flake_options o = ways_flake_options(w, 0, 99);
    o.layout = flake_layout_boundary;
    o.state = w->wide;
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

/* 1: it failed. */
static inline unsigned way_fails(const ways_setup *w, flake_gen *g, flake_node node,
                                 const flake_options *o) {
    return (w->again ? flake_reinit_after_fork(g, node, o, NULL) : flake_init(g, node, o, NULL)) !=
           FLAKE_OK;
}

static inline unsigned way_fails_sno(const ways_setup *w, sno_gen *g, const sno_snapshot *pool,
                                     const flake_options *o) {
    const flake_node node = ways_node(w, pool->partition);
    return (w->again ? sno_reinit_after_fork(g, node, pool, o, NULL)
                     : sno_init(g, node, pool, o, NULL)) != FLAKE_OK;
}

/* With the numbers after the others', and with states that hold these, too. */
static inline unsigned ways_make_lanes(const ways_setup *w) {
    const flake_options f = way_lanes_of(ways_flake_options(w, 300, 399), ways.lane);
    flake_options wide = way_lanes_of(ways_wide_options(w), ways.wide_lane);
    const sno_snapshot pool = ways_pool(w->who, FAMILY_SNO_LANES, 0, 99);
    const flake_options s = way_lanes_of(ways_sno_options(), ways.sno_lane);
    wide.seq_min = 100, wide.seq_max = 199;
    return way_fails(w, &ways.lanes, ways_flake_node(w), &f) +
           way_fails(w, &ways.wide_lanes, ways_wide_node(w), &wide) +
           way_fails_sno(w, &ways.sno_lanes, &pool, &s);
}

static inline unsigned ways_make(const ways_setup *w) {
    unsigned wrong = ways_make_lanes(w);
    flake_options f = ways_flake_options(w, 0, 99), half = f, wide = ways_wide_options(w);
    const flake_node node = ways_flake_node(w);
    sno_snapshot pool = ways_pool(w->who, FAMILY_SNO, 0, 99);
    flake_options s = ways_sno_options();
    s.state = w->sno;
    wrong += way_fails(w, &ways.gen, node, &f) +
             way_fails(w, &ways.wide, ways_wide_node(w), &wide) +
             way_fails_sno(w, &ways.sno, &pool, &s);
    if (!w->again) {
        wrong += flake_prefetch_init(&ways.stock, &ways.gen, 4, 0, NULL) != FLAKE_OK;
        half.seq_min = 100, half.seq_max = 199;
        wrong += flake_init_shards(ways.shards, way_halves, node, &half, NULL) != FLAKE_OK;
        pool = ways_pool(w->who, FAMILY_SNO_SHARDS, 0, 99);
        s.state = w->sno_shards;
        wrong += sno_init_shards(ways.sno_shards, way_halves, ways_node(w, pool.partition), &pool,
                                 &s, NULL) != FLAKE_OK;
        return wrong;
    }
    half.single_thread = s.single_thread = true;
    for (unsigned i = 0; i < way_halves; i++) {
        half.seq_min = 100 + 50 * i, half.seq_max = half.seq_min + 49;
        wrong += way_fails(w, &ways.shards[i], node, &half);
        const uint16_t min = (uint16_t)(50 * i);
        pool = ways_pool(w->who, FAMILY_SNO_SHARDS, min, (uint16_t)(min + 49));
        wrong += way_fails_sno(w, &ways.sno_shards[i], &pool, &s);
    }
    return wrong;
}

/* ---- with states, in files ---- */

enum { way_states = 4 };
static flake_state ways_state[way_states];

/* Opens the states of all families that may have one, up to the first that is refused, and makes the
 * generators on them. */
static inline flake_status ways_open(const char *const paths[way_states], bool no_wait) {
    ways_setup setup = {0};
    const flake_options of_snos = ways_sno_options();
    flake_options o[] = {ways_flake_options(&setup, 0, 399), ways_wide_options(&setup), of_snos,
                         of_snos};
    const flake_node nodes[] = {ways_flake_node(&setup), ways_wide_node(&setup)};
    sno_snapshot pools[] = {ways_pool(0, FAMILY_SNO, 0, 99), ways_pool(0, FAMILY_SNO_SHARDS, 0, 99)};
    o[1].seq_max = 199; /* the generator's, and the lanes' */
    for (int i = 0; i < way_states; i++) {
        const flake_state_options w = {.path = paths[i], .no_wait = no_wait};
        flake_state *const s = &ways_state[i];
        const flake_status status = i < 2 ? flake_state_open(s, &w, nodes[i], &o[i], NULL, NULL)
                                          : sno_state_open(s, &w, &o[i], &pools[i - 2], NULL);
        if (status != FLAKE_OK) return status;
    }
    setup.flake = &ways_state[0];
    setup.wide = &ways_state[1];
    setup.sno = &ways_state[2];
    setup.sno_shards = &ways_state[3];
    return ways_make(&setup) == 0 ? FLAKE_OK : FLAKE_INVALID;
}

static inline void ways_close(void) {
    for (int i = 0; i < way_states; i++) (void)flake_state_close(&ways_state[i], NULL);
}

/* Records what was drawn, in the scene. */
static inline void way_note(unsigned family, const way_ids *ids) {
    for (size_t i = 0; i < ids->n; i++) note(ids->keys[i] * 0x9e3779b97f4a7c15 + family);
}

#endif
