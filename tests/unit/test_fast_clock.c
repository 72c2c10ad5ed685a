/* SPDX-License-Identifier: MIT
 *
 * The fast clock: leases on a unit by the processor's counter, on a scripted clock and counter.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
static unsigned runs_on; /* one of two processors: the thread that draws */
#define FLAKE_LANE() runs_on
#include "scripted_flake.h"

enum { RATE = 3 };                          /* of the counter, in a ns */
static const int64_t lease_ns = 1 << 19;    /* the longest */
static const int64_t spare_ns = 2000;       /* a lease ends so long before its unit */
static const int64_t stretch_ns = 20000000; /* long enough to learn from */

/* Clock and counter advance, together or separately. */
static void pass(int64_t ns) {
    move_ns(ns);
    script_counter += (uint64_t)(ns * RATE);
}
static void count_on(int64_t ns) { script_counter += (uint64_t)(ns * RATE); }
static void count_back(int64_t ns) { count_on(-ns); }

/* Moves the thread that draws next to that processor. */
static int64_t second_ahead_ns; /* by how much the second processor's counter is ahead */
static void go_to(unsigned p) {
    const int64_t more_ns = ((int64_t)p - (int64_t)runs_on) * second_ahead_ns;
    runs_on = p;
    script_counter += (uint64_t)(more_ns * RATE);
}

static void begin_fast(flake_layout layout) {
    runs_on = 0;
    second_ahead_ns = 0;
    begin(layout);
    options.clock.now_ns = NULL;
    options.clock.kind = FLAKE_CLOCK_FAST;
    script_counter = UINT64_MAX - 12345; /* it wraps around, too */
    memset((void *)&flake_i_counter, 0, sizeof flake_i_counter);
}

/* Its draws are frequent if a unit has one. */
static void open_frequent(void) {
    open_gen();
    gen.engine.frequent = 1;
}

/* Enough stretches to learn from, one after the other, on one processor or alternating. */
static void draw_stretches(unsigned n, bool on_both) {
    for (unsigned i = 0; i < n; i++) {
        if (on_both) go_to(i % 2);
        pass(stretch_ns);
        CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    }
}

/* Draws often enough to know the counter's pace, and at the start of a ms for a lease. */
static void learn(void) {
    draw_stretches(4, false);
    pass(MS - script_now.now_ns % MS);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    exact_reads = 0;
}

static int64_t now_ms(void) { return script_now.now_ns / MS; }

/* Ticks of the counter in the longest window, as they are known. */
static uint64_t pace_known(void) { return (uint32_t)atomic_load(&flake_i_counter.rate) - 1; }

static void open_fast(void) {
    begin_fast(flake_layout_idgen);
    open_frequent();
    learn();
}

/* One draw: its unit, and whether it took an exact reading. */
#define DRAWS(ms, reads)                            \
    do {                                            \
        const int before_draw = exact_reads;        \
        CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);   \
        CHECK_EQ(parts_of(&gen, id).unix_ms, ms);   \
        CHECK_EQ(exact_reads - before_draw, reads); \
    } while (0)

TEST(under_a_lease_the_clock_is_not_read) {
    open_fast();
    const int64_t ms = now_ms();
    for (unsigned i = 1; i < 200; i++) {
        DRAWS(ms, 0);
        CHECK_EQ(parts_of(&gen, id).seq, i + 1);
        pass(lease_ns / 400);
    }
}

TEST(a_lease_ends_with_its_unit) {
    open_fast();
    const int64_t ms = now_ms();
    pass(MS / 2 + MS / 16); /* after the first lease */
    DRAWS(ms, 1);
    DRAWS(ms, 0);
    pass(MS / 2 - MS / 16 - 2 * spare_ns);
    DRAWS(ms, 0);
    pass(spare_ns + 1); /* too late for another lease */
    DRAWS(ms, 1);
    DRAWS(ms, 1);
    pass(spare_ns - 1);
    DRAWS(ms + 1, 1);
    CHECK_EQ(parts_of(&gen, id).seq, 0);
    DRAWS(ms + 1, 0);
}

/* It is shorter than half a ms by the margin of what was learned. */
TEST(a_lease_ends_after_half_a_ms_of_a_long_unit) {
    begin_fast(flake_layout_of(40, 10, 12, 0));
    options.layout.unit_ms = 1000;
    open_frequent();
    draw_stretches(3, false);
    exact_reads = 0;
    for (unsigned i = 0; i < 20; i++) {
        pass(lease_ns - lease_ns / 400);
        CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
        CHECK_EQ(exact_reads, i);
        pass(lease_ns / 400 - lease_ns / 1000);
        CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
        CHECK_EQ(exact_reads, i + 1);
    }
}

TEST(nothing_is_leased_before_two_stretches_agree) {
    begin_fast(flake_layout_idgen);
    open_frequent();
    exact_reads = 0;
    for (int i = 0; i < 20; i++) {
        pass(stretch_ns);
        count_on(i % 2 ? 0 : stretch_ns / 500); /* each differs from the one before by 1 in 500 */
        DRAWS(now_ms(), i ? 1 : 2);             /* a fresh word's is read once more, after it */
        DRAWS(now_ms(), 1);
    }
    pass(stretch_ns);
    count_on(stretch_ns / 500);
    DRAWS(now_ms(), 1);
    pass(stretch_ns);
    count_on(stretch_ns / 500 + stretch_ns / 2000);
    DRAWS(now_ms(), 1); /* by 1 in 2,000 */
    DRAWS(now_ms(), 0);
}

/* Long enough that some us more or less matter little. */
TEST(what_is_learned_is_learned_from_stretches_of_10_ms) {
    begin_fast(flake_layout_idgen);
    open_frequent();
    for (int i = 0; i < 30; i++) {
        pass(MS);
        if (i % 2) count_on(4000);
        else count_back(4000);
        CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    }
    DRAWS(now_ms(), 1);
    DRAWS(now_ms(), 0);
}

TEST(nothing_is_learned_from_short_or_long_stretches) {
    begin_fast(flake_layout_idgen);
    open_frequent();
    for (int i = 0; i < 9; i++) {
        pass(INT64_C(4001) * MS);
        DRAWS(now_ms(), i ? 1 : 2);
        for (int k = 0; k < 9; k++) {
            pass(MS);
            DRAWS(now_ms(), 1);
            DRAWS(now_ms(), 1);
        }
    }
    pass(INT64_C(3980) * MS);
    DRAWS(now_ms(), 1);
    pass(INT64_C(3980) * MS);
    DRAWS(now_ms(), 1);
    DRAWS(now_ms(), 0);
}

TEST(a_counter_that_jumps_ahead_ends_the_lease) {
    open_fast();
    const int64_t ms = now_ms();
    count_on(lease_ns);
    DRAWS(ms, 1);
    DRAWS(ms, 0);
}

/* As another processor's may: the unit lasts longer by as much, but not by more than a lease. */
TEST(a_counter_that_is_behind_makes_an_id_late_by_a_lease_at_most) {
    open_fast();
    const int64_t ms = now_ms();
    pass(lease_ns / 2);
    count_back(lease_ns / 4);
    DRAWS(ms, 0);
    count_back(lease_ns / 2);
    DRAWS(ms, 1);
    count_back(INT64_C(3600000) * MS);
    DRAWS(ms, 1);
}

TEST(a_counter_that_stands_still_is_late_until_the_unit_is_spent) {
    open_fast();
    const int64_t ms = now_ms();
    for (unsigned i = 2; i < 4096; i++) {
        move_ns(MS / 100);
        DRAWS(ms, 0);
    }
    DRAWS(now_ms(), 1);
    CHECK_EQ(parts_of(&gen, id).seq, 0);
}

/* At half the pace and at two thirds of it in turn: no two stretches in a row agree. */
static void draw_at_wrong_paces(unsigned n) {
    static int64_t part = 2;
    for (unsigned i = 0; i < n; i++) {
        pass(stretch_ns);
        count_back(stretch_ns / part);
        part = 5 - part;
        DRAWS(now_ms(), 1);
        DRAWS(now_ms(), 1);
    }
}

TEST(a_counter_that_is_often_wrong_is_given_up_for_good) {
    open_fast();
    draw_at_wrong_paces(15);
    pass(stretch_ns); /* right once: all is forgotten */
    DRAWS(now_ms(), 1);
    DRAWS(now_ms(), 1);
    DRAWS(now_ms(), 0);
    for (int i = 0; i < 15; i++) {
        DRAWS(now_ms(), 0);
        draw_at_wrong_paces(1);
    }
    draw_at_wrong_paces(1);
    for (int i = 0; i < 100; i++) {
        pass(stretch_ns);
        DRAWS(now_ms(), 1);
        DRAWS(now_ms(), 1);
    }
}

TEST(a_counter_that_is_wrong_from_the_first_on_is_given_up) {
    begin_fast(flake_layout_idgen);
    open_frequent();
    draw_stretches(3, false);
    DRAWS(now_ms(), 0); /* just learned */
    draw_at_wrong_paces(16);
    DRAWS(now_ms(), 1);
}

/* While the clock is slewed, or the counter runs at another pace: two stretches that agree are the pace. */
TEST(a_pace_that_was_learned_under_a_slew_is_replaced) {
    open_fast();
    const uint64_t pace = pace_known();
    for (int i = 0; i < 6; i++) {
        pass(stretch_ns);
        if (i < 3) count_on(stretch_ns / 12);
        for (int k = 0; k < 3; k++) CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
        if (i == 2) CHECK(pace_known() > pace + pace / 13);
    }
    CHECK_EQ(pace_known(), pace);
}

TEST(a_counter_that_is_a_little_off_is_not_given_up) {
    open_fast();
    for (int i = 0; i < 100; i++) {
        pass(stretch_ns);
        count_on(stretch_ns / 9);
        DRAWS(now_ms(), 1);
        DRAWS(now_ms(), 1);
        DRAWS(now_ms(), 0);
    }
}

TEST(a_clock_that_was_put_ahead_or_back_is_seen_when_the_lease_has_ended) {
    open_fast();
    const int64_t ms = now_ms();
    move_ns(-10 * MS);
    DRAWS(ms, 0);
    pass(lease_ns);
    TRY_SAYS(FLAKE_CLOCK_BACKWARDS);
    pass(10 * MS - lease_ns);
    DRAWS(ms, 1);
    pass(MS);
    DRAWS(ms + 1, 1);
    DRAWS(ms + 1, 1);
    move_ns(3600000 * MS);
    DRAWS(ms + 1, 0);
    pass(lease_ns);
    DRAWS(now_ms(), 1);
    CHECK_EQ(now_ms(), ms + 1 + 3600000);
}

TEST(a_spent_unit_is_told_by_the_exact_clock) {
    begin_fast(flake_layout_idgen);
    options.seq_min = 10;
    options.seq_max = 12;
    open_frequent();
    learn();
    const int64_t ms = now_ms();
    pass(MS / 4);
    DRAWS(ms, 0);
    TRY_SAYS(FLAKE_AGAIN);
    CHECK_EQ(flake_retry_ns(&gen), 3 * MS / 4);
    CHECK_EQ(flake_available(&gen), 0);
    NEXT(ms + 1, 10);
    CHECK_EQ(script_now.slept_ns, 3 * MS / 4);
}

TEST(a_unit_that_was_given_is_not_leased) {
    open_fast();
    const int64_t ms = now_ms(), now_ns = script_now.now_ns;
    move_to_ms(ms + 65536);
    GIVES(flake_try_at(&gen, ms + 65536, &id), ms + 65536, 0);
    script_now.now_ns = now_ns;
    TRY_SAYS(FLAKE_CLOCK_BACKWARDS);
    pass(MS / 10);
    TRY_SAYS(FLAKE_CLOCK_BACKWARDS);
    CHECK_EQ(flake_try_at(&gen, ms, &id), FLAKE_OK);
    CHECK_EQ(exact_reads, 5); /* how far ahead it is; then two each, one of them after the word */
}

TEST(an_init_forgets_the_lease) {
    open_fast();
    options.seq_min = 1000;
    options.seq_max = 4095;
    open_frequent();
    move_ns(-10 * MS);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK_PLACE(id, now_ms(), 1000);
}

TEST(before_the_epoch_nothing_is_leased) {
    begin_fast(flake_layout_of(41, 10, 12, T + 1));
    open_frequent();
    TRY_SAYS(FLAKE_TIME_RANGE);
    pass(MS);
    DRAWS(T + 1, 2);
    learn();
    move_to_ms(T);
    count_on(lease_ns);
    TRY_SAYS(FLAKE_TIME_RANGE);
}

static void draw_in_the_next_ms(void) {
    uint64_t other_id;
    pass(MS);
    CHECK_EQ(flake_try(&gen, &other_id), FLAKE_OK);
}

/* The reading is older than the word that the other thread stored: that is no backward step. */
TEST(a_draw_that_another_thread_outruns_reads_the_clock_again) {
    open_fast();
    const int64_t ms = now_ms();
    pass(3 * MS / 4); /* the lease has ended, its unit has not */
    on_exact = draw_in_the_next_ms;
    GIVES(flake_try(&gen, &id), ms + 1, 1);
}

/* An unleased time is before the epoch, not at it: there the first unit would have no end. */
TEST(the_first_unit_of_all_is_leased_as_any_other_is) {
    begin_fast(flake_layout_of(40, 10, 12, T));
    options.layout.unit_ms = 1000;
    open_frequent();
    draw_stretches(3, false);
    DRAWS(T, 0);
    pass(lease_ns);
    DRAWS(T, 1);
    pass(1000 * MS);
    DRAWS(T + 1000, 1);
    DRAWS(T + 1000, 1);
    DRAWS(T + 1000, 0);
}

TEST(batches_have_leases_too) {
    open_fast();
    CHECK_EQ(got64_n(&gen, many, 100), 100);
    CHECK_EQ(exact_reads, 0);
}

/* ---- what one generator has learned, all know ---- */

TEST(a_second_generator_learns_nothing_again) {
    static flake_gen other;
    open_fast();
    const uint64_t rate = FLAKE_ATOMIC_LOAD(&flake_i_counter.rate, relaxed);
    CHECK(rate > 501);
    CHECK_EQ(flake_init(&other, flake_node_fixed(NULL, 1), &options, NULL), FLAKE_OK);
    uint64_t other_id;
    CHECK_EQ(flake_try(&other, &other_id), FLAKE_OK);
    CHECK_EQ(FLAKE_ATOMIC_LOAD(&other.engine.ticks_per_window, relaxed), rate - 1);
    const int reads = exact_reads;
    for (int i = 0; i < 9; i++) CHECK_EQ(flake_try(&other, &other_id), FLAKE_OK);
    CHECK_EQ(exact_reads, reads);
    CHECK_EQ(FLAKE_ATOMIC_LOAD(&flake_i_counter.rate, relaxed), rate);
}

TEST(a_cloned_machines_counter_is_measured_anew) {
    open_fast();
    const uint64_t rate = FLAKE_ATOMIC_LOAD(&flake_i_counter.rate, relaxed);
    flake_machine_cloned();
    options.clock.now_ns = NULL;
    open_frequent();
    CHECK_EQ(FLAKE_ATOMIC_LOAD(&gen.engine.ticks_per_window, relaxed), 1);
    CHECK_EQ((uint32_t)FLAKE_ATOMIC_LOAD(&flake_i_counter.rate, relaxed), 2);
    for (int i = 0; i < 4; i++) { /* it counts twice as fast */
        pass(stretch_ns);
        count_on(stretch_ns);
        CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    }
    const uint64_t anew = FLAKE_ATOMIC_LOAD(&flake_i_counter.rate, relaxed);
    CHECK_EQ((uint32_t)(anew - 1) / 100, (uint32_t)(rate - 1) * 2 / 100);
    CHECK_EQ(anew >> 32, (rate >> 32) + 1);
}

/* One that survives the clone, as that of flake_uuid7 does. */
TEST(a_generator_that_survives_a_clone_measures_the_counter_anew) {
    if (!words_reach_other_processes) return;
    begin_fast(flake_layout_idgen);
    options.shared_memory = true;
    open_frequent();
    learn();
    flake_machine_cloned();
    pass(stretch_ns);
    DRAWS(now_ms(), 1);
    DRAWS(now_ms(), 1);
    for (int i = 0; i < 9; i++) DRAWS(now_ms(), 1); /* not known yet */
    CHECK_EQ((uint32_t)FLAKE_ATOMIC_LOAD(&flake_i_counter.rate, relaxed), 2);
    learn();
    DRAWS(now_ms(), 0);
}

/* ---- which clock ---- */

TEST(the_fast_clock_is_the_default_and_the_others_are_named) {
    static const struct { int kind; uint64_t frequent, window; } cases[] = {
        {0, 15, 1}, {FLAKE_CLOCK_FAST, 15, 1}, {FLAKE_CLOCK_EXACT, UINT64_MAX, 0}, {FLAKE_CLOCK_COARSE, UINT64_MAX, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin_fast(flake_layout_idgen);
        options.clock.kind = cases[i].kind;
        open_gen();
        CHECK_EQ(gen.engine.frequent, cases[i].frequent);
        CHECK_EQ(FLAKE_ATOMIC_LOAD(&gen.engine.ticks_per_window, relaxed), cases[i].window);
    }
}

/* ---- rare draws ---- */

TEST(rare_draws_read_the_clock_alone) {
    open_fast();
    gen.engine.frequent = 15;
    const uint64_t rate = FLAKE_ATOMIC_LOAD(&flake_i_counter.rate, relaxed);
    for (int i = 0; i < 100; i++) {
        pass(3 * MS / 2);
        DRAWS(now_ms(), 1);
        CHECK_EQ(FLAKE_ATOMIC_LOAD(&gen.engine.ticks_per_window, relaxed), 0);
    }
    CHECK_EQ(FLAKE_ATOMIC_LOAD(&flake_i_counter.rate, relaxed), rate);
}

TEST(frequent_draws_have_leases_again) {
    begin_fast(flake_layout_idgen);
    open_gen();
    CHECK_EQ(gen.engine.frequent, 15); /* in a ms */
    gen.engine.frequent = 1;
    learn();
    gen.engine.frequent = 15;
    for (int more = 0; more < 2; more++) {
        pass(MS);
        DRAWS(now_ms(), 1); /* rare; the first ticket of the ms */
        for (int i = 1; i < 14 + more; i++) DRAWS(now_ms(), 1);
    }
    pass(MS);
    DRAWS(now_ms(), 1);
    DRAWS(now_ms(), 1);
    DRAWS(now_ms(), 0);
}

TEST(frequent_draws_read_the_clock_three_times_a_ms) {
    open_fast();
    gen.engine.frequent = 15;
    const int64_t began_ms = now_ms();
    for (int i = 0; i < 2500; i++) {
        pass(40000);
        CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
        CHECK_PLACE(id, now_ms(), script_now.now_ns % MS / 40000 + (now_ms() == began_ms ? 1 : 0));
    }
    CHECK(exact_reads <= 3 * (now_ms() - began_ms));
}

/* ---- processors whose counters differ ---- */

static const int64_t far_ns = 3600000 * MS;

/* A thread on either: IDs rise, and none is late by more than the counters differ, or a lease. */
static void draw_on_both(int64_t ahead_ns, int64_t late_ns) {
    enum { draws = 20000 };
    uint64_t random = 1, last = 0;
    unsigned moves = 0, wrong = 0, late = 0;
    open_fast();
    second_ahead_ns = ahead_ns;
    for (unsigned i = 0; i < draws; i++) {
        const unsigned to = (unsigned)random_below(&random, 2);
        moves += to != runs_on;
        go_to(to);
        pass((int64_t)random_below(&random, (uint64_t)lease_ns / 4));
        if (!gen.engine.ticks_per_window) gen.engine.ticks_per_window = 1; /* as if frequent */
        CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
        const int64_t ends_ns = (parts_of(&gen, id).unix_ms + 1) * MS;
        wrong += id <= last || ends_ns - MS > script_now.now_ns ||
                 ends_ns + late_ns <= script_now.now_ns;
        late += ends_ns <= script_now.now_ns;
        last = id;
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(late > 0, late_ns > 0);
    CHECK(moves > draws / 3);
    CHECK(exact_reads < draws); /* there are leases */
}

TEST(processors_whose_counters_differ_share_a_word) {
    draw_on_both(far_ns, 0);
    draw_on_both(-far_ns, 0);
    draw_on_both(lease_ns, lease_ns);
    draw_on_both(-lease_ns, lease_ns);
    draw_on_both(lease_ns / 4, lease_ns / 4);
    draw_on_both(-lease_ns / 4, lease_ns / 4);
}

TEST(processors_whose_counters_differ_are_given_up) {
    for (int behind = 0; behind < 2; behind++) {
        open_fast();
        second_ahead_ns = behind ? -far_ns : far_ns;
        for (unsigned i = 1; i <= 16; i++) { /* each stretch ends on the other processor */
            DRAWS(now_ms(), 0);
            go_to(i % 2);
            pass(stretch_ns);
            DRAWS(now_ms(), 1);
            DRAWS(now_ms(), 1);
        }
        for (unsigned i = 0; i < 100; i++) {
            go_to(i % 2);
            pass(MS / 10);
            DRAWS(now_ms(), 1);
            DRAWS(now_ms(), 1);
        }
    }
}

static void open_lanes(int64_t ahead_ns) {
    static flake_lane array[2];
    begin_fast(flake_layout_idgen);
    second_ahead_ns = ahead_ns;
    options.lanes = array;
    options.lane_count = 2;
    open_frequent();
    draw_stretches(4, false);
    draw_stretches(8, true);
    exact_reads = 0;
}

TEST(lanes_follow_the_processor) {
    enum { draws = 20000 };
    for (int behind = 0; behind < 2; behind++) {
        uint64_t random = 1;
        unsigned wrong = 0;
        open_lanes(behind ? -far_ns : far_ns);
        int64_t began_ms = 0;
        for (unsigned i = 0; i < draws; i++) {
            if (i == draws / 10) { /* they are known to be frequent */
                began_ms = now_ms();
                exact_reads = 0;
            }
            go_to((unsigned)random_below(&random, 2));
            pass((int64_t)random_below(&random, (uint64_t)lease_ns / 100));
            CHECK_EQ(flake_try(&gen, &many[i]), FLAKE_OK);
            wrong += parts_of(&gen, many[i]).unix_ms != now_ms();
        }
        CHECK_EQ(wrong, 0);
        CHECK_EQ(count_duplicates(many, draws), 0);
        /* of each processor two a ms and one at its start: each has its own leases */
        CHECK(exact_reads <= 2 * 3 * (now_ms() - began_ms + 1));
    }
}

/* The second processor reads its counter before it loads what the first has published. */
TEST(lanes_rise_where_a_counter_is_read_early) {
    static const int64_t early_ns[] = {0, 100, 1000, 2000};
    for (unsigned k = 0; k < sizeof early_ns / sizeof *early_ns; k++) {
        open_lanes(0);
        for (int64_t left_ns = lease_ns / 2; left_ns; left_ns /= 2) {
            pass(2 * MS - script_now.now_ns % MS - left_ns);
            for (unsigned p = 0; p < 4; p++) {
                const int64_t early = p == 3 ? early_ns[k] : 0;
                if (p == 2) pass(left_ns); /* both lanes are in the unit */
                go_to(p % 2);
                count_back(early);
                CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
                count_on(early);
                if (p >= 2) CHECK_EQ(parts_of(&gen, id).unix_ms, now_ms());
            }
        }
    }
}

TEST(who_has_a_clock_of_his_own_has_no_leases) {
    begin_fast(flake_layout_idgen);
    options.clock.now_ns = script_read;
    options.clock.user = &script_now;
    open_frequent();
    learn();
    pass(MS / 4);
    move_ns(2 * MS);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK_EQ(parts_of(&gen, id).unix_ms, now_ms());
}

TEST(one_id_a_unit_and_a_count_without_a_spare_bit_are_drawn_by_it) {
    begin_fast(flake_layout_idgen);
    options.seq_min = options.seq_max = 1;
    open_frequent();
    for (int i = 0; i < 9; i++) {
        pass(stretch_ns);
        CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
        TRY_SAYS(FLAKE_AGAIN);
    }
    begin_fast(flake_layout_of(44, 0, 20, 0));
    open_frequent();
    for (int i = 0; i < 9; i++) {
        pass(stretch_ns);
        CHECK_EQ(got64_n(&gen, many, 1 << 20), 1 << 20);
        CHECK_PLACE(many[(1 << 20) - 1], now_ms(), (1 << 20) - 1);
        TRY_SAYS(FLAKE_AGAIN);
    }
}

/* A lease of 500 counts less its margin would be of 499: such a slow counter is useless. */
TEST(a_slow_counter_is_used_from_501_counts_a_lease_on) {
    static const struct { uint64_t us, window; } cases[] = {{10047, 1}, {10027, 500}};
    for (size_t i = 0; i < 2; i++) {
        memset((void *)&flake_i_counter, 0, sizeof flake_i_counter);
        CHECK_EQ(flake_i_counter_window(), 1); /* not known yet */
        for (uint64_t k = 1; k < 4; k++) /* 9600 counts in each stretch */
            (void)flake_i_calibrate(9600 * k, (int64_t)(cases[i].us * k * 1000));
        CHECK_EQ(flake_i_counter_window(), cases[i].window);
    }
}

int main(int argc, char **argv) { return check_main(argc, argv); }
