/* SPDX-License-Identifier: MIT
 *
 * One generator of flake.h on a scripted clock, through the public API: makes it, draws from it and
 * checks each result. For the tests test_engine*.c; it includes flake.h.
 */
#ifndef SCRIPTED_FLAKE_H
#define SCRIPTED_FLAKE_H

#include "support.h"

/* The system's clocks follow the script, too; the coarse one lags. */
static int64_t coarse_lag_ns;
static uint64_t coarse_slack_ns; /* requested by each init */
static int exact_reads;
static uint64_t script_counter; /* the fast clock's */
static void (*on_exact)(void);  /* called once, between the next exact reading and its return */

static inline int64_t system_ns(int is_coarse) {
    const int64_t now_ns = script_now.now_ns - (is_coarse ? coarse_lag_ns : 0);
    void (*const other_thread)(void) = is_coarse ? NULL : on_exact;
    check_turn();
    exact_reads += !is_coarse;
    if (other_thread) {
        on_exact = NULL;
        other_thread();
    }
    return now_ns;
}

#define FLAKE_CLOCK_NS(kind) system_ns((kind) == FLAKE_CLOCK_COARSE)
#define FLAKE_CLOCK_SLACK_NS coarse_slack_ns
#define FLAKE_COUNTER()      script_counter
#include "flake.h"
#include "options.h"

#define MS      INT64_C(1000000)       /* in ns */
#define T       INT64_C(1700000000000) /* Unix ms: where most scripts begin */
#define NOTHING UINT64_C(0x5e5e5e5e5e5e5e5e)

static flake_options options;
static flake_node gens_node; /* of `gen`: 0, or none in a layout without a node */
static flake_gen gen;
static uint64_t id;
static uint64_t many[1 << 20];

static inline flake_options scripted(flake_layout layout) {
    flake_options o = options_of_flake(0, 0, script_read, &script_now);
    o.layout = layout;
    o.start_this_unit = true; /* by the system's clock, too */
    return o;
}

/* A script at T; options, and a node, for the test to complete. */
static inline void begin(flake_layout layout) {
    script_at_ms(T);
    coarse_lag_ns = 0;
    coarse_slack_ns = 0;
    options = scripted(layout);
    gens_node = node_in(&layout, 0);
}

static inline void open_gen(void) {
    CHECK_EQ(flake_init(&gen, gens_node, &options, NULL), FLAKE_OK);
}

/* flake-idgen's layout with the numbers 10, 11 and 12 of each ms. */
static inline void begin_with_three(void) {
    begin(flake_layout_idgen);
    options.seq_min = 10;
    options.seq_max = 12;
}

static inline void open_with_three(void) {
    begin_with_three();
    open_gen();
}

/* 1024 units of a second: the last is T + 1,023,000. */
static inline void begin_short_era(void) {
    begin(flake_layout_of(10, 4, 4, T));
    options.layout.unit_ms = 1000;
    options.seq_min = 1;
    options.seq_max = 3;
}

static inline flake_parts parts_of(const flake_gen *g, uint64_t of) {
    flake_parts parts;
    memset(&parts, 0, sizeof parts);
    CHECK_EQ(flake_decompose(&flake_gen_options(g)->layout, of, &parts), FLAKE_OK);
    return parts;
}

static inline flake_stats stats_now(void) {
    flake_stats stats;
    flake_stats_get(&gen, &stats);
    return stats;
}

/* Draws every number of the unit once; returns the first. */
static inline uint32_t check_whole_unit(const uint64_t *ids, size_t n, int64_t ms,
                                        uint32_t seq_min) {
    static uint8_t seen[4096];
    memset(seen, 0, sizeof seen);
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        const flake_parts parts = parts_of(&gen, ids[i]);
        wrong += parts.unix_ms != ms || parts.seq < seq_min || parts.seq >= seq_min + n;
        wrong += seen[parts.seq & 4095]++ != 0;
    }
    CHECK_EQ(wrong, 0);
    return parts_of(&gen, ids[0]).seq;
}

#define CHECK_PLACE(of, ms, number)               \
    do {                                          \
        CHECK_EQ(parts_of(&gen, of).unix_ms, ms); \
        CHECK_EQ(parts_of(&gen, of).seq, number); \
    } while (0)

/* The call returns this ticket. */
#define GIVES(call, ms, number)      \
    do {                             \
        CHECK_EQ(call, FLAKE_OK);    \
        CHECK_PLACE(id, ms, number); \
    } while (0)

#define NEXT(ms, number) GIVES(flake_next(&gen, &id), ms, number)
#define TRY(ms, number)  GIVES(flake_try(&gen, &id), ms, number)

/* The call has not changed the generator, and has stored `left` in `id`. */
#define LEAVES(left, status, call)                   \
    do {                                             \
        const uint64_t before_call = place_of(&gen); \
        id = NOTHING;                                \
        CHECK_EQ(call, status);                      \
        CHECK(id == (left));                         \
        CHECK_EQ(place_of(&gen), before_call);       \
    } while (0)

/* A draw that fails; a call that draws nothing. */
#define SAYS(status, call)  LEAVES(0, status, call)
#define KEEPS(status, call) LEAVES(NOTHING, status, call)

#define NEXT_SAYS(status) SAYS(status, flake_next(&gen, &id))
#define TRY_SAYS(status)  SAYS(status, flake_try(&gen, &id))

static inline void move_ns(int64_t ns) { script_now.now_ns += ns; }
static inline void move_to_ms(int64_t ms) { script_now.now_ns = ms * MS; }

#endif
