/* SPDX-License-Identifier: MIT
 *
 * The oracle against IDs that the original sno made; then random scripts of calls and clock readings on
 * generators of sno.h against the oracle: the fuzzers' player, with bytes from a seed in place of a
 * fuzzer's.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#include "../../fuzz/player_sno.h"
#include "../../fuzz/seeded.h"

/* ---- the oracle itself, with its two timelines ---- */

static oracle traced;
static int trace_shown;

static void trace_row(char **field) {
    const int trace = atoi(field[0]);
    const uint64_t min = strtoull(field[2], NULL, 10), max = strtoull(field[3], NULL, 10);
    const uint64_t number = strtoull(field[6] + 16, NULL, 16);
    field[6][10] = 0;
    const uint64_t time_and_tick = strtoull(field[6], NULL, 16);
    oracle_run run = {{0, 0, 0}, 0};
    if (trace != trace_shown) {
        traced = oracle_of(sno_epoch_ms, sno_unit_ms, 39, max - min + 1);
        traced.ticks = true;
        traced.clock_ns = &script_now.now_ns;
        trace_shown = trace;
    }
    script_now.now_ns = oracle_start_ns(&traced, strtoull(field[4], NULL, 10));
    CHECK_EQ(oracle_draw(&traced, ORACLE_TRY, 1, &run), ORACLE_OK);
    CHECK_EQ(run.first.unit, time_and_tick >> 1);
    CHECK_EQ(run.first.tick, time_and_tick & 1);
    CHECK_EQ(min + run.first.index, number);
}

TEST(the_oracle_draws_what_sno_drew) {
    trace_shown = -1;
    vectors_read("sno_trace.tsv", 7, trace_row);
}

/* ---- random scripts ---- */

/* Small pools, so that units are exhausted: this exercises tick-tock and queues. */
static sno_fixed pool;

static void play_any(const uint8_t *bytes, size_t size) { sno_play(bytes, size, NULL); }

static void play_pool(const uint8_t *bytes, size_t size) {
    uint64_t random = bytes[size - 1] * 0x9e3779b97f4a7c15 | 1;
    const uint32_t cap = (uint32_t)(4 + random_below(&random, random_below(&random, 4) ? 4 : 60));
    sno_snapshot *const s = &pool.snapshot;
    memset(&pool, 0, sizeof pool);
    s->partition = 0xa1b2;
    s->sequence_min = (uint16_t)random_below(&random, 65536 - cap);
    s->sequence_max = (uint16_t)(s->sequence_min + cap - 1);
    pool.options.max_wait_ms = INT64_MAX;
    if (random_below(&random, 4) == 0) pool.options.max_wait_ms = (int64_t)(1 + random_below(&random, 30));
    pool.may = FUZZ_BACK | FUZZ_JUMP;
    sno_play(bytes, size, &pool);
}

TEST(random_scripts_of_sno_follow_the_oracle) {
    const seeded any = {0, 0, 0, 0}, back = {FUZZ_BACK << 4, 0, 0, 0};
    seeded_play(play_any, 6000000, 20000, any);
    seeded_play(play_pool, 7000000, 20000, back);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
