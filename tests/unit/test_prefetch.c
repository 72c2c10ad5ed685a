/* SPDX-License-Identifier: MIT
 *
 * Stocks of IDs that a thread has claimed ahead (flake_prefetch), and what drops them: whatever becomes of the
 * generator, no ID is in two of them. test_random_flake.c draws from stocks of any age and size.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#include "scripted_flake.h"

static flake_prefetch stock;

/* A stock of a generator with these options. */
static void open_stock_of(flake_options o, uint32_t count, int64_t valid_ms) {
    open_gen(o);
    CHECK_EQ(flake_prefetch_init(&stock, &gen, count, valid_ms, NULL), FLAKE_OK);
}

/* ... with the numbers 0 to 99 of each ms. */
static flake_options open_stock(uint32_t count, int64_t valid_ms) {
    flake_options o = begin(flake_layout_idgen);
    o.seq_max = 99;
    open_stock_of(o, count, valid_ms);
    return o;
}

TEST(a_stock_without_a_validity_keeps_its_ids) {
    open_stock(2, 0);
    EXPECT_ID(flake_next(&gen, &id), T, 0);
    move_ns(MS);
    EXPECT_ID(flake_prefetch_next(&stock, &id), T + 1, 0);
    EXPECT_ID(flake_next(&gen, &id), T + 1, 2);
    move_ns(MS);
    EXPECT_ID(flake_prefetch_next(&stock, &id), T + 1, 1);
    EXPECT_ID(flake_prefetch_next(&stock, &id), T + 2, 0);
}

TEST(a_stock_has_a_generator_and_a_count_within_bounds) {
    static const struct {
        flake_gen *of;
        uint32_t count;
        int64_t valid_ms;
    } wrong[] = {{NULL, 4, 0}, {&gen, 0, 0}, {&gen, 100001, 0}, {&gen, 5, -1}};
    open_stock(100000, 600000);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_EQ(flake_prefetch_init(&stock, wrong[i].of, wrong[i].count, wrong[i].valid_ms, NULL), FLAKE_INVALID);
        EXPECT_STATUS(flake_prefetch_next(&stock, &id), FLAKE_INVALID);
    }
}

TEST(a_copy_of_a_stock_is_refused) {
    flake_prefetch copy;
    open_stock(4, 0);
    EXPECT_ID(flake_prefetch_next(&stock, &id), T, 0);
    memcpy((void *)&copy, (const void *)&stock, sizeof stock);
    EXPECT_STATUS(flake_prefetch_next(&copy, &id), FLAKE_INVALID);
    EXPECT_ID(flake_prefetch_next(&stock, &id), T, 1);
    memset((void *)&copy, 0, sizeof copy);
    EXPECT_STATUS(flake_prefetch_next(&copy, &id), FLAKE_INVALID);
}

/* ---- a generator that becomes another one ---- */

/* As that of flake_uuid7 is, whose generator survives it. */
TEST(a_clone_drops_the_stock) {
    flake_options o = begin(flake_layout_idgen);
    if (!words_reach_other_processes) return;
    o.shared_memory = true;
    open_stock_of(o, 5, 0);
    EXPECT_ID(flake_prefetch_next(&stock, &id), T, 0);
    flake_machine_cloned();
    EXPECT_ID(flake_prefetch_next(&stock, &id), T, 5);
    EXPECT_ID(flake_prefetch_next(&stock, &id), T, 6); /* and it keeps its new one */
}

/* A stock is a unit and indices. Another generator in the same memory would form other IDs of them, or repeat IDs. */
TEST(a_stock_is_dropped_by_whatever_changes_its_ids) {
    for (int change = 0; change <= 10; change++) {
        flake_options o = begin(flake_layout_of(41, 5, 12, 0));
        open_stock_of(o, 4, 0);
        CHECK_EQ(flake_prefetch_next(&stock, &id), FLAKE_OK);
        o.layout.epoch_ms = change == 1;
        if (change == 2) o.layout.unit_ms = 2;
        o.layout.time_reversed = change == 3;
        if (change == 4) o.layout.time_shift++;
        if (change == 5) o.layout.time_bits++;
        if (change == 6) o.layout.node_shift = 0, o.layout.seq_shift = 5;
        if (change == 7) o.seq_max = 4094;
        if (change == 8) o.seq_min = 1, o.seq_max = 4095;
        o.seq_scatter = change == 9;
        CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, change == 10), &o, NULL), FLAKE_OK);
        CHECK_EQ(flake_prefetch_next(&stock, &id), FLAKE_OK);
        CHECK_EQ(stats_now().ids, change ? 4 : 0);
    }
}

/* ---- close ---- */

/* Also in the unit of the close, in which a draw may succeed. */
TEST(a_stock_ends_with_its_generator) {
    for (int had_stock = 0; had_stock < 2; had_stock++) {
        open_stock(4, 0);
        EXPECT_ID(flake_next(&gen, &id), T, 0);
        if (had_stock) EXPECT_ID(flake_prefetch_next(&stock, &id), T, 1);
        CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
        EXPECT_STATUS(flake_prefetch_next(&stock, &id), FLAKE_CLOSED);
    }
}

static void close_gen(void) { CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK); }

TEST(a_stock_that_is_drawn_beside_a_close_ends_with_it) {
    flake_options o = begin(flake_layout_idgen);
    o.clock.now_ns = NULL;
    open_stock_of(o, 4, 0);
    EXPECT_ID(flake_next(&gen, &id), T, 0);
    script_now.during_reading = close_gen;
    EXPECT_ID(flake_prefetch_next(&stock, &id), T, 1);
    CHECK(!script_now.during_reading);
    EXPECT_STATUS(flake_prefetch_next(&stock, &id), FLAKE_CLOSED);
}

/* ---- lanes, single_thread ---- */

static flake_status took;
static void take_from_stock(void) { took = flake_prefetch_next(&stock, &many[0]); }

/* It would repeat IDs: another thread takes from its stock while a draw has the word and reads the clock. */
TEST(a_stock_of_lanes_or_of_one_thread_is_refused) {
    static flake_lane lanes[2];
    for (unsigned i = 0; i < 12; i++) {
        const unsigned kind = i % 3; /* one word, single_thread, lanes; also scattered, and with a stock from before */
        const bool had_stock = i / 6;
        flake_why why = {""};
        flake_options o = begin(flake_layout_idgen);
        o.clock.now_ns = NULL;
        open_stock_of(o, 2, 0);
        o.clock.kind = FLAKE_CLOCK_COARSE; /* the exact one is read after the word */
        script_now.coarse_lag_ns = 5 * MS;
        script_now.coarse_slack_ns = 20 * MS;
        o.single_thread = kind == 1;
        o.lanes = kind == 2 ? lanes : NULL;
        o.lane_count = kind == 2 ? 2 : 0;
        o.seq_scatter = i / 3 % 2;
        open_gen(o);
        if (!had_stock && flake_prefetch_init(&stock, &gen, 2, 0, &why) != FLAKE_OK)
            CHECK(strstr(why.text, "single_thread") != NULL);
        script_now.during_reading = take_from_stock;
        CHECK_EQ(flake_next(&gen, &many[1]), FLAKE_OK);
        CHECK(!script_now.during_reading);
        if (took == FLAKE_OK) CHECK(many[0] != many[1]);
        else CHECK_EQ(many[0], 0);
        CHECK_EQ(took, kind ? FLAKE_INVALID : FLAKE_OK);
    }
}
