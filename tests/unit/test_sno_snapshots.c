/* SPDX-License-Identifier: MIT
 *
 * Snapshots of sno's generators: what they tell, and that nothing repeats that continues from one; shards and their
 * pool; and two callers, one in the middle of the other's call. (Labels of flake.h: SAFE, SETTLE, TALLY, I1, I5.)
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#include "scripted_sno.h"

static sno_gen twin;

/* ---- snapshots ---- */

/* (Its position, after any calls: test_random_sno.c.) */
TEST(a_snapshot_has_the_clocks_unit) {
    const int64_t before_2010[] = {epoch_ns - 1, INT64_MIN + 1};
    begin(100, 109);
    script_now.now_ns += 7 * unit_ns + 17;
    CHECK_EQ(snapshot_of(&gen).now, start + 7);
    for (size_t i = 0; i < 2; i++) {
        script_now.now_ns = before_2010[i];
        CHECK_EQ(snapshot_of(&gen).now, 0);
    }
}

/* ---- shards and the pool ---- */

/* The last number of the newest unit, whatever the shards have drawn of it. */
TEST(a_snapshot_of_shards_says_that_all_is_drawn) {
    static const uint32_t first[] = {10, 16, 22, 27, 32}; /* of each shard: 22 numbers are 6, 6, 5 and 5 */
    sno_snapshot s;
    begin_shards(4, 10, 31);
    EXPECT_ID(next_id(&shards[1]), start, 0, 16);
    clock_to(start + 1);
    EXPECT_ID(next_id(&shards[2]), start + 1, 0, 22);
    CHECK_EQ(sno_shards_snapshot(shards, 0, &s), FLAKE_INVALID);
    CHECK_EQ(sno_shards_snapshot(shards, 4, &s), FLAKE_OK);
    CHECK(s.partition == a_partition && s.sequence_min == 10 && s.sequence_max == 31);
    CHECK(s.sequence == 31 && s.wall_hi == start + 1 && s.wall_safe == start + 1);
    make_shards(4, s);
    EXPECT_REFUSED(&shards[0], FLAKE_AGAIN); /* of any shard */
    EXPECT_REFUSED(&shards[2], FLAKE_AGAIN);
    clock_to(start + 2);
    for (uint32_t i = 0; i < 4; i++) {
        EXPECT_ID(next_id(&shards[i]), start + 2, 0, first[i]);
        CHECK_EQ(sno_cap(&shards[i]), first[i + 1] - first[i]);
    }
}

/* A queue in the last unit reaches past it, but no ID is of a later unit. */
TEST(a_snapshot_taken_at_the_end_of_time_is_accepted) {
    sno_snapshot s = pool_of(0, 99), again;
    begin(0, 0);
    s.wall_hi = units - 1;
    s.sequence = 1000;
    restore(&gen, s);
    clock_to(start);
    EXPECT_ID(next_id(&gen), start, 1, 0);
    again = snapshot_of(&gen);
    CHECK(again.drifts == 1 && again.wall_safe == units - 1);
    restore(&twin, again);
    make_shards(3, s);
    CHECK_EQ(sno_shards_snapshot(shards, 3, &again), FLAKE_OK);
    CHECK(again.wall_hi == units - 1 && again.wall_safe == units - 1);
    restore(&twin, again);
    clock_to(units - 1);
    EXPECT_REFUSED(&twin, FLAKE_TIME_RANGE);
}

static void draw_some(uint64_t *random, size_t n) {
    for (int i = 0; i < 60; i++) {
        sno_id id;
        if (random_below(random, 4) == 0) script_now.now_ns += ((int64_t)random_below(random, 24) - 9) * unit_ns;
        if (sno_try(&shards[random_below(random, n)], a_meta, &id) == FLAKE_OK) keep(id);
    }
}

/* From a snapshot of them all, wherever clock and ticks are. */
TEST(shards_made_again_repeat_nothing) {
    for (uint64_t seed = 1; seed <= 300 && !check_failures; seed++) {
        uint64_t random = seed * 0x9e3779b97f4a7c15;
        const uint16_t max = (uint16_t)(9 + random_below(&random, 10));
        const size_t n = 1 + (size_t)random_below(&random, 5);
        begin_shards(n, 0, max);
        for (int restart = 0; restart < 5; restart++) {
            sno_snapshot s;
            draw_some(&random, n);
            CHECK_EQ(sno_shards_snapshot(shards, n, &s), FLAKE_OK);
            CHECK_EQ(s.partition, a_partition);
            make_shards(n, s);
        }
        CHECK(got_n > 10);
        CHECK_EQ(count_duplicates(got, got_n), 0);
    }
}

/* ---- two callers at once ----
 *
 * One calls, and between any two of its steps another makes its whole call, or moves the clock and calls: from each
 * position, with each call of both, in each step. No ID repeats, also not from the snapshots that were taken.
 */

enum { POSITIONS = 8 };
static void bring_to(int position) {
    use_both_ticks(position == 4 ? 4 : 3);
    switch (position) {
    case 0: begin(100, 103); break;
    case 1: clock_to(start); break; /* caught up */
    case 2: clock_to(start + 9), draw(2); break;
    case 3: clock_to(start + 9), draw(4); break; /* exhausted */
    case 4: break;
    case 5: clock_to(start - 45); break; /* blocked */
    case 6: clock_to(start + 20), draw(1), clock_to(start + 5), draw(6); break;
    default: queue_of(9, NULL);
    }
}

static sno_snapshot shot;
static size_t shot_after; /* IDs returned before its call began */

enum { CALLS = 6 };
static void call_by(size_t kind) {
    sno_id ids[6];
    size_t n = 0;
    const size_t before = got_n;
    switch (kind) {
    case 0: ids[0] = next_id(&gen), n = 1; break;
    case 1: n = sno_try(&gen, a_meta, ids) == FLAKE_OK; break;
    case 2: n = sno_try_at(&gen, a_meta, script_now.now_ns / ms_ns, ids) == FLAKE_OK; break;
    case 3: n = sno_next_n(&gen, a_meta, ids, 6) == FLAKE_OK ? 6 : 0; break; /* it waits */
    case 4: n = tried_n(&gen, a_meta, ids, 3); break;
    default: shot = snapshot_of(&gen), shot_after = before;
    }
    for (size_t i = 0; i < n; i++) keep(ids[i]);
}

static const int64_t moves_before[] = {0, 1, -1, -10}, moves_after[] = {0, 2, -3};
static struct { size_t call, before, after; } meanwhile;

static void act_meanwhile(void) {
    script_now.now_ns += moves_before[meanwhile.before] * unit_ns;
    call_by(meanwhile.call);
    script_now.now_ns += moves_after[meanwhile.after] * unit_ns;
}

static size_t ids_that_a_restored_one_repeats(const sno_snapshot *s, size_t n) {
    size_t repeated = 0;
    const script then = script_now;
    for (int64_t move = -12; move <= 2; move += 7) {
        script_now = then;
        script_now.now_ns += move * unit_ns;
        restore(&twin, *s);
        for (size_t i = 0; i < 8; i++) {
            const sno_id id = next_id(&twin);
            for (size_t k = 0; k < n; k++) repeated += sno_equal(id, got[k]);
        }
    }
    script_now = then;
    return repeated;
}

/* How often the other acts before the call has ended. */
static int two_callers(int position, size_t call) {
    for (int at = 0;; at++) {
        bring_to(position);
        shot = snapshot_of(&gen);
        shot_after = got_n;
        others_after = at;
        others = act_meanwhile;
        call_by(call);
        const bool over = others != NULL;
        others = NULL;
        call_by(CALLS - 1 - call % 2);
        CHECK_EQ(ids_that_a_restored_one_repeats(&shot, shot_after), 0);
        const sno_snapshot last = snapshot_of(&gen);
        CHECK(shot.drifts <= last.drifts);
        CHECK_EQ(ids_that_a_restored_one_repeats(&last, got_n), 0);
        clock_to(units - 1);
        if (got_n) CHECK_EQ(sno_tick(try_id_at(&gen, unit_start_ms(units - 1))), last.drifts & 1);
        for (size_t i = 0; i < got_n; i++)
            CHECK(sno_sequence(got[i]) >= last.sequence_min && sno_sequence(got[i]) <= last.sequence_max);
        CHECK_EQ(count_duplicates(got, got_n), 0);
        if (over || check_failures) return at;
    }
}

TEST(two_callers_never_get_the_same_id_whatever_steps_they_take) {
    int steps = 0;
    for (int position = 0; position < POSITIONS; position++)
        for (size_t call = 0; call < CALLS; call++)
            for (meanwhile.call = 0; meanwhile.call < CALLS; meanwhile.call++)
                for (meanwhile.before = 0; meanwhile.before < 4; meanwhile.before++)
                    for (meanwhile.after = 0; meanwhile.after < 3; meanwhile.after++) {
                        if (small && (meanwhile.before + meanwhile.after + call) % 3) continue;
                        steps += two_callers(position, call);
                        if (check_failures) return;
                    }
    CHECK(steps > 1000);
}
