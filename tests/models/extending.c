/* SPDX-License-Identifier: MIT
 *
 * OPEN: a timer extends a state while another thread opens it, closes it and reopens it. The extend
 * never mistakes the state for another process's (OPEN:R, OPEN:A), and reads what an open writes
 * only as the writer (TURN:R, TURN:A).
 *
 * Weakened: OPEN:R, OPEN:A, TURN:R, TURN:A
 */
#include "files.h"

enum { HORIZON = 4, AHEAD = 4 };

static flake_state state;
static flake_status extended;
static bool opened_again;

void model_thread(unsigned who) {
    if (who == 0) {
        model_go_on();
        extended = flake_state_extend(&state, NULL);
        assert(extended != FLAKE_FORKED);
        return;
    }
    model_ok(files_open_again(&state, AHEAD));
    model_ok(flake_state_close(&state, NULL));
    model_ok(files_open_again(&state, AHEAD));
    opened_again = true;
}

int main(void) {
    files_begin(&state, HORIZON, AHEAD);
    model_clock(HORIZON);
    model_ok(flake_state_close(&state, NULL));
    FLAKE_ATOMIC_STORE(&state.holder, 0u, relaxed); /* it was another process's */
    model_clock(HORIZON + 1);
    model_run(2);
    if (!opened_again) return 0; /* a checker does not wait for ever */
    assert((int64_t)FLAKE_ATOMIC_LOAD(&state.horizon, relaxed) <= files_horizon_ns);
    MODEL_REACHED(extended == FLAKE_OK);
    return 0;
}
