/* SPDX-License-Identifier: MIT
 *
 * Runs with a state file that end anywhere: by SIGKILL at any system call, on a full disk, by a
 * close while others draw. The next run repeats no ID.
 */
#define _GNU_SOURCE
#include "scripted_state.h"
#include "ways_to_draw.h"
#include <pthread.h>
#include <sched.h>

/* ---- the disk ---- */

static int step_to_die_at;
static void die_at_a_step(void) {
    EXPECT(open_and_start() == FLAKE_OK);
    disk.kill_at = disk.calls + step_to_die_at;
    for (int i = 0; i < 10000; i++, pass_ms(10)) EXPECT(draw() == FLAKE_OK);
}

TEST(killed_at_each_system_call) {
    for (step_to_die_at = 1; step_to_die_at <= 24; step_to_die_at++) {
        child_is_killed(die_at_a_step);
        /* by its IDs' times, the next run starts when this one died, or earlier */
        move_to_ns(record_of("ids").written_ns);
        for (size_t i = 0; i < our->n; i++) CHECK(ms_of(our->ids[i]) * a_ms <= horizon_at("ids"));
    }
    CHECK(our->n > 1000);
}

TEST(a_full_disk_stops_draws_at_the_horizon) {
    for (int step = 1; step <= 2; step++) {
        CHECK_EQ(open_and_start(), FLAKE_OK);
        disk_fail(step, 1000000);
        const int64_t horizon_ns = horizon_at("ids");
        unsigned drawn = 0;
        flake_status status;
        for (; (status = draw()) == FLAKE_OK && drawn < 4000; pass_ms(1), drawn++) {
            CHECK(newest_ms() * a_ms < horizon_ns);
            CHECK((int64_t)state.horizon <= disk.lasting);
        }
        CHECK_EQ(status, FLAKE_IO);
        CHECK(drawn >= 2998);
        CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_IO);
        CHECK_EQ(draw(), FLAKE_IO);
        disk_begin();
        CHECK_EQ(draw(), FLAKE_OK);
        close_it(&state);
        CHECK(access(path_of("ids.new"), F_OK) != 0);
    }
}

/* Not by each draw, or each would wait for a slow disk. A sixteenth of the horizon later. */
TEST(a_write_that_failed_is_tried_again_soon) {
    begin_with_ids();
    disk_fail(1, 1000000);
    pass_ms(1600);
    CHECK_EQ(draw(), FLAKE_OK); /* more than half of 3 s: it has tried, and failed */
    CHECK(disk.calls >= disk.fail_from);
    const int calls = disk.calls;
    pass_ms(150);
    CHECK_EQ(draw(), FLAKE_OK);
    CHECK_EQ(disk.calls, calls);
    disk_begin();
    const int64_t horizon_ns = horizon_at("ids");
    pass_ms(50);
    CHECK_EQ(draw(), FLAKE_OK);
    CHECK(horizon_at("ids") > horizon_ns);
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

static void draw_until_the_disk_fails(void) {
    EXPECT(open_and_start() == FLAKE_OK);
    EXPECT(read_file(path_of("ids"), cached->on_disk, FLAKE_I_FILE) == FLAKE_I_FILE);
    for (int i = 0; i < 2000; i++, pass_ms(1)) EXPECT(draw() == FLAKE_OK);
    disk_fail(1, 1000000);
    disk.only_syncs = true;
    while (draw() == FLAKE_OK) pass_ms(1);
    be_killed();
}

static void open_in_a_power_cut(void) { EXPECT(open_at(&state, "ids") != FLAKE_OK); }

static void draw_after_the_cut(void) {
    EXPECT(open_and_start() == FLAKE_OK);
    for (int i = 0; i < 2000; i++, pass_ms(1)) EXPECT(draw() == FLAKE_OK);
}

TEST(a_failed_sync_and_a_torn_write_repeat_nothing) {
    cached = (struct cached *)map_shared("cached", sizeof *cached);
    for (int cut_at = 1; cut_at <= 2; cut_at++) {
        begin();
        memset(cached, 0, sizeof *cached);
        disk_on_write = mark_dirty, disk_on_sync = sync_pages;
        child_is_killed(draw_until_the_disk_fails);
        CHECK(our->n > 4000);
        CHECK(record_of("ids").number > 2); /* which no sync has written */
        cached->syncs_left = cut_at;
        pass_ms(7000);
        child_is_killed(open_in_a_power_cut);
        CHECK_EQ(cached->syncs_left, 0);
        write_file(path_of("ids"), cached->on_disk, FLAKE_I_FILE);
        move_to_ns((start_ms + 3001) * a_ms);         /* with the power the clock fails, too */
        if (scene_ns() < record_of("ids").written_ns) /* by the first sync */
            move_to_ns(record_of("ids").written_ns);
        child_is_well(draw_after_the_cut);
    }
}

/* ---- threads: the closing thread knows of every admitted one ---- */

enum { drawers = 2 };
static _Atomic(uint64_t) newest[drawers];
static _Atomic(bool) stop;

static int64_t ticking_clock(void *user) {
    (void)user;
    return atomic_fetch_add(&our->now_ns, 100000) + 100000;
}

static void *draw_until_closed(void *seat) {
    uint64_t id;
    while (!atomic_load(&stop)) {
        const flake_status status = flake_try(&gen, &id);
        if (status == FLAKE_OK) atomic_store(&newest[*(int *)seat], id);
        else if (status == FLAKE_IO) break;
    }
    return NULL;
}

/* relaxed: they must not order what the threads do */
static _Atomic(unsigned) rounds; /* of the timer */
static _Atomic(bool) paused;     /* it does not extend */

static void *extend_often(void *unused) {
    (void)unused;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        if (!atomic_load_explicit(&paused, memory_order_relaxed))
            EXPECT(flake_state_extend(&state, NULL) != FLAKE_FORKED);
        (void)atomic_fetch_add_explicit(&rounds, 1u, memory_order_relaxed);
        (void)sched_yield(); /* on a busy machine it would use up all turns */
    }
    return NULL;
}

static pthread_t begin_thread(void *(*run)(void *), void *with) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, with) != 0) abort();
    return thread;
}

/* A state that does not wait, on a clock that ticks. */
static flake_options ticking_options(void) {
    return options_of_flake(0, 0, ticking_clock, NULL);
}

static void open_ticking(int64_t horizon_ms) {
    flake_state_options w = where_of("ids");
    w.horizon_ms = horizon_ms;
    w.no_wait = true;
    CHECK_EQ(open_with(&state, w, flake_node_fixed(NULL, 1), ticking_options()), FLAKE_OK);
}

/* Until the timer has begun a round and ended it. */
static void await_round(void) {
    const unsigned before = atomic_load_explicit(&rounds, memory_order_relaxed);
    while (atomic_load_explicit(&rounds, memory_order_relaxed) - before < 2) (void)sched_yield();
}

static pthread_t opener;

/* The timer finds that the opener is the writer, and from then on it does nothing. */
static void pause_timer(int fd, bool well) {
    (void)fd, (void)well;
    if (!pthread_equal(pthread_self(), opener)) return;
    await_round();
    atomic_store_explicit(&paused, true, memory_order_relaxed);
    await_round();
}

/* For ThreadSanitizer: the timer's thread must not read unordered what the open writes. */
TEST(opened_again_beside_a_timer) {
    open_ticking(0);
    atomic_store(&stop, false);
    opener = pthread_self();
    disk_on_sync = pause_timer;
    const pthread_t timer = begin_thread(extend_often, NULL);
    for (int round = 0; round < 20; round++) {
        while (!atomic_load_explicit(&paused, memory_order_relaxed)) /* the timer was the writer */
            CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
        close_it(&state);
        open_ticking(0);
        atomic_store_explicit(&paused, false, memory_order_relaxed);
        await_round();
    }
    atomic_store(&stop, true);
    (void)pthread_join(timer, NULL);
}

TEST(closed_while_others_draw) {
    for (int round = 0; round < (small ? 20 : 100); round++) {
        pthread_t threads[drawers];
        static int seats[drawers] = {0, 1};
        open_ticking(20);
        CHECK_EQ(start_with(&gen, flake_node_fixed(NULL, 1), ticking_options(), &state), FLAKE_OK);
        atomic_store(&stop, false);
        for (int i = 0; i < drawers; i++) {
            atomic_store(&newest[i], 0u);
            threads[i] = begin_thread(draw_until_closed, &seats[i]);
        }
        const pthread_t timer = begin_thread(extend_often, NULL);
        for (int i = 0; i < drawers; i++)
            while (!atomic_load(&newest[i])) {
            }
        close_it(&state);
        const int64_t horizon_ns = horizon_at("ids");
        for (int i = 0; i < drawers; i++) (void)pthread_join(threads[i], NULL);
        atomic_store(&stop, true);
        (void)pthread_join(timer, NULL);
        for (int i = 0; i < drawers; i++)
            CHECK((ms_of(atomic_load(&newest[i])) + 1) * a_ms - 1 <= horizon_ns);
        CHECK_EQ(horizon_at("ids"), horizon_ns);
        move_to_ns(horizon_ns + a_ms);
    }
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
    const char *const paths[] = {path_of("flake"), path_of("wide"), path_of("sno"),
                                 path_of("shards")};
    const flake_status status = ways_open(paths, false);
    EXPECT(status == FLAKE_OK || status == FLAKE_CLOCK_BACKWARDS);
    if (status != FLAKE_OK) { /* those that were opened have drawn nothing */
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
        if (way->family >= FAMILY_SNO_LANES) continue; /* have no state */
        EXPECT(way_draw(way, &ids) != FLAKE_FORKED);
        way_note(way->family, &ids);
        move_clock();
        if (draws % 32 == 0) (void)flake_state_extend(&ways_state[0], NULL);
        if (draws % 32 == 16) (void)flake_state_extend(&ways_state[2], NULL);
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
            (void)in_child(run_and_end_somehow);
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

int main(int argc, char **argv) { return state_main(argc, argv); }
