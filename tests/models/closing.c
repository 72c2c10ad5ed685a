/* SPDX-License-Identifier: MIT
 *
 * HORIZON: a claim is closed while two threads ask for times that its file still covers. Every
 * admitted time is at or before the last horizon written, or the next holder would repeat it. One
 * thread raises admitted_ns, the other may see it raised, or raise it further. If the load of
 * admitted_ns is relaxed, or the store of CLOSED is weaker than seq_cst, a time is admitted that the
 * close has not seen.
 *
 * Weakened: ASK:S, SHUT:S
 */
#include "files.h"

static flake_i_claim claim;
static int64_t admitted[2]; /* units; 0: refused */

static void admit(unsigned who, int64_t unit) {
    bool pointless = false;
    const flake_status status = files_admit(&claim, unit * UNIT_NS, &pointless);
    assert(status == FLAKE_OK || status == FLAKE_CLOSED);
    admitted[who] = status == FLAKE_OK ? unit : 0;
}

void model_thread(unsigned who) {
    if (who < 2) admit(who, 7 + who);
    else model_ok(files_close(&claim, &files_engine, NULL));
}

int main(void) {
    files_begin(&claim, 20, 8);
    model_clock(5);
    model_run(3);
    assert(files_writes == 1);
    for (unsigned i = 0; i < 2; i++) assert(admitted[i] * UNIT_NS <= files_horizon_ns);
    /* one was in time, the other was not */
    MODEL_REACHED((admitted[0] != 0) != (admitted[1] != 0));
    return 0;
}
