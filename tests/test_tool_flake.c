/* SPDX-License-Identifier: MIT
 *
 * The tool `flake`, at a thousand moments for each layout and form: what `generate` prints, `inspect`
 * reads back with the same options, whatever the text happens to look like.
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "tool_run.h"

#include "tools/flake.c"

static void run_forget(void) { memset(tool_given, 0, sizeof tool_given); }

static uint64_t seed = 20240229;

/* How many texts of `generate` were of each kind, how many in hex had zeros in front. */
static unsigned seen[run_kinds], seen_zeros;

static void note(const char *format, const char *text) {
    for (int kind = 0; kind < run_kinds; kind++) seen[kind] += run_all_are(kind, text);
    /* hex of 64 bits is written without them */
    if (format && strcmp(format, "hex") == 0) seen_zeros += text[0] == '0' || strlen(text) < 16;
}

/* Options of both commands. NULL: none, which leaves it to the default. */
typedef struct choice {
    const char *layout, *epoch, *format;
} choice;

static const char *word_of(const char *name, const char *value, char word[64]) {
    (void)snprintf(word, 64, "%s=%s", name, value ? value : "");
    return value ? word : "";
}

static int run_with(const choice *c, const char *command, const char *node, const char *text) {
    char layout[64], epoch[64], format[64];
    return run_tool((const char *[]){
        command, word_of("--layout", c->layout, layout), word_of("--epoch", c->epoch, epoch),
        word_of("--format", c->format, format), strcmp(command, "inspect") == 0 ? "--json" : "",
        node, text, NULL});
}

/* `inspect` with those options finds these parts in the text. */
static void inspect_finds(const choice *c, const char *text, int64_t unix_ms, const char *who,
                          uint64_t node, uint32_t seq) {
    char moment[64], maker[64], number[64];
    (void)snprintf(moment, sizeof moment, "\"unix_ms\":%" PRId64 ",", unix_ms);
    (void)snprintf(maker, sizeof maker, "\"%s\":%" PRIu64 ",", who, node);
    (void)snprintf(number, sizeof number, "\"sequence\":%" PRIu32 "}\n", seq);
    const int code = run_with(c, "inspect", "", text);
    if (code == 0 && strstr(run_output, moment) && strstr(run_output, maker) &&
        strstr(run_output, number))
        return;
    char said[1024];
    (void)snprintf(said, sizeof said, "--layout=%s --format=%s %.160s: %s%s%s, not %.200s",
                   c->layout ? c->layout : "(none)", c->format ? c->format : "(none)", text, moment,
                   maker, number, run_output);
    check_fail(__FILE__, __LINE__, said);
}

/* `generate` with those options, in the unit that begins then. */
static const char *generate_at(const choice *c, int64_t unix_ms, uint32_t unit_ms, uint64_t node,
                               char *text) {
    char who[64];
    (void)snprintf(who, sizeof who, "--node=%" PRIu64, node);
    script_at_ms(unix_ms - unit_ms);
    CHECK_EQ(run_with(c, "generate", node ? who : "", ""), 0);
    CHECK(run_size > 1 && run_output[run_size - 1] == '\n' && run_size < 256);
    memcpy(text, run_output, run_size);
    text[run_size - 1] = '\0';
    note(c->format, text);
    return text;
}

/* What the scripted clock, in ns, can be put at. */
enum { years_from_1970 = 290 };
static const int64_t last_ms = (int64_t)years_from_1970 * 31536000000;

/* ---- 64 bits ---- */

typedef struct form {
    const char *name;
    flake_text text;
    const char *alphabet;
} form;

static const form forms[] = {
    {NULL, FLAKE_DEC, "0123456789"},
    {"dec", FLAKE_DEC, "0123456789"},
    {"hex", FLAKE_HEX, "0123456789abcdef"},
    {"bin", FLAKE_BIN, "01"},
    {"bin4", FLAKE_BIN, "01"},
    {"base32", FLAKE_BASE32, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"},
    {"base36", FLAKE_BASE36, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
    {"base58", FLAKE_BASE58, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"},
    {"base62", FLAKE_BASE62, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"},
    {"zbase32", FLAKE_ZBASE32, "ybndrfg8ejkmcpqxot1uwisza345h769"},
    {"base36lower", FLAKE_BASE36_LOWER, "0123456789abcdefghijklmnopqrstuvwxyz"},
    {"base58flickr", FLAKE_BASE58_FLICKR,
     "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"}};

/* An id whose text is of that kind; if the layout has none such, some id of it. */
static uint64_t id_of_kind(const flake_layout *l, const form *f, int kind, flake_parts *parts) {
    char text[FLAKE_TEXT_SIZE];
    uint64_t id;
    for (int tries = 0; tries < 64; tries++) {
        const size_t width = flake_text_width(f->text);
        const size_t length = tries < 32 ? width : 1 + (size_t)random_below(&seed, width);
        run_random_text(&seed, tries < 48 ? kind : run_any, f->alphabet, length, text);
        if (flake_parse(text, length, f->text, &id) != FLAKE_OK) continue;
        if (l->gap_at) /* the mode's bit */
            id = l->gap_bit ? id | (uint64_t)1 << l->gap_at : id & ~((uint64_t)1 << l->gap_at);
        if (flake_decompose(l, id, parts) == FLAKE_OK && parts->time > 0 &&
            parts->unix_ms < last_ms)
            return id;
    }
    memset(parts, 0, sizeof *parts);
    const uint64_t most = (uint64_t)(flake_expires_ms(l) - l->epoch_ms) / l->unit_ms;
    parts->unix_ms = l->epoch_ms + (int64_t)(1 + random_below(&seed, most)) * l->unit_ms;
    if (parts->unix_ms > last_ms) parts->unix_ms = last_ms;
    parts->node = (uint32_t)random_below(&seed, flake_i_ones(l->node_bits) + 1);
    CHECK_EQ(flake_compose(l, parts, &id), FLAKE_OK);
    CHECK_EQ(flake_decompose(l, id, parts), FLAKE_OK);
    return id;
}

static void round_trips(const flake_layout *l, const char *name, const char *epoch) {
    char text[256];
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        const choice c = {name, epoch, forms[f].name};
        const bool bin4 = c.format && strcmp(c.format, "bin4") == 0;
        for (int i = 0; i < run_moments; i++) {
            flake_parts parts;
            const uint64_t id = id_of_kind(l, &forms[f], i % run_kinds, &parts);
            (void)flake_format(id, bin4 ? FLAKE_BIN4 : forms[f].text, text, sizeof text);
            inspect_finds(&c, text, parts.unix_ms, "node", parts.node, parts.seq);
            (void)generate_at(&c, parts.unix_ms, l->unit_ms, parts.node, text);
            inspect_finds(&c, text, parts.unix_ms, "node", parts.node, 0);
        }
    }
}

static void what_generate_prints_inspect_reads_back(void) {
    memset(seen, 0, sizeof seen);
    seen_zeros = 0;
    flake_layout l = flake_layout_of(41, 10, 12, 1577836800000);
    round_trips(&l, "41-10-12", "2020-01-01");
    l = flake_layout_hazelcast_bits(10, 8);
    round_trips(&l, "hazelcast-10-8", NULL);
    l = flake_layout_idgen();
    round_trips(&l, NULL, NULL);
    for (size_t i = 0; i < TOOL_LAYOUT_COUNT; i++)
        if (flake_layout_named(tool_layouts[i].name, &l) == FLAKE_OK)
            round_trips(&l, tool_layouts[i].name, NULL);
    /* the hard ones were among them */
    CHECK(seen[run_digits] && seen[run_upper] && seen[run_bits] && seen[run_hex] && seen_zeros);
}

static void hex_without_a_letter_is_read_back(void) {
    static const choice hex = {"uniqueid-spread", NULL, "hex"};
    flake_layout l = flake_layout_uniqueid_spread();
    flake_parts parts;
    char text[256];
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < run_moments; i++) {
        (void)id_of_kind(&l, &forms[2], run_digits, &parts);
        (void)generate_at(&hex, parts.unix_ms, l.unit_ms, parts.node, text);
        inspect_finds(&hex, text, parts.unix_ms, "node", parts.node, 0);
    }
    CHECK(seen[run_digits] > run_moments / 4);
}

/* What looks like one form may be another: without --format no text but a decimal one is read, and
 * what would read it is said. */
static void no_form_is_guessed(void) {
    static const choice none = {NULL, NULL, NULL};
    const flake_layout l = flake_layout_idgen();
    char text[256], option[32];
    flake_parts parts;
    unsigned refused = 0;
    for (size_t f = 2; f < sizeof forms / sizeof *forms; f++)
        for (int i = 0; i < run_moments; i++) {
            const uint64_t id = id_of_kind(&l, &forms[f], i % run_kinds, &parts);
            (void)flake_format(id, forms[f].text, text, sizeof text);
            if (run_all_are(run_digits, text) && strlen(text) < 20) continue;
            CHECK_EQ(run_with(&none, "inspect", "", text), 2);
            (void)snprintf(option, sizeof option, "--format=%s",
                           forms[f].text == FLAKE_BIN ? "bin" : forms[f].name);
            if (!strstr(run_complaint, option)) check_fail(__FILE__, __LINE__, run_complaint);
            refused++;
        }
    CHECK(refused > run_moments);
}

/* ---- 128 bits ---- */

static flake128 wide_of_kind(unsigned base, int kind, flake128_parts *parts) {
    char text[FLAKE128_TEXT_SIZE];
    char alphabet[63] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    flake128 id;
    alphabet[base] = '\0';
    for (int tries = 0; tries < 64; tries++) {
        const size_t length = 1 + (size_t)random_below(&seed, flake128_text_width(base));
        run_random_text(&seed, tries < 48 ? kind : run_any, alphabet, length, text);
        if (flake128_parse(text, length, base, &id) == FLAKE_OK &&
            flake128_decompose(FLAKE_BOUNDARY, id, parts) == FLAKE_OK && parts->unix_ms > 0 &&
            parts->unix_ms < last_ms)
            return id;
    }
    parts->unix_ms = 1 + (int64_t)random_below(&seed, (uint64_t)last_ms);
    parts->worker = random_next(&seed) >> 16;
    parts->seq = (uint32_t)random_below(&seed, 65536);
    CHECK_EQ(flake128_compose(FLAKE_BOUNDARY, parts, &id), FLAKE_OK);
    return id;
}

static void wide_round_trips(const char *format, unsigned base) {
    const choice c = {"boundary", NULL, format};
    char text[256];
    for (int i = 0; i < run_moments; i++) {
        flake128_parts parts;
        const flake128 id = wide_of_kind(base, i % run_kinds, &parts);
        (void)flake128_format(id, base, text, sizeof text);
        inspect_finds(&c, text, parts.unix_ms, "worker", parts.worker, parts.seq);
        (void)generate_at(&c, parts.unix_ms, 1, parts.worker, text);
        inspect_finds(&c, text, parts.unix_ms, "worker", parts.worker, 0);
    }
}

static void what_generate_prints_of_128_bits_inspect_reads_back(void) {
    char name[8];
    memset(seen, 0, sizeof seen);
    seen_zeros = 0;
    wide_round_trips(NULL, 62);
    CHECK(seen[run_lower] + seen[run_upper] + seen[run_hex] + seen[run_like_sno] > 0);
    wide_round_trips("dec", 10);
    wide_round_trips("hex", 16);
    wide_round_trips("bin", 2);
    for (unsigned base = 2; base <= 62; base++) {
        (void)snprintf(name, sizeof name, "base%u", base);
        wide_round_trips(name, base);
    }
    CHECK(seen[run_digits] && seen[run_upper] && seen[run_bits] && seen[run_hex] && seen_zeros);
}

/* The lines of --json are read back too. */
static void objects_are_read_back(void) {
    char line[] = "{\"id\":\"9xv8qjj52HFsJhNZp5\"}";
    CHECK_STR(tool_id_of_line(line), "9xv8qjj52HFsJhNZp5");
    char other[] = "{\"id\":5}";
    CHECK_STR(tool_id_of_line(other), "{\"id\":5}");
}

/* A run that ends before it can release its slot has left word of its ids. */
static void a_slot_knows_the_ids_that_were_generated(void) {
#if !defined(_WIN32)
    char folder[] = "/tmp/slots-XXXXXX", file[64], option[64];
    if (!mkdtemp(folder)) abort();
    (void)snprintf(option, sizeof option, "--slot-dir=%s", folder);
    (void)snprintf(file, sizeof file, "%s/0.slot", folder);
    script_at_ms(1700000000000);
    run_writes_left = 400;
    CHECK_EQ(run_tool((const char *[]){"generate", "--layout=js53", option, "9000000", NULL}), 1);
    run_writes_left = UINT_MAX;
    CHECK(script_now.now_ns > INT64_C(1700000005000) * 1000000);
    CHECK((int64_t)flake_slot_state(&tool_slot)->horizon >= script_now.now_ns);
    CHECK_EQ(flake_slot_release(&tool_slot), FLAKE_OK);
    CHECK_EQ(unlink(file), 0);
    CHECK_EQ(rmdir(folder), 0);
#endif
}

#undef main
int main(int argc, char **argv) {
    static const check_test all[] = {
        CHECK_TEST(hex_without_a_letter_is_read_back),
        CHECK_TEST(what_generate_prints_inspect_reads_back),
        CHECK_TEST(no_form_is_guessed),
        CHECK_TEST(what_generate_prints_of_128_bits_inspect_reads_back),
        CHECK_TEST(objects_are_read_back),
        CHECK_TEST(a_slot_knows_the_ids_that_were_generated),
    };
    return CHECK_MAIN(argc, argv, all);
}
