/* SPDX-License-Identifier: MIT
 *
 * The texts of UUIDs and ULIDs (flake.h, >>128-bit), one at a time and many, compared with the slow reference. The
 * calls use AVX2 where the processor has it, in test_uuid_text_plain.c portable code.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "support.h"
#include "flake.h"
#include "slow_text.h"
#ifndef _WIN32
#include <sys/mman.h>
#include <unistd.h>
#endif

static uint64_t random_state = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t random_bits(void) { return random_next(&random_state) >> 11; }

static flake128 random_id(void) {
    flake128 id;
    for (size_t i = 0; i < sizeof id.bytes; i++) id.bytes[i] = (uint8_t)random_bits();
    return id;
}

static bool same(flake128 a, flake128 b) { return memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0; }

/* A test of UUIDs, and then of ULIDs: f has the calls of either. */
#define TEST_OF_EACH_FORM(name, f)                                      \
    static void name##_of(const text_wide *f);                          \
    TEST(name) {                                                        \
        for (size_t i = 0; i < 2; i++) name##_of(&text_wides[i]);       \
    }                                                                   \
    static void name##_of(const text_wide *f)

/* ---- one text ---- */

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

TEST(texts_order_as_ids_do) {
    for (int i = 0; i < 5000; i++) {
        const flake128 a = random_id();
        flake128 b = a;
        b.bytes[i % 16] = (uint8_t)random_bits();
        for (size_t f = 0; f < 2; f++) {
            char text_a[37], text_b[37];
            text_wides[f].to(&a, text_a);
            text_wides[f].to(&b, text_b);
            const int by_id = flake128_compare(&a, &b), by_text = strcmp(text_a, text_b);
            CHECK((by_id < 0) == (by_text < 0) && (by_id > 0) == (by_text > 0));
        }
    }
}

/* In a single text, and in each of four: the first of many is read differently from the others. */
TEST_OF_EACH_FORM(every_byte_at_every_place_is_read_or_refused, f) {
    for (size_t place = 0; place < f->width; place++)
        for (int byte = 0; byte < 256; byte++)
            for (size_t which = 0; which < 4; which++) {
                char texts[4 * 37];
                flake128 ids[4], out[4], wanted = random_id();
                for (size_t k = 0; k < 4; k++) {
                    ids[k] = random_id();
                    f->slow_to(ids[k], texts + (f->width + 1) * k);
                }
                char *const text = texts + (f->width + 1) * which;
                text[place] = (char)byte;
                const bool good = f->slow_from(text, &wanted);
                const flake128 before = random_id();
                flake128 id = before;
                CHECK_EQ(f->from(text, f->width, &id), good ? FLAKE_OK : FLAKE_PARSE);
                CHECK(same(id, good ? wanted : before));
                CHECK_EQ(f->from_n(texts, 4, out), good ? FLAKE_OK : FLAKE_PARSE);
                for (size_t k = 0; k < 4 && good; k++) CHECK(same(out[k], k == which ? wanted : ids[k]));
            }
}

TEST_OF_EACH_FORM(other_lengths_are_refused, f) {
    char longer[64];
    memset(longer, '1', sizeof longer);
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
    CHECK_EQ(f->from_n(NULL, 1, &id), FLAKE_PARSE);
    CHECK_EQ(f->from_n(NULL, 0, &id), FLAKE_OK);
    CHECK(same(id, before));
    CHECK_EQ(f->from(longer, f->width, &id), FLAKE_OK);
}

/* ---- many ---- */

enum { MOST = 37 };

TEST_OF_EACH_FORM(batches_of_any_size_at_any_address_are_written_and_read, f) {
    flake128 ids[MOST];
    char texts[MOST * 37];
    for (size_t i = 0; i < MOST; i++) {
        ids[i] = random_id();
        f->slow_to(ids[i], texts + (f->width + 1) * i);
    }
    for (size_t n = 0; n <= MOST; n++)
        for (size_t shift = 0; shift < 32; shift++) {
            /* There is no byte after the last text. */
            const size_t id_shift = (shift + n) % 32, read = n ? (f->width + 1) * n - 1 : 0;
            char *const in = (char *)exactly(id_shift + 16 * n);
            char *const text = (char *)exactly(shift + (f->width + 1) * n);
            char *const parted = (char *)exactly(shift + read);
            char *const out = (char *)exactly(id_shift + 16 * n);
            if (n) memcpy(in + id_shift, ids, 16 * n);
            f->to_n((const flake128 *)(void *)(in + id_shift), n, text + shift);
            CHECK(n == 0 || memcmp(text + shift, texts, (f->width + 1) * n) == 0);
            if (n) memcpy(parted + shift, texts, read);
            for (size_t i = 1; i < n; i++) parted[shift + (f->width + 1) * i - 1] = (char)random_bits();
            CHECK_EQ(f->from_n(parted + shift, n, (flake128 *)(void *)(out + id_shift)), FLAKE_OK);
            CHECK(n == 0 || memcmp(out + id_shift, ids, 16 * n) == 0);
            free(in);
            free(text);
            free(parted);
            free(out);
        }
}

TEST_OF_EACH_FORM(one_bad_character_and_nothing_is_read, f) {
    static const char bad[] = {'/', ':', '@', 'U', 'g', '`', '{', '\0', (char)0x80, (char)0xb1, (char)0xff};
    char texts[MOST * 37];
    flake128 out[MOST], before[MOST], id;
    for (size_t i = 0; i < MOST; i++) {
        f->slow_to(random_id(), texts + (f->width + 1) * i);
        before[i] = out[i] = random_id();
    }
    for (size_t n = MOST - 4; n <= MOST; n++) {
        for (size_t place = 0; place < (f->width + 1) * n; place++) {
            const char good = texts[place];
            texts[place] = bad[(place + n) % sizeof bad];
            if (!f->slow_from(texts + place / (f->width + 1) * (f->width + 1), &id)) {
                CHECK_EQ(f->from_n(texts, n, out), FLAKE_PARSE);
                CHECK(memcmp(out, before, sizeof out) == 0);
            }
            texts[place] = good;
        }
        CHECK_EQ(f->from_n(texts, n, before), FLAKE_OK); /* and they were valid otherwise */
        memcpy(out, before, sizeof out);
    }
}

#ifndef _WIN32
/* Texts and IDs that begin or end where memory does. */
TEST_OF_EACH_FORM(nothing_past_the_pages_is_touched, f) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *const memory = (char *)mmap(NULL, 5 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != (char *)MAP_FAILED);
    for (size_t i = 0; i < 5; i += 2) CHECK_EQ(mprotect(memory + i * page, page, PROT_NONE), 0);
    for (size_t n = 1; n < 6; n++) {
        flake128 wanted[5];
        char right[5 * 37];
        for (size_t at_end = 0; at_end < 2; at_end++) {
            /* One page for texts, one for IDs. */
            const size_t size = (f->width + 1) * n;
            char *const texts = at_end ? memory + 2 * page - size : memory + page;
            char *const ids = at_end ? memory + 4 * page - 16 * n : memory + 3 * page;
            for (size_t i = 0; i < n; i++) {
                wanted[i] = random_id();
                f->slow_to(wanted[i], right + (f->width + 1) * i);
            }
            memcpy(ids, wanted, 16 * n);
            f->to_n((const flake128 *)(void *)ids, n, texts);
            CHECK(memcmp(texts, right, size) == 0);
            char *const parted = texts + at_end; /* without the last NUL */
            memmove(parted, right, size - 1);
            memset(ids, 0, 16 * n);
            CHECK_EQ(f->from_n(parted, n, (flake128 *)(void *)ids), FLAKE_OK);
            CHECK(memcmp(ids, wanted, 16 * n) == 0);
            if (n > 1) continue;
            f->to(&wanted[0], texts);
            CHECK(memcmp(texts, right, size) == 0);
            memmove(parted, right, size - 1);
            memset(ids, 0, 16);
            CHECK_EQ(f->from(parted, f->width, (flake128 *)(void *)ids), FLAKE_OK);
            CHECK(memcmp(ids, wanted, 16) == 0);
        }
    }
    CHECK_EQ(munmap(memory, 5 * page), 0);
}
#endif

int main(int argc, char **argv) { return check_main(argc, argv); }
