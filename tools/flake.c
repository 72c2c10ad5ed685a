/* SPDX-License-Identifier: MIT
 *
 * The command-line tool for flake.h's IDs, of 64 and 128 bits:
 *
 *     cc -O2 -I. tools/flake.c -o flake
 */
#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE /* kill */
#endif
#if !defined(_FILE_OFFSET_BITS)
#define _FILE_OFFSET_BITS 64 /* with 32 some file systems' directories cannot be read */
#endif
#include "flake.h"

#define TOOL_NAME    "flake"
#define TOOL_VERSION FLAKE_VERSION_STRING
#include "tool.h"
#if FLAKE_I_HAS_FILES
#include <dirent.h>
#include <signal.h>
#endif

/* Printed by `flake help`; flake(1) is made from it. */
static const char *const tool_help[] = {
    "flake: unique, time-ordered 64-bit and 128-bit IDs\n"
    "\n"
    "USAGE\n"
    "    flake generate [OPTION]... [COUNT]\n"
    "                        prints COUNT new IDs, one per line (default 1)\n"
    "    flake inspect [OPTION]... ID...\n"
    "                        decodes IDs; the ID - reads them from standard input, one per line\n"
    "    flake range --from=TIME --to=TIME [OPTION]...\n"
    "                        prints the smallest and largest ID of the time units from --from to\n"
    "                        --to, inclusive: bounds for a database query\n"
    "    flake time [OPTION]... [COUNT]\n"
    "                        measures for a second what an ID costs with each clock, and prints\n"
    "                        which clock to configure; with COUNT it generates COUNT IDs, one at\n"
    "                        a time, measures the speed and counts duplicates\n"
    "    flake nodes [--json] DIR\n"
    "                        lists the node numbers of a directory, and which are in use\n"
    "    flake layouts       lists the layouts\n"
    "    flake version       prints the version\n"
    "    flake help          prints this help\n"
    "\n"
    "COMMON OPTIONS\n"
    "    --layout=NAME       the meaning of the bits: a name from `flake layouts`; T-N-S for T\n"
    "                        bits of time, N of node and S of sequence (41-10-12); or\n"
    "                        hazelcast-S-N. The default is `default`. For a 128-bit ID it is that\n"
    "                        of its UUID version, ulid for a ULID, otherwise boundary\n"
    "    --epoch=MS          start of the IDs' time, as Unix time in ms or a date. The default is\n"
    "                        the layout's epoch, of T-N-S 1970\n"
    "    --unit=MS           ms in a unit of the IDs' time. The default is the layout's unit, of\n"
    "                        T-N-S 1\n"
    "    --format=FORM       text format of IDs. For 64 bits: dec (default), hex, bin, bin4\n"
    "                        (groups of four bits), base32, base36, base58, base62, and as in\n"
    "                        bwmarrin/snowflake zbase32, base36lower, base58flickr. For 128 bits:\n"
    "                        uuid (default for uuid7, uuid7_node, uuid8), ulid (default for ulid),\n"
    "                        base62 (default for boundary), dec, hex, bin, and base2 to base62,\n"
    "                        with digits, upper case, lower case\n"
    "    --config=WORDS      a whole configuration, as in a file: \"twitter node=0-99\n"
    "                        dir=/var/lib/app\". The words are listed in flake.h, at flake_config.\n"
    "                        Layout, epoch, unit and node are words of it, not options beside it\n"
    "    --json              prints one JSON object per line; IDs are strings, because a\n"
    "                        JavaScript number is exact only up to 53 bits\n"
    "\n",
    "NODE NUMBER (generate, time)\n"
    "    Generate needs one of these. Two generators that run at the same time need different\n"
    "    node numbers. uuid7 and ulid have none: random bits distinguish their generators; nor\n"
    "    has mastodon. Time, which prints no ID, is node 0 without one.\n"
    "\n"
    "    --node=N            this number, decimal or hex (0x1f). For boundary it has 48 bits.\n"
    "                        Without --dir nothing checks that it is unique\n"
    "    --node=FIRST-LAST   the lowest free number of --dir from FIRST to LAST. Hosts do not see\n"
    "                        each other's directories: give each one a range of its own\n"
    "    --datacenter=N --worker=N\n"
    "                        the two parts of the node number of idgen and twitter\n"
    "    --cluster=N --generator=N\n"
    "                        the two parts of the node number of uniqueid\n"
    "    --interface[=IF]    the MAC address of a network interface; the default is the first\n"
    "                        one with a factory-assigned address\n"
    "    --ip                the low 16 bits of this host's private IPv4 address\n"
    "    --hostname[=NAME]   the number at the end of a host name, web-3: 3; the default is this\n"
    "                        host's name\n"
    "    --env=NAME          the number in an environment variable\n"
    "    --dir=DIR           a directory of this host, beside one of the options above: a number\n"
    "                        has one holder in it, and no ID repeats after a crash or a backward\n"
    "                        step of the clock. On a local disk; it is created if it is missing\n"
    "    --low-bits          uses only the low bits of a MAC address (48 bits) or IPv4 address\n"
    "                        (16 bits) that is longer than the layout's node number. Without this\n"
    "                        option that is an error, because two hosts could get the same number\n"
    "\n"
    "IDS ON THE COMMAND LINE\n"
    "    Pass inspect the --layout and --format that the ID was generated with. Without --format\n"
    "    it expects the layout's default format, and without --layout 64 bits, or 128 bits if an\n"
    "    ID in the given --format exceeds 64. A negative number is the same 64 bits as a signed\n"
    "    number, as a bigint column shows them; with hazelcast it is a time before the epoch.\n"
    "\n"
    "    Some formats are recognised: 0x and hex digits; 0b and binary digits; bin4; a UUID, of\n"
    "    which the version selects uuid7 or uuid8 (name uuid7_node yourself); 26 characters with\n"
    "    at least one letter (a ULID). Others are not guessed, because a text can be valid in\n"
    "    several: a message lists the options that would read it. The tool `sno` decodes snos.\n"
    "\n"
    "    A line of standard input may also be an object printed by generate --json or inspect\n"
    "    --json, with its layout and format, but without its epoch: if you chose one, repeat\n"
    "    --epoch. The first line that cannot be decoded ends the run with status 2 and a message\n"
    "    with the line's number.\n"
    "\n",
    "NODES\n"
    "    `flake nodes` lists the numbers of a directory and their holders, such as one that init\n"
    "    reports as in use. It takes no number. A line for each:\n"
    "\n"
    "    held                in use, by the process PID since the time in SINCE\n"
    "    free                closed, or its process has ended. PID and SINCE are the last holder's.\n"
    "                        The next one starts after the time in HORIZON, and waits for it: \"its\n"
    "                        next holder waits 2400 ms\"\n"
    "    unusable            the file cannot be used; the reason follows. Never delete one of a\n"
    "                        later version\n"
    "    starting            NUMBER.slot.new: a start that waits in init, or was killed while it\n"
    "                        did. Leave it: the number's next start uses it\n"
    "    foreign             a file that is not of a number\n"
    "\n"
    "    WRITTEN is how long ago the file was written. A generator in use writes about every 1.5 s,\n"
    "    and an idle one not at all. A forked child holds its parent's number, too: if PID has\n"
    "    ended, `fuser DIR/NUMBER.slot` names the child. In a container PIDs are its own. A file\n"
    "    of version 0.3 has no PID. After a crash the next holder waits in init: until it has\n"
    "    written, PID and SINCE are the last one's.\n"
    "\n"
    "TIME\n"
    "    A date, 2024-01-02, is its first moment. A date with a time of day is\n"
    "    2024-01-02T03:04:05.678Z; seconds, fraction and Z are optional, and +02:00 may replace\n"
    "    Z. A number is Unix time: in seconds below 100000000000, otherwise in ms. The default\n"
    "    zone is UTC.\n"
    "\n"
    "UNIQUENESS\n"
    "    Each run starts in a new time unit, so it never repeats the IDs of an earlier run unless\n"
    "    the clock went backwards. Two runs at the same time need different node numbers, except\n"
    "    with uuid7 and ulid, which have random bits. With --dir the clock may go backwards, and\n"
    "    two runs never have the same number on one host.\n"
    "\n"
    "CLOCKS\n"
    "    `flake time` measures the three clocks, exact, coarse and fast: under load, and one ID\n"
    "    after each pause of 1.5 ms. Under load a thread generates no more than the layout's limit,\n"
    "    whatever the clock: a cheaper one leaves more of the processor to the rest of the program.\n"
    "    The last line is what to write: fast, unless it costs a quarter more than exact, under load\n"
    "    or after a pause. Coarse is never advised, because its times are some ms late. Measure on\n"
    "    the machine that will run the program, while it is otherwise idle.\n"
    "\n"
    "EXIT STATUS\n"
    "    0                   success; also of nodes if it lists an unusable file\n"
    "    1                   failure: the clock, the output, a file, the directory of nodes\n"
    "    2                   invalid command line or ID; the message says what to change\n"
    "\n"
    "EXAMPLES\n"
    "    $ flake generate --node=97 1000000 > ids\n"
    "    $ flake generate --node=0-1023 --dir=/var/lib/app\n"
    "    $ flake nodes /var/lib/app\n"
    "    $ flake inspect --layout=idgen 5828128208445124608\n"
    "    $ flake inspect --layout=39-8-16 --unit=10 --epoch=2020-01-01 1234567890123456\n"
    "    $ flake generate --layout=boundary --interface | flake inspect --layout=boundary -\n"
    "    $ flake generate --layout=uuid7 | flake inspect -\n"
    "    $ flake range --layout=twitter --from=2024-01-01 --to=2024-01-31T23:59:59.999\n"
    "    $ flake time --layout=twitter\n"
    "    $ flake time --layout=mastodon 10000000\n",
    NULL};

enum { TOOL_GENERATE = 1, TOOL_INSPECT = 2, TOOL_RANGE = 4, TOOL_TIME = 8, TOOL_LAYOUTS = 16, TOOL_NODES = 32 };
#define TOOL_DRAWS (TOOL_GENERATE | TOOL_TIME)
#define TOOL_ALL   (TOOL_GENERATE | TOOL_INSPECT | TOOL_RANGE | TOOL_TIME)

/* Each option, its value, the commands that have it, and whether the value is optional. */
#define TOOL_EACH_OPTION(X)                                                         \
    X(LAYOUT, "--layout", "NAME", TOOL_ALL, false)                                  \
    X(EPOCH, "--epoch", "MS", TOOL_ALL, false)                                      \
    X(UNIT, "--unit", "MS", TOOL_ALL, false)                                        \
    X(FORMAT, "--format", "FORM", TOOL_GENERATE | TOOL_INSPECT | TOOL_RANGE, false) \
    X(CONFIG, "--config", "WORDS", TOOL_ALL, false)                                 \
    X(JSON, "--json", NULL, TOOL_ALL | TOOL_LAYOUTS | TOOL_NODES, false)            \
    X(FROM, "--from", "TIME", TOOL_RANGE, false)                                    \
    X(TO, "--to", "TIME", TOOL_RANGE, false)                                        \
    X(NODE, "--node", "N", TOOL_DRAWS, false)                                       \
    X(DATACENTER, "--datacenter", "N", TOOL_DRAWS, false)                           \
    X(WORKER, "--worker", "N", TOOL_DRAWS, false)                                   \
    X(CLUSTER, "--cluster", "N", TOOL_DRAWS, false)                                 \
    X(GENERATOR, "--generator", "N", TOOL_DRAWS, false)                             \
    X(INTERFACE, "--interface", "IF", TOOL_DRAWS, true)                             \
    X(IP, "--ip", NULL, TOOL_DRAWS, false)                                          \
    X(HOSTNAME, "--hostname", "NAME", TOOL_DRAWS, true)                             \
    X(ENV, "--env", "NAME", TOOL_DRAWS, false)                                      \
    X(DIR, "--dir", "DIR", TOOL_DRAWS, false)                                       \
    X(LOW_BITS, "--low-bits", NULL, TOOL_DRAWS, false)
#define TOOL_ITS_NUMBER(number, ...) TOOL_##number,
#define TOOL_ITS_ROW(number, ...)    {__VA_ARGS__},

enum { TOOL_EACH_OPTION(TOOL_ITS_NUMBER) TOOL_OPTIONS };
static const tool_option tool_options[] = {TOOL_EACH_OPTION(TOOL_ITS_ROW)};

static const char *tool_given[TOOL_OPTIONS];

/* ---- parsing of times ---- */

static bool tool_two_digits(const char **at, int64_t *number) {
    const char *text = *at;
    if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9') return false;
    *number = (text[0] - '0') * 10 + (text[1] - '0');
    *at += 2;
    return true;
}

static bool tool_parse_clock(const char *at, int64_t *ms) {
    int64_t hour, minute, second = 0, zone_hour, zone_minute = 0, fraction = 0, scale = 100;
    if (*at != 'T' && *at != 't' && *at != ' ') return false;
    at++;
    if (!tool_two_digits(&at, &hour) || *at++ != ':' || !tool_two_digits(&at, &minute))
        return false;
    if (*at == ':') {
        at++;
        if (!tool_two_digits(&at, &second)) return false;
    }
    if (*at == '.' || *at == ',') {
        if (*++at < '0' || *at > '9') return false;
        for (; *at >= '0' && *at <= '9'; at++, scale /= 10) fraction += (*at - '0') * scale;
    }
    if (hour > 23 || minute > 59 || second > 59) return false;
    *ms = ((hour * 60 + minute) * 60 + second) * 1000 + fraction;
    if ((*at == 'Z' || *at == 'z') && !at[1]) return true;
    if (*at == '+' || *at == '-') {
        const int64_t sign = *at++ == '+' ? 1 : -1;
        if (!tool_two_digits(&at, &zone_hour)) return false;
        if (*at == ':') at++;
        if (*at && !tool_two_digits(&at, &zone_minute)) return false;
        if (zone_hour > 23 || zone_minute > 59) return false;
        *ms -= sign * (zone_hour * 60 + zone_minute) * 60000;
    }
    return !*at;
}

/* Days since 1970-01-01; month 1..12. */
static int64_t tool_days(int64_t year, unsigned month, unsigned day) {
    const int64_t from_march = year - (month < 3), cycle = tool_floor_div(from_march, 400);
    const int64_t y = from_march - cycle * 400, m = (month + 9) % 12;
    return cycle * TOOL_DAYS_IN_400_YEARS + y * 365 + y / 4 - y / 100 + (153 * m + 2) / 5 + day -
           1 - TOOL_DAYS_TO_1970;
}

static bool tool_parse_time(const char *at, bool all_ms, int64_t *ms) {
    const int64_t sign = *at == '-' ? -1 : 1;
    int64_t year, month, day, in_day = 0;
    if (*at == '-' || *at == '+') at++;
    unsigned digits = 0;
    for (year = 0; *at >= '0' && *at <= '9' && digits < 18; at++, digits++)
        year = year * 10 + (*at - '0');
    if (!digits) return false;
    if (!*at) { /* Unix time */
        *ms = sign * (all_ms || year >= 100000000000 ? year : year * 1000);
        return true;
    }
    if (*at++ != '-' || digits < 4 || year > 290000000 || !tool_two_digits(&at, &month) ||
        *at++ != '-' || !tool_two_digits(&at, &day))
        return false;
    if (month < 1 || month > 12 || day < 1) return false;
    const int64_t next_year = sign * year + (month == 12);
    const int64_t days = tool_days(sign * year, (unsigned)month, (unsigned)day);
    if (days >= tool_days(next_year, (unsigned)month % 12 + 1, 1)) return false;
    if (*at && !tool_parse_clock(at, &in_day)) return false;
    *ms = days * 86400000 + in_day;
    return true;
}

static int64_t tool_read_time(const char *option, const char *text, bool all_ms) {
    int64_t ms;
    if (!tool_parse_time(text, all_ms, &ms))
        tool_misused("%s=%s is not a time: write 2024-01-02, 2024-01-02T03:04:05.678Z or Unix ms",
                     option, text);
    return ms;
}

/* ---- layouts ---- */

enum { TOOL_AS_UUID = 63, TOOL_AS_ULID }; /* values of tool_form.base */

typedef struct tool_form {
    const char *name;
    flake_encoding text; /* for 64 bits */
    unsigned base;       /* for 128 bits; 0: not available */
    bool narrow;         /* available for 64 bits */
} tool_form;

#define TOOL_EACH_FORM(X)                                          \
    X(DEC, "dec", FLAKE_DEC, 10, true)                             \
    X(HEX, "hex", FLAKE_HEX, 16, true)                             \
    X(BIN, "bin", FLAKE_BIN, 2, true)                              \
    X(BIN4, "bin4", FLAKE_BIN4, 0, true)                           \
    X(BASE32, "base32", FLAKE_BASE32, 32, true)                    \
    X(BASE36, "base36", FLAKE_BASE36, 36, true)                    \
    X(BASE58, "base58", FLAKE_BASE58, 58, true)                    \
    X(BASE62, "base62", FLAKE_BASE62, 62, true)                    \
    X(ZBASE32, "zbase32", FLAKE_ZBASE32, 0, true)                  \
    X(BASE36_LOWER, "base36lower", FLAKE_BASE36_LOWER, 0, true)    \
    X(BASE58_FLICKR, "base58flickr", FLAKE_BASE58_FLICKR, 0, true) \
    X(UUID, "uuid", FLAKE_DEC, TOOL_AS_UUID, false)                \
    X(ULID, "ulid", FLAKE_DEC, TOOL_AS_ULID, false)

enum { TOOL_EACH_FORM(TOOL_ITS_NUMBER) TOOL_FORM_COUNT };
static const tool_form tool_forms[] = {TOOL_EACH_FORM(TOOL_ITS_ROW)};

/* What the header does not know of a layout. */
typedef struct tool_layout {
    const char *name, *about;
    int form;               /* the default format */
    const char *maker;      /* the part that distinguishes generators; NULL: none */
    const char *high, *low; /* names of the node number's parts; NULL: it has none */
    unsigned low_bits;
} tool_layout;

static const tool_layout tool_layouts[] = {
    {"default", "flake.h's own", TOOL_DEC, "node", NULL, NULL, 0},
    {"idgen", "npm flake-idgen", TOOL_DEC, "node", "datacenter", "worker", 5},
    {"hazelcast", "Hazelcast's FlakeIdGenerator", TOOL_DEC, "node", NULL, NULL, 0},
    {"uniqueid_ordered", "Lable uniqueid, TIME_SEQUENTIAL", TOOL_DEC, "node", "generator",
     "cluster", 4},
    {"uniqueid_spread", "Lable uniqueid, SPREAD", TOOL_DEC, "node", "generator", "cluster", 4},
    {"twitter", "Twitter's Snowflake", TOOL_DEC, "node", "datacenter", "worker", 5},
    {"sonyflake", "Sonyflake", TOOL_DEC, "node", NULL, NULL, 0},
    {"discord", "Discord", TOOL_DEC, "node", "worker", "process", 5},
    {"instagram", "Instagram", TOOL_DEC, "node", NULL, NULL, 0},
    {"mastodon", "Mastodon", TOOL_DEC, "node", NULL, NULL, 0},
    {"js53", "53 bits, exact in a JavaScript number", TOOL_DEC, "node", NULL, NULL, 0},
    {"boundary", "boundary/flake, 128 bits", TOOL_BASE62, "worker", NULL, NULL, 0},
    {"uuid7", "UUID of version 7", TOOL_UUID, "random", NULL, NULL, 0},
    {"uuid7_node", "UUID of version 7 with a node number", TOOL_UUID, "node", NULL, NULL, 0},
    {"uuid8", "UUID of version 8 with a node number", TOOL_UUID, "node", NULL, NULL, 0},
    {"ulid", "ULID", TOOL_ULID, NULL, NULL, NULL, 0},
};
#define TOOL_LAYOUT_COUNT (sizeof tool_layouts / sizeof *tool_layouts)

/* A layout T-N-S; its name is the value of --layout. */
static tool_layout tool_own_layout = {NULL, "your own", TOOL_DEC, "node", NULL, NULL, 0};

/* The layout in use, with its epoch. */
typedef struct tool_choice {
    const tool_layout *known;
    flake_layout layout;
    bool wide; /* it has 128 bits */
} tool_choice;

/* UUIDs and ULIDs count from a random number. */
static bool tool_counts(const tool_choice *c) { return c->known->form >= TOOL_UUID; }
static const char *tool_counter(const tool_choice *c) {
    return tool_counts(c) ? "counter" : "sequence";
}

static bool tool_is(const char *name, const char *word) {
    for (; *name && (*name == *word || (*name == '_' && *word == '-')); name++) word++;
    return *name == *word;
}

/* Parses `prefix`, then n numbers with hyphens between them. */
static bool tool_three(const char *word, const char *prefix, unsigned *numbers, unsigned n) {
    const size_t length = strlen(prefix);
    if (strncmp(word, prefix, length) != 0) return false;
    word += length;
    for (unsigned i = 0; i < n; i++) {
        if (*word < '0' || *word > '9') return false;
        for (numbers[i] = 0; *word >= '0' && *word <= '9'; word++)
            if ((numbers[i] = numbers[i] * 10 + (unsigned)(*word - '0')) > 64) return false;
        if (*word != (i + 1 < n ? '-' : '\0')) return false;
        word++;
    }
    return true;
}

static tool_choice tool_choose_known(const tool_layout *known) {
    tool_choice c;
    memset(&c, 0, sizeof c);
    c.known = known;
    (void)flake_layout_named(known->name, &c.layout);
    c.wide = c.layout.format != 0;
    return c;
}

static void tool_set_time(tool_choice *c) {
    const char *const epoch = tool_given[TOOL_EPOCH], *const unit = tool_given[TOOL_UNIT];
    if (epoch && c->wide)
        tool_misused("--epoch cannot be used with 128-bit IDs: their time begins in 1970");
    if (unit && c->wide) tool_misused("--unit cannot be used with 128-bit IDs: it is 1 ms");
    if (epoch) c->layout.epoch_ms = tool_read_time("--epoch", epoch, true);
    if (unit) c->layout.unit_ms = (uint32_t)tool_number_to("--unit", unit, UINT32_MAX, "");
    if (unit && !c->layout.unit_ms) tool_misused("--unit=0: a unit has at least 1 ms");
}

/* The layout of this name; NULL: there is none. */
static const tool_layout *tool_layout_of(const char *name) {
    for (size_t i = 0; i < TOOL_LAYOUT_COUNT; i++)
        if (tool_is(tool_layouts[i].name, name)) return &tool_layouts[i];
    return NULL;
}

/* Parses --config, which replaces some options; the name of its layout becomes the value of --layout. Only
 * generate needs its node. */
static void tool_read_config(bool is_for_ids) {
    static const int replaced[] = {TOOL_LAYOUT, TOOL_EPOCH, TOOL_UNIT};
    static char bits[16];
    const flake_layout *const l = &tool_config.options.layout;
    const char *const words = tool_given[TOOL_CONFIG];
    char with_node[sizeof tool_config.text];
    flake_why why, without;
    memset((void *)&tool_config, 0, sizeof tool_config);
    if (!words) return;
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++)
        if (tool_given[replaced[i]])
            tool_misused("--config is a whole configuration, and %s a word of it: use one of them",
                         tool_options[replaced[i]].name);
    for (int i = TOOL_NODE; i <= TOOL_DIR; i++)
        if (tool_given[i])
            tool_misused("--config and %s both set the node number: use one of them", tool_options[i].name);
    (void)snprintf(with_node, sizeof with_node, "%s node=0 dir=none", words);
    if (flake_config_parse(words, &tool_config, &why) != FLAKE_OK &&
        (is_for_ids || flake_config_parse(with_node, &tool_config, &without) != FLAKE_OK))
        tool_misused("%s", why.text);
    if (is_for_ids && tool_config.options.max_ahead_ms && !tool_config.node.dir)
        tool_misused("config: max_ahead_ms: needs dir=DIR: otherwise the next run could repeat IDs");
    (void)snprintf(bits, sizeof bits, "%u-%u-%u", (unsigned)l->time_bits, (unsigned)l->node_bits,
                   (unsigned)l->seq_bits);
    tool_given[TOOL_LAYOUT] = tool_layout_of(l->name) ? l->name : bits;
}

/* The layout that --layout names, or `otherwise`. */
static tool_choice tool_choose(const tool_layout *otherwise) {
    const char *word = tool_given[TOOL_LAYOUT];
    unsigned bits[3];
    tool_choice c = tool_choose_known(otherwise);
    if (word) {
        if (tool_layout_of(word)) {
            c = tool_choose_known(tool_layout_of(word));
        } else if (tool_three(word, "", bits, 3)) {
            tool_own_layout.name = word;
            c.known = &tool_own_layout;
            c.wide = false;
            c.layout = flake_layout_of(bits[0], bits[1], bits[2], 0);
        } else if (tool_three(word, "hazelcast-", bits, 2)) {
            c = tool_choose_known(tool_layout_of("hazelcast"));
            c.layout = flake_layout_hazelcast_of(bits[1], bits[0]);
        } else {
            tool_misused("--layout=%s is not a layout: `flake layouts` lists them", word);
        }
        if (!c.wide && flake_layout_check(&c.layout, NULL) != FLAKE_OK)
            tool_misused(
                "--layout=%s does not fit 64 bits: at least 1 for the time, at most 32 for "
                "node and sequence, at most 64 in all",
                word);
    }
    tool_set_time(&c);
    if (tool_given[TOOL_CONFIG]) c.layout = tool_config.options.layout; /* perhaps another epoch */
    return c;
}

/* The greatest number of so many bits. */
static uint64_t tool_ones(unsigned bits) {
    return bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
}

#define TOOL_FIELDS 16

/* The fields of an ID, most significant first; unused bits are a field. */
static size_t tool_fields_of(const tool_choice *c, uint64_t id, tool_field fields[TOOL_FIELDS]) {
    const flake_layout *const l = &c->layout;
    const tool_layout *const k = c->known;
    const char *name_of[64]; /* of each bit */
    size_t n = 0;
    flake_parts parts;
    for (unsigned i = 0; i < 64; i++)
        name_of[i] = i < l->time_shift || i >= (unsigned)l->time_shift + l->time_bits ? "unused"
                     : l->time_reversed ? "time, lowest bit first"
                                        : "time";
    if (l->time_sign) name_of[l->time_shift + l->time_bits] = "sign";
    for (unsigned i = 0; i < l->seq_bits; i++) name_of[l->seq_shift + i] = "sequence";
    if (l->gap_at) name_of[l->node_shift + l->gap_at] = "mode";
    for (unsigned i = 0; i < l->node_bits; i++)
        name_of[l->node_shift + i + (l->gap_at && i >= l->gap_at)] = !k->high          ? "node"
                                                                     : i < k->low_bits ? k->low
                                                                                       : k->high;
    memset(fields, 0, TOOL_FIELDS * sizeof *fields);
    for (unsigned bit = 64; bit-- > 0;) {
        if (bit == 63 || strcmp(name_of[bit], name_of[bit + 1]) != 0)
            fields[n++].name = name_of[bit];
        fields[n - 1].bits++;
        fields[n - 1].raw = fields[n - 1].value = fields[n - 1].raw << 1 | (id >> bit & 1);
    }
    if (l->time_reversed && flake_decompose(l, id, &parts) == FLAKE_OK)
        fields[0].value = (uint64_t)(parts.unix_ms - l->epoch_ms) / l->unit_ms;
    return n;
}

/* A field of a 128-bit ID. */
typedef struct tool_piece {
    const char *name; /* NULL: the layout's name for its generator */
    unsigned bits;
} tool_piece;

/* The fields of a 128-bit ID, most significant first. None crosses the middle: a counter is in pieces. */
static size_t tool_wide_fields(const tool_choice *c, flake128 id, tool_field fields[TOOL_FIELDS]) {
    static const tool_piece boundary[] = {{"time", 64}, {NULL, 48}, {"sequence", 16}, {NULL, 0}};
    static const tool_piece ulid[] = {{"time", 48}, {"counter", 16}, {"counter", 64}, {NULL, 0}};
    static const tool_piece uuid[] = {{"time", 48},   {"version", 4},  {"counter", 12},
                                      {"variant", 2}, {"counter", 14}, {NULL, 48},
                                      {NULL, 0}};
    const tool_piece *const pieces = c->known->form == TOOL_UUID   ? uuid
                                     : c->known->form == TOOL_ULID ? ulid
                                                                   : boundary;
    unsigned above = 0;
    size_t n = 0;
    for (; pieces[n].bits; above += pieces[n++].bits) {
        const unsigned shift = 64 - above % 64 - pieces[n].bits;
        const uint64_t half = flake_from_bytes(id.bytes + above / 64 * 8);
        fields[n].name = pieces[n].name ? pieces[n].name : c->known->maker;
        fields[n].bits = pieces[n].bits;
        fields[n].raw = fields[n].value = half >> shift & tool_ones(pieces[n].bits);
    }
    return n;
}

/* ---- texts ---- */

typedef struct tool_id {
    bool wide;
    uint64_t narrow;
    flake128 all;
    tool_form form;
} tool_id;

/* The format that --format names, for IDs of one width, in inspect perhaps of either. */
static tool_form tool_choose_form(const char *word, bool narrow, bool wide) {
    static char name[8]; /* of one base */
    uint64_t base;
    for (size_t i = 0; i < TOOL_FORM_COUNT; i++)
        if (strcmp(word, tool_forms[i].name) == 0 &&
            ((narrow && tool_forms[i].narrow) || (wide && tool_forms[i].base)))
            return tool_forms[i];
    if (wide && strncmp(word, "base", 4) == 0 && strlen(word) <= 6 && word[4] != '0' &&
        tool_number(word + 4, &base) && base >= 2 && base <= 62) {
        const tool_form form = {name, FLAKE_DEC, (unsigned)base, false};
        memcpy(name, word, strlen(word) + 1);
        return form;
    }
    if (wide)
        tool_misused(
            "--format=%s is none of uuid, ulid, dec, hex, bin, base2 ... base62, the formats "
            "of 128-bit IDs",
            word);
    if (strcmp(word, "uuid") == 0 || strcmp(word, "ulid") == 0)
        tool_misused("--format=%s is for 128-bit IDs: add --layout=%s", word,
                     word[1] == 'u' ? "uuid7" : "ulid");
    tool_misused("--format=%s is none of dec, hex, bin, bin4, base32, base36, base58, base62, "
                 "zbase32, base36lower, base58flickr",
                 word);
}

#define TOOL_TEXT_SIZE FLAKE128_TEXT_SIZE

/* Hex is in lower case; that of 128 bits always has 32 digits. */
static size_t tool_spell(const tool_form *form, const tool_id *id, char *text, size_t size) {
    if (!id->wide) return flake_format(id->narrow, form->text, text, size);
    if (form->base == TOOL_AS_UUID) {
        flake128_to_uuid(&id->all, text);
        return 36;
    }
    if (form->base == TOOL_AS_ULID) {
        flake128_to_ulid(&id->all, text);
        return 26;
    }
    if (form->text != FLAKE_HEX) return flake128_format(&id->all, form->base, text, size);
    const size_t length = flake128_format_fixed(&id->all, 16, text, size);
    for (size_t i = 0; i < length; i++)
        if (text[i] >= 'A') text[i] = (char)(text[i] - 'A' + 'a');
    return length;
}

/* Hex may have either case and begin with 0x, binary with 0b. A decimal number of 64 bits may be negative:
 * many languages and databases have signed numbers only. */
static bool tool_parse(const char *given, const tool_form *form, bool wide, tool_id *id) {
    char text[TOOL_TEXT_SIZE];
    const bool hex = form->text == FLAKE_HEX;
    const bool negative = !wide && form->narrow && form->text == FLAKE_DEC && given[0] == '-';
    given += negative;
    if (given[0] == '0' && ((hex && (given[1] == 'x' || given[1] == 'X')) ||
                            (form->text == FLAKE_BIN && (given[1] == 'b' || given[1] == 'B'))))
        given += 2;
    const size_t length = strlen(given);
    if (length >= sizeof text) return false;
    for (size_t i = 0; i <= length; i++) {
        text[i] = given[i];
        if (hex && !wide && text[i] >= 'A' && text[i] <= 'F') text[i] = (char)(text[i] - 'A' + 'a');
        if (hex && wide && text[i] >= 'a' && text[i] <= 'f') text[i] = (char)(text[i] - 'a' + 'A');
    }
    const flake_status status =
        !wide                        ? flake_parse(text, length, form->text, &id->narrow)
        : form->base == TOOL_AS_UUID ? flake128_from_uuid(text, length, &id->all)
        : form->base == TOOL_AS_ULID ? flake128_from_ulid(text, length, &id->all)
                                     : flake128_parse(text, length, form->base, &id->all);
    if (status != FLAKE_OK || (negative && id->narrow > (uint64_t)1 << 63)) return false;
    if (negative) id->narrow = 0 - id->narrow;
    id->wide = wide;
    id->form = *form;
    return true;
}

/* Whether the text is 0, a letter of either case, then `digits`. */
static bool tool_marked(const char *text, const char *letter, const char *digits) {
    return text[0] == '0' && text[1] && strchr(letter, text[1]) &&
           !text[2 + strspn(text + 2, digits)];
}

/* Without --format: texts that show their format, and the default format. A UUID may begin with 0b, and a
 * ULID of digits alone may be a number. */
static bool tool_recognise(const tool_choice *c, const char *text, bool narrow, bool wide,
                           tool_id *id) {
    const tool_form *f = &tool_forms[c->known->form];
    if (tool_marked(text, "xX", "0123456789abcdefABCDEF")) f = &tool_forms[TOOL_HEX];
    else if (tool_marked(text, "bB", "01")) f = &tool_forms[TOOL_BIN];
    else if (strchr(text, ' ')) f = &tool_forms[TOOL_BIN4];
    else if (wide && strlen(text) == 36) f = &tool_forms[TOOL_UUID];
    else if (wide && strlen(text) == 26 && text[strspn(text, "0123456789")])
        f = &tool_forms[TOOL_ULID];
    const bool either = f->text == FLAKE_HEX || f->text == FLAKE_BIN || !f->narrow;
    return (narrow && f->narrow && tool_parse(text, f, false, id)) ||
           (wide && f->base && (either || !narrow) && tool_parse(text, f, true, id));
}

/* Whether a text is a valid ID in this format. */
static bool tool_could_be(const tool_choice *c, const char *text, int form, bool wide,
                          tool_id *id) {
    flake_parts parts;
    if (!tool_parse(text, &tool_forms[form], wide, id)) return false;
    if (!wide) return flake_decompose(&c->layout, id->narrow, &parts) == FLAKE_OK;
    return flake128_decompose(c->wide ? &c->layout : &flake_layout_boundary, &id->all, &parts) ==
           FLAKE_OK;
}

/* Appends the options that would read a text as 64 or 128 bits; returns the new end. */
static char *tool_put_readings(char *end, const tool_choice *c, const char *text, bool wide,
                               const char *before) {
    static const int forms[] = {TOOL_DEC,          TOOL_HEX,          TOOL_BIN,    TOOL_BASE32,
                                TOOL_BASE36,       TOOL_BASE58,       TOOL_BASE62, TOOL_ZBASE32,
                                TOOL_BASE36_LOWER, TOOL_BASE58_FLICKR};
    const char *const begin = end;
    tool_id id;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (wide && (forms[i] == TOOL_BASE32 || forms[i] == TOOL_BASE58)) continue; /* rarely used */
        if (!tool_could_be(c, text, forms[i], wide, &id)) continue;
        if (end != begin) end = tool_put(end, " or ");
        end = tool_put(tool_put(end, before), "--format=");
        end = tool_put(end, tool_forms[forms[i]].name);
    }
    *end = '\0';
    return end;
}

/* Reports a text that needs --format. */
TOOL_ENDS static void tool_needs_form(const tool_choice *c, const char *text, bool narrow,
                                      bool wide) {
    char options[512], *end = options;
    const bool looks_like_sno =
        strlen(text) == 16 && strspn(text, "23456789abcdefghijklmnopqrstuvwx") == 16;
    tool_id id;
    if (narrow) end = tool_put_readings(end, c, text, false, "");
    if (wide && end == options)
        end = tool_put_readings(end, c, text, true, narrow ? "--layout=boundary " : "");
    if (wide && tool_parse(text, &tool_forms[TOOL_ULID], true, &id)) {
        end = tool_put(end, end == options ? "--format=ulid" : " or --format=ulid");
        *end = '\0';
    }
    if (end == options)
        tool_misused("'%.140s' is not an ID%s%s in any format of `flake help`: check for a typing error", text,
                     tool_given[TOOL_LAYOUT] ? " of layout " : "",
                     tool_given[TOOL_LAYOUT] ? tool_given[TOOL_LAYOUT] : "");
    tool_misused("'%s' is not a %s: name its format with %s%s", text,
                 narrow ? "decimal number of 64 bits" : tool_forms[c->known->form].name, options,
                 narrow && wide && looks_like_sno ? ", or `sno inspect`" : "");
}

/* ---- the node number ---- */

static flake_why tool_why; /* why the last source has no number */

/* The node number from the options for its two parts, one of which may be missing. */
static uint64_t tool_node_of_parts(const tool_choice *c, int high, int low, const char *both) {
    const tool_layout *k = c->known;
    const char *high_name = tool_options[high].name, *low_name = tool_options[low].name;
    uint64_t number = 0;
    if (!k->high || strcmp(k->high, high_name + 2) != 0 || strcmp(k->low, low_name + 2) != 0)
        tool_misused("layout %s has no %s: use --node", k->name, both);
    if (tool_given[high])
        number = tool_number_to(high_name, tool_given[high],
                                tool_ones(c->layout.node_bits - k->low_bits), "")
                 << k->low_bits;
    if (tool_given[low])
        number |= tool_number_to(low_name, tool_given[low], tool_ones(k->low_bits), "");
    return number;
}

/* FIRST-LAST of --node. False: it is a number. */
static bool tool_read_range(const char *text, uint64_t most, uint64_t *first, uint64_t *last) {
    char from[24] = "";
    const size_t length = strcspn(text, "-");
    if (!text[length] || length == 0 || length >= sizeof from) return false;
    memcpy(from, text, length);
    if (!tool_number(from, first) || !tool_number(text + length + 1, last)) return false;
    if (*first > *last || *last > most)
        tool_misused("--node=%s is not a range from 0 to %" PRIu64 ", the lowest number first", text, most);
    return true;
}

/* The number from the source that the option names. */
static uint64_t tool_read_node(const tool_choice *c, int option) {
    const unsigned bits = c->layout.node_bits;
    const char *const name = tool_options[option].name, *const given = tool_given[option];
    const char *const value = given && given[0] ? given : NULL;
    unsigned of_hosts = 0; /* bits, each of which distinguishes hosts */
    uint64_t number = 0;
    flake_status status;
    char range[64];
    switch (option) {
    case TOOL_NODE:
        (void)snprintf(range, sizeof range, ", the range of layout %s", c->known->name);
        return tool_number_to(name, given, tool_ones(bits), range);
    case TOOL_DATACENTER:
        return tool_node_of_parts(c, TOOL_DATACENTER, TOOL_WORKER, "datacenter and worker");
    case TOOL_CLUSTER:
        return tool_node_of_parts(c, TOOL_GENERATOR, TOOL_CLUSTER, "cluster and generator");
    case TOOL_INTERFACE:
        status = flake_node_from_mac(value, &number, &tool_why);
        of_hosts = 48;
        break;
    case TOOL_IP:
        status = flake_node_from_ip(&number, &tool_why);
        of_hosts = 16;
        break;
    case TOOL_HOSTNAME:
        status = flake_node_from_hostname(value, 0, UINT64_MAX, &number, &tool_why);
        break;
    default: status = flake_node_from_env(given, &number, &tool_why);
    }
    if (status != FLAKE_OK) tool_failed("%s: %s", name, tool_why.text);
    if (of_hosts > bits && !tool_given[TOOL_LOW_BITS])
        tool_misused("%s has %u bits, but the node number of layout %s has %u: two hosts could get "
                     "the same. Accept that with --low-bits, or choose --node, "
                     "--hostname or --env",
                     name, of_hosts, c->known->name, bits);
    if (of_hosts > bits) return number & tool_ones(bits);
    if (number > tool_ones(bits))
        tool_misused("%s: node is %" PRIu64 ", but layout %s allows 0 to %" PRIu64, name, number,
                     c->known->name, tool_ones(bits));
    return number;
}

/* Of --config or an option; without both, IDs that are not printed are node 0's. */
static flake_node tool_choose_node(const tool_choice *c, bool is_for_ids) {
    const char *option = NULL; /* the one given, or the first of a pair */
    const char *const dir = tool_given[TOOL_DIR];
    uint64_t first, last;
    int source = TOOL_NODE;
    for (int i = TOOL_NODE; i < TOOL_DIR; i++) {
        const bool is_second = i == TOOL_WORKER || i == TOOL_GENERATOR;
        if (!tool_given[i] || (is_second && tool_given[i - 1])) continue;
        if (option)
            tool_misused("%s and %s both set the node number: use one of them", option,
                         tool_options[i].name);
        option = tool_options[i].name;
        source = i - is_second;
    }
    if (tool_given[TOOL_LOW_BITS] && source != TOOL_INTERFACE && source != TOOL_IP)
        tool_misused("--low-bits needs --interface or --ip");
    if (tool_given[TOOL_CONFIG]) return tool_config.node;
    if ((option || dir) && !c->layout.node_bits)
        tool_misused("layout %s has no bits for a node number: remove %s", c->known->name,
                     option ? option : tool_options[TOOL_DIR].name);
    if (!c->layout.node_bits) return flake_node_none();
    if (!option && (is_for_ids || dir))
        tool_misused("node is missing: --node=7, or --node=0-99 --dir=DIR to claim a free one");
    if (!option) return flake_node_fixed(NULL, 0);
    if (source != TOOL_NODE ||
        !tool_read_range(tool_given[TOOL_NODE], tool_ones(c->layout.node_bits), &first, &last))
        return flake_node_fixed(dir, tool_read_node(c, source));
    if (!dir) tool_misused("--node=%s: a range needs --dir=DIR", tool_given[TOOL_NODE]);
    return flake_node_any(dir, first, last);
}

/* ---- generate, time ---- */

enum { TOOL_BATCH = 4096 };
#define TOOL_1984_MS INT64_C(441763200000)

static flake_gen tool_gen;
static uint64_t tool_narrow[TOOL_BATCH];
static flake128 tool_wide[TOOL_BATCH];

TOOL_ENDS static void tool_cannot_draw(const tool_choice *c, flake_status status) {
    char text[TOOL_TIME_SIZE];
    if (status == FLAKE_TIME_RANGE ||
        status == FLAKE_INVALID) /* only an extreme epoch can cause it */
        tool_failed(
            "the clock is outside the time of layout %s, which begins at %s: choose "
            "another --epoch or --layout",
            c->known->name, tool_time(tool_counts(c) ? TOOL_1984_MS : c->layout.epoch_ms, text));
    tool_failed("%s", flake_status_str(status));
}

static void tool_start(const tool_choice *c, bool is_for_ids) {
    flake_options *const options = &tool_config.options;
    const flake_node node = tool_choose_node(c, is_for_ids);
    options->layout = c->layout;
    tool_allocate_lanes(options);
    const flake_status status = flake_init(&tool_gen, node, options, &tool_why);
    if (status == FLAKE_INVALID && tool_given[TOOL_CONFIG]) tool_misused("%s", tool_why.text);
    if (status == FLAKE_NODE_RANGE) tool_misused("%s", tool_why.text);
    if (status != FLAKE_OK && node.dir) tool_failed("%s", tool_why.text);
    if (status != FLAKE_OK) tool_cannot_draw(c, status);
}

/* The layout's capacity. */
static double tool_ids_a_second(const tool_choice *c) {
    if (c->wide) return 65536e3;
    return (double)(tool_ones(c->layout.seq_bits) + 1) * 1e3 / (double)c->layout.unit_ms;
}

/* At most the IDs of 64 ms, so that a slow layout's IDs do not wait in the buffer. */
static size_t tool_batch(const tool_choice *c) {
    const double few = tool_ids_a_second(c) * 64 / 1000;
    return few < TOOL_BATCH ? (size_t)few : (size_t)TOOL_BATCH;
}

static int tool_generate(int others, char **words) {
    tool_read_config(true);
    static char buffer[TOOL_BATCH * (TOOL_TEXT_SIZE + 16)];
    const uint64_t count = tool_count(others, words, "generate");
    const tool_choice c = tool_choose(&tool_layouts[0]);
    const char *format = tool_given[TOOL_FORMAT];
    tool_id id;
    memset(&id, 0, sizeof id);
    id.wide = c.wide;
    id.form = format ? tool_choose_form(format, !id.wide, id.wide) : tool_forms[c.known->form];
    const bool json = tool_given[TOOL_JSON] != NULL;
    const size_t batch = tool_batch(&c);
    tool_start(&c, true);
    tool_progress progress = tool_progress_begin(true);
    for (uint64_t done = 0; done < count;) {
        const size_t n = count - done < batch ? (size_t)(count - done) : batch;
        const flake_status status =
            c.wide ? flake128_next_n(&tool_gen, tool_wide, n) : flake_next_n(&tool_gen, tool_narrow, n);
        if (status != FLAKE_OK) tool_cannot_draw(&c, status);
        char *end = buffer;
        for (size_t i = 0; i < n; i++) {
            id.all = tool_wide[i];
            id.narrow = tool_narrow[i];
            if (json) end = tool_put(end, "{\"id\":\"");
            end += tool_spell(&id.form, &id, end, TOOL_TEXT_SIZE);
            end = tool_put(end, json ? "\"}\n" : "\n");
        }
        tool_write(buffer, (size_t)(end - buffer));
        done += n;
        tool_progress_show(&progress, done, count);
    }
    tool_progress_end(&progress);
    tool_close(&tool_gen);
    return tool_done();
}

/* Whether an ID is after another one of the same generator. */
static bool tool_follows(const tool_choice *c, const tool_id *id, const tool_id *before) {
    flake_parts one, other;
    if (c->wide) return flake128_compare(&id->all, &before->all) > 0;
    if (!c->layout.time_reversed) return id->narrow > before->narrow;
    if (flake_decompose(&c->layout, id->narrow, &one) != FLAKE_OK ||
        flake_decompose(&c->layout, before->narrow, &other) != FLAKE_OK)
        return false;
    return one.unix_ms != other.unix_ms ? one.unix_ms > other.unix_ms : one.seq > other.seq;
}

/* Draws n IDs, one at a time. */
static void tool_generate_some(const tool_choice *c, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const flake_status status =
            c->wide ? flake128_next(&tool_gen, &tool_wide[i]) : flake_next(&tool_gen, &tool_narrow[i]);
        if (status != FLAKE_OK) tool_cannot_draw(c, status);
    }
}

/* How many of the n IDs drawn are not after the one before, which counts as a duplicate: strictly increasing IDs
 * are unique. `newest` is the one before them, at first 0, then the last of them. */
static uint64_t tool_duplicates(const tool_choice *c, size_t n, tool_id *newest) {
    uint64_t duplicates = 0;
    for (size_t i = 0; i < n; i++) {
        tool_id id = *newest;
        id.narrow = tool_narrow[i];
        id.all = tool_wide[i];
        if (!tool_follows(c, &id, newest)) duplicates++;
        else *newest = id;
    }
    return duplicates;
}

/* Starts the generator, and waits for its first unit, which is not timed. */
static tool_id tool_start_timing(const tool_choice *c) {
    tool_id none;
    memset(&none, 0, sizeof none);
    none.wide = c->wide;
    tool_start(c, false);
    const int64_t unit_ns = flake_retry_ns(&tool_gen);
    if (unit_ns < INT64_MAX) FLAKE_SLEEP_NS(unit_ns);
    return none;
}

/* ---- time without COUNT: what an ID costs with each clock ---- */

enum { TOOL_SAMPLES = 4096, TOOL_BURST = 256, TOOL_CLOCKS = 3, TOOL_ROUNDS = 5 };

#define TOOL_MEASURE_NS INT64_C(24000000) /* of each clock in a round: under load, and again at a low rate */
#define TOOL_PAUSE_NS   INT64_C(1500000)  /* between two IDs at a low rate */

static const struct tool_clock {
    const char *name, *word;
    int kind;
} tool_clocks[TOOL_CLOCKS] = {{"exact", "FLAKE_CLOCK_EXACT", FLAKE_CLOCK_EXACT},
                              {"coarse", "FLAKE_CLOCK_COARSE", FLAKE_CLOCK_COARSE},
                              {"fast", "FLAKE_CLOCK_FAST", FLAKE_CLOCK_FAST}};

/* ns for an ID: of many in a row, and of one after a pause. */
typedef struct tool_cost {
    double busy, rare;
} tool_cost;

static double tool_samples[TOOL_SAMPLES];

static int tool_by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double tool_median(size_t n) {
    qsort(tool_samples, n, sizeof *tool_samples, tool_by_size);
    return n ? tool_samples[n / 2] : 0;
}

static void tool_check_burst(const tool_choice *c, size_t n, tool_id *newest) {
    if (tool_duplicates(c, n, newest)) tool_failed("an ID is not after the one before it");
}

/* Bursts that fit in half a unit, so that no draw waits. */
static double tool_busy_ns(const tool_choice *c, tool_id *newest) {
    const double in_unit = tool_ids_a_second(c) * c->layout.unit_ms / 1e3;
    const size_t burst = in_unit < 2 ? 1 : in_unit < 2 * TOOL_BURST ? (size_t)in_unit / 2 : (size_t)TOOL_BURST;
    const int64_t until_ns = TOOL_CLOCK_NS() + TOOL_MEASURE_NS;
    size_t n = 0;
    while (n < TOOL_SAMPLES && TOOL_CLOCK_NS() < until_ns) {
        if (flake_available(&tool_gen) < burst) continue;
        const int64_t start_ns = TOOL_CLOCK_NS();
        tool_generate_some(c, burst);
        tool_samples[n++] = (double)(TOOL_CLOCK_NS() - start_ns) / (double)burst;
        tool_check_burst(c, burst, newest);
    }
    return tool_median(n);
}

/* One ID after each pause, less what a reading of the clock takes then. */
static double tool_rare_ns(const tool_choice *c, tool_id *newest) {
    size_t n = 0;
    for (; n < TOOL_MEASURE_NS / TOOL_PAUSE_NS; n++) {
        const int64_t pause_ns = TOOL_CLOCK_NS();
        while (TOOL_CLOCK_NS() - pause_ns < TOOL_PAUSE_NS) {
        }
        const int64_t empty_ns = TOOL_CLOCK_NS(), start_ns = TOOL_CLOCK_NS();
        tool_generate_some(c, 1);
        const int64_t took_ns = TOOL_CLOCK_NS() - start_ns, reading_ns = start_ns - empty_ns;
        tool_samples[n] = took_ns > reading_ns ? (double)(took_ns - reading_ns) : 0;
        tool_check_burst(c, 1, newest);
    }
    return tool_median(n);
}

static tool_cost tool_cost_of(const tool_choice *c, int kind) {
    tool_cost cost;
    tool_config.options.clock.kind = kind;
    tool_id newest = tool_start_timing(c);
    cost.busy = tool_busy_ns(c, &newest);
    cost.rare = tool_rare_ns(c, &newest);
    tool_close(&tool_gen);
    return cost;
}

/* The lowest of some rounds, between which other work may come and go. The first is not counted: in it the fast
 * clock checks the processor's counter. */
static void tool_measure_clocks(const tool_choice *c, tool_cost costs[TOOL_CLOCKS]) {
    for (int round = 0; round <= TOOL_ROUNDS; round++)
        for (size_t i = 0; i < TOOL_CLOCKS; i++) {
            if (round == 0 && tool_clocks[i].kind != FLAKE_CLOCK_FAST) continue;
            const tool_cost cost = tool_cost_of(c, tool_clocks[i].kind);
            if (round <= 1 || cost.busy < costs[i].busy) costs[i].busy = cost.busy;
            if (round <= 1 || cost.rare < costs[i].rare) costs[i].rare = cost.rare;
        }
}

/* The clock to write: fast, unless it costs a quarter more than exact, as less may be noise. Never coarse, whose
 * times are late. */
static const struct tool_clock *tool_advice(const tool_cost costs[TOOL_CLOCKS]) {
    const tool_cost exact = costs[0], fast = costs[2];
    return &tool_clocks[fast.busy <= 1.25 * exact.busy && fast.rare <= 1.25 * exact.rare ? 2 : 0];
}

static int tool_time_clocks(const tool_choice *c) {
    const bool json = tool_given[TOOL_JSON] != NULL;
    const double limit = tool_ids_a_second(c);
    tool_cost costs[TOOL_CLOCKS];
    tool_measure_clocks(c, costs);
    const struct tool_clock *const advice = tool_advice(costs);
    printf(json ? "{\"layout\":\"%s\",\"capacity_per_second\":%.0f,\"clocks\":["
                : "layout      %s\nlimit       %.0f ids/s\n"
                  "clock       ns per ID  ids/s       ns per ID at 670 ids/s\n",
           c->known->name, limit);
    for (size_t i = 0; i < TOOL_CLOCKS; i++) {
        const double busy = costs[i].busy > 0 ? costs[i].busy : 1;
        printf(json ? "%s{\"clock\":\"%s\",\"ns\":%.2f,\"ids_per_second\":%.0f,\"rare_ns\":%.2f}"
                    : "%s%-10s  %-9.2f  %-10.0f  %.2f\n",
               json && i ? "," : "", tool_clocks[i].name, costs[i].busy, 1e9 / busy, costs[i].rare);
    }
    printf(json ? "],\"write\":\"clock=%s\"}\n" : "write       clock=%s", advice->name);
    if (!json) printf(", in C options.clock.kind = %s%s\n", advice->word, advice->kind == 0 ? ", the default" : "");
    return tool_done();
}

static int tool_time_it(int others, char **words) {
    tool_read_config(false);
    if (tool_config.options.lane_count || tool_config.options.seq_scatter)
        tool_misused("config: time counts duplicates among ordered IDs: remove lanes and seq_scatter");
    const uint64_t count = tool_count(others, words, "time");
    if (count == 0) tool_misused("time needs a COUNT of at least 1");
    const tool_choice c = tool_choose(&tool_layouts[0]);
    if (others == 0) return tool_time_clocks(&c);
    tool_id newest = tool_start_timing(&c);
    uint64_t duplicates = 0;
    const size_t batch = tool_batch(&c);
    tool_progress progress = tool_progress_begin(false);
    const int64_t start_ns = TOOL_CLOCK_NS();
    for (uint64_t done = 0; done < count;) {
        const size_t n = count - done < batch ? (size_t)(count - done) : batch;
        tool_generate_some(&c, n);
        duplicates += tool_duplicates(&c, n, &newest);
        done += n;
        tool_progress_show(&progress, done, count);
    }
    const double seconds = (double)(TOOL_CLOCK_NS() - start_ns) / 1e9;
    tool_progress_end(&progress);
    tool_close(&tool_gen);
    const double rate = seconds > 0 ? (double)count / seconds : 0;
    printf(tool_given[TOOL_JSON]
               ? "{\"layout\":\"%s\",\"ids\":%" PRIu64 ",\"seconds\":%.6f,\"ids_per_second\":%.0f,"
                 "\"capacity_per_second\":%.0f,\"duplicates\":%" PRIu64 "}\n"
               : "layout      %s\nids         %" PRIu64 "\nseconds     %.6f\nids/s       %.0f (the "
                 "layout has %.0f: faster draws wait for its next unit)\nduplicates  %" PRIu64 "\n",
           c.known->name, count, seconds, rate, tool_ids_a_second(&c), duplicates);
    const int code = tool_done();
    return duplicates ? TOOL_FAILED : code;
}

/* ---- inspect ---- */

/* The ID in the other formats. */
static void tool_print_texts(const tool_id *id) {
    static const int narrow[] = {TOOL_DEC,    TOOL_HEX,    TOOL_BASE32,
                                 TOOL_BASE36, TOOL_BASE58, TOOL_BASE62};
    static const int wide[] = {TOOL_UUID, TOOL_ULID, TOOL_HEX, TOOL_DEC, TOOL_BASE36, TOOL_BASE62};
    const int *const forms = id->wide ? wide : narrow;
    char text[TOOL_TEXT_SIZE];
    const char *before = "texts       ";
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
        const tool_form *form = &tool_forms[forms[i]];
        if (strcmp(form->name, id->form.name) != 0) {
            (void)tool_spell(form, id, text, sizeof text);
            printf("%s%s %s", before, form->name, text);
            before = "  ";
        }
        if (i == 2) before = "\n            ";
    }
    putchar('\n');
}

#define TOOL_COUNT_SIZE 32

/* ULID: 80 bits, in hex; else a number. */
static void tool_put_count(const tool_choice *c, const flake_parts *parts,
                           char text[TOOL_COUNT_SIZE]) {
    if (c->known->maker) (void)snprintf(text, TOOL_COUNT_SIZE, "%" PRIu32, parts->seq);
    else
        (void)snprintf(text, TOOL_COUNT_SIZE, "0x%04" PRIx32 "%016" PRIx64, parts->seq,
                       parts->node);
}

static flake_status tool_decompose(const tool_choice *c, const tool_id *id, flake_parts *parts) {
    return id->wide ? flake128_decompose(&c->layout, &id->all, parts)
                    : flake_decompose(&c->layout, id->narrow, parts);
}

/* Other readings of the text: as hex, and if no layout is given, with others: of a UUID those of its version,
 * of a ULID none. And which parts of a UUID depend on its generator. */
static void tool_print_doubts(const tool_choice *chosen, const char *text, const tool_id *id) {
    const bool is_uuid = id->form.base == TOOL_AS_UUID;
    const char *before = "or with     ";
    tool_id other;
    if (!id->wide && !tool_given[TOOL_FORMAT] && id->form.text == FLAKE_DEC &&
        tool_could_be(chosen, text, TOOL_HEX, false, &other) && other.narrow != id->narrow)
        printf("or with     --format=hex it is %" PRIu64 "\n", other.narrow);
    if (tool_given[TOOL_LAYOUT] || id->form.base == TOOL_AS_ULID) return;
    for (size_t i = 0; i < TOOL_LAYOUT_COUNT; i++) {
        const tool_choice c = tool_choose_known(&tool_layouts[i]);
        flake_parts parts;
        char time[TOOL_TIME_SIZE], count[TOOL_COUNT_SIZE];
        if (c.wide != id->wide || c.known == chosen->known ||
            (is_uuid && c.known->form != TOOL_UUID) || tool_decompose(&c, id, &parts) != FLAKE_OK)
            continue;
        tool_put_count(&c, &parts, count);
        printf("%s--layout=%-16s %s", before, c.known->name, tool_time(parts.unix_ms, time));
        if (c.known->maker) printf(", %s %" PRIu64, c.known->maker, parts.node);
        printf(", %s %s\n", tool_counter(&c), count);
        before = "            ";
    }
    if (is_uuid)
        puts(chosen->layout.format == flake_layout_uuid8.format
                 ? "but only    if flake.h generated it: others define version 8 otherwise"
                 : "but only    the time, if flake.h did not generate it: other generators define "
                   "the rest");
}

/* The layout of a UUID's version. */
static const tool_layout *tool_layout_of_uuid(flake128 id) {
    for (size_t i = 0; i < TOOL_LAYOUT_COUNT; i++) {
        const tool_choice c = tool_choose_known(&tool_layouts[i]);
        flake_parts parts;
        if (c.known->form == TOOL_UUID && flake128_decompose(&c.layout, &id, &parts) == FLAKE_OK)
            return c.known;
    }
    return NULL;
}

/* Reports 128 bits that are not a UUID of the expected version. */
TOOL_ENDS static void tool_other_uuid(const char *text, flake128 id) {
    static const char *const variants[] = {"NCS's", "NCS's", "NCS's",       "NCS's",
                                           "",      "",      "Microsoft's", "kept for later"};
    static const uint8_t bytes_of_one[16] = {255, 255, 255, 255, 255, 255, 255, 255,
                                             255, 255, 255, 255, 255, 255, 255, 255};
    const unsigned version = id.bytes[6] >> 4, variant = id.bytes[8] >> 5;
    const tool_layout *const its_own = tool_layout_of_uuid(id);
    const char *otherwise = tool_given[TOOL_LAYOUT]
                                ? ""
                                : ". If it is another ID in UUID form, name its layout: "
                                  "--layout=boundary, or `sno inspect --format=uuid`";
    const flake128 zero = {{0}};
    if (its_own)
        tool_misused("'%s' is a UUID of version %u: --layout=%s", text, version, its_own->name);
    if (flake128_compare(&id, &zero) == 0)
        tool_misused("'%s' is the nil UUID, not an ID", text);
    if (memcmp(id.bytes, bytes_of_one, 16) == 0)
        tool_misused("'%s' is the max UUID, not an ID", text);
    if (variants[variant][0])
        tool_misused("'%s' is not a UUID of RFC 9562: its variant is %s%s", text,
                     variants[variant], otherwise);
    static const char *const versions[] = {"",
                                           " (time in steps of 100 ns, and a MAC address)",
                                           " (DCE security)",
                                           " (MD5 of a name)",
                                           " (random bits)",
                                           " (SHA-1 of a name)",
                                           " (time in steps of 100 ns, the largest first)"};
    tool_misused("'%s' is a UUID of version %u%s, but only versions 7 and 8 can be decoded%s", text,
                 version, version < sizeof versions / sizeof *versions ? versions[version] : "",
                 otherwise);
}

/* The layout of an id of 128 bits. */
static tool_choice tool_choose_wide(const char *text, const tool_id *id) {
    const tool_layout *own = id->form.base == TOOL_AS_UUID   ? tool_layout_of_uuid(id->all)
                             : id->form.base == TOOL_AS_ULID ? tool_layout_of("ulid")
                                                             : tool_layout_of("boundary");
    if (!own && !tool_given[TOOL_LAYOUT]) tool_other_uuid(text, id->all);
    return tool_choose(own ? own : &tool_layouts[0]);
}

/* An object contains neither the epoch nor the bits of hazelcast-S-N: its time shows a mismatch. */
static void tool_check_time(const tool_item *item, const tool_choice *c, int64_t unix_ms) {
    const int64_t theirs = item->unix_ms ? strtoll(item->unix_ms, NULL, 10) : unix_ms;
    if (theirs != unix_ms)
        tool_misused("the object has unix_ms %" PRId64 ", but the ID has %" PRId64
                     " with layout %s: name the --layout, --epoch and --unit that it was generated with",
                     theirs, unix_ms, c->known->name);
}

TOOL_ENDS static void tool_cannot_decode(const tool_choice *c, const char *text, const tool_id *id,
                                         flake_status status) {
    if (id->wide && status == FLAKE_INVALID) tool_other_uuid(text, id->all);
    if (id->wide)
        tool_misused("'%s' as 128-bit %s has a time later than boundary allows: "
                     "name another --format or --layout",
                     text, id->form.name);
    if (status == FLAKE_TIME_RANGE)
        tool_misused(
            "'%s' has a time that this tool cannot express: name another --layout or --epoch",
            text);
    tool_misused(
        "'%s' (%s) is not an ID of layout %s, whose fixed bits differ: name another --layout%s",
        text, id->form.name, c->known->name, tool_given[TOOL_FORMAT] ? "" : ", or a --format");
}

static void tool_print_json(const tool_choice *c, const char *text, const tool_id *id,
                            const flake_parts *p, const char *time, const char *count) {
    const tool_layout *const k = c->known;
    char hex[TOOL_TEXT_SIZE];
    printf("{\"id\":\"%s\",\"format\":\"%s\",\"layout\":\"%s\",", text, id->form.name, k->name);
    if (!id->wide) printf("\"dec\":\"%" PRIu64 "\",", id->narrow);
    if (!id->wide) (void)flake_format_fixed(id->narrow, FLAKE_HEX, hex, sizeof hex);
    else (void)tool_spell(&tool_forms[TOOL_HEX], id, hex, sizeof hex);
    printf("\"hex\":\"%s\",\"time\":\"%s\",\"unix_ms\":%" PRId64, hex, time, p->unix_ms);
    if (k->maker) printf(",\"%s\":%" PRIu64, k->maker, p->node);
    if (k->high)
        printf(",\"%s\":%" PRIu64 ",\"%s\":%" PRIu64, k->high, p->node >> k->low_bits, k->low,
               p->node & tool_ones(k->low_bits));
    if (k->maker) printf(",\"%s\":%s}\n", tool_counter(c), count);
    else printf(",\"counter\":\"%s\"}\n", count + 2); /* without 0x, as hex is */
}

static void tool_print_id(const tool_choice *c, const char *text, const tool_id *id,
                          const flake_parts *p, const char *time, const char *count) {
    const tool_layout *const k = c->known;
    char epoch[TOOL_TIME_SIZE];
    tool_field fields[TOOL_FIELDS];
    printf("id          %s (%s)\nlayout      %s: %s", text, id->form.name, k->name, k->about);
    if (!id->wide)
        printf("; units of %" PRIu32 " ms since %s", c->layout.unit_ms,
               tool_time(c->layout.epoch_ms, epoch));
    printf("\ntime        %s (Unix ms %" PRId64 ")\n", time, p->unix_ms);
    if (k->maker && (id->wide || c->layout.node_bits)) {
        printf("%-12s%" PRIu64, k->maker, p->node);
        if (id->wide) printf(" (0x%012" PRIx64 ")", p->node);
        if (k->high)
            printf(" (%s %" PRIu64 ", %s %" PRIu64 ")", k->high, p->node >> k->low_bits, k->low,
                   p->node & tool_ones(k->low_bits));
        putchar('\n');
    }
    printf("%-12s%s\n", tool_counter(c), count);
    tool_print_texts(id);
    tool_print_doubts(c, text, id);
    tool_draw(fields, id->wide ? tool_wide_fields(c, id->all, fields)
                               : tool_fields_of(c, id->narrow, fields));
}

static void tool_inspect_as(const tool_item *item, const tool_id *id) {
    const tool_choice c = id->wide ? tool_choose_wide(item->id, id) : tool_choose(&tool_layouts[0]);
    flake_parts parts;
    char time[TOOL_TIME_SIZE], count[TOOL_COUNT_SIZE];
    const flake_status status = tool_decompose(&c, id, &parts);
    if (status != FLAKE_OK) tool_cannot_decode(&c, item->id, id, status);
    tool_check_time(item, &c, parts.unix_ms);
    (void)tool_time(parts.unix_ms, time);
    tool_put_count(&c, &parts, count);
    (tool_given[TOOL_JSON] ? tool_print_json : tool_print_id)(&c, item->id, id, &parts, time,
                                                              count);
}

/* In these two formats 64-bit IDs have another alphabet than 128-bit IDs. */
static bool tool_own_alphabet(const tool_form *form) {
    return form->narrow && (form->text == FLAKE_BASE32 || form->text == FLAKE_BASE58);
}

static void tool_inspect_id(const tool_item *item) {
    static unsigned shown;
    const char *text = item->id, *format = tool_given[TOOL_FORMAT];
    bool narrow = true, wide = !tool_given[TOOL_EPOCH], known;
    tool_id id;
    memset(&id, 0, sizeof id);
    const tool_choice c = tool_choose(&tool_layouts[0]);
    if (tool_given[TOOL_LAYOUT]) {
        wide = c.wide;
        narrow = !wide;
    }
    if (format) {
        id.form = tool_choose_form(format, narrow, wide);
        const tool_form form = id.form;
        known = (narrow && form.narrow && tool_parse(text, &form, false, &id)) ||
                (wide && form.base && !(narrow && tool_own_alphabet(&form)) &&
                 tool_parse(text, &form, true, &id));
        if (!known) tool_misused("'%.140s' is not an ID in --format=%s: name another format", text, format);
    } else if (!tool_recognise(&c, text, narrow, wide, &id)) {
        tool_needs_form(&c, text, narrow, wide);
    }
    if (shown++ && !tool_given[TOOL_JSON]) putchar('\n');
    tool_inspect_as(item, &id);
}

TOOL_ENDS static void tool_differs(const char *what, const char *theirs, const char *ours) {
    tool_misused("the object has %s %s, which differs from --%s=%s", what, theirs, what, ours);
}

/* Layout and format of an object replace missing options. */
static void tool_inspect(const tool_item *item) {
    const char *const layout = tool_given[TOOL_LAYOUT], *const format = tool_given[TOOL_FORMAT];
    if (layout && item->layout &&
        strcmp(tool_choose(&tool_layouts[0]).known->name, item->layout) != 0)
        tool_differs("layout", item->layout, layout);
    if (format && item->format && strcmp(format, item->format) != 0)
        tool_differs("format", item->format, format);
    if (!layout) tool_given[TOOL_LAYOUT] = item->layout;
    if (!format) tool_given[TOOL_FORMAT] = item->format;
    tool_inspect_id(item);
    tool_given[TOOL_LAYOUT] = layout;
    tool_given[TOOL_FORMAT] = format;
}

/* ---- range, layouts ---- */

static void tool_range_end(const tool_choice *c, const char *option, int64_t ms, bool last,
                           tool_id *id) {
    char first_text[TOOL_TIME_SIZE], last_text[TOOL_TIME_SIZE];
    const flake_status status = c->wide ? (last ? flake128_max_at(&c->layout, ms, &id->all)
                                                : flake128_min_at(&c->layout, ms, &id->all))
                                        : (last ? flake_max_at(&c->layout, ms, &id->narrow)
                                                : flake_min_at(&c->layout, ms, &id->narrow));
    id->wide = c->wide;
    if (status != FLAKE_OK)
        tool_misused("%s is outside the range of layout %s: %s to %s", option,
                     c->known->name, tool_time(c->layout.epoch_ms, first_text),
                     tool_time(flake_layout_end_ms(&c->layout), last_text));
}

static int tool_range(int others, char **words) {
    tool_read_config(false);
    char from_text[TOOL_TIME_SIZE], to_text[TOOL_TIME_SIZE];
    char min_text[TOOL_TEXT_SIZE], max_text[TOOL_TEXT_SIZE];
    const char *format = tool_given[TOOL_FORMAT];
    if (others) tool_misused("range takes no '%s': give --from=TIME and --to=TIME", words[0]);
    if (!tool_given[TOOL_FROM] || !tool_given[TOOL_TO])
        tool_misused("range needs --from=TIME and --to=TIME");
    const int64_t from = tool_read_time("--from", tool_given[TOOL_FROM], false);
    const int64_t to = tool_read_time("--to", tool_given[TOOL_TO], false);
    if (from > to) tool_misused("--from is later than --to: swap them");
    const tool_choice c = tool_choose(&tool_layouts[0]);
    if (c.layout.time_reversed)
        tool_misused("IDs of layout %s are not ordered by time: they have no range",
                     c.known->name);
    const tool_form form =
        format ? tool_choose_form(format, !c.wide, c.wide) : tool_forms[c.known->form];
    tool_id min, max;
    memset(&min, 0, sizeof min);
    max = min;
    tool_range_end(&c, "--from", from, false, &min);
    tool_range_end(&c, "--to", to, true, &max);
    (void)tool_spell(&form, &min, min_text, sizeof min_text);
    (void)tool_spell(&form, &max, max_text, sizeof max_text);
    printf(tool_given[TOOL_JSON]
               ? "{\"layout\":\"%s\",\"from\":\"%s\",\"min\":\"%s\",\"to\":\"%s\","
                 "\"max\":\"%s\"}\n"
               : "layout      %s\nfrom        %s\nsmallest    %s\nto          %s\n"
                 "largest     %s\n",
           c.known->name, tool_time(from, from_text), min_text, tool_time(to, to_text), max_text);
    return tool_done();
}

static size_t tool_fields_of_all(const tool_choice *c, tool_field fields[TOOL_FIELDS]) {
    const flake128 zero = {{0}};
    return c->wide ? tool_wide_fields(c, zero, fields) : tool_fields_of(c, 0, fields);
}

/* Joins adjacent pieces of one field. */
static size_t tool_join_pieces(tool_field *fields, size_t n) {
    size_t joined = 0;
    for (size_t i = 1; i < n; i++) {
        if (strcmp(fields[i].name, fields[joined].name) == 0) fields[joined].bits += fields[i].bits;
        else fields[++joined] = fields[i];
    }
    return joined + 1;
}

static int tool_list_layouts(int others, char **words) {
    if (others) tool_misused("layouts takes no '%s'", words[0]);
    for (size_t i = 0; i < TOOL_LAYOUT_COUNT; i++) {
        const tool_choice c = tool_choose_known(&tool_layouts[i]);
        tool_field fields[TOOL_FIELDS];
        const size_t n = tool_join_pieces(fields, tool_fields_of_all(&c, fields));
        char text[TOOL_TIME_SIZE];
        const char *end = tool_time(flake_layout_end_ms(&c.layout), text);
        const bool json = tool_given[TOOL_JSON] != NULL;
        const uint32_t unit_ms = c.layout.unit_ms;
        const int64_t epoch_ms = c.layout.epoch_ms;
        printf(json ? "{\"layout\":\"%s\",\"about\":\"%s\",\"fields\":["
                    : "%-16s  %s\n                  ",
               c.known->name, c.known->about);
        for (size_t f = 0; f < n; f++)
            printf(json ? "%s{\"name\":\"%s\",\"bits\":%u}" : "%s%s %u",
                   f == 0 ? ""
                   : json ? ","
                          : ", ",
                   fields[f].name, fields[f].bits);
        if (json) {
            printf("],\"epoch_ms\":%" PRId64 ",\"unit_ms\":%" PRIu32 ",\"last\":\"%s\"}\n",
                   epoch_ms, unit_ms, end);
            continue;
        }
        char epoch[TOOL_TIME_SIZE];
        printf("\n                  units of %" PRIu32 " ms from %s to %s\n", unit_ms,
               tool_time(epoch_ms, epoch), end);
        printf("                  %.0f ids a second\n", tool_ids_a_second(&c));
    }
    return tool_done();
}

/* ---- nodes ---- */

#if FLAKE_I_HAS_FILES
/* The number of NUMBER and this end, such as ".slot". False: another name. */
static bool tool_number_of(const char *name, const char *end, uint64_t *number) {
    char digits[24];
    const size_t length = strcspn(name, ".");
    if (strcmp(name + length, end) != 0 || length == 0 || length >= sizeof digits) return false;
    memcpy(digits, name, length);
    digits[length] = '\0';
    return digits[strspn(digits, "0123456789")] == '\0' && tool_number(digits, number) &&
           (digits[0] != '0' || length == 1);
}

typedef struct tool_entry {
    char *name; /* of the file */
    uint64_t number;
    bool is_slot;
} tool_entry;

/* By number; other files come last. */
static int tool_compare_entries(const void *one, const void *other) {
    const tool_entry *const a = (const tool_entry *)one, *const b = (const tool_entry *)other;
    if (a->is_slot != b->is_slot) return a->is_slot ? -1 : 1;
    if (!a->is_slot) return strcmp(a->name, b->name);
    return (a->number > b->number) - (a->number < b->number);
}

/* The files of a directory, sorted; *count of them. */
static tool_entry *tool_list(const char *dir, size_t *count) {
    tool_entry *entries = NULL;
    size_t n = 0;
    DIR *const open_dir = opendir(dir);
    if (!open_dir) tool_failed("%s: %s", dir, strerror(errno));
    for (const struct dirent *found; errno = 0, (found = readdir(open_dir)) != NULL;) {
        if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0) continue;
        const size_t size = strlen(found->d_name) + 1;
        if ((n & (n - 1)) == 0) /* a power of two: it is full */
            entries = (tool_entry *)realloc(entries, (n ? 2 * n : 1) * sizeof *entries);
        if (!entries || !(entries[n].name = (char *)malloc(size)))
            tool_failed("out of memory for the names of %s", dir);
        memcpy(entries[n].name, found->d_name, size);
        entries[n].number = 0;
        entries[n].is_slot = tool_number_of(found->d_name, ".slot", &entries[n].number);
        n++;
    }
    if (errno) tool_failed("%s: %s", dir, strerror(errno));
    (void)closedir(open_dir);
    if (n) qsort(entries, n, sizeof *entries, tool_compare_entries);
    *count = n;
    return entries;
}

/* A file's name or a reason, inside quotes in JSON: what may be in neither is a question mark. */
static void tool_print_name(const char *text) {
    for (; *text; text++)
        putchar((unsigned char)*text < ' ' || *text == 127 || *text == '"' || *text == '\\' ? '?' : *text);
}

/* 0 s, 5 min, 3 h, 2 days */
static const char *tool_age(int64_t ms, char text[TOOL_TIME_SIZE]) {
    const int64_t minute = 60000, hour = 60 * minute, day = 24 * hour;
    const int64_t in = ms < 2 * minute ? 1000 : ms < 2 * hour ? minute : ms < 2 * day ? hour : day;
    (void)snprintf(text, TOOL_TIME_SIZE, "%" PRId64 " %s", ms / in,
                   in == 1000     ? "s"
                   : in == minute ? "min"
                   : in == hour   ? "h"
                                  : "days");
    return text;
}

/* The reason without the path before it. */
static const char *tool_reason(const flake_why *why, const char *path) {
    const size_t length = strlen(path);
    if (strncmp(why->text, path, length) != 0) return why->text;
    return why->text + length + strspn(why->text + length, ": ");
}

static void tool_print_unusable(const tool_entry *e, const char *state, const char *why) {
    if (tool_given[TOOL_JSON]) {
        printf("{\"file\":\"");
        tool_print_name(e->name);
        printf("\",\"state\":\"%s\",\"why\":\"", state);
        tool_print_name(why);
        puts("\"}");
        return;
    }
    if (e->is_slot) printf("%-6" PRIu64 " %-9s ", e->number, state);
    else printf("%-6s %-9s ", "", state);
    tool_print_name(e->name);
    printf(": ");
    tool_print_name(why);
    putchar('\n');
}

/* What an operator cannot see in the other columns. */
static void tool_print_remark(const flake_i_record *r, bool is_held, int64_t now_ms) {
    const int64_t wait_ms = r->horizon_ns / 1000000 - now_ms;
    if (r->written_ns / 1000000 > now_ms)
        printf("  written in the future: the clock went backwards, and init returns "
               "FLAKE_CLOCK_BACKWARDS");
    else if (is_held && r->pid && kill((pid_t)r->pid, 0) != 0 && errno == ESRCH)
        printf("  no process %" PRIu64 " here: a start that waits has the number, a forked child of it, or "
               "another container",
               r->pid);
    else if (!is_held && wait_ms > 0)
        printf("  its next holder waits %" PRId64 " ms", wait_ms);
}

static void tool_print_node(const tool_entry *e, const flake_i_record *r, bool is_held) {
    const int64_t now_ms = TOOL_CLOCK_NS() / 1000000, written_ms = r->written_ns / 1000000;
    const char *const state = is_held ? "held" : "free";
    char since[TOOL_TIME_SIZE] = "-", pid[24] = "-", horizon[TOOL_TIME_SIZE], age[TOOL_TIME_SIZE];
    if (r->pid) {
        (void)snprintf(pid, sizeof pid, "%" PRIu64, r->pid);
        (void)tool_time(r->claimed_ns / 1000000, since);
    }
    (void)tool_time(r->horizon_ns / 1000000, horizon);
    if (tool_given[TOOL_JSON]) {
        printf("{\"node\":%" PRIu64 ",\"state\":\"%s\",", e->number, state);
        if (r->pid) printf("\"pid\":%s,\"since\":\"%s\",", pid, since);
        printf("\"horizon\":\"%s\",\"age_ms\":%" PRId64 "}\n", horizon, now_ms - written_ms);
        return;
    }
    printf("%-6" PRIu64 " %-9s %-8s %-25s %-25s ", e->number, state, pid, since, horizon);
    printf("%s ago", tool_age(now_ms > written_ms ? now_ms - written_ms : 0, age));
    tool_print_remark(r, is_held, now_ms);
    putchar('\n');
}

static int tool_nodes(int others, char **words) {
    size_t count;
    if (others != 1) tool_misused("nodes needs one directory: `flake nodes /var/lib/app`");
    const char *const dir = words[0];
    tool_entry *const entries = tool_list(dir, &count);
    if (!tool_given[TOOL_JSON] && count == 0) printf("%s is empty: no number was claimed in it\n", dir);
    else if (!tool_given[TOOL_JSON])
        printf("%-6s %-9s %-8s %-25s %-25s %s\n", "NODE", "STATE", "PID", "SINCE", "HORIZON", "WRITTEN");
    for (size_t i = 0; i < count; i++) {
        const tool_entry *const e = &entries[i];
        char path[4096];
        flake_i_record record;
        flake_why why;
        bool is_held = false;
        const int length = snprintf(path, sizeof path, "%s/%s", dir, e->name);
        uint64_t begun;
        if (tool_number_of(e->name, ".slot.new", &begun))
            tool_print_unusable(e, "starting", "waits in init, or was killed while it did");
        else if (!e->is_slot) tool_print_unusable(e, "foreign", "not the file of a number");
        else if (length >= (int)sizeof path) tool_print_unusable(e, "unusable", "its path is too long");
        else if (flake_i_slot_look(path, &record, &is_held, &why) != FLAKE_OK)
            tool_print_unusable(e, "unusable", tool_reason(&why, path));
        else if (record.node != e->number) tool_print_unusable(e, "unusable", "is of another number");
        else tool_print_node(e, &record, is_held);
        free(e->name);
    }
    free(entries);
    return tool_done();
}
#else
static int tool_nodes(int others, char **words) {
    (void)others, (void)words;
    tool_failed("there are no directories of node numbers on this system");
}
#endif

/* ---- commands ---- */

static int tool_inspect_all(int others, char **words) {
    tool_read_config(false);
    return tool_each(others, words, tool_inspect);
}

int main(int argc, char **argv) {
    static const tool_command commands[] = {{"generate", TOOL_GENERATE, tool_generate},
                                            {"inspect", TOOL_INSPECT, tool_inspect_all},
                                            {"range", TOOL_RANGE, tool_range},
                                            {"time", TOOL_TIME, tool_time_it},
                                            {"nodes", TOOL_NODES, tool_nodes},
                                            {"layouts", TOOL_LAYOUTS, tool_list_layouts}};
    static const tool flake = {tool_help,    commands,     sizeof commands / sizeof *commands,
                               tool_options, TOOL_OPTIONS, tool_given};
    return tool_run(&flake, argc, argv);
}
