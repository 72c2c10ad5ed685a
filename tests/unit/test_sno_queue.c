/* SPDX-License-Identifier: MIT
 *
 * sno.h: the queue of an exhausted unit: its order, its events (NOTE), and what a backward step makes of it (I4, I5).
 * Then the coarse and the fast clock, where the tick matters (I2).
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#include "scripted_sno.h"

/* ---- overflow and its queue ---- */

TEST(callers_are_served_in_the_order_in_which_they_came) {
    begin(100, 103);
    draw(4);
    queue_of(11, NULL);
    for (uint32_t came = 0; came < 11; came++)
        EXPECT_ID(queue_got[10 - came], start + 1 + came / 4, 0, 100 + came % 4);
    CHECK_EQ(clock_unit(), start + 3);
}

static sno_snapshot shot;
static void take_shot(void) { shot = snapshot_of(&gen); }
static void take_shot_of_shards(void) { CHECK_EQ(sno_shards_snapshot(shards, 2, &shot), FLAKE_OK); }

/* What continues from one: test_random_sno.c. */
TEST(a_snapshot_of_a_queue_has_a_sequence_past_the_pool) {
    begin(100, 103);
    draw(4);
    queue_of(6, take_shot);
    CHECK_EQ(shot.wall_hi, start);
    CHECK_EQ(shot.sequence, 100 + 4 + 6 - 1);
    CHECK_EQ(shot.sequence_max, 103);
}

/* A shard whose thread waits has drawn in a future unit, all of which then counts as drawn. */
TEST(a_snapshot_of_shards_counts_what_one_waits_for) {
    begin_shards(2, 100, 107);
    for (int i = 0; i < 4; i++) (void)next_id(&shards[1]);
    script_now.during_sleep = take_shot_of_shards;
    EXPECT_ID(next_id(&shards[1]), start + 1, 0, 104);
    CHECK_EQ(shot.wall_hi, start + 1);
    CHECK_EQ(shot.wall_safe, start + 1);
    CHECK_EQ(shot.sequence, 107);
}

static void step_back_far(void) { script_now.jump_to_ns = unit_start_ns(start - 100); }

TEST(a_step_back_frees_the_queue) {
    for (uint32_t callers = 1; callers <= 9; callers++) {
        begin(0, 3);
        draw(4);
        if (callers == 1) step_back_far();
        queue_of(callers, step_back_far);
        /* the last one wakes first, and returns its ticket, the newest */
        for (uint32_t k = 0; k < callers && k < 4; k++) EXPECT_ID(queue_got[k], start - 100, 1, k);
        CHECK_EQ(script_now.sleeps, 1 + (callers - 1) / 4);
        CHECK_EQ(snapshot_of(&gen).drifts, 1);
        CHECK_EQ(snapshot_of(&gen).wall_safe, start + (callers + 2) / 4);
        CHECK_EQ(count_duplicates(queue_got, callers), 0);
    }
}

static void step_back_into_used_time(void) { script_now.jump_to_ns = unit_start_ns(start - 45); }

TEST(a_step_back_into_used_time_keeps_the_queue_waiting) {
    use_both_ticks(4);
    queue_of(3, step_back_into_used_time);
    EXPECT_ID(queue_got[0], start - 39, 1, 2); /* its ticket was returned */
    CHECK_EQ(snapshot_of(&gen).drifts, 1);
    CHECK_EQ(count_duplicates(queue_got, 3), 0);
}

static void exhaust_the_unit_and_step_back(void) {
    draw(1);
    clock_to(start - 1000);
}

/* One ticket was left when it looked, and another caller was faster. */
TEST(after_a_step_back_a_caller_that_was_outrun_waits_for_a_unit_at_most) {
    int after = 0;
    for (others = NULL; !others; after++) { /* in each of its steps */
        begin(0, 3);
        draw(3);
        others = exhaust_the_unit_and_step_back;
        others_after = after;
        (void)next_id(&gen);
        CHECK(script_now.slept_ns <= unit_ns);
    }
    others = NULL;
    CHECK(after > 3);
}

/* ---- events of an overflow ---- */

static flake_ring ring;

static void begin_with_ring(void) {
    static flake_ring_slot slots[64];
    flake_options o = options_of();
    CHECK_EQ(flake_ring_init(&ring, slots, 64), FLAKE_OK);
    o.overflow = &ring;
    begin_with(o, 0, 3);
    draw(4);
}

TEST(events_count_the_callers_that_are_queued_still) {
    const int64_t begin_ns = unit_start_ns(start);
    begin_with_ring();
    queue_of(10, NULL);
    EXPECT_EVENT(&ring, begin_ns, 1, 0); /* the first has come, the others come in the same ms */
    for (uint32_t ms = 1; ms < 12; ms++) EXPECT_EVENT(&ring, begin_ns + ms * ms_ns, 10 - ms / 4 * 4, ms);
    EXPECT_EVENT(&ring, begin_ns + 12 * ms_ns, 0, 12);
    CHECK(no_event(&ring));
}

static void step_back_and_draw(void) {
    clock_to(start - 100);
    draw(1);
}

/* The second time, another caller has drawn at the earlier time: the overflow's length is unknown. */
TEST(an_overflow_that_a_step_back_ends_has_a_last_event) {
    for (int other_draws = 0; other_draws < 2; other_draws++) {
        flake_overflow next, last = {0, 77, 77};
        begin_with_ring();
        script_now.now_ns += 3500000;
        if (other_draws) script_now.during_sleep = step_back_and_draw;
        else step_back_far();
        (void)next_id(&gen);
        EXPECT_EVENT(&ring, unit_start_ns(start) + 3500000, 1, 0);
        clock_to(start - 99);
        draw(1);
        for (; flake_ring_pop(&ring, &next); last = next) {
            CHECK(next.now_ns >= unit_start_ns(start - 100) && next.now_ns <= script_now.now_ns);
            CHECK(next.elapsed_ms <= 5);
        }
        CHECK_EQ(last.waiting, 0);
        if (other_draws) CHECK_EQ(last.elapsed_ms, 0);
    }
}

/* ---- clocks ---- */

TEST(a_coarse_clock_that_went_backwards_changes_the_tick) {
    flake_options o = options_of();
    o.clock.kind = FLAKE_CLOCK_COARSE;
    begin_with(o, 0, 3);
    clock_to(start - 2);
    EXPECT_ID(next_id(&gen), start - 2, 0, 0);
    clock_to(start);
    script_now.coarse_lag_ns = unit_ns;
    EXPECT_ID(next_id(&gen), start - 1, 0, 0);
    clock_to(start - 10);
    CHECK_EQ(sno_units(next_id(&gen)), start - 10); /* by the exact clock, which was asked */
    CHECK_EQ(snapshot_of(&gen).drifts, 1);
    CHECK_EQ(script_now.sleeps, 0);
}

/* A predecessor may have used the units between the coarse reading and the exact one. */
TEST(a_pool_without_a_position_begins_at_an_exact_reading) {
    flake_options o = options_of();
    o.clock.kind = FLAKE_CLOCK_COARSE;
    script_at_ms(unit_start_ms(start));
    script_now.coarse_lag_ns = unit_ns;
    script_now.coarse_slack_ns = (uint64_t)(2 * unit_ns);
    restore_with(&gen, pool_of(0, 3), o);
    EXPECT_ID(next_id(&gen), start, 0, 0);
}

static void pass(int64_t ns) {
    script_now.now_ns += ns;
    script_now.counter += (uint64_t)ns * 2;
}

TEST(a_window_of_the_fast_clock_does_not_change_the_tick) {
    flake_options o = options_of();
    o.clock.kind = FLAKE_CLOCK_FAST;
    begin_with(o, 0, 1023);
    gen.gen.engine.frequent = 1; /* one a unit are frequent draws */
    for (unsigned i = 0; i < 6; i++) { /* long enough to learn the counter's rate */
        CHECK_EQ(sno_units(next_id(&gen)), clock_unit());
        if (i < 4) pass(5 * unit_ns);
    }
    const int64_t unit = clock_unit();
    script_now.now_ns -= 3 * unit_ns;
    EXPECT_ID(next_id(&gen), unit, 0, 2);
    pass(ms_ns);
    EXPECT_ID(next_id(&gen), unit - 3, 1, 0);
    CHECK_EQ(snapshot_of(&gen).drifts, 1);
    EXPECT_ID(next_id(&gen), unit - 3, 1, 1);
}
