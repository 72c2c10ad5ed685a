/* SPDX-License-Identifier: MIT
 *
 * The server's sources of IDs: a generator of each layout, in one of the ways to share it.
 */
#ifndef GENERATORS_H
#define GENERATORS_H

#include "flake.h"
#include "sno.h"

enum {
    max_threads = 64,
    batch = 100 /* IDs drawn at once */
};

enum { sno = 16, generators }; /* the layouts of flake.h, and then snos */
static flake_layout layouts[sno];

/* False: flake.h has more or fewer. */
static bool list_layouts(void) {
    flake_layout another;
    for (size_t i = 0; i < sno; i++)
        if (flake_layout_at(i, &layouts[i]) != FLAKE_OK) return false;
    return flake_layout_at(sno, &another) != FLAKE_OK;
}

static const struct {
    const char *name;
    int flake;     /* a flake_encoding, or -1 */
    unsigned wide; /* a base, or 0 */
} formats[] = {{"dec", FLAKE_DEC, 10},
               {"hex", FLAKE_HEX, 16},
               {"bin", FLAKE_BIN, 2},
               {"base32", FLAKE_BASE32, 0},
               {"base36", FLAKE_BASE36, 36},
               {"base58", FLAKE_BASE58, 0},
               {"base62", FLAKE_BASE62, 62},
               {"text", -1, 0},
               {"uuid", -1, 0},
               {"ulid", -1, 0}};
enum { dec = 0, base62 = 6, text, uuid, ulid, format_count };

enum { mode_lanes, mode_shared, mode_shard, mode_none };
static const char *const modes[] = {"lanes", "shared", "shard", "none"};
enum { mode_count = sizeof modes / sizeof *modes };
static unsigned mode_made;

/* The first one for all threads, or with shards one for each. */
static flake_gen gens[sno][max_threads];
static flake_lane lanes[sno][max_threads];
/* Drawn only in batches, each by one read-modify-write: shared in each mode. */
static sno_gen snos;

static bool is_wide(unsigned layout) { return layout != sno && layouts[layout].format; }

/* UUIDs and ULIDs have no shards; nor has any other layout of 128 bits here. */
static flake_gen *gen_of(unsigned thread, unsigned layout) {
    return &gens[layout][mode_made == mode_shard && !is_wide(layout) ? thread : 0];
}

static const char *layout_name(unsigned layout) {
    return layout == sno ? "sno" : layouts[layout].name;
}

static unsigned layout_named(const char *name) {
    unsigned layout = 0;
    while (layout < generators && strcmp(name, layout_name(layout)) != 0) layout++;
    return layout;
}

/* For a list that names none. */
static unsigned usual_format(unsigned layout) {
    if (layout == sno) return text;
    if (!is_wide(layout)) return dec;
    return layouts[layout].format == flake_layout_boundary.format ? base62
           : layouts[layout].format == flake_layout_ulid.format   ? ulid
                                                                  : uuid;
}

/* A layout whose bits don't hold the node number is not offered. */
static flake_status made[generators];
static flake_why reasons[generators];

/* A lane for each thread, but 32 numbers or more for each lane. */
static unsigned lanes_for(unsigned threads, const flake_layout *l) {
    const unsigned most = l->seq_bits > 5 ? 1u << (l->seq_bits - 5) : 1;
    return threads < most ? threads : most;
}

/* Each layout with the same options. UUIDs and ULIDs have no node. */
static void make_generators(unsigned mode, unsigned threads, flake_node node,
                            const flake_options *common) {
    mode_made = mode;
    for (unsigned i = 0; i < sno; i++) {
        flake_options o = *common;
        o.layout = layouts[i];
        const bool is_random = layouts[i].format && !layouts[i].node_bits;
        const flake_node its = is_random ? flake_node_none() : node;
        if (mode == mode_lanes) {
            o.lanes = lanes[i];
            o.lane_count = lanes_for(threads, &o.layout);
        }
        made[i] = mode == mode_shard && !is_wide(i)
                      ? flake_init_shards(gens[i], threads, its, &o, &reasons[i])
                      : flake_init(gens[i], its, &o, &reasons[i]);
    }
    made[sno] = sno_init(&snos, flake_node_none(), NULL, NULL, &reasons[sno]);
}

typedef union ids {
    uint64_t flake[batch];
    flake128 wide[batch];
    sno_id sno[batch];
} ids;

/* How many of n were available. */
static size_t draw(unsigned thread, unsigned layout, ids *drawn, size_t n) {
    size_t got = 0;
    if (layout == sno) (void)!sno_try_n(&snos, 0, drawn->sno, n, &got);
    else if (is_wide(layout)) (void)!flake128_try_n(gen_of(thread, layout), drawn->wide, n, &got);
    else (void)!flake_try_n(gen_of(thread, layout), drawn->flake, n, &got);
    return got;
}

static int64_t retry_ns(unsigned thread, unsigned layout) {
    return flake_retry_ns(layout == sno ? &snos.gen : gen_of(thread, layout));
}

static bool has_format(unsigned layout, unsigned format) {
    if (layout == sno) return format == text || format == uuid;
    if (is_wide(layout)) return formats[format].wide || format == uuid || format == ulid;
    return formats[format].flake >= 0;
}

/* `to` holds it with its NUL, which does not count; returns the number of characters. */
static size_t write_wide(unsigned format, flake128 id, char *at) {
    if (formats[format].wide == 16) { /* as flake writes it: all digits, in lower case */
        const size_t length = flake128_format_fixed(&id, 16, at, FLAKE128_TEXT_SIZE);
        for (size_t i = 0; i < length; i++)
            if (at[i] >= 'A') at[i] = (char)(at[i] - 'A' + 'a');
        return length;
    }
    if (formats[format].wide)
        return flake128_format(&id, formats[format].wide, at, FLAKE128_TEXT_SIZE);
    if (format == uuid) flake128_to_uuid(&id, at);
    else flake128_to_ulid(&id, at);
    return format == uuid ? 36 : 26;
}

/* The same; a sno's text has no NUL. */
static size_t write_id(unsigned layout, unsigned format, const ids *drawn, size_t i, char *at) {
    if (is_wide(layout)) return write_wide(format, drawn->wide[i], at);
    if (layout != sno)
        return flake_format(drawn->flake[i], (flake_encoding)formats[format].flake, at,
                            FLAKE128_TEXT_SIZE);
    if (format == uuid) {
        sno_to_uuid(drawn->sno[i], at);
        return 36;
    }
    sno_encode(drawn->sno[i], at);
    return 16;
}

#endif
