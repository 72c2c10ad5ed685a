/* SPDX-License-Identifier: MIT
 *
 * Several processes draw, and SIGKILL ends one of them again and again, at any instruction (shared_memory and shards
 * in flake.h, `>>engine`; with a directory, `>>directory`). No ID repeats, including those of the killed processes; no
 * process waits longer than the queue's bound; the others continue, and a new process replaces the killed one.
 */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#define REAL_SLEEP
#define CHECK_OWN_MAIN
#include "support.h"
#include "flake.h"
#include "sno.h"
#include "options.h"
#include "sno_key.h"
#include "real_time.h"
#include "temporary_dir.h"
#include "children.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

enum { kills = small ? 20 : 100 };

enum {
    seats = 4,          /* processes at a time */
    ids_a_round = 2000, /* that a process may draw from one kill to the next */
    room = ids_a_round * (kills + 2),
    max_wait_ms = 200,
    stall_ms = 5000 /* that the machine may add */
};

/* The generators of one process at a time; its successor continues with them. */
typedef struct seat {
    _Atomic(uint64_t) n;
    _Atomic(int64_t) since_ns; /* when the call that runs began; 0: none runs */
    _Atomic(int64_t) longest_ns;
    _Atomic(uint64_t) refused;
    uint64_t ids[room];
} seat;

typedef struct common {
    flake_gen flake;
    flake_gen flake_shards[seats];
    sno_gen sno;
    sno_gen sno_shards[seats];
    _Atomic(int64_t) offset_ns; /* how far the clock has stepped back */
    _Atomic(uint64_t) allowed;
    _Atomic(bool) is_begun;         /* the generator in a directory */
    _Atomic(unsigned) takes, holds; /* by take-over; extensions */
    seat seats[seats];
} common;

static common *our;

static int64_t stepping_clock(void *user) {
    (void)user;
    return 1700000000000000000 + clock_ns(CLOCK_MONOTONIC) +
           atomic_load_explicit(&our->offset_ns, memory_order_relaxed);
}

static void begin(void) {
    memset((void *)our, 0, offsetof(common, seats));
    for (unsigned i = 0; i < seats; i++) memset((void *)&our->seats[i], 0, offsetof(seat, ids));
    (void)fflush(stdout);
}

/* ---- what processes draw from ---- */

typedef struct way {
    const char *name;
    bool is_sno, of_shards;
    uint32_t cap; /* IDs a unit */
    bool clock_steps, in_directory;
} way;

enum { horizon_ms = 60 };

static flake_node in_directory(const char *name) { return flake_node_fixed(in_folder(name), 1); }

/* IDs run ahead of the clock, so what a killed process has drawn is known by its file alone. */
static flake_options holders_options(void) {
    flake_options o = options_of_flake(0, 15, NULL, NULL);
    o.horizon_ms = horizon_ms;
    o.max_ahead_ms = 20;
    return o;
}

static flake_status draw_id(const way *w, unsigned i, uint64_t *id) {
    sno_id sno;
    if (w->in_directory) return flake_try(&our->flake, id);
    if (!w->is_sno) return flake_next(w->of_shards ? &our->flake_shards[i] : &our->flake, id);
    const flake_status status = sno_next(w->of_shards ? &our->sno_shards[i] : &our->sno, 7, &sno);
    *id = sno_key(sno);
    return status;
}

static void init(const way *w) {
    flake_options f = options_of_flake(1, w->cap < 4095 ? w->cap : 4095, NULL, NULL), s = {0};
    const sno_snapshot pool = pool_of_numbers(5, 1, (uint16_t)(w->cap < 16 ? 16 : w->cap));
    const flake_node zero = flake_node_fixed(NULL, 0), five = flake_node_fixed(NULL, 5);
    begin();
    s.shared_memory = f.shared_memory = true;
    f.max_wait_ms = s.max_wait_ms = max_wait_ms;
    if (w->clock_steps) f.clock.now_ns = s.clock.now_ns = stepping_clock;
    CHECK_EQ(flake_init(&our->flake, zero, &f, NULL), FLAKE_OK);
    CHECK_EQ(flake_init_shards(our->flake_shards, seats, zero, &f, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&our->sno, five, &pool, &s, NULL), FLAKE_OK);
    CHECK_EQ(sno_init_shards(our->sno_shards, seats, five, &pool, &s, NULL), FLAKE_OK);
}

/* In a directory: extends the horizon, after it has become the holder, if the last one has died. */
static void hold(void) {
    flake_status status = flake_extend(&our->flake, NULL);
    if (status == FLAKE_INVALID) {
        if (flake_take_over(&our->flake, NULL) != FLAKE_OK) return;
        atomic_fetch_add(&our->takes, 1u);
        status = flake_extend(&our->flake, NULL);
    }
    if (status == FLAKE_OK) atomic_fetch_add(&our->holds, 1u);
}

/* The first process calls init. */
static void init_in_directory(unsigned i) {
    flake_options o = holders_options();
    o.shared_memory = true;
    if (i == 0 && !atomic_load(&our->is_begun)) {
        if (flake_init(&our->flake, in_directory("shared"), &o, NULL) != FLAKE_OK) _exit(1);
        atomic_store(&our->is_begun, true);
    }
    while (!atomic_load(&our->is_begun)) nap_us(20);
}

/* ---- processes ---- */

/* An ID is recorded before the next is drawn; a process killed before that has drawn one unrecorded ID, and no other
 * process may draw it. */
static _Noreturn void draw_on(unsigned i, const way *w, pid_t parent) {
    seat *s = &our->seats[i];
    if (w->in_directory) init_in_directory(i);
    for (unsigned turn = 0;; turn++) {
        const uint64_t n = atomic_load(&s->n);
        if (getppid() != parent) _exit(1);
        if (w->in_directory && turn % 256 == 0) hold();
        if (n >= atomic_load(&our->allowed)) {
            nap_us(20);
            continue;
        }
        const int64_t began_ns = clock_ns(CLOCK_MONOTONIC);
        atomic_store(&s->since_ns, began_ns);
        uint64_t id = 0;
        const flake_status status = draw_id(w, i, &id);
        const int64_t took_ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
        atomic_store(&s->since_ns, 0);
        if (took_ns > atomic_load(&s->longest_ns)) atomic_store(&s->longest_ns, took_ns);
        if (status == FLAKE_OK) {
            s->ids[n] = id;
            atomic_store(&s->n, n + 1);
        } else if (w->in_directory && status == FLAKE_NOT_EXTENDED) hold();
        else if (!w->in_directory || status != FLAKE_AGAIN) atomic_fetch_add(&s->refused, 1u);
    }
}

static pid_t start(unsigned i, const way *w) {
    const pid_t parent = getpid();
    pid_t child;
    atomic_store(&our->seats[i].since_ns, 0);
    IN_CHILD_AS(child) draw_on(i, w, parent);
    return child;
}

/* Waits until every process has drawn more than `had`; false: one does not. */
static bool all_go_on(const uint64_t *had) {
    const int64_t end_ns = clock_ns(CLOCK_MONOTONIC) + (max_wait_ms + stall_ms) * INT64_C(1000000);
    for (unsigned i = 0; i < seats; i++)
        while (atomic_load(&our->seats[i].n) <= had[i]) {
            const int64_t since_ns = atomic_load(&our->seats[i].since_ns);
            if (clock_ns(CLOCK_MONOTONIC) > end_ns) {
                printf("  process %u has %" PRIu64 " IDs and draws no more; it is %s\n", i, had[i],
                       since_ns ? "in a call" : "between two calls");
                return false;
            }
            nap_us(20);
        }
    return true;
}

static void end_killed(pid_t child) {
    CHECK_EQ(kill(child, SIGKILL), 0);
    CHECK_EQ(end_of(child), SIGKILL);
}

/* Starts all, kills one after the other, and returns how many IDs were below the one before. */
static size_t kill_again_and_again(const way *w) {
    const uint64_t longest_pause_ns = w->in_directory ? 3000000 : 300000;
    pid_t children[seats];
    uint64_t random = 88172645463325252u, had[seats] = {0};
    atomic_store(&our->allowed, ids_a_round);
    for (unsigned i = 0; i < seats; i++) children[i] = start(i, w);
    bool all_well = all_go_on(had);
    for (unsigned k = 0; k < kills && all_well; k++) {
        const unsigned victim = (unsigned)random_below(&random, seats);
        for (unsigned i = 0; i < seats; i++) had[i] = atomic_load(&our->seats[i].n);
        atomic_fetch_add(&our->allowed, ids_a_round);
        if (w->clock_steps) {
            const uint64_t most_ns = random_below(&random, 2) ? 2000000 : 20000000;
            atomic_store(&our->offset_ns, -(int64_t)random_below(&random, most_ns));
        }
        const int64_t end_ns = clock_ns(CLOCK_MONOTONIC) + (int64_t)random_below(&random, longest_pause_ns);
        while (clock_ns(CLOCK_MONOTONIC) < end_ns) (void)sched_yield();
        end_killed(children[victim]);
        children[victim] = start(victim, w);
        all_well = all_go_on(had);
    }
    CHECK(all_well);
    for (unsigned i = 0; i < seats; i++) end_killed(children[i]);
    size_t falls = 0;
    for (unsigned i = 0; i < seats; i++) {
        const seat *s = &our->seats[i];
        for (uint64_t k = 1; k < s->n; k++) falls += s->ids[k] <= s->ids[k - 1];
        CHECK(s->longest_ns <= (max_wait_ms + stall_ms) * INT64_C(1000000));
        if (!w->clock_steps) CHECK_EQ(s->refused, 0);
    }
    return falls;
}

static size_t repeated(void) {
    size_t n = 0;
    uint64_t *all = (uint64_t *)malloc(seats * sizeof our->seats[0].ids);
    if (!all) abort();
    for (unsigned i = 0; i < seats; i++) {
        const size_t held = (size_t)our->seats[i].n;
        memcpy(all + n, our->seats[i].ids, held * sizeof *all);
        n += held;
    }
    CHECK(n >= kills);
    const size_t duplicates = count_duplicates(all, n);
    free(all);
    return duplicates;
}

TEST(killed_at_any_instruction) {
    static const way ways[] = {
        {"a shared generator", false, false, 4095, false, false},
        {"its queue", false, false, 256, false, false},
        {"each ID is waited for", false, false, 4, false, false},
        {"the clock goes backwards", false, false, 256, true, false},
        {"shards that successors take over", false, true, 1024, false, false},
        {"shards, the clock goes backwards", false, true, 1024, true, false},
        {"a shared sno generator", true, false, 65535, false, false},
        {"its queue", true, false, 512, false, false},
        {"snos, the clock goes backwards", true, false, 4095, true, false},
        {"sno shards that successors take over", true, true, 4095, false, false},
        {"sno shards, the clock goes backwards", true, true, 4095, true, false},
    };
    if (!words_reach_other_processes) {
        const flake_options shared = {.shared_memory = true};
        CHECK_EQ(flake_init(&our->flake, flake_node_fixed(NULL, 0), &shared, NULL), FLAKE_INVALID);
        return;
    }
    for (const way *w = ways; w < ways + sizeof ways / sizeof *ways && !check_failures; w++) {
        init(w);
        const size_t falls = kill_again_and_again(w);
        CHECK_EQ(repeated(), 0);
        if (!w->clock_steps) CHECK_EQ(falls, 0);
        if (check_failures) printf("  with %s\n", w->name);
    }
}

/* With a directory the holder is killed, too. */
TEST(another_process_takes_over_from_a_killed_holder_while_all_draw) {
    static const way shared = {"a number of a directory", false, false, 16, false, true};
    const flake_options o = holders_options();
    flake_gen *const next = &our->flake_shards[0]; /* the next holder, with memory of its own */
    uint64_t id, newest = 0;
    if (!words_reach_other_processes) return;
    begin();
    (void)kill_again_and_again(&shared);
    CHECK(atomic_load(&our->takes) > 0);
    CHECK(atomic_load(&our->holds) > kills);
    for (unsigned i = 0; i < seats; i++) {
        const seat *s = &our->seats[i];
        if (s->n && s->ids[s->n - 1] > newest) newest = s->ids[s->n - 1];
    }
    CHECK_EQ(repeated(), 0);
    CHECK_EQ(flake_init(next, in_directory("shared"), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(next, &id), FLAKE_OK);
    CHECK(id > newest);
    CHECK_EQ(flake_close(next, NULL), FLAKE_OK);
}

enum { takers = small ? 100 : 1000, ids_each = 3 };

/* One generator's life. */
static void take_over(uint64_t *ids, bool is_sno, bool this_unit) {
    static flake_gen flake;
    static sno_gen snos;
    const flake_options o = {.start_this_unit = this_unit};
    CHECK_EQ(is_sno ? sno_init(&snos, flake_node_fixed(NULL, 5), NULL, &o, NULL)
                    : flake_init(&flake, flake_node_fixed(NULL, 5), &o, NULL),
             FLAKE_OK);
    for (unsigned i = 0; i < ids_each; i++)
        if (is_sno) ids[i] = sno_key(next_sno(&snos, 7));
        else CHECK_EQ(flake_next(&flake, &ids[i]), FLAKE_OK);
}

static size_t falls_of(const uint64_t *ids, size_t n) {
    size_t falls = 0;
    for (size_t i = 1; i < n; i++) falls += ids[i] <= ids[i - 1];
    return falls;
}

/* Each begins as soon as the one before has drawn, mostly in the same unit: in this process, or in one of its own. */
TEST(a_generator_takes_over_a_number_in_the_unit_of_the_one_before) {
    uint64_t *const ids = our->seats[0].ids;
    for (int is_sno = 0; is_sno < 2; is_sno++) {
        for (unsigned i = 0; i < takers; i++) take_over(ids + ids_each * i, is_sno, false);
        CHECK_EQ(falls_of(ids, ids_each * takers), 0);
        for (unsigned i = 0; i < takers; i++) IN_CHILD take_over(ids + ids_each * i, is_sno, false);
        CHECK_EQ(falls_of(ids, ids_each * takers), 0);
        for (unsigned i = 0; i < takers; i++) take_over(ids + ids_each * i, is_sno, true);
        CHECK(falls_of(ids, ids_each * takers) > 0); /* what the default prevents */
    }
}

enum { claimants = 8 };
static flake_gen claimed[claimants];
static _Atomic(bool) may_claim;
static const char *threads_dir;

static void *claim_at_once(void *number) {
    const flake_options o = holders_options();
    while (!atomic_load(&may_claim)) {
    }
    CHECK_EQ(flake_init(&claimed[*(const size_t *)number],
                        flake_node_any(threads_dir, 0, claimants - 1), &o, NULL),
             FLAKE_OK);
    return NULL;
}

TEST(threads_that_start_at_once_have_different_numbers) {
    for (unsigned round = 0; round < (small ? 10 : 50); round++) {
        pthread_t threads[claimants];
        size_t places[claimants];
        uint64_t numbers[claimants];
        threads_dir = in_folder("threads");
        atomic_store(&may_claim, false);
        for (size_t i = 0; i < claimants; i++) {
            places[i] = i;
            if (pthread_create(&threads[i], NULL, claim_at_once, &places[i]) != 0) abort();
        }
        atomic_store(&may_claim, true);
        for (size_t i = 0; i < claimants; i++) (void)pthread_join(threads[i], NULL);
        for (size_t i = 0; i < claimants; i++) numbers[i] = flake_gen_node(&claimed[i]);
        CHECK_EQ(count_duplicates(numbers, claimants), 0);
        CHECK_EQ(numbers[claimants - 1], claimants - 1); /* sorted */
        for (size_t i = 0; i < claimants; i++) CHECK_EQ(flake_close(&claimed[i], NULL), FLAKE_OK);
    }
}

int main(int argc, char **argv) {
    our = (common *)shared_memory(sizeof *our);
    begin_folder();
    const int code = check_main(argc, argv);
    end_folder();
    return code;
}
