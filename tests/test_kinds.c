/* SPDX-License-Identifier: MIT
 *
 * 64 and 128 bits, one word, lanes and single threads: which calls a generator of each kind refuses, and which IDs
 * would be repeated if it did not.
 */
#define _GNU_SOURCE
#include "uuid.h"

enum { kinds = 3, tries = 200 };

/* A generator of each kind: one word, lanes, single_thread. */
static void open_kind(flake_gen *g, const flake_layout *l, unsigned kind, bool scatters) {
    begin(l);
    if (!l->format) options.node = 5;
    options.seq_scatter = scatters;
    options.single_thread = kind == 2;
    if (kind == 1) options.lanes = lane_array, options.lane_count = 3;
    CHECK_EQ(flake_init(g, &options, NULL), FLAKE_OK);
}

// >>lanes

static uint64_t narrow_ids[2 * tries];

/* Beside the lanes it would draw from their whole range. */
TEST(lanes_take_no_time_from_the_caller) {
    for (unsigned scatters = 0; scatters < 2; scatters++) {
        size_t n = 0;
        open_kind(&lanes, &flake_layout_idgen, 1, scatters);
        for (unsigned i = 0; i < tries; i++, lane_now++) {
            CHECK_EQ(flake_try(&lanes, &narrow_ids[n++]), FLAKE_OK);
            const flake_status status = flake_try_at(&lanes, T, &narrow_ids[n]);
            CHECK_EQ(status, FLAKE_INVALID);
            n += status == FLAKE_OK;
        }
        CHECK_EQ(count_duplicates(narrow_ids, n), 0);
    }
    open_kind(&lanes, &flake_layout_boundary, 1, false);
    CHECK_EQ(flake128_try_at(&lanes, T, ids), FLAKE_INVALID);
}

// >>prefetch

static flake_prefetch stock;

static size_t drawn_with_stock(flake_gen *g) {
    size_t n = 0;
    for (unsigned i = 0; i < tries; i++, lane_now++) {
        CHECK_EQ(flake_try(g, &narrow_ids[n++]), FLAKE_OK);
        n += flake_prefetch_next(&stock, &narrow_ids[n]) == FLAKE_OK;
    }
    return n;
}

TEST(lanes_have_no_stock) {
    flake_why why;
    open_kind(&lanes, &flake_layout_idgen, 1, false);
    CHECK_EQ(flake_prefetch_init(&stock, &lanes, 10, 0, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "has lanes") != NULL);
    const size_t n = drawn_with_stock(&lanes);
    CHECK_EQ(count_duplicates(narrow_ids, n), 0);
}

TEST(lanes_made_of_a_generator_with_stock_have_none) {
    open_kind(&gen, &flake_layout_idgen, 0, false);
    CHECK_EQ(flake_prefetch_init(&stock, &gen, 10, 0, NULL), FLAKE_OK);
    options.lanes = lane_array;
    options.lane_count = 3;
    CHECK_EQ(flake_init(&gen, &options, NULL), FLAKE_OK);
    const size_t n = drawn_with_stock(&gen);
    CHECK_EQ(count_duplicates(narrow_ids, n), 0);
}

/* A draw of the stock's thread, between load and store of the other one's. */
static uint64_t stocked;
static bool is_between;
static int64_t read_between(void *user) {
    if (is_between) {
        is_between = false;
        if (flake_prefetch_next(&stock, &stocked) != FLAKE_OK) stocked = 0;
    }
    return script_read(user);
}

TEST(a_single_thread_has_no_stock) {
    flake_why why;
    begin(&flake_layout_idgen);
    options.node = 5;
    options.single_thread = true;
    options.clock.now_ns = read_between;
    CHECK_EQ(flake_init(&gen, &options, NULL), FLAKE_OK);
    CHECK_EQ(flake_prefetch_init(&stock, &gen, 1, 0, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "single_thread") != NULL);
    size_t n = 0;
    for (unsigned i = 0; i < tries; i++) {
        is_between = true;
        CHECK_EQ(flake_try(&gen, &narrow_ids[n++]), FLAKE_OK);
        if (stocked) narrow_ids[n++] = stocked;
    }
    CHECK_EQ(count_duplicates(narrow_ids, n), 0);
}

/* The same numbers in another order: what is left of the old stock would be formed with the new one. */
TEST(a_stock_is_dropped_when_units_are_scattered) {
    const uint64_t unit = 10;
    uint64_t taken[64], n = 0;
    for (int64_t t = 0; t < 16; t++) {
        const flake_layout small = flake_layout_of(41, 5, 4, 0);
        begin(&small);
        options.node = 5;
        clock_at(T + t * 2);
        n = 0;
        CHECK_EQ(flake_init(&gen, &options, NULL), FLAKE_OK);
        CHECK_EQ(flake_prefetch_init(&stock, &gen, (uint32_t)unit, 0, NULL), FLAKE_OK);
        for (uint64_t i = 0; i < 4; i++) CHECK_EQ(flake_prefetch_next(&stock, &taken[n++]), FLAKE_OK);
        options.seq_scatter = options.start_next_unit = true;
        options.max_wait_ms = 1;
        CHECK_EQ(flake_init(&gen, &options, NULL), FLAKE_OK);
        clock_at(T + t * 2 + 1);
        for (uint64_t i = 0; i < 6; i++) CHECK_EQ(flake_prefetch_next(&stock, &taken[n++]), FLAKE_OK);
        for (uint64_t i = 0; i < n; i++)
            for (uint64_t k = 0; k < i; k++) CHECK(taken[i] != taken[k]);
    }
}

TEST(ids_of_128_bits_have_no_stock) {
    open_kind(&gen, &flake_layout_boundary, 0, false);
    CHECK_EQ(flake_prefetch_init(&stock, &gen, 10, 0, NULL), FLAKE_INVALID);
}

TEST(shards_have_no_lanes) {
    flake_gen shards[2];
    begin(&flake_layout_idgen);
    options.node = 5;
    options.lanes = lane_array;
    options.lane_count = 3;
    CHECK_EQ(flake_init_shards(shards, 2, &options, NULL), FLAKE_INVALID);
    options.single_thread = true;
    CHECK_EQ(flake_init(&gen, &options, NULL), FLAKE_INVALID);
}

// >>ranges

/* Counters of two generators may start alike: here all keys are the same. */
static size_t drawn_from_two(flake_gen *first, flake_gen *second) {
    size_t n = 0;
    for (unsigned i = 0; i < tries; i++) {
        n += flake128_try(first, &ids[n]) == FLAKE_OK;
        n += flake128_try(second, &ids[n]) == FLAKE_OK;
    }
    return count_duplicates(ids, n);
}

TEST(uuids_and_ulids_have_no_shards) {
    EACH_LAYOUT(l) {
        static flake_gen shards[2];
        flake_why why;
        begin(l);
        source.repeats = true;
        CHECK_EQ(flake_init_shards(shards, 2, &options, &why), FLAKE_INVALID);
        CHECK(strstr(why.text, "layout") != NULL);
        CHECK_EQ(drawn_from_two(&shards[0], &shards[1]), 0);
    }
}

TEST(uuids_and_ulids_have_no_part_of_the_range) {
    EACH_LAYOUT(l) {
        begin(l);
        source.repeats = true;
        options.seq_max = 32767;
        CHECK_EQ(flake_init(&gen, &options, NULL), FLAKE_INVALID);
        options.seq_min = 32768;
        options.seq_max = 65535;
        CHECK_EQ(flake_init(&other, &options, NULL), FLAKE_INVALID);
        CHECK_EQ(drawn_from_two(&gen, &other), 0);
        options.seq_min = 0;
        CHECK_EQ(flake_init(&gen, &options, NULL), FLAKE_OK); /* the whole, in numbers */
    }
}

int main(int argc, char **argv) { return check_main(argc, argv); }
