/* SPDX-License-Identifier: MIT
 *
 * A generator of flake.h on a scripted machine, and the two checks of its draws:
 *
 *     TEST(a_unit_has_three_ids) {
 *         open_gen(begin_with_three());                         // the machine's clock reads T
 *         EXPECT_ID(flake_try(&gen, &id), T, 10);               // an ID of this ms, and this number
 *         EXPECT_ID(flake_try(&gen, &id), T, 11);
 *         EXPECT_ID(flake_try(&gen, &id), T, 12);
 *         EXPECT_STATUS(flake_try(&gen, &id), FLAKE_AGAIN);     // no ID, and nothing has changed
 *         move_ns(MS);
 *         EXPECT_ID(flake_next(&gen, &id), T + 1, 10);
 *     }
 *
 * All tests draw from `gen`, and `id` is the last draw's. It includes flake.h.
 */
#ifndef SCRIPTED_FLAKE_H
#define SCRIPTED_FLAKE_H

#define SCRIPTED_SYSTEM
#include "support.h"
#include "flake.h"
#include "options.h"

#define MS INT64_C(1000000)       /* in ns */
#define T  INT64_C(1700000000000) /* Unix ms: where scripts begin */

static flake_gen gen;
static uint64_t id;
static uint64_t many[1 << 20]; /* for batches */

/* ---- a generator ---- */

/* The machine at T, and options for open_gen, which a test may change. */
static inline flake_options begin(flake_layout layout) {
    flake_options o = options_of_flake(0, 0, script_read, &script_now);
    script_at_ms(T);
    o.layout = layout;
    o.start_this_unit = true; /* by the system's clock, too */
    return o;
}

/* flake-idgen's layout with the numbers 10, 11 and 12 of each ms. */
static inline flake_options begin_with_three(void) {
    flake_options o = begin(flake_layout_idgen);
    o.seq_min = 10;
    o.seq_max = 12;
    return o;
}

static inline void open_gen(flake_options options) {
    CHECK_EQ(flake_init(&gen, node_in(&options.layout, 0), &options, NULL), FLAKE_OK);
}

static inline void move_ns(int64_t ns) { script_now.now_ns += ns; }
static inline void move_to_ms(int64_t ms) { script_now.now_ns = ms * MS; }

/* ---- what calls return ---- */

static inline flake_parts parts_of(uint64_t of) {
    flake_parts parts = {0, 0, 0};
    CHECK_EQ(flake_decompose(&flake_gen_options(&gen)->layout, of, &parts), FLAKE_OK);
    return parts;
}

static inline bool id_is(uint64_t of, int64_t ms, uint64_t number) {
    return parts_of(of).unix_ms == ms && parts_of(of).seq == number;
}

#define EXPECT_ID(call, ms, number)           \
    do {                                      \
        CHECK_EQ(call, FLAKE_OK);             \
        CHECK_EQ(parts_of(id).unix_ms, ms);   \
        CHECK_EQ(parts_of(id).seq, number);   \
    } while (0)

#define EXPECT_STATUS(call, status)                  \
    do {                                             \
        const uint64_t before_call = place_of(&gen); \
        FAILS(call, status, id);                     \
        CHECK_EQ(place_of(&gen), before_call);       \
    } while (0)

static inline flake_stats stats_now(void) {
    flake_stats stats;
    flake_stats_get(&gen, &stats);
    return stats;
}

#endif
