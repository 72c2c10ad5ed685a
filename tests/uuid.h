/* SPDX-License-Identifier: MIT
 *
 * UUIDs of version 7 and 8 and ULIDs on the scripted clock, with random bytes by a script; and what their bits
 * say. For test_uuid.c and test_uuid_rising.c; it includes flake.h. Define _GNU_SOURCE first.
 */
#ifndef UUID_H
#define UUID_H

#include "support.h"

/* Random bytes by a script: they repeat, and may fail. */
static struct {
    uint64_t seed;
    unsigned calls;
    bool fails;
    uint64_t given[8]; /* by the last call */
} source;

static inline bool scripted_random(void *to, size_t n) {
    source.calls++;
    if (source.fails) return false;
    for (size_t i = 0; i < 8; i++) {
        source.given[i] = 0;
        for (int k = 0; k < 8; k++)
            source.given[i] = source.given[i] << 8 | random_next(&source.seed) >> 56;
    }
    memcpy(to, source.given, n);
    return true;
}

#define FLAKE_RANDOM_BYTES(to, n) scripted_random(to, n)
static unsigned lane_now; /* whose map place the calls have */
#define FLAKE_LANE() lane_now
#include "flake.h"
#include "options.h"

#define MS INT64_C(1000000) /* in ns */
static const int64_t T = 1700000000000;
static const uint64_t a_node = 0x9ba1a5c50962;
static const flake128 untouched = {{0xaa, 1, 2, 3}};

static flake_gen gen, other;
static flake_gen lanes;
static flake_lane lane_array[3]; /* as many as lanes have: sanitizers see what runs past them */
static flake_options options;    /* of the test that runs */
static flake128 ids[70000];

#ifdef TEST_SMALL
enum { steps = 600 };
#else
enum { steps = 6000 };
#endif

#define EACH_FORM(form) \
    for (form_128 form = FORM_UUID7; form <= FORM_ULID; form = (form_128)(form + 1))

static inline bool has_node(form_128 form) {
    return form == FORM_UUID7_NODE || form == FORM_UUID8;
}
static inline uint64_t node_of(form_128 form) { return has_node(form) ? a_node : 0; }

static inline void begin(form_128 form) {
    script_at_ms(T);
    source.fails = false;
    lane_now = 0;
    source.seed = 0x0123456789abcdef + (uint64_t)form;
    options = options_of_flake(0, 0, 0, script_read, &script_now);
    options.layout = *layout_128(form);
}

static inline void open_gen(flake_gen *g) {
    CHECK_EQ(flake_init(g, of_128(&options, node_of(options.form)), NULL), FLAKE_OK);
}

static inline void open_one(form_128 form) {
    begin(form);
    open_gen(&gen);
}

static inline void clock_at(int64_t unix_ms) { script_now.now_ns = unix_ms * MS; }

static inline flake128 drawn(flake_gen *g) {
    flake128 id = untouched;
    CHECK_EQ(flake128_next(g, &id), FLAKE_OK);
    return id;
}

static inline void rises(flake128 *last, flake128 id) {
    CHECK(memcmp(last->bytes, id.bytes, 16) < 0);
    *last = id;
}

static inline flake_snapshot snapshot_of(flake_gen *g) {
    flake_snapshot s;
    memset(&s, 0, sizeof s);
    CHECK_EQ(flake_snapshot_take(g, &s), FLAKE_OK);
    return s;
}

/* n bits from bit `from` on, as the RFC counts them: 0 is the first of the first byte. */
static inline uint64_t bits(flake128 id, unsigned from, unsigned n) {
    uint64_t value = 0;
    for (unsigned i = from; i < from + n; i++)
        value = value << 1 | (id.bytes[i / 8] >> (7 - i % 8) & 1);
    return value;
}

static inline int64_t uuid_ms(flake128 id) { return (int64_t)bits(id, 0, 48); }

/* Of a UUID. */
static inline uint64_t counter_of(flake128 id) { return bits(id, 52, 12) << 14 | bits(id, 66, 14); }
static inline uint64_t tail_of(flake128 id) { return bits(id, 80, 48); }

/* One more in the 80 bits of a ULID. */
static inline flake128 ulid_plus_one(flake128 id) {
    for (unsigned i = 16; i-- > 6 && !++id.bytes[i];) {
    }
    return id;
}

static inline bool counts_by_one(form_128 form, flake128 a, flake128 b) {
    if (form == FORM_ULID) return flake128_compare(&ulid_plus_one(a), &b) == 0;
    return uuid_ms(a) == uuid_ms(b) && counter_of(a) + 1 == counter_of(b);
}

#endif
