/* SPDX-License-Identifier: MIT
 *
 * Mistakes of a program: it continues after a failed init, copies a generator, ignores a status, passes a
 * time from the future, forgets to extend its horizon or to close, draws after a close, or makes a call that this kind
 * of generator does not have. It gets a status, a reason or a compiler warning.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#define _GNU_SOURCE
#include "support.h"
#if !defined(_WIN32) && !defined(FLAKE_NO_FILES)
#define HAS_FILES
#include "temporary_dir.h"
#endif

/* What another thread does during each sleep. */
static void (*during_sleep)(void);
static void sleep_beside_another(int64_t ns) {
    script_sleep(ns);
    if (during_sleep) during_sleep();
}
#undef FLAKE_SLEEP_NS
#define FLAKE_SLEEP_NS(ns) sleep_beside_another(ns)

static bool no_random_bytes;
#define FLAKE_RANDOM_BYTES(to, n) (!no_random_bytes && flake_i_system_random(to, n))
static void (*during_reading)(void); /* what another thread does during the next exact one, once */
static int64_t system_ns(int is_coarse) {
    void (*const another)(void) = is_coarse ? NULL : during_reading;
    if (another) during_reading = NULL, another();
    return script_now.now_ns - (is_coarse ? 5000000 : 0); /* how far it lags */
}
#define FLAKE_CLOCK_NS(kind) system_ns((kind) == FLAKE_CLOCK_COARSE)
#define FLAKE_CLOCK_SLACK_NS UINT64_C(20000000)
#define FLAKE_COUNTER()      UINT64_C(0)
#include "sno.h"
#include "options.h"

#define MS INT64_C(1000000)       /* in ns */
#define T  INT64_C(1760000000000) /* Unix ms: where the scripts begin */

static int gate_asked;
static flake_status admit_all(void *user, int64_t until_ns) {
    (void)user;
    (void)until_ns;
    gate_asked++;
    return FLAKE_OK;
}

static const flake_gate open_gate = {.admit = admit_all};

static flake_why why;
static flake_gen gen, other;
static flake_lane lanes[2];
static sno_gen sno;
static uint64_t id, ids[4];
static flake128 id128, ids128[4];
static sno_id sno_one, snos[4];
static flake_prefetch stock;
static flake128 thousands[70000];
static size_t got;

/* The system's clock, which follows the script; IDs of its unit at once. */
static flake_options begin(void) {
    flake_options o = {.start_this_unit = true};
    script_at_ms(T);
    memset(&why, 0, sizeof why);
    memset(&gen, 0, sizeof gen);
    memset(&other, 0, sizeof other);
    memset(&sno, 0, sizeof sno);
    return o;
}

/* Without lanes: several threads, then one. With lanes. Scattered, which have no straight line of their own. */
enum { KINDS = 6 };
static flake_options kind_at(unsigned i) {
    flake_options o = begin();
    o.single_thread = i % 3 == 1;
    if (i % 3 == 2) o.lanes = lanes;
    o.lane_count = i % 3 == 2 ? 2 : 0;
    o.seq_scatter = i / 3 == 1;
    return o;
}

/* ---- an init that failed ---- */

/* Queries, and all calls except draws, return what they would without a generator. */
static void check_answers_nothing(flake_gen *g) {
    const flake_options none = {0};
    flake_stats stats;
    memset(&stats, 0xff, sizeof stats);
    CHECK_EQ(flake_prefetch_init(&stock, g, 2, 0, NULL), FLAKE_INVALID);
    FAILS(flake_prefetch_next(&stock, &id), FLAKE_INVALID, id);
    CHECK_EQ(flake_newest_ms(g), INT64_MIN);
    CHECK_EQ(flake_reinit_after_fork(g, flake_node_fixed(NULL, 0), &none, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_retry_ns(g), INT64_MAX);
    CHECK_EQ(flake_available(g), 0);
    CHECK_EQ(flake_ahead_ms(g), 0);
    CHECK(flake_gen_options(g) == NULL);
    CHECK(flake_gen_node(g) == UINT64_MAX);
    flake_stats_get(g, &stats);
    CHECK(is_zero(&stats, sizeof stats));
}

/* sno.h's calls except draws, on a generator of another kind. */
static void check_no_sno_gen(sno_gen *g) {
    const flake_options none = {0};
    sno_snapshot position;
    CHECK_EQ(sno_snapshot_take(g, &position), FLAKE_INVALID);
    CHECK_EQ(sno_shards_snapshot(g, 1, &position), FLAKE_INVALID);
    CHECK_EQ(sno_reinit_after_fork(g, flake_node_none(), NULL, &none, NULL), FLAKE_INVALID);
    CHECK_EQ(sno_cap(g), 0);
    CHECK_EQ(sno_len(g), 0);
    CHECK_EQ(sno_sequence_now(g), 0);
    CHECK_EQ(sno_gen_partition(g), 0);
    FAILS(sno_with_time(g, 1, T, &sno_one), FLAKE_INVALID, sno_one);
}

static void check_no_id(flake_gen *g, flake_status status) {
    FAILS(flake_next(g, &id), status, id);
    FAILS(flake_try(g, &id), status, id);
    FAILS(flake_next_n(g, ids, 4), status, ids);
    memset(ids, 0x5e, sizeof ids);
    CHECK_EQ(flake_try_n(g, ids, 4, &got), status);
    CHECK(got == 0 && ids[0] == UINT64_C(0x5e5e5e5e5e5e5e5e));
    if (status == FLAKE_INVALID) FAILS(flake_try_at(g, script_now.now_ns / MS, &id), status, id);
}

static void check_no_id128(flake_gen *g, flake_status status) {
    FAILS(flake128_next(g, &id128), status, id128);
    FAILS(flake128_try(g, &id128), status, id128);
    FAILS(flake128_next_n(g, ids128, 4), status, ids128);
    CHECK_EQ(flake128_try_n(g, ids128, 4, &got), status);
    CHECK_EQ(got, 0);
    if (status == FLAKE_INVALID)
        FAILS(flake128_try_at(g, script_now.now_ns / MS, &id128), status, id128);
}

static void check_no_sno(sno_gen *g, flake_status status) {
    FAILS(sno_next(g, 1, &sno_one), status, sno_one);
    FAILS(sno_try(g, 1, &sno_one), status, sno_one);
    FAILS(sno_next_n(g, 1, snos, 4), status, snos);
    memset(snos, 0x5e, sizeof snos);
    CHECK_EQ(sno_try_n(g, 1, snos, 4, &got), status);
    CHECK(got == 0 && snos[0].bytes[0] == 0x5e);
    if (status == FLAKE_INVALID)
        FAILS(sno_try_at(g, 1, script_now.now_ns / MS, &sno_one), status, sno_one);
}

static void check_invalid(flake_gen *g) {
    check_answers_nothing(g);
    check_no_id(g, FLAKE_INVALID);
    check_no_id128(g, FLAKE_INVALID);
    CHECK_EQ(flake_extend(g, &why), FLAKE_INVALID);
    CHECK_EQ(flake_take_over(g, &why), FLAKE_INVALID);
    CHECK_EQ(flake_close(g, &why), FLAKE_OK);
}

static void check_sno_invalid(sno_gen *g) {
    check_no_sno_gen(g);
    check_invalid(&g->gen);
    check_no_sno(g, FLAKE_INVALID);
}

static flake_atomic64 closed; /* the word of a gate that is closed */
static const flake_gate closed_gate = {.admit = admit_all, .fence = &closed};
static flake_ring no_ring;

#define SINCE(epoch_ms) \
    { "", epoch_ms, 1, 42, 22, 10, 12, 12, 0, 0, 0, 0, 0, 0 }
static const struct failure {
    flake_options options;
    flake_status status;
    const char *reason;
} failures[] = {
    {{.seq_max = 4096}, FLAKE_INVALID, "seq_max exceeds"},
    {{.seq_min = 10, .seq_max = 9}, FLAKE_INVALID, "seq_min is above seq_max"},
    {{.seq_min = 1}, FLAKE_INVALID, "seq_min is above seq_max, which is 0 only if"},
    {{.layout = {.format = FLAKE_I_ULID}}, FLAKE_INVALID, "layout: "},
    {{.layout = {.epoch_ms = 1}},
     FLAKE_INVALID,
     "start from one: options.layout = flake_layout_default"},
    {{.layout = {"mine", 1577836800, 1, 41, 22, 10, 12, 12, 0, 0, 0, 0, 0, 0}},
     FLAKE_INVALID,
     "is it in seconds"},
    {{.layout = SINCE(INT64_MAX / 1000000 + 1)}, FLAKE_INVALID, "layout.epoch_ms"},
    {{.layout = SINCE(-INT64_MAX / 1000000 - 1)}, FLAKE_INVALID, "layout.epoch_ms"},
    {{.max_wait_ms = -1}, FLAKE_INVALID, "max_wait_ms"},
    {{.max_ahead_ms = -1}, FLAKE_INVALID, "max_ahead_ms"},
    {{.max_ahead_ms = (int64_t)INT32_MAX + 1}, FLAKE_INVALID, "max_ahead_ms"},
    {{.clock = {.kind = 3}}, FLAKE_INVALID, "clock.kind"},
    {{.clock = {.kind = -1}}, FLAKE_INVALID, "clock.kind"},
    {{.overflow = &no_ring}, FLAKE_INVALID, "overflow"},
    {{.lanes = lanes, .lane_count = 2, .single_thread = true}, FLAKE_INVALID, "single_thread"},
    {{.lanes = lanes, .lane_count = 0}, FLAKE_INVALID, "lane_count"},
    {{.lanes = lanes, .lane_count = 2, .seq_min = 7, .seq_max = 7}, FLAKE_INVALID, "lane_count"},
    {{.layout = {"", 0, 1, 39, 24, 0, 24, 24, 0, 0, 0, 0, 0, 0},
      .lanes = lanes,
      .lane_count = INT32_MAX / sizeof(flake_lane)},
     FLAKE_INVALID,
     "2 GB of memory"},
    {{.lane_count = 1}, FLAKE_INVALID, "lanes is missing"},
    /* without a directory */
    {{.claim_wait_ms = 1}, FLAKE_INVALID, "options: claim_wait_ms needs a directory"},
    {{.horizon_ms = 1}, FLAKE_INVALID, "options: horizon_ms needs a directory"},
    {{.horizon_ms = -1}, FLAKE_INVALID, "options: horizon_ms needs a directory"},
    {{.max_downtime_ms = 1}, FLAKE_INVALID, "options: max_downtime_ms needs a directory"},
    {{.must_exist = true}, FLAKE_INVALID, "options: must_exist needs a directory"},
    {{.manual_extend = true}, FLAKE_INVALID, "options: manual_extend needs a directory"},
    {{.layout = FLAKE_LAYOUT_UUID7}, FLAKE_IO, "random bytes"}}; /* there are none */

static void check_fails(flake_gen *g, flake_node node, const struct failure *f) {
    no_random_bytes = f->status == FLAKE_IO;
    if (f->status != FLAKE_IO) { /* shards of UUIDs are refused anyway */
        CHECK_EQ(flake_init_shards(g, 1, node, &f->options, NULL), f->status);
        CHECK(flake_gen_options(g) == NULL);
    }
    CHECK_EQ(flake_init(g, node, &f->options, &why), f->status);
    no_random_bytes = false;
    CHECK(strstr(why.text, f->reason) != NULL);
    check_invalid(g);
}

/* Each kind of failure, with a reason in words. */
static void fail_each_way(flake_gen *g) {
    static const struct failure shared = {{.shared_memory = true}, FLAKE_INVALID, "shared_memory"},
                                is_closed = {{.seq_max = 0}, FLAKE_LEASE_LOST, "gate"};
    flake_options o = begin();
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
        check_fails(g, node_in(&failures[i].options.layout, 0), &failures[i]);
    check_fails(g, flake_node_gated(&open_gate, 0), &shared);
    check_fails(g, flake_node_gated(&closed_gate, 0), &is_closed);
    CHECK_EQ(flake_init_shards(g, 0, flake_node_fixed(NULL, 0), &o, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "n: ") != NULL);
    o = kind_at(2);
    CHECK_EQ(flake_init_shards(g, 1, flake_node_fixed(NULL, 0), &o, NULL), FLAKE_INVALID);
    check_invalid(g);
}

static void fail_each_way_sno(sno_gen *g) {
    sno_snapshot pool = {0};
    flake_options o = begin();
    const flake_node node = flake_node_fixed(NULL, 0);
    CHECK_EQ(sno_init(g, flake_node_fixed(NULL, 1), &pool, &o, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "partition") != NULL);
    check_sno_invalid(g);
    pool.sequence_max = 2;
    CHECK_EQ(sno_init(g, node, &pool, &o, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "fewer than 4 numbers") != NULL);
    check_sno_invalid(g);
    pool.sequence_max = 0;
    CHECK_EQ(sno_init_shards(g, 0, node, &pool, &o, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "n: ") != NULL);
    o.lanes = lanes;
    o.lane_count = 2;
    CHECK_EQ(sno_init_shards(g, 1, node, &pool, &o, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "lanes") != NULL);
    check_sno_invalid(g);
}

static int64_t close_gate(void *fence) {
    FLAKE_ATOMIC_STORE((flake_atomic64 *)fence, 0u, relaxed);
    return INT64_MIN;
}

TEST(shards_are_made_all_or_none) {
    static flake_gen shards[2];
    const flake_options o = begin();
    const flake_gate gate = {admit_all, close_gate, (void *)&closed, &closed};
    FLAKE_ATOMIC_STORE(&closed, 7u, relaxed); /* until the first one is made */
    CHECK_EQ(flake_init_shards(shards, 2, flake_node_gated(&gate, 0), &o, NULL), FLAKE_LEASE_LOST);
    for (int i = 0; i < 2; i++) FAILS(flake_next(&shards[i], &id), FLAKE_INVALID, id);
}

/* With any previous contents of the memory: another program's bytes, or a generator of any kind. */
TEST(an_init_that_failed_leaves_no_generator) {
    static const uint8_t bytes[] = {0x00, 0x01, 0x02, 0x03, 0x5e, 0xff};
    const flake_layout *const layouts[] = {&flake_layout_default, &flake_layout_boundary,
                                           &flake_layout_uuid7};
    flake_gen *const memory = (flake_gen *)exactly(sizeof(flake_gen));
    for (size_t i = 0; i < sizeof bytes; i++) {
        memset((void *)memory, bytes[i], sizeof *memory);
        if (!bytes[i]) check_invalid(memory); /* never initialised */
        fail_each_way(memory);
    }
    for (unsigned i = 0; i < 9; i++) {
        flake_options o = kind_at(i / 3);
        o.layout = *layouts[i % 3];
        CHECK_EQ(flake_init(memory, node_in(&o.layout, 0), &o, NULL), FLAKE_OK);
        fail_each_way(memory);
    }
    free(memory);
}

TEST(an_init_that_failed_leaves_no_sno_generator) {
    static const uint8_t bytes[] = {0x00, 0x09, 0x0a, 0x0b, 0x5e, 0xff};
    sno_gen *const memory = (sno_gen *)exactly(sizeof(sno_gen));
    for (size_t i = 0; i < sizeof bytes; i++) {
        memset((void *)memory, bytes[i], sizeof *memory);
        if (!bytes[i]) check_sno_invalid(memory);
        fail_each_way_sno(memory);
    }
    CHECK_EQ(sno_init(memory, flake_node_none(), NULL, NULL, NULL), FLAKE_OK);
    fail_each_way_sno(memory);
    free(memory);
}

/* In a child, or a process after flake_machine_cloned, that was refused. */
TEST(a_reinit_that_failed_leaves_the_generator_forked) {
    flake_options o = begin(), wrong = o;
    sno_snapshot pool = {0};
    const flake_node parents = flake_node_fixed(NULL, 0), own = flake_node_fixed(NULL, 8);
    CHECK_EQ(flake_init(&gen, parents, &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&sno, parents, &pool, NULL, NULL), FLAKE_OK);
    flake_machine_cloned();
    CHECK_EQ(flake_reinit_after_fork(&gen, parents, &o, &why), FLAKE_NODE_OVERLAP);
    CHECK(strstr(why.text, "parent") != NULL);
    CHECK_EQ(flake_reinit_after_fork(&gen, flake_node_fixed(NULL, 1024), &o, &why),
             FLAKE_NODE_RANGE);
    o.max_ahead_ms = -1; /* found last, by the engine */
    CHECK_EQ(flake_reinit_after_fork(&gen, own, &o, &why), FLAKE_INVALID);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_FORKED);
    CHECK(flake_gen_options(&gen) != NULL);
    o.max_ahead_ms = 0;
    CHECK_EQ(flake_reinit_after_fork(&gen, own, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(sno_reinit_after_fork(&sno, parents, &pool, NULL, &why), FLAKE_NODE_OVERLAP);
    pool.partition = 8;
    wrong.max_wait_ms = -1;
    CHECK_EQ(sno_reinit_after_fork(&sno, own, &pool, &wrong, &why), FLAKE_INVALID);
    CHECK_EQ(sno_next(&sno, 1, &sno_one), FLAKE_FORKED);
    CHECK_EQ(sno_reinit_after_fork(&sno, own, &pool, NULL, NULL), FLAKE_OK);
    CHECK_EQ(sno_next(&sno, 1, &sno_one), FLAKE_OK);
}

/* ---- a node that does not fit, or is forgotten ---- */

/* Of each init, on generators that exist: on failure there is none. */
static void check_node_refused(flake_node node, const flake_layout *l, flake_status status,
                               const char *reason) {
    flake_options o = begin();
    o.layout = *l;
    CHECK_EQ(flake_init(&gen, node_in(l, 5), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_init(&gen, node, &o, &why), status);
    CHECK(strstr(why.text, reason) != NULL);
    check_invalid(&gen);
    if (l->format < FLAKE_I_UUID7) { /* or shards are refused anyway */
        memset(&why, 0, sizeof why);
        CHECK_EQ(flake_init_shards(&gen, 1, node, &o, &why), status);
        CHECK(strstr(why.text, reason) != NULL);
        check_invalid(&gen);
    }
    CHECK_EQ(flake_init(&gen, node_in(l, 5), &o, NULL), FLAKE_OK);
    flake_machine_cloned();
    memset(&why, 0, sizeof why);
    CHECK_EQ(flake_reinit_after_fork(&gen, node, &o, &why), status);
    CHECK(strstr(why.text, reason) != NULL);
    if (l->format) FAILS(flake128_next(&gen, &id128), FLAKE_FORKED, id128);
    else FAILS(flake_next(&gen, &id), FLAKE_FORKED, id);
    CHECK(flake_gen_node(&gen) == (l->node_bits ? 5 : UINT64_MAX));
}

TEST(a_node_that_the_layout_lacks_is_refused) {
    const flake_layout with[] = {flake_layout_default, flake_layout_hazelcast,
                                 flake_layout_boundary, flake_layout_uuid7_node,
                                 flake_layout_uuid8};
    const flake_layout without[] = {flake_layout_mastodon, flake_layout_uuid7, flake_layout_ulid,
                                    flake_layout_of(41, 0, 22, 0)};
    const flake_node zeroed = {0};
    for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
        const uint64_t nodes = (uint64_t)1 << with[i].node_bits;
        const uint64_t beyond[] = {nodes, (uint64_t)1 << 48, flake_idgen_node(32, 0), UINT64_MAX};
        check_node_refused(zeroed, &with[i], FLAKE_INVALID, "node");
        check_node_refused(flake_node_none(), &with[i], FLAKE_INVALID, "node");
        check_node_refused(flake_node_fixed("", 0), &with[i], FLAKE_INVALID,
                           "node: the directory has no name: \".\" is this one");
        check_node_refused(flake_node_any(NULL, 0, 0), &with[i], FLAKE_INVALID,
                           "node: flake_node_any needs a directory");
        check_node_refused(flake_node_any("absent/ids", 1, 0), &with[i], FLAKE_INVALID,
                           "node: the range's first number is above its last");
        for (size_t k = 0; k < sizeof beyond / sizeof *beyond; k++) {
            check_node_refused(flake_node_fixed(NULL, beyond[k]), &with[i], FLAKE_NODE_RANGE,
                               "node");
            check_node_refused(flake_node_gated(&open_gate, beyond[k]), &with[i], FLAKE_NODE_RANGE,
                               "node");
            check_node_refused(flake_node_fixed("absent/ids", beyond[k]), &with[i],
                               FLAKE_NODE_RANGE, "node");
            check_node_refused(flake_node_any("absent/ids", 0, beyond[k]), &with[i],
                               FLAKE_NODE_RANGE, "node");
        }
        flake_options o = begin();
        o.layout = with[i];
        CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, nodes - 1), &o, NULL), FLAKE_OK);
        CHECK_EQ(flake_gen_node(&gen), nodes - 1);
        CHECK_EQ(flake_init(&gen, flake_node_gated(&open_gate, nodes - 1), &o, NULL), FLAKE_OK);
        CHECK_EQ(flake_gen_node(&gen), nodes - 1);
    }
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        check_node_refused(zeroed, &without[i], FLAKE_INVALID, "node");
        check_node_refused(flake_node_fixed(NULL, 0), &without[i], FLAKE_INVALID, "node");
        check_node_refused(flake_node_fixed("ids", 0), &without[i], FLAKE_INVALID, "node");
        check_node_refused(flake_node_any("ids", 0, 9), &without[i], FLAKE_INVALID, "node");
        check_node_refused(flake_node_gated(&open_gate, 0), &without[i], FLAKE_INVALID, "node");
    }
}

TEST(a_node_out_of_range_is_named_with_the_layouts_last) {
    const flake_options o = begin();
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 1024), &o, &why), FLAKE_NODE_RANGE);
    CHECK_STR(why.text, "node: 1024 is above 1023, the layout's last node");
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, UINT64_MAX), &o, &why), FLAKE_NODE_RANGE);
    CHECK_STR(why.text, "node: 18446744073709551615 is above 1023, the layout's last node; "
                        "has a call of flake_node_from_... failed?");
}

TEST(a_failed_number_is_refused_whatever_is_added) {
    static const uint64_t factors[] = {1, 2, 16, 256, 1024, 65536}, terms[] = {0, 1, 256, 65536};
    const uint64_t failed = flake_idgen_node(32, 0);
    flake_options o = begin();
    for (unsigned i = 0; i < 24; i++) {
        const uint64_t number = failed * factors[i % 6] + terms[i / 6];
        o.layout = flake_layout_boundary; /* with the most nodes */
        CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, number), &o, &why), FLAKE_NODE_RANGE);
    }
    CHECK(flake_uniqueid_node(16, 0) == failed);
}

TEST(a_node_that_is_no_partition_is_refused) {
    const flake_node zeroed = {0};
    const sno_snapshot of_7 = {.partition = 7};
    const struct {
        flake_node node;
        flake_status status;
        const char *reason;
    } rows[] = {{zeroed, FLAKE_INVALID, "node"},
                {flake_node_fixed(NULL, 6), FLAKE_INVALID, "partition"},
                {flake_node_gated(&open_gate, 6), FLAKE_INVALID, "partition"},
                {flake_node_fixed("", 7), FLAKE_INVALID, "node: the directory has no name"},
                {flake_node_any(NULL, 7, 7), FLAKE_INVALID, "node: flake_node_any needs a directory"},
                {flake_node_any("absent/ids", 8, 7), FLAKE_INVALID, "node: the range's first number"},
                {flake_node_fixed("absent/ids", 65536), FLAKE_NODE_RANGE, "65535"},
                {flake_node_any("absent/ids", 0, 65536), FLAKE_NODE_RANGE, "65535"},
                {flake_node_fixed(NULL, 65536 + 7), FLAKE_NODE_RANGE, "65535"},
                {flake_node_gated(&open_gate, UINT64_MAX), FLAKE_NODE_RANGE, "65535"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        (void)begin();
        CHECK_EQ(sno_init(&sno, rows[i].node, &of_7, NULL, &why), rows[i].status);
        CHECK(strstr(why.text, rows[i].reason) != NULL);
        check_sno_invalid(&sno);
        memset(&why, 0, sizeof why);
        CHECK_EQ(sno_init_shards(&sno, 1, rows[i].node, &of_7, NULL, &why), rows[i].status);
        CHECK(strstr(why.text, rows[i].reason) != NULL);
        check_sno_invalid(&sno);
        CHECK_EQ(sno_init(&sno, flake_node_fixed(NULL, 5), NULL, NULL, NULL), FLAKE_OK);
        CHECK_EQ(sno_gen_partition(&sno), 5);
        flake_machine_cloned();
        CHECK_EQ(sno_reinit_after_fork(&sno, rows[i].node, &of_7, NULL, NULL), rows[i].status);
        FAILS(sno_next(&sno, 1, &sno_one), FLAKE_FORKED, sno_one);
    }
}

/* ---- a status that is ignored ---- */

TEST(a_failed_draw_zeroes_its_id) {
    for (unsigned i = 0; i < KINDS; i++) {
        flake_options o = kind_at(i);
        CHECK_EQ(flake_init(&gen, node_in(&o.layout, 0), &o, NULL), FLAKE_OK);
        check_no_id128(&gen, FLAKE_INVALID);
        FAILS(flake_try_at(&gen, INT64_MAX, &id), FLAKE_TIME_RANGE, id);
        if (i % 3 != 2) FAILS(flake_try_at(&gen, 0, &id), FLAKE_TIME_RANGE, id);
        (void)!flake_prefetch_init(&stock, &gen, 2, 0, NULL);
        FAILS((script_now.now_ns = 0, flake_prefetch_next(&stock, &id)),
              i % 3 ? FLAKE_INVALID : FLAKE_TIME_RANGE, id);
        script_now.now_ns = 0;
        check_no_id(&gen, FLAKE_TIME_RANGE);
        flake_machine_cloned();
        check_no_id(&gen, FLAKE_FORKED);
        if (i % 3 == 0) FAILS(flake_prefetch_next(&stock, &id), FLAKE_FORKED, id);
        gen.kind = 0;
        check_no_id(&gen, FLAKE_INVALID);
    }
    const flake_layout layouts[] = {flake_layout_boundary, flake_layout_uuid7, flake_layout_ulid};
    for (unsigned i = 0; i < 9; i++) {
        flake_options o = kind_at(i % 3);
        o.layout = layouts[i / 3];
        o.seq_max = 65535; /* the whole, in numbers */
        CHECK_EQ(flake_init(&gen, node_in(&o.layout, 0), &o, NULL), FLAKE_OK);
        CHECK_EQ(flake_prefetch_init(&stock, &gen, 2, 0, NULL), FLAKE_INVALID);
        check_no_id(&gen, FLAKE_INVALID);
        CHECK_EQ(flake_available(&gen), 65536);
        FAILS(flake128_try_at(&gen, INT64_MAX, &id128), FLAKE_TIME_RANGE, id128);
        script_now.now_ns = -1;
        check_no_id128(&gen, FLAKE_TIME_RANGE);
        script_now.now_ns = T * MS;
        CHECK_EQ(flake128_next(&gen, &id128), FLAKE_OK);
        flake_machine_cloned();
        check_no_id128(&gen, FLAKE_FORKED);
    }
    for (unsigned i = 0; i < 3; i++) {
        flake_options o = kind_at(i);
        CHECK_EQ(flake_init(&sno.gen, flake_node_fixed(NULL, 0), &o, NULL), FLAKE_OK);
        sno.gen.node = sno.sequence_min = 7; /* queries ignore these, too */
        check_no_sno_gen(&sno);
        check_no_sno(&sno, FLAKE_INVALID);
        CHECK_EQ(sno_init(&sno, flake_node_none(), NULL, &o, NULL), FLAKE_OK);
        check_no_id(&sno.gen, FLAKE_INVALID);
        check_no_id128(&sno.gen, FLAKE_INVALID);
        FAILS(sno_try_at(&sno, 1, INT64_MAX, &sno_one), FLAKE_TIME_RANGE, sno_one);
        FAILS(sno_with_time(&sno, 1, 0, &sno_one), FLAKE_TIME_RANGE, sno_one);
        script_now.now_ns = 0;
        check_no_sno(&sno, FLAKE_TIME_RANGE);
        flake_machine_cloned();
        check_no_sno(&sno, FLAKE_FORKED);
        FAILS(sno_with_time(&sno, 1, T, &sno_one), FLAKE_FORKED, sno_one);
        sno.gen.kind = 0;
        check_no_sno(&sno, FLAKE_INVALID);
        FAILS(sno_with_time(&sno, 1, T, &sno_one), FLAKE_INVALID, sno_one);
    }
}

TEST(a_batch_zeroes_what_it_lacks_and_a_try_leaves_the_rest) {
    for (unsigned i = 0; i < KINDS; i++) {
        flake_options o = kind_at(i);
        o.seq_max = 2;
        CHECK_EQ(flake_init(&gen, node_in(&o.layout, 0), &o, NULL), FLAKE_OK);
        memset(ids, 0x5e, sizeof ids);
        CHECK_EQ(flake_try_n(&gen, ids, 2, &got), FLAKE_OK);
        while (got < 2 && flake_try(&gen, &ids[got]) == FLAKE_OK) got++;
        CHECK(ids[0] && ids[1] && ids[0] != ids[1]);
        memset(ids, 0x5e, sizeof ids);
        CHECK_EQ(flake_try_n(&gen, ids, 4, &got), FLAKE_OK);
        CHECK_EQ(got, 1);
        CHECK(ids[0] && ids[1] == UINT64_C(0x5e5e5e5e5e5e5e5e) && ids[3] == ids[1]);
        CHECK_EQ(flake_try_n(&gen, ids + 1, 3, &got), FLAKE_AGAIN);
        CHECK(got == 0 && ids[1] == UINT64_C(0x5e5e5e5e5e5e5e5e));
        FAILS(flake_try(&gen, &id), FLAKE_AGAIN, id);
        script_now.now_ns += MS;
        script_now.per_sleep = 0; /* the clock does not move: the second unit is not reached */
        memset(ids, 0x5e, sizeof ids);
        CHECK_EQ(flake_next_n(&gen, ids, 4), FLAKE_AGAIN);
        CHECK(ids[0] && ids[1] && ids[2] && !ids[3]);
    }
    for (unsigned i = 0; i < 3; i++) {
        flake_options o = kind_at(i);
        sno_snapshot pool = {0};
        pool.sequence_max = 3;
        CHECK_EQ(sno_init(&sno, flake_node_fixed(NULL, 0), &pool, &o, NULL), FLAKE_OK);
        CHECK_EQ(sno_next_n(&sno, 1, snos, 4), FLAKE_OK);
        script_now.per_sleep = 0;
        check_no_sno(&sno, FLAKE_AGAIN);
    }
}

TEST(the_process_wide_generator_zeroes_its_text) {
    uint8_t bytes[16];
    char uuid[37], ulid[27];
    (void)begin();
    script_now.now_ns = 0;
    FAILS(flake_uuid7_bytes(bytes), FLAKE_TIME_RANGE, bytes);
    FAILS(flake_ulid_bytes(bytes), FLAKE_TIME_RANGE, bytes);
    FAILS(flake_uuid7(uuid), FLAKE_TIME_RANGE, uuid);
    FAILS(flake_ulid(ulid), FLAKE_TIME_RANGE, ulid);
}

/* ---- calls that would repeat IDs ---- */

/* A call is refused: if it succeeds, with ids[0], all these are out. */
static void check_refused(flake_status status, void *ids_out, size_t n, size_t size) {
    if (status == FLAKE_OK) CHECK_EQ(count_duplicates_of(ids_out, n, size), 0);
    else CHECK(is_zero(ids_out, size));
    CHECK_EQ(status, FLAKE_INVALID);
}

/* The thread's lane has a word like the whole's: a draw that moves one alone leaves its ID to the other. */
#define CHECK_GIVEN(try_first, given, next, out)              \
    do {                                                      \
        CHECK_EQ(try_first, FLAKE_AGAIN);                     \
        script_now.now_ns += 4 * MS;                          \
        const flake_status status = given;                    \
        CHECK_EQ(next, FLAKE_OK);                             \
        check_refused(status, (void *)out, 2, sizeof *(out)); \
    } while (0)

TEST(a_time_given_to_lanes_is_refused_as_it_would_repeat_ids) {
    for (unsigned i = 0; i < 4; i++) { /* plain, scattered, 128 bits, sno */
        flake_options o = kind_at(i == 1 ? 5 : 2);
        o.lane_count = 1;
        o.after_unix_ms = T; /* the lane has a word */
        if (i == 2) o.layout = flake_layout_boundary;
        CHECK_EQ(i == 3 ? sno_init(&sno, flake_node_none(), NULL, &o, NULL)
                        : flake_init(&gen, flake_node_fixed(NULL, 0), &o, NULL),
                 FLAKE_OK);
        if (i < 2)
            CHECK_GIVEN(flake_try(&gen, ids), flake_try_at(&gen, T + 4, ids),
                        flake_next(&gen, ids + 1), ids);
        else if (i == 2)
            CHECK_GIVEN(flake128_try(&gen, ids128), flake128_try_at(&gen, T + 4, ids128),
                        flake128_next(&gen, ids128 + 1), ids128);
        else
            CHECK_GIVEN(sno_try(&sno, 1, snos), sno_try_at(&sno, 1, T + 4, snos),
                        sno_next(&sno, 1, snos + 1), snos);
    }
}

static flake_status took;
static void take_from_stock(void) { took = flake_prefetch_next(&stock, &ids[0]); }

/* Another thread takes from its stock while a draw has the word and reads the clock. */
TEST(a_stock_of_lanes_or_of_one_thread_is_refused_as_it_would_repeat_ids) {
    for (unsigned i = 0; i < 2 * KINDS; i++) {
        const bool had_stock = i / KINDS; /* as another kind, before */
        flake_options o = begin();
        CHECK_EQ(flake_init(&gen, node_in(&o.layout, 0), &o, NULL), FLAKE_OK);
        CHECK_EQ(flake_prefetch_init(&stock, &gen, 2, 0, NULL), FLAKE_OK);
        o = kind_at(i % KINDS);
        o.clock.kind = FLAKE_CLOCK_COARSE; /* the exact one is read after the word */
        CHECK_EQ(flake_init(&gen, node_in(&o.layout, 0), &o, NULL), FLAKE_OK);
        if (!had_stock && flake_prefetch_init(&stock, &gen, 2, 0, &why) != FLAKE_OK)
            CHECK(strstr(why.text, "single_thread") != NULL);
        during_reading = take_from_stock;
        CHECK_EQ(flake_next(&gen, &ids[1]), FLAKE_OK);
        CHECK(!during_reading);
        if (i % 3) check_refused(took, ids, 2, sizeof *ids);
        else CHECK(took == FLAKE_OK && ids[0] != ids[1]);
    }
}

/* In the first ms in which their counters start near each other. */
static size_t count_repeated(flake_gen *pair) {
    enum { half = 32768 };
    const flake_layout *const l = &flake_gen_options(pair)->layout;
    flake_parts parts[2] = {{0, 0, 2 * half}, {0, 0, 0}};
    for (unsigned ms = 0; ms < 20000 && parts[0].seq - parts[1].seq + half >= 2 * half; ms++) {
        script_now.now_ns += MS;
        for (unsigned k = 0; k < 2; k++) {
            CHECK_EQ(flake128_next(&pair[k], &thousands[k * half]), FLAKE_OK);
            CHECK_EQ(flake128_decompose(l, &thousands[k * half], &parts[k]), FLAKE_OK);
        }
    }
    for (unsigned k = 0; k < 2; k++)
        CHECK_EQ(flake128_next_n(&pair[k], &thousands[k * half + 1], half - 1), FLAKE_OK);
    return count_duplicates(thousands, 2 * half);
}

TEST(ranges_of_counters_that_start_anywhere_are_refused_as_they_would_repeat_ids) {
    const flake_layout counting[] = {FLAKE_LAYOUT_UUID8, FLAKE_LAYOUT_UUID7_NODE,
                                     FLAKE_LAYOUT_UUID7, FLAKE_LAYOUT_ULID};
    static flake_gen pair[2];
    for (unsigned i = 0; i < 8; i++) {
        flake_options o = begin();
        flake_status status[2];
        o.layout = counting[i / 2];
        const flake_node node = node_in(&o.layout, 0);
        if (i % 2) status[0] = status[1] = flake_init_shards(pair, 2, node, &o, &why);
        for (unsigned k = 0; k < 2 && i % 2 == 0; k++) {
            o.seq_min = k ? 32768 : 0;
            o.seq_max = k ? 65535 : 32767;
            status[k] = flake_init(&pair[k], node, &o, &why);
        }
        if (status[0] == FLAKE_OK && status[1] == FLAKE_OK) CHECK_EQ(count_repeated(pair), 0);
        CHECK(status[0] == FLAKE_INVALID && status[1] == FLAKE_INVALID);
        CHECK(strstr(why.text, i % 2 ? "layout has counters" : "seq_min and seq_max") != NULL);
    }
}

/* ---- a generator that was copied ---- */

/* A copy's calls with a `why` give the reason. */
static void check_reasons_of_a_copy(flake_gen *g) {
    const flake_options none = {0};
    CHECK_EQ(flake_prefetch_init(&stock, g, 2, 0, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "generator: was copied") != NULL);
    CHECK_EQ(flake_reinit_after_fork(g, flake_node_fixed(NULL, 0), &none, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "generator: was copied") != NULL);
}
/* Of all kinds and clocks: in the unit of the copy, and in each later one, whatever the clock does. */
TEST(a_copy_of_a_generator_stops_when_its_unit_ends) {
    for (unsigned i = 0; i < KINDS * 3; i++) {
        flake_options o = kind_at(i % KINDS);
        o.clock.kind = (int)(i / KINDS);
        CHECK_EQ(flake_init(&gen, node_in(&o.layout, 0), &o, NULL), FLAKE_OK);
        CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
        memcpy((void *)&other, (const void *)&gen, sizeof gen);
        check_answers_nothing(&other);
        check_reasons_of_a_copy(&other);
        script_now.now_ns += 20 * MS; /* more than a coarse clock lags */
        check_no_id(&other, FLAKE_INVALID);
        script_now.now_ns -= 20 * MS;
        if (!o.lanes) check_no_id(&other, FLAKE_INVALID);
        script_now.now_ns += 20 * MS;
        CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
        script_now.now_ns += MS;
        CHECK_EQ(flake_next_n(&gen, ids, 4), FLAKE_OK);
        /* Its memory serves another one. */
        CHECK_EQ(flake_init(&other, node_in(&o.layout, 0), &o, NULL), FLAKE_OK);
        CHECK_EQ(flake_next(&other, &id), FLAKE_OK);
    }
    for (unsigned i = 0; i < 9; i++) {
        const flake_layout layouts[] = {flake_layout_boundary, flake_layout_uuid7,
                                        flake_layout_ulid};
        flake_options o = kind_at(i % 3);
        o.layout = layouts[i / 3];
        CHECK_EQ(flake_init(&gen, node_in(&o.layout, 0), &o, NULL), FLAKE_OK);
        CHECK_EQ(flake128_next(&gen, &id128), FLAKE_OK);
        memcpy((void *)&other, (const void *)&gen, sizeof gen);
        script_now.now_ns += MS;
        check_no_id128(&other, FLAKE_INVALID);
        script_now.now_ns -= MS;
        if (!o.lanes) check_no_id128(&other, FLAKE_INVALID);
        script_now.now_ns += MS;
        CHECK_EQ(flake128_next(&gen, &id128), FLAKE_OK);
    }
}

/* The coarse clock lags by 5 ms: a copy draws as the original does until that clock has left the unit. */
TEST(a_copy_with_the_coarse_clock_stops_after_its_unit_and_the_lag) {
    flake_options o = begin();
    uint64_t copied = 0;
    o.clock.kind = FLAKE_CLOCK_COARSE;
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 1), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    memcpy((void *)&other, (const void *)&gen, sizeof gen);
    for (int half_ms = 0; half_ms < 12; half_ms++, script_now.now_ns += MS / 2) {
        CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
        CHECK_EQ(flake_try(&other, &copied), FLAKE_OK);
        CHECK_EQ(copied, id);
    }
    check_no_id(&other, FLAKE_INVALID);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
}

TEST(a_copy_of_a_sno_generator_stops_when_its_unit_ends) {
    static sno_gen copy;
    for (unsigned i = 0; i < 3; i++) {
        flake_options o = kind_at(i);
        CHECK_EQ(sno_init(&sno, flake_node_none(), NULL, &o, NULL), FLAKE_OK);
        CHECK_EQ(sno_next(&sno, 1, &sno_one), FLAKE_OK);
        memcpy((void *)&copy, (const void *)&sno, sizeof sno);
        check_answers_nothing(&copy.gen);
        check_no_sno_gen(&copy);
        script_now.now_ns += 4 * MS;
        check_no_sno(&copy, FLAKE_INVALID);
        CHECK_EQ(sno_next(&sno, 1, &sno_one), FLAKE_OK);
    }
}

/* A copy with lanes has the lanes of the original, and so repeats nothing. */
TEST(a_copy_with_lanes_repeats_nothing) {
    flake_options o = kind_at(2);
    CHECK_EQ(flake_init(&gen, node_in(&o.layout, 0), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &ids[0]), FLAKE_OK);
    memcpy((void *)&other, (const void *)&gen, sizeof gen);
    CHECK_EQ(flake_next(&other, &ids[1]), FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &ids[2]), FLAKE_OK);
    CHECK_EQ(flake_next(&other, &ids[3]), FLAKE_OK);
    CHECK_EQ(count_duplicates(ids, 4), 0);
}

TEST(a_copy_of_a_stock_is_refused) {
    flake_prefetch copy;
    flake_options o = begin();
    CHECK_EQ(flake_init(&gen, node_in(&o.layout, 0), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_prefetch_init(&stock, &gen, 4, 0, NULL), FLAKE_OK);
    CHECK_EQ(flake_prefetch_next(&stock, &id), FLAKE_OK);
    memcpy((void *)&copy, (const void *)&stock, sizeof stock);
    FAILS(flake_prefetch_next(&copy, &id), FLAKE_INVALID, id);
    CHECK_EQ(flake_prefetch_next(&stock, &id), FLAKE_OK);
    memset((void *)&copy, 0, sizeof copy);
    FAILS(flake_prefetch_next(&copy, &id), FLAKE_INVALID, id);
}

/* Also in the unit of the close, in which a draw may succeed. */
TEST(a_stock_ends_with_its_generator) {
    for (int had_stock = 0; had_stock < 2; had_stock++) {
        flake_options o = begin();
        CHECK_EQ(flake_init(&gen, node_in(&o.layout, 0), &o, NULL), FLAKE_OK);
        CHECK_EQ(flake_prefetch_init(&stock, &gen, 4, 0, NULL), FLAKE_OK);
        CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
        if (had_stock) CHECK_EQ(flake_prefetch_next(&stock, &id), FLAKE_OK);
        CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
        FAILS(flake_prefetch_next(&stock, &id), FLAKE_CLOSED, id);
    }
}

static void close_once(void) { CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK); }

TEST(a_stock_that_is_drawn_beside_a_close_ends_with_it) {
    flake_options o = begin();
    CHECK_EQ(flake_init(&gen, node_in(&o.layout, 0), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_prefetch_init(&stock, &gen, 4, 0, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    during_reading = close_once;
    CHECK_EQ(flake_prefetch_next(&stock, &id), FLAKE_OK);
    CHECK(!during_reading);
    FAILS(flake_prefetch_next(&stock, &id), FLAKE_CLOSED, id);
}

/* A stock is a unit and indices. Another generator in the same memory would form other IDs of them, or repeat IDs. */
TEST(a_stock_is_dropped_by_whatever_changes_its_ids) {
    for (int change = 0; change <= 10; change++) {
        flake_stats stats;
        flake_options o = begin();
        o.layout = flake_layout_of(41, 5, 12, 0);
        CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 0), &o, NULL), FLAKE_OK);
        CHECK_EQ(flake_prefetch_init(&stock, &gen, 4, 0, NULL), FLAKE_OK);
        CHECK_EQ(flake_prefetch_next(&stock, &id), FLAKE_OK);
        o.layout.epoch_ms = change == 1;
        if (change == 2) o.layout.unit_ms = 2;
        o.layout.time_reversed = change == 3;
        if (change == 4) o.layout.time_shift++;
        if (change == 5) o.layout.time_bits++;
        if (change == 6) o.layout.node_shift = 0, o.layout.seq_shift = 5;
        if (change == 7) o.seq_max = 4094;
        if (change == 8) o.seq_min = 1, o.seq_max = 4095;
        o.seq_scatter = change == 9;
        CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, change == 10), &o, NULL), FLAKE_OK);
        CHECK_EQ(flake_prefetch_next(&stock, &id), FLAKE_OK);
        flake_stats_get(&gen, &stats);
        CHECK_EQ(stats.ids, change ? 4 : 0);
    }
}

/* The same numbers in another order: what is left of the old stock would be formed with the new one. */
TEST(a_stock_is_dropped_when_units_are_scattered) {
    for (int64_t t = 0; t < 16; t++) {
        uint64_t taken[10];
        flake_options o = begin();
        o.layout = flake_layout_of(41, 5, 4, 0);
        const flake_node node = flake_node_fixed(NULL, (uint64_t)t);
        o.max_wait_ms = 1;
        script_now.now_ns += t * 2 * MS;
        CHECK_EQ(flake_init(&gen, node, &o, NULL), FLAKE_OK);
        CHECK_EQ(flake_prefetch_init(&stock, &gen, 10, 0, NULL), FLAKE_OK);
        for (int i = 0; i < 4; i++) CHECK_EQ(flake_prefetch_next(&stock, &taken[i]), FLAKE_OK);
        o.seq_scatter = true;
        o.after_unix_ms = script_now.now_ns / MS;
        CHECK_EQ(flake_init(&gen, node, &o, NULL), FLAKE_OK);
        script_now.now_ns += MS;
        for (int i = 4; i < 10; i++) CHECK_EQ(flake_prefetch_next(&stock, &taken[i]), FLAKE_OK);
        CHECK_EQ(count_duplicates(taken, 10), 0);
    }
}

/* Processes may have one generator at several addresses. */
TEST(in_shared_memory_addresses_may_differ) {
    static struct {
        flake_gen gen;
        flake_lane lanes[2];
    } first, second;
    for (unsigned i = 0; i < 2; i++) {
        flake_options o = begin();
        if (!words_reach_other_processes) return;
        o.shared_memory = true;
        if (i == 1) o.lanes = first.lanes;
        o.lane_count = i == 1 ? 2 : 0;
        CHECK_EQ(flake_init(&first.gen, flake_node_fixed(NULL, 0), &o, NULL), FLAKE_OK);
        CHECK_EQ(flake_next(&first.gen, &id), FLAKE_OK);
        memcpy((void *)&second, (const void *)&first, sizeof first);
        memset((void *)&first, 0, sizeof first);
        script_now.now_ns += MS;
        CHECK_EQ(flake_next(&second.gen, &id), FLAKE_OK);
        CHECK(flake_available(&second.gen) > 0 && is_zero(&first, sizeof first));
        CHECK(flake_gen_options(&second.gen) != NULL);
    }
}

/* ---- a time from the future ---- */

/* The last time that is accepted while the clock reads T. The next one is refused, and changes nothing. */
static void check_furthest(flake_gen *g, int64_t furthest_ms) {
    const bool is_128 = flake_gen_options(g)->layout.format != 0;
    const uint64_t before = place_of(g);
    gate_asked = 0;
    if (is_128) FAILS(flake128_try_at(g, furthest_ms + 1, &id128), FLAKE_TOO_FAR_AHEAD, id128);
    else {
        FAILS(flake_try_at(g, furthest_ms + 1, &id), FLAKE_TOO_FAR_AHEAD, id);
        FAILS(flake_try_at(g, furthest_ms + 3600000, &id), FLAKE_TOO_FAR_AHEAD, id);
    }
    CHECK_EQ(gate_asked, 0);
    CHECK_EQ(place_of(g), before);
    CHECK_EQ(is_128 ? flake128_next(g, &id128) : flake_next(g, &id), FLAKE_OK);
    CHECK_EQ(is_128 ? flake128_try_at(g, furthest_ms, &id128) : flake_try_at(g, furthest_ms, &id),
             FLAKE_OK);
    CHECK_EQ(flake_newest_ms(g), furthest_ms);
}

TEST(a_time_given_is_ahead_by_a_unit_at_most) {
    const flake_layout layouts[] = {flake_layout_default, flake_layout_mastodon,
                                    flake_layout_boundary, flake_layout_uuid7,
                                    flake_layout_uuid7_node};
    for (unsigned i = 0; i < 5 * KINDS; i++) {
        flake_options o = kind_at(i % KINDS);
        o.layout = layouts[i / KINDS];
        if (o.lanes || (o.layout.format && o.seq_scatter)) continue;
        CHECK_EQ(flake_init(&gen, node_in(&o.layout, 0), &o, NULL), FLAKE_OK);
        check_furthest(&gen, T + 1);
        (void)begin();
        o.max_ahead_ms = 10;
        CHECK_EQ(flake_init(&gen, node_in(&o.layout, 0), &o, NULL), FLAKE_OK);
        check_furthest(&gen, T + 11);
        (void)begin();
        o.clock.kind = FLAKE_CLOCK_COARSE; /* the exact clock counts */
        const bool is_gated = o.layout.node_bits != 0;
        const flake_node node = is_gated ? flake_node_gated(&open_gate, 0) : flake_node_none();
        CHECK_EQ(flake_init(&gen, node, &o, NULL), FLAKE_OK);
        check_furthest(&gen, T + 11);
        CHECK_EQ(gate_asked > 0, is_gated);
    }
    flake_options o = begin();
    o.layout = flake_layout_sonyflake;
    o.max_ahead_ms = 15; /* a unit of 10 ms */
    CHECK_EQ(flake_init(&gen, node_in(&o.layout, 0), &o, NULL), FLAKE_OK);
    check_furthest(&gen, T + 20);
    o = begin();
    CHECK_EQ(flake_init(&gen, node_in(&o.layout, 0), &o, NULL), FLAKE_OK);
    script_now.now_ns--; /* a ns too early */
    FAILS(flake_try_at(&gen, T + 1, &id), FLAKE_TOO_FAR_AHEAD, id);
    CHECK_EQ(flake_try_at(&gen, T, &id), FLAKE_OK);
    o = begin();
    CHECK_EQ(sno_init(&sno, flake_node_none(), NULL, &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_next(&sno, 1, &sno_one), FLAKE_OK);
    FAILS(sno_try_at(&sno, 1, T + 5, &sno_one), FLAKE_TOO_FAR_AHEAD, sno_one);
    CHECK_EQ(sno_next(&sno, 1, &sno_one), FLAKE_OK);
    CHECK_EQ(sno_time_ms(sno_one), T);
    CHECK_EQ(sno_try_at(&sno, 1, T + 4, &sno_one), FLAKE_OK);
    CHECK_EQ(sno_time_ms(sno_one), T + 4);
}

/* ---- draws after a close ---- */

/* Of each kind and layout, from the next unit on; queries answer, and the memory serves the next init. */
TEST(a_closed_generator_draws_nothing) {
    const flake_layout layouts[] = {flake_layout_default, flake_layout_mastodon,
                                    flake_layout_boundary, flake_layout_uuid7, flake_layout_uuid8,
                                    flake_layout_ulid};
    for (unsigned i = 0; i < 6 * KINDS; i++) {
        const flake_layout *const l = &layouts[i / KINDS];
        if (l->format && i % KINDS >= 3) continue; /* 128 bits are not scattered */
        flake_options o = kind_at(i % KINDS);
        flake_stats stats;
        o.layout = *l;
        for (int turn = 0; turn < 2; turn++) {
            CHECK_EQ(flake_init(&gen, node_in(l, 5), &o, NULL), FLAKE_OK);
            CHECK_EQ(l->format ? flake128_next(&gen, &id128) : flake_next(&gen, &id), FLAKE_OK);
            const int64_t newest_ms = flake_newest_ms(&gen);
            CHECK_EQ(flake_close(&gen, &why), FLAKE_OK);
            CHECK_EQ(flake_available(&gen), 0);
            script_now.now_ns += MS;
            if (l->format) {
                check_no_id128(&gen, FLAKE_CLOSED);
                if (!o.lanes)
                    FAILS(flake128_try_at(&gen, script_now.now_ns / MS, &id128), FLAKE_CLOSED, id128);
            } else {
                check_no_id(&gen, FLAKE_CLOSED);
                if (!o.lanes)
                    FAILS(flake_try_at(&gen, script_now.now_ns / MS, &id), FLAKE_CLOSED, id);
            }
            CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
            CHECK_EQ(flake_available(&gen), 0);
            CHECK_EQ(flake_newest_ms(&gen), newest_ms);
            CHECK_EQ(flake_ahead_ms(&gen), 0);
            CHECK_EQ(flake_gen_node(&gen), l->node_bits ? 5 : UINT64_MAX);
            CHECK(flake_gen_options(&gen) != NULL);
            flake_stats_get(&gen, &stats);
            CHECK_EQ(stats.ids, 1);
            CHECK_EQ(flake_extend(&gen, &why), FLAKE_CLOSED);
            CHECK_STR(why.text, "generator: is closed");
            CHECK_EQ(flake_close(&gen, &why), FLAKE_OK);
        }
    }
}

/* ---- files ---- */

#ifdef HAS_FILES
TEST(a_reason_names_the_file_of_the_number) {
    char text[250];
    const flake_options o = begin();
    begin_folder();
    const flake_node node = flake_node_fixed(folder, 7);
    CHECK_EQ(flake_init(&gen, node, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_init(&other, node, &o, &why), FLAKE_IN_USE);
    (void)snprintf(text, sizeof text, "%s/7.slot: is in use, by this process or another", folder);
    CHECK_STR(why.text, text);
    check_invalid(&other);
    CHECK_EQ(flake_init(&other, flake_node_any(folder, 7, 7), &o, &why), FLAKE_IN_USE);
    CHECK_STR(why.text, text);
    check_invalid(&other);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
    const flake_node absent = flake_node_fixed(in_folder("none/ids"), 0);
    CHECK_EQ(flake_init(&gen, absent, &o, &why), FLAKE_IO);
    CHECK(strstr(why.text, "/none/ids: cannot be created: No such file") != NULL);
    check_invalid(&gen);
    CHECK_EQ(sno_init(&sno, absent, NULL, &o, &why), FLAKE_IO);
    CHECK(strstr(why.text, "/none/ids: cannot be created: No such file") != NULL);
    check_sno_invalid(&sno);
    end_folder();
}

/* A copy is refused by each call that would act on the number: only the original has it. */
TEST(closing_a_copy_leaves_the_number_alone) {
    static flake_gen original, copy, third;
    static sno_gen sno_original, sno_copy;
    static const char reason[] = "generator: is a copy: only the original has the number";
    const flake_options o = begin();
    begin_folder();
    const flake_node node = flake_node_fixed(folder, 7), partition = flake_node_fixed(folder, 8);
    CHECK_EQ(flake_init(&original, node, &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&sno_original, partition, NULL, &o, NULL), FLAKE_OK);
    memcpy((void *)&copy, (const void *)&original, sizeof copy);
    memcpy((void *)&sno_copy, (const void *)&sno_original, sizeof sno_copy);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(flake_close(&copy, &why), FLAKE_INVALID);
        CHECK_STR(why.text, reason);
        CHECK_EQ(flake_extend(&copy, &why), FLAKE_INVALID);
        CHECK_STR(why.text, reason);
        CHECK_EQ(flake_close(&sno_copy.gen, &why), FLAKE_INVALID);
        CHECK_EQ(flake_init(&third, node, &o, &why), FLAKE_IN_USE);
        CHECK_EQ(flake_init(&third, partition, &o, &why), FLAKE_IN_USE);
        CHECK_EQ(flake_next(&original, &id), FLAKE_OK);
        CHECK_EQ(flake_extend(&original, NULL), FLAKE_OK);
    }
    CHECK_EQ(flake_close(&original, NULL), FLAKE_OK);
    CHECK_EQ(flake_close(&sno_original.gen, NULL), FLAKE_OK);
    CHECK_EQ(flake_close(&copy, &why), FLAKE_INVALID); /* it may belong to the next one by now */
    CHECK_EQ(flake_init(&third, node, &o, &why), FLAKE_OK);
    CHECK_EQ(flake_close(&copy, &why), FLAKE_INVALID);
    CHECK_EQ(flake_init(&original, node, &o, &why), FLAKE_IN_USE);
    CHECK_EQ(flake_close(&third, NULL), FLAKE_OK);
    end_folder();
}

/* Without a close the number stays in use, in whichever memory the next generator is. */
TEST(an_init_without_a_close_says_that_the_number_is_in_use) {
    const flake_options o = begin();
    begin_folder();
    const flake_node node = flake_node_fixed(folder, 7);
    CHECK_EQ(flake_init(&gen, node, &o, NULL), FLAKE_OK);
    const int fd = gen.claim.file.fd;
    CHECK_EQ(flake_init(&gen, node, &o, &why), FLAKE_IN_USE);
    CHECK(strstr(why.text, "7.slot: is in use") != NULL);
    check_invalid(&gen);
    CHECK_EQ(close(fd), 0); /* as at the end of the process */
    CHECK_EQ(flake_init(&gen, node, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
    end_folder();
}

/* Zeroed, after each failed init, and again and again: it has nothing to free, and frees nothing of others. */
TEST(a_close_too_many_is_harmless) {
    flake_options o = begin();
    begin_folder();
    const flake_node node = flake_node_fixed(folder, 7);
    for (int i = 0; i < 2; i++) CHECK_EQ(flake_close(&other, &why), FLAKE_OK);
    o.max_wait_ms = -1; /* before the number is claimed */
    CHECK_EQ(flake_init(&other, node, &o, &why), FLAKE_INVALID);
    o = begin();
    CHECK_EQ(flake_init(&gen, node, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_init(&other, node, &o, &why), FLAKE_IN_USE);
    for (int i = 0; i < 2; i++) CHECK_EQ(flake_close(&other, &why), FLAKE_OK);
    CHECK_EQ(flake_init(&other, node, &o, &why), FLAKE_IN_USE);
    CHECK_EQ(flake_close(&gen, &why), FLAKE_OK);
    CHECK_EQ(flake_init(&other, node, &o, &why), FLAKE_OK);
    for (int i = 0; i < 2; i++) CHECK_EQ(flake_close(&gen, &why), FLAKE_OK); /* its descriptor is another's */
    CHECK_EQ(flake_init(&sno.gen, node, &o, &why), FLAKE_IN_USE);
    CHECK_EQ(flake_next(&other, &id), FLAKE_OK);
    CHECK_EQ(flake_close(&other, &why), FLAKE_OK);
    end_folder();
}

/* Generators of every kind with manual_extend. */

static void extend(void) {
    if (script_now.sleeps >= 3) CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK);
}

static void begin_in_folder(unsigned kind, const flake_layout *layout) {
    flake_options o = kind_at(kind);
    begin_folder();
    o.layout = *layout;
    o.manual_extend = true;
    o.horizon_ms = 200;
    o.max_wait_ms = 50;
    CHECK_EQ(flake_init(&gen, flake_node_fixed(folder, 0), &o, &why), FLAKE_OK);
}

static void close_gen(void) {
    during_sleep = NULL;
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
    end_folder();
}

/* The horizon has passed; then it is extended during a wait. */
static void check_not_extended(flake_gen *g) {
    const bool is_128 = flake_gen_options(g)->layout.format != 0;
    script_now.now_ns += 500 * MS;
    for (int i = 0; i < 2; i++) { /* a generator that continues asks for its unit, too */
        if (is_128) FAILS(flake128_try(g, &id128), FLAKE_NOT_EXTENDED, id128);
        else FAILS(flake_try(g, &id), FLAKE_NOT_EXTENDED, id);
    }
    CHECK_EQ(flake_retry_ns(g), MS);
    CHECK_EQ(flake_available(g), 0);
    CHECK_EQ(script_now.sleeps, 0);
    if (is_128) FAILS(flake128_next(g, &id128), FLAKE_NOT_EXTENDED, id128);
    else FAILS(flake_next(g, &id), FLAKE_NOT_EXTENDED, id);
    CHECK_EQ(script_now.slept_ns, 50 * MS); /* max_wait_ms */
    script_now.sleeps = 0;
    during_sleep = extend;
    CHECK_EQ(is_128 ? flake128_next(g, &id128) : flake_next(g, &id), FLAKE_OK);
    CHECK_EQ(script_now.sleeps, 3);
    CHECK_EQ(flake_retry_ns(g), 0);
    CHECK(flake_available(g) > 0);
}

TEST(a_horizon_that_was_not_extended_in_time) {
    const flake_layout layouts[] = {flake_layout_default, flake_layout_boundary,
                                    flake_layout_uuid8};
    for (unsigned i = 0; i < 3 * KINDS; i++) {
        if (i >= KINDS && i % KINDS >= 3) continue; /* 128 bits are not scattered */
        begin_in_folder(i % KINDS, &layouts[i / KINDS]);
        check_not_extended(&gen);
        close_gen();
    }
}

/* UUIDs that continue in the newest unit after a backward step. */
TEST(a_horizon_that_was_not_extended_while_uuids_continue) {
    begin_in_folder(0, &flake_layout_uuid8);
    script_now.now_ns += 198 * MS;
    CHECK_EQ(flake128_next(&gen, &id128), FLAKE_OK);
    script_now.now_ns -= 100 * MS;
    CHECK_EQ(flake128_next_n(&gen, thousands, 65535), FLAKE_OK); /* the rest of the unit */
    CHECK_EQ(flake_retry_ns(&gen), 0);
    CHECK(flake_available(&gen) > 0);
    CHECK_EQ(flake128_next_n(&gen, thousands, 65536),
             FLAKE_OK);            /* the last unit before the horizon */
    script_now.now_ns -= 500 * MS; /* so that each wait leaves the clock behind */
    CHECK_EQ(flake_retry_ns(&gen), MS);
    CHECK_EQ(flake_available(&gen), 0);
    FAILS(flake128_try(&gen, &id128), FLAKE_NOT_EXTENDED, id128);
    FAILS(flake128_next(&gen, &id128), FLAKE_NOT_EXTENDED, id128);
    CHECK_EQ(script_now.slept_ns, 50 * MS);
    script_now.sleeps = 0;
    script_now.now_ns += 500 * MS;
    during_sleep = extend;
    CHECK_EQ(flake128_next(&gen, &id128), FLAKE_OK);
    close_gen();
}

#endif

int main(int argc, char **argv) { return check_main(argc, argv); }
