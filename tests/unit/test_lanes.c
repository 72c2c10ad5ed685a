/* SPDX-License-Identifier: MIT
 *
 * Lanes of flake.h on a scripted machine (// >>lanes): which lane a draw takes, that all of them are one generator, the
 * status when none has an ID, and that a sweep over them ends, whatever clock, gate and other threads do meanwhile.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#define _XOPEN_SOURCE 700

static unsigned thread_now; /* the drawing thread */
static void rob(const volatile void *at);
static void count_look(const volatile void *at);
#define FLAKE_LANE()             thread_now
#define BEFORE_ATOMIC(p, is_cas) (is_cas ? rob(p) : count_look(p))
#define CHECK_OWN_MAIN
#include "scripted_flake.h"
#if !defined(_WIN32)
#include "temporary_dir.h"
#endif

enum { most = 16 };

/* The lanes of `gen`, at the end of an array: sanitizers detect an overrun. */
static flake_lane lane_room[most];
static flake_lane *lanes = lane_room;

static void open_lanes_of(size_t n, flake_node node, flake_options o) {
    thread_now = 0;
    (void)flake_close(&gen, NULL);
    lanes = LAST_OF(lane_room, n);
    CHECK_EQ(flake_init(&gen, node, with_lanes(&o, lanes, n), NULL), FLAKE_OK);
    CHECK_EQ(gen.lanes.n, n);
}

static void open_lanes(size_t n, flake_options o) { open_lanes_of(n, node_in(&o.layout, 0), o); }

/* flake-idgen's layout with so many numbers, from `first` on. */
static flake_options begin_with(uint32_t first, uint32_t numbers) {
    flake_options o = begin(flake_layout_idgen);
    o.seq_min = first;
    o.seq_max = first + numbers - 1;
    return o;
}

/* 11 numbers from 10 on, of lanes with 4, 4 and 3: the lanes begin at 10, 14 and 18. */
static void open_three(void) { open_lanes(3, begin_with(10, 11)); }

static size_t lane_of(uint64_t of) {
    const uint64_t place = parts_of(of).seq - gen.options.seq_min;
    size_t i = 0;
    while (i + 1 < gen.lanes.n && lanes[i + 1].first <= place) i++;
    return i;
}

/* The thread's slot of the map: its lane from 1 on. */
static size_t lane_in_map(unsigned thread) { return gen.lanes.map[thread] / sizeof(flake_lane); }
static void set_lane_in_map(unsigned thread, uint32_t lane) { gen.lanes.map[thread] = lane * sizeof(flake_lane); }

/* These are all of n numbers of a unit, each once. */
static void check_whole_unit(const uint64_t *ids, size_t n, int64_t ms, uint32_t seq_min) {
    uint8_t seen[128] = {0};
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        const flake_parts parts = parts_of(ids[i]);
        wrong += parts.unix_ms != ms || parts.seq < seq_min || parts.seq >= seq_min + n;
        wrong += seen[(parts.seq - seq_min) & 127]++ != 0;
    }
    CHECK_EQ(wrong, 0);
}

/* ---- which lane a draw takes ---- */

TEST(each_thread_keeps_its_lane) {
    open_three();
    for (unsigned round = 0; round < 3; round++)
        for (thread_now = 0; thread_now < 3; thread_now++)
            EXPECT_ID(flake_try(&gen, &id), T, 10 + 4 * thread_now + round);
    thread_now = 256 + 1; /* 8 bits of it count */
    EXPECT_ID(flake_try(&gen, &id), T, 17);
}

TEST(a_thread_that_comes_later_takes_the_next_in_turn) {
    static const uint32_t numbers[] = {10, 14, 18, 11, 15};
    open_three();
    for (unsigned i = 0; i < 5; i++) {
        thread_now = 200 - i;
        EXPECT_ID(flake_try(&gen, &id), T, numbers[i]);
    }
}

TEST(one_thread_can_draw_every_number_of_a_unit) {
    static const size_t counts[] = {1, 2, 3, 8, 16};
    for (size_t c = 0; c < 5; c++) {
        open_lanes(counts[c], begin(flake_layout_js53));
        for (int ms = 0; ms < 3; ms++, move_ns(MS)) {
            size_t n = 0;
            CHECK_EQ(flake_available(&gen), 128);
            while (n < 200 && flake_try(&gen, &many[n]) == FLAKE_OK) n++;
            CHECK_EQ(n, 128);
            check_whole_unit(many, n, T + ms, gen.options.seq_min);
            CHECK_EQ(flake_available(&gen), 0);
            EXPECT_STATUS(flake_try(&gen, &id), FLAKE_AGAIN);
            CHECK_EQ(flake_retry_ns(&gen), MS);
        }
    }
}

TEST(an_exhausted_lane_is_left_for_an_idle_one_first) {
    open_three();
    EXPECT_ID(flake_try(&gen, &id), T, 10);
    thread_now = 1;
    EXPECT_ID(flake_try(&gen, &id), T, 14);
    thread_now = 0;
    for (uint32_t number = 11; number <= 13; number++) EXPECT_ID(flake_try(&gen, &id), T, number);
    EXPECT_ID(flake_try(&gen, &id), T, 18); /* idle in this unit, though another with room is nearer */
    CHECK_EQ(lane_in_map(0), 3);            /* and stays there */
    EXPECT_ID(flake_try(&gen, &id), T, 19);
    EXPECT_ID(flake_try(&gen, &id), T, 20);
    EXPECT_ID(flake_try(&gen, &id), T, 15); /* no idle one is left: any that has room */
    move_ns(MS);
    EXPECT_ID(flake_try(&gen, &id), T + 1, 14);
}

TEST(a_batch_spans_lanes_and_units) {
    open_three();
    CHECK_EQ(flake_next_n(&gen, many, 25), FLAKE_OK);
    check_whole_unit(many, 11, T, 10);
    check_whole_unit(many + 11, 11, T + 1, 10);
    CHECK_EQ(parts_of(many[24]).unix_ms, T + 2);
    CHECK_EQ(stats_now().ids, 25);
    CHECK_EQ(count_duplicates(many, 25), 0);
    CHECK_EQ(got64_n(&gen, many, 100), 8);
    CHECK_EQ(got64_n(&gen, many, 100), 0);
}

TEST(the_newest_id_is_that_of_any_lane) {
    open_three();
    CHECK_EQ(flake_newest_ms(&gen), 1); /* none: the epoch */
    thread_now = 2, move_ns(5 * MS);
    EXPECT_ID(flake_try(&gen, &id), T + 5, 10);
    CHECK_EQ(flake_newest_ms(&gen), T + 5);
    thread_now = 1, move_ns(2 * MS);
    EXPECT_ID(flake_try(&gen, &id), T + 7, 14);
    CHECK_EQ(flake_newest_ms(&gen), T + 7);
    lanes[0].engine.word = lanes[1].engine.word + 4 * 3; /* 13 drawn from 4: three units to come */
    CHECK_EQ(flake_newest_ms(&gen), T + 10);
}

/* ---- a sweep over all lanes, and its readings ---- */

/* One reading serves all lanes, however many are exhausted. */
TEST(a_sweep_reads_the_clock_once) {
    open_lanes(16, begin(flake_layout_js53));
    CHECK_EQ(got64_n(&gen, many, 200), 128);
    move_ns(MS);
    for (int i = 0; i < 8 * 15; i++) CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    script_now.reads = 0;
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK); /* the draw's, its lane's proof, the sweep's */
    CHECK_EQ(script_now.reads, 3);
}

/* A clock that calls `at_reading` in one of its readings: between reading and return, or before the reading. */
static int special_reading;
static bool acts_before;
static void (*at_reading)(void);
static int64_t read_beside_others(void *user) {
    script *s = (script *)user;
    const int64_t now_ns = s->now_ns;
    if (++s->reads == special_reading) at_reading();
    return acts_before ? s->now_ns : now_ns;
}

/* Three lanes of two numbers each. */
static void open_beside_others(bool before, void (*act)(void)) {
    flake_options o = begin_with(0, 6);
    o.clock.now_ns = read_beside_others;
    special_reading = 0;
    acts_before = before;
    at_reading = act;
    open_lanes(3, o);
}

static void draw_others(unsigned first_thread, unsigned last_thread, uint32_t numbers) {
    const unsigned me = thread_now;
    move_ns(MS);
    for (thread_now = first_thread; thread_now <= last_thread; thread_now++)
        for (uint32_t i = 0; i < numbers; i++) {
            uint64_t others;
            CHECK_EQ(flake_try(&gen, &others), FLAKE_OK);
            CHECK_EQ(parts_of(others).unix_ms, T + 1);
        }
    thread_now = me;
}

static void others_begin_the_next_unit(void) { draw_others(1, 2, 1); }
static void another_exhausts_my_lane(void) { draw_others(0, 0, 2); }

/* A thread that was slow after its reading: all words are in a later unit. */
TEST(a_reading_that_is_old_is_taken_again) {
    open_beside_others(false, others_begin_the_next_unit);
    for (thread_now = 0; thread_now < 3; thread_now++)
        for (int i = 0; i < 2; i++) CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    thread_now = 0;
    CHECK_EQ(flake_try(&gen, &id), FLAKE_AGAIN);
    script_now.reads = 0;
    special_reading = 3; /* the sweep's */
    EXPECT_ID(flake_try(&gen, &id), T + 1, 0);
    CHECK_EQ(stats_now().clock_backwards, 0);
}

TEST(a_unit_that_begins_during_a_sweep_is_looked_for_in_all_lanes) {
    open_beside_others(true, another_exhausts_my_lane);
    CHECK_EQ(got64_n(&gen, many, 7), 6);
    set_lane_in_map(0, 1);
    script_now.reads = 0;
    special_reading = 4; /* the sweep's last */
    EXPECT_ID(flake_try(&gen, &id), T + 1, 2);
}

/* What a draw tolerates in its lane, a sweep tolerates in the others. */
TEST(a_sweep_rides_out_what_a_coarse_clock_lags) {
    flake_options o = begin_with(10, 6);
    o.clock.now_ns = NULL;
    o.clock.kind = FLAKE_CLOCK_COARSE;
    script_now.coarse_slack_ns = 8 * MS;
    open_lanes(2, o);
    for (unsigned i = 0; i < 3; i++) EXPECT_ID(flake_try(&gen, &id), T, 10 + i);
    thread_now = 1;
    move_ns(2 * MS);
    EXPECT_ID(flake_try(&gen, &id), T + 2, 13);
    thread_now = 0;
    move_ns(-2 * MS);
    EXPECT_ID(flake_try(&gen, &id), T + 2, 14);
}

/* ---- a lane whose CAS failed ---- */

/* Another thread draws from this lane, between the drawing thread's load and its CAS. */
static size_t robbed;
static int robberies;
static bool robs_ahead; /* each lane, of all tickets up to three units ahead */

static void rob(const volatile void *at) {
    for (size_t i = 0; i < gen.lanes.n && robberies; i++) {
        flake_i_engine *const e = &lanes[i].engine;
        if (at != &e->word || (!robs_ahead && i != robbed)) continue;
        robberies--;
        if (robs_ahead) e->word = flake_i_word_at(e, (uint64_t)(script_now.now_ns / MS) + 3, 0) + e->unit_capacity;
        else e->word += 1;
    }
}

static void rob_lane(size_t lane, int times) {
    robbed = lane;
    robberies = times;
}

TEST(a_draw_that_is_outrun_steps_to_another_lane) {
    open_three();
    EXPECT_ID(flake_try(&gen, &id), T, 10);
    rob_lane(0, 1);
    EXPECT_ID(flake_try(&gen, &id), T, 14); /* 11 is the other's */
    CHECK_EQ(robberies, 0);
    CHECK_EQ(lane_in_map(0), 2);
    EXPECT_ID(flake_try(&gen, &id), T, 15);
    rob_lane(1, 1);
    EXPECT_ID(flake_next(&gen, &id), T, 18);
    EXPECT_ID(flake_try(&gen, &id), T, 19);
}

TEST(a_draw_that_is_outrun_steps_to_the_next_lane_if_it_can_serve_though_another_is_idle) {
    open_three();
    for (thread_now = 1; thread_now <= 2; thread_now++)
        EXPECT_ID(flake_try(&gen, &id), T, 6 + 4 * thread_now);
    set_lane_in_map(0, 1);
    gen.lanes.turn = 1;
    thread_now = 0;
    rob_lane(0, 1);
    EXPECT_ID(flake_try(&gen, &id), T, 15);
}

TEST(a_draw_that_is_outrun_as_the_first_of_a_unit_stays_in_its_lane) {
    open_three();
    EXPECT_ID(flake_try(&gen, &id), T, 10);
    move_ns(MS);
    rob_lane(0, 1);
    EXPECT_ID(flake_try(&gen, &id), T + 1, 10);
    CHECK_EQ(robberies, 0);
    CHECK_EQ(lane_in_map(0), 1);
}

/* Another thread takes its last number after the load: the next lane that has one is tried. */
TEST(a_lane_that_is_drained_meanwhile_is_passed_over) {
    static const unsigned drawn[] = {4, 3, 1};
    open_three();
    for (thread_now = 0; thread_now < 3; thread_now++)
        for (unsigned i = 0; i < drawn[thread_now]; i++) EXPECT_ID(flake_try(&gen, &id), T, 10 + 4 * thread_now + i);
    thread_now = 0;
    rob_lane(1, 1);
    EXPECT_ID(flake_try(&gen, &id), T, 19);
    CHECK_EQ(robberies, 0);
}

TEST(the_only_lane_is_tried_again) {
    open_lanes(1, begin(flake_layout_idgen));
    EXPECT_ID(flake_try(&gen, &id), T, 0);
    rob_lane(0, 2);
    EXPECT_ID(flake_try(&gen, &id), T, 3);
}

TEST(step_goes_to_another_lane) {
    open_three();
    uint32_t at = flake_i_lanes_step(&gen.lanes, 5, 0);
    for (int i = 0; i < 20; i++) {
        const uint32_t to = flake_i_lanes_step(&gen.lanes, 5, at);
        CHECK(to != at && to >= 1 && to <= 3);
        CHECK_EQ(lane_in_map(5), to);
        at = to;
        if (i % 3 == 0) gen.lanes.turn = at - 1; /* the next in turn would be the same */
    }
    open_lanes(1, begin_with(10, 11));
    CHECK_EQ(flake_i_lanes_step(&gen.lanes, 5, 1), 1);
}

/* ---- no lane has an ID ---- */

TEST(a_waiting_call_waits_in_the_lane_that_served_last) {
    open_three();
    for (int i = 0; i < 11; i++) CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(script_now.sleeps, 0);
    EXPECT_ID(flake_next(&gen, &id), T + 1, 18);
    CHECK_EQ(script_now.slept_ns, MS);
    CHECK_EQ(stats_now().waits, 1);
}

TEST(a_waiting_call_waits_not_where_the_queue_is_longer) {
    open_three();
    lanes[0].engine.word += 4 * 3;
    lanes[1].engine.word += 4 * 2;
    for (int i = 0; i < 11; i++) (void)!flake_try(&gen, &id);
    lanes[0].engine.word += 4 * 3;
    lanes[2].engine.word += 3 * 3;
    thread_now = 0;
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(lane_of(id), 1);
}

TEST(a_wait_has_its_limit) {
    flake_options o = begin_with(0, 3);
    o.max_wait_ms = 5;
    o.layout.unit_ms = 10;
    open_lanes(3, o);
    for (int i = 0; i < 3; i++) CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    EXPECT_STATUS(flake_next(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(script_now.sleeps, 0);
    CHECK_EQ(flake_retry_ns(&gen), 10 * MS);
    move_ns(5 * MS);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK); /* all of max_wait is for the last lane */
}

TEST(retry_ns_and_available_ask_all_lanes) {
    open_three();
    for (int i = 0; i < 11; i++) CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    lanes[0].engine.word += 4 * 3;
    lanes[1].engine.word += 4;
    lanes[2].engine.word += 3 * 2;
    CHECK_EQ(flake_retry_ns(&gen), 2 * MS);
    CHECK_EQ(flake_available(&gen), 0);
    move_ns(2 * MS);
    CHECK_EQ(flake_retry_ns(&gen), 0);
    CHECK_EQ(flake_available(&gen), 4);
    move_ns(MS);
    CHECK_EQ(flake_available(&gen), 4 + 3);
}

TEST(after_a_backward_step_lanes_that_are_not_ahead_of_the_clock_continue) {
    open_three();
    move_ns(10 * MS);
    EXPECT_ID(flake_try(&gen, &id), T + 10, 10);
    move_ns(-5 * MS);
    EXPECT_ID(flake_try(&gen, &id), T + 5, 14); /* its lane is ahead, the next one is not */
    CHECK_EQ(stats_now().clock_backwards, 0);
    for (int i = 0; i < 6; i++) CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK_EQ(lane_of(id), 2);
    move_ns(-2 * MS); /* no lane is left */
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_CLOCK_BACKWARDS);
    CHECK_EQ(stats_now().clock_backwards, 1);
    CHECK_EQ(flake_retry_ns(&gen), 3 * MS); /* the lanes of T + 5 are exhausted */
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(parts_of(id).unix_ms, T + 6);
}

/* ---- a gate, and sweeps that end ---- */

/* Loads of the lanes' words: twice each, and the first and the last of a try. */
static unsigned looks;
static void count_look(const volatile void *at) {
    for (size_t i = 0; i < gen.lanes.n; i++) looks += at == &lanes[i].engine.word;
}
static unsigned most_looks(void) { return (unsigned)gen.lanes.n * 2 + 2; }

/* The clock moves by so much with each reading, and so do a gate's questions. */
static int64_t step_ns;
static int64_t stepping_read(void *user) {
    move_ns(step_ns);
    return script_read(user);
}

/* A gate that may take a unit to refuse. It admits at last, so that no call is endless. */
enum { PATIENCE = 1000 };
static int gate_calls;
static int64_t admits_until_ns;
static flake_status refusal;
static flake_status admit(void *user, int64_t until_ns) {
    (void)user;
    gate_calls++;
    move_ns(step_ns);
    return until_ns <= admits_until_ns || gate_calls > PATIENCE ? FLAKE_OK : refusal;
}

static void open_with_gate(size_t n, const flake_gate *gate, flake_options o) {
    admits_until_ns = INT64_MAX;
    refusal = FLAKE_AGAIN;
    step_ns = 0;
    open_lanes_of(n, flake_node_gated(gate, 2), o);
    gate_calls = 0;
    looks = 0;
}

static void open_with_slow_gate(size_t n, int64_t max_ahead_ms) {
    static const flake_gate gate = {.admit = admit};
    flake_options o = begin_with(0, (uint32_t)n * 2);
    o.max_wait_ms = 10;
    o.max_ahead_ms = max_ahead_ms;
    open_with_gate(n, &gate, o);
}

TEST(a_gate_that_refuses_slowly_is_asked_twice) {
    for (size_t n = 1; n <= most; n *= 2) {
        open_with_slow_gate(n, 0);
        for (int draws = 0; draws < 4; draws++) { /* refused at first; two in turns; in a lane that is exhausted */
            const bool admits = draws == 1 || draws == 2;
            admits_until_ns = admits ? INT64_MAX : 0;
            step_ns = admits ? 0 : MS;
            gate_calls = 0;
            looks = 0;
            CHECK_EQ(flake_try(&gen, &id), admits ? FLAKE_OK : FLAKE_AGAIN);
            CHECK(draws ? gate_calls <= 2 : gate_calls == 2);
            CHECK(looks <= most_looks());
            CHECK_EQ(script_now.sleeps, 0);
        }
    }
}

TEST(a_gate_that_admits_an_earlier_unit_lets_another_lane_serve) {
    open_with_slow_gate(3, 2);
    for (int i = 0; i < 4; i++) CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK_EQ(parts_of(id).unix_ms, T + 1);
    admits_until_ns = (T + 1) * MS - 1;
    for (int i = 0; i < 4; i++) { /* two of each other lane */
        gate_calls = 0;
        set_lane_in_map(0, 1);
        CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
        CHECK_EQ(parts_of(id).unix_ms, T);
        CHECK_EQ(gate_calls, 2);
    }
    gate_calls = 0;
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(gate_calls, 2);
}

TEST(a_waiting_call_waits_for_a_gate_within_its_limit) {
    open_with_slow_gate(8, 0);
    admits_until_ns = 0;
    EXPECT_STATUS(flake_next(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(script_now.slept_ns, 10 * MS);
    gate_calls = PATIENCE - 5;
    script_now.slept_ns = 0;
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(script_now.slept_ns, 4 * MS);
}

static void open_stepping(flake_node node, flake_options o) {
    o.seq_max = 2 * most - 1;
    o.clock.now_ns = stepping_read;
    step_ns = 0;
    open_lanes_of(most, node, o);
}

/* Each reading is of another unit, and all lanes are ahead of it. */
TEST(a_slow_sweep_after_a_backward_step_ends) {
    open_stepping(flake_node_fixed(NULL, 0), begin(flake_layout_idgen));
    move_ns(PATIENCE * MS);
    CHECK_EQ(got64_n(&gen, many, 100), 2 * most);
    move_ns(-PATIENCE * MS);
    looks = 0;
    step_ns = MS;
    CHECK_EQ(flake_try(&gen, &id), FLAKE_CLOCK_BACKWARDS);
    CHECK(looks <= most_looks());
    CHECK(script_now.now_ns < (T + 10) * MS);
}

/* Each lane has a ticket at each look, and another thread draws it. */
TEST(a_sweep_that_is_outrun_in_each_lane_ends) {
    open_stepping(flake_node_fixed(NULL, 0), begin(flake_layout_idgen));
    step_ns = 2 * MS;
    robs_ahead = true;
    robberies = PATIENCE;
    looks = 0;
    CHECK_EQ(flake_try(&gen, &id), FLAKE_CLOCK_BACKWARDS);
    CHECK(robberies < PATIENCE - most); /* also in the second looks */
    CHECK(looks <= most_looks());
    robs_ahead = false;
    robberies = 0;
}

static int64_t floor_of_3_ms(void *user) { return (void)user, (T + 3) * MS; }

TEST(a_gates_answer_is_for_all_lanes) {
    const flake_gate gate = {.admit = admit, .not_before_ns = floor_of_3_ms};
    open_with_gate(3, &gate, begin_with(0, 6));
    EXPECT_ID(flake_next(&gen, &id), T + 4, 0); /* after its floor */
    EXPECT_ID(flake_try(&gen, &id), T + 4, 1);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    admits_until_ns = 0;
    refusal = FLAKE_LEASE_LOST;
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK); /* this lane has asked for this unit */
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_LEASE_LOST);
    refusal = FLAKE_AGAIN;
    gate_calls = 0;
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(gate_calls, 2); /* a refusal is of all lanes; the last one asks once more */
    admits_until_ns = INT64_MAX;
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
}

static flake_atomic64 closing;
static int64_t closing_floor(void *user) {
    (void)user;
    closing = 0;
    return 0;
}

/* The gate closes behind the whole, before the lanes, of which others have drawn: they are the new options', and
 * closed. */
TEST(a_gate_that_closes_during_init_closes_all_lanes) {
    flake_gate gate = {admit, closing_floor, NULL, &closing};
    const flake_options o = begin(flake_layout_idgen);
    open_lanes(2, o);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    closing = 7;
    open_with_gate(3, &gate, o);
    for (thread_now = 0; thread_now < 3; thread_now++) EXPECT_STATUS(flake_try(&gen, &id), FLAKE_LEASE_LOST);
    CHECK_EQ(flake_available(&gen), 0);
    gate.not_before_ns = NULL;
    (void)flake_close(&gen, NULL);
    CHECK_EQ(flake_init(&gen, flake_node_gated(&gate, 2), with_lanes(&o, lanes, 3), NULL), FLAKE_LEASE_LOST);
    closing = 7;
    open_with_gate(3, &gate, o);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    closing = 0;
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_LEASE_LOST);
    EXPECT_STATUS(flake_next(&gen, &id), FLAKE_LEASE_LOST);
}

/* ---- a directory ---- */

#if !defined(_WIN32)
/* Each reading is of another unit. */
TEST(a_horizon_that_is_not_extended_ends_each_call) {
    flake_options o = begin(flake_layout_idgen);
    o.no_wait = o.manual_extend = true;
    o.max_wait_ms = 20;
    open_stepping(flake_node_fixed(in_folder("late"), 1), o);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    move_ns(4000 * MS);
    step_ns = MS;
    looks = 0;
    FAILS(flake_try(&gen, &id), FLAKE_NOT_EXTENDED, id);
    CHECK(looks <= most_looks());
    CHECK_EQ(script_now.sleeps, 0);
    looks = 0;
    FAILS(flake_next(&gen, &id), FLAKE_NOT_EXTENDED, id);
    CHECK(looks <= most_looks());
    CHECK_EQ(script_now.slept_ns, 20 * MS);
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
}

#endif

/* ---- 128 bits ---- */

TEST(lanes_of_128_bits_are_one_generator_and_boundary_waits_for_no_clock) {
    flake128 ids[64];
    flake_options o = begin(flake_layout_boundary);
    const flake_node node = flake_node_fixed(NULL, 77);
    o.seq_min = 100;
    o.seq_max = 110;
    open_lanes_of(3, node, o);
    CHECK_EQ(flake128_try(&gen, &ids[0]), FLAKE_OK);
    CHECK_EQ(flake128_next(&gen, &ids[1]), FLAKE_OK);
    CHECK_EQ(got128_n(&gen, ids + 2, 40), 9);
    for (uint32_t i = 0; i < 11; i++) {
        flake_parts p = {0, 0, 0};
        CHECK_EQ(flake128_decompose(&o.layout, &ids[i], &p), FLAKE_OK);
        CHECK(p.unix_ms == T && p.node == 77 && p.seq == 100 + i);
    }
    CHECK_EQ(flake128_next_n(&gen, ids, 12), FLAKE_OK);
    CHECK(stats_now().ids == 23 && stats_now().waits == 2);
    o.after_unix_ms = flake_newest_ms(&gen);
    CHECK_EQ(o.after_unix_ms, T + 2);
    open_lanes_of(2, node, o);
    CHECK_EQ(flake128_try(&gen, ids), FLAKE_AGAIN);
    move_ns(MS);
    CHECK_EQ(got128_n(&gen, ids, 64), 11);
    move_ns(10 * MS);
    CHECK_EQ(flake128_try(&gen, ids), FLAKE_OK);
    move_ns(-2 * MS); /* before the newest ID; the other lane could serve */
    script_now.sleeps = 0;
    FAILS(flake128_try(&gen, ids), FLAKE_CLOCK_BACKWARDS, ids[0]);
    FAILS(flake128_next(&gen, ids), FLAKE_CLOCK_BACKWARDS, ids[0]);
    FAILS(flake128_next_n(&gen, ids, 64), FLAKE_CLOCK_BACKWARDS, ids);
    CHECK_EQ(script_now.sleeps, 0);
    CHECK_EQ(stats_now().clock_backwards, 3);
}

int main(int argc, char **argv) {
#if defined(_WIN32)
    return check_main(argc, argv);
#else
    begin_folder();
    const int status = check_main(argc, argv);
    end_folder();
    return status;
#endif
}
