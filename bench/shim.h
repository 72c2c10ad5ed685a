/* SPDX-License-Identifier: MIT
 *
 * What is measured, for a C++ program to time. A row is one way to make or convert ids. It runs in
 * bursts: a burst is timed, and what it made is kept or checked outside the timed part.
 */
#ifndef BENCH_SHIM_H
#define BENCH_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { bench_most_threads = 64 };

typedef struct bench_row bench_row;

/* BENCH_TRIALS in the environment adds rows that repeat ids, fail or die: trials of what reports. */
size_t bench_rows(void);
const bench_row *bench_row_at(size_t);
bool bench_has_row(const char *name);
const char *bench_name(const bench_row *);
/* Rows whose sum is the least that this one can cost: "floor/a / 16 + floor/b"; "" if none. */
const char *bench_floor(const bench_row *);
double bench_cap(const bench_row *); /* ids a second that the layout has; 0: no such bound */
/* Also with so many threads. */
bool bench_in_crowds(const bench_row *, unsigned threads);
bool bench_saturates(const bench_row *); /* call bench_saturate rather than bench_burst */
bool bench_is_peer(const bench_row *);   /* another's: its duplicates are counted, and no failure */
bool bench_tells_order(const bench_row *);
size_t bench_burst_size(const bench_row *, unsigned threads);
/* How many bursts take about so long. */
size_t bench_bursts(const bench_row *, unsigned threads, double seconds);

/* Before any row: do the checks that each of them relies on count the duplicates of cases that are known,
 * and the ids that fall? NULL, or which they got wrong. */
const char *bench_try_check(void);

/* One thread, before all others begin. */
void bench_begin(const bench_row *, unsigned threads);
/* Each of the threads, equally often. Returns what the burst took of this thread's time, in seconds:
 * by the wall while each thread has a core, else of the processor. */
double bench_burst(const bench_row *, unsigned thread);
/* After bench_end: what a burst took, as a multiple of one of its floor right beside it; the median of all
 * bursts. 0 for several threads, and for a row without a floor. */
double bench_ratio(void);
/* How many of the bursts since bench_begin did not have all threads running at once, though there is a
 * core for each, and though they were tried again. */
size_t bench_alone(void);
/* Each of the threads once. Draws for `seconds` as fast as it can, and again with each call timed. */
void bench_saturate(const bench_row *, unsigned thread, double seconds);
/* One thread, after all others have ended. NULL: all is well; else what is wrong. */
const char *bench_end(const bench_row *);
/* After bench_end: how many ids were checked, and how many of them had come before. */
uint64_t bench_ids(void);
uint64_t bench_duplicates(void);
/* How many ids did not rise above the one before of their thread; and how many calls, of those that are
 * made before a row of several threads is timed, returned less than was returned before they began. */
uint64_t bench_falls(void);
uint64_t bench_falls_across(void);

typedef struct bench_saturation {
    double ids_per_second, cpu_s_per_million;
    double p50_ns, p99_ns, p999_ns, worst_ns;
    /* How many ids the busiest has, as a multiple of the idlest's: of threads; of lanes; of the cores that
     * threads drew on, where threads outnumber these. 0: does not apply. */
    double of_threads, of_lanes, on_cores;
} bench_saturation;
/* After bench_end. */
bench_saturation bench_saturated(void);

const char *bench_compiler(void);
unsigned bench_cores(void);

/* Peers that are C++: bursts of them, and whether they are built in. */
bool peer_counter(unsigned thread, void *out, size_t n);
bool peer_boost_uuid_v4(unsigned thread, void *out, size_t n);
bool peer_boost_uuid_v7(unsigned thread, void *out, size_t n);
bool peer_has_boost(void);
bool peer_has_boost_v7(void);
const char *peer_boost_version(void);

#ifdef __cplusplus
}
#endif

#endif
