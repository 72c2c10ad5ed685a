/* SPDX-License-Identifier: MIT
 *
 * The positions of sno's generators, and what continues from them: snapshots, shards and their pool,
 * and two callers of which one acts in the middle of the other's call.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#include "scripted_sno.h"

static sno_gen twin;

/* ---- snapshots ---- */

TEST(a_snapshot_says_where_the_generator_stands) {
    begin(100, 109);
    draw(3);
    script_now.now_ns += 7 * unit_ns + 17;
    sno_snapshot s = snapshot_of_sno(&gen);
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
    s = snapshot_of_sno(&gen);
    CHECK_EQ(s.sequence, 101);
    CHECK_EQ(s.wall_hi, start - 3);
    CHECK_EQ(s.wall_safe, start);
    CHECK_EQ(s.drifts, 1);

    static const int64_t before_sno[] = {epoch_ns - 1, INT64_MIN + 1};
    for (size_t i = 0; i < 2; i++) {
        script_now.now_ns = before_sno[i];
        s = snapshot_of_sno(&gen);
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
    const sno_snapshot again = snapshot_of_sno(&gen);
    CHECK(same_place(&s, &again));
    CHECK_EQ(again.now, start);
}

/* Brings the generator to a position; false: there is none like that. */
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
        return true; /* exhausted */
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

TEST(the_parity_of_the_drifts_is_the_tick) {
    sno_snapshot s = pool_of(0, 3);
    begin(0, 3);
    for (uint32_t drifts = 0; drifts < 12; drifts++) {
        s.drifts = drifts < 8 ? drifts : UINT32_MAX - 11 + drifts;
        s.wall_hi = start - 1;
        restore(&gen, s);
        clock_to(start);
        CHECK_ID(new_id(&gen), start, s.drifts & 1, 0);
        CHECK_EQ(snapshot_of_sno(&gen).drifts, s.drifts);
        clock_to(start - 1);
        CHECK_ID(new_id(&gen), start - 1, (s.drifts & 1) ^ 1, 0);
        CHECK_EQ(snapshot_of_sno(&gen).drifts, (uint32_t)(s.drifts + 1));
    }
}

/* ---- shards and the pool ---- */

TEST(shards_share_the_pool_and_each_number_comes_once_a_unit) {
    for (size_t n = 1; n <= 64; n++) {
        begin_shards(n, 1000, 1066);
        for (int64_t unit = start; unit < start + 3; unit++) {
            clock_to(unit);
            got_n = 0;
            for (size_t i = 0; i < n; i++) {
                sno_id id;
                while (sno_try(&shards[i], a_meta, &id) == FLAKE_OK) keep(id);
                const uint32_t cap = sno_cap(&shards[i]);
                CHECK_EQ(sno_len(&shards[i]), cap);
                CHECK_EQ(flake_retry_ns(&shards[i].gen), unit_ns);
                CHECK(cap == 67 / n || cap == 67 / n + 1);
            }
            CHECK_EQ(got_n, 67);
            for (uint32_t k = 0; k < 67; k++) CHECK_ID(got[k], unit, 0, 1000 + k);
        }
    }
}

TEST(shards_are_at_most_as_many_as_the_pools_numbers) {
    const flake_node node = flake_node_fixed(NULL, a_partition);
    const flake_options o = options_of();
    sno_snapshot s = pool_of(100, 103);
    CHECK_EQ(sno_init_shards(shards, 5, node, &s, &o, NULL), FLAKE_INVALID);
    CHECK_EQ(sno_init_shards(shards, 4, node, &s, &o, NULL), FLAKE_OK);
    s = pool_of(0, 3); /* a snapshot of only the number 0 would have the whole pool's bounds */
    CHECK_EQ(sno_init_shards(shards, 4, node, &s, &o, NULL), FLAKE_INVALID);
    CHECK_EQ(sno_init_shards(shards, 3, node, &s, &o, NULL), FLAKE_OK);
}

TEST(shards_of_a_snapshot_do_not_repeat_its_ids) {
    sno_snapshot s = pool_of(0, 15);
    const flake_node node = flake_node_fixed(NULL, a_partition);
    const flake_options o = options_of();
    begin(0, 0);
    s.wall_hi = start;
    s.wall_safe = start - 10;
    s.sequence = 5;
    s.drifts = 1;
    CHECK_EQ(sno_init_shards(shards, 3, node, &s, &o, NULL), FLAKE_OK);
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

    s.sequence = 16 + 16 + 2; /* a queue into the second future unit */
    CHECK_EQ(sno_init_shards(shards, 3, node, &s, &o, NULL), FLAKE_OK);
    clock_to(start);
    for (size_t i = 0; i < 3; i++) CHECK_EQ(sno_units(next_sno(&shards[i], a_meta)), start + 3);
}

/* A queue in the last unit reaches past it, but no ID is of a later unit. */
TEST(a_snapshot_taken_at_the_end_of_time_is_accepted) {
    sno_snapshot s = pool_of(0, 99), again;
    const flake_node node = flake_node_fixed(NULL, a_partition);
    const flake_options o = options_of();
    begin(0, 0);
    s.wall_hi = units - 1;
    s.sequence = 1000;
    restore(&gen, s);
    clock_to(start);
    CHECK_ID(new_id(&gen), start, 1, 0);
    again = snapshot_of_sno(&gen);
    CHECK_EQ(again.drifts, 1);
    CHECK_EQ(again.wall_safe, units - 1);
    restore(&twin, again);
    CHECK_EQ(sno_init_shards(shards, 3, node, &s, &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_shards_snapshot(shards, 3, &again), FLAKE_OK);
    CHECK(again.wall_hi == units - 1 && again.wall_safe == units - 1);
    restore(&twin, again);
    clock_to(units - 1);
    CHECK_REFUSED(&twin, FLAKE_TIME_RANGE);
}

static void draw_some(uint64_t *random, size_t n) {
    for (int i = 0; i < 60; i++) {
        sno_id id;
        if (random_below(random, 4) == 0)
            script_now.now_ns += ((int64_t)random_below(random, 24) - 9) * unit_ns;
        if (sno_try(&shards[random_below(random, n)], a_meta, &id) == FLAKE_OK) keep(id);
    }
}

/* From a snapshot of them all, wherever clock and ticks are. */
TEST(shards_made_again_repeat_nothing) {
    const flake_node node = flake_node_fixed(NULL, a_partition);
    for (uint64_t seed = 1; seed <= 300 && !check_failures; seed++) {
        uint64_t random = seed * 0x9e3779b97f4a7c15;
        sno_snapshot s = pool_of(0, (uint16_t)(9 + random_below(&random, 10)));
        const flake_options o = options_of();
        const size_t n = 1 + (size_t)random_below(&random, 5);
        begin(0, 0);
        CHECK_EQ(sno_init_shards(shards, n, node, &s, &o, NULL), FLAKE_OK);
        for (int restart = 0; restart < 5; restart++) {
            draw_some(&random, n);
            CHECK_EQ(sno_shards_snapshot(shards, n, &s), FLAKE_OK);
            CHECK_EQ(s.partition, a_partition);
            CHECK_EQ(sno_init_shards(shards, n, node, &s, &o, NULL), FLAKE_OK);
        }
        CHECK(got_n > 10);
        CHECK_EQ(count_duplicates(got, got_n), 0);
    }
}

/* The last number of the newest unit, whatever the shards have drawn of it. */
TEST(a_snapshot_of_shards_says_that_all_is_drawn) {
    sno_snapshot s;
    const flake_node node = flake_node_fixed(NULL, a_partition);
    const flake_options o = options_of();
    begin_shards(4, 10, 29);
    CHECK_ID(new_id(&shards[1]), start, 0, 15);
    clock_to(start + 1);
    CHECK_ID(new_id(&shards[2]), start + 1, 0, 20);
    CHECK_EQ(sno_shards_snapshot(shards, 0, &s), FLAKE_INVALID);
    CHECK_EQ(sno_shards_snapshot(shards, 4, &s), FLAKE_OK);
    CHECK(s.partition == a_partition && s.sequence_min == 10 && s.sequence_max == 29);
    CHECK(s.sequence == 29 && s.wall_hi == start + 1 && s.wall_safe == start + 1);
    CHECK_EQ(sno_init_shards(shards, 4, node, &s, &o, NULL), FLAKE_OK);
    CHECK_REFUSED(&shards[0], FLAKE_AGAIN); /* of any shard */
    CHECK_REFUSED(&shards[2], FLAKE_AGAIN);
    clock_to(start + 2);
    for (uint32_t i = 0; i < 4; i++) CHECK_ID(new_id(&shards[i]), start + 2, 0, 10 + 5 * i);
}

/* ---- two callers at once ----
 *
 * One draws, and between any two of its steps another makes its whole call, or moves the clock and
 * calls.
 */

static sno_snapshot shot;
static size_t shot_after; /* IDs returned before its call began */

enum { call_kinds = 6 };
static void call_by(size_t kind) {
    sno_id ids[6];
    size_t n = got_n;
    switch (kind) {
    case 0: keep(new_id(&gen)); break;
    case 1:
        if (sno_try(&gen, a_meta, ids) == FLAKE_OK) keep(ids[0]);
        break;
    case 2:
        if (sno_try_at(&gen, a_meta, script_now.now_ns / ms_ns, ids) == FLAKE_OK) keep(ids[0]);
        break;
    case 3:
        CHECK_EQ(sno_next_n(&gen, a_meta, ids, 6), FLAKE_OK);
        keep_all(ids, 6);
        break;
    case 4:
        n = tried_n(&gen, a_meta, ids, 3);
        keep_all(ids, n);
        break;
    default: shot = snapshot_of_sno(&gen); shot_after = n;
    }
}

static const int64_t moves_before[] = {0, 1, -1, -10}, moves_after[] = {0, 2, -3};
enum { before_kinds = 4, after_kinds = 3 };

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

/* How often the other acts before the call has ended. */
static int two_callers(int where, size_t call) {
    for (int at = 0;; at++) {
        (void)bring_to(where);
        shot = snapshot_of_sno(&gen);
        shot_after = got_n;
        others_after = at;
        others = act_meanwhile;
        call_by(call);
        const bool over = others != NULL;
        others = NULL;
        call_by(call_kinds - 1 - call % 2);
        CHECK_EQ(ids_that_a_restored_one_repeats(&shot, shot_after), 0);
        const sno_snapshot last = snapshot_of_sno(&gen);
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

TEST(two_callers_never_get_the_same_id_whatever_steps_they_take) {
    int steps = 0;
    for (int where = 0; where <= 7; where++)
        for (size_t call = 0; call < call_kinds; call++)
            for (meanwhile.call = 0; meanwhile.call < call_kinds; meanwhile.call++)
                for (meanwhile.before = 0; meanwhile.before < before_kinds; meanwhile.before++)
                    for (meanwhile.after = 0; meanwhile.after < after_kinds; meanwhile.after++) {
                        if (small && (meanwhile.before + meanwhile.after + call) % 3) continue;
                        steps += two_callers(where, call);
                        if (check_failures) return;
                    }
    CHECK(steps > 1000);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
