/* SPDX-License-Identifier: MIT
 *
 * Many IDs as runs of numbers that follow one another, and how many of them are duplicates.
 */
#ifndef ID_RUNS_H
#define ID_RUNS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* low, low + 1 ... low + n - 1, all with the same high: a range takes the memory of one ID. */
typedef struct id_run {
    uint64_t high, low, n;
} id_run;

static inline int id_run_compare(const void *of, const void *other) {
    const id_run *a = (const id_run *)of, *b = (const id_run *)other;
    return a->high != b->high ? (a->high > b->high) - (a->high < b->high) : (a->low > b->low) - (a->low < b->low);
}

/* Sorts the runs. Three of one ID are two duplicates. */
static inline uint64_t id_run_duplicates(id_run *runs, size_t n) {
    uint64_t duplicates = 0, seen_until = 0;
    qsort(runs, n, sizeof *runs, id_run_compare);
    for (size_t i = 0; i < n; i++) {
        const id_run *r = &runs[i];
        const uint64_t until = r->low + r->n;
        if (i == 0 || r->high != r[-1].high) seen_until = r->low;
        if (r->low < seen_until) duplicates += (until < seen_until ? until : seen_until) - r->low;
        if (until > seen_until) seen_until = until;
    }
    return duplicates;
}

#endif
