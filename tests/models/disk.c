/* SPDX-License-Identifier: MIT
 *
 * DISK: two threads ask for a time past the horizon. One writes a new one. A thread that is admitted
 * by either one's record sees the file as written (DISK:R, DISK:A), since a power cut must leave that
 * record.
 *
 * Weakened: DISK:R, DISK:A, TURN:R, TURN:A
 */
#include "files.h"

enum { BEGIN = 5, AHEAD = 4, WANTED = 8 };

static flake_i_claim claim;
static bool admitted[2];

void model_thread(unsigned who) {
    for (int tries = 0; tries < 2; tries++) {
        bool pointless = false;
        const flake_status status = files_admit(&claim, WANTED * (int64_t)UNIT_NS, &pointless);
        assert(status == FLAKE_OK || status == FLAKE_AGAIN);
        if (status != FLAKE_OK) continue;
        assert(files_horizon_ns == (WANTED + AHEAD) * (int64_t)UNIT_NS);
        admitted[who] = true;
        return;
    }
}

int main(void) {
    files_begin(&claim, BEGIN, AHEAD);
    model_clock(BEGIN);
    model_run(2);
    assert(files_writes == 1 && (admitted[0] || admitted[1]));
    MODEL_REACHED(admitted[0] && admitted[1]);
    return 0;
}
