/* SPDX-License-Identifier: MIT
 *
 * Keeps the ids of a timed run, and finds those that came twice. Ids that follow one another take no
 * more room than one of them.
 */
#ifndef BENCH_UNIQUE_H
#define BENCH_UNIQUE_H

#include <stddef.h>
#include <stdint.h>

/* An id of up to 128 bits. */
typedef struct unique_key {
    uint64_t high, low;
} unique_key;

/* low, low + 1 ... low + length - 1, all with the same high. */
typedef struct unique_run {
    uint64_t high, low, length;
} unique_run;

/* One thread's. All zero: empty. */
typedef struct unique_ids {
    unique_run *runs;
    size_t n, room;
    uint64_t ids;
} unique_ids;

void unique_add(unique_ids *, unique_key);
void unique_clear(unique_ids *);
/* How many ids of all `threads` are there twice or more often. */
uint64_t unique_duplicates(const unique_ids *of_thread, unsigned threads);

#endif
