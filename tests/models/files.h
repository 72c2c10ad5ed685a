/* SPDX-License-Identifier: MIT
 *
 * A disk for models: one file, of which only the horizon is kept, in plain memory on purpose: who reads
 * it must have come behind who wrote it, or a race detector says so. Include it before model.h.
 */
#ifndef FILES_H
#define FILES_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t files_written, files_synced, files_lasting; /* horizons, in ns */
static unsigned files_writes;

static inline int files_open(const char *path, int flags, ...) {
    (void)path;
    return flags & O_CREAT ? 1001 : 1002; /* the file, or its folder */
}

static inline ssize_t files_write(int fd, const void *bytes, size_t n) {
    uint64_t horizon = 0;
    for (size_t i = 16; i < 24; i++) horizon = horizon << 8 | ((const unsigned char *)bytes)[i];
    (void)fd;
    files_written = (int64_t)horizon;
    return (ssize_t)n;
}

int fsync(int fd);
int fsync(int fd) {
    if (fd == 1001) files_synced = files_written;
    return 0;
}

static inline int files_rename(void) {
    files_lasting = files_synced;
    files_writes++;
    return 0;
}

static inline int files_close(int fd) { return fd < 1001 ? -1 : 0; }

#define open(...)           files_open(__VA_ARGS__)
#define write(fd, bytes, n) files_write(fd, bytes, n)
#define close(fd)           files_close(fd)
#define rename(from, to)    files_rename()

#include "model.h"

#undef open
#undef write
#undef close
#undef rename

/* An open state whose file has the horizon, and is written that far ahead. */
static inline void files_begin(flake_state *s, int64_t horizon_units, int64_t ahead_units) {
    memset(s, 0, sizeof *s); /* with it the fork mark: nobody forks */
    memcpy(s->path, "model", 6);
    s->horizon_ns = ahead_units * UNIT_NS;
    files_written = files_synced = files_lasting = horizon_units * UNIT_NS;
    files_writes = 0;
    FLAKE_ATOMIC_STORE(&s->horizon, (uint64_t)files_lasting, relaxed);
    FLAKE_ATOMIC_STORE(&s->patient, (uint64_t)INT64_MIN, relaxed);
    FLAKE_ATOMIC_STORE(&s->is_open, 1u, relaxed);
}

#endif
