/* SPDX-License-Identifier: MIT
 *
 * The player of sno.h: see player.h. A generator, shards, or lanes, which begin anywhere by a snapshot.
 */
#ifndef PLAYER_SNO_H
#define PLAYER_SNO_H

#include "player.h"
#include "sno.h"

typedef enum sno_kind { SNO_GENERATOR, SNO_SHARDS, SNO_LANES } sno_kind;
static const sno_kind sno_kinds[] = {SNO_GENERATOR, SNO_SHARDS, SNO_SHARDS, SNO_LANES};

enum { sno_most_taken = 60000 };
static const int64_t sno_epoch_ms = 1262304000000, sno_unit_ms = 4;

static sno_gen sno_gens[player_most_actors];
static flake_lane sno_lane_array[player_most_actors];
static unsigned sno_taken; /* partitions of this process */

static sno_kind sno_now; /* the actors' kind */
static uint16_t sno_partition_now;

/* The generator of an actor. */
static sno_gen *sno_of(const player_actor *a) { return (sno_gen *)(void *)a->gen; }

static uint8_t sno_meta_of_step(void) { return (uint8_t)(player_scene.choice * 37); }

/* ---- options ---- */

/* A snapshot with its defaults filled in; false: it must be refused. */
static bool sno_judge(sno_snapshot *s) {
    const int64_t end = (int64_t)1 << 39;
    uint32_t low = s->sequence_min, high = s->sequence_max;
    if (!high && low != 65535) high = 65535;
    if (low > high) {
        const uint32_t swapped = low;
        low = high;
        high = swapped;
    }
    s->sequence_min = (uint16_t)low;
    s->sequence_max = (uint16_t)high;
    if (!s->sequence) s->sequence = low;
    return high - low >= 3 && s->sequence >= low && s->sequence - low < 3u << 22 &&
           s->wall_hi >= 0 && s->wall_hi < end && s->wall_safe >= 0 && s->wall_safe < end;
}

/* One that fits, mostly. */
static sno_snapshot sno_snapshot_from_bytes(void) {
    sno_snapshot s;
    memset(&s, 0, sizeof s);
    const uint8_t with = fuzz_byte();
    s.partition = (uint16_t)fuzz_byte();
    if (with & 1) {
        s.sequence_min = (uint16_t)fuzz_bytes(with & 16 ? 2 : 1);
        s.sequence_max = (uint16_t)(s.sequence_min + 3 + fuzz_byte() % (with & 32 ? 64 : 4));
    }
    if (with & 2) s.wall_hi = (int64_t)(fuzz_below(UINT64_C(1) << 39));
    if (with & 4 && s.wall_hi >> 38 == 0) s.sequence = (uint32_t)(s.sequence_min + fuzz_below(256));
    if (with & 8) {
        const int64_t safe = s.wall_hi - 8 + (int64_t)fuzz_below(16);
        s.wall_safe = safe < 0 ? 0 : safe;
        s.drifts = with >> 6;
    }
    if (fuzz_one_in(16)) { /* one that may not fit */
        switch (fuzz_byte() % 6) {
        case 0: s.sequence_min = (uint16_t)fuzz_number(); break;
        case 1: s.sequence_max = (uint16_t)fuzz_number(); break;
        case 2: s.sequence = (uint32_t)fuzz_number(); break;
        case 3: s.wall_hi = (int64_t)fuzz_number(); break;
        case 4: s.wall_safe = (int64_t)fuzz_number(); break;
        default: s.drifts = (uint32_t)fuzz_number(); break;
        }
    }
    return s;
}

static oracle sno_oracle_of(uint64_t cap) {
    oracle expect = oracle_of(sno_epoch_ms, sno_unit_ms, 39, cap);
    expect.ticks = true;
    player_set_waits(&expect, player_scene.options.max_wait_ms);
    return expect;
}

/* The state of a generator made from this snapshot. */
static void sno_oracle_go_on(oracle *expect, const sno_snapshot *s, uint64_t count) {
    const oracle_place zero = {(uint64_t)s->wall_hi, 0, s->drifts & 1};
    expect->recorded = zero.unit;
    expect->next = oracle_after(expect, zero, count);
    expect->safe[zero.tick] = 0;
    expect->safe[zero.tick ^ 1] = (uint64_t)s->wall_safe;
    expect->ids = expect->batches = expect->waits = expect->clock_backwards = expect->drifts = 0;
}

/* n actors over the bounds of `s`, of one partition. */
static void sno_cast(sno_kind kind, size_t n, const sno_snapshot *s, bool continues) {
    const uint32_t low = s->sequence_min, high = s->sequence_max;
    uint32_t next = low;
    sno_now = kind;
    player_scene.actors = n;
    player_scene.has_lanes = kind == SNO_LANES;
    memset((void *)player_actors, 0, sizeof player_actors);
    for (size_t i = 0; i < n; i++) {
        player_actor *a = &player_actors[i];
        a->gen = &sno_gens[i].gen;
        const uint32_t cap = sno_cap(&sno_gens[i]);
        fuzz_true("numbers of a shard", cap >= 1 && next + cap <= high + 1);
        a->seq_min = next;
        a->oracle = sno_oracle_of(cap);
        if (continues) {
            a->drifts_before = s->drifts;
            const uint64_t units = 1 + (s->sequence - low) / (high - low + 1);
            /* For shards, all numbers of the units begun: which shard had which is not recorded. */
            sno_oracle_go_on(&a->oracle, s, kind == SNO_SHARDS ? units * cap : s->sequence - low + 1);
        }
        fuzz_same("partition", sno_gen_partition(&sno_gens[i]), sno_partition_now);
        next += cap;
    }
    fuzz_same("end of the numbers", next, (int64_t)high + 1);
}

/* Makes what `kind` names from node and `given`, which is NULL for the whole pool; false: they were refused, as
 * they must be. */
static bool sno_make(sno_kind kind, size_t n, player_node from, const sno_snapshot *given) {
    const bool chooses = from.from == PLAYER_NONE_AT_ALL; /* the library, a partition */
    const bool continues = given != NULL; /* if the library chooses: in unit 0 of 2010, which the clock is after */
    flake_options o = player_scene.options;
    sno_snapshot s;
    if (chooses && sno_taken >= sno_most_taken) return false;
    memset(&s, 0, sizeof s);
    if (given && !chooses) s = *given;
    else if (given) { /* a pool: its bounds, and nothing else */
        s.sequence_min = given->sequence_min;
        s.sequence_max = given->sequence_max;
    }
    bool fits = sno_judge(&s);
    fits &= o.max_wait_ms >= 0 && o.clock.kind >= FLAKE_CLOCK_FAST && o.clock.kind <= FLAKE_CLOCK_EXACT;
    fits &= !given || chooses || s.partition == from.number;
    fits &= from.from != PLAYER_GATED || !o.shared_memory;
    if (kind == SNO_LANES) {
        o.lanes = LAST_OF(sno_lane_array, n);
        o.lane_count = n;
    }
    if (kind == SNO_GENERATOR) n = 1;
    else if (!n || (fits && n > (size_t)(s.sequence_max - s.sequence_min) + 1) ||
             (kind == SNO_SHARDS && fits && !s.sequence_min && n == (size_t)s.sequence_max + 1))
        fits = false;
    flake_status wanted = chooses ? FLAKE_OK : player_judge_node(from, 16);
    if (wanted == FLAKE_OK && !fits) wanted = FLAKE_INVALID;
    const flake_node node = player_flake_node(from);
    const int64_t began_ns = fuzz_reading_ns;
    if (fuzz_own_clock) o.start_this_unit = true;
    script_now.per_sleep = -1; /* the clock advances while init waits */
    script_now.jump_to_ns = 0;
    flake_why why = {""};
    const flake_status status = kind == SNO_SHARDS ? sno_init_shards(sno_gens, n, node, given, &o, &why)
                                                   : sno_init(&sno_gens[0], node, given, &o, &why);
    if (!player_has_begun(status, wanted, &why)) return false;
    /* With a gate, a unit that has tickets left may begin exhausted. */
    if (from.from == PLAYER_GATED) player_scene.exact = false;
    sno_taken += chooses;
    sno_partition_now = chooses ? sno_gen_partition(&sno_gens[0]) : (uint16_t)from.number;
    fuzz_same_u64("node", flake_gen_node(&sno_gens[0].gen), sno_partition_now);
    sno_cast(kind, kind == SNO_LANES ? 1 : n, &s, continues);
    for (size_t i = 0; i < player_scene.actors; i++) /* without a position: in the next unit */
        if (!chooses && !s.wall_hi && !o.clock.now_ns && !o.start_this_unit)
            oracle_start_after(&player_actors[i].oracle, began_ns);
    return true;
}

static player_node sno_fixed_node(uint16_t partition) {
    const player_node node = {PLAYER_FIXED, partition};
    return node;
}

/* The same, with a node that comes from bytes, and mostly is the snapshot's partition. */
static bool sno_make_any(sno_kind kind, size_t n, const sno_snapshot *s) {
    static const player_node none = {PLAYER_NONE_AT_ALL, 0};
    switch (fuzz_below(64)) {
    case 59: return sno_make(kind, n, sno_fixed_node((uint16_t)(s->partition + 1)), s);
    case 60: return sno_make(kind, n, sno_fixed_node(s->partition), NULL);
    case 61: return sno_make(kind, n, player_node_from_bytes(s->partition), s);
    case 62: return sno_make(kind, n, none, s);
    case 63: return sno_make(kind, n, none, NULL);
    default: return sno_make(kind, n, sno_fixed_node(s->partition), s);
    }
}

/* A custom configuration to play; NULL: any. */
typedef struct sno_fixed {
    sno_snapshot snapshot;
    flake_options options;
    unsigned may; /* what the clock may do, at most */
} sno_fixed;

static bool sno_open(const void *any_fixed) {
    const sno_fixed *const fixed = (const sno_fixed *)any_fixed;
    static const int64_t waits[] = {INT64_MAX, 0, 1, 5, 30, 30, 2000, -1};
    struct player_scene *const scene = &player_scene;
    const uint8_t kind = fuzz_byte(), with = fuzz_byte();
    flake_options *o = &scene->options;
    scene->exact = !fuzz_own_clock && (!(with & 1) || !(with & 2)) && sno_kinds[kind & 3] != SNO_LANES;
    scene->may = kind >> 4;
    fuzz_clock_begin(sno_epoch_ms * FUZZ_MS);
    if (fixed) {
        *o = fixed->options;
        scene->may &= fixed->may;
    } else {
        o->max_wait_ms = waits[with >> 5];
        o->shared_memory = words_reach_other_processes && with & 4;
        if (with & 8) o->clock.now_ns = fuzz_read;
        else if (with & 16) o->clock.kind = with & 2 ? FLAKE_CLOCK_FAST : FLAKE_CLOCK_COARSE;
        else o->clock.kind = FLAKE_CLOCK_EXACT;
    }
    const bool is_late = !o->clock.now_ns && !scene->exact && o->clock.kind != FLAKE_CLOCK_EXACT;
    fuzz_slack_ns = is_late ? 32 * FUZZ_MS : 0;
    if (kind & 8 && kind & 4) player_add_ring(o, 1 + (with & 7));
    /* Unlimited patience needs a clock that moves; so does a waiter that checks each ms. */
    if (o->max_wait_ms > 1000) scene->may &= ~(unsigned)FUZZ_STICK;
    if (scene->exact) { /* a blocked caller checks each unit, the oracle does not */
        if (o->overflow) scene->may &= ~(unsigned)(FUZZ_STICK | FUZZ_JUMP);
        if (o->max_wait_ms != INT64_MAX) scene->may &= ~(unsigned)FUZZ_JUMP;
    } else if (scene->may & FUZZ_STICK) scene->may |= FUZZ_SHORT;
    if (!fixed || fixed->may & FUZZ_FAR) scene->may |= FUZZ_FAR;
    const size_t n = 1 + (size_t)(kind >> 4) % player_most_actors;
    const sno_snapshot s = fixed ? fixed->snapshot : sno_snapshot_from_bytes();
    if (fixed ? !sno_make(sno_kinds[kind & 3], n, sno_fixed_node(s.partition), &s)
              : !sno_make_any(sno_kinds[kind & 3], with & 31 ? n : n - 1, &s))
        return false;
    const oracle *expect = &player_actors[0].oracle;
    if (expect->recorded && (with & 3) != 1) /* near the snapshot, or anywhere */
        fuzz_clock_begin(oracle_start_ns(expect, expect->recorded) + ((int64_t)fuzz_byte() - 64) * FUZZ_MS);
    else fuzz_start_clock(expect);
    fuzz_stepped_back = fuzz_reading_ns < oracle_start_ns(expect, expect->recorded);
    memset((void *)&flake_i_counter, 0, sizeof flake_i_counter);
    fuzz_counts = is_late && o->clock.kind == FLAKE_CLOCK_FAST;
    if (is_late && !fuzz_counts) script_now.coarse_lag_ns = (int64_t)fuzz_byte() * FUZZ_MS / 16;
    scene->most_queued = (3u << 22) + fuzz_most_places;
    return true;
}

/* ---- IDs ---- */

static uint64_t sno_check_id(player_actor *a, const oracle_place *place, const flake128 *drawn, bool in_order) {
    sno_id id;
    memcpy(id.bytes, drawn->bytes, sizeof id.bytes);
    const uint64_t unit = sno_units(id), number = (uint64_t)sno_sequence(id) - a->seq_min;
    fuzz_same("meta", sno_meta(id), sno_meta_of_step());
    fuzz_same("partition", sno_partition(id), sno_partition_now);
    fuzz_true("number in its range", number < a->oracle.cap);
    if (place) {
        fuzz_same_u64("unit of the ID", unit, place->unit);
        fuzz_same("tick of the ID", sno_tick(id), place->tick);
        fuzz_same_u64("number of the ID", number, place->index);
    }
    /* whatever the metabyte is */
    fuzz_set_add(unit << 17 | (uint64_t)sno_tick(id) << 16 | sno_sequence(id));
    if (a->any && !fuzz_stepped_back && in_order)
        fuzz_true("ID after the previous one", unit > a->last_time || (unit == a->last_time && number > a->last_seq));
    a->any = true;
    a->last_time = unit;
    a->last_seq = number;
    return unit;
}

/* ---- the state of an actor ---- */

static sno_snapshot sno_stand(player_actor *a) {
    sno_snapshot s;
    memset(&s, 0xff, sizeof s);
    fuzz_same("snapshot", sno_snapshot_take(sno_of(a), &s), FLAKE_OK);
    fuzz_same("partition of the snapshot", s.partition, sno_partition_now);
    fuzz_same("sequence_min of the snapshot", s.sequence_min, a->seq_min);
    fuzz_same("sequence_max of the snapshot", s.sequence_max, (int64_t)(a->seq_min + a->oracle.cap - 1));
    return s;
}

static sno_snapshot sno_before;
static void sno_remember(player_actor *a) { sno_before = sno_stand(a); }

static void sno_check_unchanged(player_actor *a) {
    const sno_snapshot after = sno_stand(a);
    fuzz_same("sequence after a call that failed", after.sequence, sno_before.sequence);
    fuzz_same("wall_hi after a call that failed", after.wall_hi, sno_before.wall_hi);
    fuzz_same("wall_safe after a call that failed", after.wall_safe, sno_before.wall_safe);
    fuzz_same("drifts after a call that failed", after.drifts, sno_before.drifts);
}

/* The generator is where the oracle is. */
static void sno_check_position(player_actor *a, bool waited) {
    oracle *expect = &a->oracle;
    const sno_snapshot s = sno_stand(a);
    const uint64_t cap = expect->cap;
    if (!player_scene.exact) return;
    /* A blocked caller checks each unit, so it may have queued before its time had come. */
    if (waited && s.wall_hi >= 0 && (uint64_t)s.wall_hi < expect->recorded) expect->recorded = (uint64_t)s.wall_hi;
    fuzz_same("drifts", s.drifts, (int64_t)(uint32_t)(a->drifts_before + expect->drifts));
    fuzz_same("tick of the drifts", s.drifts & 1, expect->next.tick);
    fuzz_same_u64("wall_hi", (uint64_t)s.wall_hi, expect->recorded);
    const uint64_t safe = expect->safe[expect->next.tick ^ 1], last = ((uint64_t)1 << 39) - 1;
    fuzz_same_u64("wall_safe", (uint64_t)s.wall_safe, safe < last ? safe : last); /* a queue may reach past it */
    if (!expect->next.unit && !expect->next.index) return; /* no number drawn looks like the first one */
    const uint64_t count = (uint64_t)s.sequence - a->seq_min + 1;
    fuzz_same_u64("unit of the next number", (uint64_t)s.wall_hi + count / cap, expect->next.unit);
    fuzz_same_u64("next number", count % cap, expect->next.index);
}

/* ---- calls ---- */

static flake_status sno_draw(player_actor *a, player_call call, int64_t unix_ms, size_t n, size_t *given) {
    static sno_id ids[fuzz_most_places + 1];
    memset(ids, 0x5e, (n + 1) * sizeof *ids);
    const flake_status status = PLAYER_DRAW(sno, ids, sno_of(a), sno_meta_of_step());
    for (size_t i = 0; i <= n; i++) {
        if (!memcmp(ids[i].bytes, player_ids[i].bytes, sizeof ids[i].bytes)) continue; /* untouched */
        memset(&player_ids[i], 0, sizeof player_ids[i]);
        memcpy(player_ids[i].bytes, ids[i].bytes, sizeof ids[i].bytes);
    }
    return status;
}

/* Old IDs: any time, a sequence of their own, and no effect on the others. */
static void sno_play_with_time(player_actor *a) {
    const int64_t unix_ms = player_given_ms();
    const uint8_t meta = sno_meta_of_step();
    if (sno_now == SNO_LANES) return;
    sno_remember(a);
    sno_id id;
    memset(&id, 0x5e, sizeof id);
    uint64_t unit = 0;
    const flake_status status = sno_with_time(sno_of(a), meta, unix_ms, &id);
    fuzz_same("status", status, (int64_t)oracle_unit_at(&a->oracle, player_ns_of(unix_ms), &unit));
    sno_check_unchanged(a);
    if (status != FLAKE_OK) {
        fuzz_true("ID of a call that failed", sno_is_zero(id));
        return;
    }
    fuzz_same_u64("unit", sno_units(id), unit);
    fuzz_same("tick", sno_tick(id), 0);
    fuzz_same("meta", sno_meta(id), meta);
    fuzz_same("partition", sno_partition(id), sno_partition_now);
    fuzz_same_u64("number", sno_sequence(id), a->seq_min + a->with_time++ % a->oracle.cap);
}

/* ---- snapshots ---- */

/* A new generator, or shards, replace a generator, and continue as it would have. */
static void sno_play_restore(void) {
    player_actor *a = &player_actors[0];
    const uint8_t choice = fuzz_byte();
    if (fuzz_reading_ns > INT64_MAX - sno_unit_ms * FUZZ_MS) return; /* an init may wait for the end of this unit */
    if (sno_now == SNO_LANES) {
        const sno_snapshot all = sno_stand(a);
        const size_t n = 1 + choice % player_most_actors % (size_t)a->oracle.cap;
        fuzz_true("lanes of a snapshot", sno_make(SNO_LANES, n, sno_fixed_node(all.partition), &all));
        return;
    }
    if (sno_now != SNO_GENERATOR) return;
    const sno_snapshot s = sno_stand(a);
    if (!(choice & 1)) {
        sno_snapshot bad = s;
        switch (choice & 8 ? 4 : choice >> 1 & 3) {
        case 0: bad.wall_hi = -1; break;
        case 1: bad.wall_safe = (int64_t)1 << 39; break;
        case 2: bad.sequence = bad.sequence_min + (3u << 22); break;
        case 3: bad.sequence_max = (uint16_t)(bad.sequence_min + 2); break;
        default: bad.partition++; break;
        }
        flake_options o = player_scene.options;
        fuzz_same("init with a wrong snapshot",
                  sno_init(&sno_gens[1], flake_node_fixed(NULL, s.partition), &bad, &o, NULL), FLAKE_INVALID);
        sno_id id;
        fuzz_same("next after it", sno_next(&sno_gens[1], 0, &id), FLAKE_INVALID);
        return;
    }
    const bool nothing_drawn = !a->oracle.next.unit && !a->oracle.next.index;
    const bool any = a->any;
    const uint64_t last_time = a->last_time, last_seq = a->last_seq;
    if (choice & 2 && choice & 4 && !nothing_drawn) {
        size_t n = 1 + (choice >> 4) % player_most_actors % (size_t)a->oracle.cap;
        if (n == a->oracle.cap && !s.sequence_min) n--; /* no shard has only the number 0 */
        fuzz_true("shards of a snapshot", sno_make(SNO_SHARDS, n, sno_fixed_node(s.partition), &s));
        return;
    }
    fuzz_true("restore", sno_make(SNO_GENERATOR, 1, sno_fixed_node(s.partition), &s));
    a->any = any;
    a->last_time = last_time;
    a->last_seq = last_seq;
}

/* ---- queries ---- */

/* A check of retry_ns: at that time there is an ID, and 1 ns earlier there is none. The generator is
 * restored from a copy, which could not draw itself. */
static void sno_check_retry(const player_actor *a, int64_t retry_ns) {
    const script then = script_now;
    sno_gen before;
    sno_id id;
    if (retry_ns == INT64_MAX || fuzz_own_clock) return;
    memcpy((void *)&before, (const void *)sno_of(a), sizeof before); /* for which C++ has no `=` */
    if (retry_ns) {
        script_now.now_ns += retry_ns - 1;
        fuzz_reading_ns = script_now.now_ns;
        fuzz_true("nothing 1 ns before retry_ns", sno_try(sno_of(a), 0, &id) != FLAKE_OK);
        fuzz_reading_ns = ++script_now.now_ns;
    }
    fuzz_same("try after retry_ns", sno_try(sno_of(a), 0, &id), FLAKE_OK);
    memcpy((void *)sno_of(a), (const void *)&before, sizeof before);
    fuzz_back_to(&then);
}

static void sno_check_answers(player_actor *a) {
    const oracle *expect = &a->oracle;
    sno_check_position(a, script_now.sleeps > 0);
    fuzz_same_u64("cap", sno_cap(sno_of(a)), expect->cap);
    if (!player_scene.exact) return;
    fuzz_same("retry_ns", flake_retry_ns(a->gen), oracle_retry_ns(expect));
    sno_check_retry(a, oracle_retry_ns(expect));
    uint64_t now, len = 0;
    if (oracle_unit_at(expect, fuzz_reading_ns, &now) == ORACLE_OK && now >= expect->recorded && now >= expect->start)
        len = expect->next.unit > now ? expect->cap : expect->next.unit == now ? expect->next.index : 0;
    if (expect->next.unit <= expect->last_unit) {
        fuzz_same_u64("len", sno_len(sno_of(a)), len);
        fuzz_same_u64("sequence_now", sno_sequence_now(sno_of(a)), a->seq_min + (len ? len - 1 : 0));
    }
    flake_stats stats;
    flake_stats_get(a->gen, &stats);
    fuzz_same_u64("stats.ids", stats.ids, expect->ids);
    fuzz_same_u64("stats.batches", stats.batches, expect->batches);
}

/* ---- the player ---- */

static void sno_play_other(player_actor *a, player_call call) {
    if (call == PLAYER_WITH_TIME) sno_play_with_time(a);
    else sno_play_restore();
}

static const player sno_player = {{PLAYER_NEXT, PLAYER_NEXT, PLAYER_NEXT, PLAYER_TRY, PLAYER_TRY, PLAYER_TRY,
                                   PLAYER_NEXT_N, PLAYER_NEXT_N, PLAYER_TRY_N, PLAYER_TRY_AT, PLAYER_RESTORE,
                                   PLAYER_WITH_TIME, PLAYER_NONE, PLAYER_CLOCK, PLAYER_CLOCK, PLAYER_CLOCK},
                                  256,
                                  sno_open,
                                  sno_draw,
                                  sno_check_id,
                                  sno_remember,
                                  sno_check_unchanged,
                                  sno_play_other,
                                  sno_check_answers};

/* `fixed` NULL: any configuration, from the bytes. */
static inline void sno_play(const uint8_t *bytes, size_t size, const sno_fixed *fixed) {
    player_play(&sno_player, bytes, size, fixed);
}

#endif
