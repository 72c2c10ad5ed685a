/* SPDX-License-Identifier: MIT
 *
 * Configuration as text (flake.h, >>configuration): flake_config_parse and sno_config_parse read it, flake_new and
 * sno_gen_new make a generator of it. First what each word means, then every text that is refused and the reason, then
 * generators, without a directory and with one. tests/scripts/library.sh checks that each option has its word.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <stdlib.h>
#define CHECK_OWN_MAIN
#include "check.h"
#if !defined(_WIN32) && !defined(FLAKE_NO_FILES)
#define HAS_FILES
#include "temporary_dir.h"
#include <sys/wait.h>
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

/* ---- what each word means ---- */

/* The configuration of a text that is not refused: in one place, since it must not be copied, until the next call. */
static const flake_config *config_of(const char *text) {
    static flake_config config;
    flake_why why = {""};
    CHECK_EQ(flake_config_parse(text, &config, &why), FLAKE_OK);
    CHECK_STR(why.text, "");
    return &config;
}

/* The number of a generator with that node in that layout. */
static uint64_t number_of(const char *text) {
    static flake_gen g;
    const flake_config *const config = config_of(text);
    const flake_options o = {.layout = config->options.layout};
    CHECK_EQ(flake_init(&g, config->node, &o, NULL), FLAKE_OK);
    return flake_gen_node(&g);
}

static bool is_node(flake_node given, flake_node wanted) {
    if (!wanted.dir != !given.dir || (wanted.dir && strcmp(wanted.dir, given.dir) != 0)) return false;
    return wanted.kind == given.kind && wanted.number == given.number && wanted.last == given.last;
}

TEST(each_word_sets_its_field) {
    const flake_config *const config = config_of(
        "layout=twitter unit_ms=20 epoch_ms=1577836800000 node=7 dir=/run/app seq_min=2 seq_max=3 lanes=8 "
        "single_thread clock=fast max_wait_ms=4 max_ahead_ms=5 start_this_unit seq_scatter after_unix_ms=2 "
        "claim_wait_ms=9 horizon_ms=10 max_downtime_ms=11 must_exist no_wait manual_extend");
    const flake_options *o = &config->options;
    CHECK_STR(o->layout.name, "twitter");
    CHECK(o->layout.unit_ms == 20 && o->layout.epoch_ms == 1577836800000);
    CHECK(is_node(config->node, flake_node_fixed("/run/app", 7)));
    CHECK(o->seq_min == 2 && o->seq_max == 3);
    CHECK(o->lane_count == 8 && o->lanes == NULL);
    CHECK(o->single_thread && o->start_this_unit && o->seq_scatter && o->after_unix_ms == 2);
    CHECK_EQ(o->clock.kind, FLAKE_CLOCK_FAST);
    CHECK(o->max_wait_ms == 4 && o->max_ahead_ms == 5);
    CHECK(o->claim_wait_ms == 9 && o->horizon_ms == 10 && o->max_downtime_ms == 11);
    CHECK(o->must_exist && o->no_wait && o->manual_extend);
}

TEST(node_and_dir_together_ask_for_a_number_or_a_range) {
    const struct {
        const char *text;
        flake_node node;
    } asked[] = {
        {"node=7 dir=none", flake_node_fixed(NULL, 7)},
        {"node=7 dir=ids/orders", flake_node_fixed("ids/orders", 7)},
        {"node=0-99 dir=\"/run/a b\"", flake_node_any("/run/a b", 0, 99)},
        {"dir=x node=7-7", flake_node_any("x", 7, 7)}, /* in any order; a range of one number */
        {"dir=nonesuch node=7", flake_node_fixed("nonesuch", 7)}, /* the word is none, and no more */
        {"dir=./none node=7", flake_node_fixed("./none", 7)}, /* a directory of that name */
        {"uuid8 node=0-281474976710655 dir=x", flake_node_any("x", 0, UINT64_C(281474976710655))},
        {"node=281474976710655-281474976710655 dir=x uuid8",
         flake_node_any("x", UINT64_C(281474976710655), UINT64_C(281474976710655))},
        {"uuid7", flake_node_none()},
        /* only a leading quote opens a value with blanks */
        {"dir=\"/var/my ids/a=b\" node=\"7\" clock=\"fast\"", flake_node_fixed("/var/my ids/a=b", 7)},
        {"node=1-2 dir=a\"b\nlanes=1", flake_node_any("a\"b", 1, 2)},
        {"node=7 dir=a=b", flake_node_fixed("a=b", 7)}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        if (!is_node(config_of(asked[i].text)->node, asked[i].node)) check_fail(__FILE__, __LINE__, asked[i].text);
}

/* Options that no word sets are as in zeroed options, whatever was parsed before. */
TEST(what_a_text_does_not_name_has_its_default) {
    static flake_options defaults;
    flake_config config;
    defaults.layout = flake_layout_default;
    memset(&config, 0xff, sizeof config);
    CHECK_EQ(flake_config_parse("dir=none node=0", &config, NULL), FLAKE_OK);
    CHECK(memcmp(&config.options, &defaults, sizeof defaults) == 0);
    CHECK_EQ(number_of("node=0 dir=none"), 0);
    CHECK_EQ(number_of("node=3 dir=none clock=fast"), 3);
}

TEST(blanks_and_line_ends_separate_words) {
    const char *const text = "\n node=3\ttwitter\r\n\r\nclock=coarse\n seq_max=9 dir=none ";
    const flake_config *const config = config_of(text);
    CHECK_EQ(number_of(text), 3);
    CHECK_STR(config->options.layout.name, "twitter");
    CHECK_EQ(config->options.clock.kind, FLAKE_CLOCK_COARSE);
    CHECK_EQ(config->options.seq_max, 9);
    CHECK_EQ(config_of("clock=exact uuid7")->options.clock.kind, FLAKE_CLOCK_EXACT);
    CHECK_EQ(config_of("uuid7\nclock=\"fast\"\nlanes=1")->options.lane_count, 1);
}

TEST(a_layout_is_named_with_or_without_its_word) {
    char text[64];
    flake_layout l;
    size_t n = 0;
    for (; flake_layout_at(n, &l) == FLAKE_OK; n++)
        for (int named = 0; named < 2; named++) {
            (void)snprintf(text, sizeof text, "%s%s%s", l.node_bits ? "node=0 dir=none " : "",
                           named ? "layout=" : "", l.name);
            const flake_config *const config = config_of(text);
            CHECK(flake_i_same_layout(&config->options.layout, &l));
        }
    CHECK(n > 10);
}

TEST(a_layout_is_made_of_its_bits_in_any_order_of_words) {
    flake_layout sonyflakes = flake_layout_of(39, 8, 16, 1577836800000), of_2020 = flake_layout_default;
    sonyflakes.unit_ms = 10;
    of_2020.epoch_ms = 1577836800000;
    const struct {
        const char *text;
        uint64_t node;
        flake_layout layout;
    } made[] = {{"node=255 dir=none layout=39-8-16 unit_ms=10 epoch_ms=1577836800000", 255, sonyflakes},
                {"epoch_ms=1577836800000 unit_ms=10 layout=39-8-16 node=255 dir=none", 255, sonyflakes},
                {"41-10-12 node=1 dir=none", 1, flake_layout_of(41, 10, 12, 0)}, /* units of 1 ms since 1970 */
                {"node=1 dir=none epoch_ms=1577836800000", 1, of_2020},
                {"layout=48-0-16", UINT64_MAX, flake_layout_of(48, 0, 16, 0)}};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        const flake_config *const config = config_of(made[i].text);
        CHECK(flake_i_same_layout(&config->options.layout, &made[i].layout));
        CHECK_EQ(number_of(made[i].text), made[i].node);
    }
}

TEST(the_largest_numbers_are_read) {
    static const char all[] =
        "uuid8 node=281474976710655 dir=none seq_max=4294967295 lanes=65535 max_wait_ms=9223372036854775807";
    const flake_options o = config_of(all)->options;
    CHECK_EQ(number_of(all), (UINT64_C(1) << 48) - 1);
    CHECK(o.seq_max == UINT32_MAX && o.lane_count == 65535 && o.max_wait_ms == INT64_MAX);
    static const struct {
        const char *largest, *words[6];
    } of[] = {{"9223372036854775807",
               {"max_wait_ms", "max_ahead_ms", "horizon_ms", "max_downtime_ms", "claim_wait_ms", "after_unix_ms"}},
              {"4294967295", {"unit_ms", "seq_min", "seq_max"}},
              {"65535", {"lanes"}}};
    for (size_t i = 0; i < 3; i++)
        for (const char *const *word = of[i].words; word < of[i].words + 6 && *word; word++) {
            char text[64];
            flake_config config;
            (void)snprintf(text, sizeof text, "node=1 dir=x %s=%s", *word, of[i].largest);
            (void)config_of(text);
            text[strlen(text) - 1]++;
            CHECK_EQ(flake_config_parse(text, &config, NULL), FLAKE_INVALID);
        }
}

/* ---- what is refused, and the reason ---- */

/* With the value in place of the asterisk, if the form has one. */
static const char *filled(const char *form, const char *value, char room[256]) {
    const size_t at = strcspn(form, "*");
    const bool is_form = form[at] == '*';
    (void)snprintf(room, 256, "%.*s%s%s", (int)at, form, is_form ? value : "", is_form ? form + at + 1 : "");
    return room;
}

/* Forms of a text and of the reason why it is refused, and the values that fill them. */
typedef struct refusal {
    const char *text, *reason, *values[20];
} refusal;

#define MISSING                                                                                        \
    "config: node is missing: node=7, or node=0-1023 to claim a free one; and dir=DIR, or dir=none if " \
    "nothing is to check it"
#define UNCHECKED  "config: node is unchecked: add dir=DIR, or dir=none if nothing is to check it"
#define NOT_A_NODE \
    "config: node: \"*\" is neither a number nor a range FIRST-LAST, from 0 to 281474976710655; words are " \
    "separated by blanks"
#define NO_NODE   "config: node: the layout has no node"
#define NO_RANGE   "config: node: a range needs dir=DIR"

/* Calls that ignore the status have no node, so they draw nothing. */
static void check_refused(const refusal *r, size_t n, bool is_sno) {
    flake_config config;
    sno_snapshot pool;
    static flake_gen g;
    static sno_gen snos;
    for (; n--; r++)
        for (const char *const *value = r->values; value < r->values + 20 && *value; value++) {
            char text[256], reason[256];
            flake_why why = {""};
            (void)filled(r->text, *value, text);
            for (int with_why = 1; with_why >= 0; with_why--)
                CHECK_EQ(is_sno ? sno_config_parse(text, &config, &pool, with_why ? &why : NULL)
                                : flake_config_parse(text, &config, with_why ? &why : NULL),
                         FLAKE_INVALID);
            CHECK_STR(why.text, filled(r->reason, *value, reason));
            CHECK(is_zero(&config, sizeof config));
            CHECK_EQ(is_sno ? sno_init(&snos, config.node, &pool, &config.options, NULL)
                            : flake_init(&g, config.node, &config.options, NULL),
                     FLAKE_INVALID);
        }
}

static const refusal refused[] = {
    /* without a node that another process cannot have, too */
    {"*", MISSING,
     {"", " \t\r\n", "twitter", "default clock=fast", "uuid8", "boundary", "41-10-12", "layout=41-10-12", "seq_max=7",
      "epoch_ms=5", "lanes=2", "dir=none", "dir=x", "twitter dir=none"}},
    {"*", UNCHECKED,
     {"node=7", "node=0", "twitter node=7", "node=7 uuid8", "node=0-1023", "node=7 must_exist"}},
    /* a free number of none would be the first one, in each process */
    {"*", NO_RANGE, {"node=0-1023 dir=none", "dir=none node=7-7 twitter"}},
    /* a node in a layout without one */
    {"uuid7 *", NO_NODE, {"node=0", "node=7 dir=none", "node=0-9 dir=x"}},
    {"ulid *", NO_NODE, {"node=0", "node=7 dir=none", "node=0-9 dir=x"}},
    {"mastodon *", NO_NODE, {"node=0", "node=7 dir=none", "node=0-9 dir=x"}},
    {"layout=48-0-16 *", NO_NODE, {"node=0", "node=7 dir=none", "node=0-9 dir=x"}},
    {"* dir=none", "config: dir: the layout has no node", {"uuid7", "ulid", "mastodon", "layout=48-0-16"}},
    {"* dir=x", "config: dir: the layout has no node", {"uuid7", "ulid", "mastodon", "layout=48-0-16"}},
    /* values */
    {"node=*", NOT_A_NODE,
     {"abc", "-1", "281474976710656", "18446744073709551615", "0x1f", "9-3", "0-", "-9", "-", "0--9", "0-9-12", "0-1k",
      "0..9", "0-281474976710656", "0-18446744073709551616", "7,lanes=2"}},
    {"node=\"*\"", NOT_A_NODE, {"0 - 9"}},
    {"*=4294967296", "config: *: \"4294967296\" is not a number from 0 to 4294967295; words are separated by blanks",
     {"seq_min", "seq_max", "unit_ms"}},
    {"epoch_ms=*",
     "config: epoch_ms: \"*\" is not a number from 0 to 9223372036854775807; words are separated by blanks",
     {"-1"}},
    {"node=1 dir=none layout=\"*\"",
     "config: layout: \"*\" is neither a layout's name nor T-N-S, the bits of time, node and sequence",
     {"twitte", "41-10", "41-10-", "41--12", "41-10-12-", "-41-10-12", "41-10-12 ", "041-10-12x", "41-10-+12",
      "65-10-12", "256-10-12", "41-266-12", "41-10-4294967308", "41-10-18446744073709551628"}},
    {"clock=*", "config: clock: \"*\" is not exact, fast or coarse", {"slow", "fast2"}},
    {"dir=\"*", "config: dir: the value needs a second quote, and a blank after it", {"/x y", "/x\"y"}},
    {"*", "config: dir: needs a value", {"node=7 dir=", "node=7 dir", "dir=\"\""}},
    {"*", "config: node: needs a value", {"node", "node=", "node =7"}},
    {"*=", "config: *: needs a value", {"layout", "horizon_ms", "claim_wait_ms"}},
    {"*", "config: *: needs a value", {"layout", "horizon_ms"}},
    {"single_thread=*", "config: single_thread: \"*\": the option takes no value", {"yes"}},
    {"no_wait=* dir=x", "config: no_wait: \"*\": the option takes no value", {""}},
    {"must_exist=*", "config: must_exist: \"*\": the option takes no value", {"1"}},
    {"manual_extend=*", "config: manual_extend: \"*\": the option takes no value", {"0"}},
    /* words */
    {"node=7 node=*", "config: node: given twice", {"8"}},
    {"node=7 dir=none dir=*", "config: dir: given twice", {"none", "x"}},
    {"twitter *", "config: *: given twice", {"uuid7"}},
    {"twitter layout=*", "config: layout: given twice", {"twitter"}},
    {"seq_scatter *", "config: *: given twice", {"seq_scatter"}},
    {"node=7 *=6", "config: *: no such option",
     {"nod", "node_offset", "partition", "=", /* and of version 0.3: */ "state", "state_dir", "exclusive_dir", "first",
      "count", "wait_ms"}},
    {"*", "config: *: neither a layout nor an option",
     {"start_next_unit", "fail_on_backwards", "=7", "Twitter", "twitte"}}};

TEST(a_refused_text_says_why_and_leaves_no_config) { check_refused(refused, sizeof refused / sizeof *refused, false); }

/* What flake_layout_check rejects, in its words. */
TEST(a_layout_that_cannot_be_is_refused) {
    static const char *const texts[] = {"41-11-13 node=1 dir=none", "0-10-12 node=1 dir=none",
                                        "41-10-12 unit_ms=0 node=1 dir=none", "uuid7 unit_ms=2",
                                        "30-33-1 node=1 dir=none", "ulid epoch_ms=1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        flake_config config;
        flake_why why;
        CHECK_EQ(flake_config_parse(texts[i], &config, &why), FLAKE_INVALID);
        if (strncmp(why.text, "layout: ", 8) != 0) check_fail(__FILE__, __LINE__, why.text);
    }
}

TEST(a_text_that_is_too_long_is_refused) {
    static char text[3000];
    flake_config config;
    flake_why why;
    memset(text, ' ', sizeof text - 1);
    memcpy(text, "node=7 dir=none", 15);
    text[2047] = 0;
    CHECK_EQ(number_of(text), 7);
    text[2047] = ' ';
    text[2048] = 0;
    for (int is_null = 0; is_null < 2; is_null++) {
        CHECK_EQ(flake_config_parse(is_null ? NULL : text, &config, &why), FLAKE_INVALID);
        CHECK_STR(why.text, "config: the text is NULL, or longer than 2047 bytes");
    }
    memset(text, 'x', 1000); /* a long word leaves room for the reason */
    text[1000] = 0;
    CHECK_EQ(flake_config_parse(text, &config, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "xxx: neither a layout nor an option") != NULL);
    CHECK_EQ(strlen(why.text), 128);
    memcpy(text, "node=", 5); /* so does a long value */
    CHECK_EQ(flake_config_parse(text, &config, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "xxx\" is neither a number nor a range FIRST-LAST, from 0 to") != NULL);
    CHECK(strlen(why.text) < sizeof why.text - 1);
}

static const refusal refused_of_sno[] = {
    {"*", UNCHECKED, {"node=7", "node=0-9"}},
    {"*", NO_RANGE, {"node=0-9 dir=none"}},
    {"*", "config: node: exceeds 65535, the largest of a sno",
     {"node=65536 dir=none", "node=65536 dir=x", "node=7-65536 dir=x"}},
    {"*=65536", "config: *: exceeds 65535, the largest of a sno", {"seq_max", "seq_min"}},
    {"*", MISSING, {"dir=none", "dir=x"}},
    {"*", "config: layout: a sno has its own", {"twitter", "39-8-16"}},
    {"*=1577836800000", "config: epoch_ms: a sno has its own", {"epoch_ms"}},
    {"*=4", "config: unit_ms: a sno has its own", {"unit_ms"}},
    {"*=7", "config: *: no such option", {"partition", "state_dir"}}};

/* Without a node the library chooses one. */
TEST(a_snos_node_is_its_partition_and_needs_to_be_checked_too) {
    static sno_gen g;
    flake_config config;
    sno_snapshot pool;
    check_refused(refused_of_sno, sizeof refused_of_sno / sizeof *refused_of_sno, true);
    CHECK_EQ(sno_config_parse("node=65535 dir=none seq_min=3 seq_max=65535 clock=coarse", &config, &pool, NULL),
             FLAKE_OK);
    CHECK_EQ(sno_init(&g, config.node, &pool, &config.options, NULL), FLAKE_OK);
    CHECK_EQ(sno_gen_partition(&g), 65535);
    CHECK_EQ(flake_gen_options(&g.gen)->clock.kind, FLAKE_CLOCK_COARSE);
    CHECK(pool.sequence_min == 3 && pool.sequence_max == 65535);
    CHECK_EQ(sno_config_parse("node=0-65535 dir=x horizon_ms=10", &config, &pool, NULL), FLAKE_OK);
    CHECK(is_node(config.node, flake_node_any("x", 0, 65535)));
    CHECK_EQ(config.options.horizon_ms, 10);
    CHECK_EQ(sno_config_parse("", &config, &pool, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&g, config.node, &pool, &config.options, NULL), FLAKE_OK);
    CHECK(pool.sequence_min == 0 && pool.sequence_max == 0);
}

/* ---- generators of a text ---- */

/* The reason contains these words. */
static void check_says(const flake_why *why, const char *words) {
    if (!strstr(why->text, words)) check_fail(__FILE__, __LINE__, why->text);
}

static void check_not_made(const char *text, const char *words) {
    flake_why why = {""};
    CHECK(flake_new(text, &why) == NULL);
    check_says(&why, words);
    CHECK(flake_new(text, NULL) == NULL);
}

static void check_no_sno_made(const char *text, const char *words) {
    flake_why why = {""};
    CHECK(sno_gen_new(text, &why) == NULL);
    check_says(&why, words);
}

static flake_gen *made(const char *text) {
    flake_why why;
    flake_gen *const g = flake_new(text, &why);
    if (g) return g;
    check_fail(__FILE__, __LINE__, why.text);
    abort();
}

static sno_gen *sno_made(const char *text) {
    flake_why why;
    sno_gen *const g = sno_gen_new(text, &why);
    if (g) return g;
    check_fail(__FILE__, __LINE__, why.text);
    abort();
}

static flake_parts parts_of_next(flake_gen *g) {
    uint64_t id;
    flake_parts parts = {0};
    CHECK_EQ(flake_next(g, &id), FLAKE_OK);
    CHECK_EQ(flake_decompose(&flake_gen_options(g)->layout, id, &parts), FLAKE_OK);
    return parts;
}

static uint64_t node_of(flake_gen *g) { return parts_of_next(g).node; }

TEST(a_generator_is_made_of_a_text) {
    flake_why why;
    flake_gen *g = made("twitter node=7 dir=none max_wait_ms=500");
    CHECK_EQ(flake_gen_options(g)->max_wait_ms, 500);
    CHECK_EQ(node_of(g), 7);
    CHECK_EQ(flake_gen_node(g), 7);
    CHECK_EQ(flake_extend(g, &why), FLAKE_INVALID);
    check_says(&why, "generator: has no directory");
    CHECK_EQ(flake_free(g, &why), FLAKE_OK);
    CHECK_EQ(flake_free(NULL, &why), FLAKE_OK);
    g = made("layout=48-0-16"); /* without a node */
    CHECK_EQ(flake_gen_node(g), UINT64_MAX);
    CHECK_EQ(parts_of_next(g).node, 0);
    CHECK_EQ(flake_free(g, &why), FLAKE_OK);
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

TEST(a_sno_generator_is_made_of_a_text) {
    sno_id id;
    flake_why why;
    sno_gen *g = sno_made("node=4711 dir=none clock=fast seq_min=17 seq_max=30000");
    CHECK_EQ(sno_next(g, 42, &id), FLAKE_OK);
    CHECK_EQ(sno_partition(id), 4711);
    CHECK_EQ(sno_sequence(id), 17);
    CHECK_EQ(flake_gen_options(&g->gen)->clock.kind, FLAKE_CLOCK_FAST);
    CHECK_EQ(flake_extend(&g->gen, &why), FLAKE_INVALID);
    check_says(&why, "generator: has no directory");
    CHECK_EQ(sno_gen_free(g, &why), FLAKE_OK);
    CHECK_EQ(sno_gen_free(NULL, &why), FLAKE_OK);
    g = sno_made("lanes=2"); /* of a partition that the library chooses */
    sno_gen *other = sno_made("");
    CHECK(sno_gen_partition(g) != sno_gen_partition(other));
    CHECK_EQ(sno_gen_free(g, NULL), FLAKE_OK);
    CHECK_EQ(sno_gen_free(other, NULL), FLAKE_OK);
    g = sno_made("seq_min=17 seq_max=30000"); /* the same, with bounds */
    CHECK(sno_next(g, 42, &id) == FLAKE_OK && sno_sequence(id) == 17);
    CHECK_EQ(sno_gen_free(g, NULL), FLAKE_OK);
    CHECK_STR(sno_version(), SNO_VERSION_STRING);
}

TEST(where_none_can_be_made_it_is_null_and_the_reason) {
    check_not_made("node=abc", "config: node: \"abc\" is neither a number nor a range");
    check_not_made("twitter node=1024 dir=none", "node");
    check_not_made("js53 lanes=65535 node=1 dir=none", "lane_count");
    check_not_made("node=1 dir=none epoch_ms=100000000", "epoch_ms"); /* in seconds, from 1973 to 2286 */
    check_not_made("node=1 dir=none epoch_ms=9999999999", "epoch_ms");
    CHECK_EQ(flake_free(made("node=1 dir=none epoch_ms=99999999"), NULL), FLAKE_OK);
    CHECK_EQ(flake_free(made("node=1 dir=none epoch_ms=10000000000"), NULL), FLAKE_OK);
    check_not_made("twitter node=1000-1024 dir=x", "node: 1024 is above 1023");
#ifdef HAS_FILES
    check_not_made("node=1 dir=x horizon_ms=86400001", "options: horizon_ms");
    check_not_made("node=1-9 dir=x must_exist", "options: must_exist is for a fixed number");
#endif
    check_not_made("", MISSING);
    check_no_sno_made("node=7", "config: node is unchecked");
    check_no_sno_made("twitter", "config: layout: a sno has its own");
    check_no_sno_made("max_ahead_ms=7", "must be zero");
    check_no_sno_made("seq_min=1 seq_max=3", "sequence");
    check_no_sno_made("nod=7", "config: nod: no such option");
    check_no_sno_made("node=65536 dir=x", "config: node: exceeds 65535, the largest of a sno");
    for (int left = 0; left < 2; left++) {
        const char *const reason = left ? "config: no memory for lanes" : "config: no memory";
        flake_why why;
        allocations_left = left;
        CHECK(flake_new("node=1 dir=none lanes=2", &why) == NULL);
        CHECK_STR(why.text, reason);
        allocations_left = left;
        CHECK(sno_gen_new("lanes=2", &why) == NULL);
        CHECK_STR(why.text, reason);
    }
    allocations_left = 1000;
}

TEST(options_of_a_directory_need_one) {
    static const char *const words[] = {"claim_wait_ms=1", "horizon_ms=1", "max_downtime_ms=1", "must_exist",
                                        "manual_extend"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char text[64], wanted[64];
        (void)snprintf(text, sizeof text, "node=7 dir=none %s", words[i]);
        (void)snprintf(wanted, sizeof wanted, "options: %.*s needs a directory", (int)strcspn(words[i], "="), words[i]);
        check_not_made(text, wanted);
        check_no_sno_made(text, wanted);
    }
}

/* ---- with a directory ---- */

#ifdef HAS_FILES
static const char *in_dir(const char *form) {
    static char text[256];
    return filled(form, folder, text);
}

static void check_file_is_left(const char *form) { CHECK_EQ(unlink(in_dir(form)), 0); }

TEST(a_directory_that_cannot_be_used_is_null_and_the_reason) {
    check_not_made(in_dir("node=1 dir=*/none/ids"), "/none/ids: cannot be created: ");
    check_not_made(in_dir("node=1 must_exist dir=*/none"), "/none/1.slot: does not exist");
    CHECK_EQ(access(in_dir("*/none"), F_OK), -1);
}

TEST(a_generator_holds_its_number_until_it_is_freed) {
    static flake_gen other;
    const flake_options at_once = {.no_wait = true};
    flake_gen *g = made(in_dir("node=7 dir=* manual_extend"));
    CHECK_EQ(node_of(g), 7);
    CHECK_EQ(flake_gen_node(g), 7);
    CHECK(flake_gen_options(g)->manual_extend && flake_gen_options(g)->horizon_ms == 3000);
    CHECK_EQ(flake_extend(g, NULL), FLAKE_OK);
    CHECK_EQ(flake_init(&other, flake_node_fixed(folder, 7), &at_once, NULL), FLAKE_IN_USE);
    check_not_made(in_dir("node=7 dir=*"), "/7.slot: is in use");
    CHECK_EQ(flake_free(g, NULL), FLAKE_OK);
    CHECK_EQ(flake_init(&other, flake_node_fixed(folder, 7), &at_once, NULL), FLAKE_OK);
    check_not_made(in_dir("node=7 dir=*"), "/7.slot: is in use");
    CHECK_EQ(flake_close(&other, NULL), FLAKE_OK);
    check_file_is_left("*/7.slot");
}

/* Its claim has been begun before the generator is found unfit, or has not: the number is free in any case. */
TEST(a_text_that_is_refused_leaves_its_number_free) {
    static const char *const texts[] = {
        "node=3 dir=* max_wait_ms=9223372036854775807 max_ahead_ms=9223372036854775807",
        "node=3 dir=* lanes=65535 js53", "node=3 dir=* seq_max=5000", "node=3 dir=* lanes=2"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        allocations_left = i == 3 ? 1 : 1000;
        CHECK(flake_new(in_dir(texts[i]), NULL) == NULL);
        allocations_left = 1000;
        CHECK_EQ(access(in_dir("*/3.slot"), F_OK), -1);
    }
}

/* In a signal handler that interrupted a write of the file: here the same thread does both. */
TEST(a_generator_that_cannot_be_closed_now_still_exists) {
    flake_why why;
    flake_gen *g = made(in_dir("node=4 dir=*"));
    CHECK(flake_i_try_lock_writer(&g->claim));
    CHECK_EQ(flake_free(g, &why), FLAKE_AGAIN);
    check_says(&why, "this signal handler interrupted a write");
    flake_i_unlock_writer(&g->claim);
    CHECK_EQ(node_of(g), 4);
    CHECK_EQ(flake_free(g, NULL), FLAKE_OK);
    check_file_is_left("*/4.slot");
}

/* A child frees its copy, and the parent's is unchanged. */
TEST(a_child_frees_what_it_inherited) {
    uint64_t id;
    int ended = -1;
    flake_gen *g = made(in_dir("node=3 dir=*"));
    const pid_t child = fork();
    if (child == 0) _exit(flake_next(g, &id) == FLAKE_FORKED && flake_free(g, NULL) == FLAKE_OK ? 0 : 1);
    CHECK_EQ(waitpid(child, &ended, 0), child);
    CHECK_EQ(ended, 0);
    check_not_made(in_dir("node=3 dir=*"), "/3.slot: is in use");
    CHECK_EQ(node_of(g), 3);
    CHECK_EQ(flake_free(g, NULL), FLAKE_OK);
    check_file_is_left("*/3.slot");
}

TEST(a_sno_generator_holds_its_partition) {
    sno_id id;
    for (unsigned partition = 0; partition < 2; partition++) { /* 0 is one, too */
        const char *const text = in_dir(partition ? "node=1 dir=*" : "node=0 dir=*");
        sno_gen *g = sno_made(text);
        CHECK_EQ(sno_gen_partition(g), partition);
        CHECK(sno_next(g, 1, &id) == FLAKE_OK && sno_partition(id) == partition);
        CHECK_EQ(flake_extend(&g->gen, NULL), FLAKE_OK);
        check_no_sno_made(text, ".slot: is in use");
        CHECK_EQ(sno_gen_free(g, NULL), FLAKE_OK);
    }
    check_file_is_left("*/0.slot");
    check_file_is_left("*/1.slot");
}
#endif

int main(int argc, char **argv) {
#ifdef HAS_FILES
    check_before = begin_folder;
    check_after = end_folder;
#endif
    return check_main(argc, argv);
}
