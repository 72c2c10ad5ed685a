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
 * Two generators that run at once, in one process or in many, need nodes or ranges of sequence numbers
 * of their own; then no id is given twice. One that follows another with the same numbers must begin
 * in a later unit of time, with a clock that was not put back, or have a state file, which sees to it.
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
 *     FLAKE_ETCD                      claims in an etcd cluster, with libcurl   not defined
 *     FLAKE_MAIN                      the command-line tool           not defined
 *
 * Find your way by these marks:
 *
 *     // >>public      what you call
 *     // >>common      the engine, with its protocol
 *     // >>options     what you can set
 *     // >>layouts     // >>generators     // >>prefetch     // >>wide (128 bits)     // >>text
 *     // >>who         where node numbers come from
 *     // >>etcd        node numbers from an etcd cluster: define FLAKE_ETCD, link with -lcurl
 *     // >>tool        the command-line tool: cc -O2 -x c -DFLAKE_MAIN flake.h -o flake
 */
#ifndef FLAKE_H
#define FLAKE_H

#if defined(FLAKE_MAIN) && defined(__clang__) /* it takes the header for a program's own code */
#pragma clang diagnostic ignored "-Wunused-function"
#endif

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
#include <stdlib.h>
#if !defined(_WIN32)
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#if defined(__linux__)
#include <netpacket/packet.h>
#elif defined(AF_LINK)
#include <net/if_dl.h>
#endif
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
 * A plain struct: copy one and change it. Bits that no field covers are 0. Not every layout holds
 * every node: init says so.
 */
typedef struct flake_layout {
    const char *name;
    int64_t epoch_ms; /* Unix time at which the time field is 0 */
    uint32_t unit_ms; /* length of a time unit */
    uint8_t time_bits, time_shift;
    uint8_t node_bits, node_shift; /* node_bits up to 32 */
    uint8_t seq_bits, seq_shift;   /* seq_bits up to 32 */
    uint8_t spread;                /* 1: the time's bits in reverse, lowest first */
    /* uniqueid: node bits from gap_at on stand one place higher, and gap_bit between; 0: no gap */
    uint8_t gap_at, gap_bit;
} flake_layout;

static inline flake_layout flake_layout_idgen(void);     /* time 42, node 10, seq 12; epoch 1970 */
static inline flake_layout flake_layout_hazelcast(void); /* 0, time 41, seq 6, node 16; 2018 */
static inline flake_layout flake_layout_hazelcast_bits(unsigned seq_bits, unsigned node_bits);
/* time 42, seq 6, generator 3, 1, generator 8, cluster 4; spread: time reversed, and 0 for 1 */
static inline flake_layout flake_layout_uniqueid_ordered(void);
static inline flake_layout flake_layout_uniqueid_spread(void);
static inline flake_layout flake_layout_twitter(void); /* 0, time 41, node 10, seq 12; 2010-11 */
/* 0, time 39 of 10 ms, seq 8, node 16; 2014-09 */
static inline flake_layout flake_layout_sonyflake(void);
static inline flake_layout flake_layout_discord(void);   /* time 42, node 10, seq 12; 2015 */
static inline flake_layout flake_layout_instagram(void); /* time 41, node 13, seq 10; 2011-08 */
static inline flake_layout flake_layout_mastodon(void);  /* time 48, seq 16; 1970 */
static inline flake_layout flake_layout_js53(void); /* time 41, node 5, seq 7: below 2^53; 2020 */
/* time, node, seq from the top down to bit 0, units of 1 ms */
static inline flake_layout flake_layout_of(unsigned time_bits, unsigned node_bits,
                                           unsigned seq_bits, int64_t epoch_ms);
/* By the name that it has in flake_layout: "idgen", "hazelcast" ... FLAKE_INVALID: no such one */
static inline flake_status flake_layout_named(const char *name, flake_layout *);
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

/* NULL: all defaults, and so node 0. FLAKE_INVALID, FLAKE_NODE. Not while others use the generator.
 * It begins at the clock and knows of no earlier ids: initialised again within a unit, in this process
 * or the next, it repeats those of that unit, unless it has a state file, or flake_restore goes on. */
static inline flake_status flake_init(flake_gen *, const flake_options *);
/* Names what does not fit in options that flake_init refuses with these two; NULL: nothing. */
static inline const char *flake_options_why(const flake_options *);
/* Waits, but no longer than max_wait_ms: FLAKE_AGAIN, FLAKE_CLOCK_BACK. Wait-free while ids are
 * free. */
static inline flake_status flake_next(flake_gen *, uint64_t *id);
/* Lock-free, never waits: FLAKE_AGAIN, FLAKE_CLOCK_BACK. (With a state file that has no by_timer one
 * call in a second or two writes it.) */
static inline flake_status flake_try(flake_gen *, uint64_t *id);
/* When flake_try will succeed, if nobody is faster and no gate refuses; 0: now, INT64_MAX: never. */
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

/* ---- overflow: options.overflow gets a note each ms while callers queue ----
 *
 * A full ring drops notes. Any number of threads may push and pop.
 */
typedef struct flake_ring flake_ring;
typedef struct flake_ring_slot flake_ring_slot;
typedef struct flake_overflow flake_overflow;
static inline flake_status flake_ring_init(flake_ring *, flake_ring_slot *slots, size_t n);
static inline bool flake_ring_push(flake_ring *, flake_overflow);
static inline bool flake_ring_pop(flake_ring *, flake_overflow *); /* false: empty */

/* ---- after fork, crash and restart ----
 *
 * A forked child, and a process after flake_generation_bump(), gets FLAKE_FORKED until it says with
 * which ids of its own it goes on: another node, or other sequence numbers. FLAKE_NODE: its options
 * have some of the parent's ids in them. FLAKE_INVALID: it was not forked. For a shard likewise,
 * through flake_shard_gen. An orchestrator that resumes or copies a virtual machine calls
 * flake_generation_bump in each process.
 *
 * Two forks can't be told: one in a signal handler that has interrupted a draw (the parent and child
 * both finish it), and, where a pid tells processes apart, one into a namespace in which the child
 * has its parent's pid. Where 64-bit atomics take a lock, a process whose threads draw must not fork.
 */
static inline void flake_generation_bump(void);
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
 * Beside it lies a lock, PATH.flake-lock, which the program must neither delete nor open.
 */
typedef struct flake_state flake_state;
typedef struct flake_state_options flake_state_options;
typedef struct flake_why flake_why; /* what was wrong, in words; NULL: don't tell */
static inline flake_status flake_state_open(flake_state *, const flake_state_options *,
                                            const flake_options *, flake_why *);
static inline flake_status flake_state_extend(flake_state *);
static inline flake_status flake_state_close(flake_state *);

/* ---- who am I: where node numbers come from ----
 *
 * Whoever gives a generator its node answers for it that no other has it at the time. FLAKE_INVALID:
 * there is no such number here, and *why says what was missing. (flake_init says FLAKE_NODE or
 * FLAKE_INVALID when the number does not fit the layout.)
 */
/* 48 bits, as boundary's worker: the Ethernet address of an interface; NULL: the first that has one.
 * Loopback and all zeros don't count. Unique on a network, one process a host. */
static inline flake_status flake_worker_from_mac(const char *device, uint64_t *worker48,
                                                 flake_why *);
/* Sonyflake's default: the last 16 bits of this host's first private IPv4 address. */
static inline flake_status flake_node_from_ip(uint32_t *node16, flake_why *);
/* The ordinal of a StatefulSet's pod: web-3, and web-3.web.prod.svc, are 3. NULL: this host's. */
static inline flake_status flake_node_from_hostname(const char *name, uint32_t *node, flake_why *);
static inline flake_status flake_node_from_env(const char *variable, uint32_t *node, flake_why *);

/* A slot: the lowest free number of a folder that all processes of a host share (and of no network
 * file system). It is held until it is released or the process dies; a forked child does not hold
 * it. FLAKE_TAKEN: all are, or this slot holds one already. FLAKE_AGAIN: those left are held back for a
 * while. Nobody may delete the files of a folder in use. */
typedef struct flake_slot flake_slot; /* stays where it is while it is held */
typedef struct flake_slot_options flake_slot_options;
static inline flake_status flake_slot_claim(flake_slot *, const flake_slot_options *,
                                            uint32_t *number, flake_why *);
static inline flake_status flake_slot_release(flake_slot *);

/* ---- text ---- */

typedef enum flake_text {
    FLAKE_DEC, /* 5828128208445124608 */
    FLAKE_HEX, /* 50e1abba11ce3000: lower case */
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
/* As a UUID's 16 bytes: 32 hex digits and 4 hyphens. Version and variant are what the bits make them. */
static inline void flake128_to_uuid(flake128, char out[37]);
static inline flake_status flake128_from_uuid(const char *, size_t len, flake128 *id);

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

FLAKE_I_COLD uint64_t flake_i_pid_mark(void) {
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
    flake_i_atomic64 *word; /* NULL, or a word that fork wipes, constant and not 0 while the gate is
                               open: who changes it stops each draw at once, with FLAKE_LEASE */
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

enum { FLAKE_I_NS_PER_MS = 1000000 };

/* How the word is divided. */
typedef struct flake_i_split {
    uint64_t last;  /* unit */
    uint64_t range; /* of count, as far as it is used */
    unsigned count_bits;
} flake_i_split;

/* Names what an engine can't be set up with; NULL: it can be. */
static inline const char *flake_i_split_word(const flake_i_setup *o, flake_i_split *d) {
    const int64_t max_ms = INT64_MAX / FLAKE_I_NS_PER_MS;
    if (o->epoch_ms < -max_ms || o->epoch_ms > max_ms)
        return "layout.epoch_ms is further from 1970 than 64 bits of ns";
    if (!o->unit_ms || !o->cap) return "layout: a unit has no length, or no ids";
    if (o->max_ahead_ms < 0 || o->max_ahead_ms / o->unit_ms > INT32_MAX)
        return "max_ahead_ms is negative, or more than 2^31 units";
    if (o->max_wait_ms < 0) return "max_wait_ms is negative";
    if (o->clock.kind != FLAKE_CLOCK_EXACT && o->clock.kind != FLAKE_CLOCK_COARSE)
        return "clock.kind is neither FLAKE_CLOCK_EXACT nor FLAKE_CLOCK_COARSE";
    if (o->ring && !o->ring->size) return "overflow is not initialised: flake_ring_init";
    if (o->shared_memory && (o->gates[0].admit || o->gates[1].admit))
        return "shared_memory goes with neither a gate nor a state";
#if ATOMIC_LLONG_LOCK_FREE != 2
    if (o->shared_memory) return "shared_memory: 64-bit atomics here hide a lock of one process";
#endif

    /* Time gets the bits that the layout and a clock of 63 bits of ns can fill, count the rest. */
    const uint64_t epoch_ns = (uint64_t)(o->epoch_ms * FLAKE_I_NS_PER_MS);
    const uint64_t unit_ns = (uint64_t)o->unit_ms * FLAKE_I_NS_PER_MS;
    d->last = ((uint64_t)INT64_MAX - epoch_ns) / unit_ns;
    if (!d->last--) return "layout: the clock ends before the first unit does";
    if (o->time_bits < 64) d->last = flake_i_min(d->last, ((uint64_t)1 << o->time_bits) - 1);
    d->count_bits = 63 - o->tick_bits;
    for (uint64_t t = d->last >> 1; t; t >>= 1) d->count_bits--;
    d->range = (uint64_t)1 << flake_i_min(d->count_bits, 48);
    if (o->cap > d->range || (o->cap == d->range && o->tick_bits))
        return "layout: time and sequence don't fit a word";
    if (o->cap == d->range && (d->last + 1) << d->count_bits == 0)
        d->last--; /* a full unit carries into time */
    return NULL;
}

/* Not while others use the engine. What is refused is left as it was. */
static inline flake_status flake_i_engine_init(flake_i_engine *e, const flake_i_setup *o) {
    const int64_t max_ms = INT64_MAX / FLAKE_I_NS_PER_MS;
    flake_i_split d;
    if (flake_i_split_word(o, &d)) return FLAKE_INVALID;
    uint64_t gate_marks[2] = {0, 0};
    for (unsigned i = 0; i < 2; i++) {
        if (!o->gates[i].admit || !o->gates[i].word) continue;
        gate_marks[i] = FLAKE_ATOMIC_LOAD(o->gates[i].word, relaxed);
        if (!gate_marks[i]) return FLAKE_LEASE; /* closed already, or another process's */
    }
    e->epoch_ns = (uint64_t)(o->epoch_ms * FLAKE_I_NS_PER_MS);
    e->unit_ns = (uint64_t)o->unit_ms * FLAKE_I_NS_PER_MS;
    e->max_time = d.last;
    e->tick_bits = o->tick_bits;
    e->time_shift = d.count_bits + o->tick_bits;
    e->count_mask = ((uint64_t)1 << d.count_bits) - 1;
    e->cap = o->cap;
    e->ahead = (uint64_t)o->max_ahead_ms / o->unit_ms;
    e->wait_ns = o->max_wait_ms > max_ms ? INT64_MAX : o->max_wait_ms * FLAKE_I_NS_PER_MS;

    /* fetch_add wants room for those who add at the same moment: a quarter of a count of 20 bits
     * or more; and so much patience that they don't push a place past what its caller waits. */
    const uint64_t patience = flake_i_min((uint64_t)e->wait_ns / e->unit_ns + e->ahead, 4096);
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
    e->process_mark = o->shared_memory ? 0 : flake_i_fork_mark(&e->process_word);
    e->fork_word = e->process_word;
    e->fork_mark = e->process_mark;
    for (unsigned i = 0; i < 2; i++) {
        e->gates[i] = o->gates[i];
        if (!gate_marks[i]) continue;
        e->fork_word = o->gates[i].word; /* wiped by fork too */
        e->fork_mark = gate_marks[i];
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

/* Whether the fork word changed because a gate's owner closed it, and this is the same process. */
FLAKE_I_COLD bool flake_i_is_closed(const flake_i_engine *e) {
    return e->fork_word != e->process_word &&
           !flake_i_forked_since(e->process_word, e->process_mark);
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

static inline bool flake_i_has_gate(const flake_i_engine *e) {
    return e->gates[0].admit || e->gates[1].admit;
}

/* Whether the gates let ids of this unit out. */
FLAKE_I_COLD flake_status flake_i_admit(flake_i_engine *e, unsigned how, uint64_t unit,
                                        int64_t *budget_ns) {
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

        if (flake_i_has_gate(e)) {
            status = flake_i_admit(e, how, v.base + (v.place + n - 1) / e->cap, &budget_ns);
            if (status != FLAKE_OK) return status;
        }

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
    flake_status status = FLAKE_OK;
    if (flake_i_has_gate(e)) status = flake_i_admit(e, FLAKE_I_WAIT, out->time, &budget_ns);
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
    if (!FLAKE_I_LIKELY(!flake_i_forked(e)))
        return flake_i_is_closed(e) ? FLAKE_LEASE : FLAKE_FORKED;
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

/* As much of the three as there is room for. */
static inline void flake_i_put_why(flake_why *why, const char *first, const char *second,
                                   const char *third) {
    if (!why) return;
    const char *const parts[] = {first, second, third};
    size_t n = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (const char *c = parts[i]; *c && n < sizeof why->text - 1; c++) why->text[n++] = *c;
    why->text[n] = 0;
}

#if !defined(_WIN32)
/* FLAKE_IO, and what the system said. */
static inline flake_status flake_i_say_errno(flake_why *why, const char *path, const char *what) {
    flake_i_put_why(why, path, what, strerror(errno));
    return FLAKE_IO;
}
#endif

/* Writes down the reason, and returns the status. */
static inline flake_status flake_i_say(flake_why *why, flake_status status, const char *subject,
                                       const char *what) {
    flake_i_put_why(why, subject, ": ", what);
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
    if (n < 0) return flake_i_say_errno(why, s->path, ": can't be read: ");
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
        return flake_i_say_errno(why, lock_path, ": can't be opened and locked: ");
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
    flake_gate gate; /* asked before each new unit, such as flake_etcd_gate; {0}: none */
    /* Open, so that a restart repeats no id; NULL: none. One generator's, or one set of shards', at a
     * time: it does not see a second. */
    struct flake_state *state;
    bool seq_scatter; /* each unit starts at a number derived from its time and wraps, so that id %
                         n is even at low rates; ids inside a unit then don't rise */
    bool refuse_back; /* waiting calls too say FLAKE_CLOCK_BACK at once (boundary does) */
    bool shared_memory; /* lies in memory that processes share: survives fork. They must be forks
                           of one another, or use the system's clock and no ring. FLAKE_INVALID
                           where 64-bit atomics take a lock (32-bit powerpc, mips) */
};

struct flake_slot_options {
    const char *dir; /* exists already */
    uint32_t first;  /* the numbers first .. first + count - 1 */
    uint32_t count;  /* 0: 1,024 */
    int64_t hold_ms; /* a number is kept back so long after its release, and after a death was seen,
                        for clocks that differ; 0: 2,000, below 0: not at all */
    int64_t wait_ms; /* wait so long for one; 0: don't */
    flake_clock clock; /* all zero: the system's */
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
    char pad[64]; /* so that two threads' don't share a cache line */
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
        return "all ids of this time unit are drawn, or the numbers left are held back: try again "
               "(flake_retry_ns says when)";
    case FLAKE_CLOCK_BACK: return "the clock was put back to before the newest id";
    case FLAKE_RANGE: return "the time is before layout.epoch_ms or past flake_expires_ms";
    case FLAKE_INVALID:
        return "an argument or option does not fit (flake_options_why names it), or the generator "
               "was never initialised";
    case FLAKE_PARSE: return "not a text of this form";
    case FLAKE_NODE:
        return "node + node_offset does not fit layout.node_bits, or the parent had it before the "
               "fork";
    case FLAKE_LEASE: return "the claim on the node number has run out";
    case FLAKE_FORKED: return "the generator was inherited through fork(), or the machine cloned";
    case FLAKE_IO: return "a file or connection was refused by the system, or the state is closed";
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

static inline flake_status flake_layout_named(const char *name, flake_layout *layout) {
    const flake_layout all[] = {flake_layout_idgen(),
                                flake_layout_hazelcast(),
                                flake_layout_uniqueid_ordered(),
                                flake_layout_uniqueid_spread(),
                                flake_layout_twitter(),
                                flake_layout_sonyflake(),
                                flake_layout_discord(),
                                flake_layout_instagram(),
                                flake_layout_mastodon(),
                                flake_layout_js53()};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0) {
            *layout = all[i];
            return FLAKE_OK;
        }
    return FLAKE_INVALID;
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

/* What resolved options say of the engine. */
static inline flake_i_setup flake_i_setup_of(const flake_options *o) {
    flake_i_setup s;
    memset(&s, 0, sizeof s);
    s.epoch_ms = o->layout.epoch_ms;
    s.unit_ms = o->layout.unit_ms;
    s.time_bits = o->layout.time_bits;
    s.cap = (uint64_t)o->seq_max - o->seq_min + 1;
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

/* Fills in the defaults, and checks all but what the engine looks at. *why names what does not fit. */
static inline flake_status flake_i_fill_in(const flake_options *given, flake_options *o,
                                           const char **why) {
    if (!given) memset(o, 0, sizeof *o);
    else if (given != o) *o = *given;
    const flake_layout *l = &o->layout;
    if (flake_i_no_layout(l)) o->layout = flake_layout_idgen();
    *why = "layout does not hold together: set none of it, or all of it (flake_layout_check)";
    if (flake_layout_check(l) != FLAKE_OK) return FLAKE_INVALID;
    *why = "node does not fit layout.node_bits";
    if (o->node > flake_i_ones(l->node_bits)) return FLAKE_INVALID;
    *why = "node + node_offset does not fit layout.node_bits";
    if ((uint64_t)o->node + o->node_offset > flake_i_ones(l->node_bits)) return FLAKE_NODE;
    if (!o->seq_min && !o->seq_max) o->seq_max = (uint32_t)flake_i_ones(l->seq_bits);
    *why = "seq_min is above seq_max, which is 0 only if seq_min is, too";
    if (o->seq_min > o->seq_max) return FLAKE_INVALID;
    *why = "seq_max does not fit layout.seq_bits";
    if (o->seq_max > flake_i_ones(l->seq_bits)) return FLAKE_INVALID;
    if (!o->max_wait_ms) o->max_wait_ms = 1000;
    *why = NULL;
    return FLAKE_OK;
}

static inline flake_status flake_i_resolve(const flake_options *given, flake_options *o) {
    const char *why;
    return flake_i_fill_in(given, o, &why);
}

static inline const char *flake_options_why(const flake_options *given) {
    const char *why;
    flake_options o;
    flake_i_split d;
    if (flake_i_fill_in(given, &o, &why) != FLAKE_OK) return why;
    const flake_i_setup setup = flake_i_setup_of(&o);
    return flake_i_split_word(&setup, &d);
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
    const char *field;
    const flake_status status = flake_i_fill_in(options, &o, &field);
    if (status != FLAKE_OK) return flake_i_say(why, status, "options", field);
    flake_i_identity(&o, 'f', flake_i_full_node(&o), identity);
    return flake_i_state_open(s, where, identity, &record, &is_new, why);
}

/* `o` is resolved. */
static inline flake_status flake_i_gen_init(flake_gen *g, const flake_options *o) {
    uint8_t identity[FLAKE_I_IDENTITY];
    flake_i_identity(o, 'f', flake_i_full_node(o), identity);
    const flake_i_setup setup = flake_i_setup_of(o);
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
    if (!g || !count || count > 100000 || valid_ms < 0 || !flake_i_given_ns(valid_ms, &valid_ns))
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
    if (!g) return FLAKE_INVALID;
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

/* A number as it stands in memory when its highest byte comes first. */
static inline uint64_t flake_i_big_endian(uint64_t x) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return __builtin_bswap64(x);
#else
    uint8_t bytes[8];
    flake_i_put64(bytes, x);
    memcpy(&x, bytes, 8);
    return x;
#endif
}

FLAKE_I_INLINE flake128 flake_i_wide(uint64_t high, uint64_t low) {
    const uint64_t halves[2] = {flake_i_big_endian(high), flake_i_big_endian(low)};
    flake128 id;
    memcpy(id.bytes, halves, 16);
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
    flake_i_setup setup = flake_i_setup_of(&o);
    setup.time_bits = 64;
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
        for (flake128 *out = ids + *done; place.n; place.index = 0, place.time++) {
            const uint64_t run = flake_i_min(place.n, g->engine.cap - place.index);
            const uint64_t first = g->worker << 16 | (g->seq_min + place.index);
            for (uint64_t i = 0; i < run; i++) out[i] = flake_i_wide(place.time, first + i);
            out += run;
            *done += (size_t)run;
            place.n -= run;
        }
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
    const uint64_t bytes = flake_i_big_endian(id);
    memcpy(out, &bytes, 8);
}

static inline uint64_t flake_from_bytes(const uint8_t in[8]) { return flake_i_get64(in); }

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

/* In a UUID's text a hyphen stands before these of its bytes. */
static inline bool flake_i_hyphen_before(size_t byte) {
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

static inline void flake128_to_uuid(flake128 id, char out[37]) {
    for (size_t i = 0; i < 16; i++) {
        if (flake_i_hyphen_before(i)) *out++ = '-';
        *out++ = "0123456789abcdef"[id.bytes[i] >> 4];
        *out++ = "0123456789abcdef"[id.bytes[i] & 15];
    }
    *out = 0;
}

/* 16: none */
static inline unsigned flake_i_hex_value(char c) {
    if (c >= '0' && c <= '9') return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f') return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return (unsigned)(c - 'A') + 10;
    return 16;
}

static inline flake_status flake128_from_uuid(const char *text, size_t len, flake128 *id) {
    flake128 read = {{0}};
    if (len != 36) return FLAKE_PARSE;
    for (size_t i = 0; i < 16; i++) {
        if (flake_i_hyphen_before(i) && *text++ != '-') return FLAKE_PARSE;
        const unsigned high = flake_i_hex_value(*text++), low = flake_i_hex_value(*text++);
        if (high > 15 || low > 15) return FLAKE_PARSE;
        read.bytes[i] = (uint8_t)(high << 4 | low);
    }
    *id = read;
    return FLAKE_OK;
}

// >>who

#if !defined(_WIN32)

static inline bool flake_i_no_address(const uint8_t *address, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (address[i]) return false;
    return true;
}

/* The 6 bytes of an Ethernet address in an entry; NULL: it has none, or only zeros. */
static inline const uint8_t *flake_i_mac(const struct ifaddrs *entry) {
    if (!entry->ifa_addr) return NULL;
    const uint8_t *mac = NULL;
#if defined(__linux__)
    const struct sockaddr_ll *link = (const struct sockaddr_ll *)(const void *)entry->ifa_addr;
    if (link->sll_family == AF_PACKET && link->sll_halen == 6) mac = link->sll_addr;
#elif defined(AF_LINK)
    const struct sockaddr_dl *link = (const struct sockaddr_dl *)(const void *)entry->ifa_addr;
    if (link->sdl_family == AF_LINK && link->sdl_alen == 6)
        mac = (const uint8_t *)link->sdl_data + link->sdl_nlen;
#endif
    return mac && !flake_i_no_address(mac, 6) ? mac : NULL;
}

enum { FLAKE_I_UP = 1, FLAKE_I_LOOPBACK = 8 }; /* IFF_UP, IFF_LOOPBACK, which strict C hides */

/* Of the list, the interface named, or the first one: rather one whose address its maker gave it than
 * one that was made up here, as those of bridges and containers are, and of these one that is up. */
static inline flake_status flake_i_pick_mac(const struct ifaddrs *list, const char *name,
                                            uint64_t *worker48, flake_why *why) {
    const uint8_t *best = NULL;
    unsigned best_rank = 0;
    bool exists = false;
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        if (name && strcmp(i->ifa_name, name) != 0) continue;
        exists = true;
        const uint8_t *mac = flake_i_mac(i);
        if (!mac || (i->ifa_flags & FLAKE_I_LOOPBACK)) continue;
        const unsigned rank = mac[0] & 2 ? i->ifa_flags & FLAKE_I_UP : 2 * FLAKE_I_UP;
        if (best && rank <= best_rank) continue;
        best = mac;
        best_rank = rank;
    }
    if (!best)
        return flake_i_say(why, FLAKE_INVALID, name ? name : "this machine",
                           !name    ? "no interface has an Ethernet address"
                           : exists ? "this interface has no Ethernet address"
                                    : "there is no interface of this name");
    *worker48 = 0;
    for (size_t i = 0; i < 6; i++) *worker48 = *worker48 << 8 | best[i];
    return FLAKE_OK;
}

/* 10/8, 172.16/12, 192.168/16 */
static inline bool flake_i_is_private(uint32_t ip) {
    return ip >> 24 == 10 || ip >> 20 == (172 << 4 | 1) || ip >> 16 == (192 << 8 | 168);
}

static inline flake_status flake_i_pick_ip(const struct ifaddrs *list, uint32_t *node16,
                                           flake_why *why) {
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET) continue;
        uint8_t ip[4];
        memcpy(ip, &((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr, 4);
        if (!flake_i_is_private((uint32_t)ip[0] << 24 | (uint32_t)ip[1] << 16 |
                                (uint32_t)ip[2] << 8 | ip[3]))
            continue;
        *node16 = (uint32_t)ip[2] << 8 | ip[3];
        return FLAKE_OK;
    }
    return flake_i_say(why, FLAKE_INVALID, "this machine",
                       "no interface has a private IPv4 address");
}

static inline flake_status flake_worker_from_mac(const char *device, uint64_t *worker48,
                                                 flake_why *why) {
    struct ifaddrs *list;
    if (getifaddrs(&list) != 0)
        return flake_i_say(why, FLAKE_IO, "interfaces", "the system does not list them");
    const flake_status status = flake_i_pick_mac(list, device, worker48, why);
    freeifaddrs(list);
    return status;
}

static inline flake_status flake_node_from_ip(uint32_t *node16, flake_why *why) {
    struct ifaddrs *list;
    if (getifaddrs(&list) != 0)
        return flake_i_say(why, FLAKE_IO, "interfaces", "the system does not list them");
    const flake_status status = flake_i_pick_ip(list, node16, why);
    freeifaddrs(list);
    return status;
}
#else
static inline flake_status flake_worker_from_mac(const char *device, uint64_t *worker48,
                                                 flake_why *why) {
    (void)device;
    (void)worker48;
    return flake_i_say(why, FLAKE_IO, "interfaces", "needs POSIX");
}

static inline flake_status flake_node_from_ip(uint32_t *node16, flake_why *why) {
    (void)node16;
    return flake_i_say(why, FLAKE_IO, "interfaces", "needs POSIX");
}
#endif

/* A decimal number that is all there is from `text` to `end`. */
static inline bool flake_i_decimal(const char *text, const char *end, uint32_t *number) {
    uint64_t value = 0;
    if (text == end) return false;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9') return false;
        value = value * 10 + (uint64_t)(*text - '0');
        if (value > UINT32_MAX) return false;
    }
    *number = (uint32_t)value;
    return true;
}

static inline flake_status flake_node_from_hostname(const char *name, uint32_t *node,
                                                    flake_why *why) {
#if !defined(_WIN32)
    struct utsname system;
    if (!name) {
        if (uname(&system) < 0) return flake_i_say(why, FLAKE_IO, "hostname", "can't be read");
        name = system.nodename;
    }
#else
    if (!name) name = getenv("COMPUTERNAME");
    if (!name) return flake_i_say(why, FLAKE_IO, "COMPUTERNAME", "is not set");
#endif
    const char *end = name;
    while (*end && *end != '.') end++; /* the first label, of web-3.web.prod.svc */
    const char *digits = end;
    while (digits > name && digits[-1] != '-') digits--;
    if (digits == name || !flake_i_decimal(digits, end, node))
        return flake_i_say(why, FLAKE_INVALID, name, "does not end in -NUMBER, as web-3 does");
    return FLAKE_OK;
}

static inline flake_status flake_node_from_env(const char *variable, uint32_t *node,
                                               flake_why *why) {
    const char *text = getenv(variable);
    if (!text) return flake_i_say(why, FLAKE_INVALID, variable, "is not set");
    if (!flake_i_decimal(text, text + strlen(text), node))
        return flake_i_say(why, FLAKE_INVALID, variable, "is not a decimal number below 2^32");
    return FLAKE_OK;
}

/* ---- slots ----
 *
 * A number is a file that its holder has locked. It says since when it is claimed, or when it was
 * released; a number that is free and says "claimed" was its holder's when he died, and whoever comes
 * by first writes down when that was seen. New ones are empty.
 */
struct flake_slot {
    flake_i_lock lock;
    flake_clock clock;
    uint64_t holder; /* mark of the process */
    uint32_t number;
    bool is_held;
};

#if !defined(_WIN32)

/* "claimed " or "released", and Unix ns */
enum { FLAKE_I_SLOT_TEXT = 28 };

static inline bool flake_i_slot_write(int fd, const char *what, int64_t now_ns) {
    uint8_t text[FLAKE_I_SLOT_TEXT];
    uint64_t left = (uint64_t)now_ns;
    memcpy(text, what, 8);
    for (size_t i = sizeof text - 1; i-- > 8; left /= 10) text[i] = (uint8_t)('0' + left % 10);
    text[sizeof text - 1] = '\n';
    return lseek(fd, 0, SEEK_SET) == 0 && flake_i_write_all(fd, text, sizeof text);
}

/* False: the text is not of one that was released. */
static inline bool flake_i_slot_read(const uint8_t *text, size_t n, uint64_t *since_ns) {
    if (n != FLAKE_I_SLOT_TEXT || text[n - 1] != '\n' || memcmp(text, "released", 8) != 0)
        return false;
    *since_ns = 0;
    for (size_t i = 8; i < n - 1; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        *since_ns = *since_ns * 10 + (uint64_t)(text[i] - '0');
    }
    return true;
}

/* Whether a locked number may be had now. If not, it says at the end since when it is free. */
static inline bool flake_i_slot_is_free(int fd, int64_t hold_ns, int64_t now_ns) {
    uint8_t text[FLAKE_I_SLOT_TEXT];
    uint64_t since_ns;
    const int n = flake_i_read_all(fd, text, sizeof text);
    if (n == 0 || hold_ns == 0) return true;
    if (n > 0 && flake_i_slot_read(text, (size_t)n, &since_ns) && (uint64_t)now_ns >= since_ns)
        return (uint64_t)now_ns - since_ns >= (uint64_t)hold_ns;
    (void)flake_i_slot_write(fd, "released", now_ns); /* died, or the clock was put back */
    return false;
}

static inline flake_status flake_i_slot_try(flake_slot *slot, const char *dir, uint32_t number,
                                            int64_t hold_ns) {
    char path[FLAKE_I_PATH], digits[12];
    size_t length = strlen(dir), n = 0;
    memcpy(path, dir, length);
    path[length++] = '/';
    for (uint32_t left = number; left || !n; left /= 10) digits[n++] = (char)('0' + left % 10);
    while (n) path[length++] = digits[--n];
    memcpy(path + length, ".slot", 6);
    const flake_status status = flake_i_lock_take(&slot->lock, path);
    if (status != FLAKE_OK) return status;
    const int64_t now_ns = flake_i_exact_ns(&slot->clock);
    if (!flake_i_slot_is_free(slot->lock.fd, hold_ns, now_ns)) {
        flake_i_lock_drop(&slot->lock);
        return FLAKE_AGAIN;
    }
    if (!flake_i_slot_write(slot->lock.fd, "claimed ", now_ns)) {
        flake_i_lock_drop(&slot->lock);
        return FLAKE_IO;
    }
    slot->holder = flake_i_process_mark();
    slot->number = number;
    slot->is_held = true;
    return FLAKE_OK;
}

static inline flake_status flake_slot_claim(flake_slot *slot, const flake_slot_options *o,
                                            uint32_t *number, flake_why *why) {
    const uint32_t count = o->count ? o->count : 1024;
    const int64_t ms = 1000000, max_ms = INT64_MAX / ms;
    const int64_t hold_ns = (o->hold_ms < 0 ? 0 : o->hold_ms ? o->hold_ms : 2000) * ms;
    if (flake_i_lock_is_held(&slot->lock)) /* and goes on as it is */
        return flake_i_say(why, FLAKE_TAKEN, o->dir ? o->dir : "dir",
                           "the slot holds a number already");
    slot->is_held = false;
    slot->clock = o->clock;
    if (!o->dir || !o->dir[0] || strlen(o->dir) >= FLAKE_I_PATH - 20)
        return flake_i_say(why, FLAKE_INVALID, "dir", "is missing, or too long");
    if (o->first > UINT32_MAX - count)
        return flake_i_say(why, FLAKE_INVALID, "first + count", "is past 32 bits");
    if (o->hold_ms > max_ms || o->wait_ms < 0 || o->wait_ms > max_ms)
        return flake_i_say(why, FLAKE_INVALID, "hold_ms, wait_ms", "one is out of range");
    for (int64_t left_ns = o->wait_ms * ms;; left_ns -= 10 * ms) {
        bool is_back_soon = false;
        for (uint32_t i = 0; i < count; i++) {
            const flake_status status = flake_i_slot_try(slot, o->dir, o->first + i, hold_ns);
            if (status == FLAKE_IO)
                return flake_i_say_errno(why, o->dir,
                                         ": a file in it can't be written or locked: ");
            if (status == FLAKE_OK) {
                *number = slot->number;
                return FLAKE_OK;
            }
            is_back_soon = is_back_soon || status == FLAKE_AGAIN;
        }
        if (left_ns <= 0)
            return is_back_soon ? flake_i_say(why, FLAKE_AGAIN, o->dir,
                                              "the numbers not taken are held back: hold_ms")
                                : flake_i_say(why, FLAKE_TAKEN, o->dir, "all numbers are taken");
        FLAKE_SLEEP_NS(10 * ms);
    }
}

static inline flake_status flake_slot_release(flake_slot *slot) {
    if (!slot->is_held) return FLAKE_INVALID;
    const bool is_child = slot->holder != flake_i_process_mark();
    const bool well =
        is_child || flake_i_slot_write(slot->lock.fd, "released", flake_i_exact_ns(&slot->clock));
    slot->is_held = false;
    flake_i_lock_drop(&slot->lock);
    return is_child ? FLAKE_FORKED : well ? FLAKE_OK : FLAKE_IO;
}
#else
static inline flake_status flake_slot_claim(flake_slot *slot, const flake_slot_options *o,
                                            uint32_t *number, flake_why *why) {
    (void)o;
    (void)number;
    slot->is_held = false;
    return flake_i_say(why, FLAKE_IO, "slots", "need POSIX");
}

static inline flake_status flake_slot_release(flake_slot *slot) {
    (void)slot;
    return FLAKE_INVALID;
}
#endif

// >>etcd
#ifdef FLAKE_ETCD
/*
 * Node numbers from an etcd cluster (3.4 or later), through its JSON gateway. Link with -lcurl, and
 * -pthread. For the uniqueid layouts: the keys are those of Lable's library, so both can share a
 * pool.
 *
 *         static flake_etcd claim;   // all zero; stays where it is
 *         flake_etcd_options from;   // memset to 0; each field's zero is its default
 *         from.endpoints = "https://a:2379,https://b:2379,https://c:2379";
 *         from.name_space = "unique-id/";
 *         if (flake_etcd_claim(&claim, &from, &why) != FLAKE_OK) ... why.text
 *
 *         options.layout = flake_layout_uniqueid_ordered();
 *         options.node = flake_etcd_node(&claim);
 *         options.gate = flake_etcd_gate(&claim);
 *         flake_init(&ids, &options);
 *         ...                        // FLAKE_LEASE from the generator: release, claim and init again
 *         flake_etcd_release(&claim, &why);
 *
 * KEYS, each behind name_space
 *
 *     cluster-id                "3", or "3, 4": clusters to take in this order; no key: 0
 *     pool/CLUSTER:GENERATOR    decimal; held by a lease of whoever has the number, value empty
 *
 * WHY NO TWO HOLD ONE NUMBER
 *
 *  L1  A number is claimed by a transaction that puts its key only if there is none, with the lease
 *      of the claim. So there is one holder at a time in etcd: he whose lease the key has. A
 *      transaction whose answer is lost is sent again, and the lease at the key tells whose it is.
 *  L2  etcd takes the key away when the lease has run out, the granted TTL after the leader has
 *      renewed it. We sent the request before that. So `sent + TTL`, on a clock that counts suspend
 *      too, is earlier; the claim's deadline is `sent + TTL - margin`.
 *  L3  A leader that was cut off, after another was elected, may still believe that it renews leases.
 *      So a renewal counts only between two linearizable reads, all three answered by the same
 *      member in the same Raft term: the first says that this member knows the term's leader, the
 *      second that no later one had been elected when the lease was renewed. A new leader gives
 *      each lease its whole TTL again (up to 5 minutes of it, which is why ttl_ms ends there), so an
 *      election never ends one early.
 *  L4  The generator asks `admit` before it draws from a unit. It refuses a unit that ends after the
 *      deadline on the Unix clock, or that ended before the claim began, and any when the deadline
 *      has passed on the suspend-counting clock. So the times in a holder's ids lie inside his claim.
 *      A thread that is stopped between admission and return hands out an id of a time that was its
 *      own; one that is stopped earlier asks when it goes on. It does not matter how late the
 *      keep-alive thread wakes, nor that it exists.
 *  L5  Holders' clocks may differ by margin_ms when a claim is lost, by hold_ms when it is released:
 *      so long the key outlives the last id.
 *
 * What this can't make good: who deletes the key, revokes the lease or restores an old snapshot takes
 * the number from its holder at once. A watch tells him within milliseconds, and a read each third of
 * the TTL where the watch is cut; an id that he draws before is not guarded.
 *
 * A forked child has no claim: its parent's generators say FLAKE_FORKED there.
 *
 * WHO MAY CALL WHAT AT THE SAME TIME: claim, release and destroy one thread at a time; the questions
 * and the generators' draws from any number beside them, except that no generator of an earlier claim
 * may draw during the next flake_etcd_claim of the same object. libcurl before 7.84 wants
 * curl_global_init called before a second thread runs, and an old one that speaks TLS wants SIGPIPE
 * ignored (see CURLOPT_NOSIGNAL).
 */
#if defined(_WIN32)
#error "FLAKE_ETCD needs POSIX threads and clocks"
#endif
#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct flake_etcd_options {
    const char *endpoints;  /* URLs parted by commas, up to 16; the next is asked when one fails;
                               NULL: port 2379 of this host, without TLS */
    const char *name_space; /* stands before each key, as it is; "" */
    unsigned pool_size;     /* generators 0 to pool_size - 1: 256 or 2048; 256 */
    bool cluster_given;     /* take `cluster` and don't look at the key cluster-id; no */
    unsigned cluster;       /* 0..15 */
    int64_t ttl_ms;     /* the lease: 1,000 to 300,000, etcd rounds up to seconds, and to its own
                          least; 10,000 */
    int64_t margin_ms;  /* the claim ends so long before the lease could: 100 to less than half the
                          TTL; ttl / 5 */
    int64_t wait_ms;    /* while the pool is full; 0: FLAKE_AGAIN at once */
    int64_t hold_ms;    /* the number stays taken so long after the release, in whole seconds up;
                          2,000 */
    int64_t timeout_ms; /* of one request; ttl / 8 */
    const char *ca_file, *cert_file, *key_file; /* PEM, for https; the system's authorities, and no
                                                   certificate of our own */
    const char *user, *password;                /* etcd's own authentication; none */
} flake_etcd_options;

typedef struct flake_etcd flake_etcd;

/* Takes a free number, and keeps it from a thread of its own. The strings may go away afterwards.
 * FLAKE_INVALID: an option, or a claim that is not released; FLAKE_AGAIN: the pool is full, waited
 * wait_ms; FLAKE_IO: no endpoint answered, or etcd refused. Only after FLAKE_OK there is something
 * to release. */
static inline flake_status flake_etcd_claim(flake_etcd *, const flake_etcd_options *, flake_why *);
/* Ends the claim, and the thread; takes a few requests' time, not that of hold_ms. No generator draws
 * from it after this has begun. FLAKE_IO: etcd was not told, so the number comes free when the lease
 * runs out; the claim is released all the same. In a forked child: only gives memory back. */
static inline flake_status flake_etcd_release(flake_etcd *, flake_why *);
/* Releases if need be, and gives the last page back: no generator may use the gate any more. */
static inline void flake_etcd_destroy(flake_etcd *);

static inline uint32_t flake_etcd_node(const flake_etcd *); /* for flake_options.node */
static inline unsigned flake_etcd_cluster(const flake_etcd *);
static inline unsigned flake_etcd_generator(const flake_etcd *);
/* For flake_options.gate. A claim that is lost stays lost. */
static inline flake_gate flake_etcd_gate(flake_etcd *);
/* FLAKE_OK: held; FLAKE_LEASE: not, or no more, and why; FLAKE_FORKED. */
static inline flake_status flake_etcd_check(flake_etcd *, flake_why *);
/* How long the claim would last if etcd could not be reached from now on; 0: it is lost. */
static inline int64_t flake_etcd_left_ms(flake_etcd *);

/* ---- JSON: reads what the gateway answers, strictly, and makes nothing of what it does not know ---- */

typedef struct flake_i_json { /* the text of one value; at NULL: there is none */
    const char *at, *end;
} flake_i_json;

enum { FLAKE_I_JSON_DEPTH = 16 };

static inline const char *flake_i_json_blank(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
    return at;
}

static inline bool flake_i_digit(char c) { return c >= '0' && c <= '9'; }

static inline bool flake_i_hex_digit(char c) {
    return flake_i_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Each of these is given the start of a value and returns what is behind it; NULL: malformed. */
static inline const char *flake_i_json_pass_string(const char *at, const char *end) {
    for (at++; at < end; at++) {
        if (*at == '"') return at + 1;
        if ((unsigned char)*at < 0x20) return NULL;
        if (*at != '\\') continue;
        if (++at == end) return NULL;
        if (*at == 'u') {
            for (int i = 0; i < 4; i++)
                if (++at == end || !flake_i_hex_digit(*at)) return NULL;
        } else if (!*at || !strchr("\"\\/bfnrt", *at)) return NULL;
    }
    return NULL;
}

static inline const char *flake_i_json_pass_digits(const char *at, const char *end) {
    const char *const begin = at;
    while (at < end && flake_i_digit(*at)) at++;
    return at > begin ? at : NULL;
}

static inline const char *flake_i_json_pass_number(const char *at, const char *end) {
    if (*at == '-') at++;
    if (at < end && *at == '0') at++;
    else if (!(at = flake_i_json_pass_digits(at, end))) return NULL;
    if (at < end && *at == '.' && !(at = flake_i_json_pass_digits(at + 1, end))) return NULL;
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        at = flake_i_json_pass_digits(at, end);
    }
    return at;
}

static inline const char *flake_i_json_pass_word(const char *at, const char *end,
                                                 const char *word) {
    const size_t n = strlen(word);
    return (size_t)(end - at) >= n && memcmp(at, word, n) == 0 ? at + n : NULL;
}

static inline const char *flake_i_json_pass(const char *at, const char *end, unsigned depth) {
    if (at == end || !depth) return NULL;
    switch (*at) {
    case '"': return flake_i_json_pass_string(at, end);
    case 't': return flake_i_json_pass_word(at, end, "true");
    case 'f': return flake_i_json_pass_word(at, end, "false");
    case 'n': return flake_i_json_pass_word(at, end, "null");
    case '{':
    case '[': break;
    default: return flake_i_json_pass_number(at, end);
    }
    const bool is_object = *at == '{';
    const char closing = is_object ? '}' : ']';
    at = flake_i_json_blank(at + 1, end);
    if (at < end && *at == closing) return at + 1;
    for (;;) {
        if (is_object) {
            if (at == end || *at != '"' || !(at = flake_i_json_pass_string(at, end))) return NULL;
            at = flake_i_json_blank(at, end);
            if (at == end || *at++ != ':') return NULL;
            at = flake_i_json_blank(at, end);
        }
        if (!(at = flake_i_json_pass(at, end, depth - 1))) return NULL;
        at = flake_i_json_blank(at, end);
        if (at == end) return NULL;
        if (*at == closing) return at + 1;
        if (*at++ != ',') return NULL;
        at = flake_i_json_blank(at, end);
    }
}

/* The whole text as one value. Everything below is given values that have passed here. */
static inline flake_i_json flake_i_json_text(const char *text, size_t len) {
    flake_i_json v = {NULL, NULL};
    const char *const end = text + len, *const at = flake_i_json_blank(text, end);
    const char *const behind = flake_i_json_pass(at, end, FLAKE_I_JSON_DEPTH);
    if (!behind || flake_i_json_blank(behind, end) != end) return v;
    v.at = at;
    v.end = behind;
    return v;
}

/* Steps through an array or object: *at is v.at at first, and each value is returned, with its name
 * (quotes included) in an object. False: no more. */
static inline bool flake_i_json_each(flake_i_json v, const char **at, flake_i_json *name,
                                     flake_i_json *value) {
    if (!v.at || (*v.at != '{' && *v.at != '[')) return false;
    const char *p = flake_i_json_blank(*at, v.end);
    if (*p == '}' || *p == ']') return false;
    p = flake_i_json_blank(p + 1, v.end); /* behind the bracket or the comma */
    if (*p == '}' || *p == ']') return false;
    if (*v.at == '{') {
        name->at = p;
        name->end = flake_i_json_pass_string(p, v.end);
        p = flake_i_json_blank(name->end, v.end);
        p = flake_i_json_blank(p + 1, v.end);
    }
    value->at = p;
    value->end = flake_i_json_pass(p, v.end, FLAKE_I_JSON_DEPTH);
    *at = value->end;
    return true;
}

/* A member of an object; none when there are two of the name. */
static inline flake_i_json flake_i_json_member(flake_i_json v, const char *wanted) {
    flake_i_json found = {NULL, NULL}, name, value;
    if (!v.at || *v.at != '{') return found;
    const char *at = v.at;
    const size_t n = strlen(wanted);
    while (flake_i_json_each(v, &at, &name, &value)) {
        if ((size_t)(name.end - name.at) != n + 2 || memcmp(name.at + 1, wanted, n) != 0) continue;
        if (found.at) {
            found.at = NULL;
            return found;
        }
        found = value;
    }
    return found;
}

static inline flake_i_json flake_i_json_first(flake_i_json v) {
    flake_i_json none = {NULL, NULL}, name, value;
    const char *at = v.at;
    return v.at && *v.at == '[' && flake_i_json_each(v, &at, &name, &value) ? value : none;
}

/* A string that has no escapes, without its quotes. */
static inline bool flake_i_json_string(flake_i_json v, const char **text, size_t *len) {
    if (!v.at || *v.at != '"') return false;
    *text = v.at + 1;
    *len = (size_t)(v.end - v.at) - 2;
    return memchr(*text, '\\', *len) == NULL;
}

/* A whole number from 0 on; the gateway writes those of 64 bits as strings. */
static inline bool flake_i_json_number(flake_i_json v, int64_t *number) {
    if (!v.at) return false;
    if (*v.at == '"') {
        v.at++;
        v.end--;
    }
    if (v.at == v.end || (*v.at == '0' && v.end - v.at > 1)) return false;
    int64_t sum = 0;
    for (; v.at < v.end; v.at++) {
        if (!flake_i_digit(*v.at)) return false;
        const int digit = *v.at - '0';
        if (sum > (INT64_MAX - digit) / 10) return false;
        sum = sum * 10 + digit;
    }
    *number = sum;
    return true;
}

static inline bool flake_i_json_true(flake_i_json v) { return v.at && *v.at == 't'; }

/* ---- base64, with padding ---- */

#define FLAKE_I_BASE64 "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

/* `out` has room for (n + 2) / 3 * 4 + 1. */
static inline void flake_i_to_base64(const char *bytes, size_t n, char *out) {
    static const char digits[] = FLAKE_I_BASE64;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t word = 0;
        for (size_t k = i; k < i + 3; k++) word = word << 8 | (k < n ? (unsigned char)bytes[k] : 0);
        for (unsigned k = 0; k < 4; k++)
            *out++ = i + k <= n ? digits[word >> (18 - 6 * k) & 63] : '=';
    }
    *out = 0;
}

/* The bytes' number; SIZE_MAX: malformed, or more than `size`. */
static inline size_t flake_i_from_base64(const char *text, size_t len, char *out, size_t size) {
    static const char digits[] = FLAKE_I_BASE64;
    size_t n = 0;
    if (len % 4) return SIZE_MAX;
    for (size_t i = 0; i < len; i += 4) {
        uint32_t word = 0;
        unsigned given = 4;
        if (i + 4 == len && text[i + 3] == '=') given = text[i + 2] == '=' ? 2 : 3;
        for (unsigned k = 0; k < 4; k++) {
            const char c = k < given ? text[i + k] : 'A';
            const char *digit = c ? strchr(digits, c) : NULL;
            if (!digit) return SIZE_MAX;
            word = word << 6 | (uint32_t)(digit - digits);
        }
        if (word & (((uint32_t)1 << (4 - given) * 8) - 1))
            return SIZE_MAX; /* another way to say it */
        for (unsigned k = 0; k + 1 < given; k++) {
            if (n == size) return SIZE_MAX;
            out[n++] = (char)(unsigned char)(word >> (16 - 8 * k) & 255);
        }
    }
    return n;
}

/* ---- what the answers say ---- */

enum { FLAKE_I_ETCD_KEY = 288 }; /* room for a name space and a key */

/* 0..15, the first `n` of a list such as "3, 4". False: something else. */
static inline bool flake_i_etcd_clusters(const char *text, size_t len, unsigned *clusters,
                                         size_t *n) {
    const char *at = text, *const end = text + len;
    for (*n = 0; *n < 16;) {
        at = flake_i_json_blank(at, end);
        const char *const begin = at;
        unsigned number = 0;
        for (; at < end && flake_i_digit(*at) && number < 16; at++)
            number = number * 10 + (unsigned)(*at - '0');
        if (at == begin || number > 15) return false;
        clusters[(*n)++] = number;
        at = flake_i_json_blank(at, end);
        if (at == end) return true;
        if (*at++ != ',') return false;
    }
    return false;
}

/* A key of the pool without what stands before its number; SIZE_MAX: not a number of this pool, as
 * etcd's users may put any key there. */
static inline size_t flake_i_etcd_slot(const char *digits, size_t len, size_t pool_size) {
    size_t number = 0;
    if (!len || len > 4 || (*digits == '0' && len > 1)) return SIZE_MAX;
    for (size_t i = 0; i < len; i++) {
        if (!flake_i_digit(digits[i])) return SIZE_MAX;
        number = number * 10 + (size_t)(digits[i] - '0');
    }
    return number < pool_size ? number : SIZE_MAX;
}

/* Marks the numbers of the keys in a range's answer, all of which begin with `prefix`. False: the
 * answer makes no sense. */
static inline bool flake_i_etcd_taken(flake_i_json range, const char *prefix, size_t pool_size,
                                      bool *taken) {
    const flake_i_json kvs = flake_i_json_member(range, "kvs");
    const size_t skip = strlen(prefix);
    flake_i_json name, kv;
    if (!flake_i_json_member(range, "header").at) return false;
    if (!kvs.at) return true; /* no keys */
    if (*kvs.at != '[') return false;
    for (const char *at = kvs.at; flake_i_json_each(kvs, &at, &name, &kv);) {
        const char *text;
        char key[FLAKE_I_ETCD_KEY];
        size_t len;
        if (!flake_i_json_string(flake_i_json_member(kv, "key"), &text, &len)) return false;
        len = flake_i_from_base64(text, len, key, sizeof key);
        if (len == SIZE_MAX || len < skip || memcmp(key, prefix, skip) != 0) continue;
        const size_t slot = flake_i_etcd_slot(key + skip, len - skip, pool_size);
        if (slot != SIZE_MAX) taken[slot] = true;
    }
    return true;
}

typedef enum flake_i_etcd_owner {
    FLAKE_I_ETCD_UNKNOWN, /* the answer makes no sense */
    FLAKE_I_ETCD_NOBODY,
    FLAKE_I_ETCD_OURS,
    FLAKE_I_ETCD_ANOTHER
} flake_i_etcd_owner;

/* Who answered, and in which Raft term. */
typedef struct flake_i_etcd_stamp {
    int64_t term;
    char member[24];
} flake_i_etcd_stamp;

static inline bool flake_i_etcd_stamp_in(flake_i_json answer, flake_i_etcd_stamp *stamp) {
    const flake_i_json header = flake_i_json_member(answer, "header");
    const char *text;
    size_t len;
    memset(stamp, 0, sizeof *stamp);
    if (!flake_i_json_string(flake_i_json_member(header, "member_id"), &text, &len) || !len ||
        len >= sizeof stamp->member ||
        !flake_i_json_number(flake_i_json_member(header, "raft_term"), &stamp->term))
        return false;
    memcpy(stamp->member, text, len);
    return true;
}

static inline bool flake_i_etcd_same_stamp(const flake_i_etcd_stamp *a,
                                           const flake_i_etcd_stamp *b) {
    return a->term == b->term && strcmp(a->member, b->member) == 0;
}

/* The TTL of a lease that an endpoint says it has renewed; 0: it has not. */
static inline int64_t flake_i_etcd_renewed_ms(flake_i_json answer, int64_t our_lease,
                                              flake_i_etcd_stamp *stamp) {
    const flake_i_json result = flake_i_json_member(answer, "result");
    int64_t lease, seconds; /* no TTL: the lease is not there */
    if (!flake_i_etcd_stamp_in(result, stamp) ||
        !flake_i_json_number(flake_i_json_member(result, "ID"), &lease) || lease != our_lease ||
        !flake_i_json_number(flake_i_json_member(result, "TTL"), &seconds) || seconds > INT32_MAX)
        return 0;
    return seconds * 1000;
}

/* Whose the key is that a range asked for. */
static inline flake_i_etcd_owner flake_i_etcd_owner_in(flake_i_json range, const char *key64,
                                                       int64_t our_lease) {
    const flake_i_json kvs = flake_i_json_member(range, "kvs");
    const char *text;
    size_t len;
    int64_t lease = 0;
    if (!flake_i_json_member(range, "header").at) return FLAKE_I_ETCD_UNKNOWN;
    if (!kvs.at) return FLAKE_I_ETCD_NOBODY;
    const flake_i_json kv = flake_i_json_first(kvs), at_lease = flake_i_json_member(kv, "lease");
    if (!flake_i_json_string(flake_i_json_member(kv, "key"), &text, &len) || len != strlen(key64) ||
        memcmp(text, key64, len) != 0)
        return FLAKE_I_ETCD_UNKNOWN;
    if (at_lease.at && !flake_i_json_number(at_lease, &lease)) return FLAKE_I_ETCD_UNKNOWN;
    return lease == our_lease ? FLAKE_I_ETCD_OURS : FLAKE_I_ETCD_ANOTHER;
}

/* What came of the transaction that claims a key. */
static inline flake_i_etcd_owner flake_i_etcd_owner_after(flake_i_json txn, const char *key64,
                                                          int64_t our_lease) {
    if (!flake_i_json_member(txn, "header").at) return FLAKE_I_ETCD_UNKNOWN;
    if (flake_i_json_true(flake_i_json_member(txn, "succeeded"))) return FLAKE_I_ETCD_OURS;
    const flake_i_json response = flake_i_json_first(flake_i_json_member(txn, "responses"));
    const flake_i_json range = flake_i_json_member(response, "response_range");
    const flake_i_etcd_owner owner = flake_i_etcd_owner_in(range, key64, our_lease);
    return owner == FLAKE_I_ETCD_NOBODY ? FLAKE_I_ETCD_UNKNOWN : owner;
}

/* ---- requests ---- */

enum {
    FLAKE_I_ETCD_ENDPOINTS = 16,
    FLAKE_I_ETCD_NAME_SPACE = 255,
    FLAKE_I_ETCD_BODY = 2048,
    FLAKE_I_ETCD_ANSWER = 4 << 20, /* longest that is read: a pool of 2048 long keys is 1 MB */
    /* codes of gRPC */
    FLAKE_I_ETCD_NO_CODE = 0,
    FLAKE_I_ETCD_BAD_ARGUMENT = 3,
    FLAKE_I_ETCD_NOT_FOUND = 5,
    FLAKE_I_ETCD_DENIED = 7,
    FLAKE_I_ETCD_PRECONDITION = 9,
    FLAKE_I_ETCD_UNAUTHENTICATED = 16
};

typedef enum flake_i_etcd_result {
    FLAKE_I_ETCD_DONE,
    FLAKE_I_ETCD_REFUSED, /* etcd has answered, and won't */
    FLAKE_I_ETCD_UNSURE   /* no answer that tells: the request may have been carried out */
} flake_i_etcd_result;

/* What the thread works with; before it starts, and after it has ended, whoever claims or releases. */
typedef struct flake_i_etcd_session {
    flake_etcd_options options; /* numbers resolved, strings not ours */
    char *endpoints;            /* cut into `endpoint` */
    const char *endpoint[FLAKE_I_ETCD_ENDPOINTS];
    size_t endpoint_count, current;
    char name_space[FLAKE_I_ETCD_NAME_SPACE + 1];
    char *login; /* the body that authenticates; NULL: no need to */

    CURL *easy, *watch;
    CURLM *multi; /* the watch, and whatever wakes the thread */
    struct curl_slist *headers;
    bool watching, stirred; /* stirred: the watch has said something */
    size_t watched;         /* the endpoint that the watch is at */
    char *answer;
    size_t answer_len, answer_room;
    int64_t code; /* of etcd's refusal */

    char key64[FLAKE_I_ETCD_KEY * 4 / 3 + 4];
    int64_t lease, ttl_ms; /* as granted */
} flake_i_etcd_session;

struct flake_etcd {
    flake_i_atomic64 state;            /* number of the claim << 2 | one of the states below */
    flake_i_atomic64 deadline_ns;      /* on the clock of flake_i_elapsed_ns */
    flake_i_atomic64 deadline_unix_ns; /* ids' times end before */
    flake_i_atomic32 ran_ahead;        /* ids' times ran ahead of the clock: see release */
    flake_i_atomic32 stop;
    int64_t since_unix_ns; /* ids' times begin here */
    uint64_t pid;
    flake_i_atomic64 *word; /* the gate's, on a page of its own that stays for old generators */
    unsigned cluster, generator;
    flake_i_etcd_session *session;
    pthread_t thread;
};

enum { FLAKE_I_ETCD_NONE, FLAKE_I_ETCD_HELD, FLAKE_I_ETCD_RAN_OUT, FLAKE_I_ETCD_TAKEN };

#define FLAKE_I_ETCD_AHEAD_NS 500000000 /* hold_ms, a second at least, covers what is nearer */

/* Time that passes for leases: it can't be set, and on Linux counts suspend. */
static inline int64_t flake_i_elapsed_ns(void) {
#if defined(FLAKE_I_BY_NAME)
    struct flake_i_timespec t;
    (void)flake_i_clock_gettime(7, &t); /* CLOCK_BOOTTIME */
    return (int64_t)t.sec * 1000000000 + (int64_t)t.nsec;
#else
    struct timespec t;
#if defined(CLOCK_BOOTTIME)
    (void)clock_gettime(CLOCK_BOOTTIME, &t);
#else
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
#endif
    return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_nsec;
#endif
}

static inline int64_t flake_i_elapsed_ms(void) { return flake_i_elapsed_ns() / 1000000; }

static inline char *flake_i_copy_text(const char *text) {
    const size_t size = strlen(text) + 1;
    char *copy = (char *)malloc(size);
    if (copy) memcpy(copy, text, size);
    return copy;
}

static inline size_t flake_i_etcd_hear(char *bytes, size_t one, size_t n, void *user) {
    flake_i_etcd_session *s = (flake_i_etcd_session *)user;
    (void)one;
    if (n > FLAKE_I_ETCD_ANSWER - s->answer_len) return 0;
    if (s->answer_len + n > s->answer_room) {
        const size_t room = (s->answer_len + n) * 2 + 1024;
        char *const more = (char *)realloc(s->answer, room);
        if (!more) return 0;
        s->answer = more;
        s->answer_room = room;
    }
    memcpy(s->answer + s->answer_len, bytes, n);
    s->answer_len += n;
    return n;
}

/* Whatever a watch says, that it was made or that the key changed, is a reason to look. */
static inline size_t flake_i_etcd_stir(char *bytes, size_t one, size_t n, void *user) {
    (void)bytes;
    (void)one;
    ((flake_i_etcd_session *)user)->stirred = true;
    return n;
}

static inline bool flake_i_etcd_dress(flake_i_etcd_session *s, CURL *easy,
                                      size_t (*hear)(char *, size_t, size_t, void *)) {
    const flake_etcd_options *o = &s->options;
    bool ok = curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK;
    ok = ok && curl_easy_setopt(easy, CURLOPT_POST, 1L) == CURLE_OK;
    ok = ok && curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, hear) == CURLE_OK;
    ok = ok && curl_easy_setopt(easy, CURLOPT_WRITEDATA, (void *)s) == CURLE_OK;
    ok =
        ok && curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK;
    ok = ok && curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L) == CURLE_OK;
    ok = ok && curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)o->timeout_ms) == CURLE_OK;
    if (o->ca_file) ok = ok && curl_easy_setopt(easy, CURLOPT_CAINFO, o->ca_file) == CURLE_OK;
    if (o->cert_file) ok = ok && curl_easy_setopt(easy, CURLOPT_SSLCERT, o->cert_file) == CURLE_OK;
    if (o->key_file) ok = ok && curl_easy_setopt(easy, CURLOPT_SSLKEY, o->key_file) == CURLE_OK;
    return ok;
}

static inline bool flake_i_etcd_address(flake_i_etcd_session *s, CURL *easy, const char *path,
                                        const char *body) {
    char url[512];
    const int n = snprintf(url, sizeof url, "%s/v3/%s", s->endpoint[s->current], path);
    return n > 0 && (size_t)n < sizeof url &&
           curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HTTPHEADER, s->headers) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)strlen(body)) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, body) == CURLE_OK;
}

/* etcd's refusal in words, without what would not be text. */
static inline void flake_i_etcd_say_refusal(flake_i_etcd_session *s, flake_i_json answer,
                                            flake_why *why) {
    const flake_i_json message = flake_i_json_member(answer, "error");
    char text[128];
    size_t n = 0;
    if (message.at && *message.at == '"')
        for (const char *at = message.at + 1; at + 1 < message.end && n + 1 < sizeof text; at++)
            if (*at >= ' ' && *at <= '~') text[n++] = *at;
    text[n] = 0;
    flake_i_put_why(why, s->endpoint[s->current], ": ", n ? text : "no reason given");
}

/* One request to the current endpoint. */
static inline flake_i_etcd_result flake_i_etcd_post(flake_i_etcd_session *s, const char *path,
                                                    const char *body, flake_i_json *answer,
                                                    flake_why *why) {
    long http = 0;
    s->answer_len = 0;
    s->code = FLAKE_I_ETCD_NO_CODE;
    if (!flake_i_etcd_address(s, s->easy, path, body) ||
        curl_easy_setopt(s->easy, CURLOPT_TIMEOUT_MS, (long)s->options.timeout_ms) != CURLE_OK) {
        flake_i_put_why(why, s->endpoint[s->current], ": ",
                        "libcurl refuses it, or memory is short");
        return FLAKE_I_ETCD_UNSURE;
    }
    const CURLcode sent = curl_easy_perform(s->easy);
    if (sent != CURLE_OK) {
        flake_i_put_why(why, s->endpoint[s->current], ": ", curl_easy_strerror(sent));
        return FLAKE_I_ETCD_UNSURE;
    }
    (void)curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &http);
    *answer = flake_i_json_text(s->answer ? s->answer : "", s->answer_len);
    if (!answer->at || *answer->at != '{') {
        char status[64];
        (void)snprintf(status, sizeof status, "HTTP %ld, and not etcd's JSON", http);
        flake_i_put_why(why, s->endpoint[s->current], ": ", status);
        return FLAKE_I_ETCD_UNSURE;
    }
    flake_i_json code = flake_i_json_member(*answer, "code");
    const flake_i_json in_stream = flake_i_json_member(*answer, "error");
    if (!code.at) code = flake_i_json_member(in_stream, "grpc_code");
    if (http == 200 && !code.at && !in_stream.at) return FLAKE_I_ETCD_DONE;
    flake_i_etcd_say_refusal(s, *answer, why);
    if (!flake_i_json_number(code, &s->code)) return FLAKE_I_ETCD_UNSURE;
    switch (s->code) {
    case FLAKE_I_ETCD_BAD_ARGUMENT:
    case FLAKE_I_ETCD_NOT_FOUND:
    case FLAKE_I_ETCD_DENIED:
    case FLAKE_I_ETCD_PRECONDITION:
    case FLAKE_I_ETCD_UNAUTHENTICATED: return FLAKE_I_ETCD_REFUSED;
    default: return FLAKE_I_ETCD_UNSURE; /* no leader, too many requests, timed out ... */
    }
}

static inline bool flake_i_etcd_set_headers(flake_i_etcd_session *s, const char *token,
                                            size_t len) {
    char line[2048];
    struct curl_slist *fresh = curl_slist_append(NULL, "Content-Type: application/json");
    bool ok = fresh != NULL && curl_slist_append(fresh, "Expect:") != NULL;
    if (token) {
        const int n = snprintf(line, sizeof line, "Authorization: %.*s", (int)len, token);
        ok = ok && len < sizeof line && n > 0 && (size_t)n < sizeof line &&
             curl_slist_append(fresh, line) != NULL;
    }
    if (!ok) {
        curl_slist_free_all(fresh);
        return false;
    }
    /* A watch that runs has been told the old list. */
    struct curl_slist *const old = s->headers;
    s->headers = fresh;
    if (s->watching) {
        (void)curl_multi_remove_handle(s->multi, s->watch);
        s->watching = false;
    }
    curl_slist_free_all(old);
    return true;
}

static inline flake_i_etcd_result flake_i_etcd_log_in(flake_i_etcd_session *s, flake_why *why) {
    flake_i_json answer;
    const char *token;
    size_t len;
    if (!flake_i_etcd_set_headers(s, NULL, 0)) return FLAKE_I_ETCD_UNSURE;
    const flake_i_etcd_result result =
        flake_i_etcd_post(s, "auth/authenticate", s->login, &answer, why);
    if (result != FLAKE_I_ETCD_DONE) return result;
    if (!flake_i_json_string(flake_i_json_member(answer, "token"), &token, &len) ||
        !flake_i_etcd_set_headers(s, token, len)) {
        flake_i_put_why(why, s->endpoint[s->current], ": ", "no token in etcd's answer");
        return FLAKE_I_ETCD_UNSURE;
    }
    return FLAKE_I_ETCD_DONE;
}

/* A request, authenticated: a token may have run out, or be unknown to an endpoint. */
static inline flake_i_etcd_result flake_i_etcd_ask(flake_i_etcd_session *s, const char *path,
                                                   const char *body, flake_i_json *answer,
                                                   flake_why *why) {
    flake_i_etcd_result result = flake_i_etcd_post(s, path, body, answer, why);
    if (!s->login || result != FLAKE_I_ETCD_REFUSED ||
        (s->code != FLAKE_I_ETCD_UNAUTHENTICATED && s->code != FLAKE_I_ETCD_BAD_ARGUMENT))
        return result;
    result = flake_i_etcd_log_in(s, why);
    return result == FLAKE_I_ETCD_DONE ? flake_i_etcd_post(s, path, body, answer, why) : result;
}

static inline void flake_i_etcd_next_endpoint(flake_i_etcd_session *s) {
    s->current = (s->current + 1) % s->endpoint_count;
}

/* The same, at one endpoint after the other until one gives an answer that tells. */
static inline flake_i_etcd_result flake_i_etcd_call(flake_i_etcd_session *s, const char *path,
                                                    const char *body, flake_i_json *answer,
                                                    flake_why *why) {
    flake_i_etcd_result result = FLAKE_I_ETCD_UNSURE;
    for (size_t tries = 0; tries < s->endpoint_count; tries++) {
        result = flake_i_etcd_ask(s, path, body, answer, why);
        if (result != FLAKE_I_ETCD_UNSURE) return result;
        flake_i_etcd_next_endpoint(s);
    }
    return result;
}

static inline flake_i_etcd_result flake_i_etcd_log_in_anywhere(flake_i_etcd_session *s,
                                                               flake_why *why) {
    flake_i_etcd_result result = FLAKE_I_ETCD_UNSURE;
    for (size_t tries = 0; tries < s->endpoint_count && result == FLAKE_I_ETCD_UNSURE; tries++) {
        result = flake_i_etcd_log_in(s, why);
        if (result == FLAKE_I_ETCD_UNSURE) flake_i_etcd_next_endpoint(s);
    }
    return result;
}

/* ---- watch: only a hint that the answer to a question may have changed ---- */

static inline void flake_i_etcd_unwatch(flake_i_etcd_session *s) {
    if (s->watching) (void)curl_multi_remove_handle(s->multi, s->watch);
    s->watching = false;
}

/* range_end64 NULL: one key. */
static inline void flake_i_etcd_watch(flake_i_etcd_session *s, const char *key64,
                                      const char *range_end64) {
    char body[FLAKE_I_ETCD_BODY];
    if (s->watching && s->watched == s->current) return;
    flake_i_etcd_unwatch(s);
    s->watched = s->current;
    (void)snprintf(body, sizeof body, "{\"create_request\":{\"key\":\"%s\",\"range_end\":\"%s\"}}",
                   key64, range_end64 ? range_end64 : "");
    s->stirred = false;
    if (flake_i_etcd_address(s, s->watch, "watch", body))
        s->watching = curl_multi_add_handle(s->multi, s->watch) == CURLM_OK;
}

/* Returns after that time, or when the watch has said something, or on curl_multi_wakeup. False: the
 * watch has ended. */
static inline bool flake_i_etcd_rest(flake_i_etcd_session *s, int64_t ms) {
    int running = 0, left = 0;
    (void)curl_multi_perform(s->multi, &running);
    if (!s->stirred && ms > 0)
        (void)curl_multi_poll(s->multi, NULL, 0, (int)(ms < 60000 ? ms : 60000), NULL);
    (void)curl_multi_perform(s->multi, &running);
    bool ended = false;
    for (CURLMsg *m; (m = curl_multi_info_read(s->multi, &left)) != NULL;)
        ended = ended || m->msg == CURLMSG_DONE;
    if (ended) flake_i_etcd_unwatch(s);
    return !ended;
}

/* ---- lease and key ---- */

static inline flake_i_etcd_result flake_i_etcd_grant(flake_i_etcd_session *s, int64_t want_ms,
                                                     int64_t *lease, int64_t *ttl_ms,
                                                     flake_why *why) {
    char body[64];
    flake_i_json answer;
    int64_t seconds;
    (void)snprintf(body, sizeof body, "{\"TTL\":\"%lld\"}", (long long)((want_ms + 999) / 1000));
    const flake_i_etcd_result result = flake_i_etcd_call(s, "lease/grant", body, &answer, why);
    if (result != FLAKE_I_ETCD_DONE) return result;
    if (!flake_i_json_number(flake_i_json_member(answer, "ID"), lease) || !*lease ||
        !flake_i_json_number(flake_i_json_member(answer, "TTL"), &seconds) || seconds < 1 ||
        seconds > INT32_MAX) {
        flake_i_put_why(why, s->endpoint[s->current], ": ", "no lease in etcd's answer");
        return FLAKE_I_ETCD_UNSURE;
    }
    *ttl_ms = seconds * 1000;
    return result;
}

static inline void flake_i_etcd_revoke(flake_i_etcd_session *s) {
    char body[64];
    flake_i_json answer;
    (void)snprintf(body, sizeof body, "{\"ID\":\"%lld\"}", (long long)s->lease);
    (void)flake_i_etcd_call(s, "lease/revoke", body, &answer, NULL);
}

/* Linearizable: etcd asks a majority before it answers. */
static inline flake_i_etcd_owner flake_i_etcd_look(flake_i_etcd_session *s,
                                                   flake_i_etcd_stamp *stamp, flake_why *why) {
    char body[FLAKE_I_ETCD_BODY];
    flake_i_json answer;
    (void)snprintf(body, sizeof body, "{\"key\":\"%s\"}", s->key64);
    if (flake_i_etcd_ask(s, "kv/range", body, &answer, why) != FLAKE_I_ETCD_DONE ||
        !flake_i_etcd_stamp_in(answer, stamp))
        return FLAKE_I_ETCD_UNKNOWN;
    return flake_i_etcd_owner_in(answer, s->key64, s->lease);
}

static inline int64_t flake_i_etcd_keep_alive(flake_i_etcd_session *s, flake_i_etcd_stamp *stamp,
                                              flake_why *why) {
    char body[64];
    flake_i_json answer;
    (void)snprintf(body, sizeof body, "{\"ID\":\"%lld\"}", (long long)s->lease);
    if (flake_i_etcd_ask(s, "lease/keepalive", body, &answer, why) != FLAKE_I_ETCD_DONE) return 0;
    return flake_i_etcd_renewed_ms(answer, s->lease, stamp);
}

static inline void flake_i_etcd_close(flake_etcd *c, uint64_t state, uint64_t reason) {
    const uint64_t closed = (state & ~(uint64_t)3) | reason;
    if (FLAKE_ATOMIC_CAS(&c->state, &state, closed, seq_cst, relaxed) && c->word)
        FLAKE_ATOMIC_STORE(c->word, 0u,
                           relaxed); /* draws that miss it still ask at the next unit */
}

static inline bool flake_i_etcd_is_held(uint64_t state) { return (state & 3) == FLAKE_I_ETCD_HELD; }

/* Renews the lease at the current endpoint, as L3 has it. DONE: renewed; REFUSED: the key is no more
 * ours. */
static inline flake_i_etcd_result flake_i_etcd_renew_here(flake_etcd *c, flake_i_etcd_session *s,
                                                          flake_why *why) {
    flake_i_etcd_stamp before, renewed, after;
    for (int elections = 0; elections < 3; elections++) {
        flake_i_etcd_owner owner = flake_i_etcd_look(s, &before, why);
        if (owner == FLAKE_I_ETCD_UNKNOWN) return FLAKE_I_ETCD_UNSURE;
        if (owner != FLAKE_I_ETCD_OURS) return FLAKE_I_ETCD_REFUSED;
        const int64_t sent_ns = flake_i_elapsed_ns();
        const int64_t sent_unix_ns = FLAKE_CLOCK_NS(FLAKE_CLOCK_EXACT);
        const int64_t ttl_ms = flake_i_etcd_keep_alive(s, &renewed, why);
        owner = flake_i_etcd_look(s, &after, why);
        if (owner == FLAKE_I_ETCD_UNKNOWN) return FLAKE_I_ETCD_UNSURE;
        if (owner != FLAKE_I_ETCD_OURS) return FLAKE_I_ETCD_REFUSED;
        if (!ttl_ms || !flake_i_etcd_same_stamp(&before, &renewed) ||
            !flake_i_etcd_same_stamp(&renewed, &after))
            continue;
        /* Relaxed: each of the two is right by itself, and an older one is only stricter. */
        const int64_t use_ns = (ttl_ms - s->options.margin_ms) * 1000000;
        FLAKE_ATOMIC_STORE(&c->deadline_ns, (uint64_t)(sent_ns + use_ns), relaxed);
        FLAKE_ATOMIC_STORE(&c->deadline_unix_ns, (uint64_t)(sent_unix_ns + use_ns), relaxed);
        return FLAKE_I_ETCD_DONE;
    }
    flake_i_put_why(why, s->endpoint[s->current], ": ",
                    "the lease is not renewed, or leaders change");
    return FLAKE_I_ETCD_UNSURE;
}

/* The same, at one endpoint after the other. */
static inline flake_i_etcd_result flake_i_etcd_renew(flake_etcd *c, flake_i_etcd_session *s,
                                                     flake_why *why) {
    flake_i_etcd_result result = FLAKE_I_ETCD_UNSURE;
    for (size_t tries = 0; tries < s->endpoint_count; tries++) {
        if (FLAKE_ATOMIC_LOAD(&c->stop, relaxed)) break;
        result = flake_i_etcd_renew_here(c, s, why);
        if (result != FLAKE_I_ETCD_UNSURE) break;
        flake_i_etcd_next_endpoint(s);
    }
    return result;
}

/* Whether the claim is held by this process, as far as its deadline goes. Wait-free. */
static inline flake_status flake_i_etcd_holds(flake_etcd *c) {
    const uint64_t state = FLAKE_ATOMIC_LOAD(&c->state, acquire); /* the deadlines of this claim */
    if (!flake_i_etcd_is_held(state)) return FLAKE_LEASE;
    if (c->pid != (uint64_t)flake_i_pid()) return FLAKE_FORKED;
    if (flake_i_elapsed_ns() < (int64_t)FLAKE_ATOMIC_LOAD(&c->deadline_ns, relaxed))
        return FLAKE_OK;
    flake_i_etcd_close(c, state, FLAKE_I_ETCD_RAN_OUT);
    return FLAKE_LEASE;
}

/* The gate. Wait-free. */
static inline flake_status flake_i_etcd_admit(void *user, int64_t until_ns) {
    flake_etcd *c = (flake_etcd *)user;
    const flake_status status = flake_i_etcd_holds(c);
    if (status != FLAKE_OK) return status;
    /* Not lost: the clock may have been set, and the next renewal looks at it anew. It may also be
     * that the machine stood still without its other clock's knowing, so nothing is drawn. */
    if (until_ns > (int64_t)FLAKE_ATOMIC_LOAD(&c->deadline_unix_ns, relaxed)) return FLAKE_LEASE;
    if (until_ns < c->since_unix_ns) return FLAKE_CLOCK_BACK;
    if (until_ns - FLAKE_CLOCK_NS(FLAKE_CLOCK_EXACT) <= FLAKE_I_ETCD_AHEAD_NS) return FLAKE_OK;
    /* Either release sees that, or we see that it has closed the claim: hence seq_cst on both sides. */
    FLAKE_ATOMIC_STORE(&c->ran_ahead, 1u, seq_cst);
    return flake_i_etcd_is_held(FLAKE_ATOMIC_LOAD(&c->state, seq_cst)) ? FLAKE_OK : FLAKE_LEASE;
}

static inline void *flake_i_etcd_keep(void *user) {
    flake_etcd *c = (flake_etcd *)user;
    flake_i_etcd_session *s = c->session;
    const int64_t third_ms = s->ttl_ms / 3, soon_ms = third_ms / 4 < 250 ? third_ms / 4 : 250;
    int64_t next_ms = flake_i_elapsed_ms() + third_ms;
    flake_i_etcd_watch(s, s->key64, NULL);
    while (!FLAKE_ATOMIC_LOAD(&c->stop, relaxed)) { /* relaxed: joined by whoever stores it */
        const uint64_t state = FLAKE_ATOMIC_LOAD(&c->state, relaxed);
        if (!flake_i_etcd_is_held(state)) break;
        const int64_t now_ns = flake_i_elapsed_ns(), now_ms = now_ns / 1000000;
        const int64_t end_ns = (int64_t)FLAKE_ATOMIC_LOAD(&c->deadline_ns, relaxed);
        if (now_ns >= end_ns) {
            flake_i_etcd_close(c, state, FLAKE_I_ETCD_RAN_OUT);
            break;
        }
        if (now_ms < next_ms && !s->stirred) {
            const int64_t end_ms = end_ns / 1000000 + 1;
            const int64_t until_ms = next_ms < end_ms ? next_ms : end_ms;
            if (!flake_i_etcd_rest(s, until_ms - now_ms) && next_ms > now_ms + soon_ms)
                next_ms = now_ms + soon_ms; /* what ended the watch may have ended more */
            continue;
        }
        s->stirred = false;
        const flake_i_etcd_result result = flake_i_etcd_renew(c, s, NULL);
        if (result == FLAKE_I_ETCD_REFUSED) {
            flake_i_etcd_close(c, state, FLAKE_I_ETCD_TAKEN);
            break;
        }
        next_ms = flake_i_elapsed_ms() + (result == FLAKE_I_ETCD_DONE ? third_ms : soon_ms);
        if (result == FLAKE_I_ETCD_DONE) flake_i_etcd_watch(s, s->key64, NULL);
        else flake_i_etcd_unwatch(s);
    }
    flake_i_etcd_unwatch(s);
    return NULL;
}

/* ---- claim ---- */

static inline void flake_i_etcd_end_session(flake_i_etcd_session *s) {
    if (!s) return;
    if (s->multi) (void)curl_multi_cleanup(s->multi);
    if (s->easy) curl_easy_cleanup(s->easy);
    if (s->watch) curl_easy_cleanup(s->watch);
    curl_slist_free_all(s->headers);
    free(s->answer);
    free(s->endpoints);
    free(s->login);
    free(s);
}

/* Options with the defaults filled in; the option that does not fit, or NULL. */
static inline const char *flake_i_etcd_resolve(flake_etcd_options *o) {
    const int64_t hour_ms = 3600000;
    if (!o->endpoints) o->endpoints = "http://127.0.0.1:2379";
    if (!o->name_space) o->name_space = "";
    if (strlen(o->name_space) > FLAKE_I_ETCD_NAME_SPACE) return "name_space: longer than 255 bytes";
    if (!o->pool_size) o->pool_size = 256;
    if (o->pool_size != 256 && o->pool_size != 2048) return "pool_size: neither 256 nor 2048";
    if (o->cluster_given ? o->cluster > 15 : o->cluster != 0)
        return "cluster: above 15, or given without cluster_given";
    if (!o->ttl_ms) o->ttl_ms = 10000;
    if (o->ttl_ms < 1000 || o->ttl_ms > 300000) return "ttl_ms: not 1,000 to 300,000";
    if (!o->margin_ms) o->margin_ms = o->ttl_ms / 5;
    if (o->margin_ms < 100 || o->margin_ms >= o->ttl_ms / 2)
        return "margin_ms: below 100, or half of ttl_ms and more";
    if (o->wait_ms < 0) return "wait_ms: negative";
    if (!o->hold_ms) o->hold_ms = 2000;
    if (o->hold_ms < 0 || o->hold_ms > hour_ms) return "hold_ms: not 0 to 3,600,000";
    if (!o->timeout_ms) o->timeout_ms = o->ttl_ms / 8;
    if (o->timeout_ms < 0 || o->timeout_ms > hour_ms) return "timeout_ms: not 0 to 3,600,000";
    if (o->password && !o->user) return "password: without user";
    return NULL;
}

/* Cuts "http://a:1, https://b:2/" into its parts. */
static inline bool flake_i_etcd_part(flake_i_etcd_session *s) {
    for (char *at = s->endpoints, *end; *at; at = end) {
        while (*at == ' ') at++;
        end = at + strcspn(at, ",");
        char *last = end;
        if (*end) *end++ = 0;
        while (last > at && (last[-1] == ' ' || last[-1] == '/')) *--last = 0;
        const size_t scheme = strncmp(at, "https://", 8) == 0  ? 8
                              : strncmp(at, "http://", 7) == 0 ? 7
                                                               : 0;
        if (!scheme || (size_t)(last - at) <= scheme || last - at > 255 ||
            s->endpoint_count == FLAKE_I_ETCD_ENDPOINTS)
            return false;
        for (const char *c = at; c < last; c++)
            if (*c <= ' ' || *c > '~') return false;
        s->endpoint[s->endpoint_count++] = at;
    }
    return s->endpoint_count > 0;
}

static inline char *flake_i_json_quote(char *at, const char *text) {
    static const char hex[] = "0123456789abcdef";
    *at++ = '"';
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c < 0x20) {
            memcpy(at, "\\u00", 4);
            at[4] = hex[c >> 4];
            at[5] = hex[c & 15];
            at += 6;
            continue;
        }
        if (c == '"' || c == '\\') *at++ = '\\';
        *at++ = (char)c;
    }
    *at++ = '"';
    return at;
}

static inline char *flake_i_etcd_login(const char *user, const char *password) {
    char *const body = (char *)malloc((strlen(user) + strlen(password)) * 6 + 32);
    if (!body) return NULL;
    char *at = body;
    memcpy(at, "{\"name\":", 8);
    at = flake_i_json_quote(at + 8, user);
    memcpy(at, ",\"password\":", 12);
    at = flake_i_json_quote(at + 12, password);
    memcpy(at, "}", 2);
    return body;
}

/* What a claim needs before it asks etcd anything. */
static inline flake_i_etcd_session *flake_i_etcd_begin(const flake_etcd_options *options,
                                                       flake_status *status, flake_why *why) {
    flake_i_etcd_session *s = (flake_i_etcd_session *)calloc(1, sizeof *s);
    *status = FLAKE_IO;
    flake_i_put_why(why, "memory, or libcurl, is not to be had", "", "");
    if (!s) return NULL;
    if (options) s->options = *options;
    const char *const unfit = flake_i_etcd_resolve(&s->options);
    flake_etcd_options *const o = &s->options;
    if (unfit) {
        *status = FLAKE_INVALID;
        flake_i_put_why(why, "flake_etcd_options.", unfit, "");
        goto failed;
    }
    memcpy(s->name_space, o->name_space, strlen(o->name_space));
    if (!(s->endpoints = flake_i_copy_text(o->endpoints))) goto failed;
    if (!flake_i_etcd_part(s)) {
        *status = FLAKE_INVALID;
        flake_i_put_why(why,
                        "flake_etcd_options.endpoints: not 1 to 16 of http:// or https:// in \"",
                        o->endpoints, "\"");
        goto failed;
    }
    if (o->user && !(s->login = flake_i_etcd_login(o->user, o->password ? o->password : "")))
        goto failed;
    s->easy = curl_easy_init();
    s->watch = curl_easy_init();
    s->multi = curl_multi_init();
    if (!s->easy || !s->watch || !s->multi || !flake_i_etcd_set_headers(s, NULL, 0)) goto failed;
    if (!flake_i_etcd_dress(s, s->easy, flake_i_etcd_hear) ||
        !flake_i_etcd_dress(s, s->watch, flake_i_etcd_stir)) {
        *status = FLAKE_INVALID;
        flake_i_put_why(why, "flake_etcd_options: libcurl refuses ca_file, cert_file or key_file",
                        "", "");
        goto failed;
    }
    *status = FLAKE_OK;
    return s;
failed:
    flake_i_etcd_end_session(s);
    return NULL;
}

static inline flake_status flake_i_etcd_read_clusters(flake_i_etcd_session *s, unsigned *clusters,
                                                      size_t *n, flake_why *why) {
    char key[FLAKE_I_ETCD_KEY], key64[sizeof key * 4 / 3 + 4], body[FLAKE_I_ETCD_BODY], value[128];
    const char *text;
    size_t len = 0;
    flake_i_json answer;
    clusters[0] = s->options.cluster;
    *n = 1;
    if (s->options.cluster_given) return FLAKE_OK;
    (void)snprintf(key, sizeof key, "%scluster-id", s->name_space);
    flake_i_to_base64(key, strlen(key), key64);
    (void)snprintf(body, sizeof body, "{\"key\":\"%s\"}", key64);
    if (flake_i_etcd_call(s, "kv/range", body, &answer, why) != FLAKE_I_ETCD_DONE) return FLAKE_IO;
    if (!flake_i_json_member(answer, "header").at) {
        flake_i_put_why(why, s->endpoint[s->current], ": ", "not etcd's answer to a range");
        return FLAKE_IO;
    }
    const flake_i_json kvs = flake_i_json_member(answer, "kvs");
    if (!kvs.at) return FLAKE_OK; /* no such key: 0 */
    const flake_i_json at = flake_i_json_member(flake_i_json_first(kvs), "value");
    if (at.at && flake_i_json_string(at, &text, &len))
        len = flake_i_from_base64(text, len, value, sizeof value);
    if (len != SIZE_MAX && flake_i_etcd_clusters(value, len, clusters, n)) return FLAKE_OK;
    flake_i_put_why(why, "the key ", key, " is not a number from 0 to 15, or several with commas");
    return FLAKE_INVALID;
}

/* "pool/3:" behind the name space. */
static inline void flake_i_etcd_prefix(const flake_i_etcd_session *s, unsigned cluster,
                                       char prefix[FLAKE_I_ETCD_KEY]) {
    (void)snprintf(prefix, FLAKE_I_ETCD_KEY, "%spool/%u:", s->name_space, cluster);
}

static inline uint64_t flake_i_etcd_mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Tries the free numbers of one cluster, from a different one on each time, so that a number that
 * has just come free is not the first to be taken again. FLAKE_AGAIN: none is free. */
static inline flake_status flake_i_etcd_take(flake_etcd *c, flake_i_etcd_session *s,
                                             unsigned cluster, flake_why *why) {
    char prefix[FLAKE_I_ETCD_KEY], key[FLAKE_I_ETCD_KEY + 16], end64[sizeof s->key64];
    char body[FLAKE_I_ETCD_BODY];
    bool taken[2048];
    flake_i_json answer;
    const size_t size = s->options.pool_size;
    memset(taken, 0, sizeof taken);
    flake_i_etcd_prefix(s, cluster, prefix);
    flake_i_to_base64(prefix, strlen(prefix), s->key64);
    (void)snprintf(key, sizeof key, "%spool/%u;", s->name_space, cluster); /* ';' follows ':' */
    flake_i_to_base64(key, strlen(key), end64);
    (void)snprintf(body, sizeof body, "{\"key\":\"%s\",\"range_end\":\"%s\",\"keys_only\":true}",
                   s->key64, end64);
    if (s->options.wait_ms) flake_i_etcd_watch(s, s->key64, end64); /* before the look */
    if (flake_i_etcd_call(s, "kv/range", body, &answer, why) != FLAKE_I_ETCD_DONE) return FLAKE_IO;
    if (!flake_i_etcd_taken(answer, prefix, size, taken)) {
        flake_i_put_why(why, s->endpoint[s->current], ": ", "not etcd's answer to a range");
        return FLAKE_IO;
    }
    const uint64_t now = (uint64_t)flake_i_elapsed_ns(), pid = (uint64_t)flake_i_pid();
    const size_t start =
        (size_t)(flake_i_etcd_mix(now ^ pid << 40 ^ (uint64_t)(uintptr_t)s) % size);
    int leases = 0;
    for (size_t i = 0; i < size;) {
        const size_t slot = (start + i) % size;
        if (taken[slot]) {
            i++;
            continue;
        }
        if (!s->lease) {
            if (leases++ == 3) {
                flake_i_put_why(why, s->endpoint[s->current], ": ", "leases don't last");
                return FLAKE_IO;
            }
            if (flake_i_etcd_grant(s, s->options.ttl_ms, &s->lease, &s->ttl_ms, why) !=
                FLAKE_I_ETCD_DONE)
                return FLAKE_IO;
        }
        (void)snprintf(key, sizeof key, "%s%u", prefix, (unsigned)slot);
        flake_i_to_base64(key, strlen(key), s->key64);
        (void)snprintf(body, sizeof body,
                       "{\"compare\":[{\"key\":\"%s\",\"target\":\"VERSION\",\"result\":\"EQUAL\","
                       "\"version\":\"0\"}],\"success\":[{\"request_put\":{\"key\":\"%s\","
                       "\"lease\":\"%lld\"}}],\"failure\":[{\"request_range\":{\"key\":\"%s\"}}]}",
                       s->key64, s->key64, (long long)s->lease, s->key64);
        const flake_i_etcd_result result = flake_i_etcd_call(s, "kv/txn", body, &answer, why);
        if (result == FLAKE_I_ETCD_REFUSED && s->code == FLAKE_I_ETCD_NOT_FOUND) {
            s->lease = 0; /* ran out while the pool was full */
            continue;
        }
        if (result != FLAKE_I_ETCD_DONE) return FLAKE_IO;
        const flake_i_etcd_owner owner = flake_i_etcd_owner_after(answer, s->key64, s->lease);
        if (owner == FLAKE_I_ETCD_ANOTHER) {
            i++;
            continue;
        }
        if (owner != FLAKE_I_ETCD_OURS) {
            flake_i_put_why(why, s->endpoint[s->current], ": ",
                            "not etcd's answer to a transaction");
            return FLAKE_IO;
        }
        /* A coarse clock may lag by 10 ms at the first draw. Who had the number before has ended a
         * margin, of 100 ms at least, before the transaction. */
        c->since_unix_ns = FLAKE_CLOCK_NS(FLAKE_CLOCK_EXACT) - 20000000;
        c->cluster = cluster;
        c->generator = (unsigned)slot;
        return FLAKE_OK;
    }
    return FLAKE_AGAIN;
}

static inline flake_status flake_i_etcd_take_any(flake_etcd *c, flake_i_etcd_session *s,
                                                 flake_why *why) {
    unsigned clusters[16];
    size_t n;
    flake_status status = flake_i_etcd_read_clusters(s, clusters, &n, why);
    if (status != FLAKE_OK) return status;
    const int64_t end_ms = flake_i_elapsed_ms() + s->options.wait_ms;
    for (;;) {
        for (size_t i = 0; i < n; i++) {
            if (n > 1) flake_i_etcd_unwatch(s); /* one watch, of the last cluster, must do */
            status = flake_i_etcd_take(c, s, clusters[i], why);
            if (status != FLAKE_AGAIN) return status;
        }
        const int64_t left_ms = end_ms - flake_i_elapsed_ms();
        if (left_ms <= 0) {
            flake_i_put_why(why, "flake_etcd_options.pool_size: all numbers are taken", "", "");
            return FLAKE_AGAIN;
        }
        s->stirred = false;
        (void)flake_i_etcd_rest(s, left_ms < 1000 ? left_ms : 1000);
        FLAKE_SLEEP_NS(10000000); /* what comes free together is seen together */
    }
}

static inline flake_status flake_i_etcd_start(flake_etcd *c, flake_i_etcd_session *s,
                                              flake_why *why) {
    flake_status status = flake_i_etcd_take_any(c, s, why);
    flake_i_etcd_unwatch(s);
    if (status != FLAKE_OK) return status;
    if (s->options.margin_ms >= s->ttl_ms / 2) {
        flake_i_put_why(why, "flake_etcd_options.margin_ms: ", "half of the granted TTL and more",
                        "");
        return FLAKE_INVALID;
    }
    FLAKE_ATOMIC_STORE(&c->stop, 0u, relaxed);
    const flake_i_etcd_result renewed = flake_i_etcd_renew(c, s, why);
    if (renewed == FLAKE_I_ETCD_REFUSED)
        flake_i_put_why(why, s->endpoint[s->current], ": ", "the key was deleted at once");
    if (renewed != FLAKE_I_ETCD_DONE) return FLAKE_IO;
    if (!c->word) {
        void *const page = flake_i_new_page(false);
        if (page && flake_i_wipe_on_fork(page)) c->word = (flake_i_atomic64 *)page;
        else if (page) flake_i_drop_page(page);
    }
    const uint64_t claim = (FLAKE_ATOMIC_LOAD(&c->state, relaxed) >> 2) + 1;
    c->session = s;
    c->pid = (uint64_t)flake_i_pid();
    FLAKE_ATOMIC_STORE(&c->ran_ahead, 0u, relaxed);
    if (c->word) FLAKE_ATOMIC_STORE(c->word, claim, relaxed);
    FLAKE_ATOMIC_STORE(&c->state, claim << 2 | FLAKE_I_ETCD_HELD, release);
    if (pthread_create(&c->thread, NULL, flake_i_etcd_keep, c) == 0) return FLAKE_OK;
    flake_i_put_why(why, "pthread_create failed", "", "");
    flake_i_etcd_close(c, claim << 2 | FLAKE_I_ETCD_HELD, FLAKE_I_ETCD_NONE);
    c->session = NULL;
    return FLAKE_IO;
}

static inline flake_status flake_etcd_claim(flake_etcd *c, const flake_etcd_options *options,
                                            flake_why *why) {
    if (!c || c->session || (c->pid && !c->word)) {
        /* Without a word generators of the last claim could not tell it from this one. */
        flake_i_put_why(why, "flake_etcd_claim: the claim is not released, or needs a fresh object",
                        "", "");
        return FLAKE_INVALID;
    }
    flake_status status;
    flake_i_etcd_session *const s = flake_i_etcd_begin(options, &status, why);
    if (!s) return status;
    if (s->login && flake_i_etcd_log_in_anywhere(s, why) != FLAKE_I_ETCD_DONE) status = FLAKE_IO;
    else status = flake_i_etcd_start(c, s, why);
    if (status != FLAKE_OK) {
        if (s->lease) flake_i_etcd_revoke(s);
        flake_i_etcd_end_session(s);
    } else if (why) why->text[0] = 0;
    return status;
}

/* Gives the key a lease of its own that nobody renews, and ends ours: so the number comes free after
 * hold_ms, and nobody has to wait for that. */
static inline flake_status flake_i_etcd_hand_back(flake_i_etcd_session *s, flake_why *why) {
    char body[FLAKE_I_ETCD_BODY];
    flake_i_json answer;
    int64_t lease, ttl_ms;
    if (flake_i_etcd_grant(s, s->options.hold_ms, &lease, &ttl_ms, why) != FLAKE_I_ETCD_DONE)
        return FLAKE_IO;
    (void)snprintf(body, sizeof body,
                   "{\"compare\":[{\"key\":\"%s\",\"target\":\"LEASE\",\"result\":\"EQUAL\","
                   "\"lease\":\"%lld\"}],\"success\":[{\"request_put\":{\"key\":\"%s\","
                   "\"lease\":\"%lld\"}}]}",
                   s->key64, (long long)s->lease, s->key64, (long long)lease);
    if (flake_i_etcd_call(s, "kv/txn", body, &answer, why) != FLAKE_I_ETCD_DONE) return FLAKE_IO;
    flake_i_etcd_revoke(s);
    return FLAKE_OK;
}

static inline flake_status flake_etcd_release(flake_etcd *c, flake_why *why) {
    flake_status status = FLAKE_OK;
    if (!c || !c->session) {
        flake_i_put_why(why, "flake_etcd_release: nothing is claimed", "", "");
        return FLAKE_INVALID;
    }
    flake_i_etcd_session *const s = c->session;
    const bool child = c->pid != (uint64_t)flake_i_pid();
    const uint64_t state = FLAKE_ATOMIC_LOAD(&c->state, relaxed);
    if (child) {
        /* libcurl's part stays: to close a connection is to say goodbye on the parent's socket. */
        free(s->answer);
        free(s->endpoints);
        free(s->login);
        free(s);
        c->session = NULL;
        flake_i_etcd_close(c, state, FLAKE_I_ETCD_NONE);
        return FLAKE_OK;
    }
    const bool held = flake_i_etcd_is_held(state);
    flake_i_etcd_close(c, state, FLAKE_I_ETCD_NONE);
    FLAKE_ATOMIC_STORE(&c->stop, 1u, relaxed);
    (void)curl_multi_wakeup(s->multi);
    (void)pthread_join(c->thread, NULL);
    c->session = NULL;
    if (why) why->text[0] = 0;
    /* Ids whose times ran ahead of the clock are covered by the lease as it stands, not by a hold. */
    if (held && !FLAKE_ATOMIC_LOAD(&c->ran_ahead, seq_cst)) status = flake_i_etcd_hand_back(s, why);
    flake_i_etcd_end_session(s);
    return status;
}

static inline void flake_etcd_destroy(flake_etcd *c) {
    if (!c) return;
    if (c->session) (void)flake_etcd_release(c, NULL);
    if (c->word) flake_i_drop_page((void *)c->word);
    c->word = NULL;
    c->pid = 0;
}

static inline unsigned flake_etcd_cluster(const flake_etcd *c) { return c->cluster; }
static inline unsigned flake_etcd_generator(const flake_etcd *c) { return c->generator; }
static inline uint32_t flake_etcd_node(const flake_etcd *c) {
    return flake_uniqueid_node(c->cluster, c->generator);
}

static inline flake_gate flake_etcd_gate(flake_etcd *c) {
    flake_gate gate;
    gate.admit = flake_i_etcd_admit;
    gate.user = c;
    gate.word = c->word;
    return gate;
}

static inline int64_t flake_etcd_left_ms(flake_etcd *c) {
    if (flake_etcd_check(c, NULL) != FLAKE_OK) return 0;
    const int64_t end_ns = (int64_t)FLAKE_ATOMIC_LOAD(&c->deadline_ns, relaxed);
    const int64_t left_ms = (end_ns - flake_i_elapsed_ns()) / 1000000;
    return left_ms > 0 ? left_ms : 0;
}

static inline flake_status flake_etcd_check(flake_etcd *c, flake_why *why) {
    const flake_status status = flake_i_etcd_holds(c);
    switch (FLAKE_ATOMIC_LOAD(&c->state, relaxed) & 3) {
    case FLAKE_I_ETCD_HELD:
        flake_i_put_why(why, status == FLAKE_FORKED ? "the claim is the parent's" : "", "", "");
        break;
    case FLAKE_I_ETCD_RAN_OUT: flake_i_put_why(why, "etcd was not reached in time", "", ""); break;
    case FLAKE_I_ETCD_TAKEN:
        flake_i_put_why(why, "the key was deleted, or its lease revoked or run out", "", "");
        break;
    default: flake_i_put_why(why, "nothing is claimed", "", ""); break;
    }
    return status;
}
#endif /* FLAKE_ETCD */

// >>tool
/* The command-line tool: cc -O2 -x c -DFLAKE_MAIN flake.h -o flake */

#ifdef FLAKE_MAIN
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#if defined(_WIN32)
#include <io.h>
#endif

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
    fputs("flake: ", stderr);
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
            tool_misused("%s has no option %.*s: `flake help` lists what it has", command,
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
        tool_misused("COUNT '%s' is not a whole number: `flake %s 1000`", words[0], command);
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
    const int64_t start_ns = FLAKE_CLOCK_NS(FLAKE_CLOCK_EXACT);
    const int64_t unit_ns = unit_ms * 1000000, shift_ns = epoch_ms % unit_ms * 1000000;
    const int64_t next_ns = (tool_floor_div(start_ns - shift_ns, unit_ns) + 1) * unit_ns + shift_ns;
    for (int64_t now_ns = start_ns; now_ns >= start_ns && now_ns < next_ns;
         now_ns = FLAKE_CLOCK_NS(FLAKE_CLOCK_EXACT))
        FLAKE_SLEEP_NS(next_ns - now_ns);
}

/* ---- progress, for somebody who watches a terminal ---- */

typedef struct tool_progress {
    int64_t began_ns, shown_ns;
    bool watched;
} tool_progress;

static tool_progress tool_progress_begin(void) {
    tool_progress p;
    p.began_ns = p.shown_ns = FLAKE_CLOCK_NS(FLAKE_CLOCK_EXACT);
    p.watched = tool_on_terminal(2) && !tool_on_terminal(1);
    return p;
}

static void tool_progress_show(tool_progress *p, uint64_t done, uint64_t count) {
    if (!p->watched) return;
    const int64_t now_ns = FLAKE_CLOCK_NS(FLAKE_CLOCK_EXACT);
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

/* What `flake help` prints, and flake(1). */
static const char *const tool_help[] = {
    "flake: unique, time-ordered 64-bit and 128-bit ids\n"
    "\n"
    "USAGE\n"
    "    flake generate [OPTION]... [COUNT]\n"
    "                        prints COUNT new ids (1), one a line\n"
    "    flake inspect [OPTION]... ID...\n"
    "                        takes ids apart; the ID - reads them from the standard input, one a\n"
    "                        line\n"
    "    flake range --from=TIME --to=TIME [OPTION]...\n"
    "                        the smallest and the largest id of all that are made between the two\n"
    "                        times, the unit of --to included: for a query of a database\n"
    "    flake time [OPTION]... COUNT\n"
    "                        draws COUNT ids, one at a time, and says how long it took\n"
    "    flake layouts       lists the layouts\n"
    "    flake version       prints the version\n"
    "    flake help          prints this\n"
    "\n"
    "OPTIONS OF ALL\n"
    "    --layout=NAME       what the bits mean: a name that `flake layouts` lists, T-N-S for T "
    "bits\n"
    "                        of time, N of node and S of sequence (41-10-12), or hazelcast-S-N; "
    "the\n"
    "                        default is idgen, and for a 128-bit ID boundary\n"
    "    --epoch=MS          Unix time in ms at which the ids' time begins, or a date; the "
    "layout's\n"
    "    --format=FORM       how ids are written: dec, hex, bin, bin4 (groups of four bits), "
    "base32,\n"
    "                        base36, base58, base62; for boundary all from base2 to base62, with\n"
    "                        digits, upper case, lower case. The default is dec, for boundary "
    "base62\n"
    "    --json              prints one JSON object, or one a line; ids are strings, since a\n"
    "                        JavaScript number holds 53 bits\n"
    "\n",
    "WHO MAKES THE IDS (generate, time)\n"
    "    --node=N            the layout's node number, for boundary the 48-bit worker; 0. It may "
    "be\n"
    "                        hex: 0x1f. Two generators that run at the same time need two numbers\n"
    "    --datacenter=N --worker=N\n"
    "                        the halves of the node number of idgen and twitter\n"
    "    --cluster=N --generator=N\n"
    "                        the parts of that of uniqueid\n"
    "    --interface[=IF]    the MAC address of a network interface, or of the first real one\n"
    "    --ip                the low 16 bits of this host's IPv4 address\n"
    "    --hostname[=NAME]   the number that a host's name ends in, this one's: web-3 is 3\n"
    "    --env=NAME          the number in an environment variable\n"
    "    --slot-dir=DIR      a number that no other process on this host has which claims it in "
    "DIR\n"
    "    --low-bits          take the low bits of a MAC (48 bits) or IPv4 address (16) that is "
    "longer\n"
    "                        than the layout's node number. Without it that is refused, since two\n"
    "                        hosts could get the same\n"
    "\n"
    "IDS ON THE COMMAND LINE\n"
    "    Without --format inspect looks at an ID in this order, and takes the first form that "
    "fits:\n"
    "\n"
    "    1. 0x or 0b in front: hex or binary\n"
    "    2. only 0 and 1, more than 20 of them, or 16 groups of four: binary\n"
    "    3. 16 or 32 hex digits, with a letter among them or a 0 in front: hex of 64 or 128 bits\n"
    "    4. only digits: decimal\n"
    "    5. only hex digits, in one case: hex\n"
    "    6. up to 11 characters: base62 of 64 bits\n"
    "    7. up to 13, no lower case: base32, or base36 if it has an I, L, O or U\n"
    "    8. 19 to 25, no lower case: base36 of 128 bits\n"
    "    9. up to 22: base62 of 128 bits\n"
    "\n"
    "    What else a text might be is shown with the answer. Base58 must be named. The text of a "
    "sno,\n"
    "    16 characters from 2 to 9 and a to x, is for the tool of that name.\n"
    "\n",
    "TIME\n"
    "    A date, 2024-01-02, for its first moment; with a time of day, 2024-01-02T03:04:05.678Z, "
    "where\n"
    "    seconds, fraction and Z may be missing, and +02:00 may stand in place of Z; or Unix time: "
    "a\n"
    "    number of ms, and below 100000000000 one of seconds. All without a zone is UTC.\n"
    "\n"
    "UNIQUENESS\n"
    "    A run begins in a unit of time of its own, so one that follows another never repeats its\n"
    "    ids, if the clock is not put back. Two at the same time need two node numbers: "
    "--slot-dir\n"
    "    sees to that on one host.\n"
    "\n"
    "EXIT STATUS\n"
    "    0                   all is well\n"
    "    1                   it could not be done: the clock, the output, a file\n"
    "    2                   it was not asked rightly; the message says what to change\n"
    "\n"
    "EXAMPLES\n"
    "    $ flake generate --datacenter=3 --worker=1 1000000 > ids\n"
    "    $ flake inspect 5828128208445124608\n"
    "    $ flake generate --layout=boundary --interface | flake inspect -\n"
    "    $ flake range --layout=twitter --from=2024-01-01 --to=2024-01-31T23:59:59.999\n"
    "    $ flake time --layout=mastodon 10000000\n",
};

enum { TOOL_GENERATE = 1, TOOL_INSPECT = 2, TOOL_RANGE = 4, TOOL_TIME = 8, TOOL_LAYOUTS = 16 };
#define TOOL_DRAWS (TOOL_GENERATE | TOOL_TIME)
#define TOOL_ALL   (TOOL_GENERATE | TOOL_INSPECT | TOOL_RANGE | TOOL_TIME)

enum {
    TOOL_LAYOUT,
    TOOL_EPOCH,
    TOOL_FORMAT,
    TOOL_JSON,
    TOOL_FROM,
    TOOL_TO,
    TOOL_NODE,
    TOOL_DATACENTER,
    TOOL_WORKER,
    TOOL_CLUSTER,
    TOOL_GENERATOR,
    TOOL_INTERFACE,
    TOOL_IP,
    TOOL_HOSTNAME,
    TOOL_ENV,
    TOOL_SLOT_DIR,
    TOOL_LOW_BITS,
    TOOL_OPTIONS
};

static const tool_option tool_options[TOOL_OPTIONS] = {
    {"--layout", "NAME", TOOL_ALL, false},
    {"--epoch", "MS", TOOL_ALL, false},
    {"--format", "FORM", TOOL_GENERATE | TOOL_INSPECT | TOOL_RANGE, false},
    {"--json", NULL, TOOL_ALL | TOOL_LAYOUTS, false},
    {"--from", "TIME", TOOL_RANGE, false},
    {"--to", "TIME", TOOL_RANGE, false},
    {"--node", "N", TOOL_DRAWS, false},
    {"--datacenter", "N", TOOL_DRAWS, false},
    {"--worker", "N", TOOL_DRAWS, false},
    {"--cluster", "N", TOOL_DRAWS, false},
    {"--generator", "N", TOOL_DRAWS, false},
    {"--interface", "IF", TOOL_DRAWS, true},
    {"--ip", NULL, TOOL_DRAWS, false},
    {"--hostname", "NAME", TOOL_DRAWS, true},
    {"--env", "NAME", TOOL_DRAWS, false},
    {"--slot-dir", "DIR", TOOL_DRAWS, false},
    {"--low-bits", NULL, TOOL_DRAWS, false},
};

/* ---- layouts ---- */

typedef struct tool_layout {
    const char *name, *about;
    flake_layout (*make)(void); /* NULL: boundary's 128 bits */
    const char *high, *low; /* what the parts of the node number are called; NULL: it has none */
    unsigned low_bits;
} tool_layout;

static const tool_layout tool_layouts[] = {
    {"idgen", "npm flake-idgen", flake_layout_idgen, "datacenter", "worker", 5},
    {"hazelcast", "Hazelcast's FlakeIdGenerator", flake_layout_hazelcast, NULL, NULL, 0},
    {"uniqueid_ordered", "Lable uniqueid, TIME_SEQUENTIAL", flake_layout_uniqueid_ordered,
     "generator", "cluster", 4},
    {"uniqueid_spread", "Lable uniqueid, SPREAD", flake_layout_uniqueid_spread, "generator",
     "cluster", 4},
    {"twitter", "Twitter's Snowflake", flake_layout_twitter, "datacenter", "worker", 5},
    {"sonyflake", "Sonyflake", flake_layout_sonyflake, NULL, NULL, 0},
    {"discord", "Discord", flake_layout_discord, "worker", "process", 5},
    {"instagram", "Instagram", flake_layout_instagram, NULL, NULL, 0},
    {"mastodon", "Mastodon", flake_layout_mastodon, NULL, NULL, 0},
    {"js53", "53 bits, exact in a JavaScript number", flake_layout_js53, NULL, NULL, 0},
    {"boundary", "boundary/flake, 128 bits", NULL, NULL, NULL, 0},
};
#define TOOL_LAYOUT_COUNT (sizeof tool_layouts / sizeof *tool_layouts)

/* One that --layout describes, under the name that it is given there. */
static tool_layout tool_own_layout = {NULL, "your own", NULL, NULL, NULL, 0};

/* A layout as it is used: with its epoch, or 128 bits wide. */
typedef struct tool_choice {
    const tool_layout *known;
    flake_layout layout;
    bool wide;
} tool_choice;

static const char *tool_given[TOOL_OPTIONS];

static bool tool_is(const char *name, const char *word) {
    for (; *name && (*name == *word || (*name == '_' && *word == '-')); name++) word++;
    return *name == *word;
}

/* "T-N-S" behind `prefix`. */
static bool tool_three(const char *word, const char *prefix, unsigned *numbers, unsigned n) {
    const size_t length = strlen(prefix);
    if (strncmp(word, prefix, length) != 0) return false;
    word += length;
    for (unsigned i = 0; i < n; i++) {
        if (*word < '0' || *word > '9') return false;
        for (numbers[i] = 0; *word >= '0' && *word <= '9'; word++)
            if ((numbers[i] = numbers[i] * 10 + (unsigned)(*word - '0')) > 64) return false;
        if (*word != (i + 1 < n ? '-' : '\0')) return false;
        word++;
    }
    return true;
}

static int64_t tool_read_time(const char *option, const char *text, bool all_ms);

static tool_choice tool_choose_known(const tool_layout *known) {
    tool_choice c;
    memset(&c, 0, sizeof c);
    c.known = known;
    c.wide = !known->make;
    if (known->make) c.layout = known->make();
    return c;
}

static void tool_set_epoch(tool_choice *c) {
    const char *epoch = tool_given[TOOL_EPOCH];
    if (!epoch) return;
    if (c->wide) tool_misused("--epoch is not for boundary's ids: their time begins in 1970");
    c->layout.epoch_ms = tool_read_time("--epoch", epoch, true);
}

/* The layout that --layout names, or `otherwise`. */
static tool_choice tool_choose(const tool_layout *otherwise) {
    const char *word = tool_given[TOOL_LAYOUT];
    unsigned bits[3];
    tool_choice c = tool_choose_known(otherwise);
    if (word) {
        size_t i = 0;
        while (i < TOOL_LAYOUT_COUNT && !tool_is(tool_layouts[i].name, word)) i++;
        if (i < TOOL_LAYOUT_COUNT) {
            c = tool_choose_known(&tool_layouts[i]);
        } else if (tool_three(word, "", bits, 3)) {
            tool_own_layout.name = word;
            c.known = &tool_own_layout;
            c.wide = false;
            c.layout = flake_layout_of(bits[0], bits[1], bits[2], 0);
        } else if (tool_three(word, "hazelcast-", bits, 2)) {
            c = tool_choose_known(&tool_layouts[1]);
            c.layout = flake_layout_hazelcast_bits(bits[0], bits[1]);
        } else {
            tool_misused("--layout=%s is no layout: `flake layouts` lists them", word);
        }
        if (!c.wide && flake_layout_check(&c.layout) != FLAKE_OK)
            tool_misused(
                "--layout=%s does not fit 64 bits: at least 1 for the time, at most 32 for "
                "node and sequence, at most 64 in all",
                word);
    }
    tool_set_epoch(&c);
    return c;
}

static void tool_add_field(tool_field *fields, unsigned *shifts, size_t *n, uint64_t id,
                           const char *name, unsigned shift, unsigned bits) {
    if (!bits) return;
    size_t at = (*n)++;
    for (; at > 0 && shifts[at - 1] < shift; at--) {
        fields[at] = fields[at - 1];
        shifts[at] = shifts[at - 1];
    }
    fields[at].name = name;
    fields[at].bits = bits;
    fields[at].raw = fields[at].value = id >> shift & flake_i_ones(bits);
    shifts[at] = shift;
}

/* Bits first..end of the node number; in two pieces where the layout's gap parts them. */
static void tool_add_node(tool_field *fields, unsigned *shifts, size_t *n, uint64_t id,
                          const flake_layout *l, const char *name, unsigned first, unsigned end) {
    const unsigned gap = l->gap_at ? l->gap_at : 64;
    const unsigned below = first < gap ? (end < gap ? end : gap) : first;
    tool_add_field(fields, shifts, n, id, name, l->node_shift + first, below - first);
    tool_add_field(fields, shifts, n, id, name, l->node_shift + below + 1, end - below);
}

#define TOOL_FIELDS 16

/* The fields of an id, the most significant first, bits that no field covers among them. */
static size_t tool_fields_of(const tool_choice *c, uint64_t id, tool_field fields[TOOL_FIELDS]) {
    const flake_layout *l = &c->layout;
    unsigned shifts[TOOL_FIELDS], covered = 0;
    size_t n = 0;
    flake_parts parts;
    tool_add_field(fields, shifts, &n, id, l->spread ? "time, lowest bit first" : "time",
                   l->time_shift, l->time_bits);
    if (flake_decompose(l, id, &parts) == FLAKE_OK) fields[0].value = parts.time;
    tool_add_field(fields, shifts, &n, id, "sequence", l->seq_shift, l->seq_bits);
    if (c->known->high && l->node_bits > c->known->low_bits) {
        tool_add_node(fields, shifts, &n, id, l, c->known->low, 0, c->known->low_bits);
        tool_add_node(fields, shifts, &n, id, l, c->known->high, c->known->low_bits, l->node_bits);
    } else {
        tool_add_node(fields, shifts, &n, id, l, "node", 0, l->node_bits);
    }
    if (l->gap_at)
        tool_add_field(fields, shifts, &n, id, "mode", (unsigned)l->node_shift + l->gap_at, 1);
    for (size_t i = n; i-- > 0; covered = shifts[i] + fields[i].bits)
        if (shifts[i] > covered)
            tool_add_field(fields, shifts, &n, id, "unused", covered, shifts[i] - covered);
    if (covered < 64) tool_add_field(fields, shifts, &n, id, "unused", covered, 64 - covered);
    return n;
}

/* ---- texts ---- */

typedef struct tool_form {
    const char *name;
    flake_text text; /* of 64 bits */
    unsigned base;   /* of 128 bits; 0: not for them */
    bool narrow;     /* it is for 64 bits */
} tool_form;

enum {
    TOOL_DEC,
    TOOL_HEX,
    TOOL_BIN,
    TOOL_BIN4,
    TOOL_BASE32,
    TOOL_BASE36,
    TOOL_BASE58,
    TOOL_BASE62
};
static const tool_form tool_forms[] = {
    {"dec", FLAKE_DEC, 10, true},       {"hex", FLAKE_HEX, 16, true},
    {"bin", FLAKE_BIN, 2, true},        {"bin4", FLAKE_BIN4, 0, true},
    {"base32", FLAKE_BASE32, 32, true}, {"base36", FLAKE_BASE36, 36, true},
    {"base58", FLAKE_BASE58, 58, true}, {"base62", FLAKE_BASE62, 62, true}};
#define TOOL_FORM_COUNT (sizeof tool_forms / sizeof *tool_forms)

typedef struct tool_id {
    bool wide;
    uint64_t narrow;
    flake128 all;
    tool_form form;
} tool_id;

/* The form that --format names, for ids of one width or, in inspect, perhaps of either. */
static tool_form tool_choose_form(const char *word, bool narrow, bool wide) {
    static char name[8]; /* of one base */
    uint64_t base;
    for (size_t i = 0; i < TOOL_FORM_COUNT; i++)
        if (strcmp(word, tool_forms[i].name) == 0 && (narrow || tool_forms[i].base))
            return tool_forms[i];
    if (wide && strncmp(word, "base", 4) == 0 && strlen(word) <= 6 && word[4] != '0' &&
        tool_number(word + 4, &base) && base >= 2 && base <= 62) {
        const tool_form form = {name, FLAKE_DEC, (unsigned)base, false};
        memcpy(name, word, strlen(word) + 1);
        return form;
    }
    if (wide)
        tool_misused(
            "--format=%s is none of dec, hex, bin, base2 ... base62, which 128-bit ids have", word);
    tool_misused("--format=%s is none of dec, hex, bin, bin4, base32, base36, base58, base62",
                 word);
}

#define TOOL_TEXT_SIZE FLAKE128_TEXT_SIZE

/* Hex of 128 bits is always 32 digits in lower case, as hex of 64 bits is in lower case. */
static size_t tool_spell(const tool_form *form, const tool_id *id, char *text, size_t size) {
    if (!id->wide) return flake_format(id->narrow, form->text, text, size);
    if (form->text != FLAKE_HEX) return flake128_format(id->all, form->base, text, size);
    const size_t length = flake128_format_fixed(id->all, 16, text, size);
    for (size_t i = 0; i < length; i++)
        if (text[i] >= 'A') text[i] = (char)(text[i] - 'A' + 'a');
    return length;
}

/* Hex may be in either case, with 0x in front; binary may have 0b. */
static bool tool_parse(const char *given, const tool_form *form, bool wide, tool_id *id) {
    char text[TOOL_TEXT_SIZE];
    const bool hex = form->text == FLAKE_HEX;
    if (given[0] == '0' && ((hex && (given[1] == 'x' || given[1] == 'X')) ||
                            (form->text == FLAKE_BIN && (given[1] == 'b' || given[1] == 'B'))))
        given += 2;
    const size_t length = strlen(given);
    if (length >= sizeof text) return false;
    for (size_t i = 0; i <= length; i++) {
        text[i] = given[i];
        if (hex && !wide && text[i] >= 'A' && text[i] <= 'F') text[i] = (char)(text[i] - 'A' + 'a');
        if (hex && wide && text[i] >= 'a' && text[i] <= 'f') text[i] = (char)(text[i] - 'a' + 'A');
    }
    const flake_status status = wide ? flake128_parse(text, length, form->base, &id->all)
                                     : flake_parse(text, length, form->text, &id->narrow);
    if (status != FLAKE_OK) return false;
    id->wide = wide;
    id->form = *form;
    return true;
}

/* What characters a text is made of. */
typedef struct tool_look {
    size_t length;
    bool bits, digits, hex, one_case, upper, sno;
} tool_look;

static tool_look tool_look_at(const char *text) {
    tool_look look = {strlen(text), true, true, true, true, true, true};
    bool any_upper = false, any_lower = false;
    for (; *text; text++) {
        const char c = *text;
        const bool digit = c >= '0' && c <= '9', lower = c >= 'a' && c <= 'z';
        const bool upper = c >= 'A' && c <= 'Z';
        any_upper |= upper;
        any_lower |= lower;
        look.bits &= c == '0' || c == '1';
        look.digits &= digit;
        look.hex &= digit || (lower && c <= 'f') || (upper && c <= 'F');
        look.upper &= digit || upper;
        look.sno &= (digit && c >= '2') || (lower && c <= 'x');
    }
    look.one_case = !any_upper || !any_lower;
    look.sno &= look.length == 16;
    return look;
}

/* In the order that the help tells. */
static bool tool_recognise(const char *text, bool narrow, bool wide, tool_id *id) {
    const tool_look look = tool_look_at(text);
    const size_t length = look.length;
    const tool_form *const forms = tool_forms;
    const bool prefix = text[0] == '0' && length > 2;
#define TOOL_NARROW(form) (narrow && tool_parse(text, &forms[form], false, id))
#define TOOL_WIDE(form)   (wide && tool_parse(text, &forms[form], true, id))
#define TOOL_EITHER(form) (TOOL_NARROW(form) || TOOL_WIDE(form))
    if (prefix && (text[1] == 'x' || text[1] == 'X')) return TOOL_EITHER(TOOL_HEX);
    if (prefix && (text[1] == 'b' || text[1] == 'B')) return TOOL_EITHER(TOOL_BIN);
    if (TOOL_NARROW(TOOL_BIN4)) return true;
    if (look.bits && length > 20 && TOOL_EITHER(TOOL_BIN)) return true;
    if (look.hex && (!look.digits || text[0] == '0') &&
        ((length == 16 && TOOL_NARROW(TOOL_HEX)) || (length == 32 && TOOL_WIDE(TOOL_HEX))))
        return true;
    if (look.digits && TOOL_EITHER(TOOL_DEC)) return true;
    if (look.hex && look.one_case && TOOL_EITHER(TOOL_HEX)) return true;
    if (length <= 11 && TOOL_NARROW(TOOL_BASE62)) return true;
    if (look.upper && length <= 13 && (TOOL_NARROW(TOOL_BASE32) || TOOL_NARROW(TOOL_BASE36)))
        return true;
    if (look.upper && length >= 19 && TOOL_WIDE(TOOL_BASE36)) return true;
    if (look.sno && narrow && wide)
        tool_misused("'%s' looks like a sno: `sno inspect %s`; or name its --format", text, text);
    return TOOL_WIDE(TOOL_BASE62);
#undef TOOL_EITHER
#undef TOOL_WIDE
#undef TOOL_NARROW
}

/* ---- time, as it is typed ---- */

static bool tool_two_digits(const char **at, int64_t *number) {
    const char *text = *at;
    if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9') return false;
    *number = (text[0] - '0') * 10 + (text[1] - '0');
    *at += 2;
    return true;
}

static bool tool_parse_clock(const char *at, int64_t *ms) {
    int64_t hour, minute, second = 0, zone_hour, zone_minute = 0, fraction = 0, scale = 100;
    if (*at != 'T' && *at != 't' && *at != ' ') return false;
    at++;
    if (!tool_two_digits(&at, &hour) || *at++ != ':' || !tool_two_digits(&at, &minute))
        return false;
    if (*at == ':') {
        at++;
        if (!tool_two_digits(&at, &second)) return false;
    }
    if (*at == '.' || *at == ',') {
        if (*++at < '0' || *at > '9') return false;
        for (; *at >= '0' && *at <= '9'; at++, scale /= 10) fraction += (*at - '0') * scale;
    }
    if (hour > 23 || minute > 59 || second > 59) return false;
    *ms = ((hour * 60 + minute) * 60 + second) * 1000 + fraction;
    if ((*at == 'Z' || *at == 'z') && !at[1]) return true;
    if (*at == '+' || *at == '-') {
        const int64_t sign = *at++ == '+' ? 1 : -1;
        if (!tool_two_digits(&at, &zone_hour)) return false;
        if (*at == ':') at++;
        if (*at && !tool_two_digits(&at, &zone_minute)) return false;
        if (zone_hour > 23 || zone_minute > 59) return false;
        *ms -= sign * (zone_hour * 60 + zone_minute) * 60000;
    }
    return !*at;
}

/* Days since 1970-01-01; month 1..12. */
static int64_t tool_days(int64_t year, unsigned month, unsigned day) {
    const int64_t from_march = year - (month < 3), cycle = tool_floor_div(from_march, 400);
    return cycle * TOOL_DAYS_IN_400_YEARS + tool_year_begins(from_march - cycle * 400) +
           tool_days_before[(month + 9) % 12] + day - 1 - TOOL_DAYS_TO_1970;
}

static bool tool_parse_time(const char *at, bool all_ms, int64_t *ms) {
    const int64_t sign = *at == '-' ? -1 : 1;
    int64_t year, month, day, in_day = 0;
    if (*at == '-' || *at == '+') at++;
    unsigned digits = 0;
    for (year = 0; *at >= '0' && *at <= '9' && digits < 18; at++, digits++)
        year = year * 10 + (*at - '0');
    if (!digits) return false;
    if (!*at) { /* Unix time */
        *ms = sign * (all_ms || year >= 100000000000 ? year : year * 1000);
        return true;
    }
    if (*at++ != '-' || digits < 4 || year > 290000000 || !tool_two_digits(&at, &month) ||
        *at++ != '-' || !tool_two_digits(&at, &day))
        return false;
    if (month < 1 || month > 12 || day < 1) return false;
    const int64_t next_year = sign * year + (month == 12);
    const int64_t days = tool_days(sign * year, (unsigned)month, (unsigned)day);
    if (days >= tool_days(next_year, (unsigned)month % 12 + 1, 1)) return false;
    if (*at && !tool_parse_clock(at, &in_day)) return false;
    *ms = days * 86400000 + in_day;
    return true;
}

static int64_t tool_read_time(const char *option, const char *text, bool all_ms) {
    int64_t ms;
    if (!tool_parse_time(text, all_ms, &ms))
        tool_misused("%s=%s is no time: write 2024-01-02, 2024-01-02T03:04:05.678Z or Unix ms",
                     option, text);
    return ms;
}

/* ---- who makes the ids ---- */

static flake_slot tool_slot;
static bool tool_slot_claimed;

static void tool_no_node(const char *option, const flake_why *why) {
    tool_failed("%s: %s", option, why->text);
}

/* A number of `bits` bits, each of which tells hosts apart. */
static uint64_t tool_fit_bits(const tool_choice *c, const char *option, uint64_t number,
                              unsigned bits, unsigned node_bits) {
    if (bits <= node_bits) return number;
    if (!tool_given[TOOL_LOW_BITS])
        tool_misused(
            "%s gives %u bits, and layout %s has %u for the node number: two hosts could get "
            "the same. Take the low bits all the same with --low-bits, or choose --node, "
            "--hostname, --env or --slot-dir",
            option, bits, c->known->name, node_bits);
    return number & flake_i_ones(node_bits);
}

static uint64_t tool_fit(const tool_choice *c, const char *option, uint64_t number,
                         unsigned node_bits) {
    if (number > flake_i_ones(node_bits))
        tool_misused("%s gives node %" PRIu64 ", and layout %s has 0 to %" PRIu64, option, number,
                     c->known->name, flake_i_ones(node_bits));
    return number;
}

static uint64_t tool_node_from_halves(const tool_choice *c, int high, int low) {
    const tool_layout *k = c->known;
    const unsigned high_bits = c->layout.node_bits - k->low_bits;
    uint64_t number = 0;
    if (tool_given[high])
        number =
            tool_number_to(tool_options[high].name, tool_given[high], flake_i_ones(high_bits), "")
            << k->low_bits;
    if (tool_given[low])
        number |=
            tool_number_to(tool_options[low].name, tool_given[low], flake_i_ones(k->low_bits), "");
    return number;
}

static uint64_t tool_choose_node(const tool_choice *c) {
    static const int sources[] = {TOOL_NODE,      TOOL_DATACENTER, TOOL_WORKER, TOOL_CLUSTER,
                                  TOOL_GENERATOR, TOOL_INTERFACE,  TOOL_IP,     TOOL_HOSTNAME,
                                  TOOL_ENV,       TOOL_SLOT_DIR};
    const unsigned bits = c->wide ? 48 : c->layout.node_bits;
    const char *const *g = tool_given;
    int source = -1;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        const int next = sources[i];
        if (!g[next]) continue;
        const bool halves = (source == TOOL_DATACENTER && next == TOOL_WORKER) ||
                            (source == TOOL_CLUSTER && next == TOOL_GENERATOR);
        if (source >= 0 && !halves)
            tool_misused("%s and %s both say who makes the ids: give one of them",
                         tool_options[source].name, tool_options[next].name);
        if (!halves) source = next;
    }
    if (g[TOOL_LOW_BITS] && source != TOOL_INTERFACE && source != TOOL_IP)
        tool_misused("--low-bits goes with --interface or --ip");
    if (source < 0) return 0;
    const char *option = tool_options[source].name;
    if (!bits)
        tool_misused("layout %s has no bits for a node number: leave %s away", c->known->name,
                     option);
    switch (source) {
    case TOOL_NODE: {
        char why[64];
        (void)snprintf(why, sizeof why, ", what layout %s holds", c->known->name);
        return tool_number_to(option, g[TOOL_NODE], flake_i_ones(bits), why);
    }
    case TOOL_DATACENTER:
    case TOOL_WORKER:
        if (!c->known->high || strcmp(c->known->high, "datacenter") != 0)
            tool_misused("layout %s has no datacenter and worker: give it --node", c->known->name);
        return tool_node_from_halves(c, TOOL_DATACENTER, TOOL_WORKER);
    case TOOL_CLUSTER:
    case TOOL_GENERATOR:
        if (!c->known->low || strcmp(c->known->low, "cluster") != 0)
            tool_misused("layout %s has no cluster and generator: give it --node", c->known->name);
        return tool_node_from_halves(c, TOOL_GENERATOR, TOOL_CLUSTER);
    default: break;
    }
    flake_why why;
    uint64_t mac = 0;
    uint32_t number = 0;
    const char *name = g[source][0] ? g[source] : NULL;
    memset(&why, 0, sizeof why);
    switch (source) {
    case TOOL_INTERFACE:
        if (flake_worker_from_mac(name, &mac, &why) != FLAKE_OK) tool_no_node(option, &why);
        return tool_fit_bits(c, option, mac, 48, bits);
    case TOOL_IP:
        if (flake_node_from_ip(&number, &why) != FLAKE_OK) tool_no_node(option, &why);
        return tool_fit_bits(c, option, number, 16, bits);
    case TOOL_HOSTNAME:
        if (flake_node_from_hostname(name, &number, &why) != FLAKE_OK) tool_no_node(option, &why);
        return tool_fit(c, option, number, bits);
    case TOOL_ENV:
        if (flake_node_from_env(name, &number, &why) != FLAKE_OK) tool_no_node(option, &why);
        return tool_fit(c, option, number, bits);
    default: {
        flake_slot_options slots;
        memset(&slots, 0, sizeof slots);
        slots.dir = name;
        slots.count = (uint32_t)(bits < 16 ? flake_i_ones(bits) + 1 : 65536);
        if (flake_slot_claim(&tool_slot, &slots, &number, &why) != FLAKE_OK)
            tool_no_node(option, &why);
        tool_slot_claimed = true;
        return tool_fit(c, option, number, bits);
    }
    }
}

/* ---- generate, time ---- */

enum { TOOL_BATCH = 4096 };

static flake_gen tool_gen;
static flake128_gen tool_wide_gen;

TOOL_ENDS static void tool_cannot_draw(const tool_choice *c, flake_status status) {
    char text[TOOL_TIME_SIZE];
    if (status == FLAKE_RANGE || status == FLAKE_INVALID) /* a wild epoch is all that is left */
        tool_failed(
            "the clock is at no time that layout %s can express, which begins at %s: choose "
            "another --epoch or --layout",
            c->known->name, tool_time(c->layout.epoch_ms, text));
    tool_failed("%s", flake_status_str(status));
}

static void tool_start(const tool_choice *c) {
    const uint64_t node = tool_choose_node(c);
    flake_options options;
    flake_status status;
    memset(&options, 0, sizeof options);
    if (c->wide) {
        status = flake128_init(&tool_wide_gen, node, &options);
    } else {
        options.layout = c->layout;
        options.node = (uint32_t)node;
        status = flake_init(&tool_gen, &options);
    }
    if (status != FLAKE_OK) tool_cannot_draw(c, status);
    tool_wait_for_next_unit(c->layout.epoch_ms, c->wide ? 1 : (int64_t)c->layout.unit_ms);
}

static void tool_stop(void) {
    if (tool_slot_claimed) (void)flake_slot_release(&tool_slot);
}

/* As many as 64 ms have, so that a slow layout's ids don't wait for one another in the buffer. */
static size_t tool_batch(const tool_choice *c) {
    if (c->wide) return TOOL_BATCH;
    const uint64_t few = (flake_i_ones(c->layout.seq_bits) + 1) * 64 / c->layout.unit_ms;
    return few < TOOL_BATCH ? (size_t)few : (size_t)TOOL_BATCH;
}

static int tool_generate(int others, char **words) {
    static uint64_t narrow[TOOL_BATCH];
    static flake128 wide[TOOL_BATCH];
    static char buffer[TOOL_BATCH * (TOOL_TEXT_SIZE + 16)];
    const uint64_t count = tool_count(others, words, "generate");
    const tool_choice c = tool_choose(&tool_layouts[0]);
    const char *format = tool_given[TOOL_FORMAT];
    tool_id id;
    memset(&id, 0, sizeof id);
    id.form = format ? tool_choose_form(format, !c.wide, c.wide)
                     : tool_forms[c.wide ? TOOL_BASE62 : TOOL_DEC];
    id.wide = c.wide;
    const bool json = tool_given[TOOL_JSON] != NULL;
    const size_t batch = tool_batch(&c);
    tool_start(&c);
    tool_progress progress = tool_progress_begin();
    for (uint64_t done = 0; done < count;) {
        const size_t n = count - done < batch ? (size_t)(count - done) : batch;
        const flake_status status =
            c.wide ? flake128_next_n(&tool_wide_gen, wide, n) : flake_next_n(&tool_gen, narrow, n);
        if (status != FLAKE_OK) tool_cannot_draw(&c, status);
        char *end = buffer;
        for (size_t i = 0; i < n; i++) {
            if (c.wide) id.all = wide[i];
            else id.narrow = narrow[i];
            if (json) end = tool_put(end, "{\"id\":\"");
            end += tool_spell(&id.form, &id, end, TOOL_TEXT_SIZE);
            end = tool_put(end, json ? "\"}\n" : "\n");
        }
        tool_write(buffer, (size_t)(end - buffer));
        done += n;
        tool_progress_show(&progress, done, count);
    }
    tool_progress_end(&progress);
    tool_stop();
    return tool_done();
}

/* What the layout has. */
static double tool_ids_a_second(const tool_choice *c) {
    if (c->wide) return 65536e3;
    return (double)(flake_i_ones(c->layout.seq_bits) + 1) * 1e3 / (double)c->layout.unit_ms;
}

/* A number that rises with the generator's ids, in two parts. */
static flake128 tool_in_order(const tool_choice *c, const tool_id *id) {
    if (c->wide) return id->all;
    if (!c->layout.spread) return flake_i_wide(0, id->narrow);
    return flake_i_wide(flake_i_reverse(id->narrow >> c->layout.time_shift, c->layout.time_bits),
                        id->narrow & flake_i_ones(c->layout.time_shift));
}

static int tool_time_it(int others, char **words) {
    if (others == 0) tool_misused("time needs a COUNT: `flake time 1000000`");
    const uint64_t count = tool_count(others, words, "time");
    if (count == 0) tool_misused("time needs a COUNT of at least 1");
    const tool_choice c = tool_choose(&tool_layouts[0]);
    tool_id id;
    memset(&id, 0, sizeof id);
    id.wide = c.wide;
    tool_start(&c);
    /* Ids that rise strictly differ all. One that did not would count as a duplicate here, whether it
     * is one or just out of order. */
    uint64_t duplicates = 0;
    flake128 newest = flake_i_wide(0, 0);
    tool_progress progress = tool_progress_begin();
    const int64_t start_ns = FLAKE_CLOCK_NS(FLAKE_CLOCK_EXACT);
    for (uint64_t i = 0; i < count; i++) {
        const flake_status status =
            c.wide ? flake128_next(&tool_wide_gen, &id.all) : flake_next(&tool_gen, &id.narrow);
        if (status != FLAKE_OK) tool_cannot_draw(&c, status);
        const flake128 key = tool_in_order(&c, &id);
        if (i > 0 && flake128_compare(key, newest) <= 0) duplicates++;
        else newest = key;
        if ((i & 4095) == 4095) tool_progress_show(&progress, i, count);
    }
    const double seconds = (double)(FLAKE_CLOCK_NS(FLAKE_CLOCK_EXACT) - start_ns) / 1e9;
    tool_progress_end(&progress);
    tool_stop();
    const double rate = seconds > 0 ? (double)count / seconds : 0;
    printf(tool_given[TOOL_JSON]
               ? "{\"layout\":\"%s\",\"ids\":%" PRIu64 ",\"seconds\":%.6f,\"ids_per_second\":%.0f,"
                 "\"capacity_per_second\":%.0f,\"duplicates\":%" PRIu64 "}\n"
               : "layout      %s\nids         %" PRIu64 "\nseconds     %.6f\nids/s       %.0f (the "
                 "layout has %.0f)\nduplicates  %" PRIu64 "\n",
           c.known->name, count, seconds, rate, tool_ids_a_second(&c), duplicates);
    const int code = tool_done();
    return duplicates ? TOOL_FAILED : code;
}

/* ---- inspect ---- */

static void tool_print_layout(const flake_layout *l) {
    char text[TOOL_TIME_SIZE];
    printf("units of %" PRIu32 " ms since %s", l->unit_ms, tool_time(l->epoch_ms, text));
}

static void tool_print_node(const tool_choice *c, uint32_t node) {
    const tool_layout *k = c->known;
    if (!c->layout.node_bits) return;
    printf("node        %" PRIu32, node);
    if (k->high)
        printf(" (%s %" PRIu32 ", %s %" PRIu32 ")", k->high, node >> k->low_bits, k->low,
               node & (uint32_t)flake_i_ones(k->low_bits));
    putchar('\n');
}

/* The same id in the forms that it was not given in. */
static void tool_print_texts(const tool_id *id) {
    static const int forms[] = {TOOL_DEC,    TOOL_HEX,    TOOL_BASE32,
                                TOOL_BASE36, TOOL_BASE58, TOOL_BASE62};
    char text[TOOL_TEXT_SIZE];
    const char *before = "texts       ";
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const tool_form *form = &tool_forms[forms[i]];
        if (strcmp(form->name, id->form.name) == 0) continue;
        if (id->wide && (forms[i] == TOOL_BASE32 || forms[i] == TOOL_BASE58)) continue;
        (void)tool_spell(form, id, text, sizeof text);
        printf("%s%s %s", before, form->name, text);
        before = i == 2 && !id->wide ? "\n            " : "  ";
    }
    putchar('\n');
}

/* What the text would be in forms that the order passed over, and in other layouts. */
static void tool_print_doubts(const char *text, const tool_id *id) {
    static const int forms[] = {TOOL_HEX, TOOL_BASE32, TOOL_BASE36, TOOL_BASE58, TOOL_BASE62};
    const tool_look look = tool_look_at(text);
    tool_id other;
    if (!tool_given[TOOL_FORMAT] && !look.digits) {
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
            const tool_form *form = &tool_forms[forms[i]];
            if (strcmp(form->name, id->form.name) != 0 && tool_parse(text, form, false, &other) &&
                (other.narrow != id->narrow || id->wide))
                printf("or with     --format=%s it is %" PRIu64 "\n", form->name, other.narrow);
        }
        if (look.sno) printf("or with     `sno inspect` it may be a sno\n");
    }
    if (tool_given[TOOL_LAYOUT] || id->wide) return;
    const char *before = "or with     ";
    for (size_t i = 1; i < TOOL_LAYOUT_COUNT; i++) {
        const tool_choice c = tool_choose_known(&tool_layouts[i]);
        flake_parts parts;
        char time[TOOL_TIME_SIZE];
        if (c.wide || flake_decompose(&c.layout, id->narrow, &parts) != FLAKE_OK) continue;
        printf("%s--layout=%-16s %s, node %" PRIu32 ", sequence %" PRIu32 "\n", before,
               c.known->name, tool_time(parts.unix_ms, time), parts.node, parts.seq);
        before = "            ";
    }
}

static void tool_inspect_wide(const char *text, const tool_id *id) {
    flake128_parts parts;
    char time[TOOL_TIME_SIZE], hex[TOOL_TEXT_SIZE];
    if (flake128_decompose(id->all, &parts) != FLAKE_OK)
        tool_misused(
            "'%s' is read as %s of 128 bits, and its time is later than boundary's ids have: "
            "name another --format",
            text, id->form.name);
    (void)tool_spell(&tool_forms[TOOL_HEX], id, hex, sizeof hex);
    (void)tool_time(parts.unix_ms, time);
    if (tool_given[TOOL_JSON]) {
        printf("{\"id\":\"%s\",\"format\":\"%s\",\"layout\":\"boundary\",\"hex\":\"%s\",\"time\":"
               "\"%s\","
               "\"unix_ms\":%" PRId64 ",\"worker\":%" PRIu64 ",\"sequence\":%" PRIu32 "}\n",
               text, id->form.name, hex, time, parts.unix_ms, parts.worker, parts.seq);
        return;
    }
    printf("id          %s (%s)\nlayout      boundary: %s\ntime        %s (Unix ms %" PRId64 ")\n"
           "worker      %" PRIu64 " (0x%012" PRIx64 ")\nsequence    %" PRIu32 "\n",
           text, id->form.name, tool_layouts[TOOL_LAYOUT_COUNT - 1].about, time, parts.unix_ms,
           parts.worker, parts.worker, parts.seq);
    tool_print_texts(id);
    tool_print_doubts(text, id);
    const tool_field fields[] = {{"time", 64, parts.time, parts.time},
                                 {"worker", 48, parts.worker, parts.worker},
                                 {"sequence", 16, parts.seq, parts.seq}};
    tool_draw(fields, 3);
}

static void tool_inspect_narrow(const char *text, const tool_id *id) {
    const tool_choice c = tool_choose(&tool_layouts[0]);
    const tool_layout *k = c.known;
    flake_parts parts;
    char time[TOOL_TIME_SIZE];
    const flake_status status = flake_decompose(&c.layout, id->narrow, &parts);
    if (status == FLAKE_RANGE)
        tool_misused(
            "'%s' is an id of a time that this tool can't express: another --layout or --epoch?",
            text);
    if (status != FLAKE_OK)
        tool_misused(
            "'%s' (%s) is no id of layout %s, which has other bits fixed: another --layout%s?",
            text, id->form.name, k->name, tool_given[TOOL_FORMAT] ? "" : ", or a --format");
    (void)tool_time(parts.unix_ms, time);
    if (tool_given[TOOL_JSON]) {
        printf(
            "{\"id\":\"%s\",\"format\":\"%s\",\"layout\":\"%s\",\"dec\":\"%" PRIu64 "\","
            "\"hex\":\"%016" PRIx64 "\",\"time\":\"%s\",\"unix_ms\":%" PRId64 ",\"node\":%" PRIu32,
            text, id->form.name, k->name, id->narrow, id->narrow, time, parts.unix_ms, parts.node);
        if (k->high)
            printf(",\"%s\":%" PRIu32 ",\"%s\":%" PRIu32, k->high, parts.node >> k->low_bits,
                   k->low, parts.node & (uint32_t)flake_i_ones(k->low_bits));
        printf(",\"sequence\":%" PRIu32 "}\n", parts.seq);
        return;
    }
    printf("id          %s (%s)\nlayout      %s: %s; ", text, id->form.name, k->name, k->about);
    tool_print_layout(&c.layout);
    printf("\ntime        %s (Unix ms %" PRId64 ")\n", time, parts.unix_ms);
    tool_print_node(&c, parts.node);
    printf("sequence    %" PRIu32 "\n", parts.seq);
    tool_print_texts(id);
    tool_print_doubts(text, id);
    tool_field fields[TOOL_FIELDS];
    tool_draw(fields, tool_fields_of(&c, id->narrow, fields));
}

/* 64-bit ids have an alphabet of their own in these two: a text in it is not one of 128 bits. */
static bool tool_own_alphabet(const tool_form *form) {
    return form->narrow && (form->text == FLAKE_BASE32 || form->text == FLAKE_BASE58);
}

static void tool_inspect(const char *text) {
    static unsigned shown;
    const char *format = tool_given[TOOL_FORMAT];
    bool narrow = true, wide = !tool_given[TOOL_EPOCH], known;
    tool_id id;
    memset(&id, 0, sizeof id);
    if (tool_given[TOOL_LAYOUT]) {
        wide = tool_choose(&tool_layouts[0]).wide;
        narrow = !wide;
    }
    if (format) {
        id.form = tool_choose_form(format, narrow, wide);
        const tool_form form = id.form;
        known = (narrow && form.narrow && tool_parse(text, &form, false, &id)) ||
                (wide && form.base && !(narrow && tool_own_alphabet(&form)) &&
                 tool_parse(text, &form, true, &id));
        if (!known) tool_misused("'%.140s' is no id in --format=%s: another one?", text, format);
    } else if (!tool_recognise(text, narrow, wide, &id)) {
        tool_misused(
            "'%.140s' is no id%s%s in a form that `flake help` lists: mistyped, or in need of "
            "a --format?",
            text, tool_given[TOOL_LAYOUT] ? " of layout " : "",
            tool_given[TOOL_LAYOUT] ? tool_given[TOOL_LAYOUT] : "");
    }
    if (shown++ && !tool_given[TOOL_JSON]) putchar('\n');
    if (id.wide) tool_inspect_wide(text, &id);
    else tool_inspect_narrow(text, &id);
}

/* ---- range, layouts ---- */

static void tool_range_end(const tool_choice *c, const char *option, int64_t ms, bool last,
                           tool_id *id) {
    char first_text[TOOL_TIME_SIZE], last_text[TOOL_TIME_SIZE];
    const flake_status status =
        c->wide ? (last ? flake128_max_at(ms, &id->all) : flake128_min_at(ms, &id->all))
                : (last ? flake_max_at(&c->layout, ms, &id->narrow)
                        : flake_min_at(&c->layout, ms, &id->narrow));
    id->wide = c->wide;
    if (status != FLAKE_OK)
        tool_misused("%s is outside of what layout %s can express: %s to %s", option,
                     c->known->name, tool_time(c->layout.epoch_ms, first_text),
                     tool_time(c->wide ? INT64_MAX : flake_expires_ms(&c->layout), last_text));
}

static int tool_range(int others, char **words) {
    char from_text[TOOL_TIME_SIZE], to_text[TOOL_TIME_SIZE];
    char min_text[TOOL_TEXT_SIZE], max_text[TOOL_TEXT_SIZE];
    const char *format = tool_given[TOOL_FORMAT];
    if (others) tool_misused("range takes no '%s': give --from=TIME and --to=TIME", words[0]);
    if (!tool_given[TOOL_FROM] || !tool_given[TOOL_TO])
        tool_misused("range needs --from=TIME and --to=TIME");
    const int64_t from = tool_read_time("--from", tool_given[TOOL_FROM], false);
    const int64_t to = tool_read_time("--to", tool_given[TOOL_TO], false);
    if (from > to) tool_misused("--from is later than --to: swap them");
    const tool_choice c = tool_choose(&tool_layouts[0]);
    if (c.layout.spread)
        tool_misused("the ids of layout %s are not in the order of time: there is no range of them",
                     c.known->name);
    const tool_form form = format ? tool_choose_form(format, !c.wide, c.wide)
                                  : tool_forms[c.wide ? TOOL_BASE62 : TOOL_DEC];
    tool_id min, max;
    memset(&min, 0, sizeof min);
    memset(&max, 0, sizeof max);
    tool_range_end(&c, "--from", from, false, &min);
    tool_range_end(&c, "--to", to, true, &max);
    (void)tool_spell(&form, &min, min_text, sizeof min_text);
    (void)tool_spell(&form, &max, max_text, sizeof max_text);
    printf(tool_given[TOOL_JSON]
               ? "{\"layout\":\"%s\",\"from\":\"%s\",\"min\":\"%s\",\"to\":\"%s\","
                 "\"max\":\"%s\"}\n"
               : "layout      %s\nfrom        %s\nsmallest    %s\nto          %s\n"
                 "largest     %s\n",
           c.known->name, tool_time(from, from_text), min_text, tool_time(to, to_text), max_text);
    return tool_done();
}

static int tool_list_layouts(int others, char **words) {
    if (others) tool_misused("layouts takes no '%s'", words[0]);
    for (size_t i = 0; i < TOOL_LAYOUT_COUNT; i++) {
        const tool_choice c = tool_choose_known(&tool_layouts[i]);
        tool_field fields[TOOL_FIELDS] = {
            {"time", 64, 0, 0}, {"worker", 48, 0, 0}, {"sequence", 16, 0, 0}};
        const size_t n = c.wide ? 3 : tool_fields_of(&c, 0, fields);
        char text[TOOL_TIME_SIZE];
        const char *end = tool_time(c.wide ? INT64_MAX : flake_expires_ms(&c.layout), text);
        const bool json = tool_given[TOOL_JSON] != NULL;
        const uint32_t unit_ms = c.wide ? 1 : c.layout.unit_ms;
        const int64_t epoch_ms = c.wide ? 0 : c.layout.epoch_ms;
        printf(json ? "{\"layout\":\"%s\",\"about\":\"%s\",\"fields\":["
                    : "%-16s  %s\n                  ",
               c.known->name, c.known->about);
        for (size_t f = 0; f < n; f++)
            printf(json ? "%s{\"name\":\"%s\",\"bits\":%u}" : "%s%s %u",
                   f == 0 ? ""
                   : json ? ","
                          : ", ",
                   fields[f].name, fields[f].bits);
        if (json) {
            printf("],\"epoch_ms\":%" PRId64 ",\"unit_ms\":%" PRIu32 ",\"last\":\"%s\"}\n",
                   epoch_ms, unit_ms, end);
            continue;
        }
        char epoch[TOOL_TIME_SIZE];
        printf("\n                  units of %" PRIu32 " ms from %s to %s\n", unit_ms,
               tool_time(epoch_ms, epoch), end);
        printf("                  %.0f ids a second\n", tool_ids_a_second(&c));
    }
    return tool_done();
}

/* ---- all of it ---- */

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
                    {"inspect", TOOL_INSPECT, tool_inspect_all},
                    {"range", TOOL_RANGE, tool_range},
                    {"time", TOOL_TIME, tool_time_it},
                    {"layouts", TOOL_LAYOUTS, tool_list_layouts}};
    if (argc < 2)
        tool_misused("say what to do: `flake generate`, `flake inspect ID`, `flake help`");
    const char *word = argv[1];
    if (tool_asks_help(argc, argv)) return tool_print_help();
    if (strcmp(word, "version") == 0 || strcmp(word, "--version") == 0) {
        printf("flake %s\n", FLAKE_VERSION_STRING);
        return tool_done();
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(word, commands[i].name) != 0) continue;
        const int others = tool_read(argc - 2, argv + 2, word, commands[i].bit, tool_options,
                                     TOOL_OPTIONS, tool_given);
        return commands[i].run(others, argv + 2);
    }
    tool_misused("there is no `flake %s`: try `flake help`", word);
}
#endif /* FLAKE_MAIN */

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
