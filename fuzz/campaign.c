/* SPDX-License-Identifier: MIT
 *
 * The uniqueness campaign: a fuzz target that plays random scripts of calls and clock readings on your own
 * configuration for hours, and checks that no ID repeats and that each result is the oracle's
 * (tests/support/oracle.h). Time, inputs and seed are libFuzzer's own options:
 *
 *     campaign --config="hazelcast node=7 dir=none max_ahead_ms=15000" --clock=back -max_total_time=28800
 *
 * To test your own layout and clock, define these before you include this file:
 *
 *     FUZZ_READING(true_ns)    what your clock reads at that Unix time in ns
 *     CAMPAIGN_LAYOUT          your flake_layout
 *
 * If the layout is in a header that includes flake.h, include "fuzz/fuzz.h" between FUZZ_READING and that header:
 * it replaces the clock of flake.h.
 */
#include "player_flake.h"
#include "player_sno.h"

/* ---- configuration ---- */

static const char *campaign_header = "flake", *campaign_clock = "back", *campaign_words = "";
static flake_fixed campaign_flake;
static sno_fixed campaign_sno;
static bool campaign_is_sno;

FUZZ_NORETURN static void campaign_usage(const char *what, const char *value) {
    (void)fprintf(stderr, "campaign: %s %s\n", what, value);
    exit(2);
}

/* Reads options that begin with --; all others are libFuzzer's. */
static void campaign_read(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *const name = argv[i];
        if (strncmp(name, "--", 2) != 0) continue;
        if (!strncmp(name, "--header=", 9)) campaign_header = name + 9;
        else if (!strncmp(name, "--config=", 9)) campaign_words = name + 9;
        else if (!strncmp(name, "--clock=", 8)) campaign_clock = name + 8;
        else campaign_usage("--header=flake|sno, --config=WORDS, --clock=forward|stuck|back|wild, not", name);
    }
#ifdef CAMPAIGN_LAYOUT
    static char words[4096]; /* a layout with as many nodes, so that the text needs one, or none */
    const flake_layout l = CAMPAIGN_LAYOUT;
    if (l.format) (void)snprintf(words, sizeof words, "%s %s", l.node_bits ? "uuid8" : "uuid7", campaign_words);
    else (void)snprintf(words, sizeof words, "layout=%u-%u-%u %s", l.time_bits, l.node_bits, l.seq_bits,
                        campaign_words);
    campaign_words = words;
#endif
}

static unsigned campaign_may(void) {
    if (!strcmp(campaign_clock, "forward")) return 0;
    if (!strcmp(campaign_clock, "stuck")) return FUZZ_STICK | FUZZ_SHORT;
    if (!strcmp(campaign_clock, "back")) return FUZZ_BACK | FUZZ_JUMP;
    if (!strcmp(campaign_clock, "wild"))
        return FUZZ_BACK | FUZZ_STICK | FUZZ_SHORT | FUZZ_OUTSIDE | FUZZ_JUMP | FUZZ_FAR;
    campaign_usage("--clock=forward|stuck|back|wild, not", campaign_clock);
}

static void campaign_configure_sno(const flake_config *config, const sno_snapshot *pool) {
    flake_options *o = &campaign_sno.options;
    flake_why why;
    *o = config->options;
    if (o->max_ahead_ms || o->seq_scatter)
        campaign_usage("sno.h has only node, seq_min, seq_max and max_wait_ms:", campaign_words);
    campaign_sno.may = campaign_may();
    if (!o->max_wait_ms) o->max_wait_ms = campaign_sno.may & FUZZ_STICK ? 1000 : INT64_MAX;
    if (sno_init(&sno_gens[0], config->node, pool, o, &why) != FLAKE_OK)
        campaign_usage("sno.h rejects this:", why.text);
    campaign_sno.snapshot = *pool;
    campaign_sno.snapshot.partition = sno_gen_partition(&sno_gens[0]);
}

static void campaign_configure_flake(const flake_config *config) {
    flake_options *o = &campaign_flake.options;
    flake_why why;
    campaign_flake.may = campaign_may();
    *o = config->options;
#ifdef CAMPAIGN_LAYOUT
    if (o->layout.epoch_ms) campaign_usage("the layout has its own epoch:", campaign_words);
    o->layout = CAMPAIGN_LAYOUT;
#endif
    o->clock.now_ns = fuzz_read;
    if (flake_init(&flake_gens[0], config->node, o, &why) != FLAKE_OK)
        campaign_usage("flake.h rejects this:", why.text);
    campaign_flake.node = o->layout.node_bits ? flake_gen_node(&flake_gens[0]) : 0;
}

static void campaign_configure(void) {
    static flake_config config;
    const flake_options *const o = &config.options;
    sno_snapshot pool;
    flake_why why;
    campaign_is_sno = !strcmp(campaign_header, "sno");
    if (!campaign_is_sno && strcmp(campaign_header, "flake")) campaign_usage("--header=flake|sno, not", campaign_header);
    if ((campaign_is_sno ? sno_config_parse(campaign_words, &config, &pool, &why)
                         : flake_config_parse(campaign_words, &config, &why)) != FLAKE_OK)
        campaign_usage(campaign_is_sno ? "sno.h rejects this:" : "flake.h rejects this:", why.text);
    if (config.node.dir || o->lane_count || o->single_thread || o->start_this_unit || o->after_unix_ms || o->clock.kind)
        campaign_usage("the campaign cannot use a directory, lanes, single_thread, start_this_unit, "
                       "after_unix_ms and clock:",
                       campaign_words);
    if (campaign_is_sno) campaign_configure_sno(&config, &pool);
    else campaign_configure_flake(&config);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    if (campaign_is_sno) sno_play(bytes, size, &campaign_sno);
    else flake_play(bytes, size, &campaign_flake);
    return 0;
}

static void campaign_end(void) {
    printf("%s, clock %s, %s: %" PRIu64 " inputs, %" PRIu64 " IDs\n", campaign_header, campaign_clock, campaign_words,
           fuzz_inputs, fuzz_ids);
}

#define FUZZ_INITIALIZE
FUZZ_C int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    fuzz_traced = getenv("FUZZ_TRACE") != NULL;
    campaign_read(*argc, *argv);
    campaign_configure();
    return atexit(campaign_end);
}

#include "driver.h"
