/* SPDX-License-Identifier: MIT
 *
 * The tool `sno` (tools/sno.c), at a thousand moments for each form: what `generate` prints, `inspect` reads back,
 * whatever the text looks like. (Its commands and messages: tests/scripts/tools.sh.)
 */
#include "tool_run.h"

#include "../../tools/sno.c"

static void run_forget(void) { memset(tool_given, 0, sizeof tool_given); }

static uint64_t seed = 20240229;

typedef struct form {
    const char *option, *alphabet;
    size_t length;
} form;

static const form forms[] = {{"", "23456789abcdefghijklmnopqrstuvwx", 16},
                             {"--format=text", "23456789abcdefghijklmnopqrstuvwx", 16},
                             {"--format=hex", "0123456789abcdef", 20},
                             {"--format=uuid", "23456789abcdefghijklmnopqrstuvwx", 16}};

/* `inspect`, with or without the form, finds the ID's parts in the text. */
static void inspect_finds(const char *option, const char *text, sno_id id) {
    char parts[256];
    (void)snprintf(parts, sizeof parts,
                   "\"unix_ms\":%" PRId64 ",\"units\":%" PRIu64
                   ",\"tick\":%u,\"meta\":%u,\"partition\":%u,\"sequence\":%u}\n",
                   sno_time_ms(id), sno_units(id), (unsigned)sno_tick(id), sno_meta(id), sno_partition(id),
                   sno_sequence(id));
    const int code = run_tool(text, "inspect %s --json", option);
    if (code == 0 && strstr(run_output, parts)) return;
    char said[1024];
    (void)snprintf(said, sizeof said, "%s %s: %s, not %.200s%.200s", option, text, parts, run_output, run_complaint);
    check_fail(__FILE__, __LINE__, said);
}

static const char *spell(const form *f, sno_id id, char text[64]) {
    memset(text, 0, 64);
    if (strcmp(f->option, "--format=hex") == 0) tool_hex(id, text);
    else if (strcmp(f->option, "--format=uuid") == 0) sno_to_uuid(id, text);
    else sno_encode(id, text);
    return text;
}

static sno_id id_of_kind(const form *f, int kind) {
    char text[64];
    sno_id id = {0};
    do {
        run_random_text(&seed, kind, f->alphabet, (unsigned)strlen(f->alphabet), f->length, text);
        if (f->length == 20) CHECK(tool_parse_hex(text, 20, &id));
        else CHECK_EQ(sno_decode(text, 16, &id), FLAKE_OK);
    } while (sno_units(id) == 0);
    return id;
}

/* `generate` in the unit of the ID, with its metabyte and partition. */
static void generate_like(const form *f, sno_id id, char text[64]) {
    script_at_ms(sno_time_ms(id) - 4);
    CHECK_EQ(run_tool(NULL, "generate %s --meta=%u --partition=%u", f->option, sno_meta(id), sno_partition(id)), 0);
    run_line(text, 64);
}

TEST(what_generate_prints_inspect_reads_back) {
    char text[64];
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        for (int i = 0; i < run_moments; i++) {
            sno_id id = id_of_kind(&forms[f], i % run_kinds);
            inspect_finds("", spell(&forms[f], id, text), id);
            inspect_finds(forms[f].option, text, id);
            generate_like(&forms[f], id, text);
            id.bytes[4] &= 0xfe; /* without the tick, and with the first sequence number */
            id.bytes[8] = id.bytes[9] = 0;
            inspect_finds("", text, id);
            inspect_finds(forms[f].option, text, id);
        }
}

/* No text is one of two forms, so the wrong one is refused. */
TEST(another_form_is_refused) {
    char text[64];
    for (size_t f = 1; f < sizeof forms / sizeof *forms; f++)
        for (size_t other = 1; other < sizeof forms / sizeof *forms; other++) {
            (void)spell(&forms[f], id_of_kind(&forms[f], run_any), text);
            CHECK_EQ(run_tool(text, "inspect %s", forms[other].option), f == other ? 0 : TOOL_MISUSED);
        }
}
