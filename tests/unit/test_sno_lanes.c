/* SPDX-License-Identifier: MIT
 *
 * Lanes of sno.h on a scripted clock: ticks, pools, partitions and snapshots. test_lanes.c tests which
 * lane a draw takes.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
static unsigned thread_now; /* the drawing thread */
#define FLAKE_LANE() thread_now
#include "scripted_sno.h"

static flake_lane lane_room[8], *array = lane_room;
static sno_gen lanes;

/* Numbers 100 to 110, of lanes with 4, 4 and 3. */
static sno_snapshot eleven(void) { return pool_of(100, 110); }

static void make(const sno_snapshot *s, size_t n) {
    const flake_node node = flake_node_fixed(NULL, a_partition);
    const flake_options o = options_of();
    array = LAST_OF(lane_room, n);
    CHECK_EQ(sno_init(&lanes, node, s, with_lanes(&o, array, n), NULL), FLAKE_OK);
    thread_now = 0;
}

static void begin_lanes(void) {
    begin(0, 10);
    const sno_snapshot s = eleven();
    make(&s, 3);
}

static size_t try_all(void) {
    const size_t n = tried_n(&lanes, a_meta, got + got_n, 100);
    got_n += n;
    return n;
}

TEST(all_numbers_of_a_unit) {
    sno_id id;
    begin_lanes();
    CHECK_EQ(flake_available(&lanes.gen), 11);
    CHECK_ID(next_sno(&lanes, a_meta), start, 0, 100);
    CHECK_EQ(sno_try(&lanes, a_meta, &id), FLAKE_OK);
    CHECK_ID(id, start, 0, 101);
    CHECK_EQ(try_all(), 9);
    for (unsigned i = 0; i < 9; i++) CHECK_ID(got[i], start, 0, 102 + i);
    FAILS(sno_try(&lanes, a_meta, &id), FLAKE_AGAIN, id);
    CHECK_EQ(flake_available(&lanes.gen), 0);
    CHECK_EQ(flake_retry_ns(&lanes.gen), unit_ns);
    const sno_id waited = next_sno(&lanes, a_meta);
    CHECK_EQ(sno_units(waited), start + 1);
    CHECK_EQ(script_now.slept_ns, unit_ns);
}

/* Idle lanes keep the tick, the others change it; a second step back blocks times used twice. */
TEST(a_clock_put_back) {
    flake_stats stats;
    begin_lanes();
    clock_to(start + 9);
    CHECK_EQ(try_all(), 11);
    clock_to(start + 5);
    CHECK_EQ(try_all(), 11);
    for (unsigned i = 11; i < 22; i++) {
        CHECK_EQ(sno_units(got[i]), start + 5);
        CHECK_EQ(sno_tick(got[i]), 1);
    }
    clock_to(start + 2);
    CHECK_EQ(try_all(), 0); /* both ticks are used up to start + 5 */
    clock_to(start + 9);
    CHECK_EQ(try_all(), 11);
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

/* The drawing thread's lane was used at that time with both ticks, the others with one. They are found, even if
 * the sweep has looked at them by the reading before the step. After the sweep its last reading is the last
 * draw's, in the first lane. */
TEST(a_step_back_during_a_sweep_lets_other_lanes_serve) {
    enum { most = 20 };
    flake_status status[most];
    flake_options o = options_of();
    const sno_snapshot s = eleven();
    sno_id id;
    int n = 0;
    o.clock.now_ns = read_and_step_back;
    o.clock.user = &script_now;
    for (back_before = 0; n < most && !back_before; n++) {
        begin(0, 10);
        array = LAST_OF(lane_room, 3);
        back_before = 0;
        CHECK_EQ(sno_init(&lanes, flake_node_fixed(NULL, s.partition), &s, with_lanes(&o, array, 3), NULL), FLAKE_OK);
        thread_now = 0;
        clock_to(start + 9);
        (void)next_sno(&lanes, a_meta);
        clock_to(start + 8);
        CHECK_EQ(sno_tick(next_sno(&lanes, a_meta)), 1);
        clock_to(start + 12);
        CHECK_EQ(try_all(), 11);
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

TEST(a_snapshot_taken_at_the_end_of_time_is_accepted) {
    sno_snapshot s = pool_of(100, 110);
    s.wall_hi = units - 1;
    s.sequence = 1000;
    make(&s, 3);
    CHECK_EQ(sno_snapshot_take(&lanes, &s), FLAKE_OK);
    CHECK(s.wall_hi == units - 1 && s.wall_safe == units - 1);
    make(&s, 3);
}

TEST(a_snapshot_has_both_ticks_of_all_lanes) {
    begin_lanes();
    thread_now = 1;
    CHECK(!sno_is_zero(next_sno(&lanes, a_meta))); /* lane 0, at start */
    clock_to(start + 9);
    thread_now = 2;
    CHECK(!sno_is_zero(next_sno(&lanes, a_meta))); /* lane 1 */
    clock_to(start + 7);
    CHECK_EQ(sno_tick(next_sno(&lanes, a_meta)), 1); /* its own lane first, on the other tick */
    sno_snapshot s;
    CHECK_EQ(sno_snapshot_take(&lanes, &s), FLAKE_OK);
    CHECK_EQ(s.wall_hi, start + 9);
    CHECK_EQ(s.wall_safe, start + 9);
    CHECK_EQ(s.partition, a_partition);
    CHECK_EQ(s.sequence_min, 100);
    CHECK_EQ(s.sequence_max, 110);
    for (size_t n = 1; n <= 5; n += 2) {
        make(&s, n);
        clock_to(start + 9);
        CHECK_EQ(try_all(), 0);
        clock_to(start + 8);
        CHECK_EQ(try_all(), 0); /* nor on the other tick */
        clock_to(start + 10);
        CHECK_EQ(try_all(), 11);
    }
    /* A generator of the same pool: the lanes may have drawn any number. */
    sno_id id;
    const flake_options o = options_of();
    CHECK_EQ(sno_init(&gen, flake_node_fixed(NULL, a_partition), &s, &o, NULL), FLAKE_OK);
    clock_to(start + 9);
    FAILS(sno_try(&gen, a_meta, &id), FLAKE_AGAIN, id);
    clock_to(start + 10);
    CHECK_ID(next_sno(&gen, a_meta), start + 10, 0, 100);
}

/* A generator's past draws count for all its lanes, and so does its time on the other tick. */
TEST(lanes_from_a_generators_snapshot) {
    begin(100, 110);
    clock_to(start + 5);
    for (int i = 0; i < 14; i++) (void)next_sno(&gen, a_meta); /* the last ones of start + 6 */
    clock_to(start + 3);
    const sno_id back = next_sno(&gen, a_meta);
    CHECK_EQ(sno_tick(back), 1);
    const sno_snapshot s = snapshot_of_sno(&gen);
    make(&s, 3);
    CHECK_EQ(try_all(), 0);
    clock_to(start + 4);
    CHECK_EQ(try_all(), 11);
    for (size_t i = 0; i < 11; i++) CHECK_EQ(sno_tick(got[i]), 1);
    clock_to(start + 3);
    CHECK_EQ(try_all(), 0); /* start + 6 was used on tick 0 */
    flake_stats stats;
    flake_stats_get(&lanes.gen, &stats);
    CHECK_EQ(stats.ids, 11);
}

TEST(a_partition_that_nobody_chose) {
    begin(0, 10);
    CHECK_EQ(sno_init(&lanes, flake_node_none(), NULL, with_lanes(NULL, lane_room, 8), NULL),
             FLAKE_OK);
    CHECK_EQ(flake_available(&lanes.gen), whole_pool);
    CHECK_EQ(sno_partition(next_sno(&lanes, a_meta)), sno_gen_partition(&lanes));
}

int main(int argc, char **argv) { return check_main(argc, argv); }
