/* SPDX-License-Identifier: MIT
 *
 * What the bits of an id mean: the peers' own ids, every layout from its first ms to its last, and
 * what an init refuses.
 */
#include "support.h"
#include <limits.h>
#include "flake.h"

static flake_gen gen;

static flake_layout (*const built_in[])(void) = {
    flake_layout_idgen,   flake_layout_hazelcast, flake_layout_uniqueid_ordered,
    flake_layout_twitter, flake_layout_sonyflake, flake_layout_uniqueid_spread,
    flake_layout_discord, flake_layout_instagram, flake_layout_mastodon,
    flake_layout_js53};
enum { built_in_count = sizeof built_in / sizeof *built_in };

#ifdef TEST_SMALL
enum { rounds = 20 };
#else
enum { rounds = 400 };
#endif

static const int64_t last_clock_ms = INT64_MAX / 1000000;

static flake_options on_script(flake_layout layout, uint32_t node) {
    flake_options o;
    memset(&o, 0, sizeof o);
    o.layout = layout;
    o.node = node;
    o.clock.now_ns = script_read;
    o.clock.user = &script_now;
    return o;
}

static uint64_t ones(unsigned bits) { return bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX; }

static uint64_t random_bits(uint64_t *state, unsigned bits) {
    return bits ? random_next(state) >> (64 - bits) : 0;
}

static flake_parts parts_of(int64_t unix_ms, uint64_t node, uint64_t seq) {
    flake_parts p;
    p.unix_ms = unix_ms;
    p.time = 0;
    p.node = (uint32_t)node;
    p.seq = (uint32_t)seq;
    return p;
}

/* The id bit by bit, as the layout's comments describe it. */
static uint64_t id_by_bits(const flake_layout *l, uint64_t time, uint64_t node, uint64_t seq) {
    uint64_t id = 0;
    for (unsigned b = 0; b < l->time_bits; b++) {
        unsigned at = l->spread ? l->time_bits - 1u - b : b;
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

/* The last unit whose start an int64_t of ms can hold. */
static uint64_t last_unit(const flake_layout *l) {
    uint64_t most = ((uint64_t)INT64_MAX - (uint64_t)l->epoch_ms) / l->unit_ms;
    return most < ones(l->time_bits) ? most : ones(l->time_bits);
}

static uint64_t random_unit(uint64_t *state, const flake_layout *l) {
    uint64_t last = last_unit(l);
    return last == UINT64_MAX ? random_next(state) : random_next(state) % (last + 1);
}

static int64_t unit_start_ms(const flake_layout *l, uint64_t time) {
    return (int64_t)((uint64_t)l->epoch_ms + time * l->unit_ms);
}

/* Fields of any width in any order, with gaps between them. */
static flake_layout random_layout(uint64_t *state) {
    static const uint32_t units[] = {1, 1, 4, 10, 1000, 86400000};
    flake_layout l;
    memset(&l, 0, sizeof l);
    l.name = "random";
    l.epoch_ms = (int64_t)random_below(state, 8000000000000) - 4000000000000;
    l.unit_ms = units[random_below(state, sizeof units / sizeof *units)];
    l.spread = (uint8_t)random_below(state, 2);
    do {
        l.time_bits = (uint8_t)(1 + random_below(state, 64));
        l.node_bits = (uint8_t)random_below(state, 33);
        l.seq_bits = (uint8_t)random_below(state, 33);
    } while (l.time_bits + l.node_bits + l.seq_bits > 64);
    unsigned spare = 64u - l.time_bits - l.node_bits - l.seq_bits;
    if (spare && l.node_bits && random_below(state, 2)) {
        spare--;
        l.gap_at = (uint8_t)(1 + random_below(state, l.node_bits));
        l.gap_bit = (uint8_t)random_below(state, 2);
    }
    const unsigned width[3] = {l.time_bits, l.node_bits + (l.gap_at ? 1u : 0u), l.seq_bits};
    uint8_t *const shift[3] = {&l.time_shift, &l.node_shift, &l.seq_shift};
    unsigned field = (unsigned)random_below(state, 3), at = 0;
    const unsigned step = 1 + (unsigned)random_below(state, 2);
    for (int i = 0; i < 3; i++, field = (field + step) % 3) {
        unsigned gap = (unsigned)random_below(state, spare + 1);
        spare -= gap;
        at += gap;
        *shift[field] = (uint8_t)(width[field] ? at : 0);
        at += width[field];
    }
    return l;
}

/* time, node and seq from the top of a random width down, so that ids sort by time */
static flake_layout random_ordered_layout(uint64_t *state) {
    unsigned time_bits = 1 + (unsigned)random_below(state, 50), node_bits, seq_bits;
    do {
        node_bits = (unsigned)random_below(state, 33);
        seq_bits = (unsigned)random_below(state, 33);
    } while (time_bits + node_bits + seq_bits > 64);
    flake_layout l = flake_layout_of(time_bits, node_bits, seq_bits,
                                     (int64_t)random_below(state, 2000000) - 1000000);
    l.unit_ms = (uint32_t)(1 + random_below(state, 3) * 7);
    return l;
}

static void check_parts(const flake_layout *l, uint64_t id, int64_t unix_ms, uint64_t node,
                        uint64_t seq) {
    flake_parts p = parts_of(0, 77, 77);
    CHECK_EQ(flake_decompose(l, id, &p), FLAKE_OK);
    CHECK_EQ(p.unix_ms, unix_ms);
    CHECK_EQ(p.time, ((uint64_t)unix_ms - (uint64_t)l->epoch_ms) / l->unit_ms);
    CHECK_EQ(p.node, node);
    CHECK_EQ(p.seq, seq);
}

/* One id, made by compose and taken apart again. */
static void check_id(const flake_layout *l, uint64_t id, int64_t unix_ms, uint64_t node,
                     uint64_t seq) {
    uint64_t composed = ~id;
    flake_parts p = parts_of(unix_ms, node, seq);
    CHECK_EQ(flake_compose(l, &p, &composed), FLAKE_OK);
    CHECK_EQ(composed, id);
    check_parts(l, id, unix_ms, node, seq);
}

/* The id that a fresh generator draws after `before` others at this time. */
static void check_drawn(const flake_options *o, uint64_t id, int64_t unix_ms, uint64_t before) {
    uint64_t drawn = 0;
    script_at_ms(unix_ms);
    CHECK_EQ(flake_init(&gen, o), FLAKE_OK);
    for (uint64_t i = 0; i <= before; i++) CHECK_EQ(flake_try(&gen, &drawn), FLAKE_OK);
    CHECK_EQ(drawn, id);
    script_at_ms(unix_ms);
    CHECK_EQ(flake_init(&gen, o), FLAKE_OK);
    for (uint64_t i = 0; i <= before; i++) CHECK_EQ(flake_next(&gen, &drawn), FLAKE_OK);
    CHECK_EQ(drawn, id);
    CHECK_EQ(script_now.sleeps, 0);
}

/* ---- the peers' ids ---- */

static uint64_t from_hex(const char *hex) { return (uint64_t)strtoull(hex, NULL, 16); }
static int64_t from_dec(const char *dec) { return (int64_t)strtoll(dec, NULL, 10); }

static void idgen_row(char **field) {
    const int64_t now_ms = from_dec(field[0]);
    const unsigned datacenter = (unsigned)from_dec(field[2]), worker = (unsigned)from_dec(field[3]);
    const uint64_t counter = (uint64_t)from_dec(field[4]), id = from_hex(field[5]);
    flake_layout l = flake_layout_idgen();
    l.epoch_ms = from_dec(field[1]);
    const uint32_t node = flake_idgen_node(datacenter, worker);
    CHECK_EQ(id, strtoull(field[6], NULL, 10));
    CHECK_EQ(node >> 5, datacenter);
    CHECK_EQ(node & 31, worker);
    check_id(&l, id, now_ms, node, counter);
    flake_options o = on_script(l, node);
    check_drawn(&o, id, now_ms, counter);
}

static void flake_idgens_ids_come_out(void) { vectors_read("idgen.tsv", 9, idgen_row); }

static void the_ids_on_flake_idgens_page_come_out(void) {
    const flake_layout l = flake_layout_idgen();
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
    const flake_layout l = strcmp(field[0], "SPREAD") == 0 ? flake_layout_uniqueid_spread()
                                                           : flake_layout_uniqueid_ordered();
    const int64_t unix_ms = from_dec(field[1]);
    const uint64_t seq = (uint64_t)from_dec(field[2]), id = from_hex(field[5]);
    const uint32_t node =
        flake_uniqueid_node((unsigned)from_dec(field[4]), (unsigned)from_dec(field[3]));
    check_id(&l, id, unix_ms, node, seq);
    flake_options o = on_script(l, node);
    check_drawn(&o, id, unix_ms, seq);
}

static void uniqueids_ids_of_both_modes_come_out(void) {
    vectors_read("uniqueid.tsv", 6, uniqueid_row);
}

static void hazelcast_row(char **field) {
    const flake_layout l = flake_layout_hazelcast();
    const int64_t now_ms = from_dec(field[0]);
    const uint32_t node = (uint32_t)from_dec(field[1]);
    const uint64_t seq = (uint64_t)from_dec(field[2]), id = (uint64_t)from_dec(field[3]);
    check_id(&l, id, now_ms, node, seq);
    flake_options o = on_script(l, node);
    check_drawn(&o, id, now_ms, seq);
    o.node = 1000; /* Hazelcast's node-id-offset */
    o.node_offset = node - 1000;
    check_drawn(&o, id, now_ms, seq);
}

static void hazelcasts_figures_come_out(void) { vectors_read("hazelcast.tsv", 4, hazelcast_row); }

/* Examples from Wikipedia, Discord's reference and Instagram's article on its ids. */
static void published_ids_of_other_snowflakes_come_out(void) {
    flake_layout twitter = flake_layout_twitter(), discord = flake_layout_discord();
    flake_layout instagram = flake_layout_instagram(), mastodon = flake_layout_mastodon();
    check_id(&twitter, 1541815603606036480, 1656432460105, 378, 0);
    check_id(&discord, 175928847299117063, 1462015105796, 1 << 5 | 0, 7);
    check_id(&discord, 90339695967350784, 1441609061949, 0 << 5 | 3, 0);
    check_id(&instagram, (uint64_t)1387263000 << (64 - 41) | 1341 << (64 - 41 - 13) | 5001 % 1024,
             instagram.epoch_ms + 1387263000, 1341, 5001 % 1024);
    check_id(&mastodon, (uint64_t)1480000000000 << 16 | 54321, 1480000000000, 0, 54321);
}

/* ---- layouts ---- */

static void built_in_layouts_have_their_fields_and_epochs(void) {
    static const struct {
        const char *name;
        int64_t epoch_ms;
        unsigned unit_ms, time_bits, time_shift, node_bits, node_shift, seq_bits, seq_shift;
        unsigned spread, gap_at, gap_bit;
    } known[built_in_count] = {
        {"idgen", 0, 1, 42, 22, 10, 12, 12, 0, 0, 0, 0},
        {"hazelcast", 1514764800000, 1, 41, 22, 16, 0, 6, 16, 0, 0, 0},
        {"uniqueid_ordered", 0, 1, 42, 22, 15, 0, 6, 16, 0, 12, 1},
        {"twitter", 1288834974657, 1, 41, 22, 10, 12, 12, 0, 0, 0, 0},
        {"sonyflake", 1409529600000, 10, 39, 24, 16, 0, 8, 16, 0, 0, 0},
        {"uniqueid_spread", 0, 1, 42, 22, 15, 0, 6, 16, 1, 12, 0},
        {"discord", 1420070400000, 1, 42, 22, 10, 12, 12, 0, 0, 0, 0},
        {"instagram", 1314220021721, 1, 41, 23, 13, 10, 10, 0, 0, 0, 0},
        {"mastodon", 0, 1, 48, 16, 0, 16, 16, 0, 0, 0, 0},
        {"js53", 1577836800000, 1, 41, 12, 5, 7, 7, 0, 0, 0, 0},
    };
    for (int i = 0; i < built_in_count; i++) {
        const flake_layout l = built_in[i]();
        CHECK_STR(l.name, known[i].name);
        CHECK_EQ(l.epoch_ms, known[i].epoch_ms);
        CHECK_EQ(l.unit_ms, known[i].unit_ms);
        CHECK_EQ(l.time_bits, known[i].time_bits);
        CHECK_EQ(l.time_shift, known[i].time_shift);
        CHECK_EQ(l.node_bits, known[i].node_bits);
        if (l.node_bits) CHECK_EQ(l.node_shift, known[i].node_shift);
        CHECK_EQ(l.seq_bits, known[i].seq_bits);
        CHECK_EQ(l.seq_shift, known[i].seq_shift);
        CHECK_EQ(l.spread, known[i].spread);
        CHECK_EQ(l.gap_at, known[i].gap_at);
        CHECK_EQ(l.gap_bit, known[i].gap_bit);
        CHECK_EQ(flake_layout_check(&l), FLAKE_OK);
    }
}

/* Midnights, given as days since 1970. */
static void round_epochs_are_midnights(void) {
    const int64_t day_ms = 86400000;
    CHECK_EQ(flake_layout_hazelcast().epoch_ms, 17532 * day_ms);
    CHECK_EQ(flake_layout_sonyflake().epoch_ms, 16314 * day_ms);
    CHECK_EQ(flake_layout_discord().epoch_ms, 16436 * day_ms);
    CHECK_EQ(flake_layout_js53().epoch_ms, 18262 * day_ms);
}

static void layout_of_is_time_node_seq_down_to_bit_0(void) {
    const flake_layout l = flake_layout_of(30, 7, 9, -5);
    CHECK_EQ(l.epoch_ms, -5);
    CHECK_EQ(l.unit_ms, 1);
    check_id(&l, (uint64_t)1 << 16 | 1 << 9 | 1, -4, 1, 1);
    check_id(&l, ones(46), -5 + (1 << 30) - 1, 127, 511);
}

static void check_layout_round_trip(const flake_layout *l, uint64_t *state, int times) {
    CHECK_EQ(flake_layout_check(l), FLAKE_OK);
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

static void built_in_layouts_round_trip(void) {
    uint64_t state = 1;
    for (int i = 0; i < built_in_count; i++) {
        const flake_layout l = built_in[i]();
        check_layout_round_trip(&l, &state, rounds);
    }
}

static void random_layouts_round_trip(void) {
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
    CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
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

static void generators_draw_what_compose_makes(void) {
    uint64_t state = 3;
    for (int i = 0; i < rounds; i++) {
        const flake_layout l = built_in[i % built_in_count](), odd = random_layout(&state);
        check_generator_follows(&l, &state);
        check_generator_follows(&odd, &state);
    }
}

static void the_sign_bit_is_never_set(void) {
    static flake_layout (*const positive[])(void) = {flake_layout_hazelcast, flake_layout_twitter,
                                                     flake_layout_sonyflake};
    for (int i = 0; i < 3; i++) {
        const flake_layout l = positive[i]();
        uint64_t id = 0;
        CHECK_EQ(flake_max_at(&l, flake_expires_ms(&l), &id), FLAKE_OK);
        CHECK_EQ(id, INT64_MAX);
    }
}

static void javascript_holds_every_id_of_js53(void) {
    const flake_layout l = flake_layout_js53();
    const uint64_t past_last = (uint64_t)1 << 53; /* Number.MAX_SAFE_INTEGER + 1 */
    uint64_t id = 0;
    CHECK_EQ(flake_max_at(&l, flake_expires_ms(&l), &id), FLAKE_OK);
    CHECK_EQ(id, past_last - 1);
}

static void a_ms_within_a_unit_counts_as_the_unit(void) {
    const flake_layout l = flake_layout_sonyflake();
    const int64_t start_ms = l.epoch_ms + 1234560;
    for (int64_t ms = 0; ms < 10; ms++) {
        flake_parts p = parts_of(start_ms + ms, 1, 2);
        uint64_t id = 0;
        CHECK_EQ(flake_compose(&l, &p, &id), FLAKE_OK);
        check_parts(&l, id, start_ms, 1, 2);
    }
}

static void compose_does_not_look_at_the_time_in_units(void) {
    const flake_layout l = flake_layout_idgen();
    flake_parts p = parts_of(5, 6, 7);
    uint64_t id = 0;
    p.time = UINT64_MAX;
    CHECK_EQ(flake_compose(&l, &p, &id), FLAKE_OK);
    CHECK_EQ(id, (uint64_t)5 << 22 | 6 << 12 | 7);
}

static void a_uniqueid_generator_is_split_around_the_mode_bit(void) {
    const flake_layout layouts[2] = {flake_layout_uniqueid_ordered(),
                                     flake_layout_uniqueid_spread()};
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

static void hazelcast_takes_other_widths(void) {
    for (unsigned seq_bits = 0; seq_bits <= 32; seq_bits++)
        for (unsigned node_bits = 0; node_bits <= 32; node_bits++) {
            const flake_layout l = flake_layout_hazelcast_bits(seq_bits, node_bits);
            if (seq_bits + node_bits > 62) {
                CHECK_EQ(flake_layout_check(&l), FLAKE_INVALID);
                continue;
            }
            const unsigned time_bits = 63 - seq_bits - node_bits;
            const int64_t epoch_ms = 1514764800000;
            CHECK_EQ(flake_layout_check(&l), FLAKE_OK);
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
        const flake_layout l = flake_layout_hazelcast_bits(wrong[i][0], wrong[i][1]);
        CHECK_EQ(flake_layout_check(&l), FLAKE_INVALID);
    }
}

static void a_zeroed_layout_is_flake_idgens(void) {
    flake_layout zero;
    memset(&zero, 0, sizeof zero);
    flake_options o = on_script(zero, flake_idgen_node(3, 1));
    check_drawn(&o, 0x02308300cd461003, 0x8c20c0335, 3);
    CHECK_STR(flake_gen_options(&gen)->layout.name, "idgen");
    CHECK_EQ(flake_gen_options(&gen)->layout.time_bits, 42);
    CHECK_EQ(flake_gen_options(&gen)->layout.unit_ms, 1);
    CHECK_EQ(flake_init(&gen, NULL), FLAKE_OK);
    CHECK_STR(flake_gen_options(&gen)->layout.name, "idgen");
    CHECK_EQ(flake_layout_check(&zero), FLAKE_INVALID); /* but no layout in itself */
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

static void min_and_max_enclose_a_unit_and_nothing_else(void) {
    uint64_t state = 4;
    for (int i = 0; i < built_in_count; i++) {
        const flake_layout l = built_in[i]();
        for (int round = 0; round < rounds; round++) {
            if (l.spread) check_bounds(&l, random_unit(&state, &l), &state);
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

/* ---- times outside ---- */

/* What compose, min_at and max_at say of a time; a refusal leaves the output. */
static void check_time(const flake_layout *l, int64_t unix_ms, flake_status status) {
    const uint64_t before = 0x0123456789abcdef;
    uint64_t id = before;
    flake_parts p = parts_of(unix_ms, 0, 0);
    CHECK_EQ(flake_compose(l, &p, &id), status);
    if (status != FLAKE_OK) CHECK_EQ(id, before);
    CHECK_EQ(flake_min_at(l, unix_ms, &id), status);
    if (status != FLAKE_OK) CHECK_EQ(id, before);
    CHECK_EQ(flake_max_at(l, unix_ms, &id), status);
    if (status != FLAKE_OK) CHECK_EQ(id, before);
}

static void check_borders(const flake_layout *l) {
    check_time(l, l->epoch_ms, FLAKE_OK);
    if (l->epoch_ms > INT64_MIN) {
        check_time(l, l->epoch_ms - 1, FLAKE_RANGE);
        check_time(l, INT64_MIN, FLAKE_RANGE);
    }
    const int64_t expires_ms = flake_expires_ms(l);
    check_time(l, expires_ms, FLAKE_OK);
    if (expires_ms < INT64_MAX) {
        check_time(l, expires_ms + 1, FLAKE_RANGE);
        check_time(l, INT64_MAX, FLAKE_RANGE);
    }
}

static void a_time_outside_is_refused_exactly_at_the_borders(void) {
    uint64_t state = 5;
    for (int i = 0; i < built_in_count; i++) {
        flake_layout l = built_in[i]();
        check_borders(&l);
        l.epoch_ms = -l.epoch_ms - 12345; /* before 1970 */
        check_borders(&l);
    }
    for (int i = 0; i < rounds; i++) {
        const flake_layout odd = random_layout(&state), ordered = random_ordered_layout(&state);
        check_borders(&odd);
        check_borders(&ordered);
    }
}

static void a_layout_expires_with_the_last_ms_of_its_last_unit(void) {
    flake_layout l;
    CHECK_EQ((l = flake_layout_idgen(), flake_expires_ms(&l)), 4398046511103);
    CHECK_EQ((l = flake_layout_hazelcast(), flake_expires_ms(&l)), 3713788055551);
    CHECK_EQ((l = flake_layout_sonyflake(), flake_expires_ms(&l)), 1409529600000 + 5497558138879);
    CHECK_EQ((l = flake_layout_twitter(), flake_expires_ms(&l)), 1288834974657 + 2199023255551);
    CHECK_EQ((l = flake_layout_mastodon(), flake_expires_ms(&l)), 281474976710655);
    CHECK_EQ((l = flake_layout_of(1, 0, 0, -1), flake_expires_ms(&l)), 0);
    CHECK_EQ((l = flake_layout_of(10, 0, 0, -5000), flake_expires_ms(&l)), -5000 + 1023);
    l.unit_ms = 60000;
    CHECK_EQ(flake_expires_ms(&l), -5000 + 1024 * 60000 - 1);
    CHECK_EQ((l = flake_layout_of(63, 0, 0, 0), flake_expires_ms(&l)), INT64_MAX);
    CHECK_EQ((l = flake_layout_of(63, 0, 0, -1), flake_expires_ms(&l)), INT64_MAX - 1);
    CHECK_EQ((l = flake_layout_of(63, 0, 0, 1), flake_expires_ms(&l)), INT64_MAX);
    CHECK_EQ((l = flake_layout_of(42, 10, 12, INT64_MAX - 5), flake_expires_ms(&l)), INT64_MAX);
}

static void the_ends_of_int64_are_times_like_others(void) {
    const flake_layout whole = flake_layout_of(64, 0, 0, INT64_MIN);
    check_borders(&whole);
    check_id(&whole, 0, INT64_MIN, 0, 0);
    check_id(&whole, (uint64_t)1 << 63, 0, 0, 0);
    check_id(&whole, UINT64_MAX, INT64_MAX, 0, 0);
    CHECK_EQ(flake_expires_ms(&whole), INT64_MAX);

    const flake_layout latest = flake_layout_of(64, 0, 0, INT64_MAX);
    flake_parts p = parts_of(1, 2, 3);
    check_borders(&latest);
    check_id(&latest, 0, INT64_MAX, 0, 0);
    CHECK_EQ(flake_decompose(&latest, 1, &p), FLAKE_RANGE); /* later than INT64_MAX */
    CHECK_EQ(p.unix_ms, 1);

    const flake_layout earliest = flake_layout_of(42, 10, 12, INT64_MIN);
    check_borders(&earliest);
    CHECK_EQ(flake_expires_ms(&earliest), INT64_MIN + ((int64_t)1 << 42) - 1);

    flake_layout long_units = flake_layout_of(31, 0, 24, INT64_MIN + 1);
    long_units.unit_ms = UINT32_MAX;
    check_borders(&long_units);
    check_id(&long_units, (uint64_t)1 << 24, INT64_MIN + 1 + (int64_t)UINT32_MAX, 0, 0);
    check_time(&long_units, INT64_MAX, FLAKE_RANGE);
    long_units.epoch_ms = INT64_MAX - 1;
    check_borders(&long_units);
    CHECK_EQ(flake_expires_ms(&long_units), INT64_MAX);
}

static void check_draw_refused(flake_status status, int64_t retry_ns) {
    uint64_t id = 99;
    CHECK_EQ(flake_try(&gen, &id), status);
    CHECK_EQ(flake_next(&gen, &id), status);
    CHECK_EQ(flake_next_n(&gen, &id, 1), status);
    CHECK_EQ(flake_try_n(&gen, &id, 1), 0);
    CHECK_EQ(flake_retry_ns(&gen), retry_ns);
    CHECK_EQ(id, 99);
}

static void a_generator_refuses_times_outside_its_layout(void) {
    for (int i = 0; i < built_in_count; i++) {
        for (int before_1970 = 0; before_1970 < 2; before_1970++) {
            flake_layout l = built_in[i]();
            if (before_1970) l.epoch_ms = -3000000000000;
            const int64_t expires_ms = flake_expires_ms(&l);
            if (expires_ms >= last_clock_ms)
                continue; /* Mastodon's goes on after the clock's end */
            flake_options o = on_script(l, 0);
            uint64_t id = 99;
            CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
            script_at_ms(l.epoch_ms);
            script_now.now_ns--;
            check_draw_refused(FLAKE_RANGE, 1);
            CHECK_EQ(flake_try_at(&gen, l.epoch_ms - 1, &id), FLAKE_RANGE);
            CHECK_EQ(flake_try_at(&gen, INT64_MIN, &id), FLAKE_RANGE);
            script_at_ms(expires_ms + 1);
            check_draw_refused(FLAKE_RANGE, INT64_MAX);
            CHECK_EQ(flake_try_at(&gen, expires_ms + 1, &id), FLAKE_RANGE);
            CHECK_EQ(flake_try_at(&gen, INT64_MAX, &id), FLAKE_RANGE);
            CHECK_EQ(id, 99);

            script_at_ms(l.epoch_ms); /* the refused draws have moved nothing */
            CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
            CHECK_EQ(id, id_by_bits(&l, 0, 0, 0));
            script_at_ms(expires_ms + 1);
            script_now.now_ns--;
            CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
            CHECK_EQ(id, id_by_bits(&l, ones(l.time_bits), 0, 0));
            CHECK_EQ(flake_try_at(&gen, expires_ms, &id), FLAKE_OK);
            CHECK_EQ(id, id_by_bits(&l, ones(l.time_bits), 0, 1));
        }
    }
}

static void a_spent_last_unit_is_the_end(void) {
    const flake_layout l = flake_layout_js53();
    flake_options o = on_script(l, 31);
    uint64_t id = 0;
    script_at_ms(flake_expires_ms(&l));
    CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
    for (int i = 0; i < 128; i++) CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK_EQ(id, ones(53));
    id = 99;
    check_draw_refused(FLAKE_RANGE, INT64_MAX);
    CHECK_EQ(script_now.sleeps, 0);
}

/* Time and sequence fill all 64 bits of the engine's word: the last id of all must not lead to the
 * first again. (The last unit may be the price.) */
static void the_widest_layout_does_not_begin_again_after_its_last_id(void) {
    static uint64_t ids[1 << 20];
    const flake_layout l = flake_layout_of(44, 0, 20, -last_clock_ms);
    flake_options o = on_script(l, 0);
    script_at_ms(flake_expires_ms(&l) - 1);
    CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
    for (uint64_t time = ones(44) - 1; time <= ones(44); time++) {
        uint64_t id = 99;
        const size_t n = flake_try_n(&gen, ids, 1 << 20);
        if (time < ones(44)) CHECK_EQ(n, 1 << 20);
        for (size_t i = 0; i < n; i++) CHECK_EQ(ids[i], time << 20 | i);
        CHECK(flake_try(&gen, &id) != FLAKE_OK);
        CHECK_EQ(flake_try_n(&gen, &id, 1), 0);
        CHECK_EQ(id, 99);
        script_now.now_ns += 1000000;
    }
}

/* On a generator that has a newest unit; a fresh one says FLAKE_RANGE, see above. */
static void check_counts_as_newest(const int64_t *old_ms, uint64_t n) {
    const flake_layout l = flake_layout_hazelcast();
    flake_options o = on_script(l, 7);
    uint64_t id = 0;
    script_at_ms(l.epoch_ms + 1000);
    CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    for (uint64_t i = 0; i < n; i++) {
        CHECK_EQ(flake_try_at(&gen, old_ms[i], &id), FLAKE_OK);
        CHECK_EQ(id, id_by_bits(&l, 1000, 7, i + 1));
    }
}

static void a_time_before_the_epoch_counts_as_the_newest_unit(void) {
    static const int64_t old_ms[] = {1514764800999, 1514764799999, 0, -1};
    check_counts_as_newest(old_ms, 4);
}

static void a_time_that_ns_cannot_tell_counts_as_the_newest_unit(void) {
    static const int64_t old_ms[] = {-9223372036854, -9223372036855, INT64_MIN};
    check_counts_as_newest(old_ms, 3);
}

/* Such a layout is refused, or keeps what it promises. */
static void check_first_ids(const flake_layout *l, int64_t unix_ms, uint64_t n) {
    flake_options o = on_script(*l, 0);
    const uint64_t time = ((uint64_t)unix_ms - (uint64_t)l->epoch_ms) / l->unit_ms;
    uint64_t id = 0;
    static unsigned char before[sizeof gen];
    memcpy(before, &gen, sizeof gen);
    script_at_ms(unix_ms);
    flake_status status = flake_init(&gen, &o);
    CHECK(status == FLAKE_OK || status == FLAKE_INVALID);
    if (status != FLAKE_OK) {
        CHECK(memcmp(before, &gen, sizeof gen) == 0);
        return;
    }
    for (uint64_t seq = 0; seq < n; seq++) {
        CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
        CHECK_EQ(id, id_by_bits(l, time, 0, seq));
    }
}

static void units_that_fit_the_clock_once_or_twice_are_counted_like_others(void) {
    flake_layout l = flake_layout_of(42, 10, 12, 0);
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
}

static void an_epoch_in_the_clocks_last_ms_has_one_unit_at_most(void) {
    const flake_layout l = flake_layout_of(42, 10, 12, last_clock_ms);
    flake_options o = on_script(l, 0);
    uint64_t id = 0;
    check_first_ids(&l, last_clock_ms, 4096);
    if (flake_init(&gen, &o) != FLAKE_OK) return;
    for (int i = 0; i < 4096; i++) CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_RANGE);
}

/* volatile: a compiler may else take the sign of an overflow for granted */
static volatile int64_t wait_ns;

static void a_clock_at_the_ends_of_int64_is_refused(void) {
    for (int i = 0; i < built_in_count; i++) {
        const flake_layout l = built_in[i]();
        flake_options o = on_script(l, 0);
        uint64_t id = 99;
        script_at_ms(0);
        CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
        script_now.now_ns = INT64_MIN;
        CHECK_EQ(flake_try(&gen, &id), FLAKE_RANGE);
        CHECK_EQ(flake_next(&gen, &id), FLAKE_RANGE);
        wait_ns = flake_retry_ns(&gen);
        CHECK(wait_ns > 0);
        script_now.now_ns = INT64_MAX;
        if (flake_expires_ms(&l) >= last_clock_ms) continue;
        CHECK_EQ(flake_try(&gen, &id), FLAKE_RANGE);
        CHECK_EQ(flake_next(&gen, &id), FLAKE_RANGE);
        CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
        CHECK_EQ(id, 99);
    }
}

/* The step is longer than an int64_t of ns. */
static void a_clock_put_back_by_centuries_is_a_clock_put_back(void) {
    const flake_layout l = flake_layout_of(45, 5, 13, -last_clock_ms);
    flake_options o = on_script(l, 0);
    uint64_t id = 99;
    script_at_ms(8000000000000);
    CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    script_at_ms(-8000000000000);
    id = 99;
    CHECK_EQ(flake_try(&gen, &id), FLAKE_CLOCK_BACK);
    wait_ns = flake_retry_ns(&gen);
    CHECK(wait_ns > 0);
    script_now.jump_to_ns = 8000000000000000000; /* ends a wait that should not be */
    CHECK_EQ(flake_next(&gen, &id), FLAKE_CLOCK_BACK);
    CHECK_EQ(script_now.sleeps, 0);
    CHECK_EQ(id, 99);
}

/* ---- what an init takes and refuses ---- */

static void node_numbers_have_bounds(void) {
    CHECK_EQ(flake_idgen_node(0, 0), 0);
    CHECK_EQ(flake_idgen_node(31, 31), 1023);
    CHECK_EQ(flake_idgen_node(32, 0), UINT32_MAX);
    CHECK_EQ(flake_idgen_node(0, 32), UINT32_MAX);
    CHECK_EQ(flake_idgen_node(UINT_MAX, UINT_MAX), UINT32_MAX);
    CHECK_EQ(flake_idgen_node(1u << 27, 0), UINT32_MAX); /* would be shifted out */
    CHECK_EQ(flake_uniqueid_node(0, 0), 0);
    CHECK_EQ(flake_uniqueid_node(15, 2047), 32767);
    CHECK_EQ(flake_uniqueid_node(16, 0), UINT32_MAX);
    CHECK_EQ(flake_uniqueid_node(0, 2048), UINT32_MAX);
    CHECK_EQ(flake_uniqueid_node(0, 1u << 28), UINT32_MAX);
    for (int i = 0; i < 2; i++) {
        flake_options o = on_script(i ? flake_layout_uniqueid_ordered() : flake_layout_idgen(),
                                    i ? flake_uniqueid_node(16, 0) : flake_idgen_node(0, 32));
        CHECK_EQ(flake_init(&gen, &o), FLAKE_INVALID);
    }
}

static void every_layouts_node_and_sequence_have_bounds(void) {
    uint64_t state = 6;
    for (int i = 0; i < built_in_count + rounds; i++) {
        const flake_layout l = i < built_in_count ? built_in[i]() : random_ordered_layout(&state);
        const uint64_t most_node = ones(l.node_bits), most_seq = ones(l.seq_bits);
        flake_options o = on_script(l, (uint32_t)most_node);
        flake_parts p = parts_of(l.epoch_ms, most_node, most_seq);
        uint64_t id = 99;
        CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
        o.seq_max = (uint32_t)most_seq;
        CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
        o.seq_min = (uint32_t)most_seq;
        CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
        CHECK_EQ(flake_compose(&l, &p, &id), FLAKE_OK);
        id = 99;
        if (most_node < UINT32_MAX) {
            o.node = p.node = (uint32_t)most_node + 1;
            CHECK_EQ(flake_init(&gen, &o), FLAKE_INVALID);
            CHECK_EQ(flake_compose(&l, &p, &id), FLAKE_INVALID);
            o.node = p.node = UINT32_MAX;
            CHECK_EQ(flake_init(&gen, &o), FLAKE_INVALID);
            CHECK_EQ(flake_compose(&l, &p, &id), FLAKE_INVALID);
        }
        o.node = p.node = 0;
        if (most_seq < UINT32_MAX) {
            o.seq_max = p.seq = (uint32_t)most_seq + 1;
            CHECK_EQ(flake_init(&gen, &o), FLAKE_INVALID);
            CHECK_EQ(flake_compose(&l, &p, &id), FLAKE_INVALID);
            o.seq_max = p.seq = UINT32_MAX;
            CHECK_EQ(flake_init(&gen, &o), FLAKE_INVALID);
            CHECK_EQ(flake_compose(&l, &p, &id), FLAKE_INVALID);
        }
        if (most_seq > 0) {
            o.seq_max = (uint32_t)most_seq - 1;
            o.seq_min = (uint32_t)most_seq; /* the wrong way round */
            CHECK_EQ(flake_init(&gen, &o), FLAKE_INVALID);
        }
        CHECK_EQ(id, 99);
    }
}

static void an_offset_that_lifts_the_node_out_is_told_apart(void) {
    const flake_layout l = flake_layout_hazelcast();
    flake_options o = on_script(l, 65535);
    uint64_t id = 0;
    o.node_offset = 1;
    CHECK_EQ(flake_init(&gen, &o), FLAKE_NODE);
    o.node_offset = UINT32_MAX; /* the sum wraps in 32 bits */
    CHECK_EQ(flake_init(&gen, &o), FLAKE_NODE);
    o.node = 0;
    o.node_offset = 65536;
    CHECK_EQ(flake_init(&gen, &o), FLAKE_NODE);
    o.node_offset = 65535;
    script_at_ms(l.epoch_ms);
    CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(id, 65535);
    o.node = 65536;
    o.node_offset = 0;
    CHECK_EQ(flake_init(&gen, &o), FLAKE_INVALID);
}

/* A layout that check, init and all that take one must refuse. */
static void check_layout_refused(flake_layout l) {
    flake_options o = on_script(l, 0);
    flake_parts p = parts_of(l.epoch_ms, 0, 0);
    uint64_t id = 99;
    CHECK_EQ(flake_layout_check(&l), FLAKE_INVALID);
    CHECK_EQ(flake_init(&gen, &o), FLAKE_INVALID);
    CHECK_EQ(flake_compose(&l, &p, &id), FLAKE_INVALID);
    CHECK_EQ(flake_min_at(&l, l.epoch_ms, &id), FLAKE_INVALID);
    CHECK_EQ(flake_max_at(&l, l.epoch_ms, &id), FLAKE_INVALID);
    CHECK_EQ(id, 99);
    p.seq = 98;
    CHECK_EQ(flake_decompose(&l, 0, &p), FLAKE_INVALID);
    CHECK_EQ(p.seq, 98);
}

static void bits_that_do_not_fit_64_are_refused(void) {
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
        CHECK_EQ(flake_layout_check(&l), FLAKE_OK);
    }
}

static flake_layout with_shifts(unsigned time_shift, unsigned node_shift, unsigned seq_shift) {
    flake_layout l = flake_layout_of(40, 8, 8, 1);
    l.time_shift = (uint8_t)time_shift;
    l.node_shift = (uint8_t)node_shift;
    l.seq_shift = (uint8_t)seq_shift;
    return l;
}

static void fields_that_overlap_are_refused(void) {
    check_layout_refused(with_shifts(16, 7, 0));  /* node over seq */
    check_layout_refused(with_shifts(15, 8, 0));  /* time over node */
    check_layout_refused(with_shifts(7, 47, 0));  /* time over seq */
    check_layout_refused(with_shifts(0, 39, 56)); /* node over time */
    check_layout_refused(with_shifts(16, 0, 0));
    flake_layout l = flake_layout_of(40, 8, 8, 1);
    l.gap_at = 3; /* the gap pushes the node's upper bits into time */
    check_layout_refused(l);
    l.time_shift++;
    CHECK_EQ(flake_layout_check(&l), FLAKE_OK);
}

/* A field may be the topmost bit alone, and any of the three. */
static void one_bit_at_the_top_is_a_field(void) {
    for (int field = 0; field < 3; field++) {
        flake_layout l = flake_layout_of(41, 4, 5, 0);
        if (field == 0) l.seq_bits = 1, l.seq_shift = 63;
        if (field == 1) l.node_bits = 1, l.node_shift = 63;
        if (field == 2) l.time_bits = 1, l.time_shift = 63, l.unit_ms = 2000000000;
        CHECK_EQ(flake_layout_check(&l), FLAKE_OK);
        flake_options o = on_script(l, 1);
        uint64_t ids[2] = {0, 0};
        flake_parts parts = {0, 0, 0, 0};
        script_at_ms(field == 2 ? 3000000000 : 1000);
        o.seq_max = field == 0 ? 1 : 0;
        CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
        CHECK_EQ(flake_try_n(&gen, ids, 2), 2);
        CHECK_EQ(ids[0], id_by_bits(&l, field == 2 ? 1 : 1000, 1, 0));
        CHECK_EQ(ids[1], id_by_bits(&l, field == 2 ? 1 : 1000, 1, 1));
        CHECK_EQ(ids[field == 0 ? 1 : 0] >> 63, 1);
        CHECK_EQ(flake_decompose(&l, ids[1], &parts), FLAKE_OK);
        CHECK(parts.node == 1 && parts.seq == 1);
        CHECK_EQ(parts.time, field == 2 ? 1 : 1000);
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

static void fields_that_leave_the_64_bits_are_refused(void) {
    check_layout_refused(with_shifts(25, 8, 0));
    check_layout_refused(with_shifts(16, 57, 0));
    check_layout_refused(with_shifts(8, 0, 57));
    check_layout_refused(with_shifts(16, 8, 64));
    check_layout_refused(with_shifts(255, 8, 0));
    check_layout_refused(with_shifts(16, 255, 0));
    check_layout_refused(with_shifts(16, 8, 255));
    flake_layout l = with_shifts(0, 56, 40);
    CHECK_EQ(flake_layout_check(&l), FLAKE_OK);
    l.gap_at = 8; /* its bit above bit 63 */
    check_layout_refused(l);
}

static void layouts_that_mean_nothing_are_refused(void) {
    const flake_layout good = flake_layout_of(40, 8, 8, 1);
    flake_layout l = good;
    l.unit_ms = 0;
    check_layout_refused(l);
    l = good;
    l.spread = 2;
    check_layout_refused(l);
    l = good;
    l.gap_bit = 1; /* a bit without a gap */
    check_layout_refused(l);
    l = flake_layout_uniqueid_ordered();
    l.gap_bit = 2;
    check_layout_refused(l);
    l.gap_bit = 1;
    l.gap_at = 16; /* above the node's 15 bits */
    check_layout_refused(l);
    CHECK_EQ(flake_layout_check(NULL), FLAKE_INVALID);
}

/* Options of which each is good but for one thing. */
enum { refused_count = 16 };
static flake_status refused_options(int which, flake_options *o) {
    *o = on_script(flake_layout_idgen(), 5);
    switch (which) {
    case 0: o->node = 1024; break;
    case 1: o->node_offset = 1019; return FLAKE_NODE;
    case 2: o->node_offset = UINT32_MAX; return FLAKE_NODE;
    case 3: o->seq_max = 4096; break;
    case 4: o->seq_min = 1; break; /* above seq_max, which is 0 */
    case 5: o->layout.unit_ms = 0; break;
    case 6: o->layout.time_bits = 43; break;
    case 7: o->layout.node_shift = 11; break;
    case 8: o->layout.epoch_ms = INT64_MAX; break; /* no clock of 63 bits of ns gets there */
    case 9: o->layout.epoch_ms = INT64_MIN; break;
    case 10: o->max_ahead_ms = -1; break;
    case 11: o->max_wait_ms = -1; break;
    case 12: o->clock.kind = 2; break;
    case 13: o->clock.kind = -1; break;
    case 14: o->layout.epoch_ms = last_clock_ms + 1; break;
    default: o->node = UINT32_MAX; break;
    }
    return FLAKE_INVALID;
}

static void a_refused_init_leaves_the_generator_in_use(void) {
    static unsigned char before[sizeof gen];
    flake_options good = on_script(flake_layout_hazelcast(), 1234), bad;
    uint64_t id = 0;
    good.seq_min = 2;
    good.seq_max = 40;
    script_at_ms(1516028439000);
    CHECK_EQ(flake_init(&gen, &good), FLAKE_OK);
    for (uint64_t i = 0; i < refused_count; i++) {
        CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
        CHECK_EQ(id, 5300086112257234 + ((2 + i) << 16));
        memcpy(before, &gen, sizeof gen);
        const flake_status status = refused_options((int)i, &bad);
        CHECK_EQ(flake_init(&gen, &bad), status);
        CHECK(memcmp(before, &gen, sizeof gen) == 0);
    }
    CHECK_EQ(flake_gen_options(&gen)->node, 1234);
    CHECK_EQ(flake_gen_options(&gen)->seq_max, 40);
}

static void the_options_in_force_can_be_read_back(void) {
    flake_options o;
    memset(&o, 0, sizeof o);
    CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
    const flake_options *in_force = flake_gen_options(&gen);
    CHECK_EQ(in_force->seq_min, 0);
    CHECK_EQ(in_force->seq_max, 4095);
    CHECK_EQ(in_force->max_wait_ms, 1000);
    CHECK_EQ(in_force->max_ahead_ms, 0);
    CHECK_EQ(in_force->node, 0);

    o = on_script(flake_layout_hazelcast(), 1234);
    o.node_offset = 7;
    o.seq_min = 3;
    o.seq_max = 9;
    o.max_ahead_ms = 15000;
    o.max_wait_ms = 1;
    o.refuse_back = true;
    o.seq_scatter = true;
    o.shared_memory = words_reach_other_processes;
    CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
    in_force = flake_gen_options(&gen);
    CHECK_STR(in_force->layout.name, "hazelcast");
    CHECK_EQ(in_force->node, 1234);
    CHECK_EQ(in_force->node_offset, 7);
    CHECK_EQ(in_force->seq_min, 3);
    CHECK_EQ(in_force->seq_max, 9);
    CHECK_EQ(in_force->max_ahead_ms, 15000);
    CHECK_EQ(in_force->max_wait_ms, 1);
    CHECK(in_force->clock.now_ns == script_read && in_force->clock.user == &script_now);
    CHECK(in_force->refuse_back && in_force->seq_scatter);
    CHECK_EQ(in_force->shared_memory, (bool)words_reach_other_processes);
}

/* ---- ids that are none ---- */

/* Flips each bit that no id of the layout differs in: those of no field, and the gap. */
static void check_foreign_bits(const flake_layout *l, uint64_t id) {
    const uint64_t fields =
        id_by_bits(l, UINT64_MAX, UINT64_MAX, UINT64_MAX) ^ id_by_bits(l, 0, 0, 0);
    for (unsigned b = 0; b < 64; b++) {
        flake_parts p = parts_of(1, 2, 3);
        if (fields >> b & 1) continue;
        CHECK_EQ(flake_decompose(l, id ^ (uint64_t)1 << b, &p), FLAKE_INVALID);
        CHECK(p.unix_ms == 1 && p.time == 0 && p.node == 2 && p.seq == 3);
    }
}

static void an_id_with_foreign_bits_is_refused(void) {
    uint64_t state = 7;
    for (int i = 0; i < built_in_count + rounds; i++) {
        const flake_layout l = i < built_in_count ? built_in[i]() : random_layout(&state);
        const uint64_t time = random_unit(&state, &l);
        check_foreign_bits(&l, id_by_bits(&l, time, random_next(&state), random_next(&state)));
    }
    const flake_layout ordered = flake_layout_uniqueid_ordered(),
                       spread = flake_layout_uniqueid_spread();
    flake_parts p;
    CHECK_EQ(flake_decompose(&ordered, 0x2e0cd6, &p), FLAKE_INVALID); /* mode bit of the other */
    CHECK_EQ(flake_decompose(&spread, 0x2e1cd6, &p), FLAKE_INVALID);
}

static void a_layout_is_found_by_its_name(void) {
    static const char *const names[] = {
        "idgen",     "hazelcast", "uniqueid_ordered", "uniqueid_spread", "twitter",
        "sonyflake", "discord",   "instagram",        "mastodon",        "js53"};
    flake_layout layout = flake_layout_of(40, 12, 12, 5);
    CHECK_EQ(flake_layout_named("Twitter", &layout), FLAKE_INVALID);
    CHECK_EQ(flake_layout_named("", &layout), FLAKE_INVALID);
    CHECK_EQ(flake_layout_named(NULL, &layout), FLAKE_INVALID);
    CHECK_EQ(layout.epoch_ms, 5);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CHECK_EQ(flake_layout_named(names[i], &layout), FLAKE_OK);
        CHECK_STR(layout.name, names[i]);
        CHECK_EQ(flake_layout_check(&layout), FLAKE_OK);
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

int main(int argc, char **argv) {
    static const check_test all[] = {
        CHECK_TEST(flake_idgens_ids_come_out),
        CHECK_TEST(the_ids_on_flake_idgens_page_come_out),
        CHECK_TEST(uniqueids_ids_of_both_modes_come_out),
        CHECK_TEST(hazelcasts_figures_come_out),
        CHECK_TEST(published_ids_of_other_snowflakes_come_out),
        CHECK_TEST(built_in_layouts_have_their_fields_and_epochs),
        CHECK_TEST(round_epochs_are_midnights),
        CHECK_TEST(layout_of_is_time_node_seq_down_to_bit_0),
        CHECK_TEST(built_in_layouts_round_trip),
        CHECK_TEST(random_layouts_round_trip),
        CHECK_TEST(generators_draw_what_compose_makes),
        CHECK_TEST(the_sign_bit_is_never_set),
        CHECK_TEST(javascript_holds_every_id_of_js53),
        CHECK_TEST(a_ms_within_a_unit_counts_as_the_unit),
        CHECK_TEST(compose_does_not_look_at_the_time_in_units),
        CHECK_TEST(a_uniqueid_generator_is_split_around_the_mode_bit),
        CHECK_TEST(hazelcast_takes_other_widths),
        CHECK_TEST(a_zeroed_layout_is_flake_idgens),
        CHECK_TEST(min_and_max_enclose_a_unit_and_nothing_else),
        CHECK_TEST(a_time_outside_is_refused_exactly_at_the_borders),
        CHECK_TEST(a_layout_expires_with_the_last_ms_of_its_last_unit),
        CHECK_TEST(the_ends_of_int64_are_times_like_others),
        CHECK_TEST(a_generator_refuses_times_outside_its_layout),
        CHECK_TEST(a_spent_last_unit_is_the_end),
        CHECK_TEST(the_widest_layout_does_not_begin_again_after_its_last_id),
        CHECK_TEST(a_time_before_the_epoch_counts_as_the_newest_unit),
        CHECK_TEST(a_time_that_ns_cannot_tell_counts_as_the_newest_unit),
        CHECK_TEST(units_that_fit_the_clock_once_or_twice_are_counted_like_others),
        CHECK_TEST(an_epoch_in_the_clocks_last_ms_has_one_unit_at_most),
        CHECK_TEST(a_clock_at_the_ends_of_int64_is_refused),
        CHECK_TEST(a_clock_put_back_by_centuries_is_a_clock_put_back),
        CHECK_TEST(node_numbers_have_bounds),
        CHECK_TEST(every_layouts_node_and_sequence_have_bounds),
        CHECK_TEST(an_offset_that_lifts_the_node_out_is_told_apart),
        CHECK_TEST(bits_that_do_not_fit_64_are_refused),
        CHECK_TEST(fields_that_overlap_are_refused),
        CHECK_TEST(one_bit_at_the_top_is_a_field),
        CHECK_TEST(fields_that_leave_the_64_bits_are_refused),
        CHECK_TEST(layouts_that_mean_nothing_are_refused),
        CHECK_TEST(a_refused_init_leaves_the_generator_in_use),
        CHECK_TEST(the_options_in_force_can_be_read_back),
        CHECK_TEST(an_id_with_foreign_bits_is_refused),
        CHECK_TEST(a_layout_is_found_by_its_name)};
    return CHECK_MAIN(argc, argv, all);
}
