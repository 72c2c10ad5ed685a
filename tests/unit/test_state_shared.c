/* SPDX-License-Identifier: MIT
 *
 * Generators with a state in memory that processes share, related by fork or not: the process that
 * opened the state extends it, all draws stop at its horizon, and when it is killed another opens the
 * state and all continue. A peer is this program started anew, with the memory at another address.
 */
#define _GNU_SOURCE
#include "scene.h"
/* No pointer to a function: a peer has it at another address. */
#define FLAKE_CLOCK_NS(kind) ((void)(kind), scene_clock(NULL))
#include "scripted_state.h"

static struct shared {
    flake_gen gen;
    flake_state state;
    flake_gen shards[2];
    flake_lane lane[2];
    flake_gen lanes;
    sno_gen sno;
    flake_state snos;
} * all; /* what processes share */

static const char *program;

/* ---- what a process does ---- */

static flake_options options_now(flake_state *s) {
    flake_options o = options_of_flake(0, 0, NULL, NULL);
    o.shared_memory = true;
    o.start_this_unit = true;
    o.max_wait_ms = 20;
    o.state = s;
    return o;
}

static void *clocks_user; /* means nothing to this clock */

static const char *name_of_it = "ids";

static flake_status open_it(void) {
    flake_options o = options_now(&all->state);
    o.clock.user = clocks_user;
    return open_with(&all->state, where_of(name_of_it), flake_node_fixed(NULL, 1), o);
}

static flake_status start_it(void) {
    const flake_options o = options_now(&all->state);
    return flake_init(&all->gen, flake_node_fixed(NULL, 1), &o, NULL);
}

static flake_status open_and_start_it(void) {
    const flake_status status = open_it();
    return status == FLAKE_OK && !all->gen.engine.cap ? start_it() : status;
}

static flake_status draw_one(void) {
    uint64_t id;
    const flake_status status = flake_try(&all->gen, &id);
    if (status == FLAKE_OK) note(id);
    return status;
}

static flake_status extend(void) { return flake_state_extend(&all->state, NULL); }
static flake_status close_all(void) { return flake_state_close(&all->state, NULL); }

/* ---- peers ---- */

static bool count_writes(const char *name) {
    EXPECT(strcmp(name, "write") != 0);
    return true;
}

static void draws_up_to_the_horizon(void) {
    on_call = count_writes;
    flake_status status = FLAKE_OK;
    for (int i = 0; i < 5000 && (status = draw_one()) == FLAKE_OK; i++) pass_ms(1);
    EXPECT(status == FLAKE_NOT_EXTENDED);
    const unsigned sleeps = atomic_load(&our->sleeps);
    uint64_t id;
    EXPECT(flake_next(&all->gen, &id) == FLAKE_NOT_EXTENDED); /* the extension never comes */
    EXPECT(atomic_load(&our->sleeps) - sleeps <= 20);
}

static void draws_one(void) { EXPECT(draw_one() == FLAKE_OK); }
static void finds_that_a_write_failed(void) { EXPECT(draw_one() == FLAKE_IO); }

static void is_not_the_holder(void) {
    const uint64_t number = record_of("ids").number;
    EXPECT(extend() == FLAKE_FORKED);
    EXPECT(close_all() == FLAKE_FORKED);
    EXPECT(open_it() == FLAKE_IN_USE);
    EXPECT(strstr(why.text, "in use") != NULL);
    EXPECT(extend() == FLAKE_FORKED);
    static flake_gen own;
    const flake_options o = options_now(&all->state);
    EXPECT(flake_init(&own, flake_node_fixed(NULL, 1), &o, NULL) == FLAKE_FORKED);
    EXPECT(record_of("ids").number == number);
    EXPECT(draw_one() == FLAKE_OK);
}

static void opens_draws_and_is_killed(void) {
    EXPECT(open_and_start_it() == FLAKE_OK);
    for (int i = 0; i < 4000; i++, pass_ms(1)) {
        if (i % 1000 == 0) EXPECT(extend() == FLAKE_OK);
        EXPECT(draw_one() == FLAKE_OK);
    }
    be_killed();
}

static bool extend_at_a_write(const char *name) {
    const int writes = disk.calls;
    if (strcmp(name, "write") == 0) EXPECT(extend() == FLAKE_OK && disk.calls == writes);
    return true;
}

static void takes_over(void) {
    const unsigned sleeps = atomic_load(&our->sleeps);
    on_call = extend_at_a_write; /* the opening thread is the writer */
    EXPECT(open_it() == FLAKE_OK);
    on_call = NULL;
    EXPECT(atomic_load(&our->sleeps) == sleeps);
    EXPECT(draw_one() == FLAKE_OK); /* by the existing generator */
    pass_ms(2000);
    EXPECT(extend() == FLAKE_OK);
    pass_ms(2900);
    EXPECT(draw_one() == FLAKE_OK);
}

static void can_t_take_over(void) {
    pass_ms(60000);
    disk_begin();
    disk_fail(3, 100); /* the second write */
    EXPECT(open_it() == FLAKE_IO);
    /* the dead process's last record is on disk before the next one is written */
    EXPECT(strcmp(disk.log, "wdw") == 0);
    disk_begin();
    const int fd =
        open(path_of("bystander"), O_RDWR | O_CREAT, 0666); /* has its descriptor by now */
    EXPECT(fd >= 0);
    EXPECT(extend() == FLAKE_FORKED);
    EXPECT(close_all() == FLAKE_FORKED);
    struct stat file;
    EXPECT(fstat(fd, &file) == 0 && file.st_size == 0); /* and nothing was written to it */
    EXPECT(open_it() == FLAKE_OK);
    EXPECT(extend() == FLAKE_OK);
    EXPECT(draw_one() == FLAKE_OK);
    EXPECT(close_all() == FLAKE_OK);
}

static void opens_after_another_run(void) {
    EXPECT(open_it() == FLAKE_OK);
    EXPECT(draw_one() == FLAKE_IO); /* the generator does not know that run's IDs */
    EXPECT(start_it() == FLAKE_OK);
    pass_ms(1);
    for (int i = 0; i < 100; i++) EXPECT(draw_one() == FLAKE_OK);
    EXPECT(close_all() == FLAKE_OK);
}

/* Of each lane, one after the other. */
static void draws_from_each_lane(void) {
    uint64_t id;
    for (unsigned i = 0; i < 2; i++) {
        const bool finds_it = flake_i_state_of(&all->lane[i].engine) == &all->state;
        EXPECT(finds_it);
        if (!finds_it) return; /* a draw by other data might wait for ever */
        for (unsigned k = 0; k < 256; k++) flake_i_lanes_map(&all->lanes.split, k, i + 1);
        EXPECT(flake_try(&all->lanes, &id) == FLAKE_OK);
        note(id);
    }
}

static void draws_from_no_lane(void) {
    uint64_t id;
    EXPECT(flake_try(&all->lanes, &id) == FLAKE_NOT_EXTENDED);
}

#define ROLE(name) \
    { #name, name }
static const struct role {
    const char *name;
    void (*play)(void);
} roles[] = {ROLE(draws_up_to_the_horizon),   ROLE(draws_one),
             ROLE(finds_that_a_write_failed), ROLE(is_not_the_holder),
             ROLE(draws_from_each_lane),      ROLE(draws_from_no_lane),
             ROLE(opens_draws_and_is_killed), ROLE(takes_over),
             ROLE(can_t_take_over),           ROLE(opens_after_another_run)};

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
                               home,
                               our_folder,
                               (char *)(uintptr_t)role_at_hand,
                               NULL};
    (void)execv(program, arguments);
    void *again = map_shared("all", sizeof *all);
    EXPECT(again != (void *)all);
    (void)munmap(all, sizeof *all);
    all = (struct shared *)again;
    play(role_at_hand);
}

static void be_a_fork(void) { play(role_at_hand); }

static int peer_main(char **argv) {
    (void)snprintf(home, sizeof home, "%s", argv[2]);
    (void)snprintf(our_folder, sizeof our_folder, "%s", argv[3]);
    (void)map_shared("all", sizeof *all); /* so that what follows is elsewhere */
    our = (scene *)map_shared("scene", sizeof *our);
    all = (struct shared *)map_shared("all", sizeof *all);
    play(argv[4]);
    return 0;
}

/* As a fork or as a peer. */
static int as_other(bool fork_only, const char *role) {
    role_at_hand = role;
    return in_child(fork_only ? be_a_fork : be_a_peer);
}

static void other(bool fork_only, const char *role) { CHECK_EQ(as_other(fork_only, role), 0); }

static void begin_shared(void) {
    begin();
    if (!all) all = (struct shared *)map_shared("all", sizeof *all);
    memset(all, 0, sizeof *all);
}

/* ---- the opener lives ---- */

TEST(the_opener_extends_and_all_draw) {
    for (int fork_only = 0; fork_only < 2; fork_only++) {
        begin_shared();
        CHECK_EQ(open_and_start_it(), FLAKE_OK);
        other(fork_only, "is_not_the_holder");
        CHECK_EQ(draw_one(), FLAKE_OK);
        other(fork_only, "draws_up_to_the_horizon");
        CHECK_EQ(draw_one(), FLAKE_NOT_EXTENDED);
        CHECK_EQ(extend(), FLAKE_OK);
        other(fork_only, "draws_one");
        CHECK_EQ(draw_one(), FLAKE_OK);
        static flake_state elsewhere; /* a copy of the object has not opened the file */
        memcpy((void *)&elsewhere, (const void *)&all->state, sizeof elsewhere);
        CHECK_EQ(flake_state_extend(&elsewhere, NULL), FLAKE_FORKED);
        pass_ms(10000);
        disk_fail(1, 100);
        CHECK_EQ(extend(), FLAKE_IO);
        disk_begin();
        CHECK_EQ(draw_one(), FLAKE_IO);
        other(fork_only, "finds_that_a_write_failed");
        CHECK_EQ(extend(), FLAKE_OK);
        other(fork_only, "draws_one");
        CHECK_EQ(repeated(), 0);
        CHECK_EQ(close_all(), FLAKE_OK);
        pass_ms(1);
        CHECK_EQ(draw_one(), FLAKE_IO);
    }
}

TEST(lanes_stop_at_the_horizon_too) {
    for (int fork_only = 0; fork_only < 2; fork_only++) {
        begin_shared();
        const flake_node node = flake_node_fixed(NULL, 1);
        const flake_options o = options_now(&all->state);
        CHECK_EQ(open_it(), FLAKE_OK);
        CHECK_EQ(flake_init(&all->lanes, node, with_lanes(&o, all->lane, 2), NULL), FLAKE_OK);
        draws_from_each_lane();
        other(fork_only, "draws_from_each_lane");
        pass_ms(10000);
        other(fork_only, "draws_from_no_lane");
        CHECK_EQ(extend(), FLAKE_OK);
        other(fork_only, "draws_from_each_lane");
        CHECK_EQ(repeated(), 0);
        CHECK_EQ(close_all(), FLAKE_OK);
    }
}

/* ---- the opener is killed ---- */

TEST(another_takes_over) {
    for (int fork_only = 0; fork_only < 2; fork_only++) {
        begin_shared();
        CHECK(WIFSIGNALED(as_other(fork_only, "opens_draws_and_is_killed")));
        CHECK_EQ(draw_one(), FLAKE_OK); /* some horizon is left */
        for (int i = 0; i < 3; i++) {
            CHECK(WIFSIGNALED(as_other(fork_only, "opens_draws_and_is_killed")));
            other(fork_only, "takes_over"); /* and ends without a close */
        }
        CHECK_EQ(open_it(), FLAKE_OK);
        CHECK_EQ(draw_one(), FLAKE_OK);
        CHECK_EQ(close_all(), FLAKE_OK);
        CHECK(our->n > 16000);
    }
}

static int calls, kill_at;

static bool kill_here(const char *name) {
    (void)name;
    if (++calls == kill_at) be_killed();
    return true;
}

static void extends_and_is_killed(void) {
    clocks_user = &calls; /* which may not exist in the others */
    EXPECT(open_and_start_it() == FLAKE_OK);
    EXPECT(draw_one() == FLAKE_OK);
    pass_ms(2500);
    on_call = kill_here;
    EXPECT(extend() == FLAKE_OK);
    be_killed();
}

TEST(killed_in_any_line_of_an_extension) {
    begin_shared();
    for (kill_at = 1; kill_at < 8; kill_at++) {
        calls = 0;
        child_is_killed(extends_and_is_killed);
        if (kill_at == 1) CHECK_EQ(link(path_of("ids"), path_of("the-same-ids")), 0);
        name_of_it = "the-same-ids"; /* where the next process reads it from then on */
        const uint64_t written = record_of("ids").number;
        const unsigned sleeps = atomic_load(&our->sleeps);
        CHECK_EQ(draw_one(), FLAKE_OK);
        CHECK_EQ(open_it(), FLAKE_OK);
        CHECK_EQ(record_of("ids").number,
                 written + 1); /* beside the dead one's newest, not over it */
        CHECK(all->state.clock.user == NULL);
        CHECK_EQ(extend(), FLAKE_OK);
        pass_ms(2900);
        CHECK_EQ(draw_one(), FLAKE_OK);
        CHECK_EQ(atomic_load(&our->sleeps), sleeps);
        flake_i_file_drop(&all->state.file, false); /* as if this process had died */
        name_of_it = "ids";
    }
}

TEST(a_take_over_that_fails_writes_to_nothing_else) {
    for (int fork_only = 0; fork_only < 2; fork_only++) {
        begin_shared();
        CHECK(WIFSIGNALED(as_other(fork_only, "opens_draws_and_is_killed")));
        other(fork_only, "can_t_take_over");
    }
}

/* ---- a file that was restored to an earlier copy ---- */

static uint8_t earlier[FLAKE_I_FILE];

static void opens_and_the_file_is_put_back(void) {
    EXPECT(open_and_start_it() == FLAKE_OK);
    EXPECT(read_file(path_of("ids"), earlier, sizeof earlier) == sizeof earlier);
    pass_ms(1600);
    EXPECT(draw_one() == FLAKE_OK);
    EXPECT(extend() == FLAKE_OK);
    write_file(path_of("ids"), earlier, sizeof earlier);
    be_killed();
}

TEST(a_file_put_back_behind_the_dead_is_not_taken_over) {
    begin_shared();
    child_is_killed(opens_and_the_file_is_put_back);
    CHECK_EQ(draw_one(), FLAKE_OK);
    CHECK_EQ(open_it(), FLAKE_MISMATCH);
    CHECK(strstr(why.text, "was changed") != NULL);
    pass_ms(1);
    CHECK_EQ(draw_one(), FLAKE_MISMATCH);
}

/* ---- a child that inherited the file ---- */

static wire to_orphan, from_orphan;

static void leaves_a_child_behind(void) {
    EXPECT(open_and_start_it() == FLAKE_OK);
    if (fork() == 0) {
        tell(&from_orphan);
        if (await_word(&to_orphan)) EXPECT(close_all() == FLAKE_FORKED);
        EXPECT(draw_one() == FLAKE_OK); /* it continues to draw */
        tell(&from_orphan);
        (void)await_word(&to_orphan);
        _exit(0);
    }
    (void)await_word(&from_orphan);
    be_killed();
}

TEST(a_child_of_the_opener_keeps_the_file_until_it_lets_go) {
    begin_shared();
    to_orphan = new_line(), from_orphan = new_line();
    child_is_killed(leaves_a_child_behind);
    CHECK_EQ(open_it(), FLAKE_IN_USE);
    CHECK_EQ(draw_one(), FLAKE_OK);
    tell(&to_orphan);
    CHECK(await_word(&from_orphan));
    CHECK_EQ(open_it(), FLAKE_OK);
    CHECK_EQ(draw_one(), FLAKE_OK);
    CHECK_EQ(extend(), FLAKE_OK);
    tell(&to_orphan);
    CHECK_EQ(close_all(), FLAKE_OK);
    CHECK_EQ(repeated(), 0);
    hang_up(&to_orphan), hang_up(&from_orphan);
}

/* ---- another run of the file ---- */

static void another_run(void) {
    EXPECT(open_and_start() == FLAKE_OK);
    for (int i = 0; i < 100; i++, pass_ms(1)) EXPECT(draw() == FLAKE_OK);
    EXPECT(flake_state_close(&state, NULL) == FLAKE_OK);
}

TEST(a_run_in_between_ends_the_generators_before_it) {
    for (int fork_only = 0; fork_only < 2; fork_only++) {
        begin_shared();
        CHECK(WIFSIGNALED(as_other(fork_only, "opens_draws_and_is_killed")));
        child_is_well(another_run);
        other(fork_only, "opens_after_another_run");
        CHECK_EQ(repeated(), 0);
        CHECK(our->n > 4190);
    }
}

/* ---- conflicts ---- */

TEST(a_state_that_is_not_shared_is_refused) {
    uint64_t id = 0;
    begin_shared();
    CHECK_EQ(open_at(&state, "ids"), FLAKE_OK);
    const flake_node node = flake_node_fixed(NULL, 1);
    flake_options o = options_now(&state);
    CHECK_EQ(flake_init(&all->gen, node, &o, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_init_shards(all->shards, 2, node, &o, NULL), FLAKE_INVALID);
    CHECK(options_why(node, &o) && strstr(options_why(node, &o), "shared_memory") != NULL);
    close_it(&state);
    pass_ms(1);
    CHECK_EQ(open_it(), FLAKE_OK);
    o.state = &all->state;
    CHECK(options_why(node, &o) == NULL);
    CHECK_EQ(flake_init_shards(all->shards, 2, node, &o, NULL), FLAKE_OK);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(flake_try(&all->shards[i], &id), FLAKE_OK);
        note(id);
    }
    CHECK_EQ(repeated(), 0);
    CHECK_EQ(close_all(), FLAKE_OK);
}

/* ---- sno ---- */

static flake_status open_all_snos(sno_snapshot *pool) {
    const flake_state_options w = where_of("snos");
    const flake_options o = options_now(NULL);
    *pool = pool_of_numbers(5, 0, 99);
    return sno_state_open(&all->snos, &w, &o, pool, NULL);
}

static flake_status draw_one_sno(void) {
    sno_id id;
    const flake_status status = sno_try(&all->sno, 0, &id);
    if (status == FLAKE_OK) note(sno_key(id));
    return status;
}

static void open_snos_and_be_killed(void) {
    sno_snapshot pool;
    EXPECT(open_all_snos(&pool) == FLAKE_OK);
    const flake_options o = {.shared_memory = true, .start_this_unit = true, .state = &all->snos};
    EXPECT(sno_init(&all->sno, flake_node_fixed(NULL, 5), &pool, &o, NULL) == FLAKE_OK);
    for (int i = 0; i < 100; i++) EXPECT(draw_one_sno() == FLAKE_OK);
    be_killed();
}

TEST(snos_go_on_too) {
    sno_snapshot pool;
    begin_shared();
    child_is_killed(open_snos_and_be_killed);
    CHECK_EQ(flake_state_extend(&all->snos, NULL), FLAKE_FORKED);
    pass_ms(2900);
    CHECK_EQ(draw_one_sno(), FLAKE_OK);
    pass_ms(1000);
    CHECK_EQ(draw_one_sno(), FLAKE_NOT_EXTENDED);
    CHECK_EQ(open_all_snos(&pool), FLAKE_OK);
    CHECK_EQ(draw_one_sno(), FLAKE_OK);
    CHECK_EQ(atomic_load(&our->sleeps), 0);
    CHECK_EQ(flake_state_close(&all->snos, NULL), FLAKE_OK);
}

/* ---- several that open at once ---- */

static void find_it_taken(void) { EXPECT(open_it() == FLAKE_IN_USE); }

static const char *meet_at;

static bool let_another_open(const char *name) {
    if (strcmp(name, meet_at) != 0) return true;
    on_call = NULL;
    child_is_well(find_it_taken);
    return true;
}

/* A process that fails to lock leaves the object unchanged, also if there is no file yet. */
TEST(who_comes_second_at_the_first_start_changes_nothing) {
    static const char *const places[] = {"write", "fsync", "rename"};
    for (int i = 0; i < 3; i++) {
        begin_shared();
        meet_at = places[i];
        on_call = let_another_open;
        CHECK_EQ(open_it(), FLAKE_OK);
        CHECK(on_call == NULL);
        CHECK_EQ(start_it(), FLAKE_OK);
        CHECK_EQ(draw_one(), FLAKE_OK);
        CHECK_EQ(extend(), FLAKE_OK);
        CHECK_EQ(close_all(), FLAKE_OK);
    }
}

static wire may_open, has_opened, may_leave;

static void open_and_stay(void) {
    EXPECT(open_and_start_it() == FLAKE_OK);
    tell(&has_opened);
    (void)await_word(&may_leave);
    EXPECT(draw_one() == FLAKE_OK);
    EXPECT(extend() == FLAKE_OK);
    EXPECT(close_all() == FLAKE_OK);
}

static unsigned opens;
static pid_t first_comer;

/* Between the check of the path and the lock on the file beside it. */
static bool let_another_come_first(const char *name) {
    if (strcmp(name, "open") != 0 || ++opens != 2) return true;
    on_call = NULL;
    first_comer = start_child(open_and_stay);
    CHECK(await_word(&has_opened));
    return true;
}

TEST(who_finds_the_file_made_meanwhile_changes_nothing) {
    begin_shared();
    has_opened = new_line(), may_leave = new_line();
    opens = 0;
    on_call = let_another_come_first;
    CHECK_EQ(open_it(), FLAKE_IN_USE);
    CHECK(on_call == NULL);
    tell(&may_leave);
    CHECK_EQ(end_of(first_comer), 0);
    CHECK(access(path_of("ids.new"), F_OK) != 0);
    hang_up(&has_opened), hang_up(&may_leave);
}

static void open_when_told(void) {
    int others[20];
    for (int i = 0; i < 20; i++) others[i] = dup(0); /* a number that the parent uses for another */
    (void)await_word(&may_open);
    EXPECT(open_it() == FLAKE_OK);
    tell(&has_opened);
    (void)await_word(&may_leave);
    EXPECT(extend() == FLAKE_OK);
    EXPECT(close_all() == FLAKE_OK);
    for (int i = 0; i < 20; i++) (void)(close)(others[i]);
}

static bool hand_over_at_close(const char *name) {
    if (strcmp(name, "close") != 0) return true;
    on_call = NULL;
    tell(&may_open);
    CHECK(await_word(&has_opened));
    return true;
}

/* Once the file is unlocked, the object belongs to another. */
TEST(who_closes_lets_go_of_his_own_descriptor) {
    int others[40];
    begin_shared();
    may_open = new_line(), has_opened = new_line(), may_leave = new_line();
    const pid_t child = start_child(open_when_told);
    CHECK_EQ(open_and_start_it(), FLAKE_OK);
    for (int i = 0; i < 40; i++) others[i] = dup(0);
    const int open_before = descriptors();
    on_call = hand_over_at_close;
    CHECK_EQ(close_all(), FLAKE_OK);
    CHECK(on_call == NULL);
    CHECK_EQ(descriptors(), open_before - 1);
    for (int i = 0; i < 40; i++) CHECK((fcntl)(others[i], F_GETFD) >= 0);
    tell(&may_leave);
    CHECK_EQ(end_of(child), 0);
    for (int i = 0; i < 40; i++) (void)(close)(others[i]);
    hang_up(&may_open), hang_up(&has_opened), hang_up(&may_leave);
}

int main(int argc, char **argv) {
    if (argc == 5 && strcmp(argv[1], "--peer") == 0) return peer_main(argv);
    program = argv[0];
    if (!words_reach_other_processes) {
        puts("  64-bit atomics of this machine take a lock\n1 passed, 0 failed");
        return 0;
    }
    return state_main(argc, argv);
}
