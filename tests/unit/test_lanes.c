/* SPDX-License-Identifier: MIT
 *
 * Lanes of flake.h on a scripted clock: which lane a draw takes, that all of them are one generator,
 * and the status when none has an ID.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#define _XOPEN_SOURCE 700

static unsigned thread_now; /* the drawing thread */
static void rob(const volatile void *at);
static void count_look(const volatile void *at);
#define FLAKE_LANE()             thread_now
#define BEFORE_ATOMIC(p, is_cas) (is_cas ? rob(p) : count_look(p))
#include "scripted_flake.h"
#if !defined(_WIN32)
#include "children.h"
#include "temporary_dir.h"
#endif

enum { most = 16 };

static flake_lane lane_room[most];
static flake_lane *array = LAST_OF(lane_room, 3);

static void open_lanes(size_t n) {
    thread_now = 0;
    (void)flake_close(&gen, NULL);
    array = LAST_OF(lane_room, n);
    CHECK_EQ(flake_init(&gen, gens_node, with_lanes(&options, array, n), NULL), FLAKE_OK);
    CHECK_EQ(gen.lanes.n, n);
}

/* flake-idgen's layout with 11 numbers from 10 on, of lanes with 4, 4 and 3. */
static void open_three(void) {
    begin(flake_layout_idgen);
    options.seq_min = 10;
    options.seq_max = 20;
    open_lanes(3);
}

static size_t lane_of(uint64_t of) {
    const uint64_t place = parts_of(&gen, of).seq - gen.options.seq_min;
    size_t i = 0;
    while (i + 1 < gen.lanes.n && array[i + 1].first <= place) i++;
    return i;
}

/* ---- which lane a draw takes ---- */

TEST(one_thread_has_every_number_of_a_unit) {
    static const size_t counts[] = {1, 2, 3, 8, 16};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        begin(flake_layout_js53);
        open_lanes(counts[c]);
        for (int ms = 0; ms < 3; ms++) {
            size_t n = 0;
            CHECK_EQ(flake_available(&gen), 128);
            while (n < 200 && flake_try(&gen, &many[n]) == FLAKE_OK) n++;
            CHECK_EQ(n, 128);
            check_whole_unit(many, n, T + ms, gen.options.seq_min);
            CHECK_EQ(flake_available(&gen), 0);
            TRY_SAYS(FLAKE_AGAIN);
            CHECK_EQ(flake_retry_ns(&gen), MS);
            move_ns(MS);
        }
    }
}

TEST(each_thread_keeps_its_lane) {
    open_three();
    for (unsigned round = 0; round < 3; round++)
        for (thread_now = 0; thread_now < 3; thread_now++) TRY(T, 10 + 4 * thread_now + round);
    thread_now = 256 + 1; /* 8 bits of it count */
    TRY(T, 17);
}

TEST(a_thread_that_comes_later_takes_the_next_in_turn) {
    open_three();
    static const uint32_t numbers[] = {10, 14, 18, 11, 15};
    for (unsigned i = 0; i < 5; i++) {
        thread_now = 200 - i;
        TRY(T, numbers[i]);
    }
}

/* Its own lane is exhausted: first those idle in this unit, though another with room is nearer. */
TEST(a_spent_lane_leaves_for_an_idle_one) {
    open_three();
    thread_now = 0;
    TRY(T, 10);
    thread_now = 1;
    TRY(T, 14);
    thread_now = 0;
    for (uint32_t number = 11; number <= 13; number++) TRY(T, number);
    TRY(T, 18);
    CHECK_EQ(gen.lanes.map[0], 3 * sizeof(flake_lane)); /* and stays there */
    TRY(T, 19);
    TRY(T, 20);
    TRY(T, 15); /* no idle one is left: any that has room */
    move_ns(MS);
    TRY(T + 1, 14);
}

/* One reading serves all lanes, however many are exhausted. */
TEST(a_sweep_reads_the_clock_once) {
    begin(flake_layout_js53);
    open_lanes(16);
    CHECK_EQ(got64_n(&gen, many, 200), 128);
    move_ns(MS);
    for (int i = 0; i < 8 * 15; i++) CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    script_now.reads = 0;
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK); /* the draw's, its lane's proof, the sweep's */
    CHECK_EQ(script_now.reads, 3);
}

/* A thread that was slow after its reading: all words are in a later unit. */
static int64_t slow_at_read, slow_by_ns;
static int64_t slow_read(void *user) {
    script *s = (script *)user;
    const int64_t now_ns = s->now_ns;
    if (++s->reads != slow_at_read) return now_ns;
    s->now_ns += slow_by_ns;
    const unsigned me = thread_now;
    options.clock.now_ns = NULL;
    for (thread_now = 1; thread_now < 3; thread_now++) {
        uint64_t ignored;
        CHECK_EQ(flake_try(&gen, &ignored), FLAKE_OK);
        CHECK_EQ(parts_of(&gen, ignored).unix_ms, T + 1);
    }
    thread_now = me;
    return now_ns;
}

TEST(a_reading_that_is_old_is_taken_again) {
    begin(flake_layout_idgen);
    options.seq_max = 5;
    options.clock.now_ns = slow_read;
    slow_at_read = 0;
    slow_by_ns = MS;
    open_lanes(3);
    for (thread_now = 0; thread_now < 3; thread_now++)
        for (int i = 0; i < 2; i++) CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    thread_now = 0;
    CHECK_EQ(flake_try(&gen, &id), FLAKE_AGAIN);
    script_now.reads = 0;
    slow_at_read = 3; /* the sweep's */
    TRY(T + 1, 0);
    CHECK_EQ(stats_now().clock_backwards, 0);
}

/* A unit begins at this reading, and another thread exhausts the first lane. */
static int64_t read_as_a_unit_begins(void *user) {
    script *s = (script *)user;
    if (++s->reads != slow_at_read) return s->now_ns;
    s->now_ns += MS;
    for (uint32_t number = 0; number < 2; number++) {
        uint64_t others;
        CHECK_EQ(flake_try(&gen, &others), FLAKE_OK);
        CHECK_PLACE(others, T + 1, number);
    }
    return s->now_ns;
}

TEST(a_unit_that_begins_during_a_sweep_is_looked_for_in_all_lanes) {
    begin(flake_layout_idgen);
    options.seq_max = 5;
    options.clock.now_ns = read_as_a_unit_begins;
    slow_at_read = 0;
    open_lanes(3);
    CHECK_EQ(got64_n(&gen, many, 7), 6);
    gen.lanes.map[0] = sizeof(flake_lane); /* the first lane again */
    script_now.reads = 0;
    slow_at_read = 4; /* the sweep's last */
    TRY(T + 1, 2);
}

/* ---- a lane whose CAS failed ---- */

/* Another thread draws from this lane, between the drawing thread's load and its CAS. */
static size_t robbed;
static int robberies;
static bool robs_ahead; /* each lane, of all tickets up to three units ahead */
static void rob(const volatile void *at) {
    for (size_t i = 0; robs_ahead && i < gen.lanes.n && robberies; i++) {
        flake_i_engine *const e = &array[i].engine;
        if (at != &e->word) continue;
        robberies--;
        e->word = flake_i_word_at(e, (uint64_t)(script_now.now_ns / MS) + 3, 0) + e->unit_capacity;
    }
    if (robs_ahead) return;
    flake_atomic64 *const word = &array[robbed].engine.word;
    if (at != word || !robberies) return;
    robberies--;
    *word += 1;
}

TEST(a_draw_that_is_outrun_steps_to_another_lane) {
    open_three();
    TRY(T, 10);
    robbed = 0;
    robberies = 1;
    TRY(T, 14); /* 11 is the other's */
    CHECK_EQ(robberies, 0);
    CHECK_EQ(gen.lanes.map[0], 2 * sizeof(flake_lane));
    TRY(T, 15);
    robbed = 1;
    robberies = 1;
    GIVES(flake_next(&gen, &id), T, 18);
    TRY(T, 19);

    /* the next lane serves if it can, though another is idle */
    open_three();
    thread_now = 1;
    TRY(T, 10);
    thread_now = 2;
    TRY(T, 14);
    gen.lanes.map[0] = sizeof(flake_lane);
    gen.lanes.turn = 1;
    thread_now = 0;
    robbed = 0;
    robberies = 1;
    TRY(T, 15);

    /* in the first draw of a unit it stays */
    open_three();
    TRY(T, 10);
    move_ns(MS);
    robbed = 0;
    robberies = 1;
    TRY(T + 1, 10);
    CHECK_EQ(robberies, 0);
    CHECK_EQ(gen.lanes.map[0], sizeof(flake_lane));
}

/* Another thread takes its last number after the load: the next lane that has one is tried. */
TEST(a_lane_that_is_drained_meanwhile) {
    static const unsigned drawn[] = {4, 3, 1};
    open_three();
    for (thread_now = 0; thread_now < 3; thread_now++)
        for (unsigned i = 0; i < drawn[thread_now]; i++) TRY(T, 10 + 4 * thread_now + i);
    thread_now = 0;
    robbed = 1;
    robberies = 1;
    TRY(T, 19);
    CHECK_EQ(robberies, 0);
}

TEST(the_only_lane_is_tried_again) {
    begin(flake_layout_idgen);
    open_lanes(1);
    TRY(T, 0);
    robbed = 0;
    robberies = 2;
    TRY(T, 3);
}

TEST(step_goes_to_another_lane) {
    open_three();
    uint32_t at = flake_i_lanes_step(&gen.lanes, 5, 0);
    for (int i = 0; i < 20; i++) {
        const uint32_t to = flake_i_lanes_step(&gen.lanes, 5, at);
        CHECK(to != at && to >= 1 && to <= 3);
        CHECK_EQ(gen.lanes.map[5], to * sizeof(flake_lane));
        at = to;
        if (i % 3 == 0) gen.lanes.turn = at - 1; /* the next in turn would be the same */
    }
    open_lanes(1);
    CHECK_EQ(flake_i_lanes_step(&gen.lanes, 5, 1), 1);
}

/* ---- no lane has an ID ---- */

TEST(a_waiting_call_waits_where_a_place_comes_first) {
    open_three();
    for (int i = 0; i < 11; i++) CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(script_now.sleeps, 0);
    GIVES(flake_next(&gen, &id), T + 1, 18); /* the last lane that served */
    CHECK_EQ(script_now.slept_ns, MS);
    CHECK_EQ(stats_now().waits, 1);

    /* two lanes with longer queues are not waited in */
    open_three();
    array[0].engine.word += 4 * 3;
    array[1].engine.word += 4 * 2;
    for (int i = 0; i < 11; i++) (void)!flake_try(&gen, &id);
    array[0].engine.word += 4 * 3;
    array[2].engine.word += 3 * 3;
    thread_now = 0;
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(lane_of(id), 1);
}

TEST(a_wait_has_its_limit) {
    begin(flake_layout_idgen);
    options.seq_max = 2;
    options.max_wait_ms = 5;
    options.layout.unit_ms = 10;
    open_lanes(3);
    for (int i = 0; i < 3; i++) CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    SAYS(FLAKE_AGAIN, flake_next(&gen, &id));
    CHECK_EQ(script_now.sleeps, 0);
    CHECK_EQ(flake_retry_ns(&gen), 10 * MS);
    move_ns(5 * MS);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK); /* all of max_wait is for the last lane */
}

TEST(retry_is_the_least) {
    open_three();
    for (int i = 0; i < 11; i++) CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    array[0].engine.word += 4 * 3;
    array[1].engine.word += 4;
    array[2].engine.word += 3 * 2;
    CHECK_EQ(flake_retry_ns(&gen), 2 * MS);
    CHECK_EQ(flake_available(&gen), 0);
    move_ns(2 * MS);
    CHECK_EQ(flake_retry_ns(&gen), 0);
    CHECK_EQ(flake_available(&gen), 4);
    move_ns(MS);
    CHECK_EQ(flake_available(&gen), 4 + 3);
}

/* Each lane decides for itself: those that the clock has not left behind continue. */
TEST(a_clock_put_back) {
    open_three();
    move_ns(10 * MS);
    thread_now = 0;
    TRY(T + 10, 10);
    move_ns(-5 * MS);
    TRY(T + 5, 14); /* its lane is ahead, the next one is not */
    CHECK_EQ(stats_now().clock_backwards, 0);
    for (int i = 0; i < 6; i++) CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK_EQ(lane_of(id), 2);
    move_ns(-2 * MS); /* after all */
    TRY_SAYS(FLAKE_CLOCK_BACKWARDS);
    CHECK_EQ(stats_now().clock_backwards, 1);
    CHECK_EQ(flake_retry_ns(&gen), 3 * MS); /* the lanes of T + 5 are exhausted */
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(parts_of(&gen, id).unix_ms, T + 6);
}

TEST(boundary_is_told_of_a_backward_step_at_once) {
    flake128 wide;
    begin(flake_layout_boundary);
    open_lanes(3);
    CHECK_EQ(flake128_try(&gen, &wide), FLAKE_OK);
    move_ns(-MS);
    FAILS(flake128_try(&gen, &wide), FLAKE_CLOCK_BACKWARDS, wide);
    FAILS(flake128_next(&gen, &wide), FLAKE_CLOCK_BACKWARDS, wide);
    CHECK_EQ(script_now.sleeps, 0);
    CHECK_EQ(stats_now().clock_backwards, 2);
}

TEST(the_last_unit_is_drawn_to_the_end) {
    begin_short_era(); /* numbers 1 to 3 */
    open_lanes(2);
    move_to_ms(T + 1023000);
    for (uint32_t number = 1; number <= 3; number++) TRY(T + 1023000, number);
    TRY_SAYS(FLAKE_TIME_RANGE);
    SAYS(FLAKE_TIME_RANGE, flake_next(&gen, &id));
    CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
    open_lanes(2);
    move_to_ms(T - 1);
    TRY_SAYS(FLAKE_TIME_RANGE);
    CHECK_EQ(flake_retry_ns(&gen), MS);
}

static flake_status gate_says;
static int gate_calls;
static flake_status gate_ask(void *user, int64_t until_ns) {
    (void)user;
    (void)until_ns;
    gate_calls++;
    return gate_says;
}
static int64_t gate_floor(void *user) {
    (void)user;
    return (T + 3) * MS;
}

/* Loads of the lanes' words. */
static unsigned looks;
static void count_look(const volatile void *at) {
    for (size_t i = 0; i < gen.lanes.n; i++) looks += at == &array[i].engine.word;
}

/* Twice each, and the first and the last of a try. */
static unsigned most_looks(void) { return (unsigned)gen.lanes.n * 2 + 2; }

/* The clock moves by so much with each reading, and so do a gate's questions. */
static int64_t step_ns;
static int64_t stepping_read(void *user) {
    script *s = (script *)user;
    s->now_ns += step_ns;
    return script_read(s);
}

/* A gate that takes a unit to say "not yet". It admits at last, so that no call is endless. */
enum { PATIENCE = 1000 };
static int64_t admits_until_ns;
static flake_status gate_slow(void *user, int64_t until_ns) {
    (void)user;
    gate_calls++;
    move_ns(step_ns);
    return until_ns <= admits_until_ns || gate_calls > PATIENCE ? FLAKE_OK : FLAKE_AGAIN;
}

static const flake_gate slow_gate = {.admit = gate_slow};

static void open_with_slow_gate(size_t n) {
    begin(flake_layout_idgen);
    options.seq_max = (uint32_t)n * 2 - 1;
    options.max_wait_ms = 10;
    gens_node = flake_node_gated(&slow_gate, 0);
    admits_until_ns = INT64_MAX;
    step_ns = 0;
    open_lanes(n);
    gate_calls = 0;
    looks = 0;
}

TEST(a_gate_that_refuses_slowly_is_asked_twice) {
    for (size_t n = 1; n <= most; n *= 2) {
        open_with_slow_gate(n);
        step_ns = MS;
        admits_until_ns = 0;
        CHECK_EQ(flake_try(&gen, &id), FLAKE_AGAIN);
        CHECK_EQ(gate_calls, 2);
        CHECK(looks <= most_looks());
        CHECK_EQ(script_now.sleeps, 0);
        for (int draws = 0; draws < 3; draws++) { /* in turns, the last of them in a lane that is spent */
            admits_until_ns = draws < 2 ? INT64_MAX : 0;
            step_ns = draws < 2 ? 0 : MS;
            gate_calls = 0;
            looks = 0;
            CHECK_EQ(flake_try(&gen, &id), draws < 2 ? FLAKE_OK : FLAKE_AGAIN);
            CHECK(gate_calls <= 2);
            CHECK(looks <= most_looks());
        }
    }
}

TEST(a_gate_that_admits_an_earlier_unit_lets_another_lane_serve) {
    begin(flake_layout_idgen);
    options.seq_max = 5;
    options.max_ahead_ms = 2;
    gens_node = flake_node_gated(&slow_gate, 0);
    admits_until_ns = INT64_MAX;
    step_ns = 0;
    open_lanes(3);
    for (int i = 0; i < 4; i++) CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK_EQ(parts_of(&gen, id).unix_ms, T + 1);
    admits_until_ns = (T + 1) * MS - 1;
    for (int i = 0; i < 4; i++) { /* two of each other lane */
        gate_calls = 0;
        thread_now = 0;
        gen.lanes.map[0] = sizeof(flake_lane);
        CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
        CHECK_EQ(parts_of(&gen, id).unix_ms, T);
        CHECK_EQ(gate_calls, 2);
    }
    gate_calls = 0;
    TRY_SAYS(FLAKE_AGAIN);
    CHECK_EQ(gate_calls, 2);
}

TEST(a_waiting_call_waits_for_a_gate_within_its_limit) {
    open_with_slow_gate(8);
    admits_until_ns = 0;
    SAYS(FLAKE_AGAIN, flake_next(&gen, &id));
    CHECK_EQ(script_now.slept_ns, 10 * MS);
    gate_calls = PATIENCE - 5;
    script_now.slept_ns = 0;
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(script_now.slept_ns, 4 * MS);
}

/* Each reading is of another unit, and all lanes are ahead of it. */
TEST(a_slow_sweep_after_a_backward_step_ends) {
    begin(flake_layout_idgen);
    options.seq_max = 2 * most - 1;
    options.clock.now_ns = stepping_read;
    step_ns = 0;
    open_lanes(most);
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
    begin(flake_layout_idgen);
    options.seq_max = 2 * most - 1;
    options.clock.now_ns = stepping_read;
    step_ns = 2 * MS;
    open_lanes(most);
    robs_ahead = true;
    robberies = PATIENCE;
    looks = 0;
    CHECK_EQ(flake_try(&gen, &id), FLAKE_CLOCK_BACKWARDS);
    CHECK(robberies < PATIENCE - most); /* also in the second looks */
    CHECK(looks <= most_looks());
    robs_ahead = false;
    robberies = 0;
}

TEST(a_gates_answer_is_for_all_lanes) {
    const flake_gate gate = {.admit = gate_ask, .not_before_ns = gate_floor};
    begin(flake_layout_idgen);
    options.seq_max = 5;
    gens_node = flake_node_gated(&gate, 0);
    gate_says = FLAKE_OK;
    open_lanes(3);
    GIVES(flake_next(&gen, &id), T + 4, 0); /* before its floor */
    TRY(T + 4, 1);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    gate_says = FLAKE_LEASE_LOST;
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK); /* this lane has asked for this unit */
    FAILS(flake_try(&gen, &id), FLAKE_LEASE_LOST, id);
    gate_says = FLAKE_AGAIN;
    gate_calls = 0;
    SAYS(FLAKE_AGAIN, flake_try(&gen, &id));
    CHECK_EQ(gate_calls, 2); /* a refusal is of all lanes; the last one asks once more */
    gate_says = FLAKE_OK;
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
}

/* The gate closes behind the whole, before the lanes, of which others have drawn: they are the new
 * options', and closed. */
static flake_atomic64 closing;
static int64_t closing_floor(void *user) {
    (void)user;
    closing = 0;
    return 0;
}
TEST(a_gate_that_closes_during_init) {
    flake_gate gate = {gate_ask, closing_floor, NULL, &closing};
    begin(flake_layout_idgen);
    gens_node = flake_node_fixed(NULL, 1);
    open_lanes(2);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    closing = 7;
    gens_node = flake_node_gated(&gate, 2);
    gate_says = FLAKE_OK;
    open_lanes(3);
    for (thread_now = 0; thread_now < 3; thread_now++)
        FAILS(flake_try(&gen, &id), FLAKE_LEASE_LOST, id);
    CHECK_EQ(flake_available(&gen), 0);
    gate.not_before_ns = NULL;
    gens_node = flake_node_gated(&gate, 2);
    (void)flake_close(&gen, NULL);
    CHECK_EQ(flake_init(&gen, gens_node, with_lanes(&options, array, 3), NULL), FLAKE_LEASE_LOST);
    closing = 7;
    gens_node = flake_node_gated(&gate, 2);
    open_lanes(3);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    closing = 0;
    FAILS(flake_try(&gen, &id), FLAKE_LEASE_LOST, id);
    FAILS(flake_next(&gen, &id), FLAKE_LEASE_LOST, id);
}

/* What a draw tolerates in its lane, a sweep tolerates in the others. */
TEST(a_sweep_rides_out_what_a_coarse_clock_lags) {
    begin(flake_layout_idgen);
    options.seq_min = 10;
    options.seq_max = 15;
    options.clock.now_ns = NULL;
    options.clock.kind = FLAKE_CLOCK_COARSE;
    coarse_slack_ns = 8 * MS;
    open_lanes(2);
    for (unsigned i = 0; i < 3; i++) TRY(T, 10 + i);
    thread_now = 1;
    move_ns(2 * MS);
    TRY(T + 2, 13);
    thread_now = 0;
    move_ns(-2 * MS);
    TRY(T + 2, 14);
}

/* ---- many at once ---- */

TEST(a_batch_spans_lanes_and_units) {
    open_three();
    CHECK_EQ(flake_next_n(&gen, many, 25), FLAKE_OK);
    check_whole_unit(many, 11, T, gen.options.seq_min);
    check_whole_unit(many + 11, 11, T + 1, gen.options.seq_min);
    CHECK_EQ(parts_of(&gen, many[24]).unix_ms, T + 2);
    CHECK_EQ(stats_now().ids, 25);
    CHECK_EQ(count_duplicates(many, 25), 0);
    CHECK_EQ(got64_n(&gen, many, 100), 8);
    CHECK_EQ(got64_n(&gen, many, 100), 0);
}

TEST(a_batch_that_ends_early_is_zeros) {
    begin_short_era();
    open_lanes(2);
    move_to_ms(T + 1022000);
    CHECK_EQ(flake_next_n(&gen, many, 10), FLAKE_TIME_RANGE);
    for (int i = 0; i < 6; i++)
        CHECK_EQ(parts_of(&gen, many[i]).unix_ms, T + 1022000 + i / 3 * 1000);
    for (int i = 6; i < 10; i++) CHECK_EQ(many[i], 0);
    CHECK_EQ(count_duplicates(many, 6), 0);
    many[0] = NOTHING;
    CHECK_EQ(flake_next_n(&gen, many, 10), FLAKE_TIME_RANGE);
    CHECK_EQ(many[0], 0);
}

TEST(scattered_and_spread) {
    begin(flake_layout_uniqueid_spread);
    options.seq_scatter = true;
    open_lanes(4);
    CHECK_EQ(flake_next_n(&gen, many, 64), FLAKE_OK);
    check_whole_unit(many, 64, T, gen.options.seq_min);
    CHECK(parts_of(&gen, many[0]).seq != 0);
}

/* ---- any calls, any clock ---- */

/* No ID of a unit repeats, and a try fails only if none is left, unless the clock went backwards.
 * The clock stays within 64 units. */
TEST(random_scripts) {
    static uint8_t drawn[64][16];
    uint64_t random = 88172645463325252u, wrong = 0, ids = 0;
    for (int round = 0; round < 3000; round++) {
        const size_t n = 1 + (size_t)random_below(&random, 5);
        begin(flake_layout_idgen);
        options.seq_max = (uint32_t)(n + random_below(&random, 16 - n)); /* 0 means all */
        options.max_ahead_ms = random_below(&random, 4) ? 0 : 2;
        options.max_wait_ms = 3;
        open_lanes(n);
        memset(drawn, 0, sizeof drawn);
        int64_t newest_ns = script_now.now_ns;
        for (int calls = 0; calls < 60; calls++) {
            size_t got = 0;
            thread_now = (unsigned)random_below(&random, 4);
            if (random_below(&random, 3) == 0) move_ns((int64_t)random_below(&random, 3) * MS / 2);
            else if (random_below(&random, 20) == 0 && script_now.now_ns > (T + 4) * MS)
                move_ns(-(int64_t)random_below(&random, 4) * MS);
            if (script_now.now_ns > (T + 50) * MS) break;
            const bool back = script_now.now_ns < newest_ns;
            if (!back) newest_ns = script_now.now_ns;
            const uint64_t available = flake_available(&gen);
            switch (random_below(&random, 3)) {
            case 0: got = flake_try(&gen, many) == FLAKE_OK; break;
            case 1: got = got64_n(&gen, many, 1 + (size_t)random_below(&random, 9)); break;
            default: got = flake_next(&gen, many) == FLAKE_OK;
            }
            if (script_now.now_ns > newest_ns) newest_ns = script_now.now_ns;
            wrong += !back && !got && available;
            for (size_t i = 0; i < got; i++) {
                const flake_parts p = parts_of(&gen, many[i]);
                wrong += p.unix_ms < T || p.unix_ms >= T + 64 || p.seq > options.seq_max;
                wrong += p.unix_ms * MS > script_now.now_ns + options.max_ahead_ms * MS;
                wrong += drawn[(p.unix_ms - T) & 63][p.seq & 15]++;
            }
            ids += got;
        }
        CHECK(stats_now().ids <= 64 * 16);
    }
    CHECK_EQ(wrong, 0);
    CHECK(ids > 50000);
}

/* ---- the whole ---- */

#if !defined(_WIN32)
/* A number has one holder, whichever part of the sequence range it draws from. */
TEST(the_lanes_of_a_generator_have_one_number) {
    static flake_gen other;
    begin(flake_layout_js53);
    gens_node = flake_node_fixed(in_folder("one"), 1);
    open_lanes(4);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK_EQ(got64_n(&gen, many, 200), 127);
    flake_options last = options;
    last.seq_min = last.seq_max = 127;
    CHECK_EQ(flake_init(&other, gens_node, &last, NULL), FLAKE_IN_USE);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
    for (thread_now = 0; thread_now < 4; thread_now++)
        FAILS(flake_try(&gen, &id), FLAKE_CLOSED, id);
    CHECK_EQ(flake_init(&other, gens_node, &last, NULL), FLAKE_OK);
    CHECK_EQ(flake_close(&other, NULL), FLAKE_OK);
    gens_node = flake_node_fixed(in_folder("absent/one"), 1);
    CHECK_EQ(flake_init(&gen, gens_node, with_lanes(&options, array, 4), NULL), FLAKE_IO);
}

TEST(a_horizon_floors_each_lane) {
    begin(flake_layout_js53);
    gens_node = flake_node_fixed(in_folder("floor"), 1);
    options.no_wait = true;
    for (int run = 0; run < 2; run++) {
        open_lanes(4);
        if (run) TRY_SAYS(FLAKE_AGAIN); /* no lane, though each is fresh */
        CHECK_EQ(flake_next_n(&gen, many, 300), FLAKE_OK);
        CHECK_EQ(parts_of(&gen, many[0]).unix_ms, T + 3 * run);
        CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
        move_ns(run * MS);
        if (run) FAILS(flake_try(&gen, &id), FLAKE_CLOSED, id);
    }
}

/* Each reading is of another unit. */
TEST(a_horizon_that_is_not_extended_ends_each_call) {
    begin(flake_layout_idgen);
    gens_node = flake_node_fixed(in_folder("late"), 1);
    options.no_wait = options.manual_extend = true;
    options.seq_max = 2 * most - 1;
    options.max_wait_ms = 20;
    options.clock.now_ns = stepping_read;
    step_ns = 0;
    open_lanes(most);
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

/* ---- the newest ID ---- */

TEST(the_newest_id_is_that_of_any_lane) {
    open_three();
    CHECK_EQ(flake_newest_ms(&gen), 1); /* none: the epoch */
    thread_now = 2, move_ns(5 * MS);
    TRY(T + 5, 10);
    CHECK_EQ(flake_newest_ms(&gen), T + 5);
    thread_now = 1, move_ns(2 * MS);
    TRY(T + 7, 14);
    CHECK_EQ(flake_newest_ms(&gen), T + 7);
    array[0].engine.word = array[1].engine.word + 4 * 3; /* 13 drawn from 4: three units to come */
    CHECK_EQ(flake_newest_ms(&gen), T + 10);
}

/* ---- fork ---- */

#if !defined(_WIN32)
static void a_child_draws_with_numbers_of_its_own(void) {
    flake_options own = options;
    FAILS(flake_try(&gen, &id), FLAKE_FORKED, id);
    FAILS(flake_next(&gen, &id), FLAKE_FORKED, id);
    CHECK_EQ(flake_available(&gen), 0);
    CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
    CHECK_EQ(flake_reinit_after_fork(&gen, gens_node, with_lanes(&own, array, 3), NULL),
             FLAKE_NODE_OVERLAP);
    const flake_node node = flake_node_fixed(NULL, 1);
    own.seq_max = 11; /* fewer than the lanes */
    CHECK_EQ(flake_reinit_after_fork(&gen, node, with_lanes(&own, array, 3), NULL), FLAKE_INVALID);
    own.seq_min = 30, own.seq_max = 35;
    CHECK_EQ(flake_reinit_after_fork(&gen, node, with_lanes(&own, array, 3), NULL), FLAKE_OK);
    CHECK_EQ(got64_n(&gen, many, 20), 6);
    check_whole_unit(many, 6, T, 30);
    CHECK_EQ(parts_of(&gen, many[0]).node, 1);
}

TEST(after_a_fork) {
    open_three();
    TRY(T, 10);
    in_child(a_child_draws_with_numbers_of_its_own);
    TRY(T, 11); /* the parent's continue */
}
#endif

/* ---- 128 bits ---- */

static flake128 wide_ids[64];

static void check_wide(const flake128 *of, int64_t ms, uint32_t number) {
    flake_parts p = {0, 0, 0};
    CHECK_EQ(flake128_decompose(&flake_layout_boundary, of, &p), FLAKE_OK);
    CHECK(p.unix_ms == ms && p.node == 77 && p.seq == number);
}

TEST(of_128_bits) {
    begin(flake_layout_boundary);
    gens_node = flake_node_fixed(NULL, 77);
    options.seq_min = 100;
    options.seq_max = 110;
    open_lanes(3);
    CHECK_EQ(flake128_try(&gen, &wide_ids[0]), FLAKE_OK);
    CHECK_EQ(flake128_next(&gen, &wide_ids[1]), FLAKE_OK);
    CHECK_EQ(got128_n(&gen, wide_ids + 2, 40), 9);
    for (uint32_t i = 0; i < 11; i++) check_wide(&wide_ids[i], T, 100 + i);
    CHECK_EQ(flake128_next_n(&gen, wide_ids, 12), FLAKE_OK);
    CHECK(stats_now().ids == 23 && stats_now().waits == 2);
    options.after_unix_ms = flake_newest_ms(&gen);
    CHECK_EQ(options.after_unix_ms, T + 2);
    open_lanes(2);
    CHECK_EQ(flake128_try(&gen, wide_ids), FLAKE_AGAIN);
    move_ns(MS);
    CHECK_EQ(got128_n(&gen, wide_ids, 64), 11);
    move_ns(-2 * MS); /* boundary does not wait for it */
    FAILS(flake128_next(&gen, wide_ids), FLAKE_CLOCK_BACKWARDS, wide_ids[0]);
    FAILS(flake128_next_n(&gen, wide_ids, 64), FLAKE_CLOCK_BACKWARDS, wide_ids);
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
