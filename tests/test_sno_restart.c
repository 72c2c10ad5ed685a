/* SPDX-License-Identifier: MIT
 *
 * A set of shards that is made again from a snapshot of them all, wherever clock and ticks stood.
 */
#include "support.h"
#include "sno.h"
#include "options.h"

enum { most_shards = 5, most_ids = 4000 };
static sno_gen shards[most_shards];
static sno_id ids[most_ids];
static size_t count;

static void draw_some(uint64_t *random, size_t n) {
    for (int i = 0; i < 60; i++) {
        sno_gen *shard = &shards[random_below(random, n)];
        if (random_below(random, 4) == 0)
            script_now.now_ns += ((int64_t)random_below(random, 24) - 9) * 4000000;
        if (count < most_ids && sno_try(shard, 7, &ids[count]) == FLAKE_OK) count++;
    }
}

TEST(shards_made_again_repeat_nothing) {
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t random = seed * 0x9e3779b97f4a7c15;
        sno_snapshot s = pool_of_numbers(9, 0, (uint16_t)(9 + random_below(&random, 10)));
        const flake_options o = options_of_sno(script_read, &script_now);
        script_at_ms(1700000000000);
        const size_t n = 1 + (size_t)random_below(&random, most_shards);
        count = 0;
        CHECK_EQ(sno_init_shards(shards, n, &s, &o, NULL), FLAKE_OK);
        for (int restart = 0; restart < 5; restart++) {
            draw_some(&random, n);
            CHECK_EQ(sno_shards_snapshot(shards, n, &s), FLAKE_OK);
            CHECK_EQ(s.partition, 9);
            CHECK_EQ(sno_init_shards(shards, n, &s, &o, NULL), FLAKE_OK);
        }
        CHECK(count > 10);
        CHECK_EQ(count_duplicates(ids, count), 0);
        if (check_failures) return;
    }
}

TEST(a_set_of_none_has_no_snapshot) {
    sno_snapshot s;
    CHECK_EQ(sno_shards_snapshot(shards, 0, &s), FLAKE_INVALID);
}

/* The last number of the newest unit, whatever the shards have drawn of it. */
TEST(a_snapshot_of_shards_says_that_all_is_drawn) {
    sno_snapshot s = pool_of_numbers(9, 10, 29);
    const flake_options o = options_of_sno(script_read, &script_now);
    sno_id id;
    script_at_ms(1700000000000);
    CHECK_EQ(sno_init_shards(shards, 4, &s, &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_try(&shards[1], 7, &id), FLAKE_OK);
    script_now.now_ns += 4000000;
    CHECK_EQ(sno_try(&shards[2], 7, &id), FLAKE_OK);
    const int64_t newest = (int64_t)sno_units(id);
    CHECK_EQ(sno_shards_snapshot(shards, 4, &s), FLAKE_OK);
    CHECK(s.partition == 9 && s.sequence_min == 10 && s.sequence_max == 29);
    CHECK_EQ(s.sequence, 29);
    CHECK(s.wall_hi == newest && s.wall_safe == newest);
    CHECK_EQ(sno_init_shards(shards, 4, &s, &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_try(&shards[0], 7, &id), FLAKE_AGAIN); /* of any shard */
    CHECK_EQ(sno_try(&shards[2], 7, &id), FLAKE_AGAIN);
    script_now.now_ns += 4000000;
    for (uint16_t i = 0; i < 4; i++) {
        CHECK_EQ(sno_try(&shards[i], 7, &id), FLAKE_OK);
        CHECK(sno_sequence(id) == 10 + 5 * i && (int64_t)sno_units(id) == newest + 1);
    }
}

int main(int argc, char **argv) { return check_main(argc, argv); }
