/* SPDX-License-Identifier: MIT
 *
 * The system's clocks, and short sleeps.
 */
#ifndef REAL_TIME_H
#define REAL_TIME_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_ns(clockid_t id) {
    struct timespec t;
    (void)clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_nsec;
}

static inline void nap_us(long us) {
    const struct timespec t = {0, us * 1000};
    (void)nanosleep(&t, NULL);
}

#endif
