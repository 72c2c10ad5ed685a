/* SPDX-License-Identifier: MIT
 *
 * Bad input to rarely used calls: the status names the cause, nothing is changed, and no file is touched
 * (FLAKE_INVALID, flake_why in flake.h). Common cases are with each call's other tests.
 */
#define _GNU_SOURCE
#include "process_scene.h"
static bool has_no_random_bytes;
#define FLAKE_RANDOM_BYTES(to, n) (!has_no_random_bytes && flake_i_system_random(to, n))
#include "scripted_directory.h"

/* ---- directories ---- */

static const int64_t day_ms = 86400000, longest_ms = INT64_MAX / 1000000;

static flake_lane two_lanes[2];
static flake_ring a_ring;

/* Options that no init accepts, and the beginning of the reason. */
static const struct wrong {
    flake_options o;
    const char *why;
} wrong_options[] = {
    {{.horizon_ms = -1}, "options: horizon_ms is negative, or more than a day"},
    {{.horizon_ms = 86400001}, "options: horizon_ms is negative, or more than a day"},
    {{.horizon_ms = INT64_MAX}, "options: horizon_ms is negative, or more than a day"},
    {{.max_ahead_ms = 86400001}, "options: max_ahead_ms, or a unit, is more than a day"},
    {{.claim_wait_ms = -1}, "options: claim_wait_ms is negative or too large"},
    {{.claim_wait_ms = INT64_MAX / 1000000 + 1}, "options: claim_wait_ms is negative or too large"},
    {{.max_downtime_ms = -1}, "options: max_downtime_ms is negative or too large"},
    {{.max_downtime_ms = INT64_MAX / 1000000 + 1}, "options: max_downtime_ms is negative or too large"},
    {{.max_wait_ms = -1}, "options: max_wait_ms is negative"},
    {{.seq_max = 5000}, "options: seq_max"},
    {{.clock = {.kind = 3}}, "options: clock.kind is not"},
    {{.lane_count = 2}, "options: lanes is missing"},
    {{.after_unix_ms = INT64_MAX}, "options: after_unix_ms is more than a day ahead"},
    {{.shared_memory = true, .overflow = &a_ring}, "options: overflow"},
};

/* The reason begins with this. */
static void is_refused(flake_status status, flake_status wanted, const char *reason) {
    CHECK_EQ(status, wanted);
    if (strncmp(why.text, reason, strlen(reason)) == 0 && strlen(why.text) > 5) return;
    check_fail(__FILE__, __LINE__, reason);
    printf("  but: %s\n", why.text);
}

/* The claim is the last step: neither a directory nor a file is made, and an existing file is not written. */
TEST(a_refused_init_claims_nothing) {
    static flake_gen shards[3];
    static sno_gen sno_shards[3];
    const sno_snapshot of_6 = pool_of_numbers(6, 0, 99);
    const char *const dir = path_of("ids");
    const flake_node seven = flake_node_fixed(dir, 7);
    for (int exists = 0; exists < 2; exists++) {
        if (exists) CHECK_EQ(init_in(&gen, dir, 7), FLAKE_OK);
        close_it(&gen);
        const uint64_t written = exists ? record_at(path_of("ids/7.slot")).number : 0;
        for (size_t i = 0; i < sizeof wrong_options / sizeof *wrong_options; i++) {
            const struct wrong *const w = &wrong_options[i];
            is_refused(flake_init(&gen, seven, &w->o, &why), FLAKE_INVALID, w->why);
            is_refused(flake_init_shards(shards, 2, seven, &w->o, &why), FLAKE_INVALID, "options: ");
            is_refused(sno_init(&sno, seven, NULL, &w->o, &why), FLAKE_INVALID, "options: ");
        }
        const flake_options usual = options_in_scene(), snos = options_of_sno(scene_clock, NULL);
        flake_options o = usual;
        o.layout.unit_ms = (uint32_t)day_ms + 1;
        is_refused(init_with(&gen, seven, o), FLAKE_INVALID, "options: max_ahead_ms, or a unit, is more than a day");
        o.layout.time_bits = 60;
        is_refused(init_with(&gen, seven, o), FLAKE_INVALID, "layout: ");
        o = usual;
        o.after_unix_ms = start_ms + 2 * day_ms;
        is_refused(init_with(&gen, seven, o), FLAKE_INVALID, "options: after_unix_ms");
        is_refused(init_with(&gen, flake_node_any(dir, 8, 7), usual), FLAKE_INVALID, "node: ");
        is_refused(init_with(&gen, flake_node_fixed(dir, 5000), usual), FLAKE_NODE_RANGE, "node: ");
        o = usual;
        o.must_exist = true;
        is_refused(init_with(&gen, flake_node_any(dir, 7, 7), o), FLAKE_INVALID,
                   "options: must_exist is for a fixed number, flake_node_fixed");
        o = usual;
        o.layout = flake_layout_uuid8;
        CHECK_EQ(flake_init_shards(shards, 3, seven, &o, NULL), FLAKE_INVALID);
        has_no_random_bytes = true;
        is_refused(init_with(&gen, seven, o), FLAKE_IO, "");
        has_no_random_bytes = false;
        o = usual;
        CHECK_EQ(flake_init_shards(shards, 0, seven, &o, NULL), FLAKE_INVALID);
        o.seq_max = 1; /* fewer numbers than shards */
        CHECK_EQ(flake_init_shards(shards, 3, seven, &o, NULL), FLAKE_INVALID);
        CHECK_EQ(flake_init_shards(shards, 2, seven, with_lanes(&usual, two_lanes, 2), NULL), FLAKE_INVALID);
        CHECK_EQ(sno_init_shards(sno_shards, 0, seven, NULL, &snos, NULL), FLAKE_INVALID);
        CHECK_EQ(sno_init(&sno, seven, &of_6, &snos, NULL), FLAKE_INVALID);
        CHECK_EQ(sno_init_shards(sno_shards, 3, seven, &of_6, &snos, NULL), FLAKE_INVALID);
        o = snos;
        o.seq_min = 3;
        CHECK_EQ(sno_init(&sno, seven, NULL, &o, NULL), FLAKE_INVALID);
        if (exists) CHECK_EQ(record_at(path_of("ids/7.slot")).number, written);
        else CHECK_EQ(access(dir, F_OK), -1);
        CHECK_EQ(access(path_of("ids/7.slot.new"), F_OK), -1);
    }
}

TEST(the_longest_times_are_right) {
    flake_options o = options_in_scene();
    o.max_ahead_ms = day_ms + 1; /* too long with a directory alone */
    CHECK_EQ(init_with(&gen, flake_node_fixed(NULL, 1), o), FLAKE_OK);
    o.horizon_ms = o.max_ahead_ms = day_ms;
    o.claim_wait_ms = o.max_downtime_ms = longest_ms;
    CHECK_EQ(init_with(&gen, slot(1), o), FLAKE_OK);
    CHECK(horizon_of(1) >= (start_ms + day_ms) * a_ms);
    o = options_in_scene();
    o.horizon_ms = day_ms;
    CHECK_EQ(init_with(&other, slot(2), o), FLAKE_OK);
    CHECK_EQ(horizon_of(2), (start_ms + day_ms) * a_ms);
    o.layout = flake_layout_of(31, 8, 16, start_ms);
    o.layout.unit_ms = (uint32_t)day_ms;
    CHECK_EQ(init_with(&third, slot(3), o), FLAKE_OK);
}

/* Goes down until the working directory's name has this many characters. */
static void go_to_a_deep_folder(size_t length) {
    char name[101], here[2048];
    memset(name, 'd', sizeof name);
    CHECK(chdir(our_folder) == 0 && getcwd(here, sizeof here));
    for (size_t left = length - strlen(here); left > 1; left -= left < 102 ? left : 101) {
        name[left < 102 ? left - 1 : 100] = 0; /* with its slash */
        CHECK(mkdir(name, 0777) == 0 && chdir(name) == 0);
    }
}

/* Each number's name, of 20 digits at most, is appended to the absolute path. */
TEST(a_relative_folder_of_numbers_may_be_too_long) {
    IN_CHILD {
        const flake_options clock = {.layout = flake_layout_boundary, .clock = {.now_ns = scene_clock}};
        char here[2048], dir[130];
        unsigned claimed = 0, refused = 0;
        go_to_a_deep_folder(900);
        CHECK(getcwd(here, sizeof here) && strlen(here) <= 900);
        const size_t deep = strlen(here), longest = FLAKE_I_PATH - FLAKE_I_ENDING;
        for (size_t whole = longest - 20; whole < longest + 20; whole++) {
            const size_t n = whole - deep - 1; /* relative, after a slash */
            CHECK(n < sizeof dir);
            memset(dir, 'e', n);
            dir[n] = 0;
            const flake_status status = init_with(&gen, flake_node_fixed(dir, (UINT64_C(1) << 48) - 1), clock);
            CHECK_EQ(status, whole <= longest ? FLAKE_OK : FLAKE_INVALID);
            claimed += status == FLAKE_OK;
            if (status == FLAKE_OK) CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
            else refused += strstr(why.text, "dir: is too long") == why.text;
        }
        CHECK(claimed == 21 && refused == 19);
    }
}

TEST(an_absolute_folder_of_numbers_may_be_too_long) {
    static char dir[FLAKE_I_PATH + 8];
    const size_t longest = FLAKE_I_PATH - FLAKE_I_ENDING;
    memset(dir, 'x', sizeof dir - 1);
    dir[0] = '/';
    is_refused(flake_init(&gen, flake_node_fixed(dir, 0), NULL, &why), FLAKE_INVALID, "dir: is too long");
    dir[longest] = 0;
    is_refused(flake_init(&gen, flake_node_fixed(dir, 0), NULL, &why), FLAKE_INVALID, "dir: is too long");
    is_refused(sno_init(&sno, flake_node_any(dir, 0, 9), NULL, NULL, &why), FLAKE_INVALID, "dir: is too long");
    memset(dir, '/', longest - 1); /* of the right length, and an absent one */
    memcpy(dir + longest - 9, "none/ids", 9);
    CHECK_EQ(flake_init(&gen, flake_node_fixed(dir, 0), NULL, &why), FLAKE_IO);
}

/* ---- flake.h ---- */

TEST(layouts_that_do_not_hold_together) {
    flake_layout l = flake_layout_idgen;
    l.time_bits = 1;
    l.time_shift = 64;
    CHECK_EQ(flake_layout_end_ms(&l), INT64_MIN);
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

int main(int argc, char **argv) { return directory_main(argc, argv); }
