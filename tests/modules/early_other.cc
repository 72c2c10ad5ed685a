// SPDX-License-Identifier: MIT
//
// The other unit of early.c. In C++20 a std::atomic has a constructor: it would wipe, when this unit's turn has come,
// what is drawn from already; and units with another version or other hooks would share it.
#include "flake.h"
#include "sno.h"
#include "early.h"
#include <type_traits>

#define IS_PLAIN(type) static_assert(std::is_trivially_default_constructible<type>::value, #type)
IS_PLAIN(flake_gen);
IS_PLAIN(flake_lanes);
IS_PLAIN(flake_shard);
IS_PLAIN(flake_pool);
IS_PLAIN(flake_ring_slot);
IS_PLAIN(flake_ring);
IS_PLAIN(flake_state);
IS_PLAIN(flake_slot);
IS_PLAIN(flake128_gen);
IS_PLAIN(sno_gen);
IS_PLAIN(sno_state);

static flake_gen gen;

static int64_t always(void *) { return INT64_C(1600000000000000000); }

int other_begin(uint64_t *id) {
    flake_options o = flake_options();
    o.clock.now_ns = always;
    const flake_status status = flake_init(&gen, &o);
    return status == FLAKE_OK ? flake_next(&gen, id) : status;
}

int other_next(uint64_t *id) { return flake_next(&gen, id); }
