/* SPDX-License-Identifier: MIT
 *
 * sno.h: the queue of an exhausted unit, and its notes, coarse and fast clock where the tick matters.
 */
#include "scripted_sno.h"

static sno_gen twin;

/* ---- overflow and its queue ---- */

static void a_pool_is_used_up_and_the_next_caller_sleeps_until_the_next_unit(uint16_t max) {
    const uint32_t cap = (uint32_t)max + 1;
    begin(0, max);
    got_n = 0;
    script_now.now_ns += 1500000;
    for (int64_t unit = 0; unit < 3; unit++) {
        script_now.slept_ns = script_now.sleeps = 0;
        for (uint32_t k = 0; k < cap; k++) keep(new_id(&gen));
        CHECK_ID(got[got_n - 1], start + unit, 0, max);
        CHECK_EQ(script_now.slept_ns, !unit ? 0 : unit == 1 ? 2500000 : unit_ns);
        CHECK_EQ(script_now.sleeps, unit > 0);
        CHECK_EQ(sno_len(&gen), cap);
        CHECK_REFUSED(&gen, FLAKE_AGAIN);
        CHECK_EQ(flake_retry_ns(&gen.gen), unit ? unit_ns : 2500000);
    }
    CHECK_EQ(count_duplicates(got, got_n), 0);
}

TEST(pools_of_4_512_and_65536_serve_their_capacity_and_go_on) {
    a_pool_is_used_up_and_the_next_caller_sleeps_until_the_next_unit(3);
    a_pool_is_used_up_and_the_next_caller_sleeps_until_the_next_unit(511);
    a_pool_is_used_up_and_the_next_caller_sleeps_until_the_next_unit(65535);
}

TEST(callers_are_served_in_the_order_in_which_they_came) {
    begin(100, 103);
    draw(4);
    at_the_end = NULL;
    queue_of(11);
    for (uint32_t came = 0; came < 11; came++)
        CHECK_ID(queue_got[10 - came], start + 1 + came / 4, 0, 100 + came % 4);
    CHECK_EQ(clock_unit(), start + 3);
}

static sno_snapshot queue_shot;
static void take_shot(void) { queue_shot = snapshot_of(&gen); }

TEST(a_snapshot_of_a_queue_has_a_sequence_past_the_pool) {
    begin(100, 103);
    draw(4);
    at_the_end = take_shot;
    queue_of(6);
    CHECK_EQ(queue_shot.wall_hi, start);
    CHECK_EQ(queue_shot.sequence, 100 + 4 + 6 - 1);
    CHECK_EQ(queue_shot.sequence_max, 103);

    clock_to(start);
    restore(&twin, queue_shot);
    CHECK_REFUSED(&twin, FLAKE_AGAIN);
    CHECK_EQ(flake_retry_ns(&twin.gen), 2 * unit_ns);
    CHECK_ID(new_id(&twin), start + 2, 0, 102);
    CHECK_ID(new_id(&twin), start + 2, 0, 103);
    CHECK_ID(new_id(&twin), start + 3, 0, 100);

    clock_to(start + 2);
    restore(&twin, queue_shot);
    CHECK_ID(new_id(&twin), start + 2, 0, 102);
}

static sno_snapshot shards_shot;
static void take_shot_of_shards(void) {
    CHECK_EQ(sno_shards_snapshot(shards, 2, &shards_shot), FLAKE_OK);
}

/* A shard whose thread waits has drawn of a unit to come, of which all counts as drawn then. */
TEST(a_snapshot_of_shards_counts_what_one_waits_for) {
    begin_shards(2, 100, 107);
    for (int i = 0; i < 4; i++) (void)next_sno(&shards[1], 0);
    during_sleep = take_shot_of_shards;
    const sno_id id = next_sno(&shards[1], 0);
    CHECK_EQ((int64_t)sno_units(id), start + 1);
    CHECK_EQ(shards_shot.wall_hi, start + 1);
    CHECK_EQ(shards_shot.wall_safe, start + 1);
    CHECK_EQ(shards_shot.sequence, 107);
}

static void step_back_far(void) { script_now.jump_to_ns = unit_start_ns(start - 100); }

TEST(a_step_back_frees_the_queue) {
    for (uint32_t callers = 1; callers <= 9; callers++) {
        begin(0, 3);
        draw(4);
        at_the_end = step_back_far;
        if (callers == 1) step_back_far();
        queue_of(callers);
        /* the last one wakes first, and gives his place back, being the newest */
        for (uint32_t k = 0; k < callers && k < 4; k++) CHECK_ID(queue_got[k], start - 100, 1, k);
        CHECK_EQ(script_now.sleeps, 1 + (callers - 1) / 4);
        CHECK_EQ(snapshot_of(&gen).drifts, 1);
        CHECK_EQ(snapshot_of(&gen).wall_safe, start + (callers + 2) / 4);
        CHECK_EQ(count_duplicates(queue_got, callers), 0);
    }
}

static void step_back_into_used_time(void) { script_now.jump_to_ns = unit_start_ns(start - 45); }

TEST(a_step_back_into_used_time_keeps_the_queue_waiting) {
    use_both_ticks(4);
    at_the_end = step_back_into_used_time;
    queue_of(3);
    CHECK_ID(queue_got[0], start - 39, 1, 2); /* his place was given back */
    CHECK_EQ(snapshot_of(&gen).drifts, 1);
    CHECK_EQ(count_duplicates(queue_got, 3), 0);
}

static void spend_the_unit_and_step_back(void) {
    draw(1);
    clock_to(start - 1000);
}

/* One place was left when he looked, and another caller was faster. */
TEST(a_step_back_makes_nobody_wait_who_was_outrun) {
    for (others_after = 0;;) {
        const int after = others_after;
        begin(0, 3);
        draw(3);
        others = spend_the_unit_and_step_back;
        others_after = after;
        (void)new_id(&gen);
        CHECK(script_now.slept_ns <= unit_ns);
        if (others) break;
        others_after = after + 1;
    }
    others = NULL;
}

/* ---- notes of overflow ---- */

static flake_ring ring;
static flake_ring_slot ring_slots[64];

static void begin_noting(uint16_t max, size_t slots) {
    flake_options o = options_of();
    CHECK_EQ(flake_ring_init(&ring, ring_slots, slots), FLAKE_OK);
    o.overflow = &ring;
    begin_with(&o, 0, max);
    draw((uint32_t)max + 1);
}

static void check_note(int line, int64_t after_ns, uint32_t count, uint32_t ticks) {
    char text[120];
    flake_overflow note;
    memset(&note, 0xff, sizeof note);
    const bool noted = flake_ring_pop(&ring, &note);
    if (noted && note.now_ns == unit_start_ns(start) + after_ns && note.waiting == count &&
        note.elapsed_ms == ticks)
        return;
    (void)snprintf(text, sizeof text, "%s {%" PRId64 ", %u, %u}, not {%" PRId64 ", %u, %u}",
                   noted ? "note" : "no note", note.now_ns - unit_start_ns(start),
                   (unsigned)note.waiting, (unsigned)note.elapsed_ms, after_ns, (unsigned)count,
                   (unsigned)ticks);
    check_fail(__FILE__, line, text);
}

#define CHECK_NOTE(after_ns, count, ticks) check_note(__LINE__, after_ns, count, ticks)

static void check_no_note(int line) {
    flake_overflow note;
    if (flake_ring_pop(&ring, &note)) check_fail(__FILE__, line, "a note too many");
}

#define CHECK_NO_NOTE() check_no_note(__LINE__)

TEST(one_caller_that_waits_is_noted_each_ms) {
    static const int64_t into_the_unit_ns[] = {0, 1, 500000, 999999, 1000000, 2999999, 3999999};
    for (size_t i = 0; i < sizeof into_the_unit_ns / sizeof *into_the_unit_ns; i++) {
        const int64_t from_ns = into_the_unit_ns[i];
        begin_noting(3, 64);
        CHECK_NO_NOTE();
        script_now.now_ns += from_ns;
        CHECK_ID(new_id(&gen), start + 1, 0, 0);
        uint32_t ticks = 0;
        CHECK_NOTE(from_ns, 1, ticks++);
        for (int64_t at_ns = (from_ns / ms_ns + 1) * ms_ns; at_ns < unit_ns; at_ns += ms_ns)
            CHECK_NOTE(at_ns, 1, ticks++);
        CHECK_NOTE(unit_ns, 0, ticks);
        CHECK_NO_NOTE();
    }
}

TEST(notes_count_the_callers_that_are_queued_still) {
    begin_noting(3, 64);
    at_the_end = NULL;
    queue_of(10);
    CHECK_NOTE(0, 1, 0); /* the first has come, the others come in the same ms */
    for (uint32_t ms = 1; ms < 12; ms++) CHECK_NOTE(ms * ms_ns, 10 - ms / 4 * 4, ms);
    CHECK_NOTE(12 * ms_ns, 0, 12);
    CHECK_NO_NOTE();
}

TEST(a_step_back_during_an_overflow_is_noted_too) {
    begin_noting(3, 64);
    script_now.now_ns += 3500000;
    script_now.jump_to_ns = unit_start_ns(start - 100);
    CHECK_ID(new_id(&gen), start - 100, 1, 0);
    CHECK_NOTE(3500000, 1, 0);
    clock_to(start - 99);
    draw(1);
    flake_overflow note, last = {0, 77, 0};
    while (flake_ring_pop(&ring, &note)) {
        CHECK(note.now_ns >= unit_start_ns(start - 100) && note.now_ns <= script_now.now_ns);
        last = note;
    }
    CHECK_EQ(last.waiting, 0);
    CHECK(last.elapsed_ms <= 5); /* no more have passed */
}

static void step_back_and_draw(void) {
    clock_to(start - 100);
    draw(1);
}

TEST(the_end_of_an_overflow_is_not_long_after_its_begin_if_the_clock_was_put_back) {
    begin_noting(3, 64);
    during_sleep = step_back_and_draw;
    (void)new_id(&gen);
    CHECK_NOTE(0, 1, 0);
    clock_to(start - 99);
    draw(1);
    flake_overflow note;
    uint32_t count = 77, ticks = 77;
    while (flake_ring_pop(&ring, &note)) {
        CHECK(note.elapsed_ms <= 4);
        count = note.waiting;
        ticks = note.elapsed_ms;
    }
    CHECK_EQ(count, 0);
    CHECK_EQ(ticks, 0); /* how long it was is not known */
}

/* ---- the coarse clock ---- */

/* A generator of 4 numbers whose clock lags, and that has drawn before its time. */
static void begin_coarse(int64_t lag_units) {
    flake_options o = options_of();
    o.clock.kind = FLAKE_CLOCK_COARSE;
    begin_with(&o, 0, 3);
    clock_to(start - lag_units - 1);
    CHECK_ID(new_id(&gen), start - lag_units - 1, 0, 0);
    clock_to(start);
    coarse_lag_ns = lag_units * unit_ns;
    exact_readings = 0;
}

TEST(a_coarse_clock_that_was_put_back_changes_the_tick) {
    begin_coarse(1);
    CHECK_ID(new_id(&gen), start - 1, 0, 0);
    clock_to(start - 10);
    CHECK_EQ(sno_units(new_id(&gen)), start - 10); /* by the exact clock, which was asked */
    CHECK_EQ(snapshot_of(&gen).drifts, 1);
    CHECK_EQ(script_now.sleeps, 0);
}

/* ---- the fast clock ---- */

static void pass(int64_t ns) {
    script_now.now_ns += ns;
    script_counter += (uint64_t)ns * 2;
}

/* A generator that has learned how fast the counter counts, at the beginning of a unit. */
static void begin_fast(void) {
    flake_options o = options_of();
    o.clock.kind = FLAKE_CLOCK_FAST;
    begin_with(&o, 0, 1023);
    for (unsigned i = 0; i < 4; i++) {
        CHECK_EQ(sno_units(new_id(&gen)), clock_unit());
        pass(5 * unit_ns);
    }
    CHECK_EQ(sno_units(new_id(&gen)), clock_unit());
    exact_readings = 0;
}

TEST(a_lease_does_not_change_the_tick) {
    begin_fast();
    const int64_t unit = clock_unit();
    script_now.now_ns -= 3 * unit_ns;
    CHECK_ID(new_id(&gen), unit, 0, 1);
    pass(ms_ns);
    CHECK_ID(new_id(&gen), unit - 3, 1, 0);
    CHECK_EQ(snapshot_of(&gen).drifts, 1);
    CHECK_ID(new_id(&gen), unit - 3, 1, 1);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
