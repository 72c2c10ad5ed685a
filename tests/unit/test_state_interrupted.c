/* SPDX-License-Identifier: MIT
 *
 * Threads that are cancelled, and signal handlers that draw, at each system call that a state, a slot
 * or a claimed range makes: nothing is left half done, no thread waits for an interrupted one, and no
 * ID repeats.
 */
#define _GNU_SOURCE
#include "scripted_state.h"
#include <pthread.h>

static flake_state numbered;

/* ---- a state of either header, and what claims a number or a range ---- */

static flake_status open_and_start_sno(void) {
    sno_snapshot pool = pool_of_numbers(5, 0, 99);
    const flake_status status = open_snos("snos", &pool);
    return status == FLAKE_OK ? start_sno(&pool) : status;
}

static const struct kind {
    const char *file;
    flake_state *state;
    flake_status (*start)(void), (*draw)(void);
} kinds[] = {{"ids", &state, open_and_start, draw}, {"snos", &snos, open_and_start_sno, draw_sno}};
static const struct kind *const no_more = kinds + 2, *k; /* the current kind */

static flake_status start(void) { return k->start(); }
static flake_status draw_one(void) { return k->draw(); }
static flake_status extend(void) { return flake_state_extend(k->state, NULL); }
static flake_status shut(void) { return flake_state_close(k->state, NULL); }

static flake_status claim_slot(void) {
    const flake_options o = options_in_scene();
    const flake_state_options w = {.dir = our_folder, .count = 1, .wait_ms = 5000};
    uint64_t number;
    return flake_state_open(&numbered, &w, flake_node_none(), &o, &number, NULL);
}

static flake_status release_slot(void) { return flake_state_close(&numbered, NULL); }

static flake_status exclude_flake(void) {
    flake_options o = options_in_scene();
    o.exclusive_dir = our_folder;
    o.after_unix_ms = scene_ns() / 1000000 + 3; /* it waits, with the claim */
    return flake_init(&gen, flake_node_fixed(NULL, 1), &o, NULL);
}

static flake_status exclude_sno(void) {
    const sno_snapshot pool = pool_of_numbers(5, 0, 99);
    flake_options o = options_of_sno(scene_clock, NULL);
    o.exclusive_dir = our_folder;
    o.after_unix_ms = scene_ns() / 1000000 + 3;
    return sno_init(&sno, flake_node_fixed(NULL, 5), &pool, &o, NULL);
}

static flake_status retire_flake(void) {
    flake_release(&gen);
    return FLAKE_OK;
}

static flake_status retire_sno(void) {
    flake_release(&sno.gen);
    return FLAKE_OK;
}

/* ---- cancelled at each system call ---- */

static int calls, cancel_at; /* the call at which the thread is cancelled, from 1 */
static flake_status (*to_cancel)(void);
static flake_status outcome;
static bool was_done;

static bool cancel_here(const char *name) {
    if (++calls == cancel_at) CHECK_EQ(pthread_cancel(pthread_self()), 0);
    if (strcmp(name, "lseek") != 0 && strcmp(name, "stat") != 0 && strcmp(name, "fstat") != 0 &&
        strcmp(name, "rename") != 0 && strcmp(name, "unlink") != 0)
        pthread_testcancel();
    return true;
}

static void *do_and_be_cancelled(void *unused) {
    (void)unused;
    outcome = to_cancel();
    was_done = true;
    pthread_testcancel();
    return NULL;
}

/* Does it in a thread that is cancelled at that call. False: it makes fewer calls. */
static bool cancelled_at(int call, flake_status (*what)(void)) {
    pthread_t thread;
    void *end = NULL;
    calls = 0;
    cancel_at = call;
    to_cancel = what;
    was_done = false;
    on_call = cancel_here;
    if (pthread_create(&thread, NULL, do_and_be_cancelled, NULL) != 0) abort();
    CHECK_EQ(pthread_join(thread, &end), 0);
    on_call = NULL;
    CHECK(was_done);
    if (was_done) CHECK_EQ(outcome, FLAKE_OK);
    CHECK_EQ(end == PTHREAD_CANCELED, calls >= call);
    return calls >= call;
}

static void is_well_and_closes(void) {
    CHECK_EQ(draw_one(), FLAKE_OK);
    CHECK_EQ(extend(), FLAKE_OK);
    pass_ms(10000);
    CHECK_EQ(draw_one(), FLAKE_OK);
    CHECK_EQ(shut(), FLAKE_OK);
    pass_ms(5);
}

/* Reading the file before it is opened leaves no trace either. */
TEST(an_open_leaves_its_thread_cancellable) {
    int before = PTHREAD_CANCEL_DISABLE;
    for (int i = 0; i < 2; i++, pass_ms(5)) {
        sno_snapshot pool = {0}; /* the file's, or a random one */
        CHECK_EQ(open_snos("snos", &pool), FLAKE_OK);
        CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before), 0);
        CHECK_EQ(before, PTHREAD_CANCEL_ENABLE);
        close_it(&snos);
    }
}

static void run_and_die(void) {
    for (k = kinds; k < no_more; k++) EXPECT(start() == FLAKE_OK && draw_one() == FLAKE_OK);
    be_killed();
}

/* For a new file, an existing one, or one with a crash to wait for. */
static void open_is_not_cancelled(bool waits) {
    for (k = kinds; k < no_more; k++) {
        begin();
        const int open_before = descriptors();
        bool cancelled = true;
        for (int call = 1; cancelled && !check_failures; call++) {
            if (waits) {
                pass_ms(10000);
                child_is_killed(run_and_die);
            }
            atomic_store(&our->sleeps, 0u);
            cancelled = cancelled_at(call, start);
            if (waits) CHECK(atomic_load(&our->sleeps) > 0);
            is_well_and_closes();
            CHECK_EQ(descriptors(), open_before);
            if (call % 2 && !waits) CHECK_EQ(unlink(path_of(k->file)), 0);
        }
        CHECK(cancel_at > 10);
        CHECK_EQ(repeated(), 0);
    }
}

TEST(an_open_is_not_cancelled) { open_is_not_cancelled(false); }
TEST(an_open_that_waits_is_not_cancelled) { open_is_not_cancelled(true); }

static void is_cancelled_while_open(flake_status (*what)(void)) {
    for (k = kinds; k < no_more; k++) {
        begin();
        const int open_before = descriptors();
        bool cancelled = true;
        for (int call = 1; cancelled && !check_failures; call++) {
            CHECK_EQ(start(), FLAKE_OK);
            CHECK_EQ(draw_one(), FLAKE_OK);
            pass_ms(10000); /* past the horizon, so that a draw writes */
            cancelled = cancelled_at(call, what);
            if (what != shut) {
                CHECK_EQ(descriptors(), open_before + 1);
                is_well_and_closes();
            }
            CHECK_EQ(descriptors(), open_before);
        }
        CHECK(cancel_at >= 4);
        CHECK_EQ(repeated(), 0);
    }
}

TEST(a_draw_that_writes_is_not_cancelled) { is_cancelled_while_open(draw_one); }
TEST(an_extension_is_not_cancelled) { is_cancelled_while_open(extend); }
TEST(a_close_is_not_cancelled) { is_cancelled_while_open(shut); }

TEST(a_claim_is_made_and_let_go_whole) {
    static const struct {
        flake_status (*take)(void), (*let_go)(void);
        int take_calls, let_go_calls;
    } ways[] = {{claim_slot, release_slot, 10, 5},
                {exclude_flake, retire_flake, 5, 2},
                {exclude_sno, retire_sno, 5, 2}};
    for (int i = 0; i < 3; i++) {
        begin();
        const int open_before = descriptors();
        bool cancelled = true;
        for (int call = 1; cancelled && !check_failures; call++) {
            cancelled = cancelled_at(call, ways[i].take);
            CHECK_EQ(descriptors(), open_before + 1);
            if (i == 0) CHECK_EQ(claim_slot(), FLAKE_IN_USE);
            CHECK_EQ(ways[i].let_go(), FLAKE_OK);
            if (call % 2) (void)unlink(path_of("0.slot"));
            else pass_ms(-1); /* the number is held back: it waits */
        }
        CHECK(cancel_at > ways[i].take_calls);
        cancelled = true;
        for (int call = 1; cancelled && !check_failures; call++) {
            CHECK_EQ(ways[i].take(), FLAKE_OK);
            cancelled = cancelled_at(call, ways[i].let_go);
            CHECK_EQ(descriptors(), open_before);
        }
        CHECK(cancel_at > ways[i].let_go_calls);
    }
}

/* ---- a signal handler that draws ---- */

static int raise_at;
static unsigned handled;
static bool manual_extend;

static bool raise_here(const char *name) {
    (void)name;
    if (++calls == raise_at) (void)raise(SIGUSR1);
    return true;
}

/* A handler that waits for the thread that it has interrupted would do so for ever. */
static void no_sleep_in_a_handler(int64_t ns) {
    (void)ns;
    printf("  a call in the handler sleeps\nFAIL a_draw_in_a_handler_is_answered_at_once\n");
    (void)fflush(stdout);
    _exit(1);
}

/* The status for a handler whose thread writes the state, while the clock is past its horizon. */
static void draw_in_between(int signal_number) {
    uint64_t id = 7;
    (void)signal_number;
    handled++;
    on_sleep = no_sleep_in_a_handler;
    const flake_status late = manual_extend ? FLAKE_NOT_EXTENDED : FLAKE_AGAIN;
    CHECK_EQ(draw_one(), late);
    CHECK_EQ(extend(), FLAKE_OK); /* another is writing */
    CHECK_EQ(shut(), FLAKE_AGAIN);
    if (k == kinds) {
        CHECK_EQ(flake_try(&gen, &id), late);
        CHECK_EQ(got64_n(&gen, &id, 1), 0);
        CHECK_EQ(id, 0);
    } else CHECK(sno_is_zero(next_sno(&sno, 0)));
    on_sleep = NULL;
    on_call = raise_here;
}

static void is_interrupted(flake_status (*what)(void)) {
    for (k = kinds; k < no_more; k++) {
        begin();
        CHECK_EQ(start(), FLAKE_OK);
        FLAKE_ATOMIC_STORE(&k->state->manual_extend, manual_extend ? 1u : 0u, relaxed);
        for (raise_at = 1;; raise_at++) {
            pass_ms(60000);
            calls = 0;
            handled = 0;
            on_call = raise_here;
            const flake_status status = what();
            on_call = NULL;
            CHECK_EQ(status, FLAKE_OK);
            CHECK_EQ(draw_one(), FLAKE_OK);
            if (!handled || check_failures) break;
        }
        CHECK(raise_at >= 4);
        CHECK_EQ(shut(), FLAKE_OK);
        CHECK_EQ(repeated(), 0);
    }
}

TEST(a_draw_in_a_handler_is_answered_at_once) {
    (void)signal(SIGUSR1, draw_in_between);
    is_interrupted(extend);
    is_interrupted(draw_one);
    manual_extend = true;
    is_interrupted(extend);
    manual_extend = false;
}

/* ---- errno ---- */

static int fail_at;

static bool fail_here(const char *name) {
    (void)name;
    errno = ENOSPC;
    return ++calls < fail_at;
}

TEST(errno_stays_as_it_was) {
    for (k = kinds; k < no_more; k++) {
        begin();
        errno = 77;
        CHECK_EQ(start(), FLAKE_OK);
        CHECK_EQ(errno, 77);
        for (fail_at = 1; fail_at < 10; fail_at++) {
            pass_ms(60000);
            calls = 0;
            on_call = fail_here;
            errno = 77;
            const flake_status drawn = draw_one(), extended = extend();
            CHECK_EQ(errno, 77);
            CHECK(drawn == FLAKE_OK || drawn == FLAKE_IO);
            CHECK(extended == FLAKE_OK || extended == FLAKE_IO);
            on_call = NULL;
            CHECK_EQ(draw_one(), FLAKE_OK);
            CHECK_EQ(errno, 77);
        }
        CHECK_EQ(shut(), FLAKE_OK);
        CHECK_EQ(errno, 77);
    }
    errno = 77;
    CHECK_EQ(claim_slot(), FLAKE_OK);
    CHECK_EQ(release_slot(), FLAKE_OK);
    CHECK_EQ(exclude_flake(), FLAKE_OK);
    CHECK_EQ(exclude_flake(), FLAKE_IN_USE);
    flake_release(&gen);
    CHECK_EQ(errno, 77);
}

int main(int argc, char **argv) { return state_main(argc, argv); }
