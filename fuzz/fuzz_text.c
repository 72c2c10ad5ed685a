/* SPDX-License-Identifier: MIT
 *
 * All conversions of IDs, of both headers: texts in every encoding and base, bytes, fields. Formatting and
 * parsing are inverse; a naive parser agrees; the code for different machines agrees. Buffers are on the heap in
 * their exact size, so that the address sanitizer sees an access beyond them.
 */
#include "fuzz.h"
#include "flake.h"
#include "sno.h"
#include "../tests/support/slow_text.h"
#include "layout.h"
#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* ---- heap ---- */

static char *text_room(size_t n) {
    char *const room = (char *)exactly(n);
    memset(room, '~', n);
    return room;
}

static char *text_copy(const void *from, size_t n) {
    char *room = text_room(n);
    if (n) memcpy(room, from, n);
    return room;
}

/* The rest of the input. */
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
            room[at] = (char)(edit & 8 ? room[at] + (edit & 16 ? 1 : -1) : room[at] ^ 1 << edit / 32);
        } else if (at < *n) room[at] = (char)fuzz_byte();
    }
    return text_copy(room, *n);
}

/* ---- flake ---- */

/* Into a buffer of the exact size, and into one a byte smaller, which stays unchanged; then parsed. */
static void text_check_written(flake128 id, size_t kind, bool fixed) {
    char wanted[130];
    const text_kind k = text_kind_of(kind);
    flake128 back = widen(77);
    const size_t length = slow_write(id, &k, fixed, wanted);
    fuzz_ids++;
    char *room = text_room(length + 1);
    fuzz_same("length written", (int64_t)format_kind(id, &k, fixed, room, length + 1), (int64_t)length);
    fuzz_true("text written", !memcmp(room, wanted, length) && !room[length]);
    fuzz_same("parse", parse_kind(room, length, &k, &back), FLAKE_OK);
    fuzz_true("ID read back", !flake128_compare(&back, &id));
    free(room);
    const size_t less = fuzz_byte() % 2 ? length : (size_t)fuzz_below(length + 1);
    room = text_room(less);
    fuzz_same("length in a small buffer", (int64_t)format_kind(id, &k, fixed, room, less), 0);
    for (size_t i = 0; i < less; i++) fuzz_same("small buffer", room[i], '~');
    free(room);
    fuzz_same("length in no buffer", (int64_t)format_kind(id, &k, fixed, NULL, length + 1), 0);
}

static void text_check_64(void) {
    uint8_t number[8], out[8];
    for (size_t i = 0; i < sizeof number; i++) number[i] = fuzz_byte();
    flake_to_bytes(flake_from_bytes(number), out);
    fuzz_true("bytes", !memcmp(number, out, sizeof out));
    for (size_t form = 0; form < text_forms; form++)
        for (unsigned fixed = 0; fixed < 2; fixed++) text_check_written(widen(flake_from_bytes(number)), form, fixed);
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

/* `known` false: there is no such form or base. */
static void text_check_parsed(const char *text, size_t length, const text_kind *k, bool known) {
    flake128 id = widen(0x5e5e5e5e5e5e5e5e), wanted;
    const flake128 untouched = id;
    const bool fits = known && slow_read(text, length, k, &wanted);
    char room[FLAKE128_TEXT_SIZE];
    fuzz_same("status", parse_kind(text, length, k, &id), fits ? FLAKE_OK : known ? FLAKE_PARSE : FLAKE_INVALID);
    fuzz_true(fits ? "ID" : "ID of a call that failed", !flake128_compare(&id, fits ? &wanted : &untouched));
    if (known) return;
    fuzz_same("text of an unknown form", (int64_t)format_kind(id, k, false, room, sizeof room), 0);
    fuzz_same("width of an unknown form",
              (int64_t)(k->form < 0 ? flake128_text_width(k->base) : flake_text_width((flake_encoding)k->form)), 0);
}

static void text_check_parse_64(void) {
    const unsigned choice = fuzz_byte(), form = choice % 16 < 8 ? choice % 8 : choice % 13;
    text_kind k = {0, 0, NULL, (int)form};
    size_t length;
    char *text, right[FLAKE_TEXT_SIZE];
    if (form < text_forms) k = text_kind_of(form);
    if (choice & 16) {
        const uint64_t any = fuzz_bytes(8);
        length = format_kind(widen(any), &k, choice & 32, right, sizeof right);
        text = text_edited(right, &length);
    } else text = text_rest(&length);
    text_check_parsed(text, length, &k, form < text_forms);
    free(text);
}

static void text_check_parse_128(void) {
    const unsigned choice = fuzz_byte(), base = fuzz_byte() % 70;
    const bool known = base >= 2 && base <= 62;
    text_kind k = {base, 0, NULL, -1};
    size_t length;
    char *text, right[FLAKE128_TEXT_SIZE];
    if (known) k = text_kind_of(text_forms + base - 2);
    if (choice & 1) {
        flake128 any;
        for (size_t i = 0; i < sizeof any.bytes; i++) any.bytes[i] = choice & 2 ? fuzz_byte() : 0xff;
        length = flake128_format(&any, base, right, sizeof right);
        text = text_edited(right, &length);
    } else text = text_rest(&length);
    text_check_parsed(text, length, &k, known);
    free(text);
}

/* UUIDs and ULIDs, by the calls and by the portable code of other machines. */
static void text_check_one_128(const text_wide *k) {
    flake128 id, back, number;
    char *written = text_room(k->width + 1), wanted[37];
    size_t length = k->width;
    for (size_t i = 0; i < sizeof id.bytes; i++) id.bytes[i] = fuzz_byte();
    k->slow_to(id, wanted);
    k->to(&id, written);
    fuzz_true("written", !strcmp(written, wanted));
    fuzz_same("read back", k->from(written, k->width, &back), FLAKE_OK);
    fuzz_true("ID read back", !flake128_compare(&back, &id));
    free(written);
    for (size_t i = fuzz_byte() % 40; i < length; i++) /* some letters in the other case */
        if (wanted[i] > '9' && i % 3) wanted[i] = (char)(wanted[i] ^ 32);
    char *text = text_edited(wanted, &length);
    memset(&id, 0x5e, sizeof id);
    back = id;
    const bool fits = length == k->width && k->slow_from(text, &number);
    fuzz_same("status", k->from(text, length, &id), fits ? FLAKE_OK : FLAKE_PARSE);
    fuzz_true("ID", !flake128_compare(&id, fits ? &number : &back));
    if (length == k->width) {
        id = back;
        fuzz_same("portable", flake_i_read_portable(k->width + 1, text, 1, &id), fits);
        fuzz_true("portable ID", !flake128_compare(&id, fits ? &number : &back));
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
    for (unsigned edits = fuzz_byte() % 3; edits && size; edits--) text[fuzz_below(size)] = (char)fuzz_byte();
    char *parted = text_copy(text, size); /* without the last NUL */
    bool fit = true;
    for (size_t i = 0; i < n; i++) fit &= k->slow_from(text + stride * i, &ids[i]);
    fuzz_same("status of many", k->from_n(parted, n, back), fit ? FLAKE_OK : FLAKE_PARSE);
    for (unsigned portable = 0; portable < 2; portable++) {
        if (portable) fuzz_same("portable status", flake_i_read_portable(stride, parted, n, back), fit);
        for (size_t i = 0; i < n * 16; i++)
            fuzz_same("IDs of many", back[i / 16].bytes[i % 16], fit ? ids[i / 16].bytes[i % 16] : '~');
        if (fit && n) memset(back, '~', n * sizeof *back);
    }
    free(parted);
    free(wanted);
    free(text);
    free(back);
    free(ids);
}

static void text_check_uuid_128(void) {
    text_check_one_128(&text_wides[0]);
    text_check_one_128(&text_wides[1]);
    text_check_many_128(&text_wides[fuzz_byte() % 2]);
}

static void text_put_bits(flake128 *id, unsigned from, unsigned n, uint64_t value) {
    for (unsigned i = from + n; i-- > from; value >>= 1)
        if (value & 1) id->bytes[i / 8] |= (uint8_t)(0x80 >> i % 8);
}

/* Bit by bit, as boundary's page, RFC 9562 and the ULID specification define them. */
static flake128 text_id_128(const flake_layout *l, int64_t unix_ms, uint64_t node, uint64_t seq) {
    const uint64_t ms = (uint64_t)unix_ms;
    flake128 id = {{0}};
    if (l->format == flake_layout_boundary.format) {
        text_put_bits(&id, 0, 64, ms);
        text_put_bits(&id, 64, 48, node);
        text_put_bits(&id, 112, 16, seq);
        return id;
    }
    text_put_bits(&id, 0, 48, ms);
    if (l->format == flake_layout_ulid.format) {
        text_put_bits(&id, 48, 16, seq);
        text_put_bits(&id, 64, 64, node);
        return id;
    }
    text_put_bits(&id, 48, 4, l->format == flake_layout_uuid8.format ? 8 : 7);
    text_put_bits(&id, 52, 12, seq >> 14);
    text_put_bits(&id, 64, 2, 2);
    text_put_bits(&id, 66, 14, seq);
    text_put_bits(&id, 80, 48, node);
    return id;
}

static void text_same_128(const char *what, flake128 got, flake128 wanted) {
    fuzz_true(what, !flake128_compare(&got, &wanted));
}

static void text_check_fields_of(const flake_layout *l, const flake_parts *parts) {
    const bool is_boundary = l->format == flake_layout_boundary.format;
    const bool is_ulid = l->format == flake_layout_ulid.format, is_uuid = !is_boundary && !is_ulid;
    const unsigned seq_bits = is_uuid ? 26 : 16, node_bits = is_ulid ? 64 : 48;
    const uint64_t seqs = layout_low(UINT64_MAX, seq_bits), nodes = layout_low(UINT64_MAX, node_bits);
    const int64_t ms = parts->unix_ms;
    const flake_status in_time = ms < 0 || (!is_boundary && ms >> 48) ? FLAKE_TIME_RANGE : FLAKE_OK;
    const bool large = parts->node > nodes || parts->seq > seqs;
    flake_parts back = {5, 6, 7};
    flake128 id, low, high, untouched;
    flake_layout unknown = *l;
    memset(&untouched, 0x5e, sizeof untouched);
    id = low = high = untouched;
    const flake_status status = flake128_compose(l, parts, &id);
    fuzz_same("flake128_compose", status, in_time || !large ? in_time : FLAKE_INVALID);
    fuzz_same("flake128_min_at", flake128_min_at(l, ms, &low), in_time);
    fuzz_same("flake128_max_at", flake128_max_at(l, ms, &high), in_time);
    text_same_128("ID", id, status ? untouched : text_id_128(l, ms, parts->node, parts->seq));
    text_same_128("min_at", low, in_time ? untouched : text_id_128(l, ms, 0, 0));
    text_same_128("max_at", high, in_time ? untouched : text_id_128(l, ms, nodes, seqs));
    if (status == FLAKE_OK) {
        flake128 wrong = id; /* of another version or variant, or too late */
        const unsigned bits[] = {48, 49, 50, 51, 64, 65}, bit = is_uuid ? bits[parts->seq % 6] : 0;
        wrong.bytes[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
        if (!is_ulid)
            fuzz_same("flake128_decompose of an invalid ID", flake128_decompose(l, &wrong, &back),
                      is_boundary ? FLAKE_TIME_RANGE : FLAKE_INVALID);
        fuzz_true("parts of an invalid ID", back.unix_ms == 5 && back.node == 6 && back.seq == 7);
        fuzz_same("flake128_decompose", flake128_decompose(l, &id, &back), FLAKE_OK);
        fuzz_same("unix_ms", back.unix_ms, ms);
        fuzz_same_u64("node", back.node, parts->node);
        fuzz_same("seq", back.seq, parts->seq);
    }
    unknown.format = parts->seq & 1 ? UINT8_MAX : (uint8_t)(flake_layout_ulid.format + 1);
    fuzz_same("unknown format", flake128_compose(&unknown, parts, &id), FLAKE_INVALID);
    fuzz_same("unknown format", flake128_decompose(&unknown, &id, &back), FLAKE_INVALID);
    fuzz_same("unknown format", flake128_min_at(&unknown, 0, &id), FLAKE_INVALID);
    fuzz_same("unknown format", flake128_max_at(&unknown, 0, &id), FLAKE_INVALID);
}

static void text_check_fields_128(void) {
    flake_parts parts;
    flake_layout l;
    parts.unix_ms = (int64_t)(fuzz_byte() % 2 ? fuzz_number() : fuzz_bytes(8));
    parts.node = fuzz_number() >> (fuzz_byte() % 4 ? 16 : 0);
    parts.seq = (uint32_t)fuzz_number() >> (fuzz_byte() % 4 ? 16 : 0);
    for (size_t i = 0; flake_layout_at(i, &l) == FLAKE_OK; i++)
        if (l.format) text_check_fields_of(&l, &parts);
}

/* ---- node numbers ---- */

/* The rest of the input, or a valid text with edits, as a string. */
static char *text_string(const char *right) {
    size_t length = strlen(right);
    char *text = fuzz_byte() % 4 ? text_edited(right, &length) : text_rest(&length);
    char *string = text_room(length + 1);
    if (length) memcpy(string, text, length);
    string[length] = 0;
    free(text);
    return string;
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

static void text_check_node(void) {
    static const char *const names[] = {
        "web-3", "web-3.web.prod.svc", "a-b-4294967295", "-0", "4294967296", "0012", "db-0004294967294", "7."};
    char *text = text_string(names[fuzz_byte() % 8]);
    uint64_t node = 0x5e5e5e5e5e5e5e5e, ordinal = 0;
    flake_why why;
    memset(&why, '~', sizeof why);
    const size_t label = strcspn(text, ".");
    size_t behind = label; /* the last hyphen of the label */
    while (behind > 0 && text[behind - 1] != '-') behind--;
    const uint64_t first = fuzz_number(), last = UINT64_MAX - fuzz_number();
    const bool fits = behind > 0 && text_read_node(text + behind, label - behind, &ordinal) && first <= last &&
                      ordinal <= last - first;
    fuzz_same("flake_node_from_hostname", flake_node_from_hostname(text, first, last, &node, &why),
              fits ? FLAKE_OK : FLAKE_INVALID);
    fuzz_same_u64("node", node, fits ? first + ordinal : 0xBFFFFFFFBFFFBFFF);
    fuzz_true("why ends", fits || memchr(why.text, 0, sizeof why.text));
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
        fuzz_same("end_ms", flake_layout_end_ms(&l), INT64_MIN);
        return;
    }
    const uint64_t room = (uint64_t)INT64_MAX - (uint64_t)l.epoch_ms, last = layout_low(UINT64_MAX, l.time_bits);
    const bool is_cut = room < l.unit_ms || last > (room - l.unit_ms + 1) / l.unit_ms; /* by the end of int64_t */
    fuzz_same("end_ms", flake_layout_end_ms(&l),
              is_cut ? INT64_MAX : (int64_t)((uint64_t)l.epoch_ms + (last + 1) * l.unit_ms - 1));
    const uint64_t untouched = 0x5e5e5e5e5e5e5e5e, nodes = layout_low(UINT64_MAX, l.node_bits);
    const uint64_t seqs = layout_low(UINT64_MAX, l.seq_bits);
    layout_fields f = {((uint64_t)parts.unix_ms - (uint64_t)l.epoch_ms) / l.unit_ms, parts.node, parts.seq};
    const layout_fields least = {f.time, 0, 0}, most_of = {f.time, nodes, seqs};
    const bool late = layout_low(f.time, l.time_bits) != f.time, large = f.node > nodes || f.seq > seqs;
    const flake_status in_time = parts.unix_ms < l.epoch_ms || late ? FLAKE_TIME_RANGE : FLAKE_OK;
    uint64_t low = untouched, high = untouched;
    fuzz_same("compose", status, in_time || !large ? in_time : FLAKE_INVALID);
    fuzz_same("min_at", flake_min_at(&l, parts.unix_ms, &low), in_time);
    fuzz_same("max_at", flake_max_at(&l, parts.unix_ms, &high), in_time);
    fuzz_same_u64("ID", id, status ? untouched : layout_id(&l, f));
    fuzz_same_u64("min_at", low, in_time ? untouched : layout_id(&l, least));
    fuzz_same_u64("max_at", high, in_time ? untouched : layout_id(&l, most_of));
    if (status == FLAKE_OK) {
        fuzz_same("decompose", flake_decompose(&l, id, &back), FLAKE_OK);
        fuzz_same_u64("node", back.node, f.node);
        fuzz_same("seq", back.seq, (int64_t)f.seq);
        fuzz_same("unit of its time", back.unix_ms, l.epoch_ms + (int64_t)(f.time * l.unit_ms));
    }

    /* Any 64 bits: an ID of the layout, or refused. */
    const uint64_t most = ((uint64_t)INT64_MAX - (uint64_t)l.epoch_ms) / l.unit_ms;
    const uint8_t how = fuzz_byte();
    uint64_t any = seed & (how % 4 ? mask : UINT64_MAX);
    f = layout_apart(&l, any);
    f.time = most + (how >> 4) % 3 - 1; /* the last ms, and its neighbours */
    if (how & 8 && layout_low(f.time, l.time_bits) == f.time) any = layout_id(&l, f);
    if (how >> 6 == 3) any |= layout_sign(&l);
    f = layout_apart(&l, any);
    const bool whole = (layout_id(&l, f) | (any & layout_sign(&l))) == any;
    const bool before = (any & layout_sign(&l)) != 0;
    const uint64_t back_by = ((uint64_t)1 << l.time_bits % 64) - f.time; /* units before the epoch */
    const bool told = before ? back_by <= ((uint64_t)l.epoch_ms - (uint64_t)INT64_MIN) / l.unit_ms : f.time <= most;
    fuzz_same("decompose of any", flake_decompose(&l, any, &back),
              !whole  ? FLAKE_INVALID
              : !told ? FLAKE_TIME_RANGE
                      : FLAKE_OK);
    if (!whole || !told) return;
    if (before) {
        fuzz_same_u64("ms before it", (uint64_t)l.epoch_ms - (uint64_t)back.unix_ms, back_by * l.unit_ms);
        fuzz_same_u64("node", back.node, f.node);
        fuzz_same_u64("seq", back.seq, f.seq);
        fuzz_same("compose before the epoch", flake_compose(&l, &back, &id), FLAKE_TIME_RANGE);
        return;
    }
    fuzz_same("compose again", flake_compose(&l, &back, &id), FLAKE_OK);
    fuzz_same_u64("ID again", id, any);
}

/* ---- sno ---- */

enum { text_most = 40 };

static int text_compare(const void *a, const void *b) { return memcmp(a, b, 10); }

static const text_kind text_snos = {32, 16, "23456789abcdefghijklmnopqrstuvwx", -1};

static void text_write_sno(sno_id id, char out[16]) {
    flake128 wide = {{0}};
    memcpy(wide.bytes + 6, id.bytes, sizeof id.bytes);
    (void)slow_digits(wide, 32, text_snos.digits, 16, out);
}

static bool text_read_sno(const char *text, sno_id *id) {
    flake128 wide;
    const bool fits = slow_read(text, 16, &text_snos, &wide);
    memcpy(id->bytes, wide.bytes + 6, sizeof id->bytes);
    return fits;
}

static void text_same_id(const char *what, sno_id a, sno_id b) {
    fuzz_true(what, !memcmp(a.bytes, b.bytes, sizeof a.bytes));
}

static sno_id text_untouched(void) {
    sno_id id;
    memset(&id, 0xee, sizeof id);
    return id;
}

/* Into exactly `room` bytes, and read back from the first `length`. */
static void text_check_sno_form(const char *name, sno_id id, const char *wanted, size_t room, size_t length,
                                void (*to)(sno_id, char *), flake_status (*from)(const char *, size_t, sno_id *)) {
    char *const exact = text_room(room);
    sno_id back;
    to(id, exact);
    fuzz_true(name, !memcmp(exact, wanted, room));
    fuzz_same(name, from(exact, length, &back), FLAKE_OK);
    text_same_id(name, back, id);
    free(exact);
}

static flake_status text_decode_portable(const char *text, size_t length, sno_id *id) {
    (void)length;
    *id = sno_i_decode_portable(text);
    return sno_i_is_text_portable(text) ? FLAKE_OK : FLAKE_PARSE;
}
#ifdef SNO_I_VECTORS
static flake_status text_decode_vector(const char *text, size_t length, sno_id *id) {
    (void)length;
    *id = sno_i_decode_vector(text);
    return FLAKE_OK;
}
#endif

static void text_check_sno_forms(sno_id id) {
    char wanted[16], json[20] = "null", uuid[37];
    flake128 as_bytes;
    text_write_sno(id, wanted);
    text_check_sno_form("text", id, wanted, 16, 16, sno_encode, sno_decode);
    text_check_sno_form("portable text", id, wanted, 16, 16, sno_i_encode_portable, text_decode_portable);
#ifdef SNO_I_VECTORS
    text_check_sno_form("vector text", id, wanted, 16, 16, sno_i_encode_vector, text_decode_vector);
#endif
    if (!sno_is_zero(id)) (void)snprintf(json, sizeof json, "\"%.16s\"", wanted);
    text_check_sno_form("json", id, json, strlen(json) + 1, strlen(json), sno_to_json, sno_from_json);
    memcpy(as_bytes.bytes, wanted, 16);
    slow_to_uuid(as_bytes, uuid);
    text_check_sno_form("uuid", id, uuid, 37, 36, sno_to_uuid, sno_from_uuid);

    uint8_t *octets = (uint8_t *)text_room(10);
    sno_to_bytes(id, octets);
    fuzz_true("sno_to_bytes", !memcmp(octets, id.bytes, 10));
    text_same_id("sno_from_bytes", sno_from_bytes(octets), id);
    free(octets);

    sno_id composed;
    fuzz_same("compose",
              sno_compose(sno_units(id), sno_tick(id), sno_meta(id), sno_partition(id), sno_sequence(id), &composed),
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
            text_same_id("ID of many", back[i], ids[i]);
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
        break;
    case 1:
        status = sno_from_json(text, length, &id);
        memset(&wanted, 0, sizeof wanted);
        fits = (length == 4 && !memcmp(text, "null", 4)) ||
               (length == 18 && text[0] == '"' && text[17] == '"' && text_read_sno(text + 1, &wanted));
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
                text_same_id("ID of many", ids[i], wanted);
            } else
                for (size_t b = 0; b < sizeof ids[i]; b++) fuzz_same("IDs of a bad text", ids[i].bytes[b], '~');
        }
#ifdef SNO_I_AVX2
        if (__builtin_cpu_supports("avx2")) fuzz_same("avx2 is_text", sno_i_is_text_n_avx2(texts, n), all);
#endif
        free(ids);
        free(texts);
        free(text);
        return;
    }
    }
    fuzz_same("status", status, fits ? FLAKE_OK : FLAKE_PARSE);
    text_same_id("ID", id, fits ? wanted : text_untouched());
    free(text);
}

static void text_check_compose(void) {
    sno_id id = text_untouched();
    const uint64_t units = fuzz_number();
    const unsigned tick = fuzz_byte();
    const uint16_t partition = (uint16_t)fuzz_bytes(2);
    const flake_status status = sno_compose(units, tick, 7, partition, 9, &id);
    fuzz_same("compose", status, units >> 39 ? FLAKE_TIME_RANGE : tick > 1 ? FLAKE_INVALID : FLAKE_OK);
    if (status != FLAKE_OK) text_same_id("ID of a call that failed", id, text_untouched());
    else fuzz_same_u64("units", sno_units(id), units);
}

/* Units of 4 ms since 2010, in 39 bits. */
static void text_check_sno_times(void) {
    const int64_t epoch_ms = 1262304000000, units = (int64_t)1 << 39;
    int64_t ms = (int64_t)(fuzz_byte() % 2 ? fuzz_bytes(8) : fuzz_number());
    const uint8_t place = fuzz_byte();
    if (place % 4 == 1) ms = epoch_ms + ms % 8;
    if (place % 4 == 2) ms = epoch_ms + units * 4 + ms % 8;
    if (place % 4 == 3) ms = epoch_ms + (int64_t)((uint64_t)ms >> 2) % (units * 4);
    sno_id low = text_untouched(), high = text_untouched();
    const bool fits = ms >= epoch_ms && (ms - epoch_ms) / 4 < units;
    fuzz_same("sno_min_at", sno_min_at(ms, &low), fits ? FLAKE_OK : FLAKE_TIME_RANGE);
    fuzz_same("sno_max_at", sno_max_at(ms, &high), fits ? FLAKE_OK : FLAKE_TIME_RANGE);
    sno_id wanted = text_untouched();
    if (fits) memset(&wanted, 0, sizeof wanted);
    for (unsigned i = 0; fits && i < 39; i++) /* bit by bit: those above the tick */
        if ((uint64_t)(ms - epoch_ms) / 4 >> i & 1) wanted.bytes[(38 - i) / 8] |= (uint8_t)(0x80 >> (38 - i) % 8);
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
    case 10:
    case 11: text_check_node(); break;
    default: text_check_sno_times(); break;
    }
    return 0;
}

#include "driver.h"
