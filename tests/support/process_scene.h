/* SPDX-License-Identifier: MIT
 *
 * For tests with files and several processes: a private directory, and memory that children share,
 * with a clock in it and a list of all IDs that any of them drew. A sleep moves that clock. Include it
 * in place of support.h, before the header under test.
 */
#ifndef PROCESS_SCENE_H
#define PROCESS_SCENE_H

#include <sys/mman.h>
#include <time.h>
#define REAL_SLEEP /* replaced by what follows */
#define CHECK_OWN_MAIN
#include "support.h"
#include "children.h"
#include "temporary_dir.h"
#include "disk.h"

static const int64_t a_ms = 1000000, start_ms = 1700000000000;

typedef struct scene {
    _Atomic(int64_t) now_ns, slept_ns;
    _Atomic(int64_t) monotonic_ns; /* sleeps move it, whatever they do to now_ns */
    _Atomic(unsigned) sleeps, trouble; /* trouble: failed CHECKs of children */
    size_t n;
    uint64_t ids[60000];
} scene;

static scene *our;
static pid_t scene_process; /* which runs the tests */

/* A CHECK that fails in whichever process fails the test. */
static inline void scene_failed(void) {
    if (getpid() != scene_process) atomic_fetch_add(&our->trouble, 1u);
    (void)fflush(stdout);
}

static void (*on_sleep)(int64_t ns); /* NULL: the clock moves by the requested time */

static inline int64_t scene_clock(void *user) {
    (void)user;
    check_turn();
    return atomic_load(&our->now_ns);
}

static inline void scene_sleep(int64_t ns) {
    check_turn();
    (void)call_made("sleep");
    atomic_fetch_add(&our->sleeps, 1u);
    atomic_store(&our->slept_ns, script_sum(atomic_load(&our->slept_ns), ns));
    atomic_store(&our->monotonic_ns, script_sum(atomic_load(&our->monotonic_ns), ns));
    if (on_sleep) on_sleep(ns);
    else atomic_store(&our->now_ns, script_sum(atomic_load(&our->now_ns), ns));
}

#define FLAKE_SLEEP_NS(ns) scene_sleep(ns)

#if defined(__linux__)
#include <sys/syscall.h>
/* In place of the library's, so a wait for a number in use takes no real time. */
int clock_gettime(clockid_t id, struct timespec *t) {
    if (id != CLOCK_MONOTONIC || !our) return (int)syscall(SYS_clock_gettime, id, t);
    const int64_t ns = atomic_load(&our->monotonic_ns);
    t->tv_sec = (time_t)(ns / 1000000000);
    t->tv_nsec = (long)(ns % 1000000000);
    return 0;
}
#endif

/* ---- directory ---- */

static char our_folder[256]; /* a new one for each test, in `folder` */

static inline const char *path_of(const char *name) {
    static char paths[8][512];
    static unsigned next;
    char *path = paths[next++ % 8];
    (void)snprintf(path, sizeof paths[0], "%s/%s", our_folder, name);
    return path;
}

/* Before each test, and within one for another scene: checks and cleans up the last one. */
static inline void begin(void) {
    static unsigned count;
    if (check_after) check_after();
    (void)snprintf(our_folder, sizeof our_folder, "%s/%u", folder, count++);
    CHECK_EQ((mkdir)(our_folder, 0700), 0);
    atomic_store(&our->now_ns, start_ms * a_ms);
    atomic_store(&our->slept_ns, 0);
    atomic_store(&our->monotonic_ns, 1000 * a_ms);
    atomic_store(&our->sleeps, 0u);
    atomic_store(&our->trouble, 0u);
    our->n = 0;
    on_sleep = NULL;
    disk_begin();
}

static inline int64_t scene_ns(void) { return atomic_load(&our->now_ns); }
static inline void move_to_ns(int64_t ns) { atomic_store(&our->now_ns, ns); }
static inline void pass_ms(int64_t time_ms) { atomic_fetch_add(&our->now_ns, time_ms * a_ms); }

/* ---- IDs ---- */

static inline void note(uint64_t id) {
    if (our->n < sizeof our->ids / sizeof *our->ids) our->ids[our->n++] = id;
}

static inline size_t repeated(void) { return count_duplicates(our->ids, our->n); }

/* At the end of each scene. */
static inline void no_id_is_repeated(void) {
    CHECK_EQ(repeated(), 0);
    CHECK_EQ(atomic_exchange(&our->trouble, 0u), 0);
}

/* ---- children ---- */

static inline void be_killed(void) { (void)kill(getpid(), SIGKILL); }

/* A line between two processes: one waits until the other has written, or has ended. */
typedef struct wire {
    int ends[2];
} wire;

static inline wire new_line(void) {
    wire l;
    if (pipe(l.ends) != 0) abort();
    return l;
}

static inline void tell(const wire *l) { CHECK_EQ(write(l->ends[1], "!", 1), 1); }

static inline bool await_word(const wire *l) {
    char word;
    return read(l->ends[0], &word, 1) == 1;
}

static inline void hang_up(const wire *l) {
    (void)close(l->ends[0]);
    (void)close(l->ends[1]);
}

/* How many descriptors this process has open. */
static inline int descriptors(void) {
    int n = 0;
    for (int fd = 0; fd < 256; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* Maps a file of `folder`; the first process to come makes it. */
static inline void *map_shared(const char *name, size_t size) {
    const int fd = open(in_folder(name), O_RDWR | O_CREAT, 0666);
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0) abort();
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) abort();
    (void)close(fd);
    return page;
}

static inline int scene_main(int argc, char **argv) {
    begin_folder();
    our = (scene *)map_shared("scene", sizeof *our);
    scene_process = getpid();
    check_failed = scene_failed;
    if (!check_before) check_before = begin;
    if (!check_after) check_after = no_id_is_repeated;
    const int code = check_main(argc, argv);
    end_folder();
    return code;
}

#endif
