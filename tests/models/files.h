/* SPDX-License-Identifier: MIT
 *
 * A claim for models, and its file: only a horizon and a lock. The horizon is deliberately in plain memory: a read
 * of it must happen after the write, or the checker reports a race. Include this instead of model.h.
 *
 * claim.h has the header's own functions, cut out by claim.awk: with FLAKE_NO_OS the header leaves them out, and
 * has others of these names. The functions that they call for a file are here.
 */
#ifndef FILES_H
#define FILES_H

#define flake_i_process_owner_id(what) FILES_PROCESS_##what)
#define FILES_PROCESS_void             flake_i_process_owner_id_no(void
#define FILES_PROCESS_                 files_process(
#include <stdint.h>
static inline uint64_t files_process(void) { return 1; }
#include "model.h"

static int64_t files_horizon_ns; /* plain on purpose; likewise the first that was written: */
static int64_t files_first_ns;
static unsigned files_writes;
static flake_atomic64 files_lock; /* 1: it is taken. The kernel's locks have the orders of a mutex */

typedef struct files_record {
    uint64_t number;
    uint8_t run[FLAKE_I_RUN];
} files_record;

static inline bool files_write(flake_i_claim *c, int64_t horizon_ns, int64_t now_ns) {
    (void)c;
    (void)now_ns;
    files_horizon_ns = horizon_ns;
    if (!files_first_ns) files_first_ns = horizon_ns;
    files_writes++;
    return true;
}

static inline bool files_rewrite(flake_i_claim *c, const files_record *r) {
    (void)c;
    (void)r;
    files_writes++;
    return true;
}

static inline flake_status files_take_lock(flake_i_file *f, const char *path, flake_why *why) {
    uint64_t seen = 0;
    (void)path;
    (void)why;
    memset(f, 0, sizeof *f);
    f->fd = 3;
    return FLAKE_ATOMIC_CAS(&files_lock, &seen, 1u, acquire, relaxed) ? FLAKE_OK : FLAKE_IN_USE;
}

static inline flake_status files_read(const flake_i_file *f, const char *path, files_record *r, flake_why *why) {
    (void)f;
    (void)path;
    (void)why;
    r->number = 2;
    return FLAKE_OK;
}

static inline void files_drop(flake_i_file *f, bool is_inherited) {
    (void)is_inherited;
    if (f->fd == 3) FLAKE_ATOMIC_STORE(&files_lock, 0u, release);
    f->fd = -1;
}

typedef int flake_i_cancel_guard; /* no thread is cancelled */
static inline flake_i_cancel_guard flake_i_cancel_guard_begin(void) { return 0; }
static inline void flake_i_cancel_guard_end(flake_i_cancel_guard guard) { (void)guard; }

enum { FLAKE_I_MOMENT_NS = 1, FLAKE_I_CLAIM_NAP_NS = 1 };
#define memcmp(a, b, n)               ((void)(a), (void)(b), (void)(n), 0) /* there is one run */
#define flake_i_record                files_record
#define flake_i_write_record          files_write
#define flake_i_rewrite_record        files_rewrite
#define flake_i_slot_lock             files_take_lock
#define flake_i_slot_read             files_read
#define flake_i_file_drop             files_drop
#define flake_i_say_unwritten(c, why) ((void)(c), (void)(why), FLAKE_IO)
#define flake_i_thread_id()           ((uint64_t)pthread_self() << 1 | 1)
#define flake_i_monotonic_ns()        INT64_C(0)
#undef flake_i_is_writer
#undef flake_i_extend
#undef flake_i_claim_close
#undef flake_i_claim_take_over
#undef flake_i_claim_drop
#define flake_i_is_writer             files_is_writer
#define flake_i_admit                 files_admit
#define flake_i_extend                files_extend
#define flake_i_claim_close           files_close
#define flake_i_claim_drop(c, i, s)   ((void)(s), files_drop(&(c)->file, i))
#define flake_i_claim_take_over       files_take_over
#include "claim.h"
#undef memcmp

static flake_i_engine files_engine; /* of no unit that has passed */

/* A claim whose file has the horizon, and is written that far ahead. */
static inline void files_begin(flake_i_claim *c, int64_t horizon_units, int64_t ahead_units) {
    c->lead_ns = ahead_units * UNIT_NS;
    c->file.fd = 3;
    FLAKE_ATOMIC_STORE(&c->horizon_ns, (uint64_t)horizon_units * UNIT_NS, relaxed);
    FLAKE_ATOMIC_STORE(&c->retry_from_ns, (uint64_t)INT64_MIN, relaxed);
    FLAKE_ATOMIC_STORE(&c->holder, flake_i_process_owner_id(), relaxed);
    FLAKE_ATOMIC_STORE(&files_lock, 1u, relaxed);
    files_engine.epoch_ns = INT64_MAX;
    files_horizon_ns = horizon_units * UNIT_NS;
    files_writes = 0;
}

#endif
