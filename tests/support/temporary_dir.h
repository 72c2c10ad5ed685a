/* SPDX-License-Identifier: MIT
 *
 * A temporary directory, also for all tests of a program together; process_scene.h makes one in it for each test.
 * Define _XOPEN_SOURCE 700 or _GNU_SOURCE first.
 */
#ifndef TEMPORARY_DIR_H
#define TEMPORARY_DIR_H

#include "check.h"
#include <unistd.h>

static char folder[200];

static inline const char *in_folder(const char *name) {
    static char paths[4][256];
    static unsigned next;
    char *const path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static inline void begin_folder(void) {
    const char *const room = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%s/ids-XXXXXX", room && *room ? room : "/tmp");
    if (!mkdtemp(folder)) abort();
}

static inline void end_folder(void) {
    char command[256];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CHECK_EQ(system(command), 0);
}

#endif
