/* SPDX-License-Identifier: MIT
 *
 * State files in normal operation: what a run continues from, waits for and refuses by name, with backward
 * steps of the clock before, during and after it; the lock, forks, timers, later generators.
 */
#define _GNU_SOURCE
#include "scripted_state.h"

static flake_state other;

static void draw_then_die(void) {
    EXPECT(open_and_start() == FLAKE_OK);
    for (int i = 0; i < 10; i++) EXPECT(draw() == FLAKE_OK);
    be_killed();
}

static void crash(void) {
    child_is_killed(draw_then_die);
    disk_begin();
}

static flake_status open_ids(void) { return open_at(&state, "ids"); }

/* A refusal names the cause, and leaves the file unchanged. */
static void refused(flake_status status, flake_status wanted) {
    CHECK_EQ(status, wanted);
    CHECK(why_is_of("ids") && strlen(why.text) > strlen(path_of("ids")) + 5);
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_INVALID);
}

/* ---- normal operation ---- */

TEST(a_run_goes_on_where_the_last_was_closed) {
    for (int run = 0; run < 20; run++) {
        const int64_t began_ns = scene_ns();
        CHECK_EQ(open_and_start(), FLAKE_OK);
        CHECK(scene_ns() - began_ns <= a_ms); /* the rest of the newest unit */
        for (int i = 0; i < 7; i++) CHECK_EQ(draw(), FLAKE_OK);
        pass_ms(run * 300);
        CHECK_EQ(draw(), FLAKE_OK);
        close_it(&state);
        CHECK_EQ(flake_state_close(&state, NULL), FLAKE_INVALID);
        CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_INVALID);
        pass_ms(1);
        CHECK_EQ(draw(), FLAKE_IO);
    }
}

TEST(a_crash_is_waited_out) {
    crash();
    const int64_t horizon_ns = horizon_at("ids");
    CHECK(horizon_ns >= scene_ns() + 3000 * a_ms && horizon_ns <= scene_ns() + 3001 * a_ms);
    CHECK_EQ(open_and_start(), FLAKE_OK);
    CHECK(scene_ns() > horizon_ns && scene_ns() <= horizon_ns + 2);
    CHECK_EQ(draw(), FLAKE_OK);
    CHECK(newest_ms() > horizon_ns / a_ms);
}

TEST(who_does_not_wait_draws_later) {
    flake_state_options w = where_of("ids");
    uint64_t id;
    crash();
    w.no_wait = true;
    const int64_t began_ns = scene_ns(), horizon_ns = horizon_at("ids");
    CHECK_EQ(open_with(&state, w, flake_node_fixed(NULL, 1), options_in_scene()), FLAKE_OK);
    CHECK_EQ(scene_ns(), began_ns);
    CHECK_EQ(start_on(&gen, &state), FLAKE_OK);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_CLOCK_BACKWARDS);
    CHECK(flake_retry_ns(&gen) > 2900 * a_ms);
    move_to_ns(scene_ns() + flake_retry_ns(&gen));
    CHECK_EQ(draw(), FLAKE_OK);
    CHECK(newest_ms() > horizon_ns / a_ms);
}

/* A program that does not wait, draws nothing and dies, with a shorter horizon than the file's. */
TEST(crash_loops_don_t_run_the_horizon_away) {
    flake_state_options w = where_of("ids");
    w.no_wait = true;
    w.horizon_ms = 10000;
    for (int run = 0; run < 26; run++) {
        CHECK_EQ(open_with(&state, w, flake_node_fixed(NULL, 1), options_in_scene()), FLAKE_OK);
        crash_here();
        const int64_t ahead_ns = horizon_at("ids") - scene_ns();
        CHECK(run > 5 ? ahead_ns <= 1001 * a_ms : ahead_ns == (10000 - run * 10) * a_ms);
        w.horizon_ms = 1000;
        pass_ms(run == 5 ? 9000 : 10);
    }
}

TEST(the_file_is_written_each_half_horizon) {
    begin_with_ids();
    CHECK_STR(disk.log, "owsrOSC");
    for (int i = 0; i < 12000; i++, pass_ms(1)) {
        CHECK_EQ(draw(), FLAKE_OK);
        CHECK((int64_t)state.horizon <= disk.lasting);
        CHECK(newest_ms() * a_ms < disk.lasting);
    }
    const int writes = (disk.calls - 7) / 2;
    CHECK(writes >= 7 && writes <= 9); /* 12 s */
    for (int i = 0; i < writes; i++) CHECK(strncmp(disk.log + 7 + 2 * i, "wd", 2) == 0);
}

/* ---- refusals ---- */

static uint8_t image[FLAKE_I_FILE + 10], again[FLAKE_I_FILE + 10];

/* The file with these bytes is refused, and unchanged. */
static void refused_bytes(size_t n, flake_status wanted) {
    write_file(path_of("ids"), image, n);
    refused(open_ids(), wanted);
    CHECK_EQ(read_file(path_of("ids"), again, sizeof again), n);
    CHECK(memcmp(image, again, n) == 0);
}

static void refused_flipped(size_t bit, flake_status wanted) {
    image[bit / 8] ^= (uint8_t)(1u << bit % 8);
    refused_bytes(FLAKE_I_FILE, wanted);
    image[bit / 8] ^= (uint8_t)(1u << bit % 8);
}

TEST(what_is_not_whole_is_refused) {
    const size_t record = (size_t)flake_i_record_at(1);
    crash();
    CHECK_EQ(read_file(path_of("ids"), image, sizeof image), FLAKE_I_FILE);
    pass_ms(10000);
    for (size_t n = 0; n < FLAKE_I_FILE; n += n < record + FLAKE_I_RECORD ? 1 : 97)
        refused_bytes(n, FLAKE_CORRUPT);
    for (size_t bit = 0; bit < 8 * FLAKE_I_RECORD; bit++) {
        refused_flipped(8 * record + bit, FLAKE_CORRUPT);
        if (bit < 8 * 16) refused_flipped(bit, FLAKE_MISMATCH);
    }
    write_file(path_of("ids"), image, FLAKE_I_FILE);
    CHECK_EQ(open_ids(), FLAKE_OK);
}

/* A write that was cut short has damaged only the older record. */
TEST(the_newest_whole_record_counts) {
    crash();
    const flake_i_record first = record_of("ids");
    move_to_ns(first.horizon_ns + a_ms);
    CHECK_EQ(open_ids(), FLAKE_OK);
    crash_here();
    const flake_i_record second = record_of("ids");
    CHECK_EQ(second.number, first.number + 1);
    CHECK(second.horizon_ns > first.horizon_ns);
    CHECK_EQ(read_file(path_of("ids"), image, sizeof image), FLAKE_I_FILE);
    for (unsigned damaged = 0; damaged < 2; damaged++) {
        const flake_i_record *left = damaged ? &second : &first;
        const size_t at = (size_t)flake_i_record_at(damaged ? first.number : second.number) + 9;
        image[at] ^= 1;
        write_file(path_of("ids"), image, FLAKE_I_FILE);
        CHECK_EQ(record_of("ids").number, left->number);
        CHECK_EQ(horizon_at("ids"), left->horizon_ns);
        image[at] ^= 1;
    }
}

/* Otherwise one power cut might damage two records in a row. The directory is synced, too: the process
 * that made the file may have died before that. */
TEST(what_the_last_run_wrote_is_synced_before_the_next_write) {
    crash();
    move_to_ns(horizon_at("ids") + a_ms);
    CHECK_EQ(open_ids(), FLAKE_OK);
    CHECK_STR(disk.log, "OSCwdwd");
    crash_here();
    pass_ms(4000);
    disk_fail(1, 1);
    refused(open_ids(), FLAKE_IO);
}

/* Rewrites the checksum after a change of the record. */
static void change_record(size_t at, uint8_t to) {
    uint8_t *const record = image + flake_i_record_at(1);
    CHECK_EQ(read_file(path_of("ids"), image, sizeof image), FLAKE_I_FILE);
    record[at] = to;
    flake_i_put64(record + 120, flake_i_fnv(record, 120));
    write_file(path_of("ids"), image, FLAKE_I_FILE);
}

TEST(what_is_anothers_is_refused) {
    static const char text[] = "id = 7\n";
    crash();
    refused(open_with(&state, where_of("ids"), flake_node_fixed(NULL, 2), options_in_scene()),
            FLAKE_MISMATCH);
    CHECK_EQ(read_file(path_of("ids"), image, sizeof image), FLAKE_I_FILE);
    image[11] = 3; /* a later version */
    refused_bytes(FLAKE_I_FILE, FLAKE_MISMATCH);
    image[11] = 2;
    write_file(path_of("ids"), image, FLAKE_I_FILE);
    for (size_t at = 104; at < 120; at++) { /* undefined in this version */
        change_record(at, 1);
        refused(open_ids(), FLAKE_MISMATCH);
        CHECK(strstr(why.text, "of another version"));
        change_record(at, 0);
    }
    memcpy(image, text, sizeof text);
    refused_bytes(strlen(text), FLAKE_MISMATCH);
    CHECK_EQ(unlink(path_of("ids")), 0);
    CHECK_EQ(mkdir(path_of("ids"), 0777), 0);
    refused(open_ids(), FLAKE_IO);
    CHECK_EQ(rmdir(path_of("ids")), 0);
    CHECK_EQ(mkfifo(path_of("ids"), 0666), 0);
    refused(open_ids(), FLAKE_MISMATCH);
}

TEST(what_can_t_be_read_or_made_is_refused) {
    char longest[2000];
    const flake_node node = flake_node_fixed(NULL, 1);
    const flake_options o = options_in_scene();
    CHECK_EQ(open_at(&state, "nowhere/ids"), FLAKE_IO);
    CHECK(why_is_of("nowhere/ids"));
    flake_state_options w = where_of("ids");
    w.must_exist = true;
    refused(open_with(&state, w, node, o), FLAKE_IO);
    CHECK(access(w.path, F_OK) != 0);
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    const flake_state_options wrong[] = {{.path = w.path, .horizon_ms = -1},
                                         {.path = w.path, .max_downtime_ms = -1},
                                         {.path = longest}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_EQ(open_with(&state, wrong[i], node, o), FLAKE_INVALID);
        CHECK((strncmp(why.text, "horizon_ms", 10) == 0) == (i == 0));
    }
    CHECK_EQ(open_with(&state, where_of("ids"), flake_node_fixed(NULL, 5000), o), FLAKE_NODE_RANGE);
    CHECK(strncmp(why.text, "node: ", 6) == 0);
    disk_fail(1, 100);
    refused(open_ids(), FLAKE_IO);
}

static void opens_without_a_repeat(void) {
    CHECK_EQ(open_and_start(), FLAKE_OK);
    CHECK_EQ(draw(), FLAKE_OK);
}

TEST(a_clock_put_back_across_the_restart_is_refused) {
    crash();
    move_to_ns(scene_ns() - 1);
    refused(open_ids(), FLAKE_CLOCK_BACKWARDS);
    pass_ms(-3600000);
    refused(open_ids(), FLAKE_CLOCK_BACKWARDS);
    move_to_ns(start_ms * a_ms);
    opens_without_a_repeat();
}

TEST(a_clock_put_back_before_the_close_is_refused) {
    begin_with_ids();
    CHECK_EQ(draw(), FLAKE_OK);
    pass_ms(-3600000);
    CHECK_EQ(draw(), FLAKE_CLOCK_BACKWARDS);
    close_it(&state);
    const unsigned sleeps = atomic_load(&our->sleeps);
    refused(open_ids(), FLAKE_CLOCK_BACKWARDS);
    CHECK_EQ(atomic_load(&our->sleeps), sleeps);
    pass_ms(3600000);
    opens_without_a_repeat();
}

static void put_the_clock_back(int64_t ns) {
    CHECK(ns > 0);
    move_to_ns(start_ms * a_ms - 5);
}

TEST(a_clock_put_back_while_a_crash_is_waited_out) {
    const uint64_t asked = atomic_load(&state.asked);
    crash();
    on_sleep = put_the_clock_back;
    refused(open_ids(), FLAKE_CLOCK_BACKWARDS);
    CHECK_EQ(atomic_load(&state.asked), asked);
}

TEST(too_long_a_downtime_is_refused) {
    flake_state_options w = where_of("ids");
    const flake_node node = flake_node_fixed(NULL, 1);
    const flake_options o = options_in_scene();
    crash();
    w.max_downtime_ms = 60000;
    move_to_ns(horizon_at("ids") + 60000 * a_ms + 1);
    refused(open_with(&state, w, node, o), FLAKE_DOWNTIME);
    move_to_ns(scene_ns() - 1);
    CHECK_EQ(open_with(&state, w, node, o), FLAKE_OK);
    pass_ms(7200000); /* two hours without a draw are no downtime */
    close_it(&state);
    CHECK_EQ(open_with(&state, w, node, o), FLAKE_OK);
}

/* ---- the lock ---- */

static void find_it_taken(void) {
    EXPECT(open_at(&other, "ids") == FLAKE_IN_USE);
    EXPECT(strstr(why.text, "in use") != NULL);
}

static void find_it_free(void) {
    EXPECT(open_ids() == FLAKE_OK);
    EXPECT(flake_state_close(&state, NULL) == FLAKE_OK);
}

TEST(one_run_at_a_time) {
    CHECK_EQ(open_ids(), FLAKE_OK);
    find_it_taken();
    child_is_well(find_it_taken); /* and the failed attempt has kept the lock */
    child_is_well(find_it_taken);
    /* A POSIX record lock would be lost when any descriptor of its file is closed. */
    sno_snapshot pool = pool_of_numbers(8, 0, 99);
    const flake_state_options w = where_of("ids");
    CHECK(sno_state_open(&snos, &w, NULL, &pool, NULL) != FLAKE_OK);
    child_is_well(find_it_taken);
    close_it(&state);
    child_is_well(find_it_free);
    child_is_well(find_it_free);
}

TEST(an_open_state_opened_again_stays_as_it_is) {
    begin_with_ids();
    CHECK_EQ(open_ids(), FLAKE_IN_USE);
    CHECK_EQ(open_at(&state, "others"), FLAKE_IN_USE);
    for (int i = 0; i < 100; i++, pass_ms(100)) CHECK_EQ(draw(), FLAKE_OK);
    CHECK(horizon_at("ids") > scene_ns());
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
    close_it(&state);
    CHECK(horizon_at("ids") >= (newest_ms() + 1) * a_ms - 1);
}

TEST(a_change_of_folder_does_not_move_the_file) {
    char was[300];
    CHECK(getcwd(was, sizeof was) != NULL);
    CHECK_EQ(chdir(our_folder), 0);
    CHECK_EQ(open_with(&state, (flake_state_options){.path = "ids"}, flake_node_fixed(NULL, 1),
                       options_in_scene()),
             FLAKE_OK);
    CHECK_EQ(start_on(&gen, &state), FLAKE_OK);
    CHECK_EQ(mkdir("elsewhere", 0777), 0); /* here there may be an "ids" */
    CHECK_EQ(chdir("elsewhere"), 0);
    for (int i = 0; i < 100; i++, pass_ms(100)) CHECK_EQ(draw(), FLAKE_OK);
    CHECK(horizon_at("ids") > scene_ns());
    close_it(&state);
    CHECK(access("ids", F_OK) != 0);
    CHECK_EQ(chdir(was), 0);
}

/* ---- fork and flake_machine_cloned ---- */

static void leave_the_parents_file_alone(void) {
    static flake_gen mine;
    const int64_t horizon_ns = horizon_at("ids");
    const flake_node node = flake_node_fixed(NULL, 2);
    const flake_options o = options_in_scene();
    pass_ms(10000);
    EXPECT(draw() == FLAKE_FORKED);
    EXPECT(start_on(&mine, &state) == FLAKE_FORKED); /* a new one on the parent's state */
    EXPECT(flake_state_extend(&state, NULL) == FLAKE_FORKED);
    find_it_taken();
    EXPECT(flake_state_close(&state, NULL) == FLAKE_FORKED);
    find_it_taken();
    EXPECT(horizon_at("ids") == horizon_ns);
    EXPECT(flake_reinit_after_fork(&gen, node, &o, NULL) == FLAKE_OK);
    EXPECT(draw() == FLAKE_OK);
    EXPECT(open_with(&state, where_of("childs"), node, o) == FLAKE_OK); /* with a file of its own */
    EXPECT(flake_state_close(&state, NULL) == FLAKE_OK);
}

TEST(a_child_leaves_its_parents_file_alone) {
    begin_with_ids();
    CHECK_EQ(draw(), FLAKE_OK);
    child_is_well(leave_the_parents_file_alone);
    child_is_well(find_it_taken);
    CHECK_EQ(draw(), FLAKE_OK);
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
}

TEST(a_bump_keeps_the_lock) {
    begin_with_ids();
    CHECK_EQ(draw(), FLAKE_OK);
    flake_machine_cloned();
    find_it_taken();
    child_is_well(find_it_taken);
    pass_ms(10000);
    CHECK_EQ(draw(), FLAKE_FORKED);
    CHECK_EQ(start_on(&gen, &state), FLAKE_FORKED);
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_FORKED);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_FORKED);
    opens_without_a_repeat();
}

/* ---- the timer ---- */

TEST(a_timer_writes_instead_of_draws) {
    flake_state_options w = where_of("ids");
    uint64_t id;
    w.manual_extend = true;
    CHECK_EQ(open_with(&state, w, flake_node_fixed(NULL, 1), options_in_scene()), FLAKE_OK);
    CHECK_EQ(start_on(&gen, &state), FLAKE_OK);
    for (int i = 0; i < 10000; i++, pass_ms(1)) {
        if (i % 1000 == 999) CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
        const int calls = disk.calls;
        CHECK_EQ(draw(), FLAKE_OK);
        CHECK_EQ(disk.calls, calls);
    }
    pass_ms(3000); /* the timer is late */
    CHECK_EQ(flake_try(&gen, &id), FLAKE_NOT_EXTENDED);
    const int64_t began_ns = scene_ns();
    CHECK_EQ(draw(), FLAKE_NOT_EXTENDED); /* waits for it for max_wait_ms */
    CHECK_EQ(scene_ns() - began_ns, 1000 * a_ms);
    disk_fail(1, 1);
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_IO);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_IO); /* the timer runs, and the disk fails */
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
    CHECK_EQ(draw(), FLAKE_OK);
}

TEST(a_timer_keeps_up_with_ids_ahead_of_the_clock) {
    flake_state_options w = where_of("ids");
    const flake_node node = flake_node_fixed(NULL, 1);
    flake_options o = options_in_scene();
    uint64_t id;
    w.manual_extend = true;
    w.horizon_ms = 1; /* shorter than a unit */
    o.layout = flake_layout_sonyflake;
    o.seq_max = 9;
    o.max_ahead_ms = 15000;
    for (unsigned wanted = 15000; wanted; wanted = wanted > 1) {
        CHECK_EQ(open_with(&state, w, node, o), FLAKE_OK);
        CHECK_EQ(start_with(&gen, node, o, &state), FLAKE_OK);
        unsigned drawn = 0;
        for (int i = 0; i < 40000 && drawn < wanted; i++) {
            if (flake_try(&gen, &id) == FLAKE_OK) drawn++, note(id);
            else CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
        }
        CHECK_EQ(drawn, wanted);
        close_it(&state);
    }
}

/* ---- later generators ---- */

TEST(a_state_is_for_its_generators_alone) {
    static const struct {
        uint32_t node, seq_min, seq_max;
        flake_status status;
    } rows[] = {{2, 5, 9, FLAKE_MISMATCH},
                {1, 4, 9, FLAKE_MISMATCH},
                {1, 6, 10, FLAKE_MISMATCH},
                {1, 6, 8, FLAKE_OK}};
    flake_options o = options_of_flake(5, 9, scene_clock, NULL);
    CHECK_EQ(open_with(&state, where_of("ids"), flake_node_fixed(NULL, 1), o), FLAKE_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        o = options_of_flake(rows[i].seq_min, rows[i].seq_max, scene_clock, NULL);
        CHECK_EQ(start_with(&gen, flake_node_fixed(NULL, rows[i].node), o, &state), rows[i].status);
    }
    close_it(&state);
    CHECK_EQ(start_with(&gen, flake_node_fixed(NULL, 1), o, &state), FLAKE_INVALID);
}

TEST(a_snapshot_does_not_pass_by_the_horizon) {
    begin_with_ids();
    sno_snapshot pool = pool_of_numbers(8, 0, 99);
    sno_id id;
    CHECK_EQ(open_snos("snos", &pool), FLAKE_OK);
    pool.wall_hi = (scene_ns() / a_ms - SNO_I_EPOCH_MS) / 4 + 2500;
    pool.sequence = 5;
    CHECK_EQ(start_sno(&pool), FLAKE_OK);
    pass_ms(10000);
    move_to_ns(scene_ns() + flake_retry_ns(&sno.gen));
    CHECK_EQ(sno_try(&sno, 7, &id), FLAKE_OK);
    CHECK(sno_time_ms(id) * a_ms < disk.lasting);
}

/* ---- sno's own ---- */

static bool same_pool(const sno_snapshot *a, const sno_snapshot *b) {
    return a->partition == b->partition && a->sequence_min == b->sequence_min &&
           a->sequence_max == b->sequence_max;
}

TEST(a_sno_state_brings_its_pool) {
    static const uint16_t others[][2] = {{0, 199}, {101, 199}, {100, 198}, {100, 200}, {0, 99}};
    for (int chosen = 0; chosen < 2; chosen++) { /* or a partition that it chooses */
        const sno_snapshot wanted = pool_of_numbers(0x1234, 100, 199);
        sno_snapshot pool = chosen ? wanted : pool_of_numbers(0, 0, 0), found;
        sno_id id;
        int64_t last_ms = 0;
        begin();
        CHECK_EQ(open_snos("snos", &pool), FLAKE_OK);
        CHECK(chosen ? same_pool(&pool, &wanted) : pool.sequence_max == UINT16_MAX);
        for (int run = 0; run < 2; run++) {
            for (size_t i = 0; i < 5 && chosen; i++) {
                found = pool_of_numbers(0x1234, others[i][0], others[i][1]);
                CHECK_EQ(start_sno(&found),
                         others[i][0] < 100 || others[i][1] > 199 ? FLAKE_MISMATCH : FLAKE_OK);
            }
            CHECK_EQ(start_sno(&pool), FLAKE_OK);
            CHECK_EQ(sno_try(&sno, 7, &id), FLAKE_OK);
            CHECK(sno_partition(id) == pool.partition && sno_sequence(id) == pool.sequence_min);
            CHECK(sno_time_ms(id) > last_ms);
            last_ms = sno_time_ms(id);
            close_it(&snos);
            for (size_t i = 0; i < 5 && chosen; i++) {
                found = pool_of_numbers(0x1234, others[i][0], others[i][1]);
                CHECK_EQ(open_snos("snos", &found), FLAKE_MISMATCH);
            }
            memset(&found, 0, sizeof found); /* the file has it */
            CHECK_EQ(open_snos("snos", &found), FLAKE_OK);
            CHECK(same_pool(&pool, &found));
        }
        CHECK_EQ(start_sno(&pool), FLAKE_OK);
        CHECK_EQ(sno_try(&sno, 7, &id), FLAKE_OK);
        pass_ms(-8); /* no tick has used it, but both count as used */
        CHECK_EQ(sno_try(&sno, 7, &id), FLAKE_CLOCK_BACKWARDS);
        pool.partition ^= 1;
        CHECK_EQ(start_sno(&pool), FLAKE_MISMATCH);
        CHECK_EQ(start_sno(NULL), FLAKE_MISMATCH);
        flake_options o = options_of_sno(scene_clock, NULL);
        o.state = &snos;
        CHECK_EQ(sno_init_shards(&sno, 1, flake_node_fixed(NULL, pool.partition), &pool, &o, NULL),
                 FLAKE_MISMATCH);
        close_it(&snos);
        const flake_state_options w = where_of("snos");
        CHECK_EQ(sno_state_open(&snos, &w, NULL, &found, NULL), FLAKE_OK); /* by the system's clock */
        close_it(&snos);
        pool = pool_of_numbers(8, 5, 7);
        CHECK_EQ(open_snos("snos", &pool), FLAKE_INVALID);
    }
}

int main(int argc, char **argv) { return state_main(argc, argv); }
