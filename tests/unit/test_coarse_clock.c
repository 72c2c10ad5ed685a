/* SPDX-License-Identifier: MIT
 *
 * The coarse clock, which lags 4 ms behind the exact one, with a slack of 8 ms ("why a coarse clock is safe"; I2, I3):
 * while IDs are available no draw reads the exact clock, and a short backward step goes unnoticed.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#include "scripted_flake.h"

/* The exact clock reads T, the coarse one T - 4; with three numbers a ms. */
static flake_options begin_coarse(void) {
    flake_options o = begin_with_three();
    o.clock.now_ns = NULL;
    o.clock.kind = FLAKE_CLOCK_COARSE;
    o.max_wait_ms = 5000; /* long enough for draws by fetch_add */
    script_now.coarse_lag_ns = 4 * MS;
    script_now.coarse_slack_ns = 8 * MS;
    return o;
}

/* The same of a generator that has drawn before T - 4, so that its word is not fresh. */
static void open_used(flake_options o) {
    move_ns(-5 * MS);
    open_gen(o);
    EXPECT_ID(flake_try(&gen, &id), T - 5, 10);
    move_ns(5 * MS);
    script_now.exact_reads = 0;
}

TEST(draws_read_the_exact_clock_only_when_the_coarse_ones_unit_is_exhausted) {
    open_used(begin_coarse());
    EXPECT_ID(flake_next(&gen, &id), T - 4, 10);
    EXPECT_ID(flake_try(&gen, &id), T - 4, 11);
    CHECK_EQ(got64_n(&gen, many, 1), 1);
    CHECK_EQ(script_now.exact_reads, 0);
    EXPECT_ID(flake_try(&gen, &id), T, 10);
    EXPECT_ID(flake_try(&gen, &id), T, 11);
    CHECK_EQ(got64_n(&gen, many, 1), 1);
    CHECK(id_is(many[0], T, 12));
    CHECK_EQ(script_now.exact_reads, 1); /* once one has used the exact clock, not all do */
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(flake_retry_ns(&gen), MS);
    EXPECT_ID(flake_next(&gen, &id), T + 1, 10);
    CHECK_EQ(script_now.slept_ns, MS);
    CHECK_EQ(flake_available(&gen), 2);
    CHECK_EQ(got64_n(&gen, many, 5), 2);
    CHECK_EQ(flake_next_n(&gen, many, 5), FLAKE_OK);
    CHECK(id_is(many[4], T + 3, 11));
    CHECK_EQ(stats_now().clock_backwards, 0);
}

/* An earlier run may have used the units between the coarse reading and the exact one. */
TEST(a_fresh_word_begins_at_an_exact_reading) {
    const flake_options o = begin_coarse();
    open_gen(o);
    EXPECT_ID(flake_try(&gen, &id), T, 10);
    CHECK_EQ(script_now.exact_reads, 1);
    EXPECT_ID(flake_try(&gen, &id), T, 11);
    move_ns(4 * MS);
    EXPECT_ID(flake_try(&gen, &id), T, 12);
    CHECK_EQ(script_now.exact_reads, 1);
}

/* The lag counts from the first unit, but not before the exact clock has entered it. */
TEST(a_fresh_word_near_the_epoch_takes_an_exact_reading) {
    flake_options o = begin_coarse();
    o.layout = flake_layout_of(41, 10, 12, T);
    open_gen(o);
    EXPECT_ID(flake_try(&gen, &id), T, 10); /* the coarse one reads T - 4 */
    CHECK_EQ(script_now.exact_reads, 1);
    open_gen(o);
    move_ns(-MS);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_TIME_RANGE);
}

/* One to two slacks after the newest unit: an ID of that unit would be late by more than one. */
TEST(a_coarse_clock_past_the_unit_begins_a_new_one) {
    for (int ms = 9; ms < 16; ms++) {
        open_used(begin_coarse());
        EXPECT_ID(flake_try(&gen, &id), T - 4, 10);
        move_ns(ms * MS);
        EXPECT_ID(flake_try(&gen, &id), T - 4 + ms, 10);
    }
}

/* In a unit that is not exhausted, by up to the slack, as the coarse clock reads it. */
TEST(a_step_back_by_up_to_the_slack_goes_unnoticed) {
    open_used(begin_coarse());
    EXPECT_ID(flake_try(&gen, &id), T - 4, 10);
    move_ns(-4 * MS); /* it reads T - 8 */
    EXPECT_ID(flake_try(&gen, &id), T - 4, 11);
    move_ns(-4 * MS);
    CHECK_EQ(flake_retry_ns(&gen), 0);
    CHECK_EQ(flake_available(&gen), 1);
    CHECK_EQ(script_now.exact_reads, 0);
    move_ns(-1); /* a ns more than 8 ms */
    CHECK_EQ(flake_retry_ns(&gen), 4 * MS + 1);
    CHECK_EQ(flake_available(&gen), 0);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_CLOCK_BACKWARDS);
    move_ns(1);
    EXPECT_ID(flake_try(&gen, &id), T - 4, 12);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_CLOCK_BACKWARDS); /* exhausted */
    move_ns(8 * MS);
    EXPECT_ID(flake_try(&gen, &id), T, 10);
}

TEST(a_clock_of_the_programs_own_has_no_slack) {
    flake_options o = begin_coarse();
    o.clock.now_ns = script_read; /* its user is set */
    open_gen(o);
    EXPECT_ID(flake_try(&gen, &id), T, 10);
    move_ns(-1);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_CLOCK_BACKWARDS);
}

/* A ticket ahead of the clock is not available for longer because the clock lags. */
TEST(ids_ahead_of_a_coarse_clock_are_so_by_its_exact_reading) {
    flake_options o = begin_coarse();
    o.max_ahead_ms = 2;
    open_gen(o);
    for (unsigned i = 0; i < 9; i++) EXPECT_ID(flake_try(&gen, &id), T + i / 3, 10 + i % 3);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_AGAIN);
}

TEST(a_coarse_clock_never_wakes_a_waiter_late) {
    open_used(begin_coarse());
    for (unsigned i = 0; i < 30; i++) CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK(id_is(id, T + 8, 12));
    CHECK_EQ(script_now.now_ns, (T + 8) * MS);
}
