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

static bool is_less(const unique_run *a, const unique_run *b) {
    return a->high != b->high ? a->high < b->high : a->low < b->low;
}

static size_t ascending_until(const unique_run *runs, size_t at, size_t n) {
    while (at + 1 < n && !is_less(&runs[at + 1], &runs[at])) at++;
    return at + 1;
}

static void merge(const unique_run *from, size_t at, size_t middle, size_t end, unique_run *to) {
    size_t right = middle;
    for (size_t i = at; i < end; i++)
        to[i] = from[at < middle && (right == end || !is_less(&from[right], &from[at])) ? at++
                                                                                        : right++];
}

/* Merges what ascends already: one pass for each doubling of threads, as ids of a thread rise. Returns
 * the array, of the two, that has the result. */
static unique_run *sort(unique_run *runs, unique_run *spare, size_t n) {
    for (bool merged = true; merged;) {
        merged = false;
        for (size_t at = 0; at < n;) {
            const size_t middle = ascending_until(runs, at, n);
            const size_t end = middle < n ? ascending_until(runs, middle, n) : middle;
            merge(runs, at, middle, end, spare);
            merged |= middle < n;
            at = end;
        }
        unique_run *sorted = spare;
        spare = runs;
        runs = sorted;
    }
    return runs;
}

uint64_t unique_duplicates(const unique_ids *of_thread, unsigned threads) {
    size_t n = 0;
    for (unsigned i = 0; i < threads; i++) n += of_thread[i].n;
    if (n == 0) return 0;
    unique_run *const memory = (unique_run *)must(malloc(2 * n * sizeof *memory));
    unique_run *end = memory;
    for (unsigned i = 0; i < threads; i++) {
        if (of_thread[i].n == 0) continue;
        memcpy(end, of_thread[i].runs, of_thread[i].n * sizeof *end);
        end += of_thread[i].n;
    }
    const unique_run *sorted = sort(memory, memory + n, n);
    uint64_t duplicates = 0, high = sorted[0].high, seen_until = sorted[0].low;
    for (size_t i = 0; i < n; i++) {
        const unique_run *r = &sorted[i];
        if (r->high != high) {
            high = r->high;
            seen_until = r->low;
        }
        const uint64_t until = r->low + r->length;
        if (r->low < seen_until) duplicates += (until < seen_until ? until : seen_until) - r->low;
        if (until > seen_until) seen_until = until;
    }
    free(memory);
    return duplicates;
}
