/* SPDX-License-Identifier: MIT
 *
 * The hot paths, each in a function of its own that runs it `steps` times, for a tool that counts
 * instructions. The clock is a variable: so every run is the same, and all that counts is ours.
 *
 *     guard --key     what the counts depend on: compiler, its version, machine
 *     guard --list    "function ids" for each path: the ids that it makes
 *
 * Compiled once for each PART and WAY. A compiler puts a function that is called in one place into its caller,
 * as in the loops of the benchmark; so no part calls one in two, but for flake128_next and flake_uuid7_bytes.
 */
#include <stdint.h>
static int64_t guard_clock_ns;
static uint64_t guard_counter;
static int64_t read_now(int kind) {
    (void)kind;
    return guard_clock_ns;
}
#define FLAKE_CLOCK_NS(kind) read_now(kind)
#define FLAKE_COUNTER()      guard_counter
#include "flake.h"
#include "sno.h"
#include "floors.h"
#include <stdio.h>
#include <string.h>

#if !defined(__GNUC__)
#error "the guard knows gcc and clang"
#endif

#define USUAL     0
#define NEW_UNITS 1 /* each draw in one of its own, as where ids are few */
#define COARSE    2
#define FAST      3
/* WAY 0: generators for all threads, and everything else; 1: with lanes; 2: single_thread */

enum { all_steps = 1000, many = 1024 };
static int steps = all_steps;

typedef struct guard_part {
    bool (*begin)(void);
    bool (*run)(void); /* true: no call has failed */
    void (*list)(void);
} guard_part;
#define PART_NUMBER(number, way) PART_NAMED(number, way)
#define PART_NAMED(number, way)  part_##number##way
extern const guard_part part_00, part_01, part_02, part_10, part_11, part_12, part_20, part_21,
    part_22, part_30, part_31, part_32;

static int64_t guard_clock_ms; /* who is given a time has not divided for it */
static flake_gen flakes;
static flake_gen lanes;
static flake_lane lane[2];
static flake_gen flake_shard_0;
static sno_gen snos;
static sno_gen laned_snos;
static flake_lane lane_of_snos[2];
static sno_gen sno_shard_0;
#if PART == USUAL
#if WAY == 0
static _Atomic(uint64_t) floor_word;
#endif
static flake_prefetch prefetch;
static flake_gen flakes128;
#if WAY == 0
static flake_gen uuids;
#endif
static flake_gen laned_flakes128;
static flake_lane wide_lane[2];
#endif
static uint64_t ids[many];
static flake128 ids128[many];
static _Alignas(64) sno_id sno_ids[many]; /* what fills it takes other steps where it is aligned */
static char texts[many * 37];
static bool well = true;

static uint64_t id;
static flake128 id128;
static sno_id sno;

/* The compiler must not see that nobody reads what a path has written. */
static void publish(void) {
    __asm__ volatile("" : : "r"(&id), "r"(&id128), "r"(&sno) : "memory");
    __asm__ volatile("" : : "r"(ids), "r"(ids128), "r"(sno_ids), "r"(texts) : "memory");
}

static void move_clock(int64_t ms) {
    guard_clock_ms += ms;
    guard_clock_ns += ms * 1000000;
}

#define NEXT(call)       well &= (call)(&flakes, &id) == FLAKE_OK
#define LANES_NEXT       well &= flake_next(&lanes, &id) == FLAKE_OK
#define TRY_AT           well &= flake_try_at(&flakes, guard_clock_ms, &id) == FLAKE_OK
#define SHARD_NEXT       well &= flake_next(&flake_shard_0, &id) == FLAKE_OK
#define SHARD_TRY_AT     well &= flake_try_at(&flake_shard_0, guard_clock_ms, &id) == FLAKE_OK
#define SNO_TRY_AT       well &= sno_try_at(&snos, 42, guard_clock_ms, &sno) == FLAKE_OK
#define SNO_SHARD_TRY_AT well &= sno_try_at(&sno_shard_0, 42, guard_clock_ms, &sno) == FLAKE_OK

#if PART == NEW_UNITS
#if WAY == 0
#define PATHS(PATH)                                                                          \
    PATH(flake_next_new_unit, 1, move_clock(1); NEXT(flake_next))                            \
    PATH(flake_try_at_new_unit, 1, move_clock(1); TRY_AT)                                    \
    PATH(sno_next_new_unit, 1, move_clock(4); well &= sno_next(&snos, 42, &sno) == FLAKE_OK) \
    PATH(sno_try_at_new_unit, 1, move_clock(4); SNO_TRY_AT)
#elif WAY == 1
#define PATHS(PATH)                                               \
    PATH(flake_lanes_next_new_unit, 1, move_clock(1); LANES_NEXT) \
    PATH(sno_lanes_next_new_unit, 1, move_clock(4);               \
         well &= sno_next(&laned_snos, 42, &sno) == FLAKE_OK)
#elif WAY == 2
#define PATHS(PATH)                                                   \
    PATH(flake_shard_next_new_unit, 1, move_clock(1); SHARD_NEXT)     \
    PATH(flake_shard_try_at_new_unit, 1, move_clock(1); SHARD_TRY_AT) \
    PATH(sno_shard_next_new_unit, 1, move_clock(4);                   \
         well &= sno_next(&sno_shard_0, 42, &sno) == FLAKE_OK)        \
    PATH(sno_shard_try_at_new_unit, 1, move_clock(4); SNO_SHARD_TRY_AT)
#endif
#elif PART == COARSE
#define PATHS(PATH) PATHS_BY_CLOCK(PATH, coarse)
#elif PART == FAST && WAY == 0
#define PATHS(PATH)                                                                \
    PATHS_BY_CLOCK(PATH, fast)                                                     \
    PATH(flake_uuid7_bytes, 1, well &= flake_uuid7_bytes(id128.bytes) == FLAKE_OK) \
    PATH(flake_uuid7, 1, well &= flake_uuid7(texts) == FLAKE_OK)                   \
    PATH(flake_ulid_bytes, 1, well &= flake_ulid_bytes(id128.bytes) == FLAKE_OK)   \
    PATH(flake_ulid, 1, well &= flake_ulid(texts) == FLAKE_OK)
#elif PART == FAST
#define PATHS(PATH) PATHS_BY_CLOCK(PATH, fast)
#else
#if WAY == 0
#define PATHS(PATH)                                                                               \
    PATH(floor_given_cas, 1, id = by_cas(&floor_word, guard_clock_ns))                            \
    PATH(floor_given_store, 1, id = by_store(&floor_word, guard_clock_ns))                        \
    PATH(floor_store, 1, id = own_increment(&floor_word))                                         \
    PATH(flake_next, 1, NEXT(flake_next))                                                         \
    PATH(flake_try, 1, NEXT(flake_try))                                                           \
    PATH(flake_try_at, 1, TRY_AT)                                                                 \
    PATH(flake_prefetch_next, 1, well &= flake_prefetch_next(&prefetch, &id) == FLAKE_OK)         \
    PATH(flake_next_n, many, well &= flake_next_n(&flakes, ids, many) == FLAKE_OK)                \
    PATH(flake128_next, 1, well &= flake128_next(&flakes128, &id128) == FLAKE_OK)                 \
    PATH(flake128_next_n, many, move_clock(1);                                                    \
         well &= flake128_next_n(&flakes128, ids128, many) == FLAKE_OK)                           \
    PATH(flake128_next_uuid7, 1, well &= flake128_next(&uuids, &id128) == FLAKE_OK)               \
    PATH(sno_next, 1, well &= sno_next(&snos, 42, &sno) == FLAKE_OK)                              \
    PATH(sno_try_at, 1, SNO_TRY_AT)                                                               \
    PATH(sno_generate, 1, sno = sno_generate(42))                                                 \
    PATH(sno_next_n, many, move_clock(4);                                                         \
         well &= sno_next_n(&snos, 42, sno_ids, many) == FLAKE_OK)                                \
    PATH(flake_format_dec, 1, well &= flake_format(id, FLAKE_DEC, texts, 24) > 0)                 \
    PATH(flake_parse_dec, 1, well &= flake_parse("7380123456789012345", 19, FLAKE_DEC, &id) == 0) \
    PATH(flake_format_base62, 1, well &= flake_format(id, FLAKE_BASE62, texts, 24) > 0)           \
    PATH(flake128_to_uuid, 1, flake128_to_uuid(&id128, texts))                                    \
    PATH(flake128_from_uuid, 1, well &= flake128_from_uuid(texts, 36, &id128) == FLAKE_OK)        \
    PATH(flake128_to_ulid, 1, flake128_to_ulid(&id128, texts))                                    \
    PATH(flake128_from_ulid, 1, well &= flake128_from_ulid(texts, 26, &id128) == FLAKE_OK)        \
    PATH(flake128_to_uuid_n, many, flake128_to_uuid_n(ids128, many, texts))                       \
    PATH(flake128_from_uuid_n, many, well &= flake128_from_uuid_n(texts, many, ids128) == 0)      \
    PATH(flake128_to_ulid_n, many, flake128_to_ulid_n(ids128, many, texts))                       \
    PATH(flake128_from_ulid_n, many, well &= flake128_from_ulid_n(texts, many, ids128) == 0)      \
    PATH(sno_encode, 1, sno_encode(sno, texts))                                                   \
    PATH(sno_decode, 1, well &= sno_decode(texts, 16, &sno) == FLAKE_OK)                          \
    PATH(sno_encode_n, many, sno_encode_n(sno_ids, many, texts))                                  \
    PATH(sno_decode_n, many, well &= sno_decode_n(texts, many, sno_ids) == FLAKE_OK)
#elif WAY == 1
#define PATHS(PATH)                                                                           \
    PATH(flake_lanes_next, 1, LANES_NEXT)                                                     \
    PATH(flake_lanes_next_n, many, well &= flake_next_n(&lanes, ids, many) == FLAKE_OK)       \
    PATH(flake128_lanes_next, 1, well &= flake128_next(&laned_flakes128, &id128) == FLAKE_OK) \
    PATH(flake128_lanes_next_n, many, move_clock(1);                                          \
         well &= flake128_next_n(&laned_flakes128, ids128, many) == FLAKE_OK)                 \
    PATH(sno_lanes_next, 1, well &= sno_next(&laned_snos, 42, &sno) == FLAKE_OK)              \
    PATH(sno_lanes_next_n, many, move_clock(4);                                               \
         well &= sno_next_n(&laned_snos, 42, sno_ids, many) == FLAKE_OK)
#elif WAY == 2
#define PATHS(PATH)                                                               \
    PATH(flake_shard_next, 1, SHARD_NEXT)                                         \
    PATH(flake_shard_try_at, 1, SHARD_TRY_AT)                                     \
    PATH(sno_shard_next, 1, well &= sno_next(&sno_shard_0, 42, &sno) == FLAKE_OK) \
    PATH(sno_shard_try_at, 1, SNO_SHARD_TRY_AT)
#endif
#endif
#if WAY == 0
#define PATHS_BY_CLOCK(PATH, clock)               \
    PATH(flake_next_##clock, 1, NEXT(flake_next)) \
    PATH(sno_next_##clock, 1, well &= sno_next(&snos, 42, &sno) == FLAKE_OK)
#elif WAY == 1
#define PATHS_BY_CLOCK(PATH, clock)               \
    PATH(flake_lanes_next_##clock, 1, LANES_NEXT) \
    PATH(sno_lanes_next_##clock, 1, well &= sno_next(&laned_snos, 42, &sno) == FLAKE_OK)
#elif WAY == 2
#define PATHS_BY_CLOCK(PATH, clock)               \
    PATH(flake_shard_next_##clock, 1, SHARD_NEXT) \
    PATH(sno_shard_next_##clock, 1, well &= sno_next(&sno_shard_0, 42, &sno) == FLAKE_OK)
#endif

#define FUNCTION(name, n, ...)                                 \
    __attribute__((noinline)) static void guard_##name(void) { \
        for (int i = steps; i; i--) {                          \
            __VA_ARGS__;                                       \
            __asm__ volatile("" ::: "memory");                 \
        }                                                      \
    }
PATHS(FUNCTION)

#define RUN(name, n, ...)  guard_##name();
#define LIST(name, n, ...) (void)printf("%s %d\n", #name, (n)*all_steps);

static bool run(void) {
    publish();
    PATHS(RUN)
    if (!well) (void)fprintf(stderr, "a call failed\n");
    return well;
}

static void list(void) { PATHS(LIST) }

#if PART == USUAL
/* Each has drawn its first id, for which it asks the system. */
static bool begin_others(void) {
    flake_options b = {0};
    b.layout = flake_layout_boundary;
    b.node = 1;
    flake_options bl = b;
    bl.lanes = wide_lane;
    bl.lane_count = 2;
#if WAY == 0
    flake_options o = {0};
    o.layout = flake_layout_uuid7;
    well = flake_init(&uuids, &o, NULL) == FLAKE_OK && flake128_next(&uuids, &id128) == FLAKE_OK;
#endif
    return well && flake_init(&flakes128, &b, NULL) == FLAKE_OK &&
           flake_init(&laned_flakes128, &bl, NULL) == FLAKE_OK &&
           flake_prefetch_init(&prefetch, &flakes, 1000, 0, NULL) == FLAKE_OK;
}
#elif PART == FAST
/* They know the counter's pace, and have a lease. */
static bool begin_others(void) {
    steps = 1;
    for (int i = 0; i < 4; i++) {
        move_clock(20);
        guard_counter += 60000000;
        well &= run();
    }
    steps = all_steps;
    return well;
}
#else
static bool begin_others(void) { return true; }
#endif

static bool begin(void) {
    flake_options o = {0}, s = {0};
    move_clock(1767225600000);
    o.layout = flake_layout_of(36, 4, 24, guard_clock_ms - 1000);
#if PART == COARSE
    o.clock.kind = FLAKE_CLOCK_COARSE;
    s.clock.kind = FLAKE_CLOCK_COARSE;
#elif PART == FAST
    o.clock.kind = FLAKE_CLOCK_FAST;
    s.clock.kind = FLAKE_CLOCK_FAST;
#endif
    flake_options ol = o, sl = s;
    ol.lanes = lane;
    sl.lanes = lane_of_snos;
    ol.lane_count = sl.lane_count = 2;
    return flake_init(&flakes, &o, NULL) == FLAKE_OK &&
           flake_init_shards(&flake_shard_0, 1, &o, NULL) == FLAKE_OK &&
           flake_init(&lanes, &ol, NULL) == FLAKE_OK &&
           sno_init(&snos, NULL, &s, NULL) == FLAKE_OK &&
           sno_init_shards(&sno_shard_0, 1, NULL, &s, NULL) == FLAKE_OK &&
           sno_init(&laned_snos, NULL, &sl, NULL) == FLAKE_OK && begin_others();
}

const guard_part PART_NUMBER(PART, WAY) = {begin, run, list};

#if PART == USUAL && WAY == 0
int main(int argc, char **argv) {
    static const guard_part *const parts[] = {&part_00, &part_01, &part_02, &part_10,
                                              &part_11, &part_12, &part_20, &part_21,
                                              &part_22, &part_30, &part_31, &part_32};
    if (argc > 1 && strcmp(argv[1], "--key") == 0) {
#if defined(__clang__)
        (void)printf("clang-%d.%d.%d-%s\n", __clang_major__, __clang_minor__, __clang_patchlevel__,
                     MACHINE);
#else
        (void)printf("gcc-%d.%d.%d-%s\n", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__, MACHINE);
#endif
        return 0;
    }
    const bool lists = argc > 1 && strcmp(argv[1], "--list") == 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (lists) parts[i]->list();
        else if (!parts[i]->begin() || !parts[i]->run()) return 1;
    return 0;
}
#endif
