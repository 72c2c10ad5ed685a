/* SPDX-License-Identifier: MIT
 *
 * The texts of ids, against the peers' own, against the C library, and against a slow reference
 * that shares nothing with the header: it spells one digit at a time, by division of bytes.
 */
#include "support.h"
#include "flake.h"
#include <limits.h>

#define FORMS 11
static const char digits62[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static const struct {
    unsigned base;
    size_t width;
    const char *digits;
} forms[FORMS] = {
    {10, 20, digits62},
    {16, 16, "0123456789abcdef"},
    {2, 64, digits62},
    {2, 79, digits62},
    {32, 13, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"},
    {36, 13, digits62},
    {58, 11, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"},
    {62, 11, digits62},
    {32, 13, "ybndrfg8ejkmcpqxot1uwisza345h769"},
    {36, 13, "0123456789abcdefghijklmnopqrstuvwxyz"},
    {58, 11, "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"},
};

static uint64_t seed = 0x9e3779b97f4a7c15;

static uint64_t random64(void) { return random_next(&seed); }

static size_t random_size(size_t limit) { return (size_t)random_below(&seed, limit); }

/* Of every length: small numbers are as likely as large ones. */
static uint64_t random_id(void) {
    uint64_t id = random64();
    return id >> random_size(64);
}

static flake128 random_id128(void) {
    flake128 id;
    flake_to_bytes(random64(), id.bytes);
    flake_to_bytes(random64(), id.bytes + 8);
    memset(id.bytes, 0, random_size(16));
    return id;
}

static flake128 widen(uint64_t id) {
    flake128 wide;
    memset(&wide, 0, sizeof wide);
    for (int i = 15; i >= 8; i--, id >>= 8) wide.bytes[i] = (uint8_t)id;
    return wide;
}

static int same128(flake128 a, flake128 b) { return memcmp(&a, &b, sizeof a) == 0; }

/* The reference: the last `width` digits of the number, in `text` of width + 1 characters. */
static void reference(flake128 id, unsigned base, const char *digits, size_t width, char *text) {
    text[width] = '\0';
    for (size_t at = width; at-- > 0;) {
        unsigned rest = 0;
        for (int i = 0; i < 16; i++) {
            rest = rest << 8 | id.bytes[i];
            id.bytes[i] = (uint8_t)(rest / base);
            rest %= base;
        }
        text[at] = digits[rest];
    }
}

static const char *without_zeros(const char *text, char zero) {
    while (text[0] == zero && text[1] != '\0') text++;
    return text;
}

/* What flake_format_fixed has to say, and from where flake_format has to say it. */
static const char *reference_form(uint64_t id, int form, char *text) {
    if (form == FLAKE_BIN4) {
        char bits[65];
        reference(widen(id), 2, digits62, 64, bits);
        for (int i = 0; i < 64; i++) text[i + i / 4] = bits[i];
        for (int i = 4; i < 79; i += 5) text[i] = ' ';
        text[79] = '\0';
        return text;
    }
    reference(widen(id), forms[form].base, forms[form].digits, forms[form].width, text);
    return without_zeros(text, forms[form].digits[0]);
}

static flake_status parse(const char *text, int form, uint64_t *id) {
    return flake_parse(text, strlen(text), (flake_text)form, id);
}

static int refused(const char *text, size_t len, int form) {
    uint64_t id = 77;
    return flake_parse(text, len, (flake_text)form, &id) == FLAKE_PARSE && id == 77;
}

static int refused128(const char *text, size_t len, unsigned base) {
    const flake128 before = widen(77);
    flake128 id = before;
    return flake128_parse(text, len, base, &id) == FLAKE_PARSE && same128(id, before);
}

/* Everything that holds for one id in one form. */
static void check_id(uint64_t id, int form) {
    const flake_text text_form = (flake_text)form;
    char fixed[FLAKE_TEXT_SIZE], text[FLAKE_TEXT_SIZE] = "";
    const char *shortest = reference_form(id, form, fixed);
    uint64_t back = ~id;
    CHECK_EQ(flake_format(id, text_form, text, sizeof text), strlen(shortest));
    CHECK_STR(text, shortest);
    CHECK(parse(text, form, &back) == FLAKE_OK && back == id);
    back = ~id;
    CHECK_EQ(flake_format_fixed(id, text_form, text, sizeof text), forms[form].width);
    CHECK_STR(text, fixed);
    CHECK(parse(text, form, &back) == FLAKE_OK && back == id);
}

static void check_id128(flake128 id, unsigned base) {
    const size_t width = flake128_text_width(base);
    char fixed[FLAKE128_TEXT_SIZE], text[FLAKE128_TEXT_SIZE] = "";
    flake128 back = widen(77);
    reference(id, base, digits62, width, fixed);
    const char *shortest = without_zeros(fixed, '0');
    CHECK_EQ(flake128_format(id, base, text, sizeof text), strlen(shortest));
    CHECK_STR(text, shortest);
    CHECK(flake128_parse(text, strlen(text), base, &back) == FLAKE_OK && same128(back, id));
    back = widen(77);
    CHECK_EQ(flake128_format_fixed(id, base, text, sizeof text), width);
    CHECK_STR(text, fixed);
    CHECK(flake128_parse(text, width, base, &back) == FLAKE_OK && same128(back, id));
}

/* ---- vectors ---- */

static void idgen_row(char **column) {
    static const int of_column[] = {FLAKE_DEC, FLAKE_HEX, FLAKE_BIN4};
    char text[FLAKE_TEXT_SIZE] = "";
    uint8_t bytes[8];
    hex_bytes(column[5], bytes, sizeof bytes);
    const uint64_t id = flake_from_bytes(bytes);
    for (int i = 0; i < 3; i++) {
        uint64_t back = 0;
        CHECK(flake_format(id, (flake_text)of_column[i], text, sizeof text) > 0);
        CHECK_STR(text, column[6 + i]);
        CHECK(parse(column[6 + i], of_column[i], &back) == FLAKE_OK && back == id);
    }
}

static void idgen_texts(void) { vectors_read("idgen.tsv", 9, idgen_row); }

static void boundary_row(char **column) {
    static const unsigned of_column[] = {62, 36, 10};
    char text[FLAKE128_TEXT_SIZE] = "";
    flake128 id;
    hex_bytes(column[3], id.bytes, sizeof id.bytes);
    for (int i = 0; i < 3; i++) {
        const char *expected = column[4 + i];
        flake128 back = widen(77);
        CHECK(flake128_format(id, of_column[i], text, sizeof text) > 0);
        CHECK_STR(text, expected);
        CHECK(flake128_parse(expected, strlen(expected), of_column[i], &back) == FLAKE_OK);
        CHECK(same128(back, id));
    }
}

static void boundary_texts(void) { vectors_read("boundary.tsv", 7, boundary_row); }

static void bwmarrin_row(char **column) {
    static const int of_column[] = {FLAKE_DEC, FLAKE_BIN, FLAKE_ZBASE32, FLAKE_BASE36_LOWER,
                                    FLAKE_BASE58_FLICKR};
    char text[FLAKE_TEXT_SIZE] = "";
    uint64_t id = 0;
    CHECK_EQ(parse(column[0], FLAKE_DEC, &id), FLAKE_OK);
    for (int i = 0; i < 5; i++) {
        uint64_t back = ~id;
        CHECK(flake_format(id, (flake_text)of_column[i], text, sizeof text) > 0);
        CHECK_STR(text, column[i]);
        CHECK(parse(column[i], of_column[i], &back) == FLAKE_OK && back == id);
    }
}

static void bwmarrin_texts(void) { vectors_read("bwmarrin.tsv", 5, bwmarrin_row); }

/* ---- one id at a time ---- */

static void known_texts(void) {
    static const struct {
        uint64_t id;
        const char *text[FORMS];
    } known[] = {
        {0,
         {"0", "0", "0",
          "0000 0000 0000 0000 0000 0000 0000 0000 0000 0000 0000 0000 0000 0000 0000 0000", "0",
          "0", "1", "0", "y", "0", "1"}},
        {UINT64_MAX,
         {"18446744073709551615", "ffffffffffffffff",
          "1111111111111111111111111111111111111111111111111111111111111111",
          "1111 1111 1111 1111 1111 1111 1111 1111 1111 1111 1111 1111 1111 1111 1111 1111",
          "FZZZZZZZZZZZZ", "3W5E11264SGSF", "jpXCZedGfVQ", "LygHa16AHYF",
          "x999999999999", "3w5e11264sgsf", "JPwcyDCgEup"}},
    };
    char text[FLAKE_TEXT_SIZE] = "";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int form = 0; form < FORMS; form++) {
            CHECK(flake_format(known[i].id, (flake_text)form, text, sizeof text) > 0);
            CHECK_STR(text, known[i].text[form]);
            check_id(known[i].id, form);
        }
    flake128 ones;
    memset(&ones, 0xff, sizeof ones);
    char text128[FLAKE128_TEXT_SIZE] = "";
    flake128_format(ones, 10, text128, sizeof text128);
    CHECK_STR(text128, "340282366920938463463374607431768211455");
    flake128_format(ones, 16, text128, sizeof text128);
    CHECK_STR(text128, "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF");
    flake128_format_fixed(widen(61), 62, text128, sizeof text128);
    CHECK_STR(text128, "000000000000000000000z");
}

static void boundaries(void) {
    for (int form = 0; form < FORMS; form++) {
        uint64_t power = 1;
        for (int more = 1; more;) {
            for (uint64_t id = power - 1; id != power + 2; id++) check_id(id, form);
            more = power <= UINT64_MAX / forms[form].base;
            power *= forms[form].base;
        }
        for (uint64_t back = 0; back < 300; back++) check_id(UINT64_MAX - back, form);
        for (uint64_t id = 0; id < 4000; id++) check_id(id, form);
    }
}

/* The powers of the base and their neighbours, as texts: 1 then zeros, all highest digits, ... */
static void boundaries128(void) {
    for (unsigned base = 2; base <= 62; base++) {
        const size_t width = flake128_text_width(base);
        flake128 id;
        char text[FLAKE128_TEXT_SIZE] = "";
        memset(&id, 0xff, sizeof id);
        check_id128(id, base);
        check_id128(widen(0), base);
        for (size_t len = 1; len <= width; len++) {
            memset(text, '0', len);
            text[0] = '1';
            CHECK(flake128_parse(text, len, base, &id) == FLAKE_OK);
            check_id128(id, base);
            text[len - 1] = '1';
            CHECK(flake128_parse(text, len, base, &id) == FLAKE_OK);
            check_id128(id, base);
            memset(text, digits62[base - 1], len);
            if (len == width) break; /* no number, unless the base is a power of two */
            CHECK(flake128_parse(text, len, base, &id) == FLAKE_OK);
            check_id128(id, base);
        }
    }
}

static void round_trips(void) {
    for (int i = 0; i < 60000; i++) check_id(random_id(), i % FORMS);
    for (unsigned i = 0; i < 30000; i++) check_id128(random_id128(), 2 + i % 61);
}

static void like_snprintf(void) {
    char text[FLAKE_TEXT_SIZE] = "", expected[FLAKE_TEXT_SIZE];
    for (int i = 0; i < 20000; i++) {
        const uint64_t id = random_id();
        CHECK_EQ(flake_format(id, FLAKE_DEC, text, sizeof text),
                 snprintf(expected, sizeof expected, "%" PRIu64, id));
        CHECK_STR(text, expected);
        CHECK_EQ(flake_format(id, FLAKE_HEX, text, sizeof text),
                 snprintf(expected, sizeof expected, "%" PRIx64, id));
        CHECK_STR(text, expected);
        flake_format_fixed(id, FLAKE_DEC, text, sizeof text);
        (void)snprintf(expected, sizeof expected, "%020" PRIu64, id);
        CHECK_STR(text, expected);
        flake_format_fixed(id, FLAKE_HEX, text, sizeof text);
        (void)snprintf(expected, sizeof expected, "%016" PRIx64, id);
        CHECK_STR(text, expected);
    }
}

static int sign(int x) { return (x > 0) - (x < 0); }

static void fixed_texts_sort(void) {
    for (int i = 0; i < 40000; i++) {
        const uint64_t a = random_id(), b = i % 2 ? random_id() : a + random_size(3);
        const flake_text form = (flake_text)(i % FORMS);
        if (form == FLAKE_ZBASE32 || form == FLAKE_BASE58_FLICKR) continue;
        char text_a[FLAKE_TEXT_SIZE], text_b[FLAKE_TEXT_SIZE];
        flake_format_fixed(a, form, text_a, sizeof text_a);
        flake_format_fixed(b, form, text_b, sizeof text_b);
        CHECK_EQ(sign(strcmp(text_a, text_b)), (a > b) - (a < b));
    }
    for (unsigned i = 0; i < 20000; i++) {
        const unsigned base = 2 + i % 61;
        flake128 a = random_id128(), b = i % 2 ? random_id128() : a;
        b.bytes[random_size(16)] ^= (uint8_t)random64();
        char text_a[FLAKE128_TEXT_SIZE], text_b[FLAKE128_TEXT_SIZE];
        flake128_format_fixed(a, base, text_a, sizeof text_a);
        flake128_format_fixed(b, base, text_b, sizeof text_b);
        CHECK_EQ(sign(strcmp(text_a, text_b)), sign(memcmp(a.bytes, b.bytes, 16)));
    }
}

/* ---- what does not fit ---- */

/* After a call that was given `size` and returned `len`: nothing but the text and its NUL. */
static int only_text(const char *buf, size_t buf_size, size_t len, size_t size) {
    const size_t used = len ? len + 1 : 0;
    if (used > size || (len && strlen(buf) != len)) return 0;
    for (size_t i = used; i < buf_size; i++)
        if (buf[i] != '#') return 0;
    return 1;
}

/* The call writes all `n` characters to the first `size` of buf, or none. */
#define FITS(call, n)                                     \
    do {                                                  \
        const size_t written = size > (n) ? (n) : 0;      \
        memset(buf, '#', sizeof buf);                     \
        CHECK_EQ(call, written);                          \
        CHECK(only_text(buf, sizeof buf, written, size)); \
    } while (0)

static void small_buffers(void) {
    char buf[FLAKE128_TEXT_SIZE + 20];
    for (int i = 0; i < 800; i++) {
        const uint64_t id = random_id();
        const flake_text form = (flake_text)(i % FORMS);
        const size_t len = flake_format(id, form, buf, sizeof buf);
        for (size_t size = 0; size <= flake_text_width(form) + 3; size++) {
            FITS(flake_format(id, form, buf, size), len);
            FITS(flake_format_fixed(id, form, buf, size), flake_text_width(form));
        }
        CHECK_EQ(flake_format(id, form, NULL, 100), 0);
        CHECK_EQ(flake_format_fixed(id, form, NULL, 100), 0);
    }
    for (unsigned base = 2; base <= 62; base++) {
        const flake128 id = random_id128();
        const size_t len = flake128_format(id, base, buf, sizeof buf);
        for (size_t size = 0; size <= flake128_text_width(base) + 3; size++) {
            FITS(flake128_format(id, base, buf, size), len);
            FITS(flake128_format_fixed(id, base, buf, size), flake128_text_width(base));
        }
        CHECK_EQ(flake128_format(id, base, NULL, 200), 0);
        CHECK_EQ(flake128_format_fixed(id, base, NULL, 200), 0);
    }
}

static void unknown_forms(void) {
    char buf[200];
    memset(buf, '#', sizeof buf);
    static const unsigned unknown[] = {FORMS, FORMS + 1, 255, 256, 1000000, 0x80000000u, UINT_MAX};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        const flake_text form = (flake_text)unknown[i];
        uint64_t id = 77;
        CHECK_EQ(flake_text_width(form), 0);
        CHECK_EQ(flake_format(5, form, buf, sizeof buf), 0);
        CHECK_EQ(flake_format_fixed(5, form, buf, sizeof buf), 0);
        CHECK(flake_parse("1", 1, form, &id) == FLAKE_INVALID && id == 77);
        CHECK(flake_parse(NULL, 0, form, &id) == FLAKE_INVALID && id == 77);
    }
    static const unsigned bad_bases[] = {0, 1, 63, 64, 255, 256, 258, 0x80000002u, UINT_MAX};
    for (size_t i = 0; i < sizeof bad_bases / sizeof *bad_bases; i++) {
        const unsigned base = bad_bases[i];
        flake128 id = widen(77);
        CHECK_EQ(flake128_text_width(base), 0);
        CHECK_EQ(flake128_format(id, base, buf, sizeof buf), 0);
        CHECK_EQ(flake128_format_fixed(id, base, buf, sizeof buf), 0);
        CHECK(flake128_parse("0", 1, base, &id) == FLAKE_INVALID && same128(id, widen(77)));
        CHECK(flake128_parse(NULL, 0, base, &id) == FLAKE_INVALID && same128(id, widen(77)));
    }
    CHECK(only_text(buf, sizeof buf, 0, 0));
}

/* ---- strict parsing ---- */

/* Adds one to a text; 0 when it would need one more digit. */
static int increment(char *text, size_t len, unsigned base, const char *digits) {
    for (size_t at = len; at-- > 0;) {
        const size_t digit = (size_t)(strchr(digits, text[at]) - digits);
        text[at] = digits[(digit + 1) % base];
        if (digit + 1 < base) return 1;
    }
    return 0;
}

static void overflow(void) {
    char text[FLAKE128_TEXT_SIZE + 20];
    for (int form = 0; form < FORMS; form++) {
        const char zero = forms[form].digits[0];
        const size_t width = forms[form].width;
        flake_format_fixed(UINT64_MAX, (flake_text)form, text, sizeof text);
        for (int i = 0; i < 1000 && form != FLAKE_BIN4; i++) {
            if (!increment(text, width, forms[form].base, forms[form].digits)) break;
            CHECK(refused(text, width, form));
        }
        memset(text, forms[form].digits[forms[form].base - 1], sizeof text);
        for (size_t len = width; len < sizeof text; len++) {
            /* All highest digits fit only where the base is a power of 2 that divides 2^64. */
            const int fits = len == width && (form == FLAKE_HEX || form == FLAKE_BIN);
            CHECK(fits || refused(text, len, form));
        }
        memset(text, zero, sizeof text);
        text[0] = forms[form].digits[1];
        for (size_t len = width + 1; len < sizeof text; len++) CHECK(refused(text, len, form));
        text[0] = zero;
        for (size_t len = width + 1; len < sizeof text; len++) CHECK(refused(text, len, form));
    }
    for (unsigned base = 2; base <= 62; base++) {
        const size_t width = flake128_text_width(base);
        flake128 ones;
        memset(&ones, 0xff, sizeof ones);
        CHECK_EQ(flake128_format(ones, base, text, sizeof text), width);
        for (int i = 0; i < 300; i++) {
            if (!increment(text, width, base, digits62)) break;
            CHECK(refused128(text, width, base));
        }
        memset(text, digits62[base - 1], sizeof text);
        for (size_t len = width; len < sizeof text; len++) {
            const int fits = len == width && (base == 2 || base == 4 || base == 16);
            CHECK(fits || refused128(text, len, base));
        }
        memset(text, '0', sizeof text);
        for (size_t len = width + 1; len < sizeof text; len++) CHECK(refused128(text, len, base));
    }
}

static void refusals(void) {
    static const char *const bad[] = {
        "",  " ", "+1", "-1", "1 ", " 1", "1\n", "1_1", "1,1", "1.1",  "1'1",  "{",    "[",    "`",
        "@", ":", "/",  ".",  "~",  "=",  "\\",  "^",   "?",   "\x7f", "\xff", "\xb1", "1\xb1"};
    for (int form = 0; form < FORMS; form++) {
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
            CHECK(refused(bad[i], strlen(bad[i]), form));
        CHECK(refused(NULL, 0, form));
        CHECK(refused(NULL, 5, form));
        CHECK(refused("1\0", 2, form)); /* a NUL is no end */
        CHECK(refused("", 1, form));
    }
    CHECK(refused("1e3", 3, FLAKE_DEC));
    CHECK(refused("0x1", 3, FLAKE_HEX));
    CHECK(refused("FF", 2, FLAKE_HEX));
    CHECK(refused("a", 1, FLAKE_BASE32));
    CHECK(refused("a", 1, FLAKE_BASE36));
    CHECK(refused("2", 1, FLAKE_BIN));
    for (const char *c = "ILOUilou"; *c; c++) CHECK(refused(c, 1, FLAKE_BASE32));
    for (const char *c = "0IOl"; *c; c++) CHECK(refused(c, 1, FLAKE_BASE58));
    for (const char *c = "0IOl"; *c; c++) CHECK(refused(c, 1, FLAKE_BASE58_FLICKR));
    for (const char *c = "02lvYBND"; *c; c++) CHECK(refused(c, 1, FLAKE_ZBASE32));
    for (const char *c = "AFZ"; *c; c++) CHECK(refused(c, 1, FLAKE_BASE36_LOWER));
    CHECK(refused("g", 1, FLAKE_HEX));
    for (unsigned base = 2; base <= 62; base++) {
        CHECK(refused128(NULL, 0, base));
        CHECK(refused128(NULL, 5, base));
        CHECK(refused128("", 0, base));
        CHECK(refused128("1\0", 2, base));
        for (unsigned digit = base; digit < 62; digit++)
            CHECK(refused128(&digits62[digit], 1, base));
    }
}

/* Whatever parses is the fixed text of its value, less some of its leading zeros. */
static void check_strict(const char *text, size_t len, int form) {
    uint64_t id = 77;
    const flake_status status = flake_parse(text, len, (flake_text)form, &id);
    if (status == FLAKE_OK) {
        char fixed[FLAKE_TEXT_SIZE];
        const char *shortest = reference_form(id, form, fixed);
        CHECK(len <= forms[form].width && len >= strlen(shortest));
        CHECK(memcmp(fixed + forms[form].width - len, text, len) == 0);
    } else {
        CHECK(status == FLAKE_PARSE && id == 77);
    }
}

static void check_strict128(const char *text, size_t len, unsigned base) {
    const size_t width = flake128_text_width(base);
    flake128 id = widen(77);
    const flake_status status = flake128_parse(text, len, base, &id);
    if (status == FLAKE_OK) {
        char fixed[FLAKE128_TEXT_SIZE];
        reference(id, base, digits62, width, fixed);
        CHECK(len <= width && len >= strlen(without_zeros(fixed, '0')));
        CHECK(memcmp(fixed + width - len, text, len) == 0);
    } else {
        CHECK(status == FLAKE_PARSE && same128(id, widen(77)));
    }
}

static void corrupted_bytes(void) {
    char text[FLAKE128_TEXT_SIZE] = "";
    for (int i = 0; i < 6 * FORMS; i++) {
        const int form = i % FORMS;
        const uint64_t id = i < FORMS ? UINT64_MAX : random_id();
        const size_t len = flake_format(id, (flake_text)form, text, sizeof text);
        for (size_t at = 0; at < len; at++) {
            const char good = text[at];
            for (int c = 0; c < 256; c++) {
                text[at] = (char)(unsigned char)c;
                uint64_t other = id;
                const flake_status status = flake_parse(text, len, (flake_text)form, &other);
                CHECK(text[at] == good ? status == FLAKE_OK && other == id
                                       : status == FLAKE_PARSE || other != id);
                check_strict(text, len, form);
            }
            text[at] = good;
        }
    }
    for (unsigned base = 2; base <= 62; base += 5) {
        const flake128 id = random_id128();
        const size_t len = flake128_format(id, base, text, sizeof text);
        for (size_t at = 0; at < len; at++) {
            const char good = text[at];
            for (int c = 0; c < 256; c++) {
                text[at] = (char)(unsigned char)c;
                flake128 other = id;
                const flake_status status = flake128_parse(text, len, base, &other);
                CHECK(text[at] == good ? status == FLAKE_OK && same128(other, id)
                                       : status == FLAKE_PARSE || !same128(other, id));
                check_strict128(text, len, base);
            }
            text[at] = good;
        }
    }
}

/* Random lengths of random bytes: any at all, the form's own digits, or those with one other. */
static size_t random_text(char *text, size_t longest, const char *digits, unsigned base) {
    const size_t len = random_size(longest + 3);
    const size_t kind = random_size(4);
    for (size_t i = 0; i < len; i++)
        text[i] = kind == 0 ? (char)(unsigned char)random64() : digits[random_size(base)];
    if (kind == 1 && len > 0) text[random_size(len)] = (char)(unsigned char)random64();
    return len;
}

/* On the heap, so that the address sanitizer sees a read past the end. */
static char *copy(const char *text, size_t len) {
    char *exact = (char *)malloc(len + (len == 0));
    if (!exact) abort();
    memcpy(exact, text, len);
    return exact;
}

static void random_strictness(void) {
    char text[FLAKE128_TEXT_SIZE + 3];
    for (int i = 0; i < 100000; i++) {
        const int form = i % FORMS;
        size_t len = random_text(text, forms[form].width, forms[form].digits, forms[form].base);
        if (form == FLAKE_BIN4 && random_size(4) != 0) {
            len = 79;
            for (size_t at = 0; at < len; at++)
                text[at] = at % 5 == 4 ? ' ' : digits62[random_size(2)];
            if (random_size(2)) {
                const size_t a = random_size(len), b = random_size(len);
                const char swap = text[a];
                text[a] = text[b];
                text[b] = swap;
            }
        }
        char *exact = copy(text, len);
        check_strict(exact, len, form);
        free(exact);
    }
    for (unsigned i = 0; i < 40000; i++) {
        const unsigned base = 2 + i % 61;
        const size_t len = random_text(text, flake128_text_width(base), digits62, base);
        char *exact = copy(text, len);
        check_strict128(exact, len, base);
        free(exact);
    }
}

static void bin4_shape(void) {
    char text[FLAKE_TEXT_SIZE + 2] = "";
    CHECK_EQ(flake_format(0x0123456789abcdefu, FLAKE_BIN4, text, sizeof text), 79);
    CHECK_STR(text,
              "0000 0001 0010 0011 0100 0101 0110 0111 1000 1001 1010 1011 1100 1101 1110 1111");
    for (size_t len = 0; len < 79; len++) CHECK(refused(text, len, FLAKE_BIN4));
    text[79] = ' ';
    CHECK(refused(text, 80, FLAKE_BIN4));
    CHECK(refused(text + 1, 79, FLAKE_BIN4));
    CHECK(refused("0000000100100011010001010110011110001001101010111100110111101111", 64,
                  FLAKE_BIN4));
}

static void leading_zeros(void) {
    char text[FLAKE128_TEXT_SIZE] = "";
    for (int form = 0; form < FORMS; form++) {
        if (form == FLAKE_BIN4) continue;
        uint64_t id = 77;
        flake_format_fixed(1, (flake_text)form, text, sizeof text);
        for (size_t at = 0; at < forms[form].width; at++)
            CHECK(parse(text + at, form, &id) == FLAKE_OK && id == 1);
    }
    for (unsigned base = 2; base <= 62; base++) {
        flake128 id = widen(77);
        const size_t width = flake128_format_fixed(widen(1), base, text, sizeof text);
        for (size_t at = 0; at < width; at++)
            CHECK(flake128_parse(text + at, width - at, base, &id) == FLAKE_OK &&
                  same128(id, widen(1)));
    }
}

static void widths(void) {
    char text[FLAKE128_TEXT_SIZE] = "";
    flake128 ones;
    memset(&ones, 0xff, sizeof ones);
    for (int form = 0; form < FORMS; form++) {
        CHECK_EQ(flake_text_width((flake_text)form), forms[form].width);
        CHECK_EQ(flake_format(UINT64_MAX, (flake_text)form, text, sizeof text), forms[form].width);
        CHECK(forms[form].width < FLAKE_TEXT_SIZE);
    }
    for (unsigned base = 2; base <= 62; base++) {
        char digits[FLAKE128_TEXT_SIZE + 7];
        reference(ones, base, digits62, sizeof digits - 1, digits);
        CHECK_EQ(flake128_text_width(base), strlen(without_zeros(digits, '0')));
    }
}

static void bytes(void) {
    static const uint8_t known[8] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
    uint8_t a[10], b[8];
    CHECK(flake_from_bytes(known) == 0x0123456789abcdefu);
    memset(a, '#', sizeof a);
    flake_to_bytes(0x0123456789abcdefu, a + 1);
    CHECK(memcmp(a + 1, known, 8) == 0 && a[0] == '#' && a[9] == '#');
    for (int i = 0; i < 10000; i++) {
        const uint64_t x = random_id(), y = random_id();
        flake_to_bytes(x, a + 1);
        flake_to_bytes(y, b);
        CHECK(flake_from_bytes(a + 1) == x);
        CHECK_EQ(sign(memcmp(a + 1, b, 8)), (x > y) - (x < y));
    }
}

static void no_text_is_no_id(void) {
    for (size_t len = 0; len < 130; len++) {
        for (int form = 0; form < FORMS; form++) CHECK(refused(NULL, len, form));
        for (unsigned base = 2; base <= 62; base++) CHECK(refused128(NULL, len, base));
    }
}

static void every_status_has_words_of_its_own(void) {
    const char *words[FLAKE_TAKEN + 1];
    for (int status = 0; status <= FLAKE_TAKEN; status++) {
        words[status] = flake_status_str((flake_status)status);
        CHECK(words[status] && *words[status]);
        CHECK(strcmp(words[status], flake_status_str((flake_status)99)) != 0);
        for (int other = 0; other < status; other++)
            CHECK(strcmp(words[status], words[other]) != 0);
    }
    CHECK_STR(flake_status_str(FLAKE_OK), "ok");
    CHECK_STR(flake_status_str((flake_status)(FLAKE_EXHAUSTED + 1)), "unknown status");
}

int main(int argc, char **argv) {
    static const check_test all[] = {CHECK_TEST(every_status_has_words_of_its_own),
                                     CHECK_TEST(no_text_is_no_id),
                                     CHECK_TEST(bwmarrin_texts),
                                     CHECK_TEST(idgen_texts),     CHECK_TEST(boundary_texts),
                                     CHECK_TEST(known_texts),     CHECK_TEST(boundaries),
                                     CHECK_TEST(boundaries128),   CHECK_TEST(round_trips),
                                     CHECK_TEST(like_snprintf),   CHECK_TEST(fixed_texts_sort),
                                     CHECK_TEST(small_buffers),   CHECK_TEST(unknown_forms),
                                     CHECK_TEST(overflow),        CHECK_TEST(refusals),
                                     CHECK_TEST(corrupted_bytes), CHECK_TEST(random_strictness),
                                     CHECK_TEST(bin4_shape),      CHECK_TEST(leading_zeros),
                                     CHECK_TEST(widths),          CHECK_TEST(bytes)};
    return CHECK_MAIN(argc, argv, all);
}
