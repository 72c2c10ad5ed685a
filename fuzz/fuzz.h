/* SPDX-License-Identifier: MIT
 *
 * Shared by the fuzz targets and the campaign: bytes as decisions, the scripted clock, the set of all IDs of
 * one input, and the report of a failure.
 *
 * A target defines LLVMFuzzerTestOneInput, and includes driver.h at its end, to run without libFuzzer as well.
 */
#ifndef FUZZ_H
#define FUZZ_H

#ifdef FLAKE_H /* it would read the system's clock */
#error "include fuzz/fuzz.h before flake.h: it replaces the clock"
#endif

#define REAL_SLEEP /* the hooks are below */
#define CHECK_OWN_MAIN
#include "../tests/support/support.h"
#include "../tests/support/oracle.h"

#ifdef __cplusplus
#define FUZZ_NORETURN [[noreturn]]
#define FUZZ_C        extern "C" /* what libFuzzer calls */
#else
#define FUZZ_NORETURN _Noreturn
#define FUZZ_C
#endif
FUZZ_C int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* ---- failures ---- */

static const uint8_t *fuzz_input; /* the current one */
static size_t fuzz_input_size;
static uint64_t fuzz_inputs, fuzz_ids; /* counts */
static bool fuzz_traced;               /* prints each call */
static const char *fuzz_call = "begin";
static unsigned fuzz_step;

/* Called for a failure instead, and does not return: a test continues with its next input. */
static void (*fuzz_instead)(const char *failure);

FUZZ_NORETURN static void fuzz_fail(const char *what, int64_t got, int64_t wanted) {
    char failure[256];
    (void)fflush(stdout);
    (void)snprintf(failure, sizeof failure,
                   "step %u, %s: %s is %" PRId64 " (%016" PRIx64 "), not %" PRId64 " (%016" PRIx64 ")", fuzz_step,
                   fuzz_call, what, got, (uint64_t)got, wanted, (uint64_t)wanted);
    if (fuzz_instead) fuzz_instead(failure);
    (void)fprintf(stderr, "\nFAIL %s\ninput ", failure);
    for (size_t i = 0; i < fuzz_input_size; i++) (void)fprintf(stderr, "%02x", fuzz_input[i]);
    (void)fprintf(stderr, "\n");
    abort();
}

static inline void fuzz_same(const char *what, int64_t got, int64_t wanted) {
    if (got != wanted) fuzz_fail(what, got, wanted);
}

static inline void fuzz_true(const char *what, bool holds) { fuzz_same(what, holds, true); }

static inline void fuzz_same_u64(const char *what, uint64_t got, uint64_t wanted) {
    fuzz_same(what, (int64_t)got, (int64_t)wanted);
}

/* ---- bytes: after the last one they are 0 ---- */

static const uint8_t *fuzz_at, *fuzz_end;

static inline void fuzz_begin(const uint8_t *bytes, size_t size) {
    fuzz_input = fuzz_at = bytes;
    fuzz_input_size = size;
    fuzz_end = bytes + size;
    fuzz_inputs++;
    fuzz_step = 0;
    fuzz_call = "begin";
}

static inline size_t fuzz_left(void) { return (size_t)(fuzz_end - fuzz_at); }
static inline uint8_t fuzz_byte(void) { return fuzz_at < fuzz_end ? *fuzz_at++ : 0; }

static inline uint64_t fuzz_bytes(unsigned n) {
    uint64_t value = 0;
    for (unsigned i = 0; i < n; i++) value = value << 8 | fuzz_byte();
    return value;
}

/* Uses as few bytes as the bound needs, so that small changes of an input have small effects. */
static inline uint64_t fuzz_below(uint64_t bound) {
    unsigned n = 1;
    while (n < 8 && (bound - 1) >> (8 * n)) n++;
    return bound ? fuzz_bytes(n) % bound : 0;
}

static inline bool fuzz_one_in(uint64_t n) { return fuzz_below(n) == n - 1; }

/* A number of any size: small, or next to a power of two, or anything. */
static inline uint64_t fuzz_number(void) {
    const unsigned form = fuzz_byte();
    if (form < 128) return form;
    if (form < 192) return ((uint64_t)1 << form % 64) + fuzz_below(3) - 1;
    if (form < 200) return (uint64_t)INT64_MAX + fuzz_below(4) - 2;
    return fuzz_bytes(1 + form % 8);
}

/* ---- texts: on the heap in their exact size ---- */

enum { fuzz_longest_text = 1024 };

/* The rest of the input. */
static inline char *fuzz_rest(size_t *n) {
    *n = fuzz_left();
    if (*n > fuzz_longest_text) *n = fuzz_longest_text;
    char *const text = (char *)exactly(*n);
    if (*n) memcpy(text, fuzz_at, *n);
    fuzz_at += *n;
    return text;
}

/* A text with some edits; *n: its length, and that of the result. */
static inline char *fuzz_edited(const char *right, size_t *n) {
    char room[fuzz_longest_text];
    memcpy(room, right, *n);
    for (unsigned edits = fuzz_byte() % 8; edits; edits--) {
        const uint8_t edit = fuzz_byte();
        char *const at = room + (size_t)fuzz_below(*n + 1);
        const size_t left = *n - (size_t)(at - room), some = edit & 4 ? 1 + edit / 8u : 1;
        const size_t few = some < left ? some : left;
        if (edit % 4 == 0 && *n < sizeof room) {
            memmove(at + 1, at, left);
            *at = edit & 4 ? '0' : (char)fuzz_byte();
            ++*n;
        } else if (edit % 4 == 1) {
            memmove(at, at + few, left - few);
            *n -= few;
        } else if (edit % 4 == 2 && *n + few <= sizeof room) { /* repeated */
            memmove(at + few, at, left);
            *n += few;
        } else if (left && edit & 4) { /* its neighbour, or one bit of it */
            *at = (char)(edit & 8 ? *at + (edit & 16 ? 1 : -1) : *at ^ 1 << edit / 32);
        } else if (left) *at = (char)fuzz_byte();
    }
    char *const text = (char *)exactly(*n);
    if (*n) memcpy(text, room, *n);
    return text;
}

/* ---- clock ----
 *
 * script_now.now_ns is the true time, and FUZZ_READING what the clock under test reads then. It is read
 * again whenever the true time has changed, and constant in between.
 */
#ifndef FUZZ_READING
#define FUZZ_READING(true_ns) (true_ns)
enum { fuzz_own_clock = 0 };
#else
enum { fuzz_own_clock = 1 }; /* sleeps move it further, in steps */
#endif

/* Readings and sleeps of each call are bounded. */
static inline void fuzz_begin_call(void) {
    check_turns = 0;
    script_now.sleeps = 0;
}

static int64_t fuzz_reading_ns;
static uint64_t fuzz_slack_ns; /* for the next init with the coarse clock */
static bool fuzz_counts;       /* the fast clock's counter does */
static bool fuzz_stepped_back; /* a reading was below an earlier one */

static inline void fuzz_read_anew(void) {
    const int64_t before_ns = fuzz_reading_ns;
    fuzz_reading_ns = FUZZ_READING(script_now.now_ns);
    fuzz_stepped_back |= fuzz_reading_ns < before_ns;
}

static inline void fuzz_clock_begin(int64_t true_ns) {
    script_at_ms(0);
    script_now.now_ns = true_ns;
    fuzz_counts = false;
    fuzz_reading_ns = FUZZ_READING(true_ns);
    fuzz_stepped_back = false;
}

static inline int64_t fuzz_read(void *user) {
    (void)user;
    if (check_turn_number() >= 1000000) fuzz_fail("clock readings of one call", check_turns, 1000000);
    return fuzz_reading_ns;
}

static inline int64_t fuzz_read_system(bool is_coarse) {
    return script_sum(fuzz_read(NULL), is_coarse ? -script_now.coarse_lag_ns : 0);
}

/* The latest reading of a clock that went backwards within slack or lease. */
static inline int64_t fuzz_latest_ns(void) {
    return script_sum(fuzz_reading_ns, fuzz_counts ? INT64_C(1) << 19 : (int64_t)fuzz_slack_ns);
}

static inline void fuzz_sleep(int64_t ns) {
    script_sleep(ns);
    fuzz_read_anew();
    if (script_now.sleeps > 100000) fuzz_fail("sleeps of one call", script_now.sleeps, 100000);
}

static inline void fuzz_back_to(const script *then) {
    script_now = *then;
    fuzz_reading_ns = FUZZ_READING(script_now.now_ns);
}

/* It follows the clock, also backwards, as another processor's counter might. */
static inline uint64_t fuzz_counter(void) { return fuzz_counts ? (uint64_t)fuzz_reading_ns * 3 : 0; }

#define FLAKE_CLOCK_NS(kind) fuzz_read_system((kind) == FLAKE_CLOCK_COARSE)
#define FLAKE_CLOCK_SLACK_NS fuzz_slack_ns
#define FLAKE_COUNTER()      fuzz_counter()
#define FLAKE_LANE()         fuzz_step /* each call is in another thread */
#define FLAKE_SLEEP_NS(ns)   fuzz_sleep(ns)

/* What the clock may do. */
enum {
    FUZZ_BACK = 1,    /* go backwards */
    FUZZ_STICK = 2,   /* stop while a caller sleeps */
    FUZZ_OUTSIDE = 4, /* read times outside the layout */
    FUZZ_JUMP = 8,    /* jump anywhere during a sleep */
    FUZZ_FAR = 16,    /* jump by years */
    FUZZ_SHORT = 32   /* move by less than a caller wants to sleep */
};

#define FUZZ_MS INT64_C(1000000) /* in ns */

static inline int64_t fuzz_way(int64_t from, int64_t to) {
    if (from < 0 && to > INT64_MAX + from) return INT64_MAX;
    if (from > 0 && to < INT64_MIN + from) return INT64_MIN;
    return to - from;
}

static inline int64_t fuzz_end_ns(const oracle *o) { return oracle_start_ns(o, o->last_unit) + o->unit_ms * FUZZ_MS; }

static inline int64_t fuzz_move_ns(const oracle *o, unsigned may) {
    const int64_t unit_ns = o->unit_ms * FUZZ_MS, now_ns = script_now.now_ns;
    const uint8_t choice = fuzz_byte();
    int64_t ns = 0;
    switch (choice % 12) {
    case 0: ns = unit_ns; break;
    case 1: ns = unit_ns - 1; break;
    case 2: ns = 1; break;
    case 3: ns = (int64_t)fuzz_below(256) * (unit_ns / 64); break;
    case 4:
    case 5:
        ns = oracle_retry_ns(o);
        if (ns == INT64_MAX) ns = 0;
        if (ns && choice % 12 == 5) ns--;
        return ns;
    case 6: ns = (int64_t)fuzz_below(unit_ns < INT64_MAX >> 16 ? 1 << 16 : 256) * unit_ns; break;
    case 7:
        if (may & FUZZ_FAR) ns = (int64_t)fuzz_below(UINT64_C(1) << 32) * 1000 * FUZZ_MS;
        break;
    case 8: { /* to the newest unit drawn in, which the clock may have left, or the last on the
               * other timeline */
        const uint64_t unit = choice & 64 ? o->safe[o->next.tick ^ 1] : oracle_newest(o);
        if (unit > o->last_unit) return fuzz_way(now_ns, fuzz_end_ns(o));
        return fuzz_way(now_ns, oracle_start_ns(o, unit) + (choice & 128 ? unit_ns : 0));
    }
    case 9:
        if (!(may & FUZZ_OUTSIDE)) break;
        ns = choice & 128 ? fuzz_end_ns(o) : oracle_start_ns(o, 0);
        return script_sum(fuzz_way(now_ns, ns), (int64_t)fuzz_below(7) - 3);
    case 10:
        if (!(may & FUZZ_OUTSIDE)) break;
        return fuzz_way(now_ns, choice & 128 ? INT64_MAX : INT64_MIN);
    default: break;
    }
    return choice & 128 ? -ns : ns;
}

/* How the next sleeps end. */
static inline void fuzz_set_sleep(const oracle *o, unsigned may) {
    const int64_t grain_ns = FUZZ_MS / 8, unit_ns = o->unit_ms * FUZZ_MS;
    script_now.per_sleep = -1;
    script_now.jump_to_ns = 0;
    const uint8_t choice = fuzz_byte();
    if (script_now.now_ns > fuzz_end_ns(o) - 100 * unit_ns) return;
    if (may & FUZZ_STICK && (choice & 3) == 3) script_now.per_sleep = 0;
    if (may & FUZZ_SHORT && (choice & 3) == 2) script_now.per_sleep = (choice >> 3) * grain_ns;
    if (may & FUZZ_JUMP && choice & 4) {
        const int64_t by_ns = (int64_t)fuzz_below(256) * (unit_ns / 8);
        script_now.jump_to_ns = script_sum(script_now.now_ns, choice & 128 && may & FUZZ_BACK ? -by_ns : by_ns);
    }
    if (script_now.per_sleep >= 0) {
        script_now.now_ns -= script_now.now_ns % grain_ns;
        script_now.jump_to_ns -= script_now.jump_to_ns % grain_ns;
    }
}

static inline void fuzz_move_clock(const oracle *o, unsigned may) {
    int64_t by_ns = fuzz_move_ns(o, may);
    if (by_ns < 0 && !(may & FUZZ_BACK)) by_ns = 0;
    const int64_t to_ns = script_sum(script_now.now_ns, by_ns);
    if (may & FUZZ_OUTSIDE || (to_ns >= oracle_start_ns(o, 0) && to_ns < fuzz_end_ns(o))) script_now.now_ns = to_ns;
    fuzz_set_sleep(o, may);
    fuzz_read_anew();
    if (fuzz_traced)
        printf("  clock %+" PRId64 " ns = %" PRId64 " ns, per sleep %" PRId64 ", next sleep to %" PRId64 "\n", by_ns,
               fuzz_reading_ns, script_now.per_sleep, script_now.jump_to_ns);
}

/* A time of the oracle's range: the first, the last, or between. */
static inline void fuzz_start_clock(const oracle *o) {
    const uint8_t choice = fuzz_byte();
    uint64_t unit = fuzz_below(1 << 16);
    if (choice & 1) unit += o->last_unit / 2;
    if (choice & 2) unit = unit % 64 < o->last_unit ? o->last_unit - unit % 64 : o->last_unit;
    if (unit > o->last_unit) unit = o->last_unit;
    fuzz_clock_begin(oracle_start_ns(o, unit) + (int64_t)(choice >> 2) * (o->unit_ms * FUZZ_MS / 64));
}

/* ---- the set of all IDs of one input ---- */

enum { fuzz_most_ids = 40000, fuzz_slots = 1 << 17 };
static uint64_t fuzz_slot[fuzz_slots];
static uint32_t fuzz_round_of[fuzz_slots], fuzz_round; /* an older round's slot is free */
static size_t fuzz_set_size;

static inline void fuzz_set_clear(void) {
    fuzz_round++;
    fuzz_set_size = 0;
}

static inline void fuzz_set_add(uint64_t id) {
    size_t at = (size_t)(id * 0x9e3779b97f4a7c15 >> 47);
    for (; fuzz_round_of[at] == fuzz_round; at = (at + 1) % fuzz_slots)
        if (fuzz_slot[at] == id) fuzz_fail("a duplicate ID", (int64_t)id, -1);
    fuzz_round_of[at] = fuzz_round;
    fuzz_slot[at] = id;
    fuzz_set_size++;
    fuzz_ids++;
}

static inline bool fuzz_set_is_full(void) { return fuzz_set_size > fuzz_most_ids; }

/* ---- calls, made first to the oracle, then to the generator ---- */

enum { fuzz_most_places = 1 << 16, fuzz_usual_places = 4096 };

typedef struct fuzz_wanted {
    oracle_status status;
    size_t n;
    oracle_place places[fuzz_most_places];
    int64_t after_ns; /* the clock after the call */
} fuzz_wanted;

/* All that a batch of n returns; the clock is then restored. */
static inline void fuzz_ask_oracle(oracle *o, oracle_how how, size_t n, fuzz_wanted *w) {
    const script before = script_now;
    w->status = ORACLE_OK;
    for (w->n = 0; w->n < n && w->status == ORACLE_OK;) {
        oracle_run run;
        w->status = oracle_draw(o, how, n - w->n, &run);
        if (w->status != ORACLE_OK) break;
        for (uint64_t i = 0; i < run.n; i++) w->places[w->n++] = oracle_after(o, run.first, i);
    }
    w->after_ns = script_now.now_ns;
    fuzz_back_to(&before);
}

#endif
