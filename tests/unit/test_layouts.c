/* SPDX-License-Identifier: MIT
 *
 * Layouts (flake.h, >>layouts): the ids of other libraries, the fields of the layouts that the header has, each up to
 * its first and its last ms, and which layouts an init takes. (Random layouts and ids: test_random_text.c; their
 * generators, and clocks outside a layout: test_random_flake.c.)
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#include "support.h"
#include <limits.h>
#include "flake.h"
#include "options.h"

static flake_gen gen;

static const int64_t last_clock_ms = INT64_MAX / 1000000;

static flake_options on_script(flake_layout layout) {
    flake_options o = options_of_flake(0, 0, script_read, &script_now);
    o.layout = layout;
    return o;
}

static uint64_t ones(unsigned bits) { return bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX; }

static flake_parts parts_of(int64_t unix_ms, uint64_t node, uint64_t seq) {
    const flake_parts p = {unix_ms, node, (uint32_t)seq};
    return p;
}

/* The ID bit by bit, as the layout's comments describe it. */
static uint64_t id_by_bits(const flake_layout *l, uint64_t time, uint64_t node, uint64_t seq) {
    uint64_t id = 0;
    for (unsigned b = 0; b < l->time_bits; b++) {
        unsigned at = l->time_reversed ? l->time_bits - 1u - b : b;
        id |= (time >> b & 1) << (l->time_shift + at);
    }
    for (unsigned b = 0; b < l->node_bits; b++) {
        unsigned at = l->gap_at && b >= l->gap_at ? b + 1 : b;
        id |= (node >> b & 1) << (l->node_shift + at);
    }
    if (l->gap_at) id |= (uint64_t)l->gap_bit << (l->node_shift + l->gap_at);
    for (unsigned b = 0; b < l->seq_bits; b++) id |= (seq >> b & 1) << (l->seq_shift + b);
    return id;
}

static void check_parts(const flake_layout *l, uint64_t id, int64_t unix_ms, uint64_t node, uint64_t seq) {
    flake_parts p = parts_of(0, 77, 77);
    CHECK_EQ(flake_decompose(l, id, &p), FLAKE_OK);
    CHECK_EQ(p.unix_ms, unix_ms);
    CHECK_EQ(p.node, node);
    CHECK_EQ(p.seq, seq);
}

/* One ID, composed and decomposed. */
static void check_id(const flake_layout *l, uint64_t id, int64_t unix_ms, uint64_t node, uint64_t seq) {
    uint64_t composed = ~id;
    flake_parts p = parts_of(unix_ms, node, seq);
    CHECK_EQ(flake_compose(l, &p, &composed), FLAKE_OK);
    CHECK_EQ(composed, id);
    check_parts(l, id, unix_ms, node, seq);
}

/* The ID that a fresh generator draws after `before` others at this time. */
static void check_drawn(uint64_t node, const flake_options *o, uint64_t id, int64_t unix_ms, uint64_t before) {
    for (int waits = 0; waits < 2; waits++) {
        uint64_t drawn = 0;
        script_at_ms(unix_ms);
        CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, node), o, NULL), FLAKE_OK);
        for (uint64_t i = 0; i <= before; i++)
            CHECK_EQ(waits ? flake_next(&gen, &drawn) : flake_try(&gen, &drawn), FLAKE_OK);
        CHECK_EQ(drawn, id);
    }
    CHECK_EQ(script_now.sleeps, 0);
}

/* An ID of a peer. */
static void check_vector(const flake_layout *l, uint64_t id, int64_t unix_ms, uint64_t node, uint64_t seq) {
    const flake_options o = on_script(*l);
    check_id(l, id, unix_ms, node, seq);
    check_drawn(node, &o, id, unix_ms, seq);
}

/* ---- the peers' IDs ---- */

static uint64_t from_hex(const char *hex) { return (uint64_t)strtoull(hex, NULL, 16); }
static int64_t from_dec(const char *dec) { return (int64_t)strtoll(dec, NULL, 10); }

static void idgen_row(char **field) {
    const int64_t now_ms = from_dec(field[0]);
    const unsigned datacenter = (unsigned)from_dec(field[2]), worker = (unsigned)from_dec(field[3]);
    const uint64_t counter = (uint64_t)from_dec(field[4]), id = from_hex(field[5]);
    flake_layout l = flake_layout_idgen;
    l.epoch_ms = from_dec(field[1]);
    const uint64_t node = flake_idgen_node(datacenter, worker);
    CHECK_EQ(id, strtoull(field[6], NULL, 10));
    CHECK_EQ(node >> 5, datacenter);
    CHECK_EQ(node & 31, worker);
    check_vector(&l, id, now_ms, node, counter);
}

TEST(flake_idgens_ids_come_out) { vectors_read("idgen.tsv", 9, idgen_row); }

TEST(the_ids_on_flake_idgens_page_come_out) {
    const flake_layout l = flake_layout_idgen;
    check_vector(&l, 0x02308150ec000000, 0x8c20543b0, flake_idgen_node(0, 0), 0);
    check_vector(&l, 0x02308300cd461003, 0x8c20c0335, flake_idgen_node(3, 1), 3);
    check_vector(&l, 5828128208445124608, 1389534046279, flake_idgen_node(7, 3), 0);
}

static void uniqueid_row(char **field) {
    const flake_layout l = strcmp(field[0], "SPREAD") == 0 ? flake_layout_uniqueid_spread
                                                           : flake_layout_uniqueid_ordered;
    const int64_t unix_ms = from_dec(field[1]);
    const uint64_t seq = (uint64_t)from_dec(field[2]), id = from_hex(field[5]);
    const uint64_t node = flake_uniqueid_node((unsigned)from_dec(field[4]), (unsigned)from_dec(field[3]));
    check_vector(&l, id, unix_ms, node, seq);
}

TEST(uniqueids_ids_of_both_modes_come_out) { vectors_read("uniqueid.tsv", 6, uniqueid_row); }

static void hazelcast_row(char **field) {
    const flake_layout l = flake_layout_hazelcast;
    const int64_t now_ms = from_dec(field[0]);
    const uint64_t node = (uint32_t)from_dec(field[1]);
    const uint64_t seq = (uint64_t)from_dec(field[2]), id = (uint64_t)from_dec(field[3]);
    if (now_ms < l.epoch_ms) { /* they can be read, but not generated */
        check_parts(&l, id, now_ms, node, seq);
        return;
    }
    check_vector(&l, id, now_ms, node, seq);
}

TEST(hazelcasts_figures_come_out) { vectors_read("hazelcast.tsv", 4, hazelcast_row); }

/* Examples from Wikipedia, Discord's reference and Instagram's article on its IDs. */
TEST(published_ids_of_other_snowflakes_come_out) {
    flake_layout twitter = flake_layout_twitter, discord = flake_layout_discord;
    flake_layout instagram = flake_layout_instagram, mastodon = flake_layout_mastodon;
    check_id(&twitter, 1541815603606036480, 1656432460105, 378, 0);
    check_id(&discord, 175928847299117063, 1462015105796, 1 << 5 | 0, 7);
    check_id(&discord, 90339695967350784, 1441609061949, 0 << 5 | 3, 0);
    check_id(&instagram, (uint64_t)1387263000 << (64 - 41) | 1341 << (64 - 41 - 13) | 5001 % 1024,
             instagram.epoch_ms + 1387263000, 1341, 5001 % 1024);
    check_id(&mastodon, (uint64_t)1480000000000 << 16 | 54321, 1480000000000, 0, 54321);
}

/* Its version 2 begins in 2025, and takes other widths and units. */
TEST(sonyflakes_version_2_is_its_layout_with_another_epoch) {
    flake_layout l = flake_layout_sonyflake;
    l.epoch_ms = 1735689600000;
    check_id(&l, 21964222485212109, 1748781296780, 0xabcd, 255);
    check_id(&l, 0, 1735689600000, 0, 0);
    l.unit_ms = 1; /* TimeUnit: time.Millisecond, BitsSequence: 10, BitsMachineID: 12 */
    l.seq_bits = 10;
    l.node_bits = l.seq_shift = 12;
    l.time_shift = 22;
    l.time_bits = 63 - 22;
    check_id(&l, 2006541611843973197, 2214086400003, 77, 1023);
}

/* Before its epoch Hazelcast's IDs are negative: a time of 42 bits with a sign. The first and the last ID
 * are from Hazelcast's tests. */
TEST(hazelcasts_negative_ids_are_times_before_its_epoch) {
    static const struct {
        int64_t id, ms_since_epoch;
        uint32_t node, seq;
    } known[] = {{INT64_MIN + 1234, -((int64_t)1 << 41), 1234, 0},
                 {-4194304, -1, 0, 0},
                 {-1, -1, 65535, 63},
                 {-4189327761549615, -998813573, 54993, 44},
                 {1234, 0, 1234, 0},
                 {9223372036850582738, ((int64_t)1 << 41) - 1, 1234, 0}};
    const flake_layout plain = flake_layout_hazelcast, same = flake_layout_hazelcast_of(16, 6);
    flake_layout unsigned_one = plain;
    unsigned_one.time_sign = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const uint64_t id = (uint64_t)known[i].id;
        const int64_t unix_ms = 1514764800000 + known[i].ms_since_epoch;
        flake_parts p = parts_of(unix_ms, known[i].node, known[i].seq);
        uint64_t composed = 99;
        check_parts(&plain, id, unix_ms, known[i].node, known[i].seq);
        check_parts(&same, id, unix_ms, known[i].node, known[i].seq);
        /* they cannot be generated, and without time_sign they are refused */
        CHECK_EQ(flake_compose(&plain, &p, &composed), known[i].id < 0 ? FLAKE_TIME_RANGE : FLAKE_OK);
        CHECK_EQ(composed, known[i].id < 0 ? 99 : id);
        CHECK_EQ(flake_decompose(&unsigned_one, id, &p), known[i].id < 0 ? FLAKE_INVALID : FLAKE_OK);
    }
}

/* Where a unit is long, and the epoch near the first ms that an int64_t can hold. */
TEST(a_time_with_a_sign_ends_with_its_ms) {
    flake_layout l = flake_layout_of(40, 0, 0, INT64_MIN + 2005);
    flake_parts p = parts_of(77, 77, 77);
    l.unit_ms = 1000;
    l.time_sign = 1;
    const uint64_t end = (uint64_t)1 << 41; /* of 40 bits and the sign */
    check_parts(&l, 0, INT64_MIN + 2005, 0, 0);
    check_parts(&l, end - 1, INT64_MIN + 1005, 0, 0);
    check_parts(&l, end - 2, INT64_MIN + 5, 0, 0);
    CHECK_EQ(flake_decompose(&l, end - 3, &p), FLAKE_TIME_RANGE);
    CHECK_EQ(p.unix_ms, 77);
    CHECK_EQ(flake_decompose(&l, end, &p), FLAKE_INVALID);
    l = flake_layout_of(63, 0, 0, 0); /* the whole range */
    l.time_sign = 1;
    check_parts(&l, (uint64_t)1 << 63, INT64_MIN, 0, 0);
    check_parts(&l, UINT64_MAX, -1, 0, 0);
    check_parts(&l, INT64_MAX, INT64_MAX, 0, 0);
}

/* ---- layouts ---- */

TEST(known_layouts_have_their_fields_and_are_found_by_name) {
    static const flake_layout known[] = {
        {"default", 1735689600000, 1, 41, 22, 10, 12, 12, 0, 0, 0, 0, 0, 0},
        {"idgen", 0, 1, 42, 22, 10, 12, 12, 0, 0, 0, 0, 0, 0},
        {"twitter", 1288834974657, 1, 41, 22, 10, 12, 12, 0, 0, 0, 0, 0, 0},
        {"hazelcast", 1514764800000, 1, 41, 22, 16, 0, 6, 16, 1, 0, 0, 0, 0},
        {"uniqueid_ordered", 0, 1, 42, 22, 15, 0, 6, 16, 0, 0, 12, 1, 0},
        {"uniqueid_spread", 0, 1, 42, 22, 15, 0, 6, 16, 0, 1, 12, 0, 0},
        {"sonyflake", 1409529600000, 10, 39, 24, 16, 0, 8, 16, 0, 0, 0, 0, 0},
        {"discord", 1420070400000, 1, 42, 22, 10, 12, 12, 0, 0, 0, 0, 0, 0},
        {"instagram", 1314220021721, 1, 41, 23, 13, 10, 10, 0, 0, 0, 0, 0, 0},
        {"mastodon", 0, 1, 48, 16, 0, 16, 16, 0, 0, 0, 0, 0, 0},
        {"js53", 1577836800000, 1, 41, 12, 5, 7, 7, 0, 0, 0, 0, 0, 0},
        /* of 128 bits: test_random_text.c */
        {"boundary", 0, 1, 64, 64, 48, 16, 16, 0, 0, 0, 0, 0, 1},
        {"uuid7", 0, 1, 48, 80, 0, 0, 16, 48, 0, 0, 0, 0, 2},
        {"uuid7_node", 0, 1, 48, 80, 48, 0, 16, 48, 0, 0, 0, 0, 3},
        {"uuid8", 0, 1, 48, 80, 48, 0, 16, 48, 0, 0, 0, 0, 4},
        {"ulid", 0, 1, 48, 80, 0, 0, 16, 0, 0, 0, 0, 0, 5}};
    const size_t count = sizeof known / sizeof *known;
    flake_layout layout = flake_layout_of(40, 12, 12, 5);
    CHECK_EQ(flake_layout_named("Twitter", &layout), FLAKE_INVALID);
    CHECK_EQ(flake_layout_named("", &layout), FLAKE_INVALID);
    CHECK_EQ(flake_layout_named(NULL, &layout), FLAKE_INVALID);
    CHECK_EQ(flake_layout_at(count, &layout), FLAKE_INVALID);
    CHECK_EQ(flake_layout_at(SIZE_MAX, &layout), FLAKE_INVALID);
    CHECK_EQ(layout.epoch_ms, 5);
    for (size_t i = 0; i < 2 * count; i++) {
        const flake_layout *const k = &known[i / 2];
        CHECK_EQ(i % 2 ? flake_layout_at(i / 2, &layout) : flake_layout_named(k->name, &layout), FLAKE_OK);
        CHECK_STR(layout.name, k->name);
        CHECK(flake_i_same_layout(&layout, k));
        CHECK_EQ(flake_layout_check(&layout, NULL), FLAKE_OK);
        memset(&layout, 0, sizeof layout);
    }
}

TEST(layout_of_is_time_node_seq_down_to_bit_0) {
    const flake_layout l = flake_layout_of(30, 7, 9, -5);
    CHECK_STR(l.name, "custom");
    CHECK_EQ(l.epoch_ms, -5);
    CHECK_EQ(l.unit_ms, 1);
    check_id(&l, (uint64_t)1 << 16 | 1 << 9 | 1, -4, 1, 1);
    check_id(&l, ones(46), -5 + (1 << 30) - 1, 127, 511);
}

/* The sign bit is never set, nor with js53 a bit that JavaScript's numbers cannot hold. */
TEST(the_greatest_ids_fit_their_columns) {
    static const flake_layout positive[] = {FLAKE_LAYOUT_DEFAULT, FLAKE_LAYOUT_HAZELCAST, FLAKE_LAYOUT_TWITTER,
                                            FLAKE_LAYOUT_SONYFLAKE, FLAKE_LAYOUT_JS53};
    for (int i = 0; i < 5; i++) {
        const flake_layout l = positive[i];
        uint64_t id = 0;
        CHECK_EQ(flake_max_at(&l, flake_layout_end_ms(&l), &id), FLAKE_OK);
        CHECK_EQ(id, i < 4 ? INT64_MAX : ((int64_t)1 << 53) - 1);
    }
}

TEST(hazelcast_takes_other_widths) {
    for (unsigned seq_bits = 0; seq_bits <= 32; seq_bits++)
        for (unsigned node_bits = 0; node_bits <= 32; node_bits++) {
            const flake_layout l = flake_layout_hazelcast_of(node_bits, seq_bits);
            if (seq_bits + node_bits > 62) {
                CHECK_EQ(flake_layout_check(&l, NULL), FLAKE_INVALID);
                continue;
            }
            const unsigned time_bits = 63 - seq_bits - node_bits;
            const int64_t epoch_ms = 1514764800000;
            CHECK_EQ(flake_layout_check(&l, NULL), FLAKE_OK);
            CHECK_EQ(l.time_bits, time_bits);
            check_id(&l, (uint64_t)1 << (seq_bits + node_bits) | ones(seq_bits) << node_bits | ones(node_bits),
                     epoch_ms + 1, ones(node_bits), ones(seq_bits));
        }
    static const unsigned wrong[][2] = {{33, 0},       {0, 33},       {63, 0},       {0, 63},
                                        {64, 64},      {256 + 6, 16}, {6, 256 + 16}, {UINT_MAX, 1},
                                        {1, UINT_MAX}, {UINT_MAX, 64}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const flake_layout l = flake_layout_hazelcast_of(wrong[i][1], wrong[i][0]);
        CHECK_EQ(flake_layout_check(&l, NULL), FLAKE_INVALID);
    }
}

TEST(a_zeroed_layout_is_the_default) {
    flake_layout zero = {0};
    flake_options o = on_script(zero);
    check_drawn(97, &o, (uint64_t)5 << 22 | 97 << 12 | 3, 1735689600000 + 5, 3);
    CHECK_STR(flake_gen_options(&gen)->layout.name, "default");
    CHECK_EQ(flake_gen_options(&gen)->layout.time_bits, 41);
    CHECK_EQ(flake_gen_options(&gen)->layout.unit_ms, 1);
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 0), NULL, NULL), FLAKE_OK);
    CHECK_STR(flake_gen_options(&gen)->layout.name, "default");
    CHECK_EQ(flake_layout_check(&zero, NULL), FLAKE_INVALID); /* but no layout in itself */
}

/* ---- times outside ---- */

/* The results of compose, min_at and max_at for a time; on failure the output is unchanged. */
static void check_time(const flake_layout *l, int64_t unix_ms, flake_status status) {
    uint64_t id = 99;
    flake_parts p = parts_of(unix_ms, 0, 0);
    CHECK_EQ(flake_compose(l, &p, &id), status);
    CHECK_EQ(flake_min_at(l, unix_ms, &id), status);
    CHECK_EQ(flake_max_at(l, unix_ms, &id), status);
    if (status != FLAKE_OK) CHECK_EQ(id, 99);
}

static void check_borders(const flake_layout *l) {
    check_time(l, l->epoch_ms, FLAKE_OK);
    if (l->epoch_ms > INT64_MIN) {
        check_time(l, l->epoch_ms - 1, FLAKE_TIME_RANGE);
        check_time(l, INT64_MIN, FLAKE_TIME_RANGE);
    }
    const int64_t expires_ms = flake_layout_end_ms(l);
    check_time(l, expires_ms, FLAKE_OK);
    if (expires_ms < INT64_MAX) {
        check_time(l, expires_ms + 1, FLAKE_TIME_RANGE);
        check_time(l, INT64_MAX, FLAKE_TIME_RANGE);
    }
}

TEST(a_layout_expires_with_the_last_ms_of_its_last_unit) {
    flake_layout l;
    CHECK_EQ((l = flake_layout_idgen, flake_layout_end_ms(&l)), 4398046511103);
    CHECK_EQ((l = flake_layout_hazelcast, flake_layout_end_ms(&l)), 3713788055551);
    CHECK_EQ((l = flake_layout_sonyflake, flake_layout_end_ms(&l)), 1409529600000 + 5497558138879);
    CHECK_EQ((l = flake_layout_twitter, flake_layout_end_ms(&l)), 1288834974657 + 2199023255551);
    CHECK_EQ((l = flake_layout_mastodon, flake_layout_end_ms(&l)), 281474976710655);
    CHECK_EQ((l = flake_layout_of(1, 0, 0, -1), flake_layout_end_ms(&l)), 0);
    CHECK_EQ((l = flake_layout_of(10, 0, 0, -5000), flake_layout_end_ms(&l)), -5000 + 1023);
    l.unit_ms = 60000;
    CHECK_EQ(flake_layout_end_ms(&l), -5000 + 1024 * 60000 - 1);
    CHECK_EQ((l = flake_layout_of(63, 0, 0, 0), flake_layout_end_ms(&l)), INT64_MAX);
    CHECK_EQ((l = flake_layout_of(63, 0, 0, -1), flake_layout_end_ms(&l)), INT64_MAX - 1);
    CHECK_EQ((l = flake_layout_of(63, 0, 0, 1), flake_layout_end_ms(&l)), INT64_MAX);
    CHECK_EQ((l = flake_layout_of(42, 10, 12, INT64_MAX - 5), flake_layout_end_ms(&l)), INT64_MAX);
}

TEST(the_ends_of_int64_are_times_like_others) {
    check_time(NULL, 0, FLAKE_INVALID);
    const flake_layout whole = flake_layout_of(64, 0, 0, INT64_MIN);
    check_borders(&whole);
    check_id(&whole, 0, INT64_MIN, 0, 0);
    check_id(&whole, (uint64_t)1 << 63, 0, 0, 0);
    check_id(&whole, UINT64_MAX, INT64_MAX, 0, 0);
    CHECK_EQ(flake_layout_end_ms(&whole), INT64_MAX);

    const flake_layout latest = flake_layout_of(64, 0, 0, INT64_MAX);
    flake_parts p = parts_of(1, 2, 3);
    check_borders(&latest);
    check_id(&latest, 0, INT64_MAX, 0, 0);
    CHECK_EQ(flake_decompose(&latest, 1, &p), FLAKE_TIME_RANGE); /* later than INT64_MAX */
    CHECK_EQ(p.unix_ms, 1);

    const flake_layout earliest = flake_layout_of(42, 10, 12, INT64_MIN);
    check_borders(&earliest);
    CHECK_EQ(flake_layout_end_ms(&earliest), INT64_MIN + ((int64_t)1 << 42) - 1);

    flake_layout long_units = flake_layout_of(31, 0, 24, INT64_MIN + 1);
    long_units.unit_ms = UINT32_MAX;
    check_borders(&long_units);
    check_id(&long_units, (uint64_t)1 << 24, INT64_MIN + 1 + (int64_t)UINT32_MAX, 0, 0);
    check_time(&long_units, INT64_MAX, FLAKE_TIME_RANGE);
    long_units.epoch_ms = INT64_MAX - 1;
    check_borders(&long_units);
    CHECK_EQ(flake_layout_end_ms(&long_units), INT64_MAX);
}

TEST(no_id_follows_an_exhausted_last_unit) {
    const flake_layout l = flake_layout_js53;
    flake_options o = on_script(l);
    uint64_t id = 0;
    script_at_ms(flake_layout_end_ms(&l));
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 31), &o, NULL), FLAKE_OK);
    for (int i = 0; i < 128; i++) CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK_EQ(id, ones(53));
    FAILS(flake_try(&gen, &id), FLAKE_TIME_RANGE, id);
    FAILS(flake_next(&gen, &id), FLAKE_TIME_RANGE, id);
    CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
    CHECK_EQ(script_now.sleeps, 0);
}

/* Time and sequence fill all 64 bits of the engine's word: the last ID must not wrap around to
 * the first. (The last unit may be lost.) */
TEST(the_widest_layout_does_not_begin_again_after_its_last_id) {
    static uint64_t ids[1 << 20];
    const flake_layout l = flake_layout_of(44, 0, 20, -last_clock_ms);
    flake_options o = on_script(l);
    script_at_ms(flake_layout_end_ms(&l) - 1);
    CHECK_EQ(flake_init(&gen, flake_node_none(), &o, NULL), FLAKE_OK);
    for (uint64_t time = ones(44) - 1; time <= ones(44); time++) {
        uint64_t id;
        const size_t n = got64_n(&gen, ids, 1 << 20);
        if (time < ones(44)) CHECK_EQ(n, 1 << 20);
        for (size_t i = 0; i < n; i++) CHECK_EQ(ids[i], time << 20 | i);
        id = 99;
        CHECK(flake_try(&gen, &id) != FLAKE_OK);
        CHECK_EQ(id, 0);
        CHECK_EQ(got64_n(&gen, &id, 1), 0);
        script_now.now_ns += 1000000;
    }
}

/* On a generator that has a newest unit; a fresh one returns FLAKE_TIME_RANGE. Some times cannot be expressed in ns. */
TEST(a_time_before_the_epoch_counts_as_the_newest_unit) {
    static const int64_t old_ms[] = {1514764800999, 1514764799999, 0, -1, -9223372036854, -9223372036855, INT64_MIN};
    const flake_layout l = flake_layout_hazelcast;
    flake_options o = on_script(l);
    uint64_t id = 0;
    script_at_ms(l.epoch_ms + 1000);
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 7), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    for (uint64_t i = 0; i < sizeof old_ms / sizeof *old_ms; i++) {
        CHECK_EQ(flake_try_at(&gen, old_ms[i], &id), FLAKE_OK);
        CHECK_EQ(id, id_by_bits(&l, 1000, 7, i + 1));
    }
}

/* Such a layout is refused, or works. */
static bool check_first_ids(const flake_layout *l, int64_t unix_ms, uint64_t n) {
    flake_options o = on_script(*l);
    const uint64_t time = ((uint64_t)unix_ms - (uint64_t)l->epoch_ms) / l->unit_ms;
    uint64_t id = 0;
    script_at_ms(unix_ms);
    const flake_status status = flake_init(&gen, node_in(l, 0), &o, NULL);
    CHECK(status == FLAKE_OK || status == FLAKE_INVALID);
    for (uint64_t seq = 0; seq < n && status == FLAKE_OK; seq++) {
        CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
        CHECK_EQ(id, id_by_bits(l, time, 0, seq));
    }
    return status == FLAKE_OK;
}

TEST(units_that_fit_the_clock_once_or_twice_are_counted_like_others) {
    flake_layout l = flake_layout_of(42, 10, 12, 0);
    uint64_t id;
    l.unit_ms = UINT32_MAX; /* 49.7 days; the clock of 63 bits ends 106,751 days after 1970 */
    check_first_ids(&l, 5, 100);
    l.epoch_ms = last_clock_ms - 2 * (int64_t)UINT32_MAX - 1000;
    check_first_ids(&l, l.epoch_ms + 5, 100);
    l.epoch_ms = last_clock_ms - (int64_t)UINT32_MAX - 1000;
    check_first_ids(&l, l.epoch_ms + 5, 100);
    l.epoch_ms = last_clock_ms - 1000;
    check_first_ids(&l, l.epoch_ms + 5, 100);
    l = flake_layout_of(64, 0, 0, last_clock_ms);
    check_first_ids(&l, l.epoch_ms, 1);
    l = flake_layout_of(42, 10, 12, last_clock_ms); /* one unit, if it is not refused */
    if (check_first_ids(&l, last_clock_ms, 4096)) CHECK_EQ(flake_try(&gen, &id), FLAKE_TIME_RANGE);
}

/* volatile: otherwise a compiler may assume that nothing overflows */
static volatile int64_t wait_ns;

/* The step is longer than an int64_t of ns. */
TEST(a_clock_that_goes_backwards_by_centuries_goes_backwards) {
    const flake_layout l = flake_layout_of(45, 5, 13, -last_clock_ms);
    flake_options o = on_script(l);
    uint64_t id;
    script_at_ms(8000000000000);
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 0), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    script_at_ms(-8000000000000);
    FAILS(flake_try(&gen, &id), FLAKE_CLOCK_BACKWARDS, id);
    wait_ns = flake_retry_ns(&gen);
    CHECK(wait_ns > 0);
    script_now.jump_to_ns = 8000000000000000000; /* ends a wait that should not be */
    FAILS(flake_next(&gen, &id), FLAKE_CLOCK_BACKWARDS, id);
    CHECK_EQ(script_now.sleeps, 0);
}

/* ---- what an init accepts and refuses ---- */

/* Of a call that finds no number: init refuses it, also with something added to it. */
#define NO_NUMBER UINT64_C(0xBFFFFFFFBFFFBFFF)

TEST(node_numbers_have_bounds) {
    CHECK_EQ(flake_idgen_node(0, 0), 0);
    CHECK_EQ(flake_idgen_node(31, 31), 1023);
    CHECK_EQ(flake_idgen_node(32, 0), NO_NUMBER);
    CHECK_EQ(flake_idgen_node(0, 32), NO_NUMBER);
    CHECK_EQ(flake_idgen_node(UINT_MAX, UINT_MAX), NO_NUMBER);
    CHECK_EQ(flake_idgen_node(1u << 27, 0), NO_NUMBER); /* would be shifted out */
    CHECK_EQ(flake_uniqueid_node(0, 0), 0);
    CHECK_EQ(flake_uniqueid_node(15, 2047), 32767);
    CHECK_EQ(flake_uniqueid_node(16, 0), NO_NUMBER);
    CHECK_EQ(flake_uniqueid_node(0, 2048), NO_NUMBER);
    CHECK_EQ(flake_uniqueid_node(0, 1u << 28), NO_NUMBER);
    const flake_options idgen = on_script(flake_layout_idgen), uniqueid = on_script(flake_layout_uniqueid_ordered);
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, NO_NUMBER), &idgen, NULL), FLAKE_NODE_RANGE);
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, NO_NUMBER), &uniqueid, NULL), FLAKE_NODE_RANGE);
}

/* A layout that check, init and every call with a layout must refuse. */
static void check_layout_refused(flake_layout l) {
    flake_options o = on_script(l);
    flake_parts p = parts_of(l.epoch_ms, 0, 0);
    uint64_t id = 99;
    CHECK_EQ(flake_layout_check(&l, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_init(&gen, node_in(&l, 0), &o, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_compose(&l, &p, &id), FLAKE_INVALID);
    CHECK_EQ(flake_min_at(&l, l.epoch_ms, &id), FLAKE_INVALID);
    CHECK_EQ(flake_max_at(&l, l.epoch_ms, &id), FLAKE_INVALID);
    CHECK_EQ(id, 99);
    p.seq = 98;
    CHECK_EQ(flake_decompose(&l, 0, &p), FLAKE_INVALID);
    CHECK_EQ(p.seq, 98);
}

TEST(bits_that_do_not_fit_64_are_refused) {
    static const unsigned wrong[][3] = {
        {42, 10, 13},      {42, 11, 12},      {43, 10, 12},  {65, 0, 0},         {0, 10, 12},
        {64, 1, 0},        {64, 0, 1},        {1, 32, 32},   {40, 33, 0},        {1, 0, 33},
        {1, 33, 1},        {256 + 42, 0, 0},  {42, 256, 12}, {42, 10, 256 + 12}, {42, 10, UINT_MAX},
        {42, UINT_MAX, 1}, {UINT_MAX, 10, 1}, {64, 64, 64},  {0, 0, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check_layout_refused(flake_layout_of(wrong[i][0], wrong[i][1], wrong[i][2], 1));
    static const unsigned right[][3] = {{42, 10, 12}, {64, 0, 0},  {32, 32, 0}, {32, 0, 32},
                                        {63, 1, 0},   {1, 31, 32}, {1, 0, 0}};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        const flake_layout l = flake_layout_of(right[i][0], right[i][1], right[i][2], 1);
        CHECK_EQ(flake_layout_check(&l, NULL), FLAKE_OK);
    }
}

static flake_layout with_shifts(uint8_t time_shift, uint8_t node_shift, uint8_t seq_shift) {
    const flake_layout l = {"", 1, 1, 40, time_shift, 8, node_shift, 8, seq_shift, 0, 0, 0, 0, 0};
    return l;
}

TEST(fields_that_overlap_or_leave_the_64_bits_are_refused) {
    static const uint8_t wrong[][3] = {{16, 7, 0},  /* node over seq */
                                        {15, 8, 0},  /* time over node */
                                        {7, 47, 0},  /* time over seq */
                                        {0, 39, 56}, /* node over time */
                                        {16, 0, 0},  {25, 8, 0},  {16, 57, 0},  {8, 0, 57},
                                        {16, 8, 64}, {255, 8, 0}, {16, 255, 0}, {16, 8, 255}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check_layout_refused(with_shifts(wrong[i][0], wrong[i][1], wrong[i][2]));
    flake_layout l = flake_layout_of(40, 8, 8, 1);
    l.gap_at = 3; /* the gap pushes the node's upper bits into time */
    check_layout_refused(l);
    l.time_shift++;
    CHECK_EQ(flake_layout_check(&l, NULL), FLAKE_OK);
    l = with_shifts(0, 56, 40);
    CHECK_EQ(flake_layout_check(&l, NULL), FLAKE_OK);
    l.gap_at = 8; /* its bit above bit 63 */
    check_layout_refused(l);
}

/* A field may be the topmost bit alone, and any of the three. */
TEST(one_bit_at_the_top_is_a_field) {
    for (int field = 0; field < 3; field++) {
        flake_layout l = flake_layout_of(41, 4, 5, 0);
        if (field == 0) l.seq_bits = 1, l.seq_shift = 63;
        if (field == 1) l.node_bits = 1, l.node_shift = 63;
        if (field == 2) l.time_bits = 1, l.time_shift = 63, l.unit_ms = 2000000000;
        CHECK_EQ(flake_layout_check(&l, NULL), FLAKE_OK);
        flake_options o = on_script(l);
        uint64_t ids[2] = {0, 0};
        flake_parts parts = {0, 0, 0};
        script_at_ms(field == 2 ? 3000000000 : 1000);
        o.seq_max = field == 0 ? 1 : 0;
        CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 1), &o, NULL), FLAKE_OK);
        CHECK_EQ(got64_n(&gen, ids, 2), 2);
        CHECK_EQ(ids[0], id_by_bits(&l, field == 2 ? 1 : 1000, 1, 0));
        CHECK_EQ(ids[1], id_by_bits(&l, field == 2 ? 1 : 1000, 1, 1));
        CHECK_EQ(ids[field == 0 ? 1 : 0] >> 63, 1);
        CHECK_EQ(flake_decompose(&l, ids[1], &parts), FLAKE_OK);
        CHECK(parts.node == 1 && parts.seq == 1);
        CHECK_EQ(parts.unix_ms, field == 2 ? 2000000000 : 1000);
        if (field == 0) CHECK_EQ(flake_try(&gen, ids), FLAKE_AGAIN);
        if (field == 0) l.seq_shift = 64;
        if (field == 1) l.node_shift = 64;
        if (field == 2) l.time_shift = 64;
        check_layout_refused(l);
        if (field == 0) l.seq_bits = 0;
        if (field == 1) l.node_bits = 0;
        check_layout_refused(l); /* nor where it has no bits */
    }
}

TEST(values_without_a_meaning_are_refused) {
    const flake_layout good = flake_layout_of(40, 8, 8, 1), ordered = flake_layout_uniqueid_ordered;
#define REFUSES(layout, change)  \
    do {                         \
        flake_layout l = layout; \
        change;                  \
        check_layout_refused(l); \
    } while (0)
    REFUSES(good, l.unit_ms = 0);
    REFUSES(good, l.time_reversed = 2);
    REFUSES(good, l.gap_bit = 1); /* a bit without a gap */
    REFUSES(ordered, l.gap_bit = 2);
    REFUSES(ordered, l.gap_at = 16); /* above the node's 15 bits */
    REFUSES(good, l.time_sign = 2);
    REFUSES(flake_layout_idgen, l.time_sign = 1); /* above bit 63 */
    const flake_layout turned = with_shifts(0, 40, 48); /* the node is where the sign would be */
    CHECK_EQ(flake_layout_check(&turned, NULL), FLAKE_OK);
    REFUSES(turned, l.time_sign = 1);
    CHECK_EQ(flake_layout_check(NULL, NULL), FLAKE_INVALID);
}

TEST(the_options_in_force_can_be_read_back) {
    flake_options o = {0};
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 0), &o, NULL), FLAKE_OK);
    const flake_options *in_force = flake_gen_options(&gen);
    CHECK(in_force->seq_min == 0 && in_force->seq_max == 4095);
    CHECK_EQ(flake_gen_node(&gen), 0);
    CHECK(in_force->max_wait_ms == 1000 && in_force->max_ahead_ms == 0);

    o.max_ahead_ms = INT32_MAX;
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 1023), &o, NULL), FLAKE_OK);
    CHECK_EQ(in_force->max_ahead_ms, INT32_MAX);
    CHECK_EQ(flake_gen_node(&gen), 1023);

    o = on_script(flake_layout_hazelcast);
    o.seq_min = 3;
    o.seq_max = 9;
    o.max_ahead_ms = 15000;
    o.max_wait_ms = 1;
    o.seq_scatter = true;
    o.shared_memory = words_reach_other_processes;
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 1241), &o, NULL), FLAKE_OK);
    in_force = flake_gen_options(&gen);
    CHECK_STR(in_force->layout.name, "hazelcast");
    CHECK_EQ(flake_gen_node(&gen), 1241);
    CHECK(in_force->seq_min == 3 && in_force->seq_max == 9);
    CHECK(in_force->max_ahead_ms == 15000 && in_force->max_wait_ms == 1);
    CHECK(in_force->clock.now_ns == script_read && in_force->clock.user == &script_now);
    CHECK(in_force->start_this_unit && in_force->seq_scatter);
    CHECK_EQ(in_force->shared_memory, (bool)words_reach_other_processes);

    o = on_script(flake_layout_mastodon);
    CHECK_EQ(flake_init(&gen, flake_node_none(), &o, NULL), FLAKE_OK);
    CHECK(flake_gen_node(&gen) == UINT64_MAX);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
