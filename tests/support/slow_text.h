/* SPDX-License-Identifier: MIT
 *
 * A slow reference for the texts of IDs, for tests and fuzzers: it writes and reads a digit at a time, by division of
 * bytes. It shares no code with the header. 64-bit IDs are in the low half of a flake128. Include flake.h first.
 */
#ifndef SLOW_TEXT_H
#define SLOW_TEXT_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char digits62[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
#define CROCKFORD "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

/* A form of 64-bit IDs, or a base of those of 128 bits. */
typedef struct text_kind {
    unsigned base;
    size_t width; /* characters of the greatest ID */
    const char *digits;
    int form; /* a flake_encoding; of 128 bits: -1 */
} text_kind;

enum { text_forms = 11, text_kinds = text_forms + 61 }; /* bases 2 to 62 come after the forms */

static inline flake128 widen(uint64_t id) {
    flake128 wide = {{0}};
    for (int i = 15; i >= 8; i--, id >>= 8) wide.bytes[i] = (uint8_t)id;
    return wide;
}

static inline bool is_grouped(const text_kind *k) { return k->form == FLAKE_BIN4; }

/* The last `width` digits; returns how many of them are leading zeros, not counting the last one. */
static inline size_t slow_digits(flake128 id, unsigned base, const char *digits, size_t width, char *text) {
    size_t zeros = 0;
    for (size_t at = width; at-- > 0;) {
        unsigned rest = 0;
        for (int i = 0; i < 16; i++) {
            rest = rest << 8 | id.bytes[i];
            id.bytes[i] = (uint8_t)(rest / base);
            rest %= base;
        }
        text[at] = digits[rest];
    }
    while (zeros + 1 < width && text[zeros] == digits[0]) zeros++;
    return zeros;
}

static inline text_kind text_kind_of(size_t i) {
    static const text_kind forms[text_forms] = {
        {10, 20, digits62, FLAKE_DEC},
        {16, 16, "0123456789abcdef", FLAKE_HEX},
        {2, 64, digits62, FLAKE_BIN},
        {2, 79, digits62, FLAKE_BIN4},
        {32, 13, CROCKFORD, FLAKE_BASE32},
        {36, 13, digits62, FLAKE_BASE36},
        {58, 11, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", FLAKE_BASE58},
        {62, 11, digits62, FLAKE_BASE62},
        {32, 13, "ybndrfg8ejkmcpqxot1uwisza345h769", FLAKE_ZBASE32},
        {36, 13, "0123456789abcdefghijklmnopqrstuvwxyz", FLAKE_BASE36_LOWER},
        {58, 11, "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ", FLAKE_BASE58_FLICKR},
    };
    static size_t widths[63];
    if (i < text_forms) return forms[i];
    text_kind k = {(unsigned)(i - text_forms) + 2, 0, digits62, -1};
    if (!widths[k.base]) {
        char text[200];
        flake128 most;
        memset(&most, 0xff, sizeof most);
        widths[k.base] = sizeof text - slow_digits(most, k.base, digits62, sizeof text, text);
    }
    k.width = widths[k.base];
    return k;
}

/* With a NUL. */
static inline size_t slow_write(flake128 id, const text_kind *k, bool fixed, char *text) {
    char all[128];
    const size_t width = is_grouped(k) ? 64 : k->width;
    const size_t zeros = slow_digits(id, k->base, k->digits, width, all);
    size_t n = 0;
    for (size_t i = fixed || is_grouped(k) ? 0 : zeros; i < width; i++) {
        text[n++] = all[i];
        if (is_grouped(k) && i % 4 == 3 && i + 1 < width) text[n++] = ' ';
    }
    text[n] = 0;
    return n;
}

/* Parses a whole text. False: it is none of this kind, or too large. */
static inline bool slow_read(const char *text, size_t length, const text_kind *k, flake128 *id) {
    memset(id, 0, sizeof *id);
    if (!length || length > k->width || (is_grouped(k) && length < k->width)) return false;
    for (size_t i = 0; i < length; i++) {
        if (is_grouped(k) && i % 5 == 4) {
            if (text[i] != ' ') return false;
            continue;
        }
        const char *const digit = (const char *)memchr(k->digits, text[i], k->base);
        if (!digit) return false;
        unsigned carry = (unsigned)(digit - k->digits);
        for (size_t b = 16; b-- > (k->form < 0 ? 0 : 8); carry >>= 8) {
            carry += id->bytes[b] * k->base;
            id->bytes[b] = (uint8_t)carry;
        }
        if (carry) return false;
    }
    return true;
}

static inline void slow_to_uuid(flake128 id, char *out) {
    for (size_t i = 0; i < 16; i++)
        out += sprintf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", (unsigned)id.bytes[i]);
}

/* 36 characters: hex digits of either case, hyphens at four places. */
static inline bool slow_from_uuid(const char *text, flake128 *id) {
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    unsigned nibbles = 0;
    for (size_t i = 0; i < 36; i++) {
        const char *const digit = (const char *)memchr(digits, text[i], 32);
        const bool is_hyphen = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_hyphen ? text[i] != '-' : !digit) return false;
        if (is_hyphen) continue;
        uint8_t *const byte = &id->bytes[nibbles++ / 2];
        *byte = (uint8_t)(*byte << 4 | (digit - digits) % 16);
    }
    return true;
}

static inline void slow_to_ulid(flake128 id, char *out) {
    (void)slow_digits(id, 32, CROCKFORD, 26, out);
    out[26] = 0;
}

/* 26 characters: Crockford's digits of either case, I and L for 1, O for 0. */
static inline bool slow_from_ulid(const char *text, flake128 *id) {
    static const char others[] = "abcdefghjkmnpqrstvwxyzOoIiLl", meant[] = "ABCDEFGHJKMNPQRSTVWXYZ001111";
    const text_kind k = {32, 26, CROCKFORD, -1};
    char plain[26];
    for (size_t i = 0; i < 26; i++) {
        const char *const other = (const char *)memchr(others, text[i], sizeof others - 1);
        plain[i] = other ? meant[other - others] : text[i];
    }
    return slow_read(plain, 26, &k, id);
}

/* ---- the header's calls, by kind ---- */

static inline size_t format_kind(flake128 id, const text_kind *k, bool fixed, char *text, size_t size) {
    const uint64_t id64 = flake_from_bytes(id.bytes + 8);
    if (k->form < 0) return (fixed ? flake128_format_fixed : flake128_format)(&id, k->base, text, size);
    return (fixed ? flake_format_fixed : flake_format)(id64, (flake_encoding)k->form, text, size);
}

/* For a 64-bit ID the high half becomes 0. */
static inline flake_status parse_kind(const char *text, size_t len, const text_kind *k, flake128 *id) {
    if (k->form < 0) return flake128_parse(text, len, k->base, id);
    uint64_t id64 = flake_from_bytes(id->bytes + 8);
    const flake_status status = flake_parse(text, len, (flake_encoding)k->form, &id64);
    *id = widen(id64);
    return status;
}

/* A form in which each text has this width: of UUIDs and ULIDs. */
typedef struct text_wide {
    size_t width;
    void (*slow_to)(flake128, char *);
    bool (*slow_from)(const char *, flake128 *);
    void (*to)(const flake128 *, char *);
    flake_status (*from)(const char *, size_t, flake128 *);
    void (*to_n)(const flake128 *, size_t, char *);
    flake_status (*from_n)(const char *, size_t, flake128 *);
    size_t stride, size; /* characters written, with a NUL; bytes of an ID, the first ones of a flake128 */
} text_wide;

static const text_wide text_wides[] = {
    {36, slow_to_uuid, slow_from_uuid, flake128_to_uuid, flake128_from_uuid, flake128_to_uuid_n, flake128_from_uuid_n,
     37, 16},
    {26, slow_to_ulid, slow_from_ulid, flake128_to_ulid, flake128_from_ulid, flake128_to_ulid_n, flake128_from_ulid_n,
     27, 16},
};

#endif
