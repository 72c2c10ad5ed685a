/* SPDX-License-Identifier: MIT
 *
 * sno's generators on a scripted clock: the original's traces, options, every call at the edges of
 * a unit and of time, tick-tock, the queue and its notes, snapshots, shards, and fork.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "support.h"
#include "oracle.h"
#include <stdatomic.h>
#if !defined(_WIN32)
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

/* ---- hooks ---- */

/* What other callers do between two atomic operations of the call under test, once. */
static void (*others)(void);
static int others_after; /* so many operations from now */

static void let_others(void) {
    void (*const now)(void) = others;
    if (!now || others_after-- > 0) return;
    others = NULL;
    now();
}

#define SNO_ATOMIC(T)             _Atomic(T)
#define SNO_ATOMIC_LOAD(p, order) (let_others(), atomic_load_explicit(p, memory_order_##order))
#define SNO_ATOMIC_STORE(p, v, order) \
    (let_others(), atomic_store_explicit(p, v, memory_order_##order))
#define SNO_ATOMIC_ADD(p, v, order) \
    (let_others(), atomic_fetch_add_explicit(p, v, memory_order_##order))
#define SNO_ATOMIC_CAS(p, seen, v, success, failure)                                           \
    (let_others(), atomic_compare_exchange_strong_explicit(p, seen, v, memory_order_##success, \
                                                           memory_order_##failure))

/* What other callers do while the call under test sleeps, once; if they sleep, so has he. */
static void (*during_sleep)(void);

static void sleep_beside_others(int64_t ns) {
    void (*const now)(void) = during_sleep;
    const int sleeps = script_now.sleeps;
    during_sleep = NULL;
    if (now) now();
    if (script_now.sleeps == sleeps) script_sleep(ns);
}

/* The system's clocks follow the script; the coarse one lags. */
static int64_t coarse_lag_ns;
static int exact_readings;

static int64_t system_ns(int kind);
#define SNO_CLOCK_NS(kind) system_ns(kind)
#undef SNO_SLEEP_NS
#define SNO_SLEEP_NS(ns) sleep_beside_others(ns)
#include "sno.h"

static int64_t system_ns(int kind) {
    exact_readings += kind == SNO_CLOCK_EXACT;
    return script_read(&script_now) - (kind == SNO_CLOCK_COARSE ? coarse_lag_ns : 0);
}

#ifdef TEST_SMALL
enum { scripts = 100 };
#else
enum { scripts = 20000 };
#endif

/* ---- the clock, in units ---- */

static const int64_t epoch_ns = 1262304000000000000, unit_ns = 4000000, ms_ns = 1000000;
static const int64_t units = (int64_t)1 << 39;
static const int64_t start = 100000000000; /* somewhen in 2022 */

static int64_t unit_start_ns(int64_t unit) { return epoch_ns + unit * unit_ns; }
static int64_t clock_unit(void) { return (script_now.now_ns - epoch_ns) / unit_ns; }
static void clock_to(int64_t unit) { script_now.now_ns = unit_start_ns(unit); }

/* ---- generators ---- */

static const uint16_t a_partition = 0xa1b2;
static const uint8_t a_meta = 0x5a;
enum { whole_pool = 65536 };

static sno_gen gen, twin;
static sno_ring ring;
static sno_ring_slot ring_slots[64];

static sno_id got[4 * whole_pool]; /* since `begin` */
static size_t got_n;

static sno_snapshot pool_of(uint16_t min, uint16_t max) {
    sno_snapshot s;
    memset(&s, 0, sizeof s);
    s.partition = a_partition;
    s.sequence_min = min;
    s.sequence_max = max;
    return s;
}

static sno_options options_of(const sno_snapshot *s) {
    sno_options o;
    memset(&o, 0, sizeof o);
    o.snapshot = s;
    return o;
}

static void restore(sno_gen *g, sno_snapshot s) {
    const sno_options o = options_of(&s);
    CHECK_EQ(sno_init(g, &o), SNO_OK);
}

/* `gen` with this pool, and the clock at the beginning of unit `start`. */
static void begin(uint16_t min, uint16_t max) {
    script_at_ms(unit_start_ns(start) / ms_ns);
    coarse_lag_ns = 0;
    got_n = 0;
    restore(&gen, pool_of(min, max));
}

static void begin_with(sno_options *o, uint16_t min, uint16_t max) {
    const sno_snapshot s = pool_of(min, max);
    begin(min, max);
    o->snapshot = &s;
    CHECK_EQ(sno_init(&gen, o), SNO_OK);
    o->snapshot = NULL;
}

static sno_snapshot snapshot_of(sno_gen *g) {
    sno_snapshot s;
    memset(&s, 0xff, sizeof s);
    CHECK_EQ(sno_snapshot_take(g, &s), SNO_OK);
    return s;
}

static bool same_place(const sno_snapshot *a, const sno_snapshot *b) {
    return a->partition == b->partition && a->sequence_min == b->sequence_min &&
           a->sequence_max == b->sequence_max && a->sequence == b->sequence &&
           a->wall_hi == b->wall_hi && a->wall_safe == b->wall_safe && a->drifts == b->drifts;
}

/* ---- ids ---- */

static void keep(sno_id id) {
    if (got_n == sizeof got / sizeof *got) abort();
    got[got_n++] = id;
}

static void keep_all(const sno_id *ids, size_t n) {
    for (size_t i = 0; i < n; i++) keep(ids[i]);
}

/* Sorts the ids. */
static size_t repeats(sno_id *ids, size_t n) {
    size_t repeated = 0;
    sno_sort(ids, n);
    for (size_t i = 1; i < n; i++) repeated += sno_equal(ids[i], ids[i - 1]);
    return repeated;
}

static sno_id marker(void) {
    sno_id id;
    memset(&id, 0xee, sizeof id);
    return id;
}

static void check_id(int line, sno_id id, int64_t unit, unsigned tick, uint32_t sequence) {
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

static sno_id new_id(sno_gen *g) { return sno_new(g, a_meta); }

static sno_id tried(sno_gen *g) {
    sno_id id = marker();
    CHECK_EQ(sno_try(g, a_meta, &id), SNO_OK);
    return id;
}

static sno_id tried_at(sno_gen *g, int64_t unix_ns) {
    sno_id id = marker();
    CHECK_EQ(sno_try_at(g, a_meta, unix_ns, &id), SNO_OK);
    return id;
}

static void draw(uint32_t n) {
    while (n--) keep(new_id(&gen));
}

/* Every call that never waits says so, and changes nothing. */
static void check_refused(int line, sno_gen *g, sno_status status) {
    const sno_snapshot before = snapshot_of(g);
    sno_id id = marker(), ids[2] = {marker(), marker()};
    const int sleeps = script_now.sleeps;
    bool right = sno_try(g, a_meta, &id) == status && sno_equal(id, marker());
    right &= sno_try_n(g, a_meta, ids, 2) == 0 && sno_equal(ids[0], marker());
    const sno_snapshot after = snapshot_of(g);
    right &= same_place(&before, &after) && script_now.sleeps == sleeps;
    if (!right) check_fail(__FILE__, line, "not refused as expected");
}

#define CHECK_REFUSED(g, status) check_refused(__LINE__, g, status)

/* sno_retry_ns says `ns`, and that is exactly when the next id is free. */
static sno_id check_free_in(int line, sno_gen *g, int64_t ns) {
    sno_id id = marker();
    const int64_t at_ns = script_now.now_ns, says_ns = sno_retry_ns(g);
    if (says_ns != ns) {
        char text[80];
        (void)snprintf(text, sizeof text, "sno_retry_ns is %" PRId64 ", not %" PRId64, says_ns, ns);
        check_fail(__FILE__, line, text);
    }
    script_now.now_ns = at_ns + ns - 1;
    if (ns && sno_try(g, a_meta, &id) == SNO_OK) check_fail(__FILE__, line, "free a ns before");
    script_now.now_ns = at_ns + ns;
    if (sno_retry_ns(g) != 0) check_fail(__FILE__, line, "sno_retry_ns is not 0 then");
    if (sno_try(g, a_meta, &id) != SNO_OK) check_fail(__FILE__, line, "not free then");
    return id;
}

#define CHECK_FREE_IN(g, ns) check_free_in(__LINE__, g, ns)

#if !defined(_WIN32)
/* ---- forked children ---- */

/* What a child finds counts as the test's. */
static pid_t begin_child(void (*part)(void)) {
    (void)fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        check_failures = 0;
        part();
        (void)fflush(stdout);
        _exit(check_failures != 0);
    }
    CHECK(child > 0);
    return child;
}

static void end_child(pid_t child) {
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

static void in_child(void (*part)(void)) { end_child(begin_child(part)); }

static void *shared_memory(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    return memory;
}
#endif

/* ---- partitions ----
 *
 * The first tests use up all partitions in children. These count for themselves as long as their
 * parent has not taken one.
 */

static uint8_t taken[whole_pool];

#if !defined(_WIN32)
static void use_up_partitions(void) {
    sno_shard shard;
    sno_id id = marker();
    script_at_ms(unit_start_ns(start) / ms_ns);
    const sno_id before = sno_generate(a_meta);
    taken[sno_partition(before)] = 1;
    for (int i = 1; i < whole_pool - 1; i++) {
        CHECK_EQ(sno_init(&gen, NULL), SNO_OK);
        CHECK(!taken[sno_gen_partition(&gen)]++);
    }
    const sno_snapshot last = snapshot_of(&gen);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(sno_init(&gen, NULL), SNO_EXHAUSTED);
        CHECK_EQ(sno_shards_init(&shard, 1, NULL), SNO_EXHAUSTED);
    }
    const sno_snapshot still = snapshot_of(&gen);
    CHECK(same_place(&last, &still));
    CHECK_EQ(sno_try(&gen, a_meta, &id), SNO_OK);

    const sno_id after = sno_generate(a_meta);
    CHECK_EQ(sno_partition(after), sno_partition(before));
    CHECK(!sno_is_zero(after) && !sno_equal(after, before));
    restore(&gen, pool_of(0, 0));
}

static void draw_no_default_id(void) { CHECK(sno_is_zero(sno_generate(a_meta))); }

static void use_up_partitions_before_the_default_generator(void) {
    while (sno_init(&gen, NULL) == SNO_OK) {
    }
    draw_no_default_id();
    draw_no_default_id();
}

static void the_65536th_default_partition_is_refused(void) { in_child(use_up_partitions); }

static void the_default_generator_gives_the_zero_id_without_a_partition(void) {
    in_child(use_up_partitions_before_the_default_generator);
}

/* As many as a thread draws in the ms for which another is not scheduled. */
static void generate_many(void) {
    for (int i = 0; i < whole_pool + 1000; i++) keep(sno_generate(a_meta));
}

static int stalled_at; /* after so many of its steps */

static void stall_the_first_call(void) {
    got_n = 0;
    script_at_ms(unit_start_ns(start) / ms_ns);
    others = generate_many;
    others_after = stalled_at;
    keep(sno_generate(a_meta));
    others = NULL;
    CHECK_EQ(repeats(got, got_n), 0);
    CHECK(!sno_is_zero(got[0]));
    CHECK_EQ(sno_init(&gen, NULL), SNO_OK);
}

static void a_first_call_that_stalls_leaves_partitions_to_others(void) {
    for (stalled_at = 0; stalled_at < 40 && !check_failures; stalled_at++)
        in_child(stall_the_first_call);
}
#endif

static void default_partitions_are_all_different(void) {
    begin(0, 0);
    memset(taken, 0, sizeof taken);
    for (int i = 0; i < 500; i++) {
        sno_shard shards[2];
        CHECK_EQ(sno_init(&gen, NULL), SNO_OK);
        CHECK(!taken[sno_gen_partition(&gen)]++);
        CHECK_EQ(sno_partition(tried(&gen)), sno_gen_partition(&gen));
        CHECK_EQ(sno_shards_init(shards, 2, NULL), SNO_OK);
        CHECK(!taken[sno_gen_partition(sno_shard_gen(&shards[0]))]++);
        CHECK_EQ(sno_gen_partition(sno_shard_gen(&shards[0])),
                 sno_gen_partition(sno_shard_gen(&shards[1])));
    }
    CHECK(!taken[sno_partition(sno_generate(a_meta))]);
}

static void a_default_generator_has_the_whole_pool(void) {
    sno_options o = options_of(NULL);
    begin(0, 0);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(sno_init(&gen, i ? &o : NULL), SNO_OK);
        CHECK_EQ(sno_cap(&gen), whole_pool);
        const sno_snapshot s = snapshot_of(&gen);
        CHECK_EQ(s.sequence_min, 0);
        CHECK_EQ(s.sequence_max, 65535);
        for (uint32_t k = 0; k < 10; k++) CHECK_EQ(sno_sequence(new_id(&gen)), k);
    }
}

static void generate_draws_from_one_generator(void) {
    begin(0, 0);
    sno_id before = sno_generate(7);
    for (int i = 0; i < 100; i++) {
        const sno_id id = sno_generate((uint8_t)i);
        CHECK_EQ(sno_meta(id), i);
        CHECK_EQ(sno_partition(id), sno_partition(before));
        CHECK_EQ(sno_units(id), start);
        CHECK_EQ(sno_sequence(id), sno_sequence(before) + 1);
        before = id;
    }
}

/* ---- the original's traces ---- */

static void trace_row(char **field) {
    static char trace[16];
    sno_id wanted;
    if (strcmp(trace, field[0]) != 0) {
        (void)snprintf(trace, sizeof trace, "%s", field[0]);
        sno_snapshot s = pool_of((uint16_t)atoi(field[2]), (uint16_t)atoi(field[3]));
        s.partition = (uint16_t)atoi(field[1]);
        restore(&gen, s);
    }
    clock_to((int64_t)strtoll(field[4], NULL, 10));
    const int sleeps = script_now.sleeps;
    hex_bytes(field[6], wanted.bytes, sizeof wanted.bytes);
    const sno_id id = sno_new(&gen, (uint8_t)atoi(field[5]));
    CHECK(memcmp(&id, &wanted, sizeof id) == 0);
    CHECK_EQ(script_now.sleeps, sleeps);
}

static void the_originals_traces_come_out_byte_for_byte(void) {
    vectors_read("sno_trace.tsv", 7, trace_row);
}

/* ---- options ---- */

static void check_pool(sno_snapshot s, uint32_t min, uint32_t max) {
    restore(&gen, s);
    const sno_snapshot made = snapshot_of(&gen);
    CHECK_EQ(made.sequence_min, min);
    CHECK_EQ(made.sequence_max, max);
    CHECK_EQ(made.partition, a_partition);
    CHECK_EQ(sno_gen_partition(&gen), a_partition);
    CHECK_EQ(sno_cap(&gen), max - min + 1);
    for (uint32_t k = min; k <= max; k++) CHECK_ID(tried(&gen), start, 0, k);
    CHECK_REFUSED(&gen, SNO_AGAIN);
}

static void bounds_may_come_in_either_order(void) {
    begin(0, 0);
    check_pool(pool_of(100, 200), 100, 200);
    check_pool(pool_of(200, 100), 100, 200);
    check_pool(pool_of(3, 0x8000), 3, 0x8000);
    check_pool(pool_of(0x8000, 3), 3, 0x8000);
    check_pool(pool_of(65535, 65532), 65532, 65535);
}

static void a_maximum_of_0_means_65535(void) {
    begin(0, 0);
    check_pool(pool_of(0, 0), 0, 65535);
    check_pool(pool_of(65000, 0), 65000, 65535);
    check_pool(pool_of(65535, 0), 0, 65535);
}

static void a_sequence_of_0_means_the_lower_bound(void) {
    sno_snapshot s = pool_of(100, 200);
    begin(0, 0);
    s.wall_hi = start;
    restore(&gen, s);
    CHECK_EQ(sno_sequence_now(&gen), 100);
    CHECK_ID(tried(&gen), start, 0, 101);
    s.sequence = 100;
    restore(&gen, s);
    CHECK_ID(tried(&gen), start, 0, 101);
    s.sequence = 101;
    restore(&gen, s);
    CHECK_ID(tried(&gen), start, 0, 102);
}

static void a_pool_of_four_works(void) {
    begin(0, 0);
    check_pool(pool_of(1, 4), 1, 4);
    check_pool(pool_of(0, 3), 0, 3);
}

static void check_options_refused(int line, const sno_options *o, const char *field) {
    sno_shard shards[3];
    sno_pool pool;
    const char *why = sno_options_why(o);
    bool right = why && strstr(why, field);
    begin(7, 70);
    draw(3);
    twin = gen;
    right &= sno_init(&gen, o) == SNO_INVALID && memcmp(&gen, &twin, sizeof gen) == 0;
    memset(shards, 0x55, sizeof shards);
    right &= sno_shards_init(shards, 3, o) == SNO_INVALID;
    right &= sno_pool_init(&pool, shards, 3, o) == SNO_INVALID;
    for (size_t i = 0; i < sizeof shards; i++) right &= ((uint8_t *)shards)[i] == 0x55;
    if (!right) check_fail(__FILE__, line, why ? why : "not refused");
}

static void check_snapshot_refused(int line, sno_snapshot s, const char *field) {
    const sno_options o = options_of(&s);
    check_options_refused(line, &o, field);
}

#define REFUSED(s, field) check_snapshot_refused(__LINE__, s, field)

static void snapshots_that_do_not_fit_are_refused_by_field(void) {
    sno_snapshot s = pool_of(100, 200);
    REFUSED(pool_of(100, 100), "sequence_min and sequence_max are the same");
    REFUSED(pool_of(65535, 65535), "sequence_max");
    REFUSED(pool_of(100, 101), "sequence_min");
    REFUSED(pool_of(100, 102), "sequence_max");
    REFUSED(pool_of(102, 100), "sequence_max");
    REFUSED(pool_of(65533, 0), "sequence_max");

    s.sequence = 99;
    REFUSED(s, "snapshot.sequence ");
    s.sequence = 1;
    REFUSED(s, "snapshot.sequence ");
    s.sequence = UINT32_MAX;
    REFUSED(s, "snapshot.sequence ");

    s = pool_of(100, 200);
    s.wall_hi = -1;
    REFUSED(s, "wall_hi");
    s.wall_hi = units;
    REFUSED(s, "wall_hi");
    s.wall_hi = INT64_MAX;
    REFUSED(s, "wall_hi");
    s.wall_hi = 0;
    s.wall_safe = -1;
    REFUSED(s, "wall_safe");
    s.wall_safe = units;
    REFUSED(s, "wall_safe");
    s.wall_safe = INT64_MIN;
    REFUSED(s, "wall_safe");
}

static sno_status admit_all(void *user, int64_t until_ns) {
    (void)user;
    (void)until_ns;
    return SNO_OK;
}

static void options_that_do_not_fit_are_refused_by_field(void) {
    sno_options o = options_of(NULL);
    o.max_wait_ms = -1;
    check_options_refused(__LINE__, &o, "max_wait_ms");
    o.max_wait_ms = 0;
    o.clock.kind = 2;
    check_options_refused(__LINE__, &o, "clock.kind");
    o.clock.kind = -1;
    check_options_refused(__LINE__, &o, "clock.kind");
    o.clock.kind = 0;
    static sno_ring no_ring;
    o.overflow = &no_ring;
    check_options_refused(__LINE__, &o, "overflow");
    o.overflow = NULL;
    o.shared_memory = true;
    o.gate.admit = admit_all;
    check_options_refused(__LINE__, &o, "shared_memory");
}

static void options_that_fit_have_nothing_wrong(void) {
    sno_snapshot s = pool_of(0, 0);
    sno_options o = options_of(&s);
    CHECK(!sno_options_why(NULL));
    CHECK(!sno_options_why(&o));
    s = pool_of(100, 103);
    s.sequence = 1000;
    s.wall_hi = s.wall_safe = units - 1;
    s.drifts = UINT32_MAX;
    CHECK(!sno_options_why(&o));
    o.max_wait_ms = INT64_MAX;
    o.clock.kind = SNO_CLOCK_COARSE;
    CHECK_EQ(sno_ring_init(&ring, ring_slots, 1), SNO_OK);
    o.overflow = &ring;
    CHECK(!sno_options_why(&o));
}

static void shards_must_be_at_least_one_and_at_most_the_pool(void) {
    sno_shard shards[5];
    sno_snapshot s = pool_of(100, 103);
    const sno_options o = options_of(&s);
    begin(0, 0);
    CHECK_EQ(sno_shards_init(shards, 0, &o), SNO_INVALID);
    memset(shards, 0x55, sizeof shards);
    CHECK_EQ(sno_shards_init(shards, 5, &o), SNO_INVALID);
    for (size_t i = 0; i < sizeof shards; i++) CHECK_EQ(((uint8_t *)shards)[i], 0x55);
    CHECK_EQ(sno_shards_init(shards, 4, &o), SNO_OK);
}

static void a_generator_that_was_never_made_gives_nothing(void) {
    sno_snapshot s;
    sno_id id = marker();
    memset(&gen, 0, sizeof gen);
    script_at_ms(unit_start_ns(start) / ms_ns);
    for (int i = 0; i < 2; i++) {
        CHECK(sno_is_zero(new_id(&gen)));
        CHECK_EQ(sno_try(&gen, a_meta, &id), SNO_INVALID);
        CHECK_EQ(sno_try_at(&gen, a_meta, unit_start_ns(start), &id), SNO_INVALID);
        CHECK_EQ(sno_new_n(&gen, a_meta, &id, 1), SNO_INVALID);
        CHECK_EQ(sno_new_with_time(&gen, a_meta, unit_start_ns(start), &id), SNO_INVALID);
        CHECK_EQ(sno_try_n(&gen, a_meta, &id, 1), 0);
        CHECK_EQ(sno_snapshot_take(&gen, &s), SNO_INVALID);
        CHECK_EQ(sno_retry_ns(&gen), INT64_MAX);
        CHECK_EQ(sno_len(&gen), 0);
        CHECK_EQ(sno_cap(&gen), 0);
        script_now.now_ns = 0; /* where its epoch would be */
    }
    CHECK(sno_equal(id, marker()));
}

static int64_t constant_ns(void *user) { return *(const int64_t *)user; }

static void the_clock_of_the_options_is_the_one_that_counts(void) {
    int64_t now_ns = unit_start_ns(start + 1000);
    sno_options o = options_of(NULL);
    o.clock.now_ns = constant_ns;
    o.clock.user = &now_ns;
    begin_with(&o, 0, 3);
    CHECK_ID(tried(&gen), start + 1000, 0, 0);
    o.clock.kind = SNO_CLOCK_COARSE;
    begin_with(&o, 0, 3);
    CHECK_ID(tried(&gen), start + 1000, 0, 0);
}

/* ---- draws ---- */

static void a_try_at_a_spent_unit_changes_nothing_and_says_when_to_come_again(void) {
    begin(10, 13);
    script_now.now_ns += 1234567;
    for (uint32_t k = 10; k <= 13; k++) CHECK_ID(CHECK_FREE_IN(&gen, 0), start, 0, k);
    CHECK_REFUSED(&gen, SNO_AGAIN);
    CHECK_ID(CHECK_FREE_IN(&gen, unit_ns - 1234567), start + 1, 0, 10);
}

static void a_time_of_the_callers_own_counts(void) {
    begin(0, 3);
    CHECK_ID(tried_at(&gen, unit_start_ns(start + 7)), start + 7, 0, 0);
    CHECK_ID(tried_at(&gen, unit_start_ns(start + 8) - 1), start + 7, 0, 1);
    CHECK_ID(tried_at(&gen, unit_start_ns(start + 8)), start + 8, 0, 0);
    CHECK_EQ(script_now.sleeps, 0);
}

static void an_older_time_of_the_callers_own_counts_as_the_newest_unit(void) {
    sno_id id = marker();
    begin(0, 3);
    (void)tried(&gen);
    CHECK_ID(tried_at(&gen, unit_start_ns(start) - 1), start, 0, 1);
    CHECK_ID(tried_at(&gen, unit_start_ns(start - 100)), start, 0, 2);
    CHECK_ID(tried_at(&gen, unit_start_ns(0)), start, 0, 3);
    const sno_snapshot before = snapshot_of(&gen);
    CHECK_EQ(sno_try_at(&gen, a_meta, unit_start_ns(start), &id), SNO_AGAIN);
    CHECK_EQ(sno_try_at(&gen, a_meta, unit_start_ns(start - 5), &id), SNO_AGAIN);
    const sno_snapshot after = snapshot_of(&gen);
    CHECK(same_place(&before, &after));
    CHECK(sno_equal(id, marker()));
    CHECK_EQ(script_now.sleeps, 0);
}

static void a_time_ahead_drags_the_generator_ahead(void) {
    begin(0, 3);
    (void)tried(&gen);
    CHECK_ID(tried_at(&gen, unit_start_ns(start + 1000)), start + 1000, 0, 0);
    CHECK_EQ(snapshot_of(&gen).wall_hi, start + 1000);
    CHECK_ID(tried_at(&gen, unit_start_ns(start)), start + 1000, 0, 1);
    CHECK_ID(tried(&gen), start, 1, 0); /* from there, the clock was put back */
}

static const int64_t before_2010[] = {INT64_MIN, 0, 1262303999999999999};
static const int64_t after_2079[] = {3461327255552000000, INT64_MAX};

static void a_time_before_2010_counts_as_the_newest_unit_if_there_is_one(void) {
    for (size_t i = 0; i < 3; i++) {
        sno_id id = marker();
        begin(0, 3);
        CHECK_EQ(sno_init(&gen, NULL), SNO_OK);
        CHECK_EQ(sno_try_at(&gen, a_meta, before_2010[i], &id), SNO_RANGE);
        CHECK_EQ(snapshot_of(&gen).wall_hi, 0);
        CHECK(sno_equal(id, marker()));
        begin(0, 3);
        (void)tried(&gen);
        CHECK_ID(tried_at(&gen, before_2010[i]), start, 0, 1);
    }
}

static void a_time_after_2079_is_refused(void) {
    begin(0, 3);
    (void)tried(&gen);
    const sno_snapshot before = snapshot_of(&gen);
    for (size_t i = 0; i < 2; i++) {
        sno_id id = marker();
        CHECK_EQ(sno_try_at(&gen, a_meta, after_2079[i], &id), SNO_RANGE);
        CHECK(sno_equal(id, marker()));
    }
    const sno_snapshot after = snapshot_of(&gen);
    CHECK(same_place(&before, &after));
}

static void a_batch_is_the_ids_that_single_calls_draw(void) {
    static sno_id batch[3000], single[3000];
    for (size_t n = 0; n <= 3000; n = n < 9 ? n + 1 : n * 3) {
        begin(20, 719);
        draw(5);
        CHECK_EQ(sno_new_n(&gen, a_meta, batch, n), SNO_OK);
        const script after = script_now;
        begin(20, 719);
        draw(5);
        for (size_t i = 0; i < n; i++) single[i] = new_id(&gen);
        CHECK(memcmp(batch, single, n * sizeof *batch) == 0);
        CHECK_EQ(after.now_ns, script_now.now_ns);
    }
}

static void a_batch_that_is_tried_takes_what_is_free(void) {
    sno_id ids[20];
    begin(20, 29);
    CHECK_EQ(sno_try_n(&gen, a_meta, ids, 0), 0);
    draw(3);
    CHECK_EQ(sno_try_n(&gen, a_meta, ids, 2), 2);
    CHECK_ID(ids[1], start, 0, 24);
    CHECK_EQ(sno_try_n(&gen, a_meta, ids, 20), 5);
    CHECK_ID(ids[0], start, 0, 25);
    CHECK_ID(ids[4], start, 0, 29);
    CHECK_EQ(sno_try_n(&gen, a_meta, ids, 20), 0);
    clock_to(start + 3);
    CHECK_EQ(sno_try_n(&gen, a_meta, ids, 20), 10);
    CHECK_ID(ids[0], start + 3, 0, 20);
    CHECK_EQ(script_now.sleeps, 0);
}

static void max_wait_ms_bounds_a_call(void) {
    sno_options o = options_of(NULL);
    o.max_wait_ms = 3;
    begin_with(&o, 0, 3);
    draw(4);
    const sno_snapshot before = snapshot_of(&gen);
    CHECK(sno_is_zero(new_id(&gen)));
    const sno_snapshot after = snapshot_of(&gen);
    CHECK(same_place(&before, &after));
    CHECK_EQ(script_now.slept_ns, 0);
    script_now.now_ns += ms_ns;
    CHECK_ID(new_id(&gen), start + 1, 0, 0);
    CHECK_EQ(script_now.slept_ns, 3 * ms_ns);
}

static void max_wait_ms_bounds_the_wait_for_a_clock_that_stands_still(void) {
    sno_options o = options_of(NULL);
    o.max_wait_ms = 10;
    begin_with(&o, 0, 3);
    draw(4);
    const sno_snapshot before = snapshot_of(&gen);
    script_now.per_sleep = 0;
    CHECK(sno_is_zero(new_id(&gen)));
    CHECK(script_now.slept_ns > 0 && script_now.slept_ns <= 10 * ms_ns);
    const sno_snapshot after = snapshot_of(&gen);
    CHECK(same_place(&before, &after));
}

static void a_batch_that_fails_leaves_its_ids_in_front_and_zeros_behind(void) {
    sno_id ids[9];
    sno_options o = options_of(NULL);
    o.max_wait_ms = 3;
    begin_with(&o, 0, 3);
    memset(ids, 0xee, sizeof ids);
    CHECK_EQ(sno_new_n(&gen, a_meta, ids, 8), SNO_AGAIN);
    for (uint32_t i = 0; i < 4; i++) CHECK_ID(ids[i], start, 0, i);
    for (size_t i = 4; i < 8; i++) CHECK(sno_is_zero(ids[i]));
    CHECK(sno_equal(ids[8], marker()));
}

static void with_time_has_a_rolling_sequence_of_its_own(void) {
    begin(100, 109);
    draw(3);
    clock_to(start - 5);
    CHECK_ID(tried(&gen), start - 5, 1, 100);
    const sno_snapshot before = snapshot_of(&gen);
    got_n = 0;
    for (int i = 0; i < 30; i++) {
        sno_id id = marker();
        CHECK_EQ(sno_new_with_time(&gen, a_meta, unit_start_ns(i / 10) + 17, &id), SNO_OK);
        CHECK_EQ(sno_units(id), i / 10);
        CHECK_EQ(sno_tick(id), 0);
        CHECK_EQ(sno_meta(id), a_meta);
        CHECK_EQ(sno_partition(id), a_partition);
        CHECK(sno_sequence(id) >= 100 && sno_sequence(id) <= 109);
        keep(id);
    }
    CHECK_EQ(repeats(got, got_n), 0);
    const sno_snapshot after = snapshot_of(&gen);
    CHECK(same_place(&before, &after));
    CHECK_ID(tried(&gen), start - 5, 1, 101);
}

static void check_with_time_refused(int64_t unix_ns) {
    sno_id id = marker();
    CHECK_EQ(sno_new_with_time(&gen, a_meta, unix_ns, &id), SNO_RANGE);
    CHECK(sno_equal(id, marker()));
}

static void with_time_takes_any_time(void) {
    const int64_t unit[] = {0, 1, start - 1000, start, start + 1000, units - 1};
    begin(0, 0);
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++) {
        sno_id first = marker(), last = marker();
        CHECK_EQ(sno_new_with_time(&gen, a_meta, unit_start_ns(unit[i]), &first), SNO_OK);
        CHECK_EQ(sno_new_with_time(&gen, a_meta, unit_start_ns(unit[i] + 1) - 1, &last), SNO_OK);
        CHECK_EQ(sno_units(first), unit[i]);
        CHECK_EQ(sno_units(last), unit[i]);
        CHECK(!sno_equal(first, last));
    }
    CHECK_EQ(script_now.reads, 0);
    for (size_t i = 0; i < 3; i++) check_with_time_refused(before_2010[i]);
    for (size_t i = 0; i < 2; i++) check_with_time_refused(after_2079[i]);
}

/* ---- questions ---- */

static void check_asked(int line, uint32_t len, uint32_t sequence) {
    char text[80];
    if (sno_len(&gen) == len && sno_sequence_now(&gen) == sequence) return;
    (void)snprintf(text, sizeof text, "sno_len %u, sno_sequence_now %u", (unsigned)sno_len(&gen),
                   (unsigned)sno_sequence_now(&gen));
    check_fail(__FILE__, line, text);
}

#define CHECK_ASKED(len, sequence) check_asked(__LINE__, len, sequence)

static void len_and_sequence_now_tell_of_the_clocks_unit(void) {
    begin(100, 105);
    CHECK_ASKED(0, 100);
    for (uint32_t n = 1; n <= 6; n++) {
        (void)tried(&gen);
        CHECK_ASKED(n, 99 + n);
    }
    clock_to(start + 1);
    CHECK_ASKED(0, 100);
    (void)tried(&gen);
    CHECK_ASKED(1, 100);
    clock_to(start - 1);
    CHECK_ASKED(0, 100);
    (void)tried(&gen); /* tick-tock */
    CHECK_ASKED(1, 100);
    clock_to(start - 2);
    CHECK_REFUSED(&gen, SNO_CLOCK_BACK);
    CHECK_ASKED(0, 100);
    script_now.now_ns = epoch_ns - 1;
    CHECK_ASKED(0, 100);
    clock_to(units);
    CHECK_ASKED(0, 100);
    CHECK_EQ(sno_cap(&gen), 6);
}

static void len_and_sequence_now_tell_of_a_queue(void) {
    sno_snapshot s = pool_of(100, 105);
    begin(0, 0);
    s.wall_hi = start;
    s.sequence = 100 + 6 + 6 + 2 - 1; /* two units and two numbers of the third */
    restore(&gen, s);
    CHECK_ASKED(6, 105);
    clock_to(start + 1);
    CHECK_ASKED(6, 105);
    clock_to(start + 2);
    CHECK_ASKED(2, 101);
    clock_to(start + 3);
    CHECK_ASKED(0, 100);
}

static void stats_count_since_init(void) {
    sno_id ids[10];
    sno_stats stats;
    sno_snapshot s = pool_of(0, 3);
    begin(0, 3);
    for (int i = 0; i < 2; i++) {
        s.wall_hi = i ? start : 0;
        s.sequence = i ? 1 : 0;
        clock_to(start + 1);
        restore(&gen, s);
        sno_stats_get(&gen, &stats);
        CHECK_EQ(stats.ids, 0);
        (void)tried(&gen);
        sno_stats_get(&gen, &stats);
        CHECK_EQ(stats.ids, 1);
        CHECK_EQ(sno_new_n(&gen, a_meta, ids, 10), SNO_OK); /* 3, 4, 3 */
        clock_to(start);
        (void)tried(&gen);
        clock_to(start - 1);
        CHECK_REFUSED(&gen, SNO_CLOCK_BACK);
        sno_stats_get(&gen, &stats);
        CHECK_EQ(stats.ids, 12);
        CHECK_EQ(stats.batches, 3);
        CHECK_EQ(stats.waits, 2);
        CHECK_EQ(stats.clock_backs, 3); /* it left a timeline, and two calls were refused */
    }
}

/* ---- the ends of time ---- */

static void outside_2010_to_2079_there_are_no_ids(void) {
    begin(0, 0);
    for (size_t i = 0; i < 5; i++) {
        sno_shard shard;
        sno_id ids[2] = {marker(), marker()};
        script_now.now_ns = i < 3 ? before_2010[i] : after_2079[i - 3];
        restore(&gen, pool_of(0, 3));
        CHECK_EQ(sno_shards_init(&shard, 1, NULL), SNO_OK);
        CHECK_REFUSED(&gen, SNO_RANGE);
        CHECK_REFUSED(sno_shard_gen(&shard), SNO_RANGE);
        CHECK_EQ(sno_shard_try(&shard, a_meta, ids), SNO_RANGE);
        CHECK_EQ(sno_new_n(&gen, a_meta, ids, 1), SNO_RANGE);
        CHECK(sno_equal(ids[0], marker()));
        CHECK(sno_is_zero(new_id(&gen)));
        CHECK(sno_is_zero(sno_generate(a_meta)));
        CHECK(sno_is_zero(sno_shard_new(&shard, a_meta)));
        CHECK_EQ(script_now.sleeps, 0);
    }
}

static void retry_ns_outside_2010_to_2079(void) {
    begin(0, 3);
    script_now.now_ns = epoch_ns - 12345;
    CHECK_EQ(sno_units(CHECK_FREE_IN(&gen, 12345)), 0);
    begin(0, 3);
    script_now.now_ns = 0;
    CHECK_EQ(sno_retry_ns(&gen), epoch_ns);
    script_now.now_ns = unit_start_ns(units);
    CHECK_EQ(sno_retry_ns(&gen), INT64_MAX);
    script_now.now_ns = INT64_MIN;
    CHECK_EQ(sno_retry_ns(&gen), INT64_MAX);
}

static void the_first_and_the_last_ns_have_ids(void) {
    const int64_t inside[] = {before_2010[2] + 1, after_2079[0] - 1};
    for (size_t i = 0; i < 2; i++) {
        begin(0, 0);
        CHECK_EQ(sno_init(&gen, NULL), SNO_OK);
        script_now.now_ns = inside[i];
        const sno_id id = new_id(&gen);
        CHECK(!sno_is_zero(id));
        CHECK_EQ(sno_units(id), i ? units - 1 : 0);
        CHECK_EQ(sno_sequence(id), 0);
        CHECK_EQ(sno_units(tried(&gen)), i ? units - 1 : 0);
        CHECK_EQ(sno_units(tried_at(&gen, inside[i])), i ? units - 1 : 0);
    }
}

static void the_last_unit_of_all_runs_out(void) {
    begin(0, 3);
    script_now.now_ns = unit_start_ns(units) - 1;
    for (uint32_t k = 0; k < 4; k++) CHECK_ID(new_id(&gen), units - 1, 0, k);
    CHECK(sno_is_zero(new_id(&gen)));
    CHECK_EQ(sno_retry_ns(&gen), INT64_MAX);
    CHECK_EQ(script_now.sleeps, 0);
}

/* ---- tick-tock ---- */

static void one_step_back_anywhere_makes_nobody_wait(void) {
    static const int64_t steps[] = {1, 2, 3, 10, 1000, 900000000, 99999999999};
    for (uint32_t drawn = 1; drawn <= 4; drawn++)
        for (int64_t on = 0; on <= 3; on++)
            for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
                begin(0, 3);
                draw(4);
                clock_to(start + on + 1);
                draw(drawn);
                clock_to(start + on + 1 - steps[i]);
                script_now.now_ns += unit_ns - 1; /* the last ns of an earlier unit is earlier */
                CHECK_ID(CHECK_FREE_IN(&gen, 0), clock_unit(), 1, 0);
                CHECK_ID(new_id(&gen), clock_unit(), 1, 1);
                CHECK_EQ(script_now.sleeps, 0);
                CHECK_EQ(snapshot_of(&gen).drifts, 1);
                CHECK_EQ(snapshot_of(&gen).wall_safe, start + on + 1);
            }
}

static void a_step_back_within_the_unit_changes_nothing(void) {
    begin(0, 3);
    script_now.now_ns += unit_ns - 1;
    CHECK_ID(new_id(&gen), start, 0, 0);
    script_now.now_ns = unit_start_ns(start);
    CHECK_ID(new_id(&gen), start, 0, 1);
    CHECK_EQ(snapshot_of(&gen).drifts, 0);
}

static void step_after_step_makes_nobody_wait(void) {
    int64_t unit = start;
    begin(0, 3);
    got_n = 0;
    for (unsigned i = 0; i < 20000; i++) {
        clock_to(unit);
        keep(new_id(&gen));
        keep(tried(&gen));
        CHECK_ID(got[got_n - 1], unit, i & 1, i ? 1 : 1);
        CHECK_EQ(snapshot_of(&gen).drifts, i);
        clock_to(unit + 3);
        keep(new_id(&gen));
        unit += 2; /* back by one, and past all that the other tick has used */
    }
    CHECK_EQ(script_now.sleeps, 0);
    CHECK_EQ(repeats(got, got_n), 0);
}

/* Tick 0 used up to start, tick 1 from start - 50 to start - 40. */
static void use_both_ticks(uint32_t drawn) {
    begin(0, 3);
    draw(2);
    clock_to(start - 50);
    draw(1);
    CHECK_ID(got[2], start - 50, 1, 0);
    clock_to(start - 40);
    draw(drawn);
    for (uint32_t k = 0; k < drawn; k++) CHECK_ID(got[3 + k], start - 40, 1, k);
}

static void a_second_step_into_used_time_waits_until_the_newest_unit(void) {
    for (int64_t back = 1; back <= 30; back++) {
        use_both_ticks(3);
        clock_to(start - 40 - back);
        script_now.now_ns += 1000;
        CHECK_REFUSED(&gen, SNO_CLOCK_BACK);
        CHECK_ID(CHECK_FREE_IN(&gen, back * unit_ns - 1000), start - 40, 1, 3);

        use_both_ticks(3);
        clock_to(start - 40 - back);
        CHECK_ID(new_id(&gen), start - 40, 1, 3);
        CHECK_EQ(script_now.slept_ns, back * unit_ns);
        CHECK_ID(new_id(&gen), start - 39, 1, 0);
    }
}

static void a_second_step_waits_for_a_unit_that_is_not_spent(void) {
    use_both_ticks(4);
    clock_to(start - 45);
    CHECK_REFUSED(&gen, SNO_CLOCK_BACK);
    CHECK_ID(CHECK_FREE_IN(&gen, 6 * unit_ns), start - 39, 1, 0);
    use_both_ticks(4);
    clock_to(start - 45);
    CHECK_ID(new_id(&gen), start - 39, 1, 0);
    CHECK_EQ(script_now.slept_ns, 6 * unit_ns);
}

static void a_second_step_waits_for_what_the_queue_has_left(void) {
    sno_snapshot s = pool_of(0, 3);
    for (int64_t safe = start - 2; safe <= start + 4; safe++) {
        begin(0, 3);
        s.wall_hi = start;
        s.wall_safe = safe;
        s.sequence = 4 + 4 + 1; /* two units and two numbers of the third */
        restore(&gen, s);
        clock_to(start - 10);
        CHECK_REFUSED(&gen, SNO_CLOCK_BACK);
        if (safe == start - 2) CHECK_ID(CHECK_FREE_IN(&gen, 9 * unit_ns), start - 1, 1, 0);
        else CHECK_ID(CHECK_FREE_IN(&gen, 12 * unit_ns), start + 2, 0, 2);
    }
}

static void a_second_step_waits_only_until_the_other_tick_has_unused_time(void) {
    for (int64_t back = 1; back <= 30; back++) {
        use_both_ticks(1);
        clock_to(start + 20);
        CHECK_ID(new_id(&gen), start + 20, 1, 0);
        clock_to(start - back);
        CHECK_REFUSED(&gen, SNO_CLOCK_BACK);
        CHECK_ID(CHECK_FREE_IN(&gen, (back + 1) * unit_ns), start + 1, 0, 0);

        use_both_ticks(1);
        clock_to(start + 20);
        CHECK_ID(new_id(&gen), start + 20, 1, 0);
        clock_to(start - back);
        CHECK_ID(new_id(&gen), start + 1, 0, 0);
        CHECK_EQ(script_now.slept_ns, (back + 1) * unit_ns);
    }
}

static void max_wait_ms_bounds_the_wait_for_the_clock(void) {
    sno_options o = options_of(NULL);
    o.max_wait_ms = 40;
    for (int64_t back = 10; back <= 11; back++) {
        begin_with(&o, 0, 3);
        draw(1);
        clock_to(start - 50);
        draw(1);
        clock_to(start - 50 - back);
        if (back == 10) CHECK_ID(new_id(&gen), start - 50, 1, 1);
        else CHECK(sno_is_zero(new_id(&gen)));
        CHECK_EQ(script_now.slept_ns, back == 10 ? 40 * ms_ns : 0);
    }
}

static void a_batch_is_ridden_across_a_step_back(void) {
    sno_id ids[10];
    begin(0, 3);
    script_now.jump_to_ns = unit_start_ns(start - 100);
    CHECK_EQ(sno_new_n(&gen, a_meta, ids, 10), SNO_OK);
    CHECK_ID(ids[3], start, 0, 3);
    CHECK_ID(ids[4], start - 100, 1, 0);
    CHECK_ID(ids[7], start - 100, 1, 3);
    CHECK_ID(ids[9], start - 99, 1, 1);
    CHECK_EQ(script_now.sleeps, 2);
}

/* ---- overflow and its queue ---- */

static void a_pool_is_used_up_and_the_next_caller_sleeps_until_the_next_unit(uint16_t max) {
    const uint32_t cap = (uint32_t)max + 1;
    begin(0, max);
    got_n = 0;
    script_now.now_ns += 1500000;
    for (int64_t unit = 0; unit < 3; unit++) {
        script_now.slept_ns = script_now.sleeps = 0;
        for (uint32_t k = 0; k < cap; k++) keep(new_id(&gen));
        CHECK_ID(got[got_n - 1], start + unit, 0, max);
        CHECK_EQ(script_now.slept_ns, !unit ? 0 : unit == 1 ? 2500000 : unit_ns);
        CHECK_EQ(script_now.sleeps, unit > 0);
        CHECK_EQ(sno_len(&gen), cap);
        CHECK_REFUSED(&gen, SNO_AGAIN);
        CHECK_EQ(sno_retry_ns(&gen), unit ? unit_ns : 2500000);
    }
    CHECK_EQ(repeats(got, got_n), 0);
}

static void pools_of_4_512_and_65536_serve_their_capacity_and_go_on(void) {
    a_pool_is_used_up_and_the_next_caller_sleeps_until_the_next_unit(3);
    a_pool_is_used_up_and_the_next_caller_sleeps_until_the_next_unit(511);
    a_pool_is_used_up_and_the_next_caller_sleeps_until_the_next_unit(65535);
}

/* Callers that come one after the other, each while the one before him sleeps. The last one sleeps
 * first, and they are served from the last back to the first. */
static uint32_t queue_left;
static sno_id queue_got[64];
static void (*at_the_end)(void); /* what happens when all are asleep but the last */

static void queue_up(void) {
    if (!queue_left) return;
    const uint32_t mine = --queue_left;
    during_sleep = queue_left ? queue_up : at_the_end;
    keep(queue_got[mine] = new_id(&gen));
}

static void queue_of(uint32_t callers) {
    queue_left = callers;
    queue_up();
    during_sleep = NULL;
}

static void callers_are_served_in_the_order_in_which_they_came(void) {
    begin(100, 103);
    draw(4);
    at_the_end = NULL;
    queue_of(11);
    for (uint32_t came = 0; came < 11; came++)
        CHECK_ID(queue_got[10 - came], start + 1 + came / 4, 0, 100 + came % 4);
    CHECK_EQ(clock_unit(), start + 3);
}

static sno_snapshot queue_shot;
static void take_shot(void) { queue_shot = snapshot_of(&gen); }

static void a_snapshot_of_a_queue_has_a_sequence_past_the_pool(void) {
    begin(100, 103);
    draw(4);
    at_the_end = take_shot;
    queue_of(6);
    CHECK_EQ(queue_shot.wall_hi, start);
    CHECK_EQ(queue_shot.sequence, 100 + 4 + 6 - 1);
    CHECK_EQ(queue_shot.sequence_max, 103);

    clock_to(start);
    restore(&twin, queue_shot);
    CHECK_REFUSED(&twin, SNO_AGAIN);
    CHECK_EQ(sno_retry_ns(&twin), 2 * unit_ns);
    CHECK_ID(new_id(&twin), start + 2, 0, 102);
    CHECK_ID(new_id(&twin), start + 2, 0, 103);
    CHECK_ID(new_id(&twin), start + 3, 0, 100);

    clock_to(start + 2);
    restore(&twin, queue_shot);
    CHECK_ID(new_id(&twin), start + 2, 0, 102);
}

static void step_back_far(void) { script_now.jump_to_ns = unit_start_ns(start - 100); }

static void a_step_back_frees_the_queue(void) {
    for (uint32_t callers = 1; callers <= 9; callers++) {
        begin(0, 3);
        draw(4);
        at_the_end = step_back_far;
        if (callers == 1) step_back_far();
        queue_of(callers);
        /* the last one wakes first, and gives his place back, being the newest */
        for (uint32_t k = 0; k < callers && k < 4; k++) CHECK_ID(queue_got[k], start - 100, 1, k);
        CHECK_EQ(script_now.sleeps, 1 + (callers - 1) / 4);
        CHECK_EQ(snapshot_of(&gen).drifts, 1);
        CHECK_EQ(snapshot_of(&gen).wall_safe, start + (callers + 2) / 4);
        CHECK_EQ(repeats(queue_got, callers), 0);
    }
}

static void step_back_into_used_time(void) { script_now.jump_to_ns = unit_start_ns(start - 45); }

static void a_step_back_into_used_time_keeps_the_queue_waiting(void) {
    use_both_ticks(4);
    at_the_end = step_back_into_used_time;
    queue_of(3);
    CHECK_ID(queue_got[0], start - 39, 1, 2); /* his place was given back */
    CHECK_EQ(snapshot_of(&gen).drifts, 1);
    CHECK_EQ(repeats(queue_got, 3), 0);
}

static void who_wakes_late_still_has_his_place(void) {
    begin(0, 3);
    draw(4);
    script_now.jump_to_ns = unit_start_ns(start + 1000);
    CHECK_ID(new_id(&gen), start + 1, 0, 0);
    CHECK_ID(new_id(&gen), start + 1000, 0, 0);
}

static void spend_the_unit_and_step_back(void) {
    draw(1);
    clock_to(start - 1000);
}

/* One place was left when he looked, and another caller was faster. */
static void a_step_back_makes_nobody_wait_who_was_outrun(void) {
    for (others_after = 0;;) {
        const int after = others_after;
        begin(0, 3);
        draw(3);
        others = spend_the_unit_and_step_back;
        others_after = after;
        (void)new_id(&gen);
        CHECK(script_now.slept_ns <= unit_ns);
        if (others) break;
        others_after = after + 1;
    }
    others = NULL;
}

/* ---- notes of overflow ---- */

static void begin_noting(uint16_t max, size_t slots) {
    sno_options o = options_of(NULL);
    CHECK_EQ(sno_ring_init(&ring, ring_slots, slots), SNO_OK);
    o.overflow = &ring;
    begin_with(&o, 0, max);
    draw((uint32_t)max + 1);
}

static void check_note(int line, int64_t after_ns, uint32_t count, uint32_t ticks) {
    char text[120];
    sno_overflow note;
    memset(&note, 0xff, sizeof note);
    const bool noted = sno_ring_pop(&ring, &note);
    if (noted && note.now_ns == unit_start_ns(start) + after_ns && note.count == count &&
        note.ticks == ticks)
        return;
    (void)snprintf(text, sizeof text, "%s {%" PRId64 ", %u, %u}, not {%" PRId64 ", %u, %u}",
                   noted ? "note" : "no note", note.now_ns - unit_start_ns(start),
                   (unsigned)note.count, (unsigned)note.ticks, after_ns, (unsigned)count,
                   (unsigned)ticks);
    check_fail(__FILE__, line, text);
}

#define CHECK_NOTE(after_ns, count, ticks) check_note(__LINE__, after_ns, count, ticks)

static void check_no_note(int line) {
    sno_overflow note;
    if (sno_ring_pop(&ring, &note)) check_fail(__FILE__, line, "a note too many");
}

#define CHECK_NO_NOTE() check_no_note(__LINE__)

static void one_caller_that_waits_is_noted_each_ms(void) {
    static const int64_t into_the_unit_ns[] = {0, 1, 500000, 999999, 1000000, 2999999, 3999999};
    for (size_t i = 0; i < sizeof into_the_unit_ns / sizeof *into_the_unit_ns; i++) {
        const int64_t from_ns = into_the_unit_ns[i];
        begin_noting(3, 64);
        CHECK_NO_NOTE();
        script_now.now_ns += from_ns;
        CHECK_ID(new_id(&gen), start + 1, 0, 0);
        uint32_t ticks = 0;
        CHECK_NOTE(from_ns, 1, ticks++);
        for (int64_t at_ns = (from_ns / ms_ns + 1) * ms_ns; at_ns < unit_ns; at_ns += ms_ns)
            CHECK_NOTE(at_ns, 1, ticks++);
        CHECK_NOTE(unit_ns, 0, ticks);
        CHECK_NO_NOTE();
    }
}

static void notes_count_the_callers_that_are_queued_still(void) {
    begin_noting(3, 64);
    at_the_end = NULL;
    queue_of(10);
    CHECK_NOTE(0, 1, 0); /* the first has come, the others come in the same ms */
    for (uint32_t ms = 1; ms < 12; ms++) CHECK_NOTE(ms * ms_ns, 10 - ms / 4 * 4, ms);
    CHECK_NOTE(12 * ms_ns, 0, 12);
    CHECK_NO_NOTE();
}

static void a_batch_that_waits_is_counted_by_its_places(void) {
    sno_id ids[6];
    begin_noting(3, 64);
    CHECK_EQ(sno_new_n(&gen, a_meta, ids, 6), SNO_OK);
    for (uint32_t ms = 0; ms < 4; ms++) CHECK_NOTE(ms * ms_ns, 4, ms);
    CHECK_NOTE(4 * ms_ns, 0, 4);
    for (uint32_t ms = 5; ms < 8; ms++) CHECK_NOTE(ms * ms_ns, 2, ms - 5);
    CHECK_NOTE(8 * ms_ns, 0, 3);
    CHECK_NO_NOTE();
}

static void a_new_overflow_counts_its_ms_anew(void) {
    begin_noting(3, 64);
    draw(1);
    for (uint32_t ms = 0; ms < 4; ms++) CHECK_NOTE(ms * ms_ns, 1, ms);
    CHECK_NOTE(4 * ms_ns, 0, 4);
    clock_to(start + 100);
    draw(4);
    CHECK_NO_NOTE();
    draw(1);
    for (uint32_t ms = 0; ms < 4; ms++) CHECK_NOTE((400 + ms) * ms_ns, 1, ms);
    CHECK_NOTE(404 * ms_ns, 0, 4);
    CHECK_NO_NOTE();
}

static void who_only_tries_is_not_noted(void) {
    sno_id id = marker();
    begin_noting(3, 64);
    CHECK_EQ(sno_try(&gen, a_meta, &id), SNO_AGAIN);
    CHECK_EQ(sno_try_n(&gen, a_meta, &id, 1), 0);
    CHECK_EQ(sno_try_at(&gen, a_meta, script_now.now_ns, &id), SNO_AGAIN);
    clock_to(start + 1);
    (void)tried(&gen);
    CHECK_NO_NOTE();
}

static void a_full_ring_drops_notes_and_the_last_one_comes_late(void) {
    begin_noting(3, 2);
    at_the_end = NULL;
    queue_of(5);
    for (uint32_t came = 0; came < 5; came++)
        CHECK_ID(queue_got[4 - came], start + 1 + came / 4, 0, came % 4);
    CHECK_NOTE(0, 1, 0);
    CHECK_NOTE(1 * ms_ns, 5, 1);
    CHECK_NO_NOTE();
    clock_to(start + 3);
    draw(1);
    CHECK_NOTE(12 * ms_ns, 0, 12);
    CHECK_NO_NOTE();
}

static void a_full_ring_takes_the_notes_of_later_ms(void) {
    sno_overflow note = {0, 0, 0};
    begin_noting(3, 1);
    at_the_end = NULL;
    CHECK(sno_ring_push(&ring, note));
    script_now.now_ns += 2 * ms_ns;
    draw(1);
    CHECK(sno_ring_pop(&ring, &note));
    CHECK_EQ(note.now_ns, 0);
    CHECK_NO_NOTE();
    draw(3);
    draw(1); /* the overflow goes on, as its end was not told */
    CHECK(sno_ring_pop(&ring, &note));
    CHECK(note.now_ns >= unit_start_ns(start + 1));
}

static void a_step_back_during_an_overflow_is_noted_too(void) {
    begin_noting(3, 64);
    script_now.now_ns += 3500000;
    script_now.jump_to_ns = unit_start_ns(start - 100);
    CHECK_ID(new_id(&gen), start - 100, 1, 0);
    CHECK_NOTE(3500000, 1, 0);
    clock_to(start - 99);
    draw(1);
    sno_overflow note, last = {0, 77, 0};
    while (sno_ring_pop(&ring, &note)) {
        CHECK(note.now_ns >= unit_start_ns(start - 100) && note.now_ns <= script_now.now_ns);
        last = note;
    }
    CHECK_EQ(last.count, 0);
    CHECK(last.ticks <= 5); /* no more have passed */
}

static void step_back_and_draw(void) {
    clock_to(start - 100);
    draw(1);
}

static void the_end_of_an_overflow_is_not_long_after_its_begin_if_the_clock_was_put_back(void) {
    begin_noting(3, 64);
    during_sleep = step_back_and_draw;
    (void)new_id(&gen);
    CHECK_NOTE(0, 1, 0);
    clock_to(start - 99);
    draw(1);
    sno_overflow note;
    uint32_t count = 77;
    while (sno_ring_pop(&ring, &note)) {
        CHECK(note.ticks <= 4);
        count = note.count;
    }
    CHECK_EQ(count, 0);
}

static void a_ring_has_room_for_its_slots_and_keeps_their_order(void) {
    sno_ring_slot slots[5];
    sno_ring r;
    CHECK_EQ(sno_ring_init(NULL, slots, 5), SNO_INVALID);
    CHECK_EQ(sno_ring_init(&r, NULL, 5), SNO_INVALID);
    CHECK_EQ(sno_ring_init(&r, slots, 0), SNO_INVALID);
    for (uint32_t size = 1; size <= 5; size++) {
        sno_overflow note = {1, 2, 3};
        uint32_t in = 0, out = 0;
        CHECK_EQ(sno_ring_init(&r, slots, size), SNO_OK);
        CHECK(!sno_ring_pop(&r, &note));
        for (int round = 0; round < 20; round++) {
            while (in - out < size) {
                note.count = in++;
                note.now_ns = -(int64_t)in;
                CHECK(sno_ring_push(&r, note));
            }
            CHECK(!sno_ring_push(&r, note));
            for (uint32_t k = 0; k < 1 + (uint32_t)round % size; k++) {
                CHECK(sno_ring_pop(&r, &note));
                CHECK_EQ(note.count, out++);
                CHECK_EQ(note.now_ns, -(int64_t)out);
            }
        }
    }
}

/* ---- snapshots ---- */

static void a_snapshot_says_where_the_generator_stands(void) {
    begin(100, 109);
    draw(3);
    script_now.now_ns += 7 * unit_ns + 17;
    sno_snapshot s = snapshot_of(&gen);
    CHECK_EQ(s.partition, a_partition);
    CHECK_EQ(s.sequence_min, 100);
    CHECK_EQ(s.sequence_max, 109);
    CHECK_EQ(s.sequence, 102);
    CHECK_EQ(s.now, start + 7);
    CHECK_EQ(s.wall_hi, start);
    CHECK_EQ(s.wall_safe, 0);
    CHECK_EQ(s.drifts, 0);

    clock_to(start - 5);
    draw(1);
    clock_to(start - 3);
    draw(2);
    s = snapshot_of(&gen);
    CHECK_EQ(s.sequence, 101);
    CHECK_EQ(s.wall_hi, start - 3);
    CHECK_EQ(s.wall_safe, start);
    CHECK_EQ(s.drifts, 1);
}

static void a_snapshot_that_was_restored_reads_the_same(void) {
    sno_snapshot s = pool_of(100, 109);
    begin(0, 0);
    s.sequence = 131;
    s.wall_hi = start - 7;
    s.wall_safe = start + 9;
    s.drifts = 4000000001;
    s.now = start;
    restore(&gen, s);
    const sno_snapshot again = snapshot_of(&gen);
    CHECK(same_place(&s, &again));
    CHECK_EQ(again.now, start);
}

/* Brings the generator somewhere; false: there is no such place. */
static bool bring_to(int where) {
    use_both_ticks(where == 4 ? 4 : 3);
    switch (where) {
    case 0: begin(100, 103); return true;
    case 1: clock_to(start); return true; /* caught up */
    case 2:
        clock_to(start + 9);
        draw(2);
        return true;
    case 3:
        clock_to(start + 9);
        draw(4);
        return true; /* spent */
    case 4: return true;
    case 5: clock_to(start - 45); return true; /* blocked */
    case 6:
        clock_to(start + 20);
        draw(1);
        clock_to(start + 5);
        draw(6);
        return true;
    case 7:
        at_the_end = NULL;
        queue_of(9);
        return true;
    default: return false;
    }
}

static void run_on(sno_gen *g, int64_t clock_move, sno_id *ids, size_t n) {
    script_now.now_ns += clock_move * unit_ns;
    for (size_t i = 0; i < n; i++) {
        ids[i] = new_id(g);
        if (i % 5 == 4) script_now.now_ns -= unit_ns * 3;
    }
}

static void a_restored_generator_goes_on_as_the_original_would(void) {
    static const int64_t moves[] = {0, 1, 3, 1000, -1, -2, -7, -1000};
    enum { n = 40 };
    for (int where = 0; bring_to(where); where++)
        for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
            sno_id original[n], restored[n];
            (void)bring_to(where);
            const sno_snapshot s = snapshot_of(&gen);
            const script then = script_now;
            run_on(&gen, moves[i], original, n);
            script_now = then;
            restore(&twin, s);
            run_on(&twin, moves[i], restored, n);
            CHECK(memcmp(original, restored, sizeof original) == 0);
            const sno_snapshot a = snapshot_of(&gen), b = snapshot_of(&twin);
            CHECK_EQ(a.drifts, b.drifts);
        }
}

static void restored_in_the_past_it_rides_out_one_step_and_not_a_second(void) {
    begin(0, 3);
    draw(2);
    sno_snapshot s = snapshot_of(&gen);
    clock_to(start - 10);
    restore(&gen, s);
    CHECK_ID(new_id(&gen), start - 10, 1, 0);
    CHECK_EQ(script_now.sleeps, 0);
    CHECK_EQ(snapshot_of(&gen).wall_safe, start);

    s = snapshot_of(&gen);
    clock_to(start - 20);
    restore(&gen, s);
    CHECK_REFUSED(&gen, SNO_CLOCK_BACK);
    CHECK_ID(CHECK_FREE_IN(&gen, 10 * unit_ns), start - 10, 1, 1);
    clock_to(start - 20);
    restore(&gen, s);
    CHECK_ID(new_id(&gen), start - 10, 1, 1);
    CHECK_EQ(script_now.slept_ns, 10 * unit_ns);
}

static void the_parity_of_the_drifts_is_the_tick(void) {
    sno_snapshot s = pool_of(0, 3);
    begin(0, 3);
    for (uint32_t drifts = 0; drifts < 12; drifts++) {
        s.drifts = drifts < 8 ? drifts : UINT32_MAX - 11 + drifts;
        s.wall_hi = start - 1;
        restore(&gen, s);
        clock_to(start);
        CHECK_ID(new_id(&gen), start, s.drifts & 1, 0);
        CHECK_EQ(snapshot_of(&gen).drifts, s.drifts);
        clock_to(start - 1);
        CHECK_ID(new_id(&gen), start - 1, (s.drifts & 1) ^ 1, 0);
        CHECK_EQ(snapshot_of(&gen).drifts, (uint32_t)(s.drifts + 1));
    }
}

/* ---- shards and the pool ---- */

static sno_shard shards[64];

static void begin_shards(size_t n, uint16_t min, uint16_t max) {
    const sno_snapshot s = pool_of(min, max);
    const sno_options o = options_of(&s);
    begin(min, max);
    CHECK_EQ(sno_shards_init(shards, n, &o), SNO_OK);
}

static void shards_share_the_pool_and_each_number_comes_once_a_unit(void) {
    for (size_t n = 1; n <= 64; n++) {
        begin_shards(n, 1000, 1066);
        for (int64_t unit = start; unit < start + 3; unit++) {
            uint32_t smallest = UINT32_MAX, largest = 0;
            clock_to(unit);
            got_n = 0;
            for (size_t i = 0; i < n; i++) {
                sno_id id = marker();
                while (sno_shard_try(&shards[i], a_meta, &id) == SNO_OK) keep(id);
                const uint32_t cap = sno_cap(sno_shard_gen(&shards[i]));
                CHECK_EQ(sno_len(sno_shard_gen(&shards[i])), cap);
                CHECK_EQ(sno_shard_retry_ns(&shards[i]), unit_ns);
                if (cap < smallest) smallest = cap;
                if (cap > largest) largest = cap;
            }
            CHECK_EQ(got_n, 67);
            CHECK(largest - smallest <= 1);
            CHECK_EQ(repeats(got, got_n), 0);
            CHECK_ID(got[0], unit, 0, 1000);
            CHECK_ID(got[66], unit, 0, 1066);
        }
    }
}

static void a_shard_waits_as_a_generator_does(void) {
    sno_id ids[9];
    begin_shards(2, 0, 7);
    for (uint32_t k = 0; k < 4; k++) CHECK_ID(sno_shard_new(&shards[1], a_meta), start, 0, 4 + k);
    CHECK_REFUSED(sno_shard_gen(&shards[1]), SNO_AGAIN);
    CHECK_ID(sno_shard_new(&shards[1], a_meta), start + 1, 0, 4);
    CHECK_EQ(script_now.slept_ns, unit_ns);
    CHECK_EQ(sno_shard_new_n(&shards[1], a_meta, ids, 9), SNO_OK);
    CHECK_ID(ids[2], start + 1, 0, 7);
    CHECK_ID(ids[8], start + 3, 0, 5);
    CHECK_EQ(sno_shard_try_n(&shards[1], a_meta, ids, 9), 2);
    CHECK_ID(ids[1], start + 3, 0, 7);
    CHECK_EQ(sno_shard_try(&shards[0], a_meta, ids), SNO_OK);
    CHECK_ID(ids[0], start + 3, 0, 0);
    CHECK_EQ(sno_shard_try_at(&shards[0], a_meta, unit_start_ns(start), ids), SNO_OK);
    CHECK_ID(ids[0], start + 3, 0, 1);
    CHECK_EQ(sno_shard_try_at(&shards[0], a_meta, unit_start_ns(start + 4), ids), SNO_OK);
    CHECK_ID(ids[0], start + 4, 0, 0);
}

static void a_shard_rides_out_a_step_back(void) {
    begin_shards(2, 0, 7);
    CHECK_ID(sno_shard_new(&shards[0], a_meta), start, 0, 0);
    clock_to(start - 10);
    CHECK_ID(sno_shard_new(&shards[0], a_meta), start - 10, 1, 0);
    CHECK_ID(sno_shard_new(&shards[1], a_meta), start - 10, 0, 4); /* it has seen no step */
    CHECK_EQ(snapshot_of(sno_shard_gen(&shards[0])).drifts, 1);
    CHECK_EQ(snapshot_of(sno_shard_gen(&shards[0])).wall_safe, start);
    clock_to(start - 20);
    CHECK_REFUSED(sno_shard_gen(&shards[0]), SNO_CLOCK_BACK);
    CHECK_EQ(sno_shard_retry_ns(&shards[0]), 10 * unit_ns);
    CHECK_ID(sno_shard_new(&shards[1], a_meta), start - 20, 1, 4);
    CHECK_ID(sno_shard_new(&shards[0], a_meta), start - 10, 1, 1);
    CHECK_EQ(script_now.slept_ns, 10 * unit_ns);
}

static void a_shard_gives_back_when_the_clock_steps_back_in_its_sleep(void) {
    begin_shards(2, 0, 7);
    for (int i = 0; i < 4; i++) (void)sno_shard_new(&shards[1], a_meta);
    script_now.jump_to_ns = unit_start_ns(start - 100);
    CHECK_ID(sno_shard_new(&shards[1], a_meta), start - 100, 1, 4);
    CHECK_EQ(snapshot_of(sno_shard_gen(&shards[1])).wall_safe, start);
}

static void shards_of_a_snapshot_do_not_repeat_its_ids(void) {
    sno_snapshot s = pool_of(0, 15);
    const sno_options o = options_of(&s);
    begin(0, 0);
    s.wall_hi = start;
    s.wall_safe = start - 10;
    s.sequence = 5;
    s.drifts = 1;
    CHECK_EQ(sno_shards_init(shards, 3, &o), SNO_OK);
    for (size_t i = 0; i < 3; i++) {
        CHECK_REFUSED(sno_shard_gen(&shards[i]), SNO_AGAIN);
        CHECK_EQ(sno_shard_retry_ns(&shards[i]), unit_ns);
    }
    clock_to(start + 1);
    CHECK_ID(sno_shard_new(&shards[0], a_meta), start + 1, 1, 0);
    clock_to(start - 9);
    CHECK_ID(sno_shard_new(&shards[1], a_meta), start - 9, 0, 6);
    clock_to(start - 10);
    CHECK_REFUSED(sno_shard_gen(&shards[2]), SNO_CLOCK_BACK);
    CHECK_EQ(sno_shard_retry_ns(&shards[2]), unit_ns);

    s.sequence = 16 + 16 + 2; /* a queue into the second unit to come */
    CHECK_EQ(sno_shards_init(shards, 3, &o), SNO_OK);
    clock_to(start);
    for (size_t i = 0; i < 3; i++)
        CHECK_EQ(sno_units(sno_shard_new(&shards[i], a_meta)), start + 3);
}

static void a_pool_lends_each_shard_once_and_a_returned_one_goes_on(void) {
    const sno_snapshot s = pool_of(0, 15);
    const sno_options o = options_of(&s);
    sno_pool pool;
    sno_shard *lent[4];
    begin(0, 0);
    CHECK_EQ(sno_pool_init(&pool, shards, 4, &o), SNO_OK);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 4; i++) {
            lent[i] = sno_pool_borrow(&pool);
            CHECK(lent[i] >= shards && lent[i] < shards + 4);
            for (int k = 0; k < i; k++) CHECK(lent[i] != lent[k]);
        }
        CHECK(!sno_pool_borrow(&pool));
        sno_pool_give_back(&pool, lent[round % 4]);
        CHECK(sno_pool_borrow(&pool) == lent[round % 4]);
        CHECK(!sno_pool_borrow(&pool));
        for (int i = 0; i < 4; i++) sno_pool_give_back(&pool, lent[i]);
    }
    got_n = 0;
    for (int i = 0; i < 16; i++) {
        sno_shard *shard = sno_pool_borrow(&pool);
        keep(sno_shard_new(shard, a_meta));
        sno_pool_give_back(&pool, shard);
    }
    CHECK_EQ(repeats(got, got_n), 0);
    CHECK_ID(got[15], start, 0, 15); /* shards take turns, so nobody had to wait */
    CHECK_EQ(script_now.sleeps, 0);
}

/* ---- the coarse clock ---- */

/* A generator of 4 numbers whose clock lags, and that has drawn before its time. */
static void begin_coarse(int64_t lag_units) {
    sno_options o = options_of(NULL);
    o.clock.kind = SNO_CLOCK_COARSE;
    begin_with(&o, 0, 3);
    clock_to(start - lag_units - 1);
    CHECK_ID(new_id(&gen), start - lag_units - 1, 0, 0);
    clock_to(start);
    coarse_lag_ns = lag_units * unit_ns;
    exact_readings = 0;
}

/* A run before may have used the units between the coarse reading and the exact one. */
static void a_coarse_clock_does_not_say_where_to_begin(void) {
    sno_options o = options_of(NULL);
    o.clock.kind = SNO_CLOCK_COARSE;
    begin_with(&o, 0, 3);
    coarse_lag_ns = 2 * unit_ns;
    CHECK_ID(new_id(&gen), start, 0, 0);
}

static void the_coarse_clock_is_enough_while_a_unit_has_ids(void) {
    begin_coarse(1);
    for (uint32_t k = 0; k < 4; k++) CHECK_ID(new_id(&gen), start - 1, 0, k);
    CHECK_EQ(exact_readings, 0);
}

static void a_unit_that_looks_spent_is_judged_by_the_exact_clock(void) {
    begin_coarse(3);
    draw(4);
    CHECK_ID(tried(&gen), start, 0, 0);
    for (uint32_t k = 1; k < 4; k++) CHECK_ID(tried(&gen), start, 0, k);
    CHECK_REFUSED(&gen, SNO_AGAIN);
    CHECK_ID(CHECK_FREE_IN(&gen, unit_ns), start + 1, 0, 0);
    draw(3);
    CHECK_EQ(script_now.sleeps, 0);
    CHECK_ID(new_id(&gen), start + 2, 0, 0);
    CHECK_EQ(script_now.slept_ns, unit_ns);
    CHECK_EQ(snapshot_of(&gen).drifts, 0);
}

static void a_coarse_clock_that_lags_was_not_put_back(void) {
    begin_coarse(0);
    CHECK_ID(new_id(&gen), start, 0, 0);
    coarse_lag_ns = 5 * unit_ns;
    CHECK_ID(new_id(&gen), start, 0, 1);
    CHECK_ID(tried(&gen), start, 0, 2);
    CHECK_EQ(snapshot_of(&gen).drifts, 0);
    CHECK_EQ(sno_retry_ns(&gen), 0);
}

static void a_coarse_clock_that_was_put_back_changes_the_tick(void) {
    begin_coarse(1);
    CHECK_ID(new_id(&gen), start - 1, 0, 0);
    clock_to(start - 10);
    CHECK_EQ(sno_units(new_id(&gen)), start - 10); /* by the exact clock, which was asked */
    CHECK_EQ(snapshot_of(&gen).drifts, 1);
    CHECK_EQ(script_now.sleeps, 0);
}

#if !defined(_WIN32)
/* ---- fork ---- */

static void an_inherited_generator_is_refused(void) {
    sno_id ids[2] = {marker(), marker()};
    CHECK(sno_is_zero(new_id(&gen)));
    CHECK_EQ(sno_try(&gen, a_meta, ids), SNO_FORKED);
    CHECK_EQ(sno_try_at(&gen, a_meta, script_now.now_ns, ids), SNO_FORKED);
    CHECK_EQ(sno_new_n(&gen, a_meta, ids, 2), SNO_FORKED);
    CHECK_EQ(sno_try_n(&gen, a_meta, ids, 2), 0);
    CHECK_EQ(sno_retry_ns(&gen), INT64_MAX);
    CHECK(sno_is_zero(sno_shard_new(&shards[0], a_meta)));
    CHECK_EQ(sno_shard_try(&shards[0], a_meta, ids), SNO_FORKED);
    CHECK_EQ(sno_shard_try_at(&shards[0], a_meta, script_now.now_ns, ids), SNO_FORKED);
    CHECK_EQ(sno_shard_new_n(&shards[0], a_meta, ids, 2), SNO_FORKED);
    CHECK_EQ(sno_shard_try_n(&shards[0], a_meta, ids, 2), 0);
    CHECK_EQ(sno_shard_retry_ns(&shards[0]), INT64_MAX);
    CHECK(sno_equal(ids[0], marker()) && sno_equal(ids[1], marker()));
}

static void what_is_made_anew_works(void) {
    an_inherited_generator_is_refused();
    in_child(an_inherited_generator_is_refused);
    restore(&gen, pool_of(500, 503));
    CHECK_ID(tried(&gen), start, 0, 500);
}

static void a_forked_child_draws_nothing_from_its_parents_generators(void) {
    begin_shards(2, 0, 7);
    draw(2);
    in_child(an_inherited_generator_is_refused);
    in_child(what_is_made_anew_works);
    CHECK_ID(new_id(&gen), start, 0, 2);
    CHECK_ID(sno_shard_new(&shards[0], a_meta), start, 0, 0);
}

static void port_an_old_id(void) {
    sno_id id = marker();
    CHECK_EQ(sno_new_with_time(&gen, a_meta, unit_start_ns(7), &id), SNO_FORKED);
    CHECK(sno_equal(id, marker()));
}

static void a_forked_child_ports_no_old_ids_with_its_parents_generator(void) {
    begin(0, 7);
    in_child(port_an_old_id);
}

/* Four relatives: a parent, his children and his grandchild. */
enum { relatives = 4, family_ids = 4000 };

typedef struct family {
    sno_gen gen;
    _Atomic(int64_t) now_ns;
    _Atomic(int) begun;
    sno_id ids[relatives][family_ids];
} family;

static family *kin;

static int64_t kin_ns(void *user) {
    (void)user;
    return atomic_fetch_add(&kin->now_ns, 1000) + 1000;
}

static void draw_shared(size_t me) {
    atomic_fetch_add(&kin->begun, 1);
    for (size_t i = 0; i < family_ids; i++) kin->ids[me][i] = sno_new(&kin->gen, a_meta);
}

static void draw_generated(size_t me) {
    for (size_t i = 0; i < family_ids; i++) kin->ids[me][i] = sno_generate(a_meta);
}

static void (*draw_as_kin)(size_t me);
static void grandchild_draws(void) { draw_as_kin(3); }
static void child_draws(void) {
    const pid_t grandchild = begin_child(grandchild_draws);
    draw_as_kin(2);
    end_child(grandchild);
}
static void other_child_draws(void) { draw_as_kin(1); }

static void all_kin_draw(void) {
    const pid_t first = begin_child(other_child_draws), second = begin_child(child_draws);
    draw_as_kin(0);
    end_child(first);
    end_child(second);
}

static void no_id_of_kin_is_zero_or_comes_twice(void) {
    CHECK_EQ(repeats(kin->ids[0], (size_t)relatives * family_ids), 0);
    CHECK(!sno_is_zero(kin->ids[0][0]));
}

static void relatives_draw_from_one_generator_in_shared_memory(void) {
    sno_snapshot s = pool_of(0, 511);
    sno_options o = options_of(&s);
    begin(0, 0);
    kin = (family *)shared_memory(sizeof *kin);
    atomic_store(&kin->now_ns, unit_start_ns(start));
    o.shared_memory = true;
    o.clock.now_ns = kin_ns;
    CHECK_EQ(sno_init(&kin->gen, &o), words_reach_other_processes ? SNO_OK : SNO_INVALID);
    if (!words_reach_other_processes) return;
    draw_as_kin = draw_shared;
    all_kin_draw();
    CHECK_EQ(atomic_load(&kin->begun), relatives);
    no_id_of_kin_is_zero_or_comes_twice();
    (void)munmap(kin, sizeof *kin);
}

static void relatives_generate_with_partitions_of_their_own(void) {
    begin(0, 0);
    kin = (family *)shared_memory(sizeof *kin);
    (void)sno_generate(a_meta);
    draw_as_kin = draw_generated;
    all_kin_draw();
    for (size_t a = 0; a < relatives; a++)
        for (size_t b = 0; b < a; b++)
            CHECK(sno_partition(kin->ids[a][0]) != sno_partition(kin->ids[b][0]));
    for (size_t a = 0; a < relatives; a++)
        CHECK_EQ(sno_partition(kin->ids[a][0]), sno_partition(kin->ids[a][family_ids - 1]));
    no_id_of_kin_is_zero_or_comes_twice();
    (void)munmap(kin, sizeof *kin);
}

static void make_in_child(void) {
    CHECK_EQ(sno_init(&twin, NULL), SNO_OK);
    CHECK(!taken[sno_gen_partition(&twin)]);
}

static void default_partitions_of_relatives_are_different(void) {
    begin(0, 0);
    memset(taken, 0, sizeof taken);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(sno_init(&gen, NULL), SNO_OK);
        taken[sno_gen_partition(&gen)] = 1;
        in_child(make_in_child);
    }
}
#endif

/* ---- two callers at once ----
 *
 * One draws, and between any two of his steps another does his whole call, or moves the clock and
 * calls.
 */

static void call_new(void) { keep(new_id(&gen)); }
static void call_try(void) {
    sno_id id;
    if (sno_try(&gen, a_meta, &id) == SNO_OK) keep(id);
}
static void call_try_at(void) {
    sno_id id;
    if (sno_try_at(&gen, a_meta, script_now.now_ns, &id) == SNO_OK) keep(id);
}
static void call_new_n(void) {
    sno_id ids[6];
    CHECK_EQ(sno_new_n(&gen, a_meta, ids, 6), SNO_OK);
    keep_all(ids, 6);
}
static void call_try_n(void) {
    sno_id ids[3];
    keep_all(ids, sno_try_n(&gen, a_meta, ids, 3));
}

static sno_snapshot shot;
static size_t shot_after; /* ids that were there when it was begun */
static void call_snapshot(void) {
    const size_t before = got_n;
    shot = snapshot_of(&gen);
    shot_after = before;
}

static void (*const calls[])(void) = {call_new,   call_try,   call_try_at,
                                      call_new_n, call_try_n, call_snapshot};
enum { call_kinds = sizeof calls / sizeof *calls };

static const int64_t moves_before[] = {0, 1, -1, -10}, moves_after[] = {0, 2, -3};
enum { before_kinds = 4, after_kinds = 3 };

static struct { size_t call, before, after; } meanwhile;

static void act_meanwhile(void) {
    script_now.now_ns += moves_before[meanwhile.before] * unit_ns;
    calls[meanwhile.call]();
    script_now.now_ns += moves_after[meanwhile.after] * unit_ns;
}

static size_t ids_that_a_restored_one_repeats(const sno_snapshot *s, size_t n) {
    size_t repeated = 0;
    const script then = script_now;
    for (int64_t move = -12; move <= 2; move += 7) {
        sno_id ids[8];
        script_now = then;
        script_now.now_ns += move * unit_ns;
        restore(&twin, *s);
        for (size_t i = 0; i < 8; i++) {
            ids[i] = new_id(&twin);
            for (size_t k = 0; k < n; k++) repeated += sno_equal(ids[i], got[k]);
        }
    }
    script_now = then;
    return repeated;
}

/* How often the other acts before he comes too late. */
static int two_callers(int where, size_t call) {
    for (int at = 0;; at++) {
        (void)bring_to(where);
        shot = snapshot_of(&gen);
        shot_after = got_n;
        others_after = at;
        others = act_meanwhile;
        calls[call]();
        const bool over = others != NULL;
        others = NULL;
        calls[call_kinds - 1 - call % 2]();
        CHECK_EQ(ids_that_a_restored_one_repeats(&shot, shot_after), 0);
        const sno_snapshot last = snapshot_of(&gen);
        CHECK(shot.drifts <= last.drifts);
        CHECK_EQ(ids_that_a_restored_one_repeats(&last, got_n), 0);
        if (got_n) CHECK_EQ(sno_tick(tried_at(&gen, unit_start_ns(units - 1))), last.drifts & 1);
        for (size_t i = 0; i < got_n; i++)
            CHECK(sno_sequence(got[i]) >= last.sequence_min &&
                  sno_sequence(got[i]) <= last.sequence_max);
        CHECK_EQ(repeats(got, got_n), 0);
        if (over || check_failures) return at;
    }
}

static void two_callers_never_get_the_same_id_whatever_steps_they_take(void) {
    int steps = 0;
    for (int where = 0; where <= 7; where++)
        for (size_t call = 0; call < call_kinds; call++)
            for (meanwhile.call = 0; meanwhile.call < call_kinds; meanwhile.call++)
                for (meanwhile.before = 0; meanwhile.before < before_kinds; meanwhile.before++)
                    for (meanwhile.after = 0; meanwhile.after < after_kinds; meanwhile.after++) {
                        if (scripts < 1000 && (meanwhile.before + meanwhile.after + call) % 3)
                            continue;
                        steps += two_callers(where, call);
                        if (check_failures) return;
                    }
    CHECK(steps > 1000);
}

/* ---- random scripts against the oracle ---- */

static oracle asked;
static uint32_t first_number; /* of the pool */

static void begin_random(uint64_t *random) {
    const uint32_t cap = (uint32_t)(4 + random_below(random, random_below(random, 4) ? 4 : 60));
    first_number = (uint32_t)random_below(random, whole_pool - cap);
    sno_options o = options_of(NULL);
    if (random_below(random, 4) == 0) o.max_wait_ms = (int64_t)(1 + random_below(random, 30));
    begin_with(&o, (uint16_t)first_number, (uint16_t)(first_number + cap - 1));
    asked = oracle_of(epoch_ns / ms_ns, 4, 39, cap);
    asked.ticks = true;
    asked.max_wait_ns = o.max_wait_ms ? o.max_wait_ms * ms_ns : INT64_MAX;
    asked.clock_ns = &script_now.now_ns;
    asked.sleep = script_sleep;
    asked.next.index = 1; /* of unit 0, as in a snapshot of zeros */
    got_n = 0;
}

/* What sno_retry_ns says, tried out on a copy. */
static bool retry_is_exact(void) {
    const script then = script_now;
    const int64_t ns = sno_retry_ns(&gen);
    sno_id id;
    twin = gen;
    script_now.now_ns += ns - 1;
    bool right = !ns || sno_try(&twin, a_meta, &id) != SNO_OK;
    script_now.now_ns++;
    right &= sno_try(&twin, a_meta, &id) == SNO_OK;
    script_now = then;
    return right;
}

/* The ids are the run's, and the generator is where the oracle is. */
static bool agree(const sno_id *ids, size_t n, const oracle_run *run, bool waited) {
    const sno_snapshot s = snapshot_of(&gen);
    bool right = n == run->n;
    for (size_t i = 0; i < n && right; i++) {
        const oracle_place place = oracle_after(&asked, run->first, i);
        right &= sno_units(ids[i]) == place.unit && sno_tick(ids[i]) == place.tick &&
                 sno_sequence(ids[i]) == first_number + place.index &&
                 sno_partition(ids[i]) == a_partition && sno_meta(ids[i]) == a_meta;
    }
    keep_all(ids, n);
    /* A blocked caller looks again each unit, so he may have queued up before his time had come. */
    if (s.wall_hi < (int64_t)asked.recorded && waited) asked.recorded = (uint64_t)s.wall_hi;
    right &= s.drifts == asked.drifts && (s.drifts & 1) == asked.next.tick;
    right &= s.wall_hi == (int64_t)asked.recorded;
    right &= s.wall_safe == (int64_t)asked.safe[asked.next.tick ^ 1];
    right &= ((uint64_t)s.wall_hi - asked.next.unit) * asked.cap + s.sequence + 1 ==
             first_number + asked.next.index;
    right &= sno_retry_ns(&gen) == oracle_retry_ns(&asked);
    right &= retry_is_exact();
    right &= sno_len(&gen) <= asked.cap && sno_cap(&gen) == asked.cap;
    return right;
}

/* One call of each, from the same moment on. */
static bool random_call(uint64_t *random, uint64_t call) {
    sno_id ids[200];
    oracle_run run = {{0, 0, 0}, 0}, more;
    sno_status status = SNO_OK;
    oracle_status wanted = ORACLE_OK;
    size_t n = 1 + (size_t)random_below(random, call < 3 ? 1 : 3 * asked.cap);
    if (n > 200) n = 200;
    const int64_t given_ns =
        script_now.now_ns + ((int64_t)random_below(random, 9) - 6) * (unit_ns - 1);
    const script then = script_now;

    memset(ids, 0, sizeof ids);
    switch (call) {
    case 0: ids[0] = new_id(&gen); break;
    case 1: status = sno_try(&gen, a_meta, ids); break;
    case 2: status = sno_try_at(&gen, a_meta, given_ns, ids); break;
    case 3: status = sno_new_n(&gen, a_meta, ids, n); break;
    default: n = sno_try_n(&gen, a_meta, ids, n); break;
    }
    const script after = script_now;
    bool right = call == 0 || call == 3 || after.sleeps == then.sleeps;

    script_now = then;
    if (call == 2) wanted = oracle_draw_at(&asked, given_ns, &run);
    else
        while (wanted == ORACLE_OK && run.n < n) {
            wanted = oracle_draw(&asked, call % 3 ? ORACLE_TRY : ORACLE_WAIT, n - run.n, &more);
            if (wanted == ORACLE_OK && run.n) { /* a batch of several runs: judged one by one */
                keep_all(ids, (size_t)run.n);
                memmove(ids, ids + run.n, (200 - (size_t)run.n) * sizeof *ids);
                n -= (size_t)run.n;
            }
            if (wanted == ORACLE_OK) run = more;
        }
    if (call == 0) right &= sno_is_zero(ids[0]) == (wanted != ORACLE_OK);
    else if (call < 4) right &= (int)status == (int)wanted;
    /* Who waits in vain may end his last nap later. */
    right &=
        script_now.now_ns == after.now_ns || (after.sleeps > then.sleeps && wanted != ORACLE_OK);
    script_now = after;
    return right & agree(ids, (size_t)run.n, &run, after.sleeps > then.sleeps);
}

static void random_move(uint64_t *random) {
    const int64_t ns = (int64_t)random_below(random, (uint64_t)unit_ns);
    script_now.jump_to_ns = 0;
    switch (random_below(random, 8)) {
    case 0: script_now.now_ns += (int64_t)random_below(random, 12) * unit_ns + ns; break;
    case 1: script_now.now_ns -= (int64_t)random_below(random, 12) * unit_ns + ns; break;
    case 2: script_now.now_ns += ns; break;
    case 3: script_now.now_ns -= ns; break;
    case 4: /* While a caller sleeps, if no patience is counted. The oracle forgets the reading at
               which he queued up, so that must not be the newest. */
        if (asked.max_wait_ns == INT64_MAX && clock_unit() <= (int64_t)asked.recorded)
            script_now.jump_to_ns =
                script_now.now_ns + (int64_t)random_below(random, 30) * unit_ns - 20 * unit_ns + ns;
        break;
    default: break;
    }
}

static void random_scripts_are_the_oracles(void) {
    uint64_t random = 0x5e0a11c0ffee;
    for (int i = 0; i < scripts; i++) {
        begin_random(&random);
        for (int k = 0; k < 60; k++) {
            random_move(&random);
            const uint64_t call = random_below(&random, 6);
            if (call == 5) { /* as after a restart */
                sno_snapshot s = snapshot_of(&gen);
                sno_options o = options_of(&s);
                if (asked.max_wait_ns < INT64_MAX) o.max_wait_ms = asked.max_wait_ns / ms_ns;
                CHECK_EQ(sno_init(&gen, &o), SNO_OK);
                asked.safe[asked.next.tick] = 0;
            } else if (!random_call(&random, call)) {
                printf("  script %d, call %d, kind %d\n", i, k, (int)call);
                check_fail(__FILE__, __LINE__, "the generator is not where the oracle is");
                return;
            }
        }
        CHECK_EQ(repeats(got, got_n), 0);
        if (got_n) CHECK(!sno_is_zero(got[0]));
    }
}

int main(int argc, char **argv) {
    static const check_test all[] = {
#if !defined(_WIN32)
        CHECK_TEST(the_65536th_default_partition_is_refused),
        CHECK_TEST(the_default_generator_gives_the_zero_id_without_a_partition),
        CHECK_TEST(a_first_call_that_stalls_leaves_partitions_to_others),
#endif
        CHECK_TEST(default_partitions_are_all_different),
        CHECK_TEST(a_default_generator_has_the_whole_pool),
        CHECK_TEST(generate_draws_from_one_generator),
        CHECK_TEST(the_originals_traces_come_out_byte_for_byte),
        CHECK_TEST(bounds_may_come_in_either_order),
        CHECK_TEST(a_maximum_of_0_means_65535),
        CHECK_TEST(a_sequence_of_0_means_the_lower_bound),
        CHECK_TEST(a_pool_of_four_works),
        CHECK_TEST(snapshots_that_do_not_fit_are_refused_by_field),
        CHECK_TEST(options_that_do_not_fit_are_refused_by_field),
        CHECK_TEST(options_that_fit_have_nothing_wrong),
        CHECK_TEST(shards_must_be_at_least_one_and_at_most_the_pool),
        CHECK_TEST(a_generator_that_was_never_made_gives_nothing),
        CHECK_TEST(the_clock_of_the_options_is_the_one_that_counts),
        CHECK_TEST(a_try_at_a_spent_unit_changes_nothing_and_says_when_to_come_again),
        CHECK_TEST(a_time_of_the_callers_own_counts),
        CHECK_TEST(an_older_time_of_the_callers_own_counts_as_the_newest_unit),
        CHECK_TEST(a_time_ahead_drags_the_generator_ahead),
        CHECK_TEST(a_time_before_2010_counts_as_the_newest_unit_if_there_is_one),
        CHECK_TEST(a_time_after_2079_is_refused),
        CHECK_TEST(a_batch_is_the_ids_that_single_calls_draw),
        CHECK_TEST(a_batch_that_is_tried_takes_what_is_free),
        CHECK_TEST(max_wait_ms_bounds_a_call),
        CHECK_TEST(max_wait_ms_bounds_the_wait_for_a_clock_that_stands_still),
        CHECK_TEST(a_batch_that_fails_leaves_its_ids_in_front_and_zeros_behind),
        CHECK_TEST(with_time_has_a_rolling_sequence_of_its_own),
        CHECK_TEST(with_time_takes_any_time),
        CHECK_TEST(len_and_sequence_now_tell_of_the_clocks_unit),
        CHECK_TEST(len_and_sequence_now_tell_of_a_queue),
        CHECK_TEST(stats_count_since_init),
        CHECK_TEST(outside_2010_to_2079_there_are_no_ids),
        CHECK_TEST(retry_ns_outside_2010_to_2079),
        CHECK_TEST(the_first_and_the_last_ns_have_ids),
        CHECK_TEST(the_last_unit_of_all_runs_out),
        CHECK_TEST(one_step_back_anywhere_makes_nobody_wait),
        CHECK_TEST(a_step_back_within_the_unit_changes_nothing),
        CHECK_TEST(step_after_step_makes_nobody_wait),
        CHECK_TEST(a_second_step_into_used_time_waits_until_the_newest_unit),
        CHECK_TEST(a_second_step_waits_for_a_unit_that_is_not_spent),
        CHECK_TEST(a_second_step_waits_for_what_the_queue_has_left),
        CHECK_TEST(a_second_step_waits_only_until_the_other_tick_has_unused_time),
        CHECK_TEST(max_wait_ms_bounds_the_wait_for_the_clock),
        CHECK_TEST(a_batch_is_ridden_across_a_step_back),
        CHECK_TEST(pools_of_4_512_and_65536_serve_their_capacity_and_go_on),
        CHECK_TEST(callers_are_served_in_the_order_in_which_they_came),
        CHECK_TEST(a_snapshot_of_a_queue_has_a_sequence_past_the_pool),
        CHECK_TEST(a_step_back_frees_the_queue),
        CHECK_TEST(a_step_back_into_used_time_keeps_the_queue_waiting),
        CHECK_TEST(who_wakes_late_still_has_his_place),
        CHECK_TEST(a_step_back_makes_nobody_wait_who_was_outrun),
        CHECK_TEST(one_caller_that_waits_is_noted_each_ms),
        CHECK_TEST(notes_count_the_callers_that_are_queued_still),
        CHECK_TEST(a_batch_that_waits_is_counted_by_its_places),
        CHECK_TEST(a_new_overflow_counts_its_ms_anew),
        CHECK_TEST(who_only_tries_is_not_noted),
        CHECK_TEST(a_full_ring_drops_notes_and_the_last_one_comes_late),
        CHECK_TEST(a_full_ring_takes_the_notes_of_later_ms),
        CHECK_TEST(a_step_back_during_an_overflow_is_noted_too),
        CHECK_TEST(the_end_of_an_overflow_is_not_long_after_its_begin_if_the_clock_was_put_back),
        CHECK_TEST(a_ring_has_room_for_its_slots_and_keeps_their_order),
        CHECK_TEST(a_snapshot_says_where_the_generator_stands),
        CHECK_TEST(a_snapshot_that_was_restored_reads_the_same),
        CHECK_TEST(a_restored_generator_goes_on_as_the_original_would),
        CHECK_TEST(restored_in_the_past_it_rides_out_one_step_and_not_a_second),
        CHECK_TEST(the_parity_of_the_drifts_is_the_tick),
        CHECK_TEST(shards_share_the_pool_and_each_number_comes_once_a_unit),
        CHECK_TEST(a_shard_waits_as_a_generator_does),
        CHECK_TEST(a_shard_rides_out_a_step_back),
        CHECK_TEST(a_shard_gives_back_when_the_clock_steps_back_in_its_sleep),
        CHECK_TEST(shards_of_a_snapshot_do_not_repeat_its_ids),
        CHECK_TEST(a_pool_lends_each_shard_once_and_a_returned_one_goes_on),
        CHECK_TEST(a_coarse_clock_does_not_say_where_to_begin),
        CHECK_TEST(the_coarse_clock_is_enough_while_a_unit_has_ids),
        CHECK_TEST(a_unit_that_looks_spent_is_judged_by_the_exact_clock),
        CHECK_TEST(a_coarse_clock_that_lags_was_not_put_back),
        CHECK_TEST(a_coarse_clock_that_was_put_back_changes_the_tick),
#if !defined(_WIN32)
        CHECK_TEST(a_forked_child_draws_nothing_from_its_parents_generators),
        CHECK_TEST(a_forked_child_ports_no_old_ids_with_its_parents_generator),
        CHECK_TEST(relatives_draw_from_one_generator_in_shared_memory),
        CHECK_TEST(relatives_generate_with_partitions_of_their_own),
        CHECK_TEST(default_partitions_of_relatives_are_different),
#endif
        CHECK_TEST(two_callers_never_get_the_same_id_whatever_steps_they_take),
        CHECK_TEST(random_scripts_are_the_oracles),
    };
    return CHECK_MAIN(argc, argv, all);
}
