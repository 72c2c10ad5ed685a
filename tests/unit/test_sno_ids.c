/* SPDX-License-Identifier: MIT
 *
 * The fields of a sno, against snos of the original; bounds of a time; the order of snos, and sno_sort.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#include "support.h"
#include "sno.h"

#include "sno_fields.h"

static int sign(int value) { return (value > 0) - (value < 0); }

/* ---- fields ---- */

static void row_has_the_peers_fields(const sno_fields *row) {
    CHECK_EQ(sno_units(row->id), row->units);
    CHECK_EQ(sno_tick(row->id), row->tick);
    CHECK_EQ(sno_meta(row->id), row->meta);
    CHECK_EQ(sno_partition(row->id), row->partition);
    CHECK_EQ(sno_sequence(row->id), row->sequence);
    CHECK_EQ(sno_time_ms(row->id), row->time_ns / 1000000);
    sno_id id = {{0}};
    CHECK_EQ(sno_compose(row->units, row->tick, (uint8_t)row->meta, (uint16_t)row->partition,
                         (uint16_t)row->sequence, &id), FLAKE_OK);
    CHECK(sno_equal(id, row->id));
}

TEST(fields_are_the_peers) { sno_fields_each(row_has_the_peers_fields); }

TEST(compose_and_fields_are_inverse) {
    for (int i = 0; i < 20000; i++) {
        const sno_id id = random_id();
        sno_id again;
        uint8_t bytes[10];
        CHECK_EQ(sno_compose(sno_units(id), sno_tick(id), sno_meta(id), sno_partition(id), sno_sequence(id), &again),
                 FLAKE_OK);
        CHECK(memcmp(&id, &again, sizeof id) == 0);
        sno_to_bytes(id, bytes);
        CHECK(memcmp(bytes, id.bytes, sizeof bytes) == 0 && sno_equal(sno_from_bytes(bytes), id));
        CHECK(sno_units(id) >> 39 == 0 && sno_tick(id) <= 1);
    }
}

TEST(compose_refuses_what_is_out_of_range) {
    const sno_id before = random_id();
    sno_id id = before;
    CHECK_EQ(sno_compose(UINT64_C(1) << 39, 0, 0, 0, 0, &id), FLAKE_TIME_RANGE);
    CHECK_EQ(sno_compose(UINT64_MAX, 1, 0, 0, 0, &id), FLAKE_TIME_RANGE);
    CHECK_EQ(sno_compose(0, 2, 0, 0, 0, &id), FLAKE_INVALID);
    CHECK_EQ(sno_compose(0, UINT32_MAX, 0, 0, 0, &id), FLAKE_INVALID);
    CHECK(memcmp(&id, &before, sizeof id) == 0);
    CHECK_EQ(sno_compose((UINT64_C(1) << 39) - 1, 1, 0xff, 0xffff, 0xffff, &id), FLAKE_OK);
    for (size_t i = 0; i < sizeof id.bytes; i++) CHECK_EQ(id.bytes[i], 0xff);
}

TEST(bounds_of_a_time_enclose_its_ids) {
    const int64_t epoch_ms = 1262304000000, unit_ms = 4;
    for (int i = 0; i < 2000; i++) {
        const sno_id id = random_id();
        sno_id low, high;
        CHECK_EQ(sno_min_at(sno_time_ms(id), &low), FLAKE_OK);
        CHECK_EQ(sno_max_at(sno_time_ms(id) + unit_ms - 1, &high), FLAKE_OK);
        CHECK(sno_compare(low, id) <= 0 && sno_compare(id, high) <= 0);
        CHECK(sno_units(low) == sno_units(id) && sno_units(high) == sno_units(id));
        CHECK(!sno_tick(low) && !sno_meta(low) && !sno_partition(low) && !sno_sequence(low));
        CHECK(sno_tick(high) && sno_meta(high) == 0xff && sno_partition(high) == 0xffff && sno_sequence(high) == 0xffff);
    }
    sno_id below, at;
    CHECK_EQ(sno_min_at(epoch_ms, &at), FLAKE_OK);
    CHECK(sno_is_zero(at));
    CHECK_EQ(sno_max_at(epoch_ms + unit_ms - 1, &below), FLAKE_OK);
    CHECK_EQ(sno_min_at(epoch_ms + unit_ms, &at), FLAKE_OK);
    CHECK(sno_compare(below, at) < 0);
    const sno_id before = at;
    CHECK_EQ(sno_min_at(epoch_ms - 1, &at), FLAKE_TIME_RANGE);
    CHECK_EQ(sno_max_at(epoch_ms + ((int64_t)1 << 39) * unit_ms, &at), FLAKE_TIME_RANGE);
    CHECK(sno_equal(at, before));
}

TEST(comparing_is_memcmp) {
    for (int i = 0; i < 20000; i++) {
        const sno_id a = random_id();
        sno_id b = i % 2 ? a : random_id();
        /* IDs that differ in a single bit reach every byte. */
        if (i % 4 == 1) b.bytes[i / 4 % 10] ^= (uint8_t)(1U << (i / 40 % 8));
        const int wanted = sign(memcmp(&a, &b, sizeof a));
        CHECK_EQ(sign(sno_compare(a, b)), wanted);
        CHECK_EQ(sign(sno_compare(b, a)), -wanted);
        CHECK_EQ(sno_equal(a, b), wanted == 0);
    }
}

TEST(only_the_zero_id_is_zero) {
    sno_id id = {{0}};
    CHECK(sno_is_zero(id));
    CHECK_EQ(sno_time_ms(id), INT64_C(1262304000000));
    for (size_t bit = 0; bit < 80; bit++) {
        id.bytes[bit / 8] = (uint8_t)(1U << bit % 8);
        CHECK(!sno_is_zero(id));
        id.bytes[bit / 8] = 0;
    }
}

/* ---- sno_sort ---- */

static int compare_ids(const void *a, const void *b) { return memcmp(a, b, sizeof(sno_id)); }

/* At exactly that much memory: sanitizers detect an overrun. */
static void check_sort(const sno_id *ids, size_t n) {
    sno_id *const mine = (sno_id *)exactly(n * sizeof *ids), *const wanted = (sno_id *)exactly(n * sizeof *ids);
    if (n > 0) memcpy(mine, ids, n * sizeof *ids);
    if (n > 0) memcpy(wanted, ids, n * sizeof *ids);
    qsort(wanted, n, sizeof *ids, compare_ids);
    sno_sort(mine, n);
    CHECK(n == 0 || memcmp(mine, wanted, n * sizeof *ids) == 0);
    free(mine);
    free(wanted);
}

static sno_id id_with_number(size_t place, uint64_t number) {
    sno_id id = {{0}};
    id.bytes[place] = (uint8_t)(number >> 8);
    id.bytes[place + 1] = (uint8_t)number;
    return id;
}

/* The i-th of n IDs, in an order that is hard for a radix sort. */
enum pattern { FALLING, RISING, ACROSS_HEAD_AND_TAIL, ORGAN_PIPE, SAWTOOTH, ALL_EQUAL, THE_SECOND_IS_LAST, TWO_VALUES,
               ANYTHING, SPARSE_BITS, ONE_DIGIT_AT_A_TIME, OF_ONE_GENERATOR, PATTERNS };
static sno_id id_of_pattern(int pattern, size_t i, size_t n) {
    sno_id id = random_id();
    size_t depth = 0;
    switch (pattern) {
    case FALLING: return id_with_number(8, n - i);
    case RISING: return id_with_number(8, i);
    case ACROSS_HEAD_AND_TAIL: return id_with_number(7, n - i);
    case ORGAN_PIPE: return id_with_number(4, i < n / 2 ? i : n - i);
    case SAWTOOTH: return id_with_number(0, i % 7 * 300);
    case ALL_EQUAL: return id_with_number(3, n);
    case THE_SECOND_IS_LAST: return id_with_number(3, i == 1);
    case TWO_VALUES: return id_with_number(8, random_bits() >> 40 & 1);
    case ANYTHING: return id;
    case SPARSE_BITS:
        for (size_t k = 0; k < sizeof id.bytes; k++) id.bytes[k] &= 0x11;
        return id;
    case ONE_DIGIT_AT_A_TIME: /* half of the IDs leave at each level, so the sort goes as deep as it can */
        for (size_t rest = i; depth < 9 && rest % 2; rest /= 2) depth++;
        memset(&id, 0, sizeof id);
        id.bytes[depth] = (uint8_t)(1 + i % 3);
        return id;
    default: (void)sno_compose(UINT64_C(100000000000) + i / 40, 0, 7, 42, (uint16_t)(i ^ (i % 16)), &id); return id;
    }
}

TEST(sorting_is_qsort) {
    static sno_id ids[5000];
    for (int pattern = 0; pattern < PATTERNS; pattern++)
        for (size_t n = 0; n <= 5000; n += n < 300 ? 1 : 4700) {
            for (size_t i = 0; i < n; i++) ids[i] = id_of_pattern(pattern, i, n);
            check_sort(ids, n);
        }
    for (size_t bit = 0; bit < 80; bit++) { /* a single bit that differs, at each position */
        for (size_t i = 0; i < 100; i++) {
            ids[i] = id_with_number(3, 0x1234);
            ids[i].bytes[bit / 8] ^= (uint8_t)((random_bits() >> 40 & 1) << (7 - bit % 8));
        }
        check_sort(ids, 100);
    }
}

TEST(a_million_sort_as_qsort_does) {
    enum { n = 1000000 };
    static sno_id ids[n];
    for (size_t i = 0; i < n; i++) ids[i] = random_id();
    check_sort(ids, n);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
