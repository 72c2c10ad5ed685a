/* SPDX-License-Identifier: MIT
 *
 * options.exclusive_dir: on one host, or in one process, no second generator draws the same numbers;
 * released ranges, and those of ended processes, are free.
 */
#define _GNU_SOURCE
#include "scene.h"
#include "flake.h"
#include "sno.h"
#include "options.h"

static flake_gen gen, other;
static flake_gen shards[3];
static flake_gen wide, wider;
static sno_gen sno, another_sno;
static sno_gen sno_shards[3];
static sno_snapshot pool;

static flake_options options_of(uint32_t seq_min, uint32_t seq_max) {
    flake_options o = options_of_flake(seq_min, seq_max, scene_clock, NULL);
    o.exclusive_dir = our_folder;
    return o;
}

static flake_options wide_options(void) {
    flake_options o = options_of(0, 0);
    o.layout = flake_layout_boundary;
    return o;
}

static flake_status take_wide(flake_gen *g, uint64_t node) {
    const flake_options o = wide_options();
    return flake_init(g, flake_node_fixed(NULL, node), &o, NULL);
}

static flake_status take(flake_gen *g, uint32_t node, uint32_t seq_min, uint32_t seq_max) {
    const flake_options o = options_of(seq_min, seq_max);
    return flake_init(g, flake_node_fixed(NULL, node), &o, NULL);
}

/* On `pool`, newly made. */
static flake_options sno_options_now(uint16_t partition, uint16_t from, uint16_t to) {
    pool = pool_of_numbers(partition, from, to);
    flake_options o = options_of_sno(scene_clock, NULL);
    o.exclusive_dir = our_folder;
    return o;
}

static flake_status take_sno(sno_gen *g, uint16_t partition, uint16_t from, uint16_t to) {
    const flake_options o = sno_options_now(partition, from, to);
    return sno_init(g, flake_node_fixed(NULL, partition), &pool, &o, NULL);
}

/* A gate that admits everything. */
static flake_status let_out(void *user, int64_t until_ns) {
    return user || until_ns < 0 ? FLAKE_INVALID : FLAKE_OK;
}

/* At the end of each scene: a second release, or one without an init, does no harm. */
static void release_all(void) {
    flake_gen *const all[] = {
        &gen,       &other,     &wide,    &wider,           &shards[0],
        &shards[1], &shards[2], &sno.gen, &another_sno.gen, &sno_shards[0].gen};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        flake_release(all[i]);
        memset(all[i], 0, sizeof *all[i]);
    }
}

/* ---- allowed and refused ---- */

static void find_node_1_taken(void) {
    EXPECT(take(&other, 1, 0, 0) == FLAKE_IN_USE);
    EXPECT(take(&other, 1, 4095, 4095) == FLAKE_IN_USE);
    EXPECT(take(&other, 2, 0, 0) == FLAKE_OK); /* another node */
    flake_release(&other);
}

static void find_node_1_free(void) {
    EXPECT(take(&other, 1, 0, 0) == FLAKE_OK);
    flake_release(&other);
}

TEST(a_second_generator_of_the_same_ids_is_refused) {
    uint64_t id;
    const int before = descriptors();
    CHECK_EQ(take(&gen, 1, 0, 0), FLAKE_OK);
    CHECK_EQ(descriptors(), before + 1);
    find_node_1_taken();
    CHECK_EQ(flake_try(&other, &id), FLAKE_AGAIN);
    pass_ms(1);                                 /* each begins in the unit after its init's */
    CHECK_EQ(flake_try(&other, &id), FLAKE_OK); /* released or not, it is node 2's */
    CHECK_EQ(descriptors(), before + 1);
    child_is_well(find_node_1_taken);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK); /* and continues unchanged */
    flake_release(&gen);
    CHECK_EQ(descriptors(), before);
    flake_release(&gen); /* does no harm */
    child_is_well(find_node_1_free);
    find_node_1_free();
    CHECK_EQ(descriptors(), before);
}

TEST(ranges_that_don_t_overlap_go_together) {
    CHECK_EQ(take(&gen, 1, 100, 199), FLAKE_OK);
    static const struct {
        uint32_t from, to;
        flake_status status;
    } cases[] = {{0, 99, FLAKE_OK},        {200, 4095, FLAKE_OK},    {0, 100, FLAKE_IN_USE},
                 {199, 200, FLAKE_IN_USE}, {150, 150, FLAKE_IN_USE}, {0, 0, FLAKE_IN_USE},
                 {100, 199, FLAKE_IN_USE}, {50, 300, FLAKE_IN_USE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_EQ(take(&other, 1, cases[i].from, cases[i].to), cases[i].status);
        if (cases[i].status == FLAKE_OK) flake_release(&other);
    }
}

TEST(other_layouts_and_kinds_are_others) {
    CHECK_EQ(take(&gen, 1, 0, 0), FLAKE_OK);
    flake_options o = options_of(0, 0);
    o.layout = flake_layout_twitter;
    CHECK_EQ(flake_init(&other, flake_node_fixed(NULL, 1), &o, NULL), FLAKE_OK);
    flake_release(&other);
    const flake_gate gate = {.admit = let_out};
    o = options_of(0, 0); /* the same node, expressed otherwise */
    CHECK_EQ(flake_init(&other, flake_node_gated(&gate, 1), &o, NULL), FLAKE_IN_USE);
    CHECK_EQ(take_wide(&wide, 1), FLAKE_OK);
    CHECK_EQ(take_wide(&wider, 1), FLAKE_IN_USE);
    CHECK_EQ(take_wide(&wider, 2), FLAKE_OK);
    flake_release(&wide);
    CHECK_EQ(take_wide(&wide, 1), FLAKE_OK);
}

/* Numbers of 32 bits, where offsets in a file may have 31. */
TEST(ranges_of_32_bits) {
    const uint32_t max = UINT32_MAX, half = (uint32_t)1 << 30;
    const struct {
        uint32_t of[2], others[2];
        flake_status status;
    } rows[] = {
        {{0, 0}, {max, max}, FLAKE_IN_USE}, /* 0 and 0: all */
        {{max, max}, {0, max - 4}, FLAKE_OK},
        {{max, max}, {0, max - 3}, FLAKE_IN_USE}, /* the last four numbers share a lock */
        {{0, half - 2}, {half - 1, half - 1}, FLAKE_OK},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        flake_options o = options_of(rows[i].of[0], rows[i].of[1]);
        o.layout = flake_layout_of(32, 0, 32, start_ms);
        CHECK_EQ(flake_init(&gen, flake_node_none(), &o, NULL), FLAKE_OK);
        o.seq_min = rows[i].others[0], o.seq_max = rows[i].others[1];
        CHECK_EQ(flake_init(&other, flake_node_none(), &o, NULL), rows[i].status);
        flake_release(&gen);
        if (rows[i].status == FLAKE_OK) flake_release(&other);
    }
}

/* A 32-bit and a 64-bit program lock the same bytes. */
TEST(the_bytes_are_the_same_for_all_programs) {
    CHECK_EQ(flake_i_exclude_at(4095), 4095);
    CHECK_EQ(flake_i_exclude_at(((uint64_t)1 << 30) - 1), ((uint64_t)1 << 30) - 1);
    CHECK_EQ(flake_i_exclude_at((uint64_t)1 << 30), (uint64_t)1 << 30);
    CHECK(flake_i_exclude_at(UINT32_MAX) < INT32_MAX);
    CHECK_EQ(take(&gen, 1, 0, 0), FLAKE_OK);
    CHECK_EQ(access(path_of("flake-1453a9bf381b282d.exclusive"), F_OK), 0);
}

/* Runs that follow one another within a unit, as those of a small program in a shell loop. */
TEST(who_takes_it_next_begins_later) {
    uint64_t last = 0, id;
    sno_id last_sno = {0}, drawn;
    for (int run = 0; run < 20; run++) {
        const bool of_shards = run % 2;
        const int64_t began_ns = scene_ns();
        const flake_options o = options_of(0, 299);
        flake_gen *const g = of_shards ? shards : &gen;
        const flake_node node = flake_node_fixed(NULL, 1), partition = flake_node_fixed(NULL, 5);
        CHECK_EQ(of_shards ? flake_init_shards(g, 3, node, &o, NULL)
                           : flake_init(g, node, &o, NULL),
                 FLAKE_OK);
        CHECK_EQ(flake_next(g, &id), FLAKE_OK);
        CHECK(id > last);
        CHECK(scene_ns() - began_ns <= a_ms);
        last = id;
        flake_release(g);
        const flake_options s = sno_options_now(5, 0, 299);
        sno_gen *const of = of_shards ? sno_shards : &sno;
        CHECK_EQ(of_shards ? sno_init_shards(of, 3, partition, &pool, &s, NULL)
                           : sno_init(of, partition, &pool, &s, NULL),
                 FLAKE_OK);
        for (int i = of_shards ? 2 : 0; i >= 0; i--)
            CHECK_STR(flake_gen_options(&of[i].gen)->exclusive_dir, s.exclusive_dir);
        drawn = next_sno(of, 1);
        CHECK(sno_compare(drawn, last_sno) > 0);
        last_sno = drawn;
        flake_release(&of->gen);
    }
}

/* Also in the very first unit. */
TEST(who_takes_it_at_the_epoch_begins_later_too) {
    uint64_t id = 7;
    flake_options o = options_of(0, 0);
    o.layout = flake_layout_of(10, 10, 12, start_ms);
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 1), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_AGAIN);
    pass_ms(1);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
}

TEST(shards_hold_their_parts) {
    uint64_t id;
    const int before = descriptors();
    flake_options o = options_of(0, 299);
    CHECK_EQ(flake_init_shards(shards, 3, flake_node_fixed(NULL, 1), &o, NULL), FLAKE_OK);
    CHECK_EQ(descriptors(), before + 1); /* the first has the range of all */
    for (int i = 0; i < 3; i++)
        CHECK_STR(flake_gen_options(&shards[i])->exclusive_dir, o.exclusive_dir);
    CHECK_EQ(take(&gen, 1, 250, 400), FLAKE_IN_USE);
    CHECK_EQ(take(&gen, 1, 300, 400), FLAKE_OK);
    for (int i = 0; i < 3; i++) flake_release(&shards[i]);
    CHECK_EQ(descriptors(), before + 1);
    o.seq_max = 310; /* the last one overlaps the generator: none is held; nor by 0 shards */
    CHECK_EQ(flake_init_shards(shards, 3, flake_node_fixed(NULL, 1), &o, NULL), FLAKE_IN_USE);
    CHECK_EQ(flake_init_shards(shards, 0, flake_node_fixed(NULL, 1), &o, NULL), FLAKE_INVALID);
    for (int i = 0; i < 3; i++) CHECK_EQ(flake_next(&shards[i], &id), FLAKE_INVALID);
    CHECK_EQ(descriptors(), before + 1);
    CHECK_EQ(take(&other, 1, 0, 299), FLAKE_OK);
    flake_release(&other);
    flake_release(&gen);
    CHECK_EQ(flake_init_shards(shards, 3, flake_node_fixed(NULL, 1), &o, NULL), FLAKE_OK);
    for (int i = 0; i < 3; i++) flake_release(&shards[i]);
    CHECK_EQ(descriptors(), before);
}

/* ---- failures ---- */

static bool says_exclusive(const flake_options *o) {
    const char *const said = options_why(flake_node_fixed(NULL, 1), o);
    return said && strstr(said, "exclusive") != NULL;
}

TEST(what_can_t_be_exclusive_says_why) {
    char longest[2000];
    uint64_t id;
    const int before = descriptors();
    flake_options o = options_of(0, 0), s = {.exclusive_dir = "/proc/no-such-folder"};
    o.exclusive_dir = s.exclusive_dir;
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 1), &o, NULL), FLAKE_IO);
    o.exclusive_dir = "";
    CHECK(says_exclusive(&o));
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    o.exclusive_dir = longest;
    CHECK(says_exclusive(&o));
    longest[1023] = 0; /* there is room for it, and for the file's name after it */
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 1), &o, NULL), FLAKE_IO);
    CHECK(options_why(flake_node_fixed(NULL, 1), &o) == NULL);
    o.exclusive_dir = our_folder;
    o.shared_memory = true;
    CHECK(says_exclusive(&o));
    o.shared_memory = false;
    CHECK(options_why(flake_node_fixed(NULL, 1), &o) == NULL);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_INVALID); /* never initialised */
    flake_release(&gen);

    flake_why why = {""};
    o = options_of(5, 300);
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 7), &o, &why), FLAKE_OK);
    CHECK_EQ(flake_init(&other, flake_node_fixed(NULL, 7), &o, &why), FLAKE_IN_USE);
    CHECK_STR(strstr(why.text, ": node"), ": node 7, sequence 5 to 300 is in use by another generator, or "
                                          "by an earlier init of this one");
    flake_release(&gen);
    memset(&pool, 0, sizeof pool);
    CHECK_EQ(sno_init(&sno, flake_node_fixed(NULL, 0), &pool, &s, &why), FLAKE_IO);
    CHECK(strstr(why.text, s.exclusive_dir) != NULL);
    s.exclusive_dir = "";
    CHECK_EQ(sno_init(&sno, flake_node_fixed(NULL, 0), &pool, &s, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "exclusive") != NULL);
    s.exclusive_dir = our_folder;
    s.shared_memory = true;
    CHECK_EQ(sno_init(&sno, flake_node_fixed(NULL, 0), &pool, &s, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "exclusive") != NULL || !words_reach_other_processes);
    CHECK_EQ(descriptors(), before);
}

/* No descriptor is available: nothing is claimed, nothing lost. */
static int calls, fail_at;

static bool fail_here(const char *name) {
    errno = EMFILE;
    return strcmp(name, "close") == 0 || ++calls != fail_at;
}

static flake_atomic64 gate_word;

static bool close_the_gate(const char *name) {
    atomic_store(&gate_word, 0u);
    return name != NULL;
}

/* Between the check of the gate and the generator's start there are system calls. */
TEST(a_gate_that_closes_meanwhile_leaves_nothing) {
    const int before = descriptors();
    const flake_options o = options_of(0, 0), s = sno_options_now(5, 0, 99);
    const flake_gate gate = {.admit = let_out, .fence = &gate_word};
    const flake_node node = flake_node_gated(&gate, 1), partition = flake_node_gated(&gate, 5);
    on_call = close_the_gate;
    for (int way = 0; way < 4; way++) {
        atomic_store(&gate_word, 5u);
        const flake_status status =
            way == 0   ? flake_init(&gen, node, &o, NULL)
            : way == 1 ? flake_init_shards(shards, 2, node, &o, NULL)
            : way == 2 ? sno_init(&sno, partition, &pool, &s, NULL)
                       : sno_init_shards(sno_shards, 2, partition, &pool, &s, NULL);
        CHECK_EQ(status, FLAKE_LEASE_LOST);
    }
    on_call = NULL;
    CHECK_EQ(descriptors(), before);
    CHECK_EQ(take(&other, 1, 0, 0), FLAKE_OK);
    CHECK_EQ(take_sno(&another_sno, 5, 0, 99), FLAKE_OK);
}

TEST(a_claim_that_fails_leaves_nothing) {
    const int before = descriptors();
    for (fail_at = 1;; fail_at++) {
        calls = 0;
        on_call = fail_here;
        const flake_status status = take(&gen, 1, 0, 0);
        on_call = NULL;
        if (calls < fail_at) break;
        CHECK(status == FLAKE_IO || status == FLAKE_OK);
        if (status == FLAKE_OK) flake_release(&gen);
        CHECK_EQ(descriptors(), before);
        CHECK_EQ(take(&other, 1, 0, 0), FLAKE_OK);
        flake_release(&other);
    }
    CHECK(fail_at > 4);
    flake_release(&gen);
    CHECK_EQ(descriptors(), before);
}

/* ---- processes ---- */

static void take_and_be_killed(void) {
    EXPECT(take(&gen, 1, 0, 0) == FLAKE_OK);
    be_killed();
}

TEST(the_dead_hold_nothing) {
    child_is_killed(take_and_be_killed);
    find_node_1_free();
}

static wire to_child, from_child;

static void wait_and_go_on_with_node_7(void) {
    const flake_options o = options_of(0, 0);
    uint64_t id;
    (void)await_word(&to_child);
    EXPECT(flake_try(&gen, &id) == FLAKE_FORKED);
    EXPECT(take(&other, 1, 0, 0) == FLAKE_IN_USE); /* it inherited the lock itself */
    const int before = descriptors();
    EXPECT(flake_reinit_after_fork(&gen, flake_node_fixed(NULL, 1), &o, NULL) ==
           FLAKE_NODE_OVERLAP);
    EXPECT(descriptors() == before);
    EXPECT(flake_reinit_after_fork(&gen, flake_node_fixed(NULL, 7), &o, NULL) == FLAKE_OK);
    EXPECT(descriptors() == before); /* one opened, one closed */
    pass_ms(1);
    EXPECT(flake_try(&gen, &id) == FLAKE_OK);
    tell(&from_child);
    (void)await_word(&to_child);
}

static void die_with_a_child(void) {
    EXPECT(take(&gen, 1, 0, 0) == FLAKE_OK);
    (void)start_child(wait_and_go_on_with_node_7);
    be_killed();
}

TEST(a_child_keeps_it_until_it_goes_on_with_other_ids) {
    to_child = new_line(), from_child = new_line();
    child_is_killed(die_with_a_child);
    CHECK_EQ(take(&gen, 1, 0, 0), FLAKE_IN_USE);
    tell(&to_child);
    CHECK(await_word(&from_child));
    CHECK_EQ(take(&gen, 1, 0, 0), FLAKE_OK);
    CHECK_EQ(take(&other, 7, 0, 0), FLAKE_IN_USE);
    tell(&to_child);
    flake_release(&gen);
    hang_up(&to_child), hang_up(&from_child);
}

static void retire_what_is_the_parents(void) {
    const int before = descriptors();
    flake_release(&gen);
    EXPECT(descriptors() == before - 1);
    EXPECT(take(&other, 1, 0, 0) == FLAKE_IN_USE); /* the parent has it */
    flake_release(&sno.gen);
    EXPECT(take_sno(&another_sno, 5, 0, 99) == FLAKE_IN_USE);
    flake_release(&wide);
    EXPECT(take_wide(&wider, 1) == FLAKE_IN_USE);
    EXPECT(descriptors() == before - 3);
}

static void go_on_with_others(void) {
    const flake_node parents = flake_node_fixed(NULL, 1), own = flake_node_fixed(NULL, 2);
    const flake_options o = wide_options();
    const int before = descriptors();
    EXPECT(flake_reinit_after_fork(&wide, parents, &o, NULL) == FLAKE_NODE_OVERLAP);
    EXPECT(flake_reinit_after_fork(&wide, own, &o, NULL) == FLAKE_OK);
    EXPECT(flake_init(&wider, own, &o, NULL) == FLAKE_IN_USE);
    flake_options s = sno_options_now(6, 0, 99);
    s.exclusive_dir = path_of("no-such-folder");
    EXPECT(sno_reinit_after_fork(&sno, flake_node_fixed(NULL, 6), &pool, &s, NULL) == FLAKE_IO);
    EXPECT(descriptors() == before); /* its parent's, until the next attempt */
    s.exclusive_dir = our_folder;
    EXPECT(sno_reinit_after_fork(&sno, flake_node_fixed(NULL, 6), &pool, &s, NULL) == FLAKE_OK);
    EXPECT(take_sno(&another_sno, 6, 50, 60) == FLAKE_IN_USE);
    EXPECT(descriptors() == before);
}

TEST(children_let_go_of_their_parents_and_go_on_with_others) {
    CHECK_EQ(take(&gen, 1, 0, 0), FLAKE_OK);
    CHECK_EQ(take_sno(&sno, 5, 0, 99), FLAKE_OK);
    CHECK_EQ(take_wide(&wide, 1), FLAKE_OK);
    child_is_well(retire_what_is_the_parents);
    child_is_well(find_node_1_taken);
    child_is_well(go_on_with_others);
    flake_release(&gen);
    flake_release(&sno.gen);
    flake_release(&wide);
    CHECK_EQ(take_wide(&wide, 1), FLAKE_OK);
}

/* ---- sno ---- */

TEST(partitions_and_pools_of_snos) {
    const int before = descriptors();
    CHECK_EQ(take_sno(&sno, 5, 100, 199), FLAKE_OK);
    CHECK_EQ(take_sno(&another_sno, 5, 199, 300), FLAKE_IN_USE);
    CHECK_EQ(take_sno(&another_sno, 5, 150, 120), FLAKE_IN_USE); /* bounds in either order */
    CHECK_EQ(take_sno(&another_sno, 5, 200, 300), FLAKE_OK);
    flake_release(&another_sno.gen);
    CHECK_EQ(take_sno(&another_sno, 6, 100, 199), FLAKE_OK);
    flake_release(&another_sno.gen);
    flake_release(&another_sno.gen);
    CHECK_EQ(descriptors(), before + 1);
    flake_release(&sno.gen);
    CHECK_EQ(take_sno(&another_sno, 5, 0, 0), FLAKE_OK);
    flake_release(&another_sno.gen);
    CHECK_EQ(descriptors(), before);

    const flake_options o = sno_options_now(5, 0, 299);
    CHECK_EQ(sno_init_shards(sno_shards, 3, flake_node_fixed(NULL, 5), &pool, &o, NULL), FLAKE_OK);
    const sno_snapshot whole = pool;
    CHECK_EQ(take_sno(&sno, 5, 290, 310), FLAKE_IN_USE);
    pool = whole;
    CHECK_EQ(sno_init_shards(sno_shards + 1, 1, flake_node_fixed(NULL, 5), &pool, &o, NULL),
             FLAKE_IN_USE);
    flake_release(&sno_shards[0].gen);
    CHECK_EQ(descriptors(), before);
}

int main(int argc, char **argv) {
    check_after = release_all;
    return scene_main(argc, argv);
}
