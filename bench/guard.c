/* SPDX-License-Identifier: MIT
 *
 * The hot paths, each in a function of its own that runs it `steps` times, for a tool that counts
 * instructions. The clock is a variable: so every run is the same, and all that counts is ours.
 *
 *     guard --key     what the counts depend on: compiler, its version, machine
 *     guard --list    "function ids" for each path: the ids that it makes
 */
#include <stdint.h>
static int64_t guard_clock_ns = 1767225600000000000;
static uint64_t guard_counter;
static int64_t read_now(int kind) {
    (void)kind;
    return guard_clock_ns;
}
#define FLAKE_CLOCK_NS(kind) read_now(kind)
#define SNO_CLOCK_NS(kind)   read_now(kind)
#define FLAKE_COUNTER()      guard_counter
#define SNO_COUNTER()        guard_counter
#include "flake.h"
#include "sno.h"
#include <stdio.h>
#include <string.h>

#if !defined(__GNUC__)
#error "the guard knows gcc and clang"
#endif

enum { steps = 1000, many = 1024 };

static flake_gen flakes, fast_flakes;
static flake_lanes lanes;
static flake_lane lane[2];
static flake_shard flake_shard_0;
static flake_prefetch prefetch;
static flake128_gen flakes128, uuids;
static sno_gen snos, fast_snos;
static sno_lanes laned_snos;
static sno_lane lane_of_snos[2];
static sno_shard sno_shard_0;
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

#define PATHS(PATH)                                                                               \
    PATH(flake_next, 1, well &= flake_next(&flakes, &id) == FLAKE_OK)                             \
    PATH(flake_next_new_unit, 1, guard_clock_ns += 1000000;                                       \
         well &= flake_next(&flakes, &id) == FLAKE_OK)                                            \
    PATH(flake_next_fast, 1, well &= flake_next(&fast_flakes, &id) == FLAKE_OK)                   \
    PATH(flake_lanes_next, 1, well &= flake_lanes_next(&lanes, &id) == FLAKE_OK)                  \
    PATH(flake_try, 1, well &= flake_try(&flakes, &id) == FLAKE_OK)                               \
    PATH(flake_try_at, 1,                                                                         \
         well &= flake_try_at(&flakes, guard_clock_ns / 1000000, &id) == FLAKE_OK)                \
    PATH(flake_shard_next, 1, well &= flake_shard_next(&flake_shard_0, &id) == FLAKE_OK)          \
    PATH(flake_shard_try_at, 1,                                                                   \
         well &= flake_shard_try_at(&flake_shard_0, guard_clock_ns / 1000000, &id) == FLAKE_OK)   \
    PATH(flake_prefetch_next, 1, well &= flake_prefetch_next(&prefetch, &id) == FLAKE_OK)         \
    PATH(flake_next_n, many, well &= flake_next_n(&flakes, ids, many) == FLAKE_OK)                \
    PATH(flake128_next, 1, well &= flake128_next(&flakes128, &id128) == FLAKE_OK)                 \
    PATH(flake128_next_n, many, guard_clock_ns += 1000000;                                        \
         well &= flake128_next_n(&flakes128, ids128, many) == FLAKE_OK)                           \
    PATH(flake128_next_uuid7, 1, well &= flake128_next(&uuids, &id128) == FLAKE_OK)               \
    PATH(flake_uuid7_bytes, 1, well &= flake_uuid7_bytes(id128.bytes) == FLAKE_OK)                \
    PATH(flake_ulid, 1, well &= flake_ulid(texts) == FLAKE_OK)                                    \
    PATH(sno_new, 1, sno = sno_new(&snos, 42))                                                    \
    PATH(sno_new_new_unit, 1, guard_clock_ns += 4000000; sno = sno_new(&snos, 42))                \
    PATH(sno_new_fast, 1, sno = sno_new(&fast_snos, 42))                                          \
    PATH(sno_lanes_new, 1, sno = sno_lanes_new(&laned_snos, 42))                                  \
    PATH(sno_shard_new, 1, sno = sno_shard_new(&sno_shard_0, 42))                                 \
    PATH(sno_generate, 1, sno = sno_generate(42))                                                 \
    PATH(sno_new_n, many, guard_clock_ns += 4000000;                                              \
         well &= sno_new_n(&snos, 42, sno_ids, many) == SNO_OK)                                   \
    PATH(flake_format_dec, 1, well &= flake_format(id, FLAKE_DEC, texts, 24) > 0)                 \
    PATH(flake_parse_dec, 1, well &= flake_parse("7380123456789012345", 19, FLAKE_DEC, &id) == 0) \
    PATH(flake_format_base62, 1, well &= flake_format(id, FLAKE_BASE62, texts, 24) > 0)           \
    PATH(flake128_to_uuid, 1, flake128_to_uuid(id128, texts))                                     \
    PATH(flake128_from_uuid, 1, well &= flake128_from_uuid(texts, 36, &id128) == FLAKE_OK)        \
    PATH(flake128_to_ulid, 1, flake128_to_ulid(id128, texts))                                     \
    PATH(flake128_from_ulid, 1, well &= flake128_from_ulid(texts, 26, &id128) == FLAKE_OK)        \
    PATH(flake128_to_uuid_n, many, flake128_to_uuid_n(ids128, many, texts))                       \
    PATH(flake128_from_uuid_n, many, well &= flake128_from_uuid_n(texts, many, ids128) == 0)      \
    PATH(flake128_to_ulid_n, many, flake128_to_ulid_n(ids128, many, texts))                       \
    PATH(flake128_from_ulid_n, many, well &= flake128_from_ulid_n(texts, many, ids128) == 0)      \
    PATH(sno_encode, 1, sno_encode(sno, texts))                                                   \
    PATH(sno_decode, 1, well &= sno_decode(texts, 16, &sno) == SNO_OK)                            \
    PATH(sno_encode_n, many, sno_encode_n(sno_ids, many, texts))                                  \
    PATH(sno_decode_n, many, well &= sno_decode_n(texts, many, sno_ids) == SNO_OK)

#define FUNCTION(name, n, ...)                                 \
    __attribute__((noinline)) static void guard_##name(void) { \
        for (int i = 0; i < steps; i++) {                      \
            __VA_ARGS__;                                       \
            __asm__ volatile("" ::: "memory");                 \
        }                                                      \
    }
PATHS(FUNCTION)

#define RUN(name, n, ...)  guard_##name();
#define LIST(name, n, ...) (void)printf("%s %d\n", #name, (n)*steps);

/* They know the counter's pace, and have a lease. */
static bool begin_fast(flake_options *o) {
    sno_options s;
    memset(&s, 0, sizeof s);
    o->clock.kind = FLAKE_CLOCK_FAST;
    s.clock.kind = SNO_CLOCK_FAST;
    bool begun = flake_init(&fast_flakes, o) == FLAKE_OK && sno_init(&fast_snos, &s) == SNO_OK;
    for (int i = 0; i < 4; i++) {
        guard_clock_ns += 20000000;
        guard_counter += 60000000;
        begun &= flake_next(&fast_flakes, &id) == FLAKE_OK;
        sno = sno_new(&fast_snos, 42);
    }
    o->clock.kind = FLAKE_CLOCK_EXACT;
    return begun;
}

/* Each has drawn its first id, for which it asks the system. */
static bool begin_uuids(void) {
    flake_options o;
    memset(&o, 0, sizeof o);
    o.form = FLAKE_UUID7;
    return flake128_init(&uuids, 0, &o) == FLAKE_OK && flake128_next(&uuids, &id128) == FLAKE_OK &&
           flake_uuid7_bytes(id128.bytes) == FLAKE_OK;
}

static bool begin(void) {
    flake_options o;
    memset(&o, 0, sizeof o);
    o.layout = flake_layout_of(36, 4, 24, guard_clock_ns / 1000000 - 1000);
    return begin_fast(&o) && begin_uuids() && flake_lanes_init(&lanes, lane, 2, &o) == FLAKE_OK &&
           sno_lanes_init(&laned_snos, lane_of_snos, 2, NULL) == SNO_OK &&
           flake_init(&flakes, &o) == FLAKE_OK &&
           flake_shards_init(&flake_shard_0, 1, &o) == FLAKE_OK &&
           flake_prefetch_init(&prefetch, &flakes, 1000, 0) == FLAKE_OK &&
           flake128_init(&flakes128, 1, NULL) == FLAKE_OK && sno_init(&snos, NULL) == SNO_OK &&
           sno_shards_init(&sno_shard_0, 1, NULL) == SNO_OK;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--key") == 0) {
#if defined(__clang__)
        (void)printf("clang-%d.%d.%d-%s\n", __clang_major__, __clang_minor__, __clang_patchlevel__,
                     MACHINE);
#else
        (void)printf("gcc-%d.%d.%d-%s\n", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__, MACHINE);
#endif
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        PATHS(LIST)
        return 0;
    }
    if (!begin()) return 1;
    publish();
    PATHS(RUN)
    if (!well) (void)fprintf(stderr, "a call failed\n");
    return !well;
}
