/* SPDX-License-Identifier: MIT
 *
 * The oracle of layouts: the meaning of a layout's fields. Include flake.h first.
 */
#ifndef LAYOUT_H
#define LAYOUT_H

#include "fuzz.h"

/* Any layout: a known one, a common one, or fields that may be valid or not. */
static inline flake_layout layout_from_bytes(void) {
    static const uint32_t unit_ms[] = {1, 1, 4, 10, 1000, 0, UINT32_MAX, 86400000};
    const flake_layout *const known[] = {&flake_layout_idgen,           &flake_layout_hazelcast,
                                         &flake_layout_uniqueid_ordered, &flake_layout_uniqueid_spread,
                                         &flake_layout_twitter,          &flake_layout_sonyflake,
                                         &flake_layout_discord,          &flake_layout_instagram,
                                         &flake_layout_mastodon,         &flake_layout_js53};
    flake_layout l;
    const uint8_t choice = fuzz_byte();
    memset(&l, 0, sizeof l);
    if (choice % 16 == 0) return l;
    if (choice % 16 <= 10) return *known[choice % 16 - 1];
    switch (choice % 16) {
    case 11: {
        const unsigned seq_bits = fuzz_byte() % 70;
        return flake_layout_hazelcast_of(fuzz_byte() % 70, seq_bits);
    }
    case 12: {
        if (choice & 16) { /* no spare bit: a full unit's count carries into the time */
            const unsigned seq_bits = 19 + fuzz_byte() % 14;
            l = flake_layout_of(64 - seq_bits, 0, seq_bits, 0);
            break;
        }
        const unsigned time_bits = fuzz_byte() % 66, node_bits = fuzz_byte() % 34;
        l = flake_layout_of(time_bits, node_bits, fuzz_byte() % 34, 0);
        break;
    }
    case 13:
    case 14: { /* the fields in any order, with holes */
        unsigned shift = fuzz_byte() % 8;
        const unsigned order = fuzz_byte() % 6;
        l = flake_layout_of(1 + fuzz_byte() % 46, fuzz_byte() % 12, fuzz_byte() % 12, 0);
        for (unsigned i = 0; i < 3; i++) {
            static const uint8_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
            const unsigned field = orders[order][i];
            uint8_t *at = field == 0 ? &l.time_shift : field == 1 ? &l.node_shift : &l.seq_shift;
            const unsigned bits = field == 0 ? l.time_bits : field == 1 ? l.node_bits : l.seq_bits;
            *at = (uint8_t)(shift < 64 ? shift : 63);
            shift += bits + (field == 1 && choice & 16) + (choice >> 6);
        }
        l.time_reversed = choice >> 5 & 1;
        if (choice & 16 && l.node_bits) l.gap_at = (uint8_t)(1 + fuzz_byte() % l.node_bits);
        if (l.gap_at) l.gap_bit = fuzz_byte() & 1;
        break;
    }
    default:
        l.time_bits = fuzz_byte();
        l.time_shift = fuzz_byte();
        l.node_bits = fuzz_byte();
        l.node_shift = fuzz_byte();
        l.seq_bits = fuzz_byte();
        l.seq_shift = fuzz_byte();
        l.time_reversed = fuzz_byte();
        l.gap_at = fuzz_byte();
        l.gap_bit = fuzz_byte();
        l.unit_ms = 1;
        break;
    }
    const uint8_t more = fuzz_byte();
    if (more & 1) l.unit_ms = unit_ms[more >> 5];
    if (more & 2) l.epoch_ms = (int64_t)fuzz_number();
    if (more & 4) l.epoch_ms = 1700000000000 - (int64_t)fuzz_below(1 << 16);
    if (more & 8 && l.epoch_ms > 0) l.epoch_ms = -l.epoch_ms;
    if (more & 16) l.time_sign ^= more & 32 ? 2 : 1; /* 2 has no meaning */
    return l;
}

/* Adds a field's bits to the mask, the gap's with the node's; false: one is taken or outside. */
static inline bool layout_take(uint64_t *mask, unsigned shift, unsigned bits) {
    if (shift > 63) return false;
    for (unsigned i = 0; i < bits; i++) {
        if (shift + i > 63 || *mask >> (shift + i) & 1) return false;
        *mask |= (uint64_t)1 << (shift + i);
    }
    return true;
}

static inline bool layout_is_sound(const flake_layout *l, uint64_t *mask) {
    *mask = 0;
    return l->unit_ms && l->time_bits && l->node_bits <= 32 && l->seq_bits <= 32 && l->time_reversed <= 1 &&
           l->gap_bit <= 1 && l->time_sign <= 1 && l->gap_at <= l->node_bits && (l->gap_at || !l->gap_bit) &&
           layout_take(mask, l->time_shift, l->time_bits + (l->time_sign ? 1u : 0u)) &&
           layout_take(mask, l->node_shift, l->node_bits + (l->gap_at ? 1u : 0u)) &&
           layout_take(mask, l->seq_shift, l->seq_bits);
}

/* The low bits of x, the lowest first at the top. */
static inline uint64_t layout_mirrored(uint64_t x, unsigned bits) {
    uint64_t mirrored = 0;
    for (unsigned i = 0; i < bits; i++) mirrored = mirrored << 1 | (x >> i & 1);
    return mirrored;
}

static inline uint64_t layout_low(uint64_t x, unsigned bits) { return bits < 64 ? x & (((uint64_t)1 << bits) - 1) : x; }

/* A node with the gap bit inserted at gap_at. */
static inline uint64_t layout_spaced(const flake_layout *l, uint64_t node) {
    if (!l->gap_at) return node;
    const uint64_t low = layout_low(node, l->gap_at);
    return (node - low) * 2 + low + ((uint64_t)l->gap_bit << l->gap_at);
}

typedef struct layout_fields {
    uint64_t time, node, seq;
} layout_fields;

static inline uint64_t layout_id(const flake_layout *l, layout_fields f) {
    const uint64_t time = l->time_reversed ? layout_mirrored(f.time, l->time_bits) : f.time;
    return time << l->time_shift | layout_spaced(l, f.node) << l->node_shift | f.seq << l->seq_shift;
}

/* The bit that IDs before the epoch have set; 0: the layout has no such IDs. */
static inline uint64_t layout_sign(const flake_layout *l) {
    return l->time_sign ? (uint64_t)1 << (l->time_shift + l->time_bits) : 0;
}

/* For an ID that has the gap bit. Without the sign of its time. */
static inline layout_fields layout_apart(const flake_layout *l, uint64_t id) {
    layout_fields f;
    f.time = layout_low(id >> l->time_shift, l->time_bits);
    if (l->time_reversed) f.time = layout_mirrored(f.time, l->time_bits);
    f.node = layout_low(id >> l->node_shift, l->node_bits + (l->gap_at ? 1u : 0u));
    if (l->gap_at) f.node = layout_low(f.node, l->gap_at) | f.node >> (l->gap_at + 1) << l->gap_at;
    f.seq = layout_low(id >> l->seq_shift, l->seq_bits);
    return f;
}

#endif
