/* SPDX-License-Identifier: MIT
 *
 * HORIZON: a state is closed and opened again while a draw of the earlier run asks it. That one gets
 * only times that the close has seen, and so are before all of the new run; and it does not write
 * while the state is opened. Without the second look at `run`, or with `run` stored after the
 * horizon, a time is admitted that nobody knows.
 */
#include "files.h"

enum { HORIZON = 20, AHEAD = 8, WANTED = 18 }; /* near enough to the horizon to write a new one */

static flake_state state;
static uint64_t earlier;
static bool admitted;
static int64_t floor_ns; /* behind which the new run begins */

static void *admit(void *unused) {
    bool in_vain = false;
    model_begin(2);
    const flake_status status =
        flake_i_state_admit(&state, earlier, WANTED * (int64_t)UNIT_NS, &in_vain);
    admitted = status == FLAKE_OK;
    return unused;
}

static void *close_and_open(void *unused) {
    static flake_state_options options; /* zero */
    static const uint8_t identity[FLAKE_I_IDENTITY];
    model_begin(2);
    const flake_status closed = flake_state_close(&state);
    options.path = "/model";
    options.horizon_ms = AHEAD;
    const flake_status opened = flake_i_state_open(&state, &options, identity, NULL);
    assert(closed == FLAKE_OK && opened == FLAKE_OK);
    floor_ns = flake_i_state_floor(&state);
    (void)closed;
    (void)opened;
    return unused;
}

int main(void) {
    static void *(*const bodies[])(void *) = {admit, close_and_open};
    for (int run = 0; run < RUNS; run++) {
        files_begin(&state, HORIZON, AHEAD);
        earlier = flake_i_state_run(&state);
        model_clock(5);
        model_run(bodies, 2);
        assert(!admitted || WANTED * (int64_t)UNIT_NS <= floor_ns);
        /* the earlier run was asked for and refused, after the new one's horizon was there */
        MODEL_REACHED(!admitted && floor_ns < WANTED * (int64_t)UNIT_NS &&
                      flake_i_state_floor(&state) == WANTED * (int64_t)UNIT_NS);
    }
    return 0;
}
