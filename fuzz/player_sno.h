/* SPDX-License-Identifier: MIT
 *
 * Plays one input on generators of sno.h: bytes choose options, calls and what the clock does. Each
 * answer must be the oracle's, no id may come twice, and the invariants of the header hold.
 */
#ifndef PLAYER_SNO_H
#define PLAYER_SNO_H

#include "player.h"
#include "sno.h"

typedef enum sno_kind { SNO_GENERATOR, SNO_SHARDS, SNO_LANES } sno_kind;
static const sno_kind sno_kinds[] = {SNO_GENERATOR, SNO_SHARDS, SNO_SHARDS, SNO_LANES};

/* One that draws. */
typedef struct sno_actor {
    sno_gen *gen;
    struct oracle oracle;
    uint32_t sequence_min;
    uint32_t drifts_before; /* of the snapshot that it was made from */
    uint64_t with_time;     /* calls */
    bool any;
    uint64_t last_unit, last_sequence; /* of the newest id */
} sno_actor;

enum { sno_most_actors = 5, sno_ring_most = 8, sno_most_taken = 60000 };
static const int64_t sno_epoch_ms = 1262304000000, sno_unit_ms = 4;

static sno_actor sno_actors[sno_most_actors];
static sno_gen sno_gens[sno_most_actors];
static flake_lane sno_lane_array[sno_most_actors];
static flake_ring sno_notes;
static flake_ring_slot sno_note_slots[sno_ring_most];
static unsigned sno_taken; /* partitions of this process */

static struct sno_scene {
    sno_kind kind;
    flake_options options;
    uint16_t partition;
    size_t actors;
    unsigned may;
    bool exact; /* the oracle can say what comes */
} sno_scene;

/* ---- options ---- */

/* What a snapshot says once its defaults are filled in; false: it must be refused. */
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
    player_set_waits(&expect, sno_scene.options.max_wait_ms);
    return expect;
}

/* Where a generator stands that was made from this snapshot. */
static void sno_oracle_go_on(oracle *expect, const sno_snapshot *s, uint64_t count) {
    const oracle_place zero = {(uint64_t)s->wall_hi, 0, s->drifts & 1};
    expect->recorded = zero.unit;
    expect->next = oracle_after(expect, zero, count);
    expect->safe[zero.tick] = 0;
    expect->safe[zero.tick ^ 1] = (uint64_t)s->wall_safe;
    expect->ids = expect->batches = expect->waits = expect->clock_backwards = expect->drifts = 0;
}

/* n actors over the bounds of `s`, of one partition; `s` NULL: all that is fresh. */
static void sno_cast(sno_kind kind, size_t n, const sno_snapshot *s) {
    struct sno_scene *scene = &sno_scene;
    const uint32_t low = s ? s->sequence_min : 0, high = s ? s->sequence_max : 65535;
    uint32_t next = low;
    scene->kind = kind;
    scene->actors = n;
    memset(sno_actors, 0, sizeof sno_actors);
    for (size_t i = 0; i < n; i++) {
        sno_actor *a = &sno_actors[i];
        a->gen = &sno_gens[i];
        const uint32_t cap = sno_cap(a->gen);
        fuzz_true("numbers of a shard", cap >= 1 && next + cap <= high + 1);
        a->sequence_min = next;
        a->oracle = sno_oracle_of(cap);
        if (s) {
            a->drifts_before = s->drifts;
            const uint64_t units = 1 + (s->sequence - low) / (high - low + 1);
            /* Of shards, all that the units begun have: which of them had which is gone. */
            sno_oracle_go_on(&a->oracle, s, kind == SNO_SHARDS ? units * cap : s->sequence - low + 1);
        }
        fuzz_same("partition", sno_gen_partition(a->gen), scene->partition);
        next += cap;
    }
    fuzz_same("end of the numbers", next, (int64_t)high + 1);
}

/* Makes what `kind` says from `given`; false: the options were refused, as they must be. */
static bool sno_make(sno_kind kind, size_t n, const sno_snapshot *given) {
    struct sno_scene *scene = &sno_scene;
    flake_options o = scene->options;
    sno_snapshot s;
    if (!given && sno_taken >= sno_most_taken) return false;
    if (given) s = *given;
    bool fits = !given || sno_judge(&s);
    fits &=
        o.max_wait_ms >= 0 && o.clock.kind >= FLAKE_CLOCK_EXACT && o.clock.kind <= FLAKE_CLOCK_FAST;
    if (kind == SNO_LANES) {
        o.lanes = LAST_OF(sno_lane_array, n);
        o.lane_count = n;
    }
    if (kind == SNO_GENERATOR) n = 1;
    else if (!n || (given && fits && n > (size_t)(s.sequence_max - s.sequence_min) + 1) ||
             (kind == SNO_SHARDS && given && fits && !s.sequence_min && n == (size_t)s.sequence_max + 1))
        fits = false;
    flake_why why = {""};
    const flake_status status = kind == SNO_SHARDS
                                    ? sno_init_shards(sno_gens, n, given, &o, &why)
                                    : sno_init(&sno_gens[0], given, &o, &why);
    fuzz_true("a reason if it is refused", (*why.text != 0) == (status != FLAKE_OK));
    fuzz_same("init", status, fits ? FLAKE_OK : FLAKE_INVALID);
    if (!fits) return false;
    sno_taken += !given;
    scene->partition = given ? s.partition : sno_gen_partition(&sno_gens[0]);
    sno_cast(kind, kind == SNO_LANES ? 1 : n, given ? &s : NULL);
    return true;
}

/* A configuration of the caller's own, to be played instead of any. */
typedef struct sno_fixed {
    sno_snapshot snapshot;
    flake_options options;
    unsigned may; /* what the clock may do, at most */
} sno_fixed;

static bool sno_open(const sno_fixed *fixed) {
    static const int64_t waits[] = {INT64_MAX, 0, 1, 5, 30, 30, 2000, -1};
    struct sno_scene *scene = &sno_scene;
    const uint8_t kind = fuzz_byte(), with = fuzz_byte();
    memset((void *)scene, 0, sizeof *scene);
    flake_options *o = &scene->options;
    scene->exact =
        !fuzz_own_clock && (!(with & 1) || !(with & 2)) && sno_kinds[kind & 3] != SNO_LANES;
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
    }
    const bool is_late = !o->clock.now_ns && !scene->exact && o->clock.kind != FLAKE_CLOCK_EXACT;
    fuzz_slack_ns = is_late ? 32 * FUZZ_MS : 0;
    if (kind & 8 && kind & 4) {
        fuzz_same("ring init", flake_ring_init(&sno_notes, sno_note_slots, 1 + (with & 7)),
                  FLAKE_OK);
        o->overflow = &sno_notes;
    }
    /* Patience without an end needs a clock that moves; so does a waiter who looks up each ms. */
    if (o->max_wait_ms > 1000) scene->may &= ~(unsigned)FUZZ_STICK;
    if (scene->exact) { /* who is blocked looks up each unit, the oracle does not */
        if (o->overflow) scene->may &= ~(unsigned)(FUZZ_STICK | FUZZ_JUMP);
        if (o->max_wait_ms != INT64_MAX) scene->may &= ~(unsigned)FUZZ_JUMP;
    } else if (scene->may & FUZZ_STICK) scene->may |= FUZZ_SHORT;
    if (!fixed || fixed->may & FUZZ_FAR) scene->may |= FUZZ_FAR;
    const size_t n = 1 + (size_t)(kind >> 4) % sno_most_actors;
    const sno_snapshot s = fixed ? fixed->snapshot : sno_snapshot_from_bytes();
    if (!sno_make(sno_kinds[kind & 3], fixed || with & 31 ? n : n - 1,
                  !fixed && fuzz_one_in(64) ? NULL : &s))
        return false;
    const oracle *expect = &sno_actors[0].oracle;
    if (expect->recorded && (with & 3) != 1) /* near the snapshot, or anywhere */
        fuzz_clock_begin(oracle_start_ns(expect, expect->recorded) +
                         ((int64_t)fuzz_byte() - 64) * FUZZ_MS);
    else fuzz_start_clock(expect);
    fuzz_stepped_back = fuzz_reading_ns < oracle_start_ns(expect, expect->recorded);
    fuzz_counts = is_late && o->clock.kind == FLAKE_CLOCK_FAST;
    if (is_late && !fuzz_counts) fuzz_coarse_lag_ns = (int64_t)fuzz_byte() * FUZZ_MS / 16;
    return true;
}

/* ---- ids ---- */

static void sno_check_id(sno_actor *a, const oracle_place *place, sno_id id, uint8_t meta) {
    const uint64_t unit = sno_units(id), number = (uint64_t)sno_sequence(id) - a->sequence_min;
    fuzz_same("meta", sno_meta(id), meta);
    fuzz_same("partition", sno_partition(id), sno_scene.partition);
    fuzz_true("number in its range", number < a->oracle.cap);
    if (place) {
        fuzz_same_u64("unit of the id", unit, place->unit);
        fuzz_same("tick of the id", sno_tick(id), place->tick);
        fuzz_same_u64("number of the id", number, place->index);
    }
    /* whatever the metabyte is */
    fuzz_set_add(unit << 17 | (uint64_t)sno_tick(id) << 16 | sno_sequence(id));
    if (a->any && !fuzz_stepped_back && sno_scene.kind != SNO_LANES)
        fuzz_true("id after the one before it",
                  unit > a->last_unit || (unit == a->last_unit && number > a->last_sequence));
    a->any = true;
    a->last_unit = unit;
    a->last_sequence = number;
}

/* I3 of sno.h: none is ahead of the clock. */
static void sno_check_not_ahead(const sno_actor *a, sno_id id) {
    fuzz_true("id not ahead of the clock", sno_units(id) <= player_latest_unit(&a->oracle));
}

/* ---- the state of an actor ---- */

static sno_snapshot sno_stand(sno_actor *a) {
    sno_snapshot s;
    memset(&s, 0xff, sizeof s);
    fuzz_same("snapshot", sno_snapshot_take(a->gen, &s), FLAKE_OK);
    fuzz_same("partition of the snapshot", s.partition, sno_scene.partition);
    fuzz_same("sequence_min of the snapshot", s.sequence_min, a->sequence_min);
    fuzz_same("sequence_max of the snapshot", s.sequence_max,
              (int64_t)(a->sequence_min + a->oracle.cap - 1));
    return s;
}

static void sno_check_unchanged(sno_actor *a, const sno_snapshot *before) {
    const sno_snapshot after = sno_stand(a);
    fuzz_same("sequence after a call that failed", after.sequence, before->sequence);
    fuzz_same("wall_hi after a call that failed", after.wall_hi, before->wall_hi);
    fuzz_same("wall_safe after a call that failed", after.wall_safe, before->wall_safe);
    fuzz_same("drifts after a call that failed", after.drifts, before->drifts);
}

/* The generator is where the oracle is. */
static void sno_check_position(sno_actor *a, bool waited) {
    oracle *expect = &a->oracle;
    const sno_snapshot s = sno_stand(a);
    const uint64_t cap = expect->cap;
    if (!sno_scene.exact) return;
    /* Who is blocked looks up each unit, so he may have queued up before his time had come. */
    if (waited && s.wall_hi >= 0 && (uint64_t)s.wall_hi < expect->recorded)
        expect->recorded = (uint64_t)s.wall_hi;
    fuzz_same("drifts", s.drifts, (int64_t)(uint32_t)(a->drifts_before + expect->drifts));
    fuzz_same("tick of the drifts", s.drifts & 1, expect->next.tick);
    fuzz_same_u64("wall_hi", (uint64_t)s.wall_hi, expect->recorded);
    const uint64_t safe = expect->safe[expect->next.tick ^ 1], last = ((uint64_t)1 << 39) - 1;
    fuzz_same_u64("wall_safe", (uint64_t)s.wall_safe, safe < last ? safe : last); /* a queue may reach past it */
    if (!expect->next.unit && !expect->next.index)
        return; /* no number drawn shows as the first one */
    const uint64_t count = (uint64_t)s.sequence - a->sequence_min + 1;
    fuzz_same_u64("unit of the next number", (uint64_t)s.wall_hi + count / cap, expect->next.unit);
    fuzz_same_u64("next number", count % cap, expect->next.index);
}

/* ---- calls ---- */

static void sno_compare_run(sno_actor *a, const fuzz_wanted *w, const sno_id *ids, size_t n,
                            uint8_t meta, bool in_time) {
    const bool exact = sno_scene.exact;
    if (exact) {
        fuzz_same("ids given", (int64_t)n, (int64_t)w->n);
        /* ... and gives up not at the unit's begin, as the oracle, but within it */
        const int64_t late_ns = script_now.now_ns - w->after_ns;
        if (w->status != ORACLE_CLOCK_BACK && w->status != ORACLE_AGAIN)
            fuzz_same("clock after the call", script_now.now_ns, w->after_ns);
        else fuzz_true("clock after the call", late_ns >= 0 && late_ns < sno_unit_ms * FUZZ_MS);
    }
    for (size_t i = 0; i < n; i++) sno_check_id(a, exact ? &w->places[i] : NULL, ids[i], meta);
    if (n && in_time) sno_check_not_ahead(a, ids[n - 1]);
}

static sno_id sno_nothing(void) {
    sno_id id;
    memset(&id, 0xee, sizeof id);
    return id;
}

/* What became of a call for one ID: one that fails returns zero, and changes nothing. */
static void sno_check_one(sno_actor *a, const fuzz_wanted *w, flake_status status, sno_id id,
                          const sno_snapshot *before, uint8_t meta, bool in_time) {
    if (sno_scene.exact) fuzz_same("status", status, (int64_t)w->status);
    sno_compare_run(a, w, &id, status == FLAKE_OK, meta, in_time);
    if (status == FLAKE_OK) return;
    fuzz_true("id of a call that failed", sno_is_zero(id));
    sno_check_unchanged(a, before);
}

static void sno_play_one(sno_actor *a, bool waits, uint8_t meta) {
    static fuzz_wanted w;
    const sno_snapshot before = sno_stand(a);
    sno_id id = sno_nothing();
    if (sno_scene.exact) fuzz_ask_oracle(&a->oracle, waits ? ORACLE_WAIT : ORACLE_TRY, 1, &w);
    const int slept = script_now.sleeps;
    const flake_status status = waits ? sno_next(a->gen, meta, &id) : sno_try(a->gen, meta, &id);
    if (!waits) fuzz_same("sleeps of a try", script_now.sleeps, slept);
    sno_check_one(a, &w, status, id, &before, meta, true);
}

static int64_t sno_ns_of(int64_t unix_ms) {
    const int64_t most = INT64_MAX / FUZZ_MS;
    return unix_ms > most ? INT64_MAX : unix_ms < -most ? INT64_MIN : unix_ms * FUZZ_MS;
}

static void sno_play_at(sno_actor *a, int64_t unix_ms, uint8_t meta) {
    static fuzz_wanted w;
    const sno_snapshot before = sno_stand(a);
    sno_id id = sno_nothing();
    if (sno_scene.kind == SNO_LANES) {
        fuzz_same("try_at with lanes", sno_try_at(a->gen, meta, unix_ms, &id),
                  unix_ms > INT64_MAX / FUZZ_MS ? FLAKE_TIME_RANGE : FLAKE_INVALID);
        return;
    }
    if (sno_scene.exact) player_ask_at(&a->oracle, unix_ms, &w);
    const flake_status status = sno_try_at(a->gen, meta, unix_ms, &id);
    sno_check_one(a, &w, status, id, &before, meta, false);
    fuzz_stepped_back |=
        sno_ns_of(unix_ms) > fuzz_reading_ns; /* ahead of it: then the clock seems put back */
}

static void sno_play_many(sno_actor *a, bool waits, uint8_t meta, size_t n) {
    static fuzz_wanted w;
    static sno_id ids[fuzz_most_places + 1];
    const sno_snapshot before = sno_stand(a);
    const bool was_back = fuzz_stepped_back;
    flake_status status = FLAKE_OK;
    size_t given = n;
    if (sno_scene.exact) fuzz_ask_oracle(&a->oracle, waits ? ORACLE_WAIT : ORACLE_TRY, n, &w);
    const int slept = script_now.sleeps;
    for (size_t i = 0; i <= n; i++) ids[i] = sno_nothing();
    if (waits) status = sno_next_n(a->gen, meta, ids, n);
    else {
        const flake_status tried = sno_try_n(a->gen, meta, ids, n, &given);
        fuzz_true("status of a batch that was tried", (tried == FLAKE_OK) == (given || !n));
    }
    if (sno_scene.exact && waits) fuzz_same("status", status, (int64_t)w.status);
    if (!waits) fuzz_same("sleeps of a try", script_now.sleeps, slept);

    if (status != FLAKE_OK)
        for (given = 0; given < n && !sno_is_zero(ids[given]);) given++;
    for (size_t i = given; i < n && status != FLAKE_OK; i++)
        fuzz_true("rest of a batch", sno_is_zero(ids[i]));
    for (size_t i = given; i < n && status == FLAKE_OK; i++)
        fuzz_true("rest of a batch that was tried", sno_equal(ids[i], sno_nothing()));
    fuzz_true("what lies behind the batch", sno_equal(ids[n], sno_nothing()));
    sno_compare_run(a, &w, ids, given, meta,
                    status == FLAKE_OK && (!waits || fuzz_stepped_back == was_back));
    if (!given) sno_check_unchanged(a, &before);
}

/* Old ids: any time, a sequence of their own, and no effect on the others. */
static void sno_play_with_time(sno_actor *a, int64_t unix_ms, uint8_t meta) {
    if (sno_scene.kind == SNO_LANES) return;
    const sno_snapshot before = sno_stand(a);
    sno_id id = sno_nothing();
    uint64_t unit = 0;
    const flake_status status = sno_with_time(a->gen, meta, unix_ms, &id);
    fuzz_same("status", status, (int64_t)oracle_unit_at(&a->oracle, sno_ns_of(unix_ms), &unit));
    sno_check_unchanged(a, &before);
    if (status != FLAKE_OK) {
        fuzz_true("id of a call that failed", sno_is_zero(id));
        return;
    }
    fuzz_same_u64("unit", sno_units(id), unit);
    fuzz_same("tick", sno_tick(id), 0);
    fuzz_same("meta", sno_meta(id), meta);
    fuzz_same("partition", sno_partition(id), sno_scene.partition);
    fuzz_same_u64("number", sno_sequence(id), a->sequence_min + a->with_time++ % a->oracle.cap);
}

/* ---- snapshots ---- */

/* A new generator, or shards, in the place of a generator: they go on as it would have. */
static void sno_play_restore(void) {
    sno_actor *a = &sno_actors[0];
    const uint8_t choice = fuzz_byte();
    if (sno_scene.kind == SNO_LANES) {
        const sno_snapshot all = sno_stand(a);
        const size_t n = 1 + choice % sno_most_actors % (size_t)a->oracle.cap;
        fuzz_true("lanes of a snapshot", sno_make(SNO_LANES, n, &all));
        return;
    }
    if (sno_scene.kind != SNO_GENERATOR) return;
    const sno_snapshot s = sno_stand(a);
    if (!(choice & 1)) {
        sno_snapshot bad = s;
        switch (choice >> 1 & 3) {
        case 0: bad.wall_hi = -1; break;
        case 1: bad.wall_safe = (int64_t)1 << 39; break;
        case 2: bad.sequence = bad.sequence_min + (3u << 22); break;
        default: bad.sequence_max = (uint16_t)(bad.sequence_min + 2); break;
        }
        flake_options o = sno_scene.options;
        fuzz_same("init with a wrong snapshot", sno_init(&sno_gens[1], &bad, &o, NULL),
                  FLAKE_INVALID);
        sno_id id;
        fuzz_same("next after it", sno_next(&sno_gens[1], 0, &id), FLAKE_INVALID);
        return;
    }
    const bool nothing_drawn = !a->oracle.next.unit && !a->oracle.next.index;
    const bool any = a->any;
    const uint64_t last_unit = a->last_unit, last_sequence = a->last_sequence;
    if (choice & 2 && choice & 4 && !nothing_drawn) {
        fuzz_true(
            "shards of a snapshot",
            sno_make(SNO_SHARDS, 1 + (choice >> 4) % sno_most_actors % (size_t)a->oracle.cap, &s));
        return;
    }
    fuzz_true("restore", sno_make(SNO_GENERATOR, 1, &s));
    a->any = any;
    a->last_unit = last_unit;
    a->last_sequence = last_sequence;
}

/* ---- questions ---- */

/* What retry_ns says, tried out: then there is an id, and 1 ns before there is none. The generator is put
 * back from a copy, which could not draw itself. */
static void sno_check_retry(const sno_actor *a, int64_t retry_ns) {
    const fuzz_moment then = fuzz_now();
    sno_gen before;
    sno_id id;
    if (retry_ns == INT64_MAX || fuzz_own_clock) return;
    memcpy((void *)&before, (const void *)a->gen, sizeof before); /* which C++ has no `=` for */
    if (retry_ns) {
        script_now.now_ns += retry_ns - 1;
        fuzz_reading_ns = script_now.now_ns;
        fuzz_true("nothing 1 ns before retry_ns", sno_try(a->gen, 0, &id) != FLAKE_OK);
        fuzz_reading_ns = ++script_now.now_ns;
    }
    fuzz_same("try after retry_ns", sno_try(a->gen, 0, &id), FLAKE_OK);
    memcpy((void *)a->gen, (const void *)&before, sizeof before);
    fuzz_back_to(&then);
}

static void sno_ask(sno_actor *a) {
    const oracle *expect = &a->oracle;
    fuzz_same_u64("cap", sno_cap(a->gen), expect->cap);
    if (!sno_scene.exact) return;
    fuzz_same("retry_ns", flake_retry_ns(&a->gen->gen), oracle_retry_ns(expect));
    sno_check_retry(a, oracle_retry_ns(expect));
    uint64_t now, len = 0;
    if (oracle_unit_at(expect, fuzz_reading_ns, &now) == ORACLE_OK && now >= expect->recorded)
        len = expect->next.unit > now    ? expect->cap
              : expect->next.unit == now ? expect->next.index
                                         : 0;
    if (expect->next.unit <= expect->last_unit) {
        fuzz_same_u64("len", sno_len(a->gen), len);
        fuzz_same_u64("sequence_now", sno_sequence_now(a->gen),
                      a->sequence_min + (len ? len - 1 : 0));
    }
    flake_stats stats;
    flake_stats_get(&a->gen->gen, &stats);
    fuzz_same_u64("stats.ids", stats.ids, expect->ids);
    fuzz_same_u64("stats.batches", stats.batches, expect->batches);
}

/* ---- the play ---- */

static const player_call sno_calls[16] = {
    PLAYER_NEXT,    PLAYER_NEXT,      PLAYER_NEXT,  PLAYER_TRY,    PLAYER_TRY,   PLAYER_TRY,
    PLAYER_NEXT_N,  PLAYER_NEXT_N,    PLAYER_TRY_N, PLAYER_TRY_AT,
    PLAYER_RESTORE, PLAYER_WITH_TIME, PLAYER_NONE,  PLAYER_CLOCK,  PLAYER_CLOCK, PLAYER_CLOCK};

/* Patience without an end, and years to go, by steps of ms. */
static bool sno_waits_for_ever(sno_actor *a) {
    return flake_retry_ns(&a->gen->gen) > 60 * 1000 * FUZZ_MS;
}

static void sno_play_step(void) {
    struct sno_scene *s = &sno_scene;
    const uint8_t choice = fuzz_byte();
    sno_actor *a = &sno_actors[s->actors > 1 ? fuzz_byte() % s->actors : 0];
    const uint8_t meta = (uint8_t)(choice * 37);
    player_call call = sno_calls[choice & 15];
    const bool waits = call == PLAYER_NEXT || call == PLAYER_NEXT_N;
    player_begin_step(call, (size_t)(a - sno_actors));
    size_t n = (size_t)(choice & 16 ? fuzz_below(256) : choice >> 5);
    const uint64_t most_waited = 8 * a->oracle.cap; /* a call has its end within a second of ours */
    fuzz_begin_call();
    if (waits && n > most_waited) n = (size_t)most_waited;
    if (waits && sno_waits_for_ever(a)) call = PLAYER_NONE;
    switch (call) {
    case PLAYER_NEXT:
    case PLAYER_TRY: sno_play_one(a, waits, meta); break;
    case PLAYER_NEXT_N:
    case PLAYER_TRY_N: sno_play_many(a, waits, meta, n); break;
    case PLAYER_TRY_AT:
        sno_play_at(a, player_given_ms(fuzz_reading_ns / FUZZ_MS, s->may), meta);
        break;
    case PLAYER_WITH_TIME:
        sno_play_with_time(a, player_given_ms(fuzz_reading_ns / FUZZ_MS, s->may), meta);
        break;
    case PLAYER_RESTORE: sno_play_restore(); break;
    case PLAYER_CLOCK: fuzz_move_clock(&a->oracle, s->may); break;
    default: break;
    }
    sno_check_position(a, script_now.sleeps > 0);
    sno_ask(a);
    if (s->options.overflow) player_read_notes(&sno_notes, (3u << 22) + fuzz_most_places);
}

/* `fixed` NULL: any configuration, from the bytes. */
static void sno_play(const uint8_t *bytes, size_t size, const sno_fixed *fixed) {
    fuzz_begin(bytes, size);
    memset(sno_actors, 0, sizeof sno_actors);
    if (!sno_open(fixed)) return;
    fuzz_set_clear();
    while (fuzz_left() && !fuzz_set_is_full()) {
        sno_play_step();
        fuzz_step++;
    }
}

#endif
