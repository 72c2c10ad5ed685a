/* SPDX-License-Identifier: MIT
 *
 * The system calls that the headers make for a directory and its files. A `trap` fails some of them, or calls a
 * function of the test, which may kill the process or replace the file; `on_call` is a function for each. Calls that
 * write can be made to fail by their number. Nothing is really synced. Include it before the headers.
 */
#ifndef DISK_H
#define DISK_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#if defined(__linux__)
#include <sys/vfs.h>
#endif
#include <unistd.h>

static bool (*on_call)(const char *name); /* false: it fails, with the hook's errno */

/* What happens at some of these calls, without a function of the test; after disk_begin: nothing. */
static struct trap {
    const char *name;   /* of the calls that count; NULL: all */
    int from, n;        /* from this one of them on (0: the first), at so many; n 0: at all that follow */
    int error;          /* they fail with this errno; 0: they do not */
    void (*act)(void);  /* called before each, which has no trap itself */
    _Atomic(int) calls; /* those that counted, so far, of all threads */
} trap;

static inline bool call_made(const char *name) {
    if (on_call && !on_call(name)) return false;
    if (trap.name && strcmp(trap.name, name) != 0) return true;
    const int from = trap.from ? trap.from : 1, at = atomic_fetch_add_explicit(&trap.calls, 1, memory_order_relaxed) + 1;
    if (at < from || (trap.n && at >= from + trap.n)) return true;
    if (trap.act) {
        const struct trap this_one = trap;
        memset(&trap, 0, sizeof trap);
        this_one.act();
        trap = this_one;
    }
    if (trap.error) errno = trap.error;
    return !trap.error;
}

static struct disk {
    int calls;     /* of those that write, so far */
    int fail_from, fails; /* from this one on so many of them fail; 0: none */
    bool only_syncs;  /* of these calls; writes reach the kernel's cache */
    int kill_at;      /* the process is killed before this call; 0: never */
    int kill_at_sync; /* likewise, counting only syncs of the file in place */
    char log[64];     /* m: a directory made; o w s r: open, write, sync, rename of a new file;
                       * O S C: of a directory; w d: a write in place, and its sync */
    int folder;             /* descriptor of the directory that is open, */
    char folder_path[1100]; /* and its path */
} disk = {.folder = -1};

/* Called before each write, and after each sync of a file in place; NULL: not called. */
static void (*disk_on_write)(int fd, size_t n), (*disk_on_sync)(int fd, bool well);

static uint32_t disk_type; /* statfs reports this file system; 0: the real one */

static inline void disk_begin(void) {
    disk = (struct disk){.folder = -1};
    on_call = NULL;
    memset(&trap, 0, sizeof trap);
    disk_on_write = NULL;
    disk_on_sync = NULL;
    disk_type = 0;
}

static inline void disk_fail(int from_now, int fails) {
    disk.fail_from = disk.calls + from_now;
    disk.fails = fails;
}

/* Whether this call may continue. */
static inline bool disk_step(char what) {
    const size_t n = strlen(disk.log);
    disk.calls++;
    if (n < sizeof disk.log - 1) disk.log[n] = what, disk.log[n + 1] = 0;
    const bool is_last_sync = what == 'd' && disk.kill_at_sync && --disk.kill_at_sync == 0;
    if (disk.calls == disk.kill_at || is_last_sync) (void)kill(getpid(), SIGKILL);
    if (!disk.fail_from || disk.calls < disk.fail_from || disk.calls >= disk.fail_from + disk.fails)
        return true;
    if (disk.only_syncs && what != 'd') return true;
    errno = ENOSPC;
    return false;
}

static inline int disk_open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    if (!call_made("open")) return -1;
    struct stat found;
    const bool is_folder = stat(path, &found) == 0 && S_ISDIR(found.st_mode);
    if ((flags & O_CREAT) && !disk_step('o')) return -1;
    if (is_folder && !disk_step('O')) return -1;
    const int fd = open(path, flags, (mode_t)mode);
    if (is_folder) {
        disk.folder = fd;
        (void)snprintf(disk.folder_path, sizeof disk.folder_path, "%s", path);
    }
    return fd;
}

static inline int disk_mkdir(const char *path, mode_t mode) {
    struct stat found;
    if (!call_made("mkdir")) return -1;
    if (stat(path, &found) != 0 && !disk_step('m')) return -1;
    return mkdir(path, mode);
}

static inline ssize_t disk_write(int fd, const void *bytes, size_t n) {
    if (!call_made("write")) return -1;
    if (disk_on_write) disk_on_write(fd, n);
    if (!disk_step('w')) { /* it writes what fits */
        const ssize_t some = write(fd, bytes, n / 2);
        return some == (ssize_t)(n / 2) ? -1 : some;
    }
    return write(fd, bytes, n);
}

int fsync(int fd);
int fsync(int fd) {
    if (!call_made("fsync") || !disk_step(fd == disk.folder ? 'S' : 's')) return -1;
    return fd < 0 ? -1 : 0;
}

int fdatasync(int fd);
int fdatasync(int fd) {
    if (!call_made("fdatasync")) return -1;
    const bool well = disk_step('d');
    if (disk_on_sync && fd >= 0) disk_on_sync(fd, well);
    return well && fd >= 0 ? 0 : -1;
}

static inline int disk_close(int fd) {
    if (!call_made("close")) return -1;
    const bool is_folder = fd == disk.folder;
    if (is_folder) disk.folder = -1;
    const bool well = !is_folder || disk_step('C');
    return close(fd) == 0 && well ? 0 : -1;
}

static inline int disk_rename(const char *from, const char *to) {
    return call_made("rename") && disk_step('r') ? rename(from, to) : -1;
}

#if defined(__linux__)
static inline int disk_statfs(const char *path, struct statfs *to) {
    if (!call_made("statfs") || statfs(path, to) != 0) return -1;
    if (disk_type) to->f_type = (__typeof__(to->f_type))disk_type;
    return 0;
}
#define statfs(path, to) disk_statfs(path, to)
#endif

#define open(...)           disk_open(__VA_ARGS__)
#define mkdir(path, mode)   disk_mkdir(path, mode)
#define write(fd, bytes, n) disk_write(fd, bytes, n)
#define close(fd)           disk_close(fd)
#define rename(from, to)    disk_rename(from, to)
#define read(fd, to, n)     (check_turn(), call_made("read") ? (read)(fd, to, n) : -1)
#define lseek(fd, at, from) (call_made("lseek") ? (lseek)(fd, at, from) : -1)
#define fcntl(...)          (call_made("fcntl") ? (fcntl)(__VA_ARGS__) : -1)
#define stat(path, to)      (call_made("stat") ? (stat)(path, to) : -1)
#define fstat(fd, to)       (call_made("fstat") ? (fstat)(fd, to) : -1)
#define unlink(path)        (call_made("unlink") ? (unlink)(path) : -1)
#define getcwd(to, n)       (call_made("getcwd") ? (getcwd)(to, n) : NULL)

#endif
