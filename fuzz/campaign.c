/* SPDX-License-Identifier: MIT
 *
 * The uniqueness campaign: a fuzz target that plays random scripts of calls and clock readings on your own
 * configuration for hours, and checks that no ID repeats and that each result is the oracle's
 * (tests/support/oracle.h). The configuration is given as --option=value; time, inputs and seed by libFuzzer's
 * own options:
 *
 *     campaign --header=flake --layout=hazelcast --node=7 --max-ahead-ms=15000 --clock=back -max_total_time=28800
 *
 * To test your own layout and clock, define these before you include this file:
 *
 *     FUZZ_READING(true_ns)    what your clock reads at that Unix time in ns
 *     CAMPAIGN_LAYOUT          your flake_layout, selected by --layout=mine
 *
 * If the layout is in a header that includes flake.h, include "fuzz/fuzz.h" between FUZZ_READING and that header:
 * it replaces the clock of flake.h.
 */
#include "player_flake.h"
#include "player_sno.h"

/* ---- configuration ---- */

static const char campaign_help[] =
    "campaign [--OPTION=VALUE]... [libFuzzer's options]\n"
    "  --header=flake|sno        (flake; sno.h has of the configuration node, seq_min, seq_max\n"
    "                            and max_wait_ms)\n"
    "  --layout=NAME             default idgen hazelcast uniqueid_ordered uniqueid_spread twitter\n"
    "                            sonyflake discord instagram mastodon js53 (default), of 128 bits "
    "boundary\n"
    "                            uuid7 uuid7_node uuid8 ulid, mine, or T-N-S, bits of time, node\n"
    "                            and sequence from the top\n"
    "  --epoch-ms=N              start of the layout's time, Unix time in ms (the layout's; of\n"
    "                            T-N-S 0); those of 128 bits have none\n"
    "  --node=N                  the node, which a layout with one needs; of sno.h the partition "
    "(any)\n"
    "  --seq-min=N  --seq-max=N  --unit-ms=N  --max-ahead-ms=N  --max-wait-ms=N\n"
    "                            a wait of sno.h has no limit unless the clock may stand still\n"
    "  --config=WORDS            these options as words of a configuration file,\n"
    "                            \"twitter node=7 dir=none seq_scatter\"\n"
    "  --clock=forward|stuck|back|wild   what the clock may do: move forward; also stand still;\n"
    "                            also go backwards; anything, also jump by years and leave the\n"
    "                            layout's time (back)\n";

static struct campaign {
    const char *header, *clock;
    bool is_mine;     /* the layout is CAMPAIGN_LAYOUT */
    char words[4096]; /* the configuration; more than 2047 bytes are refused */
} campaign = {"flake", "back", false, ""};

static flake_fixed campaign_flake;
static sno_fixed campaign_sno;
static bool campaign_is_sno;

FUZZ_NORETURN static void campaign_usage(const char *what, const char *value) {
    (void)fprintf(stderr, "campaign: %s %s (--help lists the options)\n", what, value);
    exit(2);
}

#ifdef CAMPAIGN_LAYOUT
/* A layout that has as many nodes, so that the text needs one or none. */
static void campaign_take_mine(char *words, size_t room) {
    const flake_layout l = CAMPAIGN_LAYOUT;
    campaign.is_mine = true;
    if (l.format) (void)snprintf(words, room, " layout=%s", l.node_bits ? "uuid8" : "uuid7");
    else (void)snprintf(words, room, " layout=%u-%u-%u", l.time_bits, l.node_bits, l.seq_bits);
}
#endif

/* Appends to the configuration: the value of --config, or a word and its value. */
static void campaign_add_words(const char *name, size_t length, const char *value) {
    char word[32] = "";
    const size_t size = strlen(campaign.words), room = sizeof campaign.words - size;
    for (size_t i = 0; i < length && i + 1 < sizeof word; i++) word[i] = (char)(name[i] == '-' ? '_' : name[i]);
#ifdef CAMPAIGN_LAYOUT
    if (!strcmp(word, "layout") && !strcmp(value, "mine")) {
        campaign_take_mine(campaign.words + size, room);
        return;
    }
#endif
    if (!strcmp(word, "config")) (void)snprintf(campaign.words + size, room, " %s", value);
    else (void)snprintf(campaign.words + size, room, " %s=\"%s\"%s", word, value,
                        strcmp(word, "node") ? "" : " dir=none");
}

/* Reads options that begin with --; all others are libFuzzer's. */
static void campaign_read(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *const name = argv[i], *const equals = strchr(name, '=');
        if (!strcmp(name, "--help")) {
            printf("%s", campaign_help);
            exit(0);
        }
        if (strncmp(name, "--", 2) != 0) continue;
        if (!equals) campaign_usage("no value, as in --option=value:", name);
        if (!strncmp(name, "--header=", 9)) campaign.header = equals + 1;
        else if (!strncmp(name, "--clock=", 8)) campaign.clock = equals + 1;
        else campaign_add_words(name + 2, (size_t)(equals - name) - 2, equals + 1);
    }
}

static unsigned campaign_may(void) {
    if (!strcmp(campaign.clock, "forward")) return 0;
    if (!strcmp(campaign.clock, "stuck")) return FUZZ_STICK | FUZZ_SHORT;
    if (!strcmp(campaign.clock, "back")) return FUZZ_BACK | FUZZ_JUMP;
    if (!strcmp(campaign.clock, "wild"))
        return FUZZ_BACK | FUZZ_STICK | FUZZ_SHORT | FUZZ_OUTSIDE | FUZZ_JUMP | FUZZ_FAR;
    campaign_usage("no such clock:", campaign.clock);
}

static void campaign_configure_sno(const flake_config *config, const sno_snapshot *pool) {
    flake_options *o = &campaign_sno.options;
    flake_why why;
    *o = config->options;
    if (o->max_ahead_ms || o->seq_scatter)
        campaign_usage("sno.h has only node, seq_min, seq_max and max_wait_ms:", campaign.words);
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
    if (campaign.is_mine) {
        if (o->layout.epoch_ms) campaign_usage("the layout has its own epoch:", campaign.words);
        o->layout = CAMPAIGN_LAYOUT;
    }
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
    campaign_is_sno = !strcmp(campaign.header, "sno");
    if (!campaign_is_sno && strcmp(campaign.header, "flake") != 0) campaign_usage("no such header:", campaign.header);
    if ((campaign_is_sno ? sno_config_parse(campaign.words, &config, &pool, &why)
                         : flake_config_parse(campaign.words, &config, &why)) != FLAKE_OK)
        campaign_usage(campaign_is_sno ? "sno.h rejects this:" : "flake.h rejects this:", why.text);
    if (config.node.dir || o->lane_count || o->single_thread || o->start_this_unit || o->after_unix_ms || o->clock.kind)
        campaign_usage("the campaign cannot use a directory, lanes, single_thread, start_this_unit, "
                       "after_unix_ms and clock:",
                       campaign.words);
    if (campaign_is_sno) campaign_configure_sno(&config, &pool);
    else campaign_configure_flake(&config);
}

FUZZ_C int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    if (campaign_is_sno) sno_play(bytes, size, &campaign_sno);
    else flake_play(bytes, size, &campaign_flake);
    return 0;
}

static const char *campaign_layout(void) {
    static char bits[16];
    const flake_layout *const l = &campaign_flake.options.layout;
    flake_layout known;
    if (campaign_is_sno) return "sno";
    if (campaign.is_mine) return "mine";
    if (flake_layout_named(l->name, &known) == FLAKE_OK) return l->name;
    (void)snprintf(bits, sizeof bits, "%u-%u-%u", l->time_bits, l->node_bits, l->seq_bits);
    return bits;
}

static void campaign_tell_configuration(void) {
    const flake_options *const o = campaign_is_sno ? NULL : flake_gen_options(&flake_gens[0]);
    const sno_snapshot *const s = &campaign_sno.snapshot;
    printf("%s, layout %s, sequence %u to %u, ahead %" PRId64 " ms, clock %s", campaign.header,
           campaign_layout(), o ? o->seq_min : s->sequence_min,
           o                 ? o->seq_max
           : s->sequence_max ? s->sequence_max
                             : UINT16_MAX,
           o ? o->max_ahead_ms : 0, campaign.clock);
}

static void campaign_end(void) {
    campaign_tell_configuration();
    printf(": %" PRIu64 " inputs, %" PRIu64 " IDs\n", fuzz_inputs, fuzz_ids);
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
