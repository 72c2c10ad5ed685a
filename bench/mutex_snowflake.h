/* SPDX-License-Identifier: MIT
 *
 * The generator that is written by hand where no library is at hand: a mutex, the last millisecond and
 * a sequence number. It does what most such generators do, and as well as they can: one clock reading
 * for each id, a full unit is waited out with the lock held, and a clock that was put back is refused.
 */
#ifndef BENCH_MUTEX_SNOWFLAKE_H
#define BENCH_MUTEX_SNOWFLAKE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef struct mutex_snowflake {
    pthread_mutex_t lock;
    int64_t epoch_ms, last_ms;
    uint64_t node, seq, seq_mask;
    unsigned node_shift, time_shift;
} mutex_snowflake;

static inline int64_t mutex_snowflake_ms(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + (int64_t)t.tv_nsec / 1000000;
}

static inline bool mutex_snowflake_next(mutex_snowflake *g, uint64_t *id) {
    (void)pthread_mutex_lock(&g->lock);
    int64_t now_ms = mutex_snowflake_ms();
    const bool well = now_ms >= g->last_ms;
    if (well) {
        if (now_ms > g->last_ms) {
            g->seq = 0;
        } else {
            g->seq = (g->seq + 1) & g->seq_mask;
            while (g->seq == 0 && now_ms <= g->last_ms) now_ms = mutex_snowflake_ms();
        }
        g->last_ms = now_ms;
        *id = (uint64_t)(now_ms - g->epoch_ms) << g->time_shift | g->node << g->node_shift | g->seq;
    }
    (void)pthread_mutex_unlock(&g->lock);
    return well;
}

#endif
