/* SPDX-License-Identifier: MIT
 *
 * Snos of the original: their fields and texts; bounds of a time; the order of snos, and sno_sort. (Texts of any sno:
 * test_fixed_text.c.)
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#include "support.h"
#include "sno.h"

static uint64_t random_state = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t random_bits(void) { return random_next(&random_state); }

static sno_id random_id(void) {
    sno_id id;
    for (size_t i = 0; i < sizeof id.bytes; i++) id.bytes[i] = (uint8_t)(random_bits() >> 32);
    return id;
}

static int sign(int value) { return (value > 0) - (value < 0); }

/* Unit, tick, meta, partition, sequence; bytes, text, ns, JSON. */
static void peers_row(char **field) {
    sno_id row, id = {{0}};
    char text[17] = "", json[19];
    hex_bytes(field[5], row.bytes, sizeof row.bytes);
    CHECK_EQ(sno_units(row), strtoll(field[0], NULL, 10));
    CHECK_EQ(sno_tick(row), atoi(field[1]));
    CHECK_EQ(sno_meta(row), atoi(field[2]));
    CHECK_EQ(sno_partition(row), atoi(field[3]));
    CHECK_EQ(sno_sequence(row), atoi(field[4]));
    CHECK_EQ(sno_time_ms(row), strtoll(field[7], NULL, 10) / 1000000);
    CHECK_EQ(sno_compose(sno_units(row), sno_tick(row), sno_meta(row), sno_partition(row), sno_sequence(row), &id),
             FLAKE_OK);
    CHECK(sno_equal(id, row));
    sno_to_bytes(row, (uint8_t *)json);
    CHECK(memcmp(json, row.bytes, sizeof row.bytes) == 0);
    sno_encode(row, text);
    CHECK_STR(text, field[6]);
    CHECK_EQ(sno_decode(field[6], 16, &id), FLAKE_OK);
    CHECK(sno_equal(id, row));
    sno_to_json(row, json);
    CHECK_STR(json, field[8]);
    memset(&id, 0x5a, sizeof id);
    CHECK_EQ(sno_from_json(field[8], strlen(field[8]), &id), FLAKE_OK);
    CHECK(sno_equal(id, row));
}

TEST(fields_and_texts_are_the_originals) { vectors_read("sno_fields.tsv", 9, peers_row); }

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
        CHECK(sno_tick(high) && sno_meta(high) == 255 && sno_partition(high) == 0xffff && sno_sequence(high) == 0xffff);
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
