/* SPDX-License-Identifier: MIT
 *
 * mixed_main APART   two units of one program have separate copies of their first APART objects, and
 *                    share the others; no objects overlap, and each unit draws and detects a fork. All draw
 *                    before initialisers of C++ run, which must not reset what is in use.
 */
#define _GNU_SOURCE
#define CHECK_OWN_MAIN
#include "support.h"
#include "children.h"
#include "mixed.h"

static int apart;

/* IDs drawn, and the first word of each object, before C++ initialisers, which run after those with a number. */
static const mixed *const units[] = {&mixed_one, &mixed_two};
static int begun;
static uint64_t early_ids[2];
static uintptr_t early_words[2][MIXED_OBJECTS];

static uintptr_t word_of(unsigned unit, size_t object) {
    uintptr_t word;
    memcpy(&word, units[unit]->objects[object].at, sizeof word);
    return word;
}

__attribute__((constructor(101))) static void draw_early(void) {
    uint8_t id[16];
    /* one object of two layouts, which modules.sh makes for the test that must fail */
    if (mixed_one.objects[0].at == mixed_two.objects[0].at && mixed_one.objects[0].size != mixed_two.objects[0].size)
        return;
    for (unsigned i = 0; i < 2; i++) {
        begun += units[i]->make(i + 1) == 0 && units[i]->next(&early_ids[i]) == 0 && units[i]->uuid(id) == 0;
        units[i]->generate(id);
    }
    for (unsigned i = 0; i < 2; i++)
        for (size_t k = 0; k < MIXED_OBJECTS; k++) early_words[i][k] = word_of(i, k);
}

TEST(what_was_begun_before_initialisers_stays) {
    CHECK_EQ(begun, 2);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t id = 0;
        for (size_t k = 0; k < MIXED_OBJECTS; k++) {
            CHECK(word_of(i, k) == early_words[i][k]);
            CHECK(early_words[i][k] || apart); /* another version begins with another member */
        }
        CHECK_EQ(units[i]->next(&id), 0);
        CHECK(id > early_ids[i]);
    }
}

static bool overlap(size_t a, size_t b) {
    const uintptr_t one = (uintptr_t)mixed_one.objects[a].at, two = (uintptr_t)mixed_two.objects[b].at;
    return one < two + mixed_two.objects[b].size && two < one + mixed_one.objects[a].size;
}

TEST(objects_are_apart_or_shared_by_their_version) {
    for (size_t a = 0; a < MIXED_OBJECTS; a++)
        for (size_t b = 0; b < MIXED_OBJECTS; b++) {
            const bool is_shared = a == b && (int)a >= apart;
            if (overlap(a, b) == is_shared) continue;
            printf("  %s and %s: %s\n", mixed_one.objects[a].name, mixed_two.objects[b].name,
                   is_shared ? "two objects" : "one object, or one in the other");
            check_failures++;
        }
    for (size_t i = (size_t)apart; i < MIXED_OBJECTS; i++) {
        CHECK(mixed_one.objects[i].at == mixed_two.objects[i].at);
        CHECK_EQ(mixed_one.objects[i].size, mixed_two.objects[i].size);
    }
}

TEST(ids_of_both_units_are_unique) {
    static uint64_t ids[2 * MIXED_IDS];
    static uint8_t snos[2][MIXED_IDS][10], uuids[2 * MIXED_IDS][16];
    CHECK_EQ(mixed_one.make(1), 0);
    CHECK_EQ(mixed_two.make(2), 0);
    for (size_t i = 0; i < 2 * MIXED_IDS; i++) {
        const mixed *const m = i % 2 ? &mixed_two : &mixed_one;
        CHECK_EQ(m->next(&ids[i]), 0);
        m->generate(snos[i % 2][i / 2]);
        CHECK_EQ(m->uuid(uuids[i]), 0);
        const size_t before = apart < MIXED_OBJECTS ? 1 : 2; /* one generator, or one each */
        if (i >= before) CHECK(memcmp(uuids[i - before], uuids[i], 16) < 0);
    }
    CHECK_EQ(count_duplicates(ids, 2 * MIXED_IDS), 0);
    CHECK_EQ(count_duplicates(uuids, 2 * MIXED_IDS), 0);
    for (unsigned i = 0; i < 2; i++) CHECK_EQ(count_duplicates(snos[i], MIXED_IDS), 0);
    if (apart < 2) CHECK_EQ(count_duplicates(&snos[0][0], 2 * MIXED_IDS), 0); /* one family of partitions */
}

TEST(both_units_detect_a_fork) {
    uint64_t id;
    IN_CHILD {
        CHECK(mixed_one.next(&id) != 0);
        CHECK(mixed_two.next(&id) != 0);
    }
    CHECK_EQ(mixed_one.next(&id), 0);
    CHECK_EQ(mixed_two.next(&id), 0);
}

int main(int argc, char **argv) {
    apart = argc > 1 ? atoi(argv[1]) : 0;
    return check_main(1, argv);
}
