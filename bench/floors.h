/* SPDX-License-Identifier: MIT
 *
 * Lower bounds for the cost of an ID: the steps of a draw, with the same dependences. A word counts in ns, so that no
 * step divides: the unit is 2^20 ns, and its tickets are the numbers from its start on. A CAS or a store writes the
 * next ticket, or the start of the reading's unit if that is later, so it depends on reading and word. A fetch-and-add
 * writes no time; there reading and word decide whether it may add. */
#ifndef BENCH_FLOORS_H
#define BENCH_FLOORS_H

#include <stdatomic.h>
#include <stdint.h>

static inline uint64_t start_of_unit(int64_t now_ns) { return (uint64_t)now_ns & ~(((uint64_t)1 << 20) - 1); }

/* In a unit that is known already. */
static inline uint64_t start_of_ms(uint64_t ms) { return ms << 20; }

static inline uint64_t next_place(uint64_t seen, uint64_t start) { return seen + 1 < start ? start : seen + 1; }

static inline uint64_t by_cas_from(_Atomic(uint64_t) *word, uint64_t start) {
    uint64_t seen = atomic_load_explicit(word, memory_order_relaxed), next;
    do next = next_place(seen, start);
    while (!atomic_compare_exchange_weak_explicit(word, &seen, next, memory_order_relaxed, memory_order_relaxed));
    return next;
}

static inline uint64_t by_cas(_Atomic(uint64_t) *word, int64_t now_ns) {
    return by_cas_from(word, start_of_unit(now_ns));
}

static inline uint64_t by_add(_Atomic(uint64_t) *word, int64_t now_ns) {
    const uint64_t seen = atomic_load_explicit(word, memory_order_relaxed);
    if (seen + 1 < start_of_unit(now_ns)) return by_cas(word, now_ns);
    return atomic_fetch_add_explicit(word, 1, memory_order_relaxed) + 1;
}

static inline uint64_t by_store_from(_Atomic(uint64_t) *word, uint64_t start) {
    const uint64_t next = next_place(atomic_load_explicit(word, memory_order_relaxed), start);
    atomic_store_explicit(word, next, memory_order_relaxed);
    return next;
}

static inline uint64_t by_store(_Atomic(uint64_t) *word, int64_t now_ns) {
    return by_store_from(word, start_of_unit(now_ns));
}

/* Steps without a clock: a plain counter. */
static inline uint64_t cas_increment(_Atomic(uint64_t) *word) { return by_cas_from(word, 0); }

static inline uint64_t add_increment(_Atomic(uint64_t) *word) {
    return atomic_fetch_add_explicit(word, 1, memory_order_relaxed);
}

static inline uint64_t own_increment(_Atomic(uint64_t) *word) {
    const uint64_t seen = atomic_load_explicit(word, memory_order_relaxed);
    atomic_store_explicit(word, seen + 1, memory_order_relaxed);
    return seen;
}

#endif
