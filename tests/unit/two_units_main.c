/* SPDX-License-Identifier: MIT
 *
 * Two units of one program, one in C and one in C++, share each header's process-wide objects and a generator. It is
 * built twice: here the headers are included in one order and in two_units_other.cc in the other, and with -DREVERSED
 * vice versa. With -DFLAKE_SHARED they also share the functions: this unit has them, or with -DREVERSED the other one.
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

/* Shared objects are versioned by a number. If a check here fails, units with the old layout must
 * not find the new object: increment the number in the name (the #define beside the struct), and
 * here. Once from one release to the next is enough. */
#if defined(FLAKE_I_IMPLEMENTED) && defined(__x86_64__) && defined(__linux__) && defined(__LP64__)
#define SIZE_IS(type, bytes)         _Static_assert(sizeof(type) == (bytes), #type)
#define LIES_AT(type, member, bytes) _Static_assert(offsetof(type, member) == (bytes), #type)
SIZE_IS(struct flake_i_process_2, 24 + 8192);
LIES_AT(struct flake_i_process_2, page, 0);
LIES_AT(struct flake_i_process_2, instance_count, 8);
LIES_AT(struct flake_i_process_2, clone_count, 16);
LIES_AT(struct flake_i_process_2, room, 20);
SIZE_IS(struct sno_i_partitions_4, 16 + 8192);
LIES_AT(struct sno_i_partitions_4, next, 8);
LIES_AT(struct sno_i_partitions_4, private_family, 16);
SIZE_IS(struct sno_i_default_5, 24 + 4 * sizeof(struct flake_i_engine));
LIES_AT(struct sno_i_default_5, tag, 8);
LIES_AT(struct sno_i_default_5, begun, 16);
SIZE_IS(struct flake_i_default_6, 72 + 4 * sizeof(struct flake_i_uuids));
LIES_AT(struct flake_i_default_6, low, 8);
LIES_AT(struct flake_i_default_6, high, 16);
LIES_AT(struct flake_i_default_6, seal, 24);
LIES_AT(struct flake_i_default_6, parts, 32);
LIES_AT(struct flake_i_default_6, begun, 64);
SIZE_IS(struct flake_i_uuids, 680);
LIES_AT(struct flake_i_uuids, keys, 608);
SIZE_IS(struct flake_i_engine, 608); /* in both default generators */
LIES_AT(struct flake_i_engine, word, 56);
LIES_AT(struct flake_i_engine, owner_word, 120);
LIES_AT(struct flake_i_engine, safe, 480);
SIZE_IS(struct flake_i_counter_1, 24);
LIES_AT(struct flake_i_counter_1, rate, 0);
LIES_AT(struct flake_i_counter_1, calibrated_at, 8);
LIES_AT(struct flake_i_counter_1, calibration, 16);
#endif

TEST(units_share_functions_if_they_are_to) {
#if defined(FLAKE_SHARED)
    const bool are_shared = true;
#else
    const bool are_shared = false;
#endif
    CHECK_EQ(other_unit.flake == flake_next, are_shared);
    CHECK_EQ(other_unit.sno == sno_next, are_shared);
}

TEST(one_object_of_each_kind_per_process) {
    void *const objects[] = OBJECTS;
    for (int i = 0; i < 5; i++) CHECK(other_unit.objects[i] == objects[i]);
}

TEST(generators_cross_languages) {
    static flake_gen gen;
    static sno_gen snos;
    uint64_t id = 0, last;
    sno_id sno, last_sno;
    CHECK_EQ(other_unit.flake_gen_size, sizeof(flake_gen));
    CHECK_EQ(other_unit.sno_gen_size, sizeof(sno_gen));
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 0), NULL, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&snos, flake_node_none(), NULL, NULL, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &last), FLAKE_OK);
    CHECK_EQ(sno_next(&snos, 0, &last_sno), FLAKE_OK);
    for (int i = 0; i < 1000; i++, last = id, last_sno = sno) {
        CHECK_EQ(other_unit.flake(&gen, &id), FLAKE_OK);
        CHECK(id > last);
        CHECK_EQ(other_unit.sno(&snos, 0, &sno), FLAKE_OK);
        CHECK(sno_compare(sno, last_sno) > 0);
    }
}

TEST(default_generators_are_one_for_both_units) {
    sno_id last = sno_generate(0);
    uint8_t last_uuid[16], uuid[16];
    CHECK_EQ(flake_uuid7_bytes(last_uuid), FLAKE_OK);
    for (int i = 0; i < 1000; i++) {
        const sno_id id = (i % 2 ? sno_generate : other_unit.generate)(0);
        CHECK_EQ(sno_partition(id), sno_partition(last));
        CHECK(sno_compare(id, last) > 0);
        last = id;
        CHECK_EQ((i % 2 ? flake_uuid7_bytes : other_unit.uuid7)(uuid), FLAKE_OK);
        CHECK(memcmp(last_uuid, uuid, 16) < 0);
        memcpy(last_uuid, uuid, 16);
    }
}

TEST(containers_of_cxx_take_ids) {
    if (other_unit.what_containers_miss) CHECK_STR(other_unit.what_containers_miss(), "");
}
