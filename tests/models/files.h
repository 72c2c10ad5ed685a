/* SPDX-License-Identifier: MIT
 *
 * A disk for models: one state file, in plain memory on purpose: who reads it must have come behind
 * who wrote it, or a race detector says so. What is written and not yet synced may be gone after a
 * power cut, and so may be what it was written over. Include it before model.h.
 */
#ifndef FILES_H
#define FILES_H

#ifdef MODEL_WITH_SYSTEM
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_FD = 1001, FILES_SIZE = 8192, FILES_RECORD = 128 };

static unsigned char files_bytes[FILES_SIZE]; /* as a process finds them */
static int64_t files_at;
static int64_t files_dirty; /* where the record begins that is written and not synced; 0: none */
static unsigned files_writes;

static inline uint64_t files_get(int64_t at) {
    uint64_t value = 0;
    for (int64_t i = at; i < at + 8; i++) value = value << 8 | files_bytes[i];
    return value;
}

/* The horizon that a power cut would leave, in ns, if what is not synced were lost; the least: none. */
static inline int64_t files_lasting(void) {
    int64_t horizon = INT64_MIN;
    uint64_t highest = 0;
    for (int64_t at = 512; at < FILES_SIZE; at += 4096)
        if (at != files_dirty && files_get(at) > highest) {
            highest = files_get(at);
            horizon = (int64_t)files_get(at + 8);
        }
    return horizon;
}

static inline int64_t files_seek(int fd, int64_t at) {
    assert(fd == FILES_FD);
    return files_at = at;
}

static inline ssize_t files_write(int fd, const void *bytes, size_t n) {
    assert(fd == FILES_FD && files_at > 0 && n == FILES_RECORD);
    if (memcmp(files_bytes + files_at, bytes, n) != 0) { /* else it is settled */
        assert(!files_dirty);
        files_dirty = files_at;
    }
    memcpy(files_bytes + files_at, bytes, n);
    files_at += (int64_t)n;
    return (ssize_t)n;
}

static inline ssize_t files_read(int fd, void *bytes, size_t n) {
    const int64_t left = FILES_SIZE - files_at;
    assert(fd == FILES_FD);
    if ((int64_t)n > left) n = (size_t)left;
    memcpy(bytes, files_bytes + files_at, n);
    files_at += (int64_t)n;
    return (ssize_t)n;
}

static inline int files_stat(struct stat *out) {
    memset(out, 0, sizeof *out);
    out->st_mode = 0100000; /* a file */
    out->st_ino = 7;
    return 0;
}

/* Locks are of no use within a model. */
static inline int files_say(int fd, ...) { return fd < 3 ? -1 : 0; }

/* Where a write begins and ends; a model may let its thread stand still there for ever. */
#ifndef FILES_STEP
#define FILES_STEP() ((void)0)
#endif

static void files_look(void); /* with a record cut short */

static inline ssize_t files_write_step(int fd, const void *bytes, size_t n) {
    FILES_STEP();
    const ssize_t written = files_write(fd, bytes, n);
    files_look();
    FILES_STEP();
    return written;
}

int fdatasync(int fd);
int fdatasync(int fd) {
    assert(fd == FILES_FD);
    FILES_STEP();
    files_dirty = 0;
    files_writes++;
    FILES_STEP();
    return 0;
}

#define open(path, ...)     ((void)(path), files_say(__VA_ARGS__), FILES_FD)
#define lseek(fd, at, how)  files_seek(fd, at)
#define write(fd, bytes, n) files_write_step(fd, bytes, n)
#define read(fd, bytes, n)  files_read(fd, bytes, n)
#define close(fd)           files_say(fd)
#define fcntl(...)          files_say(__VA_ARGS__)
#define stat(path, out)     ((void)(path), files_stat(out))
#define fstat(fd, out)      ((void)(fd), files_stat(out))

#include "model.h"

#undef open
#undef lseek
#undef write
#undef read
#undef close
#undef fcntl
#undef stat
#undef fstat

static flake_state *files_state;

/* A power cut that spoils the record that is written leaves another, past all that is admitted. */
static void files_look(void) {
    const uint64_t horizon = FLAKE_ATOMIC_LOAD(&files_state->horizon, relaxed);
    assert(horizon == FLAKE_I_CLOSED_STATE || (int64_t)horizon <= files_lasting());
}

/* An open state whose file has the horizon, and is written that far ahead. */
static inline void files_begin(flake_state *s, int64_t horizon_units, int64_t ahead_units) {
    uint8_t record[FLAKE_I_RECORD];
    files_state = s;
    memset(s, 0, sizeof *s); /* with it the fork mark: nobody forks */
    memcpy(s->path, "/model", 7);
    FLAKE_ATOMIC_STORE(&s->lead, (uint64_t)ahead_units * UNIT_NS, relaxed);
    s->file.fd = FILES_FD;
    s->file.inode = 7;
    flake_i_record_next(s, horizon_units * UNIT_NS, record);
    memset(files_bytes, 0, sizeof files_bytes);
    flake_i_header_put(files_bytes);
    memcpy(files_bytes + flake_i_record_at(1), record, sizeof record);
    memcpy(s->last, record, sizeof record);
    s->number = 1;
    files_dirty = 0;
    files_writes = 0;
    FLAKE_ATOMIC_STORE(&s->horizon, (uint64_t)horizon_units * UNIT_NS, relaxed);
    FLAKE_ATOMIC_STORE(&s->patient, (uint64_t)INT64_MIN, relaxed);
    FLAKE_ATOMIC_STORE(&s->holder, flake_i_process_owner_id(), relaxed);
    FLAKE_ATOMIC_STORE(&s->is_open, 1u, relaxed);
}

#else
/* For a checker: no bytes, only the horizon in them. Where the header calls one of these five it comes
 * here; what it has in their place for want of files goes by another name. */
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

static inline int64_t files_lasting(void) { return files_horizon_ns; }

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

/* What flake_i_state_open does with a file that is there, in its order. */
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

#endif
