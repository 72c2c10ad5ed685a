/* flake.h: unique, time-ordered 64-bit and 128-bit IDs from any number of threads, without locks.
 *
 * Version 0.4.0. C11, or C++11 and later. SPDX-License-Identifier: MIT (the text is at the end.)
 *
 * Include it in as many files as you like; nothing needs to be linked:
 *
 *     #include "flake.h"
 *     #include <stdio.h>
 *
 *     static flake_gen ids; // one generator for all threads
 *
 *     int main(void) {
 *         flake_why why;
 *         uint64_t id;
 *         // a free node number, claimed in the directory "ids"; in production an absolute name. NULL: all defaults
 *         if (flake_init(&ids, flake_node_any("ids", 0, 1023), NULL, &why) != FLAKE_OK)
 *             return fprintf(stderr, "%s\n", why.text), 1;
 *         if (flake_next(&ids, &id) != FLAKE_OK) return 1; // from any thread
 *         printf("%llu\n", (unsigned long long)id);
 *         return flake_close(&ids, NULL) != FLAKE_OK;
 *     }
 *
 * WHICH CALL
 *
 *     flake_next       waits for an ID, up to 1 s; start with this one
 *     flake_try        never blocks; flake_retry_ns tells an event loop when to call again
 *     flake_next_n     a batch: one atomic operation per time unit
 *     flake_try_at     takes the current time from the caller instead of the clock
 *     flake128_...     the same calls for 128-bit IDs: UUIDs of version 7 and 8, ULIDs, boundary/flake's
 *     flake_prefetch   a thread's private stock of IDs
 *     flake_uuid7      a UUIDv7 string from a process-wide generator; no set-up. flake_ulid: a ULID
 *
 * and which generator, selected by options:
 *
 *     (default)        one state word. IDs increase in call order
 *     lanes            one word per lane: threads on different cores do not contend, but IDs of a time unit are
 *                      unordered. Measure first: 12 sequence bits (4,096 IDs per ms) are exhausted before a core is
 *     single_thread    plain loads and stores: one thread at a time. flake_init_shards splits the sequence
 *                      range among such generators, one per thread
 *
 * STEP BY STEP
 *
 *     1. Choose a layout and other options. All have defaults; flake_options has a table of those that exclude others.
 *     2. Decide where the node comes from: flake_node_any of a directory, or another flake_node_ call.
 *     3. Call flake_init before the threads start, then flake_next from each.
 *     4. A forked child that generates IDs calls flake_reinit_after_fork; one that does not, flake_close.
 *     5. At the end stop the threads that draw (call flake_next and the like); take flake_newest_ms or a snapshot of
 *        snos if you keep one; call flake_close; release what a gate depends on, such as an etcd claim; free memory.
 *
 * UNIQUENESS
 *
 * No ID is generated twice if generators that run at the same time, in one process or in several, have
 * different nodes or disjoint sequence ranges. On one host a directory ensures different nodes.
 *
 * A generator may take over the node of an earlier one: it starts in the next time unit. No ID is repeated if the
 * earlier one's draws ended before init was called, both read one host's clock, which was not set back since the
 * earlier one's first ID, and the earlier one had neither max_ahead_ms nor flake_try_at. If one of these does not
 * hold, set options.after_unix_ms. A directory ensures all of them.
 *
 * IDs increase in call order while the clock does not go backwards, except with seq_scatter and in a layout
 * that reverses the time. With lanes only their time units do. Of two concurrent calls either may come first.
 *
 * WHAT IT DOES NOT
 *
 *     - It does not compare nodes of different hosts: give each a range of its own, or claim them in etcd
 *       (flake_etcd.h).
 *     - It does not hide anything. An ID shows its time and node; from one, others can be guessed.
 *     - It does not order IDs of different generators, or of lanes, within a time unit; nor memory: a draw is
 *       neither an acquire nor a release.
 *     - It does not notice that the machine was cloned (flake_machine_cloned), nor, within a unit, that a
 *       generator was copied.
 *     - It does not allocate (flake_new does), print, abort, or start threads.
 *
 * THREAD SAFETY
 *
 *     flake_gen        every call, from any thread and from signal handlers; init, reinit and close need
 *                      exclusive access, and a handler passes NULL as `why` to extend and take over. With
 *                      single_thread: one thread at a time generates; queries from any thread. With
 *                      shared_memory: from several processes
 *     flake_prefetch   one thread at a time
 *     flake_ring       push and pop: any thread
 *
 * A signal handler that draws must return: if it jumps out of the write of a file, or ends its thread there, that
 * generator becomes permanently unusable. So threads that draw may use deferred cancellation only. A handler must not
 * draw from a single_thread generator that the interrupted thread may be drawing from. Where 64-bit atomics take a
 * lock (ATOMIC_LLONG_LOCK_FREE below 2: 32-bit PowerPC and MIPS, old ARM) it must not draw at all.
 *
 * HOOKS
 *
 * Macros to define before the include, the same in every file that shares a generator. Right: the default.
 *
 *     FLAKE_ATOMIC(T)                 type of an atomic T             _Atomic(T); T in C++
 *     FLAKE_ATOMIC_LOAD(p, order)     order is relaxed, acquire ...
 *     FLAKE_ATOMIC_STORE(p, v, order)
 *     FLAKE_ATOMIC_ADD(p, v, order)   returns the previous value
 *     FLAKE_ATOMIC_CAS(p, seen, v, success, failure)                  *p == *seen: stores v, true; else *seen = *p,
 *                                     false. Define all five or none; a CPU without 64-bit atomics, such as a
 *                                     Cortex-M (undefined __atomic_load_8), needs them
 *     FLAKE_CLOCK_NS(kind)            int64_t: Unix time in ns; int kind                clock_gettime
 *     FLAKE_CLOCK_SLACK_NS            at least twice the lag of the coarse clock behind the exact one
 *                                     (0 for a clock of yours)        2 x clock_getres, at most 50 ms
 *     FLAKE_COUNTER()                 64-bit counter of constant rate, without which a FLAKE_CLOCK_NS of yours
 *                                     has no fast clock               rdtsc, cntvct_el0
 *     FLAKE_SLEEP_NS(ns)              sleeps int64_t ns or longer     clock_nanosleep
 *     FLAKE_RELAX()                   between two tries of a CAS      pause, isb
 *     FLAKE_LANE()                    a number for each running thread; 8 bits are used    the processor's
 *     FLAKE_RANDOM_BYTES(to, n)       n random bytes; false: none     getrandom, /dev/urandom
 *     FLAKE_ASSERT(condition)         programming errors              nothing
 *     FLAKE_NO_SIMD                   portable code for UUIDs and ULIDs            not defined
 *     FLAKE_NO_FILES                  leaves out directories                       not defined
 *     FLAKE_NO_NET                    leaves out MAC and IP addresses              not defined
 *     FLAKE_NO_OS                     leaves out all that needs a system: these two, environment, host name, fork
 *                                     detection, random bytes, clock and sleep; FLAKE_CLOCK_NS and FLAKE_SLEEP_NS
 *                                     must be defined                              not defined
 *     FLAKE_API                       before public functions of FLAKE_SHARED      hidden with ELF
 *     FLAKE_SHOW_WARNINGS             your warning flags apply to this header too  not defined
 *
 * What is left out is still declared. It returns FLAKE_IO, or FLAKE_INVALID if an option asks for it, and
 * `why` names the macro. With FLAKE_NO_OS a fork is not detected: parent and child repeat IDs.
 *
 * ONE COPY OF THE FUNCTIONS
 *
 * By default each file has its own copy of the functions, 18 to 24 KB with flake_init and flake_try, and may have its
 * own hooks. To share one copy among the files of a program or shared library, in C and C++, define FLAKE_SHARED in all
 * of them and FLAKE_IMPLEMENTATION in one:
 *
 *     #define FLAKE_SHARED
 *     #define FLAKE_IMPLEMENTATION // in one file only
 *     #include "flake.h"           // and the others that you use: sno.h, flake_etcd.h
 *
 * The other files see only declarations. In them, defining a hook from FLAKE_CLOCK_NS to FLAKE_ASSERT is an #error.
 * FLAKE_ATOMIC and FLAKE_API must be the same in all files. Do not use this in a static library for others: the names
 * clash with a second copy of the header in the same program. A language that links C by name needs it for the
 * layouts' constants (cgo: C.flake_layout_twitter).
 *
 * For a shared library, compile that one file with -fPIC. It also has functions for other languages. It exports
 * nothing unless FLAKE_API does; programs that link it define FLAKE_SHARED, and FLAKE_API as nothing.
 *
 * In C++ write `flake_options options = {};` and assign fields: g++ and clang from 18 on warn (-Wextra) about those
 * that {.seq_max = 99} leaves out. A C++20 module can export the declarations. Before gcc 14 and clang 16, structs
 * exported by name are lost; with gcc, functions too: wrap them in a class.
 *
 * SECTIONS
 *
 * Each begins with a mark. A user need not read further than // >>public.
 *
 *     // >>hooks            defaults of the hooks that the declarations need
 *     // >>public           what a program sets and calls
 *     // >>structs          the members of a program's objects
 *     // >>basics           the other hooks that need no system; numbers, bytes, reasons in words
 *     // >>system           everything that asks the operating system
 *     // >>clock            clock (draws read it in // >>engine), sleep, counter; owner ids: forks and clones
 *     // >>layouts          64-bit IDs: their bits, from and to their parts
 *     // >>128-bit          UUIDs, ULIDs, boundary's IDs: the same, and their random bits
 *     // >>ring             overflow events
 *     // >>engine           the protocol; tickets from one word: set-up, fast clock, draw, queries
 *     // >>lanes            tickets from several engines
 *     // >>draws            IDs of tickets; flake_next and the other calls that generate IDs
 *     // >>directory        claims of numbers, horizons
 *     // >>set-up           options and identities; init, shards, fork, close
 *     // >>queries          what a generator reports; prefetch
 *     // >>text             IDs as texts
 *     // >>process-wide     flake_uuid7, flake_ulid
 *     // >>node numbers     from interfaces, the host's name, the environment
 *     // >>configuration    options as a text; generators for other languages
 *
 * Engine, lanes and draws need two functions of // >>directory, and nothing else that comes after them.
 */

/* Your warning flags are for your own code. */
#if defined(__GNUC__) && defined(__INCLUDE_LEVEL__) && !defined(FLAKE_SHOW_WARNINGS)
#if __INCLUDE_LEVEL__ > 0
#pragma GCC system_header
#endif
#endif

#ifndef FLAKE_H
#define FLAKE_H

#define FLAKE_VERSION_MAJOR  0
#define FLAKE_VERSION_MINOR  4
#define FLAKE_VERSION_PATCH  0
#define FLAKE_VERSION_STRING "0.4.0"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h> /* not <cstdint>, which need not declare uint64_t outside std */
#include <string.h>

// >>hooks
/* Those that the declarations need; the others are in // >>basics and // >>clock. They apply to sno.h too. */

#ifndef FLAKE_SHARED
#define FLAKE_API static inline
#elif !defined(FLAKE_API) && defined(__ELF__) /* or another module's may be called */
#define FLAKE_API __attribute__((visibility("hidden")))
#elif !defined(FLAKE_API)
#define FLAKE_API
#endif

/* Before calls whose status must not be ignored. It comes before FLAKE_API, as C++ and C23 require. */
#if defined(__GNUC__)
#define FLAKE_I_MUST_USE __attribute__((warn_unused_result))
#elif (defined(__cplusplus) && __cplusplus >= 201703L) || (defined(_MSVC_LANG) && _MSVC_LANG >= 201703L)
#define FLAKE_I_MUST_USE [[nodiscard]]
#else
#define FLAKE_I_MUST_USE
#endif

#ifndef FLAKE_ATOMIC
#if defined(__cplusplus) && defined(__GNUC__)
/* Not std::atomic: from C++20 on its constructor would zero static objects that another file has already used. */
#define FLAKE_I_ORDER_relaxed           __ATOMIC_RELAXED
#define FLAKE_I_ORDER_acquire           __ATOMIC_ACQUIRE
#define FLAKE_I_ORDER_release           __ATOMIC_RELEASE
#define FLAKE_I_ORDER_seq_cst           __ATOMIC_SEQ_CST
#define FLAKE_ATOMIC(T)                 T
#define FLAKE_ATOMIC_LOAD(p, order)     __atomic_load_n(p, FLAKE_I_ORDER_##order)
#define FLAKE_ATOMIC_STORE(p, v, order) __atomic_store_n(p, v, FLAKE_I_ORDER_##order)
#define FLAKE_ATOMIC_ADD(p, v, order)   __atomic_fetch_add(p, v, FLAKE_I_ORDER_##order)
#define FLAKE_ATOMIC_CAS(p, seen, v, success, failure) \
    __atomic_compare_exchange_n(p, seen, v, false, FLAKE_I_ORDER_##success, FLAKE_I_ORDER_##failure)
#elif defined(__cplusplus)
#include <atomic>
#define FLAKE_ATOMIC(T)                 std::atomic<T>
#define FLAKE_ATOMIC_LOAD(p, order)     (p)->load(std::memory_order_##order)
#define FLAKE_ATOMIC_STORE(p, v, order) (p)->store(v, std::memory_order_##order)
#define FLAKE_ATOMIC_ADD(p, v, order)   (p)->fetch_add(v, std::memory_order_##order)
#define FLAKE_ATOMIC_CAS(p, seen, v, success, failure) \
    (p)->compare_exchange_strong(*(seen), v, std::memory_order_##success, std::memory_order_##failure)
#else
#include <stdatomic.h>
#define FLAKE_ATOMIC(T)                 _Atomic(T)
#define FLAKE_ATOMIC_LOAD(p, order)     atomic_load_explicit(p, memory_order_##order)
#define FLAKE_ATOMIC_STORE(p, v, order) atomic_store_explicit(p, v, memory_order_##order)
#define FLAKE_ATOMIC_ADD(p, v, order)   atomic_fetch_add_explicit(p, v, memory_order_##order)
#define FLAKE_ATOMIC_CAS(p, seen, v, success, failure) \
    atomic_compare_exchange_strong_explicit(p, seen, v, memory_order_##success, memory_order_##failure)
#endif
#endif

#if defined(__GNUC__) /* aligned for i386, where plain 64-bit members are aligned to 4 */
#define FLAKE_I_LOCK_FREE __GCC_ATOMIC_LLONG_LOCK_FREE
typedef FLAKE_ATOMIC(uint64_t) flake_atomic64 __attribute__((aligned(8)));
#else
#define FLAKE_I_LOCK_FREE ATOMIC_LLONG_LOCK_FREE
typedef FLAKE_ATOMIC(uint64_t) flake_atomic64;
#endif
typedef FLAKE_ATOMIC(uint32_t) flake_i_atomic32;

/* Members in C++: of objects that must not be copied, and of IDs, which are compared by their bytes. */
#ifdef __cplusplus
#define FLAKE_I_NO_COPY(type)    \
    type() = default;            \
    type(const type &) = delete; \
    type &operator=(const type &) = delete;
#define FLAKE_I_ORDERED(type)                                                                    \
    bool operator==(const type &id) const { return memcmp(bytes, id.bytes, sizeof bytes) == 0; } \
    bool operator!=(const type &id) const { return !(*this == id); }                             \
    bool operator<(const type &id) const { return memcmp(bytes, id.bytes, sizeof bytes) < 0; }
extern "C" {
#else
#define FLAKE_I_NO_COPY(type)
#define FLAKE_I_ORDERED(type)
#endif

// >>public

/* ---- status ----
 *
 * Grouped by what the caller can do. Compilers warn if the status of an init or a draw is ignored;
 * `(void)!flake_try(&ids, &id)` ignores it on purpose. (gcc does not accept a cast to void alone.)
 */
typedef enum flake_status {
    FLAKE_OK = 0,
    /* retry */
    FLAKE_AGAIN = 1,           /* this unit is exhausted, or the first has not begun: retry after flake_retry_ns */
    FLAKE_CLOCK_BACKWARDS = 2, /* the clock is behind the newest ID, or a file's last write */
    FLAKE_NOT_EXTENDED = 14,   /* manual_extend, and the holder did not call flake_extend in time */
    /* fix the program */
    FLAKE_INVALID = 4,        /* bad argument, option or layout; an uninitialised or copied generator */
    FLAKE_PARSE = 5,          /* not a text of this encoding */
    FLAKE_NODE_RANGE = 6,     /* the node exceeds the node field */
    FLAKE_NODE_OVERLAP = 15,  /* after fork: the child asked for numbers that the parent is using */
    FLAKE_FORKED = 8,         /* after fork() or flake_machine_cloned: flake_reinit_after_fork */
    FLAKE_TOO_FAR_AHEAD = 16, /* the caller's time is too far ahead of the clock: flake_try_at */
    FLAKE_EXHAUSTED = 17,     /* sno.h: no partition is left for this process and its relatives */
    FLAKE_CLOSED = 18,        /* after flake_close */
    /* tell the operator */
    FLAKE_TIME_RANGE = 3, /* before the layout's epoch, or after its last representable time */
    FLAKE_LEASE_LOST = 7, /* the claim on the node number was lost */
    FLAKE_IO = 9,         /* a file, connection or random source failed */
    FLAKE_CORRUPT = 10,   /* a truncated or damaged file of a number */
    FLAKE_MISMATCH = 11,  /* a file of something else, or another user's; or changed or removed while in use */
    FLAKE_DOWNTIME = 12,  /* the last run ended longer ago than max_downtime_ms */
    FLAKE_IN_USE = 13     /* the number, or each number of the range, has a holder */
} flake_status;

FLAKE_API const char *flake_status_str(flake_status status);

/* Explains a failure in words: which option, file or number, and what the system reported. After FLAKE_OK the text
 * means nothing. Every call that takes one accepts NULL. */
typedef struct flake_why {
    char text[200];
} flake_why;

/* ---- layouts: the meaning of an ID's bits ----
 *
 * A plain struct: copy one and change fields. Bits not covered by a field are zero. Layouts of 128 bits cannot
 * be changed: `format` selects one, and the other fields describe it.
 */
typedef struct flake_layout {
    const char *name;
    int64_t epoch_ms; /* Unix time of time 0, in ms; init refuses 10^8 up to 10^10, which are in seconds */
    uint32_t unit_ms; /* resolution of the time field */
    uint8_t time_bits, time_shift;
    uint8_t node_bits, node_shift; /* node_bits up to 32 */
    uint8_t seq_bits, seq_shift;   /* seq_bits up to 32 */
    /* 1: the bit above the time is its sign: flake_decompose accepts Hazelcast's IDs from before the epoch */
    uint8_t time_sign;
    uint8_t time_reversed; /* 1: time bits in reverse order, lowest first */
    /* uniqueid: node bits from gap_at on are shifted up by one; gap_bit fills the gap; 0: no gap */
    uint8_t gap_at, gap_bit;
    uint8_t format; /* 0: 64 bits; else one of the 128-bit formats */
} flake_layout;

/* Initialisers; to assign, flake_layout_twitter and the like. 64 bits, most significant field first: */
// clang-format off
#define FLAKE_LAYOUT_DEFAULT /* 0, time 41, node 10, seq 12; since 2025: positive as a bigint until 2094 */ \
    {"default", INT64_C(1735689600000), 1, 41, 22, 10, 12, 12, 0, 0, 0, 0, 0, 0}
#define FLAKE_LAYOUT_IDGEN /* time 42, node 10, seq 12; since 1970. npm flake-idgen */ \
    {"idgen", 0, 1, 42, 22, 10, 12, 12, 0, 0, 0, 0, 0, 0}
#define FLAKE_LAYOUT_TWITTER /* 0, time 41, node 10, seq 12; since 2010-11 */ \
    {"twitter", INT64_C(1288834974657), 1, 41, 22, 10, 12, 12, 0, 0, 0, 0, 0, 0}
#define FLAKE_LAYOUT_HAZELCAST /* sign, time 41, seq 6, node 16; since 2018 */ \
    {"hazelcast", INT64_C(1514764800000), 1, 41, 22, 16, 0, 6, 16, 1, 0, 0, 0, 0}
#define FLAKE_LAYOUT_UNIQUEID_ORDERED /* time 42, seq 6, generator 3, 1, generator 8, cluster 4 */ \
    {"uniqueid_ordered", 0, 1, 42, 22, 15, 0, 6, 16, 0, 0, 12, 1, 0}
#define FLAKE_LAYOUT_UNIQUEID_SPREAD /* the same with the time reversed, and 0 for 1 */ \
    {"uniqueid_spread", 0, 1, 42, 22, 15, 0, 6, 16, 0, 1, 12, 0, 0}
#define FLAKE_LAYOUT_SONYFLAKE /* 0, time 39 of 10 ms, seq 8, node 16; since 2014-09 */ \
    {"sonyflake", INT64_C(1409529600000), 10, 39, 24, 16, 0, 8, 16, 0, 0, 0, 0, 0}
#define FLAKE_LAYOUT_DISCORD /* time 42, node 10, seq 12; since 2015 */ \
    {"discord", INT64_C(1420070400000), 1, 42, 22, 10, 12, 12, 0, 0, 0, 0, 0, 0}
#define FLAKE_LAYOUT_INSTAGRAM /* time 41, node 13, seq 10; since 2011-08 */ \
    {"instagram", INT64_C(1314220021721), 1, 41, 23, 13, 10, 10, 0, 0, 0, 0, 0, 0}
#define FLAKE_LAYOUT_MASTODON /* time 48, seq 16; since 1970 */ \
    {"mastodon", 0, 1, 48, 16, 0, 16, 16, 0, 0, 0, 0, 0, 0}
#define FLAKE_LAYOUT_JS53 /* time 41, node 5, seq 7: below 2^53; since 2020 */ \
    {"js53", INT64_C(1577836800000), 1, 41, 12, 5, 7, 7, 0, 0, 0, 0, 0, 0}
/* 128 bits, ms since 1970 */
#define FLAKE_LAYOUT_BOUNDARY /* time 64, node 48, seq 16 */ \
    {"boundary", 0, 1, 64, 64, 48, 16, 16, 0, 0, 0, 0, 0, 1}
#define FLAKE_LAYOUT_UUID7 /* time 48, 0111, counter 12, 10, counter 14, random 48 */ \
    {"uuid7", 0, 1, 48, 80, 0, 0, 16, 48, 0, 0, 0, 0, 2}
#define FLAKE_LAYOUT_UUID7_NODE /* time 48, 0111, counter 12, 10, counter 14, node 48 */ \
    {"uuid7_node", 0, 1, 48, 80, 48, 0, 16, 48, 0, 0, 0, 0, 3}
#define FLAKE_LAYOUT_UUID8 /* time 48, 1000, counter 12, 10, counter 14, node 48 */ \
    {"uuid8", 0, 1, 48, 80, 48, 0, 16, 48, 0, 0, 0, 0, 4}
#define FLAKE_LAYOUT_ULID /* time 48, counter 80 */ \
    {"ulid", 0, 1, 48, 80, 0, 0, 16, 0, 0, 0, 0, 0, 5}

/* flake_layout_default, flake_layout_idgen ...: the same as constants. Those of 128 bits in the order of formats. */
#define FLAKE_I_EACH_LAYOUT(X) \
    X(default, DEFAULT) X(idgen, IDGEN) X(twitter, TWITTER) X(hazelcast, HAZELCAST) \
    X(uniqueid_ordered, UNIQUEID_ORDERED) X(uniqueid_spread, UNIQUEID_SPREAD) \
    X(sonyflake, SONYFLAKE) X(discord, DISCORD) X(instagram, INSTAGRAM) X(mastodon, MASTODON) \
    X(js53, JS53) X(boundary, BOUNDARY) X(uuid7, UUID7) X(uuid7_node, UUID7_NODE) X(uuid8, UUID8) X(ulid, ULID)
// clang-format on
#ifndef FLAKE_SHARED
#define FLAKE_I_CONSTANT(name, NAME) static const flake_layout flake_layout_##name = FLAKE_LAYOUT_##NAME;
#else
#define FLAKE_I_CONSTANT(name, NAME) extern FLAKE_API const flake_layout flake_layout_##name;
#endif
FLAKE_I_EACH_LAYOUT(FLAKE_I_CONSTANT)

/* Time, node and sequence without gaps down to bit 0; units of 1 ms. */
FLAKE_API flake_layout flake_layout_of(unsigned time_bits, unsigned node_bits, unsigned seq_bits, int64_t epoch_ms);
/* The time gets the rest of 63 bits; if none is left, flake_layout_check rejects the layout. */
FLAKE_API flake_layout flake_layout_hazelcast_of(unsigned node_bits, unsigned seq_bits);
/* Finds a layout by its `name`: "idgen", "uuid7" ... FLAKE_INVALID: there is none */
FLAKE_API flake_status flake_layout_named(const char *name, flake_layout *);
/* Enumerates the layouts above, from 0 on. FLAKE_INVALID: there are no more */
FLAKE_API flake_status flake_layout_at(size_t i, flake_layout *);
/* FLAKE_INVALID: fields overlap or exceed 64 bits, there is no time field, or a 128-bit layout was changed */
FLAKE_API flake_status flake_layout_check(const flake_layout *, flake_why *);
/* The last ms that the layout can express; INT64_MAX if that exceeds an int64_t; INT64_MIN: it is invalid. A
 * generator ends a unit earlier if time and sequence fill all 64 bits, and on 2262-04-11 with its clock. */
FLAKE_API int64_t flake_layout_end_ms(const flake_layout *);

/* Node numbers that consist of parts. For a part out of range: what a failed flake_node_from_... call sets. */
FLAKE_API uint64_t flake_idgen_node(unsigned datacenter /* 0..31 */, unsigned worker /* 0..31 */);
FLAKE_API uint64_t flake_uniqueid_node(unsigned cluster /* 0..15 */, unsigned generator /* 0..2047 */);

/* ---- IDs ---- */

typedef struct flake128 {
    FLAKE_I_ORDERED(flake128) /* in C++: ==, != and < */
    uint8_t bytes[16];        /* big-endian: memcmp sorts them */
} flake128;

#ifdef __cplusplus
extern "C++" {
/* Of a flake128 or sno_id: std::unordered_set<flake128, flake_hash>. FNV-1a without a key: a client that chooses
 * IDs can make their hashes collide. */
struct flake_hash {
    template <typename ID> size_t operator()(const ID &id) const noexcept {
        uint64_t hash = 0xcbf29ce484222325;
        for (const uint8_t byte : id.bytes) hash = (hash ^ byte) * 0x100000001b3;
        return static_cast<size_t>(hash);
    }
};
}
#endif

/* An ID taken apart. */
typedef struct flake_parts {
    int64_t unix_ms; /* the first ms of its time unit */
    uint64_t node;   /* 128 bits: the last field, node or random; ULID: the lower 64 of its 80 bits */
    uint32_t seq;    /* UUIDs: the counter's 26 bits; ULID: the upper 16 of its 80 bits */
} flake_parts;

/* FLAKE_TIME_RANGE: the layout cannot express the time. FLAKE_INVALID: a part is too large, or the layout's size. */
FLAKE_API flake_status flake_compose(const flake_layout *, const flake_parts *, uint64_t *id);
FLAKE_API flake_status flake128_compose(const flake_layout *, const flake_parts *, flake128 *id);
/* FLAKE_INVALID: the ID has bits that the layout lacks, or another version or variant. */
FLAKE_API flake_status flake_decompose(const flake_layout *, uint64_t id, flake_parts *);
FLAKE_API flake_status flake128_decompose(const flake_layout *, const flake128 *id, flake_parts *);
/* The smallest and largest ID of a time unit, for range queries; not for time_reversed. */
FLAKE_API flake_status flake_min_at(const flake_layout *, int64_t unix_ms, uint64_t *id);
FLAKE_API flake_status flake_max_at(const flake_layout *, int64_t unix_ms, uint64_t *id);
FLAKE_API flake_status flake128_min_at(const flake_layout *, int64_t unix_ms, flake128 *id);
FLAKE_API flake_status flake128_max_at(const flake_layout *, int64_t unix_ms, flake128 *id);
FLAKE_API int flake128_compare(const flake128 *, const flake128 *);

/* ---- clock: the source of the time ----
 *
 * Your functions, here and in a gate, must be safe to call from several threads at once, and from signal
 * handlers that draw. They must not call the generator.
 *
 *     EXACT    full-resolution system clock, read by each draw
 *     COARSE   cheap to read, some ms late. A backward step of less than twice the lag is not noticed until the unit
 *              is exhausted
 *     FAST     the default. While draws are frequent (15 in a ms), it reads the exact clock every 0.5 ms. In between,
 *              the CPU's counter shows whether the unit has ended. A step of the clock, or a suspended machine, is
 *              noticed up to 0.5 ms late. Needs 64-bit x86 or aarch64 (gcc, clang) and a counter that is much cheaper
 *              than the clock. Else EXACT, as for rare draws, and for the process's first 20 ms of draws, which check
 *              that the counter's rate is constant
 */

enum { FLAKE_CLOCK_FAST = 0, FLAKE_CLOCK_COARSE = 1, FLAKE_CLOCK_EXACT = 2 };

typedef struct flake_clock {
    /* your own clock, Unix time in ns; NULL: the system's, of this kind. Waits still sleep in real time: a test
     * draws with flake_try, or defines FLAKE_SLEEP_NS to move its clock. */
    int64_t (*now_ns)(void *user);
    void *user;
    int kind; /* ignored with now_ns */
} flake_clock;

/* ---- gate: your own condition for generating IDs, such as a claim that expires ----
 *
 * Called off the hot path, from any thread: by the first draw of each unit and by waiting callers.
 */
typedef struct flake_gate {
    /* FLAKE_OK: IDs of times up to until_ns (Unix) may be generated. FLAKE_AGAIN: not yet; a waiting caller
     * asks again. Any other is returned; UUIDs and ULIDs continue after FLAKE_CLOCK_BACKWARDS. */
    flake_status (*admit)(void *user, int64_t until_ns);
    /* IDs must be later than this Unix time; called by each init. Draws wait for it, as for a clock that is behind,
     * and init does not. NULL: any */
    int64_t (*not_before_ns)(void *user);
    void *user;
    /* NULL, or a word that is constant and not 0 while the gate is open. Changing it stops every draw with
     * FLAKE_LEASE_LOST. It must be in a page that fork wipes (MADV_WIPEONFORK): draws read this word instead
     * of the one that detects a fork; flake_machine_cloned stops them from their next unit on. */
    flake_atomic64 *fence;
} flake_gate;

/* ---- node: the number in an ID that distinguishes generators ----
 *
 * Generators that run at the same time need different numbers: in one process, on one host, on all hosts. An init
 * takes a flake_node from one of these calls. They never fail; init checks their arguments, and copies them.
 */
typedef struct flake_node {
    const char *dir; /* these members are set by the calls alone; all zero is refused */
    int kind;
    uint64_t number, last; /* last: of a range */
    flake_gate gate;
    uint64_t fence_value; /* the word of gate.fence when the node was made */
} flake_node;
/* This number. If dir is NULL, nothing checks that it is unique. */
FLAKE_API flake_node flake_node_fixed(const char *dir, uint64_t number);
/* The lowest free number of dir. Hosts, and pods, do not see each other's directories and would choose the same
 * numbers: give each one a range of its own. */
FLAKE_API flake_node flake_node_any(const char *dir, uint64_t first, uint64_t last);
/* A number from another service, such as etcd (flake_etcd.h). The gate, which is copied here, stops the generator
 * when the claim ends. If its fence has changed since this call, init returns FLAKE_LEASE_LOST. */
FLAKE_API flake_node flake_node_gated(const flake_gate *, uint64_t number);
/* uuid7, ulid, mastodon, and each layout with node_bits 0, have no node. IDs of 64 bits without a node come from one
 * generator alone: two repeat each other's IDs. In sno.h: the library chooses a partition. */
FLAKE_API flake_node flake_node_none(void);

/* ---- directory ----
 *
 * A directory has one file per number. The generator that holds the number locks the file, and stores a horizon in
 * it: a time that none of its IDs has passed. So, with a directory,
 *
 *     - a number has one holder, whichever process, thread or copy of this header asks for it;
 *     - no ID repeats after a crash, restart, power failure or backward step of the clock.
 *
 * A number is free after flake_close, or when the process and all forked children that inherited it have ended (not
 * programs started by exec). Generators whose IDs must differ share one directory. Another table's use another one.
 *
 * A relative name is of the working directory at init: programs in another one do not see each other. In production
 * write an absolute one. The directory is on a local disk, and no other user can write to it (init does not check
 * that). A volume that one host mounts at a time counts as local. Init creates the directory with mode 0700, but not
 * its parents. A tmpfs such as /run loses horizons when the machine restarts. Init refuses NFS and SMB where it
 * recognises them (FLAKE_IO). Programs that share a directory run as one user: files have mode 0600, and init
 * refuses links, and files of other users. POSIX only; elsewhere FLAKE_IO.
 *
 * Start: after a crash, init waits until a fixed number's horizon has passed: at most horizon_ms (3 s by default),
 * plus max_ahead_ms and a unit if IDs ran ahead, plus max_wait_ms if callers were queued for later units (these also
 * after flake_close); never more than 4 days. flake_node_any takes another number, if there is one, also if the clock
 * is behind the file's last write, which is FLAKE_CLOCK_BACKWARDS for a fixed number.
 * Use: about every 1.5 s one draw writes the file. If it cannot, draws continue until the horizon, then return
 * FLAKE_IO until a write succeeds. If the file was changed or removed, or its descriptor closed, draws return
 * FLAKE_MISMATCH from the next write on. A file must not be renamed while it is in use.
 */

/* ---- generators ----
 *
 * A generator may live anywhere: static, on the stack, allocated; alignment does not matter. Options and a node's
 * directory are copied. Objects that they point to must outlive the generator, as must the module that initialised it.
 *
 * It must not be copied or moved once initialised. Draws from a copy return FLAKE_INVALID, but only from the next time
 * unit on: within the unit, plus the coarse clock's lag (mostly some ms), or half a ms for the fast clock, they repeat
 * the original's IDs. Queries answer as if it had not been initialised. (Copies in shared memory are not detected, nor
 * is a copy that takes the original's place after a close: it continues, and repeats IDs.)
 *
 * A draw that fails leaves the generator unchanged and zeroes its ID. Any draw may return FLAKE_TIME_RANGE,
 * FLAKE_FORKED, FLAKE_LEASE_LOST, FLAKE_CLOSED, FLAKE_INVALID; with a directory FLAKE_IO, FLAKE_MISMATCH,
 * FLAKE_NOT_EXTENDED; with a gate what the gate returns. FLAKE_AGAIN and FLAKE_CLOCK_BACKWARDS are listed by call.
 *
 * These exclude each other (FLAKE_INVALID):
 *
 *     lanes                    single_thread, shards, flake_try_at, flake_prefetch
 *     single_thread, shards    flake_prefetch
 *     a gate                   shared_memory, and a directory
 *     flake_node_any           must_exist
 *     128-bit layouts          seq_scatter, flake_prefetch
 *     UUIDs and ULIDs          shards, and a part of the sequence range; without a node: after_unix_ms
 *
 * These need a directory: flake_node_any, claim_wait_ms, horizon_ms, max_downtime_ms, must_exist, manual_extend.
 */
typedef struct flake_gen flake_gen;
typedef struct flake_lane flake_lane;

typedef struct flake_options {
    flake_layout layout;       /* all zero: flake_layout_default */
    uint32_t seq_min, seq_max; /* sequence range of this generator; both 0: the whole field */

    flake_lane *lanes;  /* memory for lanes; NULL: a single word */
    size_t lane_count;  /* as many as threads run at the same time: cores, or the CPU quota rounded up */
    bool single_thread; /* one thread at a time generates, with plain loads and stores */
    /* Generator and lanes are in memory shared by processes; fork does not invalidate them. The processes must
     * be forks of one another, or use the system's clock and no ring. With a directory it implies
     * manual_extend. FLAKE_INVALID where 64-bit atomics take a lock. */
    bool shared_memory;

    flake_clock clock;    /* all zero: the system clock, FAST */
    int64_t max_wait_ms;  /* longest a draw blocks, a batch for each unit; 0: 1,000; INT64_MAX: no limit */
    int64_t max_ahead_ms; /* IDs may be this far ahead of the clock; Hazelcast: 15,000 */
    /* The first ID is of the unit after the init, since a predecessor may have used this one: the first draw waits
     * for up to one unit, and flake_try returns FLAKE_AGAIN. Init waits if units are longer than max_wait_ms.
     * true: this unit, as always with clock.now_ns, and for UUIDs and ULIDs without a node. */
    bool start_this_unit;
    /* All IDs are of later units than this Unix time, such as that of max(id) of a table (flake_decompose), or
     * flake_newest_ms of the last run: while IDs are generated store the later of that and the clock, plus the time
     * until it is stored again. Init waits for it, up to a day, whatever max_wait_ms and max_ahead_ms are. 0: any.
     * FLAKE_INVALID: before the layout's epoch, a day ahead of the clock (then take a node that none of the table's
     * IDs has), in the first months of 1970 (is it in ms?). */
    int64_t after_unix_ms;
    /* Init waits neither for after_unix_ms nor for the horizon of a directory: draws wait for it, or return
     * FLAKE_AGAIN at once if it takes longer than max_wait_ms. */
    bool no_wait;
    /* Start each unit at a pseudo-random number (a hash of its time) and wrap around, so that id % n is even
     * at low rates. IDs of a unit are then unordered. */
    bool seq_scatter;

    /* with a directory */
    int64_t claim_wait_ms;   /* init waits this long for a number in use; 0: 50 ms, as others may look at it */
    int64_t horizon_ms;      /* how far ahead of use the file is written, up to a day; 0: 3,000 */
    int64_t max_downtime_ms; /* FLAKE_DOWNTIME if the horizon is older (a restored copy?); 0: any age */
    /* a fixed number's file must be there: FLAKE_IO if not (unmounted?). Not for a number's first start. */
    bool must_exist;
    /* Draws do not write: call flake_extend at least twice per horizon_ms. At the horizon draws return
     * FLAKE_NOT_EXTENDED (waiting calls after max_wait_ms), or FLAKE_IO if a write failed. */
    bool manual_extend;

    struct flake_ring *overflow; /* receives an event per ms while callers wait; NULL: none */
} flake_options;

/* Init, reinit and close need exclusive access to the generator. Init does not look at what the memory held: close a
 * generator before its next init. Options NULL: all defaults. After a failed init every draw returns FLAKE_INVALID,
 * and flake_close FLAKE_OK. FLAKE_INVALID, FLAKE_NODE_RANGE; with a gate FLAKE_LEASE_LOST; for UUIDs and ULIDs
 * FLAKE_IO (no random bytes); FLAKE_CLOCK_BACKWARDS while it waits. With a directory FLAKE_IN_USE: the number, or all
 * of the range, have holders; the file: FLAKE_IO, FLAKE_CORRUPT, FLAKE_MISMATCH, FLAKE_CLOCK_BACKWARDS,
 * FLAKE_DOWNTIME. A range skips unusable files, and on a full disk numbers without one; the first is the reason if no
 * number is free. A file that can be read but not written is FLAKE_IO for a range, too. */
FLAKE_I_MUST_USE FLAKE_API flake_status flake_init(flake_gen *, flake_node, const flake_options *, flake_why *);
/* n generators that share one number and its sequence range, each with single_thread and for one thread at a time;
 * in shared memory for one process. All or none. Close and extend the first one. FLAKE_INVALID: n is 0, or exceeds
 * the range's size, or equals it if the range starts at 0. */
FLAKE_I_MUST_USE FLAKE_API flake_status flake_init_shards(flake_gen *shards, size_t n, flake_node,
                                                          const flake_options *, flake_why *);
/* After fork or flake_machine_cloned: takes another number and drops the inherited one. Until then draws return
 * FLAKE_FORKED. It takes all options, lanes and single_thread included; NULL: the inherited ones. A failure changes
 * nothing, so the child can try again. FLAKE_NODE_OVERLAP: node (or one of its range) and sequence range are the
 * parent's, and one of the two has no directory. (Only its own numbers are compared, and flake_init in a child
 * compares none.) After a clone the directory may be a copy, too: give each clone a range of its own. FLAKE_INVALID:
 * the generator was not inherited, or is a shard: call flake_close(&shards[0], ...), then flake_init_shards.
 *
 * Two kinds of fork are not detected: a fork in a signal handler that has interrupted a draw (parent and child both
 * complete that draw), and, on systems where only the pid distinguishes processes, a fork into a namespace in which the
 * child has its parent's pid. Where 64-bit atomics take a lock, a process whose threads draw must not fork. */
FLAKE_I_MUST_USE FLAKE_API flake_status flake_reinit_after_fork(flake_gen *, flake_node, const flake_options *,
                                                                flake_why *);
/* Frees the number; the next holder waits at most for the end of the last ID's unit, or of the last one that a caller
 * waited for. Do not draw beside it: such a draw succeeds in the current unit, and returns FLAKE_CLOSED in a later
 * one; no ID repeats. FLAKE_OK also for a zeroed, closed or directory-less generator, and in a forked child or
 * after flake_machine_cloned, where it only drops what was inherited. With shared_memory the holder's call closes; that
 * of another process drops what it inherited, and draws continue. If the holder has died: flake_take_over, then
 * flake_close. The holder closes and extends by the address, and in the module, of its init or take-over.
 *     FLAKE_IO, FLAKE_MISMATCH   closed, but not recorded: the next holder waits for the horizon
 *     FLAKE_INVALID              a copy, or not the first shard
 *     FLAKE_AGAIN                this signal handler has interrupted a write of the file */
FLAKE_API flake_status flake_close(flake_gen *, flake_why *);
/* Writes a horizon now, from any thread of the holder, also beside draws and close. FLAKE_INVALID: there is no
 * directory, this process is not the holder, the machine was cloned, a copy, or not the first shard. FLAKE_CLOSED.
 * FLAKE_IO: the old horizon remains. FLAKE_MISMATCH: the file is lost. */
FLAKE_API flake_status flake_extend(flake_gen *, flake_why *);
/* With shared_memory, if the holder has died: makes this process the holder, and draws continue. Also beside draws
 * and extend. A dead holder's number is free: use a fixed one, or a range of this program alone. Let a worker call
 * init, not the parent that forks all: a forked child holds its parent's lock until flake_close (it may draw on).
 *     FLAKE_IN_USE     the holder lives, or such a child has not called flake_close
 *     FLAKE_MISMATCH   the number has had another holder since, or the path leads to another file here
 *     FLAKE_INVALID    a zeroed or copied generator, no directory, no shared_memory, or not the first shard
 *     FLAKE_CLOSED; FLAKE_IO, FLAKE_CORRUPT: the file */
FLAKE_I_MUST_USE FLAKE_API flake_status flake_take_over(flake_gen *, flake_why *);

/* ---- draws, the calls that generate IDs ---- */

/* Waits for a unit that begins within max_wait_ms. If it begins later, or the clock stands still, FLAKE_AGAIN; after a
 * longer backward step FLAKE_CLOCK_BACKWARDS at once: pause before a retry. boundary does not wait after a backward
 * step. Wait-free while IDs are available; with lanes lock-free. */
FLAKE_I_MUST_USE FLAKE_API flake_status flake_next(flake_gen *, uint64_t *id);
/* Never blocks. Lock-free. FLAKE_AGAIN, FLAKE_CLOCK_BACKWARDS. (With a directory, but without manual_extend, one
 * call every 1 to 2 s writes the file.) */
FLAKE_I_MUST_USE FLAKE_API flake_status flake_try(flake_gen *, uint64_t *id);
/* All n, waiting for each unit as flake_next does. On failure the IDs generated so far are valid and the rest
 * is zeroed. With lanes the array is unsorted. */
FLAKE_I_MUST_USE FLAKE_API flake_status flake_next_n(flake_gen *, uint64_t *ids, size_t n);
/* As many as are available now, *got of them; the rest of the array is unchanged. FLAKE_OK if at least one. */
FLAKE_I_MUST_USE FLAKE_API flake_status flake_try_n(flake_gen *, uint64_t *ids, size_t n, size_t *got);
/* With the caller's time, such as a cached reading of the clock. A time before the newest unit counts as that unit;
 * before the generator's first unit it is FLAKE_AGAIN. FLAKE_TOO_FAR_AHEAD: it is ahead of the exact clock by more than
 * one unit plus max_ahead_ms (in whole units); only the first draw of a unit reads the clock to check. So IDs can run a
 * unit ahead of the clock, and max_ahead_ms more when that unit is exhausted. */
FLAKE_I_MUST_USE FLAKE_API flake_status flake_try_at(flake_gen *, int64_t unix_ms, uint64_t *id);

/* 128-bit layouts. The calls above return FLAKE_INVALID for them, and these for 64-bit layouts. */
FLAKE_I_MUST_USE FLAKE_API flake_status flake128_next(flake_gen *, flake128 *id);
FLAKE_I_MUST_USE FLAKE_API flake_status flake128_try(flake_gen *, flake128 *id);
FLAKE_I_MUST_USE FLAKE_API flake_status flake128_next_n(flake_gen *, flake128 *ids, size_t n);
FLAKE_I_MUST_USE FLAKE_API flake_status flake128_try_n(flake_gen *, flake128 *ids, size_t n, size_t *got);
FLAKE_I_MUST_USE FLAKE_API flake_status flake128_try_at(flake_gen *, int64_t unix_ms, flake128 *id);

/* LANES split the sequence range. A draw uses the lane that last served its processor, and another one if two
 * threads meet there or its IDs of this unit are exhausted: one thread can still draw all IDs of a unit. (With
 * max_ahead_ms a lane first runs ahead by itself.) Each lane asks the gate for itself. Lanes of fewer than 32
 * numbers are exhausted often (js53 has room for 4). The array must not be moved or copied while it is in use.
 *
 * Of two successive draws, by any threads, the later one's unit is not earlier, except by the coarse clock's lag or by
 * max_ahead_ms; with the fast clock by up to 0.5 ms while the system clock is stepped or slewed, and rarely, at the end
 * of a unit, by one unit. After a backward step, lanes whose newest ID is ahead of the clock wait.
 *
 * UUIDS AND ULIDS. In each ms a counter starts at a random number, below 2^25 (ULIDs: 2^79), and is incremented for
 * each ID. After 65,536 IDs callers wait for the next ms. So all IDs of a generator increase; with lanes, those of a
 * later ms are greater. After a backward step they continue from the newest time, each lane from its own; an exhausted
 * ms is then followed by the next one at once. With a clock before 1984 the first draw returns FLAKE_TIME_RANGE.
 *
 * One generator repeats no ID. Two of uuid7 or ulid may, though it is unlikely: docs/formats.md has the
 * figures. Those of uuid8 and uuid7_node, an extension of RFC 9562 (6.4), do not if their nodes differ.
 *
 * RANDOM BITS are a keyed function (SipHash-1-3) of the time and the counter, with keys from FLAKE_RANDOM_BYTES
 * that each init renews. Those of the last 48 bits are also renewed every second, if there are random bytes.
 * Anyone holding an ID can predict the others of its ms, except the last 48 bits of a uuid7. */

/* ---- queries: of every kind of generator; the answer may be out of date when it is returned ---- */

/* Nanoseconds until flake_try can succeed, if no other thread takes the ID first; at least 1 ms while the horizon waits
 * for flake_extend. The gate is not asked: if this is 0 after FLAKE_AGAIN, retry after 1 ms. INT64_MAX: never. */
FLAKE_API int64_t flake_retry_ns(flake_gen *);
FLAKE_API uint64_t flake_available(flake_gen *); /* IDs available now */
FLAKE_API int64_t flake_ahead_ms(flake_gen *);   /* how far the newest ID is ahead of the clock */
/* Unix time of the newest ID's unit, for after_unix_ms of the next run: call it when no draw is in progress. IDs
 * ahead of the clock count. Before the first ID: the unit after which IDs start, or the layout's epoch, so a run
 * without an ID forgets nothing. Each shard reports its own: take the latest. INT64_MIN: not initialised. */
FLAKE_API int64_t flake_newest_ms(flake_gen *);
/* The options in effect, with layout, range and defaults filled in; NULL: not initialised. */
FLAKE_API const flake_options *flake_gen_options(const flake_gen *);
FLAKE_API uint64_t flake_gen_node(const flake_gen *); /* UINT64_MAX: none, or not initialised */

typedef struct flake_stats {
    uint64_t ids;             /* IDs generated, each of a batch */
    uint64_t batches;         /* calls that generated more than one */
    uint64_t waits;           /* calls that had to sleep, but not for the unit in which IDs start */
    uint64_t clock_backwards; /* calls that found the clock behind the newest ID */
} flake_stats;
FLAKE_API void flake_stats_get(flake_gen *, flake_stats *);

/* ---- prefetch: a thread's private stock of IDs, claimed in one batch ----
 *
 * Its generator must outlive it. A stock has up to `count` IDs (1 to 100,000), at most valid_ms old (0: no limit).
 */
typedef struct flake_prefetch flake_prefetch;
FLAKE_I_MUST_USE FLAKE_API flake_status flake_prefetch_init(flake_prefetch *, flake_gen *, uint32_t count,
                                                            int64_t valid_ms, flake_why *);
/* Blocks like flake_next, and returns what that returns. */
FLAKE_I_MUST_USE FLAKE_API flake_status flake_prefetch_next(flake_prefetch *, uint64_t *id);

/* ---- overflow events: bounded, lock-free, many producers and consumers ----
 *
 * Only callers that wait produce events: a program that draws with flake_try counts FLAKE_AGAIN itself. A full ring
 * drops events, and drops are not counted. Order them by now_ns: those of different ms may arrive out of order. The
 * last event of an overflow has waiting = 0; a caller that waited pushes it, or the next draw. Lanes push their own.
 */
typedef struct flake_ring flake_ring;
typedef struct flake_ring_slot flake_ring_slot;
typedef struct flake_overflow {
    int64_t now_ns;
    uint32_t waiting;    /* IDs that callers wait for, each of a batch; 0: the overflow is over */
    uint32_t elapsed_ms; /* since this overflow began */
} flake_overflow;

/* Any number of slots. Not while other threads use the ring. */
FLAKE_API flake_status flake_ring_init(flake_ring *, flake_ring_slot *slots, size_t n);
/* False: the ring is full, or a thread has not finished its pop. */
FLAKE_API bool flake_ring_push(flake_ring *, const flake_overflow *);
/* False: the ring is empty, or a thread has not finished its push. */
FLAKE_API bool flake_ring_pop(flake_ring *, flake_overflow *);

/* ---- cloned machines ----
 *
 * Call it in each process after a virtual machine is resumed, restored or cloned: a process cannot detect that. From
 * then on every generator, except those in shared memory, behaves as after a fork. From any thread or signal handler.
 * It reaches the generators of its own copy of this header and of sno.h. A shared library that hides its symbols, or
 * was opened with RTLD_LOCAL, must call it too. */
FLAKE_API void flake_machine_cloned(void);

/* ---- configuration as text ----
 *
 *     twitter node=0-1023 dir=/var/lib/app lanes=8 clock=fast
 *     layout=39-8-16 unit_ms=10 epoch_ms=1577836800000 node=7 dir=none
 *
 * For configuration files, command lines and other languages. Words are separated by blanks, in any order. They are
 * fields of flake_options (not shared_memory), with a number (seq_max=99), or alone if they are bool; and:
 *
 *     twitter                    a layout, by its name, or by its bits of time, node and sequence, as in
 *                                39-8-16; layout=twitter is the same. Without one: default
 *     unit_ms=10  epoch_ms=MS    instead of the layout's; of 39-8-16 these are 1 and 0, the year 1970
 *     node=7      dir=DIR        flake_node_fixed(DIR, 7)
 *     node=7      dir=none       flake_node_fixed(NULL, 7)
 *     node=0-99   dir="/run/a b" flake_node_any("/run/a b", 0, 99): a value with blanks is in double quotes,
 *                                which it cannot contain; a backslash is one
 *     lanes=8                    options.lane_count; the program sets options.lanes to as many lanes
 *     clock=exact                or coarse; fast, the default
 *
 * Only a layout with a node has node= and dir=, and needs both: so a text says what checks that it is unique.
 */
typedef struct flake_config {
    FLAKE_I_NO_COPY(flake_config)
    flake_node node;
    flake_options options; /* with a layout */
    char text[2048];
} flake_config;

/* The config must not be moved afterwards, and must outlive the generator: options point into it. FLAKE_INVALID: `why`
 * names the word, and the config is zero, which flake_init rejects. flake_init checks that numbers fit the layout. */
FLAKE_I_MUST_USE FLAKE_API flake_status flake_config_parse(const char *text, flake_config *, flake_why *);

#ifdef FLAKE_SHARED
/* For other languages, in a shared library. Allocates and initialises a generator with its lanes. NULL: see `why`. */
FLAKE_API flake_gen *flake_new(const char *text, flake_why *);
/* flake_close, and frees the memory; no thread may use the generator any more. FLAKE_OK for NULL. Only after
 * FLAKE_AGAIN does the generator still exist. */
FLAKE_API flake_status flake_free(flake_gen *, flake_why *);
FLAKE_API const char *flake_version(void);
#endif

/* ---- where node numbers come from ----
 *
 * The caller ensures that no other generator has the number at the same time. FLAKE_INVALID: there is no such
 * number here; `why` has the reason. On failure *number is one that init refuses, with any layout, also with
 * something added to it or multiplied by a power of two.
 */
/* The 48-bit Ethernet address of an interface, as boundary's worker. NULL: the first interface with a
 * factory-assigned address, else the first that is up, else any; never loopback or all zeros. Unique on a
 * network, for one process a host. FLAKE_IO: the system does not list its interfaces. */
FLAKE_I_MUST_USE FLAKE_API flake_status flake_node_from_mac(const char *device, uint64_t *number48, flake_why *);
/* Sonyflake's default: the last 16 bits of this host's first private or link-local IPv4 address. */
FLAKE_I_MUST_USE FLAKE_API flake_status flake_node_from_ip(uint64_t *number16, flake_why *);
/* `first` plus the ordinal of a StatefulSet's pod: first + 3 for web-3 and web-3.web.prod.svc. NULL: this host's
 * name. FLAKE_INVALID also if that exceeds `last`: it could be a number of another set. */
FLAKE_I_MUST_USE FLAKE_API flake_status flake_node_from_hostname(const char *name, uint64_t first, uint64_t last,
                                                                 uint64_t *number, flake_why *);
/* The variable's value, a decimal number below 2^64. */
FLAKE_I_MUST_USE FLAKE_API flake_status flake_node_from_env(const char *variable, uint64_t *number, flake_why *);

/* ---- text ---- */

typedef enum flake_encoding {
    FLAKE_DEC = 0, /* 5828128208445124608 */
    FLAKE_HEX = 1, /* 50e1abba11ce3000: lower case */
    FLAKE_BIN = 2,
    FLAKE_BIN4 = 3,   /* 64 bits in groups of four, separated by blanks */
    FLAKE_BASE32 = 4, /* Crockford: digits and upper case without I L O U */
    FLAKE_BASE36 = 5, /* digits and upper case */
    FLAKE_BASE58 = 6, /* 123456789ABC...Zabc...z without 0 I O l */
    FLAKE_BASE62 = 7, /* digits, upper case, lower case */
    /* as bwmarrin's Base32, Base36 and Base58 in Go; texts of the first and last do not sort as IDs do: */
    FLAKE_ZBASE32 = 8,       /* ybndrfg8ejkmcpqxot1uwisza345h769 */
    FLAKE_BASE36_LOWER = 9,  /* digits and lower case */
    FLAKE_BASE58_FLICKR = 10 /* 123456789abc...zABC...Z without 0 l I O */
} flake_encoding;

#define FLAKE_TEXT_SIZE    80  /* room for any text of a 64-bit ID, with its NUL */
#define FLAKE128_TEXT_SIZE 129 /* and of a 128-bit ID in any base */

/* The width of UINT64_MAX in this encoding, without a NUL; 0: there is no such encoding. */
FLAKE_API size_t flake_text_width(flake_encoding);
/* Writes the shortest text of id ("0" for 0) and a NUL, and returns its length. Returns 0, with buf unchanged,
 * if it does not fit, buf is NULL, or there is no such encoding. FLAKE_BIN4 always has all 64 bits. */
FLAKE_API size_t flake_format(uint64_t id, flake_encoding, char *buf, size_t size);
/* The same, padded with the encoding's zero to flake_text_width, so that texts sort as their IDs do (except
 * FLAKE_ZBASE32 and FLAKE_BASE58_FLICKR). */
FLAKE_API size_t flake_format_fixed(uint64_t id, flake_encoding, char *buf, size_t size);
/* The whole input must be a number in the encoding's alphabet and case. Leading zeros are accepted up to its
 * width; signs and blanks are not (FLAKE_BIN4 needs its blanks, and all 64 bits). FLAKE_PARSE: any other text,
 * an empty one, a number above UINT64_MAX, NULL. FLAKE_INVALID: there is no such encoding. */
FLAKE_API flake_status flake_parse(const char *, size_t len, flake_encoding, uint64_t *id);
/* Big-endian, so that memcmp sorts as the IDs do. */
FLAKE_API void flake_to_bytes(uint64_t id, uint8_t out[8]);
FLAKE_API uint64_t flake_from_bytes(const uint8_t in[8]);

/* ---- UUIDv7 and ULID without set-up ----
 *
 * From one generator per process, which the first call creates. Safe from any thread and signal handler. Each
 * UUID is greater than all UUIDs before it, in every thread, even if the clock goes backwards, and so is each
 * ULID; both use one counter. A forked child continues with its own keys, and so does a process after
 * flake_machine_cloned; IDs of one ms from before and after are unordered. So are those of two modules that
 * hide their symbols, or were opened with RTLD_LOCAL: each has its own generator.
 *
 * The clock is FAST. After 65,536 IDs in a ms the calls wait for the next. FLAKE_IO: the system has no random bytes.
 * FLAKE_TIME_RANGE: the clock reads before 1984 at first use, or after 2262. FLAKE_AGAIN: the clock stood still for a
 * second. On failure `out` is zeroed.
 */
FLAKE_I_MUST_USE FLAKE_API flake_status flake_uuid7(char out[37]);
FLAKE_I_MUST_USE FLAKE_API flake_status flake_uuid7_bytes(uint8_t out[16]);
FLAKE_I_MUST_USE FLAKE_API flake_status flake_ulid(char out[27]);
FLAKE_I_MUST_USE FLAKE_API flake_status flake_ulid_bytes(uint8_t out[16]);
/* A UUIDv7 of a given time, to give old rows a key. It uses no generator: its other 74 bits are random, so it is
 * not ordered with others of its ms. FLAKE_TIME_RANGE: before 1970, or more than 48 bits. FLAKE_IO: the system has
 * no random bytes. On failure `out` is unchanged. */
FLAKE_I_MUST_USE FLAKE_API flake_status flake_uuid7_at(int64_t unix_ms, char out[37]);

/* ---- texts of 128 bits ---- */

/* Like the calls for 64 bits, in a base from 2 to 62: digits, upper case, lower case. For any other base, width
 * and length are 0 and parsing returns FLAKE_INVALID. */
FLAKE_API size_t flake128_text_width(unsigned base);
FLAKE_API size_t flake128_format(const flake128 *, unsigned base, char *buf, size_t size);
FLAKE_API size_t flake128_format_fixed(const flake128 *, unsigned base, char *buf, size_t size);
FLAKE_API flake_status flake128_parse(const char *, size_t len, unsigned base, flake128 *id);
/* The 36 characters of a UUID: lower-case hex digits and 4 hyphens; the bits are not changed, version and
 * variant included. Parsing accepts both cases. */
FLAKE_API void flake128_to_uuid(const flake128 *, char out[37]);
FLAKE_API flake_status flake128_from_uuid(const char *, size_t len, flake128 *id);
/* The 26 characters of a ULID, upper case. Parsing accepts both cases, I and L as 1, O as 0. Texts above
 * 7ZZZZZZZZZZZZZZZZZZZZZZZZZ are FLAKE_PARSE. */
FLAKE_API void flake128_to_ulid(const flake128 *, char out[27]);
FLAKE_API flake_status flake128_from_ulid(const char *, size_t len, flake128 *id);
/* n at once, each text with its NUL: 37 * n characters, or 27 * n. When parsing, any character may separate
 * the texts, such as a line end. All n or none. */
FLAKE_API void flake128_to_uuid_n(const flake128 *, size_t n, char *out);
FLAKE_API flake_status flake128_from_uuid_n(const char *, size_t n, flake128 *ids);
FLAKE_API void flake128_to_ulid_n(const flake128 *, size_t n, char *out);
FLAKE_API flake_status flake128_from_ulid_n(const char *, size_t n, flake128 *ids);

// >>structs

struct flake_ring_slot {
    FLAKE_I_NO_COPY(flake_ring_slot)
    flake_atomic64 turn;
    flake_overflow note;
};

struct flake_ring {
    FLAKE_I_NO_COPY(flake_ring)
    flake_ring_slot *slots;
    uint64_t size;
    char pad0[64];
    flake_atomic64 head; /* next to push */
    char pad1[56];
    flake_atomic64 tail; /* next to pop */
    char pad2[56];
};

/* The state word has a cache line to itself, whatever the struct's alignment, except for the fast clock's window, which
 * is read with it. After it come fields that change once at most, and then those that only the slow path writes. */
typedef struct flake_i_engine {
    FLAKE_I_NO_COPY(flake_i_engine)
    char pad0[48];
    flake_atomic64 fast_until; /* fast clock: a unit, and the counter's value at its end */
    flake_atomic64 word;
    char pad1[56];

    flake_atomic64 *owner_word;  /* compared with owner_id: the gate's, else the instance's; NULL: the pid */
    uint64_t owner_id;           /* 0: nothing is compared */
    uint64_t epoch_ns, unit_ns;  /* wrapping arithmetic: only differences are used */
    uint64_t unit_share;         /* 2^64 / unit_ns, rounded down, to multiply instead of divide */
    uint64_t slack_ns;           /* how far a reading may lag behind the word's unit */
    uint64_t unit_plus_slack_ns; /* unit_ns + slack_ns */
    uint64_t late_from_ns;       /* epoch_ns - slack_ns */
    uint64_t count_mask;
    uint64_t unit_capacity; /* tickets per unit: the range of the generator, shard or lane */
    uint64_t fast_limit;    /* the fast path draws if count is 1 to this; 0: never */
    uint64_t add_limit;     /* ... by fetch_add: likewise */
    unsigned time_shift;
    unsigned tick_bits; /* 1: a backward step of the clock changes the timeline */
    flake_clock clock;
    uint64_t frequent;      /* fast clock: draws are frequent if a unit has so many tickets */
    uint64_t count_limit;   /* count never exceeds this */
    uint64_t max_time;      /* the last unit that layout and clock can express */
    uint64_t ahead;         /* units that IDs may be ahead of the clock */
    uint64_t time_lead;     /* units that time itself may be: ahead, or 0 */
    int64_t wait_ns;        /* longest sleep of one call */
    uint64_t start_unit;    /* if init set a start: the first unit that has IDs, else 0 */
    uintptr_t self_address; /* its own address at init: that of a copy differs */
    bool fail_on_backwards; /* waiting calls do not wait after a backward step */
    bool no_wait;           /* init did not wait for the time before start_unit */
    /* flake_i_draw_first draws if count is 1 to this; 0: closed, or with a gate, claim, ring, or count that carries */
    flake_atomic64 first_limit;
    /* of the counter; 1: the next draw begins a window if they are known, or clock.now_ns is set; 0: no windows, or
     * draws are rare */
    flake_atomic64 ticks_per_window;
    flake_ring *ring;
    flake_gate gate;
    uintptr_t claim_at; /* distance of the generator's claim, in a directory; 0: none */
    flake_i_atomic32 is_closed;
    flake_atomic64 *instance_word; /* owner_word, unless that is the gate's */
    uint64_t instance_owner_id;
    bool is_shared;
    char pad2[64];

    flake_atomic64 safe[2]; /* tick engines: see I5 */
    flake_atomic64 drifts;  /* timelines left; may lack the last one, which its parity shows */
    flake_atomic64 overflow;
    flake_atomic64 rebased; /* tickets drawn that count no longer includes */
    flake_atomic64 batches, waits, clock_backwards;
    char pad3[64];
} flake_i_engine;

/* A run of n tickets, from `index` of unit `time` on; index < unit_capacity. */
typedef struct flake_i_ticket {
    uint64_t time, index, n; /* lanes read n after a failed draw, too: not 0 if a gate refused */
    unsigned tick;
    uint64_t head;    /* time and tick as they are in the word: for IDs that are formed from it */
    flake_lane *from; /* its lane; NULL: without lanes. The engine does not set it */
} flake_i_ticket;

/* The longest path, and the longest end of one: "/281474976710655.slot.new". */
enum { FLAKE_I_PATH = 1024, FLAKE_I_ENDING = 32 };

/* An open and locked file; fd is negative if there is none. */
typedef struct flake_i_file {
    uint64_t device, inode;
    int fd;
} flake_i_file;

enum {
    FLAKE_I_RECORD = 128,
    FLAKE_I_RUN = 16,
    FLAKE_I_FILE = 8192,
    FLAKE_I_FIRST_RECORD = 512, /* in a sector of its own; the other is 4096 after it */
    FLAKE_I_RECORD_STRIDE = 4096
};

/* A record of a number's file. */
typedef struct flake_i_record {
    uint64_t number; /* of the record */
    int64_t horizon_ns, written_ns;
    uint8_t run[FLAKE_I_RUN]; /* random: distinguishes a generator's records from those of others */
    uint64_t node, pid;       /* the pid of the holder, and when it claimed the number */
    int64_t claimed_ns;
} flake_i_record;

/* A generator's number in a directory. */
typedef struct flake_i_claim {
    FLAKE_I_NO_COPY(flake_i_claim)
    flake_atomic64 horizon_ns;    /* IDs up to this Unix time may be generated */
    flake_atomic64 admitted_ns;   /* no ID of this run or the last one is later */
    flake_atomic64 writer;        /* id of the thread that writes, or 0; after close not 0 */
    flake_atomic64 retry_from_ns; /* after a failed write while horizon is left; INT64_MIN: the last one succeeded */
    flake_atomic64 holder;        /* process owner id of init or flake_take_over; also without a directory */
    /* constant after init */
    int64_t lead_ns; /* how far the horizon is ahead of use when it is written */
    bool manual_extend;
    flake_clock clock;
    char path[FLAKE_I_PATH];
    /* of the writer */
    uintptr_t self_address;       /* in the holder */
    flake_i_record own;           /* its records, but for the horizon: number of the last one on disk; written_ns is
                                     the latest clock reading of a write, also after a backward step */
    uint8_t last[FLAKE_I_RECORD]; /* the last record on disk */
    bool is_lost;                 /* another record counts, or the file is gone */
    flake_i_file file;
} flake_i_claim;

struct flake_lane {
    flake_i_engine engine;
    uint64_t first; /* the lane's first ticket in a unit of the generator */
};

typedef struct flake_i_lanes {
    FLAKE_I_NO_COPY(flake_i_lanes)
    flake_i_atomic32 map[256]; /* by FLAKE_LANE(): a lane's distance from lanes_at (shared: + 2^31); 0: none yet */
    uintptr_t lanes_at;        /* address of lane -1; in shared memory relative to this struct */
    uintptr_t from;            /* in shared memory all ones, else 0 */
    uintptr_t self_address;    /* see flake_i_engine */
    size_t n;                  /* 0: not initialised */
    char pad[64];
    flake_i_atomic32 turn; /* the lane to try next */
    char pad2[60];
} flake_i_lanes;

/* Keys of the random bits. A thread that reads a half-renewed tail has a valid key, too. */
typedef struct flake_i_keys {
    uint64_t start[2];
    flake_atomic64 tail[2];
    flake_atomic64 renewed; /* the second of the last renewal, approximately */
    flake_atomic64 newest;  /* UUIDs: [ of which ms and salt:39 ][ start of its counter:25 ] */
    flake_atomic64 ulid[3]; /* of the newest ms: see flake_i_ulid_start */
} flake_i_keys;

/* A generator's kind: how it draws, plus what it forms from a ticket; 0: not initialised. The fast path
 * compares the sum with one constant. So the values are ordered: the greatest sum is FLAKE_I_SINGLE +
 * FLAKE_I_PLAIN as an int8_t, and FLAKE_I_SINGLE + FLAKE_I_PART as a uint8_t. */
enum {
    FLAKE_I_LANES = 1,
    FLAKE_I_MULTI = 2,      /* one word for all threads: read-modify-writes */
    FLAKE_I_SINGLE = 3,     /* one thread at a time: plain loads and stores */
    FLAKE_I_WAY = 3,        /* mask of these */
    FLAKE_I_128 = 4,        /* forms 128-bit IDs */
    FLAKE_I_UNUSUAL_64 = 8, /* 64-bit IDs with scatter or reversed time */
    FLAKE_I_PLAIN = 64,     /* 64-bit IDs that are the sum of base and ticket */
    FLAKE_I_PART = 128      /* part of a generator such as sno.h's, which forms the IDs */
};

/* With lanes, the engine holds the claims and the position at which the lanes begin; its word is not drawn from. */
struct flake_gen {
    flake_i_engine engine;
    uint64_t base; /* the ID of ticket 0 at time 0; boundary: its lower half; UUIDs: the node;
                      FLAKE_I_PART: free for the generator that contains this one */
    uint8_t kind;
    uint8_t time_shift, seq_shift;
    bool has_counter;             /* UUIDs, ULIDs: counted from a keyed start, also after a backward step */
    flake_atomic64 identity_hash; /* hash of what decides the ID of a ticket, never 0; 0: closed */
    flake_i_keys keys;
    flake_options options;
    uint64_t node;       /* 0 if it has none */
    uint32_t shard;      /* from 1 on; 0: it is none */
    size_t next_shard;   /* distance; 0: it is the last */
    flake_i_claim claim; /* of shards: the first one's */
    flake_i_lanes lanes;
};

struct flake_prefetch {
    FLAKE_I_NO_COPY(flake_prefetch)
    const flake_prefetch *self_address; /* see flake_i_engine; NULL: not initialised */
    flake_gen *gen;
    flake_i_ticket stock;
    uint64_t identity_hash;        /* the generator's when the stock was claimed */
    flake_atomic64 *instance_word; /* a child must not use its parent's stock, */
    uint64_t instance_owner_id;    /* ... not even of a generator that both share */
    int64_t valid_ns, taken_ns;
    uint32_t count;
    char pad[64]; /* two threads' objects share no cache line */
};

#ifdef __cplusplus
}
#endif
#endif /* FLAKE_H */

#if defined(FLAKE_IMPLEMENTATION) && !defined(FLAKE_SHARED)
#error "FLAKE_IMPLEMENTATION: define FLAKE_SHARED, too, in each file of the program"
#endif
#if defined(FLAKE_I_IMPLEMENTED) /* by an earlier include in this file */
#elif defined(FLAKE_SHARED) && !defined(FLAKE_IMPLEMENTATION)
#if defined(FLAKE_CLOCK_NS) || defined(FLAKE_CLOCK_SLACK_NS) || defined(FLAKE_COUNTER) || defined(FLAKE_SLEEP_NS) || \
    defined(FLAKE_RELAX) || defined(FLAKE_LANE) || defined(FLAKE_RANDOM_BYTES) || defined(FLAKE_ASSERT)
#error "FLAKE_SHARED: define hooks only in the file that defines FLAKE_IMPLEMENTATION"
#endif
#else
#define FLAKE_I_IMPLEMENTED

// >>basics

/* ---- hooks, inlining, static assertions ---- */

#define FLAKE_I_FN static inline /* before each function that is not public */

#ifndef FLAKE_ASSERT
#define FLAKE_ASSERT(condition) ((void)0)
#endif

#ifndef FLAKE_RELAX
#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
#define FLAKE_RELAX() __builtin_ia32_pause()
#elif defined(__aarch64__) && defined(__GNUC__)
#define FLAKE_RELAX() __asm__ volatile("isb")
#else
#define FLAKE_RELAX() ((void)0)
#endif
#endif

#if defined(__GNUC__) || defined(__clang__)
#define FLAKE_I_INLINE    FLAKE_I_FN __attribute__((always_inline))
#define FLAKE_I_NOINLINE  static __attribute__((noinline, unused))
#define FLAKE_I_COLD      static __attribute__((noinline, cold, unused))
#define FLAKE_I_LIKELY(x) __builtin_expect(!!(x), 1)
#elif defined(_MSC_VER)
#define FLAKE_I_INLINE    static __forceinline
#define FLAKE_I_NOINLINE  static __declspec(noinline)
#define FLAKE_I_COLD      static __declspec(noinline)
#define FLAKE_I_LIKELY(x) (x)
#else
#define FLAKE_I_INLINE    FLAKE_I_FN
#define FLAKE_I_NOINLINE  FLAKE_I_FN
#define FLAKE_I_COLD      FLAKE_I_FN
#define FLAKE_I_LIKELY(x) (x)
#endif

/* The compiler forgets how the value was computed: it keeps no part of that in a register over a later call. */
#if defined(FLAKE_I_APART) /* models: a checker knows no assembly */
#elif defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__))
#define FLAKE_I_APART(value) __asm__("" : "+r"(value))
#else
#define FLAKE_I_APART(value) ((void)0)
#endif

/* Almost always true; the other branch's cost is irrelevant. */
#define FLAKE_I_SURE(x) FLAKE_I_LIKELY(x)
#ifdef __has_builtin
#if __has_builtin(__builtin_expect_with_probability)
#undef FLAKE_I_SURE
#define FLAKE_I_SURE(x) __builtin_expect_with_probability(!!(x), 1, 1.0)
#endif
#endif

#if defined(__cplusplus)
#define FLAKE_I_STATIC_ASSERT(condition, what) static_assert(condition, what)
#else
#define FLAKE_I_STATIC_ASSERT(condition, what) _Static_assert(condition, what)
#endif

/* ---- numbers and bytes ---- */

FLAKE_I_FN uint64_t flake_i_min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }

FLAKE_I_FN int64_t flake_i_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
FLAKE_I_FN uint64_t flake_i_max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

FLAKE_I_FN uint64_t flake_i_ones(unsigned bits) { return bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX; }

/* To and from big-endian. gcc makes slow vectors of two neighbouring series of byte stores. */
FLAKE_I_FN uint64_t flake_i_big_endian(uint64_t value) {
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

FLAKE_I_FN void flake_i_put64(void *out, uint64_t value) {
    value = flake_i_big_endian(value);
    memcpy(out, &value, sizeof value);
}

FLAKE_I_FN uint64_t flake_i_get64(const void *in) {
    uint64_t value;
    memcpy(&value, in, sizeof value);
    return flake_i_big_endian(value);
}

/* Each step is a bijection: any change of one byte changes the hash. */
FLAKE_I_FN uint64_t flake_i_fnv(const uint8_t *bytes, size_t n) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < n; i++) hash = (hash ^ bytes[i]) * 0x100000001b3;
    return hash;
}

/* ---- vectors: AVX2, selected at run time ----
 *
 * They are the compiler's own types: including the intrinsics' header would take longer than all the rest. gcc for
 * Windows does not align the stack for 32-byte values. With -funsigned-char gcc treats a mask's bytes as positive. */
#if !defined(FLAKE_NO_SIMD) && defined(__GNUC__) && defined(__x86_64__) && (!defined(_WIN32) || defined(__clang__)) && \
    (!defined(__CHAR_UNSIGNED__) || defined(__clang__))
#define FLAKE_I_AVX2 __attribute__((target("avx2")))
#ifdef __AVX2__
#define FLAKE_I_HAS_AVX2 true
#else
#define FLAKE_I_HAS_AVX2 (__builtin_cpu_supports("avx2") != 0) /* a load and a test */
#endif
#define FLAKE_I_BEST(avx2, portable) (FLAKE_I_HAS_AVX2 ? avx2 : portable)

typedef char flake_i_c8x32 __attribute__((vector_size(32)));
typedef uint8_t flake_i_u8x32 __attribute__((vector_size(32)));
typedef uint64_t flake_i_u64x4 __attribute__((vector_size(32)));

/* Per half: the bytes selected by `order`, and 0 where the order has bit 7. Of its other bits the last four count. */
#define FLAKE_I_PICK(bytes, order) \
    ((flake_i_u8x32)__builtin_ia32_pshufb256((flake_i_c8x32)(bytes), (flake_i_c8x32)(order)))
#define FLAKE_I_BOTH(...) \
    { __VA_ARGS__, __VA_ARGS__ }

#else
#define FLAKE_I_BEST(avx2, portable) portable
#endif

/* ---- reasons in words ---- */

/* As far as they fit. A long path before a shorter reason loses its beginning. */
FLAKE_I_FN void flake_i_put_why(flake_why *why, const char *first, const char *second, const char *third) {
    if (!why) return;
    const size_t room = sizeof why->text - 1, length = strlen(first);
    const size_t rest = strlen(second) + strlen(third) + 3; /* with the dots */
    const bool is_cut = length + rest > room + 3 && rest < room && rest < length;
    const char *const parts[] = {is_cut ? "..." : "", is_cut ? first + (length + rest - room) : first, second, third};
    size_t n = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (const char *c = parts[i]; *c && n < room; c++) why->text[n++] = *c;
    why->text[n] = 0;
}

FLAKE_I_FN flake_status flake_i_say(flake_why *why, flake_status status, const char *subject, const char *what) {
    flake_i_put_why(why, subject, ": ", what);
    return status;
}

/* Writes `form` with a number in place of each #, three at most. */
FLAKE_I_FN void flake_i_put_numbers(char *to, const char *form, uint64_t first, uint64_t second, uint64_t third) {
    const uint64_t numbers[] = {first, second, third};
    for (size_t n = 0; *form; form++)
        if (*form == '#') to += flake_format(numbers[n++], FLAKE_DEC, to, FLAKE_TEXT_SIZE);
        else *to++ = *form;
    *to = 0;
}

FLAKE_API const char *flake_status_str(flake_status status) {
    switch (status) {
    case FLAKE_OK: return "ok";
    case FLAKE_AGAIN:
        return "no ID is available in this time unit, the rest are held back, or the generator has not started yet: "
               "retry";
    case FLAKE_CLOCK_BACKWARDS: return "the clock is behind the newest ID";
    case FLAKE_NOT_EXTENDED: return "the horizon is reached: the process that called flake_init must call flake_extend";
    case FLAKE_TIME_RANGE: return "the time is before layout.epoch_ms or after flake_layout_end_ms";
    case FLAKE_INVALID:
        return "a bad argument or option (flake_why names it); from a draw: the generator is not "
               "initialised or was copied, or this call does not suit its layout or lanes";
    case FLAKE_PARSE: return "not a text of this encoding";
    case FLAKE_NODE_RANGE: return "the node exceeds layout.node_bits";
    case FLAKE_NODE_OVERLAP: return "the parent used some of these numbers before the fork";
    case FLAKE_LEASE_LOST: return "the claim on the node number was lost";
    case FLAKE_FORKED: return "the generator was inherited through fork(), or the machine was cloned";
    case FLAKE_IO: return "a file, connection or random source failed";
    case FLAKE_CORRUPT: return "the file of the number is truncated or damaged";
    case FLAKE_MISMATCH:
        return "the file of the number is of another program or user, or was changed or removed "
               "while the generator used it";
    case FLAKE_DOWNTIME: return "the last run ended longer ago than max_downtime_ms";
    case FLAKE_IN_USE: return "the number, or each number of the range, has a holder";
    case FLAKE_TOO_FAR_AHEAD: return "the given time is ahead of the clock by more than max_ahead_ms and a time unit";
    case FLAKE_CLOSED: return "the generator is closed";
    case FLAKE_EXHAUSTED: return "this process and its relatives have used all 65,536 partitions";
    }
    return "unknown status";
}

// >>system
/*
 * Everything that asks the operating system. The code after this section knows no platform and uses only:
 *
 *     system_ns, system_slack_ns,     the hooks' defaults                    bare: none
 *     system_sleep
 *     system_random                   n random bytes; false: none            bare: always false
 *     system_lane                     the processor, or else a hash of the thread    bare, WASI: 0
 *     pid                             the process id                         no fork: 1
 *     new_page, drop_page             8 KiB of zeros, optionally shared with children    else: NULL
 *     page_align_up, wipe_on_fork     the page inside a page_room, zeroed in a child     else: NULL, false
 *     ONE_PER_PROCESS                 an object that all files of a process share
 *
 *     FLAKE_I_HAS_FILES               0: none of the following functions, up to working_dir
 *     cancel_guard_begin, ..._end     no cancellation in between; errno is restored
 *     monotonic_ns                    to measure a wait
 *     thread_id                       unique among threads of all processes that share memory
 *     error_is_absent, _is_closed,    why the last call failed; close and unlink leave that unchanged
 *     _is_taken_or_denied, error_text
 *     open ... working_dir            files, by path and descriptor. lock does not wait
 *
 *     environment, host_name,         NULL: unknown                          bare: NULL
 *     zeroed, free                    memory                                 bare: NULL
 *     net_number                      the number of an address of this host  bare, Windows, WASI: FLAKE_IO
 *
 * Platforms: bare (FLAKE_NO_OS), Windows, WASI (neither has files), POSIX.
 */
#if defined(FLAKE_NO_OS)
#define FLAKE_I_HAS_FILES    0
#define FLAKE_I_WHY_NO_FILES "needs files, which FLAKE_NO_OS leaves out"
#elif defined(FLAKE_NO_FILES)
#define FLAKE_I_HAS_FILES    0
#define FLAKE_I_WHY_NO_FILES "needs files, which FLAKE_NO_FILES leaves out"
#elif defined(_WIN32) || defined(__wasi__)
#define FLAKE_I_HAS_FILES    0
#define FLAKE_I_WHY_NO_FILES "needs POSIX files"
#else
#define FLAKE_I_HAS_FILES    1
#define FLAKE_I_WHY_NO_FILES ""
#endif

/* Defines an object of which a process has one, however many files include the header. In C++20 std::atomic,
 * used by hooks or MSVC, has a constructor; without `= {}` it would run after other files have drawn. */
#if defined(_WIN32)
#define FLAKE_I_ONE_DEFINITION __declspec(selectany)
#elif defined(__ELF__) && !defined(__cplusplus)
/* Each file allocates a weak object; a common one is allocated once. ELF linkers merge the two kinds. */
#define FLAKE_I_ONE_DEFINITION __attribute__((common))
#else
#define FLAKE_I_ONE_DEFINITION __attribute__((weak))
#endif
#if defined(__cplusplus)
#define FLAKE_I_ONE_PER_PROCESS(type, name) \
    extern "C" type name;                   \
    FLAKE_I_ONE_DEFINITION type name = {}
#elif defined(_WIN32)
#define FLAKE_I_ONE_PER_PROCESS(type, name) \
    extern type name;                       \
    FLAKE_I_ONE_DEFINITION type name = {0}
#else
#define FLAKE_I_ONE_PER_PROCESS(type, name) \
    extern type name;                       \
    FLAKE_I_ONE_DEFINITION type name
#endif

/* Files with and without an operating system share nothing. */
#if defined(FLAKE_NO_OS)
#define FLAKE_I_LAYOUT(name, number) name##_##number##_bare
#else
#define FLAKE_I_LAYOUT(name, number) name##_##number
#endif

/* Static memory that holds one aligned page, which the kernel zeroes in a forked child, until the module (the
 * program, or a library that the process has opened) is unloaded. */
#if defined(FLAKE_NO_OS) || !(defined(__linux__) || defined(__FreeBSD__) || defined(__OpenBSD__) || defined(__NetBSD__))
#define FLAKE_I_HAS_FORK_PAGES 0
typedef char flake_i_page_room; /* unused */
FLAKE_I_FN void *flake_i_page_align_up(flake_i_page_room *room) { return (void)room, (void *)NULL; }
FLAKE_I_FN bool flake_i_wipe_on_fork(void *page) { return (void)page, false; }
#else
#define FLAKE_I_HAS_FORK_PAGES 1
#if defined(__x86_64__) || defined(__i386__)
enum { FLAKE_I_PAGE = 4096 };
#else
enum { FLAKE_I_PAGE = 65536 };
#endif
typedef struct flake_i_page_room {
    char bytes[2 * FLAKE_I_PAGE];
} flake_i_page_room;
#endif

#if defined(FLAKE_NO_OS) /* ---- bare ---- */
#if !defined(FLAKE_CLOCK_NS) || !defined(FLAKE_SLEEP_NS)
#error "FLAKE_NO_OS: define FLAKE_CLOCK_NS(kind) and FLAKE_SLEEP_NS(ns) before the include"
#endif

FLAKE_I_FN bool flake_i_system_random(void *to, size_t n) { return (void)to, (void)n, false; }

#elif defined(_WIN32) /* ---- Windows ---- */
#pragma push_macro("WIN32_LEAN_AND_MEAN")
#pragma push_macro("NOMINMAX")
#undef WIN32_LEAN_AND_MEAN
#undef NOMINMAX
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
#pragma pop_macro("WIN32_LEAN_AND_MEAN")
#pragma pop_macro("NOMINMAX")
#include <stdlib.h>
#if !defined(_CRT_RAND_S) /* else <stdlib.h> has it */
#if defined(__cplusplus)
extern "C"
#endif
    int __cdecl rand_s(unsigned *);
#endif

FLAKE_I_FN int64_t flake_i_system_ns(int kind) {
    FILETIME t;
    if (kind == FLAKE_CLOCK_COARSE) GetSystemTimeAsFileTime(&t);
    else GetSystemTimePreciseAsFileTime(&t);
    return ((int64_t)((uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime) - 116444736000000000) * 100;
}

/* More than twice its step of 15.6 ms. */
FLAKE_I_FN uint64_t flake_i_system_slack_ns(void) { return 40000000; }

FLAKE_I_FN void flake_i_system_sleep(int64_t ns) {
    for (; ns > 0; ns -= 1000000000) Sleep((DWORD)((ns < 1000000000 ? ns + 999999 : 1000000000) / 1000000));
}

/* From the same source as BCryptGenRandom, without a library to link. */
FLAKE_I_FN bool flake_i_system_random(void *to, size_t n) {
    for (unsigned word; n && rand_s(&word) == 0; n--) ((uint8_t *)to)[n - 1] = (uint8_t)word;
    return n == 0;
}

FLAKE_I_FN unsigned flake_i_system_lane(void) { return GetCurrentProcessorNumber(); }

#elif defined(__wasi__) /* ---- WASI ---- */
#include <wasi/api.h>

FLAKE_I_FN int64_t flake_i_system_ns(int kind) {
    __wasi_timestamp_t ns = 0;
    (void)kind;
    if (__wasi_clock_time_get(__WASI_CLOCKID_REALTIME, 1, &ns) != 0) return 0;
    return (int64_t)ns;
}

FLAKE_I_FN uint64_t flake_i_system_slack_ns(void) { return 0; } /* no coarse clock */

FLAKE_I_FN void flake_i_system_sleep(int64_t ns) {
    __wasi_subscription_t nap;
    __wasi_event_t event;
    __wasi_size_t events;
    memset(&nap, 0, sizeof nap);
    nap.u.tag = __WASI_EVENTTYPE_CLOCK;
    nap.u.u.clock.id = __WASI_CLOCKID_MONOTONIC;
    nap.u.u.clock.timeout = (__wasi_timestamp_t)ns;
    if (__wasi_poll_oneoff(&nap, &event, 1, &events) != 0) return; /* callers read the clock again */
}

FLAKE_I_FN bool flake_i_system_random(void *to, size_t n) {
    return __wasi_random_get((uint8_t *)to, (__wasi_size_t)n) == 0;
}

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

/* Strict C hides POSIX if another header comes first. So on Linux, functions have link names and the kernel's types. */
#if defined(__linux__)
struct flake_i_timespec {
    long sec, nsec;
};
extern int flake_i_clock_gettime(int id, struct flake_i_timespec *) __asm__("clock_gettime");
extern int flake_i_clock_getres(int id, struct flake_i_timespec *) __asm__("clock_getres");
extern int flake_i_clock_nanosleep(int id, int flags, const struct flake_i_timespec *,
                                   struct flake_i_timespec *) __asm__("clock_nanosleep");
extern int flake_i_madvise(void *, size_t, int) __asm__("madvise");
extern long flake_i_syscall(long, ...) __asm__("syscall");
#if FLAKE_I_HAS_FILES
extern int flake_i_fsync(int) __asm__("fsync");
extern int flake_i_fdatasync(int) __asm__("fdatasync");
extern ssize_t flake_i_readlink(const char *, char *, size_t) __asm__("readlink");
#endif

enum { FLAKE_I_REALTIME, FLAKE_I_MONOTONIC, FLAKE_I_REALTIME_COARSE = 5, FLAKE_I_BOOTTIME = 7 }; /* its clocks */
FLAKE_I_FN int64_t flake_i_linux_ns(int clock) {
    struct flake_i_timespec t;
    (void)flake_i_clock_gettime(clock, &t);
    return (int64_t)t.sec * 1000000000 + t.nsec;
}
#endif

FLAKE_I_FN int64_t flake_i_system_ns(int kind) {
#if defined(__linux__) && defined(__LP64__) /* else the kernel's type ends in 2038 */
    return flake_i_linux_ns(kind == FLAKE_CLOCK_COARSE ? FLAKE_I_REALTIME_COARSE : FLAKE_I_REALTIME);
#else
    struct timespec t;
    (void)kind;
#if defined(CLOCK_REALTIME_COARSE)
    (void)clock_gettime(kind == FLAKE_CLOCK_COARSE ? CLOCK_REALTIME_COARSE : CLOCK_REALTIME, &t);
#elif defined(CLOCK_REALTIME)
    (void)clock_gettime(CLOCK_REALTIME, &t);
#else
    (void)timespec_get(&t, TIME_UTC);
#endif
    return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_nsec;
#endif
}

/* The coarse clock lags by up to its resolution; this is twice that. */
FLAKE_I_FN uint64_t flake_i_system_slack_ns(void) {
    const uint64_t most = 50000000;
    uint64_t ns = 0;
#if defined(__linux__)
    struct flake_i_timespec t;
    if (flake_i_clock_getres(FLAKE_I_REALTIME_COARSE, &t) == 0) ns = t.sec ? most : 2 * (uint64_t)t.nsec;
#elif defined(CLOCK_REALTIME_COARSE)
    struct timespec t;
    if (clock_getres(CLOCK_REALTIME_COARSE, &t) == 0) ns = t.tv_sec ? most : 2 * (uint64_t)t.tv_nsec;
#endif
    return ns < most ? ns : most;
}

/* To measure a wait. */
FLAKE_I_FN int64_t flake_i_monotonic_ns(void) {
#if defined(__linux__)
    return flake_i_linux_ns(FLAKE_I_MONOTONIC);
#elif defined(CLOCK_MONOTONIC)
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
#else
    return flake_i_system_ns(FLAKE_CLOCK_EXACT);
#endif
}

/* Sleeps at least that long, whatever signals arrive. On Linux until an absolute time: the remaining time that
 * an interrupted sleep reports includes timer slack, so frequent signals would prolong it forever. */
FLAKE_I_FN void flake_i_system_sleep(int64_t ns) {
    const int errno_before = errno;
    const int64_t longest_s = 1000000000, ns_per_s = 1000000000;
    if (ns > longest_s * ns_per_s) ns = longest_s * ns_per_s;
#if defined(__linux__)
    enum { until = 1 };
    ns += flake_i_linux_ns(FLAKE_I_MONOTONIC);
    const struct flake_i_timespec t = {(long)(ns / ns_per_s), (long)(ns % ns_per_s)};
    while (flake_i_clock_nanosleep(FLAKE_I_MONOTONIC, until, &t, NULL) == EINTR) {
    }
#else
    struct timespec t;
    t.tv_sec = (time_t)(ns / ns_per_s);
    t.tv_nsec = (long)(ns % ns_per_s);
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

/* For open: a program executed meanwhile must not inherit the file and its lock; no link is followed. Strict C
 * hides the names, but glibc has internal ones. */
#if defined(O_CLOEXEC) && defined(O_NOFOLLOW)
enum { FLAKE_I_CLOEXEC = O_CLOEXEC, FLAKE_I_NOFOLLOW = O_NOFOLLOW, FLAKE_I_DUP = F_DUPFD_CLOEXEC };
#elif defined(__O_CLOEXEC) && defined(__O_NOFOLLOW)
enum { FLAKE_I_CLOEXEC = __O_CLOEXEC, FLAKE_I_NOFOLLOW = __O_NOFOLLOW, FLAKE_I_DUP = 1030 };
#else
enum { FLAKE_I_CLOEXEC = 0, FLAKE_I_NOFOLLOW = 0, FLAKE_I_DUP = F_DUPFD };
#endif

/* Leaves errno unchanged. getrandom blocks after boot until there is entropy; the file does not, and could return
 * the same on a clone of the machine. It serves systems without the call, whose getentropy strict POSIX hides. */
FLAKE_I_FN bool flake_i_system_random(void *to, size_t n) {
    const int errno_before = errno;
    bool well = false;
#if defined(SYS_getrandom)
    do well = flake_i_syscall(SYS_getrandom, to, n, 0L) == (long)n;
    while (!well && errno == EINTR);
#endif
    const int fd = well ? -1 : open("/dev/urandom", O_RDONLY | FLAKE_I_CLOEXEC);
    if (fd >= 0) {
        well = read(fd, to, n) == (ssize_t)n;
        (void)close(fd);
    }
    errno = errno_before;
    return well;
}

#if defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) && defined(__LP64__) && \
    (defined(__x86_64__) || defined(__aarch64__)) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 35)
/* The offset from a thread's base of the area that the kernel keeps for it, and the area's size; 0: there is
 * none. <sys/rseq.h>, which only glibc has, declares them under their link names. */
extern const ptrdiff_t flake_i_rseq_offset __asm__("__rseq_offset");
extern const unsigned flake_i_rseq_size __asm__("__rseq_size");

/* The area's second word is the processor's number; negative: unknown. The thread's base is read anew each
 * time, since a fiber may continue in another thread. */
FLAKE_I_FN int flake_i_processor(void) {
    int32_t number;
    if (!flake_i_rseq_size) return -1;
#if defined(__x86_64__)
    __asm__ volatile("movl %%fs:4(%1), %0" : "=r"(number) : "r"(flake_i_rseq_offset));
#else
    const char *begin;
    __asm__ volatile("mrs %0, tpidr_el0" : "=r"(begin));
    number = ((const volatile int32_t *)(const void *)(begin + flake_i_rseq_offset))[1];
#endif
    return number;
}
#else
FLAKE_I_FN int flake_i_processor(void) { return -1; }
#endif

/* Without a processor number: each thread has its own errno. */
FLAKE_I_FN unsigned flake_i_system_lane(void) {
    const int processor = flake_i_processor();
    if (processor >= 0) return (unsigned)processor;
    return (unsigned)((uint64_t)(uintptr_t)&errno * 0x9e3779b97f4a7c15 >> 56);
}

FLAKE_I_FN uint64_t flake_i_pid(void) { return (uint64_t)getpid(); }

FLAKE_I_FN void *flake_i_new_page(bool shared) {
#if defined(MAP_ANON)
    const int anonymous = MAP_ANON, zeros = -1;
#elif defined(__linux__) && !(defined(__mips__) || defined(__xtensa__) || defined(__alpha__) || defined(__hppa__))
    const int anonymous = 0x20, zeros = -1; /* which strict C hides */
#else
    const int anonymous = 0, zeros = open("/dev/zero", O_RDWR);
#endif
    void *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, (shared ? MAP_SHARED : MAP_PRIVATE) | anonymous, zeros, 0);
    if (zeros >= 0) (void)close(zeros);
    return page == MAP_FAILED ? NULL : page;
}

FLAKE_I_FN void flake_i_drop_page(void *page) { (void)munmap(page, 8192); }

#if FLAKE_I_HAS_FORK_PAGES
FLAKE_I_FN void *flake_i_page_align_up(flake_i_page_room *room) {
    const long size = sysconf(_SC_PAGESIZE);
    if (size <= 0 || size > FLAKE_I_PAGE) return NULL;
    const uintptr_t past = (uintptr_t)room->bytes % (uintptr_t)size;
    return room->bytes + (past ? (uintptr_t)size - past : 0);
}

/* The invalid advice detects emulators that accept any advice, and wipe nothing. */
FLAKE_I_FN bool flake_i_wipe_on_fork(void *page) {
    const int errno_before = errno;
#if defined(__linux__)
    enum { wipe_on_fork = 18, senseless = -1 };
    const bool wiped = flake_i_madvise(page, 4096, senseless) != 0 && flake_i_madvise(page, 4096, wipe_on_fork) == 0;
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

/* ---- what several platforms lack ---- */
#if defined(FLAKE_NO_OS) || defined(__wasi__)
FLAKE_I_FN unsigned flake_i_system_lane(void) { return 0; }
#endif
#if defined(FLAKE_NO_OS) || defined(__wasi__) || defined(_WIN32)
FLAKE_I_FN uint64_t flake_i_pid(void) { return 1; } /* no fork */
FLAKE_I_FN void *flake_i_new_page(bool shared) { return (void)shared, (void *)NULL; }
FLAKE_I_FN void flake_i_drop_page(void *page) { (void)page; }
#endif

/* ---- files ---- */

#if FLAKE_I_HAS_FILES
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#if defined(__linux__)
#include <sys/vfs.h>
#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__OpenBSD__)
#include <sys/mount.h>
#include <sys/param.h>
#endif

typedef struct flake_i_file_id {
    uint64_t device, inode;
    bool is_own;   /* a regular file of this process's user */
    bool is_once;  /* it has one name */
    bool is_there; /* it has a name */
} flake_i_file_id;

typedef struct flake_i_cancel_guard {
    int cancel_state, error;
} flake_i_cancel_guard;

/* Between begin and end the thread cannot be cancelled: that would leave a file half claimed, or a write that
 * no thread completes. The end restores errno, since a draw may be in a signal handler. */
FLAKE_I_FN flake_i_cancel_guard flake_i_cancel_guard_begin(void) {
    flake_i_cancel_guard guard = {0, errno};
#if !defined(__ANDROID__)
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &guard.cancel_state);
#endif
    return guard;
}

FLAKE_I_FN void flake_i_cancel_guard_end(flake_i_cancel_guard guard) {
#if !defined(__ANDROID__)
    (void)pthread_setcancelstate(guard.cancel_state, &guard.cancel_state);
#endif
    errno = guard.error;
}

FLAKE_I_FN uint64_t flake_i_thread_id(void) {
    return (((uint64_t)(uintptr_t)pthread_self() << 20) ^ flake_i_pid() << 1) | 1;
}

FLAKE_I_FN bool flake_i_error_is_absent(void) { return errno == ENOENT; }
FLAKE_I_FN bool flake_i_error_is_taken_or_denied(void) { return errno == EACCES || errno == EAGAIN; }
FLAKE_I_FN bool flake_i_error_is_closed(void) { return errno == EBADF; }
FLAKE_I_FN const char *flake_i_error_text(void) { return strerror(errno); }

enum { FLAKE_I_READ, FLAKE_I_WRITE, FLAKE_I_CREATE }; /* ways to open a file */

/* Never returns 0 to 2, the standard streams, even if the program has closed those. Does not wait for a pipe. */
FLAKE_I_FN int flake_i_open(const char *path, int how) {
    const int flags = (how == FLAKE_I_READ ? O_RDONLY : O_RDWR) | FLAKE_I_NOFOLLOW | FLAKE_I_CLOEXEC | O_NONBLOCK;
    int fd = how == FLAKE_I_CREATE ? -1 : open(path, flags);
    for (bool again = how == FLAKE_I_CREATE; again;) {
        /* the only way that follows no link anywhere */
        fd = open(path, flags | O_CREAT | O_EXCL, 0600);
        again = fd < 0 && errno == EEXIST && (fd = open(path, flags)) < 0 && errno == ENOENT;
    }
    if (fd >= 0 && fd <= 2) {
        const int low = fd;
        fd = fcntl(low, FLAKE_I_DUP, 3);
        (void)close(low);
    }
    if (fd >= 0) (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

FLAKE_I_FN void flake_i_close(int fd) {
    const int errno_before = errno;
    (void)close(fd);
    errno = errno_before;
}

/* Locks, unlocks (F_WRLCK, F_UNLCK) or looks at an open file; returns 0, or -1 and an error. The lock belongs to
 * the open file description where the system has that: see // >>directory. */
#if defined(F_OFD_SETLK) || defined(__linux__)
FLAKE_I_FN int flake_i_ofd_lock(int fd, int command, short *type) {
    struct flock all;
    memset(&all, 0, sizeof all);
    all.l_type = *type;
    all.l_whence = SEEK_SET;
    const int status = fcntl(fd, command, &all);
    *type = all.l_type;
    return status;
}

#if defined(F_OFD_SETLK)
enum { FLAKE_I_GETLK = F_OFD_GETLK, FLAKE_I_SETLK = F_OFD_SETLK };
#else
enum { FLAKE_I_GETLK = 36, FLAKE_I_SETLK = 37 }; /* hidden by strict C */
#endif
FLAKE_I_FN int flake_i_lock(int fd, bool lock) {
    short type = lock ? F_WRLCK : F_UNLCK;
    return flake_i_ofd_lock(fd, FLAKE_I_SETLK, &type);
}

/* Whether another open file has a lock on it; takes none. */
FLAKE_I_FN bool flake_i_is_locked(int fd) {
    short type = F_WRLCK;
    return flake_i_ofd_lock(fd, FLAKE_I_GETLK, &type) == 0 && type != F_UNLCK;
}
#else
FLAKE_I_FN int flake_i_lock(int fd, bool lock) { return flock(fd, lock ? LOCK_EX | LOCK_NB : LOCK_UN); }

/* Takes a lock for a moment: a claim that meets it tries again. */
FLAKE_I_FN bool flake_i_is_locked(int fd) { return flock(fd, LOCK_SH | LOCK_NB) != 0 || flock(fd, LOCK_UN) != 0; }
#endif

FLAKE_I_FN bool flake_i_write_at(int fd, int64_t at, const uint8_t *bytes, size_t n) {
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

/* Returns the number of bytes read, fewer than n at the end of the file, or -1. */
FLAKE_I_FN int flake_i_read_at(int fd, int64_t at, uint8_t *bytes, size_t n) {
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

#if !defined(__linux__)
FLAKE_I_FN int flake_i_fsync(int fd) {
#if defined(F_FULLFSYNC) /* macOS, where fsync does not flush the drive's cache */
    if (fcntl(fd, F_FULLFSYNC) == 0) return 0;
#endif
    return fsync(fd);
}
#define flake_i_fdatasync flake_i_fsync
#define flake_i_readlink  readlink
#endif

/* A new name is durable once its directory is synced. Some file systems don't support that (EINVAL). */
FLAKE_I_FN bool flake_i_sync_dir(const char *path) {
    const int fd = open(path, O_RDONLY | FLAKE_I_CLOEXEC);
    if (fd < 0) return false;
    const bool synced = flake_i_fsync(fd) == 0 || errno == EINVAL;
    flake_i_close(fd);
    return synced;
}

/* The file at the path; NULL: the open one. */
FLAKE_I_FN bool flake_i_stat(const char *path, int fd, flake_i_file_id *id) {
    struct stat file;
    if ((path ? stat(path, &file) : fstat(fd, &file)) != 0) return false;
    id->device = (uint64_t)file.st_dev;
    id->inode = (uint64_t)file.st_ino;
    id->is_own = S_ISREG(file.st_mode) && file.st_uid == geteuid();
    id->is_once = file.st_nlink == 1;
    id->is_there = file.st_nlink > 0;
    return true;
}

/* Whether the path leads to anything but a regular file of this user, such as a symbolic link, even to nothing. */
FLAKE_I_FN bool flake_i_is_foreign(const char *path) {
    const int errno_before = errno;
    char target;
    flake_i_file_id id;
    const bool is_foreign = flake_i_readlink(path, &target, 1) >= 0 || (flake_i_stat(path, -1, &id) && !id.is_own);
    errno = errno_before;
    return is_foreign;
}

/* Whose locks and syncs cannot be relied on: NFS, SMB. Where the system does not tell: false. */
FLAKE_I_FN bool flake_i_is_remote(const char *path) {
#if defined(__linux__)
    struct statfs fs;
    if (statfs(path, &fs) != 0) return false;
    const uint32_t type = (uint32_t)fs.f_type;
    return type == 0x6969 || type == 0x517b || type == 0xff534d42 || type == 0xfe534d42;
#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__OpenBSD__)
    struct statfs fs;
    return statfs(path, &fs) == 0 && (strcmp(fs.f_fstypename, "nfs") == 0 || strcmp(fs.f_fstypename, "smbfs") == 0);
#else
    return (void)path, false;
#endif
}

FLAKE_I_FN bool flake_i_rename(const char *from, const char *to) { return rename(from, to) == 0; }
FLAKE_I_FN bool flake_i_working_dir(char *out, size_t size) { return getcwd(out, size) != NULL; }
/* False with an error, unless it exists already. */
FLAKE_I_FN bool flake_i_make_dir(const char *path) { return mkdir(path, 0700) == 0 || errno == EEXIST; }

FLAKE_I_FN void flake_i_unlink(const char *path) {
    const int errno_before = errno;
    (void)unlink(path);
    errno = errno_before;
}

#endif

/* ---- environment, memory, names: for // >>node numbers and // >>configuration ---- */

#if defined(FLAKE_NO_OS)
FLAKE_I_FN const char *flake_i_environment(const char *name) { return (void)name, (char *)NULL; }
FLAKE_I_FN void *flake_i_zeroed(size_t n, size_t size) { return (void)n, (void)size, (void *)NULL; }
FLAKE_I_FN void flake_i_free(void *memory) { (void)memory; }
#else
#include <stdlib.h>
FLAKE_I_FN const char *flake_i_environment(const char *name) { return getenv(name); }
FLAKE_I_FN void *flake_i_zeroed(size_t n, size_t size) { return calloc(n, size); }
FLAKE_I_FN void flake_i_free(void *memory) { free(memory); }
#endif

#if defined(FLAKE_NO_OS) || defined(_WIN32) || defined(__wasi__)
FLAKE_I_FN const char *flake_i_host_name(char *room, size_t size) {
    return (void)room, (void)size, flake_i_environment("COMPUTERNAME"); /* Windows sets it */
}
#else
#include <sys/utsname.h>
/* In the room given; NULL: unknown. */
FLAKE_I_FN const char *flake_i_host_name(char *room, size_t size) {
    struct utsname system;
    if (uname(&system) < 0 || strlen(system.nodename) >= size) return NULL;
    memcpy(room, system.nodename, strlen(system.nodename) + 1);
    return room;
}
#endif

#if defined(FLAKE_NO_OS) || defined(FLAKE_NO_NET) || defined(_WIN32) || defined(__wasi__)
FLAKE_I_FN flake_status flake_i_net_number(bool is_mac, const char *name, uint64_t *number, flake_why *why) {
#if defined(FLAKE_NO_OS)
    const char *const reason = "are left out by FLAKE_NO_OS";
#elif defined(FLAKE_NO_NET)
    const char *const reason = "are left out by FLAKE_NO_NET";
#else
    const char *const reason = "need POSIX";
#endif
    return (void)is_mac, (void)name, (void)number, flake_i_say(why, FLAKE_IO, "interfaces", reason);
}
#else
#include <ifaddrs.h>
#include <sys/socket.h>
#if defined(__linux__)
#include <netpacket/packet.h>
#elif defined(AF_LINK)
#include <net/if_dl.h>
#endif
enum { FLAKE_I_UP = 1, FLAKE_I_LOOPBACK = 8 }; /* IFF_UP, IFF_LOOPBACK, which strict C hides */

/* The 6 bytes of an Ethernet address; NULL: it has none. */
FLAKE_I_FN const uint8_t *flake_i_mac(const struct ifaddrs *i) {
    const void *const address = i->ifa_addr;
    if (!address) return NULL;
#if defined(__linux__)
    const struct sockaddr_ll *link = (const struct sockaddr_ll *)address;
    if (link->sll_family == AF_PACKET && link->sll_halen == 6) return link->sll_addr;
#elif defined(AF_LINK)
    const struct sockaddr_dl *link = (const struct sockaddr_dl *)address;
    if (link->sdl_family == AF_LINK && link->sdl_alen == 6) return (const uint8_t *)link->sdl_data + link->sdl_nlen;
#endif
    return NULL;
}

/* The 4 bytes of an IPv4 address, after its port; NULL: it has none. */
FLAKE_I_FN const uint8_t *flake_i_ip(const struct ifaddrs *i) {
    const bool has_ip = i->ifa_addr && i->ifa_addr->sa_family == AF_INET;
    return has_ip ? (const uint8_t *)i->ifa_addr->sa_data + 2 : NULL;
}

/* The MAC of the named interface, or of the best one: factory-assigned before locally administered ones,
 * such as those of bridges and containers, and of these one that is up. */
FLAKE_I_FN flake_status flake_i_pick_mac(const struct ifaddrs *i, const char *name, uint64_t *number48,
                                         flake_why *why) {
    int best_rank = -1;
    for (; i; i = i->ifa_next) {
        const uint8_t *const mac = flake_i_mac(i);
        uint64_t number = 0;
        for (size_t at = 0; mac && at < 6; at++) number = number << 8 | mac[at];
        if (name && strcmp(i->ifa_name, name) != 0) continue;
        if (!number || i->ifa_flags & FLAKE_I_LOOPBACK) continue;
        const int rank = mac[0] & 2 ? (i->ifa_flags & FLAKE_I_UP) != 0 : 2;
        if (rank <= best_rank) continue;
        *number48 = number;
        best_rank = rank;
    }
    if (best_rank >= 0) return FLAKE_OK;
    return name ? flake_i_say(why, FLAKE_INVALID, name, "no interface of this name has an Ethernet address")
                : flake_i_say(why, FLAKE_INVALID, "this machine", "no interface has an Ethernet address");
}

FLAKE_I_FN flake_status flake_i_pick_ip(const struct ifaddrs *i, uint64_t *number16, flake_why *why) {
    for (; i; i = i->ifa_next) {
        const uint8_t *const ip = flake_i_ip(i);
        const unsigned net = ip ? (unsigned)ip[0] << 8 | ip[1] : 0;
        /* 10/8, 172.16/12, 192.168/16, 169.254/16 */
        if (net >> 8 != 10 && net >> 4 != (172 << 4 | 1) && net != (192 << 8 | 168) && net != (169 << 8 | 254))
            continue;
        *number16 = (uint64_t)ip[2] << 8 | ip[3];
        return FLAKE_OK;
    }
    return flake_i_say(why, FLAKE_INVALID, "this machine", "no interface has a private IPv4 address");
}

/* A MAC, or the end of an IP address. */
FLAKE_I_FN flake_status flake_i_net_number(bool is_mac, const char *name, uint64_t *number, flake_why *why) {
    struct ifaddrs *list;
    if (getifaddrs(&list) != 0) return flake_i_say(why, FLAKE_IO, "interfaces", "are not listed by the system");
    const flake_status status = is_mac ? flake_i_pick_mac(list, name, number, why) : flake_i_pick_ip(list, number, why);
    freeifaddrs(list);
    return status;
}
#endif

// >>clock

/* ---- clock, which draws read in // >>engine; sleep, lane ---- */

#ifndef FLAKE_CLOCK_NS
#define FLAKE_I_CLOCK_OF_OURS
#define FLAKE_CLOCK_NS(kind) flake_i_system_ns(kind)
#ifndef FLAKE_CLOCK_SLACK_NS
#define FLAKE_CLOCK_SLACK_NS flake_i_system_slack_ns()
#endif
#elif !defined(FLAKE_CLOCK_SLACK_NS)
#define FLAKE_CLOCK_SLACK_NS UINT64_C(0)
#endif
#ifndef FLAKE_SLEEP_NS
#define FLAKE_SLEEP_NS(ns) flake_i_system_sleep(ns)
#endif

/* The processor's counter; 0: none is known. */
#ifndef FLAKE_COUNTER
#define FLAKE_I_COUNTER_OF_OURS
#if defined(__GNUC__) && defined(__x86_64__)
#define FLAKE_COUNTER() __builtin_ia32_rdtsc()
#elif defined(__GNUC__) && defined(__aarch64__)
FLAKE_I_FN uint64_t flake_i_read_counter(void) {
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
}
#define FLAKE_COUNTER() flake_i_read_counter()
#else
#define FLAKE_COUNTER() UINT64_C(0)
#endif
#endif

#ifndef FLAKE_LANE
#define FLAKE_LANE() flake_i_system_lane()
#endif
#ifndef FLAKE_RANDOM_BYTES
#define FLAKE_RANDOM_BYTES(to, n) flake_i_system_random(to, n)
#endif

FLAKE_I_FN bool flake_i_random_bytes(void *to, size_t n) { return FLAKE_RANDOM_BYTES(to, n); }

/* For queries and prefetch; a draw reads the clock in flake_i_draw_fast. */
FLAKE_I_INLINE int64_t flake_i_now_ns(const flake_clock *c) {
    return FLAKE_I_LIKELY(!c->now_ns) ? FLAKE_CLOCK_NS(c->kind) : c->now_ns(c->user);
}

FLAKE_I_FN int64_t flake_i_exact_ns(const flake_clock *c) {
    return c->now_ns ? c->now_ns(c->user) : FLAKE_CLOCK_NS(FLAKE_CLOCK_EXACT);
}

/* `due` must be later than `now`. */
FLAKE_I_FN int64_t flake_i_ns_until(int64_t due_ns, int64_t now_ns) {
    const uint64_t ns = (uint64_t)due_ns - (uint64_t)now_ns;
    return ns > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)ns;
}

FLAKE_I_FN int64_t flake_i_add_saturated(int64_t ns, int64_t by_ns) {
    return ns > INT64_MAX - by_ns ? INT64_MAX : ns + by_ns;
}

enum { FLAKE_I_NS_PER_MS = 1000000 };

/* ---- owner ids ----
 *
 *     instance owner id   changed by a fork and by a clone of the machine: owns a generator
 *     process owner id    changed by a fork alone: holds a file or a claim
 *     run                 of a claim in a directory: changed by each init (see // >>directory)
 *
 * The first two are words in a page that the kernel wipes in a forked child. A generator stores the
 * instance owner id at init; only the first init in a process writes it. Without such a page (Linux
 * before 4.14, other systems) the pid serves, at the price of a system call per ID.
 *
 * Each copy of the header that the linker keeps separate has a page. Its name has the number of its layout, which a
 * change of the struct raises: units with another layout have another page.
 */
#define flake_i_process FLAKE_I_LAYOUT(flake_i_process, 2)
struct flake_i_process {
    FLAKE_ATOMIC(flake_atomic64 *) page; /* NULL: not requested yet */
    flake_atomic64 instance_count;       /* survives a fork: a child's value is new */
    flake_i_atomic32 clone_count;        /* likewise: of the process and its ancestors */
    flake_i_page_room room;              /* of the page */
};

FLAKE_I_ONE_PER_PROCESS(struct flake_i_process, flake_i_process);

/* Without a page. The count of generations, which a page stores, stays below bit 47. */
FLAKE_I_COLD uint64_t flake_i_pageless_owner_id(void) {
    const uint64_t generation = FLAKE_ATOMIC_LOAD(&flake_i_process.instance_count, acquire); /* CLONE:A */
    return ((uint64_t)1 << 47) + (generation << 32) + flake_i_pid();
}

/* 0: not chosen yet. */
FLAKE_I_INLINE uint64_t flake_i_instance_owner_now(void) {
    flake_atomic64 *const page = FLAKE_ATOMIC_LOAD(&flake_i_process.page, relaxed);
    if (FLAKE_I_LIKELY(page != NULL)) return FLAKE_ATOMIC_LOAD(page, relaxed);
    return flake_i_pageless_owner_id();
}

/* Threads may register the page at once, and twice. No order is needed: a later fork takes the kernel's lock. */
FLAKE_I_FN flake_atomic64 *flake_i_fork_page(void) {
    flake_atomic64 *page = FLAKE_ATOMIC_LOAD(&flake_i_process.page, relaxed);
    if (page) return page;
    page = (flake_atomic64 *)flake_i_page_align_up(&flake_i_process.room);
    if (!page || !flake_i_wipe_on_fork(page)) return NULL;
    FLAKE_ATOMIC_STORE(&flake_i_process.page, page, relaxed);
    return page;
}

/* Chooses it if it is not chosen yet. *word is where it is stored; NULL without a page. */
FLAKE_I_FN uint64_t flake_i_instance_owner_id(flake_atomic64 **word) {
    *word = flake_i_fork_page();
    if (!*word) return flake_i_pageless_owner_id();
    uint64_t owner_id = FLAKE_ATOMIC_LOAD(*word, acquire); /* CLONE:A */
    if (owner_id) return owner_id;
    uint64_t next = FLAKE_ATOMIC_ADD(&flake_i_process.instance_count, 1u, relaxed) + 1;
    return FLAKE_ATOMIC_CAS(*word, &owner_id, next, relaxed, relaxed) ? next : owner_id;
}

/* Differs from every other process's, including those that share memory with this one. */
FLAKE_I_FN uint64_t flake_i_process_owner_id(void) {
    flake_atomic64 *page = flake_i_fork_page();
    if (!page) return flake_i_pid();
    uint64_t owner_id = FLAKE_ATOMIC_LOAD(page + 1, relaxed), next = 0;
    if (owner_id) return owner_id;
    (void)flake_i_random_bytes(&next, sizeof next);
    next ^= flake_i_pid() << 32;
    next ^= FLAKE_ATOMIC_ADD(&flake_i_process.instance_count, 1u, relaxed) << 1;
    next |= 1;
    return FLAKE_ATOMIC_CAS(page + 1, &owner_id, next, relaxed, relaxed) ? next : owner_id;
}

/* Takes one of a few places; `places`: none is left. A forked child has all of them again, a process of a cloned
 * machine does not, so the pid counts. *begun is [ pid:56 ][ places taken in that process:8 ]. */
FLAKE_I_FN unsigned flake_i_take_place(flake_atomic64 *begun, unsigned places) {
    const uint64_t none = flake_i_pid() << 8;
    uint64_t seen = FLAKE_ATOMIC_LOAD(begun, relaxed), n;
    do {
        n = seen - none < 0x100 ? seen - none : 0;
        if (n == places) return places;
    } while (!FLAKE_ATOMIC_CAS(begun, &seen, none + n + 1, relaxed, relaxed));
    return (unsigned)n;
}

/* Of two calls at once either may store its number last. A generator set up between the two stores stops, too. */
FLAKE_API void flake_machine_cloned(void) {
    flake_atomic64 *page = flake_i_fork_page();
    (void)FLAKE_ATOMIC_ADD(&flake_i_process.clone_count, 1u, relaxed);
    const uint64_t next = FLAKE_ATOMIC_ADD(&flake_i_process.instance_count, 1u, release) + 1; /* CLONE:R */
    if (page) FLAKE_ATOMIC_STORE(page, next, release);                                        /* CLONE:R */
}

/* ---- the counter's rate ----
 *
 * All generators of a program measure it together. Files with the default clock and counter have one object; a file
 * with a hook of its own has another, since that may be another clock or counter. `rate` is
 *
 *     [ count of clones:32 ][ 1 + ticks:32 ]     ticks of the counter in the longest window; 1: not known yet;
 *                                                0: no windows. 0 in place of the sum: not examined
 *
 * A cloned machine may have another counter: a rate with another count of clones is not used, and the counter is
 * examined anew, within 10 ms of draws by a generator that survives the clone. A rate changes by a CAS from the one
 * that it was derived from. So a thread that was delayed stores no rate from before the clone. Nothing else is read
 * because of these words, so they are relaxed; and a wrong rate repeats no ID (see "Why a fast clock is safe"). A
 * forked child has a copy of them: the counter is the machine's.
 */
enum {
    FLAKE_I_FREQUENT_BITS = 16, /* draws are frequent if they are up to 65 us apart */
    FLAKE_I_WINDOW_BITS = 19,   /* the longest window in bits of ns: 0.52 ms */
    FLAKE_I_CALIBRATION_SHORTEST_US = 10000,
    FLAKE_I_CALIBRATION_LONGEST_US = 4000000,
    FLAKE_I_CALIBRATION_PARTS = 1000, /* two that agree differ by less than this fraction */
    FLAKE_I_CALIBRATION_MARGIN = 500, /* and windows are shorter by this fraction */
    FLAKE_I_CALIBRATION_WRONG = 8,    /* one that differs by more than this fraction is wrong, */
    FLAKE_I_CALIBRATION_PATIENCE = 16 /* and so many in a row end the windows */
};

#define flake_i_counter FLAKE_I_LAYOUT(flake_i_counter, 1) /* its number: see flake_i_process */
struct flake_i_counter {
    flake_atomic64 rate;
    flake_atomic64 calibrated_at; /* an earlier reading of counter and clock */
    flake_atomic64 calibration;   /* [ errors in a row:32 ][ the window by that reading:32 ] */
};

#if defined(FLAKE_I_COUNTER_OF_OURS) && defined(FLAKE_I_CLOCK_OF_OURS)
FLAKE_I_ONE_PER_PROCESS(struct flake_i_counter, flake_i_counter);
#else
static struct flake_i_counter flake_i_counter;
#endif

/* Whether the counter is much cheaper than the clock: not if readings are trapped, or the system distrusts it and has a
 * slow clock. A user's counter always suits; the processor's does not suit a user's clock, which may be simulated. */
FLAKE_I_COLD bool flake_i_counter_suits(const flake_clock *c) {
#if !defined(FLAKE_I_COUNTER_OF_OURS)
    return (void)c, true;
#elif !defined(FLAKE_I_CLOCK_OF_OURS)
    return (void)c, false;
#else
    enum { ROUNDS = 4, READINGS = 32, MOST = 32 };
    uint64_t clock = UINT64_MAX, counter = UINT64_MAX;
    for (unsigned i = 0; i < ROUNDS; i++) {
        const uint64_t first = FLAKE_COUNTER();
        for (unsigned k = 0; k < READINGS; k++) (void)flake_i_exact_ns(c);
        const uint64_t second = FLAKE_COUNTER();
        for (unsigned k = 0; k < READINGS; k++) (void)FLAKE_COUNTER();
        clock = flake_i_min_u64(clock, second - first);
        counter = flake_i_min_u64(counter, FLAKE_COUNTER() - second);
    }
    return clock * 2 > counter * 3 && clock < counter * MOST;
#endif
}

/* The ticks. Threads may examine the counter at once. An interval that a delayed thread began before a clone is wrong,
 * and agrees with none after it. */
FLAKE_I_FN uint64_t flake_i_counter_window(void) {
    struct flake_i_counter *const c = &flake_i_counter;
    static const flake_clock exact = {NULL, NULL, FLAKE_CLOCK_EXACT};
    const uint64_t clones = FLAKE_ATOMIC_LOAD(&flake_i_process.clone_count, relaxed);
    uint64_t rate = FLAKE_ATOMIC_LOAD(&c->rate, relaxed);
    if ((uint32_t)rate && rate >> 32 == clones) return (uint32_t)rate - 1;
    const uint64_t window = flake_i_counter_suits(&exact);
    if (FLAKE_ATOMIC_CAS(&c->rate, &rate, clones << 32 | (window + 1), relaxed, relaxed)) {
        FLAKE_ATOMIC_STORE(&c->calibrated_at, 0u, relaxed);
        FLAKE_ATOMIC_STORE(&c->calibration, 0u, relaxed);
    }
    return window;
}

FLAKE_I_FN bool flake_i_differs(uint64_t a, uint64_t b, uint64_t part) { return (a > b ? a - b : b - a) > b / part; }

/* Measures the rate, from a reading of the counter and a later one of the clock: two intervals in a row must agree.
 * They replace a rate that was measured while the clock was slewed. If threads measure at once, one CAS
 * succeeds, and the others keep the old rate. Returns the ticks. */
FLAKE_I_FN uint64_t flake_i_calibrate(uint64_t counter, int64_t now_ns) {
    struct flake_i_counter *const c = &flake_i_counter;
    uint64_t last = FLAKE_ATOMIC_LOAD(&c->calibrated_at, relaxed);
    uint64_t rate = FLAKE_ATOMIC_LOAD(&c->rate, relaxed);
    /* counter / 64 and us, 32 bits each: meaningless after a pause of minutes */
    const uint64_t here = counter >> 6 << 32 | (uint32_t)((uint64_t)now_ns / 1000);
    const uint64_t counted = (uint64_t)(uint32_t)((here >> 32) - (last >> 32)) << 6;
    const uint64_t us = (uint32_t)(here - last);
    if (last && us < FLAKE_I_CALIBRATION_SHORTEST_US) return (uint32_t)rate - 1;
    const uint64_t window = flake_i_counter_window();
    if (!window || window != (uint32_t)rate - 1) return window;
    if (!FLAKE_ATOMIC_CAS(&c->calibrated_at, &last, here, relaxed, relaxed)) return window;
    if (!last || us > FLAKE_I_CALIBRATION_LONGEST_US) return window;
    const uint64_t found = (counted << FLAKE_I_WINDOW_BITS) / (us * 1000);
    const uint64_t before = FLAKE_ATOMIC_LOAD(&c->calibration, relaxed);
    uint64_t pace = flake_i_min_u64(found, UINT32_MAX), next = window;
    if (found > FLAKE_I_CALIBRATION_MARGIN && found < UINT32_MAX &&
        !flake_i_differs(found, (uint32_t)before, FLAKE_I_CALIBRATION_PARTS)) {
        next = found - found / FLAKE_I_CALIBRATION_MARGIN;
    } else if (window > 1 && flake_i_differs(found, window, FLAKE_I_CALIBRATION_WRONG)) {
        const uint64_t errors = (before >> 32) + 1;
        pace |= errors << 32;
        if (errors == FLAKE_I_CALIBRATION_PATIENCE) next = 0;
    }
    FLAKE_ATOMIC_STORE(&c->calibration, pace, relaxed);
    if (next == window) return window;
    const uint64_t now = rate - window + next; /* with its count of clones */
    return FLAKE_ATOMIC_CAS(&c->rate, &rate, now, relaxed, relaxed) ? next : window;
}

// >>layouts
/* Formats of 128 bits, a row each: version of a UUID, else 0; bits of flake_parts.node and .seq; form. After
 * boundary's come those of which draws form IDs from keys, each ms anew.
 *
 * How to add a layout of 64 bits: a macro after FLAKE_LAYOUT_JS53, an entry before `boundary` in FLAKE_I_EACH_LAYOUT,
 * and FLAKE_I_LAYOUTS_OF_64 plus 1. How to add a format of 128 bits:
 *  1. Below FLAKE_LAYOUT_ULID a layout macro, with the next format and 16 bits of sequence (the tickets of a ms), and
 *     its entry at the end of FLAKE_I_EACH_LAYOUT. Without node_bits random bits distinguish generators.
 *  2. A row at the end of FLAKE_I_EACH_COUNTED, if it has a counter. `form` names the function in // >>128-bit that
 *     forms IDs of the Unix ms and index of a ticket. flake_i_form_tail has the counter, then random bits;
 *     flake_i_form_node the counter, then the node; flake_i_form_ulid counts in 80 bits. If none of them fits, write
 *     another one there. If unit_ms exceeds 1, that starts the counter once a unit and adds 2^16 for each ms: the
 *     engine's unit is 1 ms.
 *  3. Parts are stored as in a UUID if there is a version, else as time, seq down to bit 64, node. If neither fits,
 *     flake128_compose and flake128_decompose need a branch.
 *  4. If the time field ends before 2262, fewer time_bits in flake_i_layout_in_engine: 41 end in 2053.
 */
// clang-format off
#define FLAKE_I_EACH_COUNTED(X) \
    X(UUID7,      7, 48, 26, tail) \
    X(UUID7_NODE, 7, 48, 26, node) \
    X(UUID8,      8, 48, 26, node) \
    X(ULID,       0, 64, 16, ulid)
#define FLAKE_I_EACH_FORMAT(X) X(BOUNDARY, 0, 48, 16, none) FLAKE_I_EACH_COUNTED(X)
#define FLAKE_I_FORMAT_NUMBER(name, version, node, seq, form) FLAKE_I_##name,
#define FLAKE_I_FORMAT_FIELDS(name, version, node, seq, form) {version, node, seq},
// clang-format on
enum { FLAKE_I_NO_FORMAT, FLAKE_I_EACH_FORMAT(FLAKE_I_FORMAT_NUMBER) FLAKE_I_FORMATS };

/* Those of 128 bits come after them, in the order of their formats. */
enum { FLAKE_I_LAYOUTS_OF_64 = 11 };

#ifdef FLAKE_SHARED
#define FLAKE_I_LAYOUT_OBJECT(name, NAME) const flake_layout flake_layout_##name = FLAKE_LAYOUT_##NAME;
FLAKE_I_EACH_LAYOUT(FLAKE_I_LAYOUT_OBJECT)
#endif

FLAKE_API flake_status flake_layout_at(size_t i, flake_layout *layout) {
#define FLAKE_I_LAYOUT_VALUE(name, NAME) FLAKE_LAYOUT_##NAME,
    static const flake_layout known[] = {FLAKE_I_EACH_LAYOUT(FLAKE_I_LAYOUT_VALUE)};
    FLAKE_I_STATIC_ASSERT(sizeof known / sizeof *known - FLAKE_I_LAYOUTS_OF_64 == FLAKE_I_FORMATS - 1,
                          "FLAKE_I_LAYOUTS_OF_64 counts the layouts of 64 bits");
    if (i >= sizeof known / sizeof *known) return FLAKE_INVALID;
    *layout = known[i];
    return FLAKE_OK;
}

FLAKE_API flake_status flake_layout_named(const char *name, flake_layout *layout) {
    flake_layout l;
    for (size_t i = 0; name && flake_layout_at(i, &l) == FLAKE_OK; i++)
        if (strcmp(l.name, name) == 0) return flake_layout_at(i, layout);
    return FLAKE_INVALID;
}

FLAKE_API flake_layout flake_layout_of(unsigned time_bits, unsigned node_bits, unsigned seq_bits, int64_t epoch_ms) {
    flake_layout l = flake_layout_default;
    if ((time_bits | node_bits | seq_bits) > 64) time_bits = 0; /* fails the check */
    l.name = "custom";
    l.epoch_ms = epoch_ms;
    l.time_bits = (uint8_t)time_bits;
    l.time_shift = (uint8_t)(node_bits + seq_bits);
    l.node_bits = (uint8_t)node_bits;
    l.node_shift = l.seq_bits = (uint8_t)seq_bits;
    return l;
}

FLAKE_API flake_layout flake_layout_hazelcast_of(unsigned node_bits, unsigned seq_bits) {
    const unsigned time_bits = seq_bits < 63 && node_bits < 63 - seq_bits ? 63 - seq_bits - node_bits : 0;
    flake_layout l = flake_layout_of(time_bits, node_bits, seq_bits, flake_layout_hazelcast.epoch_ms);
    l.name = flake_layout_hazelcast.name;
    l.time_sign = 1;
    l.node_shift = 0;
    l.seq_shift = l.node_bits;
    return l;
}

/* All but the name; there is no padding between these members. */
FLAKE_I_FN bool flake_i_same_layout(const flake_layout *a, const flake_layout *b) {
    const size_t at = offsetof(flake_layout, epoch_ms), end = offsetof(flake_layout, format) + 1;
    return memcmp((const char *)a + at, (const char *)b + at, end - at) == 0;
}

/* Whether it is one of 128 bits. */
FLAKE_I_FN bool flake_i_is_128(const flake_layout *layout) {
    flake_layout l;
    return layout && layout->format &&
           flake_layout_at(FLAKE_I_LAYOUTS_OF_64 - 1 + (size_t)layout->format, &l) == FLAKE_OK &&
           flake_i_same_layout(layout, &l);
}

/* The layout of a generator's word. UUIDs and ULIDs count from 1984, in 43 bits: that leaves room for fetch_add. */
#define FLAKE_I_1984_MS                  INT64_C(441763200000)
FLAKE_I_FN flake_layout flake_i_layout_in_engine(const flake_layout *layout) {
    if (!layout->format) return *layout;
    flake_layout l = flake_layout_mastodon; /* ms since 1970 and 16 bits of sequence, too */
    if (layout->format != FLAKE_I_BOUNDARY) l.epoch_ms = FLAKE_I_1984_MS;
    return l;
}

/* The node field, with the gap's bit, in its position in the ID. */
FLAKE_I_FN uint64_t flake_i_node_field(const flake_layout *l, uint64_t node) {
    uint64_t low = l->gap_at ? node & flake_i_ones(l->gap_at) : node;
    uint64_t high = node ^ low;
    uint64_t gap = l->gap_at ? (uint64_t)l->gap_bit << l->gap_at : 0;
    return (high << 1 | gap | low) << l->node_shift;
}

/* The bits that a 64-bit layout uses; 0: it is malformed. */
FLAKE_I_FN uint64_t flake_i_layout_bits(const flake_layout *l) {
    unsigned node_bits = (unsigned)l->node_bits + (l->gap_at ? 1 : 0);
    unsigned time_bits = (unsigned)l->time_bits + l->time_sign;
    if (!l->unit_ms || !l->time_bits || l->node_bits > 32 || l->seq_bits > 32 || l->time_reversed > 1 ||
        l->time_sign > 1 || l->gap_bit > 1 || (l->gap_at ? l->gap_at > l->node_bits : l->gap_bit) || l->format)
        return 0;
    if (time_bits + l->time_shift > 64 || node_bits + l->node_shift > 64 || l->seq_bits + l->seq_shift > 64 ||
        l->node_shift > 63 || l->seq_shift > 63)
        return 0;
    uint64_t time = flake_i_ones(time_bits) << l->time_shift;
    uint64_t node = flake_i_ones(node_bits) << l->node_shift;
    uint64_t seq = flake_i_ones(l->seq_bits) << l->seq_shift;
    return time & node || time & seq || node & seq ? 0 : time | node | seq;
}

FLAKE_API flake_status flake_layout_check(const flake_layout *l, flake_why *why) {
    if (l && (flake_i_layout_bits(l) || flake_i_is_128(l))) return FLAKE_OK;
    return flake_i_say(why, FLAKE_INVALID, "layout",
                       l && l->format                    ? "those of 128 bits cannot be changed"
                       : l && l->time_bits && l->unit_ms ? "its fields overlap or exceed 64 bits"
                                                         : "has no time or unit: start from one: "
                                                           "options.layout = flake_layout_default");
}

/* Start of the unit that is `time` units after the epoch, or before it, in Unix ms; false: an int64_t cannot
 * represent it. The unsigned difference is right for an epoch of either sign. */
FLAKE_I_FN bool flake_i_unix_ms(const flake_layout *l, uint64_t time, bool before, int64_t *unix_ms) {
    const uint64_t epoch = (uint64_t)l->epoch_ms;
    const uint64_t most = before ? epoch - (uint64_t)INT64_MIN : (uint64_t)INT64_MAX - epoch;
    if (time > most / l->unit_ms) return false;
    *unix_ms = (int64_t)(before ? epoch - time * l->unit_ms : epoch + time * l->unit_ms);
    return true;
}

FLAKE_API int64_t flake_layout_end_ms(const flake_layout *l) {
    int64_t start;
    if (flake_layout_check(l, NULL) != FLAKE_OK) return INT64_MIN;
    if (!flake_i_unix_ms(l, flake_i_ones(l->time_bits), false, &start)) return INT64_MAX;
    return flake_i_add_saturated(start, (int64_t)l->unit_ms - 1);
}

/* What a call sets that has no node number. All numbers from 2^48 on are refused, and so this one is with
 * anything added that is a node or a range's end, and after a shift: no 16 of its bits in a row are 0. */
#define FLAKE_I_NO_NUMBER                UINT64_C(0xBFFFFFFFBFFFBFFF)

FLAKE_API uint64_t flake_idgen_node(unsigned datacenter, unsigned worker) {
    return datacenter < 32 && worker < 32 ? (uint64_t)(datacenter << 5 | worker) : FLAKE_I_NO_NUMBER;
}

FLAKE_API uint64_t flake_uniqueid_node(unsigned cluster, unsigned generator) {
    return cluster < 16 && generator < 2048 ? (uint64_t)(generator << 4 | cluster) : FLAKE_I_NO_NUMBER;
}

FLAKE_I_FN uint64_t flake_i_reverse(uint64_t x, unsigned bits) {
    x = (x & 0x5555555555555555) << 1 | (x >> 1 & 0x5555555555555555);
    x = (x & 0x3333333333333333) << 2 | (x >> 2 & 0x3333333333333333);
    x = (x & 0x0f0f0f0f0f0f0f0f) << 4 | (x >> 4 & 0x0f0f0f0f0f0f0f0f);
    x = (x & 0x00ff00ff00ff00ff) << 8 | (x >> 8 & 0x00ff00ff00ff00ff);
    x = (x & 0x0000ffff0000ffff) << 16 | (x >> 16 & 0x0000ffff0000ffff);
    return (x << 32 | x >> 32) >> (64 - bits);
}

FLAKE_I_FN uint64_t flake_i_time_field(const flake_layout *l, uint64_t time) {
    return (l->time_reversed ? flake_i_reverse(time, l->time_bits) : time) << l->time_shift;
}

/* The unit of unix_ms in a valid layout. */
FLAKE_I_FN flake_status flake_i_time_at(const flake_layout *l, int64_t unix_ms, uint64_t *time) {
    if (unix_ms < l->epoch_ms) return FLAKE_TIME_RANGE;
    uint64_t t = ((uint64_t)unix_ms - (uint64_t)l->epoch_ms) / l->unit_ms;
    if (t > flake_i_ones(l->time_bits)) return FLAKE_TIME_RANGE;
    *time = t;
    return FLAKE_OK;
}

typedef struct flake_i_fields {
    uint8_t version, node_bits, seq_bits;
} flake_i_fields;

/* The fields of flake_parts in an ID. */
FLAKE_I_FN flake_i_fields flake_i_fields_of(const flake_layout *l) {
    static const flake_i_fields of_128[] = {FLAKE_I_EACH_FORMAT(FLAKE_I_FORMAT_FIELDS)};
    const flake_i_fields of_64 = {0, l->node_bits, l->seq_bits};
    return l->format && l->format < FLAKE_I_FORMATS ? of_128[l->format - 1] : of_64;
}

/* The largest parts of a time. */
FLAKE_I_FN flake_parts flake_i_last_parts(const flake_layout *l, int64_t unix_ms) {
    const flake_i_fields f = flake_i_fields_of(l);
    const flake_parts parts = {unix_ms, flake_i_ones(f.node_bits), (uint32_t)flake_i_ones(f.seq_bits)};
    return parts;
}

/* The unit of parts that fit a valid layout. */
FLAKE_I_FN flake_status flake_i_unit_of(const flake_layout *l, const flake_parts *parts, uint64_t *time) {
    const flake_parts last = flake_i_last_parts(l, parts->unix_ms);
    const flake_status status = flake_i_time_at(l, parts->unix_ms, time);
    return status == FLAKE_OK && (parts->node > last.node || parts->seq > last.seq) ? FLAKE_INVALID : status;
}

FLAKE_API flake_status flake_compose(const flake_layout *l, const flake_parts *parts, uint64_t *id) {
    uint64_t time;
    if (!l || !flake_i_layout_bits(l)) return FLAKE_INVALID;
    const flake_status status = flake_i_unit_of(l, parts, &time);
    if (status != FLAKE_OK) return status;
    *id = flake_i_time_field(l, time) | flake_i_node_field(l, parts->node) | (uint64_t)parts->seq << l->seq_shift;
    return FLAKE_OK;
}

FLAKE_API flake_status flake_decompose(const flake_layout *l, uint64_t id, flake_parts *parts) {
    flake_parts p;
    const uint64_t bits = l ? flake_i_layout_bits(l) : 0;
    if (!bits || (id & ~bits)) return FLAKE_INVALID;
    uint64_t time = id >> l->time_shift & flake_i_ones(l->time_bits);
    if (l->time_reversed) time = flake_i_reverse(time, l->time_bits);
    p.seq = (uint32_t)(id >> l->seq_shift & flake_i_ones(l->seq_bits));
    uint64_t node = id >> l->node_shift;
    if (l->gap_at) {
        if ((node >> l->gap_at & 1) != l->gap_bit) return FLAKE_INVALID;
        node = (node & flake_i_ones(l->gap_at)) | (node >> (l->gap_at + 1)) << l->gap_at;
    }
    p.node = node & flake_i_ones(l->node_bits);
    const bool before = l->time_sign && id >> (l->time_shift + l->time_bits) & 1;
    if (before) time = flake_i_ones(l->time_bits) + 1 - time; /* of a two's complement */
    if (!flake_i_unix_ms(l, time, before, &p.unix_ms)) return FLAKE_TIME_RANGE;
    *parts = p;
    return FLAKE_OK;
}

/* For IDs of 64 and of 128 bits. */
#define FLAKE_I_RANGE_CALLS(prefix, id_type)                                                      \
    FLAKE_API flake_status prefix##_min_at(const flake_layout *l, int64_t unix_ms, id_type *id) { \
        const flake_parts parts = {unix_ms, 0, 0};                                                \
        return prefix##_compose(l, &parts, id);                                                   \
    }                                                                                             \
    FLAKE_API flake_status prefix##_max_at(const flake_layout *l, int64_t unix_ms, id_type *id) { \
        if (!l) return FLAKE_INVALID;                                                             \
        const flake_parts parts = flake_i_last_parts(l, unix_ms);                                 \
        return prefix##_compose(l, &parts, id);                                                   \
    }
FLAKE_I_RANGE_CALLS(flake, uint64_t)

// >>128-bit
/* 128-bit IDs are formed of tickets: a time in ms, and an index within that ms. */

enum {
    FLAKE_I_COUNTER_BITS = 26, /* of a UUID; it starts in the lower half */
    FLAKE_I_RENEWAL_BITS = 10  /* log2 of the ms after which the tail's keys are renewed */
};

FLAKE_I_INLINE flake128 flake_i_128(uint64_t high, uint64_t low) {
    const uint64_t halves[2] = {flake_i_big_endian(high), flake_i_big_endian(low)};
    flake128 id;
    memcpy(id.bytes, halves, 16);
    return id;
}

#define FLAKE_I_TURNED(x, by) ((x) << (by) | (x) >> (64 - (by)))
#define FLAKE_I_SIP_ROUND(v)                \
    v[0] += v[1];                           \
    v[2] += v[3];                           \
    v[1] = FLAKE_I_TURNED(v[1], 13) ^ v[0]; \
    v[3] = FLAKE_I_TURNED(v[3], 16) ^ v[2]; \
    v[0] = FLAKE_I_TURNED(v[0], 32) + v[3]; \
    v[2] += v[1];                           \
    v[1] = FLAKE_I_TURNED(v[1], 17) ^ v[2]; \
    v[3] = FLAKE_I_TURNED(v[3], 21) ^ v[0]; \
    v[2] = FLAKE_I_TURNED(v[2], 32)

/* SipHash-1-3 of seven bytes, a word below 2^56: four rounds, where eight bytes would take five. `number` is uint64_t,
 * or a vector of them for as many hashes. A stream cipher would be no faster for one ID, and its buffer would need
 * guarding against signals and forks. Without loops, which gcc would not unroll. */
#define FLAKE_I_SIPHASH(name, number)                                                                               \
    name(uint64_t key0, uint64_t key1, number word) {                                                               \
        const number zero = {0};                                                                                    \
        word |= (uint64_t)7 << 56; /* the length comes last */                                                      \
        number v[4] = {zero + (key0 ^ UINT64_C(0x736f6d6570736575)), zero + (key1 ^ UINT64_C(0x646f72616e646f6d)),  \
                       zero + (key0 ^ UINT64_C(0x6c7967656e657261)), word ^ (key1 ^ UINT64_C(0x7465646279746573))}; \
        FLAKE_I_SIP_ROUND(v);                                                                                       \
        v[0] ^= word;                                                                                               \
        v[2] ^= 0xff;                                                                                               \
        FLAKE_I_SIP_ROUND(v);                                                                                       \
        FLAKE_I_SIP_ROUND(v);                                                                                       \
        FLAKE_I_SIP_ROUND(v);                                                                                       \
        return v[0] ^ v[1] ^ v[2] ^ v[3];                                                                           \
    }
FLAKE_I_INLINE uint64_t FLAKE_I_SIPHASH(flake_i_siphash, uint64_t)

/* No other thread may use the keys meanwhile. */
FLAKE_I_FN void flake_i_set_keys(flake_i_keys *k, const uint64_t fresh[4]) {
    for (unsigned i = 0; i < 2; i++) {
        k->start[i] = fresh[i];
        FLAKE_ATOMIC_STORE(&k->tail[i], fresh[2 + i], relaxed);
    }
    FLAKE_ATOMIC_STORE(&k->renewed, 0u, relaxed);
    FLAKE_ATOMIC_STORE(&k->newest, 0u, relaxed);
    for (unsigned i = 0; i < 3; i++) FLAKE_ATOMIC_STORE(&k->ulid[i], 0u, relaxed);
}

/* Renews the tail's keys, which copies of a running machine share. Without random bytes the old keys stay in use. */
FLAKE_I_COLD void flake_i_renew_tail(flake_i_keys *k, uint64_t now) {
    uint64_t seen = FLAKE_ATOMIC_LOAD(&k->renewed, relaxed), fresh[2];
    if (now <= seen || !FLAKE_ATOMIC_CAS(&k->renewed, &seen, now, relaxed, relaxed)) return;
    if (!flake_i_random_bytes(fresh, sizeof fresh)) return;
    for (unsigned i = 0; i < 2; i++) FLAKE_ATOMIC_STORE(&k->tail[i], fresh[i], relaxed);
}

/* Distinguishes processes that have inherited the same keys. */
typedef struct flake_i_salt {
    uint64_t low, high;
} flake_i_salt;

/* Where the counter of a ms starts, below 2^64 (part 0), and the bits above those (part 1). It is a
 * function of ms, keys and salt alone, so all threads count from the same number. */
FLAKE_I_INLINE uint64_t flake_i_start_of(const flake_i_keys *k, flake_i_salt salt, uint64_t ms, unsigned part) {
    return flake_i_siphash(k->start[0] ^ salt.low, k->start[1] ^ salt.high, ms << 1 | part);
}

/* The start for UUIDs. That of the newest ms is cached in one word, with 38 bits of its ms, which wrap
 * around in 8 years, and of its salt. The 1 below them distinguishes it from an empty word. */
FLAKE_I_INLINE uint64_t flake_i_uuid_start(flake_i_keys *k, flake_i_salt salt, uint64_t ms) {
    const unsigned bits = FLAKE_I_COUNTER_BITS - 1;
    const uint64_t whose = ((ms ^ salt.high >> bits) << 1 | 1) << bits;
    const uint64_t kept = FLAKE_ATOMIC_LOAD(&k->newest, relaxed);
    if (FLAKE_I_LIKELY((kept ^ whose) >> bits == 0)) return kept & flake_i_ones(bits);
    const uint64_t start = flake_i_start_of(k, salt, ms, 0) & flake_i_ones(bits);
    FLAKE_ATOMIC_STORE(&k->newest, whose | start, relaxed);
    return start;
}

/* The start for ULIDs, and the bits above it. Those of the newest ms are cached: the start, then [ whose:48 ][ 1 ][
 * above:15 ], and the XOR of both words. Words of two ms compare equal with probability 2^-64, so relaxed is enough. */
FLAKE_I_INLINE uint64_t flake_i_ulid_start(flake_i_keys *k, flake_i_salt salt, uint64_t ms, uint64_t *above) {
    const uint64_t whose = ((ms ^ salt.high >> 16) << 1 | 1) << 15;
    const uint64_t rest = salt.low ^ salt.high << 48; /* the salt's bits that `whose` lacks */
    uint64_t start = FLAKE_ATOMIC_LOAD(&k->ulid[0], relaxed);
    uint64_t kept = FLAKE_ATOMIC_LOAD(&k->ulid[1], relaxed);
    const uint64_t seal = FLAKE_ATOMIC_LOAD(&k->ulid[2], relaxed);
    if (!FLAKE_I_LIKELY((kept ^ whose) >> 15 == 0 && (start ^ kept ^ rest) == seal)) {
        start = flake_i_start_of(k, salt, ms, 0);
        kept = whose | (flake_i_start_of(k, salt, ms, 1) & flake_i_ones(15));
        FLAKE_ATOMIC_STORE(&k->ulid[0], start, relaxed);
        FLAKE_ATOMIC_STORE(&k->ulid[1], kept, relaxed);
        FLAKE_ATOMIC_STORE(&k->ulid[2], start ^ kept ^ rest, relaxed);
    }
    *above = kept & flake_i_ones(15);
    return start;
}

/* `tail` has 48 bits. */
FLAKE_I_INLINE flake128 flake_i_uuid(unsigned version, uint64_t ms, uint64_t counter, uint64_t tail) {
    return flake_i_128(ms << 16 | (uint64_t)version << 12 | counter >> 14,
                       (uint64_t)2 << 62 | (counter & flake_i_ones(14)) << 48 | tail);
}

/* `n` IDs of one ms, from `ticket` on. */
typedef struct flake_i_run {
    flake_i_keys *keys;
    flake_i_salt salt;
    uint64_t node, ms, ticket, n;
} flake_i_run;

FLAKE_I_INLINE void flake_i_form_ulid(unsigned version, const flake_i_run *r, flake128 *ids) {
    uint64_t above;
    const uint64_t start = flake_i_ulid_start(r->keys, r->salt, r->ms, &above);
    (void)version;
    for (uint64_t i = 0, low = start + r->ticket; i < r->n; i++, low++)
        ids[i] = flake_i_128(r->ms << 16 | (above + (low < start)), low);
}

FLAKE_I_INLINE void flake_i_form_node(unsigned version, const flake_i_run *r, flake128 *ids) {
    const uint64_t first = flake_i_uuid_start(r->keys, r->salt, r->ms) + r->ticket;
    for (uint64_t i = 0; i < r->n; i++) ids[i] = flake_i_uuid(version, r->ms, first + i, r->node);
}

/* A tail is 48 bits of the hash of ms (modulo 34 years) and ticket. Anyone who has seen other tails of the key, up
 * to 65,536 in each ms of a second, knows as many values of SipHash-1-3 at successive numbers: no attack is known
 * that predicts one more with less work than a search for the key, of 128 bits. */
typedef struct flake_i_tails {
    uint64_t key0, key1, ms, word, counter, n; /* word, counter: of the first ID */
} flake_i_tails;

#ifdef FLAKE_I_AVX2
FLAKE_I_INLINE FLAKE_I_AVX2 flake_i_u64x4 FLAKE_I_SIPHASH(flake_i_siphash_4, flake_i_u64x4)

/* Four IDs at once. Returns how many: all but the last n % 4. A vector's halves have IDs 0 and 2, and 1 and 3. */
FLAKE_I_INLINE FLAKE_I_AVX2 uint64_t flake_i_form_fours(const flake_i_tails *r, flake128 *ids) {
    const flake_i_c8x32 high_at = FLAKE_I_BOTH(7, 6, 5, 4, 3, 2, 1, 0, -9, -9, -9, -9, -9, -9, -9, -9);
    const flake_i_c8x32 low_at = FLAKE_I_BOTH(-9, -9, -9, -9, -9, -9, -9, -9, 7, 6, 5, 4, 3, 2, 1, 0);
    const flake_i_u64x4 places = {0, 2, 1, 3};
    const uint64_t key0 = r->key0, key1 = r->key1, high_bits = r->ms << 16 | 7 << 12;
    flake_i_u64x4 words = places + r->word, counters = places + r->counter;
    uint64_t done = 0;
    for (; r->n - done >= 4; done += 4, words += 4, counters += 4) {
        const flake_i_u64x4 high = counters >> 14 | high_bits;
        const flake_i_u64x4 low =
            (uint64_t)2 << 62 | (counters & flake_i_ones(14)) << 48 | flake_i_siphash_4(key0, key1, words) >> 16;
        const flake_i_u8x32 first = FLAKE_I_PICK(high, high_at) | FLAKE_I_PICK(low, low_at);
        const flake_i_u8x32 last = FLAKE_I_PICK(high, high_at + 8) | FLAKE_I_PICK(low, low_at + 8);
        memcpy(ids + done, &first, sizeof first);
        memcpy(ids + done + 2, &last, sizeof last);
    }
    return done;
}

__attribute__((target("avx2,avx512vl"))) FLAKE_I_NOINLINE uint64_t flake_i_form_avx512(const flake_i_tails *r,
                                                                                       flake128 *ids) {
    return flake_i_form_fours(r, ids);
}

FLAKE_I_AVX2 FLAKE_I_NOINLINE uint64_t flake_i_form_avx2(const flake_i_tails *r, flake128 *ids) {
    return __builtin_cpu_supports("avx512vl") ? flake_i_form_avx512(r, ids) : flake_i_form_fours(r, ids);
}
#endif

FLAKE_I_INLINE void flake_i_form_tail(unsigned version, const flake_i_run *r, flake128 *ids) {
    flake_i_keys *const k = r->keys;
    const uint64_t first = flake_i_uuid_start(k, r->salt, r->ms);
    if (r->ms >> FLAKE_I_RENEWAL_BITS > FLAKE_ATOMIC_LOAD(&k->renewed, relaxed))
        flake_i_renew_tail(k, r->ms >> FLAKE_I_RENEWAL_BITS);
    const flake_i_tails t = {FLAKE_ATOMIC_LOAD(&k->tail[0], relaxed) ^ r->salt.low,
                             FLAKE_ATOMIC_LOAD(&k->tail[1], relaxed) ^ r->salt.high,
                             r->ms,
                             r->ms << 24 >> 8 | r->ticket,
                             first + r->ticket,
                             r->n};
    for (uint64_t i = t.n < 4 ? 0 : FLAKE_I_BEST(flake_i_form_avx2(&t, ids), 0); i < t.n; i++)
        ids[i] = flake_i_uuid(version, t.ms, t.counter + i, flake_i_siphash(t.key0, t.key1, t.word + i) >> 16);
}

FLAKE_I_INLINE void flake_i_form_run(unsigned format, const flake_i_run *r, flake128 *ids) {
#define FLAKE_I_FORM(name, version, node, seq, form) \
    if (FLAKE_I_LIKELY(format == FLAKE_I_##name)) {  \
        flake_i_form_##form(version, r, ids);        \
        return;                                      \
    }
    FLAKE_I_EACH_COUNTED(FLAKE_I_FORM)
}

/* `n` IDs of one unit, of a layout with counters. */
FLAKE_I_INLINE void flake_i_counted(flake_gen *g, uint64_t time, uint64_t index, flake128 *ids, uint64_t n) {
    const flake_i_run run = {&g->keys, {0, 0}, g->base, FLAKE_I_1984_MS + time, index, n};
    flake_i_form_run(g->options.layout.format, &run, ids);
}

FLAKE_I_NOINLINE void flake_i_counted_1(flake_gen *g, uint64_t time, uint64_t index, flake128 *id) {
    flake_i_counted(g, time, index, id, 1);
}

FLAKE_API flake_status flake128_compose(const flake_layout *l, const flake_parts *p, flake128 *id) {
    uint64_t time;
    if (!flake_i_is_128(l)) return FLAKE_INVALID;
    const flake_status status = flake_i_unit_of(l, p, &time);
    if (status != FLAKE_OK) return status;
    const flake_i_fields f = flake_i_fields_of(l);
    if (f.version) *id = flake_i_uuid(f.version, time, p->seq, p->node);
    else if (l->format == FLAKE_I_BOUNDARY) *id = flake_i_128(time, p->node << 16 | p->seq);
    else *id = flake_i_128(time << f.seq_bits | p->seq, p->node);
    return FLAKE_OK;
}

FLAKE_API flake_status flake128_decompose(const flake_layout *l, const flake128 *id, flake_parts *parts) {
    const uint64_t high = flake_from_bytes(id->bytes), low = flake_from_bytes(id->bytes + 8);
    if (!flake_i_is_128(l)) return FLAKE_INVALID;
    const flake_i_fields f = flake_i_fields_of(l);
    const bool is_boundary = l->format == FLAKE_I_BOUNDARY;
    const uint64_t time = is_boundary ? high : high >> (64 - l->time_bits);
    flake_parts p = {0, low, (uint32_t)(high & flake_i_ones(f.seq_bits))};
    if (f.version) {
        if ((high >> 12 & 15) != f.version || low >> 62 != 2) return FLAKE_INVALID;
        p.node = low & flake_i_ones(48);
        p.seq = (uint32_t)((high & 0xfff) << 14 | (low >> 48 & flake_i_ones(14)));
    } else if (is_boundary) {
        p.node = low >> 16;
        p.seq = (uint32_t)(low & 0xffff);
    }
    if (!flake_i_unix_ms(l, time, false, &p.unix_ms)) return FLAKE_TIME_RANGE;
    *parts = p;
    return FLAKE_OK;
}

FLAKE_I_RANGE_CALLS(flake128, flake128)

FLAKE_API int flake128_compare(const flake128 *a, const flake128 *b) { return memcmp(a->bytes, b->bytes, 16); }

// >>ring
/* Bounded, many producers, many consumers, lock-free.
 *
 * The turn of a slot is 2r while it is free for the producer of round r, and 2r + 1 while it holds
 * the note of that round. head and tail only grow; 64 bits do not wrap around. A producer that is
 * stopped between its CAS and FILL:R hides its note and later ones, and blocks no thread.
 */

FLAKE_API flake_status flake_ring_init(flake_ring *ring, flake_ring_slot *slots, size_t n) {
    if (!ring || !slots || !n) return FLAKE_INVALID;
    ring->slots = slots;
    ring->size = n;
    FLAKE_ATOMIC_STORE(&ring->head, 0u, relaxed);
    FLAKE_ATOMIC_STORE(&ring->tail, 0u, relaxed);
    for (size_t i = 0; i < n; i++) FLAKE_ATOMIC_STORE(&slots[i].turn, 0u, relaxed);
    return FLAKE_OK;
}

/* Linearises at the CAS. NULL: the slot of the next position does not have that phase (0 free, 1 filled). */
FLAKE_I_FN flake_ring_slot *flake_i_ring_claim(flake_ring *ring, flake_atomic64 *end, uint64_t phase, uint64_t *turn) {
    uint64_t at = FLAKE_ATOMIC_LOAD(end, relaxed); /* a stale value fails the turn or the CAS */
    if (!ring->size) return NULL;                  /* was not initialised */
    for (;;) {
        flake_ring_slot *slot = &ring->slots[at % ring->size];
        *turn = at / ring->size * 2 + phase;
        if (FLAKE_ATOMIC_LOAD(&slot->turn, acquire) == *turn) { /* FILL:A, DRAIN:A */
            if (FLAKE_ATOMIC_CAS(end, &at, at + 1, relaxed, relaxed)) return slot;
        } else {
            uint64_t before = at;
            at = FLAKE_ATOMIC_LOAD(end, relaxed);
            if (at == before) return NULL;
        }
    }
}

/* Member by member: checkers of the memory model do not know copies of shared structs. */
FLAKE_I_FN void flake_i_ring_copy(const flake_overflow *note, flake_overflow *out) {
    out->now_ns = note->now_ns;
    out->waiting = note->waiting;
    out->elapsed_ms = note->elapsed_ms;
}

FLAKE_API bool flake_ring_push(flake_ring *ring, const flake_overflow *note) {
    uint64_t turn;
    flake_ring_slot *slot = flake_i_ring_claim(ring, &ring->head, 0, &turn);
    if (!slot) return false;
    flake_i_ring_copy(note, &slot->note);
    FLAKE_ATOMIC_STORE(&slot->turn, turn + 1, release); /* FILL:R */
    return true;
}

FLAKE_API bool flake_ring_pop(flake_ring *ring, flake_overflow *note) {
    uint64_t turn;
    flake_ring_slot *slot = flake_i_ring_claim(ring, &ring->tail, 1, &turn);
    if (!slot) return false;
    flake_i_ring_copy(&slot->note, note);
    FLAKE_ATOMIC_STORE(&slot->turn, turn + 1, release); /* DRAIN:R */
    return true;
}

// >>engine
/*
 * The engine.
 *
 * THE PROTOCOL
 *
 * One 64-bit word holds all that a draw changes:
 *
 *      63                                                  0
 *     +---------------------------+------+------------------+     tick: 1 bit if a backward step of
 *     | time                      | tick | count            |     the clock changes the timeline,
 *     +---------------------------+------+------------------+     else none
 *
 *     time    the highest clock reading recorded, in units since the epoch
 *     count   tickets drawn since that unit began, queued ones included; it has bits to spare
 *     unit_capacity     tickets per unit
 *
 *     ticket k, counted from 0, has index  k % unit_capacity  of unit  time + k / unit_capacity
 *
 * A draw loads the word, reads the clock (I2 restricts the order), and moves the word with one read-modify-write:
 *
 *     clock == time    the next ticket is k = count
 *     clock >  time    k = the queued tickets that the passed units have not served, mostly 0. The word is re-based on
 *                      the clock: the same position, counted from a later unit
 *     clock <  time    the clock went backwards. Without a tick the word continues in its own time. With a tick the
 *                      draw changes to the other timeline (tick-tock), unless that timeline has used the clock's time,
 *                      too
 *
 * A ticket is served at once if its unit is at most max_ahead ahead of the clock. A later one is drawn only by a caller
 * that waits, as its position in the queue.
 *
 * For example, the default layout: no tick, 23 bits of count, 4,096 tickets per unit of 1 ms. Init, at clock
 * 999, stores the word 0x1f3801000: unit 999, exhausted, since a predecessor may have used it.
 *
 *     clock   call                 the word after: time, count          drawn
 *     1000    flake_next           0x1f4000001     1000, 1              ticket 0 of unit 1000; unit 999 is left
 *     1000    flake_next_n, 4095   0x1f4001000     1000, 4096           tickets 1 to 4095: unit 1000 is exhausted
 *     1000    flake_next           0x1f4001001     1000, 4097           ticket 4096, which is ticket 0 of unit 1001:
 *                                                                       the caller sleeps until the clock reads 1001
 *     1001    flake_next           0x1f4800002     1001, 2              ticket 1 of unit 1001: the word is re-based
 *
 * INVARIANTS
 *
 *  I1  Each ticket (time, tick, k) is drawn by one read-modify-write of one word. RMWs of a
 *      location are totally ordered on every machine, and within a timeline the position time * unit_capacity
 *      + count only grows. So no ticket of a timeline is drawn twice, with any memory orders. That
 *      two visits to a timeline do not overlap is I5, which needs orders. (Only a waiter that gives
 *      up moves the position back: it returns the newest ticket, which no caller has received.)
 *  I2  A reading counts as before the word only if it was taken after the word was loaded. So "clock < time" means that
 *      the clock went backwards, never that this thread was slow between load and reading. A reading that is not before
 *      the word may be of any age.
 *  I3  No ID is returned whose time is more than max_ahead ahead of the clock. (The slack of the coarse clock, or half
 *      a ms for the fast clock, is added to that: see below.)
 *  I4  A call that fails has changed nothing. (Except for a ticket that stays unused: a waiter's, if the clock goes
 *      backwards or stops and others have queued after it; one taken beside a close.)
 *  I5  When a draw leaves a timeline, safe[tick] is at least the last time drawn on it, and every thread that sees the
 *      new timeline sees that value.
 *
 * Why equal words mean equal states (ABA): a timeline is entered with a time above safe[tick], and so above all times
 * that it has used. Within it only a returned ticket moves the word back, to the one before the draw: every ticket
 * below count is then taken, every other one is free.
 *
 * Why count cannot overflow into its neighbour: a draw by fetch_add first checks that count is below unit_capacity.
 * Before it adds, each other thread may add one ticket. A quarter of the count's range, at least 2^18, is reserved for
 * those. A CAS knows the exact count.
 *
 * Why a unit may fill its count (time and sequence have 64 bits). Its last ticket carries into time, and leaves count
 * 0. Each other word with a time has a count of at least 1, so count 0 means that the unit before is exhausted
 * (flake_i_decode), and the fast path draws from no such word. From any other it takes at most the tickets that are
 * left: it may take the last, and carries no further. A last unit that would carry out of the word is not used.
 *
 * Why a coarse clock is safe. It lags the exact clock by less than half of the slack and never leads it, so a unit that
 * it has reached may be drawn from. When an exact reading has moved the word past an exhausted unit, coarse readings
 * are before the word for a while. Those that are before its unit by no more than the slack count as that unit, or each
 * draw would read both clocks. So a backward step shorter than the slack goes unnoticed until the unit is exhausted
 * (I3). Otherwise (before by more, an exhausted unit, a fresh word) an exact reading decides (I2); only that changes
 * the tick (I5).
 *
 * Why no ID is of a unit before the start. Init stores a word whose unit is that of an exact reading, and exhausted. It
 * raises both safe[] to that unit. So the fast path draws nothing. A reading that lags, or a window, finds the unit
 * exhausted, and then an exact one decides. A caller's time counts as the word's unit at least. A clock that goes
 * backwards is before the word, in time that neither timeline may use. A thread that draws synchronises with init, so
 * this needs no order. To wait for start_unit is no overflow: no caller has taken its tickets.
 *
 * Why a fast clock is safe. It is a window: an exact reading shows which unit is current, and the processor's counter
 * measures how long that stays true, at most half a ms. Within it a draw reads the start of the word's unit, if that is
 * current: a reading of the past half ms. So a draw may take further tickets of the unit, or its first one after
 * another thread has left it (I2: such a reading may be of any age). To treat a unit as exhausted, or the clock as
 * before the word, it needs an exact reading taken after the word was loaded. So the word never leads the clock. If a
 * counter jumps, stops, or differs between processors, an ID's time is late at worst: within one unit, and by half a ms
 * or as much as the counter lags. Windows are relaxed: one remains true whatever happens to the word. Exact readings
 * measure the counter's rate (// >>clock); until two agree, and after repeated errors, there are no windows. Nor are
 * there any while draws are rare, since each window would have ended before the next draw: then a draw is one of EXACT.
 * They resume after a unit with a draw in each 65 us.
 *
 * Why a counter that is read early is safe. No acquire orders it, as it need not be a load: the reading may be older
 * than what an earlier load returns, perhaps an ID of the next unit from another lane. With a window up to the end of
 * its unit, a later draw could then get the earlier unit. So each window ends 2 us before its unit. From there on the
 * exact clock decides, which is ordered: the system has a barrier before its counter (rdtscp or lfence on x86, isb on
 * ARM), and loads the coarse clock from memory. 2 us is not an architectural bound. On x86 (Zen 4) one load in a
 * million was overtaken, mostly by less than 1 us; one in 10^7 by more than 2 us, at most 9 us. Such a reading must
 * also fall on the end of a unit, and costs order, or a wait or a change of tick, never a duplicate.
 *
 * MEMORY ORDERS
 *
 *     label      at                                                pairs with   and carries
 *     LEAVE:R    move that leaves a timeline, release              LOOK:A       safe[] raised, drifts settled
 *     LOOK:A     load of the word, acquire; a failed CAS's, too    LEAVE:R      safe[] (I5); a reading after it (I2)
 *     SAFE:R     safe[] raised                                     SAFE:A       to a snapshot: no older word
 *     TALLY:R    tickets re-based are tallied                      TALLY:A      the word that no longer counts them
 *     NOTE:R     election for a note of a ms                       NOTE:A       that the clock has read that ms
 *     FILL:R     slot's turn stored by push                        DRAIN:A      the note in the slot
 *     DRAIN:R    slot's turn stored by pop                         FILL:A       the slot is free again
 *     SETTLE:R   drift count raised                                SETTLE:A     that the timeline was left
 *     TURN:R     files: a thread's turn is over                    TURN:A       what it did in its turn
 *     DISK:R     horizon published                                 DISK:A       that it is on disk
 *     HOLD:R     claim has a new holder                            HOLD:A       its file, and the turn it took
 *     CLONE:R    owner id of a cloned machine                      CLONE:A      the count of clones (sno.h)
 *     ASK:S      admitted_ns raised or seen so, then horizon read  SHUT:S       one of the two sees the other
 *     SHUT:S     horizon closed, then admitted_ns read             ASK:S
 *
 *  All other accesses are relaxed, but for PAGE of // >>process-wide. A draw that stays on its timeline publishes only
 *  the word, and I1 needs no order; as an RMW it continues the release sequence of the LEAVE:R before it, so a later
 *  LOOK:A still synchronises with that. The value that fetch_add returns is no LOOK:A: for anything but the ticket,
 *  load the word again. A single_thread generator's word has one writer, and the user synchronises a change of threads.
 *  safe[] is reached through LOOK:A. No code acts on the statistics. `make explore-orders` weakens each order and
 *  checks that a rule breaks.
 *
 * Why a caller's time is compared with the clock only where it begins a unit: in the word's unit, or with an older
 * time, a draw moves no time. A unit far ahead would put the clock before the word for every later draw. A refused call
 * has changed nothing (I4): gate, claim and word come later. A draw that continues after a backward step is not
 * compared: the library chooses its unit.
 *
 * Why a copy of a generator repeats IDs for at most a unit, plus the lag of a coarse clock, or half a ms for the fast
 * clock. Its first tickets are also the original's. But an engine stores its address at init, and a draw that enters
 * another unit compares it (flake_i_draw_slow, or the caller of flake_i_draw_first). A copy is refused, and the unit in
 * its word marked as exhausted: after a backward step it could otherwise draw from that again. The address never
 * changes, so it needs no order. (In shared memory addresses differ, and nothing is compared.) A copy with lanes draws
 * from the original's words, and repeats no ticket.
 *
 * PROGRESS
 *
 *  Draw by fetch_add: wait-free if the machine has that instruction. Draw by CAS: lock-free, and a failure means that
 *  another draw succeeded. Single thread: wait-free. A waiting call also sleeps, and blocks no other call: a thread
 *  that dies at any line holds nothing but its own ticket.
 */

/* ---- engine ---- */

FLAKE_I_STATIC_ASSERT(offsetof(flake_i_engine, word) == 56, "the word has 56 bytes before and after it");
FLAKE_I_STATIC_ASSERT(offsetof(flake_i_engine, owner_word) >= offsetof(flake_i_engine, word) + 64,
                      "constant members share no cache line with the word");
FLAKE_I_STATIC_ASSERT(sizeof(flake_atomic64) == 8, "a 64-bit atomic is its value alone");

/* What a caller requests. Constants: each caller compiles to a straight line of its own. */
enum flake_i_request {
    FLAKE_I_WAIT = 1,   /* sleep for a ticket rather than fail */
    FLAKE_I_OWNED = 2,  /* one writer: plain loads and stores in place of RMWs */
    FLAKE_I_GIVEN = 4,  /* the time is the caller's; an old one is no backward step */
    FLAKE_I_LANE = 8,   /* the caller has other lanes: a clock before the word is not counted */
    FLAKE_I_BOUND = 16, /* the caller's time must not be far ahead of the clock */
    FLAKE_I_REQUESTS = 31
};

/* How the fast path ended without a ticket. The slow path gets outcome and request in one argument, `resume`: a seventh
 * would be passed in memory. */
enum flake_i_outcome {
    FLAKE_I_ELSE = 32,      /* no ticket of the word's unit by this reading */
    FLAKE_I_NOT_OURS = 64,  /* the owner's word has changed */
    FLAKE_I_OVERSHOT = 128, /* a fetch_add took a ticket after the unit's last, or in another unit */
    FLAKE_I_LOST = 256      /* another thread moved the word first; with lanes also: the map has none */
};

typedef struct flake_i_engine_config {
    int64_t epoch_ms;
    uint32_t unit_ms;
    unsigned time_bits, tick_bits;
    uint64_t unit_capacity;
    bool fail_on_backwards;
    flake_options options; /* all that concern an engine, from max_wait_ms on */
    flake_gate gate;       /* of a gated node */
    uint64_t fence_value;
    /* of a generator, by flake_i_claim_init: */
    const flake_i_claim *claim; /* NULL: no directory */
    int64_t floor_ns;           /* IDs are of later units than that of this time */
    /* before the claim and its wait: draws after a fork or clone meanwhile see another. 0: of now */
    uint64_t instance_owner_id;
} flake_i_engine_config;

/* Claims, defined in // >>directory. */
FLAKE_I_FN flake_status flake_i_admit(flake_i_claim *, int64_t until_ns, bool *pointless);
FLAKE_I_FN bool flake_i_must_extend(const flake_i_claim *, int64_t until_ns);

/* Time gets the bits that the layout and a clock of 63 bits of ns can fill, count the others: at least as many as the
 * layout has outside its time. */
FLAKE_I_FN void flake_i_lay_out_word(flake_i_engine *e, unsigned time_bits, uint64_t unit_capacity) {
    e->max_time = ((uint64_t)INT64_MAX - e->epoch_ns) / e->unit_ns - 1;
    if (time_bits < 64) e->max_time = flake_i_min_u64(e->max_time, ((uint64_t)1 << time_bits) - 1);
    e->time_shift = 63;
    for (uint64_t t = e->max_time >> 1; t; t >>= 1) e->time_shift--;
    const unsigned count_bits = e->time_shift - e->tick_bits;
    e->count_mask = ((uint64_t)1 << count_bits) - 1;
    FLAKE_ASSERT(unit_capacity <= e->count_mask || (unit_capacity == e->count_mask + 1 && !e->tick_bits));
    if (unit_capacity > e->count_mask && (e->max_time + 1) << count_bits == 0)
        e->max_time--; /* a full unit carries into time */
}

enum {
    FLAKE_I_RANGE_BITS = 48,   /* of count at most: sums of counts must not overflow */
    FLAKE_I_ADD_BITS = 20,     /* fetch_add needs a count of so many bits, ... */
    FLAKE_I_ADD_ROOM = 16,     /* ... with a range of so many times the unit_capacity, ... */
    FLAKE_I_ADD_TICKETS = 4096 /* ... and callers that wait for so many tickets */
};

/* fetch_add needs a reserve for simultaneous additions, a quarter of the count's range. It is used only if
 * callers wait for at least 4,096 tickets: otherwise additions at once could give one a later ticket than it waits
 * for. */
FLAKE_I_FN void flake_i_set_capacity(flake_i_engine *e, uint64_t unit_capacity) {
    const uint64_t range = flake_i_min_u64(e->count_mask + 1, (uint64_t)1 << FLAKE_I_RANGE_BITS);
    const uint64_t units = flake_i_min_u64((uint64_t)e->wait_ns / e->unit_ns + e->ahead, FLAKE_I_ADD_TICKETS);
    const bool by_add = range >> FLAKE_I_ADD_BITS && unit_capacity <= range / FLAKE_I_ADD_ROOM &&
                        units * unit_capacity >= FLAKE_I_ADD_TICKETS;
    e->unit_capacity = unit_capacity;
    e->add_limit = by_add ? unit_capacity - 1 : 0;
    e->fast_limit = unit_capacity - 1;
    e->count_limit = by_add ? range - range / 4 : range - (unit_capacity < range);
    /* If count cannot hold IDs so far ahead, they move time past all readings (see flake_i_plan). */
    e->time_lead = (e->ahead + 1) * unit_capacity > e->count_limit ? e->ahead : 0;
}

/* The owner is the instance owner id, or the gate's fence, which a fork wipes as well. */
FLAKE_I_FN void flake_i_set_owner(flake_i_engine *e, const flake_i_engine_config *config, flake_atomic64 *gate_word,
                                  uint64_t gate_id) {
    const flake_options *const o = &config->options;
    e->instance_word = NULL;
    e->instance_owner_id = o->shared_memory ? 0 : flake_i_instance_owner_id(&e->instance_word);
    if (e->instance_owner_id && config->instance_owner_id) e->instance_owner_id = config->instance_owner_id;
    e->owner_word = gate_word ? gate_word : e->instance_word;
    e->owner_id = gate_word ? gate_id : e->instance_owner_id;
    e->gate = config->gate;
    e->is_shared = o->shared_memory;
    e->claim_at = config->claim ? (uintptr_t)config->claim - (uintptr_t)e : 0;
}

/* Takes a fit configuration. Caller must have exclusive access. FLAKE_LEASE_LOST: its gate is closed, or is another
 * process's; the engine is unchanged. */
FLAKE_I_FN flake_status flake_i_engine_init(flake_i_engine *e, const flake_i_engine_config *config) {
    const flake_options *const o = &config->options;
    const int64_t max_ms = INT64_MAX / FLAKE_I_NS_PER_MS;
    const bool is_fast = o->clock.kind == FLAKE_CLOCK_FAST && !o->clock.now_ns;
    flake_atomic64 *const gate_word = config->gate.fence;
    const uint64_t gate_id = gate_word ? FLAKE_ATOMIC_LOAD(gate_word, relaxed) : 0;
    if (gate_word && (!gate_id || gate_id != config->fence_value)) return FLAKE_LEASE_LOST;
    e->epoch_ns = (uint64_t)(config->epoch_ms * FLAKE_I_NS_PER_MS);
    e->unit_ns = (uint64_t)config->unit_ms * FLAKE_I_NS_PER_MS;
    e->tick_bits = config->tick_bits;
    e->ahead = (uint64_t)o->max_ahead_ms / config->unit_ms;
    e->wait_ns = o->max_wait_ms > max_ms ? INT64_MAX : o->max_wait_ms * FLAKE_I_NS_PER_MS;
    e->fail_on_backwards = config->fail_on_backwards;
    e->no_wait = o->no_wait;
    e->start_unit = 0;
    e->clock = o->clock;
    if (o->clock.kind == FLAKE_CLOCK_FAST) e->clock.kind = FLAKE_CLOCK_EXACT;
    e->ring = o->overflow;
    e->slack_ns = o->clock.now_ns || o->clock.kind != FLAKE_CLOCK_COARSE ? 0 : FLAKE_CLOCK_SLACK_NS;
    e->unit_plus_slack_ns = e->unit_ns + e->slack_ns;
    e->late_from_ns = e->epoch_ns - e->slack_ns;
    e->unit_share = UINT64_MAX / e->unit_ns;
    e->self_address = (uintptr_t)e;
    flake_i_lay_out_word(e, config->time_bits, config->unit_capacity);
    flake_i_set_capacity(e, config->unit_capacity);
    flake_i_set_owner(e, config, gate_word, gate_id);
    flake_atomic64 *const zeros[] = {&e->word,    &e->safe[0], &e->safe[1], &e->drifts,          &e->overflow,
                                     &e->rebased, &e->batches, &e->waits,   &e->clock_backwards, &e->fast_until};
    for (size_t i = 0; i < sizeof zeros / sizeof *zeros; i++) FLAKE_ATOMIC_STORE(zeros[i], 0u, relaxed);
    const uint64_t window = is_fast ? flake_i_counter_window() : 0;
    e->frequent = window ? e->unit_ns >> FLAKE_I_FREQUENT_BITS : UINT64_MAX;
    FLAKE_ATOMIC_STORE(&e->ticks_per_window, window || o->clock.now_ns, relaxed);
    const bool is_plain = !o->overflow && !config->gate.admit && !config->claim && e->unit_capacity <= e->count_mask;
    FLAKE_ATOMIC_STORE(&e->first_limit, is_plain ? e->unit_capacity : 0, relaxed);
    FLAKE_ATOMIC_STORE(&e->is_closed, 0u, relaxed);
    return FLAKE_OK;
}

/* A separate call: the caller need not keep the ID across it. */
FLAKE_I_COLD bool flake_i_is_another_pid(uint64_t owner_id) { return owner_id != flake_i_pageless_owner_id(); }

/* Whether the instance owner id has changed. 0 is not compared. */
FLAKE_I_INLINE bool flake_i_forked_since(flake_atomic64 *word, uint64_t owner_id) {
    if (FLAKE_I_LIKELY(word != NULL)) return FLAKE_ATOMIC_LOAD(word, relaxed) != owner_id;
    return owner_id && flake_i_is_another_pid(owner_id);
}

/* As a call of flake_i_forked_since, each draw would take an instruction more: owner_id would be loaded first. */
FLAKE_I_INLINE bool flake_i_forked(const flake_i_engine *e) {
    return FLAKE_I_LIKELY(e->owner_word != NULL) ? FLAKE_ATOMIC_LOAD(e->owner_word, relaxed) != e->owner_id
                                                 : e->owner_id && flake_i_is_another_pid(e->owner_id);
}

/* Whether another process set the engine up, whatever its gate reports. */
FLAKE_I_COLD bool flake_i_is_inherited(const flake_i_engine *e) {
    return flake_i_forked_since(e->instance_word, e->instance_owner_id);
}

/* Otherwise the owner's word is the instance's. */
FLAKE_I_INLINE bool flake_i_has_fence(const flake_i_engine *e) { return e->owner_word != e->instance_word; }

/* Why the owner's word changed: another process set the engine up, or the gate is closed. */
FLAKE_I_INLINE flake_status flake_i_lost_status(const flake_i_engine *e) {
    return flake_i_has_fence(e) && !flake_i_is_inherited(e) ? FLAKE_LEASE_LOST : FLAKE_FORKED;
}

FLAKE_I_FN bool flake_i_is_closed(const flake_i_engine *e) { return FLAKE_ATOMIC_LOAD(&e->is_closed, relaxed) != 0; }

/* Off the fast path: a gate's fence does not show that the machine was cloned. One load of each word: a second one of
 * the instance's might see a clone, and report it as a closed gate. */
FLAKE_I_FN flake_status flake_i_check_owner(const flake_i_engine *e) {
    if (flake_i_is_inherited(e)) return FLAKE_FORKED;
    if (flake_i_is_closed(e)) return FLAKE_CLOSED;
    return flake_i_has_fence(e) && flake_i_forked(e) ? FLAKE_LEASE_LOST : FLAKE_OK;
}

FLAKE_I_INLINE bool flake_i_is_copy(const flake_i_engine *e) {
    return e->self_address != (uintptr_t)e && !e->is_shared;
}

FLAKE_I_FN flake_i_claim *flake_i_claim_of(const flake_i_engine *e) {
    return (flake_i_claim *)((uintptr_t)e + e->claim_at);
}

FLAKE_I_FN bool flake_i_has_gate(const flake_i_engine *e) { return e->gate.admit || e->claim_at; }

/* For queries: no draw succeeds any more. */
FLAKE_I_FN bool flake_i_is_over(const flake_i_engine *e) { return flake_i_forked(e) || flake_i_is_closed(e); }

FLAKE_I_INLINE uint64_t flake_i_start_ns(const flake_i_engine *e, uint64_t unit) {
    return e->epoch_ns + unit * e->unit_ns;
}

/* unit_share is short by less than 1, so a product is short by one unit at most. */
FLAKE_I_INLINE uint64_t flake_i_units(const flake_i_engine *e, uint64_t ns) {
#if defined(__SIZEOF_INT128__)
    __extension__ typedef unsigned __int128 product;
    const uint64_t units = (uint64_t)((product)ns * e->unit_share >> 64);
    return units + (ns - units * e->unit_ns >= e->unit_ns);
#else
    return ns / e->unit_ns;
#endif
}

FLAKE_I_INLINE unsigned flake_i_tick(const flake_i_engine *e, uint64_t word) {
    return (unsigned)(word >> (e->time_shift - 1)) & e->tick_bits;
}

/* With count 0. Add a count, do not or it: one without bits to spare carries. */
FLAKE_I_INLINE uint64_t flake_i_word_at(const flake_i_engine *e, uint64_t time, unsigned tick) {
    return (time << e->time_shift) + ((uint64_t)tick << (e->time_shift - 1));
}

/* Of the `count` tickets drawn since unit `since`, those that belong to unit `from` or later. */
FLAKE_I_FN uint64_t flake_i_queued(const flake_i_engine *e, uint64_t since, uint64_t count, uint64_t from) {
    if (from <= since) return count;
    if (count <= e->unit_capacity) return 0; /* nearly always, without a division */
    uint64_t passed = from - since;
    return passed > count / e->unit_capacity ? 0 : count - passed * e->unit_capacity;
}

/* A statistic, on a cache line that the fast path does not touch. */
FLAKE_I_FN void flake_i_tally(flake_atomic64 *tally, uint64_t more, unsigned request) {
    if (!more) return;
    /* release, after the word was re-based: flake_i_stats (TALLY:A) would otherwise count its tickets twice */
    if (request & FLAKE_I_OWNED)
        FLAKE_ATOMIC_STORE(tally, FLAKE_ATOMIC_LOAD(tally, relaxed) + more, release); /* TALLY:R */
    else (void)FLAKE_ATOMIC_ADD(tally, more, release);                                /* TALLY:R */
}

/* Moves the word from *seen to `next`. On failure *seen is what another thread has stored. */
FLAKE_I_FN bool flake_i_move(flake_i_engine *e, unsigned request, uint64_t *seen, uint64_t next) {
    if (request & FLAKE_I_OWNED) {
        FLAKE_ATOMIC_STORE(&e->word, next, release); /* LEAVE:R, for queries of other threads */
        return true;
    }
    /* release: a thread that sees the new timeline (LOOK:A) must see safe[] of the one that was left, or it returns to
     * units that have IDs (I5). acquire: after a failure this is the caller's load of the word */
    return FLAKE_ATOMIC_CAS(&e->word, seen, next, release, acquire); /* LEAVE:R, LOOK:A */
}

/* A full unit whose count has no bits to spare has carried into time. */
FLAKE_I_FN void flake_i_decode(const flake_i_engine *e, uint64_t word, uint64_t *time, uint64_t *count) {
    *time = word >> e->time_shift;
    *count = word & e->count_mask;
    if (e->unit_capacity > e->count_mask && !*count && *time) {
        --*time;
        *count = e->unit_capacity;
    }
}

/* Caller must have exclusive access. */
FLAKE_I_FN void flake_i_exhaust_unit(flake_i_engine *e) {
    const uint64_t word = FLAKE_ATOMIC_LOAD(&e->word, relaxed);
    uint64_t time, count;
    flake_i_decode(e, word, &time, &count);
    if (count >= e->unit_capacity) return;
    FLAKE_ATOMIC_STORE(&e->word, word - count + e->unit_capacity, relaxed);
    flake_i_tally(&e->rebased, count - e->unit_capacity, FLAKE_I_OWNED); /* not drawn here */
}

/* The next ID is of a later unit than this time, on either timeline: of start_unit, unless the word has passed that.
 * Caller must have exclusive access. */
FLAKE_I_FN void flake_i_engine_not_before(flake_i_engine *e, int64_t floor_ns) {
    if (floor_ns < (int64_t)e->epoch_ns) return;
    const uint64_t floor = flake_i_min_u64(((uint64_t)floor_ns - e->epoch_ns) / e->unit_ns, e->max_time);
    const uint64_t word = FLAKE_ATOMIC_LOAD(&e->word, relaxed);
    uint64_t time, count;
    for (unsigned i = 0; i < e->tick_bits * 2; i++)
        if (FLAKE_ATOMIC_LOAD(&e->safe[i], relaxed) < floor) FLAKE_ATOMIC_STORE(&e->safe[i], floor, relaxed);
    flake_i_decode(e, word, &time, &count);
    if (time > floor || flake_i_queued(e, time, count, floor) >= e->unit_capacity) return;
    e->start_unit = floor + 1;
    FLAKE_ATOMIC_STORE(&e->word, flake_i_word_at(e, floor, flake_i_tick(e, word)) + e->unit_capacity, relaxed);
    flake_i_tally(&e->rebased, count - e->unit_capacity, FLAKE_I_OWNED); /* not drawn here */
}

/* ---- the fast clock ---- */

enum { FLAKE_I_WINDOW_MARGIN_NS = 2000 }; /* each ends so early, for counters read early */

/* A window is one word, the sum of its unit and its end, so that no thread sees one without the other. The unit is
 * multiplied by 2^64 over the golden ratio: the products of units that differ by less than 2^30 are more than 2^32
 * apart, and so more than any window. */
static const uint64_t flake_i_golden64 = 0x9e3779b97f4a7c15;

/* An exact reading and, while draws are frequent, the window that it shows. The counter was read before the clock, so
 * the window ends early if anything. */
FLAKE_I_NOINLINE int64_t flake_i_renew_window(flake_i_engine *e, uint64_t counter, bool is_frequent) {
    const int64_t now_ns = flake_i_exact_ns(&e->clock);
    uint64_t window = is_frequent ? flake_i_calibrate(counter, now_ns) : 0;
    /* before the epoch: a unit that never comes */
    const uint64_t unit = flake_i_units(e, (uint64_t)now_ns - e->epoch_ns);
    const uint64_t unit_left_ns = flake_i_start_ns(e, unit + 1) - (uint64_t)now_ns;
    if (window > 1 && unit_left_ns <= FLAKE_I_WINDOW_MARGIN_NS) window = 1;
    if (window > 1) {
        const uint64_t left_ns =
            flake_i_min_u64(unit_left_ns - FLAKE_I_WINDOW_MARGIN_NS, (uint64_t)1 << FLAKE_I_WINDOW_BITS);
        const uint64_t end = counter + (left_ns * window >> FLAKE_I_WINDOW_BITS);
        FLAKE_ATOMIC_STORE(&e->fast_until, end + unit * flake_i_golden64, relaxed);
    }
    FLAKE_ATOMIC_STORE(&e->ticks_per_window, window, relaxed);
    return now_ns;
}

/* What the counter reads at the end of the unit's window: far away, if the window is another unit's. */
FLAKE_I_INLINE uint64_t flake_i_window_end(const flake_i_engine *e, uint64_t unit) {
    return FLAKE_ATOMIC_LOAD(&e->fast_until, relaxed) - unit * flake_i_golden64;
}

/* Whether a window shows that the unit is current. The counter is read last, when the rest is known: the steps before
 * it run beside the fetch_add of the draw before, those after it do not. */
FLAKE_I_INLINE bool flake_i_is_current(const flake_i_engine *e, uint64_t window, uint64_t unit) {
    uint64_t end = flake_i_window_end(e, unit);
    FLAKE_I_APART(end); /* one register over the counter */
    const uint64_t counter = FLAKE_COUNTER();
    return FLAKE_I_LIKELY(end - counter - 1 < window);
}

/* The program's clock, if it has one. Otherwise the start of the word's unit while a window shows that it is current,
 * else an exact reading. If the window ended long ago, draws are rare: they take exact readings until draws are
 * frequent again. */
FLAKE_I_NOINLINE int64_t flake_i_fast_ns(flake_i_engine *e, uint64_t window) {
    if (!FLAKE_I_LIKELY(window > 1))
        return e->clock.now_ns ? e->clock.now_ns(e->clock.user) : flake_i_renew_window(e, FLAKE_COUNTER(), true);
    const uint64_t counter = FLAKE_COUNTER();
    const uint64_t unit = FLAKE_ATOMIC_LOAD(&e->word, relaxed) >> e->time_shift;
    const uint64_t end = flake_i_window_end(e, unit);
    if (FLAKE_I_LIKELY(end - counter - 1 < window)) return (int64_t)flake_i_start_ns(e, unit);
    const uint64_t pause = window >> (FLAKE_I_WINDOW_BITS - FLAKE_I_FREQUENT_BITS);
    return flake_i_renew_window(e, counter, counter - end < pause);
}

/* A unit with so many tickets has passed. The next draw shows whether there are windows. */
FLAKE_I_INLINE void flake_i_note_rate(flake_i_engine *e, uint64_t tickets) {
    if (FLAKE_I_LIKELY(tickets < e->frequent)) return;
    if (!FLAKE_ATOMIC_LOAD(&e->ticks_per_window, relaxed)) FLAKE_ATOMIC_STORE(&e->ticks_per_window, 1u, relaxed);
}

/* A draw in progress: look, decide, move, serve. A query ends after the look. */
typedef struct flake_i_attempt {
    unsigned request;
    uint64_t want;             /* 1 to so many tickets */
    int64_t budget_ns;         /* what is left of max_wait_ms */
    bool back_told, wait_told; /* the statistics know */
    uint64_t word;
    int64_t now_ns;
    bool confirmed; /* now_ns is exact, and was read after the word (I2) */
    /* what follows from word and reading for the next ticket: */
    uint64_t time, count, now; /* the word's, the clock's unit */
    unsigned tick;
    uint64_t base, ticket; /* the next ticket: counted from unit base, on timeline tick */
    uint64_t unit;         /* the ticket's unit */
    bool leaves;           /* drawing it leaves the word's timeline */
    bool blocked;          /* the clock reads a time that both timelines have used: there is none */
    bool is_free;          /* it is available without waiting */
    uint64_t opens;        /* the unit to wait for: the ticket's, or the first that has one */
    /* and what the draw decides: */
    uint64_t n, next; /* how many tickets, and the word after them */
} flake_i_attempt;

/* The clock is before the word: the other timeline, if its time is unused. */
FLAKE_I_FN void flake_i_look_back(const flake_i_engine *e, flake_i_attempt *a) {
    const uint64_t safe = FLAKE_ATOMIC_LOAD(&e->safe[a->tick ^ 1], relaxed);
    a->blocked = a->now <= safe;
    a->leaves = !a->blocked;
    if (a->leaves) {
        a->tick ^= 1;
        a->base = a->unit = a->opens = a->now;
        a->ticket = 0;
    } else if (safe + 1 < a->time) a->opens = safe + 1;
}

/* The clock may be before the word without a backward step: no ID has been drawn, and init did not wait. */
FLAKE_I_FN bool flake_i_is_early(const flake_i_engine *e, const flake_i_attempt *a) {
    return e->no_wait && a->time < e->start_unit;
}

FLAKE_I_FN flake_status flake_i_look(const flake_i_engine *e, unsigned request, uint64_t word, int64_t now_ns,
                                     flake_i_attempt *a) {
    if (!e->unit_capacity) return FLAKE_INVALID; /* never initialised */
    flake_i_decode(e, word, &a->time, &a->count);
    a->tick = flake_i_tick(e, word);
    const bool given = (request & FLAKE_I_GIVEN) && word;
    /* before the epoch: no unit */
    if (now_ns < (int64_t)e->epoch_ns && !given) return FLAKE_TIME_RANGE;
    a->now = now_ns < (int64_t)e->epoch_ns ? 0 : flake_i_units(e, (uint64_t)now_ns - e->epoch_ns);
    /* a caller's time before the word counts as the word's */
    if (given && a->now + e->time_lead < a->time) a->now = a->time - e->time_lead;

    /* clock <= time: in the word's time. clock > time: in the clock's, less the queue that passed units have served */
    a->leaves = a->blocked = false;
    a->base = a->now < a->time ? a->time : a->now;
    a->ticket = flake_i_queued(e, a->time, a->count, a->base);
    /* a later unit's, if a queue has taken all of this one's */
    a->unit = a->opens = a->base + (a->ticket < e->unit_capacity ? 0 : a->ticket / e->unit_capacity);
    /* a backward step, and there is another timeline */
    if (a->now < a->time && e->tick_bits) flake_i_look_back(e, a);
    const bool is_start = given && flake_i_is_early(e, a); /* now is not the clock's */
    a->is_free = a->unit <= a->now + (is_start ? 0 : e->ahead) && !a->blocked;
    return a->opens > e->max_time ? FLAKE_TIME_RANGE : FLAKE_OK;
}

/* For a reading that may be older than the word: if it lags by the slack at most, the word's unit. */
FLAKE_I_FN int64_t flake_i_lag_adjusted_ns(const flake_i_engine *e, uint64_t word, int64_t now_ns) {
    uint64_t time, count;
    flake_i_decode(e, word, &time, &count);
    const uint64_t from_ns = flake_i_start_ns(e, time);
    return from_ns - (uint64_t)now_ns <= e->slack_ns ? (int64_t)from_ns : now_ns;
}

FLAKE_I_FN uint64_t flake_i_available_by(const flake_i_engine *e, const flake_i_attempt *a) {
    if (!a->is_free) return 0;
    return (flake_i_min_u64(a->now + e->ahead, e->max_time) + 1 - a->base) * e->unit_capacity - a->ticket;
}

FLAKE_I_FN int64_t flake_i_end_ns(const flake_i_engine *e, uint64_t unit) {
    return (int64_t)(flake_i_start_ns(e, unit + 1) - 1);
}

/* The end of the last unit that has passed. */
FLAKE_I_FN int64_t flake_i_passed_ns(const flake_i_engine *e, int64_t now_ns) {
    if (now_ns < (int64_t)e->epoch_ns) return now_ns;
    return flake_i_end_ns(e, flake_i_units(e, (uint64_t)now_ns - e->epoch_ns) - 1);
}

FLAKE_I_FN int64_t flake_i_due_ns(const flake_i_engine *e, uint64_t unit) {
    return (int64_t)flake_i_start_ns(e, unit < e->ahead ? 0 : unit - e->ahead);
}

/* How many backward steps changed the timeline before `word`. The stored count lags by one at most: a draw settles it
 * before it leaves a timeline. False: the word moved. */
FLAKE_I_FN bool flake_i_drifts_at(flake_i_engine *e, uint64_t word, unsigned tick, uint64_t *drifts) {
    /* acquire: if a later draw has settled already, the load of the word after it shows that (SETTLE:R). Otherwise a
     * count of later timelines would be taken for this word's */
    uint64_t stored = FLAKE_ATOMIC_LOAD(&e->drifts, acquire); /* SETTLE:A */
    if (FLAKE_ATOMIC_LOAD(&e->word, relaxed) != word) return false;
    *drifts = stored + ((stored & 1) != tick);
    if (stored != *drifts) (void)FLAKE_ATOMIC_CAS(&e->drifts, &stored, *drifts, release, relaxed); /* SETTLE:R */
    return true;
}

/* Call it before the CAS that leaves a timeline, with the new tick in *a. False: the word moved. */
FLAKE_I_FN bool flake_i_before_leaving(flake_i_engine *e, uint64_t word, const flake_i_attempt *a, uint64_t *drifts) {
    unsigned left = a->tick ^ 1;
    uint64_t last = a->time + (a->count ? (a->count - 1) / e->unit_capacity : 0);
    uint64_t safe = FLAKE_ATOMIC_LOAD(&e->safe[left], relaxed);
    /* release: a snapshot that reads this time (SAFE:A) must not read a word older than this thread's */
    while (safe < last && !FLAKE_ATOMIC_CAS(&e->safe[left], &safe, last, release, relaxed)) { /* SAFE:R */
    }
    return flake_i_drifts_at(e, word, left, drifts);
}

/* ---- overflow notes ----
 *
 * e->overflow elects one writer per ms. It packs:
 *
 *     [ began ms:40 ][ noted:24 ]     noted: ms noted since, 0: there was none yet; all ones: over, and began is the ms
 *                                     of the last note
 */
enum { FLAKE_I_NOTED_BITS = 24, FLAKE_I_NOTED_MAX = 0xffffff };

/* queued 0: the queue is over. A last note that does not fit remains owed; another: the next ms is noted again. */
FLAKE_I_FN void flake_i_emit_event(flake_i_engine *e, uint64_t seen, int64_t now_ns, uint64_t queued) {
    const uint64_t mask = UINT64_MAX >> FLAKE_I_NOTED_BITS;
    const uint64_t ms = (uint64_t)(now_ns / FLAKE_I_NS_PER_MS) & mask, owed = seen;
    uint64_t noted = seen & FLAKE_I_NOTED_MAX;
    const bool is_over = !noted || noted == FLAKE_I_NOTED_MAX;
    uint64_t began_ms = seen >> FLAKE_I_NOTED_BITS;
    uint64_t ticks = (ms - began_ms) & mask; /* ms since it began; very many after a backward step */
    if (queued && (is_over || ticks >= FLAKE_I_NOTED_MAX - 1)) { /* a new one: also after hours, or a backward step */
        if (noted == FLAKE_I_NOTED_MAX && !ticks) return;
        began_ms = ms;
        ticks = 0;
    } else if (is_over || ticks < noted) return;
    noted = ticks + 1;
    if (!queued) {
        began_ms = ms;
        noted = FLAKE_I_NOTED_MAX;
        if (ticks >= noted) ticks = 0; /* a backward step */
    }
    uint64_t next = began_ms << FLAKE_I_NOTED_BITS | noted;
    const flake_overflow note = {now_ns, (uint32_t)flake_i_min_u64(queued, UINT32_MAX), (uint32_t)ticks};
    /* release: now_ns was read before. A thread that sees the election (NOTE:A) reads the clock after it */
    if (FLAKE_ATOMIC_CAS(&e->overflow, &seen, next, release, relaxed) && /* NOTE:R */
        !flake_ring_push(e->ring, &note) && !queued)
        (void)FLAKE_ATOMIC_CAS(&e->overflow, &next, owed, relaxed, relaxed);
}

/* Not while the clock is before the word: the callers then wait for the clock, not for capacity. Nor do those that wait
 * for the start unit. */
FLAKE_I_FN void flake_i_check_overflow(flake_i_engine *e) {
    flake_i_attempt a;
    if (!e->ring) return;
    /* acquire: the reading is taken after it. An older one would look like a backward step, and begin an overflow */
    const uint64_t old = FLAKE_ATOMIC_LOAD(&e->overflow, acquire); /* NOTE:A */
    const int64_t now_ns = flake_i_exact_ns(&e->clock);
    const uint64_t word = FLAKE_ATOMIC_LOAD(&e->word, relaxed); /* only for the length of the queue */
    if (flake_i_look(e, 0, word, now_ns, &a) != FLAKE_OK || a.now + e->time_lead < a.time) return;
    const uint64_t served = flake_i_max_u64(a.now + e->ahead, e->start_unit);
    flake_i_emit_event(e, old, now_ns, flake_i_queued(e, a.time, a.count, served + 1));
}

/* ---- draw ---- */

/* The least that a sleep takes from a caller's budget: a clock that stopped just before a unit would otherwise be read
 * a million times per ms of budget. */
enum { FLAKE_I_LEAST_NAP_NS = 50000 };

/* Returns a reading taken after the sleep. The caller then checks the owner. */
FLAKE_I_FN int64_t flake_i_nap(flake_i_engine *e, int64_t now_ns, int64_t ns, int64_t *budget_ns) {
    if (e->ring) { /* wakes at the next ms for a note */
        const int64_t tick_ns = 1000000 - (now_ns % 1000000 + 1000000) % 1000000;
        if (ns > tick_ns) ns = tick_ns;
    }
    FLAKE_SLEEP_NS(ns);
    const int64_t after_ns = flake_i_exact_ns(&e->clock);
    const bool shown = after_ns > now_ns && flake_i_ns_until(after_ns, now_ns) >= ns;
    *budget_ns -= shown ? ns : flake_i_max_i64(ns, FLAKE_I_LEAST_NAP_NS);
    return after_ns;
}

FLAKE_I_COLD flake_status flake_i_pass_gates(flake_i_engine *e, unsigned request, uint64_t unit, int64_t *budget_ns) {
    const int64_t until_ns = flake_i_end_ns(e, unit), nap_ns = 1000000;
    for (;; *budget_ns -= nap_ns) {
        bool pointless = false; /* waiting cannot change the answer */
        flake_status status = flake_i_check_owner(e);
        if (status != FLAKE_OK) return status;
        if (e->gate.admit) status = e->gate.admit(e->gate.user, until_ns);
        else if (e->claim_at) status = flake_i_admit(flake_i_claim_of(e), until_ns, &pointless);
        const bool not_yet = status == FLAKE_AGAIN || (e->claim_at && status == FLAKE_NOT_EXTENDED);
        const bool waits = (request & FLAKE_I_WAIT) && *budget_ns >= nap_ns;
        if (!not_yet || pointless || !waits) return status;
        FLAKE_SLEEP_NS(nap_ns);
    }
}

/* Sleeps until the unit of a ticket that was drawn after the reading drawn_ns. FLAKE_AGAIN: the clock went backwards or
 * stands still. FLAKE_FORKED, FLAKE_LEASE_LOST: the ticket has another owner by now. */
FLAKE_I_FN flake_status flake_i_await(flake_i_engine *e, uint64_t unit, int64_t drawn_ns, int64_t now_ns,
                                      int64_t *budget_ns) {
    const int64_t due_ns = flake_i_due_ns(e, unit);
    for (;;) {
        flake_i_check_overflow(e);
        if (now_ns >= due_ns) return FLAKE_OK;
        const int64_t left_ns = flake_i_ns_until(due_ns, now_ns);
        const bool put_back = now_ns < drawn_ns && (e->tick_bits || e->fail_on_backwards);
        if (left_ns > *budget_ns || put_back) return FLAKE_AGAIN;
        now_ns = flake_i_nap(e, now_ns, left_ns, budget_ns);
        const flake_status status = flake_i_check_owner(e);
        if (status != FLAKE_OK) return status;
    }
}

FLAKE_I_FN void flake_i_reload(flake_i_engine *e, flake_i_attempt *a) {
    /* acquire: safe[] is read by this word (I5), and the reading comes after it. An older one could be before a word
     * that another thread has moved since, and that would look like a backward step (I2) */
    a->word = FLAKE_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
    a->now_ns = flake_i_exact_ns(&e->clock);
    a->confirmed = true;
}

/* Of the word: the next ticket is the first one. */
FLAKE_I_FN bool flake_i_is_fresh(const flake_i_engine *e, uint64_t time, uint64_t count) {
    return !(count % e->unit_capacity) && time + count / e->unit_capacity == e->start_unit;
}

/* Look. Only an exact reading taken after the word shows that the clock is before the word or that no ticket is free. A
 * fresh word needs one, too: an earlier run may have used the time of a reading that lags. */
FLAKE_I_FN flake_status flake_i_look_closely(flake_i_engine *e, flake_i_attempt *a) {
    for (;;) {
        const int64_t as_ns = a->confirmed ? a->now_ns : flake_i_lag_adjusted_ns(e, a->word, a->now_ns);
        const flake_status status = flake_i_look(e, a->request, a->word, as_ns, a);
        const bool suffices = status == FLAKE_OK && a->is_free && a->now >= a->time && a->time;
        if (!a->confirmed && !suffices) {
            a->now_ns = flake_i_exact_ns(&e->clock);
            a->confirmed = true;
            continue;
        }
        const bool is_back = status == FLAKE_OK && a->now + e->time_lead < a->time;
        if (is_back && !a->back_told && !flake_i_is_early(e, a)) {
            flake_i_tally(&e->clock_backwards, 1, a->request);
            a->back_told = true;
        }
        return status;
    }
}

/* Decide, if no ticket is free: FLAKE_OK: the caller queues; *slept: it slept without a ticket instead. */
FLAKE_I_FN flake_status flake_i_queue(flake_i_engine *e, flake_i_attempt *a, bool *slept) {
    const bool back = a->time > a->now + e->ahead && !flake_i_is_early(e, a);
    const int64_t left_ns = flake_i_ns_until(flake_i_due_ns(e, a->opens), a->now_ns);
    if (!(a->request & FLAKE_I_WAIT) || (back && e->fail_on_backwards) || left_ns > a->budget_ns)
        return back ? FLAKE_CLOCK_BACKWARDS : FLAKE_AGAIN;
    if (!a->wait_told && a->opens > e->start_unit) {
        flake_i_tally(&e->waits, 1, a->request);
        a->wait_told = true;
    }
    *slept = a->blocked || a->ticket >= e->count_limit;
    if (!*slept) return FLAKE_OK;
    if (!a->blocked) flake_i_check_overflow(e);
    (void)flake_i_nap(e, a->now_ns, (int64_t)flake_i_min_u64((uint64_t)left_ns, e->unit_ns), &a->budget_ns);
    return flake_i_check_owner(e);
}

/* Decide: how many tickets, and which. */
FLAKE_I_FN void flake_i_plan(const flake_i_engine *e, flake_i_attempt *a) {
    a->n = flake_i_min_u64(a->want,
                           a->is_free ? flake_i_available_by(e, a) : e->unit_capacity - a->ticket % e->unit_capacity);
    if (a->is_free && a->ticket >= e->unit_capacity && a->ticket + a->n > e->count_limit) {
        a->ticket %= e->unit_capacity; /* far ahead of the clock: whole units move from count to time */
        a->base = a->unit;
    }
    a->n = flake_i_min_u64(a->n, e->count_limit - a->ticket);
    a->next = flake_i_word_at(e, a->base, a->tick) + a->ticket + a->n;
}

/* Move. The draw linearises here. False: another thread was first, and the attempt has its word. */
FLAKE_I_FN bool flake_i_commit(flake_i_engine *e, flake_i_attempt *a) {
    uint64_t drifts = 0;
    if (a->leaves && !flake_i_before_leaving(e, a->word, a, &drifts)) {
        flake_i_reload(e, a);
        return false;
    }
    uint64_t seen = a->word;
    if (!flake_i_move(e, a->request, &seen, a->next)) {
        FLAKE_RELAX();
        a->word = seen;
        a->confirmed = (a->request & FLAKE_I_GIVEN) != 0;
        return false;
    }
    /* release, after the word has moved: see SETTLE:A */
    if (a->leaves) (void)FLAKE_ATOMIC_CAS(&e->drifts, &drifts, drifts + 1, release, relaxed); /* SETTLE:R */
    return true;
}

/* Serve the tickets that were drawn after the reading drawn_ns, if `status` is FLAKE_OK. Otherwise, and if they are not
 * worth the wait (FLAKE_AGAIN), they are returned if they are still the newest. */
FLAKE_I_FN flake_status flake_i_serve(flake_i_engine *e, flake_i_attempt *a, flake_status status, int64_t drawn_ns,
                                      flake_i_ticket *out) {
    if (status == FLAKE_OK && !a->is_free) status = flake_i_await(e, a->unit, drawn_ns, a->now_ns, &a->budget_ns);
    uint64_t seen = a->next;
    const bool given_back = status != FLAKE_OK && flake_i_move(e, a->request, &seen, a->word);
    if (!given_back) flake_i_tally(&e->rebased, a->count - a->ticket, a->request);
    flake_i_note_rate(e, a->count - a->ticket);
    if (status != FLAKE_OK) return status;
    if (a->is_free && a->count != a->ticket && !(a->request & FLAKE_I_GIVEN)) flake_i_check_overflow(e);
    if (a->n > 1) flake_i_tally(&e->batches, 1, a->request);
    out->time = a->unit;
    out->index = a->ticket < e->unit_capacity ? a->ticket : a->ticket % e->unit_capacity;
    out->n = a->n;
    out->tick = a->tick;
    out->head = flake_i_word_at(e, out->time, a->tick);
    return FLAKE_OK;
}

/* By more than max_ahead and a unit. */
FLAKE_I_NOINLINE bool flake_i_is_far_ahead(const flake_i_engine *e, int64_t given_ns) {
    const int64_t now_ns = flake_i_exact_ns(&e->clock);
    if (given_ns <= now_ns) return false;
    const uint64_t ahead_ns = (uint64_t)flake_i_ns_until(given_ns, now_ns);
    return flake_i_units(e, ahead_ns - 1) > e->ahead;
}

/* The first ticket of a unit, with no queue: all that a quiet generator draws. False: another thread was first, or the
 * case is another. (If the reading is before the word, since_ns wraps around, and the unit is after the last.) The
 * caller refuses copies. */
FLAKE_I_INLINE bool flake_i_draw_first(flake_i_engine *e, unsigned resume, bool is_bound, uint64_t *word,
                                       int64_t now_ns, flake_i_ticket *out) {
    const uint64_t count = *word & e->count_mask, unit = *word >> e->time_shift;
    const uint64_t since_ns = (uint64_t)now_ns - flake_i_start_ns(e, unit);
    if (!(resume & FLAKE_I_ELSE) || since_ns < e->unit_ns) return false;
    if (count - 1 >= FLAKE_ATOMIC_LOAD(&e->first_limit, relaxed)) return false;
    const uint64_t passed = flake_i_units(e, since_ns), time = unit + passed;
    const uint64_t head = *word - count + (passed << e->time_shift);
    if (time > e->max_time || (is_bound && flake_i_is_far_ahead(e, now_ns))) return false;
    if (!flake_i_move(e, resume, word, head + 1)) return false;
    flake_i_tally(&e->rebased, count, resume);
    flake_i_note_rate(e, count);
    out->time = time;
    out->index = 0;
    out->n = 1;
    out->tick = flake_i_tick(e, head);
    out->head = head;
    return true;
}

/* Draws 1 to `want` tickets of the word's unit, of which `count` are drawn. If a window is given, it must show that the
 * unit is current: no reading has. */
FLAKE_I_INLINE unsigned flake_i_take(flake_i_engine *e, unsigned request, uint64_t window, uint64_t want,
                                     uint64_t count, uint64_t *word, flake_i_ticket *out) {
    const uint64_t head = *word - count;
    uint64_t index = count, n = 1;
    out->time = *word >> e->time_shift;
    if (want == 1 && (request & (FLAKE_I_WAIT | FLAKE_I_OWNED)) == FLAKE_I_WAIT &&
        FLAKE_I_LIKELY(count - 1 < e->add_limit)) {
        if (window && !flake_i_is_current(e, window, out->time)) return FLAKE_I_ELSE;
        /* a caller that waits, so it may take a ticket of the queue. relaxed: only the ticket is used (I1) */
        *word = FLAKE_ATOMIC_ADD(&e->word, 1u, relaxed);
        index = *word - head; /* of another unit or tick: above any unit_capacity */
        /* other threads took the rest since the load, or moved the word to another unit */
        if (!FLAKE_I_LIKELY(index < e->unit_capacity)) return FLAKE_I_OVERSHOT;
    } else {
        /* the unit is exhausted, or the word fresh */
        if (!FLAKE_I_LIKELY(count - 1 < e->fast_limit)) return FLAKE_I_ELSE;
        if (want > 1) n = flake_i_min_u64(want, e->unit_capacity - count);
        /* the batch may continue in the next unit */
        if (n < want && e->ahead) return FLAKE_I_ELSE;
        if (window && !flake_i_is_current(e, window, out->time)) return FLAKE_I_ELSE;
        /* another thread was first */
        if (!FLAKE_I_SURE(flake_i_move(e, request, word, *word + n))) return FLAKE_I_LOST;
    }
    if (n > 1) flake_i_tally(&e->batches, 1, request);
    out->index = index;
    out->n = n;
    out->tick = flake_i_tick(e, head);
    out->head = head;
    return 0;
}

/* Draws 1 to `want` tickets with one move, and without a division, in the usual case: the word's unit is not exhausted,
 * and the reading is in it or before it by no more than the slack. Otherwise the slow path continues from *word and
 * *now_ns; it is a separate function, so that the usual case needs few registers. The clock may be read before the
 * word, which is faster: if it is before the word's time, the slow path reads again (I2). A caller that gives the time
 * sets *now_ns. */
FLAKE_I_INLINE unsigned flake_i_draw_fast(flake_i_engine *e, unsigned request, uint64_t want, uint64_t *word,
                                          int64_t *now_ns, flake_i_ticket *out) {
    *word = 0;
    /* after a fork or a clone, or a gate has closed */
    if (!FLAKE_I_LIKELY(!flake_i_forked(e))) return FLAKE_I_NOT_OURS;
    if (!(request & FLAKE_I_GIVEN)) {
        const uint64_t window = FLAKE_ATOMIC_LOAD(&e->ticks_per_window, relaxed);
        if (!FLAKE_I_LIKELY(!window) &&
            window > 1) { /* windows; 1: the program's own clock, or the next reading begins one */
            flake_i_engine *apart = e;
            FLAKE_I_APART(apart);
            /* relaxed: no reading is compared with this word. Where the slow path needs an acquire, it has the load
             * below, a failed CAS, or after an overshoot flake_i_reload */
            *word = FLAKE_ATOMIC_LOAD(&apart->word, relaxed);
            const uint64_t count = *word & apart->count_mask;
            const unsigned outcome = flake_i_take(apart, request, window, want, count, word, out);
            if (FLAKE_I_LIKELY(!outcome)) return 0;
            *now_ns = (int64_t)flake_i_start_ns(apart, out->time);
            if (outcome != FLAKE_I_ELSE) return outcome;
        }
        *now_ns = FLAKE_I_LIKELY(!window) ? FLAKE_CLOCK_NS(e->clock.kind) : flake_i_fast_ns(e, window);
    }
    /* acquire: the slow path reads safe[] by this word (LEAVE:R), and the clock after it */
    *word = FLAKE_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
    const uint64_t late_ns =                      /* from the unit's start to the reading, plus the slack */
        (uint64_t)*now_ns - e->late_from_ns - (*word >> e->time_shift) * e->unit_ns;
    /* in another unit than the word's, or never initialised */
    if (!FLAKE_I_LIKELY(late_ns < e->unit_plus_slack_ns)) return FLAKE_I_ELSE;
    return flake_i_take(e, request, 0, want, *word & e->count_mask, word, out);
}

/* One copy for callers without a fast path of their own. */
FLAKE_I_NOINLINE unsigned flake_i_draw_any(flake_i_engine *e, unsigned request, uint64_t want, uint64_t *word,
                                           int64_t *now_ns, flake_i_ticket *out) {
    return flake_i_draw_fast(e, request, want, word, now_ns, out);
}

/* After fetch_add took a ticket past the unit's last, or of another unit. False: it was not worth the wait, and was
 * returned if it was still the newest; the draw begins again. */
FLAKE_I_FN bool flake_i_draw_overshoot(flake_i_engine *e, flake_i_attempt *a, flake_i_ticket *out,
                                       flake_status *status) {
    const int64_t drawn_ns = a->now_ns;
    a->now_ns = flake_i_exact_ns(&e->clock);
    a->base = a->word >> e->time_shift;
    a->ticket = a->count = a->word & e->count_mask;
    a->unit = a->base + a->ticket / e->unit_capacity;
    a->tick = flake_i_tick(e, a->word);
    a->is_free = false;
    a->n = 1;
    a->next = a->word + 1;
    *status = a->unit > e->max_time ? FLAKE_TIME_RANGE : FLAKE_OK;
    if (*status != FLAKE_OK) return true;
    if (a->now_ns < flake_i_due_ns(e, a->unit)) flake_i_tally(&e->waits, 1, a->request);
    if (flake_i_has_gate(e)) *status = flake_i_pass_gates(e, a->request, a->unit, &a->budget_ns);
    const bool admitted = *status == FLAKE_OK;
    *status = flake_i_serve(e, a, *status, drawn_ns, out);
    if (!admitted || *status != FLAKE_AGAIN) return true;
    flake_i_reload(e, a); /* the addition was no LOOK:A */
    return false;
}

/* The whole protocol, from a word and a reading in any order. */
FLAKE_I_COLD flake_status flake_i_draw_slow(flake_i_engine *e, unsigned resume, uint64_t word, int64_t now_ns,
                                            uint64_t want, flake_i_ticket *out) {
    flake_i_attempt a;
    flake_status late;
    const unsigned request = resume & FLAKE_I_REQUESTS;
    const unsigned outcome = resume - request;
    if (outcome & FLAKE_I_NOT_OURS) return flake_i_lost_status(e);
    if (flake_i_is_copy(e)) {
        flake_i_exhaust_unit(e);
        return FLAKE_INVALID;
    }
    if (flake_i_is_closed(e)) return FLAKE_CLOSED;
    a.request = request;
    a.want = want;
    a.budget_ns = e->wait_ns;
    a.back_told = (request & FLAKE_I_LANE) != 0;
    a.wait_told = false;
    a.confirmed = (request & FLAKE_I_GIVEN) != 0;
    a.word = word;
    a.now_ns = now_ns;
    if (outcome == FLAKE_I_OVERSHOT && flake_i_draw_overshoot(e, &a, out, &late)) return late;
    for (;;) {
        bool slept = false;
        flake_status status = flake_i_look_closely(e, &a);
        const bool is_new = a.now > a.time || !(a.time || a.count); /* a unit, or the first ID */
        if ((request & FLAKE_I_BOUND) && status == FLAKE_OK && is_new && flake_i_is_far_ahead(e, a.now_ns))
            return FLAKE_TOO_FAR_AHEAD;
        if (status == FLAKE_OK && !a.is_free) status = flake_i_queue(e, &a, &slept);
        if (status == FLAKE_OK && !slept) {
            flake_i_plan(e, &a);
            const uint64_t last = a.base + (a.ticket + a.n - 1) / e->unit_capacity;
            if (flake_i_has_gate(e)) status = flake_i_pass_gates(e, request, last, &a.budget_ns);
            if (status != FLAKE_OK) out->n = a.n;
        }
        if (status != FLAKE_OK) return status;
        if (slept) flake_i_reload(e, &a);
        if (slept || !flake_i_commit(e, &a)) continue;
        status = flake_i_serve(e, &a, FLAKE_OK, a.now_ns, out);
        if (status != FLAKE_AGAIN) return status;
        flake_i_reload(e, &a);
    }
}

FLAKE_I_INLINE flake_status flake_i_draw(flake_i_engine *e, unsigned request, int64_t given_ns, uint64_t want,
                                         flake_i_ticket *out) {
    flake_i_ticket ticket; /* for the call; *out stays in registers */
    uint64_t word;
    int64_t now_ns = given_ns;
    const unsigned outcome = flake_i_draw_fast(e, request, want, &word, &now_ns, out);
    if (FLAKE_I_LIKELY(!outcome)) return FLAKE_OK;
    request |= outcome;
    if (want == 1 && !flake_i_is_copy(e) && flake_i_draw_first(e, request, false, &word, now_ns, out)) return FLAKE_OK;
    const flake_status status = flake_i_draw_slow(e, request, word, now_ns, want, &ticket);
    if (status == FLAKE_OK) *out = ticket;
    return status;
}

/* ---- queries of an engine: an answer may be out of date on return ---- */

/* Looks as flake_try would. */
FLAKE_I_FN flake_status flake_i_peek(flake_i_engine *e, flake_i_attempt *a) {
    a->request = 0;
    a->back_told = true;                            /* a backward step is not counted */
    a->word = FLAKE_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
    a->confirmed = !e->slack_ns;
    a->now_ns = a->confirmed ? flake_i_exact_ns(&e->clock) : flake_i_now_ns(&e->clock);
    return flake_i_look_closely(e, a);
}

/* ns until a try would succeed; INT64_MAX: never. */
FLAKE_I_FN int64_t flake_i_retry_ns(flake_i_engine *e) {
    flake_i_attempt a;
    if (flake_i_is_over(e) || !e->unit_capacity) return INT64_MAX;
    if (e->slack_ns && flake_i_peek(e, &a) == FLAKE_OK && a.is_free) return 0;
    flake_i_reload(e, &a);
    const int64_t from_ns = flake_i_max_i64(a.now_ns, (int64_t)e->epoch_ns);
    if (flake_i_look(e, 0, a.word, from_ns, &a) != FLAKE_OK) return INT64_MAX;
    return flake_i_ns_until(a.is_free ? from_ns : flake_i_due_ns(e, a.opens), a.now_ns);
}

FLAKE_I_FN uint64_t flake_i_available(flake_i_engine *e) {
    flake_i_attempt a;
    if (flake_i_is_over(e) || flake_i_peek(e, &a) != FLAKE_OK) return 0;
    return flake_i_available_by(e, &a);
}

/* The newest unit of a ticket, on either timeline. The word is loaded first: a draw that left a timeline had raised
 * safe[] by then. */
FLAKE_I_FN uint64_t flake_i_newest(flake_i_engine *e) {
    uint64_t time, count;
    flake_i_decode(e, FLAKE_ATOMIC_LOAD(&e->word, acquire), &time, &count); /* LOOK:A */
    const uint64_t safe =
        flake_i_max_u64(FLAKE_ATOMIC_LOAD(&e->safe[0], relaxed), FLAKE_ATOMIC_LOAD(&e->safe[1], relaxed));
    return flake_i_max_u64(time + (count ? (count - 1) / e->unit_capacity : 0), safe);
}

/* Whether the next ticket waits for flake_extend. The word's unit is admitted already. */
FLAKE_I_FN bool flake_i_is_late(flake_i_engine *e) {
    flake_i_attempt a;
    if (!e->claim_at || flake_i_is_over(e) || flake_i_peek(e, &a) != FLAKE_OK) return false;
    return flake_i_must_extend(flake_i_claim_of(e), flake_i_end_ns(e, a.unit));
}

/* Adds an engine's. While other threads draw, ids may lack tickets that they have not tallied yet. */
FLAKE_I_FN void flake_i_stats(flake_i_engine *e, flake_stats *sum) {
    uint64_t word = FLAKE_ATOMIC_LOAD(&e->word, relaxed), again, time, count, rebased;
    for (;; word = again) { /* until it is not re-based meanwhile: no ticket counts twice */
        flake_i_decode(e, word, &time, &count);
        /* acquire: if it has a unit's tickets (TALLY:R), `again` is no longer of that unit */
        rebased = FLAKE_ATOMIC_LOAD(&e->rebased, acquire); /* TALLY:A */
        again = FLAKE_ATOMIC_LOAD(&e->word, relaxed);
        if (!((again ^ word) & ~e->count_mask)) break;
    }
    sum->ids += rebased + count;
    sum->batches += FLAKE_ATOMIC_LOAD(&e->batches, relaxed);
    sum->waits += FLAKE_ATOMIC_LOAD(&e->waits, relaxed);
    sum->clock_backwards += FLAKE_ATOMIC_LOAD(&e->clock_backwards, relaxed);
}

// >>lanes
/* One generator's numbers on several engines.
 *
 * A lane is an engine with its own word and its own numbers, so no ticket is drawn twice, whichever lane a draw uses
 * (I1). The map stores, for each value of FLAKE_LANE(), the lane that served there last. Map and turn are relaxed and
 * publish nothing; a stale entry costs a step to another lane. Lanes are not ordered among one another, so there are no
 * new pairs of labels. But each load of a word that a reading is compared with is a LOOK:A, in a sweep too: a draw that
 * joins a timeline, and a
 * snapshot of the newest unit, rely on that lane's safe[] (I5).
 *
 * DRAW      An attempt in the lane of the map. If its CAS loses in the usual case, a unit with tickets left, the entry
 *           moves to the next lane in turn, and a sweep begins. If it loses otherwise, as for the first ticket of a
 *           unit, the draw retries in the same lane. A lane that is exhausted, or that the clock is before, begins a
 *           sweep, too.
 * SWEEP     One exact reading, and a look at each word: the first lane serves if it has a ticket, then those that have
 *           not been drawn from in this unit. A second reading follows. If a lane has a ticket by either, or the clock
 *           went backwards, each word is looked at again, and any lane may serve. Last of all a draw with a reading of
 *           its own (I2) is tried in the lane with the earliest next ticket, and a waiting caller waits there.
 * GATE      The answer depends on the unit alone, and a refusal covers later units. So no lane is drawn from after one,
 *           except the last, whose unit may be earlier (max_ahead). If another thread takes that lane's last ticket of
 *           this unit meanwhile, the try fails, although a third lane may have one: so it asks a gate twice at most.
 *
 * Why a failed try has missed no ticket that was always there, unless a gate refused. Without second looks, no lane had
 * one at the second reading: a word only moves on. With them, a lane without a ticket by the reading before its word
 * was loaded, which may be of an older unit, gets a reading after that (I2). By this one it has none, or it is drawn
 * from, and fails only if other threads have drawn the rest.
 *
 * PROGRESS  As the engine's. However long a look or a gate takes, a try looks at its first lane, twice at each lane,
 *           and at the last one. It asks the gate at most twice: the sweep ends at the first refusal, and the last
 *           draw asks once more. A UUID or ULID that continues in a lane that is ahead of the clock asks up to
 *           three times more (flake_i_continue_in).
 */

FLAKE_I_FN flake_lane *flake_i_lane_at(const flake_i_lanes *l, uintptr_t distance) {
    return (flake_lane *)(((uintptr_t)l & l->from) + l->lanes_at + distance);
}

FLAKE_I_NOINLINE flake_lane *flake_i_lane(const flake_i_lanes *l, size_t i) {
    return flake_i_lane_at(l, (i + 1) * sizeof(flake_lane));
}

/* The fast path finds lanes by address: not those in shared memory, whose entries are negative. */
FLAKE_I_FN void flake_i_lanes_map(flake_i_lanes *l, unsigned slot, uint32_t own) {
    const uint32_t distance = own * (uint32_t)sizeof(flake_lane);
    FLAKE_ATOMIC_STORE(&l->map[slot], distance | ((uint32_t)l->from & 0x80000000), relaxed);
}

/* A copy of the whole with `unit_capacity` numbers of its own. Which numbers of the word's unit are drawn is unknown:
 * all count as drawn. */
FLAKE_I_FN void flake_i_lane_begin(flake_i_engine *e, const flake_i_engine *whole, uint64_t unit_capacity) {
    const uint64_t word = FLAKE_ATOMIC_LOAD(&whole->word, relaxed);
    uint64_t time, count;
    flake_i_decode(whole, word, &time, &count);
    count = (count + whole->unit_capacity - 1) / whole->unit_capacity * unit_capacity;
    memcpy((void *)e, (const void *)whole, sizeof *e);
    flake_i_set_capacity(e, unit_capacity);
    e->self_address = (uintptr_t)e;
    if (e->claim_at) e->claim_at += (uintptr_t)whole - (uintptr_t)e;
    if (FLAKE_ATOMIC_LOAD(&e->first_limit, relaxed)) FLAKE_ATOMIC_STORE(&e->first_limit, unit_capacity, relaxed);
    FLAKE_ATOMIC_STORE(&e->word, flake_i_word_at(e, time, flake_i_tick(whole, word)) + count, relaxed);
    FLAKE_ATOMIC_STORE(&e->rebased, 0 - count, relaxed); /* not drawn here */
}

/* The n lanes fit. The whole has begun, and no thread draws from it. */
FLAKE_I_FN void flake_i_lanes_begin(flake_i_lanes *l, flake_lane *lanes, size_t n, const flake_i_engine *whole) {
    uint64_t first = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t unit_capacity = whole->unit_capacity / n + (i < whole->unit_capacity % n);
        flake_i_lane_begin(&lanes[i].engine, whole, unit_capacity);
        lanes[i].first = first;
        first += unit_capacity;
    }
    for (size_t i = 0; i < sizeof l->map / sizeof *l->map; i++) FLAKE_ATOMIC_STORE(&l->map[i], 0u, relaxed);
    FLAKE_ATOMIC_STORE(&l->turn, 0u, relaxed);
    l->from = whole->is_shared ? UINTPTR_MAX : 0;
    l->lanes_at = (uintptr_t)lanes - sizeof(flake_lane) - ((uintptr_t)l & l->from);
    l->self_address = (uintptr_t)l;
    l->n = n;
}

/* Another lane than `was`, if there is one. 0: there are no lanes. */
FLAKE_I_COLD uint32_t flake_i_lanes_step(flake_i_lanes *l, unsigned slot, uint32_t was) {
    if (!l->n) return 0;
    uint32_t to = 0;
    for (unsigned tries = 0; tries < 2 && (!to || to == was); tries++)
        to = (uint32_t)(FLAKE_ATOMIC_ADD(&l->turn, 1u, relaxed) % l->n) + 1;
    flake_i_lanes_map(l, slot, to);
    return to;
}

/* A status that concerns one lane alone: others may have tickets. */
FLAKE_I_FN bool flake_i_others_may_serve(flake_status status) {
    return status == FLAKE_AGAIN || status == FLAKE_CLOCK_BACKWARDS || status == FLAKE_TIME_RANGE ||
           status == FLAKE_NOT_EXTENDED;
}

/* From lane *at or a later one; *at becomes the one that served. FLAKE_AGAIN: none has a ticket, or a gate refused
 * (out->n, which may be set before, is not 0); *at becomes the one with the next ticket. */
FLAKE_I_FN flake_status flake_i_lanes_look(flake_i_lanes *l, int64_t *now_ns, uint64_t want, size_t *at,
                                           flake_i_ticket *out) {
    const size_t own = *at;
    for (unsigned pass = 0; pass < 2; pass++) {
        const int64_t from_ns = *now_ns;
        uint64_t opens = UINT64_MAX;
        bool has_tickets = false;
        for (size_t i = 0; i < l->n; i++) {
            const size_t k = i < l->n - own ? own + i : i - (l->n - own);
            flake_i_engine *const e = &flake_i_lane(l, k)->engine;
            /* acquire: a draw that leaves this lane's timeline relies on its safe[], and a reading follows (I2) */
            const uint64_t word = FLAKE_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
            flake_i_attempt a;
            flake_status status = flake_i_look(e, 0, word, flake_i_lag_adjusted_ns(e, word, *now_ns), &a);
            if (pass && !(status == FLAKE_OK && a.is_free)) {
                *now_ns = flake_i_exact_ns(&e->clock);
                status = flake_i_look(e, 0, word, *now_ns, &a);
            }
            if (status != FLAKE_OK) continue;
            has_tickets |= a.is_free;
            if (a.is_free && !out->n && (pass || !i || a.time < a.now)) {
                status = flake_i_draw_slow(e, FLAKE_I_LANE, word, *now_ns, want, out);
                if (!flake_i_others_may_serve(status)) {
                    *at = k;
                    return status;
                }
            }
            if (a.opens < opens) {
                opens = a.opens;
                *at = k;
            }
        }
        const flake_i_engine *const e = &flake_i_lane(l, own)->engine;
        *now_ns = flake_i_exact_ns(&e->clock);
        const uint64_t unit = flake_i_units(e, (uint64_t)*now_ns - e->epoch_ns);
        if (out->n || (!has_tickets && *now_ns >= from_ns && unit + e->ahead < opens)) break;
    }
    return FLAKE_AGAIN;
}

FLAKE_I_COLD flake_status flake_i_lanes_sweep(flake_i_lanes *l, unsigned request, bool back, uint64_t want, size_t *at,
                                              flake_i_ticket *out) {
    flake_i_engine *e = &flake_i_lane(l, *at)->engine;
    int64_t now_ns = flake_i_exact_ns(&e->clock);
    if (!(back && e->fail_on_backwards)) {
        const flake_status status = flake_i_lanes_look(l, &now_ns, want, at, out);
        if (status != FLAKE_AGAIN) return status;
        e = &flake_i_lane(l, *at)->engine;
    }
    const uint64_t word = FLAKE_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
    return flake_i_draw_slow(e, request, word, now_ns, want, out);
}

/* False: the map has none, or one in shared memory. */
FLAKE_I_INLINE bool flake_i_lanes_own(const flake_i_lanes *l, flake_lane **from) {
    const uint32_t own = FLAKE_ATOMIC_LOAD(&l->map[(uint8_t)FLAKE_LANE()], relaxed);
    if (!FLAKE_I_LIKELY((int32_t)own > 0)) return false;
    *from = (flake_lane *)(l->lanes_at + own);
    return true;
}

/* Continues a draw from out->from, or if that is NULL begins one. */
FLAKE_I_NOINLINE flake_status flake_i_ticket_slow(flake_i_lanes *l, unsigned resume, uint64_t word, int64_t now_ns,
                                                  uint64_t want, flake_i_ticket *out) {
    /* of this processor, which may be another one by now: its lane is as good */
    const unsigned slot = (uint8_t)FLAKE_LANE(), request = resume & FLAKE_I_WAIT;
    unsigned outcome = resume - request;
    out->n = 0;                                                            /* no gate has refused */
    if (l->self_address != (uintptr_t)l && !l->from) return FLAKE_INVALID; /* a copy */
    if (!out->from) {
        size_t distance = FLAKE_ATOMIC_LOAD(&l->map[slot], relaxed) & INT32_MAX;
        if (!distance) distance = flake_i_lanes_step(l, slot, 0) * sizeof(flake_lane);
        if (!distance) return FLAKE_INVALID;
        out->from = flake_i_lane_at(l, distance);
        outcome = flake_i_draw_any(&out->from->engine, FLAKE_I_LANE, want, &word, &now_ns, out);
    }
    const bool lost = outcome & FLAKE_I_LOST;
    flake_status status = lost ? FLAKE_AGAIN : FLAKE_OK;
    if (outcome && !lost)
        status = flake_i_draw_slow(&out->from->engine, FLAKE_I_LANE | outcome, word, now_ns, want, out);
    if (flake_i_others_may_serve(status)) {
        uint32_t own = (uint32_t)(out->from - flake_i_lane(l, 0)) + 1;
        if (lost) own = flake_i_lanes_step(l, slot, own);
        size_t at = own - 1;
        status = flake_i_lanes_sweep(l, request, status == FLAKE_CLOCK_BACKWARDS, want, &at, out);
        if (status == FLAKE_OK && at != own - 1) flake_i_lanes_map(l, slot, (uint32_t)at + 1);
        out->from = flake_i_lane(l, at);
    }
    if (status == FLAKE_OK) out->index += out->from->first;
    return status;
}

/* On either timeline. */
FLAKE_I_FN uint64_t flake_i_lanes_newest(const flake_i_lanes *l) {
    uint64_t newest = 0;
    for (size_t i = 0; i < l->n; i++) newest = flake_i_max_u64(newest, flake_i_newest(&flake_i_lane(l, i)->engine));
    return newest;
}

// >>draws

/* ---- kinds of generators ---- */

/* Whether it is initialised, and not part of another generator. */
FLAKE_I_FN bool flake_i_is_whole(const flake_gen *g) { return g->kind && !(g->kind & FLAKE_I_PART); }

FLAKE_I_FN bool flake_i_has_lanes(const flake_gen *g) { return (g->kind & FLAKE_I_WAY) == FLAKE_I_LANES; }

/* Whether it is initialised, and not a copy. */
FLAKE_I_FN bool flake_i_is_here(const flake_gen *g) { return g->kind && !flake_i_is_copy(&g->engine); }

/* ---- IDs of tickets ---- */

/* A ticket's number in the range. With seq_scatter a unit starts with a hash of its time, scaled to the capacity. */
FLAKE_I_FN uint64_t flake_i_scatter(const flake_gen *g, uint64_t time, uint64_t index) {
    if (g->options.seq_scatter) index += (time * flake_i_golden64 >> 32) * g->engine.unit_capacity >> 32;
    return index < g->engine.unit_capacity ? index : index - g->engine.unit_capacity;
}

/* `seq` counts from seq_min. */
FLAKE_I_INLINE uint64_t flake_i_id(const flake_gen *g, uint64_t time_field, uint64_t seq) {
    return time_field + g->base + (seq << g->seq_shift);
}

/* For any 64-bit layout. */
FLAKE_I_COLD flake_status flake_i_put_unusual_id(const flake_gen *g, uint64_t time, uint64_t index, uint64_t *id) {
    *id = flake_i_id(g, flake_i_time_field(&g->options.layout, time), flake_i_scatter(g, time, index));
    return FLAKE_OK;
}

/* `id` points to a flake128 or a uint64_t. */
FLAKE_I_INLINE void flake_i_put_id(flake_gen *g, bool is_128, uint64_t time, uint64_t index, void *id) {
    if (!is_128) *(uint64_t *)id = flake_i_id(g, time << g->time_shift, index);
    else if (FLAKE_I_LIKELY(!g->has_counter)) *(flake128 *)id = flake_i_128(time, g->base + index);
    else flake_i_counted_1(g, time, index, (flake128 *)id);
}

#if defined(__GNUC__)
typedef uint64_t flake_i_pair __attribute__((vector_size(16)));
typedef uint8_t flake_i_bytes __attribute__((vector_size(16)));
#endif

/* first, first + step, ... in vectors, which gcc -O2 does not use unasked. */
FLAKE_I_FN void flake_i_fill_run(uint64_t *ids, uint64_t n, uint64_t first, uint64_t step) {
    uint64_t i = 0;
#if defined(__GNUC__)
    const flake_i_pair step2 = {2 * step, 2 * step}, step4 = step2 + step2;
    flake_i_pair even = {first, first + step}, odd = even + step2;
    for (; n - i >= 8; i += 8) {
        memcpy(ids + i, &even, sizeof even);
        memcpy(ids + i + 2, &odd, sizeof odd);
        even += step4;
        odd += step4;
        memcpy(ids + i + 4, &even, sizeof even);
        memcpy(ids + i + 6, &odd, sizeof odd);
        even += step4;
        odd += step4;
    }
#endif
    for (; i < n; i++) ids[i] = first + i * step;
}

FLAKE_I_FN void flake_i_fill(const flake_gen *g, const flake_i_ticket *unit, uint64_t *ids) {
    const uint64_t unit_capacity = g->engine.unit_capacity, step = (uint64_t)1 << g->seq_shift;
    const uint64_t field = flake_i_time_field(&g->options.layout, unit->time);
    uint64_t seq = flake_i_scatter(g, unit->time, unit->index);
    for (uint64_t left = unit->n, run; left; left -= run, ids += run, seq = 0) {
        run = flake_i_min_u64(unit_capacity - seq, left);
        flake_i_fill_run(ids, run, flake_i_id(g, field, seq), step);
    }
}

/* IDs that differ in the last byte alone. */
FLAKE_I_FN void flake_i_fill_run128(flake128 *ids, uint64_t n, uint64_t high, uint64_t low) {
    uint64_t i = 0;
#if defined(__GNUC__)
    const flake_i_bytes one = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    const flake_i_bytes two = one + one, four = two + two;
    const flake_i_pair halves = {flake_i_big_endian(high), flake_i_big_endian(low)};
    flake_i_bytes id0 = (flake_i_bytes)halves, id1 = id0 + one, id2 = id0 + two, id3 = id1 + two;
    for (; n - i >= 4; i += 4, id0 += four, id1 += four, id2 += four, id3 += four) {
        memcpy(ids + i, &id0, sizeof id0);
        memcpy(ids + i + 1, &id1, sizeof id1);
        memcpy(ids + i + 2, &id2, sizeof id2);
        memcpy(ids + i + 3, &id3, sizeof id3);
    }
#endif
    for (; i < n; i++) ids[i] = flake_i_128(high, low + i);
}

FLAKE_I_FN void flake_i_fill128(flake_gen *g, const flake_i_ticket *unit, flake128 *ids) {
    uint64_t low = g->base + unit->index;
    if (g->has_counter) flake_i_counted(g, unit->time, unit->index, ids, unit->n);
    else
        for (uint64_t left = unit->n, run; left; left -= run, low += run, ids += run) {
            run = flake_i_min_u64(left, 256 - low % 256);
            flake_i_fill_run128(ids, run, unit->time, low);
        }
}

/* ---- backward steps of UUIDs and ULIDs ---- */

/* IDs left in the engine's newest unit, if the clock is before that unit and the generator continues instead of
 * waiting; else 0. */
FLAKE_I_FN uint64_t flake_i_backstep_available(const flake_gen *g, flake_i_engine *e) {
    flake_i_attempt a;
    if (!g->has_counter || flake_i_is_over(e)) return 0;
    const flake_status status = flake_i_peek(e, &a);
    if (status == FLAKE_OK && flake_i_is_early(e, &a)) return 0;
    const bool before_first = status != FLAKE_OK && a.now_ns < (int64_t)e->epoch_ns;
    if (before_first ? flake_i_is_fresh(e, a.time, a.count) || !(a.time || a.count % e->unit_capacity)
                     : status != FLAKE_OK || a.now + e->ahead >= a.time)
        return 0;
    return a.time + a.count / e->unit_capacity > e->max_time ? 0 : e->unit_capacity - a.count % e->unit_capacity;
}

/* After a failed draw: if the clock went backwards, draws from the newest unit, or if that is exhausted from the next
 * one, as if the clock read that. Not for a caller's time: an older one counts as the newest. */
FLAKE_I_COLD flake_status flake_i_continue_in(flake_i_engine *e, unsigned request, flake_status status, uint64_t want,
                                              flake_i_ticket *out) {
    int64_t budget_ns = e->wait_ns;
    uint64_t tried = UINT64_MAX;
    if (request & FLAKE_I_GIVEN || (status != FLAKE_TIME_RANGE && status != FLAKE_CLOCK_BACKWARDS)) return status;
    uint64_t time, count;
    flake_i_decode(e, FLAKE_ATOMIC_LOAD(&e->word, relaxed), &time, &count);
    if (status == FLAKE_TIME_RANGE && /* no ID yet, or the clock is past the layout's end */
        (flake_i_is_fresh(e, time, count) ||
         (!time && count == e->unit_capacity) || /* unit 0 is exhausted for a gate */
         flake_i_exact_ns(&e->clock) >= (int64_t)flake_i_start_ns(e, e->max_time + 1)))
        return status;
    for (;;) {
        flake_i_decode(e, FLAKE_ATOMIC_LOAD(&e->word, relaxed), &time, &count);
        const uint64_t unit = time + count / e->unit_capacity;
        if (unit > e->max_time) return FLAKE_TIME_RANGE;
        status = flake_i_draw(e, FLAKE_I_GIVEN, (int64_t)flake_i_start_ns(e, unit), want, out);
        if (status != FLAKE_AGAIN && status != FLAKE_NOT_EXTENDED) return status;
        /* Other threads have exhausted the unit; the second time it is the gate: wait for that. */
        if (unit == tried) status = flake_i_pass_gates(e, request, unit, &budget_ns);
        if (unit == tried && status != FLAKE_OK) return status;
        tried = unit;
    }
}

/* If the ticket's lane is exhausted, a lane that is ahead of the clock continues in its place. */
FLAKE_I_COLD flake_status flake_i_continue(flake_gen *g, unsigned request, flake_status status, uint64_t want,
                                           flake_i_ticket *out) {
    flake_lane *from = out->from;
    for (size_t i = 0; from && i < g->lanes.n && status == FLAKE_AGAIN; i++) {
        flake_lane *const lane = flake_i_lane(&g->lanes, i);
        if (!flake_i_backstep_available(g, &lane->engine)) continue;
        from = lane;
        status = FLAKE_CLOCK_BACKWARDS;
    }
    status = flake_i_continue_in(from ? &from->engine : &g->engine, request, status, want, out);
    out->from = from;
    if (from && status == FLAKE_OK) out->index += from->first;
    return status;
}

/* Zeroes the output of a failed draw. */
FLAKE_I_COLD flake_status flake_i_no_id(flake_status status, void *id, size_t size) {
    memset(id, 0, size);
    return status;
}

/* ---- draws ----
 *
 * A draw of one ID tries three rows, and each row has three columns:
 *
 *                        engine         ticket          ID
 *     inlined            draw_fast      ticket_fast     id_fast       a ticket of the word's unit
 *     first of a unit    draw_first     ticket_first    id_first      ... of a later one, without queue or gate
 *     the rest           draw_slow      ticket_slow     id_slow       waits, gates, backward steps, errors
 *
 * An engine draws from one word. A ticket is of the generator's engine, or of a lane's; ticket_slow is for lanes alone,
 * and draw_slow takes its place without them. An ID is formed from the ticket, by sno.h in a column of its own. An ID
 * function that gets no ticket ends with a call of the next row's, and passes on what is known: `resume` (request and
 * outcome), the word, the reading, the lane. flake_i_id_by_kind chooses the constants that id_fast is compiled for.
 * flake_i_draw and flake_i_ticket_any are the three rows of a column in one call.
 */

/* FLAKE_I_LANE: of the lane in the map. */
FLAKE_I_INLINE unsigned flake_i_ticket_fast(flake_gen *g, unsigned request, uint64_t *word, int64_t *now_ns,
                                            flake_i_ticket *out) {
    *word = 0;
    out->from = NULL;
    if (!(request & FLAKE_I_LANE)) return flake_i_draw_fast(&g->engine, request, 1, word, now_ns, out);
    if (!FLAKE_I_LIKELY(flake_i_lanes_own(&g->lanes, &out->from))) return FLAKE_I_LOST;
    const unsigned outcome = flake_i_draw_fast(&out->from->engine, FLAKE_I_LANE, 1, word, now_ns, out);
    if (FLAKE_I_LIKELY(!outcome)) out->index += out->from->first;
    return outcome;
}

FLAKE_I_INLINE bool flake_i_ticket_first(flake_gen *g, unsigned resume, uint64_t *word, int64_t now_ns,
                                         flake_i_ticket *out) {
    flake_i_engine *const e = out->from ? &out->from->engine : &g->engine;
    const bool is_bound = (resume & FLAKE_I_BOUND) != 0;
    if (flake_i_is_copy(&g->engine) || !flake_i_draw_first(e, resume, is_bound, word, now_ns, out)) return false;
    if (out->from) out->index = out->from->first;
    return true;
}

/* For any kind. The tickets may be of several units. */
FLAKE_I_INLINE flake_status flake_i_ticket_any(flake_gen *g, unsigned request, int64_t now_ns, uint64_t want,
                                               flake_i_ticket *out) {
    uint64_t word = 0;
    out->from = NULL;
    if (flake_i_has_lanes(g)) {
        unsigned outcome = FLAKE_I_LOST;
        if (flake_i_lanes_own(&g->lanes, &out->from))
            outcome = flake_i_draw_any(&out->from->engine, FLAKE_I_LANE, want, &word, &now_ns, out);
        if (outcome) return flake_i_ticket_slow(&g->lanes, request | outcome, word, now_ns, want, out);
        out->index += out->from->first;
        return FLAKE_OK;
    }
    if ((g->kind & FLAKE_I_WAY) == FLAKE_I_SINGLE) request |= FLAKE_I_OWNED;
    const unsigned outcome = flake_i_draw_any(&g->engine, request, want, &word, &now_ns, out);
    const unsigned resume = request | outcome;
    if (!outcome || (want == 1 && flake_i_ticket_first(g, resume, &word, now_ns, out))) return FLAKE_OK;
    return flake_i_draw_slow(&g->engine, resume, word, now_ns, want, out);
}

FLAKE_I_COLD flake_status flake_i_id_slow(flake_gen *g, unsigned resume, uint64_t word, int64_t now_ns,
                                          flake_lane *from, uint64_t *id) {
    flake_i_ticket ticket;
    ticket.from = from;
    const flake_status status = resume & FLAKE_I_LANE ? flake_i_ticket_slow(&g->lanes, resume, word, now_ns, 1, &ticket)
                                                      : flake_i_draw_slow(&g->engine, resume, word, now_ns, 1, &ticket);
    if (status != FLAKE_OK) return flake_i_no_id(status, id, sizeof *id);
    flake_i_put_id(g, false, ticket.time, ticket.index, id);
    return FLAKE_OK;
}

FLAKE_I_COLD flake_status flake_i_id128_slow(flake_gen *g, unsigned resume, uint64_t word, int64_t now_ns,
                                             flake_lane *from, flake128 *id) {
    flake_i_ticket ticket;
    ticket.from = from;
    flake_status status = resume & FLAKE_I_LANE ? flake_i_ticket_slow(&g->lanes, resume, word, now_ns, 1, &ticket)
                                                : flake_i_draw_slow(&g->engine, resume, word, now_ns, 1, &ticket);
    if (status != FLAKE_OK && g->has_counter) status = flake_i_continue(g, resume, status, 1, &ticket);
    if (status != FLAKE_OK) return flake_i_no_id(status, id, sizeof *id);
    flake_i_put_id(g, true, ticket.time, ticket.index, id);
    return FLAKE_OK;
}

/* Not for FLAKE_I_BOUND, so without a test for it. */
FLAKE_I_NOINLINE flake_status flake_i_id_first(flake_gen *g, unsigned resume, uint64_t word, int64_t now_ns,
                                               flake_lane *from, uint64_t *id) {
    flake_i_ticket ticket;
    ticket.from = from;
    if (!flake_i_ticket_first(g, resume & ~(unsigned)FLAKE_I_BOUND, &word, now_ns, &ticket))
        return flake_i_id_slow(g, resume, word, now_ns, from, id);
    flake_i_put_id(g, false, ticket.time, ticket.index, id);
    return FLAKE_OK;
}

FLAKE_I_NOINLINE flake_status flake_i_id128_first(flake_gen *g, unsigned resume, uint64_t word, int64_t now_ns,
                                                  flake_lane *from, flake128 *id) {
    flake_i_ticket ticket;
    ticket.from = from;
    if (!flake_i_ticket_first(g, resume, &word, now_ns, &ticket))
        return flake_i_id128_slow(g, resume, word, now_ns, from, id);
    flake_i_put_id(g, true, ticket.time, ticket.index, id);
    return FLAKE_OK;
}

/* Moves those of the first unit from the tickets to `unit`. */
FLAKE_I_FN void flake_i_cut(const flake_gen *g, flake_i_ticket *rest, flake_i_ticket *unit) {
    const uint64_t first = rest->from ? rest->from->first : 0;
    const uint64_t unit_capacity = rest->from ? rest->from->engine.unit_capacity : g->engine.unit_capacity;
    *unit = *rest;
    unit->n = flake_i_min_u64(rest->n, first + unit_capacity - rest->index);
    rest->n -= unit->n;
    rest->index = first;
    rest->time++;
}

/* A draw without a fast path of its own. */
FLAKE_I_NOINLINE flake_status flake_i_id_unusual(flake_gen *g, unsigned request, int64_t now_ns, uint64_t *id) {
    flake_i_ticket ticket;
    flake_status status = FLAKE_INVALID;
    if (g->kind & FLAKE_I_UNUSUAL_64 && !(flake_i_has_lanes(g) && (request & FLAKE_I_GIVEN)))
        status = flake_i_ticket_any(g, request, now_ns, 1, &ticket);
    if (status != FLAKE_OK) return flake_i_no_id(status, id, sizeof *id);
    return flake_i_put_unusual_id(g, ticket.time, ticket.index, id);
}

FLAKE_I_INLINE flake_status flake_i_id_fast(flake_gen *g, unsigned request, bool is_128, int64_t now_ns, void *id) {
    flake_i_ticket ticket;
    uint64_t word;
    const unsigned outcome = flake_i_ticket_fast(g, request, &word, &now_ns, &ticket), resume = request | outcome;
    if (FLAKE_I_LIKELY(!outcome)) {
        flake_i_put_id(g, is_128, ticket.time, ticket.index, id);
        return FLAKE_OK;
    }
    if (is_128) return flake_i_id128_first(g, resume, word, now_ns, ticket.from, (flake128 *)id);
    if (!(request & FLAKE_I_BOUND)) return flake_i_id_first(g, resume, word, now_ns, ticket.from, (uint64_t *)id);
    if (!flake_i_ticket_first(g, resume, &word, now_ns, &ticket))
        return flake_i_id_slow(g, resume, word, now_ns, NULL, (uint64_t *)id);
    flake_i_put_id(g, is_128, ticket.time, ticket.index, id);
    return FLAKE_OK;
}

FLAKE_I_INLINE flake_status flake_i_id_by_kind(flake_gen *g, unsigned request, int64_t given_ns, uint64_t *id) {
    const int kind = (int8_t)g->kind, usual = FLAKE_I_MULTI | FLAKE_I_PLAIN;
    if (FLAKE_I_LIKELY(kind == usual)) return flake_i_id_fast(g, request, false, given_ns, id);
    if (kind > usual) return flake_i_id_fast(g, request | FLAKE_I_OWNED, false, given_ns, id);
    if (kind == (FLAKE_I_LANES | FLAKE_I_PLAIN) && !(request & FLAKE_I_GIVEN))
        return flake_i_id_fast(g, request | FLAKE_I_LANE, false, 0, id);
    return flake_i_id_unusual(g, request, given_ns, id);
}

/* In separate functions, so that each fast path needs few registers. */
FLAKE_I_NOINLINE flake_status flake_i_id128_single(flake_gen *g, unsigned request, int64_t given_ns, flake128 *id) {
    if (g->kind != (FLAKE_I_SINGLE | FLAKE_I_128)) return flake_i_no_id(FLAKE_INVALID, id, sizeof *id);
    return flake_i_id_fast(g, request | FLAKE_I_OWNED, true, given_ns, id);
}

FLAKE_I_NOINLINE flake_status flake_i_id128_multi(flake_gen *g, unsigned request, int64_t given_ns, flake128 *id) {
    return g->kind == (FLAKE_I_MULTI | FLAKE_I_128) ? flake_i_id_fast(g, request, true, given_ns, id)
                                                    : flake_i_id128_single(g, request, given_ns, id);
}

FLAKE_I_NOINLINE flake_status flake_i_id128_lanes(flake_gen *g, unsigned request, flake128 *id) {
    return flake_i_id_fast(g, request | FLAKE_I_LANE, true, 0, id);
}

FLAKE_I_INLINE flake_status flake_i_id128_by_kind(flake_gen *g, unsigned request, int64_t given_ns, flake128 *id) {
    return g->kind == (FLAKE_I_LANES | FLAKE_I_128) && !(request & FLAKE_I_GIVEN)
               ? flake_i_id128_lanes(g, request, id)
               : flake_i_id128_multi(g, request, given_ns, id);
}

/* Generates up to n IDs; *done is their number, also on failure. */
FLAKE_I_FN flake_status flake_i_many(flake_gen *g, unsigned request, bool is_128, void *ids, size_t n, size_t *done) {
    *done = 0;
    if (!flake_i_is_whole(g) || ((g->kind & FLAKE_I_128) != 0) != is_128) return FLAKE_INVALID;
    while (*done < n) {
        flake_i_ticket rest, unit;
        flake_status status = flake_i_ticket_any(g, request, 0, n - *done, &rest);
        if (status != FLAKE_OK && g->has_counter) status = flake_i_continue(g, request, status, n - *done, &rest);
        if (status != FLAKE_OK) return status;
        for (; rest.n; *done += (size_t)unit.n) {
            flake_i_cut(g, &rest, &unit);
            if (is_128) flake_i_fill128(g, &unit, (flake128 *)ids + *done);
            else flake_i_fill(g, &unit, (uint64_t *)ids + *done);
        }
    }
    return FLAKE_OK;
}

FLAKE_I_FN flake_status flake_i_all(flake_gen *g, bool is_128, void *ids, size_t n) {
    const size_t size = is_128 ? sizeof(flake128) : sizeof(uint64_t);
    size_t done;
    const flake_status status = flake_i_many(g, FLAKE_I_WAIT, is_128, ids, n, &done);
    if (done < n) memset((uint8_t *)ids + done * size, 0, (n - done) * size);
    return status;
}

FLAKE_I_FN flake_status flake_i_some(flake_gen *g, bool is_128, void *ids, size_t n, size_t *got) {
    const flake_status status = flake_i_many(g, 0, is_128, ids, n, got);
    return *got ? FLAKE_OK : status;
}

/* Unix ms to ns; false: too late for an int64_t. Times too early are all equally old. */
FLAKE_I_INLINE bool flake_i_given_ns(int64_t unix_ms, int64_t *ns) {
#if defined(__GNUC__)
    if (FLAKE_I_LIKELY(!__builtin_mul_overflow(unix_ms, FLAKE_I_NS_PER_MS, ns))) return true;
#else
    const int64_t most = INT64_MAX / FLAKE_I_NS_PER_MS;
    *ns = (int64_t)((uint64_t)unix_ms * FLAKE_I_NS_PER_MS);
    if (unix_ms <= most && unix_ms >= -most) return true;
#endif
    *ns = INT64_MIN;
    return unix_ms < 0;
}

FLAKE_API flake_status flake_next(flake_gen *g, uint64_t *id) { return flake_i_id_by_kind(g, FLAKE_I_WAIT, 0, id); }

FLAKE_API flake_status flake_try(flake_gen *g, uint64_t *id) { return flake_i_id_by_kind(g, 0, 0, id); }

FLAKE_API flake_status flake_next_n(flake_gen *g, uint64_t *ids, size_t n) { return flake_i_all(g, false, ids, n); }

FLAKE_API flake_status flake_try_n(flake_gen *g, uint64_t *ids, size_t n, size_t *got) {
    return flake_i_some(g, false, ids, n, got);
}

FLAKE_API flake_status flake_try_at(flake_gen *g, int64_t unix_ms, uint64_t *id) {
    int64_t ns;
    if (!flake_i_given_ns(unix_ms, &ns)) return flake_i_no_id(FLAKE_TIME_RANGE, id, sizeof *id);
    return flake_i_id_by_kind(g, FLAKE_I_GIVEN | FLAKE_I_BOUND, ns, id);
}

FLAKE_API flake_status flake128_next(flake_gen *g, flake128 *id) {
    return flake_i_id128_by_kind(g, FLAKE_I_WAIT, 0, id);
}

FLAKE_API flake_status flake128_try(flake_gen *g, flake128 *id) { return flake_i_id128_by_kind(g, 0, 0, id); }

FLAKE_API flake_status flake128_next_n(flake_gen *g, flake128 *ids, size_t n) { return flake_i_all(g, true, ids, n); }

FLAKE_API flake_status flake128_try_n(flake_gen *g, flake128 *ids, size_t n, size_t *got) {
    return flake_i_some(g, true, ids, n, got);
}

FLAKE_API flake_status flake128_try_at(flake_gen *g, int64_t unix_ms, flake128 *id) {
    int64_t ns;
    if (!flake_i_given_ns(unix_ms, &ns)) return flake_i_no_id(FLAKE_TIME_RANGE, id, sizeof *id);
    return flake_i_id128_by_kind(g, FLAKE_I_GIVEN | FLAKE_I_BOUND, ns, id);
}

// >>directory
/*
 * A generator's number in a directory is a locked file, DIR/NUMBER.slot.
 *
 *     byte 0   "idstate\n"        8  version, 4 bytes: 3        512, 4608   records
 *
 *     record   0  number, from 1       8  horizon, ns        16  written at, ns
 *             24  run, 16 bytes       40  'n', zeros         72  node, zeros
 *            104  holder's pid       112  claimed at, ns    120  FNV-1a of the 120 bytes before
 *
 * All numbers are big-endian. A file of version 2 is read, and keeps that version; its records have zeros at 104
 * until they are replaced. Each write replaces the older record by the next one. The complete record with the
 * highest number counts; one that was cut short was never published.
 *
 * A claim begins in an init (flake_i_claim_number) with a first horizon on disk, and ends in a close
 * (flake_i_claim_close), or when its process dies. Others only drop what they inherited (flake_i_claim_drop). In
 * between, the first draw of each unit asks flake_i_admit (from flake_i_pass_gates) for its unit. If the horizon is
 * near, that moves it (flake_i_move_horizon), which writes the file (flake_i_write_record).
 *
 * LOCK      A claim is a lock on the file itself. The lock belongs to an open file description, so it conflicts
 *           within a process too, for every copy of the header and every name of the file, and ends with its holder
 *           in any case. A forked child inherits it: the number remains taken until the child, too, has ended or
 *           dropped it. Only the holder writes, and in place: a rename would leave the lock with the old file.
 * HORIZON   A time a few seconds ahead of all IDs generated. It is moved long before draws reach it; a draw that
 *           would pass it waits until a new one is on disk. So after a crash or a power cut the next holder
 *           generates only IDs after the file's horizon. One thread at a time is the writer (TURN:A, TURN:R), which
 *           alone moves the horizon. It publishes one after the file is synced (DISK:R, read by DISK:A), so the
 *           file is never before horizon_ns, and no draw is admitted past that.
 * CLOSE     The closing thread becomes the writer for good, stores CLOSED, and then reads admitted_ns. A draw raises
 *           admitted_ns, or sees it raised, and then reads the horizon. All four are sequentially consistent
 *           (SHUT:S, ASK:S), so one of the two threads sees the other: the last record covers each ID that a late
 *           draw returns. (A weaker load of admitted_ns might come after that of the horizon; acquire is not enough
 *           in C++20.) A closed claim admits nothing.
 * TAKE-OVER A claim in shared memory outlives its holder. The process that gets the lock continues the run: it becomes
 *           the writer, whichever thread of the dead holder was it, and stores itself as the holder when the file is
 *           its own (HOLD:R). Extend and close compare the holder first (HOLD:A).
 * LAST      Before each write the writer reads both records. The one that counts must be `last`, byte for byte, or
 *           what a failed write of this run has left after it, and the file must have a name. Otherwise another
 *           program has changed or removed the file, or the descriptor belongs to another object by now, and the
 *           claim is lost: nothing is written any more, and the horizon becomes LOST, which admits nothing. It is
 *           relaxed: LOST carries nothing, and a draw that reads the earlier horizon is admitted before the loss.
 * REWRITE   After a failed sync the kernel may keep a record in its cache that is not on disk, and no later sync
 *           writes it. So a holder that continues from a record writes that record again, byte for byte, and syncs
 *           it, before it writes the next one over the record before.
 */
#define FLAKE_I_CLOSED      ((uint64_t)INT64_MIN)
#define FLAKE_I_LOST_CLAIM  ((uint64_t)INT64_MIN + 1)
/* The longest time from a write to its horizon: those three below, and a day. */
#define FLAKE_I_FARTHEST_NS ((int64_t)4 * FLAKE_I_DAY_MS * FLAKE_I_NS_PER_MS)
enum {
    FLAKE_I_DAY_MS = 86400000,           /* the longest horizon_ms, max_ahead_ms and unit */
    FLAKE_I_LONGEST_STEP_NS = 1000000000 /* a clock that stands still longer does not run */
};

FLAKE_I_FN flake_status flake_i_say_closed(flake_why *why) {
    return flake_i_say(why, FLAKE_CLOSED, "generator", "is closed");
}

/* Whether this process called init or flake_take_over. */
FLAKE_I_FN bool flake_i_is_holder(const flake_i_claim *c) {
    return FLAKE_ATOMIC_LOAD(&c->holder, acquire) == flake_i_process_owner_id(); /* HOLD:A */
}

/* Why the claim admits nothing any more; FLAKE_OK: it may. */
FLAKE_I_FN flake_status flake_i_horizon_status(int64_t horizon_ns) {
    if ((uint64_t)horizon_ns == FLAKE_I_CLOSED) return FLAKE_CLOSED;
    return (uint64_t)horizon_ns == FLAKE_I_LOST_CLAIM ? FLAKE_MISMATCH : FLAKE_OK;
}

FLAKE_I_FN bool flake_i_must_extend(const flake_i_claim *c, int64_t until_ns) {
    const int64_t horizon_ns = (int64_t)FLAKE_ATOMIC_LOAD(&c->horizon_ns, relaxed);
    return c->manual_extend && until_ns > horizon_ns && flake_i_horizon_status(horizon_ns) == FLAKE_OK;
}

/* The time that the IDs of an init must be later than: that of the file's horizon (INT64_MIN: none), after_unix_ms,
 * and the end of this unit, which a predecessor may have used. Call it with the claim: a predecessor has drawn until
 * then. Waits for the first two, and for a unit that is longer than a draw would wait. */
FLAKE_I_FN flake_status flake_i_await_start(flake_i_engine_config *config, int64_t horizon_ns, const char *subject,
                                            flake_why *why) {
    const flake_options *const o = &config->options;
    const int64_t unit_ns = (int64_t)config->unit_ms * FLAKE_I_NS_PER_MS;
    const int64_t epoch_ns = config->epoch_ms * FLAKE_I_NS_PER_MS;
    int64_t now_ns = INT64_MIN, past_ns = horizon_ns, still_ns = 0; /* slept since the clock's last step */
    /* draws were admitted in whole units: none in the one that contains the horizon, unless it ends there */
    if (past_ns >= epoch_ns) past_ns -= (int64_t)(((uint64_t)past_ns - (uint64_t)epoch_ns + 1) % (uint64_t)unit_ns);
    if (o->after_unix_ms) past_ns = flake_i_max_i64(past_ns, o->after_unix_ms * FLAKE_I_NS_PER_MS);
    if (!o->start_this_unit || past_ns > INT64_MIN) now_ns = flake_i_exact_ns(&o->clock);
    config->floor_ns = o->start_this_unit ? past_ns : flake_i_max_i64(past_ns, now_ns);
    if (!o->start_this_unit && config->floor_ns >= epoch_ns && config->unit_ms > o->max_wait_ms &&
        config->unit_ms > o->max_ahead_ms)
        past_ns = flake_i_add_saturated(
            config->floor_ns,
            unit_ns - 1 - (int64_t)(((uint64_t)config->floor_ns - (uint64_t)epoch_ns) % (uint64_t)unit_ns));
    while (past_ns > INT64_MIN && now_ns <= past_ns && !o->no_wait) {
        const int64_t before_ns = now_ns;
        const int64_t left_ns = flake_i_add_saturated(flake_i_ns_until(past_ns, now_ns), 1);
        const int64_t nap_ns = still_ns ? flake_i_max_i64(left_ns, FLAKE_I_NS_PER_MS) : left_ns;
        FLAKE_SLEEP_NS(nap_ns);
        now_ns = flake_i_exact_ns(&o->clock);
        still_ns = now_ns > before_ns ? 0 : flake_i_add_saturated(nap_ns, still_ns);
        if (now_ns < before_ns || still_ns > FLAKE_I_LONGEST_STEP_NS)
            return flake_i_say(why, FLAKE_CLOCK_BACKWARDS, subject, "the clock went backwards, or stands still");
    }
    return FLAKE_OK;
}

#if FLAKE_I_HAS_FILES
/* FLAKE_IO, with the system's error text. */
FLAKE_I_FN flake_status flake_i_say_errno(flake_why *why, const char *path, const char *what) {
    flake_i_put_why(why, path, what, flake_i_error_text());
    return FLAKE_IO;
}

/* ---- records ---- */

#define FLAKE_I_MAGIC "idstate\n"
enum { FLAKE_I_VERSION = 3, FLAKE_I_NUMBER_KIND = 'n' };

FLAKE_I_FN int64_t flake_i_record_at(uint64_t number) {
    return FLAKE_I_FIRST_RECORD + (int64_t)(number & 1) * FLAKE_I_RECORD_STRIDE;
}

FLAKE_I_FN void flake_i_record_put(const flake_i_record *r, uint8_t out[FLAKE_I_RECORD]) {
    memset(out, 0, FLAKE_I_RECORD);
    flake_i_put64(out, r->number);
    flake_i_put64(out + 8, (uint64_t)r->horizon_ns);
    flake_i_put64(out + 16, (uint64_t)r->written_ns);
    memcpy(out + 24, r->run, FLAKE_I_RUN);
    out[40] = FLAKE_I_NUMBER_KIND;
    flake_i_put64(out + 72, r->node);
    flake_i_put64(out + 104, r->pid);
    flake_i_put64(out + 112, (uint64_t)r->claimed_ns);
    flake_i_put64(out + 120, flake_i_fnv(out, 120));
}

/* FLAKE_CORRUPT: damaged, or never written. FLAKE_MISMATCH: not of a number in a directory. */
FLAKE_I_FN flake_status flake_i_record_get(const uint8_t *in, flake_i_record *r) {
    if (flake_i_get64(in + 120) != flake_i_fnv(in, 120)) return FLAKE_CORRUPT;
    r->number = flake_i_get64(in);
    r->horizon_ns = (int64_t)flake_i_get64(in + 8);
    r->written_ns = (int64_t)flake_i_get64(in + 16);
    memcpy(r->run, in + 24, FLAKE_I_RUN);
    r->node = flake_i_get64(in + 72);
    r->pid = flake_i_get64(in + 104);
    r->claimed_ns = (int64_t)flake_i_get64(in + 112);
    if (in[40] != FLAKE_I_NUMBER_KIND) return FLAKE_MISMATCH;
    return !r->number || r->horizon_ns < r->written_ns ? FLAKE_CORRUPT : FLAKE_OK;
}

/* From the first n bytes of a file: the record that counts. FLAKE_MISMATCH: no slot, or of another version. */
FLAKE_I_FN flake_status flake_i_slot_get(const uint8_t *in, size_t n, flake_i_record *r) {
    if (memcmp(in, FLAKE_I_MAGIC, n < 8 ? n : 8) != 0) return FLAKE_MISMATCH;
    if (n < FLAKE_I_RECORD) return FLAKE_CORRUPT;
    const uint64_t version = flake_i_get64(in + 8) >> 32;
    if (version != FLAKE_I_VERSION && version != 2) return FLAKE_MISMATCH;
    memset(r, 0, sizeof *r);
    for (uint64_t i = 0; i < 2 && n == FLAKE_I_FILE; i++) {
        flake_i_record found;
        const flake_status status = flake_i_record_get(in + flake_i_record_at(i), &found);
        if (status == FLAKE_MISMATCH) return status;
        if (status == FLAKE_OK && found.number >= r->number) *r = found;
    }
    return r->number ? FLAKE_OK : FLAKE_CORRUPT;
}

/* ---- files ---- */

FLAKE_I_FN bool flake_i_file_is(const flake_i_file *f, const flake_i_file_id *id) {
    return f->device == id->device && f->inode == id->inode;
}

/* Whether the descriptor is still the file: the program may have closed it, and opened another. */
FLAKE_I_FN bool flake_i_file_is_open(const flake_i_file *f) {
    flake_i_file_id id;
    return f->fd >= 0 && flake_i_stat(NULL, f->fd, &id) && flake_i_file_is(f, &id);
}

/* In a forked child the lock remains the parent's. */
FLAKE_I_FN void flake_i_file_drop(flake_i_file *f, bool is_inherited) {
    if (flake_i_file_is_open(f)) {
        if (!is_inherited) (void)flake_i_lock(f->fd, false); /* children have it, too */
        flake_i_close(f->fd);
    }
    f->fd = -1;
}

/* Opens and locks a file of this user with one name. FLAKE_IN_USE, FLAKE_MISMATCH; FLAKE_IO with an error. */
FLAKE_I_FN flake_status flake_i_file_open(flake_i_file *f, const char *path, int how) {
    for (int tries = 0; tries < 100; tries++) {
        flake_i_file_id opened, named;
        f->fd = flake_i_open(path, how);
        if (f->fd < 0) return flake_i_is_foreign(path) ? FLAKE_MISMATCH : FLAKE_IO;
        flake_status status = FLAKE_IO;
        if (flake_i_stat(NULL, f->fd, &opened)) {
            f->device = opened.device;
            f->inode = opened.inode;
            if (!opened.is_own || (opened.is_there && !opened.is_once)) status = FLAKE_MISMATCH;
            else if (flake_i_lock(f->fd, true) == 0) status = FLAKE_OK;
            else if (flake_i_error_is_taken_or_denied()) status = FLAKE_IN_USE;
        }
        /* before it was locked, another process may have removed it */
        if (status == FLAKE_OK && flake_i_stat(path, -1, &named) && flake_i_file_is(f, &named)) return FLAKE_OK;
        /* a child that another thread forks now would have the lock, too */
        if (status == FLAKE_OK) (void)flake_i_lock(f->fd, false);
        flake_i_close(f->fd);
        f->fd = -1;
        if (status != FLAKE_OK) return status;
    }
    return FLAKE_IN_USE; /* each time the path had another file by then */
}

/* A new name is durable, and so is the directory's, which may be as new. A parent that cannot be opened is not this
 * process's to sync. */
FLAKE_I_FN bool flake_i_sync_names(const char *path) {
    char dir[FLAKE_I_PATH];
    memcpy(dir, path, strlen(path) + 1);
    for (unsigned i = 0; i < 2; i++) {
        char *const slash = strrchr(dir, '/');
        if (!slash) break; /* the root */
        slash[1] = 0;
        if (!flake_i_sync_dir(dir) && !(i && flake_i_error_is_taken_or_denied())) return false;
        *slash = 0;
    }
    return true;
}

/* ---- writes ---- */

FLAKE_I_FN void flake_i_record_next(const flake_i_claim *c, int64_t horizon_ns, uint8_t out[FLAKE_I_RECORD]) {
    flake_i_record r = c->own;
    r.number++;
    r.horizon_ns = horizon_ns;
    if (r.written_ns > horizon_ns) r.written_ns = horizon_ns;
    flake_i_record_put(&r, out);
}

/* LAST. FLAKE_MISMATCH: they differ, or the file has no name, or ends before a record. FLAKE_IO: unknown. */
FLAKE_I_FN flake_status flake_i_compare_last(flake_i_claim *c) {
    uint8_t found[FLAKE_I_RECORD];
    flake_i_record r;
    flake_i_file_id id;
    if (!flake_i_stat(NULL, c->file.fd, &id)) return flake_i_error_is_closed() ? FLAKE_MISMATCH : FLAKE_IO;
    if (!id.is_there || !flake_i_file_is(&c->file, &id)) return FLAKE_MISMATCH;
    for (uint64_t i = 0; i < 2; i++) {
        const int64_t at = flake_i_record_at(c->own.number + i);
        const int n = flake_i_read_at(c->file.fd, at, found, FLAKE_I_RECORD);
        if (n < 0) return FLAKE_IO;
        if (n < FLAKE_I_RECORD) return FLAKE_MISMATCH;
        const flake_status status = flake_i_record_get(found, &r);
        const bool is_valid = status == FLAKE_OK, is_last = memcmp(found, c->last, sizeof found) == 0;
        const bool is_older =
            status == FLAKE_CORRUPT /* never written, or cut short */ || (is_valid && r.number < c->own.number);
        const bool is_tried = is_valid && r.number == c->own.number + 1 && memcmp(r.run, c->own.run, FLAKE_I_RUN) == 0;
        if (i ? !(is_older || is_tried) : !is_last) return FLAKE_MISMATCH;
    }
    return FLAKE_OK;
}

/* LAST. A failed read proves nothing. Caller must be the writer. */
FLAKE_I_FN bool flake_i_verify_last(flake_i_claim *c) {
    const flake_status status = flake_i_compare_last(c);
    if (status == FLAKE_MISMATCH) c->is_lost = true;
    if (c->is_lost && FLAKE_ATOMIC_LOAD(&c->horizon_ns, relaxed) != FLAKE_I_CLOSED)
        FLAKE_ATOMIC_STORE(&c->horizon_ns, FLAKE_I_LOST_CLAIM, relaxed);
    return status == FLAKE_OK && !c->is_lost;
}

/* True: the horizon is on disk. Caller must be the writer. */
FLAKE_I_FN bool flake_i_write_record(flake_i_claim *c, int64_t horizon_ns, int64_t now_ns) {
    uint8_t record[FLAKE_I_RECORD];
    if (!flake_i_verify_last(c)) return false;
    if (c->own.written_ns < now_ns) c->own.written_ns = now_ns;
    flake_i_record_next(c, horizon_ns, record);
    const int64_t at = flake_i_record_at(c->own.number + 1);
    if (!flake_i_write_at(c->file.fd, at, record, sizeof record) || flake_i_fdatasync(c->file.fd) != 0) return false;
    c->own.number++;
    memcpy(c->last, record, sizeof record);
    return true;
}

/* REWRITE. If the program has closed the descriptor of another object, that one may have written meanwhile. */
FLAKE_I_FN bool flake_i_rewrite_record(flake_i_claim *c, const flake_i_record *r) {
    c->own.number = r->number;
    flake_i_record_put(r, c->last);
    return flake_i_verify_last(c) &&
           flake_i_write_at(c->file.fd, flake_i_record_at(c->own.number), c->last, sizeof c->last) &&
           flake_i_fdatasync(c->file.fd) == 0;
}

FLAKE_I_FN flake_status flake_i_say_unwritten(const flake_i_claim *c, flake_why *why) {
    return c->is_lost
               ? flake_i_say(why, FLAKE_MISMATCH, c->path, "was changed, removed or closed while the generator used it")
               : flake_i_say_errno(why, c->path, ": cannot be written: ");
}

/* Moves the horizon to lead_ns after until_ns, but not past FLAKE_I_FARTHEST_NS: a ticket that a caller queues for
 * may be later, and waits. Caller must be the writer. */
FLAKE_I_FN bool flake_i_move_horizon(flake_i_claim *c, int64_t until_ns) {
    const int64_t last_ns = (int64_t)FLAKE_ATOMIC_LOAD(&c->horizon_ns, relaxed);
    int64_t horizon_ns = flake_i_add_saturated(until_ns, c->lead_ns);
    if (horizon_ns <= last_ns) return true;
    const int64_t now_ns = flake_i_exact_ns(&c->clock);
    const int64_t farthest_ns = flake_i_add_saturated(flake_i_max_i64(now_ns, c->own.written_ns), FLAKE_I_FARTHEST_NS);
    if (horizon_ns > farthest_ns) {
        horizon_ns = farthest_ns;
        if (horizon_ns < last_ns + c->lead_ns / 2) return true; /* it is asked for each ms */
    }
    const bool written = flake_i_write_record(c, horizon_ns, now_ns);
    const int64_t retry_ns = written ? INT64_MIN : flake_i_add_saturated(until_ns, c->lead_ns / 16);
    FLAKE_ATOMIC_STORE(&c->retry_from_ns, (uint64_t)retry_ns, relaxed);
    /* after the sync: a draw that reads it returns an ID that the file covers */
    if (written) FLAKE_ATOMIC_STORE(&c->horizon_ns, (uint64_t)horizon_ns, release); /* DISK:R */
    return written;
}

/* False: there is a writer already, or the claim is closed. */
FLAKE_I_FN bool flake_i_try_lock_writer(flake_i_claim *c) {
    uint64_t seen = 0;
    return FLAKE_ATOMIC_CAS(&c->writer, &seen, flake_i_thread_id(), acquire, relaxed); /* TURN:A */
}

/* Whether this thread is the writer: in a signal handler, which has interrupted the write. */
FLAKE_I_FN bool flake_i_is_writer(const flake_i_claim *c) {
    return FLAKE_ATOMIC_LOAD(&c->writer, relaxed) == flake_i_thread_id();
}

FLAKE_I_FN void flake_i_unlock_writer(flake_i_claim *c) { FLAKE_ATOMIC_STORE(&c->writer, 0u, release); /* TURN:R */ }

/* ---- draws ---- */

FLAKE_I_FN flake_status flake_i_admit(flake_i_claim *c, int64_t until_ns, bool *pointless) {
    bool is_written = true;                                          /* or there is a writer */
    uint64_t admitted = FLAKE_ATOMIC_LOAD(&c->admitted_ns, seq_cst); /* ASK:S */
    while ((int64_t)admitted < until_ns &&
           !FLAKE_ATOMIC_CAS(&c->admitted_ns, &admitted, (uint64_t)until_ns, seq_cst, seq_cst)) { /* ASK:S */
    }
    /* after admitted_ns: either close sees that, or this sees CLOSED */
    int64_t horizon_ns = (int64_t)FLAKE_ATOMIC_LOAD(&c->horizon_ns, seq_cst); /* DISK:A, ASK:S */
    flake_status status = flake_i_horizon_status(horizon_ns);
    if (status != FLAKE_OK) return status;
    const bool is_due = until_ns > horizon_ns || (flake_i_ns_until(horizon_ns, until_ns) < c->lead_ns / 2 &&
                                                  until_ns >= (int64_t)FLAKE_ATOMIC_LOAD(&c->retry_from_ns, relaxed));
    if (is_due && !c->manual_extend) {
        const flake_i_cancel_guard guard = flake_i_cancel_guard_begin();
        if (flake_i_try_lock_writer(c)) {
            is_written = flake_i_move_horizon(c, until_ns);
            flake_i_unlock_writer(c);
        } else *pointless = flake_i_is_writer(c);
        flake_i_cancel_guard_end(guard);
        horizon_ns = (int64_t)FLAKE_ATOMIC_LOAD(&c->horizon_ns, acquire); /* DISK:A */
    }
    if (until_ns <= horizon_ns) return FLAKE_OK;
    status = flake_i_horizon_status(horizon_ns);
    if (status != FLAKE_OK) return status;
    if (!c->manual_extend) return is_written ? FLAKE_AGAIN : FLAKE_IO;
    *pointless = flake_i_is_writer(c);
    return (int64_t)FLAKE_ATOMIC_LOAD(&c->retry_from_ns, relaxed) == INT64_MIN ? FLAKE_NOT_EXTENDED : FLAKE_IO;
}

/* ---- a number's file ---- */

enum {
    FLAKE_I_MOMENT_NS = 50000000, /* a number may be locked so long, by a scan or a failed claim */
    FLAKE_I_CLAIM_NAP_NS = 10000000,
    FLAKE_I_GAP = 1024 /* of numbers without a file: the lowest is taken first, so files are close */
};

/* Opens and locks the file of a number. */
FLAKE_I_FN flake_status flake_i_slot_lock(flake_i_file *f, const char *path, flake_why *why) {
    const flake_status status = flake_i_file_open(f, path, FLAKE_I_WRITE);
    if (status == FLAKE_IN_USE) return flake_i_say(why, status, path, "is in use, by this process or another");
    if (status == FLAKE_MISMATCH)
        return flake_i_say(why, status, path, "is a link, has several names, or is not a file of this user");
    if (status != FLAKE_IO) return status;
    return flake_i_error_is_absent() ? flake_i_say(why, status, path, "does not exist")
                                     : flake_i_say_errno(why, path, ": cannot be opened: ");
}

FLAKE_I_FN flake_status flake_i_slot_read(const flake_i_file *f, const char *path, flake_i_record *r, flake_why *why) {
    uint8_t bytes[FLAKE_I_FILE];
    const int n = flake_i_read_at(f->fd, 0, bytes, sizeof bytes);
    if (n < 0) return flake_i_say_errno(why, path, ": cannot be read: ");
    const flake_status status = flake_i_slot_get(bytes, (size_t)n, r);
    if (status == FLAKE_OK) return status;
    if (status == FLAKE_CORRUPT) return flake_i_say(why, status, path, "is cut short or damaged");
    const bool has_version = n >= 16 && memcmp(bytes, FLAKE_I_MAGIC, 8) == 0;
    const bool is_later = has_version && flake_i_get64(bytes + 8) >> 32 > FLAKE_I_VERSION;
    return flake_i_say(why, status, path,
                       is_later ? "is of a later version" : "is not of a number, or of an earlier version");
}

/* The record of a number, and whether it has a holder: for those that do not claim it, such as a list of the
 * directory. Where the system can tell, no lock is taken (flake_i_is_locked). */
FLAKE_I_FN flake_status flake_i_slot_look(const char *path, flake_i_record *r, bool *is_held, flake_why *why) {
    flake_i_file file = {0, 0, flake_i_open(path, FLAKE_I_READ)};
    if (file.fd < 0) return flake_i_say_errno(why, path, ": cannot be opened: ");
    *is_held = flake_i_is_locked(file.fd);
    const flake_status status = flake_i_slot_read(&file, path, r, why);
    flake_i_close(file.fd);
    return status;
}

/* Ends what this process has of a claim: of its own, of another process's, or, in a reinit, of one from before the
 * machine was cloned. In shared memory the claim itself is the holder's. If the program has closed the descriptor, a
 * later claim of this process may have the number and the file: then it is that one's. */
FLAKE_I_FN void flake_i_claim_drop(flake_i_claim *c, bool is_inherited, bool is_shared) {
    const flake_i_cancel_guard guard = flake_i_cancel_guard_begin();
    flake_i_file file = c->file; /* once it is unlocked, the memory may be another process's */
    flake_i_record r;
    bool is_held = true;
    if (!is_shared) c->file.fd = -1;
    /* Of what was inherited by a descriptor of its own: the inherited one would move the parent's position. The
     * holder's descriptor is read itself: the path may lead elsewhere by now, and there may be no other one left. */
    const bool has_later = flake_i_file_is_open(&file) &&
                           (is_inherited ? flake_i_slot_look(c->path, &r, &is_held, NULL)
                                         : flake_i_slot_read(&file, c->path, &r, NULL)) == FLAKE_OK &&
                           is_held && r.pid == flake_i_pid() && memcmp(r.run, c->own.run, sizeof r.run) != 0;
    if (!has_later) flake_i_file_drop(&file, is_inherited);
    flake_i_cancel_guard_end(guard);
}

/* ---- extend, close, take over ---- */

/* By its holder, from any thread. */
FLAKE_I_FN flake_status flake_i_extend(flake_i_claim *c, flake_why *why) {
    flake_status status = FLAKE_OK; /* there is a writer */
    const flake_i_cancel_guard guard = flake_i_cancel_guard_begin();
    if (flake_i_try_lock_writer(c)) {
        const int64_t admitted_ns = (int64_t)FLAKE_ATOMIC_LOAD(&c->admitted_ns, relaxed);
        if (!flake_i_move_horizon(c, flake_i_max_i64(admitted_ns, flake_i_exact_ns(&c->clock))))
            status = flake_i_say_unwritten(c, why);
        flake_i_unlock_writer(c);
    } else if (FLAKE_ATOMIC_LOAD(&c->horizon_ns, relaxed) == FLAKE_I_CLOSED) status = flake_i_say_closed(why);
    flake_i_cancel_guard_end(guard);
    return status;
}

/* By its holder. The next holder waits at most for the end of the last ID's unit. After a clone of the machine the
 * file is unchanged: it may be the other clone's, too. */
FLAKE_I_FN flake_status flake_i_claim_close(flake_i_claim *c, const flake_i_engine *e, flake_why *why) {
    flake_status status = FLAKE_OK;
    const flake_i_cancel_guard guard = flake_i_cancel_guard_begin();
    bool is_closed = false; /* by a signal handler that interrupted this call */
    while (!is_closed && !flake_i_try_lock_writer(c)) {
        FLAKE_SLEEP_NS(100000);
        is_closed = FLAKE_ATOMIC_LOAD(&c->horizon_ns, relaxed) == FLAKE_I_CLOSED;
    }
    if (!is_closed) { /* this thread remains the writer: a late draw cannot write */
        /* no ID has passed it, but tickets that callers queue for raise admitted_ns at once */
        const int64_t horizon_ns = (int64_t)FLAKE_ATOMIC_LOAD(&c->horizon_ns, relaxed);
        /* before admitted_ns is read, because a late draw that does not see it has raised that */
        FLAKE_ATOMIC_STORE(&c->horizon_ns, FLAKE_I_CLOSED, seq_cst);                      /* SHUT:S */
        const int64_t admitted_ns = (int64_t)FLAKE_ATOMIC_LOAD(&c->admitted_ns, seq_cst); /* SHUT:S */
        const int64_t now_ns = flake_i_exact_ns(&c->clock);
        const int64_t last_ns =
            flake_i_max_i64(admitted_ns < horizon_ns ? admitted_ns : horizon_ns, flake_i_passed_ns(e, now_ns));
        if (!flake_i_is_inherited(e) && !flake_i_write_record(c, last_ns, now_ns))
            status = flake_i_say_unwritten(c, why);
        flake_i_claim_drop(c, false, false);
    }
    flake_i_cancel_guard_end(guard);
    return status;
}

/* Takes the claim over from a dead holder. Its file is never created: an absent one is another run's. */
FLAKE_I_FN flake_status flake_i_claim_take_over(flake_i_claim *c, flake_why *why) {
    flake_i_file file;
    flake_i_record r;
    const flake_i_cancel_guard guard = flake_i_cancel_guard_begin();
    const int64_t begun_ns = flake_i_monotonic_ns();
    flake_status status;
    while ((status = flake_i_slot_lock(&file, c->path, why)) == FLAKE_IN_USE &&
           flake_i_monotonic_ns() - begun_ns < FLAKE_I_MOMENT_NS)
        FLAKE_SLEEP_NS(FLAKE_I_CLAIM_NAP_NS);
    if (status != FLAKE_OK) {
        flake_i_cancel_guard_end(guard);
        return status;
    }
    status = flake_i_slot_read(&file, c->path, &r, why);
    /* looked at with the lock, which a holder that closes has until the claim is CLOSED */
    if (FLAKE_ATOMIC_LOAD(&c->horizon_ns, relaxed) == FLAKE_I_CLOSED) status = flake_i_say_closed(why);
    /* the path may lead elsewhere for this process: then the holder may live */
    else if (file.device != c->file.device || file.inode != c->file.inode)
        status = flake_i_say(why, FLAKE_MISMATCH, c->path, "is not the holder's file");
    else if (status == FLAKE_OK &&
             (c->is_lost || memcmp(r.run, c->own.run, sizeof r.run) != 0 || r.number < c->own.number)) {
        c->is_lost = true;
        FLAKE_ATOMIC_STORE(&c->horizon_ns, FLAKE_I_LOST_CLAIM, relaxed);
        status = flake_i_say(why, FLAKE_MISMATCH, c->path, "is of another generator by now");
    }
    if (status == FLAKE_OK) {
        FLAKE_ATOMIC_STORE(&c->writer, flake_i_thread_id(), relaxed);
        const int dead_holders = c->file.fd;
        c->file.fd = file.fd;
        c->own.pid = flake_i_pid();
        c->own.claimed_ns = flake_i_exact_ns(&c->clock);
        c->self_address = (uintptr_t)c;
        const int64_t from_ns =
            flake_i_max_i64(c->own.claimed_ns, (int64_t)FLAKE_ATOMIC_LOAD(&c->admitted_ns, relaxed));
        if (!flake_i_rewrite_record(c, &r) || !flake_i_move_horizon(c, from_ns)) {
            status = flake_i_say_unwritten(c, why);
            c->file.fd = dead_holders;
        } else /* after the members: an extend of this process that sees it finds them, and a writer */
            FLAKE_ATOMIC_STORE(&c->holder, flake_i_process_owner_id(), release); /* HOLD:R */
        flake_i_unlock_writer(c);
    }
    if (status != FLAKE_OK) flake_i_file_drop(&file, false);
    flake_i_cancel_guard_end(guard);
    return status;
}

/* ---- claim ---- */

/* A claim that is being made. */
typedef struct flake_i_search {
    flake_i_claim *claim;
    const flake_options *options;
    flake_i_claim *inherited; /* of a reinit: its own lock must not be in the way; NULL: none */
    flake_why *why;
    size_t dir_length; /* of the claim's path */
    bool met_holder;   /* a number was in use: it is worth waiting for */
    bool lost_race;    /* one was free a moment ago */
    bool is_pointless; /* the error concerns the directory: other numbers have it, too */
    bool is_full;      /* no file can be created: only numbers that have one are left */
    int64_t now_ns;
    flake_i_record last;      /* of the file; number 0: it has no name yet, ... */
    char fresh[FLAKE_I_PATH]; /* ... but this one, until it is complete */
} flake_i_search;

/* Opens and locks a fresh file beside the path. FLAKE_IN_USE: another process creates it, or has by now. */
FLAKE_I_FN flake_status flake_i_slot_begin(flake_i_search *s) {
    flake_i_claim *const c = s->claim;
    flake_i_file_id named;
    uint8_t start[8] = {0};
    const size_t length = strlen(c->path);
    memcpy(s->fresh, c->path, length);
    memcpy(s->fresh + length, ".new", sizeof ".new");
    flake_status status = flake_i_file_open(&c->file, s->fresh, FLAKE_I_CREATE);
    if (status == FLAKE_OK) {
        const int n = flake_i_read_at(c->file.fd, 0, start, sizeof start);
        if (n < 0) status = FLAKE_IO; /* a process that died while it created the file left these: */
        else if (flake_i_get64(start) && memcmp(start, FLAKE_I_MAGIC, (size_t)n) != 0) status = FLAKE_MISMATCH;
        else if (flake_i_stat(c->path, -1, &named) || !flake_i_error_is_absent()) {
            flake_i_unlink(s->fresh);
            status = FLAKE_IN_USE;
        }
    }
    s->is_full = status == FLAKE_IO;
    if (status == FLAKE_IO) return flake_i_say_errno(s->why, c->path, ": cannot be created: ");
    if (status == FLAKE_MISMATCH)
        return flake_i_say(s->why, status, c->path,
                           "cannot be created: a foreign file has its name with .new appended");
    return status == FLAKE_OK ? status : flake_i_say(s->why, status, c->path, "is being created");
}

/* Whether a run may continue after the file's record. */
FLAKE_I_FN flake_status flake_i_slot_judge(const flake_i_search *s) {
    const flake_i_record *const r = &s->last;
    const uint64_t max_downtime_ns = (uint64_t)s->options->max_downtime_ms * FLAKE_I_NS_PER_MS;
    const char *const path = s->claim->path;
    if (r->node != s->claim->own.node) return flake_i_say(s->why, FLAKE_MISMATCH, path, "is of another number");
    if ((uint64_t)r->horizon_ns - (uint64_t)r->written_ns > (uint64_t)FLAKE_I_FARTHEST_NS)
        return flake_i_say(s->why, FLAKE_CORRUPT, path, "has a horizon days after its last write");
    if (s->now_ns < r->written_ns)
        return flake_i_say(s->why, FLAKE_CLOCK_BACKWARDS, path,
                           "is from the future: the clock went backwards since it was written");
    if (max_downtime_ns && s->now_ns > r->horizon_ns && (uint64_t)s->now_ns - (uint64_t)r->horizon_ns > max_downtime_ns)
        return flake_i_say(s->why, FLAKE_DOWNTIME, path, "is older than max_downtime_ms");
    return FLAKE_OK;
}

FLAKE_I_FN void flake_i_select_number(flake_i_search *s, uint64_t number) {
    char *const end = s->claim->path + s->dir_length;
    *end = '/';
    const size_t digits = flake_format(number, FLAKE_DEC, end + 1, FLAKE_I_ENDING);
    memcpy(end + 1 + digits, ".slot", sizeof ".slot");
    s->claim->own.node = number;
    s->now_ns = flake_i_exact_ns(&s->options->clock);
}

/* Reads the selected number's record. True: it is free, but its horizon has not passed. */
FLAKE_I_FN bool flake_i_look_ahead(flake_i_search *s) {
    bool is_held = false;
    return flake_i_slot_look(s->claim->path, &s->last, &is_held, NULL) == FLAKE_OK && !is_held &&
           s->now_ns <= s->last.horizon_ns && flake_i_slot_judge(s) == FLAKE_OK;
}

/* Locks, reads and judges the selected number's file, or begins a fresh one. */
FLAKE_I_FN flake_status flake_i_take_number(flake_i_search *s) {
    flake_i_claim *const c = s->claim;
    flake_i_file_id named;
    memset(&s->last, 0, sizeof s->last); /* a scan's look may be out of date */
    s->last.horizon_ns = INT64_MIN;
    flake_status status = flake_i_slot_lock(&c->file, c->path, s->why);
    if (status == FLAKE_IN_USE && s->inherited && flake_i_stat(c->path, -1, &named) &&
        flake_i_file_is(&s->inherited->file, &named)) { /* its parent may have ended */
        flake_i_claim_drop(s->inherited, !flake_i_is_holder(s->inherited), false);
        status = flake_i_slot_lock(&c->file, c->path, s->why);
    }
    if (status == FLAKE_IO && flake_i_error_is_absent() && !s->options->must_exist) status = flake_i_slot_begin(s);
    else if (status == FLAKE_IO)
        /* a file that may not be opened is one number's; a directory that may not be searched is all numbers' */
        s->is_pointless = !(flake_i_error_is_taken_or_denied() && flake_i_stat(c->path, -1, &named));
    else if (status == FLAKE_OK) {
        status = flake_i_slot_read(&c->file, c->path, &s->last, s->why);
        s->now_ns = flake_i_exact_ns(&s->options->clock); /* its last holder may have written just now */
        if (status == FLAKE_OK) status = flake_i_slot_judge(s);
    }
    s->met_holder |= status == FLAKE_IN_USE;
    if (status != FLAKE_OK) flake_i_file_drop(&c->file, false);
    return status;
}

/* Claims the first number whose horizon has passed, else the one with the earliest. If none is free, the first
 * unusable file is the reason. On a full disk it looks for further files, but not beyond a gap. */
FLAKE_I_FN flake_status flake_i_scan(flake_i_search *s, uint64_t first, uint64_t last) {
    flake_why *const why = s->why;
    flake_status worst = FLAKE_IN_USE;
    uint64_t earliest = first;
    int64_t earliest_ns = INT64_MAX;
    flake_i_file_id named;
    uint64_t gap = 0;
    s->met_holder = s->lost_race = false;
    for (uint64_t n = first; n <= last && !s->is_pointless && gap < FLAKE_I_GAP; n++) {
        flake_why reason = {""};
        s->why = &reason;
        flake_i_select_number(s, n);
        const bool is_left_out = s->is_full && !flake_i_stat(s->claim->path, -1, &named);
        const bool is_later = !is_left_out && first < last && flake_i_look_ahead(s);
        const flake_status status = is_left_out ? FLAKE_IO : is_later ? FLAKE_IN_USE : flake_i_take_number(s);
        s->why = why;
        if (status == FLAKE_OK) return status;
        gap = is_left_out ? gap + 1 : 0;
        if (is_later && s->last.horizon_ns < earliest_ns) {
            earliest = n;
            earliest_ns = s->last.horizon_ns;
        }
        if (worst != FLAKE_IN_USE) continue;
        worst = status;
        if (why && !is_left_out && (status != FLAKE_IN_USE || first == last)) *why = reason;
    }
    if (earliest_ns < INT64_MAX && !s->is_pointless) {
        flake_i_select_number(s, earliest);
        const flake_status status = flake_i_take_number(s);
        s->lost_race = status == FLAKE_IN_USE;
        return status;
    }
    if (worst != FLAKE_IN_USE || first == last) return worst;
    s->claim->path[s->dir_length] = 0;
    return flake_i_say(why, worst, s->claim->path, "all numbers of the range are in use");
}

/* Writes the fresh file and gives it its name, complete or not at all. It remains locked. */
FLAKE_I_FN bool flake_i_slot_create(flake_i_claim *c, const char *fresh, int64_t now_ns) {
    uint8_t bytes[FLAKE_I_FILE];
    uint8_t *const record = bytes + flake_i_record_at(1);
    const int64_t horizon_ns = flake_i_add_saturated(now_ns, c->lead_ns);
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, FLAKE_I_MAGIC, 8);
    flake_i_put64(bytes + 8, (uint64_t)FLAKE_I_VERSION << 32);
    c->own.written_ns = now_ns;
    flake_i_record_next(c, horizon_ns, record);
    /* only the process that has the fresh file's lock gives it its name */
    const bool is_named = flake_i_write_at(c->file.fd, 0, bytes, sizeof bytes) && flake_i_fsync(c->file.fd) == 0 &&
                          flake_i_rename(fresh, c->path);
    if (!is_named || !flake_i_sync_names(c->path)) {
        flake_i_unlink(is_named ? c->path : fresh);
        return false;
    }
    c->own.number = 1;
    memcpy(c->last, record, sizeof c->last);
    FLAKE_ATOMIC_STORE(&c->horizon_ns, (uint64_t)horizon_ns, relaxed);
    return true;
}

/* The first horizon of a claimed number. */
FLAKE_I_FN flake_status flake_i_claim_begin(flake_i_search *s) {
    flake_i_claim *const c = s->claim;
    const flake_options *const o = s->options;
    const int64_t last_ns = s->last.horizon_ns;
    uint64_t drawn[2] = {0, 0}; /* without random bytes: time, address and process */
    s->now_ns = flake_i_exact_ns(&o->clock);
    (void)flake_i_random_bytes(drawn, sizeof drawn);
    flake_i_put64(c->own.run, drawn[0] ^ (uint64_t)s->now_ns ^ (uint64_t)(uintptr_t)c << 24);
    flake_i_put64(c->own.run + 8, drawn[1] ^ flake_i_process_owner_id());
    c->lead_ns = o->horizon_ms * FLAKE_I_NS_PER_MS;
    c->manual_extend = o->manual_extend;
    c->clock = o->clock;
    c->own.pid = flake_i_pid();
    c->own.claimed_ns = s->now_ns;
    /* the last run's: were the clock set back by days now, the first horizon would not be before the file's */
    c->own.written_ns = s->last.number ? s->last.written_ns : INT64_MIN;
    FLAKE_ATOMIC_STORE(&c->admitted_ns, (uint64_t)last_ns, relaxed);
    FLAKE_ATOMIC_STORE(&c->horizon_ns, FLAKE_I_CLOSED, relaxed);
    FLAKE_ATOMIC_STORE(&c->retry_from_ns, (uint64_t)INT64_MIN, relaxed);
    if (!s->last.number)
        return flake_i_slot_create(c, s->fresh, s->now_ns)
                   ? FLAKE_OK
                   : flake_i_say_errno(s->why, c->path, ": cannot be created: ");
    /* not past the file's horizon or the clock's: a crash loop must not run away */
    int64_t from_ns = s->now_ns;
    if (last_ns > from_ns && flake_i_ns_until(last_ns, from_ns) > c->lead_ns) from_ns = last_ns - c->lead_ns;
    /* the process that named the file may have died before the name was on disk */
    const bool has_name = s->last.number > 1 || flake_i_sync_names(c->path);
    return has_name && flake_i_rewrite_record(c, &s->last) && flake_i_move_horizon(c, from_ns)
               ? FLAKE_OK
               : flake_i_say_unwritten(c, s->why);
}

/* The directory as an absolute path: the process may change its directory. It is made if it is missing. */
FLAKE_I_FN flake_status flake_i_open_dir(flake_i_search *s, const char *dir) {
    char *const path = s->claim->path, *end = path;
    const size_t room = FLAKE_I_PATH - FLAKE_I_ENDING, length = strlen(dir);
    if (length >= room || (*dir != '/' && !flake_i_working_dir(path, room - length)))
        return flake_i_say(s->why, FLAKE_INVALID, "dir", "is too long, or the working directory is gone");
    if (*dir != '/') {
        end += strlen(path);
        *end++ = '/';
    }
    memcpy(end, dir, length + 1);
    for (end += length; end > path + 1 && end[-1] == '/';) *--end = 0;
    s->dir_length = (size_t)(end - path);
    if (!s->options->must_exist && !flake_i_make_dir(path))
        return flake_i_say_errno(s->why, path, ": cannot be created: ");
    return flake_i_is_remote(path)
               ? flake_i_say(s->why, FLAKE_IO, path, "is on a network file system, whose locks are unreliable")
               : FLAKE_OK;
}

/* Claims a number of a node with a directory. */
FLAKE_I_FN flake_status flake_i_claim_number(flake_i_claim *c, const flake_node *node, flake_i_engine_config *config,
                                             flake_i_claim *inherited, flake_why *why) {
    const flake_options *const o = &config->options;
    flake_i_search s;
    memset(&s, 0, sizeof s);
    s.claim = c;
    s.options = o;
    s.inherited = inherited;
    s.why = why;
    const flake_i_cancel_guard guard = flake_i_cancel_guard_begin();
    const int64_t begun_ns = flake_i_monotonic_ns();
    const int64_t patience_ns = flake_i_max_i64(o->claim_wait_ms * FLAKE_I_NS_PER_MS, FLAKE_I_MOMENT_NS);
    flake_status status = flake_i_open_dir(&s, node->dir);
    bool again = status == FLAKE_OK;
    while (again) {
        status = flake_i_scan(&s, node->number, node->last);
        if (status != FLAKE_OK) {
            const bool waits = s.met_holder && flake_i_monotonic_ns() - begun_ns < patience_ns;
            again = !s.is_pointless && (waits || s.lost_race);
            if (again && !s.lost_race) FLAKE_SLEEP_NS(FLAKE_I_CLAIM_NAP_NS);
            continue;
        }
        status = flake_i_await_start(config, s.last.horizon_ns, c->path, why);
        if (status == FLAKE_OK) status = flake_i_claim_begin(&s);
        if (status != FLAKE_OK) flake_i_file_drop(&c->file, false);
        /* a full disk may have room for a name, but not for the record */
        again = status == FLAKE_IO && !s.last.number && !s.is_full;
        s.is_full |= again;
    }
    flake_i_cancel_guard_end(guard);
    return status;
}

#else /* no generator has a claim: its node is refused */
#define flake_i_is_writer(c)                                  ((void)(c), false)
#define flake_i_claim_drop(c, is_inherited, is_shared)        ((void)(c), (void)(is_inherited), (void)(is_shared))
#define flake_i_extend(c, why)                                ((void)(c), (void)(why), (flake_status)FLAKE_IO)
#define flake_i_claim_take_over(c, why)                       ((void)(c), (void)(why), (flake_status)FLAKE_IO)
#define flake_i_claim_close(c, e, why)                        ((void)(c), (void)(why), (flake_status)FLAKE_IO)
#define flake_i_claim_number(c, node, config, inherited, why) ((void)(inherited), (flake_status)FLAKE_IO)
FLAKE_I_FN flake_status flake_i_admit(flake_i_claim *c, int64_t until_ns, bool *pointless) {
    return (void)c, (void)until_ns, (void)pointless, FLAKE_IO;
}
#endif

// >>set-up

/* No kind is a small number: memory that no call has filled in is not taken for a node. */
enum { FLAKE_I_NO_NODE = 0x6e6f6465, FLAKE_I_FIXED_NODE, FLAKE_I_ANY_NODE, FLAKE_I_GATED_NODE };

FLAKE_I_FN flake_node flake_i_node(int kind, const char *dir, uint64_t first, uint64_t last) {
    flake_node node;
    memset(&node, 0, sizeof node);
    node.kind = kind;
    node.dir = dir;
    node.number = first;
    node.last = last;
    return node;
}

FLAKE_API flake_node flake_node_fixed(const char *dir, uint64_t number) {
    return flake_i_node(FLAKE_I_FIXED_NODE, dir, number, number);
}

FLAKE_API flake_node flake_node_any(const char *dir, uint64_t first, uint64_t last) {
    return flake_i_node(FLAKE_I_ANY_NODE, dir, first, last);
}

FLAKE_API flake_node flake_node_gated(const flake_gate *gate, uint64_t number) {
    flake_node node = flake_i_node(FLAKE_I_GATED_NODE, NULL, number, number);
    if (gate) node.gate = *gate;
    if (gate && gate->fence) node.fence_value = FLAKE_ATOMIC_LOAD(gate->fence, relaxed);
    return node;
}

FLAKE_API flake_node flake_node_none(void) { return flake_i_node(FLAKE_I_NO_NODE, NULL, 0, 0); }

/* The engine's configuration. UUIDs and ULIDs need to know of each backward step, to continue after it. */
FLAKE_I_FN flake_i_engine_config flake_i_engine_config_of(const flake_options *o, const flake_node *node) {
    const flake_layout l = flake_i_layout_in_engine(&o->layout);
    flake_i_engine_config s;
    memset(&s, 0, sizeof s);
    s.epoch_ms = l.epoch_ms;
    s.unit_ms = l.unit_ms;
    s.time_bits = l.time_bits;
    s.unit_capacity = (uint64_t)o->seq_max - o->seq_min + 1;
    s.options = *o;
    if (node) s.gate = node->gate;
    if (node) s.fence_value = node->fence_value;
    s.fail_on_backwards = o->layout.format != 0;
    return s;
}

/* All zero, whatever its name is. */
FLAKE_I_FN bool flake_i_no_layout(const flake_layout *l) {
    static const flake_layout none = {NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    return flake_i_same_layout(l, &none);
}

/* UUIDs of version 7 and ULIDs have no node: random bits distinguish generators. */
FLAKE_I_FN bool flake_i_is_random(const flake_layout *l) { return l->format > FLAKE_I_BOUNDARY && !l->node_bits; }

/* What is wrong with the options of a generator, those of its engine and directory excepted; NULL: nothing. */
FLAKE_I_FN const char *flake_i_options_reject_reason(const flake_options *o) {
    const flake_layout *const l = &o->layout;
    const uint64_t last = flake_i_ones(l->seq_bits);
    if (o->seq_min > o->seq_max) return "seq_min is above seq_max, which is 0 only if seq_min is, too";
    if (o->seq_max > last) return "seq_max exceeds layout.seq_bits";
    if (l->format > FLAKE_I_BOUNDARY && (o->seq_min || o->seq_max != last))
        return "seq_min and seq_max of UUIDs and ULIDs must be the whole range: counters start anywhere";
    if (l->format && o->seq_scatter) return "seq_scatter is for 64-bit layouts";
    if (o->lanes && o->single_thread) return "lanes and single_thread exclude each other";
    if (!o->lanes && o->lane_count) return "lanes is missing, but lane_count is not 0";
    if (o->after_unix_ms && flake_i_is_random(l)) return "after_unix_ms is not for UUIDs and ULIDs without a node";
    return NULL;
}

/* Why engine or lanes cannot be set up like this; NULL: they can. */
FLAKE_I_FN const char *flake_i_setup_reject_reason(const flake_i_engine_config *config) {
    const flake_options *const o = &config->options;
    const uint64_t most_lanes = flake_i_min_u64(config->unit_capacity, INT32_MAX / sizeof(flake_lane) - 1);
    const int64_t max_ms = INT64_MAX / FLAKE_I_NS_PER_MS, epoch_ms = config->epoch_ms;
    if (epoch_ms < -max_ms || epoch_ms > max_ms) return "layout.epoch_ms is further from 1970 than 64 bits of ns";
    if (epoch_ms >= 100000000 && epoch_ms < 10000000000) /* as seconds: 1973 to 2286 */
        return "layout.epoch_ms is in the first months of 1970: is it in seconds?";
    if (!config->unit_ms || !config->unit_capacity) return "layout: a unit has no length, or no ids";
    if (o->max_ahead_ms < 0 || o->max_ahead_ms / config->unit_ms > INT32_MAX)
        return "max_ahead_ms is negative, or more than 2^31 units";
    if (o->max_wait_ms < 0) return "max_wait_ms is negative";
    if (o->overflow && !o->overflow->size) return "overflow is not initialised: flake_ring_init";
    if (o->clock.kind < FLAKE_CLOCK_FAST || o->clock.kind > FLAKE_CLOCK_EXACT)
        return "clock.kind is not FLAKE_CLOCK_FAST, FLAKE_CLOCK_COARSE or FLAKE_CLOCK_EXACT";
    if (o->shared_memory && config->gate.admit) return "shared_memory does not go with a gate";
    if (o->shared_memory && FLAKE_I_LOCK_FREE != 2)
        return "shared_memory: 64-bit atomics on this machine use a lock, which processes do not share";
    if ((uint64_t)INT64_MAX - (uint64_t)(epoch_ms * FLAKE_I_NS_PER_MS) < (uint64_t)config->unit_ms * FLAKE_I_NS_PER_MS)
        return "layout: the clock ends before the first unit does";
    if (o->lanes && !o->lane_count) return "lane_count is 0: it must be the number of lanes";
    if (o->lanes && o->lane_count > most_lanes) return "lane_count exceeds the sequence range, or 2 GB of memory";
    if (!o->after_unix_ms) return NULL;
    const int64_t after_ms = o->after_unix_ms, day_ms = 86400000;
    const int64_t now_ms = flake_i_exact_ns(&o->clock) / FLAKE_I_NS_PER_MS;
    if (after_ms < epoch_ms) return "after_unix_ms is before the layout's epoch: is it in ms?";
    if (after_ms > max_ms || after_ms - day_ms > now_ms)
        return "after_unix_ms is more than a day ahead of the clock: is it in ms, and the clock set?";
    if (after_ms >= 100000000 && after_ms < 10000000000 && now_ms >= 10000000000)
        return "after_unix_ms is in the first months of 1970: is it in seconds?";
    return NULL;
}

/* What is wrong with the options of a directory; NULL: nothing. */
FLAKE_I_FN const char *flake_i_dir_reject_reason(const flake_node *node, const flake_options *o) {
    const int64_t max_ms = INT64_MAX / FLAKE_I_NS_PER_MS;
    if (!node->dir)
        return o->claim_wait_ms     ? "claim_wait_ms"
               : o->horizon_ms      ? "horizon_ms"
               : o->max_downtime_ms ? "max_downtime_ms"
               : o->must_exist      ? "must_exist"
               : o->manual_extend   ? "manual_extend"
                                    : NULL;
    if (o->horizon_ms < 0 || o->horizon_ms > FLAKE_I_DAY_MS) return "horizon_ms is negative, or more than a day";
    if (o->max_ahead_ms > FLAKE_I_DAY_MS || o->layout.unit_ms > FLAKE_I_DAY_MS)
        return "max_ahead_ms, or a unit, is more than a day: not with a directory";
    if (o->claim_wait_ms < 0 || o->claim_wait_ms > max_ms) return "claim_wait_ms is negative or too large";
    if (o->max_downtime_ms < 0 || o->max_downtime_ms > max_ms) return "max_downtime_ms is negative or too large";
    if (o->must_exist && node->kind == FLAKE_I_ANY_NODE) return "must_exist is for a fixed number, flake_node_fixed";
    return NULL;
}

/* Checks a node, of which IDs have this many bits, and the options of its directory, whose defaults it fills in. A
 * layout without a node needs none; in sno.h it is optional. */
FLAKE_I_COLD flake_status flake_i_resolve_node(const flake_node *node, flake_options *o, unsigned bits,
                                               bool is_optional, flake_why *why) {
    const uint64_t last = flake_i_ones(bits);
    const char *unfit = NULL;
    char text[80];
    if (node->kind == FLAKE_I_NO_NODE) {
        if (bits && !is_optional) unfit = "is missing, and this layout needs one: flake_node_fixed(NULL, 7)";
    } else if (node->kind < FLAKE_I_NO_NODE || node->kind > FLAKE_I_GATED_NODE)
        unfit = "was not made by flake_node_fixed or another of these calls";
    else if (!bits) unfit = "the layout has none: pass flake_node_none()";
    else if (node->kind == FLAKE_I_ANY_NODE && !node->dir) unfit = "flake_node_any needs a directory";
    else if (node->dir && !*node->dir) unfit = "the directory has no name: \".\" is this one";
    else if (node->number > node->last) unfit = "the range's first number is above its last";
    else if (node->kind == FLAKE_I_GATED_NODE && !node->gate.admit)
        unfit = "flake_node_gated needs a gate with a function `admit`";
    if (unfit) return flake_i_say(why, FLAKE_INVALID, "node", unfit);
    if (node->last > last) {
        flake_i_put_numbers(text, "node: # is above #, the ", node->last, last, 0);
        flake_i_put_why(why, text, is_optional ? "last partition" : "layout's last node",
                        node->last >> 48 ? "; has a call of flake_node_from_... failed?" : "");
        return FLAKE_NODE_RANGE;
    }
    if (node->dir && !FLAKE_I_HAS_FILES) return flake_i_say(why, FLAKE_IO, node->dir, FLAKE_I_WHY_NO_FILES);
    unfit = flake_i_dir_reject_reason(node, o);
    if (unfit) {
        flake_i_put_why(why, "options: ", unfit, node->dir ? "" : " needs a directory: flake_node_fixed(\"ids\", 7)");
        return FLAKE_INVALID;
    }
    if (node->dir && !o->horizon_ms) o->horizon_ms = 3000;
    if (node->dir && o->shared_memory) o->manual_extend = true;
    return FLAKE_OK;
}

/* Fills in the defaults, and checks all but the engine's options. */
FLAKE_I_FN flake_status flake_i_fill_in(const flake_options *given, flake_options *o, flake_why *why) {
    if (!given) memset(o, 0, sizeof *o);
    else *o = *given;
    if (flake_i_no_layout(&o->layout)) o->layout = flake_layout_default;
    if (flake_layout_check(&o->layout, why) != FLAKE_OK) return FLAKE_INVALID;
    if (!o->seq_min && !o->seq_max) o->seq_max = (uint32_t)flake_i_ones(o->layout.seq_bits);
    const char *const unfit = flake_i_options_reject_reason(o);
    if (unfit) return flake_i_say(why, FLAKE_INVALID, "options", unfit);
    if (o->clock.now_ns || flake_i_is_random(&o->layout)) o->start_this_unit = true;
    if (!o->max_wait_ms) o->max_wait_ms = 1000;
    return FLAKE_OK;
}

/* The configuration of a generator of flake.h: options with defaults, checked with node and engine; and the keys, if
 * it has a counter. */
FLAKE_I_FN flake_status flake_i_resolve(const flake_options *given, const flake_node *node,
                                        flake_i_engine_config *config, uint64_t keys[4], flake_why *why) {
    flake_options o;
    flake_status status = flake_i_fill_in(given, &o, why);
    if (status == FLAKE_OK) status = flake_i_resolve_node(node, &o, o.layout.node_bits, false, why);
    if (status != FLAKE_OK) return status;
    *config = flake_i_engine_config_of(&o, node);
    const char *const unfit = flake_i_setup_reject_reason(config);
    if (unfit) return flake_i_say(why, FLAKE_INVALID, "options", unfit);
    memset(keys, 0, 4 * sizeof *keys);
    return o.layout.format <= FLAKE_I_BOUNDARY || flake_i_random_bytes(keys, 4 * sizeof *keys)
               ? FLAKE_OK
               : flake_i_say(why, FLAKE_IO, "random bytes", "the system has none");
}

/* Whether two generators with one node can generate the same ID. */
FLAKE_I_FN bool flake_i_share_ids(const flake_options *a, const flake_options *b) {
    flake_layout l = a->layout;
    l.time_sign = b->layout.time_sign; /* no generator sets it */
    return !flake_i_is_random(&l) && flake_i_same_layout(&l, &b->layout) && a->seq_min <= b->seq_max &&
           b->seq_min <= a->seq_max;
}

/* Begins a claim, waits for the start, and with a directory claims a number, which *node then has. A fork in a signal
 * handler, or a clone of the machine, may come meanwhile: the owners are those of before. `inherited`: see
 * flake_i_search. */
FLAKE_I_FN flake_status flake_i_claim_init(flake_i_claim *c, flake_node *node, flake_i_engine_config *config,
                                           flake_i_claim *inherited, flake_why *why) {
    flake_atomic64 *word;
    const uint64_t holder = flake_i_process_owner_id();
    config->instance_owner_id = flake_i_instance_owner_id(&word);
    memset((void *)c, 0, sizeof *c);
    c->file.fd = -1;
    const flake_status status = node->dir ? flake_i_claim_number(c, node, config, inherited, why)
                                          : flake_i_await_start(config, INT64_MIN, "init", why);
    if (status != FLAKE_OK) return status;
    if (node->dir) {
        node->number = c->own.node;
        config->claim = c;
    }
    c->self_address = (uintptr_t)c;
    FLAKE_ATOMIC_STORE(&c->holder, holder, relaxed);
    return FLAKE_OK;
}

/* Initialises the engine. On failure nothing has changed. */
FLAKE_I_FN flake_status flake_i_gen_set_up(flake_gen *g, const flake_i_engine_config *config, uint64_t node,
                                           flake_why *why) {
    const flake_status status = flake_i_engine_init(&g->engine, config);
    if (status != FLAKE_OK) return flake_i_say(why, status, "gate", "is closed: the claim was lost");
    g->options = config->options;
    g->node = node;
    g->shard = 0;
    g->next_shard = 0;
    return FLAKE_OK;
}

/* The engine is positioned. From here on the generator draws: after all IDs that gate and directory know of, and
 * after floor_ns. */
FLAKE_I_FN void flake_i_gen_begin(flake_gen *g, unsigned forms, int64_t floor_ns) {
    const flake_options *const o = &g->options;
    flake_i_engine *const e = &g->engine;
    if (flake_i_has_gate(e)) flake_i_exhaust_unit(e); /* the fast path asks no gate */
    if (e->gate.admit && e->gate.not_before_ns) flake_i_engine_not_before(e, e->gate.not_before_ns(e->gate.user));
    flake_i_engine_not_before(e, floor_ns);
    if (o->lanes) flake_i_lanes_begin(&g->lanes, o->lanes, o->lane_count, e);
    g->kind = (uint8_t)(forms | (o->lanes ? FLAKE_I_LANES : o->single_thread ? FLAKE_I_SINGLE : FLAKE_I_MULTI));
}

/* Takes the config of a claimed node. On failure nothing has changed. */
FLAKE_I_FN flake_status flake_i_gen_init(flake_gen *g, const flake_i_engine_config *config, uint64_t node,
                                         const uint64_t keys[4], flake_why *why) {
    const flake_options *const o = &g->options;
    const flake_layout *const l = &g->options.layout;
    const flake_status status = flake_i_gen_set_up(g, config, node, why);
    if (status != FLAKE_OK) return status;
    g->has_counter = l->format > FLAKE_I_BOUNDARY;
    g->base = g->has_counter ? node
              : l->format    ? node << 16 | o->seq_min
                             : flake_i_node_field(l, node) | (uint64_t)o->seq_min << l->seq_shift;
    g->time_shift = l->time_shift;
    g->seq_shift = l->seq_shift;
    const uint64_t decides[] = {g->base,      g->engine.unit_capacity, g->engine.epoch_ns,
                                l->time_bits, l->time_shift,           g->engine.unit_ns,
                                l->seq_shift, l->time_reversed,        o->seq_scatter};
    const uint64_t identity = flake_i_fnv((const uint8_t *)decides, sizeof decides) | 1;
    FLAKE_ATOMIC_STORE(&g->identity_hash, identity, relaxed);
    flake_i_set_keys(&g->keys, keys);
    const bool is_odd = o->seq_scatter || l->time_reversed;
    flake_i_gen_begin(g, l->format ? FLAKE_I_128 : is_odd ? FLAKE_I_UNUSUAL_64 : FLAKE_I_PLAIN, config->floor_ns);
    return FLAKE_OK;
}

/* Every call returns FLAKE_INVALID from here on, and a prefetched stock is dropped. */
FLAKE_I_FN void flake_i_invalidate(flake_gen *g) {
    g->kind = 0;
    FLAKE_ATOMIC_STORE(&g->identity_hash, 0u, relaxed);
}

/* Makes it number i of n shards, `size` bytes each. */
FLAKE_I_FN void flake_i_chain(flake_gen *shard, size_t i, size_t n, size_t size) {
    shard->shard = (uint32_t)i + 1;
    shard->next_shard = i + 1 < n ? size : 0;
}

FLAKE_API flake_status flake_init(flake_gen *g, flake_node node, const flake_options *options, flake_why *why) {
    flake_i_engine_config config;
    uint64_t keys[4];
    flake_i_invalidate(g);
    flake_status status = flake_i_resolve(options, &node, &config, keys, why);
    if (status == FLAKE_OK) status = flake_i_claim_init(&g->claim, &node, &config, NULL, why);
    if (status == FLAKE_OK) status = flake_i_gen_init(g, &config, node.number, keys, why);
    return status;
}

/* Whether n shards can share the numbers of this configuration, which begin at seq_min. */
FLAKE_I_FN flake_status flake_i_check_shards(const flake_i_engine_config *c, size_t n, uint32_t seq_min,
                                             flake_why *why) {
    if (c->options.lanes) return flake_i_say(why, FLAKE_INVALID, "options", "shards have no lanes");
    if (!n || n > c->unit_capacity || n > UINT32_MAX)
        return flake_i_say(why, FLAKE_INVALID, "n", "is 0, or exceeds the sequence range");
    /* bounds 0 and 0 are the whole range */
    if (n == c->unit_capacity && n > 1 && !seq_min)
        return flake_i_say(why, FLAKE_INVALID, "n", "leaves the first shard the number 0 alone");
    return FLAKE_OK;
}

/* What enforces a shard's range: a ticket's index is below its engine's unit_capacity, and base has its seq_min. */
FLAKE_API flake_status flake_init_shards(flake_gen *shards, size_t n, flake_node node, const flake_options *options,
                                         flake_why *why) {
    flake_i_engine_config config;
    uint64_t keys[4];
    flake_status status = flake_i_resolve(options, &node, &config, keys, why);
    for (size_t i = 0; i < n; i++) flake_i_invalidate(&shards[i]);
    if (status != FLAKE_OK) return status;
    flake_options *const o = &config.options;
    if (o->layout.format > FLAKE_I_BOUNDARY)
        return flake_i_say(why, FLAKE_INVALID, "options",
                           "layout has counters that start anywhere: shards would repeat IDs");
    status = flake_i_check_shards(&config, n, o->seq_min, why);
    if (status != FLAKE_OK) return status;
    const uint64_t unit_capacity = config.unit_capacity;
    status = flake_i_claim_init(&shards[0].claim, &node, &config, NULL, why);
    o->single_thread = true;
    uint64_t next = o->seq_min;
    for (size_t i = 0; i < n && status == FLAKE_OK; i++) {
        config.unit_capacity = unit_capacity / n + (i < unit_capacity % n);
        o->seq_min = (uint32_t)next;
        next += config.unit_capacity;
        o->seq_max = (uint32_t)(next - 1);
        status = flake_i_gen_init(&shards[i], &config, node.number, keys, why);
        flake_i_chain(&shards[i], i, n, sizeof shards[i]);
    }
    for (size_t i = 0; i < n && status != FLAKE_OK; i++) flake_i_invalidate(&shards[i]);
    return status;
}

/* Why it is not a generator that flake_init or flake_init_shards has initialised here; NULL: it is. */
FLAKE_I_FN const char *flake_i_gen_reject_reason(const flake_gen *g) {
    if (!g->kind) return "is not initialised";
    if (!flake_i_is_here(g)) return "was copied: initialise each generator where it is used";
    return flake_i_is_whole(g) ? NULL : "is part of another generator, which has calls of its own";
}

/* Puts a claim that a failed reinit has replaced back, or ends it. */
FLAKE_I_FN void flake_i_reinit_end(flake_gen *g, flake_i_claim *inherited, flake_status status) {
    if (status == FLAKE_OK) flake_i_claim_drop(inherited, !flake_i_is_holder(inherited), false);
    else memcpy((void *)&g->claim, (const void *)inherited, sizeof *inherited);
}

/* Whether a node may get the parent's number. Those of a directory exclude each other. */
FLAKE_I_FN bool flake_i_may_meet(const flake_node *node, const flake_gen *g) {
    const bool has_both = node->dir && g->engine.claim_at;
    return !has_both && node->number <= g->node && g->node <= node->last;
}

FLAKE_I_FN flake_status flake_i_say_overlap(flake_why *why) {
    return flake_i_say(why, FLAKE_NODE_OVERLAP, "node",
                       "is the parent's, or that of before the clone, and the sequence ranges overlap");
}

/* NULL: the parent's. */
FLAKE_I_FN flake_options flake_i_inherited_options(const flake_gen *g, const flake_options *given,
                                                   const flake_node *node) {
    flake_options o = given ? *given : g->options;
    if (!given && !node->dir) o.horizon_ms = 0; /* a default of the parent's directory */
    return o;
}

FLAKE_API flake_status flake_reinit_after_fork(flake_gen *g, flake_node node, const flake_options *options,
                                               flake_why *why) {
    flake_i_engine_config config;
    flake_i_claim parents;
    uint64_t keys[4];
    const char *unfit = flake_i_gen_reject_reason(g);
    if (!unfit && !flake_i_is_inherited(&g->engine)) unfit = "was not inherited through fork";
    if (!unfit && g->shard) unfit = "is a shard: flake_close the first, then flake_init_shards";
    if (unfit) return flake_i_say(why, FLAKE_INVALID, "generator", unfit);
    const flake_options given = flake_i_inherited_options(g, options, &node);
    flake_status status = flake_i_resolve(&given, &node, &config, keys, why);
    if (status != FLAKE_OK) return status;
    if (flake_i_may_meet(&node, g) && flake_i_share_ids(&config.options, &g->options)) return flake_i_say_overlap(why);
    memcpy((void *)&parents, (const void *)&g->claim, sizeof parents);
    status = flake_i_claim_init(&g->claim, &node, &config, &parents, why);
    if (status == FLAKE_OK) status = flake_i_gen_init(g, &config, node.number, keys, why);
    flake_i_reinit_end(g, &parents, status);
    return status;
}

/* ---- close, extend, take over ---- */

/* The engines that draws use: index 0, 1, ...; NULL: no more. */
FLAKE_I_FN flake_i_engine *flake_i_engine_at(flake_gen *g, size_t i) {
    if (!flake_i_is_here(g)) return NULL;
    if (!flake_i_has_lanes(g)) return !i ? &g->engine : NULL;
    return i < g->lanes.n ? &flake_i_lane(&g->lanes, i)->engine : NULL;
}

/* Why it does not have the claim that it shows; NULL: it has. */
FLAKE_I_FN const char *flake_i_claim_reject_reason(const flake_gen *g) {
    const flake_i_claim *const c = &g->claim;
    if (!g->kind) return "is not initialised";
    if (g->shard > 1) return "is not the first shard, which has the number";
    return flake_i_is_copy(&g->engine) || (flake_i_is_holder(c) && c->self_address != (uintptr_t)c)
               ? "is a copy: only the original has the number"
               : NULL;
}

/* From the next unit on, draws of a generator and of its shards return FLAKE_CLOSED. The fast path does not look. */
FLAKE_I_FN void flake_i_shut(flake_gen *g) {
    for (size_t next = 1; next; g = (flake_gen *)(void *)((char *)g + next)) {
        flake_i_engine *e = &g->engine;
        for (size_t i = 0; e; e = flake_i_engine_at(g, i++)) {
            FLAKE_ATOMIC_STORE(&e->is_closed, 1u, relaxed);
            FLAKE_ATOMIC_STORE(&e->first_limit, 0u, relaxed);
        }
        FLAKE_ATOMIC_STORE(&g->identity_hash, 0u, relaxed);
        next = g->next_shard;
    }
}

FLAKE_API flake_status flake_close(flake_gen *g, flake_why *why) {
    flake_i_claim *const c = &g->claim;
    flake_status status = FLAKE_OK;
    if (!g->kind) return FLAKE_OK;
    const char *const unfit = flake_i_claim_reject_reason(g);
    if (unfit) return flake_i_say(why, FLAKE_INVALID, "generator", unfit);
    if (flake_i_is_closed(&g->engine)) return FLAKE_OK;
    if (flake_i_is_writer(c))
        return flake_i_say(why, FLAKE_AGAIN, "generator", "this signal handler interrupted a write of its file");
    const bool is_shared = g->engine.is_shared, is_holder = flake_i_is_holder(c);
    if (!is_holder) flake_i_claim_drop(c, true, is_shared);
    else if (g->engine.claim_at) status = flake_i_claim_close(c, &g->engine, why);
    if (is_holder || !is_shared) flake_i_shut(g);
    return status;
}

FLAKE_API flake_status flake_extend(flake_gen *g, flake_why *why) {
    const char *unfit = flake_i_claim_reject_reason(g);
    if (!unfit && flake_i_is_closed(&g->engine)) return flake_i_say_closed(why);
    if (!unfit && !g->engine.claim_at) unfit = "has no directory";
    if (!unfit && (!flake_i_is_holder(&g->claim) || flake_i_is_inherited(&g->engine)))
        unfit = "was initialised by another process, or before the machine was cloned";
    if (unfit) return flake_i_say(why, FLAKE_INVALID, "generator", unfit);
    return flake_i_extend(&g->claim, why);
}

FLAKE_API flake_status flake_take_over(flake_gen *g, flake_why *why) {
    const char *unfit = flake_i_claim_reject_reason(g);
    if (!unfit && (!g->engine.is_shared || !g->engine.claim_at)) unfit = "needs a directory, and shared_memory";
    if (unfit) return flake_i_say(why, FLAKE_INVALID, "generator", unfit);
    if (flake_i_is_closed(&g->engine)) return flake_i_say_closed(why);
    if (flake_i_is_holder(&g->claim)) return flake_i_say(why, FLAKE_IN_USE, "generator", "this process is the holder");
    return flake_i_claim_take_over(&g->claim, why);
}

// >>queries

FLAKE_API int64_t flake_retry_ns(flake_gen *g) {
    int64_t least = INT64_MAX;
    flake_i_engine *e;
    for (size_t i = 0; (e = flake_i_engine_at(g, i)) != NULL; i++) {
        int64_t ns = flake_i_backstep_available(g, e) ? 0 : flake_i_retry_ns(e);
        if (ns < FLAKE_I_NS_PER_MS && flake_i_is_late(e)) ns = FLAKE_I_NS_PER_MS;
        if (ns < least) least = ns;
    }
    return least;
}

FLAKE_API uint64_t flake_available(flake_gen *g) {
    uint64_t sum = 0;
    flake_i_engine *e;
    for (size_t i = 0; (e = flake_i_engine_at(g, i)) != NULL; i++)
        if (!flake_i_is_late(e)) sum += flake_i_available(e) + flake_i_backstep_available(g, e);
    return sum;
}

FLAKE_API int64_t flake_ahead_ms(flake_gen *g) {
    uint64_t most_ns = 0;
    flake_i_engine *e;
    for (size_t i = 0; (e = flake_i_engine_at(g, i)) != NULL; i++) {
        flake_i_attempt a;
        memset(&a, 0, sizeof a); /* stays zero if the clock is outside the layout */
        (void)flake_i_peek(e, &a);
        const uint64_t newest = a.time + (a.count ? (a.count - 1) / e->unit_capacity : 0);
        const bool is_ahead = newest > a.now && newest >= e->start_unit; /* else there is no ID */
        const uint64_t ns = is_ahead ? (newest - a.now) * e->unit_ns : 0;
        if (ns > most_ns) most_ns = ns;
    }
    return (int64_t)(most_ns / FLAKE_I_NS_PER_MS);
}

FLAKE_API int64_t flake_newest_ms(flake_gen *g) {
    flake_i_engine *const e = flake_i_engine_at(g, 0);
    if (!e) return INT64_MIN;
    const uint64_t unit = flake_i_has_lanes(g) ? flake_i_lanes_newest(&g->lanes) : flake_i_newest(e);
    const uint64_t ns = flake_i_start_ns(e, flake_i_min_u64(unit, e->max_time));
    const int64_t ms = (int64_t)ns / FLAKE_I_NS_PER_MS;
    return ms ? ms : 1; /* as after_unix_ms, 0 would be none */
}

FLAKE_API void flake_stats_get(flake_gen *g, flake_stats *sum) {
    flake_i_engine *e;
    memset(sum, 0, sizeof *sum);
    for (size_t i = 0; (e = flake_i_engine_at(g, i)) != NULL; i++) flake_i_stats(e, sum);
}

FLAKE_API const flake_options *flake_gen_options(const flake_gen *g) { return flake_i_is_here(g) ? &g->options : NULL; }

FLAKE_API uint64_t flake_gen_node(const flake_gen *g) {
    const bool has_node = flake_i_is_here(g) && (g->options.layout.node_bits || !flake_i_is_whole(g));
    return has_node ? g->node : UINT64_MAX;
}

/* ---- prefetch ---- */

/* Whether one word serves all threads with 64-bit IDs: a stock of another generator would repeat IDs. */
FLAKE_I_FN bool flake_i_may_prefetch(const flake_gen *g) {
    return (g->kind & ~(FLAKE_I_PLAIN | FLAKE_I_UNUSUAL_64)) == FLAKE_I_MULTI;
}

FLAKE_API flake_status flake_prefetch_init(flake_prefetch *p, flake_gen *g, uint32_t count, int64_t valid_ms,
                                           flake_why *why) {
    int64_t valid_ns;
    p->self_address = NULL;
    const char *unfit = g ? flake_i_gen_reject_reason(g) : "is missing";
    if (!unfit && !flake_i_may_prefetch(g))
        unfit = "has lanes, single_thread or 128-bit IDs, which prefetch does not support";
    if (unfit) return flake_i_say(why, FLAKE_INVALID, "generator", unfit);
    if (!count || count > 100000) return flake_i_say(why, FLAKE_INVALID, "count", "is outside 1 to 100,000");
    if (valid_ms < 0 || !flake_i_given_ns(valid_ms, &valid_ns))
        return flake_i_say(why, FLAKE_INVALID, "valid_ms", "is negative or too large");
    p->self_address = p;
    p->gen = g;
    p->count = count;
    p->valid_ns = valid_ns;
    p->instance_owner_id = flake_i_instance_owner_id(&p->instance_word);
    p->identity_hash = FLAKE_ATOMIC_LOAD(&g->identity_hash, relaxed);
    p->stock.n = 0;
    return FLAKE_OK;
}

/* In a separate function, so that taking from the stock needs none of its registers. */
FLAKE_I_COLD flake_status flake_i_prefetch_draw(flake_prefetch *p) {
    flake_gen *const g = p->gen;
    flake_i_ticket fresh;
    /* before the draw: a close beside it ends the stock */
    const uint64_t identity = FLAKE_ATOMIC_LOAD(&g->identity_hash, relaxed);
    /* it may have been initialised again as another kind */
    if (!flake_i_may_prefetch(g)) return FLAKE_INVALID;
    if (!identity) return FLAKE_CLOSED;
    const flake_status status = flake_i_draw(&g->engine, FLAKE_I_WAIT, 0, p->count, &fresh);
    if (status != FLAKE_OK) return status;
    p->stock = fresh;
    p->identity_hash = identity;
    if (p->valid_ns) p->taken_ns = flake_i_now_ns(&g->engine.clock);
    return FLAKE_OK;
}

FLAKE_API flake_status flake_prefetch_next(flake_prefetch *p, uint64_t *id) {
    flake_gen *g = p->gen;
    if (p->self_address != p) return flake_i_no_id(FLAKE_INVALID, id, sizeof *id);
    if (flake_i_forked_since(p->instance_word, p->instance_owner_id)) {
        p->instance_owner_id = flake_i_instance_owner_id(&p->instance_word);
        p->stock.n = 0;
    }
    if (flake_i_forked(&g->engine)) return flake_i_no_id(flake_i_lost_status(&g->engine), id, sizeof *id);
    if (p->identity_hash != FLAKE_ATOMIC_LOAD(&g->identity_hash, relaxed)) p->stock.n = 0;
    if (p->stock.n && p->valid_ns) {
        const int64_t now_ns = flake_i_now_ns(&g->engine.clock);
        if (now_ns < p->taken_ns || flake_i_ns_until(now_ns, p->taken_ns) >= p->valid_ns) p->stock.n = 0;
    }
    const flake_status status = p->stock.n ? FLAKE_OK : flake_i_prefetch_draw(p);
    if (status != FLAKE_OK) return flake_i_no_id(status, id, sizeof *id);
    if (FLAKE_I_LIKELY(g->kind & FLAKE_I_PLAIN)) flake_i_put_id(g, false, p->stock.time, p->stock.index, id);
    else (void)flake_i_put_unusual_id(g, p->stock.time, p->stock.index, id);
    p->stock.n--;
    if (++p->stock.index == g->engine.unit_capacity) {
        p->stock.index = 0;
        p->stock.time++;
    }
    return FLAKE_OK;
}

// >>text
/* A number is written and read in chunks of several digits: one division by base^count per chunk. Text is
 * always written in full width; the shortest text omits leading zeros. FLAKE_I_INLINE turns divisions into
 * multiplications by constants; gcc -O2 alone would share one copy among all bases. */

/* An alphabet, and its inverse: character c is digit d if '0' + d is at index c - '0'; '.' marks no digit. */
typedef struct flake_i_alphabet {
    char digits[63], inverse[76];
} flake_i_alphabet;

static const flake_i_alphabet flake_i_base62 = {
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    "0123456789.......:;<=>?@ABCDEFGHIJKLMNOPQRS......TUVWXYZ[\\]^_`abcdefghijklm"};
static const flake_i_alphabet flake_i_base58 = {
    "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    ".012345678.......9:;<=>?@.ABCDE.FGHIJKLMNOP......QRSTUVWXYZ[.\\]^_`abcdefghi"};
static const flake_i_alphabet flake_i_crockford = {"0123456789ABCDEFGHJKMNPQRSTVWXYZ",
                                                   "0123456789.......:;<=>?@A.BC.DE.FGHIJ.KLMNO"};
static const flake_i_alphabet flake_i_lower = {
    "0123456789abcdefghijklmnopqrstuvwxyz",
    "0123456789.......................................:;<=>?@ABCDEFGHIJKLMNOPQRS"};
static const flake_i_alphabet flake_i_zbase32 = {
    "ybndrfg8ejkmcpqxot1uwisza345h769", ".B.IJKNM7O.......................................H1<3856LE9:.;2@=>4FAC.D?0G"};
static const flake_i_alphabet flake_i_flickr = {
    "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ",
    ".012345678.......RSTUVWXY.Z[\\]^._`abcdefghi......9:;<=>?@ABC.DEFGHIJKLMNOPQ"};

/* No uint8_t width: gcc turns a copy known to be short into a slow `rep movs`. */
typedef struct flake_i_form {
    unsigned width, base;
    const flake_i_alphabet *alphabet;
} flake_i_form;

static const flake_i_form flake_i_forms[] = {
    {20, 10, &flake_i_base62},    /* FLAKE_DEC */
    {16, 16, &flake_i_lower},     /* FLAKE_HEX */
    {64, 2, &flake_i_base62},     /* FLAKE_BIN */
    {79, 2, &flake_i_base62},     /* FLAKE_BIN4 */
    {13, 32, &flake_i_crockford}, /* FLAKE_BASE32 */
    {13, 36, &flake_i_base62},    /* FLAKE_BASE36 */
    {11, 58, &flake_i_base58},    /* FLAKE_BASE58 */
    {11, 62, &flake_i_base62},    /* FLAKE_BASE62 */
    {13, 32, &flake_i_zbase32},   /* FLAKE_ZBASE32 */
    {13, 36, &flake_i_lower},     /* FLAKE_BASE36_LOWER */
    {11, 58, &flake_i_flickr},    /* FLAKE_BASE58_FLICKR */
};

/* A chunk below base^count is written from its first digit on, without a division: chunk / base^count is a binary
 * fraction, and each multiplication by the base carries the next digit over the point. FLAKE_I_SCALE rounds up, by less
 * than chunk / 2^57 in all, which changes no digit if base^count is at most 2^28. The product fits 64 bits. */
#define FLAKE_I_POINT        57
#define FLAKE_I_SCALE(power) (((uint64_t)1 << FLAKE_I_POINT) / (power) + 1)

/* Writes one digit, the `span` characters at digits + d * stride, and returns the remaining fraction. */
FLAKE_I_INLINE uint64_t flake_i_spell(char *out, uint64_t fraction, unsigned base, const char *digits, size_t stride,
                                      size_t span) {
    fraction *= base;
    memcpy(out, digits + (size_t)(fraction >> FLAKE_I_POINT) * stride, span);
    return fraction & (((uint64_t)1 << FLAKE_I_POINT) - 1);
}

/* Writes id before `end`, in chunks of four digits. No inner loop: not unrolled by gcc -O2, it takes twice as long. */
FLAKE_I_INLINE void flake_i_spell_id(char *end, uint64_t id, unsigned chunks, unsigned base, const char *digits,
                                     size_t stride, size_t span) {
    const uint32_t power = base * base * base * base;
    for (; chunks > 0; chunks--, id /= power) {
        uint64_t fraction = id % power * FLAKE_I_SCALE(power);
        end -= 4 * span;
        fraction = flake_i_spell(end, fraction, base, digits, stride, span);
        fraction = flake_i_spell(end + span, fraction, base, digits, stride, span);
        fraction = flake_i_spell(end + 2 * span, fraction, base, digits, stride, span);
        fraction = flake_i_spell(end + 3 * span, fraction, base, digits, stride, span);
    }
}

/* Copies a text of `width` digits to the caller; 0: it does not fit. */
FLAKE_I_FN size_t flake_i_copy_text(const char *text, size_t width, bool fixed, char zero, char *buf, size_t size) {
    for (; !fixed && width > 1 && *text == zero; width--) text++;
    if (!buf || size <= width) return 0;
    memcpy(buf, text, width);
    buf[width] = '\0';
    return width;
}

FLAKE_API size_t flake_text_width(flake_encoding form) {
    return (unsigned)form <= FLAKE_BASE58_FLICKR ? flake_i_forms[form].width : 0;
}

FLAKE_I_FN size_t flake_i_format(uint64_t id, flake_encoding form, bool fixed, char *buf, size_t size) {
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    static const char nibbles[] = " 0000 0001 0010 0011 0100 0101 0110 0111"
                                  " 1000 1001 1010 1011 1100 1101 1110 1111";
    char text[FLAKE_TEXT_SIZE], *end = text + sizeof text;
    const size_t width = flake_text_width(form);
    if (width == 0) return 0;
    switch (form) {
    case FLAKE_DEC: flake_i_spell_id(end, id, 3, 100, pairs, 2, 2); break;
    case FLAKE_HEX: flake_i_spell_id(end, id, 4, 16, flake_i_lower.digits, 1, 1); break;
    case FLAKE_BIN: flake_i_spell_id(end, id, 4, 16, nibbles + 1, 5, 4); break;
    case FLAKE_BIN4: flake_i_spell_id(end, id, 4, 16, nibbles, 5, 5); break;
    case FLAKE_BASE32: flake_i_spell_id(end, id, 4, 32, flake_i_crockford.digits, 1, 1); break;
    case FLAKE_BASE36: flake_i_spell_id(end, id, 4, 36, flake_i_base62.digits, 1, 1); break;
    case FLAKE_BASE58: flake_i_spell_id(end, id, 3, 58, flake_i_base58.digits, 1, 1); break;
    case FLAKE_BASE62: flake_i_spell_id(end, id, 3, 62, flake_i_base62.digits, 1, 1); break;
    case FLAKE_ZBASE32: flake_i_spell_id(end, id, 4, 32, flake_i_zbase32.digits, 1, 1); break;
    case FLAKE_BASE36_LOWER: flake_i_spell_id(end, id, 4, 36, flake_i_lower.digits, 1, 1); break;
    case FLAKE_BASE58_FLICKR: flake_i_spell_id(end, id, 3, 58, flake_i_flickr.digits, 1, 1); break;
    }
    return flake_i_copy_text(end - width, width, fixed || form == FLAKE_BIN4, flake_i_forms[form].alphabet->digits[0],
                             buf, size);
}

/* For IDs of 64 and of 128 bits. */
#define FLAKE_I_FORMAT_CALLS(call, id_type, form_type, to_text)                         \
    FLAKE_API size_t call(id_type id, form_type form, char *buf, size_t size) {         \
        return to_text(id, form, false, buf, size);                                     \
    }                                                                                   \
    FLAKE_API size_t call##_fixed(id_type id, form_type form, char *buf, size_t size) { \
        return to_text(id, form, true, buf, size);                                      \
    }
FLAKE_I_FORMAT_CALLS(flake_format, uint64_t, flake_encoding, flake_i_format)

/* Reads digits into n limbs, least significant first. False: another character, or a number that does not fit. */
FLAKE_I_FN bool flake_i_read(const char *text, size_t len, unsigned base, const flake_i_alphabet *alphabet,
                             uint32_t *limbs, size_t n) {
    for (size_t i = 0; i < n; i++) limbs[i] = 0;
    for (size_t at = 0; at < len;) {
        uint32_t chunk = 0, power = 1;
        /* The base is below 2^6, so chunk and power fit 32 bits. */
        for (; at < len && power <= (uint32_t)1 << 26; at++, power *= base) {
            const unsigned place = (unsigned char)text[at] - (unsigned)'0';
            if (place >= sizeof alphabet->inverse) return false;
            const unsigned digit = (unsigned)alphabet->inverse[place] - (unsigned)'0';
            if (digit >= base) return false;
            chunk = chunk * base + digit;
        }
        uint64_t carry = chunk;
        for (size_t i = 0; i < n; i++, carry >>= 32) {
            carry += (uint64_t)limbs[i] * power;
            limbs[i] = (uint32_t)carry;
        }
        if (carry != 0) return false;
    }
    return true;
}

FLAKE_API flake_status flake_parse(const char *text, size_t len, flake_encoding form, uint64_t *id) {
    const size_t width = flake_text_width(form);
    char bits[64];
    uint32_t limbs[2];
    if (width == 0) return FLAKE_INVALID;
    if (!text || len == 0 || len > width) return FLAKE_PARSE;
    if (form == FLAKE_BIN4) {
        if (len < width) return FLAKE_PARSE;
        for (size_t i = 0; i < 16; i++) {
            if (i > 0 && text[5 * i - 1] != ' ') return FLAKE_PARSE;
            memcpy(bits + 4 * i, text + 5 * i, 4);
        }
        text = bits;
        len = sizeof bits;
    }
    if (!flake_i_read(text, len, flake_i_forms[form].base, flake_i_forms[form].alphabet, limbs, 2)) return FLAKE_PARSE;
    *id = (uint64_t)limbs[1] << 32 | limbs[0];
    return FLAKE_OK;
}

FLAKE_API void flake_to_bytes(uint64_t id, uint8_t out[8]) { flake_i_put64(out, id); }

FLAKE_API uint64_t flake_from_bytes(const uint8_t in[8]) { return flake_i_get64(in); }

FLAKE_API size_t flake128_text_width(unsigned base) {
    static const unsigned widths[] = {0,  0,  128, 81, 64, 56, 50, 46, 43, 41, 39, 38, 36, 35, 34, 33,
                                      32, 32, 31,  31, 30, 30, 29, 29, 28, 28, 28, 27, 27, 27, 27, 26,
                                      26, 26, 26,  25, 25, 25, 25, 25, 25, 24, 24, 24, 24, 24, 24, 24,
                                      23, 23, 23,  23, 23, 23, 23, 23, 23, 22, 22, 22, 22, 22, 22};
    return base < sizeof widths / sizeof *widths ? widths[base] : 0;
}

FLAKE_I_FN size_t flake_i_format128(const flake128 *id, unsigned base, bool fixed, char *buf, size_t size) {
    const size_t width = flake128_text_width(base);
    if (width == 0) return 0;
    unsigned count = 1;
    uint32_t power = base;
    for (; power <= ((uint32_t)1 << 28) / base; power *= base) count++;
    const uint64_t scale = FLAKE_I_SCALE(power);

    const uint64_t high = flake_from_bytes(id->bytes), low = flake_from_bytes(id->bytes + 8);
    uint32_t limbs[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
    /* The first chunk may begin up to count - 1 digits before the text: 27 in base 2. */
    char text[FLAKE128_TEXT_SIZE + 27], *const end = text + sizeof text, *at = end;
    size_t n = 4;
    while ((size_t)(end - at) < width) {
        while (n > 0 && limbs[n - 1] == 0) n--;
        at -= count;
        uint64_t rest = 0;
        for (size_t i = n; i-- > 0; rest %= power) {
            rest = rest << 32 | limbs[i];
            limbs[i] = (uint32_t)(rest / power);
        }
        uint64_t fraction = rest * scale;
        for (unsigned i = 0; i < count; i++)
            fraction = flake_i_spell(at + i, fraction, base, flake_i_base62.digits, 1, 1);
    }
    return flake_i_copy_text(end - width, width, fixed, '0', buf, size);
}

FLAKE_I_FORMAT_CALLS(flake128_format, const flake128 *, unsigned, flake_i_format128)

FLAKE_API flake_status flake128_parse(const char *text, size_t len, unsigned base, flake128 *id) {
    const size_t width = flake128_text_width(base);
    uint32_t limbs[4];
    if (width == 0) return FLAKE_INVALID;
    if (!text || len == 0 || len > width) return FLAKE_PARSE;
    if (!flake_i_read(text, len, base, &flake_i_base62, limbs, 4)) return FLAKE_PARSE;
    flake_to_bytes((uint64_t)limbs[3] << 32 | limbs[2], id->bytes);
    flake_to_bytes((uint64_t)limbs[1] << 32 | limbs[0], id->bytes + 8);
    return FLAKE_OK;
}

/* Texts of UUIDs and ULIDs are written and read 8 characters at a time, in a 64-bit word, or on x86-64 with
 * AVX2, selected at run time, a whole ID at a time. */

/* Distances of texts in arrays. They also select the kind of text. */
enum { FLAKE_I_UUID_STRIDE = 37, FLAKE_I_ULID_STRIDE = 27 };

/* Of each ASCII character '0' + digit, in either case, with I, L and O; '.': none. */
static const char flake_i_ulid_values[] = "................................................0123456789......"
                                          ".:;<=>?@A1BC1DE0FGHIJ.KLMNO......:;<=>?@A1BC1DE0FGHIJ.KLMNO.....";

#define FLAKE_I_EACH_BYTE(byte)     (UINT64_C(0x0101010101010101) * (byte))
/* Of ASCII, bit 7 of each byte: whether it is c or above. Others carry into a neighbour, and are in no range. */
#define FLAKE_I_NOT_BELOW(bytes, c) ((bytes) + FLAKE_I_EACH_BYTE(0x80 - (c)))

/* 1 in each byte that is n or above. */
FLAKE_I_FN uint64_t flake_i_count_from(uint64_t bytes, unsigned n) {
    return FLAKE_I_NOT_BELOW(bytes, n) >> 7 & FLAKE_I_EACH_BYTE(1);
}

FLAKE_I_FN uint64_t flake_i_8_hex_digits(uint64_t bits32) {
    uint64_t v = (bits32 << 16 | bits32) & UINT64_C(0x0000ffff0000ffff);
    v = (v << 8 | v) & UINT64_C(0x00ff00ff00ff00ff);
    v = (v << 4 | v) & FLAKE_I_EACH_BYTE(15);
    return v + FLAKE_I_EACH_BYTE('0') + flake_i_count_from(v, 10) * ('a' - 10 - '0');
}

/* Readers of invalid text set bits in `bad`, and form a number anyway. */
FLAKE_I_FN uint64_t flake_i_32_bits(uint64_t text, uint64_t *bad) {
    const uint64_t lower = text | FLAKE_I_EACH_BYTE(0x20);
    const uint64_t digit = FLAKE_I_NOT_BELOW(text, '0') & ~FLAKE_I_NOT_BELOW(text, '9' + 1);
    const uint64_t letter = FLAKE_I_NOT_BELOW(lower, 'a') & ~FLAKE_I_NOT_BELOW(lower, 'f' + 1);
    *bad |= ~(digit | letter) & FLAKE_I_EACH_BYTE(0x80);
    uint64_t v = (text & FLAKE_I_EACH_BYTE(15)) + (text >> 6 & FLAKE_I_EACH_BYTE(1)) * 9;
    v = (v >> 4 | v) & UINT64_C(0x00ff00ff00ff00ff);
    v = (v >> 8 | v) & UINT64_C(0x0000ffff0000ffff);
    return (v >> 16 | v) & 0xffffffff;
}

/* Eight values of 5 bits, a byte each. */
FLAKE_I_FN uint64_t flake_i_8_values(uint64_t bits40) {
    uint64_t v = (bits40 << 12 & UINT64_C(0x000fffff00000000)) | (bits40 & 0xfffff);
    v = (v << 6 & UINT64_C(0x03ff000003ff0000)) | (v & UINT64_C(0x000003ff000003ff));
    return (v << 3 & UINT64_C(0x1f001f001f001f00)) | (v & UINT64_C(0x001f001f001f001f));
}

/* Crockford's alphabet has no I, L, O and U. */
FLAKE_I_FN uint64_t flake_i_8_ulid_digits(uint64_t bits40) {
    const uint64_t v = flake_i_8_values(bits40);
    const uint64_t gaps =
        flake_i_count_from(v, 18) + flake_i_count_from(v, 20) + flake_i_count_from(v, 22) + flake_i_count_from(v, 27);
    return v + FLAKE_I_EACH_BYTE('0') + flake_i_count_from(v, 10) * ('A' - 10 - '0') + gaps;
}

FLAKE_I_INLINE uint64_t flake_i_ulid_bits(const char *text, size_t n, uint64_t *bad) {
    uint64_t bits = 0;
    for (size_t i = 0; i < n; i++) {
        const unsigned c = (unsigned char)text[i];
        const unsigned digit = (unsigned)flake_i_ulid_values[c & 127] - (unsigned)'0';
        *bad |= (c & 128) | (digit & ~31u);
        bits = bits << 5 | (digit & 31);
    }
    return bits;
}

FLAKE_I_FN void flake_i_put_uuid(char *out, uint64_t high, uint64_t low) {
    char middle[16];
    flake_i_put64(middle, flake_i_8_hex_digits(high & 0xffffffff));
    flake_i_put64(middle + 8, flake_i_8_hex_digits(low >> 32));
    flake_i_put64(out, flake_i_8_hex_digits(high >> 32));
    for (size_t i = 0; i < 4; i++) {
        out[8 + 5 * i] = '-';
        memcpy(out + 9 + 5 * i, middle + 4 * i, 4);
    }
    flake_i_put64(out + 28, flake_i_8_hex_digits(low & 0xffffffff));
    out[36] = '\0';
}

FLAKE_I_FN uint64_t flake_i_4_and_4(const char *first, const char *last) {
    char both[8];
    memcpy(both, first, 4);
    memcpy(both + 4, last, 4);
    return flake_i_get64(both);
}

FLAKE_I_INLINE flake128 flake_i_uuid_of_text(const char *text, uint64_t *bad) {
    const uint64_t first = flake_i_32_bits(flake_i_get64(text), bad);
    const uint64_t second = flake_i_32_bits(flake_i_4_and_4(text + 9, text + 14), bad);
    const uint64_t third = flake_i_32_bits(flake_i_4_and_4(text + 19, text + 24), bad);
    const uint64_t last = flake_i_32_bits(flake_i_get64(text + 28), bad);
    if (text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-') *bad = 1;
    return flake_i_128(first << 32 | second, third << 32 | last);
}

FLAKE_I_FN void flake_i_put_ulid(char *out, uint64_t high, uint64_t low) {
    out[0] = flake_i_crockford.digits[high >> 61];
    out[1] = flake_i_crockford.digits[high >> 56 & 31];
    flake_i_put64(out + 2, flake_i_8_ulid_digits(high >> 16 & flake_i_ones(40)));
    flake_i_put64(out + 10, flake_i_8_ulid_digits((high & 0xffff) << 24 | low >> 40));
    flake_i_put64(out + 18, flake_i_8_ulid_digits(low & flake_i_ones(40)));
    out[26] = '\0';
}

FLAKE_I_INLINE flake128 flake_i_ulid_of_text(const char *text, uint64_t *bad) {
    const uint64_t first = flake_i_ulid_bits(text, 10, bad); /* 50 bits for 48 */
    const uint64_t second = flake_i_ulid_bits(text + 10, 8, bad);
    const uint64_t last = flake_i_ulid_bits(text + 18, 8, bad);
    *bad |= first >> 48;
    return flake_i_128(first << 16 | second >> 24, second << 40 | last);
}

FLAKE_I_INLINE void flake_i_write_portable(size_t stride, const flake128 *ids, size_t n, char *out) {
    for (size_t i = 0; i < n; i++, out += stride) {
        const uint64_t high = flake_from_bytes(ids[i].bytes);
        const uint64_t low = flake_from_bytes(ids[i].bytes + 8);
        if (stride == FLAKE_I_ULID_STRIDE) flake_i_put_ulid(out, high, low);
        else flake_i_put_uuid(out, high, low);
    }
}

FLAKE_I_INLINE flake128 flake_i_id_of_text(size_t stride, const char *text, uint64_t *bad) {
    return stride == FLAKE_I_ULID_STRIDE ? flake_i_ulid_of_text(text, bad) : flake_i_uuid_of_text(text, bad);
}

/* All or none: a first pass checks all texts. */
FLAKE_I_NOINLINE bool flake_i_read_portable(size_t stride, const char *text, size_t n, flake128 *ids) {
    uint64_t bad = 0;
    flake128 id = {{0}};
    for (size_t i = 0; i < n; i++) id = flake_i_id_of_text(stride, text + stride * i, &bad);
    if (bad) return false;
    for (size_t i = 0; i < n; i++) ids[i] = n == 1 ? id : flake_i_id_of_text(stride, text + stride * i, &bad);
    return true;
}

#ifdef FLAKE_I_AVX2

typedef int16_t flake_i_s16x8 __attribute__((vector_size(16)));
typedef long long flake_i_half __attribute__((vector_size(16)));
typedef int16_t flake_i_s16x16 __attribute__((vector_size(32)));
typedef uint16_t flake_i_u16x16 __attribute__((vector_size(32)));
typedef long long flake_i_halves __attribute__((vector_size(32)));

/* b's bytes where the mask has bit 7, else a's */
#define FLAKE_I_CHOOSE(a, b, mask) \
    ((flake_i_u8x32)__builtin_ia32_pblendvb256((flake_i_c8x32)(a), (flake_i_c8x32)(b), (flake_i_c8x32)(mask)))
#define FLAKE_I_HALF(vector, which) __builtin_ia32_extract128i256((flake_i_halves)(vector), which)
FLAKE_I_INLINE FLAKE_I_AVX2 flake_i_u8x32 flake_i_each(uint64_t eight_bytes) {
    const flake_i_u64x4 zero = {0};
    return (flake_i_u8x32)(zero + eight_bytes);
}

/* 16 bytes at each pointer. */
FLAKE_I_INLINE FLAKE_I_AVX2 flake_i_u8x32 flake_i_load_halves(const void *first, const void *last) {
    const flake_i_halves zero = {0};
    flake_i_half a, b;
    memcpy(&a, first, sizeof a);
    memcpy(&b, last, sizeof b);
    return (flake_i_u8x32)__builtin_ia32_insert128i256(__builtin_ia32_insert128i256(zero, a, 0), b, 1);
}

/* Of an ID's two words in memory order: kept in registers, since a load across two fresh stores would stall. */
FLAKE_I_INLINE FLAKE_I_AVX2 flake_i_u8x32 flake_i_id_twice(uint64_t first, uint64_t last) {
    const flake_i_u64x4 id_twice = {first, last, first, last};
    return (flake_i_u8x32)id_twice;
}

/* In every other byte bits 4 to 6 are a neighbour's: FLAKE_I_PICK ignores them. gcc would not load a mask
 * of equal bytes, but compute it in three steps. */
FLAKE_I_INLINE FLAKE_I_AVX2 flake_i_u8x32 flake_i_high_nibbles(flake_i_u8x32 bytes) {
    return (flake_i_u8x32)((flake_i_u16x16)bytes >> 4) & flake_i_each(UINT64_C(0x0f7f0f7f0f7f0f7f));
}

FLAKE_I_INLINE FLAKE_I_AVX2 flake_i_u8x32 flake_i_smaller(flake_i_u8x32 a, flake_i_u8x32 b) {
#if defined(__clang__)
    const flake_i_u8x32 is_a = (flake_i_u8x32)(a < b);
    return (a & is_a) | (b & ~is_a);
#else
    return (flake_i_u8x32)__builtin_ia32_pminub256((flake_i_c8x32)a, (flake_i_c8x32)b);
#endif
}

static const flake_i_c8x32 flake_i_hex_16 =
    FLAKE_I_BOTH('0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f');

/* The 32 digits, 16 in each half, are stored in three parts: characters 0 to 15, 21 to 36, and 14 to 21.
 * The overlaps are equal, so the compiler may reorder the stores; the rising order is the fastest. */
FLAKE_I_INLINE FLAKE_I_AVX2 void flake_i_write_uuid(flake_i_u8x32 id_twice, char *out) {
    const flake_i_c8x32 each_twice = {0, 0, 1, 1, 2,  2,  3,  3,  4,  4,  5,  5,  6,  6,  7,  7,
                                      8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15};
    const flake_i_c8x32 in_the_outer_parts = {0, 1, 2,  3, 4, 5, 6, 7, -1, 8,  9,  10, 11, -1, 12, 13,
                                              2, 3, -1, 4, 5, 6, 7, 8, 9,  10, 11, 12, 13, 14, 15, -1};
    const flake_i_u8x32 outer_hyphens = {0, 0, 0,   0, 0, 0, 0, 0, '-', 0, 0, 0, 0, '-', 0, 0,
                                         0, 0, '-', 0, 0, 0, 0, 0, 0,   0, 0, 0, 0, 0,   0, 0};
    const flake_i_c8x32 in_the_middle = FLAKE_I_BOTH(4, 5, 6, 7, -1, 8, 9, 10, -1, -1, -1, -1, -1, -1, -1, -1);
    const flake_i_u8x32 middle_hyphen = {0, 0, 0, 0, '-'};
    const flake_i_u16x16 bytes = (flake_i_u16x16)FLAKE_I_PICK(id_twice, each_twice);
    const flake_i_u8x32 nibbles = FLAKE_I_CHOOSE(bytes, bytes >> 4, flake_i_each(UINT64_C(0x00ff00ff00ff00ff))) &
                                  flake_i_each(FLAKE_I_EACH_BYTE(15));
    const flake_i_u8x32 digits = FLAKE_I_PICK(flake_i_hex_16, nibbles);
    const flake_i_u8x32 outer = FLAKE_I_PICK(digits, in_the_outer_parts) | outer_hyphens;
    const flake_i_halves digits_8_to_23 = __builtin_ia32_permdi256((flake_i_halves)digits, 0x99);
    const flake_i_u64x4 middle = (flake_i_u64x4)(FLAKE_I_PICK(digits_8_to_23, in_the_middle) | middle_hyphen);
    const flake_i_half first = FLAKE_I_HALF(outer, 0), last = FLAKE_I_HALF(outer, 1);
    const uint64_t between = middle[0];
    memcpy(out, &first, sizeof first);
    memcpy(out + 14, &between, sizeof between);
    memcpy(out + 21, &last, sizeof last);
}

/* The 32 digits. `good` keeps bit 7 of each byte while the text is valid. Two tables, by a character's
 * low and high four bits, sum to bit 7 for a digit. */
FLAKE_I_INLINE FLAKE_I_AVX2 flake_i_u8x32 flake_i_uuid_digits(const char *text, flake_i_u8x32 *good) {
    const flake_i_c8x32 digits_of_32 = {0, 1, 2, 3, 4, 5, 6,  7,  9,  10, 11, 12, 14, 15, -1, -1,
                                        3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, -1, -1, -1, -1};
    const flake_i_c8x32 last_digits = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 12, 13,
                                       -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 12, 13, 14, 15};
    const flake_i_u8x32 hyphens = {0, 0, 0,   0, 0, 0, 0, 0,   '-', 0, 0, 0, 0, '-', 0, 0,
                                   0, 0, '-', 0, 0, 0, 0, '-', 0,   0, 0, 0, 0, 0,   0, 0};
    const flake_i_u8x32 elsewhere = (flake_i_u8x32)(hyphens == 0);
    const flake_i_c8x32 low = FLAKE_I_BOTH(1, 2, 2, 2, 2, 2, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0);
    const flake_i_c8x32 high = FLAKE_I_BOTH(125, 125, 125, 127, 126, 125, 126, 125, 0, 0, 0, 0, 0, 0, 0, 0);
    flake_i_u8x32 from_0, from_4;
    memcpy(&from_0, text, sizeof from_0);
    memcpy(&from_4, text + 4, sizeof from_4);
    const flake_i_u8x32 digits = FLAKE_I_PICK(from_0, digits_of_32) | FLAKE_I_PICK(from_4, last_digits);
    *good &= (flake_i_u8x32)(from_0 == hyphens) | elsewhere;
    *good &= FLAKE_I_PICK(low, digits) + FLAKE_I_PICK(high, flake_i_high_nibbles(digits));
    return digits;
}

/* The value is the smaller of two: the distance from '0', and that of the letter with the same low four
 * bits. (No letter has those of 0, 7, 8 and 9.) */
FLAKE_I_INLINE FLAKE_I_AVX2 flake_i_half flake_i_uuid_of(flake_i_u8x32 digits) {
    const flake_i_c8x32 letters = FLAKE_I_BOTH(0, 10, 11, 12, 13, 14, 15, 7, 8, 9, 0, 0, 0, 0, 0, 0);
    const flake_i_u8x32 nibble_scales = flake_i_each(UINT64_C(0x0110011001100110));
    const flake_i_u8x32 values =
        flake_i_smaller(digits - flake_i_each(FLAKE_I_EACH_BYTE('0')), FLAKE_I_PICK(letters, digits));
    const flake_i_s16x16 bytes = __builtin_ia32_pmaddubsw256((flake_i_c8x32)values, (flake_i_c8x32)nibble_scales);
    return (flake_i_half)__builtin_ia32_packuswb128((flake_i_s16x8)FLAKE_I_HALF(bytes, 0),
                                                    (flake_i_s16x8)FLAKE_I_HALF(bytes, 1));
}

/* Two characters are ten bits of two bytes: characters 0 to 15 in one half, 10 to 25 in the other. The
 * last store begins at 11, so that it includes the NUL. */
FLAKE_I_INLINE FLAKE_I_AVX2 void flake_i_write_ulid(flake_i_u8x32 id_twice, char *out) {
    const flake_i_c8x32 pairs_of_bytes = {0, -1, 2, 1, 3, 2, 4,  3, 5,  4,  7,  6,  8,  7,  9,  8,
                                          7, 6,  8, 7, 9, 8, 10, 9, 12, 11, 13, 12, 14, 13, 15, 14};
    const flake_i_u16x16 scales = {64, 1, 4, 16, 64, 1, 4, 16, 1, 4, 16, 64, 1, 4, 16, 64};
    const flake_i_c8x32 below_16 =
        FLAKE_I_BOTH('0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F');
    const flake_i_c8x32 from_16 =
        FLAKE_I_BOTH('G', 'H', 'J', 'K', 'M', 'N', 'P', 'Q', 'R', 'S', 'T', 'V', 'W', 'X', 'Y', 'Z');
    const flake_i_c8x32 last_without_first = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9,  10, 11, 12, 13, 14, 15,
                                              1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, -1};
    /* Multiplication shifts each ten bits to the top. */
    const flake_i_u16x16 ten_bits = (flake_i_u16x16)FLAKE_I_PICK(id_twice, pairs_of_bytes) * scales;
    const flake_i_u16x16 values = ten_bits >> 11 | (ten_bits << 2 & 0x1f00);
    const flake_i_u8x32 text = FLAKE_I_PICK(
        FLAKE_I_CHOOSE(FLAKE_I_PICK(below_16, values), FLAKE_I_PICK(from_16, values), values << 3), last_without_first);
    const flake_i_half first = FLAKE_I_HALF(text, 0), last = FLAKE_I_HALF(text, 1);
    memcpy(out, &first, sizeof first);
    memcpy(out + 11, &last, sizeof last);
}

/* Characters 0 to 9 at the end of one half, 10 to 25 in the other. */
FLAKE_I_INLINE FLAKE_I_AVX2 flake_i_u8x32 flake_i_first_ulid(const char *text) {
    const flake_i_c8x32 six_later = {-1, -1, -1, -1, -1, -1, 0, 1, 2, 3, 4,  5,  6,  7,  8,  9,
                                     0,  1,  2,  3,  4,  5,  6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return FLAKE_I_PICK(flake_i_load_halves(text, text + 10), six_later);
}

/* Later texts have this order in the 32 bytes that end with them; the first six are not theirs. */
FLAKE_I_INLINE FLAKE_I_AVX2 flake_i_u8x32 flake_i_later_ulid(const char *text) {
    flake_i_u8x32 c;
    memcpy(&c, text - 6, sizeof c);
    return c;
}

/* The high four bits of a character select one of three tables for its low four bits: digits, A to O, P
 * to Z. 0: no digit; 8 or more: valid as the first character. */
FLAKE_I_INLINE FLAKE_I_AVX2 flake_i_u8x32 flake_i_ulid_kinds(flake_i_u8x32 c) {
    enum { DIGIT = 1, A_TO_O = 2, P_TO_Z = 4, BELOW_8 = 8, I_L_O = 16, IN_ALL = 7 };
    const flake_i_c8x32 kinds_of_high =
        FLAKE_I_BOTH(0, 0, 0, DIGIT | BELOW_8, A_TO_O | I_L_O, P_TO_Z, A_TO_O | I_L_O, P_TO_Z, 0, 0, 0, 0, 0, 0, 0, 0);
    const flake_i_c8x32 kinds_of_low =
        FLAKE_I_BOTH(DIGIT | P_TO_Z | BELOW_8, IN_ALL | BELOW_8, IN_ALL | BELOW_8, IN_ALL | BELOW_8, IN_ALL | BELOW_8,
                     DIGIT | A_TO_O | BELOW_8, IN_ALL | BELOW_8, IN_ALL | BELOW_8, IN_ALL, IN_ALL | I_L_O,
                     A_TO_O | P_TO_Z, A_TO_O, A_TO_O | I_L_O, A_TO_O, A_TO_O, A_TO_O | I_L_O);
    return FLAKE_I_PICK(kinds_of_low, c) & FLAKE_I_PICK(kinds_of_high, flake_i_high_nibbles(c));
}

/* Values of 5 bits, joined to ten bits, then to 20. The first 20 of each 40 are 4 bits too high, so only
 * the low half of the middle byte is missing; it is 48 bits further up. */
FLAKE_I_INLINE FLAKE_I_AVX2 flake_i_u8x32 flake_i_join_values(flake_i_u8x32 values, flake_i_c8x32 order_of_bytes) {
    const flake_i_u8x32 value_scales = flake_i_each(UINT64_C(0x0120012001200120));
    const flake_i_u8x32 ten_bit_scales = flake_i_each(UINT64_C(0x0001040000104000));
    const flake_i_s16x16 ten_bits = __builtin_ia32_pmaddubsw256((flake_i_c8x32)values, (flake_i_c8x32)value_scales);
    const flake_i_u64x4 twenty_bits =
        (flake_i_u64x4)__builtin_ia32_pmaddwd256(ten_bits, (flake_i_s16x16)ten_bit_scales);
    return FLAKE_I_PICK(twenty_bits | twenty_bits >> 48, order_of_bytes);
}

/* As in a UUID. 0 is subtracted from the six foreign characters: then gcc loads this vector, too. */
FLAKE_I_INLINE FLAKE_I_AVX2 flake_i_half flake_i_ulid_of(flake_i_u8x32 c) {
    const flake_i_c8x32 a_to_o = FLAKE_I_BOTH(0, 10, 11, 12, 13, 14, 15, 16, 17, 1, 18, 19, 1, 20, 21, 0);
    const flake_i_c8x32 p_to_z = FLAKE_I_BOTH(22, 23, 24, 25, 26, 31, 27, 28, 29, 30, 31, 0, 0, 0, 0, 0);
    const flake_i_c8x32 order_of_bytes = {4,  10, 9,  8,  13, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                          -1, -1, -1, -1, -1, -1, 2,  1,  0,  5,  4,  10, 9,  8,  13, 12};
    const flake_i_u8x32 zeros = {0,   0,   0,   0,   0,   0,   '0', '0', '0', '0', '0', '0', '0', '0', '0', '0',
                                 '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0'};
    const flake_i_u8x32 letters =
        FLAKE_I_CHOOSE(FLAKE_I_PICK(a_to_o, c), FLAKE_I_PICK(p_to_z, c), (flake_i_u16x16)c << 3);
    const flake_i_u8x32 values = flake_i_smaller(c - zeros, letters);
    const flake_i_u8x32 bytes = flake_i_join_values(values, order_of_bytes);
    return FLAKE_I_HALF(bytes, 0) | FLAKE_I_HALF(bytes, 1);
}

FLAKE_I_INLINE FLAKE_I_AVX2 bool flake_i_read_uuids(const char *text, size_t n, flake128 *ids) {
    flake_i_u8x32 unused = {0}, good = ~unused;
    for (size_t i = 0; i < n; i++) (void)flake_i_uuid_digits(text + FLAKE_I_UUID_STRIDE * i, &good);
    if (__builtin_ia32_pmovmskb256((flake_i_c8x32)good) != -1) return false;
    for (size_t i = 0; i < n; i++) {
        const flake_i_half id = flake_i_uuid_of(flake_i_uuid_digits(text + FLAKE_I_UUID_STRIDE * i, &unused));
        memcpy(&ids[i], &id, sizeof id);
    }
    return true;
}

FLAKE_I_INLINE FLAKE_I_AVX2 bool flake_i_read_ulids(const char *text, size_t n, flake128 *ids) {
    const flake_i_c8x32 wanted = {0, 0, 0, 0, 0, 0, 8, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                  1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const flake_i_u8x32 first = flake_i_first_ulid(text);
    flake_i_u8x32 least = flake_i_ulid_kinds(first);
    for (size_t i = 1; i < n; i++)
        least = flake_i_smaller(least, flake_i_ulid_kinds(flake_i_later_ulid(text + FLAKE_I_ULID_STRIDE * i)));
    if (__builtin_ia32_pmovmskb256((flake_i_c8x32)least < wanted) != 0) return false;
    flake_i_half id = flake_i_ulid_of(first);
    memcpy(&ids[0], &id, sizeof id);
    for (size_t i = 1; i < n; i++) {
        id = flake_i_ulid_of(flake_i_later_ulid(text + FLAKE_I_ULID_STRIDE * i));
        memcpy(&ids[i], &id, sizeof id);
    }
    return true;
}

/* Functions of their own, since none with AVX2 is inlined into one without. */
#define FLAKE_I_AVX2_CALLS(kind, STRIDE)                                                                              \
    FLAKE_I_AVX2 FLAKE_I_FN void flake_i_to_##kind##_avx2(uint64_t first, uint64_t last, char *out) {                 \
        flake_i_write_##kind(flake_i_id_twice(first, last), out);                                                     \
    }                                                                                                                 \
    FLAKE_I_AVX2 FLAKE_I_FN void flake_i_to_##kind##_n_avx2(const flake128 *ids, size_t n, char *out) {               \
        for (size_t i = 0; i < n; i++) flake_i_write_##kind(flake_i_load_halves(&ids[i], &ids[i]), out + STRIDE * i); \
    }                                                                                                                 \
    FLAKE_I_AVX2 FLAKE_I_FN bool flake_i_from_##kind##_avx2(const char *text, flake128 *id) {                         \
        return flake_i_read_##kind##s(text, 1, id);                                                                   \
    }                                                                                                                 \
    FLAKE_I_AVX2 FLAKE_I_FN bool flake_i_from_##kind##_n_avx2(const char *text, size_t n, flake128 *ids) {            \
        return n == 0 || flake_i_read_##kind##s(text, n, ids);                                                        \
    }
FLAKE_I_AVX2_CALLS(uuid, FLAKE_I_UUID_STRIDE)
FLAKE_I_AVX2_CALLS(ulid, FLAKE_I_ULID_STRIDE)
#endif

/* The calls for texts of one kind. */
#define FLAKE_I_TEXT_CALLS(kind, STRIDE)                                                                             \
    FLAKE_API void flake128_to_##kind(const flake128 *id, char out[STRIDE]) {                                        \
        uint64_t words[2];                                                                                           \
        memcpy(words, id->bytes, sizeof words);                                                                      \
        FLAKE_I_BEST(flake_i_to_##kind##_avx2(words[0], words[1], out), flake_i_write_portable(STRIDE, id, 1, out)); \
    }                                                                                                                \
    FLAKE_API flake_status flake128_from_##kind(const char *text, size_t len, flake128 *id) {                        \
        if (!text || len != STRIDE - 1) return FLAKE_PARSE;                                                          \
        const bool is_read =                                                                                         \
            FLAKE_I_BEST(flake_i_from_##kind##_avx2(text, id), flake_i_read_portable(STRIDE, text, 1, id));          \
        return is_read ? FLAKE_OK : FLAKE_PARSE;                                                                     \
    }                                                                                                                \
    FLAKE_API void flake128_to_##kind##_n(const flake128 *ids, size_t n, char *out) {                                \
        FLAKE_I_BEST(flake_i_to_##kind##_n_avx2(ids, n, out), flake_i_write_portable(STRIDE, ids, n, out));          \
    }                                                                                                                \
    FLAKE_API flake_status flake128_from_##kind##_n(const char *text, size_t n, flake128 *ids) {                     \
        if (!text && n > 0) return FLAKE_PARSE;                                                                      \
        const bool is_read =                                                                                         \
            FLAKE_I_BEST(flake_i_from_##kind##_n_avx2(text, n, ids), flake_i_read_portable(STRIDE, text, n, ids));   \
        return is_read ? FLAKE_OK : FLAKE_PARSE;                                                                     \
    }
FLAKE_I_TEXT_CALLS(uuid, FLAKE_I_UUID_STRIDE)
FLAKE_I_TEXT_CALLS(ulid, FLAKE_I_ULID_STRIDE)

// >>process-wide
/* The process-wide generator: one engine for the module's lifetime, and a salt that makes its keys this process's own.
 * A forked child, and a process after flake_machine_cloned, continues with a copy of the word and a new salt.
 *
 * Each thread that finds no engine initialises one in one of a few places; the first to finish publishes it
 * with one CAS. If all places are taken, a thread sleeps until one is published. After a second it draws from
 * a generator on its stack, whose ID is unordered relative to the others.
 *
 *     label      at                                   pairs with   and carries
 *     PAGE:R     default generator published          PAGE:A       the initialised generator
 *
 * A salt has 128 random bits: four parts of 32 bits, each with a tag of the instance owner id. A CAS
 * replaces a part of another tag, so all threads derive the same salt for an owner id, and none waits.
 *
 * A draw reads the salt and `seal`, salt.low ^ salt.high ^ owner id, before it takes a ticket, and compares
 * their XOR with the owner id after it. If they are equal, the three words belong together and the process
 * was the same throughout. Otherwise the ticket is dropped, and the salt chosen or stored again. Words of two
 * salts, mixed by a fork between their stores or by a stopped thread that stores an older salt, pass with
 * probability 2^-64. All stores for one owner id have the same values, so relaxed is enough. (The initial
 * zeros are never compared: the first salt precedes the generator. A thread that reads an old owner id while
 * the machine is cloned may replace a part of the new salt, which then changes once more.) */
enum { FLAKE_I_DEFAULT_PLACES = 4, FLAKE_I_DEFAULT_NAPS = 10000, FLAKE_I_SALT_PARTS = 4 };
#define flake_i_default FLAKE_I_LAYOUT(flake_i_default, 6) /* its number: see flake_i_process */
struct flake_i_uuids {
    flake_i_engine engine;
    flake_i_keys keys;
};
struct flake_i_default {
    FLAKE_ATOMIC(struct flake_i_uuids *) gen; /* NULL: not published */
    flake_atomic64 low, high, seal;           /* the salt, and its check */
    flake_atomic64 parts[FLAKE_I_SALT_PARTS]; /* [ random:32 ][ tag:32 ] */
    flake_atomic64 begun;                     /* see flake_i_take_place */
    struct flake_i_uuids places[FLAKE_I_DEFAULT_PLACES];
};
FLAKE_I_ONE_PER_PROCESS(struct flake_i_default, flake_i_default);

/* The tag of an owner id. A page's word counts generations. With a pid they are above the low 32 bits,
 * and spread: else a child one generation later could have its parent's tag. */
FLAKE_I_FN uint32_t flake_i_tag_of(uint64_t owner_id) { return (uint32_t)(owner_id ^ (owner_id >> 32) * 0x9e3779b1); }

/* Chooses this process's salt. False: no random bytes. The owner id is read last, so that no newer part is replaced. */
FLAKE_I_FN bool flake_i_new_salt(void) {
    struct flake_i_default *const d = &flake_i_default;
    flake_atomic64 *word;
    uint64_t part[FLAKE_I_SALT_PARTS], owner_id;
    uint32_t fresh[FLAKE_I_SALT_PARTS];
    unsigned agreed;
    do {
        bool is_drawn = false;
        for (unsigned i = 0; i < FLAKE_I_SALT_PARTS; i++) part[i] = FLAKE_ATOMIC_LOAD(&d->parts[i], relaxed);
        owner_id = flake_i_instance_owner_id(&word);
        const uint32_t tag = flake_i_tag_of(owner_id);
        for (agreed = 0; agreed < FLAKE_I_SALT_PARTS; agreed++) {
            uint64_t *const seen = &part[agreed];
            if ((uint32_t)*seen == tag) continue;
            if (!is_drawn && !flake_i_random_bytes(fresh, sizeof fresh)) return false;
            is_drawn = true;
            const uint64_t next = (uint64_t)fresh[agreed] << 32 | tag;
            if (FLAKE_ATOMIC_CAS(&d->parts[agreed], seen, next, relaxed, relaxed)) *seen = next;
            else if ((uint32_t)*seen != tag) break; /* the owner id has changed */
        }
    } while (agreed < FLAKE_I_SALT_PARTS);
    const uint64_t low = part[0] >> 32 << 32 | part[1] >> 32;
    const uint64_t high = part[2] >> 32 << 32 | part[3] >> 32;
    FLAKE_ATOMIC_STORE(&d->low, low, relaxed);
    FLAKE_ATOMIC_STORE(&d->high, high, relaxed);
    FLAKE_ATOMIC_STORE(&d->seal, low ^ high ^ owner_id, relaxed);
    return true;
}

/* IDs increase whatever clock and counter read: time and index are the position of one word, which only
 * grows (I1). After a backward step, noticed half a ms late, draws continue from the word's unit. A forked
 * child has copies of word and window; the counter is the machine's, so they remain right. */
FLAKE_I_COLD void flake_i_default_begin(struct flake_i_uuids *fresh, const uint64_t keys[4]) {
    flake_options given, o;
    memset(&given, 0, sizeof given);
    given.layout = flake_layout_uuid7;
    (void)flake_i_fill_in(&given, &o, NULL); /* defaults are valid */
    const flake_i_engine_config config = flake_i_engine_config_of(&o, NULL);
    (void)flake_i_engine_init(&fresh->engine, &config);
    flake_i_set_keys(&fresh->keys, keys);
}

/* *g stays NULL while other threads initialise it. A place is taken when nothing can fail, since it is not released. */
FLAKE_I_FN flake_status flake_i_default_gen(struct flake_i_uuids **g) {
    uint64_t keys[4];
    *g = FLAKE_ATOMIC_LOAD(&flake_i_default.gen, relaxed); /* to test it; the caller loads it again */
    if (*g) return FLAKE_OK;
    if (!flake_i_random_bytes(keys, sizeof keys)) return FLAKE_IO;
    const unsigned place = flake_i_take_place(&flake_i_default.begun, FLAKE_I_DEFAULT_PLACES);
    if (place == FLAKE_I_DEFAULT_PLACES) return FLAKE_OK;
    struct flake_i_uuids *const fresh = &flake_i_default.places[place];
    flake_i_default_begin(fresh, keys);
    /* the salt detects forks instead */
    fresh->engine.owner_word = fresh->engine.instance_word = NULL;
    fresh->engine.owner_id = fresh->engine.instance_owner_id = 0;
    if (FLAKE_ATOMIC_CAS(&flake_i_default.gen, g, fresh, release, relaxed)) *g = fresh; /* PAGE:R */
    return FLAKE_OK;
}

FLAKE_I_INLINE flake_status flake_i_default_draw(struct flake_i_uuids *g, flake_i_ticket *ticket) {
    flake_i_ticket late; /* for the call; *ticket stays in registers */
    flake_status status = flake_i_draw(&g->engine, FLAKE_I_WAIT, 0, 1, ticket);
    if (FLAKE_I_LIKELY(status == FLAKE_OK)) return FLAKE_OK;
    status = flake_i_continue_in(&g->engine, FLAKE_I_WAIT, status, 1, &late);
    if (status == FLAKE_OK) *ticket = late;
    return status;
}

/* From a generator for this ID alone. In a signal handler the stack may be small: flake_init needs more. */
FLAKE_I_COLD flake_status flake_i_default_alone(unsigned format, flake128 *id) {
    struct flake_i_uuids own;
    uint64_t keys[4];
    flake_i_ticket ticket;
    if (!flake_i_random_bytes(keys, sizeof keys)) return FLAKE_IO;
    flake_i_default_begin(&own, keys);
    const flake_status status = flake_i_default_draw(&own, &ticket);
    if (status != FLAKE_OK) return status;
    const flake_i_run run = {&own.keys, {0, 0}, 0, FLAKE_I_1984_MS + ticket.time, ticket.index, 1};
    flake_i_form_run(format, &run, id);
    return FLAKE_OK;
}

/* False: no generator is published, or this is another process than before the ticket, which is dropped. */
FLAKE_I_INLINE bool flake_i_default_try(unsigned format, flake128 *id, flake_status *status) {
    struct flake_i_uuids *const g = FLAKE_ATOMIC_LOAD(&flake_i_default.gen, acquire); /* PAGE:A */
    const flake_i_salt salt = {FLAKE_ATOMIC_LOAD(&flake_i_default.low, relaxed),
                               FLAKE_ATOMIC_LOAD(&flake_i_default.high, relaxed)};
    const uint64_t owner_id = salt.low ^ salt.high ^ FLAKE_ATOMIC_LOAD(&flake_i_default.seal, relaxed);
    flake_i_ticket ticket;
    if (!FLAKE_I_LIKELY(g != NULL)) return false;
    *status = flake_i_default_draw(g, &ticket);
    if (*status != FLAKE_OK) return true;
    if (!FLAKE_I_LIKELY(owner_id == flake_i_instance_owner_now())) return false;
    const flake_i_run run = {&g->keys, salt, 0, FLAKE_I_1984_MS + ticket.time, ticket.index, 1};
    flake_i_form_run(format, &run, id);
    return true;
}

FLAKE_I_COLD flake_status flake_i_default_begun(unsigned format, flake128 *id) {
    struct flake_i_uuids *g;
    for (unsigned naps = 0;; naps += !g) {
        if (!flake_i_new_salt()) return FLAKE_IO;
        flake_status status = flake_i_default_gen(&g);
        if (status != FLAKE_OK || (g && flake_i_default_try(format, id, &status))) return status;
        if (!g && naps == FLAKE_I_DEFAULT_NAPS) return flake_i_default_alone(format, id);
        if (!g) FLAKE_SLEEP_NS(FLAKE_I_LEAST_NAP_NS);
    }
}

#define FLAKE_I_DEFAULT_CALLS(call, FORMAT, to_text, SIZE)                          \
    FLAKE_API flake_status call##_bytes(uint8_t out[16]) {                          \
        flake_status status;                                                        \
        if (!FLAKE_I_LIKELY(flake_i_default_try(FORMAT, (flake128 *)out, &status))) \
            status = flake_i_default_begun(FORMAT, (flake128 *)out);                \
        return status == FLAKE_OK ? status : flake_i_no_id(status, out, 16);        \
    }                                                                               \
    FLAKE_API flake_status call(char out[SIZE]) {                                   \
        flake128 id;                                                                \
        const flake_status status = call##_bytes(id.bytes);                         \
        if (status != FLAKE_OK) return flake_i_no_id(status, out, SIZE);            \
        to_text(&id, out);                                                          \
        return FLAKE_OK;                                                            \
    }
FLAKE_I_DEFAULT_CALLS(flake_uuid7, FLAKE_I_UUID7, flake128_to_uuid, FLAKE_I_UUID_STRIDE)
FLAKE_I_DEFAULT_CALLS(flake_ulid, FLAKE_I_ULID, flake128_to_ulid, FLAKE_I_ULID_STRIDE)

FLAKE_API flake_status flake_uuid7_at(int64_t unix_ms, char out[37]) {
    if (unix_ms < 0 || unix_ms >> 48) return FLAKE_TIME_RANGE;
    flake128 id;
    flake_i_put64(id.bytes, (uint64_t)unix_ms << 16);
    if (!flake_i_random_bytes(id.bytes + 6, 10)) return FLAKE_IO;
    id.bytes[6] = (uint8_t)((id.bytes[6] & 0x0f) | 0x70); /* version 7 */
    id.bytes[8] = (uint8_t)((id.bytes[8] & 0x3f) | 0x80); /* variant 10 */
    flake128_to_uuid(&id, out);
    return FLAKE_OK;
}

// >>node numbers

FLAKE_API flake_status flake_node_from_mac(const char *device, uint64_t *number48, flake_why *why) {
    *number48 = FLAKE_I_NO_NUMBER;
    return flake_i_net_number(true, device, number48, why);
}

FLAKE_API flake_status flake_node_from_ip(uint64_t *number16, flake_why *why) {
    *number16 = FLAKE_I_NO_NUMBER;
    return flake_i_net_number(false, NULL, number16, why);
}

/* The whole text up to `end` is a decimal number. */
FLAKE_I_FN bool flake_i_decimal(const char *text, const char *end, uint64_t *number) {
    return flake_parse(text, (size_t)(end - text), FLAKE_DEC, number) == FLAKE_OK;
}

FLAKE_API flake_status flake_node_from_hostname(const char *name, uint64_t first, uint64_t last, uint64_t *number,
                                                flake_why *why) {
    char room[257];
    char text[160];
    uint64_t ordinal;
    *number = FLAKE_I_NO_NUMBER;
    if (!name) name = flake_i_host_name(room, sizeof room);
    if (!name) return flake_i_say(why, FLAKE_IO, "hostname", "can't be read");
    const char *end = name;
    while (*end && *end != '.') end++; /* first label of web-3.web.prod.svc */
    const char *digits = end;
    while (digits > name && digits[-1] != '-') digits--;
    if (digits == name || !flake_i_decimal(digits, end, &ordinal))
        return flake_i_say(why, FLAKE_INVALID, name, "does not end in -NUMBER, as web-3 does");
    if (first > last || ordinal > last - first) {
        flake_i_put_numbers(text, "first # plus ordinal # is above last #", first, ordinal, last);
        return flake_i_say(why, FLAKE_INVALID, name, text);
    }
    *number = first + ordinal;
    return FLAKE_OK;
}

FLAKE_API flake_status flake_node_from_env(const char *variable, uint64_t *number, flake_why *why) {
    uint64_t value;
    *number = FLAKE_I_NO_NUMBER;
    if (!variable) return flake_i_say(why, FLAKE_INVALID, "variable", "is missing");
    const char *text = flake_i_environment(variable);
    if (!text) return flake_i_say(why, FLAKE_INVALID, variable, "is not set");
    if (!flake_i_decimal(text, text + strlen(text), &value))
        return flake_i_say(why, FLAKE_INVALID, variable, "is not a decimal number below 2^64");
    *number = value;
    return FLAKE_OK;
}

// >>configuration
/* Kinds of values. A node is a number, or FIRST-LAST. */
enum { FLAKE_I_IS_FLAG, FLAKE_I_IS_LAYOUT, FLAKE_I_IS_NODE, FLAKE_I_IS_DIR, FLAKE_I_IS_CLOCK, FLAKE_I_IS_NUMBER };

/* A word, the member of flake_config that it sets, the largest number, and what is wrong with a value that
 * the member cannot have; it begins with a quote if the message quotes the value. */
typedef struct flake_i_word {
    const char *name;
    size_t at, size;
    int kind;
    uint64_t most;
    const char *wrong;
} flake_i_word;

#define FLAKE_I_WORD(name, member, kind, most, wrong) \
    { name, offsetof(flake_config, member), sizeof(((flake_config *)0)->member), kind, most, wrong }
#define FLAKE_I_FLAG(name, member) FLAKE_I_WORD(name, member, FLAKE_I_IS_FLAG, 0, "\": the option takes no value")
#define FLAKE_I_NUMBER(name, member, most)                        \
    FLAKE_I_WORD(name, member, FLAKE_I_IS_NUMBER, UINT64_C(most), \
                 "\" is not a number from 0 to " #most "; words are separated by blanks")
/* The first words; the layout is the first of all, since it also takes bare names. */
enum { FLAKE_I_LAYOUT_WORD, FLAKE_I_UNIT_WORD, FLAKE_I_EPOCH_WORD, FLAKE_I_NODE_WORD, FLAKE_I_DIR_WORD };
static const flake_i_word flake_i_words[] = {
    FLAKE_I_WORD("layout", options.layout, FLAKE_I_IS_LAYOUT, 0,
                 "\" is neither a layout's name nor T-N-S, the bits of time, node and sequence"),
    FLAKE_I_NUMBER("unit_ms", options.layout.unit_ms, 4294967295),
    FLAKE_I_NUMBER("epoch_ms", options.layout.epoch_ms, 9223372036854775807),
    FLAKE_I_WORD("node", node, FLAKE_I_IS_NODE, UINT64_C(281474976710655),
                 "\" is neither a number nor a range FIRST-LAST, from 0 to 281474976710655; "
                 "words are separated by blanks"),
    FLAKE_I_WORD("dir", node.dir, FLAKE_I_IS_DIR, 0, NULL),
    FLAKE_I_NUMBER("seq_min", options.seq_min, 4294967295),
    FLAKE_I_NUMBER("seq_max", options.seq_max, 4294967295),
    FLAKE_I_NUMBER("lanes", options.lane_count, 65535),
    FLAKE_I_FLAG("single_thread", options.single_thread),
    FLAKE_I_WORD("clock", options.clock.kind, FLAKE_I_IS_CLOCK, 2, "\" is not exact, fast or coarse"),
    FLAKE_I_NUMBER("max_wait_ms", options.max_wait_ms, 9223372036854775807),
    FLAKE_I_NUMBER("max_ahead_ms", options.max_ahead_ms, 9223372036854775807),
    FLAKE_I_FLAG("start_this_unit", options.start_this_unit),
    FLAKE_I_NUMBER("after_unix_ms", options.after_unix_ms, 9223372036854775807),
    FLAKE_I_FLAG("seq_scatter", options.seq_scatter),
    FLAKE_I_NUMBER("claim_wait_ms", options.claim_wait_ms, 9223372036854775807),
    FLAKE_I_NUMBER("horizon_ms", options.horizon_ms, 9223372036854775807),
    FLAKE_I_NUMBER("max_downtime_ms", options.max_downtime_ms, 9223372036854775807),
    FLAKE_I_FLAG("must_exist", options.must_exist),
    FLAKE_I_FLAG("no_wait", options.no_wait),
    FLAKE_I_FLAG("manual_extend", options.manual_extend)};
enum { FLAKE_I_WORDS = sizeof flake_i_words / sizeof *flake_i_words };

/* Whether words of the text so far, a bit for each, include this one. */
FLAKE_I_FN bool flake_i_is_given(uint32_t given, size_t word) { return given >> word & 1; }

/* A layout of the bits T-N-S, in units of 1 ms since 1970. False: the text is something else. */
FLAKE_I_FN bool flake_i_layout_of_bits(const char *text, flake_layout *l) {
    uint64_t bits[3];
    for (size_t i = 0; i < 3; i++) {
        const char *const end = text + strcspn(text, "-");
        if (!flake_i_decimal(text, end, &bits[i]) || bits[i] > 64) return false;
        if (*end != (i < 2 ? '-' : 0)) return false;
        text = end + 1;
    }
    *l = flake_layout_of((unsigned)bits[0], (unsigned)bits[1], (unsigned)bits[2], 0);
    return true;
}

/* Sets the layout, but neither unit nor epoch if the text has named them. False: there is no such layout. */
FLAKE_I_FN bool flake_i_set_layout(flake_layout *to, const char *text, uint32_t given) {
    flake_layout l;
    if (flake_layout_named(text, &l) != FLAKE_OK && !flake_i_layout_of_bits(text, &l)) return false;
    if (flake_i_is_given(given, FLAKE_I_UNIT_WORD)) l.unit_ms = to->unit_ms;
    if (flake_i_is_given(given, FLAKE_I_EPOCH_WORD)) l.epoch_ms = to->epoch_ms;
    *to = l;
    return true;
}

/* Sets kind and numbers from 7 or 0-1023. False: the text is something else. */
FLAKE_I_FN bool flake_i_set_node(flake_node *node, const char *text, uint64_t most) {
    const char *const dash = strchr(text, '-'), *const end = text + strlen(text);
    *node = flake_i_node(dash ? FLAKE_I_ANY_NODE : FLAKE_I_FIXED_NODE, node->dir, 0, 0);
    return flake_i_decimal(text, dash ? dash : end, &node->number) &&
           flake_i_decimal(dash ? dash + 1 : text, end, &node->last) && node->number <= node->last &&
           node->last <= most;
}

/* Sets a word's member. False: it cannot have this value (NULL: none). */
FLAKE_I_FN bool flake_i_set_word(flake_config *c, const flake_i_word *word, const char *value, uint32_t given) {
    static const char *const clocks[] = {"fast", "coarse", "exact"}; /* in the order of the kinds */
    void *const to = (char *)c + word->at;
    uint64_t number = 0;
    if (word->kind == FLAKE_I_IS_FLAG) {
        *(bool *)to = true;
        return !value;
    }
    if (!value || !*value) return false;
    if (word->kind == FLAKE_I_IS_DIR) {
        *(const char **)to = strcmp(value, "none") == 0 ? NULL : value;
        return true;
    }
    if (word->kind == FLAKE_I_IS_NODE) return flake_i_set_node((flake_node *)to, value, word->most);
    if (word->kind == FLAKE_I_IS_LAYOUT) return flake_i_set_layout((flake_layout *)to, value, given);
    if (word->kind == FLAKE_I_IS_CLOCK)
        while (number < 3 && strcmp(value, clocks[number]) != 0) number++;
    else if (flake_parse(value, strlen(value), FLAKE_DEC, &number) != FLAKE_OK) return false;
    const uint32_t narrow = (uint32_t)number;
    memcpy(to, word->size == sizeof narrow ? (const void *)&narrow : &number, word->size);
    return number <= word->most;
}

/* Applies a word; `given` has a bit for each so far. Returns what is wrong, or NULL. */
FLAKE_I_FN const char *flake_i_take_word(flake_config *c, const char *name, const char *value, uint32_t *given) {
    size_t i = 0;
    while (i < FLAKE_I_WORDS && strcmp(flake_i_words[i].name, name) != 0) i++;
    const bool is_bare = i == FLAKE_I_WORDS && !value;
    if (i == FLAKE_I_WORDS && value) return ": no such option";
    i %= FLAKE_I_WORDS;
    if (!flake_i_set_word(c, &flake_i_words[i], is_bare ? name : value, *given))
        return is_bare                                                         ? ": neither a layout nor an option"
               : flake_i_words[i].kind == FLAKE_I_IS_FLAG || (value && *value) ? flake_i_words[i].wrong
                                                                               : ": needs a value";
    if (flake_i_is_given(*given, i)) return ": given twice";
    *given |= (uint32_t)1 << i;
    return NULL;
}

/* The first thing that is wrong with all words together; *name is its subject. NULL: nothing is. */
FLAKE_I_FN const char *flake_i_words_reject_reason(const flake_config *c, uint32_t given, bool is_sno,
                                                   const char **name) {
    const bool has_node = flake_i_is_given(given, FLAKE_I_NODE_WORD);
    const bool has_dir = flake_i_is_given(given, FLAKE_I_DIR_WORD);
    const bool takes_node = is_sno || c->options.layout.node_bits;
    for (size_t i = 0; is_sno && i < FLAKE_I_NODE_WORD; i++)
        if (flake_i_is_given(given, i)) {
            *name = flake_i_words[i].name;
            return ": a sno has its own";
        }
    *name = has_node ? "node" : "dir";
    if (!takes_node && (has_node || has_dir)) return ": the layout has no node";
    if (has_node && has_dir) return c->node.kind == FLAKE_I_ANY_NODE && !c->node.dir ? ": a range needs dir=DIR" : NULL;
    *name = has_node ? "node is unchecked" : "node is missing";
    if (has_node) return ": add dir=DIR, or dir=none if nothing is to check it";
    if (!takes_node || (is_sno && !has_dir)) return NULL;
    return ": node=7, or node=0-1023 to claim a free one; and "
           "dir=DIR, or dir=none if nothing is to check it";
}

/* Snos have no layout in the options, and need no node. */
FLAKE_I_FN flake_status flake_i_parse_config(const char *text, flake_config *c, bool is_sno, flake_why *why) {
    static const char blanks[] = " \t\r\n";
    const size_t length = text ? strlen(text) : sizeof c->text;
    const char *name = "the text", *value = NULL, *wrong = NULL;
    flake_why shown;
    uint32_t given = 0;
    memset((void *)c, 0, sizeof *c);
    if (length < sizeof c->text) memcpy(c->text, text, length);
    else wrong = " is NULL, or longer than 2047 bytes";
    for (char *at = c->text; !wrong && *(at += strspn(at, blanks));) {
        value = NULL;
        name = at++;
        at += strcspn(at, " \t\r\n=");
        if (*at == '=') {
            *at++ = 0;
            const bool is_quoted = *at == '"';
            value = at += is_quoted;
            at += strcspn(at, is_quoted ? "\"" : blanks);
            if (is_quoted && (!*at || !strchr(blanks, at[1])))
                wrong = ": the value needs a second quote, and a blank after it";
        }
        if (*at) *at++ = 0;
        if (!wrong) wrong = flake_i_take_word(c, name, value, &given);
    }
    if (!is_sno && !flake_i_is_given(given, FLAKE_I_LAYOUT_WORD))
        (void)flake_i_set_layout(&c->options.layout, "default", given);
    if (!wrong) wrong = flake_i_words_reject_reason(c, given, is_sno, &name);
    if (!flake_i_is_given(given, FLAKE_I_NODE_WORD)) c->node = flake_node_none();
    if (wrong) {
        const bool is_quoted = *wrong == '"';
        flake_i_put_why(&shown, name, is_quoted ? ": \"" : "", is_quoted ? value : "");
        shown.text[88] = 0; /* leaves room for `wrong` */
        flake_i_put_why(why, "config: ", shown.text, wrong);
    }
    if (!wrong && (is_sno || flake_layout_check(&c->options.layout, why) == FLAKE_OK)) return FLAKE_OK;
    memset((void *)c, 0, sizeof *c);
    return FLAKE_INVALID;
}

FLAKE_API flake_status flake_config_parse(const char *text, flake_config *c, flake_why *why) {
    return flake_i_parse_config(text, c, false, why);
}

#ifdef FLAKE_SHARED
/* Allocated after the generator by flake_new and sno_gen_new. */
FLAKE_I_FN flake_config *flake_i_config_of(void *gen, size_t gen_size) {
    return (flake_config *)(void *)((char *)gen + gen_size);
}

/* Zeroed memory for a generator, with a parsed config and its lanes. NULL: `why` has the reason. */
FLAKE_I_FN void *flake_i_allocate(const char *text, size_t gen_size, bool is_sno, flake_why *why) {
    void *const gen = flake_i_zeroed(1, gen_size + sizeof(flake_config));
    if (!gen) return flake_i_put_why(why, "config: no memory", "", ""), (void *)NULL;
    flake_config *const c = flake_i_config_of(gen, gen_size);
    if (flake_i_parse_config(text, c, is_sno, why) != FLAKE_OK) return flake_i_free(gen), (void *)NULL;
    if (!c->options.lane_count) return gen;
    c->options.lanes = (flake_lane *)flake_i_zeroed(c->options.lane_count, sizeof(flake_lane));
    if (c->options.lanes) return gen;
    flake_i_put_why(why, "config: no memory for lanes", "", "");
    return flake_i_free(gen), (void *)NULL;
}

/* Keeps the memory if the generator is not closed. */
FLAKE_I_FN flake_status flake_i_free_gen(flake_gen *g, size_t gen_size, flake_why *why) {
    const flake_status status = g ? flake_close(g, why) : FLAKE_OK;
    if (!g || status == FLAKE_AGAIN) return status;
    flake_i_free(flake_i_config_of(g, gen_size)->options.lanes);
    flake_i_free(g);
    return status;
}

FLAKE_API flake_gen *flake_new(const char *text, flake_why *why) {
    flake_gen *const g = (flake_gen *)flake_i_allocate(text, sizeof *g, false, why);
    if (!g) return NULL;
    const flake_config *const c = flake_i_config_of(g, sizeof *g);
    if (flake_init(g, c->node, &c->options, why) == FLAKE_OK) return g;
    (void)flake_i_free_gen(g, sizeof *g, NULL);
    return NULL;
}

FLAKE_API flake_status flake_free(flake_gen *g, flake_why *why) { return flake_i_free_gen(g, sizeof *g, why); }

FLAKE_API const char *flake_version(void) { return FLAKE_VERSION_STRING; }
#endif

#endif /* FLAKE_I_IMPLEMENTED */

/* MIT License
 *
 * Copyright (c) 2026 the authors of flake.h and sno.h
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
 * documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
 * rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to
 * permit persons to whom the Software is furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all copies or
 * substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
 * WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
 * COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
 * OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 */
