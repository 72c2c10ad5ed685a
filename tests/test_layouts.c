/* SPDX-License-Identifier: MIT
 *
 * What the bits of an id mean: the peers' own ids, every layout, the bounds of its units, and ids that are
 * none.
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

TEST(any_layout_may_have_a_sign_above_its_time) {
    uint64_t state = 11;
    int signs = 0;
    for (int i = 0; i < rounds; i++) {
        flake_layout l = random_layout(&state);
        l.time_sign = 1;
        if (flake_layout_check(&l, NULL) != FLAKE_OK) continue;
        const uint64_t most = ((uint64_t)l.epoch_ms - (uint64_t)INT64_MIN) / l.unit_ms - 1;
        const uint64_t in_bits = ones(l.time_bits), random = random_next(&state);
        const uint64_t back = random % (in_bits < most ? in_bits : most) + 1;
        const uint64_t node = random_bits(&state, l.node_bits),
                       seq = random_bits(&state, l.seq_bits);
        const uint64_t sign = (uint64_t)1 << (l.time_shift + l.time_bits);
        check_parts(&l, id_by_bits(&l, 0 - back, node, seq) | sign,
                    (int64_t)((uint64_t)l.epoch_ms - back * l.unit_ms), node, seq);
        signs++;
    }
    CHECK(signs > rounds / 10);
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
        CHECK_EQ(l.epoch_ms, known[i].epoch_ms);
        CHECK_EQ(l.unit_ms, known[i].unit_ms);
        CHECK_EQ(l.time_bits, known[i].time_bits);
        CHECK_EQ(l.time_shift, known[i].time_shift);
        CHECK_EQ(l.node_bits, known[i].node_bits);
        if (l.node_bits) CHECK_EQ(l.node_shift, known[i].node_shift);
        CHECK_EQ(l.seq_bits, known[i].seq_bits);
        CHECK_EQ(l.seq_shift, known[i].seq_shift);
        CHECK_EQ(l.time_reversed, known[i].time_reversed);
        CHECK_EQ(l.gap_at, known[i].gap_at);
        CHECK_EQ(l.gap_bit, known[i].gap_bit);
        CHECK_EQ(l.time_sign, strcmp(l.name, "hazelcast") == 0);
        CHECK_EQ(flake_layout_check(&l, NULL), FLAKE_OK);
    }
}

/* Midnights, given as days since 1970. */
TEST(round_epochs_are_midnights) {
    const int64_t day_ms = 86400000;
    CHECK_EQ(flake_layout_hazelcast.epoch_ms, 17532 * day_ms);
    CHECK_EQ(flake_layout_sonyflake.epoch_ms, 16314 * day_ms);
    CHECK_EQ(flake_layout_discord.epoch_ms, 16436 * day_ms);
    CHECK_EQ(flake_layout_js53.epoch_ms, 18262 * day_ms);
}

TEST(layout_of_is_time_node_seq_down_to_bit_0) {
    const flake_layout l = flake_layout_of(30, 7, 9, -5);
    CHECK_STR(l.name, "custom");
    CHECK_EQ(l.epoch_ms, -5);
    CHECK_EQ(l.unit_ms, 1);
    check_id(&l, (uint64_t)1 << 16 | 1 << 9 | 1, -4, 1, 1);
    check_id(&l, ones(46), -5 + (1 << 30) - 1, 127, 511);
}

static void check_layout_round_trip(const flake_layout *l, uint64_t *state, int times) {
    CHECK_EQ(flake_layout_check(l, NULL), FLAKE_OK);
    for (int corner = 0; corner < 8; corner++) {
        uint64_t time = corner & 1 ? last_unit(l) : 0;
        uint64_t node = corner & 2 ? ones(l->node_bits) : 0;
        uint64_t seq = corner & 4 ? ones(l->seq_bits) : 0;
        check_id(l, id_by_bits(l, time, node, seq), unit_start_ms(l, time), node, seq);
    }
    for (int i = 0; i < times; i++) {
        uint64_t time = random_unit(state, l);
        uint64_t node = random_bits(state, l->node_bits), seq = random_bits(state, l->seq_bits);
        check_id(l, id_by_bits(l, time, node, seq), unit_start_ms(l, time), node, seq);
    }
}

TEST(built_in_layouts_round_trip) {
    uint64_t state = 1;
    for (int i = 0; i < built_in_count; i++) {
        const flake_layout l = built_in[i];
        check_layout_round_trip(&l, &state, rounds);
    }
}

TEST(random_layouts_round_trip) {
    uint64_t state = 2;
    for (int i = 0; i < rounds; i++) {
        const flake_layout odd = random_layout(&state), plain = random_ordered_layout(&state);
        check_layout_round_trip(&odd, &state, 20);
        check_layout_round_trip(&plain, &state, 20);
    }
}

/* A layout's generators draw the ids that compose makes of clock, node and sequence number. */
static void check_generator_follows(const flake_layout *l, uint64_t *state) {
    uint64_t last = ((uint64_t)last_clock_ms - (uint64_t)l->epoch_ms) / l->unit_ms - 2;
    if (last > last_unit(l)) last = last_unit(l);
    const uint64_t time = random_next(state) % (last + 1);
    const uint64_t node = random_bits(state, l->node_bits), most = ones(l->seq_bits);
    flake_options o = on_script(*l, (uint32_t)node);
    o.seq_min = (uint32_t)random_below(state, most + 1);
    o.seq_max = (uint32_t)(o.seq_min + random_below(state, most + 1 - o.seq_min));
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    const uint64_t top = o.seq_max ? o.seq_max : most;
    uint64_t id = 0;
    script_at_ms(unit_start_ms(l, time) + (int64_t)random_below(state, l->unit_ms));
    for (uint64_t seq = o.seq_min; seq <= top && seq < o.seq_min + 20u; seq++) {
        CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
        CHECK_EQ(id, id_by_bits(l, time, node, seq));
    }
    if (top < o.seq_min + 20u) CHECK(flake_try(&gen, &id) != FLAKE_OK);
    if (time == last) return;
    script_at_ms(unit_start_ms(l, time + 1));
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(id, id_by_bits(l, time + 1, node, o.seq_min));
}

TEST(generators_draw_what_compose_makes) {
    uint64_t state = 3;
    for (int i = 0; i < rounds; i++) {
        const flake_layout l = built_in[i % built_in_count], odd = random_layout(&state);
        check_generator_follows(&l, &state);
        check_generator_follows(&odd, &state);
    }
}

TEST(the_sign_bit_is_never_set) {
    static const flake_layout positive[] = {FLAKE_LAYOUT_DEFAULT, FLAKE_LAYOUT_HAZELCAST,
                                            FLAKE_LAYOUT_TWITTER, FLAKE_LAYOUT_SONYFLAKE};
    for (int i = 0; i < 4; i++) {
        const flake_layout l = positive[i];
        uint64_t id = 0;
        CHECK_EQ(flake_max_at(&l, flake_layout_end_ms(&l), &id), FLAKE_OK);
        CHECK_EQ(id, INT64_MAX);
    }
}

TEST(javascript_holds_every_id_of_js53) {
    const flake_layout l = flake_layout_js53;
    const uint64_t past_last = (uint64_t)1 << 53; /* Number.MAX_SAFE_INTEGER + 1 */
    uint64_t id = 0;
    CHECK_EQ(flake_max_at(&l, flake_layout_end_ms(&l), &id), FLAKE_OK);
    CHECK_EQ(id, past_last - 1);
}

TEST(a_ms_within_a_unit_counts_as_the_unit) {
    const flake_layout l = flake_layout_sonyflake;
    const int64_t start_ms = l.epoch_ms + 1234560;
    for (int64_t ms = 0; ms < 10; ms++) {
        flake_parts p = parts_of(start_ms + ms, 1, 2);
        uint64_t id = 0;
        CHECK_EQ(flake_compose(&l, &p, &id), FLAKE_OK);
        check_parts(&l, id, start_ms, 1, 2);
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

/* ---- bounds of a unit ---- */

static void check_bounds(const flake_layout *l, uint64_t time, uint64_t *state) {
    const int64_t start_ms = unit_start_ms(l, time);
    uint64_t low = 1, high = 0, id = 0;
    CHECK_EQ(flake_min_at(l, start_ms, &low), FLAKE_OK);
    CHECK_EQ(flake_max_at(l, start_ms, &high), FLAKE_OK);
    CHECK_EQ(low, id_by_bits(l, time, 0, 0));
    CHECK_EQ(high, id_by_bits(l, time, ones(l->node_bits), ones(l->seq_bits)));
    for (int i = 0; i < 8; i++) {
        const uint64_t room_ms = (uint64_t)INT64_MAX - (uint64_t)start_ms;
        const uint64_t unit_ms = room_ms < l->unit_ms ? room_ms + 1 : l->unit_ms;
        flake_parts p = parts_of(start_ms + (int64_t)random_below(state, unit_ms),
                                 random_bits(state, l->node_bits), random_bits(state, l->seq_bits));
        CHECK_EQ(flake_compose(l, &p, &id), FLAKE_OK);
        CHECK(low <= id && id <= high);
        CHECK_EQ(flake_min_at(l, p.unix_ms, &id), FLAKE_OK);
        CHECK_EQ(id, low);
        CHECK_EQ(flake_max_at(l, p.unix_ms, &id), FLAKE_OK);
        CHECK_EQ(id, high);
    }
}

/* Where time stands on top, the units before and after lie outside. */
static void check_ordered_bounds(const flake_layout *l, uint64_t time, uint64_t *state) {
    uint64_t low = 0, high = 0, before = 0, after = 0;
    check_bounds(l, time, state);
    CHECK_EQ(flake_min_at(l, unit_start_ms(l, time), &low), FLAKE_OK);
    CHECK_EQ(flake_max_at(l, unit_start_ms(l, time), &high), FLAKE_OK);
    if (time > 0) {
        CHECK_EQ(flake_max_at(l, unit_start_ms(l, time) - 1, &before), FLAKE_OK);
        CHECK(before < low);
    }
    if (time < last_unit(l)) {
        CHECK_EQ(flake_min_at(l, unit_start_ms(l, time + 1), &after), FLAKE_OK);
        CHECK(after > high);
    }
}

TEST(min_and_max_enclose_a_unit_and_nothing_else) {
    uint64_t state = 4;
    for (int i = 0; i < built_in_count; i++) {
        const flake_layout l = built_in[i];
        for (int round = 0; round < rounds; round++) {
            if (l.time_reversed) check_bounds(&l, random_unit(&state, &l), &state);
            else check_ordered_bounds(&l, random_unit(&state, &l), &state);
        }
    }
    for (int i = 0; i < rounds; i++) {
        const flake_layout odd = random_layout(&state), ordered = random_ordered_layout(&state);
        check_bounds(&odd, random_unit(&state, &odd), &state);
        check_ordered_bounds(&ordered, random_unit(&state, &ordered), &state);
        check_ordered_bounds(&ordered, 0, &state);
        check_ordered_bounds(&ordered, last_unit(&ordered), &state);
    }
}

/* ---- ids that are none ---- */

/* Flips each bit that no id of the layout differs in: those of no field, and the gap. */
static void check_foreign_bits(const flake_layout *l, uint64_t id) {
    const uint64_t fields =
        (id_by_bits(l, UINT64_MAX, UINT64_MAX, UINT64_MAX) ^ id_by_bits(l, 0, 0, 0)) |
        (uint64_t)l->time_sign << (l->time_shift + l->time_bits) % 64;
    for (unsigned b = 0; b < 64; b++) {
        flake_parts p = parts_of(1, 2, 3);
        if (fields >> b & 1) continue;
        CHECK_EQ(flake_decompose(l, id ^ (uint64_t)1 << b, &p), FLAKE_INVALID);
        CHECK(p.unix_ms == 1 && p.node == 2 && p.seq == 3);
    }
}

TEST(an_id_with_foreign_bits_is_refused) {
    uint64_t state = 7;
    for (int i = 0; i < built_in_count + rounds; i++) {
        const flake_layout l = i < built_in_count ? built_in[i] : random_layout(&state);
        const uint64_t time = random_unit(&state, &l);
        check_foreign_bits(&l, id_by_bits(&l, time, random_next(&state), random_next(&state)));
    }
    const flake_layout ordered = flake_layout_uniqueid_ordered,
                       spread = flake_layout_uniqueid_spread;
    flake_parts p;
    CHECK_EQ(flake_decompose(&ordered, 0x2e0cd6, &p), FLAKE_INVALID); /* mode bit of the other */
    CHECK_EQ(flake_decompose(&spread, 0x2e1cd6, &p), FLAKE_INVALID);
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
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CHECK_EQ(flake_layout_named(names[i], &layout), FLAKE_OK);
        CHECK_STR(layout.name, names[i]);
        CHECK_EQ(flake_layout_check(&layout, NULL), FLAKE_OK);
    }
    const size_t count = sizeof names / sizeof *names;
    for (size_t i = 0; i < count; i++) {
        CHECK_EQ(flake_layout_at(i, &layout), FLAKE_OK);
        CHECK_STR(layout.name, names[i]);
    }
    CHECK_EQ(flake_layout_at(count, &layout), FLAKE_INVALID);
    CHECK_EQ(flake_layout_at(SIZE_MAX, &layout), FLAKE_INVALID);
    CHECK_STR(layout.name, names[count - 1]);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
