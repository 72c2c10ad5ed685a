/* SPDX-License-Identifier: MIT
 *
 * What the bits of an id mean: the peers' own ids, and the layouts that the header has. (Random layouts and ids:
 * test_random_text.c; their generators: test_random_flake.c.)
 */
#include "layout_bits.h"

/* ---- the peers' ids ---- */

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
    check_id(&l, id, now_ms, node, counter);
    flake_options o = on_script(l, node);
    check_drawn(&o, id, now_ms, counter);
}

TEST(flake_idgens_ids_come_out) { vectors_read("idgen.tsv", 9, idgen_row); }

TEST(the_ids_on_flake_idgens_page_come_out) {
    const flake_layout l = flake_layout_idgen;
    flake_parts p = parts_of(0, 0, 0);
    check_id(&l, 0x02308150ec000000, 0x8c20543b0, flake_idgen_node(0, 0), 0);
    check_id(&l, 0x02308300cd461003, 0x8c20c0335, flake_idgen_node(3, 1), 3);
    CHECK_EQ(flake_decompose(&l, 5828128208445124608, &p), FLAKE_OK);
    CHECK_EQ(p.node, flake_idgen_node(7, 3));
    CHECK_EQ(p.seq, 0);
    flake_options o = on_script(l, flake_idgen_node(3, 1));
    check_drawn(&o, 0x02308300cd461003, 0x8c20c0335, 3);
}

static void uniqueid_row(char **field) {
    const flake_layout l = strcmp(field[0], "SPREAD") == 0 ? flake_layout_uniqueid_spread
                                                           : flake_layout_uniqueid_ordered;
    const int64_t unix_ms = from_dec(field[1]);
    const uint64_t seq = (uint64_t)from_dec(field[2]), id = from_hex(field[5]);
    const uint64_t node =
        flake_uniqueid_node((unsigned)from_dec(field[4]), (unsigned)from_dec(field[3]));
    check_id(&l, id, unix_ms, node, seq);
    flake_options o = on_script(l, node);
    check_drawn(&o, id, unix_ms, seq);
}

TEST(uniqueids_ids_of_both_modes_come_out) {
    vectors_read("uniqueid.tsv", 6, uniqueid_row);
}

static void hazelcast_row(char **field) {
    const flake_layout l = flake_layout_hazelcast;
    const int64_t now_ms = from_dec(field[0]);
    const uint64_t node = (uint32_t)from_dec(field[1]);
    const uint64_t seq = (uint64_t)from_dec(field[2]), id = (uint64_t)from_dec(field[3]);
    if (now_ms < l.epoch_ms) { /* they are read, and nothing makes them */
        check_parts(&l, id, now_ms, node, seq);
        return;
    }
    check_id(&l, id, now_ms, node, seq);
    flake_options o = on_script(l, node);
    check_drawn(&o, id, now_ms, seq);
    o.node = 1000; /* Hazelcast's node-id-offset */
    o.node_offset = (uint32_t)node - 1000;
    check_drawn(&o, id, now_ms, seq);
}

TEST(hazelcasts_figures_come_out) { vectors_read("hazelcast.tsv", 4, hazelcast_row); }

/* Examples from Wikipedia, Discord's reference and Instagram's article on its ids. */
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

/* Before its epoch Hazelcast's ids are negative: a time of 42 bits with a sign. The first and the last id are
 * from Hazelcast's tests. */
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
        /* nothing makes them, and without time_sign they are refused */
        CHECK_EQ(flake_compose(&plain, &p, &composed), known[i].id < 0 ? FLAKE_TIME_RANGE : FLAKE_OK);
        CHECK_EQ(composed, known[i].id < 0 ? 99 : id);
        CHECK_EQ(flake_decompose(&unsigned_one, id, &p),
                 known[i].id < 0 ? FLAKE_INVALID : FLAKE_OK);
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
    l = flake_layout_of(63, 0, 0, 0); /* all that there is */
    l.time_sign = 1;
    check_parts(&l, (uint64_t)1 << 63, INT64_MIN, 0, 0);
    check_parts(&l, UINT64_MAX, -1, 0, 0);
    check_parts(&l, INT64_MAX, INT64_MAX, 0, 0);
}

/* ---- layouts ---- */

TEST(built_in_layouts_have_their_fields_and_epochs) {
    static const struct {
        const char *name;
        int64_t epoch_ms;
        unsigned unit_ms, time_bits, time_shift, node_bits, node_shift, seq_bits, seq_shift;
        unsigned time_reversed, gap_at, gap_bit;
    } known[built_in_count] = {
        {"default", 1735689600000, 1, 41, 22, 10, 12, 12, 0, 0, 0, 0},
        {"idgen", 0, 1, 42, 22, 10, 12, 12, 0, 0, 0, 0},
        {"hazelcast", 1514764800000, 1, 41, 22, 16, 0, 6, 16, 0, 0, 0},
        {"uniqueid_ordered", 0, 1, 42, 22, 15, 0, 6, 16, 0, 12, 1},
        {"twitter", 1288834974657, 1, 41, 22, 10, 12, 12, 0, 0, 0, 0},
        {"sonyflake", 1409529600000, 10, 39, 24, 16, 0, 8, 16, 0, 0, 0},
        {"discord", 1420070400000, 1, 42, 22, 10, 12, 12, 0, 0, 0, 0},
        {"uniqueid_spread", 0, 1, 42, 22, 15, 0, 6, 16, 1, 12, 0},
        {"js53", 1577836800000, 1, 41, 12, 5, 7, 7, 0, 0, 0, 0},
        {"instagram", 1314220021721, 1, 41, 23, 13, 10, 10, 0, 0, 0, 0},
        {"mastodon", 0, 1, 48, 16, 0, 16, 16, 0, 0, 0, 0},
    };
    for (int i = 0; i < built_in_count; i++) {
        const flake_layout l = built_in[i];
        CHECK_STR(l.name, known[i].name);
        CHECK(l.epoch_ms == known[i].epoch_ms && l.unit_ms == known[i].unit_ms);
        CHECK(l.time_bits == known[i].time_bits && l.time_shift == known[i].time_shift);
        CHECK(l.node_bits == known[i].node_bits && l.seq_bits == known[i].seq_bits);
        CHECK((!l.node_bits || l.node_shift == known[i].node_shift) &&
              l.seq_shift == known[i].seq_shift);
        CHECK(l.time_reversed == known[i].time_reversed);
        CHECK(l.gap_at == known[i].gap_at && l.gap_bit == known[i].gap_bit);
        CHECK_EQ(l.time_sign, strcmp(l.name, "hazelcast") == 0);
        CHECK_EQ(flake_layout_check(&l, NULL), FLAKE_OK);
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

TEST(built_in_layouts_round_trip) {
    for (int i = 0; i < built_in_count; i++)
        for (int corner = 0; corner < 8; corner++) {
            const flake_layout l = built_in[i];
            const uint64_t time = corner & 1 ? last_unit(&l) : 0;
            const uint64_t node = corner & 2 ? ones(l.node_bits) : 0;
            const uint64_t seq = corner & 4 ? ones(l.seq_bits) : 0;
            check_id(&l, id_by_bits(&l, time, node, seq), unit_start_ms(&l, time), node, seq);
        }
}

/* The sign bit is never set, and of js53 no bit that JavaScript's numbers do not hold. */
TEST(the_greatest_ids_fit_their_columns) {
    static const flake_layout positive[] = {FLAKE_LAYOUT_DEFAULT, FLAKE_LAYOUT_HAZELCAST,
                                            FLAKE_LAYOUT_TWITTER, FLAKE_LAYOUT_SONYFLAKE,
                                            FLAKE_LAYOUT_JS53};
    for (int i = 0; i < 5; i++) {
        const flake_layout l = positive[i];
        uint64_t id = 0;
        CHECK_EQ(flake_max_at(&l, flake_layout_end_ms(&l), &id), FLAKE_OK);
        CHECK_EQ(id, i < 4 ? INT64_MAX : ((int64_t)1 << 53) - 1);
    }
}

TEST(a_uniqueid_generator_is_split_around_the_mode_bit) {
    const flake_layout layouts[2] = {flake_layout_uniqueid_ordered,
                                     flake_layout_uniqueid_spread};
    for (int m = 0; m < 2; m++) {
        const uint64_t mode = m ? 0 : 1 << 12;
        check_id(&layouts[m], mode, 0, 0, 0);
        for (unsigned b = 0; b < 11; b++)
            check_id(&layouts[m], mode | (uint64_t)1 << (b < 8 ? 4 + b : 5 + b), 0,
                     flake_uniqueid_node(0, 1u << b), 0);
        for (unsigned b = 0; b < 4; b++)
            check_id(&layouts[m], mode | (uint64_t)1 << b, 0, flake_uniqueid_node(1u << b, 0), 0);
        for (unsigned b = 0; b < 6; b++)
            check_id(&layouts[m], mode | (uint64_t)1 << (16 + b), 0, 0, 1u << b);
        for (unsigned b = 0; b < 42; b++)
            check_id(&layouts[m], mode | (uint64_t)1 << (m ? 63 - b : 22 + b), (int64_t)1 << b, 0,
                     0);
        flake_parts p;
        CHECK_EQ(flake_decompose(&layouts[m], 1 << 12 ^ mode, &p), FLAKE_INVALID); /* the other's */
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
            check_id(&l,
                     (uint64_t)1 << (seq_bits + node_bits) | ones(seq_bits) << node_bits |
                         ones(node_bits),
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
    flake_options o = on_script(zero, 97);
    check_drawn(&o, (uint64_t)5 << 22 | 97 << 12 | 3, 1735689600000 + 5, 3);
    CHECK_STR(flake_gen_options(&gen)->layout.name, "default");
    CHECK_EQ(flake_gen_options(&gen)->layout.time_bits, 41);
    CHECK_EQ(flake_gen_options(&gen)->layout.unit_ms, 1);
    CHECK_EQ(flake_init(&gen, NULL, NULL), FLAKE_OK);
    CHECK_STR(flake_gen_options(&gen)->layout.name, "default");
    CHECK_EQ(flake_layout_check(&zero, NULL), FLAKE_INVALID); /* but no layout in itself */
}

TEST(a_layout_is_found_by_its_name) {
    static const char *const names[] = {
        "default",   "idgen",    "twitter", "hazelcast", "uniqueid_ordered", "uniqueid_spread",
        "sonyflake", "discord",  "instagram", "mastodon", "js53",            "boundary",
        "uuid7",     "uuid7_node", "uuid8",  "ulid"};
    flake_layout layout = flake_layout_of(40, 12, 12, 5);
    CHECK_EQ(flake_layout_named("Twitter", &layout), FLAKE_INVALID);
    CHECK_EQ(flake_layout_named("", &layout), FLAKE_INVALID);
    CHECK_EQ(flake_layout_named(NULL, &layout), FLAKE_INVALID);
    CHECK_EQ(layout.epoch_ms, 5);
    const size_t count = sizeof names / sizeof *names;
    for (size_t i = 0; i < count; i++) {
        CHECK_EQ(flake_layout_named(names[i], &layout), FLAKE_OK);
        CHECK_STR(layout.name, names[i]);
        CHECK_EQ(flake_layout_check(&layout, NULL), FLAKE_OK);
        layout.name = NULL;
        CHECK_EQ(flake_layout_at(i, &layout), FLAKE_OK);
        CHECK_STR(layout.name, names[i]);
    }
    CHECK_EQ(flake_layout_at(count, &layout), FLAKE_INVALID);
    CHECK_EQ(flake_layout_at(SIZE_MAX, &layout), FLAKE_INVALID);
    CHECK_STR(layout.name, names[count - 1]);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
