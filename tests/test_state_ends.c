/* SPDX-License-Identifier: MIT
 *
 * Runs with a state file that end anywhere: by SIGKILL at any system call or from outside, on a full disk,
 * by a close while others draw. The next run repeats nothing.
 */
#define _GNU_SOURCE
#include "scripted_state.h"
#include "options.h"
#include <pthread.h>
#include <sys/resource.h>

#ifdef TEST_SMALL
enum { runs_small = 1 };
#else
enum { runs_small = 0 };
#endif

/* ---- the disk ---- */

static unsigned step_to_die_at;
static void die_at_a_step(void) {
    uint64_t id;
    EXPECT(open_and_start(path_of("ids")) == FLAKE_OK);
    disk.kill_at = disk.calls + (int)step_to_die_at;
    for (int i = 0; i < 10000; i++, script_now.now_ns += 10 * ms) EXPECT(draw(&id) == FLAKE_OK);
}

TEST(killed_at_each_system_call) {
    begin();
    for (step_to_die_at = 1; step_to_die_at <= 24; step_to_die_at++) {
        CHECK(WIFSIGNALED(in_child(die_at_a_step)));
        /* the next run starts at the time at which this one died, as far as ids tell, or earlier */
        script_now.now_ns = record_of(path_of("ids")).written_ns;
        for (size_t i = 0; i < our->log.n; i++)
            CHECK((int64_t)(our->log.entries[i].key >> 22) * ms <=
                  record_of(path_of("ids")).horizon_ns);
    }
    CHECK(our->log.n > 1000);
    CHECK_EQ(ways_repeated(&our->log), 0);
}

TEST(a_full_disk_stops_draws_at_the_horizon) {
    uint64_t id;
    begin();
    for (int step = 1; step <= 2; step++) {
        CHECK_EQ(open_and_start(path_of("ids")), FLAKE_OK);
        disk.fail_from = disk.calls + step, disk.fails = 1000000;
        const int64_t horizon_ns = record_of(path_of("ids")).horizon_ns;
        unsigned drawn = 0;
        flake_status status;
        for (; (status = draw(&id)) == FLAKE_OK && drawn < 4000; script_now.now_ns += ms, drawn++) {
            CHECK(ms_of(id) * ms < horizon_ns);
            CHECK((int64_t)state.horizon <= disk.lasting);
        }
        CHECK_EQ(status, FLAKE_IO);
        CHECK(drawn >= 2998);
        CHECK_EQ(flake_try(&gen, &id), FLAKE_IO);
        CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_IO);
        disk.fail_from = 0;
        CHECK_EQ(draw(&id), FLAKE_OK);
        CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
        CHECK(access(path_of("ids.new"), F_OK) != 0);
    }
    CHECK_EQ(ways_repeated(&our->log), 0);
}

/* Not by each draw: one would wait for a slow disk after the other. A sixteenth of the horizon later. */
TEST(a_write_that_failed_is_tried_again_soon) {
    uint64_t id;
    begin();
    CHECK_EQ(open_and_start(path_of("ids")), FLAKE_OK);
    disk.fail_from = disk.calls + 1, disk.fails = 1000000;
    script_now.now_ns += 1600 * ms;
    CHECK_EQ(draw(&id), FLAKE_OK); /* more than half of 3 s: it has tried, in vain */
    CHECK(disk.calls >= disk.fail_from);
    const int calls = disk.calls;
    script_now.now_ns += 150 * ms;
    CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK_EQ(disk.calls, calls);
    disk.fail_from = 0;
    const int64_t horizon_ns = record_of(path_of("ids")).horizon_ns;
    script_now.now_ns += 50 * ms;
    CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK(record_of(path_of("ids")).horizon_ns > horizon_ns);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

/* ---- a record that is in the kernel's cache, and not on disk ----
 *
 * After a failed sync its page counts as clean, and only another write of it brings it to the disk.
 */

static struct cached {
    uint8_t on_disk[FLAKE_I_FILE];
    bool is_dirty[2];
    int syncs_left; /* the power fails in the last of these; 0: never */
} *cached;

static void mark_dirty(int fd, size_t n) {
    const off_t at = lseek(fd, 0, SEEK_CUR);
    if (n == FLAKE_I_RECORD) cached->is_dirty[at >= FLAKE_I_RECORD_STRIDE] = true;
}

/* When the power fails, half of what is new in a dirty page reaches the disk. */
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
    uint64_t id;
    EXPECT(open_and_start(path_of("ids")) == FLAKE_OK);
    EXPECT(read_file(path_of("ids"), cached->on_disk, FLAKE_I_FILE) == FLAKE_I_FILE);
    for (int i = 0; i < 2000; i++, script_now.now_ns += ms) EXPECT(draw(&id) == FLAKE_OK);
    disk.fail_from = disk.calls + 1, disk.fails = 1000000, disk.only_syncs = true;
    while (draw(&id) == FLAKE_OK) script_now.now_ns += ms;
    (void)kill(getpid(), SIGKILL);
}

static void open_in_a_power_cut(void) { EXPECT(open_node(path_of("ids"), 1) != FLAKE_OK); }

static void draw_after_the_cut(void) {
    uint64_t id;
    EXPECT(open_and_start(path_of("ids")) == FLAKE_OK);
    for (int i = 0; i < 2000; i++, script_now.now_ns += ms) EXPECT(draw(&id) == FLAKE_OK);
}

TEST(a_failed_sync_and_a_torn_write_repeat_nothing) {
    for (int cut_at = 1; cut_at <= 2; cut_at++) {
        begin();
        memset(cached, 0, sizeof *cached);
        disk_on_write = mark_dirty, disk_on_sync = sync_pages;
        CHECK(WIFSIGNALED(in_child(draw_until_the_disk_fails)));
        CHECK(our->log.n > 4000);
        CHECK(record_of(path_of("ids")).number > 2); /* which no sync has written */
        cached->syncs_left = cut_at;
        script_now.now_ns += 12000 * ms;
        CHECK(WIFSIGNALED(in_child(open_in_a_power_cut)));
        CHECK_EQ(cached->syncs_left, 0);
        write_file(path_of("ids"), cached->on_disk, FLAKE_I_FILE);
        script_now.now_ns = (start_ms + 3001) * ms; /* with the power the clock fails, too */
        if (script_now.now_ns < record_of(path_of("ids")).written_ns) /* by the first sync */
            script_now.now_ns = record_of(path_of("ids")).written_ns;
        child_is_well(draw_after_the_cut);
        CHECK_EQ(ways_repeated(&our->log), 0);
        disk_on_write = NULL, disk_on_sync = NULL;
    }
}

static void fill_the_disk(void) {
    uint64_t id;
    struct rlimit limit;
    (void)signal(SIGXFSZ, SIG_IGN);
    EXPECT(open_and_start(path_of("ids")) == FLAKE_OK);
    EXPECT(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = 100; /* not even a record */
    EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    for (int i = 0; i < 2900; i++, script_now.now_ns += ms) EXPECT(draw(&id) == FLAKE_OK);
    script_now.now_ns += 200 * ms;
    EXPECT(draw(&id) == FLAKE_IO);
    EXPECT(flake_state_extend(&state, NULL) == FLAKE_IO);
    EXPECT(flake_state_close(&state, NULL) == FLAKE_IO);
}

TEST(a_file_that_can_t_grow) {
    uint64_t id;
    begin();
    child_is_well(fill_the_disk);
    CHECK_EQ(open_and_start(path_of("ids")), FLAKE_OK);
    CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK_EQ(ways_repeated(&our->log), 0);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

/* ---- threads: who is admitted, the closing thread knows of ---- */

enum { drawers = 2 };
static _Atomic(uint64_t) newest[drawers];
static _Atomic(bool) stop;

static int64_t ticking_clock(void *user) {
    (void)user;
    return atomic_fetch_add(&our->ticking_ns, 100000) + 100000;
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

static _Atomic(unsigned) extended; /* relaxed: it must not order what the threads do */

static void *extend_often(void *unused) {
    (void)unused;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        const flake_status status = flake_state_extend(&state, NULL);
        EXPECT(status != FLAKE_FORKED);
        if (status == FLAKE_OK) (void)atomic_fetch_add_explicit(&extended, 1u, memory_order_relaxed);
    }
    return NULL;
}

/* For ThreadSanitizer: what the open writes, the timer's thread must not read unordered. */
TEST(opened_again_beside_a_timer) {
    flake_options o = options_of(1);
    flake_state_options w = where_of(path_of("ids"));
    pthread_t timer;
    begin();
    o.clock.now_ns = ticking_clock;
    w.no_wait = true;
    atomic_store(&our->ticking_ns, start_ms * ms);
    CHECK_EQ(flake_state_open(&state, &w, &o, NULL, &why), FLAKE_OK);
    atomic_store(&stop, false);
    if (pthread_create(&timer, NULL, extend_often, NULL) != 0) abort();
    for (int round = 0; round < 100; round++) {
        const unsigned before = atomic_load_explicit(&extended, memory_order_relaxed);
        while (atomic_load_explicit(&extended, memory_order_relaxed) == before) {
        }
        CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
        CHECK_EQ(flake_state_open(&state, &w, &o, NULL, &why), FLAKE_OK);
    }
    atomic_store(&stop, true);
    (void)pthread_join(timer, NULL);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
    CHECK_EQ(atomic_load(&our->trouble), 0);
}

TEST(closed_while_others_draw) {
    const int rounds = runs_small ? 20 : 100;
    flake_options o = options_of(1);
    flake_state_options w = where_of(path_of("ids"));
    begin();
    o.clock.now_ns = ticking_clock;
    w.horizon_ms = 20;
    w.no_wait = true;
    atomic_store(&our->ticking_ns, start_ms * ms);
    for (int round = 0; round < rounds; round++) {
        pthread_t threads[drawers], timer;
        static int seats[drawers] = {0, 1};
        o.state = NULL;
        CHECK_EQ(flake_state_open(&state, &w, &o, NULL, &why), FLAKE_OK);
        o.state = &state;
        CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
        atomic_store(&stop, false);
        for (int i = 0; i < drawers; i++) {
            atomic_store(&newest[i], 0u);
            if (pthread_create(&threads[i], NULL, draw_until_closed, &seats[i]) != 0) abort();
        }
        if (pthread_create(&timer, NULL, extend_often, NULL) != 0) abort();
        for (int i = 0; i < drawers; i++)
            while (!atomic_load(&newest[i])) {
            }
        CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
        const int64_t horizon_ns = record_of(w.path).horizon_ns;
        for (int i = 0; i < drawers; i++) (void)pthread_join(threads[i], NULL);
        atomic_store(&stop, true);
        (void)pthread_join(timer, NULL);
        for (int i = 0; i < drawers; i++)
            CHECK((ms_of(atomic_load(&newest[i])) + 1) * ms - 1 <= horizon_ns);
        CHECK_EQ(record_of(w.path).horizon_ns, horizon_ns);
        atomic_store(&our->ticking_ns, horizon_ns + ms);
    }
}

/* ---- all ways to an id, killed anywhere ---- */

static flake_state states[2];
static flake_state sno_states[2];
static uint64_t random_state;

/* Opens all four, and makes the generators; false: refused, since the clock was put back. */
static bool open_all(void) {
    flake_state_options w = where_of(NULL);
    flake_state_options s = {0};
    ways_setup setup = {0};
    setup.is_scripted = true;
    const flake_options snos = ways_sno_options(&setup);
    const flake_options whole = ways_flake_options(&setup, 0, 399);
    flake_options wide = ways_wide_options(&setup);
    sno_snapshot pool = ways_pool(0, FAMILY_SNO, 0, 99);
    sno_snapshot shards = ways_pool(0, FAMILY_SNO_SHARDS, 0, 99);
    flake_status status[2];
    flake_status sno_status_of[2];
    wide.seq_max = 199; /* the generator's, and the lanes' */
    w.path = path_of("all_flake");
    status[0] = flake_state_open(&states[0], &w, &whole, NULL, NULL);
    w.path = path_of("all_wide");
    status[1] = flake_state_open(&states[1], &w, &wide, NULL, NULL);
    s.path = path_of("all_sno");
    sno_status_of[0] = sno_state_open(&sno_states[0], &s, &snos, &pool, NULL);
    s.path = path_of("all_sno_shards");
    sno_status_of[1] = sno_state_open(&sno_states[1], &s, &snos, &shards, NULL);
    bool open = true;
    for (int i = 0; i < 2; i++) {
        EXPECT(status[i] == FLAKE_OK || status[i] == FLAKE_CLOCK_BACKWARDS);
        EXPECT(sno_status_of[i] == FLAKE_OK || sno_status_of[i] == FLAKE_CLOCK_BACKWARDS);
        open &= status[i] == FLAKE_OK && sno_status_of[i] == FLAKE_OK;
    }
    if (!open) { /* those that were opened have drawn nothing */
        for (int i = 0; i < 2; i++) {
            if (status[i] == FLAKE_OK) (void)flake_state_close(&states[i], NULL);
            if (sno_status_of[i] == FLAKE_OK) (void)flake_state_close(&sno_states[i], NULL);
        }
        return false;
    }
    setup.flake = &states[0];
    setup.wide = &states[1];
    setup.sno = &sno_states[0];
    setup.sno_shards = &sno_states[1];
    EXPECT(ways_make(&setup) == 0);
    return true;
}

static void move_clock(void) {
    const uint64_t by = random_below(&random_state, 100);
    if (by < 60) script_now.now_ns += (int64_t)random_below(&random_state, 4) * ms;
    else if (by < 90) script_now.now_ns += (int64_t)random_below(&random_state, 400) * ms;
    else if (by < 94) script_now.now_ns -= (int64_t)random_below(&random_state, 2000) * ms;
    our->now_ns = script_now.now_ns;
}

static void run_and_end_somehow(void) {
    script_now.now_ns = our->now_ns;
    if (!open_all()) return;
    const uint64_t end = random_below(&random_state, 3);
    if (end == 0) disk.kill_at = disk.calls + 1 + (int)random_below(&random_state, 60);
    if (random_below(&random_state, 4) == 0) {
        disk.fail_from = disk.calls + 1 + (int)random_below(&random_state, 40);
        disk.fails = 1 + (int)random_below(&random_state, 30);
    }
    for (uint64_t draws = 20 + random_below(&random_state, 200); draws; draws--) {
        way_ids ids;
        const struct way *way = &all_ways[random_below(&random_state, ways_count)];
        if (way->family >= FAMILY_SNO_LANES) continue; /* have no state */
        if (way_draw(way, &ids) == FLAKE_FORKED) EXPECT(false);
        ways_note(&our->log, way->family, &ids);
        move_clock();
        if (draws % 32 == 0) (void)flake_state_extend(&states[0], NULL);
        if (draws % 32 == 16) (void)flake_state_extend(&sno_states[0], NULL);
    }
    if (end == 1)
        for (int i = 0; i < 2; i++) {
            (void)flake_state_close(&states[i], NULL);
            (void)flake_state_close(&sno_states[i], NULL);
        }
    else (void)kill(getpid(), SIGKILL);
}

TEST(runs_that_end_anywhere_repeat_nothing) {
    const uint64_t seeds = runs_small ? 6 : 30;
    unsigned refused_runs = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        begin();
        our->now_ns = script_now.now_ns;
        random_state = seed * 0x9e3779b97f4a7c15;
        for (int run = 0; run < 25; run++) {
            const size_t had = our->log.n;
            (void)random_next(&random_state);
            (void)in_child(run_and_end_somehow);
            (void)random_next(&random_state);
            random_state ^= (uint64_t)run << 32;
            refused_runs += our->log.n == had;
            our->now_ns += (int64_t)random_below(&random_state, 3) * 700 * ms;
            if (random_below(&random_state, 6) == 0) our->now_ns -= 400 * ms;
            else if (our->log.n == had) our->now_ns += 3000 * ms;
        }
        CHECK(our->log.n > 500);
        CHECK_EQ(ways_repeated(&our->log), 0);
        CHECK_EQ(atomic_load(&our->trouble), 0);
        if (check_failures) {
            printf("  seed %" PRIu64 "\n", seed);
            return;
        }
    }
    CHECK(refused_runs > 0);
}

/* ---- killed from outside, with the system's clock ---- */

static void draw_with_the_system_clock(void) {
    flake_options o = options_of(1);
    flake_state_options w = where_of(path_of("ids"));
    memset(&o.clock, 0, sizeof o.clock);
    w.horizon_ms = 10;
    EXPECT(flake_state_open(&state, &w, &o, NULL, &why) == FLAKE_OK);
    o.state = &state;
    EXPECT(flake_init(&gen, &o, NULL) == FLAKE_OK);
    const size_t enough = our->log.n + 1000; /* who should kill this may be kept waiting */
    for (;;) {
        uint64_t id;
        if (flake_try(&gen, &id) != FLAKE_OK) continue;
        if (our->log.n < enough && id % 8 == 0) note(id);
    }
}

TEST(killed_from_outside) {
    const int kills = runs_small ? 8 : 30;
    begin();
    uint64_t random = 77;
    for (int i = 0; i < kills; i++) {
        const size_t had = our->log.n;
        const pid_t child = fork();
        if (child == 0) draw_with_the_system_clock();
        if (child < 0) abort();
        const volatile size_t *n = &our->log.n;
        while (*n < had + 10 + random_below(&random, 300)) {
            if (waitpid(child, NULL, WNOHANG) == child) break;
        }
        (void)kill(child, SIGKILL);
        (void)waitpid(child, NULL, 0);
        CHECK(our->log.n > had);
    }
    CHECK_EQ(ways_repeated(&our->log), 0);
    CHECK_EQ(atomic_load(&our->trouble), 0);
}

int main(int argc, char **argv) {
    cached = (struct cached *)mmap(NULL, sizeof *cached, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (cached == MAP_FAILED) return 1;
    return state_main(argc, argv);
}
