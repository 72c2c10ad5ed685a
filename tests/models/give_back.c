/* SPDX-License-Identifier: MIT
 *
 * Callers queue, and the clock is put back while they sleep: each gives its place back if it is
 * still the newest, and draws another. No place is handed out twice. Each draws
 * once, and the clock steps once: a thread that sleeps a second time waits for ever.
 *
 * Weakened: none
 */
#define MODEL_SLEEPS 1
#define MODEL_CLOCK_APART
#include "model.h"

static flake_i_engine engine;
static model_ids before, got[2];

static void *draw_a(void *unused) {
    model_draw(&engine, FLAKE_I_WAIT, &got[0]);
    return unused;
}

static void *draw_b(void *unused) {
    model_draw(&engine, FLAKE_I_WAIT, &got[1]);
    return unused;
}

static void *tell_time(void *unused) {
    model_clock(8);
    return unused;
}

int main(void) {
    static void *(*const bodies[])(void *) = {draw_a, draw_b, tell_time};
    model_engine(&engine, 1, 1, 9);
    model_clock(9);
    model_draw(&engine, FLAKE_I_WAIT, &before); /* all others queue */
    model_run(bodies, 3);
    bool ridden = false; /* a step back by a change of the timeline */
    for (unsigned i = 0; i < 2; i++) {
        model_different(&got[i], &got[i]);
        model_different(&got[i], &before);
        for (unsigned k = 0; k < got[i].n; k++) {
            assert(got[i].id[k]);
            ridden |= model_tick(got[i].id[k]) == 1;
        }
    }
    model_different(&got[0], &got[1]);
    MODEL_REACHED(ridden);
    return 0;
}
