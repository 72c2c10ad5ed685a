/* SPDX-License-Identifier: MIT
 *
 * The events of a queue, on a scripted clock: one a ms while callers wait, one when the overflow is over (NOTE). A ring
 * that is full drops them. test_ring.c tests the ring, and a saturated generator.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#include "scripted_flake.h"

static flake_ring ring;
static flake_ring_slot slots[64];

static void open_with_ring(flake_options o, size_t ring_slots) {
    CHECK_EQ(flake_ring_init(&ring, slots, ring_slots), FLAKE_OK);
    o.overflow = &ring;
    open_gen(o);
}

/* Units of 10 ms with two numbers each, both drawn at T + 0.25 ms. */
static void begin_overflow(size_t ring_slots) {
    flake_options o = begin(flake_layout_sonyflake);
    o.seq_max = 1;
    open_with_ring(o, ring_slots);
    move_ns(MS / 4);
    CHECK_EQ(got64_n(&gen, many, 2), 2);
}

static void drop_events(int n) {
    for (; n > 0; n--) CHECK(!no_event(&ring));
}

TEST(an_overflow_has_an_event_a_ms_and_one_when_it_is_over) {
    for (int often = 0; often < 2; often++) {
        begin_overflow(64);
        if (often) script_now.per_sleep = MS / 8;
        CHECK(no_event(&ring));
        EXPECT_ID(flake_next(&gen, &id), T + 10, 0);
        if (!often) CHECK_EQ(script_now.sleeps, 10);
        CHECK_EQ(script_now.now_ns / MS, T + 10);
        EXPECT_EVENT(&ring, T * MS + MS / 4, 1, 0);
        for (unsigned i = 1; i < 10; i++) EXPECT_EVENT(&ring, (T + i) * MS, 1, i);
        EXPECT_EVENT(&ring, (T + 10) * MS, 0, 10);
        CHECK(no_event(&ring));
        EXPECT_ID(flake_next(&gen, &id), T + 10, 1);
        CHECK(no_event(&ring));
    }
}

TEST(a_second_overflow_is_counted_from_its_own_begin) {
    begin_overflow(64);
    EXPECT_ID(flake_next(&gen, &id), T + 10, 0);
    EXPECT_ID(flake_next(&gen, &id), T + 10, 1);
    drop_events(11);
    move_ns(3 * MS + MS / 2);
    EXPECT_ID(flake_next(&gen, &id), T + 20, 0);
    EXPECT_EVENT(&ring, (T + 13) * MS + MS / 2, 1, 0);
    EXPECT_EVENT(&ring, (T + 14) * MS, 1, 1);
    drop_events(5);
    EXPECT_EVENT(&ring, (T + 20) * MS, 0, 7);
    CHECK(no_event(&ring));
}

TEST(a_try_does_not_queue_and_has_no_event) {
    begin_overflow(64);
    EXPECT_STATUS(flake_try(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(got64_n(&gen, many, 2), 0);
    move_ns(10 * MS);
    EXPECT_ID(flake_try(&gen, &id), T + 10, 0);
    CHECK(no_event(&ring));
}

TEST(a_queued_batch_counts_each_of_its_ids_but_tickets_ahead_are_no_queue) {
    begin_overflow(64);
    CHECK_EQ(flake_next_n(&gen, many, 2), FLAKE_OK);
    EXPECT_EVENT(&ring, T * MS + MS / 4, 2, 0);
    EXPECT_EVENT(&ring, (T + 1) * MS, 2, 1);
    begin_overflow(64);
    flake_options o = *flake_gen_options(&gen);
    o.max_ahead_ms = 10;
    open_with_ring(o, 64);
    CHECK_EQ(got64_n(&gen, many, 4), 4);
    EXPECT_ID(flake_next(&gen, &id), T + 20, 0);
    EXPECT_EVENT(&ring, T * MS + MS / 4, 1, 0);
}

TEST(units_of_a_ms_have_an_event_a_ms_too) {
    flake_overflow event = {0, 0, 0};
    int64_t last_ms = 0;
    size_t events = 0;
    open_with_ring(begin_with_three(), 64);
    move_ns(MS / 4);
    for (int i = 0; i < 60; i++) CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    for (; flake_ring_pop(&ring, &event); events++, last_ms = event.now_ns / MS) CHECK(event.now_ns / MS > last_ms);
    CHECK(events >= 2 && events <= 20);
}

/* It counts those before it, although their processes may be dead. */
TEST(a_caller_that_sleeps_without_a_ticket_reports_the_queue) {
    enum { unit_capacity = 1 << 19, most = 2 * unit_capacity - 1 };
    open_with_ring(begin(flake_layout_of(44, 1, 19, 0)), 64);
    CHECK_EQ(got64_n(&gen, many, unit_capacity), unit_capacity);
    (void)FLAKE_ATOMIC_ADD(&gen.engine.word, most - unit_capacity, relaxed);
    EXPECT_ID(flake_next(&gen, &id), T + 1, unit_capacity - 1);
    EXPECT_EVENT(&ring, T * MS, most - unit_capacity, 0);
    EXPECT_EVENT(&ring, (T + 1) * MS, 0, 1);
    EXPECT_ID(flake_next(&gen, &id), T + 2, 0);
}

/* The caller supplies a reading: there is no event to take one for. */
TEST(a_given_time_reads_no_clock_though_there_is_a_ring) {
    begin_overflow(64);
    const int reads = script_now.reads;
    for (int64_t ms = T + 10; ms < T + 60; ms += 10) {
        move_to_ms(ms);
        EXPECT_ID(flake_try_at(&gen, ms, &id), ms, 0);
    }
    CHECK_EQ(script_now.reads, reads + 5); /* once a unit, for how far ahead it is */
}

/* ---- a full ring ---- */

TEST(a_full_ring_drops_events_and_the_last_one_comes_later) {
    begin_overflow(1);
    EXPECT_ID(flake_next(&gen, &id), T + 10, 0);
    CHECK_EQ(script_now.now_ns, (T + 10) * MS);
    EXPECT_EVENT(&ring, T * MS + MS / 4, 1, 0);
    CHECK(no_event(&ring));
    move_ns(13 * MS);
    EXPECT_ID(flake_next(&gen, &id), T + 20, 0);
    EXPECT_EVENT(&ring, (T + 23) * MS, 0, 23);
    CHECK(no_event(&ring));
    EXPECT_ID(flake_next(&gen, &id), T + 20, 1);
    move_ns(10 * MS);
    EXPECT_ID(flake_next(&gen, &id), T + 30, 0);
    CHECK(no_event(&ring));
}

/* Frees a slot of the ring at T + 5 ms. */
static int64_t read_and_make_room(void *user) {
    if (script_now.now_ns == (T + 5) * MS) (void)no_event(&ring);
    return script_read(user);
}

TEST(when_there_is_room_again_the_next_ms_has_an_event) {
    flake_options o = begin(flake_layout_sonyflake);
    o.clock.now_ns = read_and_make_room;
    o.seq_max = 1;
    open_with_ring(o, 1);
    CHECK_EQ(got64_n(&gen, many, 2), 2);
    EXPECT_ID(flake_next(&gen, &id), T + 10, 0);
    EXPECT_EVENT(&ring, (T + 5) * MS, 1, 5);
    CHECK(no_event(&ring));
}

/* After hours of one overflow, the next event begins another: the election's time wraps around. */
TEST(an_overflow_of_hours_is_reported_as_several) {
    for (unsigned one_less = 0; one_less < 2; one_less++) {
        const int64_t later = 0xfffffe - one_less;
        begin_overflow(64);
        flake_i_emit_event(&gen.engine, 0, T * MS, 1);
        EXPECT_EVENT(&ring, T * MS, 1, 0);
        flake_i_emit_event(&gen.engine, FLAKE_ATOMIC_LOAD(&gen.engine.overflow, relaxed), (T + later) * MS, 1);
        EXPECT_EVENT(&ring, (T + later) * MS, 1, one_less ? later : 0);
    }
}
