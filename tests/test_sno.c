/* SPDX-License-Identifier: MIT
 *
 * sno's generators on a scripted clock: the original's traces, options, every call at the edges of a unit
 * and of time, tick-tock.
 */
#include "scripted_sno.h"

static flake_ring ring;
static flake_ring_slot ring_slots[64];

/* ---- the original's traces ---- */

static void trace_row(char **field) {
    static char trace[16];
    sno_id wanted;
    if (strcmp(trace, field[0]) != 0) {
        (void)snprintf(trace, sizeof trace, "%s", field[0]);
        sno_snapshot s = pool_of((uint16_t)atoi(field[2]), (uint16_t)atoi(field[3]));
        s.partition = (uint16_t)atoi(field[1]);
        restore(&gen, s);
    }
    clock_to((int64_t)strtoll(field[4], NULL, 10));
    const int sleeps = script_now.sleeps;
    hex_bytes(field[6], wanted.bytes, sizeof wanted.bytes);
    const sno_id id = next_sno(&gen, (uint8_t)atoi(field[5]));
    CHECK(memcmp(&id, &wanted, sizeof id) == 0);
    CHECK_EQ(script_now.sleeps, sleeps);
}

TEST(the_originals_traces_come_out_byte_for_byte) {
    vectors_read("sno_trace.tsv", 7, trace_row);
}

/* ---- options ---- */

static void check_pool(sno_snapshot s, uint32_t min, uint32_t max) {
    restore(&gen, s);
    const sno_snapshot made = snapshot_of(&gen);
    CHECK_EQ(made.sequence_min, min);
    CHECK_EQ(made.sequence_max, max);
    CHECK_EQ(made.partition, a_partition);
    CHECK_EQ(sno_gen_partition(&gen), a_partition);
    CHECK_EQ(sno_cap(&gen), max - min + 1);
    for (uint32_t k = min; k <= max; k++) CHECK_ID(tried(&gen), start, 0, k);
    CHECK_REFUSED(&gen, FLAKE_AGAIN);
}

/* In either order; a maximum of 0 means 65535; four numbers are enough. */
TEST(bounds_of_a_pool) {
    static const uint32_t pools[][4] = {/* asked for, made */
                                        {100, 200, 100, 200}, {200, 100, 100, 200},
                                        {3, 0x8000, 3, 0x8000}, {0x8000, 3, 3, 0x8000},
                                        {65535, 65532, 65532, 65535}, {0, 0, 0, 65535},
                                        {65000, 0, 65000, 65535}, {65535, 0, 0, 65535},
                                        {1, 4, 1, 4}, {0, 3, 0, 3}};
    begin(0, 0);
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        const uint32_t *const p = pools[i];
        check_pool(pool_of((uint16_t)p[0], (uint16_t)p[1]), p[2], p[3]);
    }
}

TEST(a_sequence_of_0_means_the_lower_bound) {
    sno_snapshot s = pool_of(100, 200);
    begin(0, 0);
    s.wall_hi = start;
    restore(&gen, s);
    CHECK_EQ(sno_sequence_now(&gen), 100);
    CHECK_ID(tried(&gen), start, 0, 101);
    s.sequence = 100;
    restore(&gen, s);
    CHECK_ID(tried(&gen), start, 0, 101);
    s.sequence = 101;
    restore(&gen, s);
    CHECK_ID(tried(&gen), start, 0, 102);
}

static void check_refused_by(int line, const sno_snapshot *from, const flake_options *o,
                             const char *field) {
    sno_gen some[3];
    flake_why why = {""};
    begin(7, 70);
    draw(3);
    sno_id id;
    bool right = sno_init(&gen, from, o, &why) == FLAKE_INVALID && strstr(why.text, field);
    right &= sno_try(&gen, a_meta, &id) == FLAKE_INVALID;
    memset(some, 0x55, sizeof some);
    right &= sno_init_shards(some, 3, from, o, NULL) == FLAKE_INVALID;
    for (size_t i = 0; i < 3; i++) right &= sno_try(&some[i], a_meta, &id) == FLAKE_INVALID;
    if (!right) check_fail(__FILE__, line, *why.text ? why.text : "not refused");
}

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
        check_refused_by(__LINE__, &s, NULL, rows[i].field);
        if (check_failures) printf("  row %zu\n", i);
    }
}

static flake_status admit_all(void *user, int64_t until_ns) {
    (void)user;
    (void)until_ns;
    return FLAKE_OK;
}

TEST(options_that_do_not_fit_are_refused_by_field) {
    flake_options o = options_of();
    o.max_wait_ms = -1;
    check_refused_by(__LINE__, NULL, &o, "max_wait_ms");
    o.max_wait_ms = 0;
    o.clock.kind = 3;
    check_refused_by(__LINE__, NULL, &o, "clock.kind");
    o.clock.kind = -1;
    check_refused_by(__LINE__, NULL, &o, "clock.kind");
    o.clock.kind = 0;
    static flake_ring no_ring;
    o.overflow = &no_ring;
    check_refused_by(__LINE__, NULL, &o, "overflow");
    o.overflow = NULL;
    o.shared_memory = true;
    o.gate.admit = admit_all;
    check_refused_by(__LINE__, NULL, &o, "shared_memory");
}

/* The snapshot says what these say of other generators. */
TEST(options_of_other_generators_are_refused) {
    static const flake_options none; /* zero */
    for (int i = 0; i < 8; i++) {
        flake_options o = none;
        if (i == 0) o.node = 1;
        if (i == 1) o.node_offset = 1;
        if (i == 2) o.seq_min = 1;
        if (i == 3) o.seq_max = 1;
        if (i == 4) o.seq_scatter = true;
        if (i == 5) o.max_ahead_ms = 1;
        if (i == 6) o.layout = flake_layout_twitter;
        if (i == 7) o.layout.unit_ms = 1;
        check_refused_by(__LINE__, NULL, &o, "must be zero");
    }
    flake_options o = none;
    o.layout = flake_layout_ulid;
    check_refused_by(__LINE__, NULL, &o, "must be zero");
}

TEST(options_that_fit_have_nothing_wrong) {
    sno_snapshot s = pool_of(0, 0);
    flake_options o = options_of();
    CHECK_EQ(sno_init(&gen, NULL, NULL, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&gen, &s, &o, NULL), FLAKE_OK);
    s = pool_of(100, 103);
    s.sequence = 1000;
    s.wall_hi = s.wall_safe = units - 1;
    s.drifts = UINT32_MAX;
    CHECK_EQ(sno_init(&gen, &s, &o, NULL), FLAKE_OK);
    o.max_wait_ms = INT64_MAX;
    o.clock.kind = FLAKE_CLOCK_COARSE;
    CHECK_EQ(flake_ring_init(&ring, ring_slots, 1), FLAKE_OK);
    o.overflow = &ring;
    CHECK_EQ(sno_init(&gen, &s, &o, NULL), FLAKE_OK);
}

TEST(shards_must_be_at_least_one_and_at_most_the_pool) {
    sno_gen some[5];
    sno_snapshot s = pool_of(100, 103);
    const flake_options o = options_of();
    begin(0, 0);
    CHECK_EQ(sno_init_shards(some, 0, &s, &o, NULL), FLAKE_INVALID);
    memset(some, 0x55, sizeof some);
    CHECK_EQ(sno_init_shards(some, 5, &s, &o, NULL), FLAKE_INVALID);
    sno_id id;
    for (size_t i = 0; i < 5; i++) CHECK_EQ(sno_try(&some[i], a_meta, &id), FLAKE_INVALID);
    CHECK_EQ(sno_init_shards(some, 4, &s, &o, NULL), FLAKE_OK);
    s = pool_of(0, 3); /* a snapshot of the number 0 alone would have the whole pool's bounds */
    CHECK_EQ(sno_init_shards(some, 4, &s, &o, NULL), FLAKE_INVALID);
    CHECK_EQ(sno_init_shards(some, 3, &s, &o, NULL), FLAKE_OK);
}

TEST(a_generator_that_was_never_made_gives_nothing) {
    sno_snapshot s;
    sno_id id = marker();
    memset(&gen, 0, sizeof gen);
    script_at_ms(unit_start_ns(start) / ms_ns);
    for (int i = 0; i < 2; i++) {
        CHECK(sno_is_zero(new_id(&gen)));
        CHECK_NO_ID(sno_try(&gen, a_meta, &id), FLAKE_INVALID, id);
        CHECK_NO_ID(sno_try_at(&gen, a_meta, unit_start_ms(start), &id), FLAKE_INVALID, id);
        CHECK_NO_ID(sno_next_n(&gen, a_meta, &id, 1), FLAKE_INVALID, id);
        CHECK_NO_ID(sno_with_time(&gen, a_meta, unit_start_ms(start), &id), FLAKE_INVALID, id);
        id = marker();
        CHECK_EQ(tried_n(&gen, a_meta, &id, 1), 0);
        CHECK(sno_equal(id, marker()));
        CHECK_EQ(sno_snapshot_take(&gen, &s), FLAKE_INVALID);
        CHECK_EQ(flake_retry_ns(&gen.gen), INT64_MAX);
        CHECK_EQ(sno_len(&gen), 0);
        CHECK_EQ(sno_cap(&gen), 0);
        script_now.now_ns = 0; /* where its epoch would be */
    }
}

TEST(a_generator_is_drawn_from_by_snos_calls_alone) {
    uint64_t narrow[1] = {77};
    flake128 wide[1] = {{{77}}};
    size_t drawn = 7;
    begin(0, 0);
    CHECK_EQ(flake_try_n(&gen.gen, narrow, 1, &drawn), FLAKE_INVALID);
    CHECK(narrow[0] == 77 && drawn == 0);
    CHECK_EQ(flake_next(&gen.gen, narrow), FLAKE_INVALID);
    CHECK_EQ(narrow[0], 0);
    narrow[0] = 77;
    CHECK_EQ(flake_try_at(&gen.gen, unit_start_ms(start), narrow), FLAKE_INVALID);
    CHECK_EQ(narrow[0], 0);
    CHECK_EQ(flake128_next(&gen.gen, wide), FLAKE_INVALID);
    CHECK_EQ(wide[0].bytes[0], 0);
    wide[0].bytes[0] = 77;
    CHECK_EQ(flake128_next_n(&gen.gen, wide, 1), FLAKE_INVALID);
    CHECK_EQ(wide[0].bytes[0], 0);
}

TEST(snos_calls_draw_from_snos_generators_alone) {
    static sno_gen of_flakes;
    sno_snapshot s;
    sno_id id = marker();
    begin(0, 0);
    CHECK_EQ(flake_init(&of_flakes.gen, NULL, NULL), FLAKE_OK);
    CHECK_EQ(tried_n(&of_flakes, a_meta, &id, 1), 0);
    CHECK(sno_equal(id, marker()));
    CHECK_NO_ID(sno_next(&of_flakes, a_meta, &id), FLAKE_INVALID, id);
    CHECK_NO_ID(sno_next_n(&of_flakes, a_meta, &id, 1), FLAKE_INVALID, id);
    CHECK_NO_ID(sno_with_time(&of_flakes, a_meta, unit_start_ms(start), &id), FLAKE_INVALID, id);
    CHECK_EQ(sno_snapshot_take(&of_flakes, &s), FLAKE_INVALID);
    of_flakes.partition = of_flakes.sequence_min = 7; /* queries don't look at these either */
    CHECK_EQ(sno_cap(&of_flakes), 0);
    CHECK_EQ(sno_len(&of_flakes), 0);
    CHECK_EQ(sno_sequence_now(&of_flakes), 0);
    CHECK_EQ(sno_gen_partition(&of_flakes), 0);
}

static int64_t constant_ns(void *user) { return *(const int64_t *)user; }

TEST(the_clock_of_the_options_is_the_one_that_counts) {
    int64_t now_ns = unit_start_ns(start + 1000);
    flake_options o = options_of();
    o.clock.now_ns = constant_ns;
    o.clock.user = &now_ns;
    begin_with(&o, 0, 3);
    CHECK_ID(tried(&gen), start + 1000, 0, 0);
    o.clock.kind = FLAKE_CLOCK_COARSE;
    begin_with(&o, 0, 3);
    CHECK_ID(tried(&gen), start + 1000, 0, 0);
}

/* ---- draws ---- */

TEST(a_try_at_a_spent_unit_changes_nothing_and_says_when_to_come_again) {
    begin(10, 13);
    script_now.now_ns += 1234567;
    for (uint32_t k = 10; k <= 13; k++) CHECK_ID(CHECK_FREE_IN(&gen, 0), start, 0, k);
    CHECK_REFUSED(&gen, FLAKE_AGAIN);
    CHECK_ID(CHECK_FREE_IN(&gen, unit_ns - 1234567), start + 1, 0, 10);
}

TEST(a_time_ahead_drags_the_generator_ahead) {
    sno_id id;
    begin(0, 3);
    (void)tried(&gen);
    for (int64_t unit = start + 1; unit <= start + 1000; unit++) {
        clock_to(unit - 1); /* a unit ahead of it is the most that is accepted */
        CHECK_NO_ID(sno_try_at(&gen, a_meta, unit_start_ms(unit) + 1, &id), FLAKE_TOO_FAR_AHEAD, id);
        CHECK_ID(tried_at(&gen, unit_start_ms(unit)), unit, 0, 0);
    }
    CHECK_EQ(snapshot_of(&gen).wall_hi, start + 1000);
    clock_to(start + 5);
    CHECK_ID(tried_at(&gen, unit_start_ms(start)), start + 1000, 0, 1);
    CHECK_ID(tried(&gen), start + 5, 1, 0); /* from there, the clock was put back */
}

static const int64_t before_2010[] = {INT64_MIN, 0, 1262303999999};
static const int64_t after_2079[] = {3461327255552, INT64_MAX};

TEST(a_time_before_2010_counts_as_the_newest_unit_if_there_is_one) {
    for (size_t i = 0; i < 3; i++) {
        sno_id id = marker();
        begin(0, 3);
        CHECK_EQ(sno_init(&gen, NULL, NULL, NULL), FLAKE_OK);
        CHECK_NO_ID(sno_try_at(&gen, a_meta, before_2010[i], &id), FLAKE_TIME_RANGE, id);
        CHECK_EQ(snapshot_of(&gen).wall_hi, 0);
        begin(0, 3);
        (void)tried(&gen);
        CHECK_ID(tried_at(&gen, before_2010[i]), start, 0, 1);
    }
}

TEST(a_time_after_2079_is_refused) {
    begin(0, 3);
    (void)tried(&gen);
    const sno_snapshot before = snapshot_of(&gen);
    for (size_t i = 0; i < 2; i++) {
        sno_id id = marker();
        CHECK_NO_ID(sno_try_at(&gen, a_meta, after_2079[i], &id), FLAKE_TIME_RANGE, id);
    }
    const sno_snapshot after = snapshot_of(&gen);
    CHECK(same_place(&before, &after));
}

TEST(a_batch_is_the_ids_that_single_calls_draw) {
    static sno_id batch[3000], single[3000];
    for (size_t n = 0; n <= 3000; n = n < 9 ? n + 1 : n * 3) {
        begin(20, 719);
        draw(5);
        CHECK_EQ(sno_next_n(&gen, a_meta, batch, n), FLAKE_OK);
        const script after = script_now;
        begin(20, 719);
        draw(5);
        for (size_t i = 0; i < n; i++) single[i] = new_id(&gen);
        CHECK(memcmp(batch, single, n * sizeof *batch) == 0);
        CHECK_EQ(after.now_ns, script_now.now_ns);
    }
}

/* The batch of n that begins with the number `first` is right id by id; nothing beside it is touched. */
static void check_batch(uint32_t first, size_t n) {
    enum { most = 1000, beside = 64 };
    static uint8_t memory[beside + most * sizeof(sno_id) + beside], untouched[beside];
    const size_t at = beside - (first + n) % 32; /* vectors may want to be aligned */
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
        (void)sno_compose((uint64_t)(tick ? start - 50 : start), tick, meta, partition,
                          (uint16_t)(first + right), &wanted);
        if (!sno_equal(ids[right], wanted)) break;
    }
    CHECK_EQ(right, n);
    CHECK(memcmp(memory, untouched, at) == 0);
    CHECK(memcmp(ids + n, untouched, beside) == 0);
}

TEST(batches_of_any_length_begin_at_any_number) {
    for (uint32_t low = 0; low < 256; low++) {
        const uint32_t first = low * 251 % 255 << 8 | low;
        for (size_t n = 0; n <= 100; n++) check_batch(first, n);
        if (first + 1000 <= whole_pool) check_batch(first, 1000);
    }
    for (size_t n = 1; n <= 300; n++) check_batch((uint32_t)(whole_pool - n), n);
}

TEST(a_batch_that_fails_leaves_its_ids_in_front_and_zeros_behind) {
    sno_id ids[9];
    flake_options o = options_of();
    o.max_wait_ms = 3;
    begin_with(&o, 0, 3);
    memset(ids, 0xee, sizeof ids);
    CHECK_EQ(sno_next_n(&gen, a_meta, ids, 8), FLAKE_AGAIN);
    for (uint32_t i = 0; i < 4; i++) CHECK_ID(ids[i], start, 0, i);
    for (size_t i = 4; i < 8; i++) CHECK(sno_is_zero(ids[i]));
    CHECK(sno_equal(ids[8], marker()));
}

TEST(with_time_has_a_rolling_sequence_of_its_own) {
    begin(100, 109);
    draw(3);
    clock_to(start - 5);
    CHECK_ID(tried(&gen), start - 5, 1, 100);
    const sno_snapshot before = snapshot_of(&gen);
    got_n = 0;
    for (int i = 0; i < 30; i++) {
        sno_id id = marker();
        CHECK_EQ(sno_with_time(&gen, a_meta, unit_start_ms(i / 10) + i % 4, &id), FLAKE_OK);
        CHECK_EQ(sno_units(id), i / 10);
        CHECK_EQ(sno_tick(id), 0);
        CHECK_EQ(sno_meta(id), a_meta);
        CHECK_EQ(sno_partition(id), a_partition);
        CHECK(sno_sequence(id) >= 100 && sno_sequence(id) <= 109);
        keep(id);
    }
    CHECK_EQ(count_duplicates(got, got_n), 0);
    const sno_snapshot after = snapshot_of(&gen);
    CHECK(same_place(&before, &after));
    CHECK_ID(tried(&gen), start - 5, 1, 101);
}

static void check_with_time_refused(int64_t unix_ms) {
    sno_id id = marker();
    CHECK_NO_ID(sno_with_time(&gen, a_meta, unix_ms, &id), FLAKE_TIME_RANGE, id);
}

TEST(with_time_takes_any_time) {
    const int64_t unit[] = {0, 1, start - 1000, start, start + 1000, units - 1};
    begin(0, 0);
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++) {
        sno_id first = marker(), last = marker();
        CHECK_EQ(sno_with_time(&gen, a_meta, unit_start_ms(unit[i]), &first), FLAKE_OK);
        CHECK_EQ(sno_with_time(&gen, a_meta, unit_start_ms(unit[i] + 1) - 1, &last), FLAKE_OK);
        CHECK_EQ(sno_units(first), unit[i]);
        CHECK_EQ(sno_units(last), unit[i]);
        CHECK(!sno_equal(first, last));
    }
    CHECK_EQ(script_now.reads, 0);
    for (size_t i = 0; i < 3; i++) check_with_time_refused(before_2010[i]);
    for (size_t i = 0; i < 2; i++) check_with_time_refused(after_2079[i]);
}

/* ---- questions ---- */

static void check_asked(int line, uint32_t len, uint32_t sequence) {
    char text[80];
    if (sno_len(&gen) == len && sno_sequence_now(&gen) == sequence) return;
    (void)snprintf(text, sizeof text, "sno_len %u, sno_sequence_now %u", (unsigned)sno_len(&gen),
                   (unsigned)sno_sequence_now(&gen));
    check_fail(__FILE__, line, text);
}

#define CHECK_ASKED(len, sequence) check_asked(__LINE__, len, sequence)

TEST(len_and_sequence_now_tell_of_the_clocks_unit) {
    begin(100, 105);
    CHECK_ASKED(0, 100);
    for (uint32_t n = 1; n <= 6; n++) {
        (void)tried(&gen);
        CHECK_ASKED(n, 99 + n);
    }
    clock_to(start + 1);
    CHECK_ASKED(0, 100);
    (void)tried(&gen);
    CHECK_ASKED(1, 100);
    clock_to(start - 1);
    CHECK_ASKED(0, 100);
    (void)tried(&gen); /* tick-tock */
    CHECK_ASKED(1, 100);
    clock_to(start - 2);
    CHECK_REFUSED(&gen, FLAKE_CLOCK_BACKWARDS);
    CHECK_ASKED(0, 100);
    script_now.now_ns = epoch_ns - 1;
    CHECK_ASKED(0, 100);
    clock_to(units);
    CHECK_ASKED(0, 100);
    CHECK_EQ(sno_cap(&gen), 6);
}

TEST(len_and_sequence_now_tell_of_a_queue) {
    sno_snapshot s = pool_of(100, 105);
    begin(0, 0);
    s.wall_hi = start;
    s.sequence = 100 + 6 + 6 + 2 - 1; /* two units and two numbers of the third */
    restore(&gen, s);
    CHECK_ASKED(6, 105);
    clock_to(start + 1);
    CHECK_ASKED(6, 105);
    clock_to(start + 2);
    CHECK_ASKED(2, 101);
    clock_to(start + 3);
    CHECK_ASKED(0, 100);
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
        flake_stats_get(&gen.gen, &stats);
        CHECK_EQ(stats.ids, 0);
        (void)tried(&gen);
        flake_stats_get(&gen.gen, &stats);
        CHECK_EQ(stats.ids, 1);
        CHECK_EQ(sno_next_n(&gen, a_meta, ids, 10), FLAKE_OK); /* 3, 4, 3 */
        clock_to(start);
        (void)tried(&gen);
        clock_to(start - 1);
        CHECK_REFUSED(&gen, FLAKE_CLOCK_BACKWARDS);
        flake_stats_get(&gen.gen, &stats);
        CHECK_EQ(stats.ids, 12);
        CHECK_EQ(stats.batches, 3);
        CHECK_EQ(stats.waits, 2);
        CHECK_EQ(stats.clock_backwards, 3); /* it left a timeline, and two calls were refused */
    }
}

/* ---- the ends of time ---- */

TEST(outside_2010_to_2079_there_are_no_ids) {
    begin(0, 0);
    for (size_t i = 0; i < 5; i++) {
        sno_gen shard;
        sno_id ids[2] = {marker(), marker()};
        script_now.now_ns = i < 3 ? before_2010[i] : after_2079[i - 3];
        restore(&gen, pool_of(0, 3));
        CHECK_EQ(sno_init_shards(&shard, 1, NULL, NULL, NULL), FLAKE_OK);
        CHECK_REFUSED(&gen, FLAKE_TIME_RANGE);
        CHECK_REFUSED(&shard, FLAKE_TIME_RANGE);
        CHECK_NO_ID(sno_try(&shard, a_meta, ids), FLAKE_TIME_RANGE, ids[0]);
        CHECK_NO_ID(sno_next_n(&gen, a_meta, ids, 1), FLAKE_TIME_RANGE, ids[0]);
        CHECK(sno_equal(ids[1], marker()));
        CHECK(sno_is_zero(new_id(&gen)));
        CHECK(sno_is_zero(sno_generate(a_meta)));
        CHECK(sno_is_zero(next_sno(&shard, a_meta)));
        CHECK_EQ(script_now.sleeps, 0);
    }
}

TEST(retry_ns_outside_2010_to_2079) {
    begin(0, 3);
    script_now.now_ns = epoch_ns - 12345;
    CHECK_EQ(sno_units(CHECK_FREE_IN(&gen, 12345)), 0);
    begin(0, 3);
    script_now.now_ns = 0;
    CHECK_EQ(flake_retry_ns(&gen.gen), epoch_ns);
    script_now.now_ns = unit_start_ns(units);
    CHECK_EQ(flake_retry_ns(&gen.gen), INT64_MAX);
    script_now.now_ns = INT64_MIN;
    CHECK_EQ(flake_retry_ns(&gen.gen), INT64_MAX);
}

TEST(the_first_and_the_last_ms_have_ids) {
    const int64_t inside[] = {before_2010[2] + 1, after_2079[0] - 1};
    for (size_t i = 0; i < 2; i++) {
        begin(0, 0);
        CHECK_EQ(sno_init(&gen, NULL, NULL, NULL), FLAKE_OK);
        script_now.now_ns = inside[i] * ms_ns + (i ? ms_ns - 1 : 0);
        const sno_id id = new_id(&gen);
        CHECK(!sno_is_zero(id));
        CHECK_EQ(sno_units(id), i ? units - 1 : 0);
        CHECK_EQ(sno_sequence(id), 0);
        CHECK_EQ(sno_units(tried(&gen)), i ? units - 1 : 0);
        CHECK_EQ(sno_units(tried_at(&gen, inside[i])), i ? units - 1 : 0);
    }
}

TEST(the_last_unit_of_all_runs_out) {
    begin(0, 3);
    script_now.now_ns = unit_start_ns(units) - 1;
    for (uint32_t k = 0; k < 4; k++) CHECK_ID(new_id(&gen), units - 1, 0, k);
    CHECK(sno_is_zero(new_id(&gen)));
    CHECK_EQ(flake_retry_ns(&gen.gen), INT64_MAX);
    CHECK_EQ(script_now.sleeps, 0);
}

/* ---- tick-tock ---- */

TEST(one_step_back_anywhere_makes_nobody_wait) {
    static const int64_t steps[] = {1, 2, 3, 10, 1000, 900000000, 99999999999};
    for (uint32_t drawn = 1; drawn <= 4; drawn++)
        for (int64_t on = 0; on <= 3; on++)
            for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
                begin(0, 3);
                draw(4);
                clock_to(start + on + 1);
                draw(drawn);
                clock_to(start + on + 1 - steps[i]);
                script_now.now_ns += unit_ns - 1; /* the last ns of an earlier unit is earlier */
                CHECK_ID(CHECK_FREE_IN(&gen, 0), clock_unit(), 1, 0);
                CHECK_ID(new_id(&gen), clock_unit(), 1, 1);
                CHECK_EQ(script_now.sleeps, 0);
                CHECK_EQ(snapshot_of(&gen).drifts, 1);
                CHECK_EQ(snapshot_of(&gen).wall_safe, start + on + 1);
            }
}

TEST(step_after_step_makes_nobody_wait) {
    int64_t unit = start;
    begin(0, 3);
    got_n = 0;
    for (unsigned i = 0; i < 20000; i++) {
        clock_to(unit);
        keep(new_id(&gen));
        keep(tried(&gen));
        CHECK_ID(got[got_n - 1], unit, i & 1, i ? 1 : 1);
        CHECK_EQ(snapshot_of(&gen).drifts, i);
        clock_to(unit + 3);
        keep(new_id(&gen));
        unit += 2; /* back by one, and past all that the other tick has used */
    }
    CHECK_EQ(script_now.sleeps, 0);
    CHECK_EQ(count_duplicates(got, got_n), 0);
}

TEST(a_second_step_into_used_time_waits_until_the_newest_unit) {
    for (int64_t back = 1; back <= 30; back++) {
        use_both_ticks(3);
        clock_to(start - 40 - back);
        script_now.now_ns += 1000;
        CHECK_REFUSED(&gen, FLAKE_CLOCK_BACKWARDS);
        CHECK_ID(CHECK_FREE_IN(&gen, back * unit_ns - 1000), start - 40, 1, 3);

        use_both_ticks(3);
        clock_to(start - 40 - back);
        CHECK_ID(new_id(&gen), start - 40, 1, 3);
        CHECK_EQ(script_now.slept_ns, back * unit_ns);
        CHECK_ID(new_id(&gen), start - 39, 1, 0);
    }
}

TEST(a_second_step_waits_for_a_unit_that_is_not_spent) {
    use_both_ticks(4);
    clock_to(start - 45);
    CHECK_REFUSED(&gen, FLAKE_CLOCK_BACKWARDS);
    CHECK_ID(CHECK_FREE_IN(&gen, 6 * unit_ns), start - 39, 1, 0);
    use_both_ticks(4);
    clock_to(start - 45);
    CHECK_ID(new_id(&gen), start - 39, 1, 0);
    CHECK_EQ(script_now.slept_ns, 6 * unit_ns);
}

TEST(a_second_step_waits_for_what_the_queue_has_left) {
    sno_snapshot s = pool_of(0, 3);
    for (int64_t safe = start - 2; safe <= start + 4; safe++) {
        begin(0, 3);
        s.wall_hi = start;
        s.wall_safe = safe;
        s.sequence = 4 + 4 + 1; /* two units and two numbers of the third */
        restore(&gen, s);
        clock_to(start - 10);
        CHECK_REFUSED(&gen, FLAKE_CLOCK_BACKWARDS);
        if (safe == start - 2) CHECK_ID(CHECK_FREE_IN(&gen, 9 * unit_ns), start - 1, 1, 0);
        else CHECK_ID(CHECK_FREE_IN(&gen, 12 * unit_ns), start + 2, 0, 2);
    }
}

TEST(a_second_step_waits_only_until_the_other_tick_has_unused_time) {
    for (int64_t back = 1; back <= 30; back++) {
        use_both_ticks(1);
        clock_to(start + 20);
        CHECK_ID(new_id(&gen), start + 20, 1, 0);
        clock_to(start - back);
        CHECK_REFUSED(&gen, FLAKE_CLOCK_BACKWARDS);
        CHECK_ID(CHECK_FREE_IN(&gen, (back + 1) * unit_ns), start + 1, 0, 0);

        use_both_ticks(1);
        clock_to(start + 20);
        CHECK_ID(new_id(&gen), start + 20, 1, 0);
        clock_to(start - back);
        CHECK_ID(new_id(&gen), start + 1, 0, 0);
        CHECK_EQ(script_now.slept_ns, (back + 1) * unit_ns);
    }
}

TEST(max_wait_ms_bounds_the_wait_for_the_clock) {
    flake_options o = options_of();
    o.max_wait_ms = 40;
    for (int64_t back = 10; back <= 11; back++) {
        begin_with(&o, 0, 3);
        draw(1);
        clock_to(start - 50);
        draw(1);
        clock_to(start - 50 - back);
        if (back == 10) CHECK_ID(new_id(&gen), start - 50, 1, 1);
        else CHECK(sno_is_zero(new_id(&gen)));
        CHECK_EQ(script_now.slept_ns, back == 10 ? 40 * ms_ns : 0);
    }
}

TEST(a_batch_is_ridden_across_a_step_back) {
    sno_id ids[10];
    begin(0, 3);
    script_now.jump_to_ns = unit_start_ns(start - 100);
    CHECK_EQ(sno_next_n(&gen, a_meta, ids, 10), FLAKE_OK);
    CHECK_ID(ids[3], start, 0, 3);
    CHECK_ID(ids[4], start - 100, 1, 0);
    CHECK_ID(ids[7], start - 100, 1, 3);
    CHECK_ID(ids[9], start - 99, 1, 1);
    CHECK_EQ(script_now.sleeps, 2);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
