/* SPDX-License-Identifier: MIT
 *
 * Texts of flake.h's IDs, in every encoding and base, and their fields, in any layout: what is written and read is what
 * naive writers and readers say. Buffers are on the heap in their exact size, so that the address sanitizer sees an
 * access beyond them. (Texts of UUIDs and snos have no length but one: tests/unit has every byte at each place.)
 */
#include "fuzz.h"
#include "flake.h"
#include "../tests/support/slow_text.h"
#include "layout.h"

/* ---- texts ---- */

static char *text_room(size_t n) {
    char *const room = (char *)exactly(n);
    memset(room, '~', n);
    return room;
}

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

static void text_check_parse(bool is_wide) {
    const unsigned choice = fuzz_byte(), base = is_wide ? fuzz_byte() % 70 : 0;
    const unsigned form = choice % 16 < 8 ? choice % 8 : choice % 13;
    const bool known = is_wide ? base >= 2 && base <= 62 : form < text_forms;
    text_kind k = {base, 0, NULL, is_wide ? -1 : (int)form};
    size_t length;
    char *text, right[FLAKE128_TEXT_SIZE];
    if (known) k = text_kind_of(is_wide ? text_forms + base - 2 : form);
    if (choice & (is_wide ? 1 : 16)) {
        flake128 any = {{0}};
        for (size_t i = is_wide ? 0 : 8; i < sizeof any.bytes; i++)
            any.bytes[i] = !is_wide || choice & 2 ? fuzz_byte() : 0xff;
        length = format_kind(any, &k, choice & 32, right, sizeof right);
        text = fuzz_edited(right, &length);
    } else text = fuzz_rest(&length);
    text_check_parsed(text, length, &k, known);
    free(text);
}

/* ---- fields ---- */

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
        fuzz_same("unit of its time", back.unix_ms, (int64_t)((uint64_t)l.epoch_ms + f.time * l.unit_ms));
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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    fuzz_begin(bytes, size);
    switch (fuzz_byte() % 8) {
    case 0: text_check_64(); break;
    case 1: text_check_128(); break;
    case 2:
    case 5: text_check_parse(false); break;
    case 3:
    case 6: text_check_parse(true); break;
    case 4: text_check_fields(); break;
    default: text_check_fields_128(); break;
    }
    return 0;
}

#include "driver.h"
