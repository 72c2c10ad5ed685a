/* SPDX-License-Identifier: MIT
 *
 * The player of flake.h: see player.h. A generator, shards, lanes, or one of 128 bits.
 */
#ifndef PLAYER_FLAKE_H
#define PLAYER_FLAKE_H

#include "player.h"
#include "layout.h"
#include "../tests/support/options.h"

typedef enum flake_kind { FLAKE_GENERATOR, FLAKE_SHARDS, FLAKE_LANES, FLAKE_WIDE } flake_kind;

static const uint64_t flake_own_node = 0xc0ffee123456, flake_nothing = 0x5e5e5e5e5e5e5e5e;

static flake_gen flake_gens[player_most_actors];
static flake_lane flake_lane_array[player_most_lanes];

static struct flake_scene {
    flake_kind kind;
    flake_layout layout; /* of the word: of 128 bits, times and numbers below 2^64 */
    player_node from;
    uint64_t node; /* in the IDs */
    bool forgets;  /* max_ahead may exceed what count holds */
    uint64_t scatter_start[64], scatter_until[64]; /* the first number of some units; the unit after each, 0: none */
} flake_scene;

/* ---- options ---- */

/* Fields that fit, mostly. */
static flake_options flake_options_from_bytes(player_node *node) {
    static const int64_t waits[] = {0, 1, 3, 40, 100, 1000, 20000, INT64_MAX};
    flake_options o;
    memset(&o, 0, sizeof o);
    o.layout = layout_from_bytes();
    flake_layout l = o.layout;
    if (!l.unit_ms && !l.time_bits) l = flake_layout_default;
    const uint64_t nodes = (uint64_t)1 << (l.node_bits % 33), seqs = (uint64_t)1 << (l.seq_bits % 33);
    const uint8_t with = fuzz_byte();
    if (with & 1) node->number = fuzz_below(nodes);
    if (with & 2) node->number += fuzz_below(nodes - node->number + (with >> 7));
    if (with & 4) {
        o.seq_min = (uint32_t)fuzz_below(seqs);
        o.seq_max = (uint32_t)(o.seq_min + fuzz_below(with & 8 ? 256 : 6));
        if (o.seq_max >= seqs) o.seq_max = (uint32_t)(seqs - 1);
    }
    o.max_wait_ms = waits[with >> 4 & 7];
    const uint8_t more = fuzz_byte();
    if ((more & 3) == 1) o.max_ahead_ms = (int64_t)(fuzz_below(8) * l.unit_ms);
    if ((more & 3) == 2) o.max_ahead_ms = 15000;
    o.start_this_unit = true; /* the clock starts after the init: see flake_play_restart */
    o.seq_scatter = more & 8;
    o.shared_memory = words_reach_other_processes && more & 16;
    if (!(more & 32)) o.clock.now_ns = fuzz_read;
    else if (more & 64) o.clock.kind = more & 128 ? FLAKE_CLOCK_FAST : FLAKE_CLOCK_COARSE;
    else o.clock.kind = FLAKE_CLOCK_EXACT;
    if (fuzz_one_in(16)) { /* one that may not fit */
        switch (fuzz_byte() % 8) {
        case 0: node->number = fuzz_number(); break;
        case 1: *node = player_node_from_bytes(node->number); break;
        case 2: o.seq_min = (uint32_t)fuzz_number(); break;
        case 3: o.seq_max = (uint32_t)fuzz_number(); break;
        case 4: o.max_ahead_ms = (int64_t)fuzz_number(); break;
        case 5: o.max_wait_ms = (int64_t)fuzz_number(); break;
        case 6: o.clock.kind = (int)fuzz_number(); break;
        default: o.max_ahead_ms = -1; break;
        }
    }
    return o;
}

/* Equal in all but names. */
static bool flake_same_layout(const flake_layout *a, const flake_layout *b) {
    return a->epoch_ms == b->epoch_ms && a->unit_ms == b->unit_ms && a->time_bits == b->time_bits &&
           a->time_shift == b->time_shift && a->node_bits == b->node_bits && a->node_shift == b->node_shift &&
           a->seq_bits == b->seq_bits && a->seq_shift == b->seq_shift && a->time_reversed == b->time_reversed &&
           a->gap_at == b->gap_at && a->gap_bit == b->gap_bit && a->time_sign == b->time_sign && a->format == b->format;
}

static bool flake_layout_is_empty(const flake_layout *l) {
    flake_layout none;
    memset(&none, 0, sizeof none);
    return flake_same_layout(l, &none);
}

/* 128-bit layouts, chosen by bytes. */
static flake_layout flake_layout_128(unsigned choice) {
    static const flake_layout layouts[] = {FLAKE_LAYOUT_BOUNDARY, FLAKE_LAYOUT_UUID7, FLAKE_LAYOUT_UUID7_NODE,
                                           FLAKE_LAYOUT_UUID8, FLAKE_LAYOUT_ULID};
    return layouts[choice % 5];
}

static bool flake_is(const flake_layout *l, const flake_layout *known) { return l->format == known->format; }

/* A counter starts anywhere in each ms. */
static bool flake_counts(const flake_layout *l) { return l->format && !flake_is(l, &flake_layout_boundary); }

/* Random bits distinguish its IDs from those of other generators. */
static bool flake_is_random(const flake_layout *l) { return flake_counts(l) && !l->node_bits; }

/* The layout of a word. */
static flake_layout flake_word_of(const flake_layout *l) {
    flake_layout word = *l;
    if (l->format) word = flake_layout_mastodon;
    if (flake_counts(l)) word.epoch_ms = 441763200000; /* 1984 */
    return word;
}

static bool flake_is_sound_128(const flake_layout *l) {
    const flake_layout known = flake_layout_128(l->format - 1u);
    return l->format <= 5 && flake_same_layout(l, &known);
}

/* The status that node and options must get, and what they mean. */
static flake_status flake_judge(const flake_options *given, flake_options *o, player_node *node) {
    const int64_t most_ms = INT64_MAX / FUZZ_MS;
    uint64_t mask;
    *o = *given;
    if (flake_layout_is_empty(&o->layout)) o->layout = flake_layout_default;
    const flake_layout *l = &o->layout;
    if (!(l->format ? flake_is_sound_128(l) : layout_is_sound(l, &mask))) return FLAKE_INVALID;
    const uint64_t seqs = (uint64_t)1 << l->seq_bits;
    if (!o->seq_min && !o->seq_max) o->seq_max = (uint32_t)(seqs - 1);
    if (!o->max_wait_ms) o->max_wait_ms = 1000;
    if (o->seq_min > o->seq_max || o->seq_max >= seqs || (l->format && o->seq_scatter) ||
        (flake_counts(l) && (o->seq_min || o->seq_max != seqs - 1)))
        return FLAKE_INVALID;
    if (node->from == PLAYER_USUAL) /* nodes of 0 bits are none, unless there is a number */
        node->from = l->node_bits || node->number ? PLAYER_FIXED : PLAYER_NONE_AT_ALL;
    const flake_status status = player_judge_node(*node, l->node_bits);
    if (status != FLAKE_OK) return status;
    const bool unfit =
        l->epoch_ms > most_ms || l->epoch_ms < -most_ms || (l->epoch_ms >= 100000000 && l->epoch_ms < 10000000000) ||
        (most_ms - l->epoch_ms) / l->unit_ms < 1 || o->max_ahead_ms < 0 || o->max_ahead_ms / l->unit_ms > INT32_MAX ||
        o->max_wait_ms < 0 || o->clock.kind < FLAKE_CLOCK_FAST || o->clock.kind > FLAKE_CLOCK_EXACT ||
        (node->from == PLAYER_GATED && o->shared_memory);
    return unfit ? FLAKE_INVALID : FLAKE_OK;
}

static oracle flake_oracle_of(const flake_options *o, uint64_t cap, const flake_i_engine *e) {
    const flake_layout *const l = &flake_scene.layout;
    oracle expect = oracle_of(l->epoch_ms, l->unit_ms, o->layout.time_bits, cap);
    const uint64_t units = expect.last_unit + 1;
    /* The last unit of a layout with no spare bit cannot be recognised as full. */
    if (!(units & (units - 1)) && cap - 1 == UINT64_MAX / units) expect.last_unit--;
    expect.max_ahead = (uint64_t)(o->max_ahead_ms / l->unit_ms);
    player_set_waits(&expect, o->max_wait_ms);
    expect.fail_on_backwards = o->layout.format != 0;
    expect.without_places = (expect.max_ahead + 1) * cap >= e->count_limit;
    /* If max_ahead exceeds what count holds, a generator forgets its newest reading: the oracle
     * can predict it only while the clock goes forward and no call has another time or snapshot. */
    flake_scene.forgets = expect.max_ahead && (expect.max_ahead + 1) * cap > e->count_limit;
    if (flake_scene.forgets && player_scene.may) player_scene.exact = false;
    if (expect.without_places || o->overflow) { /* the oracle sleeps in one go */
        player_scene.may &= ~(unsigned)(FUZZ_STICK | FUZZ_JUMP);
        if (fuzz_own_clock) player_scene.exact = false;
    }
    return expect;
}

static void flake_check_split(size_t n) {
    const flake_options *o = &player_scene.options;
    uint64_t next = o->seq_min;
    for (size_t i = 0; i < n; i++) {
        const flake_options *part = flake_gen_options(&flake_gens[i]);
        fuzz_same("first number of a shard", part->seq_min, (int64_t)next);
        fuzz_true("numbers of a shard", part->seq_max >= part->seq_min);
        next = (uint64_t)part->seq_max + 1;
    }
    fuzz_same("last number of the shards", (int64_t)next - 1, o->seq_max);
}

/* A custom configuration to play; NULL: any. */
typedef struct flake_fixed {
    uint64_t node; /* unless the layout has none */
    flake_options options;
    unsigned may; /* what the clock may do, at most */
} flake_fixed;

/* Options of a 128-bit generator; 64-bit options that `more` leaves unchanged are mostly refused. */
static void flake_make_wide(flake_options *o, uint64_t *node, uint8_t more) {
    const unsigned choice = more >> 4;
    const bool own_numbers = more & 4;
    if (!own_numbers) {
        memset(&o->layout, 0, sizeof o->layout);
        *node = 0;
        o->seq_scatter = false;
    }
    const bool bare = flake_layout_is_empty(&o->layout);
    if (bare) o->layout = flake_layout_128(choice);
    else o->layout.format = flake_layout_128(choice).format;
    if (!own_numbers && o->layout.node_bits) *node = flake_own_node;
    if (more & 8) *node |= UINT64_C(1) << 48;
    if (flake_counts(&o->layout) && !own_numbers) o->seq_min = o->seq_max = 0;
    if (choice / 5 == 1) o->single_thread = true;
    if (choice / 5 == 2) {
        o->lane_count = 1 + choice % player_most_lanes;
        o->lanes = LAST_OF(flake_lane_array, o->lane_count);
    }
}

static bool flake_open(const void *any_fixed) {
    const flake_fixed *const fixed = (const flake_fixed *)any_fixed;
    struct player_scene *const s = &player_scene;
    struct flake_scene *const f = &flake_scene;
    flake_options given, *o = &s->options;
    const uint8_t kind = fuzz_byte();
    memset((void *)f, 0, sizeof *f);
    s->exact = true;
    f->kind = (flake_kind)(kind & 3);
    s->may = kind >> 2 & (FUZZ_BACK | FUZZ_STICK | FUZZ_OUTSIDE | FUZZ_JUMP);
    if (fixed) {
        const bool is_wide = fixed->options.layout.format != 0;
        given = fixed->options;
        f->from.number = fixed->node;
        if (f->kind == FLAKE_WIDE || is_wide) f->kind = is_wide ? FLAKE_WIDE : FLAKE_GENERATOR;
        s->may &= fixed->may;
    } else given = flake_options_from_bytes(&f->from);
    const uint8_t more = fuzz_byte() & (fixed ? 0xf3 : 0xff);
    if (more & 1 && more & 2 && given.layout.unit_ms <= 1000) {
        if (given.max_wait_ms > 1000) given.max_wait_ms = 1000; /* a waiter checks each ms */
        player_add_ring(&given, 1 + (more >> 5));
    }

    const bool is_split = f->kind == FLAKE_SHARDS;
    size_t parts = 1;
    if (f->kind == FLAKE_WIDE && !fixed) flake_make_wide(&given, &f->from.number, more);
    if (is_split && (more & 0xcc) == 0xcc) given.layout = flake_layout_128(more >> 4);
    if (is_split || f->kind == FLAKE_LANES)
        parts = (size_t)(more >> 4) % ((is_split ? player_most_actors : player_most_lanes) + 1u);
    if (f->kind == FLAKE_GENERATOR && more & 16) given.single_thread = true;
    if (fixed && !parts) parts = 1;
    flake_status wanted = flake_judge(&given, o, &f->from);
    const uint64_t cap = (uint64_t)o->seq_max - o->seq_min + 1;
    if (fixed && parts > cap) parts = (size_t)cap;
    const bool is_first_0_alone = is_split && parts == cap && !o->seq_min && o->seq_max;
    if (fixed && is_first_0_alone) parts--;
    if (f->kind == FLAKE_LANES) {
        given.lanes = o->lanes = LAST_OF(flake_lane_array, parts);
        given.lane_count = o->lane_count = parts;
    }
    if (wanted == FLAKE_OK && (!parts || parts > cap || given.lane_count > cap || (is_first_0_alone && !fixed) ||
                               (is_split && flake_counts(&o->layout))))
        wanted = FLAKE_INVALID;
    const bool lags = !given.clock.now_ns && o->clock.kind == FLAKE_CLOCK_COARSE && more & 4;
    fuzz_slack_ns = lags ? 32 * FUZZ_MS : 0;
    s->actors = is_split ? parts : 1;
    const flake_node node = player_flake_node(f->from);
    flake_why why = {""};
    const flake_status status = is_split ? flake_init_shards(flake_gens, parts, node, &given, &why)
                                         : flake_init(&flake_gens[0], node, &given, &why);
    if (status != FLAKE_OK && s->actors) fuzz_true("a generator whose init failed", !flake_gen_options(&flake_gens[0]));
    if (!player_has_begun(status, wanted, &why)) return false;
    if (is_split) flake_check_split(s->actors);
    s->has_lanes = o->lanes != NULL;
    /* With a gate, a unit that has tickets left may begin exhausted. */
    if (s->has_lanes || f->from.from == PLAYER_GATED) s->exact = false;
    f->node = f->from.number;
    f->layout = flake_word_of(&o->layout);
    for (size_t i = 0; i < s->actors; i++) {
        player_actor *a = &player_actors[i];
        a->gen = &flake_gens[i];
        fuzz_same_u64("node", flake_gen_node(a->gen), o->layout.node_bits ? f->node : UINT64_MAX);
        const flake_options *part = flake_gen_options(a->gen);
        a->seq_min = part->seq_min;
        a->oracle = flake_oracle_of(o, (uint64_t)part->seq_max - part->seq_min + 1, &a->gen->engine);
        a->oracle.continues_past_clock = flake_counts(&o->layout);
    }
    if (o->max_wait_ms > 1000) s->may &= ~(unsigned)FUZZ_STICK;
    if (s->may & FUZZ_STICK) s->may |= FUZZ_SHORT;
    if (!o->overflow && (!fixed || fixed->may & FUZZ_FAR)) s->may |= FUZZ_FAR;
    fuzz_start_clock(&player_actors[0].oracle);
    if (lags) script_now.coarse_lag_ns = (int64_t)fuzz_below(256) * FUZZ_MS / 16;
    memset((void *)&flake_i_counter, 0, sizeof flake_i_counter);
    fuzz_counts = !given.clock.now_ns && o->clock.kind == FLAKE_CLOCK_FAST && more & 4;
    s->exact = s->exact && !lags && !fuzz_counts;
    s->lends_greatly = f->forgets && s->exact;
    s->has_zero = !f->node && !player_actors[0].seq_min;
    s->most_queued = 16 * (o->seq_max + UINT64_C(1)) + fuzz_most_places;
    for (size_t i = 0; i < s->actors && fuzz_counts; i++) flake_gens[i].engine.frequent = 1; /* one ID a unit */
    return true;
}

static bool flake_is_wide(void) { return player_scene.options.layout.format != 0; }

/* ---- the state of an actor ---- */

static uint64_t flake_before;
static void flake_remember(player_actor *a) { flake_before = place_of(a->gen); }

static void flake_check_unchanged(player_actor *a) {
    fuzz_same_u64("position after a call that failed", place_of(a->gen), flake_before);
}

/* The ticket of a UUID or ULID: how far its counter is after its start in its ms. */
static uint64_t flake_place_of(const player_actor *a, const flake_parts *p) {
    const flake_i_keys *const keys = &a->gen->keys;
    const flake_i_salt none = {0, 0};
    const uint64_t ms = (uint64_t)p->unix_ms, start = flake_i_start_of(keys, none, ms, 0);
    if (!flake_is(&player_scene.options.layout, &flake_layout_ulid)) return p->seq - start % (1 << 25);
    const uint64_t above = flake_i_start_of(keys, none, ms, 1) % (1 << 15);
    fuzz_same_u64("a ULID's carry", p->seq, above + (p->node < start));
    return p->node - start;
}

static uint64_t flake_narrow(const player_actor *a, const flake128 *wide) {
    const flake_layout *const l = &player_scene.options.layout;
    flake_parts p;
    memset(&p, 0, sizeof p);
    fuzz_same("wide ID", flake128_decompose(l, wide, &p), FLAKE_OK);
    if (l->node_bits) fuzz_same_u64("node", p.node, flake_scene.node);
    const uint64_t seq = flake_is(l, &flake_layout_boundary) ? p.seq : flake_place_of(a, &p);
    fuzz_true("wide number", seq <= 0xffff);
    return (uint64_t)(p.unix_ms - flake_scene.layout.epoch_ms) << 16 | seq;
}

/* IDs of a stock are old, and say nothing about the order. */
static uint64_t flake_check_id(player_actor *a, const oracle_place *place, const flake128 *drawn, bool in_order) {
    struct flake_scene *s = &flake_scene;
    const flake_layout *l = &s->layout;
    const uint64_t cap = a->oracle.cap;
    const uint64_t id = flake_is_wide() ? flake_narrow(a, drawn) : flake_from_bytes(drawn->bytes + 8);
    layout_fields f;
    if (flake_is_wide()) {
        f.time = id >> 16;
        f.node = s->node;
        f.seq = id & 0xffff;
    } else {
        f = layout_apart(l, id);
        fuzz_same_u64("ID and its fields", layout_id(l, f), id);
    }
    fuzz_same_u64("node", f.node, s->node);
    fuzz_true("number in its range", f.seq >= a->seq_min && f.seq - a->seq_min < cap);
    if (place) {
        uint64_t index = place->index;
        if (player_scene.options.seq_scatter) {
            const size_t at = place->unit % 64;
            const uint64_t start = (f.seq - a->seq_min + cap - index) % cap;
            if (player_scene.actors > 1 || s->scatter_until[at] != place->unit + 1) {
                s->scatter_until[at] = place->unit + 1;
                s->scatter_start[at] = start;
            }
            index = (s->scatter_start[at] + index) % cap;
        }
        fuzz_same_u64("unit of the ID", f.time, place->unit);
        fuzz_same_u64("number of the ID", f.seq - a->seq_min, index);
    }
    if (player_scene.lends_greatly) fuzz_ids++; /* so many that each is the predicted one */
    else fuzz_set_add(id);
    if (in_order) {
        if (a->any && !player_scene.options.seq_scatter)
            fuzz_true("ID after the previous one",
                      f.time > a->last_time || (f.time == a->last_time && f.seq > a->last_seq));
        if (a->any) fuzz_true("unit after the previous one", f.time >= a->last_time);
        a->any = true;
        a->last_time = f.time;
        a->last_seq = f.seq;
    } else if (player_scene.has_lanes && f.time > a->last_time) a->last_time = f.time;
    return f.time;
}

/* ---- calls ---- */

static void flake_widen(const uint64_t *ids, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (ids[i] == flake_nothing) continue; /* untouched */
        memset(&player_ids[i], 0, sizeof player_ids[i]);
        flake_to_bytes(ids[i], player_ids[i].bytes + 8);
    }
}

static flake_status flake_draw(player_actor *a, player_call call, int64_t unix_ms, size_t n, size_t *given) {
    static uint64_t ids[fuzz_most_places + 1];
    flake_gen *const g = a->gen;
    if (!flake_is_wide()) {
        memset(ids, 0x5e, (n + 1) * sizeof *ids);
        const flake_status status = PLAYER_DRAW(flake, ids, g);
        flake_widen(ids, n + 1);
        return status;
    }
    if (call != PLAYER_NEXT_N && call != PLAYER_TRY_N) {
        fuzz_same("a call of 64 bits", flake_try(g, ids), FLAKE_INVALID);
        fuzz_same_u64("its ID", ids[0], 0);
    }
    return PLAYER_DRAW(flake128, player_ids, g);
}

static void flake_play_prefetch(player_actor *a) {
    static fuzz_wanted w;
    if (flake_is_wide() || player_scene.has_lanes) return;
    const bool bad = fuzz_one_in(32);
    if (!a->stock.count || bad) {
        const uint64_t count = bad ? fuzz_number() & UINT32_MAX : 1 + fuzz_below(64);
        const int64_t valid_ms = bad ? (int64_t)fuzz_number() : (int64_t)fuzz_below(4) * 2;
        const bool fits = count >= 1 && count <= 100000 && valid_ms >= 0 && valid_ms <= INT64_MAX / FUZZ_MS &&
                          !flake_gen_options(a->gen)->single_thread;
        fuzz_same("prefetch init", flake_prefetch_init(&a->prefetch, a->gen, (uint32_t)count, valid_ms, NULL),
                  fits ? FLAKE_OK : FLAKE_INVALID);
        if (!fits || count > 500) {
            a->stock.count = 0;
            return;
        }
        a->stock.count = count;
        a->stock.valid_ns = valid_ms * FUZZ_MS;
        a->stock.left.n = 0;
    }
    uint64_t id = flake_nothing;
    flake_remember(a);
    if (player_scene.exact) {
        const script then = script_now;
        w.status = oracle_stock_next(&a->oracle, &a->stock, &w.places[0]);
        w.n = w.status == ORACLE_OK;
        w.after_ns = script_now.now_ns;
        fuzz_back_to(&then);
    }
    const flake_status status = flake_prefetch_next(&a->prefetch, &id);
    if (player_scene.exact) fuzz_same("status", status, (int64_t)w.status);
    memset(player_ids, 0x5e, 2 * sizeof *player_ids);
    flake_widen(&id, 1);
    player_check_ids(a, &w, status, 1, status == FLAKE_OK, false, false);
}

/* ---- restarts ---- */

static bool flake_shows_its_bounds(const player_actor *a) {
    const flake_options *o = flake_gen_options(a->gen);
    return o->seq_min || o->seq_max || !o->layout.seq_bits; /* 0, 0 would be the whole range */
}

/* Whether init refuses the time by the clock, or in seconds. */
static bool flake_refuses_after(const player_actor *a, int64_t after_ms) {
    const int64_t now_ms = fuzz_reading_ns / FUZZ_MS;
    return after_ms && (after_ms < a->oracle.epoch_ms || after_ms - 86400000 > now_ms ||
                        (after_ms >= 100000000 && after_ms < 10000000000 && now_ms >= 10000000000));
}

/* What the init of the successor returns; the oracle sleeps as it does. */
static flake_status flake_judge_restart(player_actor *a, const flake_options *o) {
    oracle *const expect = &a->oracle;
    const bool is_random = flake_is_random(&o->layout);
    const bool is_later = !o->start_this_unit && !o->clock.now_ns && !is_random;
    int64_t past_ns = o->after_unix_ms ? o->after_unix_ms * FUZZ_MS : INT64_MIN, floor_ns = past_ns;
    if (flake_refuses_after(a, o->after_unix_ms) || (is_random && o->after_unix_ms)) return FLAKE_INVALID;
    if (is_later && floor_ns < fuzz_reading_ns) floor_ns = fuzz_reading_ns;
    uint64_t unit = 0;
    if (is_later && expect->unit_ms > o->max_wait_ms && !expect->max_ahead &&
        floor_ns >= oracle_start_ns(expect, 0)) { /* until the unit has ended, if the layout has it or not */
        (void)oracle_unit_at(expect, floor_ns, &unit);
        past_ns = script_sum(oracle_start_ns(expect, unit), expect->unit_ms * FUZZ_MS - 1);
    }
    if (!o->no_wait && !oracle_wait_past(expect, past_ns)) return FLAKE_CLOCK_BACKWARDS;
    oracle_anew(expect);
    expect->no_wait = o->no_wait;
    oracle_start_after(expect, floor_ns);
    return FLAKE_OK;
}

/* A successor with the same numbers replaces the generator, with other lanes. It starts after the newest ID or later,
 * or by the clock alone if that has reached the ID. One with random bits starts anywhere. */
static void flake_play_restart(player_actor *a) {
    static flake_gen refused;
    const uint8_t choice = fuzz_byte();
    const int64_t now_ms = fuzz_reading_ns / FUZZ_MS, newest_ms = flake_newest_ms(a->gen);
    const flake_node node = player_flake_node(flake_scene.from);
    flake_options o = *flake_gen_options(a->gen);
    if (!flake_shows_its_bounds(a)) return;
    const bool is_random = flake_is_random(&o.layout);
    const bool is_reached = player_ns_of(newest_ms) <= fuzz_reading_ns;
    o.start_this_unit = choice & 1;
    o.no_wait = choice & 4 && !player_scene.lends_greatly; /* it starts at another time than the clock's */
    o.after_unix_ms = choice & 2 && ((is_reached && !o.clock.now_ns) || is_random) ? 0 : newest_ms;
    if (o.after_unix_ms && choice & 8) {
        o.after_unix_ms += (int64_t)fuzz_below(16) * a->oracle.unit_ms;
        if (!o.after_unix_ms) o.after_unix_ms = 1; /* 0 is none */
    }
    if (o.after_unix_ms > INT64_MAX / FUZZ_MS) o.after_unix_ms = INT64_MAX / FUZZ_MS;
    if (!o.after_unix_ms) o.start_this_unit = false;
    const int64_t wait_ms = flake_refuses_after(a, o.after_unix_ms) ? 0 : o.after_unix_ms - now_ms;
    if (wait_ms > 5000 || a->oracle.unit_ms > 5000) return; /* a clock that hardly moves takes too long */
    if (o.lanes) {
        o.lane_count = 1 + (choice >> 4) % player_most_lanes % (size_t)a->oracle.cap;
        o.lanes = LAST_OF(flake_lane_array, o.lane_count);
    }
    const script then = script_now;
    const oracle before = a->oracle;
    const flake_status wanted = flake_judge_restart(a, &o);
    const int64_t after_ns = script_now.now_ns;
    fuzz_back_to(&then);
    if (wanted != FLAKE_OK) { /* its lanes are the other's */
        o.lanes = NULL;
        o.lane_count = 0;
        a->oracle = before;
    }
    fuzz_same("restart", flake_init(wanted == FLAKE_OK ? a->gen : &refused, node, &o, NULL), wanted);
    if (wanted != FLAKE_OK) fuzz_back_to(&then);
    else fuzz_same("clock after a restart", script_now.now_ns, after_ns);
    if (is_random && wanted == FLAKE_OK) {
        a->any = false;
        a->last_time = 0;
        fuzz_set_clear();
    }
}

/* ---- queries ---- */

static void flake_check_position(player_actor *a) {
    const oracle *const expect = &a->oracle;
    const uint64_t newest = oracle_newest(expect), last = expect->last_unit;
    fuzz_same_u64("place of the next ticket", place_of(a->gen), expect->next.unit * expect->cap + expect->next.index);
    const int64_t newest_ms = oracle_start_ns(expect, newest < last ? newest : last) / FUZZ_MS;
    fuzz_same("newest_ms", flake_newest_ms(a->gen), newest_ms ? newest_ms : 1);
}

static void flake_check_statistics(const player_actor *a) {
    const oracle *expect = &a->oracle;
    flake_stats stats;
    flake_stats_get(a->gen, &stats);
    fuzz_same_u64("stats.ids", stats.ids, expect->ids);
    fuzz_same_u64("stats.waits", stats.waits, expect->waits);
    if (expect->max_ahead || expect->without_places) return; /* a batch may be one draw or several */
    fuzz_same_u64("stats.batches", stats.batches, expect->batches);
    fuzz_same_u64("stats.clock_backwards", stats.clock_backwards, expect->clock_backwards);
}

static void flake_check_answers(player_actor *a) {
    const oracle *expect = &a->oracle;
    if (!player_scene.exact) return;
    flake_check_position(a);
    flake_check_statistics(a);
    fuzz_same("retry_ns", flake_retry_ns(a->gen), oracle_retry_ns(expect));
    fuzz_same_u64("available", flake_available(a->gen), oracle_available(expect));
    uint64_t unit;
    if (oracle_unit_at(expect, fuzz_reading_ns, &unit) == ORACLE_OK)
        fuzz_same("ahead_ms", flake_ahead_ms(a->gen), (int64_t)oracle_lag(expect) * expect->unit_ms);
}

/* ---- the player ---- */

static void flake_play_other(player_actor *a, player_call call) {
    if (call == PLAYER_PREFETCH) flake_play_prefetch(a);
    else flake_play_restart(a);
}

static const player flake_player = {{PLAYER_NEXT, PLAYER_NEXT, PLAYER_NEXT, PLAYER_TRY, PLAYER_TRY, PLAYER_TRY,
                                     PLAYER_NEXT_N, PLAYER_NEXT_N, PLAYER_TRY_N, PLAYER_TRY_N, PLAYER_TRY_AT,
                                     PLAYER_PREFETCH, PLAYER_RESTORE, PLAYER_CLOCK, PLAYER_CLOCK, PLAYER_CLOCK},
                                    fuzz_usual_places,
                                    flake_open,
                                    flake_draw,
                                    flake_check_id,
                                    flake_remember,
                                    flake_check_unchanged,
                                    flake_play_other,
                                    flake_check_answers};

/* `fixed` NULL: any configuration, from the bytes. */
static inline void flake_play(const uint8_t *bytes, size_t size, const flake_fixed *fixed) {
    player_play(&flake_player, bytes, size, fixed);
}

#endif
