/* SPDX-License-Identifier: MIT
 *
 * I2: the clock only goes forward. However old a slow thread's reading is, no thread mistakes it
 * for a backward step: no call fails for it, and the timeline does not change.
 *
 * Weakened: LEAVE:R, LOOK:A
 */
#include "model.h"

static flake_i_engine engine;
static model_ids before, got[2];

void model_thread(unsigned who) {
    if (who < 2) model_draw(&engine, FLAKE_I_WAIT, &got[who]);
    for (int i = 0; who == 2 && i < 2; i++) model_go_on();
}

int main(void) {
    model_engine(&engine, 1, 1, 5);
    model_clock(5);
    model_draw(&engine, FLAKE_I_WAIT, &before); /* the unit is exhausted */
    model_run(3);
    for (unsigned i = 0; i < 2; i++)
        for (unsigned k = 0; k < got[i].n; k++) assert(got[i].id[k] && model_tick(got[i].id[k]) == 0);
    (void)model_different(got, 2);
    /* one was slow while the other continued */
    MODEL_REACHED(got[0].n && got[1].n && model_time(got[0].id[0]) < model_time(got[1].id[0]));
    return 0;
}
