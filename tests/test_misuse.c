/* SPDX-License-Identifier: MIT
 *
 * Mistakes of a program: it goes on after a failed init, copies a generator, ignores a status, passes a time
 * from the future, or forgets to extend its state. It gets a status, a reason or a compiler warning.
 */
#define _GNU_SOURCE
#include "support.h"
#if !defined(_WIN32) && !defined(FLAKE_NO_FILES)
#define HAS_FILES
#include <unistd.h>
#endif

static bool no_random_bytes;
#define FLAKE_RANDOM_BYTES(to, n) (!no_random_bytes && flake_i_system_random(to, n))
#define FLAKE_CLOCK_NS(kind) ((void)(kind), script_now.now_ns)
#define FLAKE_CLOCK_SLACK_NS UINT64_C(0)
#define FLAKE_COUNTER()      UINT64_C(0)
#include "sno.h"

#define MS INT64_C(1000000)       /* in ns */
#define T  INT64_C(1760000000000) /* Unix ms: where the scripts begin */

static flake_why why;
static flake_gen gen, other;
static flake_lane lanes[2];
static sno_gen sno;
static uint64_t id, ids[4];
static flake128 id128, ids128[4];
static sno_id sno_one, snos[4];
static size_t got;

static flake_options begin(void) {
    flake_options o;
    script_at_ms(T);
    memset(&o, 0, sizeof o);
    memset(&why, 0, sizeof why);
    memset(&gen, 0, sizeof gen);
    memset(&other, 0, sizeof other);
    memset(&sno, 0, sizeof sno);
    return o;
}

static flake_status admit_all(void *user, int64_t until_ns) {
    (void)user;
    (void)until_ns;
    return FLAKE_OK;
}

static bool is_zero(const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (((const uint8_t *)bytes)[i]) return false;
    return true;
}

/* ---- an init that failed ---- */

static void check_invalid(flake_gen *g) {
    const flake_options none = {0};
    flake_snapshot position;
    flake_prefetch stock;
    flake_stats stats;
    memset(&position, 0, sizeof position);
    memset(&stats, 0xff, sizeof stats);
    CHECK_EQ(flake_next(g, &id), FLAKE_INVALID);
    CHECK_EQ(flake_try(g, &id), FLAKE_INVALID);
    CHECK_EQ(flake_next_n(g, ids, 4), FLAKE_INVALID);
    CHECK_EQ(flake_try_n(g, ids, 4, &got), FLAKE_INVALID);
    CHECK_EQ(got, 0);
    CHECK_EQ(flake_try_at(g, T, &id), FLAKE_INVALID);
    CHECK_EQ(flake128_next(g, &id128), FLAKE_INVALID);
    CHECK_EQ(flake128_try(g, &id128), FLAKE_INVALID);
    CHECK_EQ(flake128_next_n(g, ids128, 4), FLAKE_INVALID);
    CHECK_EQ(flake128_try_n(g, ids128, 4, &got), FLAKE_INVALID);
    CHECK_EQ(flake128_try_at(g, T, &id128), FLAKE_INVALID);
    CHECK_EQ(flake_prefetch_init(&stock, g, 2, 0, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_prefetch_next(&stock, &id), FLAKE_INVALID);
    CHECK_EQ(flake_snapshot_take(g, &position), FLAKE_INVALID);
    CHECK_EQ(flake_restore(g, &position, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_reinit_after_fork(g, &none, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_retry_ns(g), INT64_MAX);
    CHECK_EQ(flake_available(g), 0);
    CHECK_EQ(flake_ahead_ms(g), 0);
    CHECK(flake_gen_options(g) == NULL);
    flake_stats_get(g, &stats);
    CHECK(is_zero(&stats, sizeof stats));
    flake_release(g);
}

static void check_sno_invalid(sno_gen *g) {
    const flake_options none = {0};
    sno_snapshot position;
    check_invalid(&g->gen);
    CHECK_EQ(sno_next(g, 1, &sno_one), FLAKE_INVALID);
    CHECK_EQ(sno_try(g, 1, &sno_one), FLAKE_INVALID);
    CHECK_EQ(sno_next_n(g, 1, snos, 4), FLAKE_INVALID);
    CHECK_EQ(sno_try_n(g, 1, snos, 4, &got), FLAKE_INVALID);
    CHECK_EQ(got, 0);
    CHECK_EQ(sno_try_at(g, 1, T, &sno_one), FLAKE_INVALID);
    CHECK_EQ(sno_with_time(g, 1, T, &sno_one), FLAKE_INVALID);
    CHECK_EQ(sno_snapshot_take(g, &position), FLAKE_INVALID);
    CHECK_EQ(sno_shards_snapshot(g, 1, &position), FLAKE_INVALID);
    CHECK_EQ(sno_reinit_after_fork(g, NULL, &none, NULL), FLAKE_INVALID);
    CHECK_EQ(sno_cap(g), 0);
    CHECK_EQ(sno_len(g), 0);
    CHECK_EQ(sno_sequence_now(g), 0);
    CHECK_EQ(sno_gen_partition(g), 0);
}

/* Each kind of failure, with a reason in words. */
static void fail_each_way(flake_gen *g) {
    static flake_i_atomic64 closed; /* the word of a gate that is closed */
    flake_options o = begin();
    o.node = 1024;
    CHECK_EQ(flake_init(g, &o, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "node exceeds") != NULL);
    check_invalid(g);
    o.node = 1000;
    o.node_offset = 24;
    CHECK_EQ(flake_init(g, &o, &why), FLAKE_NODE_RANGE);
    CHECK(strstr(why.text, "node_offset") != NULL);
    check_invalid(g);
    o = begin();
    o.max_wait_ms = -1;
    CHECK_EQ(flake_init(g, &o, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "max_wait_ms") != NULL);
    check_invalid(g);
    o = begin();
    o.gate.admit = admit_all;
    o.gate.fence = &closed;
    CHECK_EQ(flake_init(g, &o, &why), FLAKE_LEASE_LOST);
    CHECK(strstr(why.text, "gate") != NULL);
    check_invalid(g);
    o = begin();
    o.layout = flake_layout_uuid7;
    no_random_bytes = true;
    CHECK_EQ(flake_init(g, &o, &why), FLAKE_IO);
    no_random_bytes = false;
    CHECK(strstr(why.text, "random bytes") != NULL);
    check_invalid(g);
    o = begin();
    CHECK_EQ(flake_init_shards(g, 0, &o, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "n: ") != NULL);
    o.layout = flake_layout_ulid;
    CHECK_EQ(flake_init_shards(g, 1, &o, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "layout") != NULL);
    check_invalid(g);
}

static void fail_each_way_sno(sno_gen *g) {
    sno_snapshot pool;
    flake_options o = begin();
    memset(&pool, 0, sizeof pool);
    o.node = 1;
    CHECK_EQ(sno_init(g, NULL, &o, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "node") != NULL);
    check_sno_invalid(g);
    o.node = 0;
    pool.sequence_max = 2;
    CHECK_EQ(sno_init(g, &pool, &o, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "fewer than 4 numbers") != NULL);
    check_sno_invalid(g);
    pool.sequence_max = 0;
    CHECK_EQ(sno_init_shards(g, 0, &pool, &o, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "n: ") != NULL);
    o.lanes = lanes;
    o.lane_count = 2;
    CHECK_EQ(sno_init_shards(g, 1, &pool, &o, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "lanes") != NULL);
    check_sno_invalid(g);
}

/* Whatever the memory contained: another program's bytes, or a generator of any kind. */
static void an_init_that_failed_leaves_no_generator(void) {
    static const uint8_t bytes[] = {0x00, 0x01, 0x02, 0x03, 0x5e, 0xff};
    const flake_layout *const layouts[] = {&flake_layout_default, &flake_layout_boundary,
                                           &flake_layout_uuid7};
    flake_gen *const memory = (flake_gen *)exactly(sizeof(flake_gen));
    for (size_t i = 0; i < sizeof bytes; i++) {
        memset((void *)memory, bytes[i], sizeof *memory);
        fail_each_way(memory);
    }
    for (size_t i = 0; i < 9; i++) {
        flake_options o = begin();
        o.layout = *layouts[i % 3];
        o.single_thread = i / 3 == 1;
        if (i / 3 == 2) o.lanes = lanes;
        o.lane_count = i / 3 == 2 ? 2 : 0;
        CHECK_EQ(flake_init(memory, &o, NULL), FLAKE_OK);
        fail_each_way(memory);
    }
    free(memory);
}

static void an_init_that_failed_leaves_no_sno_generator(void) {
    static const uint8_t bytes[] = {0x00, 0x09, 0x0a, 0x0b, 0x5e, 0xff};
    sno_gen *const memory = (sno_gen *)exactly(sizeof(sno_gen));
    for (size_t i = 0; i < sizeof bytes; i++) {
        memset((void *)memory, bytes[i], sizeof *memory);
        fail_each_way_sno(memory);
    }
    CHECK_EQ(sno_init(memory, NULL, NULL, NULL), FLAKE_OK);
    fail_each_way_sno(memory);
    free(memory);
}

static void a_restore_that_failed_changes_nothing(void) {
    flake_snapshot before, after, wrong;
    flake_options o = begin();
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(flake_snapshot_take(&gen, &before), FLAKE_OK);
    wrong = before;
    wrong.node = 8;
    wrong.count = 100;
    CHECK_EQ(flake_restore(&gen, &wrong, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "snapshot") != NULL);
    wrong = before;
    wrong.unix_ms = INT64_MAX;
    CHECK_EQ(flake_restore(&gen, &wrong, &why), FLAKE_TIME_RANGE);
    CHECK_EQ(flake_snapshot_take(&gen, &after), FLAKE_OK);
    CHECK_EQ(after.unix_ms, before.unix_ms);
    CHECK_EQ(after.count, before.count);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
}

/* A child, or a process after flake_machine_cloned, that was refused. */
static void a_reinit_that_failed_leaves_the_generator_forked(void) {
    flake_options o = begin();
    sno_snapshot pool;
    memset(&pool, 0, sizeof pool);
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&sno, &pool, NULL, NULL), FLAKE_OK);
    flake_machine_cloned();
    CHECK_EQ(flake_reinit_after_fork(&gen, &o, &why), FLAKE_NODE_OVERLAP);
    CHECK(strstr(why.text, "parent") != NULL);
    o.node = 1024;
    CHECK_EQ(flake_reinit_after_fork(&gen, &o, &why), FLAKE_INVALID);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_FORKED);
    CHECK(flake_gen_options(&gen) != NULL);
    o.node = 8;
    CHECK_EQ(flake_reinit_after_fork(&gen, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(sno_reinit_after_fork(&sno, &pool, NULL, &why), FLAKE_NODE_OVERLAP);
    CHECK_EQ(sno_next(&sno, 1, &sno_one), FLAKE_FORKED);
    pool.partition = 1;
    CHECK_EQ(sno_reinit_after_fork(&sno, &pool, NULL, NULL), FLAKE_OK);
    CHECK_EQ(sno_next(&sno, 1, &sno_one), FLAKE_OK);
}

/* ---- files ---- */

#ifdef HAS_FILES
static char folder[200];

static const char *path_of(const char *name) {
    static char paths[4][256];
    static unsigned next;
    char *const path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void begin_folder(void) {
    CHECK(snprintf(folder, sizeof folder, "%s/misuse-XXXXXX",
                   getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp") < (int)sizeof folder);
    CHECK(mkdtemp(folder) != NULL);
}

static void end_folder(void) {
    char command[256];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CHECK_EQ(system(command), 0);
}

static void a_reason_names_directory_node_and_numbers(void) {
    char text[300];
    flake_options o = begin();
    sno_snapshot pool;
    memset(&pool, 0, sizeof pool);
    begin_folder();
    o.node = 7;
    o.exclusive_dir = folder;
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_init(&other, &o, &why), FLAKE_IN_USE);
    (void)snprintf(text, sizeof text, "exclusive_dir %s: node 7, sequence 0 to 4095 is in use", folder);
    CHECK(strstr(why.text, text) == why.text);
    check_invalid(&other);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    flake_release(&gen);
    o.exclusive_dir = path_of("none");
    CHECK_EQ(flake_init(&gen, &o, &why), FLAKE_IO);
    CHECK(strstr(why.text, "none/flake-") != NULL && strstr(why.text, "No such file") != NULL);
    check_invalid(&gen);
    o.node = 0;
    CHECK_EQ(sno_init(&sno, &pool, &o, &why), FLAKE_IO);
    CHECK(strstr(why.text, "No such file") != NULL);
    check_sno_invalid(&sno);
    end_folder();
}

static void a_reason_tells_what_is_wrong_with_a_state(void) {
    static flake_state state;
    flake_state_options where;
    flake_options o = begin();
    memset(&where, 0, sizeof where);
    begin_folder();
    where.path = path_of("ids");
    o.state = &state;
    CHECK_EQ(flake_init(&gen, &o, &why), FLAKE_MISMATCH);
    CHECK(strstr(why.text, "state: is not open") != NULL);
    check_invalid(&gen);
    o.state = NULL;
    CHECK_EQ(flake_state_open(&state, &where, &o, NULL, NULL), FLAKE_OK);
    o.state = &state;
    o.node = 8;
    CHECK_EQ(flake_init(&gen, &o, &why), FLAKE_MISMATCH);
    CHECK(strstr(why.text, "ids: was opened for another layout, node") != NULL);
    check_invalid(&gen);
    o.node = 0;
    flake_machine_cloned();
    CHECK_EQ(flake_init(&gen, &o, &why), FLAKE_FORKED);
    CHECK(strstr(why.text, "state: was opened before a fork") != NULL);
    check_invalid(&gen);
    CHECK_EQ(flake_state_close(&state), FLAKE_FORKED);
    end_folder();
}
#endif

int main(int argc, char **argv) {
    static const check_test tests[] = {
        CHECK_TEST(an_init_that_failed_leaves_no_generator),
        CHECK_TEST(an_init_that_failed_leaves_no_sno_generator),
        CHECK_TEST(a_restore_that_failed_changes_nothing),
        CHECK_TEST(a_reinit_that_failed_leaves_the_generator_forked),
#ifdef HAS_FILES
        CHECK_TEST(a_reason_names_directory_node_and_numbers),
        CHECK_TEST(a_reason_tells_what_is_wrong_with_a_state),
#endif
    };
    return CHECK_MAIN(argc, argv, tests);
}
