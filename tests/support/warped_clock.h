/* SPDX-License-Identifier: MIT
 *
 * For tests with threads: a clock that runs faster or slower than the real one and steps back and forth now
 * and then, and sleeps of the requested length on it. It includes flake.h.
 */
#ifndef WARPED_CLOCK_H
#define WARPED_CLOCK_H

#define REAL_SLEEP
#include "support.h"
#include "real_time.h"
#include <sched.h>

static void nap(int64_t ns);
#define FLAKE_SLEEP_NS(ns) nap(ns)
#include "flake.h"

/* Runs at times / over of the real speed; most steps are of less than step_ns, the others of less than 60 ms. */
typedef struct warp {
    int64_t times, over;
    uint64_t step_every; /* readings; 0: never */
    int64_t step_ns, start_ns;
    _Atomic(int64_t) offset_ns;
} warp;

static warp warped; /* over is 0 while the clock is the real one */
static _Thread_local uint64_t thread_random = 88172645463325252u;

static int64_t warp_read(void *user) {
    warp *w = (warp *)user;
    if (w->step_every && random_below(&thread_random, w->step_every) == 0) {
        const int64_t most_ns = random_below(&thread_random, 8) ? w->step_ns : 60000000;
        atomic_store_explicit(&w->offset_ns, -(int64_t)random_below(&thread_random, (uint64_t)most_ns),
                              memory_order_relaxed);
    }
    return 1700000000000000000 + (clock_ns(CLOCK_MONOTONIC) - w->start_ns) * w->times / w->over +
           atomic_load_explicit(&w->offset_ns, memory_order_relaxed);
}

static flake_clock warp_start(int64_t times, int64_t over, uint64_t step_every, int64_t step_ns) {
    flake_clock clock = {warp_read, &warped, FLAKE_CLOCK_EXACT};
    warped.times = times;
    warped.over = over;
    warped.step_every = step_every;
    warped.step_ns = step_ns;
    warped.start_ns = clock_ns(CLOCK_MONOTONIC);
    atomic_store(&warped.offset_ns, 0);
    return clock;
}

static void warp_end(void) { warped.over = 0, warped.step_every = 0; }

/* The system's sleep is too coarse for short ones. */
static void nap(int64_t ns) {
    if (warped.over) ns = ns * warped.over / warped.times;
    if (!warped.over || ns > 200000) {
        flake_i_system_sleep(ns);
        return;
    }
    const int64_t end_ns = clock_ns(CLOCK_MONOTONIC) + ns;
    do (void)sched_yield();
    while (clock_ns(CLOCK_MONOTONIC) < end_ns);
}

#endif
