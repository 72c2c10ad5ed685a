/* SPDX-License-Identifier: MIT
 *
 * A number of a directory has one holder at a time (`>>directory` of flake.h), whichever process or copy of the header
 * asks for it; from init to close, or until its process and the children that inherited it have ended. What init, close
 * and reinit do with it, for single generators, shards and snos; many processes and few numbers.
 */
#define _GNU_SOURCE
#include "scripted_directory.h"

static flake_gen many[4], shards[3];
static sno_gen other_sno, sno_shards[3];

static void close_all(void) {
    end_scene();
    for (int i = 0; i < 4; i++) close_it(&many[i]);
    close_it(&shards[0]);
    close_it(&other_sno.gen);
    close_it(&sno_shards[0].gen);
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

/* Begins a run with number n, which draws five IDs. */
static void run_5(flake_gen *g, uint64_t n) {
    CHECK_EQ(init_slot(g, n), FLAKE_OK);
    CHECK_EQ(draw(g, 5), 5);
}

/* ---- one holder ---- */

static void find_7_in_use(void) {
    CHECK_EQ(init_slot(&other, 7), FLAKE_IN_USE);
    CHECK_STR(why.text + strlen(our_folder), "/7.slot: is in use, by this process or another");
    CHECK_EQ(init_range(&other, 7, 7), FLAKE_IN_USE);
    CHECK_EQ(init_range(&other, 7, 9), FLAKE_OK);
    CHECK_EQ(flake_gen_node(&other), 8);
    CHECK_EQ(flake_close(&other, NULL), FLAKE_OK);
    pass_ms(1);
}

TEST(a_number_has_one_holder) {
    uint64_t id;
    const int before = descriptors();
    CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
    CHECK_EQ(flake_gen_node(&gen), 7);
    CHECK_EQ(descriptors(), before + 1);
    find_7_in_use();
    for (int i = 0; i < 2; i++) IN_CHILD find_7_in_use(); /* the failed attempt has kept the lock */
    /* A POSIX record lock would be lost when any descriptor of its file is closed. */
    (void)close(open(slot_path(7), O_RDWR));
    IN_CHILD find_7_in_use();
    CHECK_EQ(draw(&gen, 5), 5);
    CHECK_EQ(init_slot(&other, 7), FLAKE_IN_USE);
    CHECK_EQ(flake_try(&other, &id), FLAKE_INVALID);
    close_it(&gen);
    pass_ms(1);
    for (int i = 0; i < 2; i++)
        IN_CHILD {
            CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
            CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
        }
    run_5(&other, 7);
    CHECK_EQ(descriptors(), before + 1);
}

/* Another copy of the header in this process has an owner id of its own. */
TEST(another_copy_of_the_header_finds_it_in_use) {
    CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
    flake_atomic64 *const page = atomic_load(&flake_i_process.page);
    atomic_store(&flake_i_process.page, NULL);
    CHECK_EQ(init_slot(&other, 7), FLAKE_IN_USE);
    atomic_store(&flake_i_process.page, page);
    CHECK_EQ(draw(&gen, 5), 5);
}

TEST(numbers_of_other_directories_are_others) {
    CHECK_EQ(init_in(&gen, path_of("orders"), 7), FLAKE_OK);
    CHECK_EQ(init_in(&other, path_of("users"), 7), FLAKE_OK);
    CHECK_EQ(draw(&gen, 5), 5);
}

/* ---- init does not read the old contents ---- */

TEST(init_does_not_read_what_the_memory_held) {
    enum { ZEROS, ONES, BYTES_OF_1, AN_OPEN_GENERATOR, contents };
    static flake_lane lanes[2];
    const flake_options o = options_in_scene(), s = options_of_sno(scene_clock, NULL);
    CHECK_EQ(init_slot(&third, 5), FLAKE_OK);
    const int before = descriptors();
    for (int held = 0; held < contents; held++) {
        const int fill = held == ONES ? 0xff : held == ZEROS ? 0 : 1;
        memset((void *)&gen, fill, sizeof gen);
        memset((void *)&sno, fill, sizeof sno);
        memset((void *)&other, fill, sizeof other);
        memset((void *)lanes, fill, sizeof lanes);
        memset((void *)shards, fill, sizeof shards);
        if (held == AN_OPEN_GENERATOR) memcpy((void *)&gen, (const void *)&third, sizeof gen);
        CHECK_EQ(flake_init(&gen, slot(1), &o, NULL), FLAKE_OK);
        CHECK_EQ(sno_init(&sno, slot(2), NULL, &s, NULL), FLAKE_OK);
        CHECK_EQ(flake_init(&other, slot(3), with_lanes(&o, lanes, 2), NULL), FLAKE_OK);
        CHECK_EQ(flake_init_shards(shards, 3, slot(4), &o, NULL), FLAKE_OK);
        CHECK_EQ(descriptors(), before + 4);
        CHECK(draw(&gen, 5) == 5 && draw(&other, 5) == 5 && draw(&shards[2], 5) == 5);
        CHECK(!sno_is_zero(next_sno(&sno, 1)));
        CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK);
        close_it(&gen);
        close_it(&sno.gen);
        close_it(&other);
        close_it(&shards[0]);
        CHECK_EQ(descriptors(), before);
        CHECK_EQ(draw(&third, 5), 5); /* which has its number still */
        CHECK_EQ(flake_extend(&third, NULL), FLAKE_OK);
        pass_ms(1600);
    }
    memset((void *)&gen, 0xff, sizeof gen);
    CHECK_EQ(flake_init(&gen, slot(5000), NULL, NULL), FLAKE_NODE_RANGE);
}

TEST(without_a_close_the_number_stays_locked_until_the_process_ends) {
    IN_CHILD {
        uint64_t id;
        run_5(&gen, 7);
        CHECK_EQ(init_slot(&gen, 7), FLAKE_IN_USE);
        CHECK(why_is_of(7) && strstr(why.text, "in use") != NULL);
        FAILS(flake_try(&gen, &id), FLAKE_INVALID, id);
        CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
        CHECK_EQ(init_slot(&gen, 8), FLAKE_OK); /* another number */
        CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
        CHECK_EQ(init_slot(&other, 7), FLAKE_IN_USE);
    }
    CHECK_EQ(init_slot(&gen, 8), FLAKE_OK);
    run_5(&other, 7);
}

/* ---- close ---- */

/* The number may have the next holder, and the descriptor may be another file's by then. */
TEST(a_second_close_does_nothing) {
    run_5(&gen, 7);
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

/* Its descriptor may be the next holder's, which has the same number and is of the same file; on a clock of ms both
 * claims may be of one time. */
TEST(a_copy_that_is_moved_back_does_not_close_the_next_holder) {
    static flake_gen copy;
    for (int is_later = 0; is_later < 2; is_later++) {
        begin();
        CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
        const int64_t claimed_ns = record_of(7).claimed_ns;
        memcpy((void *)&copy, (const void *)&gen, sizeof copy);
        pass_ms(is_later);
        close_it(&gen);
        CHECK_EQ(init_slot(&other, 7), FLAKE_OK);
        CHECK_EQ(record_of(7).claimed_ns > claimed_ns, is_later);
        const int before = descriptors();
        memcpy((void *)&gen, (const void *)&copy, sizeof gen);
        if (is_later) CHECK_EQ(flake_extend(&gen, NULL), FLAKE_MISMATCH);
        CHECK_EQ(flake_close(&gen, NULL), FLAKE_MISMATCH);
        CHECK_EQ(descriptors(), before);
        CHECK_EQ(init_slot(&third, 7), FLAKE_IN_USE);
        CHECK_EQ(draw(&other, 5), 5);
        pass_ms(10000);
        CHECK_EQ(draw(&other, 5), 5);
        close_it(&other);
    }
}

/* The path leads to the file of another holder of this process. */
TEST(a_close_after_its_file_was_deleted_leaves_no_descriptor) {
    const int before = descriptors();
    run_5(&gen, 7);
    CHECK_EQ(unlink(slot_path(7)), 0);
    pass_ms(10000);
    CHECK_EQ(init_slot(&other, 7), FLAKE_OK);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_MISMATCH);
    close_it(&other);
    CHECK_EQ(descriptors(), before);
}

/* The program has closed the descriptor, the next holder has it now, and no file can be opened. */
TEST(a_close_that_opens_nothing_does_not_close_the_next_holder) {
    run_5(&gen, 7);
    CHECK_EQ((close)(gen.claim.file.fd), 0);
    CHECK_EQ(init_slot(&other, 7), FLAKE_OK);
    CHECK_EQ(other.claim.file.fd, gen.claim.file.fd);
    trap = (struct trap){.name = "open", .error = EMFILE};
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_MISMATCH);
    memset(&trap, 0, sizeof trap);
    CHECK_EQ(init_slot(&third, 7), FLAKE_IN_USE);
    pass_ms(10000);
    CHECK_EQ(draw(&other, 5), 5);
}

/* Daemons close all that they inherit. */
TEST(a_descriptor_that_the_program_closed_is_noticed) {
    IN_CHILD {
        uint64_t id;
        uint8_t bytes[FLAKE_I_FILE], later[FLAKE_I_FILE];
        run_5(&gen, 7);
        CHECK_EQ(read_file(slot_path(7), bytes, sizeof bytes), sizeof bytes);
        write_file(path_of("bystander"), bytes, sizeof bytes); /* it might pass for the file */
        for (int fd = 3; fd < 256; fd++) (void)(close)(fd);
        const int bystander = (open)(path_of("bystander"), O_RDWR); /* has the same number */
        CHECK_EQ(bystander, 3);
        CHECK_EQ(flake_extend(&gen, &why), FLAKE_MISMATCH);
        pass_ms(1);
        CHECK_EQ(flake_try(&gen, &id), FLAKE_MISMATCH);
        CHECK_EQ(init_slot(&other, 7), FLAKE_OK); /* after the old one's horizon */
        CHECK_EQ(draw(&other, 5), 5);
        const uint64_t written = record_of(7).number;
        CHECK_EQ(flake_close(&gen, &why), FLAKE_MISMATCH);
        CHECK_EQ(flake_close(&gen, &why), FLAKE_OK);
        CHECK_EQ(pread(bystander, later, sizeof later, 0), sizeof later);
        CHECK(memcmp(bytes, later, sizeof bytes) == 0);
        CHECK_EQ(record_of(7).number, written);
        CHECK_EQ(init_slot(&third, 7), FLAKE_IN_USE);
        CHECK_EQ(draw(&other, 5), 5);
    }
    CHECK_EQ(repeated(), 0);
}

/* ---- reinit ---- */

static void find_7_still_locked(void) { CHECK_EQ(init_slot(&third, 7), FLAKE_IN_USE); }

/* The number that a child inherited is free when the parent has ended and the child has another one: at no moment is
 * the child without a number. */
TEST(a_failed_reinit_keeps_the_inherited_number_and_another_one_drops_it) {
    const wire to_child = new_line(), from_child = new_line();
    CHECK_EQ(init_slot(&other, 8), FLAKE_OK);
    IN_KILLED_CHILD {
        pid_t child;
        run_5(&gen, 7);
        IN_CHILD_AS(child) {
            uint64_t id;
            const int before = descriptors();
            CHECK_EQ(flake_try(&gen, &id), FLAKE_FORKED);
            CHECK_EQ(flake_reinit_after_fork(&gen, slot(8), NULL, &why), FLAKE_IN_USE);
            CHECK_EQ(flake_reinit_after_fork(&gen, slot(5000), NULL, &why), FLAKE_NODE_RANGE);
            CHECK_EQ(descriptors(), before); /* 7 is still inherited */
            CHECK_EQ(flake_try(&gen, &id), FLAKE_FORKED);
            tell(&from_child);
            (void)await_word(&to_child);
            trap = (struct trap){.name = "rename", .act = find_7_still_locked}; /* 9.slot gets its name: it is locked */
            CHECK_EQ(flake_reinit_after_fork(&gen, slot(9), NULL, &why), FLAKE_OK);
            CHECK_EQ(trap.calls, 1);
            CHECK_EQ(descriptors(), before); /* one opened, one closed */
            pass_ms(1);
            CHECK_EQ(draw(&gen, 5), 5);
            tell(&from_child);
            (void)await_word(&to_child);
            CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
        }
        (void)await_word(&from_child);
        be_killed();
    }
    CHECK_EQ(init_slot(&third, 7), FLAKE_IN_USE);
    tell(&to_child);
    CHECK(await_word(&from_child));
    CHECK_EQ(init_slot(&third, 7), FLAKE_OK);
    CHECK_EQ(init_slot(&many[0], 9), FLAKE_IN_USE);
    CHECK_EQ(draw(&third, 5), 5);
    tell(&to_child);
    hang_up(&to_child), hang_up(&from_child);
}

/* As by daemon(3): the child takes a lock of its own, for which it drops the inherited one. It tries already while its
 * parent lives, or at once when that has ended; with the descriptors closed, as daemons do, reinit or another
 * generator's init takes it. */
TEST(a_daemon_continues_with_the_number_of_its_parent) {
    enum { TRIES_FIRST, AT_ONCE, CLOSES_ALL, CLOSES_ALL_AND_INITS, ways };
    for (int way = 0; way < ways; way++) {
        begin();
        const wire to_child = new_line(), from_child = new_line();
        IN_CHILD {
            pid_t child;
            run_5(&gen, 7);
            IN_CHILD_AS(child) {
                flake_gen *const holder = way == CLOSES_ALL_AND_INITS ? &other : &gen;
                const int before = descriptors();
                uint64_t id;
                if (way == TRIES_FIRST) {
                    CHECK_EQ(flake_reinit_after_fork(&gen, slot(7), NULL, &why), FLAKE_IN_USE);
                    CHECK_EQ(flake_try(&gen, &id), FLAKE_FORKED);
                    CHECK_EQ(flake_reinit_after_fork(&gen, range(7, 7), NULL, &why), FLAKE_IN_USE);
                    tell(&from_child);
                }
                if (way >= CLOSES_ALL) CHECK_EQ((close)(gen.claim.file.fd), 0);
                (void)await_word(&to_child); /* the parent has ended */
                if (holder == &gen) CHECK_EQ(flake_reinit_after_fork(&gen, slot(7), NULL, &why), FLAKE_OK);
                else {
                    CHECK_EQ(init_slot(&other, 7), FLAKE_OK);
                    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
                }
                CHECK_EQ(descriptors(), before);
                CHECK_EQ(init_slot(&third, 7), FLAKE_IN_USE);
                CHECK_EQ(draw(holder, 5), 5);
                CHECK_EQ(flake_extend(holder, NULL), FLAKE_OK);
                tell(&from_child);
                (void)await_word(&to_child);
                CHECK_EQ(flake_close(holder, NULL), FLAKE_OK);
            }
            if (way == TRIES_FIRST) {
                (void)await_word(&from_child);
                CHECK_EQ(draw(&gen, 5), 5); /* the parent, too, until it ends */
            }
        }
        tell(&to_child);
        CHECK(await_word(&from_child));
        CHECK_EQ(our->n, way == TRIES_FIRST ? 15 : 10);
        CHECK_EQ(init_slot(&other, 7), FLAKE_IN_USE);
        tell(&to_child);
        hang_up(&to_child), hang_up(&from_child);
    }
}

TEST(only_a_number_without_a_directory_is_compared_with_the_parents) {
    const flake_options o = options_in_scene(), s = options_of_sno(scene_clock, NULL);
    CHECK_EQ(flake_init(&gen, slot(7), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_init(&other, flake_node_fixed(NULL, 5), &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&sno, slot(6), NULL, &s, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&other_sno, flake_node_fixed(NULL, 5), NULL, &s, NULL), FLAKE_OK);
    IN_CHILD {
        const char *const own = path_of("own");
        const flake_node around = flake_node_any(own, 3, 6), beside = flake_node_any(own, 6, 9);
        CHECK_EQ(flake_reinit_after_fork(&gen, flake_node_fixed(NULL, 7), &o, &why), FLAKE_NODE_OVERLAP);
        CHECK_EQ(flake_reinit_after_fork(&other, flake_node_fixed(NULL, 5), &o, &why), FLAKE_NODE_OVERLAP);
        CHECK_EQ(sno_reinit_after_fork(&sno, flake_node_fixed(NULL, 6), NULL, &s, &why), FLAKE_NODE_OVERLAP);
        CHECK_EQ(flake_reinit_after_fork(&other, around, &o, &why), FLAKE_NODE_OVERLAP);
        CHECK_EQ(flake_reinit_after_fork(&other, beside, &o, &why), FLAKE_OK);
        CHECK_EQ(flake_gen_node(&other), 6);
        CHECK_EQ(sno_reinit_after_fork(&other_sno, around, NULL, &s, &why), FLAKE_NODE_OVERLAP);
        CHECK_EQ(flake_close(&other, NULL), FLAKE_OK);
        CHECK_EQ(sno_reinit_after_fork(&other_sno, beside, NULL, &s, &why), FLAKE_OK);
        CHECK_EQ(sno_gen_partition(&other_sno), 6);
        CHECK_EQ(flake_close(&other_sno.gen, NULL), FLAKE_OK);
        /* another directory has this number for the child alone */
        CHECK_EQ(flake_reinit_after_fork(&gen, flake_node_fixed(own, 7), &o, &why), FLAKE_OK);
        CHECK_EQ(sno_reinit_after_fork(&sno, flake_node_fixed(own, 6), NULL, &s, &why), FLAKE_OK);
        CHECK(flake_gen_node(&gen) == 7 && sno_gen_partition(&sno) == 6);
        CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
        CHECK_EQ(flake_close(&sno.gen, NULL), FLAKE_OK);
    }
    for (uint64_t n = 6; n <= 7; n++) CHECK_EQ(init_slot(&third, n), FLAKE_IN_USE); /* the parent's lock is left */
    CHECK_EQ(draw(&gen, 5), 5);
}

TEST(a_close_in_a_child_only_drops_what_it_inherited) {
    const flake_options s = options_of_sno(scene_clock, NULL);
    CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
    CHECK_EQ(sno_init(&sno, slot(8), NULL, &s, NULL), FLAKE_OK);
    CHECK_EQ(draw(&gen, 5), 5);
    const uint64_t written = record_of(7).number;
    IN_CHILD {
        uint64_t id;
        const int before = descriptors();
        for (int i = 0; i < 2; i++) {
            CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
            CHECK_EQ(descriptors(), before - 1);
        }
        CHECK_EQ(flake_close(&sno.gen, NULL), FLAKE_OK);
        CHECK_EQ(descriptors(), before - 2);
        CHECK(flake_try(&gen, &id) == FLAKE_CLOSED || flake_try(&gen, &id) == FLAKE_FORKED);
        CHECK_EQ(init_slot(&other, 7), FLAKE_IN_USE); /* the parent has it */
        CHECK_EQ(flake_reinit_after_fork(&gen, slot(9), NULL, &why), FLAKE_OK);
        CHECK_EQ(draw(&gen, 5), 5);
        CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
    }
    CHECK_EQ(record_of(7).number, written);
    CHECK_EQ(init_slot(&other, 7), FLAKE_IN_USE);
    CHECK_EQ(draw(&gen, 5), 5);
    CHECK(!sno_is_zero(next_sno(&sno, 1)));
}

/* Which may be the other clone's, too. */
TEST(a_close_after_a_clone_of_the_machine_leaves_the_file_unchanged) {
    static uint8_t before[FLAKE_I_FILE + 1], after[FLAKE_I_FILE + 1];
    run_5(&gen, 7);
    CHECK_EQ(read_file(slot_path(7), before, sizeof before), FLAKE_I_FILE);
    flake_machine_cloned();
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
    CHECK_EQ(read_file(slot_path(7), after, sizeof after), FLAKE_I_FILE);
    CHECK(memcmp(before, after, sizeof before) == 0);
}

/* Which inherited it. */
TEST(close_frees_the_number_although_a_child_lives_and_after_a_clone_so_does_reinit) {
    enum { CLOSED, CLONED_AND_CLOSED, CLONED_TO_8, CLONED_TO_7, cases };
    for (int i = 0; i < cases; i++) {
        const wire to_child = new_line();
        pid_t child;
        uint64_t id;
        begin();
        run_5(&gen, 7);
        IN_CHILD_AS(child) (void)await_word(&to_child);
        if (i != CLOSED) flake_machine_cloned();
        CHECK_EQ(flake_try(&gen, &id), i == CLOSED ? FLAKE_OK : FLAKE_FORKED);
        if (i <= CLONED_AND_CLOSED) close_it(&gen);
        else {
            CHECK_EQ(flake_reinit_after_fork(&gen, slot(i == CLONED_TO_8 ? 8 : 7), NULL, &why), FLAKE_OK);
            CHECK_EQ(draw(&gen, 5), 5);
        }
        CHECK_EQ(init_slot(&other, 7), i == CLONED_TO_7 ? FLAKE_IN_USE : FLAKE_OK);
        if (i != CLONED_TO_7) CHECK_EQ(draw(&other, 5), 5);
        tell(&to_child);
        CHECK_EQ(end_of(child), 0);
        hang_up(&to_child);
    }
}

TEST(shards_have_one_claim_held_by_the_first) {
    static sno_gen other_shards[2];
    const flake_options o = options_in_scene(), s = options_of_sno(scene_clock, NULL);
    uint64_t id;
    sno_id of_sno;
    const int before = descriptors();
    CHECK_EQ(flake_init_shards(shards, 3, slot(7), &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_init_shards(sno_shards, 3, range(8, 9), NULL, &s, NULL), FLAKE_OK);
    CHECK_EQ(descriptors(), before + 2);
    CHECK_EQ(init_slot(&gen, 7), FLAKE_IN_USE);
    CHECK_EQ(init_slot(&gen, 8), FLAKE_IN_USE);
    CHECK_EQ(flake_init_shards(many, 2, slot(7), &o, NULL), FLAKE_IN_USE);
    CHECK_EQ(flake_try(&many[1], &id), FLAKE_INVALID);
    CHECK_EQ(sno_init_shards(other_shards, 2, slot(8), NULL, &s, NULL), FLAKE_IN_USE);
    CHECK_EQ(sno_try(&other_shards[1], 1, &of_sno), FLAKE_INVALID);
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
    IN_CHILD { /* takes numbers for its shards anew */
        for (int i = 0; i < 3; i++) {
            CHECK_EQ(flake_reinit_after_fork(&shards[i], slot(9), &o, &why), FLAKE_INVALID);
            CHECK(strstr(why.text, "shard") != NULL);
            CHECK_EQ(sno_reinit_after_fork(&sno_shards[i], slot(9), NULL, &s, &why), FLAKE_INVALID);
        }
        const int inherited = descriptors();
        CHECK_EQ(flake_close(&shards[0], NULL), FLAKE_OK);
        CHECK_EQ(flake_close(&sno_shards[0].gen, NULL), FLAKE_OK);
        CHECK_EQ(descriptors(), inherited - 2);
        CHECK_EQ(flake_init_shards(shards, 3, slot(9), &o, &why), FLAKE_OK);
        CHECK_EQ(sno_init_shards(sno_shards, 3, slot(10), NULL, &s, &why), FLAKE_OK);
        for (int i = 0; i < 3; i++) {
            CHECK_EQ(draw(&shards[i], 5), 5);
            CHECK(!sno_is_zero(next_sno(&sno_shards[i], 1)));
        }
        CHECK_EQ(flake_close(&shards[0], NULL), FLAKE_OK);
        CHECK_EQ(flake_close(&sno_shards[0].gen, NULL), FLAKE_OK);
    }
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

/* Another process begins the file while this one is about to. */
static void make_it_first(void) { CHECK_EQ(init_slot(&other, 0), FLAKE_OK); }

TEST(a_number_that_another_process_creates_meanwhile_is_in_use) {
    trap = (struct trap){.name = "open", .from = 2, .n = 1, .act = make_it_first};
    CHECK_EQ(init_range(&gen, 0, 1), FLAKE_OK);
    CHECK_EQ(flake_gen_node(&other), 0);
    CHECK_EQ(flake_gen_node(&gen), 1);
    CHECK_EQ(draw(&gen, 5), 5);
    CHECK_EQ(draw(&other, 5), 5);
}

/* ---- forks, clones, closes, deaths, take-overs and inits in any order, on a clock that steps back ---- */

static uint64_t random_state;

/* What processes share: a generator, and how often they have taken it over, extended it, begun it and drawn from it. */
static struct common {
    flake_gen gen;
    _Atomic(unsigned) takes, extends, begins, draws;
} * common;

/* Some run ahead of the clock, or have a short horizon. */
static flake_options some_options(void) {
    static const int64_t aheads[] = {0, 0, 40, 15000};
    flake_options o = options_in_scene();
    o.max_ahead_ms = aheads[random_below(&random_state, 4)];
    if (o.max_ahead_ms) o.seq_max = o.max_ahead_ms < 1000 ? 9 : 1;
    if (random_below(&random_state, 4) == 0) o.horizon_ms = 50;
    return o;
}

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
    const uint64_t number = random_below(&random_state, 5);
    const flake_node any = range(0, 3);
    const flake_options o = some_options();
    flake_options shared = o;
    shared.shared_memory = true;
    switch (random_below(&random_state, words_reach_other_processes ? 26 : 16)) {
    case 0: (void)!init_with(g, slot(number), o); break; /* without a close: what it held stays locked */
    case 1: (void)!init_with(g, any, o); break;
    case 2: (void)!flake_reinit_after_fork(g, slot(number), NULL, NULL); break;
    case 3:
    case 4: (void)!flake_reinit_after_fork(g, any, NULL, NULL); break;
    case 5: flake_machine_cloned(); break;
    case 6:
    case 7:
        if (depth < 3) (void)end_of(begin_child(take_some_steps_one_deeper));
        (void)random_next(&random_state);
        break;
    case 8:
        (void)flake_close(g, NULL);
        (void)!init_with(g, slot(number), o);
        break;
    case 9: (void)flake_close(g, NULL); break;
    case 10: (void)flake_extend(g, NULL); break;
    case 11:
        (void)flake_close(&shards[0], NULL);
        (void)!flake_init_shards(shards, 3, any, &o, NULL);
        break;
    case 12: (void)draw(&shards[number % 3], 5); break;
    case 16:
    case 17:
    case 18: common->takes += flake_take_over(&common->gen, NULL) == FLAKE_OK; break;
    case 19: common->extends += flake_extend(&common->gen, NULL) == FLAKE_OK; break;
    case 20:
        if (random_below(&random_state, 3) == 0) (void)flake_close(&common->gen, NULL);
        break;
    case 21:
    case 22:
        if (draw(&common->gen, 1) == 1) break;
        (void)flake_close(&common->gen, NULL);
        common->begins += init_with(&common->gen, slot(4), shared) == FLAKE_OK;
        break;
    case 23:
        if (init_slot(&other, 4) != FLAKE_OK) break; /* another run of the number */
        (void)draw(&other, 3);
        close_it(&other);
        break;
    case 24:
    case 25: common->draws += (unsigned)draw(&common->gen, 3); break;
    default: (void)draw(g, 1 + (size_t)random_below(&random_state, 30)); break;
    }
}

static void take_some_steps(void) {
    for (unsigned i = 0; i < 16; i++) {
        for (unsigned k = 0; k < 3; k++) take_a_step();
        for (unsigned k = 0; k < 3; k++) (void)draw(&many[k], 2);
        const uint64_t by = random_below(&random_state, 10);
        pass_ms(by < 8 ? (int64_t)by / 3 : by == 8 ? 2000 : -(int64_t)random_below(&random_state, 300));
    }
}

TEST(any_order_of_forks_clones_closes_and_take_overs_repeats_nothing) {
    size_t all_ids = 0;
    common = (struct common *)map_shared("common", sizeof *common);
    for (uint64_t seed = 1; seed <= (small ? 150 : 2500) && !check_failures; seed++) {
        begin();
        memset((void *)&common->gen, 0, sizeof common->gen);
        random_state = seed * 0x9e3779b97f4a7c15;
        depth = 0;
        (void)end_of(begin_child(take_some_steps_one_deeper));
        all_ids += our->n;
        CHECK_EQ(repeated(), 0);
        if (check_failures) printf("  seed %" PRIu64 "\n", seed);
    }
    CHECK(all_ids > 2000);
    if (words_reach_other_processes)
        CHECK(common->takes > 5 && common->extends > 5 && common->begins > 50 && common->draws > 500);
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
        const flake_status status = flake_init(&gen, range(0, numbers - 1), &o, &why);
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
    (void)begin_child(claim_again_and_again);
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
