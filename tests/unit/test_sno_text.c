/* SPDX-License-Identifier: MIT
 *
 * The text, JSON and UUID forms of a sno: the original's, and that of the slow implementation below, with which each
 * implementation that this machine can run is compared; then texts that are refused.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#include "support.h"
#include "sno.h"

#include "sno_fields.h"

static const char alphabet[] = "23456789abcdefghijklmnopqrstuvwx";

static void slow_encode(sno_id id, char *out) {
    for (size_t i = 0; i < 16; i++) {
        unsigned value = 0;
        for (size_t bit = 5 * i; bit < 5 * i + 5; bit++)
            value = value << 1 | ((unsigned)id.bytes[bit / 8] >> (7 - bit % 8) & 1);
        out[i] = alphabet[value];
    }
}

static bool slow_is_text(const char *text) {
    for (size_t i = 0; i < 16; i++)
        if (memchr(alphabet, text[i], 32) == NULL) return false;
    return true;
}

static const struct { /* one ID at a time */
    const char *name;
    void (*encode)(sno_id, char *);
    bool (*is_text)(const char *);
    sno_id (*decode)(const char *);
} singles[] = {
    {"portable", sno_i_encode_portable, sno_i_is_text_portable, sno_i_decode_portable},
#if defined(SNO_I_VECTORS)
    {"vector", sno_i_encode_vector, sno_i_is_text_vector, sno_i_decode_vector},
#endif
};
enum { SINGLES = sizeof singles / sizeof *singles };

#ifdef SNO_I_AVX2
static flake_status decode_n_avx2(const char *text, size_t n, sno_id *out) {
    if (!sno_i_is_text_n_avx2(text, n)) return FLAKE_PARSE;
    sno_i_decode_n_avx2(text, n, out);
    return FLAKE_OK;
}
#endif

static const struct { /* arrays */
    const char *name;
    void (*encode_n)(const sno_id *, size_t, char *);
    flake_status (*decode_n)(const char *, size_t, sno_id *);
} batches[] = {
    {"public", sno_encode_n, sno_decode_n},
#ifdef SNO_I_AVX2
    {"avx2", sno_i_encode_n_avx2, decode_n_avx2},
#define BATCHES (FLAKE_I_HAS_AVX2 ? 2u : 1u)
#else
#define BATCHES 1u
#endif
};

static void row_has_the_peers_text(const sno_fields *row) {
    char text[17] = {0}, json[19];
    sno_id id;
    sno_encode(row->id, text);
    CHECK_STR(text, row->text);
    CHECK_EQ(sno_decode(row->text, 16, &id), FLAKE_OK);
    CHECK(sno_equal(id, row->id));
    sno_to_json(row->id, json);
    CHECK_STR(json, row->json);
    memset(&id, 0x5a, sizeof id);
    CHECK_EQ(sno_from_json(row->json, strlen(row->json), &id), FLAKE_OK);
    CHECK(sno_equal(id, row->id));
}

TEST(text_and_json_are_the_peers) { sno_fields_each(row_has_the_peers_text); }

TEST(every_way_encodes_and_decodes) {
    for (unsigned i = 0; i < 20000; i++) {
        char wanted[16], text[16];
        sno_id id = random_id();
        if (i < 160) { /* single bits, and their complements */
            memset(id.bytes, i < 80 ? 0 : 0xff, sizeof id.bytes);
            id.bytes[i % 80 / 8] ^= (uint8_t)(1U << i % 8);
        }
        slow_encode(id, wanted);
        for (size_t s = 0; s < SINGLES; s++) {
            singles[s].encode(id, text);
            CHECK(memcmp(text, wanted, 16) == 0);
            CHECK(singles[s].is_text(wanted));
            CHECK(sno_equal(singles[s].decode(wanted), id));
        }
    }
}

TEST(every_byte_at_every_place) {
    for (size_t place = 0; place < 16; place++) {
        for (int byte = 0; byte < 256; byte++) {
            char texts[4 * 16];
            sno_id ids[4], out[4];
            for (size_t k = 0; k < 4; k++) {
                ids[k] = random_id();
                slow_encode(ids[k], texts + 16 * k);
            }
            const size_t which = (size_t)byte % 4;
            char *const text = texts + 16 * which;
            text[place] = (char)byte;
            const bool good = slow_is_text(text);
            sno_id id = ids[3];
            CHECK_EQ(sno_decode(text, 16, &id), good ? FLAKE_OK : FLAKE_PARSE);
            CHECK(good || sno_equal(id, ids[3]));
            char again[16];
            for (size_t s = 0; s < SINGLES; s++) {
                CHECK_EQ(singles[s].is_text(text), good);
                if (!good) continue;
                slow_encode(singles[s].decode(text), again);
                CHECK(memcmp(again, text, 16) == 0);
            }
            for (size_t b = 0; b < BATCHES; b++) {
                CHECK_EQ(batches[b].decode_n(texts, 4, out), good ? FLAKE_OK : FLAKE_PARSE);
                if (!good) continue;
                slow_encode(out[which], again);
                CHECK(memcmp(again, text, 16) == 0);
            }
        }
    }
}

enum { MOST = 70, SHIFTS = 32, GUARD = 24 };
static sno_id ids_of_texts[MOST];
static char texts_of_ids[MOST * 16], guard[GUARD];

/* The arrays begin so many bytes after an aligned address. They end where sanitizers detect an overrun, or with guard
 * bytes, which detect one without a sanitizer. */
static void convert(size_t b, size_t n, size_t shift, size_t text_shift, size_t guarded) {
    char *const in = (char *)exactly(shift + 10 * n), *const out = (char *)exactly(shift + 10 * n + guarded);
    char *const text = (char *)exactly(text_shift + 16 * n + guarded);
    if (shift + n > 0) memset(in, 0, shift + 10 * n);
    if (n > 0) memcpy(in + shift, ids_of_texts, 10 * n);
    memset(text + text_shift, 0x5a, 16 * n + guarded);
    memset(out + shift, 0x5a, 10 * n + guarded);
    batches[b].encode_n((const sno_id *)(in + shift), n, text + text_shift);
    CHECK(memcmp(text + text_shift, texts_of_ids, 16 * n) == 0);
    CHECK_EQ(batches[b].decode_n(text + text_shift, n, (sno_id *)(out + shift)), FLAKE_OK);
    CHECK(memcmp(out + shift, ids_of_texts, 10 * n) == 0);
    CHECK(memcmp(text + text_shift + 16 * n, guard, guarded) == 0);
    CHECK(memcmp(out + shift + 10 * n, guard, guarded) == 0);
    free(in);
    free(text);
    free(out);
}

TEST(batches_of_any_size_at_any_address) {
    memset(guard, 0x5a, sizeof guard);
    for (size_t i = 0; i < MOST; i++) slow_encode(ids_of_texts[i] = random_id(), texts_of_ids + 16 * i);
    for (size_t b = 0; b < BATCHES; b++)
        for (size_t n = 0; n <= MOST; n++) {
            for (size_t shift = 0; shift < SHIFTS * SHIFTS; shift++) convert(b, n, shift % SHIFTS, shift / SHIFTS, 0);
            convert(b, n, n % SHIFTS, n % SHIFTS, GUARD);
        }
}

/* ---- texts that are refused ---- */

TEST(one_bad_character_and_nothing_is_decoded) {
    enum { some = 39 };
    static const char bad[] = {'1', ':', '`', 'y', 'A', 'Y', '\0', (char)0x80, (char)0xb2, (char)0xff};
    char texts[some * 16];
    sno_id out[some], before[some];
    for (size_t i = 0; i < some; i++) slow_encode(random_id(), texts + 16 * i);
    for (size_t i = 0; i < some; i++) before[i] = out[i] = random_id();
    for (size_t b = 0; b < BATCHES; b++)
        for (size_t n = some - 4; n <= some; n++)
            for (size_t place = 0; place < 16 * n; place++) {
                const char good = texts[place];
                texts[place] = bad[(place + n) % sizeof bad];
                CHECK_EQ(batches[b].decode_n(texts, n, out), FLAKE_PARSE);
                CHECK(memcmp(out, before, sizeof out) == 0);
                texts[place] = good;
            }
}

/* Every call that reads text, and accepts exactly `right` characters of it. */
static void refuses_other_lengths(flake_status (*read)(const char *, size_t, sno_id *), const char *text,
                                  size_t right) {
    char longer[64];
    memset(longer, '2', sizeof longer);
    memcpy(longer, text, right);
    sno_id id = random_id();
    const sno_id before = id;
    for (size_t len = 0; len < sizeof longer; len++) {
        if (len == right) continue;
        CHECK_EQ(read(longer, len, &id), FLAKE_PARSE);
        char *const exact = (char *)exactly(len); /* it reads no more than that */
        memcpy(exact, longer, len);
        CHECK_EQ(read(exact, len, &id), FLAKE_PARSE);
        free(exact);
    }
    CHECK_EQ(read(longer, SIZE_MAX, &id), FLAKE_PARSE);
    CHECK_EQ(read(NULL, right, &id), FLAKE_PARSE);
    CHECK_EQ(read(NULL, 0, &id), FLAKE_PARSE);
    CHECK(sno_equal(id, before));
    CHECK_EQ(read(longer, right, &id), FLAKE_OK);
}

TEST(lengths_are_exact) {
    refuses_other_lengths(sno_decode, "23456789abcdefgh", 16);
    refuses_other_lengths(sno_from_json, "\"23456789abcdefgh\"", 18);
    refuses_other_lengths(sno_from_json, "null", 4);
    refuses_other_lengths(sno_from_uuid, "32333435-3637-3839-6162-636465666768", 36);
    sno_id id = random_id();
    const sno_id before = id;
    CHECK_EQ(sno_decode_n(NULL, 1, &id), FLAKE_PARSE);
    CHECK_EQ(sno_decode_n(NULL, 0, &id), FLAKE_OK);
    CHECK(sno_equal(id, before));
}

TEST(json_is_strict) {
    const sno_id zero = {{0}};
    char json[19];
    memset(json, 'z', sizeof json);
    sno_to_json(zero, json);
    CHECK_STR(json, "null");
    sno_id id = random_id();
    CHECK_EQ(sno_from_json("null", 4, &id), FLAKE_OK);
    CHECK(sno_is_zero(id));
    id = random_id();
    CHECK_EQ(sno_from_json("\"2222222222222222\"", 18, &id), FLAKE_OK);
    CHECK(sno_is_zero(id));
    for (int i = 0; i < 1000; i++) {
        const sno_id wanted = random_id();
        memset(json, 'z', sizeof json);
        sno_to_json(wanted, json);
        CHECK_EQ(strlen(json), 18);
        CHECK_EQ(sno_from_json(json, 18, &id), FLAKE_OK);
        CHECK(sno_equal(id, wanted));
    }
    static const char *const bad[] = {
        "Null", "nul ", "\"\"\"\"", "'23456789abcdefgh'", "\"23456789abcdefgh ", " 23456789abcdefgh\"",
        "\"23456789Abcdefgh\"", "\"23456789abcdefg\"\"", "\"\\u0032\\u0032\\u003\"",
    };
    const sno_id before = id;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_EQ(sno_from_json(bad[i], strlen(bad[i]), &id), FLAKE_PARSE);
        CHECK(sno_equal(id, before));
    }
}

TEST(a_uuid_is_the_text_in_hex) {
    static const char good[] = "32333435-3637-3839-6162-636465666768";
    sno_id id = random_id(), wanted = id;
    CHECK_EQ(sno_decode("23456789abcdefgh", 16, &wanted), FLAKE_OK);
    CHECK_EQ(sno_from_uuid(good, 36, &id), FLAKE_OK);
    CHECK(sno_equal(id, wanted));
    char uuid[37];
    memset(uuid, 'z', sizeof uuid);
    sno_to_uuid(wanted, uuid);
    CHECK_STR(uuid, good);
    for (int i = 0; i < 1000; i++) {
        wanted = random_id();
        char text[16];
        slow_encode(wanted, text);
        sno_to_uuid(wanted, uuid);
        char slow[37], *end = slow;
        for (size_t k = 0; k < 16; k++)
            end += sprintf(end, "%s%02x", k && k % 2 == 0 && k >= 4 && k <= 10 ? "-" : "", text[k]);
        CHECK_STR(uuid, slow);
        for (size_t k = 0; k < 36 && i % 2; k++)
            if (uuid[k] >= 'a' && (i + (int)k) % 3) uuid[k] = (char)(uuid[k] - 'a' + 'A');
        CHECK_EQ(sno_from_uuid(uuid, 36, &id), FLAKE_OK);
        CHECK(sno_equal(id, wanted));
    }
}

TEST(a_uuid_is_read_strictly) {
    char uuid[37] = "6a6b6c6d-6e6f-6a6b-6c6d-6e6f6a6b6c6d"; /* hex digits of either case to spoil */
    sno_id id = random_id(), before;
    CHECK_EQ(sno_from_uuid(uuid, 36, &id), FLAKE_OK);
    before = id;
    for (size_t place = 0; place < 36; place++) {
        const char was = uuid[place];
        for (int byte = 0; byte < 256; byte++) {
            uuid[place] = (char)byte;
            bool good = byte == '-';
            if (was != '-') { /* 3x with x in 2..9, 6x with x in 1..f, 7x with x in 0..8 */
                const size_t first = place > 0 && was != '6' ? place - 1 : place;
                char pair[3] = {uuid[first], uuid[first + 1], '\0'};
                good = strspn(pair, "0123456789abcdefABCDEF") == 2 &&
                       memchr(alphabet, (int)strtol(pair, NULL, 16), 32) != NULL;
            }
            id = before;
            CHECK_EQ(sno_from_uuid(uuid, 36, &id), good ? FLAKE_OK : FLAKE_PARSE);
            CHECK(good || sno_equal(id, before));
        }
        uuid[place] = was;
    }
}

int main(int argc, char **argv) {
    for (size_t s = 0; s < SINGLES; s++) printf("%s%s", s ? ", " : "ways: ", singles[s].name);
    for (size_t b = 0; b < BATCHES; b++) printf(", %s", batches[b].name);
    printf("\n");
    return check_main(argc, argv);
}
