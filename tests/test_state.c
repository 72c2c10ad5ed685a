/* SPDX-License-Identifier: MIT
 *
 * State files in their plain course: what a run goes on from, waits for and refuses by name, with the clock
 * put back before, during and after; the lock, forks, timers, later generators. Gates in general, too.
 */
#define _GNU_SOURCE
#include "scripted_state.h"
#include "options.h"

/* ---- the plain course of things ---- */

TEST(a_run_goes_on_where_the_last_was_closed) {
    const char *path = path_of("ids");
    uint64_t id;
    begin();
    for (int run = 0; run < 20; run++) {
        const int64_t began_ns = script_now.now_ns;
        CHECK_EQ(open_and_start(path), FLAKE_OK);
        CHECK(script_now.now_ns - began_ns <= ms); /* the rest of the newest unit */
        for (int i = 0; i < 7; i++) CHECK_EQ(draw(&id), FLAKE_OK);
        script_now.now_ns += run * 300 * ms;
        CHECK_EQ(draw(&id), FLAKE_OK);
        CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
        CHECK_EQ(flake_state_close(&state, NULL), FLAKE_INVALID);
        CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_INVALID);
        script_now.now_ns += ms;
        CHECK_EQ(flake_next(&gen, &id), FLAKE_IO);
    }
    CHECK_EQ(ways_repeated(&our->log), 0);
}

TEST(a_crash_is_waited_out) {
    const char *path = path_of("ids");
    uint64_t id;
    begin();
    crash();
    const int64_t horizon_ns = record_of(path).horizon_ns;
    CHECK(horizon_ns >= script_now.now_ns + 3000 * ms);
    CHECK(horizon_ns <= script_now.now_ns + 3001 * ms);
    CHECK_EQ(open_and_start(path), FLAKE_OK);
    CHECK(script_now.now_ns > horizon_ns && script_now.now_ns <= horizon_ns + 2);
    CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK(ms_of(id) > horizon_ns / ms);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
    CHECK_EQ(ways_repeated(&our->log), 0);
}

TEST(who_does_not_wait_draws_later) {
    const char *path = path_of("ids");
    flake_state_options w = where_of(path);
    flake_options o = options_of(1);
    uint64_t id;
    begin();
    w.no_wait = true;
    crash();
    const int64_t began_ns = script_now.now_ns, horizon_ns = record_of(path).horizon_ns;
    CHECK_EQ(flake_state_open(&state, &w, &o, NULL, &why), FLAKE_OK);
    CHECK_EQ(script_now.now_ns, began_ns);
    CHECK_EQ(start_gen(), FLAKE_OK);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_CLOCK_BACKWARDS);
    CHECK(flake_retry_ns(&gen) > 2900 * ms);
    script_now.now_ns += flake_retry_ns(&gen);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK(ms_of(id) > horizon_ns / ms);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

TEST(crash_loops_don_t_run_the_horizon_away) {
    const char *path = path_of("ids");
    flake_state_options w = where_of(path);
    flake_options o = options_of(1);
    begin();
    w.no_wait = true;
    crash();
    for (int i = 0; i < 20; i++) { /* opens, draws nothing, and dies */
        CHECK_EQ(flake_state_open(&state, &w, &o, NULL, &why), FLAKE_OK);
        crash_here();
        script_now.now_ns += 10 * ms;
    }
    CHECK(record_of(path).horizon_ns <= script_now.now_ns + 3001 * ms);
}

TEST(the_file_is_written_each_half_horizon) {
    uint64_t id;
    begin();
    CHECK_EQ(open_and_start(path_of("ids")), FLAKE_OK);
    CHECK_STR(disk.log, "owsrOSC");
    for (int i = 0; i < 12000; i++, script_now.now_ns += ms) {
        CHECK_EQ(draw(&id), FLAKE_OK);
        CHECK((int64_t)state.horizon <= disk.lasting);
        CHECK(ms_of(id) * ms < disk.lasting);
    }
    const int writes = (disk.calls - 7) / 2;
    CHECK(writes >= 7 && writes <= 9); /* 12 s */
    for (int i = 0; i < writes; i++) CHECK(strncmp(disk.log + 7 + 2 * i, "wd", 2) == 0);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

/* ---- refusals ---- */

static uint8_t image[FLAKE_I_FILE + 10], again[FLAKE_I_FILE + 10];

/* The file with these bytes is refused, and stays as it is. */
static void refused_bytes(const uint8_t *bytes, size_t n, flake_status wanted) {
    const char *path = path_of("ids");
    write_file(path, bytes, n);
    refused(path, open_node(path, 1), wanted);
    CHECK_EQ(read_file(path, again, sizeof again), n);
    CHECK(memcmp(bytes, again, n) == 0);
}

TEST(what_is_not_whole_is_refused) {
    const char *path = path_of("ids");
    const size_t record = (size_t)flake_i_record_at(1);
    begin();
    crash();
    CHECK_EQ(read_file(path, image, sizeof image), FLAKE_I_FILE);
    script_now.now_ns += 10000 * ms;
    for (size_t n = 0; n < FLAKE_I_FILE; n += n < record + FLAKE_I_RECORD ? 1 : 97)
        refused_bytes(image, n, FLAKE_CORRUPT);
    for (size_t at = 0; at < FLAKE_I_RECORD; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            image[record + at] ^= (uint8_t)(1u << bit);
            refused_bytes(image, FLAKE_I_FILE, FLAKE_CORRUPT);
            image[record + at] ^= (uint8_t)(1u << bit);
            if (at >= 16) continue;
            image[at] ^= (uint8_t)(1u << bit);
            refused_bytes(image, FLAKE_I_FILE, FLAKE_MISMATCH);
            image[at] ^= (uint8_t)(1u << bit);
        }
    write_file(path, image, FLAKE_I_FILE);
    CHECK_EQ(open_node(path, 1), FLAKE_OK);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

/* A write that was cut short has damaged the older record alone. */
TEST(the_newest_whole_record_counts) {
    const char *path = path_of("ids");
    begin();
    crash();
    const flake_i_record first = record_of(path);
    script_now.now_ns = first.horizon_ns + ms;
    CHECK_EQ(open_node(path, 1), FLAKE_OK);
    crash_here();
    const flake_i_record second = record_of(path);
    CHECK_EQ(second.number, first.number + 1);
    CHECK(second.horizon_ns > first.horizon_ns);
    CHECK_EQ(read_file(path, image, sizeof image), FLAKE_I_FILE);
    for (unsigned damaged = 0; damaged < 2; damaged++) {
        const flake_i_record *left = damaged ? &second : &first;
        const size_t at = (size_t)flake_i_record_at(damaged ? first.number : second.number) + 9;
        image[at] ^= 1;
        write_file(path, image, FLAKE_I_FILE);
        CHECK_EQ(record_of(path).number, left->number);
        CHECK_EQ(record_of(path).horizon_ns, left->horizon_ns);
        image[at] ^= 1;
    }
}

/* Else two records in a row might be spoilt by one power cut. And the file's name is: who made it may have
 * died before that was. */
TEST(what_the_last_run_wrote_is_synced_before_the_next_write) {
    const char *path = path_of("ids");
    begin();
    crash();
    script_now.now_ns = record_of(path).horizon_ns + ms;
    disk_begin();
    CHECK_EQ(open_node(path, 1), FLAKE_OK);
    CHECK_STR(disk.log, "OSCwdwd");
    disk_begin();
    disk.fail_from = 1, disk.fails = 1;
    crash_here();
    script_now.now_ns += 4000 * ms;
    refused(path, open_node(path, 1), FLAKE_IO);
}

/* Rewrites the checksum behind a change of the record. */
static void change_record(const char *path, size_t at, uint8_t to) {
    uint8_t *const record = image + flake_i_record_at(1);
    CHECK_EQ(read_file(path, image, sizeof image), FLAKE_I_FILE);
    record[at] = to;
    flake_i_put64(record + 120, flake_i_fnv(record, 120));
    write_file(path, image, FLAKE_I_FILE);
}

TEST(what_is_anothers_is_refused) {
    const char *path = path_of("ids");
    begin();
    crash();
    refused(path, open_node(path, 2), FLAKE_MISMATCH);
    flake_state_options w = where_of(path);
    flake_options o = options_of(1);
    o.seq_max = 4094;
    refused(path, flake_state_open(&state, &w, &o, NULL, &why), FLAKE_MISMATCH);
    o = options_of(1);
    o.layout = flake_layout_idgen;
    o.layout.epoch_ms = 1;
    refused(path, flake_state_open(&state, &w, &o, NULL, &why), FLAKE_MISMATCH);
    o = options_of(1);
    o.layout = flake_layout_boundary;
    refused(path, flake_state_open(&state, &w, &o, NULL, &why), FLAKE_MISMATCH);
    static flake_state snos;
    flake_why sno_reason;
    flake_state_options sno_where = {0};
    sno_snapshot pool = ways_pool(0, FAMILY_SNO, 0, 99);
    sno_where.path = path;
    CHECK_EQ(sno_state_open(&snos, &sno_where, NULL, &pool, &sno_reason), FLAKE_MISMATCH);
    memset(&pool, 0, sizeof pool);
    CHECK_EQ(sno_state_open(&snos, &sno_where, NULL, &pool, &sno_reason), FLAKE_MISMATCH);

    CHECK_EQ(read_file(path, image, sizeof image), FLAKE_I_FILE);
    image[11] = 3; /* a later version */
    refused_bytes(image, FLAKE_I_FILE, FLAKE_MISMATCH);
    image[11] = 2;
    write_file(path, image, FLAKE_I_FILE);
    for (size_t at = 104; at < 120; at++) { /* what this version has no meaning for */
        change_record(path, at, 1);
        refused(path, open_node(path, 1), FLAKE_MISMATCH);
        change_record(path, at, 0);
    }

    const char *text = "id = 7\n";
    write_file(path, (const uint8_t *)text, strlen(text));
    refused(path, open_node(path, 1), FLAKE_MISMATCH);
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(mkdir(path, 0777), 0);
    refused(path, open_node(path, 1), FLAKE_IO);
    CHECK_EQ(rmdir(path), 0);
    CHECK_EQ(mkfifo(path, 0666), 0);
    refused(path, open_node(path, 1), FLAKE_MISMATCH);
}

TEST(what_can_t_be_read_or_made_is_refused) {
    const char *path = path_of("nowhere/ids");
    char longest[2000];
    begin();
    CHECK_EQ(open_node(path, 1), FLAKE_IO);
    CHECK(strncmp(why.text, path, strlen(path)) == 0);
    flake_state_options w = where_of(path_of("ids"));
    const flake_options o = options_of(1);
    w.must_exist = true;
    refused(w.path, flake_state_open(&state, &w, &o, NULL, &why), FLAKE_IO);
    CHECK(access(w.path, F_OK) != 0);
    w.must_exist = false;
    w.horizon_ms = -1;
    CHECK_EQ(flake_state_open(&state, &w, &o, NULL, &why), FLAKE_INVALID);
    CHECK(strncmp(why.text, "horizon_ms", 10) == 0);
    w.horizon_ms = INT64_MAX;
    CHECK_EQ(flake_state_open(&state, &w, &o, NULL, &why), FLAKE_INVALID);
    w.horizon_ms = 0;
    w.max_downtime_ms = -1;
    CHECK_EQ(flake_state_open(&state, &w, &o, NULL, &why), FLAKE_INVALID);
    w.max_downtime_ms = 0;
    w.path = NULL;
    CHECK_EQ(flake_state_open(&state, &w, &o, NULL, NULL), FLAKE_INVALID);
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    w.path = longest;
    CHECK_EQ(flake_state_open(&state, &w, &o, NULL, &why), FLAKE_INVALID);
    CHECK_EQ(open_node(path_of("ids"), 5000), FLAKE_INVALID);
    CHECK(strncmp(why.text, "options", 7) == 0);
    disk_begin();
    disk.fail_from = 1, disk.fails = 100;
    refused(path_of("ids"), open_node(path_of("ids"), 1), FLAKE_IO);
}

TEST(a_clock_put_back_across_the_restart_is_refused) {
    const char *path = path_of("ids");
    uint64_t id;
    begin();
    crash();
    script_now.now_ns -= 1;
    refused(path, open_node(path, 1), FLAKE_CLOCK_BACKWARDS);
    script_now.now_ns -= 3600000 * ms;
    refused(path, open_node(path, 1), FLAKE_CLOCK_BACKWARDS);
    script_now.now_ns += 3600000 * ms + 1;
    CHECK_EQ(open_and_start(path), FLAKE_OK);
    CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK_EQ(ways_repeated(&our->log), 0);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

TEST(a_clock_put_back_before_the_close_is_refused) {
    const char *path = path_of("ids");
    uint64_t id;
    begin();
    CHECK_EQ(open_and_start(path), FLAKE_OK);
    CHECK_EQ(draw(&id), FLAKE_OK);
    script_now.now_ns -= 3600000 * ms;
    CHECK_EQ(flake_next(&gen, &id), FLAKE_CLOCK_BACKWARDS);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
    script_now.slept_ns = 0;
    refused(path, open_node(path, 1), FLAKE_CLOCK_BACKWARDS);
    CHECK_EQ(script_now.slept_ns, 0);
    script_now.now_ns += 3600000 * ms;
    CHECK_EQ(open_and_start(path), FLAKE_OK);
    CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK_EQ(ways_repeated(&our->log), 0);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

TEST(a_clock_put_back_while_a_crash_is_waited_out) {
    begin();
    crash();
    script_now.jump_to_ns = script_now.now_ns - 5;
    refused(path_of("ids"), open_node(path_of("ids"), 1), FLAKE_CLOCK_BACKWARDS);
}

TEST(too_long_a_downtime_is_refused) {
    const char *path = path_of("ids");
    flake_state_options w = where_of(path);
    const flake_options o = options_of(1);
    begin();
    w.max_downtime_ms = 60000;
    crash();
    script_now.now_ns = record_of(path).horizon_ns + 60000 * ms + 1;
    refused(path, flake_state_open(&state, &w, &o, NULL, &why), FLAKE_DOWNTIME);
    script_now.now_ns -= 1;
    CHECK_EQ(flake_state_open(&state, &w, &o, NULL, &why), FLAKE_OK);
    script_now.now_ns += 7200000 * ms; /* two hours without a draw are no downtime */
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
    CHECK_EQ(flake_state_open(&state, &w, &o, NULL, &why), FLAKE_OK);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

/* ---- the lock ---- */

static void find_it_taken(void) {
    static flake_state other;
    const flake_state_options w = where_of(path_of("ids"));
    const flake_options o = options_of(1);
    EXPECT(flake_state_open(&other, &w, &o, NULL, &why) == FLAKE_IN_USE);
    EXPECT(strstr(why.text, "in use") != NULL);
}

static void find_it_free(void) {
    EXPECT(open_node(path_of("ids"), 1) == FLAKE_OK);
    EXPECT(flake_state_close(&state, NULL) == FLAKE_OK);
}

TEST(one_run_at_a_time) {
    const char *path = path_of("ids");
    begin();
    CHECK_EQ(open_node(path, 1), FLAKE_OK);
    find_it_taken();
    child_is_well(find_it_taken); /* and what it tried has not let go of the lock */
    child_is_well(find_it_taken);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
    child_is_well(find_it_free);
    script_now.now_ns += ms; /* the child's clock went on a little */
    CHECK_EQ(open_node(path, 1), FLAKE_OK);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

/* A record lock of POSIX would go when any descriptor of its file is closed. */
TEST(a_sno_state_at_the_same_path_lets_go_of_nothing) {
    const char *path = path_of("ids");
    static flake_state snos;
    flake_state_options w = {0};
    sno_snapshot pool = ways_pool(0, FAMILY_SNO, 0, 99);
    begin();
    w.path = path;
    CHECK_EQ(open_node(path, 1), FLAKE_OK);
    CHECK(sno_state_open(&snos, &w, NULL, &pool, NULL) != FLAKE_OK);
    child_is_well(find_it_taken);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

TEST(an_open_state_opened_again_stays_as_it_is) {
    const char *path = path_of("ids");
    uint64_t id;
    begin();
    CHECK_EQ(open_and_start(path), FLAKE_OK);
    CHECK_EQ(open_node(path, 1), FLAKE_IN_USE);
    CHECK_EQ(open_node(path_of("others"), 1), FLAKE_IN_USE);
    for (int i = 0; i < 100; i++, script_now.now_ns += 100 * ms) CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK(record_of(path).horizon_ns > script_now.now_ns);
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
    CHECK(record_of(path).horizon_ns >= (ms_of(id) + 1) * ms - 1);
}

TEST(a_change_of_folder_does_not_move_the_file) {
    char was[300];
    uint64_t id;
    begin();
    CHECK(getcwd(was, sizeof was) != NULL);
    CHECK_EQ(chdir(folder), 0);
    CHECK_EQ(open_and_start("ids"), FLAKE_OK);
    CHECK_EQ(mkdir("elsewhere", 0777), 0); /* here there may be an "ids" */
    CHECK_EQ(chdir("elsewhere"), 0);
    for (int i = 0; i < 100; i++, script_now.now_ns += 100 * ms) CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK(record_of(path_of("ids")).horizon_ns > script_now.now_ns);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
    CHECK(access("ids", F_OK) != 0);
    CHECK_EQ(chdir(was), 0);
    CHECK_EQ(rmdir(path_of("elsewhere")), 0);
}

/* ---- fork and bump ---- */

static void leave_the_parents_file_alone(void) {
    static flake_gen mine;
    uint64_t id;
    const flake_i_record before = record_of(path_of("ids"));
    flake_options o = options_of(1);
    o.state = &state;
    script_now.now_ns += 10000 * ms;
    EXPECT(flake_next(&gen, &id) == FLAKE_FORKED);
    EXPECT(flake_init(&mine, &o, NULL) == FLAKE_FORKED); /* a new one on the parent's state */
    EXPECT(flake_state_extend(&state, NULL) == FLAKE_FORKED);
    find_it_taken();
    EXPECT(flake_state_close(&state, NULL) == FLAKE_FORKED);
    find_it_taken();
    EXPECT(record_of(path_of("ids")).horizon_ns == before.horizon_ns);
    o.node = 2;
    o.state = NULL;
    EXPECT(flake_reinit_after_fork(&gen, &o, NULL) == FLAKE_OK);
    EXPECT(flake_next(&gen, &id) == FLAKE_OK);
    EXPECT(open_node(path_of("childs"), 2) == FLAKE_OK); /* with a file of its own */
    EXPECT(flake_state_close(&state, NULL) == FLAKE_OK);
}

TEST(a_child_leaves_its_parents_file_alone) {
    uint64_t id;
    begin();
    CHECK_EQ(open_and_start(path_of("ids")), FLAKE_OK);
    CHECK_EQ(draw(&id), FLAKE_OK);
    child_is_well(leave_the_parents_file_alone);
    child_is_well(find_it_taken);
    CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

static void be_refused(void) { EXPECT(flake_state_extend(&state, NULL) == FLAKE_FORKED); }

static void fork_once(int fd, size_t n) {
    disk_on_write = NULL;
    CHECK(fd >= 0 && n > 0);
    child_is_well(be_refused);
}

/* In the child the state's writer is a thread that does not exist. */
TEST(a_child_forked_during_a_write_can_t_extend) {
    begin();
    CHECK_EQ(open_and_start(path_of("ids")), FLAKE_OK);
    script_now.now_ns += 10000 * ms;
    disk_on_write = fork_once;
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
    CHECK(!disk_on_write);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

TEST(a_bump_keeps_the_lock) {
    uint64_t id;
    begin();
    CHECK_EQ(open_and_start(path_of("ids")), FLAKE_OK);
    CHECK_EQ(draw(&id), FLAKE_OK);
    flake_machine_cloned();
    find_it_taken();
    child_is_well(find_it_taken);
    script_now.now_ns += 10000 * ms;
    CHECK_EQ(flake_next(&gen, &id), FLAKE_FORKED);
    CHECK_EQ(start_gen(), FLAKE_FORKED);
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_FORKED);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_FORKED);
    CHECK_EQ(open_and_start(path_of("ids")), FLAKE_OK);
    CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK_EQ(ways_repeated(&our->log), 0);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

/* ---- the timer ---- */

TEST(a_timer_writes_instead_of_draws) {
    flake_state_options w = where_of(path_of("ids"));
    const flake_options o = options_of(1);
    uint64_t id;
    begin();
    w.manual_extend = true;
    CHECK_EQ(flake_state_open(&state, &w, &o, NULL, &why), FLAKE_OK);
    CHECK_EQ(start_gen(), FLAKE_OK);
    for (int i = 0; i < 10000; i++, script_now.now_ns += ms) {
        if (i % 1000 == 999) CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
        const int calls = disk.calls;
        CHECK_EQ(draw(&id), FLAKE_OK);
        CHECK_EQ(disk.calls, calls);
    }
    script_now.now_ns += 3000 * ms; /* the timer is late */
    CHECK_EQ(flake_try(&gen, &id), FLAKE_NOT_EXTENDED);
    const int64_t began_ns = script_now.now_ns;
    CHECK_EQ(flake_next(&gen, &id), FLAKE_NOT_EXTENDED); /* waits for it as long as it may */
    CHECK_EQ(script_now.now_ns - began_ns, 1000 * ms);
    disk.fail_from = disk.calls + 1, disk.fails = 1;
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_IO);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_IO); /* the timer has come, and the disk failed it */
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
    CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
    CHECK_EQ(ways_repeated(&our->log), 0);
}

TEST(a_timer_keeps_up_with_ids_ahead_of_the_clock) {
    flake_state_options w = where_of(path_of("ids"));
    flake_options o = options_of(1);
    uint64_t id;
    begin();
    w.manual_extend = true;
    w.horizon_ms = 1; /* shorter than a unit */
    o.layout = flake_layout_sonyflake;
    o.seq_max = 9;
    o.max_ahead_ms = 15000;
    CHECK_EQ(flake_state_open(&state, &w, &o, NULL, &why), FLAKE_OK);
    o.state = &state;
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    unsigned drawn = 0;
    for (int i = 0; i < 40000 && drawn < 15000; i++) {
        if (flake_try(&gen, &id) == FLAKE_OK) drawn++, note(id);
        else CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
    }
    CHECK_EQ(drawn, 15000);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
    o.state = NULL;
    CHECK_EQ(flake_state_open(&state, &w, &o, NULL, &why), FLAKE_OK);
    o.state = &state;
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
    while (flake_try(&gen, &id) == FLAKE_AGAIN) CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
    note(id);
    CHECK_EQ(ways_repeated(&our->log), 0);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

/* ---- generators that come later ---- */

TEST(a_second_generator_on_a_state_repeats_nothing) {
    uint64_t id;
    begin();
    CHECK_EQ(open_and_start(path_of("ids")), FLAKE_OK);
    for (int run = 0; run < 10; run++) {
        CHECK_EQ(draw(&id), FLAKE_OK);
        CHECK_EQ(draw(&id), FLAKE_OK);
        CHECK_EQ(start_gen(), FLAKE_OK);
    }
    CHECK_EQ(ways_repeated(&our->log), 0);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

TEST(a_state_is_for_its_generators_alone) {
    static flake_gen other;
    flake_options o = options_of(2);
    begin();
    CHECK_EQ(open_node(path_of("ids"), 1), FLAKE_OK);
    o.state = &state;
    CHECK_EQ(flake_init(&other, &o, NULL), FLAKE_MISMATCH);
    o.node = 1;
    o.seq_min = 7, o.seq_max = 9;
    CHECK_EQ(flake_init(&other, &o, NULL), FLAKE_OK); /* a part of its range */
    o.shared_memory = true;
    CHECK_EQ(flake_init(&other, &o, NULL), FLAKE_INVALID);
    o.shared_memory = false;
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
    CHECK_EQ(flake_init(&other, &o, NULL), FLAKE_MISMATCH);
}

TEST(a_snapshot_does_not_pass_by_the_horizon) {
    flake_snapshot snapshot;
    uint64_t id;
    begin();
    CHECK_EQ(open_and_start(path_of("ids")), FLAKE_OK);
    CHECK_EQ(flake_snapshot_take(&gen, &snapshot), FLAKE_OK);
    snapshot.unix_ms = start_ms + 10000;
    snapshot.count = 5;
    CHECK_EQ(flake_restore(&gen, &snapshot, NULL), FLAKE_OK);
    script_now.now_ns = snapshot.unix_ms * ms;
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(draw(&id), FLAKE_OK);
        CHECK(ms_of(id) * ms < disk.lasting);
    }
    crash_here();
    CHECK_EQ(open_and_start(path_of("ids")), FLAKE_OK);
    CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK_EQ(ways_repeated(&our->log), 0);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);

    static flake_state snos;
    flake_state_options w = {0};
    sno_snapshot pool = ways_pool(0, FAMILY_SNO, 0, 99);
    w.path = path_of("snos");
    ways_setup setup = {0};
    setup.is_scripted = true;
    flake_options o = ways_sno_options(&setup);
    CHECK_EQ(sno_state_open(&snos, &w, &o, &pool, NULL), FLAKE_OK);
    o.state = &snos;
    pool.wall_hi = (script_now.now_ns / ms - SNO_I_EPOCH_MS) / 4 + 2500;
    pool.sequence = 5;
    CHECK_EQ(sno_init(&ways.sno, &pool, &o, NULL), FLAKE_OK);
    script_now.now_ns += 10000 * ms;
    sno_id drawn;
    script_now.now_ns += flake_retry_ns(&ways.sno.gen);
    CHECK_EQ(sno_try(&ways.sno, 7, &drawn), FLAKE_OK);
    CHECK(sno_time_ms(drawn) * ms < disk.lasting);
    CHECK_EQ(flake_state_close(&snos, NULL), FLAKE_OK);
}

/* ---- gates ---- */

static flake_status gate_says;
static int64_t gate_until_ns;
static int gate_asked;

static flake_status ask_gate(void *user, int64_t until_ns) {
    CHECK(user == &gate_says);
    gate_asked++;
    gate_until_ns = until_ns;
    return gate_says;
}

TEST(a_gate_is_asked_for_each_unit) {
    flake_options o = options_of(1);
    flake_snapshot snapshot;
    uint64_t id = 7, ids[10];
    begin();
    o.gate.admit = ask_gate;
    o.gate.user = &gate_says;
    o.seq_max = 9;
    gate_says = FLAKE_LEASE_LOST;
    gate_asked = 0;
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_LEASE_LOST);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_LEASE_LOST);
    CHECK_EQ(flake_try_at(&gen, start_ms, &id), FLAKE_LEASE_LOST);
    CHECK_EQ(flake_next_n(&gen, &id, 1), FLAKE_LEASE_LOST);
    CHECK_EQ(got64_n(&gen, &id, 1), 0);
    CHECK_EQ(id, 0);
    gate_says = FLAKE_OK;
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(gate_until_ns, (start_ms + 1) * ms - 1);
    gate_asked = 0;
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK); /* the same unit */
    CHECK_EQ(gate_asked, 0);
    CHECK_EQ(flake_next_n(&gen, ids, 10), FLAKE_OK); /* two of them in the next */
    CHECK_EQ(gate_asked, 1);
    CHECK_EQ(gate_until_ns, (start_ms + 2) * ms - 1);

    gate_says = FLAKE_LEASE_LOST; /* the unit that a snapshot stands in was not asked for either */
    CHECK_EQ(flake_snapshot_take(&gen, &snapshot), FLAKE_OK);
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_restore(&gen, &snapshot, NULL), FLAKE_OK);
    CHECK(flake_try(&gen, &id) != FLAKE_OK);
    o.layout = flake_layout_of(41, 10, 12, start_ms); /* and the first since the epoch */
    script_at_ms(start_ms);
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    CHECK(flake_try(&gen, &id) != FLAKE_OK);
}

static int64_t gate_floor_ns(void *user) {
    CHECK(user == &gate_says);
    return (start_ms + 3) * ms + 1; /* within a unit, which is not ours */
}

TEST(every_init_asks_for_the_gates_floor) {
    flake_options o = options_of(1);
    const flake_layout layout = flake_layout_idgen;
    flake_gen shards[2];
    flake_gen wide;
    flake128 wide_id = {{0}};
    flake_parts wide_parts = {0, 0, 0};
    flake_parts parts = {0, 0, 0};
    uint64_t id = 0;
    begin();
    script_at_ms(start_ms);
    gate_says = FLAKE_OK;
    o.gate.admit = ask_gate;
    o.gate.not_before_ns = gate_floor_ns;
    o.gate.user = &gate_says;
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_init_shards(shards, 2, &o, NULL), FLAKE_OK);
    CHECK(flake_try(&gen, &id) != FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(flake_decompose(&layout, id, &parts), FLAKE_OK);
    CHECK_EQ(parts.unix_ms, start_ms + 4);
    CHECK_EQ(flake_next(&shards[1], &id), FLAKE_OK);
    CHECK_EQ(flake_decompose(&layout, id, &parts), FLAKE_OK);
    CHECK_EQ(parts.unix_ms, start_ms + 4);
    flake_options of_wide = o;
    of_wide.layout = flake_layout_boundary;
    script_at_ms(start_ms);
    CHECK_EQ(flake_init(&wide, &of_wide, NULL), FLAKE_OK);
    script_at_ms(start_ms + 3);
    CHECK(flake128_try(&wide, &wide_id) != FLAKE_OK);
    script_at_ms(start_ms + 4);
    CHECK_EQ(flake128_next(&wide, &wide_id), FLAKE_OK);
    CHECK_EQ(flake128_decompose(&flake_layout_boundary, &wide_id, &wide_parts), FLAKE_OK);
    CHECK_EQ(wide_parts.unix_ms, start_ms + 4);
}

/* A caller whose place others have pushed into a later unit has to ask for that one. */
TEST(a_place_in_the_queue_is_asked_for) {
    flake_options o = options_of(1);
    flake_i_ticket ticket;
    begin();
    o.gate.admit = ask_gate;
    o.gate.user = &gate_says;
    o.seq_max = 9;
    gate_says = FLAKE_OK;
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    uint64_t id;
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    const uint64_t word = atomic_fetch_add(&gen.engine.word, 13u) + 12; /* 12 and one more draw */
    gate_says = FLAKE_LEASE_LOST;
    CHECK_EQ(flake_i_draw_slow(&gen.engine, FLAKE_I_WAIT | FLAKE_I_OVERSHOT, word, script_now.now_ns, 1,
                               &ticket),
             FLAKE_LEASE_LOST);
    CHECK_EQ(atomic_load(&gen.engine.word), word); /* given back */
}

TEST(a_gate_that_says_again_is_waited_for) {
    flake_options o = options_of(1);
    uint64_t id;
    begin();
    o.gate.admit = ask_gate;
    o.gate.user = &gate_says;
    o.max_wait_ms = 50;
    gate_says = FLAKE_AGAIN;
    gate_asked = 0;
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(gate_asked, 1);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(script_now.now_ns, (start_ms + 50) * ms);
    CHECK_EQ(gate_asked, 52);
}

/* ---- at the end of time ---- */

TEST(the_horizon_ends_with_the_clock) {
    flake_options o = options_of(1);
    flake_state_options w = where_of(path_of("ids"));
    uint64_t id;
    begin();
    script_now.now_ns = INT64_MAX - 3000 * ms;
    o.layout = flake_layout_of(44, 8, 12, 0);
    CHECK_EQ(flake_state_open(&state, &w, &o, NULL, &why), FLAKE_OK);
    o.state = &state;
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    for (int i = 0; i < 2998; i++, script_now.now_ns += ms)
        CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    disk.fail_from = disk.calls + 1, disk.fails = 1000;
    CHECK(flake_state_extend(&state, NULL) != FLAKE_INVALID);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    disk.fail_from = 0;
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

/* ---- sno's own ---- */

TEST(a_sno_state_brings_its_pool) {
    static flake_state snos;
    flake_state_options w = {0};
    sno_snapshot pool = {0};
    flake_why reason;
    sno_id id;
    begin();
    w.path = path_of("snos");
    ways_setup setup = {0};
    setup.is_scripted = true;
    flake_options o = ways_sno_options(&setup);
    CHECK_EQ(sno_state_open(&snos, &w, &o, &pool, &reason), FLAKE_OK); /* a partition of its choice */
    const uint16_t partition = pool.partition;
    CHECK_EQ(pool.sequence_max, UINT16_MAX);
    o.state = &snos;
    CHECK_EQ(sno_init(&ways.sno, &pool, &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_try(&ways.sno, 7, &id), FLAKE_OK);
    CHECK_EQ(sno_partition(id), partition);
    const int64_t first_ms = sno_time_ms(id);
    CHECK_EQ(flake_state_close(&snos, NULL), FLAKE_OK);
    memset(&pool, 0, sizeof pool);
    CHECK_EQ(sno_state_open(&snos, &w, &o, &pool, &reason), FLAKE_OK);
    CHECK_EQ(pool.partition, partition);
    CHECK_EQ(sno_init(&ways.sno, &pool, &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_try(&ways.sno, 7, &id), FLAKE_OK);
    CHECK(sno_time_ms(id) > first_ms);
    script_now.now_ns -= 8 * ms; /* no tick has used it, but both count as if they had */
    CHECK_EQ(sno_try(&ways.sno, 7, &id), FLAKE_CLOCK_BACKWARDS);
    pool.partition ^= 1;
    CHECK_EQ(sno_init(&ways.sno, &pool, &o, NULL), FLAKE_MISMATCH);
    CHECK_EQ(sno_init_shards(ways.sno_shards, 2, &pool, &o, NULL), FLAKE_MISMATCH);
    CHECK_EQ(sno_init(&ways.sno, NULL, &o, NULL), FLAKE_MISMATCH);
    CHECK_EQ(flake_state_close(&snos, NULL), FLAKE_OK);
    pool = ways_pool(0, FAMILY_SNO, 5, 7);
    CHECK_EQ(sno_state_open(&snos, &w, &o, &pool, &reason), FLAKE_INVALID);
}

int main(int argc, char **argv) { return state_main(argc, argv); }
