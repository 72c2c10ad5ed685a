/* SPDX-License-Identifier: MIT
 *
 * A number of a directory in normal operation: a run continues after the last one, by its own record (`>>directory` of
 * flake.h). How long init waits, and for what; what it refuses, by name; backward steps of the clock before, during and
 * after a run; ranges; claim_wait_ms; a timer that extends; snos.
 */
#define _GNU_SOURCE
#include "process_scene.h"
#define FLAKE_CLOCK_NS(kind) scene_clock(NULL) /* the system's clock is the scene's, too */
#include "scripted_directory.h"

static const int64_t day_ms = 86400000;

/* Another process draws from a number, and is killed. */
static void crash(uint64_t number) {
    IN_KILLED_CHILD {
        CHECK_EQ(init_slot(&gen, number), FLAKE_OK);
        for (int i = 0; i < 10; i++) CHECK_EQ(draw_from(&gen), FLAKE_OK);
        be_killed();
    }
    disk_begin();
}

/* A refusal names the file and the cause, and leaves nothing open. */
static void refused(flake_status status, flake_status wanted) {
    CHECK_EQ(status, wanted);
    CHECK(why_is_of(1));
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
}

static void set_the_clock_back(int64_t ns) {
    (void)ns;
    pass_ms(-3600000);
}

/* ---- normal operation ---- */

TEST(a_run_continues_where_the_last_was_closed) {
    uint64_t id;
    for (int run = 0; run < 20; run++) {
        const int64_t began_ns = scene_ns();
        CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
        CHECK(scene_ns() - began_ns <= a_ms); /* the rest of the newest unit */
        for (int i = 0; i < 7; i++) CHECK_EQ(draw_from(&gen), FLAKE_OK);
        pass_ms(run * 300);
        CHECK_EQ(draw_from(&gen), FLAKE_OK);
        close_it(&gen);
        pass_ms(1);
        CHECK_EQ(flake_next(&gen, &id), FLAKE_CLOSED);
    }
}

TEST(a_crash_is_waited_out) {
    crash(1);
    const int64_t horizon_ns = horizon_of(1);
    CHECK(horizon_ns >= scene_ns() + 3000 * a_ms && horizon_ns <= scene_ns() + 3001 * a_ms);
    on_sleep = set_the_clock_back;
    refused(init_slot(&gen, 1), FLAKE_CLOCK_BACKWARDS);
    CHECK_EQ(atomic_load(&our->sleeps), 1);
    on_sleep = NULL;
    move_to_ns(start_ms * a_ms);
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    CHECK(scene_ns() >= horizon_ns && scene_ns() <= horizon_ns + 2);
    CHECK_EQ(draw_from(&gen), FLAKE_OK);
    CHECK(newest_ms() >= horizon_ns / a_ms);
}

TEST(draws_wait_where_init_does_not) {
    flake_options o = options_in_scene();
    uint64_t id;
    crash(1);
    o.no_wait = true;
    const int64_t began_ns = scene_ns(), horizon_ns = horizon_of(1);
    CHECK_EQ(init_with(&gen, slot(1), o), FLAKE_OK);
    CHECK_EQ(scene_ns(), began_ns);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_AGAIN); /* it is further than max_wait_ms */
    CHECK(flake_retry_ns(&gen) > 2900 * a_ms);
    CHECK_EQ(flake_ahead_ms(&gen), 0);
    flake_stats stats;
    flake_stats_get(&gen, &stats);
    CHECK_EQ(stats.clock_backwards, 0);
    move_to_ns(scene_ns() + flake_retry_ns(&gen));
    CHECK_EQ(draw_from(&gen), FLAKE_OK);
    CHECK(newest_ms() >= horizon_ns / a_ms);
}

/* A program that does not wait, draws nothing and dies, with a shorter horizon than the file's. */
TEST(crash_loops_do_not_run_the_horizon_away) {
    flake_options o = options_in_scene();
    o.no_wait = true;
    o.horizon_ms = 10000;
    for (int run = 0; run < 26; run++) {
        CHECK_EQ(init_with(&gen, slot(1), o), FLAKE_OK);
        crash_here(&gen);
        const int64_t ahead_ns = horizon_of(1) - scene_ns();
        CHECK(run > 5 ? ahead_ns <= 1001 * a_ms : ahead_ns == (10000 - run * 10) * a_ms);
        o.horizon_ms = 1000;
        pass_ms(run == 5 ? 9000 : 10);
    }
}

TEST(the_file_is_written_each_half_horizon) {
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    CHECK_STR(disk.log, "owsrOSCOSC");
    for (int i = 0; i < 12000; i++, pass_ms(1)) {
        CHECK_EQ(draw_from(&gen), FLAKE_OK);
        CHECK(newest_ms() * a_ms < horizon_of(1));
    }
    const int writes = (disk.calls - 10) / 2;
    CHECK(writes >= 7 && writes <= 9); /* 12 s */
    for (int i = 0; i < writes; i++) CHECK(strncmp(disk.log + 10 + 2 * i, "wd", 2) == 0);
}

/* ---- a wait is bounded ---- */

/* From init to the first ID. */
static int64_t first_id_takes_ns(flake_options o) {
    const int64_t began_ns = scene_ns();
    CHECK_EQ(init_with(&gen, slot(1), o), FLAKE_OK);
    CHECK_EQ(draw_from(&gen), FLAKE_OK);
    return scene_ns() - began_ns;
}

static int64_t rest_of_unit_ns(const flake_layout *l) {
    const int64_t unit_ns = l->unit_ms * a_ms;
    return unit_ns - (scene_ns() - l->epoch_ms * a_ms) % unit_ns;
}

/* Also of units of 20 s, at any time in them, by the program's own clock, and by the system's: there a generator
 * starts in the next unit, unless start_this_unit is set. */
TEST(a_start_after_a_clean_close_waits_for_the_end_of_a_unit_at_most) {
    for (int kind = 0; kind < 6; kind++)
        for (int64_t at_ms = 0; at_ms < 20000; at_ms += 1999) {
            const bool starts_next = kind >= 4;
            flake_options o = options_in_scene();
            begin();
            o.layout = flake_layout_of(39, 8, 16, start_ms - 20000);
            o.layout.unit_ms = kind % 2 ? 20000 : 1;
            if (kind >= 2) o.clock.now_ns = NULL;
            o.start_this_unit = !starts_next;
            pass_ms(at_ms);
            int64_t rest_ns = rest_of_unit_ns(&o.layout);
            CHECK_EQ(first_id_takes_ns(o), starts_next ? rest_ns : 0); /* a new file */
            close_it(&gen);
            rest_ns = rest_of_unit_ns(&o.layout);
            CHECK_EQ(first_id_takes_ns(o), rest_ns);
            pass_ms(20000);
            close_it(&gen); /* its last ID is of an earlier unit, which is over */
            rest_ns = rest_of_unit_ns(&o.layout);
            CHECK_EQ(first_id_takes_ns(o), starts_next ? rest_ns : 0);
            close_it(&gen);
        }
}

/* It is part of the file: what the next run sets does not matter. */
TEST(a_start_after_a_crash_waits_for_what_the_record_says_at_most) {
    static const struct {
        int64_t horizon_ms, ahead_ms;
        uint32_t unit_ms;
    } rows[] = {{0, 0, 1},        {1, 0, 1},
                {500, 0, 1},      {10000, 0, 1},
                {0, 0, 1000},     {3000, 0, 20000},
                {86400000, 0, 1}, {3000, 15000, 1},
                {1, 86400000, 1}, {86400000, 86400000, 86400000}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int fills = 0; fills < 2; fills++) {
            begin();
            flake_options o = options_in_scene();
            uint64_t id;
            o.layout = flake_layout_of(31, 8, 1, start_ms);
            o.layout.unit_ms = rows[i].unit_ms;
            o.horizon_ms = rows[i].horizon_ms;
            o.max_ahead_ms = rows[i].ahead_ms;
            CHECK_EQ(init_with(&gen, slot(1), o), FLAKE_OK);
            for (int n = 0; n < 30000 && flake_try(&gen, &id) == FLAKE_OK && fills; n++) note(id);
            const flake_i_record left = record_of(1);
            crash_here(&gen);
            const int64_t longest_ms = (rows[i].horizon_ms ? rows[i].horizon_ms : 3000) +
                                       rows[i].ahead_ms + rows[i].unit_ms;
            CHECK(left.horizon_ns - scene_ns() <= longest_ms * a_ms);
            const int64_t began_ns = scene_ns();
            CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
            const int64_t waited_ns = scene_ns() - began_ns;
            CHECK(waited_ns <= left.horizon_ns - left.written_ns + 1);
            CHECK(waited_ns <= longest_ms * a_ms);
            CHECK(rows[i].unit_ms > 1 || waited_ns >= left.horizon_ns - left.written_ns - a_ms);
            crash_here(&gen);
            memset(our->ids, 0, our->n * sizeof *our->ids), our->n = 0; /* of another layout */
        }
}

/* The newest record of number 1 has these times. */
static void change_times(flake_i_record r, int64_t horizon_ns, int64_t written_ns) {
    static uint8_t bytes[FLAKE_I_FILE];
    r.horizon_ns = horizon_ns;
    r.written_ns = written_ns;
    CHECK_EQ(read_file(path_of("1.slot"), bytes, sizeof bytes), FLAKE_I_FILE);
    flake_i_record_put(&r, bytes + flake_i_record_at(r.number));
    write_file(path_of("1.slot"), bytes, FLAKE_I_FILE);
}

/* A horizon, max_ahead_ms and two units are at most four days. */
TEST(a_record_whose_horizon_is_days_ahead_is_corrupt) {
    const int64_t now_ns = start_ms * a_ms, most_ns = 4 * day_ms * a_ms;
    const struct {
        int64_t horizon_ns, written_ns;
    } corrupt[] = {{now_ns + most_ns + 1, now_ns}, {INT64_MAX, now_ns}, {INT64_MAX, INT64_MIN}, {now_ns - 1, now_ns}};
    crash(1);
    const flake_i_record r = record_of(1);
    for (size_t i = 0; i < sizeof corrupt / sizeof *corrupt; i++) {
        change_times(r, corrupt[i].horizon_ns, corrupt[i].written_ns);
        refused(init_slot(&gen, 1), FLAKE_CORRUPT);
        CHECK_EQ(atomic_load(&our->sleeps), 0);
    }
    change_times(r, now_ns + most_ns, now_ns);
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    CHECK_EQ(scene_ns(), now_ns + most_ns);
}

/* As of the last of 240 callers, each with a unit of an hour to itself. */
TEST(callers_that_wait_for_days_leave_a_file_that_is_read) {
    const int64_t ten_days_ns = 10 * day_ms * a_ms;
    for (int i = 0; i < 2; i++) { /* a crash, a close */
        bool pointless = false;
        begin();
        run(&gen, 1);
        CHECK_EQ(flake_i_admit(&gen.claim, scene_ns() + ten_days_ns, &pointless), FLAKE_AGAIN);
        const uint64_t written = record_of(1).number;
        pass_ms(1);
        CHECK_EQ(flake_i_admit(&gen.claim, scene_ns() + ten_days_ns, &pointless), FLAKE_AGAIN);
        CHECK_EQ(record_of(1).number, written); /* not each ms */
        if (i) close_it(&gen);
        else crash_here(&gen);
        const int64_t begun_ns = scene_ns();
        CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
        CHECK(scene_ns() - begun_ns <= 4 * day_ms * a_ms + a_ms);
        CHECK_EQ(draw_from(&gen), FLAKE_OK);
    }
}

static int readings_left; /* until the clock is set back */

static int64_t clock_set_back_once(void *user) {
    if (readings_left && !--readings_left) pass_ms(-5 * day_ms);
    return scene_clock(user);
}

/* At each reading of an init that waits out a crash, or whose draws do; afterwards the clock is right again. */
TEST(a_clock_set_back_by_days_during_an_init_lowers_no_horizon) {
    for (int no_wait = 0; no_wait < 2; no_wait++)
        for (int at = 1; at <= 8; at++) {
            flake_options o = options_in_scene();
            begin();
            const int64_t begun_ns = scene_ns();
            crash(1);
            o.clock.now_ns = clock_set_back_once;
            o.no_wait = no_wait;
            readings_left = at;
            const flake_status status = init_with(&gen, slot(1), o);
            CHECK(status == FLAKE_OK || status == FLAKE_CLOCK_BACKWARDS);
            readings_left = 0;
            close_it(&gen);
            move_to_ns(begun_ns);
            if (init_slot(&gen, 1) == FLAKE_OK) CHECK_EQ(draw_from(&gen), FLAKE_OK);
            CHECK_EQ(repeated(), 0);
            close_it(&gen);
        }
}

TEST(a_clock_at_the_end_of_its_range_is_answered) {
    static const int64_t ends[] = {INT64_MIN, INT64_MIN + 1, -1, 0, INT64_MAX - 1, INT64_MAX};
    flake_options o = options_in_scene();
    o.horizon_ms = 10;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
            uint64_t id;
            begin();
            move_to_ns(ends[i]);
            CHECK_EQ(init_with(&gen, slot(1), o), FLAKE_OK);
            const flake_status drawn = flake_try(&gen, &id);
            CHECK_EQ(drawn, ends[i] ? FLAKE_TIME_RANGE : FLAKE_AGAIN); /* the layout begins at 0 */
            crash_here(&gen);
            move_to_ns(ends[k]);
            const flake_status status = init_with(&gen, slot(1), o);
            if (k < i) CHECK_EQ(status, FLAKE_CLOCK_BACKWARDS);
            else CHECK(status == FLAKE_OK || status == FLAKE_CLOCK_BACKWARDS);
            CHECK(scene_ns() == ends[k] || scene_ns() - ends[i] <= 12 * a_ms);
            if (status == FLAKE_OK) (void)flake_close(&gen, NULL);
        }
}

/* ---- ranges ---- */

TEST(a_range_takes_a_number_whose_horizon_has_passed) {
    crash(0);
    crash(1);
    CHECK_EQ(init_range(&gen, 0, 1000), FLAKE_OK); /* one that has no file yet */
    CHECK_EQ(flake_gen_node(&gen), 2);
    close_it(&gen);
    pass_ms(1);
    CHECK_EQ(init_range(&gen, 0, 2), FLAKE_OK); /* one that was closed */
    CHECK_EQ(flake_gen_node(&gen), 2);
    CHECK_EQ(atomic_load(&our->sleeps), 0);
    CHECK_EQ(draw_from(&gen), FLAKE_OK);
    pass_ms(3000);
    CHECK_EQ(init_range(&other, 0, 2), FLAKE_OK);
    CHECK_EQ(flake_gen_node(&other), 0);
    CHECK_EQ(atomic_load(&our->sleeps), 0);
    CHECK_EQ(draw_from(&other), FLAKE_OK);
}

TEST(a_range_waits_for_the_earliest_horizon) {
    static const int64_t after_ms[] = {700, 300, 100, 900};
    int64_t horizons[4];
    for (uint64_t n = 0; n < 4; n++) {
        move_to_ns((start_ms + after_ms[n]) * a_ms);
        crash(n);
        horizons[n] = horizon_of(n);
    }
    move_to_ns((start_ms + 1000) * a_ms);
    CHECK_EQ(init_range(&other, 2, 2), FLAKE_OK);
    CHECK_EQ(scene_ns(), horizons[2]);
    move_to_ns((start_ms + 1001) * a_ms);
    CHECK_EQ(init_range(&gen, 0, 3), FLAKE_OK); /* the earliest has a holder */
    CHECK_EQ(flake_gen_node(&gen), 1);
    CHECK_EQ(scene_ns(), horizons[1]);
    CHECK_EQ(draw_from(&gen), FLAKE_OK);
    CHECK_EQ(draw_from(&other), FLAKE_OK);
}

/* N workers on N numbers survive a crash of all, and the wait is that of one. */
TEST(as_many_workers_as_numbers_start_after_a_crash_of_all) {
    enum { workers = 8 };
    static flake_gen all[workers];
    uint64_t seen = 0;
    for (int crashes = 0; crashes < 3; crashes++)
        IN_KILLED_CHILD {
            for (int i = 0; i < workers; i++) {
                CHECK_EQ(init_range(&all[i], 0, workers - 1), FLAKE_OK);
                CHECK_EQ(flake_gen_node(&all[i]), i);
                for (int n = 0; n < 100; n++) CHECK_EQ(draw_from(&all[i]), FLAKE_OK);
            }
            be_killed();
        }
    const int64_t began_ns = scene_ns();
    for (int i = 0; i < workers; i++) {
        CHECK_EQ(init_range(&all[i], 0, workers - 1), FLAKE_OK);
        seen |= (uint64_t)1 << flake_gen_node(&all[i]);
        for (int n = 0; n < 100; n++) CHECK_EQ(draw_from(&all[i]), FLAKE_OK);
    }
    CHECK_EQ(seen, (1 << workers) - 1);
    CHECK(scene_ns() - began_ns <= 3100 * a_ms);
    CHECK_EQ(init_range(&gen, 0, workers - 1), FLAKE_IN_USE);
    CHECK_STR(why.text + strlen(our_folder), ": all numbers of the range are in use");
    for (int i = 0; i < workers; i++) close_it(&all[i]);
}

/* ---- claim_wait_ms ---- */

/* A slow disk: each system call takes a ms. */
static bool take_a_ms(const char *name) {
    (void)name;
    atomic_fetch_add(&our->monotonic_ns, a_ms);
    return true;
}

/* Not the naps are counted, and no clock that is set. */
TEST(a_number_in_use_is_waited_for_by_a_steady_clock) {
    enum { held = 100 };
    static flake_gen gens[held];
    flake_options o = options_in_scene();
    for (int i = 0; i < held; i++) CHECK_EQ(init_range(&gens[i], 0, held - 1), FLAKE_OK);
    for (o.claim_wait_ms = 0; o.claim_wait_ms <= 3000; o.claim_wait_ms += 1500)
        for (int slow = 0; slow < 2; slow++) {
            const int64_t began_ns = atomic_load(&our->monotonic_ns);
            on_call = slow ? take_a_ms : NULL;
            on_sleep = set_the_clock_back;
            CHECK_EQ(init_with(&gen, range(0, held - 1), o), FLAKE_IN_USE);
            on_call = NULL;
            on_sleep = NULL;
            const int64_t took_ms = (atomic_load(&our->monotonic_ns) - began_ns) / a_ms;
            CHECK(took_ms >= o.claim_wait_ms);
            CHECK(took_ms <= o.claim_wait_ms + (slow ? 20 * held : 60)); /* one scan more */
            move_to_ns(start_ms * a_ms);
        }
    for (int i = 0; i < held; i++) close_it(&gens[i]);
}

static unsigned naps_to_close;

static void close_the_other(int64_t ns) {
    atomic_fetch_add(&our->now_ns, ns);
    if (naps_to_close && --naps_to_close == 0) close_it(&other);
}

TEST(a_number_that_becomes_free_is_taken) {
    for (int is_range = 0; is_range < 2; is_range++)
        for (naps_to_close = 1; naps_to_close < 100; naps_to_close += 49) {
            flake_options o = options_in_scene();
            begin();
            o.claim_wait_ms = 5000;
            run(&other, 1);
            on_sleep = close_the_other;
            const unsigned naps = naps_to_close;
            CHECK_EQ(init_with(&gen, is_range ? range(1, 1) : slot(1), o), FLAKE_OK);
            CHECK(atomic_load(&our->sleeps) >= naps && atomic_load(&our->sleeps) <= naps + 2);
            CHECK_EQ(draw_from(&gen), FLAKE_OK);
            naps_to_close = naps;
        }
    on_sleep = NULL;
}

/* ---- a moment's patience ---- */

static flake_i_file being_made; /* by another process, as far as locks can tell */

static void complete_it(int64_t ns) {
    atomic_fetch_add(&our->now_ns, ns);
    flake_i_file_drop(&being_made, false);
}

/* A claim that meets the creation of its file tries again for 50 ms. */
TEST(a_file_that_another_creates_is_waited_for_a_moment) {
    for (int completes = 0; completes < 2; completes++) {
        begin();
        CHECK_EQ(flake_i_file_open(&being_made, path_of("1.slot.new"), FLAKE_I_CREATE), FLAKE_OK);
        const int64_t began_ns = atomic_load(&our->monotonic_ns);
        on_sleep = completes ? complete_it : NULL;
        CHECK_EQ(init_slot(&gen, 1), completes ? FLAKE_OK : FLAKE_IN_USE);
        const int64_t took_ns = atomic_load(&our->monotonic_ns) - began_ns;
        CHECK(completes ? took_ns <= 10 * a_ms : took_ns >= 50 * a_ms && took_ns <= 60 * a_ms);
        if (completes) CHECK_EQ(draw_from(&gen), FLAKE_OK);
        else CHECK(why_is_of(1) && strstr(why.text, "is being created"));
        on_sleep = NULL;
        flake_i_file_drop(&being_made, false);
    }
}

/* A missing directory, no descriptor left, a full disk: init fails after few calls, and without a sleep. */
TEST(only_a_number_in_use_is_waited_for) {
    flake_options o = options_in_scene();
    o.claim_wait_ms = 100000;
    for (int is_range = 0; is_range < 2; is_range++) {
        const char *const nowhere = path_of("nowhere/ids");
        trap = (struct trap){0};
        CHECK_EQ(init_with(&gen, flake_node_any(nowhere, 0, is_range ? 1023 : 0), o), FLAKE_IO);
        CHECK(trap.calls < 10);
        CHECK(strncmp(why.text, nowhere, strlen(nowhere)) == 0);
    }
    trap = (struct trap){.name = "open", .error = EMFILE};
    CHECK_EQ(init_with(&gen, range(0, 1023), o), FLAKE_IO);
    CHECK(trap.calls < 10);
    CHECK(strstr(why.text, strerror(EMFILE)) && strstr(why.text, "0.slot"));
    trap = (struct trap){0};
    disk_fail(1, 1000000); /* a full one: a file cannot be created */
    CHECK_EQ(init_with(&gen, range(0, 1023), o), FLAKE_IO);
    CHECK(trap.calls < 1024 + 30); /* one for each number that may have a file: see below */
    CHECK_EQ(atomic_load(&our->sleeps), 0);
}

static void fail_new_records(int fd, size_t n) {
    (void)fd;
    if (n == 8192) disk_fail(1, 1);
}

/* On a full disk no file can be created, or written for the first time. But a number that has a file is still to be
 * had, whatever numbers without one come before it: an operator who has seen the service run on this disk expects it
 * to restart. To look for it costs one call a number, so a gap of 1,024 numbers ends the search. */
TEST(a_range_on_a_full_disk_has_the_numbers_that_have_files) {
    flake_options o = options_in_scene();
    o.layout = flake_layout_hazelcast; /* has 65,536 numbers */
    for (int has_names = 0; has_names < 2; has_names++) {
        begin();
        CHECK_EQ(init_with(&gen, slot(0), o), FLAKE_OK);
        CHECK_EQ(draw_from(&gen), FLAKE_OK);
        crash_here(&gen);
        for (uint64_t n = 1024; n <= 2049; n += 1025) {
            CHECK_EQ(init_with(&gen, slot(n), o), FLAKE_OK);
            close_it(&gen);
        }
        pass_ms(5);
        disk_begin();
        disk_on_write = has_names ? fail_new_records : NULL;
        if (!has_names) disk_fail(1, 1);
        CHECK_EQ(init_with(&gen, range(0, 9999), o), FLAKE_OK);
        CHECK_EQ(flake_gen_node(&gen), 1024);
        CHECK_EQ(draw_from(&gen), FLAKE_OK);
        CHECK_EQ(atomic_load(&our->sleeps), 0);
        if (!has_names) disk_fail(1, 1);
        CHECK_EQ(init_with(&other, range(0, 9999), o), FLAKE_OK); /* it waits */
        CHECK_EQ(flake_gen_node(&other), 0);
        CHECK_EQ(draw_from(&other), FLAKE_OK);
        CHECK(atomic_load(&our->sleeps) > 0);
        if (!has_names) disk_fail(1, 1);
        CHECK_EQ(init_with(&third, range(0, 9999), o), FLAKE_IO); /* 2049: too far */
        CHECK(why_is_of(1) && strstr(why.text, strerror(ENOSPC)));
        CHECK_EQ(access(path_of("1.slot"), F_OK), -1);
        CHECK_EQ(access(path_of("1.slot.new"), F_OK), -1);
        disk_on_write = NULL;
        close_it(&gen);
        close_it(&other);
    }
}

/* By its owner, who may remove a file that is free. */
static void remove_0(void) { CHECK_EQ(unlink(path_of("0.slot")), 0); }

TEST(a_free_file_that_is_removed_during_a_scan_is_made_anew) {
    run(&gen, 0);
    close_it(&gen);
    pass_ms(10);
    trap = (struct trap){.name = "open", .from = 2, .n = 1, .act = remove_0}; /* the scan has looked at the file */
    CHECK_EQ(init_range(&gen, 0, 1023), FLAKE_OK);
    CHECK(trap.calls >= 2);
    CHECK_EQ(flake_gen_node(&gen), 0);
    CHECK_EQ(draw_from(&gen), FLAKE_OK);
}

/* A number whose file is unusable is no reason to wait, and a scan skips it. */
TEST(a_range_skips_what_it_cannot_use) {
    flake_options o = options_in_scene();
    o.claim_wait_ms = 100000;
    CHECK_EQ(symlink("elsewhere", path_of("0.slot")), 0);
    write_file(path_of("1.slot"), (const uint8_t *)"a letter", 8);
    CHECK_EQ(mkfifo(path_of("2.slot"), 0600), 0);
    write_file(path_of("3.slot"), (const uint8_t *)"", 0);
    CHECK_EQ((mkdir)(path_of("4.slot"), 0700), 0);
    CHECK_EQ(init_with(&gen, range(0, 5), o), FLAKE_OK);
    CHECK_EQ(flake_gen_node(&gen), 5);
    CHECK_EQ(init_with(&other, range(0, 4), o), FLAKE_MISMATCH); /* the first one's reason */
    CHECK(why_is_of(0));
    CHECK_EQ(init_with(&other, range(3, 4), o), FLAKE_CORRUPT);
    CHECK(why_is_of(3));
    CHECK_EQ(atomic_load(&our->sleeps), 0);
    CHECK_EQ(access(path_of("elsewhere"), F_OK), -1);
}

/* A file of this user without permissions. The scan looks at it, and then tries to lock it. */
TEST(a_range_skips_a_file_that_it_may_not_open) {
    CHECK_EQ(init_range(&gen, 0, 2), FLAKE_OK);
    close_it(&gen);
    pass_ms(5);
    trap = (struct trap){.name = "open", .n = 2, .error = EACCES};
    CHECK_EQ(init_range(&gen, 0, 2), FLAKE_OK);
    CHECK(trap.calls >= 2);
    CHECK_EQ(flake_gen_node(&gen), 1);
}

/* ---- refusals ---- */

TEST(a_long_path_leaves_room_for_the_reason) {
    char dir[1000];
    (void)snprintf(dir, sizeof dir, "%s/", our_folder);
    for (size_t length = strlen(dir); length < 240; length++) {
        char name[256];
        memset(name, 'x', sizeof name);
        name[length - strlen(our_folder)] = 0;
        (void)snprintf(dir, sizeof dir, "%s/%s", our_folder, name);
        CHECK_EQ(init_in(&gen, dir, 1023), FLAKE_OK);
        CHECK_EQ(init_in(&other, dir, 1023), FLAKE_IN_USE);
        const char *const reason = "/1023.slot: is in use, by this process or another";
        CHECK(strlen(why.text) < sizeof why.text && strlen(why.text) >= strlen(reason));
        CHECK_STR(why.text + strlen(why.text) - strlen(reason), reason);
        if (strlen(dir) + strlen(reason) < sizeof why.text) CHECK(strncmp(why.text, dir, strlen(dir)) == 0);
        else CHECK(strlen(why.text) == sizeof why.text - 1 && strncmp(why.text, "...", 3) == 0);
        close_it(&gen);
    }
}

static uint8_t image[FLAKE_I_FILE + 10], again[FLAKE_I_FILE + 10];

/* The file with these bytes is refused, and unchanged. */
static void refused_bytes(size_t n, flake_status wanted) {
    write_file(path_of("1.slot"), image, n);
    refused(init_slot(&gen, 1), wanted);
    CHECK_EQ(read_file(path_of("1.slot"), again, sizeof again), n);
    CHECK(memcmp(image, again, n) == 0);
}

static void refused_flipped(size_t bit, flake_status wanted) {
    image[bit / 8] ^= (uint8_t)(1u << bit % 8);
    refused_bytes(FLAKE_I_FILE, wanted);
    image[bit / 8] ^= (uint8_t)(1u << bit % 8);
}

TEST(what_is_not_whole_is_refused) {
    const size_t record = (size_t)flake_i_record_at(1);
    crash(1);
    CHECK_EQ(read_file(path_of("1.slot"), image, sizeof image), FLAKE_I_FILE);
    pass_ms(10000);
    for (size_t n = 0; n < FLAKE_I_FILE; n += n < record + FLAKE_I_RECORD ? 1 : 97)
        refused_bytes(n, FLAKE_CORRUPT);
    for (size_t bit = 0; bit < 8 * FLAKE_I_RECORD; bit++) {
        refused_flipped(8 * record + bit, FLAKE_CORRUPT);
        /* versions 2 and 3 differ in one bit */
        if (bit < 8 * 12 && bit != 8 * 11) refused_flipped(bit, FLAKE_MISMATCH);
    }
    write_file(path_of("1.slot"), image, FLAKE_I_FILE);
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
}

TEST(must_exist_makes_neither_file_nor_directory) {
    flake_options o = options_in_scene();
    o.must_exist = true;
    refused(init_with(&gen, slot(1), o), FLAKE_IO);
    CHECK(strstr(why.text, "does not exist"));
    CHECK_EQ(access(path_of("1.slot"), F_OK), -1);
    CHECK_EQ(init_with(&gen, flake_node_fixed(path_of("ids"), 1), o), FLAKE_IO);
    CHECK_EQ(access(path_of("ids"), F_OK), -1);
    disk_fail(1, 100); /* a full disk */
    refused(init_slot(&gen, 1), FLAKE_IO);
    disk_begin();
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    close_it(&gen);
    pass_ms(1);
    CHECK_EQ(init_with(&gen, slot(1), o), FLAKE_OK); /* now it is there */
}

/* Before or after a close, or after a crash: by 5 ms or an hour. */
TEST(a_clock_set_back_across_the_restart_is_refused) {
    enum { CLOSED, CLOSED_LATER, CRASHED, ends };
    static const int64_t steps_ms[] = {5, 3600000};
    flake_options no_wait = options_in_scene();
    no_wait.no_wait = true;
    for (int end = 0; end < ends; end++)
        for (int i = 0; i < 2; i++) {
            const int64_t back_ms = steps_ms[i];
            begin();
            if (end == CRASHED) crash(1);
            else CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
            if (end != CRASHED) CHECK_EQ(draw_from(&gen), FLAKE_OK);
            if (end == CLOSED) close_it(&gen);
            pass_ms(-back_ms);
            if (end == CLOSED_LATER) {
                CHECK_EQ(draw_from(&gen), back_ms > 1000 ? FLAKE_CLOCK_BACKWARDS : FLAKE_OK); /* it waits */
                close_it(&gen);
                move_to_ns((start_ms - back_ms) * a_ms);
            }
            const unsigned sleeps = atomic_load(&our->sleeps);
            refused(init_slot(&gen, 1), FLAKE_CLOCK_BACKWARDS);
            refused(init_with(&gen, slot(1), no_wait), FLAKE_CLOCK_BACKWARDS);
            CHECK_EQ(init_range(&other, 1, 2), FLAKE_OK); /* another number has no such file */
            CHECK_EQ(flake_gen_node(&other), 2);
            CHECK_EQ(atomic_load(&our->sleeps), sleeps);
            close_it(&other);
            move_to_ns(start_ms * a_ms - (end == CRASHED));
            if (end == CRASHED) refused(init_slot(&gen, 1), FLAKE_CLOCK_BACKWARDS); /* a ns is enough */
            move_to_ns(start_ms * a_ms);
            run(&gen, 1);
        }
}

TEST(too_long_a_downtime_is_refused) {
    flake_options o = options_in_scene();
    crash(1);
    o.max_downtime_ms = 60000;
    move_to_ns(horizon_of(1) + 60000 * a_ms + 1);
    refused(init_with(&gen, slot(1), o), FLAKE_DOWNTIME);
    move_to_ns(scene_ns() - 1);
    CHECK_EQ(init_with(&gen, slot(1), o), FLAKE_OK);
    pass_ms(7200000); /* two hours without a draw are no downtime */
    close_it(&gen);
    CHECK_EQ(init_with(&gen, slot(1), o), FLAKE_OK);
}

/* ---- the timer ---- */

TEST(with_manual_extend_a_timer_writes_and_no_draw) {
    flake_options o = options_in_scene();
    uint64_t id;
    int late_ms = 0;
    o.manual_extend = true;
    CHECK_EQ(init_with(&gen, slot(1), o), FLAKE_OK);
    int written = disk.calls;
    for (int i = 0; i < 10000; i++, pass_ms(1)) {
        if (i % 1000 == 999) CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK);
        if (i % 1000 == 999) written += 2; /* a record, and its sync */
        CHECK_EQ(draw_from(&gen), FLAKE_OK);
        CHECK_EQ(disk.calls, written);
    }
    for (; draw_from(&gen) == FLAKE_OK; late_ms++) pass_ms(1); /* the timer is late */
    CHECK(late_ms >= 2998 && late_ms <= 3001);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_NOT_EXTENDED);
    CHECK_EQ(disk.calls, written);
    disk_fail(1, 1);
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_IO);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_IO); /* the timer runs, and the disk fails */
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK);
    CHECK_EQ(draw_from(&gen), FLAKE_OK);
}

TEST(a_timer_keeps_up_with_ids_ahead_of_the_clock) {
    flake_options o = options_in_scene();
    uint64_t id;
    unsigned drawn = 0;
    o.manual_extend = true;
    o.horizon_ms = 1; /* shorter than a unit */
    o.layout = flake_layout_sonyflake;
    o.seq_max = 9;
    o.max_ahead_ms = 15000;
    CHECK_EQ(init_with(&gen, slot(1), o), FLAKE_OK);
    for (int i = 0; i < 40000 && drawn < 15000; i++)
        if (flake_try(&gen, &id) == FLAKE_OK) drawn++, note(id);
        else CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK);
    CHECK_EQ(drawn, 15000);
}

/* ---- snos ---- */

TEST(a_snapshot_does_not_pass_by_the_horizon) {
    sno_snapshot pool = pool_of_numbers(8, 0, 99);
    sno_id id;
    pool.wall_hi = (scene_ns() / a_ms - SNO_I_EPOCH_MS) / 4 + 2500;
    pool.sequence = 5;
    CHECK_EQ(init_sno(&sno, slot(8), &pool), FLAKE_OK);
    pass_ms(10000);
    move_to_ns(scene_ns() + flake_retry_ns(&sno.gen));
    CHECK_EQ(sno_try(&sno, 7, &id), FLAKE_OK);
    CHECK(sno_time_ms(id) * a_ms < horizon_of(8));
}

/* A snapshot that is older than the file: the file counts. */
TEST(a_sno_continues_after_its_file_and_its_snapshot) {
    sno_snapshot then;
    CHECK_EQ(init_sno(&sno, slot(8), NULL), FLAKE_OK);
    CHECK_EQ(draw_sno(&sno), FLAKE_OK);
    CHECK_EQ(sno_snapshot_take(&sno, &then), FLAKE_OK);
    for (int i = 0; i < 1000; i++, pass_ms(i % 2)) CHECK_EQ(draw_sno(&sno), FLAKE_OK);
    crash_here(&sno.gen);
    for (int run = 0; run < 4; run++) {
        CHECK_EQ(init_sno(&sno, slot(8), run % 2 ? NULL : &then), FLAKE_OK);
        for (int i = 0; i < 100; i++) CHECK_EQ(draw_sno(&sno), FLAKE_OK);
        pass_ms(-8); /* no tick has used these units, but both count as used */
        CHECK_EQ(draw_sno(&sno), FLAKE_OK);
        close_it(&sno.gen);
    }
}

int main(int argc, char **argv) { return directory_main(argc, argv); }
