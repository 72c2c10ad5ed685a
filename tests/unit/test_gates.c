/* SPDX-License-Identifier: MIT
 *
 * Gates (flake_gate in flake.h): the times that a gate is asked for, and its word; where a generator with a floor
 * begins, and its statistics; a caller that others' draws have pushed into a later unit (`>>engine`, fetch_add); the
 * horizon of a directory, exact to the ns.
 */
#define _GNU_SOURCE
#include "process_scene.h"
#include "flake.h"
#include "sno.h"
#include "options.h"

static flake_gen gen, shards[2], wide;
static sno_gen sno, sno_shards[2];

/* Each test's gate: what it answers, and what it was asked. */
static struct {
    flake_atomic64 word;
    flake_status answer;
    int64_t until_ns, floor_ns;
    int asked;
} at_gate;

static flake_status ask_gate(void *user, int64_t until_ns) {
    CHECK(user == &at_gate);
    at_gate.asked++;
    at_gate.until_ns = until_ns;
    return at_gate.answer;
}

static int64_t floor_of_gate(void *user) {
    CHECK(user == &at_gate);
    return at_gate.floor_ns;
}

static flake_gate gate;

/* Its answer is FLAKE_OK until a test sets another one. */
static void open_gate(void) {
    at_gate.answer = FLAKE_OK;
    at_gate.asked = 0;
    gate = (flake_gate){.admit = ask_gate, .user = &at_gate};
}

static void open_gate_with_floor(int64_t floor_ns) {
    open_gate();
    gate.not_before_ns = floor_of_gate;
    at_gate.floor_ns = floor_ns;
}

static flake_node gated(uint64_t number) { return flake_node_gated(&gate, number); }

static flake_options sno_options(void) { return options_of_sno(scene_clock, NULL); }
static sno_snapshot pool_of_four(void) { return pool_of_numbers(5, 0, 3); }

static int64_t unit_now(void) { return (scene_ns() - SNO_I_EPOCH_MS * a_ms) / (4 * a_ms); }
static int64_t unit_ns(int64_t unit) { return SNO_I_EPOCH_MS * a_ms + unit * 4 * a_ms; }

static void clock_to_ms(int64_t ms) { move_to_ns(ms * a_ms); }

static uint64_t told(flake_gen *g) {
    flake_stats stats;
    flake_stats_get(g, &stats);
    return stats.ids;
}

static flake_status init_wide(flake_options o) {
    o.layout = flake_layout_boundary;
    return flake_init(&wide, gated(0), &o, NULL);
}

static flake_parts parts_of_wide(const flake128 *id) {
    flake_parts parts = {0, 0, 0};
    CHECK_EQ(flake128_decompose(&flake_layout_boundary, id, &parts), FLAKE_OK);
    return parts;
}

/* ---- the gate's word ---- */

/* The gate admits everything, and has a word. */
static void begin_with_word(unsigned word) {
    begin();
    open_gate();
    gate.fence = &at_gate.word;
    atomic_store(&at_gate.word, word);
}

TEST(nothing_begins_behind_a_closed_gate) {
    const sno_snapshot pool = pool_of_four();
    const flake_options o = options_in_scene(), s = sno_options();
    begin_with_word(0);
    CHECK_EQ(flake_init(&gen, gated(0), &o, NULL), FLAKE_LEASE_LOST);
    CHECK_EQ(flake_init_shards(shards, 2, gated(0), &o, NULL), FLAKE_LEASE_LOST);
    CHECK_EQ(init_wide(o), FLAKE_LEASE_LOST);
    CHECK_EQ(sno_init(&sno, gated(5), &pool, &s, NULL), FLAKE_LEASE_LOST);
    CHECK_EQ(sno_init_shards(sno_shards, 2, gated(5), &pool, &s, NULL), FLAKE_LEASE_LOST);
    CHECK_EQ(at_gate.asked, 0);
    CHECK(!gen.engine.unit_capacity && !shards->engine.unit_capacity && !wide.engine.unit_capacity);
    CHECK(!sno.gen.engine.unit_capacity && !sno_shards->gen.engine.unit_capacity);
}

static int64_t close_meanwhile(void *user) {
    (void)user;
    atomic_store(&at_gate.word, 0);
    return INT64_MIN;
}

TEST(shards_whose_gate_closes_during_init_are_all_refused) {
    const sno_snapshot pool = pool_of_four();
    const flake_options o = options_in_scene(), s = sno_options();
    uint64_t id;
    sno_id drawn;
    for (int of_snos = 0; of_snos < 2; of_snos++) {
        begin_with_word(5);
        gate.not_before_ns = close_meanwhile;
        CHECK_EQ(of_snos ? sno_init_shards(sno_shards, 2, gated(5), &pool, &s, NULL)
                         : flake_init_shards(shards, 2, gated(0), &o, NULL),
                 FLAKE_LEASE_LOST);
        for (size_t i = 0; i < 2; i++)
            CHECK_EQ(of_snos ? sno_next(&sno_shards[i], 0, &drawn) : flake_next(&shards[i], &id), FLAKE_INVALID);
    }
}

TEST(a_gates_word_is_looked_at_by_each_draw) {
    const sno_snapshot pool = pool_of_four();
    const flake_options o = options_in_scene(), s = sno_options();
    uint64_t id = 7;
    sno_id drawn;
    begin_with_word(5);
    CHECK_EQ(flake_init(&gen, gated(0), &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&sno, gated(5), &pool, &s, NULL), FLAKE_OK);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
        CHECK_EQ(sno_try(&sno, 0, &drawn), FLAKE_OK);
    }
    const int asked = at_gate.asked;
    for (unsigned closed = 0; closed < 2; closed++) { /* closed, and opened again for another */
        atomic_store(&at_gate.word, closed ? 6u : 0u);
        FAILS(flake_next(&gen, &id), FLAKE_LEASE_LOST, id);
        FAILS(flake_try(&gen, &id), FLAKE_LEASE_LOST, id);
        FAILS(sno_try(&sno, 0, &drawn), FLAKE_LEASE_LOST, drawn);
        CHECK_EQ(told(&gen), 3);
    }
    CHECK_EQ(at_gate.asked, asked); /* the word alone closes it */
    CHECK_EQ(flake_init(&gen, gated(0), &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&sno, gated(5), &pool, &s, NULL), FLAKE_OK);
    clock_to_ms(start_ms + 1);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);

    /* Draws look at the fence alone until their unit ends. */
    sno_snapshot of_sno;
    flake_machine_cloned();
    CHECK_EQ(sno_snapshot_take(&sno, &of_sno), FLAKE_FORKED);
    FAILS(sno_with_time(&sno, 0, start_ms, &drawn), FLAKE_FORKED, drawn);
    clock_to_ms(start_ms + 2);
    FAILS(flake_try(&gen, &id), FLAKE_FORKED, id);
}

TEST(a_reinit_has_its_own_nodes_gate) {
    const sno_snapshot before = pool_of_four();
    const flake_options o = options_in_scene(), s = sno_options();
    uint64_t id;
    sno_id drawn;
    begin_with_word(5);
    CHECK_EQ(flake_init(&gen, gated(0), &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&sno, gated(5), &before, &s, NULL), FLAKE_OK);
    for (uint64_t number = 6; number < 10; number++) {
        const bool is_gated = number % 2;
        const flake_node node =
            is_gated ? gated(number) : flake_node_fixed(NULL, number);
        const flake_status status = is_gated ? FLAKE_LEASE_LOST : FLAKE_OK;
        flake_machine_cloned();
        atomic_store(&at_gate.word, 0u);
        CHECK_EQ(flake_reinit_after_fork(&gen, node, &o, NULL), status);
        CHECK_EQ(sno_reinit_after_fork(&sno, node, NULL, &s, NULL), status);
        if (is_gated) { /* nothing has changed */
            FAILS(flake_try(&gen, &id), FLAKE_FORKED, id);
            FAILS(sno_try(&sno, 0, &drawn), FLAKE_FORKED, drawn);
            atomic_store(&at_gate.word, 7u); /* another claim, perhaps of another number */
            CHECK_EQ(flake_reinit_after_fork(&gen, node, &o, NULL), FLAKE_LEASE_LOST);
            CHECK_EQ(sno_reinit_after_fork(&sno, node, NULL, &s, NULL), FLAKE_LEASE_LOST);
            const flake_node now = flake_node_gated(&gate, number);
            CHECK_EQ(flake_reinit_after_fork(&gen, now, &o, NULL), FLAKE_OK);
            CHECK_EQ(sno_reinit_after_fork(&sno, now, NULL, &s, NULL), FLAKE_OK);
        }
        at_gate.answer = FLAKE_LEASE_LOST;
        at_gate.asked = 0;
        CHECK_EQ(flake_try(&gen, &id), status);
        CHECK_EQ(at_gate.asked, is_gated);
        CHECK_EQ(sno_try(&sno, 0, &drawn), status);
        CHECK_EQ(at_gate.asked, 2 * is_gated);
        at_gate.answer = FLAKE_OK;
        CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
        CHECK_EQ(sno_try(&sno, 0, &drawn), FLAKE_OK);
        CHECK(flake_gen_node(&gen) == number && sno_gen_partition(&sno) == number);
    }
}

/* ---- what a gate is asked for ---- */

TEST(a_gate_is_asked_for_each_unit) {
    flake_options o = options_in_scene();
    uint64_t id = 7, ids[10];
    open_gate();
    o.seq_max = 9;
    at_gate.answer = FLAKE_LEASE_LOST;
    CHECK_EQ(flake_init(&gen, gated(0), &o, NULL), FLAKE_OK);
    FAILS(flake_next(&gen, &id), FLAKE_LEASE_LOST, id);
    FAILS(flake_try(&gen, &id), FLAKE_LEASE_LOST, id);
    FAILS(flake_try_at(&gen, start_ms, &id), FLAKE_LEASE_LOST, id);
    FAILS(flake_next_n(&gen, &id, 1), FLAKE_LEASE_LOST, id);
    CHECK_EQ(got64_n(&gen, &id, 1), 0);
    at_gate.answer = FLAKE_OK;
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(at_gate.until_ns, (start_ms + 1) * a_ms - 1);
    at_gate.asked = 0;
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK); /* the same unit */
    CHECK_EQ(at_gate.asked, 0);
    CHECK_EQ(flake_next_n(&gen, ids, 10), FLAKE_OK); /* two of them in the next */
    CHECK_EQ(at_gate.asked, 1);
    CHECK_EQ(at_gate.until_ns, (start_ms + 2) * a_ms - 1);

    at_gate.answer = FLAKE_LEASE_LOST;
    o.layout = flake_layout_of(41, 10, 12, start_ms); /* the first since the epoch, too */
    clock_to_ms(start_ms);
    CHECK_EQ(flake_init(&gen, gated(0), &o, NULL), FLAKE_OK);
    CHECK(flake_try(&gen, &id) != FLAKE_OK);
}

TEST(a_gate_that_says_again_is_waited_for) {
    flake_options o = options_in_scene();
    uint64_t id;
    open_gate();
    o.max_wait_ms = 50;
    at_gate.answer = FLAKE_AGAIN;
    CHECK_EQ(flake_init(&gen, gated(0), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(at_gate.asked, 1);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(scene_ns(), (start_ms + 50) * a_ms);
    CHECK_EQ(at_gate.asked, 52);
}

TEST(a_batch_asks_for_its_last_unit) {
    flake_options o = options_in_scene();
    uint64_t ids[35];
    open_gate();
    o.seq_max = 9;
    o.max_ahead_ms = 5;
    CHECK_EQ(flake_init(&gen, gated(0), &o, NULL), FLAKE_OK);
    CHECK_EQ(got64_n(&gen, ids, 35), 35);
    CHECK_EQ(ms_of(ids[34]), start_ms + 3);
    CHECK_EQ(at_gate.asked, 1);
    CHECK_EQ(at_gate.until_ns, (start_ms + 4) * a_ms - 1);
    at_gate.answer = FLAKE_LEASE_LOST;
    CHECK_EQ(got64_n(&gen, ids, 5), 0);
    CHECK_EQ(at_gate.until_ns, (start_ms + 4) * a_ms - 1); /* the last five of that unit */
    at_gate.answer = FLAKE_OK;
    CHECK_EQ(got64_n(&gen, ids, 6), 6);
    CHECK_EQ(at_gate.until_ns, (start_ms + 5) * a_ms - 1);
}

/* ---- floors ---- */

/* The gate's floor, and that of the options: the later one counts. */
TEST(the_later_floor_counts) {
    flake_options o = options_in_scene();
    uint64_t id = 0;
    for (int i = 0; i < 2; i++) {
        clock_to_ms(start_ms);
        open_gate_with_floor((start_ms + (i ? 5 : -5)) * a_ms);
        o.after_unix_ms = start_ms - 2 + 2 * i;
        CHECK_EQ(flake_init(&gen, gated(0), &o, NULL), FLAKE_OK);
        CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
        CHECK_EQ(ms_of(id), start_ms + (i ? 6 : 0));
    }
    clock_to_ms(start_ms);
    o.after_unix_ms = start_ms + 9; /* init waits for it */
    CHECK_EQ(flake_init(&gen, gated(0), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(ms_of(id), start_ms + 10);
}
TEST(whatever_is_begun_begins_after_the_floor) {
    const flake_options o = options_in_scene();
    uint64_t id = 0;
    flake128 wide_id = {0};
    for (int within = 0; within < 2; within++) { /* a unit, or where one begins: it is not ours */
        open_gate_with_floor((start_ms + 8) * a_ms + within);
        clock_to_ms(start_ms);
        CHECK_EQ(flake_init(&gen, gated(0), &o, NULL), FLAKE_OK);
        CHECK(flake_try(&gen, &id) != FLAKE_OK);
        CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
        CHECK_EQ(ms_of(id), start_ms + 9);
        clock_to_ms(start_ms);
        CHECK_EQ(flake_init_shards(shards, 2, gated(0), &o, NULL), FLAKE_OK);
        CHECK_EQ(flake_next(&shards[within], &id), FLAKE_OK);
        CHECK_EQ(ms_of(id), start_ms + 9);
        clock_to_ms(start_ms);
        CHECK_EQ(init_wide(o), FLAKE_OK);
        CHECK_EQ(flake128_next(&wide, &wide_id), FLAKE_CLOCK_BACKWARDS); /* it does not wait for that */
        clock_to_ms(start_ms + 8);
        CHECK(flake128_try(&wide, &wide_id) != FLAKE_OK);
        clock_to_ms(start_ms + 9);
        CHECK_EQ(flake128_next(&wide, &wide_id), FLAKE_OK);
        CHECK_EQ(parts_of_wide(&wide_id).unix_ms, start_ms + 9);
    }
}

/* Also a generator of the whole pool. */
TEST(snos_begin_after_the_floor) {
    const flake_options s = sno_options();
    const sno_snapshot pool = pool_of_four();
    const int64_t unit = unit_now();
    sno_id drawn;
    sno_snapshot at;
    for (int i = 0; i < 4; i++) {
        const sno_snapshot *const given = i & 1 ? &pool : NULL;
        const bool of_shards = i & 2;
        sno_gen *const from = of_shards ? sno_shards : &sno;
        open_gate_with_floor((start_ms + 8) * a_ms + 1);
        clock_to_ms(start_ms);
        CHECK_EQ(of_shards ? sno_init_shards(from, 2, gated(5), given, &s, NULL)
                           : sno_init(from, gated(5), given, &s, NULL),
                 FLAKE_OK);
        drawn = next_sno(from, 0);
        CHECK_EQ((int64_t)sno_units(drawn), unit + 3);
        CHECK_EQ(sno_snapshot_take(from, &at), FLAKE_OK);
        CHECK_EQ(at.drifts, 0);
        gate.fence = &at_gate.word; /* closed */
        atomic_store(&at_gate.word, 0u);
        at_gate.floor_ns += 100 * a_ms;
        CHECK_EQ(sno_init(&sno, gated(5), given, &s, NULL), FLAKE_LEASE_LOST);
        CHECK_EQ(sno_next(&sno, 0, &drawn), FLAKE_INVALID);
    }
}

/* Nor a floor before the times used on the other tick. */
TEST(a_floor_under_the_other_ticks_units_changes_nothing_there) {
    sno_snapshot s = pool_of_four();
    const flake_options o = sno_options();
    const int64_t unit = unit_now();
    open_gate_with_floor(unit_ns(unit + 5));
    s.wall_hi = unit - 3;
    s.wall_safe = unit + 10;
    s.drifts = 1;
    CHECK_EQ(sno_init(&sno, gated(5), &s, &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_snapshot_take(&sno, &s), FLAKE_OK);
    CHECK_EQ(s.wall_safe, unit + 10);
    CHECK_EQ(s.wall_hi, unit + 5);
}

/* A snapshot of a queue is later than a floor of its first unit: its tickets are drawn. */
TEST(a_floor_under_a_longer_queue_changes_nothing) {
    const int64_t unit = unit_now();
    for (int floor = 0; floor < 5; floor++) {
        sno_snapshot s = pool_of_four();
        const flake_options o = sno_options();
        sno_id drawn = {0};
        open_gate_with_floor(unit_ns(unit + floor));
        s.wall_hi = unit;
        s.sequence = 3 * 4 - 1; /* three units */
        clock_to_ms(start_ms);
        CHECK_EQ(sno_init(&sno, gated(5), &s, &o, NULL), FLAKE_OK);
        CHECK_EQ(told(&sno.gen), 0);
        CHECK_EQ(sno_next(&sno, 0, &drawn), FLAKE_OK);
        CHECK_EQ((int64_t)sno_units(drawn), floor < 3 ? unit + 3 : unit + floor + 1);
        CHECK_EQ(sno_sequence(drawn), 0);
        CHECK_EQ(told(&sno.gen), 1);
    }
}

/* ---- a fetch_add after which others draw more ---- */

static flake_i_ticket ticket;

static flake_status draw_slowly(uint64_t word) {
    const unsigned request = FLAKE_I_WAIT | FLAKE_I_OVERSHOT;
    return flake_i_draw_slow(&gen.engine, request, word, start_ms * a_ms, 1, &ticket);
}

/* Draws one of ten a unit; and after it 12 others', and one more, which returns this word. */
static uint64_t outrun(flake_node node, flake_options o) {
    uint64_t id;
    o.seq_max = 9;
    CHECK_EQ(flake_init(&gen, node, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    return atomic_fetch_add(&gen.engine.word, 13u) + 12;
}

/* A caller whose ticket others' draws have pushed into a later unit asks for that one. */
TEST(a_place_in_the_queue_is_asked_for) {
    open_gate();
    const uint64_t word = outrun(gated(0), options_in_scene());
    at_gate.answer = FLAKE_LEASE_LOST;
    CHECK_EQ(draw_slowly(word), FLAKE_LEASE_LOST);
    CHECK_EQ(atomic_load(&gen.engine.word), word); /* returned */
}

TEST(a_place_whose_unit_has_begun_is_not_waited_for) {
    for (unsigned early = 0; early < 2; early++) {
        flake_stats stats;
        clock_to_ms(start_ms);
        const uint64_t word = outrun(flake_node_fixed(NULL, 0), options_in_scene());
        move_to_ns((start_ms + 1) * a_ms - early);
        CHECK(draw_slowly(word) == FLAKE_OK && ticket.index == 3);
        flake_stats_get(&gen, &stats);
        CHECK_EQ(stats.waits, early);
    }
}

TEST(a_place_after_the_last_unit_is_out_of_range) {
    flake_options o = options_in_scene();
    o.layout = flake_layout_of(10, 10, 12, start_ms - 1023);
    const uint64_t word = outrun(flake_node_fixed(NULL, 0), o);
    CHECK_EQ(draw_slowly(word), FLAKE_TIME_RANGE);
    CHECK_EQ(atomic_load(&our->sleeps), 0);
    clock_to_ms(start_ms + 1);
    CHECK_EQ(draw_slowly(word), FLAKE_TIME_RANGE);
    CHECK_EQ(draw_slowly(word - 12 + 8), FLAKE_OK); /* its own last ticket is one of the layout */
    CHECK(ticket.time == 1023 && ticket.index == 9);
}

/* ---- the horizon, to the ns ---- */

static flake_node number_here(void) { return flake_node_fixed(our_folder, 0); }

static int64_t horizon_ns(void) { return (int64_t)atomic_load(&gen.claim.horizon_ns); }

/* The horizon is a unit's last ns, and no later one can be written: the unit's IDs are admitted. */
TEST(a_write_that_fails_harms_no_id_up_to_the_horizon) {
    const flake_options o = options_in_scene();
    uint64_t id = 7;
    move_to_ns((start_ms + 1) * a_ms - 1);
    CHECK_EQ(flake_init(&gen, number_here(), &o, NULL), FLAKE_OK);
    CHECK_EQ(horizon_ns(), (start_ms + 3001) * a_ms - 1);
    disk_fail(1, 1000);
    clock_to_ms(start_ms + 3000);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK_EQ(ms_of(id), start_ms + 3000);
    clock_to_ms(start_ms + 3001);
    FAILS(flake_try(&gen, &id), FLAKE_IO, id);
    disk_begin();
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
}

/* Three seconds before the clock ends the horizon is its last ns, and does not change. */
TEST(the_largest_horizon_is_the_clocks_last_ns) {
    flake_options o = options_in_scene();
    uint64_t id;
    o.no_wait = true;
    o.layout = flake_layout_of(44, 8, 12, 0);
    move_to_ns(INT64_MAX - 3000 * a_ms);
    CHECK_EQ(flake_init(&gen, number_here(), &o, NULL), FLAKE_OK);
    for (int i = 0; i < 2998; i++, pass_ms(1)) {
        CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
        note(id);
        if (i > 2000) CHECK_EQ(horizon_ns(), INT64_MAX);
    }
    CHECK_EQ(repeated(), 0);
    disk_fail(1, 1000);
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK); /* there is nothing to write */
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    disk_begin();
    flake_i_file_drop(&gen.claim.file, false); /* as after a crash */
    CHECK_EQ(flake_init(&gen, number_here(), &o, NULL), FLAKE_OK);
    CHECK_EQ(horizon_ns(), INT64_MAX);
    /* all that is left may have been issued */
    CHECK(flake_try(&gen, &id) != FLAKE_OK);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
}

int main(int argc, char **argv) { return scene_main(argc, argv); }
