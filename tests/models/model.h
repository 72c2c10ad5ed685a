/* SPDX-License-Identifier: MIT
 *
 * What the models share. A model is a program of two or three threads that make a few calls into
 * the engine as the header has it, while another puts the clock forward and back; in the end it
 * asserts. Only plain pthreads, C11 atomics and assert are used, no struct is returned, and each
 * loop is bounded by the number of calls, so that a checker of the C11 memory model can take it:
 *
 *     genmc -- -I. tests/models/word.c
 *     cbmc -I. --unwind 6 tests/models/word.c
 *
 * RUNS      how often the program does it all over with real threads; 1, the default, for checkers
 * REACH     one more assertion, that what the model is about has not come about; it must fail, or
 *           the others hold for want of anything to look at
 */
#ifndef MODEL_H
#define MODEL_H

#define SNO_NO_SIMD
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef RUNS
#define RUNS 1
#endif

/* ---- real threads: now and then one stands still beside an access, and others go on ---- */

#if RUNS > 1
static _Atomic(unsigned) model_seed;
static _Thread_local unsigned model_random;
static inline void model_stall(void) {
    if (!model_random) model_random = atomic_fetch_add(&model_seed, 1u) * 2654435761u | 1u;
    model_random ^= model_random << 13;
    model_random ^= model_random >> 17;
    model_random ^= model_random << 5;
    if (model_random % 8 == 0) (void)sched_yield();
}
#define MODEL_LOAD(p, order) (model_stall(), atomic_load_explicit(p, memory_order_##order))
#define MODEL_STORE(p, v, order) \
    (model_stall(), atomic_store_explicit(p, v, memory_order_##order), model_stall())
#define MODEL_ADD(p, v, order) \
    (model_stall(), atomic_fetch_add_explicit(p, v, memory_order_##order))
#define MODEL_CAS(p, seen, v, success, failure)                                                 \
    (model_stall(), atomic_compare_exchange_strong_explicit(p, seen, v, memory_order_##success, \
                                                            memory_order_##failure))
#define FLAKE_ATOMIC(T)                                _Atomic(T)
#define FLAKE_ATOMIC_LOAD(p, order)                    MODEL_LOAD(p, order)
#define FLAKE_ATOMIC_STORE(p, v, order)                MODEL_STORE(p, v, order)
#define FLAKE_ATOMIC_ADD(p, v, order)                  MODEL_ADD(p, v, order)
#define FLAKE_ATOMIC_CAS(p, seen, v, success, failure) MODEL_CAS(p, seen, v, success, failure)
#define SNO_ATOMIC(T)                                  _Atomic(T)
#define SNO_ATOMIC_LOAD(p, order)                      MODEL_LOAD(p, order)
#define SNO_ATOMIC_STORE(p, v, order)                  MODEL_STORE(p, v, order)
#define SNO_ATOMIC_ADD(p, v, order)                    MODEL_ADD(p, v, order)
#define SNO_ATOMIC_CAS(p, seen, v, success, failure)   MODEL_CAS(p, seen, v, success, failure)
#else
static inline void model_stall(void) {}
#endif

/* ---- the clock: in units, for all who ask; a sleep moves it on ---- */

enum { UNIT_NS = 1000000 };
static _Atomic(int64_t) model_unit;
static inline int64_t model_now_ns(void) {
    model_stall();
    return atomic_load_explicit(&model_unit, memory_order_relaxed) * UNIT_NS;
}
static inline void model_sleep(int64_t ns) {
    (void)atomic_fetch_add_explicit(&model_unit, (ns + UNIT_NS - 1) / UNIT_NS,
                                    memory_order_relaxed);
}
static inline void model_clock(int64_t unit) {
    atomic_store_explicit(&model_unit, unit, memory_order_relaxed);
    model_stall();
    model_stall();
}

#define FLAKE_CLOCK_NS(kind) model_now_ns()
#define FLAKE_SLEEP_NS(ns)   model_sleep(ns)
#define FLAKE_RELAX()        ((void)0)
#define SNO_CLOCK_NS(kind)   model_now_ns()
#define SNO_SLEEP_NS(ns)     model_sleep(ns)
#define SNO_RELAX()          ((void)0)
#include "flake.h"

#ifdef REACH
#define MODEL_REACHED(condition) assert(!(condition))
#else
#define MODEL_REACHED(condition) ((void)(condition))
#endif

/* An engine with `cap` places a unit that stands at unit `time`, nothing drawn. */
static inline void model_engine(flake_i_engine *e, uint64_t cap, unsigned tick_bits,
                                uint64_t time) {
    static flake_i_setup setup; /* zero */
    setup.unit_ms = 1;
    setup.time_bits = 39;
    setup.tick_bits = tick_bits;
    setup.cap = cap;
    setup.max_wait_ms = 5000;   /* long enough for draws by fetch_add */
    setup.shared_memory = true; /* no page, no system call */
    flake_status status = flake_i_engine_init(e, &setup);
    assert(status == FLAKE_OK && e->add_cap);
    FLAKE_ATOMIC_STORE(&e->word, time << e->time_shift, relaxed);
    (void)status;
}

/* What a thread has drawn. */
enum { MODEL_DRAWS = 4 };
typedef struct model_ids {
    uint64_t id[MODEL_DRAWS]; /* time, tick, index; 0: the call failed */
    unsigned n;
} model_ids;

static inline void model_draw(flake_i_engine *e, unsigned how, model_ids *ids) {
    flake_i_place place;
    uint64_t id = 0;
    if (flake_i_draw(e, how, 0, 1, &place) == FLAKE_OK) {
        assert(place.index < e->cap);
        id = place.time << 16 | (uint64_t)place.tick << 8 | (place.index + 1);
    }
    ids->id[ids->n++] = id;
}

static inline uint64_t model_time(uint64_t id) { return id >> 16; }
static inline unsigned model_tick(uint64_t id) { return (unsigned)(id >> 8 & 1); }

/* No id of a is one of b's. */
static inline void model_different(const model_ids *a, const model_ids *b) {
    for (unsigned i = 0; i < a->n; i++)
        for (unsigned k = 0; k < b->n; k++)
            assert(!a->id[i] || a->id[i] != b->id[k] || (a == b && i == k));
}

/* ---- threads ---- */

/* With real threads all begin at once; a checker begins them in any order anyway. */
static _Atomic(unsigned) model_ready;
static inline void model_begin(unsigned threads) {
    (void)threads;
#if RUNS > 1
    (void)atomic_fetch_add(&model_ready, 1u);
    while (atomic_load(&model_ready) < threads) (void)sched_yield();
#endif
}

/* Runs the threads and waits for their end. */
static inline void model_run(void *(*const *bodies)(void *), unsigned n) {
    pthread_t threads[4];
    atomic_store(&model_ready, 0u);
    for (unsigned i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, bodies[i], NULL) != 0) assert(0);
    for (unsigned i = 0; i < n; i++) (void)pthread_join(threads[i], NULL);
}

#endif
