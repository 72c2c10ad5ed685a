/* SPDX-License-Identifier: MIT
 *
 * The next holder of a number repeats no ID, however a run ends (`>>directory` of flake.h): on a disk that is full or
 * loses writes, by a close while threads draw, or anywhere, by each way to draw. test_directory_files.c ends runs at
 * each system call.
 */
#define _GNU_SOURCE
#include <sched.h>
static void pause_before(const volatile void *at);
#define BEFORE_ATOMIC(p, is_cas) pause_before(p)
#include "scripted_directory.h"
#include "ways_to_draw.h"
#include <pthread.h>

/* ---- the disk ---- */

/* Not by each draw, or each would wait for a slow disk. A sixteenth of the horizon later. */
TEST(a_write_that_failed_is_tried_again_soon) {
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    disk_fail(1, 1000000);
    pass_ms(1600);
    CHECK_EQ(draw_from(&gen), FLAKE_OK); /* more than half of 3 s: it has tried, and failed */
    CHECK(disk.calls >= disk.fail_from);
    const int calls_before = disk.calls;
    pass_ms(150);
    CHECK_EQ(draw_from(&gen), FLAKE_OK);
    CHECK_EQ(disk.calls, calls_before);
    disk_begin();
    const int64_t horizon_ns = horizon_of(1);
    pass_ms(50);
    CHECK_EQ(draw_from(&gen), FLAKE_OK);
    CHECK(horizon_of(1) > horizon_ns);
}

/* Closed, but not recorded: the next holder waits for the horizon, as after a crash. */
TEST(a_close_that_cannot_write_closes_all_the_same) {
    uint64_t id;
    run(&gen, 1);
    const int64_t horizon_ns = horizon_of(1);
    const int before = descriptors();
    disk_fail(1, 1000000);
    CHECK_EQ(flake_close(&gen, &why), FLAKE_IO);
    CHECK(why_is_of(1));
    disk_begin();
    CHECK_EQ(descriptors(), before - 1);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
    pass_ms(1);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_CLOSED);
    CHECK_EQ(init_slot(&other, 1), FLAKE_OK);
    CHECK(scene_ns() >= horizon_ns);
    CHECK_EQ(draw_from(&other), FLAKE_OK);
}

/* ---- a record that is in the kernel's cache, and not on disk ----
 *
 * After a failed sync its page counts as clean, and only another write stores it on disk.
 */

static struct cached {
    uint8_t on_disk[FLAKE_I_FILE];
    bool is_dirty[2];
    int syncs_left; /* the power fails in the last of these; 0: never */
} * cached;

static void mark_dirty(int fd, size_t n) {
    const off_t at = lseek(fd, 0, SEEK_CUR);
    if (n == FLAKE_I_RECORD) cached->is_dirty[at >= FLAKE_I_RECORD_STRIDE] = true;
}

/* When the power fails, half of the new data in a dirty page reaches the disk. */
static void sync_pages(int fd, bool well) {
    uint8_t now[FLAKE_I_FILE];
    const bool cut = cached->syncs_left && --cached->syncs_left == 0;
    CHECK_EQ(pread(fd, now, sizeof now, 0), FLAKE_I_FILE);
    for (int i = 0; i < 2; i++) {
        uint8_t *to = cached->on_disk + flake_i_record_at((uint64_t)i);
        const uint8_t *from = now + flake_i_record_at((uint64_t)i);
        if (well && cached->is_dirty[i])
            memcpy(to, from, cut ? FLAKE_I_RECORD / 2 : FLAKE_I_RECORD);
        cached->is_dirty[i] = false;
    }
    if (cut) (void)kill(getpid(), SIGKILL);
}

TEST(a_failed_sync_and_a_torn_write_repeat_nothing) {
    cached = (struct cached *)map_shared("cached", sizeof *cached);
    for (int cut_at = 1; cut_at <= 2; cut_at++) {
        begin();
        memset(cached, 0, sizeof *cached);
        disk_on_write = mark_dirty, disk_on_sync = sync_pages;
        IN_KILLED_CHILD { /* draws until the disk fails */
            CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
            CHECK_EQ(read_file(slot_path(1), cached->on_disk, FLAKE_I_FILE), FLAKE_I_FILE);
            for (int i = 0; i < 2000; i++, pass_ms(1)) CHECK_EQ(draw_from(&gen), FLAKE_OK);
            disk_fail(1, 1000000);
            disk.only_syncs = true;
            while (draw_from(&gen) == FLAKE_OK) pass_ms(1);
            be_killed();
        }
        CHECK(our->n > 4000);
        CHECK(record_of(1).number > 2); /* which no sync has written */
        cached->syncs_left = cut_at;
        pass_ms(7000);
        IN_KILLED_CHILD CHECK(init_slot(&gen, 1) != FLAKE_OK); /* the power fails */
        CHECK_EQ(cached->syncs_left, 0);
        write_file(slot_path(1), cached->on_disk, FLAKE_I_FILE);
        move_to_ns((start_ms + 3001) * a_ms);     /* with the power the clock fails, too */
        if (scene_ns() < record_of(1).written_ns) /* by the first sync */
            move_to_ns(record_of(1).written_ns);
        IN_CHILD {
            CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
            for (int i = 0; i < 2000; i++, pass_ms(1)) CHECK_EQ(draw_from(&gen), FLAKE_OK);
        }
    }
}

/* ---- closed while threads draw and extend, and the next holder starts at once ---- */

enum { drawers = 2, lives = small ? 150 : 3000 };

/* One generator after the other holds number 1; each object is used once. */
static struct life {
    flake_gen gen;
    flake_lane lane[2];
    uint64_t first, newest[drawers]; /* IDs; 0: none */
} life[lives];

static _Atomic(unsigned) begun; /* lives that may be drawn from */
static _Atomic(uint64_t) drawn[drawers]; /* by a thread, of its life */
static _Atomic(unsigned) left[drawers]; /* lives that a thread has found closed */

static int64_t ticking_clock(void *user) {
    (void)user; /* no check_turn: a thread may draw for as long as it runs alone */
    return atomic_fetch_add(&our->now_ns, 20000) + 20000;
}

static _Thread_local struct life *pauses_in;

/* Other threads run between the two steps of a close, and of a draw that asks whether it may. */
static void pause_before(const volatile void *at) {
    if (pauses_in && (at == &pauses_in->gen.claim.horizon_ns || at == &pauses_in->gen.claim.admitted_ns))
        (void)sched_yield();
}

static void sleep_beside_others(int64_t ns) { atomic_fetch_add(&our->now_ns, ns); }

static pthread_t begin_thread(void *(*body)(void *), void *with) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, with) != 0) abort();
    return thread;
}

/* From each life until it is closed: one ID at a time, or three. */
static void *draw_until_closed(void *seat) {
    const unsigned me = *(const unsigned *)seat;
    for (unsigned i = 0; i < lives; i++) {
        flake_status status = FLAKE_OK;
        while (atomic_load(&begun) <= i) (void)sched_yield();
        for (pauses_in = i % 2 ? &life[i] : NULL; status != FLAKE_CLOSED;) {
            uint64_t ids[3];
            size_t got = 1;
            status = me ? flake_try_n(&life[i].gen, ids, 3, &got) : flake_try(&life[i].gen, ids);
            if (status == FLAKE_OK) {
                for (size_t k = 0; k < got; k++)
                    if (ids[k] > life[i].newest[me]) life[i].newest[me] = ids[k];
                (void)atomic_fetch_add_explicit(&drawn[me], 1u, memory_order_relaxed);
            } else CHECK(status == FLAKE_AGAIN || status == FLAKE_CLOSED);
        }
        atomic_store(&left[me], i + 1);
    }
    return NULL;
}

static _Atomic(unsigned) extended, found_closed;

static void *extend_until_closed(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < lives; i++) {
        while (atomic_load(&begun) <= i) (void)sched_yield();
        for (;;) {
            flake_why reason = {""};
            const flake_status status = flake_extend(&life[i].gen, &reason);
            CHECK(status == FLAKE_OK || status == FLAKE_CLOSED);
            if (status == FLAKE_CLOSED) CHECK(strcmp(reason.text, "generator: is closed") == 0);
            if (status != FLAKE_OK) break;
            (void)atomic_fetch_add_explicit(&extended, 1u, memory_order_relaxed);
            (void)sched_yield(); /* on a busy machine it would use up all turns */
        }
        (void)atomic_fetch_add_explicit(&found_closed, 1u, memory_order_relaxed);
    }
    return NULL;
}

static flake_status begin_life(unsigned i) {
    flake_options o = options_of_flake(0, 0, ticking_clock, NULL);
    o.horizon_ms = 20;
    if (i % 3) o.max_ahead_ms = 50, o.seq_max = 9; /* IDs are ahead of the clock: only admitted_ns covers them */
    const flake_options *const with = i % 3 == 2 ? with_lanes(&o, life[i].lane, 2) : &o;
    const flake_status status = flake_init(&life[i].gen, slot(1), with, &why);
    return status == FLAKE_OK ? flake_next(&life[i].gen, &life[i].first) : status;
}

TEST(what_close_writes_covers_each_id_that_a_late_draw_returns) {
    static unsigned seats[drawers] = {0, 1};
    pthread_t threads[drawers + 1];
    atomic_store(&begun, 0u);
    on_sleep = sleep_beside_others;
    for (int t = 0; t < drawers; t++) threads[t] = begin_thread(draw_until_closed, &seats[t]);
    threads[drawers] = begin_thread(extend_until_closed, NULL);
    uint64_t random = 88172645463325252u;
    CHECK_EQ(begin_life(0), FLAKE_OK);
    for (unsigned i = 0; i < lives; i++) {
        const uint64_t some = 1 + random_below(&random, 20);
        atomic_store(&begun, i + 1);
        for (int t = 0; t < drawers; t++) {
            while (atomic_load(&left[t]) < i) (void)sched_yield();
            const uint64_t before = atomic_load(&drawn[t]);
            while (atomic_load(&drawn[t]) - before < some) (void)sched_yield();
        }
        pauses_in = &life[i];
        CHECK_EQ(flake_close(&life[i].gen, NULL), FLAKE_OK);
        pauses_in = NULL;
        if (i + 1 < lives) CHECK_EQ(begin_life(i + 1), FLAKE_OK); /* threads may still draw from this one */
    }
    for (int t = 0; t <= drawers; t++) (void)pthread_join(threads[t], NULL);
    for (unsigned i = 0; i + 1 < lives; i++)
        for (int t = 0; t < drawers; t++) {
            CHECK(life[i].newest[t] != 0);
            CHECK(life[i].newest[t] < life[i + 1].first);
        }
    CHECK_EQ(atomic_load(&found_closed), lives);
    CHECK(atomic_load(&extended) > 0);
}

/* ---- all ways to an ID, killed anywhere ---- */

static uint64_t random_state;

static void move_clock(void) {
    const uint64_t by = random_below(&random_state, 100);
    if (by < 60) pass_ms((int64_t)random_below(&random_state, 4));
    else if (by < 90) pass_ms((int64_t)random_below(&random_state, 400));
    else if (by < 94) pass_ms(-(int64_t)random_below(&random_state, 2000));
}

static void run_and_end_somehow(void) {
    const flake_status status = ways_open(our_folder, false);
    CHECK(status == FLAKE_OK || status == FLAKE_CLOCK_BACKWARDS);
    if (status != FLAKE_OK) { /* those that were initialised have drawn nothing */
        ways_close();
        return;
    }
    const uint64_t end = random_below(&random_state, 3);
    if (end == 0) disk.kill_at = disk.calls + 1 + (int)random_below(&random_state, 60);
    if (random_below(&random_state, 4) == 0)
        disk_fail(1 + (int)random_below(&random_state, 40),
                  1 + (int)random_below(&random_state, 30));
    for (uint64_t draws = 20 + random_below(&random_state, 200); draws; draws--) {
        way_ids ids;
        const struct way *way = &all_ways[random_below(&random_state, ways_count)];
        const flake_status outcome = way_draw(way, &ids);
        CHECK(outcome != FLAKE_FORKED && outcome != FLAKE_CLOSED);
        way_note(way->family, &ids);
        move_clock();
        if (draws % 32 == 0) (void)flake_extend(&ways.gen, NULL);
        if (draws % 32 == 16) (void)flake_extend(&ways.sno.gen, NULL);
    }
    if (end == 1) ways_close();
    else be_killed();
}

TEST(runs_that_end_anywhere_repeat_nothing) {
    const uint64_t seeds = small ? 6 : 30;
    unsigned refused_runs = 0;
    for (uint64_t seed = 1; seed <= seeds && !check_failures; seed++) {
        begin();
        random_state = seed * 0x9e3779b97f4a7c15;
        for (int run = 0; run < 25; run++) {
            const size_t had = our->n;
            (void)random_next(&random_state);
            (void)end_of(begin_child(run_and_end_somehow));
            (void)random_next(&random_state);
            random_state ^= (uint64_t)run << 32;
            refused_runs += our->n == had;
            pass_ms((int64_t)random_below(&random_state, 3) * 700);
            if (random_below(&random_state, 6) == 0) pass_ms(-400);
            else if (our->n == had) pass_ms(3000);
        }
        CHECK(our->n > 500);
        CHECK_EQ(repeated(), 0);
        if (check_failures) printf("  seed %" PRIu64 "\n", seed);
    }
    CHECK(refused_runs > 0);
}

int main(int argc, char **argv) { return directory_main(argc, argv); }
