/* SPDX-License-Identifier: MIT
 *
 * The clock goes back three times while two threads draw (the first time is over). However
 * slow the one is that has changed the timeline to count it, each change is counted once: whoever leaves
 * next settles it.
 *
 * Weakened: none
 */
#include "model.h"

static flake_i_engine engine;
static model_ids got[3];

/* Whether an id was drawn in this unit, on this timeline. */
static bool drawn(uint64_t time, unsigned tick) {
    for (unsigned i = 0; i < 3; i++)
        for (unsigned k = 0; k < got[i].n; k++)
            if (got[i].id[k] && model_time(got[i].id[k]) == time &&
                model_tick(got[i].id[k]) == tick)
                return true;
    return false;
}

/* Whether the timeline was changed when the clock went from `high` to `low`. Whoever changes it has
 * an id, and each pair of units allows for one change. */
static bool changed(uint64_t high, uint64_t low) {
    return (drawn(high, 0) && drawn(low, 1)) || (drawn(high, 1) && drawn(low, 0));
}

void model_thread(unsigned who) {
    if (who) model_clock(12);
    model_draw(&engine, 0, &got[who]);
    if (!who) return;
    model_clock(11);
    model_draw(&engine, 0, &got[who]);
}

int main(void) {
    model_engine(&engine, 100, 1, 5); /* whoever draws at 3 leaves it */
    model_clock(5);
    model_clock(3);
    model_draw(&engine, 0, &got[2]);
    model_clock(8);
    model_draw(&engine, 0, &got[2]);
    FLAKE_ATOMIC_STORE(&engine.drifts, 0u, relaxed); /* it never comes to count that */
    model_clock(7);
    model_run(2);
    const unsigned changes =
        (unsigned)drawn(3, 1) + (unsigned)changed(8, 7) + (unsigned)changed(12, 11);
    const uint64_t word = FLAKE_ATOMIC_LOAD(&engine.word, relaxed);
    uint64_t drifts = 0;
    const bool settled = flake_i_drifts_at(&engine, word, flake_i_tick(&engine, word), &drifts);
    assert(settled && drifts == changes);
    (void)settled;
    (void)model_different(got, 3);
    MODEL_REACHED(changes == 3);
    return 0;
}
