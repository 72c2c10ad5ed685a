/* SPDX-License-Identifier: MIT
 *
 * Threads that are cancelled, and signal handlers that draw, at each system call that a state, a slot
 * or a claimed range makes: nothing is left half done, nobody waits for the interrupted, and no id
 * comes twice.
 */
#define _GNU_SOURCE
#include "scene.h"
#include "flake.h"
#include "sno.h"
#include "options.h"
#include "sno_key.h"
#include <pthread.h>

static flake_state state;
static flake_gen gen;
static flake_state numbered;
static flake_state snos;
static sno_gen sno;
static sno_snapshot sno_pool_of;

/* ---- both headers, as one ---- */


static bool manual_extend;

/* The options of either header's states have the same fields. */
#define SET_STATE_OPTIONS(w, name)        \
    do {                                  \
        memset(&(w), 0, sizeof(w));        \
        (w).path = path_of(name);          \
        (w).manual_extend = manual_extend; \
    } while (0)

static flake_status open_flake(void) {
    flake_state_options w;
    flake_options o = options_in_scene(1);
    SET_STATE_OPTIONS(w, "ids");
    const flake_status status = flake_state_open(&state, &w, &o, NULL, NULL);
    if (status != FLAKE_OK) return status;
    o.state = &state;
    return flake_init(&gen, &o, NULL);
}

static flake_options sno_options_now(void) {
    sno_pool_of = pool_of_numbers(5, 0, 99);
    return options_of_sno(scene_clock, NULL);
}

static flake_status open_sno(void) {
    flake_state_options w;
    flake_options o = sno_options_now();
    SET_STATE_OPTIONS(w, "snos");
    const flake_status status = sno_state_open(&snos, &w, &o, &sno_pool_of, NULL);
    if (status != FLAKE_OK) return status;
    o.state = &snos;
    return sno_init(&sno, &sno_pool_of, &o, NULL);
}

static flake_status draw_flake(void) {
    uint64_t id;
    const flake_status status = flake_next(&gen, &id);
    if (status == FLAKE_OK) note(id);
    return status;
}

static flake_status draw_sno(void) {
    sno_id id;
    const flake_status status = sno_next_n(&sno, 0, &id, 1);
    if (status == FLAKE_OK) note(sno_key(id) | (uint64_t)1 << 63);
    return status;
}

static flake_status extend_flake(void) { return flake_state_extend(&state, NULL); }
static flake_status extend_sno(void) { return flake_state_extend(&snos, NULL); }
static flake_status close_flake(void) { return flake_state_close(&state, NULL); }
static flake_status close_sno(void) { return flake_state_close(&snos, NULL); }

static flake_status claim_slot(void) {
    const flake_options o = options_in_scene(0);
    flake_state_options w = {0};
    uint64_t number;
    w.dir = our_folder;
    w.count = 1;
    w.wait_ms = 5000;
    return flake_state_open(&numbered, &w, &o, &number, NULL);
}

static flake_status release_slot(void) { return flake_state_close(&numbered, NULL); }

static flake_status exclude_flake(void) {
    flake_options o = options_in_scene(1);
    o.exclusive_dir = our_folder;
    return flake_init(&gen, &o, NULL);
}

static flake_status exclude_sno(void) {
    flake_options o = sno_options_now();
    o.exclusive_dir = our_folder;
    return sno_init(&sno, &sno_pool_of, &o, NULL);
}

static flake_status retire_flake(void) {
    flake_release(&gen);
    return FLAKE_OK;
}

static flake_status retire_sno(void) {
    flake_release(&sno.gen);
    return FLAKE_OK;
}

static const struct kind {
    const char *name;
    flake_status (*start)(void), (*draw)(void), (*extend)(void), (*shut)(void);
} kinds[] = {{"flake", open_flake, draw_flake, extend_flake, close_flake},
             {"sno", open_sno, draw_sno, extend_sno, close_sno}};
enum { kinds_count = sizeof kinds / sizeof *kinds };

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

/* Does it in a thread that is cancelled at that call. False: there are not so many. */
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

static void is_well_and_closes(const struct kind *k) {
    CHECK_EQ(k->draw(), FLAKE_OK);
    CHECK_EQ(k->extend(), FLAKE_OK);
    pass_ms(10000);
    CHECK_EQ(k->draw(), FLAKE_OK);
    CHECK_EQ(k->shut(), FLAKE_OK);
    pass_ms(5);
}

/* What looks into the file before it is opened leaves no trace either. */
TEST(an_open_leaves_its_thread_cancellable) {
    flake_state_options w = {0};
    sno_snapshot pool;
    int before = PTHREAD_CANCEL_DISABLE;
    begin();
    w.path = path_of("snos");
    const flake_options o = sno_options_now();
    for (int i = 0; i < 2; i++, pass_ms(5)) {
        memset(&pool, 0, sizeof pool); /* the file's, or one that is drawn */
        CHECK_EQ(sno_state_open(&snos, &w, &o, &pool, NULL), FLAKE_OK);
        CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before), 0);
        CHECK_EQ(before, PTHREAD_CANCEL_ENABLE);
        CHECK_EQ(flake_state_close(&snos, NULL), FLAKE_OK);
    }
}

TEST(an_open_is_not_cancelled) {
    for (int i = 0; i < kinds_count; i++) {
        const struct kind *k = &kinds[i];
        begin();
        const int open_before = descriptors();
        for (int call = 1; cancelled_at(call, k->start) && !check_failures; call++) {
            is_well_and_closes(k);
            CHECK_EQ(descriptors(), open_before);
            if (call % 2) CHECK_EQ(unlink(path_of(k == kinds ? "ids" : "snos")), 0);
        }
        CHECK(cancel_at > 10);
        CHECK_EQ(k->shut(), FLAKE_OK);
        CHECK_EQ(repeated(), 0);
    }
}

static void run_and_die(void) {
    EXPECT(open_flake() == FLAKE_OK && draw_flake() == FLAKE_OK);
    EXPECT(open_sno() == FLAKE_OK && draw_sno() == FLAKE_OK);
    be_killed();
}

/* With a crash to wait for. */
TEST(an_open_that_waits_is_not_cancelled) {
    for (int i = 0; i < kinds_count; i++) {
        const struct kind *k = &kinds[i];
        begin();
        const int open_before = descriptors();
        for (int call = 1; !check_failures; call++) {
            pass_ms(10000);
            child_is_killed(run_and_die);
            atomic_store(&our->sleeps, 0u);
            const bool cancelled = cancelled_at(call, k->start);
            CHECK(atomic_load(&our->sleeps) > 0);
            is_well_and_closes(k);
            CHECK_EQ(descriptors(), open_before);
            if (!cancelled) break;
        }
        CHECK(cancel_at > 10);
        CHECK_EQ(repeated(), 0);
    }
}

static void is_cancelled_while_open(flake_status (*what)(void), const struct kind *k, bool closes) {
    begin();
    const int open_before = descriptors();
    bool cancelled = true;
    for (int call = 1; cancelled && !check_failures; call++) {
        CHECK_EQ(k->start(), FLAKE_OK);
        CHECK_EQ(k->draw(), FLAKE_OK);
        pass_ms(10000); /* past the horizon, so that a draw writes */
        cancelled = cancelled_at(call, what);
        if (!closes) {
            CHECK_EQ(descriptors(), open_before + 1);
            is_well_and_closes(k);
        }
        CHECK_EQ(descriptors(), open_before);
    }
    CHECK(cancel_at >= 4);
    CHECK_EQ(repeated(), 0);
}

TEST(a_draw_that_writes_is_not_cancelled) {
    for (int i = 0; i < kinds_count; i++) is_cancelled_while_open(kinds[i].draw, &kinds[i], false);
}

TEST(an_extension_is_not_cancelled) {
    for (int i = 0; i < kinds_count; i++)
        is_cancelled_while_open(kinds[i].extend, &kinds[i], false);
}

TEST(a_close_is_not_cancelled) {
    for (int i = 0; i < kinds_count; i++) is_cancelled_while_open(kinds[i].shut, &kinds[i], true);
}

TEST(a_claim_is_not_cancelled) {
    begin();
    const int open_before = descriptors();
    for (int call = 1; cancelled_at(call, claim_slot) && !check_failures; call++) {
        CHECK_EQ(descriptors(), open_before + 1);
        CHECK_EQ(claim_slot(), FLAKE_IN_USE);
        CHECK_EQ(release_slot(), FLAKE_OK);
        if (call % 2) CHECK_EQ(unlink(path_of("0.slot")), 0);
        else pass_ms(-1); /* the number is held back: it waits */
    }
    CHECK(cancel_at > 10);
    CHECK_EQ(release_slot(), FLAKE_OK);
    CHECK_EQ(descriptors(), open_before);
}

TEST(a_release_is_not_cancelled) {
    begin();
    const int open_before = descriptors();
    bool cancelled = true;
    for (int call = 1; cancelled && !check_failures; call++) {
        CHECK_EQ(claim_slot(), FLAKE_OK);
        cancelled = cancelled_at(call, release_slot);
        CHECK_EQ(descriptors(), open_before);
    }
    CHECK(cancel_at > 5);
}

TEST(a_range_is_claimed_and_let_go_whole) {
    static const struct {
        flake_status (*take)(void), (*let_go)(void);
    } ways[] = {{exclude_flake, retire_flake}, {exclude_sno, retire_sno}};
    for (size_t i = 0; i < 2; i++) {
        begin();
        const int open_before = descriptors();
        for (int call = 1; cancelled_at(call, ways[i].take) && !check_failures; call++) {
            CHECK_EQ(descriptors(), open_before + 1);
            CHECK_EQ(ways[i].let_go(), FLAKE_OK);
        }
        CHECK(cancel_at > 4);
        CHECK_EQ(ways[i].let_go(), FLAKE_OK);
        bool cancelled = true;
        for (int call = 1; cancelled && !check_failures; call++) {
            CHECK_EQ(ways[i].take(), FLAKE_OK);
            cancelled = cancelled_at(call, ways[i].let_go);
            CHECK_EQ(descriptors(), open_before);
        }
        CHECK(cancel_at > 2);
    }
}

/* ---- a signal handler that draws ---- */

static int raise_at;
static unsigned handled;
static const struct kind *kind_at_hand;

static bool raise_here(const char *name) {
    (void)name;
    if (++calls == raise_at) (void)raise(SIGUSR1);
    return true;
}

/* Who waits for the thread that he has interrupted would do so for ever. */
static void no_sleep_in_a_handler(int64_t ns) {
    (void)ns;
    printf("  a call in the handler sleeps\nFAIL a_draw_in_a_handler_is_answered_at_once\n");
    (void)fflush(stdout);
    _exit(1);
}

/* What a handler gets whose thread writes the state, beyond whose horizon the clock is. */
static void draw_in_between(int signal_number) {
    uint64_t id = 7;
    sno_id null;
    (void)signal_number;
    handled++;
    on_sleep = no_sleep_in_a_handler;
    const flake_status late = manual_extend ? FLAKE_NOT_EXTENDED : FLAKE_AGAIN;
    CHECK_EQ(kind_at_hand->draw(), late);
    CHECK_EQ(kind_at_hand->extend(), FLAKE_OK); /* somebody is at it */
    CHECK_EQ(kind_at_hand->shut(), FLAKE_AGAIN);
    if (kind_at_hand == &kinds[0]) {
        CHECK_EQ(flake_try(&gen, &id), late);
        CHECK_EQ(got64_n(&gen, &id, 1), 0);
        CHECK_EQ(id, 0);
    } else {
        null = next_sno(&sno, 0);
        CHECK(sno_is_zero(null));
    }
    on_sleep = NULL;
    on_call = raise_here;
}

static void is_interrupted(const struct kind *k, flake_status (*what)(void)) {
    kind_at_hand = k;
    begin();
    CHECK_EQ(k->start(), FLAKE_OK);
    for (raise_at = 1;; raise_at++) {
        pass_ms(60000);
        calls = 0;
        handled = 0;
        on_call = raise_here;
        const flake_status status = what();
        on_call = NULL;
        CHECK_EQ(status, FLAKE_OK);
        CHECK_EQ(k->draw(), FLAKE_OK);
        if (!handled || check_failures) break;
    }
    CHECK(raise_at >= 4);
    CHECK_EQ(k->shut(), FLAKE_OK);
    CHECK_EQ(repeated(), 0);
}

TEST(a_draw_in_a_handler_is_answered_at_once) {
    (void)signal(SIGUSR1, draw_in_between);
    for (int timer = 0; timer < 2; timer++) {
        manual_extend = timer;
        for (int i = 0; i < kinds_count; i++) {
            is_interrupted(&kinds[i], kinds[i].extend);
            if (!timer) is_interrupted(&kinds[i], kinds[i].draw);
        }
    }
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
    for (int i = 0; i < kinds_count; i++) {
        const struct kind *k = &kinds[i];
        begin();
        errno = 77;
        CHECK_EQ(k->start(), FLAKE_OK);
        CHECK_EQ(errno, 77);
        for (fail_at = 1; fail_at < 10; fail_at++) {
            pass_ms(60000);
            calls = 0;
            on_call = fail_here;
            errno = 77;
            const flake_status drawn = k->draw(), extended = k->extend();
            CHECK_EQ(errno, 77);
            CHECK(drawn == FLAKE_OK || drawn == FLAKE_IO);
            CHECK(extended == FLAKE_OK || extended == FLAKE_IO);
            on_call = NULL;
            CHECK_EQ(k->draw(), FLAKE_OK);
            CHECK_EQ(errno, 77);
        }
        CHECK_EQ(k->shut(), FLAKE_OK);
        CHECK_EQ(errno, 77);
    }
    begin();
    errno = 77;
    CHECK_EQ(claim_slot(), FLAKE_OK);
    CHECK_EQ(release_slot(), FLAKE_OK);
    CHECK_EQ(exclude_flake(), FLAKE_OK);
    CHECK_EQ(exclude_flake(), FLAKE_IN_USE);
    flake_release(&gen);
    CHECK_EQ(errno, 77);
}

int main(int argc, char **argv) { return scene_main(argc, argv); }
