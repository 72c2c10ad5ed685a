/* SPDX-License-Identifier: MIT
 *
 * The ring alone, and the notes that a saturated generator writes into it.
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

static const size_t sizes[] = {1, 2, 3, 7, 64};
enum { size_count = sizeof sizes / sizeof *sizes };

/* All fields have the same serial number, so that a torn note shows. */
static flake_overflow note_of(uint32_t producer, uint32_t serial) {
    flake_overflow note;
    note.now_ns = (int64_t)((uint64_t)producer << 32 | serial);
    note.waiting = ~serial;
    note.elapsed_ms = serial ^ producer;
    return note;
}

static bool push(uint32_t producer, uint32_t serial) {
    const flake_overflow note = note_of(producer, serial);
    return flake_ring_push(&ring, &note);
}

static bool note_is(const flake_overflow *note, uint32_t producer, uint32_t serial) {
    const flake_overflow want = note_of(producer, serial);
    return note->now_ns == want.now_ns && note->waiting == want.waiting &&
           note->elapsed_ms == want.elapsed_ms;
}

/* ---- one thread ---- */

TEST(no_slots_are_refused_and_change_nothing) {
    flake_overflow note = {0, 0, 0};
    CHECK(!flake_ring_pop(&ring, &note) && !push(1, 1)); /* no init was called yet */
    CHECK_EQ(flake_ring_init(&ring, slots, 2), FLAKE_OK);
    CHECK(push(1, 1));
    CHECK_EQ(flake_ring_init(NULL, slots, 2), FLAKE_INVALID);
    CHECK_EQ(flake_ring_init(&ring, NULL, 2), FLAKE_INVALID);
    CHECK_EQ(flake_ring_init(&ring, slots, 0), FLAKE_INVALID);
    CHECK(flake_ring_pop(&ring, &note) && note_is(&note, 1, 1));
}

TEST(an_empty_ring_gives_nothing_and_leaves_the_note) {
    for (size_t i = 0; i < size_count; i++) {
        flake_overflow note = note_of(3, 4);
        CHECK_EQ(flake_ring_init(&ring, slots, sizes[i]), FLAKE_OK);
        CHECK(!flake_ring_pop(&ring, &note));
        CHECK(note_is(&note, 3, 4));
    }
}

TEST(init_empties_a_used_ring) {
    flake_overflow note = {0, 0, 0};
    CHECK_EQ(flake_ring_init(&ring, slots, 3), FLAKE_OK);
    for (uint32_t i = 0; i < 5; i++) {
        CHECK(push(0, i));
        if (i < 3) CHECK(flake_ring_pop(&ring, &note));
    }
    CHECK_EQ(flake_ring_init(&ring, slots, 2), FLAKE_OK);
    CHECK(!flake_ring_pop(&ring, &note));
    CHECK(push(1, 1) && push(1, 2));
    CHECK(!push(1, 3));
    CHECK(flake_ring_pop(&ring, &note) && note_is(&note, 1, 1));
}

/* Fills, drains and wraps around at random, compared with a count of its contents. */
TEST(any_size_holds_that_many_in_order_however_often_it_wraps) {
    for (size_t i = 0; i < size_count; i++) {
        uint64_t random = 88172645463325252u;
        uint32_t in = 0, out = 0;
        size_t fulls = 0, empties = 0;
        flake_overflow note = {0, 0, 0};
        CHECK_EQ(flake_ring_init(&ring, slots, sizes[i]), FLAKE_OK);
        while (in < 1000 * sizes[i]) {
            const bool fills = random_next(&random) >> 40 & 1;
            for (uint64_t n = 1 + random_below(&random, 2 * sizes[i]); n; n--) {
                if (fills) {
                    const bool fits = in - out < sizes[i];
                    CHECK(push(7, in) == fits);
                    in += fits;
                    fulls += !fits;
                } else {
                    const bool holds = in != out;
                    CHECK(flake_ring_pop(&ring, &note) == holds);
                    if (holds) CHECK(note_is(&note, 7, out));
                    out += holds;
                    empties += !holds;
                }
            }
        }
        CHECK(fulls > 0 && empties > 0);
    }
}

/* ---- many threads ---- */

typedef struct side {
    pthread_t thread;
    uint32_t index, pushes; /* notes to push */
    size_t pushed, disordered, torn;
    uint32_t after[crowd]; /* least serial of a producer's next note */
} side;

static side producers[crowd], consumers[crowd];
static uint32_t producer_count;
static atomic_size_t left;  /* producers at work */
static bool insist;         /* push again what did not fit, */
static int64_t deadline_ns; /* until then: each hand-over may cost the scheduler's time slice */
static uint8_t seen[crowd][65536];
static atomic_uint ready;

static void meet(unsigned all) {
    (void)atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < all) (void)sched_yield();
}

static unsigned threads_in_all;

static void *produce(void *at) {
    side *s = (side *)at;
    meet(threads_in_all);
    for (uint32_t serial = 0; serial < s->pushes; serial++) {
        bool pushed;
        while (!(pushed = push(s->index, serial)) && insist &&
               clock_ns(CLOCK_MONOTONIC) < deadline_ns)
            (void)sched_yield();
        s->pushed += pushed;
        if (insist && !pushed) break;
    }
    (void)atomic_fetch_sub(&left, 1);
    return NULL;
}

/* Each byte of `seen` has one writer at a time, unless a note was popped twice. */
static void *consume(void *at) {
    side *s = (side *)at;
    flake_overflow note = {0, 0, 0};
    meet(threads_in_all);
    for (;;) {
        const bool is_last_look = !atomic_load(&left);
        if (!flake_ring_pop(&ring, &note)) {
            if (is_last_look) return NULL;
            (void)sched_yield();
            continue;
        }
        const uint32_t producer = (uint32_t)(note.now_ns >> 32), serial = (uint32_t)note.now_ns;
        if (producer >= crowd || serial > 65535 || !note_is(&note, producer, serial)) {
            s->torn++;
            continue;
        }
        s->disordered += serial < s->after[producer];
        s->after[producer] = serial + 1;
        seen[producer][serial]++;
    }
}

/* Each of `from` threads pushes up to `pushes` notes; `to` threads pop them. */
static void exchange(unsigned from, unsigned to, uint32_t pushes) {
    memset(producers, 0, sizeof producers);
    memset(consumers, 0, sizeof consumers);
    memset(seen, 0, sizeof seen);
    atomic_store(&ready, 0);
    atomic_store(&left, from);
    deadline_ns = clock_ns(CLOCK_MONOTONIC) + 100000000;
    producer_count = from;
    threads_in_all = from + to;
    for (unsigned i = 0; i < from + to; i++) {
        side *s = i < from ? &producers[i] : &consumers[i - from];
        s->index = i < from ? i : i - from;
        s->pushes = pushes;
        if (pthread_create(&s->thread, NULL, i < from ? produce : consume, s)) abort();
    }
    for (unsigned i = 0; i < from; i++) (void)pthread_join(producers[i].thread, NULL);
    for (unsigned i = 0; i < to; i++) {
        (void)pthread_join(consumers[i].thread, NULL);
        CHECK_EQ(consumers[i].torn, 0);
        CHECK_EQ(consumers[i].disordered, 0);
    }
}

static void check_each_came_once(void) {
    size_t once = 0, pushed = 0;
    flake_overflow note = {0, 0, 0};
    for (unsigned i = 0; i < producer_count; i++) {
        for (size_t k = 0; k < producers[i].pushed; k++) once += seen[i][k] == 1;
        pushed += producers[i].pushed;
    }
    CHECK(pushed > 0);
    CHECK_EQ(once, pushed);
    CHECK(!flake_ring_pop(&ring, &note));
}

static void exchange_all(unsigned from, unsigned to) {
    static const size_t contended[] = {1, 2, 3, 64, most_slots};
    insist = true;
    for (size_t i = 0; i < sizeof contended / sizeof *contended; i++) {
        const uint32_t pushes = small ? 1000 : contended[i] < 8 ? 3000 : 20000;
        CHECK_EQ(flake_ring_init(&ring, slots, contended[i]), FLAKE_OK);
        exchange(from, to, pushes);
        check_each_came_once();
    }
}

TEST(one_producer_and_one_consumer) { exchange_all(1, 1); }
TEST(one_consumer_gets_each_producers_notes_in_order) { exchange_all(crowd, 1); }
TEST(one_producers_notes_reach_many_consumers_once) { exchange_all(1, crowd); }
TEST(many_producers_notes_reach_many_consumers_once) { exchange_all(crowd, crowd); }

TEST(a_full_ring_takes_exactly_its_size_from_many) {
    insist = false;
    for (size_t i = 0; i < size_count; i++)
        for (int round = 0; round < 20; round++) {
            size_t pushed = 0, popped = 0;
            flake_overflow note = {0, 0, 0};
            CHECK_EQ(flake_ring_init(&ring, slots, sizes[i]), FLAKE_OK);
            exchange(crowd, 0, 200);
            for (unsigned k = 0; k < crowd; k++) pushed += producers[k].pushed;
            CHECK_EQ(pushed, sizes[i]);
            CHECK(!push(0, 0));
            while (flake_ring_pop(&ring, &note)) popped++;
            CHECK_EQ(popped, sizes[i]);
        }
}

TEST(a_ring_with_room_refuses_nobody) {
    insist = false;
    for (int round = 0; round < (small ? 20 : 200); round++) {
        CHECK_EQ(flake_ring_init(&ring, slots, most_slots), FLAKE_OK);
        exchange(crowd, 0, most_slots / crowd);
        for (unsigned k = 0; k < crowd; k++) CHECK_EQ(producers[k].pushed, most_slots / crowd);
    }
}

TEST(many_consumers_drain_a_full_ring_once) {
    for (int round = 0; round < 20; round++) {
        CHECK_EQ(flake_ring_init(&ring, slots, most_slots), FLAKE_OK);
        for (uint32_t k = 0; k < most_slots; k++) CHECK(push(0, k));
        exchange(0, crowd, 0);
        producer_count = 1;
        producers[0].pushed = most_slots;
        check_each_came_once();
    }
}

/* ---- notes of a generator ---- */

enum { drawers = 8, unit_cap = 256 };

typedef struct drawer {
    pthread_t thread;
    size_t draws, batch; /* calls, IDs for each */
    size_t refused, n;
    uint64_t *ids;
} drawer;

static flake_gen gen;
static flake_overflow notes[4 * most_slots];

static void *draw(void *at) {
    drawer *d = (drawer *)at;
    meet(drawers);
    for (; d->draws; d->draws--, d->n += d->batch)
        d->refused += flake_next_n(&gen, d->ids + d->n, d->batch) != FLAKE_OK;
    return NULL;
}

/* Saturates a generator with 256 IDs a ms for about 250 ms. Then waits until the queue is empty, and draws once, for
 * its last note. Returns the number of notes. */
static size_t saturate(size_t ring_size, size_t batch) {
    static uint64_t ids[drawers * 8192];
    drawer all[drawers];
    size_t n = 0, refused = 0;
    flake_options options = {0};
    flake_stats stats;
    uint64_t last;
    options.seq_max = unit_cap - 1;
    options.overflow = &ring;
    CHECK_EQ(flake_ring_init(&ring, slots, ring_size), FLAKE_OK);
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 0), &options, NULL), FLAKE_OK);
    memset(all, 0, sizeof all);
    atomic_store(&ready, 0);
    for (unsigned i = 0; i < drawers; i++) {
        all[i].ids = ids + (size_t)i * 8192;
        all[i].batch = batch;
        all[i].draws = 8192 / batch;
        if (pthread_create(&all[i].thread, NULL, draw, &all[i])) abort();
    }
    for (unsigned i = 0; i < drawers; i++) {
        (void)pthread_join(all[i].thread, NULL);
        refused += all[i].refused;
    }
    CHECK_EQ(refused, 0);
    CHECK_EQ(count_duplicates(ids, sizeof ids / sizeof *ids), 0);
    flake_stats_get(&gen, &stats);
    CHECK_EQ(stats.ids, sizeof ids / sizeof *ids);
    flake_i_system_sleep(3000000);
    CHECK_EQ(flake_next(&gen, &last), FLAKE_OK);
    while (n < sizeof notes / sizeof *notes && flake_ring_pop(&ring, &notes[n])) n++;
    return n;
}

static int compare_notes(const void *a, const void *b) {
    const flake_overflow *x = (const flake_overflow *)a, *y = (const flake_overflow *)b;
    return x->now_ns < y->now_ns ? -1 : x->now_ns > y->now_ns;
}

/* An elected thread may be descheduled before it pushes, so notes are sorted first. Returns how
 * many overflows there were; `complete`: none was dropped. */
static size_t check_notes(size_t n, uint32_t most_queued, bool complete) {
    size_t over = 0;
    int64_t began_ms = 0;
    bool open = false;
    qsort(notes, n, sizeof *notes, compare_notes);
    for (size_t i = 0; i < n; i++) {
        const flake_overflow *note = &notes[i];
        const int64_t ms = note->now_ns / 1000000;
        CHECK(note->waiting <= most_queued);
        if (i) CHECK(ms > notes[i - 1].now_ns / 1000000); /* at most one a ms */
        if (!open) {
            began_ms = ms - note->elapsed_ms;
            open = true;
            if (complete) CHECK(note->waiting > 0 && note->elapsed_ms == 0);
        } else if (complete) CHECK_EQ(note->elapsed_ms, ms - began_ms);
        if (note->waiting == 0) {
            over++;
            open = false;
        }
    }
    return over;
}

/* With batches each thread queues for most of a unit's tickets, so the queue lasts many units. */
TEST(a_saturated_generator_notes_its_queue_at_most_once_a_ms) {
    for (size_t batch = 1; batch <= 1024; batch += 1023) {
        const bool is_long = batch > 1;
        const size_t n = saturate(most_slots, batch);
        uint32_t most = 0, longest = 0;
        CHECK(n >= 50);
        CHECK(check_notes(n, drawers * (is_long ? unit_cap : 1), true) > (is_long ? 0u : 10u));
        CHECK_EQ(notes[n - 1].waiting, 0);
        for (size_t i = 0; i < n; i++) {
            if (notes[i].waiting > most) most = notes[i].waiting;
            if (notes[i].elapsed_ms > longest) longest = notes[i].elapsed_ms;
        }
        if (is_long) CHECK(most > unit_cap && longest > 20);
    }
}

TEST(a_full_ring_drops_notes_and_holds_up_nobody) {
    for (size_t size = 1; size <= 2; size++) {
        const size_t n = saturate(size, 1);
        CHECK_EQ(n, size);
        (void)check_notes(n, drawers, false);
    }
}

int main(int argc, char **argv) { return check_main(argc, argv); }
