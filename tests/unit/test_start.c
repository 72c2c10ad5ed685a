/* SPDX-License-Identifier: MIT
 *
 * A generator takes over the node of an earlier one (start_this_unit and after_unix_ms in flake.h; docs/guarantees.md):
 * the unit in which it starts, with both headers, and what each call returns until then; the time that after_unix_ms
 * gives; flake_newest_ms. Each exception of the promise is a test that finds the duplicate. (Any calls after any
 * restart, ahead, with the clock set back: test_random_flake.c, test_random_sno.c.)
 */
#define SCRIPTED_SYSTEM
#include "support.h"
#define FLAKE_RANDOM_BYTES(to, n) (memset(to, 7, n) != NULL)
#include "flake.h"
#include "sno.h"
#include "options.h"

#define T  INT64_C(1700000000000) /* Unix ms; a unit of each layout begins then */
#define MS INT64_C(1000000)       /* in ns */
enum { into_unit_ns = 400000 };

static flake_gen earlier, later, shards[2];
static sno_gen earlier_sno, later_sno, sno_shards[2];
static flake_lane lanes[2];
static flake_ring ring;
static flake_ring_slot slots[16];

static void clock_at(int64_t unix_ms) {
    script_at_ms(unix_ms);
    script_now.now_ns += into_unit_ns;
    script_now.coarse_slack_ns = 16000000;
}

/* flake-idgen's layout, whose IDs contain Unix ms, and three numbers. */
static flake_options three_numbers(void) { return options_of_flake(1, 3, NULL, NULL); }

/* An init with node 5. */
#define BEGINS(g, o)               CHECK_EQ(flake_init(g, flake_node_fixed(NULL, 5), o, NULL), FLAKE_OK)
#define SNO_BEGINS(g, snapshot, o) CHECK_EQ(sno_init(g, flake_node_fixed(NULL, 5), snapshot, o, NULL), FLAKE_OK)

static uint64_t next(flake_gen *g) {
    uint64_t id = 0;
    CHECK_EQ(flake_next(g, &id), FLAKE_OK);
    return id;
}

/* ---- each init ---- */

/* The generators are as in a forked child. */
static void inherit(void) {
    flake_machine_cloned();
    flake_machine_cloned();
}

/* As one generator, as two shards, or with two lanes; and by a reinit, where the parent had node 4, and neither lanes
 * nor after_unix_ms. */
enum form { ONE, SHARDS, LANES, ANEW, ANEW_WITH_LANES, forms };

static flake_status init_as(enum form form, const flake_options *o) {
    const flake_node node = flake_node_fixed(NULL, 5);
    const bool has_lanes = form == LANES || form == ANEW_WITH_LANES;
    flake_options parents = *o;
    if (form == SHARDS) return flake_init_shards(shards, 2, node, o, NULL);
    if (form < ANEW) return flake_init(shards, node, has_lanes ? with_lanes(o, lanes, 2) : o, NULL);
    parents.after_unix_ms = 0;
    CHECK_EQ(flake_init(shards, flake_node_fixed(NULL, 4), &parents, NULL), FLAKE_OK);
    inherit();
    return flake_reinit_after_fork(shards, node, has_lanes ? with_lanes(o, lanes, 2) : o, NULL);
}

static flake_status init_sno_as(enum form form, const flake_options *o) {
    const sno_snapshot before = pool_of_numbers(4, 1, 4), pool = pool_of_numbers(5, 1, 4);
    const flake_node node = flake_node_fixed(NULL, 5);
    flake_options parents = *o;
    if (form == SHARDS) return sno_init_shards(sno_shards, 2, node, &pool, o, NULL);
    if (form < ANEW) return sno_init(sno_shards, node, &pool, form == LANES ? with_lanes(o, lanes, 2) : o, NULL);
    parents.after_unix_ms = 0;
    CHECK_EQ(sno_init(sno_shards, flake_node_fixed(NULL, 4), &before, &parents, NULL), FLAKE_OK);
    inherit();
    return sno_reinit_after_fork(sno_shards, node, &pool, o, NULL);
}

/* It draws in this unit, or in the next one and not a ns earlier. */
static void check_start(flake_gen *g, int64_t unit_ms, bool this_unit) {
    const int64_t due_ns = this_unit ? 0 : unit_ms * MS - into_unit_ns;
    CHECK_EQ(flake_retry_ns(g), due_ns);
    if (due_ns) script_now.now_ns += due_ns - 1;
    CHECK_EQ(flake_available(g) == 0, due_ns > 0);
    if (due_ns) script_now.now_ns++;
    CHECK(flake_available(g) > 0);
}

/* Or the IDs that an earlier one has drawn in this unit would be repeated: test_processes.c finds them. */
TEST(each_init_starts_in_the_next_unit) {
    const struct {
        flake_layout layout;
        int64_t unit_ms;
    } rows[] = {{flake_layout_sonyflake, 10}, {flake_layout_boundary, 1}};
    for (int i = 0; i < 2 * forms; i++) {
        const enum form form = (enum form)(i / 2);
        const bool this_unit = i % 2;
        flake_options o = three_numbers(), s = options_of_sno(NULL, NULL);
        o.start_this_unit = s.start_this_unit = this_unit;
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            clock_at(T);
            o.layout = rows[k].layout;
            CHECK_EQ(init_as(form, &o), FLAKE_OK);
            check_start(&shards[form == SHARDS], rows[k].unit_ms, this_unit);
        }
        clock_at(T);
        if (form != ANEW_WITH_LANES) CHECK_EQ(init_sno_as(form, &s), FLAKE_OK);
        if (form != ANEW_WITH_LANES) check_start(&sno_shards[form == SHARDS].gen, 4, this_unit);
        CHECK_EQ(sno_init(sno_shards, flake_node_none(), NULL, &s, NULL), FLAKE_OK);
        check_start(&sno_shards[0].gen, 4, true); /* no earlier one had its partition */
        if (check_failures) printf("  form %d, in this unit: %d\n", (int)form, this_unit);
    }
}

/* `earlier` has drawn all of T + 1 when `later` is initialised in it. */
static void earlier_and_later(const flake_options *earlier_o, const flake_options *later_o) {
    uint64_t ids[3];
    clock_at(T);
    BEGINS(&earlier, earlier_o);
    script_now.now_ns += MS;
    CHECK_EQ(flake_next_n(&earlier, ids, 3), FLAKE_OK);
    CHECK_EQ(ms_of(ids[2]), T + 1);
    BEGINS(&later, later_o);
}

TEST(no_call_draws_before_the_start) {
    const flake_options o = three_numbers();
    flake_prefetch stock;
    uint64_t id, ids[3];
    size_t got;
    for (int i = 0; i < 3; i++) { /* in the unit of the init, at its last ns, in the next one */
        earlier_and_later(&o, &o);
        CHECK_EQ(flake_prefetch_init(&stock, &later, 3, 0, NULL), FLAKE_OK);
        if (i) script_now.now_ns += MS - into_unit_ns - (i == 1);
        const flake_status status = i < 2 ? FLAKE_AGAIN : FLAKE_OK;
        const int64_t now_ms = script_now.now_ns / MS;
        CHECK_EQ(flake_try(&later, &id), status);
        CHECK_EQ(flake_try_n(&later, ids, 1, &got), status);
        CHECK_EQ(flake_try_at(&later, now_ms, &id), status);
        CHECK_EQ(flake_try_at(&later, now_ms - 5, &id), FLAKE_AGAIN); /* or it is the fourth */
        CHECK_EQ(flake_available(&later), 0);
        CHECK_EQ(flake_retry_ns(&later), i == 1 ? 1 : MS - into_unit_ns * !i);
        CHECK_EQ(flake_prefetch_next(&stock, &id), FLAKE_OK); /* these wait */
        CHECK_EQ(ms_of(id), i < 2 ? T + 2 : T + 3);
        CHECK_EQ(flake_next_n(&later, ids, 3), FLAKE_OK);
        CHECK_EQ(ms_of(ids[0]), i < 2 ? T + 3 : T + 4);
    }
}

/* ---- the wait is no overflow ---- */

TEST(a_hundred_inits_cause_no_event) {
    flake_options o = three_numbers();
    flake_overflow event;
    flake_stats stats;
    CHECK_EQ(flake_ring_init(&ring, slots, 16), FLAKE_OK);
    o.overflow = &ring;
    clock_at(T);
    for (int i = 0; i < 100; i++) {
        const int slept = script_now.sleeps;
        BEGINS(&later, i % 2 ? with_lanes(&o, lanes, 2) : &o);
        CHECK_EQ(ms_of(next(&later)), T + 1 + i);
        CHECK_EQ(script_now.sleeps, slept + 1);
        flake_stats_get(&later, &stats);
        CHECK(stats.ids == 1 && stats.waits == 0 && stats.clock_backwards == 0);
    }
    CHECK(!flake_ring_pop(&ring, &event));
}

/* Of the callers that wait for the start, the first three get an ID of its unit. */
TEST(callers_for_whom_the_start_unit_has_no_id_cause_events) {
    flake_options o = three_numbers();
    flake_overflow event = {0};
    flake_stats stats;
    uint64_t ids[7];
    CHECK_EQ(flake_ring_init(&ring, slots, 16), FLAKE_OK);
    o.overflow = &ring;
    clock_at(T);
    BEGINS(&later, &o);
    later.engine.word += 2; /* two other callers */
    CHECK_EQ(flake_next_n(&later, ids, 5), FLAKE_OK);
    flake_stats_get(&later, &stats);
    CHECK_EQ(stats.waits, 2); /* for T + 2 and T + 3; its first ID was of T + 1 */
    CHECK(ms_of(ids[0]) == T + 1 && ms_of(ids[1]) == T + 2 && ms_of(ids[4]) == T + 3);
    CHECK(flake_ring_pop(&ring, &event));
    CHECK(event.now_ns / MS == T + 1 && event.waiting == 3);
    CHECK_EQ(flake_ring_init(&ring, slots, 16), FLAKE_OK);
    clock_at(T);
    BEGINS(&later, &o);
    later.engine.word += 5; /* three of six wait for a later unit already before the start */
    CHECK_EQ(ms_of(next(&later)), T + 2);
    CHECK(flake_ring_pop(&ring, &event));
    CHECK(event.now_ns == T * MS + into_unit_ns && event.waiting == 3);
}

TEST(a_sno_that_waits_for_its_start_has_drawn_nothing) {
    const sno_snapshot pool = pool_of_numbers(5, 1, 4);
    sno_id sno;
    clock_at(T);
    SNO_BEGINS(&later_sno, &pool, NULL);
    CHECK_EQ(sno_len(&later_sno), 0);
    CHECK_EQ(sno_sequence_now(&later_sno), 1);
    CHECK_EQ(sno_next(&later_sno, 7, &sno), FLAKE_OK);
    CHECK_EQ(sno_len(&later_sno), 1);
    CHECK_EQ(sno_time_ms(sno), T + 4);
}

/* ---- clocks ---- */

/* The earlier one has drawn in T + 1, where the coarse clock arrives 8 ms later. */
TEST(the_unit_is_that_of_the_exact_clock) {
    flake_options o = three_numbers(), coarse = o;
    uint64_t id;
    coarse.clock.kind = FLAKE_CLOCK_COARSE;
    for (int i = 0; i < 2; i++) {
        earlier_and_later(&o, &o);
        script_now.coarse_lag_ns = 7 * MS;
        BEGINS(&later, i ? with_lanes(&coarse, lanes, 2) : &coarse);
        CHECK_EQ(flake_try(&later, &id), FLAKE_AGAIN);
        CHECK_EQ(ms_of(next(&later)), T + 2);
    }
}

TEST(a_window_of_the_fast_clock_does_not_end_the_wait) {
    flake_options o = three_numbers();
    uint64_t id;
    o.clock.kind = FLAKE_CLOCK_FAST;
    earlier_and_later(&o, &o);
    later.engine.ticks_per_window = 1 << 19; /* as if learned: one a ns */
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(flake_try(&later, &id), FLAKE_AGAIN);
        CHECK_EQ(flake_available(&later), 0);
    }
    CHECK_EQ(ms_of(next(&later)), T + 2);
}

TEST(before_the_epoch_there_is_nothing_to_leave_out) {
    flake_options o = three_numbers();
    uint64_t id;
    o.layout.epoch_ms = T;
    clock_at(T - 1);
    BEGINS(&later, &o);
    CHECK_EQ(flake_try(&later, &id), FLAKE_TIME_RANGE);
    script_now.now_ns += MS;
    CHECK_EQ(flake_try(&later, &id), FLAKE_OK);
}

/* ---- what starts at once ---- */

/* Two generators of one node, whose counters start at the same number of a ms. */
TEST(uuids_of_a_node_start_in_the_next_unit) {
    const flake_layout layouts[] = {flake_layout_uuid8, flake_layout_uuid7_node};
    for (size_t i = 0; i < 2; i++) {
        const flake_node node = flake_node_fixed(NULL, 5);
        flake_options o;
        flake128 first, second;
        memset(&o, 0, sizeof o);
        o.layout = layouts[i];
        clock_at(T);
        CHECK_EQ(flake_init(&earlier, node, &o, NULL), FLAKE_OK);
        CHECK_EQ(flake128_try(&earlier, &first), FLAKE_AGAIN);
        CHECK_EQ(flake_retry_ns(&earlier), MS - into_unit_ns);
        CHECK_EQ(flake128_next(&earlier, &first), FLAKE_OK);
        CHECK_EQ(flake_init(&later, node, &o, NULL), FLAKE_OK);
        CHECK_EQ(flake128_next(&later, &second), FLAKE_OK);
        CHECK(flake128_compare(&first, &second) < 0);
        o.after_unix_ms = flake_newest_ms(&later) + 20;
        CHECK_EQ(flake_init(&earlier, node, &o, NULL), FLAKE_OK);
        CHECK_EQ(flake128_next(&earlier, &first), FLAKE_OK);
        CHECK_EQ(script_now.now_ns, (T + 23) * MS);
    }
}

TEST(own_clocks_and_uuids_and_ulids_without_a_node_start_in_this_unit) {
    const flake_layout layouts[] = {flake_layout_uuid7, flake_layout_ulid};
    flake_options o = options_of_flake(1, 3, script_read, &script_now);
    const sno_snapshot pool = pool_of_numbers(5, 1, 4);
    uint64_t id;
    flake128 wide;
    sno_id sno;
    char text[37];
    clock_at(T);
    BEGINS(&later, &o);
    CHECK_EQ(flake_try(&later, &id), FLAKE_OK);
    CHECK(flake_gen_options(&later)->start_this_unit);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        memset(&o, 0, sizeof o);
        o.layout = layouts[i];
        CHECK_EQ(flake_init(&later, node_in(&o.layout, 5), &o, NULL), FLAKE_OK);
        CHECK_EQ(flake128_try(&later, &wide), FLAKE_OK);
    }
    o = options_of_sno(script_read, &script_now);
    SNO_BEGINS(&later_sno, &pool, &o);
    CHECK_EQ(sno_try(&later_sno, 7, &sno), FLAKE_OK);
    CHECK(!sno_is_zero(sno_generate(7)));
    CHECK_EQ(flake_uuid7(text), FLAKE_OK);
    CHECK_EQ(script_now.sleeps, 0);
}

/* Bounds alone are no position: a predecessor may have drawn with them in this unit. */
TEST(a_sno_starts_at_once_where_its_snapshot_ends) {
    const sno_snapshot pool = pool_of_numbers(5, 1, 9);
    sno_snapshot taken;
    sno_id first, second;
    clock_at(T);
    SNO_BEGINS(&earlier_sno, &pool, NULL);
    for (int i = 0; i < 2; i++) CHECK_EQ(sno_next(&earlier_sno, 7, &first), FLAKE_OK);
    CHECK_EQ(sno_snapshot_take(&earlier_sno, &taken), FLAKE_OK);
    SNO_BEGINS(&later_sno, &pool, NULL);
    CHECK_EQ(sno_try(&later_sno, 7, &second), FLAKE_AGAIN);
    for (int anew = 0; anew < 2; anew++) { /* by init, and by a forked child of partition 4 */
        const flake_node node = flake_node_fixed(NULL, anew ? 4 : 5), five = flake_node_fixed(NULL, 5);
        CHECK_EQ(sno_init(&later_sno, node, anew ? NULL : &taken, NULL, NULL), FLAKE_OK);
        if (anew) inherit();
        if (anew) CHECK_EQ(sno_reinit_after_fork(&later_sno, five, &taken, NULL, NULL), FLAKE_OK);
        CHECK_EQ(sno_try(&later_sno, 7, &second), FLAKE_OK);
        CHECK_EQ(sno_units(second), sno_units(first));
        CHECK_EQ(sno_sequence(second), sno_sequence(first) + 1);
    }
}

TEST(a_child_inherits_no_start_at_once) {
    sno_id sno;
    clock_at(T);
    CHECK_EQ(sno_init(&later_sno, flake_node_none(), NULL, NULL, NULL), FLAKE_OK);
    CHECK_EQ(sno_try(&later_sno, 7, &sno), FLAKE_OK); /* no predecessor had its partition */
    inherit();
    CHECK_EQ(sno_reinit_after_fork(&later_sno, flake_node_fixed(NULL, 5), NULL, NULL, NULL), FLAKE_OK);
    CHECK_EQ(sno_try(&later_sno, 7, &sno), FLAKE_AGAIN);
}

TEST(init_waits_for_a_unit_that_draws_would_not_wait_for) {
    for (int i = 0; i < 5; i++) { /* by default; with a long max_wait; ahead; two shards; at the epoch */
        flake_options o = three_numbers();
        const bool init_waits = i % 3 == 0 || i == 4;
        uint64_t id = 0;
        o.layout.unit_ms = 60000;
        if (i == 4) o.layout.epoch_ms = T - T % 60000 + 1;
        if (i == 1) o.max_wait_ms = 60000;
        if (i == 2) o.max_ahead_ms = 60000;
        script_at_ms(T - T % 60000 + 1);
        if (i == 3) CHECK_EQ(flake_init_shards(shards, 2, flake_node_fixed(NULL, 5), &o, NULL), FLAKE_OK);
        else BEGINS(shards, &o);
        CHECK_EQ(script_now.sleeps, init_waits);
        CHECK_EQ(script_now.slept_ns, init_waits ? (i == 4 ? 60000 : 59999) * MS : 0);
        CHECK_EQ(flake_try(&shards[i == 3], &id), i == 1 ? FLAKE_AGAIN : FLAKE_OK);
        if (i == 1) id = next(shards);
        CHECK_EQ(ms_of(id), i == 4 ? 1 : T / 60000 + 1); /* the layout counts units */
    }
    flake_options o = three_numbers(); /* of a layout that begins long before 1970 */
    o.layout = flake_layout_of(40, 10, 12, INT64_C(-9000000000000));
    o.layout.unit_ms = 2000;
    clock_at(T);
    BEGINS(&later, &o);
    CHECK_EQ(script_now.slept_ns, 2000 * MS - into_unit_ns);
}

/* ---- after_unix_ms ---- */

/* An import left a max(id) that is 30 ms ahead of this clock. */
TEST(ids_are_later_than_after_unix_ms) {
    for (int i = 0; i < 5; i++) { /* one, shards, lanes, a clock of its own, this unit */
        flake_options o = three_numbers();
        uint64_t id = 0;
        clock_at(T);
        o.after_unix_ms = T + 30;
        if (i == 3) o.clock.now_ns = script_read;
        if (i == 3) o.clock.user = &script_now;
        o.start_this_unit = i == 4;
        if (i == 1) CHECK_EQ(flake_init_shards(shards, 2, flake_node_fixed(NULL, 5), &o, NULL), FLAKE_OK);
        else BEGINS(shards, i == 2 ? with_lanes(&o, lanes, 2) : &o);
        CHECK(script_now.sleeps == 1 && script_now.now_ns == (T + 30) * MS + 1);
        CHECK_EQ(flake_try(&shards[i == 1], &id), FLAKE_AGAIN);
        CHECK_EQ(flake_newest_ms(shards), T + 30);
        CHECK_EQ(ms_of(next(&shards[i == 1])), T + 31);
    }
}

/* With no_wait draws wait in its place: the clock is not behind, and no ID is ahead. */
TEST(draws_wait_for_after_unix_ms_if_init_does_not) {
    const flake_layout layouts[] = {flake_layout_idgen, flake_layout_boundary, flake_layout_uuid8};
    for (int i = 0; i < 6; i++) {
        flake_options o;
        flake_stats stats;
        flake128 wide;
        uint64_t id;
        memset(&o, 0, sizeof o);
        o.layout = layouts[i / 2];
        o.after_unix_ms = T + 30;
        o.no_wait = true;
        clock_at(T);
        BEGINS(&later, i % 2 ? with_lanes(&o, lanes, 2) : &o);
        CHECK_EQ(script_now.sleeps, 0);
        CHECK_EQ(i < 2 ? flake_try(&later, &id) : flake128_try(&later, &wide), FLAKE_AGAIN);
        CHECK_EQ(flake_available(&later), 0);
        CHECK_EQ(flake_retry_ns(&later), 31 * MS - into_unit_ns);
        CHECK_EQ(flake_ahead_ms(&later), 0);
        CHECK_EQ(i < 2 ? flake_next(&later, &id) : flake128_next(&later, &wide), FLAKE_OK);
        CHECK_EQ(script_now.now_ns, (T + 31) * MS);
        flake_stats_get(&later, &stats);
        CHECK(stats.clock_backwards == 0 && stats.waits == 0);
        script_now.now_ns -= 9 * MS; /* now it is */
        CHECK_EQ(flake_ahead_ms(&later), 9);
    }
}

/* Nor does a caller's time, whatever max_ahead_ms is: the start may be further ahead. */
TEST(a_given_time_before_the_start_draws_nothing_ahead_of_the_clock) {
    flake_options o = three_numbers();
    uint64_t id;
    earlier_and_later(&o, &o);
    CHECK_EQ(flake_try_at(&later, T + 1, &id), FLAKE_AGAIN);
    CHECK_EQ(flake_try_at(&later, T + 2, &id), FLAKE_OK);
    CHECK_EQ(ms_of(id), T + 2);
    CHECK_EQ(flake_try_at(&later, T + 3, &id), FLAKE_TOO_FAR_AHEAD);
    o.max_ahead_ms = 5;
    o.after_unix_ms = T + 3600000;
    o.no_wait = true;
    clock_at(T);
    BEGINS(&later, &o);
    CHECK_EQ(flake_try_at(&later, T, &id), FLAKE_AGAIN);
    CHECK_EQ(flake_try_at(&later, T + 3600001, &id), FLAKE_TOO_FAR_AHEAD);
    clock_at(T + 3600001);
    CHECK_EQ(flake_try_at(&later, T, &id), FLAKE_AGAIN);
    CHECK_EQ(flake_try_at(&later, T + 3600001, &id), FLAKE_OK);
    CHECK_EQ(ms_of(id), T + 3600001);
}

TEST(snos_of_any_partition_are_later_than_after_unix_ms) {
    const sno_snapshot pool = pool_of_numbers(5, 1, 4);
    sno_snapshot old = pool;
    old.wall_hi = 1000; /* in 2010 */
    for (int i = 0; i < 4; i++) { /* a pool, a position, the library's partition, shards */
        flake_options o = options_of_sno(NULL, NULL);
        sno_id sno;
        clock_at(T);
        o.after_unix_ms = T + 9; /* the third unit from here */
        const flake_node node = i == 2 ? flake_node_none() : flake_node_fixed(NULL, 5);
        CHECK_EQ(i == 3 ? sno_init_shards(sno_shards, 2, node, &pool, &o, NULL)
                        : sno_init(sno_shards, node, i == 1 ? &old : &pool, &o, NULL),
                 FLAKE_OK);
        CHECK_EQ(script_now.now_ns, (T + 9) * MS + 1);
        CHECK_EQ(sno_next(&sno_shards[i == 3], 7, &sno), FLAKE_OK);
        CHECK_EQ(sno_time_ms(sno), T + 12);
    }
}

/* A board without a clock counts from 1970; 200,000 s are no time in seconds there. */
TEST(a_wrong_after_unix_ms_is_refused_with_a_reason) {
    const flake_layout *const usual = &flake_layout_default, *const since_1970 = &flake_layout_idgen;
    const int64_t last_ms = INT64_MAX / MS;
    const struct {
        const flake_layout *layout;
        int64_t now_ms, after_ms;
        const char *why; /* NULL: it is right */
    } rows[] = {{usual, T, T / 1000, "before the layout's epoch: is it in ms?"},
                {usual, T, -1, "before the layout's epoch"}, /* an erased EEPROM */
                {usual, T, INT64_MIN, "before the layout's epoch"},
                {usual, T, INT64_C(1735689600000) - 1, "before the layout's epoch"},
                {since_1970, T, T / 1000, "is it in seconds?"},
                {&flake_layout_boundary, T, T / 1000, "is it in seconds?"},
                {since_1970, T, 99999999, NULL},
                {since_1970, T, 100000000, "is it in seconds?"},
                {since_1970, T, 9999999999, "is it in seconds?"},
                {since_1970, T, 10000000000, NULL},
                {since_1970, 200000000, 200000000, NULL},
                {since_1970, 9999999999, 9999999999, NULL},
                {since_1970, 10000000000, 9999999999, "is it in seconds?"},
                {since_1970, T, T * 1000, "a day ahead of the clock: is it in ms"},
                {since_1970, T, T * 1000000, "a day ahead of the clock: is it in ms"},
                {since_1970, T, T + 86400001, "a day ahead of the clock"},
                {since_1970, T, T + 86400000, NULL},
                {since_1970, T, 1, NULL},
                {since_1970, last_ms, last_ms, NULL}, /* the end of the clock's range */
                {since_1970, last_ms, last_ms + 1, "a day ahead of the clock"},
                {&flake_layout_uuid7, T, T, "not for UUIDs and ULIDs"},
                {&flake_layout_ulid, T, T, "not for UUIDs and ULIDs"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const bool ends = rows[i].now_ms == last_ms;
        flake_options o = options_of_flake(0, 0, NULL, NULL);
        flake_why why;
        uint64_t id;
        o.layout = *rows[i].layout;
        o.after_unix_ms = rows[i].after_ms;
        clock_at(rows[i].now_ms);
        if (ends) script_now.now_ns = INT64_MAX - 5, o.start_this_unit = true;
        CHECK_EQ(flake_init(&later, node_in(&o.layout, 5), &o, &why), rows[i].why ? FLAKE_INVALID : FLAKE_OK);
        if (rows[i].why) {
            CHECK(strstr(why.text, rows[i].why) != NULL);
            CHECK_EQ(script_now.sleeps, 0);
        } else if (!o.layout.format && !ends) {
            CHECK_EQ(flake_next(&later, &id), FLAKE_OK);
            CHECK(ms_of(id) > o.after_unix_ms);
        }
        if (check_failures) printf("  row %zu: %s\n", i, why.text);
    }
}

/* A board's, or a coarse one: after a short sleep it may read the same time again. */
static int64_t read_in_steps_of_10_ms(void *user) {
    const int64_t now_ns = script_read(user);
    return now_ns - now_ns % (10 * MS);
}

TEST(init_waits_for_the_next_step_of_a_clock) {
    flake_options o = options_of_flake(0, 0, read_in_steps_of_10_ms, &script_now);
    for (int64_t after_ms = T - 1; after_ms < T + 21; after_ms++) {
        clock_at(T);
        o.after_unix_ms = after_ms;
        BEGINS(&later, &o);
        const int64_t begun_ms = script_now.now_ns / MS;
        CHECK(begun_ms > after_ms || after_ms < T);
        CHECK(begun_ms <= after_ms + 10 || after_ms < T);
        CHECK(ms_of(next(&later)) > after_ms);
    }
}

TEST(a_clock_that_stops_while_init_waits_is_reported) {
    for (int i = 0; i < 3; i++) { /* it stops, goes backwards, or stops in a reinit */
        const flake_options usual = three_numbers();
        flake_options o = usual;
        flake_why why;
        uint64_t id = 7;
        clock_at(T);
        BEGINS(&later, &usual);
        (void)next(&later);
        o.after_unix_ms = T + 30;
        if (i % 2) script_now.jump_to_ns = T * MS - 1;
        else script_now.per_sleep = 0;
        if (i == 2) inherit();
        CHECK_EQ(i == 2 ? flake_reinit_after_fork(&later, flake_node_fixed(NULL, 6), &o, &why)
                        : flake_init(&later, flake_node_fixed(NULL, 6), &o, &why),
                 FLAKE_CLOCK_BACKWARDS);
        CHECK_STR(why.text, "init: the clock went backwards, or stands still");
        CHECK_EQ(flake_try(&later, &id), i == 2 ? FLAKE_FORKED : FLAKE_INVALID);
        CHECK_EQ(id, 0);
    }
}

/* The machine is cloned while init waits. */
static bool is_cloned;
static int64_t read_and_be_cloned(void *user) {
    if (script_now.sleeps && !is_cloned) is_cloned = true, flake_machine_cloned();
    return script_read(user);
}

TEST(a_clone_while_init_waits_stops_the_generator) {
    const enum form some[] = {ONE, SHARDS, ANEW};
    for (int i = 0; i < 6; i++) {
        const bool is_sno = i % 2;
        flake_options o = is_sno ? options_of_sno(read_and_be_cloned, &script_now)
                                 : options_of_flake(0, 0, read_and_be_cloned, &script_now);
        uint64_t id;
        sno_id sno;
        clock_at(T);
        is_cloned = false;
        o.after_unix_ms = T + 30;
        CHECK_EQ(is_sno ? init_sno_as(some[i / 2], &o) : init_as(some[i / 2], &o), FLAKE_OK);
        CHECK(is_cloned);
        for (int shard = 0; shard < 1 + (some[i / 2] == SHARDS); shard++)
            CHECK_EQ(is_sno ? sno_next(&sno_shards[shard], 7, &sno) : flake_next(&shards[shard], &id), FLAKE_FORKED);
        CHECK_EQ(flake_close(is_sno ? &sno_shards[0].gen : &shards[0], NULL), FLAKE_OK);
    }
}

/* ---- newest_ms ---- */

/* A board's clock begins at the same time after each start; what it keeps is one number. */
TEST(a_board_that_keeps_the_newest_time_repeats_nothing) {
    int64_t eeprom = 0;
    uint64_t newest = 0;
    for (int run = 0; run < 5; run++) {
        flake_options o = options_of_flake(1, 3, script_read, &script_now);
        script_at_ms(0);
        o.after_unix_ms = eeprom;
        BEGINS(&later, &o);
        for (int i = 0; i < 4 && run != 2; i++) { /* the third draws nothing, and forgets nothing */
            const uint64_t id = next(&later);
            CHECK(id > newest);
            newest = id;
        }
        CHECK(flake_newest_ms(&later) >= ms_of(newest));
        eeprom = flake_newest_ms(&later);
    }
}

TEST(the_newest_time_of_a_sno_is_that_of_either_timeline) {
    const sno_snapshot pool = pool_of_numbers(5, 1, 4);
    flake_options o = options_of_sno(NULL, NULL);
    sno_id sno;
    clock_at(T);
    o.start_this_unit = true;
    SNO_BEGINS(&later_sno, &pool, &o);
    CHECK_EQ(sno_try(&later_sno, 7, &sno), FLAKE_OK);
    script_now.now_ns -= 40 * MS; /* the other timeline draws now */
    CHECK_EQ(sno_try(&later_sno, 7, &sno), FLAKE_OK);
    CHECK_EQ(sno_time_ms(sno), T - 40);
    CHECK_EQ(flake_newest_ms(&later_sno.gen), T);
}

/* ---- what the promise excepts: each test finds the duplicate ---- */

/* Whether a generator that begins now with these options draws an ID that `earlier` has drawn last. */
static bool repeats(uint64_t last, const flake_options *o) {
    BEGINS(&later, o);
    for (int i = 0; i < 30; i++)
        if (next(&later) == last) return true;
    return false;
}

TEST(draws_that_end_after_the_init_are_repeated) {
    const flake_options o = three_numbers();
    earlier_and_later(&o, &o);
    const uint64_t last = next(&earlier);
    bool is_repeated = false;
    for (int i = 0; i < 30; i++) is_repeated |= next(&later) == last;
    CHECK(is_repeated);
}

TEST(ids_from_before_a_backward_step_are_repeated) {
    const flake_options o = three_numbers();
    for (int draws_on = 0; draws_on < 2; draws_on++) { /* its first ID is ahead of the clock by then */
        clock_at(T);
        BEGINS(&earlier, &o);
        script_now.now_ns += 5 * MS;
        const uint64_t last = next(&earlier);
        script_now.now_ns -= 3 * MS;
        if (draws_on) CHECK_EQ(flake_try(&earlier, &(uint64_t){0}), FLAKE_CLOCK_BACKWARDS);
        CHECK(repeats(last, &o));
    }
}

/* The last ID is on the other timeline. */
TEST(snos_from_before_a_backward_step_are_repeated) {
    const sno_snapshot pool = pool_of_numbers(5, 1, 4);
    sno_id first, second;
    clock_at(T);
    SNO_BEGINS(&earlier_sno, &pool, NULL);
    script_now.now_ns += 20 * MS;
    CHECK_EQ(sno_next(&earlier_sno, 7, &first), FLAKE_OK);
    script_now.now_ns -= 12 * MS;
    CHECK_EQ(sno_next(&earlier_sno, 7, &second), FLAKE_OK);
    CHECK(sno_tick(first) == 0 && sno_tick(second) == 1);
    SNO_BEGINS(&later_sno, &pool, NULL);
    do CHECK_EQ(sno_next(&later_sno, 7, &second), FLAKE_OK);
    while (sno_compare(second, first) < 0);
    CHECK(sno_equal(first, second));
}

static int64_t host_ahead(void *user) { return script_read(user) + 3 * MS; }

TEST(ids_by_the_clock_of_another_host_are_repeated) {
    const flake_options o = three_numbers(), of_host = options_of_flake(1, 3, host_ahead, &script_now);
    clock_at(T);
    BEGINS(&earlier, &of_host);
    CHECK(repeats(next(&earlier), &o));
}

TEST(ids_ahead_of_the_clock_are_repeated) {
    flake_options o = three_numbers(), ahead = o;
    uint64_t ids[7];
    ahead.max_ahead_ms = 5;
    clock_at(T);
    BEGINS(&earlier, &ahead);
    CHECK_EQ(flake_next_n(&earlier, ids, 7), FLAKE_OK);
    CHECK(repeats(ids[6], &o));
    clock_at(T);
    o.after_unix_ms = flake_newest_ms(&earlier); /* the cure */
    CHECK(!repeats(ids[6], &o));
}

TEST(ids_of_a_given_time_are_repeated) {
    const flake_options o = three_numbers();
    uint64_t last;
    clock_at(T);
    BEGINS(&earlier, &o);
    CHECK_EQ(flake_try_at(&earlier, T + 1, &last), FLAKE_OK);
    CHECK(repeats(last, &o));
}

TEST(ids_of_an_own_clock_are_repeated) {
    const flake_options o = options_of_flake(1, 3, script_read, &script_now);
    clock_at(T);
    BEGINS(&earlier, &o);
    CHECK(repeats(next(&earlier), &o));
}

/* Their counters start at random numbers, which are the same here; else it is improbable. */
TEST(uuids_of_a_node_that_start_in_this_unit_are_repeated_by_chance) {
    flake_options o;
    flake128 first, second;
    memset(&o, 0, sizeof o);
    o.layout = flake_layout_uuid8;
    o.start_this_unit = true;
    clock_at(T);
    BEGINS(&earlier, &o);
    CHECK_EQ(flake128_next(&earlier, &first), FLAKE_OK);
    BEGINS(&later, &o);
    CHECK_EQ(flake128_next(&later, &second), FLAKE_OK);
    CHECK_EQ(flake128_compare(&first, &second), 0);
}

TEST(snos_drawn_after_the_snapshot_are_repeated) {
    const sno_snapshot pool = pool_of_numbers(5, 1, 9);
    sno_snapshot taken;
    sno_id first, second;
    clock_at(T);
    SNO_BEGINS(&earlier_sno, &pool, NULL);
    CHECK_EQ(sno_next(&earlier_sno, 7, &first), FLAKE_OK);
    CHECK_EQ(sno_snapshot_take(&earlier_sno, &taken), FLAKE_OK);
    CHECK_EQ(sno_next(&earlier_sno, 7, &first), FLAKE_OK);
    SNO_BEGINS(&later_sno, &taken, NULL);
    CHECK_EQ(sno_next(&later_sno, 7, &second), FLAKE_OK);
    CHECK(sno_equal(first, second));
}
