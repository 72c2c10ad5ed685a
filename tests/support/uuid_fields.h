/* SPDX-License-Identifier: MIT
 *
 * The fields of UUIDs and ULIDs, read bit by bit. Include it after flake.h.
 */
#ifndef UUID_FIELDS_H
#define UUID_FIELDS_H

static const flake128 untouched = {{0xaa, 1, 2, 3}}; /* before a call that may store an ID */

/* The output of a failed draw. */
static inline bool is_none(const flake128 *id) { return is_zero(id->bytes, sizeof id->bytes); }

static inline void rises(flake128 *last, flake128 id) {
    CHECK(memcmp(last->bytes, id.bytes, 16) < 0);
    *last = id;
}

/* n bits from bit `from` on, as the RFC counts them: 0 is the first of the first byte. */
static inline uint64_t bits(flake128 id, unsigned from, unsigned n) {
    uint64_t value = 0;
    for (unsigned i = from; i < from + n; i++) value = value << 1 | (id.bytes[i / 8] >> (7 - i % 8) & 1);
    return value;
}

static inline int64_t uuid_ms(flake128 id) { return (int64_t)(flake_from_bytes(id.bytes) >> 16); } /* a ULID's, too */

/* Of a UUID. */
static inline uint64_t counter_of(flake128 id) { return bits(id, 52, 12) << 14 | bits(id, 66, 14); }
static inline uint64_t tail_of(flake128 id) { return bits(id, 80, 48); }

/* One more in the 80 bits of a ULID. */
static inline flake128 ulid_plus_one(flake128 id) {
    for (unsigned i = 16; i-- > 6 && !++id.bytes[i];) {
    }
    return id;
}

#endif
