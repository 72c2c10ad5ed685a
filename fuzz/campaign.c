/* SPDX-License-Identifier: MIT
 *
 * The uniqueness campaign: runs random scripts of calls and clock readings on your own configuration for
 * hours, and checks that no ID repeats and that each result is the oracle's (tests/oracle.h).
 *
 *     campaign --header flake --layout hazelcast --max-ahead-ms 15000 --clock back --hours 8
 *
 * To test your own layout and clock, define these before you include this file:
 *
 *     FUZZ_READING(true_ns)    what your clock reads at that Unix time in ns
 *     CAMPAIGN_LAYOUT          your flake_layout, selected by --layout mine
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
    "  --header flake|sno        (flake; sno.h has no --layout, --epoch-ms, --max-ahead-ms,\n"
    "                            --scatter and --refuse-back)\n"
    "  --layout NAME             default idgen hazelcast uniqueid_ordered uniqueid_spread twitter\n"
    "                            sonyflake discord instagram mastodon js53 (default), of 128 bits "
    "boundary\n"
    "                            uuid7 uuid7_node uuid8 ulid, mine, or T-N-S, bits of time, node\n"
    "                            and sequence from the top. Those of 128 bits have no\n"
    "                            --epoch-ms and --scatter\n"
    "  --config WORDS            options as in a configuration file, \"twitter node=7 seq_max=63\", in\n"
    "                            place of the other options from --layout to --refuse-back\n"
    "  --epoch-ms N              start of the layout's time, Unix time in ms (the layout's; of\n"
    "                            T-N-S 0)\n"
    "  --node N                  the node number; of sno.h the partition, below 65536 (0)\n"
    "  --seq-min N --seq-max N   range of sequence numbers; of sno.h below 65536 (all)\n"
    "  --max-ahead-ms N          up to 2^31 units (0)\n"
    "  --max-wait-ms N           up to 2^53 (0: 1000; of sno.h no limit, unless the clock may\n"
    "                            stand still)\n"
    "  --scatter 0|1             options.seq_scatter (0)\n"
    "  --refuse-back 0|1         options.fail_on_backwards (0)\n"
    "  --clock forward|stuck|back|wild   what the clock may do: move forward; also stand still;\n"
    "                            also go backwards; anything, also jump by years and leave the\n"
    "                            layout's time (back)\n"
    "  --seconds N | --hours N   duration, fractions allowed, up to 1000000 hours; the last one\n"
    "                            counts (60 seconds)\n"
    "  --inputs N                number of inputs, without a limit of time; 1 or more\n"
    "  --seed N                  equal seeds and inputs give equal campaigns; below 2^64 (1)\n"
    "  --replay HEX              plays this input and prints each call\n";

static struct campaign {
    const char *header, *layout, *clock, *replay, *epoch_ms, *config;
    uint64_t node, seq_min, seq_max, max_ahead_ms, max_wait_ms, scatter, fail_on_backwards;
    uint64_t inputs, seed;
    double seconds;
} campaign = {"flake", "default", "back", NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 1, 60};

static flake_fixed campaign_flake;
static sno_fixed campaign_sno;
static bool campaign_is_sno;

FUZZ_NORETURN static void campaign_usage(const char *what, const char *value) {
    (void)fprintf(stderr, "campaign: %s %s (--help lists the options)\n", what, value);
    exit(2);
}

/* The value of an option: a text, a time in units of `unit_s`, or a number from `least` to `most`; for sno.h to
 * `most_sno`, 0: sno.h does not have the option. */
typedef struct campaign_option {
    const char *name;
    const char **text;
    double unit_s;
    uint64_t *number, least, most, most_sno;
} campaign_option;

static const campaign_option campaign_options[] = {
    {"--header", &campaign.header, 0, NULL, 0, 0, 1},
    {"--layout", &campaign.layout, 0, NULL, 0, 0, 0},
    {"--epoch-ms", &campaign.epoch_ms, 0, NULL, 0, 0, 0},
    {"--config", &campaign.config, 0, NULL, 0, 0, 0},
    {"--clock", &campaign.clock, 0, NULL, 0, 0, 1},
    {"--replay", &campaign.replay, 0, NULL, 0, 0, 1},
    {"--node", NULL, 0, &campaign.node, 0, UINT64_MAX, UINT16_MAX},
    {"--seq-min", NULL, 0, &campaign.seq_min, 0, UINT32_MAX, UINT16_MAX},
    {"--seq-max", NULL, 0, &campaign.seq_max, 0, UINT32_MAX, UINT16_MAX},
    {"--max-ahead-ms", NULL, 0, &campaign.max_ahead_ms, 0, INT64_MAX, 0},
    {"--max-wait-ms", NULL, 0, &campaign.max_wait_ms, 0, INT64_MAX, INT64_MAX},
    {"--scatter", NULL, 0, &campaign.scatter, 0, 1, 0},
    {"--refuse-back", NULL, 0, &campaign.fail_on_backwards, 0, 1, 0},
    {"--seconds", NULL, 1, NULL, 0, 0, 1},
    {"--hours", NULL, 3600, NULL, 0, 0, 1},
    {"--inputs", NULL, 0, &campaign.inputs, 1, UINT64_MAX, UINT64_MAX},
    {"--seed", NULL, 0, &campaign.seed, 0, UINT64_MAX, UINT64_MAX},
};
enum { campaign_option_count = sizeof campaign_options / sizeof *campaign_options };
static const char *campaign_given[campaign_option_count];

/* Reads options that begin with --; all others are libFuzzer's. */
static void campaign_read(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        size_t at = 0;
        const char *name = argv[i], *value = strchr(name, '=');
        if (!strcmp(name, "--help")) {
            printf("%s", campaign_help);
            exit(0);
        }
        if (strncmp(name, "--", 2) != 0) continue;
        const size_t length = value ? (size_t)(value - name) : strlen(name);
        while (at < campaign_option_count &&
               (strlen(campaign_options[at].name) != length ||
                strncmp(name, campaign_options[at].name, length) != 0))
            at++;
        if (at == campaign_option_count) campaign_usage("unknown option", name);
        if (!value && i + 1 == argc) campaign_usage("missing value after", name);
        campaign_given[at] = value ? value + 1 : argv[++i];
        const campaign_option *o = &campaign_options[at];
        if (o->text) *o->text = campaign_given[at];
        if (o->unit_s <= 0) continue;
        char *end = NULL;
        const char first = *campaign_given[at];
        const double time = strtod(campaign_given[at], &end), most = 1e6 * 3600 / o->unit_s;
        if ((first != '.' && (first < '0' || first > '9')) || *end || !(time > 0 && time <= most)) {
            char what[64];
            (void)snprintf(what, sizeof what, "%s must be above 0 and at most %.0f, not", o->name, most);
            campaign_usage(what, campaign_given[at]);
        }
        campaign.seconds = time * o->unit_s;
    }
}

/* Parses the numbers, whose ranges depend on the header. */
static void campaign_numbers(void) {
    for (size_t at = 0; at < campaign_option_count; at++) {
        const campaign_option *o = &campaign_options[at];
        const char *text = campaign_given[at];
        if (!text) continue;
        if (campaign_is_sno && !o->most_sno) campaign_usage("sno.h has no", o->name);
        if (!o->number) continue;
        const uint64_t most = campaign_is_sno ? o->most_sno : o->most;
        char *end = NULL;
        errno = 0;
        *o->number = strtoull(text, &end, 10);
        if (*text >= '0' && *text <= '9' && !*end && !errno && *o->number >= o->least &&
            *o->number <= most)
            continue;
        char what[96];
        (void)snprintf(what, sizeof what, "%s must be a number from %" PRIu64 " to %" PRIu64 ", not",
                       o->name, o->least, most);
        campaign_usage(what, text);
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

/* Parses a number that ends at `end`, a '-' or NUL; returns what follows. */
static const char *campaign_bits(const char *text, char end, unsigned *bits) {
    char *behind = NULL;
    if (!text || *text < '0' || *text > '9') return NULL;
    const unsigned long value = strtoul(text, &behind, 10);
    *bits = value > 64 ? 65 : (unsigned)value;
    return *behind == end ? behind + (end != 0) : NULL;
}

/* T-N-S */
static bool campaign_is_own(const char *text, flake_layout *layout) {
    unsigned time_bits = 0, node_bits = 0, seq_bits = 0;
    text = campaign_bits(text, '-', &time_bits);
    text = campaign_bits(text, '-', &node_bits);
    if (!campaign_bits(text, 0, &seq_bits)) return false;
    *layout = flake_layout_of(time_bits, node_bits, seq_bits, 0);
    if (flake_layout_check(layout, NULL) != FLAKE_OK)
        campaign_usage("not a layout of 64 bits (node and sequence have 32 at most):",
                       campaign.layout);
    return true;
}

static flake_layout campaign_named(void) {
    flake_layout own;
    if (flake_layout_named(campaign.layout, &own) == FLAKE_OK) return own;
#ifdef CAMPAIGN_LAYOUT
    if (!strcmp(campaign.layout, "mine")) return CAMPAIGN_LAYOUT;
#endif
    if (campaign_is_own(campaign.layout, &own)) return own;
    campaign_usage("no such layout:", campaign.layout);
}

static flake_layout campaign_layout(void) {
    flake_layout layout = campaign_named();
    if (campaign.epoch_ms) {
        char *end = NULL;
        errno = 0;
        layout.epoch_ms = strtoll(campaign.epoch_ms, &end, 10);
        if (*end || end == campaign.epoch_ms || errno)
            campaign_usage("--epoch-ms must be a number of 64 bits, not", campaign.epoch_ms);
    }
    return layout;
}

static void campaign_configure_sno(void) {
    flake_options *o = &campaign_sno.options;
    sno_snapshot *const s = &campaign_sno.snapshot;
    flake_why why;
    s->partition = (uint16_t)campaign.node;
    s->sequence_min = (uint16_t)campaign.seq_min;
    s->sequence_max = (uint16_t)campaign.seq_max;
    o->max_wait_ms = (int64_t)campaign.max_wait_ms;
    campaign_sno.may = campaign_may();
    if (!o->max_wait_ms) o->max_wait_ms = campaign_sno.may & FUZZ_STICK ? 1000 : INT64_MAX;
    if (sno_init(&sno_gens[0], s, o, &why) != FLAKE_OK)
        campaign_usage("sno.h rejects this:", why.text);
}

/* --config replaces these options. */
static void campaign_read_config(flake_options *o) {
    static const char *const others[] = {"--layout",      "--epoch-ms", "--node",
                                         "--seq-min",     "--seq-max",  "--max-ahead-ms",
                                         "--max-wait-ms", "--scatter",  "--refuse-back"};
    static flake_config config;
    flake_why why;
    for (size_t at = 0; at < campaign_option_count; at++)
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            if (campaign_given[at] && !strcmp(campaign_options[at].name, others[i]))
                campaign_usage("--config already sets", others[i]);
    if (flake_config_parse(campaign.config, &config, &why) != FLAKE_OK)
        campaign_usage("flake.h rejects this:", why.text);
    if (config.state.path || config.state.dir || config.partition >= 0 ||
        config.options.lane_count || config.options.single_thread ||
        config.options.start_next_unit || config.options.exclusive_dir || config.options.clock.kind)
        campaign_usage("the campaign cannot use lanes, single_thread, start_next_unit, exclusive_dir, "
                       "clock, state and partition:",
                       campaign.config);
    *o = config.options;
    if (!o->layout.name) o->layout = flake_layout_default;
    campaign.layout = o->layout.name;
    campaign.seq_min = o->seq_min;
    campaign.seq_max = o->seq_max;
    campaign.max_ahead_ms = (uint64_t)o->max_ahead_ms;
}

static void campaign_configure_flake(void) {
    flake_options *o = &campaign_flake.options;
    flake_why why;
    campaign_flake.may = campaign_may();
    if (campaign.config) campaign_read_config(o);
    else {
        o->layout = campaign_layout();
        o->node = campaign.node;
        o->seq_min = (uint32_t)campaign.seq_min;
        o->seq_max = (uint32_t)campaign.seq_max;
        o->max_ahead_ms = (int64_t)campaign.max_ahead_ms;
        o->max_wait_ms = (int64_t)campaign.max_wait_ms;
        o->seq_scatter = campaign.scatter != 0;
        o->fail_on_backwards = campaign.fail_on_backwards != 0;
    }
    o->clock.now_ns = fuzz_read;
    if (flake_init(&flake_gens[0], o, &why) != FLAKE_OK)
        campaign_usage("flake.h rejects this:", why.text);
}

static void campaign_configure(void) {
    const char *hex = campaign.replay;
    if (hex && (strlen(hex) % 2 || hex[strspn(hex, "0123456789abcdefABCDEF")]))
        campaign_usage("--replay must be an input in hex, two digits a byte, not", hex);
    campaign_is_sno = !strcmp(campaign.header, "sno");
    if (!campaign_is_sno && strcmp(campaign.header, "flake") != 0)
        campaign_usage("no such header:", campaign.header);
    campaign_numbers();
    if (campaign_is_sno) campaign_configure_sno();
    else campaign_configure_flake();
}

FUZZ_C int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    if (campaign_is_sno) sno_play(bytes, size, &campaign_sno);
    else flake_play(bytes, size, &campaign_flake);
    return 0;
}

static void campaign_tell_configuration(void) {
    const uint64_t last = campaign_is_sno ? UINT16_MAX : flake_gen_options(&flake_gens[0])->seq_max;
    printf("%s, layout %s, numbers %" PRIu64 " to %" PRIu64 ", ahead %" PRIu64 " ms, clock %s",
           campaign.header, campaign_is_sno ? "sno" : campaign.layout, campaign.seq_min,
           campaign.seq_max ? campaign.seq_max : last, campaign.max_ahead_ms, campaign.clock);
}

static void campaign_summary(void) {
    printf("%" PRIu64 " inputs, %" PRIu64 " ids", fuzz_inputs, fuzz_ids);
}

#ifdef FUZZ_LIBFUZZER
FUZZ_C int LLVMFuzzerInitialize(int *argc, char ***argv);

static void campaign_end(void) {
    campaign_tell_configuration();
    printf(": ");
    campaign_summary();
    printf("\n");
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    static const char *const others[] = {"--replay", "--seconds", "--hours", "--inputs", "--seed"};
    campaign_read(*argc, *argv);
    for (size_t at = 0; at < campaign_option_count; at++)
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            if (campaign_given[at] && !strcmp(campaign_options[at].name, others[i]))
                campaign_usage("libFuzzer takes -max_total_time=, -runs=, -seed= and files, not",
                               others[i]);
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
    if (campaign_counters_size > campaign_most_counters)
        campaign_counters_size = campaign_most_counters;
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

static size_t campaign_pick(size_t bound) {
    return (size_t)random_below(&campaign_random, bound ? bound : 1);
}

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
    uint8_t *bytes = (uint8_t *)malloc(size ? size : 1);
    if (!bytes) abort();
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

static bool campaign_on_terminal(void) {
#ifdef _WIN32
    return false;
#else
    return isatty(1) != 0;
#endif
}

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
    const bool terminal = campaign_on_terminal();
    const double begin_s = CAMPAIGN_NOW_S(), each_s = terminal ? 0.2 : 60;
    double passed_s = 0, shown_s = 0;
    campaign_heed(SIGINT);
    campaign_heed(SIGTERM);
    while (!campaign_signal &&
           (campaign.inputs ? fuzz_inputs < campaign.inputs : passed_s < campaign.seconds)) {
        if (!campaign_kept_size || !campaign_pick(16)) campaign_fresh(&campaign_next);
        else {
            campaign_next = campaign_kept[campaign_pick(campaign_kept_size)];
            for (size_t edits = 1 + campaign_pick(6); edits; edits--)
                campaign_mutate(&campaign_next);
        }
        campaign_play(campaign_next.bytes, campaign_next.size);
        if (campaign_is_news() || (!campaign_edges && !campaign_pick(16)))
            campaign_keep(&campaign_next);
        if (fuzz_inputs % 64) continue;
        passed_s = CAMPAIGN_NOW_S() - begin_s;
        if (passed_s < shown_s + each_s) continue;
        shown_s = passed_s;
        if (terminal) printf("\r");
        campaign_tell(passed_s);
        if (!terminal) printf(" so far\n");
        (void)fflush(stdout);
    }
    if (terminal) printf("\r");
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
