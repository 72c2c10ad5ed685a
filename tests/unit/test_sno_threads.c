/* SPDX-License-Identifier: MIT
 *
 * sno from many threads at once, on the real clock and on one that steps back thousands of times (I1, I5, SAFE,
 * SETTLE): no ID repeats, and snapshots are consistent. test_threads.c tests queues, and all calls.
 */
#define _GNU_SOURCE
#include <pthread.h>

/* With this, threads switch between any two steps of a draw. */
static void stumble(void);
#define BEFORE_ATOMIC(p, is_cas) stumble()
#include "warped_clock.h"
#include "sno.h"
#include "options.h"
#include "children.h"

enum { most_threads = 64 };

static _Thread_local uint64_t stumble_every; /* 0: never */

static void stumble(void) {
    if (stumble_every && random_below(&thread_random, stumble_every) == 0) (void)sched_yield();
}

static const int64_t unit_ns = 4000000;

/* ---- one run ---- */

typedef struct worker {
    pthread_t thread;
    sno_id (*draw)(struct worker *);
    uint64_t seed, stumble_every;
    sno_gen *shard;
    sno_id *ids;
    size_t share; /* of IDs that it draws */
    size_t falls; /* IDs that were not greater than the one before */
} worker;

static sno_gen gen, lanes, shards[most_threads];
static flake_lane lane_array[8];
static worker workers[most_threads];
static unsigned worker_count;
static atomic_uint ready, running;
static sno_id all_ids[1 << 20];

static const uint8_t a_meta = 0x5a;
static const uint16_t a_partition = 0xa1b2;

static sno_id from_shared(worker *w) { return (void)w, next_sno(&gen, a_meta); }
static sno_id from_default(worker *w) { return (void)w, sno_generate(a_meta); }
static sno_id from_shard(worker *w) { return next_sno(w->shard, a_meta); }
static sno_id from_lanes(worker *w) { return (void)w, next_sno(&lanes, a_meta); }

static void *work(void *at) {
    worker *w = (worker *)at;
    thread_random = w->seed;
    stumble_every = w->stumble_every;
    (void)atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < worker_count) (void)sched_yield();
    for (size_t i = 0; i < w->share; i++) {
        w->ids[i] = w->draw(w);
        w->falls += i && sno_compare(w->ids[i - 1], w->ids[i]) >= 0;
    }
    (void)atomic_fetch_sub(&running, 1);
    return NULL;
}

/* Threads draw `ids` IDs, of which none repeats; one more thread may watch them. */
static void run(sno_id (*draw)(worker *), unsigned threads, size_t ids, uint64_t stumbles, void *(*watch)(void *)) {
    const size_t share = ids / threads;
    pthread_t watcher;
    atomic_store(&ready, 0);
    atomic_store(&running, threads);
    worker_count = threads;
    for (unsigned i = 0; i < threads; i++) {
        const worker w = {.draw = draw, .seed = 88172645463325252u * (2 * i + 3), .stumble_every = stumbles,
                          .shard = &shards[i], .ids = all_ids + i * share, .share = share};
        workers[i] = w;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i])) abort();
    }
    if (watch && pthread_create(&watcher, NULL, watch, &workers[0])) abort();
    for (unsigned i = 0; i < threads; i++) {
        (void)pthread_join(workers[i].thread, NULL);
        if (!stumbles && !watch && (draw == from_shared || draw == from_shard)) CHECK_EQ(workers[i].falls, 0);
    }
    if (watch) (void)pthread_join(watcher, NULL);
    CHECK_EQ(count_duplicates(all_ids, share * threads), 0);
    CHECK(!sno_is_zero(all_ids[0]));
}

/* All generators, with numbers up to `max`. */
static void make(const flake_options *o, uint16_t max, size_t shard_count, size_t lane_count) {
    const sno_snapshot numbers = pool_of_numbers(a_partition, 0, max);
    const flake_node node = flake_node_fixed(NULL, a_partition);
    flake_lane *const array = LAST_OF(lane_array, lane_count);
    CHECK_EQ(sno_init(&gen, node, &numbers, o, NULL), FLAKE_OK);
    CHECK_EQ(sno_init_shards(shards, shard_count, node, &numbers, o, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&lanes, node, &numbers, with_lanes(o, array, lane_count), NULL), FLAKE_OK);
}

/* ---- the default generator ---- */

static unsigned first_callers;

static void call_at_once(void) {
    run(from_default, first_callers, small ? 20000 : 200000, 0, NULL);
    CHECK_EQ(sno_init(&gen, flake_node_none(), NULL, NULL, NULL), FLAKE_OK);
    CHECK(sno_partition(sno_generate(0)) != sno_gen_partition(&gen));
}

/* Must be first: a child of a process with threads may lack the sanitizer's own. */
TEST(first_calls_of_the_default_generator_come_from_all_threads_at_once) {
    static const unsigned crowd[] = {2, 8, most_threads};
    for (unsigned i = 0; i < 3 * (small ? 3 : 10); i++) {
        first_callers = crowd[i % 3];
        in_child(call_at_once);
    }
}

/* ---- no duplicate ID ---- */

TEST(threads_get_no_id_twice) {
    static const unsigned crowd[] = {1, 2, 8, most_threads};
    static const struct {
        sno_id (*draw)(worker *);
        int clock_kind;
        size_t lanes;
    } rows[] = {{from_shared, FLAKE_CLOCK_EXACT, 8}, {from_shared, FLAKE_CLOCK_COARSE, 8},
                {from_shard, FLAKE_CLOCK_EXACT, 8},  {from_shard, FLAKE_CLOCK_COARSE, 8},
                {from_lanes, FLAKE_CLOCK_EXACT, 8},  {from_lanes, FLAKE_CLOCK_COARSE, 3},
                {from_default, FLAKE_CLOCK_EXACT, 8}};
    for (size_t i = 0; i < 4 * sizeof rows / sizeof *rows; i++) {
        flake_options o = options_of_sno(NULL, NULL);
        o.clock.kind = rows[i / 4].clock_kind;
        make(&o, 65535, crowd[i % 4], rows[i / 4].lanes);
        run(rows[i / 4].draw, crowd[i % 4], small ? 40000 : 1 << 20, 0, NULL);
    }
}

/* ---- steps back ---- */

/* Whether no generator restored from the snapshot will return this ID. */
static bool covers(const sno_snapshot *s, sno_id id) {
    const uint64_t cap = (uint64_t)(s->sequence_max - s->sequence_min) + 1;
    if (sno_tick(id) != (s->drifts & 1)) return (int64_t)sno_units(id) <= s->wall_safe;
    const uint64_t newest = (uint64_t)s->wall_hi * cap + s->sequence - s->sequence_min;
    return sno_units(id) * cap + sno_sequence(id) - s->sequence_min <= newest;
}

/* Another thread's view of the shared generator, from which it draws too, or of a shard. */
static void *watch(void *at) {
    const worker *const first_worker = (const worker *)at;
    sno_gen *const g = first_worker->draw == from_shard ? &shards[0] : &gen;
    size_t rounds = 0, torn = 0, uncovered = 0, wrong_tick = 0, back = 0;
    sno_snapshot before = {0}, after;
    thread_random = 7777777;
    stumble_every = first_worker->stumble_every;
    torn += sno_snapshot_take(g, &before) != FLAKE_OK;
    const sno_snapshot first = before;
    for (; !rounds || atomic_load(&running); rounds++, before = after) {
        sno_id id = {0};
        if (g == &gen) id = next_sno(g, a_meta);
        torn += sno_snapshot_take(g, &after) != FLAKE_OK;
        torn += after.partition != first.partition || after.sequence_min != first.sequence_min ||
                after.sequence_max != first.sequence_max || after.sequence < after.sequence_min;
        back += after.drifts < before.drifts;
        if (after.drifts == before.drifts + 1) { /* what was left is safe, and what was safe left */
            uncovered += after.wall_safe < before.wall_hi;
            uncovered += after.wall_hi <= before.wall_safe;
        }
        if (g != &gen) continue;
        uncovered += !covers(&after, id);
        wrong_tick += after.drifts == before.drifts && sno_tick(id) != (after.drifts & 1);
    }
    CHECK_EQ(torn, 0);
    CHECK_EQ(uncovered, 0);
    CHECK_EQ(wrong_tick, 0);
    CHECK_EQ(back, 0);
    return NULL;
}

/* In steps of the clock by up to 4 units. */
static void step_back_among(unsigned threads, sno_id (*draw)(worker *), uint16_t max, uint64_t stumbles) {
    flake_options o = options_of_sno(NULL, NULL);
    const flake_lane *const three = LAST_OF(lane_array, 3);
    o.clock = warp_start(1000, 1, 20, 4 * unit_ns);
    memset((void *)shards, 0, sizeof shards);
    make(&o, max, draw == from_shard ? threads : 1, 3);
    const size_t ids = small ? 8000 : draw == from_shared ? 160000 : 60000;
    run(draw, threads, ids, stumbles, draw == from_lanes ? NULL : watch);
    uint64_t drifts = gen.gen.engine.drifts;
    for (unsigned i = 0; i < 4; i++) drifts += shards[i].gen.engine.drifts;
    for (unsigned i = 0; i < 3; i++) drifts += three[i].engine.drifts;
    CHECK(drifts > (small ? 8u : 500u));
    warp_end();
}

TEST(a_clock_that_steps_back_thousands_of_times_repeats_no_id) {
    static const uint16_t max[] = {3, 15, 65535};
    for (unsigned i = 0; i < 6; i++) step_back_among(8, from_shared, max[i / 2], i % 2 * 20);
}

TEST(a_clock_that_steps_back_repeats_no_id_of_shards_of_which_another_thread_takes_snapshots) {
    step_back_among(4, from_shard, 63, 0);
    step_back_among(4, from_shard, 65535, 20);
}

TEST(a_clock_that_steps_back_repeats_no_id_of_lanes) {
    step_back_among(8, from_lanes, 63, 0);
    step_back_among(8, from_lanes, 65535, 20);
}
