/* SPDX-License-Identifier: MIT
 *
 * Every interleaving of a few calls to flake.h and sno.h, and of a clock that is put forward and
 * back between any two accesses. explore.h says how.
 *
 *     explore_engine                     all scenarios, the standing set; closes with "N passed, N
 *                                        failed", and fails if they take more CPU time than MOST_S
 *     explore_engine WORD...             those whose names contain one of the words
 *     explore_engine --list              what each of them shows
 *     explore_engine NAME --replay LIST  one execution, step by step; LIST is what a failure printed
 *
 * A scenario is a line in the table at the end: what each thread calls, one letter a call, what the
 * clock does meanwhile, and where the engine stands at the start. What must hold does not depend on
 * the scenario, and is checked at each access (`watch`) and each return (`call`):
 *
 *   I1   A move of the word draws places above all that have been drawn before on that timeline and
 *        not been given back. What is given back is the newest, is the giver's, and has not been
 *        handed out. What is handed out the caller has drawn. So nothing is handed out twice.
 *   I2   A call that says CLOCK_BACK or leaves a timeline does so on a reading that it took after it
 *        had loaded a word of a later time.
 *   I3   No place is handed out that lies more than max_ahead past the reading it was drawn on, and
 *        those taken since.
 *   I4   A call that fails has written nothing; what a waiter drew he has given back, unless the word
 *        was moved by another since. (Two writes are free, and have checks of their own: safe[]
 *        never passes what its timeline has used, drifts only becomes what it should be.)
 *   I5   A move that leaves a timeline finds safe[] at or past the last time drawn on it.
 *   HORIZON   An id that is handed out lies at or before the horizon that a power cut would leave then,
 *        and before all that the next run of its state begins with; one thread at a time writes, never
 *        over the newest record; IO only when the state was closed.
 *   LOST Who finds, when it begins or after a sleep, that the gate's owner has closed the gate or that
 *        the process was bumped, gets nothing, and is told which.
 *   also drifts is settled before a timeline is left, lags by one at most, and adds up; AGAIN and
 *        CLOCK_BACK are true; a thread's ids rise; a snapshot is a state that there was; an election
 *        leads to its note, once, and there is one election for each ms; a shard has one owner at a
 *        time; statistics add up.
 *
 * And so that nothing passes by not happening: a scenario names the events that must have come up in
 * some execution, and fails without them. It fails too if an execution was cut and it does not say
 * that some are.
 */
#include "explore.h"
#include "files.h"
/* the same each time, or no two states would be one */
#define FLAKE_RANDOM_BYTES(to, n) ((void)(to), (void)(n), false)
#define SNO_RANDOM_BYTES(to, n) ((void)(to), (void)(n), false)
#include "flake.h"
#include "sno.h"

#define MS INT64_C(1000000)

/* ---- what a scenario can come by ---- */
enum {
    SLEPT = 1 << 0,
    QUEUED = 1 << 1,  /* drew a place in a unit to come */
    REBASED = 1 << 2, /* a queue was carried into a later unit */
    LATE = 1 << 3,    /* a fetch_add landed behind the unit's last place */
    MOVED = 1 << 4,   /* a fetch_add landed in another unit or timeline than was looked at */
    OUTRUN = 1 << 5,  /* a CAS on the word failed */
    BATCHED = 1 << 6, /* several places with one move */
    RETURNED = 1 << 7, /* a place was given back */
    UNUSED = 1 << 8,   /* a place was left unused */
    AGAIN = 1 << 9,
    BACK = 1 << 10, /* CLOCK_BACK */
    TOGGLED = 1 << 11, /* the timeline */
    LEAPT = 1 << 12,   /* the word's time went past the clock */
    NOTED = 1 << 13,
    CLOSED = 1 << 14, /* a note that the overflow is over */
    OWED = 1 << 15,   /* the same, but the ring was full */
    REFUSED = 1 << 16, /* ring full or empty; all shards lent */
    SHUT = 1 << 17,    /* the gate refused */
    RETAGGED = 1 << 18, /* sno_generate changed over to another partition */
    DROPPED = 1 << 19,  /* and a place that was drawn before that is nobody's */
    WRITTEN = 1 << 20, /* a horizon, by a draw or a timer */
    ENDED = 1 << 21,   /* the state was closed: IO */
    LOST = 1 << 22     /* asleep, while the engine was taken away */
};
static const char *const event_names[] = {"slept",   "queued", "rebased", "late",     "moved",  "outrun",
                                          "batched", "returned", "unused", "again",   "back",   "toggled",
                                          "leapt",   "noted",  "closed",  "owed",     "refused", "shut",
                                          "retagged", "dropped", "written", "ended",  "lost"};
static unsigned events; /* of all executions of a scenario */

typedef enum subject { FLAKE, SNO, RING, TWO_WORDS, DEFAULT } subject;

typedef struct scenario {
    const char *name, *shows;
    /* n next (sno_new)   t try   N next_n of 3   T try_n of 3   f prefetch_next, two at a time
     * g try_at with the time of the start   G the same, 2 ms later
     * s snapshot   r retry_ns   v stats
     * B borrow a shard   R return it   o next on one's shard   O try   M try_n of 3
     * k close the state   K and open it again   e extend it
     * x close the gate, by its word   b bump
     * u push a note of its own   p pop a note   w the generator of two words
     * d sno_generate */
    const char *calls[EXPLORE_THREADS];
    int clock[7];     /* ms: the start, then each step, then 0 */
    unsigned must;    /* events */
    subject of;
    unsigned cap;     /* 0: 2 */
    int wait_ms;      /* 0: 5,000, and draws are by fetch_add; up to 1,000: by CAS alone */
    int ahead_ms;
    unsigned gate;    /* the last unit that it lets out; 0: no gate */
    int horizon_ms;   /* of a state, which the file is ahead of use; 0: no state */
    bool by_timer;    /* the state's */
    unsigned time, tick, count; /* the word at the start, */
    unsigned safe[2];           /* and the time used on each timeline */
    unsigned shards;            /* 0: one generator */
    unsigned ring;              /* slots */
    unsigned sleeps;            /* of one call, past which it is cut; 0: 8 */
    int bound;                  /* preemptions; 0: any number */
    bool pool;                  /* shards are borrowed; else thread i has shard i */
    bool full;                  /* a unit of 2^20 fills the count, and carries into time */
    bool refuse_back, coarse, stuck, early, fine;
    bool cuts;          /* some executions run into the cut */
    bool every;         /* once more without pruning, which must come to the same */
    const char *caught; /* it must fail, with this in the message */
} scenario;

static const scenario *now;

static bool calls_any(char letter) {
    for (unsigned i = 0; i < EXPLORE_THREADS && now->calls[i]; i++)
        if (strchr(now->calls[i], letter)) return true;
    return false;
}

// >>subject
//
// The objects that the threads share, of both headers, and one face for the engines of either.

enum { ENGINES = 2, SLOTS = 4 };

static struct {
    flake_gen flake;
    flake_shard flake_shards[ENGINES];
    flake_pool flake_pool;
    flake_prefetch prefetch[EXPLORE_THREADS];
    sno_gen sno;
    sno_shard sno_shards[ENGINES];
    sno_pool sno_pool;
    flake_ring ring;
    flake_ring_slot slots[SLOTS];
    sno_ring sno_ring;
    sno_ring_slot sno_slots[SLOTS];
    uint64_t two_time, two_seq;
    flake_state state;
    uint64_t gate_word;
} our, at_start;
static struct files files_at_start;
static struct flake_i_process process_at_start;
static uint64_t *fork_page, mark_at_start;

enum { GATE_OPEN = 77 };

/* What draws can find out: whether the engine is taken away. */
static bool is_bumped(void) { return fork_page && *fork_page != mark_at_start; }
static bool is_lost(void) { return is_bumped() || our.gate_word == 0; }

/* What the rules look at. */
typedef struct face {
    uint64_t *word, *safe, *drifts, *overflow, *rebased, *batches, *waits, *clock_backs;
    uint32_t *lent;
    uint64_t cap, count_mask, ahead, add_cap;
    unsigned time_shift, tick_bits;
} face;

#define FACE_OF(e)                                                                               \
    {&(e)->word,       (e)->safe,        &(e)->drifts,    &(e)->overflow,    &(e)->rebased,       \
     &(e)->batches,    &(e)->waits,      &(e)->clock_backs, &(e)->lent,      (e)->cap,            \
     (e)->count_mask,  (e)->ahead,       (e)->add_cap,   (e)->time_shift,   (e)->tick_bits}

static face engines[ENGINES];
static unsigned n_engines;
static const uint64_t *ring_head, *ring_tail; /* of the ring that the scenario uses */
static bool ask_stats, ask_past;              /* whether anyone asks for stats, for past words */

/* Of the default generator; what else it looks at never changes here. */
static uint64_t marks[2];
static const char *name_of_default(const void *at) {
    for (unsigned i = 0; i < SNO_I_DEFAULT_PLACES; i++)
        if (at == &sno_i_default.places[i].engine.word) return "word";
    return at == &sno_i_default.gen              ? "generator"
           : at == &sno_i_default.tag            ? "tag"
           : at == &sno_i_default.begun          ? "begun"
           : at == &sno_i_process.generation     ? "generation"
           : at == &sno_i_partitions.private_family.used ? "used"
           : at == &marks[0]                     ? "mark"
                                                 : NULL;
}

/* What lies there; NULL: nobody acts on it, so that an access is no step of its own. */
static const char *name_of(const void *at) {
    static const char *const words[] = {"word", "word1"}, *const lents[] = {"lent", "lent1"};
    static const char *const turns[] = {"turn0", "turn1", "turn2", "turn3"};
    if (now->of == DEFAULT) return name_of_default(at);
    for (unsigned i = 0; i < n_engines; i++) {
        const face *e = &engines[i];
        if (at == e->word) return words[i];
        if (at == e->lent) return lents[i];
        if (at == &e->safe[0]) return "safe[0]";
        if (at == &e->safe[1]) return "safe[1]";
        if (at == e->drifts) return "drifts";
        if (at == e->overflow) return "overflow";
        if (at == e->rebased) return ask_stats ? "rebased" : NULL;
        if (at == e->batches || at == e->waits || at == e->clock_backs) return NULL;
    }
    const flake_state *const s = &our.state;
    if (at == fork_page) return calls_any('b') ? "fork word" : NULL;
    if (at == our.prefetch[0].fork_word || at == fork_page + 1) return NULL;
    if (at == &flake_i_process.page || at == &flake_i_process.generation || at == &flake_i_process.bumps)
        return NULL;
    if (at == &s->lead || at == &s->by_timer) return NULL;
    if (at == &s->horizon) return "horizon";
    if (at == &s->asked) return "asked";
    if (at == &s->run) return "run";
    if (at == &s->writer) return "writer";
    if (at == &s->patient) return "patient";
    if (at == &s->is_open) return "is_open";
    if (at == &files.position) return "seek";
    if (at == &files.record[0]) return "record0";
    if (at == &files.record[1]) return "record1";
    if (at == &our.gate_word) return "gate word";
    if (at == ring_head) return "head";
    if (at == ring_tail) return "tail";
    for (unsigned i = 0; i < SLOTS; i++)
        if (at == &our.slots[i].turn || at == &our.sno_slots[i].turn) return turns[i];
    return at == &our.two_time ? "time" : at == &our.two_seq ? "sequence" : "other";
}

/* The engine that `at` belongs to; n_engines: none. */
static unsigned engine_of(const void *at) {
    unsigned i = 0;
    while (i < n_engines && ((const char *)at < (const char *)engines[i].word ||
                             (const char *)at > (const char *)engines[i].lent))
        i++;
    return i;
}

/* A word taken apart. `at` is the position it tells: places since time 0. */
typedef struct point {
    uint64_t time, count, at;
    unsigned tick;
} point;

static point point_of(uint64_t word) {
    const face *e = &engines[0];
    point p;
    p.time = word >> e->time_shift;
    p.tick = (unsigned)(word >> (e->time_shift - 1)) & e->tick_bits;
    p.count = word & e->count_mask;
    if (now->full && !p.count && p.time) { /* the carry of a full unit */
        p.time--;
        p.count = e->cap;
    }
    p.at = p.time * e->cap + p.count;
    return p;
}

static uint64_t unit_of(int64_t ns) { return (uint64_t)(ns / MS); }

static void show(const void *at, uint64_t value, char *out, size_t size) {
    const unsigned i = engine_of(at);
    if (!at) {
        (void)snprintf(out, size, "%.6g ms", (double)value / 1e6);
    } else if (i < n_engines && at == engines[i].word) {
        const point p = point_of(value);
        (void)snprintf(out, size, "%" PRIu64 "%s+%" PRIu64, p.time,
                       now->of != SNO ? "" : p.tick ? "B" : "A", p.count);
    } else if (i < n_engines && at == engines[i].overflow) {
        (void)snprintf(out, size, "%" PRIu64 "ms:%" PRIx64, value >> 24, value & 0xffffff);
    } else
        (void)snprintf(out, size, "%" PRIu64, value);
}

// >>rules

enum { PLACES = 64, WORDS = 64, NOTES = 16 };

/* A place that has been drawn by a call which still runs, and is neither handed out nor given back. */
typedef struct held {
    uint64_t at; /* position */
    unsigned engine, tick, by;
    bool followed; /* the word was moved by another since */
} held;

/* What the word has been, and what went with it. */
typedef struct past {
    uint64_t word, toggles;
    uint64_t used, ever; /* last time drawn on the other timeline; given back ones too */
} past;

/* A note is known by its ms * 2, + 1 when it is an overflow's last; one pushed by hand by a number
 * from OWN_NOTE on. */
enum { NO_NOTE = 0, OWN_NOTE = 1 << 20 };

typedef struct election {
    uint64_t note;
    bool owed, pushed;
} election;

/* What the rules remember of an execution; `digest` says what of it counts. */
static struct {
    held places[PLACES];
    unsigned n_places;
    uint64_t net[ENGINES], gross;               /* places drawn, without those given back; with */
    uint64_t top[ENGINES][2], ever[ENGINES][2]; /* above all drawn; above given back ones too */
    uint64_t toggles[ENGINES], batches;
    past past[WORDS];
    unsigned n_past;
    election elections[NOTES];
    unsigned n_elections;
    uint64_t pushed[NOTES]; /* ring position -> note */
    uint64_t pushes, pops;
    int owner[ENGINES]; /* of a lent shard; -1: none */
    uint64_t two_ids[8];
    unsigned n_two_ids;
    struct {
        uint64_t id;      /* time, partition, sequence */
        unsigned begun;   /* bumps that had begun when a first id of this partition was handed out */
    } generated[8];
    unsigned n_generated, bumps_begun, bumps_done;
    int64_t latest_ns;  /* until when ids are handed out */
    int64_t floor_ns;   /* of the state's next run; INT64_MAX: there is none */
    unsigned ends;      /* how often the state was closed */

    struct {
        /* of the call that runs */
        char letter;
        bool saw_word, behind, wrote;
        bool was_lost; /* when it began, or woke */
        unsigned sleeps;
        uint64_t word;    /* last seen */
        uint64_t reading; /* last unit that the clock said, or the caller */
        uint64_t reach;   /* the last unit it may hand out, but for max_ahead */
        uint64_t popped;  /* ring position */
        uint64_t pushing; /* note */
        uint64_t before;  /* overflow, before it was closed */
        unsigned bumps;   /* done when it drew its place */
        /* of all its calls */
        uint64_t last[ENGINES][2]; /* above the last position handed out */
        int shard;                 /* -1: none */
        unsigned calls;
    } thread[EXPLORE_THREADS];
} seen;

static bool is_given(char letter) { return letter == 'g' || letter == 'G'; }
static bool is_owned(char letter) { return letter == 'o' || letter == 'O' || letter == 'M'; }
static bool is_many(char letter) { return letter == 'N' || letter == 'T' || letter == 'M'; }
static bool waits(char letter) { return strchr("nNof", letter) != NULL; }
static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Takes a place out of the table; false: this thread does not hold it. */
static bool let_go(unsigned me, unsigned i, uint64_t at, unsigned tick) {
    for (unsigned p = 0; p < seen.n_places; p++) {
        const held *h = &seen.places[p];
        if (h->engine != i || h->tick != tick || h->at != at || h->by != me) continue;
        seen.places[p] = seen.places[--seen.n_places];
        return true;
    }
    return false;
}

static void watch_draw(unsigned me, unsigned i, uint64_t from, uint64_t to, unsigned tick) {
    if (to - from > 3) explore_fail("I1: %" PRIu64 " places drawn at once", to - from);
    if (from < seen.top[i][tick]) explore_fail("I1: a place that has been drawn is drawn again");
    for (uint64_t at = from; at < to; at++) {
        if (seen.n_places == PLACES) explore_fail("the table of places is too small");
        seen.places[seen.n_places++] = (held){at, i, tick, me, false};
    }
    seen.net[i] += to - from;
    seen.gross += to - from;
    seen.top[i][tick] = to;
    seen.ever[i][tick] = larger(seen.ever[i][tick], to);
    if (to - from > 1) {
        events |= BATCHED;
        seen.batches++;
    }
}

static void watch_give_back(unsigned me, unsigned i, uint64_t from, uint64_t to, unsigned tick) {
    if (to != seen.top[i][tick]) explore_fail("I1: what is given back is not the newest");
    for (uint64_t at = from; at < to; at++)
        if (!let_go(me, i, at, tick))
            explore_fail("I1: another's place is given back, or one that is handed out");
    seen.net[i] -= to - from;
    seen.top[i][tick] = from;
    events |= RETURNED;
}

/* For snapshots, and notes that count a queue. */
static void remember(unsigned i) {
    const face *e = &engines[i];
    const unsigned other = point_of(*e->word).tick ^ 1;
    const uint64_t top = seen.top[i][other], ever = seen.ever[i][other];
    const past p = {*e->word, seen.toggles[i], top ? (top - 1) / e->cap : 0, ever / e->cap};
    if (i || !ask_past) return;
    for (unsigned k = 0; k < seen.n_past; k++)
        if (seen.past[k].word == p.word && seen.past[k].toggles == p.toggles) return;
    if (seen.n_past == WORDS) explore_fail("the table of words is too small");
    seen.past[seen.n_past++] = p;
}

static void watch_move(unsigned me, unsigned i, const explore_access *a) {
    const face *e = &engines[i];
    const point old = point_of(a->seen), new = point_of(a->left);
    for (unsigned p = 0; p < seen.n_places; p++)
        if (seen.places[p].by != me && seen.places[p].engine == i) seen.places[p].followed = true;
    if (a->kind == EXPLORE_STORE && (seen.thread[me].shard != (int)i || seen.thread[me].word != a->seen))
        explore_fail("an owned word has a second writer");
    if (a->kind == EXPLORE_ADD && old.count >= e->cap) events |= LATE;
    if (a->kind == EXPLORE_ADD && a->seen - old.count != seen.thread[me].word - point_of(seen.thread[me].word).count)
        events |= MOVED;
    if (new.time > larger(old.time, unit_of(explore_now.exact_ns))) events |= LEAPT;

    if (new.tick != old.tick) {
        const uint64_t last = (seen.top[i][old.tick] - 1) / e->cap, safe = e->safe[old.tick];
        if (!seen.thread[me].behind)
            explore_fail("I2: a timeline is left on a reading that is older than the word");
        if (seen.top[i][old.tick] && safe < last)
            explore_fail("I5: a timeline used up to %" PRIu64 " is left with safe = %" PRIu64, last, safe);
        if (*e->drifts != seen.toggles[i]) explore_fail("a timeline is left before drifts is settled");
        seen.toggles[i]++;
        events |= TOGGLED;
        watch_draw(me, i, new.time * e->cap, new.at, new.tick);
    } else if (new.at < old.at) {
        watch_give_back(me, i, new.at, old.at, new.tick);
    } else {
        const uint64_t from = larger(old.at, new.time * e->cap);
        if (from == new.at) explore_fail("I1: the word is moved, but nothing drawn");
        if (new.time > old.time && from > new.time * e->cap) events |= REBASED;
        if (from / e->cap > unit_of(explore_now.exact_ns) + e->ahead) events |= QUEUED;
        watch_draw(me, i, from, new.at, new.tick);
    }
    remember(i);
}

static bool put_back(void) {
    bool back = false;
    for (unsigned k = 0; k < explore_now.clock_at; k++) back |= now->clock[k + 1] < now->clock[k];
    return back;
}

/* [ began ms:40 ][ ms noted since:24 ], or all ones below: closed */
static void watch_overflow(unsigned me, const explore_access *a) {
    const uint64_t low = a->left & 0xffffff, began = a->left >> 24;
    const bool closing = low == 0xffffff;
    const uint64_t note = (began + (closing ? 0 : low - 1)) * 2 + closing;
    if ((seen.thread[me].pushing & 1) && a->left == seen.thread[me].before) { /* it did not fit */
        for (unsigned k = 0; k < seen.n_elections; k++)
            if (seen.elections[k].note == seen.thread[me].pushing) seen.elections[k].owed = true;
        seen.thread[me].pushing = NO_NOTE;
        events |= OWED;
        return;
    }
    events |= closing ? CLOSED : NOTED;
    seen.thread[me].pushing = note;
    seen.thread[me].before = a->seen;
    for (unsigned k = 0; k < seen.n_elections; k++)
        if (seen.elections[k].note == note) {
            if (!seen.elections[k].owed && !put_back())
                explore_fail("two elections for the %s of one ms", closing ? "last note" : "note");
            seen.elections[k].owed = seen.elections[k].pushed = false;
            return;
        }
    if (seen.n_elections == NOTES) explore_fail("the table of elections is too small");
    seen.elections[seen.n_elections++] = (election){note, false, false};
}

static void watch_ring(unsigned me, const explore_access *a) {
    const uint64_t note = seen.thread[me].pushing;
    if (a->at == ring_tail) {
        seen.thread[me].popped = a->seen;
        seen.pops++;
        return;
    }
    if (a->seen != seen.pushes || seen.pushes == NOTES) explore_fail("ring positions skip");
    if (note == NO_NOTE) explore_fail("a note is pushed twice, or without an election");
    for (unsigned k = 0; k < seen.n_elections; k++)
        if (seen.elections[k].note == note) seen.elections[k].pushed = true;
    seen.pushed[seen.pushes++] = note;
    seen.thread[me].pushing = NO_NOTE;
}

static void watch_clock(unsigned me, uint64_t unit) {
    seen.thread[me].reading = unit;
    seen.thread[me].behind = seen.thread[me].saw_word && point_of(seen.thread[me].word).time > unit;
    bool holds = is_many(seen.thread[me].letter); /* each of several draws has a reading of its own */
    for (unsigned p = 0; p < seen.n_places; p++) holds |= seen.places[p].by == me;
    seen.thread[me].reach = holds ? larger(seen.thread[me].reach, unit) : unit;
}

/* What a draw writes there it may, though it fails. */
static bool is_of_state(const void *at) {
    const char *const byte = (const char *)at;
    return (byte >= (const char *)&our.state && byte < (const char *)(&our.state + 1)) ||
           (byte >= (const char *)&files && byte < (const char *)(&files + 1));
}

static void watch(unsigned me, const explore_access *a) {
    const unsigned i = engine_of(a->at);
    const face *e = &engines[i % ENGINES];
    if (explore_now.thread[me].sleeps) events |= SLEPT;
    if (explore_now.thread[me].sleeps != seen.thread[me].sleeps) {
        seen.thread[me].sleeps = explore_now.thread[me].sleeps;
        if (is_lost()) events |= LOST;
        seen.thread[me].was_lost |= is_lost();
    }
    if (a->wrote && a->at == &our.state.horizon && a->left != FLAKE_I_CLOSED_STATE) events |= WRITTEN;
    if (a->kind == EXPLORE_CLOCK) {
        watch_clock(me, unit_of((int64_t)a->seen));
        return;
    }
    if (a->wrote && (a->at == ring_head || a->at == ring_tail)) watch_ring(me, a);
    if (a->wrote && name_of(a->at) && !is_of_state(a->at)) seen.thread[me].wrote |= i == n_engines || a->at < (const void *)e->safe || a->at > (const void *)e->drifts;
    if (now->of == DEFAULT && a->wrote && name_of(a->at) && strcmp(name_of(a->at), "word") == 0)
        seen.thread[me].bumps = seen.bumps_done;
    if (i == n_engines) return;
    if (a->at == e->word) {
        if (a->wrote) watch_move(me, i, a);
        if (a->kind == EXPLORE_CAS && !a->wrote) events |= OUTRUN;
        seen.thread[me].word = a->wrote ? a->left : a->seen;
        seen.thread[me].saw_word = true;
        if (is_given(seen.thread[me].letter))
            seen.thread[me].reach = larger(seen.thread[me].reach, point_of(a->seen).time);
    }
    if (!a->wrote) return;
    if (a->at == e->lent) {
        const bool lends = a->kind == EXPLORE_CAS;
        if (seen.owner[i] != (lends ? -1 : (int)me)) explore_fail("a shard has two owners");
        seen.owner[i] = lends ? (int)me : -1;
    } else if (a->at == e->overflow) {
        watch_overflow(me, a);
    } else if (a->at == &e->safe[0] || a->at == &e->safe[1]) {
        const unsigned tick = a->at == &e->safe[1];
        if (a->left < a->seen) explore_fail("safe[%u] is lowered", tick);
        if (a->left > seen.ever[i][tick] / e->cap) explore_fail("safe[%u] was never used so far", tick);
    } else if (a->at == e->drifts) {
        if (a->left != seen.toggles[i])
            explore_fail("drifts becomes %" PRIu64 ", not %" PRIu64, a->left, seen.toggles[i]);
    }
    if (e->tick_bits && seen.toggles[i] - *e->drifts > 1) explore_fail("drifts lags by more than one");
}

static uint64_t set_of(uint64_t set, uint64_t a, uint64_t b) {
    return set + explore_mix(explore_mix(2, a), b);
}

/* Without order where order does not matter, so that more states are the same. */
static uint64_t digest(unsigned thread) {
    uint64_t hash = 0, set = 0;
    if (thread < EXPLORE_THREADS && now->calls[thread]) {
        hash = explore_mix(seen.thread[thread].calls, (uint64_t)seen.thread[thread].shard);
        hash = explore_mix(hash, seen.thread[thread].bumps);
        hash = explore_mix(hash, seen.thread[thread].was_lost);
        for (unsigned i = 0; i < n_engines; i++)
            for (unsigned tick = 0; tick < 2; tick++)
                hash = explore_mix(hash, seen.thread[thread].last[i][tick]);
        for (unsigned p = 0; p < seen.n_places; p++) {
            const held *h = &seen.places[p];
            if (h->by == thread)
                set = set_of(set, h->at, h->engine << 2 | h->tick << 1 | (h->followed ? 1 : 0));
        }
        return explore_mix(hash, set);
    }
    for (unsigned i = 0; i < n_engines; i++) {
        const face *e = &engines[i];
        for (unsigned tick = 0; tick < 2; tick++) {
            hash = explore_mix(hash, seen.top[i][tick]);
            hash = explore_mix(hash, seen.ever[i][tick]);
        }
        hash = explore_mix(hash, seen.toggles[i]);
        hash = explore_mix(hash, *e->rebased - seen.net[i]); /* as it will show in stats.ids */
        hash = explore_mix(hash, *e->batches - seen.batches);
    }
    if (ask_stats) hash = explore_mix(hash, seen.gross);
    if (now->horizon_ms) { /* plain data, too */
        const flake_state *const s = &our.state;
        hash = explore_mix(explore_mix(hash, (uint64_t)seen.latest_ns), (uint64_t)seen.floor_ns);
        hash = explore_mix(explore_mix(hash, seen.ends), files_hash(files.bytes, FILES_SIZE));
        hash = explore_mix(explore_mix(hash, s->number), (uint64_t)s->written_ns);
        hash = explore_mix(explore_mix(hash, (uint64_t)s->file.fd), files_get(s->token + 8));
    }
    for (unsigned k = 0; k < seen.n_past; k++)
        set = set_of(set, seen.past[k].word, seen.past[k].toggles);
    for (unsigned k = 0; k < seen.n_elections; k++)
        set = set_of(set, seen.elections[k].note,
                     1024u + (seen.elections[k].owed ? 2 : 0) + seen.elections[k].pushed);
    for (unsigned k = 0; k < seen.pushes; k++) hash = explore_mix(hash, seen.pushed[k]);
    for (unsigned k = 0; k < seen.n_two_ids; k++) set = set_of(set, seen.two_ids[k], 0);
    for (unsigned k = 0; k < seen.n_generated; k++)
        set = set_of(set, seen.generated[k].id, seen.generated[k].begun);
    hash = explore_mix(hash, seen.bumps_begun << 8 | seen.bumps_done);
    return explore_mix(hash, set);
}

// >>calls

typedef struct place {
    uint64_t time, index;
    unsigned tick;
} place;

/* FAILED does not say why, as sno_new does not, and what is short of a batch. */
typedef enum outcome { GOOD, SAID_AGAIN, SAID_BACK, SAID_LEASE, SAID_FORKED, SAID_IO, SAID_ELSE, FAILED } outcome;

static int64_t given_ms(char letter) { return now->clock[0] + (letter == 'G' ? 2 : 0); }

static unsigned draw_flake(unsigned me, char letter, place got[3], outcome *said) {
    flake_shard *shard = &our.flake_shards[is_owned(letter) ? seen.thread[me].shard : 0];
    flake_gen *g = is_owned(letter) ? flake_shard_gen(shard) : &our.flake;
    const flake_options *o = flake_gen_options(g);
    flake_status status = FLAKE_OK;
    uint64_t ids[3] = {0, 0, 0};
    size_t n = 1;
    switch (letter) {
    case 'n': status = flake_next(g, ids); break;
    case 't': status = flake_try(g, ids); break;
    case 'f': status = flake_prefetch_next(&our.prefetch[me], ids); break;
    case 'o': status = flake_shard_next(shard, ids); break;
    case 'O': status = flake_shard_try(shard, ids); break;
    case 'M': n = flake_shard_try_n(shard, ids, 3); break;
    case 'T': n = flake_try_n(g, ids, 3); break;
    case 'N': status = flake_next_n(g, ids, 3), n = 3; break;
    default: status = flake_try_at(g, given_ms(letter), ids);
    }
    *said = status == FLAKE_OK           ? GOOD
            : status == FLAKE_AGAIN      ? SAID_AGAIN
            : status == FLAKE_CLOCK_BACK ? SAID_BACK
            : status == FLAKE_LEASE      ? SAID_LEASE
            : status == FLAKE_FORKED     ? SAID_FORKED
            : status == FLAKE_IO         ? SAID_IO
                                         : SAID_ELSE;
    if (is_many(letter) && n < 3) *said = FAILED;
    if (status != FLAKE_OK)
        for (n = 0; n < 3 && ids[n]; n++) {
        }
    for (size_t k = 0; k < n; k++) {
        flake_parts parts;
        memset(&parts, 0, sizeof parts);
        if (flake_decompose(&o->layout, ids[k], &parts) != FLAKE_OK || parts.node != o->node ||
            parts.seq < o->seq_min || parts.seq > o->seq_max)
            explore_fail("not an id of this generator");
        got[k] = (place){parts.time, parts.seq - o->seq_min, 0};
    }
    return (unsigned)n;
}

enum { PARTITION = 7, SEQUENCE_MIN = 16 };

static unsigned draw_sno(unsigned me, char letter, place got[3], outcome *said) {
    const unsigned i = is_owned(letter) ? (unsigned)seen.thread[me].shard : 0;
    const uint8_t meta = (uint8_t)(64 + me);
    sno_shard *shard = &our.sno_shards[i];
    sno_gen *g = &our.sno;
    sno_status status = SNO_OK;
    sno_id ids[3];
    size_t n = 1;
    memset(ids, 0, sizeof ids);
    switch (letter) {
    case 'n': ids[0] = sno_new(g, meta); break;
    case 't': status = sno_try(g, meta, ids); break;
    case 'o': ids[0] = sno_shard_new(shard, meta); break;
    case 'O': status = sno_shard_try(shard, meta, ids); break;
    case 'M': n = sno_shard_try_n(shard, meta, ids, 3); break;
    case 'T': n = sno_try_n(g, meta, ids, 3); break;
    case 'N': status = sno_new_n(g, meta, ids, 3), n = 3; break;
    default: status = sno_try_at(g, meta, given_ms(letter) * MS, ids);
    }
    *said = status == SNO_OK           ? GOOD
            : status == SNO_AGAIN      ? SAID_AGAIN
            : status == SNO_CLOCK_BACK ? SAID_BACK
            : status == SNO_LEASE      ? SAID_LEASE
                                       : SAID_ELSE;
    if (status == SNO_OK && (n < (is_many(letter) ? 3 : 1) || sno_is_zero(ids[n - 1]))) *said = FAILED;
    if (*said != GOOD)
        for (n = 0; n < 3 && !sno_is_zero(ids[n]); n++) {
        }
    for (size_t k = 0; k < n; k++) {
        const unsigned min = now->shards ? our.sno_shards[i].gen.sequence_min : SEQUENCE_MIN;
        if (sno_meta(ids[k]) != meta || sno_partition(ids[k]) != PARTITION || sno_sequence(ids[k]) < min)
            explore_fail("not an id of this generator");
        got[k] = (place){sno_units(ids[k]), sno_sequence(ids[k]) - min, sno_tick(ids[k])};
    }
    return (unsigned)n;
}

static void check_place(unsigned me, unsigned i, char letter, place got) {
    const face *e = &engines[i];
    const uint64_t at = got.time * e->cap + got.index;
    explore_say("  unit %" PRIu64 "%s, index %" PRIu64, got.time,
                now->of != SNO ? "" : got.tick ? "B" : "A", got.index);
    if (now->gate && got.time > now->gate) explore_fail("an id of a unit that the gate refused");
    if (seen.thread[me].was_lost) explore_fail("an id of an engine that was taken away");
    if (now->horizon_ms) {
        const int64_t until_ns = (int64_t)(got.time + 1) * MS - 1;
        if (until_ns > files_lasting()) explore_fail("HORIZON: a power cut now would forget the id");
        if (until_ns > seen.floor_ns) explore_fail("HORIZON: the state's next run does not know the id");
        if (until_ns > seen.latest_ns) seen.latest_ns = until_ns;
    }
    if (got.index >= e->cap) explore_fail("I1: an index past the capacity");
    if (!let_go(me, i, at, got.tick))
        explore_fail("I1: unit %" PRIu64 ", index %" PRIu64 " is handed out, but not drawn by this call",
                     got.time, got.index);
    if (at < seen.thread[me].last[i][got.tick]) explore_fail("a thread's ids fall");
    seen.thread[me].last[i][got.tick] = at + 1;
    if (letter != 'f' && got.time > seen.thread[me].reach + e->ahead)
        explore_fail("I3: an id of unit %" PRIu64 ", when the clock said %" PRIu64, got.time,
                     seen.thread[me].reach);
}

static void check_failure(unsigned me, unsigned i, char letter, outcome said, unsigned got) {
    const face *e = &engines[i];
    const point p = point_of(seen.thread[me].word);
    const uint64_t reading = is_given(letter) ? larger(seen.thread[me].reading, p.time) : seen.thread[me].reading;
    const bool back = p.time > reading + e->ahead;
    if (said == FAILED && is_lost()) {
        events |= SHUT;
        return;
    }
    if (said == SAID_FORKED || (said == SAID_LEASE && calls_any('x'))) {
        if (said == SAID_FORKED ? !is_bumped() : our.gate_word != 0)
            explore_fail("%s, which is not so", said == SAID_FORKED ? "FORKED" : "LEASE");
        events |= SHUT;
        return;
    }
    if (said == SAID_IO || (now->horizon_ms && said == SAID_AGAIN)) {
        if (!now->horizon_ms || (said == SAID_IO && !seen.ends)) explore_fail("IO, without a cause");
        events |= said == SAID_IO ? ENDED : AGAIN;
        return;
    }
    if (said == SAID_ELSE) explore_fail("neither AGAIN nor CLOCK_BACK");
    if (said == SAID_AGAIN && back) explore_fail("AGAIN, though the clock was put back");
    if (said == SAID_BACK && !back) explore_fail("CLOCK_BACK, though the clock is not behind the word");
    if (!got && !waits(letter) && seen.thread[me].wrote) explore_fail("I4: a call that failed wrote");
    if (said == SAID_LEASE || (said == FAILED && now->gate)) {
        if (!now->gate) explore_fail("LEASE, without a gate");
        events |= SHUT;
        return;
    }
    events |= back ? BACK : AGAIN;
    if (!back && p.at / e->cap <= reading + e->ahead) explore_fail("AGAIN, though a place was free");
    if (back && !seen.thread[me].behind) explore_fail("I2: CLOCK_BACK on a reading older than the word");
    if (back && e->tick_bits && reading * e->cap >= seen.ever[i][p.tick ^ 1])
        explore_fail("CLOCK_BACK, though the other timeline was free");
}

static void call_draw(unsigned me, char letter) {
    const unsigned i = is_owned(letter) ? (unsigned)seen.thread[me].shard : 0;
    outcome said = GOOD;
    place got[3];
    if (is_owned(letter) && seen.thread[me].shard < 0) return; /* none was free */
    if (is_given(letter)) seen.thread[me].reading = seen.thread[me].reach = unit_of(given_ms(letter) * MS);
    const unsigned n = now->of == SNO ? draw_sno(me, letter, got, &said) : draw_flake(me, letter, got, &said);
    explore_say("%c returns%s", letter, said == GOOD ? "" : ", short of what it was to draw");
    for (unsigned k = 0; k < n; k++) check_place(me, i, letter, got[k]);
    if (said != GOOD) check_failure(me, i, letter, said, n);
    for (unsigned p = 0; p < seen.n_places;) {
        const held *h = &seen.places[p];
        if (h->by != me || letter == 'f') { /* f has a stock */
            p++;
            continue;
        }
        if (!h->followed) explore_fail("I4: a place is neither handed out nor given back");
        seen.places[p] = seen.places[--seen.n_places];
        events |= UNUSED;
    }
}

static void call_snapshot(unsigned me) {
    const face *e = &engines[0];
    bool was = false;
    uint64_t word = 0, drifts = 0, safe = 0;
    if (now->of == SNO) {
        sno_snapshot s;
        memset(&s, 0, sizeof s);
        if (sno_snapshot_take(now->shards ? sno_shard_gen(our.sno_shards) : &our.sno, &s) != SNO_OK) explore_fail("no snapshot");
        drifts = s.drifts;
        safe = (uint64_t)s.wall_safe;
        /* the first number and none at all look the same */
        word = ((uint64_t)s.wall_hi << 1 | (drifts & 1)) << (e->time_shift - 1) | (s.sequence - s.sequence_min + 1u);
    } else {
        flake_snapshot s;
        memset(&s, 0, sizeof s);
        if (flake_snapshot_take(now->shards ? flake_shard_gen(our.flake_shards) : &our.flake, &s) != FLAKE_OK)
            explore_fail("no snapshot");
        word = ((uint64_t)s.unix_ms << e->time_shift) + s.count;
    }
    for (unsigned k = 0; k < seen.n_past; k++) {
        const past *p = &seen.past[k];
        was |= (p->word == word || (now->of == SNO && p->word == word - 1 && !point_of(p->word).count)) &&
               p->toggles == drifts && safe >= p->used && safe <= p->ever;
    }
    if (!was) explore_fail("a torn snapshot");
    if (point_of(word).at < seen.thread[me].last[0][point_of(word).tick])
        explore_fail("a snapshot from before this thread's last id");
}

/* While others draw. */
static void call_stats(void) {
    flake_stats s;
    memset(&s, 0, sizeof s);
    if (now->of == SNO) {
        sno_stats sno;
        sno_stats_get(&our.sno, &sno);
        s.ids = sno.ids;
    } else
        flake_stats_get(&our.flake, &s);
    if (s.ids > now->count + seen.gross)
        explore_fail("stats.ids is %" PRIu64 " after %" PRIu64 " draws", s.ids, now->count + seen.gross);
}

static void check_note(uint64_t position, const flake_overflow *note) {
    const face *e = &engines[0];
    const uint64_t due = position < seen.pushes ? seen.pushed[position] : NO_NOTE;
    if (due == NO_NOTE) {
        explore_fail("a note is popped that was not pushed, or twice");
    } else if (due >= OWN_NOTE) {
        if ((uint64_t)note->now_ns != due || note->count != due || note->ticks != due)
            explore_fail("a note is not what was pushed");
    } else {
        bool right = due & 1;
        if (unit_of(note->now_ns) * 2 + !note->count != due)
            explore_fail("a note is not what its writer was elected for");
        for (unsigned k = 0; k < seen.n_past; k++) /* the queue was so long at some time */
            right |= point_of(seen.past[k].word).at ==
                     (unit_of(note->now_ns) + e->ahead + 1) * e->cap + note->count;
        if (!right) explore_fail("a note counts %" PRIu32 " callers", note->count);
    }
    if (position < NOTES) seen.pushed[position] = NO_NOTE;
}

static bool pop(flake_overflow *note) {
    sno_overflow other;
    memset(&other, 0, sizeof other);
    if (now->of != SNO) return flake_ring_pop(&our.ring, note);
    const bool popped = sno_ring_pop(&our.sno_ring, &other);
    *note = (flake_overflow){other.now_ns, other.count, other.ticks};
    return popped;
}

static void call_push(unsigned me) {
    const uint32_t own = OWN_NOTE + 16 * me + seen.thread[me].calls;
    const flake_overflow note = {own, own, own};
    seen.thread[me].pushing = own;
    if (flake_ring_push(&our.ring, note)) return;
    events |= REFUSED;
    seen.thread[me].pushing = NO_NOTE;
    if (seen.pushes < now->ring) explore_fail("a ring that was never full is full");
}

static void call_pop(unsigned me) {
    flake_overflow note;
    memset(&note, 0, sizeof note);
    if (!pop(&note)) {
        events |= REFUSED;
        return;
    }
    explore_saw((uint64_t)note.now_ns);
    explore_saw((uint64_t)note.count << 32 | note.ticks);
    check_note(seen.thread[me].popped, &note);
}

static void call_borrow(unsigned me) {
    if (now->of == SNO) {
        const sno_shard *shard = sno_pool_borrow(&our.sno_pool);
        seen.thread[me].shard = shard ? (int)(shard - our.sno_shards) : -1;
    } else {
        const flake_shard *shard = flake_pool_borrow(&our.flake_pool);
        seen.thread[me].shard = shard ? (int)(shard - our.flake_shards) : -1;
    }
    if (seen.thread[me].shard < 0)
        events |= REFUSED;
    else if (seen.owner[seen.thread[me].shard] != (int)me)
        explore_fail("another's shard is lent");
}

static void call_return(unsigned me) {
    const int shard = seen.thread[me].shard;
    if (shard < 0) return;
    if (now->of == SNO)
        sno_pool_give_back(&our.sno_pool, &our.sno_shards[shard]);
    else
        flake_pool_give_back(&our.flake_pool, &our.flake_shards[shard]);
    seen.thread[me].shard = -1;
}

/* Go sno's New, reduced to its fast path: a CAS moves the time, a store and a fetch_add of their own
 * the sequence. */
static void call_two_words(void) {
    uint64_t id, time = FLAKE_ATOMIC_LOAD(&our.two_time, acquire);
    const uint64_t clock = unit_of(FLAKE_CLOCK_NS(FLAKE_CLOCK_EXACT));
    if (clock > time && FLAKE_ATOMIC_CAS(&our.two_time, &time, clock, release, acquire)) {
        FLAKE_ATOMIC_STORE(&our.two_seq, 0u, relaxed);
        id = clock << 16;
    } else
        id = time << 16 | (FLAKE_ATOMIC_ADD(&our.two_seq, 1u, relaxed) + 1);
    explore_say("w returns unit %" PRIu64 ", sequence %" PRIu64, id >> 16, id & 0xffff);
    for (unsigned k = 0; k < seen.n_two_ids; k++)
        if (seen.two_ids[k] == id)
            explore_fail("unit %" PRIu64 ", sequence %" PRIu64 " is handed out twice", id >> 16, id & 0xffff);
    seen.two_ids[seen.n_two_ids++] = id;
}

/* A place that is drawn after a bump has returned goes with no partition that was in use before it. */
static void call_generate(unsigned me) {
    const sno_id id = sno_generate(0);
    const uint64_t known = sno_units(id) << 32 | (uint64_t)sno_partition(id) << 16 | sno_sequence(id);
    unsigned begun = seen.bumps_begun;
    explore_say("d returns partition %u, sequence %u", sno_partition(id), sno_sequence(id));
    if (sno_is_zero(id)) explore_fail("no id");
    for (unsigned k = 0; k < seen.n_generated; k++) {
        if (seen.generated[k].id == known) explore_fail("an id is handed out twice");
        if (((seen.generated[k].id ^ known) >> 16 & 0xffff) == 0) begun = seen.generated[k].begun;
        else events |= RETAGGED;
    }
    if (begun < seen.thread[me].bumps) explore_fail("a partition from before the bump");
    seen.generated[seen.n_generated].id = known;
    seen.generated[seen.n_generated++].begun = begun;
    seen.thread[me].bumps = 0;
}

static void call_bump(void) {
    seen.bumps_begun++;
    sno_generation_bump();
    seen.bumps_done++;
}

static flake_state_options state_options(void) {
    flake_state_options o;
    memset(&o, 0, sizeof o);
    o.path = "/state";
    o.horizon_ms = now->horizon_ms;
    o.by_timer = now->by_timer;
    o.no_wait = true;
    return o;
}

static void call_close(bool and_open) {
    seen.ends++;
    if (flake_state_close(&our.state) != FLAKE_OK) explore_fail("can't be closed");
    if (!and_open) return;
    const flake_state_options where = state_options();
    if (flake_state_open(&our.state, &where, flake_gen_options(&our.flake), NULL) != FLAKE_OK)
        explore_fail("can't be opened again");
    seen.floor_ns = flake_i_state_floor(&our.state);
    if (seen.latest_ns > seen.floor_ns) explore_fail("HORIZON: the next run begins before the last id");
}

static void call_extend(void) {
    const flake_status status = flake_state_extend(&our.state);
    if (status != FLAKE_OK && !seen.ends) explore_fail("extend says %d", (int)status);
}

static void call(unsigned me, char letter) {
    seen.thread[me].letter = letter;
    seen.thread[me].saw_word = seen.thread[me].behind = seen.thread[me].wrote = false;
    if (letter != 'f') seen.thread[me].reach = 0;
    seen.thread[me].was_lost = is_lost();
    switch (letter) {
    case 'k': call_close(false); break;
    case 'K': call_close(true); break;
    case 'e': call_extend(); break;
    case 'x': FLAKE_ATOMIC_STORE(&our.gate_word, 0u, seq_cst); break;
    case 'b': now->of == DEFAULT ? call_bump() : flake_generation_bump(); break;
    case 's': call_snapshot(me); break;
    case 'v': call_stats(); break;
    case 'r': (void)(now->of == SNO ? sno_retry_ns(&our.sno) : flake_retry_ns(&our.flake)); break;
    case 'u': call_push(me); break;
    case 'p': call_pop(me); break;
    case 'B': call_borrow(me); break;
    case 'R': call_return(me); break;
    case 'w': call_two_words(); break;
    case 'd': call_generate(me); break;
    default: call_draw(me, letter);
    }
    if (strchr("svr", letter) && seen.thread[me].wrote) explore_fail("a question wrote");
    seen.thread[me].calls++;
    seen.thread[me].was_lost = false;
    seen.thread[me].sleeps = 0;
    if (letter != 'f') explore_forget(seen.thread[me].calls);
}

// >>scenarios

static unsigned cap_of(const scenario *s) { return s->full ? 1u << 20 : s->cap ? s->cap : 2; }

static flake_status flake_admit(void *user, int64_t until_ns) {
    (void)user;
    return now->gate && unit_of(until_ns) > now->gate ? FLAKE_LEASE : FLAKE_OK;
}

static sno_status sno_admit(void *user, int64_t until_ns) {
    (void)user;
    return now->gate && unit_of(until_ns) > now->gate ? SNO_LEASE : SNO_OK;
}

/* Opens it on a file that an earlier run has left. */
static bool prepare_state(flake_options *o) {
    const flake_state_options where = state_options();
    flake_i_record r;
    memset(&r, 0, sizeof r);
    explore_now.exact_ns = now->clock[0] * MS;
    r.number = 1;
    r.horizon_ns = r.written_ns = explore_now.exact_ns - 10 * MS;
    flake_i_identity(o, 'f', flake_i_full_node(o), r.identity);
    flake_i_header_put(files.bytes);
    flake_i_record_put(&r, files.bytes + flake_i_record_at(1));
    files.record[1] = r.number << 41 | (uint64_t)r.horizon_ns << 1;
    files.is_there = true;
    o->state = &our.state;
    return flake_state_open(&our.state, &where, o, NULL) == FLAKE_OK;
}

static bool prepare_flake(void) {
    flake_options o;
    memset(&o, 0, sizeof o);
    o.layout = now->full ? flake_layout_of(44, 0, 20, 0) : flake_layout_of(42, 10, 12, 0);
    o.node = now->full ? 0 : 5;
    o.seq_min = now->full ? 0 : SEQUENCE_MIN;
    o.seq_max = o.seq_min + cap_of(now) * (now->shards ? now->shards : 1) - 1;
    o.max_ahead_ms = now->ahead_ms;
    o.max_wait_ms = now->wait_ms ? now->wait_ms : 5000;
    o.refuse_back = now->refuse_back;
    const bool has_gate = now->gate || calls_any('x');
    o.shared_memory = !has_gate && !now->horizon_ms && !calls_any('b'); /* no fork word */
    o.gate.admit = has_gate ? flake_admit : NULL;
    o.gate.word = calls_any('x') ? &our.gate_word : NULL;
    o.clock.kind = now->coarse ? FLAKE_CLOCK_COARSE : FLAKE_CLOCK_EXACT;
    o.overflow = now->ring && now->of == FLAKE ? &our.ring : NULL;
    n_engines = now->shards ? now->shards : 1;
    if (now->horizon_ms && !prepare_state(&o)) return false;
    if (flake_init(&our.flake, &o) != FLAKE_OK) return false;
    if (!o.shared_memory) {
        flake_i_atomic64 *word;
        mark_at_start = flake_i_fork_mark(&word);
        fork_page = word;
    }
    engines[0] = (face)FACE_OF(&our.flake.engine);
    for (unsigned i = 0; i < EXPLORE_THREADS; i++)
        if (flake_prefetch_init(&our.prefetch[i], &our.flake, 2, 1) != FLAKE_OK) return false;
    if (now->shards && flake_pool_init(&our.flake_pool, our.flake_shards, now->shards, &o) != FLAKE_OK)
        return false;
    for (unsigned i = 0; i < now->shards; i++) engines[i] = (face)FACE_OF(&our.flake_shards[i].gen.engine);
    return true;
}

/* sno.h wants a pool of 4 numbers and units of 4 ms from 2010 on. Its engine is set up anew, with
 * the capacity asked for and units of 1 ms from 1970 on, which nothing above the engine minds. */
static bool prepare_sno_engine(sno_i_engine *e) {
    sno_i_setup setup;
    memset(&setup, 0, sizeof setup);
    setup.unit_ms = 1;
    setup.time_bits = 39;
    setup.tick_bits = 1;
    setup.cap = cap_of(now);
    setup.max_wait_ms = now->wait_ms ? now->wait_ms : INT64_MAX;
    setup.shared_memory = !now->gate && !calls_any('x');
    setup.gate.admit = setup.shared_memory ? NULL : sno_admit;
    setup.gate.word = calls_any('x') ? &our.gate_word : NULL;
    setup.clock.kind = now->coarse ? SNO_CLOCK_COARSE : SNO_CLOCK_EXACT;
    setup.ring = now->ring ? &our.sno_ring : NULL;
    return sno_i_engine_init(e, &setup) == SNO_OK;
}

static bool prepare_sno(void) {
    sno_snapshot pool;
    sno_options o;
    memset(&pool, 0, sizeof pool);
    memset(&o, 0, sizeof o);
    pool.partition = PARTITION;
    pool.sequence_min = SEQUENCE_MIN;
    pool.sequence_max = SEQUENCE_MIN + 3;
    o.snapshot = &pool;
    o.shared_memory = true;
    n_engines = now->shards ? now->shards : 1;
    if (sno_init(&our.sno, &o) != SNO_OK || !prepare_sno_engine(&our.sno.engine)) return false;
    engines[0] = (face)FACE_OF(&our.sno.engine);
    if (now->shards && sno_pool_init(&our.sno_pool, our.sno_shards, now->shards, &o) != SNO_OK) return false;
    for (unsigned i = 0; i < now->shards; i++) {
        if (!prepare_sno_engine(&our.sno_shards[i].gen.engine)) return false;
        engines[i] = (face)FACE_OF(&our.sno_shards[i].gen.engine);
    }
    return true;
}

/* Nothing has been asked for but the page and the family, which take system calls. */
static void reset_default(void) {
    struct sno_i_family *const family = &sno_i_partitions.private_family;
    marks[0] = marks[1] = 0;
    sno_i_process.page = marks;
    sno_i_process.generation = 0;
    sno_i_process.bumps = 0;
    family->start = 1u << 16 | 0x3fffu << 17; /* its bumps are ahead: no start of another random choice */
    family->used = 0;
    sno_i_partitions.family = family;
    memset(&sno_i_default, 0, sizeof sno_i_default);
}

/* Places in excess of the ids have been dropped. */
static void default_ended(void) {
    const sno_i_engine *const e = &sno_i_default.gen->engine;
    const uint64_t drawn = e->word & e->count_mask;
    if (drawn < seen.n_generated) explore_fail("more ids than places");
    if (drawn > seen.n_generated) events |= DROPPED;
}

/* Builds at_start, which each execution begins with. */
static void prepare(const scenario *s) {
    now = s;
    events = 0;
    ask_stats = calls_any('v');
    ask_past = calls_any('s') || s->ring;
    memset(&our, 0, sizeof our);
    memset(&files, 0, sizeof files);
    fork_page = NULL;
    our.gate_word = GATE_OPEN;
    bool right = flake_ring_init(&our.ring, our.slots, s->ring ? s->ring : 1) == FLAKE_OK &&
                 sno_ring_init(&our.sno_ring, our.sno_slots, s->ring ? s->ring : 1) == SNO_OK &&
                 (s->of == SNO ? prepare_sno() : prepare_flake());
    if (s->of == DEFAULT) n_engines = 0;
    ring_head = s->of == SNO ? &our.sno_ring.head : &our.ring.head;
    ring_tail = s->of == SNO ? &our.sno_ring.tail : &our.ring.tail;
    for (unsigned i = 0; i < n_engines; i++) {
        const face *e = &engines[i];
        const bool by_add = !s->wait_ms && !s->full;
        right = right && e->cap == cap_of(s) && e->add_cap == (by_add ? e->cap : 0);
        *e->word = ((uint64_t)s->time << e->time_shift) + (s->tick ? e->count_mask + 1 : 0) + s->count;
        *e->drifts = s->tick;
        *e->rebased = 0;
        e->safe[0] = s->safe[0];
        e->safe[1] = s->safe[1];
    }
    if (!right) {
        (void)fprintf(stderr, "%s: the engine is not what it was meant to be\n", s->name);
        exit(2);
    }
    at_start = our;
    files_at_start = files;
    process_at_start = flake_i_process;
}

static void reset(void) {
    our = at_start;
    files = files_at_start;
    flake_i_process = process_at_start;
    if (fork_page) *fork_page = mark_at_start;
    memset(&seen, 0, sizeof seen);
    if (now->of == DEFAULT) reset_default();
    for (unsigned i = 0; i < n_engines; i++) {
        const face *e = &engines[i];
        const point p = point_of(*e->word);
        seen.toggles[i] = now->tick;
        for (unsigned tick = 0; tick < 2; tick++) {
            seen.top[i][tick] = e->safe[tick] ? (e->safe[tick] + 1) * e->cap : 0;
            if (tick == p.tick) seen.top[i][tick] = larger(seen.top[i][tick], p.at);
            seen.ever[i][tick] = seen.top[i][tick];
        }
        remember(i);
        seen.owner[i] = -1;
    }
    seen.floor_ns = INT64_MAX;
    for (unsigned i = 0; i < EXPLORE_THREADS; i++) seen.thread[i].shard = now->shards && !now->pool ? (int)i : -1;
}

static void thread(unsigned me) {
    for (const char *letter = now->calls[me]; *letter; letter++) call(me, *letter);
}

static void ended(void) {
    flake_overflow note;
    if (now->of == DEFAULT) default_ended();
    for (unsigned i = 0; i < now->ring; i++)
        if (pop(&note)) check_note(seen.pops++, &note);
    if (seen.pops != seen.pushes) explore_fail("a note is lost");
    for (unsigned k = 0; k < seen.n_elections; k++)
        if (!seen.elections[k].pushed && !seen.elections[k].owed && seen.pushes < now->ring)
            explore_fail("a note is lost between election and ring");
    for (unsigned i = 0; i < n_engines; i++) {
        const face *e = &engines[i];
        const point p = point_of(*e->word);
        const uint64_t drifts = *e->drifts + ((*e->drifts & 1) != p.tick), ids = *e->rebased + p.count;
        if (ids != now->count + seen.net[i])
            explore_fail("stats.ids is %" PRIu64 " after %" PRIu64 " draws", ids, now->count + seen.net[i]);
        if (n_engines == 1 && *e->batches > seen.batches) explore_fail("stats.batches is wrong");
        if (e->tick_bits && drifts != seen.toggles[i])
            explore_fail("%" PRIu64 " drifts after %" PRIu64 " changes of the timeline", drifts, seen.toggles[i]);
    }
}

// clang-format off
#define FORWARD {100, 101, 102}
#define STUCK {100}
#define BACK_ONCE {100, 101, 98}
#define BACK_TWICE {100, 98, 96}
#define BACK_AND_ON {100, 97, 101}
#define QUEUE .time = 100, .count = 3 /* of a capacity of 2: one waits for unit 101 already */
static const scenario scenarios[] = {
    {"two_words", "Go sno's New keeps time and sequence in two words: must be caught", {"ww", "w"}, {100, 101}, .of = TWO_WORDS, .caught = "twice"},

    {"every_stuck", "the explorer itself: without pruning as many schedules and ends", {"t", "t"}, STUCK, .must = OUTRUN, .stuck = true, .every = true},
    {"every_back", "the same, and the clock put back", {"t", "t"}, {100, 99}, .must = OUTRUN | BACK, .every = true},
    {"every_next", "the same with fetch_add and sleeps", {"n", "n"}, {100, 101}, .must = SLEPT | QUEUED, .cap = 1, .every = true},
    {"every_sno", "the same with a change of the timeline", {"t", "t"}, {100, 98}, .must = TOGGLED, .every = true, .of = SNO},
    {"every_bound", "the same under a bound: 2 preemptions", {"tt", "tt"}, {100, 101}, .must = OUTRUN, .bound = 2, .every = true},
    {"every_bound3", "the same with three threads", {"t", "n", "n"}, STUCK, .must = OUTRUN, .bound = 2, .stuck = true, .cap = 3, .every = true},
    {"every_ring", "the same with a ring", {"u", "p"}, STUCK, .must = REFUSED, .ring = 1, .every = true, .of = RING},
    {"every_pool", "the same with a shard that is lent", {"BOR", "BOR"}, STUCK, .must = REFUSED, .shards = 1, .pool = true, .every = true},

    {"flake_add_forward", "fetch_add, 2 x 3: late places wait their turn, the queue is carried on", {"nnn", "nnn"}, FORWARD, .must = SLEPT | QUEUED | REBASED | LATE},
    {"flake_add_stuck", "a clock that stands still: the wait is cut", {"nnn", "nnn"}, STUCK, .must = SLEPT | QUEUED | LATE, .stuck = true, .cuts = true},
    {"flake_add_back", "without a tick the word counts on from its own time", {"nnn", "nnn"}, BACK_ONCE, .must = SLEPT | QUEUED | MOVED},
    {"flake_add_back2", "put back twice", {"nnn", "nnn"}, BACK_TWICE, .must = SLEPT | QUEUED},
    {"flake_add_queue", "put back while callers queue", {"nnn", "nnn"}, {100, 97}, .must = SLEPT | QUEUED, QUEUE},
    {"flake_add_far", "put back further than max_wait: places are given back, or left", {"nn", "nn"}, {6000, 100}, .must = SLEPT | QUEUED | RETURNED | UNUSED | BACK, .stuck = true, .time = 6000, .count = 1},

    {"flake_cas_forward", "CAS alone, 2 x 3", {"nnn", "nnn"}, FORWARD, .must = SLEPT | QUEUED | REBASED | OUTRUN, .wait_ms = 9},
    {"flake_cas_stuck", "a clock that stands still: AGAIN when the wait is over, places given back", {"nnn", "nnn"}, STUCK, .must = SLEPT | QUEUED | RETURNED | UNUSED | AGAIN, .wait_ms = 2, .stuck = true},
    {"flake_cas_back", "put back further than max_wait", {"nnn", "nnn"}, BACK_ONCE, .must = SLEPT | QUEUED | RETURNED | UNUSED | BACK, .wait_ms = 2},
    {"flake_cas_back2", "put back twice", {"nnn", "nnn"}, BACK_TWICE, .must = SLEPT | QUEUED | BACK, .wait_ms = 2},
    {"flake_cas_queue", "put back while callers queue", {"nnn", "nnn"}, {100, 97}, .must = SLEPT | QUEUED | RETURNED | UNUSED | BACK, .wait_ms = 3, QUEUE},
    {"flake_early", "sleeps that end early", {"nn", "nn"}, FORWARD, .must = SLEPT | QUEUED | RETURNED, .wait_ms = 2, .early = true},
    {"flake_refuse", "refuse_back: waiting calls say CLOCK_BACK at once", {"nnn", "nnn"}, BACK_AND_ON, .must = QUEUED | RETURNED | BACK, .refuse_back = true},

    {"flake_try_forward", "tries, 2 x 3", {"ttt", "ttt"}, FORWARD, .must = OUTRUN | AGAIN},
    {"flake_try_back", "CLOCK_BACK, and nothing written", {"ttt", "ttt"}, BACK_AND_ON, .must = OUTRUN | AGAIN | BACK},
    {"flake_try_queue", "a try behind a queue", {"ttt", "nn"}, {100, 101, 97}, .must = SLEPT | QUEUED | AGAIN | BACK, QUEUE},
    {"flake_mixed", "next, try and batches at once", {"ntN", "Tn"}, FORWARD, .must = SLEPT | QUEUED | BATCHED, .cap = 3},
    {"flake_batch", "batches over the end of a unit", {"Nn", "NT"}, FORWARD, .must = SLEPT | QUEUED | BATCHED | REBASED},
    {"flake_batch_cas", "the same by CAS alone", {"Nn", "NT"}, {100, 101, 99}, .must = SLEPT | QUEUED | BATCHED | RETURNED, .wait_ms = 2},
    {"flake_given", "readings of the caller's, old and ahead", {"gGg", "ntn"}, FORWARD, .must = SLEPT | LEAPT | AGAIN},
    {"flake_given_back", "the same, and the clock put back", {"gGg", "tnt"}, BACK_AND_ON, .must = SLEPT | LEAPT | AGAIN | BACK},
    {"flake_ahead", "Hazelcast's: two units ahead of the clock, then wait", {"nnn", "nnn"}, FORWARD, .must = SLEPT | QUEUED, .cap = 1, .ahead_ms = 2},
    {"flake_ahead_back", "the same, and the clock put back", {"nnn", "ttt"}, BACK_ONCE, .must = SLEPT | QUEUED | BACK, .cap = 1, .ahead_ms = 2},
    {"flake_limit", "so far ahead that count is full: whole units move to time", {"nn", "nn"}, FORWARD, .must = LEAPT, .cap = 1, .ahead_ms = 1 << 23, .time = 100, .count = (3 << 20) - 1},
    {"flake_full", "a unit that fills its count carries into time", {"ntn", "sn"}, FORWARD, .must = SLEPT | AGAIN, .full = true, .time = 100, .count = (1 << 20) - 2},
    {"flake_full_back", "the same, and the clock put back", {"nn", "Ts"}, BACK_ONCE, .must = SLEPT | LEAPT | BATCHED, .full = true, .time = 100, .count = (1 << 20) - 2},
    {"flake_coarse", "a clock that lags: the exact one is asked before a wait or a step back", {"ntn", "nn"}, {100, 101, 99}, .must = SLEPT | QUEUED, .coarse = true},
    {"flake_gate", "a gate that refuses a unit: places taken in it are given back, or left", {"nn", "nt", "n"}, {100, 101}, .must = QUEUED | LATE | SHUT | RETURNED | UNUSED, .gate = 100},
    {"flake_gate_cas", "the same by CAS alone: nothing is drawn", {"nnn", "ntn"}, {100, 101}, .must = SHUT, .gate = 100, .wait_ms = 2},
    {"gate_closes", "the gate is closed, by its word, while callers sleep: they look when they wake", {"nn", "nn", "x"}, {100, 101}, .must = SLEPT | QUEUED | SHUT | LOST, QUEUE},
    {"gate_closes_cas", "the same by CAS alone", {"nn", "n", "x"}, {100, 101}, .must = SLEPT | QUEUED | SHUT | LOST | RETURNED, .wait_ms = 9, QUEUE},
    {"bumped", "the process is bumped while callers sleep", {"nn", "nn", "b"}, {100, 101}, .must = SLEPT | QUEUED | SHUT | LOST, QUEUE},
    {"state_draws", "a state, by CAS: who is near the horizon writes the next, others go on or wait", {"nn", "nn"}, {100, 101, 102}, .must = WRITTEN | SLEPT, .wait_ms = 9, .horizon_ms = 2},
    {"state_add", "the same by fetch_add", {"nn", "n"}, {100, 102}, .must = WRITTEN | SLEPT, .cap = 1, .horizon_ms = 2},
    {"state_extend", "a timer writes, and draws do; 2 preemptions", {"t", "t", "e"}, {100, 102}, .must = WRITTEN | OUTRUN, .horizon_ms = 2, .bound = 2},
    {"state_by_timer", "a timer alone writes; 2 preemptions", {"t", "t", "ee"}, {100, 103}, .must = WRITTEN | AGAIN, .horizon_ms = 2, .by_timer = true, .bound = 2},
    {"state_close", "closed while others draw, and a timer writes: the file knows all ids; 3 preemptions", {"tt", "e", "k"}, {100, 101, 102}, .must = WRITTEN | ENDED, .horizon_ms = 2, .bound = 3},
    {"state_close_waiting", "closed while two draw, with fetch_add; 2 preemptions", {"n", "n", "k"}, {100, 102}, .must = WRITTEN | ENDED, .horizon_ms = 2, .bound = 2},
    {"state_reopen", "closed and opened again, while draws of the earlier run go on", {"ttt", "K"}, {100, 101, 103}, .must = WRITTEN | ENDED, .horizon_ms = 2},
    {"state_reopen_3", "the same with two that draw; 3 preemptions", {"t", "t", "K"}, {100, 102}, .must = WRITTEN | ENDED, .horizon_ms = 2, .bound = 3},
    {"state_reopen_timer", "the same with a timer; 3 preemptions", {"t", "e", "K"}, {100, 102}, .must = WRITTEN | ENDED, .horizon_ms = 2, .by_timer = true, .bound = 3},
    {"flake_snapshot", "snapshots and retry while others draw", {"srs", "nnn"}, FORWARD, .must = QUEUED},
    {"flake_stats", "statistics while others draw", {"vv", "nnn"}, FORWARD, .must = QUEUED},
    {"flake_prefetch", "two threads' stocks, dropped after 1 ms", {"fff", "fff"}, FORWARD, .must = BATCHED},
    {"flake_3x1", "three threads, a call each: the clock put back and on, while callers queue", {"n", "n", "t"}, BACK_AND_ON, .must = QUEUED | OUTRUN | AGAIN | BACK, QUEUE},
    {"flake_3x1_forward", "three that wait", {"n", "n", "n"}, FORWARD, .must = SLEPT | QUEUED | LATE},
    {"flake_3x1_stuck", "three that wait for a clock that stands still: the wait is cut", {"n", "n", "n"}, STUCK, .must = SLEPT | QUEUED | LATE, .stuck = true, .cuts = true},
    {"flake_3x1_there", "three that wait, the clock put back once, and on", {"n", "n", "n"}, BACK_AND_ON, .must = SLEPT | QUEUED, QUEUE},
    {"flake_3x1_back", "three that try, the clock put back once", {"t", "t", "t"}, BACK_ONCE, .must = OUTRUN | BACK},
    {"flake_3x1_back2", "put back twice while callers queue", {"n", "n", "t"}, BACK_TWICE, .must = QUEUED | AGAIN | BACK, QUEUE},
    {"flake_3x1_queue", "three that wait behind a queue, the clock put back twice", {"n", "n", "n"}, BACK_TWICE, .must = SLEPT | QUEUED, QUEUE},
    {"flake_3x1_cas", "three that wait by CAS alone, behind a queue, the clock put back", {"n", "n", "n"}, {100, 97}, .must = SLEPT | QUEUED | RETURNED | UNUSED | OUTRUN | BACK, .wait_ms = 3, QUEUE},
    {"flake_3x1_cas_back2", "the same, put back twice", {"n", "n", "n"}, BACK_TWICE, .must = SLEPT | OUTRUN | BACK, .wait_ms = 3, QUEUE},
    {"flake_3x2", "three threads, two calls each; 3 preemptions", {"nn", "nn", "nn"}, FORWARD, .must = SLEPT | QUEUED | LATE, .bound = 3},
    {"flake_3x2_back", "the same, and the clock put back", {"nt", "nt", "nt"}, BACK_ONCE, .must = SLEPT | QUEUED | AGAIN | BACK, .bound = 3},
    {"flake_3x2_stuck", "the same, and a clock that stands still", {"nt", "nt", "tn"}, STUCK, .must = SLEPT | QUEUED | AGAIN, .bound = 3, .stuck = true, .cuts = true},
    {"flake_4x2", "four threads, two calls each; 3 preemptions", {"nn", "nn", "nn", "nn"}, {100, 99}, .must = SLEPT | QUEUED, .bound = 3},
    {"flake_4x2_forward", "the same, and the clock goes on", {"nn", "nn", "nn", "nn"}, {100, 101}, .must = SLEPT | QUEUED | REBASED | LATE, .bound = 3},
    {"flake_4x2_try", "tries by four, the clock put back and on; 3 preemptions", {"tt", "tt", "tt", "tt"}, BACK_AND_ON, .must = OUTRUN | AGAIN | BACK, .bound = 3},

    {"sno_add_forward", "fetch_add, 2 x 3; no tick-tock without a step back", {"nnn", "nnn"}, FORWARD, .must = SLEPT | QUEUED | REBASED | LATE, .of = SNO},
    {"sno_add_stuck", "a clock that stands still: the wait is cut", {"nnn", "nnn"}, STUCK, .must = SLEPT | QUEUED, .stuck = true, .cuts = true, .of = SNO},
    {"sno_add_back", "tick-tock", {"nnn", "nnn"}, BACK_ONCE, .must = SLEPT | QUEUED | TOGGLED | MOVED, .of = SNO},
    {"sno_add_back2", "put back twice: the second step into used time waits", {"nnn", "nnn"}, BACK_TWICE, .must = SLEPT | QUEUED | TOGGLED, .of = SNO},
    {"sno_add_queue", "put back while callers queue", {"nnn", "nnn"}, {100, 97}, .must = SLEPT | QUEUED | TOGGLED | RETURNED | UNUSED, QUEUE, .of = SNO},
    {"sno_cas_forward", "CAS alone, 2 x 3", {"nnn", "nnn"}, FORWARD, .must = SLEPT | QUEUED | REBASED | OUTRUN, .wait_ms = 9, .of = SNO},
    {"sno_cas_back", "tick-tock by CAS", {"nnn", "nnn"}, BACK_ONCE, .must = SLEPT | QUEUED | TOGGLED | OUTRUN, .wait_ms = 2, .of = SNO},
    {"sno_try_back", "tries change the timeline, there and back", {"ttt", "ttt"}, {100, 98, 102, 101}, .must = TOGGLED | OUTRUN | AGAIN, .of = SNO},
    {"sno_try_back2", "a second step back into used time: CLOCK_BACK, and nothing written", {"ttt", "ttt"}, {100, 98, 99, 97}, .must = TOGGLED | OUTRUN | AGAIN | BACK, .of = SNO},
    {"sno_blocked", "both timelines used: waits for the first free time", {"nn", "tn"}, {100, 98, 101}, .must = SLEPT | BACK, .time = 101, .tick = 1, .count = 1, .safe = {99, 0}, .of = SNO},
    {"sno_gate_closes", "the gate is closed while callers sleep who hold no place", {"nn", "x"}, {100, 98, 101}, .must = SLEPT | SHUT | LOST, .time = 101, .tick = 1, .count = 1, .safe = {99, 0}, .of = SNO},
    {"sno_mixed", "waiting and trying, timelines changed twice", {"nt", "tn"}, {100, 98, 100, 99}, .must = SLEPT | TOGGLED, .time = 99, .count = 2, .of = SNO},
    {"sno_batch", "batches, and the clock put back", {"Nn", "TN"}, {100, 101, 99}, .must = SLEPT | QUEUED | BATCHED | TOGGLED, .cap = 3, .of = SNO},
    {"sno_given", "readings of the caller's never change the timeline", {"gGg", "tnt"}, BACK_AND_ON, .must = LEAPT | TOGGLED, .of = SNO},
    {"sno_coarse", "a clock that lags", {"tn", "nt"}, {100, 101, 99}, .must = TOGGLED, .coarse = true, .of = SNO},
    {"sno_gate", "a gate that refuses a unit, and the clock put back to before it", {"nnn", "nnn"}, {100, 101, 98}, .must = SHUT | TOGGLED, .gate = 100, .of = SNO},
    {"sno_snapshot", "snapshots are not torn by a change of the timeline", {"sr", "ttt"}, {100, 98, 102, 101}, .must = TOGGLED, .of = SNO},
    {"sno_stats", "statistics while the timeline changes", {"v", "tttt"}, {100, 98, 100}, .must = TOGGLED, .of = SNO},
    {"sno_3x1", "three threads, a call each, the clock put back", {"n", "n", "t"}, BACK_ONCE, .must = TOGGLED | OUTRUN, .of = SNO},
    {"sno_3x1_forward", "three that wait", {"n", "n", "n"}, FORWARD, .must = SLEPT | QUEUED | LATE, .of = SNO},
    {"sno_3x1_stuck", "three that wait for a clock that stands still: the wait is cut", {"n", "n", "n"}, STUCK, .must = SLEPT | QUEUED | LATE, .stuck = true, .cuts = true, .of = SNO},
    {"sno_3x1_back", "three that wait, the clock put back once", {"n", "n", "n"}, BACK_ONCE, .must = TOGGLED | OUTRUN, .of = SNO},
    {"sno_3x1_there", "three that try, the clock put back, and on", {"t", "t", "t"}, BACK_AND_ON, .must = TOGGLED | OUTRUN, .of = SNO},
    {"sno_3x1_back2", "put back twice", {"n", "n", "t"}, BACK_TWICE, .must = TOGGLED | OUTRUN, .of = SNO},
    {"sno_3x1_wait_back2", "three that wait, the clock put back twice", {"n", "n", "n"}, BACK_TWICE, .must = TOGGLED | OUTRUN, .of = SNO},
    {"sno_3x1_try_queue", "three that try behind a queue, the clock put back twice", {"t", "t", "t"}, BACK_TWICE, .must = TOGGLED | OUTRUN, QUEUE, .of = SNO},
    {"sno_3x1_cas", "three that wait by CAS alone, the clock put back once", {"n", "n", "n"}, BACK_ONCE, .must = TOGGLED | OUTRUN, .wait_ms = 2, .of = SNO},
    {"sno_3x1_queue", "three that wait, put back while callers queue; bounded: 4 preemptions, without a bound it does not end", {"n", "n", "n"}, {100, 97}, .must = TOGGLED | RETURNED | UNUSED, QUEUE, .bound = 4, .of = SNO},
    {"sno_3x2", "three threads, two calls each; 3 preemptions", {"nn", "nn", "nn"}, {100, 98}, .must = SLEPT | QUEUED | TOGGLED, .bound = 3, .of = SNO},
    {"sno_3x2_forward", "the same, and the clock goes on", {"nn", "nn", "nn"}, FORWARD, .must = SLEPT | QUEUED | LATE, .bound = 3, .of = SNO},
    {"sno_3x2_back2", "tries by three, the clock put back twice; 3 preemptions", {"tt", "tt", "tt"}, BACK_TWICE, .must = TOGGLED | OUTRUN | AGAIN | BACK, .bound = 3, .of = SNO},
    {"sno_4x2", "four threads, two tries each; 3 preemptions", {"tt", "tt", "tt", "tt"}, {100, 98}, .must = TOGGLED, .bound = 3, .of = SNO},
    {"sno_4x2_forward", "four that wait, two calls each, the clock goes on; 3 preemptions", {"nn", "nn", "nn", "nn"}, {100, 101}, .must = SLEPT | QUEUED | LATE, .bound = 3, .of = SNO},
    {"sno_4x2_queue", "tries by four behind a queue, the clock put back; 3 preemptions", {"tt", "tt", "tt", "tt"}, {100, 97}, .must = TOGGLED | OUTRUN, QUEUE, .bound = 3, .of = SNO},

    {"ring_push", "two producers, one consumer, a ring of two", {"uu", "uu", "pp"}, STUCK, .must = REFUSED, .ring = 2, .fine = true, .of = RING},
    {"ring_pop", "one producer, two consumers, a ring of one", {"uuu", "pp", "pp"}, STUCK, .must = REFUSED, .ring = 1, .fine = true, .of = RING},
    {"ring_room", "a ring with room for all takes all", {"up", "up"}, STUCK, .must = 0, .ring = 4, .fine = true, .of = RING},
    {"ring_3x2", "three that push and pop; 4 preemptions", {"up", "up", "pu"}, STUCK, .must = REFUSED, .ring = 2, .bound = 4, .fine = true, .of = RING},
    {"note_queue", "a note each ms while callers queue, and a last one", {"nnn", "nnn"}, FORWARD, .must = NOTED | CLOSED, .ring = 4},
    {"note_small", "a ring of one: notes are dropped, the last one stays owed", {"nnn", "nnn"}, FORWARD, .must = NOTED | OWED, .ring = 1},
    {"note_popped", "the same, with a consumer", {"nn", "nn", "pp"}, FORWARD, .must = NOTED | CLOSED, .ring = 1, .bound = 3},
    {"note_sno", "notes over a change of the timeline", {"nn", "n"}, {100, 101, 102, 99}, .must = NOTED | CLOSED | TOGGLED, .ring = 4, .of = SNO},

    {"default_first", "two first calls of sno_generate at once: one generator, one tag, no id twice", {"d", "d"}, STUCK, .must = 0, .of = DEFAULT},
    {"default_3x1", "three; 4 preemptions", {"d", "d", "d"}, STUCK, .must = 0, .bound = 4, .of = DEFAULT},
    {"default_bump", "a bump while another draws: a place drawn after it goes with a partition taken after it; 6 preemptions", {"dd", "bd"}, STUCK, .must = RETAGGED | DROPPED, .bound = 6, .of = DEFAULT},
    {"default_bump2", "two bumps while two draw; 4 preemptions", {"dd", "dd", "bb"}, STUCK, .must = RETAGGED | DROPPED, .bound = 4, .of = DEFAULT},

    {"shard", "owned words, and a snapshot of one by another thread", {"ooO", "Mo", "s"}, FORWARD, .must = SLEPT | BATCHED, .shards = 2},
    {"shard_sno", "owned words, and the clock put back", {"oOo", "sMo"}, {100, 98}, .must = TOGGLED, .shards = 2, .of = SNO},
    {"pool_1", "two threads, one shard: one owner at a time", {"BoRBOR", "BORBoR"}, {100, 101}, .must = REFUSED, .shards = 1, .pool = true},
    {"pool_2", "three threads, two shards", {"BOR", "BOR", "BORBOR"}, {100, 101}, .must = REFUSED, .shards = 2, .pool = true},
    {"pool_sno", "two threads, one shard, and the clock put back", {"BoR", "BOR", "BoR"}, {100, 98}, .must = REFUSED | TOGGLED, .shards = 1, .pool = true, .of = SNO},
};
// clang-format on

static explore_setup setup_of(const scenario *s) {
    static int64_t clock_ns[7];
    explore_setup e;
    memset(&e, 0, sizeof e);
    prepare(s);
    for (; e.threads < EXPLORE_THREADS && s->calls[e.threads]; e.threads++) {
        unsigned like = e.threads; /* threads with the same calls may change places, */
        if (!s->shards && !calls_any('u')) /* unless they have something of their own */
            for (like = 0; strcmp(s->calls[like], s->calls[e.threads]) != 0;) like++;
        e.role[e.threads] = like;
    }
    for (; e.clocks < 7 && s->clock[e.clocks]; e.clocks++) clock_ns[e.clocks] = (s->clock[e.clocks] + (s->of == DEFAULT ? INT64_C(1600000000000) : 0)) * MS;
    e.clock_ns = clock_ns;
    e.reset = reset;
    e.thread = thread;
    e.watch = watch;
    e.ended = ended;
    e.digest = digest;
    e.name = name_of;
    e.show = show;
    e.preemptions = s->bound ? s->bound : EXPLORE_ANY;
    e.sleeps = s->sleeps ? s->sleeps : 8;
    e.coarse = s->coarse;
    e.stuck = s->stuck;
    e.early = s->early;
    e.fine = s->fine;
    return e;
}

enum { MOST_S = 300 };
static double total_s; /* CPU time of all scenarios so far */

/* Whether the search that prunes nothing ends in as many states, after as many schedules, and comes by
 * the same events. */
static bool prunes_rightly(const explore_setup *setup, const explore_result *pruned) {
    const unsigned events_then = events;
    explore_setup all = *setup;
    all.every = true;
    events = 0;
    const explore_result r = explore(&all);
    const bool same = !r.failed && r.complete == pruned->complete &&
                      r.schedules == pruned->schedules && events == events_then;
    if (!same)
        printf(
            "     without pruning: %lu complete, %.0f schedules, events %x; with: %lu, %.0f, %x\n",
            r.complete, r.schedules, events, pruned->complete, pruned->schedules, events_then);
    return same;
}

/* Explores it; false: it is not as it should be. */
static bool passes(const scenario *s) {
    const explore_setup setup = setup_of(s);
    const clock_t begun = clock();
    const explore_result r = explore(&setup);
    const unsigned missing = s->must & ~events;
    const bool passed =
        (s->caught ? r.failed && strstr(r.message, s->caught)
                   : !r.failed && !missing && (s->cuts ? r.cut : !r.cut && r.complete)) &&
        (!s->every || prunes_rightly(&setup, &r));
    const double seconds = (double)(clock() - begun) / CLOCKS_PER_SEC;
    total_s += seconds;
    printf("%-4s %-20s %7lu complete %5lu cut %8lu merged %8lu states %8.1e schedules %6.2f s\n",
           passed ? "ok" : "FAIL", s->name, r.complete, r.cut, r.merged, r.states, r.schedules,
           seconds);
    if (r.failed) printf("     %s\n     %s --replay %s\n", r.message, s->name, r.schedule);
    if (passed) return true;
    if (r.failed) {
        prepare(s);
        (void)explore_replay(&setup, r.schedule);
    } else if (s->caught)
        printf("     this was to fail: %s\n", s->caught);
    else if (!r.cut != !s->cuts)
        printf("     cut %lu executions\n", r.cut);
    for (unsigned i = 0; !r.failed && i < sizeof event_names / sizeof *event_names; i++)
        if (missing >> i & 1) printf("     came up in no execution: %s\n", event_names[i]);
    return false;
}

int main(int argc, char **argv) {
    const char *schedule = NULL;
    bool list = false;
    int words = 0, passed = 0, failed = 0;
    for (int a = 1; a < argc; a++)
        if (!strcmp(argv[a], "--list"))
            list = true;
        else if (!strcmp(argv[a], "--replay") && a + 1 < argc)
            schedule = argv[++a];
        else
            argv[1 + words++] = argv[a];
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        const scenario *s = &scenarios[i];
        bool wanted = !words;
        for (int a = 1; a <= words; a++)
            wanted |= schedule ? !strcmp(s->name, argv[a]) : strstr(s->name, argv[a]) != NULL;
        if (!wanted) continue;
        if (list) {
            printf("%-20s %s\n", s->name, s->shows);
        } else if (schedule) {
            const explore_setup setup = setup_of(s);
            return explore_replay(&setup, schedule).failed;
        } else if (passes(s))
            passed++;
        else
            failed++;
        (void)fflush(stdout);
    }
    if (list) return 0;
    if (!words) {
        const bool in_time = total_s <= MOST_S;
        printf("%-4s %-20s %.0f s of CPU time, of %d\n", in_time ? "ok" : "FAIL",
               "standing_set_time", total_s, MOST_S);
        if (in_time) passed++;
        else failed++;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0 || passed == 0;
}
