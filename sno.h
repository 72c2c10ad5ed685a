/* sno.h: unique, time-ordered 80-bit ids with a metabyte for any number of threads, without a lock.
 *
 * Version 0.1.0. C11, or C++11 and later. SPDX-License-Identifier: MIT (the text is at the end.)
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
 *     sno_generate     the process-wide generator, for a program of one process and its children: the
 *                      partition is drawn from clock and pid, and a stranger may draw the same
 *     sno_new          a generator of yours, with the partition and the range that you give it
 *     sno_try          never waits; sno_retry_ns says when to come again (event loops)
 *     sno_new_n        many at once, at a fraction of the price each
 *     sno_shard_...    one shard per thread: no shared cache line, for many cores
 *     sno_pool_...     lends shards to threads that come and go
 *     sno_try_at       with a clock reading that you have already
 *
 * WHO MAY CALL WHAT AT THE SAME TIME
 *
 *     a sno_gen        all calls but init, from any number of threads and signal handlers; several
 *                      processes too if it lies in shared memory and was made so
 *     a sno_shard      one thread at a time draws; the questions anyone
 *     a sno_pool       borrow and give_back from any thread
 *     a sno_ring       push and pop from any thread
 *
 * Two generators that run at once, in one process or in many, need partitions or sequence ranges of
 * their own; then no id is given twice. (One that follows another with the same partition must begin
 * in a later unit of time, or have a state file or a snapshot.) Ids of one generator rise in the
 * order of the calls, if the clock was not put back and the metabyte is the same: the metabyte
 * stands before the sequence. A clock that is put back changes the tick of the ids, and nobody
 * waits; only a clock put back again into time that was already used twice makes callers wait. A
 * draw orders no other memory accesses.
 *
 * HOOKS: macros to define before the include
 *
 *     SNO_ATOMIC(T)                 type of an atomic T               _Atomic(T), std::atomic<T>
 *     SNO_ATOMIC_LOAD(p, order)     order is relaxed, acquire ...
 *     SNO_ATOMIC_STORE(p, v, order)
 *     SNO_ATOMIC_ADD(p, v, order)   returns what was there
 *     SNO_ATOMIC_CAS(p, seen, v, success, failure)                    define all five or none
 *     SNO_CLOCK_NS(kind)            Unix time in ns                   clock_gettime
 *     SNO_SLEEP_NS(ns)              sleeps that long or longer        nanosleep
 *     SNO_RELAX()                   between two tries of a CAS        pause, isb
 *     SNO_ASSERT(condition)         programming errors                nothing
 *     SNO_NO_SIMD                   text by portable code alone       not defined
 *     SNO_MAIN                      the command-line tool             not defined
 *
 * Find your way by these marks:
 *
 *     // >>public      what you call
 *     // >>common      the engine, with its protocol
 *     // >>options     what you can set
 *     // >>ids     // >>sort     // >>text     // >>generators     // >>default
 *     // >>tool        the command-line tool: cc -O2 -x c -DSNO_MAIN sno.h -o sno
 */
#ifndef SNO_H
#define SNO_H

#if defined(SNO_MAIN) && defined(__clang__) /* it takes the header for a program's own code */
#pragma clang diagnostic ignored "-Wunused-function"
#endif

#define SNO_VERSION_MAJOR  0
#define SNO_VERSION_MINOR  1
#define SNO_VERSION_PATCH  0
#define SNO_VERSION_STRING "0.1.0"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#ifdef __cplusplus
#include <atomic>
#else
#include <stdatomic.h>
#endif
#if defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>
#else
#include <unistd.h>
#endif
#if !defined(_WIN32)
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#if !defined(__linux__) && !defined(CLOCK_REALTIME)
#include <threads.h>
#endif
#endif
#ifndef SNO_NO_SIMD
#if defined(__x86_64__) && defined(__SSE2__) && defined(__GNUC__)
#define SNO_I_X86
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(__ARM_BIG_ENDIAN)
#define SNO_I_NEON
#include <arm_neon.h>
#endif
#endif

// >>public

typedef enum sno_status {
    SNO_OK = 0,
    SNO_AGAIN,      /* this unit's ids are all drawn: try later (sno_retry_ns) */
    SNO_CLOCK_BACK, /* the clock was put back into time that both ticks have used */
    SNO_RANGE,      /* a time outside 2010..2079 */
    SNO_INVALID,    /* an argument or option that does not fit; sno_options_why names it */
    SNO_PARSE,      /* not a text of this form */
    SNO_EXHAUSTED,  /* this process has used up its 65,535 partitions */
    SNO_FORKED,     /* inherited through fork(), or the machine was cloned: another process may give
                     the same ids. See sno_reinit_after_fork */
    SNO_IO,         /* the system refused a file */
    SNO_TORN,       /* a state file that is cut short or damaged */
    SNO_FOREIGN,    /* a state file of another partition or pool, or none at all */
    SNO_DOWNTIME,   /* the last run ended longer ago than allowable_downtime_ms */
    SNO_TAKEN,      /* somebody else holds this file */
    SNO_LEASE       /* the gate of the options was closed */
} sno_status;

static inline const char *sno_status_str(sno_status status);

/* ---- ids ----
 *
 * 80 bits, big-endian, so that memcmp orders them as sno_compare does:
 *
 *     [ time:39 ][ tick:1 ][ meta:8 ][ partition:16 ][ sequence:16 ]    time: 4 ms since 2010
 */
typedef struct sno_id {
    uint8_t bytes[10];
} sno_id;

static inline int64_t sno_time_ns(sno_id); /* Unix time of the unit's begin */
static inline uint64_t sno_units(sno_id);  /* since 2010-01-01 UTC */
static inline unsigned sno_tick(sno_id);   /* changes when the clock was put back */
static inline uint8_t sno_meta(sno_id);
static inline uint16_t sno_partition(sno_id);
static inline uint16_t sno_sequence(sno_id);
static inline int sno_compare(sno_id, sno_id); /* by time, tick, meta, partition, sequence */
static inline bool sno_equal(sno_id, sno_id);
static inline bool sno_is_zero(sno_id);
static inline void sno_sort(sno_id *ids, size_t n); /* in place, a radix sort */
/* SNO_RANGE: units past 39 bits. SNO_INVALID: tick past 1. */
static inline sno_status sno_compose(uint64_t units, unsigned tick, uint8_t meta,
                                     uint16_t partition, uint16_t sequence, sno_id *);
/* The smallest and the largest id of a time's unit, for range scans. SNO_RANGE: outside 2010..2079. */
static inline sno_status sno_min_at(int64_t unix_ns, sno_id *);
static inline sno_status sno_max_at(int64_t unix_ns, sno_id *);
static inline sno_id sno_from_bytes(const uint8_t in[10]);
static inline void sno_to_bytes(sno_id, uint8_t out[10]);

/* ---- text ----
 *
 * 16 characters of 2-9a-x, which sort as the ids do. Reading is strict: the whole input, lower case
 * (but a UUID's hex in either), nothing around it; what fails leaves the output alone. No NUL is
 * written but by to_json and to_uuid.
 */
static inline void sno_encode(sno_id, char out[16]);
static inline sno_status sno_decode(const char *, size_t len, sno_id *);
static inline void sno_encode_n(const sno_id *, size_t n, char *out);    /* 16 * n characters */
static inline sno_status sno_decode_n(const char *, size_t n, sno_id *); /* all n or none */
static inline void sno_to_json(sno_id, char out[19]); /* in quotes; the zero id is null */
static inline sno_status sno_from_json(const char *, size_t len, sno_id *);
static inline void sno_to_uuid(sno_id, char out[37]); /* its 16 characters as a UUID's 16 bytes */
static inline sno_status sno_from_uuid(const char *, size_t len, sno_id *);

/* ---- generators ----
 *
 * Every call that fails leaves generator and output as they were, unless it says otherwise.
 */
typedef struct sno_gen sno_gen;
typedef struct sno_options sno_options;

/* Where a generator stands, and what a new one may be made from. All times in 4 ms units since
 * 2010. */
typedef struct sno_snapshot {
    uint16_t partition;
    uint16_t sequence_min,
        sequence_max;  /* the pool, 4 numbers or more, in either order; max 0: 65535 */
    uint32_t sequence; /* last number drawn, past the maximum while callers queue; 0: the minimum */
    int64_t now;       /* the clock, when taken */
    int64_t wall_hi;   /* the newest unit drawn in */
    int64_t wall_safe; /* the last unit used on the other tick */
    uint32_t drifts;   /* how often the clock was put back; its parity is the tick */
} sno_snapshot;

/* NULL, or no snapshot: the whole pool, and a partition that no other generator made so has: not in
 * this process, nor in those that fork from it after the first such call. (Explicit partitions are
 * yours to keep apart.) Partitions are not given back. The snapshot is read here only. SNO_INVALID,
 * SNO_EXHAUSTED. Not while others use the generator. It begins at the clock: with a partition of yours it
 * repeats the ids of a run that ended within the same 4 ms, unless it has a state file or a snapshot. */
static inline sno_status sno_init(sno_gen *, const sno_options *);
/* What is wrong with options that sno_init refuses, naming the field; NULL: nothing. */
static inline const char *sno_options_why(const sno_options *);
/* Waits when it must. The zero id outside 2010..2079, in a forked child, when a gate refuses, or after
 * max_wait_ms if one was set (sno_new_n with n = 1 says which). Wait-free while ids are free. */
static inline sno_id sno_new(sno_gen *, uint8_t meta);
/* Lock-free, never waits: SNO_AGAIN, SNO_CLOCK_BACK, SNO_RANGE, SNO_FORKED. */
static inline sno_status sno_try(sno_gen *, uint8_t meta, sno_id *);
/* When sno_try will succeed, if nobody is faster; 0: now, INT64_MAX: never. */
static inline int64_t sno_retry_ns(sno_gen *);
/* All n, waiting for each unit. When a later unit fails, the ids before it stand in front and the rest
 * is zero; when the first does, the array is as it was. */
static inline sno_status sno_new_n(sno_gen *, uint8_t meta, sno_id *ids, size_t n);
/* As many as are free now; returns how many. */
static inline size_t sno_try_n(sno_gen *, uint8_t meta, sno_id *ids, size_t n);
/* With the caller's own, perhaps cached, reading of the clock. One older than the newest unit
 * counts as that unit. One that lies ahead of the clock drags the generator ahead too. */
static inline sno_status sno_try_at(sno_gen *, uint8_t meta, int64_t unix_ns, sno_id *);
/* An id of any time, to port old ids: tick 0, and a sequence of its own that goes round the pool. So
 * it is unique among sno_cap such calls in a row, not against sno_new in the same unit. */
static inline sno_status sno_new_with_time(sno_gen *, uint8_t meta, int64_t unix_ns, sno_id *);

/* The process-wide generator, made by the first call; in a forked child made anew, with another
 * partition than its parent and siblings, if one of them called before the fork. The zero id as
 * sno_new, and when no partition is left: give long-lived families of short-lived processes
 * partitions of your own choice. */
static inline sno_id sno_generate(uint8_t meta);

static inline sno_status sno_snapshot_take(sno_gen *, sno_snapshot *); /* lock-free, never torn */
static inline uint32_t
sno_sequence_now(sno_gen *);               /* last number drawn in this unit, or the minimum */
static inline uint32_t sno_len(sno_gen *); /* ids drawn in this unit */
static inline uint32_t sno_cap(const sno_gen *); /* ids a unit has */
typedef struct sno_stats sno_stats; /* ids, batches, waits, clock_backs: see the struct */
static inline void sno_stats_get(sno_gen *, sno_stats *);
static inline uint16_t sno_gen_partition(const sno_gen *);

/* ---- shards: one generator's sequence numbers, split among threads ----
 *
 * Each shard has a range of its own, so its owner draws with plain loads and stores. One thread at
 * a time.
 */
typedef struct sno_shard sno_shard;
static inline sno_status sno_shards_init(sno_shard *, size_t n, const sno_options *);
static inline sno_id sno_shard_new(sno_shard *, uint8_t meta);
static inline sno_status sno_shard_try(sno_shard *, uint8_t meta, sno_id *);
static inline int64_t sno_shard_retry_ns(sno_shard *);
static inline sno_status sno_shard_new_n(sno_shard *, uint8_t meta, sno_id *ids, size_t n);
static inline size_t sno_shard_try_n(sno_shard *, uint8_t meta, sno_id *ids, size_t n);
static inline sno_status sno_shard_try_at(sno_shard *, uint8_t meta, int64_t unix_ns, sno_id *);
/* A snapshot to make all n shards from again, taken while nobody draws: every number of every unit up
 * to the newest of any shard, on both ticks, counts as drawn. */
static inline sno_status sno_shards_snapshot(sno_shard *, size_t n, sno_snapshot *);
/* The shard as a generator, for the questions (len, cap, stats). */
static inline sno_gen *sno_shard_gen(sno_shard *);

/* Lends shards to threads. NULL: all are lent (make more shards, or fall back on sno_generate). A shard
 * that comes back goes on where it stood. */
typedef struct sno_pool sno_pool;
static inline sno_status sno_pool_init(sno_pool *, sno_shard *, size_t n, const sno_options *);
static inline sno_shard *sno_pool_borrow(sno_pool *);
static inline void sno_pool_give_back(sno_pool *, sno_shard *);

/* ---- overflow: options.overflow gets a note each ms while callers queue ----
 *
 * A full ring drops notes. Any number of threads may push and pop.
 */
typedef struct sno_ring sno_ring;
typedef struct sno_ring_slot sno_ring_slot;
typedef struct sno_overflow sno_overflow;
static inline sno_status sno_ring_init(sno_ring *, sno_ring_slot *slots, size_t n);
static inline bool sno_ring_push(sno_ring *, sno_overflow);
static inline bool sno_ring_pop(sno_ring *, sno_overflow *); /* false: empty */

/* ---- after fork, crash and restart ----
 *
 * A forked child, and a process after sno_generation_bump(), gets SNO_FORKED (the default generator
 * takes a new partition by itself) until it says with which pool it goes on. SNO_INVALID: one that has
 * some of the parent's ids in it, or it was not forked. For a shard likewise, through sno_shard_gen.
 */
static inline void sno_generation_bump(void);
static inline sno_status sno_reinit_after_fork(sno_gen *, const sno_options *);

/* A state file holds a time ahead of all ids that were handed out, so that the next run repeats none,
 * whatever became of this one and of the clock:
 *
 *     sno_state state;
 *     sno_snapshot pool = {0}; // partition and bounds; all zero: the file's, or new ones
 *     sno_state_options where = {0};
 *     where.path = "/var/lib/app/snos";
 *     if (sno_state_open(&state, &where, &pool, &why) != SNO_OK) ... why.text
 *     options.snapshot = &pool;
 *     options.state = &state;
 *     sno_init(&ids, &options); // or sno_shards_init
 *     ...
 *     sno_state_close(&state);
 *
 * After a crash open waits until the time on file has passed, three seconds at most by default. A file
 * that it does not understand it leaves alone: SNO_TORN, SNO_FOREIGN (another partition or pool),
 * SNO_CLOCK_BACK (from the future), SNO_DOWNTIME, SNO_TAKEN (in use), SNO_IO. The first draw that
 * comes near the horizon writes the file (every 1.5 s by default); sno_state_extend from a timer spares
 * it that. See sno_state_options.
 * Beside it lies a lock, PATH.sno-lock, which the program must neither delete nor open.
 */
typedef struct sno_state sno_state;
typedef struct sno_state_options sno_state_options;
typedef struct sno_why sno_why; /* what was wrong, in words; NULL: don't tell */
static inline sno_status sno_state_open(sno_state *, const sno_state_options *, sno_snapshot *pool,
                                        sno_why *);
static inline sno_status sno_state_extend(sno_state *);
static inline sno_status sno_state_close(sno_state *);

// clang-format off
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
 *  I3  No id is handed out whose time is more than max_ahead ahead of the clock.
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
 * MEMORY ORDERS
 *
 *     label      at                                   pairs with   and carries
 *     LEAVE:R    move that leaves a timeline, release LOOK:A       safe[] raised, drifts settled
 *     LOOK:A     load of the word, acquire; the same  LEAVE:R      (I5), and keeps the second
 *                order where a failed CAS loads it                 reading behind it (I2)
 *     FILL:R     slot's turn stored by push           DRAIN:A      the note in the slot
 *     DRAIN:R    slot's turn stored by pop            FILL:A       the slot is free again
 *     BACK:R     shard returned to the pool           LEND:A       all the last owner did to it
 *     SETTLE:R   drift count raised                   SETTLE:A     that the timeline was left
 *     PAGE:R     fork page published                  PAGE:A       its first word
 *     TURN:R     files: a thread's turn is over       TURN:A       what it did in it
 *     DISK:R     horizon published                    DISK:A       that it is on disk
 *
 *  All other accesses are relaxed, for these reasons. A draw that stays on its timeline publishes
 *  nothing but the word itself, and I1 needs no order; being an RMW it carries on the release
 *  sequence of the LEAVE:R before it, so a later LOOK:A still synchronises with that. The fetch_add
 *  is no LOOK:A, though: who makes more of the word that it returns than his place loads it anew.
 *  An owned word (a shard's) has one writer, and changes hands only through LEND and BACK or by the
 *  user's own means. safe[] is reached through LOOK:A. The overflow word only elects who writes a
 *  note, and the statistics are read by nobody who acts on them.
 *
 *  LOOK:A keeps later loads behind it, but a processor's time register need not be a load. The
 *  second reading is taken only because of the word's value, which orders it too. And little hangs
 *  on it: an imagined step back costs a wait or a changed tick, never an id twice.
 *
 * PROGRESS
 *
 *  Draw by fetch_add: wait-free where the machine adds so. Draw by CAS: lock-free, and a failure
 *  means that another draw succeeded. Owned word: wait-free. A waiting call sleeps besides, and lets
 *  nobody else wait for it: a thread that dies in any line holds nothing but its own place.
 */

/* ---- atomics ---- */

#ifndef SNO_ATOMIC
#ifdef __cplusplus
#define SNO_ATOMIC(T)                 std::atomic<T>
#define SNO_ATOMIC_LOAD(p, order)     (p)->load(std::memory_order_##order)
#define SNO_ATOMIC_STORE(p, v, order) (p)->store(v, std::memory_order_##order)
#define SNO_ATOMIC_ADD(p, v, order)   (p)->fetch_add(v, std::memory_order_##order)
#define SNO_ATOMIC_CAS(p, seen, v, success, failure)                    \
    (p)->compare_exchange_strong(*(seen), v, std::memory_order_##success, \
                                 std::memory_order_##failure)
#else
#define SNO_ATOMIC(T)                 _Atomic(T)
#define SNO_ATOMIC_LOAD(p, order)     atomic_load_explicit(p, memory_order_##order)
#define SNO_ATOMIC_STORE(p, v, order) atomic_store_explicit(p, v, memory_order_##order)
#define SNO_ATOMIC_ADD(p, v, order)   atomic_fetch_add_explicit(p, v, memory_order_##order)
#define SNO_ATOMIC_CAS(p, seen, v, success, failure)                          \
    atomic_compare_exchange_strong_explicit(p, seen, v, memory_order_##success, \
                                            memory_order_##failure)
#endif
#endif

#if defined(__GNUC__) /* said aloud for i386, whose plain 64-bit members are 4-aligned */
typedef SNO_ATOMIC(uint64_t) sno_i_atomic64 __attribute__((aligned(8)));
#else
typedef SNO_ATOMIC(uint64_t) sno_i_atomic64;
#endif
typedef SNO_ATOMIC(uint32_t) sno_i_atomic32;

#if defined(__GNUC__) || defined(__clang__)
#define SNO_I_INLINE    static inline __attribute__((always_inline))
#define SNO_I_COLD      static __attribute__((noinline, cold, unused))
#define SNO_I_LIKELY(x) __builtin_expect(!!(x), 1)
#elif defined(_MSC_VER)
#define SNO_I_INLINE    static __forceinline
#define SNO_I_COLD      static __declspec(noinline)
#define SNO_I_LIKELY(x) (x)
#else
#define SNO_I_INLINE    static inline
#define SNO_I_COLD      static inline
#define SNO_I_LIKELY(x) (x)
#endif

/* Defines an object that is one in the whole process, in however many units the header stands. */
#if defined(_MSC_VER)
#define SNO_I_ONE_PER_PROCESS(type, name) __declspec(selectany) type name
#elif defined(_WIN32) && defined(__cplusplus)
#define SNO_I_ONE_PER_PROCESS(type, name) __attribute__((selectany)) type name = {}
#elif defined(_WIN32)
#define SNO_I_ONE_PER_PROCESS(type, name) __attribute__((selectany)) type name = {0}
#else
#define SNO_I_ONE_PER_PROCESS(type, name) __attribute__((weak)) type name
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

/* ---- clock and sleep ---- */

enum { SNO_CLOCK_EXACT = 0, SNO_CLOCK_COARSE = 1 };

typedef struct sno_clock {
    int64_t (*now_ns)(void *user); /* Unix time in ns; NULL: the system's clock, of this kind: */
    void *user;
    int kind; /* EXACT, or COARSE: reads fast, lags by some ms, and the exact one is asked when a
                 unit looks spent or the clock put back */
} sno_clock;

/* Strict C hides POSIX from a header that comes after others; on Linux what is hidden is reached by its
 * link name, with the kernel's own types. */
#if defined(__linux__) && !defined(CLOCK_REALTIME)
#define SNO_I_BY_NAME
struct sno_i_timespec {
    long sec, nsec;
};
extern int sno_i_clock_gettime(int id, struct sno_i_timespec *) __asm__("clock_gettime");
extern int sno_i_nanosleep(const struct sno_i_timespec *,
                             struct sno_i_timespec *) __asm__("nanosleep");
#endif

static inline int64_t sno_i_system_ns(int kind) {
#if defined(_WIN32)
    FILETIME t;
    if (kind == SNO_CLOCK_COARSE) GetSystemTimeAsFileTime(&t);
    else GetSystemTimePreciseAsFileTime(&t);
    return ((int64_t)((uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime) - 116444736000000000) *
           100;
#elif defined(SNO_I_BY_NAME) && defined(__LP64__)
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

/* Sleeps that long or longer, whatever signals come. */
static inline void sno_i_system_sleep(int64_t ns) {
#if defined(_WIN32)
    for (; ns > 0; ns -= 1000000000)
        Sleep((DWORD)((ns < 1000000000 ? ns + 999999 : 1000000000) / 1000000));
#elif defined(SNO_I_BY_NAME)
    struct sno_i_timespec t;
    t.sec = (long)(ns / 1000000000);
    t.nsec = (long)(ns % 1000000000);
    while (sno_i_nanosleep(&t, &t) != 0) {
    }
#else
    struct timespec t;
    t.tv_sec = (time_t)(ns / 1000000000);
    t.tv_nsec = (long)(ns % 1000000000);
#if defined(CLOCK_REALTIME)
    while (nanosleep(&t, &t) != 0) {
    } /* cut short by a signal */
#else
    while (thrd_sleep(&t, &t) != 0) {
    }
#endif
#endif
}

#ifndef SNO_CLOCK_NS
#define SNO_CLOCK_NS(kind) sno_i_system_ns(kind)
#endif
#ifndef SNO_SLEEP_NS
#define SNO_SLEEP_NS(ns) sno_i_system_sleep(ns)
#endif

SNO_I_INLINE int64_t sno_i_now_ns(const sno_clock *c) {
    return c->now_ns ? c->now_ns(c->user) : SNO_CLOCK_NS(c->kind);
}

static inline int64_t sno_i_exact_ns(const sno_clock *c) {
    return c->now_ns ? c->now_ns(c->user) : SNO_CLOCK_NS(SNO_CLOCK_EXACT);
}

/* ---- ring: bounded, many producers, many consumers, lock-free ----
 *
 * Each slot counts its turns: 2r when it is free for the producer of round r, 2r + 1 when it holds
 * that round's note. head and tail only grow; with 64 bits they don't come round. A producer that
 * is stopped between its CAS and FILL:R hides its note and those behind it, and blocks nobody.
 */
/* A full ring drops notes; those of different ms may come out in another order, so look at now_ns.
 * The last one, count 0, is written by a caller that was queued or by the next one to draw. */
typedef struct sno_overflow {
    int64_t now_ns;
    uint32_t count; /* callers queued then, a batch counted by its places; 0: it is over */
    uint32_t ticks; /* ms since this overflow began */
} sno_overflow;

typedef struct sno_ring_slot {
    sno_i_atomic64 turn;
    sno_overflow note;
} sno_ring_slot;

typedef struct sno_ring {
    sno_ring_slot *slots;
    uint64_t size;
    char pad0[64];
    sno_i_atomic64 head; /* next to push */
    char pad1[56];
    sno_i_atomic64 tail; /* next to pop */
    char pad2[56];
} sno_ring;

/* Any number of slots. Not while others use the ring. */
static inline sno_status sno_ring_init(sno_ring *ring, sno_ring_slot *slots, size_t n) {
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
static inline sno_ring_slot *sno_i_ring_claim(sno_ring *ring, sno_i_atomic64 *end,
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

/* false: full. Conservative: may say so for a moment while a consumer is at work. */
static inline bool sno_ring_push(sno_ring *ring, sno_overflow note) {
    uint64_t turn;
    sno_ring_slot *slot = sno_i_ring_claim(ring, &ring->head, 0, &turn);
    if (!slot) return false;
    slot->note = note;
    SNO_ATOMIC_STORE(&slot->turn, turn + 1, release); /* FILL:R */
    return true;
}

/* false: empty. Conservative likewise. */
static inline bool sno_ring_pop(sno_ring *ring, sno_overflow *note) {
    uint64_t turn;
    sno_ring_slot *slot = sno_i_ring_claim(ring, &ring->tail, 1, &turn);
    if (!slot) return false;
    *note = slot->note;
    SNO_ATOMIC_STORE(&slot->turn, turn + 1, release); /* DRAIN:R */
    return true;
}

/* ---- fork word ----
 *
 * A word in a page that the kernel wipes in a forked child. A generator keeps the value that it saw
 * when it was initialised; another value means another process. Nobody writes it but the first to
 * initialise a generator in a process. Where the kernel has no such page (Linux before 4.14, other
 * systems) the generator compares getpid() instead, at the price of a system call an id.
 */
struct sno_i_process {
    SNO_ATOMIC(sno_i_atomic64 *) page; /* NULL: not asked for yet */
    sno_i_atomic64 generation;           /* survives the fork, so that a child's value is new */
    sno_i_atomic32 bumps;                /* likewise: of the process and its forebears */
    sno_i_atomic64 locking;              /* the files' (see there): mark of who is at it, or 0 */
    uint64_t locks_mark;                   /* and the process whose they are */
    struct sno_i_lock *locks;
};

#if defined(__cplusplus)
extern "C" {
#endif
extern struct sno_i_process sno_i_process;
SNO_I_ONE_PER_PROCESS(struct sno_i_process, sno_i_process);
#if defined(__linux__)
extern int sno_i_madvise(void *, size_t, int) __asm__("madvise");
extern int sno_i_fsync(int) __asm__("fsync");
#elif !defined(_WIN32)
#define sno_i_fsync fsync
#endif
#if defined(__cplusplus)
}
#endif

/* Marks this process where no page does. */
static inline uint64_t sno_i_pid(void) {
#if defined(_WIN32)
    return 1; /* no fork */
#else
    return (uint64_t)getpid();
#endif
}

SNO_I_COLD uint64_t sno_i_pid_mark(void) {
    return SNO_ATOMIC_LOAD(&sno_i_process.generation, relaxed) << 32 | sno_i_pid();
}

/* A fresh page of zeros, shared with children to come or not; NULL: none to be had. */
static inline void *sno_i_new_page(bool shared) {
#if defined(_WIN32)
    return shared ? NULL : VirtualAlloc(NULL, 4096, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
#else
#if defined(MAP_ANONYMOUS)
    const int anonymous = MAP_ANONYMOUS;
#elif defined(MAP_ANON)
    const int anonymous = MAP_ANON;
#elif defined(__mips__) || defined(__xtensa__) /* Linux's own, hidden by strict C */
    const int anonymous = 0x800;
#elif defined(__alpha__) || defined(__hppa__)
    const int anonymous = 0x10;
#else
    const int anonymous = 0x20;
#endif
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                      (shared ? MAP_SHARED : MAP_PRIVATE) | anonymous, -1, 0);
    return page == MAP_FAILED ? NULL : page;
#endif
}

static inline void sno_i_drop_page(void *page) {
#if defined(_WIN32)
    (void)VirtualFree(page, 0, MEM_RELEASE);
#else
    (void)munmap(page, 4096);
#endif
}

/* An emulator that takes every advice would take a senseless one too, and wipe nothing. */
static inline bool sno_i_wipe_on_fork(void *page) {
#if defined(__linux__)
    enum { wipe_on_fork = 18, senseless = -1 };
    return sno_i_madvise(page, 4096, senseless) != 0 &&
           sno_i_madvise(page, 4096, wipe_on_fork) == 0;
#else
    (void)page;
    return false;
#endif
}

static inline sno_i_atomic64 *sno_i_fork_page(void) {
    sno_i_atomic64 *page = SNO_ATOMIC_LOAD(&sno_i_process.page, acquire); /* PAGE:A */
    if (page) return page;
    void *fresh = sno_i_new_page(false);
    if (!fresh) return NULL;
    if (sno_i_wipe_on_fork(fresh) &&
        SNO_ATOMIC_CAS(&sno_i_process.page, &page, (sno_i_atomic64 *)fresh, release,
                         acquire)) /* PAGE:R */
        return (sno_i_atomic64 *)fresh;
    sno_i_drop_page(fresh);
    return page; /* another thread's, or NULL */
}

/* The value that marks this process, for generators to keep; *word is NULL where the pid does. */
static inline uint64_t sno_i_fork_mark(sno_i_atomic64 **word) {
    *word = sno_i_fork_page();
    if (!*word) return sno_i_pid_mark();
    uint64_t mark = SNO_ATOMIC_LOAD(*word, relaxed);
    if (mark) return mark;
    uint64_t next = SNO_ATOMIC_ADD(&sno_i_process.generation, 1u, relaxed) + 1;
    return SNO_ATOMIC_CAS(*word, &mark, next, relaxed, relaxed) ? next : mark;
}

/* Marks the process itself, for what it holds: a bump does not change it. */
static inline uint64_t sno_i_process_mark(void) {
    sno_i_atomic64 *page = sno_i_fork_page();
    if (!page) return sno_i_pid();
    uint64_t mark = SNO_ATOMIC_LOAD(page + 1, relaxed);
    if (mark) return mark;
    uint64_t next = SNO_ATOMIC_ADD(&sno_i_process.generation, 1u, relaxed) + 1;
    return SNO_ATOMIC_CAS(page + 1, &mark, next, relaxed, relaxed) ? next : mark;
}

/* From now on every generator of this process, all but those in shared memory, is as if inherited
 * through fork: SNO_FORKED until it is initialised anew. For whoever resumes a snapshot of a
 * virtual machine or a copied disk, which nothing else tells a process. States are stale too: close
 * them, and open others. From any thread. */
static inline void sno_generation_bump(void) {
    sno_i_atomic64 *page = sno_i_fork_page();
    const uint64_t next = SNO_ATOMIC_ADD(&sno_i_process.generation, 1u, relaxed) + 1;
    (void)SNO_ATOMIC_ADD(&sno_i_process.bumps, 1u, relaxed);
    if (page) SNO_ATOMIC_STORE(page, next, relaxed);
}

/* ---- gate ----
 *
 * What must agree before ids are handed out whose time is later than that of all before: a state
 * file, a claim that runs out. It is asked off the hot path, by the first draw of each unit and by
 * callers who queue, from any thread.
 */
typedef struct sno_gate {
    /* Whether ids of times up to until_ns (Unix) may be handed out. SNO_AGAIN: not yet, and who
     * waits asks again; all else is what the draw returns. NULL: no gate. */
    sno_status (*admit)(void *user, int64_t until_ns);
    void *user;
    sno_i_atomic64 *word; /* NULL, or a word that fork wipes, constant and not 0 while the gate is
                               open: who changes it stops each draw at once, with SNO_LEASE */
} sno_gate;

/* ---- engine ---- */

typedef struct sno_stats {
    uint64_t ids;         /* places drawn, each of a batch */
    uint64_t batches;     /* draws of more than one place at once */
    uint64_t waits;       /* draws that had to sleep */
    uint64_t clock_backs; /* draws that met a clock behind the word */
} sno_stats;

/* The word lies alone on its cache line whatever the alignment of the whole is. Behind it comes
 * what never changes after init, and behind that what only the slow path writes. */
typedef struct sno_i_engine {
    char pad0[56];
    sno_i_atomic64 word;
    char pad1[56];

    sno_i_atomic64 *fork_word; /* NULL: compare the pid; or, with fork_mark 0, nothing */
    uint64_t fork_mark;
    uint64_t epoch_ns, unit_ns; /* wrapping arithmetic: only differences are looked at */
    uint64_t count_mask;
    uint64_t cap;
    uint64_t fast_cap; /* below this count the fast path may draw: cap, or 0 */
    uint64_t add_cap;  /* and below this by fetch_add: cap, or 0 */
    unsigned time_shift;
    unsigned tick_bits; /* 1: a clock put back changes the timeline */
    sno_clock clock;
    uint64_t limit;     /* count never goes past this */
    uint64_t max_time;  /* the last unit that layout and clock can express */
    uint64_t ahead;     /* units that ids may lie ahead of the clock */
    uint64_t time_lead; /* units that time itself may: ahead, or 0 */
    int64_t wait_ns;    /* longest sleep of one call */
    bool refuse_back;   /* a waiting call does not wait for a clock that was put back */
    sno_ring *ring;
    sno_gate gates[2];            /* the user's, and that of his state file */
    sno_i_atomic64 *process_word; /* what fork_word is where it is not a gate's */
    uint64_t process_mark;
    char pad2[64];

    sno_i_atomic64 safe[2]; /* tick engines: see I5 */
    sno_i_atomic64 drifts;  /* timelines left; the last one may be missing, its parity tells */
    sno_i_atomic64 overflow;
    sno_i_atomic64 rebased; /* places drawn that count no longer tells */
    sno_i_atomic64 batches, waits, clock_backs;
    sno_i_atomic32 lent; /* a pool's shard: 1 while a thread has it */
    char pad3[60];
} sno_i_engine;

/* How a draw goes about it; constants, so that each caller compiles to its own straight line. */
enum {
    SNO_I_WAIT = 1,  /* sleep for a place rather than fail */
    SNO_I_OWNED = 2, /* one writer: plain loads and stores in place of RMWs */
    SNO_I_GIVEN = 4  /* the time is the caller's and may be stale: never a step back */
};

/* A run of places: n from `index` of unit `time` on, index < cap. */
typedef struct sno_i_place {
    uint64_t time, index, n;
    unsigned tick;
    uint64_t
        unit; /* time and tick once more, as they stand in the word: for ids that are made alike */
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
    sno_gate gates[2];
} sno_i_setup;

static inline uint64_t sno_i_min(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* How long until `due`, which is later. */
static inline int64_t sno_i_ns_until(int64_t due_ns, int64_t now_ns) {
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

/* Names what an engine can't be set up with; NULL: it can be. */
static inline const char *sno_i_split_word(const sno_i_setup *o, sno_i_split *d) {
    const int64_t max_ms = INT64_MAX / SNO_I_NS_PER_MS;
    if (o->epoch_ms < -max_ms || o->epoch_ms > max_ms)
        return "layout.epoch_ms is further from 1970 than 64 bits of ns";
    if (!o->unit_ms || !o->cap) return "layout: a unit has no length, or no ids";
    if (o->max_ahead_ms < 0 || o->max_ahead_ms / o->unit_ms > INT32_MAX)
        return "max_ahead_ms is negative, or more than 2^31 units";
    if (o->max_wait_ms < 0) return "max_wait_ms is negative";
    if (o->clock.kind != SNO_CLOCK_EXACT && o->clock.kind != SNO_CLOCK_COARSE)
        return "clock.kind is neither SNO_CLOCK_EXACT nor SNO_CLOCK_COARSE";
    if (o->ring && !o->ring->size) return "overflow is not initialised: sno_ring_init";
    if (o->shared_memory && (o->gates[0].admit || o->gates[1].admit))
        return "shared_memory goes with neither a gate nor a state";
#if ATOMIC_LLONG_LOCK_FREE != 2
    if (o->shared_memory) return "shared_memory: 64-bit atomics here hide a lock of one process";
#endif

    /* Time gets the bits that the layout and a clock of 63 bits of ns can fill, count the rest. */
    const uint64_t epoch_ns = (uint64_t)(o->epoch_ms * SNO_I_NS_PER_MS);
    const uint64_t unit_ns = (uint64_t)o->unit_ms * SNO_I_NS_PER_MS;
    d->last = ((uint64_t)INT64_MAX - epoch_ns) / unit_ns;
    if (!d->last--) return "layout: the clock ends before the first unit does";
    if (o->time_bits < 64) d->last = sno_i_min(d->last, ((uint64_t)1 << o->time_bits) - 1);
    d->count_bits = 63 - o->tick_bits;
    for (uint64_t t = d->last >> 1; t; t >>= 1) d->count_bits--;
    d->range = (uint64_t)1 << sno_i_min(d->count_bits, 48);
    if (o->cap > d->range || (o->cap == d->range && o->tick_bits))
        return "layout: time and sequence don't fit a word";
    if (o->cap == d->range && (d->last + 1) << d->count_bits == 0)
        d->last--; /* a full unit carries into time */
    return NULL;
}

/* Not while others use the engine. What is refused is left as it was. */
static inline sno_status sno_i_engine_init(sno_i_engine *e, const sno_i_setup *o) {
    const int64_t max_ms = INT64_MAX / SNO_I_NS_PER_MS;
    sno_i_split d;
    if (sno_i_split_word(o, &d)) return SNO_INVALID;
    uint64_t gate_marks[2] = {0, 0};
    for (unsigned i = 0; i < 2; i++) {
        if (!o->gates[i].admit || !o->gates[i].word) continue;
        gate_marks[i] = SNO_ATOMIC_LOAD(o->gates[i].word, relaxed);
        if (!gate_marks[i]) return SNO_LEASE; /* closed already, or another process's */
    }
    e->epoch_ns = (uint64_t)(o->epoch_ms * SNO_I_NS_PER_MS);
    e->unit_ns = (uint64_t)o->unit_ms * SNO_I_NS_PER_MS;
    e->max_time = d.last;
    e->tick_bits = o->tick_bits;
    e->time_shift = d.count_bits + o->tick_bits;
    e->count_mask = ((uint64_t)1 << d.count_bits) - 1;
    e->cap = o->cap;
    e->ahead = (uint64_t)o->max_ahead_ms / o->unit_ms;
    e->wait_ns = o->max_wait_ms > max_ms ? INT64_MAX : o->max_wait_ms * SNO_I_NS_PER_MS;

    /* fetch_add wants room for those who add at the same moment: a quarter of a count of 20 bits
     * or more; and so much patience that they don't push a place past what its caller waits. */
    const uint64_t patience = sno_i_min((uint64_t)e->wait_ns / e->unit_ns + e->ahead, 4096);
    const bool by_add = d.count_bits >= 20 && o->cap <= d.range >> 4 && patience * o->cap >= 4096;
    e->add_cap = by_add ? o->cap : 0;
    e->fast_cap = o->cap == d.range ? 0 : o->cap;
    e->limit = by_add ? d.range / 4 * 3 : o->cap == d.range ? d.range : d.range - 1;
    /* Ids so far ahead that count can't hold them move time past all readings (see draw_run). */
    e->time_lead = (e->ahead + 1) * o->cap > e->limit ? e->ahead : 0;

    e->refuse_back = o->refuse_back;
    e->clock = o->clock;
    e->ring = o->ring;
    e->process_word = NULL;
    e->process_mark = o->shared_memory ? 0 : sno_i_fork_mark(&e->process_word);
    e->fork_word = e->process_word;
    e->fork_mark = e->process_mark;
    for (unsigned i = 0; i < 2; i++) {
        e->gates[i] = o->gates[i];
        if (!gate_marks[i]) continue;
        e->fork_word = o->gates[i].word; /* wiped by fork too */
        e->fork_mark = gate_marks[i];
    }
    SNO_ATOMIC_STORE(&e->word, 0u, relaxed);
    SNO_ATOMIC_STORE(&e->safe[0], 0u, relaxed);
    SNO_ATOMIC_STORE(&e->safe[1], 0u, relaxed);
    SNO_ATOMIC_STORE(&e->drifts, 0u, relaxed);
    SNO_ATOMIC_STORE(&e->overflow, 0u, relaxed);
    SNO_ATOMIC_STORE(&e->rebased, 0u, relaxed);
    SNO_ATOMIC_STORE(&e->batches, 0u, relaxed);
    SNO_ATOMIC_STORE(&e->waits, 0u, relaxed);
    SNO_ATOMIC_STORE(&e->clock_backs, 0u, relaxed);
    SNO_ATOMIC_STORE(&e->lent, 0u, relaxed);
    return SNO_OK;
}

/* Whether this is another process than the one that took the mark. A mark of 0 asks not to look. */
SNO_I_INLINE bool sno_i_forked_since(sno_i_atomic64 *word, uint64_t mark) {
    if (SNO_I_LIKELY(word != NULL)) return SNO_ATOMIC_LOAD(word, relaxed) != mark;
    return mark && mark != sno_i_pid_mark();
}

SNO_I_INLINE bool sno_i_forked(const sno_i_engine *e) {
    return sno_i_forked_since(e->fork_word, e->fork_mark);
}

/* Whether the fork word changed because a gate's owner closed it, and this is the same process. */
SNO_I_COLD bool sno_i_is_closed(const sno_i_engine *e) {
    return e->fork_word != e->process_word &&
           !sno_i_forked_since(e->process_word, e->process_mark);
}

SNO_I_INLINE uint64_t sno_i_start_ns(const sno_i_engine *e, uint64_t unit) {
    return e->epoch_ns + unit * e->unit_ns;
}

SNO_I_INLINE unsigned sno_i_tick(const sno_i_engine *e, uint64_t word) {
    return (unsigned)(word >> (e->time_shift - 1)) & e->tick_bits;
}

/* Of `count` places drawn since unit `since` began, those that lie in unit `from` or later. */
static inline uint64_t sno_i_rest(const sno_i_engine *e, uint64_t since, uint64_t count,
                                    uint64_t from) {
    if (from <= since) return count;
    if (count <= e->cap) return 0; /* nearly always, and spares the division */
    uint64_t passed = from - since;
    return passed > count / e->cap ? 0 : count - passed * e->cap;
}

/* A statistic, on a line that the fast path does not touch. */
static inline void sno_i_tally(sno_i_atomic64 *tally, uint64_t more, unsigned how) {
    if (!more) return;
    if (how & SNO_I_OWNED)
        SNO_ATOMIC_STORE(tally, SNO_ATOMIC_LOAD(tally, relaxed) + more, relaxed);
    else SNO_ATOMIC_ADD(tally, more, relaxed);
}

/* Moves the word from *seen to `next`; when another was faster, *seen is what he left. */
static inline bool sno_i_move(sno_i_engine *e, unsigned how, uint64_t *seen, uint64_t next) {
    if (how & SNO_I_OWNED) {
        SNO_ATOMIC_STORE(&e->word, next, release); /* LEAVE:R, for those who only ask */
        return true;
    }
    return SNO_ATOMIC_CAS(&e->word, seen, next, release, acquire); /* LEAVE:R, LOOK:A */
}

/* Time and count of a word. A full unit whose count has no bits to spare has carried into time. */
static inline void sno_i_decode(const sno_i_engine *e, uint64_t word, uint64_t *time,
                                  uint64_t *count) {
    *time = word >> e->time_shift;
    *count = word & e->count_mask;
    if (e->cap > e->count_mask && !*count && *time) {
        --*time;
        *count = e->cap;
    }
}

/* Where the word was put without asking the gates, its unit counts as spent: the fast path would not
 * ask either. Not while others use the engine. */
static inline void sno_i_spend_unit(sno_i_engine *e) {
    if (!e->gates[0].admit && !e->gates[1].admit) return;
    const uint64_t word = SNO_ATOMIC_LOAD(&e->word, relaxed);
    uint64_t time, count;
    sno_i_decode(e, word, &time, &count);
    if (count >= e->cap) return;
    SNO_ATOMIC_STORE(&e->word, word - count + e->cap, relaxed);
    sno_i_tally(&e->rebased, count - e->cap, SNO_I_OWNED); /* what is not drawn here */
}

/* Ids up to this time may have been handed out by a run before: the next is of a later unit, on
 * either timeline. Not while others use the engine. */
static inline void sno_i_engine_floor(sno_i_engine *e, int64_t floor_ns) {
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

/* What a word and a clock reading say about the next place. */
typedef struct sno_i_view {
    uint64_t time, count, now; /* the word's, the clock's unit */
    unsigned tick;
    uint64_t base, place; /* the next place: counted from unit base, on timeline tick */
    uint64_t unit; /* the unit it lies in; when blocked, the first in which one will be free */
    bool leaves;   /* drawing it leaves the word's timeline */
    bool blocked;  /* the clock reads a time that both timelines have used */
} sno_i_view;

static inline sno_status sno_i_look(sno_i_engine *e, unsigned how, uint64_t word,
                                        int64_t now_ns, sno_i_view *v) {
    if (!e->cap) return SNO_INVALID; /* never initialised */
    sno_i_decode(e, word, &v->time, &v->count);
    v->tick = sno_i_tick(e, word);
    const bool given = (how & SNO_I_GIVEN) && word; /* older counts as the word's time */
    if (now_ns < (int64_t)e->epoch_ns && !given) return SNO_RANGE;
    v->now = now_ns < (int64_t)e->epoch_ns ? 0 : ((uint64_t)now_ns - e->epoch_ns) / e->unit_ns;
    if (v->now > e->max_time) return SNO_RANGE;
    if (given && v->now + e->time_lead < v->time) v->now = v->time - e->time_lead;

    v->leaves = v->blocked = false;
    v->base = v->now < v->time ? v->time : v->now;
    v->place = sno_i_rest(e, v->time, v->count, v->base);
    v->unit = v->base + (v->place < e->cap ? 0 : v->place / e->cap);
    if (v->now < v->time && e->tick_bits) {
        uint64_t safe = SNO_ATOMIC_LOAD(&e->safe[v->tick ^ 1], relaxed);
        if (v->now > safe) {
            v->leaves = true;
            v->tick ^= 1;
            v->base = v->unit = v->now;
            v->place = 0;
        } else {
            v->blocked = true;
            if (safe + 1 < v->time) v->unit = safe + 1;
        }
    }
    return v->unit > e->max_time ? SNO_RANGE : SNO_OK;
}

static inline bool sno_i_is_free(const sno_i_engine *e, const sno_i_view *v) {
    return v->unit <= v->now + e->ahead && !v->blocked;
}

/* How many places can be had without waiting. */
static inline uint64_t sno_i_room(const sno_i_engine *e, const sno_i_view *v) {
    if (!sno_i_is_free(e, v)) return 0;
    return (sno_i_min(v->now + e->ahead, e->max_time) + 1 - v->base) * e->cap - v->place;
}

static inline int64_t sno_i_due_ns(const sno_i_engine *e, uint64_t unit) {
    return (int64_t)sno_i_start_ns(e, unit < e->ahead ? 0 : unit - e->ahead);
}

/* How often the clock was put back before `word`, whose tick is the count's parity. The stored
 * count lags by at most one, since whoever leaves a timeline settles it first. False: the word
 * moved. */
static inline bool sno_i_drifts_at(sno_i_engine *e, uint64_t word, unsigned tick,
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
static inline bool sno_i_before_leaving(sno_i_engine *e, uint64_t word, const sno_i_view *v,
                                          uint64_t *drifts) {
    unsigned left = v->tick ^ 1;
    uint64_t last = v->time + (v->count ? (v->count - 1) / e->cap : 0);
    uint64_t safe = SNO_ATOMIC_LOAD(&e->safe[left], relaxed);
    while (safe < last && !SNO_ATOMIC_CAS(&e->safe[left], &safe, last, relaxed, relaxed)) {
    }
    return sno_i_drifts_at(e, word, left, drifts);
}

/* ---- overflow notes ----
 *
 * e->overflow elects one writer a ms: [ began ms:40 ][ ms noted since:24 ], or with all of the low
 * bits set: closed, the last note was written in that ms.
 */
#define SNO_I_CLOSED 0xffffffu

static inline uint64_t sno_i_note_ms(int64_t now_ns) {
    return (uint64_t)(now_ns / 1000000) & 0xffffffffffu;
}

/* Queued callers call this each ms, with how many they are. */
static inline void sno_i_note(sno_i_engine *e, uint64_t old, int64_t now_ns, uint64_t queued) {
    const uint64_t ms = sno_i_note_ms(now_ns);
    uint64_t noted = old & SNO_I_CLOSED, ticks = (ms - (old >> 24)) & 0xffffffffffu, next;
    if (noted == SNO_I_CLOSED || !noted || ticks >= SNO_I_CLOSED - 1) {
        /* a new one; also after hours of one, or when the clock was put back during it */
        if (noted == SNO_I_CLOSED && !ticks) return;
        next = ms << 24 | 1;
        ticks = 0;
    } else {
        if (ticks < noted) return;
        next = (old & ~(uint64_t)SNO_I_CLOSED) | (ticks + 1);
    }
    if (!SNO_ATOMIC_CAS(&e->overflow, &old, next, relaxed, relaxed)) return;
    sno_overflow note;
    note.now_ns = now_ns;
    note.count = queued > UINT32_MAX ? UINT32_MAX : (uint32_t)queued;
    note.ticks = (uint32_t)ticks;
    (void)sno_ring_push(e->ring, note); /* full: dropped, the next ms has its own */
}

/* Whoever finds the queue empty calls this. A last note that does not fit stays owed. */
static inline void sno_i_note_end(sno_i_engine *e, uint64_t old, int64_t now_ns) {
    const uint64_t ms = sno_i_note_ms(now_ns);
    uint64_t noted = old & SNO_I_CLOSED, ticks = (ms - (old >> 24)) & 0xffffffffffu;
    if (!noted || noted == SNO_I_CLOSED || ticks < noted) return;
    uint64_t closed = ms << 24 | SNO_I_CLOSED;
    if (!SNO_ATOMIC_CAS(&e->overflow, &old, closed, relaxed, relaxed)) return;
    sno_overflow note;
    note.now_ns = now_ns;
    note.count = 0;
    note.ticks = ticks < SNO_I_CLOSED ? (uint32_t)ticks : 0; /* 0: the clock was put back */
    if (!sno_ring_push(e->ring, note))
        (void)SNO_ATOMIC_CAS(&e->overflow, &closed, old, relaxed, relaxed);
}

/* Says what the queue is like, if it is time to. Not while the clock is behind the word: then the
 * wait is for the clock, not for capacity. The reading is taken after the election was looked at, so
 * that one before its ms says that the clock was put back, never that this thread was slow. */
static inline void sno_i_notify(sno_i_engine *e) {
    sno_i_view v;
    if (!e->ring) return;
    const uint64_t old = SNO_ATOMIC_LOAD(&e->overflow, acquire);
    const int64_t now_ns = sno_i_exact_ns(&e->clock);
    const uint64_t word = SNO_ATOMIC_LOAD(&e->word, acquire);
    if (sno_i_look(e, 0, word, now_ns, &v) != SNO_OK || v.now + e->time_lead < v.time) return;
    uint64_t queued = sno_i_rest(e, v.time, v.count, v.now + e->ahead + 1);
    if (queued) sno_i_note(e, old, now_ns, queued);
    else sno_i_note_end(e, old, now_ns);
}

/* ---- draw ---- */

static inline void sno_i_nap(sno_i_engine *e, int64_t now_ns, int64_t ns, int64_t *budget_ns) {
    if (e->ring) { /* up at the next ms, to note */
        int64_t tick = 1000000 - (now_ns % 1000000 + 1000000) % 1000000;
        if (ns > tick) ns = tick;
    }
    SNO_SLEEP_NS(ns);
    *budget_ns -= ns;
}

static inline bool sno_i_has_gate(const sno_i_engine *e) {
    return e->gates[0].admit || e->gates[1].admit;
}

/* Whether the gates let ids of this unit out. */
SNO_I_COLD sno_status sno_i_admit(sno_i_engine *e, unsigned how, uint64_t unit,
                                        int64_t *budget_ns) {
    if (sno_i_forked_since(e->process_word, e->process_mark)) return SNO_FORKED;
    const int64_t until_ns = (int64_t)(sno_i_start_ns(e, unit + 1) - 1), nap_ns = 1000000;
    for (unsigned i = 0; i < 2; i++)
        for (const sno_gate *g = &e->gates[i]; g->admit; *budget_ns -= nap_ns) {
            const sno_status status = g->admit(g->user, until_ns);
            if (status == SNO_OK) break;
            if (status != SNO_AGAIN || !(how & SNO_I_WAIT) || *budget_ns < nap_ns)
                return status;
            SNO_SLEEP_NS(nap_ns);
        }
    return SNO_OK;
}

/* Sleeps until the unit of a place has come that was drawn after reading drawn_ns. False: the clock
 * was put back or stands still, so that the wait is not worth the place. */
static inline bool sno_i_await(sno_i_engine *e, uint64_t unit, int64_t drawn_ns, int64_t now_ns,
                                 int64_t *budget_ns) {
    const int64_t due_ns = sno_i_due_ns(e, unit);
    for (;;) {
        sno_i_notify(e);
        if (now_ns >= due_ns) return true;
        const int64_t left_ns = sno_i_ns_until(due_ns, now_ns);
        const bool put_back = now_ns < drawn_ns && (e->tick_bits || e->refuse_back);
        if (left_ns > *budget_ns || put_back) return false;
        sno_i_nap(e, now_ns, left_ns, budget_ns);
        now_ns = sno_i_exact_ns(&e->clock);
    }
}

static inline void sno_i_place_at(const sno_i_engine *e, uint64_t base, uint64_t place,
                                    uint64_t n, unsigned tick, sno_i_place *out) {
    out->time = place < e->cap ? base : base + place / e->cap;
    out->index = place < e->cap ? place : place % e->cap;
    out->n = n;
    out->tick = tick;
    out->unit = (out->time << e->time_shift) + ((uint64_t)tick << (e->time_shift - 1));
}

/* The whole protocol, for 1 to `want` places, from a word and a reading in any order. Linearises at
 * the move that succeeds. */
SNO_I_COLD sno_status sno_i_draw_run(sno_i_engine *e, unsigned how, uint64_t word,
                                           int64_t now_ns, uint64_t want, int64_t budget_ns,
                                           sno_i_place *out) {
    bool confirmed = (how & SNO_I_GIVEN) != 0; /* now_ns is exact, and read after the word (I2) */
    bool back_counted = false, wait_counted = false;
    for (;;) {
        sno_i_view v;
        sno_status status = sno_i_look(e, how, word, now_ns, &v);
        const bool is_free = status == SNO_OK && sno_i_is_free(e, &v);
        if (!confirmed && (!is_free || v.now < v.time)) {
            now_ns = sno_i_exact_ns(&e->clock);
            confirmed = true;
            continue;
        }
        if (status != SNO_OK) return status;
        if (v.now + e->time_lead < v.time && !back_counted) {
            sno_i_tally(&e->clock_backs, 1, how);
            back_counted = true;
        }

        if (!is_free) {
            const bool back = v.time > v.now + e->ahead;
            int64_t left_ns = sno_i_ns_until(sno_i_due_ns(e, v.unit), now_ns);
            if (!(how & SNO_I_WAIT) || (back && e->refuse_back) || left_ns > budget_ns)
                return back ? SNO_CLOCK_BACK : SNO_AGAIN;
            if (!wait_counted) sno_i_tally(&e->waits, 1, how);
            wait_counted = true;
            if (v.blocked || v.place >= e->limit) { /* no place to hold while asleep */
                if (!v.blocked) sno_i_notify(e);
                if (left_ns > (int64_t)e->unit_ns) left_ns = (int64_t)e->unit_ns;
                sno_i_nap(e, now_ns, left_ns, &budget_ns);
                word = SNO_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
                now_ns = sno_i_exact_ns(&e->clock);
                continue;
            }
        }

        uint64_t n = sno_i_min(want, is_free ? sno_i_room(e, &v) : e->cap - v.place % e->cap);
        if (is_free && v.place >= e->cap && v.place + n > e->limit) {
            v.place %= e->cap; /* far ahead of the clock: whole units move from count to time */
            v.base = v.unit;
        }
        n = sno_i_min(n, e->limit - v.place);

        if (sno_i_has_gate(e)) {
            status = sno_i_admit(e, how, v.base + (v.place + n - 1) / e->cap, &budget_ns);
            if (status != SNO_OK) return status;
        }

        uint64_t drifts = 0;
        if (v.leaves && !sno_i_before_leaving(e, word, &v, &drifts)) {
            word = SNO_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
            now_ns = sno_i_exact_ns(&e->clock);
            continue;
        }
        /* +, not |: a count with no bits to spare carries */
        const uint64_t before = word, next = (v.base << e->time_shift) +
                                             ((uint64_t)v.tick << (e->time_shift - 1)) + v.place +
                                             n;
        if (!sno_i_move(e, how, &word, next)) {
            SNO_RELAX();
            confirmed = (how & SNO_I_GIVEN) != 0;
            continue;
        }
        if (v.leaves)
            (void)SNO_ATOMIC_CAS(&e->drifts, &drifts, drifts + 1, release,
                                   relaxed); /* SETTLE:R */
        const bool rebased = v.count != v.place;
        const bool kept = is_free || sno_i_await(e, v.unit, now_ns, now_ns, &budget_ns);
        word = next;
        const bool given_back = !kept && sno_i_move(e, how, &word, before);
        if (!given_back) sno_i_tally(&e->rebased, v.count - v.place, how);
        if (kept) {
            if (is_free && rebased && !(how & SNO_I_GIVEN)) sno_i_notify(e);
            if (n > 1) sno_i_tally(&e->batches, 1, how);
            sno_i_place_at(e, v.base, v.place, n, v.tick, out);
            return SNO_OK;
        }
        word = SNO_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
        now_ns = sno_i_exact_ns(&e->clock);
    }
}

/* A fetch_add that others outran: it took a place behind the unit's last, or in another unit. */
SNO_I_COLD sno_status sno_i_draw_late(sno_i_engine *e, uint64_t word, int64_t drawn_ns,
                                            sno_i_place *out) {
    int64_t budget_ns = e->wait_ns, now_ns = sno_i_exact_ns(&e->clock);
    sno_i_place_at(e, word >> e->time_shift, word & e->count_mask, 1, sno_i_tick(e, word), out);
    if (out->time > e->max_time) return SNO_RANGE;
    if (now_ns < sno_i_due_ns(e, out->time)) sno_i_tally(&e->waits, 1, SNO_I_WAIT);
    sno_status status = SNO_OK;
    if (sno_i_has_gate(e)) status = sno_i_admit(e, SNO_I_WAIT, out->time, &budget_ns);
    if (status == SNO_OK && sno_i_await(e, out->time, drawn_ns, now_ns, &budget_ns))
        return SNO_OK;
    uint64_t after = word + 1;
    (void)sno_i_move(e, SNO_I_WAIT, &after, word); /* given back, if it is still the newest */
    if (status != SNO_OK) return status;
    word = SNO_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A: the addition was none */
    now_ns = sno_i_exact_ns(&e->clock);
    return sno_i_draw_run(e, SNO_I_WAIT, word, now_ns, 1, budget_ns, out);
}

/* 1 to `want` places with one move. The usual case, a unit that has begun and is not spent, is
 * decided here without a division: the reading lies less than a unit past the start of the word's.
 * Here the clock may be read before the word, which is faster, since nothing is made of a reading
 * that lies behind the word's time: draw_run takes another (I2). */
SNO_I_INLINE sno_status sno_i_draw(sno_i_engine *e, unsigned how, int64_t given_ns,
                                         uint64_t want, sno_i_place *out) {
    if (!SNO_I_LIKELY(!sno_i_forked(e)))
        return sno_i_is_closed(e) ? SNO_LEASE : SNO_FORKED;
    int64_t now_ns = how & SNO_I_GIVEN ? given_ns : sno_i_now_ns(&e->clock);
    uint64_t word = SNO_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
    const uint64_t count = word & e->count_mask, unit = word - count;
    const uint64_t since_ns = (uint64_t)now_ns - sno_i_start_ns(e, word >> e->time_shift);
    sno_i_place place; /* for the calls; *out stays in registers */
    sno_status status;
    if (SNO_I_LIKELY(since_ns < e->unit_ns && count < e->fast_cap) &&
        (want <= e->cap - count || !e->ahead)) {
        uint64_t index = count, n = 1;
        bool drawn;
        if (want == 1 && (how & (SNO_I_WAIT | SNO_I_OWNED)) == SNO_I_WAIT &&
            SNO_I_LIKELY(count < e->add_cap)) {
            word = SNO_ATOMIC_ADD(&e->word, 1u, relaxed);
            index = word - unit; /* from another unit or tick: past any cap */
            drawn = SNO_I_LIKELY(index < e->cap);
            if (!drawn) {
                status = sno_i_draw_late(e, word, now_ns, &place);
                if (status == SNO_OK) *out = place;
                return status;
            }
        } else {
            if (want > 1) n = sno_i_min(want, e->cap - count);
            drawn = sno_i_move(e, how, &word, word + n);
        }
        if (SNO_I_LIKELY(drawn)) {
            if (n > 1) sno_i_tally(&e->batches, 1, how);
            out->time = unit >> e->time_shift;
            out->index = index;
            out->n = n;
            out->tick = sno_i_tick(e, unit);
            out->unit = unit;
            return SNO_OK;
        }
    }
    status = sno_i_draw_run(e, how, word, now_ns, want, e->wait_ns, &place);
    if (status == SNO_OK) *out = place;
    return status;
}

/* ---- questions about an engine: answers may be old when they arrive ---- */

/* Looks as a caller that tries would. */
static inline sno_status sno_i_peek(sno_i_engine *e, sno_i_view *v, int64_t *now_ns) {
    uint64_t word = SNO_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
    *now_ns = sno_i_exact_ns(&e->clock);
    return sno_i_look(e, 0, word, *now_ns, v);
}

/* When a try would succeed, from now; INT64_MAX: never. */
static inline int64_t sno_i_retry_ns(sno_i_engine *e) {
    sno_i_view v;
    if (sno_i_forked(e) || !e->cap) return INT64_MAX;
    const uint64_t word = SNO_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
    const int64_t now_ns = sno_i_exact_ns(&e->clock), epoch_ns = (int64_t)e->epoch_ns;
    const int64_t from_ns = now_ns < epoch_ns ? epoch_ns : now_ns;
    if (sno_i_look(e, 0, word, from_ns, &v) != SNO_OK) return INT64_MAX;
    const int64_t at_ns = sno_i_is_free(e, &v) ? from_ns : sno_i_due_ns(e, v.unit);
    return sno_i_ns_until(at_ns, now_ns);
}

static inline uint64_t sno_i_available(sno_i_engine *e) {
    sno_i_view v;
    int64_t now_ns;
    if (sno_i_forked(e) || sno_i_peek(e, &v, &now_ns) != SNO_OK) return 0;
    return sno_i_room(e, &v);
}

/* How many units the newest place lies ahead of the clock; 0 where the clock has no unit. */
static inline uint64_t sno_i_lag(sno_i_engine *e) {
    sno_i_view v;
    int64_t now_ns;
    memset(&v, 0, sizeof v);
    (void)sno_i_peek(e, &v, &now_ns);
    uint64_t newest = v.time + (v.count ? (v.count - 1) / e->cap : 0);
    return newest > v.now ? newest - v.now : 0;
}

/* While others draw, ids may lack what a draw that is under way has not told yet. */
static inline void sno_i_stats(sno_i_engine *e, sno_stats *stats) {
    uint64_t word = SNO_ATOMIC_LOAD(&e->word, acquire), again, time, count;
    for (;; word = again) { /* until the word was not re-based meanwhile: nothing counts twice */
        sno_i_decode(e, word, &time, &count);
        stats->ids = SNO_ATOMIC_LOAD(&e->rebased, acquire) + count;
        again = SNO_ATOMIC_LOAD(&e->word, acquire);
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
static inline sno_i_engine *sno_i_lend(void *engines, size_t stride, size_t n,
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

static inline void sno_i_take_back(sno_i_engine *e) {
    SNO_ASSERT(SNO_ATOMIC_LOAD(&e->lent, relaxed) == 1);
    SNO_ATOMIC_STORE(&e->lent, 0u, release); /* BACK:R */
}

/* ---- files ----
 *
 * One process at a time holds a lock file, and lets go of it when it dies: a record lock of POSIX,
 * which a forked child does not inherit. But it is the whole process's, and gone as soon as any part
 * of the process closes that file. So the process keeps a list of what it holds, and looks there
 * before it opens one. Only here does a thread wait for another (who may be stopped in the middle).
 */
struct sno_why {
    char text[200]; /* what is wrong, in words: the option or file and what became of it */
};

/* As much of the three as there is room for. */
static inline void sno_i_put_why(sno_why *why, const char *first, const char *second,
                                   const char *third) {
    if (!why) return;
    const char *const parts[] = {first, second, third};
    size_t n = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (const char *c = parts[i]; *c && n < sizeof why->text - 1; c++) why->text[n++] = *c;
    why->text[n] = 0;
}

#if !defined(_WIN32)
/* SNO_IO, and what the system said. */
static inline sno_status sno_i_say_errno(sno_why *why, const char *path, const char *what) {
    sno_i_put_why(why, path, what, strerror(errno));
    return SNO_IO;
}
#endif

/* Writes down the reason, and returns the status. */
static inline sno_status sno_i_say(sno_why *why, sno_status status, const char *subject,
                                       const char *what) {
    sno_i_put_why(why, subject, ": ", what);
    return status;
}

enum { SNO_I_PATH = 1024 }; /* longest path, with its NUL and an ending of ours */
/* One of the other header would not know that this one holds the file, and let go of it. */
static const char sno_i_lock_ending[] = ".sno-lock";

typedef struct sno_i_lock {
    uint64_t device, inode;
    int fd;
    struct sno_i_lock *next;
} sno_i_lock;

#if !defined(_WIN32)

/* What the list of locks says is true between these two. A forked child has none of its parent's, and
 * takes the turn from a thread of its parent's that had it then. */
static inline void sno_i_locks_begin(void) {
    const uint64_t mark = sno_i_process_mark();
    uint64_t seen = 0;
    while (!SNO_ATOMIC_CAS(&sno_i_process.locking, &seen, mark, acquire, relaxed)) /* TURN:A */
        if (seen == mark) {
            seen = 0;
            SNO_SLEEP_NS(100000);
        }
    if (sno_i_process.locks_mark != mark) sno_i_process.locks = NULL;
    sno_i_process.locks_mark = mark;
}

static inline void sno_i_locks_end(void) {
    SNO_ATOMIC_STORE(&sno_i_process.locking, 0u, release); /* TURN:R */
}

static inline bool sno_i_lock_is_of(const sno_i_lock *lock, const struct stat *file) {
    return lock->device == (uint64_t)file->st_dev && lock->inode == (uint64_t)file->st_ino;
}

/* Opens and locks; what stands at the path at the end is what was locked. */
static inline sno_status sno_i_lock_file(sno_i_lock *lock, const char *path) {
    struct stat at_path, opened;
    struct flock range;
    memset(&range, 0, sizeof range);
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    for (int tries = 0; tries < 100; tries++) {
        if (stat(path, &at_path) == 0)
            for (const sno_i_lock *l = sno_i_process.locks; l; l = l->next)
                if (sno_i_lock_is_of(l, &at_path)) return SNO_TAKEN;
        lock->fd = open(path, O_RDWR | O_CREAT, 0666);
        if (lock->fd < 0) return SNO_IO;
        (void)fcntl(lock->fd, F_SETFD, FD_CLOEXEC);
        const bool locked = fcntl(lock->fd, F_SETLK, &range) == 0;
        const bool taken = !locked && (errno == EACCES || errno == EAGAIN);
        if (locked && fstat(lock->fd, &opened) == 0 && stat(path, &at_path) == 0) {
            lock->device = (uint64_t)opened.st_dev;
            lock->inode = (uint64_t)opened.st_ino;
            if (sno_i_lock_is_of(lock, &at_path)) return SNO_OK;
        }
        (void)close(lock->fd);
        if (taken) return SNO_TAKEN;
        if (!locked) return SNO_IO;
    }
    return SNO_IO;
}

static inline bool sno_i_lock_is_held(const sno_i_lock *lock) {
    sno_i_locks_begin();
    const sno_i_lock *l = sno_i_process.locks;
    while (l && l != lock) l = l->next;
    sno_i_locks_end();
    return l != NULL;
}

/* SNO_TAKEN: this process or another has it. */
static inline sno_status sno_i_lock_take(sno_i_lock *lock, const char *path) {
    sno_i_locks_begin();
    const sno_status status = sno_i_lock_file(lock, path);
    if (status == SNO_OK) {
        lock->next = sno_i_process.locks;
        sno_i_process.locks = lock;
    }
    sno_i_locks_end();
    return status;
}

/* In a forked child only the descriptor is closed: the lock is the parent's. */
static inline void sno_i_lock_drop(sno_i_lock *lock) {
    sno_i_locks_begin();
    for (sno_i_lock **l = &sno_i_process.locks; *l; l = &(*l)->next)
        if (*l == lock) {
            *l = lock->next;
            break;
        }
    (void)close(lock->fd);
    sno_i_locks_end();
}

static inline bool sno_i_write_all(int fd, const uint8_t *bytes, size_t n) {
    while (n > 0) {
        const ssize_t written = write(fd, bytes, n);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes += written;
        n -= (size_t)written;
    }
    return true;
}

/* Reads to the end of the file, at most n bytes; how many, or -1. */
static inline int sno_i_read_all(int fd, uint8_t *bytes, size_t n) {
    size_t got = 0;
    while (got < n) {
        const ssize_t more = read(fd, bytes + got, n - got);
        if (more < 0 && errno == EINTR) continue;
        if (more < 0) return -1;
        if (more == 0) break;
        got += (size_t)more;
    }
    return (int)got;
}

/* A rename lasts once the folder is on disk. Some file systems can't be asked for that. */
static inline bool sno_i_sync_folder(const char *path) {
    char folder[SNO_I_PATH];
    size_t slash = strlen(path);
    while (slash > 0 && path[slash - 1] != '/') slash--;
    memcpy(folder, path, slash);
    if (!slash) folder[slash++] = '.';
    folder[slash] = 0;
    const int fd = open(folder, O_RDONLY);
    if (fd < 0) return false;
    const bool synced = sno_i_fsync(fd) == 0 || errno == EINVAL;
    (void)close(fd);
    return synced;
}

/* After it the file has the new bytes, or the old ones, at any moment and on disk. */
static inline bool sno_i_replace_file(const char *path, const uint8_t *bytes, size_t n) {
    char fresh[SNO_I_PATH + 8];
    const size_t length = strlen(path);
    memcpy(fresh, path, length);
    memcpy(fresh + length, ".new", 5);
    const int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0) return false;
    bool well = sno_i_write_all(fd, bytes, n) && sno_i_fsync(fd) == 0;
    well = close(fd) == 0 && well;
    well = well && rename(fresh, path) == 0;
    if (!well) (void)unlink(fresh);
    return well && sno_i_sync_folder(path);
}
#endif

/* ---- state file ----
 *
 * It holds a horizon: a time that lies ahead of all ids handed out, by a few seconds. A draw whose id
 * would pass it waits until a new one is on disk; it is written long before that comes to be. So
 * whatever happens, crash or power cut, no id at or before the file's horizon may be handed out by
 * the next run, and every later one may.
 *
 *     byte 0   "idstate\n"        8  version, 4 bytes       12  0
 *         16   horizon, ns       24  written at, ns         32  identity, 64 bytes
 *         96   0                120  FNV-1a of the 120 bytes before; all numbers big-endian
 *
 * HORIZON   The file on disk is never behind state.horizon, and no draw is admitted past that. One
 *           thread at a time writes (`busy`); it publishes the horizon after the file is synced
 *           (DISK:R, read by DISK:A). A closed state admits nothing: who closes it stores CLOSED and
 *           then reads `asked`; who is admitted has raised `asked`, or seen it raised by another,
 *           before he reads the horizon. All of these are sequentially consistent, so one of the
 *           two sees the other. (A relaxed look at `asked` might come after the horizon's.)
 */
struct sno_state_options {
    const char *path;              /* boundary's timestamp_path */
    int64_t horizon_ms;            /* how far ahead of use the file is written; 0: 3,000 */
    int64_t allowable_downtime_ms; /* SNO_DOWNTIME when the horizon is further past; 0: any */
    bool must_exist;               /* SNO_IO when there is no file, rather than a new one */
    bool no_wait;  /* don't sleep until the last run's horizon has passed: draws wait, or fail */
    bool by_timer; /* draws don't write, they say SNO_AGAIN when the horizon is reached, or
                      SNO_IO if the timer could not write it: the program calls
                      sno_state_extend, at least twice in horizon_ms */
    sno_clock clock; /* the generator's; all zero: the system's */
};

enum { SNO_I_RECORD = 128, SNO_I_IDENTITY = 64 };

typedef struct sno_i_record {
    int64_t horizon_ns, written_ns;
    uint8_t identity[SNO_I_IDENTITY];
} sno_i_record;

/* Stays where it is while it is open. */
struct sno_state {
    sno_i_atomic64 horizon; /* ids up to this Unix time in ns may be handed out */
    sno_i_atomic64 asked;   /* and none later than this were, in the last run neither */
    sno_i_atomic64 busy;    /* 1: a thread writes */
    sno_i_atomic64 patient; /* before this time a write that failed is not tried again, while
                                 there is horizon left; INT64_MIN: the last one went well */
    sno_i_atomic64 *fork_word;
    uint64_t fork_mark;
    int64_t horizon_ns, written_ns; /* the latest at which it was written, by who is busy */
    sno_i_atomic32 is_open;
    bool by_timer;
    sno_clock clock;
    sno_i_lock lock;
    uint8_t identity[SNO_I_IDENTITY];
    char path[SNO_I_PATH];
};

#define SNO_I_CLOSED_STATE ((uint64_t)INT64_MIN)

static inline void sno_i_put64(uint8_t *out, uint64_t value) {
    for (unsigned i = 0; i < 8; i++) out[i] = (uint8_t)(value >> (56 - 8 * i));
}

static inline uint64_t sno_i_get64(const uint8_t *in) {
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++) value = value << 8 | in[i];
    return value;
}

/* Each step is a bijection, so no change of a single byte goes unnoticed. */
static inline uint64_t sno_i_fnv(const uint8_t *bytes, size_t n) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < n; i++) hash = (hash ^ bytes[i]) * 0x100000001b3;
    return hash;
}

#define SNO_I_MAGIC   "idstate\n"
#define SNO_I_VERSION ((uint64_t)1 << 32)

static inline void sno_i_record_put(const sno_i_record *r, uint8_t out[SNO_I_RECORD]) {
    memset(out, 0, SNO_I_RECORD);
    memcpy(out, SNO_I_MAGIC, 8);
    sno_i_put64(out + 8, SNO_I_VERSION);
    sno_i_put64(out + 16, (uint64_t)r->horizon_ns);
    sno_i_put64(out + 24, (uint64_t)r->written_ns);
    memcpy(out + 32, r->identity, SNO_I_IDENTITY);
    sno_i_put64(out + 120, sno_i_fnv(out, 120));
}

/* SNO_FOREIGN: no state file, or of another version. SNO_TORN: damaged. */
static inline sno_status sno_i_record_get(const uint8_t *in, size_t n, sno_i_record *r) {
    if (n > 0 && memcmp(in, SNO_I_MAGIC, n < 8 ? n : 8) != 0) return SNO_FOREIGN;
    if (n != SNO_I_RECORD || sno_i_get64(in + 120) != sno_i_fnv(in, 120)) return SNO_TORN;
    if (sno_i_get64(in + 8) != SNO_I_VERSION) return SNO_FOREIGN;
    r->horizon_ns = (int64_t)sno_i_get64(in + 16);
    r->written_ns = (int64_t)sno_i_get64(in + 24);
    memcpy(r->identity, in + 32, SNO_I_IDENTITY);
    for (size_t i = 96; i < 120; i++)
        if (in[i]) return SNO_FOREIGN; /* who wrote that knows more than this version */
    return r->horizon_ns < r->written_ns ? SNO_TORN : SNO_OK;
}

/* Whether a run may go on from this record at now_ns. What it says in words is in *what. */
static inline sno_status sno_i_record_judge(const sno_i_record *r, const uint8_t *identity,
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

/* Writes a horizon and, once it is on disk, admits what lies before. By one thread at a time. */
static inline bool sno_i_state_write(sno_state *s, int64_t horizon_ns, int64_t now_ns) {
#if defined(_WIN32)
    (void)s;
    (void)horizon_ns;
    (void)now_ns;
    return false;
#else
    sno_i_record r;
    uint8_t bytes[SNO_I_RECORD];
    if (s->written_ns < now_ns) s->written_ns = now_ns; /* a clock put back can't be hidden */
    r.horizon_ns = horizon_ns;
    r.written_ns = s->written_ns < horizon_ns ? s->written_ns : horizon_ns;
    memcpy(r.identity, s->identity, SNO_I_IDENTITY);
    sno_i_record_put(&r, bytes);
    return sno_i_replace_file(s->path, bytes, sizeof bytes);
#endif
}

/* The horizon for ids up to `until`. */
static inline int64_t sno_i_ahead_of(const sno_state *s, int64_t until_ns) {
    return until_ns > INT64_MAX - s->horizon_ns ? INT64_MAX : until_ns + s->horizon_ns;
}

/* By who has set `busy`. */
static inline bool sno_i_state_move(sno_state *s, int64_t until_ns) {
    const int64_t horizon_ns = sno_i_ahead_of(s, until_ns);
    uint64_t seen = SNO_ATOMIC_LOAD(&s->horizon, relaxed);
    if (seen == SNO_I_CLOSED_STATE) return false;
    if (horizon_ns <= (int64_t)seen) return true;
    const bool written = sno_i_state_write(s, horizon_ns, sno_i_exact_ns(&s->clock));
    const int64_t pause_ns = s->horizon_ns / 16;
    const int64_t patient_ns = until_ns > INT64_MAX - pause_ns ? INT64_MAX : until_ns + pause_ns;
    SNO_ATOMIC_STORE(&s->patient, (uint64_t)(written ? INT64_MIN : patient_ns), relaxed);
    if (!written) return false;
    return SNO_ATOMIC_CAS(&s->horizon, &seen, (uint64_t)horizon_ns, seq_cst,
                            relaxed); /* DISK:R */
}

static inline bool sno_i_state_turn(sno_state *s) {
    uint64_t idle = 0;
    return SNO_ATOMIC_CAS(&s->busy, &idle, 1u, acquire, relaxed); /* TURN:A */
}

static sno_status sno_i_state_admit(void *user, int64_t until_ns) {
    sno_state *s = (sno_state *)user;
    uint64_t asked = SNO_ATOMIC_LOAD(&s->asked, seq_cst);
    while ((int64_t)asked < until_ns &&
           !SNO_ATOMIC_CAS(&s->asked, &asked, (uint64_t)until_ns, seq_cst, seq_cst)) {
    }
    int64_t horizon_ns = (int64_t)SNO_ATOMIC_LOAD(&s->horizon, seq_cst); /* DISK:A */
    if (horizon_ns == INT64_MIN) return SNO_IO;
    const bool is_near = until_ns > horizon_ns - s->horizon_ns / 2;
    if (is_near && !s->by_timer &&
        (until_ns > horizon_ns || until_ns >= (int64_t)SNO_ATOMIC_LOAD(&s->patient, relaxed)) &&
        sno_i_state_turn(s)) {
        const bool moved = sno_i_state_move(s, until_ns);
        SNO_ATOMIC_STORE(&s->busy, 0u, release); /* TURN:R */
        horizon_ns = (int64_t)SNO_ATOMIC_LOAD(&s->horizon, seq_cst);
        if (!moved && until_ns > horizon_ns) return SNO_IO;
    }
    if (until_ns <= horizon_ns) return SNO_OK;
    const int64_t patient_ns = (int64_t)SNO_ATOMIC_LOAD(&s->patient, relaxed);
    return s->by_timer && patient_ns != INT64_MIN ? SNO_IO : SNO_AGAIN;
}

/* Of a parent's, or from before a bump. */
static inline bool sno_i_state_is_stale(const sno_state *s) {
    return sno_i_forked_since(s->fork_word, s->fork_mark);
}

/* A generator begins behind the last run, and behind those of this run that it may follow. */
static inline int64_t sno_i_state_floor(const sno_state *s) {
    return (int64_t)SNO_ATOMIC_LOAD(&s->asked, relaxed);
}

static inline sno_gate sno_state_gate(sno_state *s) {
    sno_gate gate;
    gate.admit = sno_i_state_admit;
    gate.user = s;
    gate.word = NULL;
    return gate;
}

/* Writes a new horizon now, from a timer: with by_timer, or so that no draw has to. From any thread.
 * SNO_IO: the old one stands. */
static inline sno_status sno_state_extend(sno_state *s) {
    if (!SNO_ATOMIC_LOAD(&s->is_open, relaxed)) return SNO_INVALID;
    if (sno_i_state_is_stale(s)) return SNO_FORKED;
    if (!sno_i_state_turn(s)) return SNO_OK; /* somebody is at it */
    const int64_t asked = (int64_t)SNO_ATOMIC_LOAD(&s->asked, relaxed);
    const int64_t now_ns = sno_i_exact_ns(&s->clock);
    const bool moved = sno_i_state_move(s, asked > now_ns ? asked : now_ns);
    SNO_ATOMIC_STORE(&s->busy, 0u, release); /* TURN:R */
    return moved ? SNO_OK : SNO_IO;
}

/* The last word: with it the next run need not wait. Draws fail with SNO_IO from the next unit
 * on; the state's memory must last as long as they may be tried. In a forked child, or after a bump,
 * SNO_FORKED: the file is left alone. */
static inline sno_status sno_state_close(sno_state *s) {
    uint32_t is_open = 1;
    if (!SNO_ATOMIC_CAS(&s->is_open, &is_open, 0u, relaxed, relaxed)) return SNO_INVALID;
#if defined(_WIN32)
    return SNO_IO;
#else
    sno_status status = SNO_FORKED;
    if (!sno_i_state_is_stale(s)) {
        SNO_ATOMIC_STORE(&s->horizon, SNO_I_CLOSED_STATE, seq_cst);
        while (!sno_i_state_turn(s)) SNO_SLEEP_NS(100000);
        const int64_t asked = (int64_t)SNO_ATOMIC_LOAD(&s->asked, seq_cst);
        const int64_t now_ns = sno_i_exact_ns(&s->clock);
        const int64_t last_ns = asked > now_ns ? asked : now_ns;
        status = sno_i_state_write(s, last_ns, now_ns) ? SNO_OK : SNO_IO;
    }
    sno_i_lock_drop(&s->lock);
    return status;
#endif
}

#if !defined(_WIN32)
/* SNO_OK: *r is the file's record, or *is_new: there is none. */
static inline sno_status sno_i_state_read(const sno_state *s, sno_i_record *r, bool *is_new,
                                              sno_why *why) {
    uint8_t bytes[SNO_I_RECORD + 1];
    const int fd = open(s->path, O_RDONLY | O_NONBLOCK); /* a pipe has no end */
    *is_new = fd < 0 && errno == ENOENT;
    if (*is_new) return SNO_OK;
    const int n = fd < 0 ? -1 : sno_i_read_all(fd, bytes, sizeof bytes);
    if (fd >= 0) (void)close(fd);
    if (n < 0) return sno_i_say_errno(why, s->path, ": can't be read: ");
    const sno_status status = sno_i_record_get(bytes, (size_t)n, r);
    if (status == SNO_OK) return SNO_OK;
    return sno_i_say(why, status, s->path,
                       status == SNO_TORN ? "is cut short or damaged"
                                            : "is no state file, or of another version");
}

/* Whatever folder the process goes to, the file stays the same. False: no room. */
static inline bool sno_i_absolute(const char *path, char out[SNO_I_PATH]) {
    const size_t length = strlen(path), room = SNO_I_PATH - 16; /* an ending of ours */
    size_t base = 0;
    if (length >= room) return false;
    if (*path != '/') {
        if (!getcwd(out, room - length)) return false;
        base = strlen(out);
        out[base++] = '/';
    }
    memcpy(out + base, path, length + 1);
    return true;
}

/* With the lock held: reads, judges, waits, and writes the first horizon. */
static inline sno_status sno_i_state_begin(sno_state *s, const sno_state_options *o,
                                               sno_i_record *r, bool *is_new, sno_why *why) {
    const char *what = "";
    sno_status status = sno_i_state_read(s, r, is_new, why);
    if (status != SNO_OK) return status;
    if (*is_new && o->must_exist) return sno_i_say(why, SNO_IO, s->path, "does not exist");
    int64_t now_ns = sno_i_exact_ns(&s->clock);
    int64_t floor_ns = INT64_MIN; /* the last run's horizon */
    if (!*is_new) {
        status =
            sno_i_record_judge(r, s->identity, now_ns, o->allowable_downtime_ms * 1000000, &what);
        if (status != SNO_OK) return sno_i_say(why, status, s->path, what);
        floor_ns = r->horizon_ns;
        while (!o->no_wait && now_ns <= floor_ns) {
            SNO_SLEEP_NS(sno_i_ns_until(floor_ns, now_ns - 1));
            const int64_t before_ns = now_ns;
            now_ns = sno_i_exact_ns(&s->clock);
            if (now_ns < before_ns)
                return sno_i_say(why, SNO_CLOCK_BACK, s->path, "the clock was put back");
        }
    }
    /* never further than the file or the clock's own horizon: a crash loop must not run away */
    int64_t from_ns = now_ns;
    if (floor_ns > now_ns && sno_i_ns_until(floor_ns, now_ns) > s->horizon_ns)
        from_ns = floor_ns - s->horizon_ns;
    SNO_ATOMIC_STORE(&s->asked, (uint64_t)floor_ns, relaxed);
    SNO_ATOMIC_STORE(&s->horizon, (uint64_t)(INT64_MIN + 1), relaxed);
    return sno_i_state_move(s, from_ns) ? SNO_OK
                                          : sno_i_say(why, SNO_IO, s->path, "can't be written");
}
#endif

/* The identity is the generator's; *r and *is_new say what the file had. */
static inline sno_status sno_i_state_open(sno_state *s, const sno_state_options *o,
                                              const uint8_t *identity, sno_i_record *r,
                                              bool *is_new, sno_why *why) {
    const int64_t max_ms = INT64_MAX / 1000000 / 4;
#if !defined(_WIN32)
    if (sno_i_lock_is_held(&s->lock)) /* and goes on as it is */
        return sno_i_say(why, SNO_TAKEN, o->path ? o->path : "path", "the state is open");
#endif
    SNO_ATOMIC_STORE(&s->is_open, 0u, relaxed);
    if (!o->path || !*o->path) return sno_i_say(why, SNO_INVALID, "path", "is missing");
    if (o->horizon_ms < 0 || o->horizon_ms > max_ms)
        return sno_i_say(why, SNO_INVALID, "horizon_ms", "is out of range");
    if (o->allowable_downtime_ms < 0 || o->allowable_downtime_ms > max_ms)
        return sno_i_say(why, SNO_INVALID, "allowable_downtime_ms", "is out of range");
#if defined(_WIN32)
    (void)identity;
    (void)r;
    (void)is_new;
    return sno_i_say(why, SNO_IO, o->path, "state files need POSIX");
#else
    char lock_path[SNO_I_PATH];
    if (!sno_i_absolute(o->path, s->path))
        return sno_i_say(why, SNO_INVALID, "path", "is too long, or the folder is gone");
    memcpy(lock_path, s->path, strlen(s->path));
    memcpy(lock_path + strlen(s->path), sno_i_lock_ending, sizeof sno_i_lock_ending);
    sno_status status = sno_i_lock_take(&s->lock, lock_path);
    if (status == SNO_TAKEN)
        return sno_i_say(why, status, o->path, "is in use, by this process or another");
    if (status != SNO_OK)
        return sno_i_say_errno(why, lock_path, ": can't be opened and locked: ");
    s->horizon_ns = (o->horizon_ms ? o->horizon_ms : 3000) * 1000000;
    s->written_ns = INT64_MIN;
    s->by_timer = o->by_timer;
    s->clock = o->clock;
    memcpy(s->identity, identity, SNO_I_IDENTITY);
    s->fork_mark = sno_i_fork_mark(&s->fork_word);
    SNO_ATOMIC_STORE(&s->busy, 0u, relaxed);
    SNO_ATOMIC_STORE(&s->patient, (uint64_t)INT64_MIN, relaxed);
    status = sno_i_state_begin(s, o, r, is_new, why);
    if (status == SNO_OK) SNO_ATOMIC_STORE(&s->is_open, 1u, relaxed);
    else sno_i_lock_drop(&s->lock);
    return status;
#endif
}
// >>common end
// clang-format on

// >>options

struct sno_options {
    const sno_snapshot *snapshot; /* pool, partition, and where to go on; NULL: see sno_init */
    sno_clock clock;              /* all zero: the system's exact clock */
    struct sno_ring *overflow;    /* gets a note each ms while callers queue; NULL: none */
    sno_gate gate;                /* asked before each new unit; {0}: none */
    struct sno_state *state; /* an open state file, so that a restart repeats no id; NULL: none */
    int64_t max_wait_ms;     /* longest wait of one call; 0: as long as it takes */
    bool shared_memory;      /* lies in memory that processes share: survives fork. They must be
                           forks of one another, or use the system's clock and no ring. SNO_INVALID
                           where 64-bit atomics take a lock (32-bit powerpc, mips) */
};

/* Big, and made of cache lines: static, on the stack or malloc'd, with no alignment to mind. */
struct sno_gen {
    sno_i_engine engine;
    uint16_t partition, sequence_min;
    sno_i_atomic64 with_time; /* calls of sno_new_with_time */
};

struct sno_shard {
    sno_gen gen;
};

struct sno_pool {
    sno_shard *shards;
    size_t n;
    sno_i_atomic32 hint;
};

static inline const char *sno_status_str(sno_status status) {
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
    case SNO_FOREIGN: return "the state file is of another partition or pool, or no state file";
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

/* To big-endian, and from it. */
static inline uint64_t sno_i_be64(uint64_t value) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return __builtin_bswap64(
        value); /* gcc makes slow vectors of the byte stores of two neighbours */
#else
    uint8_t bytes[sizeof value];
    memcpy(bytes, &value, sizeof value);
    value = 0;
    for (size_t i = 0; i < sizeof value; i++) value = value << 8 | bytes[i];
    return value;
#endif
}

static inline uint16_t sno_i_be16(uint16_t value) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return __builtin_bswap16(value);
#else
    const uint8_t bytes[] = {(uint8_t)(value >> 8), (uint8_t)value};
    memcpy(&value, bytes, sizeof value);
    return value;
#endif
}

static inline uint64_t sno_i_load_be64(const void *from) {
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return sno_i_be64(value);
}

static inline void sno_i_store_be64(void *to, uint64_t value) {
    value = sno_i_be64(value);
    memcpy(to, &value, sizeof value);
}

static inline uint16_t sno_i_load_be16(const uint8_t *from) {
    return (uint16_t)(from[0] << 8 | from[1]);
}

/* All but the sequence, and the sequence. */
static inline uint64_t sno_i_head(const sno_id *id) { return sno_i_load_be64(id->bytes); }
static inline uint16_t sno_i_tail(const sno_id *id) { return sno_i_load_be16(id->bytes + 8); }

static inline sno_id sno_i_id(uint64_t head, uint16_t tail) {
    sno_id id;
    sno_i_store_be64(id.bytes, head);
    tail = sno_i_be16(tail);
    memcpy(id.bytes + 8, &tail, sizeof tail);
    return id;
}

static inline uint64_t sno_units(sno_id id) { return sno_i_head(&id) >> SNO_I_TIME_SHIFT; }
static inline unsigned sno_tick(sno_id id) { return id.bytes[4] & 1U; }
static inline uint8_t sno_meta(sno_id id) { return id.bytes[5]; }
static inline uint16_t sno_partition(sno_id id) { return sno_i_load_be16(id.bytes + 6); }
static inline uint16_t sno_sequence(sno_id id) { return sno_i_tail(&id); }

/* Unix time; 39 bits of 4 ms end in 2079, well inside the range of int64_t. */
static inline int64_t sno_time_ns(sno_id id) {
    return (int64_t)sno_units(id) * SNO_I_UNIT_NS + SNO_I_EPOCH_NS;
}

static inline sno_id sno_from_bytes(const uint8_t in[10]) {
    sno_id id;
    memcpy(id.bytes, in, sizeof id.bytes);
    return id;
}

static inline void sno_to_bytes(sno_id id, uint8_t out[10]) {
    memcpy(out, id.bytes, sizeof id.bytes);
}

static inline sno_status sno_compose(uint64_t units, unsigned tick, uint8_t meta,
                                     uint16_t partition, uint16_t sequence, sno_id *id) {
    if (units >> 39 != 0) return SNO_RANGE;
    if (tick > 1) return SNO_INVALID;
    *id = sno_i_id(units << SNO_I_TIME_SHIFT | (uint64_t)tick << 24 | (uint64_t)meta << 16 |
                       partition,
                   sequence);
    return SNO_OK;
}

static inline sno_status sno_i_units_at(int64_t unix_ns, uint64_t *units) {
    if (unix_ns < SNO_I_EPOCH_NS) return SNO_RANGE;
    *units = (uint64_t)(unix_ns - SNO_I_EPOCH_NS) / (uint64_t)SNO_I_UNIT_NS;
    return *units >> 39 == 0 ? SNO_OK : SNO_RANGE;
}

static inline sno_status sno_min_at(int64_t unix_ns, sno_id *id) {
    uint64_t units;
    const sno_status status = sno_i_units_at(unix_ns, &units);
    return status == SNO_OK ? sno_compose(units, 0, 0, 0, 0, id) : status;
}

static inline sno_status sno_max_at(int64_t unix_ns, sno_id *id) {
    uint64_t units;
    const sno_status status = sno_i_units_at(unix_ns, &units);
    return status == SNO_OK ? sno_compose(units, 1, UINT8_MAX, UINT16_MAX, UINT16_MAX, id) : status;
}

static inline bool sno_i_less(const sno_id *a, const sno_id *b) {
    const uint64_t head_a = sno_i_head(a), head_b = sno_i_head(b);
    return head_a != head_b ? head_a < head_b : sno_i_tail(a) < sno_i_tail(b);
}

/* Negative, zero or positive: by time, then tick, meta, partition and sequence. */
static inline int sno_compare(sno_id a, sno_id b) {
    const uint64_t head_a = sno_i_head(&a), head_b = sno_i_head(&b);
    if (head_a != head_b) return head_a < head_b ? -1 : 1;
    return sno_i_tail(&a) - sno_i_tail(&b);
}

static inline bool sno_equal(sno_id a, sno_id b) {
    return sno_i_head(&a) == sno_i_head(&b) && sno_i_tail(&a) == sno_i_tail(&b);
}

static inline bool sno_is_zero(sno_id id) { return sno_i_head(&id) == 0 && sno_i_tail(&id) == 0; }

// >>sort
/* A radix sort in place, most significant digit first. A digit is the 8 bits that begin where the
 * ids at hand first differ, so what they have in common (the year, a partition) costs one look.
 * Each level uses up 8 of the 80 bits: on any input at most 10 levels, each with 4 KB of stack. */

#define SNO_I_SORT_FEW 32 /* below this, insertion beats clearing 256 counters */

static inline void sno_i_sort_few(sno_id *ids, size_t n) {
    for (size_t i = 1; i < n; i++) {
        const sno_id id = ids[i];
        size_t place = i;
        for (; place > 0 && sno_i_less(&id, &ids[place - 1]); place--) ids[place] = ids[place - 1];
        ids[place] = id;
    }
}

static inline unsigned sno_i_first_bit(uint64_t value) {
    unsigned bit = 0;
    for (; value >> 63 == 0; value <<= 1) bit++;
    return bit;
}

/* The first bit in which two of the ids differ; 80 when all are equal. */
static inline unsigned sno_i_sort_first_difference(const sno_id *ids, size_t n) {
    uint64_t heads = 0, tails = 0;
    for (size_t i = 1; i < n; i++) {
        heads |= sno_i_head(&ids[i]) ^ sno_i_head(&ids[0]);
        tails |= (uint64_t)(sno_i_tail(&ids[i]) ^ sno_i_tail(&ids[0]));
    }
    if (heads != 0) return sno_i_first_bit(heads);
    return tails != 0 ? 16 + sno_i_first_bit(tails) : 80;
}

/* The 8 bits at `bit`, at most 72; the pair of bytes that holds them never ends past the id. */
static inline unsigned sno_i_sort_digit(const sno_id *id, unsigned bit) {
    const unsigned first = bit < 72 ? bit / 8 : 8;
    return (unsigned)sno_i_load_be16(id->bytes + first) >> (8 - (bit - 8 * first)) & 0xff;
}

/* Moves every id to the bucket of its digit, and says where each bucket ends. The id in hand goes
 * to the next place in its bucket, and the one found there is the next in hand. */
static inline void sno_i_sort_by_digit(sno_id *ids, size_t n, unsigned bit, size_t ends[256]) {
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

static inline void sno_sort(sno_id *ids, size_t n) {
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
 *     sse         x86-64: SSE2, and shorter with SSSE3
 *     avx2        x86-64: whole arrays, two ids at a time; compiled always, chosen at run time
 *     neon        aarch64
 *
 * Characters are turned to values and back without tables. As unsigned bytes that wrap around,
 * c - '2' and c - ('a' - 8) are the value if c is a digit and if c is a letter, and the smaller of
 * the two is the right one. What is out of the alphabet has c - '2' above 7 and c - 'a' above 23;
 * adding 120 and 104 with saturation moves both limits to bit 7. */

#define SNO_I_LETTER_GAP      ('a' - 8 - '2') /* what a letter lies above its value + '2' */
#define SNO_I_EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

static inline uint64_t sno_i_8_chars(uint64_t bits40) {
    uint64_t v = (bits40 << 12 & UINT64_C(0x000fffff00000000)) | (bits40 & 0xfffff);
    v = (v << 6 & UINT64_C(0x03ff000003ff0000)) | (v & UINT64_C(0x000003ff000003ff));
    v = (v << 3 & UINT64_C(0x1f001f001f001f00)) | (v & UINT64_C(0x001f001f001f001f));
    const uint64_t is_letter = (v + SNO_I_EACH_BYTE(0x80 - 8)) >> 7 & SNO_I_EACH_BYTE(1);
    return v + SNO_I_EACH_BYTE('2') + is_letter * SNO_I_LETTER_GAP;
}

static inline bool sno_i_is_8_chars(uint64_t text) {
    /* In ASCII, bit 7 of each byte of text + SNO_I_EACH_BYTE(0x80 - c) says whether it is c or
     * above. Other bytes pass for neither and, though they carry into a neighbour, refuse the text. */
    const uint64_t digit =
        (text + SNO_I_EACH_BYTE(0x80 - '2')) & ~(text + SNO_I_EACH_BYTE(0x7f - '9'));
    const uint64_t letter =
        (text + SNO_I_EACH_BYTE(0x80 - 'a')) & ~(text + SNO_I_EACH_BYTE(0x7f - 'x'));
    return (~(digit | letter) & SNO_I_EACH_BYTE(0x80)) == 0;
}

static inline uint64_t sno_i_40_bits(uint64_t text) {
    const uint64_t is_letter = text >> 6 & SNO_I_EACH_BYTE(1);
    uint64_t v = text - SNO_I_EACH_BYTE('2') - is_letter * SNO_I_LETTER_GAP;
    v = (v >> 3 & UINT64_C(0x03e003e003e003e0)) | (v & UINT64_C(0x001f001f001f001f));
    v = (v >> 6 & UINT64_C(0x000ffc00000ffc00)) | (v & UINT64_C(0x000003ff000003ff));
    return (v >> 12 & UINT64_C(0x000000fffff00000)) | (v & 0xfffff);
}

static inline sno_id sno_i_id_of_halves(uint64_t first_40_bits, uint64_t last_40_bits) {
    return sno_i_id(first_40_bits << 24 | last_40_bits >> 16, (uint16_t)last_40_bits);
}

static inline void sno_i_encode_portable(sno_id id, char *out) {
    const uint64_t head = sno_i_head(&id);
    sno_i_store_be64(out, sno_i_8_chars(head >> 24));
    sno_i_store_be64(out + 8, sno_i_8_chars((head & 0xffffff) << 16 | sno_i_tail(&id)));
}

static inline bool sno_i_is_text_portable(const char *text) {
    return sno_i_is_8_chars(sno_i_load_be64(text)) && sno_i_is_8_chars(sno_i_load_be64(text + 8));
}

static inline sno_id sno_i_decode_portable(const char *text) {
    return sno_i_id_of_halves(sno_i_40_bits(sno_i_load_be64(text)),
                              sno_i_40_bits(sno_i_load_be64(text + 8)));
}

#if defined(SNO_I_X86)

static inline __m128i sno_i_load_16(const void *from) {
    return _mm_loadu_si128((const __m128i *)from);
}

/* What the shuffling forms share. Encoding: each two values lie in a pair of bytes, which is
 * brought into a 16-bit lane and multiplied until the ten bits stand at the top. Decoding: values
 * are joined to 10 bits, then to 20; the first 20 of each 40 are left 4 bits up, so that only the
 * low half of the byte in the middle is missing, and stands in place 48 bits further up. */
static inline __m128i sno_i_pairs_of_bytes(void) {
    return _mm_setr_epi8(1, 0, 2, 1, 3, 2, 4, 3, 6, 5, 7, 6, 8, 7, 9, 8);
}
static inline __m128i sno_i_pair_scales(void) { return _mm_setr_epi16(1, 4, 16, 64, 1, 4, 16, 64); }
static inline __m128i sno_i_value_scales(void) { return _mm_set1_epi16(0x0120); }
static inline __m128i sno_i_ten_bit_scales(void) { return _mm_set1_epi64x(0x0001040000104000); }
static inline __m128i sno_i_order_of_bytes(void) {
    return _mm_setr_epi8(2, 1, 0, 5, 4, 10, 9, 8, 13, 12, -1, -1, -1, -1, -1, -1);
}

static inline void sno_i_encode_sse(sno_id id, char *out) {
    /* Loaded as 8 bytes and 2, as ids are stored: a load across two fresh stores would stall. */
    int16_t last;
    memcpy(&last, id.bytes + 8, sizeof last);
    const __m128i bytes =
        _mm_insert_epi16(_mm_loadl_epi64((const __m128i *)(const void *)id.bytes), last, 4);
#ifdef __SSSE3__
    const __m128i pairs = _mm_shuffle_epi8(bytes, sno_i_pairs_of_bytes());
#else
    const __m128i halves = _mm_unpacklo_epi64(bytes, _mm_srli_si128(bytes, 5));
    const __m128i next = _mm_srli_epi64(halves, 8);
    const __m128i pairs =
        _mm_unpacklo_epi64(_mm_unpacklo_epi8(next, halves), _mm_unpackhi_epi8(next, halves));
#endif
    const __m128i ten_bits = _mm_mullo_epi16(pairs, sno_i_pair_scales());
    const __m128i values =
        _mm_or_si128(_mm_srli_epi16(ten_bits, 11),
                     _mm_and_si128(_mm_slli_epi16(ten_bits, 2), _mm_set1_epi16(0x1f00)));
    const __m128i is_letter = _mm_cmpgt_epi8(values, _mm_set1_epi8(7));
    const __m128i text = _mm_add_epi8(_mm_add_epi8(values, _mm_set1_epi8('2')),
                                      _mm_and_si128(is_letter, _mm_set1_epi8(SNO_I_LETTER_GAP)));
    _mm_storeu_si128((__m128i *)(void *)out, text);
}

static inline bool sno_i_is_text_sse(const char *text) {
    const __m128i c = sno_i_load_16(text);
    const __m128i digit = _mm_adds_epu8(_mm_sub_epi8(c, _mm_set1_epi8('2')), _mm_set1_epi8(120));
    const __m128i letter = _mm_adds_epu8(_mm_sub_epi8(c, _mm_set1_epi8('a')), _mm_set1_epi8(104));
    return _mm_movemask_epi8(_mm_min_epu8(digit, letter)) == 0;
}

static inline sno_id sno_i_decode_sse(const char *text) {
    const __m128i c = sno_i_load_16(text);
    const __m128i values =
        _mm_min_epu8(_mm_sub_epi8(c, _mm_set1_epi8('2')), _mm_sub_epi8(c, _mm_set1_epi8('a' - 8)));
#ifdef __SSSE3__
    const __m128i ten_bits = _mm_maddubs_epi16(values, sno_i_value_scales());
    const __m128i twenty_bits = _mm_madd_epi16(ten_bits, sno_i_ten_bit_scales());
    const __m128i forty_bits = _mm_or_si128(twenty_bits, _mm_srli_epi64(twenty_bits, 48));
    const __m128i bytes = _mm_shuffle_epi8(forty_bits, sno_i_order_of_bytes());
    const uint16_t last = (uint16_t)_mm_extract_epi16(bytes, 4);
    sno_id id;
    _mm_storel_epi64((__m128i *)(void *)id.bytes, bytes);
    memcpy(id.bytes + 8, &last, sizeof last);
    return id;
#else
    const __m128i ten_bits = _mm_or_si128(
        _mm_and_si128(_mm_slli_epi16(values, 5), _mm_set1_epi16(0x3e0)), _mm_srli_epi16(values, 8));
    const __m128i twenty_bits = _mm_madd_epi16(ten_bits, _mm_set1_epi32(0x00010400));
    const __m128i forty_bits = _mm_or_si128(_mm_mul_epu32(twenty_bits, _mm_set1_epi64x(1 << 20)),
                                            _mm_srli_epi64(twenty_bits, 32));
    return sno_i_id_of_halves(
        (uint64_t)_mm_cvtsi128_si64(forty_bits),
        (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(forty_bits, forty_bits)));
#endif
}

/* gcc for Windows does not align the stack for 32-byte values. */
#if !defined(_WIN32) || defined(__clang__)
#define SNO_I_AVX2 __attribute__((target("avx2")))

#ifdef __AVX2__
#define SNO_I_HAS_AVX2 true
#else
#define SNO_I_HAS_AVX2 (__builtin_cpu_supports("avx2") != 0) /* a load and a test */
#endif

/* The loops over ids load and store 16 bytes for each 10, so they leave the last id or two, which
 * have no 6 bytes after them, to the sse forms. */

SNO_I_AVX2 static inline void sno_i_encode_n_avx2(const sno_id *ids, size_t n, char *out) {
    const __m256i pairs_of_bytes = _mm256_broadcastsi128_si256(sno_i_pairs_of_bytes());
    const __m256i pair_scales = _mm256_broadcastsi128_si256(sno_i_pair_scales());
    const __m256i offsets = _mm256_broadcastsi128_si256(
        _mm_setr_epi8('2', '2', '2', '2', '2', '2', '2', '2', 'a' - 8, 0, 0, 0, 0, 0, 0, 0));
    size_t i = 0;
    for (; i + 2 < n; i += 2) {
        const __m256i bytes = _mm256_inserti128_si256(
            _mm256_castsi128_si256(sno_i_load_16(&ids[i])), sno_i_load_16(&ids[i + 1]), 1);
        const __m256i ten_bits =
            _mm256_mullo_epi16(_mm256_shuffle_epi8(bytes, pairs_of_bytes), pair_scales);
        const __m256i values = _mm256_or_si256(
            _mm256_srli_epi16(ten_bits, 11),
            _mm256_and_si256(_mm256_slli_epi16(ten_bits, 2), _mm256_set1_epi16(0x1f00)));
        const __m256i offset =
            _mm256_shuffle_epi8(offsets, _mm256_min_epu8(values, _mm256_set1_epi8(8)));
        _mm256_storeu_si256((__m256i *)(void *)(out + 16 * i), _mm256_add_epi8(values, offset));
    }
    for (; i < n; i++) sno_i_encode_sse(ids[i], out + 16 * i);
}

SNO_I_AVX2 static inline bool sno_i_is_text_n_avx2(const char *text, size_t n) {
    __m256i seen = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + 1 < n; i += 2) {
        const __m256i c = _mm256_loadu_si256((const __m256i *)(const void *)(text + 16 * i));
        const __m256i digit =
            _mm256_adds_epu8(_mm256_sub_epi8(c, _mm256_set1_epi8('2')), _mm256_set1_epi8(120));
        const __m256i letter =
            _mm256_adds_epu8(_mm256_sub_epi8(c, _mm256_set1_epi8('a')), _mm256_set1_epi8(104));
        seen = _mm256_or_si256(seen, _mm256_min_epu8(digit, letter));
    }
    return _mm256_movemask_epi8(seen) == 0 && (i == n || sno_i_is_text_sse(text + 16 * i));
}

SNO_I_AVX2 static inline void sno_i_decode_n_avx2(const char *text, size_t n, sno_id *out) {
    const __m256i value_scales = _mm256_broadcastsi128_si256(sno_i_value_scales());
    const __m256i ten_bit_scales = _mm256_broadcastsi128_si256(sno_i_ten_bit_scales());
    const __m256i order_of_bytes = _mm256_broadcastsi128_si256(sno_i_order_of_bytes());
    size_t i = 0;
    for (; i + 2 < n; i += 2) {
        const __m256i c = _mm256_loadu_si256((const __m256i *)(const void *)(text + 16 * i));
        const __m256i values = _mm256_min_epu8(_mm256_sub_epi8(c, _mm256_set1_epi8('2')),
                                               _mm256_sub_epi8(c, _mm256_set1_epi8('a' - 8)));
        const __m256i ten_bits = _mm256_maddubs_epi16(values, value_scales);
        const __m256i twenty_bits = _mm256_madd_epi16(ten_bits, ten_bit_scales);
        const __m256i forty_bits = _mm256_or_si256(twenty_bits, _mm256_srli_epi64(twenty_bits, 48));
        const __m256i bytes = _mm256_shuffle_epi8(forty_bits, order_of_bytes);
        _mm_storeu_si128((__m128i *)(void *)&out[i], _mm256_castsi256_si128(bytes));
        _mm_storeu_si128((__m128i *)(void *)&out[i + 1], _mm256_extracti128_si256(bytes, 1));
    }
    for (; i < n; i++) out[i] = sno_i_decode_sse(text + 16 * i);
}

#endif /* SNO_I_AVX2 */

#define SNO_I_BEST(primitive) sno_i_##primitive##_sse

#elif defined(SNO_I_NEON)

static inline void sno_i_encode_neon(sno_id id, char *out) {
    static const uint8_t pairs_of_bytes[16] = {1, 0, 2, 1, 3, 2, 4, 3, 6, 5, 7, 6, 8, 7, 9, 8};
    static const int16_t pair_shifts[8] = {0, 2, 4, 6, 0, 2, 4, 6};
    uint16_t last;
    memcpy(&last, id.bytes + 8, sizeof last);
    const uint8x16_t bytes = vcombine_u8(vld1_u8(id.bytes), vcreate_u8(last));
    const uint8x16_t pairs = vqtbl1q_u8(bytes, vld1q_u8(pairs_of_bytes));
    const uint16x8_t ten_bits = vshlq_u16(vreinterpretq_u16_u8(pairs), vld1q_s16(pair_shifts));
    const uint16x8_t split = vsliq_n_u16(vshrq_n_u16(ten_bits, 11), vshrq_n_u16(ten_bits, 6), 8);
    const uint8x16_t values = vandq_u8(vreinterpretq_u8_u16(split), vdupq_n_u8(0x1f));
    const uint8x16_t gap = vandq_u8(vcgtq_u8(values, vdupq_n_u8(7)), vdupq_n_u8(SNO_I_LETTER_GAP));
    vst1q_u8((uint8_t *)out, vaddq_u8(vaddq_u8(values, vdupq_n_u8('2')), gap));
}

static inline bool sno_i_is_text_neon(const char *text) {
    const uint8x16_t c = vld1q_u8((const uint8_t *)text);
    const uint8x16_t digit = vqaddq_u8(vsubq_u8(c, vdupq_n_u8('2')), vdupq_n_u8(120));
    const uint8x16_t letter = vqaddq_u8(vsubq_u8(c, vdupq_n_u8('a')), vdupq_n_u8(104));
    return vmaxvq_u8(vminq_u8(digit, letter)) < 0x80;
}

static inline sno_id sno_i_decode_neon(const char *text) {
    const uint8x16_t c = vld1q_u8((const uint8_t *)text);
    const uint16x8_t values = vreinterpretq_u16_u8(
        vminq_u8(vsubq_u8(c, vdupq_n_u8('2')), vsubq_u8(c, vdupq_n_u8('a' - 8))));
    /* Each step leaves waste above the bits it names; the next one shifts it further up. */
    const uint32x4_t ten_bits =
        vreinterpretq_u32_u16(vsliq_n_u16(vshrq_n_u16(values, 8), values, 5));
    const uint64x2_t twenty_bits =
        vreinterpretq_u64_u32(vsliq_n_u32(vshrq_n_u32(ten_bits, 16), ten_bits, 10));
    const uint64x2_t forty_bits = vsliq_n_u64(vshrq_n_u64(twenty_bits, 32), twenty_bits, 20);
    const uint64_t mask = (UINT64_C(1) << 40) - 1;
    return sno_i_id_of_halves(vgetq_lane_u64(forty_bits, 0), vgetq_lane_u64(forty_bits, 1) & mask);
}

#define SNO_I_BEST(primitive) sno_i_##primitive##_neon

#else
#define SNO_I_BEST(primitive) sno_i_##primitive##_portable
#endif

static inline void sno_encode(sno_id id, char out[16]) { SNO_I_BEST(encode)(id, out); }

static inline sno_status sno_decode(const char *text, size_t len, sno_id *id) {
    if (text == NULL || len != 16 || !SNO_I_BEST(is_text)(text)) return SNO_PARSE;
    *id = SNO_I_BEST(decode)(text);
    return SNO_OK;
}

/* Writes 16 * n characters. */
static inline void sno_encode_n(const sno_id *ids, size_t n, char *out) {
#ifdef SNO_I_AVX2
    if (SNO_I_HAS_AVX2) {
        sno_i_encode_n_avx2(ids, n, out);
        return;
    }
#endif
    for (size_t i = 0; i < n; i++) SNO_I_BEST(encode)(ids[i], out + 16 * i);
}

static inline bool sno_i_is_text_n(const char *text, size_t n) {
#ifdef SNO_I_AVX2
    if (SNO_I_HAS_AVX2) return sno_i_is_text_n_avx2(text, n);
#endif
    for (size_t i = 0; i < n; i++) {
        if (!SNO_I_BEST(is_text)(text + 16 * i)) return false;
    }
    return true;
}

/* Reads 16 * n characters; one bad character, and no id is written. */
static inline sno_status sno_decode_n(const char *text, size_t n, sno_id *out) {
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

/* "..." in quotes, or null for the zero id; with a final NUL. */
static inline void sno_to_json(sno_id id, char out[19]) {
    if (sno_is_zero(id)) {
        memcpy(out, "null", sizeof "null");
        return;
    }
    out[0] = '"';
    sno_encode(id, out + 1);
    memcpy(out + 17, "\"", sizeof "\"");
}

static inline sno_status sno_from_json(const char *text, size_t len, sno_id *id) {
    if (text == NULL) return SNO_PARSE;
    if (len == 4 && memcmp(text, "null", 4) == 0) {
        *id = sno_i_id(0, 0);
        return SNO_OK;
    }
    if (len != 18 || text[0] != '"' || text[17] != '"') return SNO_PARSE;
    return sno_decode(text + 1, 16, id);
}

/* A UUID is 16 bytes, and so is the text: its characters in hex, 8-4-4-4-12, with a final NUL. */
static inline bool sno_i_uuid_has_hyphen_before(size_t byte) {
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

static inline void sno_to_uuid(sno_id id, char out[37]) {
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
static inline unsigned sno_i_hex_digit(char c) {
    if (c >= '0' && c <= '9') return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f') return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return (unsigned)(c - 'A') + 10;
    return 16;
}

static inline sno_status sno_from_uuid(const char *text, size_t len, sno_id *id) {
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
static inline sno_snapshot sno_i_resolved(const sno_snapshot *given) {
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
static inline sno_i_setup sno_i_setup_of(const sno_options *o, uint32_t cap) {
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
    setup.gates[0] = o->gate;
    if (o->state) setup.gates[1] = sno_state_gate(o->state);
    return setup;
}

static inline const char *sno_options_why(const sno_options *o) {
    const int64_t last = (int64_t)1 << 39;
    if (!o) return NULL;
    sno_i_split split;
    const sno_i_setup setup = sno_i_setup_of(o, UINT16_MAX + 1);
    const char *why = sno_i_split_word(&setup, &split);
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

/* Partitions given away: consecutive, from a start that depends on time and process. The count lies
 * in memory that forked children share, so that relatives don't take the same one. A machine's clone
 * has a copy of it, so the first relative that takes one after a bump chooses another start. */
struct sno_i_family {
    sno_i_atomic32 start; /* [ bumps:15 ][ 1 ][ first:16 ]; 0: not chosen yet */
    sno_i_atomic32 used;
};
struct sno_i_partitions {
    SNO_ATOMIC(struct sno_i_family *) family; /* NULL: not asked for yet */
    struct sno_i_family private_family;       /* where memory can't be shared */
};
#if defined(__cplusplus)
extern "C" {
#endif
extern struct sno_i_partitions sno_i_partitions;
SNO_I_ONE_PER_PROCESS(struct sno_i_partitions, sno_i_partitions);
#if defined(__cplusplus)
}
#endif

static inline struct sno_i_family *sno_i_get_family(void) {
    struct sno_i_family *family = SNO_ATOMIC_LOAD(&sno_i_partitions.family, acquire); /* PAGE:A */
    if (family) return family;
    void *page = sno_i_new_page(true);
    struct sno_i_family *fresh =
        page ? (struct sno_i_family *)page : &sno_i_partitions.private_family;
    if (SNO_ATOMIC_CAS(&sno_i_partitions.family, &family, fresh, release, acquire))
        return fresh; /* PAGE:R */
    if (page) sno_i_drop_page(page);
    return family;
}

/* Lock-free. Only the RMW on `used` gives a partition away, so relaxed will do. */
static inline sno_status sno_i_take_partition(uint16_t *partition) {
    struct sno_i_family *family = sno_i_get_family();
    uint32_t start = SNO_ATOMIC_LOAD(&family->start, relaxed);
    const uint32_t bumps = SNO_ATOMIC_LOAD(&sno_i_process.bumps, relaxed) & 0x7fff;
    const uint32_t missed = (bumps - (start >> 17)) & 0x7fff; /* half and more: is ahead of us */
    if (!start || (missed && missed < 0x4000)) {
        uint64_t seed = (uint64_t)SNO_CLOCK_NS(SNO_CLOCK_EXACT) ^ sno_i_pid_mark() << 40;
        uint32_t chosen = (uint32_t)(seed * 0x9e3779b97f4a7c15 >> 48) | 1u << 16 | bumps << 17;
        if (SNO_ATOMIC_CAS(&family->start, &start, chosen, relaxed, relaxed)) start = chosen;
    }
    uint32_t used = SNO_ATOMIC_LOAD(&family->used, relaxed);
    do {
        if (used == UINT16_MAX) return SNO_EXHAUSTED;
    } while (!SNO_ATOMIC_CAS(&family->used, &used, used + 1, relaxed, relaxed));
    *partition = (uint16_t)(start + used);
    return SNO_OK;
}

/* The engine for `cap` numbers; `from` (or NULL) is resolved and says where to go on. */
static inline sno_status sno_i_gen_init(sno_gen *g, const sno_options *o, uint16_t partition,
                                        uint16_t sequence_min, uint32_t cap) {
    const sno_i_setup setup = sno_i_setup_of(o, cap);
    const sno_status status = sno_i_engine_init(&g->engine, &setup);
    if (status != SNO_OK) return status;
    SNO_ASSERT(g->engine.time_shift == SNO_I_TIME_SHIFT);
    g->partition = partition;
    g->sequence_min = sequence_min;
    SNO_ATOMIC_STORE(&g->with_time, 0u, relaxed);
    sno_i_spend_unit(&g->engine);
    return SNO_OK;
}

/* Puts a fresh generator where the snapshot stands: `count` numbers drawn since unit wall_hi. */
static inline void sno_i_go_on(sno_gen *g, const sno_snapshot *s, uint64_t count) {
    sno_i_engine *e = &g->engine;
    const uint64_t time = (uint64_t)s->wall_hi, tick = s->drifts & 1;
    SNO_ATOMIC_STORE(&e->word, time << e->time_shift | tick << (e->time_shift - 1) | count,
                     relaxed);
    SNO_ATOMIC_STORE(&e->safe[tick ^ 1], (uint64_t)s->wall_safe, relaxed);
    SNO_ATOMIC_STORE(&e->drifts, s->drifts, relaxed);
    SNO_ATOMIC_STORE(&e->rebased, 0 - count, relaxed); /* not drawn here */
    sno_i_spend_unit(e);
}

/* What a state file says it is for. */
static inline void sno_i_identity(const sno_snapshot *pool, uint8_t out[SNO_I_IDENTITY]) {
    memset(out, 0, SNO_I_IDENTITY);
    out[0] = 's';
    sno_i_put64(out + 32, pool->partition);
    sno_i_put64(out + 40, pool->sequence_min);
    sno_i_put64(out + 48, pool->sequence_max);
}

/* Whether the options' state is open, and for their pool. */
static inline bool sno_i_state_is_for(const sno_options *o) {
    uint8_t own[SNO_I_IDENTITY];
    if (!o->snapshot) return false;
    const sno_snapshot pool = sno_i_resolved(o->snapshot);
    sno_i_identity(&pool, own);
    return SNO_ATOMIC_LOAD(&o->state->is_open, relaxed) &&
           memcmp(o->state->identity, own, SNO_I_IDENTITY) == 0;
}

static inline sno_status sno_init(sno_gen *g, const sno_options *o) {
    if (sno_options_why(o)) return SNO_INVALID;
    if (o && o->state && sno_i_state_is_stale(o->state)) return SNO_FORKED;
    if (o && o->state && !sno_i_state_is_for(o)) return SNO_FOREIGN;
    if (!o || !o->snapshot) {
        uint16_t partition;
        sno_status status = sno_i_take_partition(&partition);
        return status == SNO_OK ? sno_i_gen_init(g, o, partition, 0, UINT16_MAX + 1) : status;
    }
    const sno_snapshot s = sno_i_resolved(o->snapshot);
    sno_status status = sno_i_gen_init(g, o, s.partition, s.sequence_min,
                                       (uint32_t)(s.sequence_max - s.sequence_min) + 1);
    if (status != SNO_OK) return status;
    sno_i_go_on(g, &s, s.sequence - s.sequence_min + 1);
    if (o->state) sno_i_engine_floor(&g->engine, sno_i_state_floor(o->state));
    return SNO_OK;
}

static inline sno_status sno_reinit_after_fork(sno_gen *g, const sno_options *o) {
    if (!g->engine.cap || !sno_i_forked(&g->engine) || sno_options_why(o)) return SNO_INVALID;
    if (o && o->snapshot) {
        const sno_snapshot s = sno_i_resolved(o->snapshot);
        if (s.partition == g->partition && s.sequence_min < g->sequence_min + g->engine.cap &&
            g->sequence_min <= s.sequence_max)
            return SNO_INVALID;
    }
    return sno_init(g, o);
}

/* The pool of the file, if there is one that can be read: whether the run may go on from it is
 * looked at later, with the file locked. */
static inline bool sno_i_pool_on_file(const char *path, sno_snapshot *pool) {
#if defined(_WIN32)
    (void)path;
    (void)pool;
    return false;
#else
    uint8_t bytes[SNO_I_RECORD + 1];
    sno_i_record r;
    const int fd = path ? open(path, O_RDONLY | O_NONBLOCK) : -1;
    if (fd < 0) return false;
    const int n = sno_i_read_all(fd, bytes, sizeof bytes);
    (void)close(fd);
    if (n < 0 || sno_i_record_get(bytes, (size_t)n, &r) != SNO_OK || r.identity[0] != 's')
        return false;
    pool->partition = (uint16_t)sno_i_get64(r.identity + 32);
    pool->sequence_min = (uint16_t)sno_i_get64(r.identity + 40);
    pool->sequence_max = (uint16_t)sno_i_get64(r.identity + 48);
    return true;
#endif
}

static inline sno_status sno_state_open(sno_state *s, const sno_state_options *where,
                                        sno_snapshot *pool, sno_why *why) {
    sno_snapshot wanted = sno_i_resolved(pool);
    sno_i_record record;
    bool is_new;
    uint8_t identity[SNO_I_IDENTITY];
    if (!pool->partition && !pool->sequence_min && !pool->sequence_max &&
        !sno_i_pool_on_file(where->path, &wanted) &&
        sno_i_take_partition(&wanted.partition) != SNO_OK)
        return sno_i_say(why, SNO_EXHAUSTED, "pool", "all partitions are used up");
    if (wanted.sequence_max - wanted.sequence_min < 3)
        return sno_i_say(why, SNO_INVALID, "pool", "has fewer than 4 numbers");
    sno_i_identity(&wanted, identity);
    const sno_status status = sno_i_state_open(s, where, identity, &record, &is_new, why);
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
    return sno_i_id(sno_i_place_head(g, meta, place->unit),
                    (uint16_t)(g->sequence_min + place->index));
}

SNO_I_INLINE sno_status sno_i_one(sno_gen *g, unsigned how, int64_t given_ns, uint8_t meta,
                                  sno_id *id) {
    sno_i_place place;
    sno_status status = sno_i_draw(&g->engine, how, given_ns, 1, &place);
    if (SNO_I_LIKELY(status == SNO_OK)) *id = sno_i_place_id(g, meta, &place);
    return status;
}

SNO_I_INLINE sno_id sno_i_one_or_zero(sno_gen *g, unsigned how, uint8_t meta) {
    sno_i_place place;
    if (SNO_I_LIKELY(sno_i_draw(&g->engine, how, 0, 1, &place) == SNO_OK))
        return sno_i_place_id(g, meta, &place);
    return sno_i_id(0, 0);
}

static inline void sno_i_fill(const sno_gen *g, uint8_t meta, sno_i_place place, sno_id *ids) {
    while (place.n) {
        const uint64_t run = sno_i_min(place.n, g->engine.cap - place.index);
        const uint64_t head = sno_i_place_head(g, meta, place.unit);
        const uint64_t first = g->sequence_min + place.index;
        for (uint64_t i = 0; i < run; i++) ids[i] = sno_i_id(head, (uint16_t)(first + i));
        ids += run;
        place.n -= run;
        place.index = 0;
        place.unit += (uint64_t)1 << SNO_I_TIME_SHIFT;
    }
}

/* Fills up to n; *done says how many. */
static inline sno_status sno_i_many(sno_gen *g, unsigned how, uint8_t meta, sno_id *ids, size_t n,
                                    size_t *done) {
    for (*done = 0; *done < n;) {
        sno_i_place place;
        sno_status status = sno_i_draw(&g->engine, how, 0, n - *done, &place);
        if (status != SNO_OK) return status;
        sno_i_fill(g, meta, place, ids + *done);
        *done += (size_t)place.n;
    }
    return SNO_OK;
}

static inline sno_status sno_i_all(sno_gen *g, unsigned how, uint8_t meta, sno_id *ids, size_t n) {
    size_t done;
    sno_status status = sno_i_many(g, how, meta, ids, n, &done);
    if (status != SNO_OK && done) memset(ids + done, 0, (n - done) * sizeof *ids);
    return status;
}

static inline sno_id sno_new(sno_gen *g, uint8_t meta) {
    return sno_i_one_or_zero(g, SNO_I_WAIT, meta);
}

static inline sno_status sno_try(sno_gen *g, uint8_t meta, sno_id *id) {
    return sno_i_one(g, 0, 0, meta, id);
}

static inline int64_t sno_retry_ns(sno_gen *g) { return sno_i_retry_ns(&g->engine); }

static inline sno_status sno_new_n(sno_gen *g, uint8_t meta, sno_id *ids, size_t n) {
    return sno_i_all(g, SNO_I_WAIT, meta, ids, n);
}

static inline size_t sno_try_n(sno_gen *g, uint8_t meta, sno_id *ids, size_t n) {
    size_t done;
    (void)sno_i_many(g, 0, meta, ids, n, &done);
    return done;
}

static inline sno_status sno_try_at(sno_gen *g, uint8_t meta, int64_t unix_ns, sno_id *id) {
    return sno_i_one(g, SNO_I_GIVEN, unix_ns, meta, id);
}

static inline sno_status sno_new_with_time(sno_gen *g, uint8_t meta, int64_t unix_ns, sno_id *id) {
    if (!g->engine.cap) return SNO_INVALID;
    if (sno_i_forked(&g->engine)) return SNO_FORKED; /* the child's turns would be its parent's */
    uint64_t units;
    const sno_status status = sno_i_units_at(unix_ns, &units);
    if (status != SNO_OK) return status;
    const uint64_t turn = SNO_ATOMIC_ADD(&g->with_time, 1u, relaxed) % g->engine.cap;
    *id = sno_i_id(sno_i_place_head(g, meta, units << SNO_I_TIME_SHIFT),
                   (uint16_t)(g->sequence_min + turn));
    return SNO_OK;
}

static inline sno_status sno_snapshot_take(sno_gen *g, sno_snapshot *snapshot) {
    sno_i_engine *e = &g->engine;
    sno_snapshot s;
    uint64_t word, safe, drifts;
    unsigned tick;
    if (!e->cap) return SNO_INVALID;
    if (sno_i_forked(e)) return SNO_FORKED;
    memset(&s, 0, sizeof s);
    do { /* what belongs to the word is read between two equal readings of it */
        word = SNO_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
        tick = sno_i_tick(e, word);
        safe = SNO_ATOMIC_LOAD(&e->safe[tick ^ 1], acquire); /* before the word's second reading */
    } while (!sno_i_drifts_at(e, word, tick, &drifts));
    const uint64_t count = word & e->count_mask;
    const int64_t now_ns = sno_i_exact_ns(&e->clock);
    s.partition = g->partition;
    s.sequence_min = g->sequence_min;
    s.sequence_max = (uint16_t)(g->sequence_min + e->cap - 1);
    s.sequence = (uint32_t)(g->sequence_min + (count ? count - 1 : 0));
    s.now = now_ns < SNO_I_EPOCH_NS ? 0 : (now_ns - SNO_I_EPOCH_NS) / SNO_I_UNIT_NS;
    s.wall_hi = (int64_t)(word >> e->time_shift);
    s.wall_safe = (int64_t)safe;
    s.drifts = (uint32_t)drifts;
    *snapshot = s;
    return SNO_OK;
}

static inline uint32_t sno_len(sno_gen *g) {
    sno_i_view v;
    int64_t now_ns;
    if (sno_i_peek(&g->engine, &v, &now_ns) != SNO_OK || v.now < v.time) return 0;
    return (uint32_t)sno_i_min(v.place, g->engine.cap);
}

static inline uint32_t sno_sequence_now(sno_gen *g) {
    const uint32_t drawn = sno_len(g);
    return g->sequence_min + (drawn ? drawn - 1 : 0);
}

static inline uint32_t sno_cap(const sno_gen *g) { return (uint32_t)g->engine.cap; }

static inline uint16_t sno_gen_partition(const sno_gen *g) { return g->partition; }

static inline void sno_stats_get(sno_gen *g, sno_stats *stats) { sno_i_stats(&g->engine, stats); }

static inline sno_status sno_shards_init(sno_shard *shards, size_t n, const sno_options *o) {
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
    for (size_t i = 0; i < n; i++) {
        const uint32_t share = (uint32_t)(cap / n + (i < cap % n));
        sno_status status = sno_i_gen_init(&shards[i].gen, o, s.partition, (uint16_t)next, share);
        if (status != SNO_OK) return status; /* the options': so it is the first */
        if (o && o->snapshot) sno_i_go_on(&shards[i].gen, &s, (uint64_t)units * share);
        if (o && o->state) sno_i_engine_floor(&shards[i].gen.engine, sno_i_state_floor(o->state));
        next += share;
    }
    return SNO_OK;
}

static inline sno_gen *sno_shard_gen(sno_shard *s) { return &s->gen; }

static inline sno_status sno_shards_snapshot(sno_shard *shards, size_t n, sno_snapshot *snapshot) {
    sno_snapshot all, one;
    if (!n) return SNO_INVALID;
    memset(&all, 0, sizeof all);
    for (size_t i = 0; i < n; i++) {
        sno_status status = sno_snapshot_take(&shards[i].gen, &one);
        if (status != SNO_OK) return status;
        if (i == 0) all = one;
        const uint32_t queued = (one.sequence - one.sequence_min) / sno_cap(&shards[i].gen);
        const int64_t newest = one.wall_hi + queued;
        if (newest > all.wall_safe) all.wall_safe = newest;
        if (one.wall_safe > all.wall_safe) all.wall_safe = one.wall_safe;
        all.sequence_max = one.sequence_max;
    }
    all.wall_hi = all.wall_safe;
    all.sequence = all.sequence_max;
    *snapshot = all;
    return SNO_OK;
}

static inline sno_id sno_shard_new(sno_shard *s, uint8_t meta) {
    return sno_i_one_or_zero(&s->gen, SNO_I_OWNED | SNO_I_WAIT, meta);
}

static inline sno_status sno_shard_try(sno_shard *s, uint8_t meta, sno_id *id) {
    return sno_i_one(&s->gen, SNO_I_OWNED, 0, meta, id);
}

static inline int64_t sno_shard_retry_ns(sno_shard *s) { return sno_retry_ns(&s->gen); }

static inline sno_status sno_shard_new_n(sno_shard *s, uint8_t meta, sno_id *ids, size_t n) {
    return sno_i_all(&s->gen, SNO_I_OWNED | SNO_I_WAIT, meta, ids, n);
}

static inline size_t sno_shard_try_n(sno_shard *s, uint8_t meta, sno_id *ids, size_t n) {
    size_t done;
    (void)sno_i_many(&s->gen, SNO_I_OWNED, meta, ids, n, &done);
    return done;
}

static inline sno_status sno_shard_try_at(sno_shard *s, uint8_t meta, int64_t unix_ns, sno_id *id) {
    return sno_i_one(&s->gen, SNO_I_OWNED | SNO_I_GIVEN, unix_ns, meta, id);
}

static inline sno_status sno_pool_init(sno_pool *p, sno_shard *shards, size_t n,
                                       const sno_options *o) {
    sno_status status = sno_shards_init(shards, n, o);
    if (status != SNO_OK) return status;
    p->shards = shards;
    p->n = n;
    SNO_ATOMIC_STORE(&p->hint, 0u, relaxed);
    return SNO_OK;
}

static inline sno_shard *sno_pool_borrow(sno_pool *p) {
    /* the engine is the first member of the generator, and that of the shard */
    return (sno_shard *)(void *)sno_i_lend(p->shards, sizeof *p->shards, p->n, &p->hint);
}

static inline void sno_pool_give_back(sno_pool *p, sno_shard *shard) {
    SNO_ASSERT(shard >= p->shards && shard < p->shards + p->n);
    (void)p;
    sno_i_take_back(&shard->gen.engine);
}

// >>default
/* The process-wide generator lies in a page of its own, so that whoever comes first publishes it
 * whole, with one CAS: nobody waits for anybody. A forked child finds its parent's, and puts one of
 * its own in the place. */

#if defined(__cplusplus)
extern "C" {
#endif
extern SNO_ATOMIC(sno_gen *) sno_i_default;
SNO_I_ONE_PER_PROCESS(SNO_ATOMIC(sno_gen *), sno_i_default);
#if defined(__cplusplus)
}
#endif

/* `found` is NULL or another process's. Each caller that comes before the CAS takes a partition. */
SNO_I_COLD sno_id sno_i_generate_first(sno_gen *found, uint8_t meta) {
    void *page = sno_i_new_page(false);
    if (!page) return sno_i_id(0, 0);
    sno_gen *fresh = (sno_gen *)page;
    if (sno_init(fresh, NULL) != SNO_OK) {
        sno_i_drop_page(page);
        return sno_i_id(0, 0);
    }
    if (SNO_ATOMIC_CAS(&sno_i_default, &found, fresh, release, acquire))
        return sno_new(fresh, meta); /* PAGE:R */
    sno_i_drop_page(page);
    return sno_new(found, meta);
}

static inline sno_id sno_generate(uint8_t meta) {
    sno_gen *g = SNO_ATOMIC_LOAD(&sno_i_default, acquire); /* PAGE:A */
    if (SNO_I_LIKELY(g != NULL)) {
        const sno_id id = sno_new(g, meta);
        if (SNO_I_LIKELY(!sno_is_zero(id)) || !sno_i_forked(&g->engine)) return id;
    }
    return sno_i_generate_first(g, meta);
}

// >>tool
/* The command-line tool: cc -O2 -x c -DSNO_MAIN sno.h -o sno */

#ifdef SNO_MAIN
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#if defined(_WIN32)
#include <io.h>
#endif

// clang-format off
// >>toolkit begin
/* What both tools need; the same in both headers but for the prefix: `make check-common`. */

#if defined(__GNUC__)
#define TOOL_ENDS             __attribute__((noreturn))
#define TOOL_AS_PRINTF(first) __attribute__((format(printf, 1, first)))
#elif defined(_MSC_VER)
#define TOOL_ENDS __declspec(noreturn)
#define TOOL_AS_PRINTF(first)
#else
#define TOOL_ENDS _Noreturn
#define TOOL_AS_PRINTF(first)
#endif

/* Exit codes: it could not be done; it was not asked rightly. */
enum { TOOL_FAILED = 1, TOOL_MISUSED = 2 };

TOOL_AS_PRINTF(0) static void tool_complain(const char *format, va_list values) {
    (void)fflush(stdout);
    fputs("sno: ", stderr);
    (void)vfprintf(stderr, format, values);
    fputc('\n', stderr);
}

TOOL_ENDS TOOL_AS_PRINTF(2) static void tool_failed(const char *format, ...) {
    va_list values;
    va_start(values, format);
    tool_complain(format, values);
    va_end(values);
    exit(TOOL_FAILED);
}

TOOL_ENDS TOOL_AS_PRINTF(2) static void tool_misused(const char *format, ...) {
    va_list values;
    va_start(values, format);
    tool_complain(format, values);
    va_end(values);
    exit(TOOL_MISUSED);
}

static void tool_check_output(bool ok) {
    if (ok) return;
    const int reason = errno;
#ifdef EPIPE
    if (reason == EPIPE) exit(TOOL_FAILED); /* the reader has had enough: nothing to complain of */
#endif
    tool_failed("the output can't be written: %s", strerror(reason));
}

static void tool_write(const char *text, size_t size) {
    tool_check_output(fwrite(text, 1, size, stdout) == size && fflush(stdout) == 0);
}

/* Puts a text at `end`, without its NUL; returns the new end. */
static char *tool_put(char *end, const char *text) {
    while (*text) *end++ = *text++;
    return end;
}

static int tool_done(void) {
    tool_check_output(fflush(stdout) == 0 && !ferror(stdout));
    return EXIT_SUCCESS;
}

static bool tool_on_terminal(int file) {
#if defined(_WIN32)
    return _isatty(file) != 0;
#else
    return isatty(file) != 0;
#endif
}

/* ---- options ---- */

typedef struct tool_option {
    const char *name, *value; /* value: what the help calls it; NULL: there is none */
    unsigned commands;        /* those that have it */
    bool bare;                /* may stand without a value */
} tool_option;

/* Gathers the options' values in given[] (NULL where an option was not given) and the other words at
 * the front of `words`; returns how many these are. */
static int tool_read(int count, char **words, const char *command, unsigned commands,
                     const tool_option *options, size_t n, const char **given) {
    int others = 0;
    bool ended = false;
    for (int i = 0; i < count; i++) {
        const char *word = words[i];
        if (ended || word[0] != '-' || !word[1]) {
            words[others++] = words[i];
            continue;
        }
        if (strcmp(word, "--") == 0) {
            ended = true;
            continue;
        }
        const char *equals = strchr(word, '=');
        const size_t length = equals ? (size_t)(equals - word) : strlen(word);
        size_t o = 0;
        while (o < n && !(options[o].commands & commands && strlen(options[o].name) == length &&
                          memcmp(options[o].name, word, length) == 0))
            o++;
        if (o == n)
            tool_misused("%s has no option %.*s: `sno help` lists what it has", command,
                         (int)length, word);
        if (equals && !options[o].value) tool_misused("%s takes no value", options[o].name);
        if (!equals && options[o].value && !options[o].bare)
            tool_misused("%s needs a value: %s=%s", options[o].name, options[o].name,
                         options[o].value);
        if (equals && !equals[1])
            tool_misused("%s= has no value behind it: %s=%s", options[o].name, options[o].name,
                         options[o].value);
        given[o] = equals ? equals + 1 : "";
    }
    return others;
}

static bool tool_asks_help(int argc, char **argv) {
    if (strcmp(argv[1], "help") == 0) return true;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
    return false;
}

/* Decimal, or hex behind 0x. */
static bool tool_number(const char *text, uint64_t *number) {
    const bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *at = hex ? text + 2 : text;
    uint64_t n = 0;
    if (!*at) return false;
    for (; *at; at++) {
        const unsigned base = hex ? 16 : 10;
        unsigned digit = 16;
        if (*at >= '0' && *at <= '9') digit = (unsigned)(*at - '0');
        else if (*at >= 'a' && *at <= 'f') digit = (unsigned)(*at - 'a') + 10;
        else if (*at >= 'A' && *at <= 'F') digit = (unsigned)(*at - 'A') + 10;
        if (digit >= base || n > (UINT64_MAX - digit) / base) return false;
        n = n * base + digit;
    }
    *number = n;
    return true;
}

static uint64_t tool_number_to(const char *option, const char *text, uint64_t most,
                               const char *why) {
    uint64_t number;
    if (!tool_number(text, &number) || number > most)
        tool_misused("%s=%s is not a number from 0 to %" PRIu64 "%s", option, text, most, why);
    return number;
}

static uint64_t tool_count(int others, char **words, const char *command) {
    uint64_t count = 1;
    if (others > 1) tool_misused("%s takes one COUNT, not also '%s'", command, words[1]);
    if (others == 1 && !tool_number(words[0], &count))
        tool_misused("COUNT '%s' is not a whole number: `sno %s 1000`", words[0], command);
    return count;
}

/* ---- time ---- */

static int64_t tool_floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* Years are counted from 1 March, so that the leap day is a year's last. */
static const unsigned tool_days_before[] = {0,   31,  61,  92,  122, 153, 184,
                                            214, 245, 275, 306, 337, 366};
#define TOOL_DAYS_IN_400_YEARS 146097
#define TOOL_DAYS_TO_1970      719468 /* from 1 March of the year 0 */

/* Days from 1 March of the year 0 to 1 March of year 0..399. */
static int64_t tool_year_begins(int64_t year) { return year * 365 + year / 4 - year / 100; }

/* The Gregorian calendar, before its invention too. */
static void tool_date(int64_t days, int64_t *year, unsigned *month, unsigned *day) {
    days += TOOL_DAYS_TO_1970;
    const int64_t cycle = tool_floor_div(days, TOOL_DAYS_IN_400_YEARS);
    const int64_t in_cycle = days - cycle * TOOL_DAYS_IN_400_YEARS;
    int64_t y = in_cycle * 400 / TOOL_DAYS_IN_400_YEARS; /* right, or one too few or many */
    if (y < 399 && tool_year_begins(y + 1) <= in_cycle) y++;
    if (tool_year_begins(y) > in_cycle) y--;
    const unsigned in_year = (unsigned)(in_cycle - tool_year_begins(y));
    unsigned m = 0;
    while (tool_days_before[m + 1] <= in_year) m++;
    *day = in_year - tool_days_before[m] + 1;
    *month = m < 10 ? m + 3 : m - 9;
    *year = cycle * 400 + y + (m >= 10);
}

#define TOOL_TIME_SIZE 64

/* ISO 8601 in UTC; a year of more than four digits has a sign. Returns text. */
static const char *tool_time(int64_t unix_ms, char text[TOOL_TIME_SIZE]) {
    const int64_t days = tool_floor_div(unix_ms, 86400000);
    const unsigned ms = (unsigned)(unix_ms - days * 86400000);
    int64_t year;
    unsigned month, day;
    tool_date(days, &year, &month, &day);
    const int at = snprintf(text, TOOL_TIME_SIZE,
                            year < 0 || year > 9999 ? "%+05" PRId64 "-" : "%04" PRId64 "-", year);
    (void)snprintf(text + at, (size_t)(TOOL_TIME_SIZE - at), "%02u-%02uT%02u:%02u:%02u.%03uZ",
                   month, day, ms / 3600000, ms / 60000 % 60, ms / 1000 % 60, ms % 1000);
    return text;
}

/* Waits for the next unit, so that a run never meets the ids of one that ended before it. */
static void tool_wait_for_next_unit(int64_t epoch_ms, int64_t unit_ms) {
    const int64_t start_ns = SNO_CLOCK_NS(SNO_CLOCK_EXACT);
    const int64_t unit_ns = unit_ms * 1000000, shift_ns = epoch_ms % unit_ms * 1000000;
    const int64_t next_ns = (tool_floor_div(start_ns - shift_ns, unit_ns) + 1) * unit_ns + shift_ns;
    for (int64_t now_ns = start_ns; now_ns >= start_ns && now_ns < next_ns;
         now_ns = SNO_CLOCK_NS(SNO_CLOCK_EXACT))
        SNO_SLEEP_NS(next_ns - now_ns);
}

/* ---- progress, for somebody who watches a terminal ---- */

typedef struct tool_progress {
    int64_t began_ns, shown_ns;
    bool watched;
} tool_progress;

static tool_progress tool_progress_begin(void) {
    tool_progress p;
    p.began_ns = p.shown_ns = SNO_CLOCK_NS(SNO_CLOCK_EXACT);
    p.watched = tool_on_terminal(2) && !tool_on_terminal(1);
    return p;
}

static void tool_progress_show(tool_progress *p, uint64_t done, uint64_t count) {
    if (!p->watched) return;
    const int64_t now_ns = SNO_CLOCK_NS(SNO_CLOCK_EXACT);
    if (now_ns - p->began_ns < 1000000000 || now_ns - p->shown_ns < 250000000) return;
    p->shown_ns = now_ns;
    const double rate = (double)done / (double)(now_ns - p->began_ns) * 1e9;
    fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " (%.0f %%), %.0f a second, %.0f s left  ", done,
            count, 100.0 * (double)done / (double)count, rate, (double)(count - done) / rate);
}

static void tool_progress_end(const tool_progress *p) {
    if (p->shown_ns != p->began_ns) fprintf(stderr, "\r%79s\r", "");
}

/* ---- bits ---- */

typedef struct tool_field {
    const char *name;
    unsigned bits;
    uint64_t raw;   /* the bits as they stand in the id */
    uint64_t value; /* what they say */
} tool_field;

/* Draws the fields, the most significant first, in rows of at most 64 bits. */
static void tool_draw(const tool_field *fields, size_t n) {
    unsigned top = 0;
    for (size_t i = 0; i < n; i++) top += fields[i].bits;
    for (size_t first = 0, end; first < n; first = end) {
        unsigned in_row = 0, below;
        for (end = first; end < n && (end == first || in_row + fields[end].bits <= 64); end++) {
            in_row += fields[end].bits;
            printf("%s", end == first ? "\n    " : " ");
            for (unsigned bit = fields[end].bits; bit-- > 0;)
                putchar("01"[fields[end].raw >> bit & 1]);
        }
        putchar('\n');
        top -= in_row;
        below = top;
        for (size_t i = end; i-- > first; below += fields[i].bits) {
            printf("    ");
            for (size_t k = first; k < i; k++) printf("|%*s", (int)fields[k].bits, "");
            printf("%s = %" PRIu64, fields[i].name, fields[i].value);
            if (fields[i].bits == 1) printf("  [%u]\n", below);
            else printf("  [%u..%u]\n", below + fields[i].bits - 1, below);
        }
    }
}

/* Calls inspect for each of the words; "-" stands for the lines of the standard input. */
static void tool_each(int count, char **words, void (*inspect)(const char *text)) {
    char line[256];
    if (count == 0) tool_misused("inspect needs an ID, or - to read them from the standard input");
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], "-") != 0) {
            inspect(words[i]);
            continue;
        }
        while (fgets(line, sizeof line, stdin)) {
            line[strcspn(line, "\r\n")] = '\0';
            if (line[0]) inspect(line);
        }
        if (ferror(stdin)) tool_failed("the standard input can't be read: %s", strerror(errno));
    }
}
// >>toolkit end
// clang-format on

/* What `sno help` prints, and sno(1). */
static const char *const tool_help[] = {
    "sno: unique, time-ordered 80-bit ids with a metabyte\n"
    "\n"
    "USAGE\n"
    "    sno generate [--meta=N] [--partition=N] [--format=FORM] [--json] [COUNT]\n"
    "                        prints COUNT new ids (1), one a line\n"
    "    sno inspect [--json] ID...\n"
    "                        takes ids apart, in any of the forms; the ID - reads them from the\n"
    "                        standard input, one a line\n"
    "    sno version         prints the version\n"
    "    sno help            prints this\n"
    "\n"
    "OPTIONS\n"
    "    --meta=N            the metabyte, 0 to 255, whose meaning is yours; 0\n"
    "    --partition=N       0 to 65535: two generators that run at the same time need two. "
    "Without\n"
    "                        it the run takes one by the clock and its process number, so that "
    "two\n"
    "                        runs at the same time rarely have the same: name it where that "
    "matters\n"
    "    --format=FORM       how ids are written: text (16 characters, the default), hex (20 "
    "digits)\n"
    "                        or uuid\n"
    "    --json              prints one JSON object a line\n"
    "\n"
    "IDS ON THE COMMAND LINE\n"
    "    An ID is 16 characters from 2 to 9 and a to x (in double quotes, if you like), 20 hex "
    "digits,\n"
    "    or the UUID whose 16 bytes are those characters. No text is two of these.\n"
    "\n"
    "UNIQUENESS\n"
    "    A run begins in a unit of time of its own, so one that follows another never repeats its\n"
    "    ids, if the clock is not put back. The 4 ms unit has 65,536 numbers: 16,384,000 ids a "
    "second\n"
    "    at the most.\n"
    "\n"
    "EXIT STATUS\n"
    "    0                   all is well\n"
    "    1                   it could not be done: the clock, the output\n"
    "    2                   it was not asked rightly; the message says what to change\n"
    "\n"
    "EXAMPLES\n"
    "    $ sno generate --meta=42 --partition=7 1000000 > ids\n"
    "    $ sno inspect brpk4q72xwf2m63l\n"
    "    $ sno generate 3 | sno inspect --json -\n",
};

enum { TOOL_GENERATE = 1, TOOL_INSPECT = 2 };
enum { TOOL_META, TOOL_PARTITION, TOOL_FORMAT, TOOL_JSON, TOOL_OPTIONS };

static const tool_option tool_options[TOOL_OPTIONS] = {
    {"--meta", "N", TOOL_GENERATE, false},
    {"--partition", "N", TOOL_GENERATE, false},
    {"--format", "FORM", TOOL_GENERATE, false},
    {"--json", NULL, TOOL_GENERATE | TOOL_INSPECT, false},
};

static const char *tool_given[TOOL_OPTIONS];

#define TOOL_TEXT_SIZE 48 /* the longest is a UUID */

/* 20 digits in lower case, and a NUL. */
static void tool_hex(sno_id id, char out[21]) {
    for (size_t i = 0; i < sizeof id.bytes; i++) {
        out[2 * i] = "0123456789abcdef"[id.bytes[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[id.bytes[i] & 15];
    }
    out[20] = '\0';
}

/* ---- generate ---- */

enum { TOOL_BATCH = 4096, TOOL_AS_TEXT, TOOL_AS_HEX, TOOL_AS_UUID };

static int tool_choose_form(void) {
    const char *word = tool_given[TOOL_FORMAT];
    if (!word || strcmp(word, "text") == 0) return TOOL_AS_TEXT;
    if (strcmp(word, "hex") == 0) return TOOL_AS_HEX;
    if (strcmp(word, "uuid") == 0) return TOOL_AS_UUID;
    tool_misused("--format=%s is none of text, hex, uuid", word);
}

static void tool_start(sno_gen *gen) {
    sno_options options;
    sno_snapshot snapshot;
    memset(&options, 0, sizeof options);
    options.max_wait_ms = 1000;
    if (tool_given[TOOL_PARTITION]) {
        memset(&snapshot, 0, sizeof snapshot);
        snapshot.partition =
            (uint16_t)tool_number_to("--partition", tool_given[TOOL_PARTITION], UINT16_MAX, "");
        options.snapshot = &snapshot;
    }
    const sno_status status = sno_init(gen, &options);
    if (status != SNO_OK) tool_failed("%s", sno_status_str(status));
    tool_wait_for_next_unit(SNO_I_EPOCH_NS / 1000000, SNO_I_UNIT_NS / 1000000);
}

static int tool_generate(int others, char **words) {
    static sno_gen gen;
    static sno_id ids[TOOL_BATCH];
    static char buffer[TOOL_BATCH * TOOL_TEXT_SIZE];
    const uint64_t count = tool_count(others, words, "generate");
    const int form = tool_choose_form();
    const bool json = tool_given[TOOL_JSON] != NULL;
    uint8_t meta = 0;
    if (tool_given[TOOL_META])
        meta = (uint8_t)tool_number_to("--meta", tool_given[TOOL_META], UINT8_MAX, "");
    tool_start(&gen);
    tool_progress progress = tool_progress_begin();
    for (uint64_t done = 0; done < count;) {
        const size_t n = count - done < TOOL_BATCH ? (size_t)(count - done) : (size_t)TOOL_BATCH;
        const sno_status status = sno_new_n(&gen, meta, ids, n);
        if (status != SNO_OK) tool_failed("%s", sno_status_str(status));
        char *end = buffer;
        for (size_t i = 0; i < n; i++) {
            if (json) end = tool_put(end, "{\"id\":\"");
            switch (form) {
            case TOOL_AS_HEX:
                tool_hex(ids[i], end);
                end += 20;
                break;
            case TOOL_AS_UUID:
                sno_to_uuid(ids[i], end);
                end += 36;
                break;
            default:
                sno_encode(ids[i], end);
                end += 16;
                break;
            }
            end = tool_put(end, json ? "\"}\n" : "\n");
        }
        tool_write(buffer, (size_t)(end - buffer));
        done += n;
        tool_progress_show(&progress, done, count);
    }
    tool_progress_end(&progress);
    return tool_done();
}

/* ---- inspect ---- */

static bool tool_parse_hex(const char *text, size_t length, sno_id *id) {
    if (length != 20) return false;
    for (size_t i = 0; i < length; i++) {
        const char c = text[i];
        unsigned digit;
        if (c >= '0' && c <= '9') digit = (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f') digit = (unsigned)(c - 'a') + 10;
        else if (c >= 'A' && c <= 'F') digit = (unsigned)(c - 'A') + 10;
        else return false;
        id->bytes[i / 2] = (uint8_t)((unsigned)id->bytes[i / 2] << 4 | digit);
    }
    return true;
}

static void tool_inspect(const char *text) {
    static unsigned shown;
    const size_t length = strlen(text);
    char encoded[17], hex[21], uuid[37], time[TOOL_TIME_SIZE];
    sno_id id;
    memset(&id, 0, sizeof id);
    encoded[16] = '\0';
    const bool quoted = length == 18 && text[0] == '"';
    if ((quoted ? sno_from_json(text, length, &id) : sno_decode(text, length, &id)) != SNO_OK &&
        sno_from_uuid(text, length, &id) != SNO_OK && !tool_parse_hex(text, length, &id)) {
        bool flake = length > 0 && length <= 32 && length != 16;
        for (size_t i = 0; i < length; i++)
            flake &= (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'z') ||
                     (text[i] >= 'A' && text[i] <= 'Z');
        tool_misused("'%.140s' is no sno: 16 characters from 2 to 9 and a to x, 20 hex digits or a "
                     "UUID%s",
                     text, flake ? "; a number is for `flake inspect`" : "");
    }
    sno_encode(id, encoded);
    tool_hex(id, hex);
    sno_to_uuid(id, uuid);
    const int64_t unix_ns = sno_time_ns(id);
    (void)tool_time(unix_ns / 1000000, time);
    const unsigned tick = sno_tick(id), meta = sno_meta(id);
    const unsigned partition = sno_partition(id), sequence = sno_sequence(id);
    if (tool_given[TOOL_JSON]) {
        printf("{\"id\":\"%s\",\"hex\":\"%s\",\"uuid\":\"%s\",\"time\":\"%s\",\"unix_ms\":%" PRId64
               ",\"units\":%" PRIu64 ",\"tick\":%u,\"meta\":%u,\"partition\":%u,\"sequence\":%u}\n",
               encoded, hex, uuid, time, unix_ns / 1000000, sno_units(id), tick, meta, partition,
               sequence);
        return;
    }
    if (shown++) putchar('\n');
    printf("id          %s\ntime        %s (Unix ms %" PRId64 ")\ntick        %u\nmeta        %u\n"
           "partition   %u\nsequence    %u\ntexts       hex %s  uuid %s\n",
           encoded, time, unix_ns / 1000000, tick, meta, partition, sequence, hex, uuid);
    const tool_field fields[] = {{"time, units of 4 ms", 39, sno_units(id), sno_units(id)},
                                 {"tick", 1, tick, tick},
                                 {"meta", 8, meta, meta},
                                 {"partition", 16, partition, partition},
                                 {"sequence", 16, sequence, sequence}};
    tool_draw(fields, 5);
}

static int tool_inspect_all(int others, char **words) {
    tool_each(others, words, tool_inspect);
    return tool_done();
}

static int tool_print_help(void) {
    for (size_t i = 0; i < sizeof tool_help / sizeof *tool_help; i++) fputs(tool_help[i], stdout);
    return tool_done();
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        unsigned bit;
        int (*run)(int others, char **words);
    } commands[] = {{"generate", TOOL_GENERATE, tool_generate},
                    {"inspect", TOOL_INSPECT, tool_inspect_all}};
    if (argc < 2) tool_misused("say what to do: `sno generate`, `sno inspect ID`, `sno help`");
    const char *word = argv[1];
    if (tool_asks_help(argc, argv)) return tool_print_help();
    if (strcmp(word, "version") == 0 || strcmp(word, "--version") == 0) {
        printf("sno %s\n", SNO_VERSION_STRING);
        return tool_done();
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(word, commands[i].name) != 0) continue;
        const int others = tool_read(argc - 2, argv + 2, word, commands[i].bit, tool_options,
                                     TOOL_OPTIONS, tool_given);
        return commands[i].run(others, argv + 2);
    }
    tool_misused("there is no `sno %s`: try `sno help`", word);
}
#endif /* SNO_MAIN */

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
