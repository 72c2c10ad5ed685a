/* SPDX-License-Identifier: MIT
 *
 * Bad input to rarely used calls: the status names the cause, and nothing is changed. Common cases are
 * with each call's other tests.
 */
#define _GNU_SOURCE
#include "scene.h"
#include <sys/utsname.h>
#include "flake.h"
#include "sno.h"
#include "options.h"

static sno_gen sno;
static flake_why why;

/* The reason begins with this option. */
#define CHECK_REFUSED(call, option)                            \
    do {                                                       \
        CHECK_EQ(call, FLAKE_INVALID);                         \
        CHECK(strncmp(why.text, option, strlen(option)) == 0); \
    } while (0)

static void fresh(void) {
    begin();
    memset(&sno, 0, sizeof sno);
    memset(&why, 0, sizeof why);
}

/* ---- states and slots ---- */

static flake_state state; /* stays closed, mostly */

/* As a state without a number, or as one of a directory's. */
static flake_status open_with(const flake_state_options *w) {
    const flake_node node = w->dir ? flake_node_none() : flake_node_fixed(NULL, 0);
    const flake_options o = options_in_scene();
    uint64_t number = 77;
    const flake_status status =
        flake_state_open(&state, w, node, &o, w->dir ? &number : NULL, &why);
    CHECK_EQ(number, w->dir ? FLAKE_I_NO_NUMBER : 77);
    return status;
}

TEST(a_state_without_a_path_or_with_endless_times) {
    static char long_name[1100];
    const int64_t longest_ms = INT64_MAX / 1000000 / 4;
    flake_state_options w = {0}, of_dir = {0};
    fresh();
    CHECK_REFUSED(open_with(&w), "path");
    w.path = "";
    CHECK_REFUSED(open_with(&w), "path");
    w.path = path_of("ids");
    w.max_downtime_ms = longest_ms + 1;
    CHECK_REFUSED(open_with(&w), "max_downtime_ms");
    w.max_downtime_ms = w.wait_ms = longest_ms;
    w.horizon_ms = longest_ms + 1;
    CHECK_REFUSED(open_with(&w), "horizon_ms");
    CHECK(access(path_of("ids"), F_OK) != 0);
    of_dir.dir = "";
    CHECK_REFUSED(open_with(&of_dir), "dir");
    memset(long_name, 'x', sizeof long_name - 1);
    of_dir.dir = long_name;
    CHECK_REFUSED(open_with(&of_dir), "dir");
    of_dir.dir = our_folder;
    of_dir.first = UINT32_MAX - 1022; /* of the 1,024 that a count of 0 asks for, one too many */
    CHECK_REFUSED(open_with(&of_dir), "first");
    of_dir.first = 0;
    of_dir.wait_ms = longest_ms + 1;
    CHECK_REFUSED(open_with(&of_dir), "wait_ms");
    w.horizon_ms = longest_ms;
    CHECK_EQ(open_with(&w), FLAKE_OK);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

/* A directory claims the number: one that was given would be ignored. A file is of one node. */
TEST(a_state_with_a_node_that_does_not_suit_it) {
    const flake_options o = options_in_scene();
    flake_state_options w = {0}, of_dir = {0};
    flake_node unset;
    uint64_t number = 77;
    fresh();
    w.path = path_of("ids");
    of_dir.dir = our_folder;
    memset(&unset, 0, sizeof unset);
    CHECK_REFUSED(flake_state_open(&state, &of_dir, flake_node_fixed(NULL, 7), &o, &number, &why),
                  "dir");
    CHECK_EQ(number, FLAKE_I_NO_NUMBER);
    CHECK(access(path_of("7.slot"), F_OK) != 0 && access(path_of("0.slot"), F_OK) != 0);
    CHECK_REFUSED(flake_state_open(&state, &of_dir, unset, &o, &number, &why), "dir");
    CHECK_REFUSED(flake_state_open(&state, &w, flake_node_none(), &o, NULL, &why), "node");
    CHECK_REFUSED(flake_state_open(&state, &w, unset, &o, NULL, &why), "node");
    CHECK(access(path_of("ids"), F_OK) != 0);
}

TEST(a_reason_is_cut_to_its_room) {
    static char long_name[900];
    struct {
        flake_why why;
        char behind;
    } told;
    flake_state_options w = {0};
    fresh();
    memset(&told, '!', sizeof told);
    memset(long_name, 'x', sizeof long_name - 1); /* no directory has a name that long */
    w.path = long_name;
    CHECK_EQ(flake_state_open(&state, &w, flake_node_fixed(NULL, 0), NULL, NULL, &told.why),
             FLAKE_IO);
    CHECK_EQ(strlen(told.why.text), sizeof told.why.text - 1);
    CHECK_EQ(told.behind, '!');
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
    EXPECT(open_with(&o) == FLAKE_INVALID);
    EXPECT(strstr(why.text, "gone") != NULL);
}

/* A directory that is named from a deep one: a slot's name is appended to the absolute path. */
static void claim_from_a_deep_folder(void) {
    const flake_options clock = options_in_scene();
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
    for (size_t whole = 960; whole < 1044; whole++) {
        const size_t n = whole - deep - 1;
        flake_state_options o = {0};
        o.first = UINT32_MAX - 1;
        o.count = 1;
        o.dir = dir;
        if (n >= sizeof dir) break;
        memset(dir, 'e', n);
        dir[n] = 0;
        EXPECT(mkdir(dir, 0777) == 0);
        const flake_status status =
            flake_state_open(&state, &o, flake_node_none(), &clock, &number, &why);
        EXPECT(status == (whole <= 1000 ? FLAKE_OK : FLAKE_INVALID));
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

/* All zero is no layout; with any member set it is one, which then lacks the others. */
TEST(a_layout_with_one_member_is_none) {
    static const flake_options with_one[] = {
        {.layout = {.epoch_ms = 1}},  {.layout = {.unit_ms = 1}},
        {.layout = {.time_bits = 1}}, {.layout = {.time_shift = 1}},
        {.layout = {.node_bits = 1}}, {.layout = {.node_shift = 1}},
        {.layout = {.seq_bits = 1}},  {.layout = {.seq_shift = 1}},
        {.layout = {.gap_at = 1}},    {.layout = {.time_reversed = 1}},
        {.layout = {.gap_bit = 1}},   {.layout = {.time_sign = 1}}};
    for (size_t i = 0; i < sizeof with_one / sizeof *with_one; i++)
        CHECK(strstr(options_why(node_in(&with_one[i].layout, 0), &with_one[i]), "layout") != NULL);
}

TEST(this_hosts_name_is_asked_for) {
    struct utsname system;
    uint64_t by_name = 7, by_host = 7;
    fresh();
    CHECK_EQ(uname(&system), 0);
    CHECK_EQ(flake_node_from_hostname(NULL, 0, 1023, &by_host, &why),
             flake_node_from_hostname(system.nodename, 0, 1023, &by_name, &why));
    CHECK_EQ(by_host, by_name);
}

/* ---- sno.h ---- */

static flake_status open_pool(sno_snapshot *pool, const char *path) {
    const flake_options o = options_of_sno(scene_clock, NULL);
    flake_state_options w = {0};
    w.path = path;
    return sno_state_open(&state, &w, &o, pool, &why);
}

TEST(pools_and_paths_at_their_borders) {
    static char long_path[FLAKE_I_PATH + 8];
    flake_options o = options_of_sno(scene_clock, NULL);
    sno_snapshot pool = {0};
    fresh();
    o.exclusive_dir = our_folder; /* of which pool? */
    CHECK_EQ(sno_init(&sno, flake_node_none(), NULL, &o, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "exclusive_dir needs a given node: flake_node_fixed") != NULL);
    CHECK_REFUSED(open_pool(&pool, NULL), "path");
    memset(long_path, 'x', sizeof long_path - 1);
    long_path[0] = '/';
    CHECK_EQ(open_pool(&pool, long_path), FLAKE_INVALID);
    pool.sequence_min = 1, pool.sequence_max = 3;
    CHECK_REFUSED(open_pool(&pool, path_of("ids")), "pool");
    pool.sequence_min = 0; /* bounds alone are a request, too: partition 0 */
    CHECK_EQ(open_pool(&pool, path_of("ids")), FLAKE_OK);
    CHECK(pool.partition == 0 && pool.sequence_min == 0 && pool.sequence_max == 3);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
    pool.wall_hi = 77;
    pool.sequence_min = 9, pool.sequence_max = 0;
    CHECK_EQ(open_pool(&pool, path_of("snos")), FLAKE_OK);
    CHECK(pool.partition == 0 && pool.sequence_min == 9 && pool.sequence_max == 65535);
    CHECK_EQ(pool.wall_hi, 0); /* the state has it */
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
}

/* The library chooses a partition only for a new file: the next one is the next generator's. */
TEST(an_unset_pool_is_the_files) {
    uint16_t chosen = 0;
    fresh();
    for (uint16_t run = 0; run < 3; run++) {
        sno_snapshot pool = {0};
        CHECK_EQ(open_pool(&pool, path_of("ids")), FLAKE_OK);
        CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
        CHECK(pool.sequence_min == 0 && pool.sequence_max == 65535);
        if (run == 0) chosen = pool.partition;
        CHECK_EQ(pool.partition, chosen);
        CHECK_EQ(sno_init(&sno, flake_node_none(), NULL, NULL, NULL), FLAKE_OK);
        CHECK_EQ(sno_gen_partition(&sno), (uint16_t)(chosen + 1 + run));
    }
}

int main(int argc, char **argv) { return scene_main(argc, argv); }
