/* SPDX-License-Identifier: MIT
 *
 * The tool `flake` (tools/flake.c), at a thousand moments for each layout and form: what `generate` prints, `inspect`
 * reads back with the same options, whatever the text looks like. (Its commands and messages: tests/scripts/tools.sh.)
 */
#define _XOPEN_SOURCE 700    /* mkdtemp */
#define _FILE_OFFSET_BITS 64 /* as the tool */
#include "tool_run.h"

#include "../../tools/flake.c"
#include "slow_text.h"

static void run_forget(void) { memset(tool_given, 0, sizeof tool_given); }

static uint64_t seed = 20240229;

/* `inspect` with these options finds the time and both pieces of JSON in the text. */
static void inspect_prints(const char *options, const char *text, int64_t unix_ms, const char *maker,
                           const char *number) {
    char moment[64], said[1024];
    (void)snprintf(moment, sizeof moment, "\"unix_ms\":%" PRId64 ",", unix_ms);
    const int code = run_tool(text, "inspect --json %s", options);
    if (code == 0 && strstr(run_output, moment) && strstr(run_output, maker) && strstr(run_output, number)) return;
    (void)snprintf(said, sizeof said, "%s %.160s: %s%s%s, not %.200s", options, text, moment, maker, number,
                   run_output);
    check_fail(__FILE__, __LINE__, said);
}

/* "name":value and the character after it. */
static const char *json_of(const char *name, uint64_t value, const char *end) {
    static char texts[2][64];
    static unsigned turn;
    char *const text = texts[turn++ % 2];
    (void)snprintf(text, sizeof texts[0], "\"%s\":%" PRIu64 "%s", name, value, end);
    return text;
}

enum { no_node = -1 };

/* What `generate` prints with these options, in the unit that begins then. */
static void generate_at(const char *options, int64_t unix_ms, uint32_t unit_ms, uint64_t node, char *text) {
    char with[64] = "";
    if (node != (uint64_t)no_node) (void)snprintf(with, sizeof with, "--node=%" PRIu64, node);
    script_at_ms(unix_ms - unit_ms);
    CHECK_EQ(run_tool(NULL, "generate %s %s", options, with), 0);
    run_line(text, 256);
}

/* The times, in ns, to which the scripted clock can be set. */
enum { years_from_1970 = 290 };
static const int64_t last_ms = (int64_t)years_from_1970 * 31536000000;

/* ---- 64 bits ---- */

/* How IDs of the tool's form are written; -1: its default. */
static text_kind digits_of(int form) {
    return text_kind_of(form < 0 ? FLAKE_DEC : form == FLAKE_BIN4 ? FLAKE_BIN : (size_t)form);
}

/* An ID whose text is of that kind; if the layout has none, any of its IDs. */
static uint64_t id_of_kind(const flake_layout *l, int form, int kind, flake_parts *parts) {
    const text_kind k = digits_of(form);
    char text[FLAKE_TEXT_SIZE];
    uint64_t id;
    for (int tries = 0; tries < 64; tries++) {
        const size_t length = tries < 32 ? k.width : 1 + (size_t)random_below(&seed, k.width);
        run_random_text(&seed, tries < 48 ? kind : run_any, k.digits, k.base, length, text);
        if (flake_parse(text, length, (flake_encoding)k.form, &id) != FLAKE_OK) continue;
        if (l->gap_at) /* the mode's bit */
            id = l->gap_bit ? id | (uint64_t)1 << l->gap_at : id & ~((uint64_t)1 << l->gap_at);
        if (flake_decompose(l, id, parts) == FLAKE_OK && parts->unix_ms > l->epoch_ms && parts->unix_ms < last_ms)
            return id;
    }
    memset(parts, 0, sizeof *parts);
    const uint64_t most = (uint64_t)(flake_layout_end_ms(l) - l->epoch_ms) / l->unit_ms;
    parts->unix_ms = l->epoch_ms + (int64_t)(1 + random_below(&seed, most)) * l->unit_ms;
    if (parts->unix_ms > last_ms) parts->unix_ms = last_ms;
    parts->node = random_below(&seed, flake_i_ones(l->node_bits) + 1);
    CHECK_EQ(flake_compose(l, parts, &id), FLAKE_OK);
    CHECK_EQ(flake_decompose(l, id, parts), FLAKE_OK);
    return id;
}

static void round_trips(const flake_layout *l, const char *options) {
    char text[256], with[128];
    for (int form = -1; form < TOOL_UUID; form++) {
        const char *const name = form < 0 ? "" : tool_forms[form].name;
        (void)snprintf(with, sizeof with, "%s%s%s", options, form < 0 ? "" : " --format=", name);
        for (int i = 0; i < run_moments; i++) {
            flake_parts p;
            const uint64_t id = id_of_kind(l, form, i % run_kinds, &p);
            (void)flake_format(id, (flake_encoding)(form < 0 ? 0 : form), text, sizeof text);
            inspect_prints(with, text, p.unix_ms, json_of("node", p.node, ","), json_of("sequence", p.seq, "}\n"));
            generate_at(with, p.unix_ms, l->unit_ms, l->node_bits ? p.node : (uint64_t)no_node, text);
            inspect_prints(with, text, p.unix_ms, json_of("node", p.node, ","), json_of("sequence", 0, "}\n"));
        }
    }
}

TEST(what_generate_prints_inspect_reads_back) {
    char option[64];
    flake_layout l = flake_layout_of(41, 10, 12, 1577836800000);
    round_trips(&l, "--layout=41-10-12 --epoch=2020-01-01");
    l = flake_layout_of(39, 8, 16, 1577836800000);
    l.unit_ms = 10;
    round_trips(&l, "--layout=39-8-16 --epoch=2020-01-01 --unit=10");
    l = flake_layout_twitter;
    l.unit_ms = 3;
    round_trips(&l, "--layout=twitter --unit=3");
    l = flake_layout_hazelcast_of(8, 10);
    round_trips(&l, "--layout=hazelcast-10-8");
    l = flake_layout_default;
    round_trips(&l, "");
    for (size_t i = 0; flake_layout_at(i, &l) == FLAKE_OK; i++) {
        (void)snprintf(option, sizeof option, "--layout=%s", l.name);
        if (!l.format) round_trips(&l, option);
    }
}

/* What looks like one form may be another: without --format only a decimal text is read, and the
 * message names the options that would read it. */
TEST(no_form_is_guessed) {
    const flake_layout l = flake_layout_default;
    char text[256], option[32];
    flake_parts parts;
    unsigned refused = 0;
    for (int form = FLAKE_HEX; form < TOOL_UUID; form++)
        for (int i = 0; i < run_moments && form != FLAKE_BIN4; i++) { /* whose blanks name it */
            const uint64_t id = id_of_kind(&l, form, i % run_kinds, &parts);
            (void)flake_format(id, (flake_encoding)form, text, sizeof text);
            if (!text[strspn(text, "0123456789")] && strlen(text) < 20) continue;
            CHECK_EQ(run_tool(text, "inspect --json"), 2);
            (void)snprintf(option, sizeof option, "--format=%s", tool_forms[form].name);
            if (!strstr(run_complaint, option)) check_fail(__FILE__, __LINE__, run_complaint);
            refused++;
        }
    CHECK(refused > run_moments);
}

/* ---- 128 bits ---- */

typedef struct wide_layout {
    const char *name, *maker; /* maker: the 48 bits that distinguish generators; NULL: a ULID */
    const char *counter;
    flake_layout layout;
    bool has_node;
} wide_layout;

static const wide_layout wide_layouts[] = {
    {"uuid7", "random", "counter", FLAKE_LAYOUT_UUID7, false},
    {"uuid7_node", "node", "counter", FLAKE_LAYOUT_UUID7_NODE, true},
    {"uuid8", "node", "counter", FLAKE_LAYOUT_UUID8, true},
    {"ulid", NULL, "counter", FLAKE_LAYOUT_ULID, false},
    {"boundary", "worker", "sequence", FLAKE_LAYOUT_BOUNDARY, true}};
enum { uuid_layout_count = 4, wide_layout_count = 5 };
static const wide_layout *const boundary = &wide_layouts[uuid_layout_count];

enum { wide_form_count = 67 };
/* A form's name, of which NULL is the layout's own, and its base; 0: UUID, 1: ULID. Of UUIDs and ULIDs not all
 * bases are tried. */
static bool wide_form(const wide_layout *l, unsigned i, const char **name, unsigned *base) {
    static const char *const names[] = {NULL, "uuid", "ulid", "hex", "dec", "bin"};
    static const unsigned bases[] = {0, 0, 1, 16, 10, 2};
    static char text[16];
    *name = i < 6 ? names[i] : text;
    *base = i > 5 ? i - 4 : i ? bases[i] : l == boundary ? 62 : !l->maker;
    (void)snprintf(text, sizeof text, "base%u", *base);
    return i < 6 || l == boundary || *base == 7 || *base == 32 || *base == 36 || *base == 62;
}

static void write_wide(flake128 wide, unsigned base, char *text) {
    if (base == 0) flake128_to_uuid(&wide, text);
    else if (base == 1) flake128_to_ulid(&wide, text);
    else (void)flake128_format(&wide, base, text, FLAKE128_TEXT_SIZE);
}

/* From 1984 on: they cannot be drawn before. */
static int64_t random_ms(void) {
    const int64_t first = INT64_C(441763200000);
    return first + 1 + (int64_t)random_below(&seed, (uint64_t)(last_ms - first));
}

static flake_parts random_parts(const wide_layout *l) {
    flake_parts parts = {0};
    parts.unix_ms = random_ms();
    parts.node = l->maker ? random_next(&seed) >> 16 : random_next(&seed);
    parts.seq = (uint32_t)random_below(&seed, l->maker && l != boundary ? 1 << 26 : 1 << 16);
    return parts;
}

static flake128 wide_of(const wide_layout *l, const flake_parts *parts) {
    flake128 wide = {0};
    CHECK_EQ(flake128_compose(&l->layout, parts, &wide), FLAKE_OK);
    return wide;
}

static void inspect_finds_wide(const char *options, const wide_layout *l, const char *text, const flake_parts *p) {
    char counter[64];
    (void)snprintf(counter, sizeof counter, "\"counter\":\"%04x%016" PRIx64 "\"}\n", (unsigned)p->seq, p->node);
    inspect_prints(options, text, p->unix_ms, l->maker ? json_of(l->maker, p->node, ",") : "",
                   l->maker ? json_of(l->counter, p->seq, "}\n") : counter);
}

static void wide_round_trips(const wide_layout *l) {
    char text[256], options[64];
    for (unsigned f = 0; f < wide_form_count; f++) {
        const char *form;
        unsigned base;
        if (!wide_form(l, f, &form, &base)) continue;
        (void)snprintf(options, sizeof options, "--layout=%s%s%s", l->name, form ? " --format=" : "", form ? form : "");
        for (int i = 0; i < run_moments / 4; i++) {
            const flake_parts p = random_parts(l);
            write_wide(wide_of(l, &p), base, text);
            inspect_finds_wide(options, l, text, &p);
            /* those without a node start at once */
            generate_at(options, p.unix_ms, l->has_node, l->has_node ? p.node : (uint64_t)no_node, text);
            inspect_prints(options, text, p.unix_ms, l->has_node ? json_of(l->maker, p.node, ",") : "",
                           l == boundary ? "\"sequence\":0}\n" : "");
        }
    }
}

TEST(what_generate_prints_of_128_bits_inspect_reads_back) {
    for (size_t k = 0; k < wide_layout_count; k++) wide_round_trips(&wide_layouts[k]);
}

/* Their texts identify them. */
TEST(a_uuid_and_a_ulid_are_known_by_their_texts) {
    static const size_t known[] = {0, 2, 3}; /* a uuid7_node looks like a uuid7 */
    char text[64], layout[32];
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        for (int i = 0; i < run_moments; i++) {
            const wide_layout *l = &wide_layouts[known[k]];
            flake_parts parts = random_parts(l);
            parts.unix_ms = (int64_t)(random_next(&seed) >> 16); /* of any maker */
            write_wide(wide_of(l, &parts), !l->maker, text);
            for (char *at = text; *at; at++)
                *at = (char)(i % 2 ? tolower((unsigned char)*at) : toupper((unsigned char)*at));
            inspect_finds_wide("", l, text, &parts);
            (void)snprintf(layout, sizeof layout, "\"layout\":\"%s\"", l->name);
            if (!strstr(run_output, layout)) check_fail(__FILE__, __LINE__, run_output);
        }
}

TEST(a_uuid_of_another_kind_is_called_by_its_version) {
    char text[37], why[64];
    for (unsigned version = 0; version < 16; version++)
        for (size_t k = 0; k < 4; k++) { /* without a layout, and with those of UUIDs */
            char option[32] = "";
            flake128 wide;
            if (k) (void)snprintf(option, sizeof option, "--layout=%s", wide_layouts[k - 1].name);
            for (size_t i = 0; i < 16; i++) wide.bytes[i] = (uint8_t)random_next(&seed);
            wide.bytes[6] = (uint8_t)(version << 4 | (wide.bytes[6] & 15));
            wide.bytes[8] = (uint8_t)(128 | (wide.bytes[8] & 63));
            flake128_to_uuid(&wide, text);
            const bool fits = k == 0 ? version == 7 || version == 8 : version == (k == 3 ? 8 : 7);
            (void)snprintf(why, sizeof why, "is a UUID of version %u", version);
            CHECK_EQ(run_tool(text, "inspect --json %s", option), fits ? 0 : 2);
            if (!fits && !strstr(run_complaint, why)) check_fail(__FILE__, __LINE__, run_complaint);
            wide.bytes[8] |= 64;
            flake128_to_uuid(&wide, text);
            CHECK_EQ(run_tool(text, "inspect --json %s", option), 2);
            CHECK(strstr(run_complaint, wide.bytes[8] & 32 ? "kept for later" : "Microsoft's"));
        }
}

TEST(uuids_are_drawn_from_1984_on) {
    for (size_t k = 0; k < uuid_layout_count; k++) {
        const char *const layout = wide_layouts[k].name, *const node = wide_layouts[k].has_node ? "--node=7" : "";
        script_at_ms(INT64_C(441763200000) - 2);
        CHECK_EQ(run_tool(NULL, "generate --layout=%s %s", layout, node), 1);
        CHECK(strstr(run_complaint, "begins at 1984-01-01") != NULL);
        script_at_ms(INT64_C(441763200000));
        CHECK_EQ(run_tool(NULL, "generate --layout=%s %s", layout, node), 0);
    }
}

/* ---- what surrounds IDs ---- */

/* A run that ends before it can close its generator leaves a horizon after its IDs. */
TEST(a_horizon_is_after_the_ids_that_were_generated) {
#if !defined(_WIN32)
    char dir[] = "/tmp/numbers-XXXXXX", file[64];
    flake_i_record record;
    bool is_held = false;
    if (!mkdtemp(dir)) abort();
    (void)snprintf(file, sizeof file, "%s/0.slot", dir);
    script_at_ms(1700000000000);
    run_writes_left = 400;
    CHECK_EQ(run_tool(NULL, "generate --layout=js53 --node=0-9 --dir=%s 9000000", dir), 1);
    run_writes_left = UINT_MAX;
    CHECK(script_now.now_ns > INT64_C(1700000005000) * 1000000);
    CHECK_EQ(flake_i_slot_look(file, &record, &is_held, NULL), FLAKE_OK);
    CHECK(is_held);
    CHECK(record.horizon_ns >= script_now.now_ns);
    CHECK_EQ(flake_close(&tool_gen, NULL), FLAKE_OK);
    CHECK_EQ(unlink(file), 0);
    CHECK_EQ(rmdir(dir), 0);
#endif
}

/* As init does, `nodes` notices that the clock went backwards. */
TEST(nodes_names_a_number_that_was_written_in_the_future) {
#if !defined(_WIN32)
    char dir[] = "/tmp/numbers-XXXXXX", file[64];
    if (!mkdtemp(dir)) abort();
    (void)snprintf(file, sizeof file, "%s/7.slot", dir);
    script_at_ms(1700000000000);
    CHECK_EQ(run_tool(NULL, "generate --layout=twitter --node=7 --dir=%s", dir), 0);
    script_at_ms(1700000100000);
    CHECK_EQ(run_tool(dir, "nodes"), 0);
    CHECK(strstr(run_output, "7      free ") && strstr(run_output, " 2023-11-14T22:13:20.000Z ") &&
          strstr(run_output, " 99 s ago\n"));
    script_at_ms(1699999900000);
    CHECK_EQ(run_tool(dir, "nodes"), 0);
    CHECK(strstr(run_output, " 0 s ago  written in the future: the clock went backwards, and init "
                             "returns FLAKE_CLOCK_BACKWARDS\n"));
    CHECK_EQ(run_tool(NULL, "generate --layout=twitter --node=7 --dir=%s", dir), 1);
    CHECK(strstr(run_complaint, "7.slot: is from the future"));
    CHECK_EQ(unlink(file), 0);
    CHECK_EQ(rmdir(dir), 0);
#endif
}
