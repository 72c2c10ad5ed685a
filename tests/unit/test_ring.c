/* SPDX-License-Identifier: MIT
 *
 * The ring of overflow events (FILL, DRAIN): of any size, with one thread and with many; then the events that a
 * saturated generator pushes, on the real clock (NOTE). test_overflow_events.c has them on a scripted clock.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#define _GNU_SOURCE
#define REAL_SLEEP
#include "support.h"
#include "flake.h"
#include "real_time.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { most_slots = 4096, crowd = 8 };

static flake_ring ring;
static flake_ring_slot slots[most_slots];

/* All members have the same serial number, so that a torn event shows. */
static flake_overflow event_of(uint32_t producer, uint32_t serial) {
    const flake_overflow event = {(int64_t)((uint64_t)producer << 32 | serial), ~serial, serial ^ producer};
    return event;
}

static bool event_is(const flake_overflow *event, uint32_t producer, uint32_t serial) {
    const flake_overflow want = event_of(producer, serial);
    return memcmp(event, &want, sizeof want) == 0;
}

static bool push(uint32_t producer, uint32_t serial) {
    const flake_overflow event = event_of(producer, serial);
    return flake_ring_push(&ring, &event);
}

/* An empty ring leaves the event unchanged. */
static bool pop_is(uint32_t producer, uint32_t serial) {
    flake_overflow event = event_of(3, 4);
    const bool popped = flake_ring_pop(&ring, &event);
    CHECK(popped || event_is(&event, 3, 4));
    return popped && event_is(&event, producer, serial);
}

static void open_ring(size_t n) { CHECK_EQ(flake_ring_init(&ring, slots, n), FLAKE_OK); }

/* ---- one thread ---- */

/* Fills, drains and wraps around at random, compared with a count of its contents. */
TEST(a_ring_of_any_size_holds_that_many_in_order_however_often_it_wraps) {
    static const size_t sizes[] = {1, 2, 3, 7, 64};
    for (size_t i = 0; i < 5; i++) {
        uint64_t random = 88172645463325252u;
        uint32_t in = 0, out = 0;
        size_t fulls = 0, empties = 0;
        open_ring(sizes[i]);
        while (in < 1000 * sizes[i]) {
            const bool fills = random_next(&random) >> 40 & 1;
            for (uint64_t n = 1 + random_below(&random, 2 * sizes[i]); n; n--) {
                const bool fits = in - out < sizes[i], holds = in != out;
                if (fills) {
                    CHECK(push(7, in) == fits);
                    in += fits;
                    fulls += !fits;
                } else {
                    CHECK(pop_is(7, out) == holds);
                    out += holds;
                    empties += !holds;
                }
            }
        }
        CHECK(fulls > 0 && empties > 0);
    }
}

TEST(init_empties_a_used_ring) {
    open_ring(3);
    for (uint32_t i = 0; i < 5; i++) {
        CHECK(push(0, i));
        if (i < 3) CHECK(pop_is(0, i));
    }
    open_ring(2);
    CHECK(!pop_is(0, 3));
    CHECK(push(1, 1) && push(1, 2));
    CHECK(!push(1, 3));
    CHECK(pop_is(1, 1));
}

TEST(an_init_without_slots_is_refused_and_changes_nothing) {
    flake_overflow event;
    memset((void *)&ring, 0, sizeof ring);
    CHECK(!flake_ring_pop(&ring, &event) && !push(1, 1)); /* no init was called yet */
    open_ring(2);
    CHECK(push(1, 1));
    CHECK_EQ(flake_ring_init(NULL, slots, 2), FLAKE_INVALID);
    CHECK_EQ(flake_ring_init(&ring, NULL, 2), FLAKE_INVALID);
    CHECK_EQ(flake_ring_init(&ring, slots, 0), FLAKE_INVALID);
    CHECK(pop_is(1, 1));
}

/* ---- many threads ---- */

static atomic_uint ready;
static unsigned threads_in_all;

/* Until all threads are here. */
static void meet(void) {
    (void)atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < threads_in_all) (void)sched_yield();
}

static void start_thread(pthread_t *thread, void *(*work)(void *), void *of) {
    if (pthread_create(thread, NULL, work, of)) abort();
}

typedef struct side {
    pthread_t thread;
    uint32_t index, pushes; /* events to push */
    size_t pushed, disordered, torn;
    uint32_t after[crowd]; /* least serial of a producer's next event */
} side;

static side producers[crowd], consumers[crowd];
static uint32_t producer_count;
static atomic_size_t left;  /* producers at work */
static bool insist;         /* push again what did not fit, */
static int64_t deadline_ns; /* until then: each hand-over may cost the scheduler's time slice */
static uint8_t seen[crowd][65536];

static void *produce(void *at) {
    side *s = (side *)at;
    bool pushed = true;
    meet();
    for (uint32_t serial = 0; serial < s->pushes && (pushed || !insist); serial++) {
        while (!(pushed = push(s->index, serial)) && insist && clock_ns(CLOCK_MONOTONIC) < deadline_ns)
            (void)sched_yield();
        s->pushed += pushed;
    }
    (void)atomic_fetch_sub(&left, 1);
    return NULL;
}

/* Each byte of `seen` has one writer at a time, unless an event was popped twice. */
static void *consume(void *at) {
    side *s = (side *)at;
    flake_overflow event = {0, 0, 0};
    meet();
    for (;;) {
        const bool is_last_look = !atomic_load(&left);
        if (!flake_ring_pop(&ring, &event)) {
            if (is_last_look) return NULL;
            (void)sched_yield();
            continue;
        }
        const uint32_t producer = (uint32_t)(event.now_ns >> 32), serial = (uint32_t)event.now_ns;
        if (producer >= crowd || serial > 65535 || !event_is(&event, producer, serial)) {
            s->torn++;
            continue;
        }
        s->disordered += serial < s->after[producer];
        s->after[producer] = serial + 1;
        seen[producer][serial]++;
    }
}

/* Each of `from` threads pushes up to `pushes` events; `to` threads pop them. Returns how many were pushed. */
static size_t exchange(unsigned from, unsigned to, uint32_t pushes) {
    size_t pushed = 0;
    memset(producers, 0, sizeof producers);
    memset(consumers, 0, sizeof consumers);
    memset(seen, 0, sizeof seen);
    atomic_store(&ready, 0);
    atomic_store(&left, from);
    deadline_ns = clock_ns(CLOCK_MONOTONIC) + 100000000;
    producer_count = from;
    threads_in_all = from + to;
    for (unsigned i = 0; i < from; i++) {
        producers[i].index = i;
        producers[i].pushes = pushes;
        start_thread(&producers[i].thread, produce, &producers[i]);
    }
    for (unsigned i = 0; i < to; i++) start_thread(&consumers[i].thread, consume, &consumers[i]);
    for (unsigned i = 0; i < from; i++) {
        (void)pthread_join(producers[i].thread, NULL);
        pushed += producers[i].pushed;
    }
    for (unsigned i = 0; i < to; i++) {
        (void)pthread_join(consumers[i].thread, NULL);
        CHECK_EQ(consumers[i].torn, 0);
        CHECK_EQ(consumers[i].disordered, 0);
    }
    return pushed;
}

static void check_each_was_popped_once(size_t pushed) {
    size_t once = 0;
    flake_overflow event;
    for (unsigned i = 0; i < producer_count; i++)
        for (size_t k = 0; k < producers[i].pushed; k++) once += seen[i][k] == 1;
    CHECK(pushed > 0);
    CHECK_EQ(once, pushed);
    CHECK(!flake_ring_pop(&ring, &event));
}

TEST(each_event_reaches_one_consumer_once_and_each_producers_in_order) {
    static const unsigned threads[][2] = {{1, 1}, {crowd, 1}, {1, crowd}, {crowd, crowd}};
    static const size_t contended[] = {1, 2, 3, 64, most_slots};
    insist = true;
    for (size_t i = 0; i < 4 * 5; i++) {
        const size_t size = contended[i % 5];
        open_ring(size);
        const uint32_t pushes = small ? 1000 : size < 8 ? 3000 : 20000;
        check_each_was_popped_once(exchange(threads[i / 5][0], threads[i / 5][1], pushes));
    }
}

/* A ring that has room refuses no thread. */
TEST(many_producers_fill_a_ring_to_exactly_its_size) {
    static const size_t filled[] = {1, 2, 3, 7, 64, most_slots};
    insist = false;
    for (size_t i = 0; i < 6 * (small ? 20 : 200); i++) {
        const size_t size = filled[i % 6];
        size_t popped = 0;
        flake_overflow event;
        open_ring(size);
        CHECK_EQ(exchange(crowd, 0, size < most_slots ? 200 : most_slots / crowd), size);
        CHECK(!push(0, 0));
        while (flake_ring_pop(&ring, &event)) popped++;
        CHECK_EQ(popped, size);
    }
}

TEST(many_consumers_drain_a_full_ring_once) {
    for (int round = 0; round < 20; round++) {
        open_ring(most_slots);
        for (uint32_t k = 0; k < most_slots; k++) CHECK(push(0, k));
        (void)exchange(0, crowd, 0);
        producer_count = 1;
        producers[0].pushed = most_slots;
        check_each_was_popped_once(most_slots);
    }
}

/* ---- events of a generator ---- */

enum { drawers = 8, unit_capacity = 256, share = 8192 };

static flake_gen gen;
static flake_overflow events[4 * most_slots];
static uint64_t ids[drawers * share];
static size_t batch; /* IDs for each call */

static void *draw_a_share(void *of) {
    uint64_t *const own = (uint64_t *)of;
    meet();
    for (size_t n = 0; n < share; n += batch) own[n] = flake_next_n(&gen, own + n, batch) == FLAKE_OK ? own[n] : 0;
    return NULL;
}

/* Saturates a generator with 256 IDs a ms for about 250 ms. Then waits until the queue is empty, and draws once, for
 * its last event. Returns the number of events. */
static size_t saturate(size_t ring_size) {
    pthread_t threads[drawers];
    size_t n = 0;
    flake_options options = {0};
    flake_stats stats;
    uint64_t last;
    options.seq_max = unit_capacity - 1;
    options.overflow = &ring;
    open_ring(ring_size);
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 0), &options, NULL), FLAKE_OK);
    atomic_store(&ready, 0);
    threads_in_all = drawers;
    for (unsigned i = 0; i < drawers; i++) start_thread(&threads[i], draw_a_share, ids + i * share);
    for (unsigned i = 0; i < drawers; i++) (void)pthread_join(threads[i], NULL);
    CHECK_EQ(count_duplicates(ids, drawers * share), 0);
    CHECK(ids[0] != 0); /* no call failed */
    flake_stats_get(&gen, &stats);
    CHECK_EQ(stats.ids, drawers * share);
    flake_i_system_sleep(3000000);
    CHECK_EQ(flake_next(&gen, &last), FLAKE_OK);
    while (n < sizeof events / sizeof *events && flake_ring_pop(&ring, &events[n])) n++;
    return n;
}

static int compare_events(const void *a, const void *b) {
    const flake_overflow *x = (const flake_overflow *)a, *y = (const flake_overflow *)b;
    return x->now_ns < y->now_ns ? -1 : x->now_ns > y->now_ns;
}

/* An elected thread may be descheduled before it pushes, so events are sorted first. Returns how many overflows there
 * were; `complete`: none was dropped. */
static size_t check_events(size_t n, uint32_t most_queued, bool complete) {
    size_t over = 0;
    int64_t began_ms = 0;
    bool open = false;
    qsort(events, n, sizeof *events, compare_events);
    for (size_t i = 0; i < n; i++) {
        const flake_overflow *const event = &events[i];
        const int64_t ms = event->now_ns / 1000000;
        CHECK(event->waiting <= most_queued);
        if (i) CHECK(ms > events[i - 1].now_ns / 1000000); /* at most one a ms */
        if (!open) began_ms = ms - event->elapsed_ms;
        if (complete) CHECK_EQ(event->elapsed_ms, open ? ms - began_ms : 0);
        if (complete && !open) CHECK(event->waiting > 0);
        open = event->waiting != 0;
        over += !open;
    }
    return over;
}

/* With batches each thread queues for most of a unit's tickets, so the queue lasts many units. */
TEST(a_saturated_generator_notes_its_queue_at_most_once_a_ms) {
    for (batch = 1; batch <= 1024; batch += 1023) {
        const bool is_long = batch > 1;
        const size_t n = saturate(most_slots);
        uint32_t most = 0, longest = 0;
        CHECK(n >= 50);
        CHECK(check_events(n, drawers * (is_long ? unit_capacity : 1), true) > (is_long ? 0u : 10u));
        CHECK_EQ(events[n - 1].waiting, 0);
        for (size_t i = 0; i < n; i++) {
            if (events[i].waiting > most) most = events[i].waiting;
            if (events[i].elapsed_ms > longest) longest = events[i].elapsed_ms;
        }
        if (is_long) CHECK(most > unit_capacity && longest > 20);
    }
}

TEST(a_full_ring_drops_events_and_delays_no_caller) {
    batch = 1;
    for (size_t size = 1; size <= 2; size++) {
        const size_t n = saturate(size);
        CHECK_EQ(n, size);
        (void)check_events(n, drawers, false);
    }
}
