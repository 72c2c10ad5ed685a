/* SPDX-License-Identifier: MIT
 *
 * Configuration as text: flake_config_parse, sno_config_parse, and the calls of the shared library that make
 * generators of a text. tests/scripts/library.sh checks that each option has its word.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <stdlib.h>
#include "check.h"
#if !defined(_WIN32) && !defined(FLAKE_NO_FILES)
#define HAS_FILES
#include <sys/wait.h>
#include <unistd.h>
#endif

/* Allocations that fail: this many succeed before. */
static int allocations_left = 1000;
static void *scarce(size_t n, size_t size) {
    return allocations_left-- > 0 ? calloc(n, size) : NULL;
}
#define calloc(n, size) scarce(n, size)
#define FLAKE_SHARED
#define FLAKE_IMPLEMENTATION
#include "flake.h"
#include "sno.h"

static flake_config config;
static flake_why why;

static flake_status parse(const char *text) {
    memset(&why, 0, sizeof why);
    return flake_config_parse(text, &config, &why);
}

/* ---- the text ---- */

/* The number that a generator of the config has. */
static uint64_t number(void) {
    static flake_gen g;
    flake_options o = {0};
    o.layout = config.options.layout;
    CHECK_EQ(flake_init(&g, config.node, &o, &why), FLAKE_OK);
    return flake_gen_node(&g);
}

/* The node that the text asks for. */
static bool asks_for(flake_node wanted) {
    const flake_node *const given = &config.node;
    if (!wanted.dir != !given->dir || (wanted.dir && strcmp(wanted.dir, given->dir) != 0)) return false;
    return wanted.kind == given->kind && wanted.number == given->number && wanted.last == given->last;
}

TEST(each_word_sets_its_field) {
    static const char all[] =
        "layout=twitter unit_ms=20 epoch_ms=1577836800000 node=7 dir=/run/app seq_min=2 seq_max=3 "
        "lanes=8 single_thread clock=fast max_wait_ms=4 max_ahead_ms=5 start_this_unit "
        "seq_scatter after_unix_ms=2 claim_wait_ms=9 horizon_ms=10 max_downtime_ms=11 "
        "must_exist no_wait manual_extend";
    CHECK_EQ(parse(all), FLAKE_OK);
    const flake_options *o = &config.options;
    CHECK_STR(o->layout.name, "twitter");
    CHECK(o->layout.unit_ms == 20 && o->layout.epoch_ms == 1577836800000);
    CHECK(asks_for(flake_node_fixed("/run/app", 7)));
    CHECK(o->seq_min == 2 && o->seq_max == 3);
    CHECK(o->lane_count == 8 && o->lanes == NULL);
    CHECK(o->single_thread && o->start_this_unit && o->seq_scatter && o->after_unix_ms == 2);
    CHECK_EQ(o->clock.kind, FLAKE_CLOCK_FAST);
    CHECK(o->max_wait_ms == 4 && o->max_ahead_ms == 5);
    CHECK(o->claim_wait_ms == 9 && o->horizon_ms == 10 && o->max_downtime_ms == 11);
    CHECK(o->must_exist && o->no_wait && o->manual_extend);
}

TEST(node_and_dir_together_ask_for_a_number_or_a_range) {
    CHECK_EQ(parse("node=7 dir=none"), FLAKE_OK);
    CHECK(asks_for(flake_node_fixed(NULL, 7)));
    CHECK_EQ(parse("node=7 dir=ids/orders"), FLAKE_OK);
    CHECK(asks_for(flake_node_fixed("ids/orders", 7)));
    CHECK_EQ(parse("node=0-99 dir=\"/run/a b\""), FLAKE_OK);
    CHECK(asks_for(flake_node_any("/run/a b", 0, 99)));
    CHECK_EQ(parse("dir=x node=7-7"), FLAKE_OK); /* in any order; a range of one number */
    CHECK(asks_for(flake_node_any("x", 7, 7)));
    CHECK_EQ(parse("dir=nonesuch node=7"), FLAKE_OK); /* the word is none, and no more */
    CHECK(asks_for(flake_node_fixed("nonesuch", 7)));
    CHECK_EQ(parse("dir=./none node=7"), FLAKE_OK); /* a directory of that name */
    CHECK(asks_for(flake_node_fixed("./none", 7)));
    CHECK_EQ(parse("uuid8 node=0-281474976710655 dir=x"), FLAKE_OK);
    CHECK(asks_for(flake_node_any("x", 0, UINT64_C(281474976710655))));
    CHECK_EQ(parse("node=281474976710655-281474976710655 dir=x uuid8"), FLAKE_OK);
    CHECK_EQ(parse("uuid7"), FLAKE_OK);
    CHECK(asks_for(flake_node_none()));
}

/* Options that no word sets are as in zeroed options. */
TEST(what_a_text_does_not_name_has_its_default) {
    static flake_options defaults;
    defaults.layout = flake_layout_default;
    CHECK_EQ(parse("node=0 dir=none"), FLAKE_OK);
    CHECK(memcmp(&config.options, &defaults, sizeof defaults) == 0);
    CHECK_EQ(number(), 0);
    CHECK_EQ(flake_config_parse("node=3 dir=none clock=fast", &config, NULL), FLAKE_OK);
    CHECK_EQ(number(), 3);
    CHECK_EQ(parse("dir=none node=0"), FLAKE_OK); /* nothing remains of an earlier text */
    CHECK(memcmp(&config.options, &defaults, sizeof defaults) == 0);
}

#define MISSING                                                                              \
    "config: node is missing: node=7, or node=0-1023 to claim a free one; and dir=DIR, or " \
    "dir=none if nothing is to check it"

TEST(a_text_without_a_node_is_refused) {
    static const char *const texts[] = {
        "",          " \t\r\n",     "twitter",  "default clock=fast",
        "uuid8",     "boundary",    "41-10-12", "layout=41-10-12",
        "seq_max=7", "epoch_ms=5",  "lanes=2",  "dir=none",
        "dir=x",     "twitter dir=none"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK_EQ(parse(texts[i]), FLAKE_INVALID);
        CHECK_STR(why.text, MISSING);
    }
}

/* The number alone does not say that another has not got it, too. */
TEST(so_is_a_node_that_nothing_checks_unless_the_text_says_so) {
    static const char *const texts[] = {"node=7", "node=0", "twitter node=7", "node=7 uuid8",
                                        "node=0-1023", "node=7 must_exist"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK_EQ(parse(texts[i]), FLAKE_INVALID);
        CHECK_STR(why.text,
                  "config: node is unchecked: add dir=DIR, or dir=none if nothing is to check it");
    }
    CHECK_EQ(parse("node=7 dir=none"), FLAKE_OK);
    CHECK_EQ(number(), 7);
}

/* A free number of none would be the first one, in each process. */
TEST(a_range_needs_a_directory) {
    CHECK_EQ(parse("node=0-1023 dir=none"), FLAKE_INVALID);
    CHECK_STR(why.text, "config: node: a range needs dir=DIR");
    CHECK_EQ(parse("dir=none node=7-7 twitter"), FLAKE_INVALID);
    CHECK_STR(why.text, "config: node: a range needs dir=DIR");
}

TEST(layouts_without_a_node_need_none_and_take_none) {
    static const char *const layouts[] = {"uuid7", "ulid", "mastodon", "layout=48-0-16"};
    static const char *const words[] = {"node=0", "dir=none", "node=7 dir=none", "dir=x",
                                        "node=0-9 dir=x"};
    char text[64];
    for (size_t i = 0; i < 4; i++) {
        CHECK_EQ(parse(layouts[i]), FLAKE_OK);
        CHECK_EQ(number(), UINT64_MAX);
        for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
            (void)snprintf(text, sizeof text, "%s %s", layouts[i], words[k]);
            CHECK_EQ(parse(text), FLAKE_INVALID);
            CHECK_STR(why.text, *words[k] == 'd' ? "config: dir: the layout has no node"
                                                 : "config: node: the layout has no node");
        }
    }
}

TEST(blanks_and_line_ends_separate_words) {
    CHECK_EQ(parse("\n node=3\ttwitter\r\n\r\nclock=coarse\n seq_max=9 dir=none "), FLAKE_OK);
    CHECK_EQ(number(), 3);
    CHECK_STR(config.options.layout.name, "twitter");
    CHECK_EQ(config.options.clock.kind, FLAKE_CLOCK_COARSE);
    CHECK_EQ(config.options.seq_max, 9);
    CHECK_EQ(parse("clock=exact uuid7"), FLAKE_OK);
    CHECK_EQ(config.options.clock.kind, FLAKE_CLOCK_EXACT);
}

TEST(a_layout_needs_no_name_in_front) {
    char text[64];
    flake_layout l;
    size_t n = 0;
    for (; flake_layout_at(n, &l) == FLAKE_OK; n++)
        for (int named = 0; named < 2; named++) {
            (void)snprintf(text, sizeof text, "%s%s%s", l.node_bits ? "node=0 dir=none " : "",
                           named ? "layout=" : "", l.name);
            CHECK_EQ(parse(text), FLAKE_OK);
            CHECK(flake_i_same_layout(&config.options.layout, &l));
        }
    CHECK(n > 10);
}

/* Sonyflake's bits and units with another epoch. */
TEST(a_layout_of_ones_own_is_made_of_its_bits) {
    flake_layout wanted = flake_layout_of(39, 8, 16, 1577836800000);
    wanted.unit_ms = 10;
    for (int turn = 0; turn < 2; turn++) { /* in any order */
        CHECK_EQ(parse(turn ? "epoch_ms=1577836800000 unit_ms=10 layout=39-8-16 node=255 dir=none"
                            : "node=255 dir=none layout=39-8-16 unit_ms=10 epoch_ms=1577836800000"),
                 FLAKE_OK);
        CHECK(flake_i_same_layout(&config.options.layout, &wanted));
        CHECK_EQ(number(), 255);
    }
    wanted = flake_layout_of(41, 10, 12, 0); /* units of 1 ms since 1970 */
    CHECK_EQ(parse("41-10-12 node=1 dir=none"), FLAKE_OK);
    CHECK(flake_i_same_layout(&config.options.layout, &wanted));
    wanted = flake_layout_default;
    wanted.epoch_ms = 1577836800000;
    CHECK_EQ(parse("node=1 dir=none epoch_ms=1577836800000"), FLAKE_OK);
    CHECK(flake_i_same_layout(&config.options.layout, &wanted));
    static const char *const of_no_layout[] = {"41-10",     "41-10-",     "41--12",   "41-10-12-",
                                               "-41-10-12", "41-10-12 ",  "041-10-12x",
                                               "41-10-+12", "256-10-12",  "41-266-12",
                                               "41-10-4294967308", "41-10-18446744073709551628"};
    for (size_t i = 0; i < sizeof of_no_layout / sizeof *of_no_layout; i++) {
        char text[64], reason[128];
        (void)snprintf(text, sizeof text, "node=1 dir=none layout=\"%s\"", of_no_layout[i]);
        (void)snprintf(reason, sizeof reason,
                       "config: layout: \"%s\" is neither a layout's name nor T-N-S, the bits of "
                       "time, node and sequence",
                       of_no_layout[i]);
        CHECK_EQ(parse(text), FLAKE_INVALID);
        CHECK_STR(why.text, reason);
    }
}

/* What flake_layout_check rejects, in its words. */
TEST(a_layout_that_cannot_be_is_refused) {
    static const char *const texts[] = {"41-11-13 node=1 dir=none", "0-10-12 node=1 dir=none",
                                        "41-10-12 unit_ms=0 node=1 dir=none", "uuid7 unit_ms=2",
                                        "30-33-1 node=1 dir=none", "ulid epoch_ms=1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK_EQ(parse(texts[i]), FLAKE_INVALID);
        if (strncmp(why.text, "layout: ", 8) != 0) check_fail(__FILE__, __LINE__, why.text);
    }
}

TEST(a_value_with_blanks_is_in_quotes) {
    CHECK_EQ(parse("dir=\"/var/my ids/a=b\" node=\"7\" clock=\"fast\""), FLAKE_OK);
    CHECK(asks_for(flake_node_fixed("/var/my ids/a=b", 7)));
    CHECK_EQ(config.options.clock.kind, FLAKE_CLOCK_FAST);
    CHECK_EQ(parse("node=1-2 dir=a\"b\nlanes=1"), FLAKE_OK); /* only a leading quote opens one */
    CHECK(asks_for(flake_node_any("a\"b", 1, 2)));
    CHECK_EQ(config.options.lane_count, 1);
    CHECK_EQ(parse("node=7 dir=a=b"), FLAKE_OK);
    CHECK(asks_for(flake_node_fixed("a=b", 7)));
}

TEST(the_largest_numbers_are_read) {
    static const char all[] =
        "uuid8 node=281474976710655 dir=none seq_max=4294967295 lanes=65535 "
        "max_wait_ms=9223372036854775807";
    CHECK_EQ(parse(all), FLAKE_OK);
    CHECK_EQ(number(), (UINT64_C(1) << 48) - 1);
    CHECK(config.options.seq_max == UINT32_MAX && config.options.lane_count == 65535);
    CHECK_EQ(config.options.max_wait_ms, INT64_MAX);
    static const char *const largest[] = {"9223372036854775807", "4294967295", "65535"};
    static const char *const of[][6] = {
        {"max_wait_ms", "max_ahead_ms", "horizon_ms", "max_downtime_ms", "claim_wait_ms", "after_unix_ms"},
        {"unit_ms", "seq_min", "seq_max"},
        {"lanes"}};
    for (size_t i = 0; i < 18; i++) {
        char text[64];
        if (!of[i / 6][i % 6]) continue;
        (void)snprintf(text, sizeof text, "node=1 dir=x %s=%s", of[i / 6][i % 6], largest[i / 6]);
        CHECK_EQ(parse(text), FLAKE_OK);
        text[strlen(text) - 1]++;
        CHECK_EQ(parse(text), FLAKE_INVALID);
    }
}

#define NOT_A_NODE                                                                         \
    "\" is neither a number nor a range FIRST-LAST, from 0 to 281474976710655; words are " \
    "separated by blanks"

TEST(what_is_wrong_is_told_by_its_word) {
    static const char *const refused[][2] = {
        {"node=abc", "config: node: \"abc" NOT_A_NODE},
        {"node=-1", "config: node: \"-1" NOT_A_NODE},
        {"node=281474976710656", "config: node: \"281474976710656" NOT_A_NODE},
        {"node=18446744073709551615", "config: node: \"18446744073709551615" NOT_A_NODE},
        {"node=0x1f", "config: node: \"0x1f" NOT_A_NODE},
        {"node=9-3", "config: node: \"9-3" NOT_A_NODE}, /* the first above the last */
        {"node=0-", "config: node: \"0-" NOT_A_NODE},
        {"node=-9", "config: node: \"-9" NOT_A_NODE},
        {"node=-", "config: node: \"-" NOT_A_NODE},
        {"node=0--9", "config: node: \"0--9" NOT_A_NODE},
        {"node=0-9-12", "config: node: \"0-9-12" NOT_A_NODE},
        {"node=0-1k", "config: node: \"0-1k" NOT_A_NODE},
        {"node=0..9", "config: node: \"0..9" NOT_A_NODE},
        {"node=\"0 - 9\"", "config: node: \"0 - 9" NOT_A_NODE},
        {"node=0-281474976710656", "config: node: \"0-281474976710656" NOT_A_NODE},
        {"node=0-18446744073709551616", "config: node: \"0-18446744073709551616" NOT_A_NODE},
        {"node=7,lanes=2", "config: node: \"7,lanes=2" NOT_A_NODE},
        {"seq_min=4294967296", "config: seq_min: \"4294967296\" is not a number from 0 to "
                               "4294967295; words are separated by blanks"},
        {"epoch_ms=-1", "config: epoch_ms: \"-1\" is not a number from 0 to "
                        "9223372036854775807; words are separated by blanks"},
        {"node=7 dir=", "config: dir: needs a value"},
        {"node=7 dir", "config: dir: needs a value"},
        {"node=7 node=8", "config: node: given twice"},
        {"node=7 dir=none dir=none", "config: dir: given twice"},
        {"node=7 dir=none dir=x", "config: dir: given twice"},
        {"twitter uuid7", "config: uuid7: given twice"},
        {"twitter layout=twitter", "config: layout: given twice"},
        {"seq_scatter seq_scatter", "config: seq_scatter: given twice"},
        {"node", "config: node: needs a value"},
        {"node=", "config: node: needs a value"},
        {"dir=\"\"", "config: dir: needs a value"},
        {"layout", "config: layout: needs a value"},
        {"horizon_ms", "config: horizon_ms: needs a value"},
        {"claim_wait_ms=", "config: claim_wait_ms: needs a value"},
        {"single_thread=yes", "config: single_thread: \"yes\": the option takes no value"},
        {"no_wait= dir=x", "config: no_wait: \"\": the option takes no value"},
        {"must_exist=1", "config: must_exist: \"1\": the option takes no value"},
        {"manual_extend=0", "config: manual_extend: \"0\": the option takes no value"},
        {"nod=7", "config: nod: no such option"},
        {"node_offset=7", "config: node_offset: no such option"},
        /* of version 0.3 */
        {"node=7 state=/var/ids", "config: state: no such option"},
        {"state_dir=/var/ids", "config: state_dir: no such option"},
        {"node=7 exclusive_dir=/run", "config: exclusive_dir: no such option"},
        {"node=7 dir=x first=6", "config: first: no such option"},
        {"node=7 dir=x count=6", "config: count: no such option"},
        {"node=7 dir=x wait_ms=6", "config: wait_ms: no such option"},
        {"start_next_unit", "config: start_next_unit: neither a layout nor an option"},
        {"fail_on_backwards", "config: fail_on_backwards: neither a layout nor an option"},
        {"partition=7", "config: partition: no such option"},
        {"node =7", "config: node: needs a value"},
        {"=7", "config: =7: neither a layout nor an option"},
        {"==7", "config: =: no such option"},
        {"Twitter", "config: Twitter: neither a layout nor an option"},
        {"twitte", "config: twitte: neither a layout nor an option"},
        {"layout=twitte", "config: layout: \"twitte\" is neither a layout's name nor T-N-S, the "
                          "bits of time, node and sequence"},
        {"clock=slow", "config: clock: \"slow\" is not exact, fast or coarse"},
        {"clock=fast2", "config: clock: \"fast2\" is not exact, fast or coarse"},
        {"dir=\"/x y", "config: dir: the value needs a second quote, and a blank after it"},
        {"dir=\"/x\"y", "config: dir: the value needs a second quote, and a blank after it"}};
    static flake_gen g;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        CHECK_EQ(parse(refused[i][0]), FLAKE_INVALID);
        CHECK_STR(why.text, refused[i][1]);
        /* a program that ignores all statuses draws nothing */
        CHECK(is_zero(&config, sizeof config));
        CHECK_EQ(flake_init(&g, config.node, &config.options, NULL), FLAKE_INVALID);
        CHECK_EQ(flake_config_parse(refused[i][0], &config, NULL), FLAKE_INVALID);
    }
}

TEST(a_text_that_is_too_long_is_refused) {
    static char text[3000];
    memset(text, ' ', sizeof text - 1);
    memcpy(text, "node=7 dir=none", 15);
    text[2047] = 0;
    CHECK_EQ(parse(text), FLAKE_OK);
    CHECK_EQ(number(), 7);
    text[2047] = ' ';
    text[2048] = 0;
    CHECK_EQ(parse(text), FLAKE_INVALID);
    CHECK_STR(why.text, "config: the text is NULL, or longer than 2047 bytes");
    CHECK_EQ(parse(NULL), FLAKE_INVALID);
    CHECK_STR(why.text, "config: the text is NULL, or longer than 2047 bytes");
    memset(text, 'x', 1000); /* a long word leaves room for the reason */
    text[1000] = 0;
    CHECK_EQ(parse(text), FLAKE_INVALID);
    CHECK(strstr(why.text, "xxx: neither a layout nor an option") != NULL);
    CHECK_EQ(strlen(why.text), 128);
    memcpy(text, "node=", 5); /* so does a long value */
    CHECK_EQ(parse(text), FLAKE_INVALID);
    CHECK(strstr(why.text, "xxx\" is neither a number nor a range FIRST-LAST, from 0 to") != NULL);
    CHECK(strlen(why.text) < sizeof why.text - 1);
}

/* ---- the text of a sno ---- */

static sno_snapshot pool;
static flake_status parse_sno(const char *text) {
    memset(&why, 0, sizeof why);
    return sno_config_parse(text, &config, &pool, &why);
}

TEST(a_sno_s_node_is_its_partition_and_needs_to_be_checked_too) {
    static const char *const refused[][2] = {
        {"node=7", "config: node is unchecked: add dir=DIR, or dir=none if nothing is to check it"},
        {"node=0-9", "config: node is unchecked: add dir=DIR, or dir=none if nothing is to check it"},
        {"node=0-9 dir=none", "config: node: a range needs dir=DIR"},
        {"node=65536 dir=none", "config: node: exceeds 65535, the largest of a sno"},
        {"node=65536 dir=x", "config: node: exceeds 65535, the largest of a sno"},
        {"node=7-65536 dir=x", "config: node: exceeds 65535, the largest of a sno"},
        {"seq_max=65536", "config: seq_max: exceeds 65535, the largest of a sno"},
        {"seq_min=65536", "config: seq_min: exceeds 65535, the largest of a sno"},
        {"dir=none", MISSING},
        {"dir=x", MISSING},
        {"twitter", "config: layout: a sno has its own"},
        {"39-8-16", "config: layout: a sno has its own"},
        {"unit_ms=4", "config: unit_ms: a sno has its own"},
        {"epoch_ms=1577836800000", "config: epoch_ms: a sno has its own"},
        {"partition=7", "config: partition: no such option"},
        {"state_dir=x", "config: state_dir: no such option"}};
    static sno_gen g;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        CHECK_EQ(parse_sno(refused[i][0]), FLAKE_INVALID);
        CHECK_STR(why.text, refused[i][1]);
        CHECK(is_zero(&config, sizeof config));
        CHECK_EQ(sno_init(&g, config.node, &pool, &config.options, NULL), FLAKE_INVALID);
        CHECK_EQ(sno_config_parse(refused[i][0], &config, &pool, NULL), FLAKE_INVALID);
    }
    CHECK_EQ(parse_sno("node=65535 dir=none seq_min=3 seq_max=65535 clock=coarse"), FLAKE_OK);
    CHECK_EQ(sno_init(&g, config.node, &pool, &config.options, &why), FLAKE_OK);
    CHECK_EQ(sno_gen_partition(&g), 65535);
    CHECK_EQ(flake_gen_options(&g.gen)->clock.kind, FLAKE_CLOCK_COARSE);
    CHECK(pool.sequence_min == 3 && pool.sequence_max == 65535);
    CHECK_EQ(parse_sno("node=0-65535 dir=x horizon_ms=10"), FLAKE_OK);
    CHECK(asks_for(flake_node_any("x", 0, 65535)));
    CHECK_EQ(config.options.horizon_ms, 10);
    CHECK_EQ(parse_sno(""), FLAKE_OK); /* the library chooses */
    CHECK_EQ(sno_init(&g, config.node, &pool, &config.options, &why), FLAKE_OK);
    CHECK(pool.sequence_min == 0 && pool.sequence_max == 0);
}

/* ---- generators of a text ---- */

/* The last error's reason contains these words. */
static void says(const char *wanted) {
    if (!strstr(why.text, wanted)) check_fail(__FILE__, __LINE__, why.text);
}

static void refuses(const char *text, const char *wanted) {
    CHECK(flake_new(text, &why) == NULL);
    says(wanted);
    CHECK(flake_new(text, NULL) == NULL);
}

static flake_gen *made(const char *text) {
    flake_gen *const g = flake_new(text, &why);
    if (!g) {
        check_fail(__FILE__, __LINE__, why.text);
        abort();
    }
    return g;
}

static uint64_t node_of(flake_gen *g) {
    uint64_t id;
    flake_parts parts = {0};
    CHECK_EQ(flake_next(g, &id), FLAKE_OK);
    CHECK_EQ(flake_decompose(&flake_gen_options(g)->layout, id, &parts), FLAKE_OK);
    return parts.node;
}

TEST(a_generator_is_made_of_a_text) {
    flake_gen *g = made("twitter node=7 dir=none max_wait_ms=500");
    CHECK_EQ(flake_gen_options(g)->max_wait_ms, 500);
    CHECK_EQ(node_of(g), 7);
    CHECK_EQ(flake_gen_node(g), 7);
    CHECK_EQ(flake_extend(g, &why), FLAKE_INVALID);
    says("generator: has no directory");
    CHECK_EQ(flake_free(g, &why), FLAKE_OK);
    CHECK_EQ(flake_free(NULL, &why), FLAKE_OK);
    CHECK_STR(flake_version(), FLAKE_VERSION_STRING);
}

TEST(its_lanes_are_made_too) {
    uint64_t id;
    flake_gen *g = made("lanes=4 node=0 dir=none");
    CHECK(flake_gen_options(g)->lane_count == 4 && flake_gen_options(g)->lanes != NULL);
    CHECK_EQ(flake_try_at(g, 0, &id), FLAKE_INVALID);
    CHECK_EQ(node_of(g), 0);
    CHECK_EQ(flake_free(g, NULL), FLAKE_OK);
}

TEST(what_cannot_be_made_is_null_and_why) {
    refuses("node=abc", "config: node: \"abc\" is neither a number nor a range");
    refuses("twitter node=1024 dir=none", "node");
    refuses("js53 lanes=65535 node=1 dir=none", "lane_count");
    refuses("node=1 dir=none epoch_ms=1577836800", "epoch_ms");
    refuses("twitter node=1000-1024 dir=x", "node: 1024 is above 1023");
#ifdef HAS_FILES
    refuses("node=1 dir=x horizon_ms=86400001", "options: horizon_ms");
    refuses("node=1-9 dir=x must_exist", "options: must_exist is for a fixed number");
#endif
    refuses("", MISSING);
    refuses("twitter", MISSING);
    allocations_left = 0;
    CHECK(flake_new("node=1 dir=none lanes=2", &why) == NULL);
    CHECK_STR(why.text, "config: no memory");
    allocations_left = 1;
    CHECK(flake_new("node=1 dir=none lanes=2", &why) == NULL);
    CHECK_STR(why.text, "config: no memory for lanes");
    allocations_left = 0;
    CHECK(sno_gen_new("lanes=2", &why) == NULL);
    CHECK_STR(why.text, "config: no memory");
    allocations_left = 1;
    CHECK(sno_gen_new("lanes=2", &why) == NULL);
    CHECK_STR(why.text, "config: no memory for lanes");
    allocations_left = 1000;
}

TEST(options_of_a_directory_need_one) {
    static const char *const words[] = {"claim_wait_ms=1", "horizon_ms=1", "max_downtime_ms=1",
                                        "must_exist", "manual_extend"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char text[64], wanted[64];
        (void)snprintf(text, sizeof text, "node=7 dir=none %s", words[i]);
        (void)snprintf(wanted, sizeof wanted, "options: %.*s needs a directory",
                       (int)strcspn(words[i], "="), words[i]);
        refuses(text, wanted);
        CHECK(sno_gen_new(text, &why) == NULL);
        says(wanted);
    }
}

/* Own bits, units and epoch, and what a language without structs needs to read an ID back. */
TEST(a_generator_of_ones_own_layout_is_made_of_a_text) {
    flake_parts parts;
    uint64_t id;
    flake_gen *g = made("layout=39-8-16 unit_ms=10 epoch_ms=1577836800000 node=200 dir=none");
    CHECK_EQ(flake_next(g, &id), FLAKE_OK);
    CHECK_EQ(id >> 16 & 255, 200);
    CHECK_EQ(flake_decompose(&flake_gen_options(g)->layout, id, &parts), FLAKE_OK);
    CHECK(parts.node == 200 && parts.seq == (id & 65535));
    CHECK_EQ(parts.unix_ms, INT64_C(1577836800000) + (int64_t)(id >> 24) * 10);
    CHECK(parts.unix_ms > INT64_C(1700000000000));
    CHECK_EQ(flake_free(g, &why), FLAKE_OK);
}

TEST(without_a_node_a_generator_is_made_of_a_text) {
    uint64_t id;
    flake_gen *g = made("layout=48-0-16");
    CHECK_EQ(flake_gen_node(g), UINT64_MAX);
    CHECK_EQ(flake_next(g, &id), FLAKE_OK);
    CHECK_EQ(flake_free(g, &why), FLAKE_OK);
}

TEST(a_sno_generator_is_made_of_a_text) {
    static const char *const refused[][2] = {
        {"node=7", "config: node is unchecked"}, {"twitter", "config: layout: a sno has its own"},
        {"max_ahead_ms=7", "must be zero"},   {"seq_min=1 seq_max=3", "sequence"},
        {"nod=7", "config: nod: no such option"}};
    sno_id id;
    sno_gen *g = sno_gen_new("node=4711 dir=none clock=fast seq_min=17 seq_max=30000", &why);
    CHECK(g != NULL);
    if (!g) return;
    CHECK_EQ(sno_next(g, 42, &id), FLAKE_OK);
    CHECK_EQ(sno_partition(id), 4711);
    CHECK_EQ(sno_sequence(id), 17);
    CHECK_EQ(flake_gen_options(&g->gen)->clock.kind, FLAKE_CLOCK_FAST);
    CHECK_EQ(flake_extend(&g->gen, &why), FLAKE_INVALID);
    says("generator: has no directory");
    CHECK_EQ(sno_gen_free(g, &why), FLAKE_OK);
    CHECK_EQ(sno_gen_free(NULL, &why), FLAKE_OK);
    g = sno_gen_new("lanes=2", &why); /* of a partition that the library chooses */
    sno_gen *other = sno_gen_new("", &why);
    CHECK(g && other && sno_gen_partition(g) != sno_gen_partition(other));
    CHECK_EQ(sno_gen_free(g, NULL), FLAKE_OK);
    CHECK_EQ(sno_gen_free(other, NULL), FLAKE_OK);
    g = sno_gen_new("seq_min=17 seq_max=30000", &why); /* the same, with bounds */
    CHECK(g && sno_next(g, 42, &id) == FLAKE_OK && sno_sequence(id) == 17);
    CHECK_EQ(sno_gen_free(g, NULL), FLAKE_OK);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        CHECK(sno_gen_new(refused[i][0], &why) == NULL);
        says(refused[i][1]);
    }
    CHECK_STR(sno_version(), SNO_VERSION_STRING);
}

/* ---- with a directory ---- */

#ifdef HAS_FILES
static char dir[] = "/tmp/config-XXXXXX";

static const char *in_dir(const char *format) {
    static char text[256];
    (void)snprintf(text, sizeof text, format, dir);
    return text;
}

TEST(a_directory_that_cannot_be_used_is_null_and_why) {
    refuses(in_dir("node=1 dir=%s/none/ids"), "/none/ids: cannot be created: ");
    refuses(in_dir("node=1 must_exist dir=%s/none"), "/none/1.slot: does not exist");
    CHECK_EQ(access(in_dir("%s/none"), F_OK), -1);
}

TEST(a_generator_holds_its_number_until_it_is_freed) {
    static flake_gen other;
    const flake_options at_once = {.no_wait = true};
    uint64_t id;
    flake_gen *g = made(in_dir("node=7 dir=%s manual_extend"));
    CHECK_EQ(flake_next(g, &id), FLAKE_OK);
    CHECK_EQ(flake_gen_node(g), 7);
    CHECK(flake_gen_options(g)->manual_extend && flake_gen_options(g)->horizon_ms == 3000);
    CHECK_EQ(flake_extend(g, &why), FLAKE_OK);
    CHECK_EQ(flake_init(&other, flake_node_fixed(dir, 7), &at_once, &why), FLAKE_IN_USE);
    refuses(in_dir("node=7 dir=%s"), "/7.slot: is in use");
    CHECK_EQ(flake_free(g, &why), FLAKE_OK);
    CHECK_EQ(flake_init(&other, flake_node_fixed(dir, 7), &at_once, &why), FLAKE_OK);
    refuses(in_dir("node=7 dir=%s"), "/7.slot: is in use");
    CHECK_EQ(flake_close(&other, &why), FLAKE_OK);
    CHECK_EQ(unlink(in_dir("%s/7.slot")), 0);
}

TEST(a_directory_is_made_by_the_first_text_that_names_it) {
    flake_gen *g = made(in_dir("node=7 dir=%s/made"));
    CHECK_EQ(access(in_dir("%s/made/7.slot"), F_OK), 0);
    CHECK_EQ(flake_free(g, &why), FLAKE_OK);
    CHECK_EQ(unlink(in_dir("%s/made/7.slot")), 0);
    CHECK_EQ(rmdir(in_dir("%s/made")), 0);
}

TEST(a_free_number_of_a_range_is_claimed) {
    flake_gen *one = made(in_dir("node=5-6 dir=%s"));
    flake_gen *two = made(in_dir("node=5-6 dir=%s"));
    refuses(in_dir("node=5-6 dir=%s"), "all numbers of the range are in use");
    CHECK(node_of(one) == 5 && node_of(two) == 6);
    CHECK_EQ(flake_free(one, NULL), FLAKE_OK);
    one = made(in_dir("node=5-6 dir=%s claim_wait_ms=5000")); /* it is free again */
    CHECK_EQ(node_of(one), 5);
    CHECK_EQ(flake_free(one, NULL), FLAKE_OK);
    CHECK_EQ(flake_free(two, NULL), FLAKE_OK);
    CHECK_EQ(unlink(in_dir("%s/5.slot")), 0);
    CHECK_EQ(unlink(in_dir("%s/6.slot")), 0);
}

/* Its claim has been begun before the generator is found unfit, or has not: the number is free in any case. */
TEST(a_text_that_is_refused_leaves_its_number_free) {
    static const char *const texts[] = {
        "node=3 dir=%s max_wait_ms=9223372036854775807 max_ahead_ms=9223372036854775807",
        "node=3 dir=%s lanes=65535 js53", "node=3 dir=%s seq_max=5000", "node=3 dir=%s lanes=2"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        allocations_left = i == 3 ? 1 : 1000;
        CHECK(flake_new(in_dir(texts[i]), &why) == NULL);
        allocations_left = 1000;
        CHECK_EQ(access(in_dir("%s/3.slot"), F_OK), -1);
    }
}

/* In a signal handler that interrupted a write of the file: here the same thread does both. */
TEST(a_generator_that_cannot_be_closed_now_still_exists) {
    uint64_t id;
    flake_gen *g = made(in_dir("node=4 dir=%s"));
    CHECK(flake_i_try_lock_writer(&g->claim));
    CHECK_EQ(flake_free(g, &why), FLAKE_AGAIN);
    says("this signal handler interrupted a write");
    flake_i_unlock_writer(&g->claim);
    CHECK_EQ(flake_next(g, &id), FLAKE_OK);
    CHECK_EQ(flake_free(g, &why), FLAKE_OK);
    CHECK_EQ(unlink(in_dir("%s/4.slot")), 0);
}

/* A child frees its copy, and the parent's is unchanged. */
TEST(a_child_frees_what_it_inherited) {
    uint64_t id;
    int ended = -1;
    flake_gen *g = made(in_dir("node=3 dir=%s"));
    const pid_t child = fork();
    if (child == 0)
        _exit(flake_next(g, &id) == FLAKE_FORKED && flake_free(g, NULL) == FLAKE_OK ? 0 : 1);
    CHECK_EQ(waitpid(child, &ended, 0), child);
    CHECK_EQ(ended, 0);
    refuses(in_dir("node=3 dir=%s"), "/3.slot: is in use");
    CHECK_EQ(flake_next(g, &id), FLAKE_OK);
    CHECK_EQ(flake_free(g, NULL), FLAKE_OK);
    CHECK_EQ(unlink(in_dir("%s/3.slot")), 0);
}

TEST(a_sno_generator_holds_its_partition) {
    char text[128];
    sno_id id;
    for (unsigned partition = 0; partition < 2; partition++) { /* 0 is one, too */
        (void)snprintf(text, sizeof text, "node=%u dir=%s", partition, dir);
        sno_gen *g = sno_gen_new(text, &why);
        CHECK(g && sno_gen_partition(g) == partition);
        if (!g) return;
        CHECK(sno_next(g, 1, &id) == FLAKE_OK && sno_partition(id) == partition);
        CHECK_EQ(flake_extend(&g->gen, &why), FLAKE_OK);
        CHECK(sno_gen_new(text, &why) == NULL);
        says(".slot: is in use");
        CHECK_EQ(sno_gen_free(g, &why), FLAKE_OK);
    }
    sno_gen *g = sno_gen_new(in_dir("node=1-65535 dir=%s seq_max=99"), &why);
    CHECK(g && sno_cap(g) == 100);
    CHECK(g && sno_gen_partition(g) >= 1); /* 1 may be of this moment's unit yet */
    CHECK_EQ(sno_gen_free(g, &why), FLAKE_OK);
    CHECK_EQ(unlink(in_dir("%s/0.slot")), 0);
    CHECK_EQ(unlink(in_dir("%s/1.slot")), 0);
    (void)unlink(in_dir("%s/2.slot"));
    CHECK(sno_gen_new(in_dir("node=65536 dir=%s"), &why) == NULL);
    CHECK_STR(why.text, "config: node: exceeds 65535, the largest of a sno");
    CHECK_EQ(access(in_dir("%s/65536.slot"), F_OK), -1);
}
#endif

int main(int argc, char **argv) {
#ifdef HAS_FILES
    char command[64];
    if (!mkdtemp(dir)) return 2;
    const int code = check_main(argc, argv);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) == 0 ? code : 2;
#else
    return check_main(argc, argv);
#endif
}
