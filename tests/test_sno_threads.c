/* SPDX-License-Identifier: MIT
 *
 * sno from many threads at once, on the real clock and on one that is put back thousands of times:
 * no id comes twice, and snapshots are whole. How fast they come is for bench/.
 */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <stdatomic.h>

/* Threads change over between any two steps of a draw when they are made to. */
static void stumble(void);
#define FLAKE_ATOMIC(T)             _Atomic(T)
#define FLAKE_ATOMIC_LOAD(p, order) (stumble(), atomic_load_explicit(p, memory_order_##order))
#define FLAKE_ATOMIC_STORE(p, v, order) \
    (stumble(), atomic_store_explicit(p, v, memory_order_##order))
#define FLAKE_ATOMIC_ADD(p, v, order) \
    (stumble(), atomic_fetch_add_explicit(p, v, memory_order_##order))
#define FLAKE_ATOMIC_CAS(p, seen, v, success, failure)                                      \
    (stumble(), atomic_compare_exchange_strong_explicit(p, seen, v, memory_order_##success, \
                                                        memory_order_##failure))
#include "warp.h"
#include "sno.h"
#include "options.h"
#include "children.h"

#ifdef TEST_SMALL
enum { small = 1 };
#else
enum { small = 0 };
#endif

enum { most_threads = 64, most_ids = 8 << 20 };

static _Thread_local uint64_t stumble_every; /* 0: never */

static void stumble(void) {
    if (stumble_every && random_below(&thread_random, stumble_every) == 0) (void)sched_yield();
}

static const int64_t unit_ns = 4000000;

/* ---- one run ---- */

typedef struct worker worker;

typedef struct plan {
    sno_id (*draw)(worker *);
    unsigned threads;
    size_t ids; /* to be drawn in all; 0: as many as come in ... */
    int64_t ms; /* ... so long a time */
    uint64_t stumble_every;
} plan;

struct worker {
    const plan *p;
    pthread_t thread;
    uint64_t seed;
    sno_gen *shard;
    sno_id *ids;
    size_t n, room;
};

static sno_gen gen;
static sno_gen shards[most_threads];
static flake_lane lane_array[8];
static sno_gen lanes;
static worker workers[most_threads];
static atomic_uint ready, running;
static sno_id *all_ids;
static size_t all_n;
static size_t falls; /* ids that were not above the one that the thread drew before */

static const uint8_t a_meta = 0x5a;
static const uint16_t a_partition = 0xa1b2;

static sno_id from_shared(worker *w) { return (void)w, next_sno(&gen, a_meta); }
static sno_id from_default(worker *w) { return (void)w, sno_generate(a_meta); }
static sno_id from_shard(worker *w) { return next_sno(w->shard, a_meta); }

static sno_id from_lanes(worker *w) { return (void)w, next_sno(&lanes, a_meta); }

static sno_id from_try(worker *w) {
    sno_id id = {0};
    while (sno_try(&gen, a_meta, &id) != FLAKE_OK) {
        const int64_t ns = flake_retry_ns(&gen.gen);
        if (ns > 0) nap(ns < unit_ns ? ns : unit_ns);
    }
    return (void)w, id;
}

static void *work(void *at) {
    worker *w = (worker *)at;
    const plan *p = w->p;
    thread_random = w->seed;
    stumble_every = p->stumble_every;
    (void)atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < p->threads) (void)sched_yield();

    const size_t share = p->ids / p->threads;
    for (; w->n < share; w->n++) w->ids[w->n] = p->draw(w);

    const int64_t end_ns = clock_ns(CLOCK_MONOTONIC) + p->ms * 1000000;
    while (p->ms && clock_ns(CLOCK_MONOTONIC) < end_ns && w->n < w->room)
        w->ids[w->n++] = p->draw(w);
    (void)atomic_fetch_sub(&running, 1);
    return NULL;
}

static void run(const plan *p) {
    if (!all_ids) {
        all_ids = (sno_id *)malloc(most_ids * sizeof *all_ids);
        if (!all_ids) abort();
        memset(all_ids, 0, most_ids * sizeof *all_ids); /* no page comes late */
    }
    atomic_store(&ready, 0);
    atomic_store(&running, p->threads);
    memset(workers, 0, sizeof workers);
    for (unsigned i = 0; i < p->threads; i++) {
        worker *w = &workers[i];
        w->p = p;
        w->seed = 88172645463325252u * (2 * i + 3);
        w->room = most_ids / p->threads;
        w->ids = all_ids + i * w->room;
        if (p->draw == from_shard) w->shard = &shards[i];
        if (pthread_create(&w->thread, NULL, work, w)) abort();
    }
}

/* All ids stand in all_ids then. */
static void join(const plan *p) {
    all_n = falls = 0;
    for (unsigned i = 0; i < p->threads; i++) {
        worker *w = &workers[i];
        (void)pthread_join(w->thread, NULL);
        for (size_t k = 1; k < w->n; k++) falls += sno_compare(w->ids[k - 1], w->ids[k]) >= 0;
        memmove(all_ids + all_n, w->ids, w->n * sizeof *w->ids);
        all_n += w->n;
    }
}

static plan plan_of(sno_id (*draw_one)(worker *), unsigned threads, size_t ids) {
    plan p = {0};
    p.draw = draw_one;
    p.threads = threads;
    p.ids = ids;
    return p;
}

static sno_snapshot numbers;

static flake_options options_of(uint16_t max) {
    numbers = pool_of_numbers(a_partition, 0, max);
    return options_of_sno(NULL, NULL);
}

/* ---- the default generator ---- */

static unsigned first_callers;

static void call_at_once(void) {
    const plan p = plan_of(from_default, first_callers, small ? 20000 : 200000);
    run(&p);
    join(&p);
    CHECK_EQ(all_n, p.ids / first_callers * first_callers);
    CHECK_EQ(count_duplicates(all_ids, all_n), 0);
    CHECK(!sno_is_zero(all_ids[0]));
    CHECK_EQ(sno_init(&gen, NULL, NULL, NULL), FLAKE_OK);
    CHECK(sno_partition(sno_generate(0)) != sno_gen_partition(&gen));
}

/* Stands first: in a child of a process with threads a sanitizer's own may be missing. */
TEST(first_calls_of_the_default_generator_come_from_all_threads_at_once) {
    static const unsigned crowd[] = {2, 8, most_threads};
    for (unsigned round = 0; round < (small ? 3u : 10u); round++)
        for (unsigned i = 0; i < 3; i++) {
            first_callers = crowd[i];
            in_child(call_at_once);
        }
}

/* ---- no id twice ---- */

static void draw_with(sno_id (*draw_one)(worker *), size_t lane_count, int kind) {
    static const unsigned crowd[] = {1, 2, 8, most_threads};
    for (unsigned i = 0; i < 4; i++) {
        const plan p = plan_of(draw_one, crowd[i], small ? 40000 : 1 << 20);
        flake_options o = options_of(65535);
        o.clock.kind = kind;
        CHECK_EQ(sno_init(&gen, &numbers, &o, NULL), FLAKE_OK);
        CHECK_EQ(sno_init_shards(shards, crowd[i], &numbers, &o, NULL), FLAKE_OK);
        const size_t n = lane_count ? lane_count : 8;
        CHECK_EQ(sno_init(&lanes, &numbers, with_lanes(&o, LAST_OF(lane_array, n), n), NULL), FLAKE_OK);
        run(&p);
        join(&p);
        CHECK_EQ(all_n, p.ids / crowd[i] * crowd[i]);
        if (draw_one != from_default && draw_one != from_lanes) CHECK_EQ(falls, 0);
        CHECK_EQ(count_duplicates(all_ids, all_n), 0);
        CHECK(!sno_is_zero(all_ids[0]));
    }
}

TEST(threads_that_share_a_generator) {
    draw_with(from_shared, 0, FLAKE_CLOCK_EXACT);
    draw_with(from_shared, 0, FLAKE_CLOCK_COARSE);
}

TEST(threads_that_try) { draw_with(from_try, 0, FLAKE_CLOCK_EXACT); }

TEST(threads_with_a_shard_each) {
    draw_with(from_shard, 0, FLAKE_CLOCK_EXACT);
    draw_with(from_shard, 0, FLAKE_CLOCK_COARSE);
}

TEST(threads_that_draw_from_lanes) {
    draw_with(from_lanes, 0, FLAKE_CLOCK_EXACT);
    draw_with(from_lanes, 3, FLAKE_CLOCK_COARSE);
}

TEST(threads_that_generate) { draw_with(from_default, 0, FLAKE_CLOCK_EXACT); }

/* ---- the queue ---- */

static void draw_from_a_queue(sno_id (*draw_one)(worker *), unsigned threads, uint16_t max) {
    const flake_options o = options_of(max);
    plan p = plan_of(draw_one, threads, 0);
    p.ms = 200;
    CHECK_EQ(sno_init(&gen, &numbers, &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&lanes, &numbers, with_lanes(&o, LAST_OF(lane_array, 4), 4), NULL), FLAKE_OK);
    run(&p);
    join(&p);
    if (draw_one != from_lanes) CHECK_EQ(falls, 0);
    CHECK_EQ(count_duplicates(all_ids, all_n), 0);
}

TEST(a_crowd_in_the_queue_gets_no_id_twice) {
    static const unsigned crowd[] = {1, 2, 8, most_threads};
    for (unsigned i = 0; i < 4; i++) {
        draw_from_a_queue(from_shared, crowd[i], 255);
        draw_from_a_queue(from_shared, crowd[i], 15);
        draw_from_a_queue(from_lanes, crowd[i], 255);
    }
}

/* ---- steps back ---- */

/* Whether whoever goes on from the snapshot will not give this id. */
static bool covers(const sno_snapshot *s, sno_id id) {
    const uint64_t cap = (uint64_t)(s->sequence_max - s->sequence_min) + 1;
    if (sno_tick(id) != (s->drifts & 1)) return (int64_t)sno_units(id) <= s->wall_safe;
    const uint64_t newest = (uint64_t)s->wall_hi * cap + s->sequence - s->sequence_min;
    return sno_units(id) * cap + sno_sequence(id) - s->sequence_min <= newest;
}

typedef struct watcher {
    sno_gen *of;
    bool draws;
    pthread_t thread;
    uint64_t rounds;
    size_t torn, uncovered, wrong_tick, back;
} watcher;

static void *watch(void *at) {
    watcher *w = (watcher *)at;
    sno_snapshot before = {0}, after;
    thread_random = 7777777;
    stumble_every = workers[0].p->stumble_every;
    w->torn += sno_snapshot_take(w->of, &before) != FLAKE_OK;
    const sno_snapshot first = before;
    do {
        sno_id id = {0};
        if (w->draws) id = next_sno(w->of, a_meta);
        w->torn += sno_snapshot_take(w->of, &after) != FLAKE_OK;
        w->torn += after.partition != first.partition || after.sequence_min != first.sequence_min ||
                   after.sequence_max != first.sequence_max || after.sequence < after.sequence_min;
        w->back += after.drifts < before.drifts;
        if (after.drifts == before.drifts + 1) { /* what was left is safe, and what was safe left */
            w->uncovered += after.wall_safe < before.wall_hi;
            w->uncovered += after.wall_hi <= before.wall_safe;
        }
        if (w->draws) {
            w->uncovered += !covers(&after, id);
            w->wrong_tick += after.drifts == before.drifts && sno_tick(id) != (after.drifts & 1);
        }
        before = after;
        w->rounds++;
    } while (atomic_load(&running));
    return NULL;
}

static void check_watcher(const watcher *w) {
    CHECK(w->rounds > 0);
    CHECK_EQ(w->torn, 0);
    CHECK_EQ(w->uncovered, 0);
    CHECK_EQ(w->wrong_tick, 0);
    CHECK_EQ(w->back, 0);
}

static uint32_t drifts_of(sno_gen *g) {
    sno_snapshot s = {0};
    CHECK_EQ(sno_snapshot_take(g, &s), FLAKE_OK);
    return s.drifts;
}

static void step_back_among(unsigned threads, sno_id (*draw_one)(worker *), uint16_t max,
                            int64_t times, uint64_t stumbles) {
    plan p = plan_of(draw_one, threads, small ? 8000 : draw_one == from_shared ? 160000 : 60000);
    flake_options o = options_of(max);
    watcher w = {0};
    o.clock = warp_start(times, 1, 20, 4 * unit_ns);
    p.stumble_every = stumbles;
    CHECK_EQ(sno_init(&gen, &numbers, &o, NULL), FLAKE_OK);
    const unsigned split = draw_one == from_shared ? 0 : threads;
    if (split) CHECK_EQ(sno_init_shards(shards, split, &numbers, &o, NULL), FLAKE_OK);
    w.of = draw_one == from_shared ? &gen : &shards[0];
    w.draws = draw_one == from_shared;
    run(&p);
    if (pthread_create(&w.thread, NULL, watch, &w)) abort();
    join(&p);
    (void)pthread_join(w.thread, NULL);
    check_watcher(&w);
    uint32_t drifts = split ? 0 : drifts_of(&gen);
    for (unsigned i = 0; i < split; i++) drifts += drifts_of(&shards[i]);
    CHECK(drifts > (small ? 8u : 500u));
    CHECK_EQ(count_duplicates(all_ids, all_n), 0);
    CHECK(!sno_is_zero(all_ids[0]));
    warp_end();
}

TEST(a_clock_put_back_thousands_of_times_under_contention) {
    static const uint16_t max[] = {3, 15, 65535};
    for (unsigned i = 0; i < 3; i++) {
        step_back_among(8, from_shared, max[i], 1000, 0);
        step_back_among(8, from_shared, max[i], 1000, 20);
    }
}

TEST(a_clock_put_back_under_shards_that_another_thread_asks) {
    step_back_among(4, from_shard, 63, 1000, 0);
    step_back_among(4, from_shard, 65535, 1000, 20);
}

TEST(a_clock_put_back_under_lanes) {
    for (unsigned i = 0; i < 2; i++) {
        plan p = plan_of(from_lanes, 8, small ? 8000 : 60000);
        flake_options o = options_of(i ? 65535 : 63);
        o.clock = warp_start(1000, 1, 20, 4 * unit_ns);
        p.stumble_every = 20 * i;
        flake_lane *const three = LAST_OF(lane_array, 3);
        CHECK_EQ(sno_init(&lanes, &numbers, with_lanes(&o, three, 3), NULL), FLAKE_OK);
        run(&p);
        join(&p);
        uint64_t drifts = 0;
        for (unsigned k = 0; k < 3; k++) drifts += three[k].engine.drifts;
        CHECK(drifts > (small ? 8u : 500u));
        CHECK_EQ(count_duplicates(all_ids, all_n), 0);
        CHECK(!sno_is_zero(all_ids[0]));
        warp_end();
    }
}

int main(int argc, char **argv) { return check_main(argc, argv); }
