/* SPDX-License-Identifier: MIT
 *
 * Threads that are cancelled, and signal handlers that draw, extend and close, at each system call that a number of a
 * directory makes: nothing is left half done, no thread waits for an interrupted one, and no ID repeats.
 */
#define _GNU_SOURCE
#include "scripted_directory.h"
#include <pthread.h>

/* ---- a generator of either header ---- */

static flake_status init_flake(void) { return init_slot(&gen, 1); }
static flake_status init_snos(void) {
    const sno_snapshot pool = pool_of_numbers(5, 0, 99);
    return init_sno(&sno, slot(5), &pool);
}
static flake_status reinit_flake(void) { return flake_reinit_after_fork(&gen, slot(2), NULL, &why); }
static flake_status reinit_snos(void) { return sno_reinit_after_fork(&sno, slot(6), NULL, NULL, &why); }
static flake_status draw_flake(void) { return draw_from(&gen); }
static flake_status draw_snos(void) { return draw_sno(&sno); }

static const struct kind {
    uint64_t number, next_number; /* of init, of reinit */
    flake_gen *gen;
    flake_status (*init)(void), (*reinit)(void), (*draw)(void);
} kinds[] = {{1, 2, &gen, init_flake, reinit_flake, draw_flake},
             {5, 6, &sno.gen, init_snos, reinit_snos, draw_snos}};
static const struct kind *const no_more = kinds + 2, *k; /* the current kind */

static flake_status start(void) { return k->init(); }
static flake_status restart(void) { return k->reinit(); }
static flake_status draw_one(void) { return k->draw(); }
static flake_status extend(void) { return flake_extend(k->gen, NULL); }
static flake_status shut(void) { return flake_close(k->gen, NULL); }

/* ---- cancelled at each system call ---- */

static int calls, cancel_at; /* the call at which the thread is cancelled, from 1 */
static flake_status (*to_cancel)(void);
static flake_status outcome;
static bool was_done;

static bool cancel_here(const char *name) {
    static const char *const no_points[] = {"lseek", "stat", "fstat", "statfs", "getcwd", "mkdir", "rename", "unlink"};
    bool is_point = true;
    if (++calls == cancel_at) CHECK_EQ(pthread_cancel(pthread_self()), 0);
    for (size_t i = 0; i < sizeof no_points / sizeof *no_points; i++) is_point &= strcmp(name, no_points[i]) != 0;
    if (is_point) pthread_testcancel();
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

TEST(the_calls_leave_their_thread_cancellable) {
    int before = PTHREAD_CANCEL_DISABLE;
    for (k = kinds; k < no_more; k++)
        for (int call = 0; call < 5; call++) {
            CHECK_EQ(call == 0   ? start()
                     : call == 1 ? draw_one()
                     : call == 2 ? extend()
                     : call == 3 ? shut()
                                 : shut(),
                     FLAKE_OK);
            CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before), 0);
            CHECK_EQ(before, PTHREAD_CANCEL_ENABLE);
        }
    CHECK_EQ(init_with(&gen, flake_node_fixed("/proc/no-such-folder", 1), options_in_scene()), FLAKE_IO);
    CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before), 0);
    CHECK_EQ(before, PTHREAD_CANCEL_ENABLE);
}

static void run_and_die(void) {
    for (k = kinds; k < no_more; k++) CHECK(start() == FLAKE_OK && draw_one() == FLAKE_OK);
    be_killed();
}

/* For a new file, an existing one, or one with a crash to wait for. */
static void init_is_not_cancelled(bool waits) {
    for (k = kinds; k < no_more; k++) {
        begin();
        const int open_before = descriptors();
        bool cancelled = true;
        for (int call = 1; cancelled && !check_failures; call++) {
            if (waits) {
                const struct kind *const current = k;
                pass_ms(10000);
                IN_KILLED_CHILD run_and_die();
                k = current;
            }
            atomic_store(&our->sleeps, 0u);
            cancelled = cancelled_at(call, start);
            if (waits) CHECK(atomic_load(&our->sleeps) > 0);
            is_well_and_closes();
            CHECK_EQ(descriptors(), open_before);
            if (call % 2 && !waits) CHECK_EQ(unlink(path_of(slot_name(k->number))), 0);
        }
        CHECK(cancel_at > 10);
        CHECK_EQ(repeated(), 0);
    }
}

TEST(an_init_is_not_cancelled) { init_is_not_cancelled(false); }
TEST(an_init_that_waits_is_not_cancelled) { init_is_not_cancelled(true); }

static void is_cancelled_while_open(flake_status (*what)(void)) {
    for (k = kinds; k < no_more; k++) {
        begin();
        const int open_before = descriptors();
        bool cancelled = true;
        for (int call = 1; cancelled && !check_failures; call++) {
            CHECK_EQ(start(), FLAKE_OK);
            CHECK_EQ(draw_one(), FLAKE_OK);
            pass_ms(10000); /* past the horizon, so that a draw writes */
            if (what == restart) flake_machine_cloned();
            cancelled = cancelled_at(call, what);
            if (what != shut) {
                CHECK_EQ(descriptors(), open_before + 1);
                is_well_and_closes();
            }
            CHECK_EQ(descriptors(), open_before);
            pass_ms(5);
        }
        CHECK(cancel_at >= 4);
        CHECK_EQ(repeated(), 0);
    }
}

TEST(a_draw_that_writes_is_not_cancelled) { is_cancelled_while_open(draw_one); }
TEST(an_extension_is_not_cancelled) { is_cancelled_while_open(extend); }
TEST(a_close_is_not_cancelled) { is_cancelled_while_open(shut); }
TEST(a_reinit_is_not_cancelled) { is_cancelled_while_open(restart); }

static flake_gen *left; /* in shared memory, by a process that has died */

static void hold_and_die(void) {
    flake_options o = options_in_scene();
    o.shared_memory = true;
    CHECK_EQ(flake_init(left, slot(1), &o, NULL), FLAKE_OK);
    be_killed();
}

static flake_status take_over(void) { return flake_take_over(left, NULL); }

TEST(a_take_over_is_not_cancelled) {
    bool cancelled = true;
    if (!words_reach_other_processes) return;
    left = (flake_gen *)map_shared("left", sizeof *left);
    for (int call = 1; cancelled && !check_failures; call++) {
        const int open_before = descriptors();
        pass_ms(10000);
        IN_KILLED_CHILD hold_and_die();
        cancelled = cancelled_at(call, take_over);
        CHECK_EQ(flake_extend(left, NULL), FLAKE_OK);
        CHECK_EQ(draw_from(left), FLAKE_OK);
        CHECK_EQ(flake_close(left, NULL), FLAKE_OK);
        CHECK_EQ(descriptors(), open_before);
    }
    CHECK(cancel_at > 8);
}

static flake_status claim_any(void) {
    flake_options o = options_in_scene();
    o.claim_wait_ms = 5000;
    return flake_init(&gen, flake_node_any(our_folder, 0, 0), &o, &why);
}

TEST(a_number_of_a_range_is_claimed_whole) {
    const int open_before = descriptors();
    bool cancelled = true;
    k = kinds;
    for (int call = 1; cancelled && !check_failures; call++) {
        cancelled = cancelled_at(call, claim_any);
        CHECK_EQ(descriptors(), open_before + 1);
        CHECK_EQ(init_slot(&other, 0), FLAKE_IN_USE);
        CHECK_EQ(draw_one(), FLAKE_OK);
        CHECK_EQ(shut(), FLAKE_OK);
        if (call % 2) CHECK_EQ(unlink(path_of(slot_name(0))), 0);
        pass_ms(5);
    }
    CHECK(cancel_at > 10);
}

/* ---- a signal handler that draws, extends and closes ---- */

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

/* The number of the last record, read without the library's memory. */
static uint64_t last_number(void) {
    uint8_t bytes[FLAKE_I_FILE];
    flake_i_record r = {0};
    const int fd = (open)(path_of(slot_name(k->number)), O_RDONLY);
    CHECK_EQ(pread(fd, bytes, sizeof bytes, 0), FLAKE_I_FILE);
    (void)(close)(fd);
    CHECK_EQ(flake_i_slot_get(bytes, sizeof bytes, &r), FLAKE_OK);
    return r.number;
}

/* A child of the handler is another process: its close only drops what it inherited. */
static void close_in_a_child(void) {
    const int before = descriptors();
    CHECK_EQ(shut(), FLAKE_OK);
    CHECK_EQ(descriptors(), before - 1);
}

/* The status for a handler whose thread writes the file, while the clock is past its horizon. */
static void draw_in_between(int signal_number) {
    uint64_t id = 7;
    (void)signal_number;
    handled++;
    on_call = NULL;
    on_sleep = no_sleep_in_a_handler;
    const flake_status late = manual_extend ? FLAKE_NOT_EXTENDED : FLAKE_AGAIN;
    const uint64_t written = last_number();
    CHECK_EQ(draw_one(), late);
    CHECK_EQ(extend(), FLAKE_OK); /* another thread is writing */
    CHECK_EQ(shut(), FLAKE_AGAIN);
    if (k == kinds) {
        CHECK_EQ(flake_try(&gen, &id), late);
        CHECK_EQ(got64_n(&gen, &id, 1), 0);
        CHECK_EQ(id, 0);
    } else CHECK(sno_is_zero(next_sno(&sno, 0)));
    CHECK_EQ(last_number(), written);
    in_child(close_in_a_child);
    on_sleep = NULL;
    on_call = raise_here;
}

static void is_interrupted(flake_status (*what)(void)) {
    for (k = kinds; k < no_more; k++) {
        begin();
        flake_options o = k == kinds ? options_in_scene() : options_of_sno(scene_clock, NULL);
        o.manual_extend = manual_extend;
        CHECK_EQ(k == kinds ? flake_init(&gen, slot(1), &o, NULL)
                            : sno_init(&sno, slot(5), NULL, &o, NULL),
                 FLAKE_OK);
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

/* The handler's close is refused, or finds that the interrupted one has ended; its draws are refused. */
static void close_in_between(int signal_number) {
    (void)signal_number;
    handled++;
    on_call = NULL;
    on_sleep = no_sleep_in_a_handler;
    const uint64_t written = last_number();
    const flake_status closed = shut(), extended = extend(), drawn = draw_one();
    CHECK(closed == FLAKE_AGAIN || closed == FLAKE_OK);
    CHECK_EQ(extended, FLAKE_CLOSED);
    CHECK_EQ(drawn, FLAKE_CLOSED);
    CHECK_EQ(last_number(), written);
    on_sleep = NULL;
    on_call = raise_here;
}

TEST(a_handler_that_interrupts_a_close_does_not_close) {
    (void)signal(SIGUSR1, close_in_between);
    for (k = kinds; k < no_more; k++)
        for (raise_at = 1;; raise_at++) {
            begin();
            const int open_before = descriptors();
            CHECK_EQ(start(), FLAKE_OK);
            CHECK_EQ(draw_one(), FLAKE_OK);
            pass_ms(5);
            calls = 0;
            handled = 0;
            on_call = raise_here;
            CHECK_EQ(shut(), FLAKE_OK);
            on_call = NULL;
            CHECK_EQ(descriptors(), open_before);
            CHECK_EQ(start(), FLAKE_OK); /* free, and recorded: no wait for the horizon */
            CHECK_EQ(draw_one(), FLAKE_OK);
            CHECK(scene_ns() <= (start_ms + 15) * a_ms);
            CHECK_EQ(shut(), FLAKE_OK);
            if (!handled || check_failures) break;
        }
    CHECK(raise_at >= 4);
}

/* ---- errno ---- */

static int fail_at;

static bool fail_here(const char *name) {
    (void)name;
    errno = ENOSPC;
    return ++calls < fail_at;
}

TEST(errno_is_unchanged) {
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
        CHECK_EQ(start(), FLAKE_IN_USE);
        CHECK_EQ(errno, 77);
    }
    begin();
    errno = 77;
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    CHECK_EQ(init_slot(&other, 1), FLAKE_IN_USE);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
    CHECK_EQ(init_with(&other, flake_node_fixed("/proc/no-such-folder", 1), options_in_scene()), FLAKE_IO);
    CHECK_EQ(errno, 77);
}

int main(int argc, char **argv) { return directory_main(argc, argv); }
