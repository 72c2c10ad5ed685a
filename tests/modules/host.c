/* SPDX-License-Identifier: MIT
 *
 * A program that opens modules, each with a copy of the headers that the linker keeps apart, and has one
 * itself. MODULES names a folder with 0.so, 1.so ... of all kinds, and closing.so.
 */
#define _GNU_SOURCE
#include "support.h"
#include "children.h"
#include "mappings.h"
#include "plugin.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <sys/mman.h>

enum { MODULES = 64, COPIES = MODULES + 1, IDS = 500 }; /* the last copy is the program's own */
enum { OK = 0, FORKED = 8, TAKEN = 13 };                /* of flake_status */

/* What parent (0) and child (1) have drawn. */
typedef struct drawn {
    uint64_t flakes[2][COPIES][IDS];
    uint8_t snos[2][COPIES][IDS][10];
    uint8_t uuids[2][COPIES][IDS][16];
    uint16_t partitions[2][COPIES];
    unsigned refused; /* copies that know in the child that it is one */
} drawn;
static drawn *our;
static const plugin *copies[COPIES];

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
    void *const memory =
        mmap(NULL, sizeof *our, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) exit(1);
    our = (drawn *)memory;
}

/* ---- no id twice ---- */

static void draw(unsigned who) {
    for (int i = 0; i < COPIES; i++) {
        copies[i]->snos(our->snos[who][i], IDS);
        CHECK_EQ(copies[i]->uuids(our->uuids[who][i], IDS), OK);
        CHECK_EQ(copies[i]->flakes(our->flakes[who][i], IDS), OK);
        const uint8_t *const id = our->snos[who][i][0];
        our->partitions[who][i] = (uint16_t)(id[6] << 8 | id[7]);
    }
}

static void draw_in_child(void) {
    uint64_t id;
    for (int i = 0; i < COPIES; i++) {
        our->refused += copies[i]->flakes(&id, 1) == FORKED;
        CHECK_EQ(copies[i]->restart(512 + (uint32_t)i), OK);
    }
    draw(1);
}

/* The copies' partitions begin 256 apart, since their random sources say so: clock and process, which
 * have a part in it, are the same for all. A child's follow its parent's. */
TEST(copies_and_their_children_give_no_id_twice) {
    for (int i = 0; i < COPIES; i++) {
        copies[i]->script((uint16_t)(i << 8));
        CHECK_EQ(copies[i]->make((uint32_t)i), OK);
    }
    draw(0);
    in_child(draw_in_child);
    CHECK_EQ(our->refused, COPIES); /* fork reaches each copy */
    for (int i = 0; i < COPIES; i++) {
        CHECK_EQ((our->partitions[0][i] ^ our->partitions[0][0]) >> 8, i);
        CHECK_EQ((uint16_t)(our->partitions[1][i] - our->partitions[0][i]), 1);
    }
    CHECK_EQ(count_duplicates(our->snos[0][0], 2 * COPIES * IDS), 0);
    CHECK_EQ(count_duplicates(our->uuids[0][0], 2 * COPIES * IDS), 0);
    CHECK_EQ(count_duplicates(our->flakes[0][0], 2 * COPIES * IDS), 0);
}

/* ---- what is one for each copy ---- */

TEST(a_bump_reaches_its_own_copy) {
    uint64_t id;
    for (int i = 0; i < COPIES; i++) CHECK_EQ(copies[i]->make((uint32_t)i), OK);
    copies[1]->bump();
    copies[MODULES]->bump();
    for (int i = 0; i < COPIES; i++)
        CHECK_EQ(copies[i]->flakes(&id, 1), i == 1 || i == MODULES ? FORKED : OK);
    CHECK_EQ(copies[1]->restart(900), OK);
    CHECK_EQ(copies[MODULES]->restart(901), OK);
}

/* ---- dlclose ---- */

static void open_use_and_close(bool with_a_bump) {
    void *handle;
    uint8_t sno[2][10], uuid[1][16];
    uint64_t id;
    const plugin *const calls = open_module("closing", &handle);
    CHECK_EQ(calls->make(1), OK);
    CHECK_EQ(calls->flakes(&id, 1), OK);
    calls->snos(sno, 2);
    CHECK_EQ(calls->uuids(uuid, 1), OK);
    if (with_a_bump) calls->bump();
    calls->snos(sno, 2);
    CHECK_EQ(dlclose(handle), 0);
}

TEST(nothing_stays_of_a_module_that_is_closed) {
    for (int i = 0; i < 3; i++) open_use_and_close(i > 0); /* what the C library needs for it */
    const unsigned before = mappings();
    for (int i = 0; i < 200; i++) open_use_and_close(i % 2);
    CHECK_EQ(mappings(), before);
}

/* ---- files that two modules claim ---- */

static const int64_t now_ns = 1700000000000000000, soon_ns = 2200000000, later_ns = 3600000000000;
static char folder[512];
static uint64_t first, second;

static void make_folder(const char *name) {
    (void)snprintf(folder, sizeof folder, "%s/%s.XXXXXX", getenv("MODULES"), name);
    if (!mkdtemp(folder)) exit(1);
}

static void claim_in_another_process(void) {
    uint64_t third, fourth;
    CHECK_EQ(copies[6]->claim(folder, now_ns + soon_ns, &third), OK);
    CHECK_EQ(copies[7]->claim(folder, now_ns + later_ns, &fourth), OK);
    CHECK(third != first && third != second);
    CHECK(fourth != first && fourth != second && fourth != third);
}

static void claim_when_one_is_free(void) {
    uint64_t number;
    CHECK_EQ(copies[6]->claim(folder, now_ns + 2 * later_ns, &number), OK);
    CHECK_EQ(number, first);
}

TEST(slots_of_two_modules_are_two_slots) {
    make_folder("slots");
    CHECK_EQ(copies[4]->claim(folder, now_ns, &first), OK);
    CHECK_EQ(copies[5]->claim(folder, now_ns, &second), OK);
    CHECK(first != second);
    in_child(claim_in_another_process);
    CHECK_EQ(copies[5]->release(), OK); /* its own, and not the other's */
    second = first;
    in_child(claim_in_another_process);
    CHECK_EQ(copies[4]->release(), OK);
    in_child(claim_when_one_is_free);
}

static char state_path[600];

static void open_in_another_process(void) { CHECK_EQ(copies[6]->open_state(state_path), TAKEN); }

TEST(a_state_file_is_one_modules) {
    make_folder("states");
    (void)snprintf(state_path, sizeof state_path, "%s/state", folder);
    CHECK_EQ(copies[4]->open_state(state_path), OK);
    CHECK_EQ(copies[5]->open_state(state_path), TAKEN);
    in_child(open_in_another_process); /* the attempt has cost the first module nothing */
    CHECK_EQ(copies[4]->close_state(), OK);
    CHECK_EQ(copies[5]->open_state(state_path), OK);
    CHECK_EQ(copies[5]->close_state(), OK);
}

int main(int argc, char **argv) {
    open_modules();
    return check_main(argc, argv);
}
