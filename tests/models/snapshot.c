/* SPDX-License-Identifier: MIT
 *
 * One thread draws while the clock goes back twice, another takes snapshots. A snapshot's parts
 * belong together: its count of the steps back, the tick, and the last unit used on the other tick.
 *
 * Weakened: SAFE:R, SAFE:A, SETTLE:R, SETTLE:A
 */
#include "model.h"
#include "sno.h"

/* For a checker one draw comes before all else, one is left out, and there is one snapshot. */
enum { BEFORE = RUNS > 1 ? 0 : 1, DRAWS = RUNS > 1 ? 5 : 4, SNAPSHOTS = RUNS > 1 ? 2 : 1 };

static sno_gen gen;
static sno_snapshot taken[SNAPSHOTS];
static uint64_t units[5];
static unsigned ticks[5];

/* sno's unit is 4 ms, its epoch 2010: its clock stands `unit` units of its own behind that. */
static void clock_at(int64_t unit) { model_clock(INT64_C(1262304000000) + 4 * unit); }

static void draw_at(unsigned i) {
    static const int64_t at[] = {5, 3, 8, 7, 7};
    sno_i_place place;
    clock_at(at[i]);
    sno_status status = sno_i_draw(&gen.engine, 0, 0, 1, &place);
    assert(status == SNO_OK);
    (void)status;
    units[i] = place.time;
    ticks[i] = place.tick;
}

static void *draw(void *unused) {
    model_begin(2);
    for (unsigned i = BEFORE; i < DRAWS; i++) draw_at(i);
    return unused;
}

static void *take(void *unused) {
    model_begin(2);
    for (unsigned i = 0; i < SNAPSHOTS; i++) {
        sno_status status = sno_snapshot_take(&gen, &taken[i]);
        assert(status == SNO_OK);
        (void)status;
    }
    return unused;
}

#if RUNS > 1
static void begin(void) {
    static sno_snapshot at_start; /* zero */
    static sno_options options;
    at_start.partition = 1;
    options.snapshot = &at_start;
    options.shared_memory = true;
    sno_status status = sno_init(&gen, &options);
    assert(status == SNO_OK);
    (void)status;
}
#else
/* What sno_init comes to, which copies structs. */
static void begin(void) {
    sno_i_engine *const e = &gen.engine;
    e->epoch_ns = (uint64_t)SNO_I_EPOCH_NS;
    e->unit_ns = SNO_I_UNIT_NS;
    e->max_time = ((uint64_t)1 << 39) - 1;
    e->tick_bits = 1;
    e->time_shift = SNO_I_TIME_SHIFT;
    e->count_mask = ((uint64_t)1 << (SNO_I_TIME_SHIFT - 1)) - 1;
    e->cap = UINT16_MAX + 1;
    e->fast_rest = e->add_rest = UINT16_MAX;
    e->reach_ns = e->unit_ns;
    e->unit_share = UINT64_MAX / e->unit_ns;
    e->is_plain = true;
    e->limit = e->count_mask;
    e->is_shared = true;
    gen.partition = 1;
}
#endif

int main(void) {
    static void *(*const bodies[])(void *) = {draw, take};
    for (int run = 0; run < RUNS; run++) {
        clock_at(0);
        begin();
        if (BEFORE) draw_at(0);
        model_run(bodies, 2);
        for (unsigned i = 0; i < SNAPSHOTS; i++) {
            static const int64_t used[] = {0, 5, 8}; /* on the other tick, after so many steps */
            const sno_snapshot *s = &taken[i];
            assert(s->drifts <= 2);
            assert(s->wall_safe == used[s->drifts]);
            assert(s->drifts != 0 || s->wall_hi == 0 || s->wall_hi == 5);
            assert(s->drifts != 1 || s->wall_hi == 3 || s->wall_hi == 8);
            assert(s->drifts != 2 || s->wall_hi == 7);
        }
        assert(taken[SNAPSHOTS - 1].drifts >= taken[0].drifts);
        assert(units[3] == 7 && ticks[0] == 0 && ticks[2] == 1 && ticks[DRAWS - 1] == 0);
        MODEL_REACHED(taken[0].drifts == 1 || taken[SNAPSHOTS - 1].drifts == 1);
    }
    return 0;
}
