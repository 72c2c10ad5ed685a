/* SPDX-License-Identifier: MIT
 *
 * Many threads at once, on the real clock (flake.h, >>engine, I1 to I3, and >>lanes): no ID repeats, each thread's IDs
 * rise, none is ahead of the clock, and every one is counted. bench/ measures the speed.
 *
 * A plan says how many threads draw from which generator, by which calls, with which options, and until when. run()
 * makes all generators, starts the threads and joins them; judge() checks what holds for every plan. Each test fills in
 * plans.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include "warped_clock.h"
#include "options.h"

enum { most_threads = 64, most_batch = 4096, stock_size = 50, handler_room = 1 << 14 };

/* A generator for all threads, a shard for each, a 128-bit generator, and lanes of both. */
typedef enum source { SHARED, SHARDED, WIDE, LANED, WIDE_LANED } source;

/* How a thread draws; MIXED: by any of the calls before it. NO_CALL ends a list. */
typedef enum call { NEXT, TRY, NEXT_N, TRY_N, TRY_AT, PREFETCH, MIXED, NO_CALL } call;

typedef struct plan {
    source from;
    call by;
    unsigned threads;
    unsigned shards; /* or lanes */
    size_t ids;      /* to draw in all; 0: as many as possible in ... */
    int64_t ms;      /* ... so long a time */
    uint64_t batch;  /* most IDs a call */
    bool may_refuse; /* calls that fail are expected */
    bool interrupts; /* each thread gets a signal each ms; its handler draws an ID */
    unsigned askers; /* threads that query the generator */
    flake_node node; /* of all but the 128-bit generators */
    flake_options options;
} plan;

static bool has_lanes(const plan *p) { return p->from >= LANED; }
static bool is_wide(const plan *p) { return p->from == WIDE || p->from == WIDE_LANED; }

/* A 128-bit ID without its node is a 64-bit one of mastodon's layout. */
static const uint64_t wide_node = 0x9ba1a5c50962;

static flake_layout layout_of(const plan *p) { return is_wide(p) ? flake_layout_mastodon : p->options.layout; }

static int64_t plan_now_ms(const plan *p) {
    const flake_clock *c = &p->options.clock;
    return (c->now_ns ? c->now_ns(c->user) : clock_ns(CLOCK_REALTIME)) / 1000000;
}

/* ---- a thread, and what it received ---- */

typedef struct stream {
    uint64_t *ids;
    size_t n, room;
    uint64_t last;
    size_t falls; /* IDs that were not greater than the one before */
} stream;

/* Streams that each rise: IDs from a stock are older than those drawn meanwhile. */
enum { own, stocked, in_handler, streams };

typedef struct worker {
    const plan *p;
    pthread_t thread;
    uint64_t seed, random;
    flake_gen *gen;
    flake_prefetch stock;
    stream got[streams];
    size_t early, refused;
    size_t older; /* IDs of lanes, of an older unit than one returned before the call */
} worker;

static flake_gen gen, wide, lanes, wide_lanes, shards[most_threads];
static flake_lane lane_array[most_threads], wide_lane_array[most_threads];
static worker workers[most_threads];
static _Atomic(uint64_t) newest_unit; /* of all IDs of lanes */
static atomic_uint ready, running;
static _Thread_local worker *me;

/* Lanes order units across threads, and nothing within a unit, while the clock does not go backwards. */
static void keep(worker *w, unsigned which, uint64_t id, uint64_t newest_before) {
    stream *const s = &w->got[which];
    const uint64_t unit = id >> w->p->options.layout.time_shift;
    uint64_t seen = atomic_load(&newest_unit);
    if (s->n == s->room) {
        s->room = s->room ? 2 * s->room : 4096;
        s->ids = (uint64_t *)realloc(s->ids, s->room * sizeof *s->ids);
        if (!s->ids) abort();
    }
    s->falls += s->n && id <= s->last;
    s->ids[s->n++] = s->last = id;
    if (w->p->from != LANED) return;
    w->older += unit < newest_before;
    while (seen < unit && !atomic_compare_exchange_strong(&newest_unit, &seen, unit)) {
    }
}

#define DRAW(prefix, ids)                                   \
    (by == NEXT     ? prefix##_next(w->gen, ids)            \
     : by == TRY    ? prefix##_try(w->gen, ids)             \
     : by == NEXT_N ? prefix##_next_n(w->gen, ids, *n)      \
     : by == TRY_N  ? prefix##_try_n(w->gen, ids, *n, n)    \
                    : prefix##_try_at(w->gen, now_ms, ids))

/* One call for *n IDs; then it returned *n. A batch that fails has returned those before the failure. 128-bit IDs pass
 * through wide_ids. */
static flake_status draw(worker *w, call by, uint64_t *ids, flake128 *wide_ids, size_t *n) {
    const int64_t now_ms = by == TRY_AT ? plan_now_ms(w->p) : 0;
    flake_parts parts;
    size_t done = 0;
    const flake_status status = by == PREFETCH     ? flake_prefetch_next(&w->stock, ids)
                                : is_wide(w->p) ? DRAW(flake128, wide_ids)
                                                : DRAW(flake, ids);
    if (status != FLAKE_OK && by != NEXT_N) *n = 0;
    for (; done < *n && (is_wide(w->p) || ids[done]); done++) {
        if (!is_wide(w->p)) continue;
        if (flake128_decompose(&flake_layout_boundary, &wide_ids[done], &parts) != FLAKE_OK) break;
        if (parts.node != wide_node) break;
        ids[done] = (uint64_t)parts.unix_ms << 16 | parts.seq;
    }
    w->refused += status == FLAKE_OK && done < *n;
    *n = done;
    return status;
}

/* Draws some IDs: one call, or tries until there is an ID. The buffers are not on the stack: that of musl's threads has
 * 128 KB, for a signal handler as well. */
static void step(worker *w) {
    static _Thread_local uint64_t ids[most_batch];
    static _Thread_local flake128 wide_ids[most_batch];
    call by = w->p->by;
    if (by == MIXED) by = (call)random_below(&w->random, w->p->from == SHARED ? 6 : 5);
    if (by == TRY_AT && has_lanes(w->p)) by = TRY; /* lanes have no try_at */
    for (;;) {
        const uint64_t newest = atomic_load(&newest_unit);
        size_t n = by == NEXT_N || by == TRY_N ? 1 + (size_t)random_below(&w->random, w->p->batch) : 1;
        const flake_status status = draw(w, by, ids, wide_ids, &n);
        for (size_t i = 0; i < n; i++) keep(w, by == PREFETCH ? stocked : own, ids[i], newest);
        if (status != FLAKE_AGAIN || by == NEXT || by == NEXT_N || by == PREFETCH) {
            w->refused += status != FLAKE_OK;
            return;
        }
        const int64_t retry_ns = flake_retry_ns(w->gen);
        if (retry_ns > 0) nap(retry_ns < 1000000000 ? retry_ns : 1000000000);
        else (void)sched_yield();
    }
}

#if !defined(_WIN32)
static void on_signal(int signal) {
    uint64_t id = 0, newest = atomic_load(&newest_unit);
    flake128 wide_id;
    size_t n = 1;
    (void)signal;
    if (!me || me->got[in_handler].n == handler_room) return;
    if (draw(me, NEXT, &id, &wide_id, &n) == FLAKE_OK) keep(me, in_handler, id, newest);
    else me->refused++;
}
#endif

static int64_t newest_ms(const worker *w) {
    const stream *s = &w->got[w->got[own].n ? own : stocked];
    const flake_layout l = layout_of(w->p);
    return s->n ? l.epoch_ms + (int64_t)((s->last >> l.time_shift) * l.unit_ms) : INT64_MIN;
}

static void *work(void *at) {
    worker *w = (worker *)at;
    const plan *p = w->p;
    thread_random = w->seed;
    me = w;
    (void)!flake_prefetch_init(&w->stock, &gen, stock_size, 0, NULL);
    (void)atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < p->threads) (void)sched_yield();

    const size_t share = p->ids / p->threads;
    int64_t now_ns = clock_ns(CLOCK_REALTIME);
    const int64_t end_ns = now_ns + p->ms * 1000000;
    while (p->ids ? w->got[own].n + w->got[stocked].n < share : now_ns < end_ns) {
        step(w);
        if (w->refused && !p->may_refuse) break;
        if (!p->ids) now_ns = clock_ns(CLOCK_REALTIME);
        if (!warped.step_every && random_below(&w->random, 16) == 0)
            w->early += newest_ms(w) > plan_now_ms(p) + p->options.max_ahead_ms;
    }
    (void)atomic_fetch_sub(&running, 1);
    return NULL;
}

/* ---- threads that query the generator ---- */

typedef struct asker {
    const plan *p;
    pthread_t thread;
    size_t asked, wrong;
} asker;

/* The newest unit of one word only grows, unless a waiter returns a ticket. That of lanes is not before an ID that any
 * thread has received. */
static size_t ask(const plan *p, flake_gen *g, int64_t *newest) {
    const flake_options *o = flake_gen_options(g);
    const uint64_t cap = (uint64_t)o->seq_max - o->seq_min + 1, given = atomic_load(&newest_unit);
    const int64_t max_ns = (o->max_wait_ms + o->max_ahead_ms) * 1000000 + 1000000000;
    const int64_t newest_ms = flake_newest_ms(g), epoch_ms = o->layout.epoch_ms;
    flake_stats stats;
    size_t wrong = g != &lanes && !p->may_refuse && newest_ms < *newest;
    wrong += newest_ms < epoch_ms;
    wrong += g == &lanes && given && newest_ms < epoch_ms + (int64_t)(given * o->layout.unit_ms);
    *newest = newest_ms;
    wrong += flake_available(g) > cap * (uint64_t)(o->max_ahead_ms + 1);
    const int64_t lag_ms = flake_ahead_ms(g), retry_ns = flake_retry_ns(g);
    wrong += lag_ms < 0 || lag_ms > max_ns / 1000000;
    wrong += retry_ns < 0 || retry_ns > max_ns;
    flake_stats_get(g, &stats);
    return wrong;
}

static void *ask_on(void *at) {
    asker *a = (asker *)at;
    int64_t newest = 0;
    do {
        a->wrong += ask(a->p, has_lanes(a->p) ? &lanes : &gen, &newest);
        a->asked++;
        (void)sched_yield();
    } while (atomic_load(&running));
    return NULL;
}

/* ---- one run ---- */

static void make_generators(plan *p) {
    const flake_node node = flake_node_fixed(NULL, wide_node);
    flake_options o = p->options;
    o.layout = flake_layout_boundary;
    CHECK_EQ(flake_init(&gen, p->node, &p->options, NULL), FLAKE_OK);
    CHECK_EQ(flake_init(&wide, node, &o, NULL), FLAKE_OK);
    if (p->from == SHARDED) CHECK_EQ(flake_init_shards(shards, p->shards, p->node, &p->options, NULL), FLAKE_OK);
    if (has_lanes(p)) {
        flake_lane *const some = LAST_OF(lane_array, p->shards), *const wide_ones = LAST_OF(wide_lane_array, p->shards);
        CHECK_EQ(flake_init(&lanes, p->node, with_lanes(&p->options, some, p->shards), NULL), FLAKE_OK);
        CHECK_EQ(flake_init(&wide_lanes, node, with_lanes(&o, wide_ones, p->shards), NULL), FLAKE_OK);
        atomic_store(&newest_unit, 0);
    }
    p->options = *flake_gen_options(&gen);
}

static void run(plan *p) {
    flake_gen *const gens[] = {&gen, NULL, &wide, &lanes, &wide_lanes};
    asker askers[4];
    make_generators(p);
    atomic_store(&ready, 0);
    atomic_store(&running, p->threads);
    memset(workers, 0, sizeof workers);
    for (unsigned i = 0; i < p->threads; i++) {
        worker *w = &workers[i];
        w->p = p;
        w->seed = 0x9e3779b97f4a7c15 * (i + 1);
        w->random = w->seed ^ 88172645463325252u;
        w->gen = p->from == SHARDED ? &shards[i % p->shards] : gens[p->from];
        w->got[in_handler].room = p->interrupts ? handler_room : 0;
        w->got[in_handler].ids = p->interrupts ? (uint64_t *)exactly(handler_room * sizeof(uint64_t)) : NULL;
        if (pthread_create(&w->thread, NULL, work, w)) abort();
    }
    for (unsigned i = 0; i < p->askers; i++) {
        askers[i] = (asker){.p = p};
        if (pthread_create(&askers[i].thread, NULL, ask_on, &askers[i])) abort();
    }
#if !defined(_WIN32)
    while (p->interrupts && atomic_load(&running)) {
        flake_i_system_sleep(1000000);
        for (unsigned i = 0; i < p->threads; i++) (void)pthread_kill(workers[i].thread, SIGALRM);
    }
#endif
    for (unsigned i = 0; i < p->threads; i++) (void)pthread_join(workers[i].thread, NULL);
    for (unsigned i = 0; i < p->askers; i++) {
        (void)pthread_join(askers[i].thread, NULL);
        CHECK(askers[i].asked > 0);
        CHECK_EQ(askers[i].wrong, 0);
    }
}

/* ---- what holds for every run ---- */

/* Marks IDs in a table of bits, time by sequence number from the lowest time on. A rising stream passes through it in
 * order, so millions of IDs need no sorting. */
static size_t duplicates(const flake_layout *l) {
    const uint64_t ones = ((uint64_t)1 << l->seq_bits) - 1;
    uint64_t first = UINT64_MAX, last = 0;
    size_t found = 0;
    for (unsigned i = 0; i < most_threads * streams; i++) {
        const stream *s = &workers[i / streams].got[i % streams];
        for (size_t k = 0; k < s->n; k++) {
            const uint64_t time = s->ids[k] >> l->time_shift;
            if (time < first) first = time;
            if (time > last) last = time;
        }
    }
    if (first > last) return 0;
    uint8_t *marks = (uint8_t *)calloc((size_t)(((last - first + 1) << l->seq_bits) / 8 + 1), 1);
    if (!marks) abort();
    for (unsigned i = 0; i < most_threads * streams; i++) {
        const stream *s = &workers[i / streams].got[i % streams];
        for (size_t k = 0; k < s->n; k++) {
            const uint64_t time = (s->ids[k] >> l->time_shift) - first;
            const uint64_t at = (time << l->seq_bits) + (s->ids[k] >> l->seq_shift & ones);
            found += marks[at / 8] >> (at % 8) & 1;
            marks[at / 8] |= (uint8_t)(1 << at % 8);
        }
    }
    free(marks);
    return found;
}

/* How many IDs the run drew. */
static size_t judge(const plan *p) {
    const flake_layout l = layout_of(p);
    const flake_clock *const c = &p->options.clock;
    size_t ids = 0, falls = 0, early = 0, refused = 0, stock = 0, older = 0, counted = 0;
    CHECK_EQ(duplicates(&l), 0);
    for (unsigned i = 0; i < p->threads; i++) {
        worker *w = &workers[i];
        early += w->early;
        refused += w->refused;
        older += w->older;
        stock += w->got[stocked].n ? stock_size - 1 : 0;
        for (unsigned k = 0; k < streams; k++) {
            ids += w->got[k].n;
            falls += w->got[k].falls;
            free(w->got[k].ids);
        }
        memset(w->got, 0, sizeof w->got);
    }
    CHECK(ids > 0);
    CHECK_EQ(early, 0);
    if (!has_lanes(p)) CHECK_EQ(falls, 0);
    const bool is_steady = (c->now_ns || c->kind != FLAKE_CLOCK_COARSE) && !warped.step_every;
    if (is_steady && !p->options.max_ahead_ms) CHECK_EQ(older, 0);
    if (!p->may_refuse) CHECK_EQ(refused, 0);
    if (is_wide(p)) return ids;
    for (unsigned i = 0; i < (p->from == SHARDED ? p->shards : 1); i++) {
        flake_stats stats;
        flake_stats_get(p->from == SHARDED ? &shards[i] : p->from == LANED ? &lanes : &gen, &stats);
        counted += (size_t)stats.ids;
    }
    CHECK(counted >= ids);
    if (!p->may_refuse) CHECK(counted <= ids + stock);
    return ids;
}

static plan plan_of(source from, call by, unsigned threads) {
    plan p = {.from = from, .by = by, .threads = threads, .batch = 300};
    p.shards = from == SHARDED ? threads : from >= LANED ? 8 : 0;
    p.options.layout = flake_layout_idgen;
    p.node = flake_node_fixed(NULL, 5);
    return p;
}

static void run_for_ids(plan *p) {
    run(p);
    CHECK(judge(p) >= p->ids);
}

/* So many numbers a unit that no thread waits for the clock. */
static flake_layout roomy(void) { return flake_layout_of(40, 4, 20, 1577836800000); }

/* ---- tests ---- */

static flake_gen generators[most_threads];

static void *init_and_draw(void *at) {
    static uint64_t ids[most_threads][100];
    const size_t i = (size_t)((flake_gen *)at - generators);
    (void)atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < 8) (void)sched_yield();
    if (flake_init(&generators[i], flake_node_fixed(NULL, i), NULL, NULL) != FLAKE_OK) return NULL;
    return flake_next_n(&generators[i], ids[i], 100) == FLAKE_OK ? ids[i] : NULL;
}

/* Must be first: only the first init of a process publishes what all generators share. */
TEST(threads_that_init_at_once_all_get_working_generators) {
    pthread_t threads[8];
    static uint64_t all[800];
    atomic_store(&ready, 0);
    for (unsigned i = 0; i < 8; i++)
        if (pthread_create(&threads[i], NULL, init_and_draw, &generators[i])) abort();
    for (unsigned i = 0; i < 8; i++) {
        void *ids = NULL;
        (void)pthread_join(threads[i], &ids);
        CHECK(ids != NULL);
        if (ids) memcpy(all + (size_t)i * 100, ids, 100 * sizeof *all);
        uint64_t again;
        CHECK_EQ(flake_next(&generators[i], &again), FLAKE_OK);
    }
    CHECK_EQ(count_duplicates(all, 800), 0);
}

/* By each call, in crowds of each size, with units that are exhausted and with roomy ones, on each clock. */
static void draw_from(source from, unsigned few_lanes, const call *calls) {
    static const unsigned crowds[] = {1, 2, 8, most_threads};
    for (unsigned i = 0; i < 24; i++)
        for (const call *by = calls; *by != NO_CALL; by++) {
            plan p = plan_of(from, *by, crowds[i / 6]);
            if (few_lanes) p.shards = few_lanes;
            p.ids = small ? 6400 : 96000;
            if (i & 1) {
                p.options.layout = roomy();
                p.ids = small ? 19200 : 640000;
            }
            p.options.clock.kind = (int)(i % 6 / 2); /* fast, coarse, exact */
            run_for_ids(&p);
        }
}

#define CALLS(...) ((const call[]){__VA_ARGS__, NO_CALL})
TEST(ids_of_a_shared_generator_are_unique_and_rise_in_each_thread) {
    draw_from(SHARED, 0, CALLS(NEXT, TRY, TRY_AT, NEXT_N, PREFETCH, MIXED));
}
TEST(ids_of_a_shard_for_each_thread_are_unique_and_rise) { draw_from(SHARDED, 0, CALLS(NEXT, MIXED)); }
TEST(ids_of_128_bits_are_unique_and_rise_in_each_thread) { draw_from(WIDE, 0, CALLS(NEXT, MIXED)); }
TEST(ids_of_lanes_are_unique_and_their_units_rise_across_threads) {
    draw_from(LANED, 0, CALLS(NEXT, TRY, NEXT_N));
    draw_from(LANED, 3, CALLS(MIXED));
}
TEST(ids_of_lanes_of_128_bits_are_unique) { draw_from(WIDE_LANED, 0, CALLS(MIXED)); }

/* With a ticket a unit for each thread only the queue decides. */
TEST(a_saturated_generator_repeats_no_id) {
    static const struct {
        source from;
        call by;
        unsigned threads;
        uint32_t seq_max;
        int kind;
    } rows[] = {{SHARED, NEXT, 1, 0, FLAKE_CLOCK_EXACT},
                {SHARED, NEXT, 2, 0, FLAKE_CLOCK_EXACT},
                {SHARED, NEXT, 8, 0, FLAKE_CLOCK_EXACT},
                {SHARED, NEXT, most_threads, 0, FLAKE_CLOCK_EXACT},
                {SHARED, NEXT, most_threads, most_threads - 1, FLAKE_CLOCK_EXACT},
                {SHARED, NEXT, 8, 0, FLAKE_CLOCK_COARSE},
                {SHARED, NEXT, 8, 0, FLAKE_CLOCK_FAST},
                {SHARED, NEXT_N, 8, 0, FLAKE_CLOCK_EXACT},
                {LANED, NEXT, 1, 0, FLAKE_CLOCK_EXACT},
                {LANED, MIXED, 2, 0, FLAKE_CLOCK_EXACT},
                {LANED, NEXT, 8, 0, FLAKE_CLOCK_EXACT},
                {LANED, MIXED, most_threads, 0, FLAKE_CLOCK_EXACT}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        plan p = plan_of(rows[i].from, rows[i].by, rows[i].threads);
        p.ms = small ? 100 : 200;
        p.askers = 1;
        if (small) p.options.seq_max = 255, p.batch = 20; /* slow machines can exhaust this, too */
        if (p.from == LANED) p.shards = 4;
        if (rows[i].seq_max) p.options.seq_max = rows[i].seq_max;
        p.options.clock.kind = rows[i].kind;
        run(&p);
        CHECK(judge(&p) > 0);
    }
}

/* ---- units that pass in microseconds ---- */

/* A clock that runs fast, and steps back thousands of times a second. With an hour of patience each waiter gets its ID.
 * With little patience waiters often return tickets while others draw: with few numbers a unit, drawn one by one, and
 * with so many that others' tickets follow the first late one. */
static const struct {
    source from;
    bool both; /* by NEXT, too, not MIXED alone */
    unsigned seq_bits;
    uint32_t seq_max;
    int64_t times;
    uint64_t step_every;
    int64_t max_ahead_ms, max_wait_ms;
} warps[] = {{SHARED, true, 0, 0, 1000, 0, 0, 0},
             {SHARED, true, 1, 0, 1000, 0, 0, 0},
             {SHARED, true, 4, 0, 1000, 0, 0, 0},
             {SHARED, true, 12, 0, 100, 0, 0, 0},
             {SHARDED, false, 4, 0, 1000, 0, 0, 0},
             {LANED, false, 4, 15, 1000, 0, 0, 0},
             {WIDE_LANED, false, 4, 15, 1000, 0, 0, 0},
             {SHARED, false, 4, 15, 1000, 0, 20, 0}, /* ahead of the clock */
             {WIDE, false, 4, 15, 20, 0, 20, 0},
             {SHARED, true, 0, 0, 1000, 200, 0, 3600000},
             {SHARED, true, 4, 0, 1000, 200, 0, 3600000},
             {SHARED, true, 12, 0, 1000, 200, 0, 3600000},
             {SHARED, false, 4, 0, 1000, 200, 20, 0},
             {SHARDED, false, 4, 0, 1000, 200, 0, 0},
             {LANED, false, 4, 15, 1000, 200, 0, 0},
             {WIDE_LANED, false, 4, 15, 1000, 200, 0, 0},
             {LANED, false, 4, 15, 100, 200, 20, 0},
             {WIDE_LANED, false, 4, 15, 100, 200, 20, 0},
             {SHARED, true, 4, 0, 300, 20, 0, 20},
             {SHARED, true, 4, 0, 300, 20, 0, 4},
             {SHARED, true, 8, 0, 200, 500, 0, 20},
             {SHARED, true, 8, 0, 200, 500, 0, 4}};

TEST(units_of_a_microsecond_on_a_clock_that_steps_back_repeat_no_id) {
    for (size_t i = 0; i < 2 * sizeof warps / sizeof *warps && !check_failures; i++) {
        const bool is_mixed = i % 2, is_patient = warps[i / 2].max_wait_ms > 1000;
        plan p = plan_of(warps[i / 2].from, is_mixed ? MIXED : NEXT, 8);
        if (!is_mixed && !warps[i / 2].both) continue;
        if (has_lanes(&p)) p.shards = 3;
        p.options.layout = flake_layout_of(40, 4, warps[i / 2].seq_bits, 1577836800000);
        p.options.seq_max = warps[i / 2].seq_max;
        p.options.clock = warp_start(warps[i / 2].times, 1, warps[i / 2].step_every, 4000000);
        p.options.max_ahead_ms = warps[i / 2].max_ahead_ms;
        p.options.max_wait_ms = warps[i / 2].max_wait_ms;
        p.may_refuse = warped.step_every && (is_mixed || !is_patient);
        p.askers = p.from == SHARED && !warped.step_every ? 2 : 0;
        p.ms = small ? 40 : 80;
        p.batch = 40;
        run(&p);
        (void)judge(&p);
        warp_end();
        if (check_failures) printf("  row %zu\n", i);
    }
}

/* 44 + 20 bits leave count none to spare: a full unit carries into the time. The clock runs slow, or no test could draw
 * a million IDs a unit. */
TEST(a_count_with_no_bit_to_spare_repeats_no_id) {
    plan p = plan_of(SHARED, MIXED, 4);
    p.options.layout = flake_layout_of(44, 0, 20, 0);
    p.node = flake_node_none();
    p.options.clock = warp_start(1, small ? 400 : 20, 0, 0);
    p.options.max_wait_ms = 3600000;
    p.ids = (size_t)(small ? 2 : 5) << 20;
    p.batch = most_batch;
    run(&p);
    (void)judge(&p);
    warp_end();
}

#if !defined(_WIN32)
/* Where a 64-bit atomic takes a lock, the handler may have interrupted the thread that holds it. */
TEST(a_signal_handler_may_draw_too) {
    struct sigaction action = {0};
    if (ATOMIC_LLONG_LOCK_FREE != 2) return;
    action.sa_handler = on_signal;
    (void)sigemptyset(&action.sa_mask);
    CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
    for (unsigned i = 0; i < 4; i++) {
        plan p = plan_of(i & 1 ? WIDE : SHARED, MIXED, 4);
        p.ids = small ? 20000 : 400000;
        p.interrupts = true;
        if (i & 2) p.options.layout = roomy();
        run_for_ids(&p);
    }
}
#endif
