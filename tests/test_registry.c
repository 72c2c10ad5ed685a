/* SPDX-License-Identifier: MIT
 *
 * The registry of debug builds: two generators of a process that may give the same id are never alive
 * at a time.
 */
#define _GNU_SOURCE
#define FLAKE_REGISTRY 6
#include "support.h"
#include "flake.h"
#include "options.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* See two_units_main.c: this layout has this number. */
#if defined(__x86_64__) && defined(__linux__) && defined(__LP64__)
_Static_assert(sizeof(struct flake_i_registry_1_of_6) == 8 + 6 * 80, "the registry's layout");
#endif

static flake_gen a, b, c, gens[8];
static flake128_gen wide, wider;
static flake_shard shards[4];

static flake_options options_of(uint32_t node, uint32_t seq_min, uint32_t seq_max) {
    return options_of_flake(node, seq_min, seq_max, script_read, &script_now);
}

static flake_status make(flake_gen *g, uint32_t node, uint32_t seq_min, uint32_t seq_max) {
    const flake_options o = options_of(node, seq_min, seq_max);
    return flake_init(g, &o);
}

static void retire_all(void) {
    flake_retire(&a);
    flake_retire(&b);
    flake_retire(&c);
    for (int i = 0; i < 8; i++) flake_retire(&gens[i]);
    for (int i = 0; i < 4; i++) flake_retire(flake_shard_gen(&shards[i]));
    flake128_retire(&wide);
    flake128_retire(&wider);
    script_at_ms(1700000000000);
}

static bool is_empty(void) {
    flake_i_atomic64 *word;
    const uint64_t mark = flake_i_fork_mark(&word);
    for (int i = 0; i < FLAKE_REGISTRY; i++)
        if (flake_i_registry.live[i].engine && flake_i_registry.live[i].mark == mark) return false;
    return true;
}

/* Of a parent's thread that was in it when this process was forked. */
static void a_turn_that_nobody_here_has_ends(void) {
    retire_all();
    FLAKE_ATOMIC_STORE(&flake_i_registry.turn, flake_i_process_mark() + 2, relaxed);
    CHECK_EQ(make(&a, 1, 0, 0), FLAKE_OK);
    CHECK_EQ(make(&b, 1, 0, 0), FLAKE_TAKEN);
    flake_retire(&a);
}

static void the_same_ids_are_refused(void) {
    uint64_t id;
    retire_all();
    CHECK_EQ(make(&a, 1, 0, 0), FLAKE_OK);
    CHECK_EQ(make(&b, 1, 0, 0), FLAKE_TAKEN);
    CHECK_EQ(flake_try(&b, &id), FLAKE_INVALID); /* left as it was */
    CHECK_EQ(make(&b, 1, 4095, 4095), FLAKE_TAKEN);
    CHECK_EQ(make(&b, 2, 0, 0), FLAKE_OK);
    CHECK_EQ(make(&a, 2, 0, 0), FLAKE_TAKEN); /* and then the old one goes on */
    CHECK_EQ(flake_try(&a, &id), FLAKE_OK);
    CHECK_EQ(flake_gen_options(&a)->node, 1);
    CHECK_EQ(make(&c, 1, 0, 0), FLAKE_TAKEN);
    CHECK_EQ(make(&a, 1, 0, 99), FLAKE_OK); /* made again, it gives the rest free */
    CHECK_EQ(make(&c, 1, 99, 200), FLAKE_TAKEN);
    CHECK_EQ(make(&c, 1, 100, 200), FLAKE_OK);
    flake_retire(&a);
    CHECK_EQ(make(&c, 1, 99, 200), FLAKE_OK);
    retire_all();
    CHECK(is_empty());
}

static void what_no_init_takes_is_not_enrolled(void) {
    retire_all();
    flake_options o = options_of(1, 0, 0);
    o.max_wait_ms = -1;
    CHECK_EQ(flake_init(&a, &o), FLAKE_INVALID);
    o = options_of(5000, 0, 0);
    CHECK_EQ(flake_init(&a, &o), FLAKE_INVALID);
    CHECK(is_empty());
}

static void node_and_offset_count_together(void) {
    retire_all();
    flake_options o = options_of(1, 0, 0);
    o.node_offset = 4;
    CHECK_EQ(flake_init(&a, &o), FLAKE_OK);
    CHECK_EQ(make(&b, 5, 0, 0), FLAKE_TAKEN);
    CHECK_EQ(make(&b, 1, 0, 0), FLAKE_OK);
}

static void other_layouts_and_widths_are_others(void) {
    retire_all();
    flake_options o = options_of(1, 0, 0);
    CHECK_EQ(flake_init(&a, &o), FLAKE_OK);
    o.layout = flake_layout_twitter();
    CHECK_EQ(flake_init(&b, &o), FLAKE_OK);
    o.layout = flake_layout_idgen();
    o.layout.name = "another name for it";
    CHECK_EQ(flake_init(&c, &o), FLAKE_TAKEN);
    CHECK_EQ(flake128_init(&wide, 1, NULL), FLAKE_OK);
    CHECK_EQ(flake128_init(&wider, 1, NULL), FLAKE_TAKEN);
    CHECK_EQ(flake128_init(&wider, 2, NULL), FLAKE_OK);
    flake128_retire(&wide);
    CHECK_EQ(flake128_init(&wider, 1, NULL), FLAKE_OK);
}

static void shards_are_enrolled_all_or_none(void) {
    flake_options o = options_of(1, 0, 399);
    retire_all();
    CHECK_EQ(flake_shards_init(shards, 4, &o), FLAKE_OK);
    CHECK_EQ(make(&a, 1, 399, 399), FLAKE_TAKEN);
    CHECK_EQ(make(&a, 1, 400, 400), FLAKE_OK);
    CHECK_EQ(flake_shards_init(shards, 4, &o), FLAKE_OK); /* again */
    retire_all();
    CHECK_EQ(make(&a, 1, 350, 350), FLAKE_OK); /* the last shard's */
    CHECK_EQ(flake_shards_init(shards, 4, &o), FLAKE_TAKEN);
    CHECK_EQ(make(&b, 1, 0, 99), FLAKE_OK);
    retire_all();
    CHECK(is_empty());
}

static void a_full_registry_refuses(void) {
    retire_all();
    for (uint32_t i = 0; i < FLAKE_REGISTRY; i++) CHECK_EQ(make(&gens[i], i, 0, 0), FLAKE_OK);
    CHECK_EQ(make(&gens[6], 6, 0, 0), FLAKE_INVALID);
    const int next = dup(0);
    CHECK_EQ(close(next), 0);
    flake_options o = options_of(6, 0, 0);
    o.exclusive = "/tmp";
    CHECK_EQ(flake_init(&gens[6], &o), FLAKE_INVALID);
    CHECK_EQ(dup(0), next); /* what it had locked it has closed */
    CHECK_EQ(close(next), 0);
    CHECK_EQ(make(&gens[3], 7, 0, 0), FLAKE_OK); /* in its own place */
    flake_retire(&gens[2]);
    flake_retire(&gens[2]);
    CHECK_EQ(make(&gens[6], 6, 0, 0), FLAKE_OK);
    retire_all();
    CHECK(is_empty());
}

static int in_the_child(void) {
    flake_options o = options_of(2, 0, 0);
    uint64_t id;
    int wrong = make(&c, 2, 0, 0) != FLAKE_OK; /* the parent's are dead here */
    wrong += flake_reinit_after_fork(&b, &o) != FLAKE_NODE;
    wrong += flake_reinit_after_fork(&a, &o) != FLAKE_TAKEN;
    o.node = 9;
    wrong += flake_reinit_after_fork(&a, &o) != FLAKE_OK;
    return wrong + (flake_try(&a, &id) != FLAKE_OK);
}

static void what_fork_and_bump_leave_behind_is_dead(void) {
    int status = -1;
    retire_all();
    CHECK_EQ(make(&a, 1, 0, 0), FLAKE_OK);
    CHECK_EQ(make(&b, 2, 0, 0), FLAKE_OK);
    (void)fflush(stdout);
    const pid_t child = fork();
    if (child == 0) _exit(in_the_child());
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
    CHECK_EQ(make(&c, 2, 0, 0), FLAKE_TAKEN);
    flake_generation_bump();
    CHECK_EQ(make(&c, 2, 0, 0), FLAKE_OK);
    CHECK_EQ(make(&b, 2, 0, 0), FLAKE_TAKEN);
}

enum { makers = 4, rounds = 500 };
static _Atomic(int) alive, most_alive;

static void *make_and_retire(void *own) {
    for (int i = 0; i < rounds; i++) {
        if (make((flake_gen *)own, 1, 0, 0) != FLAKE_OK) continue;
        const int now = atomic_fetch_add(&alive, 1) + 1;
        if (now > atomic_load(&most_alive)) atomic_store(&most_alive, now);
        atomic_fetch_sub(&alive, 1);
        flake_retire((flake_gen *)own);
    }
    return NULL;
}

static void one_of_many_threads_has_it(void) {
    pthread_t threads[makers];
    retire_all();
    for (int i = 0; i < makers; i++)
        if (pthread_create(&threads[i], NULL, make_and_retire, &gens[i]) != 0) abort();
    for (int i = 0; i < makers; i++) (void)pthread_join(threads[i], NULL);
    CHECK_EQ(atomic_load(&most_alive), 1);
    CHECK(is_empty());
}

int main(int argc, char **argv) {
    static const check_test all[] = {CHECK_TEST(a_turn_that_nobody_here_has_ends),
                                     CHECK_TEST(the_same_ids_are_refused),
                                     CHECK_TEST(what_no_init_takes_is_not_enrolled),
                                     CHECK_TEST(node_and_offset_count_together),
                                     CHECK_TEST(other_layouts_and_widths_are_others),
                                     CHECK_TEST(shards_are_enrolled_all_or_none),
                                     CHECK_TEST(a_full_registry_refuses),
                                     CHECK_TEST(what_fork_and_bump_leave_behind_is_dead),
                                     CHECK_TEST(one_of_many_threads_has_it)};
    return CHECK_MAIN(argc, argv, all);
}
