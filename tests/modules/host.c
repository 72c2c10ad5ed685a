/* SPDX-License-Identifier: MIT
 *
 * A program that opens modules, each with a private copy of the headers, and has a copy itself. MODULES
 * names a directory with 0.so, 1.so ... of all kinds, and closing.so.
 */
#define _GNU_SOURCE
#define REAL_SLEEP
#define CHECK_OWN_MAIN
#include "support.h"
#include "children.h"
#include "temporary_dir.h"
#include "plugin.h"
#include <dlfcn.h>
#include <stdbool.h>

enum { MODULES = 64, COPIES = MODULES + 1, IDS = 500 }; /* the last copy is the program's own */

/* The IDs of parent (0) and child (1). */
typedef struct drawn {
    uint64_t flakes[2][COPIES][IDS];
    uint8_t snos[2][COPIES][IDS][10];
    uint8_t uuids[2][COPIES][IDS][16];
    uint16_t partitions[2][COPIES];
    unsigned refused; /* copies that detect in the child that they are in one */
} drawn;
static drawn *our;
static const plugin *copies[COPIES];
static flake_gen gens[COPIES];

/* flake_init or flake_reinit_after_fork */
#define MAKE(call, i, number)                                                              \
    do {                                                                                   \
        flake_options options = {0};                                                       \
        options.layout = flake_layout_idgen; /* the clock is before the default's epoch */ \
        const flake_node node = flake_node_fixed(NULL, (uint64_t)(number));                \
        CHECK_EQ(copies[i]->call(&gens[i], node, &options, NULL), FLAKE_OK);               \
    } while (0)

static flake_status draw_of(int i) {
    uint64_t id;
    return copies[i]->next_n(&gens[i], &id, 1);
}

static const plugin *open_module(const char *name, void **handle) {
    char path[512];
    const plugin *(*calls)(void) = NULL;
    (void)snprintf(path, sizeof path, "%s/%s.so", getenv("MODULES"), name);
    *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*handle) {
        printf("%s\n", dlerror());
        exit(1);
    }
    void *const found = dlsym(*handle, "plugin_calls");
    memcpy(&calls, &found, sizeof calls);
    return calls();
}

static void open_modules(void) {
    for (int i = 0; i < MODULES; i++) {
        char name[16];
        void *handle;
        (void)snprintf(name, sizeof name, "%d", i);
        copies[i] = open_module(name, &handle);
    }
    copies[MODULES] = plugin_calls();
    our = (drawn *)shared_memory(sizeof *our);
}

/* ---- no duplicate ID ---- */

static void draw(unsigned who) {
    for (int i = 0; i < COPIES; i++) {
        for (int k = 0; k < IDS; k++) {
            sno_to_bytes(copies[i]->generate(1), our->snos[who][i][k]);
            CHECK_EQ(copies[i]->uuid7(our->uuids[who][i][k]), FLAKE_OK);
        }
        CHECK_EQ(copies[i]->next_n(&gens[i], our->flakes[who][i], IDS), FLAKE_OK);
        const uint8_t *const id = our->snos[who][i][0];
        our->partitions[who][i] = (uint16_t)(id[6] << 8 | id[7]);
    }
}

/* The copies' partitions begin 256 apart, by their random sources: clock and process, which also
 * count, are the same for all. A child's follow its parent's. */
TEST(copies_and_their_children_give_no_id_twice) {
    for (int i = 0; i < COPIES; i++) {
        copies[i]->script((uint16_t)(i << 8));
        MAKE(init, i, i);
    }
    draw(0);
    IN_CHILD {
        for (int i = 0; i < COPIES; i++) {
            our->refused += draw_of(i) == FLAKE_FORKED;
            MAKE(reinit, i, 512 + i);
        }
        draw(1);
    }
    CHECK_EQ(our->refused, COPIES); /* fork reaches each copy */
    for (int i = 0; i < COPIES; i++) {
        CHECK_EQ((our->partitions[0][i] ^ our->partitions[0][0]) >> 8, i);
        CHECK_EQ((uint16_t)(our->partitions[1][i] - our->partitions[0][i]), 1);
    }
    CHECK_EQ(count_duplicates(our->snos[0][0], 2 * COPIES * IDS), 0);
    CHECK_EQ(count_duplicates(our->uuids[0][0], 2 * COPIES * IDS), 0);
    CHECK_EQ(count_duplicates(our->flakes[0][0], 2 * COPIES * IDS), 0);
}

/* ---- what each copy has separately ---- */

TEST(a_clone_reaches_its_own_copy) {
    for (int i = 0; i < COPIES; i++) MAKE(init, i, i);
    copies[1]->clone();
    copies[MODULES]->clone();
    for (int i = 0; i < COPIES; i++) CHECK_EQ(draw_of(i), i == 1 || i == MODULES ? FLAKE_FORKED : FLAKE_OK);
    MAKE(reinit, 1, 900);
    MAKE(reinit, MODULES, 901);
}

/* ---- dlclose ---- */

static void open_use_and_close(bool with_snos, bool with_a_clone) {
    static flake_gen gen;
    void *handle;
    uint8_t uuid[16];
    uint64_t id;
    const plugin *const calls = open_module("closing", &handle);
    CHECK_EQ(calls->init(&gen, flake_node_fixed(NULL, 0), NULL, NULL), FLAKE_OK);
    CHECK_EQ(calls->next_n(&gen, &id, 1), FLAKE_OK);
    if (with_snos) (void)calls->generate(1);
    CHECK_EQ(calls->uuid7(uuid), FLAKE_OK);
    if (with_a_clone) calls->clone();
    if (with_snos) (void)calls->generate(1);
    CHECK_EQ(dlclose(handle), 0);
}

static unsigned mappings_left_by(int modules, bool with_snos) {
    for (int i = 0; i < 3; i++) open_use_and_close(with_snos, i > 0); /* the C library's own */
    const unsigned before = mappings();
    for (int i = 0; i < modules; i++) open_use_and_close(with_snos, i % 2);
    return mappings() - before;
}

TEST(a_module_that_is_closed_leaves_the_map_of_its_partitions) {
    CHECK_EQ(mappings_left_by(200, false), 0);
    CHECK_EQ(mappings_left_by(200, true), 200);
}

/* ---- numbers that modules claim in one directory ---- */

static const int64_t begin_ns = 1700000000000000000, soon_ns = 2200000000, later_ns = 3600000000000;
static int64_t told_ns;

static int64_t told(void *unused) {
    (void)unused;
    return told_ns;
}

static flake_status claim_of(int i, uint64_t from, uint64_t to, int64_t passed_ns) {
    flake_options options = {0};
    options.layout = flake_layout_idgen;
    options.clock.now_ns = told;
    told_ns = begin_ns + passed_ns;
    return copies[i]->init(&gens[i], flake_node_any(folder, from, to), &options, NULL);
}

static uint64_t claim(int i, int64_t passed_ns) {
    CHECK_EQ(claim_of(i, 0, 1023, passed_ns), FLAKE_OK);
    return flake_gen_node(&gens[i]);
}

static void release(int i) { CHECK_EQ(copies[i]->close(&gens[i], NULL), FLAKE_OK); }

static void others_are_free_in_another_process(uint64_t first, uint64_t second) {
    IN_CHILD {
        const uint64_t third = claim(6, soon_ns), fourth = claim(7, later_ns);
        CHECK(third != first && third != second);
        CHECK(fourth != first && fourth != second && fourth != third);
    }
}

TEST(numbers_of_two_modules_are_two_numbers) {
    begin_folder();
    const uint64_t first = claim(4, 0), second = claim(5, 0);
    CHECK(first != second);
    others_are_free_in_another_process(first, second);
    release(5); /* its own, and not the other's */
    others_are_free_in_another_process(first, first);
    release(4);
    IN_CHILD CHECK_EQ(claim(6, 2 * later_ns), first);
    end_folder();
}

TEST(a_number_is_one_modules) {
    begin_folder();
    CHECK_EQ(claim_of(4, 7, 7, 0), FLAKE_OK);
    CHECK_EQ(claim_of(5, 7, 7, 0), FLAKE_IN_USE);
    IN_CHILD CHECK_EQ(claim_of(6, 7, 7, later_ns), FLAKE_IN_USE); /* the failed attempt did not affect the first module */
    CHECK_EQ(draw_of(4), FLAKE_OK);
    release(4);
    CHECK_EQ(claim_of(5, 7, 7, later_ns), FLAKE_OK);
    release(5);
    end_folder();
}

int main(int argc, char **argv) {
    open_modules();
    return check_main(argc, argv);
}
