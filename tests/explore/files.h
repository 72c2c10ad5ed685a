/* SPDX-License-Identifier: MIT
 *
 * The explorer's disk: the file of one number, whose seeks, writes and syncs are steps like any other access.
 * Include it between explore.h and flake.h.
 */
#ifndef EXPLORE_FILES_H
#define EXPLORE_FILES_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { FILES_FD = 1001, FILES_SIZE = 8192, FILES_RECORD = 128 };

static struct files {
    bool is_there;
    uint64_t position;
    uint64_t record[2]; /* [ number ][ horizon, ns:40 ][ not synced:1 ] of the record in bytes */
    uint8_t bytes[FILES_SIZE];
} files;

static uint64_t files_get(const uint8_t *in) {
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++) value = value << 8 | in[i];
    return value;
}

static uint64_t files_number(unsigned i) { return files.record[i] >> 41; }
static bool files_is_dirty(unsigned i) { return files.record[i] & 1; }

/* The least horizon that a power cut leaves, ns. */
static int64_t files_lasting(void) {
    const unsigned newer = files_number(1) > files_number(0), older = !newer;
    const unsigned left = files_is_dirty(newer) ? older : newer;
    if (!files_number(left) || files_is_dirty(left)) return INT64_MIN;
    return (int64_t)(files.record[left] >> 1 & (((uint64_t)1 << 40) - 1));
}

static uint64_t files_hash(const uint8_t *bytes, size_t n) {
    uint64_t hash = n;
    for (size_t i = 0; i + 8 <= n; i += 8) hash = hash_mix(hash, files_get(bytes + i));
    return hash;
}

static int files_open(void) {
    if (files.is_there) return FILES_FD;
    errno = ENOENT;
    return -1;
}

static void files_told(uint64_t value) {
    if (explore_now.me < EXPLORE_THREADS) explore_saw(value);
}

static int64_t files_seek(int64_t at) {
    explore_store(&files.position, sizeof files.position, (uint64_t)at);
    return at;
}

static ssize_t files_write(const void *bytes, size_t n) {
    const uint64_t at = files.position;
    const unsigned i = at >= FILES_SIZE / 2;
    const uint8_t *record = (const uint8_t *)bytes;
    files_told(files_hash(record, n));
    if (memcmp(files.bytes + at, bytes, n) == 0) { /* a record is written again: it does not change */
        files.position += n;
        return (ssize_t)n;
    }
    if (at == 512 || at == 512 + 4096) {
        if (files_is_dirty(!i) || files_is_dirty(i))
            explore_fail("a record is written while another is not on disk");
        if (files_number(i) > files_number(!i)) explore_fail("the newest record is overwritten");
        if (files_get(record) <= files_number(!i)) explore_fail("a record's number is not new");
    } else if (explore_now.me < EXPLORE_THREADS)
        explore_fail("a record is written beside its place: there are two writers");
    memcpy(files.bytes + at, bytes, n);
    files.position += n;
    explore_store(&files.record[i], sizeof files.record[i],
                  files_get(record) << 41 | files_get(record + 8) << 1 | 1);
    return (ssize_t)n;
}

static int files_sync(void) {
    for (unsigned i = 0; i < 2; i++)
        if (files_is_dirty(i))
            explore_store(&files.record[i], sizeof files.record[i], files.record[i] & ~(uint64_t)1);
    return 0;
}

int fsync(int fd);
int fsync(int fd) { return fd < 0 ? -1 : files_sync(); }

int fdatasync(int fd);
int fdatasync(int fd) { return fd < 0 ? -1 : files_sync(); }

static ssize_t files_read(void *out, size_t n) {
    const size_t left = FILES_SIZE - files.position;
    if (n > left) n = left;
    memcpy(out, files.bytes + files.position, n);
    files_told(files_hash((const uint8_t *)out, n));
    files.position += n;
    return (ssize_t)n;
}

static int files_stat(struct stat *out) {
    memset(out, 0, sizeof *out);
    out->st_mode = 0100000; /* a file */
    out->st_ino = 7;
    out->st_nlink = 1;
    out->st_uid = geteuid();
    return 0;
}

static int files_mkdir(void) { return errno = EEXIST, -1; }
static int files_statfs(struct statfs *out) { return memset(out, 0, sizeof *out), 0; }

/* Locks have no effect among threads that share the open file. */
static int files_say(int fd, ...) { return fd < 3 ? -1 : 0; }

/* Fibers are threads. */
static pthread_t files_self(void) { return (pthread_t)(explore_now.me + 1); }

#define open(path, ...)     ((void)(path), files_say(__VA_ARGS__), files_open())
#define lseek(fd, at, how)  ((void)(fd), files_seek(at))
#define write(fd, bytes, n) ((void)(fd), files_write(bytes, n))
#define read(fd, bytes, n)  ((void)(fd), files_read(bytes, n))
#define close(fd)           files_say(fd)
#define fcntl(...)          files_say(__VA_ARGS__)
#define stat(path, out)     ((void)(path), files_stat(out))
#define fstat(fd, out)      ((void)(fd), files_stat(out))
#define mkdir(path, mode)   ((void)(path), files_mkdir())
#define statfs(path, out)   ((void)(path), files_statfs(out))
#define pthread_self()      files_self()

#endif
