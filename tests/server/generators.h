/* SPDX-License-Identifier: MIT
 *
 * Where the server's ids come from: a generator of each layout, in one of the ways to share it.
 */
#ifndef GENERATORS_H
#define GENERATORS_H

#include "flake.h"
#include "sno.h"

enum {
    max_threads = 64,
    batch = 100 /* ids drawn at once */
};

static flake_layout (*const layouts[])(void) = {flake_layout_idgen,
                                                flake_layout_hazelcast,
                                                flake_layout_uniqueid_ordered,
                                                flake_layout_uniqueid_spread,
                                                flake_layout_twitter,
                                                flake_layout_sonyflake,
                                                flake_layout_discord,
                                                flake_layout_instagram,
                                                flake_layout_mastodon,
                                                flake_layout_js53};
enum {
    flakes = sizeof layouts / sizeof *layouts,
    wides = 5, /* of 128 bits: boundary's, UUIDs, ULIDs */
    sno = flakes + wides,
    generators
};

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

static const struct {
    const char *name;
    form_128 form;
    bool has_node;
    unsigned format; /* of a list that names none */
} wide_layouts[wides] = {{"boundary", FORM_BOUNDARY, true, base62},
                         {"uuid7", FORM_UUID7, false, uuid},
                         {"uuid7_node", FORM_UUID7_NODE, true, uuid},
                         {"uuid8", FORM_UUID8, true, uuid},
                         {"ulid", FORM_ULID, false, ulid}};

enum { mode_lanes, mode_shared, mode_shard, mode_none };
static const char *const modes[] = {"lanes", "shared", "shard", "none"};
enum { mode_count = sizeof modes / sizeof *modes };
static unsigned mode_made;

static flake_gen lanes[flakes];
static flake_lane lanes_of[flakes][max_threads];
static flake_gen shared[flakes];
static flake_gen shards[flakes][max_threads];
/* One whole in mode lanes, one word in the others: 128 bits have no shards. */
static flake_gen wide_lanes[wides];
static flake_lane lanes_of_wide[wides][max_threads];
static flake_gen wide_shared[wides];
/* Drawn in batches only, each of them one read-modify-write: shared in each mode. */
static sno_gen snos;

static bool is_wide(unsigned layout) { return layout >= flakes && layout < sno; }

static const char *layout_name(unsigned layout) {
    return layout == sno     ? "sno"
           : is_wide(layout) ? wide_layouts[layout - flakes].name
                             : layouts[layout]().name;
}

static unsigned usual_format(unsigned layout) {
    return layout == sno ? text : is_wide(layout) ? wide_layouts[layout - flakes].format : dec;
}

/* A layout whose bits don't hold the node number is not offered. */
static flake_status made[generators];

/* A lane for each thread, but 32 numbers or more for each lane. */
static unsigned lanes_for(unsigned threads, const flake_layout *l) {
    const unsigned most = l->seq_bits > 5 ? 1u << (l->seq_bits - 5) : 1;
    return threads < most ? threads : most;
}

static void make_generators(unsigned mode, unsigned threads, unsigned node) {
    flake_options flake = {0};
    flake.node = node;
    mode_made = mode;
    for (unsigned i = 0; i < flakes; i++) {
        flake.layout = layouts[i]();
        made[i] = mode == mode_lanes   ? flake_init(&lanes[i], with_lanes(&flake, lanes_of[i], lanes_for(threads, &flake.layout)), NULL)
                  : mode == mode_shard ? flake_init_shards(shards[i], threads, &flake, NULL)
                                       : flake_init(&shared[i], &flake, NULL);
    }
    for (unsigned i = 0; i < wides; i++) {
        const uint64_t worker = wide_layouts[i].has_node ? node : 0;
        memset(&flake, 0, sizeof flake);
        flake.form = wide_layouts[i].form;
        made[flakes + i] =
            mode == mode_lanes
                ? flake_init(&wide_lanes[i], with_lanes(of_128(&flake, worker), lanes_of_wide[i], threads), NULL)
                : flake_init(&wide_shared[i], of_128(&flake, worker), NULL);
    }
    if (sno_init(&snos, NULL, NULL, NULL) != FLAKE_OK) made[sno] = FLAKE_INVALID;
}

typedef union ids {
    uint64_t flake[batch];
    flake128 wide[batch];
    sno_id sno[batch];
} ids;

static size_t draw(unsigned thread, unsigned layout, ids *drawn, size_t n) {
    if (is_wide(layout))
        return mode_made == mode_lanes
                   ? got128_n(&wide_lanes[layout - flakes], drawn->wide, n)
                   : got128_n(&wide_shared[layout - flakes], drawn->wide, n);
    size_t got;
    if (layout == sno) return (void)sno_try_n(&snos, 0, drawn->sno, n, &got), got;
    if (mode_made == mode_lanes) return got64_n(&lanes[layout], drawn->flake, n);
    if (mode_made == mode_shard) return got64_n(&shards[layout][thread], drawn->flake, n);
    return got64_n(&shared[layout], drawn->flake, n);
}

static int64_t retry_ns(unsigned thread, unsigned layout) {
    if (is_wide(layout))
        return mode_made == mode_lanes ? flake_retry_ns(&wide_lanes[layout - flakes])
                                       : flake_retry_ns(&wide_shared[layout - flakes]);
    if (layout == sno) return flake_retry_ns(&snos.gen);
    if (mode_made == mode_lanes) return flake_retry_ns(&lanes[layout]);
    if (mode_made == mode_shard) return flake_retry_ns(&shards[layout][thread]);
    return flake_retry_ns(&shared[layout]);
}

static bool has_format(unsigned layout, unsigned format) {
    if (layout == sno) return format == text || format == uuid;
    if (is_wide(layout)) return formats[format].wide || format == uuid || format == ulid;
    return formats[format].flake >= 0;
}

/* The room holds it with its NUL, which is not counted: how many characters. */
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

/* The same; no end is written to a sno's text. */
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
