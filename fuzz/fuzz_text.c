/* SPDX-License-Identifier: MIT
 *
 * All conversions of IDs, of both headers: texts in every encoding and base, bytes, fields. Formatting and
 * parsing are inverse; a naive parser agrees; the code for different machines agrees. Buffers are on the heap in
 * their exact size, so that the address sanitizer sees an access beyond them.
 */
#include "fuzz.h"
#include "flake.h"
#include "sno.h"
#include "../tests/slow_text.h"
#include "layout.h"
#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* ---- heap ---- */

static char *text_room(size_t n) {
    char *room = (char *)malloc(n);
    if (!room && n) abort();
    if (n) memset(room, '~', n);
    return room;
}

static char *text_copy(const void *from, size_t n) {
    char *room = text_room(n);
    if (n) memcpy(room, from, n);
    return room;
}

/* What is left of the input. */
static char *text_rest(size_t *n) {
    *n = fuzz_left();
    return text_copy(fuzz_at, *n);
}

/* A valid text with some edits. */
static char *text_edited(const char *text, size_t *n) {
    char room[160];
    memcpy(room, text, *n);
    for (unsigned edits = fuzz_byte() % 4; edits; edits--) {
        const uint8_t edit = fuzz_byte();
        const size_t at = (size_t)fuzz_below(*n + 1);
        if (edit % 4 == 0 && *n < sizeof room) {
            memmove(room + at + 1, room + at, *n - at);
            room[at] = edit & 4 ? '0' : (char)fuzz_byte();
            ++*n;
        } else if (at < *n && edit % 4 == 1) {
            memmove(room + at, room + at + 1, *n - at - 1);
            --*n;
        } else if (at < *n && edit & 4) { /* its neighbour, or one bit of it */
            room[at] =
                (char)(edit & 8 ? room[at] + (edit & 16 ? 1 : -1) : room[at] ^ 1 << edit / 32);
        } else if (at < *n) room[at] = (char)fuzz_byte();
    }
    return text_copy(room, *n);
}

/* ---- flake ---- */

/* Into a buffer of the exact size, and into one that is a byte too small and stays unchanged; then parsed. */
static void text_check_written(flake128 id, size_t kind, bool fixed) {
    char wanted[130];
    const text_kind k = text_kind_of(kind);
    flake128 back = widen(77);
    const size_t length = slow_write(id, &k, fixed, wanted);
    char *room = text_room(length + 1);
    fuzz_same("length written", (int64_t)format_kind(id, &k, fixed, room, length + 1), (int64_t)length);
    fuzz_true("text written", !memcmp(room, wanted, length) && !room[length]);
    fuzz_same("parse", parse_kind(room, length, &k, &back), FLAKE_OK);
    fuzz_true("id read back", !flake128_compare(&back, &id));
    free(room);
    const size_t small = fuzz_byte() % 2 ? length : fuzz_below(length + 1);
    room = text_room(small);
    fuzz_same("length in a small buffer", (int64_t)format_kind(id, &k, fixed, room, small), 0);
    for (size_t i = 0; i < small; i++) fuzz_same("small buffer", room[i], '~');
    free(room);
    fuzz_same("length in no buffer", (int64_t)format_kind(id, &k, fixed, NULL, length + 1), 0);
}

static void text_check_64(void) {
    uint8_t number[8], out[8];
    for (size_t i = 0; i < sizeof number; i++) number[i] = fuzz_byte();
    flake_to_bytes(flake_from_bytes(number), out);
    fuzz_true("bytes", !memcmp(number, out, sizeof out));
    for (size_t form = 0; form < text_forms; form++)
        for (unsigned fixed = 0; fixed < 2; fixed++)
            text_check_written(widen(flake_from_bytes(number)), form, fixed);
}

static void text_check_128(void) {
    flake128 id;
    for (size_t i = 0; i < sizeof id.bytes; i++) id.bytes[i] = fuzz_byte();
    for (unsigned base = 2; base <= 62; base += 1 + fuzz_byte() % 8) {
        const size_t kind = text_forms + base - 2;
        fuzz_same("flake128_text_width", (int64_t)flake128_text_width(base), (int64_t)text_kind_of(kind).width);
        for (unsigned fixed = 0; fixed < 2; fixed++) text_check_written(id, kind, fixed);
    }
}

static void text_check_parsed(const char *text, size_t length, size_t kind) {
    const text_kind k = text_kind_of(kind);
    flake128 id = widen(0x5e5e5e5e5e5e5e5e), wanted;
    const flake128 untouched = id;
    const bool fits = slow_read(text, length, &k, &wanted);
    fuzz_same("status", parse_kind(text, length, &k, &id), fits ? FLAKE_OK : FLAKE_PARSE);
    fuzz_true(fits ? "id" : "id of a call that failed", !flake128_compare(&id, fits ? &wanted : &untouched));
}

static void text_check_parse_64(void) {
    const unsigned choice = fuzz_byte(), form = choice % 16 < 8 ? choice % 8 : choice % 13;
    size_t length;
    char *text, right[FLAKE_TEXT_SIZE];
    if (choice & 16) {
        const uint64_t any = fuzz_bytes(8);
        length = choice & 32 ? flake_format_fixed(any, (flake_encoding)form, right, sizeof right)
                             : flake_format(any, (flake_encoding)form, right, sizeof right);
        text = text_edited(right, &length);
    } else text = text_rest(&length);
    if (form < text_forms) text_check_parsed(text, length, form);
    else {
        uint64_t id = 0x5e5e5e5e5e5e5e5e;
        fuzz_same("unknown form", flake_parse(text, length, (flake_encoding)form, &id), FLAKE_INVALID);
        fuzz_same_u64("id of an unknown form", id, 0x5e5e5e5e5e5e5e5e);
        fuzz_same("width of an unknown form", (int64_t)flake_text_width((flake_encoding)form), 0);
        fuzz_same("text of an unknown form", (int64_t)flake_format(id, (flake_encoding)form, right, sizeof right), 0);
    }
    free(text);
}

static void text_check_parse_128(void) {
    const unsigned choice = fuzz_byte(), base = fuzz_byte() % 70;
    size_t length;
    char *text, right[FLAKE128_TEXT_SIZE];
    if (choice & 1) {
        flake128 any;
        for (size_t i = 0; i < sizeof any.bytes; i++)
            any.bytes[i] = choice & 2 ? fuzz_byte() : 0xff;
        length = flake128_format(&any, base, right, sizeof right);
        text = text_edited(right, &length);
    } else text = text_rest(&length);
    if (base >= 2 && base <= 62) text_check_parsed(text, length, text_forms + base - 2);
    else {
        flake128 id, untouched;
        memset(&untouched, 0x5e, sizeof untouched);
        id = untouched;
        fuzz_same("unknown base", flake128_parse(text, length, base, &id), FLAKE_INVALID);
        fuzz_true("id of an unknown base", !flake128_compare(&id, &untouched));
        fuzz_same("text of an unknown base", (int64_t)flake128_format(&id, base, right, sizeof right), 0);
    }
    free(text);
}

/* UUIDs and ULIDs, by the calls and by the portable code of other machines. */
typedef struct text_wide {
    const char *name;
    size_t width;
    void (*slow_to)(flake128, char *);
    bool (*slow_from)(const char *, flake128 *);
    void (*to)(const flake128 *, char *);
    flake_status (*from)(const char *, size_t, flake128 *);
    void (*to_n)(const flake128 *, size_t, char *);
    flake_status (*from_n)(const char *, size_t, flake128 *);
} text_wide;

#define TEXT_WIDE(kind, width)                                                                    \
    {                                                                                             \
        #kind, width, slow_to_##kind, slow_from_##kind, flake128_to_##kind, flake128_from_##kind, \
            flake128_to_##kind##_n, flake128_from_##kind##_n                                      \
    }
static const text_wide text_uuid = TEXT_WIDE(uuid, 36), text_ulid = TEXT_WIDE(ulid, 26);

static void text_check_one_128(const text_wide *k) {
    flake128 id, back, number;
    char *written = text_room(k->width + 1), wanted[37];
    size_t length = k->width;
    for (size_t i = 0; i < sizeof id.bytes; i++) id.bytes[i] = fuzz_byte();
    k->slow_to(id, wanted);
    k->to(&id, written);
    fuzz_true(k->name, !strcmp(written, wanted));
    fuzz_same("read back", k->from(written, k->width, &back), FLAKE_OK);
    fuzz_true("id read back", !flake128_compare(&back, &id));
    free(written);
    for (size_t i = fuzz_byte() % 40; i < length; i++) /* some letters in the other case */
        if (wanted[i] > '9' && i % 3) wanted[i] = (char)(wanted[i] ^ 32);
    char *text = text_edited(wanted, &length);
    memset(&id, 0x5e, sizeof id);
    back = id;
    const bool fits = length == k->width && k->slow_from(text, &number);
    fuzz_same("status", k->from(text, length, &id), fits ? FLAKE_OK : FLAKE_PARSE);
    fuzz_true("id", !flake128_compare(&id, fits ? &number : &back));
    if (length == k->width) {
        id = back;
        fuzz_same("portable", flake_i_read_portable(k->width + 1, text, 1, &id), fits);
        fuzz_true("portable id", !flake128_compare(&id, fits ? &number : &back));
    }
    free(text);
}

static void text_check_many_128(const text_wide *k) {
    const size_t n = fuzz_byte() % 10, stride = k->width + 1, size = n ? stride * n - 1 : 0;
    flake128 *ids = (flake128 *)(void *)text_room(n * sizeof(flake128));
    flake128 *back = (flake128 *)(void *)text_room(n * sizeof(flake128));
    char *text = text_room(stride * n), *wanted = text_room(stride * n);
    const uint64_t seed = fuzz_bytes(4);
    for (size_t i = 0; i < n * 16; i++)
        ids[i / 16].bytes[i % 16] = (uint8_t)((seed + i) * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    for (size_t i = 0; i < n; i++) k->slow_to(ids[i], wanted + stride * i);
    flake_i_write_portable(stride, ids, n, text);
    fuzz_true("portable texts of many", !n || !memcmp(text, wanted, stride * n));
    if (n) memset(text, '~', stride * n);
    k->to_n(ids, n, text);
    fuzz_true("texts of many", !n || !memcmp(text, wanted, stride * n));
    for (unsigned edits = fuzz_byte() % 3; edits && size; edits--)
        text[fuzz_below(size)] = (char)fuzz_byte();
    char *parted = text_copy(text, size); /* without the last NUL */
    bool fit = true;
    for (size_t i = 0; i < n; i++) fit &= k->slow_from(text + stride * i, &ids[i]);
    fuzz_same("status of many", k->from_n(parted, n, back), fit ? FLAKE_OK : FLAKE_PARSE);
    for (unsigned portable = 0; portable < 2; portable++) {
        if (portable)
            fuzz_same("portable status", flake_i_read_portable(stride, parted, n, back), fit);
        for (size_t i = 0; i < n * 16; i++)
            fuzz_same("ids of many", back[i / 16].bytes[i % 16],
                      fit ? ids[i / 16].bytes[i % 16] : '~');
        if (fit && n) memset(back, '~', n * sizeof *back);
    }
    free(parted);
    free(wanted);
    free(text);
    free(back);
    free(ids);
}

static void text_check_uuid_128(void) {
    text_check_one_128(&text_uuid);
    text_check_one_128(&text_ulid);
    text_check_many_128(fuzz_byte() % 2 ? &text_ulid : &text_uuid);
}

/* Fields of 128 bits, byte by byte. */
static void text_check_fields_128(void) {
    flake_parts parts, back;
    flake128 id, low, high, untouched;
    uint8_t wanted[16];
    memset(&parts, 0, sizeof parts);
    memset(&untouched, 0x5e, sizeof untouched);
    id = low = high = untouched;
    parts.unix_ms = (int64_t)(fuzz_byte() % 2 ? fuzz_number() : fuzz_bytes(8));
    parts.node = fuzz_number() >> (fuzz_byte() % 4 ? 16 : 0);
    parts.seq = (uint32_t)fuzz_number() >> (fuzz_byte() % 4 ? 16 : 0);
    const bool early = parts.unix_ms < 0;
    const flake_status in_time = early ? FLAKE_TIME_RANGE : FLAKE_OK;
    for (unsigned i = 0; i < 8; i++) wanted[7 - i] = (uint8_t)((uint64_t)parts.unix_ms >> 8 * i);
    for (unsigned i = 0; i < 6; i++) wanted[13 - i] = (uint8_t)(parts.node >> 8 * i);
    for (unsigned i = 0; i < 2; i++) wanted[15 - i] = (uint8_t)(parts.seq >> 8 * i);
    const bool large = parts.node > 0xffffffffffff || parts.seq > 0xffff;
    const flake_status status = flake128_compose(&flake_layout_boundary, &parts, &id);
    fuzz_same("flake128_compose", status, early ? FLAKE_TIME_RANGE : large ? FLAKE_INVALID : FLAKE_OK);
    if (status == FLAKE_OK) {
        fuzz_true("id", !memcmp(id.bytes, wanted, sizeof wanted));
        fuzz_same("flake128_decompose", flake128_decompose(&flake_layout_boundary, &id, &back), FLAKE_OK);
        fuzz_same("unix_ms", back.unix_ms, parts.unix_ms);
        fuzz_same_u64("node", back.node, parts.node);
        fuzz_same("seq", back.seq, parts.seq);
    } else fuzz_true("id of a call that failed", !flake128_compare(&id, &untouched));
    fuzz_same("flake128_min_at", flake128_min_at(&flake_layout_boundary, parts.unix_ms, &low), in_time);
    fuzz_same("flake128_max_at", flake128_max_at(&flake_layout_boundary, parts.unix_ms, &high), in_time);
    if (!early) {
        memset(wanted + 8, 0, 8);
        fuzz_true("min_at", !memcmp(low.bytes, wanted, sizeof wanted));
        memset(wanted + 8, 0xff, 8);
        fuzz_true("max_at", !memcmp(high.bytes, wanted, sizeof wanted));
    } else {
        fuzz_true("min_at that failed", !flake128_compare(&low, &untouched));
        fuzz_true("max_at that failed", !flake128_compare(&high, &untouched));
    }
}

/* ---- names and node numbers ---- */

static const struct text_layout {
    const char *name;
    unsigned time_bits, node_bits, seq_bits, unit_ms;
    int64_t epoch_ms;
} text_layouts[] = {
    {"idgen", 42, 10, 12, 1, 0},
    {"hazelcast", 41, 16, 6, 1, 1514764800000},
    {"uniqueid_ordered", 42, 15, 6, 1, 0},
    {"uniqueid_spread", 42, 15, 6, 1, 0},
    {"twitter", 41, 10, 12, 1, 1288834974657},
    {"sonyflake", 39, 16, 8, 10, 1409529600000},
    {"discord", 42, 10, 12, 1, 1420070400000},
    {"instagram", 41, 13, 10, 1, 1314220021721},
    {"mastodon", 48, 0, 16, 1, 0},
    {"js53", 41, 5, 7, 1, 1577836800000},
    {"default", 41, 10, 12, 1, 1735689600000},
    {"boundary", 64, 48, 16, 1, 0},
    {"uuid7", 48, 0, 16, 1, 0},
    {"uuid7_node", 48, 48, 16, 1, 0},
    {"uuid8", 48, 48, 16, 1, 0},
    {"ulid", 48, 0, 16, 1, 0},
};

/* What is left, or a right text with edits, as a string. */
static char *text_string(const char *right) {
    size_t length = strlen(right);
    char *text = fuzz_byte() % 4 ? text_edited(right, &length) : text_rest(&length);
    char *string = text_room(length + 1);
    if (length) memcpy(string, text, length);
    string[length] = 0;
    free(text);
    return string;
}

static void text_check_layout_name(void) {
    const size_t n = sizeof text_layouts / sizeof *text_layouts;
    char *name = text_string(text_layouts[fuzz_byte() % n].name);
    size_t at = 0;
    flake_layout l;
    memset(&l, 0x5e, sizeof l);
    const flake_layout untouched = l;
    while (at < n && strcmp(text_layouts[at].name, name) != 0) at++;
    const flake_status status = flake_layout_named(name, &l);
    fuzz_same("flake_layout_named", status, at < n ? FLAKE_OK : FLAKE_INVALID);
    if (at < n) {
        const struct text_layout *w = &text_layouts[at];
        fuzz_true("its name", !strcmp(l.name, w->name));
        fuzz_same("its time", l.time_bits, w->time_bits);
        fuzz_same("its node", l.node_bits, w->node_bits);
        fuzz_same("its sequence", l.seq_bits, w->seq_bits);
        fuzz_same("its unit", l.unit_ms, w->unit_ms);
        fuzz_same("its epoch", l.epoch_ms, w->epoch_ms);
    } else fuzz_true("layout of no name", !memcmp(&l, &untouched, sizeof l));
    free(name);
}

/* All digits, 20 at most, and below 2^64. */
static bool text_read_node(const char *text, size_t length, uint64_t *node) {
    char digits[21];
    if (!length || length > 20 || strspn(text, "0123456789") < length) return false;
    memcpy(digits, text, length);
    digits[length] = 0;
    errno = 0;
    *node = strtoull(digits, NULL, 10);
    return !errno;
}

int setenv(const char *, const char *, int);

static void text_check_node(void) {
    static const char *const names[] = {"web-3",
                                        "web-3.web.prod.svc",
                                        "a-b-4294967295",
                                        "-0",
                                        "4294967296",
                                        "0012",
                                        "db-0004294967294",
                                        "7."};
    static char *room; /* the variable's value, in place: setenv never gives memory back */
    enum { room_size = 64 };
    char *text = text_string(names[fuzz_byte() % 8]);
    uint64_t node = 0x5e5e5e5e5e5e5e5e, wanted = 0;
    flake_why why;
    memset(&why, '~', sizeof why);
    const size_t label = strcspn(text, ".");
    size_t behind = label; /* the last hyphen of the label */
    while (behind > 0 && text[behind - 1] != '-') behind--;
    bool fits = behind > 0 && text_read_node(text + behind, label - behind, &wanted);
    fuzz_same("flake_node_from_hostname", flake_node_from_hostname(text, &node, &why),
              fits ? FLAKE_OK : FLAKE_INVALID);
    fuzz_same_u64("node", node, fits ? wanted : 0x5e5e5e5e5e5e5e5e);
    fuzz_true("why ends", fits || memchr(why.text, 0, sizeof why.text));

    if (!room) {
        char longest[room_size];
        memset(longest, 'x', sizeof longest);
        longest[room_size - 1] = 0;
        if (setenv("FUZZ_NODE", longest, 1) != 0) abort();
        room = getenv("FUZZ_NODE");
    }
    if (strlen(text) < room_size) {
        memcpy(room, text, strlen(text) + 1);
        node = 0x5e5e5e5e5e5e5e5e;
        fits = text_read_node(text, strlen(text), &wanted);
        fuzz_same("flake_node_from_env", flake_node_from_env("FUZZ_NODE", &node, &why),
                  fits ? FLAKE_OK : FLAKE_INVALID);
        fuzz_same_u64("node", node, fits ? wanted : 0x5e5e5e5e5e5e5e5e);
    }
    free(text);
}

/* ---- fields of a layout ---- */

static void text_check_fields(void) {
    const flake_layout l = layout_from_bytes();
    flake_parts parts, back;
    uint64_t mask, id = 0x5e5e5e5e5e5e5e5e;
    const bool sound = layout_is_sound(&l, &mask);
    fuzz_same("flake_layout_check", flake_layout_check(&l, NULL), sound ? FLAKE_OK : FLAKE_INVALID);
    memset(&parts, 0, sizeof parts);
    const uint64_t seed = fuzz_bytes(8);
    parts.unix_ms = fuzz_byte() % 2 ? (int64_t)seed : (int64_t)(seed >> fuzz_byte() % 64);
    parts.node = fuzz_number();
    parts.seq = (uint32_t)fuzz_number();
    if (sound && fuzz_byte() % 4) { /* mostly valid values */
        parts.node = layout_low(parts.node, l.node_bits);
        parts.seq = (uint32_t)layout_low(parts.seq, l.seq_bits);
    }
    const flake_status status = flake_compose(&l, &parts, &id);
    if (!sound) {
        fuzz_same("compose", status, FLAKE_INVALID);
        fuzz_same("decompose", flake_decompose(&l, id, &back), FLAKE_INVALID);
        return;
    }
    uint64_t low, high;
    const bool early = parts.unix_ms < l.epoch_ms;
    layout_fields f;
    f.time = ((uint64_t)parts.unix_ms - (uint64_t)l.epoch_ms) / l.unit_ms;
    f.node = parts.node;
    f.seq = parts.seq;
    const flake_status in_time =
        early || layout_low(f.time, l.time_bits) != f.time ? FLAKE_TIME_RANGE : FLAKE_OK;
    fuzz_same("min_at", flake_min_at(&l, parts.unix_ms, &low), in_time);
    fuzz_same("max_at", flake_max_at(&l, parts.unix_ms, &high), in_time);
    if (in_time != FLAKE_OK) {
        fuzz_same("compose", status, FLAKE_TIME_RANGE);
    } else if (layout_low(f.node, l.node_bits) != f.node ||
               layout_low(f.seq, l.seq_bits) != f.seq) {
        fuzz_same("compose", status, FLAKE_INVALID);
    } else {
        fuzz_same("compose", status, FLAKE_OK);
        fuzz_same_u64("id", id, layout_id(&l, f));
        fuzz_same("decompose", flake_decompose(&l, id, &back), FLAKE_OK);
        fuzz_same_u64("node", back.node, f.node);
        fuzz_same("seq", back.seq, (int64_t)f.seq);
        fuzz_same("unit of its time", back.unix_ms, l.epoch_ms + (int64_t)(f.time * l.unit_ms));
        f.node = f.seq = 0;
        fuzz_same_u64("min_at", low, layout_id(&l, f));
        f.node = layout_low(UINT64_MAX, l.node_bits);
        f.seq = layout_low(UINT64_MAX, l.seq_bits);
        fuzz_same_u64("max_at", high, layout_id(&l, f));
    }
    if (status != FLAKE_OK) fuzz_same_u64("id of a call that failed", id, 0x5e5e5e5e5e5e5e5e);

    /* Any 64 bits: an id of the layout, or refused. */
    const uint64_t most = ((uint64_t)INT64_MAX - (uint64_t)l.epoch_ms) / l.unit_ms;
    const uint8_t how = fuzz_byte();
    uint64_t any = seed & (how % 4 ? mask : UINT64_MAX);
    f = layout_apart(&l, any);
    f.time = most + (how >> 4) % 3 - 1; /* the last ms there is, and those beside it */
    if (how & 8 && layout_low(f.time, l.time_bits) == f.time) any = layout_id(&l, f);
    if (how >> 6 == 3) any |= layout_sign(&l);
    f = layout_apart(&l, any);
    const bool whole = (layout_id(&l, f) | (any & layout_sign(&l))) == any;
    const bool before = (any & layout_sign(&l)) != 0;
    const uint64_t back_by =
        ((uint64_t)1 << l.time_bits % 64) - f.time; /* units before the epoch */
    const bool told = before ? back_by <= ((uint64_t)l.epoch_ms - (uint64_t)INT64_MIN) / l.unit_ms
                             : f.time <= most;
    fuzz_same("decompose of any", flake_decompose(&l, any, &back),
              !whole  ? FLAKE_INVALID
              : !told ? FLAKE_TIME_RANGE
                      : FLAKE_OK);
    if (!whole || !told) return;
    if (before) {
        fuzz_same_u64("ms before it", (uint64_t)l.epoch_ms - (uint64_t)back.unix_ms,
                      back_by * l.unit_ms);
        fuzz_same_u64("node", back.node, f.node);
        fuzz_same_u64("seq", back.seq, f.seq);
        fuzz_same("compose before the epoch", flake_compose(&l, &back, &id), FLAKE_TIME_RANGE);
        return;
    }
    fuzz_same("compose again", flake_compose(&l, &back, &id), FLAKE_OK);
    fuzz_same_u64("id again", id, any);
}

/* ---- sno ---- */

enum { text_most = 40 };

static int text_compare(const void *a, const void *b) { return memcmp(a, b, 10); }

static void text_write_sno(sno_id id, char out[16]) {
    static const char digits[] = "23456789abcdefghijklmnopqrstuvwx";
    for (unsigned i = 0; i < 16; i++) {
        unsigned value = 0;
        for (unsigned bit = 5 * i; bit < 5 * i + 5; bit++)
            value = value << 1 | (id.bytes[bit / 8] >> (7 - bit % 8) & 1);
        out[i] = digits[value];
    }
}

static bool text_read_sno(const char *text, sno_id *id) {
    static const char digits[] = "23456789abcdefghijklmnopqrstuvwx";
    memset(id, 0, sizeof *id);
    for (unsigned i = 0; i < 16; i++) {
        const char *digit = text[i] ? strchr(digits, text[i]) : NULL;
        if (!digit) return false;
        for (unsigned bit = 0; bit < 5; bit++)
            if ((digit - digits) >> (4 - bit) & 1)
                id->bytes[(5 * i + bit) / 8] |= (uint8_t)(0x80 >> (5 * i + bit) % 8);
    }
    return true;
}

static void text_same_id(const char *what, sno_id a, sno_id b) {
    fuzz_true(what, !memcmp(a.bytes, b.bytes, sizeof a.bytes));
}

static sno_id text_untouched(void) {
    sno_id id;
    memset(&id, 0xee, sizeof id);
    return id;
}

static void text_check_sno_forms(sno_id id) {
    char wanted[16], room[40];
    flake128 as_bytes;
    sno_id back;
    text_write_sno(id, wanted);
    char *exact = text_room(16);
    sno_encode(id, exact);
    fuzz_true("sno_encode", !memcmp(exact, wanted, 16));
    sno_i_encode_portable(id, exact);
    fuzz_true("portable encode", !memcmp(exact, wanted, 16));
    fuzz_true("portable is_text", sno_i_is_text_portable(exact));
    text_same_id("portable decode", sno_i_decode_portable(exact), id);
#ifdef SNO_I_VECTORS
    memset(exact, '~', 16);
    sno_i_encode_vector(id, exact);
    fuzz_true("vector encode", !memcmp(exact, wanted, 16));
    text_same_id("vector decode", sno_i_decode_vector(exact), id);
#endif
    fuzz_same("sno_decode", sno_decode(exact, 16, &back), FLAKE_OK);
    text_same_id("decoded", back, id);
    free(exact);

    char *json = text_room(sno_is_zero(id) ? 5 : 19);
    sno_to_json(id, sno_is_zero(id) ? room : json);
    if (!sno_is_zero(id)) {
        fuzz_true("json",
                  json[0] == '"' && !memcmp(json + 1, wanted, 16) && !memcmp(json + 17, "\"", 2));
        fuzz_same("from_json", sno_from_json(json, 18, &back), FLAKE_OK);
    } else {
        fuzz_true("json", !strcmp(room, "null"));
        fuzz_same("from_json", sno_from_json(room, 4, &back), FLAKE_OK);
    }
    text_same_id("from json", back, id);
    free(json);

    char *uuid = text_room(37);
    sno_to_uuid(id, uuid);
    memcpy(as_bytes.bytes, wanted, 16);
    slow_to_uuid(as_bytes, room);
    fuzz_true("uuid", !strcmp(uuid, room));
    fuzz_same("from_uuid", sno_from_uuid(uuid, 36, &back), FLAKE_OK);
    text_same_id("from uuid", back, id);
    free(uuid);

    uint8_t *octets = (uint8_t *)text_room(10);
    sno_to_bytes(id, octets);
    fuzz_true("sno_to_bytes", !memcmp(octets, id.bytes, 10));
    text_same_id("sno_from_bytes", sno_from_bytes(octets), id);
    free(octets);

    sno_id composed;
    fuzz_same("compose",
              sno_compose(sno_units(id), sno_tick(id), sno_meta(id), sno_partition(id),
                          sno_sequence(id), &composed),
              FLAKE_OK);
    text_same_id("composed", composed, id);
    uint64_t unit = 0;
    for (unsigned i = 0; i < 5; i++) unit = unit << 8 | id.bytes[i];
    fuzz_same_u64("units", sno_units(id), unit >> 1);
    fuzz_same("tick", sno_tick(id), (int64_t)(unit & 1));
    fuzz_same("meta", sno_meta(id), id.bytes[5]);
    fuzz_same("partition", sno_partition(id), id.bytes[6] << 8 | id.bytes[7]);
    fuzz_same("sequence", sno_sequence(id), id.bytes[8] << 8 | id.bytes[9]);
    fuzz_same("time", sno_time_ms(id), 1262304000000 + (int64_t)(unit >> 1) * 4);
}

/* Many at once: written, read and sorted. */
static void text_check_sno_ids(void) {
    const size_t n = fuzz_byte() % text_most;
    sno_id *ids = (sno_id *)(void *)text_room(n * sizeof(sno_id));
    for (size_t i = 0; i < n; i++) {
        const uint8_t with = fuzz_byte();
        if (i && with & 1) ids[i] = ids[i - 1]; /* much in common, for the sort */
        else memset(&ids[i], 0, sizeof ids[i]);
        const unsigned from = with & 2 ? with >> 4 : 0;
        for (unsigned b = from % 10; b < 10 && !(with & 4); b++) ids[i].bytes[b] = fuzz_byte();
        if (with & 4) ids[i].bytes[with % 10] = fuzz_byte();
        text_check_sno_forms(ids[i]);
        if (i) {
            const int order = memcmp(ids[i].bytes, ids[i - 1].bytes, 10);
            const int said = sno_compare(ids[i], ids[i - 1]);
            fuzz_true("sno_compare", order < 0 ? said < 0 : order > 0 ? said > 0 : said == 0);
            fuzz_same("sno_equal", sno_equal(ids[i], ids[i - 1]), order == 0);
        }
    }
    char *text = text_room(16 * n), wanted[16];
    sno_id *back = (sno_id *)(void *)text_room(n * sizeof(sno_id));
    for (unsigned path = 0; path < 2; path++) {
        if (path == 0) {
            sno_encode_n(ids, n, text);
            fuzz_same("decode_n", sno_decode_n(text, n, back), FLAKE_OK);
        } else {
#ifdef SNO_I_AVX2
            if (!__builtin_cpu_supports("avx2")) continue;
            memset(back, 0, n * sizeof *back);
            sno_i_encode_n_avx2(ids, n, text);
            fuzz_true("avx2 is_text", sno_i_is_text_n_avx2(text, n));
            sno_i_decode_n_avx2(text, n, back);
#endif
        }
        for (size_t i = 0; i < n; i++) {
            text_write_sno(ids[i], wanted);
            fuzz_true("text of many", !memcmp(text + 16 * i, wanted, 16));
            text_same_id("id of many", back[i], ids[i]);
        }
    }
    sno_sort(ids, n);
    if (n) qsort(back, n, sizeof *back, text_compare);
    for (size_t i = 0; i < n; i++) text_same_id("sorted", ids[i], back[i]);
    free(text);
    free(back);
    free(ids);
}

/* Any text as any form. */
static void text_check_sno_texts(void) {
    const uint8_t form = fuzz_byte();
    size_t length;
    char *text, canonical[64];
    flake128 raw;
    if (form & 4) {
        sno_id any;
        for (size_t i = 0; i < sizeof any.bytes; i++) any.bytes[i] = fuzz_byte();
        length = form % 4 == 0 ? 16 : form % 4 == 1 ? 18 : form % 4 == 2 ? 36 : 48;
        if (form % 4 == 1) sno_to_json(any, canonical);
        else if (form % 4 == 2) sno_to_uuid(any, canonical);
        else
            for (size_t i = 0; i < 48; i += 16) sno_encode(any, canonical + i);
        text = text_edited(canonical, &length);
    } else text = text_rest(&length);
    sno_id id = text_untouched(), wanted;
    flake_status status;
    bool fits;
    switch (form % 4) {
    case 0:
        status = sno_decode(text, length, &id);
        fits = length == 16 && text_read_sno(text, &wanted);
        if (length == 16) fuzz_same("portable is_text", sno_i_is_text_portable(text), fits);
#ifdef SNO_I_VECTORS
        if (length == 16) fuzz_same("vector is_text", sno_i_is_text_vector(text), fits);
#endif
        if (fits) {
            sno_encode(id, canonical);
            fuzz_true("written again", !memcmp(canonical, text, 16));
        }
        break;
    case 1:
        status = sno_from_json(text, length, &id);
        memset(&wanted, 0, sizeof wanted);
        fits =
            (length == 4 && !memcmp(text, "null", 4)) ||
            (length == 18 && text[0] == '"' && text[17] == '"' && text_read_sno(text + 1, &wanted));
        if (fits && !sno_is_zero(id)) {
            sno_to_json(id, canonical);
            fuzz_true("written again", !memcmp(canonical, text, length));
        }
        break;
    case 2:
        status = sno_from_uuid(text, length, &id);
        fits = length == 36 && slow_from_uuid(text, &raw) && text_read_sno((const char *)raw.bytes, &wanted);
        break;
    default: {
        const size_t n = length / 16;
        char *texts = text_copy(text, 16 * n);
        sno_id *ids = (sno_id *)(void *)text_room(n * sizeof(sno_id));
        bool all = true;
        status = sno_decode_n(texts, n, ids);
        for (size_t i = 0; i < n; i++) all &= text_read_sno(texts + 16 * i, &wanted);
        fuzz_same("decode_n", status, all ? FLAKE_OK : FLAKE_PARSE);
        for (size_t i = 0; i < n; i++) {
            if (all) {
                (void)text_read_sno(texts + 16 * i, &wanted);
                text_same_id("id of many", ids[i], wanted);
            } else
                for (size_t b = 0; b < sizeof ids[i]; b++)
                    fuzz_same("ids of a bad text", ids[i].bytes[b], '~');
        }
#ifdef SNO_I_AVX2
        if (__builtin_cpu_supports("avx2"))
            fuzz_same("avx2 is_text", sno_i_is_text_n_avx2(texts, n), all);
#endif
        free(ids);
        free(texts);
        free(text);
        return;
    }
    }
    fuzz_same("status", status, fits ? FLAKE_OK : FLAKE_PARSE);
    text_same_id("id", id, fits ? wanted : text_untouched());
    free(text);
}

static void text_check_compose(void) {
    sno_id id = text_untouched();
    const uint64_t units = fuzz_number();
    const unsigned tick = fuzz_byte();
    const uint16_t partition = (uint16_t)fuzz_bytes(2);
    const flake_status status = sno_compose(units, tick, 7, partition, 9, &id);
    fuzz_same("compose", status, units >> 39 ? FLAKE_TIME_RANGE : tick > 1 ? FLAKE_INVALID : FLAKE_OK);
    if (status != FLAKE_OK) text_same_id("id of a call that failed", id, text_untouched());
    else fuzz_same_u64("units", sno_units(id), units);
}

/* Units of 4 ms since 2010, in 39 bits. */
static void text_check_sno_times(void) {
    const int64_t epoch_ms = 1262304000000, units = (int64_t)1 << 39;
    int64_t ms = (int64_t)(fuzz_byte() % 2 ? fuzz_bytes(8) : fuzz_number());
    const uint8_t near = fuzz_byte();
    if (near % 4 == 1) ms = epoch_ms + ms % 8;
    if (near % 4 == 2) ms = epoch_ms + units * 4 + ms % 8;
    if (near % 4 == 3) ms = epoch_ms + (int64_t)((uint64_t)ms >> 2) % (units * 4);
    sno_id low = text_untouched(), high = text_untouched();
    const bool fits = ms >= epoch_ms && (ms - epoch_ms) / 4 < units;
    fuzz_same("sno_min_at", sno_min_at(ms, &low), fits ? FLAKE_OK : FLAKE_TIME_RANGE);
    fuzz_same("sno_max_at", sno_max_at(ms, &high), fits ? FLAKE_OK : FLAKE_TIME_RANGE);
    sno_id wanted = text_untouched();
    if (fits) memset(&wanted, 0, sizeof wanted);
    for (unsigned i = 0; fits && i < 39; i++) /* bit by bit: those above the tick */
        if ((uint64_t)(ms - epoch_ms) / 4 >> i & 1)
            wanted.bytes[(38 - i) / 8] |= (uint8_t)(0x80 >> (38 - i) % 8);
    text_same_id("min_at", low, wanted);
    if (fits) wanted.bytes[4] |= 1;
    if (fits) memset(wanted.bytes + 5, 0xff, 5);
    text_same_id("max_at", high, wanted);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    fuzz_begin(bytes, size);
    const uint8_t what = fuzz_byte();
    switch (what < 192 ? what % 8 : 8 + what % 5) {
    case 0: text_check_64(); break;
    case 1: text_check_128(); break;
    case 2: text_check_parse_64(); break;
    case 3: text_check_parse_128(); break;
    case 4: text_check_fields(); break;
    case 5: text_check_sno_ids(); break;
    case 6: text_check_sno_texts(); break;
    case 7: text_check_compose(); break;
    case 8: text_check_uuid_128(); break;
    case 9: text_check_fields_128(); break;
    case 10: text_check_layout_name(); break;
    case 11: text_check_node(); break;
    default: text_check_sno_times(); break;
    }
    return 0;
}

#include "driver.h"
