/* SPDX-License-Identifier: MIT
 *
 * Two threads push two notes each into a ring of two slots, a third pops. No note is torn, lost or
 * duplicated, and those of one thread keep their order.
 *
 * Weakened: FILL:R, FILL:A, DRAIN:R, DRAIN:A
 */
#include "model.h"

enum { POPS = 3 };

static flake_ring ring;
static flake_ring_slot slots[2];
static bool pushed[2][2];
static unsigned seen[2][2], n_popped;

static bool pop(void) {
    flake_overflow note;
    if (!flake_ring_pop(&ring, &note)) return false;
    assert(note.waiting >= 1 && note.waiting <= 4);
    assert(note.now_ns == (int64_t)note.waiting && note.elapsed_ms == note.waiting);
    seen[(note.waiting - 1) / 2][(note.waiting - 1) % 2] = ++n_popped;
    return true;
}

void model_thread(unsigned who) {
    for (unsigned i = 0; who < 2 && i < 2; i++) {
        flake_overflow note;
        note.now_ns = note.waiting = note.elapsed_ms = 2 * who + i + 1;
        pushed[who][i] = flake_ring_push(&ring, &note);
    }
    for (int i = 0; who == 2 && i < POPS; i++) (void)pop();
}

int main(void) {
    model_ok(flake_ring_init(&ring, slots, 2));
    model_run(3);
    const unsigned beside = n_popped; /* popped while others pushed */
    for (int i = 0; i < 2; i++) (void)pop();
    assert(!pop());
    unsigned n_pushed = 0;
    for (unsigned who = 0; who < 2; who++) {
        for (unsigned i = 0; i < 2; i++) {
            assert(pushed[who][i] == (seen[who][i] != 0));
            n_pushed += pushed[who][i];
        }
        assert(!seen[who][0] || !seen[who][1] || seen[who][0] < seen[who][1]);
    }
    assert(n_pushed == n_popped);
    MODEL_REACHED(beside >= 1 && n_pushed >= 3);
    return 0;
}
