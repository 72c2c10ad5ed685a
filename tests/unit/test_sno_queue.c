/* SPDX-License-Identifier: MIT
 *
 * sno.h: the queue of an exhausted unit, and its notes, coarse and fast clock where the tick matters.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#include "scripted_sno.h"

static sno_gen twin;

/* ---- overflow and its queue ---- */

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
static void take_shot(void) { queue_shot = snapshot_of_sno(&gen); }

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

/* A shard whose thread waits has drawn in a future unit, all of which then counts as drawn. */
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
        /* the last one wakes first, and returns its ticket, the newest */
        for (uint32_t k = 0; k < callers && k < 4; k++) CHECK_ID(queue_got[k], start - 100, 1, k);
        CHECK_EQ(script_now.sleeps, 1 + (callers - 1) / 4);
        CHECK_EQ(snapshot_of_sno(&gen).drifts, 1);
        CHECK_EQ(snapshot_of_sno(&gen).wall_safe, start + (callers + 2) / 4);
        CHECK_EQ(count_duplicates(queue_got, callers), 0);
    }
}

static void step_back_into_used_time(void) { script_now.jump_to_ns = unit_start_ns(start - 45); }

TEST(a_step_back_into_used_time_keeps_the_queue_waiting) {
    use_both_ticks(4);
    at_the_end = step_back_into_used_time;
    queue_of(3);
    CHECK_ID(queue_got[0], start - 39, 1, 2); /* his place was given back */
    CHECK_EQ(snapshot_of_sno(&gen).drifts, 1);
    CHECK_EQ(count_duplicates(queue_got, 3), 0);
}

static void spend_the_unit_and_step_back(void) {
    draw(1);
    clock_to(start - 1000);
}

/* One ticket was left when it looked, and another caller was faster. */
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

static void begin_noting(void) {
    flake_options o = options_of();
    CHECK_EQ(flake_ring_init(&ring, ring_slots, 64), FLAKE_OK);
    o.overflow = &ring;
    begin_with(&o, 0, 3);
    draw(4);
}

/* The overflow's last note; none is before `from_ns`. */
static flake_overflow last_note(int64_t from_ns) {
    flake_overflow note, last = {0, 77, 77};
    while (flake_ring_pop(&ring, &note)) {
        CHECK(note.now_ns >= from_ns && note.now_ns <= script_now.now_ns && note.elapsed_ms <= 5);
        last = note;
    }
    CHECK_EQ(last.waiting, 0);
    return last;
}

#define CHECK_NOTE(after_ns, count, ms)                           \
    do {                                                          \
        flake_overflow note = {0, 0, 0};                          \
        CHECK(flake_ring_pop(&ring, &note));                      \
        CHECK_EQ(note.now_ns, unit_start_ns(start) + (after_ns)); \
        CHECK_EQ(note.waiting, count);                            \
        CHECK_EQ(note.elapsed_ms, ms);                            \
    } while (0)

TEST(notes_count_the_callers_that_are_queued_still) {
    flake_overflow none;
    begin_noting();
    at_the_end = NULL;
    queue_of(10);
    CHECK_NOTE(0, 1, 0); /* the first has come, the others come in the same ms */
    for (uint32_t ms = 1; ms < 12; ms++) CHECK_NOTE(ms * ms_ns, 10 - ms / 4 * 4, ms);
    CHECK_NOTE(12 * ms_ns, 0, 12);
    CHECK(!flake_ring_pop(&ring, &none));
}

static void step_back_and_draw(void) {
    clock_to(start - 100);
    draw(1);
}

/* The second time, another caller has drawn at the earlier time: the overflow's length is unknown. */
TEST(a_step_back_during_an_overflow_is_noted_too) {
    for (int i = 0; i < 2; i++) {
        begin_noting();
        script_now.now_ns += 3500000;
        if (i) during_sleep = step_back_and_draw;
        else script_now.jump_to_ns = unit_start_ns(start - 100);
        (void)new_id(&gen);
        CHECK_NOTE(3500000, 1, 0);
        clock_to(start - 99);
        draw(1);
        const flake_overflow last = last_note(unit_start_ns(start - 100));
        if (i) CHECK_EQ(last.elapsed_ms, 0);
    }
}

/* ---- the coarse clock ---- */

TEST(a_coarse_clock_that_was_put_back_changes_the_tick) {
    flake_options o = options_of();
    o.clock.kind = FLAKE_CLOCK_COARSE;
    begin_with(&o, 0, 3);
    clock_to(start - 2);
    CHECK_ID(new_id(&gen), start - 2, 0, 0);
    clock_to(start);
    coarse_lag_ns = unit_ns;
    CHECK_ID(new_id(&gen), start - 1, 0, 0);
    clock_to(start - 10);
    CHECK_EQ(sno_units(new_id(&gen)), start - 10); /* by the exact clock, which was asked */
    CHECK_EQ(snapshot_of_sno(&gen).drifts, 1);
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
    gen.gen.engine.frequent = 1; /* one a unit are frequent draws */
    for (unsigned i = 0; i < 4; i++) {
        CHECK_EQ(sno_units(new_id(&gen)), clock_unit());
        pass(5 * unit_ns);
    }
    CHECK_EQ(sno_units(new_id(&gen)), clock_unit());
    CHECK_EQ(sno_units(new_id(&gen)), clock_unit());
}

TEST(a_lease_does_not_change_the_tick) {
    begin_fast();
    const int64_t unit = clock_unit();
    script_now.now_ns -= 3 * unit_ns;
    CHECK_ID(new_id(&gen), unit, 0, 2);
    pass(ms_ns);
    CHECK_ID(new_id(&gen), unit - 3, 1, 0);
    CHECK_EQ(snapshot_of_sno(&gen).drifts, 1);
    CHECK_ID(new_id(&gen), unit - 3, 1, 1);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
