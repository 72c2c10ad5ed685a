/* SPDX-License-Identifier: MIT
 *
 * An introduction to the engine: one call after the other, on a scripted clock. First a draw, the next one of the
 * same unit, an exhausted unit and a clock that goes backwards; then the ends of time, a caller's time, max_ahead_ms
 * (I3), layouts whose count has few bits to spare ("why a unit may fill its count") and seq_scatter. That a call
 * which fails changes nothing (I4) is part of each EXPECT_STATUS. test_random_flake.c has random calls and clocks.
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

TEST(next_gives_up_after_max_wait_ms_though_the_clock_stands_still) {
    flake_options o = begin_with_three();
    o.max_wait_ms = 5;
    open_gen(o);
    CHECK_EQ(got64_n(&gen, many, 3), 3);
    script_now.per_sleep = 0;
    EXPECT_STATUS(flake_next(&gen, &id), FLAKE_AGAIN);
    CHECK(script_now.sleeps > 0 && script_now.slept_ns <= 5 * MS);
    script_now.per_sleep = -1;
    EXPECT_ID(flake_next(&gen, &id), T + 1, 10);
}

/* ---- the ends of time ---- */

TEST(before_the_epoch_there_are_no_ids) {
    for (int64_t epoch = -T; epoch <= T; epoch += 2 * T) { /* of 1916, or of 2023 */
        const flake_options o = begin(flake_layout_of(41, 10, 12, epoch));
        move_to_ms(epoch);
        open_gen(o);
        move_ns(-1);
        EXPECT_STATUS(flake_try(&gen, &id), FLAKE_TIME_RANGE);
        EXPECT_STATUS(flake_next(&gen, &id), FLAKE_TIME_RANGE);
        CHECK_EQ(flake_next_n(&gen, many, 2), FLAKE_TIME_RANGE);
        CHECK_EQ(got64_n(&gen, many, 2), 0);
        CHECK_EQ(flake_available(&gen), 0);
        CHECK_EQ(flake_retry_ns(&gen), 1);
        CHECK_EQ(script_now.sleeps, 0);
        move_ns(1);
        EXPECT_ID(flake_try(&gen, &id), epoch, 0);
        move_to_ms(epoch + 50);
        EXPECT_ID(flake_try(&gen, &id), epoch + 50, 0);
        move_to_ms(epoch - 100);
        CHECK_EQ(flake_retry_ns(&gen), 150 * MS);
    }
}

TEST(the_last_unit_is_used_up_and_none_comes_after) {
    const flake_options o = begin_short_era();
    const int64_t last_ms = T + 1023000;
    open_gen(o);
    CHECK_EQ(flake_layout_end_ms(&o.layout), last_ms + 999);
    move_to_ms(last_ms + 999);
    EXPECT_ID(flake_try(&gen, &id), last_ms, 1);
    EXPECT_ID(flake_next(&gen, &id), last_ms, 2);
    CHECK_EQ(flake_available(&gen), 1);
    CHECK_EQ(flake_next_n(&gen, many, 4), FLAKE_TIME_RANGE);
    CHECK(id_is(many[0], last_ms, 3));
    CHECK(many[1] == 0 && many[3] == 0);
    for (int64_t ms = last_ms + 999; ms <= last_ms + 1000; ms++) {
        move_to_ms(ms);
        EXPECT_STATUS(flake_try(&gen, &id), FLAKE_TIME_RANGE);
        EXPECT_STATUS(flake_next(&gen, &id), FLAKE_TIME_RANGE);
        CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
        CHECK_EQ(flake_available(&gen), 0);
        CHECK_EQ(script_now.sleeps, 0);
    }
    open_gen(o); /* an unused one */
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_TIME_RANGE);
    CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
    move_ns(-1);
    EXPECT_ID(flake_try(&gen, &id), last_ms, 1);
}

TEST(a_clock_reading_at_either_end_of_its_type_is_out_of_range) {
    open_gen(begin_with_three());
    EXPECT_ID(flake_try(&gen, &id), T, 10);
    script_now.now_ns = INT64_MIN;
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_TIME_RANGE);
    EXPECT_STATUS(flake_next(&gen, &id), FLAKE_TIME_RANGE);
    CHECK(flake_retry_ns(&gen) > 0);
    CHECK_EQ(flake_available(&gen), 0);
    script_now.now_ns = INT64_MAX;
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_TIME_RANGE);
    EXPECT_STATUS(flake_next(&gen, &id), FLAKE_TIME_RANGE);
    CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
    move_to_ms(T);
    EXPECT_ID(flake_try(&gen, &id), T, 11);
}

TEST(a_clock_that_a_sleep_finds_before_the_epoch_is_out_of_range) {
    static const int64_t readings_ns[] = {-1, INT64_MIN};
    open_gen(begin_with_three());
    CHECK_EQ(got64_n(&gen, many, 3), 3);
    for (size_t i = 0; i < 2; i++) {
        script_now.jump_to_ns = readings_ns[i];
        EXPECT_STATUS(flake_next(&gen, &id), FLAKE_TIME_RANGE);
        move_to_ms(T);
    }
    EXPECT_ID(flake_next(&gen, &id), T + 1, 10);
}

/* The engine divides by a multiplication. */
TEST(a_leap_of_any_length_lands_in_the_unit_that_a_division_says) {
    static const uint32_t lengths[] = {1, 2, 3, 7, 10, 999, 1000, 1024, 86400001, UINT32_MAX};
    uint64_t state = 14;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const int64_t unit_ns = lengths[i] * MS;
        flake_options o = begin(flake_layout_of(40, 10, 12, 0));
        const flake_node node = flake_node_fixed(NULL, 0);
        o.layout.unit_ms = lengths[i];
        for (unsigned k = 0; k < 3000; k++) {
            const int64_t begin_ns = (int64_t)(random_next(&state) >> (2 + k % 30));
            const int64_t leap_ns = (int64_t)(random_next(&state) >> (2 + random_next(&state) % 60));
            const int64_t whole_ns = leap_ns / unit_ns * unit_ns - begin_ns % unit_ns;
            const int64_t ends[] = {leap_ns, whole_ns - 1, whole_ns, whole_ns + 1};
            script_now.now_ns = begin_ns;
            if (begin_ns < unit_ns || flake_init(&gen, node, &o, NULL) != FLAKE_OK || flake_try(&gen, &id) != FLAKE_OK)
                continue;
            for (unsigned n = 0; n < 4; n++) {
                script_now.now_ns = begin_ns + ends[n];
                if (ends[n] < 0 || flake_init(&gen, node, &o, NULL) != FLAKE_OK) continue;
                CHECK_EQ(flake_try_at(&gen, begin_ns / MS, &id), FLAKE_OK);
                const flake_status status = flake_try(&gen, &id);
                if (status == FLAKE_OK) CHECK_EQ(parts_of(id).unix_ms, script_now.now_ns / unit_ns * lengths[i]);
                else CHECK_EQ(status, FLAKE_TIME_RANGE);
            }
        }
    }
}

/* ---- the caller's time ---- */

TEST(try_at_refuses_a_time_that_the_layout_cannot_express) {
    open_gen(begin_short_era());
    const int64_t outside[] = {T - 1, T + 1024000, INT64_MIN, INT64_MAX, INT64_MAX / 1000000};
    for (size_t i = 0; i < 5; i++) EXPECT_STATUS(flake_try_at(&gen, outside[i], &id), FLAKE_TIME_RANGE);
    EXPECT_ID(flake_try_at(&gen, T, &id), T, 1);
    EXPECT_ID(flake_try_at(&gen, T - 1, &id), T, 2); /* only older than the newest unit */
    move_to_ms(T + 1023999);
    EXPECT_ID(flake_try_at(&gen, T + 1023999, &id), T + 1023000, 1);
    EXPECT_STATUS(flake_try_at(&gen, T + 1024000, &id), FLAKE_TIME_RANGE);

    const int64_t first_ms = -(INT64_MAX / 1000000); /* of an int64_t of ns */
    open_gen(begin(flake_layout_of(41, 10, 12, first_ms)));
    EXPECT_STATUS(flake_try_at(&gen, first_ms - 1, &id), FLAKE_TIME_RANGE);
    EXPECT_ID(flake_try_at(&gen, first_ms, &id), first_ms, 0);
}

TEST(a_leap_is_counted_and_a_given_time_may_be_of_any_past) {
    open_gen(begin(flake_layout_of(63, 0, 1, 0))); /* up to the clock's end */
    move_to_ms(INT64_MAX / MS - 3);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    const int64_t newest = parts_of(id).unix_ms;
    EXPECT_ID(flake_try_at(&gen, INT64_MIN, &id), newest, 1);
    EXPECT_STATUS(flake_try_at(&gen, INT64_MIN, &id), FLAKE_AGAIN);
    CHECK_EQ(stats_now().ids, 2);
    EXPECT_ID(flake_try_at(&gen, INT64_MAX / MS - 2, &id), newest + 1, 0);
    CHECK_EQ(stats_now().ids, 3);
}

/* ---- max_ahead_ms ---- */

/* Draws `n` tickets in uneven batches, and checks that they follow each other from the first one of first_ms on. */
static void draw_in_a_row(uint64_t n, uint64_t unit_capacity, int64_t first_ms) {
    static const size_t sizes[] = {sizeof many / sizeof *many, 4097, 1, 65536, 3};
    const flake_options *const o = flake_gen_options(&gen);
    uint64_t drawn = 0, expected = 0, wrong = 0;
    for (size_t batch = 0; drawn < n; batch++) {
        const size_t size = sizes[batch % 5] < n - drawn ? sizes[batch % 5] : (size_t)(n - drawn);
        const size_t got = got64_n(&gen, many, size);
        CHECK_EQ(got, size);
        if (!got) return;
        for (size_t i = 0; i < got; i++, drawn++, expected += (uint64_t)1 << o->layout.seq_shift) {
            if (drawn % unit_capacity == 0) {
                const flake_parts first = {first_ms + (int64_t)(drawn / unit_capacity),
                                           o->layout.node_bits ? flake_gen_node(&gen) : 0, o->seq_min};
                CHECK_EQ(flake_compose(&o->layout, &first, &expected), FLAKE_OK);
            }
            wrong += many[i] != expected;
        }
    }
    CHECK_EQ(wrong, 0);
}

TEST(hazelcast_borrows_15_seconds_and_then_waits) {
    flake_options o = begin(flake_layout_hazelcast);
    o.max_ahead_ms = 15000;
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 7), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_available(&gen), 15001 * 64);
    draw_in_a_row(15001 * 64, 64, T);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(flake_available(&gen), 0);
    CHECK_EQ(flake_ahead_ms(&gen), 15000);
    move_ns(MS / 4);
    CHECK_EQ(flake_retry_ns(&gen), MS - MS / 4);
    EXPECT_ID(flake_next(&gen, &id), T + 15001, 0);
    CHECK_EQ(script_now.slept_ns, MS - MS / 4);
    move_ns(MS);
    CHECK_EQ(got64_n(&gen, many, 1000), 63 + 64);
    CHECK(id_is(many[0], T + 15001, 1));
    CHECK(id_is(many[126], T + 15002, 63));
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
    draw_in_a_row(2 << 19, 1 << 19, T);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(stats_now().clock_backwards, 0);
    EXPECT_STATUS(flake_try_at(&gen, T - 5, &id), FLAKE_AGAIN);
    EXPECT_ID(flake_try_at(&gen, T + 1, &id), T + 2, 0);
}

/* The count has 21 bits, of which so many tickets use up all but one. */
TEST(tickets_far_ahead_do_not_overflow_count) {
    const size_t n = sizeof many / sizeof *many; /* 2^20 */
    uint64_t last = 0;
    flake_options o = begin(flake_layout_of(43, 0, 20, T - 1000));
    o.seq_max = 199999;
    o.max_ahead_ms = 20;
    open_gen(o);
    for (int i = 0; i < 2; i++) {
        size_t rising = 0;
        CHECK_EQ(got64_n(&gen, many, n), n);
        for (size_t k = 0; k < n; last = many[k++]) rising += many[k] > last;
        CHECK_EQ(rising, n);
    }
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK(id > last);
}

/* ---- layouts whose count has few bits to spare ---- */

static void use_up_whole_units(flake_layout layout) {
    const uint64_t n = (uint64_t)1 << layout.seq_bits;
    open_gen(begin(layout));
    draw_in_a_row(n - 1, n, T);
    EXPECT_ID(flake_try(&gen, &id), T, n - 1);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(flake_available(&gen), 0);
    CHECK_EQ(flake_ahead_ms(&gen), 0);
    CHECK_EQ(flake_retry_ns(&gen), MS);
    move_ns(MS - 1);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_AGAIN);
    move_ns(-MS);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_CLOCK_BACKWARDS);
    EXPECT_ID(flake_next(&gen, &id), T + 1, 0);
    CHECK_EQ(script_now.now_ns, (T + 1) * MS);
    CHECK_EQ(stats_now().waits, 1); /* however often it slept */
    CHECK_EQ(got64_n(&gen, many, 3), 3);
    CHECK(id_is(many[2], T + 1, 3));
    move_ns(MS);
    CHECK_EQ(flake_available(&gen), n);
    draw_in_a_row(n, n, T + 2);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_AGAIN);
    move_ns(10 * MS);
    EXPECT_ID(flake_try(&gen, &id), T + 12, 0);
}

TEST(a_count_with_few_spare_bits_or_none_uses_up_each_unit) {
    use_up_whole_units(flake_layout_of(44, 0, 20, 0));
    use_up_whole_units(flake_layout_of(42, 3, 19, 0));
#ifndef TEST_SMALL
    use_up_whole_units(flake_layout_of(40, 0, 24, T - 1000));
    for (unsigned spare = 0; spare <= 5; spare++) use_up_whole_units(flake_layout_of(42, spare, 22 - spare, 0));
#endif
}

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

/* Its clock continues, but a full last unit would carry out of the word. */
TEST(a_layout_that_fills_all_64_bits_ends_a_unit_earlier) {
    const int64_t epoch_ms = -INT64_C(9200000000000), last_ms = epoch_ms + (INT64_C(1) << 44) - 2;
    open_gen(begin(flake_layout_of(44, 0, 20, epoch_ms)));
    move_to_ms(last_ms);
    draw_in_a_row(1 << 20, 1 << 20, last_ms);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_TIME_RANGE);
    move_ns(MS);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_TIME_RANGE);
    CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
    move_to_ms(last_ms);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_TIME_RANGE);
    open_gen(begin(flake_layout_of(64, 0, 0, 0))); /* all of time, which ends with the clock */
    EXPECT_ID(flake_try(&gen, &id), T, 0);
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

/* ---- shards ---- */

/* Options with the range 0 to 0 have the whole range: no shard has the number 0 alone, or a generator with its
 * options would repeat the other shards' IDs. */
TEST(options_of_a_shard_are_those_of_its_range) {
    static flake_gen shards[8];
    const flake_node node = flake_node_fixed(NULL, 0);
    flake_options o = begin(flake_layout_idgen);
    for (o.seq_max = 1; o.seq_max <= 7; o.seq_max++) {
        const size_t numbers = o.seq_max + 1;
        CHECK_EQ(flake_init_shards(shards, numbers, node, &o, NULL), FLAKE_INVALID);
        for (size_t n = 1; n < numbers; n++) {
            CHECK_EQ(flake_init_shards(shards, n, node, &o, NULL), FLAKE_OK);
            for (size_t i = 0; i < n; i++) {
                const flake_options of_shard = *flake_gen_options(&shards[i]);
                open_gen(of_shard);
                CHECK_EQ(flake_gen_options(&gen)->seq_min, of_shard.seq_min);
                CHECK_EQ(flake_gen_options(&gen)->seq_max, of_shard.seq_max);
            }
        }
    }
    o = begin_with_three();
    CHECK_EQ(flake_init_shards(shards, 4, node, &o, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_init_shards(shards, 3, node, &o, NULL), FLAKE_OK);
    o = begin(flake_layout_of(41, 22, 0, 0)); /* its whole range is the number 0 */
    CHECK_EQ(flake_init_shards(shards, 1, node, &o, NULL), FLAKE_OK);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
