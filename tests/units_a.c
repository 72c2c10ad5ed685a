/* SPDX-License-Identifier: MIT
 * Two units of one program, one in C and one in C++, share the process-wide objects and a generator. */
#include "flake.h"
#include "check.h"

void *units_b_process(void);
uint64_t units_b_next(flake_gen *);
size_t units_b_size(void);

static void one_object_per_process(void) { CHECK(units_b_process() == (void *)&flake_i_process); }

static void generators_cross_languages(void) {
    static flake_gen gen;
    uint64_t id = 0;
    CHECK_EQ(units_b_size(), sizeof(flake_gen));
    CHECK_EQ(flake_init(&gen, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    for (int i = 0; i < 1000; i++) {
        uint64_t next = units_b_next(&gen);
        CHECK(next > id);
        id = next;
    }
}

int main(int argc, char **argv) {
    static const check_test all[] = {CHECK_TEST(one_object_per_process),
                                     CHECK_TEST(generators_cross_languages)};
    return CHECK_MAIN(argc, argv, all);
}
