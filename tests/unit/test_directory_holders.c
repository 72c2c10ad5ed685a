/* SPDX-License-Identifier: MIT
 *
 * Who holds a number of a directory: one generator at a time, whichever process, copy of the header or name of the
 * directory asks for it; from init to close, or until its process and the children that inherited it have ended.
 * What init, close and reinit do with it, for single generators, shards and snos; many lives of a few numbers.
 */
#define _GNU_SOURCE
#include "process_scene.h"
static bool no_random_bytes;
#define FLAKE_RANDOM_BYTES(to, n) (!no_random_bytes && flake_i_system_random(to, n))
#include "scripted_directory.h"

static flake_gen third, many[4], shards[3];
static sno_gen sno_shards[3];
static sno_gen other_sno;
static flake_gen third;

/* ---- what the tests share ---- */

static void close_all(void) {
    end_scene();
    close_it(&third);
    for (int i = 0; i < 4; i++) close_it(&many[i]);
    close_it(&shards[0]);
    close_it(&sno_shards[0].gen);
    CHECK_EQ(atomic_load(&our->trouble), 0); /* of orphans, too */
}

static flake_status init_in(const char *dir, flake_gen *g, uint64_t number) {
    return init_with(g, flake_node_fixed(dir, number), options_in_scene());
}

static flake_status init_any(flake_gen *g, uint64_t first, uint64_t last) {
    return init_with(g, flake_node_any(our_folder, first, last), options_in_scene());
}

/* Draws up to n of the IDs that are available now, and notes them. Returns how many. */
static size_t draw(flake_gen *g, size_t n) {
    uint64_t id;
    size_t drawn = 0;
    while (drawn < n && flake_try(g, &id) == FLAKE_OK) {
        note(id);
        drawn++;
    }
    return drawn;
}

/* Another copy of the header in this process has an owner id of its own. */
static void be_another_copy_of_the_header(void) { atomic_store(&flake_i_process.page, NULL); }

/* ---- one holder ---- */

static void find_7_in_use(void) {
    EXPECT(init_slot(&other, 7) == FLAKE_IN_USE);
    EXPECT(strcmp(why.text + strlen(our_folder), "/7.slot: is in use, by this process or another") == 0);
    EXPECT(init_any(&other, 7, 7) == FLAKE_IN_USE);
    EXPECT(init_any(&other, 7, 9) == FLAKE_OK);
    EXPECT(flake_gen_node(&other) == 8);
    EXPECT(flake_close(&other, NULL) == FLAKE_OK);
}

static void hold_7_until_killed(void) {
    EXPECT(init_slot(&gen, 7) == FLAKE_OK);
    EXPECT(draw(&gen, 5) == 5);
    find_7_in_use();
    be_killed();
}

TEST(a_number_has_one_holder) {
    uint64_t id;
    const int before = descriptors();
    CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
    CHECK_EQ(flake_gen_node(&gen), 7);
    CHECK_EQ(descriptors(), before + 1);
    find_7_in_use();
    child_is_well(find_7_in_use); /* in another process */
    CHECK_EQ(draw(&gen, 5), 5);
    CHECK_EQ(flake_try(&other, &id), FLAKE_CLOSED);
    CHECK_EQ(init_slot(&other, 7), FLAKE_IN_USE);
    CHECK_EQ(flake_try(&other, &id), FLAKE_INVALID);
    close_it(&gen);
    CHECK_EQ(init_slot(&other, 7), FLAKE_OK);
    CHECK_EQ(draw(&other, 5), 5);
    CHECK_EQ(descriptors(), before + 1);
}

TEST(a_number_is_free_when_its_process_has_ended) {
    child_is_killed(hold_7_until_killed);
    CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
    CHECK_EQ(draw(&gen, 5), 5);
}

TEST(another_copy_of_the_header_finds_it_in_use) {
    CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
    flake_atomic64 *const page = atomic_load(&flake_i_process.page);
    be_another_copy_of_the_header();
    CHECK_EQ(init_slot(&other, 7), FLAKE_IN_USE);
    atomic_store(&flake_i_process.page, page);
    CHECK_EQ(draw(&gen, 5), 5);
}

TEST(another_name_of_the_directory_is_the_same_directory) {
    char here[256], name[600];
    CHECK(getcwd(here, sizeof here) != NULL);
    CHECK_EQ(symlink(our_folder, path_of("link")), 0);
    CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
    CHECK_EQ(init_in(path_of("link"), &other, 7), FLAKE_IN_USE);
    (void)snprintf(name, sizeof name, "%s///", our_folder);
    CHECK_EQ(init_in(name, &other, 7), FLAKE_IN_USE);
    (void)snprintf(name, sizeof name, "%s/./../%s", our_folder, strrchr(our_folder, '/') + 1);
    CHECK_EQ(init_in(name, &other, 7), FLAKE_IN_USE);
    CHECK_EQ(chdir(our_folder), 0);
    CHECK_EQ(init_in(".", &other, 7), FLAKE_IN_USE);
    CHECK_EQ(init_with(&other, flake_node_any("link", 7, 9), options_in_scene()), FLAKE_OK);
    CHECK_EQ(flake_gen_node(&other), 8);
    CHECK_EQ(chdir(here), 0);
    CHECK_EQ(draw(&gen, 5), 5);
    CHECK_EQ(draw(&other, 5), 5);
}

TEST(numbers_of_other_directories_are_others) {
    CHECK_EQ(init_in(path_of("orders"), &gen, 7), FLAKE_OK);
    CHECK_EQ(init_in(path_of("users"), &other, 7), FLAKE_OK);
    CHECK_EQ(draw(&gen, 5), 5);
}

/* Layouts and sequence ranges do not matter: there is one file per number. */
TEST(any_layout_and_range_finds_the_number_in_use) {
    flake_options o = options_in_scene();
    o.seq_max = 99;
    CHECK_EQ(flake_init(&gen, slot(7), &o, NULL), FLAKE_OK);
    o.seq_min = 100, o.seq_max = 199;
    CHECK_EQ(flake_init(&other, slot(7), &o, NULL), FLAKE_IN_USE);
    CHECK_EQ(flake_init_shards(shards, 3, slot(7), &o, NULL), FLAKE_IN_USE);
    o = options_in_scene();
    o.layout = flake_layout_boundary;
    CHECK_EQ(flake_init(&other, slot(7), &o, NULL), FLAKE_IN_USE);
    o.layout = flake_layout_uuid8;
    CHECK_EQ(flake_init(&other, slot(7), &o, NULL), FLAKE_IN_USE);
    o = options_of_sno(scene_clock, NULL);
    CHECK_EQ(sno_init(&sno, slot(7), NULL, &o, NULL), FLAKE_IN_USE);
    CHECK_EQ(sno_init(&sno, slot(8), NULL, &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_init_shards(sno_shards, 3, slot(8), NULL, &o, NULL), FLAKE_IN_USE);
    CHECK_EQ(init_slot(&other, 8), FLAKE_IN_USE);
}

/* ---- init does not read the old contents ---- */

TEST(init_does_not_read_what_the_memory_held) {
    static flake_lane lanes[2];
    const int before = descriptors();
    for (int garbage = 0; garbage < 2; garbage++) {
        const flake_options o = options_in_scene();
        const flake_options s = options_of_sno(scene_clock, NULL);
        const int fill = garbage ? 0xff : 0x01;
        memset((void *)&gen, fill, sizeof gen);
        memset((void *)&sno, fill, sizeof sno);
        memset((void *)&other, fill, sizeof other);
        memset((void *)lanes, fill, sizeof lanes);
        memset((void *)shards, fill, sizeof shards);
        CHECK_EQ(flake_init(&gen, slot(1), &o, NULL), FLAKE_OK);
        CHECK_EQ(sno_init(&sno, slot(2), NULL, &s, NULL), FLAKE_OK);
        CHECK_EQ(flake_init(&other, slot(3), with_lanes(&o, lanes, 2), NULL), FLAKE_OK);
        CHECK_EQ(flake_init_shards(shards, 3, slot(4), &o, NULL), FLAKE_OK);
        CHECK_EQ(descriptors(), before + 4);
        CHECK_EQ(draw(&gen, 5), 5);
        CHECK_EQ(draw(&other, 5), 5);
        CHECK_EQ(draw(&shards[2], 5), 5);
        CHECK(!sno_is_zero(next_sno(&sno, 1)));
        close_it(&gen);
        close_it(&sno.gen);
        close_it(&other);
        close_it(&shards[0]);
        CHECK_EQ(descriptors(), before);
    }
    memset((void *)&gen, 0xff, sizeof gen);
    CHECK_EQ(flake_init(&gen, slot(5000), NULL, NULL), FLAKE_NODE_RANGE);
}

static void init_over_it_without_a_close(void) {
    uint64_t id;
    EXPECT(init_slot(&gen, 7) == FLAKE_OK);
    EXPECT(draw(&gen, 5) == 5);
    EXPECT(init_slot(&gen, 7) == FLAKE_IN_USE);
    EXPECT(flake_try(&gen, &id) == FLAKE_INVALID);
    EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
    EXPECT(init_slot(&gen, 8) == FLAKE_OK); /* another number */
    EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
    EXPECT(init_slot(&other, 7) == FLAKE_IN_USE);
}

TEST(without_a_close_the_number_stays_locked_until_the_process_ends) {
    child_is_well(init_over_it_without_a_close);
    CHECK_EQ(init_slot(&gen, 8), FLAKE_OK);
    CHECK_EQ(init_slot(&other, 7), FLAKE_OK);
    CHECK_EQ(draw(&other, 5), 5);
}

/* ---- close ---- */

TEST(close_is_harmless_after_any_init) {
    static flake_gen zeroed;
    static sno_gen zeroed_sno;
    const int before = descriptors();
    flake_options o = options_in_scene();
    CHECK_EQ(flake_close(&zeroed, &why), FLAKE_OK);
    CHECK_EQ(flake_close(&zeroed_sno.gen, &why), FLAKE_OK);
    CHECK(is_zero((void *)&zeroed, sizeof zeroed));
    CHECK_EQ(flake_init(&gen, slot(5000), &o, NULL), FLAKE_NODE_RANGE);
    CHECK_EQ(flake_close(&gen, &why), FLAKE_OK);
    CHECK_EQ(init_in("/proc/no-such-folder", &gen, 1), FLAKE_IO);
    CHECK_EQ(flake_close(&gen, &why), FLAKE_OK);
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 7), &o, NULL), FLAKE_OK); /* no directory */
    CHECK_EQ(flake_close(&gen, &why), FLAKE_OK);
    CHECK_EQ(flake_close(&gen, &why), FLAKE_OK);
    o.layout = flake_layout_uuid7;
    CHECK_EQ(flake_init(&gen, flake_node_none(), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_close(&gen, &why), FLAKE_OK);
    CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
    CHECK_EQ(init_slot(&other, 7), FLAKE_IN_USE);
    CHECK_EQ(flake_close(&other, &why), FLAKE_OK); /* its init failed */
    CHECK_EQ(init_slot(&other, 7), FLAKE_IN_USE);
    CHECK_EQ(draw(&gen, 5), 5);
    CHECK_EQ(flake_close(&gen, &why), FLAKE_OK);
    CHECK_EQ(descriptors(), before);
}

/* The number may have the next holder, and the descriptor may be another file's by then. */
TEST(a_second_close_does_nothing) {
    CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
    CHECK_EQ(draw(&gen, 5), 5);
    close_it(&gen);
    CHECK_EQ(init_slot(&other, 7), FLAKE_OK);
    const uint64_t written = record_of(7).number;
    const int before = descriptors();
    close_it(&gen);
    close_it(&gen);
    CHECK_EQ(descriptors(), before);
    CHECK_EQ(record_of(7).number, written);
    CHECK_EQ(init_slot(&third, 7), FLAKE_IN_USE);
    CHECK_EQ(draw(&other, 5), 5);
}

TEST(calls_after_close_say_that_it_is_closed) {
    static flake_lane lanes[2];
    uint64_t id, ids[3];
    size_t got;
    flake128 wide;
    sno_id of_sno;
    flake_options o = options_in_scene(), single = o, of_wide = o;
    const flake_options s = options_of_sno(scene_clock, NULL);
    single.single_thread = true;
    of_wide.layout = flake_layout_boundary;
    CHECK_EQ(flake_init(&gen, slot(1), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_init(&other, slot(2), with_lanes(&o, lanes, 2), NULL), FLAKE_OK);
    CHECK_EQ(flake_init(&third, slot(3), &single, NULL), FLAKE_OK);
    CHECK_EQ(flake_init(&many[0], slot(4), &of_wide, NULL), FLAKE_OK);
    CHECK_EQ(flake_init_shards(shards, 3, slot(5), &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&sno, slot(6), NULL, &s, NULL), FLAKE_OK);
    CHECK_EQ(flake_init(&many[1], flake_node_fixed(NULL, 7), &o, NULL), FLAKE_OK); /* no directory */
    for (int drawn = 0; drawn < 2; drawn++) {
        flake_gen *const narrow[] = {&gen, &other, &third, &shards[0], &shards[1], &shards[2], &many[1]};
        for (size_t i = 0; i < sizeof narrow / sizeof *narrow && !drawn; i++) CHECK_EQ(draw(narrow[i], 3), 3);
        if (!drawn) {
            CHECK_EQ(flake128_try(&many[0], &wide), FLAKE_OK);
            CHECK_EQ(sno_try(&sno, 1, &of_sno), FLAKE_OK);
            close_it(&gen);
            close_it(&other);
            close_it(&third);
            close_it(&many[0]);
            close_it(&shards[0]);
            close_it(&sno.gen);
            close_it(&many[1]);
            pass_ms(1); /* to the next unit; snos have units of 4 ms */
            pass_ms(4);
        }
        for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
            FAILS(flake_try(narrow[i], &id), FLAKE_CLOSED, id);
            FAILS(flake_next(narrow[i], &id), FLAKE_CLOSED, id);
            FAILS(flake_next_n(narrow[i], ids, 3), FLAKE_CLOSED, ids);
            CHECK_EQ(flake_try_n(narrow[i], ids, 3, &got), FLAKE_CLOSED);
            CHECK_EQ(got, 0);
            CHECK_EQ(flake_available(narrow[i]), 0);
            CHECK_EQ(flake_retry_ns(narrow[i]), INT64_MAX);
        }
        FAILS(flake_try_at(&gen, start_ms + 5, &id), FLAKE_CLOSED, id);
        FAILS(flake128_next(&many[0], &wide), FLAKE_CLOSED, wide);
        FAILS(flake128_try(&many[0], &wide), FLAKE_CLOSED, wide);
        FAILS(sno_next(&sno, 1, &of_sno), FLAKE_CLOSED, of_sno);
        FAILS(sno_try(&sno, 1, &of_sno), FLAKE_CLOSED, of_sno);
        CHECK_EQ(flake_extend(&gen, &why), FLAKE_CLOSED);
        CHECK_EQ(flake_extend(&sno.gen, &why), FLAKE_CLOSED);
        CHECK_EQ(flake_extend(&many[1], &why), FLAKE_CLOSED);
    }
}

TEST(a_copy_does_not_close_or_extend) {
    static flake_gen copy;
    static sno_gen copied_sno;
    const flake_options s = options_of_sno(scene_clock, NULL);
    CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
    CHECK_EQ(sno_init(&sno, slot(8), NULL, &s, NULL), FLAKE_OK);
    memcpy((void *)&copy, (const void *)&gen, sizeof copy);
    memcpy((void *)&copied_sno, (const void *)&sno, sizeof copied_sno);
    const uint64_t written = record_of(7).number;
    for (int closed = 0; closed < 2; closed++) { /* the original */
        CHECK_EQ(flake_close(&copy, &why), FLAKE_INVALID);
        CHECK_STR(why.text, "generator: is a copy: only the original has the number");
        CHECK_EQ(flake_extend(&copy, &why), FLAKE_INVALID);
        CHECK_EQ(flake_close(&copied_sno.gen, &why), FLAKE_INVALID);
        CHECK_EQ(flake_extend(&copied_sno.gen, &why), FLAKE_INVALID);
        CHECK_EQ(init_slot(&third, 7), FLAKE_IN_USE);
        if (closed) break;
        CHECK_EQ(record_of(7).number, written);
        CHECK_EQ(draw(&gen, 5), 5);
        close_it(&gen);
        close_it(&sno.gen);
        CHECK_EQ(init_slot(&other, 7), FLAKE_OK); /* the next holder */
    }
    CHECK_EQ(draw(&other, 5), 5);
}

/* Its descriptor may be the next holder's, which has the same number and is of the same file. */
TEST(a_copy_that_is_moved_back_does_not_close_the_next_holder) {
    static flake_gen copy;
    CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
    CHECK_EQ(draw(&gen, 5), 5);
    memcpy((void *)&copy, (const void *)&gen, sizeof copy);
    close_it(&gen);
    CHECK_EQ(init_slot(&other, 7), FLAKE_OK);
    const int before = descriptors();
    memcpy((void *)&gen, (const void *)&copy, sizeof gen);
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_MISMATCH);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_MISMATCH);
    CHECK_EQ(descriptors(), before);
    CHECK_EQ(init_slot(&third, 7), FLAKE_IN_USE);
    CHECK_EQ(draw(&other, 5), 5);
    pass_ms(10000);
    CHECK_EQ(draw(&other, 5), 5);
}

/* Nor if both claims are of one time, as on a clock of ms. */
TEST(a_copy_that_is_moved_back_does_not_close_a_holder_of_its_time) {
    static flake_gen copy;
    CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
    const int64_t claimed_ns = record_of(7).claimed_ns;
    memcpy((void *)&copy, (const void *)&gen, sizeof copy);
    close_it(&gen);
    CHECK_EQ(init_slot(&other, 7), FLAKE_OK);
    CHECK_EQ(record_of(7).claimed_ns, claimed_ns);
    memcpy((void *)&gen, (const void *)&copy, sizeof gen);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_MISMATCH);
    CHECK_EQ(init_slot(&third, 7), FLAKE_IN_USE);
    CHECK_EQ(draw(&other, 5), 5);
}

/* As daemons do. */
static void close_all_descriptors(void) {
    for (int fd = 3; fd < 256; fd++) (void)(close)(fd);
}

static void go_on_without_descriptors(void) {
    uint64_t id;
    struct stat file;
    EXPECT(init_slot(&gen, 7) == FLAKE_OK);
    EXPECT(draw(&gen, 5) == 5);
    close_all_descriptors();
    const int bystander = (open)(path_of("bystander"), O_RDWR | O_CREAT, 0666); /* has the same number */
    EXPECT(bystander == 3);
    EXPECT(flake_extend(&gen, &why) == FLAKE_MISMATCH);
    pass_ms(1);
    EXPECT(flake_try(&gen, &id) == FLAKE_MISMATCH);
    EXPECT(init_slot(&other, 7) == FLAKE_OK); /* after the old one's horizon */
    EXPECT(draw(&other, 5) == 5);
    const uint64_t written = record_of(7).number;
    EXPECT(flake_close(&gen, &why) == FLAKE_MISMATCH);
    EXPECT(flake_close(&gen, &why) == FLAKE_OK);
    EXPECT(fstat(bystander, &file) == 0 && file.st_size == 0);
    EXPECT(record_of(7).number == written);
    EXPECT(init_slot(&third, 7) == FLAKE_IN_USE);
    EXPECT(draw(&other, 5) == 5);
}

TEST(a_descriptor_that_the_program_closed_is_noticed) {
    child_is_well(go_on_without_descriptors);
    CHECK_EQ(repeated(), 0);
}

/* ---- claim last ---- */

TEST(a_refused_init_claims_nothing) {
    static flake_lane lanes[2];
    static flake_ring ring;
    const flake_node seven = slot(7);
    for (int exists = 0; exists < 2; exists++) {
        if (exists) {
            CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
            close_it(&gen);
        }
        const uint64_t written = exists ? record_of(7).number : 0;
        for (int wrong = 0;; wrong++) {
            flake_options o = options_in_scene();
            flake_node node = seven;
            flake_status expected = FLAKE_INVALID;
            if (wrong == 0) o.seq_min = 5;
            else if (wrong == 1) o.seq_max = 5000;
            else if (wrong == 2) o.lane_count = 2;
            else if (wrong == 3) o.single_thread = true, o.lanes = lanes, o.lane_count = 2;
            else if (wrong == 4) o.max_ahead_ms = -1;
            else if (wrong == 5) o.max_ahead_ms = 86400001;
            else if (wrong == 6) o.horizon_ms = 86400001;
            else if (wrong == 7) o.layout.time_bits = 60;
            else if (wrong == 8) o.after_unix_ms = start_ms + 2 * 86400000;
            else if (wrong == 9) o.claim_wait_ms = -1;
            else if (wrong == 10) o.max_downtime_ms = -1;
            else if (wrong == 11) node = flake_node_any(our_folder, 8, 7);
            else if (wrong == 12) o.must_exist = true, node = flake_node_any(our_folder, 7, 7);
            else if (wrong == 13) node.last = 5000, expected = FLAKE_NODE_RANGE;
            else if (wrong == 14) o.shared_memory = true, o.overflow = &ring;
            else if (wrong == 15) o.max_wait_ms = -1;
            else if (wrong == 16) {
                o.layout = flake_layout_uuid8;
                no_random_bytes = true;
                expected = FLAKE_IO;
            } else break;
            memset(&why, 0, sizeof why);
            CHECK_EQ(flake_init(&gen, node, &o, &why), expected);
            CHECK(why.text[0] != 0);
            no_random_bytes = false;
            if (check_failures) printf("  wrong %d: %s\n", wrong, why.text);
        }
        flake_options o = options_in_scene();
        CHECK_EQ(flake_init_shards(shards, 0, seven, &o, NULL), FLAKE_INVALID);
        o.seq_max = 1;
        CHECK_EQ(flake_init_shards(shards, 3, seven, &o, NULL), FLAKE_INVALID);
        o = options_in_scene();
        o.layout = flake_layout_uuid8;
        CHECK_EQ(flake_init_shards(shards, 3, seven, &o, NULL), FLAKE_INVALID);
        o = options_of_sno(scene_clock, NULL);
        sno_snapshot pool = pool_of_numbers(6, 0, 99); /* of another partition */
        CHECK_EQ(sno_init(&sno, seven, &pool, &o, NULL), FLAKE_INVALID);
        CHECK_EQ(sno_init_shards(sno_shards, 3, seven, &pool, &o, NULL), FLAKE_INVALID);
        CHECK_EQ(sno_init_shards(sno_shards, 0, seven, NULL, &o, NULL), FLAKE_INVALID);
        o.seq_min = 3;
        CHECK_EQ(sno_init(&sno, seven, NULL, &o, NULL), FLAKE_INVALID);
        if (exists) CHECK_EQ(record_of(7).number, written);
        else CHECK(access(path_of("7.slot"), F_OK) != 0);
        CHECK(access(path_of("7.slot.new"), F_OK) != 0);
    }
}

/* ---- reinit ---- */

static wire to_child, from_child;

static void be_refused_then_go_on_with_9(void) {
    uint64_t id;
    const flake_options o = options_in_scene();
    const int before = descriptors();
    EXPECT(flake_try(&gen, &id) == FLAKE_FORKED);
    EXPECT(flake_reinit_after_fork(&gen, slot(8), &o, &why) == FLAKE_IN_USE);
    EXPECT(flake_reinit_after_fork(&gen, slot(5000), &o, &why) == FLAKE_NODE_RANGE);
    EXPECT(descriptors() == before); /* 7 is still inherited */
    EXPECT(flake_try(&gen, &id) == FLAKE_FORKED);
    tell(&from_child);
    (void)await_word(&to_child);
    EXPECT(flake_reinit_after_fork(&gen, slot(9), &o, &why) == FLAKE_OK);
    EXPECT(descriptors() == before); /* one opened, one closed */
    pass_ms(1);
    EXPECT(draw(&gen, 5) == 5);
    tell(&from_child);
    (void)await_word(&to_child);
    EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
}

static void die_with_a_child(void) {
    EXPECT(init_slot(&gen, 7) == FLAKE_OK);
    EXPECT(draw(&gen, 5) == 5);
    (void)start_child(be_refused_then_go_on_with_9);
    (void)await_word(&from_child);
    be_killed();
}

/* The number that a child inherited is free when the parent has ended and the child has another one. */
TEST(a_failed_reinit_keeps_the_inherited_number_and_another_one_drops_it) {
    to_child = new_line(), from_child = new_line();
    CHECK_EQ(init_slot(&other, 8), FLAKE_OK);
    child_is_killed(die_with_a_child);
    CHECK_EQ(init_slot(&third, 7), FLAKE_IN_USE);
    tell(&to_child);
    CHECK(await_word(&from_child));
    CHECK_EQ(init_slot(&third, 7), FLAKE_OK);
    CHECK_EQ(init_slot(&many[0], 9), FLAKE_IN_USE);
    CHECK_EQ(draw(&third, 5), 5);
    tell(&to_child);
    hang_up(&to_child), hang_up(&from_child);
}

/* At no moment is the child without a number: another process that waits for 7 meets a lock until 9 is locked. */
static unsigned locks_seen;
static bool find_7_still_locked(const char *name) {
    if (strcmp(name, "rename") == 0) { /* 9.slot gets its name: it is locked, and 7 is not dropped yet */
        on_call = NULL;
        locks_seen++;
        EXPECT(init_slot(&other, 7) == FLAKE_IN_USE);
        on_call = find_7_still_locked;
    }
    return true;
}

static void claim_9_first(void) {
    (void)await_word(&to_child); /* the parent has ended */
    on_call = find_7_still_locked;
    EXPECT(flake_reinit_after_fork(&gen, slot(9), NULL, &why) == FLAKE_OK);
    on_call = NULL;
    EXPECT(locks_seen == 1);
    EXPECT(init_slot(&other, 7) == FLAKE_OK);
    tell(&from_child);
}

static void end_before_the_child(void) {
    EXPECT(init_slot(&gen, 7) == FLAKE_OK);
    (void)start_child(claim_9_first);
}

TEST(reinit_claims_the_new_number_before_it_drops_the_inherited_one) {
    to_child = new_line(), from_child = new_line();
    child_is_well(end_before_the_child);
    tell(&to_child);
    CHECK(await_word(&from_child));
    hang_up(&to_child), hang_up(&from_child);
}

/* As by daemon(3). */
static void be_a_daemon(void) {
    uint64_t id;
    EXPECT(flake_reinit_after_fork(&gen, slot(7), NULL, &why) == FLAKE_IN_USE);
    EXPECT(flake_try(&gen, &id) == FLAKE_FORKED);
    EXPECT(flake_reinit_after_fork(&gen, flake_node_any(our_folder, 7, 7), NULL, &why) == FLAKE_IN_USE);
    tell(&from_child);
    (void)await_word(&to_child); /* the parent has ended */
    const int before = descriptors();
    EXPECT(flake_reinit_after_fork(&gen, slot(7), NULL, &why) == FLAKE_OK);
    EXPECT(descriptors() - before <= 1);
    EXPECT(draw(&gen, 5) == 5);
    EXPECT(flake_extend(&gen, NULL) == FLAKE_OK);
    tell(&from_child);
    (void)await_word(&to_child);
    EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
}

static void start_a_daemon_and_end(void) {
    EXPECT(init_slot(&gen, 7) == FLAKE_OK);
    EXPECT(draw(&gen, 5) == 5);
    (void)start_child(be_a_daemon);
    (void)await_word(&from_child);
    EXPECT(draw(&gen, 5) == 5); /* the parent, too, until it ends */
}

TEST(a_daemon_continues_with_the_number_of_its_parent) {
    to_child = new_line(), from_child = new_line();
    child_is_well(start_a_daemon_and_end);
    tell(&to_child);
    CHECK(await_word(&from_child));
    CHECK_EQ(our->n, 15);
    CHECK_EQ(repeated(), 0);
    CHECK_EQ(init_slot(&other, 7), FLAKE_IN_USE);
    tell(&to_child);
    hang_up(&to_child), hang_up(&from_child);
}

/* The parent has ended before the first reinit, which drops the inherited lock to take its own. */
static void be_a_daemon_at_once(void) {
    (void)await_word(&to_child);
    const int before = descriptors();
    EXPECT(flake_reinit_after_fork(&gen, slot(7), NULL, &why) == FLAKE_OK);
    EXPECT(descriptors() == before);
    EXPECT(draw(&gen, 5) == 5);
    tell(&from_child);
}

static void start_one_and_end(void) {
    EXPECT(init_slot(&gen, 7) == FLAKE_OK);
    EXPECT(draw(&gen, 5) == 5);
    (void)start_child(be_a_daemon_at_once);
}

TEST(a_daemon_drops_the_lock_that_it_inherited_to_take_its_own) {
    to_child = new_line(), from_child = new_line();
    child_is_well(start_one_and_end);
    tell(&to_child);
    CHECK(await_word(&from_child));
    CHECK_EQ(our->n, 10);
    hang_up(&to_child), hang_up(&from_child);
}

/* What a process does that becomes a daemon, for the descriptor of the number. */
static void close_descriptors_and_reinit(void) {
    EXPECT((close)(gen.claim.file.fd) == 0);
    (void)await_word(&to_child);                     /* the parent has ended */
    EXPECT(flake_reinit_after_fork(&gen, slot(7), NULL, &why) == FLAKE_OK);
    EXPECT(init_slot(&other, 7) == FLAKE_IN_USE);
    EXPECT(draw(&gen, 5) == 5);
    EXPECT(flake_extend(&gen, NULL) == FLAKE_OK);
    EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
    tell(&from_child);
}

static void close_descriptors_and_init_another(void) {
    EXPECT((close)(gen.claim.file.fd) == 0);
    (void)await_word(&to_child);
    EXPECT(init_slot(&other, 7) == FLAKE_OK);
    EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
    EXPECT(init_slot(&third, 7) == FLAKE_IN_USE);
    EXPECT(draw(&other, 5) == 5);
    EXPECT(flake_extend(&other, NULL) == FLAKE_OK);
    EXPECT(flake_close(&other, NULL) == FLAKE_OK);
    tell(&from_child);
}

static void (*of_a_daemon)(void);

static void start_it_and_end(void) {
    EXPECT(init_slot(&gen, 7) == FLAKE_OK);
    EXPECT(draw(&gen, 5) == 5);
    (void)start_child(of_a_daemon);
}

TEST(a_daemon_that_closes_all_descriptors_keeps_its_own_claim) {
    for (int i = 0; i < 2; i++) {
        begin();
        to_child = new_line(), from_child = new_line();
        of_a_daemon = i ? close_descriptors_and_init_another : close_descriptors_and_reinit;
        child_is_well(start_it_and_end);
        tell(&to_child);
        CHECK(await_word(&from_child));
        CHECK_EQ(atomic_load(&our->trouble), 0);
        CHECK_EQ(our->n, 10);
        hang_up(&to_child), hang_up(&from_child);
    }
}

static void compare_numbers_with_the_parents(void) {
    const flake_options o = options_in_scene(), s = options_of_sno(scene_clock, NULL);
    const flake_node same = flake_node_fixed(NULL, 7);
    EXPECT(flake_reinit_after_fork(&gen, same, &o, &why) == FLAKE_NODE_OVERLAP);
    EXPECT(flake_reinit_after_fork(&other, flake_node_fixed(NULL, 5), &o, &why) == FLAKE_NODE_OVERLAP);
    EXPECT(sno_reinit_after_fork(&sno, flake_node_fixed(NULL, 6), NULL, &s, &why) == FLAKE_NODE_OVERLAP);
    const flake_node around = flake_node_any(path_of("own"), 3, 6), beside = flake_node_any(path_of("own"), 6, 9);
    EXPECT(flake_reinit_after_fork(&other, around, &o, &why) == FLAKE_NODE_OVERLAP);
    EXPECT(flake_reinit_after_fork(&other, beside, &o, &why) == FLAKE_OK && flake_gen_node(&other) == 6);
    EXPECT(sno_reinit_after_fork(&other_sno, around, NULL, &s, &why) == FLAKE_NODE_OVERLAP);
    EXPECT(flake_close(&other, NULL) == FLAKE_OK);
    EXPECT(sno_reinit_after_fork(&other_sno, beside, NULL, &s, &why) == FLAKE_OK && sno_gen_partition(&other_sno) == 6);
    EXPECT(flake_close(&other_sno.gen, NULL) == FLAKE_OK);
    /* another directory has this number for the child alone */
    EXPECT(flake_reinit_after_fork(&gen, flake_node_fixed(path_of("own"), 7), &o, &why) == FLAKE_OK);
    EXPECT(sno_reinit_after_fork(&sno, flake_node_fixed(path_of("own"), 6), NULL, &s, &why) == FLAKE_OK);
    EXPECT(flake_gen_node(&gen) == 7 && sno_gen_partition(&sno) == 6);
    EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
    EXPECT(flake_close(&sno.gen, NULL) == FLAKE_OK);
}

TEST(only_a_number_without_a_directory_is_compared_with_the_parents) {
    const flake_options o = options_in_scene(), s = options_of_sno(scene_clock, NULL);
    CHECK_EQ(flake_init(&gen, slot(7), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_init(&other, flake_node_fixed(NULL, 5), &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&sno, slot(6), NULL, &s, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&other_sno, flake_node_fixed(NULL, 5), NULL, &s, NULL), FLAKE_OK);
    child_is_well(compare_numbers_with_the_parents);
    CHECK_EQ(draw(&gen, 5), 5);
}

static void draw_nothing_and_close(void) {
    uint64_t id;
    const int before = descriptors();
    EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
    EXPECT(descriptors() == before - 1);
    EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
    EXPECT(flake_close(&sno.gen, NULL) == FLAKE_OK);
    EXPECT(descriptors() == before - 2);
    EXPECT(flake_try(&gen, &id) == FLAKE_CLOSED || flake_try(&gen, &id) == FLAKE_FORKED);
    EXPECT(init_slot(&other, 7) == FLAKE_IN_USE); /* the parent has it */
    EXPECT(flake_reinit_after_fork(&gen, slot(9), NULL, &why) == FLAKE_OK);
    EXPECT(draw(&gen, 5) == 5);
    EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
}

TEST(a_close_in_a_child_only_drops_what_it_inherited) {
    const flake_options s = options_of_sno(scene_clock, NULL);
    CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
    CHECK_EQ(sno_init(&sno, slot(8), NULL, &s, NULL), FLAKE_OK);
    CHECK_EQ(draw(&gen, 5), 5);
    const uint64_t written = record_of(7).number;
    child_is_well(draw_nothing_and_close);
    CHECK_EQ(record_of(7).number, written);
    CHECK_EQ(init_slot(&other, 7), FLAKE_IN_USE);
    CHECK_EQ(draw(&gen, 5), 5);
    CHECK(!sno_is_zero(next_sno(&sno, 1)));
}

/* Which may be the other clone's, too. */
TEST(a_close_after_a_clone_of_the_machine_leaves_the_file_unchanged) {
    static uint8_t before[FLAKE_I_FILE + 1], after[FLAKE_I_FILE + 1];
    CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
    CHECK_EQ(draw(&gen, 5), 5);
    CHECK_EQ(read_file(path_of(slot_name(7)), before, sizeof before), FLAKE_I_FILE);
    flake_machine_cloned();
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
    CHECK_EQ(read_file(path_of(slot_name(7)), after, sizeof after), FLAKE_I_FILE);
    CHECK(memcmp(before, after, sizeof before) == 0);
}

static void close_and_stay(void) {
    EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
    tell(&from_child);
    (void)await_word(&to_child);
}

static void leave_a_child_that_closes(void) {
    EXPECT(init_slot(&gen, 7) == FLAKE_OK);
    (void)start_child(close_and_stay);
    (void)await_word(&from_child);
    be_killed();
}

TEST(a_child_that_closed_does_not_keep_the_number) {
    to_child = new_line(), from_child = new_line();
    child_is_killed(leave_a_child_that_closes);
    CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
    tell(&to_child);
    hang_up(&to_child), hang_up(&from_child);
}

/* ---- a child lives that inherited the number ---- */

static void stay(void) {
    tell(&from_child);
    (void)await_word(&to_child);
}

TEST(close_frees_the_number_although_a_child_lives) {
    for (int cloned = 0; cloned < 2; cloned++) {
        uint64_t id;
        begin();
        to_child = new_line(), from_child = new_line();
        CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
        CHECK_EQ(draw(&gen, 5), 5);
        const pid_t child = start_child(stay);
        CHECK(await_word(&from_child));
        if (cloned) flake_machine_cloned();
        CHECK_EQ(flake_try(&gen, &id), cloned ? FLAKE_FORKED : FLAKE_OK);
        close_it(&gen);
        CHECK_EQ(init_slot(&other, 7), FLAKE_OK);
        CHECK_EQ(draw(&other, 5), 5);
        close_it(&other);
        tell(&to_child);
        CHECK_EQ(end_of(child), 0);
        hang_up(&to_child), hang_up(&from_child);
    }
}

TEST(after_a_clone_reinit_frees_the_number_although_a_child_lives) {
    for (int same = 0; same < 2; same++) {
        begin();
        to_child = new_line(), from_child = new_line();
        CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
        CHECK_EQ(draw(&gen, 5), 5);
        const pid_t child = start_child(stay);
        CHECK(await_word(&from_child));
        flake_machine_cloned();
        CHECK_EQ(flake_reinit_after_fork(&gen, slot(same ? 7 : 8), NULL, &why), FLAKE_OK);
        CHECK_EQ(draw(&gen, 5), 5);
        CHECK_EQ(init_slot(&other, 7), same ? FLAKE_IN_USE : FLAKE_OK);
        tell(&to_child);
        CHECK_EQ(end_of(child), 0);
        close_it(&gen);
        close_it(&other);
        hang_up(&to_child), hang_up(&from_child);
    }
}

/* ---- a clone of the machine, whose directory is a copy ---- */

static const char *clones_dir;

static void go_on_with_a_range_of_its_own(void) {
    uint64_t id;
    flake_machine_cloned();
    EXPECT(flake_try(&gen, &id) == FLAKE_FORKED);
    EXPECT(flake_reinit_after_fork(&gen, flake_node_any(clones_dir, 100, 199), NULL, &why) == FLAKE_OK);
    EXPECT(flake_gen_node(&gen) == 100);
    EXPECT(draw(&gen, 20) == 20);
    EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
}

TEST(a_clone_takes_a_range_of_its_own) {
    char command[1200];
    CHECK_EQ(init_any(&gen, 0, 99), FLAKE_OK);
    CHECK_EQ(draw(&gen, 20), 20);
    clones_dir = path_of("copy");
    (void)snprintf(command, sizeof command, "mkdir '%s' && cp -p '%s'/*.slot '%s'", clones_dir, our_folder,
                   clones_dir);
    CHECK_EQ(system(command), 0);
    child_is_well(go_on_with_a_range_of_its_own);
    CHECK_EQ(draw(&gen, 20), 20);
    CHECK_EQ(our->n, 60);
    CHECK_EQ(repeated(), 0);
}

/* ---- shards ---- */

static void take_numbers_for_shards_anew(void) {
    const flake_options o = options_in_scene(), s = options_of_sno(scene_clock, NULL);
    for (int i = 0; i < 3; i++) {
        EXPECT(flake_reinit_after_fork(&shards[i], slot(9), &o, &why) == FLAKE_INVALID);
        EXPECT(strstr(why.text, "shard") != NULL);
        EXPECT(sno_reinit_after_fork(&sno_shards[i], slot(9), NULL, &s, &why) ==
               FLAKE_INVALID);
    }
    const int before = descriptors();
    EXPECT(flake_close(&shards[0], NULL) == FLAKE_OK);
    EXPECT(flake_close(&sno_shards[0].gen, NULL) == FLAKE_OK);
    EXPECT(descriptors() == before - 2);
    EXPECT(flake_init_shards(shards, 3, slot(9), &o, &why) == FLAKE_OK);
    EXPECT(sno_init_shards(sno_shards, 3, slot(10), NULL, &s, &why) == FLAKE_OK);
    for (int i = 0; i < 3; i++) {
        EXPECT(draw(&shards[i], 5) == 5);
        EXPECT(!sno_is_zero(next_sno(&sno_shards[i], 1)));
    }
    EXPECT(flake_close(&shards[0], NULL) == FLAKE_OK);
    EXPECT(flake_close(&sno_shards[0].gen, NULL) == FLAKE_OK);
}

TEST(shards_have_one_claim_held_by_the_first) {
    const flake_options o = options_in_scene(), s = options_of_sno(scene_clock, NULL);
    uint64_t id;
    sno_id of_sno;
    const int before = descriptors();
    CHECK_EQ(flake_init_shards(shards, 3, slot(7), &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_init_shards(sno_shards, 3, flake_node_any(our_folder, 8, 9), NULL, &s, NULL), FLAKE_OK);
    CHECK_EQ(descriptors(), before + 2);
    CHECK_EQ(init_slot(&gen, 7), FLAKE_IN_USE);
    CHECK_EQ(init_slot(&gen, 8), FLAKE_IN_USE);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(flake_gen_node(&shards[i]), 7);
        CHECK_EQ(flake_gen_node(&sno_shards[i].gen), 8);
        CHECK_EQ(draw(&shards[i], 5), 5);
        CHECK_EQ(sno_try(&sno_shards[i], 1, &of_sno), FLAKE_OK);
    }
    for (int i = 1; i < 3; i++) {
        CHECK_EQ(flake_close(&shards[i], &why), FLAKE_INVALID);
        CHECK_STR(why.text, "generator: is not the first shard, which has the number");
        CHECK_EQ(flake_extend(&shards[i], &why), FLAKE_INVALID);
        CHECK_EQ(flake_take_over(&shards[i], &why), FLAKE_INVALID);
        CHECK_EQ(flake_close(&sno_shards[i].gen, &why), FLAKE_INVALID);
        CHECK_EQ(flake_extend(&sno_shards[i].gen, &why), FLAKE_INVALID);
    }
    const int64_t horizon_ns = record_of(7).horizon_ns;
    pass_ms(100);
    CHECK_EQ(flake_extend(&shards[0], NULL), FLAKE_OK);
    CHECK(record_of(7).horizon_ns > horizon_ns);
    child_is_well(take_numbers_for_shards_anew);
    pass_ms(10000);
    for (int i = 0; i < 3; i++) CHECK_EQ(draw(&shards[i], 5), 5); /* each moves the horizon */
    close_it(&shards[0]);
    close_it(&sno_shards[0].gen);
    CHECK_EQ(descriptors(), before);
    pass_ms(4); /* a unit of either */
    for (int i = 0; i < 3; i++) {
        FAILS(flake_try(&shards[i], &id), FLAKE_CLOSED, id);
        FAILS(sno_try(&sno_shards[i], 1, &of_sno), FLAKE_CLOSED, of_sno);
    }
    CHECK_EQ(flake_init_shards(shards, 2, slot(7), &o, NULL), FLAKE_OK);
    for (int i = 0; i < 2; i++) CHECK_EQ(draw(&shards[i], 5), 5);
}

/* ---- extending by hand ---- */

static unsigned writes;
static bool count_writes(const char *name) {
    writes += strcmp(name, "write") == 0 || strcmp(name, "fdatasync") == 0;
    return true;
}

TEST(a_draw_writes_nothing_with_manual_extend) {
    uint64_t id;
    flake_options o = options_in_scene();
    o.manual_extend = true;
    CHECK_EQ(flake_init(&gen, slot(7), &o, NULL), FLAKE_OK);
    writes = 0;
    on_call = count_writes;
    unsigned drawn = 0;
    flake_status status;
    for (; (status = flake_try(&gen, &id)) == FLAKE_OK && drawn < 5000; pass_ms(1), drawn++) note(id);
    CHECK_EQ(status, FLAKE_NOT_EXTENDED);
    CHECK(drawn >= 2999 && drawn <= 3001);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_NOT_EXTENDED);
    CHECK_EQ(writes, 0);
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK);
    CHECK_EQ(writes, 2);
    CHECK_EQ(draw(&gen, 5), 5);
    CHECK_EQ(writes, 2);
}

/* ---- ranges ---- */

TEST(a_range_gives_the_lowest_free_number) {
    for (uint64_t i = 0; i < 3; i++) {
        CHECK_EQ(init_any(&many[i], 0, 2), FLAKE_OK);
        CHECK_EQ(flake_gen_node(&many[i]), i);
        CHECK_EQ(draw(&many[i], 5), 5);
    }
    CHECK_EQ(init_any(&many[3], 0, 2), FLAKE_IN_USE);
    CHECK_STR(why.text + strlen(our_folder), ": all numbers of the range are in use");
    close_it(&many[1]);
    CHECK_EQ(init_any(&many[3], 0, 2), FLAKE_OK);
    CHECK_EQ(flake_gen_node(&many[3]), 1);
    CHECK_EQ(init_any(&gen, 7, 1023), FLAKE_OK);
    CHECK_EQ(flake_gen_node(&gen), 7);
    CHECK_EQ(draw(&many[3], 5), 5);
}

TEST(ids_that_ran_ahead_are_not_repeated) {
    flake_options o = options_in_scene();
    o.max_ahead_ms = 15000, o.seq_max = 1;
    CHECK_EQ(flake_init(&gen, slot(1), &o, NULL), FLAKE_OK);
    CHECK_EQ(draw(&gen, 50000), 2 * 15001);
    const int64_t last_ms = ms_of(our->ids[our->n - 1]);
    CHECK_EQ(last_ms, start_ms + 15000);
    close_it(&gen);
    CHECK_EQ(init_any(&other, 1, 2), FLAKE_OK);
    CHECK_EQ(flake_gen_node(&other), 2); /* preferred */
    CHECK_EQ(flake_init(&gen, slot(1), &o, NULL), FLAKE_OK);
    CHECK(scene_ns() >= (last_ms + 1) * a_ms);
    CHECK(draw(&gen, 1000) > 0);
    CHECK_EQ(repeated(), 0);
}

TEST(a_backward_step_before_or_after_the_close_repeats_nothing) {
    for (int after = 0; after < 2; after++) {
        const int64_t back_ms = after ? 5 : 60000;
        begin();
        CHECK_EQ(init_slot(&gen, 0), FLAKE_OK);
        CHECK_EQ(draw(&gen, 5), 5);
        if (after) close_it(&gen);
        pass_ms(-back_ms);
        if (!after) close_it(&gen);
        CHECK_EQ(init_slot(&other, 0), FLAKE_CLOCK_BACKWARDS);
        CHECK_EQ(init_any(&other, 0, 1), FLAKE_OK);
        CHECK_EQ(flake_gen_node(&other), 1);
        pass_ms(back_ms);
        CHECK_EQ(init_slot(&third, 0), FLAKE_OK);
        CHECK_EQ(draw(&third, 10), 10);
        CHECK_EQ(our->n, 15);
        CHECK_EQ(repeated(), 0);
    }
}

static unsigned opens;

/* Another process begins the file while this one is about to. */
static bool make_it_first(const char *name) {
    if (strcmp(name, "open") == 0 && ++opens == 2) {
        on_call = NULL;
        CHECK_EQ(init_slot(&other, 0), FLAKE_OK);
    }
    return true;
}

TEST(a_number_that_another_process_creates_meanwhile_is_in_use) {
    opens = 0;
    on_call = make_it_first;
    CHECK_EQ(init_any(&gen, 0, 1), FLAKE_OK);
    CHECK_EQ(opens, 2);
    CHECK_EQ(flake_gen_node(&other), 0);
    CHECK_EQ(flake_gen_node(&gen), 1);
    CHECK_EQ(draw(&gen, 5), 5);
    CHECK_EQ(draw(&other, 5), 5);
}

/* ---- many lives of two numbers, some of them killed, on a clock that steps back now and then ---- */

static uint64_t random_state;

static void live_for_a_while(void) {
    static const int64_t aheads[] = {0, 40, 15000};
    flake_options o = options_in_scene();
    o.max_ahead_ms = aheads[random_below(&random_state, 3)];
    o.seq_max = o.max_ahead_ms < 1000 ? 9 : 1;
    o.horizon_ms = random_below(&random_state, 2) ? 0 : 50;
    const flake_status status = flake_init(&gen, flake_node_any(our_folder, 0, 1), &o, &why);
    if (status != FLAKE_OK) {
        EXPECT(status == FLAKE_CLOCK_BACKWARDS);
        return;
    }
    for (uint64_t rounds = 1 + random_below(&random_state, 20); rounds; rounds--) {
        (void)draw(&gen, (size_t)random_below(&random_state, 30));
        const uint64_t step = random_below(&random_state, 10);
        if (step < 7) pass_ms((int64_t)random_below(&random_state, 5));
        else if (step < 9) pass_ms((int64_t)random_below(&random_state, 300));
        else pass_ms(-(int64_t)random_below(&random_state, 300));
    }
    if (random_below(&random_state, 3) == 0) be_killed();
    EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
}

TEST(the_next_holder_of_a_number_repeats_nothing) {
    const unsigned seeds = small ? 5 : 25;
    for (uint64_t seed = 1; seed <= seeds && !check_failures; seed++) {
        begin();
        random_state = seed * 0x9e3779b97f4a7c15;
        for (int run = 0; run < 40; run++) {
            const size_t had = our->n;
            (void)in_child(live_for_a_while);
            (void)random_next(&random_state);
            random_state ^= (uint64_t)run << 32;
            const uint64_t step = random_below(&random_state, 8);
            if (our->n == had) pass_ms(1000);
            else if (step == 0) pass_ms(-(int64_t)random_below(&random_state, 2000));
            else pass_ms((int64_t)random_below(&random_state, 20) * (step == 1 ? 100 : 1));
        }
        CHECK(our->n > 1000);
        CHECK_EQ(repeated(), 0);
        if (check_failures) printf("  seed %" PRIu64 "\n", seed);
    }
}

/* ---- forks, clones, closes and inits in any order ---- */

static unsigned depth; /* of a process: its ancestors */
static void take_some_steps(void);

static void take_some_steps_one_deeper(void) {
    depth++;
    random_state ^= (uint64_t)depth << 40;
    for (unsigned k = 0; k < 3; k++) (void)draw(&many[k], 2); /* refused: they are the parent's */
    if (random_below(&random_state, 2)) take_some_steps();
    if (random_below(&random_state, 2)) be_killed();
}

static void take_a_step(void) {
    flake_gen *const g = &many[random_below(&random_state, 3)];
    const uint64_t number = random_below(&random_state, 4);
    const flake_node any = flake_node_any(our_folder, 0, 3);
    const flake_options o = options_in_scene();
    switch (random_below(&random_state, 16)) {
    case 0: (void)!init_slot(g, number); break; /* without a close: what it held stays locked */
    case 1: (void)!init_any(g, 0, 3); break;
    case 2: (void)!flake_reinit_after_fork(g, slot(number), NULL, NULL); break;
    case 3:
    case 4: (void)!flake_reinit_after_fork(g, any, NULL, NULL); break;
    case 5: flake_machine_cloned(); break;
    case 6:
    case 7:
        if (depth < 3) (void)in_child(take_some_steps_one_deeper);
        (void)random_next(&random_state);
        break;
    case 8:
        (void)flake_close(g, NULL);
        (void)!init_slot(g, number);
        break;
    case 9: (void)flake_close(g, NULL); break;
    case 10: (void)flake_extend(g, NULL); break;
    case 11:
        (void)flake_close(&shards[0], NULL);
        (void)!flake_init_shards(shards, 3, any, &o, NULL);
        break;
    case 12: (void)draw(&shards[number % 3], 5); break;
    default: (void)draw(g, 5); break;
    }
}

static void take_some_steps(void) {
    for (unsigned i = 0; i < 16; i++) {
        for (unsigned k = 0; k < 3; k++) take_a_step();
        for (unsigned k = 0; k < 3; k++) (void)draw(&many[k], 2);
        const uint64_t by = random_below(&random_state, 10);
        pass_ms(by < 8 ? (int64_t)by / 3 : by == 8 ? 2000 : -3);
    }
}

TEST(any_order_of_forks_clones_and_closes_repeats_nothing) {
    size_t all_ids = 0;
    for (uint64_t seed = 1; seed <= (small ? 100 : 2000) && !check_failures; seed++) {
        begin();
        random_state = seed * 0x9e3779b97f4a7c15;
        depth = 0;
        (void)in_child(take_some_steps_one_deeper);
        all_ids += our->n;
        CHECK_EQ(repeated(), 0);
        if (check_failures) printf("  seed %" PRIu64 "\n", seed);
    }
    CHECK(all_ids > 2000);
}

/* ---- a crowd ---- */

enum { crowd = small ? 20 : 60, claims = small ? 500 : 4000, numbers = 30 };

static struct holders {
    _Atomic(int) of[numbers]; /* pid; below 0: the process is about to die with it */
    _Atomic(int) clashes, claims, deaths, refused;
} * holders;

static int64_t fast_clock(void *user) { /* a ms a reading, so that a death has no effect for long */
    (void)user;
    return atomic_fetch_add(&our->now_ns, a_ms);
}

static void claim_again_and_again(void) {
    flake_options o = options_in_scene();
    o.clock.now_ns = fast_clock;
    o.horizon_ms = 10;
    while (atomic_load(&holders->claims) < claims) {
        const flake_status status = flake_init(&gen, flake_node_any(our_folder, 0, numbers - 1), &o, &why);
        if (status != FLAKE_OK) {
            if (status != FLAKE_IN_USE) atomic_fetch_add(&holders->refused, 1);
            continue;
        }
        const uint64_t number = flake_gen_node(&gen);
        if (atomic_exchange(&holders->of[number], (int)getpid()) > 0) atomic_fetch_add(&holders->clashes, 1);
        atomic_fetch_add(&holders->claims, 1);
        for (uint64_t spin = random_below(&random_state, 2000); spin; spin--) FLAKE_RELAX();
        const bool dies = random_below(&random_state, 50) == 0;
        if (atomic_exchange(&holders->of[number], dies ? -(int)getpid() : 0) != (int)getpid())
            atomic_fetch_add(&holders->clashes, 1);
        if (dies) {
            atomic_fetch_add(&holders->deaths, 1);
            be_killed();
        }
        if (flake_close(&gen, NULL) != FLAKE_OK) atomic_fetch_add(&holders->refused, 1);
    }
}

static void start_one(void) {
    (void)random_next(&random_state);
    (void)start_child(claim_again_and_again);
}

TEST(no_two_of_a_crowd_hold_one_number) {
    if (!words_reach_other_processes) return;
    holders = (struct holders *)map_shared("holders", sizeof *holders);
    random_state = 0x2545f4914f6cdd1d;
    for (unsigned i = 0; i < crowd; i++) start_one();
    for (unsigned left = crowd; left > 0;) {
        int status = 0;
        if (wait(&status) < 0) abort();
        if (WIFSIGNALED(status)) start_one();
        else left--;
    }
    CHECK_EQ(atomic_load(&holders->clashes), 0);
    CHECK_EQ(atomic_load(&holders->refused), 0);
    CHECK(atomic_load(&holders->deaths) > 2);
    CHECK(atomic_load(&holders->claims) >= claims);
}

int main(int argc, char **argv) {
    check_after = close_all;
    return scene_main(argc, argv);
}
