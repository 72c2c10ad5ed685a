/* SPDX-License-Identifier: MIT
 *
 * One thread draws while the clock goes backwards twice, another takes snapshots. A snapshot is
 * consistent: its count of backward steps, the tick, and the last unit used on the other tick.
 *
 * Weakened: SAFE:R, SAFE:A, SETTLE:R, SETTLE:A
 */
#include "model.h"
#include "sno.h"

static sno_gen gen;
static sno_snapshot taken;
static uint64_t units[4];
static unsigned ticks[4];

/* sno's unit is 4 ms, its epoch 2010: its clock is `unit` units after that. */
static void clock_at(int64_t unit) { model_clock(INT64_C(1262304000000) + 4 * unit); }

static void draw_at(unsigned i) {
    static const int64_t at[] = {5, 3, 8, 7};
    flake_i_ticket ticket;
    clock_at(at[i]);
    model_ok(flake_i_draw(&gen.gen.engine, 0, 0, 1, &ticket));
    units[i] = ticket.time;
    ticks[i] = ticket.tick;
}

/* The result of sno_init, which copies structs. */
static void begin(void) {
    flake_i_engine *const e = &gen.gen.engine;
    e->epoch_ns = (uint64_t)SNO_I_EPOCH_MS * 1000000;
    e->unit_ns = SNO_I_UNIT_MS * 1000000;
    e->max_time = ((uint64_t)1 << 39) - 1;
    e->tick_bits = 1;
    e->time_shift = SNO_I_TIME_SHIFT;
    e->count_mask = ((uint64_t)1 << (SNO_I_TIME_SHIFT - 1)) - 1;
    e->unit_capacity = UINT16_MAX + 1;
    e->fast_limit = e->add_limit = UINT16_MAX;
    e->unit_plus_slack_ns = e->unit_ns;
    e->unit_share = UINT64_MAX / e->unit_ns;
    FLAKE_ATOMIC_STORE(&e->first_limit, e->unit_capacity, relaxed);
    e->frequent = UINT64_MAX;
    e->count_limit = e->count_mask;
    e->is_shared = true;
    gen.gen.kind = FLAKE_I_PART | FLAKE_I_MULTI;
    gen.gen.node = 1;
}

void model_thread(unsigned who) {
    for (unsigned i = 1; who == 0 && i < 4; i++) draw_at(i);
    if (who == 1) model_ok(sno_snapshot_take(&gen, &taken));
}

int main(void) {
    clock_at(0);
    begin();
    draw_at(0);
    model_run(2);
    /* after so many steps: the last unit used on the other tick, and on this one */
    static const int64_t used[] = {0, 5, 8}, first[] = {0, 3, 7}, last[] = {5, 8, 7};
    const uint64_t steps = taken.drifts;
    assert(steps <= 2 && taken.wall_safe == used[steps]);
    assert(taken.wall_hi == first[steps] || taken.wall_hi == last[steps]);
    assert(units[3] == 7 && ticks[0] == 0 && ticks[2] == 1 && ticks[3] == 0);
    MODEL_REACHED(taken.drifts == 1);
    return 0;
}
