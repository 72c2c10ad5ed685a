/* SPDX-License-Identifier: MIT
 *
 * Generators in memory that processes share, related by fork or not, with a number of a directory (shared_memory and
 * flake_take_over in flake.h, `>>directory`): the process that called init extends the horizon, and all draws stop
 * there. When that process has died, another one takes over and all continue. A peer is this program started anew, with
 * the memory at another address.
 */
#define _GNU_SOURCE
#include "process_scene.h"
/* No pointer to a function: a peer has it at another address. */
#define FLAKE_CLOCK_NS(kind) ((void)(kind), scene_clock(NULL))
#include "scripted_directory.h"

static struct shared {
    flake_gen gen;
    flake_gen shards[2];
    flake_lane lane[2];
    flake_gen lanes;
} * all; /* what processes share */

static const char *program;

/* ---- what a process does ---- */

static flake_options shared_options(void) {
    flake_options o = options_of_flake(0, 0, NULL, NULL);
    o.shared_memory = true;
    o.start_this_unit = true;
    o.max_wait_ms = 20;
    return o;
}

/* Its clock does not use `user`. */
static flake_status init_with_user(void *user) {
    flake_options o = shared_options();
    o.clock.user = user;
    return init_with(&all->gen, slot(1), o);
}
static flake_status init_it(void) { return init_with_user(NULL); }

static flake_status take_it_over(void) {
    memset(&why, 0, sizeof why);
    return flake_take_over(&all->gen, &why);
}

static flake_status draw_one(void) {
    uint64_t id;
    const flake_status status = flake_try(&all->gen, &id);
    if (status == FLAKE_OK) note(id);
    return status;
}

static flake_status extend(void) { return flake_extend(&all->gen, NULL); }

/* ---- peers ---- */

static void draws_up_to_the_horizon(void) {
    uint64_t id;
    trap = (struct trap){.name = "write"};
    flake_status status = FLAKE_OK;
    for (int i = 0; i < 5000 && (status = draw_one()) == FLAKE_OK; i++) pass_ms(1);
    CHECK_EQ(status, FLAKE_NOT_EXTENDED);
    const unsigned sleeps = atomic_load(&our->sleeps);
    CHECK_EQ(flake_next(&all->gen, &id), FLAKE_NOT_EXTENDED); /* no process extends it */
    CHECK(atomic_load(&our->sleeps) - sleeps <= 20);
    CHECK_EQ(trap.calls, 0);
}

static void draws_one(void) { CHECK_EQ(draw_one(), FLAKE_OK); }
static void finds_it_closed(void) {
    CHECK_EQ(draw_one(), FLAKE_CLOSED);
    CHECK_EQ(extend(), FLAKE_CLOSED);
    CHECK_EQ(take_it_over(), FLAKE_CLOSED);
}
static void finds_that_a_write_failed(void) { CHECK_EQ(draw_one(), FLAKE_IO); }

static void is_not_the_holder(void) {
    static flake_gen own;
    const uint64_t number = record_of(1).number;
    CHECK_EQ(extend(), FLAKE_INVALID);
    CHECK_EQ(take_it_over(), FLAKE_IN_USE);
    CHECK(why_is_of(1) && strstr(why.text, "in use") != NULL);
    CHECK_EQ(extend(), FLAKE_INVALID);
    CHECK_EQ(init_slot(&own, 1), FLAKE_IN_USE);
    CHECK_EQ(flake_close(&all->gen, NULL), FLAKE_OK); /* drops what it inherited, if it is a child */
    CHECK_EQ(flake_close(&all->gen, NULL), FLAKE_OK);
    CHECK_EQ(extend(), FLAKE_INVALID);
    CHECK_EQ(take_it_over(), FLAKE_IN_USE);
    CHECK_EQ(record_of(1).number, number);
    CHECK_EQ(draw_one(), FLAKE_OK);
}

static flake_status hold(void) { return all->gen.kind ? take_it_over() : init_it(); }

static void holds_draws_and_is_killed(void) {
    CHECK_EQ(hold(), FLAKE_OK);
    for (int i = 0; i < 4000; i++, pass_ms(1)) {
        if (i % 1000 == 0) CHECK_EQ(extend(), FLAKE_OK);
        CHECK_EQ(draw_one(), FLAKE_OK);
    }
    be_killed();
}

/* As a signal handler of this thread: this process is not the holder yet, but already the writer. */
static void use_it_meanwhile(void) {
    const int writes = disk.calls;
    CHECK_EQ(extend(), FLAKE_INVALID);
    CHECK_EQ(flake_close(&all->gen, NULL), FLAKE_AGAIN);
    CHECK_EQ(disk.calls, writes);
}

static void takes_over(void) {
    const unsigned sleeps = atomic_load(&our->sleeps);
    trap = (struct trap){.name = "write", .act = use_it_meanwhile};
    CHECK_EQ(take_it_over(), FLAKE_OK);
    CHECK(trap.calls > 0);
    disk_begin();
    CHECK_EQ(atomic_load(&our->sleeps), sleeps);
    CHECK_EQ(take_it_over(), FLAKE_IN_USE); /* by this process itself */
    CHECK_EQ(record_of(1).pid, (uint64_t)getpid());
    CHECK_EQ(draw_one(), FLAKE_OK);
    pass_ms(2000);
    CHECK_EQ(extend(), FLAKE_OK);
    pass_ms(2900);
    CHECK_EQ(draw_one(), FLAKE_OK);
}

/* Of each lane, one after the other. */
static void draws_from_each_lane(void) {
    uint64_t id;
    for (unsigned i = 0; i < 2; i++) {
        const bool finds_it = flake_i_claim_of(&all->lane[i].engine) == &all->lanes.claim;
        CHECK(finds_it);
        if (!finds_it) return; /* a draw by other data might wait for ever */
        for (unsigned k = 0; k < 256; k++) flake_i_lanes_map(&all->lanes.lanes, k, i + 1);
        CHECK_EQ(flake_try(&all->lanes, &id), FLAKE_OK);
        note(id);
    }
}

static void draws_from_no_lane(void) {
    uint64_t id;
    CHECK_EQ(flake_try(&all->lanes, &id), FLAKE_NOT_EXTENDED);
}

#define ROLE(name) \
    { #name, name }
static const struct role {
    const char *name;
    void (*play)(void);
} roles[] = {ROLE(draws_up_to_the_horizon),   ROLE(draws_one),
             ROLE(finds_that_a_write_failed), ROLE(is_not_the_holder),
             ROLE(draws_from_each_lane),      ROLE(draws_from_no_lane),
             ROLE(holds_draws_and_is_killed), ROLE(takes_over),
             ROLE(finds_it_closed)};

static const char *role_at_hand;

static void play(const char *name) {
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(roles[i].name, name) == 0) roles[i].play();
}

/* Starts the program anew; if that is unavailable, as under some emulators, this process continues
 * with the memory at another address. */
static void be_a_peer(void) {
    char *const arguments[] = {(char *)(uintptr_t)program,
                               (char *)(uintptr_t) "--peer",
                               folder,
                               our_folder,
                               (char *)(uintptr_t)role_at_hand,
                               NULL};
    (void)execv(program, arguments);
    void *again = map_shared("all", sizeof *all);
    CHECK(again != (void *)all);
    (void)munmap(all, sizeof *all);
    all = (struct shared *)again;
    play(role_at_hand);
}

static int peer_main(char **argv) {
    (void)snprintf(folder, sizeof folder, "%s", argv[2]);
    (void)snprintf(our_folder, sizeof our_folder, "%s", argv[3]);
    (void)map_shared("all", sizeof *all); /* so that what follows is elsewhere */
    our = (scene *)map_shared("scene", sizeof *our);
    all = (struct shared *)map_shared("all", sizeof *all);
    check_failed = scene_failed;
    play(argv[4]);
    return 0;
}

static int as_peer(const char *role) {
    role_at_hand = role;
    return end_of(begin_child(be_a_peer));
}

static void peer_plays(const char *role) { CHECK_EQ(as_peer(role), 0); }

static void begin_shared(void) {
    begin();
    if (!all) all = (struct shared *)map_shared("all", sizeof *all);
    memset((void *)all, 0, sizeof *all);
}

/* ---- the holder lives ---- */

TEST(the_holder_extends_and_all_draw) {
    begin_shared();
    CHECK_EQ(init_it(), FLAKE_OK);
    CHECK(flake_gen_options(&all->gen)->manual_extend);
    peer_plays("is_not_the_holder");
    IN_CHILD is_not_the_holder();
    CHECK_EQ(draw_one(), FLAKE_OK);
    peer_plays("draws_up_to_the_horizon");
    CHECK_EQ(draw_one(), FLAKE_NOT_EXTENDED);
    CHECK_EQ(extend(), FLAKE_OK);
    peer_plays("draws_one");
    CHECK_EQ(draw_one(), FLAKE_OK);
    static flake_gen elsewhere; /* a copy is refused, too, although copies of shared memory are not detected */
    memcpy((void *)&elsewhere, (const void *)&all->gen, sizeof elsewhere);
    CHECK_EQ(flake_extend(&elsewhere, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_close(&elsewhere, NULL), FLAKE_INVALID);
    pass_ms(10000);
    disk_fail(1, 100);
    CHECK_EQ(extend(), FLAKE_IO);
    disk_begin();
    CHECK_EQ(draw_one(), FLAKE_IO);
    peer_plays("finds_that_a_write_failed");
    CHECK_EQ(extend(), FLAKE_OK);
    peer_plays("draws_one");
    CHECK_EQ(repeated(), 0);
    close_it(&all->gen);
    pass_ms(1);
    CHECK_EQ(draw_one(), FLAKE_CLOSED);
    peer_plays("finds_it_closed");
}

TEST(lanes_stop_at_the_horizon_too) {
    begin_shared();
    const flake_options o = shared_options();
    CHECK_EQ(flake_init(&all->lanes, slot(1), with_lanes(&o, all->lane, 2), NULL), FLAKE_OK);
    draws_from_each_lane();
    peer_plays("draws_from_each_lane");
    pass_ms(10000);
    peer_plays("draws_from_no_lane");
    CHECK_EQ(flake_extend(&all->lanes, NULL), FLAKE_OK);
    peer_plays("draws_from_each_lane");
    CHECK_EQ(repeated(), 0);
    close_it(&all->lanes);
}

/* ---- the holder is killed ---- */

TEST(another_process_takes_over) {
    begin_shared();
    CHECK(WIFSIGNALED(as_peer("holds_draws_and_is_killed")));
    CHECK_EQ(draw_one(), FLAKE_OK); /* some horizon is left */
    for (int i = 0; i < 3; i++) {
        CHECK(WIFSIGNALED(as_peer("holds_draws_and_is_killed")));
        peer_plays("takes_over"); /* and ends without a close */
    }
    CHECK_EQ(take_it_over(), FLAKE_OK);
    CHECK_EQ(draw_one(), FLAKE_OK);
    close_it(&all->gen);
    CHECK_EQ(take_it_over(), FLAKE_CLOSED);
    CHECK(our->n > 16000);
}

TEST(take_over_refuses_what_has_no_dead_holder) {
    begin_shared();
    CHECK_EQ(take_it_over(), FLAKE_INVALID); /* zero */
    CHECK_STR(why.text, "generator: is not initialised");
    const flake_options o = shared_options();
    CHECK_EQ(flake_init(&all->gen, flake_node_fixed(NULL, 1), &o, NULL), FLAKE_OK);
    CHECK_EQ(take_it_over(), FLAKE_INVALID); /* no directory */
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    CHECK_EQ(flake_take_over(&gen, &why), FLAKE_INVALID); /* not in shared memory */
    CHECK_STR(why.text, "generator: needs a directory, and shared_memory");
    close_it(&gen);
    CHECK_EQ(init_it(), FLAKE_OK);
    CHECK_EQ(take_it_over(), FLAKE_IN_USE);
    CHECK_STR(why.text, "generator: this process is the holder");
    CHECK_EQ(flake_init_shards(all->shards, 2, slot(2), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_take_over(&all->shards[1], &why), FLAKE_INVALID);
    close_it(&all->gen);
    close_it(&all->shards[0]);
    CHECK_EQ(flake_take_over(&all->shards[0], &why), FLAKE_CLOSED);
    CHECK_EQ(draw_one(), FLAKE_CLOSED);
}

TEST(killed_at_each_call_of_an_extension) {
    begin_shared();
    for (int kill_at = 1; kill_at < 14; kill_at++) {
        IN_KILLED_CHILD {
            CHECK_EQ(all->gen.kind ? take_it_over() : init_with_user(&kill_at), FLAKE_OK); /* the child's variable */
            CHECK_EQ(draw_one(), FLAKE_OK);
            pass_ms(2500);
            trap = (struct trap){.from = kill_at, .act = be_killed};
            CHECK_EQ(extend(), FLAKE_OK);
            be_killed();
        }
        const uint64_t written = record_of(1).number;
        const unsigned sleeps = atomic_load(&our->sleeps);
        CHECK_EQ(draw_one(), FLAKE_OK);
        CHECK_EQ(take_it_over(), FLAKE_OK);
        CHECK_EQ(record_of(1).number, written + 1); /* beside the dead one's newest, not over it */
        CHECK_EQ(extend(), FLAKE_OK);
        pass_ms(2900);
        CHECK_EQ(draw_one(), FLAKE_OK);
        CHECK_EQ(atomic_load(&our->sleeps), sleeps);
        flake_i_file_drop(&all->gen.claim.file, false); /* as if this process had died */
        atomic_store(&all->gen.claim.holder, 7u);
    }
    pass_ms(60000);
    CHECK_EQ(take_it_over(), FLAKE_OK);
    close_it(&all->gen);
}

TEST(killed_at_each_call_of_a_take_over) {
    begin_shared();
    IN_KILLED_CHILD holds_draws_and_is_killed();
    for (int kill_at = 1; kill_at < 24; kill_at++) {
        pass_ms(1000);
        IN_KILLED_CHILD {
            trap = (struct trap){.from = kill_at, .act = be_killed};
            CHECK_EQ(take_it_over(), FLAKE_OK);
            CHECK_EQ(draw_one(), FLAKE_OK);
            CHECK(kill_at > 10); /* it makes fewer calls */
            be_killed();
        }
        const flake_status status = draw_one();
        CHECK(status == FLAKE_OK || status == FLAKE_NOT_EXTENDED);
    }
    CHECK_EQ(take_it_over(), FLAKE_OK);
    CHECK_EQ(draw_one(), FLAKE_OK);
    close_it(&all->gen);
}

/* Others may draw until then, or not any more; what they drew is covered. */
TEST(killed_at_each_call_of_a_close) {
    for (int kill_at = 1; kill_at < 16; kill_at++) {
        begin_shared();
        IN_KILLED_CHILD {
            CHECK_EQ(init_it(), FLAKE_OK);
            for (int i = 0; i < 100; i++) CHECK_EQ(draw_one(), FLAKE_OK);
            trap = (struct trap){.from = kill_at, .act = be_killed};
            CHECK_EQ(flake_close(&all->gen, NULL), FLAKE_OK);
            be_killed();
        }
        pass_ms(1);
        const flake_status status = draw_one(), taken = take_it_over();
        CHECK(status == FLAKE_OK || status == FLAKE_CLOSED);
        CHECK_EQ(taken, status);
        if (taken == FLAKE_OK) close_it(&all->gen);
        run(&gen, 1);
        CHECK_EQ(repeated(), 0);
        close_it(&gen);
    }
}

TEST(a_take_over_that_fails_writes_to_nothing_else) {
    begin_shared();
    CHECK(WIFSIGNALED(as_peer("holds_draws_and_is_killed")));
    pass_ms(60000);
    disk_begin();
    disk_fail(3, 100); /* the second write */
    CHECK_EQ(take_it_over(), FLAKE_IO);
    /* the dead process's last record is on disk before the next one is written */
    CHECK(strcmp(disk.log, "wdw") == 0);
    disk_begin();
    const int fd = open(path_of("bystander"), O_RDWR | O_CREAT, 0666); /* has its descriptor by now */
    struct stat file;
    CHECK(fd >= 0);
    CHECK_EQ(extend(), FLAKE_INVALID);
    CHECK_EQ(flake_close(&all->gen, NULL), FLAKE_OK);
    CHECK(fstat(fd, &file) == 0 && file.st_size == 0); /* it is open, and nothing was written to it */
    CHECK_EQ(take_it_over(), FLAKE_OK);
    CHECK_EQ(extend(), FLAKE_OK);
    CHECK_EQ(draw_one(), FLAKE_OK);
    CHECK_EQ(flake_close(&all->gen, NULL), FLAKE_OK);
    CHECK_EQ((close)(fd), 0);
}

TEST(a_take_over_creates_no_file) {
    begin_shared();
    CHECK(WIFSIGNALED(as_peer("holds_draws_and_is_killed")));
    CHECK_EQ(unlink(slot_path(1)), 0);
    const int before = descriptors();
    CHECK_EQ(take_it_over(), FLAKE_IO);
    CHECK(why_is_of(1) && strstr(why.text, "does not exist") != NULL);
    CHECK(access(slot_path(1), F_OK) != 0);
    CHECK(access(path_of("1.slot.new"), F_OK) != 0);
    CHECK_EQ(descriptors(), before);
    CHECK_EQ(extend(), FLAKE_INVALID);
}

/* ---- the file is of another run, or was restored to an earlier copy ---- */

static void another_run(void) {
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    for (int i = 0; i < 100; i++, pass_ms(1)) CHECK_EQ(draw_from(&gen), FLAKE_OK);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
}

/* As in another root, or mount namespace, than the holder's, which lives. */
TEST(a_take_over_elsewhere_leaves_the_holder_alone) {
    begin_shared();
    CHECK_EQ(init_it(), FLAKE_OK);
    CHECK_EQ(rename(slot_path(1), path_of("elsewhere")), 0);
    IN_CHILD {
        IN_CHILD another_run();
        CHECK_EQ(take_it_over(), FLAKE_MISMATCH);
        CHECK(strstr(why.text, "is not the holder's file") != NULL);
    }
    CHECK_EQ(unlink(slot_path(1)), 0);
    CHECK_EQ(rename(path_of("elsewhere"), slot_path(1)), 0);
    CHECK_EQ(draw_one(), FLAKE_OK);
    CHECK_EQ(extend(), FLAKE_OK);
    pass_ms(2000);
    CHECK_EQ(draw_one(), FLAKE_OK);
    close_it(&all->gen);
}

TEST(a_run_in_between_ends_the_generator_before_it) {
    begin_shared();
    CHECK(WIFSIGNALED(as_peer("holds_draws_and_is_killed")));
    in_child(another_run);
    const uint64_t number = record_of(1).number;
    const int before = descriptors();
    CHECK_EQ(take_it_over(), FLAKE_MISMATCH);
    CHECK(why_is_of(1));
    CHECK_EQ(descriptors(), before);
    CHECK_EQ(extend(), FLAKE_INVALID);
    CHECK(draw_one() != FLAKE_OK);
    CHECK_EQ(record_of(1).number, number);
    CHECK_EQ(repeated(), 0);
    CHECK(our->n > 4090);
    const flake_options o = shared_options(); /* a new start */
    CHECK_EQ(flake_init(&all->gen, slot(1), &o, NULL), FLAKE_OK);
    CHECK_EQ(draw_one(), FLAKE_OK);
    close_it(&all->gen);
}

/* The next holder of that file waits for an earlier horizon: draws must stop. */
TEST(a_file_restored_to_an_earlier_copy_is_not_taken_over) {
    begin_shared();
    IN_KILLED_CHILD {
        uint8_t earlier[FLAKE_I_FILE];
        CHECK_EQ(init_it(), FLAKE_OK);
        CHECK_EQ(read_file(slot_path(1), earlier, sizeof earlier), sizeof earlier);
        pass_ms(1600);
        CHECK_EQ(draw_one(), FLAKE_OK);
        CHECK_EQ(extend(), FLAKE_OK);
        write_file(slot_path(1), earlier, sizeof earlier);
        be_killed();
    }
    CHECK_EQ(draw_one(), FLAKE_OK);
    for (int i = 0; i < 2; i++) CHECK_EQ(take_it_over(), FLAKE_MISMATCH);
    CHECK(why_is_of(1));
    pass_ms(1);
    CHECK_EQ(draw_one(), FLAKE_MISMATCH);
}

TEST(a_child_of_the_holder_keeps_the_number_until_it_calls_close) {
    const wire to_orphan = new_line(), from_orphan = new_line();
    begin_shared();
    IN_KILLED_CHILD {
        pid_t orphan;
        CHECK_EQ(init_it(), FLAKE_OK);
        IN_CHILD_AS(orphan) {
            tell(&from_orphan);
            if (await_word(&to_orphan)) CHECK_EQ(flake_close(&all->gen, NULL), FLAKE_OK);
            CHECK_EQ(draw_one(), FLAKE_OK); /* it continues to draw */
            tell(&from_orphan);
            (void)await_word(&to_orphan);
            CHECK_EQ(draw_one(), FLAKE_OK);
            tell(&from_orphan);
        }
        (void)await_word(&from_orphan);
        be_killed();
    }
    CHECK_EQ(take_it_over(), FLAKE_IN_USE);
    CHECK_EQ(draw_one(), FLAKE_OK);
    tell(&to_orphan);
    CHECK(await_word(&from_orphan));
    CHECK_EQ(take_it_over(), FLAKE_OK);
    CHECK_EQ(draw_one(), FLAKE_OK);
    pass_ms(2900);
    CHECK_EQ(extend(), FLAKE_OK);
    pass_ms(2900); /* after the horizon that the orphan has seen */
    tell(&to_orphan);
    CHECK(await_word(&from_orphan));
    close_it(&all->gen);
    CHECK_EQ(repeated(), 0);
    hang_up(&to_orphan), hang_up(&from_orphan);
}

/* ---- several at once ---- */

static void let_another_try(void) {
    IN_CHILD {
        const flake_status status = take_it_over();
        CHECK(status == FLAKE_IN_USE || status == FLAKE_CLOSED);
        CHECK(extend() != FLAKE_OK);
    }
}

TEST(no_process_takes_over_from_a_holder_that_closes) {
    begin_shared();
    CHECK_EQ(init_it(), FLAKE_OK);
    CHECK_EQ(draw_one(), FLAKE_OK);
    trap = (struct trap){.act = let_another_try};
    CHECK_EQ(flake_close(&all->gen, NULL), FLAKE_OK);
    CHECK(trap.calls > 5);
    disk_begin();
    CHECK_EQ(take_it_over(), FLAKE_CLOSED);
}

TEST(of_two_that_take_over_at_once_one_does) {
    begin_shared();
    IN_KILLED_CHILD holds_draws_and_is_killed();
    trap = (struct trap){.name = "read", .act = let_another_try}; /* the file is locked */
    CHECK_EQ(take_it_over(), FLAKE_OK);
    CHECK(trap.calls > 0);
    disk_begin();
    CHECK_EQ(extend(), FLAKE_OK);
    CHECK_EQ(draw_one(), FLAKE_OK);
    close_it(&all->gen);
}

TEST(shards_of_a_dead_process_are_taken_over_by_the_first) {
    uint64_t id;
    begin_shared();
    IN_KILLED_CHILD {
        const flake_options o = shared_options();
        CHECK_EQ(flake_init_shards(all->shards, 2, slot(1), &o, NULL), FLAKE_OK);
        for (int i = 0; i < 2; i++) CHECK_EQ(draw_from(&all->shards[i]), FLAKE_OK);
        be_killed();
    }
    pass_ms(10000);
    CHECK_EQ(flake_try(&all->shards[1], &id), FLAKE_NOT_EXTENDED);
    CHECK_EQ(flake_take_over(&all->shards[1], &why), FLAKE_INVALID);
    CHECK_EQ(flake_take_over(&all->shards[0], &why), FLAKE_OK);
    for (int i = 0; i < 2; i++) CHECK_EQ(draw_from(&all->shards[i]), FLAKE_OK);
    CHECK_EQ(repeated(), 0);
    close_it(&all->shards[0]);
    pass_ms(1);
    for (int i = 0; i < 2; i++) CHECK_EQ(flake_try(&all->shards[i], &id), FLAKE_CLOSED);
}

int main(int argc, char **argv) {
    if (argc == 5 && strcmp(argv[1], "--peer") == 0) return peer_main(argv);
    program = argv[0];
    if (!words_reach_other_processes) {
        puts("  64-bit atomics of this machine take a lock\n1 passed, 0 failed");
        return 0;
    }
    return directory_main(argc, argv);
}
