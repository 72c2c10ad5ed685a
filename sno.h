/* sno.h: unique, time-ordered 80-bit ids with a metabyte for any number of threads, without a lock.
 *
 * Version 0.2.0. C11, or C++11 and later. SPDX-License-Identifier: MIT (the text is at the end.)
 *
 * Do this in as many files as you like; there is nothing to link:
 *
 *     #include "sno.h"
 *     #include <stdio.h>
 *
 *     int main(void) {
 *         sno_id id = sno_generate(42); // from any thread; 42 is yours to give a meaning
 *         char text[16];
 *         sno_encode(id, text);
 *         printf("%.16s made at %lld ns\n", text, (long long)sno_time_ns(id));
 *         return 0;
 *     }
 *
 * WHICH CALL
 *
 *     sno_generate     the process-wide generator, for a program of one process and its children (call
 *                      it once before they fork): the partition is a random one, and a stranger has
 *                      the same with 1 in 65,536
 *     sno_new          a generator of yours, with the partition and the range that you give it
 *     sno_try          never waits; sno_retry_ns says when to come again (event loops)
 *     sno_new_n        many at once, at a fraction of the price each
 *     sno_lanes_...    one object for all threads, whose cores don't fight for a cache line; for
 *                      servers with many threads
 *     sno_shard_...    one shard per thread: its words are its own, and its ids rise
 *     sno_pool_...     lends shards to threads that come and go
 *     sno_try_at       with a clock reading that you have already
 *
 * WHO MAY CALL WHAT AT THE SAME TIME
 *
 *     a sno_gen, sno_lanes
 *                      draws and questions, from any number of threads and signal handlers; several
 *                      processes too if it lies in shared memory and was made so. Not beside them: init,
 *                      reinit_after_fork, retire (which is for no handler)
 *     a sno_shard      one thread at a time draws; the questions any
 *     a sno_pool       borrow and give_back from any thread
 *     a sno_ring       push and pop from any thread
 *     a sno_state      open and close: one thread at a time, and not beside an init of a generator on
 *                      it; extend: any
 *
 * A signal handler that draws must return. If it jumps out of the write of a state, or ends its
 * thread there, that state stops for good. None may draw where 64-bit atomics take a lock, which it
 * may have interrupted (ATOMIC_LLONG_LOCK_FREE below 2: PowerPC and MIPS of 32 bits, old ARM).
 *
 * Two generators that run at once, in one process or in many, need partitions or sequence ranges of
 * their own; then no id is given twice. One that follows another with the same partition must begin
 * in a later unit of time (begin_later), with a clock that was not put back, or have a state file or a
 * snapshot.
 *
 * Ids of one generator rise in the order of the calls, if the clock was not put back and the
 * metabyte is the same: the metabyte stands before the sequence. A clock that is put back changes
 * the tick of the ids, and nobody waits; only a clock put back again into time that was already
 * used twice makes callers wait. A draw orders no other memory accesses.
 *
 * HOOKS: macros to define before the include, the same in every file that shares a generator;
 * behind each what stands there without it
 *
 *     SNO_ATOMIC(T)                 type of an atomic T               _Atomic(T); T in C++
 *     SNO_ATOMIC_LOAD(p, order)     order is relaxed, acquire ...
 *     SNO_ATOMIC_STORE(p, v, order)
 *     SNO_ATOMIC_ADD(p, v, order)   returns what was there
 *     SNO_ATOMIC_CAS(p, seen, v, success, failure)                    define all five or none
 *     SNO_CLOCK_NS(kind)            Unix time in ns                   clock_gettime
 *     SNO_CLOCK_SLACK_NS            at least twice what the coarse clock lags behind the exact one (0
 *                                   for a clock of yours)             2 x clock_getres, at most 50 ms
 *     SNO_COUNTER()                 64 bits that count up evenly, for the fast clock
 *                                                                     rdtsc, cntvct_el0
 *     SNO_SLEEP_NS(ns)              sleeps that long or longer        clock_nanosleep
 *     SNO_RELAX()                   between two tries of a CAS        pause, isb
 *     SNO_LANE()                    tells threads apart that are at work at once: a number, of which
 *                                   lanes use 8 bits              the processor's, or the thread's
 *     SNO_RANDOM_BYTES(to, n)       n random bytes; false: none       getrandom, /dev/urandom
 *     SNO_ASSERT(condition)         programming errors                nothing
 *     SNO_NO_SIMD                   text, batches by portable code    not defined
 *     SNO_NO_FILES                  leaves out state files, exclusive not defined
 *     SNO_NO_OS                     leaves out all that wants a system: files, fork word, random bytes,
 *                                   clock and sleep; SNO_CLOCK_NS and SNO_SLEEP_NS must be defined
 *     SNO_API                       before each public function: what exports it, in one file that
 *                                   makes a library of the header            static inline
 *     SNO_LIBRARY                   exports them, and some for other languages   not defined
 *     SNO_CXX_INLINE                C++: a name for your hooks; see below    not defined
 *     SNO_SHOW_WARNINGS             your warning flags apply in here, too    not defined
 *
 * What is left out is still declared: it says SNO_IO, or SNO_INVALID if an option asks for it, and
 * `why` or sno_options_why name the macro. Without an operating system partitions are drawn from
 * the clock alone, unless SNO_RANDOM_BYTES is defined, and a fork goes unnoticed: parent and child
 * repeat ids.
 *
 * In C++, too, each file has functions of its own: then files may differ in their hooks, and modules in
 * their version of the header. The price is size, 0.4 MB in a program of fifty files. Those that define
 * SNO_CXX_INLINE share one copy, and a C++20 module can export it (gcc before 14 and clang before 16 lose
 * structs, and gcc functions, that are exported by name: wrap them in a class). Its value is a name for the
 * hooks, such as "plain": files that say the same must have the same hooks, and be compiled for the same
 * processor (-march). MSVC has nothing to share by, and C files keep their own.
 *
 * In C++ begin with `sno_options options = {};` and set what differs. Of {.max_wait_ms = 10}, in C++20, g++
 * (and clang from 18 on) says by -Wextra that fields are missing. Default values for all fields would end
 * that, and make a memset of the options a warning.
 *
 * Find your way by these marks:
 *
 *     // >>hooks       what the hooks are by default
 *     // >>public      what you call, and what you can set: all that you need to know
 *     // >>system      all that asks the operating system (and >>own)
 *     // >>common      the engine, with its protocol
 *     // >>objects     what a generator, shard or pool is made of
 *     // >>ids     // >>sort     // >>text     // >>generators     // >>lanes     // >>default
 *     // >>library     what other languages ask, when a shared library is made of this
 */
#ifndef SNO_H
#define SNO_H

/* A unit's own warning flags are for its own code. */
#if defined(__GNUC__) && defined(__INCLUDE_LEVEL__) && !defined(SNO_SHOW_WARNINGS)
#if __INCLUDE_LEVEL__ > 0
#pragma GCC system_header
#endif
#endif

#define SNO_VERSION_MAJOR  0
#define SNO_VERSION_MINOR  2
#define SNO_VERSION_PATCH  0
#define SNO_VERSION_STRING "0.2.0"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h> /* not <cstdint>, which need not declare uint64_t outside std */
#include <string.h>

// clang-format off
// >>hooks begin
/* What the hooks above are where nobody has defined them. Both headers carry the regions hooks, settings,
 * restarts, system, common and library, the same but for the prefix: `make check-common`. */

/* What stands before functions. Each file has its own of them, in C++ too: files whose hooks differ, and
 * modules with another version of the header, must not run each other's. Where SNO_CXX_INLINE makes them
 * one, their names bear version and hooks, and they stay within the module: C has no such names, nor has
 * MSVC. */
#if defined(SNO_CXX_INLINE) && defined(__cplusplus) && defined(__GNUC__)
#define SNO_I_TAG_OF(major, minor, patch) "v" #major "_" #minor "_" #patch
#define SNO_I_TAG(major, minor, patch)    SNO_I_TAG_OF(major, minor, patch)
#define SNO_I_FN                                                                          \
    inline __attribute__((                                                                  \
        visibility("hidden"),                                                               \
        abi_tag(SNO_I_TAG(SNO_VERSION_MAJOR, SNO_VERSION_MINOR, SNO_VERSION_PATCH), \
                SNO_CXX_INLINE)))
#else
#define SNO_I_FN static inline
#endif
#ifndef SNO_API
#if defined(SNO_LIBRARY) && defined(__cplusplus)
#define SNO_API extern "C" __attribute__((visibility("default")))
#elif defined(SNO_LIBRARY)
#define SNO_API __attribute__((visibility("default")))
#else
#define SNO_API SNO_I_FN
#endif
#endif
/* Before constants outside functions. */
#if defined(SNO_I_TAG) && __cplusplus >= 201703L
#define SNO_I_TABLE SNO_I_FN
#else
#define SNO_I_TABLE static
#endif

#ifndef SNO_ATOMIC
#if defined(__cplusplus) && defined(__GNUC__)
/* Plain ones: from C++20 on std::atomic has a constructor, which would wipe what lies outside functions when
 * others draw from it already, and which units with another version of a struct would share. */
#define SNO_I_ORDER_relaxed           __ATOMIC_RELAXED
#define SNO_I_ORDER_acquire           __ATOMIC_ACQUIRE
#define SNO_I_ORDER_release           __ATOMIC_RELEASE
#define SNO_I_ORDER_seq_cst           __ATOMIC_SEQ_CST
#define SNO_ATOMIC(T)                 T
#define SNO_ATOMIC_LOAD(p, order)     __atomic_load_n(p, SNO_I_ORDER_##order)
#define SNO_ATOMIC_STORE(p, v, order) __atomic_store_n(p, v, SNO_I_ORDER_##order)
#define SNO_ATOMIC_ADD(p, v, order)   __atomic_fetch_add(p, v, SNO_I_ORDER_##order)
#define SNO_ATOMIC_CAS(p, seen, v, success, failure) \
    __atomic_compare_exchange_n(p, seen, v, false, SNO_I_ORDER_##success, SNO_I_ORDER_##failure)
#elif defined(__cplusplus)
#include <atomic>
#define SNO_ATOMIC(T)                 std::atomic<T>
#define SNO_ATOMIC_LOAD(p, order)     (p)->load(std::memory_order_##order)
#define SNO_ATOMIC_STORE(p, v, order) (p)->store(v, std::memory_order_##order)
#define SNO_ATOMIC_ADD(p, v, order)   (p)->fetch_add(v, std::memory_order_##order)
#define SNO_ATOMIC_CAS(p, seen, v, success, failure)                    \
    (p)->compare_exchange_strong(*(seen), v, std::memory_order_##success, \
                                 std::memory_order_##failure)
#else
#include <stdatomic.h>
#define SNO_ATOMIC(T)                 _Atomic(T)
#define SNO_ATOMIC_LOAD(p, order)     atomic_load_explicit(p, memory_order_##order)
#define SNO_ATOMIC_STORE(p, v, order) atomic_store_explicit(p, v, memory_order_##order)
#define SNO_ATOMIC_ADD(p, v, order)   atomic_fetch_add_explicit(p, v, memory_order_##order)
#define SNO_ATOMIC_CAS(p, seen, v, success, failure)                          \
    atomic_compare_exchange_strong_explicit(p, seen, v, memory_order_##success, \
                                            memory_order_##failure)
#endif
#endif

#ifdef __GCC_ATOMIC_LLONG_LOCK_FREE
#define SNO_I_LOCK_FREE __GCC_ATOMIC_LLONG_LOCK_FREE
#else
#define SNO_I_LOCK_FREE ATOMIC_LLONG_LOCK_FREE
#endif
#if defined(__GNUC__) /* said aloud for i386, whose plain 64-bit members are 4-aligned */
typedef SNO_ATOMIC(uint64_t) sno_i_atomic64 __attribute__((aligned(8)));
#else
typedef SNO_ATOMIC(uint64_t) sno_i_atomic64;
#endif
typedef SNO_ATOMIC(uint32_t) sno_i_atomic32;

/* C++ refuses to copy what must stay where it is. */
#ifdef __cplusplus
#define SNO_I_STAYS(type)      \
    type() = default;            \
    type(const type &) = delete; \
    type &operator=(const type &) = delete;
#else
#define SNO_I_STAYS(type)
#endif

#ifndef SNO_ASSERT
#define SNO_ASSERT(condition) ((void)0)
#endif

#ifndef SNO_RELAX
#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
#define SNO_RELAX() __builtin_ia32_pause()
#elif defined(__aarch64__) && defined(__GNUC__)
#define SNO_RELAX() __asm__ volatile("isb")
#else
#define SNO_RELAX() ((void)0)
#endif
#endif

// >>hooks end
// clang-format on

// >>public

typedef enum sno_status {
    /* done */
    SNO_OK = 0,
    /* this unit's ids are all drawn: try later (sno_retry_ns) */
    SNO_AGAIN = 1,
    /* the clock was put back into time that both ticks have used */
    SNO_CLOCK_BACK = 2,
    /* a time outside 2010..2079 */
    SNO_RANGE = 3,
    /* an argument or option that does not fit (sno_options_why names it), or a generator that was
     * never initialised */
    SNO_INVALID = 4,
    /* not a text of this form */
    SNO_PARSE = 5,
    /* this process has used up its 65,535 partitions */
    SNO_EXHAUSTED = 6,
    /* inherited through fork(), or the machine was cloned: another process may give the same ids. See
     * sno_reinit_after_fork */
    SNO_FORKED = 7,
    /* the system refused a file, or the state is closed */
    SNO_IO = 8,
    /* a state file that is cut short or damaged */
    SNO_TORN = 9,
    /* no state file, or of another partition or pool; from init: the state is not open, or was
     * opened for another snapshot, or there is no snapshot; from draws, extend and close: the file
     * was changed while it was open */
    SNO_FOREIGN = 10,
    /* the last run ended longer ago than allowable_downtime_ms */
    SNO_DOWNTIME = 11,
    /* somebody else holds this file, or with `exclusive` this partition and pool */
    SNO_TAKEN = 12,
    /* the gate of the options was closed */
    SNO_LEASE = 13
} sno_status;

SNO_API const char *sno_status_str(sno_status status);

// clang-format off
// >>settings begin
/* ---- clock: where a generator has its time from ----
 *
 * Functions of yours, here and in a gate, are called from any thread that draws, several at once, and
 * from handlers that draw. They must not call the generator.
 *
 * Which of the system's clocks a generator has:
 *
 *     EXACT    the one that is right
 *     COARSE   reads fast and lags by some ms. The exact one is asked where a generator begins, and when a
 *              unit looks spent or the clock put back. A step back of less than twice the lag is not
 *              seen while the unit has ids
 *     FAST     between exact readings, half a ms apart at most, the processor's counter says whether the
 *              unit still lasts, once it has been found to count evenly (after some 20 ms of draws). So
 *              what the clock does meanwhile, a step or a suspended machine, is seen half a ms
 *              late. On 64-bit x86 and aarch64 (gcc, clang), if the counter costs much less than the
 *              clock; else it is EXACT
 */

enum { SNO_CLOCK_EXACT = 0, SNO_CLOCK_COARSE = 1, SNO_CLOCK_FAST = 2 };

typedef struct sno_clock {
    int64_t (*now_ns)(void *user); /* Unix time in ns; NULL: the system's clock, of this kind: */
    void *user;
    int kind; /* with now_ns not looked at */
} sno_clock;

/* ---- gate: what must agree before ids of a later time are handed out, such as a claim that runs out ----
 *
 * It is asked off the hot path, by the first draw of each unit and by callers who queue, from any thread.
 */
typedef struct sno_gate {
    /* Whether ids of times up to until_ns (Unix) may be handed out. SNO_AGAIN: not yet, and who
     * waits asks again; all else is what the draw returns. NULL: no gate. */
    sno_status (*admit)(void *user, int64_t until_ns);
    int64_t (*floor_ns)(
        void *user); /* ids must be later than this Unix time; asked by each init that
                                        has `admit`; NULL: any */
    void *user;
    /* NULL, or a word that is constant and not 0 while the gate is open: who changes it stops each
     * draw at once, with SNO_LEASE. Draws look at it instead of the word that tells them of a
     * fork, so it lies in a page that fork wipes (MADV_WIPEONFORK). */
    sno_i_atomic64 *word;
} sno_gate;

/* ---- what a generator has done ---- */

typedef struct sno_stats {
    uint64_t ids;         /* places drawn, each of a batch */
    uint64_t batches;     /* draws of more than one place at once */
    uint64_t waits;       /* draws that had to sleep */
    uint64_t clock_backs; /* draws that met a clock behind the word */
} sno_stats;

// >>settings end
// clang-format on

/* ---- ids ----
 *
 * 80 bits, big-endian, so that memcmp orders them as sno_compare does:
 *
 *     [ time:39 ][ tick:1 ][ meta:8 ][ partition:16 ][ sequence:16 ]    time: 4 ms since 2010
 */
typedef struct sno_id {
    uint8_t bytes[10];
} sno_id;

SNO_API int64_t sno_time_ns(sno_id); /* Unix time of the unit's begin */
SNO_API uint64_t sno_units(sno_id);  /* since 2010-01-01 UTC */
SNO_API unsigned sno_tick(sno_id);   /* changes when the clock was put back */
SNO_API uint8_t sno_meta(sno_id);
SNO_API uint16_t sno_partition(sno_id);
SNO_API uint16_t sno_sequence(sno_id);
/* Below 0, 0, or above: by time, tick, meta, partition, sequence. */
SNO_API int sno_compare(sno_id, sno_id);
SNO_API bool sno_equal(sno_id, sno_id);
SNO_API bool sno_is_zero(sno_id);
SNO_API void sno_sort(sno_id *ids, size_t n); /* in place, a radix sort */
/* SNO_RANGE: units past 39 bits. SNO_INVALID: tick past 1. */
SNO_API sno_status sno_compose(uint64_t units, unsigned tick, uint8_t meta, uint16_t partition,
                               uint16_t sequence, sno_id *);
/* The smallest and the largest id of a time's unit, for range scans. SNO_RANGE: outside 2010..2079. */
SNO_API sno_status sno_min_at(int64_t unix_ns, sno_id *);
SNO_API sno_status sno_max_at(int64_t unix_ns, sno_id *);
SNO_API sno_id sno_from_bytes(const uint8_t in[10]);
SNO_API void sno_to_bytes(sno_id, uint8_t out[10]);

/* ---- text ----
 *
 * 16 characters of 2-9a-x, which sort as the ids do. Reading is strict: the whole input, lower case
 * (but a UUID's hex in either), nothing around it; what fails leaves the output alone. No NUL is
 * written but by to_json and to_uuid.
 */
SNO_API void sno_encode(sno_id, char out[16]);
SNO_API sno_status sno_decode(const char *, size_t len, sno_id *);
SNO_API void sno_encode_n(const sno_id *, size_t n, char *out);    /* 16 * n characters */
SNO_API sno_status sno_decode_n(const char *, size_t n, sno_id *); /* all n or none */
SNO_API void sno_to_json(sno_id, char out[19]); /* in quotes; the zero id is null */
SNO_API sno_status sno_from_json(const char *, size_t len, sno_id *);
SNO_API void sno_to_uuid(sno_id, char out[37]); /* its 16 characters as a UUID's 16 bytes */
SNO_API sno_status sno_from_uuid(const char *, size_t len, sno_id *);

/* ---- generators ----
 *
 * A generator lies anywhere: static, on the stack, in malloc'd memory, with no alignment to mind. It must
 * not be copied or moved once it is initialised. There is nothing to free; with `exclusive` retire it
 * before another init, and before its memory goes. Options are copied; what they point to, but the
 * snapshot, must last as long as it draws.
 *
 * Every call that fails leaves generator and output as they were, unless it says otherwise. Any draw may
 * say SNO_RANGE, SNO_FORKED, SNO_LEASE, SNO_INVALID, with a state SNO_IO and SNO_FOREIGN, and what a gate
 * says; SNO_AGAIN and SNO_CLOCK_BACK are named with each call.
 *
 * A partition of yours, with the whole pool, from now on:
 *
 *     static sno_snapshot mine; // all zero
 *     mine.partition = 7;
 *     options.snapshot = &mine;
 *
 * Options without a snapshot ask for a partition that no other generator made so has: not in this
 * process, nor in those that fork from it after the first such call. Partitions are counted up from a
 * random one, and not given back. Those who are no relatives may meet: two processes, or two copies of
 * this header that the linker keeps apart in one process (libraries that hide their symbols, or were
 * opened with RTLD_LOCAL). Two of them do with 1 in 65,536 for each partition used, some pair of 300 in
 * every second case. So many want partitions of your choice, which are yours to keep apart.
 */
typedef struct sno_gen sno_gen;

/* Where a generator stands, and what a new one may be made from. All times in 4 ms units since
 * 2010. */
typedef struct sno_snapshot {
    uint16_t partition;
    /* The pool, 4 numbers or more, in either order; max 0: 65535. */
    uint16_t sequence_min, sequence_max;
    uint32_t sequence; /* last number drawn, past the maximum while callers queue; 0: the minimum */
    int64_t now;       /* the clock, when taken */
    int64_t wall_hi;   /* the newest unit drawn in */
    int64_t wall_safe; /* the last unit used on the other tick */
    uint32_t drifts;   /* how often the clock was put back; its parity is the tick */
} sno_snapshot;

typedef struct sno_options {
    const sno_snapshot *snapshot; /* pool, partition, and where to go on; NULL: see sno_init */
    sno_clock clock;              /* all zero: the system's exact clock */
    struct sno_ring *overflow;    /* gets a note each ms while callers queue; NULL: none */
    sno_gate gate;                /* asked before each new unit; {0}: none */
    struct sno_state
        *state; /* open, with the snapshot that the open has filled in, so that a restart
                                     repeats no id; NULL: none */
    /* A folder that the programs of a host share, such as "/run/app": init refuses with SNO_TAKEN a
     * snapshot's partition and pool that another generator, of this process or another, draws from
     * already. What it gives begins in the unit after this one, so that runs that follow one
     * another differ, too, unless the clock was put back. Until sno_retire, or until the process
     * and its children end. Who deletes the file in it, or closes descriptors that are not his
     * (daemons that close all do), undoes the check. It needs a snapshot.
     * POSIX, and not with shared_memory; NULL: nobody looks */
    const char *exclusive;
    int64_t max_wait_ms; /* longest wait of one call, of each unit in a batch; 0: no limit */
    bool shared_memory;  /* lies in memory that processes share: survives fork. They must be forks
                            of one another, or use the system's clock and no ring; no gate, and only
                            a state with shared_memory. SNO_INVALID where 64-bit atomics take a lock
                            (32-bit powerpc, mips) */
    /* What it gives begins in the unit after this one: for a pool that somebody gave up in this unit, at
     * the latest, and had from this clock, which was not put back since. `exclusive` does it, too */
    bool begin_later;
} sno_options;

/* NULL, or no snapshot: the whole pool, and a partition that nobody chose. The snapshot is read
 * here only. SNO_INVALID: sno_options_why names the option; SNO_EXHAUSTED. With `exclusive`
 * SNO_TAKEN, SNO_IO; with a state SNO_FOREIGN, SNO_FORKED; with a gate SNO_LEASE. Not while others
 * use the generator. It begins at the clock: with a partition of yours it repeats the ids of a run
 * that ended within the same 4 ms (unless it has begin_later), or later than this clock says, unless it
 * has a state file or that run's snapshot. */
SNO_API sno_status sno_init(sno_gen *, const sno_options *);
/* What is wrong with options that sno_init refuses, naming the field; NULL: nothing. */
SNO_API const char *sno_options_why(const sno_options *);
/* Waits when it must. The zero id outside 2010..2079, in a forked child, when a gate refuses, or
 * after max_wait_ms if one was set (sno_new_n with n = 1 says which). Wait-free while ids are free. */
SNO_API sno_id sno_new(sno_gen *, uint8_t meta);
/* Lock-free, never waits: SNO_AGAIN, SNO_CLOCK_BACK, SNO_RANGE, SNO_FORKED. */
SNO_API sno_status sno_try(sno_gen *, uint8_t meta, sno_id *);
/* How many ns from now until sno_try can succeed, if nobody is faster. Gate and state are not
 * asked: on SNO_AGAIN and 0 come again in a ms. INT64_MAX: never. */
SNO_API int64_t sno_retry_ns(sno_gen *);
/* All n, waiting for each unit. When a later unit fails, the ids before it stand in front and the
 * rest is zero; when the first does, the array is as it was. */
SNO_API sno_status sno_new_n(sno_gen *, uint8_t meta, sno_id *ids, size_t n);
/* As many as are free now; returns how many. At 0 sno_try tells why. */
SNO_API size_t sno_try_n(sno_gen *, uint8_t meta, sno_id *ids, size_t n);
/* With the caller's own, perhaps cached, reading of the clock. One older than the newest unit
 * counts as that unit. One that lies ahead of the clock drags the generator ahead too. */
SNO_API sno_status sno_try_at(sno_gen *, uint8_t meta, int64_t unix_ns, sno_id *);
/* An id of any time, to port old ids: tick 0, and a sequence of its own that goes round the pool. So
 * it is unique among sno_cap such calls in a row, not against sno_new in the same unit. */
SNO_API sno_status sno_new_with_time(sno_gen *, uint8_t meta, int64_t unix_ns, sno_id *);

/* The process-wide generator, made by the first call, with a partition that nobody chose. A forked
 * child has another than its parent and siblings, if one of them called before the fork. One for
 * each copy of this header that the linker keeps apart. The zero id as sno_new, and when no
 * partition is left: give long-lived families of short-lived processes partitions of your own
 * choice. */
SNO_API sno_id sno_generate(uint8_t meta);

SNO_API sno_status sno_snapshot_take(sno_gen *, sno_snapshot *); /* lock-free, never torn */
/* The last number drawn in this unit, or the minimum. */
SNO_API uint32_t sno_sequence_now(sno_gen *);
SNO_API uint32_t sno_len(sno_gen *);       /* ids drawn in this unit */
SNO_API uint32_t sno_cap(const sno_gen *); /* ids a unit has */
SNO_API void sno_stats_get(sno_gen *, sno_stats *);
SNO_API uint16_t sno_gen_partition(const sno_gen *);

/* ---- shards: one generator's sequence numbers, split among threads ----
 *
 * Each shard has a range of its own, so its owner draws with plain loads and stores. One thread at
 * a time.
 */
typedef struct sno_shard sno_shard;
/* All, or none; as sno_init, and SNO_INVALID when n is 0 or more than there are numbers. */
SNO_API sno_status sno_shards_init(sno_shard *, size_t n, const sno_options *);
SNO_API sno_id sno_shard_new(sno_shard *, uint8_t meta);
SNO_API sno_status sno_shard_try(sno_shard *, uint8_t meta, sno_id *);
SNO_API int64_t sno_shard_retry_ns(sno_shard *);
SNO_API sno_status sno_shard_new_n(sno_shard *, uint8_t meta, sno_id *ids, size_t n);
SNO_API size_t sno_shard_try_n(sno_shard *, uint8_t meta, sno_id *ids, size_t n);
SNO_API sno_status sno_shard_try_at(sno_shard *, uint8_t meta, int64_t unix_ns, sno_id *);
/* A snapshot to make all n shards from again, taken while nobody draws: every number of every unit up
 * to the newest of any shard, on both ticks, counts as drawn. */
SNO_API sno_status sno_shards_snapshot(sno_shard *, size_t n, sno_snapshot *);
/* The shard as a generator, for the questions, snapshot, reinit_after_fork and retire. Never draw
 * from that: drawing is for sno_shard_... alone. */
SNO_API sno_gen *sno_shard_gen(sno_shard *);

/* Lends shards to threads. NULL: all are lent (make more shards, or fall back on sno_generate). A
 * shard that comes back goes on where it stood. */
typedef struct sno_pool sno_pool;
SNO_API sno_status sno_pool_init(sno_pool *, sno_shard *, size_t n, const sno_options *);
SNO_API sno_shard *sno_pool_borrow(sno_pool *);
SNO_API void sno_pool_give_back(sno_pool *, sno_shard *);

/* ---- lanes: one generator for all threads of all cores ----
 *
 * Its sequence numbers are split among n lanes, each with a word of its own. A draw takes the lane that
 * last served its processor, and steps to another when two threads meet in one, or one's ids are all
 * drawn. So cores share no cache line while they needn't, and one thread can have all ids of a unit.
 *
 * Of two draws one after the other, by whatever threads, the later one's id is of the same unit or a
 * later one; inside a unit ids have no order. The coarse clock's lag weakens that by so much, and so does
 * a fast clock while the system's is stepped or slewed, until a lane reads it again, and a processor that
 * reads its counter more than 2 us before a load that precedes the draw (seen once in 10^7 loads): a draw
 * at the end of a unit may then be of the unit before. After a step back each lane decides for itself: some
 * change the tick, and ids of one unit may have either.
 *
 * n: as many as threads can run at once, which is the smaller of threads and processors; more threads
 * than lanes may draw. Both objects lie anywhere, as a generator does, and are neither moved nor copied
 * while they are used; with shared_memory they lie in the same memory. Each lane asks the gate for
 * itself, and writes notes of its own queue. Lanes have no try_at.
 */
typedef struct sno_lane sno_lane;
typedef struct sno_lanes sno_lanes;
/* All, or none; as sno_init, and SNO_INVALID when n is 0 or more than there are numbers. */
SNO_API sno_status sno_lanes_init(sno_lanes *, sno_lane *array, size_t n, const sno_options *);
SNO_API sno_id sno_lanes_new(sno_lanes *, uint8_t meta);
SNO_API sno_status sno_lanes_try(sno_lanes *, uint8_t meta, sno_id *);
SNO_API int64_t sno_lanes_retry_ns(sno_lanes *);
SNO_API sno_status sno_lanes_new_n(sno_lanes *, uint8_t meta, sno_id *ids, size_t n); /* unsorted */
SNO_API size_t sno_lanes_try_n(sno_lanes *, uint8_t meta, sno_id *ids, size_t n);
SNO_API uint64_t sno_lanes_available(sno_lanes *); /* ids free now, without waiting */
SNO_API void sno_lanes_stats_get(sno_lanes *, sno_stats *);
/* For sno_lanes_init, or sno_init: every number of every unit up to the newest of any lane, on both
 * ticks, counts as drawn. */
SNO_API sno_status sno_lanes_snapshot_take(sno_lanes *, sno_snapshot *);

// clang-format off
// >>restarts begin
/* ---- overflow: options.overflow gets a note each ms while callers queue ----
 *
 * A full ring drops notes. Those of different ms may come out in another order, so look at now_ns. The
 * last one, count 0, is written by a caller that was queued or by the next one to draw. Each shard and each
 * lane has a queue, and so notes, of its own.
 */
typedef struct sno_ring sno_ring;
typedef struct sno_ring_slot sno_ring_slot;
typedef struct sno_overflow {
    int64_t now_ns;
    uint32_t count; /* callers queued then, a batch counted by its places; 0: it is over */
    uint32_t ticks; /* ms since this overflow began */
} sno_overflow;

/* Any number of slots. Not while others use the ring. */
SNO_API sno_status sno_ring_init(sno_ring *, sno_ring_slot *slots, size_t n);
/* False: it is full, or a thread that pops has not ended yet. */
SNO_API bool sno_ring_push(sno_ring *, sno_overflow);
/* False: it is empty, or a thread that pushes has not ended yet. */
SNO_API bool sno_ring_pop(sno_ring *, sno_overflow *);

/* ---- a machine that was copied ----
 *
 * Whoever resumes or copies a virtual machine calls this in each process of it, since nothing else tells
 * them: every generator, all but those in shared memory, is as if inherited through fork from now on. So
 * are states: close them, and open others. From any thread. It reaches the generators of its own copy of
 * this header: the other header has its own call, and a shared library that hides its symbols, or was
 * opened with RTLD_LOCAL, must call it too. */
SNO_API void sno_generation_bump(void);

/* ---- state files ----
 *
 * A state file holds a horizon: a time ahead of all ids that were handed out. So the next run repeats
 * none, whatever became of this one and of the clock. After a crash open waits until the horizon has
 * passed, three seconds at most by default. The first draw that comes near it writes the file, every
 * 1.5 s by default. An example stands with the open, further down.
 *
 * The object is all zero before its first use, and stays where it is while it is open. The file is
 * locked: it must not be deleted or replaced meanwhile, and lies on no network file system. A forked
 * child shares the lock until it has ended, or closed its copy of the state (SNO_FORKED).
 *
 * A file that can't be used is left alone: SNO_TORN, SNO_FOREIGN (it is another generator's),
 * SNO_CLOCK_BACK (from the future), SNO_DOWNTIME, SNO_TAKEN (in use, under whatever name),
 * SNO_IO.
 *
 * Before each write the state reads the file's two records. If another program has truncated or
 * overwritten them, or the program has closed the descriptor and opened the file with another object,
 * the state is lost: draws, extend and close return SNO_FOREIGN until it is closed and opened again.
 */
typedef struct sno_state sno_state;

/* NULL wherever it is asked for: don't tell. */
typedef struct sno_why {
    char text[200]; /* what is wrong, in words: the option or file, and what became of it */
} sno_why;

typedef struct sno_state_options {
    const char
        *path; /* the file, below 1,000 bytes; it is made, through PATH.new beside it, if its folder
                         exists and can be written. Relative to the folder at the time of the open */
    int64_t horizon_ms;            /* how far ahead of use the file is written; 0: 3,000 */
    int64_t allowable_downtime_ms; /* SNO_DOWNTIME when the horizon is further past; 0: any */
    bool must_exist;               /* SNO_IO when there is no file, rather than a new one */
    bool no_wait;  /* don't sleep until the last run's horizon has passed: draws wait, or fail */
    bool by_timer; /* draws don't write, they say SNO_AGAIN when the horizon is reached, or
                      SNO_IO if the timer could not write it: the program calls
                      sno_state_extend, at least twice in horizon_ms */
    /* It lies in memory that processes share, beside generators that do, and is by_timer, too. Who
     * opened it extends it, and the draws of all stop at its horizon. When he is dead another may
     * open it, and draws go on. */
    bool shared_memory;
    sno_clock clock; /* the generator's; all zero: the system's */
} sno_state_options;

/* Writes a new horizon now, from a timer: with by_timer, or so that no draw has to. From any thread
 * of the process that opened it. SNO_IO: the old one stands. SNO_FOREIGN: the state is lost. */
SNO_API sno_status sno_state_extend(sno_state *);
/* Writes the time of the last id, so that the next run waits only until that has passed: not at
 * all, unless ids ran ahead of the clock. Draws fail with SNO_IO from the next unit on; the
 * state's memory must last as long as they may be tried. SNO_IO: closed, but that could not be
 * written, so the next run waits for the horizon. SNO_FOREIGN: closed, but the state was lost, and the
 * file is left alone. SNO_INVALID: it was not open. SNO_AGAIN, and
 * it stays open: in a signal handler that has interrupted a write of it. SNO_FORKED, in a forked
 * child or after a bump: the file is let go, and left as it is; one in shared memory stays open for
 * the others. */
SNO_API sno_status sno_state_close(sno_state *);
// >>restarts end
// clang-format on

/* ---- after fork, crash and restart ----
 *
 * A forked child, and a process after sno_generation_bump(), gets SNO_FORKED (the default generator
 * takes a new partition by itself) until it says with which pool it goes on; NULL: a partition that nobody
 * chose. SNO_INVALID: one that has some of the parent's ids in it, or it was not forked. For a shard
 * likewise, through sno_shard_gen. Only that one generator's or shard's ids are compared; sno_init in a
 * child compares nothing.
 *
 * A generator must not outlive the module whose code initialised it: it looks at that module's memory.
 */
SNO_API sno_status sno_reinit_after_fork(sno_gen *, const sno_options *);
/* Gives the pool up: options.exclusive lets others have it. It stops no draws: call it when nobody
 * draws any more, and before an init anew or the end of the memory. Of shards the first. */
SNO_API void sno_retire(sno_gen *);
/* With the same array, and as many lanes. */
SNO_API sno_status sno_lanes_reinit_after_fork(sno_lanes *, const sno_options *);
SNO_API void sno_lanes_retire(sno_lanes *);

/* With a state file no run repeats ids of the last. `state` is static, or lies in shared memory:
 *
 *     static sno_state state;
 *     sno_why why;
 *     static sno_snapshot pool; // partition and bounds; all zero: the file's, or new ones
 *     static sno_state_options where;
 *     where.path = "/var/lib/app/snos";
 *     if (sno_state_open(&state, &where, &pool, &why) != SNO_OK) ... why.text
 *     options.snapshot = &pool;
 *     options.state = &state;
 *     sno_init(&ids, &options); // or sno_shards_init, sno_lanes_init
 *     ...
 *     sno_state_close(&state);
 *
 * `pool` is read, and filled in. */
SNO_API sno_status sno_state_open(sno_state *, const sno_state_options *, sno_snapshot *pool,
                                  sno_why *);

// clang-format off
#ifdef SNO_LIBRARY
/* ---- for other languages ----
 *
 * A shared library of this header, which `make lib` builds, has these as well. An object takes as many bytes as
 * sno_sizeof_... says, zero before its first use; options are set by name:
 *
 *     snapshot = zeros(sno_sizeof_snapshot())
 *     options  = zeros(sno_sizeof_options())
 *     gen      = zeros(sno_sizeof_gen())
 *     sno_snapshot_set(snapshot, "partition", "7", NULL)
 *     sno_options_point(options, "snapshot", snapshot, NULL)
 *     sno_init(gen, options)
 *
 * `name` is a field's as it stands above, such as "sequence_min", "clock.kind"; a `value` is a decimal number,
 * or a word: "true", "false" of what is a bool, "exact", "coarse", "fast" of clock.kind.
 * Texts (path, exclusive) are not copied: they must last as long as what they are for. What is a pointer or a
 * function (snapshot, overflow, state, clock.now_ns, gate.admit ...) is set by the calls that end in _point;
 * a snapshot must last until sno_init has read it. SNO_INVALID: there is no such option; SNO_PARSE: it has no such
 * value.
 *
 * flake.h's statuses are other numbers. Where calls take or return a sno_id, a struct of 10 bytes, some that end
 * in _n take addresses: sno_new_n, sno_encode_n.
 */
SNO_API sno_status sno_snapshot_set(sno_snapshot *, const char *name, const char *value, sno_why *);
SNO_API sno_status sno_options_set(sno_options *, const char *name, const char *value, sno_why *);
SNO_API sno_status sno_options_point(sno_options *, const char *name, const void *to, sno_why *);
SNO_API sno_status sno_state_options_set(sno_state_options *, const char *name, const char *value, sno_why *);
SNO_API sno_status sno_state_options_point(sno_state_options *, const char *name, const void *to, sno_why *);

SNO_API const char *sno_version(void);
SNO_API size_t sno_sizeof_options(void);
SNO_API size_t sno_sizeof_gen(void);
SNO_API size_t sno_sizeof_shard(void);
SNO_API size_t sno_sizeof_pool(void);
SNO_API size_t sno_sizeof_lanes(void);
SNO_API size_t sno_sizeof_lane(void);
SNO_API size_t sno_sizeof_ring(void);
SNO_API size_t sno_sizeof_ring_slot(void);
SNO_API size_t sno_sizeof_state(void);
SNO_API size_t sno_sizeof_state_options(void);
SNO_API size_t sno_sizeof_id(void);
SNO_API size_t sno_sizeof_stats(void);
SNO_API size_t sno_sizeof_snapshot(void);
SNO_API size_t sno_sizeof_overflow(void);
SNO_API size_t sno_sizeof_why(void);
#endif

// >>system begin
/*
 * All that asks an operating system. Both headers carry this region, the same but for the prefix.
 * What comes behind it knows no platform, and makes do with:
 *
 *     system_ns, system_slack_ns,     the hooks' defaults                    bare: there are none
 *     system_sleep
 *     system_random                   n random bytes; false: none to be had     bare: never any
 *     system_lane                     the processor, or else the thread         bare, WASI: 0
 *     pid                             tells this process from others            no fork: 1
 *     new_page, drop_page             fresh zeros, for children too or not      WASI, bare: NULL
 *     page_in, wipe_on_fork           a page of a room, zero in a child         no fork: NULL, false
 *     ONE_PER_PROCESS                 an object that all units share
 *
 *     SNO_I_HAS_FILES               0: what follows fails, or does nothing
 *     calm_begin, calm_end            in between nobody is cancelled; errno is put back
 *     thread_mark                     tells threads apart
 *     error, error_put                why the last call failed: ABSENT, error_is_taken, error_text
 *     open, close, lock_bytes         of a file, by its descriptor; lock_bytes does not wait
 *     write_at, read_at               all n bytes from an offset; up to n bytes from an offset
 *     fsync, fdatasync, fsync_folder  until it outlasts a power cut
 *     find, find_open, is_link        which file it is, by its path or descriptor
 *     rename, unlink, folder          folder: the one that relative paths begin at
 *
 * Platforms: bare (SNO_NO_OS), Windows, WASI (neither has files), POSIX.
 */
#if defined(SNO_NO_OS)
#define SNO_I_HAS_FILES    0
#define SNO_I_WHY_NO_FILES "needs files, which SNO_NO_OS leaves out"
#elif defined(SNO_NO_FILES)
#define SNO_I_HAS_FILES    0
#define SNO_I_WHY_NO_FILES "needs files, which SNO_NO_FILES leaves out"
#elif defined(_WIN32) || defined(__wasi__)
#define SNO_I_HAS_FILES    0
#define SNO_I_WHY_NO_FILES "needs POSIX files"
#else
#define SNO_I_HAS_FILES    1
#define SNO_I_WHY_NO_FILES ""
#endif

#if !defined(SNO_NO_OS) && \
    (defined(__linux__) || defined(__FreeBSD__) || defined(__OpenBSD__) || defined(__NetBSD__))
#define SNO_I_HAS_ROOMS 1
#else
#define SNO_I_HAS_ROOMS 0
#endif

#if defined(__cplusplus)
#define SNO_I_RELY_ON(condition, what) static_assert(condition, what)
#else
#define SNO_I_RELY_ON(condition, what) _Static_assert(condition, what)
#endif

/* Defines an object that is one in the whole process, in however many units the header stands. std::atomic,
 * in hooks or by MSVC, has a constructor in C++20: without `= {}` it would run when other units have drawn. */
#if defined(_MSC_VER)
#define SNO_I_SHARED __declspec(selectany)
#elif defined(_WIN32)
#define SNO_I_SHARED __attribute__((selectany))
#elif defined(__cplusplus) || defined(__APPLE__) /* Apple's linker has no common symbols in libraries */
#define SNO_I_SHARED __attribute__((weak))
#else /* a weak object takes memory in each file, a common one once; the linker makes one of both */
#define SNO_I_SHARED __attribute__((common))
#endif
#if defined(__cplusplus)
#define SNO_I_ONE_PER_PROCESS(type, name) SNO_I_SHARED type name = {}
#elif defined(_WIN32)
#define SNO_I_ONE_PER_PROCESS(type, name) SNO_I_SHARED type name = {0}
#else
#define SNO_I_ONE_PER_PROCESS(type, name) SNO_I_SHARED type name
#endif

/* Units with an operating system and without one share nothing. */
#if defined(SNO_NO_OS)
#define SNO_I_LAYOUT(name, number) name##_##number##_bare
#else
#define SNO_I_LAYOUT(name, number) name##_##number
#endif

/* Memory of the module itself (the program, or the library that a process has opened) in which a
 * whole page lies, wherever the memory begins: what the kernel is told of that page ends with the
 * module. */
#if !SNO_I_HAS_ROOMS
typedef char sno_i_page_room; /* nothing is told */
#elif defined(__x86_64__) || defined(__i386__)
typedef struct sno_i_page_room {
    char bytes[2 * 4096];
} sno_i_page_room;
#else
typedef struct sno_i_page_room {
    char bytes[2 * 65536];
} sno_i_page_room;
#endif

#if defined(SNO_NO_OS) /* ---- bare ---- */
#if !defined(SNO_CLOCK_NS) || !defined(SNO_SLEEP_NS)
#error "SNO_NO_OS: define SNO_CLOCK_NS(kind) and SNO_SLEEP_NS(ns) before the include"
#endif

SNO_I_FN bool sno_i_system_random(void *to, size_t n) {
    (void)to;
    (void)n;
    return false;
}

SNO_I_FN unsigned sno_i_system_lane(void) { return 0; }

SNO_I_FN uint64_t sno_i_pid(void) { return 1; }

SNO_I_FN void *sno_i_new_page(bool shared) {
    (void)shared;
    return NULL;
}

SNO_I_FN void sno_i_drop_page(void *page) { (void)page; }

#elif defined(_WIN32) /* ---- Windows ---- */
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#define SNO_I_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#define SNO_I_NOMINMAX
#endif
#include <windows.h>
#ifdef SNO_I_LEAN_AND_MEAN
#undef WIN32_LEAN_AND_MEAN
#undef SNO_I_LEAN_AND_MEAN
#endif
#ifdef SNO_I_NOMINMAX
#undef NOMINMAX
#undef SNO_I_NOMINMAX
#endif
#include <stdlib.h>
#if !defined(_CRT_RAND_S) /* else <stdlib.h> has it */
#if defined(__cplusplus)
extern "C" {
#endif
int __cdecl rand_s(unsigned *);
#if defined(__cplusplus)
}
#endif
#endif

SNO_I_FN int64_t sno_i_system_ns(int kind) {
    FILETIME t;
    if (kind == SNO_CLOCK_COARSE) GetSystemTimeAsFileTime(&t);
    else GetSystemTimePreciseAsFileTime(&t);
    return ((int64_t)((uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime) - 116444736000000000) *
           100;
}

/* Above twice what it moves by, 15.6 ms. */
SNO_I_FN uint64_t sno_i_system_slack_ns(void) { return 40000000; }

SNO_I_FN void sno_i_system_sleep(int64_t ns) {
    for (; ns > 0; ns -= 1000000000)
        Sleep((DWORD)((ns < 1000000000 ? ns + 999999 : 1000000000) / 1000000));
}

/* From the same source as BCryptGenRandom, without a library to link. */
SNO_I_FN bool sno_i_system_random(void *to, size_t n) {
    for (unsigned char *at = (unsigned char *)to; n;) {
        unsigned word;
        const size_t some = n < sizeof word ? n : sizeof word;
        if (rand_s(&word) != 0) return false;
        memcpy(at, &word, some);
        at += some;
        n -= some;
    }
    return true;
}

SNO_I_FN unsigned sno_i_system_lane(void) { return GetCurrentProcessorNumber(); }

SNO_I_FN uint64_t sno_i_pid(void) { return 1; } /* no fork */

SNO_I_FN void *sno_i_new_page(bool shared) {
    return shared ? NULL : VirtualAlloc(NULL, 4096, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
}

SNO_I_FN void sno_i_drop_page(void *page) { (void)VirtualFree(page, 0, MEM_RELEASE); }

#elif defined(__wasi__) /* ---- WASI ---- */
#include <wasi/api.h>

SNO_I_FN int64_t sno_i_system_ns(int kind) {
    __wasi_timestamp_t ns = 0;
    (void)kind;
    if (__wasi_clock_time_get(__WASI_CLOCKID_REALTIME, 1, &ns) != 0) return 0;
    return (int64_t)ns;
}

SNO_I_FN uint64_t sno_i_system_slack_ns(void) { return 0; } /* no coarse clock */

SNO_I_FN void sno_i_system_sleep(int64_t ns) {
    __wasi_subscription_t nap;
    __wasi_event_t event;
    __wasi_size_t events;
    memset(&nap, 0, sizeof nap);
    nap.u.tag = __WASI_EVENTTYPE_CLOCK;
    nap.u.u.clock.id = __WASI_CLOCKID_MONOTONIC;
    nap.u.u.clock.timeout = (__wasi_timestamp_t)ns;
    if (__wasi_poll_oneoff(&nap, &event, 1, &events) != 0) return; /* who waits looks again */
}

SNO_I_FN bool sno_i_system_random(void *to, size_t n) {
    return __wasi_random_get((uint8_t *)to, (__wasi_size_t)n) == 0;
}

SNO_I_FN unsigned sno_i_system_lane(void) { return 0; }

SNO_I_FN uint64_t sno_i_pid(void) { return 1; } /* no fork */

SNO_I_FN void *sno_i_new_page(bool shared) {
    (void)shared;
    return NULL;
}

SNO_I_FN void sno_i_drop_page(void *page) { (void)page; }

#else /* ---- POSIX ---- */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#elif !defined(CLOCK_REALTIME)
#include <threads.h>
#endif

/* Strict C hides POSIX from a header that comes after others; on Linux what is hidden is reached by
 * its link name, with the kernel's own types. */
#if defined(__linux__)
#if !defined(CLOCK_REALTIME)
#define SNO_I_BY_NAME
#endif
struct sno_i_timespec {
    long sec, nsec;
};
#if defined(__cplusplus)
extern "C" {
#endif
extern int sno_i_clock_gettime(int id, struct sno_i_timespec *) __asm__("clock_gettime");
extern int sno_i_clock_getres(int id, struct sno_i_timespec *) __asm__("clock_getres");
extern int sno_i_clock_nanosleep(int id, int flags, const struct sno_i_timespec *,
                                   struct sno_i_timespec *) __asm__("clock_nanosleep");
extern int sno_i_madvise(void *, size_t, int) __asm__("madvise");
extern long sno_i_syscall(long, ...) __asm__("syscall");
#if SNO_I_HAS_FILES
extern int sno_i_fsync(int) __asm__("fsync");
extern int sno_i_fdatasync(int) __asm__("fdatasync");
extern ssize_t sno_i_readlink(const char *, char *, size_t) __asm__("readlink");
#endif
#if defined(__cplusplus)
}
#endif
#endif

SNO_I_FN int64_t sno_i_system_ns(int kind) {
#if defined(SNO_I_BY_NAME) && defined(__LP64__)
    struct sno_i_timespec t;
    (void)sno_i_clock_gettime(kind == SNO_CLOCK_COARSE ? 5 : 0, &t);
    return t.sec * 1000000000 + t.nsec;
#else
    struct timespec t;
#if defined(CLOCK_REALTIME_COARSE)
    (void)clock_gettime(kind == SNO_CLOCK_COARSE ? CLOCK_REALTIME_COARSE : CLOCK_REALTIME, &t);
#elif defined(CLOCK_REALTIME)
    (void)kind;
    (void)clock_gettime(CLOCK_REALTIME, &t);
#else
    (void)kind;
    (void)timespec_get(&t, TIME_UTC);
#endif
    return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_nsec;
#endif
}

/* Twice the coarse clock's resolution, which it lags by. */
SNO_I_FN uint64_t sno_i_system_slack_ns(void) {
    const uint64_t most = 50000000;
    uint64_t ns = 0;
#if defined(SNO_I_BY_NAME) && defined(__LP64__)
    struct sno_i_timespec t;
    if (sno_i_clock_getres(5, &t) == 0) ns = t.sec ? most : 2 * (uint64_t)t.nsec;
#elif defined(CLOCK_REALTIME_COARSE)
    struct timespec t;
    if (clock_getres(CLOCK_REALTIME_COARSE, &t) == 0)
        ns = t.tv_sec ? most : 2 * (uint64_t)t.tv_nsec;
#endif
    return ns < most ? ns : most;
}

/* Sleeps that long or longer, whatever signals come. Linux is told until when: what it says is left
 * of a sleep that was cut short includes what that may be late, so that to ask for it again would
 * never end under signals that come often. */
SNO_I_FN void sno_i_system_sleep(int64_t ns) {
    const int errno_before = errno;
    const int64_t longest_s = 1000000000, ns_per_s = 1000000000;
    const int64_t sec = ns / ns_per_s < longest_s ? ns / ns_per_s : longest_s, nsec = ns % ns_per_s;
#if defined(__linux__)
    enum { monotonic = 1, until = 1 };
    struct sno_i_timespec t;
    (void)sno_i_clock_gettime(monotonic, &t);
    t.sec += (long)(sec + (t.nsec + nsec) / ns_per_s);
    t.nsec = (long)((t.nsec + nsec) % ns_per_s);
    while (sno_i_clock_nanosleep(monotonic, until, &t, NULL) == EINTR) {
    }
#else
    struct timespec t;
    t.tv_sec = (time_t)sec;
    t.tv_nsec = (long)nsec;
#if defined(CLOCK_REALTIME)
    while (nanosleep(&t, &t) != 0 && errno == EINTR) {
    }
#else
    while (thrd_sleep(&t, &t) == -1) {
    }
#endif
#endif
    errno = errno_before;
}

/* For open: a program started meanwhile must not keep the file, or its lock. */
#if defined(O_CLOEXEC)
enum { SNO_I_CLOSES = O_CLOEXEC, SNO_I_DUP = F_DUPFD_CLOEXEC };
#elif defined(__O_CLOEXEC) /* glibc's own name, which strict C does not hide; it hides F_DUPFD_CLOEXEC */
enum { SNO_I_CLOSES = __O_CLOEXEC, SNO_I_DUP = 1030 };
#else
enum { SNO_I_CLOSES = 0, SNO_I_DUP = F_DUPFD };
#endif

/* Leaves errno alone. A machine that has just started waits until there are enough: of those that would come at
 * once, as from the file, a copy of the machine may have the same. The file serves systems without the call:
 * getentropy is hidden there where a program asks for strict POSIX. */
SNO_I_FN bool sno_i_system_random(void *to, size_t n) {
    const int errno_before = errno;
    bool well = false;
#if defined(SYS_getrandom)
    do well = sno_i_syscall(SYS_getrandom, to, n, 0L) == (long)n;
    while (!well && errno == EINTR);
#endif
    const int fd = well ? -1 : open("/dev/urandom", O_RDONLY | SNO_I_CLOSES);
    if (fd >= 0) {
        well = read(fd, to, n) == (ssize_t)n;
        (void)close(fd);
    }
    errno = errno_before;
    return well;
}

#if defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) && defined(__LP64__) && \
    (defined(__x86_64__) || defined(__aarch64__))
#if __GLIBC__ > 2 || __GLIBC_MINOR__ >= 35
#define SNO_I_HAS_RSEQ
#endif
#endif

#if defined(SNO_I_HAS_RSEQ)
/* How far from where a thread begins lies what the kernel keeps there for it, and how much that is; 0:
 * nothing. <sys/rseq.h>, which is glibc's own, has them by their link names. */
#if defined(__cplusplus)
extern "C" {
#endif
extern const ptrdiff_t sno_i_rseq_offset __asm__("__rseq_offset");
extern const unsigned sno_i_rseq_size __asm__("__rseq_size");
#if defined(__cplusplus)
}
#endif

/* The second word is the processor's number, negative where the kernel does not say. Where a thread
 * begins is asked anew each time: a fiber may go on in another. */
SNO_I_FN int sno_i_processor(void) {
    int32_t number;
    if (!sno_i_rseq_size) return -1;
#if defined(__x86_64__)
    __asm__ volatile("movl %%fs:4(%1), %0" : "=r"(number) : "r"(sno_i_rseq_offset));
#else
    const char *begin;
    __asm__ volatile("mrs %0, tpidr_el0" : "=r"(begin));
    number = ((const volatile int32_t *)(const void *)(begin + sno_i_rseq_offset))[1];
#endif
    return number;
}
#else
SNO_I_FN int sno_i_processor(void) { return -1; }
#endif

/* Each thread has an errno of its own. */
SNO_I_FN unsigned sno_i_system_lane(void) {
    const int processor = sno_i_processor();
    const uint64_t thread = (uint64_t)(uintptr_t)&errno;
    return processor >= 0 ? (unsigned)processor : (unsigned)(thread * 0x9e3779b97f4a7c15 >> 56);
}

SNO_I_FN uint64_t sno_i_pid(void) { return (uint64_t)getpid(); }

SNO_I_FN void *sno_i_new_page(bool shared) {
#if defined(MAP_ANONYMOUS)
    const int anonymous = MAP_ANONYMOUS, zeros = -1;
#elif defined(MAP_ANON)
    const int anonymous = MAP_ANON, zeros = -1;
#elif !defined(__linux__) /* its number, which strict C hides, is no business of ours */
    const int anonymous = 0, zeros = open("/dev/zero", O_RDWR);
#else /* Where it has another value, mmap fails. Then each draw calls getpid. */
    const int anonymous = 0x20, zeros = -1;
#endif
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                      (shared ? MAP_SHARED : MAP_PRIVATE) | anonymous, zeros, 0);
    if (zeros >= 0) (void)close(zeros);
    return page == MAP_FAILED ? NULL : page;
}

SNO_I_FN void sno_i_drop_page(void *page) { (void)munmap(page, 4096); }

#if SNO_I_HAS_ROOMS
SNO_I_FN void *sno_i_page_in(sno_i_page_room *room) {
    const long size = sysconf(_SC_PAGESIZE);
    if (size <= 0 || (size_t)size > sizeof room->bytes / 2) return NULL;
    const uintptr_t past = (uintptr_t)room->bytes % (uintptr_t)size;
    return room->bytes + (past ? (uintptr_t)size - past : 0);
}

/* An emulator that takes every advice would take a senseless one too, and wipe nothing. */
SNO_I_FN bool sno_i_wipe_on_fork(void *page) {
    const int errno_before = errno;
#if defined(__linux__)
    enum { wipe_on_fork = 18, senseless = -1 };
    const bool wiped = sno_i_madvise(page, 4096, senseless) != 0 &&
                       sno_i_madvise(page, 4096, wipe_on_fork) == 0;
#elif defined(INHERIT_ZERO)
    const bool wiped = minherit(page, 4096, INHERIT_ZERO) == 0;
#elif defined(MAP_INHERIT_ZERO)
    const bool wiped = minherit(page, 4096, MAP_INHERIT_ZERO) == 0;
#else
    const bool wiped = (void)page, false;
#endif
    errno = errno_before;
    return wiped;
}
#endif
#endif

#if !SNO_I_HAS_ROOMS
SNO_I_FN void *sno_i_page_in(sno_i_page_room *room) {
    (void)room;
    return NULL;
}

SNO_I_FN bool sno_i_wipe_on_fork(void *page) {
    (void)page;
    return false;
}
#endif

/* ---- files ---- */

typedef struct sno_i_calm {
    int cancel_state, error;
} sno_i_calm;

/* Which file it is that stands at a path, or is open. */
typedef struct sno_i_found {
    uint64_t device, inode;
    bool is_regular;
} sno_i_found;

enum { SNO_I_READ, SNO_I_WRITE, SNO_I_CREATE }; /* ways to open a file */

#if SNO_I_HAS_FILES
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

/* Between these two a thread is not cancelled, which would leave a file half claimed or a write to
 * nobody, and at the end errno is what it was: a draw may stand in a signal handler. */
SNO_I_FN sno_i_calm sno_i_calm_begin(void) {
    sno_i_calm calm = {0, errno};
#if !defined(__ANDROID__)
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &calm.cancel_state);
#endif
    return calm;
}

SNO_I_FN void sno_i_calm_end(sno_i_calm calm) {
#if !defined(__ANDROID__)
    (void)pthread_setcancelstate(calm.cancel_state, &calm.cancel_state);
#endif
    errno = calm.error;
}

/* Tells this thread from the others of all processes that share its memory. */
SNO_I_FN uint64_t sno_i_thread_mark(void) {
    return (((uint64_t)(uintptr_t)pthread_self() << 20) ^ sno_i_pid() << 1) | 1;
}

enum { SNO_I_ABSENT = ENOENT };
SNO_I_FN int sno_i_error(void) { return errno; }
SNO_I_FN void sno_i_error_put(int error) { errno = error; }
SNO_I_FN const char *sno_i_error_text(int error) { return strerror(error); }
SNO_I_FN bool sno_i_error_is_taken(int error) { return error == EACCES || error == EAGAIN; }

/* But not in place of a standard stream that the program has closed. */
SNO_I_FN int sno_i_open(const char *path, int how) {
    const int flags =
        (how == SNO_I_READ ? O_RDONLY : O_RDWR) | (how == SNO_I_CREATE ? O_CREAT : 0);
    int fd = open(path, flags | O_NONBLOCK | SNO_I_CLOSES, 0666); /* a pipe would have no end */
    if (fd >= 0 && fd <= 2) {
        const int low = fd;
        fd = fcntl(low, SNO_I_DUP, 3);
        (void)close(low);
    }
    if (fd >= 0) (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

SNO_I_FN void sno_i_close(int fd) { (void)close(fd); }

/* Locks or unlocks bytes of an open file (count 0: all): 0, or -1 and an error. The lock is of the
 * open file description where there is that: see >>common, files. */
SNO_I_FN int sno_i_lock_bytes(int fd, bool lock, uint64_t first, uint64_t count) {
#if defined(F_OFD_SETLK) || defined(__linux__)
#if defined(F_OFD_SETLK)
    const int set_lock = F_OFD_SETLK;
#else
    const int set_lock = 37; /* hidden by strict C */
#endif
    struct flock range;
    memset(&range, 0, sizeof range);
    range.l_type = lock ? F_WRLCK : F_UNLCK;
    range.l_whence = SEEK_SET;
    range.l_start = (off_t)first;
    range.l_len = (off_t)count;
    return fcntl(fd, set_lock, &range);
#else /* the whole file, whatever bytes are asked for */
    (void)first;
    (void)count;
    return flock(fd, lock ? LOCK_EX | LOCK_NB : LOCK_UN);
#endif
}

SNO_I_FN bool sno_i_write_at(int fd, int64_t at, const uint8_t *bytes, size_t n) {
    if (lseek(fd, (off_t)at, SEEK_SET) != (off_t)at) return false;
    while (n > 0) {
        const ssize_t written = write(fd, bytes, n);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes += written;
        n -= (size_t)written;
    }
    return true;
}

/* Returns how many bytes it has read, fewer than n at the end of the file, or -1. */
SNO_I_FN int sno_i_read_at(int fd, int64_t at, uint8_t *bytes, size_t n) {
    size_t got = 0;
    if (lseek(fd, (off_t)at, SEEK_SET) != (off_t)at) return -1;
    while (got < n) {
        const ssize_t more = read(fd, bytes + got, n - got);
        if (more < 0 && errno == EINTR) continue;
        if (more < 0) return -1;
        if (more == 0) break;
        got += (size_t)more;
    }
    return (int)got;
}

#if defined(F_FULLFSYNC) /* macOS, where fsync stops at the drive's own memory */
SNO_I_FN int sno_i_fsync(int fd) { return fcntl(fd, F_FULLFSYNC) == 0 ? 0 : fsync(fd); }
SNO_I_FN int sno_i_fdatasync(int fd) { return sno_i_fsync(fd); }
#elif !defined(__linux__)
SNO_I_FN int sno_i_fsync(int fd) { return fsync(fd); }
SNO_I_FN int sno_i_fdatasync(int fd) { return fsync(fd); }
#endif
#if !defined(__linux__)
#define sno_i_readlink readlink
#endif

/* A new name lasts once the folder is on disk. Some file systems can't be asked for that. */
SNO_I_FN bool sno_i_fsync_folder(const char *folder) {
    const int fd = open(folder, O_RDONLY | SNO_I_CLOSES);
    if (fd < 0) return false;
    const bool synced = sno_i_fsync(fd) == 0 || errno == EINVAL;
    (void)close(fd);
    return synced;
}

SNO_I_FN sno_i_found sno_i_found_of(const struct stat *file) {
    sno_i_found found;
    found.device = (uint64_t)file->st_dev;
    found.inode = (uint64_t)file->st_ino;
    found.is_regular = S_ISREG(file->st_mode);
    return found;
}

SNO_I_FN bool sno_i_find(const char *path, sno_i_found *found) {
    struct stat file;
    const bool exists = stat(path, &file) == 0;
    if (exists) *found = sno_i_found_of(&file);
    return exists;
}

SNO_I_FN bool sno_i_find_open(int fd, sno_i_found *found) {
    struct stat file;
    const bool is_open = fstat(fd, &file) == 0;
    if (is_open) *found = sno_i_found_of(&file);
    return is_open;
}

/* Whether a link stands there, to something or nothing. */
SNO_I_FN bool sno_i_is_link(const char *path) {
    char target;
    return sno_i_readlink(path, &target, 1) >= 0;
}

SNO_I_FN bool sno_i_rename(const char *from, const char *to) { return rename(from, to) == 0; }
SNO_I_FN void sno_i_unlink(const char *path) { (void)unlink(path); }
SNO_I_FN bool sno_i_folder(char *out, size_t size) { return getcwd(out, size) != NULL; }

#else /* ---- no files ---- */
SNO_I_FN sno_i_calm sno_i_calm_begin(void) {
    const sno_i_calm calm = {0, 0};
    return calm;
}

SNO_I_FN void sno_i_calm_end(sno_i_calm calm) { (void)calm; }
SNO_I_FN uint64_t sno_i_thread_mark(void) { return 1; }
enum { SNO_I_ABSENT = 1 };
SNO_I_FN int sno_i_error(void) { return 0; }
SNO_I_FN void sno_i_error_put(int error) { (void)error; }
SNO_I_FN const char *sno_i_error_text(int error) { return (void)error, SNO_I_WHY_NO_FILES; }
SNO_I_FN bool sno_i_error_is_taken(int error) { return (void)error, false; }
SNO_I_FN int sno_i_open(const char *path, int how) { return (void)path, (void)how, -1; }
SNO_I_FN void sno_i_close(int fd) { (void)fd; }
SNO_I_FN int sno_i_lock_bytes(int fd, bool lock, uint64_t first, uint64_t count) {
    return (void)fd, (void)lock, (void)first, (void)count, -1;
}
SNO_I_FN bool sno_i_write_at(int fd, int64_t at, const uint8_t *bytes, size_t n) {
    return (void)fd, (void)at, (void)bytes, (void)n, false;
}
SNO_I_FN int sno_i_read_at(int fd, int64_t at, uint8_t *bytes, size_t n) {
    return (void)fd, (void)at, (void)bytes, (void)n, -1;
}
SNO_I_FN int sno_i_fsync(int fd) { return (void)fd, -1; }
SNO_I_FN int sno_i_fdatasync(int fd) { return (void)fd, -1; }
SNO_I_FN bool sno_i_fsync_folder(const char *folder) { return (void)folder, false; }
SNO_I_FN bool sno_i_find(const char *path, sno_i_found *found) {
    return (void)path, (void)found, false;
}
SNO_I_FN bool sno_i_find_open(int fd, sno_i_found *found) {
    return (void)fd, (void)found, false;
}
SNO_I_FN bool sno_i_is_link(const char *path) { return (void)path, false; }
SNO_I_FN bool sno_i_rename(const char *from, const char *to) {
    return (void)from, (void)to, false;
}
SNO_I_FN void sno_i_unlink(const char *path) { (void)path; }
SNO_I_FN bool sno_i_folder(char *out, size_t size) { return (void)out, (void)size, false; }
#endif
// >>system end

// >>own begin
/* What this header alone asks of the operating system: a fresh page moved into a room. Where that
 * can't be done it stays where it is. The kernel looks whether it can be done before it unmaps what
 * is there; a call that maps a page there may run out of memory after that, and leave a hole for
 * others to map into. */
#if defined(__linux__) && !defined(SNO_NO_OS)
#if defined(__cplusplus)
extern "C" {
#endif
extern void *sno_i_mremap(void *, size_t, size_t, int, ...) __asm__("mremap");
#if defined(__cplusplus)
}
#endif

SNO_I_FN void *sno_i_move_page(void *page, sno_i_page_room *room) {
    enum { may_move = 1, to_a_fixed_place = 2 };
    const size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *const place = sno_i_page_in(room);
    const int errno_before = errno;
    if (place && sno_i_mremap(page, size, size, may_move | to_a_fixed_place, place) == place)
        page = place;
    errno = errno_before;
    return page;
}
#else
SNO_I_FN void *sno_i_move_page(void *page, sno_i_page_room *room) { return (void)room, page; }
#endif
// >>own end

// >>common begin
/*
 * The engine. Both headers carry this region, the same but for the prefix: `make check-common`.
 *
 * THE PROTOCOL
 *
 * One 64-bit word is all the state that a draw needs:
 *
 *      63                                                  0
 *     +---------------------------+------+------------------+
 *     | time                      | tick | count            |     tick: 1 bit where a step of the
 *     +---------------------------+------+------------------+     clock is ridden out, else none
 *
 *     time    the highest clock reading recorded, in units since the epoch
 *     count   places drawn since that unit began, the queue's included; it has bits to spare
 *     cap     how many places a unit has
 *
 *     place k, the k-th draw from 0, lies in unit  time + k / cap  at index  k % cap
 *
 * A draw loads the word and reads the clock (in which order: I2), and moves the word with one
 * read-modify-write:
 *
 *     clock == time    the next place is k = count
 *     clock >  time    k = what the passed units have not served of the queue, mostly 0, and the
 *                      word is re-based on the clock: the same position, told from a later unit
 *     clock <  time    the clock was put back. Without a tick the word counts on from its own time.
 *                      With one, the draw changes over to the other timeline (tick-tock), unless
 *                      the clock reads a time that was used there too
 *
 * A place whose unit the clock has reached (or will within max_ahead) is handed out. One in a later
 * unit is not drawn by a caller that only tries; a caller that waits draws it, so that it has its
 * turn in the queue, and sleeps until its time.
 *
 * INVARIANTS
 *
 *  I1  A place (time, tick, k) is the result of exactly one read-modify-write of one word. All RMWs
 *      of a location are totally ordered on every machine, and within a timeline the position
 *      time * cap + count only grows; so within one no place is drawn twice, whatever the memory
 *      orders are. That two visits to a timeline don't meet is I5's, and needs its orders.
 *      (It shrinks in one case: a waiter that gives up while its place is still the newest takes
 *      it back. Then nobody has had it, and whoever draws next may.)
 *  I2  A reading counts as behind the word only if it was taken after the word was loaded. So
 *      "clock < time" says that the clock went back, never that this thread was slow between the
 *      two. (A reading that is not behind may be as old as it likes: then the thread was slow.)
 *  I3  No id is handed out whose time is more than max_ahead ahead of the clock. (With the coarse
 *      clock it may be the slack more, with the fast one half a ms: see below.)
 *  I4  A call that fails has changed nothing. (One exception: a waiter whose clock is put back or
 *      stands still, and behind whom others have queued, leaves its place unused.)
 *  I5  When a timeline is left, safe[tick] is at or past the last time drawn on it, and whoever
 *      sees the new timeline sees that value.
 *
 * Why the word can't return to an earlier value on another timeline (ABA): a timeline is entered
 * with a time above safe[tick], that is above all times it has seen. Within a timeline only giving
 * back moves the word to an earlier value, the one before the draw, and then an equal word means an
 * equal state: every place below it is taken, every place from it on is free.
 *
 * Why count can't run into its neighbour: a draw by fetch_add looks at the count first and adds
 * only below cap. Between the look and the addition others may add, one for each thread that stands
 * between the two at that moment. A quarter of the count's range, 2^18 at the least, is kept free
 * for them. A CAS knows the count exactly and needs no such room.
 *
 * Why a coarse clock does no harm. It lags behind the exact one, by less than half of the slack, and
 * never leads, so a unit that it has reached may be drawn from. Once some thread that found a unit
 * spent has moved the word by an exact reading, coarse ones lie behind it for a while; if by no more
 * than the slack, they count as of the word's unit, or each draw of that unit would read both clocks.
 * So a step back that is shorter than the slack is not seen until the unit is spent (I3). Behind by
 * more, spent, or a fresh word: an exact reading decides (I2), and ticks change on that alone (I5).
 *
 * Why a fast clock does no harm. It is no clock, but a lease: an exact reading says that a unit is
 * current, and how long that lasts by the processor's counter, at most half a ms. A draw under the
 * lease does nothing but count on in the word's unit, and only if that is the unit leased; each move
 * to another unit rests on an exact reading, each "spent" and "behind" on one after the word. So the word
 * never leads the clock, and a counter that jumps, stands or differs between processors makes an id's time
 * late at the worst: within one unit, and by half a ms or as much as the counter is behind. All of it is
 * relaxed and apart from the word, since a lease says what is so whatever the word has become. How fast
 * it counts is learned from exact readings; before two agree, and when it was often wrong, there are no
 * leases.
 *
 * Why a counter that is read early does no harm. No acquire orders it: a processor may read its counter
 * while an earlier load still waits for its cache line. The reading is then older than what the load
 * returns, an id of the next unit from another lane perhaps, and a lease that lasts to the end of its unit
 * would give a later draw the earlier unit. So each lease ends 2 us before its unit, and there the exact
 * clock decides. It is ordered: the system's has a barrier before its counter (rdtscp or lfence on x86, isb
 * on ARM), and the coarse one is loaded from memory. 2 us is no bound of the architecture. Measured on x86
 * (Zen 4), one load in a million was overtaken, mostly by less than 1 us, and one in 10^7 by more than 2 us,
 * 9 us at most. Such a reading must also fall on the end of a unit, and costs order, never an id twice.
 *
 * MEMORY ORDERS
 *
 *     label      at                                   pairs with   and carries
 *     LEAVE:R    move that leaves a timeline, release LOOK:A       safe[] raised, drifts settled
 *     LOOK:A     load of the word, acquire; the same  LEAVE:R      (I5), and keeps the second
 *                order where a failed CAS loads it                 reading behind it (I2)
 *     SAFE:R     safe[] raised                        SAFE:A       the word of who raised it, so that
 *                                                                  a snapshot has no older one with it
 *     TALLY:R    places re-based are tallied          TALLY:A      the word that no longer counts them
 *     NOTE:R     election for a note of a ms          NOTE:A       that the clock has read that ms
 *     FILL:R     slot's turn stored by push           DRAIN:A      the note in the slot
 *     DRAIN:R    slot's turn stored by pop            FILL:A       the slot is free again
 *     BACK:R     shard returned to the pool           LEND:A       all the last owner did to it
 *     SETTLE:R   drift count raised                   SETTLE:A     that the timeline was left
 *     TURN:R     files: a thread's turn is over       TURN:A       what it did in it
 *     DISK:R     horizon published                    DISK:A       that it is on disk, and the run
 *     OPEN:R     state is open                        OPEN:A       its holder, and the turn it took
 *     HOLD:R     state has a new holder               HOLD:A       that its open has the turn
 *     ASK:S      `asked` raised, or seen raised,      SHUT:S       one of the two sees the other
 *                then horizon read
 *     SHUT:S     horizon closed, then `asked` read    ASK:S
 *
 *  All other accesses are relaxed, for these reasons. A draw that stays on its timeline publishes
 *  nothing but the word itself, and I1 needs no order; being an RMW it carries on the release
 *  sequence of the LEAVE:R before it, so a later LOOK:A still synchronises with that. Use what the
 *  fetch_add returns for the place alone, since it is no LOOK:A: for anything more, load the word again.
 *  An owned word (a shard's) has one writer, and changes hands only through LEND and BACK or by the
 *  user's own means. safe[] is reached through LOOK:A, and the statistics are read by nobody who acts
 *  on them. `make explore-orders` takes each of these orders away, and sees what comes of it.
 *
 *  LOOK:A keeps later loads behind it, but a processor's time register need not be a load, and a
 *  branch on the word's value does not order it. The exact clock's own barrier does. And little hangs
 *  on it: an imagined step back costs a wait or a changed tick, never an id twice.
 *
 * PROGRESS
 *
 *  Draw by fetch_add: wait-free where the machine adds so. Draw by CAS: lock-free, and a failure
 *  means that another draw succeeded. Owned word: wait-free. A waiting call sleeps besides, and lets
 *  nobody else wait for it: a thread that dies in any line holds nothing but its own place.
 */

#if defined(__GNUC__) || defined(__clang__)
#define SNO_I_INLINE SNO_I_FN __attribute__((always_inline))
#ifdef SNO_I_TAG
#define SNO_I_APART SNO_I_FN
#define SNO_I_COLD  SNO_I_FN __attribute__((cold))
#else
#define SNO_I_APART static __attribute__((noinline, unused))
#define SNO_I_COLD  static __attribute__((noinline, cold, unused))
#endif
#define SNO_I_LIKELY(x) __builtin_expect(!!(x), 1)
#elif defined(_MSC_VER)
#define SNO_I_INLINE    static __forceinline
#define SNO_I_APART     static __declspec(noinline)
#define SNO_I_COLD      static __declspec(noinline)
#define SNO_I_LIKELY(x) (x)
#else
#define SNO_I_INLINE    SNO_I_FN
#define SNO_I_APART     SNO_I_FN
#define SNO_I_COLD      SNO_I_FN
#define SNO_I_LIKELY(x) (x)
#endif

/* ---- clock, sleep, lane ---- */

#ifndef SNO_CLOCK_SLACK_NS
#ifdef SNO_CLOCK_NS
#define SNO_CLOCK_SLACK_NS UINT64_C(0)
#else
#define SNO_CLOCK_SLACK_NS sno_i_system_slack_ns()
#endif
#endif
#ifndef SNO_CLOCK_NS
#define SNO_CLOCK_NS(kind) sno_i_system_ns(kind)
#endif
#ifndef SNO_SLEEP_NS
#define SNO_SLEEP_NS(ns) sno_i_system_sleep(ns)
#endif

/* The processor's counter; 0 where there is none that is known. */
#ifndef SNO_COUNTER
#define SNO_I_COUNTER_OF_OURS
#if defined(__GNUC__) && defined(__x86_64__)
#define SNO_COUNTER() __builtin_ia32_rdtsc()
#elif defined(__GNUC__) && defined(__aarch64__)
SNO_I_FN uint64_t sno_i_counter(void) {
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
}
#define SNO_COUNTER() sno_i_counter()
#else
#define SNO_COUNTER() UINT64_C(0)
#endif
#endif

#ifndef SNO_LANE
#define SNO_LANE() sno_i_system_lane()
#endif

SNO_I_INLINE int64_t sno_i_now_ns(const sno_clock *c) {
    return SNO_I_LIKELY(!c->now_ns) ? SNO_CLOCK_NS(c->kind) : c->now_ns(c->user);
}

SNO_I_FN int64_t sno_i_exact_ns(const sno_clock *c) {
    return c->now_ns ? c->now_ns(c->user) : SNO_CLOCK_NS(SNO_CLOCK_EXACT);
}

/* ---- ring: bounded, many producers, many consumers, lock-free ----
 *
 * Each slot counts its turns: 2r when it is free for the producer of round r, 2r + 1 when it holds
 * that round's note. head and tail only grow; with 64 bits they don't come round. A producer that
 * is stopped between its CAS and FILL:R hides its note and those behind it, and blocks nobody.
 */
struct sno_ring_slot {
    SNO_I_STAYS(sno_ring_slot)
    sno_i_atomic64 turn;
    sno_overflow note;
};

struct sno_ring {
    SNO_I_STAYS(sno_ring)
    sno_ring_slot *slots;
    uint64_t size;
    char pad0[64];
    sno_i_atomic64 head; /* next to push */
    char pad1[56];
    sno_i_atomic64 tail; /* next to pop */
    char pad2[56];
};

SNO_API sno_status sno_ring_init(sno_ring *ring, sno_ring_slot *slots, size_t n) {
    if (!ring || !slots || !n) return SNO_INVALID;
    ring->slots = slots;
    ring->size = n;
    SNO_ATOMIC_STORE(&ring->head, 0u, relaxed);
    SNO_ATOMIC_STORE(&ring->tail, 0u, relaxed);
    for (size_t i = 0; i < n; i++) SNO_ATOMIC_STORE(&slots[i].turn, 0u, relaxed);
    return SNO_OK;
}

/* Takes the next position of `end` whose slot shows `phase` (0 free, 1 filled) in its turn; NULL
 * when there is none. Linearises at the CAS. */
SNO_I_FN sno_ring_slot *sno_i_ring_claim(sno_ring *ring, sno_i_atomic64 *end,
                                               uint64_t phase, uint64_t *turn) {
    uint64_t at = SNO_ATOMIC_LOAD(end, relaxed); /* a stale value fails the turn or the CAS */
    if (!ring->size) return NULL;                  /* was not initialised */
    for (;;) {
        sno_ring_slot *slot = &ring->slots[at % ring->size];
        *turn = at / ring->size * 2 + phase;
        if (SNO_ATOMIC_LOAD(&slot->turn, acquire) == *turn) { /* FILL:A, DRAIN:A */
            if (SNO_ATOMIC_CAS(end, &at, at + 1, relaxed, relaxed)) return slot;
        } else {
            uint64_t before = at;
            at = SNO_ATOMIC_LOAD(end, relaxed);
            if (at == before) return NULL;
        }
    }
}

/* Member by member: checkers of the memory model know no copies of structs that threads share. */
SNO_I_FN void sno_i_ring_copy(const sno_overflow *note, sno_overflow *out) {
    out->now_ns = note->now_ns;
    out->count = note->count;
    out->ticks = note->ticks;
}

SNO_API bool sno_ring_push(sno_ring *ring, sno_overflow note) {
    uint64_t turn;
    sno_ring_slot *slot = sno_i_ring_claim(ring, &ring->head, 0, &turn);
    if (!slot) return false;
    sno_i_ring_copy(&note, &slot->note);
    SNO_ATOMIC_STORE(&slot->turn, turn + 1, release); /* FILL:R */
    return true;
}

SNO_API bool sno_ring_pop(sno_ring *ring, sno_overflow *note) {
    uint64_t turn;
    sno_ring_slot *slot = sno_i_ring_claim(ring, &ring->tail, 1, &turn);
    if (!slot) return false;
    sno_i_ring_copy(&slot->note, note);
    SNO_ATOMIC_STORE(&slot->turn, turn + 1, release); /* DRAIN:R */
    return true;
}

/* ---- fork word ----
 *
 * A word in a page that the kernel wipes in a forked child. A generator keeps the value that it saw
 * when it was initialised; another value means another process. Nobody writes it but the first to
 * initialise a generator in a process. Where the kernel has no such page (Linux before 4.14, other
 * systems) the generator compares getpid() instead, at the price of a system call an id.
 *
 * There is one for each copy of the header that the linker keeps apart, and each is wiped. What several
 * units share has the number of its layout in its name, so that units with another layout have an
 * object of their own: who changes the struct raises the number (tests/two_units_main.c).
 */
#define sno_i_process SNO_I_LAYOUT(sno_i_process, 2)
struct sno_i_process {
    SNO_ATOMIC(sno_i_atomic64 *) page; /* NULL: not asked for yet */
    sno_i_atomic64 generation;           /* survives the fork, so that a child's value is new */
    sno_i_atomic32 bumps;                /* likewise: of the process and its forebears */
    sno_i_page_room room;                /* of the page */
};

#if defined(__cplusplus)
extern "C" {
#endif
extern struct sno_i_process sno_i_process;
SNO_I_ONE_PER_PROCESS(struct sno_i_process, sno_i_process);
#if defined(__cplusplus)
}
#endif

/* ---- random bytes ---- */

#ifndef SNO_RANDOM_BYTES
#define SNO_RANDOM_BYTES(to, n) sno_i_system_random(to, n)
#endif

SNO_I_FN bool sno_i_random_bytes(void *to, size_t n) { return SNO_RANDOM_BYTES(to, n); }

/* Marks this process where no page does. */
SNO_I_COLD uint64_t sno_i_pid_mark(void) {
    return SNO_ATOMIC_LOAD(&sno_i_process.generation, relaxed) << 32 | sno_i_pid();
}

/* Any number of threads may find the page and tell the kernel at once: it is the same page, and
 * told twice is told. Nor has the pointer anything to carry: a fork that comes later takes the
 * kernel's own lock after the call that told. */
SNO_I_FN sno_i_atomic64 *sno_i_fork_page(void) {
    sno_i_atomic64 *page = SNO_ATOMIC_LOAD(&sno_i_process.page, relaxed);
    if (page) return page;
    page = (sno_i_atomic64 *)sno_i_page_in(&sno_i_process.room);
    if (!page || !sno_i_wipe_on_fork(page)) return NULL;
    SNO_ATOMIC_STORE(&sno_i_process.page, page, relaxed);
    return page;
}

/* The value that marks this process, for generators to keep; *word is NULL where the pid does. */
SNO_I_FN uint64_t sno_i_fork_mark(sno_i_atomic64 **word) {
    *word = sno_i_fork_page();
    if (!*word) return sno_i_pid_mark();
    uint64_t mark = SNO_ATOMIC_LOAD(*word, relaxed);
    if (mark) return mark;
    uint64_t next = SNO_ATOMIC_ADD(&sno_i_process.generation, 1u, relaxed) + 1;
    return SNO_ATOMIC_CAS(*word, &mark, next, relaxed, relaxed) ? next : mark;
}

/* Marks the process itself, for what it holds: a bump does not change it, and it tells relatives and
 * strangers apart. */
SNO_I_FN uint64_t sno_i_process_mark(void) {
    sno_i_atomic64 *page = sno_i_fork_page();
    if (!page) return sno_i_pid();
    uint64_t mark = SNO_ATOMIC_LOAD(page + 1, relaxed), next = 0;
    if (mark) return mark;
    (void)sno_i_random_bytes(&next, sizeof next);
    next ^= sno_i_pid() << 32;
    next ^= SNO_ATOMIC_ADD(&sno_i_process.generation, 1u, relaxed) << 1;
    next |= 1;
    return SNO_ATOMIC_CAS(page + 1, &mark, next, relaxed, relaxed) ? next : mark;
}

/* Which of a few places, which all processes of a tree have, no thread of this process has had; `places`:
 * none is left. Those that a parent's threads had at the moment of the fork are free in the child. (A bump
 * must not free them, so it is the pid.) *begun is [ pid:56 ][ places taken in that process:8 ]. */
SNO_I_FN unsigned sno_i_take_place(sno_i_atomic64 *begun, unsigned places) {
    const uint64_t none = sno_i_pid() << 8;
    uint64_t seen = SNO_ATOMIC_LOAD(begun, relaxed), n;
    do {
        n = seen - none < 0x100 ? seen - none : 0;
        if (n == places) return places;
    } while (!SNO_ATOMIC_CAS(begun, &seen, none + n + 1, relaxed, relaxed));
    return (unsigned)n;
}

SNO_API void sno_generation_bump(void) {
    sno_i_atomic64 *page = sno_i_fork_page();
    const uint64_t next = SNO_ATOMIC_ADD(&sno_i_process.generation, 1u, relaxed) + 1;
    (void)SNO_ATOMIC_ADD(&sno_i_process.bumps, 1u, relaxed);
    if (page) SNO_ATOMIC_STORE(page, next, relaxed);
}

/* ---- engine ---- */

/* The word lies alone on its cache line whatever the alignment of the whole is, but for the lease that
 * is looked at with it. Behind it comes what never changes after init, or once, and behind that what
 * only the slow path writes. */
typedef struct sno_i_engine {
    SNO_I_STAYS(sno_i_engine)
    char pad0[48];
    sno_i_atomic64 lease; /* a unit, and what the counter says at its end: the fast clock's */
    sno_i_atomic64 word;
    char pad1[56];

    sno_i_atomic64 *fork_word; /* NULL: compare the pid; or, with fork_mark 0, nothing */
    uint64_t fork_mark;
    uint64_t epoch_ns, unit_ns; /* wrapping arithmetic: only differences are looked at */
    uint64_t unit_share;        /* 2^64 / unit_ns, rounded down: a division by a multiplication */
    uint64_t slack_ns;          /* how far a reading may lag behind the word's unit, */
    uint64_t reach_ns;          /* ... unit_ns and that, */
    uint64_t late_from_ns;      /* ... and the epoch less that */
    uint64_t count_mask;
    uint64_t cap;
    uint64_t fast_rest; /* the fast path may draw behind 1 to so many places: cap - 1, or 0; */
    uint64_t add_rest;  /* ... by fetch_add: likewise */
    unsigned time_shift;
    unsigned tick_bits; /* 1: a clock put back changes the timeline */
    sno_clock clock;
    uint64_t limit;     /* count never goes past this */
    uint64_t max_time;  /* the last unit that layout and clock can express */
    uint64_t ahead;     /* units that ids may lie ahead of the clock */
    uint64_t time_lead; /* units that time itself may: ahead, or 0 */
    int64_t wait_ns;    /* longest sleep of one call */
    bool refuse_back;   /* a waiting call does not wait for a clock that was put back */
    bool is_plain;      /* no gate, state, ring or leases; a full count carries into nothing */
    sno_i_atomic64
        window; /* what the counter counts in a lease; 1: not known yet; 0: no leases */
    sno_ring *ring;
    sno_gate gate;
    uintptr_t state_at; /* where the state lies: its address; in shared memory, where addresses
                           differ, how far behind this engine; 0: there is none */
    uint64_t state_run; /* the state's run when this engine was set up */
    sno_i_atomic64 *process_word; /* what fork_word is where it is not the gate's */
    uint64_t process_mark;
    bool is_shared;
    char pad2[64];

    sno_i_atomic64 safe[2]; /* tick engines: see I5 */
    sno_i_atomic64 drifts;  /* timelines left; the last one may be missing, its parity tells */
    sno_i_atomic64 overflow;
    sno_i_atomic64 rebased; /* places drawn that count no longer tells */
    sno_i_atomic64 batches, waits, clock_backs;
    sno_i_atomic64 paced; /* an earlier reading of counter and clock */
    sno_i_atomic64 pace;  /* what the window was by that, or how often in a row it was wrong */
    sno_i_atomic32 lent;  /* a pool's shard: 1 while a thread has it */
    char pad3[60];
} sno_i_engine;

SNO_I_RELY_ON(offsetof(sno_i_engine, word) == 56, "the word has 56 bytes before and behind it");
SNO_I_RELY_ON(offsetof(sno_i_engine, fork_word) >= offsetof(sno_i_engine, word) + 64,
                "what never changes lies on other lines than the word");
SNO_I_RELY_ON(sizeof(sno_i_atomic64) == 8, "a 64-bit atomic is its value alone");

/* How a draw goes about it; constants, so that each caller compiles to its own straight line. */
enum {
    SNO_I_WAIT = 1,  /* sleep for a place rather than fail */
    SNO_I_OWNED = 2, /* one writer: plain loads and stores in place of RMWs */
    SNO_I_GIVEN = 4, /* the time is the caller's and may be stale: never a step back */
    SNO_I_LANE = 8,  /* the caller has others to ask: a clock behind the word is not counted */
    /* and what came of the usual case: */
    SNO_I_ELSE = 16,     /* it is another case */
    SNO_I_NOT_OURS = 32, /* the fork word has changed */
    SNO_I_LATE = 64,     /* a fetch_add took a place behind the unit's last, or in another unit */
    SNO_I_LOST = 128,    /* another was faster */
    SNO_I_CONFIRMED = 256 /* the reading is exact, and was taken after the word */
};

/* A run of places: n from `index` of unit `time` on, index < cap. */
typedef struct sno_i_place {
    uint64_t time, index, n;
    unsigned tick;
    uint64_t
        head; /* time and tick once more, as they stand in the word: for ids that are made alike */
} sno_i_place;

typedef struct sno_i_setup {
    int64_t epoch_ms;
    uint32_t unit_ms;
    unsigned time_bits, tick_bits;
    uint64_t cap;
    int64_t max_ahead_ms, max_wait_ms;
    bool refuse_back, shared_memory;
    sno_clock clock;
    sno_ring *ring;
    sno_gate gate;
    struct sno_state *state;
} sno_i_setup;

/* Of the state file, which comes below. */
SNO_I_FN bool sno_i_state_is_shared(const struct sno_state *);
SNO_I_FN uint64_t sno_i_state_run(const struct sno_state *);
SNO_I_FN sno_status sno_i_state_admit(struct sno_state *, uint64_t run, int64_t until_ns,
                                            bool *in_vain);

SNO_I_FN uint64_t sno_i_min(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* How long until `due`, which is later. */
SNO_I_FN int64_t sno_i_ns_until(int64_t due_ns, int64_t now_ns) {
    const uint64_t ns = (uint64_t)due_ns - (uint64_t)now_ns;
    return ns > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)ns;
}

enum { SNO_I_NS_PER_MS = 1000000 };

/* How the word is divided. */
typedef struct sno_i_split {
    uint64_t last;  /* unit */
    uint64_t range; /* of count, as far as it is used */
    unsigned count_bits;
} sno_i_split;

enum {
    SNO_I_RANGE_BITS = 48,  /* count uses no more, so that sums of counts have room */
    SNO_I_ADD_BITS = 20,    /* fetch_add wants a count of so many bits or more, ... */
    SNO_I_ADD_ROOM = 16,    /* ... that is so many times the cap, ... */
    SNO_I_ADD_PLACES = 4096 /* ... and callers with patience for so many places */
};

SNO_I_FN const char *sno_i_unfit_clock(const sno_clock *c) {
    if (c->kind >= SNO_CLOCK_EXACT && c->kind <= SNO_CLOCK_FAST) return NULL;
    return "clock.kind is not SNO_CLOCK_EXACT, SNO_CLOCK_COARSE or SNO_CLOCK_FAST";
}

SNO_I_FN const char *sno_i_unfit_sharing(const sno_i_setup *o) {
    if (!o->shared_memory) return NULL;
    if (o->gate.admit) return "shared_memory does not go with a gate";
    if (o->state && !sno_i_state_is_shared(o->state))
        return "shared_memory wants a state with shared_memory, in the same memory";
#if SNO_I_LOCK_FREE != 2
    return "shared_memory: 64-bit atomics here hide a lock of one process";
#else
    return NULL;
#endif
}

/* Names an option that no engine can be set up with; NULL: none. */
SNO_I_FN const char *sno_i_unfit(const sno_i_setup *o) {
    const int64_t max_ms = INT64_MAX / SNO_I_NS_PER_MS;
    if (o->epoch_ms < -max_ms || o->epoch_ms > max_ms)
        return "layout.epoch_ms is further from 1970 than 64 bits of ns";
    if (!o->unit_ms || !o->cap) return "layout: a unit has no length, or no ids";
    if (o->max_ahead_ms < 0 || o->max_ahead_ms / o->unit_ms > INT32_MAX)
        return "max_ahead_ms is negative, or more than 2^31 units";
    if (o->max_wait_ms < 0) return "max_wait_ms is negative";
    if (o->ring && !o->ring->size) return "overflow is not initialised: sno_ring_init";
    if (o->state && !SNO_I_HAS_FILES) return "state " SNO_I_WHY_NO_FILES;
    const char *const why = sno_i_unfit_clock(&o->clock);
    return why ? why : sno_i_unfit_sharing(o);
}

/* Time gets the bits that the layout and a clock of 63 bits of ns can fill, count the rest: as many
 * at least as the layout has beside its time. What does not fit is returned. */
SNO_I_FN const char *sno_i_split_word(const sno_i_setup *o, sno_i_split *d) {
    const uint64_t epoch_ns = (uint64_t)(o->epoch_ms * SNO_I_NS_PER_MS);
    const uint64_t unit_ns = (uint64_t)o->unit_ms * SNO_I_NS_PER_MS;
    d->last = ((uint64_t)INT64_MAX - epoch_ns) / unit_ns;
    if (!d->last--) return "layout: the clock ends before the first unit does";
    if (o->time_bits < 64) d->last = sno_i_min(d->last, ((uint64_t)1 << o->time_bits) - 1);
    d->count_bits = 63 - o->tick_bits;
    for (uint64_t t = d->last >> 1; t; t >>= 1) d->count_bits--;
    d->range = (uint64_t)1 << sno_i_min(d->count_bits, SNO_I_RANGE_BITS);
    SNO_ASSERT(o->cap < d->range || (o->cap == d->range && !o->tick_bits));
    if (o->cap == d->range && (d->last + 1) << d->count_bits == 0)
        d->last--; /* a full unit carries into time */
    return NULL;
}

/* Names what an engine can't be set up with; NULL: it can be, and so the word is divided. */
SNO_I_FN const char *sno_i_setup_why(const sno_i_setup *o, sno_i_split *d) {
    const char *const why = sno_i_unfit(o);
    return why ? why : sno_i_split_word(o, d);
}

/* How far a draw may go, and how. fetch_add wants room for those who add at the same moment, a
 * quarter of the count's range; and so much patience that they don't push a place past what its
 * caller waits. */
SNO_I_FN void sno_i_set_limits(sno_i_engine *e, const sno_i_setup *o,
                                   const sno_i_split *d) {
    const uint64_t units =
        sno_i_min((uint64_t)e->wait_ns / e->unit_ns + e->ahead, SNO_I_ADD_PLACES);
    const bool by_add = d->count_bits >= SNO_I_ADD_BITS &&
                        o->cap <= d->range / SNO_I_ADD_ROOM &&
                        units * o->cap >= SNO_I_ADD_PLACES;
    const uint64_t room_for_adds = d->range / 4,
                   full = o->cap == d->range ? d->range : d->range - 1;
    e->add_rest = by_add ? o->cap - 1 : 0;
    e->fast_rest = o->cap == d->range ? 0 : o->cap - 1;
    e->limit = by_add ? d->range - room_for_adds : full;
    /* Ids so far ahead that count can't hold them move time past all readings (see sno_i_plan). */
    e->time_lead = (e->ahead + 1) * o->cap > e->limit ? e->ahead : 0;
}

/* Whose the engine is: the fork word's value, or the gate's, which fork wipes, too. */
SNO_I_FN void sno_i_set_owner(sno_i_engine *e, const sno_i_setup *o) {
    sno_i_atomic64 *const gate_word = o->gate.admit ? o->gate.word : NULL;
    e->process_word = NULL;
    e->process_mark = o->shared_memory ? 0 : sno_i_fork_mark(&e->process_word);
    e->fork_word = gate_word ? gate_word : e->process_word;
    e->fork_mark = gate_word ? SNO_ATOMIC_LOAD(gate_word, relaxed) : e->process_mark;
    if (gate_word && !e->fork_mark) e->fork_mark = 1; /* closed just now: none to be equal to */
    e->gate = o->gate;
    e->is_shared = o->shared_memory;
    e->state_at = (uintptr_t)o->state;
    if (o->state && o->shared_memory) e->state_at -= (uintptr_t)e;
    e->state_run = o->state ? sno_i_state_run(o->state) : 0;
}

/* Whether the counter is to be had at a fraction of what the clock costs. It is not where a reading of
 * it is trapped, nor where the system distrusts it, whose own clock takes much longer then. A counter
 * of the user's is taken at his word. */
SNO_I_COLD bool sno_i_counter_suits(const sno_clock *c) {
#if defined(SNO_I_COUNTER_OF_OURS)
    enum { ROUNDS = 4, READINGS = 32, MOST = 32 };
    uint64_t clock = UINT64_MAX, counter = UINT64_MAX, seen = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        const uint64_t first = SNO_COUNTER();
        for (unsigned k = 0; k < READINGS; k++) seen |= (uint64_t)sno_i_exact_ns(c);
        const uint64_t second = SNO_COUNTER();
        for (unsigned k = 0; k < READINGS; k++) seen |= SNO_COUNTER();
        clock = sno_i_min(clock, second - first);
        counter = sno_i_min(counter, SNO_COUNTER() - second);
    }
    return seen && clock * 2 > counter * 3 && clock < counter * MOST;
#else
    (void)c;
    return true;
#endif
}

/* All but whose it is, and whether it has leases. */
SNO_I_FN void sno_i_engine_fill(sno_i_engine *e, const sno_i_setup *o,
                                    const sno_i_split *d) {
    const int64_t max_ms = INT64_MAX / SNO_I_NS_PER_MS;
    e->epoch_ns = (uint64_t)(o->epoch_ms * SNO_I_NS_PER_MS);
    e->unit_ns = (uint64_t)o->unit_ms * SNO_I_NS_PER_MS;
    e->max_time = d->last;
    e->tick_bits = o->tick_bits;
    e->time_shift = d->count_bits + o->tick_bits;
    e->count_mask = ((uint64_t)1 << d->count_bits) - 1;
    e->cap = o->cap;
    e->ahead = (uint64_t)o->max_ahead_ms / o->unit_ms;
    e->wait_ns = o->max_wait_ms > max_ms ? INT64_MAX : o->max_wait_ms * SNO_I_NS_PER_MS;
    e->refuse_back = o->refuse_back;
    e->clock = o->clock;
    if (o->clock.kind == SNO_CLOCK_FAST) e->clock.kind = SNO_CLOCK_EXACT;
    e->ring = o->ring;
    e->slack_ns = o->clock.now_ns || o->clock.kind != SNO_CLOCK_COARSE ? 0 : SNO_CLOCK_SLACK_NS;
    e->reach_ns = e->unit_ns + e->slack_ns;
    e->late_from_ns = e->epoch_ns - e->slack_ns;
    e->unit_share = UINT64_MAX / e->unit_ns;
    e->is_plain = !o->ring && !o->gate.admit && !o->state && o->cap != d->range;
    sno_i_set_limits(e, o, d);
    sno_i_atomic64 *const zeros[] = {&e->word,        &e->safe[0], &e->safe[1], &e->drifts,
                                       &e->overflow,    &e->rebased, &e->batches, &e->waits,
                                       &e->clock_backs, &e->lease,   &e->paced,   &e->pace};
    for (size_t i = 0; i < sizeof zeros / sizeof *zeros; i++)
        SNO_ATOMIC_STORE(zeros[i], 0u, relaxed);
    SNO_ATOMIC_STORE(&e->lent, 0u, relaxed);
}

/* Who goes by leases takes an exact reading after the word for each new unit. */
SNO_I_FN void sno_i_set_window(sno_i_engine *e, uint64_t window) {
    e->is_plain = e->is_plain && !window;
    SNO_ATOMIC_STORE(&e->window, window, relaxed);
}

/* Not while others use the engine. On failure the engine is unchanged. SNO_LEASE: its gate is closed
 * already, or another process's. */
SNO_I_FN sno_status sno_i_engine_init(sno_i_engine *e, const sno_i_setup *o) {
    sno_i_split d;
    if (sno_i_setup_why(o, &d)) return SNO_INVALID;
    if (o->gate.admit && o->gate.word && !SNO_ATOMIC_LOAD(o->gate.word, relaxed))
        return SNO_LEASE;
    sno_i_engine_fill(e, o, &d);
    sno_i_set_owner(e, o);
    const bool is_fast = o->clock.kind == SNO_CLOCK_FAST && !o->clock.now_ns;
    sno_i_set_window(e, is_fast && sno_i_counter_suits(&e->clock));
    return SNO_OK;
}

SNO_I_COLD bool sno_i_is_another_pid(uint64_t mark) { return mark != sno_i_pid_mark(); }

/* Whether this is another process than the one that took the mark. A mark of 0 asks not to look. */
SNO_I_INLINE bool sno_i_forked_since(sno_i_atomic64 *word, uint64_t mark) {
    if (SNO_I_LIKELY(word != NULL)) return SNO_ATOMIC_LOAD(word, relaxed) != mark;
    return mark && sno_i_is_another_pid(mark);
}

SNO_I_INLINE bool sno_i_forked(const sno_i_engine *e) {
    return sno_i_forked_since(e->fork_word, e->fork_mark);
}

/* Whether this is another process than the one that set the engine up, whatever its gate says. */
SNO_I_COLD bool sno_i_is_inherited(const sno_i_engine *e) {
    return sno_i_forked_since(e->process_word, e->process_mark);
}

/* Why the fork word changed: this is another process, or the gate's owner has closed the gate. */
SNO_I_INLINE sno_status sno_i_lost(const sno_i_engine *e) {
    return sno_i_is_inherited(e) ? SNO_FORKED : SNO_LEASE;
}

/* Whether the engine is still this process's to draw from. */
SNO_I_FN sno_status sno_i_still_ours(const sno_i_engine *e) {
    return sno_i_forked(e) ? sno_i_lost(e) : SNO_OK;
}

/* The same for who has slept, or asks a gate: behind a gate's word a bump is looked for, too. */
SNO_I_FN sno_status sno_i_look_again(const sno_i_engine *e) {
    if (e->fork_word != e->process_word && sno_i_forked(e)) return sno_i_lost(e);
    return sno_i_is_inherited(e) ? SNO_FORKED : SNO_OK;
}

SNO_I_FN struct sno_state *sno_i_state_of(const sno_i_engine *e) {
    return (struct sno_state *)(e->state_at + (e->is_shared ? (uintptr_t)e : 0));
}

SNO_I_FN bool sno_i_has_gate(const sno_i_engine *e) { return e->gate.admit || e->state_at; }

SNO_I_INLINE uint64_t sno_i_start_ns(const sno_i_engine *e, uint64_t unit) {
    return e->epoch_ns + unit * e->unit_ns;
}

/* How many whole units so many ns are. unit_share is short by less than 1, so that a product of it is
 * short by one unit at most. */
SNO_I_INLINE uint64_t sno_i_units(const sno_i_engine *e, uint64_t ns) {
#if defined(__SIZEOF_INT128__)
    __extension__ typedef unsigned __int128 product;
    const uint64_t units = (uint64_t)((product)ns * e->unit_share >> 64);
    return units + (ns - units * e->unit_ns >= e->unit_ns);
#else
    return ns / e->unit_ns;
#endif
}

SNO_I_INLINE unsigned sno_i_tick(const sno_i_engine *e, uint64_t word) {
    return (unsigned)(word >> (e->time_shift - 1)) & e->tick_bits;
}

/* The word of a time and a tick with count 0. A count is added, not or-ed: one that has no bits to
 * spare carries. */
SNO_I_INLINE uint64_t sno_i_word_at(const sno_i_engine *e, uint64_t time, unsigned tick) {
    return (time << e->time_shift) + ((uint64_t)tick << (e->time_shift - 1));
}

/* Of `count` places drawn since unit `since` began, those that lie in unit `from` or later. */
SNO_I_FN uint64_t sno_i_rest(const sno_i_engine *e, uint64_t since, uint64_t count,
                                 uint64_t from) {
    if (from <= since) return count;
    if (count <= e->cap) return 0; /* nearly always, and spares the division */
    uint64_t passed = from - since;
    return passed > count / e->cap ? 0 : count - passed * e->cap;
}

/* A statistic, on a line that the fast path does not touch. */
SNO_I_FN void sno_i_tally(sno_i_atomic64 *tally, uint64_t more, unsigned how) {
    if (!more) return;
    if (how & SNO_I_OWNED)
        SNO_ATOMIC_STORE(tally, SNO_ATOMIC_LOAD(tally, relaxed) + more, release); /* TALLY:R */
    else (void)SNO_ATOMIC_ADD(tally, more, release);                                /* TALLY:R */
}

/* Moves the word from *seen to `next`; when another was faster, *seen is what he left. */
SNO_I_FN bool sno_i_move(sno_i_engine *e, unsigned how, uint64_t *seen, uint64_t next) {
    if (how & SNO_I_OWNED) {
        SNO_ATOMIC_STORE(&e->word, next, release); /* LEAVE:R, for those who only ask */
        return true;
    }
    return SNO_ATOMIC_CAS(&e->word, seen, next, release, acquire); /* LEAVE:R, LOOK:A */
}

/* Time and count of a word. A full unit whose count has no bits to spare has carried into time. */
SNO_I_FN void sno_i_decode(const sno_i_engine *e, uint64_t word, uint64_t *time,
                               uint64_t *count) {
    *time = word >> e->time_shift;
    *count = word & e->count_mask;
    if (e->cap > e->count_mask && !*count && *time) {
        --*time;
        *count = e->cap;
    }
}

/* Call it where the word was put without asking the gates: its unit counts as spent then, since the
 * fast path would not ask them either. Not while others use the engine. */
SNO_I_FN void sno_i_spend_unit(sno_i_engine *e) {
    if (!sno_i_has_gate(e)) return;
    const uint64_t word = SNO_ATOMIC_LOAD(&e->word, relaxed);
    uint64_t time, count;
    sno_i_decode(e, word, &time, &count);
    if (count >= e->cap) return;
    SNO_ATOMIC_STORE(&e->word, word - count + e->cap, relaxed);
    sno_i_tally(&e->rebased, count - e->cap, SNO_I_OWNED); /* what is not drawn here */
}

/* Ids up to this time may have been handed out by a run before: the next is of a later unit, on
 * either timeline. Not while others use the engine. */
SNO_I_FN void sno_i_engine_floor(sno_i_engine *e, int64_t floor_ns) {
    if (floor_ns < (int64_t)e->epoch_ns) return;
    const uint64_t floor =
        sno_i_min(((uint64_t)floor_ns - e->epoch_ns) / e->unit_ns, e->max_time);
    const uint64_t word = SNO_ATOMIC_LOAD(&e->word, relaxed);
    const uint64_t tick = (uint64_t)sno_i_tick(e, word) << (e->time_shift - 1);
    uint64_t time, count;
    for (unsigned i = 0; i < e->tick_bits * 2; i++)
        if (SNO_ATOMIC_LOAD(&e->safe[i], relaxed) < floor)
            SNO_ATOMIC_STORE(&e->safe[i], floor, relaxed);
    sno_i_decode(e, word, &time, &count);
    if (time > floor || sno_i_rest(e, time, count, floor) >= e->cap) return;
    SNO_ATOMIC_STORE(&e->word, (floor << e->time_shift) + tick + e->cap, relaxed);
    sno_i_tally(&e->rebased, count - e->cap, SNO_I_OWNED); /* what is not drawn here */
}

/* ---- the fast clock ---- */

enum {
    SNO_I_LEASE_BITS = 19,       /* the longest lease is so many bits of ns: 0.52 ms */
    SNO_I_LEASE_SPARE_NS = 2000, /* each ends so long before its unit, for counters read early */
    SNO_I_PACE_SHORTEST_US = 10000,
    SNO_I_PACE_LONGEST_US = 4000000,
    SNO_I_PACE_PARTS = 1000, /* two that agree differ by less than this part */
    SNO_I_PACE_MARGIN = 500, /* and leases are shorter by this part, lest they are too long */
    SNO_I_PACE_WRONG = 8,    /* what differs by more than this part is wrong, */
    SNO_I_PACE_PATIENCE = 16 /* and so often in a row too often */
};

/* A lease is one word, its unit and its end in a sum, so that nobody sees the one without the other. This
 * multiplier, 2^64 over the golden ratio, keeps the sums of units that differ by less than 2^30 apart by
 * more than 2^32, and so by more than any window. */
SNO_I_TABLE const uint64_t sno_i_apart = 0x9e3779b97f4a7c15;

SNO_I_FN bool sno_i_differs(uint64_t a, uint64_t b, uint64_t part) {
    return (a > b ? a - b : b - a) > b / part;
}

/* Learns from a reading of the counter, and one of the clock that followed, how much is counted in the
 * longest lease: what two stretches of time say, one after the other. Of those who take a reading at
 * once one goes on from the last. Returns what leases go by. */
SNO_I_FN uint64_t sno_i_learn_pace(sno_i_engine *e, uint64_t counter, int64_t now_ns) {
    uint64_t last = SNO_ATOMIC_LOAD(&e->paced, relaxed);
    const uint64_t window = SNO_ATOMIC_LOAD(&e->window, relaxed);
    /* counted / 64 and us, 32 bits each: behind a pause of minutes they say nothing sensible */
    const uint64_t here = counter >> 6 << 32 | (uint32_t)((uint64_t)now_ns / 1000);
    const uint64_t counted = (uint64_t)(uint32_t)((here >> 32) - (last >> 32)) << 6;
    const uint64_t us = (uint32_t)(here - last);
    if ((last && us < SNO_I_PACE_SHORTEST_US) || !window) return window;
    if (!SNO_ATOMIC_CAS(&e->paced, &last, here, relaxed, relaxed)) return window;
    if (!last || us > SNO_I_PACE_LONGEST_US) return window;
    const uint64_t found = (counted << SNO_I_LEASE_BITS) / (us * 1000);
    const uint64_t before = SNO_ATOMIC_LOAD(&e->pace, relaxed);
    uint64_t pace = found, next = window;
    if (window > 1) {
        pace = sno_i_differs(found, window, SNO_I_PACE_WRONG) ? before + 1 : 0;
        if (pace == SNO_I_PACE_PATIENCE) next = 0;
    } else if (found > SNO_I_PACE_MARGIN && found <= UINT32_MAX &&
               !sno_i_differs(found, before, SNO_I_PACE_PARTS)) {
        pace = 0;
        next = found - found / SNO_I_PACE_MARGIN;
    }
    SNO_ATOMIC_STORE(&e->pace, pace, relaxed);
    if (next != window) SNO_ATOMIC_STORE(&e->window, next, relaxed);
    return next;
}

/* An exact reading, whose unit is leased from then on. The counter was read before it, so the lease
 * ends early if anything. */
SNO_I_COLD int64_t sno_i_renew(sno_i_engine *e, uint64_t counter) {
    const int64_t now_ns = sno_i_exact_ns(&e->clock);
    const uint64_t window = sno_i_learn_pace(e, counter, now_ns);
    if (window <= 1) return now_ns;
    /* before the epoch it is one that never comes */
    const uint64_t unit = sno_i_units(e, (uint64_t)now_ns - e->epoch_ns);
    const uint64_t unit_left_ns = sno_i_start_ns(e, unit + 1) - (uint64_t)now_ns;
    if (unit_left_ns <= SNO_I_LEASE_SPARE_NS) return now_ns;
    const uint64_t left_ns =
        sno_i_min(unit_left_ns - SNO_I_LEASE_SPARE_NS, (uint64_t)1 << SNO_I_LEASE_BITS);
    const uint64_t end = counter + (left_ns * window >> SNO_I_LEASE_BITS);
    SNO_ATOMIC_STORE(&e->lease, end + unit * sno_i_apart, relaxed);
    return now_ns;
}

/* What the fast clock says: the start of the word's unit while that is leased, or else a time before the
 * epoch. As long as it knows no pace, it is the exact clock. */
SNO_I_APART int64_t sno_i_fast_ns(sno_i_engine *e, uint64_t window) {
    const uint64_t counter = SNO_COUNTER();
    if (!SNO_I_LIKELY(window > 1)) return sno_i_renew(e, counter);
    const uint64_t unit = SNO_ATOMIC_LOAD(&e->word, relaxed) >> e->time_shift;
    const uint64_t end = SNO_ATOMIC_LOAD(&e->lease, relaxed) - unit * sno_i_apart;
    const bool leased = end - counter - 1 < window;
    return (int64_t)(SNO_I_LIKELY(leased) ? sno_i_start_ns(e, unit) : e->late_from_ns - 1);
}

/* What a word and a clock reading say about the next place. */
typedef struct sno_i_view {
    uint64_t time, count, now; /* the word's, the clock's unit */
    unsigned tick;
    uint64_t base, place; /* the next place: counted from unit base, on timeline tick */
    uint64_t unit;        /* the unit it lies in */
    bool leaves;          /* drawing it leaves the word's timeline */
    bool blocked;         /* the clock reads a time that both timelines have used: there is none */
    uint64_t opens; /* the unit to wait for: the place's, or the first in which there will be one */
} sno_i_view;

/* The clock lies behind the word of an engine with ticks: the other timeline, if its time is unused. */
SNO_I_FN void sno_i_look_back(const sno_i_engine *e, sno_i_view *v) {
    const uint64_t safe = SNO_ATOMIC_LOAD(&e->safe[v->tick ^ 1], relaxed);
    v->blocked = v->now <= safe;
    v->leaves = !v->blocked;
    if (v->leaves) {
        v->tick ^= 1;
        v->base = v->unit = v->opens = v->now;
        v->place = 0;
    } else if (safe + 1 < v->time) v->opens = safe + 1;
}

SNO_I_FN sno_status sno_i_look(const sno_i_engine *e, unsigned how, uint64_t word,
                                     int64_t now_ns, sno_i_view *v) {
    if (!e->cap) return SNO_INVALID; /* never initialised */
    sno_i_decode(e, word, &v->time, &v->count);
    v->tick = sno_i_tick(e, word);
    const bool given = (how & SNO_I_GIVEN) && word; /* older counts as the word's time */
    if (now_ns < (int64_t)e->epoch_ns && !given) return SNO_RANGE;
    v->now = now_ns < (int64_t)e->epoch_ns ? 0 : sno_i_units(e, (uint64_t)now_ns - e->epoch_ns);
    if (given && v->now + e->time_lead < v->time) v->now = v->time - e->time_lead;

    v->leaves = v->blocked = false;
    v->base = v->now < v->time ? v->time : v->now;
    v->place = sno_i_rest(e, v->time, v->count, v->base);
    v->unit = v->opens = v->base + (v->place < e->cap ? 0 : v->place / e->cap);
    if (v->now < v->time && e->tick_bits) sno_i_look_back(e, v);
    return v->opens > e->max_time ? SNO_RANGE : SNO_OK;
}

/* A reading that was not taken for its word alone: one that lags by no more than the slack counts as
 * of the word's unit. */
SNO_I_FN int64_t sno_i_ridden_ns(const sno_i_engine *e, uint64_t word, int64_t now_ns) {
    uint64_t time, count;
    sno_i_decode(e, word, &time, &count);
    const uint64_t from_ns = sno_i_start_ns(e, time);
    return from_ns - (uint64_t)now_ns <= e->slack_ns ? (int64_t)from_ns : now_ns;
}

SNO_I_FN bool sno_i_is_free(const sno_i_engine *e, const sno_i_view *v) {
    return v->unit <= v->now + e->ahead && !v->blocked;
}

/* Whether a look says all that is to be said without an exact reading taken after the word. Not so
 * for a fresh word: a reading that lags may be of a time that a run before has used. */
SNO_I_FN bool sno_i_suffices(const sno_i_engine *e, const sno_i_view *v) {
    return sno_i_is_free(e, v) && v->now >= v->time && v->time;
}

/* How many places can be had without waiting. */
SNO_I_FN uint64_t sno_i_room(const sno_i_engine *e, const sno_i_view *v) {
    if (!sno_i_is_free(e, v)) return 0;
    return (sno_i_min(v->now + e->ahead, e->max_time) + 1 - v->base) * e->cap - v->place;
}

SNO_I_FN int64_t sno_i_due_ns(const sno_i_engine *e, uint64_t unit) {
    return (int64_t)sno_i_start_ns(e, unit < e->ahead ? 0 : unit - e->ahead);
}

/* How often the clock was put back before `word`, whose tick is the count's parity. The stored
 * count lags by at most one, since whoever leaves a timeline settles it first. False: the word
 * moved. */
SNO_I_FN bool sno_i_drifts_at(sno_i_engine *e, uint64_t word, unsigned tick,
                                  uint64_t *drifts) {
    uint64_t stored = SNO_ATOMIC_LOAD(&e->drifts, acquire); /* SETTLE:A */
    if (SNO_ATOMIC_LOAD(&e->word, relaxed) != word) return false;
    *drifts = stored + ((stored & 1) != tick);
    if (stored != *drifts)
        (void)SNO_ATOMIC_CAS(&e->drifts, &stored, *drifts, release, relaxed); /* SETTLE:R */
    return true;
}

/* Before the CAS that leaves a timeline (the view has the new tick already): what LEAVE:R publishes.
 * False: the word moved. */
SNO_I_FN bool sno_i_before_leaving(sno_i_engine *e, uint64_t word, const sno_i_view *v,
                                       uint64_t *drifts) {
    unsigned left = v->tick ^ 1;
    uint64_t last = v->time + (v->count ? (v->count - 1) / e->cap : 0);
    uint64_t safe = SNO_ATOMIC_LOAD(&e->safe[left], relaxed);
    while (safe < last &&
           !SNO_ATOMIC_CAS(&e->safe[left], &safe, last, release, relaxed)) { /* SAFE:R */
    }
    return sno_i_drifts_at(e, word, left, drifts);
}

/* ---- overflow notes ----
 *
 * e->overflow elects one writer a ms. It is this, packed:
 *
 *     [ began ms:40 ][ noted:24 ]     noted: ms noted since, 0: there was none yet, all ones: over
 */
typedef struct sno_i_overflowing {
    uint64_t began_ms; /* or, when it is over, the ms of the last note */
    uint64_t noted;    /* ms for which a note was written */
    uint64_t ticks; /* ms that have passed since it began; when the clock was put back, very many */
    bool is_over;
} sno_i_overflowing;

enum { SNO_I_NOTED_BITS = 24, SNO_I_NOTED_MAX = 0xffffff };

SNO_I_FN uint64_t sno_i_note_ms(int64_t now_ns) {
    return (uint64_t)(now_ns / SNO_I_NS_PER_MS) & (UINT64_MAX >> SNO_I_NOTED_BITS);
}

SNO_I_FN sno_i_overflowing sno_i_unpack_overflow(uint64_t packed, uint64_t ms) {
    sno_i_overflowing o;
    o.began_ms = packed >> SNO_I_NOTED_BITS;
    o.noted = packed & SNO_I_NOTED_MAX;
    o.ticks = (ms - o.began_ms) & (UINT64_MAX >> SNO_I_NOTED_BITS);
    o.is_over = !o.noted || o.noted == SNO_I_NOTED_MAX;
    return o;
}

SNO_I_FN uint64_t sno_i_pack_overflow(uint64_t began_ms, uint64_t noted) {
    return began_ms << SNO_I_NOTED_BITS | noted;
}

SNO_I_FN bool sno_i_push_note(sno_i_engine *e, int64_t now_ns, uint64_t queued,
                                  uint64_t ticks) {
    sno_overflow note;
    note.now_ns = now_ns;
    note.count = queued > UINT32_MAX ? UINT32_MAX : (uint32_t)queued;
    note.ticks = (uint32_t)ticks;
    return sno_ring_push(e->ring, note);
}

/* Queued callers call this each ms, with how many they are. */
SNO_I_FN void sno_i_note(sno_i_engine *e, uint64_t seen, int64_t now_ns, uint64_t queued) {
    const uint64_t ms = sno_i_note_ms(now_ns);
    sno_i_overflowing o = sno_i_unpack_overflow(seen, ms);
    if (o.is_over || o.ticks >= SNO_I_NOTED_MAX - 1) {
        /* a new one; also after hours of one, or when the clock was put back during it */
        if (o.noted == SNO_I_NOTED_MAX && !o.ticks) return;
        o.began_ms = ms;
        o.ticks = 0;
    } else if (o.ticks < o.noted) return;
    const uint64_t next = sno_i_pack_overflow(o.began_ms, o.ticks + 1);
    if (SNO_ATOMIC_CAS(&e->overflow, &seen, next, release, relaxed)) /* NOTE:R */
        (void)sno_i_push_note(e, now_ns, queued, o.ticks); /* full: the next ms has its own */
}

/* Whoever finds the queue empty calls this. A last note that does not fit stays owed. */
SNO_I_FN void sno_i_note_end(sno_i_engine *e, uint64_t seen, int64_t now_ns) {
    const uint64_t ms = sno_i_note_ms(now_ns);
    const sno_i_overflowing o = sno_i_unpack_overflow(seen, ms);
    if (o.is_over || o.ticks < o.noted) return;
    uint64_t over = sno_i_pack_overflow(ms, SNO_I_NOTED_MAX), owed = seen;
    if (!SNO_ATOMIC_CAS(&e->overflow, &seen, over, release, relaxed)) return; /* NOTE:R */
    const uint64_t ticks =
        o.ticks < SNO_I_NOTED_MAX ? o.ticks : 0; /* 0: the clock was put back */
    if (!sno_i_push_note(e, now_ns, 0, ticks))
        (void)SNO_ATOMIC_CAS(&e->overflow, &over, owed, relaxed, relaxed);
}

/* Says what the queue is like, if it is time to. Not while the clock is behind the word: then the
 * wait is for the clock, not for capacity. The reading is taken after the election was looked at, so
 * that one before its ms says that the clock was put back, never that this thread was slow. */
SNO_I_FN void sno_i_notify(sno_i_engine *e) {
    sno_i_view v;
    if (!e->ring) return;
    const uint64_t old = SNO_ATOMIC_LOAD(&e->overflow, acquire); /* NOTE:A */
    const int64_t now_ns = sno_i_exact_ns(&e->clock);
    const uint64_t word = SNO_ATOMIC_LOAD(&e->word, relaxed); /* only for how long the queue is */
    if (sno_i_look(e, 0, word, now_ns, &v) != SNO_OK || v.now + e->time_lead < v.time) return;
    uint64_t queued = sno_i_rest(e, v.time, v.count, v.now + e->ahead + 1);
    if (queued) sno_i_note(e, old, now_ns, queued);
    else sno_i_note_end(e, old, now_ns);
}

/* ---- draw ---- */

SNO_I_FN int64_t sno_i_max(int64_t a, int64_t b) { return a > b ? a : b; }

/* What the shortest sleep takes, and costs of a caller's patience where the clock does not show it:
 * one that stands still just before a unit would be asked a million times in a ms of patience. */
enum { SNO_I_LEAST_NAP_NS = 50000 };

/* Returns a reading taken afterwards. What became of the engine meanwhile is for the caller to look
 * at. */
SNO_I_FN int64_t sno_i_nap(sno_i_engine *e, int64_t now_ns, int64_t ns, int64_t *budget_ns) {
    if (e->ring) { /* up at the next ms, to note */
        const int64_t tick_ns = 1000000 - (now_ns % 1000000 + 1000000) % 1000000;
        if (ns > tick_ns) ns = tick_ns;
    }
    SNO_SLEEP_NS(ns);
    const int64_t after_ns = sno_i_exact_ns(&e->clock);
    const bool shown = after_ns > now_ns && sno_i_ns_until(after_ns, now_ns) >= ns;
    *budget_ns -= shown ? ns : sno_i_max(ns, SNO_I_LEAST_NAP_NS);
    return after_ns;
}

/* Asks the gate, or else the state, once. *in_vain: it is no use to wait for another answer. */
SNO_I_FN sno_status sno_i_ask(sno_i_engine *e, bool state, int64_t until_ns,
                                    bool *in_vain) {
    if (state)
        return e->state_at
                   ? sno_i_state_admit(sno_i_state_of(e), e->state_run, until_ns, in_vain)
                   : SNO_OK;
    return e->gate.admit ? e->gate.admit(e->gate.user, until_ns) : SNO_OK;
}

/* Whether gate and state let ids of this unit out. */
SNO_I_COLD sno_status sno_i_admit(sno_i_engine *e, unsigned how, uint64_t unit,
                                        int64_t *budget_ns) {
    const int64_t until_ns = (int64_t)(sno_i_start_ns(e, unit + 1) - 1), nap_ns = 1000000;
    for (unsigned state = 0; state < 2; state++)
        for (;; *budget_ns -= nap_ns) {
            bool in_vain = false;
            sno_status status = sno_i_look_again(e);
            if (status != SNO_OK) return status;
            status = sno_i_ask(e, state, until_ns, &in_vain);
            if (status == SNO_OK) break;
            if (status != SNO_AGAIN || in_vain || !(how & SNO_I_WAIT) || *budget_ns < nap_ns)
                return status;
            SNO_SLEEP_NS(nap_ns);
        }
    return SNO_OK;
}

/* Sleeps until the unit of a place has come that was drawn after reading drawn_ns. SNO_AGAIN: the
 * clock was put back or stands still, so that the wait is not worth the place. SNO_FORKED,
 * SNO_LEASE: meanwhile the engine became another's, and so did the place. */
SNO_I_FN sno_status sno_i_await(sno_i_engine *e, uint64_t unit, int64_t drawn_ns,
                                      int64_t now_ns, int64_t *budget_ns) {
    const int64_t due_ns = sno_i_due_ns(e, unit);
    for (;;) {
        sno_i_notify(e);
        if (now_ns >= due_ns) return SNO_OK;
        const int64_t left_ns = sno_i_ns_until(due_ns, now_ns);
        const bool put_back = now_ns < drawn_ns && (e->tick_bits || e->refuse_back);
        if (left_ns > *budget_ns || put_back) return SNO_AGAIN;
        now_ns = sno_i_nap(e, now_ns, left_ns, budget_ns);
        const sno_status status = sno_i_look_again(e);
        if (status != SNO_OK) return status;
    }
}

SNO_I_FN void sno_i_place_at(const sno_i_engine *e, uint64_t base, uint64_t place, uint64_t n,
                                 unsigned tick, sno_i_place *out) {
    out->time = place < e->cap ? base : base + place / e->cap;
    out->index = place < e->cap ? place : place % e->cap;
    out->n = n;
    out->tick = tick;
    out->head = sno_i_word_at(e, out->time, tick);
}

/* A draw under way: look, decide, move, serve. */
typedef struct sno_i_attempt {
    unsigned how;
    uint64_t want;     /* 1 to so many places */
    int64_t budget_ns; /* how much longer the caller waits */
    uint64_t word;
    int64_t now_ns;
    bool confirmed;            /* now_ns is exact, and was read after the word (I2) */
    bool back_told, wait_told; /* the statistics know */
    sno_i_view view;
    bool is_free;  /* its place can be had without waiting */
    uint64_t n;    /* places that it will have, ... */
    uint64_t next; /* ... and the word behind them */
} sno_i_attempt;

/* The look says the rest. */
SNO_I_FN void sno_i_begin_attempt(sno_i_attempt *a, const sno_i_engine *e, unsigned how,
                                      uint64_t want) {
    a->how = how;
    a->want = want;
    a->budget_ns = e->wait_ns;
    a->back_told = (how & SNO_I_LANE) != 0;
    a->wait_told = false;
}

SNO_I_FN void sno_i_reload(sno_i_engine *e, sno_i_attempt *a) {
    a->word = SNO_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
    a->now_ns = sno_i_exact_ns(&e->clock);
    a->confirmed = true;
}

/* Look: what lies behind, or is not free, is told by an exact reading taken after the word alone. */
SNO_I_FN sno_status sno_i_look_closely(sno_i_engine *e, sno_i_attempt *a) {
    for (;;) {
        const int64_t as_ns = a->confirmed ? a->now_ns : sno_i_ridden_ns(e, a->word, a->now_ns);
        const sno_status status = sno_i_look(e, a->how, a->word, as_ns, &a->view);
        a->is_free = status == SNO_OK && sno_i_is_free(e, &a->view);
        if (!a->confirmed && (status != SNO_OK || !sno_i_suffices(e, &a->view))) {
            a->now_ns = sno_i_exact_ns(&e->clock);
            a->confirmed = true;
            continue;
        }
        if (status == SNO_OK && a->view.now + e->time_lead < a->view.time && !a->back_told) {
            sno_i_tally(&e->clock_backs, 1, a->how);
            a->back_told = true;
        }
        return status;
    }
}

/* Decide, where no place is free: whether the caller queues (SNO_OK). *slept: there was no place to
 * hold while asleep, so it looks again. */
SNO_I_FN sno_status sno_i_queue(sno_i_engine *e, sno_i_attempt *a, bool *slept) {
    const sno_i_view *v = &a->view;
    const bool back = v->time > v->now + e->ahead;
    const int64_t left_ns = sno_i_ns_until(sno_i_due_ns(e, v->opens), a->now_ns);
    if (!(a->how & SNO_I_WAIT) || (back && e->refuse_back) || left_ns > a->budget_ns)
        return back ? SNO_CLOCK_BACK : SNO_AGAIN;
    if (!a->wait_told) sno_i_tally(&e->waits, 1, a->how);
    a->wait_told = true;
    *slept = v->blocked || v->place >= e->limit;
    if (!*slept) return SNO_OK;
    if (!v->blocked) sno_i_notify(e);
    (void)sno_i_nap(e, a->now_ns, (int64_t)sno_i_min((uint64_t)left_ns, e->unit_ns),
                      &a->budget_ns);
    return sno_i_look_again(e);
}

/* Decide: how many places, counted from where, and whether the gates let their last unit out. */
SNO_I_FN sno_status sno_i_plan(sno_i_engine *e, sno_i_attempt *a) {
    sno_i_view *v = &a->view;
    a->n = sno_i_min(a->want, a->is_free ? sno_i_room(e, v) : e->cap - v->place % e->cap);
    if (a->is_free && v->place >= e->cap && v->place + a->n > e->limit) {
        v->place %= e->cap; /* far ahead of the clock: whole units move from count to time */
        v->base = v->unit;
    }
    a->n = sno_i_min(a->n, e->limit - v->place);
    a->next = sno_i_word_at(e, v->base, v->tick) + v->place + a->n;
    if (!sno_i_has_gate(e)) return SNO_OK;
    return sno_i_admit(e, a->how, v->base + (v->place + a->n - 1) / e->cap, &a->budget_ns);
}

/* Move: false: another was faster, and the attempt knows what he left. The draw linearises here. */
SNO_I_FN bool sno_i_commit(sno_i_engine *e, sno_i_attempt *a) {
    uint64_t drifts = 0;
    if (a->view.leaves && !sno_i_before_leaving(e, a->word, &a->view, &drifts)) {
        sno_i_reload(e, a);
        return false;
    }
    uint64_t seen = a->word;
    if (!sno_i_move(e, a->how, &seen, a->next)) {
        SNO_RELAX();
        a->word = seen;
        a->confirmed = (a->how & SNO_I_GIVEN) != 0;
        return false;
    }
    if (a->view.leaves)
        (void)SNO_ATOMIC_CAS(&e->drifts, &drifts, drifts + 1, release, relaxed); /* SETTLE:R */
    return true;
}

/* Serve: waits for the places that were moved for. SNO_AGAIN: not worth it, so they were given
 * back, if they were still the newest. */
SNO_I_FN sno_status sno_i_serve(sno_i_engine *e, sno_i_attempt *a, sno_i_place *out) {
    const sno_i_view *v = &a->view;
    sno_status status = SNO_OK;
    if (!a->is_free) status = sno_i_await(e, v->unit, a->now_ns, a->now_ns, &a->budget_ns);
    uint64_t seen = a->next;
    const bool given_back = status != SNO_OK && sno_i_move(e, a->how, &seen, a->word);
    if (!given_back) sno_i_tally(&e->rebased, v->count - v->place, a->how);
    if (status != SNO_OK) return status;
    if (a->is_free && v->count != v->place && !(a->how & SNO_I_GIVEN)) sno_i_notify(e);
    if (a->n > 1) sno_i_tally(&e->batches, 1, a->how);
    sno_i_place_at(e, v->base, v->place, a->n, v->tick, out);
    return SNO_OK;
}

/* The whole protocol, from a word and a reading in any order. */
SNO_I_FN sno_status sno_i_attempt_all(sno_i_engine *e, sno_i_attempt *a,
                                            sno_i_place *out) {
    for (;;) {
        bool slept = false;
        sno_status status = sno_i_look_closely(e, a);
        if (status == SNO_OK && !a->is_free) status = sno_i_queue(e, a, &slept);
        if (status == SNO_OK && !slept) status = sno_i_plan(e, a);
        if (status != SNO_OK) return status;
        if (slept) sno_i_reload(e, a);
        if (slept || !sno_i_commit(e, a)) continue;
        status = sno_i_serve(e, a, out);
        if (status != SNO_AGAIN) return status;
        sno_i_reload(e, a);
    }
}

SNO_I_COLD sno_status sno_i_draw_run(sno_i_engine *e, unsigned how, uint64_t word,
                                           int64_t now_ns, uint64_t want, sno_i_place *out) {
    sno_i_attempt a;
    sno_i_begin_attempt(&a, e, how, want);
    a.word = word;
    a.now_ns = now_ns;
    a.confirmed = (how & (SNO_I_GIVEN | SNO_I_CONFIRMED)) != 0;
    return sno_i_attempt_all(e, &a, out);
}

/* A fetch_add that others outran: it took a place behind the unit's last, or in another unit. */
SNO_I_COLD sno_status sno_i_draw_late(sno_i_engine *e, uint64_t word, int64_t drawn_ns,
                                            sno_i_place *out) {
    sno_i_attempt a;
    sno_i_begin_attempt(&a, e, SNO_I_WAIT, 1);
    a.now_ns = sno_i_exact_ns(&e->clock);
    sno_i_place_at(e, word >> e->time_shift, word & e->count_mask, 1, sno_i_tick(e, word), out);
    if (out->time > e->max_time) return SNO_RANGE;
    if (a.now_ns < sno_i_due_ns(e, out->time)) sno_i_tally(&e->waits, 1, a.how);
    sno_status admitted = SNO_OK, came = SNO_OK;
    if (sno_i_has_gate(e)) admitted = sno_i_admit(e, a.how, out->time, &a.budget_ns);
    if (admitted == SNO_OK) came = sno_i_await(e, out->time, drawn_ns, a.now_ns, &a.budget_ns);
    if (admitted == SNO_OK && came == SNO_OK) return SNO_OK;
    uint64_t after = word + 1;
    (void)sno_i_move(e, a.how, &after, word); /* given back, if it is still the newest */
    if (admitted != SNO_OK) return admitted;
    if (came == SNO_FORKED || came == SNO_LEASE) return came;
    sno_i_reload(e, &a); /* the addition was no LOOK:A */
    return sno_i_attempt_all(e, &a, out);
}

/* The first place of a unit that the clock has come to behind a word with no queue: all that a quiet
 * generator ever draws. False: another was faster, or it is not so simple. (A reading that lies behind
 * wraps round, to a unit past the last.) */
SNO_I_INLINE bool sno_i_draw_first(sno_i_engine *e, unsigned how, uint64_t *word,
                                       uint64_t since_ns, sno_i_place *out) {
    const uint64_t count = *word & e->count_mask, unit = *word >> e->time_shift;
    if (!e->is_plain || !unit || count > e->cap) return false;
    const uint64_t time = unit + sno_i_units(e, since_ns);
    if (time > e->max_time) return false;
    const unsigned tick = sno_i_tick(e, *word);
    const uint64_t head = sno_i_word_at(e, time, tick);
    if (!sno_i_move(e, how, word, head + 1)) return false;
    sno_i_tally(&e->rebased, count, how);
    out->time = time;
    out->index = 0;
    out->n = 1;
    out->tick = tick;
    out->head = head;
    return true;
}

/* The usual case of a draw, decided without a division: the word's unit is not spent, and the reading
 * lies in it, or behind it by no more than the slack. late_ns is how far it lies past the unit's start,
 * and the slack. */
SNO_I_INLINE unsigned sno_i_count_on(sno_i_engine *e, unsigned how, uint64_t *word,
                                         uint64_t late_ns, uint64_t want, sno_i_place *out) {
    const uint64_t count = *word & e->count_mask, head = *word - count;
    uint64_t index = count, n = 1;
    if (!SNO_I_LIKELY(late_ns < e->reach_ns)) return SNO_I_ELSE;
    out->time = *word >> e->time_shift;
    if (want == 1 && (how & (SNO_I_WAIT | SNO_I_OWNED)) == SNO_I_WAIT &&
        SNO_I_LIKELY(count - 1 < e->add_rest)) {
        *word = SNO_ATOMIC_ADD(&e->word, 1u, relaxed);
        index = *word - head; /* from another unit or tick: past any cap */
        if (!SNO_I_LIKELY(index < e->cap)) return SNO_I_LATE;
    } else {
        if (!SNO_I_LIKELY(count - 1 < e->fast_rest)) return SNO_I_ELSE;
        if (want > 1) n = sno_i_min(want, e->cap - count);
        if (n < want && e->ahead) return SNO_I_ELSE;
        if (!SNO_I_LIKELY(sno_i_move(e, how, word, *word + n))) return SNO_I_LOST;
    }
    if (n > 1) sno_i_tally(&e->batches, 1, how);
    out->index = index;
    out->n = n;
    out->tick = sno_i_tick(e, head);
    out->head = head;
    return 0;
}

/* 1 to `want` places with one move, if it is the usual case. If not, the rest of the draw goes by what
 * is returned, *word and *now_ns, in a function of its own: then the usual case needs few registers.
 * Here the clock may be read before the word, which is faster, since nothing is made of a reading that
 * lies behind the word's time: draw_run takes another (I2). */
SNO_I_INLINE unsigned sno_i_draw_soon(sno_i_engine *e, unsigned how, int64_t given_ns,
                                          uint64_t want, uint64_t *word, int64_t *now_ns,
                                          sno_i_place *out) {
    *word = 0;
    *now_ns = 0;
    if (!SNO_I_LIKELY(!sno_i_forked(e))) return SNO_I_NOT_OURS;
    const uint64_t window = how & SNO_I_GIVEN ? 0 : SNO_ATOMIC_LOAD(&e->window, relaxed);
    if (how & SNO_I_GIVEN) *now_ns = given_ns;
    else if (SNO_I_LIKELY(!window)) *now_ns = sno_i_now_ns(&e->clock);
    else *now_ns = sno_i_fast_ns(e, window);
    *word = SNO_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
    const uint64_t late_ns =
        (uint64_t)*now_ns - e->late_from_ns - (*word >> e->time_shift) * e->unit_ns;
    return sno_i_count_on(e, how, word, late_ns, want, out);
}

/* What is left but the first place of a unit. A lease says nothing of another unit than its own. */
SNO_I_COLD sno_status sno_i_draw_rest(sno_i_engine *e, unsigned how, uint64_t word,
                                            int64_t now_ns, uint64_t want, sno_i_place *out) {
    if (how & SNO_I_NOT_OURS) return sno_i_lost(e);
    if (how & SNO_I_LATE) return sno_i_draw_late(e, word, now_ns, out);
    if (!(how & SNO_I_GIVEN) && SNO_ATOMIC_LOAD(&e->window, relaxed) > 1 &&
        (uint64_t)now_ns - sno_i_start_ns(e, word >> e->time_shift) >= e->unit_ns) {
        const uint64_t counter = SNO_COUNTER();
        word = SNO_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
        now_ns = sno_i_renew(e, counter);
        const uint64_t start_ns = sno_i_start_ns(e, word >> e->time_shift);
        const unsigned left =
            sno_i_count_on(e, how, &word, (uint64_t)now_ns - start_ns, want, out);
        if (!left) return SNO_OK;
        if (left == SNO_I_LATE) return sno_i_draw_late(e, word, now_ns, out);
        if (left == SNO_I_ELSE) how |= SNO_I_CONFIRMED;
    }
    return sno_i_draw_run(e, how, word, now_ns, want, out);
}

/* Goes on where sno_i_draw_soon has ended. */
SNO_I_INLINE sno_status sno_i_draw_on(sno_i_engine *e, unsigned how, uint64_t word,
                                            int64_t now_ns, uint64_t want, sno_i_place *out) {
    const uint64_t since_ns = (uint64_t)now_ns - sno_i_start_ns(e, word >> e->time_shift);
    sno_i_place place; /* for the call; *out stays in registers */
    if (want == 1 && (how & SNO_I_ELSE) && since_ns >= e->unit_ns &&
        sno_i_draw_first(e, how, &word, since_ns, out))
        return SNO_OK;
    const sno_status status = sno_i_draw_rest(e, how, word, now_ns, want, &place);
    if (status == SNO_OK) *out = place;
    return status;
}

SNO_I_INLINE sno_status sno_i_draw(sno_i_engine *e, unsigned how, int64_t given_ns,
                                         uint64_t want, sno_i_place *out) {
    uint64_t word;
    int64_t now_ns;
    const unsigned left = sno_i_draw_soon(e, how, given_ns, want, &word, &now_ns, out);
    if (SNO_I_LIKELY(!left)) return SNO_OK;
    return sno_i_draw_on(e, how | left, word, now_ns, want, out);
}

/* ---- questions about an engine: answers may be old when they arrive ---- */

/* Looks as a caller that tries would. */
SNO_I_FN sno_status sno_i_peek(sno_i_engine *e, sno_i_view *v, int64_t *now_ns) {
    const uint64_t word = SNO_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
    if (e->slack_ns) {
        *now_ns = sno_i_ridden_ns(e, word, sno_i_now_ns(&e->clock));
        if (sno_i_look(e, 0, word, *now_ns, v) == SNO_OK && sno_i_suffices(e, v))
            return SNO_OK;
    }
    *now_ns = sno_i_exact_ns(&e->clock);
    return sno_i_look(e, 0, word, *now_ns, v);
}

/* When a try would succeed, from now; INT64_MAX: never. */
SNO_I_FN int64_t sno_i_retry_ns(sno_i_engine *e) {
    sno_i_view v;
    int64_t now_ns;
    if (sno_i_forked(e) || !e->cap) return INT64_MAX;
    if (e->slack_ns && sno_i_peek(e, &v, &now_ns) == SNO_OK && sno_i_is_free(e, &v)) return 0;
    const uint64_t word = SNO_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
    now_ns = sno_i_exact_ns(&e->clock);
    const int64_t epoch_ns = (int64_t)e->epoch_ns;
    const int64_t from_ns = now_ns < epoch_ns ? epoch_ns : now_ns;
    if (sno_i_look(e, 0, word, from_ns, &v) != SNO_OK) return INT64_MAX;
    const int64_t at_ns = sno_i_is_free(e, &v) ? from_ns : sno_i_due_ns(e, v.opens);
    return sno_i_ns_until(at_ns, now_ns);
}

SNO_I_FN uint64_t sno_i_available(sno_i_engine *e) {
    sno_i_view v;
    int64_t now_ns;
    if (sno_i_forked(e) || sno_i_peek(e, &v, &now_ns) != SNO_OK) return 0;
    return sno_i_room(e, &v);
}

/* How many units the newest place lies ahead of the clock; 0 where the clock has no unit. */
SNO_I_FN uint64_t sno_i_lag(sno_i_engine *e) {
    sno_i_view v;
    int64_t now_ns;
    memset(&v, 0, sizeof v);
    (void)sno_i_peek(e, &v, &now_ns);
    uint64_t newest = v.time + (v.count ? (v.count - 1) / e->cap : 0);
    return newest > v.now ? newest - v.now : 0;
}

/* While others draw, ids may lack what they have not told yet, or not to this thread. */
SNO_I_FN void sno_i_stats(sno_i_engine *e, sno_stats *stats) {
    uint64_t word = SNO_ATOMIC_LOAD(&e->word, relaxed), again, time, count;
    for (;; word = again) { /* until the word was not re-based meanwhile: nothing counts twice */
        sno_i_decode(e, word, &time, &count);
        stats->ids = SNO_ATOMIC_LOAD(&e->rebased, acquire) + count; /* TALLY:A */
        again = SNO_ATOMIC_LOAD(&e->word, relaxed);
        if (!((again ^ word) & ~e->count_mask)) break;
    }
    stats->batches = SNO_ATOMIC_LOAD(&e->batches, relaxed);
    stats->waits = SNO_ATOMIC_LOAD(&e->waits, relaxed);
    stats->clock_backs = SNO_ATOMIC_LOAD(&e->clock_backs, relaxed);
}

/* ---- pool: shards lent to threads ----
 *
 * Wait-free: at most one look at each of the n engines, which lie `stride` bytes apart. NULL: all
 * are lent (conservative: one that comes back during the search may be missed).
 */
SNO_I_FN sno_i_engine *sno_i_lend(void *engines, size_t stride, size_t n,
                                        sno_i_atomic32 *hint) {
    const size_t start = SNO_ATOMIC_LOAD(hint, relaxed); /* only where to begin */
    for (size_t i = 0; i < n; i++) {
        const size_t at = (start + i) % n;
        sno_i_engine *e = (sno_i_engine *)(void *)((char *)engines + at * stride);
        uint32_t lent = SNO_ATOMIC_LOAD(&e->lent, relaxed);
        if (!lent && SNO_ATOMIC_CAS(&e->lent, &lent, 1u, acquire, relaxed)) { /* LEND:A */
            SNO_ATOMIC_STORE(hint, (uint32_t)(at + 1), relaxed);
            return e;
        }
    }
    return NULL;
}

SNO_I_FN void sno_i_take_back(sno_i_engine *e) {
    SNO_ASSERT(SNO_ATOMIC_LOAD(&e->lent, relaxed) == 1);
    SNO_ATOMIC_STORE(&e->lent, 0u, release); /* BACK:R */
}

/* ---- files ----
 *
 * A claim is a lock on the claimed file itself: of an open file description, so that it conflicts
 * within a process too, whatever copy of a header asks and whatever name of the file it was given,
 * and ends with its holder, however he ends. A forked child inherits it, and keeps the file taken
 * until it has ended or let go as well. Nothing is written but by who has the lock, in place, since
 * a rename would leave the lock with the old file.
 */

/* As much of the three as there is room for. */
SNO_I_FN void sno_i_put_why(sno_why *why, const char *first, const char *second,
                                const char *third) {
    if (!why) return;
    const char *const parts[] = {first, second, third};
    size_t n = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (const char *c = parts[i]; *c && n < sizeof why->text - 1; c++) why->text[n++] = *c;
    why->text[n] = 0;
}

/* Writes down the reason, and returns the status. */
SNO_I_FN sno_status sno_i_say(sno_why *why, sno_status status, const char *subject,
                                    const char *what) {
    sno_i_put_why(why, subject, ": ", what);
    return status;
}

enum { SNO_I_PATH = 1024, SNO_I_ENDING = 16 }; /* longest path, and ending of ours in it */

SNO_I_FN void sno_i_path_with(const char *path, const char *ending, char out[SNO_I_PATH]) {
    const size_t length = strlen(path);
    memcpy(out, path, length);
    memcpy(out + length, ending, strlen(ending) + 1);
}

/* An open and locked file, as long as fd is not negative. */
typedef struct sno_i_file {
    uint64_t device, inode;
    int fd;
} sno_i_file;

/* SNO_IO, and what the system said. */
SNO_I_FN sno_status sno_i_say_errno(sno_why *why, const char *path, const char *what) {
    sno_i_put_why(why, path, what, sno_i_error_text(sno_i_error()));
    return SNO_IO;
}

SNO_I_FN bool sno_i_file_is(const sno_i_file *f, const sno_i_found *file) {
    return f->device == file->device && f->inode == file->inode;
}

/* Whether the file is the one that stands at the path. */
SNO_I_FN bool sno_i_file_is_at(const sno_i_file *f, const char *path) {
    sno_i_found at_path;
    return sno_i_find(path, &at_path) && sno_i_file_is(f, &at_path);
}

/* Whether the descriptor is still the file's, and not by now another's. */
SNO_I_FN bool sno_i_file_is_open(const sno_i_file *f) {
    sno_i_found opened;
    return f->fd >= 0 && sno_i_find_open(f->fd, &opened) && sno_i_file_is(f, &opened);
}

/* Lets go of it. In a forked child the lock stays the parent's. */
SNO_I_FN void sno_i_file_drop(sno_i_file *f, bool inherited) {
    const int error = sno_i_error();
    if (sno_i_file_is_open(f)) {
        if (!inherited) (void)sno_i_lock_bytes(f->fd, false, 0, 0); /* children have it open */
        sno_i_close(f->fd);
    }
    f->fd = -1;
    sno_i_error_put(error);
}

/* Opens the file that stands at a path, and locks those bytes of it (count 0: all). SNO_TAKEN;
 * SNO_IO and an error. */
SNO_I_FN sno_status sno_i_file_open(sno_i_file *f, const char *path, int how,
                                          uint64_t first, uint64_t count) {
    sno_i_found opened;
    for (int tries = 0; tries < 100; tries++) {
        f->fd = sno_i_open(path, how);
        if (f->fd < 0) return SNO_IO;
        const bool known = sno_i_find_open(f->fd, &opened);
        f->device = known ? opened.device : 0;
        f->inode = known ? opened.inode : 0;
        const bool locked = known && sno_i_lock_bytes(f->fd, true, first, count) == 0;
        if (locked && sno_i_file_is_at(f, path)) return SNO_OK;
        const int error = sno_i_error();
        sno_i_close(f->fd);
        f->fd = -1;
        sno_i_error_put(error);
        if (!locked) return sno_i_error_is_taken(error) ? SNO_TAKEN : SNO_IO;
    }
    return SNO_IO; /* each time another file stood there by then */
}

/* A new name lasts once the folder is on disk. The path is absolute. */
SNO_I_FN bool sno_i_sync_folder(const char *path) {
    char folder[SNO_I_PATH];
    size_t slash = strlen(path);
    while (path[slash - 1] != '/') slash--;
    memcpy(folder, path, slash);
    folder[slash] = 0;
    return sno_i_fsync_folder(folder);
}

/* Whether what stands where a new file is made is none, or one of ours whose maker died. */
SNO_I_FN bool sno_i_is_left_over(const sno_i_file *f, const uint8_t *identity);

/* Where a file stands until it is whole. */
#define SNO_I_FRESH ".new"

/* Opens and locks a file beside a path, for the generator to be put there. SNO_AGAIN: one stands
 * there by now. SNO_TAKEN: another is about to. SNO_FOREIGN: what stands beside it is somebody's.
 * SNO_IO and an error. */
SNO_I_FN sno_status sno_i_file_begin(sno_i_file *f, const char *path,
                                           const uint8_t *identity) {
    char fresh[SNO_I_PATH];
    sno_i_found at_path;
    sno_i_path_with(path, SNO_I_FRESH, fresh);
    if (sno_i_is_link(fresh)) return SNO_FOREIGN;
    sno_status status = sno_i_file_open(f, fresh, SNO_I_CREATE, 0, 0);
    if (status != SNO_OK) return status;
    if (!sno_i_is_left_over(f, identity)) status = SNO_FOREIGN;
    else if (sno_i_find(path, &at_path) || sno_i_error() != SNO_I_ABSENT) {
        sno_i_unlink(fresh);
        status = SNO_AGAIN;
    }
    if (status != SNO_OK) sno_i_file_drop(f, false);
    return status;
}

/* Puts it at the path, where there is no file, whole or not at all, and keeps it locked.
 * SNO_AGAIN: one stands there by now, of a stranger's. SNO_IO and an error. */
SNO_I_FN sno_status sno_i_file_create(sno_i_file *f, const char *path, const uint8_t *bytes,
                                            size_t n) {
    char fresh[SNO_I_PATH];
    sno_i_found at_path;
    sno_i_path_with(path, SNO_I_FRESH, fresh);
    const bool is_first = !sno_i_find(path, &at_path) && sno_i_error() == SNO_I_ABSENT;
    const bool is_link = is_first && sno_i_is_link(path); /* to nothing */
    /* Who has the lock on `fresh` is the only one to give it a name at which nothing stands. */
    const bool well = is_first && !is_link && sno_i_write_at(f->fd, 0, bytes, n) &&
                      sno_i_fsync(f->fd) == 0 && sno_i_rename(fresh, path);
    if (well && sno_i_sync_folder(path)) return SNO_OK;
    const int error = is_link ? SNO_I_ABSENT : sno_i_error();
    sno_i_unlink(well ? path : fresh);
    sno_i_file_drop(f, false);
    sno_i_error_put(error);
    return is_first ? SNO_IO : SNO_AGAIN;
}

/* Whatever folder the process goes to, the file stays the same. False: no room. */
SNO_I_FN bool sno_i_absolute(const char *path, char out[SNO_I_PATH]) {
    const size_t length = strlen(path), room = SNO_I_PATH - SNO_I_ENDING;
    size_t base = 0;
    if (length >= room) return false;
    if (*path != '/') {
        if (!sno_i_folder(out, room - length)) return false;
        base = strlen(out);
        out[base++] = '/';
    }
    memcpy(out + base, path, length + 1);
    return true;
}

/* ---- state file ----
 *
 * It holds a horizon: a time that lies ahead of all ids handed out, by a few seconds. A draw whose id
 * would pass it waits until a new one is on disk; it is written long before that comes to be. So
 * whatever happens, crash or power cut, no id at or before the file's horizon may be handed out by
 * the next run, and every later one may. A slot's file is one, too.
 *
 *     byte 0   "idstate\n"        8  version, 4 bytes: 2        512, 4608   records
 *
 *     record   0  number, from 1       8  horizon, ns        16  written at, ns
 *             24  run, 16 bytes       40  identity, 64       104  0
 *            120  FNV-1a of the 120 bytes before; all numbers big-endian
 *
 * Each write makes the next record, in the place of the older one. The whole record with the highest
 * number counts; one that was cut short was never published. A file of another version is refused.
 *
 * HORIZON   The file on disk is never behind state.horizon, and no draw is admitted past that. One
 *           thread at a time writes (`writer`); it publishes the horizon after the file is synced
 *           (DISK:R, read by DISK:A). A closed state admits nothing: who closes it stores CLOSED and
 *           then reads `asked`; who is admitted has raised `asked`, or seen it raised by another,
 *           before he reads the horizon. These are sequentially consistent (SHUT:S, ASK:S), so
 *           one of the two sees the other. (A weaker look at `asked` might come after the horizon's;
 *           to acquire it is not enough in C++20.) Who opens it again changes `run` before he stores
 *           a horizon; a draw of an earlier run reads `run` after the horizon, which carries it, and
 *           so is refused by the one or by the other.
 * LAST      Before each write the writer reads both records. The one that counts must be `last`, byte
 *           for byte, or what a failed write of this run has left after it. Otherwise another has
 *           changed the file, or the descriptor is another object's by now, and the state is lost:
 *           the writer sets is_lost, after which nothing is written, and replaces the horizon by
 *           LOST, which admits nothing. A CAS does that, so CLOSED remains CLOSED. It is relaxed: LOST
 *           carries nothing, and a draw that reads the earlier horizon is admitted before the loss.
 * REWRITE   After a failed sync the kernel may keep a record in its cache that is not on disk, and no
 *           later sync writes it. So a run that continues from a record writes that record again,
 *           byte for byte, and syncs it, before it writes the next one over the record before.
 */
enum {
    SNO_I_RECORD = 128,
    SNO_I_IDENTITY = 64,
    SNO_I_RUN = 16,
    SNO_I_FILE = 8192,
    SNO_I_FIRST_RECORD = 512, /* in a sector of its own, and the other 4096 behind it */
    SNO_I_RECORD_STRIDE = 4096
};

typedef struct sno_i_record {
    uint64_t number;
    int64_t horizon_ns, written_ns;
    uint8_t run[SNO_I_RUN];
    uint8_t identity[SNO_I_IDENTITY];
} sno_i_record;

/* Stays where it is while it is open. */
struct sno_state {
    SNO_I_STAYS(sno_state)
    sno_i_atomic64 horizon; /* ids up to this Unix time in ns may be handed out */
    sno_i_atomic64 asked;   /* and none later than this were, in the last run neither */
    sno_i_atomic64 run;     /* another one each time it is opened */
    sno_i_atomic64 writer;  /* mark of the thread that writes, or 0; not 0 while it is not open */
    sno_i_atomic64 patient; /* before this time a write that failed is not tried again, while
                                 there is horizon left; INT64_MIN: the last one went well */
    sno_i_atomic64 lead;    /* ns that the horizon is ahead of use when it is written */
    sno_i_atomic32 by_timer;
    sno_i_atomic64 *fork_word;
    uint64_t fork_mark;
    sno_i_atomic64 holder; /* mark of the process that opened it */
    uint64_t self;           /* says, with is_open, that this is no chance content of memory */
    int64_t written_ns;      /* the latest at which it was, by the writer */
    uint64_t number;         /* of the last record on disk, by the writer */
    sno_i_atomic32 is_open;
    bool is_shared;
    bool is_lost; /* the record that counts was not `last`; by the writer */
    sno_clock clock;
    sno_i_file file;
    uint8_t token[SNO_I_RUN]; /* the run, as it stands in the records */
    uint8_t identity[SNO_I_IDENTITY];
    uint8_t last[SNO_I_RECORD]; /* the last record on disk, by the writer */
    char path[SNO_I_PATH];
};

#define SNO_I_CLOSED_STATE ((uint64_t)INT64_MIN)
#define SNO_I_LOST_STATE   ((uint64_t)INT64_MIN + 2)

SNO_I_FN bool sno_i_state_is_shared(const sno_state *s) { return s->is_shared; }

SNO_I_FN uint64_t sno_i_state_run(const sno_state *s) {
    return SNO_ATOMIC_LOAD(&s->run, relaxed);
}

/* To big-endian, and from it: gcc makes slow vectors of the byte stores of two neighbours. */
SNO_I_FN uint64_t sno_i_big_endian(uint64_t value) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return __builtin_bswap64(value);
#else
    uint8_t bytes[sizeof value];
    memcpy(bytes, &value, sizeof value);
    value = 0;
    for (size_t i = 0; i < sizeof value; i++) value = value << 8 | bytes[i];
    return value;
#endif
}

SNO_I_FN void sno_i_put64(void *out, uint64_t value) {
    value = sno_i_big_endian(value);
    memcpy(out, &value, sizeof value);
}

SNO_I_FN uint64_t sno_i_get64(const void *in) {
    uint64_t value;
    memcpy(&value, in, sizeof value);
    return sno_i_big_endian(value);
}

/* Each step is a bijection, so no change of a single byte goes unnoticed. */
SNO_I_FN uint64_t sno_i_fnv(const uint8_t *bytes, size_t n) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < n; i++) hash = (hash ^ bytes[i]) * 0x100000001b3;
    return hash;
}

#define SNO_I_MAGIC   "idstate\n"
#define SNO_I_VERSION ((uint64_t)2 << 32)

SNO_I_FN int64_t sno_i_record_at(uint64_t number) {
    return SNO_I_FIRST_RECORD + (int64_t)(number & 1) * SNO_I_RECORD_STRIDE;
}

SNO_I_FN void sno_i_header_put(uint8_t out[SNO_I_RECORD]) {
    memset(out, 0, SNO_I_RECORD);
    memcpy(out, SNO_I_MAGIC, 8);
    sno_i_put64(out + 8, SNO_I_VERSION);
}

SNO_I_FN void sno_i_record_put(const sno_i_record *r, uint8_t out[SNO_I_RECORD]) {
    memset(out, 0, SNO_I_RECORD);
    sno_i_put64(out, r->number);
    sno_i_put64(out + 8, (uint64_t)r->horizon_ns);
    sno_i_put64(out + 16, (uint64_t)r->written_ns);
    memcpy(out + 24, r->run, SNO_I_RUN);
    memcpy(out + 40, r->identity, SNO_I_IDENTITY);
    sno_i_put64(out + 120, sno_i_fnv(out, 120));
}

SNO_I_FN bool sno_i_all_zero(const uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (bytes[i]) return false;
    return true;
}

/* SNO_TORN: damaged, or never written. SNO_FOREIGN: who wrote it knows more than this version. */
SNO_I_FN sno_status sno_i_record_get(const uint8_t *in, sno_i_record *r) {
    if (sno_i_get64(in + 120) != sno_i_fnv(in, 120)) return SNO_TORN;
    r->number = sno_i_get64(in);
    r->horizon_ns = (int64_t)sno_i_get64(in + 8);
    r->written_ns = (int64_t)sno_i_get64(in + 16);
    memcpy(r->run, in + 24, SNO_I_RUN);
    memcpy(r->identity, in + 40, SNO_I_IDENTITY);
    if (!sno_i_all_zero(in + 104, 16)) return SNO_FOREIGN;
    return !r->number || r->horizon_ns < r->written_ns ? SNO_TORN : SNO_OK;
}

/* The one that counts, of a whole file's. SNO_TORN: none, and its number is 0. */
SNO_I_FN sno_status sno_i_records_get(const uint8_t *in, sno_i_record *r) {
    memset(r, 0, sizeof *r);
    for (uint64_t i = 0; i < 2; i++) {
        sno_i_record found;
        const sno_status status = sno_i_record_get(in + sno_i_record_at(i), &found);
        if (status == SNO_FOREIGN) return status;
        if (status == SNO_OK && found.number >= r->number) *r = found;
    }
    return r->number ? SNO_OK : SNO_TORN;
}

/* The record that counts, of a file's first `n` bytes. SNO_FOREIGN: no state file, or of another
 * version. */
SNO_I_FN sno_status sno_i_file_get(const uint8_t *in, size_t n, sno_i_record *r) {
    if (n > 0 && memcmp(in, SNO_I_MAGIC, n < 8 ? n : 8) != 0) return SNO_FOREIGN;
    if (n < SNO_I_RECORD) return SNO_TORN;
    if (sno_i_get64(in + 8) != SNO_I_VERSION) return SNO_FOREIGN;
    return n < SNO_I_FILE ? SNO_TORN : sno_i_records_get(in, r);
}

/* All of a file, and zeros behind. Below 0: it can't be read, or is longer than any of ours. */
SNO_I_FN int sno_i_file_read(const sno_i_file *f, uint8_t bytes[SNO_I_FILE + 1]) {
    memset(bytes, 0, SNO_I_FILE + 1);
    const int n = sno_i_read_at(f->fd, 0, bytes, SNO_I_FILE + 1);
    return n > SNO_I_FILE ? -1 : n;
}

SNO_I_FN bool sno_i_is_left_over(const sno_i_file *f, const uint8_t *identity) {
    uint8_t bytes[SNO_I_FILE + 1];
    sno_i_record r;
    const int n = sno_i_file_read(f, bytes);
    if (n < 0) return false;
    /* A power cut may have left zeros up to the first record. */
    const bool is_cut = sno_i_all_zero(bytes, (size_t)sno_i_record_at(1));
    const sno_status status =
        is_cut ? sno_i_records_get(bytes, &r) : sno_i_file_get(bytes, (size_t)n, &r);
    if (status != SNO_OK) return status == SNO_TORN;
    return memcmp(r.identity, identity, SNO_I_IDENTITY) == 0;
}

/* Whether a run may go on from this record at now_ns. What it says in words is in *what. */
SNO_I_FN sno_status sno_i_record_judge(const sno_i_record *r, const uint8_t *identity,
                                             int64_t now_ns, int64_t allowable_downtime_ns,
                                             const char **what) {
    if (memcmp(r->identity, identity, SNO_I_IDENTITY) != 0) {
        *what = "is of a generator with another layout, node or range of sequence numbers";
        return SNO_FOREIGN;
    }
    if (now_ns < r->written_ns) {
        *what = "is from the future: the clock was put back since it was written";
        return SNO_CLOCK_BACK;
    }
    if (allowable_downtime_ns && now_ns > r->horizon_ns &&
        (uint64_t)now_ns - (uint64_t)r->horizon_ns > (uint64_t)allowable_downtime_ns) {
        *what = "is older than allowable_downtime_ms";
        return SNO_DOWNTIME;
    }
    return SNO_OK;
}

/* Marks the process that holds a file, among all that share its memory. */
SNO_I_FN uint64_t sno_i_holder_mark(void) {
    return sno_i_process_mark() ^ sno_i_pid() << 32;
}

SNO_I_FN bool sno_i_state_holder_is_here(const sno_state *s) {
    return SNO_ATOMIC_LOAD(&s->holder, acquire) == sno_i_holder_mark(); /* HOLD:A */
}

/* Whether this process opened it and still has it. A shared one may be another's. */
SNO_I_FN bool sno_i_state_is_held(const sno_state *s) {
    if (!SNO_ATOMIC_LOAD(&s->is_open, relaxed)) return false;
    if (s->self != ((uint64_t)(uintptr_t)s ^ SNO_I_VERSION)) return false;
    return sno_i_state_holder_is_here(s) && sno_i_file_is_open(&s->file);
}

/* Of a parent's or another process's, or from before a bump. */
SNO_I_FN bool sno_i_state_is_stale(const sno_state *s) {
    if (!s->is_shared) return sno_i_forked_since(s->fork_word, s->fork_mark);
    return SNO_ATOMIC_LOAD(&s->is_open, relaxed) && !sno_i_state_is_held(s);
}

SNO_I_FN void sno_i_record_next(const sno_state *s, int64_t horizon_ns,
                                    uint8_t out[SNO_I_RECORD]) {
    sno_i_record r;
    r.number = s->number + 1;
    r.horizon_ns = horizon_ns;
    r.written_ns = s->written_ns < horizon_ns ? s->written_ns : horizon_ns;
    memcpy(r.run, s->token, SNO_I_RUN);
    memcpy(r.identity, s->identity, SNO_I_IDENTITY);
    sno_i_record_put(&r, out);
}

/* Reads a record's place. SNO_FOREIGN: the file ends before it does. SNO_IO: it can't be read. */
SNO_I_FN sno_status sno_i_state_look(const sno_state *s, uint64_t number,
                                           uint8_t out[SNO_I_RECORD]) {
    const int n = sno_i_read_at(s->file.fd, sno_i_record_at(number), out, SNO_I_RECORD);
    if (n < 0) return SNO_IO;
    return n < SNO_I_RECORD ? SNO_FOREIGN : SNO_OK;
}

/* Compares the record that counts with this state's last one (LAST): SNO_OK; SNO_FOREIGN: it is
 * another; SNO_IO: unknown. */
SNO_I_FN sno_status sno_i_state_compare(const sno_state *s) {
    uint8_t found[SNO_I_RECORD];
    sno_i_record r;
    sno_status status = sno_i_state_look(s, s->number, found);
    if (status != SNO_OK) return status;
    if (memcmp(found, s->last, sizeof found) != 0) return SNO_FOREIGN;
    status = sno_i_state_look(s, s->number + 1, found);
    if (status != SNO_OK) return status;
    status = sno_i_record_get(found, &r);
    if (status == SNO_TORN) return SNO_OK; /* never written, or cut short */
    const bool is_tried = r.number == s->number + 1 && memcmp(r.run, s->token, SNO_I_RUN) == 0;
    return status == SNO_OK && (r.number < s->number || is_tried) ? SNO_OK : SNO_FOREIGN;
}

/* Whether the record that counts is this state's own; if not, the state is lost. A failed read proves
 * nothing. Caller must be the writer. */
SNO_I_FN bool sno_i_state_is_own(sno_state *s) {
    const sno_status status = sno_i_state_compare(s);
    uint64_t seen = SNO_ATOMIC_LOAD(&s->horizon, relaxed);
    if (status == SNO_FOREIGN) s->is_lost = true;
    if (s->is_lost && seen != SNO_I_CLOSED_STATE)
        (void)SNO_ATOMIC_CAS(&s->horizon, &seen, SNO_I_LOST_STATE, relaxed, relaxed);
    return status == SNO_OK && !s->is_lost;
}

/* Writes a horizon; true: it is on disk. Caller must be the writer. */
SNO_I_FN bool sno_i_state_write(sno_state *s, int64_t horizon_ns, int64_t now_ns) {
    uint8_t record[SNO_I_RECORD];
    /* another file at the path, or at the descriptor: the lock keeps nobody out now */
    if (!sno_i_file_is_at(&s->file, s->path) || !sno_i_file_is_open(&s->file)) return false;
    if (!sno_i_state_is_own(s)) return false;
    if (s->written_ns < now_ns) s->written_ns = now_ns; /* a clock put back can't be hidden */
    sno_i_record_next(s, horizon_ns, record);
    const int64_t at = sno_i_record_at(s->number + 1);
    if (!sno_i_write_at(s->file.fd, at, record, sizeof record)) return false;
    if (sno_i_fdatasync(s->file.fd) != 0) return false;
    s->number++;
    memcpy(s->last, record, sizeof record);
    return true;
}

/* Continues from the record that counts, with the file locked: it is on disk from here on (REWRITE).
 * Another object may have written meanwhile, if the program has closed that one's descriptor. */
SNO_I_FN bool sno_i_state_settle(sno_state *s, const sno_i_record *r) {
    s->number = r->number;
    sno_i_record_put(r, s->last);
    return sno_i_state_is_own(s) &&
           sno_i_write_at(s->file.fd, sno_i_record_at(s->number), s->last, sizeof s->last) &&
           sno_i_fdatasync(s->file.fd) == 0;
}

/* What a failed write comes to. Caller must be the writer. */
SNO_I_FN sno_status sno_i_state_unwritten(const sno_state *s, sno_why *why) {
    return s->is_lost ? sno_i_say(why, SNO_FOREIGN, s->path,
                                    "was changed while it was open, by another program or object")
                      : sno_i_say(why, SNO_IO, s->path, "can't be written");
}

SNO_I_FN int64_t sno_i_lead_ns(const sno_state *s) {
    return (int64_t)SNO_ATOMIC_LOAD(&s->lead, relaxed);
}

/* The horizon for ids up to `until`. */
SNO_I_FN int64_t sno_i_ahead_of(const sno_state *s, int64_t until_ns) {
    const int64_t lead_ns = sno_i_lead_ns(s);
    return until_ns > INT64_MAX - lead_ns ? INT64_MAX : until_ns + lead_ns;
}

/* Caller must be the writer. */
SNO_I_FN bool sno_i_state_move(sno_state *s, int64_t until_ns) {
    const int64_t horizon_ns = sno_i_ahead_of(s, until_ns);
    uint64_t seen = SNO_ATOMIC_LOAD(&s->horizon, relaxed);
    if (seen == SNO_I_CLOSED_STATE) return false;
    if (horizon_ns <= (int64_t)seen) return true;
    const bool written = sno_i_state_write(s, horizon_ns, sno_i_exact_ns(&s->clock));
    const int64_t pause_ns = sno_i_lead_ns(s) / 16;
    const int64_t patient_ns = until_ns > INT64_MAX - pause_ns ? INT64_MAX : until_ns + pause_ns;
    SNO_ATOMIC_STORE(&s->patient, (uint64_t)(written ? INT64_MIN : patient_ns), relaxed);
    if (!written) return false;
    return SNO_ATOMIC_CAS(&s->horizon, &seen, (uint64_t)horizon_ns, release,
                            relaxed); /* DISK:R */
}

/* Makes this thread the writer. False, and *self: it is already, in what a signal has interrupted. */
SNO_I_FN bool sno_i_state_turn(sno_state *s, bool *self) {
    const uint64_t mark = sno_i_thread_mark();
    uint64_t seen = 0;
    if (SNO_ATOMIC_CAS(&s->writer, &seen, mark, acquire, relaxed)) return true; /* TURN:A */
    *self = seen == mark;
    return false;
}

SNO_I_FN void sno_i_state_turn_end(sno_state *s) {
    SNO_ATOMIC_STORE(&s->writer, 0u, release); /* TURN:R */
}

/* Moves the horizon for a draw, if nobody else does. False: tried, and failed. */
SNO_I_FN bool sno_i_state_help(sno_state *s, int64_t until_ns, bool *in_vain) {
    const sno_i_calm calm = sno_i_calm_begin();
    bool moved = true;
    if (sno_i_state_turn(s, in_vain)) {
        moved = sno_i_state_move(s, until_ns);
        sno_i_state_turn_end(s);
    }
    sno_i_calm_end(calm);
    return moved;
}

SNO_I_FN sno_status sno_i_state_admit(sno_state *s, uint64_t run, int64_t until_ns,
                                            bool *in_vain) {
    if (SNO_ATOMIC_LOAD(&s->run, relaxed) != run) return SNO_IO;
    uint64_t asked = SNO_ATOMIC_LOAD(&s->asked, seq_cst); /* ASK:S */
    while ((int64_t)asked < until_ns &&
           !SNO_ATOMIC_CAS(&s->asked, &asked, (uint64_t)until_ns, seq_cst, seq_cst)) { /* ASK:S */
    }
    int64_t horizon_ns = (int64_t)SNO_ATOMIC_LOAD(&s->horizon, seq_cst); /* DISK:A, ASK:S */
    if (horizon_ns == INT64_MIN) return SNO_IO;
    if ((uint64_t)horizon_ns == SNO_I_LOST_STATE) return SNO_FOREIGN;
    const bool by_timer = SNO_ATOMIC_LOAD(&s->by_timer, relaxed) != 0;
    const bool is_near =
        until_ns > horizon_ns || sno_i_ns_until(horizon_ns, until_ns) < sno_i_lead_ns(s) / 2;
    if (is_near && !by_timer &&
        (until_ns > horizon_ns || until_ns >= (int64_t)SNO_ATOMIC_LOAD(&s->patient, relaxed))) {
        const bool moved = sno_i_state_help(s, until_ns, in_vain);
        horizon_ns = (int64_t)SNO_ATOMIC_LOAD(&s->horizon, acquire); /* DISK:A */
        if (!moved && until_ns > horizon_ns)
            return (uint64_t)horizon_ns == SNO_I_LOST_STATE ? SNO_FOREIGN : SNO_IO;
    }
    if (SNO_ATOMIC_LOAD(&s->run, relaxed) != run) return SNO_IO; /* DISK carries it */
    if (until_ns <= horizon_ns) return SNO_OK;
    if (!by_timer) return SNO_AGAIN;
    *in_vain = SNO_ATOMIC_LOAD(&s->writer, relaxed) == sno_i_thread_mark();
    return (int64_t)SNO_ATOMIC_LOAD(&s->patient, relaxed) == INT64_MIN ? SNO_AGAIN : SNO_IO;
}

/* A generator begins behind the last run, and behind those of this run that it may follow. */
SNO_I_FN int64_t sno_i_state_floor(const sno_state *s) {
    return (int64_t)SNO_ATOMIC_LOAD(&s->asked, relaxed);
}

SNO_API sno_status sno_state_extend(sno_state *s) {
    bool self;
    if (!SNO_ATOMIC_LOAD(&s->is_open, acquire)) return SNO_INVALID; /* OPEN:A */
    if (!sno_i_state_holder_is_here(s)) return SNO_FORKED;
    const sno_i_calm calm = sno_i_calm_begin();
    sno_status status = SNO_OK; /* another thread is the writer */
    if (sno_i_state_turn(s, &self)) {
        /* Another thread may have closed and reopened the state: only the writer reads plain fields. */
        const int64_t asked = (int64_t)SNO_ATOMIC_LOAD(&s->asked, relaxed);
        if (sno_i_state_is_stale(s)) status = SNO_FORKED;
        else if (!sno_i_state_move(s, sno_i_max(asked, sno_i_exact_ns(&s->clock))))
            status = sno_i_state_unwritten(s, NULL);
        sno_i_state_turn_end(s);
    }
    sno_i_calm_end(calm);
    return status;
}

/* Closes the gate to all draws, and makes this thread the last writer. */
SNO_I_FN void sno_i_state_shut(sno_state *s) {
    bool self;
    SNO_ATOMIC_STORE(&s->horizon, SNO_I_CLOSED_STATE, seq_cst); /* SHUT:S */
    while (!sno_i_state_turn(s, &self)) SNO_SLEEP_NS(100000);
}

/* Writes down what was asked for at most, and lets go. */
SNO_I_FN sno_status sno_i_state_end(sno_state *s) {
    sno_i_state_shut(s);
    const int64_t asked = (int64_t)SNO_ATOMIC_LOAD(&s->asked, seq_cst); /* SHUT:S */
    const int64_t now_ns = sno_i_exact_ns(&s->clock);
    const bool well = sno_i_state_write(s, sno_i_max(asked, now_ns), now_ns);
    const sno_status status = well ? SNO_OK : sno_i_state_unwritten(s, NULL);
    sno_i_file file = s->file; /* once it is unlocked, a shared object may be another's */
    s->file.fd = -1;
    sno_i_file_drop(&file, false);
    return status; /* this thread remains the writer: a late one finds nothing to write */
}

SNO_API sno_status sno_state_close(sno_state *s) {
    uint32_t is_open = SNO_ATOMIC_LOAD(&s->is_open, relaxed);
    if (!is_open) return SNO_INVALID;
    if (SNO_ATOMIC_LOAD(&s->writer, relaxed) == sno_i_thread_mark()) return SNO_AGAIN;
    const bool is_stale = sno_i_state_is_stale(s);
    if (!(is_stale && s->is_shared) &&
        !SNO_ATOMIC_CAS(&s->is_open, &is_open, 0u, relaxed, relaxed))
        return SNO_INVALID;
    const sno_i_calm calm = sno_i_calm_begin();
    sno_status status = SNO_FORKED;
    if (!is_stale) status = sno_i_state_end(s);
    else {
        const bool inherited = !sno_i_state_holder_is_here(s);
        if (!inherited && !s->is_shared) sno_i_state_shut(s); /* draws go on elsewhere */
        sno_i_file file = s->file;                            /* the shared one is the holder's */
        sno_i_file_drop(&file, inherited);
    }
    sno_i_calm_end(calm);
    return status;
}

/* Reads what counts of the locked file. */
SNO_I_FN sno_status sno_i_state_read(const sno_i_file *f, const char *path,
                                           sno_i_record *r, sno_why *why) {
    uint8_t bytes[SNO_I_FILE];
    sno_i_found file;
    if (sno_i_find_open(f->fd, &file) && !file.is_regular)
        return sno_i_say(why, SNO_FOREIGN, path, "is no file");
    const int n = sno_i_read_at(f->fd, 0, bytes, sizeof bytes);
    if (n < 0) return sno_i_say_errno(why, path, ": can't be read: ");
    const sno_status status = sno_i_file_get(bytes, (size_t)n, r);
    if (status == SNO_TORN) return sno_i_say(why, status, path, "is cut short or damaged");
    if (status != SNO_OK)
        return sno_i_say(why, status, path, "is no state file, or of another version");
    return SNO_OK;
}

/* Sleeps until the last run's horizon has passed. */
SNO_I_FN sno_status sno_i_state_wait(const sno_state *s, int64_t floor_ns, int64_t *now_ns,
                                           sno_why *why) {
    while (*now_ns <= floor_ns) {
        SNO_SLEEP_NS(sno_i_ns_until(floor_ns, *now_ns - 1));
        const int64_t before_ns = *now_ns;
        *now_ns = sno_i_exact_ns(&s->clock);
        if (*now_ns <= before_ns)
            return sno_i_say(why, SNO_CLOCK_BACK, s->path,
                               "the clock was put back, or stands still");
    }
    return SNO_OK;
}

/* A run that nobody had before. Draws of earlier ones are refused from here on. */
SNO_I_FN void sno_i_state_new_run(sno_state *s) {
    const uint64_t time_ns = (uint64_t)SNO_CLOCK_NS(SNO_CLOCK_EXACT);
    const uint64_t last = SNO_ATOMIC_LOAD(&s->run, relaxed);
    uint64_t drawn[2] = {0, 0}; /* none to be had: time, place and process must do */
    (void)sno_i_random_bytes(drawn, sizeof drawn);
    sno_i_put64(s->token, drawn[0] ^ time_ns ^ (uint64_t)(uintptr_t)s << 24);
    sno_i_put64(s->token + 8, drawn[1] ^ sno_i_process_mark() ^ (last + 1));
    SNO_ATOMIC_STORE(&s->run, sno_i_fnv(s->token, SNO_I_RUN), relaxed); /* DISK carries it */
}

/* Ids up to the floor may be out. Once the wait for it is over: until then the gate stays closed, and
 * `asked` what the last run knew. */
SNO_I_FN void sno_i_state_floor_is(sno_state *s, int64_t floor_ns) {
    SNO_ATOMIC_STORE(&s->asked, (uint64_t)floor_ns, relaxed);
    SNO_ATOMIC_STORE(&s->horizon, (uint64_t)(INT64_MIN + 1), relaxed);
}

/* With the file locked, and `r` in it: waits, and writes the first horizon. */
SNO_I_FN sno_status sno_i_state_begin(sno_state *s, const sno_state_options *o,
                                            const sno_i_record *r, int64_t now_ns,
                                            sno_why *why) {
    const int64_t floor_ns = r->horizon_ns; /* the last run's; maybe not on disk */
    if (!o->no_wait) {
        const sno_status status = sno_i_state_wait(s, floor_ns, &now_ns, why);
        if (status != SNO_OK) return status;
    }
    /* never further than the file or the clock's own horizon: a crash loop must not run away */
    int64_t from_ns = now_ns;
    if (floor_ns > now_ns && sno_i_ns_until(floor_ns, now_ns) > sno_i_lead_ns(s))
        from_ns = floor_ns - sno_i_lead_ns(s);
    sno_i_state_floor_is(s, floor_ns);
    /* who gave it its name may have died before that was on disk */
    const bool has_name = r->number > 1 || sno_i_sync_folder(s->path);
    if (has_name && sno_i_state_settle(s, r) && sno_i_state_move(s, from_ns)) return SNO_OK;
    return sno_i_state_unwritten(s, why);
}

/* Makes it this process's, with the locked file, or the one to be put at the path. It is this
 * thread's turn until the state is open: a draw of an earlier run may have seen its horizon, and
 * would write what it knows of that. */
SNO_I_FN void sno_i_state_set_up(sno_state *s, const sno_state_options *o,
                                     const uint8_t *identity, const char *path,
                                     const sno_i_file *file) {
    const int64_t lead_ns = (o->horizon_ms ? o->horizon_ms : 3000) * 1000000;
    SNO_ATOMIC_STORE(&s->is_open, 0u, relaxed); /* what it was before, it is no longer */
    SNO_ATOMIC_STORE(&s->writer, sno_i_thread_mark(), relaxed);
    sno_i_state_new_run(s);
    s->file = *file;
    s->written_ns = INT64_MIN;
    s->is_shared = o->shared_memory;
    s->is_lost = false;
    s->clock = o->clock;
    SNO_ATOMIC_STORE(&s->holder, sno_i_holder_mark(), release); /* HOLD:R */
    s->self = (uint64_t)(uintptr_t)s ^ SNO_I_VERSION;
    s->fork_mark = sno_i_fork_mark(&s->fork_word);
    memcpy(s->identity, identity, SNO_I_IDENTITY);
    memcpy(s->path, path, strlen(path) + 1);
    SNO_ATOMIC_STORE(&s->lead, (uint64_t)lead_ns, relaxed);
    SNO_ATOMIC_STORE(&s->by_timer, o->by_timer || o->shared_memory ? 1u : 0u, relaxed);
    SNO_ATOMIC_STORE(&s->patient, (uint64_t)INT64_MIN, relaxed);
}

/* The writer of a shared state is dead, and his run is the last that wrote the file: it goes on.
 * Other processes draw meanwhile. What the dead has written need not be on disk. */
SNO_I_FN sno_status sno_i_state_take_over(sno_state *s, const sno_state_options *o,
                                                const sno_i_record *r, const char *path,
                                                const sno_i_file *file, sno_why *why) {
    const int64_t asked = (int64_t)SNO_ATOMIC_LOAD(&s->asked, relaxed);
    const int64_t now_ns = sno_i_exact_ns(&o->clock);
    SNO_ATOMIC_STORE(&s->writer, sno_i_thread_mark(), relaxed);
    s->file = *file;
    SNO_ATOMIC_STORE(&s->holder, sno_i_holder_mark(), release); /* HOLD:R */
    s->self = (uint64_t)(uintptr_t)s ^ SNO_I_VERSION;
    s->clock = o->clock;
    memcpy(s->path, path, strlen(path) + 1);
    if (sno_i_state_settle(s, r) && sno_i_state_move(s, sno_i_max(asked, now_ns)))
        return SNO_OK;
    const sno_status status = sno_i_state_unwritten(s, why);
    s->file.fd = -1; /* the caller closes it */
    sno_i_state_turn_end(s);
    return status;
}

/* From here on draws may write. */
SNO_I_FN void sno_i_state_opened(sno_state *s) {
    SNO_ATOMIC_STORE(&s->is_open, 1u, release); /* OPEN:R */
    sno_i_state_turn_end(s);
}

/* With the file open and locked. */
SNO_I_FN sno_status sno_i_state_go_on(sno_state *s, const sno_state_options *o,
                                            const uint8_t *identity, const char *path,
                                            const sno_i_file *file, sno_why *why) {
    sno_i_record r;
    const char *what = "";
    sno_status status = sno_i_state_read(file, path, &r, why);
    if (status != SNO_OK) return status;
    const int64_t now_ns = sno_i_exact_ns(&o->clock);
    status = sno_i_record_judge(&r, identity, now_ns, o->allowable_downtime_ms * 1000000, &what);
    if (status != SNO_OK) return sno_i_say(why, status, path, what);
    if (o->shared_memory && SNO_ATOMIC_LOAD(&s->is_open, relaxed) && s->is_shared &&
        memcmp(s->token, r.run, SNO_I_RUN) == 0)
        return sno_i_state_take_over(s, o, &r, path, file, why);
    sno_i_state_set_up(s, o, identity, path, file);
    return sno_i_state_begin(s, o, &r, now_ns, why);
}

/* Where there is no file: makes one that has the first horizon from the start. SNO_AGAIN: another
 * process has made it by now. SNO_TAKEN: it is about to. What lies in shared memory is touched by
 * nobody but who has the lock. */
SNO_I_FN sno_status sno_i_state_make(sno_state *s, const sno_state_options *o,
                                           const uint8_t *identity, const char *path,
                                           int64_t now_ns, sno_why *why) {
    sno_i_file file;
    uint8_t bytes[SNO_I_FILE];
    sno_status status = sno_i_file_begin(&file, path, identity);
    if (status == SNO_FOREIGN)
        return sno_i_say(why, status, path, "can't be made: another's file has .new behind it");
    if (status == SNO_OK) {
        sno_i_state_set_up(s, o, identity, path, &file);
        const int64_t horizon_ns = sno_i_ahead_of(s, now_ns);
        sno_i_state_floor_is(s, INT64_MIN);
        s->number = 0;
        s->written_ns = now_ns;
        memset(bytes, 0, sizeof bytes);
        sno_i_header_put(bytes);
        sno_i_record_next(s, horizon_ns, bytes + sno_i_record_at(1));
        status = sno_i_file_create(&s->file, s->path, bytes, sizeof bytes);
        s->number = 1;
        memcpy(s->last, bytes + sno_i_record_at(1), sizeof s->last);
        if (status == SNO_OK)
            SNO_ATOMIC_STORE(&s->horizon, (uint64_t)horizon_ns, release); /* DISK:R */
    }
    if (status == SNO_IO) return sno_i_say_errno(why, path, ": can't be made: ");
    return status;
}

/* SNO_AGAIN: another process has made the file by now. */
SNO_I_FN sno_status sno_i_state_claim(sno_state *s, const sno_state_options *o,
                                            const uint8_t *identity, const char *path,
                                            sno_why *why) {
    sno_i_file file = {0, 0, -1};
    sno_status status = sno_i_file_open(&file, path, SNO_I_WRITE, 0, 0);
    if (status == SNO_OK) {
        status = sno_i_state_go_on(s, o, identity, path, &file, why);
        if (status != SNO_OK) sno_i_file_drop(&file, false);
        return status;
    }
    if (status == SNO_IO && sno_i_error() == SNO_I_ABSENT && !o->must_exist) {
        status = sno_i_state_make(s, o, identity, path, sno_i_exact_ns(&o->clock), why);
        if (status != SNO_TAKEN) return status;
    }
    if (status == SNO_TAKEN)
        return sno_i_say(why, status, path, "is in use, by this process or another");
    if (sno_i_error() == SNO_I_ABSENT)
        return sno_i_say(why, SNO_IO, path, "does not exist");
    return sno_i_say_errno(why, path, ": can't be opened and locked: ");
}

/* What the options lack; NULL: nothing. */
SNO_I_FN const char *sno_i_state_why(const sno_state_options *o) {
    const int64_t max_ms = INT64_MAX / 1000000 / 4;
    if (!o->path || !*o->path) return "path: is missing";
    if (o->horizon_ms < 0 || o->horizon_ms > max_ms) return "horizon_ms: is out of range";
    if (o->allowable_downtime_ms < 0 || o->allowable_downtime_ms > max_ms)
        return "allowable_downtime_ms: is out of range";
    return NULL;
}

/* The identity is the generator's. What is refused is left as it was. */
SNO_I_FN sno_status sno_i_state_open(sno_state *s, const sno_state_options *o,
                                           const uint8_t *identity, sno_why *why) {
    const char *const unfit = sno_i_state_why(o);
    if (unfit) {
        sno_i_put_why(why, unfit, "", "");
        return SNO_INVALID;
    }
    if (sno_i_state_is_held(s))
        return sno_i_say(why, SNO_TAKEN, o->path, "the state is open");
    if (!SNO_I_HAS_FILES) return sno_i_say(why, SNO_IO, o->path, SNO_I_WHY_NO_FILES);
    char path[SNO_I_PATH];
    if (!sno_i_absolute(o->path, path))
        return sno_i_say(why, SNO_INVALID, "path", "is too long, or the folder is gone");
    const sno_i_calm calm = sno_i_calm_begin();
    sno_status status = SNO_AGAIN;
    for (int tries = 0; status == SNO_AGAIN && tries < 100; tries++)
        status = sno_i_state_claim(s, o, identity, path, why);
    if (status == SNO_OK) sno_i_state_opened(s);
    sno_i_calm_end(calm);
    return status;
}

/* ---- exclusive: a range of one generator's numbers, once on a host ---- */

SNO_I_FN bool sno_i_may_exclude(const char *folder, bool shared_memory) {
    return !shared_memory && *folder && strlen(folder) < SNO_I_PATH;
}

/* Which byte is locked for a number of up to 32 bits. Offsets may have 31, and a program that has
 * more must agree with one that has not: from 2^30 on four neighbours share a byte. */
SNO_I_FN uint64_t sno_i_exclude_at(uint64_t number) {
    const uint64_t exact = (uint64_t)1 << 30;
    return number < exact ? number : exact + (number - exact) / 4;
}

/* Locks the identity's range of numbers, in a file of the folder that is named after the rest of
 * it. It is let go with sno_i_file_drop. `file` is left as it was where it fails. */
SNO_I_FN sno_status sno_i_exclude(sno_i_file *file, const char *folder,
                                        const uint8_t *identity, size_t whose, uint64_t first,
                                        uint64_t last) {
    static const char prefix[] = "/sno-", ending[] = ".exclusive";
    char path[SNO_I_PATH + 64];
    const size_t length = strlen(folder);
    const uint64_t from = sno_i_exclude_at(first), to = sno_i_exclude_at(last);
    sno_i_file fresh = {0, 0, -1};
    memcpy(path, folder, length);
    memcpy(path + length, prefix, sizeof prefix - 1);
    char *at = path + length + sizeof prefix - 1;
    for (uint64_t hash = sno_i_fnv(identity, whose), i = 0; i < 16; i++, hash <<= 4)
        *at++ = "0123456789abcdef"[hash >> 60];
    memcpy(at, ending, sizeof ending);
    const sno_i_calm calm = sno_i_calm_begin();
    const sno_status status =
        sno_i_file_open(&fresh, path, SNO_I_CREATE, from, to - from + 1);
    sno_i_calm_end(calm);
    if (status == SNO_OK) *file = fresh;
    return status;
}

SNO_I_FN void sno_i_exclude_no_more(sno_i_file *file, bool inherited) {
    const sno_i_calm calm = sno_i_calm_begin();
    sno_i_file_drop(file, inherited);
    sno_i_calm_end(calm);
}

/* ---- beginning ---- */

/* A fresh engine, or one that was put somewhere, goes on behind all that its gate and its state know
 * to be handed out; `later`: and behind this unit, in which whoever held the range before may have drawn.
 * Not while others use the engine. */
SNO_I_FN void sno_i_begin_behind(sno_i_engine *e, bool later) {
    sno_i_spend_unit(e);
    if (e->gate.admit && e->gate.floor_ns) sno_i_engine_floor(e, e->gate.floor_ns(e->gate.user));
    if (e->state_at) sno_i_engine_floor(e, sno_i_state_floor(sno_i_state_of(e)));
    if (later) sno_i_engine_floor(e, sno_i_exact_ns(&e->clock));
}

/* ---- lanes: one generator's numbers on several engines ----
 *
 * A lane is an engine with a word and numbers of its own, and all that is said of an engine holds for each:
 * so no id is given twice, whichever lane a draw takes (I1). Which one it takes is a hint: the map has
 * for each value of SNO_LANE() the lane that served there last. Map and turn are relaxed and publish
 * nothing; an entry that is stale or lost costs a step to another lane. Lanes have no order among one
 * another, and need none: no new pair of labels. But each look at a word is a LOOK:A, in a sweep too:
 * a draw that joins a timeline, and a snapshot of the newest unit, rely on that lane's safe[] (I5).
 *
 * DRAW      An attempt in the lane of the map. If its CAS loses to another thread in the usual case, a
 *           unit with places left, the entry moves to the next lane in turn, and a sweep begins. Where
 *           the CAS loses otherwise, as for the first place of a unit, the draw retries in the same
 *           lane. A lane that is exhausted or behind begins a sweep, too.
 * SWEEP     One exact reading, and a look at each word: the first lane if it has a place, then
 *           those that have not been drawn from in this unit, then all that have one. A word may be
 *           newer than the reading, and its lane is passed by: so if a later reading is of another
 *           unit, all is looked at again. If none has a place, the one whose place comes first is
 *           asked last, with a reading of its own (I2), and there the caller waits, if he does.
 *           So when a try fails, each lane was spent or behind in the unit of its last readings.
 * PROGRESS  As the engine's, with two looks at each lane for each unit that begins meanwhile.
 */
struct sno_lane {
    sno_i_engine engine;
    uint64_t first; /* the lane's first place in a unit of the whole */
};

typedef struct sno_i_lanes {
    SNO_I_STAYS(sno_i_lanes)
    uintptr_t lanes_at; /* how far behind this: who shares the memory may have it elsewhere */
    size_t n;           /* 0: never initialised */
    sno_i_atomic32 map[256]; /* by SNO_LANE(): 1 + a lane; 0: none yet */
    char pad[64];
    sno_i_atomic32 turn; /* the lane to step to next */
    char pad2[60];
} sno_i_lanes;

SNO_I_FN sno_lane *sno_i_lane(const sno_i_lanes *l, size_t i) {
    return (sno_lane *)((uintptr_t)l + l->lanes_at) + i;
}

SNO_I_FN bool sno_i_lanes_fit(size_t n, uint64_t cap) {
    return n && n <= cap && n < UINT32_MAX;
}

/* A fresh lane goes on where the whole stands. Which numbers of its units are drawn is not known:
 * all, then. */
SNO_I_FN void sno_i_lane_begin(sno_i_engine *e, const sno_i_engine *whole) {
    const uint64_t word = SNO_ATOMIC_LOAD(&whole->word, relaxed);
    uint64_t time, count;
    sno_i_decode(whole, word, &time, &count);
    count = (count + whole->cap - 1) / whole->cap * e->cap;
    SNO_ATOMIC_STORE(&e->word, sno_i_word_at(e, time, sno_i_tick(whole, word)) + count,
                       relaxed);
    SNO_ATOMIC_STORE(&e->rebased, 0 - count, relaxed); /* not drawn here */
    SNO_ATOMIC_STORE(&e->drifts, SNO_ATOMIC_LOAD(&whole->drifts, relaxed), relaxed);
    for (unsigned i = 0; i < 2; i++)
        SNO_ATOMIC_STORE(&e->safe[i], SNO_ATOMIC_LOAD(&whole->safe[i], relaxed), relaxed);
}

/* A lane is whose the whole is, though meanwhile its gate may be closed. */
SNO_I_FN void sno_i_lane_belong(sno_i_engine *e, const sno_i_engine *whole) {
    e->process_word = whole->process_word;
    e->process_mark = whole->process_mark;
    e->fork_word = whole->fork_word;
    e->fork_mark = whole->fork_mark;
    e->gate = whole->gate;
    e->is_shared = whole->is_shared;
    e->state_at = whole->state_at;
    if (e->state_at && e->is_shared) e->state_at += (uintptr_t)whole - (uintptr_t)e;
    e->state_run = whole->state_run;
    sno_i_set_window(e, SNO_ATOMIC_LOAD(&whole->window, relaxed));
}

/* Splits what `setup` says of the whole among n lanes, which fit. The whole has begun already, and
 * nobody draws from it. */
SNO_I_FN void sno_i_lanes_begin(sno_i_lanes *l, sno_lane *lanes, size_t n,
                                    const sno_i_setup *setup, const sno_i_engine *whole) {
    sno_i_setup part = *setup;
    uint64_t first = 0;
    for (size_t i = 0; i < n; i++, first += part.cap) {
        part.cap = setup->cap / n + (i < setup->cap % n);
        sno_i_split d = {0, 0, 0};         /* compilers can't know that: */
        (void)sno_i_split_word(&part, &d); /* what fits the whole fits */
        sno_i_engine_fill(&lanes[i].engine, &part, &d);
        lanes[i].engine.max_time = whole->max_time; /* snapshots are restored to the whole */
        sno_i_lane_belong(&lanes[i].engine, whole);
        sno_i_lane_begin(&lanes[i].engine, whole);
        lanes[i].first = first;
    }
    for (size_t i = 0; i < sizeof l->map / sizeof *l->map; i++)
        SNO_ATOMIC_STORE(&l->map[i], 0u, relaxed);
    SNO_ATOMIC_STORE(&l->turn, 0u, relaxed);
    l->lanes_at = (uintptr_t)lanes - (uintptr_t)l;
    l->n = n;
}

/* Gives a place of the map a lane, another one than `was`, if there is one. 0: there are no lanes. */
SNO_I_COLD uint32_t sno_i_lanes_step(sno_i_lanes *l, unsigned slot, uint32_t was) {
    if (!l->n) return 0;
    uint32_t to = 0;
    for (unsigned tries = 0; tries < 2 && (!to || to == was); tries++)
        to = (uint32_t)(SNO_ATOMIC_ADD(&l->turn, 1u, relaxed) % l->n) + 1;
    SNO_ATOMIC_STORE(&l->map[slot], to, relaxed);
    return to;
}

/* What one lane says of its own numbers, or its own word: others may have ids. */
SNO_I_FN bool sno_i_asks_on(sno_status status) {
    return status == SNO_AGAIN || status == SNO_CLOCK_BACK || status == SNO_RANGE;
}

/* A draw from lane *at, or from one behind it; *at is then the one that served. SNO_AGAIN: by this
 * reading none has a place; *at is the one that has the next. */
SNO_I_FN sno_status sno_i_lanes_look(sno_i_lanes *l, int64_t now_ns, uint64_t want,
                                           size_t *at, sno_i_place *out) {
    const size_t own = *at;
    uint64_t opens = UINT64_MAX;
    for (unsigned pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < l->n; i++) {
            const size_t k = i < l->n - own ? own + i : i - (l->n - own);
            sno_i_engine *const e = &sno_i_lane(l, k)->engine;
            const uint64_t word = SNO_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
            sno_i_view v;
            if (sno_i_look(e, 0, word, sno_i_ridden_ns(e, word, now_ns), &v) != SNO_OK)
                continue;
            if (sno_i_is_free(e, &v) && (pass || !i || v.time < v.now)) {
                const sno_status status =
                    sno_i_draw_run(e, SNO_I_LANE, word, now_ns, want, out);
                if (!sno_i_asks_on(status)) {
                    *at = k;
                    return status;
                }
            }
            if (pass && v.opens < opens) {
                opens = v.opens;
                *at = k;
            }
        }
    return SNO_AGAIN;
}

/* Looks at all lanes until one has served, or the unit at the end is the one of the beginning. */
SNO_I_FN sno_status sno_i_lanes_find(sno_i_lanes *l, int64_t *now_ns, uint64_t want,
                                           size_t *at, sno_i_place *out) {
    const sno_i_engine *const e = &sno_i_lane(l, *at)->engine;
    for (;;) {
        const sno_status status = sno_i_lanes_look(l, *now_ns, want, at, out);
        const int64_t was_ns = *now_ns;
        if (status != SNO_AGAIN) return status;
        *now_ns = sno_i_exact_ns(&e->clock);
        if (sno_i_units(e, (uint64_t)*now_ns - e->epoch_ns) ==
            sno_i_units(e, (uint64_t)was_ns - e->epoch_ns))
            return status;
    }
}

SNO_I_COLD sno_status sno_i_lanes_sweep(sno_i_lanes *l, unsigned how, unsigned slot,
                                              bool back, uint64_t want, size_t *at,
                                              sno_i_place *out) {
    const size_t own = *at;
    sno_i_engine *e = &sno_i_lane(l, own)->engine;
    int64_t now_ns = sno_i_exact_ns(&e->clock);
    sno_status status = SNO_AGAIN;
    if (!back || !e->refuse_back) status = sno_i_lanes_find(l, &now_ns, want, at, out);
    if (status == SNO_AGAIN) {
        e = &sno_i_lane(l, *at)->engine;
        const uint64_t word = SNO_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
        status = sno_i_draw_run(e, how, word, now_ns, want, out);
    }
    if (status == SNO_OK && *at != own)
        SNO_ATOMIC_STORE(&l->map[slot], (uint32_t)*at + 1, relaxed);
    return status;
}

SNO_I_INLINE unsigned sno_i_lanes_slot(void) { return (unsigned)SNO_LANE() % 256; }

/* As a draw from one engine, 1 to `want` places of lane *from; NULL: the map has none here. */
SNO_I_INLINE unsigned sno_i_lanes_draw_soon(sno_i_lanes *l, uint64_t want, uint64_t *word,
                                                int64_t *now_ns, sno_i_place *out,
                                                sno_lane **from) {
    const uint32_t own = SNO_ATOMIC_LOAD(&l->map[sno_i_lanes_slot()], relaxed);
    *word = 0;
    *now_ns = 0;
    *from = NULL;
    if (!SNO_I_LIKELY(own)) return SNO_I_ELSE;
    *from = sno_i_lane(l, own - 1);
    return sno_i_draw_soon(&(*from)->engine, SNO_I_LANE, 0, want, word, now_ns, out);
}

/* Goes on where that has ended. (On another processor by now? Its place of the map is as good.) */
SNO_I_APART sno_status sno_i_lanes_draw_on(sno_i_lanes *l, unsigned how, uint64_t word,
                                                 int64_t now_ns, uint64_t want, sno_i_place *out,
                                                 sno_lane **from) {
    const unsigned slot = sno_i_lanes_slot(), asked = how & SNO_I_WAIT;
    unsigned left = how - asked;
    if (!*from) {
        const uint32_t first = sno_i_lanes_step(l, slot, 0);
        if (!first) return SNO_INVALID;
        *from = sno_i_lane(l, first - 1);
        left = sno_i_draw_soon(&(*from)->engine, SNO_I_LANE, 0, want, &word, &now_ns, out);
        if (!left) return SNO_OK;
    }
    const bool lost = left & SNO_I_LOST;
    sno_status status = SNO_AGAIN;
    if (!lost)
        status = sno_i_draw_on(&(*from)->engine, SNO_I_LANE | left, word, now_ns, want, out);
    if (!sno_i_asks_on(status)) return status;
    uint32_t own = (uint32_t)(*from - sno_i_lane(l, 0)) + 1;
    if (lost) own = sno_i_lanes_step(l, slot, own);
    size_t at = own - 1;
    status = sno_i_lanes_sweep(l, asked, slot, status == SNO_CLOCK_BACK, want, &at, out);
    *from = sno_i_lane(l, at);
    return status;
}

SNO_I_INLINE sno_status sno_i_lanes_draw(sno_i_lanes *l, unsigned how, uint64_t want,
                                               sno_i_place *out, sno_lane **from) {
    uint64_t word;
    int64_t now_ns;
    const unsigned left = sno_i_lanes_draw_soon(l, want, &word, &now_ns, out, from);
    if (SNO_I_LIKELY(!left)) return SNO_OK;
    return sno_i_lanes_draw_on(l, how | left, word, now_ns, want, out, from);
}

/* Takes those of the first unit off places of a lane, as places of the whole. False: there are none. */
SNO_I_FN bool sno_i_lane_cut(const sno_lane *lane, sno_i_place *rest, sno_i_place *unit) {
    *unit = *rest;
    unit->index += lane->first;
    unit->n = sno_i_min(rest->n, lane->engine.cap - rest->index);
    rest->n -= unit->n;
    rest->index = 0;
    rest->time++;
    return unit->n != 0;
}

/* When a try would succeed, from now; INT64_MAX: never. */
SNO_I_FN int64_t sno_i_lanes_retry_ns(const sno_i_lanes *l) {
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < l->n; i++) {
        const int64_t ns = sno_i_retry_ns(&sno_i_lane(l, i)->engine);
        if (ns < least) least = ns;
    }
    return least;
}

SNO_I_FN uint64_t sno_i_lanes_available(const sno_i_lanes *l) {
    uint64_t sum = 0;
    for (size_t i = 0; i < l->n; i++) sum += sno_i_available(&sno_i_lane(l, i)->engine);
    return sum;
}

SNO_I_FN void sno_i_lanes_stats(const sno_i_lanes *l, sno_stats *sum) {
    memset(sum, 0, sizeof *sum);
    for (size_t i = 0; i < l->n; i++) {
        sno_stats one;
        sno_i_stats(&sno_i_lane(l, i)->engine, &one);
        sum->ids += one.ids;
        sum->batches += one.batches;
        sum->waits += one.waits;
        sum->clock_backs += one.clock_backs;
    }
}

/* The newest unit that any has drawn in, on either timeline. The word is looked at first: who leaves
 * a timeline has raised safe[] by then. */
SNO_I_FN uint64_t sno_i_lanes_newest(const sno_i_lanes *l, uint64_t *word_time) {
    uint64_t newest = *word_time = 0;
    for (size_t i = 0; i < l->n; i++) {
        sno_i_engine *const e = &sno_i_lane(l, i)->engine;
        uint64_t time, count;
        sno_i_decode(e, SNO_ATOMIC_LOAD(&e->word, acquire), &time, &count); /* LOOK:A */
        if (time > *word_time) *word_time = time;
        const uint64_t last[] = {time + (count ? (count - 1) / e->cap : 0),
                                 SNO_ATOMIC_LOAD(&e->safe[0], relaxed),
                                 SNO_ATOMIC_LOAD(&e->safe[1], relaxed)};
        for (unsigned k = 0; k < 3; k++)
            if (last[k] > newest) newest = last[k];
    }
    return newest;
}
// >>common end
// clang-format on

// >>objects

/* Big, and made of cache lines: static, on the stack or malloc'd, with no alignment to mind. */
struct sno_gen {
    sno_i_engine engine;
    uint16_t partition, sequence_min;
    sno_i_atomic64 with_time; /* calls of sno_new_with_time */
    sno_i_file exclusive;     /* fd below 0: none */
};

struct sno_shard {
    sno_gen gen;
};

SNO_I_RELY_ON(offsetof(sno_gen, engine) == 0 && offsetof(sno_shard, gen) == 0,
              "a pool takes the engine's address for the shard's");

struct sno_pool {
    SNO_I_STAYS(sno_pool)
    sno_shard *shards;
    size_t n;
    sno_i_atomic32 hint;
};

/* The whole makes ids of places, has the claims, and where the lanes begin; nobody draws from it. */
struct sno_lanes {
    sno_gen whole;
    sno_i_lanes split;
};

SNO_API const char *sno_status_str(sno_status status) {
    switch (status) {
    case SNO_OK: return "ok";
    case SNO_AGAIN:
        return "all ids of this time unit are drawn: try again (sno_retry_ns says when)";
    case SNO_CLOCK_BACK: return "the clock was put back into time that both ticks have used";
    case SNO_RANGE: return "the time is outside 2010..2079";
    case SNO_INVALID:
        return "an argument or option does not fit (sno_options_why names it), or the generator "
               "was never initialised";
    case SNO_PARSE: return "not a text of this form";
    case SNO_EXHAUSTED: return "this process has used up its 65,535 partitions";
    case SNO_FORKED: return "the generator was inherited through fork(), or the machine cloned";
    case SNO_IO: return "a file was refused by the system, or the state is closed";
    case SNO_TORN: return "the state file is cut short or damaged";
    case SNO_FOREIGN:
        return "the state file is of another partition or pool, or no state file, or was changed "
               "while it was open";
    case SNO_DOWNTIME: return "the last run ended longer ago than allowable_downtime_ms";
    case SNO_TAKEN: return "somebody else holds this file";
    case SNO_LEASE: return "the gate of the options was closed";
    }
    return "unknown status";
}

// >>ids
/* An id is 80 bits, big-endian, so memcmp orders ids by time:
 *
 *     [ time:39 ][ tick:1 ][ meta:8 ][ partition:16 ][ sequence:16 ]
 *       4 ms units since 2010-01-01 UTC */

#define SNO_I_EPOCH_NS   INT64_C(1262304000000000000)
#define SNO_I_UNIT_NS    INT64_C(4000000)
#define SNO_I_TIME_SHIFT 25 /* of time in the head of an id, and in the engine's word */

SNO_I_FN uint16_t sno_i_be16(uint16_t value) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return __builtin_bswap16(value);
#else
    const uint8_t bytes[] = {(uint8_t)(value >> 8), (uint8_t)value};
    memcpy(&value, bytes, sizeof value);
    return value;
#endif
}

SNO_I_FN uint16_t sno_i_load_be16(const uint8_t *from) {
    return (uint16_t)(from[0] << 8 | from[1]);
}

/* All but the sequence, and the sequence. */
SNO_I_FN uint64_t sno_i_head(const sno_id *id) { return sno_i_get64(id->bytes); }
SNO_I_FN uint16_t sno_i_tail(const sno_id *id) { return sno_i_load_be16(id->bytes + 8); }

SNO_I_FN sno_id sno_i_id(uint64_t head, uint16_t tail) {
    sno_id id;
    sno_i_put64(id.bytes, head);
    tail = sno_i_be16(tail);
    memcpy(id.bytes + 8, &tail, sizeof tail);
    return id;
}

SNO_API uint64_t sno_units(sno_id id) { return sno_i_head(&id) >> SNO_I_TIME_SHIFT; }
SNO_API unsigned sno_tick(sno_id id) { return id.bytes[4] & 1U; }
SNO_API uint8_t sno_meta(sno_id id) { return id.bytes[5]; }
SNO_API uint16_t sno_partition(sno_id id) { return sno_i_load_be16(id.bytes + 6); }
SNO_API uint16_t sno_sequence(sno_id id) { return sno_i_tail(&id); }

SNO_API int64_t sno_time_ns(sno_id id) {
    return (int64_t)sno_units(id) * SNO_I_UNIT_NS + SNO_I_EPOCH_NS;
}

SNO_API sno_id sno_from_bytes(const uint8_t in[10]) {
    sno_id id;
    memcpy(id.bytes, in, sizeof id.bytes);
    return id;
}

SNO_API void sno_to_bytes(sno_id id, uint8_t out[10]) { memcpy(out, id.bytes, sizeof id.bytes); }

SNO_API sno_status sno_compose(uint64_t units, unsigned tick, uint8_t meta, uint16_t partition,
                               uint16_t sequence, sno_id *id) {
    if (units >> 39 != 0) return SNO_RANGE;
    if (tick > 1) return SNO_INVALID;
    *id = sno_i_id(units << SNO_I_TIME_SHIFT | (uint64_t)tick << 24 | (uint64_t)meta << 16 |
                       partition,
                   sequence);
    return SNO_OK;
}

SNO_I_FN sno_status sno_i_units_at(int64_t unix_ns, uint64_t *units) {
    if (unix_ns < SNO_I_EPOCH_NS) return SNO_RANGE;
    *units = (uint64_t)(unix_ns - SNO_I_EPOCH_NS) / (uint64_t)SNO_I_UNIT_NS;
    return *units >> 39 == 0 ? SNO_OK : SNO_RANGE;
}

SNO_API sno_status sno_min_at(int64_t unix_ns, sno_id *id) {
    uint64_t units;
    const sno_status status = sno_i_units_at(unix_ns, &units);
    return status == SNO_OK ? sno_compose(units, 0, 0, 0, 0, id) : status;
}

SNO_API sno_status sno_max_at(int64_t unix_ns, sno_id *id) {
    uint64_t units;
    const sno_status status = sno_i_units_at(unix_ns, &units);
    return status == SNO_OK ? sno_compose(units, 1, UINT8_MAX, UINT16_MAX, UINT16_MAX, id) : status;
}

SNO_I_FN bool sno_i_less(const sno_id *a, const sno_id *b) {
    const uint64_t head_a = sno_i_head(a), head_b = sno_i_head(b);
    return head_a != head_b ? head_a < head_b : sno_i_tail(a) < sno_i_tail(b);
}

SNO_API int sno_compare(sno_id a, sno_id b) {
    const uint64_t head_a = sno_i_head(&a), head_b = sno_i_head(&b);
    if (head_a != head_b) return head_a < head_b ? -1 : 1;
    return sno_i_tail(&a) - sno_i_tail(&b);
}

SNO_API bool sno_equal(sno_id a, sno_id b) {
    return sno_i_head(&a) == sno_i_head(&b) && sno_i_tail(&a) == sno_i_tail(&b);
}

SNO_API bool sno_is_zero(sno_id id) { return sno_i_head(&id) == 0 && sno_i_tail(&id) == 0; }

// >>sort
/* A radix sort in place, most significant digit first. A digit is the 8 bits that begin where the
 * ids at hand first differ, so what they have in common (the year, a partition) costs one look.
 * Each level uses up 8 of the 80 bits: on any input at most 10 levels, each with 4 KB of stack. */

#define SNO_I_SORT_FEW 32 /* below this, insertion beats clearing 256 counters */

SNO_I_FN void sno_i_sort_few(sno_id *ids, size_t n) {
    for (size_t i = 1; i < n; i++) {
        const sno_id id = ids[i];
        size_t place = i;
        for (; place > 0 && sno_i_less(&id, &ids[place - 1]); place--) ids[place] = ids[place - 1];
        ids[place] = id;
    }
}

SNO_I_FN unsigned sno_i_first_bit(uint64_t value) {
    unsigned bit = 0;
    for (; value >> 63 == 0; value <<= 1) bit++;
    return bit;
}

/* The first bit in which two of the ids differ; 80 when all are equal. */
SNO_I_FN unsigned sno_i_sort_first_difference(const sno_id *ids, size_t n) {
    uint64_t heads = 0, tails = 0;
    for (size_t i = 1; i < n; i++) {
        heads |= sno_i_head(&ids[i]) ^ sno_i_head(&ids[0]);
        tails |= (uint64_t)(sno_i_tail(&ids[i]) ^ sno_i_tail(&ids[0]));
    }
    if (heads != 0) return sno_i_first_bit(heads);
    return tails != 0 ? 16 + sno_i_first_bit(tails) : 80;
}

/* The 8 bits at `bit`, at most 72; the pair of bytes that holds them never ends past the id. */
SNO_I_FN unsigned sno_i_sort_digit(const sno_id *id, unsigned bit) {
    const unsigned first = bit < 72 ? bit / 8 : 8;
    return (unsigned)sno_i_load_be16(id->bytes + first) >> (8 - (bit - 8 * first)) & 0xff;
}

/* Moves every id to the bucket of its digit, and says where each bucket ends. The id in hand goes
 * to the next place in its bucket, and the one found there is the next in hand. */
SNO_I_FN void sno_i_sort_by_digit(sno_id *ids, size_t n, unsigned bit, size_t ends[256]) {
    size_t next[256] = {0}, sum = 0;
    for (size_t i = 0; i < n; i++) next[sno_i_sort_digit(&ids[i], bit)]++;
    for (unsigned d = 0; d < 256; d++) {
        const size_t count = next[d];
        next[d] = sum;
        ends[d] = sum += count;
    }
    for (unsigned d = 0; d < 256; d++) {
        while (next[d] < ends[d]) {
            sno_id *place = &ids[next[d]];
            sno_id in_hand = *place;
            /* Digits are read where an id lies: read from the copy, each would wait for its store. */
            unsigned digit = sno_i_sort_digit(place, bit);
            while (digit != d) {
                place = &ids[next[digit]++];
                const sno_id found = *place;
                digit = sno_i_sort_digit(place, bit);
                *place = in_hand;
                in_hand = found;
            }
            ids[next[d]++] = in_hand;
        }
    }
}

SNO_API void sno_sort(sno_id *ids, size_t n) {
    if (n < SNO_I_SORT_FEW) {
        sno_i_sort_few(ids, n);
        return;
    }
    unsigned bit = sno_i_sort_first_difference(ids, n);
    if (bit == 80) return;
    if (bit > 72) bit = 72;
    size_t ends[256], begin = 0;
    sno_i_sort_by_digit(ids, n, bit, ends);
    if (bit == 72) return;
    for (unsigned d = 0; d < 256; d++) {
        if (ends[d] - begin > 1) sno_sort(ids + begin, ends[d] - begin);
        begin = ends[d];
    }
}

// >>text
/* The 80 bits as 16 values of 5 bits, most significant first: 0..7 are '2'..'9' and 8..31 are
 * 'a'..'x', in ASCII order, so texts compare as their ids do.
 *
 * Three primitives, each written for a kind of machine: encode, is_text, and decode, which takes
 * only what is_text has passed.
 *
 *     portable    8 characters in a 64-bit word
 *     vector      x86-64 with SSE2, and shorter with SSSE3; aarch64
 *     avx2        x86-64: whole arrays, two ids at a time; compiled always, chosen at run time
 *
 * The vectors are the compiler's own types: the header of a machine's vector functions would cost a
 * unit more to compile than all the rest. gcc and clang each have names for what has no operator.
 *
 * Characters are turned to values and back without tables. As unsigned bytes that wrap around,
 * c - '2' and c - ('a' - 8) are the value if c is a digit and if c is a letter, and the smaller of
 * the two is the right one. What is out of the alphabet has c - '2' above 7 and c - 'a' above 23;
 * adding 120 and 104 with saturation moves both limits to bit 7. */

#if !defined(SNO_NO_SIMD) && defined(__GNUC__)
#if defined(__x86_64__) && defined(__SSE2__)
#define SNO_I_X86
#define SNO_I_VECTORS
#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(__ARM_BIG_ENDIAN)
#define SNO_I_VECTORS
#endif
#endif

#define SNO_I_LETTER_GAP      ('a' - 8 - '2') /* what a letter lies above its value + '2' */
#define SNO_I_EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

SNO_I_FN uint64_t sno_i_8_chars(uint64_t bits40) {
    uint64_t v = (bits40 << 12 & UINT64_C(0x000fffff00000000)) | (bits40 & 0xfffff);
    v = (v << 6 & UINT64_C(0x03ff000003ff0000)) | (v & UINT64_C(0x000003ff000003ff));
    v = (v << 3 & UINT64_C(0x1f001f001f001f00)) | (v & UINT64_C(0x001f001f001f001f));
    const uint64_t is_letter = (v + SNO_I_EACH_BYTE(0x80 - 8)) >> 7 & SNO_I_EACH_BYTE(1);
    return v + SNO_I_EACH_BYTE('2') + is_letter * SNO_I_LETTER_GAP;
}

SNO_I_FN bool sno_i_is_8_chars(uint64_t text) {
    /* In ASCII, bit 7 of each byte of text + SNO_I_EACH_BYTE(0x80 - c) says whether it is c or
     * above. Other bytes pass for neither and, though they carry into a neighbour, refuse the text. */
    const uint64_t digit =
        (text + SNO_I_EACH_BYTE(0x80 - '2')) & ~(text + SNO_I_EACH_BYTE(0x7f - '9'));
    const uint64_t letter =
        (text + SNO_I_EACH_BYTE(0x80 - 'a')) & ~(text + SNO_I_EACH_BYTE(0x7f - 'x'));
    return (~(digit | letter) & SNO_I_EACH_BYTE(0x80)) == 0;
}

SNO_I_FN uint64_t sno_i_40_bits(uint64_t text) {
    const uint64_t is_letter = text >> 6 & SNO_I_EACH_BYTE(1);
    uint64_t v = text - SNO_I_EACH_BYTE('2') - is_letter * SNO_I_LETTER_GAP;
    v = (v >> 3 & UINT64_C(0x03e003e003e003e0)) | (v & UINT64_C(0x001f001f001f001f));
    v = (v >> 6 & UINT64_C(0x000ffc00000ffc00)) | (v & UINT64_C(0x000003ff000003ff));
    return (v >> 12 & UINT64_C(0x000000fffff00000)) | (v & 0xfffff);
}

SNO_I_FN sno_id sno_i_id_of_halves(uint64_t first_40_bits, uint64_t last_40_bits) {
    return sno_i_id(first_40_bits << 24 | last_40_bits >> 16, (uint16_t)last_40_bits);
}

SNO_I_FN void sno_i_encode_portable(sno_id id, char *out) {
    const uint64_t head = sno_i_head(&id);
    sno_i_put64(out, sno_i_8_chars(head >> 24));
    sno_i_put64(out + 8, sno_i_8_chars((head & 0xffffff) << 16 | sno_i_tail(&id)));
}

SNO_I_FN bool sno_i_is_text_portable(const char *text) {
    return sno_i_is_8_chars(sno_i_get64(text)) && sno_i_is_8_chars(sno_i_get64(text + 8));
}

SNO_I_FN sno_id sno_i_decode_portable(const char *text) {
    return sno_i_id_of_halves(sno_i_40_bits(sno_i_get64(text)),
                              sno_i_40_bits(sno_i_get64(text + 8)));
}

#if defined(SNO_I_VECTORS)

typedef char sno_i_c8x16 __attribute__((vector_size(16)));
typedef uint8_t sno_i_u8x16 __attribute__((vector_size(16)));
typedef int8_t sno_i_s8x16 __attribute__((vector_size(16)));
typedef int16_t sno_i_s16x8 __attribute__((vector_size(16)));
typedef uint16_t sno_i_u16x8 __attribute__((vector_size(16)));
typedef uint32_t sno_i_u32x4 __attribute__((vector_size(16)));
typedef uint64_t sno_i_u64x2 __attribute__((vector_size(16)));

/* The bytes of a, and of b behind them, in the order of the constants. */
#if defined(__clang__)
#define SNO_I_PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SNO_I_PICK(a, b, ...) __builtin_shuffle(a, b, __extension__(sno_i_u8x16){__VA_ARGS__})
#endif

SNO_I_FN sno_i_u8x16 sno_i_smaller(sno_i_u8x16 a, sno_i_u8x16 b) {
#if defined(SNO_I_X86) && !defined(__clang__) /* gcc does not see what this is */
    return (sno_i_u8x16)__builtin_ia32_pminub128((sno_i_c8x16)a, (sno_i_c8x16)b);
#else
    const sno_i_u8x16 is_a = (sno_i_u8x16)(a < b);
    return (a & is_a) | (b & ~is_a);
#endif
}

SNO_I_FN sno_i_u8x16 sno_i_saturated_sum(sno_i_u8x16 a, uint8_t b) {
    const sno_i_u8x16 zero = {0}, each = zero + b;
#if defined(SNO_I_X86) && !defined(__clang__)
    return (sno_i_u8x16)__builtin_ia32_paddusb128((sno_i_c8x16)a, (sno_i_c8x16)each);
#else
    const sno_i_u8x16 sum = a + each;
    return sum | (sno_i_u8x16)(sum < a);
#endif
}

/* Each two values lie in a pair of bytes, which is brought into a 16-bit lane. */
SNO_I_FN sno_i_u16x8 sno_i_pairs(sno_id id) {
    /* Loaded as 8 bytes and 2, as ids are stored: a load across two fresh stores would stall. */
    uint64_t head;
    uint16_t tail;
    memcpy(&head, id.bytes, sizeof head);
    memcpy(&tail, id.bytes + 8, sizeof tail);
    const sno_i_u64x2 head_and_0 = {head, 0};
    sno_i_u16x8 words = (sno_i_u16x8)head_and_0;
    words[4] = tail;
    const sno_i_u8x16 bytes = (sno_i_u8x16)words;
#if defined(__SSSE3__) || defined(__aarch64__)
    return (sno_i_u16x8)SNO_I_PICK(bytes, bytes, 1, 0, 2, 1, 3, 2, 4, 3, 6, 5, 7, 6, 8, 7, 9, 8);
#else
    const sno_i_u8x16 zero = {0};
    const sno_i_u64x2 behind = (sno_i_u64x2)SNO_I_PICK(bytes, zero, 5, 6, 7, 8, 9, 10, 11, 12, 13,
                                                       14, 15, 16, 17, 18, 19, 20);
    const sno_i_u64x2 halves = {((sno_i_u64x2)words)[0], behind[0]};
    const sno_i_u8x16 these = (sno_i_u8x16)halves, next = (sno_i_u8x16)(halves >> 8);
    const sno_i_u64x2 first = (sno_i_u64x2)SNO_I_PICK(next, these, 0, 16, 1, 17, 2, 18, 3, 19, 4,
                                                      20, 5, 21, 6, 22, 7, 23);
    const sno_i_u64x2 last = (sno_i_u64x2)SNO_I_PICK(next, these, 8, 24, 9, 25, 10, 26, 11, 27, 12,
                                                     28, 13, 29, 14, 30, 15, 31);
    const sno_i_u64x2 pairs = {first[0], last[0]};
    return (sno_i_u16x8)pairs;
#endif
}

SNO_I_FN void sno_i_encode_vector(sno_id id, char *out) {
    /* Multiplied until the ten bits of two values stand at the top. */
    const sno_i_u16x8 scales = {1, 4, 16, 64, 1, 4, 16, 64};
    const sno_i_u16x8 ten_bits = sno_i_pairs(id) * scales;
    const sno_i_u8x16 values = (sno_i_u8x16)(ten_bits >> 11 | (ten_bits << 2 & 0x1f00));
    const sno_i_u8x16 is_letter = (sno_i_u8x16)((sno_i_s8x16)values > 7);
    const sno_i_u8x16 text = values + '2' + (is_letter & SNO_I_LETTER_GAP);
    memcpy(out, &text, sizeof text);
}

SNO_I_FN bool sno_i_is_text_vector(const char *text) {
    sno_i_u8x16 c;
    memcpy(&c, text, sizeof c);
    const sno_i_u8x16 digit = sno_i_saturated_sum(c - '2', 120);
    const sno_i_u8x16 letter = sno_i_saturated_sum(c - 'a', 104);
    const sno_i_u8x16 above = sno_i_smaller(digit, letter);
#if defined(SNO_I_X86)
    return __builtin_ia32_pmovmskb128((sno_i_c8x16)above) == 0;
#else
    const sno_i_u64x2 halves = (sno_i_u64x2)above;
    return ((halves[0] | halves[1]) & SNO_I_EACH_BYTE(0x80)) == 0;
#endif
}

#if defined(SNO_I_X86) && defined(__SSSE3__)

/* Values are joined to 10 bits, then to 20; the first 20 of each 40 are left 4 bits up, so that
 * only the low half of the byte in the middle is missing, and stands in place 48 bits further up. */
SNO_I_FN sno_id sno_i_join_vector(sno_i_u8x16 values) {
    const sno_i_u64x2 zero = {0}, value_scales = zero + UINT64_C(0x0120012001200120);
    const sno_i_u64x2 ten_bit_scales = zero + UINT64_C(0x0001040000104000);
    const sno_i_s16x8 ten_bits =
        __builtin_ia32_pmaddubsw128((sno_i_c8x16)values, (sno_i_c8x16)value_scales);
    const sno_i_u64x2 twenty_bits =
        (sno_i_u64x2)__builtin_ia32_pmaddwd128(ten_bits, (sno_i_s16x8)ten_bit_scales);
    const sno_i_u8x16 forty_bits = (sno_i_u8x16)(twenty_bits | twenty_bits >> 48);
    const sno_i_u8x16 bytes =
        SNO_I_PICK(forty_bits, forty_bits, 2, 1, 0, 5, 4, 10, 9, 8, 13, 12, 0, 0, 0, 0, 0, 0);
    const uint64_t head = ((sno_i_u64x2)bytes)[0];
    const uint16_t tail = ((sno_i_u16x8)bytes)[4];
    sno_id id;
    memcpy(id.bytes, &head, sizeof head);
    memcpy(id.bytes + 8, &tail, sizeof tail);
    return id;
}

#else

SNO_I_FN sno_id sno_i_join_vector(sno_i_u8x16 bytes) {
    const sno_i_u16x8 values = (sno_i_u16x8)bytes;
    const sno_i_u16x8 ten_bits = (values << 5 & 0x3e0) | values >> 8;
#if defined(SNO_I_X86)
    const sno_i_s16x8 scales = {1 << 10, 1, 1 << 10, 1, 1 << 10, 1, 1 << 10, 1};
    const sno_i_u64x2 twenty_bits =
        (sno_i_u64x2)__builtin_ia32_pmaddwd128((sno_i_s16x8)ten_bits, scales);
#else
    const sno_i_u32x4 each_two = (sno_i_u32x4)ten_bits;
    const sno_i_u64x2 twenty_bits = (sno_i_u64x2)((each_two << 10 & 0xffc00) | each_two >> 16);
#endif
    const sno_i_u64x2 forty_bits = twenty_bits << 32 >> 12 | twenty_bits >> 32;
    return sno_i_id_of_halves(forty_bits[0], forty_bits[1]);
}

#endif

SNO_I_FN sno_id sno_i_decode_vector(const char *text) {
    sno_i_u8x16 c;
    memcpy(&c, text, sizeof c);
    return sno_i_join_vector(sno_i_smaller(c - '2', c - ('a' - 8)));
}

/* gcc for Windows does not align the stack for 32-byte values. */
#if defined(SNO_I_X86) && (!defined(_WIN32) || defined(__clang__))
#define SNO_I_AVX2 __attribute__((target("avx2")))

#ifdef __AVX2__
#define SNO_I_HAS_AVX2 true
#else
#define SNO_I_HAS_AVX2 (__builtin_cpu_supports("avx2") != 0) /* a load and a test */
#endif

typedef char sno_i_c8x32 __attribute__((vector_size(32)));
typedef uint8_t sno_i_u8x32 __attribute__((vector_size(32)));
typedef int16_t sno_i_s16x16 __attribute__((vector_size(32)));
typedef uint16_t sno_i_u16x16 __attribute__((vector_size(32)));
typedef uint64_t sno_i_u64x4 __attribute__((vector_size(32)));
typedef long long sno_i_halves __attribute__((vector_size(32)));

SNO_I_AVX2 SNO_I_FN sno_i_u8x32 sno_i_smaller_avx2(sno_i_u8x32 a, sno_i_u8x32 b) {
#if defined(__clang__)
    const sno_i_u8x32 is_a = (sno_i_u8x32)(a < b);
    return (a & is_a) | (b & ~is_a);
#else
    return (sno_i_u8x32)__builtin_ia32_pminub256((sno_i_c8x32)a, (sno_i_c8x32)b);
#endif
}

SNO_I_AVX2 SNO_I_FN sno_i_u8x32 sno_i_saturated_sum_avx2(sno_i_u8x32 a, uint8_t b) {
    const sno_i_u8x32 zero = {0}, each = zero + b;
#if defined(__clang__)
    const sno_i_u8x32 sum = a + each;
    return sum | (sno_i_u8x32)(sum < a);
#else
    return (sno_i_u8x32)__builtin_ia32_paddusb256((sno_i_c8x32)a, (sno_i_c8x32)each);
#endif
}

/* The loops over ids load and store more bytes than the ids have, so they leave the first or the
 * last, which have none before or after them, to the forms above. */

/* Two ids from 6 bytes before the first on: each lies in a half of its own. */
SNO_I_AVX2 SNO_I_FN void sno_i_encode_n_avx2(const sno_id *ids, size_t n, char *out) {
    const sno_i_c8x32 pairs_of_bytes = {7, 6, 8, 7, 9, 8, 10, 9, 12, 11, 13, 12, 14, 13, 15, 14,
                                        1, 0, 2, 1, 3, 2, 4,  3, 6,  5,  7,  6,  8,  7,  9,  8};
    const sno_i_u16x16 scales = {1, 4, 16, 64, 1, 4, 16, 64, 1, 4, 16, 64, 1, 4, 16, 64};
    const sno_i_u8x32 zero = {0}, eights = zero + 8;
    const sno_i_u64x4 offsets = {SNO_I_EACH_BYTE('2'), 'a' - 8, SNO_I_EACH_BYTE('2'), 'a' - 8};
    size_t i = 0;
    for (; i < 2 && i < n; i++) /* two, which leaves text where aligned stores want it */
        sno_i_encode_vector(ids[i], out + 16 * i);
    for (; i + 2 < n; i += 2) {
        sno_i_c8x32 bytes;
        memcpy(&bytes, (const char *)ids + sizeof *ids * i - 6, sizeof bytes);
        const sno_i_u16x16 ten_bits =
            (sno_i_u16x16)__builtin_ia32_pshufb256(bytes, pairs_of_bytes) * scales;
        const sno_i_u8x32 values = (sno_i_u8x32)(ten_bits >> 11 | (ten_bits << 2 & 0x1f00));
        const sno_i_u8x32 kinds = sno_i_smaller_avx2(values, eights);
        const sno_i_u8x32 offset =
            (sno_i_u8x32)__builtin_ia32_pshufb256((sno_i_c8x32)offsets, (sno_i_c8x32)kinds);
        const sno_i_u8x32 text = values + offset;
        memcpy(out + 16 * i, &text, sizeof text);
    }
    for (; i < n; i++) sno_i_encode_vector(ids[i], out + 16 * i);
}

SNO_I_AVX2 SNO_I_FN bool sno_i_is_text_n_avx2(const char *text, size_t n) {
    sno_i_u8x32 above = {0};
    size_t i = 0;
    for (; i + 1 < n; i += 2) {
        sno_i_u8x32 c;
        memcpy(&c, text + 16 * i, sizeof c);
        above |= sno_i_smaller_avx2(sno_i_saturated_sum_avx2(c - '2', 120),
                                    sno_i_saturated_sum_avx2(c - 'a', 104));
    }
    return __builtin_ia32_pmovmskb256((sno_i_c8x32)above) == 0 &&
           (i == n || sno_i_is_text_vector(text + 16 * i));
}

SNO_I_AVX2 SNO_I_FN void sno_i_decode_n_avx2(const char *text, size_t n, sno_id *out) {
    const sno_i_u64x4 zero = {0}, value_scales = zero + UINT64_C(0x0120012001200120);
    const sno_i_u64x4 ten_bit_scales = zero + UINT64_C(0x0001040000104000);
    const sno_i_c8x32 order_of_bytes = {2, 1, 0, 5, 4, 10, 9, 8, 13, 12, -1, -1, -1, -1, -1, -1,
                                        2, 1, 0, 5, 4, 10, 9, 8, 13, 12, -1, -1, -1, -1, -1, -1};
    size_t i = 0;
    for (; i + 2 < n; i += 2) {
        sno_i_u8x32 c;
        memcpy(&c, text + 16 * i, sizeof c);
        const sno_i_u8x32 values = sno_i_smaller_avx2(c - '2', c - ('a' - 8));
        const sno_i_s16x16 ten_bits =
            __builtin_ia32_pmaddubsw256((sno_i_c8x32)values, (sno_i_c8x32)value_scales);
        const sno_i_u64x4 twenty_bits =
            (sno_i_u64x4)__builtin_ia32_pmaddwd256(ten_bits, (sno_i_s16x16)ten_bit_scales);
        const sno_i_halves two_ids = (sno_i_halves)__builtin_ia32_pshufb256(
            (sno_i_c8x32)(twenty_bits | twenty_bits >> 48), order_of_bytes);
        const sno_i_u64x2 first = (sno_i_u64x2)__builtin_ia32_extract128i256(two_ids, 0);
        const sno_i_u64x2 second = (sno_i_u64x2)__builtin_ia32_extract128i256(two_ids, 1);
        memcpy(&out[i], &first, sizeof first);
        memcpy(&out[i + 1], &second, sizeof second);
    }
    for (; i < n; i++) out[i] = sno_i_decode_vector(text + 16 * i);
}

#endif /* SNO_I_AVX2 */

#define SNO_I_BEST(primitive) sno_i_##primitive##_vector

#else
#define SNO_I_BEST(primitive) sno_i_##primitive##_portable
#endif

SNO_API void sno_encode(sno_id id, char out[16]) { SNO_I_BEST(encode)(id, out); }

SNO_API sno_status sno_decode(const char *text, size_t len, sno_id *id) {
    if (text == NULL || len != 16 || !SNO_I_BEST(is_text)(text)) return SNO_PARSE;
    *id = SNO_I_BEST(decode)(text);
    return SNO_OK;
}

SNO_API void sno_encode_n(const sno_id *ids, size_t n, char *out) {
#ifdef SNO_I_AVX2
    if (SNO_I_HAS_AVX2) {
        sno_i_encode_n_avx2(ids, n, out);
        return;
    }
#endif
    for (size_t i = 0; i < n; i++) SNO_I_BEST(encode)(ids[i], out + 16 * i);
}

SNO_I_FN bool sno_i_is_text_n(const char *text, size_t n) {
#ifdef SNO_I_AVX2
    if (SNO_I_HAS_AVX2) return sno_i_is_text_n_avx2(text, n);
#endif
    for (size_t i = 0; i < n; i++) {
        if (!SNO_I_BEST(is_text)(text + 16 * i)) return false;
    }
    return true;
}

SNO_API sno_status sno_decode_n(const char *text, size_t n, sno_id *out) {
    if ((text == NULL && n > 0) || !sno_i_is_text_n(text, n)) return SNO_PARSE;
#ifdef SNO_I_AVX2
    if (SNO_I_HAS_AVX2) {
        sno_i_decode_n_avx2(text, n, out);
        return SNO_OK;
    }
#endif
    for (size_t i = 0; i < n; i++) out[i] = SNO_I_BEST(decode)(text + 16 * i);
    return SNO_OK;
}

SNO_API void sno_to_json(sno_id id, char out[19]) {
    if (sno_is_zero(id)) {
        memcpy(out, "null", sizeof "null");
        return;
    }
    out[0] = '"';
    sno_encode(id, out + 1);
    memcpy(out + 17, "\"", sizeof "\"");
}

SNO_API sno_status sno_from_json(const char *text, size_t len, sno_id *id) {
    if (text == NULL) return SNO_PARSE;
    if (len == 4 && memcmp(text, "null", 4) == 0) {
        *id = sno_i_id(0, 0);
        return SNO_OK;
    }
    if (len != 18 || text[0] != '"' || text[17] != '"') return SNO_PARSE;
    return sno_decode(text + 1, 16, id);
}

/* A UUID is 16 bytes, and so is the text: its characters in hex, 8-4-4-4-12, with a final NUL. */
SNO_I_FN bool sno_i_uuid_has_hyphen_before(size_t byte) {
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

SNO_API void sno_to_uuid(sno_id id, char out[37]) {
    char text[16];
    sno_encode(id, text);
    for (size_t i = 0; i < sizeof text; i++) {
        if (sno_i_uuid_has_hyphen_before(i)) *out++ = '-';
        *out++ = "0123456789abcdef"[(unsigned char)text[i] >> 4];
        *out++ = "0123456789abcdef"[(unsigned char)text[i] & 15];
    }
    *out = '\0';
}

/* 0 to 15, or more for what is no hex digit. */
SNO_I_FN unsigned sno_i_hex_digit(char c) {
    if (c >= '0' && c <= '9') return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f') return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return (unsigned)(c - 'A') + 10;
    return 16;
}

SNO_API sno_status sno_from_uuid(const char *text, size_t len, sno_id *id) {
    if (text == NULL || len != 36) return SNO_PARSE;
    char bytes[16];
    for (size_t i = 0; i < sizeof bytes; i++) {
        if (sno_i_uuid_has_hyphen_before(i) && *text++ != '-') return SNO_PARSE;
        const unsigned high = sno_i_hex_digit(*text++), low = sno_i_hex_digit(*text++);
        if (high > 15 || low > 15) return SNO_PARSE;
        bytes[i] = (char)(high << 4 | low);
    }
    return sno_decode(bytes, sizeof bytes, id);
}

// >>generators

/* A snapshot with its defaults filled in and its bounds in order. */
SNO_I_FN sno_snapshot sno_i_resolved(const sno_snapshot *given) {
    sno_snapshot s = *given;
    if (!s.sequence_max && s.sequence_min != UINT16_MAX) s.sequence_max = UINT16_MAX;
    if (s.sequence_min > s.sequence_max) {
        uint16_t min = s.sequence_max;
        s.sequence_max = s.sequence_min;
        s.sequence_min = min;
    }
    if (!s.sequence) s.sequence = s.sequence_min;
    return s;
}

/* What options, or NULL, say of the engine, with `cap` numbers. */
SNO_I_FN sno_i_setup sno_i_setup_of(const sno_options *o, uint32_t cap) {
    sno_i_setup setup;
    memset(&setup, 0, sizeof setup);
    setup.epoch_ms = SNO_I_EPOCH_NS / 1000000;
    setup.unit_ms = SNO_I_UNIT_NS / 1000000;
    setup.time_bits = 39;
    setup.tick_bits = 1;
    setup.cap = cap;
    setup.max_wait_ms = INT64_MAX;
    if (!o) return setup;
    if (o->max_wait_ms) setup.max_wait_ms = o->max_wait_ms;
    setup.shared_memory = o->shared_memory;
    setup.clock = o->clock;
    setup.ring = o->overflow;
    setup.gate = o->gate;
    setup.state = o->state;
    return setup;
}

SNO_API const char *sno_options_why(const sno_options *o) {
    const int64_t last = (int64_t)1 << 39;
    if (!o) return NULL;
    sno_i_split split;
    const sno_i_setup setup = sno_i_setup_of(o, UINT16_MAX + 1);
    const char *why = sno_i_setup_why(&setup, &split);
    if (!why && o->exclusive && !SNO_I_HAS_FILES) return "exclusive " SNO_I_WHY_NO_FILES;
    if (!why && o->exclusive && !(o->snapshot && sno_i_may_exclude(o->exclusive, o->shared_memory)))
        return "exclusive is no path of a folder, has no snapshot, or goes with shared_memory";
    if (why || !o->snapshot) return why;
    const sno_snapshot s = sno_i_resolved(o->snapshot);
    if (s.sequence_min == s.sequence_max)
        return "snapshot.sequence_min and sequence_max are the same: a pool has 4 numbers or more";
    if (s.sequence_max - s.sequence_min < 3)
        return "snapshot.sequence_min and sequence_max span fewer than 4 numbers";
    if (s.sequence < s.sequence_min) return "snapshot.sequence is under the pool's lower bound";
    if (s.sequence - s.sequence_min >= 3u << 22)
        return "snapshot.sequence is further past the pool than a queue can be";
    if (s.wall_hi < 0 || s.wall_hi >= last) return "snapshot.wall_hi is outside 2010..2079";
    if (s.wall_safe < 0 || s.wall_safe >= last) return "snapshot.wall_safe is outside 2010..2079";
    return NULL;
}

/* Partitions given away: consecutive, from a random start. The count lies in memory that forked
 * children share, so that relatives don't take the same one. A machine's clone has a copy of it, so
 * the first relative that takes one after a bump chooses another start.
 *
 *     label      at                                   pairs with   and carries
 *     PAGE:R     family, default generator published  PAGE:A       what its maker left in it
 *
 * The shared page is put in the place of one of the module's own (Linux), so that nothing of it
 * stays when the module is closed. That can be done once: a second page put there would take the
 * first one's count away. So whoever asks first does it, and the others give him a ms. Who has
 * waited in vain (the first may be what this signal handler has interrupted) publishes a page
 * elsewhere, which stays when the module goes. */
struct sno_i_family {
    sno_i_atomic32 start; /* [ bumps:15 ][ 1 ][ first:16 ]; 0: not chosen yet */
    sno_i_atomic32 used;
};
#define sno_i_partitions SNO_I_LAYOUT(sno_i_partitions, 2) /* its number: see sno_i_process */
struct sno_i_partitions {
    SNO_ATOMIC(struct sno_i_family *) family; /* NULL: not asked for yet */
    struct sno_i_family private_family;       /* where memory can't be shared */
    sno_i_atomic32 asked;                     /* how often while there was none */
    sno_i_page_room room;                     /* of the family's page */
};
#if defined(__cplusplus)
extern "C" {
#endif
extern struct sno_i_partitions sno_i_partitions;
SNO_I_ONE_PER_PROCESS(struct sno_i_partitions, sno_i_partitions);
#if defined(__cplusplus)
}
#endif

/* Another's family, who may be about to publish it: in at most 50 naps of 20 us. NULL: not yet. */
SNO_I_COLD struct sno_i_family *sno_i_await_family(void) {
    struct sno_i_family *family = NULL;
    for (int naps = 0; naps < 50 && !family; naps++) {
        SNO_SLEEP_NS(20000);
        family = SNO_ATOMIC_LOAD(&sno_i_partitions.family, acquire); /* PAGE:A */
    }
    return family;
}

SNO_I_FN struct sno_i_family *sno_i_get_family(void) {
    struct sno_i_partitions *const p = &sno_i_partitions;
    struct sno_i_family *family = SNO_ATOMIC_LOAD(&p->family, acquire); /* PAGE:A */
    if (family) return family;
    const bool is_first = SNO_ATOMIC_ADD(&p->asked, 1u, relaxed) == 0;
    if (!is_first && (family = sno_i_await_family()) != NULL) return family;
    void *const page = sno_i_new_page(true);
    void *const moved = page && is_first ? sno_i_move_page(page, &p->room) : page;
    struct sno_i_family *fresh = moved ? (struct sno_i_family *)moved : &p->private_family;
    if (SNO_ATOMIC_CAS(&p->family, &family, fresh, release, acquire)) return fresh; /* PAGE:R */
    if (page && moved == page) sno_i_drop_page(page); /* one that was moved is the module's now */
    return family;
}

/* From the system's random bytes; but a machine's clone may get the same ones as its twin, and some
 * system may have none, so time and process have a part in it. */
SNO_I_FN uint16_t sno_i_random_partition(void) {
    const uint64_t own = (uint64_t)SNO_CLOCK_NS(SNO_CLOCK_EXACT) ^ sno_i_pid_mark() << 40;
    uint16_t drawn = 0;
    (void)sno_i_random_bytes(&drawn, sizeof drawn);
    return (uint16_t)(drawn ^ own * 0x9e3779b97f4a7c15 >> 48);
}

/* Lock-free once there is a family. Only the RMW on `used` gives a partition away, so relaxed will
 * do. */
SNO_I_FN sno_status sno_i_take_partition(uint16_t *partition) {
    struct sno_i_family *family = sno_i_get_family();
    uint32_t start = SNO_ATOMIC_LOAD(&family->start, relaxed);
    const uint32_t bumps = SNO_ATOMIC_LOAD(&sno_i_process.bumps, relaxed) & 0x7fff;
    const uint32_t missed = (bumps - (start >> 17)) & 0x7fff; /* half and more: is ahead of us */
    if (!start || (missed && missed < 0x4000)) {
        const uint32_t chosen = sno_i_random_partition() | 1u << 16 | bumps << 17;
        if (SNO_ATOMIC_CAS(&family->start, &start, chosen, relaxed, relaxed)) start = chosen;
    }
    uint32_t used = SNO_ATOMIC_LOAD(&family->used, relaxed);
    do {
        if (used == UINT16_MAX) return SNO_EXHAUSTED;
    } while (!SNO_ATOMIC_CAS(&family->used, &used, used + 1, relaxed, relaxed));
    *partition = (uint16_t)(start + used);
    return SNO_OK;
}

/* The engine for `cap` numbers, from sequence_min on. */
SNO_I_FN sno_status sno_i_gen_init(sno_gen *g, const sno_options *o, uint16_t partition,
                                   uint16_t sequence_min, uint32_t cap) {
    const sno_i_setup setup = sno_i_setup_of(o, cap);
    const sno_status status = sno_i_engine_init(&g->engine, &setup);
    if (status != SNO_OK) return status;
    SNO_ASSERT(g->engine.time_shift == SNO_I_TIME_SHIFT);
    g->partition = partition;
    g->sequence_min = sequence_min;
    g->exclusive.fd = -1;
    SNO_ATOMIC_STORE(&g->with_time, 0u, relaxed);
    return SNO_OK;
}

/* Puts a fresh generator where the snapshot stands: `count` numbers drawn since unit wall_hi. */
SNO_I_FN void sno_i_go_on(sno_gen *g, const sno_snapshot *s, uint64_t count) {
    sno_i_engine *e = &g->engine;
    const uint64_t time = (uint64_t)s->wall_hi, tick = s->drifts & 1;
    SNO_ATOMIC_STORE(&e->word, time << e->time_shift | tick << (e->time_shift - 1) | count,
                     relaxed);
    SNO_ATOMIC_STORE(&e->safe[tick ^ 1], (uint64_t)s->wall_safe, relaxed);
    SNO_ATOMIC_STORE(&e->drifts, s->drifts, relaxed);
    SNO_ATOMIC_STORE(&e->rebased, 0 - count, relaxed); /* not drawn here */
}

/* What a state file says it is for. */
SNO_I_FN void sno_i_identity(const sno_snapshot *pool, uint8_t out[SNO_I_IDENTITY]) {
    memset(out, 0, SNO_I_IDENTITY);
    out[0] = 's';
    sno_i_put64(out + 32, pool->partition);
    sno_i_put64(out + 40, pool->sequence_min);
    sno_i_put64(out + 48, pool->sequence_max);
}

/* Whether the options' state is open, and for their pool. */
SNO_I_FN bool sno_i_state_is_for(const sno_options *o) {
    uint8_t own[SNO_I_IDENTITY];
    if (!o->snapshot) return false;
    const sno_snapshot pool = sno_i_resolved(o->snapshot);
    sno_i_identity(&pool, own);
    return SNO_ATOMIC_LOAD(&o->state->is_open, relaxed) &&
           memcmp(o->state->identity, own, SNO_I_IDENTITY) == 0;
}

/* With options.exclusive takes the pool on this host. */
SNO_I_FN sno_status sno_i_exclude_pool(sno_i_file *file, const sno_options *o,
                                       const sno_snapshot *pool) {
    uint8_t identity[SNO_I_IDENTITY];
    file->fd = -1;
    if (!o->exclusive) return SNO_OK;
    sno_i_identity(pool, identity);
    return sno_i_exclude(file, o->exclusive, identity, 40, pool->sequence_min, pool->sequence_max);
}

SNO_API void sno_retire(sno_gen *g) {
    sno_i_exclude_no_more(&g->exclusive, sno_i_is_inherited(&g->engine));
}

SNO_API sno_status sno_init(sno_gen *g, const sno_options *o) {
    if (sno_options_why(o)) return SNO_INVALID;
    if (o && o->state && sno_i_state_is_stale(o->state)) return SNO_FORKED;
    if (o && o->state && !sno_i_state_is_for(o)) return SNO_FOREIGN;
    sno_status status;
    if (!o || !o->snapshot) {
        uint16_t partition;
        status = sno_i_take_partition(&partition);
        if (status == SNO_OK) status = sno_i_gen_init(g, o, partition, 0, UINT16_MAX + 1);
        if (status == SNO_OK) sno_i_begin_behind(&g->engine, o && o->begin_later);
        return status;
    }
    const sno_snapshot s = sno_i_resolved(o->snapshot);
    sno_i_file exclusive;
    status = sno_i_exclude_pool(&exclusive, o, &s);
    if (status != SNO_OK) return status;
    status = sno_i_gen_init(g, o, s.partition, s.sequence_min,
                            (uint32_t)(s.sequence_max - s.sequence_min) + 1);
    if (status != SNO_OK) {
        sno_i_exclude_no_more(&exclusive, false);
        return status;
    }
    g->exclusive = exclusive;
    sno_i_go_on(g, &s, s.sequence - s.sequence_min + 1);
    sno_i_begin_behind(&g->engine, o->exclusive || o->begin_later);
    return SNO_OK;
}

SNO_API sno_status sno_reinit_after_fork(sno_gen *g, const sno_options *o) {
    if (!g->engine.cap || !sno_i_is_inherited(&g->engine) || sno_options_why(o)) return SNO_INVALID;
    if (o && o->snapshot) {
        const sno_snapshot s = sno_i_resolved(o->snapshot);
        if (s.partition == g->partition && s.sequence_min < g->sequence_min + g->engine.cap &&
            g->sequence_min <= s.sequence_max)
            return SNO_INVALID;
    }
    sno_i_file parents = g->exclusive;
    const sno_status status = sno_init(g, o);
    if (status == SNO_OK) sno_i_exclude_no_more(&parents, true);
    return status;
}

/* The pool of the file at the path with that ending, if there is one that can be read: whether the
 * run may go on from it is looked at later, with the file locked. */
SNO_I_FN bool sno_i_pool_on_file(const char *path, const char *ending, sno_snapshot *pool) {
    char place[SNO_I_PATH];
    uint8_t bytes[SNO_I_FILE];
    sno_i_record r;
    if (!path || strlen(path) >= SNO_I_PATH - SNO_I_ENDING) return false;
    sno_i_path_with(path, ending, place);
    const sno_i_calm calm = sno_i_calm_begin();
    const int fd = sno_i_open(place, SNO_I_READ);
    const int n = fd < 0 ? -1 : sno_i_read_at(fd, 0, bytes, sizeof bytes);
    if (fd >= 0) sno_i_close(fd);
    sno_i_calm_end(calm);
    if (n < 0 || sno_i_file_get(bytes, (size_t)n, &r) != SNO_OK || r.identity[0] != 's')
        return false;
    pool->partition = (uint16_t)sno_i_get64(r.identity + 32);
    pool->sequence_min = (uint16_t)sno_i_get64(r.identity + 40);
    pool->sequence_max = (uint16_t)sno_i_get64(r.identity + 48);
    return true;
}

SNO_API sno_status sno_state_open(sno_state *s, const sno_state_options *where, sno_snapshot *pool,
                                  sno_why *why) {
    sno_snapshot wanted = sno_i_resolved(pool);
    uint8_t identity[SNO_I_IDENTITY];
    if (!pool->partition && !pool->sequence_min && !pool->sequence_max &&
        !sno_i_pool_on_file(where->path, "", &wanted) &&
        /* who died while he made it left that: of another pool, it would be refused for ever */
        !sno_i_pool_on_file(where->path, SNO_I_FRESH, &wanted) &&
        sno_i_take_partition(&wanted.partition) != SNO_OK)
        return sno_i_say(why, SNO_EXHAUSTED, "pool", "all partitions are used up");
    if (wanted.sequence_max - wanted.sequence_min < 3)
        return sno_i_say(why, SNO_INVALID, "pool", "has fewer than 4 numbers");
    sno_i_identity(&wanted, identity);
    const sno_status status = sno_i_state_open(s, where, identity, why);
    if (status != SNO_OK) return status;
    memset(pool, 0, sizeof *pool); /* where the last run was is the state's floor */
    pool->partition = wanted.partition;
    pool->sequence_min = wanted.sequence_min;
    pool->sequence_max = wanted.sequence_max;
    return SNO_OK;
}

/* Time and tick stand in an id as they do in the word. */
SNO_I_INLINE uint64_t sno_i_place_head(const sno_gen *g, uint8_t meta, uint64_t unit) {
    return unit | (uint64_t)meta << 16 | g->partition;
}

SNO_I_INLINE sno_id sno_i_place_id(const sno_gen *g, uint8_t meta, const sno_i_place *place) {
    return sno_i_id(sno_i_place_head(g, meta, place->head),
                    (uint16_t)(g->sequence_min + place->index));
}

SNO_I_INLINE sno_status sno_i_one_after(sno_gen *g, unsigned how, uint64_t word, int64_t now_ns,
                                        uint8_t meta, sno_id *id) {
    sno_i_place place;
    const sno_status status = sno_i_draw_on(&g->engine, how, word, now_ns, 1, &place);
    if (status == SNO_OK) *id = sno_i_place_id(g, meta, &place);
    return status;
}

SNO_I_APART sno_status sno_i_one_on(sno_gen *g, unsigned how, uint64_t word, int64_t now_ns,
                                    uint8_t meta, sno_id *id) {
    return sno_i_one_after(g, how, word, now_ns, meta, id);
}

SNO_I_INLINE sno_status sno_i_one(sno_gen *g, unsigned how, int64_t given_ns, uint8_t meta,
                                  sno_id *id) {
    sno_i_place place;
    uint64_t word;
    int64_t now_ns;
    const unsigned left = sno_i_draw_soon(&g->engine, how, given_ns, 1, &word, &now_ns, &place);
    if (!SNO_I_LIKELY(!left)) return sno_i_one_on(g, how | left, word, now_ns, meta, id);
    *id = sno_i_place_id(g, meta, &place);
    return SNO_OK;
}

SNO_I_APART sno_id sno_i_one_or_zero_on(sno_gen *g, unsigned how, uint64_t word, int64_t now_ns,
                                        uint8_t meta) {
    sno_id id = sno_i_id(0, 0);
    (void)sno_i_one_after(g, how, word, now_ns, meta, &id);
    return id;
}

SNO_I_INLINE sno_id sno_i_one_or_zero(sno_gen *g, unsigned how, uint8_t meta) {
    sno_i_place place;
    uint64_t word;
    int64_t now_ns;
    const unsigned left = sno_i_draw_soon(&g->engine, how, 0, 1, &word, &now_ns, &place);
    if (SNO_I_LIKELY(!left)) return sno_i_place_id(g, meta, &place);
    return sno_i_one_or_zero_on(g, how | left, word, now_ns, meta);
}

#ifdef SNO_I_AVX2
/* Sixteen ids are five vectors. From one sixteen to the next only the sequence numbers change, by 16.
 * They are big-endian: a lane has the low byte on top, where an addition loses its carry. Where the low
 * byte is below 16 it has just begun again, and the high byte gets its carry.
 *
 * For 64 ids and more; returns how many it has written. */
SNO_I_AVX2 SNO_I_FN uint64_t sno_i_fill_avx2(sno_id *ids, uint64_t n, uint64_t head,
                                             uint64_t first) {
    const sno_i_u16x16 is_seq0 = {0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    const sno_i_u16x16 is_seq1 = {0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0};
    const sno_i_u16x16 is_seq2 = {0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0};
    const sno_i_u16x16 is_seq3 = {0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0};
    const sno_i_u16x16 is_seq4 = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    uint64_t i = 0;
    for (; i < 15 && (uintptr_t)(ids + i) % 32 != 0; i++) /* aligned stores are twice as fast */
        ids[i] = sno_i_id(head, (uint16_t)(first + i));
    sno_id sixteen[16];
    for (unsigned k = 0; k < 16; k++) sixteen[k] = sno_i_id(head, (uint16_t)(first + i + k));
    sno_i_u16x16 part0, part1, part2, part3, part4;
    memcpy(&part0, (const uint8_t *)sixteen, sizeof part0);
    memcpy(&part1, (const uint8_t *)sixteen + 32, sizeof part1);
    memcpy(&part2, (const uint8_t *)sixteen + 64, sizeof part2);
    memcpy(&part3, (const uint8_t *)sixteen + 96, sizeof part3);
    memcpy(&part4, (const uint8_t *)sixteen + 128, sizeof part4);
    while (n - i >= 16) {
        uint8_t *const to = (uint8_t *)(ids + i);
        memcpy(to, &part0, sizeof part0);
        memcpy(to + 32, &part1, sizeof part1);
        memcpy(to + 64, &part2, sizeof part2);
        memcpy(to + 96, &part3, sizeof part3);
        memcpy(to + 128, &part4, sizeof part4);
        i += 16;
        part0 += is_seq0 * (16 << 8);
        part1 += is_seq1 * (16 << 8);
        part2 += is_seq2 * (16 << 8);
        part3 += is_seq3 * (16 << 8);
        part4 += is_seq4 * (16 << 8);
        if (((first + i + 15) & 255) >= 16 + 15) continue; /* no low byte is below 16 */
        part0 += is_seq0 & (sno_i_u16x16)(part0 < 16 << 8);
        part1 += is_seq1 & (sno_i_u16x16)(part1 < 16 << 8);
        part2 += is_seq2 & (sno_i_u16x16)(part2 < 16 << 8);
        part3 += is_seq3 & (sno_i_u16x16)(part3 < 16 << 8);
        part4 += is_seq4 & (sno_i_u16x16)(part4 < 16 << 8);
    }
    return i;
}
#endif

/* Nothing runs ahead of the clock here, so that a run ends with its unit. */
SNO_I_FN void sno_i_fill(const sno_gen *g, uint8_t meta, const sno_i_place *place, sno_id *ids) {
    const uint64_t head = sno_i_place_head(g, meta, place->head);
    const uint64_t first = g->sequence_min + place->index;
    uint64_t i = 0;
    SNO_ASSERT(place->n <= g->engine.cap - place->index);
#ifdef SNO_I_AVX2
    if (place->n >= 64 && SNO_I_HAS_AVX2) i = sno_i_fill_avx2(ids, place->n, head, first);
#endif
    for (; i < place->n; i++) ids[i] = sno_i_id(head, (uint16_t)(first + i));
}

/* Fills up to n; *done says how many. */
SNO_I_FN sno_status sno_i_many(sno_gen *g, unsigned how, uint8_t meta, sno_id *ids, size_t n,
                               size_t *done) {
    for (*done = 0; *done < n;) {
        sno_i_place place;
        sno_status status = sno_i_draw(&g->engine, how, 0, n - *done, &place);
        if (status != SNO_OK) return status;
        sno_i_fill(g, meta, &place, ids + *done);
        *done += (size_t)place.n;
    }
    return SNO_OK;
}

SNO_I_FN sno_status sno_i_all(sno_gen *g, unsigned how, uint8_t meta, sno_id *ids, size_t n) {
    size_t done;
    sno_status status = sno_i_many(g, how, meta, ids, n, &done);
    if (status != SNO_OK && done) memset(ids + done, 0, (n - done) * sizeof *ids);
    return status;
}

SNO_API sno_id sno_new(sno_gen *g, uint8_t meta) { return sno_i_one_or_zero(g, SNO_I_WAIT, meta); }

SNO_API sno_status sno_try(sno_gen *g, uint8_t meta, sno_id *id) {
    return sno_i_one(g, 0, 0, meta, id);
}

SNO_API int64_t sno_retry_ns(sno_gen *g) { return sno_i_retry_ns(&g->engine); }

SNO_API sno_status sno_new_n(sno_gen *g, uint8_t meta, sno_id *ids, size_t n) {
    return sno_i_all(g, SNO_I_WAIT, meta, ids, n);
}

SNO_API size_t sno_try_n(sno_gen *g, uint8_t meta, sno_id *ids, size_t n) {
    size_t done;
    (void)sno_i_many(g, 0, meta, ids, n, &done);
    return done;
}

SNO_API sno_status sno_try_at(sno_gen *g, uint8_t meta, int64_t unix_ns, sno_id *id) {
    return sno_i_one(g, SNO_I_GIVEN, unix_ns, meta, id);
}

SNO_API sno_status sno_new_with_time(sno_gen *g, uint8_t meta, int64_t unix_ns, sno_id *id) {
    if (!g->engine.cap) return SNO_INVALID;
    sno_status status = sno_i_still_ours(&g->engine); /* a child's turns would be its parent's */
    if (status != SNO_OK) return status;
    uint64_t units;
    status = sno_i_units_at(unix_ns, &units);
    if (status != SNO_OK) return status;
    const uint64_t turn = SNO_ATOMIC_ADD(&g->with_time, 1u, relaxed) % g->engine.cap;
    *id = sno_i_id(sno_i_place_head(g, meta, units << SNO_I_TIME_SHIFT),
                   (uint16_t)(g->sequence_min + turn));
    return SNO_OK;
}

SNO_API sno_status sno_snapshot_take(sno_gen *g, sno_snapshot *snapshot) {
    sno_i_engine *e = &g->engine;
    sno_snapshot s;
    uint64_t word, safe, drifts;
    unsigned tick;
    if (!e->cap) return SNO_INVALID;
    const sno_status status = sno_i_still_ours(e);
    if (status != SNO_OK) return status;
    memset(&s, 0, sizeof s);
    do { /* what belongs to the word is read between two equal readings of it */
        word = SNO_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
        tick = sno_i_tick(e, word);
        safe = SNO_ATOMIC_LOAD(&e->safe[tick ^ 1], acquire); /* SAFE:A: the second reading's word */
    } while (!sno_i_drifts_at(e, word, tick, &drifts));
    const uint64_t count = word & e->count_mask;
    const int64_t now_ns = sno_i_exact_ns(&e->clock);
    s.partition = g->partition;
    s.sequence_min = g->sequence_min;
    s.sequence_max = (uint16_t)(g->sequence_min + e->cap - 1);
    s.sequence = (uint32_t)(g->sequence_min + (count ? count - 1 : 0));
    s.now = now_ns < SNO_I_EPOCH_NS ? 0 : (now_ns - SNO_I_EPOCH_NS) / SNO_I_UNIT_NS;
    s.wall_hi = (int64_t)(word >> e->time_shift);
    s.wall_safe = (int64_t)sno_i_min(safe, e->max_time); /* a queue may reach past the last unit */
    s.drifts = (uint32_t)drifts;
    *snapshot = s;
    return SNO_OK;
}

SNO_API uint32_t sno_len(sno_gen *g) {
    sno_i_view v;
    int64_t now_ns;
    if (sno_i_peek(&g->engine, &v, &now_ns) != SNO_OK || v.now < v.time) return 0;
    return (uint32_t)sno_i_min(v.place, g->engine.cap);
}

SNO_API uint32_t sno_sequence_now(sno_gen *g) {
    const uint32_t drawn = sno_len(g);
    return g->sequence_min + (drawn ? drawn - 1 : 0);
}

SNO_API uint32_t sno_cap(const sno_gen *g) { return (uint32_t)g->engine.cap; }

SNO_API uint16_t sno_gen_partition(const sno_gen *g) { return g->partition; }

SNO_API void sno_stats_get(sno_gen *g, sno_stats *stats) { sno_i_stats(&g->engine, stats); }

SNO_API sno_status sno_shards_init(sno_shard *shards, size_t n, const sno_options *o) {
    sno_snapshot s;
    if (sno_options_why(o)) return SNO_INVALID;
    if (o && o->state && sno_i_state_is_stale(o->state)) return SNO_FORKED;
    if (o && o->state && !sno_i_state_is_for(o)) return SNO_FOREIGN;
    memset(&s, 0, sizeof s);
    s.sequence_max = UINT16_MAX;
    if (o && o->snapshot) s = sno_i_resolved(o->snapshot);
    const uint32_t cap = (uint32_t)(s.sequence_max - s.sequence_min) + 1;
    if (!n || n > cap) return SNO_INVALID;
    if (!o || !o->snapshot) {
        sno_status status = sno_i_take_partition(&s.partition);
        if (status != SNO_OK) return status;
    }
    /* After a snapshot every number of the units it has begun counts as drawn: which shard had which
     * is gone. */
    const uint32_t units = 1 + (s.sequence - s.sequence_min) / cap;
    uint32_t next = s.sequence_min;
    sno_i_file exclusive = {0, 0, -1};
    if (o && o->snapshot) {
        const sno_status status = sno_i_exclude_pool(&exclusive, o, &s);
        if (status != SNO_OK) return status;
    }
    for (size_t i = 0; i < n; i++) {
        const uint32_t share = (uint32_t)(cap / n + (i < cap % n));
        const sno_status status =
            sno_i_gen_init(&shards[i].gen, o, s.partition, (uint16_t)next, share);
        if (status != SNO_OK) { /* the options': so it is the first */
            sno_i_exclude_no_more(&exclusive, false);
            return status;
        }
        if (o && o->snapshot) sno_i_go_on(&shards[i].gen, &s, (uint64_t)units * share);
        sno_i_begin_behind(&shards[i].gen.engine, o && (o->exclusive || o->begin_later));
        next += share;
    }
    shards[0].gen.exclusive = exclusive;
    return SNO_OK;
}

SNO_API sno_gen *sno_shard_gen(sno_shard *s) { return &s->gen; }

SNO_API sno_status sno_shards_snapshot(sno_shard *shards, size_t n, sno_snapshot *snapshot) {
    sno_snapshot all, one;
    if (!n) return SNO_INVALID;
    memset(&all, 0, sizeof all);
    for (size_t i = 0; i < n; i++) {
        sno_status status = sno_snapshot_take(&shards[i].gen, &one);
        if (status != SNO_OK) return status;
        if (i == 0) all = one;
        const uint32_t queued = (one.sequence - one.sequence_min) / sno_cap(&shards[i].gen);
        const int64_t newest =
            (int64_t)sno_i_min((uint64_t)one.wall_hi + queued, shards[i].gen.engine.max_time);
        if (newest > all.wall_safe) all.wall_safe = newest;
        if (one.wall_safe > all.wall_safe) all.wall_safe = one.wall_safe;
        all.sequence_max = one.sequence_max;
    }
    all.wall_hi = all.wall_safe;
    all.sequence = all.sequence_max;
    *snapshot = all;
    return SNO_OK;
}

SNO_API sno_id sno_shard_new(sno_shard *s, uint8_t meta) {
    return sno_i_one_or_zero(&s->gen, SNO_I_OWNED | SNO_I_WAIT, meta);
}

SNO_API sno_status sno_shard_try(sno_shard *s, uint8_t meta, sno_id *id) {
    return sno_i_one(&s->gen, SNO_I_OWNED, 0, meta, id);
}

SNO_API int64_t sno_shard_retry_ns(sno_shard *s) { return sno_retry_ns(&s->gen); }

SNO_API sno_status sno_shard_new_n(sno_shard *s, uint8_t meta, sno_id *ids, size_t n) {
    return sno_i_all(&s->gen, SNO_I_OWNED | SNO_I_WAIT, meta, ids, n);
}

SNO_API size_t sno_shard_try_n(sno_shard *s, uint8_t meta, sno_id *ids, size_t n) {
    size_t done;
    (void)sno_i_many(&s->gen, SNO_I_OWNED, meta, ids, n, &done);
    return done;
}

SNO_API sno_status sno_shard_try_at(sno_shard *s, uint8_t meta, int64_t unix_ns, sno_id *id) {
    return sno_i_one(&s->gen, SNO_I_OWNED | SNO_I_GIVEN, unix_ns, meta, id);
}

SNO_API sno_status sno_pool_init(sno_pool *p, sno_shard *shards, size_t n, const sno_options *o) {
    sno_status status = sno_shards_init(shards, n, o);
    if (status != SNO_OK) return status;
    p->shards = shards;
    p->n = n;
    SNO_ATOMIC_STORE(&p->hint, 0u, relaxed);
    return SNO_OK;
}

SNO_API sno_shard *sno_pool_borrow(sno_pool *p) {
    /* the engine is the first member of the generator, and that of the shard */
    return (sno_shard *)(void *)sno_i_lend(p->shards, sizeof *p->shards, p->n, &p->hint);
}

SNO_API void sno_pool_give_back(sno_pool *p, sno_shard *shard) {
    SNO_ASSERT(shard >= p->shards && shard < p->shards + p->n);
    (void)p;
    sno_i_take_back(&shard->gen.engine);
}

// >>lanes

/* The lanes of a whole that has just begun. */
SNO_I_FN void sno_i_lanes_of(sno_lanes *l, sno_lane *lanes, size_t n, const sno_options *o) {
    const sno_i_setup setup = sno_i_setup_of(o, sno_cap(&l->whole));
    sno_i_lanes_begin(&l->split, lanes, n, &setup, &l->whole.engine);
}

/* Whether the options' pool has numbers for so many lanes; what else may be wrong with them, sno_init and
 * sno_reinit_after_fork say. */
SNO_I_FN bool sno_i_lanes_may(size_t n, const sno_options *o) {
    uint32_t cap = UINT16_MAX + 1;
    if (o && o->snapshot) {
        const sno_snapshot s = sno_i_resolved(o->snapshot);
        cap = (uint32_t)(s.sequence_max - s.sequence_min) + 1;
    }
    return sno_i_lanes_fit(n, cap);
}

SNO_API sno_status sno_lanes_init(sno_lanes *l, sno_lane *lanes, size_t n, const sno_options *o) {
    if (!sno_i_lanes_may(n, o)) return SNO_INVALID;
    const sno_status status = sno_init(&l->whole, o);
    if (status == SNO_OK) sno_i_lanes_of(l, lanes, n, o);
    return status;
}

SNO_API sno_status sno_lanes_reinit_after_fork(sno_lanes *l, const sno_options *o) {
    if (!sno_i_lanes_may(l->split.n, o)) return SNO_INVALID;
    const sno_status status = sno_reinit_after_fork(&l->whole, o);
    if (status == SNO_OK) sno_i_lanes_of(l, sno_i_lane(&l->split, 0), l->split.n, o);
    return status;
}

SNO_API void sno_lanes_retire(sno_lanes *l) { sno_retire(&l->whole); }

SNO_I_APART sno_status sno_i_lanes_one_on(sno_lanes *l, unsigned how, uint64_t word, int64_t now_ns,
                                          sno_lane *from, uint8_t meta, sno_id *id) {
    sno_i_place place;
    const sno_status status = sno_i_lanes_draw_on(&l->split, how, word, now_ns, 1, &place, &from);
    if (status == SNO_OK) {
        place.index += from->first;
        *id = sno_i_place_id(&l->whole, meta, &place);
    }
    return status;
}

SNO_API sno_status sno_lanes_try(sno_lanes *l, uint8_t meta, sno_id *id) {
    sno_i_place place;
    uint64_t word;
    int64_t now_ns;
    sno_lane *from;
    const unsigned left = sno_i_lanes_draw_soon(&l->split, 1, &word, &now_ns, &place, &from);
    if (!SNO_I_LIKELY(!left)) return sno_i_lanes_one_on(l, left, word, now_ns, from, meta, id);
    place.index += from->first;
    *id = sno_i_place_id(&l->whole, meta, &place);
    return SNO_OK;
}

SNO_I_APART sno_id sno_i_lanes_new_on(sno_lanes *l, unsigned left, uint64_t word, int64_t now_ns,
                                      sno_lane *from, uint8_t meta) {
    sno_id id = sno_i_id(0, 0);
    (void)sno_i_lanes_one_on(l, SNO_I_WAIT | left, word, now_ns, from, meta, &id);
    return id;
}

SNO_I_FN sno_status sno_i_lanes_many(sno_lanes *l, unsigned how, uint8_t meta, sno_id *ids,
                                     size_t n, size_t *done) {
    for (*done = 0; *done < n;) {
        sno_i_place rest, unit;
        sno_lane *from;
        const sno_status status = sno_i_lanes_draw(&l->split, how, n - *done, &rest, &from);
        if (status != SNO_OK) return status;
        for (; sno_i_lane_cut(from, &rest, &unit); *done += (size_t)unit.n)
            sno_i_fill(&l->whole, meta, &unit, ids + *done);
    }
    return SNO_OK;
}

SNO_API sno_id sno_lanes_new(sno_lanes *l, uint8_t meta) {
    sno_i_place place;
    uint64_t word;
    int64_t now_ns;
    sno_lane *from;
    const unsigned left = sno_i_lanes_draw_soon(&l->split, 1, &word, &now_ns, &place, &from);
    if (!SNO_I_LIKELY(!left)) return sno_i_lanes_new_on(l, left, word, now_ns, from, meta);
    place.index += from->first;
    return sno_i_place_id(&l->whole, meta, &place);
}

SNO_API int64_t sno_lanes_retry_ns(sno_lanes *l) { return sno_i_lanes_retry_ns(&l->split); }

SNO_API sno_status sno_lanes_new_n(sno_lanes *l, uint8_t meta, sno_id *ids, size_t n) {
    size_t done;
    const sno_status status = sno_i_lanes_many(l, SNO_I_WAIT, meta, ids, n, &done);
    if (status != SNO_OK && done) memset(ids + done, 0, (n - done) * sizeof *ids);
    return status;
}

SNO_API size_t sno_lanes_try_n(sno_lanes *l, uint8_t meta, sno_id *ids, size_t n) {
    size_t done;
    (void)sno_i_lanes_many(l, 0, meta, ids, n, &done);
    return done;
}

SNO_API uint64_t sno_lanes_available(sno_lanes *l) { return sno_i_lanes_available(&l->split); }

SNO_API void sno_lanes_stats_get(sno_lanes *l, sno_stats *stats) {
    sno_i_lanes_stats(&l->split, stats);
}

SNO_API sno_status sno_lanes_snapshot_take(sno_lanes *l, sno_snapshot *snapshot) {
    const sno_status status = sno_snapshot_take(&l->whole, snapshot);
    if (status != SNO_OK) return status;
    uint64_t time; /* of the words: the newest unit is what counts, since ticks are told by it */
    const uint64_t newest = sno_i_lanes_newest(&l->split, &time);
    snapshot->wall_hi = (int64_t)sno_i_min(newest, l->whole.engine.max_time);
    snapshot->wall_safe = snapshot->wall_hi;
    snapshot->sequence = snapshot->sequence_max;
    return SNO_OK;
}

// >>default
/* The process-wide generator: one engine for as long as the module is there, and a tag that says
 * whose ids it gives. A forked child goes on with its parent's word, as a copy, under a tag of its
 * own, and so does a process after a bump; so nothing is made anew, and nothing left behind.
 *
 * The engine lies in the module's memory, in one of a few places. Each thread that comes before
 * there is one makes one in a place that it has for itself, and the first to be done publishes his
 * whole, with one CAS (PAGE:R, PAGE:A). Nobody waits for anybody: who finds all places taken draws
 * from a generator on his stack, with a partition that is used up with the id.
 *
 * The tag is looked at after the draw. If the mark in it is still this process's, it was so when
 * the place was drawn, and the place, which is nobody else's (I1), goes with the tag's partition.
 * If not, the place is dropped. The tag carries nothing but itself, so relaxed will do; only a
 * partition that was just taken is put in it, so it never comes back to an earlier value. */
enum { SNO_I_DEFAULT_PLACES = 4 };
#define sno_i_default SNO_I_LAYOUT(sno_i_default, 2) /* its number: see sno_i_process */
struct sno_i_default {
    SNO_ATOMIC(sno_gen *) gen; /* NULL: there is none yet */
    sno_i_atomic64 tag;        /* [ the process's mark:48 ][ partition:16 ]; 0: none yet */
    sno_i_atomic64 begun;      /* see sno_i_take_place */
    sno_gen places[SNO_I_DEFAULT_PLACES];
};
#if defined(__cplusplus)
extern "C" {
#endif
extern struct sno_i_default sno_i_default;
SNO_I_ONE_PER_PROCESS(struct sno_i_default, sno_i_default);
#if defined(__cplusplus)
}
#endif

/* This process's mark, where a tag has it: the page's word, which counts generations, or with a bit
 * that such a count does not reach the pid, of 32 bits at most, with generations above. */
SNO_I_INLINE uint64_t sno_i_tag_mark(void) {
    sno_i_atomic64 *const page = SNO_ATOMIC_LOAD(&sno_i_process.page, relaxed);
    if (SNO_I_LIKELY(page != NULL)) return SNO_ATOMIC_LOAD(page, relaxed) << 16;
    return (sno_i_pid_mark() | (uint64_t)1 << 47) << 16;
}

SNO_I_INLINE bool sno_i_tag_is_ours(uint64_t tag) {
    return sno_i_tag_mark() == (tag & ~(uint64_t)0xffff);
}

/* A tag of this process's; 0: no partition is left. */
SNO_I_FN uint64_t sno_i_own_tag(void) {
    sno_i_atomic64 *word;
    uint64_t tag = SNO_ATOMIC_LOAD(&sno_i_default.tag, relaxed);
    uint16_t partition;
    (void)sno_i_fork_mark(&word); /* from here on there is a mark, and it is not 0 */
    const uint64_t mark = sno_i_tag_mark();
    if ((tag & ~(uint64_t)0xffff) == mark) return tag;
    if (sno_i_take_partition(&partition) != SNO_OK) return 0;
    return SNO_ATOMIC_CAS(&sno_i_default.tag, &tag, mark | partition, relaxed, relaxed)
               ? mark | partition
               : tag;
}

/* NULL: others are making it. */
SNO_I_FN sno_gen *sno_i_default_gen(void) {
    sno_gen *found = SNO_ATOMIC_LOAD(&sno_i_default.gen, acquire); /* PAGE:A */
    if (found) return found;
    const unsigned place = sno_i_take_place(&sno_i_default.begun, SNO_I_DEFAULT_PLACES);
    if (place == SNO_I_DEFAULT_PLACES) return NULL;
    sno_gen *const fresh = &sno_i_default.places[place];
    if (sno_i_gen_init(fresh, NULL, 0, 0, UINT16_MAX + 1) != SNO_OK) return NULL;
    fresh->engine.fork_word = fresh->engine.process_word = NULL; /* the tag tells instead */
    fresh->engine.fork_mark = fresh->engine.process_mark = 0;
    if (SNO_ATOMIC_CAS(&sno_i_default.gen, &found, fresh, release, acquire))
        return fresh; /* PAGE:R */
    return found;
}

SNO_I_INLINE sno_id sno_i_tagged_id(uint64_t tag, uint8_t meta, const sno_i_place *place) {
    return sno_i_id(place->head | (uint64_t)meta << 16 | (tag & 0xffff), (uint16_t)place->index);
}

SNO_I_COLD sno_id sno_i_generate_anew(uint8_t meta) {
    sno_i_place place;
    for (;;) {
        const uint64_t tag = sno_i_own_tag();
        sno_gen *const g = tag ? sno_i_default_gen() : NULL;
        if (!tag) return sno_i_id(0, 0);
        if (!g) {
            sno_gen own;
            sno_id id = sno_i_id(0, 0);
            if (sno_init(&own, NULL) == SNO_OK) (void)sno_new_n(&own, meta, &id, 1);
            return id;
        }
        if (sno_i_draw(&g->engine, SNO_I_WAIT, 0, 1, &place) != SNO_OK) return sno_i_id(0, 0);
        if (sno_i_tag_is_ours(tag)) return sno_i_tagged_id(tag, meta, &place);
    }
}

SNO_API sno_id sno_generate(uint8_t meta) {
    sno_gen *const g = SNO_ATOMIC_LOAD(&sno_i_default.gen, acquire); /* PAGE:A */
    const uint64_t tag = SNO_ATOMIC_LOAD(&sno_i_default.tag, relaxed);
    sno_i_place place;
    if (SNO_I_LIKELY(g != NULL)) {
        if (sno_i_draw(&g->engine, SNO_I_WAIT, 0, 1, &place) != SNO_OK) return sno_i_id(0, 0);
        if (SNO_I_LIKELY(sno_i_tag_is_ours(tag))) return sno_i_tagged_id(tag, meta, &place);
    }
    return sno_i_generate_anew(meta);
}

#ifdef SNO_LIBRARY
/* Of 19 digits at most. */
SNO_I_FN bool sno_i_read_decimal(const char *text, uint64_t *number) {
    const char *at = text;
    for (*number = 0; *at >= '0' && *at <= '9'; at++)
        *number = *number * 10 + (uint64_t)(*at - '0');
    return at != text && !*at;
}
#endif

// clang-format off
// >>library begin
#ifdef SNO_LIBRARY
typedef enum sno_i_field_kind { SNO_I_VALUE, SNO_I_TEXT, SNO_I_POINTER } sno_i_field_kind;

/* A field that is set by name. */
typedef struct sno_i_field {
    const char *name;
    size_t at, size;
    sno_i_field_kind kind;
    const char *const *words; /* what its values are called; NULL: they are numbers */
} sno_i_field;

#define SNO_I_FIELD(type, member, kind, words) \
    { #member, offsetof(type, member), sizeof(((type *)0)->member), kind, words }
#define SNO_I_NUMBER(type, member) SNO_I_FIELD(type, member, SNO_I_VALUE, NULL)
#define SNO_I_BOOL(type, member)   SNO_I_FIELD(type, member, SNO_I_VALUE, sno_i_bools)
#define SNO_I_CLOCK(type)                                         \
    SNO_I_FIELD(type, clock.kind, SNO_I_VALUE, sno_i_clocks), \
        SNO_I_FIELD(type, clock.now_ns, SNO_I_POINTER, NULL),   \
        SNO_I_FIELD(type, clock.user, SNO_I_POINTER, NULL)

SNO_I_TABLE const char *const sno_i_bools[] = {"false", "true", NULL};
SNO_I_TABLE const char *const sno_i_clocks[] = {"exact", "coarse", "fast", NULL};

/* A word's place, or a decimal number that the field can hold; fields of 64 bits have a sign. */
SNO_I_FN bool sno_i_field_value(const sno_i_field *f, const char *value, uint64_t *number) {
    const bool negative = !f->words && f->size == 8 && *value == '-';
    const uint64_t most =
        f->size == 8 ? (uint64_t)INT64_MAX + negative : (UINT64_C(1) << 8 * f->size) - 1;
    for (*number = 0; f->words && f->words[*number]; ++*number)
        if (strcmp(f->words[*number], value) == 0) return true;
    value += negative;
    if (f->words || strlen(value) > 19 || !sno_i_read_decimal(value, number) || *number > most)
        return false;
    if (negative) *number = 0 - *number;
    return true;
}

/* `value` is a text, or if it points what the field is to point to. */
SNO_I_FN sno_status sno_i_set(void *object, const sno_i_field *fields, size_t n,
                                    const char *name, bool points, const void *value,
                                    sno_why *why) {
    const sno_i_field *f = fields;
    uint64_t number;
    if (!object || !name) return sno_i_say(why, SNO_INVALID, "options or name", "is missing");
    while (f < fields + n && strcmp(f->name, name) != 0) f++;
    if (f == fields + n) return sno_i_say(why, SNO_INVALID, name, "there is no such option");
    if (points != (f->kind == SNO_I_POINTER))
        return sno_i_say(why, SNO_INVALID, name,
                           points ? "is no pointer"
                                  : "is a pointer: a call that ends in _point sets it");
    if (!points && !value) return sno_i_say(why, SNO_INVALID, name, "has no value");
    uint8_t *const to = (uint8_t *)object + f->at;
    if (f->kind != SNO_I_VALUE) {
        memcpy(to, &value, f->size);
        return SNO_OK;
    }
    if (!sno_i_field_value(f, (const char *)value, &number))
        return sno_i_say(why, SNO_PARSE, name,
                           f->words ? "has no such value" : "is no decimal number, or too large");
    const uint8_t of8 = (uint8_t)number;
    const uint16_t of16 = (uint16_t)number;
    const uint32_t of32 = (uint32_t)number;
    memcpy(to,
           f->size == 1   ? (const void *)&of8
           : f->size == 2 ? (const void *)&of16
           : f->size == 4 ? (const void *)&of32
                          : (const void *)&number,
           f->size);
    return SNO_OK;
}

SNO_I_TABLE const sno_i_field sno_i_state_fields[] = {
    SNO_I_FIELD(sno_state_options, path, SNO_I_TEXT, NULL),
    SNO_I_NUMBER(sno_state_options, horizon_ms),
    SNO_I_NUMBER(sno_state_options, allowable_downtime_ms),
    SNO_I_BOOL(sno_state_options, must_exist),
    SNO_I_BOOL(sno_state_options, no_wait),
    SNO_I_BOOL(sno_state_options, by_timer),
    SNO_I_BOOL(sno_state_options, shared_memory),
    SNO_I_CLOCK(sno_state_options),
};

#define SNO_I_SET(object, fields, name, points, value, why) \
    sno_i_set(object, fields, sizeof(fields) / sizeof *(fields), name, points, value, why)

SNO_API sno_status sno_state_options_set(sno_state_options *o, const char *name,
                                               const char *value, sno_why *why) {
    return SNO_I_SET(o, sno_i_state_fields, name, false, value, why);
}
SNO_API sno_status sno_state_options_point(sno_state_options *o, const char *name,
                                                 const void *to, sno_why *why) {
    return SNO_I_SET(o, sno_i_state_fields, name, true, to, why);
}
#endif
// >>library end
// clang-format on

#ifdef SNO_LIBRARY
SNO_I_TABLE const sno_i_field sno_i_snapshot_fields[] = {
    SNO_I_NUMBER(sno_snapshot, partition),    SNO_I_NUMBER(sno_snapshot, sequence_min),
    SNO_I_NUMBER(sno_snapshot, sequence_max), SNO_I_NUMBER(sno_snapshot, sequence),
    SNO_I_NUMBER(sno_snapshot, now),          SNO_I_NUMBER(sno_snapshot, wall_hi),
    SNO_I_NUMBER(sno_snapshot, wall_safe),    SNO_I_NUMBER(sno_snapshot, drifts),
};

SNO_I_TABLE const sno_i_field sno_i_options_fields[] = {
    SNO_I_FIELD(sno_options, snapshot, SNO_I_POINTER, NULL),
    SNO_I_CLOCK(sno_options),
    SNO_I_FIELD(sno_options, overflow, SNO_I_POINTER, NULL),
    SNO_I_FIELD(sno_options, state, SNO_I_POINTER, NULL),
    SNO_I_FIELD(sno_options, gate.admit, SNO_I_POINTER, NULL),
    SNO_I_FIELD(sno_options, gate.floor_ns, SNO_I_POINTER, NULL),
    SNO_I_FIELD(sno_options, gate.user, SNO_I_POINTER, NULL),
    SNO_I_FIELD(sno_options, gate.word, SNO_I_POINTER, NULL),
    SNO_I_FIELD(sno_options, exclusive, SNO_I_TEXT, NULL),
    SNO_I_NUMBER(sno_options, max_wait_ms),
    SNO_I_BOOL(sno_options, shared_memory),
    SNO_I_BOOL(sno_options, begin_later),
};

SNO_API sno_status sno_snapshot_set(sno_snapshot *s, const char *name, const char *value,
                                    sno_why *why) {
    return SNO_I_SET(s, sno_i_snapshot_fields, name, false, value, why);
}
SNO_API sno_status sno_options_set(sno_options *o, const char *name, const char *value,
                                   sno_why *why) {
    return SNO_I_SET(o, sno_i_options_fields, name, false, value, why);
}
SNO_API sno_status sno_options_point(sno_options *o, const char *name, const void *to,
                                     sno_why *why) {
    return SNO_I_SET(o, sno_i_options_fields, name, true, to, why);
}

SNO_API const char *sno_version(void) { return SNO_VERSION_STRING; }
SNO_API size_t sno_sizeof_options(void) { return sizeof(sno_options); }
SNO_API size_t sno_sizeof_gen(void) { return sizeof(sno_gen); }
SNO_API size_t sno_sizeof_shard(void) { return sizeof(sno_shard); }
SNO_API size_t sno_sizeof_pool(void) { return sizeof(sno_pool); }
SNO_API size_t sno_sizeof_lanes(void) { return sizeof(sno_lanes); }
SNO_API size_t sno_sizeof_lane(void) { return sizeof(sno_lane); }
SNO_API size_t sno_sizeof_ring(void) { return sizeof(sno_ring); }
SNO_API size_t sno_sizeof_ring_slot(void) { return sizeof(sno_ring_slot); }
SNO_API size_t sno_sizeof_state(void) { return sizeof(sno_state); }
SNO_API size_t sno_sizeof_state_options(void) { return sizeof(sno_state_options); }
SNO_API size_t sno_sizeof_id(void) { return sizeof(sno_id); }
SNO_API size_t sno_sizeof_stats(void) { return sizeof(sno_stats); }
SNO_API size_t sno_sizeof_snapshot(void) { return sizeof(sno_snapshot); }
SNO_API size_t sno_sizeof_overflow(void) { return sizeof(sno_overflow); }
SNO_API size_t sno_sizeof_why(void) { return sizeof(sno_why); }
#endif

#endif /* SNO_H */

/* MIT License
 *
 * Copyright (c) 2026 the authors of flake.h and sno.h
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
 * associated documentation files (the "Software"), to deal in the Software without restriction,
 * including without limitation the rights to use, copy, modify, merge, publish, distribute,
 * sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all copies or
 * substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
 * NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
 * NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
 * DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 */
