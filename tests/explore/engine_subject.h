/* SPDX-License-Identifier: MIT
 *
 * What explore_engine.c explores: a scenario's fields, the events it can reach, and the objects that its
 * threads share.
 */
#ifndef ENGINE_SUBJECT_H
#define ENGINE_SUBJECT_H

#include "explorer.h"

/* ---- events that a scenario can reach ---- */
enum {
    SLEPT = 1 << 0,
    QUEUED = 1 << 1,      /* drew a ticket in a future unit */
    REBASED = 1 << 2,     /* a queue was carried into a later unit */
    LATE = 1 << 3,        /* a fetch_add took a ticket after the unit's last */
    MOVED = 1 << 4,       /* a fetch_add took a ticket in a unit or timeline other than the one read */
    OUTRUN = 1 << 5,      /* a CAS on the word failed */
    BATCHED = 1 << 6,     /* several tickets with one move */
    RETURNED = 1 << 7,    /* a ticket was returned */
    UNUSED = 1 << 8,      /* a ticket was left unused */
    AGAIN = 1 << 9,
    BACK = 1 << 10,       /* CLOCK_BACK */
    TOGGLED = 1 << 11,    /* the timeline */
    LEAPT = 1 << 12,      /* the word's time went past the clock */
    NOTED = 1 << 13,
    CLOSED = 1 << 14,     /* a note that the overflow is over */
    OWED = 1 << 15,       /* the same, but the ring was full */
    SHUT = 1 << 16,       /* the gate refused */
    RETAGGED = 1 << 17,   /* sno_generate changed over to another partition */
    DROPPED = 1 << 18,    /* and a ticket drawn before that is discarded */
    WRITTEN = 1 << 19,    /* a horizon, by a draw or a timer */
    ENDED = 1 << 20,      /* the generator was closed: CLOSED */
    LOST = 1 << 21,       /* asleep while the engine was closed */
    FAR = 1 << 22,        /* a given time was too far ahead */
    UNEXTENDED = 1 << 23, /* the timer was late */
    MET = 1 << 24         /* a start is a partition that a relative has taken */
};
static const char *const event_names[] = {
    "slept", "queued", "rebased", "late", "moved", "outrun", "batched", "returned", "unused", "again", "back",
    "toggled", "leapt", "noted", "closed", "owed", "shut", "retagged", "dropped", "written", "ended", "lost", "far",
    "unextended", "met"};
static unsigned events; /* of all executions of a scenario */

typedef enum tested { FLAKE, SNO, TWO_WORDS, DEFAULT, RELATIVES } tested;

typedef struct scenario {
    const char *name, *shows;
    /* n next   t try   N next_n of 3   T try_n of 3   f prefetch_next, two at a time c try and C
     * next, which continue after a backward step
     * g try_at with the time of the start   G the same, 2 ms later
     * s the newest unit; of a sno a snapshot   r retry_ns   v stats
     * o next on one's shard   O try   M try_n of 3
     * l next from lanes   L try   Q next_n of 3   q try_n of 3
     * k close the generator   e extend its claim
     * x close the gate, by its word   b clone
     * p pop a note   w the generator of two words
     * d sno_generate   P take a partition, as a process of a family */
    const char *calls[FIBERS];
    int clock[7];   /* ms: the start, then each step, then 0 */
    int slack_ms;   /* the coarse clock's */
    int counter[7]; /* us that the fast clock's counter reads at each step; {0}: another clock */
    unsigned must;  /* events */
    tested of;
    unsigned cap; /* 0: 2 */
    int wait_ms;  /* 0: 5,000, and draws are by fetch_add; up to 1,000: by CAS alone */
    int ahead_ms;
    unsigned gate;  /* the last unit that it admits; 0: no gate */
    int horizon_ms; /* how far the claim's file is ahead of use; 0: no directory */
    bool manual_extend;
    unsigned time, tick, count; /* the word at the start, */
    unsigned safe[2];           /* and the time used on each timeline */
    unsigned shards;            /* 0: one generator; else thread i has shard i */
    unsigned lanes;             /* 0: none */
    bool one_slot;              /* the threads share one slot of the lanes' map */
    unsigned ring;              /* slots */
    int bound;                  /* preemptions; 0: any number */
    bool full;                  /* a unit of 2^20 fills the count, and carries into time */
    bool starts;                /* the engine starts in the next unit, and a predecessor has used this one */
    bool fail_on_backwards, coarse, stuck, early;
    bool cuts;          /* some executions are cut */
    bool every;         /* again without pruning, with equal results */
    const char *caught; /* it must fail, with this in the message */
} scenario;

static const scenario *current;

#include "engine_steps.h"
#include "files.h"

/* constant, or equal states would have different hashes */
static bool draw_none(void);
#define FLAKE_RANDOM_BYTES(to, n) ((void)(to), (void)(n), draw_none())
#define FLAKE_CLOCK_SLACK_NS      ((uint64_t)(current->slack_ms * MS))
/* threads have a map slot each, or all share one */
#define FLAKE_LANE() (current->one_slot ? 0 : run_now.me)
#include "flake.h"
#include "sno.h"

static bool calls_any(char letter) { return calls_have(current->calls, letter); }

// >>subject
//
// The objects that the threads share.

enum { ENGINES = 2, SLOTS = 4 };

static struct {
    /* shards, or in the first place one generator, with lanes or without */
    flake_gen flake[ENGINES];
    sno_gen sno[ENGINES];
    flake_lane lane[ENGINES];
    flake_prefetch prefetch[FIBERS];
    flake_ring ring;
    flake_ring_slot slots[SLOTS];
    uint64_t two_time, two_seq;
    uint64_t gate_word;
    uint64_t records[2]; /* of the file: [ number ][ horizon, ns:40 ][ not synced:1 ] */
} our, at_start;
static struct file file_at_start;
static struct flake_i_process process_at_start;
static uint64_t *fork_page, mark_at_start;

enum { GATE_OPEN = 77 };

/* Whether the engine is closed, as draws can detect. */
static bool is_bumped(void) { return fork_page && *fork_page != mark_at_start; }
static bool is_lost(void) { return is_bumped() || our.gate_word == 0; }

static flake_i_engine *engines[ENGINES];
static unsigned n_engines;
static bool ask_stats, ask_past; /* whether any thread calls stats, for past words */

/* Of RELATIVES each thread is a process: the family's pages are shared, this is not. */
static struct {
    uint64_t next;
    uint32_t clone_count;
    bool cloned, drew; /* since it took a partition; a start since it was cloned */
} relatives[FIBERS];
static uint16_t any_start; /* all random starts are this one */
static struct sno_i_family family;

static void *own(void *at) {
    if (current->of != RELATIVES || run_now.me >= FIBERS) return at;
    if (at == &sno_i_partitions.next) return &relatives[run_now.me].next;
    return at == &flake_i_process.clone_count ? &relatives[run_now.me].clone_count : at;
}

static bool draw_none(void) {
    if (run_now.me < FIBERS) relatives[run_now.me].drew = true;
    return false;
}

static const char *name_of_relatives(const void *at) {
    static const char *const next[] = {"next_a", "next_b", "next_c", "next_d"};
    for (unsigned i = 0; i < FIBERS; i++) {
        if (at == &relatives[i].next) return next[i];
        if (at == &relatives[i].clone_count) return "clones";
    }
    return at >= (const void *)&family && at < (const void *)(&family + 1) ? "taken" : NULL;
}

/* Of the default generator; the rest of it never changes here. */
static uint64_t marks[2];
static const char *name_of_default(const void *at) {
    for (unsigned i = 0; i < SNO_I_DEFAULT_PLACES; i++)
        if (at == &sno_i_default.places[i].word) return "word";
    return at == &sno_i_default.engine             ? "engine"
           : at == &sno_i_default.tag              ? "tag"
           : at == &sno_i_default.begun            ? "begun"
           : at == &flake_i_process.instance_count ? "generation"
           : at == &flake_i_process.clone_count    ? "clones"
           : at == &sno_i_partitions.next          ? "next"
           : at == &marks[0]                       ? "mark"
                                                   : name_of_relatives(at);
}

static const uint32_t *lanes_turn(void) {
    return current->of == SNO ? &our.sno[0].gen.lanes.turn : &our.flake[0].lanes.turn;
}
static const uint32_t *lanes_map(void) {
    return current->of == SNO ? our.sno[0].gen.lanes.map : our.flake[0].lanes.map;
}

/* The hints of lanes, which a draw may write although it fails. */
static bool is_hint(const void *at) {
    return at == lanes_turn() || (at >= (const void *)lanes_map() && at < (const void *)(lanes_map() + FIBERS));
}

/* The object at an address; NULL: no thread acts on it, so an access is not a step. */
static const char *name_of(const void *at) {
    static const struct {
        const void *at;
        const char *name;
    } others[] = {
        {&flake_i_process.page, NULL},
        {&flake_i_process.instance_count, NULL},
        {&flake_i_process.clone_count, NULL},
        {&flake_i_counter.rate, NULL}, /* the readings are too few for another rate */
        {&flake_i_counter.calibrated_at, NULL},
        {&flake_i_counter.calibration, NULL},
        {&our.flake[0].claim.holder, NULL},
        {&our.sno[0].gen.claim.holder, NULL}, /* these have no directory */
        {&our.sno[0].gen.claim.writer, NULL},
        {&our.sno[0].gen.identity_hash, NULL}, /* nor a stock */
        {&our.flake[0].claim.horizon_ns, "horizon_ns"},
        {&our.flake[0].claim.admitted_ns, "admitted_ns"},
        {&our.flake[0].claim.retry_from_ns, "retry_from_ns"},
        {&the_file.position, "seek"},
        {&our.records[0], "record0"},
        {&our.records[1], "record1"},
        {&our.gate_word, "gate word"},
        {&world.counter, "counter"},
        {&our.ring.head, "head"},
        {&our.ring.tail, "tail"},
        {&our.slots[0].turn, "turn0"},
        {&our.slots[1].turn, "turn1"},
        {&our.slots[2].turn, "turn2"},
        {&our.slots[3].turn, "turn3"},
        {&our.two_time, "time"},
        {&our.two_seq, "sequence"},
    };
    if (current->of == DEFAULT) return name_of_default(at);
    if (current->of == RELATIVES) return name_of_relatives(at);
    for (unsigned i = 0; i < n_engines; i++) {
        const flake_i_engine *e = engines[i];
        if (at == &e->word) return i ? "word1" : "word";
        if (at == &e->fast_until) return "lease";
        if (at == &e->safe[0]) return "safe[0]";
        if (at == &e->safe[1]) return "safe[1]";
        if (at == &e->drifts) return "drifts";
        if (at == &e->overflow) return "overflow";
        if (at == &e->rebased) return ask_stats ? "rebased" : NULL;
        if (at == &e->is_closed) return calls_any('k') ? "is_closed" : NULL;
        if (at == &e->first_limit) return calls_any('k') ? "first_limit" : NULL;
        if (at == &e->batches || at == &e->waits || at == &e->clock_backwards ||
            (at == &e->ticks_per_window && !current->counter[1]))
            return NULL;
        if (at == &e->ticks_per_window) return "ticks";
    }
    const flake_gen *const g = our.flake;
    if (at == &g->claim.writer) return current->lanes || current->shards ? NULL : "writer";
    if (at == &g->identity_hash) return !current->lanes && (current->shards || calls_any('k')) ? "identity_hash" : NULL;
    if (at == &g->engine.first_limit || at == &g->engine.is_closed) return NULL; /* no thread draws from it */
    if (at == lanes_turn()) return "turn";
    if (is_hint(at)) return current->one_slot ? "map" : NULL; /* else each thread's own */
    if (at == fork_page) return calls_any('b') ? "fork word" : NULL;
    if (at == our.prefetch[0].instance_word || at == fork_page + 1) return NULL;
    const flake_atomic64 *const page = flake_i_process.page;
    if (page && (at == page || at == page + 1)) return NULL; /* no thread forks */
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (at == others[i].at) return others[i].name;
    return "other";
}

// >>file
//
// Seeks, writes and syncs of the number's file are steps like any other access.

static uint64_t number_of(unsigned i) { return our.records[i] >> 41; }
static bool is_dirty(unsigned i) { return our.records[i] & 1; }

/* The least horizon that a power cut leaves, ns. */
static int64_t lasting_ns(void) {
    const unsigned newer = number_of(1) > number_of(0), older = !newer;
    const unsigned left = is_dirty(newer) ? older : newer;
    if (!number_of(left) || is_dirty(left)) return INT64_MIN;
    return (int64_t)(our.records[left] >> 1 & (((uint64_t)1 << 40) - 1));
}

static uint64_t hash_of_bytes(const uint8_t *bytes, size_t n) {
    uint64_t hash = n;
    for (size_t i = 0; i + 8 <= n; i += 8) hash = hash_mix(hash, flake_i_get64(bytes + i));
    return hash;
}

static void file_seek(uint64_t at) { store(&the_file.position, sizeof the_file.position, at); }
static bool file_locked(bool lock) { return (void)lock, true; } /* no effect among threads that share the open file */

static void file_was_read(const uint8_t *bytes, size_t n) {
    if (run_now.me < FIBERS) learn(hash_of_bytes(bytes, n));
}

static void file_written(uint64_t at, const uint8_t *record, size_t n, bool is_new) {
    const unsigned i = at >= FILE_SIZE / 2;
    file_was_read(record, n);
    if (!is_new) return; /* a record is written again */
    if (at == 512 || at == 512 + 4096) {
        if (is_dirty(!i) || is_dirty(i)) fail("a record is written while another is not on disk");
        if (number_of(i) > number_of(!i)) fail("the newest record is overwritten");
        if (flake_i_get64(record) <= number_of(!i)) fail("a record's number is not new");
    } else if (run_now.me < FIBERS) fail("a record is written beside its place: there are two writers");
    store(&our.records[i], sizeof our.records[i], flake_i_get64(record) << 41 | flake_i_get64(record + 8) << 1 | 1);
}

static void file_synced(void) {
    for (unsigned i = 0; i < 2; i++)
        if (is_dirty(i)) store(&our.records[i], sizeof our.records[i], our.records[i] & ~(uint64_t)1);
}

/* The engine that `at` belongs to; n_engines: none. */
static unsigned engine_of(const void *at) {
    unsigned i = 0;
    while (i < n_engines && ((const char *)at < (const char *)&engines[i]->fast_until ||
                             (const char *)at > (const char *)&engines[i]->clock_backwards))
        i++;
    return i;
}

/* A word, decoded. `at` is its position: tickets since time 0. */
typedef struct point {
    uint64_t time, count, at;
    unsigned tick;
} point;

static point point_of(uint64_t word) {
    const flake_i_engine *e = engines[0];
    point p;
    p.time = word >> e->time_shift;
    p.tick = (unsigned)(word >> (e->time_shift - 1)) & e->tick_bits;
    p.count = word & e->count_mask;
    if (current->full && !p.count && p.time) { /* the carry of a full unit */
        p.time--;
        p.count = e->unit_capacity;
    }
    p.at = p.time * e->unit_capacity + p.count;
    return p;
}

static uint64_t unit_of(int64_t ns) { return (uint64_t)(ns / MS); }

static void show(const void *at, uint64_t value, char *out, size_t size) {
    const unsigned i = engine_of(at);
    if (!at) {
        (void)snprintf(out, size, "%.6g ms", (double)value / 1e6);
    } else if (i < n_engines && at == &engines[i]->word) {
        const point p = point_of(value);
        (void)snprintf(out, size, "%" PRIu64 "%s+%" PRIu64, p.time,
                       current->of != SNO ? ""
                       : p.tick           ? "B"
                                          : "A",
                       p.count);
    } else if (i < n_engines && at == &engines[i]->overflow) {
        (void)snprintf(out, size, "%" PRIu64 "ms:%" PRIx64, value >> 24, value & 0xffffff);
    } else (void)snprintf(out, size, "%" PRIu64, value);
}

#endif
