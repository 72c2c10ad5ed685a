/* SPDX-License-Identifier: MIT
 *
 * The uniqueness campaign: runs random scripts of calls and clock readings on your own configuration for
 * hours, and checks that no ID repeats and that each result is the oracle's (tests/support/oracle.h).
 *
 *     campaign --header flake --layout hazelcast --node 7 --max-ahead-ms 15000 --clock back --hours 8
 *
 * To test your own layout and clock, define these before you include this file:
 *
 *     FUZZ_READING(true_ns)    what your clock reads at that Unix time in ns
 *     CAMPAIGN_LAYOUT          your flake_layout, selected by --layout mine
 *
 * If the layout is in a header that includes flake.h, include "fuzz/fuzz.h" between FUZZ_READING and that header:
 * it replaces the clock of flake.h.
 *
 * The campaign generates and mutates its inputs, and keeps those that reach new code if the compiler counts
 * coverage: clang -fsanitize-coverage=inline-8bit-counters, gcc -fsanitize-coverage=trace-pc. With
 * -DFUZZ_LIBFUZZER -fsanitize=fuzzer, libFuzzer does that. Then the configuration is given as
 * --option=value, and time, inputs and seed by libFuzzer's own options.
 */
#include "player_flake.h"
#include "player_sno.h"
#include <errno.h>
#include <signal.h>

/* ---- configuration ---- */

static const char campaign_help[] =
    "campaign [OPTION VALUE | OPTION=VALUE]...\n"
    "  --header flake|sno        (flake; sno.h has of the configuration node, seq_min, seq_max\n"
    "                            and max_wait_ms)\n"
    "  --layout NAME             default idgen hazelcast uniqueid_ordered uniqueid_spread twitter\n"
    "                            sonyflake discord instagram mastodon js53 (default), of 128 bits "
    "boundary\n"
    "                            uuid7 uuid7_node uuid8 ulid, mine, or T-N-S, bits of time, node\n"
    "                            and sequence from the top\n"
    "  --epoch-ms N              start of the layout's time, Unix time in ms (the layout's; of\n"
    "                            T-N-S 0); those of 128 bits have none\n"
    "  --node N                  the node, which a layout with one needs; of sno.h the partition "
    "(any)\n"
    "  --seq-min N  --seq-max N  --unit-ms N  --max-ahead-ms N  --max-wait-ms N\n"
    "                            a wait of sno.h has no limit unless the clock may stand still\n"
    "  --config WORDS            these options as words of a configuration file,\n"
    "                            \"twitter node=7 dir=none seq_scatter\"\n"
    "  --clock forward|stuck|back|wild   what the clock may do: move forward; also stand still;\n"
    "                            also go backwards; anything, also jump by years and leave the\n"
    "                            layout's time (back)\n"
    "  --seconds N | --hours N   duration, fractions allowed, up to 1000000 hours; the last one\n"
    "                            counts (60 seconds)\n"
    "  --inputs N                number of inputs, without a limit of time; 1 or more\n"
    "  --seed N                  equal seeds and inputs give equal campaigns; below 2^64 (1)\n"
    "  --replay HEX              plays this input and prints each call\n";

static struct campaign {
    const char *header, *clock, *replay;
    bool is_mine; /* the layout is CAMPAIGN_LAYOUT */
    uint64_t inputs, seed;
    double seconds;
    char words[4096]; /* the configuration; more than 2047 bytes are refused */
} campaign = {"flake", "back", NULL, false, 0, 1, 60, ""};

static flake_fixed campaign_flake;
static sno_fixed campaign_sno;
static bool campaign_is_sno;

FUZZ_NORETURN static void campaign_usage(const char *what, const char *value) {
    (void)fprintf(stderr, "campaign: %s %s (--help lists the options)\n", what, value);
    exit(2);
}

/* An option's value: a text, a number from `least` up, or a time in units of `unit_s`. */
static const struct campaign_option {
    const char *name;
    const char **text;
    uint64_t *number, least;
    double unit_s;
    bool is_libfuzzers; /* which has its own */
} campaign_options[] = {
    {"--header", &campaign.header, NULL, 0, 0, false},
    {"--clock", &campaign.clock, NULL, 0, 0, false},
    {"--replay", &campaign.replay, NULL, 0, 0, true},
    {"--seconds", NULL, NULL, 0, 1, true},
    {"--hours", NULL, NULL, 0, 3600, true},
    {"--inputs", NULL, &campaign.inputs, 1, 0, true},
    {"--seed", NULL, &campaign.seed, 0, 0, true},
};

static void campaign_set(const struct campaign_option *o, const char *value) {
    char what[96], *end = NULL;
    const bool is_number = *value == '.' || (*value >= '0' && *value <= '9');
#ifdef FUZZ_LIBFUZZER
    if (o->is_libfuzzers) campaign_usage("libFuzzer takes -max_total_time=, -runs=, -seed= and files, not", o->name);
#endif
    if (o->text) *o->text = value;
    else if (o->number) {
        errno = 0;
        *o->number = strtoull(value, &end, 10);
        if (is_number && end != value && !*end && !errno && *o->number >= o->least) return;
        (void)snprintf(what, sizeof what, "%s must be a number from %" PRIu64 " to %" PRIu64 ", not", o->name, o->least,
                       UINT64_MAX);
        campaign_usage(what, value);
    } else {
        const double time = strtod(value, &end), most = 1e6 * 3600 / o->unit_s;
        campaign.seconds = time * o->unit_s;
        if (is_number && !*end && time > 0 && time <= most) return;
        (void)snprintf(what, sizeof what, "%s must be above 0 and at most %.0f, not", o->name, most);
        campaign_usage(what, value);
    }
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
        const size_t length = equals ? (size_t)(equals - name) : strlen(name);
        size_t at = 0, count = sizeof campaign_options / sizeof *campaign_options;
        if (!strcmp(name, "--help")) {
            printf("%s", campaign_help);
            exit(0);
        }
        if (strncmp(name, "--", 2) != 0) continue;
        if (!equals && i + 1 == argc) campaign_usage("missing value after", name);
        const char *const value = equals ? equals + 1 : argv[++i];
        while (at < count && (strlen(campaign_options[at].name) != length ||
                              strncmp(name, campaign_options[at].name, length) != 0))
            at++;
        if (at < count) campaign_set(&campaign_options[at], value);
        else campaign_add_words(name + 2, length - 2, value);
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
    const char *hex = campaign.replay;
    flake_why why;
    if (hex && (strlen(hex) % 2 || hex[strspn(hex, "0123456789abcdefABCDEF")]))
        campaign_usage("--replay must be an input in hex, two digits a byte, not", hex);
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

static void campaign_summary(void) { printf("%" PRIu64 " inputs, %" PRIu64 " IDs", fuzz_inputs, fuzz_ids); }

#ifdef FUZZ_LIBFUZZER
FUZZ_C int LLVMFuzzerInitialize(int *argc, char ***argv);

static void campaign_end(void) {
    campaign_tell_configuration();
    printf(": ");
    campaign_summary();
    printf("\n");
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    campaign_read(*argc, *argv);
    campaign_configure();
    return atexit(campaign_end);
}
#else

/* ---- coverage: a counter for each edge ---- */

enum { campaign_hashed = 1 << 14, campaign_most_counters = 1 << 16 };
static uint8_t campaign_own[campaign_hashed]; /* gcc's, by hashed address */
static uint8_t *campaign_counters = campaign_own;
static size_t campaign_counters_size = campaign_hashed;
static uint8_t campaign_seen[campaign_most_counters]; /* a bit for each order of magnitude */
static size_t campaign_edges;

#if defined(__clang__)
FUZZ_C void __sanitizer_cov_8bit_counters_init(uint8_t *begin, uint8_t *end);

void __sanitizer_cov_8bit_counters_init(uint8_t *begin, uint8_t *end) {
    campaign_counters = begin;
    campaign_counters_size = (size_t)(end - begin);
    if (campaign_counters_size > campaign_most_counters) campaign_counters_size = campaign_most_counters;
}
#elif defined(__GNUC__) && __GNUC__ >= 12
FUZZ_C void __sanitizer_cov_trace_pc(void);

__attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc(void) {
    const uint64_t place = (uint64_t)(uintptr_t)__builtin_return_address(0);
    campaign_own[place * 0x9e3779b97f4a7c15 >> 50]++;
}
#endif

static uint8_t campaign_magnitude(uint8_t count) {
    unsigned bit = 0;
    for (; count > 1 && bit < 7; count >>= 1) bit++;
    return (uint8_t)(1u << bit);
}

/* Whether this input reached something new. */
static bool campaign_is_news(void) {
    bool news = false;
    for (size_t i = 0; i < campaign_counters_size; i++) {
        if (!campaign_counters[i]) continue;
        const uint8_t magnitude = campaign_magnitude(campaign_counters[i]);
        if (campaign_seen[i] & magnitude) continue;
        campaign_edges += !campaign_seen[i];
        campaign_seen[i] |= magnitude;
        news = true;
    }
    return news;
}

/* ---- inputs ---- */

enum { campaign_longest = 600, campaign_most_kept = 4096 };

typedef struct campaign_input {
    size_t size;
    uint8_t bytes[campaign_longest];
} campaign_input;

static campaign_input campaign_kept[campaign_most_kept], campaign_next;
static size_t campaign_kept_size;
static uint64_t campaign_random;

static size_t campaign_pick(size_t bound) { return (size_t)random_below(&campaign_random, bound ? bound : 1); }

static void campaign_fresh(campaign_input *in) {
    in->size = 1 + campaign_pick(campaign_pick(4) ? 80 : campaign_longest);
    for (size_t i = 0; i < in->size; i++) in->bytes[i] = (uint8_t)campaign_pick(256);
}

/* One edit. */
static void campaign_mutate(campaign_input *in) {
    if (!in->size) campaign_fresh(in);
    const size_t at = campaign_pick(in->size), most = campaign_longest - in->size;
    size_t n = 1 + campaign_pick(in->size - at < 32 ? in->size - at : 32);
    switch (campaign_pick(8)) {
    case 0: in->bytes[at] ^= (uint8_t)(1u << campaign_pick(8)); break;
    case 1: in->bytes[at] = (uint8_t)campaign_pick(256); break;
    case 2: in->bytes[at] = (uint8_t)(in->bytes[at] + campaign_pick(9) - 4); break;
    case 3: /* repeat bytes, and so calls */
        if (n > most) n = most;
        memmove(in->bytes + at + n, in->bytes + at, in->size - at);
        in->size += n;
        break;
    case 4:
        memmove(in->bytes + at, in->bytes + at + n, in->size - at - n);
        in->size -= n;
        break;
    case 5:
        if (n > most) n = most;
        memmove(in->bytes + at + n, in->bytes + at, in->size - at);
        for (size_t i = 0; i < n; i++) in->bytes[at + i] = (uint8_t)campaign_pick(256);
        in->size += n;
        break;
    case 6: memmove(in->bytes + campaign_pick(in->size - n + 1), in->bytes + at, n); break;
    default: { /* append the end of another input */
        const campaign_input *other = &campaign_kept[campaign_pick(campaign_kept_size)];
        const size_t from = campaign_pick(other->size);
        n = other->size - from;
        if (n > campaign_longest - at) n = campaign_longest - at;
        memmove(in->bytes + at, other->bytes + from, n);
        in->size = at + n;
        break;
    }
    }
}

static void campaign_keep(const campaign_input *in) {
    const bool full = campaign_kept_size == campaign_most_kept;
    campaign_kept[full ? campaign_pick(campaign_most_kept) : campaign_kept_size] = *in;
    campaign_kept_size += !full;
}

static void campaign_play(const uint8_t *bytes, size_t size) {
    memset(campaign_counters, 0, campaign_counters_size);
    (void)LLVMFuzzerTestOneInput(bytes, size);
}

static void campaign_replay(const char *hex) {
    const size_t size = strlen(hex) / 2;
    uint8_t *bytes = (uint8_t *)exactly(size);
    hex_bytes(hex, bytes, size);
    fuzz_traced = true;
    campaign_play(bytes, size);
    free(bytes);
    campaign_summary();
    printf(", nothing found\n");
}

/* ---- the campaign ---- */

#ifndef CAMPAIGN_NOW_S /* tests define a clock */
#define CAMPAIGN_NOW_S() campaign_now_s()
static double campaign_now_s(void) { return (double)flake_i_system_ns(FLAKE_CLOCK_EXACT) / 1e9; }
#endif

/* After Ctrl-C or kill the campaign prints its summary and ends; after a second one it ends at once. */
static volatile sig_atomic_t campaign_signal;

static void campaign_interrupt(int number) {
    campaign_signal = number;
    (void)signal(number, SIG_DFL);
}

static void campaign_heed(int number) { /* unless it is ignored, by nohup or a shell's & */
    if (signal(number, campaign_interrupt) == SIG_IGN) (void)signal(number, SIG_IGN);
}

static void campaign_tell(double passed_s) {
    campaign_summary();
    printf(", %zu edges, %zu inputs kept, %.0f s", campaign_edges, campaign_kept_size, passed_s);
}

static void campaign_run(void) {
    const double begin_s = CAMPAIGN_NOW_S();
    double passed_s = 0, shown_s = 0;
    campaign_heed(SIGINT);
    campaign_heed(SIGTERM);
    while (!campaign_signal && (campaign.inputs ? fuzz_inputs < campaign.inputs : passed_s < campaign.seconds)) {
        if (!campaign_kept_size || !campaign_pick(16)) campaign_fresh(&campaign_next);
        else {
            campaign_next = campaign_kept[campaign_pick(campaign_kept_size)];
            for (size_t edits = 1 + campaign_pick(6); edits; edits--) campaign_mutate(&campaign_next);
        }
        campaign_play(campaign_next.bytes, campaign_next.size);
        if (campaign_is_news() || (!campaign_edges && !campaign_pick(16))) campaign_keep(&campaign_next);
        if (fuzz_inputs % 64) continue;
        passed_s = CAMPAIGN_NOW_S() - begin_s;
        if (passed_s < shown_s + 60) continue;
        shown_s = passed_s;
        campaign_tell(passed_s);
        printf(" so far\n");
        (void)fflush(stdout);
    }
    campaign_tell(CAMPAIGN_NOW_S() - begin_s);
    if (campaign_signal) printf(", ended by %s", campaign_signal == SIGINT ? "SIGINT" : "SIGTERM");
    printf(": no duplicate, no difference from the oracle\n");
    (void)fflush(stdout);
    if (campaign_signal) (void)raise((int)campaign_signal); /* so that the parent process sees the signal */
}

int main(int argc, char **argv) {
    campaign_read(argc, argv);
    campaign_configure();
    campaign_random = campaign.seed * 0x9e3779b97f4a7c15 | 1;
    fuzz_hint = "to replay it: the same options, and --replay with the input";
    campaign_tell_configuration();
    printf(", seed %" PRIu64 "\n", campaign.seed);
    (void)fflush(stdout);
    if (campaign.replay) campaign_replay(campaign.replay);
    else campaign_run();
    return 0;
}
#endif
