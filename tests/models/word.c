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

void model_thread(unsigned who) {
    if (who == 2) model_clock(6);
    else model_draw(&engine, who ? 0 : FLAKE_I_WAIT, &got[who]);
    if (who == 0) model_draw(&engine, FLAKE_I_WAIT, &got[0]);
}

int main(void) {
    model_engine(&engine, 2, 0, 5);
    model_clock(5);
    model_run(3);
    if (got[0].n) assert(got[0].id[0]); /* a caller that waits has one */
    if (got[0].n > 1) assert(!got[0].id[1] || got[0].id[1] > got[0].id[0]);
    (void)model_different(got, 2);
    /* both units were drawn from, by both */
    MODEL_REACHED(got[0].n > 1 && model_time(got[0].id[0]) == 5 &&
                  model_time(got[0].id[1]) == 6 && got[1].n && got[1].id[got[1].n - 1]);
    return 0;
}
