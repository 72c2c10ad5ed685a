/* SPDX-License-Identifier: MIT
 *
 * Statistics are read while a draw begins a new unit, which moves tickets from the word to a tally. A
 * thread that finds them in the tally reads the word that no longer has them (TALLY:R, TALLY:A), so
 * none counts twice.
 *
 * Weakened: TALLY:R, TALLY:A
 */
#define MODEL_STATISTICS
#include "model.h"

static flake_i_engine engine;
static model_ids got;
static uint64_t counted;

void model_thread(unsigned who) {
    if (who == 1) {
        flake_stats stats = {0, 0, 0, 0};
        flake_i_stats(&engine, &stats);
        counted = stats.ids;
        return;
    }
    model_draw(&engine, 0, &got);
    model_draw(&engine, 0, &got);
    model_clock(6);
    model_draw(&engine, 0, &got);
}

int main(void) {
    model_engine(&engine, 4, 0, 5);
    model_clock(5);
    model_run(2);
    assert(got.id[0] && got.id[1] && model_time(got.id[2]) == 6);
    assert(counted <= 3);
    MODEL_REACHED(counted == 3);
    return 0;
}
