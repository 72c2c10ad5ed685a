/* SPDX-License-Identifier: MIT
 *
 * Forked children: a block of the test runs in one. A CHECK that fails in a child that ends fails the test. The memory
 * that processes share, and how many mappings one has.
 */
#ifndef CHILDREN_H
#define CHILDREN_H

#include "check.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static inline pid_t fork_child(void) {
    (void)fflush(stdout);
    const pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) check_failures = 0;
    return child;
}

__attribute__((noreturn)) static inline void leave_child(void) {
    (void)fflush(stdout);
    _exit(check_failures != 0);
}

/* Its status by wait. */
static inline int end_of(pid_t child) {
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    return status;
}

static inline int is_child(pid_t child) { return child == 0; }

/* True in the child; false in its parent, when the child has ended as it should. */
static inline int is_child_or_ended(pid_t child, int signal_number) {
    if (is_child(child)) return 1;
    const int status = end_of(child);
    CHECK(signal_number ? WIFSIGNALED(status) && WTERMSIG(status) == signal_number : status == 0);
    return 0;
}

/* The block that follows runs in a child, with its parent's variables, and never returns or breaks. The child ends
 * with it; must be killed in it; or is waited for by end_of. */
#define CHILD_NAME_AT(line) child_of_line_##line
#define CHILD_NAME(line)    CHILD_NAME_AT(line)
#define CHILD_THAT_ENDS_BY(signal_number)                                                                         \
    for (const pid_t CHILD_NAME(__LINE__) = fork_child(); is_child_or_ended(CHILD_NAME(__LINE__), signal_number); \
         leave_child())
#define IN_CHILD           CHILD_THAT_ENDS_BY(0)
#define IN_KILLED_CHILD    CHILD_THAT_ENDS_BY(SIGKILL)
#define IN_CHILD_AS(child) for ((child) = fork_child(); is_child(child); leave_child())

/* The same, where a function does it. */
static inline pid_t begin_child(void (*part)(void)) {
    pid_t child;
    IN_CHILD_AS(child) part();
    return child;
}
static inline void end_child(pid_t child) { CHECK_EQ(end_of(child), 0); }
static inline void in_child(void (*part)(void)) { IN_CHILD part(); }

/* ---- memory ---- */

/* With the children of this process. */
static inline void *shared_memory(size_t size) {
    void *const at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) abort();
    return at;
}

/* Of Linux: a leaked mapping shows there. */
static inline unsigned mappings(void) {
    unsigned lines = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps) return 0;
    for (int c; (c = getc(maps)) != EOF;) lines += c == '\n';
    (void)fclose(maps);
    return lines;
}

#endif
