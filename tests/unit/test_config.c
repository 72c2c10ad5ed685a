/* SPDX-License-Identifier: MIT
 *
 * Configuration as text: flake_config_parse, and the calls of the shared library that make generators of a
 * text. tests/scripts/library.sh checks that each option has its word.
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

TEST(each_word_sets_its_field) {
    static const char all[] =
        "twitter node=7 node_offset=1 seq_min=2 seq_max=3 lanes=8 single_thread clock=fast "
        "max_wait_ms=4 max_ahead_ms=5 fail_on_backwards seq_scatter exclusive_dir=/run/app "
        "start_next_unit partition=65535 state=/var/ids first=6 count=9 horizon_ms=10 "
        "max_downtime_ms=11 wait_ms=12 must_exist no_wait manual_extend";
    CHECK_EQ(parse(all), FLAKE_OK);
    const flake_options *o = &config.options;
    CHECK_STR(o->layout.name, "twitter");
    CHECK_EQ(o->layout.epoch_ms, flake_layout_twitter.epoch_ms);
    CHECK(config.has_node && o->node == 7 && o->node_offset == 1 && o->seq_min == 2 &&
          o->seq_max == 3);
    CHECK(o->lane_count == 8 && o->lanes == NULL);
    CHECK(o->single_thread && o->fail_on_backwards && o->seq_scatter && o->start_next_unit);
    CHECK_EQ(o->clock.kind, FLAKE_CLOCK_FAST);
    CHECK(o->max_wait_ms == 4 && o->max_ahead_ms == 5);
    CHECK_STR(o->exclusive_dir, "/run/app");
    CHECK_EQ(config.partition, 65535);
    const flake_state_options *where = &config.state;
    CHECK_STR(where->path, "/var/ids");
    CHECK(where->dir == NULL);
    CHECK(where->first == 6 && where->count == 9);
    CHECK(where->horizon_ms == 10 && where->max_downtime_ms == 11 && where->wait_ms == 12);
    CHECK(where->must_exist && where->no_wait && where->manual_extend);
}

/* Options that no word sets are as in zeroed options. */
TEST(an_empty_text_is_all_defaults) {
    static const flake_options none;
    static const flake_state_options nowhere;
    CHECK_EQ(parse(""), FLAKE_OK);
    CHECK(memcmp(&config.options, &none, sizeof none) == 0);
    CHECK(memcmp(&config.state, &nowhere, sizeof nowhere) == 0);
    CHECK_EQ(config.partition, -1);
    CHECK(!config.has_node);
    CHECK_EQ(parse("node_offset=7 twitter"), FLAKE_OK);
    CHECK(!config.has_node);
    CHECK_EQ(parse(" \t\r\n"), FLAKE_OK);
    CHECK(memcmp(&config.options, &none, sizeof none) == 0);
    CHECK_EQ(flake_config_parse("node=3", &config, NULL), FLAKE_OK);
    CHECK_EQ(config.options.node, 3);
    CHECK_EQ(parse(""), FLAKE_OK); /* nothing remains of an earlier text */
    CHECK_EQ(config.options.node, 0);
}

TEST(blanks_and_line_ends_separate_words) {
    CHECK_EQ(parse("\n node=3\ttwitter\r\n\r\nclock=coarse\n seq_max=9 "), FLAKE_OK);
    CHECK_EQ(config.options.node, 3);
    CHECK_STR(config.options.layout.name, "twitter");
    CHECK_EQ(config.options.clock.kind, FLAKE_CLOCK_COARSE);
    CHECK_EQ(config.options.seq_max, 9);
    CHECK_EQ(parse("clock=exact"), FLAKE_OK);
    CHECK_EQ(config.options.clock.kind, FLAKE_CLOCK_EXACT);
}

TEST(a_layout_needs_no_name_in_front) {
    char text[64];
    flake_layout l;
    size_t n = 0;
    for (; flake_layout_at(n, &l) == FLAKE_OK; n++) {
        CHECK_EQ(parse(l.name), FLAKE_OK);
        CHECK(memcmp(&config.options.layout, &l, sizeof l) == 0);
        (void)snprintf(text, sizeof text, "node=0 layout=%s", l.name);
        CHECK_EQ(parse(text), FLAKE_OK);
        CHECK(memcmp(&config.options.layout, &l, sizeof l) == 0);
    }
    CHECK(n > 10);
}

TEST(a_value_with_blanks_is_in_quotes) {
    CHECK_EQ(parse("state=\"/var/my ids/a=b\" node=\"7\" exclusive_dir=\"x\""), FLAKE_OK);
    CHECK_STR(config.state.path, "/var/my ids/a=b");
    CHECK_EQ(config.options.node, 7);
    CHECK_STR(config.options.exclusive_dir, "x");
    CHECK_EQ(parse("state_dir=a\"b\nnode_offset=1"), FLAKE_OK); /* only a leading quote opens one */
    CHECK_STR(config.state.dir, "a\"b");
    CHECK_EQ(config.options.node_offset, 1);
    CHECK_EQ(parse("exclusive_dir=a=b"), FLAKE_OK);
    CHECK_STR(config.options.exclusive_dir, "a=b");
}

TEST(the_largest_numbers_are_read) {
    static const char all[] =
        "node=18446744073709551614 node_offset=4294967295 seq_max=4294967295 lanes=65535 "
        "max_wait_ms=9223372036854775807 partition=0";
    CHECK_EQ(parse(all), FLAKE_OK);
    CHECK(config.options.node == UINT64_MAX - 1 && config.options.node_offset == UINT32_MAX);
    CHECK(config.options.seq_max == UINT32_MAX && config.options.lane_count == 65535);
    CHECK_EQ(config.options.max_wait_ms, INT64_MAX);
    CHECK_EQ(config.partition, 0);
    static const char *const largest[] = {"9223372036854775807", "4294967295", "65535"};
    static const char *const of[][5] = {
        {"max_wait_ms", "max_ahead_ms", "horizon_ms", "max_downtime_ms", "wait_ms"},
        {"node_offset", "seq_min", "seq_max", "first", "count"},
        {"lanes", "partition"}};
    for (size_t i = 0; i < 15; i++) {
        char text[64];
        if (!of[i / 5][i % 5]) continue;
        (void)snprintf(text, sizeof text, "state=x %s=%s", of[i / 5][i % 5], largest[i / 5]);
        CHECK_EQ(parse(text), FLAKE_OK);
        text[strlen(text) - 1]++;
        CHECK_EQ(parse(text), FLAKE_INVALID);
    }
}

TEST(what_is_wrong_is_told_by_its_word) {
    static const char *const refused[][2] = {
        {"node=abc", "config: node: \"abc\" is not a number from 0 to 18446744073709551614; words "
                     "are separated by blanks"},
        {"node=-1", "config: node: \"-1\" is not a number from 0 to 18446744073709551614; words "
                    "are separated by blanks"},
        {"node=18446744073709551615", "config: node: \"18446744073709551615\" is not a number from "
                                      "0 to 18446744073709551614; words are separated by blanks"},
        {"node=0x1f", "config: node: \"0x1f\" is not a number from 0 to 18446744073709551614; "
                      "words are separated by blanks"},
        {"seq_min=4294967296", "config: seq_min: \"4294967296\" is not a number from 0 to "
                               "4294967295; words are separated by blanks"},
        {"partition=4294967303", "config: partition: \"4294967303\" is not a number from 0 to "
                                 "65535; words are separated by blanks"},
        {"node=7 node=8", "config: node: given twice"},
        {"twitter uuid7", "config: uuid7: given twice"},
        {"twitter layout=twitter", "config: layout: given twice"},
        {"seq_scatter seq_scatter", "config: seq_scatter: given twice"},
        {"node", "config: node: needs a value"},
        {"node=", "config: node: needs a value"},
        {"exclusive_dir=\"\"", "config: exclusive_dir: needs a value"},
        {"layout", "config: layout: needs a value"},
        {"node=7,lanes=2", "config: node: \"7,lanes=2\" is not a number from 0 to "
                           "18446744073709551614; words are separated by blanks"},
        {"exclusive_dir", "config: exclusive_dir: needs a value"},
        {"single_thread=yes", "config: single_thread: \"yes\": the option takes no value"},
        {"no_wait= state=x", "config: no_wait: \"\": the option takes no value"},
        {"nod=7", "config: nod: no such option"},
        {"node =7", "config: node: needs a value"},
        {"=7", "config: =7: neither a layout nor an option"},
        {"==7", "config: =: no such option"},
        {"Twitter", "config: Twitter: neither a layout nor an option"},
        {"twitte", "config: twitte: neither a layout nor an option"},
        {"layout=twitte", "config: layout: \"twitte\" is not a layout"},
        {"clock=slow", "config: clock: \"slow\" is not exact, fast or coarse"},
        {"clock=fast2", "config: clock: \"fast2\" is not exact, fast or coarse"},
        {"state=\"/x y", "config: state: the value needs a second quote, and a blank after it"},
        {"state=\"/x\"y", "config: state: the value needs a second quote, and a blank after it"},
        {"state=x state_dir=y", "config: state_dir: state is given, too"},
        {"state_dir=y node=7", "config: node: state_dir claims the number"},
        {"state_dir=y partition=7", "config: partition: state_dir claims the number"},
        {"horizon_ms=5", "config: horizon_ms: needs state or state_dir"},
        {"node=1 manual_extend", "config: manual_extend: needs state or state_dir"},
        {"first=1", "config: first: needs state or state_dir"}};
    static flake_gen g;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        CHECK_EQ(parse(refused[i][0]), FLAKE_INVALID);
        CHECK_STR(why.text, refused[i][1]);
        /* a program that ignores all statuses draws nothing */
        CHECK_EQ(flake_init(&g, &config.options, NULL), FLAKE_INVALID);
        CHECK_EQ(flake_config_parse(refused[i][0], &config, NULL), FLAKE_INVALID);
        config.options.seq_min = 0; /* what init refuses */
        CHECK(is_zero(&config, sizeof config));
    }
}

TEST(a_text_that_is_too_long_is_refused) {
    static char text[3000];
    memset(text, ' ', sizeof text - 1);
    memcpy(text, "node=7", 6);
    text[2047] = 0;
    CHECK_EQ(parse(text), FLAKE_OK);
    CHECK_EQ(config.options.node, 7);
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
    CHECK_EQ(strlen(why.text), 140);
    memcpy(text, "node=", 5); /* so does a long value */
    CHECK_EQ(parse(text), FLAKE_INVALID);
    CHECK(strstr(why.text, "xxx\" is not a number from 0 to 18446744073709551614; words are") !=
          NULL);
    CHECK(strlen(why.text) < sizeof why.text - 1);
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
    flake_gen *g = made("twitter node=7 max_wait_ms=500");
    CHECK_EQ(flake_gen_options(g)->max_wait_ms, 500);
    CHECK_EQ(node_of(g), 7);
    CHECK_EQ(flake_extend(g, &why), FLAKE_INVALID); /* there is no state */
    CHECK_EQ(flake_free(g, &why), FLAKE_OK);
    CHECK_EQ(flake_free(NULL, &why), FLAKE_OK);
    CHECK_STR(flake_version(), FLAKE_VERSION_STRING);
}

TEST(its_lanes_are_made_too) {
    uint64_t id;
    flake_gen *g = made("lanes=4");
    CHECK(flake_gen_options(g)->lane_count == 4 && flake_gen_options(g)->lanes != NULL);
    CHECK_EQ(flake_try_at(g, 0, &id), FLAKE_INVALID);
    CHECK_EQ(node_of(g), 0);
    CHECK_EQ(flake_free(g, NULL), FLAKE_OK);
}

TEST(what_cannot_be_made_is_null_and_why) {
    refuses("node=abc", "config: node: \"abc\" is not a number");
    refuses("twitter node=1024", "node");
    refuses("js53 lanes=65535", "lane_count");
    refuses("partition=7", "config: partition: only of a sno_gen");
    allocations_left = 0;
    CHECK(flake_new("lanes=2", &why) == NULL);
    CHECK_STR(why.text, "config: no memory");
    allocations_left = 1;
    CHECK(flake_new("lanes=2", &why) == NULL);
    CHECK_STR(why.text, "config: no memory for lanes");
    allocations_left = 0;
    CHECK(sno_gen_new("partition=2", &why) == NULL);
    allocations_left = 1000;
}

TEST(a_sno_generator_is_made_of_a_text) {
    static const char *const refused[][2] = {{"node=7", "must be zero"},
                                             {"twitter", "must be zero"},
                                             {"seq_max=7", "must be zero"},
                                             {"nod=7", "config: nod: no such option"}};
    sno_id id;
    sno_gen *g = sno_gen_new("partition=4711 clock=fast", &why);
    CHECK(g != NULL);
    CHECK_EQ(sno_next(g, 42, &id), FLAKE_OK);
    CHECK_EQ(sno_partition(id), 4711);
    CHECK_EQ(flake_gen_options(&g->gen)->clock.kind, FLAKE_CLOCK_FAST);
    CHECK_EQ(sno_gen_extend(g, &why), FLAKE_INVALID);
    CHECK_EQ(sno_gen_free(g, &why), FLAKE_OK);
    CHECK_EQ(sno_gen_free(NULL, &why), FLAKE_OK);
    g = sno_gen_new("lanes=2", &why); /* of a partition that the library chooses */
    sno_gen *other = sno_gen_new("", &why);
    CHECK(g && other && sno_gen_partition(g) != sno_gen_partition(other));
    CHECK_EQ(sno_gen_free(g, NULL), FLAKE_OK);
    CHECK_EQ(sno_gen_free(other, NULL), FLAKE_OK);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        CHECK(sno_gen_new(refused[i][0], &why) == NULL);
        says(refused[i][1]);
    }
    CHECK_STR(sno_version(), SNO_VERSION_STRING);
}

/* ---- with files ---- */

#ifdef HAS_FILES
static char dir[] = "/tmp/config-XXXXXX";

static const char *in_dir(const char *format) {
    static char text[256];
    (void)snprintf(text, sizeof text, format, dir);
    return text;
}

TEST(a_state_that_cannot_be_opened_is_null_and_why) {
    refuses(in_dir("state=%s/none/ids"), "/none/ids");
    refuses(in_dir("state_dir=%s/none"), "/none");
}

TEST(its_state_is_opened_extended_and_closed) {
    flake_state_options where = {0};
    static flake_state state;
    flake_options options = {0};
    char path[64];
    uint64_t id;
    (void)snprintf(path, sizeof path, "%s/ids", dir);
    flake_gen *g = made(in_dir("node=7 state=%s/ids manual_extend"));
    CHECK_EQ(flake_next(g, &id), FLAKE_OK);
    CHECK(flake_gen_options(g)->state != NULL);
    CHECK_EQ(flake_extend(g, &why), FLAKE_OK);
    where.path = path;
    options.node = 7;
    CHECK_EQ(flake_state_open(&state, &where, &options, NULL, NULL), FLAKE_IN_USE);
    refuses(in_dir("node=7 state=%s/ids"), "/ids: ");
    CHECK_EQ(flake_free(g, &why), FLAKE_OK);
    options.node = 8; /* it is node 7's */
    CHECK_EQ(flake_state_open(&state, &where, &options, NULL, NULL), FLAKE_MISMATCH);
    options.node = 7;
    CHECK_EQ(flake_state_open(&state, &where, &options, NULL, NULL), FLAKE_OK);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
    CHECK_EQ(unlink(path), 0);
}

TEST(a_number_is_claimed_in_a_directory) {
    flake_gen *one = made(in_dir("state_dir=%s first=5 count=2"));
    flake_gen *two = made(in_dir("state_dir=%s first=5 count=2"));
    CHECK(flake_new(in_dir("state_dir=%s first=5 count=2"), &why) == NULL);
    CHECK(node_of(one) == 5 && node_of(two) == 6);
    CHECK_EQ(flake_free(one, NULL), FLAKE_OK);
    one = made(in_dir("state_dir=%s first=5 count=2 wait_ms=5000")); /* it is free again */
    CHECK_EQ(node_of(one), 5);
    CHECK_EQ(flake_free(one, NULL), FLAKE_OK);
    CHECK_EQ(flake_free(two, NULL), FLAKE_OK);
    CHECK_EQ(unlink(in_dir("%s/5.slot")), 0);
    CHECK_EQ(unlink(in_dir("%s/6.slot")), 0);
}

TEST(exclusive_numbers_are_released) {
    const char *text = in_dir("twitter node=9 exclusive_dir=%s");
    for (int i = 0; i < 2; i++) {
        flake_gen *g = made(text);
        refuses(text, "in use");
        CHECK_EQ(flake_free(g, NULL), FLAKE_OK);
    }
}

/* A child frees its copy, and the parent's is unchanged. */
TEST(a_child_frees_what_it_inherited) {
    uint64_t id;
    int ended = -1;
    flake_gen *g = made(in_dir("node=3 state=%s/fork"));
    const pid_t child = fork();
    if (child == 0)
        _exit(flake_next(g, &id) == FLAKE_FORKED && flake_free(g, NULL) == FLAKE_FORKED ? 0 : 1);
    CHECK_EQ(waitpid(child, &ended, 0), child);
    CHECK_EQ(ended, 0);
    CHECK_EQ(flake_next(g, &id), FLAKE_OK);
    CHECK_EQ(flake_free(g, NULL), FLAKE_OK);
    CHECK_EQ(unlink(in_dir("%s/fork")), 0);
}

TEST(a_sno_generator_has_its_state) {
    for (unsigned partition = 0; partition < 2; partition++) { /* 0 is one, too */
        char text[128];
        (void)snprintf(text, sizeof text, "partition=%u state=%s/snos", partition, dir);
        sno_gen *g = sno_gen_new(text, &why);
        CHECK(g && sno_gen_partition(g) == partition);
        if (!g) return;
        CHECK(flake_gen_options(&g->gen)->state != NULL);
        CHECK_EQ(sno_gen_extend(g, &why), FLAKE_OK);
        CHECK(sno_gen_new(text, &why) == NULL);
        CHECK_EQ(sno_gen_free(g, &why), FLAKE_OK);
        g = sno_gen_new(in_dir("state=%s/snos"), &why); /* the file's */
        CHECK(g && sno_gen_partition(g) == partition);
        CHECK_EQ(sno_gen_free(g, &why), FLAKE_OK);
        CHECK_EQ(unlink(in_dir("%s/snos")), 0);
    }
    sno_gen *g = sno_gen_new(in_dir("state_dir=%s first=77"), &why);
    CHECK(g && sno_gen_partition(g) == 77);
    CHECK_EQ(sno_gen_free(g, &why), FLAKE_OK);
    CHECK_EQ(unlink(in_dir("%s/77.slot")), 0);
    CHECK(sno_gen_new(in_dir("state_dir=%s first=65536"), &why) == NULL);
    CHECK_STR(why.text, "config: first: exceeds 65535 partitions");
    CHECK_EQ(unlink(in_dir("%s/65536.slot")), 0);
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
