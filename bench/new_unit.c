/* SPDX-License-Identifier: MIT */
#include "new_unit.h"
#include "floors.h"
#include "flake.h"
#include "sno.h"
#include <string.h>
#include <time.h>

enum { meta = 42, most_lanes = 2 };

static flake_gen flakes;
static flake_gen flake_shard_0;
static flake_gen laned_flakes;
static flake_lane lanes_of_flakes[most_lanes];
static sno_gen snos;
static sno_gen sno_shard_0;
static sno_gen laned_snos;
static flake_lane lanes_of_snos[most_lanes];
static _Atomic(uint64_t) clocked_word, given_word;
static int64_t clock_ns, given_ms;

static int64_t leap_ns(void *user) {
    int64_t *now_ns = (int64_t *)user;
    return *now_ns += 4000000;
}

/* The same of a caller, who has the time in ms: the clock keeps up, or it would be too far ahead of that. */
static int64_t leap_ms(void) {
    clock_ns += 4000000;
    return given_ms += 4;
}

bool begin_new_units(unsigned threads) {
    flake_options f = {0};
    sno_snapshot pool = {0};
    flake_options s = {0};
    clock_ns = (int64_t)time(NULL) * 1000000000;
    given_ms = clock_ns / 1000000;
    atomic_store(&given_word, 0);
    f.clock.now_ns = s.clock.now_ns = leap_ns;
    f.clock.user = s.clock.user = &clock_ns;
    f.node = pool.partition = 3;
    if (threads != 1 || flake_init(&flakes, &f, NULL) != FLAKE_OK ||
        flake_init_shards(&flake_shard_0, 1, &f, NULL) != FLAKE_OK ||
        sno_init(&snos, &pool, &s, NULL) != FLAKE_OK ||
        sno_init_shards(&sno_shard_0, 1, &pool, &s, NULL) != FLAKE_OK)
        return false;
    f.lanes = lanes_of_flakes;
    s.lanes = lanes_of_snos;
    f.lane_count = s.lane_count = most_lanes;
    return flake_init(&laned_flakes, &f, NULL) == FLAKE_OK &&
           sno_init(&laned_snos, &pool, &s, NULL) == FLAKE_OK;
}

#define ONE_BY_ONE(name, type, ...)                   \
    bool name(unsigned thread, void *out, size_t n) { \
        type *ids = (type *)out;                      \
        bool well = true;                             \
        (void)thread;                                 \
        for (size_t i = 0; i < n; i++) __VA_ARGS__;   \
        return well;                                  \
    }

/* Where a clock says when, the unit must be found: a division that nobody can do without. */
static uint64_t start_by_clock(void) {
    static int64_t (*volatile const read_ns)(void *) = leap_ns;
    static int64_t now_ns;
    return start_of_ms((uint64_t)read_ns(&now_ns) / 1000000);
}

static uint64_t given_start(void) { return start_of_ms((uint64_t)leap_ms()); }

ONE_BY_ONE(floor_leaping_cas, uint64_t, ids[i] = by_cas_from(&clocked_word, start_by_clock()))
ONE_BY_ONE(floor_leaping_store, uint64_t, ids[i] = by_store_from(&clocked_word, start_by_clock()))
ONE_BY_ONE(floor_given_leaping_cas, uint64_t, ids[i] = by_cas_from(&given_word, given_start()))
ONE_BY_ONE(floor_given_leaping_store, uint64_t, ids[i] = by_store_from(&given_word, given_start()))

ONE_BY_ONE(new_unit_flake_next, uint64_t, well &= flake_next(&flakes, &ids[i]) == FLAKE_OK)
ONE_BY_ONE(new_unit_flake_try_at, uint64_t,
           well &= flake_try_at(&flakes, leap_ms(), &ids[i]) == FLAKE_OK)
ONE_BY_ONE(new_unit_flake_shard_next, uint64_t,
           well &= flake_next(&flake_shard_0, &ids[i]) == FLAKE_OK)
ONE_BY_ONE(new_unit_flake_shard_try_at, uint64_t,
           well &= flake_try_at(&flake_shard_0, leap_ms(), &ids[i]) == FLAKE_OK)
ONE_BY_ONE(new_unit_flake_lanes_next, uint64_t,
           well &= flake_next(&laned_flakes, &ids[i]) == FLAKE_OK)
ONE_BY_ONE(new_unit_sno_next, sno_id, well &= sno_next(&snos, meta, &ids[i]) == FLAKE_OK)
ONE_BY_ONE(new_unit_sno_try_at, sno_id,
           well &= sno_try_at(&snos, meta, leap_ms(), &ids[i]) == FLAKE_OK)
ONE_BY_ONE(new_unit_sno_shard_next, sno_id,
           well &= sno_next(&sno_shard_0, meta, &ids[i]) == FLAKE_OK)
ONE_BY_ONE(new_unit_sno_shard_try_at, sno_id,
           well &= sno_try_at(&sno_shard_0, meta, leap_ms(), &ids[i]) == FLAKE_OK)
ONE_BY_ONE(new_unit_sno_lanes_next, sno_id,
           well &= sno_next(&laned_snos, meta, &ids[i]) == FLAKE_OK)
