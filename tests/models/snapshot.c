/* SPDX-License-Identifier: MIT
 *
 * One thread draws while the clock goes back twice, another takes snapshots. A snapshot's parts
 * belong together: its count of the steps back, the tick, and the last unit used on the other tick.
 */
#include "model.h"
#include "sno.h"

static sno_gen gen;
static sno_snapshot taken[2];
static uint64_t units[5];
static unsigned ticks[5];

/* sno's unit is 4 ms, its epoch 2010: its clock stands `unit` units of its own behind that. */
static void clock_at(int64_t unit) { model_clock(INT64_C(1262304000000) + 4 * unit); }

static void *draw(void *unused) {
    static const int64_t at[] = {5, 3, 8, 7, 7};
    model_begin(2);
    for (unsigned i = 0; i < 5; i++) {
        sno_i_place place;
        clock_at(at[i]);
        sno_status status = sno_i_draw(&gen.engine, 0, 0, 1, &place);
        assert(status == SNO_OK);
        units[i] = place.time;
        ticks[i] = place.tick;
    }
    return unused;
}

static void *take(void *unused) {
    model_begin(2);
    for (unsigned i = 0; i < 2; i++) {
        sno_status status = sno_snapshot_take(&gen, &taken[i]);
        assert(status == SNO_OK);
        (void)status;
    }
    return unused;
}

int main(void) {
    static void *(*const bodies[])(void *) = {draw, take};
    static sno_snapshot at_start; /* zero */
    static sno_options options;
    at_start.partition = 1;
    options.snapshot = &at_start;
    options.shared_memory = true;
    for (int run = 0; run < RUNS; run++) {
        clock_at(0);
        sno_status status = sno_init(&gen, &options);
        assert(status == SNO_OK);
        (void)status;
        model_run(bodies, 2);
        for (unsigned i = 0; i < 2; i++) {
            static const int64_t used[] = {0, 5, 8}; /* on the other tick, after so many steps */
            const sno_snapshot *s = &taken[i];
            assert(s->drifts <= 2);
            assert(s->wall_safe == used[s->drifts]);
            assert(s->drifts != 0 || s->wall_hi == 0 || s->wall_hi == 5);
            assert(s->drifts != 1 || s->wall_hi == 3 || s->wall_hi == 8);
            assert(s->drifts != 2 || s->wall_hi == 7);
        }
        assert(taken[1].drifts >= taken[0].drifts);
        assert(units[3] == 7 && ticks[0] == 0 && ticks[2] == 1 && ticks[4] == 0);
        MODEL_REACHED(taken[0].drifts == 1 || taken[1].drifts == 1);
    }
    return 0;
}
