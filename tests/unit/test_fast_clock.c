/* SPDX-License-Identifier: MIT
 *
 * The fast clock, on a scripted clock and counter ("why a fast clock is safe", "why a counter that is read early is
 * safe"): windows, within which draws do not read the exact clock; how the counter's rate is learned, and given up;
 * rare draws; processors whose counters differ.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
static unsigned runs_on; /* one of two processors: the thread that draws */
#define FLAKE_LANE() runs_on
#include "scripted_flake.h"

enum { RATE = 3 };                          /* of the counter, in a ns */
static const int64_t window_ns = 1 << 19;   /* the longest */
static const int64_t spare_ns = 2000;       /* a window ends so long before its unit */
static const int64_t stretch_ns = 20000000; /* long enough to learn from */

/* The counter advances alone, or with the clock. */
static void count(int64_t ns) { script_now.counter += (uint64_t)(ns * RATE); }
static void pass(int64_t ns) {
    move_ns(ns);
    count(ns);
}

static int64_t now_ms(void) { return script_now.now_ns / MS; }
static void draw(void) { CHECK_EQ(flake_try(&gen, &id), FLAKE_OK); }

/* Draws of that unit, and how many exact readings each of them took: "110". */
static const char *reads_of_draws(int64_t ms, size_t n) {
    static char digits[16];
    digits[n] = 0;
    for (size_t i = 0; i < n; i++) {
        const int before = script_now.exact_reads;
        draw();
        CHECK_EQ(parts_of(id).unix_ms, ms);
        digits[i] = (char)('0' + script_now.exact_reads - before);
    }
    return digits;
}
#define EXPECT_READS(ms, digits) CHECK_STR(reads_of_draws(ms, sizeof(digits) - 1), digits)

/* Moves the thread that draws next to that processor. */
static int64_t second_ahead_ns; /* by how much the second processor's counter is ahead */
static void go_to(unsigned p) {
    count(((int64_t)p - (int64_t)runs_on) * second_ahead_ns);
    runs_on = p;
}

static flake_options begin_fast(flake_layout layout) {
    flake_options o = begin(layout);
    runs_on = 0;
    second_ahead_ns = 0;
    o.clock.now_ns = NULL;
    o.clock.kind = FLAKE_CLOCK_FAST;
    script_now.counter = UINT64_MAX - 12345; /* it wraps around, too */
    memset((void *)&flake_i_counter, 0, sizeof flake_i_counter);
    return o;
}

static flake_options begin_fast_with_units_of_a_second(int64_t epoch_ms) {
    flake_options o = begin_fast(flake_layout_of(40, 10, 12, epoch_ms));
    o.layout.unit_ms = 1000;
    return o;
}

/* Its draws are frequent if a unit has one. */
static void open_frequent(flake_options o) {
    open_gen(o);
    gen.engine.frequent = 1;
}

/* One after the other, on one processor or alternating. */
static void draw_stretches(unsigned n, bool on_both) {
    for (unsigned i = 0; i < n; i++) {
        if (on_both) go_to(i % 2);
        pass(stretch_ns);
        draw();
    }
}

/* Draws often enough to know the counter's rate, and at the start of a ms for a window. */
static void learn(void) {
    draw_stretches(4, false);
    pass(MS - script_now.now_ns % MS);
    draw();
    draw();
    script_now.exact_reads = 0;
}

/* A generator that is in a window, at the start of a ms. Returns that ms. */
static int64_t open_fast(void) {
    open_frequent(begin_fast(flake_layout_idgen));
    learn();
    return now_ms();
}

/* Counts of the longest window, as they are known to the process, and to the generator. */
static uint64_t rate_known(void) { return (uint32_t)FLAKE_ATOMIC_LOAD(&flake_i_counter.rate, relaxed) - 1; }
static uint64_t window_of(flake_gen *g) { return FLAKE_ATOMIC_LOAD(&g->engine.ticks_per_window, relaxed); }

/* ---- windows ---- */

TEST(in_a_window_the_clock_is_not_read) {
    const int64_t ms = open_fast();
    for (unsigned i = 1; i < 200; i++) {
        EXPECT_READS(ms, "0");
        CHECK_EQ(parts_of(id).seq, i + 1);
        pass(window_ns / 400);
    }
    CHECK_EQ(got64_n(&gen, many, 100), 100);
    CHECK_EQ(script_now.exact_reads, 0);
}

TEST(a_window_ends_with_its_unit) {
    const int64_t ms = open_fast();
    pass(MS / 2 + MS / 16); /* after the first window */
    EXPECT_READS(ms, "10");
    pass(MS / 2 - MS / 16 - 2 * spare_ns);
    EXPECT_READS(ms, "0");
    pass(spare_ns + 1); /* too late for another window */
    EXPECT_READS(ms, "11");
    pass(spare_ns - 1);
    EXPECT_READS(ms + 1, "1");
    CHECK_EQ(parts_of(id).seq, 0);
    EXPECT_READS(ms + 1, "0");
}

/* It is shorter than half a ms by the margin of what was learned. */
TEST(a_window_ends_after_half_a_ms_of_a_long_unit) {
    open_frequent(begin_fast_with_units_of_a_second(0));
    draw_stretches(3, false);
    const int64_t unit_ms = parts_of(id).unix_ms;
    for (unsigned i = 0; i < 20; i++) {
        pass(window_ns - window_ns / 400);
        EXPECT_READS(unit_ms, "0");
        pass(window_ns / 400 - window_ns / 1000);
        EXPECT_READS(unit_ms, "1");
    }
}

/* An unmeasured time is before the epoch, not at it: there the first unit would have no end. */
TEST(the_first_unit_of_all_has_windows_as_any_other) {
    open_frequent(begin_fast_with_units_of_a_second(T));
    draw_stretches(3, false);
    EXPECT_READS(T, "0");
    pass(window_ns);
    EXPECT_READS(T, "1");
    pass(1000 * MS);
    EXPECT_READS(T + 1000, "110");
}

TEST(before_the_epoch_there_is_no_window) {
    open_frequent(begin_fast(flake_layout_of(41, 10, 12, T + 1)));
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_TIME_RANGE);
    pass(MS);
    EXPECT_READS(T + 1, "2");
    learn();
    move_to_ms(T);
    count(window_ns);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_TIME_RANGE);
}

TEST(an_exhausted_unit_is_told_by_the_exact_clock) {
    flake_options o = begin_fast(flake_layout_idgen);
    o.seq_min = 10;
    o.seq_max = 12;
    open_frequent(o);
    learn();
    const int64_t ms = now_ms();
    pass(MS / 4);
    EXPECT_READS(ms, "0");
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(flake_retry_ns(&gen), 3 * MS / 4);
    CHECK_EQ(flake_available(&gen), 0);
    EXPECT_ID(flake_next(&gen, &id), ms + 1, 10);
    CHECK_EQ(script_now.slept_ns, 3 * MS / 4);
}

TEST(a_step_of_the_clock_is_noticed_when_the_window_has_ended) {
    const int64_t ms = open_fast();
    move_ns(-10 * MS);
    EXPECT_READS(ms, "0");
    pass(window_ns);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_CLOCK_BACKWARDS);
    pass(10 * MS - window_ns);
    EXPECT_READS(ms, "1");
    pass(MS);
    EXPECT_READS(ms + 1, "11");
    move_ns(3600000 * MS);
    EXPECT_READS(ms + 1, "0");
    pass(window_ns);
    EXPECT_READS(ms + 1 + 3600000, "1");
}

TEST(a_unit_of_the_callers_time_has_no_window) {
    const int64_t ms = open_fast(), now_ns = script_now.now_ns;
    move_to_ms(ms + 65536);
    EXPECT_ID(flake_try_at(&gen, ms + 65536, &id), ms + 65536, 0);
    script_now.now_ns = now_ns;
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_CLOCK_BACKWARDS);
    pass(MS / 10);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_CLOCK_BACKWARDS);
    CHECK_EQ(flake_try_at(&gen, ms, &id), FLAKE_OK);
    CHECK_EQ(script_now.exact_reads, 5); /* how far ahead it is; then two each, one of them after the word */
}

TEST(an_init_forgets_the_window) {
    (void)open_fast();
    flake_options o = *flake_gen_options(&gen);
    o.seq_min = 1000;
    o.seq_max = 4095;
    open_frequent(o);
    move_ns(-10 * MS);
    EXPECT_ID(flake_try(&gen, &id), now_ms(), 1000);
}

static void draw_in_the_next_ms(void) {
    uint64_t others;
    pass(MS);
    CHECK_EQ(flake_try(&gen, &others), FLAKE_OK);
}

/* The reading is older than the word that the other thread stored: that is no backward step. */
TEST(a_draw_that_another_thread_outruns_reads_the_clock_again) {
    const int64_t ms = open_fast();
    pass(3 * MS / 4); /* the window has ended, its unit has not */
    script_now.during_reading = draw_in_the_next_ms;
    EXPECT_ID(flake_try(&gen, &id), ms + 1, 1);
}

TEST(units_of_one_id_and_units_that_fill_their_count_are_drawn_by_it) {
    flake_options o = begin_fast(flake_layout_idgen);
    o.seq_min = o.seq_max = 1;
    open_frequent(o);
    for (int i = 0; i < 9; i++) {
        pass(stretch_ns);
        draw();
        EXPECT_STATUS(flake_try(&gen, &id), FLAKE_AGAIN);
    }
    open_frequent(begin_fast(flake_layout_of(44, 0, 20, 0)));
    for (int i = 0; i < 9; i++) {
        pass(stretch_ns);
        CHECK_EQ(got64_n(&gen, many, 1 << 20), 1 << 20);
        CHECK(id_is(many[(1 << 20) - 1], now_ms(), (1 << 20) - 1));
        EXPECT_STATUS(flake_try(&gen, &id), FLAKE_AGAIN);
    }
}

/* ---- a counter that is wrong ---- */

TEST(a_counter_that_jumps_ahead_ends_the_window) {
    const int64_t ms = open_fast();
    count(window_ns);
    EXPECT_READS(ms, "10");
}

/* As another processor's may be: the unit lasts longer by as much, but not by more than a window. */
TEST(a_counter_that_is_behind_makes_an_id_late_by_a_window_at_most) {
    const int64_t ms = open_fast();
    pass(window_ns / 2);
    count(-window_ns / 4);
    EXPECT_READS(ms, "0");
    count(-window_ns / 2);
    EXPECT_READS(ms, "1");
    count(-3600000 * MS);
    EXPECT_READS(ms, "1");
}

TEST(a_counter_that_stands_still_is_late_until_the_unit_is_exhausted) {
    const int64_t ms = open_fast();
    for (unsigned i = 2; i < 4096; i++) {
        move_ns(MS / 100);
        EXPECT_READS(ms, "0");
    }
    EXPECT_READS(now_ms(), "1");
    CHECK_EQ(parts_of(id).seq, 0);
}

/* At half the rate and at two thirds of it in turn: no two stretches in a row agree. */
static void draw_at_wrong_rates(unsigned n) {
    static int64_t part = 2;
    for (unsigned i = 0; i < n; i++, part = 5 - part) {
        pass(stretch_ns);
        count(-stretch_ns / part);
        EXPECT_READS(now_ms(), "11");
    }
}

TEST(a_counter_that_is_often_wrong_is_given_up_for_good) {
    (void)open_fast();
    draw_at_wrong_rates(15);
    pass(stretch_ns); /* right once: all is forgotten */
    EXPECT_READS(now_ms(), "110");
    for (int i = 0; i < 15; i++) {
        EXPECT_READS(now_ms(), "0");
        draw_at_wrong_rates(1);
    }
    draw_at_wrong_rates(1);
    for (int i = 0; i < 100; i++) {
        pass(stretch_ns);
        EXPECT_READS(now_ms(), "11");
    }
}

TEST(a_counter_that_is_wrong_from_the_first_on_is_given_up) {
    open_frequent(begin_fast(flake_layout_idgen));
    draw_stretches(3, false);
    EXPECT_READS(now_ms(), "0"); /* just learned */
    draw_at_wrong_rates(16);
    EXPECT_READS(now_ms(), "1");
}

TEST(a_counter_that_is_a_little_off_is_not_given_up) {
    (void)open_fast();
    for (int i = 0; i < 100; i++) {
        pass(stretch_ns);
        count(stretch_ns / 9);
        EXPECT_READS(now_ms(), "110");
    }
}

/* ---- how the rate is learned ---- */

TEST(there_is_no_window_before_two_stretches_agree) {
    open_frequent(begin_fast(flake_layout_idgen));
    for (int i = 0; i < 20; i++) {
        pass(stretch_ns);
        count(i % 2 ? 0 : stretch_ns / 500); /* each differs from the one before by 1 in 500 */
        if (i) EXPECT_READS(now_ms(), "11");
        else EXPECT_READS(now_ms(), "21"); /* a fresh word's is read once more, after it */
    }
    pass(stretch_ns);
    count(stretch_ns / 500);
    EXPECT_READS(now_ms(), "1");
    pass(stretch_ns);
    count(stretch_ns / 500 + stretch_ns / 2000);
    EXPECT_READS(now_ms(), "10"); /* by 1 in 2,000 */
}

/* Long enough that some us more or less matter little. */
TEST(a_stretch_lasts_10_ms) {
    open_frequent(begin_fast(flake_layout_idgen));
    for (int i = 0; i < 30; i++) {
        pass(MS);
        count(i % 2 ? 4000 : -4000);
        draw();
    }
    EXPECT_READS(now_ms(), "10");
}

TEST(short_and_long_stretches_teach_nothing) {
    open_frequent(begin_fast(flake_layout_idgen));
    for (int i = 0; i < 9; i++) {
        pass(4001 * MS);
        if (i) EXPECT_READS(now_ms(), "1");
        else EXPECT_READS(now_ms(), "2");
        for (int k = 0; k < 9; k++) {
            pass(MS);
            EXPECT_READS(now_ms(), "11");
        }
    }
    pass(3980 * MS);
    EXPECT_READS(now_ms(), "1");
    pass(3980 * MS);
    EXPECT_READS(now_ms(), "10");
}

/* While the clock is slewed, or the counter runs at another rate: two stretches that agree are the rate. */
TEST(a_rate_that_was_learned_under_a_slew_is_replaced) {
    (void)open_fast();
    const uint64_t rate = rate_known();
    for (int i = 0; i < 6; i++) {
        pass(stretch_ns);
        if (i < 3) count(stretch_ns / 12);
        for (int k = 0; k < 3; k++) draw();
        if (i == 2) CHECK(rate_known() > rate + rate / 13);
    }
    CHECK_EQ(rate_known(), rate);
}

/* A window of 500 counts less its margin would be of 499: such a slow counter is useless. */
TEST(a_slow_counter_is_used_from_501_counts_a_window_on) {
    static const struct { uint64_t us, window; } cases[] = {{10047, 1}, {10027, 500}};
    for (size_t i = 0; i < 2; i++) {
        memset((void *)&flake_i_counter, 0, sizeof flake_i_counter);
        CHECK_EQ(flake_i_counter_window(), 1); /* not known yet */
        for (uint64_t k = 1; k < 4; k++) /* 9600 counts in each stretch */
            (void)flake_i_calibrate(9600 * k, (int64_t)(cases[i].us * k * 1000));
        CHECK_EQ(flake_i_counter_window(), cases[i].window);
    }
}

/* ---- what one generator has learned, all know ---- */

TEST(a_second_generator_knows_the_rate_and_has_windows_at_once) {
    static flake_gen other;
    (void)open_fast();
    const uint64_t rate = FLAKE_ATOMIC_LOAD(&flake_i_counter.rate, relaxed);
    CHECK(rate > 501);
    CHECK_EQ(flake_init(&other, flake_node_fixed(NULL, 1), flake_gen_options(&gen), NULL), FLAKE_OK);
    CHECK_EQ(flake_try(&other, &id), FLAKE_OK);
    CHECK_EQ(window_of(&other), rate - 1);
    const int reads = script_now.exact_reads;
    for (int i = 0; i < 9; i++) CHECK_EQ(flake_try(&other, &id), FLAKE_OK);
    CHECK_EQ(script_now.exact_reads, reads);
    CHECK_EQ(FLAKE_ATOMIC_LOAD(&flake_i_counter.rate, relaxed), rate);
}

TEST(a_cloned_machines_counter_is_measured_anew) {
    (void)open_fast();
    const flake_options o = *flake_gen_options(&gen);
    const uint64_t rate = FLAKE_ATOMIC_LOAD(&flake_i_counter.rate, relaxed);
    flake_machine_cloned();
    open_frequent(o);
    CHECK_EQ(window_of(&gen), 1);
    CHECK_EQ(rate_known(), 1);
    for (int i = 0; i < 4; i++) { /* it counts twice as fast */
        pass(stretch_ns);
        count(stretch_ns);
        draw();
    }
    const uint64_t anew = FLAKE_ATOMIC_LOAD(&flake_i_counter.rate, relaxed);
    CHECK_EQ((uint32_t)(anew - 1) / 100, (uint32_t)(rate - 1) * 2 / 100);
    CHECK_EQ(anew >> 32, (rate >> 32) + 1);
}

/* As that of flake_uuid7 does. */
TEST(a_generator_that_survives_a_clone_measures_the_counter_anew) {
    flake_options o = begin_fast(flake_layout_idgen);
    if (!words_reach_other_processes) return;
    o.shared_memory = true;
    open_frequent(o);
    learn();
    flake_machine_cloned();
    pass(stretch_ns);
    EXPECT_READS(now_ms(), "11111111111"); /* not known yet */
    CHECK_EQ(rate_known(), 1);
    learn();
    EXPECT_READS(now_ms(), "0");
}

/* ---- which clock; rare draws ---- */

TEST(the_fast_clock_is_the_default_and_the_others_are_named) {
    static const struct { int kind; uint64_t frequent, window; } cases[] = {
        {0, 15, 1}, {FLAKE_CLOCK_FAST, 15, 1}, {FLAKE_CLOCK_EXACT, UINT64_MAX, 0}, {FLAKE_CLOCK_COARSE, UINT64_MAX, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        flake_options o = begin_fast(flake_layout_idgen);
        o.clock.kind = cases[i].kind;
        open_gen(o);
        CHECK_EQ(gen.engine.frequent, cases[i].frequent);
        CHECK_EQ(window_of(&gen), cases[i].window);
    }
}

TEST(a_clock_of_the_programs_own_has_no_windows) {
    flake_options o = begin_fast(flake_layout_idgen);
    o.clock.now_ns = script_read;
    open_frequent(o);
    learn();
    pass(MS / 4);
    move_ns(2 * MS);
    draw();
    CHECK_EQ(parts_of(id).unix_ms, now_ms());
}

TEST(rare_draws_read_the_clock_alone) {
    (void)open_fast();
    const uint64_t rate = FLAKE_ATOMIC_LOAD(&flake_i_counter.rate, relaxed);
    gen.engine.frequent = 15;
    for (int i = 0; i < 100; i++) {
        pass(3 * MS / 2);
        EXPECT_READS(now_ms(), "1");
        CHECK_EQ(window_of(&gen), 0);
    }
    CHECK_EQ(FLAKE_ATOMIC_LOAD(&flake_i_counter.rate, relaxed), rate);
}

TEST(frequent_draws_have_windows_again) {
    (void)open_fast();
    gen.engine.frequent = 15; /* in a ms, as the default */
    for (int more = 0; more < 2; more++) {
        pass(MS);
        for (int i = 0; i < 14 + more; i++) EXPECT_READS(now_ms(), "1");
    }
    pass(MS);
    EXPECT_READS(now_ms(), "110");
}

TEST(frequent_draws_read_the_clock_three_times_a_ms) {
    const int64_t began_ms = open_fast();
    gen.engine.frequent = 15;
    for (int i = 0; i < 2500; i++) {
        pass(40000);
        EXPECT_ID(flake_try(&gen, &id), now_ms(), script_now.now_ns % MS / 40000 + (now_ms() == began_ms ? 1 : 0));
    }
    CHECK(script_now.exact_reads <= 3 * (now_ms() - began_ms));
}

/* ---- processors whose counters differ ---- */

static const int64_t far_ns = 3600000 * MS;

/* A thread on either: IDs rise, and none is late by more than the counters differ, or a window. */
static void draw_on_both(int64_t ahead_ns, int64_t late_ns) {
    enum { draws = 20000 };
    uint64_t random = 1, last = 0;
    unsigned moves = 0, wrong = 0, late = 0;
    (void)open_fast();
    second_ahead_ns = ahead_ns;
    for (unsigned i = 0; i < draws; i++, last = id) {
        const unsigned to = (unsigned)random_below(&random, 2);
        moves += to != runs_on;
        go_to(to);
        pass((int64_t)random_below(&random, (uint64_t)window_ns / 4));
        if (!gen.engine.ticks_per_window) gen.engine.ticks_per_window = 1; /* as if frequent */
        draw();
        const int64_t end_ns = (parts_of(id).unix_ms + 1) * MS;
        wrong += id <= last || end_ns - MS > script_now.now_ns || end_ns + late_ns <= script_now.now_ns;
        late += end_ns <= script_now.now_ns;
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(late > 0, late_ns > 0);
    CHECK(moves > draws / 3);
    CHECK(script_now.exact_reads < draws); /* there are windows */
}

TEST(processors_whose_counters_differ_share_a_word) {
    for (int sign = -1; sign <= 1; sign += 2) {
        draw_on_both(sign * far_ns, 0);
        draw_on_both(sign * window_ns, window_ns);
        draw_on_both(sign * window_ns / 4, window_ns / 4);
    }
}

TEST(processors_whose_counters_differ_are_given_up) {
    for (int sign = -1; sign <= 1; sign += 2) {
        (void)open_fast();
        second_ahead_ns = sign * far_ns;
        for (unsigned i = 1; i <= 16; i++) { /* each stretch ends on the other processor */
            EXPECT_READS(now_ms(), "0");
            go_to(i % 2);
            pass(stretch_ns);
            EXPECT_READS(now_ms(), "11");
        }
        for (unsigned i = 0; i < 100; i++) {
            go_to(i % 2);
            pass(MS / 10);
            EXPECT_READS(now_ms(), "11");
        }
    }
}

static void open_lanes(int64_t ahead_ns) {
    static flake_lane lanes[2];
    flake_options o = begin_fast(flake_layout_idgen);
    second_ahead_ns = ahead_ns;
    o.lanes = lanes;
    o.lane_count = 2;
    open_frequent(o);
    for (int i = 0; i < 2; i++) lanes[i].engine.frequent = 1;
    draw_stretches(4, false);
    draw_stretches(8, true);
}

TEST(lanes_follow_the_processor) {
    enum { draws = 20000 };
    for (int sign = -1; sign <= 1; sign += 2) {
        uint64_t random = 1;
        unsigned wrong = 0;
        int64_t began_ms = 0;
        open_lanes(sign * far_ns);
        for (unsigned i = 0; i < draws; i++) {
            if (i == draws / 10) { /* they are known to be frequent */
                began_ms = now_ms();
                script_now.exact_reads = 0;
            }
            go_to((unsigned)random_below(&random, 2));
            pass((int64_t)random_below(&random, (uint64_t)window_ns / 100));
            CHECK_EQ(flake_try(&gen, &many[i]), FLAKE_OK);
            wrong += parts_of(many[i]).unix_ms != now_ms();
        }
        CHECK_EQ(wrong, 0);
        CHECK_EQ(count_duplicates(many, draws), 0);
        /* of each processor two a ms and one at its start: each has its own windows */
        CHECK(script_now.exact_reads <= 2 * 3 * (now_ms() - began_ms + 1));
    }
}

/* The second processor reads its counter before it loads what the first has published. */
TEST(lanes_rise_where_a_counter_is_read_early) {
    static const int64_t early_ns[] = {0, 100, 1000, 2000};
    for (unsigned k = 0; k < sizeof early_ns / sizeof *early_ns; k++) {
        open_lanes(0);
        for (int64_t left_ns = window_ns / 2; left_ns; left_ns /= 2) {
            pass(2 * MS - script_now.now_ns % MS - left_ns);
            for (unsigned p = 0; p < 4; p++) {
                const int64_t early = p == 3 ? early_ns[k] : 0;
                if (p == 2) pass(left_ns); /* both lanes are in the unit */
                go_to(p % 2);
                count(-early);
                draw();
                count(early);
                if (p >= 2) CHECK_EQ(parts_of(id).unix_ms, now_ms());
            }
        }
    }
}
