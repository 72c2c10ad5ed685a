/* SPDX-License-Identifier: MIT
 *
 * The texts of IDs in each encoding and base (flake.h, >>text): those of other libraries first, then all that a slow
 * reference writes and reads, and last what a strict parser must refuse. (Random ones, and small buffers:
 * test_random_text.c. UUIDs, ULIDs and snos: test_fixed_text.c.)
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#include "support.h"
#include "flake.h"
#include "slow_text.h"
#include <limits.h>

enum { forms = text_forms, kinds = text_kinds };

static uint64_t seed = 0x9e3779b97f4a7c15;

static int same(flake128 a, flake128 b) { return memcmp(&a, &b, sizeof a) == 0; }

static flake128 ones(const text_kind *k) {
    flake128 id;
    memset(&id, 0xff, sizeof id);
    return k->form < 0 ? id : widen(UINT64_MAX);
}

/* Of every length: small numbers are as likely as large ones. */
static flake128 random_of(const text_kind *k) {
    flake128 id;
    if (k->form >= 0) return widen(random_next(&seed) >> random_below(&seed, 64));
    for (size_t i = 0; i < 16; i++) id.bytes[i] = (uint8_t)random_next(&seed);
    memset(id.bytes, 0, (size_t)random_below(&seed, 16));
    return id;
}

/* ---- the calls ---- */

static int reads(const char *text, size_t len, const text_kind *k, flake128 wanted) {
    flake128 id = widen(77);
    return parse_kind(text, len, k, &id) == FLAKE_OK && same(id, wanted);
}

static int refused(const char *text, size_t len, const text_kind *k) {
    flake128 id = widen(77);
    return parse_kind(text, len, k, &id) == FLAKE_PARSE && same(id, widen(77));
}

/* Everything that holds for one ID in one form. */
static void check_id(flake128 id, const text_kind *k) {
    for (int fixed = 0; fixed < 2; fixed++) {
        char wanted[FLAKE128_TEXT_SIZE], text[FLAKE128_TEXT_SIZE] = "";
        const size_t n = slow_write(id, k, fixed, wanted);
        CHECK_EQ(format_kind(id, k, fixed, text, sizeof text), n);
        CHECK_STR(text, wanted);
        CHECK(reads(text, n, k, id));
    }
}

/* A known text, and its ID. */
static void check_known(const text_kind *k, flake128 id, const char *known) {
    char text[FLAKE128_TEXT_SIZE] = "";
    CHECK(format_kind(id, k, false, text, sizeof text) > 0);
    CHECK_STR(text, known);
    CHECK(reads(known, strlen(known), k, id));
}

/* ---- vectors ---- */

static void check_columns(flake128 id, const size_t *kinds_of, size_t n, char **column) {
    for (size_t i = 0; i < n; i++) {
        const text_kind k = text_kind_of(kinds_of[i]);
        check_known(&k, id, column[i]);
    }
}

static void idgen_row(char **column) {
    static const size_t of_column[] = {FLAKE_DEC, FLAKE_HEX, FLAKE_BIN4};
    uint8_t bytes[8];
    hex_bytes(column[5], bytes, sizeof bytes);
    check_columns(widen(flake_from_bytes(bytes)), of_column, 3, column + 6);
}

TEST(texts_of_flake_idgen_come_out) { vectors_read("idgen.tsv", 9, idgen_row); }

static void boundary_row(char **column) {
    static const size_t of_column[] = {forms + 62 - 2, forms + 36 - 2, forms + 10 - 2};
    flake128 id;
    hex_bytes(column[3], id.bytes, sizeof id.bytes);
    check_columns(id, of_column, 3, column + 4);
}

TEST(texts_of_boundary_come_out) { vectors_read("boundary.tsv", 7, boundary_row); }

static void bwmarrin_row(char **column) {
    static const size_t of_column[] = {FLAKE_DEC, FLAKE_BIN, FLAKE_ZBASE32, FLAKE_BASE36_LOWER, FLAKE_BASE58_FLICKR};
    check_columns(widen(strtoull(column[0], NULL, 10)), of_column, 5, column);
}

TEST(texts_of_bwmarrin_come_out) { vectors_read("bwmarrin.tsv", 5, bwmarrin_row); }

/* ---- one ID at a time ---- */

TEST(the_least_and_the_greatest_id_have_known_texts) {
    static const struct {
        uint64_t id;
        const char *text[forms];
    } known[] = {
        {0,
         {"0", "0", "0", "0000 0000 0000 0000 0000 0000 0000 0000 0000 0000 0000 0000 0000 0000 0000 0000", "0", "0",
          "1", "0", "y", "0", "1"}},
        {UINT64_MAX,
         {"18446744073709551615", "ffffffffffffffff",
          "1111111111111111111111111111111111111111111111111111111111111111",
          "1111 1111 1111 1111 1111 1111 1111 1111 1111 1111 1111 1111 1111 1111 1111 1111", "FZZZZZZZZZZZZ",
          "3W5E11264SGSF", "jpXCZedGfVQ", "LygHa16AHYF", "x999999999999", "3w5e11264sgsf", "JPwcyDCgEup"}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (size_t form = 0; form < forms; form++) {
            const text_kind k = text_kind_of(form);
            check_known(&k, widen(known[i].id), known[i].text[form]);
            check_id(widen(known[i].id), &k);
        }
    flake128 all_ones;
    memset(&all_ones, 0xff, sizeof all_ones);
    char text[FLAKE128_TEXT_SIZE] = "";
    flake128_format(&all_ones, 10, text, sizeof text);
    CHECK_STR(text, "340282366920938463463374607431768211455");
    flake128_format(&all_ones, 16, text, sizeof text);
    CHECK_STR(text, "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF");
    const flake128 last_digit = widen(61);
    flake128_format_fixed(&last_digit, 62, text, sizeof text);
    CHECK_STR(text, "000000000000000000000z");
}

/* The powers of the base and their neighbours, as digits: 1 then zeros, then the same with a 1 at the end, and all
 * highest digits, where that fits. Then small numbers. */
TEST(powers_of_each_base_and_their_neighbours_are_written_and_read) {
    for (size_t i = 0; i < kinds; i++) {
        const text_kind k = text_kind_of(i), of_digits = is_grouped(&k) ? text_kind_of(FLAKE_BIN) : k;
        for (size_t len = 1; len <= of_digits.width; len++)
            for (int which = 0; which < 3; which++) {
                flake128 id;
                char text[FLAKE128_TEXT_SIZE];
                memset(text, k.digits[which < 2 ? 0 : k.base - 1], len);
                if (which < 2) text[0] = k.digits[1];
                if (which == 1) text[len - 1] = k.digits[1];
                if (slow_read(text, len, &of_digits, &id)) check_id(id, &k);
            }
        for (uint64_t id = 0; id < 4000 && k.form >= 0; id++) check_id(widen(id), &k);
        check_id(ones(&k), &k);
    }
}

/* ---- what does not fit ---- */

static size_t width_of(const text_kind *k) {
    return k->form < 0 ? flake128_text_width(k->base) : flake_text_width((flake_encoding)k->form);
}

TEST(unknown_encodings_and_bases_are_refused) {
    static const int encodings[] = {forms, forms + 1, 255, 256, 1000000, INT_MAX, -1};
    static const unsigned bases[] = {0, 1, 63, 64, 255, 256, 258, 0x80000002u, UINT_MAX};
    char buf[200];
    flake128 id = widen(77);
    uint64_t id64 = 77;
    memset(buf, '#', sizeof buf);
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        const text_kind k = {bases[i], 0, NULL, -1};
        CHECK_EQ(width_of(&k), 0);
        for (int fixed = 0; fixed < 2; fixed++) CHECK_EQ(format_kind(id, &k, fixed, buf, sizeof buf), 0);
        CHECK_EQ(parse_kind(NULL, 0, &k, &id), FLAKE_INVALID);
        CHECK_EQ(parse_kind("0", 1, &k, &id), FLAKE_INVALID);
    }
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
        const flake_encoding form = (flake_encoding)encodings[i];
        CHECK_EQ(flake_text_width(form), 0);
        CHECK_EQ(flake_format(5, form, buf, sizeof buf), 0);
        CHECK_EQ(flake_format_fixed(5, form, buf, sizeof buf), 0);
        CHECK_EQ(flake_parse(NULL, 0, form, &id64), FLAKE_INVALID);
        CHECK_EQ(flake_parse("1", 1, form, &id64), FLAKE_INVALID);
    }
    CHECK(id64 == 77 && same(id, widen(77)));
    for (size_t i = 0; i < sizeof buf; i++) CHECK_EQ(buf[i], '#');
}

/* ---- strict parsing ---- */

/* Read as the reference reads it, or refused. */
static void check_strict(const char *text, size_t len, const text_kind *k) {
    flake128 id = widen(77), wanted;
    const bool fits = slow_read(text, len, k, &wanted);
    CHECK_EQ(parse_kind(text, len, k, &id), fits ? FLAKE_OK : FLAKE_PARSE);
    CHECK(same(id, fits ? wanted : widen(77)));
}

/* Of zeros, of the highest digits, and the greatest ID's. */
TEST(texts_of_any_length_are_read_or_refused) {
    char text[FLAKE128_TEXT_SIZE + 20];
    for (size_t i = 0; i < kinds; i++) {
        const text_kind k = text_kind_of(i);
        CHECK_EQ(width_of(&k), k.width);
        CHECK(k.width < (k.form < 0 ? FLAKE128_TEXT_SIZE : FLAKE_TEXT_SIZE));
        for (int which = 0; which < 3; which++) {
            memset(text, k.digits[which ? k.base - 1 : 0], sizeof text);
            if (which == 2) CHECK_EQ(format_kind(ones(&k), &k, true, text, sizeof text), k.width);
            for (size_t len = 0; len < sizeof text; len++) check_strict(text, len, &k);
        }
    }
}

TEST(any_byte_at_any_place_is_read_or_refused) {
    char text[FLAKE128_TEXT_SIZE] = "";
    for (size_t i = 0; i < kinds; i++) {
        const text_kind k = text_kind_of(i);
        for (size_t len = 0; len < 130; len++) CHECK(refused(NULL, len, &k));
        for (int c = 0; c < 256; c++) {
            text[0] = (char)(unsigned char)c;
            check_strict(text, 1, &k);
        }
    }
    for (size_t i = 0; i < 6 * forms + 61; i++) {
        const text_kind k = text_kind_of(i < 6 * forms ? i % forms : i - 5 * forms);
        if (k.form < 0 && k.base % 5 != 2) continue;
        const flake128 id = i < forms ? ones(&k) : random_of(&k);
        const size_t len = format_kind(id, &k, false, text, sizeof text);
        for (size_t at = 0; at < len; at++) {
            const char good = text[at];
            for (int c = 0; c < 256; c++) {
                text[at] = (char)(unsigned char)c;
                check_strict(text, len, &k);
            }
            text[at] = good;
        }
    }
}

TEST(every_status_has_words_of_its_own) {
    const char *words[19]; /* their numbers never change */
    for (int status = 0; status < 19; status++) {
        words[status] = flake_status_str((flake_status)status);
        CHECK(words[status] && *words[status]);
        CHECK(strcmp(words[status], flake_status_str((flake_status)99)) != 0);
        for (int other = 0; other < status; other++) CHECK(strcmp(words[status], words[other]) != 0);
    }
    CHECK_STR(flake_status_str(FLAKE_OK), "ok");
    CHECK_STR(flake_status_str((flake_status)19), "unknown status");
}
