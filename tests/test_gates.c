/* SPDX-License-Identifier: MIT
 *
 * Gates and floors: a gate's word, a gate beside a state, what a batch asks for, what restore asks; where
 * a floor puts a generator, and what the statistics say of it; the horizon where it is met to the ns.
 */
#define _GNU_SOURCE
#include "scene.h"
#include "flake.h"
#include "sno.h"
#include "options.h"

static flake_state state;
static flake_gen gen;
static flake_gen shard;
static flake_gen wide;
static sno_gen sno;
static sno_gen sno_shard_of;

static flake_i_atomic64 gate_word;
static flake_status gate_says;
static int64_t gate_until_ns, gate_floor_at_ns;
static int gate_asked;

static flake_status ask_gate(void *user, int64_t until_ns) {
    (void)user;
    gate_asked++;
    gate_until_ns = until_ns;
    return gate_says;
}

static flake_status ask_sno_gate(void *user, int64_t until_ns) {
    return ask_gate(user, until_ns) == FLAKE_OK ? FLAKE_OK : FLAKE_LEASE_LOST;
}

static int64_t floor_of_gate(void *user) {
    (void)user;
    return gate_floor_at_ns;
}


/* With a gate that lets all out. */
static flake_options gated(void) {
    flake_options o = options_in_scene(0);
    gate_says = FLAKE_OK;
    gate_asked = 0;
    o.gate.admit = ask_gate;
    return o;
}

static sno_snapshot pool_of_four(void) { return pool_of_numbers(5, 0, 3); }

static flake_options sno_options_of(void) {
    gate_says = FLAKE_OK;
    gate_asked = 0;
    return options_of_sno(scene_clock, NULL);
}

static int64_t unit_now(void) {
    return (atomic_load(&our->now_ns) - SNO_I_EPOCH_MS * a_ms) / (4 * a_ms);
}

static void clock_to_ms(int64_t ms) { atomic_store(&our->now_ns, ms * a_ms); }

static uint64_t ids_told(void) {
    flake_stats stats;
    flake_stats_get(&gen, &stats);
    return stats.ids;
}

static flake_status init_wide(flake_options o) {
    o.layout = flake_layout_boundary;
    return flake_init(&wide, &o, NULL);
}

static uint64_t wide_ids_told(void) {
    flake_stats stats;
    flake_stats_get(&wide, &stats);
    return stats.ids;
}

static uint64_t snos_told(void) {
    flake_stats stats;
    flake_stats_get(&sno.gen, &stats);
    return stats.ids;
}

/* ---- the gate's word ---- */

static sno_snapshot pool_now;

/* Begins with options of both headers: their gates let all out, and have a word. */
static void begin_with_word(flake_options *o, flake_options *s, unsigned word) {
    begin();
    pool_now = pool_of_four();
    *o = gated();
    *s = sno_options_of();
    o->gate.fence = &gate_word;
    s->gate.admit = ask_sno_gate;
    s->gate.fence = &gate_word;
    atomic_store(&gate_word, word);
}

TEST(nothing_begins_behind_a_closed_gate) {
    flake_options o;
    flake_options s;
    begin_with_word(&o, &s, 0);
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_LEASE_LOST);
    CHECK_EQ(flake_init_shards(&shard, 1, &o, NULL), FLAKE_LEASE_LOST);
    CHECK_EQ(init_wide(o), FLAKE_LEASE_LOST);
    CHECK_EQ(sno_init(&sno, &pool_now, &s, NULL), FLAKE_LEASE_LOST);
    CHECK_EQ(sno_init_shards(&sno_shard_of, 1, &pool_now, &s, NULL), FLAKE_LEASE_LOST);
    CHECK_EQ(gate_asked, 0);
    CHECK(!gen.engine.cap && !shard.engine.cap && !wide.engine.cap && !sno.gen.engine.cap);
    o.gate.admit = NULL; /* there is no gate: its word means nothing */
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
}

TEST(a_gates_word_is_looked_at_by_each_draw) {
    flake_options o;
    flake_options s;
    uint64_t id = 7;
    sno_id drawn;
    begin_with_word(&o, &s, 5);
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&sno, &pool_now, &s, NULL), FLAKE_OK);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
        CHECK_EQ(sno_try(&sno, 0, &drawn), FLAKE_OK);
    }
    const int asked = gate_asked;
    for (unsigned closed = 0; closed < 2; closed++) { /* closed, and open again for another */
        atomic_store(&gate_word, closed ? 6u : 0u);
        id = 7;
        CHECK_EQ(flake_next(&gen, &id), FLAKE_LEASE_LOST);
        CHECK_EQ(flake_try(&gen, &id), FLAKE_LEASE_LOST);
        CHECK_EQ(sno_try(&sno, 0, &drawn), FLAKE_LEASE_LOST);
        CHECK_EQ(id, 0);
        CHECK_EQ(ids_told(), 3);
    }
    CHECK_EQ(gate_asked, asked); /* the word alone says it */
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    clock_to_ms(start_ms + 1);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
}

/* ---- a gate and a state ---- */

static bool disk_is_full;

static bool fail_writes(const char *name) {
    if (!disk_is_full || strcmp(name, "write") != 0) return true;
    errno = ENOSPC;
    return false;
}

static flake_status open_state(int64_t horizon_ms, bool manual_extend, const flake_options *o) {
    flake_state_options w = {0};
    w.path = path_of("ids");
    w.horizon_ms = horizon_ms;
    w.manual_extend = manual_extend;
    disk_is_full = false;
    on_call = fail_writes;
    return flake_state_open(&state, &w, o, NULL, NULL);
}

TEST(gate_and_state_both_have_a_say) {
    flake_options o = gated();
    uint64_t id = 7;
    begin();
    CHECK_EQ(open_state(3000, true, &o), FLAKE_OK);
    o.state = &state;
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(gate_asked, 1);
    CHECK_EQ((int64_t)atomic_load(&state.asked), gate_until_ns);

    clock_to_ms(start_ms + 10); /* the gate refuses: the state hears nothing of it */
    const uint64_t asked_of_state = atomic_load(&state.asked);
    id = 7;
    gate_says = FLAKE_LEASE_LOST;
    CHECK_EQ(flake_try(&gen, &id), FLAKE_LEASE_LOST);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_LEASE_LOST);
    CHECK_EQ(atomic_load(&state.asked), asked_of_state);

    gate_says = FLAKE_OK; /* the state refuses, and the gate would not */
    clock_to_ms(start_ms + 4000);
    gate_asked = 0;
    CHECK_EQ(flake_try(&gen, &id), FLAKE_NOT_EXTENDED);
    CHECK_EQ(gate_asked, 1);
    CHECK_EQ(id, 0);
    CHECK_EQ(ids_told(), 1);

    gate_says = FLAKE_LEASE_LOST; /* both refuse: the gate is asked first */
    CHECK_EQ(flake_try(&gen, &id), FLAKE_LEASE_LOST);
    gate_says = FLAKE_OK;
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK_EQ(ms_of(id), start_ms + 4000);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

/* A state is for the numbers that it was opened for. */
TEST(a_state_is_for_no_number_outside_its_range) {
    flake_options o = options_in_scene(0);
    begin();
    o.seq_min = 5;
    o.seq_max = 9;
    CHECK_EQ(open_state(3000, false, &o), FLAKE_OK);
    o.state = &state;
    o.seq_min = 4;
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_MISMATCH);
    o.seq_min = 6;
    o.seq_max = 10;
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_MISMATCH);
    o.seq_max = 8;
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

/* Of gate and state the later floor counts, whichever has it. */
TEST(the_later_floor_counts) {
    uint64_t id = 0;
    for (int i = 0; i < 2; i++) {
        flake_options o = gated();
        begin();
        CHECK_EQ(open_state(3000, false, &o), FLAKE_OK);
        o.state = &state;
        CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
        CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
        gate_floor_at_ns = (start_ms + (i ? 5 : -5)) * a_ms;
        o.gate.not_before_ns = floor_of_gate;
        CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
        CHECK_EQ(flake_try(&gen, &id), i ? FLAKE_CLOCK_BACKWARDS : FLAKE_AGAIN);
        clock_to_ms(start_ms + 3);
        CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
        CHECK_EQ(ms_of(id), start_ms + (i ? 6 : 3));
        CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
    }
}

/* ---- what is asked for ---- */

TEST(a_batch_asks_for_its_last_unit) {
    flake_options o = gated();
    uint64_t ids[35];
    begin();
    o.seq_max = 9;
    o.max_ahead_ms = 5;
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    CHECK_EQ(got64_n(&gen, ids, 35), 35);
    CHECK_EQ(ms_of(ids[34]), start_ms + 3);
    CHECK_EQ(gate_asked, 1);
    CHECK_EQ(gate_until_ns, (start_ms + 4) * a_ms - 1);
    gate_says = FLAKE_LEASE_LOST;
    CHECK_EQ(got64_n(&gen, ids, 5), 0);
    CHECK_EQ(gate_until_ns, (start_ms + 4) * a_ms - 1); /* the last five of that unit */
    gate_says = FLAKE_OK;
    CHECK_EQ(got64_n(&gen, ids, 6), 6);
    CHECK_EQ(gate_until_ns, (start_ms + 5) * a_ms - 1);
}

/* The gate has not been asked for the unit in which a snapshot stands. */
TEST(behind_a_gate_a_restored_one_begins_with_a_unit_of_its_own) {
    flake_options o = gated();
    flake_snapshot at = {0};
    flake_snapshot wide_at = {0};
    uint64_t id = 7;
    flake128 wide_id;
    flake_parts parts = {0, 0, 0};
    begin();
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    CHECK_EQ(init_wide(o), FLAKE_OK);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
        CHECK_EQ(flake128_next(&wide, &wide_id), FLAKE_OK);
    }
    CHECK_EQ(flake_snapshot_take(&gen, &at), FLAKE_OK);
    CHECK_EQ(flake_snapshot_take(&wide, &wide_at), FLAKE_OK);
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    CHECK_EQ(init_wide(o), FLAKE_OK);
    CHECK_EQ(flake_restore(&gen, &at, NULL), FLAKE_OK);
    CHECK_EQ(flake_restore(&wide, &wide_at, NULL), FLAKE_OK);
    CHECK(ids_told() == 0 && wide_ids_told() == 0);
    gate_asked = 0;
    CHECK_EQ(flake_try(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(flake128_try(&wide, &wide_id), FLAKE_AGAIN);
    CHECK_EQ(gate_asked, 0);
    clock_to_ms(start_ms + 1);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK_EQ(flake128_try(&wide, &wide_id), FLAKE_OK);
    CHECK_EQ(gate_asked, 2);
    CHECK_EQ(id & 0xfff, 0);
    CHECK_EQ(ms_of(id), start_ms + 1);
    CHECK_EQ(flake128_decompose(&flake_layout_boundary, &wide_id, &parts), FLAKE_OK);
    CHECK(parts.unix_ms == start_ms + 1 && parts.seq == 0);
    CHECK(ids_told() == 1 && wide_ids_told() == 1);
}

/* ---- floors ---- */

TEST(what_a_floor_skips_is_not_counted) {
    flake_options o = gated();
    const sno_snapshot pool = pool_of_four();
    flake_options s = sno_options_of();
    uint64_t ids[3];
    flake128 wides[3];
    sno_id snos[3];
    begin();
    for (int with_floor = 0; with_floor < 2; with_floor++) {
        o.gate.not_before_ns = with_floor ? floor_of_gate : NULL;
        s.gate.admit = ask_sno_gate;
        s.gate.not_before_ns = o.gate.not_before_ns;
        gate_floor_at_ns = atomic_load(&our->now_ns);
        CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
        CHECK_EQ(init_wide(o), FLAKE_OK);
        CHECK_EQ(sno_init(&sno, &pool, &s, NULL), FLAKE_OK);
        CHECK(ids_told() == 0 && wide_ids_told() == 0 && snos_told() == 0);
        pass_ms(4);
        CHECK_EQ(flake_next_n(&gen, ids, 3), FLAKE_OK);
        CHECK_EQ(flake128_next_n(&wide, wides, 3), FLAKE_OK);
        CHECK_EQ(sno_next_n(&sno, 0, snos, 3), FLAKE_OK);
        CHECK(ids_told() == 3 && wide_ids_told() == 3 && snos_told() == 3);
        pass_ms(4);
        CHECK_EQ(flake_next_n(&gen, ids, 3), FLAKE_OK);
        CHECK_EQ(sno_next_n(&sno, 0, snos, 3), FLAKE_OK);
        CHECK(ids_told() == 6 && snos_told() == 6);
    }
}

/* Also those with a partition that nobody chose: the gate may know what others have done with it. */
TEST(whatever_is_begun_begins_behind_the_floor) {
    flake_options o = gated();
    const sno_snapshot pool = pool_of_four();
    uint64_t id = 0;
    flake128 wide_id = {0};
    flake_parts parts = {0, 0, 0};
    sno_id drawn = {0};
    sno_snapshot at;
    begin();
    const int64_t unit = unit_now();
    gate_floor_at_ns = (start_ms + 8) * a_ms;
    o.gate.not_before_ns = floor_of_gate;
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(ms_of(id), start_ms + 9);
    clock_to_ms(start_ms);
    CHECK_EQ(flake_init_shards(&shard, 1, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(&shard, &id), FLAKE_OK);
    CHECK_EQ(ms_of(id), start_ms + 9);
    clock_to_ms(start_ms);
    CHECK_EQ(init_wide(o), FLAKE_OK);
    CHECK_EQ(flake128_next(&wide, &wide_id), FLAKE_CLOCK_BACKWARDS); /* it does not wait for that */
    clock_to_ms(start_ms + 9);
    CHECK_EQ(flake128_next(&wide, &wide_id), FLAKE_OK);
    CHECK_EQ(flake128_decompose(&flake_layout_boundary, &wide_id, &parts), FLAKE_OK);
    CHECK_EQ(parts.unix_ms, start_ms + 9);
    for (int i = 0; i < 4; i++) {
        flake_options s = sno_options_of();
        s.gate.admit = ask_sno_gate;
        s.gate.not_before_ns = floor_of_gate;
        clock_to_ms(start_ms);
        if (i & 2) {
            CHECK_EQ(sno_init_shards(&sno_shard_of, 1, i & 1 ? &pool : NULL, &s, NULL), FLAKE_OK);
            drawn = next_sno(&sno_shard_of, 0);
        } else {
            CHECK_EQ(sno_init(&sno, i & 1 ? &pool : NULL, &s, NULL), FLAKE_OK);
            drawn = next_sno(&sno, 0);
        }
        CHECK_EQ((int64_t)sno_units(drawn), unit + 3);
        sno_gen *const drawn_from = i & 2 ? &sno_shard_of : &sno;
        CHECK_EQ(sno_snapshot_take(drawn_from, &at), FLAKE_OK);
        CHECK_EQ(at.drifts, 0);
        if (i & 2) continue;
        atomic_store(&gate_word, 0u);
        s.gate.fence = &gate_word;
        gate_floor_at_ns += 100 * a_ms;
        CHECK_EQ(sno_init(&sno, i & 1 ? &pool : NULL, &s, NULL),
                 FLAKE_LEASE_LOST);
        CHECK_EQ(sno_next(&sno, 0, &drawn), FLAKE_INVALID);
        gate_floor_at_ns -= 100 * a_ms;
    }
}

/* Nor one under what the other tick has used. */
TEST(a_floor_under_the_other_ticks_units_changes_nothing_there) {
    sno_snapshot s = pool_of_four();
    flake_options o = sno_options_of();
    begin();
    const int64_t unit = unit_now();
    s.wall_hi = unit - 3;
    s.wall_safe = unit + 10;
    s.drifts = 1;
    gate_floor_at_ns = SNO_I_EPOCH_MS * a_ms + (unit + 5) * 4 * a_ms;
    o.gate.admit = ask_sno_gate;
    o.gate.not_before_ns = floor_of_gate;
    CHECK_EQ(sno_init(&sno, &s, &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_snapshot_take(&sno, &s), FLAKE_OK);
    CHECK_EQ(s.wall_safe, unit + 10);
    CHECK_EQ(s.wall_hi, unit + 5);
}

/* A snapshot of a queue stands further than a floor of its first unit: its places are drawn. */
TEST(a_floor_under_a_longer_queue_changes_nothing) {
    begin();
    const int64_t unit = unit_now();
    for (int floor = 0; floor < 5; floor++) {
        sno_snapshot s = pool_of_four();
        flake_options o = sno_options_of();
        sno_id drawn = {0};
        s.wall_hi = unit;
        s.sequence = 3 * 4 - 1; /* three units */
        gate_floor_at_ns = SNO_I_EPOCH_MS * a_ms + (unit + floor) * 4 * a_ms;
        o.gate.admit = ask_sno_gate;
        o.gate.not_before_ns = floor_of_gate;
        clock_to_ms(start_ms);
        CHECK_EQ(sno_init(&sno, &s, &o, NULL), FLAKE_OK);
        CHECK_EQ(snos_told(), 0);
        CHECK_EQ(sno_next_n(&sno, 0, &drawn, 1), FLAKE_OK);
        CHECK_EQ((int64_t)sno_units(drawn), floor < 3 ? unit + 3 : unit + floor + 1);
        CHECK_EQ(sno_sequence(drawn), 0);
        CHECK_EQ(snos_told(), 1);
    }
}

/* ---- a fetch_add that others outran ---- */

TEST(a_place_after_the_last_unit_is_out_of_range) {
    flake_options o = options_in_scene(0);
    flake_i_ticket ticket = {0, 0, 0, 0, 0};
    uint64_t id = 0;
    begin();
    o.layout = flake_layout_of(10, 10, 12, start_ms - 1023);
    o.seq_max = 9;
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(id >> 22, 1023);
    const uint64_t word = atomic_fetch_add(&gen.engine.word, 13u) + 12;
    CHECK_EQ(flake_i_draw_slow(&gen.engine, FLAKE_I_WAIT | FLAKE_I_OVERSHOT, word, start_ms * a_ms, 1,
                               &ticket),
             FLAKE_TIME_RANGE);
    CHECK_EQ(atomic_load(&our->sleeps), 0);
    clock_to_ms(start_ms + 1);
    CHECK_EQ(flake_i_draw_slow(&gen.engine, FLAKE_I_WAIT | FLAKE_I_OVERSHOT, word, start_ms * a_ms, 1,
                               &ticket),
             FLAKE_TIME_RANGE);
    /* the last unit's own last place is one of the layout */
    CHECK_EQ(flake_i_draw_slow(&gen.engine, FLAKE_I_WAIT | FLAKE_I_OVERSHOT, word - 12 + 8,
                               start_ms * a_ms, 1, &ticket),
             FLAKE_OK);
    CHECK(ticket.time == 1023 && ticket.index == 9);
}

/* ---- the horizon, to the ns ---- */

/* The last ns of a unit is the horizon, and no other can be written: the unit's ids are let out. */
TEST(a_write_that_fails_harms_no_id_up_to_the_horizon) {
    flake_options o = options_in_scene(0);
    uint64_t id = 7;
    begin();
    atomic_store(&our->now_ns, (start_ms + 1) * a_ms - 1);
    CHECK_EQ(open_state(3000, false, &o), FLAKE_OK);
    CHECK_EQ((int64_t)atomic_load(&state.horizon), (start_ms + 3001) * a_ms - 1);
    o.state = &state;
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    disk_is_full = true;
    clock_to_ms(start_ms + 3000);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK_EQ(ms_of(id), start_ms + 3000);
    clock_to_ms(start_ms + 3001);
    id = 7;
    CHECK_EQ(flake_try(&gen, &id), FLAKE_IO);
    CHECK_EQ(id, 0);
    disk_is_full = false;
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

/* Three seconds before the clock ends the horizon is its last ns, and stays it. */
TEST(the_largest_horizon_is_the_clocks_last_ns) {
    flake_options o = options_in_scene(0);
    flake_state_options w;
    uint64_t id = 0, last = 0;
    begin();
    o.layout = flake_layout_of(44, 8, 12, 0);
    for (int run = 0; run < 2; run++) {
        atomic_store(&our->now_ns, INT64_MAX - (run ? 500 : 1000) * a_ms);
        memset(&w, 0, sizeof w);
        w.path = path_of("ids");
        w.no_wait = true;
        CHECK_EQ(flake_state_open(&state, &w, &o, NULL, NULL), FLAKE_OK);
        CHECK_EQ((int64_t)atomic_load(&state.horizon), INT64_MAX);
        if (run) break;
        o.state = &state;
        CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
        for (int i = 0; i < 20; i++, pass_ms(1)) {
            CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
            CHECK(id > last);
            last = id;
        }
        CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
        flake_i_file_drop(&state.file, false); /* as after a crash */
        memset(&state, 0, sizeof state);
    }
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK); /* all that is left may have been handed out */
    CHECK(flake_try(&gen, &id) != FLAKE_OK);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

TEST(a_horizon_has_bounds) {
    const flake_options o = options_in_scene(0);
    const int64_t most_ms = INT64_MAX / 1000000 / 4;
    begin();
    CHECK_EQ(open_state(most_ms + 1, false, &o), FLAKE_INVALID);
    CHECK_EQ(open_state(INT64_MAX, false, &o), FLAKE_INVALID);
    CHECK_EQ(open_state(most_ms, false, &o), FLAKE_OK);
    CHECK_EQ((int64_t)atomic_load(&state.horizon), (start_ms + most_ms) * a_ms);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

int main(int argc, char **argv) { return scene_main(argc, argv); }
