/* SPDX-License-Identifier: MIT
 *
 * Two callers wait, and the clock advances by a ms: each ms has one note, and the counts continue. A
 * thread that sees a ms noted reads no clock from before it (NOTE:R, NOTE:A); otherwise it would
 * detect a backward step and restart the count.
 *
 * Weakened: NOTE:R, NOTE:A
 */
#include "model.h"

static flake_i_engine engine;
static flake_ring ring;
static flake_ring_slot slots[2];

void model_thread(unsigned who) {
    if (who) model_clock(6);
    flake_i_check_overflow(&engine);
}

int main(void) {
    model_engine(&engine, 1, 0, 5);
    FLAKE_ATOMIC_STORE(&engine.word, ((uint64_t)5 << engine.time_shift) + 6, relaxed); /* queued */
    model_ok(flake_ring_init(&ring, slots, 2));
    engine.ring = &ring;
    model_clock(5);
    model_run(2);
    unsigned notes = 0, at_5 = 0, counted_on = 0;
    for (flake_overflow popped; flake_ring_pop(&ring, &popped); notes++) { /* in any order */
        at_5 += popped.now_ns == 5 * (int64_t)UNIT_NS;
        counted_on += popped.elapsed_ms;
    }
    assert(notes == 1 || (notes == 2 && at_5 == 1 && counted_on == 1));
    MODEL_REACHED(notes == 2);
    return 0;
}
