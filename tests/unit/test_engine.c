/* SPDX-License-Identifier: MIT
 *
 * The engine through the public API, on a scripted clock: one ID after the other. The plain cases of units,
 * waits and a clock that goes backwards; the ends of time, max_ahead, layouts whose count has few bits to
 * spare. The oracle of test_random_flake.c checks the rest.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#include "scripted_flake.h"

/* ---- waiting ---- */

TEST(next_sleeps_until_the_next_unit_and_has_its_first_place) {
    open_with_three();
    move_ns(MS / 4);
    for (unsigned i = 10; i <= 12; i++) NEXT(T, i);
    CHECK_EQ(script_now.sleeps, 0);
    NEXT(T + 1, 10);
    CHECK_EQ(script_now.sleeps, 1);
    CHECK_EQ(script_now.slept_ns, MS - MS / 4);
    CHECK_EQ(script_now.now_ns, (T + 1) * MS);
    NEXT(T + 1, 11);
}

TEST(next_gives_up_after_max_wait_though_the_clock_stands_still) {
    begin_with_three();
    options.max_wait_ms = 5;
    open_gen();
    CHECK_EQ(got64_n(&gen, many, 3), 3);
    script_now.per_sleep = 0;
    NEXT_SAYS(FLAKE_AGAIN);
    CHECK(script_now.sleeps > 0 && script_now.slept_ns <= 5 * MS);
    script_now.per_sleep = -1;
    NEXT(T + 1, 10);
}

/* ---- a clock that goes backwards ---- */

TEST(next_waits_for_a_clock_that_is_back_by_max_wait_at_most) {
    static const int64_t given_ms[] = {500, 0}, waits_ms[] = {500, 1000}; /* by default a second */
    for (size_t i = 0; i < 2; i++) {
        begin_with_three();
        options.max_wait_ms = given_ms[i];
        open_gen();
        CHECK_EQ(flake_gen_options(&gen)->max_wait_ms, waits_ms[i]);
        NEXT(T, 10);
        move_ns(-waits_ms[i] * MS - 1);
        NEXT_SAYS(FLAKE_CLOCK_BACKWARDS);
        CHECK_EQ(script_now.sleeps, 0);
        move_ns(1);
        NEXT(T, 11);
        CHECK_EQ(script_now.slept_ns, waits_ms[i] * MS);
        CHECK_EQ(script_now.now_ns, T * MS);
    }
}

TEST(a_clock_put_before_the_epoch_during_the_sleep_is_out_of_range) {
    open_with_three();
    CHECK_EQ(got64_n(&gen, many, 3), 3);
    script_now.jump_to_ns = -1;
    NEXT_SAYS(FLAKE_TIME_RANGE);
    move_to_ms(T);
    script_now.jump_to_ns = INT64_MIN;
    NEXT_SAYS(FLAKE_TIME_RANGE);
    move_to_ms(T);
    NEXT(T + 1, 10);
}

/* ---- the ends of time ---- */

/* Of 2023, or of 1916. */
TEST(before_the_epoch_there_are_no_ids) {
    for (int64_t epoch = -T; epoch <= T; epoch += 2 * T) {
        begin(flake_layout_of(41, 10, 12, epoch));
        move_to_ms(epoch);
        open_gen();
        move_ns(-1);
        TRY_SAYS(FLAKE_TIME_RANGE);
        NEXT_SAYS(FLAKE_TIME_RANGE);
        CHECK_EQ(flake_next_n(&gen, many, 2), FLAKE_TIME_RANGE);
        CHECK_EQ(got64_n(&gen, many, 2), 0);
        CHECK_EQ(flake_available(&gen), 0);
        CHECK_EQ(flake_retry_ns(&gen), 1);
        CHECK_EQ(script_now.sleeps, 0);
        move_ns(1);
        TRY(epoch, 0);
        move_ns(MS - 1);
        TRY(epoch, 1);
        move_ns(1 + 49 * MS);
        TRY(epoch + 50, 0);
        move_to_ms(epoch - 100);
        CHECK_EQ(flake_retry_ns(&gen), 150 * MS);
    }
}

TEST(a_clock_reading_at_either_end_of_its_type_does_no_harm) {
    open_with_three();
    TRY(T, 10);
    script_now.now_ns = INT64_MIN;
    TRY_SAYS(FLAKE_TIME_RANGE);
    NEXT_SAYS(FLAKE_TIME_RANGE);
    CHECK(flake_retry_ns(&gen) > 0);
    CHECK_EQ(flake_available(&gen), 0);
    script_now.now_ns = INT64_MAX;
    TRY_SAYS(FLAKE_TIME_RANGE);
    NEXT_SAYS(FLAKE_TIME_RANGE);
    CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
    move_to_ms(T);
    TRY(T, 11);
}

TEST(the_last_unit_is_used_up_and_nothing_comes_after) {
    begin_short_era();
    open_gen();
    const int64_t last_ms = T + 1023000;
    CHECK_EQ(flake_layout_end_ms(&options.layout), last_ms + 999);
    move_to_ms(last_ms + 999);
    TRY(last_ms, 1);
    NEXT(last_ms, 2);
    CHECK_EQ(flake_available(&gen), 1);
    CHECK_EQ(flake_next_n(&gen, many, 4), FLAKE_TIME_RANGE);
    CHECK_PLACE(many[0], last_ms, 3);
    CHECK(many[1] == 0 && many[3] == 0);
    TRY_SAYS(FLAKE_TIME_RANGE);
    NEXT_SAYS(FLAKE_TIME_RANGE);
    CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
    CHECK_EQ(flake_available(&gen), 0);
    CHECK_EQ(script_now.sleeps, 0);
    move_to_ms(last_ms + 1000);
    TRY_SAYS(FLAKE_TIME_RANGE);
    NEXT_SAYS(FLAKE_TIME_RANGE);
    CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
    open_gen(); /* an unused one */
    TRY_SAYS(FLAKE_TIME_RANGE);
    CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
    move_ns(-1);
    TRY(last_ms, 1);
}

/* The engine divides by a multiplication. */
TEST(a_leap_of_any_length_lands_in_the_unit_that_a_division_says) {
    static const uint32_t lengths[] = {1, 2, 3, 7, 10, 999, 1000, 1024, 86400001, UINT32_MAX};
    uint64_t state = 14;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const int64_t unit_ns = lengths[i] * MS;
        begin(flake_layout_of(40, 10, 12, 0));
        options.layout.unit_ms = lengths[i];
        for (unsigned k = 0; k < 3000; k++) {
            const int64_t begin_ns = (int64_t)(random_next(&state) >> (2 + k % 30));
            const int64_t leap_ns =
                (int64_t)(random_next(&state) >> (2 + random_next(&state) % 60));
            const int64_t whole_ns = leap_ns / unit_ns * unit_ns - begin_ns % unit_ns;
            script_now.now_ns = begin_ns;
            if (begin_ns < unit_ns || flake_init(&gen, gens_node, &options, NULL) != FLAKE_OK ||
                flake_try(&gen, &id) != FLAKE_OK)
                continue;
            const int64_t ends[] = {leap_ns, whole_ns - 1, whole_ns, whole_ns + 1};
            for (unsigned n = 0; n < 4; n++) {
                script_now.now_ns = begin_ns + ends[n];
                if (ends[n] < 0 || flake_init(&gen, gens_node, &options, NULL) != FLAKE_OK)
                    continue;
                CHECK_EQ(flake_try_at(&gen, begin_ns / MS, &id), FLAKE_OK);
                const flake_status status = flake_try(&gen, &id);
                if (status == FLAKE_OK)
                    CHECK_EQ(parts_of(&gen, id).unix_ms, script_now.now_ns / unit_ns * lengths[i]);
                else CHECK_EQ(status, FLAKE_TIME_RANGE);
            }
        }
    }
}

TEST(a_leap_is_counted_and_its_given_time_may_be_of_any_past) {
    begin(flake_layout_of(63, 0, 1, 0)); /* up to the clock's end */
    open_gen();
    move_to_ms(INT64_MAX / MS - 3);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    const int64_t newest = parts_of(&gen, id).unix_ms;
    CHECK_EQ(flake_try_at(&gen, INT64_MIN, &id), FLAKE_OK);
    CHECK_EQ(parts_of(&gen, id).unix_ms, newest);
    CHECK_EQ(flake_try_at(&gen, INT64_MIN, &id), FLAKE_AGAIN);
    CHECK_EQ(stats_now().ids, 2);
    CHECK_EQ(flake_try_at(&gen, INT64_MAX / MS - 2, &id), FLAKE_OK);
    CHECK_EQ(stats_now().ids, 3);
    CHECK_EQ(parts_of(&gen, id).unix_ms, newest + 1);
}

/* ---- max_ahead ---- */

/* Draws `n` tickets in uneven batches, and checks that they follow each other from `first` on. */
static void draw_in_a_row(uint64_t n, uint64_t cap, int64_t unit_ms, int64_t first_ms) {
    static const size_t sizes[] = {sizeof many / sizeof *many, 4097, 1, 65536, 3};
    const flake_layout *layout = &flake_gen_options(&gen)->layout;
    const uint64_t step = (uint64_t)1 << layout->seq_shift;
    uint64_t drawn = 0, expected = 0, wrong = 0, index = cap;
    for (size_t batch = 0; drawn < n; batch++) {
        size_t size = sizes[batch % 5] < n - drawn ? sizes[batch % 5] : (size_t)(n - drawn);
        const size_t got = got64_n(&gen, many, size);
        CHECK_EQ(got, size);
        if (!got) return;
        for (size_t i = 0; i < got; i++, index++, drawn++) {
            if (index == cap) {
                flake_parts parts = {0};
                parts.unix_ms = first_ms + (int64_t)(drawn / cap) * unit_ms;
                parts.seq = flake_gen_options(&gen)->seq_min;
                if (layout->node_bits) parts.node = flake_gen_node(&gen);
                CHECK_EQ(flake_compose(layout, &parts, &expected), FLAKE_OK);
                index = 0;
            }
            wrong += many[i] != expected + index * step;
        }
    }
    CHECK_EQ(wrong, 0);
}

TEST(hazelcast_borrows_15_seconds_and_then_waits) {
    begin(flake_layout_hazelcast);
    gens_node = flake_node_fixed(NULL, 7);
    options.max_ahead_ms = 15000;
    open_gen();
    CHECK_EQ(flake_available(&gen), 15001 * 64);
    draw_in_a_row(15001 * 64, 64, 1, T);
    TRY_SAYS(FLAKE_AGAIN);
    CHECK_EQ(flake_available(&gen), 0);
    CHECK_EQ(flake_ahead_ms(&gen), 15000);
    move_ns(MS / 4);
    CHECK_EQ(flake_retry_ns(&gen), MS - MS / 4);
    NEXT(T + 15001, 0);
    CHECK_EQ(script_now.slept_ns, MS - MS / 4);
    move_ns(MS);
    CHECK_EQ(got64_n(&gen, many, 1000), 63 + 64);
    CHECK_PLACE(many[0], T + 15001, 1);
    CHECK_PLACE(many[126], T + 15002, 63);
}

/* Only then is the word's time ahead of the clock, and no backward step; an earlier given time is none after it. */
TEST(a_loan_of_more_than_count_holds_ends_where_it_must) {
    begin(flake_layout_mastodon);
    options.max_ahead_ms = 11; /* just as far */
    open_gen();
    TRY(T, 0);
    move_ns(-MS);
    TRY(T, 1);
    CHECK_EQ(stats_now().clock_backwards, 1);
    begin(flake_layout_of(44, 1, 19, 0));
    options.max_ahead_ms = 1;
    open_gen();
    draw_in_a_row(2 << 19, 1 << 19, 1, T);
    TRY_SAYS(FLAKE_AGAIN);
    CHECK_EQ(stats_now().clock_backwards, 0);
    SAYS(FLAKE_AGAIN, flake_try_at(&gen, T - 5, &id));
    GIVES(flake_try_at(&gen, T + 1, &id), T + 2, 0);
}

/* ---- layouts whose count has few bits to spare ---- */

static void use_up_whole_units(flake_layout layout) {
    begin(layout);
    open_gen();
    const uint64_t cap = (uint64_t)1 << layout.seq_bits;
    draw_in_a_row(cap - 1, cap, 1, T);
    TRY(T, cap - 1);
    TRY_SAYS(FLAKE_AGAIN);
    CHECK_EQ(flake_available(&gen), 0);
    CHECK_EQ(flake_ahead_ms(&gen), 0);
    CHECK_EQ(flake_retry_ns(&gen), MS);
    move_ns(MS - 1);
    TRY_SAYS(FLAKE_AGAIN);
    move_ns(-MS);
    TRY_SAYS(FLAKE_CLOCK_BACKWARDS);
    NEXT(T + 1, 0);
    CHECK_EQ(script_now.now_ns, (T + 1) * MS);
    CHECK_EQ(stats_now().waits, 1); /* however often it slept */
    CHECK_EQ(got64_n(&gen, many, 3), 3);
    CHECK_PLACE(many[2], T + 1, 3);
    move_ns(MS);
    CHECK_EQ(flake_available(&gen), cap);
    draw_in_a_row(cap, cap, 1, T + 2);
    TRY_SAYS(FLAKE_AGAIN);
    move_ns(10 * MS);
    TRY(T + 12, 0);
}

TEST(a_count_with_few_spare_bits_or_none_uses_up_each_unit) {
    use_up_whole_units(flake_layout_of(44, 0, 20, 0));
    use_up_whole_units(flake_layout_of(42, 3, 19, 0));
#ifndef TEST_SMALL
    use_up_whole_units(flake_layout_of(40, 0, 24, T - 1000));
    for (unsigned spare = 0; spare <= 5; spare++)
        use_up_whole_units(flake_layout_of(42, spare, 22 - spare, 0));
#endif
}

/* By the fast path alone: each ticket after the first, and the last, which carries into time. */
TEST(a_unit_that_fills_its_count_is_drawn_fast) {
    enum { cap = 1 << 20 };
    uint64_t word;
    flake_i_ticket ticket;
    begin(flake_layout_of(44, 0, 20, 0));
    open_gen();
    flake_i_engine *const e = &gen.engine;
    int64_t now_ns;
    for (uint64_t n = 1; n <= 3; n++) { /* the last alone, and in batches */
        const uint64_t unit = (uint64_t)(T + (int64_t)n);
        move_ns(MS);
        TRY((int64_t)unit, 0);
        e->word += cap - 1 - n;
        for (uint64_t drawn = 0; drawn < n; drawn += ticket.n) {
            CHECK_EQ(flake_i_draw_any(e, 0, drawn ? 5 : 1, &word, &now_ns, &ticket), 0);
            CHECK(ticket.time == unit && ticket.index == cap - n + drawn && ticket.n == (drawn ? n - 1 : 1));
        }
        CHECK_EQ(e->word, (unit + 1) << e->time_shift);
        CHECK_EQ(flake_i_draw_any(e, 0, 1, &word, &now_ns, &ticket), FLAKE_I_ELSE);
        TRY_SAYS(FLAKE_AGAIN);
    }
    CHECK_EQ(stats_now().ids, 3 * cap);
}

/* A word of another unit than that is not drawn from, whatever the reading. */
TEST(a_single_thread_generator_draws_fast_from_the_unit_that_it_remembers) {
    uint64_t word;
    int64_t now_ns;
    flake_i_ticket ticket;
    flake_i_engine *const e = &gen.engine;
    begin_with_three();
    options.single_thread = true;
    options.clock = (flake_clock){.kind = FLAKE_CLOCK_COARSE};
    for (coarse_slack_ns = 0; coarse_slack_ns <= 10 * MS; coarse_slack_ns += 5 * MS) {
        memset((void *)&gen, 0x5e, sizeof gen);
        open_gen();
        for (int64_t ms = 0; ms < 3; ms++, move_ns(MS)) {
            const uint64_t entered = ms ? (uint64_t)(script_now.now_ns / MS - 1 - options.layout.epoch_ms) : 0;
            CHECK_EQ(e->unit_head, entered << e->time_shift);
            CHECK_EQ(e->unit_late_ns, e->epoch_ns + entered * e->unit_ns - coarse_slack_ns);
            TRY(script_now.now_ns / MS, 10); /* after init by the slow path, then as a unit's first */
            CHECK_EQ(flake_i_draw_any(e, FLAKE_I_OWNED, 1, &word, &now_ns, &ticket), 0);
            CHECK_EQ(ticket.index, 1);
        }
        e->word += (uint64_t)1 << e->time_shift;
        CHECK_EQ(flake_i_draw_any(e, FLAKE_I_OWNED, 1, &word, &now_ns, &ticket), FLAKE_I_ELSE);
        script_now.now_ns -= MS; /* in the unit remembered */
        CHECK_EQ(flake_i_draw_any(e, FLAKE_I_OWNED, 1, &word, &now_ns, &ticket), FLAKE_I_ELSE);
    }
}

/* Its clock continues, but a full last unit would carry out of the word. */
TEST(a_layout_that_fills_all_64_bits_ends_a_unit_earlier) {
    const int64_t epoch_ms = -INT64_C(9200000000000);
    const int64_t last_ms = epoch_ms + (INT64_C(1) << 44) - 2;
    begin(flake_layout_of(44, 0, 20, epoch_ms));
    open_gen();
    move_to_ms(last_ms);
    draw_in_a_row(1 << 20, 1 << 20, 1, last_ms);
    TRY_SAYS(FLAKE_TIME_RANGE);
    move_ns(MS);
    TRY_SAYS(FLAKE_TIME_RANGE);
    CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
    move_to_ms(last_ms);
    TRY_SAYS(FLAKE_TIME_RANGE);
    begin(flake_layout_of(64, 0, 0, 0)); /* all of time, which ends with the clock */
    open_gen();
    TRY(T, 0);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
