/* SPDX-License-Identifier: MIT
 *
 * The command-line tool for sno.h's IDs:
 *
 *     cc -O2 -I. tools/sno.c -o sno
 */
#include "sno.h"

#define TOOL_NAME    "sno"
#define TOOL_VERSION SNO_VERSION_STRING
#include "tool.h"

/* Printed by `sno help`; sno(1) is made from it. */
static const char *const tool_help[] = {
    "sno: unique, time-ordered 80-bit IDs with a metabyte\n"
    "\n"
    "USAGE\n"
    "    sno generate [OPTION]... [COUNT]\n"
    "                        prints COUNT new IDs, one per line (default 1)\n"
    "    sno inspect [--format=FORM] [--json] ID...\n"
    "                        decodes IDs, in any format or only in the given one; the ID - reads\n"
    "                        them from standard input, one per line\n"
    "    sno version         prints the version\n"
    "    sno help            prints this help\n"
    "\n"
    "OPTIONS\n"
    "    --meta=N            the metabyte, 0 to 255, with a meaning that you define; default 0\n"
    "    --partition=N       0 to 65535. Two generators that run at the same time need different\n"
    "                        partitions. The default is a random one: two runs at the same time have\n"
    "                        the same one with probability 1/65,536\n"
    "    --config=WORDS      a whole configuration of generate, as in a file: \"node=0-99\n"
    "                        dir=/var/lib/app lanes=8\". The node is the partition. The words are\n"
    "                        listed in flake.h, at flake_config, and in sno.h, at sno_config_parse\n"
    "    --format=FORM       text format of IDs: text (16 characters, the default), hex (20\n"
    "                        digits) or uuid\n"
    "    --json              prints one JSON object per line\n"
    "\n"
    "IDS ON THE COMMAND LINE\n"
    "    An ID is 16 characters from 2 to 9 and a to x (optionally in double quotes), 20 hex\n"
    "    digits, or the UUID whose 16 bytes are those characters. No text is valid in two of\n"
    "    these formats. A line of standard input may also be an object printed by generate --json\n"
    "    or inspect --json. The first line that is neither ends the run with status 2 and a\n"
    "    message with the line's number.\n"
    "\n"
    "UNIQUENESS\n"
    "    Each run starts in a new time unit, so it never repeats the IDs of an earlier run unless\n"
    "    the clock went backwards; with dir=DIR in --config not even then. A unit of 4 ms has\n"
    "    65,536 sequence numbers: at most 16,384,000 IDs per second.\n"
    "\n"
    "EXIT STATUS\n"
    "    0                   success\n"
    "    1                   failure: the clock, the output, a file\n"
    "    2                   invalid command line or ID; the message says what to change\n"
    "\n"
    "EXAMPLES\n"
    "    $ sno generate --meta=42 --partition=7 1000000 > ids\n"
    "    $ sno inspect brpk4q72xwf2m63l\n"
    "    $ sno generate 3 | sno inspect --json -\n",
    NULL};

enum { TOOL_GENERATE = 1, TOOL_INSPECT = 2 };
enum { TOOL_META, TOOL_PARTITION, TOOL_CONFIG, TOOL_FORMAT, TOOL_JSON, TOOL_OPTIONS };

static const tool_option tool_options[TOOL_OPTIONS] = {
    {"--meta", "N", TOOL_GENERATE, false},
    {"--partition", "N", TOOL_GENERATE, false},
    {"--config", "WORDS", TOOL_GENERATE, false},
    {"--format", "FORM", TOOL_GENERATE | TOOL_INSPECT, false},
    {"--json", NULL, TOOL_GENERATE | TOOL_INSPECT, false},
};

static const char *tool_given[TOOL_OPTIONS];

#define TOOL_TEXT_SIZE 48 /* the longest is a UUID */

/* 20 digits in lower case, and a NUL. */
static void tool_hex(sno_id id, char out[21]) {
    for (size_t i = 0; i < sizeof id.bytes; i++) {
        out[2 * i] = "0123456789abcdef"[id.bytes[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[id.bytes[i] & 15];
    }
    out[20] = '\0';
}

/* ---- generate ---- */

enum { TOOL_BATCH = 4096, TOOL_AS_TEXT, TOOL_AS_HEX, TOOL_AS_UUID };

static int tool_choose_form(void) {
    const char *word = tool_given[TOOL_FORMAT];
    if (!word || strcmp(word, "text") == 0) return TOOL_AS_TEXT;
    if (strcmp(word, "hex") == 0) return TOOL_AS_HEX;
    if (strcmp(word, "uuid") == 0) return TOOL_AS_UUID;
    tool_misused("--format=%s is none of text, hex, uuid", word);
}

/* Returns the length. */
static size_t tool_spell(sno_id id, int form, char *text) {
    switch (form) {
    case TOOL_AS_HEX: tool_hex(id, text); return 20;
    case TOOL_AS_UUID: sno_to_uuid(id, text); return 36;
    default: sno_encode(id, text); return 16;
    }
}

static void tool_start(sno_gen *gen) {
    flake_options *const options = &tool_config.options;
    const char *const partition = tool_given[TOOL_PARTITION], *const words = tool_given[TOOL_CONFIG];
    sno_snapshot pool;
    flake_why why;
    if (partition && words)
        tool_misused("--config and --partition both set the partition: use one of them");
    if (sno_config_parse(words ? words : "", &tool_config, &pool, &why) != FLAKE_OK)
        tool_misused("%s", why.text);
    if (partition) {
        pool.partition = (uint16_t)tool_number_to("--partition", partition, UINT16_MAX, "");
        tool_config.node = flake_node_fixed(NULL, pool.partition);
    }
    tool_allocate_lanes(options);
    const flake_status status = sno_init(gen, tool_config.node, &pool, options, &why);
    if (status != FLAKE_OK)
        tool_end(status == FLAKE_INVALID ? TOOL_MISUSED : TOOL_FAILED, "%s", why.text);
}

static int tool_generate(int others, char **words) {
    static sno_gen gen;
    static sno_id ids[TOOL_BATCH];
    static char buffer[TOOL_BATCH * TOOL_TEXT_SIZE];
    const uint64_t count = tool_count(others, words, "generate");
    const int form = tool_choose_form();
    const bool json = tool_given[TOOL_JSON] != NULL;
    uint8_t meta = 0;
    if (tool_given[TOOL_META])
        meta = (uint8_t)tool_number_to("--meta", tool_given[TOOL_META], UINT8_MAX, "");
    tool_start(&gen);
    tool_progress progress = tool_progress_begin(true);
    for (uint64_t done = 0; done < count;) {
        const size_t n = count - done < TOOL_BATCH ? (size_t)(count - done) : (size_t)TOOL_BATCH;
        const flake_status status = sno_next_n(&gen, meta, ids, n);
        if (status != FLAKE_OK) tool_failed("%s", flake_status_str(status));
        char *end = buffer;
        for (size_t i = 0; i < n; i++) {
            if (json) end = tool_put(end, "{\"id\":\"");
            end += tool_spell(ids[i], form, end);
            end = tool_put(end, json ? "\"}\n" : "\n");
        }
        tool_write(buffer, (size_t)(end - buffer));
        done += n;
        tool_progress_show(&progress, done, count);
    }
    tool_progress_end(&progress);
    tool_close(&gen.gen);
    return tool_done();
}

/* ---- inspect ---- */

static bool tool_parse_hex(const char *text, size_t length, sno_id *id) {
    char pair[3] = "";
    if (length != 20 || strspn(text, TOOL_HEX_DIGITS) != 20) return false;
    for (size_t i = 0; i < 10; i++) {
        memcpy(pair, text + 2 * i, 2);
        id->bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return true;
}

/* In the format of --format, or in any. */
static bool tool_parse(const char *text, size_t length, sno_id *id) {
    const int form = tool_given[TOOL_FORMAT] ? tool_choose_form() : 0;
    const bool quoted = length == 18 && text[0] == '"';
    if ((!form || form == TOOL_AS_TEXT) &&
        (quoted ? sno_from_json(text, length, id) : sno_decode(text, length, id)) == FLAKE_OK)
        return true;
    if ((!form || form == TOOL_AS_UUID) && sno_from_uuid(text, length, id) == FLAKE_OK) return true;
    return (!form || form == TOOL_AS_HEX) && tool_parse_hex(text, length, id);
}

static void tool_inspect(const tool_item *item) {
    static unsigned shown;
    const char *text = item->id;
    const size_t length = strlen(text);
    char encoded[17], hex[21], uuid[37], time[TOOL_TIME_SIZE];
    sno_id id;
    memset(&id, 0, sizeof id);
    encoded[16] = '\0';
    if (item->layout)
        tool_misused("the object has layout %s, but snos have none: use `flake inspect`",
                     item->layout);
    if (!tool_parse(text, length, &id)) {
        if (tool_given[TOOL_FORMAT])
            tool_misused("'%.140s' is not a sno in --format=%s: name another format", text,
                         tool_given[TOOL_FORMAT]);
        bool flake = length > 0 && length <= 32 && length != 16;
        for (size_t i = 0; i < length; i++)
            flake &= (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'z') ||
                     (text[i] >= 'A' && text[i] <= 'Z');
        tool_misused("'%.140s' is not a sno: 16 characters from 2 to 9 and a to x, 20 hex digits or a "
                     "UUID%s",
                     text, flake ? "; a number is for `flake inspect`" : "");
    }
    sno_encode(id, encoded);
    tool_hex(id, hex);
    sno_to_uuid(id, uuid);
    const int64_t unix_ms = sno_time_ms(id);
    (void)tool_time(unix_ms, time);
    const unsigned tick = sno_tick(id), meta = sno_meta(id);
    const unsigned partition = sno_partition(id), sequence = sno_sequence(id);
    if (tool_given[TOOL_JSON]) {
        printf("{\"id\":\"%s\",\"hex\":\"%s\",\"uuid\":\"%s\",\"time\":\"%s\",\"unix_ms\":%" PRId64
               ",\"units\":%" PRIu64 ",\"tick\":%u,\"meta\":%u,\"partition\":%u,\"sequence\":%u}\n",
               encoded, hex, uuid, time, unix_ms, sno_units(id), tick, meta, partition, sequence);
        return;
    }
    if (shown++) putchar('\n');
    printf("id          %s\ntime        %s (Unix ms %" PRId64 ")\ntick        %u\nmeta        %u\n"
           "partition   %u\nsequence    %u\ntexts       hex %s  uuid %s\n",
           encoded, time, unix_ms, tick, meta, partition, sequence, hex, uuid);
    const tool_field fields[] = {{"time, units of 4 ms", 39, sno_units(id), sno_units(id)},
                                 {"tick", 1, tick, tick},
                                 {"meta", 8, meta, meta},
                                 {"partition", 16, partition, partition},
                                 {"sequence", 16, sequence, sequence}};
    tool_draw(fields, 5);
}

static int tool_inspect_all(int others, char **words) {
    return tool_each(others, words, tool_inspect);
}

int main(int argc, char **argv) {
    static const tool_command commands[] = {{"generate", TOOL_GENERATE, tool_generate},
                                            {"inspect", TOOL_INSPECT, tool_inspect_all}};
    static const tool sno = {tool_help,    commands,     sizeof commands / sizeof *commands,
                             tool_options, TOOL_OPTIONS, tool_given};
    return tool_run(&sno, argc, argv);
}
