/* SPDX-License-Identifier: MIT
 *
 * What a shared library has for other languages: options set by name, sizes, the version. That
 * it exports them, and that no field is forgotten, is judged by tests/library.sh.
 */
#define FLAKE_SHARED
#define FLAKE_IMPLEMENTATION
#include "check.h"
#include "flake.h"
#include "sno.h"
#include "options.h"

static flake_options options;
static flake_state_options where;
static sno_snapshot snapshot;
static flake_why why;

static void clear_options(void) {
    memset(&options, 0, sizeof options);
    memset(&where, 0, sizeof where);
    memset(&snapshot, 0, sizeof snapshot);
}

#define SETS(member, text, wanted)                                            \
    do {                                                                      \
        CHECK_EQ(flake_options_set(&options, #member, text, &why), FLAKE_OK); \
        CHECK_EQ(options.member, wanted);                                     \
    } while (0)

static void a_number_goes_to_its_field(void) {
    clear_options();
    SETS(node, "7", 7);
    SETS(node_offset, "4294967295", UINT32_MAX);
    SETS(seq_min, "0", 0);
    SETS(seq_max, "0012", 12);
    SETS(max_ahead_ms, "9223372036854775807", INT64_MAX);
    SETS(max_wait_ms, "1500", 1500);
    SETS(layout.epoch_ms, "1700000000000", 1700000000000);
    SETS(layout.epoch_ms, "-5", -5); /* before 1970 */
    SETS(layout.epoch_ms, "-9223372036854775808", INT64_MIN);
    SETS(layout.epoch_ms, "-0", 0);
    SETS(layout.unit_ms, "10", 10);
    SETS(layout.time_bits, "255", 255);
    SETS(layout.gap_bit, "1", 1);
    SETS(layout.time_sign, "1", 1);
    CHECK_EQ(options.layout.time_shift, 0); /* nothing beside it */
    CHECK_EQ(options.layout.gap_at, 0);
    CHECK_EQ(flake_state_options_set(&where, "horizon_ms", "5000", &why), FLAKE_OK);
    CHECK_EQ(where.horizon_ms, 5000);
    CHECK_EQ(flake_state_options_set(&where, "count", "16", &why), FLAKE_OK);
    CHECK_EQ(where.count, 16);
    CHECK_EQ(sno_snapshot_set(&snapshot, "partition", "65535", NULL), FLAKE_OK);
    CHECK_EQ(snapshot.partition, 65535);
    CHECK_EQ(snapshot.sequence_min, 0);
    CHECK_EQ(sno_snapshot_set(&snapshot, "wall_safe", "-1", NULL), FLAKE_OK);
    CHECK_EQ(snapshot.wall_safe, -1);
}

static void a_word_stands_for_a_value(void) {
    clear_options();
    SETS(seq_scatter, "true", true);
    SETS(seq_scatter, "false", false);
    SETS(fail_on_backwards, "true", true);
    SETS(form, "boundary", FORM_BOUNDARY);
    SETS(form, "uuid7", FORM_UUID7);
    SETS(form, "uuid7_node", FORM_UUID7_NODE);
    SETS(form, "uuid8", FORM_UUID8);
    SETS(form, "ulid", FORM_ULID);
    SETS(clock.kind, "coarse", FLAKE_CLOCK_COARSE);
    SETS(clock.kind, "fast", FLAKE_CLOCK_FAST);
    SETS(clock.kind, "exact", FLAKE_CLOCK_EXACT);
    CHECK_EQ(flake_options_set(&options, "layout", "sonyflake", &why), FLAKE_OK);
    CHECK_STR(options.layout.name, "sonyflake");
    CHECK_EQ(flake_state_options_set(&where, "manual_extend", "true", &why), FLAKE_OK);
    CHECK(where.manual_extend);
}

static int64_t no_time(void *user) { return *(int64_t *)user; }

static void texts_and_pointers_are_kept_as_they_are(void) {
    static const char folder[] = "/run/app";
    static flake_state state;
    int64_t (*const read)(void *) = no_time;
    const void *code;
    clear_options();
    CHECK_EQ(flake_options_set(&options, "exclusive", folder, &why), FLAKE_OK);
    CHECK(options.exclusive_dir == folder);
    CHECK_EQ(flake_state_options_set(&where, "path", folder, &why), FLAKE_OK);
    CHECK(where.path == folder);
    CHECK_EQ(flake_state_options_set(&where, "dir", folder, &why), FLAKE_OK);
    CHECK(where.dir == folder);
    CHECK_EQ(flake_options_point(&options, "state", &state, &why), FLAKE_OK);
    CHECK(options.state == &state);
    CHECK_EQ(flake_options_point(&options, "state", NULL, &why), FLAKE_OK);
    CHECK(options.state == NULL);
    memcpy(&code, &read, sizeof code);
    CHECK_EQ(flake_options_point(&options, "clock.now_ns", code, &why), FLAKE_OK);
    CHECK(options.clock.now_ns == no_time);
    CHECK_EQ(flake_options_point(&options, "clock.user", &state, &why), FLAKE_OK);
    CHECK(options.clock.user == &state);
}

static void what_does_not_fit_is_refused_and_changes_nothing(void) {
    static const char *const bad[][2] = {{"node", ""},
                                         {"node", "-1"},
                                         {"node", "+1"},
                                         {"node", " 1"},
                                         {"node", "1 "},
                                         {"node", "0x1"},
                                         {"node", "7.0"},
                                         {"node", "4294967296"},
                                         {"layout.gap_at", "256"},
                                         {"max_wait_ms", "9223372036854775808"},
                                         {"max_wait_ms", "99999999999999999999"},
                                         {"layout.epoch_ms", "-9223372036854775809"},
                                         {"layout.epoch_ms", "-"},
                                         {"layout.epoch_ms", "--5"},
                                         {"layout.epoch_ms", "-+5"},
                                         {"layout.gap_at", "-1"},
                                         {"clock.kind", "-1"},
                                         {"seq_scatter", "1"},
                                         {"seq_scatter", "True"},
                                         {"seq_scatter", ""},
                                         {"form", "uuid4"},
                                         {"clock.kind", "2"},
                                         {"layout", "idgem"}};
    static const flake_options zero;
    clear_options();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_EQ(flake_options_set(&options, bad[i][0], bad[i][1], &why), FLAKE_PARSE);
    CHECK_EQ(flake_options_set(&options, "nodes", "1", &why), FLAKE_INVALID);
    CHECK_EQ(flake_options_set(&options, "", "1", &why), FLAKE_INVALID);
    CHECK_EQ(flake_options_set(&options, NULL, "1", &why), FLAKE_INVALID);
    CHECK_EQ(flake_options_set(&options, "node", NULL, &why), FLAKE_INVALID);
    CHECK_EQ(flake_options_set(&options, "layout", NULL, &why), FLAKE_INVALID);
    CHECK_EQ(flake_options_set(&options, "exclusive", NULL, &why), FLAKE_INVALID);
    CHECK_EQ(flake_options_set(&options, "state", "1", &why), FLAKE_INVALID);
    CHECK_EQ(flake_options_point(&options, "node", &options, &why), FLAKE_INVALID);
    CHECK_EQ(flake_options_point(&options, "exclusive", &options, &why), FLAKE_INVALID);
    CHECK_EQ(flake_options_point(&options, "layout", &options, &why), FLAKE_INVALID);
    CHECK_EQ(flake_options_point(&options, NULL, &options, &why), FLAKE_INVALID);
    CHECK(memcmp(&options, &zero, sizeof zero) == 0);
    CHECK_EQ(flake_options_set(NULL, "node", "1", &why), FLAKE_INVALID);
    CHECK_EQ(flake_options_set(NULL, "layout", "idgen", &why), FLAKE_INVALID);
    CHECK_EQ(flake_options_point(NULL, "state", NULL, &why), FLAKE_INVALID);
    CHECK_EQ(flake_state_options_set(&where, "path", NULL, &why), FLAKE_INVALID);
    CHECK_EQ(flake_state_options_set(&where, "dir", NULL, &why), FLAKE_INVALID);
    CHECK_EQ(sno_snapshot_set(&snapshot, "partition", "65536", NULL), FLAKE_PARSE);
    CHECK_EQ(sno_snapshot_set(&snapshot, "partition", "7 ", NULL), FLAKE_PARSE);
    CHECK_EQ(sno_snapshot_set(&snapshot, "partition", "-7", NULL), FLAKE_PARSE);
    CHECK_EQ(sno_snapshot_set(&snapshot, "partition", "", NULL), FLAKE_PARSE);
    CHECK_EQ(sno_snapshot_set(&snapshot, "partition", NULL, NULL), FLAKE_INVALID);
}

static void refused(const char *name, const char *value, const char *text) {
    memset(&why, 0, sizeof why);
    CHECK(flake_options_set(&options, name, value, &why) != FLAKE_OK);
    CHECK_STR(why.text, text);
}

static void why_names_the_option(void) {
    flake_why words;
    clear_options();
    refused("nodes", "1", "nodes: there is no such option");
    refused("node", "-1", "node: is no decimal number, or too large");
    refused("node", NULL, "node: has no value");
    refused("form", "uuid4", "form: has no such value");
    refused("layout", "idgem", "idgem: is no layout's name");
    refused("state", "1", "state: is a pointer: a call that ends in _point sets it");
    refused(NULL, "1", "options or name: is missing");
    CHECK_EQ(flake_options_point(&options, "node", &options, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "node: is no pointer");
    CHECK_EQ(flake_options_set(&options, "node", "x", NULL), FLAKE_PARSE); /* who doesn't ask */
    CHECK_EQ(sno_snapshot_set(&snapshot, "partition", "70000", &words), FLAKE_PARSE);
    CHECK_STR(words.text, "partition: is no decimal number, or too large");
}

static void a_generator_is_made_by_names_alone(void) {
    flake_parts parts;
    uint64_t id = 0;
    flake_layout twitter;
    void *const made = calloc(1, flake_sizeof_options()), *const gen =
                                                              calloc(1, flake_sizeof_gen());
    CHECK_EQ(flake_options_set((flake_options *)made, "layout", "twitter", NULL), FLAKE_OK);
    CHECK_EQ(flake_options_set((flake_options *)made, "node", "7", &why), FLAKE_OK);
    CHECK_EQ(flake_init((flake_gen *)gen, (flake_options *)made, NULL), FLAKE_OK);
    CHECK_EQ(flake_next((flake_gen *)gen, &id), FLAKE_OK);
    CHECK_EQ(flake_layout_named("twitter", &twitter), FLAKE_OK);
    CHECK_EQ(flake_decompose(&twitter, id, &parts), FLAKE_OK);
    CHECK_EQ(parts.node, 7);
    CHECK_STR(flake_version(), FLAKE_VERSION_STRING);
    CHECK_STR(sno_version(), SNO_VERSION_STRING);
    free(made);
    free(gen);
}

int main(int argc, char **argv) {
    static const check_test all[] = {CHECK_TEST(a_number_goes_to_its_field),
                                     CHECK_TEST(a_word_stands_for_a_value),
                                     CHECK_TEST(texts_and_pointers_are_kept_as_they_are),
                                     CHECK_TEST(what_does_not_fit_is_refused_and_changes_nothing),
                                     CHECK_TEST(why_names_the_option),
                                     CHECK_TEST(a_generator_is_made_by_names_alone)};
    return CHECK_MAIN(argc, argv, all);
}
