/* SPDX-License-Identifier: MIT
 *
 * Two threads borrow a pool's only shard, draw with plain loads and stores, and return it. One has
 * it at a time, sees what the other left (LEND:A, BACK:R), and no place is drawn twice.
 *
 * Weakened: BACK:R, LEND:A
 */
#include "model.h"

static flake_i_engine engine;
static flake_i_atomic32 hint;
static model_ids got[2];
static int holders, loans; /* plain on purpose: a race on them is a shard lent twice */

static void draw(unsigned who) {
    for (int i = 0; i < 2; i++) {
        flake_i_engine *e = flake_i_lend(&engine, sizeof engine, 1, &hint);
        if (!e) continue;
        holders++;
        assert(holders == 1);
        loans++;
        model_draw(e, FLAKE_I_OWNED, &got[who]);
        holders--;
        flake_i_take_back(e);
    }
}

static void *draw_a(void *unused) {
    draw(0);
    return unused;
}

static void *draw_b(void *unused) {
    draw(1);
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
    assert(holders == 0 && loans == (int)(got[0].n + got[1].n));
    for (unsigned i = 0; i < 2; i++) model_different(&got[i], &got[i]);
    model_different(&got[0], &got[1]);
    MODEL_REACHED(got[0].n && got[1].n);
    return 0;
}
