/* SPDX-License-Identifier: MIT
 *
 * An introduction to the engine: one call after the other, on a scripted clock. First a draw, the next one of the
 * same unit, an exhausted unit and a clock that goes backwards; then the ends of time, max_ahead_ms (I3), a unit that
 * fills its count ("why a unit may fill its count") and seq_scatter. That a call which fails changes nothing (I4) is
 * part of each EXPECT_STATUS. test_random_flake.c has any calls, options, layouts and clocks.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#include "scripted_flake.h"

/* ---- a unit ---- */

TEST(each_draw_has_the_next_number_of_the_clocks_unit) {
    open_gen(begin_with_three());
    EXPECT_ID(flake_next(&gen, &id), T, 10);
    EXPECT_ID(flake_next(&gen, &id), T, 11);
    move_ns(MS - 1); /* the last ns of the unit */
    EXPECT_ID(flake_try(&gen, &id), T, 12);
    move_ns(1 + 49 * MS); /* 50 units later */
    EXPECT_ID(flake_try(&gen, &id), T + 50, 10);
    EXPECT_ID(flake_try(&gen, &id), T + 50, 11);
    CHECK_EQ(script_now.sleeps, 0);
}

TEST(in_an_exhausted_unit_try_returns_again_and_next_sleeps_until_the_unit_after) {
    open_gen(begin_with_three());
    move_ns(MS / 4);
    for (unsigned number = 10; number <= 12; number++) EXPECT_ID(flake_next(&gen, &id), T, number);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(flake_retry_ns(&gen), MS - MS / 4);
    CHECK_EQ(script_now.sleeps, 0);
    EXPECT_ID(flake_next(&gen, &id), T + 1, 10);
    CHECK_EQ(script_now.sleeps, 1);
    CHECK_EQ(script_now.slept_ns, MS - MS / 4);
    CHECK_EQ(script_now.now_ns, (T + 1) * MS);
    EXPECT_ID(flake_next(&gen, &id), T + 1, 11);
}

TEST(next_waits_for_a_clock_that_is_behind_by_max_wait_ms_at_most) {
    static const int64_t given_ms[] = {500, 0}, waits_ms[] = {500, 1000}; /* by default a second */
    for (size_t i = 0; i < 2; i++) {
        flake_options o = begin_with_three();
        o.max_wait_ms = given_ms[i];
        open_gen(o);
        CHECK_EQ(flake_gen_options(&gen)->max_wait_ms, waits_ms[i]);
        EXPECT_ID(flake_next(&gen, &id), T, 10);
        move_ns(-waits_ms[i] * MS - 1);
        EXPECT_STATUS(flake_try(&gen, &id), FLAKE_CLOCK_BACKWARDS);
        EXPECT_STATUS(flake_next(&gen, &id), FLAKE_CLOCK_BACKWARDS);
        CHECK_EQ(script_now.sleeps, 0);
        move_ns(1);
        EXPECT_ID(flake_next(&gen, &id), T, 11);
        CHECK_EQ(script_now.slept_ns, waits_ms[i] * MS);
        CHECK_EQ(script_now.now_ns, T * MS);
    }
}

/* ---- the ends of time ---- */

TEST(before_the_epoch_and_after_the_last_unit_there_are_no_ids) {
    const int64_t last_ms = T + 1023000; /* 1024 units of a second */
    flake_options o = begin(flake_layout_of(10, 4, 4, T));
    o.layout.unit_ms = 1000;
    o.seq_min = 1;
    o.seq_max = 3;
    open_gen(o);
    move_ns(-1);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_TIME_RANGE);
    CHECK_EQ(flake_retry_ns(&gen), 1);
    move_ns(1);
    EXPECT_ID(flake_try(&gen, &id), T, 1);
    move_to_ms(last_ms + 999);
    EXPECT_ID(flake_try(&gen, &id), last_ms, 1);
    CHECK_EQ(flake_next_n(&gen, many, 4), FLAKE_TIME_RANGE);
    CHECK(id_is(many[0], last_ms, 2) && id_is(many[1], last_ms, 3));
    CHECK(many[2] == 0 && many[3] == 0);
    move_ns(MS);
    EXPECT_STATUS(flake_next(&gen, &id), FLAKE_TIME_RANGE);
    CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
    CHECK_EQ(flake_available(&gen), 0);
    CHECK_EQ(script_now.sleeps, 0);
}

/* ---- max_ahead_ms ---- */

TEST(hazelcast_borrows_15_seconds_and_then_waits) {
    const size_t n = 15001 * 64;
    size_t wrong = 0;
    flake_options o = begin(flake_layout_hazelcast);
    o.max_ahead_ms = 15000;
    open_gen(o);
    CHECK_EQ(flake_available(&gen), n);
    CHECK_EQ(got64_n(&gen, many, n), n);
    for (size_t i = 0; i < n; i++) wrong += !id_is(many[i], T + (int64_t)i / 64, i % 64);
    CHECK_EQ(wrong, 0);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(flake_ahead_ms(&gen), 15000);
    move_ns(MS / 4);
    CHECK_EQ(flake_retry_ns(&gen), MS - MS / 4);
    EXPECT_ID(flake_next(&gen, &id), T + 15001, 0);
    CHECK_EQ(script_now.slept_ns, MS - MS / 4);
}

TEST(the_word_is_ahead_of_the_clock_only_if_count_cannot_hold_max_ahead_ms) {
    flake_options o = begin(flake_layout_mastodon);
    o.max_ahead_ms = 11; /* count can just hold them: a clock before the word went backwards */
    open_gen(o);
    EXPECT_ID(flake_try(&gen, &id), T, 0);
    move_ns(-MS);
    EXPECT_ID(flake_try(&gen, &id), T, 1);
    CHECK_EQ(stats_now().clock_backwards, 1);
    o = begin(flake_layout_of(44, 1, 19, 0));
    o.max_ahead_ms = 1; /* the word moves ahead: this is no backward step, nor is an earlier given time */
    open_gen(o);
    CHECK_EQ(got64_n(&gen, many, 2 << 19), 2 << 19);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(stats_now().clock_backwards, 0);
    EXPECT_STATUS(flake_try_at(&gen, T - 5, &id), FLAKE_AGAIN);
    EXPECT_ID(flake_try_at(&gen, T + 1, &id), T + 2, 0);
}

/* ---- layouts whose count has few bits to spare ---- */

/* By the fast path alone: each ticket after the first, and the last, which carries into time. */
TEST(a_unit_that_fills_its_count_is_drawn_fast) {
    enum { unit_capacity = 1 << 20 };
    uint64_t word;
    flake_i_ticket ticket;
    flake_i_engine *const e = &gen.engine;
    int64_t now_ns;
    open_gen(begin(flake_layout_of(44, 0, 20, 0)));
    for (uint64_t n = 1; n <= 3; n++) { /* the last alone, and in batches */
        const uint64_t unit = (uint64_t)T + n;
        move_ns(MS);
        EXPECT_ID(flake_try(&gen, &id), unit, 0);
        e->word += unit_capacity - 1 - n;
        for (uint64_t drawn = 0; drawn < n; drawn += ticket.n) {
            CHECK_EQ(flake_i_draw_any(e, 0, drawn ? 5 : 1, &word, &now_ns, &ticket), 0);
            CHECK_EQ(ticket.time, unit);
            CHECK_EQ(ticket.index, unit_capacity - n + drawn);
            CHECK_EQ(ticket.n, drawn ? n - 1 : 1);
        }
        CHECK_EQ(e->word, (unit + 1) << e->time_shift);
        CHECK_EQ(flake_i_draw_any(e, 0, 1, &word, &now_ns, &ticket), FLAKE_I_ELSE);
        EXPECT_STATUS(flake_try(&gen, &id), FLAKE_AGAIN);
    }
    CHECK_EQ(stats_now().ids, 3 * unit_capacity);
}

/* Since 1677 time takes 45 of 64 bits, since 1970 44. */
TEST(fetch_add_needs_a_count_of_20_bits) {
    for (int since_1970 = 0; since_1970 < 2; since_1970++) {
        open_gen(begin(flake_layout_of(45, 5, 13, since_1970 ? 0 : -INT64_MAX / MS)));
        CHECK_EQ(gen.engine.add_limit, since_1970 ? 8191 : 0);
    }
}

/* ---- seq_scatter ---- */

static void open_scattered(void) {
    flake_options o = begin(flake_layout_idgen);
    o.seq_scatter = true;
    open_gen(o);
}

TEST(scattered_units_begin_at_different_numbers) {
    open_scattered();
    for (int64_t i = 0; i < 1000; i++, move_ns(MS)) {
        CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
        CHECK_EQ(parts_of(id).unix_ms, T + i);
        many[i] = parts_of(id).seq;
    }
    CHECK(count_duplicates(many, 1000) < 200);
    open_scattered();
    move_to_ms(100000018026); /* where the last bit of the factor matters */
    EXPECT_ID(flake_next(&gen, &id), 100000018026, 2745);
}

TEST(at_one_scattered_id_a_unit_the_remainders_are_even) {
    static const int64_t every_ms[] = {1, 7, 10, 1000, 1024, 60000};
    static const unsigned divisors[] = {2, 3, 5, 7, 8, 10, 16, 32, 100};
    for (size_t e = 0; e < 6; e++)
        for (size_t d = 0; d < 9; d++) {
            const unsigned n = divisors[d];
            unsigned counts[100] = {0};
            open_scattered();
            for (unsigned i = 0; i < 500 * n; i++, move_ns(every_ms[e] * MS)) {
                CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
                counts[id % n]++;
            }
            for (unsigned i = 0; i < n; i++) CHECK(counts[i] > 350 && counts[i] < 650);
        }
}
