/* SPDX-License-Identifier: MIT
 *
 * I5: the clock goes backwards, forward, and backwards again while two threads draw. No ticket is
 * drawn twice on either timeline. With LEAVE:R or LOOK:A relaxed, one is.
 *
 * Weakened: LEAVE:R, LOOK:A
 */
#include "model.h"

static flake_i_engine engine;
static model_ids got[3];

void model_thread(unsigned who) {
    if (who < 2) model_draw(&engine, 0, &got[who]);
    for (int unit = 3; who == 2 && unit >= 2; unit--) model_clock(unit);
}

int main(void) {
    model_engine(&engine, 1, 1, 2);
    model_clock(2);
    model_draw(&engine, 0, &got[2]);
    model_clock(5);
    model_draw(&engine, 0, &got[2]);
    model_run(3);
    const bool ridden = model_different(got, 3);
    MODEL_REACHED(ridden);
    return 0;
}
