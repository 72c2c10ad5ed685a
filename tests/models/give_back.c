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
static model_ids got[3];

void model_thread(unsigned who) {
    if (who < 2) model_draw(&engine, FLAKE_I_WAIT, &got[who]);
    else model_clock(8);
}

int main(void) {
    model_engine(&engine, 1, 1, 9);
    model_clock(9);
    model_draw(&engine, FLAKE_I_WAIT, &got[2]); /* all others queue */
    model_run(3);
    for (unsigned i = 0; i < 2; i++)
        for (unsigned k = 0; k < got[i].n; k++) assert(got[i].id[k]);
    const bool ridden = model_different(got, 3);
    MODEL_REACHED(ridden);
    return 0;
}
