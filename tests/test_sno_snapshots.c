/* SPDX-License-Identifier: MIT
 *
 * Where sno's generators stand, and what goes on from there: snapshots, shards and their pool, and two
 * callers of whom one acts in the middle of the other's call.
 */
#include "scripted_sno.h"

static sno_gen twin;

/* ---- snapshots ---- */

TEST(a_snapshot_says_where_the_generator_stands) {
    begin(100, 109);
    draw(3);
    script_now.now_ns += 7 * unit_ns + 17;
    sno_snapshot s = snapshot_of(&gen);
    CHECK_EQ(s.partition, a_partition);
    CHECK_EQ(s.sequence_min, 100);
    CHECK_EQ(s.sequence_max, 109);
    CHECK_EQ(s.sequence, 102);
    CHECK_EQ(s.now, start + 7);
    CHECK_EQ(s.wall_hi, start);
    CHECK_EQ(s.wall_safe, 0);
    CHECK_EQ(s.drifts, 0);

    clock_to(start - 5);
    draw(1);
    clock_to(start - 3);
    draw(2);
    s = snapshot_of(&gen);
    CHECK_EQ(s.sequence, 101);
    CHECK_EQ(s.wall_hi, start - 3);
    CHECK_EQ(s.wall_safe, start);
    CHECK_EQ(s.drifts, 1);

    static const int64_t before_sno[] = {epoch_ns - 1, INT64_MIN + 1};
    for (size_t i = 0; i < 2; i++) {
        script_now.now_ns = before_sno[i];
        s = snapshot_of(&gen);
        CHECK_EQ(s.now, 0);
    }
}

TEST(a_snapshot_that_was_restored_reads_the_same) {
    sno_snapshot s = pool_of(100, 109);
    begin(0, 0);
    s.sequence = 131;
    s.wall_hi = start - 7;
    s.wall_safe = start + 9;
    s.drifts = 4000000001;
    s.now = start;
    restore(&gen, s);
    const sno_snapshot again = snapshot_of(&gen);
    CHECK(same_place(&s, &again));
    CHECK_EQ(again.now, start);
}

/* Brings the generator somewhere; false: there is no such place. */
static bool bring_to(int where) {
    use_both_ticks(where == 4 ? 4 : 3);
    switch (where) {
    case 0: begin(100, 103); return true;
    case 1: clock_to(start); return true; /* caught up */
    case 2:
        clock_to(start + 9);
        draw(2);
        return true;
    case 3:
        clock_to(start + 9);
        draw(4);
        return true; /* spent */
    case 4: return true;
    case 5: clock_to(start - 45); return true; /* blocked */
    case 6:
        clock_to(start + 20);
        draw(1);
        clock_to(start + 5);
        draw(6);
        return true;
    case 7:
        at_the_end = NULL;
        queue_of(9);
        return true;
    default: return false;
    }
}

static void run_on(sno_gen *g, int64_t clock_move, sno_id *ids, size_t n) {
    script_now.now_ns += clock_move * unit_ns;
    for (size_t i = 0; i < n; i++) {
        ids[i] = new_id(g);
        if (i % 5 == 4) script_now.now_ns -= unit_ns * 3;
    }
}

TEST(a_restored_generator_goes_on_as_the_original_would) {
    static const int64_t moves[] = {0, 1, 3, 1000, -1, -2, -7, -1000};
    enum { n = 40 };
    for (int where = 0; bring_to(where); where++)
        for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
            sno_id original[n], restored[n];
            (void)bring_to(where);
            const sno_snapshot s = snapshot_of(&gen);
            const script then = script_now;
            run_on(&gen, moves[i], original, n);
            script_now = then;
            restore(&twin, s);
            run_on(&twin, moves[i], restored, n);
            CHECK(memcmp(original, restored, sizeof original) == 0);
            const sno_snapshot a = snapshot_of(&gen), b = snapshot_of(&twin);
            CHECK_EQ(a.drifts, b.drifts);
        }
}

TEST(restored_in_the_past_it_rides_out_one_step_and_not_a_second) {
    begin(0, 3);
    draw(2);
    sno_snapshot s = snapshot_of(&gen);
    clock_to(start - 10);
    restore(&gen, s);
    CHECK_ID(new_id(&gen), start - 10, 1, 0);
    CHECK_EQ(script_now.sleeps, 0);
    CHECK_EQ(snapshot_of(&gen).wall_safe, start);

    s = snapshot_of(&gen);
    clock_to(start - 20);
    restore(&gen, s);
    CHECK_REFUSED(&gen, FLAKE_CLOCK_BACKWARDS);
    CHECK_ID(CHECK_FREE_IN(&gen, 10 * unit_ns), start - 10, 1, 1);
    clock_to(start - 20);
    restore(&gen, s);
    CHECK_ID(new_id(&gen), start - 10, 1, 1);
    CHECK_EQ(script_now.slept_ns, 10 * unit_ns);
}

TEST(the_parity_of_the_drifts_is_the_tick) {
    sno_snapshot s = pool_of(0, 3);
    begin(0, 3);
    for (uint32_t drifts = 0; drifts < 12; drifts++) {
        s.drifts = drifts < 8 ? drifts : UINT32_MAX - 11 + drifts;
        s.wall_hi = start - 1;
        restore(&gen, s);
        clock_to(start);
        CHECK_ID(new_id(&gen), start, s.drifts & 1, 0);
        CHECK_EQ(snapshot_of(&gen).drifts, s.drifts);
        clock_to(start - 1);
        CHECK_ID(new_id(&gen), start - 1, (s.drifts & 1) ^ 1, 0);
        CHECK_EQ(snapshot_of(&gen).drifts, (uint32_t)(s.drifts + 1));
    }
}

/* ---- shards and the pool ---- */

TEST(shards_share_the_pool_and_each_number_comes_once_a_unit) {
    for (size_t n = 1; n <= 64; n++) {
        begin_shards(n, 1000, 1066);
        for (int64_t unit = start; unit < start + 3; unit++) {
            uint32_t smallest = UINT32_MAX, largest = 0;
            clock_to(unit);
            got_n = 0;
            for (size_t i = 0; i < n; i++) {
                sno_id id = marker();
                while (sno_try(&shards[i], a_meta, &id) == FLAKE_OK) keep(id);
                const uint32_t cap = sno_cap(&shards[i]);
                CHECK_EQ(sno_len(&shards[i]), cap);
                CHECK_EQ(flake_retry_ns(&shards[i].gen), unit_ns);
                if (cap < smallest) smallest = cap;
                if (cap > largest) largest = cap;
            }
            CHECK_EQ(got_n, 67);
            CHECK(largest - smallest <= 1);
            CHECK_EQ(count_duplicates(got, got_n), 0);
            CHECK_ID(got[0], unit, 0, 1000);
            CHECK_ID(got[66], unit, 0, 1066);
        }
    }
}

TEST(a_shard_rides_out_a_step_back) {
    begin_shards(2, 0, 7);
    CHECK_ID(next_sno(&shards[0], a_meta), start, 0, 0);
    clock_to(start - 10);
    CHECK_ID(next_sno(&shards[0], a_meta), start - 10, 1, 0);
    CHECK_ID(next_sno(&shards[1], a_meta), start - 10, 0, 4); /* it has seen no step */
    CHECK_EQ(snapshot_of(&shards[0]).drifts, 1);
    CHECK_EQ(snapshot_of(&shards[0]).wall_safe, start);
    clock_to(start - 20);
    CHECK_REFUSED(&shards[0], FLAKE_CLOCK_BACKWARDS);
    CHECK_EQ(flake_retry_ns(&shards[0].gen), 10 * unit_ns);
    CHECK_ID(next_sno(&shards[1], a_meta), start - 20, 1, 4);
    CHECK_ID(next_sno(&shards[0], a_meta), start - 10, 1, 1);
    CHECK_EQ(script_now.slept_ns, 10 * unit_ns);
}

TEST(a_shard_gives_back_when_the_clock_steps_back_in_its_sleep) {
    begin_shards(2, 0, 7);
    for (int i = 0; i < 4; i++) (void)next_sno(&shards[1], a_meta);
    script_now.jump_to_ns = unit_start_ns(start - 100);
    CHECK_ID(next_sno(&shards[1], a_meta), start - 100, 1, 4);
    CHECK_EQ(snapshot_of(&shards[1]).wall_safe, start);
}

TEST(shards_of_a_snapshot_do_not_repeat_its_ids) {
    sno_snapshot s = pool_of(0, 15);
    const flake_options o = options_of();
    begin(0, 0);
    s.wall_hi = start;
    s.wall_safe = start - 10;
    s.sequence = 5;
    s.drifts = 1;
    CHECK_EQ(sno_init_shards(shards, 3, &s, &o, NULL), FLAKE_OK);
    for (size_t i = 0; i < 3; i++) {
        CHECK_REFUSED(&shards[i], FLAKE_AGAIN);
        CHECK_EQ(flake_retry_ns(&shards[i].gen), unit_ns);
    }
    clock_to(start + 1);
    CHECK_ID(next_sno(&shards[0], a_meta), start + 1, 1, 0);
    clock_to(start - 9);
    CHECK_ID(next_sno(&shards[1], a_meta), start - 9, 0, 6);
    clock_to(start - 10);
    CHECK_REFUSED(&shards[2], FLAKE_CLOCK_BACKWARDS);
    CHECK_EQ(flake_retry_ns(&shards[2].gen), unit_ns);

    s.sequence = 16 + 16 + 2; /* a queue into the second unit to come */
    CHECK_EQ(sno_init_shards(shards, 3, &s, &o, NULL), FLAKE_OK);
    clock_to(start);
    for (size_t i = 0; i < 3; i++)
        CHECK_EQ(sno_units(next_sno(&shards[i], a_meta)), start + 3);
}

/* A queue in the last unit reaches past it, but no id is of a later unit. */
TEST(a_snapshot_taken_at_the_end_of_time_is_accepted) {
    sno_snapshot s = pool_of(0, 99), again;
    const flake_options o = options_of();
    begin(0, 0);
    s.wall_hi = units - 1;
    s.sequence = 1000;
    restore(&gen, s);
    clock_to(start);
    CHECK_ID(new_id(&gen), start, 1, 0);
    again = snapshot_of(&gen);
    CHECK_EQ(again.drifts, 1);
    CHECK_EQ(again.wall_safe, units - 1);
    restore(&twin, again);
    CHECK_EQ(sno_init_shards(shards, 3, &s, &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_shards_snapshot(shards, 3, &again), FLAKE_OK);
    CHECK(again.wall_hi == units - 1 && again.wall_safe == units - 1);
    restore(&twin, again);
    clock_to(units - 1);
    CHECK_REFUSED(&twin, FLAKE_TIME_RANGE);
}

/* ---- two callers at once ----
 *
 * One draws, and between any two of his steps another does his whole call, or moves the clock and
 * calls.
 */

static void call_new(void) { keep(new_id(&gen)); }
static void call_try(void) {
    sno_id id;
    if (sno_try(&gen, a_meta, &id) == FLAKE_OK) keep(id);
}
static void call_try_at(void) {
    sno_id id;
    if (sno_try_at(&gen, a_meta, script_now.now_ns / ms_ns, &id) == FLAKE_OK) keep(id);
}
static void call_new_n(void) {
    sno_id ids[6];
    CHECK_EQ(sno_next_n(&gen, a_meta, ids, 6), FLAKE_OK);
    keep_all(ids, 6);
}
static void call_try_n(void) {
    sno_id ids[3];
    keep_all(ids, tried_n(&gen, a_meta, ids, 3));
}

static sno_snapshot shot;
static size_t shot_after; /* ids that were there when it was begun */
static void call_snapshot(void) {
    const size_t before = got_n;
    shot = snapshot_of(&gen);
    shot_after = before;
}

static void (*const calls[])(void) = {call_new,   call_try,   call_try_at,
                                      call_new_n, call_try_n, call_snapshot};
enum { call_kinds = sizeof calls / sizeof *calls };

static const int64_t moves_before[] = {0, 1, -1, -10}, moves_after[] = {0, 2, -3};
enum { before_kinds = 4, after_kinds = 3 };

static struct { size_t call, before, after; } meanwhile;

static void act_meanwhile(void) {
    script_now.now_ns += moves_before[meanwhile.before] * unit_ns;
    calls[meanwhile.call]();
    script_now.now_ns += moves_after[meanwhile.after] * unit_ns;
}

static size_t ids_that_a_restored_one_repeats(const sno_snapshot *s, size_t n) {
    size_t repeated = 0;
    const script then = script_now;
    for (int64_t move = -12; move <= 2; move += 7) {
        sno_id ids[8];
        script_now = then;
        script_now.now_ns += move * unit_ns;
        restore(&twin, *s);
        for (size_t i = 0; i < 8; i++) {
            ids[i] = new_id(&twin);
            for (size_t k = 0; k < n; k++) repeated += sno_equal(ids[i], got[k]);
        }
    }
    script_now = then;
    return repeated;
}

/* How often the other acts before he comes too late. */
static int two_callers(int where, size_t call) {
    for (int at = 0;; at++) {
        (void)bring_to(where);
        shot = snapshot_of(&gen);
        shot_after = got_n;
        others_after = at;
        others = act_meanwhile;
        calls[call]();
        const bool over = others != NULL;
        others = NULL;
        calls[call_kinds - 1 - call % 2]();
        CHECK_EQ(ids_that_a_restored_one_repeats(&shot, shot_after), 0);
        const sno_snapshot last = snapshot_of(&gen);
        CHECK(shot.drifts <= last.drifts);
        CHECK_EQ(ids_that_a_restored_one_repeats(&last, got_n), 0);
        clock_to(units - 1);
        if (got_n) CHECK_EQ(sno_tick(tried_at(&gen, unit_start_ms(units - 1))), last.drifts & 1);
        for (size_t i = 0; i < got_n; i++)
            CHECK(sno_sequence(got[i]) >= last.sequence_min &&
                  sno_sequence(got[i]) <= last.sequence_max);
        CHECK_EQ(count_duplicates(got, got_n), 0);
        if (over || check_failures) return at;
    }
}

#ifdef TEST_SMALL
enum { one_in_three = true };
#else
enum { one_in_three = false };
#endif

TEST(two_callers_never_get_the_same_id_whatever_steps_they_take) {
    int steps = 0;
    for (int where = 0; where <= 7; where++)
        for (size_t call = 0; call < call_kinds; call++)
            for (meanwhile.call = 0; meanwhile.call < call_kinds; meanwhile.call++)
                for (meanwhile.before = 0; meanwhile.before < before_kinds; meanwhile.before++)
                    for (meanwhile.after = 0; meanwhile.after < after_kinds; meanwhile.after++) {
                        if (one_in_three && (meanwhile.before + meanwhile.after + call) % 3)
                            continue;
                        steps += two_callers(where, call);
                        if (check_failures) return;
                    }
    CHECK(steps > 1000);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
