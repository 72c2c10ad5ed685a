/* SPDX-License-Identifier: MIT
 *
 * I1: two threads draw from one word, by fetch_add and by CAS, while a unit ends. No place is drawn
 * twice, and each thread's rise.
 *
 * Weakened: none
 */
#include "model.h"

static flake_i_engine engine;
static model_ids got[2];

static void *draw_a(void *unused) {
    model_draw(&engine, FLAKE_I_WAIT, &got[0]);
    model_draw(&engine, FLAKE_I_WAIT, &got[0]);
    return unused;
}

static void *draw_b(void *unused) {
    model_draw(&engine, 0, &got[1]);
    return unused;
}

static void *tell_time(void *unused) {
    model_clock(6);
    return unused;
}

int main(void) {
    static void *(*const bodies[])(void *) = {draw_a, draw_b, tell_time};
    model_engine(&engine, 2, 0, 5);
    model_clock(5);
    model_run(bodies, 3);
    if (got[0].n) assert(got[0].id[0]); /* a caller that waits has one */
    for (unsigned i = 0; i < 2; i++) {
        if (got[i].n > 1) assert(!got[i].id[1] || got[i].id[1] > got[i].id[0]);
        model_different(&got[i], &got[i]);
    }
    model_different(&got[0], &got[1]);
    /* both units were drawn from, by both */
    MODEL_REACHED(got[0].n > 1 && model_time(got[0].id[0]) == 5 &&
                  model_time(got[0].id[1]) == 6 && got[1].n && got[1].id[got[1].n - 1]);
    return 0;
}
