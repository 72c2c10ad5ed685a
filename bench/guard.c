/* SPDX-License-Identifier: MIT
 *
 * The hot paths, for a tool that counts instructions. Each is a function that runs the path `steps` times. The
 * clock is a variable: every run is the same, and only our code is counted.
 *
 *     guard --key     what the counts depend on: compiler, its version, machine
 *     guard --list    "function ids" for each path: how many IDs it makes
 *
 * Compiled once for each PART and WAY. A compiler inlines a function that is called in one place only, as in
 * the benchmark's loops; so no part calls one twice, except flake128_next and flake_uuid7_bytes.
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

#define USUAL     0
#define NEW_UNITS 1 /* each draw in its own unit, as at a low rate, with the fast clock */
#define COARSE    2
#define FAST      3
#define FULL      4 /* a unit fills its count; WAY 0 only */
#define BATCHES   5 /* of UUIDs; WAY 0 only */
/* WAY 0: generators for all threads, and everything else; 1: with lanes; 2: single_thread */

enum { all_steps = 1000, many = 1024 };
static int steps = all_steps;

typedef bool guard_part(bool lists); /* lists its paths, or runs them; true: no call has failed */
#define PART_NUMBER(number, way) PART_NAMED(number, way)
#define PART_NAMED(number, way)  part_##number##way
guard_part part_00, part_01, part_02, part_10, part_11, part_12, part_20, part_21, part_22, part_30, part_31, part_32,
    part_40, part_50;

static int64_t guard_clock_ms; /* for callers that have the time, in ms */
static flake_gen flakes;       /* of the way; so do all that follow */
static sno_gen snos;
static uint64_t ids[many];
static flake128 ids128[many];
static _Alignas(64) sno_id sno_ids[many]; /* filling takes other steps where it is aligned */
static char texts[many * 37];
static bool well = true;

static uint64_t some_id = 7380123456789012345;
static uint64_t id;
static flake128 id128;
static sno_id sno;

/* The compiler must not know that no code reads what a path has written. */
static void publish(void) {
    __asm__ volatile("" : : "r"(&id), "r"(&some_id), "r"(&id128), "r"(&sno) : "memory");
    __asm__ volatile("" : : "r"(ids), "r"(ids128), "r"(sno_ids), "r"(texts) : "memory");
}

static void move_clock(int64_t ms) {
    guard_clock_ms += ms;
    guard_clock_ns += ms * 1000000;
    guard_counter += (uint64_t)ms * 3000000;
}

/* Paths are named after their way and their part: flake_lanes_next_coarse. */
#if WAY == 0
#define OF_WAY _
#elif WAY == 1
#define OF_WAY _lanes_
#else
#define OF_WAY _shard_
#endif
#define STEP
#if PART == NEW_UNITS
#define OF_PART _new_unit
#undef STEP
#define STEP move_clock(4);
#elif PART == COARSE
#define OF_PART _coarse
#elif PART == FAST
#define OF_PART _fast
#elif PART == FULL
#define OF_PART _full_count
#else
#define OF_PART
#endif
#define JOINED(header, way, call, part) header##way##call##part
#define JOIN(header, way, call, part)   JOINED(header, way, call, part)
#define NAME(header, call)              JOIN(header, OF_WAY, call, OF_PART)

#define OK(call) WELL((call) == FLAKE_OK)
#define WELL(is) \
    if (!(is)) well = false

#define FLAKE_PATH(PATH) PATH(NAME(flake, next), 1, STEP OK(flake_next(&flakes, &id)))
#if PART == FULL
#define NEXT_PATHS(PATH) FLAKE_PATH(PATH)
#elif PART == BATCHES
#define NEXT_PATHS(PATH)
#else
#define NEXT_PATHS(PATH) \
    FLAKE_PATH(PATH)     \
    PATH(NAME(sno, next), 1, STEP OK(sno_next(&snos, 42, &sno)))
#endif
#if WAY != 1 && (PART == USUAL || PART == NEW_UNITS)
#define TRY_AT_PATHS(PATH)                                                            \
    PATH(NAME(flake, try_at), 1, STEP OK(flake_try_at(&flakes, guard_clock_ms, &id))) \
    PATH(NAME(sno, try_at), 1, STEP OK(sno_try_at(&snos, 42, guard_clock_ms, &sno)))
#else
#define TRY_AT_PATHS(PATH)
#endif
#if WAY != 2 && PART == USUAL
static flake_gen flakes128;
#define MANY_PATHS(PATH)                                                  \
    PATH(NAME(flake, next_n), many, OK(flake_next_n(&flakes, ids, many))) \
    PATH(NAME(flake128, next), 1, OK(flake128_next(&flakes128, &id128)))  \
    PATH(NAME(flake128, next_n), many, move_clock(1);                     \
         OK(flake128_next_n(&flakes128, ids128, many)))                   \
    PATH(NAME(sno, next_n), many, move_clock(4); OK(sno_next_n(&snos, 42, sno_ids, many)))
#else
#define MANY_PATHS(PATH)
#endif
#if WAY == 0 && PART == USUAL
static _Atomic(uint64_t) floor_word;
static flake_prefetch prefetch;
static flake_gen uuids;
#define OTHER_PATHS(PATH)                                                                  \
    PATH(floor_given_cas, 1, id = by_cas(&floor_word, guard_clock_ns))                     \
    PATH(floor_given_store, 1, id = by_store(&floor_word, guard_clock_ns))                 \
    PATH(floor_store, 1, id = own_increment(&floor_word))                                  \
    PATH(flake_try, 1, OK(flake_try(&flakes, &id)))                                        \
    PATH(flake_prefetch_next, 1, OK(flake_prefetch_next(&prefetch, &id)))                  \
    PATH(flake128_next_uuid7, 1, OK(flake128_next(&uuids, &id128)))                        \
    PATH(flake_format_dec, 1, WELL(flake_format(some_id, FLAKE_DEC, texts, 24) > 0))       \
    PATH(flake_parse_dec, 1, OK(flake_parse("7380123456789012345", 19, FLAKE_DEC, &id)))   \
    PATH(flake_format_base62, 1, WELL(flake_format(some_id, FLAKE_BASE62, texts, 24) > 0)) \
    PATH(flake128_to_uuid, 1, flake128_to_uuid(&id128, texts))                             \
    PATH(flake128_from_uuid, 1, OK(flake128_from_uuid(texts, 36, &id128)))                 \
    PATH(flake128_to_ulid, 1, flake128_to_ulid(&id128, texts))                             \
    PATH(flake128_from_ulid, 1, OK(flake128_from_ulid(texts, 26, &id128)))                 \
    PATH(flake128_to_uuid_n, many, flake128_to_uuid_n(ids128, many, texts))                \
    PATH(flake128_from_uuid_n, many, OK(flake128_from_uuid_n(texts, many, ids128)))        \
    PATH(flake128_to_ulid_n, many, flake128_to_ulid_n(ids128, many, texts))                \
    PATH(flake128_from_ulid_n, many, OK(flake128_from_ulid_n(texts, many, ids128)))        \
    PATH(sno_encode, 1, sno_encode(sno, texts))                                            \
    PATH(sno_decode, 1, OK(sno_decode(texts, 16, &sno)))                                   \
    PATH(sno_encode_n, many, sno_encode_n(sno_ids, many, texts))                           \
    PATH(sno_decode_n, many, OK(sno_decode_n(texts, many, sno_ids)))
#elif WAY == 0 && PART == FAST
#define OTHER_PATHS(PATH)                                          \
    PATH(flake_uuid7_bytes, 1, OK(flake_uuid7_bytes(id128.bytes))) \
    PATH(flake_uuid7, 1, OK(flake_uuid7(texts)))                   \
    PATH(flake_ulid_bytes, 1, OK(flake_ulid_bytes(id128.bytes)))   \
    PATH(flake_ulid, 1, OK(flake_ulid(texts)))                     \
    PATH(sno_generate, 1, sno = sno_generate(42))
#elif PART == BATCHES
static flake_gen uuids;
#define OTHER_PATHS(PATH) \
    PATH(flake128_next_n_uuid7, many, move_clock(1); OK(flake128_next_n(&uuids, ids128, many)))
#else
#define OTHER_PATHS(PATH)
#endif
#define PATHS(PATH) NEXT_PATHS(PATH) TRY_AT_PATHS(PATH) MANY_PATHS(PATH) OTHER_PATHS(PATH)

#define FUNCTION(name, n, ...) FUNCTION_NAMED(name, n, __VA_ARGS__)
#define FUNCTION_NAMED(name, n, ...)                           \
    __attribute__((noinline)) static void guard_##name(void) { \
        for (int i = steps; i; i--) {                          \
            __VA_ARGS__;                                       \
            __asm__ volatile("" ::: "memory");                 \
        }                                                      \
    }
PATHS(FUNCTION)

#define RUN(name, ...)           RUN_NAMED(name, __VA_ARGS__)
#define RUN_NAMED(name, ...)     guard_##name();
#define LIST(name, n, ...)       LIST_NAMED(name, n, __VA_ARGS__)
#define LIST_NAMED(name, n, ...) (void)printf("%s %d\n", #name, (n)*all_steps);

static bool run(void) {
    publish();
    PATHS(RUN)
    if (!well) (void)fprintf(stderr, "a call failed\n");
    return well;
}

static bool begin(void) {
    const flake_node node = PART == FULL ? flake_node_none() : flake_node_fixed(NULL, 0);
    flake_options o = {0}, s = {0};
    move_clock(1767225600000);
    o.layout = PART == FULL ? flake_layout_of(44, 0, 20, 0) : flake_layout_of(36, 4, 24, guard_clock_ms - 1000);
    o.clock.kind = s.clock.kind = PART == COARSE                      ? FLAKE_CLOCK_COARSE
                                  : PART == FAST || PART == NEW_UNITS ? FLAKE_CLOCK_FAST
                                                                      : FLAKE_CLOCK_EXACT;
    o.start_this_unit = s.start_this_unit = true; /* no path waits */
#if WAY == 1
    static flake_lane lane[2], sno_lane[2];
    o.lanes = lane;
    s.lanes = sno_lane;
    o.lane_count = s.lane_count = 2;
#endif
#if WAY == 2
    OK(flake_init_shards(&flakes, 1, node, &o, NULL));
    OK(sno_init_shards(&snos, 1, flake_node_none(), NULL, &s, NULL));
#else
    OK(flake_init(&flakes, node, &o, NULL));
    OK(sno_init(&snos, flake_node_none(), NULL, &s, NULL));
#endif
#if WAY == 0 && PART == USUAL
    OK(flake_prefetch_init(&prefetch, &flakes, 1000, 0, NULL));
#endif
#if WAY == 0 && (PART == USUAL || PART == BATCHES)
    flake_options u = {0};
    u.layout = flake_layout_uuid7;
    if (PART == USUAL) u.clock.kind = FLAKE_CLOCK_EXACT;
    OK(flake_init(&uuids, flake_node_none(), &u, NULL));
    OK(flake128_next(&uuids, &id128)); /* the first takes system calls */
#endif
#if WAY != 2 && PART == USUAL
    static flake_lane wide_lane[2];
    o.layout = flake_layout_boundary;
    if (o.lanes) o.lanes = wide_lane;
    OK(flake_init(&flakes128, flake_node_fixed(NULL, 1), &o, NULL));
#endif
#if PART == FAST /* they know the counter's pace, and have a lease, as if one draw a unit were frequent */
    steps = 1;
    for (int i = 0; i < 4; i++) {
        move_clock(20);
        well &= run();
        flakes.engine.frequent = snos.gen.engine.frequent = 1;
#if WAY == 1
        for (int k = 0; k < 2; k++) lane[k].engine.frequent = sno_lane[k].engine.frequent = 1;
#elif WAY == 0
        flake_i_default.gen->engine.frequent = sno_i_default.engine->frequent = 1;
#endif
    }
    steps = all_steps;
#endif
    return well;
}

bool PART_NUMBER(PART, WAY)(bool lists) {
    if (!lists) return begin() && run();
    PATHS(LIST)
    return true;
}

#if PART == USUAL && WAY == 0
int main(int argc, char **argv) {
    static guard_part *const parts[] = {part_00, part_01, part_02, part_10, part_11, part_12, part_20,
                                        part_21, part_22, part_30, part_31, part_32, part_40, part_50};
    if (argc > 1 && strcmp(argv[1], "--key") == 0) {
#if defined(__clang__)
        (void)printf("clang-%d.%d.%d-%s\n", __clang_major__, __clang_minor__, __clang_patchlevel__, MACHINE);
#else
        (void)printf("gcc-%d.%d.%d-%s\n", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__, MACHINE);
#endif
        return 0;
    }
    const bool lists = argc > 1 && strcmp(argv[1], "--list") == 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!parts[i](lists)) return 1;
    return 0;
}
#endif
