/* SPDX-License-Identifier: MIT
 *
 * States claimed by number: node numbers that the processes of a host share in a directory. No two
 * processes hold one at a time, and the next holder of a number repeats no ID of an earlier one, even if
 * IDs ran ahead, the clock went backwards, or the holder was killed. test_state.c and its siblings test
 * what such a state has in common with one opened by path.
 */
#define _GNU_SOURCE
#include "scripted_state.h"

enum { most_states = 5 };
static flake_state states[most_states];
static uint32_t numbers_held[most_states];

static int64_t (*our_clock)(void *user) = scene_clock;

static flake_options clocked(void) { return options_of_flake(0, 0, our_clock, NULL); }

static flake_state_options in_folder(uint32_t count) {
    return (flake_state_options){.dir = our_folder, .count = count};
}

/* The number claimed, or the status, below 0. */
static int64_t claim(size_t i, const flake_state_options *o) {
    const flake_options clock = clocked();
    uint64_t number = UINT64_MAX;
    memset(&why, 0, sizeof why);
    const flake_status status =
        flake_state_open(&states[i], o, flake_node_none(), &clock, &number, &why);
    if (status != FLAKE_OK) CHECK_EQ(number, FLAKE_I_NO_NUMBER);
    else numbers_held[i] = (uint32_t)number;
    return status == FLAKE_OK ? (int64_t)number : -(int64_t)status;
}

static int64_t claim_of(size_t i, uint32_t count) {
    const flake_state_options o = in_folder(count);
    return claim(i, &o);
}

static void release(size_t i) { close_it(&states[i]); }

static void release_all(void) {
    end_scene();
    for (size_t i = 0; i < most_states; i++) close_if_open(&states[i]);
}

/* A generator with the claimed number, which may run ahead. */
static flake_status draw_with(size_t i, int64_t max_ahead_ms) {
    flake_options o = clocked();
    o.seq_max = max_ahead_ms < 1000 ? 9 : 1;
    o.max_ahead_ms = max_ahead_ms;
    return start_with(&gen, flake_node_fixed(NULL, numbers_held[i]), o, &states[i]);
}

/* Draws all that are available now; returns the time of the last. */
static int64_t draw_all(size_t most) {
    uint64_t id, newest = 0;
    for (size_t i = 0; i < most && flake_try(&gen, &id) == FLAKE_OK; i++) note(newest = id);
    return ms_of(newest);
}

static void begin_with_0(void) {
    begin();
    CHECK_EQ(claim_of(0, 1), 0);
    CHECK_EQ(draw_with(0, 0), FLAKE_OK);
}

/* ---- claims ---- */

static flake_status admit_all(void *user, int64_t until_ns) {
    return user || until_ns < 0 ? FLAKE_INVALID : FLAKE_OK;
}

/* Or two processes that ignore the number would repeat each other's IDs. */
TEST(the_number_is_the_node_or_the_partition) {
    const flake_gate gate = {.admit = admit_all};
    flake_options o = clocked(), of_sno = options_of_sno(our_clock, NULL);
    CHECK_EQ(claim_of(0, 2), 0);
    CHECK_EQ(claim_of(1, 2), 1);
    of_sno.state = &states[1];
    for (uint16_t node = 0; node < 3; node++) {
        const sno_snapshot pool = pool_of_numbers(node, 0, 9);
        const flake_status fits = node == 1 ? FLAKE_OK : FLAKE_MISMATCH;
        CHECK_EQ(start_with(&gen, flake_node_fixed(NULL, node), o, &states[1]), fits);
        CHECK_EQ(start_with(&gen, flake_node_gated(&gate, node), o, &states[1]), fits);
        CHECK_EQ(sno_init(&sno, flake_node_fixed(NULL, node), &pool, &of_sno, NULL), fits);
        CHECK_EQ(sno_init(&sno, flake_node_gated(&gate, node), &pool, &of_sno, NULL), fits);
    }
    o = clocked();
    o.layout = flake_layout_uuid7; /* has neither */
    CHECK_EQ(start_with(&gen, flake_node_none(), o, &states[1]), FLAKE_OK);
    o.layout.format = 6; /* a state of a directory is of any layout */
    release(0);
    const flake_state_options where = in_folder(1);
    uint64_t number = 9;
    CHECK_EQ(flake_state_open(&states[0], &where, flake_node_none(), &o, &number, NULL), FLAKE_OK);
    CHECK_EQ(number, 0);
    release(0);
    release(1);
}

TEST(the_lowest_free_number_is_claimed) {
    for (int64_t i = 0; i < 3; i++) CHECK_EQ(claim_of((size_t)i, 3), i); /* one process, three */
    CHECK_EQ(claim_of(3, 3), -FLAKE_IN_USE);
    CHECK_STR(why.text + strlen(our_folder), ": all numbers are in use");
    CHECK_EQ(claim_of(2, 4), -FLAKE_IN_USE);
    CHECK_STR(strchr(why.text, ':'), ": the state is open");
    CHECK_EQ(draw_with(2, 0), FLAKE_OK); /* it stays open */
    CHECK(draw_all(1) > 0);
    release(1);
    CHECK_EQ(flake_state_close(&states[1], NULL), FLAKE_INVALID);
    CHECK_EQ(claim_of(3, 3), 1); /* at once: nothing was drawn with it */
    flake_state_options o = in_folder(3);
    o.first = 7;
    CHECK_EQ(claim(4, &o), 7);
}

TEST(a_number_released_is_free_at_once) {
    uint64_t id;
    for (int run = 0; run < 20; run++) {
        CHECK_EQ(claim_of(0, 1), 0);
        CHECK_EQ(draw_with(0, 0), FLAKE_OK);
        CHECK_EQ(draw_all(7), atomic_load(&our->now_ns) / a_ms);
        release(0);
        pass_ms(1);
        CHECK_EQ(flake_try(&gen, &id), FLAKE_IO);
    }
    CHECK_EQ(repeated(), 0);
    CHECK_EQ(atomic_load(&our->sleeps), 0);
}

static void claim_draw_and_die(void) {
    EXPECT(claim_of(0, 4) == 0);
    EXPECT(draw_with(0, 0) == FLAKE_OK);
    EXPECT(draw_all(5) > 0);
    be_killed();
}

TEST(the_number_of_the_dead_is_held_back) {
    child_is_killed(claim_draw_and_die);
    CHECK_EQ(claim_of(0, 1), -FLAKE_AGAIN);
    CHECK_EQ(claim_of(0, 2), 1); /* others come first */
    pass_ms(2990);
    CHECK_EQ(claim_of(1, 2), -FLAKE_AGAIN);
    CHECK(strstr(why.text, "ahead of the clock") != NULL);
    pass_ms(11);
    CHECK_EQ(claim_of(1, 2), 0);
    CHECK_EQ(draw_with(1, 0), FLAKE_OK);
    (void)draw_all(10);
}

TEST(the_time_that_a_number_is_held_back_can_be_set) {
    flake_state_options o = in_folder(1);
    o.horizon_ms = 50;
    CHECK_EQ(claim(0, &o), 0);
    flake_i_file_drop(&states[0].file, false); /* as if its process had ended */
    memset(&states[0], 0, sizeof states[0]);
    pass_ms(49);
    CHECK_EQ(claim(0, &o), -FLAKE_AGAIN);
    pass_ms(2);
    CHECK_EQ(claim(0, &o), 0);
}

TEST(who_may_wait_gets_a_number_later) {
    child_is_killed(claim_draw_and_die);
    flake_state_options o = in_folder(1);
    o.wait_ms = 100;
    CHECK_EQ(claim(0, &o), -FLAKE_AGAIN);
    CHECK_EQ(atomic_load(&our->slept_ns), 100 * a_ms);
    o.wait_ms = 60000;
    CHECK_EQ(claim(0, &o), 0);
    CHECK(atomic_load(&our->slept_ns) <= 3020 * a_ms);
    o.wait_ms = 20;
    atomic_store(&our->slept_ns, 0);
    CHECK_EQ(claim(1, &o), -FLAKE_IN_USE);
    CHECK_EQ(atomic_load(&our->slept_ns), 20 * a_ms);
}

/* ---- no duplicate ID ---- */

TEST(ids_that_ran_ahead_are_not_repeated) {
    flake_state_options o = in_folder(2);
    o.horizon_ms = 20000;
    CHECK_EQ(claim(0, &o), 0);
    CHECK_EQ(draw_with(0, 15000), FLAKE_OK);
    const int64_t last_ms = draw_all(50000);
    CHECK_EQ(last_ms, start_ms + 15000);
    release(0);
    CHECK_EQ(claim(1, &o), 1); /* another number is preferred */
    release(1);
    CHECK_EQ(claim(0, &o), 1);
    CHECK_EQ(claim(1, &o), -FLAKE_AGAIN);
    atomic_store(&our->now_ns, last_ms * a_ms);
    CHECK_EQ(claim(1, &o), -FLAKE_AGAIN);
    atomic_store(&our->now_ns, (last_ms + 1) * a_ms);
    CHECK_EQ(claim(1, &o), 0);
    CHECK_EQ(draw_with(1, 15000), FLAKE_OK);
    (void)draw_all(1000);
}

TEST(a_clock_put_back_before_or_after_the_release) {
    for (int after = 0; after < 2; after++) {
        const int64_t back_ms = after ? 5 : 60000;
        begin_with_0();
        (void)draw_all(5);
        if (after) release(0);
        pass_ms(-back_ms);
        if (!after) release(0);
        CHECK_EQ(claim_of(0, 2), 1);
        CHECK_EQ(claim_of(1, 1), -FLAKE_AGAIN);
        pass_ms(back_ms);
        CHECK_EQ(claim_of(1, 1), -FLAKE_AGAIN); /* the unit that it drew in has not passed */
        pass_ms(1);
        CHECK_EQ(claim_of(1, 1), 0);
        CHECK_EQ(draw_with(1, 0), FLAKE_OK);
        (void)draw_all(10);
        CHECK_EQ(our->n, 15);
    }
}

/* Many runs, some of them killed, on a clock that steps back now and then. */
static uint64_t random_state;

static void hold_one_for_a_while(void) {
    flake_state_options o = in_folder(2);
    static const int64_t aheads[] = {0, 40, 15000};
    const int64_t ahead_ms = aheads[random_below(&random_state, 3)];
    o.horizon_ms = random_below(&random_state, 2) ? 0 : 50;
    o.wait_ms = 4000;
    const int64_t number = claim(0, &o);
    if (number < 0) {
        EXPECT(number == -FLAKE_AGAIN);
        return;
    }
    EXPECT(draw_with(0, ahead_ms) == FLAKE_OK);
    for (uint64_t rounds = 1 + random_below(&random_state, 20); rounds; rounds--) {
        (void)draw_all((size_t)random_below(&random_state, 30));
        const uint64_t step = random_below(&random_state, 10);
        if (step < 7) pass_ms((int64_t)random_below(&random_state, 5));
        else if (step < 9) pass_ms((int64_t)random_below(&random_state, 300));
        else pass_ms(-(int64_t)random_below(&random_state, 300));
    }
    if (random_below(&random_state, 3) == 0) be_killed();
    EXPECT(flake_state_close(&states[0], NULL) == FLAKE_OK);
}

TEST(whoever_has_a_number_next_repeats_nothing) {
    const unsigned seeds = small ? 5 : 25;
    for (uint64_t seed = 1; seed <= seeds && !check_failures; seed++) {
        begin();
        random_state = seed * 0x9e3779b97f4a7c15;
        for (int run = 0; run < 40; run++) {
            (void)in_child(hold_one_for_a_while);
            (void)random_next(&random_state);
            random_state ^= (uint64_t)run << 32;
            const uint64_t step = random_below(&random_state, 8);
            if (step == 0) pass_ms(-(int64_t)random_below(&random_state, 2000));
            else pass_ms((int64_t)random_below(&random_state, 20) * (step == 1 ? 100 : 1));
        }
        CHECK(our->n > 1000);
        CHECK_EQ(repeated(), 0);
        if (check_failures) printf("  seed %" PRIu64 "\n", seed);
    }
}

/* ---- unusable files ---- */

TEST(a_number_whose_file_can_t_be_used_is_passed_over) {
    CHECK_EQ(mkdir(path_of("0.slot"), 0777), 0);
    CHECK_EQ(mkfifo(path_of("1.slot"), 0666), 0);
    write_file(path_of("2.slot"), (const uint8_t *)"id = 7\n", 7);
    CHECK_EQ(claim_of(0, 4), 3);
    CHECK_EQ(claim_of(1, 4), -FLAKE_IO); /* all others are taken: the first unusable one */
    CHECK(why_is_of("0.slot"));
    flake_state_options o = in_folder(3);
    o.first = 1;
    CHECK_EQ(claim(1, &o), -FLAKE_MISMATCH);
    CHECK(why_is_of("1.slot"));
    o.first = 2;
    o.count = 2;
    CHECK_EQ(claim(1, &o), -FLAKE_MISMATCH);
    CHECK(why_is_of("2.slot"));
    o.count = 3;
    CHECK_EQ(claim(1, &o), 4);
}

TEST(a_torn_file_is_passed_over) {
    uint8_t bytes[FLAKE_I_FILE];
    begin_with_0();
    release(0);
    CHECK_EQ(read_file(path_of("0.slot"), bytes, sizeof bytes), sizeof bytes);
    CHECK_EQ(truncate(path_of("0.slot"), 4000), 0);
    CHECK_EQ(claim_of(0, 1), -FLAKE_CORRUPT);
    CHECK(why_is_of("0.slot"));
    CHECK_EQ(claim_of(0, 2), 1);
    release(0);
    CHECK_EQ(rename(path_of("1.slot"), path_of("0.slot")), 0); /* another number's */
    CHECK_EQ(claim_of(0, 1), -FLAKE_MISMATCH);
}

TEST(a_folder_that_is_none_is_refused_by_name) {
    flake_state_options o = in_folder(1);
    o.dir = "/proc/no-such-folder";
    CHECK_EQ(claim(0, &o), -FLAKE_IO);
    CHECK(strncmp(why.text, o.dir, strlen(o.dir)) == 0);
    CHECK(strstr(why.text, "No such file or directory") != NULL);
    CHECK_EQ(flake_state_close(&states[0], NULL), FLAKE_INVALID);
}

/* ---- options ---- */

TEST(options_that_do_not_go_with_a_directory) {
    flake_options shared = clocked();
    uint64_t number = 9;
    flake_state_options o = in_folder(1);
    o.path = path_of("ids");
    CHECK_EQ(claim(0, &o), -FLAKE_INVALID);
    CHECK(strncmp(why.text, "path and dir", 12) == 0);
    o.path = NULL;
    CHECK_EQ(flake_state_open(&states[0], &o, flake_node_none(), NULL, NULL, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "number") != NULL);
    shared.shared_memory = true;
    CHECK_EQ(flake_state_open(&states[0], &o, flake_node_none(), &shared, &number, &why),
             FLAKE_INVALID);
    CHECK(strstr(why.text, "shared_memory") != NULL);
    CHECK_EQ(number, FLAKE_I_NO_NUMBER); /* which init rejects */
    CHECK(access(path_of("0.slot"), F_OK) != 0);
}

/* The directory gives the number; or a program would ask for one and get another. */
TEST(a_number_is_claimed_and_not_given) {
    const flake_options o = clocked();
    uint64_t number = 9;
    const flake_state_options w = in_folder(1);
    CHECK_EQ(flake_state_open(&states[0], &w, flake_node_fixed(NULL, 0), &o, &number, &why),
             FLAKE_INVALID);
    CHECK(strstr(why.text, "node") != NULL);
    CHECK(access(path_of("0.slot"), F_OK) != 0);
    CHECK_EQ(flake_state_open(&states[0], &w, flake_node_none(), &o, &number, &why), FLAKE_OK);
    CHECK_EQ(number, 0);
    close_it(&states[0]);
}

TEST(a_number_whose_file_must_exist) {
    flake_state_options o = in_folder(2);
    o.must_exist = true;
    CHECK_EQ(claim(0, &o), -FLAKE_IO);
    CHECK(strstr(why.text, "does not exist") != NULL);
    CHECK_EQ(claim_of(0, 2), 0);
    CHECK_EQ(claim_of(1, 2), 1);
    release(1);
    CHECK_EQ(claim(1, &o), 1);
}

TEST(who_does_not_wait_draws_after_the_horizon) {
    uint64_t id;
    child_is_killed(claim_draw_and_die);
    flake_state_options o = in_folder(1);
    o.no_wait = true;
    CHECK_EQ(claim(0, &o), 0);
    CHECK_EQ(draw_with(0, 0), FLAKE_OK);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_CLOCK_BACKWARDS);
    pass_ms(3001);
    CHECK(draw_all(5) > 0);
    CHECK_EQ(repeated(), 0);
    pass_ms(-60000);
    release(0);
    CHECK_EQ(claim(0, &o), -FLAKE_CLOCK_BACKWARDS); /* from the future, and not only held back */
}

TEST(a_number_that_was_not_held_for_long) {
    begin_with_0();
    release(0);
    pass_ms(1001);
    flake_state_options o = in_folder(1);
    o.max_downtime_ms = 1000;
    CHECK_EQ(claim(0, &o), -FLAKE_DOWNTIME);
    pass_ms(-1);
    CHECK_EQ(claim(0, &o), 0);
}

static unsigned opens;

/* Another process makes the file while this one is about to. */
static bool make_it_first(const char *name) {
    if (strcmp(name, "open") == 0 && ++opens == 2)
        write_file(path_of("0.slot"), (const uint8_t *)"", 0);
    return true;
}

TEST(a_number_that_another_makes_meanwhile_is_his) {
    opens = 0;
    on_call = make_it_first;
    CHECK_EQ(claim_of(0, 2), 1);
    on_call = NULL;
    CHECK(opens > 2);
}

TEST(a_count_of_0_is_1024) {
    CHECK_EQ(claim_of(0, 0), 0);
    CHECK_EQ(claim_of(1, 0), 1);
    release(0);
    release(1);
    flake_state_options o = in_folder(0);
    o.first = UINT32_MAX - 1024;
    CHECK_EQ(claim(2, &o), o.first);
    release(2);
    o.first++;
    CHECK_EQ(claim(2, &o), -FLAKE_INVALID);
}

/* ---- a crowd ---- */

enum { crowd = small ? 20 : 60, claims = small ? 500 : 4000, numbers = 30 };

typedef struct holders {
    _Atomic(int) of[numbers]; /* pid; below 0: the process is about to die with it */
    _Atomic(int) clashes, claims, deaths, refused;
} holders;

static holders *their;

static int64_t fast_clock(void *user) { /* a ms a reading, so that a death has no effect for long */
    (void)user;
    return atomic_fetch_add(&our->now_ns, a_ms);
}

static void claim_again_and_again(void) {
    flake_state_options o = in_folder(numbers);
    our_clock = fast_clock; /* of this child */
    o.horizon_ms = 10;
    while (atomic_load(&their->claims) < claims) {
        const int64_t number = claim(0, &o);
        if (number < 0) {
            if (number != -FLAKE_IN_USE && number != -FLAKE_AGAIN)
                atomic_fetch_add(&their->refused, 1);
            continue;
        }
        if (atomic_exchange(&their->of[number], (int)getpid()) > 0)
            atomic_fetch_add(&their->clashes, 1);
        atomic_fetch_add(&their->claims, 1);
        for (uint64_t spin = random_below(&random_state, 2000); spin; spin--) FLAKE_RELAX();
        const bool dies = random_below(&random_state, 50) == 0;
        const int leave = dies ? -(int)getpid() : 0;
        if (atomic_exchange(&their->of[number], leave) != (int)getpid())
            atomic_fetch_add(&their->clashes, 1);
        if (dies) {
            atomic_fetch_add(&their->deaths, 1);
            be_killed();
        }
        if (flake_state_close(&states[0], NULL) != FLAKE_OK) atomic_fetch_add(&their->refused, 1);
    }
}

static void start_one(void) {
    (void)random_next(&random_state);
    (void)start_child(claim_again_and_again);
}

TEST(no_two_of_a_crowd_hold_one_number) {
    if (!words_reach_other_processes) return;
    their = (holders *)map_shared("holders", sizeof *their);
    random_state = 0x2545f4914f6cdd1d;
    for (unsigned i = 0; i < crowd; i++) start_one();
    for (unsigned left = crowd; left > 0;) {
        int status = 0;
        if (wait(&status) < 0) abort();
        if (WIFSIGNALED(status)) start_one();
        else left--;
    }
    CHECK_EQ(atomic_load(&their->clashes), 0);
    CHECK_EQ(atomic_load(&their->refused), 0);
    CHECK(atomic_load(&their->deaths) > 2);
    CHECK(atomic_load(&their->claims) >= claims);
}

int main(int argc, char **argv) {
    check_after = release_all;
    return scene_main(argc, argv);
}
