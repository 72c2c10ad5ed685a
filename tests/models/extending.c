/* SPDX-License-Identifier: MIT
 *
 * TURN: a timer extends a claim while another thread closes it. One of them writes at a time (TURN:R,
 * TURN:A), and the record of the close is the last.
 *
 * Weakened: TURN:R, TURN:A
 */
#include "files.h"

enum { HORIZON = 4, AHEAD = 4 };

static flake_i_claim claim;
static flake_status extended;
static bool is_closed;
static int64_t closed_at_ns;

void model_thread(unsigned who) {
    if (who == 0) {
        extended = files_extend(&claim, NULL);
        assert(extended == FLAKE_OK || extended == FLAKE_CLOSED);
        return;
    }
    model_ok(files_close(&claim, &files_engine, NULL));
    closed_at_ns = files_horizon_ns;
    is_closed = true;
}

int main(void) {
    files_begin(&claim, HORIZON, AHEAD);
    model_clock(HORIZON + 1);
    model_run(2);
    if (!is_closed) return 0; /* a checker does not wait for ever */
    assert(files_horizon_ns == closed_at_ns && closed_at_ns <= model_now_ns());
    assert(FLAKE_ATOMIC_LOAD(&claim.horizon_ns, relaxed) == FLAKE_I_CLOSED);
    MODEL_REACHED(extended == FLAKE_OK && files_writes == 2);
    return 0;
}
