// SPDX-License-Identifier: MIT
//
// The other unit of early.c. In C++20 a std::atomic has a constructor: run with this unit's initialisers, it would
// reset objects that are already in use; and units with another version or other hooks would share it. Nor is anything
// copied whose address must not change.
#include "flake.h"
#include "sno.h"
#include <type_traits>

#define STAYS(type)                                                       \
    static_assert(std::is_trivially_default_constructible<type>::value && \
                      !std::is_copy_constructible<type>::value &&         \
                      !std::is_copy_assignable<type>::value,              \
                  #type)
STAYS(flake_gen);
STAYS(flake_ring_slot);
STAYS(flake_ring);
STAYS(flake_prefetch);
STAYS(sno_gen);

static flake_gen gen;

static int64_t always(void *) { return INT64_C(1800000000000000000); }

extern "C" int other_begin(uint64_t *id) {
    flake_options o = flake_options();
    o.clock.now_ns = always;
    const flake_status status = flake_init(&gen, flake_node_fixed(NULL, 0), &o, NULL);
    return status == FLAKE_OK ? flake_next(&gen, id) : status;
}

extern "C" int other_next(uint64_t *id) { return flake_next(&gen, id); }
