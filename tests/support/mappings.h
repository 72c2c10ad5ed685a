/* SPDX-License-Identifier: MIT
 *
 * How many mappings this process has (Linux): a leaked mapping shows there.
 */
#ifndef MAPPINGS_H
#define MAPPINGS_H

#include <stdio.h>

static inline unsigned mappings(void) {
    unsigned lines = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps) return 0;
    for (int c; (c = getc(maps)) != EOF;) lines += c == '\n';
    (void)fclose(maps);
    return lines;
}

#endif
