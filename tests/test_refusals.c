/* SPDX-License-Identifier: MIT
 *
 * Bad input to the calls that are made seldom: the status that names the cause, and nothing changed. What
 * a program meets daily stands with the call's other tests.
 */
#define _GNU_SOURCE
#include "scene.h"
#include <sys/utsname.h>
#include "flake.h"
#include "sno.h"
#include "options.h"

static flake_gen gen;
static flake_gen wide;
static sno_gen sno;
static flake_why why;

static flake_options wide_clocked(uint64_t node) {
    flake_options o = options_in_scene(0);
    o.layout = flake_layout_boundary;
    o.node = node;
    return o;
}

/* For the option that the reason begins with. */
#define CHECK_REFUSED(call, option)                                     \
    do {                                                                \
        CHECK_EQ(call, FLAKE_INVALID);                                  \
        CHECK(strncmp(why.text, option, strlen(option)) == 0);          \
    } while (0)

static void fresh(void) {
    begin();
    memset(&gen, 0, sizeof gen);
    memset(&wide, 0, sizeof wide);
    memset(&sno, 0, sizeof sno);
    memset(&why, 0, sizeof why);
}

/* ---- states and slots ---- */

static flake_status open_with(const flake_state_options *w) {
    static flake_state state; /* stays closed */
    const flake_options o = options_in_scene(0);
    return flake_state_open(&state, w, &o, NULL, &why);
}

TEST(a_state_without_a_path_or_with_endless_times) {
    const int64_t endless_ms = INT64_MAX / 1000000;
    flake_state_options w = {0};
    fresh();
    CHECK_REFUSED(open_with(&w), "path");
    w.path = "";
    CHECK_REFUSED(open_with(&w), "path");
    w.path = path_of("ids");
    w.max_downtime_ms = endless_ms;
    CHECK_REFUSED(open_with(&w), "max_downtime_ms");
    w.max_downtime_ms = 0;
    w.horizon_ms = endless_ms;
    CHECK_REFUSED(open_with(&w), "horizon_ms");
    CHECK(access(path_of("ids"), F_OK) != 0);
}

TEST(a_reason_is_cut_to_its_room) {
    static char long_name[900];
    static flake_state state;
    struct {
        flake_why why;
        char behind;
    } told;
    flake_state_options w = {0};
    fresh();
    memset(&told, '!', sizeof told);
    memset(long_name, 'x', sizeof long_name - 1); /* no folder has names as long */
    w.path = long_name;
    CHECK_EQ(flake_state_open(&state, &w, NULL, NULL, &told.why), FLAKE_IO);
    CHECK_EQ(strlen(told.why.text), sizeof told.why.text - 1);
    CHECK_EQ(told.behind, '!');
}

static flake_status claim_with(const flake_state_options *w) {
    static flake_state state; /* stays closed */
    const flake_options o = options_in_scene(0);
    uint64_t number = 77;
    const flake_status status = flake_state_open(&state, w, &o, &number, &why);
    CHECK_EQ(number, 77);
    return status;
}

TEST(a_number_without_a_folder_or_with_endless_times) {
    static char long_name[1100];
    const int64_t endless_ms = INT64_MAX / 1000000;
    flake_state_options o = {0};
    fresh();
    o.dir = "";
    CHECK_REFUSED(claim_with(&o), "dir");
    memset(long_name, 'x', sizeof long_name - 1);
    o.dir = long_name;
    CHECK_REFUSED(claim_with(&o), "dir");
    o.dir = our_folder;
    o.first = UINT32_MAX - 1022; /* of the 1,024 that a count of 0 asks for, one too many */
    CHECK_REFUSED(claim_with(&o), "first");
    o.first = 0;
    o.horizon_ms = endless_ms;
    CHECK_REFUSED(claim_with(&o), "horizon_ms");
    o.horizon_ms = endless_ms / 4 + 1;
    CHECK_EQ(claim_with(&o), FLAKE_INVALID);
    o.horizon_ms = 0;
    o.wait_ms = endless_ms;
    CHECK_REFUSED(claim_with(&o), "wait_ms");
}

static void ask_in_a_folder_that_is_gone(void) {
    flake_state_options w = {0};
    flake_state_options o = {0};
    EXPECT(mkdir(path_of("gone"), 0777) == 0 && chdir(path_of("gone")) == 0);
    EXPECT(rmdir(path_of("gone")) == 0);
    w.path = "ids";
    EXPECT(open_with(&w) == FLAKE_INVALID);
    EXPECT(strstr(why.text, "gone") != NULL);
    o.dir = "slots";
    EXPECT(claim_with(&o) == FLAKE_INVALID);
    EXPECT(strstr(why.text, "gone") != NULL);
}

/* A folder that is named from a deep one: what the name of a slot is put behind is the whole of it. */
static void claim_from_a_deep_folder(void) {
    static flake_state state;
    const flake_options clock = options_in_scene(0);
    char name[101], here[2048], dir[101];
    uint64_t number;
    memset(name, 'd', sizeof name);
    EXPECT(chdir(our_folder) == 0 && getcwd(here, sizeof here));
    for (size_t left = 900 - strlen(here); left > 1; left -= left < 102 ? left : 101) {
        name[left < 102 ? left - 1 : 100] = 0; /* with its slash */
        EXPECT(mkdir(name, 0777) == 0 && chdir(name) == 0);
    }
    EXPECT(getcwd(here, sizeof here) && strlen(here) <= 900);
    const size_t deep = strlen(here);
    for (size_t whole = 960; whole < FLAKE_I_PATH + 20; whole++) {
        const size_t n = whole - deep - 1;
        flake_state_options o = {0};
        o.first = UINT32_MAX - 1;
        o.count = 1;
        o.dir = dir;
        if (n >= sizeof dir) break;
        memset(dir, 'e', n);
        dir[n] = 0;
        EXPECT(mkdir(dir, 0777) == 0);
        const flake_status status = flake_state_open(&state, &o, &clock, &number, &why);
        EXPECT(status == (whole <= FLAKE_I_PATH - FLAKE_I_ENDING ? FLAKE_OK : FLAKE_INVALID));
        if (status == FLAKE_OK) EXPECT(flake_state_close(&state, NULL) == FLAKE_OK);
        else EXPECT(strstr(why.text, "too long") != NULL);
    }
}

TEST(a_relative_folder_of_slots_may_be_too_long) {
    fresh();
    child_is_well(claim_from_a_deep_folder);
}

TEST(a_relative_path_in_a_folder_that_is_gone) {
    fresh();
    child_is_well(ask_in_a_folder_that_is_gone);
}

/* ---- flake.h ---- */

TEST(layouts_that_do_not_hold_together) {
    flake_layout l = flake_layout_idgen;
    uint64_t id = 7;
    fresh();
    l.time_bits = 1;
    l.time_shift = 64;
    CHECK_EQ(flake_layout_check(&l, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_layout_end_ms(&l), INT64_MIN);
    CHECK_EQ(flake_min_at(&l, start_ms, &id), FLAKE_INVALID);
    CHECK_EQ(flake_max_at(&l, start_ms, &id), FLAKE_INVALID);
    CHECK_EQ(id, 7);
    l = flake_layout_of(63, 0, 1, 0);
    l.unit_ms = UINT32_MAX;
    CHECK_EQ(flake_layout_end_ms(&l), INT64_MAX); /* the last unit ends past an int64_t */
    l = flake_layout_of(62, 0, 1, 1);
    l.unit_ms = 2;
    CHECK_EQ(flake_layout_end_ms(&l), INT64_MAX); /* it begins in an int64_t's last ms */
    l.epoch_ms = 0;
    CHECK_EQ(flake_layout_end_ms(&l), INT64_MAX);
    l.epoch_ms = -1;
    CHECK_EQ(flake_layout_end_ms(&l), INT64_MAX - 1);
}

/* All zero stands for a layout; with any member set it is one, which then lacks the others. */
TEST(a_layout_with_one_member_is_none) {
    fresh();
    for (int i = 0; i < 12; i++) {
        flake_options o = options_in_scene(0);
        flake_layout *const l = &o.layout;
        CHECK(options_why(&o) == NULL);
        l->epoch_ms = i == 0;
        l->unit_ms = i == 1;
        l->time_bits = i == 2;
        l->time_shift = i == 3;
        l->node_bits = i == 4;
        l->node_shift = i == 5;
        l->seq_bits = i == 6;
        l->seq_shift = i == 7;
        l->time_reversed = i == 8;
        l->gap_at = i == 9;
        l->gap_bit = i == 10;
        l->time_sign = i == 11;
        CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_INVALID);
        CHECK(strstr(options_why(&o), "layout") != NULL);
    }
}

static void go_on_with_bad_options(void) {
    flake_options o = wide_clocked(2);
    o.max_ahead_ms = -1; /* found last, by the engine */
    EXPECT(flake_reinit_after_fork(&wide, &o, NULL) == FLAKE_INVALID);
    flake128 id;
    EXPECT(flake128_next(&wide, &id) == FLAKE_FORKED);
    o.max_ahead_ms = 0;
    EXPECT(flake_reinit_after_fork(&wide, &o, NULL) == FLAKE_OK);

    flake_options s = options_of_sno(scene_clock, NULL);
    s.max_wait_ms = -1;
    EXPECT(sno_reinit_after_fork(&sno, NULL, &s, NULL) == FLAKE_INVALID);
    s.max_wait_ms = 0;
    EXPECT(sno_reinit_after_fork(&sno, NULL, &s, NULL) ==
           FLAKE_OK); /* a partition that nobody chose */
}

TEST(a_child_that_goes_on_with_bad_options) {
    const flake_options o = wide_clocked(1);
    fresh();
    CHECK_EQ(flake_init(&wide, &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&sno, NULL, NULL, NULL), FLAKE_OK);
    child_is_well(go_on_with_bad_options);
}

TEST(this_hosts_name_is_asked_for) {
    struct utsname system;
    uint64_t by_name = 7, by_host = 7;
    fresh();
    CHECK_EQ(uname(&system), 0);
    CHECK_EQ(flake_node_from_hostname(NULL, &by_host, &why),
             flake_node_from_hostname(system.nodename, &by_name, &why));
    CHECK_EQ(by_host, by_name);
}

/* ---- sno.h ---- */

TEST(pools_and_paths_at_their_borders) {
    static char long_path[FLAKE_I_PATH + 8];
    static flake_state state;
    sno_snapshot pool = {0};
    flake_state_options w = {0};
    fresh();
    memset(long_path, 'x', sizeof long_path - 1);
    long_path[0] = '/';
    w.path = long_path;
    CHECK_EQ(sno_state_open(&state, &w, NULL, &pool, NULL), FLAKE_INVALID);
    w.path = path_of("snos");
    pool.sequence_max = 9; /* said, though partition and minimum are 0 */
    CHECK_EQ(sno_state_open(&state, &w, NULL, &pool, NULL), FLAKE_OK);
    CHECK(pool.partition == 0 && pool.sequence_min == 0 && pool.sequence_max == 9);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

TEST(a_sno_generator_of_nothing) {
    flake_options o = options_of_sno(scene_clock, NULL);
    sno_snapshot pool;
    flake_state_options w = {0};
    static flake_state state;
    static flake_why sno_why_not;
    fresh();
    CHECK_EQ(sno_reinit_after_fork(&sno, NULL, &o, NULL), FLAKE_INVALID);
    o.exclusive_dir = our_folder; /* of which pool? */
    CHECK_EQ(sno_init(&sno, NULL, &o, &sno_why_not), FLAKE_INVALID);
    CHECK(strstr(sno_why_not.text, "snapshot") != NULL);
    memset(&pool, 0, sizeof pool);
    CHECK_EQ(sno_state_open(&state, &w, &o, &pool, &sno_why_not), FLAKE_INVALID);
    CHECK(strncmp(sno_why_not.text, "path", 4) == 0);
    w.path = path_of("snos");
    pool.wall_hi = 77;
    pool.sequence_min = 9; /* bounds alone are a wish, too: partition 0 */
    CHECK_EQ(sno_state_open(&state, &w, &o, &pool, &sno_why_not), FLAKE_OK);
    CHECK_EQ(pool.partition, 0);
    CHECK_EQ(pool.sequence_min, 9);
    CHECK_EQ(pool.sequence_max, 65535);
    CHECK_EQ(pool.wall_hi, 0); /* the state knows */
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

static void refuse_a_parents_state(void) {
    static flake_state state;
    sno_snapshot pool = {0};
    flake_state_options w = {0};
    sno_gen shards[2];
    pool.partition = 3;
    w.path = path_of("snos");
    flake_options o = options_of_sno(scene_clock, NULL);
    EXPECT(sno_state_open(&state, &w, &o, &pool, NULL) == FLAKE_OK);
    o.state = &state;
    flake_machine_cloned();
    EXPECT(sno_init(&sno, &pool, &o, NULL) == FLAKE_FORKED);
    EXPECT(sno_init_shards(shards, 2, &pool, &o, NULL) == FLAKE_FORKED);
    EXPECT(flake_state_close(&state, NULL) == FLAKE_FORKED);
}

TEST(a_state_from_before_a_bump_is_refused) {
    fresh();
    child_is_well(refuse_a_parents_state); /* the bump is the child's own */
}

static void use_up_all_partitions(void) {
    static flake_state state;
    flake_state_options w = {0};
    sno_snapshot pool = {0};
    flake_why told;
    while (sno_init(&sno, NULL, NULL, NULL) == FLAKE_OK) {
    }
    w.path = path_of("snos");
    EXPECT(sno_state_open(&state, &w, NULL, &pool, &told) == FLAKE_EXHAUSTED);
    EXPECT(strstr(told.text, "all partitions are used") != NULL);
    EXPECT(access(w.path, F_OK) != 0);
    EXPECT(sno_is_zero(sno_generate(1)));
}

TEST(no_partition_is_left) {
    fresh();
    child_is_well(use_up_all_partitions); /* of the family: so it comes last */
}

int main(int argc, char **argv) { return scene_main(argc, argv); }
