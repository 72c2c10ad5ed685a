/* SPDX-License-Identifier: MIT
 *
 * Shards, and stocks of ids claimed ahead, on a scripted clock.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#include "scripted_flake.h"

/* ---- shards ---- */

static flake_gen shards[8];

/* Options with the range 0 to 0 have the whole range: no shard has the number 0 alone, or a generator with
 * its options would repeat the other shards' IDs. */
TEST(options_of_a_shard_are_those_of_its_range) {
    begin(flake_layout_idgen);
    for (options.seq_max = 1; options.seq_max <= 7; options.seq_max++) {
        const size_t numbers = options.seq_max + 1;
        CHECK_EQ(flake_init_shards(shards, numbers, gens_node, &options, NULL), FLAKE_INVALID);
        for (size_t n = 1; n < numbers; n++) {
            CHECK_EQ(flake_init_shards(shards, n, gens_node, &options, NULL), FLAKE_OK);
            for (size_t i = 0; i < n; i++) {
                const flake_options of_shard = *flake_gen_options(&shards[i]);
                CHECK_EQ(flake_init(&gen, gens_node, &of_shard, NULL), FLAKE_OK);
                CHECK_EQ(flake_gen_options(&gen)->seq_min, of_shard.seq_min);
                CHECK_EQ(flake_gen_options(&gen)->seq_max, of_shard.seq_max);
            }
        }
    }
    begin_with_three();
    CHECK_EQ(flake_init_shards(shards, 4, gens_node, &options, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_init_shards(shards, 3, gens_node, &options, NULL), FLAKE_OK);
    begin(flake_layout_of(41, 22, 0, 0)); /* its whole range is the number 0 */
    CHECK_EQ(flake_init_shards(shards, 1, gens_node, &options, NULL), FLAKE_OK);
}

/* ---- prefetch ---- */

static flake_prefetch stock;

static void open_stock(uint32_t count, int64_t valid_ms) {
    begin(flake_layout_idgen);
    options.seq_max = 99;
    open_gen();
    CHECK_EQ(flake_prefetch_init(&stock, &gen, count, valid_ms, NULL), FLAKE_OK);
}

#define STOCK(ms, number) GIVES(flake_prefetch_next(&stock, &id), ms, number)

TEST(a_clock_put_back_drops_prefetched_ids_that_can_age) {
    open_stock(5, 1000);
    STOCK(T, 0);
    STOCK(T, 1);
    move_ns(-1);
    STOCK(T, 5);
    CHECK_EQ(script_now.slept_ns, 1);
    move_ns(-5000 * MS);
    SAYS(FLAKE_CLOCK_BACKWARDS, flake_prefetch_next(&stock, &id));
    move_to_ms(T);
    STOCK(T, 10);
    open_stock(2, 0);
    NEXT(T, 0);
    move_ns(MS);
    STOCK(T + 1, 0);
    NEXT(T + 1, 2);
}

TEST(no_id_comes_out_of_two_stocks) {
    static flake_prefetch other;
    open_stock(7, 3);
    CHECK_EQ(flake_prefetch_init(&other, &gen, 30, 0, NULL), FLAKE_OK);
    uint64_t random = 2;
    for (size_t i = 0; i < 3000; i++) {
        switch (random_below(&random, 3)) {
        case 0: CHECK_EQ(flake_next(&gen, &many[i]), FLAKE_OK); break;
        case 1: CHECK_EQ(flake_prefetch_next(&stock, &many[i]), FLAKE_OK); break;
        default: CHECK_EQ(flake_prefetch_next(&other, &many[i]), FLAKE_OK); break;
        }
        if (!random_below(&random, 5)) move_ns((int64_t)random_below(&random, 9 * MS) - 4 * MS);
    }
    CHECK_EQ(count_duplicates(many, 3000), 0);
}

TEST(a_generator_made_anew_as_another_or_cloned_has_no_old_stock) {
    open_stock(5, 0);
    STOCK(T, 0);
    gens_node = flake_node_fixed(NULL, 3);
    open_gen();
    STOCK(T, 0);
    CHECK_EQ(parts_of(&gen, id).node, 3);
    STOCK(T, 1); /* and it keeps its new one */
    CHECK_EQ(stats_now().ids, 5);
    if (!words_reach_other_processes) return;
    options.shared_memory = true;
    gens_node = flake_node_fixed(NULL, 4);
    open_gen();
    STOCK(T, 0);
    flake_machine_cloned();
    STOCK(T, 5);
    STOCK(T, 6);
}

TEST(a_stock_has_a_generator_and_a_count_within_bounds) {
    open_stock(1, 0);
    STOCK(T, 0);
    STOCK(T, 1);
    CHECK_EQ(flake_prefetch_init(&stock, &gen, 100000, 600000, NULL), FLAKE_OK);
    CHECK_EQ(flake_prefetch_init(&stock, NULL, 4, 0, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_prefetch_next(&stock, &id), FLAKE_INVALID);
    CHECK_EQ(flake_prefetch_init(&stock, &gen, 0, 0, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_prefetch_init(&stock, &gen, 100001, 0, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_prefetch_init(&stock, &gen, 5, -1, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_prefetch_next(&stock, &id), FLAKE_INVALID);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
