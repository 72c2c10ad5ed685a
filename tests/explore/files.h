/* SPDX-License-Identifier: MIT
 *
 * The file of one number, for both explorers, in place of the system's. Include it before flake.h.
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

enum { FILE_DESCRIPTOR = 1001, FILE_SIZE = 8192 };

static struct file {
    bool is_there;
    uint64_t position;
    uint8_t bytes[FILE_SIZE]; /* as the kernel has them */
} the_file;

/* Each explorer's: what a seek does; bytes were written, which are others than before, or were read; a sync; a lock,
 * which may be in use. */
static void file_seek(uint64_t at);
static void file_written(uint64_t at, const uint8_t *bytes, size_t n, bool is_new);
static void file_was_read(const uint8_t *bytes, size_t n);
static void file_synced(void);
static bool file_locked(bool lock);

static int file_open(int flags, ...) {
    if (flags >= 0 && the_file.is_there) return FILE_DESCRIPTOR;
    errno = ENOENT;
    return -1;
}

static ssize_t file_write(const void *bytes, size_t n) {
    const uint64_t at = the_file.position;
    const bool is_new = memcmp(the_file.bytes + at, bytes, n) != 0;
    memcpy(the_file.bytes + at, bytes, n);
    the_file.position += n;
    file_written(at, (const uint8_t *)bytes, n, is_new);
    return (ssize_t)n;
}

static ssize_t file_read(void *out, size_t n) {
    if (n > FILE_SIZE - the_file.position) n = FILE_SIZE - the_file.position;
    memcpy(out, the_file.bytes + the_file.position, n);
    the_file.position += n;
    file_was_read((const uint8_t *)out, n);
    return (ssize_t)n;
}

static int file_stat(struct stat *out) {
    memset(out, 0, sizeof *out);
    out->st_mode = 0100000; /* a file */
    out->st_nlink = 1;
    out->st_uid = geteuid();
    return 0;
}

static int file_control(int fd, ...) {
    enum { LOCK = 37 }; /* F_OFD_SETLK, which strict C hides */
    va_list args;
    va_start(args, fd);
    const bool locks = fd == FILE_DESCRIPTOR && va_arg(args, int) == LOCK;
    const struct flock *const all = locks ? va_arg(args, const struct flock *) : NULL;
    va_end(args);
    if (fd >= 3 && (!locks || file_locked(all->l_type == F_WRLCK))) return 0;
    errno = EAGAIN;
    return -1;
}

int fdatasync(int fd) {
    if (fd == FILE_DESCRIPTOR) file_synced();
    return fd < 0 ? -1 : 0;
}
int fsync(int fd) { return fdatasync(fd); }

#define open(path, ...)                 ((void)(path), file_open(__VA_ARGS__))
#define lseek(fd, at, how)              ((void)(fd), file_seek((uint64_t)(at)), (int64_t)(at))
#define write(fd, bytes, n)             ((void)(fd), file_write(bytes, n))
#define read(fd, bytes, n)              ((void)(fd), file_read(bytes, n))
#define close(fd)                       ((fd) < 3 ? -1 : 0)
#define fcntl(...)                      file_control(__VA_ARGS__)
#define stat(path, out)                 ((void)(path), file_stat(out))
#define fstat(fd, out)                  ((void)(fd), file_stat(out))
#define mkdir(path, mode)               ((void)(path), errno = EEXIST, -1)
#define statfs(path, out)               ((void)(path), memset(out, 0, sizeof *(out)), 0)
#define getpid()                        1                             /* in every run */
#define pthread_self()                  ((pthread_t)(run_now.me + 1)) /* fibers are threads */
#define pthread_setcancelstate(to, was) 0

#endif
