/* SPDX-License-Identifier: MIT
 *
 * The engine on a scripted clock, where test_random_flake's oracle does not reach: large max_ahead, the ends
 * of a caller's time, wrong snapshots, scattered numbers.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#include "scripted_flake.h"

/* ---- batches ---- */

/* Its count has 21 bits, and max_ahead of so many tickets uses up all but one. */
TEST(a_great_loan_does_not_overflow_its_count) {
    const size_t n = sizeof many / sizeof *many; /* 2^20 */
    begin(flake_layout_of(43, 0, 20, T - 1000));
    options.seq_max = 199999;
    options.max_ahead_ms = 20;
    open_gen();
    uint64_t last = 0;
    for (int i = 0; i < 2; i++) {
        size_t rising = 0;
        CHECK_EQ(got64_n(&gen, many, n), n);
        for (size_t k = 0; k < n; last = many[k++]) rising += many[k] > last;
        CHECK_EQ(rising, n);
    }
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK(id > last);
}

/* ---- the caller's own time ---- */

TEST(try_at_refuses_a_time_that_the_layout_has_not) {
    begin_short_era();
    open_gen();
    SAYS(FLAKE_TIME_RANGE, flake_try_at(&gen, T - 1, &id));
    SAYS(FLAKE_TIME_RANGE, flake_try_at(&gen, T + 1024000, &id));
    SAYS(FLAKE_TIME_RANGE, flake_try_at(&gen, INT64_MIN, &id));
    SAYS(FLAKE_TIME_RANGE, flake_try_at(&gen, INT64_MAX, &id));
    SAYS(FLAKE_TIME_RANGE, flake_try_at(&gen, INT64_MAX / 1000000, &id));
    GIVES(flake_try_at(&gen, T, &id), T, 1);
    GIVES(flake_try_at(&gen, T - 1, &id), T, 2); /* only older than the newest unit */
    move_to_ms(T + 1023999);
    GIVES(flake_try_at(&gen, T + 1023999, &id), T + 1023000, 1);
    SAYS(FLAKE_TIME_RANGE, flake_try_at(&gen, T + 1024000, &id));
}

TEST(try_at_takes_the_first_ms_of_an_int64_of_ns) {
    const int64_t first_ms = -(INT64_MAX / 1000000);
    begin(flake_layout_of(41, 10, 12, first_ms));
    open_gen();
    SAYS(FLAKE_TIME_RANGE, flake_try_at(&gen, first_ms - 1, &id));
    GIVES(flake_try_at(&gen, first_ms, &id), first_ms, 0);
}

/* ---- scatter ---- */

static void open_scattered(void) {
    begin(flake_layout_idgen);
    options.seq_scatter = true;
    open_gen();
}

TEST(scattered_units_begin_at_different_numbers) {
    open_scattered();
    for (size_t i = 0; i < 1000; i++) {
        NEXT(T + (int64_t)i, parts_of(&gen, id).seq);
        many[i] = parts_of(&gen, id).seq;
        move_ns(MS);
    }
    CHECK(count_duplicates(many, 1000) < 200);
    move_to_ms(100000018026); /* where the last bit of the factor matters */
    open_gen();
    NEXT(100000018026, 2745);
}

TEST(at_one_scattered_id_a_unit_the_remainders_are_even) {
    static const int64_t every_ms[] = {1, 7, 10, 1000, 1024, 60000};
    static const unsigned divisors[] = {2, 3, 5, 7, 8, 10, 16, 32, 100};
    for (size_t e = 0; e < 6; e++)
        for (size_t d = 0; d < 9; d++) {
            const unsigned n = divisors[d];
            unsigned counts[100] = {0};
            open_scattered();
            for (unsigned i = 0; i < 500 * n; i++) {
                CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
                counts[id % n]++;
                move_ns(every_ms[e] * MS);
            }
            unsigned least = UINT32_MAX, most = 0;
            for (unsigned i = 0; i < n; i++) {
                if (counts[i] < least) least = counts[i];
                if (counts[i] > most) most = counts[i];
            }
            CHECK(least > 350 && most < 650);
        }
}

int main(int argc, char **argv) { return check_main(argc, argv); }
