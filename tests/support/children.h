/* SPDX-License-Identifier: MIT
 *
 * Forked children: a CHECK that fails in one fails the test.
 */
#ifndef CHILDREN_H
#define CHILDREN_H

#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

static inline pid_t begin_child(void (*part)(void)) {
    (void)fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        check_failures = 0;
        part();
        (void)fflush(stdout);
        _exit(check_failures != 0);
    }
    CHECK(child > 0);
    return child;
}

static inline void end_child(pid_t child) {
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

static inline void in_child(void (*part)(void)) { end_child(begin_child(part)); }

#endif
