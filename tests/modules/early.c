/* SPDX-License-Identifier: MIT
 *
 * Draws before the initialisers of the other unit run, which is early_other.cc as C++20: they must not reset what
 * units share.
 */
#define _GNU_SOURCE
#include "flake.h"
#include "sno.h"
#include "check.h"
#include "children.h"

/* early_other.cc: the first ID of its own generator, whose clock does not move, and more. */
int other_begin(uint64_t *id);
int other_next(uint64_t *id);

static flake_gen gen;
static sno_gen partitioned;
static bool was_begun;
static void *by_default;
static uint64_t first_of_other;

static bool begin(void) {
    char text[37];
    sno_id id;
    return flake_init(&gen, flake_node_fixed(NULL, 0), NULL, NULL) == FLAKE_OK &&
           sno_init(&partitioned, flake_node_none(), NULL, NULL, NULL) == FLAKE_OK &&
           sno_try(&partitioned, 0, &id) == FLAKE_OK && flake_uuid7(text) == FLAKE_OK &&
           other_begin(&first_of_other) == 0;
}

/* C++ initialisers run after those with a number. */
__attribute__((constructor(101))) static void before_all(void) {
    was_begun = begin();
    by_default = FLAKE_ATOMIC_LOAD(&flake_i_default.gen, relaxed);
}

TEST(what_units_share_stays) {
    static sno_gen next;
    CHECK(was_begun);
    CHECK((void *)FLAKE_ATOMIC_LOAD(&flake_i_default.gen, relaxed) == by_default);
    CHECK_EQ(sno_init(&next, flake_node_none(), NULL, NULL, NULL), FLAKE_OK);
    CHECK_EQ((uint16_t)(sno_gen_partition(&next) - sno_gen_partition(&partitioned)), 1);
}

TEST(a_generator_of_the_other_unit_stays) {
    uint64_t id = 0;
    CHECK_EQ(other_next(&id), FLAKE_OK);
    CHECK(id > first_of_other);
}

TEST(a_fork_is_seen) {
    IN_CHILD {
        static flake_gen own;
        uint64_t id;
        /* The child has a mark from here on. */
        CHECK_EQ(flake_init(&own, flake_node_fixed(NULL, 0), NULL, NULL), FLAKE_OK);
        CHECK_EQ(flake_next(&gen, &id), FLAKE_FORKED);
    }
}

int main(int argc, char **argv) { return check_main(argc, argv); }
