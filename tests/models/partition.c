/* SPDX-License-Identifier: MIT
 *
 * Two threads make default generators at once: each has a partition of its own.
 *
 * Weakened: none
 */
#include "model.h"
#include "sno.h"

static struct sno_i_family family;
static uint16_t taken[2][2];

void model_thread(unsigned who) {
    for (int i = 0; i < 2; i++) model_ok(sno_i_take_partition(&taken[who][i]));
}

int main(void) {
    model_clock(1);
    FLAKE_ATOMIC_STORE(&family.start, 0u, relaxed);
    FLAKE_ATOMIC_STORE(&family.used, 0u, relaxed);
    FLAKE_ATOMIC_STORE(&sno_i_partitions.family, &family, relaxed); /* no page, no system call */
    model_run(2);
    assert(taken[0][0] != taken[0][1] && taken[1][0] != taken[1][1]);
    for (unsigned i = 0; i < 2; i++)
        assert(taken[0][i] != taken[1][0] && taken[0][i] != taken[1][1]);
    /* the two took turns */
    MODEL_REACHED((uint16_t)(taken[0][1] - taken[0][0]) == 2);
    return 0;
}
