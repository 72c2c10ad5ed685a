/* SPDX-License-Identifier: MIT
 *
 * Random scripts of calls and clock readings on generators of flake.h: the fuzzers' player, with bytes
 * from a seed in place of a fuzzer's.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#include "../../fuzz/player_flake.h"
#include "../../fuzz/seeded.h"

static const flake_fixed *fixed; /* a configuration to be played, or NULL: any */

static void play_one(const uint8_t *bytes, size_t size) { flake_play(bytes, size, fixed); }

enum { restart = 12, great_try_n = 8 | 16 | 32 }; /* see flake_play_step */

TEST(random_scripts_follow_the_oracle) {
    const seeded any = {0, 0, 0, 0}, outside = {FUZZ_OUTSIDE << 2, 0, 0, 0};
    const seeded restless = {(FUZZ_STICK | FUZZ_JUMP) << 2, 0, 0, 0}, others = {0, restart, 15, 8};
    seeded_play(play_one, 1000000, 20000, any);
    seeded_play(play_one, 2000000, 10000, outside);  /* the ends of time */
    seeded_play(play_one, 3000000, 10000, restless); /* sleeps that end early or elsewhere */
    seeded_play(play_one, 4000000, 5000, others);    /* restarts */
}

/* UUIDs and ULIDs continue after a backward step; boundary's IDs do not. */
TEST(random_scripts_of_128_bits_follow_the_oracle) {
    const seeded how = {FLAKE_WIDE | FUZZ_BACK << 2, 0, 0, 0};
    seeded_play(play_one, 6000000, 10000, how);
}

/* max_ahead exceeds what count holds. */
TEST(random_scripts_with_great_loans_follow_the_oracle) {
    static flake_fixed loan;
    const seeded how = {0, great_try_n, 255, 2};
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
    const seeded how = {0, restart | 16 | 32, 63, 4}; /* the next choice selects the source */
    full.options.layout = flake_layout_of(43, 0, 21, 0);
    full.options.start_this_unit = true; /* its restarts choose */
    fixed = &full;
    seeded_play(play_one, 7000000, 5000, how);
    fixed = NULL;
}

int main(int argc, char **argv) { return check_main(argc, argv); }
