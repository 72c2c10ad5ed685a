/* SPDX-License-Identifier: MIT
 *
 * The uniqueness campaign: plays random scripts of calls and clock readings on your own
 * configuration for hours, and looks whether an id comes twice or an answer is not what the
 * oracle (tests/oracle.h) says.
 *
 *     campaign --header flake --layout hazelcast --max-ahead-ms 15000 --clock back --hours 8
 *
 * To try your own layout and clock, define these before you include this file:
 *
 *     FUZZ_READING(true_ns)    what your clock says at that Unix time in ns
 *     CAMPAIGN_LAYOUT          your flake_layout, as --layout mine
 *
 * It makes and mutates its inputs itself, and keeps those that reach new code where the compiler
 * counts that: clang -fsanitize-coverage=inline-8bit-counters, gcc -fsanitize-coverage=trace-pc.
 * With -DFUZZ_LIBFUZZER -fsanitize=fuzzer, libFuzzer does that; the options are the same, written
 * --option=value.
 */
#include "player_flake.h"
#include "player_sno.h"
#include <errno.h>
#include <time.h>

/* ---- configuration ---- */

static const char campaign_help[] =
    "campaign [OPTION VALUE | OPTION=VALUE]...\n"
    "  --header flake|sno        (flake; sno.h has no --layout, --epoch-ms, --max-ahead-ms,\n"
    "                            --scatter and --refuse-back)\n"
    "  --layout NAME             idgen hazelcast uniqueid_ordered uniqueid_spread twitter "
    "sonyflake\n"
    "                            discord instagram mastodon js53, boundary for 128 bits, mine,\n"
    "                            or T-N-S, bits of time, node and sequence from the top (idgen)\n"
    "  --epoch-ms N              Unix time of the layout's beginning (its own; of T-N-S 0)\n"
    "  --node N                  (0)\n"
    "  --seq-min N --seq-max N   numbers to use (all)\n"
    "  --max-ahead-ms N          (0)\n"
    "  --max-wait-ms N           (1000)\n"
    "  --scatter 1  --refuse-back 1\n"
    "  --clock forward|stuck|back|wild   what it may do: go on; stand still, too; be put back, "
    "too;\n"
    "                            anything, years and times without ids included (back)\n"
    "  --seconds N | --hours N | --inputs N   how long (60 seconds)\n"
    "  --seed N                  the same seed and inputs, the same campaign (1)\n"
    "  --replay HEX              plays this input, and tells each call\n";

static struct campaign {
    const char *header, *layout, *clock, *replay, *epoch_ms;
    const char *flake_only; /* an option that was given, and that sno.h has not */
    uint64_t node, seq_min, seq_max, max_ahead_ms, max_wait_ms, scatter, refuse_back;
    uint64_t seconds, hours, inputs, seed;
} campaign = {"flake", "idgen", "back", NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

static flake_fixed campaign_flake;
static sno_fixed campaign_sno;
static sno_snapshot campaign_snapshot;
static bool campaign_is_sno;

static _Noreturn void campaign_usage(const char *what, const char *value) {
    (void)fprintf(stderr, "campaign: %s %s\n%s", what, value, campaign_help);
    exit(2);
}

/* Takes the pairs that begin with --; all else is libFuzzer's. */
static void campaign_options(int argc, char **argv) {
    static const struct {
        const char *name;
        const char **text;
        uint64_t *number;
        bool flake_only;
    } all[] = {
        {"--header", &campaign.header, NULL, false},
        {"--layout", &campaign.layout, NULL, true},
        {"--epoch-ms", &campaign.epoch_ms, NULL, true},
        {"--clock", &campaign.clock, NULL, false},
        {"--replay", &campaign.replay, NULL, false},
        {"--node", NULL, &campaign.node, false},
        {"--seq-min", NULL, &campaign.seq_min, false},
        {"--seq-max", NULL, &campaign.seq_max, false},
        {"--max-ahead-ms", NULL, &campaign.max_ahead_ms, true},
        {"--max-wait-ms", NULL, &campaign.max_wait_ms, false},
        {"--scatter", NULL, &campaign.scatter, true},
        {"--refuse-back", NULL, &campaign.refuse_back, true},
        {"--seconds", NULL, &campaign.seconds, false},
        {"--hours", NULL, &campaign.hours, false},
        {"--inputs", NULL, &campaign.inputs, false},
        {"--seed", NULL, &campaign.seed, false},
    };
    for (int i = 1; i < argc; i++) {
        size_t at = 0;
        const char *name = argv[i], *value = strchr(name, '=');
        if (!strcmp(name, "--help")) {
            printf("%s", campaign_help);
            exit(0);
        }
        if (strncmp(name, "--", 2) != 0) continue;
        const size_t length = value ? (size_t)(value - name) : strlen(name);
        while (at < sizeof all / sizeof *all &&
               (strlen(all[at].name) != length || strncmp(name, all[at].name, length) != 0))
            at++;
        if (at == sizeof all / sizeof *all || (!value && i + 1 == argc))
            campaign_usage("what is", name);
        value = value ? value + 1 : argv[++i];
        char *end = NULL;
        if (all[at].flake_only) campaign.flake_only = all[at].name;
        if (all[at].text) *all[at].text = value;
        else *all[at].number = strtoull(value, &end, 10);
        if (end && (*end || end == value)) campaign_usage("no number:", value);
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

/* A number that is all there is up to `end`, a '-' or the end of the text; then behind it. */
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
    if (flake_layout_check(layout) != FLAKE_OK)
        campaign_usage("no layout of 64 bits (node and sequence have 32 at most):",
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
            campaign_usage("no number:", campaign.epoch_ms);
    }
    return layout;
}

static void campaign_configure(void) {
    const unsigned may = campaign_may();
    if (campaign.seq_min > UINT32_MAX || campaign.seq_max > UINT32_MAX ||
        campaign.node > UINT32_MAX)
        campaign_usage("no such number:", "it is too large");
    campaign_is_sno = !strcmp(campaign.header, "sno");
    if (!campaign_is_sno && strcmp(campaign.header, "flake") != 0)
        campaign_usage("no such header:", campaign.header);
    if (campaign_is_sno) {
        if (campaign.flake_only) campaign_usage("sno.h has no", campaign.flake_only);
        sno_options *o = &campaign_sno.options;
        if (campaign.seq_max > 65535 || campaign.seq_min > 65535 || campaign.node > 65535)
            campaign_usage("no such number:", "a sno has 16 bits for it");
        campaign_snapshot.partition = (uint16_t)campaign.node;
        campaign_snapshot.sequence_min = (uint16_t)campaign.seq_min;
        campaign_snapshot.sequence_max = (uint16_t)campaign.seq_max;
        o->snapshot = &campaign_snapshot;
        o->max_wait_ms = (int64_t)campaign.max_wait_ms;
        if (may & FUZZ_STICK && !o->max_wait_ms) o->max_wait_ms = 1000; /* else for ever */
        campaign_sno.may = may;
        if (sno_options_why(o)) campaign_usage("options that sno.h refuses:", sno_options_why(o));
        return;
    }
    flake_options *o = &campaign_flake.options;
    campaign_flake.wide = !strcmp(campaign.layout, "boundary");
    if (campaign_flake.wide && campaign.epoch_ms)
        campaign_usage("boundary's ids begin in 1970, without", "--epoch-ms");
    campaign_flake.may = may;
    if (!campaign_flake.wide) o->layout = campaign_layout();
    o->node = (uint32_t)campaign.node;
    o->seq_min = (uint32_t)campaign.seq_min;
    o->seq_max = (uint32_t)campaign.seq_max;
    o->max_ahead_ms = (int64_t)campaign.max_ahead_ms;
    o->max_wait_ms = (int64_t)campaign.max_wait_ms;
    o->seq_scatter = campaign.scatter != 0;
    o->refuse_back = campaign.refuse_back != 0;
    o->clock.now_ns = fuzz_read;
    const flake_status status = campaign_flake.wide ? flake128_init(&flake_wide, flake_worker, o)
                                                    : flake_init(&flake_plain, o);
    if (status != FLAKE_OK)
        campaign_usage("options that flake.h refuses:", flake_status_str(status));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    if (campaign_is_sno) sno_play(bytes, size, &campaign_sno);
    else flake_play(bytes, size, &campaign_flake);
    return 0;
}

static void campaign_summary(void) {
    printf("%" PRIu64 " inputs, %" PRIu64 " ids", fuzz_inputs, fuzz_ids);
}

#ifdef FUZZ_LIBFUZZER
int LLVMFuzzerInitialize(int *argc, char ***argv);

static void campaign_end(void) {
    campaign_summary();
    printf("\n");
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    campaign_options(*argc, *argv);
    campaign_configure();
    return atexit(campaign_end);
}
#else

/* ---- coverage: a counter for each edge, or as many as the compiler gives ---- */

enum { campaign_hashed = 1 << 14, campaign_most_counters = 1 << 16 };
static uint8_t campaign_own[campaign_hashed]; /* gcc's, by place in the program */
static uint8_t *campaign_counters = campaign_own;
static size_t campaign_counters_size = campaign_hashed;
static uint8_t campaign_seen[campaign_most_counters]; /* a bit for each order of magnitude */
static size_t campaign_edges;

#if defined(__clang__)
void __sanitizer_cov_8bit_counters_init(uint8_t *begin, uint8_t *end);

void __sanitizer_cov_8bit_counters_init(uint8_t *begin, uint8_t *end) {
    campaign_counters = begin;
    campaign_counters_size = (size_t)(end - begin);
    if (campaign_counters_size > campaign_most_counters)
        campaign_counters_size = campaign_most_counters;
}
#elif defined(__GNUC__) && __GNUC__ >= 12
void __sanitizer_cov_trace_pc(void);

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

/* Whether this input reached what none before it has. */
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
    case 3: /* repeat, which repeats calls too */
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
    default: { /* the end of another */
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
    if (check_failures) campaign_usage("no input:", hex);
    fuzz_traced = true;
    campaign_play(bytes, size);
    free(bytes);
    campaign_summary();
    printf(", nothing found\n");
}

/* ---- the campaign ---- */

static double campaign_now_s(void) {
    struct timespec t;
    (void)timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool campaign_on_terminal(void) {
#ifdef _WIN32
    return false;
#else
    return isatty(1) != 0;
#endif
}

static void campaign_tell(double passed_s) {
    campaign_summary();
    printf(", %zu edges, %zu inputs kept, %.0f s", campaign_edges, campaign_kept_size, passed_s);
}

static void campaign_run(void) {
    const bool shows = campaign_on_terminal();
    const double begin_s = campaign_now_s();
    const double most_s = (double)(campaign.seconds + 3600 * campaign.hours);
    double passed_s = 0, shown_s = 0;
    while (campaign.inputs ? fuzz_inputs < campaign.inputs
                           : passed_s < (most_s > 0 ? most_s : 60)) {
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
        passed_s = campaign_now_s() - begin_s;
        if (!shows || passed_s < shown_s + 0.2) continue;
        shown_s = passed_s;
        printf("\r");
        campaign_tell(passed_s);
        (void)fflush(stdout);
    }
    if (shows) printf("\r");
    campaign_tell(campaign_now_s() - begin_s);
    printf(": no id twice, no disagreement\n");
}

int main(int argc, char **argv) {
    campaign_options(argc, argv);
    campaign_configure();
    campaign_random = campaign.seed * 0x9e3779b97f4a7c15 | 1;
    fuzz_hint = "to replay it: the same options, and --replay with the input";
    printf("%s, layout %s, numbers %" PRIu64 " to %" PRIu64 ", ahead %" PRIu64
           " ms, clock %s, seed %" PRIu64 "\n",
           campaign.header, campaign_is_sno ? "sno" : campaign.layout, campaign.seq_min,
           campaign.seq_max, campaign.max_ahead_ms, campaign.clock, campaign.seed);
    if (campaign.replay) campaign_replay(campaign.replay);
    else campaign_run();
    return 0;
}
#endif
