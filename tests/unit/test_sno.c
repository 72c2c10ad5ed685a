/* SPDX-License-Identifier: MIT
 *
 * sno's generators on a scripted clock: the original's traces, every call at the edges of a unit and of time, and
 * tick-tock: after a backward step IDs continue with the other tick, unless both ticks have used the time (I5). Then
 * pools, options and nodes that do not fit.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#include "scripted_sno.h"

/* ---- the original's traces ---- */

static void trace_row(char **field) {
    static char trace[16];
    sno_id wanted;
    if (strcmp(trace, field[0]) != 0) {
        (void)snprintf(trace, sizeof trace, "%s", field[0]);
        restore(&gen, pool_of_numbers((uint16_t)atoi(field[1]), (uint16_t)atoi(field[2]), (uint16_t)atoi(field[3])));
    }
    clock_to((int64_t)strtoll(field[4], NULL, 10));
    const int sleeps = script_now.sleeps;
    hex_bytes(field[6], wanted.bytes, sizeof wanted.bytes);
    const sno_id id = next_sno(&gen, (uint8_t)atoi(field[5]));
    CHECK(memcmp(&id, &wanted, sizeof id) == 0);
    CHECK_EQ(script_now.sleeps, sleeps);
}

TEST(the_originals_traces_are_repeated_byte_for_byte) { vectors_read("sno_trace.tsv", 7, trace_row); }

/* ---- batches ---- */

/* Each ID of the batch of n from the number `first` on is correct; nothing beside it is touched. */
static void check_batch(uint32_t first, size_t n) {
    enum { most = 1000, beside = 64 };
    static uint8_t memory[beside + most * sizeof(sno_id) + beside], untouched[beside];
    const size_t at = beside - (first + n) % 32; /* vectors may require alignment */
    const unsigned tick = (first ^ n) & 1;
    const uint8_t meta = (uint8_t)(n * 89 + first);
    const uint16_t min = first & 0xfffc, partition = (uint16_t)(n * 40503 + first);
    sno_id *const ids = (sno_id *)(memory + at), wanted;
    begin(0, 3);
    restore(&gen, pool_of_numbers(partition, min, 65535));
    if (tick) {
        draw(1);
        clock_to(start - 50);
    }
    draw(first - min);
    memset(memory, 0xee, sizeof memory);
    memset(untouched, 0xee, sizeof untouched);
    CHECK_EQ(tried_n(&gen, meta, ids, n), n);
    size_t right = 0;
    for (; right < n; right++) {
        const uint64_t unit = (uint64_t)(tick ? start - 50 : start);
        (void)sno_compose(unit, tick, meta, partition, (uint16_t)(first + right), &wanted);
        if (!sno_equal(ids[right], wanted)) break;
    }
    CHECK_EQ(right, n);
    CHECK(memcmp(memory, untouched, at) == 0 && memcmp(ids + n, untouched, beside) == 0);
}

TEST(batches_of_any_length_begin_at_any_number) {
    for (uint32_t low = 0; low < 256; low++) {
        const uint32_t first = low * 251 % 255 << 8 | low;
        for (size_t n = 0; n <= 100; n++) check_batch(first, n);
        if (first + 1000 <= whole_pool) check_batch(first, 1000);
    }
    for (size_t n = 1; n <= 300; n++) check_batch((uint32_t)(whole_pool - n), n);
}

/* ---- tick-tock ---- */

TEST(after_one_step_back_no_call_waits) {
    static const int64_t steps[] = {1, 2, 3, 10, 1000, 900000000, 99999999999};
    for (uint32_t drawn = 1; drawn <= 4; drawn++)
        for (int64_t unit = start + 1; unit <= start + 4; unit++)
            for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
                begin(0, 3);
                draw(4);
                clock_to(unit);
                draw(drawn);
                clock_to(unit - steps[i]);
                script_now.now_ns += unit_ns - 1; /* the last ns of an earlier unit is earlier */
                CHECK_EQ(flake_retry_ns(&gen.gen), 0);
                EXPECT_ID(try_id(&gen), clock_unit(), 1, 0);
                EXPECT_ID(next_id(&gen), clock_unit(), 1, 1);
                CHECK_EQ(script_now.sleeps, 0);
                CHECK_EQ(snapshot_of(&gen).drifts, 1);
                CHECK_EQ(snapshot_of(&gen).wall_safe, unit);
            }
}

/* Both ticks have used the time of unit `to`: the next ID is of unit `free`. A call waits for it, or flake_retry_ns
 * returns when it is free, not a ns too early. */
static void check_blocked(bool waits, int64_t to, int64_t free, unsigned tick, uint32_t number) {
    const int64_t ns = (free - to) * unit_ns - 1000;
    sno_id id;
    clock_to(to);
    script_now.now_ns += 1000;
    if (waits) {
        EXPECT_ID(next_id(&gen), free, tick, number);
        CHECK_EQ(script_now.slept_ns, ns);
        return;
    }
    EXPECT_REFUSED(&gen, FLAKE_CLOCK_BACKWARDS);
    CHECK_EQ(flake_retry_ns(&gen.gen), ns);
    script_now.now_ns += ns - 1;
    CHECK(sno_try(&gen, a_meta, &id) != FLAKE_OK);
    script_now.now_ns++;
    CHECK_EQ(flake_retry_ns(&gen.gen), 0);
    EXPECT_ID(try_id(&gen), free, tick, number);
}

TEST(after_a_second_step_into_used_time_a_call_waits_for_an_unused_number) {
    for (int64_t i = 0; i < 60; i++) {
        const int64_t back = 1 + i / 2;
        use_both_ticks(3);
        check_blocked(i % 2, start - 40 - back, start - 40, 1, 3);
        EXPECT_ID(next_id(&gen), start - 39, 1, 0);
        use_both_ticks(4);
        check_blocked(i % 2, start - 40 - back, start - 39, 1, 0);
        use_both_ticks(1); /* the other tick's time is unused before this one's */
        clock_to(start + 20);
        EXPECT_ID(next_id(&gen), start + 20, 1, 0);
        check_blocked(i % 2, start - back, start + 1, 0, 0);
    }
}

TEST(after_a_second_step_a_call_waits_for_what_the_queue_has_left) {
    sno_snapshot s = pool_of(0, 3);
    s.wall_hi = start;
    s.sequence = 4 + 4 + 1; /* two units and two numbers of the third */
    for (s.wall_safe = start - 2; s.wall_safe <= start + 4; s.wall_safe++) {
        begin(0, 3);
        restore(&gen, s);
        if (s.wall_safe == start - 2) check_blocked(false, start - 10, start - 1, 1, 0);
        else check_blocked(false, start - 10, start + 2, 0, 2);
    }
}

TEST(max_wait_ms_bounds_the_wait_for_the_clock) {
    flake_options o = options_of();
    o.max_wait_ms = 40;
    for (int64_t back = 10; back <= 11; back++) {
        begin_with(o, 0, 3);
        draw(1);
        clock_to(start - 50);
        draw(1);
        clock_to(start - 50 - back);
        if (back == 10) EXPECT_ID(next_id(&gen), start - 50, 1, 1);
        else CHECK(sno_is_zero(next_id(&gen)));
        CHECK_EQ(script_now.slept_ns, back == 10 ? 40 * ms_ns : 0);
    }
}

/* ---- the ends of time ---- */

TEST(outside_2010_to_2079_there_are_no_ids) {
    const int64_t rows[][2] = {/* the clock, and retry_ns */
                               {INT64_MIN, INT64_MAX}, {0, epoch_ns}, {epoch_ns - 12345, 12345}, {epoch_ns - 1, 1},
                               {unit_start_ns(units), INT64_MAX}, {INT64_MAX, INT64_MAX}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(0, 3);
        script_now.now_ns = rows[i][0];
        EXPECT_REFUSED(&gen, FLAKE_TIME_RANGE);
        CHECK_EQ(flake_retry_ns(&gen.gen), rows[i][1]);
        CHECK(sno_is_zero(next_id(&gen)));
        CHECK(sno_is_zero(sno_generate(a_meta)));
        CHECK_EQ(script_now.sleeps, 0);
    }
}

TEST(the_first_and_the_last_ms_have_ids_until_they_run_out) {
    for (int last = 0; last < 2; last++) {
        const int64_t unit = last ? units - 1 : 0;
        begin(last ? 1 : 0, 4); /* in the snapshot number 0 of unit 0 is drawn */
        script_now.now_ns = last ? unit_start_ns(units) - 1 : epoch_ns;
        EXPECT_ID(next_id(&gen), unit, 0, 1);
        EXPECT_ID(try_id(&gen), unit, 0, 2);
        EXPECT_ID(try_id_at(&gen, script_now.now_ns / ms_ns), unit, 0, 3);
        EXPECT_ID(next_id(&gen), unit, 0, 4);
        CHECK_EQ(flake_retry_ns(&gen.gen), last ? INT64_MAX : unit_ns);
        CHECK_EQ(sno_is_zero(next_id(&gen)), last);
        CHECK_EQ(script_now.sleeps, !last);
    }
}

/* Before 2010 it counts as the newest unit, if there is one. */
TEST(a_time_given_outside_2010_to_2079_is_out_of_range) {
    static const int64_t outside_ms[] = {INT64_MIN, 0, 1262303999999, 3461327255552, INT64_MAX};
    for (size_t i = 0; i < 5; i++) {
        sno_id id;
        begin(0, 3);
        CHECK_EQ(sno_init(&gen, flake_node_none(), NULL, NULL, NULL), FLAKE_OK);
        FAILS(sno_try_at(&gen, a_meta, outside_ms[i], &id), FLAKE_TIME_RANGE, id);
        FAILS(sno_with_time(&gen, a_meta, outside_ms[i], &id), FLAKE_TIME_RANGE, id);
        CHECK_EQ(snapshot_of(&gen).wall_hi, 0);
        begin(0, 3);
        (void)try_id(&gen);
        if (i < 3) EXPECT_ID(try_id_at(&gen, outside_ms[i]), start, 0, 1);
        else FAILS(sno_try_at(&gen, a_meta, outside_ms[i], &id), FLAKE_TIME_RANGE, id);
        EXPECT_ID(try_id(&gen), start, 0, i < 3 ? 2 : 1);
    }
}

/* ---- sno_with_time ---- */

TEST(with_time_has_a_rolling_sequence_of_its_own) {
    begin(100, 109);
    draw(3);
    clock_to(start - 5);
    EXPECT_ID(try_id(&gen), start - 5, 1, 100);
    const sno_snapshot before = snapshot_of(&gen);
    for (int i = 0; i < 30; i++) {
        sno_id id;
        CHECK_EQ(sno_with_time(&gen, a_meta, unit_start_ms(i / 10) + i % 4, &id), FLAKE_OK);
        EXPECT_ID(id, i / 10, 0, 100 + (uint32_t)i % 10);
    }
    const sno_snapshot after = snapshot_of(&gen);
    CHECK(same_place(&before, &after));
    EXPECT_ID(try_id(&gen), start - 5, 1, 101);
}

TEST(with_time_takes_any_time_and_reads_no_clock) {
    const int64_t unit[] = {0, 1, start - 1000, start, start + 1000, units - 1};
    begin(0, 0);
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++) {
        sno_id first, last;
        CHECK_EQ(sno_with_time(&gen, a_meta, unit_start_ms(unit[i]), &first), FLAKE_OK);
        CHECK_EQ(sno_with_time(&gen, a_meta, unit_start_ms(unit[i] + 1) - 1, &last), FLAKE_OK);
        CHECK(sno_units(first) == (uint64_t)unit[i] && sno_units(last) == (uint64_t)unit[i]);
        CHECK(!sno_equal(first, last));
    }
    CHECK_EQ(script_now.reads, 0);
}

/* ---- queries ---- */

static bool queries_are(uint32_t len, uint32_t sequence) {
    return sno_len(&gen) == len && sno_sequence_now(&gen) == sequence;
}

TEST(len_and_sequence_now_are_of_the_clocks_unit) {
    begin(100, 105);
    CHECK(queries_are(0, 100));
    for (uint32_t n = 1; n <= 6; n++) {
        (void)try_id(&gen);
        CHECK(queries_are(n, 99 + n));
    }
    for (int64_t unit = start + 1; unit >= start - 1; unit -= 2) { /* the next; tick-tock */
        clock_to(unit);
        CHECK(queries_are(0, 100));
        (void)try_id(&gen);
        CHECK(queries_are(1, 100));
    }
    clock_to(start - 2);
    EXPECT_REFUSED(&gen, FLAKE_CLOCK_BACKWARDS);
    CHECK(queries_are(0, 100));
    script_now.now_ns = epoch_ns - 1;
    CHECK(queries_are(0, 100));
    clock_to(units);
    CHECK(queries_are(0, 100));
    CHECK_EQ(sno_cap(&gen), 6);
}

TEST(stats_count_since_init) {
    sno_id ids[10];
    flake_stats stats;
    sno_snapshot s = pool_of(0, 3);
    begin(0, 3);
    for (int i = 0; i < 2; i++) {
        s.wall_hi = i ? start : 0;
        s.sequence = i ? 1 : 0;
        clock_to(start + 1);
        restore(&gen, s);
        for (uint64_t n = 0; n <= 1; n++) {
            flake_stats_get(&gen.gen, &stats);
            CHECK_EQ(stats.ids, n);
            if (!n) (void)try_id(&gen);
        }
        CHECK_EQ(sno_next_n(&gen, a_meta, ids, 10), FLAKE_OK); /* 3, 4, 3 */
        clock_to(start);
        (void)try_id(&gen);
        clock_to(start - 1);
        EXPECT_REFUSED(&gen, FLAKE_CLOCK_BACKWARDS);
        flake_stats_get(&gen.gen, &stats);
        CHECK_EQ(stats.ids, 12);
        CHECK_EQ(stats.batches, 3);
        CHECK_EQ(stats.waits, 2);
        CHECK_EQ(stats.clock_backwards, 3); /* it left a timeline, and two calls were refused */
    }
}

/* ---- pools ---- */

/* In either order; a maximum of 0 means 65535; four numbers are enough. */
TEST(bounds_of_a_pool) {
    static const uint32_t pools[][4] = {/* requested, made */
                                        {100, 200, 100, 200}, {200, 100, 100, 200}, {3, 0x8000, 3, 0x8000},
                                        {0x8000, 3, 3, 0x8000}, {65535, 65532, 65532, 65535}, {0, 0, 0, 65535},
                                        {65000, 0, 65000, 65535}, {65535, 0, 0, 65535}, {1, 4, 1, 4}, {0, 3, 0, 3}};
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        const uint32_t min = pools[i][2], max = pools[i][3];
        begin((uint16_t)pools[i][0], (uint16_t)pools[i][1]);
        const sno_snapshot made = snapshot_of(&gen);
        CHECK(made.sequence_min == min && made.sequence_max == max && made.partition == a_partition);
        CHECK_EQ(sno_gen_partition(&gen), a_partition);
        CHECK_EQ(sno_cap(&gen), max - min + 1);
        for (uint32_t k = min; k <= max; k++) EXPECT_ID(try_id(&gen), start, 0, k);
        EXPECT_REFUSED(&gen, FLAKE_AGAIN);
    }
}

/* ---- what does not fit ---- */

static void check_refused_by(int line, flake_status status, flake_node node, const sno_snapshot *from,
                             const flake_options *o, const char *field) {
    sno_gen before, after, some[3];
    flake_why why = {""};
    begin(7, 70);
    CHECK_EQ(sno_init(&before, flake_node_none(), NULL, NULL, NULL), FLAKE_OK);
    bool right = sno_init(&gen, node, from, o, &why) == status && strstr(why.text, field);
    CHECK_EQ(sno_init(&after, flake_node_none(), NULL, NULL, NULL), FLAKE_OK);
    right &= sno_gen_partition(&after) == (uint16_t)(sno_gen_partition(&before) + 1); /* it has taken no partition */
    memset((void *)some, 0x55, sizeof some);
    right &= sno_init_shards(some, 3, node, from, o, NULL) == status;
    for (size_t i = 0; i < 4; i++) {
        sno_id id;
        right &= sno_try(i < 3 ? &some[i] : &gen, a_meta, &id) == FLAKE_INVALID;
    }
    if (!right) check_fail(__FILE__, line, *why.text ? why.text : field);
}
#define EXPECT_REFUSED_BY(status, node, from, o, field) check_refused_by(__LINE__, status, node, from, o, field)

TEST(snapshots_that_do_not_fit_are_refused_by_field) {
    static const struct {
        uint16_t min, max;
        uint32_t sequence;
        int64_t wall_hi, wall_safe;
        const char *field;
    } rows[] = {{100, 100, 0, 0, 0, "sequence_min and sequence_max span fewer than 4"},
                {65535, 65535, 0, 0, 0, "sequence_max"},
                {100, 101, 0, 0, 0, "sequence_min"},
                {100, 102, 0, 0, 0, "sequence_max"},
                {102, 100, 0, 0, 0, "sequence_max"},
                {65533, 0, 0, 0, 0, "sequence_max"},
                {100, 200, 99, 0, 0, "snapshot.sequence "},
                {100, 200, 1, 0, 0, "snapshot.sequence "},
                {100, 200, UINT32_MAX, 0, 0, "snapshot.sequence "},
                {100, 200, 0, -1, 0, "wall_hi"},
                {100, 200, 0, units, 0, "wall_hi"},
                {100, 200, 0, INT64_MAX, 0, "wall_hi"},
                {100, 200, 0, 0, -1, "wall_safe"},
                {100, 200, 0, 0, units, "wall_safe"},
                {100, 200, 0, 0, INT64_MIN, "wall_safe"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sno_snapshot s = pool_of(rows[i].min, rows[i].max);
        s.sequence = rows[i].sequence;
        s.wall_hi = rows[i].wall_hi;
        s.wall_safe = rows[i].wall_safe;
        EXPECT_REFUSED_BY(FLAKE_INVALID, flake_node_fixed(NULL, a_partition), &s, NULL, rows[i].field);
    }
    const sno_snapshot three = pool_of(100, 102); /* bounds are checked if the library chooses the partition, too */
    EXPECT_REFUSED_BY(FLAKE_INVALID, flake_node_none(), &three, NULL, "sequence_max");
}

/* The snapshot contains most of what these return for other generators. */
TEST(options_that_do_not_fit_are_refused_by_field) {
    static const flake_options with[] = {
        {.max_wait_ms = -1}, {.seq_min = 1}, {.seq_max = 1}, {.seq_scatter = true},
        {.max_ahead_ms = 1}, {.layout = FLAKE_LAYOUT_ULID}, {.layout = {.unit_ms = 1}}};
    for (size_t i = 0; i < sizeof with / sizeof *with; i++)
        EXPECT_REFUSED_BY(FLAKE_INVALID, flake_node_none(), NULL, &with[i], i ? "must be zero" : "max_wait_ms");
}

int main(int argc, char **argv) { return check_main(argc, argv); }
