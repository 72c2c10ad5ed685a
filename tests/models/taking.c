/* SPDX-License-Identifier: MIT
 *
 * HOLD: a process takes a claim in shared memory over from a dead holder, while its timer extends it and
 * another process draws. The timer writes only as the holder, after the take-over (HOLD:R, HOLD:A); a
 * draw is admitted only up to a horizon that is in the file (DISK:R).
 *
 * Weakened: HOLD:R, HOLD:A, DISK:R
 */
#include "files.h"

enum { HORIZON = 4, AHEAD = 4, WANTED = 8 };

static flake_i_claim claim;
static bool is_extended, is_admitted;

void model_thread(unsigned who) {
    bool pointless = false;
    if (who == 0) model_ok(files_take_over(&claim, NULL));
    else if (who == 1) {
        model_clock(HORIZON + 2);
        if (!flake_i_is_holder(&claim)) return;
        model_ok(files_extend(&claim, NULL));
        is_extended = true;
    } else if (files_admit(&claim, WANTED * (int64_t)UNIT_NS, &pointless) == FLAKE_OK) {
        is_admitted = true;
        assert(files_first_ns >= WANTED * (int64_t)UNIT_NS);
    }
}

int main(void) {
    files_begin(&claim, HORIZON, AHEAD);
    FLAKE_ATOMIC_STORE(&claim.holder, 0u, relaxed); /* it was another process, which is dead */
    FLAKE_ATOMIC_STORE(&files_lock, 0u, relaxed);
    claim.manual_extend = true;
    model_clock(HORIZON + 1);
    model_run(3);
    assert((int64_t)FLAKE_ATOMIC_LOAD(&claim.horizon_ns, relaxed) == files_horizon_ns);
    MODEL_REACHED(is_extended && is_admitted && files_writes == 3);
    return 0;
}
