/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* CLOCK_REALTIME_COARSE */
#include "shim.h"
#include "floors.h"
#include "flake.h"
#include "sno.h"
#include "../tests/support/id_runs.h"
#include "../tests/support/real_time.h"
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef HAS_LIBUUID
#include <uuid/uuid.h>
#ifdef UUID_TYPE_DCE_TIME_V7
#define HAS_LIBUUID_V7
#endif
#endif
/* Checkouts in RIVALS. */
#ifdef HAS_UUIDV7_H
#include <uuidv7.h>
#endif
#ifdef HAS_ULID_C
#include <ulid.h>
#endif
#ifdef HAS_YITTER
#include <YitIdHelper.h>
#endif

enum {
    most = bench_most_threads,
    burst_ids = 8192,
    batch_burst_ids = 4096, /* fit in the L1 cache in all sizes but the largest */
    text_ids = 4096,
    text_stride = 24,
    uuid_text = 37, /* with its NUL */
    ulid_text = 27,
    paced_ids = 32768,     /* of all threads, in one unit of 65,536 */
    slow_burst_ids = 256,  /* of peers that take a microsecond */
    uuid_burst_ids = 1024, /* in no order, so that each takes memory */
    rival_ids = 64,
    sno_unit_ns = 4000000
};

/* ---- clocks ---- */

static int64_t exact_ns(void) { return clock_ns(CLOCK_REALTIME); }
static int64_t coarse_ns(void) { return clock_ns(CLOCK_REALTIME_COARSE); }

/* The processor's own counter; on processors where it is unknown, the exact clock. */
static int64_t counter_ticks(void) {
#if defined(__x86_64__)
    return (int64_t)__builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    int64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return exact_ns();
#endif
}

/* Those of the process: a pinned thread asks, too. */
unsigned bench_cores(void) {
    static _Atomic(unsigned) cores;
    cpu_set_t mine;
    if (!atomic_load(&cores))
        atomic_store(&cores, sched_getaffinity(0, sizeof mine, &mine) == 0 ? (unsigned)CPU_COUNT(&mine) : 1);
    return atomic_load(&cores);
}

#define EACH(name, type, call) static BURST(name, type, 1, (void)0, call)
/* One clock reading for a burst, as an event loop takes it. */
#define EACH_AT(name, type, call) static BURST(name, type, 1, const int64_t now_ns = exact_ns(), call)
/* All n by one call. */
#define AT_ONCE(name, call)                                  \
    static bool name(unsigned thread, void *out, size_t n) { \
        (void)thread;                                        \
        return (call);                                       \
    }

/* ---- floors: lower bounds for the cost of an ID; each writes 8 bytes for it ---- */

static _Atomic(uint64_t) floor_word;

static struct own_word { _Alignas(128) _Atomic(uint64_t) word; } own_words[most];

#define FLOOR(name, value) EACH(name, uint64_t, DONE(ids[i] = (value)))
FLOOR(floor_cas, cas_increment(&floor_word))
FLOOR(floor_add, add_increment(&floor_word))
FLOOR(floor_store, own_increment(&own_words[thread].word))

/* A clock, and an ID from it: from a word that all threads share, or from the thread's own. */
#define FLOORS_BY(clock, reading)                                            \
    FLOOR(floor_##clock, (uint64_t)(reading))                                \
    FLOOR(floor_##clock##_cas, by_cas(&floor_word, reading))                 \
    FLOOR(floor_##clock##_add, by_add(&floor_word, reading))                 \
    FLOOR(floor_##clock##_own_cas, by_cas(&own_words[thread].word, reading)) \
    FLOOR(floor_##clock##_store, by_store(&own_words[thread].word, reading))
FLOORS_BY(exact, exact_ns())
FLOORS_BY(coarse, coarse_ns())
FLOORS_BY(counter, counter_ticks())

EACH_AT(floor_given_cas, uint64_t, DONE(ids[i] = by_cas(&floor_word, now_ns)))
EACH_AT(floor_given_store, uint64_t, DONE(ids[i] = by_store(&own_words[thread].word, now_ns)))

AT_ONCE(floor_memset_8, DONE(memset(out, (int)thread + 1, n * 8)))
AT_ONCE(floor_memset_10, DONE(memset(out, (int)thread + 1, n * 10)))
AT_ONCE(floor_memset_16, DONE(memset(out, (int)thread + 1, n * 16)))

/* ---- generators ---- */

static flake_gen flakes, flakes128, laned_flakes, laned_flakes128, flake_shards[most];
static sno_gen snos, laned_snos, sno_shards[most];
static flake_lane flake_lanes_of_cores[most], wide_lanes_of_cores[most], sno_lanes_of_cores[most];
static struct own_prefetch {
    _Alignas(128) flake_prefetch stock; /* each thread's in its own cache line */
} prefetches[most];

enum { meta = 42, node = 3, prefetch_ids = 1024 };

/* As many as threads run at once. */
static size_t lanes(void) { return bench_cores() < most ? bench_cores() : most; }

/* 24 bits of sequence: 16.8 billion IDs a second, more than any row draws. 36 bits of ms are two
 * years, so the epoch is a day ago. */
static flake_layout roomy(void) {
    const int64_t day_ms = 24 * 3600 * 1000;
    return flake_layout_of(36, 4, 24, (exact_ns() / 1000000 / day_ms - 1) * day_ms);
}

/* No row times the wait for a start. */
static flake_options flake_opts(flake_layout layout, int64_t max_wait_ms, int kind) {
    return (flake_options){.layout = layout, .max_wait_ms = max_wait_ms, .clock.kind = kind, .start_this_unit = true};
}

/* One generator for all threads, and one with a lane for each core. */
static bool begin_pair(flake_gen *g, flake_gen *laned, flake_lane *lanes_of_cores, flake_node from,
                       const flake_options *o) {
    flake_options with = *o;
    with.lanes = lanes_of_cores;
    with.lane_count = lanes();
    return flake_init(g, from, o, NULL) == FLAKE_OK && flake_init(laned, from, &with, NULL) == FLAKE_OK;
}

static bool begin_flake(unsigned threads, flake_layout layout, int kind) {
    const flake_node from = flake_node_fixed(NULL, node);
    const flake_options o = flake_opts(layout, 60000, kind);
    if (!begin_pair(&flakes, &laned_flakes, flake_lanes_of_cores, from, &o)) return false;
    for (unsigned i = 0; i < threads; i++)
        if (flake_prefetch_init(&prefetches[i].stock, &flakes, prefetch_ids, 0, NULL) != FLAKE_OK) return false;
    return flake_init_shards(flake_shards, threads, from, &o, NULL) == FLAKE_OK;
}

static bool begin_flake128(flake_layout layout, int kind) {
    const flake_node from = layout.node_bits ? flake_node_fixed(NULL, 0x0242ac110002) : flake_node_none();
    const flake_options o = flake_opts(layout, 0, kind);
    return begin_pair(&flakes128, &laned_flakes128, wide_lanes_of_cores, from, &o);
}

static bool begin_sno(unsigned threads, int kind) {
    const flake_node from = flake_node_fixed(NULL, node);
    flake_options o = flake_opts((flake_layout){0}, 0, kind);
    if (sno_init(&snos, from, NULL, &o, NULL) != FLAKE_OK) return false;
    if (sno_init_shards(sno_shards, threads, from, NULL, &o, NULL) != FLAKE_OK) return false;
    o.lanes = sno_lanes_of_cores;
    o.lane_count = lanes();
    return sno_init(&laned_snos, from, NULL, &o, NULL) == FLAKE_OK;
}

/* The generator that programs write by hand: a mutex, the last millisecond and a sequence number. It does
 * what most of them do, as well as that can be done: one clock reading for each ID, a sleep with the lock
 * held when a unit is exhausted, and an error when the clock goes backwards. */
static struct mutex_snowflake {
    pthread_mutex_t lock;
    flake_layout layout;
    int64_t last_ms;
    uint64_t seq;
} mutex_flakes;

static bool mutex_snowflake_next(struct mutex_snowflake *g, uint64_t *id) {
    (void)pthread_mutex_lock(&g->lock);
    int64_t now_ms = exact_ns() / 1000000;
    const bool well = now_ms >= g->last_ms;
    if (well) {
        g->seq = now_ms > g->last_ms ? 0 : (g->seq + 1) & (((uint64_t)1 << g->layout.seq_bits) - 1);
        while (g->seq == 0 && now_ms <= g->last_ms) now_ms = exact_ns() / 1000000;
        g->last_ms = now_ms;
        *id = (uint64_t)(now_ms - g->layout.epoch_ms) << g->layout.time_shift |
              (uint64_t)node << g->layout.node_shift | g->seq;
    }
    (void)pthread_mutex_unlock(&g->lock);
    return well;
}

static bool begin_mutex(flake_layout layout) {
    mutex_flakes = (struct mutex_snowflake){PTHREAD_MUTEX_INITIALIZER, layout, 0, 0};
    return true;
}

#define BEGIN(name, call)                        \
    static bool begin_##name(unsigned threads) { \
        (void)threads;                           \
        return (call);                           \
    }
BEGIN(nothing, true)
BEGIN(idgen, begin_flake(threads, flake_layout_idgen, FLAKE_CLOCK_EXACT))
BEGIN(uuid7_ids, begin_flake128(flake_layout_uuid7, FLAKE_CLOCK_EXACT))
BEGIN(uuid8_ids, begin_flake128(flake_layout_uuid8, FLAKE_CLOCK_EXACT))
BEGIN(ulid_ids, begin_flake128(flake_layout_ulid, FLAKE_CLOCK_EXACT))
BEGIN(mutex_roomy, begin_mutex(roomy()))
BEGIN(mutex_idgen, begin_mutex(flake_layout_idgen))
/* Generators that read a clock. */
#define GENERATORS_BY(clock, KIND)                                                     \
    BEGIN(roomy_##clock, begin_flake(threads, roomy(), FLAKE_CLOCK_##KIND))            \
    BEGIN(flake128_##clock, begin_flake128(flake_layout_boundary, FLAKE_CLOCK_##KIND)) \
    BEGIN(sno_##clock, begin_sno(threads, FLAKE_CLOCK_##KIND))
GENERATORS_BY(exact, EXACT)
GENERATORS_BY(coarse, COARSE)
GENERATORS_BY(fast, FAST)

EACH(flake_next_1, uint64_t, flake_next(&flakes, &ids[i]) == FLAKE_OK)
EACH(flake_try_1, uint64_t, flake_try(&flakes, &ids[i]) == FLAKE_OK)
EACH(shard_next_1, uint64_t, flake_next(&flake_shards[thread], &ids[i]) == FLAKE_OK)
EACH(prefetch_1, uint64_t, flake_prefetch_next(&prefetches[thread].stock, &ids[i]) == FLAKE_OK)
EACH(lanes_next_1, uint64_t, flake_next(&laned_flakes, &ids[i]) == FLAKE_OK)
EACH(flake128_lanes_next_1, flake128, flake128_next(&laned_flakes128, &ids[i]) == FLAKE_OK)
EACH(flake128_next_1, flake128, flake128_next(&flakes128, &ids[i]) == FLAKE_OK)
EACH(uuid7_bytes_1, flake128, flake_uuid7_bytes(ids[i].bytes) == FLAKE_OK)
EACH(uuid7_1, char, flake_uuid7(ids + uuid_text * i) == FLAKE_OK)
EACH(ulid_bytes_1, flake128, flake_ulid_bytes(ids[i].bytes) == FLAKE_OK)
EACH(ulid_1, char, flake_ulid(ids + ulid_text * i) == FLAKE_OK)
EACH(sno_try_1, sno_id, sno_try(&snos, meta, &ids[i]) == FLAKE_OK)
EACH(mutex_1, uint64_t, mutex_snowflake_next(&mutex_flakes, &ids[i]))

EACH(sno_next_1, sno_id, sno_next(&snos, meta, &ids[i]) == FLAKE_OK)
EACH(sno_lanes_next_1, sno_id, sno_next(&laned_snos, meta, &ids[i]) == FLAKE_OK)
EACH(sno_shard_next_1, sno_id, sno_next(&sno_shards[thread], meta, &ids[i]) == FLAKE_OK)
/* The check finds a zero ID, since a second one is a duplicate. */
EACH(sno_generate_1, sno_id, (ids[i] = sno_generate(meta), true))

EACH_AT(flake_try_at_1, uint64_t, flake_try_at(&flakes, now_ns / 1000000, &ids[i]) == FLAKE_OK)
EACH_AT(shard_try_at_1, uint64_t, flake_try_at(&flake_shards[thread], now_ns / 1000000, &ids[i]) == FLAKE_OK)
EACH_AT(flake128_try_at_1, flake128, flake128_try_at(&flakes128, now_ns / 1000000, &ids[i]) == FLAKE_OK)
EACH_AT(sno_try_at_1, sno_id, sno_try_at(&snos, meta, now_ns / 1000000, &ids[i]) == FLAKE_OK)
EACH_AT(sno_shard_try_at_1, sno_id, sno_try_at(&sno_shards[thread], meta, now_ns / 1000000, &ids[i]) == FLAKE_OK)

/* The call takes `size` IDs. */
#define BATCH(name, type, n, call) static BURST(name##_##n, type, n, enum { size = n }, (call) == FLAKE_OK)
#define BATCHES(name, type, call)                          \
    BATCH(name, type, 1, call) BATCH(name, type, 16, call) \
    BATCH(name, type, 256, call) BATCH(name, type, 4096, call)
BATCHES(flake_batch, uint64_t, flake_next_n(&flakes, ids + i, size))
BATCHES(lanes_batch, uint64_t, flake_next_n(&laned_flakes, ids + i, size))
BATCHES(shard_batch, uint64_t, flake_next_n(&flake_shards[thread], ids + i, size))
BATCHES(flake128_batch, flake128, flake128_next_n(&flakes128, ids + i, size))
BATCHES(flake128_lanes_batch, flake128, flake128_next_n(&laned_flakes128, ids + i, size))
BATCHES(sno_batch, sno_id, sno_next_n(&snos, meta, ids + i, size))
BATCHES(sno_lanes_batch, sno_id, sno_next_n(&laned_snos, meta, ids + i, size))
BATCHES(sno_shard_batch, sno_id, sno_next_n(&sno_shards[thread], meta, ids + i, size))

#ifdef HAS_LIBUUID
EACH(libuuid_v1, unsigned char, DONE(uuid_generate_time(ids + 16 * i)))
EACH(libuuid_v4, unsigned char, DONE(uuid_generate_random(ids + 16 * i)))
#endif
#ifdef HAS_LIBUUID_V7
EACH(libuuid_v7, unsigned char, DONE(uuid_generate_time_v7(ids + 16 * i)))
#endif

#ifdef HAS_UUIDV7_H
/* What a user of uuidv7_generate writes: the newest ID, and a stock of random bytes. */
static bool uuid7_from_shared(uint8_t *out) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static uint8_t newest[16], random[256];
    static size_t left;
    (void)pthread_mutex_lock(&lock);
    if (left < 10 && getentropy(random, left = sizeof random) != 0) left = 0; /* a call may take 10 */
    const uint64_t now_ms = (uint64_t)exact_ns() / 1000000;
    const int8_t status = left ? uuidv7_generate(newest, now_ms, random + sizeof random - left, newest) : -1;
    if (status >= 0) left -= (size_t)uuidv7_status_n_rand_consumed(status);
    memcpy(out, newest, sizeof newest);
    (void)pthread_mutex_unlock(&lock);
    return status >= 0;
}

EACH(uuid7_h_mutex, flake128, uuid7_from_shared(ids[i].bytes))
#endif

#ifdef HAS_ULID_C
static struct own_ulids { _Alignas(128) struct ulid_generator of_thread; } own_ulids[most];

static bool begin_ulid_c(unsigned threads) {
    for (unsigned i = 0; i < threads; i++)
        if (ulid_generator_init(&own_ulids[i].of_thread, ULID_SECURE) != 0) return false;
    return true;
}

EACH(ulid_c, char, DONE(ulid_generate(&own_ulids[thread].of_thread, ids + ulid_text * i)))
#endif

#ifdef HAS_YITTER
/* With 16 bits of sequence, so that no burst exhausts a unit. */
static bool begin_yitter(unsigned threads) {
    IdGeneratorOptions o = BuildIdGenOptions(node);
    (void)threads;
    o.SeqBitLength = 16;
    SetIdGenerator(o);
    return true;
}

EACH(yitter, uint64_t, DONE(ids[i] = (uint64_t)NextId()))
#endif

static const unique_key nothing; /* less than any ID */

static bool key_is_less(unique_key a, unique_key b) { return a.high != b.high ? a.high < b.high : a.low < b.low; }

static unique_key key_of_64(const void *ids, size_t at) {
    return (unique_key){0, ((const uint64_t *)ids)[at]};
}

static unique_key key_of_80(const void *ids, size_t at) {
    const sno_id id = ((const sno_id *)ids)[at];
    return (unique_key){(uint64_t)sno_partition(id) << 8 | sno_meta(id),
                        sno_units(id) << 17 | (uint64_t)sno_tick(id) << 16 | sno_sequence(id)};
}

static unique_key key_of_128(const void *ids, size_t at) {
    const uint8_t *id = (const uint8_t *)ids + 16 * at;
    return (unique_key){flake_from_bytes(id), flake_from_bytes(id + 8)};
}

/* An unreadable text is 0, and a second one a duplicate. */
#define KEY_OF_TEXT(form)                                                                       \
    static unique_key key_of_##form(const void *ids, size_t at) {                               \
        flake128 id = {{0}};                                                                    \
        (void)flake128_from_##form((const char *)ids + form##_text * at, form##_text - 1, &id); \
        return key_of_128(&id, 0);                                                              \
    }
KEY_OF_TEXT(uuid)
KEY_OF_TEXT(ulid)

/* ---- text: the IDs of a day, and their texts ---- */

static uint64_t day_flakes[text_ids];
static flake128 day_flakes128[text_ids];
static sno_id day_snos[text_ids];
static char day_texts[text_ids * uuid_text]; /* in the row's form: what a row formats, another one parses */
static size_t day_lengths[text_ids];

static bool begin_day(unsigned threads) {
    const int64_t day_ms = 24 * 3600 * 1000, from_ms = exact_ns() / 1000000 - day_ms;
    const flake_layout layout = flake_layout_idgen;
    bool well = true;
    (void)threads;
    for (unsigned i = 0; i < text_ids; i++) {
        flake_parts p = {.unix_ms = from_ms + day_ms / text_ids * i, .seq = i * 7 % 4096, .node = i % 1024};
        well &= flake_compose(&layout, &p, &day_flakes[i]) == FLAKE_OK;
        p.node = 0x0242ac110002;
        well &= flake128_compose(&flake_layout_boundary, &p, &day_flakes128[i]) == FLAKE_OK;
        well &= sno_compose((uint64_t)(p.unix_ms - 1262304000000) / 4, i & 1, (uint8_t)i, node, (uint16_t)(i * 17),
                            &day_snos[i]) == FLAKE_OK;
    }
    return well;
}

#define TEXT_AT(texts, i) ((texts) + (size_t)(i)*text_stride)

static bool begin_texts(unsigned threads, bool (*format)(unsigned, void *, size_t)) {
    memset(day_texts, 0, sizeof day_texts);
    const bool well = begin_day(threads) && format(0, day_texts, text_ids);
    for (size_t i = 0; i < text_ids; i++) day_lengths[i] = strlen(TEXT_AT(day_texts, i));
    return well;
}

#define FLAKE_TEXT(form, FORM)                                                                                  \
    EACH(format_##form, char, flake_format(day_flakes[i], FORM, TEXT_AT(ids, i), text_stride) > 0)              \
    EACH(parse_##form, uint64_t, flake_parse(TEXT_AT(day_texts, i), day_lengths[i], FORM, &ids[i]) == FLAKE_OK) \
    BEGIN(form, begin_texts(threads, format_##form))
FLAKE_TEXT(dec, FLAKE_DEC)
FLAKE_TEXT(hex, FLAKE_HEX)
FLAKE_TEXT(base32, FLAKE_BASE32)
FLAKE_TEXT(base58, FLAKE_BASE58)
FLAKE_TEXT(base62, FLAKE_BASE62)

EACH(printf_dec, char, snprintf(TEXT_AT(ids, i), text_stride, "%" PRIu64, day_flakes[i]) > 0)
EACH(strtoull_dec, uint64_t, DONE(ids[i] = strtoull(TEXT_AT(day_texts, i), NULL, 10)))
/* A lower bound for the cost of a text: its bytes. */
EACH(floor_copy, char, DONE(memcpy(ids + 16 * i, &day_flakes128[i], 16)))

EACH(format128, char, flake128_format(&day_flakes128[i], 62, TEXT_AT(ids, i), text_stride) > 0)
EACH(parse128, flake128, flake128_parse(TEXT_AT(day_texts, i), day_lengths[i], 62, &ids[i]) == FLAKE_OK)
BEGIN(128, begin_texts(threads, format128))

EACH(encode_1, char, DONE(sno_encode(day_snos[i], ids + 16 * i)))
AT_ONCE(encode_n, DONE(sno_encode_n(day_snos, n, (char *)out)))
EACH(decode_1, sno_id, sno_decode(day_texts + 16 * i, 16, &ids[i]) == FLAKE_OK)
AT_ONCE(decode_n, sno_decode_n(day_texts, n, (sno_id *)out) == FLAKE_OK)
BEGIN(sno_texts, begin_texts(threads, encode_1))

/* UUIDs and ULIDs, one at a time and many; the parsed ones are of the day's IDs. */
#define ID_TEXTS(form, size)                                                                               \
    EACH(to_##form, char, DONE(flake128_to_##form(&day_flakes128[i], ids + (size)*i)))                     \
    AT_ONCE(to_##form##_n, DONE(flake128_to_##form##_n(day_flakes128, n, (char *)out)))                    \
    EACH(from_##form, flake128, flake128_from_##form(day_texts + (size)*i, (size)-1, &ids[i]) == FLAKE_OK) \
    AT_ONCE(from_##form##_n, flake128_from_##form##_n(day_texts, n, (flake128 *)out) == FLAKE_OK)          \
    BEGIN(form, begin_texts(threads, to_##form))
ID_TEXTS(uuid, 37)
ID_TEXTS(ulid, 27)

/* ---- rows ----
 *
 * A row has a name, its floor, what begins it, its burst, and then fields by name. These are the fields that rows have
 * in common. */

#define EXACT   .clock = FLAKE_CLOCK_EXACT
#define IDS_64  .key = key_of_64, .id_size = 8
#define IDS_80  .key = key_of_80, .id_size = 10
#define IDS_128 .key = key_of_128, .id_size = 16
#define UUIDS   .key = key_of_uuid, .id_size = uuid_text
#define ULIDS   .key = key_of_ulid, .id_size = ulid_text
/* How many IDs a second the layout has; PACED: so few that there is one burst a unit. */
#define ROOMY      .cap = (double)(1 << 24) * 1e3
#define IDGEN      .cap = 4096e3
#define SNO        .cap = 65536 * 250.0
#define WIDE       .cap = 65536e3
#define PACED_SNO  SNO, .unit_ns = sno_unit_ns
#define PACED_WIDE WIDE, .unit_ns = 1000000
/* Bursts of one thread, with one ID a call, and such that are also measured with more threads. */
#define ALONE(ids)  .burst = ids, .at_once = 1
#define CROWDS(ids) ALONE(ids), .crowds = true

#define ROW(name, floor, begin, draw, ...) \
    { name, floor, begin, draw, EXACT, __VA_ARGS__ }
#define ROW_BY_KIND(KIND, name, floor, begin, draw, ids, ...) \
    { name, floor, begin, draw, .clock = FLAKE_CLOCK_##KIND, CROWDS(ids), __VA_ARGS__ }
#define SINGLE_ROW(name, floor, begin, draw, ...) ROW_BY_KIND(EXACT, name, floor, begin, draw, burst_ids, __VA_ARGS__)
/* A row for each clock; `floor` and `begin` without the clock's name. */
#define ROWS_BY_CLOCK(name, floor, begin, draw, ...)                                                              \
    SINGLE_ROW(name, "floor/exact_" floor, begin##_exact, draw, __VA_ARGS__),                                     \
        ROW_BY_KIND(COARSE, name "_coarse", "floor/coarse_" floor, begin##_coarse, draw, burst_ids, __VA_ARGS__), \
        ROW_BY_KIND(FAST, name "_fast", "floor/counter_" floor, begin##_fast, draw, burst_ids, __VA_ARGS__)
#define BATCH_ROW(name, floor, begin, draw, n, bytes, ...)                              \
    ROW(name "/batch_" #n, floor " / " #n " + floor/memset_" #bytes, begin, draw##_##n, \
        .burst = batch_burst_ids, .at_once = n, .crowds = n == 16 || n == 4096, .id_size = bytes, __VA_ARGS__)
#define BATCH_ROWS(name, floor, begin, draw, bytes, ...)              \
    BATCH_ROW(name, floor, begin, draw, 1, bytes, __VA_ARGS__),       \
        BATCH_ROW(name, floor, begin, draw, 16, bytes, __VA_ARGS__),  \
        BATCH_ROW(name, floor, begin, draw, 256, bytes, __VA_ARGS__), \
        BATCH_ROW(name, floor, begin, draw, 4096, bytes, __VA_ARGS__)
#define FLAKE_BATCH_ROWS(name, floor, draw) BATCH_ROWS(name, floor, begin_roomy_exact, draw, 8, .key = key_of_64, ROOMY)
#define SNO_BATCH_ROWS(name, floor, draw) \
    BATCH_ROWS(name, floor, begin_sno_exact, draw, 10, .key = key_of_80, PACED_SNO)
#define WIDE_BATCH_ROWS(name, floor, begin, draw, in_order) \
    BATCH_ROWS(name, floor, begin, draw, 16, .key = key_of_128, PACED_WIDE, .order = in_order)
#define NEW_UNIT_ROW(header, call, floor, ...)                                                                        \
    ROW(#header "/" #call "_new_unit", "floor/" floor, begin_new_units, new_unit_##header##_##call, ALONE(burst_ids), \
        __VA_ARGS__)
#define NEW_UNIT_ROWS(header, ...)                                              \
    NEW_UNIT_ROW(header, next, "leaping_cas", __VA_ARGS__),                     \
        NEW_UNIT_ROW(header, try_at, "given_leaping_cas", __VA_ARGS__),         \
        NEW_UNIT_ROW(header, shard_next, "leaping_store", __VA_ARGS__),         \
        NEW_UNIT_ROW(header, shard_try_at, "given_leaping_store", __VA_ARGS__), \
        NEW_UNIT_ROW(header, lanes_next, "leaping_cas", __VA_ARGS__)

#define FLOOR_ROW(name, draw, ...) \
    ROW("floor/" name, "", begin_nothing, draw, .id_size = 8, ALONE(burst_ids), __VA_ARGS__)
#define SHARED_FLOOR_ROW(name, draw) FLOOR_ROW(name, draw, .key = key_of_64, .crowds = true)
#define OWN_FLOOR_ROW(name, draw)    FLOOR_ROW(name, draw, .crowds = true)
#define CLOCK_ROWS(clock)                                                                                \
    FLOOR_ROW(#clock, floor_##clock, .key = NULL), SHARED_FLOOR_ROW(#clock "_cas", floor_##clock##_cas), \
        SHARED_FLOOR_ROW(#clock "_fetch_add", floor_##clock##_add),                                      \
        OWN_FLOOR_ROW(#clock "_own_cas", floor_##clock##_own_cas), OWN_FLOOR_ROW(#clock "_store", floor_##clock##_store)
#define MEMSET_ROW(size) \
    ROW("floor/memset_" #size, "", begin_nothing, floor_memset_##size, .id_size = size, ALONE(batch_burst_ids))
#define TEXT_ROW(name, begin, draw, right_output, bytes) \
    ROW(name, "floor/copy", begin, draw, .right = right_output, .id_size = bytes, ALONE(text_ids))
#define FLAKE_TEXT_ROWS(form)                                                             \
    TEXT_ROW("flake/format_" #form, begin_##form, format_##form, day_texts, text_stride), \
        TEXT_ROW("flake/parse_" #form, begin_##form, parse_##form, day_flakes, 8)
#define ID_TEXT_ROWS(form, size)                                                           \
    TEXT_ROW("flake128/to_" #form, begin_##form, to_##form, day_texts, size),              \
        TEXT_ROW("flake128/to_" #form "_n", begin_##form, to_##form##_n, day_texts, size), \
        TEXT_ROW("flake128/from_" #form, begin_##form, from_##form, day_flakes128, 16),    \
        TEXT_ROW("flake128/from_" #form "_n", begin_##form, from_##form##_n, day_flakes128, 16)
/* In a process that has drawn before, these read the fast clock. */
#define DEFAULT_ROW(name, draw, ...)                                                                           \
    ROW_BY_KIND(FAST, "flake/" name, "floor/exact_fetch_add", begin_nothing, draw, uuid_burst_ids, PACED_WIDE, \
                .order = rising, __VA_ARGS__)
#define UUID_ROW(name, floor, begin, draw, in_order) \
    ROW("flake128/" name, floor, begin, draw, IDS_128, PACED_WIDE, CROWDS(uuid_burst_ids), .order = in_order)
#define SLOW_PEER_ROW(name, draw, in_order) \
    ROW("peer/" name, "floor/exact_fetch_add", begin_nothing, draw, IDS_128, CROWDS(slow_burst_ids), .order = in_order)
#define SATURATION_ROW(name, begin, draw, n, ...)                                                    \
    ROW("saturation/" name, "", begin, draw, .burst = n == 1 ? 16 : n, .at_once = n, .crowds = true, \
        .saturates = true, __VA_ARGS__)

static const bench_row rows[] = {
    SHARED_FLOOR_ROW("cas", floor_cas),
    SHARED_FLOOR_ROW("fetch_add", floor_add),
    OWN_FLOOR_ROW("store", floor_store),
    CLOCK_ROWS(exact),
    CLOCK_ROWS(coarse),
    CLOCK_ROWS(counter),
    SHARED_FLOOR_ROW("given_cas", floor_given_cas),
    OWN_FLOOR_ROW("given_store", floor_given_store),
    FLOOR_ROW("leaping_cas", floor_leaping_cas, .key = key_of_64),
    FLOOR_ROW("leaping_store", floor_leaping_store, .key = NULL),
    FLOOR_ROW("given_leaping_cas", floor_given_leaping_cas, .key = key_of_64),
    FLOOR_ROW("given_leaping_store", floor_given_leaping_store, .key = NULL),
    MEMSET_ROW(8),
    MEMSET_ROW(10),
    MEMSET_ROW(16),
    ROW("floor/copy", "", begin_day, floor_copy, .id_size = text_stride, ALONE(text_ids)),

    ROWS_BY_CLOCK("flake/next", "fetch_add", begin_roomy, flake_next_1, IDS_64, ROOMY),
    SINGLE_ROW("flake/try", "floor/exact_cas", begin_roomy_exact, flake_try_1, IDS_64, ROOMY),
    SINGLE_ROW("flake/try_at", "floor/given_cas", begin_roomy_exact, flake_try_at_1, IDS_64, ROOMY),
    ROWS_BY_CLOCK("flake/shard_next", "store", begin_roomy, shard_next_1, IDS_64, ROOMY),
    SINGLE_ROW("flake/shard_try_at", "floor/given_store", begin_roomy_exact, shard_try_at_1, IDS_64, ROOMY),
    ROWS_BY_CLOCK("flake/lanes_next", "own_cas", begin_roomy, lanes_next_1, IDS_64, ROOMY),
    FLAKE_BATCH_ROWS("flake/lanes", "floor/exact_own_cas", lanes_batch),
    SINGLE_ROW("flake/prefetch_1024", "floor/store + floor/exact_cas / 1024", begin_roomy_exact, prefetch_1, IDS_64,
               ROOMY),
    NEW_UNIT_ROWS(flake, IDS_64),
    FLAKE_BATCH_ROWS("flake", "floor/exact_cas", flake_batch),
    FLAKE_BATCH_ROWS("flake/shard", "floor/exact_store", shard_batch),

    ROWS_BY_CLOCK("sno/next", "fetch_add", begin_sno, sno_next_1, IDS_80, PACED_SNO),
    SINGLE_ROW("sno/try", "floor/exact_cas", begin_sno_exact, sno_try_1, IDS_80, PACED_SNO),
    SINGLE_ROW("sno/generate", "floor/exact_fetch_add", begin_nothing, sno_generate_1, IDS_80, PACED_SNO),
    SINGLE_ROW("sno/try_at", "floor/given_cas", begin_sno_exact, sno_try_at_1, IDS_80, PACED_SNO),
    ROWS_BY_CLOCK("sno/lanes_next", "own_cas", begin_sno, sno_lanes_next_1, IDS_80, PACED_SNO),
    SNO_BATCH_ROWS("sno/lanes", "floor/exact_own_cas", sno_lanes_batch),
    ROWS_BY_CLOCK("sno/shard_next", "store", begin_sno, sno_shard_next_1, IDS_80, PACED_SNO),
    SINGLE_ROW("sno/shard_try_at", "floor/given_store", begin_sno_exact, sno_shard_try_at_1, IDS_80, PACED_SNO),
    NEW_UNIT_ROWS(sno, IDS_80),
    SNO_BATCH_ROWS("sno", "floor/exact_cas", sno_batch),
    SNO_BATCH_ROWS("sno/shard", "floor/exact_store", sno_shard_batch),

    ROWS_BY_CLOCK("flake128/next", "fetch_add", begin_flake128, flake128_next_1, IDS_128, PACED_WIDE),
    ROWS_BY_CLOCK("flake128/lanes_next", "own_cas", begin_flake128, flake128_lanes_next_1, IDS_128, PACED_WIDE),
    WIDE_BATCH_ROWS("flake128/lanes", "floor/exact_own_cas", begin_flake128_exact, flake128_lanes_batch, any_order),
    SINGLE_ROW("flake128/try_at", "floor/given_cas", begin_flake128_exact, flake128_try_at_1, IDS_128, PACED_WIDE),
    WIDE_BATCH_ROWS("flake128", "floor/exact_cas", begin_flake128_exact, flake128_batch, any_order),

    DEFAULT_ROW("uuid7_bytes", uuid7_bytes_1, IDS_128),
    DEFAULT_ROW("uuid7", uuid7_1, UUIDS),
    DEFAULT_ROW("ulid_bytes", ulid_bytes_1, IDS_128),
    DEFAULT_ROW("ulid", ulid_1, ULIDS),
    UUID_ROW("uuid7_next", "floor/exact_fetch_add", begin_uuid7_ids, flake128_next_1, rising),
    UUID_ROW("uuid8_next", "floor/exact_fetch_add", begin_uuid8_ids, flake128_next_1, rising),
    UUID_ROW("ulid_next", "floor/exact_fetch_add", begin_ulid_ids, flake128_next_1, rising),
    UUID_ROW("uuid7_lanes_next", "floor/exact_own_cas", begin_uuid7_ids, flake128_lanes_next_1, order_told),
    WIDE_BATCH_ROWS("flake128/uuid7", "floor/exact_cas", begin_uuid7_ids, flake128_batch, rising),

    FLAKE_TEXT_ROWS(dec),
    FLAKE_TEXT_ROWS(hex),
    FLAKE_TEXT_ROWS(base32),
    FLAKE_TEXT_ROWS(base58),
    FLAKE_TEXT_ROWS(base62),
    TEXT_ROW("flake128/format_base62", begin_128, format128, day_texts, text_stride),
    TEXT_ROW("flake128/parse_base62", begin_128, parse128, day_flakes128, 16),
    ID_TEXT_ROWS(uuid, 37),
    ID_TEXT_ROWS(ulid, 27),
    TEXT_ROW("sno/encode", begin_sno_texts, encode_1, day_texts, 16),
    TEXT_ROW("sno/encode_n", begin_sno_texts, encode_n, day_texts, 16),
    TEXT_ROW("sno/decode", begin_sno_texts, decode_1, day_snos, 10),
    TEXT_ROW("sno/decode_n", begin_sno_texts, decode_n, day_snos, 10),
    TEXT_ROW("peer/snprintf_dec", begin_dec, printf_dec, day_texts, text_stride),
    TEXT_ROW("peer/strtoull_dec", begin_dec, strtoull_dec, day_flakes, 8),

    SINGLE_ROW("peer/atomic_counter", "floor/fetch_add", begin_nothing, peer_counter, IDS_64),
    SINGLE_ROW("peer/mutex_snowflake", "floor/exact_fetch_add", begin_mutex_roomy, mutex_1, IDS_64, ROOMY),
#ifdef HAS_LIBUUID
    SLOW_PEER_ROW("libuuid_v1", libuuid_v1, any_order),
    SLOW_PEER_ROW("libuuid_v4", libuuid_v4, order_told),
#endif
#ifdef HAS_LIBUUID_V7
    SLOW_PEER_ROW("libuuid_v7", libuuid_v7, order_told),
#endif
#ifdef HAS_UUIDV7_H
    SLOW_PEER_ROW("uuid7_h_mutex", uuid7_h_mutex, order_told),
#endif
#ifdef HAS_ULID_C
    ROW("peer/ulid_c", "floor/coarse_store", begin_ulid_c, ulid_c, ULIDS, CROWDS(uuid_burst_ids), .order = order_told),
#endif
#ifdef HAS_YITTER
    ROW("peer/yitter", "floor/exact_fetch_add", begin_yitter, yitter, IDS_64, PACED_WIDE, CROWDS(slow_burst_ids)),
#endif
#ifdef HAS_BOOST
    SLOW_PEER_ROW("boost_uuid_v4", peer_boost_uuid_v4, order_told),
#endif
#ifdef HAS_BOOST_V7
    SLOW_PEER_ROW("boost_uuid_v7", peer_boost_uuid_v7, order_told),
#endif
#ifdef HAS_UUID_V4
    ROW("peer/uuid_v4", "", begin_nothing, peer_uuid_v4, UUIDS, CROWDS(uuid_burst_ids)),
#endif

    SATURATION_ROW("flake/next", begin_idgen, flake_next_1, 1, IDS_64, IDGEN),
    SATURATION_ROW("flake/shard_next", begin_idgen, shard_next_1, 1, IDS_64, IDGEN),
    SATURATION_ROW("flake/lanes_next", begin_idgen, lanes_next_1, 1, IDS_64, IDGEN),
    SATURATION_ROW("sno/lanes_next", begin_sno_exact, sno_lanes_next_1, 1, IDS_80, SNO),
    SATURATION_ROW("sno/next", begin_sno_exact, sno_next_1, 1, IDS_80, SNO),
    SATURATION_ROW("sno/shard_next", begin_sno_exact, sno_shard_next_1, 1, IDS_80, SNO),
    SATURATION_ROW("flake/batch_4096", begin_idgen, flake_batch_4096, 4096, IDS_64, IDGEN),
    SATURATION_ROW("flake128/batch_4096", begin_flake128_exact, flake128_batch_4096, 4096, IDS_128, WIDE),
    SATURATION_ROW("peer/mutex_snowflake", begin_mutex_idgen, mutex_1, 1, IDS_64, IDGEN),
};

/* ---- rows that fail, to test the reports ---- */

/* Each ID twice; then unique IDs, each second of which is less than the one before. */
static _Atomic(uint64_t) trial_drawn;
FLOOR(trial_repeats, add_increment(&trial_drawn) / 2)
EACH(trial_fails, uint64_t, (ids[i] = add_increment(&trial_drawn) / 2, false))
AT_ONCE(trial_dies, (memset(out, 0, n), abort(), false))
FLOOR(trial_falls, add_increment(&trial_drawn) ^ 1)

/* They rise in each thread, and all are less than those of every thread that began before. */
static _Atomic(uint64_t) trial_begun;
static struct own_word trial_first[most];

static bool begin_falls_across(unsigned threads) {
    atomic_store(&trial_begun, 0);
    for (unsigned i = 0; i < threads; i++) atomic_store(&trial_first[i].word, 0);
    return true;
}

static bool trial_falls_across(unsigned thread, void *out, size_t n) {
    _Atomic(uint64_t) *const next = &trial_first[thread].word;
    uint64_t *ids = (uint64_t *)out;
    if (!atomic_load(next)) atomic_store(next, (most - atomic_fetch_add(&trial_begun, 1)) << 32);
    for (size_t i = 0; i < n; i++) ids[i] = own_increment(next);
    return true;
}

#define TRIAL_ROW(name, begin, draw, ...) ROW(name, "", begin, draw, IDS_64, ALONE(slow_burst_ids), __VA_ARGS__)

static const bench_row trials[] = {
    TRIAL_ROW("peer/trial_repeats", begin_nothing, trial_repeats, .crowds = true, .order = any_order),
    TRIAL_ROW("peer/trial_fails", begin_nothing, trial_fails, .order = any_order),
    TRIAL_ROW("peer/trial_dies", begin_nothing, trial_dies, .order = any_order),
    TRIAL_ROW("trial/repeats", begin_nothing, trial_repeats, .order = any_order),
    TRIAL_ROW("peer/trial_falls", begin_nothing, trial_falls, .crowds = true, .order = order_told),
    TRIAL_ROW("peer/trial_falls_across", begin_falls_across, trial_falls_across, .crowds = true, .order = order_told),
    TRIAL_ROW("trial/falls", begin_nothing, trial_falls, .order = rising_in_a_thread),
    TRIAL_ROW("trial/falls_across", begin_falls_across, trial_falls_across, .crowds = true, .order = rising),
};

enum { n_rows = sizeof rows / sizeof *rows, n_trials = sizeof trials / sizeof *trials };

size_t bench_rows(void) { return n_rows + (getenv("BENCH_TRIALS") ? n_trials : 0); }
const bench_row *bench_row_at(size_t i) { return i < n_rows ? &rows[i] : &trials[i - n_rows]; }
const bench_row *bench_row_named(const char *name) {
    for (size_t i = 0; i < bench_rows(); i++)
        if (strcmp(bench_row_at(i)->name, name) == 0) return bench_row_at(i);
    return NULL;
}
bool bench_is_peer(const bench_row *r) { return strncmp(r->name, "peer/", 5) == 0; }

size_t bench_burst_size(const bench_row *r, unsigned threads) {
    return r->unit_ns && r->burst * threads > paced_ids ? paced_ids / threads : r->burst;
}

const char *bench_compiler(void) {
#ifdef __clang__
    return __VERSION__;
#else
    return "gcc " __VERSION__;
#endif
}

static void *must(void *memory) {
    if (!memory) abort();
    return memory;
}

/* `of` with room for one behind its n members. */
static void *with_room(void *of, size_t n, size_t *room, size_t size) {
    if (n < *room) return of;
    *room = 2 * *room + 1024;
    return must(realloc(of, *room * size));
}

/* ---- the crew: the threads of a run, which begin each burst together ---- */

typedef struct worker {
    _Alignas(128) unsigned char *out;
    size_t room;
    id_run *runs; /* all IDs that were timed */
    size_t n_runs, room_for_runs;
    unique_key newest;
    uint64_t ids, falls; /* falls: IDs that are not greater than the one before */
    bool failed, is_warm, tried_order;
    /* saturation: */
    uint64_t drawn, by_lane[most], on_core[most];
    double cpu_s;
    int64_t began_ns, ended_ns;
    uint32_t *took_ns; /* of single calls */
    size_t n_timed;
} worker;

static worker workers[most];
static unsigned crew;
static bool spins; /* a core for each thread */
static _Atomic(unsigned) arrived, round_, finished;
static pthread_barrier_t barrier;
static int64_t last_unit;
static uint64_t alone; /* bursts in which the threads did not overlap */

static void meet(void) {
    if (crew == 1) return;
    if (!spins) {
        (void)pthread_barrier_wait(&barrier);
        return;
    }
    const unsigned round = atomic_load(&round_);
    if (atomic_fetch_add(&arrived, 1) + 1 == crew) {
        atomic_store(&arrived, 0);
        atomic_store(&round_, round + 1);
        return;
    }
    for (unsigned i = 0; atomic_load(&round_) == round; i++)
        if (i % 1024 == 1023) (void)sched_yield();
}

static size_t largest_burst(const bench_row *r, unsigned threads) {
    const bool with_rivals = threads > 1 && threads <= bench_cores();
    return bench_burst_size(r, threads) * threads * (with_rivals ? 2 : 1);
}

bool bench_in_crowds(const bench_row *r, unsigned threads) {
    return r->crowds && bench_burst_size(r, threads) % r->at_once == 0;
}

size_t bench_bursts(const bench_row *r, unsigned threads, double seconds) {
    const double burst_s = r->burst == batch_burst_ids ? 2e-5 : 2e-4;
    const unsigned cores = bench_cores();
    double bursts = seconds / burst_s;
    if (threads > cores) bursts *= (double)cores / threads;
    if (threads > 1 && r->at_once > 1) bursts /= 16;          /* many IDs, all to be checked */
    if (r->order != any_order && r->at_once > 1) bursts /= 8; /* each takes memory */
    if (r->unit_ns) {
        const size_t in_unit = paced_ids / largest_burst(r, threads);
        const double most_bursts = 5 * seconds / ((double)r->unit_ns / 1e9) * (double)(in_unit ? in_unit : 1);
        if (bursts > most_bursts) bursts = most_bursts;
    }
    return bursts > 8 ? (size_t)bursts : 8;
}

/* Waits until a unit has enough IDs left for a burst. Busy, so that the core stays awake. */
static size_t drawn_in_unit;

static void wait_for_unit(const bench_row *r) {
    drawn_in_unit += largest_burst(r, crew);
    if (last_unit && drawn_in_unit <= paced_ids) return;
    drawn_in_unit = largest_burst(r, crew);
    int64_t unit;
    do unit = (r->clock == FLAKE_CLOCK_COARSE ? coarse_ns() : exact_ns()) / r->unit_ns;
    while (unit == last_unit);
    last_unit = unit;
}

static void grow(worker *w, size_t bytes) {
    if (w->room >= bytes) return;
    free(w->out);
    w->out = (unsigned char *)must(malloc(bytes));
    w->room = bytes;
}

/* ---- the floor beside a row ----
 *
 * The speed of a machine with other work varies. So on one thread a burst of the floor runs right
 * before each burst or, every second time, right after it. */

typedef struct floor_term {
    const bench_row *row;
    double divisor;
} floor_term;

static floor_term floor_terms[2];
static size_t n_floor_terms;
static double *ratios;
static size_t n_ratios, room_for_ratios;

/* "floor/a / 16 + floor/b" */
static void find_floor(const char *text) {
    char name[40];
    for (n_floor_terms = 0; *text; n_floor_terms++) {
        floor_term *const term = &floor_terms[n_floor_terms];
        int length = 0;
        if (n_floor_terms == 2 || sscanf(text, "%39s%n", name, &length) != 1 || !bench_row_named(name)) abort();
        text += length;
        term->row = bench_row_named(name);
        term->divisor = 1;
        if (sscanf(text, " / %lf%n", &term->divisor, &length) == 1) text += length;
        if (strncmp(text, " + ", 3) == 0) text += 3;
    }
}

static double floor_ns(worker *w, const bench_row *r, size_t n) {
    unsigned char *out = w->out + n * (r->id_size > 16 ? r->id_size : 16);
    double sum_ns = 0;
    for (size_t i = 0; i < n_floor_terms; i++) {
        const int64_t began_ns = clock_ns(CLOCK_MONOTONIC);
        w->failed |= !floor_terms[i].row->draw(0, out, n);
        sum_ns += (double)(clock_ns(CLOCK_MONOTONIC) - began_ns) / floor_terms[i].divisor;
    }
    return sum_ns;
}

static void add_ratio(double ratio) {
    ratios = (double *)with_room(ratios, n_ratios, &room_for_ratios, sizeof *ratios);
    ratios[n_ratios++] = ratio;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *of, size_t n) {
    if (n == 0) return 0;
    qsort(of, n, sizeof *of, by_size);
    return (of[(n - 1) / 2] + of[n / 2]) / 2;
}

double bench_typical(double *bursts, size_t n, unsigned threads) {
    double sum = 0;
    if (threads <= bench_cores()) return median(bursts, n);
    for (size_t i = 0; i < n; i++) sum += bursts[i];
    return sum / (double)n;
}

static unique_key newest_of_crew;
static uint64_t falls_across;

void bench_begin(const bench_row *r, unsigned threads) {
    crew = threads;
    n_ratios = 0;
    find_floor(threads == 1 ? r->floor : "");
    spins = threads <= bench_cores();
    last_unit = 0;
    alone = 0;
    newest_of_crew = nothing;
    falls_across = 0;
    atomic_store(&arrived, 0);
    if (!spins && pthread_barrier_init(&barrier, NULL, threads) != 0) abort();
    const bool well = r->begin(threads);
    for (unsigned i = 0; i < threads; i++) {
        worker *w = &workers[i];
        w->failed = !well;
        w->is_warm = false;
        w->newest = nothing;
        w->ids = w->falls = w->n_runs = 0;
        w->tried_order = crew == 1 || r->order == any_order;
        if (r->saturates) continue;
        const size_t bytes = 2 * bench_burst_size(r, threads) * (r->id_size > 16 ? r->id_size : 16);
        grow(w, bytes);
        memset(w->out, 0, bytes);
    }
}

static void keep(const bench_row *r, worker *w, size_t n) {
    for (size_t i = 0; r->key && i < n; i++) {
        const unique_key id = r->key(w->out, i);
        id_run *const last = w->n_runs ? &w->runs[w->n_runs - 1] : NULL;
        if (last && last->high == id.high && last->low + last->n == id.low) last->n++;
        else {
            w->runs = (id_run *)with_room(w->runs, w->n_runs, &w->room_for_runs, sizeof *w->runs);
            w->runs[w->n_runs++] = (id_run){id.high, id.low, 1};
        }
        w->ids++;
        w->falls += !key_is_less(w->newest, id);
        w->newest = id;
    }
    if (r->right) w->failed |= memcmp(w->out, r->right, n * r->id_size) != 0;
}

/* Untimed calls. One must return IDs that are greater than each ID that any call had returned before it began. */
static void try_order(const bench_row *r, unsigned thread) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    worker *const w = &workers[thread];
    const size_t n = bench_burst_size(r, crew);
    meet();
    for (size_t i = 0; i < n; i += r->at_once) {
        unique_key least = {UINT64_MAX, UINT64_MAX}, greatest = nothing;
        (void)pthread_mutex_lock(&lock);
        const unique_key before = newest_of_crew;
        (void)pthread_mutex_unlock(&lock);
        w->failed |= !r->draw(thread, w->out + i * r->id_size, r->at_once);
        for (size_t k = i; k < i + r->at_once; k++) {
            const unique_key id = r->key(w->out, k);
            if (key_is_less(id, least)) least = id;
            if (key_is_less(greatest, id)) greatest = id;
        }
        (void)pthread_mutex_lock(&lock);
        falls_across += !key_is_less(before, least);
        if (key_is_less(newest_of_crew, greatest)) newest_of_crew = greatest;
        (void)pthread_mutex_unlock(&lock);
    }
    meet();
    keep(r, w, n);
}

/* On a machine with other work a thread may be descheduled while the others run alone. */
static bool ran_together(void) {
    int64_t first_ns = INT64_MAX, last_begin_ns = 0, last_end_ns = 0, shortest_ns = INT64_MAX;
    for (unsigned i = 0; i < crew; i++) {
        const worker *w = &workers[i];
        if (w->began_ns < first_ns) first_ns = w->began_ns;
        if (w->began_ns > last_begin_ns) last_begin_ns = w->began_ns;
        if (w->ended_ns > last_end_ns) last_end_ns = w->ended_ns;
        if (w->ended_ns - w->began_ns < shortest_ns) shortest_ns = w->ended_ns - w->began_ns;
    }
    return last_begin_ns - first_ns < shortest_ns / 5 && last_end_ns - first_ns < 3 * shortest_ns;
}

static double burst_once(const bench_row *r, unsigned thread) {
    worker *const w = &workers[thread];
    const size_t n = bench_burst_size(r, crew);
    const clockid_t clock = spins ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
    if (thread == 0) {
        atomic_store(&finished, 0);
        if (r->unit_ns) wait_for_unit(r);
    }
    meet();
    const bool floor_first = n_ratios % 2;
    double beside_ns = n_floor_terms && floor_first ? floor_ns(w, r, n) : 0;
    w->began_ns = clock_ns(clock);
    bool well = r->draw(thread, w->out, n);
    w->ended_ns = clock_ns(clock);
    const int64_t took_ns = w->ended_ns - w->began_ns;
    if (n_floor_terms && !floor_first) beside_ns = floor_ns(w, r, n);
    if (beside_ns > 0) add_ratio((double)took_ns / beside_ns);

    /* A thread that is done keeps drawing until all are. */
    size_t made = n;
    if (crew > 1 && spins && r->key) {
        const size_t few = r->at_once > rival_ids ? r->at_once : rival_ids;
        atomic_fetch_add(&finished, 1);
        for (; atomic_load(&finished) < crew && made + few <= 2 * n; made += few)
            well &= r->draw(thread, w->out + made * r->id_size, few);
    }
    meet();
    w->failed |= !well;
    keep(r, w, made);
    return (double)took_ns / 1e9;
}

/* The fast clock uses the counter after two intervals of 10 ms in which both agree, once in a process. */
static void warm_up(const bench_row *r, unsigned thread) {
    worker *const w = &workers[thread];
    const int64_t began_ns = clock_ns(CLOCK_MONOTONIC);
    while (r->clock == FLAKE_CLOCK_FAST && flake_i_counter_window() == 1 &&
           clock_ns(CLOCK_MONOTONIC) - began_ns < 50000000)
        w->failed |= !r->draw(thread, w->out, r->at_once);
    w->is_warm = true;
}

double bench_burst(const bench_row *r, unsigned thread) {
    enum { most_tries = 20 };
    if (!workers[thread].is_warm) warm_up(r, thread);
    if (!workers[thread].tried_order) {
        workers[thread].tried_order = true;
        try_order(r, thread);
    }
    for (int tries = 1;; tries++) {
        const double took_s = burst_once(r, thread);
        if (crew == 1 || !spins) return took_s;
        const bool together = ran_together();
        meet(); /* before any thread begins again */
        if (together) return took_s;
        if (tries == most_tries) {
            if (thread == 0) alone++;
            return took_s;
        }
    }
}

static uint64_t duplicates_of_crew(void) {
    size_t n = 0;
    for (unsigned i = 0; i < crew; i++) n += workers[i].n_runs;
    id_run *const all = (id_run *)must(malloc((n + 1) * sizeof *all)), *end = all;
    for (unsigned i = 0; i < crew; end += workers[i++].n_runs)
        if (workers[i].n_runs) memcpy(end, workers[i].runs, workers[i].n_runs * sizeof *end);
    const uint64_t duplicates = id_run_duplicates(all, n);
    free(all);
    return duplicates;
}

/* ---- saturation ---- */

/* Which lane returned an ID: lanes have disjoint numbers. */
static size_t lane_of(const bench_row *r, const void *of, size_t at, size_t n_lanes) {
    const bool is_sno = r->draw == sno_lanes_next_1; /* else of flake-idgen's layout */
    const flake_lane *const lane = is_sno ? sno_lanes_of_cores : flake_lanes_of_cores;
    const uint64_t seq = is_sno ? sno_sequence(((const sno_id *)of)[at]) : ((const uint64_t *)of)[at] % (1 << 12);
    size_t n = n_lanes - 1;
    while (seq < lane[n].first) n--;
    return n;
}

static bool draws_from_lanes(const bench_row *r) { return r->draw == lanes_next_1 || r->draw == sno_lanes_next_1; }

void bench_saturate(const bench_row *r, unsigned thread, double seconds) {
    worker *const w = &workers[thread];
    const int64_t length_ns = (int64_t)(seconds * 1e9);
    const size_t room = (size_t)(r->cap * seconds * 1.25) + 2 * 4096;
    grow(w, room * r->id_size);
    w->took_ns = (uint32_t *)must(realloc(w->took_ns, (room / r->at_once + 1) * sizeof *w->took_ns));
    memset(w->by_lane, 0, sizeof w->by_lane);
    memset(w->on_core, 0, sizeof w->on_core);
    bool well = true;

    if (thread == 0) { /* or the window would have one unit more than its length */
        const int64_t unit = exact_ns() / sno_unit_ns;
        while (exact_ns() / sno_unit_ns == unit) {
        }
    }
    meet();
    size_t n = 0;
    int64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    w->began_ns = clock_ns(CLOCK_MONOTONIC);
    do {
        well &= r->draw(thread, w->out + n * r->id_size, r->burst);
        n += r->burst;
        w->on_core[(unsigned)sched_getcpu() % most] += r->burst;
        w->ended_ns = clock_ns(CLOCK_MONOTONIC);
    } while (w->ended_ns - w->began_ns < length_ns && n + r->burst <= room);
    w->cpu_s = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns) / 1e9;
    w->drawn = n;
    meet(); /* or threads that are done would take time from those that draw */
    const size_t n_lanes = draws_from_lanes(r) ? lanes() : 0;
    for (size_t i = 0; n_lanes && i < n; i++) w->by_lane[lane_of(r, w->out, i, n_lanes)]++;
    keep(r, w, n);

    meet();
    n = w->n_timed = 0;
    const int64_t began_ns = clock_ns(CLOCK_MONOTONIC);
    for (int64_t before_ns = began_ns; before_ns - began_ns < length_ns && n + r->at_once <= room; n += r->at_once) {
        well &= r->draw(thread, w->out + n * r->id_size, r->at_once);
        const int64_t now_ns = clock_ns(CLOCK_MONOTONIC), took_ns = now_ns - before_ns;
        w->took_ns[w->n_timed++] = took_ns < UINT32_MAX ? (uint32_t)took_ns : UINT32_MAX;
        before_ns = now_ns;
    }
    keep(r, w, n);
    w->failed |= !well;
}

static int falling(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

static int rising_32(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The largest of n counts, as a multiple of the smallest. */
static double most_to_least(const uint64_t *counts, size_t n) {
    uint64_t least = UINT64_MAX, greatest = 0;
    for (size_t i = 0; i < n; i++) {
        if (counts[i] < least) least = counts[i];
        if (counts[i] > greatest) greatest = counts[i];
    }
    return (double)greatest / (double)(least ? least : 1);
}

static void saturated(bench_result *s) {
    uint64_t by_thread[most], by_lane[most] = {0}, on_core[most] = {0};
    uint32_t *took_ns = NULL;
    uint64_t drawn = 0, drawn_by_lane = 0;
    size_t calls = 0;
    double cpu_s = 0;
    int64_t began_ns = INT64_MAX, ended_ns = 0;
    for (unsigned t = 0; t < crew; t++) {
        const worker *w = &workers[t];
        drawn += w->drawn;
        by_thread[t] = w->drawn;
        for (unsigned i = 0; i < most; i++) {
            by_lane[i] += w->by_lane[i];
            drawn_by_lane += w->by_lane[i];
            on_core[i] += w->on_core[i];
        }
        cpu_s += w->cpu_s;
        if (w->began_ns < began_ns) began_ns = w->began_ns;
        if (w->ended_ns > ended_ns) ended_ns = w->ended_ns;
        took_ns = (uint32_t *)must(realloc(took_ns, (calls + w->n_timed) * sizeof *took_ns));
        memcpy(took_ns + calls, w->took_ns, w->n_timed * sizeof *took_ns);
        calls += w->n_timed;
    }
    s->ids_per_second = (double)drawn / ((double)(ended_ns - began_ns) / 1e9);
    s->cpu_s_per_million = cpu_s / ((double)drawn / 1e6);
    if (crew > 1) s->of_threads = most_to_least(by_thread, crew);
    if (drawn_by_lane) s->of_lanes = most_to_least(by_lane, lanes());
    qsort(on_core, most, sizeof *on_core, falling); /* ours need not be the first ones */
    if (!spins) s->on_cores = most_to_least(on_core, lanes());
    qsort(took_ns, calls, sizeof *took_ns, rising_32);
    s->p50_ns = took_ns[calls / 2];
    s->p99_ns = took_ns[(size_t)(0.99 * (double)calls)];
    s->p999_ns = took_ns[(size_t)(0.999 * (double)calls)];
    s->worst_ns = took_ns[calls - 1];
    free(took_ns);
}

bench_result bench_end(const bench_row *r) {
    static char why[160];
    bool failed = false;
    bench_result of = {0};
    for (unsigned i = 0; i < crew; i++) {
        failed |= workers[i].failed;
        of.ids += workers[i].ids;
        of.falls += workers[i].falls;
    }
    if (!spins) (void)pthread_barrier_destroy(&barrier);
    of.duplicates = duplicates_of_crew();
    of.falls_across = falls_across;
    of.alone = alone;
    of.ratio = median(ratios, n_ratios);
    if (r->saturates) saturated(&of);
    const int n = snprintf(why, sizeof why, "%s, %u threads: ", r->name, crew);
    char *const at = why + n;
    const size_t room = sizeof why - (size_t)n;
    of.why = why;
    if (of.duplicates && !bench_is_peer(r))
        (void)snprintf(at, room, "%" PRIu64 " of %" PRIu64 " ids are duplicates", of.duplicates, of.ids);
    else if (of.falls && r->order >= rising_in_a_thread)
        (void)snprintf(at, room, "%" PRIu64 " of %" PRIu64 " ids fell in their thread", of.falls, of.ids);
    else if (of.falls_across && r->order >= rising)
        (void)snprintf(at, room, "%" PRIu64 " calls fell behind another thread's", of.falls_across);
    else if (failed) (void)snprintf(at, room, "a call failed, or its result is wrong");
    else of.why = NULL;
    return of;
}
