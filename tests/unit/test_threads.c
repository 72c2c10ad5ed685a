/* SPDX-License-Identifier: MIT
 *
 * Many threads at once, on the real clock: no ID repeats, each thread's IDs rise, none is ahead of
 * the clock, and every one is counted. bench/ measures the speed.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include "warped_clock.h"
#include "options.h"

enum { most_threads = 64, most_batch = 4096, stock_size = 50, handler_room = 1 << 14 };

/* ---- what a thread received ---- */

typedef struct stream {
    uint64_t *ids;
    size_t n, room;
    uint64_t last;
    size_t falls; /* IDs that were not greater than the one before */
} stream;

static void keep(stream *s, uint64_t id) {
    if (s->n == s->room) {
        s->room = s->room ? 2 * s->room : 4096;
        s->ids = (uint64_t *)realloc(s->ids, s->room * sizeof *s->ids);
        if (!s->ids) abort();
    }
    s->falls += s->n && id <= s->last;
    s->ids[s->n++] = s->last = id;
}

/* ---- one run ---- */

typedef struct worker worker;

/* A generator for all threads, a shard for each, a 128-bit generator, and lanes of both. */
typedef enum face { SHARED, SHARDED, WIDES, LANED, WIDE_LANED } face;

typedef struct plan {
    face way;
    void (*step)(worker *);
    unsigned threads;
    unsigned shards; /* for the ways that use them */
    size_t ids;      /* to draw in all; 0: as many as possible in ... */
    int64_t ms;      /* ... so long a time */
    uint64_t batch;  /* most IDs a call */
    bool may_refuse; /* calls that fail are expected */
    bool interrupts; /* each thread gets a signal each ms; its handler draws an ID */
    unsigned askers; /* threads that query the generators */
    flake_node node; /* of all but the 128-bit generators */
    flake_options options;
} plan;

/* Streams that each rise: IDs from a stock are older than those drawn meanwhile. */
enum { own, stocked, in_handler, streams };

struct worker {
    const plan *p;
    pthread_t thread;
    uint64_t seed, random;
    flake_gen *shard;
    flake_prefetch stock;
    stream got[streams];
    size_t early, refused;
    size_t older; /* IDs of lanes, of an older unit than one returned before the call */
};

static flake_gen gen;
static flake_gen shards[most_threads];
static flake_gen wide;
static flake_lane lane_array[most_threads], wide_lane_array[most_threads];
static flake_gen lanes;
static flake_gen wide_lanes;
static _Atomic(uint64_t) newest_unit; /* of all IDs of lanes */
static worker workers[most_threads];
static atomic_uint ready, running;
static _Thread_local worker *me;

static int64_t plan_now_ns(const plan *p) {
    const flake_clock *c = &p->options.clock;
    return c->now_ns ? c->now_ns(c->user) : clock_ns(CLOCK_REALTIME);
}

/* ---- ways ---- */

static bool has_lanes(const plan *p) { return p->way >= LANED; }
static bool is_wide(const plan *p) { return p->way == WIDES || p->way == WIDE_LANED; }

static flake_gen *gen_of(const worker *w) {
    flake_gen *const all[] = {&gen, w->shard, &wide, &lanes, &wide_lanes};
    return all[w->p->way];
}

enum { a_node = 5 };

/* A 128-bit ID without its worker is a 64-bit one of mastodon's layout. */
static const uint64_t wide_worker = 0x9ba1a5c50962;

static flake_status narrow(flake_status status, flake128 id, uint64_t *out) {
    flake_parts parts;
    if (status != FLAKE_OK) return status;
    if (flake128_decompose(&flake_layout_boundary, &id, &parts) != FLAKE_OK ||
        parts.node != wide_worker)
        return FLAKE_INVALID;
    *out = (uint64_t)parts.unix_ms << 16 | parts.seq;
    return FLAKE_OK;
}

/* Lanes order units across threads, and nothing within a unit: with the exact clock, while it does not go
 * backwards. */
static void was_before(worker *w, uint64_t newest, uint64_t id) {
    const uint64_t unit = id >> w->p->options.layout.time_shift;
    if (w->p->way != LANED) return;
    w->older += unit < newest;
    uint64_t seen = atomic_load(&newest_unit);
    while (seen < unit && !atomic_compare_exchange_strong(&newest_unit, &seen, unit)) {
    }
}

typedef enum call { NEXT, TRY, TRY_AT } call;

static flake_status draw_one(worker *w, call by, uint64_t *out) {
    flake_gen *const g = gen_of(w);
    const uint64_t newest = atomic_load(&newest_unit);
    flake128 id = {{0}};
    if (by == TRY_AT && has_lanes(w->p)) by = TRY; /* lanes have no try_at */
    const int64_t now_ms = by == TRY_AT ? plan_now_ns(w->p) / 1000000 : 0;
    if (is_wide(w->p)) {
        const flake_status status = by == NEXT  ? flake128_next(g, &id)
                                    : by == TRY ? flake128_try(g, &id)
                                                : flake128_try_at(g, now_ms, &id);
        return narrow(status, id, out);
    }
    const flake_status status = by == NEXT  ? flake_next(g, out)
                                : by == TRY ? flake_try(g, out)
                                            : flake_try_at(g, now_ms, out);
    if (status == FLAKE_OK) was_before(w, newest, *out);
    return status;
}

/* How many IDs a call for n returned. */
static size_t draw_n(worker *w, bool waits, uint64_t *out, size_t n) {
    flake_gen *const g = gen_of(w);
    const uint64_t newest = atomic_load(&newest_unit);
    flake128 ids[most_batch];
    flake_status status = FLAKE_OK;
    size_t done = 0;
    if (is_wide(w->p)) {
        if (waits) status = flake128_next_n(g, ids, n);
        else n = got128_n(g, ids, n);
        while (done < n && narrow(FLAKE_OK, ids[done], &out[done]) == FLAKE_OK) done++;
    } else {
        if (waits) status = flake_next_n(g, out, n);
        else n = got64_n(g, out, n);
        for (; done < n && out[done]; done++) was_before(w, newest, out[done]);
    }
    w->refused += status != FLAKE_OK || done < n;
    return done;
}

/* ---- steps: each draws some IDs ---- */

static void took(worker *w, unsigned which, flake_status status, uint64_t id) {
    if (status == FLAKE_OK) keep(&w->got[which], id);
    else w->refused++;
}

static void step_next(worker *w) {
    uint64_t id = 0;
    flake_status status = draw_one(w, NEXT, &id);
    took(w, own, status, id);
}

static void come_again(worker *w) {
    int64_t ns = flake_retry_ns(gen_of(w));
    if (ns > 0) nap(ns < 1000000000 ? ns : 1000000000);
    else (void)sched_yield();
}

static void try_until_one_is_free(worker *w, call by) {
    uint64_t id = 0;
    flake_status status;
    while ((status = draw_one(w, by, &id)) == FLAKE_AGAIN) come_again(w);
    took(w, own, status, id);
}

static void step_try(worker *w) { try_until_one_is_free(w, TRY); }
static void step_try_at(worker *w) { try_until_one_is_free(w, TRY_AT); }

static size_t draw_batch(worker *w, bool waits) {
    uint64_t ids[most_batch];
    const size_t n = draw_n(w, waits, ids, (size_t)(1 + random_below(&w->random, w->p->batch)));
    for (size_t i = 0; i < n; i++) keep(&w->got[own], ids[i]);
    return n;
}

static void step_next_n(worker *w) { (void)draw_batch(w, true); }
static void step_try_n(worker *w) {
    if (!draw_batch(w, false)) come_again(w);
}

static void step_prefetch(worker *w) {
    uint64_t id = 0;
    flake_status status = flake_prefetch_next(&w->stock, &id);
    took(w, stocked, status, id);
}

static void step_mixed(worker *w) {
    switch (random_below(&w->random, w->p->way == SHARED ? 6 : 5)) {
    case 0: step_next(w); break;
    case 1: step_try(w); break;
    case 2: step_next_n(w); break;
    case 3: step_try_n(w); break;
    case 4: step_try_at(w); break;
    default: step_prefetch(w); break;
    }
}

/* ---- threads ---- */

#if !defined(_WIN32)
static void on_signal(int signal) {
    worker *w = me;
    if (!w || w->got[in_handler].n == handler_room) return;
    uint64_t id = 0;
    flake_status status = draw_one(w, NEXT, &id);
    took(w, in_handler, status, id);
    (void)signal;
}
#endif

static int64_t newest_ms(const worker *w) {
    const stream *s = &w->got[w->got[own].n ? own : stocked];
    const flake_layout l = is_wide(w->p) ? flake_layout_mastodon : w->p->options.layout;
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
        p->step(w);
        if (w->refused && !p->may_refuse) break;
        if (!p->ids) now_ns = clock_ns(CLOCK_REALTIME);
        if (!warped.step_every && random_below(&w->random, 16) == 0)
            w->early += newest_ms(w) > plan_now_ns(p) / 1000000 + p->options.max_ahead_ms;
    }
    (void)atomic_fetch_sub(&running, 1);
    return NULL;
}

typedef struct asker {
    const plan *p;
    pthread_t thread;
    size_t asked, wrong;
} asker;

/* The newest unit of one word only grows, unless a waiter returns a ticket. That of lanes is not before an ID
 * that any thread has received. */
static size_t ask(const plan *p, flake_gen *g, int64_t *newest) {
    const flake_options *o = flake_gen_options(g);
    const uint64_t cap = (uint64_t)o->seq_max - o->seq_min + 1, given = atomic_load(&newest_unit);
    const int64_t max_ns = (o->max_wait_ms + o->max_ahead_ms) * 1000000 + 1000000000;
    flake_stats stats;
    const int64_t newest_ms = flake_newest_ms(g), epoch_ms = o->layout.epoch_ms;
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
    int64_t newest[most_threads + 2] = {0};
    do {
        a->wrong += ask(a->p, &gen, &newest[most_threads]);
        if (has_lanes(a->p)) a->wrong += ask(a->p, &lanes, &newest[most_threads + 1]);
        for (unsigned i = 0; i < a->p->shards && !has_lanes(a->p); i++)
            a->wrong += ask(a->p, &shards[i], &newest[i]);
        a->asked++;
        (void)sched_yield();
    } while (atomic_load(&running));
    return NULL;
}

static void run(plan *p) {
    asker askers[4];
    flake_options wide_options = p->options;
    wide_options.layout = flake_layout_boundary;
    const flake_node wide_node = flake_node_fixed(NULL, wide_worker);
    CHECK_EQ(flake_init(&gen, p->node, &p->options, NULL), FLAKE_OK);
    CHECK_EQ(flake_init(&wide, wide_node, &wide_options, NULL), FLAKE_OK);
    if (has_lanes(p)) {
        CHECK_EQ(flake_init(&lanes, p->node,
                            with_lanes(&p->options, LAST_OF(lane_array, p->shards), p->shards),
                            NULL),
                 FLAKE_OK);
        CHECK_EQ(
            flake_init(&wide_lanes, wide_node,
                       with_lanes(&wide_options, LAST_OF(wide_lane_array, p->shards), p->shards),
                       NULL),
            FLAKE_OK);
        atomic_store(&newest_unit, 0);
    } else if (p->shards)
        CHECK_EQ(flake_init_shards(shards, p->shards, p->node, &p->options, NULL), FLAKE_OK);
    p->options = *flake_gen_options(&gen);

    atomic_store(&ready, 0);
    atomic_store(&running, p->threads);
    memset(workers, 0, sizeof workers);
    for (unsigned i = 0; i < p->threads; i++) {
        worker *w = &workers[i];
        w->p = p;
        w->seed = 0x9e3779b97f4a7c15 * (i + 1);
        w->random = w->seed ^ 88172645463325252u;
        w->shard = &shards[p->way == SHARDED ? i % p->shards : 0];
        if (p->interrupts) {
            w->got[in_handler].room = handler_room;
            w->got[in_handler].ids = (uint64_t *)calloc(handler_room, sizeof(uint64_t));
            if (!w->got[in_handler].ids) abort();
        }
        if (pthread_create(&w->thread, NULL, work, w)) abort();
    }
    for (unsigned i = 0; i < p->askers; i++) {
        memset(&askers[i], 0, sizeof askers[i]);
        askers[i].p = p;
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

/* ---- checks ---- */

/* Marks IDs in a table of bits, time by sequence number from the lowest time on. A rising stream
 * passes through it in order, so millions of IDs need no sorting. */
static size_t duplicates(const flake_layout *l) {
    const uint64_t ones = ((uint64_t)1 << l->seq_bits) - 1;
    uint64_t first = UINT64_MAX, last = 0;
    size_t found = 0;
    for (unsigned i = 0; i < most_threads * streams; i++) {
        const stream *s = &workers[i / streams].got[i % streams];
        for (size_t k = 0; k < s->n; k++) {
            uint64_t time = s->ids[k] >> l->time_shift;
            if (time < first) first = time;
            if (time > last) last = time;
        }
    }
    if (first > last) return 0;
    uint8_t *marks = (uint8_t *)calloc((size_t)(((last - first + 1) << l->seq_bits) / 8 + 1), 1);
    CHECK(marks != NULL);
    for (unsigned i = 0; i < most_threads * streams && marks; i++) {
        const stream *s = &workers[i / streams].got[i % streams];
        for (size_t k = 0; k < s->n; k++) {
            uint64_t at = (((s->ids[k] >> l->time_shift) - first) << l->seq_bits) +
                          (s->ids[k] >> l->seq_shift & ones);
            found += marks[at / 8] >> (at % 8) & 1;
            marks[at / 8] |= (uint8_t)(1 << at % 8);
        }
    }
    free(marks);
    return found;
}

/* Checks what holds for every run; returns how many IDs it drew. */
static size_t judge(const plan *p) {
    const flake_layout l = is_wide(p) ? flake_layout_mastodon : p->options.layout;
    size_t ids = 0, falls = 0, early = 0, refused = 0, stock = 0, older = 0;
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
    if (!has_lanes(p)) CHECK_EQ(falls, 0);
    const bool ordered = !p->options.clock.kind && !warped.step_every && !p->options.max_ahead_ms;
    if (ordered) CHECK_EQ(older, 0);
    CHECK_EQ(early, 0);
    if (!p->may_refuse) CHECK_EQ(refused, 0);
    if (is_wide(p)) return ids;
    if (p->way == LANED) {
        flake_stats stats;
        flake_stats_get(&lanes, &stats);
        CHECK(stats.ids >= ids);
        if (!p->may_refuse) CHECK_EQ(stats.ids, ids);
        return ids;
    }

    uint64_t counted = 0;
    for (unsigned i = 0; i < (p->way == SHARDED ? p->shards : 1); i++) {
        flake_stats stats;
        flake_stats_get(p->way == SHARDED ? &shards[i] : &gen, &stats);
        counted += stats.ids;
    }
    CHECK(counted >= ids);
    if (!p->may_refuse) CHECK(counted <= ids + stock);
    return ids;
}

static plan plan_of(face way, void (*step)(worker *), unsigned threads) {
    plan p = {0};
    p.way = way;
    p.step = step;
    p.threads = threads;
    p.shards = way == SHARDED ? threads : way >= LANED ? 8 : 0;
    p.batch = 300;
    p.options.layout = flake_layout_idgen;
    p.node = flake_node_fixed(NULL, a_node);
    return p;
}

/* So many numbers a unit that no thread waits for the clock. */
static flake_layout roomy(void) { return flake_layout_of(40, 4, 20, 1577836800000); }

static const unsigned crowds[] = {1, 2, 8, most_threads};
enum { crowd_sizes = sizeof crowds / sizeof *crowds };

static void draw_each_way(face way, void (*step)(worker *), unsigned parts) {
    for (unsigned i = 0; i < crowd_sizes * 6; i++) {
        plan p = plan_of(way, step, crowds[i / 6]);
        if (parts) p.shards = parts;
        p.ids = small ? 6400 : 96000;
        if (i & 1) {
            p.options.layout = roomy();
            p.ids = small ? 19200 : 640000;
        }
        p.options.clock.kind = (int)(i % 6 / 2); /* exact, coarse, fast */
        run(&p);
        CHECK(judge(&p) >= p.ids);
    }
}

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

TEST(shared_generator_singles) { draw_each_way(SHARED, step_next, 0); }
TEST(shared_generator_tries) { draw_each_way(SHARED, step_try, 0); }
TEST(shared_generator_tries_at_a_given_time) { draw_each_way(SHARED, step_try_at, 0); }
TEST(shared_generator_batches) { draw_each_way(SHARED, step_next_n, 0); }
TEST(shared_generator_prefetch) { draw_each_way(SHARED, step_prefetch, 0); }
TEST(shared_generator_all_calls_mixed) { draw_each_way(SHARED, step_mixed, 0); }
TEST(a_shard_for_each_thread_singles) { draw_each_way(SHARDED, step_next, 0); }
TEST(a_shard_for_each_thread_all_calls_mixed) { draw_each_way(SHARDED, step_mixed, 0); }
TEST(lanes_singles) { draw_each_way(LANED, step_next, 0); }
TEST(lanes_tries) { draw_each_way(LANED, step_try, 0); }
TEST(lanes_batches) { draw_each_way(LANED, step_next_n, 0); }
TEST(three_lanes_all_calls_mixed) { draw_each_way(LANED, step_mixed, 3); }
TEST(lanes_of_128_bits_all_calls_mixed) { draw_each_way(WIDE_LANED, step_mixed, 0); }
TEST(wide_generator_singles) { draw_each_way(WIDES, step_next, 0); }
TEST(wide_generator_all_calls_mixed) { draw_each_way(WIDES, step_mixed, 0); }

/* More than Hazelcast's layout has in the time ahead, so that callers first borrow and then wait.
 */
TEST(ids_may_run_ahead_of_the_clock_by_max_ahead) {
    for (unsigned i = 0; i < 2; i++) {
        plan p = plan_of(SHARED, i ? step_mixed : step_next, 8);
        p.options.layout = flake_layout_hazelcast;
        p.options.max_ahead_ms = 1000;
        p.ids = 64 * (1000 + 150);
        p.batch = 1000;
        run(&p);
        CHECK(judge(&p) >= p.ids);
    }
}

static plan saturation_of(void (*step)(worker *), unsigned threads) {
    plan p = plan_of(SHARED, step, threads);
    p.ms = 200;
    if (small) { /* slow machines can exhaust this, too */
        p.options.seq_max = 255;
        p.batch = 20;
    }
    return p;
}

/* With a ticket a unit for each thread only the queue decides. */
TEST(a_saturated_generator_repeats_no_id) {
    static const struct {
        face way;
        void (*step)(worker *);
        unsigned threads;
        uint32_t seq_max;
        int kind;
    } rows[] = {{SHARED, step_next, 1, 0, FLAKE_CLOCK_EXACT},
                {SHARED, step_next, 2, 0, FLAKE_CLOCK_EXACT},
                {SHARED, step_next, 8, 0, FLAKE_CLOCK_EXACT},
                {SHARED, step_next, most_threads, 0, FLAKE_CLOCK_EXACT},
                {SHARED, step_next, most_threads, most_threads - 1, FLAKE_CLOCK_EXACT},
                {SHARED, step_next, 8, 0, FLAKE_CLOCK_COARSE},
                {SHARED, step_next, 8, 0, FLAKE_CLOCK_FAST},
                {SHARED, step_next_n, 8, 0, FLAKE_CLOCK_EXACT},
                {LANED, step_next, 1, 0, FLAKE_CLOCK_EXACT},
                {LANED, step_mixed, 2, 0, FLAKE_CLOCK_EXACT},
                {LANED, step_next, 8, 0, FLAKE_CLOCK_EXACT},
                {LANED, step_mixed, most_threads, 0, FLAKE_CLOCK_EXACT}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        plan p = saturation_of(rows[i].step, rows[i].threads);
        p.way = rows[i].way;
        if (p.way == LANED) p.shards = 4, p.askers = 1;
        if (rows[i].seq_max) p.options.seq_max = rows[i].seq_max;
        p.options.clock.kind = rows[i].kind;
        run(&p);
        CHECK(judge(&p) > 0);
    }
}

TEST(questions_beside_the_drawing_are_answered_and_change_nothing) {
    for (unsigned i = 0; i < 4; i++) {
        plan p = plan_of(i & 1 ? SHARDED : SHARED, i & 1 ? step_mixed : step_next, 4);
        p.ids = small ? 20000 : 400000;
        p.askers = 2;
        if (i & 2) p.options.layout = roomy();
        run(&p);
        CHECK(judge(&p) >= p.ids);
    }
}

/* ---- units that pass in microseconds ---- */

/* A clock that runs fast, and steps back thousands of times a second. With an hour of patience each waiter
 * gets its ID. With little patience waiters often return tickets while others draw: with few numbers a
 * unit, drawn one by one, and with so many that others' tickets follow the first late one. */
static const struct {
    face way;
    bool both; /* step_next, too, not step_mixed alone */
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
             {WIDES, false, 4, 15, 20, 0, 20, 0},
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

TEST(units_of_a_microsecond_on_a_clock_that_is_put_back) {
    for (size_t i = 0; i < 2 * sizeof warps / sizeof *warps && !check_failures; i++) {
        const bool is_mixed = i % 2, is_patient = warps[i / 2].max_wait_ms > 1000;
        plan p = plan_of(warps[i / 2].way, is_mixed ? step_mixed : step_next, 8);
        if (!is_mixed && !warps[i / 2].both) continue;
        if (has_lanes(&p)) p.shards = 3;
        p.options.layout = flake_layout_of(40, 4, warps[i / 2].seq_bits, 1577836800000);
        p.options.seq_max = warps[i / 2].seq_max;
        p.options.clock = warp_start(warps[i / 2].times, 1, warps[i / 2].step_every, 4000000);
        p.options.max_ahead_ms = warps[i / 2].max_ahead_ms;
        p.options.max_wait_ms = warps[i / 2].max_wait_ms;
        p.may_refuse = warped.step_every && (is_mixed || !is_patient);
        p.askers = p.way == SHARED && !warped.step_every;
        p.ms = small ? 40 : 80;
        p.batch = 40;
        run(&p);
        (void)judge(&p);
        warp_end();
        if (check_failures) printf("  row %zu\n", i);
    }
}

/* 44 + 20 bits leave count none to spare: a full unit carries into the time. The clock runs
 * slow, or no test could draw a million IDs a unit. */
TEST(a_count_with_no_bit_to_spare) {
    plan p = plan_of(SHARED, step_mixed, 4);
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
/* ---- signals ---- */

/* Where a 64-bit atomic takes a lock, the handler may have interrupted the thread that holds it. */
TEST(a_signal_handler_may_draw_too) {
    struct sigaction action = {0};
    if (ATOMIC_LLONG_LOCK_FREE != 2) return;
    action.sa_handler = on_signal;
    (void)sigemptyset(&action.sa_mask);
    CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
    for (unsigned i = 0; i < 4; i++) {
        plan p = plan_of(i & 1 ? WIDES : SHARED, step_mixed, 4);
        p.ids = small ? 20000 : 400000;
        p.interrupts = true;
        if (i & 2) p.options.layout = roomy();
        run(&p);
        CHECK(judge(&p) >= p.ids);
    }
}

#endif

int main(int argc, char **argv) { return check_main(argc, argv); }
