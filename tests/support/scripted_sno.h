/* SPDX-License-Identifier: MIT
 *
 * One generator of sno.h on a scripted clock, with hooks that let others act in the middle of a call:
 * makes it, draws from it and checks each result. For the tests test_sno*.c; it includes sno.h.
 */
#ifndef SCRIPTED_SNO_H
#define SCRIPTED_SNO_H

static inline void let_others(void);
#define BEFORE_ATOMIC(p, is_cas) let_others()
#include "support.h"

/* ---- hooks ---- */

/* What other callers do between two atomic operations of the call under test, once. */
static void (*others)(void);
static int others_after;    /* so many operations from now */
static unsigned operations; /* since the clock was read */

static inline void let_others(void) {
    void (*const now)(void) = others;
    if (++operations > 10000000) check_endless();
    if (!now || others_after-- > 0) return;
    others = NULL;
    now();
}

/* What other callers do while the call under test sleeps, once; if they sleep, so has he. */
static void (*during_sleep)(void);

static inline void sleep_beside_others(int64_t ns) {
    void (*const now)(void) = during_sleep;
    const int sleeps = script_now.sleeps;
    during_sleep = NULL;
    if (now) now();
    if (script_now.sleeps == sleeps) script_sleep(ns);
}

/* The system's clocks follow the script; the coarse one lags. */
static int64_t coarse_lag_ns;
static uint64_t script_counter; /* the fast clock's */

static int64_t system_ns(int kind);
#define FLAKE_CLOCK_NS(kind) system_ns(kind)
#define FLAKE_COUNTER()      script_counter
#undef FLAKE_SLEEP_NS
#define FLAKE_SLEEP_NS(ns) sleep_beside_others(ns)
#include "sno.h"
#include "options.h"

static inline int64_t system_ns(int kind) {
    operations = 0;
    return script_read(&script_now) - (kind == FLAKE_CLOCK_COARSE ? coarse_lag_ns : 0);
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
static sno_id got[4 * whole_pool]; /* since `begin` */
static size_t got_n;

static inline sno_snapshot pool_of(uint16_t min, uint16_t max) {
    return pool_of_numbers(a_partition, min, max);
}

/* The system's clock, which follows the script; IDs of its unit at once. */
static inline flake_options options_of(void) {
    flake_options o = options_of_sno(NULL, NULL);
    o.start_this_unit = true;
    return o;
}

static inline void restore(sno_gen *g, sno_snapshot s) {
    const flake_options o = options_of();
    CHECK_EQ(sno_init(g, flake_node_fixed(NULL, s.partition), &s, &o, NULL), FLAKE_OK);
}

/* `gen` with this pool, and the clock at the beginning of unit `start`. */
static inline void begin(uint16_t min, uint16_t max) {
    script_at_ms(unit_start_ns(start) / ms_ns);
    coarse_lag_ns = 0;
    got_n = 0;
    restore(&gen, pool_of(min, max));
}

static inline void begin_with(const flake_options *o, uint16_t min, uint16_t max) {
    const sno_snapshot s = pool_of(min, max);
    begin(min, max);
    CHECK_EQ(sno_init(&gen, flake_node_fixed(NULL, a_partition), &s, o, NULL), FLAKE_OK);
}

static inline sno_snapshot snapshot_of_sno(sno_gen *g) {
    sno_snapshot s;
    memset(&s, 0xff, sizeof s);
    CHECK_EQ(sno_snapshot_take(g, &s), FLAKE_OK);
    return s;
}

static inline bool same_place(const sno_snapshot *a, const sno_snapshot *b) {
    return a->partition == b->partition && a->sequence_min == b->sequence_min &&
           a->sequence_max == b->sequence_max && a->sequence == b->sequence &&
           a->wall_hi == b->wall_hi && a->wall_safe == b->wall_safe && a->drifts == b->drifts;
}

/* ---- IDs ---- */

static inline void keep(sno_id id) {
    if (got_n == sizeof got / sizeof *got) abort();
    got[got_n++] = id;
}

static inline void keep_all(const sno_id *ids, size_t n) {
    for (size_t i = 0; i < n; i++) keep(ids[i]);
}

static inline sno_id marker(void) {
    sno_id id;
    memset(&id, 0xee, sizeof id);
    return id;
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

#define CHECK_ID(id, unit, tick, sequence) check_id(__LINE__, id, unit, tick, sequence)

static inline sno_id new_id(sno_gen *g) { return next_sno(g, a_meta); }

static inline sno_id tried(sno_gen *g) {
    sno_id id = marker();
    CHECK_EQ(sno_try(g, a_meta, &id), FLAKE_OK);
    return id;
}

static inline sno_id tried_at(sno_gen *g, int64_t unix_ms) {
    sno_id id = marker();
    CHECK_EQ(sno_try_at(g, a_meta, unix_ms, &id), FLAKE_OK);
    return id;
}

static inline void draw(uint32_t n) {
    while (n--) keep(new_id(&gen));
}

/* Every call that never waits returns this status, zeroes its one ID, and changes nothing else. */
static inline void check_refused(int line, sno_gen *g, flake_status status) {
    const sno_snapshot before = snapshot_of_sno(g);
    sno_id id = marker(), ids[2] = {marker(), marker()};
    const int sleeps = script_now.sleeps;
    bool right = sno_try(g, a_meta, &id) == status && sno_is_zero(id);
    size_t n = 1;
    right &= sno_try_n(g, a_meta, ids, 2, &n) == status && n == 0 && sno_equal(ids[0], marker());
    const sno_snapshot after = snapshot_of_sno(g);
    right &= same_place(&before, &after) && script_now.sleeps == sleeps;
    if (!right) check_fail(__FILE__, line, "not refused as expected");
}

#define CHECK_REFUSED(g, status) check_refused(__LINE__, g, status)

/* flake_retry_ns returns `ns`, and exactly then the next ID is free. */
static inline sno_id check_free_in(int line, sno_gen *g, int64_t ns) {
    sno_id id = marker();
    const int64_t at_ns = script_now.now_ns;
    bool right = flake_retry_ns(&g->gen) == ns;
    script_now.now_ns = at_ns + ns - 1;
    right &= !ns || sno_try(g, a_meta, &id) != FLAKE_OK;
    script_now.now_ns = at_ns + ns;
    right &= flake_retry_ns(&g->gen) == 0 && sno_try(g, a_meta, &id) == FLAKE_OK;
    if (!right) check_fail(__FILE__, line, "not free at the ns that retry_ns tells");
    return id;
}

#define CHECK_FREE_IN(g, ns) check_free_in(__LINE__, g, ns)

/* ---- initial states ---- */

/* Tick 0 used up to start, tick 1 from start - 50 to start - 40. */
static inline void use_both_ticks(uint32_t drawn) {
    begin(0, 3);
    draw(2);
    clock_to(start - 50);
    draw(1);
    CHECK_ID(got[2], start - 50, 1, 0);
    clock_to(start - 40);
    draw(drawn);
    for (uint32_t k = 0; k < drawn; k++) CHECK_ID(got[3 + k], start - 40, 1, k);
}

/* Callers that come one after the other, each while the one before it sleeps. The last one sleeps
 * first, and they are served from the last back to the first. */
static uint32_t queue_left;
static sno_id queue_got[64];
static void (*at_the_end)(void); /* when all but the last are asleep */

static inline void queue_up(void) {
    if (!queue_left) return;
    const uint32_t mine = --queue_left;
    during_sleep = queue_left ? queue_up : at_the_end;
    keep(queue_got[mine] = new_id(&gen));
}

static inline void queue_of(uint32_t callers) {
    queue_left = callers;
    queue_up();
    during_sleep = NULL;
}

/* ---- shards ---- */

static sno_gen shards[64];

static inline void begin_shards(size_t n, uint16_t min, uint16_t max) {
    const sno_snapshot s = pool_of(min, max);
    const flake_options o = options_of();
    begin(min, max);
    CHECK_EQ(sno_init_shards(shards, n, flake_node_fixed(NULL, a_partition), &s, &o, NULL),
             FLAKE_OK);
}

#endif
