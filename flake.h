/* flake.h: unique, time-ordered 64-bit and 128-bit ids for any number of threads, without a lock.
 *
 * Version 0.1.0. C11, or C++11 and later. SPDX-License-Identifier: MIT (the text is at the end.)
 *
 * Do this in as many files as you like; there is nothing to link:
 *
 *     #include "flake.h"
 *     #include <stdio.h>
 *
 *     static flake_gen ids; // shared by all threads
 *
 *     static flake_options options; // flake-idgen's layout; each field's zero is its default
 *
 *     int main(void) {
 *         uint64_t id;
 *         options.node = flake_idgen_node(3, 1); // datacenter 3, worker 1
 *         if (flake_init(&ids, &options) != FLAKE_OK) return 1;
 *         if (flake_next(&ids, &id) != FLAKE_OK) return 1; // from any thread, as often as you like
 *         printf("%llu\n", (unsigned long long)id);
 *         return 0;
 *     }
 *
 * WHICH CALL
 *
 *     flake_next       waits for the next unit when this one's ids are all drawn; for most programs
 *     flake_try        never waits; flake_retry_ns says when to come again (event loops)
 *     flake_next_n     many at once, at a fraction of the price each
 *     flake_shard_...  one shard per thread: no shared cache line, for many cores
 *     flake_pool_...   lends shards to threads that come and go
 *     flake_try_at     with a clock reading that you have already
 *     flake_prefetch   a thread's own stock of ids
 *     flake128_...     128-bit ids of boundary/flake's layout
 *
 * WHO MAY CALL WHAT AT THE SAME TIME
 *
 *     a flake_gen, flake128_gen     all calls but init and restore, from any number of threads and
 *                                   signal handlers; several processes too if it lies in shared
 *                                   memory and was made with options.shared_memory
 *     a flake_shard, flake_prefetch one thread at a time draws; stats, retry and snapshot anyone
 *     a flake_pool                  borrow and give_back from any thread
 *     a flake_ring                  push and pop from any thread
 *
 * An id is the same to no other that generators of one layout, epoch and node (or range of sequence
 * numbers) have given; two generators that run at once need nodes or ranges of their own.
 * Ids of one generator rise in the order of the calls, if the clock was not put back (and neither
 * seq_scatter nor the layout spreads them); concurrent calls are ordered as their read-modify-writes
 * are. A draw orders no other memory accesses.
 *
 * HOOKS: macros to define before the include
 *
 *     FLAKE_ATOMIC(T)                 type of an atomic T             _Atomic(T), std::atomic<T>
 *     FLAKE_ATOMIC_LOAD(p, order)     order is relaxed, acquire ...
 *     FLAKE_ATOMIC_STORE(p, v, order)
 *     FLAKE_ATOMIC_ADD(p, v, order)   returns what was there
 *     FLAKE_ATOMIC_CAS(p, seen, v, success, failure)                  define all five or none
 *     FLAKE_CLOCK_NS(kind)            Unix time in ns                 clock_gettime
 *     FLAKE_SLEEP_NS(ns)              sleeps that long or longer      nanosleep
 *     FLAKE_RELAX()                   between two tries of a CAS      pause, isb
 *     FLAKE_ASSERT(condition)         programming errors              nothing
 *     FLAKE_REGISTRY                  most generators alive at a time; init then refuses two that
 *                                     share ids (debug builds)        no such check
 *
 * Find your way by these marks:
 *
 *     // >>public      what you call
 *     // >>common      the engine, with its protocol
 *     // >>options     what you can set
 *     // >>layouts     // >>generators     // >>prefetch     // >>wide (128 bits)     // >>text
 */
#ifndef FLAKE_H
#define FLAKE_H

#define FLAKE_VERSION_MAJOR  0
#define FLAKE_VERSION_MINOR  1
#define FLAKE_VERSION_PATCH  0
#define FLAKE_VERSION_STRING "0.1.0"

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

// >>public

typedef enum flake_status {
    FLAKE_OK = 0,
    FLAKE_AGAIN,      /* this unit's ids are all drawn: try later (flake_retry_ns) */
    FLAKE_CLOCK_BACK, /* the clock was put back to before the newest id */
    FLAKE_RANGE,      /* a time before the epoch, or past what the layout can express */
    FLAKE_INVALID,    /* an argument, option or layout that does not fit; nothing was changed */
    FLAKE_PARSE,      /* not a text of this form */
    FLAKE_NODE,       /* node + node_offset is more than the layout's node bits hold */
    FLAKE_LEASE,      /* the claim on the node number has run out */
    FLAKE_FORKED,   /* inherited through fork(), or the machine was cloned: another process may give
                         the same ids. See flake_reinit_after_fork */
    FLAKE_IO,       /* the system refused a file or connection */
    FLAKE_TORN,     /* a state file that is cut short or damaged */
    FLAKE_FOREIGN,  /* a state file of another generator, or none at all */
    FLAKE_DOWNTIME, /* the last run ended longer ago than allowable_downtime_ms */
    FLAKE_TAKEN     /* somebody else holds this number, file, or range of ids */
} flake_status;

static inline const char *flake_status_str(flake_status status);

/* ---- layouts: what the bits of an id mean ----
 *
 * A plain struct: copy one and change it. Bits that no field covers are 0.
 */
typedef struct flake_layout {
    const char *name;
    int64_t epoch_ms; /* Unix time at which the time field is 0 */
    uint32_t unit_ms; /* length of a time unit */
    uint8_t time_bits, time_shift;
    uint8_t node_bits, node_shift; /* node_bits up to 32 */
    uint8_t seq_bits, seq_shift;   /* seq_bits up to 32 */
    uint8_t spread;                /* 1: the time's bits in reverse, lowest first */
    uint8_t
        gap_at; /* uniqueid: node bits from this one on stand one place higher; 0: all together */
    uint8_t gap_bit; /* what stands in the gap */
} flake_layout;

static inline flake_layout flake_layout_idgen(void);     /* time 42, node 10, seq 12; epoch 1970 */
static inline flake_layout flake_layout_hazelcast(void); /* 0, time 41, seq 6, node 16; 2018 */
static inline flake_layout flake_layout_hazelcast_bits(unsigned seq_bits, unsigned node_bits);
static inline flake_layout
flake_layout_uniqueid_ordered(void); /* time 42, seq 6, gen 3, 1, gen 8, cluster 4 */
static inline flake_layout flake_layout_uniqueid_spread(void); /* the same, time reversed, 0 */
static inline flake_layout flake_layout_twitter(void); /* 0, time 41, node 10, seq 12; 2010-11 */
static inline flake_layout
flake_layout_sonyflake(void); /* 0, time 39 of 10 ms, seq 8, node 16; 2014-09 */
static inline flake_layout flake_layout_discord(void);   /* time 42, node 10, seq 12; 2015 */
static inline flake_layout flake_layout_instagram(void); /* time 41, node 13, seq 10; 2011-08 */
static inline flake_layout flake_layout_mastodon(void);  /* time 48, seq 16; 1970 */
static inline flake_layout flake_layout_js53(void); /* time 41, node 5, seq 7: below 2^53; 2020 */
/* time, node, seq from the top down to bit 0, units of 1 ms */
static inline flake_layout flake_layout_of(unsigned time_bits, unsigned node_bits,
                                           unsigned seq_bits, int64_t epoch_ms);
/* FLAKE_INVALID: fields overlap, leave the 64 bits, or there is no time */
static inline flake_status flake_layout_check(const flake_layout *);
/* The last ms that the layout can express; INT64_MAX if that is further than an int64_t goes. A
 * generator ends with its clock, too: an int64_t of ns goes to 2262-04-11. (And one whose time and
 * sequence fill all 64 bits ends a unit earlier.) */
static inline int64_t flake_expires_ms(const flake_layout *);

/* UINT32_MAX when a part is out of range: too large for these layouts, so init refuses it. */
static inline uint32_t flake_idgen_node(unsigned datacenter /* 0..31 */,
                                        unsigned worker /* 0..31 */);
static inline uint32_t flake_uniqueid_node(unsigned cluster /* 0..15 */,
                                           unsigned generator /* 0..2047 */);

typedef struct flake_parts {
    int64_t unix_ms; /* the unit's first ms */
    uint64_t time;   /* in units since the epoch */
    uint32_t node, seq;
} flake_parts;

/* From unix_ms, node and seq; time is not looked at. */
static inline flake_status flake_compose(const flake_layout *, const flake_parts *, uint64_t *id);
/* FLAKE_INVALID: the id has bits that the layout has not. */
static inline flake_status flake_decompose(const flake_layout *, uint64_t id, flake_parts *);
/* The smallest and the largest id of a time's unit, for range scans. */
static inline flake_status flake_min_at(const flake_layout *, int64_t unix_ms, uint64_t *id);
static inline flake_status flake_max_at(const flake_layout *, int64_t unix_ms, uint64_t *id);

/* ---- generators ----
 *
 * Every call that fails leaves generator and output as they were, unless it says otherwise.
 */
typedef struct flake_gen flake_gen;
typedef struct flake_options flake_options;

/* NULL: all defaults. FLAKE_INVALID, FLAKE_NODE. Not while others use the generator. */
static inline flake_status flake_init(flake_gen *, const flake_options *);
/* Waits, but no longer than max_wait_ms: FLAKE_AGAIN, FLAKE_CLOCK_BACK. Wait-free while ids are
 * free. */
static inline flake_status flake_next(flake_gen *, uint64_t *id);
/* Lock-free, never waits: FLAKE_AGAIN, FLAKE_CLOCK_BACK. */
static inline flake_status flake_try(flake_gen *, uint64_t *id);
/* When flake_try will succeed, if nobody is faster; 0: now, INT64_MAX: never. */
static inline int64_t flake_retry_ns(flake_gen *);
/* All n, waiting for each unit as flake_next does. When a later unit fails, the ids before it stand in
 * front and the rest of the array is 0; when the first does, the array is as it was. */
static inline flake_status flake_next_n(flake_gen *, uint64_t *ids, size_t n);
/* As many as are free now; returns how many. */
static inline size_t flake_try_n(flake_gen *, uint64_t *ids, size_t n);
/* With the caller's own, perhaps cached, reading of the clock. One older than the newest unit
 * counts as that unit. One that lies ahead of the clock drags the generator ahead too. */
static inline flake_status flake_try_at(flake_gen *, int64_t unix_ms, uint64_t *id);

static inline uint64_t flake_available(flake_gen *); /* ids free now, without waiting */
typedef struct flake_stats flake_stats; /* ids, batches, waits, clock_backs: see the struct */
static inline void flake_stats_get(flake_gen *, flake_stats *);
static inline int64_t flake_lag_ms(flake_gen *); /* how far the newest id is ahead of the clock */
/* Options as they are in force: layout, bounds and defaults filled in. (A shard of the number 0 alone
 * shows bounds 0 and 0, which in options mean the whole range.) */
static inline const flake_options *flake_gen_options(const flake_gen *);

/* Where a generator stands. Lock-free; never torn, since it is one word. */
typedef struct flake_snapshot {
    int64_t unix_ms;  /* start of the unit that count counts from */
    uint64_t count;   /* ids drawn since, those of the queue and ahead of the clock included */
    int64_t epoch_ms; /* from here on what count means: the same in the generator, or no restore */
    uint32_t unit_ms, node, seq_min, seq_max;
    bool seq_scatter;
} flake_snapshot;
static inline flake_status flake_snapshot_take(flake_gen *, flake_snapshot *);
/* Goes on behind the snapshot, or where the generator is if that is further. FLAKE_INVALID: another
 * node, other bounds. Not while others use the generator. */
static inline flake_status flake_restore(flake_gen *, const flake_snapshot *);

/* ---- shards: one generator's sequence numbers, split among threads ----
 *
 * Each shard has a range of its own, so its owner draws with plain loads and stores. One thread at
 * a time; in shared memory one process: whoever forks leaves a shard to one of the two. A shard's
 * capacity is its share of the unit's.
 */
typedef struct flake_shard flake_shard;
static inline flake_status flake_shards_init(flake_shard *shards, size_t n, const flake_options *);
static inline flake_status flake_shard_next(flake_shard *, uint64_t *id);
static inline flake_status flake_shard_try(flake_shard *, uint64_t *id);
static inline int64_t flake_shard_retry_ns(flake_shard *);
static inline flake_status flake_shard_next_n(flake_shard *, uint64_t *ids, size_t n);
static inline size_t flake_shard_try_n(flake_shard *, uint64_t *ids, size_t n);
static inline flake_status flake_shard_try_at(flake_shard *, int64_t unix_ms, uint64_t *id);
/* The shard as a generator, for the questions (available, lag, stats, options, snapshot, restore).
 */
static inline flake_gen *flake_shard_gen(flake_shard *);

/* Lends shards to threads. NULL: all are lent (make more shards, or fall back on a shared generator
 * with a range of its own). A shard that comes back goes on where it stood. */
typedef struct flake_pool flake_pool;
static inline flake_status flake_pool_init(flake_pool *, flake_shard *shards, size_t n,
                                           const flake_options *);
static inline flake_shard *flake_pool_borrow(flake_pool *);
static inline void flake_pool_give_back(flake_pool *, flake_shard *);

/* ---- prefetch: a thread's own stock of ids, claimed in one draw ----
 *
 * Ids taken from stock are as old as the stock: valid_ms (0: for ever) bounds that. Less than
 * `count` (1 to 100,000) are claimed when less are free.
 */
typedef struct flake_prefetch flake_prefetch;
static inline flake_status flake_prefetch_init(flake_prefetch *, flake_gen *, uint32_t count,
                                               int64_t valid_ms);
static inline flake_status flake_prefetch_next(flake_prefetch *, uint64_t *id); /* as flake_next */

/* ---- after fork, crash and restart ----
 *
 * A forked child, and a process after flake_generation_bump(), gets FLAKE_FORKED until it says with
 * which ids of its own it goes on: another node, or other sequence numbers. FLAKE_NODE: its options
 * have some of the parent's ids in them. FLAKE_INVALID: it was not forked. For a shard likewise,
 * through flake_shard_gen.
 *
 * Two forks can't be told: one in a signal handler that has interrupted a draw (the parent and child
 * both finish it), and, where a pid tells processes apart, one into a namespace in which the child
 * has its parent's pid. Where 64-bit atomics take a lock, a process whose threads draw must not fork.
 */
static inline flake_status flake_reinit_after_fork(flake_gen *, const flake_options *);
/* For builds with FLAKE_REGISTRY: this generator draws no more. */
static inline void flake_retire(flake_gen *);

/* A state file holds a time ahead of all ids that were handed out, so that the next run repeats none,
 * whatever became of this one and of the clock:
 *
 *     flake_state state;
 *     flake_state_options where = {0};
 *     where.path = "/var/lib/app/ids";
 *     if (flake_state_open(&state, &where, &options, &why) != FLAKE_OK) ... why.text
 *     options.state = &state;
 *     flake_init(&ids, &options); // or flake_shards_init
 *     ...
 *     flake_state_close(&state);
 *
 * After a crash open waits until the time on file has passed, three seconds at most by default. A file
 * that it does not understand it leaves alone: FLAKE_TORN, FLAKE_FOREIGN (another layout, node or
 * range), FLAKE_CLOCK_BACK (from the future), FLAKE_DOWNTIME, FLAKE_TAKEN (in use), FLAKE_IO. The
 * first draw that comes near the horizon writes the file (every 1.5 s by default); flake_state_extend
 * from a timer spares it that. See flake_state_options.
 */
typedef struct flake_state flake_state;
typedef struct flake_state_options flake_state_options;
typedef struct flake_why flake_why; /* what was wrong, in words; NULL: don't tell */
static inline flake_status flake_state_open(flake_state *, const flake_state_options *,
                                            const flake_options *, flake_why *);
static inline flake_status flake_state_extend(flake_state *);
static inline flake_status flake_state_close(flake_state *);

/* ---- text ---- */

typedef enum flake_text {
    FLAKE_DEC, /* 5828128208445124608 */
    FLAKE_HEX, /* 50e1ce0b80073000: lower case */
    FLAKE_BIN,
    FLAKE_BIN4,   /* 64 bits in groups of four, a blank between */
    FLAKE_BASE32, /* Crockford: digits and upper case without I L O U */
    FLAKE_BASE36, /* digits and upper case */
    FLAKE_BASE58, /* 123456789ABC...Zabc...z without 0 I O l */
    FLAKE_BASE62  /* digits, upper case, lower case */
} flake_text;

#define FLAKE_TEXT_SIZE    80  /* room for any text of a 64-bit id, with its NUL */
#define FLAKE128_TEXT_SIZE 129 /* and for one of a 128-bit id in any base */

/* Shortest form. Length written, NUL not counted; 0 when it does not fit. */
static inline size_t flake_format(uint64_t id, flake_text, char *buf, size_t size);
/* Padded to flake_text_width, so that texts sort as their ids do. */
static inline size_t flake_format_fixed(uint64_t id, flake_text, char *buf, size_t size);
static inline size_t flake_text_width(flake_text);
/* Strict: the whole of len, this alphabet, no sign or blank; leading zeros up to the fixed width.
 */
static inline flake_status flake_parse(const char *, size_t len, flake_text, uint64_t *id);
/* Big-endian, so that memcmp sorts as the ids do. */
static inline void flake_to_bytes(uint64_t id, uint8_t out[8]);
static inline uint64_t flake_from_bytes(const uint8_t in[8]);

/* ---- 128 bits: time 64 (ms), worker 48, sequence 16; big-endian, memcmp sorts ---- */

typedef struct flake128 {
    uint8_t bytes[16];
} flake128;

typedef struct flake128_parts {
    int64_t unix_ms;
    uint64_t time;   /* ms since 1970, as in the id */
    uint64_t worker; /* 48 bits */
    uint32_t seq;    /* 16 bits */
} flake128_parts;

typedef struct flake128_gen flake128_gen;
/* options: layout, node, node_offset and seq_scatter must be zero; refuse_back is always on, since
 * boundary's generator does not wait for a clock that was put back. */
static inline flake_status flake128_init(flake128_gen *, uint64_t worker48, const flake_options *);
static inline flake_status flake128_next(flake128_gen *, flake128 *id);
static inline flake_status flake128_try(flake128_gen *, flake128 *id);
static inline int64_t flake128_retry_ns(flake128_gen *);
static inline void flake128_stats_get(flake128_gen *, flake_stats *);
static inline flake_status flake128_next_n(flake128_gen *, flake128 *ids, size_t n);
static inline size_t flake128_try_n(flake128_gen *, flake128 *ids, size_t n);
static inline flake_status flake128_try_at(flake128_gen *, int64_t unix_ms, flake128 *id);
static inline flake_status flake128_reinit_after_fork(flake128_gen *, uint64_t worker48,
                                                      const flake_options *);
static inline flake_status flake128_state_open(flake_state *, const flake_state_options *,
                                               uint64_t worker48, const flake_options *,
                                               flake_why *);
static inline void flake128_retire(flake128_gen *);
static inline flake_status flake128_compose(const flake128_parts *, flake128 *id);
static inline flake_status flake128_decompose(flake128 id, flake128_parts *);
static inline flake_status flake128_min_at(int64_t unix_ms, flake128 *id);
static inline flake_status flake128_max_at(int64_t unix_ms, flake128 *id);
static inline int flake128_compare(flake128, flake128);
/* base 2..62: digits, upper case, lower case */
static inline size_t flake128_text_width(unsigned base);
static inline size_t flake128_format(flake128, unsigned base, char *buf, size_t size);
static inline size_t flake128_format_fixed(flake128, unsigned base, char *buf, size_t size);
static inline flake_status flake128_parse(const char *, size_t len, unsigned base, flake128 *id);

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

#ifndef FLAKE_ATOMIC
#ifdef __cplusplus
#define FLAKE_ATOMIC(T)                 std::atomic<T>
#define FLAKE_ATOMIC_LOAD(p, order)     (p)->load(std::memory_order_##order)
#define FLAKE_ATOMIC_STORE(p, v, order) (p)->store(v, std::memory_order_##order)
#define FLAKE_ATOMIC_ADD(p, v, order)   (p)->fetch_add(v, std::memory_order_##order)
#define FLAKE_ATOMIC_CAS(p, seen, v, success, failure)                    \
    (p)->compare_exchange_strong(*(seen), v, std::memory_order_##success, \
                                 std::memory_order_##failure)
#else
#define FLAKE_ATOMIC(T)                 _Atomic(T)
#define FLAKE_ATOMIC_LOAD(p, order)     atomic_load_explicit(p, memory_order_##order)
#define FLAKE_ATOMIC_STORE(p, v, order) atomic_store_explicit(p, v, memory_order_##order)
#define FLAKE_ATOMIC_ADD(p, v, order)   atomic_fetch_add_explicit(p, v, memory_order_##order)
#define FLAKE_ATOMIC_CAS(p, seen, v, success, failure)                          \
    atomic_compare_exchange_strong_explicit(p, seen, v, memory_order_##success, \
                                            memory_order_##failure)
#endif
#endif

#if defined(__GNUC__) /* said aloud for i386, whose plain 64-bit members are 4-aligned */
typedef FLAKE_ATOMIC(uint64_t) flake_i_atomic64 __attribute__((aligned(8)));
#else
typedef FLAKE_ATOMIC(uint64_t) flake_i_atomic64;
#endif
typedef FLAKE_ATOMIC(uint32_t) flake_i_atomic32;

#if defined(__GNUC__) || defined(__clang__)
#define FLAKE_I_INLINE    static inline __attribute__((always_inline))
#define FLAKE_I_COLD      static __attribute__((noinline, cold, unused))
#define FLAKE_I_LIKELY(x) __builtin_expect(!!(x), 1)
#elif defined(_MSC_VER)
#define FLAKE_I_INLINE    static __forceinline
#define FLAKE_I_COLD      static __declspec(noinline)
#define FLAKE_I_LIKELY(x) (x)
#else
#define FLAKE_I_INLINE    static inline
#define FLAKE_I_COLD      static inline
#define FLAKE_I_LIKELY(x) (x)
#endif

/* Defines an object that is one in the whole process, in however many units the header stands. */
#if defined(_MSC_VER)
#define FLAKE_I_ONE_PER_PROCESS(type, name) __declspec(selectany) type name
#elif defined(_WIN32) && defined(__cplusplus)
#define FLAKE_I_ONE_PER_PROCESS(type, name) __attribute__((selectany)) type name = {}
#elif defined(_WIN32)
#define FLAKE_I_ONE_PER_PROCESS(type, name) __attribute__((selectany)) type name = {0}
#else
#define FLAKE_I_ONE_PER_PROCESS(type, name) __attribute__((weak)) type name
#endif

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

/* ---- clock and sleep ---- */

enum { FLAKE_CLOCK_EXACT = 0, FLAKE_CLOCK_COARSE = 1 };

typedef struct flake_clock {
    int64_t (*now_ns)(void *user); /* Unix time in ns; NULL: the system's clock, of this kind: */
    void *user;
    int kind; /* EXACT, or COARSE: reads fast, lags by some ms, and the exact one is asked when a
                 unit looks spent or the clock put back */
} flake_clock;

/* Strict C hides POSIX from a header that comes after others; on Linux what is hidden is reached by its
 * link name, with the kernel's own types. */
#if defined(__linux__) && !defined(CLOCK_REALTIME)
#define FLAKE_I_BY_NAME
struct flake_i_timespec {
    long sec, nsec;
};
extern int flake_i_clock_gettime(int id, struct flake_i_timespec *) __asm__("clock_gettime");
extern int flake_i_nanosleep(const struct flake_i_timespec *,
                             struct flake_i_timespec *) __asm__("nanosleep");
#endif

static inline int64_t flake_i_system_ns(int kind) {
#if defined(_WIN32)
    FILETIME t;
    if (kind == FLAKE_CLOCK_COARSE) GetSystemTimeAsFileTime(&t);
    else GetSystemTimePreciseAsFileTime(&t);
    return ((int64_t)((uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime) - 116444736000000000) *
           100;
#elif defined(FLAKE_I_BY_NAME) && defined(__LP64__)
    struct flake_i_timespec t;
    (void)flake_i_clock_gettime(kind == FLAKE_CLOCK_COARSE ? 5 : 0, &t);
    return t.sec * 1000000000 + t.nsec;
#else
    struct timespec t;
#if defined(CLOCK_REALTIME_COARSE)
    (void)clock_gettime(kind == FLAKE_CLOCK_COARSE ? CLOCK_REALTIME_COARSE : CLOCK_REALTIME, &t);
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
static inline void flake_i_system_sleep(int64_t ns) {
#if defined(_WIN32)
    for (; ns > 0; ns -= 1000000000)
        Sleep((DWORD)((ns < 1000000000 ? ns + 999999 : 1000000000) / 1000000));
#elif defined(FLAKE_I_BY_NAME)
    struct flake_i_timespec t;
    t.sec = (long)(ns / 1000000000);
    t.nsec = (long)(ns % 1000000000);
    while (flake_i_nanosleep(&t, &t) != 0) {
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

#ifndef FLAKE_CLOCK_NS
#define FLAKE_CLOCK_NS(kind) flake_i_system_ns(kind)
#endif
#ifndef FLAKE_SLEEP_NS
#define FLAKE_SLEEP_NS(ns) flake_i_system_sleep(ns)
#endif

FLAKE_I_INLINE int64_t flake_i_now_ns(const flake_clock *c) {
    return c->now_ns ? c->now_ns(c->user) : FLAKE_CLOCK_NS(c->kind);
}

static inline int64_t flake_i_exact_ns(const flake_clock *c) {
    return c->now_ns ? c->now_ns(c->user) : FLAKE_CLOCK_NS(FLAKE_CLOCK_EXACT);
}

/* ---- ring: bounded, many producers, many consumers, lock-free ----
 *
 * Each slot counts its turns: 2r when it is free for the producer of round r, 2r + 1 when it holds
 * that round's note. head and tail only grow; with 64 bits they don't come round. A producer that
 * is stopped between its CAS and FILL:R hides its note and those behind it, and blocks nobody.
 */
/* A full ring drops notes; those of different ms may come out in another order, so look at now_ns.
 * The last one, count 0, is written by a caller that was queued or by the next one to draw. */
typedef struct flake_overflow {
    int64_t now_ns;
    uint32_t count; /* callers queued then, a batch counted by its places; 0: it is over */
    uint32_t ticks; /* ms since this overflow began */
} flake_overflow;

typedef struct flake_ring_slot {
    flake_i_atomic64 turn;
    flake_overflow note;
} flake_ring_slot;

typedef struct flake_ring {
    flake_ring_slot *slots;
    uint64_t size;
    char pad0[64];
    flake_i_atomic64 head; /* next to push */
    char pad1[56];
    flake_i_atomic64 tail; /* next to pop */
    char pad2[56];
} flake_ring;

/* Any number of slots. Not while others use the ring. */
static inline flake_status flake_ring_init(flake_ring *ring, flake_ring_slot *slots, size_t n) {
    if (!ring || !slots || !n) return FLAKE_INVALID;
    ring->slots = slots;
    ring->size = n;
    FLAKE_ATOMIC_STORE(&ring->head, 0u, relaxed);
    FLAKE_ATOMIC_STORE(&ring->tail, 0u, relaxed);
    for (size_t i = 0; i < n; i++) FLAKE_ATOMIC_STORE(&slots[i].turn, 0u, relaxed);
    return FLAKE_OK;
}

/* Takes the next position of `end` whose slot shows `phase` (0 free, 1 filled) in its turn; NULL
 * when there is none. Linearises at the CAS. */
static inline flake_ring_slot *flake_i_ring_claim(flake_ring *ring, flake_i_atomic64 *end,
                                                  uint64_t phase, uint64_t *turn) {
    uint64_t at = FLAKE_ATOMIC_LOAD(end, relaxed); /* a stale value fails the turn or the CAS */
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

/* false: full. Conservative: may say so for a moment while a consumer is at work. */
static inline bool flake_ring_push(flake_ring *ring, flake_overflow note) {
    uint64_t turn;
    flake_ring_slot *slot = flake_i_ring_claim(ring, &ring->head, 0, &turn);
    if (!slot) return false;
    slot->note = note;
    FLAKE_ATOMIC_STORE(&slot->turn, turn + 1, release); /* FILL:R */
    return true;
}

/* false: empty. Conservative likewise. */
static inline bool flake_ring_pop(flake_ring *ring, flake_overflow *note) {
    uint64_t turn;
    flake_ring_slot *slot = flake_i_ring_claim(ring, &ring->tail, 1, &turn);
    if (!slot) return false;
    *note = slot->note;
    FLAKE_ATOMIC_STORE(&slot->turn, turn + 1, release); /* DRAIN:R */
    return true;
}

/* ---- fork word ----
 *
 * A word in a page that the kernel wipes in a forked child. A generator keeps the value that it saw
 * when it was initialised; another value means another process. Nobody writes it but the first to
 * initialise a generator in a process. Where the kernel has no such page (Linux before 4.14, other
 * systems) the generator compares getpid() instead, at the price of a system call an id.
 */
struct flake_i_process {
    FLAKE_ATOMIC(flake_i_atomic64 *) page; /* NULL: not asked for yet */
    flake_i_atomic64 generation;           /* survives the fork, so that a child's value is new */
    flake_i_atomic32 bumps;                /* likewise: of the process and its forebears */
    flake_i_atomic64 locking;              /* the files' (see there): mark of who is at it, or 0 */
    uint64_t locks_mark;                   /* and the process whose they are */
    struct flake_i_lock *locks;
};

#if defined(__cplusplus)
extern "C" {
#endif
extern struct flake_i_process flake_i_process;
FLAKE_I_ONE_PER_PROCESS(struct flake_i_process, flake_i_process);
#if defined(__linux__)
extern int flake_i_madvise(void *, size_t, int) __asm__("madvise");
extern int flake_i_fsync(int) __asm__("fsync");
#elif !defined(_WIN32)
#define flake_i_fsync fsync
#endif
#if defined(__cplusplus)
}
#endif

/* Marks this process where no page does. */
static inline uint64_t flake_i_pid(void) {
#if defined(_WIN32)
    return 1; /* no fork */
#else
    return (uint64_t)getpid();
#endif
}

static inline uint64_t flake_i_pid_mark(void) {
    return FLAKE_ATOMIC_LOAD(&flake_i_process.generation, relaxed) << 32 | flake_i_pid();
}

/* A fresh page of zeros, shared with children to come or not; NULL: none to be had. */
static inline void *flake_i_new_page(bool shared) {
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

static inline void flake_i_drop_page(void *page) {
#if defined(_WIN32)
    (void)VirtualFree(page, 0, MEM_RELEASE);
#else
    (void)munmap(page, 4096);
#endif
}

/* An emulator that takes every advice would take a senseless one too, and wipe nothing. */
static inline bool flake_i_wipe_on_fork(void *page) {
#if defined(__linux__)
    enum { wipe_on_fork = 18, senseless = -1 };
    return flake_i_madvise(page, 4096, senseless) != 0 &&
           flake_i_madvise(page, 4096, wipe_on_fork) == 0;
#else
    (void)page;
    return false;
#endif
}

static inline flake_i_atomic64 *flake_i_fork_page(void) {
    flake_i_atomic64 *page = FLAKE_ATOMIC_LOAD(&flake_i_process.page, acquire); /* PAGE:A */
    if (page) return page;
    void *fresh = flake_i_new_page(false);
    if (!fresh) return NULL;
    if (flake_i_wipe_on_fork(fresh) &&
        FLAKE_ATOMIC_CAS(&flake_i_process.page, &page, (flake_i_atomic64 *)fresh, release,
                         acquire)) /* PAGE:R */
        return (flake_i_atomic64 *)fresh;
    flake_i_drop_page(fresh);
    return page; /* another thread's, or NULL */
}

/* The value that marks this process, for generators to keep; *word is NULL where the pid does. */
static inline uint64_t flake_i_fork_mark(flake_i_atomic64 **word) {
    *word = flake_i_fork_page();
    if (!*word) return flake_i_pid_mark();
    uint64_t mark = FLAKE_ATOMIC_LOAD(*word, relaxed);
    if (mark) return mark;
    uint64_t next = FLAKE_ATOMIC_ADD(&flake_i_process.generation, 1u, relaxed) + 1;
    return FLAKE_ATOMIC_CAS(*word, &mark, next, relaxed, relaxed) ? next : mark;
}

/* Marks the process itself, for what it holds: a bump does not change it. */
static inline uint64_t flake_i_process_mark(void) {
    flake_i_atomic64 *page = flake_i_fork_page();
    if (!page) return flake_i_pid();
    uint64_t mark = FLAKE_ATOMIC_LOAD(page + 1, relaxed);
    if (mark) return mark;
    uint64_t next = FLAKE_ATOMIC_ADD(&flake_i_process.generation, 1u, relaxed) + 1;
    return FLAKE_ATOMIC_CAS(page + 1, &mark, next, relaxed, relaxed) ? next : mark;
}

/* From now on every generator of this process, all but those in shared memory, is as if inherited
 * through fork: FLAKE_FORKED until it is initialised anew. For whoever resumes a snapshot of a
 * virtual machine or a copied disk, which nothing else tells a process. States are stale too: close
 * them, and open others. From any thread. */
static inline void flake_generation_bump(void) {
    flake_i_atomic64 *page = flake_i_fork_page();
    const uint64_t next = FLAKE_ATOMIC_ADD(&flake_i_process.generation, 1u, relaxed) + 1;
    (void)FLAKE_ATOMIC_ADD(&flake_i_process.bumps, 1u, relaxed);
    if (page) FLAKE_ATOMIC_STORE(page, next, relaxed);
}

/* ---- gate ----
 *
 * What must agree before ids are handed out whose time is later than that of all before: a state
 * file, a claim that runs out. It is asked off the hot path, by the first draw of each unit and by
 * callers who queue, from any thread.
 */
typedef struct flake_gate {
    /* Whether ids of times up to until_ns (Unix) may be handed out. FLAKE_AGAIN: not yet, and who
     * waits asks again; all else is what the draw returns. NULL: no gate. */
    flake_status (*admit)(void *user, int64_t until_ns);
    void *user;
    flake_i_atomic64 *word; /* NULL, or a word that fork wipes, constant while the gate is open:
                               whoever changes it stops each draw at once */
} flake_gate;

/* ---- engine ---- */

typedef struct flake_stats {
    uint64_t ids;         /* places drawn, each of a batch */
    uint64_t batches;     /* draws of more than one place at once */
    uint64_t waits;       /* draws that had to sleep */
    uint64_t clock_backs; /* draws that met a clock behind the word */
} flake_stats;

/* The word lies alone on its cache line whatever the alignment of the whole is. Behind it comes
 * what never changes after init, and behind that what only the slow path writes. */
typedef struct flake_i_engine {
    char pad0[56];
    flake_i_atomic64 word;
    char pad1[56];

    flake_i_atomic64 *fork_word; /* NULL: compare the pid; or, with fork_mark 0, nothing */
    uint64_t fork_mark;
    uint64_t epoch_ns, unit_ns; /* wrapping arithmetic: only differences are looked at */
    uint64_t count_mask;
    uint64_t cap;
    uint64_t fast_cap; /* below this count the fast path may draw: cap, or 0 */
    uint64_t add_cap;  /* and below this by fetch_add: cap, or 0 */
    unsigned time_shift;
    unsigned tick_bits; /* 1: a clock put back changes the timeline */
    flake_clock clock;
    uint64_t limit;     /* count never goes past this */
    uint64_t max_time;  /* the last unit that layout and clock can express */
    uint64_t ahead;     /* units that ids may lie ahead of the clock */
    uint64_t time_lead; /* units that time itself may: ahead, or 0 */
    int64_t wait_ns;    /* longest sleep of one call */
    bool refuse_back;   /* a waiting call does not wait for a clock that was put back */
    flake_ring *ring;
    flake_gate gates[2];            /* the user's, and that of his state file */
    flake_i_atomic64 *process_word; /* what fork_word is where it is not a gate's */
    uint64_t process_mark;
    char pad2[64];

    flake_i_atomic64 safe[2]; /* tick engines: see I5 */
    flake_i_atomic64 drifts;  /* timelines left; the last one may be missing, its parity tells */
    flake_i_atomic64 overflow;
    flake_i_atomic64 rebased; /* places drawn that count no longer tells */
    flake_i_atomic64 batches, waits, clock_backs;
    flake_i_atomic32 lent; /* a pool's shard: 1 while a thread has it */
    char pad3[60];
} flake_i_engine;

/* How a draw goes about it; constants, so that each caller compiles to its own straight line. */
enum {
    FLAKE_I_WAIT = 1,  /* sleep for a place rather than fail */
    FLAKE_I_OWNED = 2, /* one writer: plain loads and stores in place of RMWs */
    FLAKE_I_GIVEN = 4  /* the time is the caller's and may be stale: never a step back */
};

/* A run of places: n from `index` of unit `time` on, index < cap. */
typedef struct flake_i_place {
    uint64_t time, index, n;
    unsigned tick;
    uint64_t
        unit; /* time and tick once more, as they stand in the word: for ids that are made alike */
} flake_i_place;

typedef struct flake_i_setup {
    int64_t epoch_ms;
    uint32_t unit_ms;
    unsigned time_bits, tick_bits;
    uint64_t cap;
    int64_t max_ahead_ms, max_wait_ms;
    bool refuse_back, shared_memory;
    flake_clock clock;
    flake_ring *ring;
    flake_gate gates[2];
} flake_i_setup;

static inline uint64_t flake_i_min(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* How long until `due`, which is later. */
static inline int64_t flake_i_ns_until(int64_t due_ns, int64_t now_ns) {
    const uint64_t ns = (uint64_t)due_ns - (uint64_t)now_ns;
    return ns > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)ns;
}

/* Not while others use the engine. What is refused is left as it was. */
static inline flake_status flake_i_engine_init(flake_i_engine *e, const flake_i_setup *o) {
    const int64_t ns_per_ms = 1000000, max_ms = INT64_MAX / ns_per_ms;
    if (o->epoch_ms < -max_ms || o->epoch_ms > max_ms || !o->unit_ms || !o->cap ||
        o->max_ahead_ms < 0 || o->max_ahead_ms / o->unit_ms > INT32_MAX || o->max_wait_ms < 0 ||
        (o->clock.kind != FLAKE_CLOCK_EXACT && o->clock.kind != FLAKE_CLOCK_COARSE))
        return FLAKE_INVALID;
    if (o->shared_memory && (o->gates[0].admit || o->gates[1].admit)) return FLAKE_INVALID;
#if ATOMIC_LLONG_LOCK_FREE != 2
    if (o->shared_memory) return FLAKE_INVALID; /* the word would hide a lock of one process */
#endif
    const uint64_t epoch_ns = (uint64_t)(o->epoch_ms * ns_per_ms);
    const uint64_t unit_ns = (uint64_t)o->unit_ms * (uint64_t)ns_per_ms;

    /* Time gets the bits that the layout and a clock of 63 bits of ns can fill, count the rest. */
    uint64_t last = ((uint64_t)INT64_MAX - epoch_ns) / unit_ns;
    if (!last--) return FLAKE_INVALID; /* the clock ends before the first unit does */
    if (o->time_bits < 64) last = flake_i_min(last, ((uint64_t)1 << o->time_bits) - 1);
    unsigned count_bits = 63 - o->tick_bits;
    for (uint64_t t = last >> 1; t; t >>= 1) count_bits--;
    const uint64_t range = (uint64_t)1 << flake_i_min(count_bits, 48);
    if (o->cap > range || (o->cap == range && o->tick_bits)) return FLAKE_INVALID;
    if (o->cap == range && (last + 1) << count_bits == 0)
        last--; /* a full unit carries into time */

    e->epoch_ns = epoch_ns;
    e->unit_ns = unit_ns;
    e->max_time = last;
    e->tick_bits = o->tick_bits;
    e->time_shift = count_bits + o->tick_bits;
    e->count_mask = ((uint64_t)1 << count_bits) - 1;
    e->cap = o->cap;
    e->ahead = (uint64_t)o->max_ahead_ms / o->unit_ms;
    e->wait_ns = o->max_wait_ms > max_ms ? INT64_MAX : o->max_wait_ms * ns_per_ms;

    /* fetch_add wants room for those who add at the same moment: a quarter of a count of 20 bits
     * or more; and so much patience that they don't push a place past what its caller waits. */
    const uint64_t patience = flake_i_min((uint64_t)e->wait_ns / unit_ns + e->ahead, 4096);
    const bool by_add = count_bits >= 20 && o->cap <= range >> 4 && patience * o->cap >= 4096;
    e->add_cap = by_add ? o->cap : 0;
    e->fast_cap = o->cap == range ? 0 : o->cap;
    e->limit = by_add ? range / 4 * 3 : o->cap == range ? range : range - 1;
    /* Ids so far ahead that count can't hold them move time past all readings (see draw_run). */
    e->time_lead = (e->ahead + 1) * o->cap > e->limit ? e->ahead : 0;

    e->refuse_back = o->refuse_back;
    e->clock = o->clock;
    e->ring = o->ring;
    e->process_word = NULL;
    e->process_mark = o->shared_memory ? 0 : flake_i_fork_mark(&e->process_word);
    e->fork_word = e->process_word;
    e->fork_mark = e->process_mark;
    for (unsigned i = 0; i < 2; i++) {
        e->gates[i] = o->gates[i];
        if (!o->gates[i].admit || !o->gates[i].word) continue;
        e->fork_word = o->gates[i].word; /* wiped by fork too */
        e->fork_mark = FLAKE_ATOMIC_LOAD(e->fork_word, relaxed);
    }
    FLAKE_ATOMIC_STORE(&e->word, 0u, relaxed);
    FLAKE_ATOMIC_STORE(&e->safe[0], 0u, relaxed);
    FLAKE_ATOMIC_STORE(&e->safe[1], 0u, relaxed);
    FLAKE_ATOMIC_STORE(&e->drifts, 0u, relaxed);
    FLAKE_ATOMIC_STORE(&e->overflow, 0u, relaxed);
    FLAKE_ATOMIC_STORE(&e->rebased, 0u, relaxed);
    FLAKE_ATOMIC_STORE(&e->batches, 0u, relaxed);
    FLAKE_ATOMIC_STORE(&e->waits, 0u, relaxed);
    FLAKE_ATOMIC_STORE(&e->clock_backs, 0u, relaxed);
    FLAKE_ATOMIC_STORE(&e->lent, 0u, relaxed);
    return FLAKE_OK;
}

/* Whether this is another process than the one that took the mark. A mark of 0 asks not to look. */
FLAKE_I_INLINE bool flake_i_forked_since(flake_i_atomic64 *word, uint64_t mark) {
    if (FLAKE_I_LIKELY(word != NULL)) return FLAKE_ATOMIC_LOAD(word, relaxed) != mark;
    return mark && mark != flake_i_pid_mark();
}

FLAKE_I_INLINE bool flake_i_forked(const flake_i_engine *e) {
    return flake_i_forked_since(e->fork_word, e->fork_mark);
}

/* Why a generator whose fork word has changed refuses. */
FLAKE_I_COLD flake_status flake_i_refusal(const flake_i_engine *e) {
    if (!flake_i_forked_since(e->process_word, e->process_mark))
        for (unsigned i = 0; i < 2; i++) {
            const flake_gate *g = &e->gates[i];
            const flake_status status = g->word ? g->admit(g->user, INT64_MAX) : FLAKE_OK;
            if (status != FLAKE_OK) return status;
        }
    return FLAKE_FORKED;
}

FLAKE_I_INLINE uint64_t flake_i_start_ns(const flake_i_engine *e, uint64_t unit) {
    return e->epoch_ns + unit * e->unit_ns;
}

FLAKE_I_INLINE unsigned flake_i_tick(const flake_i_engine *e, uint64_t word) {
    return (unsigned)(word >> (e->time_shift - 1)) & e->tick_bits;
}

/* Of `count` places drawn since unit `since` began, those that lie in unit `from` or later. */
static inline uint64_t flake_i_rest(const flake_i_engine *e, uint64_t since, uint64_t count,
                                    uint64_t from) {
    if (from <= since) return count;
    if (count <= e->cap) return 0; /* nearly always, and spares the division */
    uint64_t passed = from - since;
    return passed > count / e->cap ? 0 : count - passed * e->cap;
}

/* A statistic, on a line that the fast path does not touch. */
static inline void flake_i_tally(flake_i_atomic64 *tally, uint64_t more, unsigned how) {
    if (!more) return;
    if (how & FLAKE_I_OWNED)
        FLAKE_ATOMIC_STORE(tally, FLAKE_ATOMIC_LOAD(tally, relaxed) + more, relaxed);
    else FLAKE_ATOMIC_ADD(tally, more, relaxed);
}

/* Moves the word from *seen to `next`; when another was faster, *seen is what he left. */
static inline bool flake_i_move(flake_i_engine *e, unsigned how, uint64_t *seen, uint64_t next) {
    if (how & FLAKE_I_OWNED) {
        FLAKE_ATOMIC_STORE(&e->word, next, release); /* LEAVE:R, for those who only ask */
        return true;
    }
    return FLAKE_ATOMIC_CAS(&e->word, seen, next, release, acquire); /* LEAVE:R, LOOK:A */
}

/* Time and count of a word. A full unit whose count has no bits to spare has carried into time. */
static inline void flake_i_decode(const flake_i_engine *e, uint64_t word, uint64_t *time,
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
static inline void flake_i_spend_unit(flake_i_engine *e) {
    if (!e->gates[0].admit && !e->gates[1].admit) return;
    const uint64_t word = FLAKE_ATOMIC_LOAD(&e->word, relaxed);
    uint64_t time, count;
    flake_i_decode(e, word, &time, &count);
    if (count >= e->cap) return;
    FLAKE_ATOMIC_STORE(&e->word, word - count + e->cap, relaxed);
    flake_i_tally(&e->rebased, count - e->cap, FLAKE_I_OWNED); /* what is not drawn here */
}

/* Ids up to this time may have been handed out by a run before: the next is of a later unit, on
 * either timeline. Not while others use the engine. */
static inline void flake_i_engine_floor(flake_i_engine *e, int64_t floor_ns) {
    if (floor_ns < (int64_t)e->epoch_ns) return;
    const uint64_t floor =
        flake_i_min(((uint64_t)floor_ns - e->epoch_ns) / e->unit_ns, e->max_time);
    const uint64_t word = FLAKE_ATOMIC_LOAD(&e->word, relaxed);
    const uint64_t tick = (uint64_t)flake_i_tick(e, word) << (e->time_shift - 1);
    uint64_t time, count;
    for (unsigned i = 0; i < e->tick_bits * 2; i++)
        if (FLAKE_ATOMIC_LOAD(&e->safe[i], relaxed) < floor)
            FLAKE_ATOMIC_STORE(&e->safe[i], floor, relaxed);
    flake_i_decode(e, word, &time, &count);
    if (time > floor || flake_i_rest(e, time, count, floor) >= e->cap) return;
    FLAKE_ATOMIC_STORE(&e->word, (floor << e->time_shift) + tick + e->cap, relaxed);
    flake_i_tally(&e->rebased, count - e->cap, FLAKE_I_OWNED); /* what is not drawn here */
}

/* What a word and a clock reading say about the next place. */
typedef struct flake_i_view {
    uint64_t time, count, now; /* the word's, the clock's unit */
    unsigned tick;
    uint64_t base, place; /* the next place: counted from unit base, on timeline tick */
    uint64_t unit; /* the unit it lies in; when blocked, the first in which one will be free */
    bool leaves;   /* drawing it leaves the word's timeline */
    bool blocked;  /* the clock reads a time that both timelines have used */
} flake_i_view;

static inline flake_status flake_i_look(flake_i_engine *e, unsigned how, uint64_t word,
                                        int64_t now_ns, flake_i_view *v) {
    if (!e->cap) return FLAKE_INVALID; /* never initialised */
    flake_i_decode(e, word, &v->time, &v->count);
    v->tick = flake_i_tick(e, word);
    const bool given = (how & FLAKE_I_GIVEN) && word; /* older counts as the word's time */
    if (now_ns < (int64_t)e->epoch_ns && !given) return FLAKE_RANGE;
    v->now = now_ns < (int64_t)e->epoch_ns ? 0 : ((uint64_t)now_ns - e->epoch_ns) / e->unit_ns;
    if (v->now > e->max_time) return FLAKE_RANGE;
    if (given && v->now + e->time_lead < v->time) v->now = v->time - e->time_lead;

    v->leaves = v->blocked = false;
    v->base = v->now < v->time ? v->time : v->now;
    v->place = flake_i_rest(e, v->time, v->count, v->base);
    v->unit = v->base + (v->place < e->cap ? 0 : v->place / e->cap);
    if (v->now < v->time && e->tick_bits) {
        uint64_t safe = FLAKE_ATOMIC_LOAD(&e->safe[v->tick ^ 1], relaxed);
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
    return v->unit > e->max_time ? FLAKE_RANGE : FLAKE_OK;
}

static inline bool flake_i_is_free(const flake_i_engine *e, const flake_i_view *v) {
    return v->unit <= v->now + e->ahead && !v->blocked;
}

/* How many places can be had without waiting. */
static inline uint64_t flake_i_room(const flake_i_engine *e, const flake_i_view *v) {
    if (!flake_i_is_free(e, v)) return 0;
    return (flake_i_min(v->now + e->ahead, e->max_time) + 1 - v->base) * e->cap - v->place;
}

static inline int64_t flake_i_due_ns(const flake_i_engine *e, uint64_t unit) {
    return (int64_t)flake_i_start_ns(e, unit < e->ahead ? 0 : unit - e->ahead);
}

/* How often the clock was put back before `word`, whose tick is the count's parity. The stored
 * count lags by at most one, since whoever leaves a timeline settles it first. False: the word
 * moved. */
static inline bool flake_i_drifts_at(flake_i_engine *e, uint64_t word, unsigned tick,
                                     uint64_t *drifts) {
    uint64_t stored = FLAKE_ATOMIC_LOAD(&e->drifts, acquire); /* SETTLE:A */
    if (FLAKE_ATOMIC_LOAD(&e->word, relaxed) != word) return false;
    *drifts = stored + ((stored & 1) != tick);
    if (stored != *drifts)
        (void)FLAKE_ATOMIC_CAS(&e->drifts, &stored, *drifts, release, relaxed); /* SETTLE:R */
    return true;
}

/* Before the CAS that leaves a timeline (the view has the new tick already): what LEAVE:R publishes.
 * False: the word moved. */
static inline bool flake_i_before_leaving(flake_i_engine *e, uint64_t word, const flake_i_view *v,
                                          uint64_t *drifts) {
    unsigned left = v->tick ^ 1;
    uint64_t last = v->time + (v->count ? (v->count - 1) / e->cap : 0);
    uint64_t safe = FLAKE_ATOMIC_LOAD(&e->safe[left], relaxed);
    while (safe < last && !FLAKE_ATOMIC_CAS(&e->safe[left], &safe, last, relaxed, relaxed)) {
    }
    return flake_i_drifts_at(e, word, left, drifts);
}

/* ---- overflow notes ----
 *
 * e->overflow elects one writer a ms: [ began ms:40 ][ ms noted since:24 ], or with all of the low
 * bits set: closed, the last note was written in that ms.
 */
#define FLAKE_I_CLOSED 0xffffffu

static inline uint64_t flake_i_note_ms(int64_t now_ns) {
    return (uint64_t)(now_ns / 1000000) & 0xffffffffffu;
}

/* Queued callers call this each ms, with how many they are. */
static inline void flake_i_note(flake_i_engine *e, uint64_t old, int64_t now_ns, uint64_t queued) {
    const uint64_t ms = flake_i_note_ms(now_ns);
    uint64_t noted = old & FLAKE_I_CLOSED, ticks = (ms - (old >> 24)) & 0xffffffffffu, next;
    if (noted == FLAKE_I_CLOSED || !noted || ticks >= FLAKE_I_CLOSED - 1) {
        /* a new one; also after hours of one, or when the clock was put back during it */
        if (noted == FLAKE_I_CLOSED && !ticks) return;
        next = ms << 24 | 1;
        ticks = 0;
    } else {
        if (ticks < noted) return;
        next = (old & ~(uint64_t)FLAKE_I_CLOSED) | (ticks + 1);
    }
    if (!FLAKE_ATOMIC_CAS(&e->overflow, &old, next, relaxed, relaxed)) return;
    flake_overflow note;
    note.now_ns = now_ns;
    note.count = queued > UINT32_MAX ? UINT32_MAX : (uint32_t)queued;
    note.ticks = (uint32_t)ticks;
    (void)flake_ring_push(e->ring, note); /* full: dropped, the next ms has its own */
}

/* Whoever finds the queue empty calls this. A last note that does not fit stays owed. */
static inline void flake_i_note_end(flake_i_engine *e, uint64_t old, int64_t now_ns) {
    const uint64_t ms = flake_i_note_ms(now_ns);
    uint64_t noted = old & FLAKE_I_CLOSED, ticks = (ms - (old >> 24)) & 0xffffffffffu;
    if (!noted || noted == FLAKE_I_CLOSED || ticks < noted) return;
    uint64_t closed = ms << 24 | FLAKE_I_CLOSED;
    if (!FLAKE_ATOMIC_CAS(&e->overflow, &old, closed, relaxed, relaxed)) return;
    flake_overflow note;
    note.now_ns = now_ns;
    note.count = 0;
    note.ticks = ticks < FLAKE_I_CLOSED ? (uint32_t)ticks : 0; /* 0: the clock was put back */
    if (!flake_ring_push(e->ring, note))
        (void)FLAKE_ATOMIC_CAS(&e->overflow, &closed, old, relaxed, relaxed);
}

/* Says what the queue is like, if it is time to. Not while the clock is behind the word: then the
 * wait is for the clock, not for capacity. The reading is taken after the election was looked at, so
 * that one before its ms says that the clock was put back, never that this thread was slow. */
static inline void flake_i_notify(flake_i_engine *e) {
    flake_i_view v;
    if (!e->ring) return;
    const uint64_t old = FLAKE_ATOMIC_LOAD(&e->overflow, acquire);
    const int64_t now_ns = flake_i_exact_ns(&e->clock);
    const uint64_t word = FLAKE_ATOMIC_LOAD(&e->word, acquire);
    if (flake_i_look(e, 0, word, now_ns, &v) != FLAKE_OK || v.now + e->time_lead < v.time) return;
    uint64_t queued = flake_i_rest(e, v.time, v.count, v.now + e->ahead + 1);
    if (queued) flake_i_note(e, old, now_ns, queued);
    else flake_i_note_end(e, old, now_ns);
}

/* ---- draw ---- */

static inline void flake_i_nap(flake_i_engine *e, int64_t now_ns, int64_t ns, int64_t *budget_ns) {
    if (e->ring) { /* up at the next ms, to note */
        int64_t tick = 1000000 - (now_ns % 1000000 + 1000000) % 1000000;
        if (ns > tick) ns = tick;
    }
    FLAKE_SLEEP_NS(ns);
    *budget_ns -= ns;
}

/* Whether the gates let ids of this unit out. */
static inline flake_status flake_i_admit(flake_i_engine *e, unsigned how, uint64_t unit,
                                         int64_t *budget_ns) {
    if (!e->gates[0].admit && !e->gates[1].admit) return FLAKE_OK;
    if (flake_i_forked_since(e->process_word, e->process_mark)) return FLAKE_FORKED;
    const int64_t until_ns = (int64_t)(flake_i_start_ns(e, unit + 1) - 1), nap_ns = 1000000;
    for (unsigned i = 0; i < 2; i++)
        for (const flake_gate *g = &e->gates[i]; g->admit; *budget_ns -= nap_ns) {
            const flake_status status = g->admit(g->user, until_ns);
            if (status == FLAKE_OK) break;
            if (status != FLAKE_AGAIN || !(how & FLAKE_I_WAIT) || *budget_ns < nap_ns)
                return status;
            FLAKE_SLEEP_NS(nap_ns);
        }
    return FLAKE_OK;
}

/* Sleeps until the unit of a place has come that was drawn after reading drawn_ns. False: the clock
 * was put back or stands still, so that the wait is not worth the place. */
static inline bool flake_i_await(flake_i_engine *e, uint64_t unit, int64_t drawn_ns, int64_t now_ns,
                                 int64_t *budget_ns) {
    const int64_t due_ns = flake_i_due_ns(e, unit);
    for (;;) {
        flake_i_notify(e);
        if (now_ns >= due_ns) return true;
        const int64_t left_ns = flake_i_ns_until(due_ns, now_ns);
        const bool put_back = now_ns < drawn_ns && (e->tick_bits || e->refuse_back);
        if (left_ns > *budget_ns || put_back) return false;
        flake_i_nap(e, now_ns, left_ns, budget_ns);
        now_ns = flake_i_exact_ns(&e->clock);
    }
}

static inline void flake_i_place_at(const flake_i_engine *e, uint64_t base, uint64_t place,
                                    uint64_t n, unsigned tick, flake_i_place *out) {
    out->time = place < e->cap ? base : base + place / e->cap;
    out->index = place < e->cap ? place : place % e->cap;
    out->n = n;
    out->tick = tick;
    out->unit = (out->time << e->time_shift) + ((uint64_t)tick << (e->time_shift - 1));
}

/* The whole protocol, for 1 to `want` places, from a word and a reading in any order. Linearises at
 * the move that succeeds. */
FLAKE_I_COLD flake_status flake_i_draw_run(flake_i_engine *e, unsigned how, uint64_t word,
                                           int64_t now_ns, uint64_t want, int64_t budget_ns,
                                           flake_i_place *out) {
    bool confirmed = (how & FLAKE_I_GIVEN) != 0; /* now_ns is exact, and read after the word (I2) */
    bool back_counted = false, wait_counted = false;
    for (;;) {
        flake_i_view v;
        flake_status status = flake_i_look(e, how, word, now_ns, &v);
        const bool is_free = status == FLAKE_OK && flake_i_is_free(e, &v);
        if (!confirmed && (!is_free || v.now < v.time)) {
            now_ns = flake_i_exact_ns(&e->clock);
            confirmed = true;
            continue;
        }
        if (status != FLAKE_OK) return status;
        if (v.now + e->time_lead < v.time && !back_counted) {
            flake_i_tally(&e->clock_backs, 1, how);
            back_counted = true;
        }

        if (!is_free) {
            const bool back = v.time > v.now + e->ahead;
            int64_t left_ns = flake_i_ns_until(flake_i_due_ns(e, v.unit), now_ns);
            if (!(how & FLAKE_I_WAIT) || (back && e->refuse_back) || left_ns > budget_ns)
                return back ? FLAKE_CLOCK_BACK : FLAKE_AGAIN;
            if (!wait_counted) flake_i_tally(&e->waits, 1, how);
            wait_counted = true;
            if (v.blocked || v.place >= e->limit) { /* no place to hold while asleep */
                if (!v.blocked) flake_i_notify(e);
                if (left_ns > (int64_t)e->unit_ns) left_ns = (int64_t)e->unit_ns;
                flake_i_nap(e, now_ns, left_ns, &budget_ns);
                word = FLAKE_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
                now_ns = flake_i_exact_ns(&e->clock);
                continue;
            }
        }

        uint64_t n = flake_i_min(want, is_free ? flake_i_room(e, &v) : e->cap - v.place % e->cap);
        if (is_free && v.place >= e->cap && v.place + n > e->limit) {
            v.place %= e->cap; /* far ahead of the clock: whole units move from count to time */
            v.base = v.unit;
        }
        n = flake_i_min(n, e->limit - v.place);

        status = flake_i_admit(e, how, v.base + (v.place + n - 1) / e->cap, &budget_ns);
        if (status != FLAKE_OK) return status;

        uint64_t drifts = 0;
        if (v.leaves && !flake_i_before_leaving(e, word, &v, &drifts)) {
            word = FLAKE_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
            now_ns = flake_i_exact_ns(&e->clock);
            continue;
        }
        /* +, not |: a count with no bits to spare carries */
        const uint64_t before = word, next = (v.base << e->time_shift) +
                                             ((uint64_t)v.tick << (e->time_shift - 1)) + v.place +
                                             n;
        if (!flake_i_move(e, how, &word, next)) {
            FLAKE_RELAX();
            confirmed = (how & FLAKE_I_GIVEN) != 0;
            continue;
        }
        if (v.leaves)
            (void)FLAKE_ATOMIC_CAS(&e->drifts, &drifts, drifts + 1, release,
                                   relaxed); /* SETTLE:R */
        const bool rebased = v.count != v.place;
        const bool kept = is_free || flake_i_await(e, v.unit, now_ns, now_ns, &budget_ns);
        word = next;
        const bool given_back = !kept && flake_i_move(e, how, &word, before);
        if (!given_back) flake_i_tally(&e->rebased, v.count - v.place, how);
        if (kept) {
            if (is_free && rebased && !(how & FLAKE_I_GIVEN)) flake_i_notify(e);
            if (n > 1) flake_i_tally(&e->batches, 1, how);
            flake_i_place_at(e, v.base, v.place, n, v.tick, out);
            return FLAKE_OK;
        }
        word = FLAKE_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
        now_ns = flake_i_exact_ns(&e->clock);
    }
}

/* A fetch_add that others outran: it took a place behind the unit's last, or in another unit. */
FLAKE_I_COLD flake_status flake_i_draw_late(flake_i_engine *e, uint64_t word, int64_t drawn_ns,
                                            flake_i_place *out) {
    int64_t budget_ns = e->wait_ns, now_ns = flake_i_exact_ns(&e->clock);
    flake_i_place_at(e, word >> e->time_shift, word & e->count_mask, 1, flake_i_tick(e, word), out);
    if (out->time > e->max_time) return FLAKE_RANGE;
    if (now_ns < flake_i_due_ns(e, out->time)) flake_i_tally(&e->waits, 1, FLAKE_I_WAIT);
    const flake_status status = flake_i_admit(e, FLAKE_I_WAIT, out->time, &budget_ns);
    if (status == FLAKE_OK && flake_i_await(e, out->time, drawn_ns, now_ns, &budget_ns))
        return FLAKE_OK;
    uint64_t after = word + 1;
    (void)flake_i_move(e, FLAKE_I_WAIT, &after, word); /* given back, if it is still the newest */
    if (status != FLAKE_OK) return status;
    word = FLAKE_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A: the addition was none */
    now_ns = flake_i_exact_ns(&e->clock);
    return flake_i_draw_run(e, FLAKE_I_WAIT, word, now_ns, 1, budget_ns, out);
}

/* 1 to `want` places with one move. The usual case, a unit that has begun and is not spent, is
 * decided here without a division: the reading lies less than a unit past the start of the word's.
 * Here the clock may be read before the word, which is faster, since nothing is made of a reading
 * that lies behind the word's time: draw_run takes another (I2). */
FLAKE_I_INLINE flake_status flake_i_draw(flake_i_engine *e, unsigned how, int64_t given_ns,
                                         uint64_t want, flake_i_place *out) {
    if (!FLAKE_I_LIKELY(!flake_i_forked(e))) {
        const flake_status refusal = flake_i_refusal(e);
        return refusal != FLAKE_OK ? refusal : FLAKE_FORKED; /* never OK: said for the compiler */
    }
    int64_t now_ns = how & FLAKE_I_GIVEN ? given_ns : flake_i_now_ns(&e->clock);
    uint64_t word = FLAKE_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
    const uint64_t count = word & e->count_mask, unit = word - count;
    const uint64_t since_ns = (uint64_t)now_ns - flake_i_start_ns(e, word >> e->time_shift);
    flake_i_place place; /* for the calls; *out stays in registers */
    flake_status status;
    if (FLAKE_I_LIKELY(since_ns < e->unit_ns && count < e->fast_cap) &&
        (want <= e->cap - count || !e->ahead)) {
        uint64_t index = count, n = 1;
        bool drawn;
        if (want == 1 && (how & (FLAKE_I_WAIT | FLAKE_I_OWNED)) == FLAKE_I_WAIT &&
            FLAKE_I_LIKELY(count < e->add_cap)) {
            word = FLAKE_ATOMIC_ADD(&e->word, 1u, relaxed);
            index = word - unit; /* from another unit or tick: past any cap */
            drawn = FLAKE_I_LIKELY(index < e->cap);
            if (!drawn) {
                status = flake_i_draw_late(e, word, now_ns, &place);
                if (status == FLAKE_OK) *out = place;
                return status;
            }
        } else {
            if (want > 1) n = flake_i_min(want, e->cap - count);
            drawn = flake_i_move(e, how, &word, word + n);
        }
        if (FLAKE_I_LIKELY(drawn)) {
            if (n > 1) flake_i_tally(&e->batches, 1, how);
            out->time = unit >> e->time_shift;
            out->index = index;
            out->n = n;
            out->tick = flake_i_tick(e, unit);
            out->unit = unit;
            return FLAKE_OK;
        }
    }
    status = flake_i_draw_run(e, how, word, now_ns, want, e->wait_ns, &place);
    if (status == FLAKE_OK) *out = place;
    return status;
}

/* ---- questions about an engine: answers may be old when they arrive ---- */

/* Looks as a caller that tries would. */
static inline flake_status flake_i_peek(flake_i_engine *e, flake_i_view *v, int64_t *now_ns) {
    uint64_t word = FLAKE_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
    *now_ns = flake_i_exact_ns(&e->clock);
    return flake_i_look(e, 0, word, *now_ns, v);
}

/* When a try would succeed, from now; INT64_MAX: never. */
static inline int64_t flake_i_retry_ns(flake_i_engine *e) {
    flake_i_view v;
    if (flake_i_forked(e) || !e->cap) return INT64_MAX;
    const uint64_t word = FLAKE_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
    const int64_t now_ns = flake_i_exact_ns(&e->clock), epoch_ns = (int64_t)e->epoch_ns;
    const int64_t from_ns = now_ns < epoch_ns ? epoch_ns : now_ns;
    if (flake_i_look(e, 0, word, from_ns, &v) != FLAKE_OK) return INT64_MAX;
    const int64_t at_ns = flake_i_is_free(e, &v) ? from_ns : flake_i_due_ns(e, v.unit);
    return flake_i_ns_until(at_ns, now_ns);
}

static inline uint64_t flake_i_available(flake_i_engine *e) {
    flake_i_view v;
    int64_t now_ns;
    if (flake_i_forked(e) || flake_i_peek(e, &v, &now_ns) != FLAKE_OK) return 0;
    return flake_i_room(e, &v);
}

/* How many units the newest place lies ahead of the clock; 0 where the clock has no unit. */
static inline uint64_t flake_i_lag(flake_i_engine *e) {
    flake_i_view v;
    int64_t now_ns;
    memset(&v, 0, sizeof v);
    (void)flake_i_peek(e, &v, &now_ns);
    uint64_t newest = v.time + (v.count ? (v.count - 1) / e->cap : 0);
    return newest > v.now ? newest - v.now : 0;
}

/* While others draw, ids may lack what a draw that is under way has not told yet. */
static inline void flake_i_stats(flake_i_engine *e, flake_stats *stats) {
    uint64_t word = FLAKE_ATOMIC_LOAD(&e->word, acquire), again, time, count;
    for (;; word = again) { /* until the word was not re-based meanwhile: nothing counts twice */
        flake_i_decode(e, word, &time, &count);
        stats->ids = FLAKE_ATOMIC_LOAD(&e->rebased, acquire) + count;
        again = FLAKE_ATOMIC_LOAD(&e->word, acquire);
        if (!((again ^ word) & ~e->count_mask)) break;
    }
    stats->batches = FLAKE_ATOMIC_LOAD(&e->batches, relaxed);
    stats->waits = FLAKE_ATOMIC_LOAD(&e->waits, relaxed);
    stats->clock_backs = FLAKE_ATOMIC_LOAD(&e->clock_backs, relaxed);
}

/* ---- pool: shards lent to threads ----
 *
 * Wait-free: at most one look at each of the n engines, which lie `stride` bytes apart. NULL: all
 * are lent (conservative: one that comes back during the search may be missed).
 */
static inline flake_i_engine *flake_i_lend(void *engines, size_t stride, size_t n,
                                           flake_i_atomic32 *hint) {
    const size_t start = FLAKE_ATOMIC_LOAD(hint, relaxed); /* only where to begin */
    for (size_t i = 0; i < n; i++) {
        const size_t at = (start + i) % n;
        flake_i_engine *e = (flake_i_engine *)(void *)((char *)engines + at * stride);
        uint32_t lent = FLAKE_ATOMIC_LOAD(&e->lent, relaxed);
        if (!lent && FLAKE_ATOMIC_CAS(&e->lent, &lent, 1u, acquire, relaxed)) { /* LEND:A */
            FLAKE_ATOMIC_STORE(hint, (uint32_t)(at + 1), relaxed);
            return e;
        }
    }
    return NULL;
}

static inline void flake_i_take_back(flake_i_engine *e) {
    FLAKE_ASSERT(FLAKE_ATOMIC_LOAD(&e->lent, relaxed) == 1);
    FLAKE_ATOMIC_STORE(&e->lent, 0u, release); /* BACK:R */
}

/* ---- files ----
 *
 * One process at a time holds a lock file, and lets go of it when it dies: a record lock of POSIX,
 * which a forked child does not inherit. But it is the whole process's, and gone as soon as any part
 * of the process closes that file. So the process keeps a list of what it holds, and looks there
 * before it opens one. Only here does a thread wait for another (who may be stopped in the middle).
 */
struct flake_why {
    char text[200]; /* what is wrong, in words: the option or file and what became of it */
};

/* Writes down the reason, and returns the status. */
static inline flake_status flake_i_say(flake_why *why, flake_status status, const char *subject,
                                       const char *what) {
    if (!why) return status;
    const char *const parts[] = {subject, ": ", what};
    size_t n = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (const char *c = parts[i]; *c && n < sizeof why->text - 1; c++) why->text[n++] = *c;
    why->text[n] = 0;
    return status;
}

enum { FLAKE_I_PATH = 1024 }; /* longest path, with its NUL and an ending of ours */
/* One of the other header would not know that this one holds the file, and let go of it. */
static const char flake_i_lock_ending[] = ".flake-lock";

typedef struct flake_i_lock {
    uint64_t device, inode;
    int fd;
    struct flake_i_lock *next;
} flake_i_lock;

#if !defined(_WIN32)

/* What the list of locks says is true between these two. A forked child has none of its parent's, and
 * takes the turn from a thread of its parent's that had it then. */
static inline void flake_i_locks_begin(void) {
    const uint64_t mark = flake_i_process_mark();
    uint64_t seen = 0;
    while (!FLAKE_ATOMIC_CAS(&flake_i_process.locking, &seen, mark, acquire, relaxed)) /* TURN:A */
        if (seen == mark) {
            seen = 0;
            FLAKE_SLEEP_NS(100000);
        }
    if (flake_i_process.locks_mark != mark) flake_i_process.locks = NULL;
    flake_i_process.locks_mark = mark;
}

static inline void flake_i_locks_end(void) {
    FLAKE_ATOMIC_STORE(&flake_i_process.locking, 0u, release); /* TURN:R */
}

static inline bool flake_i_lock_is_of(const flake_i_lock *lock, const struct stat *file) {
    return lock->device == (uint64_t)file->st_dev && lock->inode == (uint64_t)file->st_ino;
}

/* Opens and locks; what stands at the path at the end is what was locked. */
static inline flake_status flake_i_lock_file(flake_i_lock *lock, const char *path) {
    struct stat at_path, opened;
    struct flock range;
    memset(&range, 0, sizeof range);
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    for (int tries = 0; tries < 100; tries++) {
        if (stat(path, &at_path) == 0)
            for (const flake_i_lock *l = flake_i_process.locks; l; l = l->next)
                if (flake_i_lock_is_of(l, &at_path)) return FLAKE_TAKEN;
        lock->fd = open(path, O_RDWR | O_CREAT, 0666);
        if (lock->fd < 0) return FLAKE_IO;
        (void)fcntl(lock->fd, F_SETFD, FD_CLOEXEC);
        const bool locked = fcntl(lock->fd, F_SETLK, &range) == 0;
        const bool taken = !locked && (errno == EACCES || errno == EAGAIN);
        if (locked && fstat(lock->fd, &opened) == 0 && stat(path, &at_path) == 0) {
            lock->device = (uint64_t)opened.st_dev;
            lock->inode = (uint64_t)opened.st_ino;
            if (flake_i_lock_is_of(lock, &at_path)) return FLAKE_OK;
        }
        (void)close(lock->fd);
        if (taken) return FLAKE_TAKEN;
        if (!locked) return FLAKE_IO;
    }
    return FLAKE_IO;
}

static inline bool flake_i_lock_is_held(const flake_i_lock *lock) {
    flake_i_locks_begin();
    const flake_i_lock *l = flake_i_process.locks;
    while (l && l != lock) l = l->next;
    flake_i_locks_end();
    return l != NULL;
}

/* FLAKE_TAKEN: this process or another has it. */
static inline flake_status flake_i_lock_take(flake_i_lock *lock, const char *path) {
    flake_i_locks_begin();
    const flake_status status = flake_i_lock_file(lock, path);
    if (status == FLAKE_OK) {
        lock->next = flake_i_process.locks;
        flake_i_process.locks = lock;
    }
    flake_i_locks_end();
    return status;
}

/* In a forked child only the descriptor is closed: the lock is the parent's. */
static inline void flake_i_lock_drop(flake_i_lock *lock) {
    flake_i_locks_begin();
    for (flake_i_lock **l = &flake_i_process.locks; *l; l = &(*l)->next)
        if (*l == lock) {
            *l = lock->next;
            break;
        }
    (void)close(lock->fd);
    flake_i_locks_end();
}

static inline bool flake_i_write_all(int fd, const uint8_t *bytes, size_t n) {
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
static inline int flake_i_read_all(int fd, uint8_t *bytes, size_t n) {
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
static inline bool flake_i_sync_folder(const char *path) {
    char folder[FLAKE_I_PATH];
    size_t slash = strlen(path);
    while (slash > 0 && path[slash - 1] != '/') slash--;
    memcpy(folder, path, slash);
    if (!slash) folder[slash++] = '.';
    folder[slash] = 0;
    const int fd = open(folder, O_RDONLY);
    if (fd < 0) return false;
    const bool synced = flake_i_fsync(fd) == 0 || errno == EINVAL;
    (void)close(fd);
    return synced;
}

/* After it the file has the new bytes, or the old ones, at any moment and on disk. */
static inline bool flake_i_replace_file(const char *path, const uint8_t *bytes, size_t n) {
    char fresh[FLAKE_I_PATH + 8];
    const size_t length = strlen(path);
    memcpy(fresh, path, length);
    memcpy(fresh + length, ".new", 5);
    const int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0) return false;
    bool well = flake_i_write_all(fd, bytes, n) && flake_i_fsync(fd) == 0;
    well = close(fd) == 0 && well;
    well = well && rename(fresh, path) == 0;
    if (!well) (void)unlink(fresh);
    return well && flake_i_sync_folder(path);
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
struct flake_state_options {
    const char *path;              /* boundary's timestamp_path */
    int64_t horizon_ms;            /* how far ahead of use the file is written; 0: 3,000 */
    int64_t allowable_downtime_ms; /* FLAKE_DOWNTIME when the horizon is further past; 0: any */
    bool must_exist;               /* FLAKE_IO when there is no file, rather than a new one */
    bool no_wait;  /* don't sleep until the last run's horizon has passed: draws wait, or fail */
    bool by_timer; /* draws don't write, they say FLAKE_AGAIN when the horizon is reached, or
                      FLAKE_IO if the timer could not write it: the program calls
                      flake_state_extend, at least twice in horizon_ms */
    flake_clock clock; /* the generator's; all zero: the system's */
};

enum { FLAKE_I_RECORD = 128, FLAKE_I_IDENTITY = 64 };

typedef struct flake_i_record {
    int64_t horizon_ns, written_ns;
    uint8_t identity[FLAKE_I_IDENTITY];
} flake_i_record;

/* Stays where it is while it is open. */
struct flake_state {
    flake_i_atomic64 horizon; /* ids up to this Unix time in ns may be handed out */
    flake_i_atomic64 asked;   /* and none later than this were, in the last run neither */
    flake_i_atomic64 busy;    /* 1: a thread writes */
    flake_i_atomic64 patient; /* before this time a write that failed is not tried again, while
                                 there is horizon left; INT64_MIN: the last one went well */
    flake_i_atomic64 *fork_word;
    uint64_t fork_mark;
    int64_t horizon_ns, written_ns; /* the latest at which it was written, by who is busy */
    flake_i_atomic32 is_open;
    bool by_timer;
    flake_clock clock;
    flake_i_lock lock;
    uint8_t identity[FLAKE_I_IDENTITY];
    char path[FLAKE_I_PATH];
};

#define FLAKE_I_CLOSED_STATE ((uint64_t)INT64_MIN)

static inline void flake_i_put64(uint8_t *out, uint64_t value) {
    for (unsigned i = 0; i < 8; i++) out[i] = (uint8_t)(value >> (56 - 8 * i));
}

static inline uint64_t flake_i_get64(const uint8_t *in) {
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++) value = value << 8 | in[i];
    return value;
}

/* Each step is a bijection, so no change of a single byte goes unnoticed. */
static inline uint64_t flake_i_fnv(const uint8_t *bytes, size_t n) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < n; i++) hash = (hash ^ bytes[i]) * 0x100000001b3;
    return hash;
}

#define FLAKE_I_MAGIC   "idstate\n"
#define FLAKE_I_VERSION ((uint64_t)1 << 32)

static inline void flake_i_record_put(const flake_i_record *r, uint8_t out[FLAKE_I_RECORD]) {
    memset(out, 0, FLAKE_I_RECORD);
    memcpy(out, FLAKE_I_MAGIC, 8);
    flake_i_put64(out + 8, FLAKE_I_VERSION);
    flake_i_put64(out + 16, (uint64_t)r->horizon_ns);
    flake_i_put64(out + 24, (uint64_t)r->written_ns);
    memcpy(out + 32, r->identity, FLAKE_I_IDENTITY);
    flake_i_put64(out + 120, flake_i_fnv(out, 120));
}

/* FLAKE_FOREIGN: no state file, or of another version. FLAKE_TORN: damaged. */
static inline flake_status flake_i_record_get(const uint8_t *in, size_t n, flake_i_record *r) {
    if (n > 0 && memcmp(in, FLAKE_I_MAGIC, n < 8 ? n : 8) != 0) return FLAKE_FOREIGN;
    if (n != FLAKE_I_RECORD || flake_i_get64(in + 120) != flake_i_fnv(in, 120)) return FLAKE_TORN;
    if (flake_i_get64(in + 8) != FLAKE_I_VERSION) return FLAKE_FOREIGN;
    r->horizon_ns = (int64_t)flake_i_get64(in + 16);
    r->written_ns = (int64_t)flake_i_get64(in + 24);
    memcpy(r->identity, in + 32, FLAKE_I_IDENTITY);
    for (size_t i = 96; i < 120; i++)
        if (in[i]) return FLAKE_FOREIGN; /* who wrote that knows more than this version */
    return r->horizon_ns < r->written_ns ? FLAKE_TORN : FLAKE_OK;
}

/* Whether a run may go on from this record at now_ns. What it says in words is in *what. */
static inline flake_status flake_i_record_judge(const flake_i_record *r, const uint8_t *identity,
                                                int64_t now_ns, int64_t allowable_downtime_ns,
                                                const char **what) {
    if (memcmp(r->identity, identity, FLAKE_I_IDENTITY) != 0) {
        *what = "is of a generator with another layout, node or range of sequence numbers";
        return FLAKE_FOREIGN;
    }
    if (now_ns < r->written_ns) {
        *what = "is from the future: the clock was put back since it was written";
        return FLAKE_CLOCK_BACK;
    }
    if (allowable_downtime_ns && now_ns > r->horizon_ns &&
        (uint64_t)now_ns - (uint64_t)r->horizon_ns > (uint64_t)allowable_downtime_ns) {
        *what = "is older than allowable_downtime_ms";
        return FLAKE_DOWNTIME;
    }
    return FLAKE_OK;
}

/* Writes a horizon and, once it is on disk, admits what lies before. By one thread at a time. */
static inline bool flake_i_state_write(flake_state *s, int64_t horizon_ns, int64_t now_ns) {
#if defined(_WIN32)
    (void)s;
    (void)horizon_ns;
    (void)now_ns;
    return false;
#else
    flake_i_record r;
    uint8_t bytes[FLAKE_I_RECORD];
    if (s->written_ns < now_ns) s->written_ns = now_ns; /* a clock put back can't be hidden */
    r.horizon_ns = horizon_ns;
    r.written_ns = s->written_ns < horizon_ns ? s->written_ns : horizon_ns;
    memcpy(r.identity, s->identity, FLAKE_I_IDENTITY);
    flake_i_record_put(&r, bytes);
    return flake_i_replace_file(s->path, bytes, sizeof bytes);
#endif
}

/* The horizon for ids up to `until`. */
static inline int64_t flake_i_ahead_of(const flake_state *s, int64_t until_ns) {
    return until_ns > INT64_MAX - s->horizon_ns ? INT64_MAX : until_ns + s->horizon_ns;
}

/* By who has set `busy`. */
static inline bool flake_i_state_move(flake_state *s, int64_t until_ns) {
    const int64_t horizon_ns = flake_i_ahead_of(s, until_ns);
    uint64_t seen = FLAKE_ATOMIC_LOAD(&s->horizon, relaxed);
    if (seen == FLAKE_I_CLOSED_STATE) return false;
    if (horizon_ns <= (int64_t)seen) return true;
    const bool written = flake_i_state_write(s, horizon_ns, flake_i_exact_ns(&s->clock));
    const int64_t pause_ns = s->horizon_ns / 16;
    const int64_t patient_ns = until_ns > INT64_MAX - pause_ns ? INT64_MAX : until_ns + pause_ns;
    FLAKE_ATOMIC_STORE(&s->patient, (uint64_t)(written ? INT64_MIN : patient_ns), relaxed);
    if (!written) return false;
    return FLAKE_ATOMIC_CAS(&s->horizon, &seen, (uint64_t)horizon_ns, seq_cst,
                            relaxed); /* DISK:R */
}

static inline bool flake_i_state_turn(flake_state *s) {
    uint64_t idle = 0;
    return FLAKE_ATOMIC_CAS(&s->busy, &idle, 1u, acquire, relaxed); /* TURN:A */
}

static flake_status flake_i_state_admit(void *user, int64_t until_ns) {
    flake_state *s = (flake_state *)user;
    uint64_t asked = FLAKE_ATOMIC_LOAD(&s->asked, seq_cst);
    while ((int64_t)asked < until_ns &&
           !FLAKE_ATOMIC_CAS(&s->asked, &asked, (uint64_t)until_ns, seq_cst, seq_cst)) {
    }
    int64_t horizon_ns = (int64_t)FLAKE_ATOMIC_LOAD(&s->horizon, seq_cst); /* DISK:A */
    if (horizon_ns == INT64_MIN) return FLAKE_IO;
    const bool is_near = until_ns > horizon_ns - s->horizon_ns / 2;
    if (is_near && !s->by_timer &&
        (until_ns > horizon_ns || until_ns >= (int64_t)FLAKE_ATOMIC_LOAD(&s->patient, relaxed)) &&
        flake_i_state_turn(s)) {
        const bool moved = flake_i_state_move(s, until_ns);
        FLAKE_ATOMIC_STORE(&s->busy, 0u, release); /* TURN:R */
        horizon_ns = (int64_t)FLAKE_ATOMIC_LOAD(&s->horizon, seq_cst);
        if (!moved && until_ns > horizon_ns) return FLAKE_IO;
    }
    if (until_ns <= horizon_ns) return FLAKE_OK;
    const int64_t patient_ns = (int64_t)FLAKE_ATOMIC_LOAD(&s->patient, relaxed);
    return s->by_timer && patient_ns != INT64_MIN ? FLAKE_IO : FLAKE_AGAIN;
}

/* Of a parent's, or from before a bump. */
static inline bool flake_i_state_is_stale(const flake_state *s) {
    return flake_i_forked_since(s->fork_word, s->fork_mark);
}

/* A generator begins behind the last run, and behind those of this run that it may follow. */
static inline int64_t flake_i_state_floor(const flake_state *s) {
    return (int64_t)FLAKE_ATOMIC_LOAD(&s->asked, relaxed);
}

static inline flake_gate flake_state_gate(flake_state *s) {
    flake_gate gate;
    gate.admit = flake_i_state_admit;
    gate.user = s;
    gate.word = NULL;
    return gate;
}

/* Writes a new horizon now, from a timer: with by_timer, or so that no draw has to. From any thread.
 * FLAKE_IO: the old one stands. */
static inline flake_status flake_state_extend(flake_state *s) {
    if (!FLAKE_ATOMIC_LOAD(&s->is_open, relaxed)) return FLAKE_INVALID;
    if (flake_i_state_is_stale(s)) return FLAKE_FORKED;
    if (!flake_i_state_turn(s)) return FLAKE_OK; /* somebody is at it */
    const int64_t asked = (int64_t)FLAKE_ATOMIC_LOAD(&s->asked, relaxed);
    const int64_t now_ns = flake_i_exact_ns(&s->clock);
    const bool moved = flake_i_state_move(s, asked > now_ns ? asked : now_ns);
    FLAKE_ATOMIC_STORE(&s->busy, 0u, release); /* TURN:R */
    return moved ? FLAKE_OK : FLAKE_IO;
}

/* The last word: with it the next run need not wait. Draws fail with FLAKE_IO from the next unit
 * on; the state's memory must last as long as they may be tried. In a forked child, or after a bump,
 * FLAKE_FORKED: the file is left alone. */
static inline flake_status flake_state_close(flake_state *s) {
    uint32_t is_open = 1;
    if (!FLAKE_ATOMIC_CAS(&s->is_open, &is_open, 0u, relaxed, relaxed)) return FLAKE_INVALID;
#if defined(_WIN32)
    return FLAKE_IO;
#else
    flake_status status = FLAKE_FORKED;
    if (!flake_i_state_is_stale(s)) {
        FLAKE_ATOMIC_STORE(&s->horizon, FLAKE_I_CLOSED_STATE, seq_cst);
        while (!flake_i_state_turn(s)) FLAKE_SLEEP_NS(100000);
        const int64_t asked = (int64_t)FLAKE_ATOMIC_LOAD(&s->asked, seq_cst);
        const int64_t now_ns = flake_i_exact_ns(&s->clock);
        const int64_t last_ns = asked > now_ns ? asked : now_ns;
        status = flake_i_state_write(s, last_ns, now_ns) ? FLAKE_OK : FLAKE_IO;
    }
    flake_i_lock_drop(&s->lock);
    return status;
#endif
}

#if !defined(_WIN32)
/* FLAKE_OK: *r is the file's record, or *is_new: there is none. */
static inline flake_status flake_i_state_read(const flake_state *s, flake_i_record *r, bool *is_new,
                                              flake_why *why) {
    uint8_t bytes[FLAKE_I_RECORD + 1];
    const int fd = open(s->path, O_RDONLY | O_NONBLOCK); /* a pipe has no end */
    *is_new = fd < 0 && errno == ENOENT;
    if (*is_new) return FLAKE_OK;
    const int n = fd < 0 ? -1 : flake_i_read_all(fd, bytes, sizeof bytes);
    if (fd >= 0) (void)close(fd);
    if (n < 0) return flake_i_say(why, FLAKE_IO, s->path, "can't be read");
    const flake_status status = flake_i_record_get(bytes, (size_t)n, r);
    if (status == FLAKE_OK) return FLAKE_OK;
    return flake_i_say(why, status, s->path,
                       status == FLAKE_TORN ? "is cut short or damaged"
                                            : "is no state file, or of another version");
}

/* Whatever folder the process goes to, the file stays the same. False: no room. */
static inline bool flake_i_absolute(const char *path, char out[FLAKE_I_PATH]) {
    const size_t length = strlen(path), room = FLAKE_I_PATH - 16; /* an ending of ours */
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
static inline flake_status flake_i_state_begin(flake_state *s, const flake_state_options *o,
                                               flake_i_record *r, bool *is_new, flake_why *why) {
    const char *what = "";
    flake_status status = flake_i_state_read(s, r, is_new, why);
    if (status != FLAKE_OK) return status;
    if (*is_new && o->must_exist) return flake_i_say(why, FLAKE_IO, s->path, "does not exist");
    int64_t now_ns = flake_i_exact_ns(&s->clock);
    int64_t floor_ns = INT64_MIN; /* the last run's horizon */
    if (!*is_new) {
        status =
            flake_i_record_judge(r, s->identity, now_ns, o->allowable_downtime_ms * 1000000, &what);
        if (status != FLAKE_OK) return flake_i_say(why, status, s->path, what);
        floor_ns = r->horizon_ns;
        while (!o->no_wait && now_ns <= floor_ns) {
            FLAKE_SLEEP_NS(flake_i_ns_until(floor_ns, now_ns - 1));
            const int64_t before_ns = now_ns;
            now_ns = flake_i_exact_ns(&s->clock);
            if (now_ns < before_ns)
                return flake_i_say(why, FLAKE_CLOCK_BACK, s->path, "the clock was put back");
        }
    }
    /* never further than the file or the clock's own horizon: a crash loop must not run away */
    int64_t from_ns = now_ns;
    if (floor_ns > now_ns && flake_i_ns_until(floor_ns, now_ns) > s->horizon_ns)
        from_ns = floor_ns - s->horizon_ns;
    FLAKE_ATOMIC_STORE(&s->asked, (uint64_t)floor_ns, relaxed);
    FLAKE_ATOMIC_STORE(&s->horizon, (uint64_t)(INT64_MIN + 1), relaxed);
    return flake_i_state_move(s, from_ns) ? FLAKE_OK
                                          : flake_i_say(why, FLAKE_IO, s->path, "can't be written");
}
#endif

/* The identity is the generator's; *r and *is_new say what the file had. */
static inline flake_status flake_i_state_open(flake_state *s, const flake_state_options *o,
                                              const uint8_t *identity, flake_i_record *r,
                                              bool *is_new, flake_why *why) {
    const int64_t max_ms = INT64_MAX / 1000000 / 4;
#if !defined(_WIN32)
    if (flake_i_lock_is_held(&s->lock)) /* and goes on as it is */
        return flake_i_say(why, FLAKE_TAKEN, o->path ? o->path : "path", "the state is open");
#endif
    FLAKE_ATOMIC_STORE(&s->is_open, 0u, relaxed);
    if (!o->path || !*o->path) return flake_i_say(why, FLAKE_INVALID, "path", "is missing");
    if (o->horizon_ms < 0 || o->horizon_ms > max_ms)
        return flake_i_say(why, FLAKE_INVALID, "horizon_ms", "is out of range");
    if (o->allowable_downtime_ms < 0 || o->allowable_downtime_ms > max_ms)
        return flake_i_say(why, FLAKE_INVALID, "allowable_downtime_ms", "is out of range");
#if defined(_WIN32)
    (void)identity;
    (void)r;
    (void)is_new;
    return flake_i_say(why, FLAKE_IO, o->path, "state files need POSIX");
#else
    char lock_path[FLAKE_I_PATH];
    if (!flake_i_absolute(o->path, s->path))
        return flake_i_say(why, FLAKE_INVALID, "path", "is too long, or the folder is gone");
    memcpy(lock_path, s->path, strlen(s->path));
    memcpy(lock_path + strlen(s->path), flake_i_lock_ending, sizeof flake_i_lock_ending);
    flake_status status = flake_i_lock_take(&s->lock, lock_path);
    if (status == FLAKE_TAKEN)
        return flake_i_say(why, status, o->path, "is in use, by this process or another");
    if (status != FLAKE_OK)
        return flake_i_say(why, status, lock_path, "can't be opened and locked");
    s->horizon_ns = (o->horizon_ms ? o->horizon_ms : 3000) * 1000000;
    s->written_ns = INT64_MIN;
    s->by_timer = o->by_timer;
    s->clock = o->clock;
    memcpy(s->identity, identity, FLAKE_I_IDENTITY);
    s->fork_mark = flake_i_fork_mark(&s->fork_word);
    FLAKE_ATOMIC_STORE(&s->busy, 0u, relaxed);
    FLAKE_ATOMIC_STORE(&s->patient, (uint64_t)INT64_MIN, relaxed);
    status = flake_i_state_begin(s, o, r, is_new, why);
    if (status == FLAKE_OK) FLAKE_ATOMIC_STORE(&s->is_open, 1u, relaxed);
    else flake_i_lock_drop(&s->lock);
    return status;
#endif
}
// >>common end

// >>options

struct flake_options {
    flake_layout layout;       /* all zero: flake-idgen's */
    uint32_t node;             /* must fit the layout's node bits */
    uint32_t node_offset;      /* Hazelcast: added to node; FLAKE_NODE when the sum does not fit */
    uint32_t seq_min, seq_max; /* sequence numbers to use; 0, 0: all that the layout has */
    int64_t max_ahead_ms;      /* ids may run so far ahead of the clock (Hazelcast 15,000); 0 */
    int64_t max_wait_ms;       /* longest wait of one call, of each unit in a batch; 0: 1,000 */
    flake_clock clock;         /* all zero: the system's exact clock */
    struct flake_ring *overflow; /* gets a note each ms while callers queue; NULL: none */
    flake_gate gate;           /* asked before each new unit, such as flake_etcd_gate; {0}: none */
    struct flake_state *state; /* an open state file, so that a restart repeats no id; NULL: none */
    bool seq_scatter; /* each unit starts at a number derived from its time and wraps, so that id %
                         n is even at low rates; ids inside a unit then don't rise */
    bool refuse_back; /* waiting calls too say FLAKE_CLOCK_BACK at once (boundary does) */
    bool shared_memory; /* lies in memory that processes share: survives fork. They must be forks
                           of one another, or use the system's clock and no ring. FLAKE_INVALID
                           where 64-bit atomics take a lock (32-bit powerpc, mips) */
};

/* Big, and made of cache lines: static, on the stack or malloc'd, with no alignment to mind. */
struct flake_gen {
    flake_i_engine engine;
    uint64_t base; /* id of place 0 at time 0: node, gap bit and seq_min in their fields */
    unsigned time_shift, seq_shift;
    bool plain; /* neither scatter nor spread */
    flake_options options;
};

struct flake_shard {
    flake_gen gen;
};

struct flake_pool {
    flake_shard *shards;
    size_t n;
    flake_i_atomic32 hint;
};

struct flake_prefetch {
    flake_gen *gen;
    flake_i_place stock;
    uint64_t base;               /* the generator's when the stock was claimed */
    flake_i_atomic64 *fork_word; /* a child must not have its parent's stock, even of a generator */
    uint64_t fork_mark;          /* that both share */
    int64_t valid_ns, taken_ns;
    uint32_t count;
};

struct flake128_gen {
    flake_i_engine engine;
    uint64_t worker;
    uint32_t seq_min;
};

static inline const char *flake_status_str(flake_status status) {
    switch (status) {
    case FLAKE_OK: return "ok";
    case FLAKE_AGAIN:
        return "all ids of this time unit are drawn: try again (flake_retry_ns says when)";
    case FLAKE_CLOCK_BACK: return "the clock was put back to before the newest id";
    case FLAKE_RANGE: return "the time is before layout.epoch_ms or past flake_expires_ms";
    case FLAKE_INVALID: return "an argument, option or layout does not fit";
    case FLAKE_PARSE: return "not a text of this form";
    case FLAKE_NODE: return "node + node_offset does not fit layout.node_bits";
    case FLAKE_LEASE: return "the claim on the node number has run out";
    case FLAKE_FORKED: return "the generator was inherited through fork(), or the machine cloned";
    case FLAKE_IO: return "a file or connection was refused by the system";
    case FLAKE_TORN: return "the state file is cut short or damaged";
    case FLAKE_FOREIGN: return "the state file is another generator's, or no state file";
    case FLAKE_DOWNTIME: return "the last run ended longer ago than allowable_downtime_ms";
    case FLAKE_TAKEN: return "somebody else holds this number, file or range of ids";
    }
    return "unknown status";
}

// >>layouts

static inline uint64_t flake_i_ones(unsigned bits) {
    return bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
}

/* Fields as {bits, shift} pairs; a sum of more than 64 bits is left to flake_layout_check. */
static inline flake_layout flake_i_layout(const char *name, int64_t epoch_ms, unsigned time_bits,
                                          unsigned time_shift, unsigned node_bits,
                                          unsigned node_shift, unsigned seq_bits,
                                          unsigned seq_shift) {
    flake_layout l;
    memset(&l, 0, sizeof l);
    l.name = name;
    l.epoch_ms = epoch_ms;
    l.unit_ms = 1;
    if (time_bits > 64 || node_bits > 64 || seq_bits > 64) time_bits = 0; /* fails the check */
    l.time_bits = (uint8_t)time_bits;
    l.time_shift = (uint8_t)time_shift;
    l.node_bits = (uint8_t)node_bits;
    l.node_shift = (uint8_t)node_shift;
    l.seq_bits = (uint8_t)seq_bits;
    l.seq_shift = (uint8_t)seq_shift;
    return l;
}

static inline flake_layout flake_i_time_node_seq(const char *name, int64_t epoch_ms,
                                                 unsigned time_bits, unsigned node_bits,
                                                 unsigned seq_bits) {
    return flake_i_layout(name, epoch_ms, time_bits, node_bits + seq_bits, node_bits, seq_bits,
                          seq_bits, 0);
}

static inline flake_layout flake_i_time_seq_node(const char *name, int64_t epoch_ms,
                                                 unsigned time_bits, unsigned seq_bits,
                                                 unsigned node_bits) {
    return flake_i_layout(name, epoch_ms, time_bits, seq_bits + node_bits, node_bits, 0, seq_bits,
                          node_bits);
}

static inline flake_layout flake_layout_idgen(void) {
    return flake_i_time_node_seq("idgen", 0, 42, 10, 12);
}

static inline flake_layout flake_layout_hazelcast(void) {
    return flake_layout_hazelcast_bits(6, 16);
}

static inline flake_layout flake_layout_hazelcast_bits(unsigned seq_bits, unsigned node_bits) {
    unsigned time_bits = seq_bits < 63 && node_bits < 63 - seq_bits ? 63 - seq_bits - node_bits : 0;
    return flake_i_time_seq_node("hazelcast", 1514764800000, time_bits, seq_bits, node_bits);
}

static inline flake_layout flake_layout_uniqueid_ordered(void) {
    flake_layout l = flake_i_layout("uniqueid_ordered", 0, 42, 22, 15, 0, 6, 16);
    l.gap_at = 12;
    l.gap_bit = 1;
    return l;
}

static inline flake_layout flake_layout_uniqueid_spread(void) {
    flake_layout l = flake_layout_uniqueid_ordered();
    l.name = "uniqueid_spread";
    l.gap_bit = 0;
    l.spread = 1;
    return l;
}

static inline flake_layout flake_layout_twitter(void) {
    return flake_i_time_node_seq("twitter", 1288834974657, 41, 10, 12);
}

static inline flake_layout flake_layout_sonyflake(void) {
    flake_layout l = flake_i_time_seq_node("sonyflake", 1409529600000, 39, 8, 16);
    l.unit_ms = 10;
    return l;
}

static inline flake_layout flake_layout_discord(void) {
    return flake_i_time_node_seq("discord", 1420070400000, 42, 10, 12);
}

static inline flake_layout flake_layout_instagram(void) {
    return flake_i_time_node_seq("instagram", 1314220021721, 41, 13, 10);
}

static inline flake_layout flake_layout_mastodon(void) {
    return flake_i_time_node_seq("mastodon", 0, 48, 0, 16);
}

static inline flake_layout flake_layout_js53(void) {
    return flake_i_time_node_seq("js53", 1577836800000, 41, 5, 7);
}

static inline flake_layout flake_layout_of(unsigned time_bits, unsigned node_bits,
                                           unsigned seq_bits, int64_t epoch_ms) {
    return flake_i_time_node_seq("custom", epoch_ms, time_bits, node_bits, seq_bits);
}

/* Node bits, with the gap's, where they stand in the id. */
static inline uint64_t flake_i_node_field(const flake_layout *l, uint64_t node) {
    uint64_t low = l->gap_at ? node & flake_i_ones(l->gap_at) : node;
    uint64_t high = node ^ low;
    uint64_t gap = l->gap_at ? (uint64_t)l->gap_bit << l->gap_at : 0;
    return (high << 1 | gap | low) << l->node_shift;
}

static inline uint64_t flake_i_field_mask(unsigned bits, unsigned shift) {
    return bits ? flake_i_ones(bits) << shift : 0;
}

/* All bits that the layout has; 0 when it is not well formed. */
static inline uint64_t flake_i_layout_bits(const flake_layout *l) {
    unsigned node_bits = (unsigned)l->node_bits + (l->gap_at ? 1 : 0);
    if (!l->unit_ms || !l->time_bits || l->node_bits > 32 || l->seq_bits > 32 || l->spread > 1 ||
        l->gap_bit > 1 || (l->gap_at ? l->gap_at > l->node_bits : l->gap_bit))
        return 0;
    if (l->time_bits + l->time_shift > 64 || node_bits + l->node_shift > 64 ||
        l->seq_bits + l->seq_shift > 64 || l->time_shift > 63 || l->node_shift > 63 ||
        l->seq_shift > 63)
        return 0;
    uint64_t time = flake_i_field_mask(l->time_bits, l->time_shift);
    uint64_t node = flake_i_field_mask(node_bits, l->node_shift);
    uint64_t seq = flake_i_field_mask(l->seq_bits, l->seq_shift);
    return time & node || time & seq || node & seq ? 0 : time | node | seq;
}

static inline flake_status flake_layout_check(const flake_layout *l) {
    return l && flake_i_layout_bits(l) ? FLAKE_OK : FLAKE_INVALID;
}

/* Start of a unit in Unix ms; false when an int64_t can't hold it. */
static inline bool flake_i_unix_ms(const flake_layout *l, uint64_t time, int64_t *unix_ms) {
    uint64_t most =
        (uint64_t)INT64_MAX - (uint64_t)l->epoch_ms; /* right for a negative epoch too */
    if (time > most / l->unit_ms) return false;
    *unix_ms = (int64_t)((uint64_t)l->epoch_ms + time * l->unit_ms);
    return true;
}

static inline int64_t flake_expires_ms(const flake_layout *l) {
    int64_t start;
    if (flake_layout_check(l) != FLAKE_OK) return INT64_MIN;
    if (!flake_i_unix_ms(l, flake_i_ones(l->time_bits), &start)) return INT64_MAX;
    return start > INT64_MAX - (int64_t)(l->unit_ms - 1) ? INT64_MAX
                                                         : start + (int64_t)(l->unit_ms - 1);
}

static inline uint32_t flake_idgen_node(unsigned datacenter, unsigned worker) {
    return datacenter < 32 && worker < 32 ? (uint32_t)(datacenter << 5 | worker) : UINT32_MAX;
}

static inline uint32_t flake_uniqueid_node(unsigned cluster, unsigned generator) {
    return cluster < 16 && generator < 2048 ? (uint32_t)(generator << 4 | cluster) : UINT32_MAX;
}

static inline uint64_t flake_i_reverse(uint64_t x, unsigned bits) {
    x = (x & 0x5555555555555555) << 1 | (x >> 1 & 0x5555555555555555);
    x = (x & 0x3333333333333333) << 2 | (x >> 2 & 0x3333333333333333);
    x = (x & 0x0f0f0f0f0f0f0f0f) << 4 | (x >> 4 & 0x0f0f0f0f0f0f0f0f);
    x = (x & 0x00ff00ff00ff00ff) << 8 | (x >> 8 & 0x00ff00ff00ff00ff);
    x = (x & 0x0000ffff0000ffff) << 16 | (x >> 16 & 0x0000ffff0000ffff);
    return (x << 32 | x >> 32) >> (64 - bits);
}

static inline uint64_t flake_i_time_field(const flake_layout *l, uint64_t time) {
    return (l->spread ? flake_i_reverse(time, l->time_bits) : time) << l->time_shift;
}

/* The unit that unix_ms lies in. */
static inline flake_status flake_i_time_at(const flake_layout *l, int64_t unix_ms, uint64_t *time) {
    if (flake_layout_check(l) != FLAKE_OK) return FLAKE_INVALID;
    if (unix_ms < l->epoch_ms) return FLAKE_RANGE;
    uint64_t t = ((uint64_t)unix_ms - (uint64_t)l->epoch_ms) / l->unit_ms;
    if (t > flake_i_ones(l->time_bits)) return FLAKE_RANGE;
    *time = t;
    return FLAKE_OK;
}

static inline flake_status flake_compose(const flake_layout *l, const flake_parts *parts,
                                         uint64_t *id) {
    uint64_t time;
    flake_status status = flake_i_time_at(l, parts->unix_ms, &time);
    if (status != FLAKE_OK) return status;
    if (parts->node > flake_i_ones(l->node_bits) || parts->seq > flake_i_ones(l->seq_bits))
        return FLAKE_INVALID;
    *id = flake_i_time_field(l, time) | flake_i_node_field(l, parts->node) |
          (uint64_t)parts->seq << l->seq_shift;
    return FLAKE_OK;
}

static inline flake_status flake_decompose(const flake_layout *l, uint64_t id, flake_parts *parts) {
    flake_parts p;
    if (flake_layout_check(l) != FLAKE_OK || (id & ~flake_i_layout_bits(l))) return FLAKE_INVALID;
    p.time = id >> l->time_shift & flake_i_ones(l->time_bits);
    if (l->spread) p.time = flake_i_reverse(p.time, l->time_bits);
    p.seq = (uint32_t)(id >> l->seq_shift & flake_i_ones(l->seq_bits));
    uint64_t node = id >> l->node_shift;
    if (l->gap_at) {
        if ((node >> l->gap_at & 1) != l->gap_bit) return FLAKE_INVALID;
        node = (node & flake_i_ones(l->gap_at)) | (node >> (l->gap_at + 1)) << l->gap_at;
    }
    p.node = (uint32_t)(node & flake_i_ones(l->node_bits));
    if (!flake_i_unix_ms(l, p.time, &p.unix_ms)) return FLAKE_RANGE;
    *parts = p;
    return FLAKE_OK;
}

static inline flake_status flake_min_at(const flake_layout *l, int64_t unix_ms, uint64_t *id) {
    flake_parts parts;
    memset(&parts, 0, sizeof parts);
    parts.unix_ms = unix_ms;
    return flake_compose(l, &parts, id);
}

static inline flake_status flake_max_at(const flake_layout *l, int64_t unix_ms, uint64_t *id) {
    flake_parts parts;
    if (flake_layout_check(l) != FLAKE_OK) return FLAKE_INVALID;
    memset(&parts, 0, sizeof parts);
    parts.unix_ms = unix_ms;
    parts.node = (uint32_t)flake_i_ones(l->node_bits);
    parts.seq = (uint32_t)flake_i_ones(l->seq_bits);
    return flake_compose(l, &parts, id);
}

// >>generators

/* What options say of the engine, with `cap` places a unit. */
static inline flake_i_setup flake_i_setup_of(const flake_options *o, unsigned time_bits,
                                             uint64_t cap) {
    flake_i_setup s;
    memset(&s, 0, sizeof s);
    s.epoch_ms = o->layout.epoch_ms;
    s.unit_ms = o->layout.unit_ms;
    s.time_bits = time_bits;
    s.cap = cap;
    s.max_ahead_ms = o->max_ahead_ms;
    s.max_wait_ms = o->max_wait_ms;
    s.refuse_back = o->refuse_back;
    s.shared_memory = o->shared_memory;
    s.clock = o->clock;
    s.ring = o->overflow;
    s.gates[0] = o->gate;
    if (o->state) s.gates[1] = flake_state_gate(o->state);
    return s;
}

/* All zero, whatever its name. */
static inline bool flake_i_no_layout(const flake_layout *l) {
    return !l->epoch_ms && !l->unit_ms && !l->time_bits && !l->time_shift && !l->node_bits &&
           !l->node_shift && !l->seq_bits && !l->seq_shift && !l->spread && !l->gap_at &&
           !l->gap_bit;
}

/* Options with the defaults filled in, and checked, all but what the engine looks at. */
static inline flake_status flake_i_resolve(const flake_options *given, flake_options *o) {
    if (!given) memset(o, 0, sizeof *o);
    else if (given != o) *o = *given;
    const flake_layout *l = &o->layout;
    if (flake_i_no_layout(l)) o->layout = flake_layout_idgen();
    if (flake_layout_check(l) != FLAKE_OK) return FLAKE_INVALID;
    if (o->node > flake_i_ones(l->node_bits)) return FLAKE_INVALID;
    if ((uint64_t)o->node + o->node_offset > flake_i_ones(l->node_bits)) return FLAKE_NODE;
    if (!o->seq_min && !o->seq_max) o->seq_max = (uint32_t)flake_i_ones(l->seq_bits);
    if (o->seq_min > o->seq_max || o->seq_max > flake_i_ones(l->seq_bits)) return FLAKE_INVALID;
    if (!o->max_wait_ms) o->max_wait_ms = 1000;
    return FLAKE_OK;
}

static inline uint64_t flake_i_full_node(const flake_options *o) {
    return (uint64_t)o->node + o->node_offset;
}

/* Whose ids they are, of resolved options: layout and node, and behind them the range of numbers. */
enum { FLAKE_I_WHOSE = 40 };

static inline void flake_i_identity(const flake_options *o, char kind, uint64_t node,
                                    uint8_t out[FLAKE_I_IDENTITY]) {
    const flake_layout *l = &o->layout;
    const uint8_t fields[] = {l->time_bits, l->time_shift, l->node_bits, l->node_shift, l->seq_bits,
                              l->seq_shift, l->spread,     l->gap_at,    l->gap_bit};
    memset(out, 0, FLAKE_I_IDENTITY);
    out[0] = (uint8_t)kind;
    memcpy(out + 1, fields, sizeof fields);
    flake_i_put64(out + 16, (uint64_t)l->epoch_ms);
    flake_i_put64(out + 24, l->unit_ms);
    flake_i_put64(out + 32, node);
    flake_i_put64(out + 40, o->seq_min);
    flake_i_put64(out + 48, o->seq_max);
}

static inline uint64_t flake_i_first_seq(const uint8_t *identity) {
    return flake_i_get64(identity + FLAKE_I_WHOSE);
}

static inline uint64_t flake_i_last_seq(const uint8_t *identity) {
    return flake_i_get64(identity + FLAKE_I_WHOSE + 8);
}

static inline bool flake_i_share_ids(const uint8_t *a, const uint8_t *b) {
    return memcmp(a, b, FLAKE_I_WHOSE) == 0 && flake_i_first_seq(a) <= flake_i_last_seq(b) &&
           flake_i_first_seq(b) <= flake_i_last_seq(a);
}

/* Whether an open state is this generator's, whose range may be a part of the state's. */
static inline bool flake_i_state_fits(const flake_state *s, const uint8_t *own) {
    return FLAKE_ATOMIC_LOAD(&s->is_open, relaxed) &&
           memcmp(s->identity, own, FLAKE_I_WHOSE) == 0 &&
           flake_i_first_seq(s->identity) <= flake_i_first_seq(own) &&
           flake_i_last_seq(own) <= flake_i_last_seq(s->identity);
}

/* ---- registry: define FLAKE_REGISTRY as the most generators that are alive at a time ----
 *
 * For debug builds, in all units: init refuses with FLAKE_TAKEN a generator that may give an id that
 * a live one of the process gives too, and one too many with FLAKE_INVALID. One whose memory is
 * given up must be retired first. One that fork left behind is dead.
 */
#ifdef FLAKE_REGISTRY
struct flake_i_registry {
    flake_i_atomic64 turn;
    struct {
        const void *engine; /* NULL: free */
        uint64_t mark;      /* of the process */
        uint8_t identity[FLAKE_I_IDENTITY];
    } live[FLAKE_REGISTRY];
};
#if defined(__cplusplus)
extern "C" {
#endif
extern struct flake_i_registry flake_i_registry;
FLAKE_I_ONE_PER_PROCESS(struct flake_i_registry, flake_i_registry);
#if defined(__cplusplus)
}
#endif

/* Takes the engine's old entry out, and with an identity a new one in. */
static inline flake_status flake_i_enrol(const flake_i_engine *e, const uint8_t *identity) {
    struct flake_i_registry *r = &flake_i_registry;
    flake_i_atomic64 *word;
    const uint64_t mark = flake_i_fork_mark(&word), process = flake_i_process_mark();
    flake_status status = identity ? FLAKE_INVALID : FLAKE_OK;
    uint64_t seen = 0;
    size_t own = FLAKE_REGISTRY, vacant = FLAKE_REGISTRY;
    while (!FLAKE_ATOMIC_CAS(&r->turn, &seen, process, acquire, relaxed)) /* TURN:A */
        if (seen == process) seen = 0; /* another mark: a parent's thread, which is not here */
    for (size_t i = 0; i < FLAKE_REGISTRY; i++) {
        const bool is_live = r->live[i].engine && r->live[i].mark == mark;
        if (!is_live) vacant = i;
        else if (r->live[i].engine == e) own = i;
        else if (identity && flake_i_share_ids(r->live[i].identity, identity)) status = FLAKE_TAKEN;
    }
    if (own < FLAKE_REGISTRY && status != FLAKE_TAKEN) {
        r->live[own].engine = NULL;
        vacant = own;
    }
    if (identity && status != FLAKE_TAKEN && vacant < FLAKE_REGISTRY) {
        r->live[vacant].engine = e;
        r->live[vacant].mark = mark;
        memcpy(r->live[vacant].identity, identity, FLAKE_I_IDENTITY);
        status = FLAKE_OK;
    }
    FLAKE_ATOMIC_STORE(&r->turn, 0u, release); /* TURN:R */
    return status;
}
#else
static inline flake_status flake_i_enrol(const flake_i_engine *e, const uint8_t *identity) {
    (void)e;
    (void)identity;
    return FLAKE_OK;
}
#endif

static inline void flake_retire(flake_gen *g) { (void)flake_i_enrol(&g->engine, NULL); }

/* Sets an engine up for whoever `identity` says. What is refused is left as it was. */
static inline flake_status flake_i_engine_of(flake_i_engine *e, const flake_i_setup *setup,
                                             const flake_state *state, const uint8_t *identity) {
    if (state && flake_i_state_is_stale(state)) return FLAKE_FORKED;
    if (state && !flake_i_state_fits(state, identity)) return FLAKE_FOREIGN;
    flake_i_engine trial; /* what init refuses is not enrolled */
    flake_status status = flake_i_engine_init(&trial, setup);
    if (status == FLAKE_OK) status = flake_i_enrol(e, identity);
    if (status == FLAKE_OK) status = flake_i_engine_init(e, setup);
    if (status == FLAKE_OK) flake_i_spend_unit(e);
    if (status == FLAKE_OK && state) flake_i_engine_floor(e, flake_i_state_floor(state));
    return status;
}

static inline flake_status flake_state_open(flake_state *s, const flake_state_options *where,
                                            const flake_options *options, flake_why *why) {
    flake_options o;
    uint8_t identity[FLAKE_I_IDENTITY];
    flake_i_record record;
    bool is_new;
    const flake_status status = flake_i_resolve(options, &o);
    if (status != FLAKE_OK) return flake_i_say(why, status, "options", flake_status_str(status));
    flake_i_identity(&o, 'f', flake_i_full_node(&o), identity);
    return flake_i_state_open(s, where, identity, &record, &is_new, why);
}

/* `o` is resolved. */
static inline flake_status flake_i_gen_init(flake_gen *g, const flake_options *o) {
    uint8_t identity[FLAKE_I_IDENTITY];
    flake_i_identity(o, 'f', flake_i_full_node(o), identity);
    const flake_i_setup setup =
        flake_i_setup_of(o, o->layout.time_bits, (uint64_t)o->seq_max - o->seq_min + 1);
    flake_status status = flake_i_engine_of(&g->engine, &setup, o->state, identity);
    if (status != FLAKE_OK) return status;
    g->base = flake_i_node_field(&o->layout, (uint64_t)o->node + o->node_offset) |
              (uint64_t)o->seq_min << o->layout.seq_shift;
    g->seq_shift = o->layout.seq_shift;
    g->time_shift = o->layout.time_shift;
    g->plain = !o->seq_scatter && !o->layout.spread;
    g->options = *o;
    return FLAKE_OK;
}

static inline flake_status flake_init(flake_gen *g, const flake_options *options) {
    flake_options o;
    flake_status status = flake_i_resolve(options, &o);
    return status == FLAKE_OK ? flake_i_gen_init(g, &o) : status;
}

static inline flake_status flake_reinit_after_fork(flake_gen *g, const flake_options *options) {
    flake_options o;
    if (!g->engine.cap || !flake_i_forked(&g->engine)) return FLAKE_INVALID;
    uint8_t fresh[FLAKE_I_IDENTITY], inherited[FLAKE_I_IDENTITY];
    const flake_status status = flake_i_resolve(options, &o);
    if (status != FLAKE_OK) return status;
    flake_i_identity(&o, 'f', flake_i_full_node(&o), fresh);
    flake_i_identity(&g->options, 'f', flake_i_full_node(&g->options), inherited);
    return flake_i_share_ids(fresh, inherited) ? FLAKE_NODE : flake_i_gen_init(g, &o);
}

static inline const flake_options *flake_gen_options(const flake_gen *g) { return &g->options; }

/* Which number of its range a unit begins with: a hash of its time, scaled to the capacity. */
static inline uint64_t flake_i_scatter(const flake_gen *g, uint64_t time) {
    return g->options.seq_scatter ? (time * 0x9e3779b97f4a7c15 >> 32) * g->engine.cap >> 32 : 0;
}

/* `seq` counts from seq_min. */
FLAKE_I_INLINE uint64_t flake_i_id(const flake_gen *g, uint64_t time_field, uint64_t seq) {
    return time_field + g->base + (seq << g->seq_shift);
}

FLAKE_I_COLD uint64_t flake_i_odd_id(const flake_gen *g, uint64_t time, uint64_t index) {
    uint64_t seq = flake_i_scatter(g, time) + index;
    if (seq >= g->engine.cap) seq -= g->engine.cap;
    return flake_i_id(g, flake_i_time_field(&g->options.layout, time), seq);
}

FLAKE_I_INLINE uint64_t flake_i_id_at(const flake_gen *g, uint64_t time, uint64_t index) {
    if (FLAKE_I_LIKELY(g->plain)) return flake_i_id(g, time << g->time_shift, index);
    return flake_i_odd_id(g, time, index);
}

FLAKE_I_INLINE flake_status flake_i_one(flake_gen *g, unsigned how, int64_t given_ns,
                                        uint64_t *id) {
    flake_i_place place;
    flake_status status = flake_i_draw(&g->engine, how, given_ns, 1, &place);
    if (FLAKE_I_LIKELY(status == FLAKE_OK)) *id = flake_i_id_at(g, place.time, place.index);
    return status;
}

#if defined(__GNUC__)
typedef uint64_t flake_i_pair __attribute__((vector_size(16)));
#endif

/* first, first + step, ... In pairs where the compiler can be told, since gcc -O2 does not find out
 * by itself. */
static inline void flake_i_fill_run(uint64_t *ids, uint64_t n, uint64_t first, uint64_t step) {
    uint64_t i = 0;
#if defined(__GNUC__)
    const flake_i_pair step2 = {2 * step, 2 * step}, step4 = step2 + step2;
    flake_i_pair even = {first, first + step}, odd = even + step2;
    for (; n - i >= 4; i += 4, even += step4, odd += step4) {
        memcpy(ids + i, &even, sizeof even);
        memcpy(ids + i + 2, &odd, sizeof odd);
    }
#endif
    for (; i < n; i++) ids[i] = first + i * step;
}

static inline void flake_i_fill(const flake_gen *g, const flake_i_place *place, uint64_t *ids) {
    const uint64_t cap = g->engine.cap;
    uint64_t time = place->time, index = place->index, left = place->n;
    while (left) {
        uint64_t seq = flake_i_scatter(g, time) + index, run = cap - index;
        if (seq >= cap) seq -= cap;
        run = flake_i_min(flake_i_min(run, cap - seq), left);
        flake_i_fill_run(ids, run, flake_i_id(g, flake_i_time_field(&g->options.layout, time), seq),
                         (uint64_t)1 << g->seq_shift);
        ids += run;
        left -= run;
        index += run;
        if (index == cap) {
            index = 0;
            time++;
        }
    }
}

/* Fills up to n; *done says how many. */
static inline flake_status flake_i_many(flake_gen *g, unsigned how, uint64_t *ids, size_t n,
                                        size_t *done) {
    for (*done = 0; *done < n;) {
        flake_i_place place;
        flake_status status = flake_i_draw(&g->engine, how, 0, n - *done, &place);
        if (status != FLAKE_OK) return status;
        flake_i_fill(g, &place, ids + *done);
        *done += (size_t)place.n;
    }
    return FLAKE_OK;
}

static inline flake_status flake_i_all(flake_gen *g, unsigned how, uint64_t *ids, size_t n) {
    size_t done;
    flake_status status = flake_i_many(g, how, ids, n, &done);
    if (status != FLAKE_OK && done)
        for (; done < n; done++) ids[done] = 0;
    return status;
}

/* Unix ms to ns; false when it is later than a clock of 63 bits can say. Earlier is just old. */
FLAKE_I_INLINE bool flake_i_given_ns(int64_t unix_ms, int64_t *ns) {
    const int64_t most = INT64_MAX / 1000000;
    if (unix_ms > most) return false;
    *ns = unix_ms < -most ? INT64_MIN : unix_ms * 1000000;
    return true;
}

static inline flake_status flake_next(flake_gen *g, uint64_t *id) {
    return flake_i_one(g, FLAKE_I_WAIT, 0, id);
}

static inline flake_status flake_try(flake_gen *g, uint64_t *id) {
    return flake_i_one(g, 0, 0, id);
}

static inline int64_t flake_retry_ns(flake_gen *g) { return flake_i_retry_ns(&g->engine); }

static inline flake_status flake_next_n(flake_gen *g, uint64_t *ids, size_t n) {
    return flake_i_all(g, FLAKE_I_WAIT, ids, n);
}

static inline size_t flake_try_n(flake_gen *g, uint64_t *ids, size_t n) {
    size_t done;
    (void)flake_i_many(g, 0, ids, n, &done);
    return done;
}

static inline flake_status flake_try_at(flake_gen *g, int64_t unix_ms, uint64_t *id) {
    int64_t ns;
    return flake_i_given_ns(unix_ms, &ns) ? flake_i_one(g, FLAKE_I_GIVEN, ns, id) : FLAKE_RANGE;
}

static inline uint64_t flake_available(flake_gen *g) { return flake_i_available(&g->engine); }

static inline int64_t flake_lag_ms(flake_gen *g) {
    return (int64_t)(flake_i_lag(&g->engine) * g->options.layout.unit_ms);
}

static inline void flake_stats_get(flake_gen *g, flake_stats *stats) {
    flake_i_stats(&g->engine, stats);
}

static inline flake_status flake_snapshot_take(flake_gen *g, flake_snapshot *snapshot) {
    flake_i_engine *e = &g->engine;
    const flake_options *o = &g->options;
    if (!e->cap) return FLAKE_INVALID;
    if (flake_i_forked(e)) return FLAKE_FORKED;
    const uint64_t word = FLAKE_ATOMIC_LOAD(&e->word, acquire);
    snapshot->unix_ms = o->layout.epoch_ms + (int64_t)((word >> e->time_shift) * o->layout.unit_ms);
    snapshot->count = word & e->count_mask;
    snapshot->epoch_ms = o->layout.epoch_ms;
    snapshot->unit_ms = o->layout.unit_ms;
    snapshot->node = o->node + o->node_offset;
    snapshot->seq_min = o->seq_min;
    snapshot->seq_max = o->seq_max;
    snapshot->seq_scatter = o->seq_scatter;
    return FLAKE_OK;
}

static inline flake_status flake_restore(flake_gen *g, const flake_snapshot *s) {
    flake_i_engine *e = &g->engine;
    const flake_options *o = &g->options;
    uint64_t time;
    if (!e->cap || s->epoch_ms != o->layout.epoch_ms || s->unit_ms != o->layout.unit_ms ||
        s->node != o->node + o->node_offset || s->seq_min != o->seq_min ||
        s->seq_max != o->seq_max || s->seq_scatter != o->seq_scatter || s->count > e->limit)
        return FLAKE_INVALID;
    flake_status status = flake_i_time_at(&o->layout, s->unix_ms, &time);
    if (status != FLAKE_OK) return status;
    if (time > e->max_time) return FLAKE_RANGE;
    uint64_t own_time, own_count;
    flake_i_decode(e, FLAKE_ATOMIC_LOAD(&e->word, relaxed), &own_time, &own_count);
    const uint64_t later = time > own_time ? time : own_time;
    const uint64_t count = flake_i_rest(e, time, s->count, later);
    const uint64_t own_rest = flake_i_rest(e, own_time, own_count, later);
    if (count < own_rest || (count == own_rest && later == own_time)) return FLAKE_OK;
    FLAKE_ATOMIC_STORE(&e->word, (later << e->time_shift) + count, relaxed);
    flake_i_tally(&e->rebased, own_count - count, FLAKE_I_OWNED); /* what is not drawn here */
    flake_i_spend_unit(e);
    return FLAKE_OK;
}

static inline flake_status flake_shards_init(flake_shard *shards, size_t n,
                                             const flake_options *options) {
    flake_options o;
    flake_status status = flake_i_resolve(options, &o);
    if (status != FLAKE_OK) return status;
    const uint64_t cap = (uint64_t)o.seq_max - o.seq_min + 1;
    if (!n || n > cap) return FLAKE_INVALID;
    uint64_t next = o.seq_min;
    for (size_t i = 0; i < n; i++) {
        flake_options part = o;
        part.seq_min = (uint32_t)next;
        next += cap / n + (i < cap % n);
        part.seq_max = (uint32_t)(next - 1);
        status = flake_i_gen_init(&shards[i].gen, &part);
        if (status == FLAKE_OK) continue; /* else it is the first, or the registry's to say */
        while (i-- > 0) flake_retire(&shards[i].gen);
        return status;
    }
    return FLAKE_OK;
}

static inline flake_gen *flake_shard_gen(flake_shard *s) { return &s->gen; }

static inline flake_status flake_shard_next(flake_shard *s, uint64_t *id) {
    return flake_i_one(&s->gen, FLAKE_I_OWNED | FLAKE_I_WAIT, 0, id);
}

static inline flake_status flake_shard_try(flake_shard *s, uint64_t *id) {
    return flake_i_one(&s->gen, FLAKE_I_OWNED, 0, id);
}

static inline int64_t flake_shard_retry_ns(flake_shard *s) { return flake_retry_ns(&s->gen); }

static inline flake_status flake_shard_next_n(flake_shard *s, uint64_t *ids, size_t n) {
    return flake_i_all(&s->gen, FLAKE_I_OWNED | FLAKE_I_WAIT, ids, n);
}

static inline size_t flake_shard_try_n(flake_shard *s, uint64_t *ids, size_t n) {
    size_t done;
    (void)flake_i_many(&s->gen, FLAKE_I_OWNED, ids, n, &done);
    return done;
}

static inline flake_status flake_shard_try_at(flake_shard *s, int64_t unix_ms, uint64_t *id) {
    int64_t ns;
    if (!flake_i_given_ns(unix_ms, &ns)) return FLAKE_RANGE;
    return flake_i_one(&s->gen, FLAKE_I_OWNED | FLAKE_I_GIVEN, ns, id);
}

static inline flake_status flake_pool_init(flake_pool *p, flake_shard *shards, size_t n,
                                           const flake_options *options) {
    flake_status status = flake_shards_init(shards, n, options);
    if (status != FLAKE_OK) return status;
    p->shards = shards;
    p->n = n;
    FLAKE_ATOMIC_STORE(&p->hint, 0u, relaxed);
    return FLAKE_OK;
}

static inline flake_shard *flake_pool_borrow(flake_pool *p) {
    /* the engine is the first member of the generator, and that of the shard */
    return (flake_shard *)(void *)flake_i_lend(p->shards, sizeof *p->shards, p->n, &p->hint);
}

static inline void flake_pool_give_back(flake_pool *p, flake_shard *shard) {
    FLAKE_ASSERT(shard >= p->shards && shard < p->shards + p->n);
    (void)p;
    flake_i_take_back(&shard->gen.engine);
}

// >>prefetch

static inline flake_status flake_prefetch_init(flake_prefetch *p, flake_gen *g, uint32_t count,
                                               int64_t valid_ms) {
    int64_t valid_ns;
    if (!count || count > 100000 || valid_ms < 0 || !flake_i_given_ns(valid_ms, &valid_ns))
        return FLAKE_INVALID;
    p->gen = g;
    p->count = count;
    p->valid_ns = valid_ns;
    p->fork_mark = flake_i_fork_mark(&p->fork_word);
    p->base = g->base;
    p->stock.n = 0;
    return FLAKE_OK;
}

static inline flake_status flake_prefetch_next(flake_prefetch *p, uint64_t *id) {
    flake_gen *g = p->gen;
    if (flake_i_forked_since(p->fork_word, p->fork_mark)) {
        p->fork_mark = flake_i_fork_mark(&p->fork_word);
        p->stock.n = 0;
    }
    if (flake_i_forked(&g->engine)) return FLAKE_FORKED;
    if (p->base != g->base) p->stock.n = 0; /* initialised anew with another node or range */
    if (p->stock.n && p->valid_ns) {
        const int64_t now_ns = flake_i_now_ns(&g->engine.clock);
        if (now_ns < p->taken_ns || flake_i_ns_until(now_ns, p->taken_ns) >= p->valid_ns)
            p->stock.n = 0;
    }
    if (!p->stock.n) {
        flake_i_place fresh;
        flake_status status = flake_i_draw(&g->engine, FLAKE_I_WAIT, 0, p->count, &fresh);
        if (status != FLAKE_OK) return status;
        p->stock = fresh;
        p->base = g->base;
        if (p->valid_ns) p->taken_ns = flake_i_now_ns(&g->engine.clock);
    }
    *id = flake_i_id_at(g, p->stock.time, p->stock.index);
    p->stock.n--;
    if (++p->stock.index == g->engine.cap) {
        p->stock.index = 0;
        p->stock.time++;
    }
    return FLAKE_OK;
}

// >>wide

static inline flake128 flake_i_wide(uint64_t high, uint64_t low) {
    flake128 id;
    flake_to_bytes(high, id.bytes);
    flake_to_bytes(low, id.bytes + 8);
    return id;
}

static inline flake_status flake_i_wide_resolve(uint64_t worker48, const flake_options *options,
                                                flake_options *o,
                                                uint8_t identity[FLAKE_I_IDENTITY]) {
    if (options) *o = *options;
    else memset(o, 0, sizeof *o);
    if (worker48 > flake_i_ones(48) || !flake_i_no_layout(&o->layout) || o->node ||
        o->node_offset || o->seq_scatter)
        return FLAKE_INVALID;
    o->layout = flake_layout_mastodon(); /* ms since 1970 and 16 bits of sequence, too */
    o->refuse_back = true;
    const flake_status status = flake_i_resolve(o, o);
    if (status == FLAKE_OK) flake_i_identity(o, 'w', worker48, identity);
    return status;
}

static inline flake_status flake128_init(flake128_gen *g, uint64_t worker48,
                                         const flake_options *options) {
    flake_options o;
    uint8_t identity[FLAKE_I_IDENTITY];
    flake_status status = flake_i_wide_resolve(worker48, options, &o, identity);
    if (status != FLAKE_OK) return status;
    const flake_i_setup setup = flake_i_setup_of(&o, 64, (uint64_t)o.seq_max - o.seq_min + 1);
    status = flake_i_engine_of(&g->engine, &setup, o.state, identity);
    if (status != FLAKE_OK) return status;
    g->worker = worker48;
    g->seq_min = o.seq_min;
    return FLAKE_OK;
}

static inline void flake128_retire(flake128_gen *g) { (void)flake_i_enrol(&g->engine, NULL); }

static inline flake_status flake128_reinit_after_fork(flake128_gen *g, uint64_t worker48,
                                                      const flake_options *options) {
    flake_options o;
    uint8_t fresh[FLAKE_I_IDENTITY], inherited[FLAKE_I_IDENTITY];
    if (!g->engine.cap || !flake_i_forked(&g->engine)) return FLAKE_INVALID;
    const flake_status status = flake_i_wide_resolve(worker48, options, &o, fresh);
    if (status != FLAKE_OK) return status;
    flake_options was = o;
    was.seq_min = g->seq_min;
    was.seq_max = (uint32_t)(g->seq_min + g->engine.cap - 1);
    flake_i_identity(&was, 'w', g->worker, inherited);
    return flake_i_share_ids(fresh, inherited) ? FLAKE_NODE : flake128_init(g, worker48, options);
}

static inline flake_status flake128_state_open(flake_state *s, const flake_state_options *where,
                                               uint64_t worker48, const flake_options *options,
                                               flake_why *why) {
    flake_options o;
    uint8_t identity[FLAKE_I_IDENTITY];
    flake_i_record record;
    bool is_new;
    const flake_status status = flake_i_wide_resolve(worker48, options, &o, identity);
    if (status != FLAKE_OK) return flake_i_say(why, status, "options", flake_status_str(status));
    return flake_i_state_open(s, where, identity, &record, &is_new, why);
}

FLAKE_I_INLINE flake_status flake_i_wide_one(flake128_gen *g, unsigned how, int64_t given_ns,
                                             flake128 *id) {
    flake_i_place place;
    flake_status status = flake_i_draw(&g->engine, how, given_ns, 1, &place);
    if (FLAKE_I_LIKELY(status == FLAKE_OK))
        *id = flake_i_wide(place.time, g->worker << 16 | (g->seq_min + place.index));
    return status;
}

static inline flake_status flake_i_wide_many(flake128_gen *g, unsigned how, flake128 *ids, size_t n,
                                             size_t *done) {
    for (*done = 0; *done < n;) {
        flake_i_place place;
        flake_status status = flake_i_draw(&g->engine, how, 0, n - *done, &place);
        if (status != FLAKE_OK) return status;
        for (uint64_t i = 0; i < place.n; i++) {
            ids[*done + i] = flake_i_wide(place.time, g->worker << 16 | (g->seq_min + place.index));
            if (++place.index == g->engine.cap) {
                place.index = 0;
                place.time++;
            }
        }
        *done += (size_t)place.n;
    }
    return FLAKE_OK;
}

static inline flake_status flake128_next(flake128_gen *g, flake128 *id) {
    return flake_i_wide_one(g, FLAKE_I_WAIT, 0, id);
}

static inline flake_status flake128_try(flake128_gen *g, flake128 *id) {
    return flake_i_wide_one(g, 0, 0, id);
}

static inline void flake128_stats_get(flake128_gen *g, flake_stats *stats) {
    flake_i_stats(&g->engine, stats);
}

static inline int64_t flake128_retry_ns(flake128_gen *g) { return flake_i_retry_ns(&g->engine); }

static inline flake_status flake128_next_n(flake128_gen *g, flake128 *ids, size_t n) {
    size_t done;
    flake_status status = flake_i_wide_many(g, FLAKE_I_WAIT, ids, n, &done);
    if (status != FLAKE_OK && done)
        for (; done < n; done++) ids[done] = flake_i_wide(0, 0);
    return status;
}

static inline size_t flake128_try_n(flake128_gen *g, flake128 *ids, size_t n) {
    size_t done;
    (void)flake_i_wide_many(g, 0, ids, n, &done);
    return done;
}

static inline flake_status flake128_try_at(flake128_gen *g, int64_t unix_ms, flake128 *id) {
    int64_t ns;
    return flake_i_given_ns(unix_ms, &ns) ? flake_i_wide_one(g, FLAKE_I_GIVEN, ns, id)
                                          : FLAKE_RANGE;
}

static inline flake_status flake128_compose(const flake128_parts *p, flake128 *id) {
    if (p->unix_ms < 0) return FLAKE_RANGE;
    if (p->worker > flake_i_ones(48) || p->seq > flake_i_ones(16)) return FLAKE_INVALID;
    *id = flake_i_wide((uint64_t)p->unix_ms, p->worker << 16 | p->seq);
    return FLAKE_OK;
}

static inline flake_status flake128_decompose(flake128 id, flake128_parts *parts) {
    uint64_t high = flake_from_bytes(id.bytes), low = flake_from_bytes(id.bytes + 8);
    if (high > (uint64_t)INT64_MAX) return FLAKE_RANGE;
    parts->unix_ms = (int64_t)high;
    parts->time = high;
    parts->worker = low >> 16;
    parts->seq = (uint32_t)(low & flake_i_ones(16));
    return FLAKE_OK;
}

static inline flake_status flake128_min_at(int64_t unix_ms, flake128 *id) {
    if (unix_ms < 0) return FLAKE_RANGE;
    *id = flake_i_wide((uint64_t)unix_ms, 0);
    return FLAKE_OK;
}

static inline flake_status flake128_max_at(int64_t unix_ms, flake128 *id) {
    if (unix_ms < 0) return FLAKE_RANGE;
    *id = flake_i_wide((uint64_t)unix_ms, UINT64_MAX);
    return FLAKE_OK;
}

static inline int flake128_compare(flake128 a, flake128 b) { return memcmp(a.bytes, b.bytes, 16); }

// >>text
/* Texts of ids. A number is written in chunks of several digits, so that the slow part, a division
 * by base^count, comes once a chunk; it is read in chunks too. The fixed text is always made, and
 * the shortest is that without its leading zeros. All functions here are pure: wait-free, and safe
 * in any thread and in a signal handler.
 * FLAKE_I_INLINE carries the callers' constants to the divisions; left to itself, gcc -O2 would
 * make one copy for all bases, and divide for real. */

/* An alphabet, and its inverse: where c is digit d, '0' + d stands at c - '0'; '.' is no digit. */
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
static const flake_i_alphabet flake_i_hex = {
    "0123456789abcdef", "0123456789.......................................:;<=>?"};

/* The width is no byte on purpose: a copy that gcc knows to be short becomes a slow `rep movs`. */
typedef struct flake_i_form {
    unsigned width, base;
    const flake_i_alphabet *alphabet;
} flake_i_form;

static const flake_i_form flake_i_forms[] = {
    {20, 10, &flake_i_base62},    /* FLAKE_DEC */
    {16, 16, &flake_i_hex},       /* FLAKE_HEX */
    {64, 2, &flake_i_base62},     /* FLAKE_BIN */
    {79, 2, &flake_i_base62},     /* FLAKE_BIN4 */
    {13, 32, &flake_i_crockford}, /* FLAKE_BASE32 */
    {13, 36, &flake_i_base62},    /* FLAKE_BASE36 */
    {11, 58, &flake_i_base58},    /* FLAKE_BASE58 */
    {11, 62, &flake_i_base62},    /* FLAKE_BASE62 */
};

/* A chunk below base^count is spelt from its first digit on, without a division: chunk / base^count
 * is held as a binary fraction, and each multiplication by the base carries the next digit over
 * the point. FLAKE_I_SCALE rounds up, by less than chunk / 2^57 in all, which changes no digit as
 * long as base^count is at most 2^28. The base is at most 100, so the product fits 64 bits. */
#define FLAKE_I_POINT        57
#define FLAKE_I_SCALE(power) (((uint64_t)1 << FLAKE_I_POINT) / (power) + 1)

/* Spells one digit and returns the fraction that is left. Digit d is the `span` characters at
 * digits + d * stride. */
FLAKE_I_INLINE uint64_t flake_i_spell(char *out, uint64_t fraction, unsigned base,
                                      const char *digits, size_t stride, size_t span) {
    fraction *= base;
    memcpy(out, digits + (size_t)(fraction >> FLAKE_I_POINT) * stride, span);
    return fraction & (((uint64_t)1 << FLAKE_I_POINT) - 1);
}

/* Spells id before `end`, in chunks of four digits. With constants no division is left, and no
 * inner loop: gcc -O2 does not unroll one, which would double the time. */
FLAKE_I_INLINE void flake_i_spell_id(char *end, uint64_t id, unsigned chunks, unsigned base,
                                     const char *digits, size_t stride, size_t span) {
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

/* Hands a text of `width` digits to the caller, or 0 when it does not fit. */
static inline size_t flake_i_hand_out(const char *text, size_t width, bool fixed, char zero,
                                      char *buf, size_t size) {
    for (; !fixed && width > 1 && *text == zero; width--) text++;
    if (!buf || size <= width) return 0;
    memcpy(buf, text, width);
    buf[width] = '\0';
    return width;
}

/* The width of UINT64_MAX in this form, without a NUL; 0 for an unknown form. */
static inline size_t flake_text_width(flake_text form) {
    return (unsigned)form <= FLAKE_BASE62 ? flake_i_forms[form].width : 0;
}

static inline size_t flake_i_format(uint64_t id, flake_text form, bool fixed, char *buf,
                                    size_t size) {
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
    case FLAKE_HEX: flake_i_spell_id(end, id, 4, 16, flake_i_hex.digits, 1, 1); break;
    case FLAKE_BIN: flake_i_spell_id(end, id, 4, 16, nibbles + 1, 5, 4); break;
    case FLAKE_BIN4: flake_i_spell_id(end, id, 4, 16, nibbles, 5, 5); break;
    case FLAKE_BASE32: flake_i_spell_id(end, id, 4, 32, flake_i_crockford.digits, 1, 1); break;
    case FLAKE_BASE36: flake_i_spell_id(end, id, 4, 36, flake_i_base62.digits, 1, 1); break;
    case FLAKE_BASE58: flake_i_spell_id(end, id, 3, 58, flake_i_base58.digits, 1, 1); break;
    case FLAKE_BASE62: flake_i_spell_id(end, id, 3, 62, flake_i_base62.digits, 1, 1); break;
    }
    return flake_i_hand_out(end - width, width, fixed || form == FLAKE_BIN4,
                            flake_i_forms[form].alphabet->digits[0], buf, size);
}

/* Writes the shortest text of id (0 is "0") and a NUL. Returns its length; 0, with buf untouched,
 * when it does not fit, or when buf is NULL or the form unknown. FLAKE_BIN4 is always all 64 bits.
 */
static inline size_t flake_format(uint64_t id, flake_text form, char *buf, size_t size) {
    return flake_i_format(id, form, false, buf, size);
}

/* The same, filled up with zero digits on the left to flake_text_width: strcmp orders the texts of
 * one form as their ids. */
static inline size_t flake_format_fixed(uint64_t id, flake_text form, char *buf, size_t size) {
    return flake_i_format(id, form, true, buf, size);
}

/* Reads the digits into n limbs, the least significant first. False: a character that is no digit
 * of this base, or a number that does not fit. */
static inline bool flake_i_read(const char *text, size_t len, unsigned base,
                                const flake_i_alphabet *alphabet, uint32_t *limbs, size_t n) {
    for (size_t i = 0; i < n; i++) limbs[i] = 0;
    for (size_t at = 0; at < len;) {
        uint32_t chunk = 0, power = 1;
        /* The base is below 2^6, so neither chunk nor power leaves 32 bits. */
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

/* Takes the blanks out of a FLAKE_BIN4 text. The length is a constant rather than the form's width,
 * or gcc -O3 warns of a read past the end wherever a short literal is parsed. */
static inline bool flake_i_ungroup(const char *text, size_t len, char bits[64]) {
    if (len != 79) return false;
    for (size_t i = 0; i < 16; i++) {
        if (i > 0 && text[5 * i - 1] != ' ') return false;
        memcpy(bits + 4 * i, text + 5 * i, 4);
    }
    return true;
}

/* Reads what flake_format and flake_format_fixed write in this form, and nothing else: the whole
 * input, the same alphabet and case, no sign, no blanks. Leading zero digits are taken up to
 * flake_text_width. FLAKE_PARSE, with *id untouched: any other text, one above UINT64_MAX, an empty
 * one, NULL. FLAKE_INVALID: an unknown form. */
static inline flake_status flake_parse(const char *text, size_t len, flake_text form,
                                       uint64_t *id) {
    const size_t width = flake_text_width(form);
    char bits[64];
    uint32_t limbs[2];
    if (width == 0) return FLAKE_INVALID;
    if (!text || len == 0 || len > width) return FLAKE_PARSE;
    if (form == FLAKE_BIN4) {
        if (!flake_i_ungroup(text, len, bits)) return FLAKE_PARSE;
        text = bits;
        len = sizeof bits;
    }
    if (!flake_i_read(text, len, flake_i_forms[form].base, flake_i_forms[form].alphabet, limbs, 2))
        return FLAKE_PARSE;
    *id = (uint64_t)limbs[1] << 32 | limbs[0];
    return FLAKE_OK;
}

/* The id as 8 bytes, the most significant first: memcmp orders them as the ids. Spelt out, since
 * compilers see one swapped store here, and in a loop they do not. */
static inline void flake_to_bytes(uint64_t id, uint8_t out[8]) {
    out[0] = (uint8_t)(id >> 56);
    out[1] = (uint8_t)(id >> 48);
    out[2] = (uint8_t)(id >> 40);
    out[3] = (uint8_t)(id >> 32);
    out[4] = (uint8_t)(id >> 24);
    out[5] = (uint8_t)(id >> 16);
    out[6] = (uint8_t)(id >> 8);
    out[7] = (uint8_t)id;
}

static inline uint64_t flake_from_bytes(const uint8_t in[8]) {
    return (uint64_t)in[0] << 56 | (uint64_t)in[1] << 48 | (uint64_t)in[2] << 40 |
           (uint64_t)in[3] << 32 | (uint64_t)in[4] << 24 | (uint64_t)in[5] << 16 |
           (uint64_t)in[6] << 8 | (uint64_t)in[7];
}

/* The width of 2^128 - 1 in this base, without a NUL; 0 for a base outside 2..62. */
static inline size_t flake128_text_width(unsigned base) {
    static const unsigned widths[] = {
        0,  0,  128, 81, 64, 56, 50, 46, 43, 41, 39, 38, 36, 35, 34, 33, 32, 32, 31, 31, 30,
        30, 29, 29,  28, 28, 28, 27, 27, 27, 27, 26, 26, 26, 26, 25, 25, 25, 25, 25, 25, 24,
        24, 24, 24,  24, 24, 24, 23, 23, 23, 23, 23, 23, 23, 23, 23, 22, 22, 22, 22, 22, 22};
    return base < sizeof widths / sizeof *widths ? widths[base] : 0;
}

/* Divides the number in n limbs, the least significant first, in place; returns the remainder. */
static inline uint32_t flake_i_divide(uint32_t *limbs, size_t n, uint32_t divisor) {
    uint64_t rest = 0;
    for (size_t i = n; i-- > 0;) {
        rest = rest << 32 | limbs[i];
        limbs[i] = (uint32_t)(rest / divisor);
        rest %= divisor;
    }
    return (uint32_t)rest;
}

static inline size_t flake_i_format128(flake128 id, unsigned base, bool fixed, char *buf,
                                       size_t size) {
    const size_t width = flake128_text_width(base);
    if (width == 0) return 0;
    unsigned count = 1;
    uint32_t power = base;
    for (; power <= ((uint32_t)1 << 28) / base; power *= base) count++;
    const uint64_t scale = FLAKE_I_SCALE(power);

    const uint64_t high = flake_from_bytes(id.bytes), low = flake_from_bytes(id.bytes + 8);
    uint32_t limbs[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high,
                         (uint32_t)(high >> 32)};
    /* The foremost chunk may begin up to count - 1 digits before the text: 27 in base 2. */
    char text[FLAKE128_TEXT_SIZE + 27], *const end = text + sizeof text, *at = end;
    size_t n = 4;
    while ((size_t)(end - at) < width) {
        while (n > 0 && limbs[n - 1] == 0) n--;
        at -= count;
        uint64_t fraction = flake_i_divide(limbs, n, power) * scale;
        for (unsigned i = 0; i < count; i++)
            fraction = flake_i_spell(at + i, fraction, base, flake_i_base62.digits, 1, 1);
    }
    return flake_i_hand_out(end - width, width, fixed, '0', buf, size);
}

/* As flake_format, in any base from 2 to 62: digits, then upper case, then lower case. 0 for
 * another base. */
static inline size_t flake128_format(flake128 id, unsigned base, char *buf, size_t size) {
    return flake_i_format128(id, base, false, buf, size);
}

/* As flake_format_fixed, to the width of flake128_text_width. */
static inline size_t flake128_format_fixed(flake128 id, unsigned base, char *buf, size_t size) {
    return flake_i_format128(id, base, true, buf, size);
}

/* As flake_parse. FLAKE_INVALID: a base outside 2..62. */
static inline flake_status flake128_parse(const char *text, size_t len, unsigned base,
                                          flake128 *id) {
    const size_t width = flake128_text_width(base);
    uint32_t limbs[4];
    if (width == 0) return FLAKE_INVALID;
    if (!text || len == 0 || len > width) return FLAKE_PARSE;
    if (!flake_i_read(text, len, base, &flake_i_base62, limbs, 4)) return FLAKE_PARSE;
    flake_to_bytes((uint64_t)limbs[3] << 32 | limbs[2], id->bytes);
    flake_to_bytes((uint64_t)limbs[1] << 32 | limbs[0], id->bytes + 8);
    return FLAKE_OK;
}

#endif /* FLAKE_H */

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
