/* SPDX-License-Identifier: MIT
 *
 * sno's generators on a scripted clock: the original's traces; batches; tick-tock: after a backward step IDs continue
 * with the other tick, unless both ticks have used the time (I5); every call at the ends of time. Then snapshots and
 * options that do not fit. (Any calls and any clock: test_random_sno.c.)
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

TEST(after_a_step_back_ids_have_the_other_tick) {
    begin(0, 3);
    draw(2);
    clock_to(start - 50);
    script_now.now_ns += unit_ns - 1; /* the last ns of an earlier unit is earlier */
    EXPECT_ID(try_id(&gen), start - 50, 1, 0);
    EXPECT_ID(next_id(&gen), start - 50, 1, 1);
    CHECK_EQ(script_now.sleeps, 0);
    CHECK_EQ(snapshot_of(&gen).drifts, 1);
    CHECK_EQ(snapshot_of(&gen).wall_safe, start);
    clock_to(start - 60); /* both ticks have used what follows */
    EXPECT_REFUSED(&gen, FLAKE_CLOCK_BACKWARDS);
    CHECK_EQ(flake_retry_ns(&gen.gen), 10 * unit_ns);
    EXPECT_ID(next_id(&gen), start - 50, 1, 2); /* a number that no tick has used */
    CHECK_EQ(script_now.slept_ns, 10 * unit_ns);
}

/* ---- times ---- */

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

TEST(with_time_reads_no_clock_and_has_numbers_of_its_own) {
    static const int64_t unit[] = {0, 0, 1, start - 1000, start, start + 1000, units - 1};
    begin(100, 103);
    for (uint32_t i = 0; i < sizeof unit / sizeof *unit; i++) {
        sno_id id;
        CHECK_EQ(sno_with_time(&gen, a_meta, unit_start_ms(unit[i] + 1) - 1, &id), FLAKE_OK);
        EXPECT_ID(id, unit[i], 0, 100 + i % 4);
    }
    CHECK_EQ(script_now.reads, 0);
    EXPECT_ID(try_id(&gen), start, 0, 100);
}

/* IDs and batches: test_random_sno.c. */
TEST(stats_count_waits_and_backward_steps) {
    sno_id ids[10];
    flake_stats stats;
    begin(0, 3);
    CHECK_EQ(sno_next_n(&gen, a_meta, ids, 10), FLAKE_OK); /* 4, 4, 2 */
    clock_to(start);
    (void)try_id(&gen);
    clock_to(start - 1);
    EXPECT_REFUSED(&gen, FLAKE_CLOCK_BACKWARDS);
    flake_stats_get(&gen.gen, &stats);
    CHECK_EQ(stats.waits, 2);
    CHECK_EQ(stats.clock_backwards, 3); /* it left a timeline, and two calls were refused */
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
