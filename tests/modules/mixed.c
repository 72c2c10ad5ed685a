/* SPDX-License-Identifier: MIT
 *
 * A unit with the headers, compiled twice into one program as mixed_one and mixed_two, each time with another version,
 * compiler or language. In C++20 a std::atomic has a constructor: run with a unit's initialisers, it would reset objects
 * that are already in use. Nor is anything copied whose address must not change.
 */
#include "flake.h"
#include "sno.h"
#include "mixed.h"

#ifdef __cplusplus
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
#endif

static flake_gen gen;

static int make(uint32_t node) { return (int)flake_init(&gen, flake_node_fixed(NULL, node), NULL, NULL); }

static int next(uint64_t *id) { return (int)flake_next(&gen, id); }

static void generate(uint8_t id[10]) { sno_to_bytes(sno_generate(1), id); }

static int uuid(uint8_t id[16]) { return (int)flake_uuid7_bytes(id); }

const mixed MIXED_NAME = {
    {{"process", (void *)&flake_i_process, sizeof flake_i_process},
     {"partitions", (void *)&sno_i_partitions, sizeof sno_i_partitions},
     {"default generator", (void *)&sno_i_default, sizeof sno_i_default},
     {"generator of UUIDs", (void *)&flake_i_default, sizeof flake_i_default}},
    make,
    next,
    generate,
    uuid};
