/* SPDX-License-Identifier: MIT
 *
 * Lanes of sno.h on a scripted clock: ticks, pools, partitions and snapshots (TALLY, SAFE). test_lanes.c tests which
 * lane a draw takes.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
static unsigned thread_now; /* the drawing thread */
#define FLAKE_LANE() thread_now
#include "scripted_sno.h"

static flake_lane lane_room[8];
static sno_gen lanes;

static void make_with(sno_snapshot s, size_t n, flake_options o) {
    thread_now = 0;
    restore_with(&lanes, s, *with_lanes(&o, LAST_OF(lane_room, n), n));
}
static void make(sno_snapshot s, size_t n) { make_with(s, n, options_of()); }

/* Numbers 100 to 110, of lanes with 4, 4 and 3. */
static void begin_lanes(void) {
    begin(0, 10);
    make(pool_of(100, 110), 3);
}

/* Draws whatever is available at the beginning of that unit. */
static size_t draw_all_at(int64_t unit) {
    clock_to(unit);
    const size_t n = tried_n(&lanes, a_meta, got + got_n, 100);
    got_n += n;
    return n;
}

TEST(one_thread_can_draw_all_numbers_of_a_unit) {
    begin_lanes();
    CHECK_EQ(flake_available(&lanes.gen), 11);
    EXPECT_ID(next_id(&lanes), start, 0, 100);
    EXPECT_ID(try_id(&lanes), start, 0, 101);
    CHECK_EQ(draw_all_at(start), 9);
    for (unsigned i = 0; i < 9; i++) EXPECT_ID(got[i], start, 0, 102 + i);
    EXPECT_REFUSED(&lanes, FLAKE_AGAIN);
    CHECK_EQ(flake_available(&lanes.gen), 0);
    CHECK_EQ(flake_retry_ns(&lanes.gen), unit_ns);
    CHECK_EQ(sno_units(next_id(&lanes)), start + 1);
    CHECK_EQ(script_now.slept_ns, unit_ns);
}

/* ---- a clock that goes backwards ---- */

/* Idle lanes keep the tick, the others change it; a second step back blocks times used twice. */
TEST(lanes_change_the_tick_and_block_times_that_both_ticks_have_used) {
    flake_stats stats;
    begin_lanes();
    CHECK_EQ(draw_all_at(start + 9), 11);
    CHECK_EQ(draw_all_at(start + 5), 11);
    for (unsigned i = 11; i < 22; i++) CHECK(sno_units(got[i]) == (uint64_t)start + 5 && sno_tick(got[i]) == 1);
    CHECK_EQ(draw_all_at(start + 2), 0); /* both ticks are used up to start + 5 */
    CHECK_EQ(draw_all_at(start + 9), 11);
    CHECK_EQ(count_duplicates(got, got_n), 0);
    flake_stats_get(&lanes.gen, &stats);
    CHECK(stats.clock_backwards > 0);
}

/* The clock goes back before one of a call's readings. */
static int back_before;
static int64_t read_and_step_back(void *user) {
    if (back_before && !--back_before) clock_to(start + 8);
    return script_read(user);
}

/* The drawing thread's lane was used at that time with both ticks, the others with one. They are found, even if the
 * sweep has looked at them by the reading before the step. After the sweep its last reading is the last draw's, in the
 * first lane. */
TEST(a_step_back_during_a_sweep_lets_other_lanes_serve) {
    enum { most = 20 };
    flake_status status[most];
    flake_options o = options_of();
    int n = 0;
    o.clock.now_ns = read_and_step_back;
    o.clock.user = &script_now;
    for (back_before = 0; n < most && !back_before; n++) {
        sno_id id;
        back_before = 0;
        begin(0, 10);
        make_with(pool_of(100, 110), 3, o);
        clock_to(start + 9);
        (void)next_id(&lanes);
        clock_to(start + 8);
        CHECK_EQ(sno_tick(next_id(&lanes)), 1);
        CHECK_EQ(draw_all_at(start + 12), 11);
        lanes.gen.lanes.map[0] = sizeof(flake_lane); /* the first lane again */
        back_before = n + 1;
        status[n] = sno_try(&lanes, a_meta, &id);
        if (status[n] == FLAKE_OK) CHECK_EQ(sno_units(id), start + 8);
    }
    CHECK(n > 4 && n < most);
    for (int i = 0; i < n - 2; i++) CHECK_EQ(status[i], FLAKE_OK);
    CHECK_EQ(status[n - 2], FLAKE_CLOCK_BACKWARDS);
    CHECK_EQ(status[n - 1], FLAKE_AGAIN); /* that was every reading */
}

/* ---- snapshots ---- */

TEST(a_snapshot_has_both_ticks_of_all_lanes) {
    begin_lanes();
    thread_now = 1;
    EXPECT_ID(next_id(&lanes), start, 0, 100); /* lane 0 */
    clock_to(start + 9);
    thread_now = 2;
    EXPECT_ID(next_id(&lanes), start + 9, 0, 104); /* lane 1 */
    clock_to(start + 7);
    CHECK_EQ(sno_tick(next_id(&lanes)), 1); /* its own lane first, on the other tick */
    const sno_snapshot s = snapshot_of(&lanes);
    CHECK(s.wall_hi == start + 9 && s.wall_safe == start + 9);
    CHECK(s.partition == a_partition && s.sequence_min == 100 && s.sequence_max == 110);
    for (size_t n = 1; n <= 5; n += 2) {
        make(s, n);
        CHECK_EQ(draw_all_at(start + 9), 0);
        CHECK_EQ(draw_all_at(start + 8), 0); /* nor on the other tick */
        CHECK_EQ(draw_all_at(start + 10), 11);
    }
    restore(&gen, s); /* without lanes: the lanes may have drawn any number */
    clock_to(start + 9);
    EXPECT_REFUSED(&gen, FLAKE_AGAIN);
    clock_to(start + 10);
    EXPECT_ID(next_id(&gen), start + 10, 0, 100);
}

/* Its draws count for all lanes, and so does its time on the other tick. */
TEST(lanes_from_a_snapshot_of_a_generator_without_lanes) {
    flake_stats stats;
    begin(100, 110);
    clock_to(start + 5);
    draw(14); /* the last ones of start + 6 */
    clock_to(start + 3);
    CHECK_EQ(sno_tick(next_id(&gen)), 1);
    make(snapshot_of(&gen), 3);
    got_n = 0;
    CHECK_EQ(draw_all_at(start + 3), 0);
    CHECK_EQ(draw_all_at(start + 4), 11);
    for (size_t i = 0; i < 11; i++) CHECK_EQ(sno_tick(got[i]), 1);
    CHECK_EQ(draw_all_at(start + 3), 0); /* start + 6 was used on tick 0 */
    flake_stats_get(&lanes.gen, &stats);
    CHECK_EQ(stats.ids, 11);
}

TEST(a_snapshot_taken_at_the_end_of_time_is_accepted) {
    sno_snapshot s = pool_of(100, 110);
    s.wall_hi = units - 1;
    s.sequence = 1000;
    make(s, 3);
    s = snapshot_of(&lanes);
    CHECK(s.wall_hi == units - 1 && s.wall_safe == units - 1);
    make(s, 3);
}
