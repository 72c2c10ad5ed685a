/* SPDX-License-Identifier: MIT
 *
 * One generator of each kind of both headers, and all ways to draw from them, as one table: for tests
 * of what must hold whichever way an id is come by. Include it after both headers.
 */
#ifndef WAYS_TO_DRAW_H
#define WAYS_TO_DRAW_H

#include "options.h"
#include "sno_key.h"

typedef enum way_outcome {
    WAY_OK,
    WAY_NONE, /* nothing, and the call has no status */
    WAY_FORKED,
    WAY_AGAIN,
    WAY_IO,
    WAY_OTHER
} way_outcome;

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

static inline way_outcome way_of_flake(flake_status status) {
    switch (status) {
    case FLAKE_OK: return WAY_OK;
    case FLAKE_FORKED: return WAY_FORKED;
    case FLAKE_AGAIN: return WAY_AGAIN;
    case FLAKE_IO: return WAY_IO;
    default: return WAY_OTHER;
    }
}

/* What a draw gave: n ids, told as numbers. Ids of different families may have the same number. */
typedef struct way_ids {
    size_t n;
    uint64_t keys[way_batch];
    bool touched; /* a call that gave nothing has written to its output */
} way_ids;

static const uint64_t way_blank = 0x5a5a5a5a5a5a5a5a;

static inline way_outcome way_give(way_ids *out, way_outcome outcome, const uint64_t *keys,
                                   size_t n) {
    out->n = outcome == WAY_OK ? n : 0;
    out->touched = false;
    for (size_t i = 0; i < n; i++) {
        out->keys[i] = keys[i];
        out->touched |= outcome != WAY_OK && keys[i] != way_blank;
    }
    return outcome;
}

static inline way_outcome way_give_snos(way_ids *out, way_outcome outcome, const sno_id *ids,
                                        size_t n) {
    uint64_t keys[way_batch];
    sno_id blank;
    memset(&blank, 0x5a, sizeof blank);
    for (size_t i = 0; i < n; i++)
        keys[i] = outcome != WAY_OK && sno_equal(ids[i], blank)
                      ? way_blank
                      : (uint64_t)(sno_partition(ids[i]) >> 3) << 57 | sno_key(ids[i]);
    return way_give(out, outcome, keys, n);
}

static inline way_outcome way_give_wide(way_ids *out, way_outcome outcome, const flake128 *ids,
                                        size_t n) {
    uint64_t keys[way_batch];
    flake_parts parts;
    memset(&parts, 0, sizeof parts);
    for (size_t i = 0; i < n; i++) {
        keys[i] = way_blank;
        if (outcome != WAY_OK && ids[i].bytes[0] == 0x5a) continue;
        CHECK_EQ(flake128_decompose(&flake_layout_boundary, &ids[i], &parts), FLAKE_OK);
        keys[i] = parts.node << 57 | (uint64_t)parts.unix_ms << 16 | parts.seq;
    }
    return way_give(out, outcome, keys, n);
}

#define WAY_ROOM(type, name) \
    type name[way_batch];    \
    memset(name, 0x5a, sizeof name)

static inline int64_t way_now_ns(void) { return flake_i_exact_ns(&ways.gen.engine.clock); }

static inline way_outcome way_next(way_ids *out) {
    WAY_ROOM(uint64_t, id);
    return way_give(out, way_of_flake(flake_next(&ways.gen, id)), id, 1);
}
static inline way_outcome way_try(way_ids *out) {
    WAY_ROOM(uint64_t, id);
    return way_give(out, way_of_flake(flake_try(&ways.gen, id)), id, 1);
}
static inline way_outcome way_try_at(way_ids *out) {
    WAY_ROOM(uint64_t, id);
    const flake_status status = flake_try_at(&ways.gen, way_now_ns() / 1000000, id);
    return way_give(out, way_of_flake(status), id, 1);
}
static inline way_outcome way_next_n(way_ids *out) {
    WAY_ROOM(uint64_t, id);
    return way_give(out, way_of_flake(flake_next_n(&ways.gen, id, way_batch)), id, way_batch);
}
static inline way_outcome way_try_n(way_ids *out) {
    WAY_ROOM(uint64_t, id);
    const size_t n = got64_n(&ways.gen, id, way_batch);
    return way_give(out, n ? WAY_OK : WAY_NONE, id, n ? n : way_batch);
}
static inline way_outcome way_prefetch(way_ids *out) {
    WAY_ROOM(uint64_t, id);
    return way_give(out, way_of_flake(flake_prefetch_next(&ways.stock, id)), id, 1);
}

static inline way_outcome way_shard_next(way_ids *out) {
    WAY_ROOM(uint64_t, id);
    return way_give(out, way_of_flake(flake_next(&ways.shards[0], id)), id, 1);
}
static inline way_outcome way_shard_try(way_ids *out) {
    WAY_ROOM(uint64_t, id);
    return way_give(out, way_of_flake(flake_try(&ways.shards[1], id)), id, 1);
}
static inline way_outcome way_shard_try_at(way_ids *out) {
    WAY_ROOM(uint64_t, id);
    const flake_status status = flake_try_at(&ways.shards[0], way_now_ns() / 1000000, id);
    return way_give(out, way_of_flake(status), id, 1);
}
static inline way_outcome way_shard_next_n(way_ids *out) {
    WAY_ROOM(uint64_t, id);
    const flake_status status = flake_next_n(&ways.shards[1], id, way_batch);
    return way_give(out, way_of_flake(status), id, way_batch);
}
static inline way_outcome way_shard_try_n(way_ids *out) {
    WAY_ROOM(uint64_t, id);
    const size_t n = got64_n(&ways.shards[0], id, way_batch);
    return way_give(out, n ? WAY_OK : WAY_NONE, id, n ? n : way_batch);
}

static inline way_outcome way_wide_next(way_ids *out) {
    WAY_ROOM(flake128, id);
    return way_give_wide(out, way_of_flake(flake128_next(&ways.wide, id)), id, 1);
}
static inline way_outcome way_wide_try(way_ids *out) {
    WAY_ROOM(flake128, id);
    return way_give_wide(out, way_of_flake(flake128_try(&ways.wide, id)), id, 1);
}
static inline way_outcome way_wide_try_at(way_ids *out) {
    WAY_ROOM(flake128, id);
    const flake_status status = flake128_try_at(&ways.wide, way_now_ns() / 1000000, id);
    return way_give_wide(out, way_of_flake(status), id, 1);
}
static inline way_outcome way_wide_next_n(way_ids *out) {
    WAY_ROOM(flake128, id);
    const flake_status status = flake128_next_n(&ways.wide, id, way_batch);
    return way_give_wide(out, way_of_flake(status), id, way_batch);
}
static inline way_outcome way_wide_try_n(way_ids *out) {
    WAY_ROOM(flake128, id);
    const size_t n = got128_n(&ways.wide, id, way_batch);
    return way_give_wide(out, n ? WAY_OK : WAY_NONE, id, n ? n : way_batch);
}

static inline way_outcome way_sno_next(way_ids *out) {
    WAY_ROOM(sno_id, id);
    return way_give_snos(out, way_of_flake(sno_next(&ways.sno, 7, id)), id, 1);
}
static inline way_outcome way_sno_try(way_ids *out) {
    WAY_ROOM(sno_id, id);
    return way_give_snos(out, way_of_flake(sno_try(&ways.sno, 7, id)), id, 1);
}
static inline way_outcome way_sno_try_at(way_ids *out) {
    WAY_ROOM(sno_id, id);
    return way_give_snos(out, way_of_flake(sno_try_at(&ways.sno, 7, way_now_ns() / 1000000, id)),
                         id, 1);
}
static inline way_outcome way_sno_next_n(way_ids *out) {
    WAY_ROOM(sno_id, id);
    const flake_status status = sno_next_n(&ways.sno, 7, id, way_batch);
    return way_give_snos(out, way_of_flake(status), id, way_batch);
}
static inline way_outcome way_sno_try_n(way_ids *out) {
    WAY_ROOM(sno_id, id);
    size_t n;
    const flake_status status = sno_try_n(&ways.sno, 7, id, way_batch, &n);
    return way_give_snos(out, way_of_flake(status), id, n ? n : way_batch);
}
static inline way_outcome way_sno_shard_next(way_ids *out) {
    WAY_ROOM(sno_id, id);
    return way_give_snos(out, way_of_flake(sno_next(&ways.sno_shards[0], 7, id)), id, 1);
}
static inline way_outcome way_sno_shard_try(way_ids *out) {
    WAY_ROOM(sno_id, id);
    return way_give_snos(out, way_of_flake(sno_try(&ways.sno_shards[1], 7, id)), id, 1);
}
static inline way_outcome way_sno_shard_try_at(way_ids *out) {
    WAY_ROOM(sno_id, id);
    const flake_status status =
        sno_try_at(&ways.sno_shards[0], 7, way_now_ns() / 1000000, id);
    return way_give_snos(out, way_of_flake(status), id, 1);
}
static inline way_outcome way_sno_shard_next_n(way_ids *out) {
    WAY_ROOM(sno_id, id);
    const flake_status status = sno_next_n(&ways.sno_shards[1], 7, id, way_batch);
    return way_give_snos(out, way_of_flake(status), id, way_batch);
}
static inline way_outcome way_sno_shard_try_n(way_ids *out) {
    WAY_ROOM(sno_id, id);
    size_t n;
    const flake_status status = sno_try_n(&ways.sno_shards[0], 7, id, way_batch, &n);
    return way_give_snos(out, way_of_flake(status), id, n ? n : way_batch);
}

static inline way_outcome way_lanes_next(way_ids *out) {
    WAY_ROOM(uint64_t, id);
    return way_give(out, way_of_flake(flake_next(&ways.lanes, id)), id, 1);
}
static inline way_outcome way_lanes_try(way_ids *out) {
    WAY_ROOM(uint64_t, id);
    return way_give(out, way_of_flake(flake_try(&ways.lanes, id)), id, 1);
}
static inline way_outcome way_lanes_next_n(way_ids *out) {
    WAY_ROOM(uint64_t, id);
    const flake_status status = flake_next_n(&ways.lanes, id, way_batch);
    return way_give(out, way_of_flake(status), id, way_batch);
}
static inline way_outcome way_lanes_try_n(way_ids *out) {
    WAY_ROOM(uint64_t, id);
    const size_t n = got64_n(&ways.lanes, id, way_batch);
    return way_give(out, n ? WAY_OK : WAY_NONE, id, n ? n : way_batch);
}
static inline way_outcome way_wide_lanes_next(way_ids *out) {
    WAY_ROOM(flake128, id);
    return way_give_wide(out, way_of_flake(flake128_next(&ways.wide_lanes, id)), id, 1);
}
static inline way_outcome way_wide_lanes_try_n(way_ids *out) {
    WAY_ROOM(flake128, id);
    const size_t n = got128_n(&ways.wide_lanes, id, way_batch);
    return way_give_wide(out, n ? WAY_OK : WAY_NONE, id, n ? n : way_batch);
}
static inline way_outcome way_sno_lanes_next(way_ids *out) {
    WAY_ROOM(sno_id, id);
    return way_give_snos(out, way_of_flake(sno_next(&ways.sno_lanes, 7, id)), id, 1);
}
static inline way_outcome way_sno_lanes_try(way_ids *out) {
    WAY_ROOM(sno_id, id);
    return way_give_snos(out, way_of_flake(sno_try(&ways.sno_lanes, 7, id)), id, 1);
}
static inline way_outcome way_sno_lanes_next_n(way_ids *out) {
    WAY_ROOM(sno_id, id);
    const flake_status status = sno_next_n(&ways.sno_lanes, 7, id, way_batch);
    return way_give_snos(out, way_of_flake(status), id, way_batch);
}

/* Ids of one family differ by their keys. */
enum { FAMILY_FLAKE, FAMILY_WIDE, FAMILY_SNO, FAMILY_SNO_SHARDS, FAMILY_SNO_LANES, families };

static const struct way {
    const char *name;
    unsigned family;
    way_outcome (*draw)(way_ids *);
} all_ways[] = {
    {"flake_next", FAMILY_FLAKE, way_next},
    {"flake_try", FAMILY_FLAKE, way_try},
    {"flake_try_at", FAMILY_FLAKE, way_try_at},
    {"flake_next_n", FAMILY_FLAKE, way_next_n},
    {"flake_try_n", FAMILY_FLAKE, way_try_n},
    {"flake_prefetch_next", FAMILY_FLAKE, way_prefetch},
    {"flake_next", FAMILY_FLAKE, way_shard_next},
    {"flake_try", FAMILY_FLAKE, way_shard_try},
    {"flake_try_at", FAMILY_FLAKE, way_shard_try_at},
    {"flake_next_n", FAMILY_FLAKE, way_shard_next_n},
    {"flake_shard_try_n", FAMILY_FLAKE, way_shard_try_n},
    {"flake128_next", FAMILY_WIDE, way_wide_next},
    {"flake128_try", FAMILY_WIDE, way_wide_try},
    {"flake128_try_at", FAMILY_WIDE, way_wide_try_at},
    {"flake128_next_n", FAMILY_WIDE, way_wide_next_n},
    {"flake128_try_n", FAMILY_WIDE, way_wide_try_n},
    {"sno_next", FAMILY_SNO, way_sno_next},
    {"sno_try", FAMILY_SNO, way_sno_try},
    {"sno_try_at", FAMILY_SNO, way_sno_try_at},
    {"sno_next_n", FAMILY_SNO, way_sno_next_n},
    {"sno_try_n", FAMILY_SNO, way_sno_try_n},
    {"sno_next", FAMILY_SNO_SHARDS, way_sno_shard_next},
    {"sno_try", FAMILY_SNO_SHARDS, way_sno_shard_try},
    {"sno_try_at", FAMILY_SNO_SHARDS, way_sno_shard_try_at},
    {"sno_next_n", FAMILY_SNO_SHARDS, way_sno_shard_next_n},
    {"sno_try_n", FAMILY_SNO_SHARDS, way_sno_shard_try_n},
    {"flake_next", FAMILY_FLAKE, way_lanes_next},
    {"flake_try", FAMILY_FLAKE, way_lanes_try},
    {"flake_next_n", FAMILY_FLAKE, way_lanes_next_n},
    {"flake_lanes_try_n", FAMILY_FLAKE, way_lanes_try_n},
    {"flake128_next", FAMILY_WIDE, way_wide_lanes_next},
    {"flake128_lanes_try_n", FAMILY_WIDE, way_wide_lanes_try_n},
    {"sno_next", FAMILY_SNO_LANES, way_sno_lanes_next},
    {"sno_try", FAMILY_SNO_LANES, way_sno_lanes_try},
    {"sno_next_n", FAMILY_SNO_LANES, way_sno_lanes_next_n},
};
enum { ways_count = sizeof all_ways / sizeof *all_ways };

/* ---- who the generators are ---- */

typedef struct ways_setup {
    unsigned who; /* node, worker and partitions follow from it */
    bool is_scripted, again /* by reinit */;
    flake_state *flake, *wide;
    flake_state *sno, *sno_shards;
} ways_setup;

static inline uint16_t ways_partition(unsigned who, unsigned family) {
    return (uint16_t)(8 * (who + 1) + family);
}

static inline flake_options ways_flake_options(const ways_setup *w, uint32_t seq_min,
                                               uint32_t seq_max) {
    flake_options o = options_of_flake(w->who + 1, seq_min, seq_max, NULL, NULL);
    if (w->is_scripted) {
        o.clock.now_ns = script_read;
        o.clock.user = &script_now;
    }
    o.state = w->flake;
    return o;
}

static inline flake_options ways_wide_options(const ways_setup *w) {
    flake_options o = ways_flake_options(w, 0, 99);
    o.node = 0;
    o.state = w->wide;
    return o;
}

static inline flake_options ways_sno_options(const ways_setup *w) {
    flake_options o = options_of_sno(NULL, NULL);
    if (w->is_scripted) {
        o.clock.now_ns = script_read;
        o.clock.user = &script_now;
    }
    o.max_wait_ms = 1000;
    return o;
}

static inline sno_snapshot ways_pool(unsigned who, unsigned family, uint16_t min, uint16_t max) {
    return pool_of_numbers(ways_partition(who, family), min, max);
}

/* Behind the others' numbers, with states that hold these, too. */
static inline unsigned ways_make_lanes(const ways_setup *w) {
    const flake_options f = ways_flake_options(w, 300, 399);
    flake_options wide = ways_wide_options(w);
    const sno_snapshot pool = ways_pool(w->who, FAMILY_SNO_LANES, 0, 99);
    const flake_options s = ways_sno_options(w);
    unsigned wrong = 0;
    wide.seq_min = 100, wide.seq_max = 199;
    if (w->again) {
        wrong += flake_reinit_after_fork(&ways.lanes, same_lanes(&ways.lanes, &f), NULL) != FLAKE_OK;
        wrong += flake_reinit_after_fork(&ways.wide_lanes, same_lanes(&ways.wide_lanes, of_128(&wide, w->who)), NULL) != FLAKE_OK;
        wrong += sno_reinit_after_fork(&ways.sno_lanes, &pool, same_lanes(&ways.sno_lanes.gen, &s), NULL) != FLAKE_OK;
        return wrong;
    }
    wrong += flake_init(&ways.lanes, with_lanes(&f, ways.lane, way_halves), NULL) != FLAKE_OK;
    wrong += flake_init(&ways.wide_lanes, with_lanes(of_128(&wide, w->who), ways.wide_lane, way_halves), NULL) !=
             FLAKE_OK;
    wrong +=
        sno_init(&ways.sno_lanes, &pool, with_lanes(&s, ways.sno_lane, way_halves), NULL) != FLAKE_OK;
    return wrong;
}

static inline unsigned ways_make(const ways_setup *w) {
    unsigned wrong = ways_make_lanes(w);
    flake_options f = ways_flake_options(w, 0, 99), half = f, wide = ways_wide_options(w);
    sno_snapshot pool = ways_pool(w->who, FAMILY_SNO, 0, 99);
    flake_options s = ways_sno_options(w);
    s.state = w->sno;
    if (!w->again) {
        wrong += flake_init(&ways.gen, &f, NULL) != FLAKE_OK;
        wrong += flake_prefetch_init(&ways.stock, &ways.gen, 4, 0, NULL) != FLAKE_OK;
        wrong += flake_init(&ways.wide, of_128(&wide, w->who), NULL) != FLAKE_OK;
        wrong += sno_init(&ways.sno, &pool, &s, NULL) != FLAKE_OK;
        half.seq_min = 100, half.seq_max = 199;
        wrong += flake_init_shards(ways.shards, way_halves, &half, NULL) != FLAKE_OK;
        pool = ways_pool(w->who, FAMILY_SNO_SHARDS, 0, 99);
        s.state = w->sno_shards;
        wrong += sno_init_shards(ways.sno_shards, way_halves, &pool, &s, NULL) != FLAKE_OK;
        return wrong;
    }
    wrong += flake_reinit_after_fork(&ways.gen, &f, NULL) != FLAKE_OK;
    wrong += flake_reinit_after_fork(&ways.wide, of_128(&wide, w->who), NULL) != FLAKE_OK;
    wrong += sno_reinit_after_fork(&ways.sno, &pool, &s, NULL) != FLAKE_OK;
    for (unsigned i = 0; i < way_halves; i++) {
        half.seq_min = 100 + 50 * i, half.seq_max = half.seq_min + 49;
        wrong += flake_reinit_after_fork(&ways.shards[i], &half, NULL) != FLAKE_OK;
        const uint16_t min = (uint16_t)(50 * i);
        pool = ways_pool(w->who, FAMILY_SNO_SHARDS, min, (uint16_t)(min + 49));
        wrong +=
            sno_reinit_after_fork(&ways.sno_shards[i], &pool, &s, NULL) != FLAKE_OK;
    }
    return wrong;
}

/* ---- what was drawn, by how many processes whatsoever ---- */

typedef struct ways_log {
    size_t n;
    struct ways_entry {
        uint64_t key;
        uint64_t family;
    } entries[40000];
} ways_log;

static inline void ways_note(ways_log *log, unsigned family, const way_ids *ids) {
    for (size_t i = 0; i < ids->n && log->n < sizeof log->entries / sizeof *log->entries; i++) {
        log->entries[log->n].key = ids->keys[i];
        log->entries[log->n].family = family;
        log->n++;
    }
}

static inline size_t ways_repeated(ways_log *log) {
    return count_duplicates(log->entries, log->n);
}

#endif
