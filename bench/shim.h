/* SPDX-License-Identifier: MIT
 *
 * The measured code, which a C++ program times. A row is one way to make or convert IDs. It runs in
 * bursts: a burst is timed, and its output is kept or checked outside the timed part.
 */
#ifndef BENCH_SHIM_H
#define BENCH_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { bench_most_threads = 1024 };

/* An ID of up to 128 bits. */
typedef struct unique_key {
    uint64_t high, low;
} unique_key;

/* Whether the order of IDs is checked, and whether one that does not rise is a failure. */
typedef enum bench_order { any_order, order_told, rising_in_a_thread, rising } bench_order;

typedef struct bench_row {
    const char *name;
    /* Rows whose sum is a lower bound for this one's cost: "floor/a / 16 + floor/b"; "" if none. */
    const char *floor;
    bool (*begin)(unsigned threads);
    /* Makes n IDs, or takes the first n of what `begin` has prepared; false: something failed. */
    bool (*draw)(unsigned thread, void *out, size_t n);
    unique_key (*key)(const void *ids, size_t at); /* NULL: no IDs */
    const void *right;                             /* NULL, or the right output */
    size_t id_size, burst;
    double cap;      /* IDs a second that the layout has; 0: no such bound */
    int clock;       /* of the generator, which a paced row waits for */
    int64_t unit_ns; /* 0: unpaced; else one burst per unit of this length */
    bool crowds;     /* measured with more threads, too */
    bool saturates;  /* call bench_saturate rather than bench_burst */
    size_t at_once;  /* IDs per call: draws are a multiple of it */
    bench_order order;
} bench_row;

/* A row's `draw`: a thread's burst of n IDs, or texts. `call` makes every `step`-th one; it is true on success. */
#define BURST(name, type, step, before, call)                  \
    bool name(unsigned thread, void *out, size_t n) {          \
        type *const ids = (type *)out;                         \
        bool well = true;                                      \
        (void)thread;                                          \
        before;                                                \
        for (size_t i = 0; i < n; i += (step)) well &= (call); \
        return well;                                           \
    }
#define DONE(what) ((what), true)

/* BENCH_TRIALS in the environment adds rows that repeat IDs, fail or die, to test the reports. */
size_t bench_rows(void);
const bench_row *bench_row_at(size_t);
const bench_row *bench_row_named(const char *name); /* NULL: none */
bool bench_in_crowds(const bench_row *, unsigned threads);
bool bench_is_peer(const bench_row *); /* a peer's: its duplicates are counted, and no failure */
size_t bench_burst_size(const bench_row *, unsigned threads);
/* How many bursts take about that long. */
size_t bench_bursts(const bench_row *, unsigned threads, double seconds);

/* One thread, before all others begin. */
void bench_begin(const bench_row *, unsigned threads);
/* Each of the threads, equally often. Returns the burst's time in this thread, in seconds: wall
 * time while each thread has a core, else processor time. */
double bench_burst(const bench_row *, unsigned thread);
/* A burst that other work interrupts says nothing about the row, so the median counts. Where threads outnumber cores,
 * some bursts overlap and most don't: there the mean counts. */
double bench_typical(double *bursts, size_t n, unsigned threads);
/* Each of the threads once. Draws for `seconds` as fast as it can, and again with each call timed. */
void bench_saturate(const bench_row *, unsigned thread, double seconds);

typedef struct bench_result {
    const char *why; /* NULL: no failure; else the reason */
    uint64_t ids, duplicates; /* how many were checked, and how many of them were duplicates */
    /* How many IDs were not greater than their thread's previous one; and how many of the calls made
     * before a row of several threads is timed returned less than was returned before they began. */
    uint64_t falls, falls_across;
    /* In how many bursts the threads did not all run at once, although there is a core for each, and
     * although they were repeated. */
    uint64_t alone;
    /* A burst's time as a multiple of the floor's right beside it; the median of all bursts. 0 for
     * several threads, and for a row without a floor. */
    double ratio;
    /* Of a row with `saturates`: */
    double ids_per_second, cpu_s_per_million, p50_ns, p99_ns, p999_ns, worst_ns;
    /* How many IDs the busiest has, as a multiple of the idlest's: of threads; of lanes; of the cores
     * that threads drew on, where threads outnumber these. 0: does not apply. */
    double of_threads, of_lanes, on_cores;
} bench_result;
/* One thread, after all others have ended. */
bench_result bench_end(const bench_row *);

const char *bench_compiler(void);
unsigned bench_cores(void);

/* Draws of one thread, each in a new unit, as at a low rate; their clock is a variable. They have their own
 * file because a compiler inlines a function that is called in one place only: another call beside those of
 * the other rows would make these slower. */
bool begin_new_units(unsigned threads);
typedef bool new_unit_draw(unsigned thread, void *out, size_t n);
new_unit_draw floor_leaping_cas, floor_leaping_store, floor_given_leaping_cas, floor_given_leaping_store,
    new_unit_flake_next, new_unit_flake_try_at, new_unit_flake_shard_next, new_unit_flake_shard_try_at,
    new_unit_flake_lanes_next, new_unit_sno_next, new_unit_sno_try_at, new_unit_sno_shard_next,
    new_unit_sno_shard_try_at, new_unit_sno_lanes_next;

/* Peers in C++, each if it is built in. */
bool peer_counter(unsigned thread, void *out, size_t n);
bool peer_boost_uuid_v4(unsigned thread, void *out, size_t n);
bool peer_boost_uuid_v7(unsigned thread, void *out, size_t n);
bool peer_uuid_v4(unsigned thread, void *out, size_t n);
const char *peer_boost_version(void); /* "": it is not */

#ifdef __cplusplus
}
#endif

#endif
