/* SPDX-License-Identifier: MIT
 *
 * Two units of one program, one in C and one in C++, share each header's process-wide objects and a
 * generator. It is built twice: the headers are included in one order here and in the other one in
 * two_units_other.cc, and with -DREVERSED the other way round. With -DFLAKE_SHARED, too, when they share
 * the functions: this unit has them, or with -DREVERSED the other one.
 */
#if defined(FLAKE_SHARED) && !defined(REVERSED)
#define FLAKE_IMPLEMENTATION
#endif
#if defined(REVERSED)
#include "sno.h"
#include "flake.h"
#else
#include "flake.h"
#include "sno.h"
#endif
#include "two_units.h"
#include "check.h"

/* What units share, as its number says. Something here no longer holds? Then units with the old layout
 * must not find the new object: raise the number in the name (the #define beside the struct), and here.
 * Once from one release to the next is enough. */
#if defined(FLAKE_I_IMPLEMENTED) && defined(__x86_64__) && defined(__linux__) && defined(__LP64__)
#define SIZE_IS(type, bytes)         _Static_assert(sizeof(type) == (bytes), #type)
#define LIES_AT(type, member, bytes) _Static_assert(offsetof(type, member) == (bytes), #type)
SIZE_IS(struct flake_i_process_2, 24 + 8192);
LIES_AT(struct flake_i_process_2, page, 0);
LIES_AT(struct flake_i_process_2, instance_count, 8);
LIES_AT(struct flake_i_process_2, clone_count, 16);
LIES_AT(struct flake_i_process_2, room, 20);
SIZE_IS(struct sno_i_partitions_2, 24 + 8192);
LIES_AT(struct sno_i_partitions_2, private_family, 8);
LIES_AT(struct sno_i_partitions_2, asked, 16);
LIES_AT(struct sno_i_partitions_2, room, 20);
SIZE_IS(struct sno_i_default_3, 24 + 4 * sizeof(struct flake_i_engine));
LIES_AT(struct sno_i_default_3, tag, 8);
LIES_AT(struct sno_i_default_3, begun, 16);
SIZE_IS(struct flake_i_default_4, 72 + 4 * sizeof(struct flake_i_uuids));
LIES_AT(struct flake_i_default_4, low, 8);
LIES_AT(struct flake_i_default_4, high, 16);
LIES_AT(struct flake_i_default_4, seal, 24);
LIES_AT(struct flake_i_default_4, parts, 32);
LIES_AT(struct flake_i_default_4, begun, 64);
SIZE_IS(struct flake_i_uuids, 672);
LIES_AT(struct flake_i_uuids, keys, 600);
SIZE_IS(struct flake_i_engine, 600); /* in both default generators */
LIES_AT(struct flake_i_engine, word, 56);
LIES_AT(struct flake_i_engine, owner_word, 120);
LIES_AT(struct flake_i_engine, safe, 456);
#endif

#if defined(FLAKE_SHARED)
TEST(units_share_their_functions) {
    CHECK(other_unit_calls_flake() == flake_next);
    CHECK(other_unit_calls_sno() == sno_next);
}
#else
TEST(units_have_functions_of_their_own) {
    CHECK(other_unit_calls_flake() != flake_next);
    CHECK(other_unit_calls_sno() != sno_next);
}

TEST(one_object_per_process) {
    CHECK(other_unit_flake_process() == (void *)&flake_i_process);
    CHECK(other_unit_flake_default() == (void *)&flake_i_default);
}

TEST(one_object_of_each_kind_per_process_in_sno) {
    CHECK(other_unit_sno_partitions() == (void *)&sno_i_partitions);
    CHECK(other_unit_sno_default() == (void *)&sno_i_default);
}
#endif

TEST(generators_cross_languages) {
    static flake_gen gen;
    uint64_t id = 0;
    CHECK_EQ(other_unit_flake_gen_size(), sizeof(flake_gen));
    CHECK_EQ(flake_init(&gen, NULL, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    for (int i = 0; i < 1000; i++) {
        uint64_t next = other_unit_flake_next(&gen);
        CHECK(next > id);
        id = next;
    }
}

TEST(generators_of_sno_cross_languages) {
    static sno_gen gen;
    CHECK_EQ(other_unit_sno_gen_size(), sizeof(sno_gen));
    CHECK_EQ(sno_init(&gen, NULL, NULL, NULL), FLAKE_OK);
    sno_id id;
    CHECK_EQ(sno_next(&gen, 0, &id), FLAKE_OK);
    for (int i = 0; i < 1000; i++) {
        sno_id next;
        CHECK_EQ(other_unit_sno_next(&gen, &next), FLAKE_OK);
        CHECK(sno_compare(next, id) > 0);
        id = next;
    }
}

TEST(the_default_generator_is_one_for_both_units) {
    sno_id id = sno_generate(0);
    for (int i = 0; i < 1000; i++) {
        const sno_id next = i % 2 ? sno_generate(0) : other_unit_sno_generate();
        CHECK_EQ(sno_partition(next), sno_partition(id));
        CHECK(sno_compare(next, id) > 0);
        id = next;
    }
}

TEST(the_generator_of_uuids_is_one_for_both_units) {
    uint8_t last[16], id[16];
    CHECK_EQ(flake_uuid7_bytes(last), FLAKE_OK);
    for (int i = 0; i < 1000; i++) {
        CHECK_EQ(i % 2 ? (int)flake_uuid7_bytes(id) : other_unit_uuid7(id), FLAKE_OK);
        CHECK(memcmp(last, id, 16) < 0);
        memcpy(last, id, 16);
    }
}

int main(int argc, char **argv) { return check_main(argc, argv); }
