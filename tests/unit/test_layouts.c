/* SPDX-License-Identifier: MIT
 *
 * Layouts (flake.h, >>layouts): the ids of other libraries, and the fields of the layouts that the header has. (Any
 * layout and id, also those that are refused: test_random_text.c; their generators, and clocks outside a layout:
 * test_random_flake.c.)
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#include "support.h"
#include <limits.h>
#include "flake.h"
#include "options.h"

static flake_gen gen;

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
    uint64_t drawn = 0;
    script_at_ms(unix_ms);
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, node), o, NULL), FLAKE_OK);
    for (uint64_t i = 0; i <= before; i++) CHECK_EQ(flake_try(&gen, &drawn), FLAKE_OK);
    CHECK_EQ(drawn, id);
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

/* An ID of boundary/flake, of 128 bits; its array may begin anywhere. */
static void check_boundary(const char *hex, int64_t unix_ms, uint64_t worker, uint32_t seq) {
    static uint8_t memory[16 + (1 << 16) * sizeof(flake128)];
    flake128 *const ids = (flake128 *)(memory + seq % 16);
    const flake_options o = on_script(flake_layout_boundary);
    flake128 id, composed;
    flake_parts p = parts_of(0, 0, 0);
    hex_bytes(hex, id.bytes, sizeof id.bytes);
    CHECK_EQ(flake128_decompose(&flake_layout_boundary, &id, &p), FLAKE_OK);
    CHECK(p.unix_ms == unix_ms && p.node == worker && p.seq == seq);
    CHECK_EQ(flake128_compose(&flake_layout_boundary, &p, &composed), FLAKE_OK);
    CHECK_EQ(flake128_compare(&composed, &id), 0);
    script_at_ms(unix_ms);
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, worker), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake128_next_n(&gen, ids, seq + 1), FLAKE_OK);
    CHECK_EQ(flake128_compare(&ids[seq], &id), 0);
    CHECK_EQ(script_now.sleeps, 0);
}

static void boundary_row(char **field) {
    check_boundary(field[3], from_dec(field[0]), from_hex(field[1]), (uint32_t)from_dec(field[2]));
}

TEST(boundarys_ids_and_the_one_on_its_page_come_out) {
    vectors_read("boundary.tsv", 7, boundary_row);
    check_boundary("00000134d4212d43109add5e0e8f0000", 0x134d4212d43, 0x109add5e0e8f, 0);
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

TEST(hazelcast_takes_other_widths) {
    for (unsigned seq_bits = 0; seq_bits <= 32; seq_bits++)
        for (unsigned node_bits = 0; node_bits <= 32 && seq_bits + node_bits <= 62; node_bits++) {
            const flake_layout l = flake_layout_hazelcast_of(node_bits, seq_bits);
            CHECK_EQ(l.time_bits, 63 - seq_bits - node_bits);
            check_id(&l, (uint64_t)1 << (seq_bits + node_bits) | ones(seq_bits) << node_bits | ones(node_bits),
                     1514764800000 + 1, ones(node_bits), ones(seq_bits));
        }
}

/* Bits that only look as if they fitted, in a byte or in a sum. */
TEST(bits_are_refused_rather_than_truncated) {
    static const unsigned wrong[][2] = {{256, 12}, {10, 256 + 12}, {10, UINT_MAX}, {UINT_MAX, 1}, {64, UINT_MAX}};
    const flake_layout times[] = {flake_layout_of(256 + 42, 0, 0, 1), flake_layout_of(UINT_MAX, 10, 1, 1)};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const flake_layout l = flake_layout_of(42, wrong[i][0], wrong[i][1], 1);
        const flake_layout hazelcast = flake_layout_hazelcast_of(wrong[i][0], wrong[i][1]);
        CHECK_EQ(flake_layout_check(&l, NULL), FLAKE_INVALID);
        CHECK_EQ(flake_layout_check(&hazelcast, NULL), FLAKE_INVALID);
    }
    for (size_t i = 0; i < 2; i++) CHECK_EQ(flake_layout_check(&times[i], NULL), FLAKE_INVALID);
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

/* ---- what an init accepts and refuses ---- */

/* Of a call that finds no number: each init refuses it (test_node.c). */
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
}

/* The name says what is wrong with the layout, which is 40-8-8 otherwise. */
TEST(a_layout_that_is_none_is_refused) {
    static const flake_layout wrong[] = {
        {"units of 0 ms", 1, 0, 40, 16, 8, 8, 8, 0, 0, 0, 0, 0, 0},
        {"time over node", 1, 1, 40, 15, 8, 8, 8, 0, 0, 0, 0, 0, 0},
        {"time over sequence", 1, 1, 40, 7, 8, 47, 8, 0, 0, 0, 0, 0, 0},
        {"node over sequence", 1, 1, 40, 16, 8, 7, 8, 0, 0, 0, 0, 0, 0},
        {"time above bit 63", 1, 1, 40, 25, 8, 8, 8, 0, 0, 0, 0, 0, 0},
        {"node above bit 63", 1, 1, 40, 16, 8, 57, 8, 0, 0, 0, 0, 0, 0},
        {"sequence above bit 63", 1, 1, 40, 8, 8, 0, 8, 57, 0, 0, 0, 0, 0},
        {"a node of no bits above bit 63", 1, 1, 40, 16, 0, 64, 8, 0, 0, 0, 0, 0, 0},
        {"a sequence of no bits above bit 63", 1, 1, 40, 16, 8, 8, 0, 64, 0, 0, 0, 0, 0},
        {"a sign above bit 63", 1, 1, 40, 24, 8, 8, 8, 0, 1, 0, 0, 0, 0},
        {"a sign over the node", 1, 1, 40, 0, 8, 40, 8, 48, 1, 0, 0, 0, 0},
        {"the gap pushes the node into time", 1, 1, 40, 16, 8, 8, 8, 0, 0, 0, 3, 0, 0},
        {"a gap above the node", 1, 1, 40, 24, 8, 8, 8, 0, 0, 0, 9, 0, 0},
        {"a bit without a gap", 1, 1, 40, 16, 8, 8, 8, 0, 0, 0, 0, 1, 0},
        {"a gap's bit of 2", 1, 1, 40, 24, 8, 8, 8, 0, 0, 0, 3, 2, 0},
        {"time reversed twice", 1, 1, 40, 16, 8, 8, 8, 0, 0, 2, 0, 0, 0},
        {"two signs", 1, 1, 40, 16, 8, 8, 8, 0, 2, 0, 0, 0, 0}};
    static const flake_layout right[] = {
        {"time's only bit at the top", 1, 1, 1, 63, 4, 5, 5, 0, 0, 0, 0, 0, 0},
        {"the node's only bit at the top", 1, 1, 41, 9, 1, 63, 5, 0, 0, 0, 0, 0, 0},
        {"the sequence's only bit at the top", 1, 1, 41, 9, 4, 5, 1, 63, 0, 0, 0, 0, 0},
        {"a gap above the node's last bit", 1, 1, 40, 24, 8, 8, 8, 0, 0, 0, 8, 1, 0},
        {"from the node at the top down to time", 1, 1, 40, 0, 8, 56, 8, 40, 0, 0, 0, 0, 0}};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        if (flake_layout_check(&right[i], NULL) != FLAKE_OK) check_fail(__FILE__, __LINE__, right[i].name);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const flake_options o = on_script(wrong[i]);
        if (flake_layout_check(&wrong[i], NULL) != FLAKE_INVALID) check_fail(__FILE__, __LINE__, wrong[i].name);
        CHECK_EQ(flake_init(&gen, node_in(&wrong[i], 0), &o, NULL), FLAKE_INVALID);
    }
}

TEST(no_layout_is_refused_by_each_call) {
    flake_parts p = parts_of(0, 0, 0);
    uint64_t id;
    CHECK_EQ(flake_layout_check(NULL, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_layout_end_ms(NULL), INT64_MIN);
    CHECK_EQ(flake_compose(NULL, &p, &id), FLAKE_INVALID);
    CHECK_EQ(flake_decompose(NULL, 0, &p), FLAKE_INVALID);
    CHECK_EQ(flake_min_at(NULL, 0, &id), FLAKE_INVALID);
    CHECK_EQ(flake_max_at(NULL, 0, &id), FLAKE_INVALID);
}

/* All 64 bits: time lasts as long as the clock. */
TEST(an_id_may_be_time_alone) {
    const flake_layout all = flake_layout_of(64, 0, 0, 0);
    const flake_options o = on_script(all);
    uint64_t id;
    script_at_ms(1700000000000);
    CHECK_EQ(flake_init(&gen, flake_node_none(), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK_EQ(id, 1700000000000);
}

TEST(a_layouts_first_unit_ends_before_the_clock) {
    flake_layout l = flake_layout_of(42, 10, 12, 0);
    l.unit_ms = UINT32_MAX; /* 49.7 days */
    for (int late = 0; late < 2; late++) {
        l.epoch_ms = INT64_MAX / 1000000 - l.unit_ms + late;
        const flake_options o = on_script(l);
        CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 0), &o, NULL), late ? FLAKE_INVALID : FLAKE_OK);
    }
}

TEST(the_options_in_force_can_be_read_back) {
    flake_options o = {0};
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 0), &o, NULL), FLAKE_OK);
    const flake_options *in_force = flake_gen_options(&gen);
    CHECK(in_force->seq_min == 0 && in_force->seq_max == 4095);
    CHECK_EQ(flake_gen_node(&gen), 0);
    CHECK(in_force->max_wait_ms == 1000 && in_force->max_ahead_ms == 0);

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
}
