/* SPDX-License-Identifier: MIT
 *
 * The engine on a scripted clock: the coarse clock, and the notes of a queue.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#include "scripted_flake.h"

/* ---- the coarse clock ---- */

/* The coarse clock is 4 ms late, and the generator has drawn before its time. */
static void open_coarse(void) {
    begin_with_three();
    options.clock.now_ns = NULL;
    options.clock.kind = FLAKE_CLOCK_COARSE;
    options.max_wait_ms = 5000; /* long enough for draws by fetch_add */
    coarse_lag_ns = 4 * MS;
    coarse_slack_ns = 8 * MS;
    open_gen();
    move_ns(-5 * MS);
    TRY(T - 5, 10);
    move_ns(5 * MS);
    exact_reads = 0;
}

/* A run before may have used the units between the coarse reading and the exact one. */
TEST(a_coarse_clock_does_not_say_where_to_begin) {
    open_coarse();
    open_gen();
    TRY(T, 10);
    CHECK_EQ(exact_reads, 1);
    TRY(T, 11);
    move_ns(4 * MS);
    TRY(T, 12);
    CHECK_EQ(exact_reads, 1);
}

/* One to two slacks after the newest unit: an ID of that unit would be late by more than one. */
TEST(a_coarse_clock_past_the_unit_begins_a_new_one) {
    for (int ms = 9; ms < 16; ms++) {
        open_coarse();
        TRY(T - 4, 10); /* what the coarse clock reads */
        move_ns(ms * MS);
        TRY(T - 4 + ms, 10);
    }
}

/* In a unit that is not exhausted: by up to the slack, as the coarse clock reads it. */
TEST(a_short_step_back_is_ridden_out_by_a_coarse_clock) {
    open_coarse();
    TRY(T - 4, 10);
    move_ns(-4 * MS); /* it reads T - 8 */
    TRY(T - 4, 11);
    move_ns(-4 * MS);
    CHECK_EQ(flake_retry_ns(&gen), 0);
    CHECK_EQ(flake_available(&gen), 1);
    CHECK_EQ(exact_reads, 0);
    move_ns(-1); /* a ns more than 8 ms */
    CHECK_EQ(flake_retry_ns(&gen), 4 * MS + 1);
    CHECK_EQ(flake_available(&gen), 0);
    TRY_SAYS(FLAKE_CLOCK_BACKWARDS);
    move_ns(1);
    TRY(T - 4, 12);
    TRY_SAYS(FLAKE_CLOCK_BACKWARDS); /* exhausted */
    move_ns(8 * MS);
    TRY(T, 10);
}

/* The lag counts from the first unit, but not before the exact clock has entered it. */
TEST(a_fresh_word_near_the_epoch_takes_an_exact_reading) {
    open_coarse();
    options.layout = flake_layout_of(41, 10, 12, T);
    open_gen();
    TRY(T, 10); /* the coarse one reads T - 4 */
    CHECK_EQ(exact_reads, 1);
    open_gen();
    move_ns(-MS);
    TRY_SAYS(FLAKE_TIME_RANGE);
}

TEST(a_clock_of_ones_own_gets_no_slack) {
    begin_with_three();
    options.clock.kind = FLAKE_CLOCK_COARSE;
    coarse_slack_ns = 8 * MS;
    open_gen();
    TRY(T, 10);
    move_ns(-1);
    TRY_SAYS(FLAKE_CLOCK_BACKWARDS);
}

/* A ticket ahead of the clock is not available for longer because the clock lags. */
TEST(ids_ahead_of_a_coarse_clock_are_so_by_its_exact_reading) {
    open_coarse();
    options.max_ahead_ms = 2;
    open_gen();
    for (unsigned i = 0; i < 9; i++) TRY(T + i / 3, 10 + i % 3);
    TRY_SAYS(FLAKE_AGAIN);
}

TEST(a_coarse_clock_that_lags_is_no_clock_put_back) {
    open_coarse();
    NEXT(T - 4, 10);
    TRY(T - 4, 11);
    CHECK_EQ(got64_n(&gen, many, 1), 1);
    CHECK_EQ(exact_reads, 0); /* while IDs are free */
    TRY(T, 10);
    TRY(T, 11);
    CHECK_EQ(got64_n(&gen, many, 1), 1);
    CHECK_PLACE(many[0], T, 12);
    CHECK_EQ(exact_reads, 1); /* once one has used the exact clock, not all do */
    TRY_SAYS(FLAKE_AGAIN);
    CHECK_EQ(flake_retry_ns(&gen), MS);
    NEXT(T + 1, 10);
    CHECK_EQ(script_now.slept_ns, MS);
    CHECK_EQ(flake_available(&gen), 2);
    CHECK_EQ(got64_n(&gen, many, 5), 2);
    CHECK_EQ(flake_next_n(&gen, many, 5), FLAKE_OK);
    CHECK_PLACE(many[4], T + 3, 11);
    CHECK_EQ(stats_now().clock_backwards, 0);
}

TEST(a_coarse_clock_never_wakes_a_waiter_late) {
    open_coarse();
    for (unsigned i = 0; i < 30; i++) CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_PLACE(id, T + 8, 12);
    CHECK_EQ(script_now.now_ns, (T + 8) * MS);
}

/* ---- overflow notes ---- */

static flake_ring ring;
static flake_ring_slot slots[64];

static void open_noted(size_t ring_slots) {
    CHECK_EQ(flake_ring_init(&ring, slots, ring_slots), FLAKE_OK);
    options.overflow = &ring;
    open_gen();
}

/* Units of 10 ms with two numbers each, both drawn at T + 0.25 ms. */
static void begin_overflow(size_t ring_slots) {
    begin(flake_layout_sonyflake);
    options.seq_max = 1;
    open_noted(ring_slots);
    move_ns(MS / 4);
    CHECK_EQ(got64_n(&gen, many, 2), 2);
}

#define NOTE(at_ns, callers, since)          \
    do {                                     \
        flake_overflow note = {0, 0, 0};     \
        CHECK(flake_ring_pop(&ring, &note)); \
        CHECK_EQ(note.now_ns, at_ns);        \
        CHECK_EQ(note.waiting, callers);     \
        CHECK_EQ(note.elapsed_ms, since);    \
    } while (0)

static void drop_notes(int n) {
    flake_overflow note;
    for (; n > 0; n--) CHECK(flake_ring_pop(&ring, &note));
}

#define NO_NOTE()                             \
    do {                                      \
        flake_overflow none;                  \
        CHECK(!flake_ring_pop(&ring, &none)); \
    } while (0)

TEST(a_queue_is_noted_once_a_ms_and_once_when_it_is_over) {
    for (int often = 0; often < 2; often++) {
        begin_overflow(64);
        if (often) script_now.per_sleep = MS / 8;
        NO_NOTE();
        NEXT(T + 10, 0);
        if (!often) CHECK_EQ(script_now.sleeps, 10);
        CHECK_EQ(script_now.now_ns / MS, T + 10);
        NOTE(T * MS + MS / 4, 1, 0);
        for (unsigned i = 1; i < 10; i++) NOTE((T + i) * MS, 1, i);
        NOTE((T + 10) * MS, 0, 10);
        NO_NOTE();
        NEXT(T + 10, 1);
        NO_NOTE();
    }
}

TEST(a_try_does_not_queue_and_is_not_noted) {
    begin_overflow(64);
    TRY_SAYS(FLAKE_AGAIN);
    CHECK_EQ(got64_n(&gen, many, 2), 0);
    move_ns(10 * MS);
    TRY(T + 10, 0);
    NO_NOTE();
}

TEST(a_queued_batch_counts_by_its_places) {
    begin_overflow(64);
    CHECK_EQ(flake_next_n(&gen, many, 2), FLAKE_OK);
    NOTE(T * MS + MS / 4, 2, 0);
    NOTE((T + 1) * MS, 2, 1);
    begin_overflow(64);
    options.max_ahead_ms = 10; /* tickets ahead are no queue */
    open_gen();
    CHECK_EQ(got64_n(&gen, many, 4), 4);
    NEXT(T + 20, 0);
    NOTE(T * MS + MS / 4, 1, 0);
}

TEST(units_of_a_ms_are_noted_once_a_ms_too) {
    begin_with_three();
    open_noted(64);
    move_ns(MS / 4);
    for (int i = 0; i < 60; i++) CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    flake_overflow note = {0, 0, 0};
    int64_t last_ms = 0;
    size_t notes = 0;
    for (; flake_ring_pop(&ring, &note); notes++) {
        CHECK(note.now_ns / MS > last_ms);
        last_ms = note.now_ns / MS;
    }
    CHECK(notes >= 2 && notes <= 20);
}

/* It counts those before it, although their processes may be dead. */
TEST(who_sleeps_without_a_place_notes_the_queue) {
    enum { cap = 1 << 19, most = 2 * cap - 1 };
    begin(flake_layout_of(44, 1, 19, 0));
    open_noted(64);
    CHECK_EQ(got64_n(&gen, many, cap), cap);
    (void)FLAKE_ATOMIC_ADD(&gen.engine.word, most - cap, relaxed);
    NEXT(T + 1, cap - 1);
    NOTE(T * MS, most - cap, 0);
    NOTE((T + 1) * MS, 0, 1);
    NEXT(T + 2, 0);
}

/* The caller supplies a reading: there are no notes to take one for. */
TEST(a_given_time_reads_no_clock_though_there_is_a_ring) {
    begin_overflow(64);
    const int reads = script_now.reads;
    for (int64_t ms = T + 10; ms < T + 60; ms += 10) {
        move_to_ms(ms);
        GIVES(flake_try_at(&gen, ms, &id), ms, 0);
    }
    CHECK_EQ(script_now.reads, reads + 5); /* once a unit, for how far ahead it is */
}

TEST(a_full_ring_drops_notes_and_the_last_one_comes_later) {
    begin_overflow(1);
    NEXT(T + 10, 0);
    CHECK_EQ(script_now.now_ns, (T + 10) * MS);
    NOTE(T * MS + MS / 4, 1, 0);
    NO_NOTE();
    move_ns(13 * MS);
    NEXT(T + 20, 0);
    NOTE((T + 23) * MS, 0, 23);
    NO_NOTE();
    NEXT(T + 20, 1);
    move_ns(10 * MS);
    NEXT(T + 30, 0);
    NO_NOTE();
}

/* Frees a slot of the ring at T + 5 ms. */
static int64_t read_and_make_room(void *user) {
    flake_overflow note;
    if (script_now.now_ns == (T + 5) * MS) (void)flake_ring_pop(&ring, &note);
    return script_read(user);
}

TEST(when_there_is_room_again_the_next_ms_is_noted) {
    begin(flake_layout_sonyflake);
    options.clock.now_ns = read_and_make_room;
    options.seq_max = 1;
    open_noted(1);
    CHECK_EQ(got64_n(&gen, many, 2), 2);
    NEXT(T + 10, 0);
    NOTE((T + 5) * MS, 1, 5);
    NO_NOTE();
}

TEST(a_second_overflow_is_noted_from_its_own_begin) {
    begin_overflow(64);
    NEXT(T + 10, 0);
    NEXT(T + 10, 1);
    drop_notes(11);
    move_ns(3 * MS + MS / 2);
    NEXT(T + 20, 0);
    NOTE((T + 13) * MS + MS / 2, 1, 0);
    NOTE((T + 14) * MS, 1, 1);
    drop_notes(5);
    NOTE((T + 20) * MS, 0, 7);
    NO_NOTE();
}

/* After hours of one overflow, the next note begins another: the election's time wraps around. */
TEST(an_overflow_of_hours_is_noted_as_several) {
    for (unsigned one_less = 0; one_less < 2; one_less++) {
        const int64_t later = 0xfffffe - one_less;
        begin_overflow(64);
        flake_i_emit_event(&gen.engine, 0, T * MS, 1);
        NOTE(T * MS, 1, 0);
        flake_i_emit_event(&gen.engine, FLAKE_ATOMIC_LOAD(&gen.engine.overflow, relaxed),
                     (T + later) * MS, 1);
        NOTE((T + later) * MS, 1, one_less ? later : 0);
    }
}

int main(int argc, char **argv) { return check_main(argc, argv); }
