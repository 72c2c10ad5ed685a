/* SPDX-License-Identifier: MIT
 *
 * What many threads and processes have drawn, in memory that they share; any of them may be killed at any moment.
 */
#ifndef ID_LOG_H
#define ID_LOG_H

#include "id_runs.h"
#include <stdatomic.h>
#include <string.h>

enum { log_room = 12000000 };

static struct id_log {
    _Atomic(size_t) n, ids;
    id_run runs[log_room]; /* a run of 0 IDs: killed before it was written */
} *drawn;

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

/* Types of IDs, and the families of those that one test compares. */
enum { FLAKES, SNOS, FLAKES128, flakes_of_another_layout };
enum { most_batch = 4096 };

#define CALL_BY(prefix, ids, ...)                                \
    (letter == 'N'   ? prefix##_next_n(__VA_ARGS__, ids, *n)     \
     : letter == 'T' ? prefix##_try_n(__VA_ARGS__, ids, *n, n)   \
     : letter == 'a' ? prefix##_try_at(__VA_ARGS__, now_ms, ids) \
     : letter == 't' ? prefix##_try(__VA_ARGS__, ids)            \
                     : prefix##_next(__VA_ARGS__, ids))

/* Draws by a call: n next, t try, a try_at now_ms, p from a stock; N next_n and T try_n, for *n IDs. Then *n is how
 * many were returned, by a batch that has failed, too; their keys are a time and below it a number in 22 bits. */
static inline flake_status draw_keys(unsigned type, void *g, char letter, int64_t now_ms, uint64_t *keys, size_t *n) {
    static _Thread_local uint64_t ids[most_batch];
    static _Thread_local sno_id snos[most_batch];
    static _Thread_local flake128 wide[most_batch];
    if (letter != 'N' && letter != 'T') *n = 1;
    const flake_status status = letter == 'p'        ? flake_prefetch_next((flake_prefetch *)g, ids)
                                : type == SNOS       ? CALL_BY(sno, snos, (sno_gen *)g, 42)
                                : type == FLAKES128  ? CALL_BY(flake128, wide, (flake_gen *)g)
                                                     : CALL_BY(flake, ids, (flake_gen *)g);
    const size_t room = *n;
    for (*n = 0; *n < room; ++*n) { /* zeros follow what a failed batch has returned */
        flake_parts parts = {0, 0, 0};
        uint64_t key = ids[*n];
        if (type == SNOS)
            key = sno_units(snos[*n]) << 22 | (sno_partition(snos[*n]) & 31u) << 17 |
                  (uint64_t)sno_tick(snos[*n]) << 16 | sno_sequence(snos[*n]);
        if (type == FLAKES128) {
            if (flake128_decompose(&flake_layout_boundary, &wide[*n], &parts) != FLAKE_OK) abort();
            key = (uint64_t)parts.unix_ms << 22 | (parts.node & 63) << 16 | parts.seq;
        }
        if (key == 0) break;
        keys[*n] = key;
    }
    return status;
}

#endif
