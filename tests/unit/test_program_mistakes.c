/* SPDX-License-Identifier: MIT
 *
 * Mistakes of a program get a status, a reason or a compiler warning; a call that fails changes nothing (I4), and a
 * copy repeats IDs for at most a unit ("why a copy of a generator repeats IDs"). Most tests hold for every kind of
 * generator: a table of them comes first. Nodes that are refused: test_node.c; numbers of a directory:
 * test_directory_holders.c.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#define _GNU_SOURCE
#define SCRIPTED_SYSTEM
#include "support.h"
#if !defined(_WIN32) && !defined(FLAKE_NO_FILES)
#define HAS_FILES
#include "temporary_dir.h"
#endif
static bool no_random_bytes;
#define FLAKE_RANDOM_BYTES(to, n) (!no_random_bytes && flake_i_system_random(to, n))
#include "sno.h"
#include "options.h"

#define MS INT64_C(1000000)       /* in ns */
#define T  INT64_C(1760000000000) /* Unix ms: where the scripts begin */

/* ---- every kind of generator ---- */

typedef enum family { OF_64, OF_128, OF_SNOS, families } family;

static const struct kind {
    family family;
    flake_layout layout;
    bool seq_scatter, single_thread, has_lanes;
} kinds[] = {
#define THREADS_OF(family, layout, scatter)                                          \
    {family, layout, scatter, false, false}, {family, layout, scatter, true, false}, \
        {family, layout, scatter, false, true}
    THREADS_OF(OF_64, FLAKE_LAYOUT_DEFAULT, false),
    THREADS_OF(OF_64, FLAKE_LAYOUT_DEFAULT, true), /* scattered: no straight line of their own */
    THREADS_OF(OF_64, FLAKE_LAYOUT_MASTODON, false),
    THREADS_OF(OF_128, FLAKE_LAYOUT_BOUNDARY, false),
    THREADS_OF(OF_128, FLAKE_LAYOUT_UUID7, false),
    THREADS_OF(OF_128, FLAKE_LAYOUT_UUID7_NODE, false),
    THREADS_OF(OF_128, FLAKE_LAYOUT_UUID8, false),
    THREADS_OF(OF_128, FLAKE_LAYOUT_ULID, false),
    THREADS_OF(OF_SNOS, {0}, false),
};
#define EACH_KIND(k) for (const struct kind *k = kinds; k < kinds + sizeof kinds / sizeof *kinds; k++)

/* Each generator is in a sno_gen, so that each call can be made with it. */
static sno_gen one, other;
static flake_gen *const gen = &one.gen;
static flake_lane lanes[2];
static flake_prefetch stock;
static flake_why why;
static uint64_t id;

/* The machine at T, and options for its system's clock; IDs of its unit at once. */
static flake_options begin(void) {
    const flake_options o = {.start_this_unit = true};
    script_at_ms(T);
    script_now.coarse_lag_ns = 5 * MS;
    script_now.coarse_slack_ns = 20 * MS;
    memset(&why, 0, sizeof why);
    memset((void *)&one, 0, sizeof one);
    memset((void *)&other, 0, sizeof other);
    return o;
}

static flake_options begin_kind(const struct kind *k) {
    flake_options o = begin();
    o.layout = k->layout;
    o.seq_scatter = k->seq_scatter;
    o.single_thread = k->single_thread;
    o.lanes = k->has_lanes ? lanes : NULL;
    o.lane_count = k->has_lanes ? 2 : 0;
    return o;
}

static flake_node node_of_kind(const struct kind *k, uint64_t number) {
    return k->family == OF_SNOS ? flake_node_fixed(NULL, number) : node_in(&k->layout, number);
}

static flake_status init_kind(const struct kind *k, sno_gen *g, flake_node node, const flake_options *o) {
    return k->family == OF_SNOS ? sno_init(g, node, NULL, o, &why) : flake_init(&g->gen, node, o, &why);
}

static void open_kind(const struct kind *k, const flake_options *o) {
    CHECK_EQ(init_kind(k, &one, node_of_kind(k, 5), o), FLAKE_OK);
}

static void copy_to_other(void) { memcpy((void *)&other, (const void *)&one, sizeof one); }

/* ---- every way to draw ---- */

typedef enum call { NEXT, TRY, NEXT_N, TRY_N, TRY_AT, calls } call;

static union { /* the IDs of the last draw */
    uint64_t of_64[4];
    flake128 of_128[4];
    sno_id snos[4];
} ids;
static size_t got;

#define DRAW(prefix, generator, to)                          \
    (by == NEXT     ? prefix##_next(generator, to)           \
     : by == TRY    ? prefix##_try(generator, to)            \
     : by == NEXT_N ? prefix##_next_n(generator, to, 4)      \
     : by == TRY_N  ? prefix##_try_n(generator, to, 4, &got) \
                    : prefix##_try_at(generator, at_ms, to))
#define WITH_META(g) g, 1
static flake_status draw_at(family f, sno_gen *g, call by, int64_t at_ms) {
    memset((void *)&ids, 0x5e, sizeof ids);
    got = 77;
    return f == OF_64    ? DRAW(flake, &g->gen, ids.of_64)
           : f == OF_128 ? DRAW(flake128, &g->gen, ids.of_128)
                         : DRAW(sno, WITH_META(g), ids.snos);
}

static flake_status draw(family f, sno_gen *g, call by) { return draw_at(f, g, by, script_now.now_ns / MS); }

/* That many IDs are zero, and the memory after them is unchanged. */
static bool are_zero(family f, size_t n) {
    static const size_t sizes[] = {sizeof(uint64_t), sizeof(flake128), sizeof(sno_id)};
    const uint8_t *const bytes = (const uint8_t *)&ids;
    return is_zero(bytes, n * sizes[f]) && (n == 4 || bytes[n * sizes[f]] == 0x5e);
}

/* The draw fails; what the caller may take for its IDs is zero. */
static void check_draw_fails(int line, family f, sno_gen *g, call by, int64_t at_ms, flake_status status) {
    char text[100];
    const flake_status is = draw_at(f, g, by, at_ms);
    (void)snprintf(text, sizeof text, "family %d, call %d: status %d, not %d; or no zeros", (int)f, (int)by, (int)is,
                   (int)status);
    if (is != status || !are_zero(f, by == TRY_N ? 0 : by == NEXT_N ? 4 : 1) || (by == TRY_N && got != 0))
        check_fail(__FILE__, line, text);
}

/* So does each draw, at the clock's time. */
static void check_no_id(int line, family f, sno_gen *g, flake_status status) {
    for (int by = 0; by < (status == FLAKE_INVALID ? calls : TRY_AT); by++)
        check_draw_fails(line, f, g, (call)by, script_now.now_ns / MS, status);
}
#define EXPECT_NO_ID_AT(f, g, at_ms, status) check_draw_fails(__LINE__, f, g, TRY_AT, at_ms, status)
#define EXPECT_NO_ID(f, g, status)           check_no_id(__LINE__, f, g, status)

/* ---- no generator ---- */

/* Queries, and all calls except draws, return what they would without a generator. */
static void check_answers_nothing(flake_gen *g) {
    const flake_options none = {0};
    flake_stats stats;
    memset(&stats, 0xff, sizeof stats);
    CHECK_EQ(flake_prefetch_init(&stock, g, 2, 0, NULL), FLAKE_INVALID);
    FAILS(flake_prefetch_next(&stock, &id), FLAKE_INVALID, id);
    CHECK_EQ(flake_newest_ms(g), INT64_MIN);
    CHECK_EQ(flake_reinit_after_fork(g, flake_node_fixed(NULL, 0), &none, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_retry_ns(g), INT64_MAX);
    CHECK_EQ(flake_available(g), 0);
    CHECK_EQ(flake_ahead_ms(g), 0);
    CHECK(flake_gen_options(g) == NULL);
    CHECK(flake_gen_node(g) == UINT64_MAX);
    flake_stats_get(g, &stats);
    CHECK(is_zero(&stats, sizeof stats));
}

/* sno.h's calls except draws, on a generator of another kind. */
static void check_no_sno_gen(sno_gen *g) {
    const flake_options none = {0};
    sno_snapshot position;
    sno_id sno;
    CHECK_EQ(sno_snapshot_take(g, &position), FLAKE_INVALID);
    CHECK_EQ(sno_shards_snapshot(g, 1, &position), FLAKE_INVALID);
    CHECK_EQ(sno_reinit_after_fork(g, flake_node_none(), NULL, &none, NULL), FLAKE_INVALID);
    CHECK_EQ(sno_cap(g), 0);
    CHECK_EQ(sno_len(g), 0);
    CHECK_EQ(sno_sequence_now(g), 0);
    CHECK_EQ(sno_gen_partition(g), 0);
    FAILS(sno_with_time(g, 1, T, &sno), FLAKE_INVALID, sno);
}

static void check_invalid(sno_gen *g) {
    check_answers_nothing(&g->gen);
    check_no_sno_gen(g);
    for (int f = 0; f < families; f++) EXPECT_NO_ID((family)f, g, FLAKE_INVALID);
    CHECK_EQ(flake_extend(&g->gen, &why), FLAKE_INVALID);
    CHECK_EQ(flake_take_over(&g->gen, &why), FLAKE_INVALID);
    CHECK_EQ(flake_close(&g->gen, &why), FLAKE_OK);
}

/* The status of an init that failed for a reason which has this text. */
static void check_fails_with(int line, flake_status is, flake_status status, const char *reason) {
    if (is != status || !strstr(why.text, reason)) check_fail(__FILE__, line, why.text);
    memset(&why, 0, sizeof why);
}
#define EXPECT_REASON(init, status, reason) check_fails_with(__LINE__, init, status, reason)

/* ---- an init that failed ---- */

static int gate_asked;
static flake_status admit_all(void *user, int64_t until_ns) {
    (void)user;
    (void)until_ns;
    gate_asked++;
    return FLAKE_OK;
}
static flake_atomic64 closed; /* the word of a gate that is closed */
static const flake_gate open_gate = {.admit = admit_all}, closed_gate = {.admit = admit_all, .fence = &closed};
static flake_ring no_ring;

#define SINCE(epoch_ms) {"", epoch_ms, 1, 42, 22, 10, 12, 12, 0, 0, 0, 0, 0, 0}
static const struct failure {
    flake_options options;
    flake_status status;
    const char *reason;
} failures[] = {
    {{.seq_max = 4096}, FLAKE_INVALID, "seq_max exceeds"},
    {{.seq_min = 10, .seq_max = 9}, FLAKE_INVALID, "seq_min is above seq_max"},
    {{.seq_min = 1}, FLAKE_INVALID, "seq_min is above seq_max, which is 0 only if"},
    {{.layout = {.format = FLAKE_I_ULID}}, FLAKE_INVALID, "layout: "},
    {{.layout = {.epoch_ms = 1}}, FLAKE_INVALID, "start from one: options.layout = flake_layout_default"},
    {{.layout = SINCE(1577836800)}, FLAKE_INVALID, "is it in seconds"},
    {{.layout = SINCE(INT64_MAX / 1000000 + 1)}, FLAKE_INVALID, "layout.epoch_ms"},
    {{.layout = SINCE(-INT64_MAX / 1000000 - 1)}, FLAKE_INVALID, "layout.epoch_ms"},
    {{.max_wait_ms = -1}, FLAKE_INVALID, "max_wait_ms"},
    {{.max_ahead_ms = -1}, FLAKE_INVALID, "max_ahead_ms"},
    {{.max_ahead_ms = (int64_t)INT32_MAX + 1}, FLAKE_INVALID, "max_ahead_ms"},
    {{.clock = {.kind = 3}}, FLAKE_INVALID, "clock.kind"},
    {{.clock = {.kind = -1}}, FLAKE_INVALID, "clock.kind"},
    {{.overflow = &no_ring}, FLAKE_INVALID, "overflow"},
    {{.lanes = lanes, .lane_count = 2, .single_thread = true}, FLAKE_INVALID, "single_thread"},
    {{.lanes = lanes, .lane_count = 0}, FLAKE_INVALID, "lane_count"},
    {{.lanes = lanes, .lane_count = 2, .seq_min = 7, .seq_max = 7}, FLAKE_INVALID, "lane_count"},
    {{.layout = {"", 0, 1, 39, 24, 0, 24, 24, 0, 0, 0, 0, 0, 0},
      .lanes = lanes,
      .lane_count = INT32_MAX / sizeof(flake_lane)}, FLAKE_INVALID, "2 GB of memory"},
    {{.lane_count = 1}, FLAKE_INVALID, "lanes is missing"},
    {{.horizon_ms = -1}, FLAKE_INVALID, "options: horizon_ms needs a directory"},
    {{.layout = FLAKE_LAYOUT_UUID7}, FLAKE_IO, "random bytes"}}; /* there are none */

static void check_fails(sno_gen *g, flake_node node, const struct failure *f) {
    no_random_bytes = f->status == FLAKE_IO;
    if (f->status != FLAKE_IO) { /* shards of UUIDs are refused anyway */
        CHECK_EQ(flake_init_shards(&g->gen, 1, node, &f->options, NULL), f->status);
        CHECK(flake_gen_options(&g->gen) == NULL);
    }
    EXPECT_REASON(flake_init(&g->gen, node, &f->options, &why), f->status, f->reason);
    no_random_bytes = false;
    check_invalid(g);
}

/* Each kind of failure, with a reason in words. */
static void fail_each_way(sno_gen *g) {
    static const struct failure shared = {{.shared_memory = true}, FLAKE_INVALID, "shared_memory"},
                                is_closed = {{.seq_max = 0}, FLAKE_LEASE_LOST, "gate"};
    const flake_node node = flake_node_fixed(NULL, 0);
    flake_options o = begin();
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
        check_fails(g, node_in(&failures[i].options.layout, 0), &failures[i]);
    check_fails(g, flake_node_gated(&open_gate, 0), &shared);
    check_fails(g, flake_node_gated(&closed_gate, 0), &is_closed);
    EXPECT_REASON(flake_init_shards(&g->gen, 0, node, &o, &why), FLAKE_INVALID, "n: ");
    o.lanes = lanes;
    o.lane_count = 2;
    CHECK_EQ(flake_init_shards(&g->gen, 1, node, &o, NULL), FLAKE_INVALID);
    check_invalid(g);
}

static void fail_each_way_sno(sno_gen *g) {
    sno_snapshot pool = {0};
    flake_options o = begin();
    const flake_node node = flake_node_fixed(NULL, 0);
    EXPECT_REASON(sno_init(g, flake_node_fixed(NULL, 1), &pool, &o, &why), FLAKE_INVALID, "partition");
    check_invalid(g);
    pool.sequence_max = 2;
    EXPECT_REASON(sno_init(g, node, &pool, &o, &why), FLAKE_INVALID, "fewer than 4 numbers");
    check_invalid(g);
    pool.sequence_max = 0;
    EXPECT_REASON(sno_init_shards(g, 0, node, &pool, &o, &why), FLAKE_INVALID, "n: ");
    o.lanes = lanes;
    o.lane_count = 2;
    EXPECT_REASON(sno_init_shards(g, 1, node, &pool, &o, &why), FLAKE_INVALID, "lanes");
    check_invalid(g);
}

/* With any previous contents of the memory: another program's bytes, or a generator of any kind. */
TEST(an_init_that_failed_leaves_no_generator) {
    static const uint8_t bytes[] = {0x00, 0x01, 0x02, 0x03, 0x09, 0x0a, 0x0b, 0x5e, 0xff};
    sno_gen *const memory = (sno_gen *)exactly(sizeof(sno_gen));
    memset((void *)memory, 0, sizeof *memory);
    check_invalid(memory); /* never initialised */
    for (size_t i = 0; i < 2 * sizeof bytes; i++) {
        memset((void *)memory, bytes[i / 2], sizeof *memory);
        if (i % 2) fail_each_way_sno(memory);
        else fail_each_way(memory);
    }
    EACH_KIND(k) {
        const flake_options o = begin_kind(k);
        CHECK_EQ(init_kind(k, memory, node_of_kind(k, 5), &o), FLAKE_OK);
        if (k->family == OF_SNOS) fail_each_way_sno(memory);
        else fail_each_way(memory);
    }
    free(memory);
}

/* ---- a status that is ignored ---- */

/* (What a batch lacks, and what a try leaves: test_random_flake.c, test_random_sno.c.) */
TEST(a_failed_draw_zeroes_its_id) {
    EACH_KIND(k) {
        const family own = k->family;
        const bool has_stock = own == OF_64 && !k->single_thread && !k->has_lanes;
        const flake_options o = begin_kind(k);
        sno_id sno;
        open_kind(k, &o);
        for (int f = 0; f < families; f++)
            if (f != (int)own) EXPECT_NO_ID((family)f, &one, FLAKE_INVALID);
        if (own == OF_128) CHECK_EQ(flake_available(gen), 65536);
        if (own != OF_SNOS) { /* sno.h's queries ignore these members, too */
            one.sequence_min = 7;
            check_no_sno_gen(&one);
        }
        EXPECT_NO_ID_AT(own, &one, INT64_MAX, FLAKE_TIME_RANGE);
        if (own == OF_64 && !k->has_lanes && k->layout.node_bits) EXPECT_NO_ID_AT(own, &one, 0, FLAKE_TIME_RANGE);
        if (own == OF_SNOS) FAILS(sno_with_time(&one, 1, 0, &sno), FLAKE_TIME_RANGE, sno);
        CHECK_EQ(flake_prefetch_init(&stock, gen, 2, 0, NULL), has_stock ? FLAKE_OK : FLAKE_INVALID);
        script_now.now_ns = -1;
        FAILS(flake_prefetch_next(&stock, &id), has_stock ? FLAKE_TIME_RANGE : FLAKE_INVALID, id);
        EXPECT_NO_ID(own, &one, FLAKE_TIME_RANGE);
        script_now.now_ns = T * MS;
        CHECK_EQ(draw(own, &one, NEXT), FLAKE_OK);
        flake_machine_cloned();
        EXPECT_NO_ID(own, &one, FLAKE_FORKED);
        if (has_stock) FAILS(flake_prefetch_next(&stock, &id), FLAKE_FORKED, id);
        if (own == OF_SNOS) FAILS(sno_with_time(&one, 1, T, &sno), FLAKE_FORKED, sno);
        gen->kind = 0;
        EXPECT_NO_ID(own, &one, FLAKE_INVALID);
        FAILS(sno_with_time(&one, 1, T, &sno), FLAKE_INVALID, sno);
    }
}

/* ---- calls that would repeat IDs ---- */

/* The thread's lane has a word like the whole's: a draw that moved one alone would leave its ID to the other. */
TEST(a_time_given_to_lanes_is_refused_as_it_would_repeat_ids) {
    EACH_KIND(k) {
        if (!k->has_lanes || (k->family == OF_128 && k->layout.format != FLAKE_I_BOUNDARY)) continue;
        const flake_options o = begin_kind(k);
        open_kind(k, &o);
        EXPECT_NO_ID_AT(k->family, &one, T, FLAKE_INVALID);
        CHECK_EQ(draw(k->family, &one, NEXT), FLAKE_OK);
    }
}

TEST(ranges_of_counters_that_start_anywhere_are_refused_as_they_would_repeat_ids) {
    EACH_KIND(k) {
        if (k->family != OF_128 || k->layout.format == FLAKE_I_BOUNDARY || k->single_thread || k->has_lanes) continue;
        flake_options o = begin_kind(k);
        const flake_node node = node_of_kind(k, 0);
        EXPECT_REASON(flake_init_shards(gen, 1, node, &o, &why), FLAKE_INVALID, "layout has counters");
        o.seq_max = 32767;
        EXPECT_REASON(flake_init(gen, node, &o, &why), FLAKE_INVALID, "seq_min and seq_max");
        o.seq_min = 32768;
        o.seq_max = 65535;
        EXPECT_REASON(flake_init(gen, node, &o, &why), FLAKE_INVALID, "seq_min and seq_max");
    }
}

/* ---- a generator that was copied ---- */

/* In the unit of the copy, and in each later one, whatever the clock does. */
TEST(a_copy_of_a_generator_stops_when_its_unit_ends) {
    static const int clock_kinds[] = {FLAKE_CLOCK_FAST, FLAKE_CLOCK_COARSE, FLAKE_CLOCK_EXACT};
    for (int c = 0; c < 3; c++) EACH_KIND(k) {
        flake_options o = begin_kind(k);
        o.clock.kind = clock_kinds[c];
        open_kind(k, &o);
        CHECK_EQ(draw(k->family, &one, NEXT), FLAKE_OK);
        copy_to_other();
        check_answers_nothing(&other.gen);
        check_no_sno_gen(&other);
        EXPECT_REASON(flake_prefetch_init(&stock, &other.gen, 2, 0, &why), FLAKE_INVALID, "generator: was copied");
        EXPECT_REASON(flake_reinit_after_fork(&other.gen, flake_node_fixed(NULL, 0), &o, &why), FLAKE_INVALID,
                      "generator: was copied");
        script_now.now_ns += 20 * MS; /* more than a coarse clock lags */
        EXPECT_NO_ID(k->family, &other, FLAKE_INVALID);
        script_now.now_ns -= 20 * MS;
        if (!o.lanes) EXPECT_NO_ID(k->family, &other, FLAKE_INVALID);
        script_now.now_ns += 20 * MS;
        CHECK_EQ(draw(k->family, &one, NEXT), FLAKE_OK);
        script_now.now_ns += MS;
        CHECK_EQ(draw(k->family, &one, NEXT_N), FLAKE_OK);
        CHECK_EQ(init_kind(k, &other, node_of_kind(k, 6), &o), FLAKE_OK); /* the memory serves another one */
        CHECK_EQ(draw(k->family, &other, NEXT), FLAKE_OK);
    }
}

/* The coarse clock lags by 5 ms: a copy draws as the original does until that clock has left the unit. */
TEST(a_copy_with_the_coarse_clock_stops_after_its_unit_and_the_lag) {
    flake_options o = begin();
    uint64_t copied = 0;
    o.clock.kind = FLAKE_CLOCK_COARSE;
    CHECK_EQ(flake_init(gen, flake_node_fixed(NULL, 1), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(gen, &id), FLAKE_OK);
    copy_to_other();
    for (int half_ms = 0; half_ms < 12; half_ms++, script_now.now_ns += MS / 2) {
        CHECK_EQ(flake_try(gen, &id), FLAKE_OK);
        CHECK_EQ(flake_try(&other.gen, &copied), FLAKE_OK);
        CHECK_EQ(copied, id);
    }
    EXPECT_NO_ID(OF_64, &other, FLAKE_INVALID);
    CHECK_EQ(flake_try(gen, &id), FLAKE_OK);
}

/* A copy with lanes has the lanes of the original. */
TEST(a_copy_with_lanes_repeats_nothing) {
    uint64_t drawn[4];
    flake_options o = begin();
    o.lanes = lanes;
    o.lane_count = 2;
    CHECK_EQ(flake_init(gen, flake_node_fixed(NULL, 0), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(gen, &drawn[0]), FLAKE_OK);
    copy_to_other();
    for (int i = 1; i < 4; i++) CHECK_EQ(flake_next(i % 2 ? &other.gen : gen, &drawn[i]), FLAKE_OK);
    CHECK_EQ(count_duplicates(drawn, 4), 0);
}

/* The last time that is accepted while the clock reads T. The next unit is refused, and changes nothing. */
static void check_furthest(family f, int64_t furthest_ms) {
    const int64_t unit_ms = f == OF_SNOS ? 4 : 1;
    const uint64_t before = place_of(gen);
    gate_asked = 0;
    EXPECT_NO_ID_AT(f, &one, furthest_ms + unit_ms, FLAKE_TOO_FAR_AHEAD);
    EXPECT_NO_ID_AT(f, &one, furthest_ms + 3600000, FLAKE_TOO_FAR_AHEAD);
    CHECK_EQ(gate_asked, 0);
    CHECK_EQ(place_of(gen), before);
    CHECK_EQ(draw(f, &one, NEXT), FLAKE_OK);
    if (f == OF_SNOS) CHECK_EQ(sno_time_ms(ids.snos[0]), T);
    CHECK_EQ(draw_at(f, &one, TRY_AT, furthest_ms), FLAKE_OK);
    CHECK_EQ(flake_newest_ms(gen), furthest_ms);
}

TEST(a_time_given_is_ahead_by_a_unit_at_most) {
    EACH_KIND(k) {
        flake_options o = begin_kind(k);
        const bool is_gated = k->layout.node_bits != 0;
        if (o.lanes) continue;
        open_kind(k, &o);
        check_furthest(k->family, k->family == OF_SNOS ? T + 4 : T + 1);
        if (k->family == OF_SNOS) continue;
        (void)begin();
        o.max_ahead_ms = 10;
        open_kind(k, &o);
        check_furthest(k->family, T + 11);
        (void)begin();
        o.clock.kind = FLAKE_CLOCK_COARSE; /* the exact clock counts */
        CHECK_EQ(init_kind(k, &one, is_gated ? flake_node_gated(&open_gate, 0) : flake_node_none(), &o), FLAKE_OK);
        check_furthest(k->family, T + 11);
        CHECK_EQ(gate_asked > 0, is_gated);
    }
    flake_options o = begin();
    o.layout = flake_layout_sonyflake;
    o.max_ahead_ms = 15; /* a unit of 10 ms */
    CHECK_EQ(flake_init(gen, flake_node_fixed(NULL, 0), &o, NULL), FLAKE_OK);
    check_furthest(OF_64, T + 20);
    o = begin();
    CHECK_EQ(flake_init(gen, flake_node_fixed(NULL, 0), &o, NULL), FLAKE_OK);
    script_now.now_ns--; /* a ns too early */
    EXPECT_NO_ID_AT(OF_64, &one, T + 1, FLAKE_TOO_FAR_AHEAD);
    CHECK_EQ(flake_try_at(gen, T, &id), FLAKE_OK);
}

/* From the next unit on; queries answer, and the memory serves the next init. */
TEST(a_closed_generator_draws_nothing) {
    EACH_KIND(k) {
        const flake_options o = begin_kind(k);
        flake_stats stats;
        for (int turn = 0; turn < 2; turn++) {
            open_kind(k, &o);
            CHECK_EQ(draw(k->family, &one, NEXT), FLAKE_OK);
            const int64_t newest_ms = flake_newest_ms(gen);
            CHECK_EQ(flake_close(gen, &why), FLAKE_OK);
            CHECK_EQ(flake_available(gen), 0);
            script_now.now_ns += 4 * MS;
            EXPECT_NO_ID(k->family, &one, FLAKE_CLOSED);
            if (!o.lanes) EXPECT_NO_ID_AT(k->family, &one, script_now.now_ns / MS, FLAKE_CLOSED);
            CHECK_EQ(flake_retry_ns(gen), INT64_MAX);
            CHECK_EQ(flake_available(gen), 0);
            CHECK_EQ(flake_newest_ms(gen), newest_ms);
            CHECK_EQ(flake_ahead_ms(gen), 0);
            CHECK(flake_gen_node(gen) == (k->layout.node_bits || k->family == OF_SNOS ? 5 : UINT64_MAX));
            CHECK(flake_gen_options(gen) != NULL);
            flake_stats_get(gen, &stats);
            CHECK_EQ(stats.ids, 1);
            CHECK_EQ(flake_extend(gen, &why), FLAKE_CLOSED);
            CHECK_STR(why.text, "generator: is closed");
            CHECK_EQ(flake_close(gen, &why), FLAKE_OK);
        }
    }
}

/* ---- a horizon that was not extended ---- */

#ifdef HAS_FILES
static void open_with_manual_extend(const struct kind *k) {
    flake_options o = begin_kind(k);
    begin_folder();
    o.manual_extend = true;
    o.horizon_ms = 200;
    o.max_wait_ms = 50;
    CHECK_EQ(init_kind(k, &one, flake_node_fixed(folder, 0), &o), FLAKE_OK);
}

static void close_and_end_folder(void) {
    CHECK_EQ(flake_close(gen, NULL), FLAKE_OK);
    end_folder();
}

static flake128 thousands[65536];
static int extends_after; /* so many sleeps */
static void extend(void) {
    if (--extends_after) script_now.during_sleep = extend;
    else CHECK_EQ(flake_extend(gen, NULL), FLAKE_OK);
}

TEST(a_horizon_that_was_not_extended_in_time_stops_draws_until_it_is) {
    EACH_KIND(k) {
        if (k->family != OF_SNOS && !k->layout.node_bits) continue;
        open_with_manual_extend(k);
        script_now.now_ns += 500 * MS;
        for (int i = 0; i < 2; i++) /* a generator that continues asks for its unit, too */
            for (call by = TRY; by <= TRY_N; by += 2)
                check_draw_fails(__LINE__, k->family, &one, by, 0, FLAKE_NOT_EXTENDED);
        CHECK_EQ(flake_retry_ns(gen), MS);
        CHECK_EQ(flake_available(gen), 0);
        CHECK_EQ(script_now.sleeps, 0);
        check_draw_fails(__LINE__, k->family, &one, NEXT, 0, FLAKE_NOT_EXTENDED);
        CHECK_EQ(script_now.slept_ns, 50 * MS); /* max_wait_ms */
        script_now.sleeps = 0;
        extends_after = 3;
        script_now.during_sleep = extend;
        CHECK_EQ(draw(k->family, &one, NEXT), FLAKE_OK);
        CHECK_EQ(script_now.sleeps, 3);
        CHECK_EQ(flake_retry_ns(gen), 0);
        CHECK(flake_available(gen) > 0);
        close_and_end_folder();
    }
}

/* UUIDs that continue in the newest unit after a backward step. */
TEST(a_horizon_that_was_not_extended_stops_uuids_that_continue) {
    const struct kind uuid8 = {OF_128, FLAKE_LAYOUT_UUID8, false, false, false};
    flake128 uuid;
    open_with_manual_extend(&uuid8);
    script_now.now_ns += 198 * MS;
    CHECK_EQ(flake128_next(gen, &uuid), FLAKE_OK);
    script_now.now_ns -= 100 * MS;
    CHECK_EQ(flake128_next_n(gen, thousands, 65535), FLAKE_OK); /* the rest of the unit */
    CHECK_EQ(flake_retry_ns(gen), 0);
    CHECK(flake_available(gen) > 0);
    CHECK_EQ(flake128_next_n(gen, thousands, 65536), FLAKE_OK); /* the last unit before the horizon */
    script_now.now_ns -= 500 * MS;                              /* so that each wait leaves the clock behind */
    CHECK_EQ(flake_retry_ns(gen), MS);
    CHECK_EQ(flake_available(gen), 0);
    FAILS(flake128_try(gen, &uuid), FLAKE_NOT_EXTENDED, uuid);
    FAILS(flake128_next(gen, &uuid), FLAKE_NOT_EXTENDED, uuid);
    CHECK_EQ(script_now.slept_ns, 50 * MS);
    script_now.now_ns += 500 * MS;
    extends_after = 3;
    script_now.during_sleep = extend;
    CHECK_EQ(flake128_next(gen, &uuid), FLAKE_OK);
    close_and_end_folder();
}
#endif
