/* SPDX-License-Identifier: MIT
 *
 * The players: each plays one input on generators of a header. The input's first bytes choose the options, which the
 * header must accept or refuse as the player judges them; each further step is a call or a move of the scripted clock.
 * A call is made to the oracle of each actor (a generator, or one of some shards), then to the actor: status, IDs,
 * clock and queries must be the oracle's, where it can compute them; no ID may repeat, and the invariants of flake.h's
 * engine (I1 to I5) must hold in any case. This file has the steps; player_flake.h and player_sno.h have what differs:
 * options, IDs and queries of their header, and the calls that it alone has.
 */
#ifndef PLAYER_H
#define PLAYER_H

#include "fuzz.h"
#include "flake.h"

typedef enum player_call {
    PLAYER_NEXT,
    PLAYER_TRY,
    PLAYER_NEXT_N,
    PLAYER_TRY_N,
    PLAYER_TRY_AT,
    PLAYER_PREFETCH,
    PLAYER_WITH_TIME,
    PLAYER_RESTORE,
    PLAYER_CLOCK,
    PLAYER_NONE
} player_call;

/* A generator under test. */
typedef struct player_actor {
    flake_gen *gen; /* the first member of a sno_gen */
    struct oracle oracle;
    uint32_t seq_min;
    bool any;
    uint64_t last_time, last_seq; /* of the newest ID */
    flake_prefetch prefetch;
    oracle_stock stock;
    uint32_t drifts_before; /* of the snapshot that it was made from */
    uint64_t with_time;     /* calls */
} player_actor;

enum { player_most_actors = 5, player_most_lanes = 4, player_ring_most = 8 };
static player_actor player_actors[player_most_actors];
static flake_ring player_notes;
static flake_ring_slot player_note_slots[player_ring_most];
static flake128 player_ids[fuzz_most_places + 1]; /* output of a call; 64-bit IDs are zero-padded */

static struct player_scene {
    flake_options options; /* resolved; for all shards together */
    size_t actors;
    unsigned may;
    bool exact; /* the oracle can predict the next ID */
    bool has_lanes;
    bool lends_greatly;   /* more than count holds, while the oracle can predict the next ID */
    bool has_zero;        /* one ID is zero */
    uint64_t began_at;    /* the clock's unit before the call */
    uint64_t most_queued; /* callers, in a note */
    uint8_t choice;       /* of the step */
} player_scene;

/* ---- where the node comes from ---- */

typedef enum player_source {
    PLAYER_USUAL, /* the number, or of a layout without one, none */
    PLAYER_FIXED,
    PLAYER_NONE_AT_ALL,
    PLAYER_GATED,
    PLAYER_NO_GATE, /* gated by NULL */
    PLAYER_NO_DIR,  /* a free number of no directory */
    PLAYER_ZEROED
} player_source;

typedef struct player_node {
    player_source from;
    uint64_t number;
} player_node;

/* Any; mostly one that must be refused. What a failed flake_node_from_... sets does not become a number by
 * arithmetic. */
static inline player_node player_node_from_bytes(uint64_t number) {
    static const uint64_t failed = 0xBFFFFFFFBFFFBFFF;
    const uint64_t with = fuzz_number();
    const player_node any[] = {{PLAYER_FIXED, number},
                               {PLAYER_FIXED, with},
                               {PLAYER_FIXED, failed + with % 65536},
                               {PLAYER_FIXED, failed << with % 17},
                               {PLAYER_NONE_AT_ALL, 0},
                               {PLAYER_GATED, number},
                               {PLAYER_GATED, failed - with % 65536},
                               {PLAYER_NO_GATE, number},
                               {PLAYER_NO_DIR, number},
                               {PLAYER_ZEROED, 0}};
    return any[fuzz_byte() % (sizeof any / sizeof *any)];
}

static flake_status player_admit(void *user, int64_t until_ns) {
    (void)user;
    (void)until_ns;
    return FLAKE_OK;
}

static inline flake_node player_flake_node(player_node node) {
    flake_gate gate;
    flake_node zeroed;
    memset(&gate, 0, sizeof gate);
    memset(&zeroed, 0, sizeof zeroed);
    gate.admit = player_admit;
    switch (node.from) {
    case PLAYER_NONE_AT_ALL: return flake_node_none();
    case PLAYER_GATED: return flake_node_gated(&gate, node.number);
    case PLAYER_NO_GATE: return flake_node_gated(NULL, node.number);
    case PLAYER_NO_DIR: return flake_node_any(NULL, node.number, node.number);
    case PLAYER_ZEROED: return zeroed;
    default: return flake_node_fixed(NULL, node.number);
    }
}

/* The status that init must return for it, if an ID has so many bits of node. */
static inline flake_status player_judge_node(player_node node, unsigned bits) {
    switch (node.from) {
    case PLAYER_NONE_AT_ALL: return bits ? FLAKE_INVALID : FLAKE_OK;
    case PLAYER_FIXED:
    case PLAYER_GATED:
        if (!bits) return FLAKE_INVALID;
        return node.number < UINT64_C(1) << bits ? FLAKE_OK : FLAKE_NODE_RANGE;
    default: return FLAKE_INVALID;
    }
}

/* What differs between the headers. */
typedef struct player {
    player_call calls[16];
    uint64_t most_drawn;
    bool (*open)(const void *fixed); /* false: the options were refused, as they must be */
    /* Calls for n IDs, which begin in player_ids; *given: how many a try_n returned. */
    flake_status (*draw)(player_actor *, player_call, int64_t unix_ms, size_t n, size_t *given);
    /* `place` NULL: any ticket that fits. Returns the unit. */
    uint64_t (*check_id)(player_actor *, const oracle_place *place, const flake128 *id, bool in_order);
    void (*remember)(player_actor *); /* the state, which a failed call leaves unchanged */
    void (*check_unchanged)(player_actor *);
    void (*play_other)(player_actor *, player_call);
    void (*check_answers)(player_actor *);
} player;
static const player *player_now;

/* The call that draws: ids is the last argument but for the count. */
#define PLAYER_DRAW(prefix, ids, ...)                              \
    (call == PLAYER_NEXT     ? prefix##_next(__VA_ARGS__, ids)     \
     : call == PLAYER_TRY    ? prefix##_try(__VA_ARGS__, ids)      \
     : call == PLAYER_NEXT_N ? prefix##_next_n(__VA_ARGS__, ids, n) \
     : call == PLAYER_TRY_N  ? prefix##_try_n(__VA_ARGS__, ids, n, given) \
                             : prefix##_try_at(__VA_ARGS__, unix_ms, ids))

static inline void player_add_ring(flake_options *o, unsigned slots) {
    fuzz_same("ring init", flake_ring_init(&player_notes, player_note_slots, slots), FLAKE_OK);
    o->overflow = &player_notes;
}

/* Whether an init has made generators; it must have returned what was wanted. */
static inline bool player_has_begun(flake_status status, flake_status wanted, const flake_why *why) {
    fuzz_true("a reason if it is refused", (*why->text != 0) == (status != FLAKE_OK));
    fuzz_same("init", status, wanted);
    return status == FLAKE_OK;
}

/* How long an oracle waits; 0: the default. */
static inline void player_set_waits(oracle *o, int64_t max_wait_ms) {
    if (!max_wait_ms) max_wait_ms = 1000;
    o->max_wait_ns = max_wait_ms > INT64_MAX / FUZZ_MS ? INT64_MAX : max_wait_ms * FUZZ_MS;
    o->clock_ns = &fuzz_reading_ns;
    o->sleep = fuzz_sleep;
}

/* A coarse clock may read less than this, and a time before the layout's last unit. */
static inline uint64_t player_latest_unit(const oracle *o) {
    uint64_t now = 0;
    if (oracle_unit_at(o, fuzz_latest_ns(), &now) != ORACLE_OK)
        now = fuzz_latest_ns() < oracle_start_ns(o, 0) ? 0 : o->last_unit;
    return now;
}

/* A time for a call: the clock's, one near it, or any. */
static inline int64_t player_given_ms(void) {
    const int64_t now_ms = fuzz_reading_ns / FUZZ_MS;
    const uint8_t choice = fuzz_byte();
    if (choice < 100 || player_scene.lends_greatly) return now_ms;
    if (choice < 150) return now_ms - (int64_t)fuzz_below(1 << 12);
    if (choice < 200 || !(player_scene.may & FUZZ_OUTSIDE)) return now_ms + choice % 16;
    const uint64_t any = fuzz_number();
    return (int64_t)(choice & 1 ? any : 0 - any);
}

static inline int64_t player_ns_of(int64_t unix_ms) {
    const int64_t most = INT64_MAX / FUZZ_MS;
    return unix_ms > most ? INT64_MAX : unix_ms < -most ? INT64_MIN : unix_ms * FUZZ_MS;
}

/* The result of try_at for that time. */
static inline void player_ask_at(oracle *o, int64_t unix_ms, fuzz_wanted *w) {
    oracle_run run = {{0, 0, 0}, 0};
    w->status = unix_ms > INT64_MAX / FUZZ_MS ? ORACLE_RANGE : oracle_draw_at(o, player_ns_of(unix_ms), &run);
    w->n = w->status == ORACLE_OK;
    w->places[0] = run.first;
    w->after_ns = script_now.now_ns;
}

static inline bool player_is(const flake128 *id, uint8_t byte) {
    for (size_t i = 0; i < sizeof id->bytes; i++)
        if (id->bytes[i] != byte) return false;
    return true;
}

/* I3 of the headers: none is ahead of the clock by more than max_ahead. For a generator that continues after
 * a backward step, the clock counts as the time of its newest ID, minus what n IDs fill. */
static inline void player_check_not_ahead(const player_actor *a, uint64_t time, uint64_t had, size_t n) {
    uint64_t now = player_latest_unit(&a->oracle);
    if (a->oracle.continues_past_clock) {
        const size_t lanes = player_scene.has_lanes ? player_scene.options.lane_count : 1;
        if (had < player_scene.began_at) had = player_scene.began_at;
        if (had < a->oracle.start && !a->oracle.no_wait) had = a->oracle.start;
        if (now < had + 1 + n * lanes / a->oracle.cap) now = had + 1 + n * lanes / a->oracle.cap;
    }
    fuzz_true("ID not ahead of the clock", time <= now + a->oracle.max_ahead);
}

/* What a call for n IDs leaves in player_ids: the first `given` are IDs. If it failed, the rest is zero; otherwise
 * it is untouched. */
static inline void player_check_ids(player_actor *a, const fuzz_wanted *w, flake_status status,
                                    size_t n, size_t given, bool in_order, bool in_time) {
    const bool exact = player_scene.exact, failed = status != FLAKE_OK;
    const uint64_t had = a->last_time;
    uint64_t time = 0;
    for (size_t i = given; i < n; i++)
        fuzz_true(failed ? "rest of a call that failed" : "rest of a batch that was tried",
                  player_is(&player_ids[i], failed ? 0 : 0x5e));
    fuzz_true("the elements after the IDs", player_is(&player_ids[n], 0x5e));
    if (exact) {
        /* Blocked callers of sno.h check each unit: they give up within one, not at its start. */
        const bool may_be_late = a->oracle.ticks && (w->status == ORACLE_CLOCK_BACK || w->status == ORACLE_AGAIN);
        const int64_t late_ns = script_now.now_ns - w->after_ns;
        fuzz_same("IDs returned", (int64_t)given, (int64_t)w->n);
        if (may_be_late && late_ns > 0) fuzz_true("clock after the call", late_ns < a->oracle.unit_ms * FUZZ_MS);
        else fuzz_same("clock after the call", script_now.now_ns, w->after_ns);
    }
    for (size_t i = 0; i < given; i++)
        time = player_now->check_id(a, exact ? &w->places[i] : NULL, &player_ids[i], in_order);
    if (given && in_time) player_check_not_ahead(a, time, had, given);
    if (!given && !(failed && n > 1 && !exact && player_scene.has_zero)) player_now->check_unchanged(a);
}

static inline void player_play_draw(player_actor *a, player_call call, size_t n) {
    static fuzz_wanted w;
    const bool waits = call == PLAYER_NEXT || call == PLAYER_NEXT_N, at = call == PLAYER_TRY_AT;
    const bool one = call != PLAYER_NEXT_N && call != PLAYER_TRY_N, exact = player_scene.exact;
    const bool was_back = fuzz_stepped_back;
    const int64_t unix_ms = at ? player_given_ms() : 0;
    size_t given = n;
    if (one) n = 1;
    memset(player_ids, 0x5e, (n + 1) * sizeof *player_ids);
    if (at && player_scene.has_lanes) {
        fuzz_same("try_at with lanes", player_now->draw(a, call, unix_ms, n, &given),
                  unix_ms > INT64_MAX / FUZZ_MS ? FLAKE_TIME_RANGE : FLAKE_INVALID);
        return;
    }
    player_now->remember(a);
    if (exact && at) player_ask_at(&a->oracle, unix_ms, &w);
    else if (exact) fuzz_ask_oracle(&a->oracle, waits ? ORACLE_WAIT : ORACLE_TRY, n, &w);
    const int slept = script_now.sleeps;
    const bool is_sure = player_scene.has_lanes && !fuzz_slack_ns && !was_back && call != PLAYER_NEXT_N && n &&
                         flake_available(a->gen);
    flake_status status = player_now->draw(a, call, unix_ms, n, &given);
    if (is_sure) fuzz_same("a draw of what some lane has", status, FLAKE_OK);
    if (!waits) fuzz_same("sleeps of a try", script_now.sleeps, slept);
    if (exact && call != PLAYER_TRY_N) fuzz_same("status", status, (int64_t)w.status);
    if (one && !at)
        fuzz_true("status", status == FLAKE_OK || status == FLAKE_AGAIN ||
                                status == FLAKE_CLOCK_BACKWARDS || status == FLAKE_TIME_RANGE);
    if (call == PLAYER_TRY_N) {
        fuzz_true("status of a batch that was tried", (status == FLAKE_OK) == (given || !n));
        status = FLAKE_OK;
    } else if (one) given = status == FLAKE_OK;
    else if (status != FLAKE_OK && exact) given = w.n;
    else if (status != FLAKE_OK) /* zeros after the IDs, of which only the first may be zero, too */
        for (given = n; given && player_is(&player_ids[given - 1], 0);) given--;
    else given = n;
    player_check_ids(a, &w, status, n, given, !player_scene.has_lanes,
                     one ? !at : status == FLAKE_OK && (!waits || fuzz_stepped_back == was_back));
    /* Ahead of the clock: then the clock seems to go backwards. */
    if (at) fuzz_stepped_back |= player_ns_of(unix_ms) > fuzz_reading_ns;
}

/* In steps of a unit, as callers without a ticket sleep, a wait of years takes too long. */
static inline bool player_waits_for_ever(const player_actor *a) {
    if (player_scene.exact && !a->oracle.without_places && !a->oracle.ticks) return false;
    return flake_retry_ns(a->gen) > 60000 * FUZZ_MS;
}

static inline void player_play_step(void) {
    static const char *const names[] = {"next",     "try",       "next_n",  "try_n", "try_at",
                                        "prefetch", "with_time", "restore", "clock", "none"};
    struct player_scene *s = &player_scene;
    const uint8_t choice = s->choice = fuzz_byte();
    const size_t actor = s->actors > 1 ? fuzz_byte() % s->actors : 0;
    player_actor *const a = &player_actors[actor];
    player_call call = player_now->calls[choice & 15];
    const bool waits = call == PLAYER_NEXT || call == PLAYER_NEXT_N;
    fuzz_call = names[call];
    if (fuzz_traced) printf("%u %s, actor %d\n", fuzz_step, fuzz_call, (int)actor);
    size_t n = (size_t)(choice & 16 ? fuzz_below(choice & 32 ? player_now->most_drawn : 256) : choice >> 5);
    if (s->lends_greatly && n > 256) n = fuzz_most_places;
    const uint64_t most_waited = 8 * a->oracle.cap; /* within a second of the predicted time */
    fuzz_begin_call();
    s->began_at = player_latest_unit(&a->oracle);
    if (waits && n > most_waited) n = (size_t)most_waited;
    if (waits && player_waits_for_ever(a)) call = PLAYER_NONE;
    if (call <= PLAYER_TRY_AT) player_play_draw(a, call, n);
    else if (call == PLAYER_CLOCK) fuzz_move_clock(&a->oracle, s->may);
    else if (call != PLAYER_NONE) player_now->play_other(a, call);
    player_now->check_answers(a);
    flake_overflow note; /* notes are written while callers queue; with any clock, they count a queue that existed */
    while (s->options.overflow && flake_ring_pop(&player_notes, &note))
        fuzz_true("queued callers of a note", note.waiting <= s->most_queued);
}

/* `fixed` NULL: any configuration, from the bytes. */
static inline void player_play(const player *p, const uint8_t *bytes, size_t size, const void *fixed) {
    player_now = p;
    fuzz_begin(bytes, size);
    memset((void *)player_actors, 0, sizeof player_actors);
    memset((void *)&player_scene, 0, sizeof player_scene);
    if (!p->open(fixed)) return;
    fuzz_set_clear();
    while (fuzz_left() && !fuzz_set_is_full()) {
        player_play_step();
        fuzz_step++;
    }
}

#endif
