/* SPDX-License-Identifier: MIT
 *
 * A disk for models: only the horizon in the state file, deliberately in plain memory. A read of it must happen
 * after the write, or the checker reports a race. Include this before model.h.
 *
 * The header's calls of these five functions come here; its own, which need files, are renamed.
 */
#ifndef FILES_H
#define FILES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#define flake_i_state_write(s, horizon_ns, now_ns) FILES_WRITE_##s, horizon_ns, now_ns)
#define FILES_WRITE_flake_state                    flake_i_state_write_bytes(flake_state
#define FILES_WRITE_s                              files_write_horizon(s
#define flake_i_state_settle(s, r)                 FILES_SETTLE_##s, r)
#define FILES_SETTLE_flake_state                   flake_i_state_settle_bytes(flake_state
#define FILES_SETTLE_s                             files_settle(s
#define flake_i_state_make(s, o)                   FILES_MAKE_##s, o)
#define FILES_MAKE_flake_state                     flake_i_state_make_file(flake_state
#define FILES_MAKE_s                               files_make(s
#define flake_i_thread_id(what)                    FILES_THREAD_##what)
#define FILES_THREAD_void                          flake_i_thread_id_one(void
#define FILES_THREAD_                              files_thread(
#define flake_i_process_owner_id(what)             FILES_PROCESS_##what)
#define FILES_PROCESS_void                         flake_i_process_owner_id_no(void
#define FILES_PROCESS_                             files_process(
struct flake_state;
struct flake_i_record;
struct flake_i_opening;
static bool files_write_horizon(struct flake_state *, int64_t horizon_ns, int64_t now_ns);
static inline uint64_t files_process(void) { return 1; }
static bool files_settle(struct flake_state *, const struct flake_i_record *);
static int files_make(struct flake_state *, const struct flake_i_opening *);
static inline uint64_t files_thread(void) { return (uint64_t)pthread_self() << 1 | 1; }
#include "model.h"

static int64_t files_horizon_ns; /* plain on purpose */
static unsigned files_writes;

static bool files_write_horizon(flake_state *s, int64_t horizon_ns, int64_t now_ns) {
    (void)s;
    (void)now_ns;
    files_horizon_ns = horizon_ns;
    files_writes++;
    return true;
}

static bool files_settle(flake_state *s, const flake_i_record *r) {
    s->number = r->number;
    return true;
}

/* The file is there. */
static int files_make(flake_state *s, const flake_i_opening *o) {
    (void)s;
    (void)o;
    return FLAKE_IO;
}

/* An open state whose file has the horizon, and is written that far ahead. */
static inline void files_begin(flake_state *s, int64_t horizon_units, int64_t ahead_units) {
    FLAKE_ATOMIC_STORE(&s->lead, (uint64_t)ahead_units * UNIT_NS, relaxed);
    FLAKE_ATOMIC_STORE(&s->horizon, (uint64_t)horizon_units * UNIT_NS, relaxed);
    FLAKE_ATOMIC_STORE(&s->patient, (uint64_t)INT64_MIN, relaxed);
    FLAKE_ATOMIC_STORE(&s->holder, flake_i_process_owner_id(), relaxed);
    FLAKE_ATOMIC_STORE(&s->is_open, 1u, relaxed);
    files_horizon_ns = horizon_units * UNIT_NS;
    files_writes = 0;
}

/* What flake_i_state_open does with an existing file, in the same order. */
static inline flake_status files_open_again(flake_state *s, int64_t ahead_units) {
    static flake_state_options where; /* zero */
    static flake_i_opening o;
    o.where = &where;
    o.now_ns = model_now_ns();
    o.last.number = 2; /* its name is on disk */
    o.last.horizon_ns = files_horizon_ns;
    FLAKE_ATOMIC_STORE(&s->is_open, 0u, relaxed);
    FLAKE_ATOMIC_STORE(&s->writer, flake_i_thread_id(), relaxed);
    FLAKE_ATOMIC_STORE(&s->run, flake_i_state_run(s) + 1, relaxed); /* DISK carries it */
    s->file.fd = 3;
    s->is_shared = false;
    s->instance_owner_id = 0;
    FLAKE_ATOMIC_STORE(&s->holder, flake_i_process_owner_id(), relaxed);
    FLAKE_ATOMIC_STORE(&s->lead, (uint64_t)ahead_units * UNIT_NS, relaxed);
    FLAKE_ATOMIC_STORE(&s->patient, (uint64_t)INT64_MIN, relaxed);
    return flake_i_state_begin(s, &o);
}

#endif
