/* SPDX-License-Identifier: MIT
 *
 * Which generator has which partition, if the library chooses: generators of one process, relatives (forked children,
 * parents, siblings) and clones (CLONE); and the first calls of sno_generate, which make its generator.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <stdbool.h>
#include <stddef.h>
#if !defined(_WIN32)
#include <sys/mman.h>
static bool shares_nothing; /* the system refuses memory for a family */
static int pages;           /* for families, that are mapped */
static void *map(void *at, size_t n, int access, int flags, int file, off_t from) {
    if (shares_nothing && (flags & MAP_SHARED)) return MAP_FAILED;
    pages += (flags & MAP_SHARED) != 0;
    return mmap(at, n, access, flags, file, from);
}
#define mmap          map
#define munmap(at, n) (pages--, munmap(at, n))
#endif
static bool draw_bytes(void *to, size_t n);
#define FLAKE_RANDOM_BYTES(to, n) draw_bytes(to, n)
#include "scripted_sno.h"

static bool is_drawn; /* random bytes are `drawn`, not the system's */
static uint16_t drawn;
static bool draw_bytes(void *to, size_t n) {
    if (!is_drawn || n != sizeof drawn) return flake_i_system_random(to, n); /* or an owner id's */
    memcpy(to, &drawn, sizeof drawn);
    return true;
}

static uint8_t taken[whole_pool];

static flake_status init_any(sno_gen *g) { return sno_init(g, flake_node_none(), NULL, NULL, NULL); }

#if !defined(_WIN32)
#include "children.h"

/* A test in a child of its own, as it uses up partitions: the next child begins without them. These tests come first
 * in the file, since a child inherits what its parent has taken. */
#define TEST_IN_CHILD(name)                 \
    static void in_child_##name(void);      \
    TEST(name) {                            \
        script_at_ms(unit_start_ms(start)); \
        in_child(in_child_##name);          \
    }                                       \
    static void in_child_##name(void)

/* The same in many children, for each step of a call: something else happens after `stalled_at` of them. */
static int stalled_at;
#define TEST_IN_EACH_STEP(name, steps)                                              \
    static void in_step_##name(void);                                               \
    TEST(name) {                                                                    \
        script_at_ms(unit_start_ms(start));                                         \
        for (stalled_at = 0; stalled_at < (steps) && !check_failures; stalled_at++) \
            in_child(in_step_##name);                                               \
    }                                                                               \
    static void in_step_##name(void)

/* The next start that the library draws is `first`. */
static void draw_next(uint16_t first) {
    is_drawn = true;
    drawn = 0;
    drawn = first ^ sno_i_random_partition();
}

/* ---- all 65,536 ---- */

TEST_IN_CHILD(the_65537th_partition_is_refused) {
    flake_why why;
    sno_gen shard;
    sno_id id;
    const sno_id before = sno_generate(a_meta);
    taken[sno_partition(before)] = 1;
    for (int i = 1; i < whole_pool; i++) {
        CHECK_EQ(init_any(&gen), FLAKE_OK);
        CHECK(!taken[sno_gen_partition(&gen)]++);
    }
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(sno_init(&gen, flake_node_none(), NULL, NULL, &why), FLAKE_EXHAUSTED);
        CHECK(strstr(why.text, "partition: this process and its relatives have used all") == why.text);
        CHECK_EQ(sno_init_shards(&shard, 1, flake_node_none(), NULL, NULL, NULL), FLAKE_EXHAUSTED);
    }
    CHECK_EQ(sno_try(&gen, a_meta, &id), FLAKE_INVALID);
    const sno_id after = sno_generate(a_meta);
    CHECK_EQ(sno_partition(after), sno_partition(before));
    CHECK_EQ(sno_sequence(after), sno_sequence(before) + 1); /* the first call drew one, too */
    restore(&gen, pool_of(0, 0));
}

TEST_IN_CHILD(generate_returns_the_zero_id_without_a_partition) {
    while (init_any(&gen) == FLAKE_OK) {
    }
    for (int i = 0; i < 2; i++) CHECK(sno_is_zero(sno_generate(a_meta)));
}

/* ---- relatives and clones ---- */

/* Relatives count in common what they have taken. */
static uint8_t *taken_by_relatives;
static uint16_t parents; /* the first of the family */

static uint16_t take_as_a_relative(void) {
    CHECK_EQ(init_any(&gen), FLAKE_OK);
    const uint16_t partition = sno_gen_partition(&gen);
    CHECK(!taken_by_relatives[partition]++);
    return partition;
}

/* So many, from the parents' first + `distance` on. */
static void take_from(int distance, unsigned n) {
    for (unsigned i = 0; i < n; i++) CHECK_EQ(take_as_a_relative(), (uint16_t)(parents + distance + (int)i));
}

static void begin_a_family(void) {
    taken_by_relatives =
        (uint8_t *)mmap(NULL, whole_pool, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(taken_by_relatives != MAP_FAILED);
    parents = take_as_a_relative();
}

/* After it, this process's next start is the parents' + `distance`, if it draws one. */
static void clone_and_draw(int distance) {
    flake_machine_cloned();
    draw_next((uint16_t)(parents + distance));
}

/* The partition that the library would choose is the parent's, which was given by a snapshot. */
TEST_IN_CHILD(a_clone_gets_another_partition) {
    const sno_snapshot pool = pool_of_numbers(7, 0, 65535);
    draw_next(7);
    CHECK_EQ(sno_init(&gen, flake_node_fixed(NULL, 7), &pool, NULL, NULL), FLAKE_OK);
    flake_machine_cloned();
    CHECK_EQ(sno_reinit_after_fork(&gen, flake_node_none(), NULL, NULL, NULL), FLAKE_OK);
    CHECK_EQ(sno_gen_partition(&gen), 8);
}

static void start_at_the_parents(void) {
    take_from(1, 1);
    clone_and_draw(0);
    take_from(2, 1);
    clone_and_draw(-1);
    take_from(-1, 1);
    take_from(3, 1);
}

TEST_IN_CHILD(a_start_after_a_clone_is_not_a_relatives_partition) {
    begin_a_family();
    in_child(start_at_the_parents);
    (void)take_as_a_relative(); /* this process has not called flake_machine_cloned yet */
    clone_and_draw(0);
    take_from(5, 1);
}

/* A start of its own, whatever was taken before. */
static void draw_a_start_in_a_child(void) {
    draw_next((uint16_t)(parents + 1000));
    take_from(1000, 2);
    clone_and_draw(2000);
    take_from(2000, 1);
}

/* taken_by_relatives is shared all the same. */
TEST_IN_CHILD(without_shared_memory_each_process_draws_a_start) {
    begin_a_family();
    shares_nothing = true;
    memset((void *)&sno_i_partitions, 0, sizeof sno_i_partitions);
    memset(taken_by_relatives, 0, whole_pool); /* by chance the same */
    parents = take_as_a_relative();
    in_child(draw_a_start_in_a_child);
    take_from(1, 1);
}

/* ---- a clone or a fork in each step of an init ---- */

/* By each call that chooses a partition. */
static void set_up_beside(void (*act)(void)) {
    flake_status status;
    begin_a_family();
    others = act;
    others_after = stalled_at / 3;
    if (stalled_at % 3 == 0) status = init_any(&gen);
    else if (stalled_at % 3 == 1) status = sno_init_shards(&gen, 1, flake_node_none(), NULL, NULL, NULL);
    else {
        flake_machine_cloned();
        status = sno_reinit_after_fork(&gen, flake_node_none(), NULL, NULL, NULL);
    }
    CHECK_EQ(status, FLAKE_OK);
}

static void clone_beside_it(void) { clone_and_draw(1000); }

/* A generator with a partition from before a clone must not draw after it. */
TEST_IN_EACH_STEP(a_generator_set_up_beside_a_clone_has_a_partition_from_after_it, 150) {
    sno_id id;
    set_up_beside(clone_beside_it);
    const bool cloned = !others;
    others = NULL;
    if (cloned && sno_try(&gen, a_meta, &id) == FLAKE_OK)
        CHECK((uint16_t)(sno_partition(id) - parents - 1000) < 10);
}

/* The child returns into the call, too. */
static void fork_beside_it(void) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child > 0) end_child(child);
}

TEST_IN_EACH_STEP(a_generator_set_up_beside_a_fork_draws_with_a_partition_of_its_own, 150) {
    sno_id id;
    set_up_beside(fork_beside_it);
    others = NULL;
    if (sno_try(&gen, a_meta, &id) == FLAKE_OK) CHECK(!taken_by_relatives[sno_partition(id)]++);
}

/* The last partition is from before the clone. */
TEST_IN_EACH_STEP(a_generator_without_a_partition_from_after_a_clone_does_not_draw, 60) {
    uint16_t partition;
    sno_id id;
    begin_a_family();
    for (int i = 2; i < whole_pool; i++) (void)sno_i_take_partition(&partition);
    flake_machine_cloned();
    others = flake_machine_cloned;
    others_after = stalled_at;
    const flake_status status = sno_reinit_after_fork(&gen, flake_node_none(), NULL, NULL, NULL);
    CHECK(status == FLAKE_OK || status == FLAKE_EXHAUSTED);
    if (!others) CHECK(sno_try(&gen, a_meta, &id) != FLAKE_OK || status == FLAKE_OK);
    others = NULL;
}

/* ---- the search ---- */

/* One partition is left; a search begins at `first`. The number of steps that it takes. */
static int steps_to_the_last(unsigned last, unsigned first, flake_status expected) {
    struct sno_i_family *const family = sno_i_get_family();
    uint16_t found = 0;
    memset((void *)family, 0xff, sizeof *family);
    if (expected == FLAKE_OK) family->taken[last / 32] = ~((uint32_t)1 << last % 32);
    sno_i_partitions.next = (sno_i_partitions.next & ~(uint64_t)UINT16_MAX) | first;
    others = fork_beside_it; /* never */
    others_after = whole_pool * 2;
    CHECK_EQ(sno_i_take_partition(&found), expected);
    others = NULL;
    CHECK_EQ(found, expected == FLAKE_OK ? last : 0);
    return whole_pool * 2 - others_after;
}

TEST_IN_CHILD(the_last_partition_is_found_wherever_the_search_begins) {
    static const unsigned at[] = {0, 1, 30, 31, 32, 33, 63, 64, whole_pool - 32, whole_pool - 1};
    enum { places = sizeof at / sizeof *at };
    begin_a_family();
    for (unsigned i = 0; i < places; i++) {
        for (unsigned k = 0; k < places; k++) (void)steps_to_the_last(at[i], at[k], FLAKE_OK);
        CHECK(steps_to_the_last(0, at[i], FLAKE_EXHAUSTED) < whole_pool / 32 + 50);
    }
}

/* ---- first calls of sno_generate ---- */

/* As many IDs as a thread draws in the ms in which another is not scheduled. */
static void generate_many(void) {
    for (int i = 0; i < whole_pool + 1000; i++) keep(sno_generate(a_meta));
}

TEST_IN_EACH_STEP(a_first_call_that_stalls_leaves_partitions_to_others, 40) {
    others = generate_many;
    others_after = stalled_at;
    keep(sno_generate(a_meta));
    others = NULL;
    CHECK_EQ(count_duplicates(got, got_n), 0);
    CHECK(!sno_is_zero(got[0]));
    CHECK_EQ(init_any(&gen), FLAKE_OK);
    CHECK_EQ(pages, 1); /* of two first calls one has dropped its own */
}

/* No place is left for the first calls, and the machine is cloned while they draw. */
TEST_IN_CHILD(a_clone_beside_a_first_call_costs_no_id) {
    while (flake_i_take_place(&sno_i_default.begun, SNO_I_DEFAULT_PLACES) < SNO_I_DEFAULT_PLACES) {
    }
    for (int i = 0; i < 80; i++) {
        others = flake_machine_cloned;
        others_after = i;
        CHECK(!sno_is_zero(sno_generate(a_meta)));
    }
    CHECK(others != NULL); /* that was every step of one */
}

/* Each of eight begins while the one before it is stalled. */
static void stall_one_more_call(void) {
    static int begun;
    if (++begun < 8) {
        others = stall_one_more_call;
        others_after = stalled_at;
    }
    const sno_id id = sno_generate(a_meta);
    CHECK(sno_units(id) == (uint64_t)start);
    keep(id);
}

TEST_IN_EACH_STEP(each_of_eight_stalled_first_calls_returns_an_id_of_its_own, 40) {
    stall_one_more_call();
    others = NULL;
    CHECK_EQ(count_duplicates(got, got_n), 0);
}
#endif

/* ---- one process ---- */

TEST(each_generator_has_another_partition_and_shards_have_one) {
    begin(0, 0);
    memset(taken, 0, sizeof taken);
    for (int i = 0; i < 500; i++) {
        sno_gen two[2];
        CHECK_EQ(init_any(&gen), FLAKE_OK);
        CHECK_EQ(sno_cap(&gen), whole_pool);
        CHECK(!taken[sno_gen_partition(&gen)]++);
        CHECK_EQ(sno_partition(try_id(&gen)), sno_gen_partition(&gen));
        CHECK_EQ(sno_init_shards(two, 2, flake_node_none(), NULL, NULL, NULL), FLAKE_OK);
        CHECK(!taken[sno_gen_partition(&two[0])]++);
        CHECK_EQ(sno_gen_partition(&two[0]), sno_gen_partition(&two[1]));
    }
    CHECK(!taken[sno_partition(sno_generate(a_meta))]);
}

TEST(generate_draws_from_one_generator) {
    begin(0, 0);
    sno_id before = sno_generate(7);
    for (int i = 0; i < 100; i++) {
        const sno_id id = sno_generate((uint8_t)i);
        CHECK_EQ(sno_meta(id), i);
        CHECK_EQ(sno_partition(id), sno_partition(before));
        CHECK_EQ(sno_units(id), start);
        CHECK_EQ(sno_sequence(id), sno_sequence(before) + 1);
        before = id;
    }
    for (int i = 0; i < 2; i++) CHECK_EQ(sno_i_own_tag() & 0xffff, sno_partition(before)); /* also on the slow path */
}
