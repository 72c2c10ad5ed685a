/* SPDX-License-Identifier: MIT
 *
 * HORIZON, with a state in shared memory: its holder dies at any step of a write, while another
 * process draws; a third takes over and goes on. At each moment what was admitted is on disk. Where
 * another run has had the file meanwhile, the draws of the earlier one are refused instead.
 */
#define MODEL_WITH_SYSTEM
#define FILES_STEP() step()
static void step(void);
#include "files.h"

enum { HORIZON = 10, AHEAD = 4, DRAWS = 4, STEPS = 6 };

static flake_state state;
static unsigned die_at, steps; /* the holder's */
static bool another_run, cut_short;
static uint64_t earlier;
static _Atomic(bool) dead;
static _Atomic(int64_t) admitted; /* the latest */

static void step(void) {
    if (++steps == die_at) {
        cut_short = true;
        atomic_store(&dead, true);
        pthread_exit(NULL);
    }
}

static void draw(void) {
    bool pointless = false;
    for (int i = 0; i < DRAWS; i++) {
        const int64_t until_ns = (HORIZON - 1 + 2 * i) * (int64_t)UNIT_NS;
        model_stall();
        if (flake_i_state_gate(&state, earlier, until_ns, &pointless) == FLAKE_OK)
            atomic_store(&admitted, until_ns);
    }
}

static void hold(void) {
    const flake_status status = flake_state_extend(&state, NULL);
    assert(status == FLAKE_OK);
    (void)status;
    atomic_store(&dead, true);
}

static void take_over(void) {
    static flake_state_options where; /* zero */
    static flake_options options;
    flake_i_opening o = flake_i_opening_of(&where, &options, NULL);
    o.file.inode = 7;
    o.file.fd = FILES_FD;
    memcpy(o.path, "/model", 7);
    while (!atomic_load(&dead)) (void)sched_yield();
    const int64_t so_far = atomic_load(&admitted);
    assert(so_far <= files_lasting()); /* power cut */
    if (another_run) { /* it has had the file, and closed it; and this machine was not switched off */
        static flake_state other; /* zero */
        files_dirty = 0;          /* it has seen to that */
        other.file = o.file;
        memcpy(other.path, "/model", 7);
        other.token[0] = 1;
        const flake_status found = flake_i_state_read(&o);
        assert(found == FLAKE_OK && flake_i_state_settle(&other, &o.last));
        const bool written = flake_i_state_write(&other, files_lasting(), model_now_ns());
        assert(written);
        (void)written;
    }
    where.path = "/model";
    where.horizon_ms = AHEAD;
    where.no_wait = options.shared_memory = true;
    const flake_status status = flake_i_state_open_file(&state, &o);
    assert(status == FLAKE_OK && (flake_i_state_run(&state) != earlier) == another_run);
    assert(atomic_load(&admitted) <= files_lasting());
    (void)status;
}

void model_thread(unsigned who) {
    if (who == 0) draw();
    else if (who == 1) hold();
    else take_over();
}

int main(void) {
    for (int run = 0; run < RUNS; run++) {
        files_begin(&state, HORIZON, AHEAD);
        state.is_shared = true;
        FLAKE_ATOMIC_STORE(&state.manual_extend, 1u, relaxed);
        state.self = (uint64_t)(uintptr_t)&state ^ FLAKE_I_VERSION;
        earlier = flake_i_state_run(&state);
        die_at = (unsigned)run % (STEPS + 1) + 1;
        another_run = run / (STEPS + 1) % 2;
        steps = 0;
        cut_short = false;
        atomic_store(&dead, false);
        atomic_store(&admitted, 0);
        model_clock(HORIZON - 2);
        model_run(3);
        /* a write that was cut short, and draws past it */
        MODEL_REACHED(cut_short && die_at == 3 &&
                      atomic_load(&admitted) > HORIZON * (int64_t)UNIT_NS);
    }
    return 0;
}
