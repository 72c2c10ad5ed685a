/* SPDX-License-Identifier: MIT */
#include "unique.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *memory) {
    if (!memory) abort();
    return memory;
}

void unique_add(unique_ids *u, unique_key id) {
    u->ids++;
    if (u->n > 0) {
        unique_run *last = &u->runs[u->n - 1];
        if (last->high == id.high && last->low + last->length == id.low) {
            last->length++;
            return;
        }
    }
    if (u->n == u->room) {
        u->room = u->room ? 2 * u->room : 1024;
        u->runs = (unique_run *)must(realloc(u->runs, u->room * sizeof *u->runs));
    }
    const unique_run run = {id.high, id.low, 1};
    u->runs[u->n++] = run;
}

void unique_clear(unique_ids *u) { u->n = u->ids = 0; }

static int by_id(const void *of, const void *other) {
    const unique_run *a = (const unique_run *)of, *b = (const unique_run *)other;
    return a->high != b->high ? (a->high > b->high) - (a->high < b->high)
                              : (a->low > b->low) - (a->low < b->low);
}

uint64_t unique_duplicates(const unique_ids *of_thread, unsigned threads) {
    size_t n = 0;
    for (unsigned i = 0; i < threads; i++) n += of_thread[i].n;
    if (n == 0) return 0;
    unique_run *const sorted = (unique_run *)must(malloc(n * sizeof *sorted)), *end = sorted;
    for (unsigned i = 0; i < threads; i++) {
        if (of_thread[i].n == 0) continue;
        memcpy(end, of_thread[i].runs, of_thread[i].n * sizeof *end);
        end += of_thread[i].n;
    }
    qsort(sorted, n, sizeof *sorted, by_id);
    uint64_t duplicates = 0, seen_until = sorted[0].low;
    for (const unique_run *r = sorted; r < end; r++) {
        const uint64_t until = r->low + r->length;
        if (r > sorted && r->high != r[-1].high) seen_until = r->low;
        if (r->low < seen_until) duplicates += (until < seen_until ? until : seen_until) - r->low;
        if (until > seen_until) seen_until = until;
    }
    free(sorted);
    return duplicates;
}
