/* SPDX-License-Identifier: MIT
 *
 * Texts of a fixed width, beside the slow reference's: UUIDs and ULIDs (flake.h, >>128-bit); snos, also as JSON and
 * as UUIDs (sno.h). Known ones first, then any byte, any length, and arrays. The calls use vectors where the processor
 * has them, in test_fixed_text_plain.c portable code. (Edited at random: test_random_text.c.)
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "support.h"
#include "sno.h"
#include "slow_text.h"
#ifndef _WIN32
#include <sys/mman.h>
#include <unistd.h>
#endif

/* ---- the forms of a sno, which is in the first 10 bytes of a flake128 ---- */

static const char sno_digits[] = "23456789abcdefghijklmnopqrstuvwx";

static void slow_to_sno(flake128 id, char *out) {
    flake128 low = {{0}};
    memcpy(low.bytes + 6, id.bytes, 10);
    (void)slow_digits(low, 32, sno_digits, 16, out);
}

static bool slow_from_sno(const char *text, flake128 *id) {
    const text_kind k = {32, 16, sno_digits, -1};
    flake128 low;
    if (!slow_read(text, 16, &k, &low)) return false;
    memcpy(id->bytes, low.bytes + 6, 10);
    return true;
}

static void slow_to_json(flake128 id, char *out) {
    char text[17] = "";
    slow_to_sno(id, text);
    (void)sprintf(out, "\"%s\"", text);
}

static bool slow_from_json(const char *text, flake128 *id) {
    return text[0] == '"' && text[17] == '"' && slow_from_sno(text + 1, id);
}

/* The UUID's bytes are the text. */
static void slow_to_sno_uuid(flake128 id, char *out) {
    flake128 text;
    slow_to_sno(id, (char *)text.bytes);
    slow_to_uuid(text, out);
}

static bool slow_from_sno_uuid(const char *uuid, flake128 *id) {
    flake128 text;
    return slow_from_uuid(uuid, &text) && slow_from_sno((const char *)text.bytes, id);
}

static sno_id sno_in(const flake128 *id) { return sno_from_bytes(id->bytes); }
static sno_id *snos_at(flake128 *ids) { return (sno_id *)(void *)ids; }
static void to_sno(const flake128 *id, char *out) { sno_encode(sno_in(id), out); }
static void to_json(const flake128 *id, char *out) { sno_to_json(sno_in(id), out); }
static void to_sno_uuid(const flake128 *id, char *out) { sno_to_uuid(sno_in(id), out); }
static void to_sno_n(const flake128 *id, size_t n, char *out) { sno_encode_n((const sno_id *)(const void *)id, n, out); }
static flake_status from_sno(const char *text, size_t len, flake128 *id) { return sno_decode(text, len, snos_at(id)); }
static flake_status from_json(const char *text, size_t n, flake128 *id) { return sno_from_json(text, n, snos_at(id)); }
static flake_status from_sno_uuid(const char *text, size_t len, flake128 *id) {
    return sno_from_uuid(text, len, snos_at(id));
}
static flake_status from_sno_n(const char *text, size_t n, flake128 *id) { return sno_decode_n(text, n, snos_at(id)); }

static const text_wide of_snos[] = {
    {16, slow_to_sno, slow_from_sno, to_sno, from_sno, to_sno_n, from_sno_n, 16, 10},
    {18, slow_to_json, slow_from_json, to_json, from_json, NULL, NULL, 19, 10},
    {36, slow_to_sno_uuid, slow_from_sno_uuid, to_sno_uuid, from_sno_uuid, NULL, NULL, 37, 10},
};

/* A test of each form that has calls for one ID, or for arrays, too. */
#define TEST_OF(name, f, has_calls)                                                        \
    static void name##_of(const text_wide *f);                                             \
    TEST(name) {                                                                           \
        for (size_t i = 0; i < 5; i++) {                                                   \
            const text_wide *const f = i < 2 ? &text_wides[i] : &of_snos[i - 2];           \
            if (has_calls) name##_of(f);                                                   \
        }                                                                                  \
    }                                                                                      \
    static void name##_of(const text_wide *f)
#define TEST_OF_EACH_FORM(name, f) TEST_OF(name, f, f->to)
#define TEST_OF_EACH_ARRAY(name, f) TEST_OF(name, f, f->to_n)

/* ---- random IDs ---- */

static uint64_t random_state = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t random_bits(void) { return random_next(&random_state) >> 11; }

static flake128 random_id(void) {
    flake128 id;
    for (size_t i = 0; i < sizeof id.bytes; i++) id.bytes[i] = (uint8_t)random_bits();
    return id;
}

static bool same(flake128 a, flake128 b) { return memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0; }

/* n IDs, one after the other, and their texts. */
static void random_ids(const text_wide *f, size_t n, char *ids, char *texts) {
    for (size_t i = 0; i < n; i++) {
        const flake128 id = random_id();
        char text[38];
        f->slow_to(id, text);
        memcpy(ids + f->size * i, id.bytes, f->size);
        memcpy(texts + f->stride * i, text, f->stride);
    }
}

static flake128 *as_ids(char *bytes) { return (flake128 *)(void *)bytes; }

/* ---- known texts ---- */

TEST(a_uuid_is_the_16_bytes) {
    flake128 id, again = random_id();
    char text[37];
    for (size_t i = 0; i < 16; i++) id.bytes[i] = (uint8_t)(i * 17);
    flake128_to_uuid(&id, text);
    CHECK_STR(text, "00112233-4455-6677-8899-aabbccddeeff");
    CHECK_EQ(flake128_from_uuid(text, 36, &again), FLAKE_OK);
    CHECK(same(again, id));
    CHECK_EQ(flake128_from_uuid("00112233-4455-6677-8899-AABBCCDDEEFF", 36, &again), FLAKE_OK);
    CHECK(same(again, id));
}

/* ULIDs with known times. */
TEST(ulids_of_the_specification_are_read) {
    static const struct {
        const char *ulid;
        int64_t unix_ms;
    } known[] = {{"01ARZ3NDEKTSV4RRFFQ69G5FAV", 1469922850259},
                 {"01BX5ZZKBKACTAV9WEVGEMMVRZ", 1508808576371},
                 {"00000000000000000000000000", 0},
                 {"7ZZZZZZZZZZZZZZZZZZZZZZZZZ", 281474976710655}};
    flake_parts parts = {0, 0, 0};
    flake128 id = random_id();
    char text[37];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        CHECK_EQ(flake128_from_ulid(known[i].ulid, 26, &id), FLAKE_OK);
        CHECK_EQ(flake128_decompose(&flake_layout_ulid, &id, &parts), FLAKE_OK);
        CHECK_EQ(parts.unix_ms, known[i].unix_ms);
        flake128_to_ulid(&id, text);
        CHECK_STR(text, known[i].ulid);
    }
    CHECK_EQ(id.bytes[0] & id.bytes[15], 0xff);
    CHECK_EQ(flake128_from_ulid("80000000000000000000000000", 26, &id), FLAKE_PARSE);
    CHECK_EQ(flake128_from_ulid("8ZZZZZZZZZZZZZZZZZZZZZZZZZ", 26, &id), FLAKE_PARSE);
    CHECK_EQ(flake128_from_ulid("i1oOlLIiLl1o0O0oOi1IlL1iLl", 26, &id), FLAKE_OK);
    flake128_to_ulid(&id, text);
    CHECK_STR(text, "11001111111000000111111111");
}

TEST(the_zero_sno_is_null_in_json) {
    static const char *const bad[] = {"Null", "nul ", "NULL", "\"\"\"\"", "'23456789abcdefgh'"};
    const sno_id zero = {{0}};
    sno_id id;
    char json[19];
    sno_to_json(zero, json);
    CHECK_STR(json, "null");
    for (int i = 0; i < 2; i++) {
        memset(&id, 0x5a, sizeof id);
        CHECK_EQ(i ? sno_from_json("null", 4, &id) : sno_from_json("\"2222222222222222\"", 18, &id), FLAKE_OK);
        CHECK(sno_is_zero(id));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_EQ(sno_from_json(bad[i], strlen(bad[i]), &id), FLAKE_PARSE);
}

TEST(a_snos_uuid_is_its_text_in_hex) {
    sno_id id;
    char uuid[37];
    CHECK_EQ(sno_decode("23456789abcdefgh", 16, &id), FLAKE_OK);
    sno_to_uuid(id, uuid);
    CHECK_STR(uuid, "32333435-3637-3839-6162-636465666768");
}

/* ---- any text ---- */

/* In a single text, and in each of four: the first of many is read differently from the others. */
TEST_OF_EACH_FORM(every_byte_at_every_place_is_read_or_refused, f) {
    for (size_t place = 0; place < f->width; place++)
        for (int byte = 0; byte < 256; byte++)
            for (size_t which = 0; which < (f->to_n ? 4 : 1); which++) {
                char texts[4 * 37], ids[4 * 16], out[4 * 16];
                random_ids(f, 4, ids, texts);
                char *const text = texts + f->stride * which;
                const flake128 before = random_id();
                flake128 wanted = before, id = before;
                text[place] = (char)byte;
                const bool good = f->slow_from(text, &wanted);
                CHECK_EQ(f->from(text, f->width, &id), good ? FLAKE_OK : FLAKE_PARSE);
                CHECK(same(id, good ? wanted : before));
                if (!f->to_n) continue;
                memcpy(ids + f->size * which, wanted.bytes, f->size);
                CHECK_EQ(f->from_n(texts, 4, as_ids(out)), good ? FLAKE_OK : FLAKE_PARSE);
                CHECK(!good || memcmp(out, ids, 4 * f->size) == 0);
            }
}

TEST_OF_EACH_FORM(other_lengths_are_refused, f) {
    char longer[64];
    memset(longer, '2', sizeof longer);
    f->slow_to(random_id(), longer);
    flake128 id = random_id();
    const flake128 before = id;
    for (size_t len = 0; len < sizeof longer; len++) {
        if (len == f->width) continue;
        CHECK_EQ(f->from(longer, len, &id), FLAKE_PARSE);
        /* If the length alone is wrong, it reads no more than that. */
        char *const exact = (char *)exactly(len);
        memcpy(exact, longer, len);
        CHECK_EQ(f->from(exact, len, &id), FLAKE_PARSE);
        free(exact);
    }
    CHECK_EQ(f->from(longer, SIZE_MAX, &id), FLAKE_PARSE);
    CHECK_EQ(f->from(NULL, f->width, &id), FLAKE_PARSE);
    CHECK_EQ(f->from(NULL, 0, &id), FLAKE_PARSE);
    if (f->to_n) CHECK_EQ(f->from_n(NULL, 1, &id), FLAKE_PARSE);
    if (f->to_n) CHECK_EQ(f->from_n(NULL, 0, &id), FLAKE_OK);
    CHECK(same(id, before));
    CHECK_EQ(f->from(longer, f->width, &id), FLAKE_OK);
}

/* ---- many ---- */

enum { MOST = 37 };

TEST_OF_EACH_ARRAY(batches_of_any_size_at_any_address_are_written_and_read, f) {
    const bool has_nul = f->stride > f->width;
    char ids[MOST * 16], texts[MOST * 37];
    random_ids(f, MOST, ids, texts);
    for (size_t n = 0; n <= MOST; n++)
        for (size_t shift = 0; shift < 32; shift++) {
            /* There is no byte after the last text. */
            const size_t id_shift = (shift + n) % 32, ids_n = f->size * n, read = n ? f->stride * n - has_nul : 0;
            char *const in = (char *)exactly(id_shift + ids_n);
            char *const text = (char *)exactly(shift + f->stride * n);
            char *const parted = (char *)exactly(shift + read);
            char *const out = (char *)exactly(id_shift + ids_n);
            memcpy(in + id_shift, ids, ids_n);
            f->to_n(as_ids(in + id_shift), n, text + shift);
            CHECK(memcmp(text + shift, texts, f->stride * n) == 0);
            memcpy(parted + shift, texts, read);
            for (size_t i = 1; i < n && has_nul; i++) parted[shift + f->stride * i - 1] = (char)random_bits();
            CHECK_EQ(f->from_n(parted + shift, n, as_ids(out + id_shift)), FLAKE_OK);
            CHECK(memcmp(out + id_shift, ids, ids_n) == 0);
            free(in);
            free(text);
            free(parted);
            free(out);
        }
}

TEST_OF_EACH_ARRAY(one_bad_character_and_nothing_is_read, f) {
    static const char bad[] = "/1:@AUY`gy{\0\x80\xb1\xb2\xff";
    char ids[MOST * 16], texts[MOST * 37], out[MOST * 16], before[MOST * 16];
    random_ids(f, MOST, before, texts);
    random_ids(f, MOST, ids, texts);
    for (size_t n = MOST - 4; n <= MOST; n++) {
        memcpy(out, before, sizeof out);
        for (size_t place = 0; place < f->stride * n; place++) {
            const char good = texts[place];
            flake128 id;
            texts[place] = bad[(place + n) % (sizeof bad - 1)];
            if (!f->slow_from(texts + place / f->stride * f->stride, &id)) {
                CHECK_EQ(f->from_n(texts, n, as_ids(out)), FLAKE_PARSE);
                CHECK(memcmp(out, before, f->size * MOST) == 0);
            }
            texts[place] = good;
        }
        CHECK_EQ(f->from_n(texts, n, as_ids(out)), FLAKE_OK); /* and they were valid otherwise */
        CHECK(memcmp(out, ids, f->size * n) == 0);
    }
}

#ifndef _WIN32
/* Texts and IDs that begin or end where memory does. */
TEST_OF_EACH_FORM(nothing_past_the_pages_is_touched, f) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), has_nul = f->stride > f->width;
    char *const memory = (char *)mmap(NULL, 5 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != (char *)MAP_FAILED);
    for (size_t i = 0; i < 5; i += 2) CHECK_EQ(mprotect(memory + i * page, page, PROT_NONE), 0);
    for (size_t n = 0; n < (f->to_n ? 6 : 1); n++) { /* 0: one, by the call for one */
        const size_t count = n ? n : 1, size = f->stride * count, ids_n = f->size * count;
        char wanted[5 * 16], right[5 * 37];
        for (size_t at_end = 0; at_end < 2; at_end++) {
            /* One page for texts, one for IDs. */
            char *const texts = at_end ? memory + 2 * page - size : memory + page;
            char *const ids = at_end ? memory + 4 * page - ids_n : memory + 3 * page;
            char *const parted = texts + (at_end ? has_nul : 0); /* without the last NUL */
            random_ids(f, count, wanted, right);
            memcpy(ids, wanted, ids_n);
            if (n) f->to_n(as_ids(ids), n, texts);
            else f->to(as_ids(ids), texts);
            CHECK(memcmp(texts, right, size) == 0);
            memmove(parted, right, size - has_nul);
            memset(ids, 0, ids_n);
            CHECK_EQ(n ? f->from_n(parted, n, as_ids(ids)) : f->from(parted, f->width, as_ids(ids)), FLAKE_OK);
            CHECK(memcmp(ids, wanted, ids_n) == 0);
        }
    }
    CHECK_EQ(munmap(memory, 5 * page), 0);
}
#endif
