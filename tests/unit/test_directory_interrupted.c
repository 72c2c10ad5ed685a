/* SPDX-License-Identifier: MIT
 *
 * Threads that are cancelled, and signal handlers that draw, extend and close, at each system call that a number of a
 * directory makes (`>>directory` of flake.h; "signal handlers" and "cancelled" in docs/guarantees.md): nothing is left
 * half done, no thread waits for an interrupted one, no ID repeats, and errno is unchanged.
 */
#define _GNU_SOURCE
#include "scripted_directory.h"
#include <pthread.h>

/* ---- a generator of either header ---- */

static uint64_t number_of(bool is_sno) { return is_sno ? 5 : 1; }
static flake_gen *gen_of(bool is_sno) { return is_sno ? &sno.gen : &gen; }

static flake_status init(bool is_sno) {
    const sno_snapshot pool = pool_of_numbers(5, 0, 99);
    return is_sno ? init_sno(&sno, slot(5), &pool) : init_slot(&gen, 1);
}
static flake_status reinit(bool is_sno) {
    return is_sno ? sno_reinit_after_fork(&sno, slot(6), NULL, NULL, &why)
                  : flake_reinit_after_fork(&gen, slot(2), NULL, &why);
}
static flake_status draw(bool is_sno) { return is_sno ? draw_sno(&sno) : draw_from(&gen); }
static flake_status extend(bool is_sno) { return flake_extend(gen_of(is_sno), NULL); }
static flake_status shut(bool is_sno) { return flake_close(gen_of(is_sno), NULL); }

/* ---- cancelled at each system call ---- */

static struct {
    flake_status (*call)(bool is_sno);
    bool is_sno;
    int at, calls; /* the system call at which the thread is cancelled, from 1; those that it has made */
    bool was_done;
    flake_status outcome;
} cancelled;

static bool cancel_here(const char *name) {
    (void)name;
    if (++cancelled.calls == cancelled.at) CHECK_EQ(pthread_cancel(pthread_self()), 0);
    pthread_testcancel();
    return true;
}

static void *do_and_be_cancelled(void *unused) {
    cancelled.outcome = cancelled.call(cancelled.is_sno); /* checked later: this frame is left without return */
    cancelled.was_done = true;
    pthread_testcancel();
    return unused;
}

/* Does it in a thread that is cancelled at that system call. False: it makes fewer. */
static bool cancelled_at(int at, flake_status (*call)(bool is_sno), bool is_sno) {
    pthread_t thread;
    void *end = NULL;
    cancelled.call = call, cancelled.is_sno = is_sno;
    cancelled.at = at, cancelled.calls = 0, cancelled.was_done = false;
    on_call = cancel_here;
    if (pthread_create(&thread, NULL, do_and_be_cancelled, NULL) != 0) abort();
    CHECK_EQ(pthread_join(thread, &end), 0);
    on_call = NULL;
    CHECK(cancelled.was_done);
    CHECK_EQ(cancelled.outcome, FLAKE_OK);
    CHECK_EQ(end == PTHREAD_CANCELED, cancelled.calls >= at);
    return cancelled.calls >= at;
}

/* Before the call its file exists or not, by turns; a run has crashed, and init waits; or the generator is open, and
 * past its horizon, so that a draw writes. */
TEST(each_call_is_finished_before_its_thread_is_cancelled) {
    enum before { CLOSED, CRASHED, OPEN };
    static const struct {
        flake_status (*call)(bool is_sno);
        enum before before;
        int at_least; /* system calls */
    } rows[] = {{init, CLOSED, 10}, {init, CRASHED, 10}, {draw, OPEN, 3},
                {extend, OPEN, 3},  {reinit, OPEN, 3},   {shut, OPEN, 3}};
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        const bool is_sno = i % 2;
        bool was_cancelled = true;
        int at = 0;
        begin();
        const int open_before = descriptors();
        while (was_cancelled && !check_failures) {
            if (rows[i / 2].before == CRASHED) {
                pass_ms(10000);
                IN_KILLED_CHILD {
                    CHECK(init(is_sno) == FLAKE_OK && draw(is_sno) == FLAKE_OK);
                    be_killed();
                }
            } else if (rows[i / 2].before == OPEN) {
                CHECK(init(is_sno) == FLAKE_OK && draw(is_sno) == FLAKE_OK);
                pass_ms(10000);
            }
            if (rows[i / 2].call == reinit) flake_machine_cloned();
            atomic_store(&our->sleeps, 0u);
            was_cancelled = cancelled_at(++at, rows[i / 2].call, is_sno);
            if (rows[i / 2].before == CRASHED) CHECK(atomic_load(&our->sleeps) > 0);
            if (rows[i / 2].call != shut) {
                CHECK_EQ(descriptors(), open_before + 1);
                CHECK_EQ(init_slot(&other, number_of(is_sno) + (rows[i / 2].call == reinit)), FLAKE_IN_USE);
                CHECK(draw(is_sno) == FLAKE_OK && extend(is_sno) == FLAKE_OK);
                pass_ms(10000);
                CHECK(draw(is_sno) == FLAKE_OK && shut(is_sno) == FLAKE_OK);
            }
            CHECK_EQ(descriptors(), open_before);
            pass_ms(5);
            if (rows[i / 2].before == CLOSED && at % 2) CHECK_EQ(unlink(slot_path(number_of(is_sno))), 0);
        }
        CHECK(at > rows[i / 2].at_least);
        CHECK_EQ(repeated(), 0);
        if (check_failures) printf("  row %zu, call %d\n", i / 2, at);
    }
}

static flake_gen *left; /* in shared memory, by a process that has died */

static flake_status take_over(bool unused) { return (void)unused, flake_take_over(left, NULL); }

TEST(a_take_over_is_not_cancelled) {
    flake_options o = options_in_scene();
    bool was_cancelled = true;
    int at = 0;
    if (!words_reach_other_processes) return;
    left = (flake_gen *)map_shared("left", sizeof *left);
    o.shared_memory = true;
    while (was_cancelled && !check_failures) {
        const int open_before = descriptors();
        pass_ms(10000);
        IN_KILLED_CHILD {
            CHECK_EQ(flake_init(left, slot(1), &o, NULL), FLAKE_OK);
            be_killed();
        }
        was_cancelled = cancelled_at(++at, take_over, false);
        CHECK_EQ(flake_extend(left, NULL), FLAKE_OK);
        CHECK_EQ(draw_from(left), FLAKE_OK);
        CHECK_EQ(flake_close(left, NULL), FLAKE_OK);
        CHECK_EQ(descriptors(), open_before);
    }
    CHECK(at > 7);
}

/* ---- a signal handler that draws, extends and closes ---- */

static bool manual_extend; /* of what it interrupts */

static void raise_signal(void) { (void)raise(SIGUSR1); }

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
    const int fd = (open)(slot_path(1), O_RDONLY);
    CHECK_EQ(pread(fd, bytes, sizeof bytes, 0), FLAKE_I_FILE);
    (void)(close)(fd);
    CHECK_EQ(flake_i_slot_get(bytes, sizeof bytes, &r), FLAKE_OK);
    return r.number;
}

/* The status for a handler whose thread writes the file, while the clock is past its horizon. */
static void draw_in_between(int signal_number) {
    const flake_status late = manual_extend ? FLAKE_NOT_EXTENDED : FLAKE_AGAIN;
    uint64_t id = 7;
    (void)signal_number;
    on_sleep = no_sleep_in_a_handler;
    const uint64_t written = last_number();
    CHECK_EQ(draw_from(&gen), late);
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK); /* another thread is writing */
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_AGAIN);
    FAILS(flake_try(&gen, &id), late, id);
    CHECK_EQ(got64_n(&gen, &id, 1), 0);
    CHECK_EQ(last_number(), written);
    IN_CHILD { /* is another process: its close only drops what it inherited */
        const int before = descriptors();
        CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
        CHECK_EQ(descriptors(), before - 1);
    }
    on_sleep = NULL;
}

static void is_interrupted(flake_status (*call)(bool is_sno)) {
    flake_options o = options_in_scene();
    bool was_interrupted = true;
    int at = 0;
    begin();
    o.manual_extend = manual_extend;
    CHECK_EQ(init_with(&gen, slot(1), o), FLAKE_OK);
    while (was_interrupted && !check_failures) {
        pass_ms(60000);
        trap = (struct trap){.from = ++at, .n = 1, .act = raise_signal};
        CHECK_EQ(call(false), FLAKE_OK);
        was_interrupted = trap.calls >= at;
        disk_begin();
        CHECK_EQ(draw_from(&gen), FLAKE_OK);
    }
    CHECK(at >= 4);
    close_it(&gen);
    CHECK_EQ(repeated(), 0);
}

TEST(a_draw_in_a_handler_is_answered_at_once) {
    (void)signal(SIGUSR1, draw_in_between);
    is_interrupted(extend);
    is_interrupted(draw);
    manual_extend = true;
    is_interrupted(extend);
    manual_extend = false;
}

/* The handler's close is refused, or finds that the interrupted one has ended; its draws are refused. */
static void close_in_between(int signal_number) {
    (void)signal_number;
    on_sleep = no_sleep_in_a_handler;
    const uint64_t written = last_number();
    const flake_status closed = flake_close(&gen, NULL);
    CHECK(closed == FLAKE_AGAIN || closed == FLAKE_OK);
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_CLOSED);
    CHECK_EQ(draw_from(&gen), FLAKE_CLOSED);
    CHECK_EQ(last_number(), written);
    on_sleep = NULL;
}

TEST(a_handler_that_interrupts_a_close_does_not_close) {
    bool was_interrupted = true;
    int at = 0;
    (void)signal(SIGUSR1, close_in_between);
    while (was_interrupted && !check_failures) {
        begin();
        const int open_before = descriptors();
        run(&gen, 1);
        pass_ms(5);
        trap = (struct trap){.from = ++at, .n = 1, .act = raise_signal};
        CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
        was_interrupted = trap.calls >= at;
        disk_begin();
        CHECK_EQ(descriptors(), open_before);
        run(&gen, 1); /* free, and recorded: no wait for the horizon */
        CHECK(scene_ns() <= (start_ms + 15) * a_ms);
        close_it(&gen);
    }
    CHECK(at >= 4);
}

TEST(errno_is_unchanged) {
    for (int is_sno = 0; is_sno < 2; is_sno++) {
        begin();
        errno = 77;
        CHECK_EQ(init(is_sno), FLAKE_OK);
        CHECK_EQ(errno, 77);
        for (int fail_at = 1; fail_at < 10; fail_at++) {
            pass_ms(60000);
            trap = (struct trap){.from = fail_at, .error = ENOSPC};
            errno = 77;
            const flake_status drawn = draw(is_sno), extended = extend(is_sno);
            CHECK_EQ(errno, 77);
            CHECK(drawn == FLAKE_OK || drawn == FLAKE_IO);
            CHECK(extended == FLAKE_OK || extended == FLAKE_IO);
            disk_begin();
            CHECK_EQ(draw(is_sno), FLAKE_OK);
            CHECK_EQ(errno, 77);
        }
        CHECK_EQ(init_slot(&other, number_of(is_sno)), FLAKE_IN_USE);
        for (int i = 0; i < 2; i++) CHECK_EQ(shut(is_sno), FLAKE_OK);
        CHECK_EQ(init_in(&other, "/proc/no-such-folder", 1), FLAKE_IO);
        CHECK_EQ(errno, 77);
    }
}

int main(int argc, char **argv) { return directory_main(argc, argv); }
