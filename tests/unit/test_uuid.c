/* SPDX-License-Identifier: MIT
 *
 * UUIDs of version 7 and 8 and ULIDs (flake.h, >>128-bit): the IDs of other libraries, each bit compared with an oracle
 * of the test's own, their keys, and what an init refuses. (That they rise: test_uuid_rising.c; parts that do not fit:
 * test_random_text.c; calls in one line: test_uuid_default.c.)
 */
#define _GNU_SOURCE
#include "uuid.h"

static flake_gen gen;
static flake128 ids[65536];

// >>counters

/* A ULID's counter of all ones carries into the bits above 64, and no further. */
TEST(a_ulids_counter_carries_and_never_leaves_the_ms) {
    flake_i_keys keys = {0};
    const uint64_t fresh[4] = {1, 2, 3, 4};
    flake_i_set_keys(&keys, fresh);
    unsigned carries = 0;
    for (uint64_t place = 1; place < 65536; place += 13) {
        /* a salt for which the low word is close to its end cannot be found by search: so the run
         * begins at a ticket as far after it as that */
        const flake_i_salt salt = {0, place};
        const uint64_t low = flake_i_start_of(&keys, salt, 5, 0);
        const flake_i_run run = {&keys, salt, 0, 5, 0 - low - 2, 4};
        flake_i_form_run(FLAKE_I_ULID, &run, ids);
        for (unsigned i = 1; i < 4; i++) {
            CHECK(counts_by_one(&flake_layout_ulid, ids[i - 1], ids[i]));
            carries += bits(ids[i], 48, 16) != bits(ids[i - 1], 48, 16);
        }
        CHECK(uuid_ms(ids[3]) == 5);
    }
    CHECK(carries > 4000);
}

// >>peers
/* IDs of other libraries, in their own order. */

static void put_bits(flake128 *id, unsigned from, unsigned n, uint64_t value) {
    for (unsigned i = from + n; i-- > from; value >>= 1) {
        const uint8_t bit = (uint8_t)(0x80 >> i % 8);
        id->bytes[i / 8] = (uint8_t)(value & 1 ? id->bytes[i / 8] | bit : id->bytes[i / 8] & ~bit);
    }
}

static flake128 last_of_peer;
static unsigned rows_of_peers;

static void check_peers_id(const flake_layout *l, const char *text, flake128 expected) {
    const bool is_ulid = l->format == FLAKE_I_ULID;
    char written[37];
    flake128 id = untouched, composed = untouched;
    flake_parts p = {0};
    CHECK_EQ((is_ulid ? flake128_from_ulid : flake128_from_uuid)(text, strlen(text), &id), FLAKE_OK);
    CHECK(flake128_compare(&id, &expected) == 0);
    (is_ulid ? flake128_to_ulid : flake128_to_uuid)(&id, written);
    CHECK_STR(written, text);
    CHECK_EQ(flake128_decompose(l, &id, &p), FLAKE_OK);
    CHECK_EQ(p.unix_ms, uuid_ms(expected));
    CHECK_EQ(p.seq, is_ulid ? bits(expected, 48, 16) : counter_of(expected));
    CHECK_EQ(p.node, is_ulid ? bits(expected, 64, 64) : tail_of(expected));
    CHECK_EQ(flake128_compose(l, &p, &composed), FLAKE_OK);
    CHECK(flake128_compare(&composed, &id) == 0);
    if (rows_of_peers++) CHECK(flake128_compare(&last_of_peer, &id) < 0 && flake128_compare(&id, &last_of_peer) > 0);
    last_of_peer = id;
}

/* Peer, text, ms; the bits of the peer's counter, the counter, and the rest of the 74 bits. */
static void uuid7_row(char **field) {
    const unsigned width = (unsigned)strtoul(field[3], NULL, 10);
    flake128 expected = {{0}}, free_bits = {{0}}; /* 74: the counter, and then the rest */
    put_bits(&free_bits, 0, width, strtoull(field[4], NULL, 10));
    put_bits(&free_bits, width, 74 - width, strtoull(field[5], NULL, 16));
    put_bits(&expected, 0, 48, strtoull(field[2], NULL, 10));
    put_bits(&expected, 48, 4, 7);
    put_bits(&expected, 52, 12, bits(free_bits, 0, 12));
    put_bits(&expected, 64, 2, 2);
    put_bits(&expected, 66, 62, bits(free_bits, 12, 62));
    check_peers_id(&flake_layout_uuid7, field[1], expected);
}

/* Peer, text, ms, and the 80 bits after it. */
static void ulid_row(char **field) {
    flake128 expected = {{0}};
    put_bits(&expected, 0, 48, strtoull(field[2], NULL, 10));
    hex_bytes(field[3], expected.bytes + 6, 10);
    check_peers_id(&flake_layout_ulid, field[1], expected);
}

TEST(ids_of_other_libraries_are_read) {
    rows_of_peers = 0;
    vectors_read("uuid7.tsv", 6, uuid7_row);
    CHECK_EQ(rows_of_peers, 32);
    rows_of_peers = 0;
    vectors_read("ulid.tsv", 4, ulid_row);
    CHECK_EQ(rows_of_peers, 32);
}

// >>oracle

/* SipHash-c-d as its paper defines it, of any bytes. */
static uint64_t rotated(uint64_t x, unsigned by) { return x << by | x >> (64 - by); }

static uint64_t sip_oracle(unsigned c, unsigned d, const uint64_t key[2], const uint8_t *text, size_t n) {
    uint64_t v0 = key[0] ^ 0x736f6d6570736575, v1 = key[1] ^ 0x646f72616e646f6d;
    uint64_t v2 = key[0] ^ 0x6c7967656e657261, v3 = key[1] ^ 0x7465646279746573;
    for (size_t word = 0; word <= n / 8 + 1; word++) {
        const bool is_end = word > n / 8;
        uint64_t m = word == n / 8 ? (uint64_t)n << 56 : 0;
        for (size_t i = 8 * word; i < n && i < 8 * word + 8; i++) m |= (uint64_t)text[i] << 8 * (i % 8);
        if (is_end) v2 ^= 0xff;
        else v3 ^= m;
        for (unsigned round = 0; round < (is_end ? d : c); round++) {
            v0 += v1, v1 = rotated(v1, 13), v1 ^= v0, v0 = rotated(v0, 32);
            v2 += v3, v3 = rotated(v3, 16), v3 ^= v2;
            v0 += v3, v3 = rotated(v3, 21), v3 ^= v0;
            v2 += v1, v1 = rotated(v1, 17), v1 ^= v2, v2 = rotated(v2, 32);
        }
        if (!is_end) v0 ^= m;
    }
    return v0 ^ v1 ^ v2 ^ v3;
}

/* Of the low seven bytes. */
static uint64_t sip13(const uint64_t key[2], uint64_t word) {
    uint8_t text[7];
    for (unsigned i = 0; i < 7; i++) text[i] = (uint8_t)(word >> 8 * i);
    return sip_oracle(1, 3, key, text, 7);
}

/* The ID of a ticket, by the keys: two words for the start of counters, and two for tails. */
static flake128 id_oracle(const flake_layout *l, const uint64_t start[2], const uint64_t tail[2],
                          int64_t ms, uint64_t ticket) {
    flake128 id = {{0}};
    const uint64_t number = (uint64_t)ms, low = sip13(start, number * 2);
    put_bits(&id, 0, 48, number);
    if (l->format == FLAKE_I_ULID) {
        put_bits(&id, 49, 15, sip13(start, number * 2 + 1));
        put_bits(&id, 64, 64, low);
        for (uint64_t i = 0; i < ticket; i++) id = ulid_plus_one(id);
        return id;
    }
    const uint64_t counter = low % (1 << 25) + ticket;
    put_bits(&id, 48, 4, l->format == FLAKE_I_UUID8 ? 8 : 7);
    put_bits(&id, 52, 12, counter >> 14);
    put_bits(&id, 64, 2, 2);
    put_bits(&id, 66, 14, counter);
    put_bits(&id, 80, 48, l->node_bits ? a_node : sip13(tail, number << 16 | ticket) >> 16);
    return id;
}

TEST(the_hash_is_siphash_1_3) {
    const uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    uint8_t text[15];
    for (unsigned i = 0; i < 15; i++) text[i] = (uint8_t)i;
    /* the paper's, appendix A, and the reference's eighth and seventh */
    CHECK(sip_oracle(2, 4, key, text, 15) == 0xa129ca6149be45e5);
    CHECK(sip_oracle(2, 4, key, text, 8) == 0x93f5f5799a932462);
    CHECK(sip_oracle(2, 4, key, text, 7) == 0xab0200f58b01d137);
    uint64_t seed = 7;
    for (unsigned i = 0; i < 1000; i++) {
        const uint64_t keys[2] = {random_next(&seed), random_next(&seed)};
        const uint64_t word = random_next(&seed) >> 8;
        CHECK(flake_i_siphash(keys[0], keys[1], word) == sip13(keys, word));
    }
}

static flake128 one_by_one[65536];

#ifdef FLAKE_I_AVX2
FLAKE_I_AVX2 static uint64_t fours_with_avx2(const flake_i_tails *r, flake128 *to) { return flake_i_form_fours(r, to); }
#endif

/* With each kind of vectors that this processor has. A guard after the last ID is unchanged. */
TEST(a_batch_has_the_bits_of_single_ids) {
    uint64_t seed = 11;
    for (unsigned i = 0; i < 400; i++) {
        const uint64_t fresh[4] = {random_next(&seed), random_next(&seed), random_next(&seed), random_next(&seed)};
        const flake_i_salt salt = {random_next(&seed), random_next(&seed)};
        const uint64_t ms = random_next(&seed) >> (16 + i % 8);
        const size_t n = i % 100 < 98 ? i % 49 : 65535;
        const uint64_t ticket = random_next(&seed) % (65536 - n);
        const bool is_version_7 = i % 50 != 49;
        const unsigned format = is_version_7 ? FLAKE_I_UUID7 : FLAKE_I_UUID8;
        flake_i_keys keys = {0};
        flake_i_set_keys(&keys, fresh);
        FLAKE_ATOMIC_STORE(&keys.renewed, UINT64_MAX, relaxed);
        for (size_t k = 0; k < n; k++) {
            const flake_i_run one = {&keys, salt, a_node, ms, ticket + k, 1};
            flake_i_form_run(format, &one, &one_by_one[k]);
        }
        const flake_i_run first = {&keys, salt, a_node, ms, 0, 1};
        flake_i_form_run(format, &first, ids);
        if (n > 0) CHECK_EQ(counter_of(one_by_one[n - 1]), counter_of(ids[0]) + ticket + n - 1);
        const uint64_t key[2] = {fresh[2] ^ salt.low, fresh[3] ^ salt.high};
        if (n > 0 && is_version_7) CHECK_EQ(tail_of(one_by_one[n - 1]), sip13(key, ms << 16 | (ticket + n - 1)) >> 16);
        ids[n] = untouched;
        const flake_i_run run = {&keys, salt, a_node, ms, ticket, n};
        flake_i_form_run(format, &run, ids);
        CHECK(memcmp(ids, one_by_one, n * sizeof *ids) == 0);
        CHECK(flake128_compare(&ids[n], &untouched) == 0);
#ifdef FLAKE_I_AVX2
        if (!is_version_7 || !FLAKE_I_HAS_AVX2) continue;
        const uint64_t start = flake_i_uuid_start(&keys, salt, ms);
        const flake_i_tails tails = {key[0], key[1], ms, ms << 24 >> 8 | ticket, start + ticket, n};
        memset(ids, 0, n * sizeof *ids);
        CHECK_EQ(fours_with_avx2(&tails, ids), n / 4 * 4);
        CHECK(memcmp(ids, one_by_one, n / 4 * 4 * sizeof *ids) == 0);
#endif
    }
}

TEST(an_id_is_what_keys_time_and_ticket_make_it) {
    EACH_LAYOUT(l) {
        setup s = usual(l);
        s.last_number = 9;
        open_gen(&gen, &s);
        CHECK_EQ(flake_gen_node(&gen), l->node_bits ? a_node : UINT64_MAX);
        uint64_t keys[4];
        memcpy(keys, source.given, sizeof keys);
        for (unsigned i = 0; i < 300; i++, clock_at(T + i / 5)) {
            const flake128 id = drawn(&gen);
            if (!i && l->format == FLAKE_I_UUID7) memcpy(keys + 2, source.given, 16); /* the renewal's */
            const flake128 expected = id_oracle(l, keys, keys + 2, T + i / 5, i % 5);
            CHECK(flake128_compare(&id, &expected) == 0);
        }
        /* batches end with a unit, or continue into later ones */
        CHECK_EQ(flake128_next_n(&gen, ids, 25), FLAKE_OK);
        const uint64_t first = (uint64_t)(uuid_ms(ids[0]) - T) * 10 + 0;
        for (unsigned i = 0; i < 25; i++) {
            const flake128 expected = id_oracle(l, keys, keys + 2, T + (int64_t)(first + i) / 10, (first + i) % 10);
            CHECK(flake128_compare(&ids[i], &expected) == 0);
        }
    }
}

// >>keys

TEST(without_random_bytes_no_generator_begins) {
    EACH_LAYOUT(l) {
        flake128 id;
        setup s = usual(l);
        open_gen(&gen, &s);
        source.fails = true;
        CHECK_EQ(flake_init(&gen, s.node, &s.options, NULL), FLAKE_IO);
        CHECK_EQ(flake128_next(&gen, &id), FLAKE_INVALID);
        s.options.layout = flake_layout_boundary; /* which needs none */
        CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, a_node), &s.options, NULL), FLAKE_OK);
    }
}

static bool tail_key_is(uint64_t key0, uint64_t key1) {
    return FLAKE_ATOMIC_LOAD(&gen.keys.tail[0], relaxed) == key0 &&
           FLAKE_ATOMIC_LOAD(&gen.keys.tail[1], relaxed) == key1;
}

TEST(the_tails_key_is_new_each_second) {
    const int64_t second = T / 1024 * 1024 + 1024; /* one begins */
    setup s = usual(&flake_layout_uuid7);
    clock_at(second);
    open_gen(&gen, &s);
    (void)drawn(&gen);
    unsigned calls = source.calls;
    for (int64_t i = 0; i < 10; i++) {
        const uint64_t key0 = source.given[0], key1 = source.given[1];
        CHECK(tail_key_is(key0, key1));
        clock_at(second + 1024 * i + 1023);
        (void)drawn(&gen);
        CHECK_EQ(source.calls, calls);
        clock_at(second + 1024 * (i + 1));
        (void)drawn(&gen);
        CHECK_EQ(source.calls, ++calls);
        CHECK(!tail_key_is(key0, key1));
    }
    /* and an older second never returns */
    const uint64_t key0 = source.given[0], key1 = source.given[1];
    flake_i_renew_tail(&gen.keys, (uint64_t)second >> 10);
    flake_i_renew_tail(&gen.keys, ((uint64_t)second >> 10) + 10);
    clock_at(second);
    (void)drawn(&gen);
    CHECK(tail_key_is(key0, key1) && source.calls == calls);
}

TEST(a_renewal_that_fails_keeps_the_key_until_the_next) {
    open_usual(&gen, &flake_layout_uuid7);
    flake128 last = drawn(&gen);
    const uint64_t key0 = source.given[0], key1 = source.given[1];
    const unsigned calls = source.calls;
    source.fails = true;
    for (int64_t i = 1; i <= 3; i++) {
        clock_at(T + 1024 * i);
        for (int k = 0; k < 5; k++) rises(&last, drawn(&gen));
        CHECK(tail_key_is(key0, key1));
        CHECK_EQ(source.calls, calls + i); /* once in each */
    }
    source.fails = false;
    clock_at(T + 1024 * 4);
    rises(&last, drawn(&gen));
    CHECK(!tail_key_is(key0, key1));
}

/* What a generator caches of its newest ms does not apply to any ms before the first draw: not even to one
 * whose number has zeros where an empty word has them. */
TEST(counters_begin_at_random_in_any_ms) {
    static const int64_t round_ms[] = {INT64_C(1) << 40, INT64_C(3) << 39, INT64_C(7) << 38};
    for (size_t i = 0; i < sizeof round_ms / sizeof *round_ms; i++) {
        uint64_t any = 0;
        for (int k = 0; k < 8; k++) {
            setup s = usual(&flake_layout_uuid7);
            source.seed += (uint64_t)k;
            clock_at(round_ms[i]);
            open_gen(&gen, &s);
            any |= counter_of(drawn(&gen));
        }
        CHECK(any > 1 << 24);
    }
}

/* A cached start is that of one ms and one salt (38 bits of each for UUIDs): other keys do not use it. */
TEST(counters_start_elsewhere_for_each_bit_of_ms_and_salt) {
    const uint64_t fresh[4] = {1, 2, 3, 4};
    flake_i_keys keys = {0};
    flake_i_set_keys(&keys, fresh);
    for (unsigned b = 0; b < 64 + 64 + 48; b++)
        for (unsigned differs = 0; differs < 2; differs++) {
            const uint64_t bit = (uint64_t)differs << b % 64, all = b & 2 ? UINT64_MAX : 0;
            const flake_i_salt salt = {all ^ (b / 64 == 1 ? bit : 0), all ^ (b / 64 == 0 ? bit : 0)};
            const bool is_kept = b / 64 == 2 ? b % 64 < 38 : b >= 25 && b < 63;
            const uint64_t ms = b / 64 == 2 ? bit : 0;
            const uint64_t start = flake_i_start_of(&keys, salt, ms, 0);
            const uint64_t most = flake_i_start_of(&keys, salt, ms, 1) % (1 << 15);
            for (unsigned again = 0; again < 2; again++, keys.start[0] ^= 1) {
                uint64_t above;
                CHECK_EQ(flake_i_ulid_start(&keys, salt, ms, &above), start);
                CHECK_EQ(above, most);
                if (is_kept) CHECK_EQ(flake_i_uuid_start(&keys, salt, ms), start % (1 << 25));
            }
        }
}

// >>beginning

/* Of boundary's layout, too. (Nodes: test_node.c.) */
TEST(an_init_refuses_what_its_layout_cannot_have) {
    static const char *const named[] = {"layout", "layout", "layout", "layout", "layout", "seq_scatter", "seq_max",
                                        "horizon_ms needs a directory"};
    for (const flake_layout *l = layouts; l < layouts + 5; l++)
        for (int i = 0; i < 8; i++) {
            flake_why why;
            flake128 id;
            setup s = usual(l);
            switch (i) {
            case 0: s.options.layout.unit_ms = 10; break;
            case 1: s.options.layout.seq_bits = 15; break;
            case 2: s.options.layout.epoch_ms = 1577836800000; break;
            case 3: s.options.layout.gap_bit = 1; break;
            case 4: s.options.layout.format = FLAKE_I_ULID + 1; break;
            case 5: s.options.seq_scatter = true; break;
            case 6: s.options.seq_max = 65536; break;
            default: s.options.horizon_ms = 1; break;
            }
            CHECK_EQ(flake_init(&gen, s.node, &s.options, &why), FLAKE_INVALID);
            CHECK(strstr(why.text, named[i]) != NULL);
            FAILS(flake128_next(&gen, &id), FLAKE_INVALID, id);
            CHECK_EQ(flake_gen_node(&gen), UINT64_MAX);
        }
}
