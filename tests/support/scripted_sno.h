/* SPDX-License-Identifier: MIT
 *
 * A generator of sno.h on a scripted machine, what each draw must return, and other callers that act in the middle of
 * a call:
 *
 *     TEST(a_unit_has_four_ids) {
 *         begin(100, 103);                                 // a pool of 4; the clock is at the unit `start`
 *         EXPECT_ID(next_id(&gen), start, 0, 100);         // an ID of this unit, tick and sequence number
 *         draw(3);
 *         EXPECT_REFUSED(&gen, FLAKE_AGAIN);               // no ID, and nothing has changed
 *         clock_to(start - 1);
 *         EXPECT_ID(try_id(&gen), start - 1, 1, 100);
 *     }
 *
 * It includes sno.h.
 */
#ifndef SCRIPTED_SNO_H
#define SCRIPTED_SNO_H

static inline void let_others(void);
#define BEFORE_ATOMIC(p, is_cas) let_others()
#define SCRIPTED_SYSTEM
#include "support.h"
#include "sno.h"
#include "options.h"

/* What other callers do between two atomic operations of the call under test, once. */
static void (*others)(void);
static int others_after; /* so many operations from now */

static inline void let_others(void) {
    static unsigned operations; /* since the clock was read */
    static int reads;
    if (script_now.reads != reads) operations = 0;
    reads = script_now.reads;
    if (++operations > 10000000) check_endless();
    if (others && others_after-- <= 0) script_call_others(&others);
}

/* ---- the clock, in units ---- */

static const int64_t epoch_ns = 1262304000000000000, unit_ns = 4000000, ms_ns = 1000000;
static const int64_t units = (int64_t)1 << 39;
static const int64_t start = 100000000000; /* some time in 2022 */

static inline int64_t unit_start_ns(int64_t unit) { return epoch_ns + unit * unit_ns; }
static inline int64_t unit_start_ms(int64_t unit) { return unit_start_ns(unit) / ms_ns; }
static inline int64_t clock_unit(void) { return (script_now.now_ns - epoch_ns) / unit_ns; }
static inline void clock_to(int64_t unit) { script_now.now_ns = unit_start_ns(unit); }

/* ---- generators ---- */

static const uint16_t a_partition = 0xa1b2;
static const uint8_t a_meta = 0x5a;
enum { whole_pool = 65536 };

static sno_gen gen;
static sno_id got[4 * whole_pool]; /* by `keep`, since `begin` */
static size_t got_n;

static inline sno_snapshot pool_of(uint16_t min, uint16_t max) { return pool_of_numbers(a_partition, min, max); }

/* The system's clock, which follows the script; IDs of its unit at once. */
static inline flake_options options_of(void) {
    flake_options o = options_of_sno(NULL, NULL);
    o.start_this_unit = true;
    return o;
}

static inline void restore_with(sno_gen *g, sno_snapshot s, flake_options o) {
    CHECK_EQ(sno_init(g, flake_node_fixed(NULL, s.partition), &s, &o, NULL), FLAKE_OK);
}
static inline void restore(sno_gen *g, sno_snapshot s) { restore_with(g, s, options_of()); }

/* `gen` with this pool, and the clock at the beginning of unit `start`. */
static inline void begin_with(flake_options o, uint16_t min, uint16_t max) {
    script_at_ms(unit_start_ms(start));
    got_n = 0;
    restore_with(&gen, pool_of(min, max), o);
}
static inline void begin(uint16_t min, uint16_t max) { begin_with(options_of(), min, max); }

static inline sno_snapshot snapshot_of(sno_gen *g) {
    sno_snapshot s;
    memset(&s, 0xff, sizeof s);
    CHECK_EQ(sno_snapshot_take(g, &s), FLAKE_OK);
    return s;
}

static inline bool same_place(const sno_snapshot *a, const sno_snapshot *b) {
    return a->partition == b->partition && a->sequence_min == b->sequence_min && a->sequence_max == b->sequence_max &&
           a->sequence == b->sequence && a->wall_hi == b->wall_hi && a->wall_safe == b->wall_safe &&
           a->drifts == b->drifts;
}

static sno_gen shards[64];

static inline void make_shards(size_t n, sno_snapshot s) {
    const flake_options o = options_of();
    CHECK_EQ(sno_init_shards(shards, n, flake_node_fixed(NULL, s.partition), &s, &o, NULL), FLAKE_OK);
}

static inline void begin_shards(size_t n, uint16_t min, uint16_t max) {
    begin(min, max);
    make_shards(n, pool_of(min, max));
}

/* ---- IDs ---- */

static inline void keep(sno_id id) {
    if (got_n == sizeof got / sizeof *got) abort();
    got[got_n++] = id;
}

static inline sno_id next_id(sno_gen *g) { return next_sno(g, a_meta); } /* zero if there is none */

static inline sno_id try_id(sno_gen *g) {
    sno_id id;
    CHECK_EQ(sno_try(g, a_meta, &id), FLAKE_OK);
    return id;
}

static inline sno_id try_id_at(sno_gen *g, int64_t unix_ms) {
    sno_id id;
    CHECK_EQ(sno_try_at(g, a_meta, unix_ms, &id), FLAKE_OK);
    return id;
}

static inline void draw(uint32_t n) {
    while (n--) keep(next_id(&gen));
}

static inline void check_id(int line, sno_id id, int64_t unit, unsigned tick, uint32_t sequence) {
    char text[160];
    if ((int64_t)sno_units(id) == unit && sno_tick(id) == tick && sno_sequence(id) == sequence &&
        sno_partition(id) == a_partition && sno_meta(id) == a_meta)
        return;
    (void)snprintf(text, sizeof text, "id is start %+" PRId64 ", tick %u, sequence %u, %x, %x",
                   (int64_t)sno_units(id) - start, sno_tick(id), (unsigned)sno_sequence(id),
                   (unsigned)sno_partition(id), (unsigned)sno_meta(id));
    check_fail(__FILE__, line, text);
}
#define EXPECT_ID(id, unit, tick, sequence) check_id(__LINE__, id, unit, tick, sequence)

/* Every call that never waits returns this status, zeroes its one ID, and changes nothing else. */
static inline void check_refused(int line, sno_gen *g, flake_status status) {
    const sno_snapshot before = snapshot_of(g);
    const int sleeps = script_now.sleeps;
    sno_id id, ids[2], untouched[2];
    size_t n = 1;
    memset(&id, 0xee, sizeof id);
    memset(ids, 0xee, sizeof ids);
    memset(untouched, 0xee, sizeof untouched);
    bool right = sno_try(g, a_meta, &id) == status && sno_is_zero(id);
    right &= sno_try_n(g, a_meta, ids, 2, &n) == status && n == 0 && memcmp(ids, untouched, sizeof ids) == 0;
    const sno_snapshot after = snapshot_of(g);
    if (!right || !same_place(&before, &after) || script_now.sleeps != sleeps)
        check_fail(__FILE__, line, "not refused as expected");
}
#define EXPECT_REFUSED(g, status) check_refused(__LINE__, g, status)

/* ---- initial states ---- */

/* Tick 0 used up to start, tick 1 from start - 50 to start - 40. */
static inline void use_both_ticks(uint32_t drawn) {
    begin(0, 3);
    draw(2);
    clock_to(start - 50);
    draw(1);
    EXPECT_ID(got[2], start - 50, 1, 0);
    clock_to(start - 40);
    draw(drawn);
    for (uint32_t k = 0; k < drawn; k++) EXPECT_ID(got[3 + k], start - 40, 1, k);
}

/* Callers that come one after the other, each while the one before it sleeps. The last one sleeps first, after
 * `at_the_end`, and they are served from the last back to the first. */
static uint32_t queue_left;
static sno_id queue_got[64];
static void (*queue_end)(void);

static inline void queue_up(void) {
    if (!queue_left) return;
    const uint32_t mine = --queue_left;
    script_now.during_sleep = queue_left ? queue_up : queue_end;
    keep(queue_got[mine] = next_id(&gen));
}

static inline void queue_of(uint32_t callers, void (*at_the_end)(void)) {
    queue_left = callers;
    queue_end = at_the_end;
    queue_up();
    script_now.during_sleep = NULL;
}

#endif
