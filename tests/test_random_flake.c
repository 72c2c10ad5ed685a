/* SPDX-License-Identifier: MIT
 *
 * Random scripts of calls and clock readings on generators of flake.h: the fuzzers' player, with bytes
 * from a seed in the place of a fuzzer's.
 */
#include "../fuzz/player_flake.h"
#include "../fuzz/seeded.h"

static const flake_fixed *fixed; /* a configuration to be played, or NULL: any */

static void play_one(const uint8_t *bytes, size_t size) { flake_play(bytes, size, fixed); }

enum { restore = 12, great_try_n = 8 | 16 | 32 }; /* see flake_play_step */

TEST(random_scripts_follow_the_oracle) {
    seeded_play(play_one, 1000000, 20000, seeded_any());
}

TEST(random_scripts_at_the_ends_of_time_follow_the_oracle) {
    seeded how = seeded_any();
    how.first = FUZZ_OUTSIDE << 2;
    seeded_play(play_one, 2000000, 10000, how);
}

TEST(random_scripts_with_restless_sleeps_follow_the_oracle) {
    seeded how = seeded_any();
    how.first = (FUZZ_STICK | FUZZ_JUMP) << 2;
    seeded_play(play_one, 3000000, 10000, how);
}

TEST(random_scripts_with_snapshots_of_others_follow_the_oracle) {
    seeded how = seeded_any();
    how.call = restore;
    how.bits = 15;
    how.one_in = 8;
    seeded_play(play_one, 4000000, 5000, how);
}

/* UUIDs and ULIDs go on, or with fail_on_backwards don't. */
TEST(random_scripts_of_128_bits_follow_the_oracle) {
    seeded how = seeded_any();
    how.first = FLAKE_WIDE | FUZZ_BACK << 2;
    seeded_play(play_one, 6000000, 10000, how);
}

/* More is borrowed than count holds. */
TEST(random_scripts_with_great_loans_follow_the_oracle) {
    static flake_fixed loan;
    seeded how = seeded_any();
    how.call = great_try_n;
    how.bits = 255;
    how.one_in = 2;
    fixed = &loan;
    for (int i = 0; i < 3; i++) {
        memset(&loan, 0, sizeof loan);
        loan.options.layout = i == 2 ? flake_layout_boundary : flake_layout_mastodon;
        loan.options.max_ahead_ms = 12 + 2 * i;
        loan.options.clock.now_ns = fuzz_read;
        seeded_play(play_one, 5000000, 20, how);
    }
    fixed = NULL;
}

/* The word has no bit to spare: the count of a full unit carries into time. */
TEST(random_scripts_with_full_words_follow_the_oracle) {
    static flake_fixed full;
    seeded how = seeded_any();
    how.call = restore | 16 | 32; /* the choice that follows says where from */
    how.bits = 63;
    how.one_in = 4;
    memset(&full, 0, sizeof full);
    full.options.layout = flake_layout_of(43, 0, 21, 0);
    full.options.clock.now_ns = fuzz_read;
    fixed = &full;
    seeded_play(play_one, 7000000, 5000, how);
    fixed = NULL;
}

int main(int argc, char **argv) { return check_main(argc, argv); }
