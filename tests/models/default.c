/* SPDX-License-Identifier: MIT
 *
 * PAGE: two threads make the first calls of sno_generate. Each sees the generator fully initialised
 * (PAGE:R, PAGE:A), and no two draw the same ticket.
 *
 * Weakened: PAGE:R, PAGE:A
 */
#include "model.h"
#include "sno.h"

static const flake_i_engine *found[2];
static struct sno_i_family family;
static model_ids ids[2];

void model_thread(unsigned who) {
    flake_i_engine *const e = sno_i_default_engine();
    assert(e);
    model_draw(e, FLAKE_I_WAIT, &ids[who]);
    found[who] = e;
}

int main(void) {
    model_clock(1600000000000); /* after sno's epoch */
    const uint64_t all_but_two = flake_i_pid() << 8 | (SNO_I_DEFAULT_PLACES - 2);
    FLAKE_ATOMIC_STORE(&sno_i_partitions.next, 1u << 16, relaxed);
    FLAKE_ATOMIC_STORE(&sno_i_partitions.family, &family, relaxed); /* no system call */
    FLAKE_ATOMIC_STORE(&sno_i_default.begun, all_but_two, relaxed);
    model_run(2);
    const flake_i_engine *const made = FLAKE_ATOMIC_LOAD(&sno_i_default.engine, relaxed);
    assert(made && made->unit_capacity == UINT16_MAX + 1);
    assert(found[0] == found[1] && ids[0].id[0] && ids[1].id[0]);
    (void)model_different(ids, 2);
    /* both have made one */
    MODEL_REACHED((FLAKE_ATOMIC_LOAD(&sno_i_default.begun, relaxed) & 0xff) == SNO_I_DEFAULT_PLACES);
    return 0;
}
