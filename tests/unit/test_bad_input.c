/* SPDX-License-Identifier: MIT
 *
 * Bad input to rarely used calls: the status names the cause, and nothing is changed. Common cases are
 * with each call's other tests.
 */
#define _GNU_SOURCE
#include "process_scene.h"
#include <sys/utsname.h>
#include "flake.h"
#include "sno.h"
#include "options.h"

static flake_gen gen;
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
    memset(&gen, 0, sizeof gen);
    memset(&sno, 0, sizeof sno);
    memset(&why, 0, sizeof why);
}

/* ---- directories ---- */

/* An init with these options, in a directory that is not made if they are refused. */
static flake_status init_in(const char *dir, flake_options o) {
    const flake_status status = flake_init(&gen, flake_node_fixed(dir, 7), &o, &why);
    CHECK(status == FLAKE_OK || access(dir, F_OK) != 0);
    return status;
}

TEST(times_that_no_directory_can_keep) {
    const int64_t day_ms = 86400000, longest_ms = INT64_MAX / 1000000;
    fresh();
    const char *dir = path_of("ids");
    const flake_options none = options_in_scene();
    flake_options o = none;
    o.horizon_ms = day_ms + 1;
    CHECK_REFUSED(init_in(dir, o), "options: horizon_ms is negative, or more than a day");
    o.horizon_ms = -1;
    CHECK_REFUSED(init_in(dir, o), "options: horizon_ms is negative, or more than a day");
    o = none;
    o.max_ahead_ms = day_ms + 1;
    CHECK_REFUSED(init_in(dir, o), "options: max_ahead_ms, or a unit, is more than a day");
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 7), &o, &why), FLAKE_OK); /* only with one */
    o = none;
    o.layout.unit_ms = (uint32_t)day_ms + 1;
    CHECK_REFUSED(init_in(dir, o), "options: max_ahead_ms, or a unit, is more than a day");
    o = none;
    o.claim_wait_ms = -1;
    CHECK_REFUSED(init_in(dir, o), "options: claim_wait_ms is negative or too large");
    o.claim_wait_ms = longest_ms + 1;
    CHECK_REFUSED(init_in(dir, o), "options: claim_wait_ms is negative or too large");
    o = none;
    o.max_downtime_ms = -1;
    CHECK_REFUSED(init_in(dir, o), "options: max_downtime_ms is negative or too large");
    o.max_downtime_ms = longest_ms + 1;
    CHECK_REFUSED(init_in(dir, o), "options: max_downtime_ms is negative or too large");
    o = none;
    o.horizon_ms = o.max_ahead_ms = day_ms;
    o.claim_wait_ms = o.max_downtime_ms = longest_ms;
    CHECK_EQ(init_in(dir, o), FLAKE_OK);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
}

TEST(a_range_whose_file_must_exist) {
    fresh();
    flake_options o = options_in_scene();
    o.must_exist = true;
    CHECK_REFUSED(flake_init(&gen, flake_node_any(our_folder, 0, 9), &o, &why),
                  "options: must_exist is for a fixed number, flake_node_fixed");
    CHECK_EQ(flake_init(&gen, flake_node_fixed(our_folder, 0), &o, &why), FLAKE_IO);
    CHECK(access(path_of("0.slot"), F_OK) != 0);
}

/* As does the engine: a refused init leaves neither a directory nor a file, and costs no horizon. */
TEST(options_that_are_wrong_in_any_way_touch_no_file) {
    static flake_lane lanes[2];
    static flake_gen shards[2];
    const flake_options wrong[] = {
        {.seq_max = 4096},     {.max_wait_ms = -1},         {.clock = {.kind = 3}},
        {.lane_count = 1},     {.lanes = lanes},            {.max_ahead_ms = -1},
        {.after_unix_ms = 1},  {.lanes = lanes, .lane_count = 2, .single_thread = true}};
    fresh();
    const char *dir = path_of("ids");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_EQ(init_in(dir, wrong[i]), FLAKE_INVALID);
        CHECK_EQ(sno_init(&sno, flake_node_fixed(dir, 7), NULL, &wrong[i], &why), FLAKE_INVALID);
        CHECK_EQ(flake_init_shards(shards, 2, flake_node_fixed(dir, 7), &wrong[i], &why),
                 FLAKE_INVALID);
        CHECK(access(dir, F_OK) != 0);
    }
    CHECK_EQ(flake_init_shards(shards, 0, flake_node_fixed(dir, 7), NULL, &why), FLAKE_INVALID);
    const flake_options with_lanes_of_shards = {.lanes = lanes, .lane_count = 2};
    CHECK_EQ(flake_init_shards(shards, 2, flake_node_fixed(dir, 7), &with_lanes_of_shards, &why),
             FLAKE_INVALID);
    const flake_options of_uuids = {.layout = flake_layout_uuid8};
    CHECK_EQ(flake_init_shards(shards, 2, flake_node_fixed(dir, 7), &of_uuids, &why), FLAKE_INVALID);
    CHECK(access(dir, F_OK) != 0);
}

TEST(a_reason_is_cut_to_its_room) {
    static char long_name[900];
    struct {
        flake_why why;
        char behind;
    } told;
    fresh();
    memset(&told, '!', sizeof told);
    memset(long_name, 'x', sizeof long_name - 1); /* no directory has a name that long */
    CHECK_EQ(flake_init(&gen, flake_node_fixed(long_name, 0), NULL, &told.why), FLAKE_IO);
    CHECK_EQ(strlen(told.why.text), sizeof told.why.text - 1);
    CHECK_EQ(told.behind, '!');
}

static void ask_in_a_folder_that_is_gone(void) {
    const flake_options o = options_in_scene();
    EXPECT(mkdir(path_of("gone"), 0777) == 0 && chdir(path_of("gone")) == 0);
    EXPECT(rmdir(path_of("gone")) == 0);
    EXPECT(flake_init(&gen, flake_node_fixed("ids", 0), &o, &why) == FLAKE_INVALID);
    EXPECT(strcmp(why.text, "dir: is too long, or the working directory is gone") == 0);
    EXPECT(flake_init(&gen, flake_node_any("ids", 0, 9), &o, &why) == FLAKE_INVALID);
    EXPECT(strcmp(why.text, "dir: is too long, or the working directory is gone") == 0);
}

TEST(a_relative_name_in_a_folder_that_is_gone) {
    fresh();
    child_is_well(ask_in_a_folder_that_is_gone);
}

/* Goes down until the working directory's name has this many characters. */
static void go_to_a_deep_folder(size_t length) {
    char name[101], here[2048];
    memset(name, 'd', sizeof name);
    EXPECT(chdir(our_folder) == 0 && getcwd(here, sizeof here));
    for (size_t left = length - strlen(here); left > 1; left -= left < 102 ? left : 101) {
        name[left < 102 ? left - 1 : 100] = 0; /* with its slash */
        EXPECT(mkdir(name, 0777) == 0 && chdir(name) == 0);
    }
}

/* Each number's name, of 20 digits at most, is appended to the absolute path. */
static void claim_from_a_deep_folder(void) {
    const flake_options clock = {.layout = flake_layout_boundary, .clock = {.now_ns = scene_clock}};
    const uint64_t last = (UINT64_C(1) << 48) - 1;
    char here[2048], dir[130];
    go_to_a_deep_folder(900);
    EXPECT(getcwd(here, sizeof here) && strlen(here) <= 900);
    const size_t deep = strlen(here), longest = FLAKE_I_PATH - FLAKE_I_ENDING;
    unsigned claimed = 0, refused = 0;
    for (size_t whole = longest - 20; whole < longest + 20; whole++) {
        const size_t n = whole - deep - 1; /* relative, after a slash */
        EXPECT(n < sizeof dir);
        memset(dir, 'e', n);
        dir[n] = 0;
        const flake_status status = flake_init(&gen, flake_node_fixed(dir, last), &clock, &why);
        EXPECT(status == (whole <= longest ? FLAKE_OK : FLAKE_INVALID));
        claimed += status == FLAKE_OK;
        if (status == FLAKE_OK) EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
        else refused += strstr(why.text, "dir: is too long") == why.text;
    }
    EXPECT(claimed == 21 && refused == 19);
}

TEST(a_relative_folder_of_numbers_may_be_too_long) {
    fresh();
    child_is_well(claim_from_a_deep_folder);
}

TEST(an_absolute_folder_of_numbers_may_be_too_long) {
    static char dir[FLAKE_I_PATH + 8];
    const size_t longest = FLAKE_I_PATH - FLAKE_I_ENDING;
    fresh();
    memset(dir, 'x', sizeof dir - 1);
    dir[0] = '/';
    dir[longest] = 0;
    CHECK_REFUSED(flake_init(&gen, flake_node_fixed(dir, 0), NULL, &why), "dir: is too long");
    CHECK_REFUSED(sno_init(&sno, flake_node_any(dir, 0, 9), NULL, NULL, &why), "dir: is too long");
    memset(dir, 'x', sizeof dir - 1);
    dir[0] = '/';
    CHECK_REFUSED(flake_init(&gen, flake_node_fixed(dir, 0), NULL, &why), "dir: is too long");
    memset(dir, '/', longest - 1); /* of the right length, and an absent one */
    memcpy(dir + longest - 9, "none/ids", 9);
    CHECK_EQ(flake_init(&gen, flake_node_fixed(dir, 0), NULL, &why), FLAKE_IO);
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

TEST(pools_at_their_borders) {
    const flake_options o = options_of_sno(scene_clock, NULL);
    sno_snapshot pool = {.partition = 7, .sequence_min = 1, .sequence_max = 3};
    fresh();
    const char *const dirs[] = {NULL, our_folder};
    for (int i = 0; i < 2; i++) {
        const flake_node seven = flake_node_fixed(dirs[i], 7), six = flake_node_fixed(dirs[i], 6);
        pool.sequence_min = 1, pool.sequence_max = 3;
        CHECK_REFUSED(sno_init(&sno, seven, &pool, &o, &why),
                      "options: snapshot.sequence_min and sequence_max span fewer than 4 numbers");
        pool.sequence_min = 0;
        CHECK_REFUSED(sno_init(&sno, six, &pool, &o, &why),
                      "snapshot: partition 7 is not the node, 6");
        CHECK(access(path_of("6.slot"), F_OK) != 0 && (i || access(path_of("7.slot"), F_OK) != 0));
        CHECK_EQ(sno_init(&sno, seven, &pool, &o, &why), FLAKE_OK);
        CHECK(sno_gen_partition(&sno) == 7 && sno_cap(&sno) == 4);
        CHECK_EQ(flake_close(&sno.gen, NULL), FLAKE_OK);
        pool.sequence_min = 9, pool.sequence_max = 0; /* 0: 65535 */
        CHECK_EQ(sno_init(&sno, seven, &pool, &o, &why), FLAKE_OK);
        CHECK_EQ(sno_cap(&sno), 65535 - 9 + 1);
        CHECK_EQ(flake_close(&sno.gen, NULL), FLAKE_OK);
        CHECK_EQ(sno_init(&sno, seven, NULL, &o, &why), FLAKE_OK); /* NULL: the whole pool */
        CHECK_EQ(sno_cap(&sno), 65536);
        CHECK_EQ(flake_close(&sno.gen, NULL), FLAKE_OK);
    }
}

int main(int argc, char **argv) { return scene_main(argc, argv); }
