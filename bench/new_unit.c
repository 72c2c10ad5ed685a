/* SPDX-License-Identifier: MIT */
#include "shim.h"
#include "floors.h"
#include "flake.h"
#include "sno.h"
#include <string.h>
#include <time.h>

enum { meta = 42, most_lanes = 2 };

static flake_gen flake_whole, flake_shard, flake_laned;
static sno_gen sno_whole, sno_shard, sno_laned;
static flake_lane lanes_of_flakes[most_lanes], lanes_of_snos[most_lanes];
static _Atomic(uint64_t) clocked_word, given_word;
static int64_t clock_ns, given_ms;

static int64_t leap_ns(void *user) {
    int64_t *now_ns = (int64_t *)user;
    return *now_ns += 4000000;
}

/* The same with the caller's time, in ms: the clock keeps up, or that time would be too far ahead of it. */
static int64_t leap_ms(void) {
    clock_ns += 4000000;
    return given_ms += 4;
}

bool begin_new_units(unsigned threads) {
    const flake_node node = flake_node_fixed(NULL, 3);
    flake_options f = {0}, s = {0};
    clock_ns = (int64_t)time(NULL) * 1000000000;
    given_ms = clock_ns / 1000000;
    atomic_store(&given_word, 0);
    f.clock.now_ns = s.clock.now_ns = leap_ns;
    f.clock.user = s.clock.user = &clock_ns;
    if (threads != 1 || flake_init(&flake_whole, node, &f, NULL) != FLAKE_OK ||
        flake_init_shards(&flake_shard, 1, node, &f, NULL) != FLAKE_OK ||
        sno_init(&sno_whole, node, NULL, &s, NULL) != FLAKE_OK ||
        sno_init_shards(&sno_shard, 1, node, NULL, &s, NULL) != FLAKE_OK)
        return false;
    f.lanes = lanes_of_flakes;
    s.lanes = lanes_of_snos;
    f.lane_count = s.lane_count = most_lanes;
    return flake_init(&flake_laned, node, &f, NULL) == FLAKE_OK &&
           sno_init(&sno_laned, node, NULL, &s, NULL) == FLAKE_OK;
}

#define EACH(name, type, call) BURST(name, type, 1, (void)0, call)

/* If the clock is read, the unit must be computed: a division is unavoidable. */
static uint64_t start_by_clock(void) {
    static int64_t (*volatile const read_ns)(void *) = leap_ns;
    static int64_t now_ns;
    return start_of_ms((uint64_t)read_ns(&now_ns) / 1000000);
}

static uint64_t given_start(void) { return start_of_ms((uint64_t)leap_ms()); }

EACH(floor_leaping_cas, uint64_t, DONE(ids[i] = by_cas_from(&clocked_word, start_by_clock())))
EACH(floor_leaping_store, uint64_t, DONE(ids[i] = by_store_from(&clocked_word, start_by_clock())))
EACH(floor_given_leaping_cas, uint64_t, DONE(ids[i] = by_cas_from(&given_word, given_start())))
EACH(floor_given_leaping_store, uint64_t, DONE(ids[i] = by_store_from(&given_word, given_start())))

#define NEW_UNITS(header, type, ...)                                                         \
    NEW_UNIT(header##_next, type, header##_next(&header##_whole, __VA_ARGS__ &ids[i]))       \
    NEW_UNIT(header##_shard_next, type, header##_next(&header##_shard, __VA_ARGS__ &ids[i])) \
    NEW_UNIT(header##_lanes_next, type, header##_next(&header##_laned, __VA_ARGS__ &ids[i])) \
    NEW_UNIT(header##_try_at, type,                                                          \
             header##_try_at(&header##_whole, __VA_ARGS__ leap_ms(), &ids[i]))               \
    NEW_UNIT(header##_shard_try_at, type,                                                    \
             header##_try_at(&header##_shard, __VA_ARGS__ leap_ms(), &ids[i]))
#define NEW_UNIT(name, type, call) EACH(new_unit_##name, type, (call) == FLAKE_OK)
NEW_UNITS(flake, uint64_t, )
NEW_UNITS(sno, sno_id, meta, )
