/* SPDX-License-Identifier: MIT
 *
 * What many threads and processes have drawn, in memory that they share; any of them may be killed at any moment.
 */
#ifndef ID_LOG_H
#define ID_LOG_H

#include "id_runs.h"
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum { log_room = 12000000 };

static struct id_log {
    _Atomic(size_t) n, ids;
    id_run runs[log_room]; /* a run of 0 IDs: killed before it was written */
} *drawn;

static inline void *shared_memory(size_t size) {
    void *const at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) abort();
    return at;
}

/* IDs of one family differ by their keys. */
static inline void keep(uint64_t family, const uint64_t *keys, size_t n) {
    for (size_t i = 0, length; i < n; i += length) {
        for (length = 1; i + length < n && keys[i + length] == keys[i] + length; length++) continue;
        const size_t at = atomic_fetch_add(&drawn->n, 1u);
        if (at >= log_room) continue;
        drawn->runs[at].high = family;
        drawn->runs[at].low = keys[i];
        atomic_signal_fence(memory_order_seq_cst);
        drawn->runs[at].n = length;
    }
    atomic_fetch_add(&drawn->ids, n);
}

static inline size_t runs_in_log(void) {
    const size_t n = atomic_load(&drawn->n);
    return n < log_room ? n : log_room;
}

static inline uint64_t duplicates_in_log(void) { return id_run_duplicates(drawn->runs, runs_in_log()); }

/* A call by its letter: n next, t try, a try_at now_ms; N next_n and T try_n for *n IDs. */
#define CALL_BY(letter, prefix, ids, n, now_ms, ...)               \
    ((letter) == 'N'   ? prefix##_next_n(__VA_ARGS__, ids, *(n))   \
     : (letter) == 'T' ? prefix##_try_n(__VA_ARGS__, ids, *(n), n) \
     : (letter) == 'a' ? prefix##_try_at(__VA_ARGS__, now_ms, ids) \
     : (letter) == 't' ? prefix##_try(__VA_ARGS__, ids)            \
                       : prefix##_next(__VA_ARGS__, ids))

#endif
