/* SPDX-License-Identifier: MIT
 *
 * Shared by the tests: a scripted machine, repeatable random numbers, the vectors, and a check that many IDs are
 * all different. Included before the header under test, it replaces the sleep by one that moves the scripted clock,
 * unless REAL_SLEEP is defined; with SCRIPTED_SYSTEM also the system's clocks and the counter.
 */
#ifndef SUPPORT_H
#define SUPPORT_H

#include "check.h"
#include <stdbool.h>
#ifdef __cplusplus
#include <atomic>
#else
#include <stdatomic.h>
#endif

#ifndef VECTORS
#define VECTORS "tests/vectors/"
#endif

/* Atomics, with what the test does before each operation on *p: BEFORE_ATOMIC(p, is_cas). */
#ifdef BEFORE_ATOMIC
#define FLAKE_ATOMIC(T) _Atomic(T)
#define FLAKE_ATOMIC_LOAD(p, order)     (BEFORE_ATOMIC(p, false), atomic_load_explicit(p, memory_order_##order))
#define FLAKE_ATOMIC_STORE(p, v, order) (BEFORE_ATOMIC(p, false), atomic_store_explicit(p, v, memory_order_##order))
#define FLAKE_ATOMIC_ADD(p, v, order)   (BEFORE_ATOMIC(p, false), atomic_fetch_add_explicit(p, v, memory_order_##order))
#define FLAKE_ATOMIC_CAS(p, seen, v, success, failure) \
    (BEFORE_ATOMIC(p, true),                           \
     atomic_compare_exchange_strong_explicit(p, seen, v, memory_order_##success, memory_order_##failure))
#endif

/* Whether 64-bit atomics work between processes; where they take a lock, they don't. */
enum { words_reach_other_processes = ATOMIC_LLONG_LOCK_FREE == 2 };

/* ---- scripted machine: its clocks, counter and sleep ---- */

typedef struct script {
    int64_t now_ns;
    int64_t per_sleep;  /* ns by which a sleep moves the clock; -1: the requested time */
    int64_t slept_ns;   /* requested, in total */
    int64_t jump_to_ns; /* the next sleep sets the clock to this, once; 0: it does not */
    int reads, sleeps;
    /* of the system's clocks, with SCRIPTED_SYSTEM */
    int exact_reads;
    int64_t coarse_lag_ns;
    uint64_t coarse_slack_ns; /* that an init is told */
    uint64_t counter;
    /* what other threads do, once: while the caller sleeps; between the next exact reading and its return */
    void (*during_sleep)(void), (*during_reading)(void);
} script;

static script script_now = {1700000000000000000, -1, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL};

static inline void script_at_ms(int64_t unix_ms) {
    memset((void *)&script_now, 0, sizeof script_now);
    script_now.now_ns = unix_ms * 1000000;
    script_now.per_sleep = -1;
}

static inline int64_t script_read(void *user) {
    script *s = (script *)user;
    check_turn();
    s->reads++;
    return s->now_ns;
}

static inline void script_call_others(void (**once)(void)) {
    void (*const call)(void) = *once;
    *once = NULL;
    if (call) call();
}

static inline int64_t script_system_ns(int is_coarse) {
    const int64_t now_ns = script_read(&script_now);
    if (is_coarse) return now_ns - script_now.coarse_lag_ns;
    script_now.exact_reads++;
    script_call_others(&script_now.during_reading);
    return now_ns;
}

/* A saturating sum: long waits are requested again and again. */
static inline int64_t script_sum(int64_t a, int64_t b) {
    if (b > 0 && a > INT64_MAX - b) return INT64_MAX;
    if (b < 0 && a < INT64_MIN - b) return INT64_MIN;
    return a + b;
}

/* If other threads sleep meanwhile, the caller has slept as long. */
static inline void script_sleep(int64_t ns) {
    const int sleeps_before = script_now.sleeps;
    check_turn();
    script_call_others(&script_now.during_sleep);
    if (script_now.sleeps != sleeps_before) return;
    script_now.sleeps++;
    script_now.slept_ns = script_sum(script_now.slept_ns, ns);
    script_now.now_ns = script_sum(script_now.now_ns, script_now.per_sleep < 0 ? ns : script_now.per_sleep);
    if (script_now.jump_to_ns) script_now.now_ns = script_now.jump_to_ns;
    script_now.jump_to_ns = 0;
}

#ifndef REAL_SLEEP
#define FLAKE_SLEEP_NS(ns) script_sleep(ns)
#endif
#ifdef SCRIPTED_SYSTEM
#define FLAKE_CLOCK_NS(kind) script_system_ns((kind) != FLAKE_CLOCK_EXACT)
#define FLAKE_CLOCK_SLACK_NS script_now.coarse_slack_ns
#define FLAKE_COUNTER()      0 | script_now.counter /* as a hook may be, without parentheses */
#endif

/* ---- random numbers ---- */

static inline uint64_t random_next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static inline uint64_t random_below(uint64_t *state, uint64_t bound) { return (random_next(state) >> 11) % bound; }

static inline void hex_bytes(const char *hex, uint8_t *bytes, size_t n) {
    CHECK_EQ(strlen(hex), 2 * n);
    for (size_t i = 0; i < n; i++) {
        const char pair[3] = {hex[2 * i], hex[2 * i + 1], 0};
        bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
}

/* ---- memory ---- */

/* Exactly `size` bytes, so that AddressSanitizer detects one too many; at least 1. */
static inline void *exactly(size_t size) {
    void *memory = malloc(size > 0 ? size : 1);
    if (memory == NULL) abort();
    return memory;
}

/* The last n of an array: AddressSanitizer detects an overrun. */
#define LAST_OF(array, n) ((array) + sizeof(array) / sizeof *(array) - (n))

/* ---- files ---- */

static inline size_t read_file(const char *path, uint8_t *bytes, size_t room) {
    FILE *in = fopen(path, "rb");
    const size_t n = in ? fread(bytes, 1, room, in) : 0;
    if (in) (void)fclose(in);
    return n;
}

static inline void write_file(const char *path, const uint8_t *bytes, size_t n) {
    FILE *out = fopen(path, "wb");
    CHECK(out && fwrite(bytes, 1, n, out) == n);
    if (out) (void)fclose(out);
}

/* ---- vectors: calls `row` with the fields of each line ---- */

static inline void vectors_read(const char *file, int fields, void (*row)(char **field)) {
    char path[256], line[1024], *field[16];
    (void)snprintf(path, sizeof path, "%s%s", VECTORS, file);
    FILE *in = fopen(path, "r");
    CHECK(in != NULL);
    int rows = 0;
    while (in && fgets(line, sizeof line, in)) {
        int n = 0;
        for (char *at = line; at && n < 16; n++) {
            field[n] = at;
            at = strchr(at, '\t');
            if (at) *at++ = 0;
        }
        field[n - 1][strcspn(field[n - 1], "\r\n")] = 0;
        CHECK_EQ(n, fields);
        if (n == fields) row(field);
        rows++;
    }
    CHECK(rows > 0);
    if (in) (void)fclose(in);
}

/* ---- IDs ---- */

/* When an ID of idgen's layout was drawn. */
static inline int64_t ms_of(uint64_t id) { return (int64_t)(id >> 22); }

static size_t compared_bytes;
static inline int compare_bytes(const void *a, const void *b) { return memcmp(a, b, compared_bytes); }

/* Sorts the IDs by their bytes, and counts those that equal the one before. */
static inline size_t count_duplicates_of(void *ids, size_t n, size_t size) {
    const char *const bytes = (const char *)ids;
    size_t duplicates = 0;
    compared_bytes = size;
    qsort(ids, n, size, compare_bytes);
    for (size_t i = 1; i < n; i++) duplicates += memcmp(bytes + i * size, bytes + (i - 1) * size, size) == 0;
    return duplicates;
}
#define count_duplicates(ids, n) count_duplicates_of(ids, n, sizeof *(ids))

#endif
