/* SPDX-License-Identifier: MIT
 *
 * Each system call that the headers make for a file is told to `on_call` before it is made, which may
 * kill, cancel or raise there, put another file in the place, or make the call fail. Include it before
 * the headers. Nothing is synced for real.
 */
#ifndef CALLS_H
#define CALLS_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool (*on_call)(const char *name); /* false: it fails, with the hook's errno */

static inline bool call_made(const char *name) { return !on_call || on_call(name); }

int fsync(int fd);
int fsync(int fd) { return call_made("fsync") && fd >= 0 ? 0 : -1; }

int fdatasync(int fd);
int fdatasync(int fd) { return call_made("fdatasync") && fd >= 0 ? 0 : -1; }

#define open(...)           (call_made("open") ? (open)(__VA_ARGS__) : -1)
#define close(fd)           (call_made("close") ? (close)(fd) : -1)
#define read(fd, to, n)     (call_made("read") ? (read)(fd, to, n) : -1)
#define write(fd, from, n)  (call_made("write") ? (write)(fd, from, n) : -1)
#define lseek(fd, at, from) (call_made("lseek") ? (lseek)(fd, at, from) : -1)
#define fcntl(...)          (call_made("fcntl") ? (fcntl)(__VA_ARGS__) : -1)
#define stat(path, to)      (call_made("stat") ? (stat)(path, to) : -1)
#define fstat(fd, to)       (call_made("fstat") ? (fstat)(fd, to) : -1)
#define rename(from, to)    (call_made("rename") ? (rename)(from, to) : -1)
#define unlink(path)        (call_made("unlink") ? (unlink)(path) : -1)

#endif
