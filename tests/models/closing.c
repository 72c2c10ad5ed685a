/* SPDX-License-Identifier: MIT
 *
 * HORIZON: a state file is closed while two threads ask for times that it still covers. Every
 * admitted time is at or before the last horizon written, or the next run would repeat it. One
 * thread raises `asked`, the other may see it raised, or raise it further. If the load of `asked` is
 * relaxed, or the store of CLOSED is weaker than seq_cst, a time is admitted that the close has not
 * seen.
 *
 * Weakened: ASK:S, SHUT:S
 */
#include "files.h"

static flake_state state;
static int64_t admitted[2]; /* units; 0: refused */

static void admit(unsigned who, int64_t unit) {
    bool pointless = false;
    const flake_status status = flake_i_state_gate(&state, 0, unit * UNIT_NS, &pointless);
    assert(status == FLAKE_OK || status == FLAKE_IO);
    admitted[who] = status == FLAKE_OK ? unit : 0;
}

void model_thread(unsigned who) {
    if (who < 2) admit(who, 7 + who);
    else model_ok(flake_state_close(&state, NULL));
}

int main(void) {
    files_begin(&state, 20, 8);
    model_clock(5);
    model_run(3);
    assert(files_writes == 1);
    for (unsigned i = 0; i < 2; i++) assert(admitted[i] * UNIT_NS <= files_horizon_ns);
    /* one was in time, the other was not */
    MODEL_REACHED((admitted[0] != 0) != (admitted[1] != 0));
    return 0;
}
