/* SPDX-License-Identifier: MIT
 *
 * Shared by the models. A model is a program of two or three threads that make a few calls into the
 * header's engine, while another moves the clock forward and backward; at the end it asserts. A checker of
 * the C11 memory model runs it once and explores all of its executions (README.md). Under a checker there
 * is no system, only pthreads, C11 atomics and assert; no struct of the threads is copied as a whole, and
 * each loop is bounded.
 *
 * RUNS      how often the model that uses the system (horizon.c) is repeated, with real threads
 * REACH     one more assertion: the case that the model is about has not occurred. It must fail, or the
 *           other assertions hold vacuously
 *
 * MODEL_WITH_SYSTEM, defined before this is included: the model uses the system, and is not for checkers.
 *
 * The last lines of a model's first comment name the labels whose weakened orders it detects.
 */
#ifndef MODEL_H
#define MODEL_H

#define FLAKE_NO_SIMD
#define FLAKE_ATOMIC(T) _Atomic(T)
#define FLAKE_I_APART(value) ((void)0)
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef MODEL_WITH_SYSTEM
#include <sched.h>
#else
#define FLAKE_NO_OS
#endif

/* ---- real threads: now and then one is delayed beside an access while others run ---- */

#ifdef MODEL_WITH_SYSTEM
static inline unsigned model_random(unsigned below) {
    static _Atomic(unsigned) threads;
    static _Thread_local unsigned state;
    if (!state) state = atomic_fetch_add(&threads, 1u) * 2654435761u | 1u;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % below;
}
static inline void model_stall(void) {
    if (model_random(8) == 0) (void)sched_yield();
}
#define FLAKE_ATOMIC_LOAD(p, order) (model_stall(), atomic_load_explicit(p, memory_order_##order))
#define FLAKE_ATOMIC_STORE(p, v, order) \
    (model_stall(), atomic_store_explicit(p, v, memory_order_##order), model_stall())
#define FLAKE_ATOMIC_ADD(p, v, order) (model_stall(), atomic_fetch_add_explicit(p, v, memory_order_##order))
#define FLAKE_ATOMIC_CAS(p, seen, v, success, failure) \
    (model_stall(), atomic_compare_exchange_strong_explicit(p, seen, v, memory_order_##success, memory_order_##failure))

/* ---- for a checker ---- */

#else
static inline void model_stall(void) {}

/* No engine here is ahead of its clock, so a unit's IDs are due when it begins. (The header's calls of
 * this come here; its own function, which compilers turn into a saturating subtraction that GenMC does
 * not support, is renamed.) */
#define flake_i_due_ns(e, unit) MODEL_DUE_##e, unit)
#define MODEL_DUE_const         flake_i_due_ns_ahead(const
#define MODEL_DUE_e             (int64_t)flake_i_start_ns(e

/* No model reads the fast clock, and the checker knows no rdtsc. */
#define FLAKE_COUNTER()         UINT64_C(0)

/* Only statistics are added with release, and no thread acts on those: draws here count none. */
#define MODEL_ADD_relaxed(p, v) atomic_fetch_add_explicit(p, v, memory_order_relaxed)
#define MODEL_ADD_release(p, v) ((void)(p), (void)(v), 0)

/* GenMC gives a failed CAS the order of a successful one. Where C11 means another, a fence adds
 * it. */
#define MODEL_ACQUIRE() atomic_thread_fence(memory_order_acquire)
#define MODEL_STRONG(p, seen, v, success, failure) \
    atomic_compare_exchange_strong_explicit(p, seen, v, memory_order_##success, memory_order_##failure)
#define MODEL_CAS_relaxed_relaxed(p, seen, v) MODEL_STRONG(p, seen, v, relaxed, relaxed)
#define MODEL_CAS_release_relaxed(p, seen, v) MODEL_STRONG(p, seen, v, release, relaxed)
#define MODEL_CAS_seq_cst_seq_cst(p, seen, v) MODEL_STRONG(p, seen, v, seq_cst, seq_cst)
#define MODEL_CAS_seq_cst_relaxed(p, seen, v) MODEL_STRONG(p, seen, v, seq_cst, relaxed)
#define MODEL_CAS_acq_rel_acquire(p, seen, v) MODEL_STRONG(p, seen, v, acq_rel, acquire)
#define MODEL_CAS_acquire_relaxed(p, seen, v) model_cas_acquire(p, seen, v)
#define MODEL_CAS_release_acquire(p, seen, v) (MODEL_STRONG(p, seen, v, release, relaxed) || (MODEL_ACQUIRE(), false))
#define MODEL_CAS_relaxed_acquire(p, seen, v) (MODEL_STRONG(p, seen, v, relaxed, relaxed) || (MODEL_ACQUIRE(), false))

/* A fence after a successful CAS would order the loads before it, too. So this one fails by a load; if the
 * CAS itself fails, the execution equals one in which the load has failed, and ends. */
static inline bool model_cas_acquire(_Atomic(uint64_t) *p, uint64_t *seen, uint64_t v) {
    const uint64_t now = atomic_load_explicit(p, memory_order_relaxed);
    const bool is_other = now != *seen;
    *seen = now;
    if (is_other) return false;
    if (!MODEL_STRONG(p, seen, v, acquire, relaxed)) pthread_exit(NULL);
    return true;
}

#define FLAKE_ATOMIC_LOAD(p, order)                    atomic_load_explicit(p, memory_order_##order)
#define FLAKE_ATOMIC_STORE(p, v, order)                atomic_store_explicit(p, v, memory_order_##order)
#define FLAKE_ATOMIC_ADD(p, v, order)                  MODEL_ADD_##order(p, v)
#define FLAKE_ATOMIC_CAS(p, seen, v, success, failure) MODEL_CAS_##success##_##failure(p, seen, v)
#endif

/* ---- the clock: in units, shared by all threads; a sleep advances it ---- */

enum { UNIT_NS = 1000000 };
static _Atomic(int64_t) model_unit;
static inline int64_t model_now_ns(void) {
    model_stall();
    return atomic_load_explicit(&model_unit, memory_order_relaxed) * UNIT_NS;
}
static inline void model_sleep(int64_t ns) {
#ifndef MODEL_WITH_SYSTEM
    static _Thread_local unsigned sleeps;
    if (sleeps++ == 2) pthread_exit(NULL); /* or it has no end */
#endif
    (void)atomic_fetch_add_explicit(&model_unit, (ns + UNIT_NS - 1) / UNIT_NS, memory_order_relaxed);
}
static inline void model_clock(int64_t unit) {
    atomic_store_explicit(&model_unit, unit, memory_order_relaxed);
    model_stall();
    model_stall();
}

#define FLAKE_CLOCK_NS(kind) model_now_ns()
#define FLAKE_SLEEP_NS(ns)   model_sleep(ns)
#define FLAKE_RELAX()        ((void)0)
#include "flake.h"

static inline void model_ok(flake_status status) { assert(status == FLAKE_OK); }

#ifdef REACH
#define MODEL_REACHED(condition) assert(!(condition))
#else
#define MODEL_REACHED(condition) ((void)(condition))
#endif

/* An engine with `cap` tickets a unit, at unit `time`, nothing drawn. GenMC supports copies to memory whose
 * address is a variable. */
static inline void model_engine(flake_i_engine *engine, uint64_t cap, unsigned tick_bits, uint64_t time) {
    flake_i_engine *volatile at = engine;
    flake_i_engine *const e = at;
    flake_i_engine_config config;
    memset(&config, 0, sizeof config);
    config.unit_ms = 1;
    config.time_bits = 39;
    config.tick_bits = tick_bits;
    config.unit_capacity = cap;
    config.options.max_wait_ms = 5000;   /* long enough for draws by fetch_add */
    config.options.shared_memory = true; /* no page, no system call */
    config.options.clock.kind = FLAKE_CLOCK_EXACT;
    model_ok(flake_i_engine_init(e, &config));
    FLAKE_ATOMIC_STORE(&e->word, time << e->time_shift, relaxed);
}

/* A thread's IDs. */
enum { MODEL_DRAWS = 4 };
typedef struct model_ids {
    uint64_t id[MODEL_DRAWS]; /* time, tick, index; 0: the call failed */
    unsigned n;
} model_ids;

static inline void model_draw(flake_i_engine *e, unsigned request, model_ids *ids) {
    flake_i_ticket ticket;
    uint64_t id = 0;
    if (flake_i_draw(e, request, 0, 1, &ticket) == FLAKE_OK) {
        assert(ticket.index < e->unit_capacity);
        id = ticket.time << 16 | (uint64_t)ticket.tick << 8 | (ticket.index + 1);
    }
    ids->id[ids->n++] = id;
}

/* No ID of these threads, or before, repeats. Returns whether one follows a backward step. */
static inline bool model_different(const model_ids *of, unsigned n) {
    bool ridden = false;
    for (const model_ids *a = of; a < of + n; a++)
        for (unsigned i = 0; i < a->n; i++) {
            ridden |= a->id[i] && (a->id[i] >> 8 & 1); /* on the other timeline */
            for (const model_ids *b = of; b <= a; b++)
                for (unsigned k = 0; k < b->n; k++) assert(!a->id[i] || a->id[i] != b->id[k] || (a == b && i == k));
        }
    return ridden;
}

/* ---- threads ---- */

void model_thread(unsigned who); /* the model's */

#ifdef MODEL_WITH_SYSTEM
static _Atomic(unsigned) model_ready;
static unsigned model_threads;
#endif

static inline void *model_body(void *who) {
#ifdef MODEL_WITH_SYSTEM /* all begin at once; a checker begins them in any order anyway */
    (void)atomic_fetch_add(&model_ready, 1u);
    while (atomic_load(&model_ready) < model_threads) (void)sched_yield();
#endif
    model_thread(*(const unsigned *)who);
    return NULL;
}

/* Runs threads 0 to n - 1 and waits for their end. */
static inline void model_run(unsigned n) {
    static unsigned numbers[] = {0, 1, 2};
    pthread_t threads[3];
#ifdef MODEL_WITH_SYSTEM
    atomic_store(&model_ready, 0u);
    model_threads = n;
#endif
    for (unsigned i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, model_body, &numbers[i]) != 0) assert(0);
    for (unsigned i = 0; i < n; i++) (void)pthread_join(threads[i], NULL);
}

#endif
