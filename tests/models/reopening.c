/* SPDX-License-Identifier: MIT
 *
 * HORIZON: a state is closed and reopened while a draw of the earlier run asks it. That draw gets
 * only times that the close has seen, which are before all times of the new run; and it does not
 * write while the state is being opened. Without the second load of `run`, or with `run` stored
 * after the horizon, a time is admitted that neither run knows.
 *
 * Weakened: DISK:R, DISK:A
 */
#include "files.h"

enum { HORIZON = 20, AHEAD = 40, WANTED = 18 }; /* near enough to a horizon to write a new one */

static flake_state state;
static uint64_t earlier;
static bool admitted, opened_again;
static int64_t floor_ns; /* after which the new run begins */

void model_thread(unsigned who) {
    bool pointless = false;
    if (who == 0) {
        admitted =
            flake_i_state_gate(&state, earlier, WANTED * (int64_t)UNIT_NS, &pointless) == FLAKE_OK;
        return;
    }
    model_ok(flake_state_close(&state, NULL));
    model_ok(files_open_again(&state, AHEAD));
    floor_ns = flake_i_state_not_before(&state);
    opened_again = true;
}

int main(void) {
    files_begin(&state, HORIZON, AHEAD);
    earlier = flake_i_state_run(&state);
    model_clock(5);
    model_run(2);
    if (!opened_again) return 0; /* a checker does not wait for ever */
    assert(!admitted || WANTED * (int64_t)UNIT_NS <= floor_ns);
    /* the earlier run asked and was refused, after the new one's horizon was stored */
    MODEL_REACHED(!admitted && floor_ns < WANTED * (int64_t)UNIT_NS &&
                  flake_i_state_not_before(&state) == WANTED * (int64_t)UNIT_NS);
    return 0;
}
