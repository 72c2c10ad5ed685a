/* SPDX-License-Identifier: MIT
 *
 * The engine through the public API, on a scripted clock: the cases one by one, then random scripts
 * against oracle.h.
 */
#include "support.h"
#include "oracle.h"

/* The system's clocks follow the script too, the coarse one some way behind. */
static int64_t coarse_lag_ns;
static int exact_reads;

static int64_t system_ns(int is_coarse) {
    exact_reads += !is_coarse;
    return script_now.now_ns - (is_coarse ? coarse_lag_ns : 0);
}

#define FLAKE_CLOCK_NS(kind) system_ns((kind) == FLAKE_CLOCK_COARSE)
#include "flake.h"

#define MS      INT64_C(1000000)       /* in ns */
#define T       INT64_C(1700000000000) /* Unix ms: where most scripts begin */
#define NOTHING UINT64_C(0x5e5e5e5e5e5e5e5e)

static flake_options options;
static flake_gen gen;
static uint64_t id;
static uint64_t many[1 << 20];

static flake_options scripted(flake_layout layout) {
    flake_options o;
    memset(&o, 0, sizeof o);
    o.layout = layout;
    o.clock.now_ns = script_read;
    o.clock.user = &script_now;
    return o;
}

/* A script at T, and options for the test to complete. */
static void begin(flake_layout layout) {
    script_at_ms(T);
    coarse_lag_ns = 0;
    options = scripted(layout);
}

static void open_gen(void) { CHECK_EQ(flake_init(&gen, &options), FLAKE_OK); }

/* flake-idgen's layout with the numbers 10, 11 and 12 of each ms. */
static void begin_with_three(void) {
    begin(flake_layout_idgen());
    options.seq_min = 10;
    options.seq_max = 12;
}

static void open_with_three(void) {
    begin_with_three();
    open_gen();
}

static flake_parts parts_of(const flake_gen *g, uint64_t of) {
    flake_parts parts;
    memset(&parts, 0, sizeof parts);
    CHECK_EQ(flake_decompose(&flake_gen_options(g)->layout, of, &parts), FLAKE_OK);
    return parts;
}

static flake_snapshot snapshot_of(flake_gen *g) {
    flake_snapshot s;
    memset(&s, 0, sizeof s);
    CHECK_EQ(flake_snapshot_take(g, &s), FLAKE_OK);
    return s;
}

static uint64_t drawn_ids(void) {
    flake_stats stats;
    flake_stats_get(&gen, &stats);
    return stats.ids;
}

/* A place may be told from more than one unit. */
static uint64_t position(flake_snapshot s) {
    const uint64_t cap = (uint64_t)s.seq_max - s.seq_min + 1;
    return (uint64_t)(s.unix_ms - s.epoch_ms) / s.unit_ms * cap + s.count;
}

static bool same_place(flake_snapshot a, flake_snapshot b) { return position(a) == position(b); }

#define CHECK_PLACE(of, ms, number)               \
    do {                                          \
        CHECK_EQ(parts_of(&gen, of).unix_ms, ms); \
        CHECK_EQ(parts_of(&gen, of).seq, number); \
    } while (0)

/* The call gives this place. */
#define GIVES(call, ms, number)      \
    do {                             \
        CHECK_EQ(call, FLAKE_OK);    \
        CHECK_PLACE(id, ms, number); \
    } while (0)

#define NEXT(ms, number) GIVES(flake_next(&gen, &id), ms, number)
#define TRY(ms, number)  GIVES(flake_try(&gen, &id), ms, number)

/* The call fails, and neither the generator nor the id has changed. */
#define SAYS(status, call)                                    \
    do {                                                      \
        const flake_snapshot before_call = snapshot_of(&gen); \
        id = NOTHING;                                         \
        CHECK_EQ(call, status);                               \
        CHECK(id == NOTHING);                                 \
        CHECK(same_place(before_call, snapshot_of(&gen)));    \
    } while (0)

#define NEXT_SAYS(status) SAYS(status, flake_next(&gen, &id))
#define TRY_SAYS(status)  SAYS(status, flake_try(&gen, &id))

static void move_ns(int64_t ns) { script_now.now_ns += ns; }
static void move_to_ms(int64_t ms) { script_now.now_ns = ms * MS; }

/* ---- within a unit, and from unit to unit ---- */

static void the_first_id_is_the_first_number_of_the_clocks_unit(void) {
    open_with_three();
    NEXT(T, 10);
    begin(flake_layout_idgen());
    open_gen();
    TRY(T, 0);
}

static void numbers_count_up_within_a_unit(void) {
    open_with_three();
    NEXT(T, 10);
    move_ns(MS / 2);
    TRY(T, 11);
    move_ns(MS / 2 - 1);
    NEXT(T, 12);
}

static void a_new_unit_begins_with_the_first_number(void) {
    open_with_three();
    NEXT(T, 10);
    NEXT(T, 11);
    move_ns(MS);
    NEXT(T + 1, 10);
    move_ns(7 * MS);
    TRY(T + 8, 10);
    TRY(T + 8, 11);
}

static void a_try_at_a_spent_unit_changes_nothing(void) {
    open_with_three();
    for (unsigned i = 10; i <= 12; i++) TRY(T, i);
    for (int i = 0; i < 3; i++) TRY_SAYS(FLAKE_AGAIN);
    CHECK_EQ(flake_try_n(&gen, many, 5), 0);
    CHECK_EQ(script_now.sleeps, 0);
    move_ns(MS);
    for (unsigned i = 10; i <= 12; i++) TRY(T + 1, i);
    TRY_SAYS(FLAKE_AGAIN);
}

static void retry_ns_is_exact_to_the_nanosecond(void) {
    begin(flake_layout_sonyflake()); /* units of 10 ms */
    options.seq_max = 1;
    open_gen();
    move_ns(3 * MS + 1);
    CHECK_EQ(flake_retry_ns(&gen), 0);
    TRY(T, 0);
    CHECK_EQ(flake_retry_ns(&gen), 0);
    TRY(T, 1);
    CHECK_EQ(flake_retry_ns(&gen), 7 * MS - 1);
    move_ns(7 * MS - 2);
    TRY_SAYS(FLAKE_AGAIN);
    CHECK_EQ(flake_retry_ns(&gen), 1);
    move_ns(1);
    CHECK_EQ(flake_retry_ns(&gen), 0);
    TRY(T + 10, 0);
}

/* ---- waiting ---- */

static void next_sleeps_until_the_next_unit_and_has_its_first_place(void) {
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

static void a_saturated_generator_gives_all_that_its_layout_has(void) {
    open_with_three();
    for (unsigned i = 0; i < 3000; i++) NEXT(T + i / 3, 10 + i % 3);
    CHECK_EQ(script_now.now_ns, (T + 999) * MS);
    CHECK_EQ(script_now.sleeps, 999);
}

static void waking_early_sleeps_again(void) {
    open_with_three();
    CHECK_EQ(flake_try_n(&gen, many, 3), 3);
    script_now.per_sleep = MS / 10;
    NEXT(T + 1, 10);
    CHECK_EQ(script_now.sleeps, 10);
}

static void waking_late_loses_no_place(void) {
    open_with_three();
    CHECK_EQ(flake_try_n(&gen, many, 3), 3);
    script_now.per_sleep = 5 * MS + MS / 2;
    NEXT(T + 1, 10);
    NEXT(T + 5, 10);
}

static void next_gives_up_after_max_wait_though_the_clock_stands_still(void) {
    begin_with_three();
    options.max_wait_ms = 5;
    open_gen();
    CHECK_EQ(flake_try_n(&gen, many, 3), 3);
    script_now.per_sleep = 0;
    NEXT_SAYS(FLAKE_AGAIN);
    CHECK(script_now.sleeps > 0 && script_now.slept_ns <= 5 * MS);
    script_now.per_sleep = -1;
    NEXT(T + 1, 10);
}

/* The place before was waited for, so the word still tells of the unit before that. */
static void giving_up_changes_nothing_behind_a_place_that_was_waited_for(void) {
    begin_with_three();
    options.max_wait_ms = 5;
    open_gen();
    CHECK_EQ(flake_next_n(&gen, many, 6), FLAKE_OK);
    CHECK_EQ(script_now.now_ns, (T + 1) * MS);
    script_now.per_sleep = 0;
    NEXT_SAYS(FLAKE_AGAIN);
    script_now.per_sleep = -1;
    move_to_ms(T);
    TRY_SAYS(FLAKE_AGAIN); /* not CLOCK_BACK: T + 1 was not recorded */
    NEXT(T + 2, 10);
}

static void next_does_not_begin_a_wait_longer_than_max_wait(void) {
    begin(flake_layout_sonyflake());
    options.seq_max = 1;
    options.max_wait_ms = 5;
    open_gen();
    CHECK_EQ(flake_try_n(&gen, many, 2), 2);
    move_ns(5 * MS - 1);
    NEXT_SAYS(FLAKE_AGAIN);
    CHECK_EQ(script_now.sleeps, 0);
    move_ns(1);
    NEXT(T + 10, 0);
    CHECK_EQ(script_now.slept_ns, 5 * MS);
}

/* ---- a clock that was put back ---- */

static void a_try_behind_the_newest_id_says_clock_back(void) {
    open_with_three();
    TRY(T, 10);
    move_ns(-1);
    TRY_SAYS(FLAKE_CLOCK_BACK);
    CHECK_EQ(flake_try_n(&gen, many, 2), 0);
    CHECK_EQ(flake_retry_ns(&gen), 1);
    move_ns(1);
    TRY(T, 11);
    TRY(T, 12);
    move_ns(-3600 * 1000 * MS);
    TRY_SAYS(FLAKE_CLOCK_BACK);
    CHECK_EQ(flake_retry_ns(&gen), 3600 * 1000 * MS + MS);
    move_ns(3600 * 1000 * MS + MS - 1);
    TRY_SAYS(FLAKE_AGAIN);
    move_ns(1);
    TRY(T + 1, 10);
}

static void next_waits_for_a_clock_that_is_back_by_max_wait_at_most(void) {
    begin_with_three();
    options.max_wait_ms = 500;
    open_gen();
    NEXT(T, 10);
    move_ns(-500 * MS - 1);
    NEXT_SAYS(FLAKE_CLOCK_BACK);
    CHECK_EQ(script_now.sleeps, 0);
    move_ns(1);
    NEXT(T, 11);
    CHECK_EQ(script_now.slept_ns, 500 * MS);
    CHECK_EQ(script_now.now_ns, T * MS);
}

static void max_wait_is_a_second_by_default(void) {
    open_with_three();
    CHECK_EQ(flake_gen_options(&gen)->max_wait_ms, 1000);
    NEXT(T, 10);
    move_ns(-1000 * MS - 1);
    NEXT_SAYS(FLAKE_CLOCK_BACK);
    move_ns(1);
    NEXT(T, 11);
}

static void refuse_back_does_not_wait_for_a_clock_that_was_put_back(void) {
    begin_with_three();
    options.refuse_back = true;
    open_gen();
    NEXT(T, 10);
    move_ns(-1);
    NEXT_SAYS(FLAKE_CLOCK_BACK);
    CHECK_EQ(flake_next_n(&gen, many, 2), FLAKE_CLOCK_BACK);
    CHECK_EQ(script_now.sleeps, 0);
    move_ns(1);
    CHECK_EQ(flake_next_n(&gen, many, 2), FLAKE_OK);
    NEXT(T + 1, 10); /* but waits for a unit */
    CHECK_EQ(script_now.sleeps, 1);
}

static void a_clock_put_back_a_little_during_the_sleep_is_waited_for(void) {
    open_with_three();
    CHECK_EQ(flake_try_n(&gen, many, 3), 3);
    script_now.jump_to_ns = (T - 100) * MS;
    NEXT(T + 1, 10);
    CHECK_EQ(script_now.sleeps, 2);
    CHECK_EQ(script_now.now_ns, (T + 1) * MS);
}

static void a_clock_put_back_far_during_the_sleep_is_not(void) {
    open_with_three();
    CHECK_EQ(flake_try_n(&gen, many, 3), 3);
    script_now.jump_to_ns = (T - 5000) * MS;
    NEXT_SAYS(FLAKE_CLOCK_BACK);
    CHECK_EQ(script_now.sleeps, 1);
    move_to_ms(T);
    NEXT(T + 1, 10);
}

static void refuse_back_holds_for_a_clock_put_back_during_the_sleep(void) {
    begin_with_three();
    options.refuse_back = true;
    open_gen();
    CHECK_EQ(flake_try_n(&gen, many, 3), 3);
    script_now.jump_to_ns = (T - 100) * MS;
    NEXT_SAYS(FLAKE_CLOCK_BACK);
    CHECK_EQ(script_now.sleeps, 1);
}

static void a_clock_put_before_the_epoch_during_the_sleep_is_out_of_range(void) {
    open_with_three();
    CHECK_EQ(flake_try_n(&gen, many, 3), 3);
    script_now.jump_to_ns = -1;
    NEXT_SAYS(FLAKE_RANGE);
    move_to_ms(T);
    script_now.jump_to_ns = INT64_MIN;
    NEXT_SAYS(FLAKE_RANGE);
    move_to_ms(T);
    NEXT(T + 1, 10);
}

/* ---- the ends of time ---- */

static void before_the_epoch_there_are_no_ids(void) {
    begin(flake_layout_of(41, 10, 12, T));
    open_gen();
    move_ns(-1);
    TRY_SAYS(FLAKE_RANGE);
    NEXT_SAYS(FLAKE_RANGE);
    CHECK_EQ(flake_next_n(&gen, many, 2), FLAKE_RANGE);
    CHECK_EQ(flake_try_n(&gen, many, 2), 0);
    CHECK_EQ(flake_available(&gen), 0);
    CHECK_EQ(flake_retry_ns(&gen), 1);
    CHECK_EQ(script_now.sleeps, 0);
    move_ns(1);
    TRY(T, 0);
    CHECK_EQ(parts_of(&gen, id).time, 0);
}

static void an_epoch_before_1970_is_as_good_as_another(void) {
    script_at_ms(-T);
    options = scripted(flake_layout_of(41, 10, 12, -T));
    open_gen();
    move_ns(-1);
    TRY_SAYS(FLAKE_RANGE);
    move_ns(1);
    TRY(-T, 0);
    move_ns(MS - 1);
    TRY(-T, 1);
    move_ns(1);
    TRY(1 - T, 0);
}

static void before_the_epoch_retry_ns_counts_to_when_a_try_succeeds(void) {
    begin(flake_layout_of(41, 10, 12, T));
    open_gen();
    move_to_ms(T + 50);
    TRY(T + 50, 0);
    move_to_ms(T - 100);
    CHECK_EQ(flake_retry_ns(&gen), 150 * MS);
}

static void a_clock_reading_at_either_end_of_its_type_does_no_harm(void) {
    open_with_three();
    TRY(T, 10);
    script_now.now_ns = INT64_MIN;
    TRY_SAYS(FLAKE_RANGE);
    NEXT_SAYS(FLAKE_RANGE);
    CHECK(flake_retry_ns(&gen) > 0);
    CHECK_EQ(flake_available(&gen), 0);
    script_now.now_ns = INT64_MAX;
    TRY_SAYS(FLAKE_RANGE);
    NEXT_SAYS(FLAKE_RANGE);
    CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
    move_to_ms(T);
    TRY(T, 11);
}

/* 1024 units of a second: the last is T + 1,023,000. */
static void begin_short_era(void) {
    begin(flake_layout_of(10, 4, 4, T));
    options.layout.unit_ms = 1000;
    options.seq_min = 1;
    options.seq_max = 3;
}

static void the_last_unit_is_used_up_and_nothing_comes_after(void) {
    begin_short_era();
    open_gen();
    const int64_t last_ms = T + 1023000;
    CHECK_EQ(flake_expires_ms(&options.layout), last_ms + 999);
    move_to_ms(last_ms + 999);
    TRY(last_ms, 1);
    NEXT(last_ms, 2);
    CHECK_EQ(flake_available(&gen), 1);
    CHECK_EQ(flake_next_n(&gen, many, 4), FLAKE_RANGE);
    CHECK_PLACE(many[0], last_ms, 3);
    CHECK(many[1] == 0 && many[3] == 0);
    TRY_SAYS(FLAKE_RANGE);
    NEXT_SAYS(FLAKE_RANGE);
    CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
    CHECK_EQ(flake_available(&gen), 0);
    CHECK_EQ(script_now.sleeps, 0);
    move_to_ms(last_ms + 1000);
    TRY_SAYS(FLAKE_RANGE);
    NEXT_SAYS(FLAKE_RANGE);
    CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
}

static void past_the_end_an_unused_generator_has_no_ids(void) {
    begin_short_era();
    open_gen();
    move_to_ms(T + 1024000);
    TRY_SAYS(FLAKE_RANGE);
    CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
    move_ns(-1);
    TRY(T + 1023000, 1);
}

static void max_ahead_does_not_reach_past_the_last_unit(void) {
    begin_short_era();
    options.max_ahead_ms = 5000;
    open_gen();
    move_to_ms(T + 1021000);
    CHECK_EQ(flake_available(&gen), 9);
    CHECK_EQ(flake_try_n(&gen, many, 100), 9);
    CHECK_PLACE(many[8], T + 1023000, 3);
    TRY_SAYS(FLAKE_RANGE);
    NEXT_SAYS(FLAKE_RANGE);
    CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
}

static void lag_is_told_when_all_of_time_is_drawn(void) {
    begin_short_era();
    options.max_ahead_ms = 5000;
    open_gen();
    move_to_ms(T + 1021000);
    CHECK_EQ(flake_try_n(&gen, many, 100), 9);
    CHECK_EQ(flake_lag_ms(&gen), 2000);
}

static void a_clock_that_jumps_decades_ahead_is_followed(void) {
    open_with_three();
    NEXT(T, 10);
    const int64_t far_ms = T + INT64_C(50) * 365 * 86400 * 1000;
    move_to_ms(far_ms);
    for (unsigned i = 10; i <= 12; i++) NEXT(far_ms, i);
    NEXT(far_ms + 1, 10);
    move_to_ms(T);
    TRY_SAYS(FLAKE_CLOCK_BACK);
    NEXT_SAYS(FLAKE_CLOCK_BACK);
}

/* ---- max_ahead ---- */

/* Draws `n` places in uneven batches, and sees that they follow each other from `first` on. */
static void draw_in_a_row(uint64_t n, uint64_t cap, int64_t unit_ms, int64_t first_ms) {
    static const size_t sizes[] = {sizeof many / sizeof *many, 4097, 1, 65536, 3};
    const flake_layout *layout = &flake_gen_options(&gen)->layout;
    const uint64_t step = (uint64_t)1 << layout->seq_shift;
    uint64_t drawn = 0, expected = 0, wrong = 0, index = cap;
    for (size_t batch = 0; drawn < n; batch++) {
        size_t size = sizes[batch % 5] < n - drawn ? sizes[batch % 5] : (size_t)(n - drawn);
        const size_t got = flake_try_n(&gen, many, size);
        CHECK_EQ(got, size);
        if (!got) return;
        for (size_t i = 0; i < got; i++, index++, drawn++) {
            if (index == cap) {
                flake_parts parts;
                memset(&parts, 0, sizeof parts);
                parts.unix_ms = first_ms + (int64_t)(drawn / cap) * unit_ms;
                parts.seq = flake_gen_options(&gen)->seq_min;
                parts.node = flake_gen_options(&gen)->node;
                CHECK_EQ(flake_compose(layout, &parts, &expected), FLAKE_OK);
                index = 0;
            }
            wrong += many[i] != expected + index * step;
        }
    }
    CHECK_EQ(wrong, 0);
}

static void hazelcast_borrows_15_seconds_and_then_waits(void) {
    begin(flake_layout_hazelcast());
    options.node = 7;
    options.max_ahead_ms = 15000;
    open_gen();
    CHECK_EQ(flake_available(&gen), 15001 * 64);
    draw_in_a_row(15001 * 64, 64, 1, T);
    TRY_SAYS(FLAKE_AGAIN);
    CHECK_EQ(flake_available(&gen), 0);
    CHECK_EQ(flake_lag_ms(&gen), 15000);
    move_ns(MS / 4);
    CHECK_EQ(flake_retry_ns(&gen), MS - MS / 4);
    NEXT(T + 15001, 0);
    CHECK_EQ(script_now.slept_ns, MS - MS / 4);
    move_ns(MS);
    CHECK_EQ(flake_try_n(&gen, many, 1000), 63 + 64);
    CHECK_PLACE(many[0], T + 15001, 1);
    CHECK_PLACE(many[126], T + 15002, 63);
}

static void hazelcast_counts_on_when_the_clock_is_back_by_less(void) {
    begin(flake_layout_hazelcast());
    options.max_ahead_ms = 15000;
    open_gen();
    TRY(T, 0);
    move_to_ms(T - 15000);
    TRY(T, 1);
    NEXT(T, 2);
    CHECK_EQ(flake_available(&gen), 61);
    CHECK_EQ(flake_lag_ms(&gen), 15000);
    CHECK_EQ(flake_try_n(&gen, many, 100), 61);
    TRY_SAYS(FLAKE_AGAIN);
    move_ns(-1);
    TRY_SAYS(FLAKE_CLOCK_BACK);
    CHECK_EQ(flake_retry_ns(&gen), MS + 1);
    NEXT(T + 1, 0);
    CHECK_EQ(script_now.now_ns, (T + 1 - 15000) * MS);
}

/* Nothing was borrowed, but more could have been than count holds. */
static void a_clock_back_by_more_than_max_ahead_says_so_whatever_might_be_borrowed(void) {
    begin(flake_layout_idgen());
    options.max_ahead_ms = 15000;
    options.refuse_back = true;
    open_gen();
    TRY(T, 0);
    move_to_ms(T - 15000);
    TRY(T, 1);
    move_ns(-1);
    TRY_SAYS(FLAKE_CLOCK_BACK);
    NEXT_SAYS(FLAKE_CLOCK_BACK);
}

static void a_max_ahead_of_half_a_unit_is_rounded_down(void) {
    begin(flake_layout_sonyflake());
    options.seq_max = 1;
    options.max_ahead_ms = 25;
    open_gen();
    CHECK_EQ(flake_try_n(&gen, many, 100), 6);
    CHECK_PLACE(many[5], T + 20, 1);
}

/* Whole units move from count to time when count's bits don't hold what is borrowed. */
static void borrow_over_the_counts_bits(flake_layout layout, int64_t ahead_ms) {
    begin(layout);
    options.max_ahead_ms = ahead_ms;
    open_gen();
    const uint64_t cap = flake_gen_options(&gen)->seq_max + 1;
    CHECK_EQ(flake_available(&gen), (uint64_t)(ahead_ms + 1) * cap);
    draw_in_a_row((uint64_t)(ahead_ms + 1) * cap, cap, 1, T);
    TRY_SAYS(FLAKE_AGAIN);
    CHECK_EQ(flake_retry_ns(&gen), MS);
    CHECK_EQ(flake_lag_ms(&gen), ahead_ms);
    move_ns(MS);
    draw_in_a_row(cap, cap, 1, T + ahead_ms + 1);
    TRY_SAYS(FLAKE_AGAIN);
    NEXT(T + ahead_ms + 2, 0);
}

static void max_ahead_may_be_more_than_count_holds(void) {
#ifdef TEST_SMALL
    const int64_t ahead_ms = 1100;
#else
    const int64_t ahead_ms = 15000;
#endif
    borrow_over_the_counts_bits(flake_layout_idgen(), ahead_ms);
    borrow_over_the_counts_bits(flake_layout_hazelcast_bits(12, 10), ahead_ms);
    borrow_over_the_counts_bits(flake_layout_mastodon(), 40);
    borrow_over_the_counts_bits(flake_layout_of(44, 0, 20, 0), 3);
}

static void one_by_one_max_ahead_may_be_more_than_count_holds(void) {
    begin(flake_layout_mastodon());
    options.max_ahead_ms = 20;
    open_gen();
    uint64_t drawn = 0, wrong = 0;
    for (; flake_try(&gen, &id) == FLAKE_OK; drawn++) wrong += id != ((uint64_t)T << 16) + drawn;
    CHECK_EQ(wrong, 0);
    CHECK_EQ(drawn, 21 * 65536);
    TRY_SAYS(FLAKE_AGAIN);
}

/* An old reading counts as the newest one recorded, not as the units that are borrowed. */
static void a_caller_with_a_cached_time_borrows_no_more_than_max_ahead(void) {
    begin(flake_layout_mastodon());
    options.max_ahead_ms = 20;
    open_gen();
    uint64_t drawn = 0;
    while (drawn < 100 * 65536 && flake_try_at(&gen, T, &id) == FLAKE_OK) drawn++;
    CHECK_EQ(drawn, 21 * 65536);
    SAYS(FLAKE_AGAIN, flake_try_at(&gen, T, &id));
}

static void a_clock_back_by_less_than_max_ahead_says_again_while_spent(void) {
    begin_with_three();
    options.max_ahead_ms = 20;
    open_gen();
    CHECK_EQ(flake_try_n(&gen, many, 100), 63);
    move_ns(-10 * MS);
    TRY_SAYS(FLAKE_AGAIN);
    CHECK_EQ(flake_retry_ns(&gen), 11 * MS);
    move_ns(-10 * MS - 1);
    TRY_SAYS(FLAKE_CLOCK_BACK);
    CHECK_EQ(flake_retry_ns(&gen), 21 * MS + 1);
    NEXT(T + 21, 10);
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
    CHECK_EQ(flake_lag_ms(&gen), 0);
    CHECK_EQ(flake_retry_ns(&gen), MS);
    move_ns(MS - 1);
    TRY_SAYS(FLAKE_AGAIN);
    move_ns(-MS);
    TRY_SAYS(FLAKE_CLOCK_BACK);
    move_ns(1);
    NEXT(T + 1, 0);
    CHECK_EQ(script_now.now_ns, (T + 1) * MS);
    CHECK_EQ(flake_try_n(&gen, many, 3), 3);
    CHECK_PLACE(many[2], T + 1, 3);
    move_ns(MS);
    CHECK_EQ(flake_available(&gen), cap);
    draw_in_a_row(cap, cap, 1, T + 2);
    TRY_SAYS(FLAKE_AGAIN);
    move_ns(10 * MS);
    TRY(T + 12, 0);
}

static void a_count_without_a_spare_bit_uses_up_each_unit(void) {
    use_up_whole_units(flake_layout_of(44, 0, 20, 0));
#ifndef TEST_SMALL
    use_up_whole_units(flake_layout_of(42, 0, 22, 0));
    use_up_whole_units(flake_layout_of(40, 0, 24, T - 1000));
#endif
}

static void a_count_with_few_spare_bits_uses_up_each_unit(void) {
    use_up_whole_units(flake_layout_of(42, 3, 19, 0));
#ifndef TEST_SMALL
    for (unsigned spare = 1; spare <= 5; spare++)
        use_up_whole_units(flake_layout_of(42, spare, 22 - spare, 0));
#endif
}

static void next_n_crosses_units_without_a_spare_bit(void) {
    begin(flake_layout_of(44, 0, 20, 0));
    open_gen();
    draw_in_a_row((1 << 20) - 2, 1 << 20, 1, T);
    CHECK_EQ(flake_next_n(&gen, many, 5), FLAKE_OK);
    CHECK_PLACE(many[1], T, (1 << 20) - 1);
    CHECK_PLACE(many[2], T + 1, 0);
    CHECK_PLACE(many[4], T + 1, 2);
}

static void statistics_are_exact_without_a_spare_bit(void) {
    const uint64_t cap = 1 << 20;
    begin(flake_layout_of(44, 0, 20, 0));
    open_gen();
    draw_in_a_row(cap - 1, cap, 1, T);
    CHECK_EQ(drawn_ids(), cap - 1);
    TRY(T, cap - 1);
    CHECK_EQ(drawn_ids(), cap);
    move_ns(MS);
    TRY(T + 1, 0);
    CHECK_EQ(drawn_ids(), cap + 1);
}

/* Its clock goes on, but a full last unit would carry out of the word. */
static void a_layout_that_fills_all_64_bits_ends_a_unit_earlier(void) {
    const int64_t epoch_ms = -INT64_C(9200000000000);
    const int64_t last_ms = epoch_ms + (INT64_C(1) << 44) - 2;
    begin(flake_layout_of(44, 0, 20, epoch_ms));
    open_gen();
    move_to_ms(last_ms);
    draw_in_a_row(1 << 20, 1 << 20, 1, last_ms);
    TRY_SAYS(FLAKE_RANGE);
    move_ns(MS);
    TRY_SAYS(FLAKE_RANGE);
    CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
    move_to_ms(last_ms);
    TRY_SAYS(FLAKE_RANGE);
}

static void a_full_count_without_a_spare_bit_survives_a_snapshot(void) {
    begin(flake_layout_of(44, 0, 20, 0));
    open_gen();
    draw_in_a_row(1 << 20, 1 << 20, 1, T);
    const flake_snapshot full = snapshot_of(&gen);
    open_gen();
    CHECK_EQ(flake_restore(&gen, &full), FLAKE_OK);
    TRY_SAYS(FLAKE_AGAIN);
    move_ns(MS);
    TRY(T + 1, 0);
}

/* ---- ranges of sequence numbers ---- */

static void a_range_of_numbers_is_kept_to(void) {
    static const uint32_t ranges[][2] = {{0, 1}, {1, 1}, {4095, 4095}, {1000, 3000}, {1, 4095}};
    for (size_t r = 0; r < 5; r++) {
        begin(flake_layout_idgen());
        options.seq_min = ranges[r][0];
        options.seq_max = ranges[r][1];
        open_gen();
        for (int64_t ms = T; ms < T + 3; ms++) {
            for (uint32_t i = ranges[r][0]; i <= ranges[r][1]; i++) TRY(ms, i);
            TRY_SAYS(FLAKE_AGAIN);
            move_ns(MS);
        }
    }
}

static void one_id_a_unit_is_enough(void) {
    begin(flake_layout_of(42, 10, 0, 0)); /* no sequence at all */
    open_gen();
    for (int64_t ms = T; ms < T + 5; ms++) NEXT(ms, 0);
    TRY_SAYS(FLAKE_AGAIN);
    CHECK_EQ(script_now.sleeps, 4);
    CHECK_EQ(flake_next_n(&gen, many, 3), FLAKE_OK);
    CHECK_PLACE(many[2], T + 7, 0);
}

static void check_refused(int line, flake_status want, const char *field) {
    static flake_gen twin;
    const char *why = flake_options_why(&options);
    twin = gen;
    const bool right = why && strncmp(why, field, strlen(field)) == 0 &&
                       flake_init(&gen, &options) == want && memcmp(&gen, &twin, sizeof gen) == 0;
    if (!right) check_fail(__FILE__, line, why ? why : "nothing wrong");
}

#define REFUSED(status, field) check_refused(__LINE__, status, field)

static void ranges_and_options_that_do_not_fit_are_refused(void) {
    static flake_ring no_ring;
    flake_overflow note = {0, 0, 0};
    CHECK(!flake_options_why(NULL));
    open_with_three();
    CHECK(!flake_options_why(&options));
    options.seq_max = 4096;
    REFUSED(FLAKE_INVALID, "seq_max does not fit");
    options.seq_max = 9;
    REFUSED(FLAKE_INVALID, "seq_min is above seq_max");
    options.seq_max = 12;
    options.node = 1024;
    REFUSED(FLAKE_INVALID, "node does not fit");
    options.node = 1000;
    options.node_offset = 24;
    REFUSED(FLAKE_NODE, "node + node_offset");
    options.node_offset = 0;
    options.max_wait_ms = -1;
    REFUSED(FLAKE_INVALID, "max_wait_ms");
    options.max_wait_ms = 0;
    options.max_ahead_ms = -1;
    REFUSED(FLAKE_INVALID, "max_ahead_ms");
    options.max_ahead_ms = INT64_MAX;
    REFUSED(FLAKE_INVALID, "max_ahead_ms");
    options.max_ahead_ms = 0;
    options.clock.kind = 2;
    REFUSED(FLAKE_INVALID, "clock.kind");
    options.clock.kind = 0;
    options.overflow = &no_ring;
    REFUSED(FLAKE_INVALID, "overflow");
    CHECK(!flake_ring_pop(&no_ring, &note) && !flake_ring_push(&no_ring, note));
    options.overflow = NULL;
    options.layout.epoch_ms = INT64_MAX / 1000;
    REFUSED(FLAKE_INVALID, "layout");
    memset(&options.layout, 0, sizeof options.layout);
    options.layout.epoch_ms = 1;
    REFUSED(FLAKE_INVALID, "layout");
    NEXT(T, 10);
}

/* ---- batches ---- */

static void next_n_goes_on_over_several_units(void) {
    open_with_three();
    NEXT(T, 10);
    CHECK_EQ(flake_next_n(&gen, many, 9), FLAKE_OK);
    for (unsigned i = 0; i < 9; i++) CHECK_PLACE(many[i], T + (i + 1) / 3, 10 + (i + 1) % 3);
    CHECK_EQ(script_now.now_ns, (T + 3) * MS);
    NEXT(T + 3, 11);
}

static void each_unit_of_a_batch_has_max_wait_of_its_own(void) {
    begin_with_three();
    options.max_wait_ms = 1;
    open_gen();
    CHECK_EQ(flake_next_n(&gen, many, 300), FLAKE_OK);
    CHECK_PLACE(many[299], T + 99, 12);
    CHECK_EQ(script_now.slept_ns, 99 * MS);
}

static void a_batch_that_fails_midway_keeps_what_it_has(void) {
    open_with_three();
    NEXT(T, 10);
    script_now.per_sleep = 0;
    for (int i = 0; i < 8; i++) many[i] = NOTHING;
    CHECK_EQ(flake_next_n(&gen, many, 7), FLAKE_AGAIN);
    CHECK_PLACE(many[0], T, 11);
    CHECK_PLACE(many[1], T, 12);
    for (int i = 2; i < 7; i++) CHECK(many[i] == 0);
    CHECK(many[7] == NOTHING);
    move_ns(MS);
    NEXT(T + 1, 10);
}

static void a_batch_that_fails_at_once_leaves_the_array_alone(void) {
    open_with_three();
    CHECK_EQ(flake_try_n(&gen, many, 3), 3);
    script_now.per_sleep = 0;
    for (int i = 0; i < 4; i++) many[i] = NOTHING;
    SAYS(FLAKE_AGAIN, flake_next_n(&gen, many, 4));
    for (int i = 0; i < 4; i++) CHECK(many[i] == NOTHING);
}

static void a_batch_whose_clock_is_put_back_midway_says_so(void) {
    open_with_three();
    script_now.jump_to_ns = (T - 5000) * MS;
    CHECK_EQ(flake_next_n(&gen, many, 7), FLAKE_CLOCK_BACK);
    CHECK_PLACE(many[2], T, 12);
    CHECK(many[3] == 0 && many[6] == 0);
    move_to_ms(T);
    NEXT(T + 1, 10);
}

static void a_batch_of_none_is_none(void) {
    open_with_three();
    SAYS(FLAKE_OK, flake_next_n(&gen, &id, 0));
    SAYS(0, flake_try_n(&gen, &id, 0));
    NEXT(T, 10);
}

static void try_n_gives_what_is_free(void) {
    open_with_three();
    many[3] = NOTHING;
    CHECK_EQ(flake_try_n(&gen, many, 2), 2);
    CHECK_PLACE(many[1], T, 11);
    CHECK_EQ(flake_try_n(&gen, many, 2), 1);
    CHECK_PLACE(many[0], T, 12);
    SAYS(0, flake_try_n(&gen, &id, 1));
    move_ns(MS);
    CHECK_EQ(flake_try_n(&gen, many, 100), 3);
    CHECK_PLACE(many[2], T + 1, 12);
    CHECK(many[3] == NOTHING);
    CHECK_EQ(script_now.sleeps, 0);
}

static void try_n_borrows_as_far_as_max_ahead(void) {
    begin_with_three();
    options.max_ahead_ms = 2;
    open_gen();
    CHECK_EQ(flake_try_n(&gen, many, 4), 4);
    CHECK_PLACE(many[3], T + 1, 10);
    CHECK_EQ(flake_try_n(&gen, many, 100), 5);
    CHECK_PLACE(many[4], T + 2, 12);
}

/* ---- the caller's own time ---- */

static void try_at_takes_the_callers_time(void) {
    open_with_three();
    GIVES(flake_try_at(&gen, T - 50000, &id), T - 50000, 10);
    GIVES(flake_try_at(&gen, T - 50000, &id), T - 50000, 11);
    GIVES(flake_try_at(&gen, T - 40000, &id), T - 40000, 10);
    CHECK_EQ(script_now.reads, 0);
    NEXT(T, 10);
}

static void try_at_with_an_older_time_stays_in_the_newest_unit(void) {
    open_with_three();
    NEXT(T, 10);
    GIVES(flake_try_at(&gen, T - 1, &id), T, 11);
    GIVES(flake_try_at(&gen, 1, &id), T, 12);
    SAYS(FLAKE_AGAIN, flake_try_at(&gen, T - 100, &id));
    SAYS(FLAKE_AGAIN, flake_try_at(&gen, T, &id));
    GIVES(flake_try_at(&gen, T + 1, &id), T + 1, 10);
}

static void try_at_refuses_a_time_that_the_layout_has_not(void) {
    begin_short_era();
    open_gen();
    SAYS(FLAKE_RANGE, flake_try_at(&gen, T - 1, &id));
    SAYS(FLAKE_RANGE, flake_try_at(&gen, T + 1024000, &id));
    SAYS(FLAKE_RANGE, flake_try_at(&gen, INT64_MIN, &id));
    SAYS(FLAKE_RANGE, flake_try_at(&gen, INT64_MAX, &id));
    SAYS(FLAKE_RANGE, flake_try_at(&gen, INT64_MAX / 1000000, &id));
    GIVES(flake_try_at(&gen, T, &id), T, 1);
    GIVES(flake_try_at(&gen, T - 1, &id), T, 2); /* older than the newest unit, that's all */
    GIVES(flake_try_at(&gen, T + 1023999, &id), T + 1023000, 1);
    SAYS(FLAKE_RANGE, flake_try_at(&gen, T + 1024000, &id));
}

static void after_a_try_at_in_the_future_the_clock_is_behind(void) {
    open_with_three();
    GIVES(flake_try_at(&gen, T + 800, &id), T + 800, 10);
    TRY_SAYS(FLAKE_CLOCK_BACK);
    CHECK_EQ(flake_retry_ns(&gen), 800 * MS);
    CHECK_EQ(flake_lag_ms(&gen), 800);
    NEXT(T + 800, 11);
    CHECK_EQ(script_now.now_ns, (T + 800) * MS);
    GIVES(flake_try_at(&gen, T + 5000, &id), T + 5000, 10);
    NEXT_SAYS(FLAKE_CLOCK_BACK);
}

static void try_at_borrows_from_its_own_time_on(void) {
    begin_with_three();
    options.max_ahead_ms = 1;
    open_gen();
    for (unsigned i = 0; i < 6; i++)
        GIVES(flake_try_at(&gen, T - 100, &id), T - 100 + i / 3, 10 + i % 3);
    SAYS(FLAKE_AGAIN, flake_try_at(&gen, T - 100, &id));
    GIVES(flake_try_at(&gen, T - 99, &id), T - 98, 10);
}

/* ---- questions ---- */

static void available_says_how_many_are_free_now(void) {
    begin_with_three();
    options.max_ahead_ms = 2;
    open_gen();
    CHECK_EQ(flake_available(&gen), 9);
    NEXT(T, 10);
    CHECK_EQ(flake_available(&gen), 8);
    CHECK_EQ(flake_try_n(&gen, many, 4), 4);
    CHECK_EQ(flake_available(&gen), 4);
    move_ns(-MS);
    CHECK_EQ(flake_available(&gen), 1);
    move_ns(-2 * MS);
    CHECK_EQ(flake_available(&gen), 0);
    move_ns(5 * MS);
    CHECK_EQ(flake_available(&gen), 9);
    CHECK_EQ(flake_try_n(&gen, many, 100), 9);
    CHECK_EQ(flake_available(&gen), 0);
}

static void lag_is_how_far_the_newest_id_is_ahead(void) {
    begin(flake_layout_sonyflake());
    options.seq_max = 1;
    options.max_ahead_ms = 100;
    open_gen();
    CHECK_EQ(flake_lag_ms(&gen), 0);
    CHECK_EQ(flake_try_n(&gen, many, 2), 2);
    CHECK_EQ(flake_lag_ms(&gen), 0);
    CHECK_EQ(flake_try_n(&gen, many, 3), 3);
    CHECK_EQ(flake_lag_ms(&gen), 20);
    move_ns(10 * MS);
    CHECK_EQ(flake_lag_ms(&gen), 10);
    move_ns(-50 * MS);
    CHECK_EQ(flake_lag_ms(&gen), 60);
    move_ns(3600 * 1000 * MS);
    CHECK_EQ(flake_lag_ms(&gen), 0);
}

static void statistics_are_exact(void) {
    begin_with_three();
    options.max_wait_ms = 5;
    open_gen();
    flake_stats s;
    flake_stats_get(&gen, &s);
    CHECK(s.ids == 0 && s.batches == 0 && s.waits == 0 && s.clock_backs == 0);

    NEXT(T, 10);
    TRY(T, 11);
    CHECK_EQ(flake_try_n(&gen, many, 5), 1); /* one place: no batch */
    flake_stats_get(&gen, &s);
    CHECK(s.ids == 3 && s.batches == 0 && s.waits == 0 && s.clock_backs == 0);

    TRY_SAYS(FLAKE_AGAIN);
    NEXT(T + 1, 10); /* waits */
    CHECK_EQ(flake_try_n(&gen, many, 5), 2);
    flake_stats_get(&gen, &s);
    CHECK(s.ids == 6 && s.batches == 1 && s.waits == 1 && s.clock_backs == 0);

    CHECK_EQ(flake_next_n(&gen, many, 2), FLAKE_OK); /* waits */
    move_ns(20 * MS);
    CHECK_EQ(flake_next_n(&gen, many, 3), FLAKE_OK);
    flake_stats_get(&gen, &s);
    CHECK(s.ids == 11 && s.batches == 3 && s.waits == 2 && s.clock_backs == 0);

    move_ns(-20 * MS);
    TRY_SAYS(FLAKE_CLOCK_BACK);
    NEXT_SAYS(FLAKE_CLOCK_BACK);
    move_ns(16 * MS);
    NEXT(T + 23, 10); /* waits for the clock, 4 ms and a unit */
    flake_stats_get(&gen, &s);
    CHECK(s.ids == 12 && s.batches == 3 && s.waits == 3 && s.clock_backs == 3);

    move_ns(100 * MS);
    TRY(T + 123, 10);
    GIVES(flake_try_at(&gen, T + 1, &id), T + 123, 11); /* old, but no step back */
    flake_stats_get(&gen, &s);
    CHECK(s.ids == 14 && s.batches == 3 && s.waits == 3 && s.clock_backs == 3);

    script_now.per_sleep = 0;
    CHECK_EQ(flake_try_n(&gen, many, 5), 1);
    NEXT_SAYS(FLAKE_AGAIN); /* waits, in vain */
    flake_stats_get(&gen, &s);
    CHECK(s.ids == 15 && s.batches == 3 && s.waits == 4 && s.clock_backs == 3);
}

static void each_unit_that_a_batch_waits_for_is_a_draw_that_had_to_sleep(void) {
    open_with_three();
    flake_stats s;
    CHECK_EQ(flake_next_n(&gen, many, 9), FLAKE_OK);
    flake_stats_get(&gen, &s);
    CHECK(s.ids == 9 && s.batches == 3);
    CHECK_EQ(s.waits, 2);
}

static void a_draw_that_rides_out_a_clock_behind_the_word_is_counted(void) {
    begin_with_three();
    options.max_ahead_ms = 100;
    open_gen();
    flake_stats s;
    TRY(T, 10);
    move_ns(-50 * MS);
    TRY(T, 11);
    flake_stats_get(&gen, &s);
    CHECK_EQ(s.clock_backs, 1);
}

/* Put back, but not behind the word: no reason to give up, and no other draw. */
static void a_draw_that_sleeps_twice_is_one_that_had_to_sleep(void) {
    begin_with_three();
    options.refuse_back = true;
    open_gen();
    move_ns(9 * MS / 10);
    CHECK_EQ(flake_try_n(&gen, many, 3), 3);
    script_now.jump_to_ns = T * MS + MS / 10;
    NEXT(T + 1, 10);
    CHECK_EQ(script_now.sleeps, 2);
    flake_stats s;
    flake_stats_get(&gen, &s);
    CHECK_EQ(s.waits, 1);
}

static void a_batch_that_was_not_drawn_is_not_counted(void) {
    open_with_three();
    flake_stats s;
    CHECK_EQ(flake_try_n(&gen, many, 3), 3);
    script_now.per_sleep = 0;
    CHECK_EQ(flake_next_n(&gen, many, 3), FLAKE_AGAIN);
    flake_stats_get(&gen, &s);
    CHECK(s.ids == 3 && s.waits == 1);
    CHECK_EQ(s.batches, 1);
}

/* ---- snapshots ---- */

static void a_snapshot_says_where_the_generator_stands(void) {
    begin_with_three();
    options.node = 900;
    options.node_offset = 99;
    open_gen();
    CHECK_EQ(flake_try_n(&gen, many, 2), 2);
    const flake_snapshot s = snapshot_of(&gen);
    CHECK_EQ(s.unix_ms, T);
    CHECK_EQ(s.count, 2);
    CHECK_EQ(s.node, 999);
    CHECK_EQ(s.seq_min, 10);
    CHECK_EQ(s.seq_max, 12);
}

static void a_restored_generator_goes_on_behind_the_snapshot(void) {
    open_with_three();
    CHECK_EQ(flake_try_n(&gen, many, 2), 2);
    const flake_snapshot s = snapshot_of(&gen);
    open_gen();
    CHECK_EQ(flake_restore(&gen, &s), FLAKE_OK);
    TRY(T, 12);
    TRY_SAYS(FLAKE_AGAIN);
    open_gen();
    CHECK_EQ(flake_restore(&gen, &s), FLAKE_OK);
    move_ns(MS);
    TRY(T + 1, 10);
}

static void a_restored_generator_waits_for_a_clock_in_the_past(void) {
    open_with_three();
    CHECK_EQ(flake_try_n(&gen, many, 3), 3);
    const flake_snapshot s = snapshot_of(&gen);
    open_gen();
    move_ns(-300 * MS);
    CHECK_EQ(flake_restore(&gen, &s), FLAKE_OK);
    TRY_SAYS(FLAKE_CLOCK_BACK);
    CHECK_EQ(flake_retry_ns(&gen), 301 * MS);
    NEXT(T + 1, 10);
    CHECK_EQ(script_now.now_ns, (T + 1) * MS);
}

static void an_older_snapshot_does_not_put_a_generator_back(void) {
    open_with_three();
    CHECK_EQ(flake_try_n(&gen, many, 1), 1);
    const flake_snapshot first = snapshot_of(&gen);
    CHECK_EQ(flake_try_n(&gen, many, 1), 1);
    SAYS(FLAKE_OK, flake_restore(&gen, &first));
    TRY(T, 12);
    move_ns(MS);
    TRY(T + 1, 10);
    SAYS(FLAKE_OK, flake_restore(&gen, &first));
    TRY(T + 1, 11);
}

/* The snapshot is of an earlier unit, and yet further, for what it has borrowed. */
static void a_snapshot_that_has_borrowed_further_is_gone_behind(void) {
    begin_with_three();
    options.max_ahead_ms = 10;
    open_gen();
    CHECK_EQ(flake_try_n(&gen, many, 9), 9); /* up to T + 2 */
    const flake_snapshot s = snapshot_of(&gen);
    open_gen();
    move_ns(MS);
    TRY(T + 1, 10);
    CHECK_EQ(flake_restore(&gen, &s), FLAKE_OK);
    TRY(T + 3, 10);
}

static void a_snapshot_of_a_later_unit_does_not_put_back_what_was_borrowed(void) {
    begin_with_three();
    options.max_ahead_ms = 10;
    open_gen();
    move_ns(MS);
    TRY(T + 1, 10);
    const flake_snapshot s = snapshot_of(&gen);
    open_gen();
    move_ns(-MS);
    CHECK_EQ(flake_try_n(&gen, many, 9), 9); /* up to T + 2 */
    CHECK_EQ(flake_restore(&gen, &s), FLAKE_OK);
    TRY(T + 3, 10);
}

static void a_snapshot_of_another_node_range_or_time_is_refused(void) {
    open_with_three();
    NEXT(T, 10);
    flake_snapshot s = snapshot_of(&gen);
    s.count++;
    s.node++;
    SAYS(FLAKE_INVALID, flake_restore(&gen, &s));
    s.node--;
    s.seq_min++;
    SAYS(FLAKE_INVALID, flake_restore(&gen, &s));
    s.seq_min--;
    s.seq_max++;
    SAYS(FLAKE_INVALID, flake_restore(&gen, &s));
    s.seq_max--;
    s.epoch_ms++;
    SAYS(FLAKE_INVALID, flake_restore(&gen, &s));
    s.epoch_ms--;
    s.unit_ms++;
    SAYS(FLAKE_INVALID, flake_restore(&gen, &s));
    s.unit_ms--;
    s.seq_scatter = true;
    SAYS(FLAKE_INVALID, flake_restore(&gen, &s));
    s.seq_scatter = false;
    s.unix_ms = -1;
    SAYS(FLAKE_RANGE, flake_restore(&gen, &s));
    s.unix_ms = INT64_MAX;
    SAYS(FLAKE_RANGE, flake_restore(&gen, &s));
    s.unix_ms = T;
    s.count = UINT64_MAX;
    SAYS(FLAKE_INVALID, flake_restore(&gen, &s));
    s.count = 2;
    CHECK_EQ(flake_restore(&gen, &s), FLAKE_OK);
    NEXT(T, 12);
}

/* ---- scatter ---- */

static void open_scattered(uint32_t seq_min, uint32_t seq_max) {
    begin(flake_layout_idgen());
    options.seq_min = seq_min;
    options.seq_max = seq_max;
    options.seq_scatter = true;
    open_gen();
}

/* Every number of the unit once; returns the first. */
static uint32_t check_whole_unit(const uint64_t *ids, size_t n, int64_t ms, uint32_t seq_min) {
    static uint8_t seen[4096];
    memset(seen, 0, sizeof seen);
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        const flake_parts parts = parts_of(&gen, ids[i]);
        wrong += parts.unix_ms != ms || parts.seq < seq_min || parts.seq >= seq_min + n;
        wrong += seen[parts.seq & 4095]++ != 0;
    }
    CHECK_EQ(wrong, 0);
    return parts_of(&gen, ids[0]).seq;
}

static void a_scattered_unit_has_each_of_its_numbers_once(void) {
    static const uint32_t ranges[][2] = {{0, 4095}, {0, 0}, {7, 7}, {100, 102}, {5, 1000}};
    for (size_t r = 0; r < 5; r++) {
        open_scattered(ranges[r][0], ranges[r][1]);
        const uint32_t min = flake_gen_options(&gen)->seq_min;
        const size_t cap = flake_gen_options(&gen)->seq_max - min + 1;
        for (int64_t ms = T; ms < T + 20; ms++) {
            for (size_t i = 0; i < cap; i++) CHECK_EQ(flake_try(&gen, &many[i]), FLAKE_OK);
            TRY_SAYS(FLAKE_AGAIN);
            check_whole_unit(many, cap, ms, min);
            move_ns(MS);
        }
    }
}

static void scattered_batches_have_each_number_once(void) {
    open_scattered(5, 1000);
    for (int64_t ms = T; ms < T + 50; ms++) {
        CHECK_EQ(flake_try_n(&gen, many, 1), 1);
        CHECK_EQ(flake_try_n(&gen, many + 1, 700), 700);
        CHECK_EQ(flake_try_n(&gen, many + 701, 700), 295);
        check_whole_unit(many, 996, ms, 5);
        move_ns(MS);
    }
    move_to_ms(T + 1000);
    CHECK_EQ(flake_next_n(&gen, many, 5 * 996), FLAKE_OK);
    for (size_t unit = 0; unit < 5; unit++)
        check_whole_unit(many + unit * 996, 996, T + 1000 + (int64_t)unit, 5);
}

static void one_by_one_and_in_batches_scatter_the_same(void) {
    open_scattered(5, 1000);
    CHECK_EQ(flake_next_n(&gen, many, 3000), FLAKE_OK);
    script_at_ms(T);
    open_gen();
    uint64_t wrong = 0;
    for (size_t i = 0; i < 3000; i++) wrong += flake_next(&gen, &id) != FLAKE_OK || id != many[i];
    CHECK_EQ(wrong, 0);
}

static void scattered_units_begin_at_different_numbers(void) {
    open_scattered(0, 4095);
    for (size_t i = 0; i < 1000; i++) {
        NEXT(T + (int64_t)i, parts_of(&gen, id).seq);
        many[i] = parts_of(&gen, id).seq;
        move_ns(MS);
    }
    CHECK(count_duplicates(many, 1000) < 200);
}

static void at_one_scattered_id_a_unit_the_remainders_are_even(void) {
    static const int64_t every_ms[] = {1, 7, 10, 1000, 1024, 60000};
    static const unsigned divisors[] = {2, 3, 5, 7, 8, 10, 16, 32, 100};
    for (size_t e = 0; e < 6; e++)
        for (size_t d = 0; d < 9; d++) {
            const unsigned n = divisors[d];
            unsigned counts[100] = {0};
            open_scattered(0, 4095);
            for (unsigned i = 0; i < 500 * n; i++) {
                CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
                counts[id % n]++;
                move_ns(every_ms[e] * MS);
            }
            unsigned least = UINT32_MAX, most = 0;
            for (unsigned i = 0; i < n; i++) {
                if (counts[i] < least) least = counts[i];
                if (counts[i] > most) most = counts[i];
            }
            CHECK(least > 350 && most < 650);
        }
}

/* ---- shards and their pool ---- */

static flake_shard shards[8];

static void shards_share_out_the_whole_range(void) {
    begin(flake_layout_idgen());
    options.seq_min = 3;
    options.seq_max = 4001;
    for (size_t n = 1; n <= 8; n++) {
        CHECK_EQ(flake_shards_init(shards, n, &options), FLAKE_OK);
        uint32_t next = 3;
        for (size_t i = 0; i < n; i++) {
            const flake_options *o = flake_gen_options(flake_shard_gen(&shards[i]));
            CHECK_EQ(o->seq_min, next);
            const size_t share = o->seq_max - o->seq_min + 1;
            CHECK(share == 3999 / n || share == 3999 / n + 1);
            next = o->seq_max + 1;
        }
        CHECK_EQ(next, 4002);
    }
}

static void more_shards_than_numbers_are_refused(void) {
    begin_with_three();
    CHECK_EQ(flake_shards_init(shards, 0, &options), FLAKE_INVALID);
    CHECK_EQ(flake_shards_init(shards, 4, &options), FLAKE_INVALID);
    CHECK_EQ(flake_shards_init(shards, 3, &options), FLAKE_OK);
    options.node = 1024;
    CHECK_EQ(flake_shards_init(shards, 3, &options), FLAKE_INVALID);
}

static void shards_together_give_each_number_of_a_unit_once(void) {
    begin(flake_layout_idgen());
    CHECK_EQ(flake_shards_init(shards, 5, &options), FLAKE_OK);
    open_gen();
    for (int64_t ms = T; ms < T + 3; ms++) {
        size_t n = 0;
        for (unsigned turn = 0; n < 4096 && turn < 5000; turn++)
            n += flake_shard_try(&shards[turn % 5], &many[n]) == FLAKE_OK;
        CHECK_EQ(n, 4096);
        check_whole_unit(many, n, ms, 0);
        for (int i = 0; i < 5; i++) {
            id = NOTHING;
            CHECK_EQ(flake_shard_try(&shards[i], &id), FLAKE_AGAIN);
            CHECK_EQ(flake_shard_retry_ns(&shards[i]), MS);
            CHECK(id == NOTHING);
        }
        move_ns(MS);
    }
}

static void a_shard_waits_and_goes_back_as_a_generator_does(void) {
    begin_with_three();
    CHECK_EQ(flake_shards_init(shards, 2, &options), FLAKE_OK);
    flake_shard *s = &shards[0]; /* 10 and 11 */
    GIVES(flake_shard_next(s, &id), T, 10);
    GIVES(flake_shard_try(s, &id), T, 11);
    GIVES(flake_shard_next(s, &id), T + 1, 10);
    CHECK_EQ(script_now.slept_ns, MS);
    CHECK_EQ(flake_shard_next_n(s, many, 4), FLAKE_OK);
    CHECK_PLACE(many[3], T + 3, 10);
    CHECK_EQ(flake_shard_try_n(s, many, 4), 1);
    GIVES(flake_shard_try_at(s, T + 8, &id), T + 8, 10);
    CHECK_EQ(flake_shard_try(s, &id), FLAKE_CLOCK_BACK);
    CHECK_EQ(flake_lag_ms(flake_shard_gen(s)), 5);
    CHECK_EQ(flake_available(flake_shard_gen(&shards[1])), 1);
    flake_stats stats;
    flake_stats_get(flake_shard_gen(s), &stats);
    CHECK(stats.ids == 9 && stats.clock_backs == 1);
}

static void a_pool_lends_each_shard_to_one_holder(void) {
    static flake_pool pool;
    flake_shard *held[4];
    begin(flake_layout_idgen());
    CHECK_EQ(flake_pool_init(&pool, shards, 4, &options), FLAKE_OK);
    for (int i = 0; i < 4; i++) {
        held[i] = flake_pool_borrow(&pool);
        CHECK(held[i] >= shards && held[i] < shards + 4);
        for (int j = 0; j < i; j++) CHECK(held[i] != held[j]);
        CHECK_EQ(flake_shard_try_n(held[i], many + 1024 * i, 4096), 1024);
    }
    CHECK_EQ(count_duplicates(many, 4096), 0);
    CHECK(flake_pool_borrow(&pool) == NULL);
    flake_pool_give_back(&pool, held[2]);
    CHECK(flake_pool_borrow(&pool) == held[2]);
    CHECK(flake_pool_borrow(&pool) == NULL);

    uint64_t random = 1;
    bool lent[4] = {true, true, true, true};
    for (int i = 0; i < 10000; i++) {
        const uint64_t which = random_below(&random, 4);
        if (lent[which]) {
            flake_pool_give_back(&pool, &shards[which]);
            lent[which] = false;
        } else {
            flake_shard *got = flake_pool_borrow(&pool);
            CHECK(got && !lent[got - shards]);
            if (got) lent[got - shards] = true;
        }
        if (lent[0] && lent[1] && lent[2] && lent[3]) CHECK(flake_pool_borrow(&pool) == NULL);
    }
}

static void a_shard_given_back_goes_on_where_it_stood(void) {
    static flake_pool pool;
    begin_with_three();
    CHECK_EQ(flake_pool_init(&pool, shards, 1, &options), FLAKE_OK);
    flake_shard *s = flake_pool_borrow(&pool);
    GIVES(flake_shard_next(s, &id), T, 10);
    flake_pool_give_back(&pool, s);
    s = flake_pool_borrow(&pool);
    GIVES(flake_shard_next(s, &id), T, 11);
    GIVES(flake_shard_next(s, &id), T, 12);
    flake_pool_give_back(&pool, s);
    s = flake_pool_borrow(&pool);
    CHECK_EQ(flake_shard_try(s, &id), FLAKE_AGAIN);
}

/* ---- prefetch ---- */

static flake_prefetch stock;

static void open_stock(uint32_t count, int64_t valid_ms) {
    begin(flake_layout_idgen());
    options.seq_max = 99;
    open_gen();
    CHECK_EQ(flake_prefetch_init(&stock, &gen, count, valid_ms), FLAKE_OK);
}

#define STOCK(ms, number) GIVES(flake_prefetch_next(&stock, &id), ms, number)

static void prefetch_claims_its_count_at_once(void) {
    open_stock(5, 0);
    CHECK_EQ(drawn_ids(), 0);
    STOCK(T, 0);
    CHECK_EQ(drawn_ids(), 5);
    NEXT(T, 5);
    for (unsigned i = 1; i < 5; i++) STOCK(T, i);
    CHECK_EQ(drawn_ids(), 6);
    STOCK(T, 6);
    CHECK_EQ(drawn_ids(), 11);
}

static void prefetch_claims_less_when_less_are_free(void) {
    open_stock(64, 0);
    STOCK(T, 0);
    for (unsigned i = 1; i < 64; i++) STOCK(T, i);
    STOCK(T, 64);
    CHECK_EQ(drawn_ids(), 100);
    for (unsigned i = 65; i < 100; i++) STOCK(T, i);
    STOCK(T + 1, 0);
    CHECK_EQ(script_now.sleeps, 1);
    CHECK_EQ(drawn_ids(), 164);
}

static void prefetched_ids_without_validity_keep_for_ever(void) {
    open_stock(3, 0);
    STOCK(T, 0);
    move_ns(INT64_C(100) * 365 * 86400 * 1000 * MS);
    STOCK(T, 1);
    move_to_ms(T - 100000);
    STOCK(T, 2);
}

static void prefetched_ids_are_dropped_when_their_time_is_over(void) {
    open_stock(5, 10);
    STOCK(T, 0);
    move_ns(10 * MS - 1);
    STOCK(T, 1);
    move_ns(2);
    STOCK(T + 10, 0);
    CHECK_EQ(drawn_ids(), 10);
    move_ns(9 * MS);
    STOCK(T + 10, 1);
    move_ns(86400 * 1000 * MS);
    STOCK(T + 19 + 86400 * 1000, 0);
}

/* Their age counts from when they were had, not from when they were asked for. */
static void prefetched_ids_that_were_waited_for_are_fresh(void) {
    open_stock(200, 10);
    CHECK_EQ(flake_try_n(&gen, many, 100), 100);
    move_ns(-500 * MS);
    STOCK(T + 1, 0);
    CHECK_EQ(script_now.slept_ns, 501 * MS);
    move_ns(9 * MS);
    STOCK(T + 1, 1);
}

static void a_clock_put_back_drops_prefetched_ids_that_can_age(void) {
    open_stock(5, 1000);
    STOCK(T, 0);
    STOCK(T, 1);
    move_ns(-1);
    STOCK(T, 5);
    CHECK_EQ(script_now.slept_ns, 1);
    move_ns(-5000 * MS);
    SAYS(FLAKE_CLOCK_BACK, flake_prefetch_next(&stock, &id));
    move_to_ms(T);
    STOCK(T, 10);
}

static void prefetch_fails_as_next_does_and_goes_on(void) {
    open_stock(5, 0);
    CHECK_EQ(flake_try_n(&gen, many, 100), 100);
    script_now.per_sleep = 0;
    SAYS(FLAKE_AGAIN, flake_prefetch_next(&stock, &id));
    script_now.per_sleep = -1;
    for (unsigned i = 0; i < 7; i++) STOCK(T + 1, i);
}

static void no_id_comes_out_of_two_stocks(void) {
    static flake_prefetch other;
    static uint64_t ids[3000];
    open_stock(7, 3);
    CHECK_EQ(flake_prefetch_init(&other, &gen, 30, 0), FLAKE_OK);
    uint64_t random = 2;
    for (size_t i = 0; i < 3000; i++) {
        switch (random_below(&random, 3)) {
        case 0: CHECK_EQ(flake_next(&gen, &ids[i]), FLAKE_OK); break;
        case 1: CHECK_EQ(flake_prefetch_next(&stock, &ids[i]), FLAKE_OK); break;
        default: CHECK_EQ(flake_prefetch_next(&other, &ids[i]), FLAKE_OK); break;
        }
        if (!random_below(&random, 5)) move_ns((int64_t)random_below(&random, 9 * MS) - 4 * MS);
    }
    CHECK_EQ(count_duplicates(ids, 3000), 0);
}

static void a_generator_made_anew_as_another_has_no_old_stock(void) {
    open_stock(5, 0);
    STOCK(T, 0);
    options.node = 3;
    open_gen();
    STOCK(T, 0);
    CHECK_EQ(parts_of(&gen, id).node, 3);
    STOCK(T, 1); /* and its new one it keeps */
    CHECK_EQ(drawn_ids(), 5);
}

static void a_stock_without_a_generator_is_invalid(void) {
    static flake_prefetch none;
    uint64_t got = 7;
    CHECK_EQ(flake_prefetch_next(&none, &got), FLAKE_INVALID);
    CHECK_EQ(flake_prefetch_init(&none, NULL, 4, 0), FLAKE_INVALID);
    CHECK_EQ(flake_prefetch_next(&none, &got), FLAKE_INVALID);
    CHECK_EQ(got, 7);
}

static void a_prefetch_count_has_bounds(void) {
    open_stock(1, 0);
    STOCK(T, 0);
    STOCK(T, 1);
    CHECK_EQ(flake_prefetch_init(&stock, &gen, 100000, 600000), FLAKE_OK);
    CHECK_EQ(flake_prefetch_init(&stock, &gen, 0, 0), FLAKE_INVALID);
    CHECK_EQ(flake_prefetch_init(&stock, &gen, 100001, 0), FLAKE_INVALID);
    CHECK_EQ(flake_prefetch_init(&stock, &gen, 5, -1), FLAKE_INVALID);
    STOCK(T, 2);
}

/* ---- never initialised ---- */

static void a_zeroed_generator_is_invalid(void) {
    static flake_gen zero;
    static flake_shard shard;
    static flake128_gen wide;
    static flake_prefetch prefetch;
    static flake_pool pool;
    flake_snapshot snapshot;
    flake_stats stats;
    flake128 wide_id;
    script_at_ms(T);
    memset(&snapshot, 0, sizeof snapshot);
    id = NOTHING;
    many[0] = NOTHING;
    CHECK_EQ(flake_next(&zero, &id), FLAKE_INVALID);
    CHECK_EQ(flake_try(&zero, &id), FLAKE_INVALID);
    CHECK_EQ(flake_try_at(&zero, T, &id), FLAKE_INVALID);
    CHECK_EQ(flake_next_n(&zero, many, 2), FLAKE_INVALID);
    CHECK_EQ(flake_try_n(&zero, many, 2), 0);
    CHECK_EQ(flake_retry_ns(&zero), INT64_MAX);
    CHECK_EQ(flake_available(&zero), 0);
    CHECK_EQ(flake_lag_ms(&zero), 0);
    CHECK_EQ(flake_snapshot_take(&zero, &snapshot), FLAKE_INVALID);
    CHECK_EQ(flake_restore(&zero, &snapshot), FLAKE_INVALID);
    flake_stats_get(&zero, &stats);
    CHECK_EQ(stats.ids, 0);
    CHECK_EQ(flake_shard_next(&shard, &id), FLAKE_INVALID);
    CHECK_EQ(flake_shard_try(&shard, &id), FLAKE_INVALID);
    CHECK_EQ(flake128_next(&wide, &wide_id), FLAKE_INVALID);
    CHECK_EQ(flake128_try(&wide, &wide_id), FLAKE_INVALID);
    CHECK_EQ(flake_prefetch_init(&prefetch, &zero, 5, 0), FLAKE_OK);
    CHECK_EQ(flake_prefetch_next(&prefetch, &id), FLAKE_INVALID);
    CHECK(flake_pool_borrow(&pool) == NULL);
    CHECK(id == NOTHING);
    script_now.now_ns = INT64_MIN;
    CHECK_EQ(flake_next(&zero, &id), FLAKE_INVALID);
    CHECK_EQ(flake_retry_ns(&zero), INT64_MAX);
}

/* ---- the coarse clock ---- */

/* The coarse clock is 4 ms late, and the generator has drawn before its time. */
static void open_coarse(void) {
    begin_with_three();
    options.clock.now_ns = NULL;
    options.clock.kind = FLAKE_CLOCK_COARSE;
    options.max_wait_ms = 5000; /* long enough for draws by fetch_add */
    coarse_lag_ns = 4 * MS;
    open_gen();
    move_ns(-5 * MS);
    TRY(T - 5, 10);
    move_ns(5 * MS);
    exact_reads = 0;
}

/* A run before may have used the units between the coarse reading and the exact one. */
static void a_coarse_clock_does_not_say_where_to_begin(void) {
    open_coarse();
    open_gen();
    TRY(T, 10);
    CHECK_EQ(exact_reads, 1);
    TRY(T, 11); /* until the coarse clock has come as far, the exact one says that it goes on */
    move_ns(4 * MS);
    const int reads = exact_reads;
    TRY(T, 12);
    CHECK_EQ(exact_reads, reads);
}

static void a_coarse_clock_alone_is_read_while_ids_are_free(void) {
    open_coarse();
    NEXT(T - 4, 10);
    TRY(T - 4, 11);
    CHECK_EQ(flake_try_n(&gen, many, 1), 1);
    CHECK_EQ(exact_reads, 0);
}

static void a_unit_that_is_spent_by_the_coarse_clock_alone_is_no_reason_to_fail(void) {
    open_coarse();
    for (unsigned i = 10; i <= 12; i++) TRY(T - 4, i);
    TRY(T, 10);
    CHECK(exact_reads > 0);
}

static void a_coarse_clock_that_lags_is_no_clock_put_back(void) {
    open_coarse();
    for (unsigned i = 10; i <= 12; i++) TRY(T - 4, i);
    for (unsigned i = 10; i <= 12; i++) TRY(T, i);
    TRY_SAYS(FLAKE_AGAIN);
    CHECK_EQ(flake_retry_ns(&gen), MS);
    NEXT(T + 1, 10);
    CHECK_EQ(script_now.slept_ns, MS);
    CHECK_EQ(flake_available(&gen), 2);
    CHECK_EQ(flake_try_n(&gen, many, 5), 2);
    CHECK_EQ(flake_next_n(&gen, many, 5), FLAKE_OK);
    CHECK_PLACE(many[4], T + 3, 11);
    flake_stats stats;
    flake_stats_get(&gen, &stats);
    CHECK_EQ(stats.clock_backs, 0);
}

static void a_coarse_clock_never_wakes_a_waiter_late(void) {
    open_coarse();
    for (unsigned i = 0; i < 30; i++) CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_PLACE(id, T + 8, 12);
    CHECK_EQ(script_now.now_ns, (T + 8) * MS);
}

static void an_exact_clock_put_back_is_believed(void) {
    open_coarse();
    for (unsigned i = 10; i <= 12; i++) TRY(T - 4, i);
    move_ns(-5 * MS);
    TRY_SAYS(FLAKE_CLOCK_BACK);
    move_ns(5 * MS);
    TRY(T, 10);
}

static void a_coarse_clock_that_lags_behind_the_epoch_is_not_before_it(void) {
    open_coarse();
    options.layout = flake_layout_of(41, 10, 12, T - 2);
    open_gen();
    TRY(T, 10);
    NEXT(T, 11);
}

/* ---- overflow notes ---- */

static flake_ring ring;
static flake_ring_slot slots[64];

/* Units of 10 ms with two numbers each, both drawn at T + 0.25 ms. */
static void begin_overflow(size_t ring_slots) {
    begin(flake_layout_sonyflake());
    CHECK_EQ(flake_ring_init(&ring, slots, ring_slots), FLAKE_OK);
    options.seq_max = 1;
    options.overflow = &ring;
    open_gen();
    move_ns(MS / 4);
    CHECK_EQ(flake_try_n(&gen, many, 2), 2);
}

#define NOTE(at_ns, callers, since)          \
    do {                                     \
        flake_overflow note = {0, 0, 0};     \
        CHECK(flake_ring_pop(&ring, &note)); \
        CHECK_EQ(note.now_ns, at_ns);        \
        CHECK_EQ(note.count, callers);       \
        CHECK_EQ(note.ticks, since);         \
    } while (0)

#define NO_NOTE()                             \
    do {                                      \
        flake_overflow none;                  \
        CHECK(!flake_ring_pop(&ring, &none)); \
    } while (0)

static void a_queue_is_noted_once_a_ms_and_once_when_it_is_over(void) {
    begin_overflow(64);
    NO_NOTE();
    NEXT(T + 10, 0);
    CHECK_EQ(script_now.sleeps, 10);
    CHECK_EQ(script_now.now_ns, (T + 10) * MS);
    NOTE(T * MS + MS / 4, 1, 0);
    for (unsigned i = 1; i < 10; i++) NOTE((T + i) * MS, 1, i);
    NOTE((T + 10) * MS, 0, 10);
    NO_NOTE();
    NEXT(T + 10, 1);
    NO_NOTE();
}

static void a_try_does_not_queue_and_is_not_noted(void) {
    begin_overflow(64);
    TRY_SAYS(FLAKE_AGAIN);
    CHECK_EQ(flake_try_n(&gen, many, 2), 0);
    move_ns(10 * MS);
    TRY(T + 10, 0);
    NO_NOTE();
}

static void a_queued_batch_counts_by_its_places(void) {
    begin_overflow(64);
    CHECK_EQ(flake_next_n(&gen, many, 2), FLAKE_OK);
    NOTE(T * MS + MS / 4, 2, 0);
    NOTE((T + 1) * MS, 2, 1);
}

static void waking_often_notes_no_more_than_once_a_ms(void) {
    begin_overflow(64);
    script_now.per_sleep = MS / 8;
    NEXT(T + 10, 0);
    NOTE(T * MS + MS / 4, 1, 0);
    for (unsigned i = 1; i < 10; i++) NOTE((T + i) * MS, 1, i);
    NOTE((T + 10) * MS, 0, 10);
    NO_NOTE();
}

static void units_of_a_ms_are_noted_once_a_ms_too(void) {
    begin_with_three();
    CHECK_EQ(flake_ring_init(&ring, slots, 64), FLAKE_OK);
    options.overflow = &ring;
    open_gen();
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

static void a_full_ring_drops_notes_and_the_last_one_comes_later(void) {
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

/* Makes room in the ring at T + 5 ms. */
static int64_t read_and_make_room(void *user) {
    flake_overflow note;
    if (script_now.now_ns == (T + 5) * MS) (void)flake_ring_pop(&ring, &note);
    return script_read(user);
}

static void when_there_is_room_again_the_next_ms_is_noted(void) {
    begin(flake_layout_sonyflake());
    options.clock.now_ns = read_and_make_room;
    CHECK_EQ(flake_ring_init(&ring, slots, 1), FLAKE_OK);
    options.seq_max = 1;
    options.overflow = &ring;
    open_gen();
    CHECK_EQ(flake_try_n(&gen, many, 2), 2);
    NEXT(T + 10, 0);
    NOTE((T + 5) * MS, 1, 5);
    NO_NOTE();
}

static void a_second_overflow_is_noted_from_its_own_begin(void) {
    begin_overflow(64);
    NEXT(T + 10, 0);
    NEXT(T + 10, 1);
    for (int i = 0; i < 11; i++) {
        flake_overflow note;
        CHECK(flake_ring_pop(&ring, &note));
    }
    move_ns(3 * MS + MS / 2);
    NEXT(T + 20, 0);
    NOTE((T + 13) * MS + MS / 2, 1, 0);
    NOTE((T + 14) * MS, 1, 1);
    for (int i = 0; i < 5; i++) {
        flake_overflow note;
        CHECK(flake_ring_pop(&ring, &note));
    }
    NOTE((T + 20) * MS, 0, 7);
    NO_NOTE();
}

/* ---- random scripts against the oracle ---- */

typedef enum kind { GENERATOR, SHARD, WIDE } kind;

/* What a script may do besides the ordinary. */
enum {
    RESTLESS = 1,  /* sleeps that end anywhere: stuck, short, put back */
    OUTSIDE = 2,   /* times before the epoch and past the end */
    FOREIGN = 4,   /* snapshots of others are restored */
    GREAT_LOAN = 8 /* more is borrowed than count holds, which forgets the newest reading then: so
                      the clock is not put back, and nobody brings a time of his own */
};

typedef struct play {
    uint64_t seed, random;
    unsigned features;
    int step;
    kind what;
    flake_gen *gen; /* of a generator or shard */
    flake_shard *shard;
    flake128_gen *wide;
    flake_layout layout;
    uint32_t node, seq_min;
    bool scattered, noted;
    bool counted;                         /* statistics since the beginning */
    uint64_t scatter_unit, scatter_start; /* a unit's first number */
    oracle oracle;
    bool stepped_back, dragged; /* the clock was put back; a try_at was ahead of it */
    flake_snapshot old;
    flake_prefetch prefetch;
    oracle_stock stock;
    uint64_t last, *ids;
    size_t drawn;
    bool failed;
} play;

enum { most_ids = 1 << 15, most_batch = 1 << 16 };
static uint64_t play_ids[most_ids];
static const uint64_t wide_worker = 0xc0ffee123456;

static uint64_t pick(play *p, uint64_t bound) { return random_below(&p->random, bound); }
static bool one_in(play *p, uint64_t n) { return pick(p, n) == 0; }

static void differ(play *p, const char *what, int64_t got, int64_t wanted) {
    char text[200];
    if (got == wanted || p->failed) return;
    p->failed = true;
    (void)snprintf(text, sizeof text,
                   "seed %" PRIu64 " features %u step %d: %s is %" PRId64 ", not %" PRId64, p->seed,
                   p->features, p->step, what, got, wanted);
    check_fail(__FILE__, __LINE__, text);
}

static flake_layout random_layout(play *p) {
    static const uint16_t unit_ms[] = {1, 1, 1, 4, 10, 1000};
    static const int64_t epochs[] = {0, T, T - 5000, -T};
    switch (pick(p, 10)) {
    case 0: return flake_layout_idgen();
    case 1: return flake_layout_hazelcast();
    case 2: return flake_layout_uniqueid_ordered();
    case 3: return flake_layout_uniqueid_spread();
    case 4: return flake_layout_sonyflake();
    case 5: return flake_layout_mastodon();
    default: break;
    }
    const unsigned time_bits =
        (unsigned)(p->features & OUTSIDE ? 4 + pick(p, 42) : 36 + pick(p, 10));
    flake_layout layout =
        flake_layout_of(time_bits, (unsigned)pick(p, 9), (unsigned)pick(p, 10), 0);
    layout.epoch_ms = epochs[pick(p, 4)];
    layout.unit_ms = unit_ms[pick(p, 6)];
    return layout;
}

/* A short range of numbers mostly, so that units are used up. */
static void random_range(play *p, flake_options *o) {
    const uint32_t top = (uint32_t)((UINT64_C(1) << o->layout.seq_bits) - 1);
    if (one_in(p, 4)) return;
    o->seq_min = (uint32_t)pick(p, (uint64_t)top + 1);
    o->seq_max = o->seq_min + (uint32_t)pick(p, one_in(p, 4) ? 200 : 6);
    if (o->seq_max > top) o->seq_max = top;
}

static void random_start(play *p) {
    const oracle *m = &p->oracle;
    uint64_t unit = pick(p, one_in(p, 2) ? 1000 : m->last_unit / 2);
    if (p->features & OUTSIDE && one_in(p, 2))
        unit = m->last_unit - pick(p, m->last_unit < 50 ? m->last_unit + 1 : 50);
    if (unit > m->last_unit) unit = m->last_unit;
    script_at_ms(0);
    script_now.now_ns = oracle_start_ns(m, unit) + (int64_t)pick(p, (uint64_t)(m->unit_ms * MS));
}

static void play_open(play *p) {
    static flake_gen plain;
    static flake_shard split[3];
    static flake128_gen wide;
    flake_options o = scripted(random_layout(p));
    const uint64_t what = pick(p, 3);
    p->what = what == 0 ? GENERATOR : what == 1 ? SHARD : WIDE;
    if (p->what == WIDE || (p->features & GREAT_LOAN)) o.layout = flake_layout_mastodon();
    o.node = (uint32_t)pick(p, UINT64_C(1) << o.layout.node_bits);
    if (!(p->features & GREAT_LOAN)) random_range(p, &o);
    static const int64_t waits[] = {1, 3, 40, 1000, 20000};
    o.max_wait_ms = waits[pick(p, p->features & RESTLESS ? 3 : 5)];
    if (p->features & GREAT_LOAN) o.max_ahead_ms = 10 + (int64_t)pick(p, 30);
    else if (one_in(p, 3))
        o.max_ahead_ms = one_in(p, 3) ? 15000 : (int64_t)pick(p, 5) * o.layout.unit_ms;
    const uint64_t cap = o.seq_max ? o.seq_max - o.seq_min + 1 : UINT64_C(1) << o.layout.seq_bits;
    if (!(p->features & GREAT_LOAN) && (uint64_t)o.max_ahead_ms * cap > 1 << 18) o.max_ahead_ms = 0;
    o.refuse_back = one_in(p, 5);
    if (!(p->features & RESTLESS) && one_in(p, 8)) {
        (void)flake_ring_init(&ring, slots, 1 + (size_t)pick(p, 8));
        o.overflow = &ring;
        p->noted = true;
    }

    p->gen = &plain;
    p->shard = NULL;
    p->wide = NULL;
    flake_status status;
    if (p->what == WIDE) {
        flake_options bare = o;
        memset(&bare.layout, 0, sizeof bare.layout);
        p->gen = NULL;
        p->wide = &wide;
        status = flake128_init(&wide, wide_worker, &bare);
        p->oracle = oracle_of(0, 1, 64, cap);
        o.refuse_back = true; /* always */
        p->seq_min = o.seq_min;
    } else {
        o.seq_scatter = one_in(p, 6);
        if (p->what == SHARD) {
            const size_t n = (size_t)(cap < 3 ? cap : 3);
            status = flake_shards_init(split, n, &o);
            p->shard = &split[pick(p, n)];
            p->gen = flake_shard_gen(p->shard);
        } else status = flake_init(&plain, &o);
        const flake_options *resolved = flake_gen_options(p->gen);
        p->seq_min = resolved->seq_min;
        p->oracle = oracle_of(o.layout.epoch_ms, o.layout.unit_ms, o.layout.time_bits,
                              resolved->seq_max - resolved->seq_min + 1);
    }
    differ(p, "init", status, FLAKE_OK);
    p->layout = o.layout;
    p->node = o.node;
    p->scattered = o.seq_scatter;
    p->oracle.max_ahead = (uint64_t)(o.max_ahead_ms / o.layout.unit_ms);
    p->oracle.max_wait_ns = o.max_wait_ms * MS;
    p->oracle.refuse_back = o.refuse_back;
    p->oracle.clock_ns = &script_now.now_ns;
    p->oracle.sleep = script_sleep;
    random_start(p);
    p->counted = true;
    if (!p->gen) return;
    p->old = snapshot_of(p->gen);
    p->stock.count = 1 + pick(p, 20);
    p->stock.valid_ns = (int64_t)pick(p, 4) * p->oracle.unit_ms * MS;
    differ(
        p, "prefetch init",
        flake_prefetch_init(&p->prefetch, p->gen, (uint32_t)p->stock.count, p->stock.valid_ns / MS),
        FLAKE_OK);
}

/* ---- ids ---- */

/* The wide ids of a play differ in time and number only, which fit 64 bits. */
static uint64_t narrow(play *p, flake128 wide) {
    flake128_parts parts;
    memset(&parts, 0, sizeof parts);
    differ(p, "wide id", flake128_decompose(wide, &parts), FLAKE_OK);
    differ(p, "worker", (int64_t)parts.worker, (int64_t)wide_worker);
    return parts.time << 16 | parts.seq;
}

static uint64_t expected_id(play *p, oracle_place place, uint64_t got) {
    if (p->what == WIDE) return place.unit << 16 | (p->seq_min + place.index);
    flake_parts parts;
    memset(&parts, 0, sizeof parts);
    if (p->scattered) {
        differ(p, "decompose", flake_decompose(&p->layout, got, &parts), FLAKE_OK);
        const uint64_t number = parts.seq - p->seq_min + p->oracle.cap;
        if (place.unit != p->scatter_unit)
            p->scatter_start = (number - place.index) % p->oracle.cap;
        p->scatter_unit = place.unit;
        place.index = (p->scatter_start + place.index) % p->oracle.cap;
    }
    uint64_t expected = 0;
    parts.unix_ms = p->oracle.epoch_ms + (int64_t)place.unit * p->oracle.unit_ms;
    parts.node = p->node;
    parts.seq = p->seq_min + (uint32_t)place.index;
    differ(p, "compose", flake_compose(&p->layout, &parts, &expected), FLAKE_OK);
    return expected;
}

static void check_id(play *p, oracle_place place, uint64_t got) {
    differ(p, "id", (int64_t)got, (int64_t)expected_id(p, place, got));
    if (p->drawn < most_ids) p->ids[p->drawn++] = got;
}

static void check_rising(play *p, uint64_t got) {
    if (!p->stepped_back && !p->scattered && !p->layout.spread)
        differ(p, "id above the last one", !p->last || got > p->last, true);
    p->last = got;
}

/* I3: none is ahead of the clock by more than max_ahead. */
static void check_not_ahead(play *p, oracle_place newest) {
    uint64_t now = 0;
    if (p->stepped_back || p->dragged) return;
    (void)oracle_unit_at(&p->oracle, script_now.now_ns, &now);
    differ(p, "id ahead", newest.unit <= now + p->oracle.max_ahead, true);
}

/* ---- steps: each plays the oracle first, puts the script back, and plays the real one ---- */

static flake_status draw(play *p, bool waits, uint64_t *got) {
    flake128 wide;
    if (p->what == WIDE) {
        flake_status status = waits ? flake128_next(p->wide, &wide) : flake128_try(p->wide, &wide);
        if (status == FLAKE_OK) *got = narrow(p, wide);
        return status;
    }
    if (p->what == SHARD)
        return waits ? flake_shard_next(p->shard, got) : flake_shard_try(p->shard, got);
    return waits ? flake_next(p->gen, got) : flake_try(p->gen, got);
}

static void step_one(play *p, bool waits) {
    const script before = script_now;
    oracle_run run;
    const oracle_status expected =
        oracle_draw(&p->oracle, waits ? ORACLE_WAIT : ORACLE_TRY, 1, &run);
    const int64_t after_ns = script_now.now_ns;
    script_now = before;
    uint64_t got = NOTHING;
    differ(p, waits ? "next" : "try", draw(p, waits, &got), (int64_t)expected);
    differ(p, "clock after it", script_now.now_ns, after_ns);
    if (expected == ORACLE_OK) {
        check_id(p, run.first, got);
        check_rising(p, got);
        check_not_ahead(p, run.first);
    } else differ(p, "untouched id", got == NOTHING, true);
}

static void step_at(play *p, int64_t unix_ms) {
    oracle_run run = {{0, 0, 0}, 0};
    uint64_t got = NOTHING;
    flake128 wide;
    flake_status status;
    oracle_status expected = ORACLE_RANGE; /* later than a clock can say; earlier is just old */
    if (unix_ms <= INT64_MAX / MS)
        expected =
            oracle_draw_at(&p->oracle, unix_ms < -INT64_MAX / MS ? INT64_MIN : unix_ms * MS, &run);
    if (p->what == WIDE) {
        status = flake128_try_at(p->wide, unix_ms, &wide);
        if (status == FLAKE_OK) got = narrow(p, wide);
    } else
        status = p->what == SHARD ? flake_shard_try_at(p->shard, unix_ms, &got)
                                  : flake_try_at(p->gen, unix_ms, &got);
    differ(p, "try_at", status, (int64_t)expected);
    if (expected == ORACLE_OK) check_id(p, run.first, got);
    if (expected == ORACLE_OK) check_rising(p, got);
    p->dragged |= expected == ORACLE_OK && unix_ms > script_now.now_ns / MS;
}

static size_t draw_many(play *p, bool waits, size_t n, flake_status *status) {
    static flake128 wide[most_batch];
    *status = FLAKE_OK;
    for (size_t i = 0; i < n; i++) many[i] = NOTHING;
    if (p->what == WIDE) {
        const flake128 nothing = {{0}};
        size_t done = n;
        if (waits) *status = flake128_next_n(p->wide, wide, n);
        else done = flake128_try_n(p->wide, wide, n);
        for (size_t i = 0; i < done; i++)
            many[i] =
                *status != FLAKE_OK && !flake128_compare(wide[i], nothing) ? 0 : narrow(p, wide[i]);
        return done;
    }
    if (!waits)
        return p->what == SHARD ? flake_shard_try_n(p->shard, many, n)
                                : flake_try_n(p->gen, many, n);
    *status =
        p->what == SHARD ? flake_shard_next_n(p->shard, many, n) : flake_next_n(p->gen, many, n);
    return n;
}

static void step_many(play *p, bool waits, size_t n) {
    static oracle_run runs[most_batch];
    const script before = script_now;
    oracle_status expected = ORACLE_OK;
    size_t count = 0, wanted = 0;
    while (wanted < n && expected == ORACLE_OK) {
        expected =
            oracle_draw(&p->oracle, waits ? ORACLE_WAIT : ORACLE_TRY, n - wanted, &runs[count]);
        if (expected == ORACLE_OK) wanted += (size_t)runs[count++].n;
    }
    const int64_t after_ns = script_now.now_ns;
    script_now = before;

    flake_status status;
    const size_t got = draw_many(p, waits, n, &status);
    differ(p, waits ? "next_n" : "try_n", waits ? (int64_t)status : (int64_t)got,
           waits ? (int64_t)expected : (int64_t)wanted);
    differ(p, "clock after it", script_now.now_ns, after_ns);
    if (p->failed) return;
    size_t at = 0;
    for (; !wanted && p->what != WIDE && at < n; at++)
        differ(p, "untouched batch", many[at] == NOTHING, true);
    for (size_t r = 0; r < count; r++)
        for (uint64_t i = 0; i < runs[r].n; i++)
            check_id(p, oracle_after(&p->oracle, runs[r].first, i), many[at++]);
    for (size_t i = 0; i < wanted; i++) check_rising(p, many[i]);
    if (wanted) {
        check_not_ahead(p, oracle_after(&p->oracle, runs[count - 1].first, runs[count - 1].n - 1));
        for (; waits && at < n; at++) differ(p, "rest of the batch", (int64_t)many[at], 0);
    }
}

static void check_statistics(play *p) {
    const oracle *m = &p->oracle;
    flake_stats stats;
    if (!p->counted) return;
    if (p->what == WIDE) flake128_stats_get(p->wide, &stats);
    else flake_stats_get(p->gen, &stats);
    differ(p, "ids", (int64_t)stats.ids, (int64_t)m->ids);
    differ(p, "waits", (int64_t)stats.waits, (int64_t)m->waits);
    if (m->max_ahead) return; /* then a batch may be one draw or several */
    differ(p, "batches", (int64_t)stats.batches, (int64_t)m->batches);
    differ(p, "clock_backs", (int64_t)stats.clock_backs, (int64_t)m->clock_backs);
}

static void step_questions(play *p) {
    const oracle *m = &p->oracle;
    check_statistics(p);
    if (p->what == WIDE) {
        differ(p, "retry_ns", flake128_retry_ns(p->wide), oracle_retry_ns(m));
        return;
    }
    differ(p, "retry_ns",
           p->what == SHARD ? flake_shard_retry_ns(p->shard) : flake_retry_ns(p->gen),
           oracle_retry_ns(m));
    differ(p, "available", (int64_t)flake_available(p->gen), (int64_t)oracle_available(m));
    uint64_t unit;
    if (oracle_unit_at(m, script_now.now_ns, &unit) == ORACLE_OK)
        differ(p, "lag", flake_lag_ms(p->gen), (int64_t)oracle_lag(m) * m->unit_ms);
}

/* Stocked ids may be old, so they are no witnesses to the order. */
static void step_prefetch(play *p) {
    if (p->what != GENERATOR || p->oracle.max_ahead) return;
    const script before = script_now;
    oracle_place place = {0, 0, 0};
    const oracle_status expected = oracle_stock_next(&p->oracle, &p->stock, &place);
    const int64_t after_ns = script_now.now_ns;
    script_now = before;
    uint64_t got = NOTHING;
    differ(p, "prefetch", flake_prefetch_next(&p->prefetch, &got), (int64_t)expected);
    differ(p, "clock after it", script_now.now_ns, after_ns);
    if (expected == ORACLE_OK) check_id(p, place, got);
    else differ(p, "untouched id", got == NOTHING, true);
}

/* A second generator that is restored from the first goes on in its stead. */
static void step_hand_over(play *p) {
    if (!p->gen) return;
    const flake_snapshot s = snapshot_of(p->gen);
    const flake_options o = *flake_gen_options(p->gen);
    if (!o.seq_max && p->layout.seq_bits) return; /* a shard of the number 0 alone */
    const uint64_t cap = p->oracle.cap, since = (uint64_t)(s.unix_ms - p->oracle.epoch_ms);
    const oracle_place next = p->oracle.next;
    differ(p, "snapshot", (int64_t)(since / (uint64_t)p->oracle.unit_ms + s.count / cap),
           (int64_t)next.unit);
    differ(p, "snapshot", (int64_t)(s.count % cap), (int64_t)next.index);
    p->counted = false;
    differ(p, "init", flake_init(p->gen, &o), FLAKE_OK);
    differ(p, "restore", flake_restore(p->gen, &s), FLAKE_OK);
    differ(p, "restore of an old one", flake_restore(p->gen, &p->old), FLAKE_OK);
    if (one_in(p, 3)) p->old = s;
}

static void step_foreign(play *p) {
    if (!p->gen) return;
    flake_snapshot s = snapshot_of(p->gen);
    const uint64_t unit =
        p->oracle.recorded + pick(p, 8) < 4 ? 0 : p->oracle.recorded + pick(p, 8) - 4;
    if (unit > p->oracle.last_unit) return;
    s.unix_ms = p->oracle.epoch_ms + (int64_t)unit * p->oracle.unit_ms;
    s.count = 1 + pick(p, 5 * p->oracle.cap);
    const oracle_place next = p->oracle.next;
    const uint64_t units = unit + s.count / p->oracle.cap;
    if (units == next.unit && s.count % p->oracle.cap == next.index)
        return; /* neither is further */
    oracle_restore(&p->oracle, unit, s.count);
    p->counted = false;
    differ(p, "foreign restore", flake_restore(p->gen, &s), FLAKE_OK);
    p->dragged = true;
}

static int64_t random_move_ns(play *p) {
    const int64_t unit_ns = p->oracle.unit_ms * MS, retry_ns = oracle_retry_ns(&p->oracle);
    const int64_t near_ns = (int64_t)pick(p, 3 * (uint64_t)unit_ns);
    switch (pick(p, 10)) {
    case 0: return 0;
    case 1: return unit_ns;
    case 2:
    case 3: return near_ns;
    case 4: return -near_ns;
    case 5: return -(int64_t)pick(p, 50) * unit_ns;
    case 6: return (int64_t)pick(p, 1000) * unit_ns;
    case 7: return retry_ns < INT64_MAX ? retry_ns : 0;
    case 8: return retry_ns < INT64_MAX ? retry_ns - 1 : 0;
    default: break;
    }
    const int64_t far_s = (int64_t)pick(p, one_in(p, 8) ? 3000000000 : 3600);
    return one_in(p, 2) ? far_s * 1000 * MS : -far_s * 1000 * MS;
}

/* Where the next sleep ends, or all to come: on time, late, and, if the clock is restless, early,
 * not at all and in the past. Such a clock has no times closer than a us to each other, so that
 * waiting for it by small steps has an end. */
static void random_sleep(play *p) {
    const int64_t unit_ns = p->oracle.unit_ms * MS;
    script_now.per_sleep = -1;
    script_now.jump_to_ns = 0;
    if (p->noted || p->features & GREAT_LOAN) return; /* they sleep by smaller steps */
    if (script_now.now_ns > INT64_MAX - (INT64_C(1) << 50)) return;
    const int64_t late_ns = (int64_t)pick(p, 9 * (uint64_t)unit_ns);
    if (one_in(p, 4)) script_now.jump_to_ns = script_now.now_ns + p->oracle.max_wait_ns + late_ns;
    if (!(p->features & RESTLESS)) return;
    if (one_in(p, 4)) script_now.jump_to_ns = script_now.now_ns + late_ns;
    script_now.now_ns -= script_now.now_ns % 1000;
    if (one_in(p, 2)) script_now.per_sleep = one_in(p, 2) ? 0 : (int64_t)pick(p, 4000) * 1000;
    const int64_t back_ns = one_in(p, 2) ? 4 * unit_ns : 3000 * MS;
    if (one_in(p, 4))
        script_now.jump_to_ns = script_now.now_ns - (int64_t)pick(p, (uint64_t)back_ns);
    script_now.jump_to_ns -= script_now.jump_to_ns % 1000;
    if (script_now.jump_to_ns < oracle_start_ns(&p->oracle, 0)) script_now.jump_to_ns = 0;
}

static int64_t random_time(play *p) {
    const oracle *m = &p->oracle;
    const int64_t now_ns = script_now.now_ns, first_ns = oracle_start_ns(m, 0);
    const int64_t end_ns = oracle_start_ns(m, m->last_unit) + m->unit_ms * MS;
    if (p->features & OUTSIDE && one_in(p, 8))
        return (one_in(p, 2) ? first_ns : end_ns) + (int64_t)pick(p, 7) - 3;
    const int64_t by_ns = random_move_ns(p);
    if (by_ns < 0 ? now_ns < INT64_MIN / 2 - by_ns : now_ns > INT64_MAX - by_ns) return now_ns;
    const int64_t to_ns = now_ns + by_ns;
    if (p->features & OUTSIDE) return to_ns;
    if (p->features & GREAT_LOAN && by_ns < 0) return now_ns;
    return to_ns < first_ns || to_ns > end_ns / 4 * 3 ? now_ns : to_ns;
}

static void step_clock(play *p) {
    const int64_t from_ns = script_now.now_ns;
    script_now.now_ns = random_time(p);
    random_sleep(p);
    const int64_t jump_ns = script_now.jump_to_ns;
    p->stepped_back |= script_now.now_ns < from_ns || (jump_ns && jump_ns < script_now.now_ns);
}

static size_t random_size(play *p) {
    if (p->features & GREAT_LOAN) return 1 + (size_t)pick(p, most_batch);
    return (size_t)pick(p, one_in(p, 8) ? 500 : 9);
}

static int64_t random_ms(play *p) {
    const int64_t now_ms = script_now.now_ns / MS;
    if (p->features & GREAT_LOAN) return now_ms;
    switch (pick(p, 8)) {
    case 0: return now_ms + (int64_t)pick(p, 5 * (uint64_t)p->oracle.unit_ms);
    case 1: return now_ms - (int64_t)pick(p, 5000);
    case 2:
        return p->features & OUTSIDE ? (int64_t)(random_next(&p->random) >> pick(p, 64)) : now_ms;
    case 3:
        return p->features & OUTSIDE ? -(int64_t)(random_next(&p->random) >> 1 >> pick(p, 63))
                                     : now_ms;
    default: return now_ms;
    }
}

static void step(play *p) {
    const bool greedy = p->features & GREAT_LOAN && one_in(p, 2);
    switch (greedy ? 8 : pick(p, 17)) {
    case 0:
    case 1:
    case 2:
    case 3: step_one(p, true); break;
    case 4:
    case 5:
    case 6: step_one(p, false); break;
    case 7: step_many(p, true, random_size(p)); break;
    case 8: step_many(p, false, random_size(p)); break;
    case 9: step_at(p, random_ms(p)); break;
    case 10: step_hand_over(p); break;
    case 11:
        if (p->features & FOREIGN) step_foreign(p);
        break;
    case 12: step_prefetch(p); break;
    default: step_clock(p); break;
    }
    step_questions(p);
}

static void play_scripts(unsigned features, uint64_t seed, int scripts, int steps) {
#ifdef TEST_SMALL
    scripts /= 20;
#endif
    static play p;
    for (int i = 0; i < scripts && check_failures < 5; i++) {
        memset(&p, 0, sizeof p);
        p.seed = seed + (uint64_t)i;
        p.random = p.seed * 0x9e3779b97f4a7c15 | 1;
        p.features = features;
        p.ids = play_ids;
        p.scatter_unit = UINT64_MAX;
        play_open(&p);
        for (p.step = 0; p.step < steps && !p.failed; p.step++) step(&p);
        if (!(features & FOREIGN))
            differ(&p, "duplicates", (int64_t)count_duplicates(p.ids, p.drawn), 0);
    }
}

static void random_scripts_follow_the_oracle(void) { play_scripts(0, 1000000, 20000, 50); }

static void random_scripts_at_the_ends_of_time_follow_the_oracle(void) {
    play_scripts(OUTSIDE, 2000000, 10000, 50);
}

static void random_scripts_with_restless_sleeps_follow_the_oracle(void) {
    play_scripts(RESTLESS, 3000000, 10000, 50);
}

static void random_scripts_with_snapshots_of_others_follow_the_oracle(void) {
    play_scripts(FOREIGN, 4000000, 5000, 50);
}

static void random_scripts_with_great_loans_follow_the_oracle(void) {
    play_scripts(GREAT_LOAN, 5000000, 40, 60);
}

/* ---- the oracle itself, with its ticks, against ids that sno made ---- */

static oracle traced;
static int trace_shown;

static void trace_row(char **field) {
    const int trace = atoi(field[0]);
    const uint64_t min = strtoull(field[2], NULL, 10), max = strtoull(field[3], NULL, 10);
    const uint64_t number = strtoull(field[6] + 16, NULL, 16);
    field[6][10] = 0;
    const uint64_t time_and_tick = strtoull(field[6], NULL, 16);
    oracle_run run = {{0, 0, 0}, 0};
    if (trace != trace_shown) {
        traced = oracle_of(INT64_C(1262304000000), 4, 39, max - min + 1);
        traced.ticks = true;
        traced.clock_ns = &script_now.now_ns;
        trace_shown = trace;
    }
    script_now.now_ns = oracle_start_ns(&traced, strtoull(field[4], NULL, 10));
    CHECK_EQ(oracle_draw(&traced, ORACLE_TRY, 1, &run), ORACLE_OK);
    CHECK_EQ(run.first.unit, time_and_tick >> 1);
    CHECK_EQ(run.first.tick, time_and_tick & 1);
    CHECK_EQ(min + run.first.index, number);
}

static void the_oracle_draws_what_sno_drew(void) {
    trace_shown = -1;
    vectors_read("sno_trace.tsv", 7, trace_row);
}

int main(int argc, char **argv) {
    static const check_test all[] = {
        CHECK_TEST(the_first_id_is_the_first_number_of_the_clocks_unit),
        CHECK_TEST(numbers_count_up_within_a_unit),
        CHECK_TEST(a_new_unit_begins_with_the_first_number),
        CHECK_TEST(a_try_at_a_spent_unit_changes_nothing),
        CHECK_TEST(retry_ns_is_exact_to_the_nanosecond),
        CHECK_TEST(next_sleeps_until_the_next_unit_and_has_its_first_place),
        CHECK_TEST(a_saturated_generator_gives_all_that_its_layout_has),
        CHECK_TEST(waking_early_sleeps_again),
        CHECK_TEST(waking_late_loses_no_place),
        CHECK_TEST(next_gives_up_after_max_wait_though_the_clock_stands_still),
        CHECK_TEST(giving_up_changes_nothing_behind_a_place_that_was_waited_for),
        CHECK_TEST(next_does_not_begin_a_wait_longer_than_max_wait),
        CHECK_TEST(a_try_behind_the_newest_id_says_clock_back),
        CHECK_TEST(next_waits_for_a_clock_that_is_back_by_max_wait_at_most),
        CHECK_TEST(max_wait_is_a_second_by_default),
        CHECK_TEST(refuse_back_does_not_wait_for_a_clock_that_was_put_back),
        CHECK_TEST(a_clock_put_back_a_little_during_the_sleep_is_waited_for),
        CHECK_TEST(a_clock_put_back_far_during_the_sleep_is_not),
        CHECK_TEST(refuse_back_holds_for_a_clock_put_back_during_the_sleep),
        CHECK_TEST(a_clock_put_before_the_epoch_during_the_sleep_is_out_of_range),
        CHECK_TEST(before_the_epoch_there_are_no_ids),
        CHECK_TEST(an_epoch_before_1970_is_as_good_as_another),
        CHECK_TEST(before_the_epoch_retry_ns_counts_to_when_a_try_succeeds),
        CHECK_TEST(a_clock_reading_at_either_end_of_its_type_does_no_harm),
        CHECK_TEST(the_last_unit_is_used_up_and_nothing_comes_after),
        CHECK_TEST(past_the_end_an_unused_generator_has_no_ids),
        CHECK_TEST(max_ahead_does_not_reach_past_the_last_unit),
        CHECK_TEST(lag_is_told_when_all_of_time_is_drawn),
        CHECK_TEST(a_clock_that_jumps_decades_ahead_is_followed),
        CHECK_TEST(hazelcast_borrows_15_seconds_and_then_waits),
        CHECK_TEST(hazelcast_counts_on_when_the_clock_is_back_by_less),
        CHECK_TEST(a_clock_back_by_more_than_max_ahead_says_so_whatever_might_be_borrowed),
        CHECK_TEST(a_max_ahead_of_half_a_unit_is_rounded_down),
        CHECK_TEST(max_ahead_may_be_more_than_count_holds),
        CHECK_TEST(one_by_one_max_ahead_may_be_more_than_count_holds),
        CHECK_TEST(a_caller_with_a_cached_time_borrows_no_more_than_max_ahead),
        CHECK_TEST(a_clock_back_by_less_than_max_ahead_says_again_while_spent),
        CHECK_TEST(a_count_without_a_spare_bit_uses_up_each_unit),
        CHECK_TEST(a_count_with_few_spare_bits_uses_up_each_unit),
        CHECK_TEST(next_n_crosses_units_without_a_spare_bit),
        CHECK_TEST(statistics_are_exact_without_a_spare_bit),
        CHECK_TEST(a_layout_that_fills_all_64_bits_ends_a_unit_earlier),
        CHECK_TEST(a_full_count_without_a_spare_bit_survives_a_snapshot),
        CHECK_TEST(a_range_of_numbers_is_kept_to),
        CHECK_TEST(one_id_a_unit_is_enough),
        CHECK_TEST(ranges_and_options_that_do_not_fit_are_refused),
        CHECK_TEST(next_n_goes_on_over_several_units),
        CHECK_TEST(each_unit_of_a_batch_has_max_wait_of_its_own),
        CHECK_TEST(a_batch_that_fails_midway_keeps_what_it_has),
        CHECK_TEST(a_batch_that_fails_at_once_leaves_the_array_alone),
        CHECK_TEST(a_batch_whose_clock_is_put_back_midway_says_so),
        CHECK_TEST(a_batch_of_none_is_none),
        CHECK_TEST(try_n_gives_what_is_free),
        CHECK_TEST(try_n_borrows_as_far_as_max_ahead),
        CHECK_TEST(try_at_takes_the_callers_time),
        CHECK_TEST(try_at_with_an_older_time_stays_in_the_newest_unit),
        CHECK_TEST(try_at_refuses_a_time_that_the_layout_has_not),
        CHECK_TEST(after_a_try_at_in_the_future_the_clock_is_behind),
        CHECK_TEST(try_at_borrows_from_its_own_time_on),
        CHECK_TEST(available_says_how_many_are_free_now),
        CHECK_TEST(lag_is_how_far_the_newest_id_is_ahead),
        CHECK_TEST(statistics_are_exact),
        CHECK_TEST(each_unit_that_a_batch_waits_for_is_a_draw_that_had_to_sleep),
        CHECK_TEST(a_draw_that_rides_out_a_clock_behind_the_word_is_counted),
        CHECK_TEST(a_draw_that_sleeps_twice_is_one_that_had_to_sleep),
        CHECK_TEST(a_batch_that_was_not_drawn_is_not_counted),
        CHECK_TEST(a_snapshot_says_where_the_generator_stands),
        CHECK_TEST(a_restored_generator_goes_on_behind_the_snapshot),
        CHECK_TEST(a_restored_generator_waits_for_a_clock_in_the_past),
        CHECK_TEST(an_older_snapshot_does_not_put_a_generator_back),
        CHECK_TEST(a_snapshot_that_has_borrowed_further_is_gone_behind),
        CHECK_TEST(a_snapshot_of_a_later_unit_does_not_put_back_what_was_borrowed),
        CHECK_TEST(a_snapshot_of_another_node_range_or_time_is_refused),
        CHECK_TEST(a_scattered_unit_has_each_of_its_numbers_once),
        CHECK_TEST(scattered_batches_have_each_number_once),
        CHECK_TEST(one_by_one_and_in_batches_scatter_the_same),
        CHECK_TEST(scattered_units_begin_at_different_numbers),
        CHECK_TEST(at_one_scattered_id_a_unit_the_remainders_are_even),
        CHECK_TEST(shards_share_out_the_whole_range),
        CHECK_TEST(more_shards_than_numbers_are_refused),
        CHECK_TEST(shards_together_give_each_number_of_a_unit_once),
        CHECK_TEST(a_shard_waits_and_goes_back_as_a_generator_does),
        CHECK_TEST(a_pool_lends_each_shard_to_one_holder),
        CHECK_TEST(a_shard_given_back_goes_on_where_it_stood),
        CHECK_TEST(prefetch_claims_its_count_at_once),
        CHECK_TEST(prefetch_claims_less_when_less_are_free),
        CHECK_TEST(prefetched_ids_without_validity_keep_for_ever),
        CHECK_TEST(prefetched_ids_are_dropped_when_their_time_is_over),
        CHECK_TEST(prefetched_ids_that_were_waited_for_are_fresh),
        CHECK_TEST(a_clock_put_back_drops_prefetched_ids_that_can_age),
        CHECK_TEST(prefetch_fails_as_next_does_and_goes_on),
        CHECK_TEST(no_id_comes_out_of_two_stocks),
        CHECK_TEST(a_generator_made_anew_as_another_has_no_old_stock),
        CHECK_TEST(a_stock_without_a_generator_is_invalid),
        CHECK_TEST(a_prefetch_count_has_bounds),
        CHECK_TEST(a_zeroed_generator_is_invalid),
        CHECK_TEST(a_coarse_clock_does_not_say_where_to_begin),
        CHECK_TEST(a_coarse_clock_alone_is_read_while_ids_are_free),
        CHECK_TEST(a_unit_that_is_spent_by_the_coarse_clock_alone_is_no_reason_to_fail),
        CHECK_TEST(a_coarse_clock_that_lags_is_no_clock_put_back),
        CHECK_TEST(a_coarse_clock_never_wakes_a_waiter_late),
        CHECK_TEST(an_exact_clock_put_back_is_believed),
        CHECK_TEST(a_coarse_clock_that_lags_behind_the_epoch_is_not_before_it),
        CHECK_TEST(a_queue_is_noted_once_a_ms_and_once_when_it_is_over),
        CHECK_TEST(a_try_does_not_queue_and_is_not_noted),
        CHECK_TEST(a_queued_batch_counts_by_its_places),
        CHECK_TEST(waking_often_notes_no_more_than_once_a_ms),
        CHECK_TEST(units_of_a_ms_are_noted_once_a_ms_too),
        CHECK_TEST(a_full_ring_drops_notes_and_the_last_one_comes_later),
        CHECK_TEST(when_there_is_room_again_the_next_ms_is_noted),
        CHECK_TEST(a_second_overflow_is_noted_from_its_own_begin),
        CHECK_TEST(random_scripts_follow_the_oracle),
        CHECK_TEST(random_scripts_at_the_ends_of_time_follow_the_oracle),
        CHECK_TEST(random_scripts_with_restless_sleeps_follow_the_oracle),
        CHECK_TEST(random_scripts_with_snapshots_of_others_follow_the_oracle),
        CHECK_TEST(random_scripts_with_great_loans_follow_the_oracle),
        CHECK_TEST(the_oracle_draws_what_sno_drew),
    };
    return CHECK_MAIN(argc, argv, all);
}
