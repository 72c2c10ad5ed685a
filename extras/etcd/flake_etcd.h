/* flake_etcd.h: node numbers for flake.h from an etcd cluster.
 *
 * Version 0.4.0, for flake.h 0.4.0. SPDX-License-Identifier: MIT (the text is at the end.)
 * C11, or C++11 and later, with POSIX threads and libcurl.
 *
 *     #include "flake.h"
 *     #include "flake_etcd.h"          // link with -lcurl -pthread
 *
 *     static flake_etcd claim;         // all zero; must not move
 *     static flake_etcd_options from;  // zero in a field is its default
 *     from.endpoints = "https://a:2379,https://b:2379,https://c:2379";
 *     from.name_space = "orders/";     // of all programs whose IDs must differ
 *     from.last = 1023;                // the numbers 0 to 1023
 *     if (flake_etcd_claim(&claim, &from, &why) != FLAKE_OK ||
 *         flake_init(&ids, flake_etcd_node(&claim), NULL, &why) != FLAKE_OK)
 *         return fprintf(stderr, "%s\n", why.text), 1;
 *     ...                              // FLAKE_LEASE_LOST from the generator: release, claim and init again
 *     flake_etcd_release(&claim, &why);
 *
 * It talks to etcd 3.4 or later through the JSON gateway. Use one layout per name_space.
 *
 * A wrong clock cannot block a number for years: a program whose clock is more than 60 s ahead of etcd's (the
 * date in its answers) can neither claim nor extend, and IDs requested further ahead do not move a horizon. A
 * claim prefers a number whose horizon has passed, and never takes one whose horizon is more than 60 s ahead.
 * If a number is blocked nevertheless, make sure that no process holds it and delete its key
 * node/horizon:NUMBER, with uniqueid horizon/CLUSTER:NUMBER.
 *
 * Each holder writes once per horizon_ms / 3. etcd keeps old revisions: enable its auto-compaction.
 *
 * A claim's token is 16 bytes from FLAKE_RANDOM_BYTES, and must differ from every other claim's.
 *
 * A forked child has no claim: the parent's generators return FLAKE_FORKED in it.
 *
 * THREADS
 *
 * One thread at a time calls claim, release and destroy. Meanwhile any thread may call the queries and draw
 * from the generators, except during flake_etcd_claim from generators of an earlier claim of the same object.
 * libcurl before 7.84 requires a call of curl_global_init before a second thread starts, and older versions
 * with TLS require SIGPIPE to be ignored (see CURLOPT_NOSIGNAL).
 *
 * INTERNALS
 *
 * A claim is a flake_gate, like any other. Of flake.h's internals this header uses only:
 *
 *     flake_i_new_page, flake_i_wipe_on_fork, flake_i_drop_page     a page that fork wipes
 *     flake_i_process_owner_id                                      the process's owner id
 *     flake_i_random_bytes, FLAKE_I_NO_NUMBER                       random bytes; what no init takes
 *     flake_i_linux_ns, FLAKE_I_BOOTTIME                            elapsed time where strict C hides it
 *     flake_i_say, flake_i_put_why                                  reasons in words
 *     flake_i_decimal, flake_i_min_u64, flake_i_max_i64,            numbers
 *     flake_i_ns_until
 *     flake_i_atomic32, flake_atomic64                            types of the atomics
 *     FLAKE_I_FN, FLAKE_I_NO_COPY, FLAKE_I_IMPLEMENTED              declarations
 *
 *     // >>public      what a program calls and sets
 *     // >>answers     etcd's answers: JSON, base64, keys and values
 *     // >>etcd        claims, with their protocol
 */

/* A program's warning flags do not apply to this header. */
#if defined(__GNUC__) && defined(__INCLUDE_LEVEL__) && !defined(FLAKE_SHOW_WARNINGS)
#if __INCLUDE_LEVEL__ > 0
#pragma GCC system_header
#endif
#endif

#include "flake.h"

#ifndef FLAKE_ETCD_H
#define FLAKE_ETCD_H

#if FLAKE_VERSION_MAJOR != 0 || FLAKE_VERSION_MINOR != 4 || FLAKE_VERSION_PATCH != 0
#error "flake_etcd.h 0.4.0 needs flake.h 0.4.0"
#endif
#if defined(_WIN32) || defined(FLAKE_NO_OS)
#error "flake_etcd.h needs POSIX threads and clocks"
#endif
#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

// >>public

typedef struct flake_etcd_options {
    /* 1 to 16 URLs, separated by commas; if one fails the next is used. NULL: http://127.0.0.1:2379 */
    const char *endpoints;
    const char *name_space; /* prefix of each key, at most 255 bytes; NULL: none */
    /* The pool: its numbers, at most 2,048, which the layout must have. Pools of one name_space may overlap: a
     * number has one holder. `last` must be given. */
    uint64_t first, last;
    /* true: the pools of Lable's uniqueid, for its layouts: the numbers are generators of a cluster, 0..2047, and
     * the keys have Lable's names. `last` 0: 255. Claims with and without it do not exclude one another. */
    bool uniqueid;
    /* with uniqueid. true: use `cluster`. false: the value of the key cluster-id, one cluster or several separated
     * by commas, tried in this order; no such key: 0 */
    bool cluster_given;
    unsigned cluster; /* 0..15; 0 unless cluster_given */
    /* duration of the lease, after which a dead holder's number is free: 1,000 to 300,000; etcd rounds up to
     * seconds and to its own minimum; 0: 10,000 */
    int64_t ttl_ms;
    /* how far ahead of use the horizon is written, and so how long IDs continue without etcd: 1,000 to
     * 3,600,000; 0: 30,000 */
    int64_t horizon_ms;
    /* longest wait for a free number and for its horizon to pass; 0: no wait, but each number that looks free is
     * tried once, with two requests, and another process may take it first */
    int64_t wait_ms;
    int64_t timeout_ms; /* of one request, at most 3,600,000; 0: ttl_ms / 8 */
    /* PEM, for https; NULL: the system's authorities, and no client certificate */
    const char *ca_file, *cert_file, *key_file;
    const char *user, *password; /* etcd's authentication; NULL: none */
} flake_etcd_options;

typedef struct flake_etcd flake_etcd;

/* Claims a free number; a background thread keeps it. The strings need not outlive the call.
 * FLAKE_INVALID: an option is invalid, or the object has a claim; FLAKE_AGAIN: no number became free within
 * wait_ms; FLAKE_IO: no endpoint answered, etcd refused, or this clock is ahead of etcd's. There is a claim to
 * release only after FLAKE_OK. If the last holder died, the horizon of its number may be up to 60 s ahead:
 * until it has passed, draws wait or fail. */
FLAKE_API flake_status flake_etcd_claim(flake_etcd *, const flake_etcd_options *, flake_why *);
/* Ends the claim and its thread; takes as long as a few requests. Generators of the claim stop when this call
 * starts. FLAKE_IO: the claim is released, but etcd did not confirm it: the number becomes free when the lease
 * expires, and can be used when the horizon has passed. In a forked child the call only frees memory. */
FLAKE_API flake_status flake_etcd_release(flake_etcd *, flake_why *);
/* Releases the claim if there is one, and frees the last page: no generator may use the gate any more. */
FLAKE_API void flake_etcd_destroy(flake_etcd *);

/* The claimed number, for an init: of one generator at a time, or of the shards of one init. Its draws after the
 * horizon return FLAKE_AGAIN, or FLAKE_IO after a failed attempt to extend it; FLAKE_LEASE_LOST: the claim is
 * lost, because another process has written the number's keys, or it was released. */
FLAKE_API flake_node flake_etcd_node(flake_etcd *);
/* FLAKE_OK: the number is held; FLAKE_IO: it is held, but the last attempt to extend the horizon failed, for
 * the reason in `why`: IDs continue up to the horizon; FLAKE_LEASE_LOST: not held, or lost; FLAKE_FORKED. */
FLAKE_API flake_status flake_etcd_check(flake_etcd *, flake_why *);
/* How long IDs continue if etcd is unreachable from now on. */
FLAKE_API int64_t flake_etcd_left_ms(flake_etcd *);

struct flake_etcd {
    FLAKE_I_NO_COPY(flake_etcd)
    flake_atomic64 state;      /* number of the claim << 2 | one of the states below */
    flake_atomic64 horizon_ns; /* of our latest write known to have succeeded */
    flake_atomic64 asked_ns;   /* the latest time admitted, or the floor */
    flake_atomic64 wanted_ns;  /* a time refused since the last attempt to extend, or 0 */
    flake_i_atomic32 trouble;  /* why that attempt failed: index of flake_i_etcd_troubles */
    int64_t floor_ns;          /* the H that the claim replaced: IDs are later */
    uint64_t process;          /* flake_i_process_owner_id of the claim's process */
    /* the gate's; its page outlives the claim, for generators of earlier claims */
    flake_atomic64 *fence;
    uint64_t node;
    struct flake_i_etcd *session;
    pthread_t thread;
};

#ifdef __cplusplus
}
#endif
#endif /* FLAKE_ETCD_H */

#if defined(FLAKE_I_IMPLEMENTED) && !defined(FLAKE_I_ETCD_IMPLEMENTED)
#define FLAKE_I_ETCD_IMPLEMENTED
#ifndef FLAKE_I_CURL /* a model brings its own */
#include <curl/curl.h>
#endif
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

// >>answers
/* Parses the answers of etcd's JSON gateway strictly: an answer that does not parse counts as no answer. */

/* ---- JSON: a text that is malformed anywhere has no value ---- */

typedef struct flake_i_json { /* the text of one value; at NULL: no value */
    const char *at, *end;
    unsigned depth; /* levels of nesting still allowed */
} flake_i_json;

static const flake_i_json flake_i_json_none = {NULL, NULL, 0};

/* Each of these functions advances past the thing in its name, or returns false. */
FLAKE_I_FN bool flake_i_json_pass_text(flake_i_json *in, const char *text) {
    const size_t n = strlen(text);
    if ((size_t)(in->end - in->at) < n || memcmp(in->at, text, n) != 0) return false;
    in->at += n;
    return true;
}

/* Returns the number of characters passed. */
FLAKE_I_FN size_t flake_i_json_pass_any(flake_i_json *in, const char *set, size_t most) {
    size_t n = 0;
    for (; n < most && in->at < in->end && *in->at && strchr(set, *in->at); n++) in->at++;
    return n;
}

static const char flake_i_hex_digits[] = "0123456789abcdefABCDEF";

FLAKE_I_FN bool flake_i_json_pass_digits(flake_i_json *in) {
    return flake_i_json_pass_any(in, "0123456789", SIZE_MAX) > 0;
}

FLAKE_I_FN void flake_i_json_pass_blanks(flake_i_json *in) { (void)flake_i_json_pass_any(in, " \t\n\r", SIZE_MAX); }

FLAKE_I_FN bool flake_i_json_pass_string(flake_i_json *in) {
    if (!flake_i_json_pass_text(in, "\"")) return false;
    while (in->at < in->end && (unsigned char)*in->at >= ' ') {
        const char c = *in->at++;
        if (c == '"') return true;
        if (c != '\\' || flake_i_json_pass_any(in, "\"\\/bfnrt", 1)) continue;
        if (!flake_i_json_pass_text(in, "u")) return false;
        if (flake_i_json_pass_any(in, flake_i_hex_digits, 4) != 4) return false;
    }
    return false;
}

FLAKE_I_FN bool flake_i_json_pass_number(flake_i_json *in) {
    (void)flake_i_json_pass_text(in, "-");
    if (!flake_i_json_pass_text(in, "0") && !flake_i_json_pass_digits(in)) return false;
    if (flake_i_json_pass_text(in, ".") && !flake_i_json_pass_digits(in)) return false;
    if (!flake_i_json_pass_any(in, "eE", 1)) return true;
    (void)flake_i_json_pass_any(in, "+-", 1);
    return flake_i_json_pass_digits(in);
}

FLAKE_I_FN bool flake_i_json_pass_value(flake_i_json *in);

/* Advances to the next value of an array or object, in an object with its name. value->at is NULL before the
 * first call. False: there are no more values; value->end is the end of the list, or NULL if it is malformed. */
FLAKE_I_FN bool flake_i_json_each(flake_i_json list, flake_i_json *name, flake_i_json *value) {
    if (!list.at || (*list.at != '{' && *list.at != '[')) return false;
    const bool is_object = *list.at == '{', is_first = !value->at;
    flake_i_json in = {is_first ? list.at + 1 : value->end, list.end, list.depth - 1};
    value->end = NULL;
    flake_i_json_pass_blanks(&in);
    if (flake_i_json_pass_text(&in, is_object ? "}" : "]")) {
        value->end = in.at;
        return false;
    }
    if (!is_first && !flake_i_json_pass_text(&in, ",")) return false;
    flake_i_json_pass_blanks(&in);
    if (is_object) {
        *name = in;
        if (!flake_i_json_pass_string(&in)) return false;
        name->at++; /* without its quotes */
        name->end = in.at - 1;
        flake_i_json_pass_blanks(&in);
        if (!flake_i_json_pass_text(&in, ":")) return false;
        flake_i_json_pass_blanks(&in);
    }
    value->at = in.at;
    value->depth = in.depth;
    if (flake_i_json_pass_value(&in)) value->end = in.at;
    return value->end != NULL;
}

FLAKE_I_FN bool flake_i_json_pass_value(flake_i_json *in) {
    flake_i_json name, value = flake_i_json_none;
    if (in->at == in->end || !in->depth) return false;
    switch (*in->at) {
    case '"': return flake_i_json_pass_string(in);
    case 't': return flake_i_json_pass_text(in, "true");
    case 'f': return flake_i_json_pass_text(in, "false");
    case 'n': return flake_i_json_pass_text(in, "null");
    case '{':
    case '[': break;
    default: return flake_i_json_pass_number(in);
    }
    while (flake_i_json_each(*in, &name, &value)) {
    }
    in->at = value.end;
    return value.end != NULL;
}

/* Parses a whole text as one value. All functions below require values that this one has checked. */
FLAKE_I_FN flake_i_json flake_i_json_text(const char *text, size_t len) {
    flake_i_json v = {text, text + len, 16}, in;
    flake_i_json_pass_blanks(&v);
    in = v;
    if (!flake_i_json_pass_value(&in)) return flake_i_json_none;
    v.end = in.at;
    flake_i_json_pass_blanks(&in);
    return in.at == in.end ? v : flake_i_json_none;
}

FLAKE_I_FN bool flake_i_json_is(flake_i_json v, const char *wanted, size_t len) {
    return v.at && (size_t)(v.end - v.at) == len && memcmp(v.at, wanted, len) == 0;
}

/* The value at a path such as "responses/0/kvs": members by name, items by index (one digit). None if an object
 * has two members of that name. */
FLAKE_I_FN flake_i_json flake_i_json_get(flake_i_json v, const char *path) {
    while (v.at && *path) {
        const size_t n = strcspn(path, "/");
        flake_i_json name, value = flake_i_json_none, found = flake_i_json_none;
        unsigned matches = 0;
        for (int i = 0; flake_i_json_each(v, &name, &value); i++) {
            const bool is_it = *v.at == '[' ? i <= 9 && *path == '0' + i : flake_i_json_is(name, path, n);
            if (!is_it) continue;
            found = value;
            matches++;
        }
        if (matches != 1) found.at = NULL;
        v = found;
        path += n + (path[n] == '/');
    }
    return v;
}

/* A string without escapes; the quotes are not included. */
FLAKE_I_FN flake_i_json flake_i_json_string(flake_i_json v) {
    if (!v.at || *v.at != '"' || memchr(v.at, '\\', (size_t)(v.end - v.at))) return flake_i_json_none;
    v.at++;
    v.end--;
    return v;
}

/* A whole number of 63 bits, without leading zeros. */
FLAKE_I_FN bool flake_i_whole(const char *text, const char *end, int64_t *number) {
    uint64_t value = 0;
    const size_t n = (size_t)(end - text);
    if (n > 1 && *text == '0') return false;
    if (flake_parse(text, n, FLAKE_DEC, &value) != FLAKE_OK || value > INT64_MAX) return false;
    *number = (int64_t)value;
    return true;
}

/* The gateway writes numbers of 64 bits as strings. */
FLAKE_I_FN bool flake_i_json_number(flake_i_json v, int64_t *number) {
    const flake_i_json digits = flake_i_json_string(v);
    if (digits.at) v = digits;
    return v.at && flake_i_whole(v.at, v.end, number);
}

/* Appends a text with the escapes that a JSON string needs. */
FLAKE_I_FN void flake_i_json_quote(char *to, const char *text) {
    for (to += strlen(to); *text; text++)
        if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\')
            to += snprintf(to, 7, "\\u%04x", (unsigned)*text);
        else *to++ = *text;
    *to = 0;
}

/* ---- base64, with padding ---- */

static const char flake_i_base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* `out` holds (n + 2) / 3 * 4 + 1 bytes. */
FLAKE_I_FN void flake_i_to_base64(const char *bytes, size_t n, char *out) {
    for (size_t i = 0; i < n; i += 3) {
        uint32_t word = 0;
        for (size_t k = i; k < i + 3; k++) word = word << 8 | (k < n ? (unsigned char)bytes[k] : 0);
        for (unsigned k = 0; k < 4; k++) *out++ = i + k <= n ? flake_i_base64[word >> (18 - 6 * k) & 63] : '=';
    }
    *out = 0;
}

/* Returns the number of bytes; SIZE_MAX: malformed, more than `size`, or not what flake_i_to_base64 writes. */
FLAKE_I_FN size_t flake_i_from_base64(const char *text, size_t len, char *out, size_t size) {
    const char *const end = text + len;
    size_t n = 0;
    uint32_t word = 0, bits = 0;
    if (len % 4) return SIZE_MAX;
    for (int i = 0; i < 2 && len && end[-1 - i] == '='; i++) len--;
    for (size_t i = 0; i < len; i++) {
        const char *const digit = text[i] ? strchr(flake_i_base64, text[i]) : NULL;
        if (!digit) return SIZE_MAX;
        word = word << 6 | (uint32_t)(digit - flake_i_base64);
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        if (n == size) return SIZE_MAX;
        out[n++] = (char)(unsigned char)(word >> bits & 255);
    }
    return word & (((uint32_t)1 << bits) - 1) ? SIZE_MAX : n;
}

/* ---- contents of the answers ---- */

enum { FLAKE_I_ETCD_KEY = 288, FLAKE_I_ETCD_VALUE = 128 }; /* their sizes, in base64 or not */

/* Decodes a string of base64 and appends a NUL; returns the number of bytes, SIZE_MAX: none. */
FLAKE_I_FN size_t flake_i_json_bytes(flake_i_json v, char *out, size_t size) {
    const flake_i_json text = flake_i_json_string(v);
    if (!text.at) return SIZE_MAX;
    const size_t n = flake_i_from_base64(text.at, (size_t)(text.end - text.at), out, size - 1);
    if (n != SIZE_MAX) out[n] = 0;
    return n;
}

/* Parses a list such as "3, 4" of 1 to 16 clusters, each 0..15. False: malformed. */
FLAKE_I_FN bool flake_i_etcd_clusters_in(const char *text, size_t len, unsigned *clusters, size_t *n) {
    flake_i_json in = {text, text + len, 0};
    for (*n = 0; *n < 16;) {
        flake_i_json_pass_blanks(&in);
        const char *const begin = in.at;
        uint64_t cluster = 0;
        (void)flake_i_json_pass_digits(&in);
        if (!flake_i_decimal(begin, in.at, &cluster) || cluster > 15) return false;
        clusters[(*n)++] = (unsigned)cluster;
        flake_i_json_pass_blanks(&in);
        if (in.at == in.end) return true;
        if (!flake_i_json_pass_text(&in, ",")) return false;
    }
    return false;
}

/* The H of a horizon's value "H TOKEN SEQ"; -1: malformed. */
FLAKE_I_FN int64_t flake_i_etcd_horizon_in(const char *bytes, size_t len) {
    flake_i_json in = {bytes, bytes + len, 0};
    int64_t horizon_ns;
    (void)flake_i_json_pass_digits(&in);
    if (!flake_i_whole(bytes, in.at, &horizon_ns)) return -1;
    if (!flake_i_json_pass_text(&in, " ") || flake_i_json_pass_any(&in, flake_i_hex_digits, 32) != 32) return -1;
    if (!flake_i_json_pass_text(&in, " ") || !flake_i_json_pass_digits(&in) || in.at != in.end) return -1;
    return horizon_ns;
}

enum { FLAKE_I_ETCD_NUMBERS = 2048 }; /* of a pool */

/* The state of a pool's numbers, by their distance from the first. */
typedef struct flake_i_etcd_numbers {
    uint64_t first;
    bool taken[FLAKE_I_ETCD_NUMBERS];
    int64_t horizon_ns[FLAKE_I_ETCD_NUMBERS]; /* INT64_MIN: no key; INT64_MAX: unreadable */
} flake_i_etcd_numbers;

/* Records the numbers of a range's keys that begin with `prefix`. False: the answer is malformed. */
FLAKE_I_FN bool flake_i_etcd_note_numbers(flake_i_json range, const char *prefix, size_t pool_size, bool horizons,
                                          flake_i_etcd_numbers *numbers) {
    const flake_i_json kvs = flake_i_json_get(range, "kvs");
    const size_t skip = strlen(prefix);
    flake_i_json name, kv = flake_i_json_none;
    if (!flake_i_json_get(range, "header").at || (kvs.at && *kvs.at != '[')) return false;
    while (flake_i_json_each(kvs, &name, &kv)) {
        char bytes[FLAKE_I_ETCD_KEY + 1];
        int64_t number;
        const flake_i_json key = flake_i_json_get(kv, "key");
        if (!key.at) return false;
        size_t len = flake_i_json_bytes(key, bytes, sizeof bytes);
        if (len == SIZE_MAX || len < skip || memcmp(bytes, prefix, skip) != 0) continue;
        if (!flake_i_whole(bytes + skip, bytes + len, &number)) continue; /* another client's */
        const uint64_t slot = (uint64_t)number - numbers->first;
        if (slot >= pool_size) continue;
        if (!horizons) {
            numbers->taken[slot] = true;
            continue;
        }
        len = flake_i_json_bytes(flake_i_json_get(kv, "value"), bytes, FLAKE_I_ETCD_VALUE);
        const int64_t horizon_ns = len == SIZE_MAX ? -1 : flake_i_etcd_horizon_in(bytes, len);
        numbers->horizon_ns[slot] = horizon_ns < 0 ? INT64_MAX : horizon_ns;
    }
    return true;
}

/* The value of one key of a range as base64, "" if there is no such key. False: the answer is malformed. */
FLAKE_I_FN bool flake_i_etcd_value_of(flake_i_json range, const char *key64, char value64[FLAKE_I_ETCD_VALUE]) {
    const flake_i_json kvs = flake_i_json_get(range, "kvs");
    flake_i_json name, kv = flake_i_json_none;
    *value64 = 0;
    if (!flake_i_json_get(range, "header").at) return false;
    while (flake_i_json_each(kvs, &name, &kv)) {
        const flake_i_json key = flake_i_json_string(flake_i_json_get(kv, "key"));
        if (!key.at) return false;
        if (!flake_i_json_is(key, key64, strlen(key64))) continue;
        const flake_i_json value = flake_i_json_string(flake_i_json_get(kv, "value"));
        const size_t len = value.at ? (size_t)(value.end - value.at) : 0;
        if (!len || len >= FLAKE_I_ETCD_VALUE || memchr(value.at, '\'', len)) return false;
        memcpy(value64, value.at, len);
        value64[len] = 0;
        return true;
    }
    return true;
}

/* The outcome of a transaction that replaces `known64` by `put64`. If etcd did not apply it, the answer contains
 * the horizon and the key of the pool, in this order. FLAKE_OK: applied; FLAKE_AGAIN: not applied, the horizon is
 * `known64` and the key of the pool does not exist; FLAKE_LEASE_LOST: not applied, another process has written one
 * of the two; FLAKE_IO: unknown. */
FLAKE_I_FN flake_status flake_i_etcd_outcome_in(flake_i_json txn, const char *horizon64, const char *known64,
                                                const char *put64) {
    char value64[FLAKE_I_ETCD_VALUE];
    const flake_i_json horizon = flake_i_json_get(txn, "responses/0/response_range");
    const flake_i_json pool = flake_i_json_get(txn, "responses/1/response_range");
    if (!flake_i_json_get(txn, "header").at) return FLAKE_IO;
    if (flake_i_json_is(flake_i_json_get(txn, "succeeded"), "true", 4)) return FLAKE_OK;
    if (!flake_i_json_get(horizon, "header").at) return FLAKE_IO;
    if (!flake_i_json_get(pool, "header").at) return FLAKE_IO;
    if (!flake_i_etcd_value_of(horizon, horizon64, value64)) return FLAKE_LEASE_LOST;
    /* an earlier request with these bytes was applied */
    if (strcmp(value64, put64) == 0) return FLAKE_OK;
    if (strcmp(value64, known64) != 0) return FLAKE_LEASE_LOST;
    return flake_i_json_get(pool, "kvs").at ? FLAKE_LEASE_LOST : FLAKE_AGAIN;
}

// >>etcd
/*
 * Claims in etcd: each number has a horizon that only its holder moves.
 *
 * KEYS, each with the prefix name_space; N is a number, C a cluster, both decimal
 *
 *     node/pool:N      the token of the number's current holder; attached to the holder's lease
 *     node/horizon:N   "H TOKEN SEQ", without a lease, and never deleted. H is a Unix time in ns; no ID of any
 *                      holder so far is later. TOKEN is 128 bits of FLAKE_RANDOM_BYTES per claim, SEQ counts the
 *                      claim's writes, so no value recurs
 *
 *     With uniqueid they are pool/C:N and horizon/C:N, as Lable's, and the key cluster-id lists the clusters to
 *     try: "3, 4"; no key: 0. Lable's programs count all keys below pool/: node/ is elsewhere.
 *
 * WRITES, each one transaction: if one of its conditions does not hold, nothing is written
 *
 *     claim     pool does not exist, horizon is as read    writes pool, and horizon max(H, now) + W
 *     extend    pool has our lease, horizon is ours        writes horizon max(H, asked + W, now + W)
 *     heal      pool does not exist, horizon is ours       writes pool with a new lease, and horizon
 *     release   pool has our lease, horizon is ours        writes horizon `asked`, deletes pool
 *
 *     W: options.horizon_ms; asked: the latest time for which IDs were admitted; ours: the bytes of our
 *     latest write
 *
 * WHY NO ID REPEATS
 *
 *  H1  Each write compares the horizon's bytes with those that its writer saw last, and writes bytes that
 *      never recur. So the successful writes form a chain.
 *  H2  A holder generates IDs up to the H of its latest write that it knows to have succeeded: `admit`
 *      refuses later times. If an answer is lost, the holder sends the same bytes again, and no other write
 *      until the outcome is known. If etcd refuses these bytes while the horizon has them, an earlier request
 *      applied them.
 *  H3  Only one write decreases H, the release. It is composed after the gate is closed, and writes `asked`.
 *      An admission raises `asked` and then checks that the gate is open; a release closes the gate and then
 *      reads `asked`. All four are sequentially consistent, so one of the two sees the other. So every time
 *      admitted before the close is at or before the `asked` that the release writes, however late the
 *      admitting thread continues.
 *  H4  A new holder starts after the H that its claim replaced (`floor`). By H1 no earlier holder writes
 *      after that claim. So by H2 and H3 every time admitted to an earlier holder is at or before that H.
 *
 *  Clocks, leases, leaders and stalled threads only affect how long a caller waits. If a horizon was edited,
 *  deleted or restored from a backup, or the machine was cloned, holders may overlap by at most one horizon.
 *
 *     label     at                              pairs with   and carries
 *     HELD:R    gate opened                     HELD:A       the claim's times
 *     ADMIT:S   `asked` raised, then the gate   END:S        one of the two sees the other (H3)
 *     END:S     gate closed, then `asked`       ADMIT:S
 */

/* Elapsed time, for leases: no program can set it, and on Linux it includes suspend. */
FLAKE_I_FN int64_t flake_i_elapsed_ns(void) {
#if defined(__linux__) && !defined(CLOCK_BOOTTIME)
    return flake_i_linux_ns(FLAKE_I_BOOTTIME);
#else
    struct timespec t;
#if defined(CLOCK_BOOTTIME)
    (void)clock_gettime(CLOCK_BOOTTIME, &t);
#else
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
#endif
    return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_nsec;
#endif
}

/* ---- requests ----
 *
 * FLAKE_OK: the answer is in `answer`; FLAKE_INVALID: etcd refused; FLAKE_IO: no conclusive answer, so etcd may
 * have executed the request.
 */

enum {
    FLAKE_I_ETCD_ENDPOINTS = 16,
    FLAKE_I_ETCD_ANSWER = 4 << 20, /* longest answer accepted: 2,048 long keys are 2 MB */
    /* gRPC status codes */
    FLAKE_I_ETCD_BAD_ARGUMENT = 3,
    FLAKE_I_ETCD_NOT_FOUND = 5,
    FLAKE_I_ETCD_DENIED = 7,
    FLAKE_I_ETCD_PRECONDITION = 9,
    FLAKE_I_ETCD_UNAUTHENTICATED = 16
};

typedef struct flake_i_etcd_body { /* of a request */
    char text[4096];
    size_t n;
} flake_i_etcd_body;

typedef struct flake_i_etcd_key {
    char text[FLAKE_I_ETCD_KEY], base64[(FLAKE_I_ETCD_KEY + 2) / 3 * 4 + 1];
} flake_i_etcd_key;

/* Used by the claim's thread; before it starts and after it has ended, by the caller of claim or release. */
typedef struct flake_i_etcd {
    flake_etcd_options options; /* with defaults filled in; the strings are the caller's */
    char name_space[256], endpoint[FLAKE_I_ETCD_ENDPOINTS][256];
    size_t endpoint_count, current;
    char *login; /* the body that authenticates; NULL: none */
    flake_i_atomic32 stop;

    CURL *easy, *watch;
    CURLM *multi; /* runs the watch; its wake-up ends the thread's wait */
    struct curl_slist *headers;
    bool watching, must_look; /* must_look: the watch has reported something */
    size_t watched;           /* the watch's endpoint */
    char *text;
    size_t text_len;
    flake_i_json answer; /* the latest, in `text` */
    int64_t code;        /* of etcd's refusal; 0: none */
    flake_why why;       /* of the latest failure */
    int64_t etcd_ns;     /* etcd's clock - flake_i_elapsed_ns; INT64_MIN: unknown */

    char token[33];
    size_t pool_size, start; /* `start` is tried first */
    uint64_t seq;
    flake_i_etcd_key horizon, pool;
    char known64[FLAKE_I_ETCD_VALUE]; /* the horizon as last written or read; "": none */
    int64_t lease, ttl_ms;            /* as granted; lease 0: none */
    /* the latest write, see WRITES */
    bool is_unsettled;
    int64_t put_ns;
    char put64[FLAKE_I_ETCD_VALUE];
    flake_i_etcd_body write;
} flake_i_etcd;

enum { FLAKE_I_ETCD_NONE, FLAKE_I_ETCD_HELD, FLAKE_I_ETCD_LOST };
enum { FLAKE_I_ETCD_WELL, FLAKE_I_ETCD_UNREACHED, FLAKE_I_ETCD_CLOCK, FLAKE_I_ETCD_TOO_FAR };
static const char *const flake_i_etcd_troubles[] = {"", "no endpoint confirmed the new horizon",
                                                    "this clock is more than 60 s ahead of etcd's",
                                                    "IDs were requested more than 60 s ahead of etcd's clock"};

/* a base time further ahead of etcd's clock moves no horizon */
#define FLAKE_I_ETCD_AHEAD_NS 60000000000

FLAKE_I_FN int64_t flake_i_elapsed_ms(void) { return flake_i_elapsed_ns() / 1000000; }

#if defined(__GNUC__)
#define FLAKE_I_PRINTF __attribute__((format(printf, 2, 3)))
#else
#define FLAKE_I_PRINTF
#endif

/* Appends to a body, and replaces each ' by ". */
FLAKE_I_PRINTF FLAKE_I_FN void flake_i_etcd_add(flake_i_etcd_body *body, const char *format, ...) {
    va_list given;
    va_start(given, format);
    (void)vsnprintf(body->text + body->n, sizeof body->text - body->n, format, given);
    va_end(given);
    for (; body->text[body->n]; body->n++)
        if (body->text[body->n] == '\'') body->text[body->n] = '"';
}

/* A key: the name space, then the formatted text. */
FLAKE_I_PRINTF FLAKE_I_FN flake_i_etcd_key flake_i_etcd_key_of(const flake_i_etcd *s, const char *format, ...) {
    flake_i_etcd_key key;
    const size_t n = strlen(s->name_space);
    va_list given;
    va_start(given, format);
    memcpy(key.text, s->name_space, n);
    (void)vsnprintf(key.text + n, sizeof key.text - n, format, given);
    va_end(given);
    flake_i_to_base64(key.text, strlen(key.text), key.base64);
    return key;
}

FLAKE_I_FN size_t flake_i_etcd_on_answer(char *bytes, size_t one, size_t n, void *user) {
    flake_i_etcd *s = (flake_i_etcd *)user;
    (void)one;
    if (n > FLAKE_I_ETCD_ANSWER - s->text_len) return 0;
    char *const more = (char *)realloc(s->text, s->text_len + n + 1);
    if (!more) return 0;
    s->text = more;
    memcpy(s->text + s->text_len, bytes, n);
    s->text_len += n;
    return n;
}

FLAKE_I_FN size_t flake_i_etcd_on_header(char *bytes, size_t one, size_t n, void *user) {
    char line[64];
    (void)one;
    if (n < 6 || n >= sizeof line) return n;
    memcpy(line, bytes, n);
    line[n] = 0;
    for (int i = 0; i < 4; i++) line[i] = (char)(line[i] | 32);
    if (memcmp(line, "date:", 5) != 0) return n;
    const int64_t date = (int64_t)curl_getdate(line + 5, NULL);
    if (date > 0 && date < INT64_MAX / 2000000000)
        ((flake_i_etcd *)user)->etcd_ns = date * 1000000000 - flake_i_elapsed_ns();
    return n;
}

/* Any report of a watch, of its creation or of a change, is a reason to check the keys. */
FLAKE_I_FN size_t flake_i_etcd_on_watch(char *bytes, size_t one, size_t n, void *user) {
    (void)bytes;
    (void)one;
    ((flake_i_etcd *)user)->must_look = true;
    return n;
}

FLAKE_I_FN bool flake_i_etcd_set_options(flake_i_etcd *s, CURL *easy,
                                         size_t (*on_body)(char *, size_t, size_t, void *)) {
    const flake_etcd_options *o = &s->options;
    bool ok = curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK;
    ok = ok && curl_easy_setopt(easy, CURLOPT_POST, 1L) == CURLE_OK;
    ok = ok && curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK;
    ok = ok && curl_easy_setopt(easy, CURLOPT_WRITEDATA, (void *)s) == CURLE_OK;
    ok = ok && curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, flake_i_etcd_on_header) == CURLE_OK;
    ok = ok && curl_easy_setopt(easy, CURLOPT_HEADERDATA, (void *)s) == CURLE_OK;
    ok = ok && curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK;
    ok = ok && curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L) == CURLE_OK;
    ok = ok && curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)o->timeout_ms) == CURLE_OK;
    if (o->ca_file) ok = ok && curl_easy_setopt(easy, CURLOPT_CAINFO, o->ca_file) == CURLE_OK;
    if (o->cert_file) ok = ok && curl_easy_setopt(easy, CURLOPT_SSLCERT, o->cert_file) == CURLE_OK;
    if (o->key_file) ok = ok && curl_easy_setopt(easy, CURLOPT_SSLKEY, o->key_file) == CURLE_OK;
    return ok;
}

FLAKE_I_FN bool flake_i_etcd_set_target(flake_i_etcd *s, CURL *easy, const char *path, const char *body) {
    char url[512];
    (void)snprintf(url, sizeof url, "%s/v3/%s", s->endpoint[s->current], path);
    return curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HTTPHEADER, s->headers) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)strlen(body)) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, body) == CURLE_OK;
}

FLAKE_I_FN flake_status flake_i_etcd_say(flake_i_etcd *s, const char *what) {
    return flake_i_say(&s->why, FLAKE_IO, s->endpoint[s->current], what);
}

/* Copies etcd's error text, without unprintable characters. */
FLAKE_I_FN void flake_i_etcd_say_refusal(flake_i_etcd *s, flake_i_json error) {
    char text[128];
    size_t n = 0;
    if (error.at && *error.at == '"')
        for (const char *at = error.at + 1; at + 1 < error.end && n + 1 < sizeof text; at++)
            if (*at >= ' ' && *at <= '~') text[n++] = *at;
    text[n] = 0;
    (void)flake_i_etcd_say(s, n ? text : "etcd refused without a reason");
}

/* Parses the answer received. */
FLAKE_I_FN flake_status flake_i_etcd_read_answer(flake_i_etcd *s) {
    long http = 0;
    (void)curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &http);
    s->answer = flake_i_json_text(s->text ? s->text : "", s->text_len);
    if (!s->answer.at || *s->answer.at != '{') {
        char what[64];
        (void)snprintf(what, sizeof what, "HTTP %ld without etcd's JSON", http);
        return flake_i_etcd_say(s, what);
    }
    const flake_i_json error = flake_i_json_get(s->answer, "error");
    flake_i_json code = flake_i_json_get(s->answer, "code");
    if (!code.at) code = flake_i_json_get(error, "grpc_code"); /* in a stream */
    if (http == 200 && !code.at && !error.at) return FLAKE_OK;
    flake_i_etcd_say_refusal(s, error);
    (void)flake_i_json_number(code, &s->code);
    switch (s->code) {
    case FLAKE_I_ETCD_BAD_ARGUMENT:
    case FLAKE_I_ETCD_NOT_FOUND:
    case FLAKE_I_ETCD_DENIED:
    case FLAKE_I_ETCD_PRECONDITION:
    case FLAKE_I_ETCD_UNAUTHENTICATED: return FLAKE_INVALID;
    default: return FLAKE_IO; /* no leader, no space, too many requests, timed out ... */
    }
}

/* One request to the current endpoint. */
FLAKE_I_FN flake_status flake_i_etcd_post(flake_i_etcd *s, const char *path, const char *body) {
    const long timeout_ms = (long)s->options.timeout_ms;
    s->answer.at = NULL;
    s->text_len = 0;
    s->code = 0;
    if (!flake_i_etcd_set_target(s, s->easy, path, body) ||
        curl_easy_setopt(s->easy, CURLOPT_TIMEOUT_MS, timeout_ms) != CURLE_OK)
        return flake_i_etcd_say(s, "libcurl rejects the request, or out of memory");
    const CURLcode sent = curl_easy_perform(s->easy);
    if (sent != CURLE_OK) return flake_i_etcd_say(s, curl_easy_strerror(sent));
    return flake_i_etcd_read_answer(s);
}

FLAKE_I_FN void flake_i_etcd_unwatch(flake_i_etcd *s) {
    if (s->watching) (void)curl_multi_remove_handle(s->multi, s->watch);
    s->watching = false;
}

FLAKE_I_FN bool flake_i_etcd_set_headers(flake_i_etcd *s, flake_i_json token) {
    char line[2048];
    flake_i_etcd_unwatch(s); /* it uses the old list */
    curl_slist_free_all(s->headers);
    s->headers = curl_slist_append(NULL, "Content-Type: application/json");
    if (!s->headers || !curl_slist_append(s->headers, "Expect:")) return false;
    if (!token.at) return true;
    const int len = (int)(token.end - token.at);
    const int n = snprintf(line, sizeof line, "Authorization: %.*s", len, token.at);
    return n > 0 && (size_t)n < sizeof line && curl_slist_append(s->headers, line) != NULL;
}

FLAKE_I_FN flake_status flake_i_etcd_log_in(flake_i_etcd *s) {
    if (!flake_i_etcd_set_headers(s, flake_i_json_none)) return FLAKE_IO;
    const flake_status status = flake_i_etcd_post(s, "auth/authenticate", s->login);
    if (status != FLAKE_OK) return status;
    const flake_i_json token = flake_i_json_string(flake_i_json_get(s->answer, "token"));
    if (token.at && flake_i_etcd_set_headers(s, token)) return FLAKE_OK;
    return flake_i_etcd_say(s, "no token in etcd's answer");
}

FLAKE_I_FN void flake_i_etcd_next_endpoint(flake_i_etcd *s) { s->current = (s->current + 1) % s->endpoint_count; }

/* Sends a request to one endpoint after another until one answers conclusively. If etcd answers that the client is
 * not logged in (no token yet, an expired token, or one unknown to this endpoint), logs in and sends it again. */
FLAKE_I_FN flake_status flake_i_etcd_call(flake_i_etcd *s, const char *path, const char *body) {
    flake_status status = FLAKE_IO;
    for (size_t tries = 0; tries < s->endpoint_count; tries++) {
        status = flake_i_etcd_post(s, path, body);
        if (s->login && (s->code == FLAKE_I_ETCD_UNAUTHENTICATED || s->code == FLAKE_I_ETCD_BAD_ARGUMENT)) {
            status = flake_i_etcd_log_in(s);
            if (status == FLAKE_OK) status = flake_i_etcd_post(s, path, body);
        }
        if (status != FLAKE_IO) return status;
        flake_i_etcd_next_endpoint(s);
        if (FLAKE_ATOMIC_LOAD(&s->stop, relaxed)) break;
    }
    return status;
}

/* A watch is only a hint that a key may have changed. range_end64 "": one key. */
FLAKE_I_FN void flake_i_etcd_watch(flake_i_etcd *s, const char *key64, const char *range_end64) {
    flake_i_etcd_body body = {"", 0};
    if (s->watching && s->watched == s->current) return;
    flake_i_etcd_unwatch(s);
    s->watched = s->current;
    s->must_look = false;
    flake_i_etcd_add(&body, "{'create_request':{'key':'%s','range_end':'%s'}}", key64, range_end64);
    if (flake_i_etcd_set_target(s, s->watch, "watch", body.text))
        s->watching = curl_multi_add_handle(s->multi, s->watch) == CURLM_OK;
}

/* Returns after that time, or when the watch reports something, or on curl_multi_wakeup. False: the watch has
 * ended. */
FLAKE_I_FN bool flake_i_etcd_wait(flake_i_etcd *s, int ms) {
    int running = 0, left = 0;
    bool ended = false;
    (void)curl_multi_perform(s->multi, &running);
    if (!s->must_look) (void)curl_multi_poll(s->multi, NULL, 0, ms, NULL);
    (void)curl_multi_perform(s->multi, &running);
    while (curl_multi_info_read(s->multi, &left)) ended = true; /* the only message is "done" */
    if (ended) flake_i_etcd_unwatch(s);
    return !ended;
}

/* ---- the lease: it only decides how long etcd keeps the key of the pool ---- */

FLAKE_I_FN flake_status flake_i_etcd_grant(flake_i_etcd *s) {
    flake_i_etcd_body body = {"", 0};
    int64_t seconds = 0;
    flake_i_etcd_add(&body, "{'TTL':'%lld'}", (long long)((s->options.ttl_ms + 999) / 1000));
    const flake_status status = flake_i_etcd_call(s, "lease/grant", body.text);
    if (status != FLAKE_OK) return status;
    (void)flake_i_json_number(flake_i_json_get(s->answer, "TTL"), &seconds);
    if (seconds >= 1 && seconds <= INT32_MAX && flake_i_json_number(flake_i_json_get(s->answer, "ID"), &s->lease) &&
        s->lease) {
        s->ttl_ms = seconds * 1000;
        return FLAKE_OK;
    }
    s->lease = 0;
    return flake_i_etcd_say(s, "no lease in etcd's answer");
}

/* FLAKE_INVALID: there is no such lease. */
FLAKE_I_FN flake_status flake_i_etcd_keep_alive(flake_i_etcd *s) {
    flake_i_etcd_body body = {"", 0};
    flake_i_etcd_add(&body, "{'ID':'%lld'}", (long long)s->lease);
    const flake_status status = flake_i_etcd_call(s, "lease/keepalive", body.text);
    int64_t seconds;
    const bool is_renewed = flake_i_json_number(flake_i_json_get(s->answer, "result/TTL"), &seconds);
    return status == FLAKE_OK && !is_renewed ? FLAKE_INVALID : status;
}

/* etcd then deletes the key of the pool, if the key still has this lease. */
FLAKE_I_FN void flake_i_etcd_revoke(flake_i_etcd *s) {
    flake_i_etcd_body body = {"", 0};
    if (!s->lease) return;
    flake_i_etcd_add(&body, "{'ID':'%lld'}", (long long)s->lease);
    (void)flake_i_etcd_call(s, "lease/revoke", body.text);
    s->lease = 0;
}

/* ---- writes ---- */

/* Whether a time is so far ahead of etcd's clock that it must not move a horizon. */
FLAKE_I_FN bool flake_i_etcd_is_too_far(const flake_i_etcd *s, int64_t ns) {
    if (s->etcd_ns == INT64_MIN) return false;
    const int64_t etcd_ns = s->etcd_ns + flake_i_elapsed_ns();
    return ns > etcd_ns && flake_i_ns_until(ns, etcd_ns) > FLAKE_I_ETCD_AHEAD_NS;
}

/* Reads the clock. False: it is too far ahead of etcd's to move a horizon. */
FLAKE_I_FN bool flake_i_etcd_read_clock(flake_i_etcd *s, int64_t *now_ns) {
    *now_ns = FLAKE_CLOCK_NS(FLAKE_CLOCK_EXACT);
    if (!flake_i_etcd_is_too_far(s, *now_ns)) return true;
    (void)flake_i_etcd_say(s, flake_i_etcd_troubles[FLAKE_I_ETCD_CLOCK]);
    flake_i_etcd_next_endpoint(s); /* etcd's clock may be the wrong one */
    return false;
}

/* The horizon for IDs up to `until`. */
FLAKE_I_FN int64_t flake_i_etcd_ahead_of(const flake_i_etcd *s, int64_t until_ns) {
    const int64_t ahead_ns = s->options.horizon_ms * 1000000;
    if (until_ns < 0) until_ns = 0;
    return until_ns > INT64_MAX - ahead_ns ? INT64_MAX : until_ns + ahead_ns;
}

/* See WRITES; TAKE is claim and heal. */
typedef enum flake_i_etcd_write { FLAKE_I_ETCD_TAKE, FLAKE_I_ETCD_EXTEND, FLAKE_I_ETCD_RELEASE } flake_i_etcd_write;

/* Composes the transaction that flake_i_etcd_settle_write sends. */
FLAKE_I_FN void flake_i_etcd_compose_write(flake_i_etcd *s, flake_i_etcd_write write, int64_t put_ns) {
    char value[FLAKE_I_ETCD_VALUE], token64[48];
    const char *const horizon64 = s->horizon.base64, *const pool64 = s->pool.base64;
    const char *const is_absent = "'CREATE','create_revision':'0'";
    const long long lease = (long long)s->lease;
    flake_i_etcd_body *const b = &s->write;
    s->is_unsettled = true;
    s->put_ns = put_ns;
    (void)snprintf(value, sizeof value, "%lld %s %llu", (long long)put_ns, s->token, (unsigned long long)++s->seq);
    flake_i_to_base64(value, strlen(value), s->put64);
    flake_i_to_base64(s->token, strlen(s->token), token64);

    b->n = 0;
    flake_i_etcd_add(b, "{'compare':[{'key':'%s','target':", horizon64);
    if (*s->known64) flake_i_etcd_add(b, "'VALUE','value':'%s'", s->known64);
    else flake_i_etcd_add(b, "%s", is_absent);
    flake_i_etcd_add(b, "},{'key':'%s','target':", pool64);
    if (write == FLAKE_I_ETCD_TAKE) flake_i_etcd_add(b, "%s", is_absent);
    else flake_i_etcd_add(b, "'LEASE','lease':'%lld'", lease);
    flake_i_etcd_add(b, "}],'success':[{'request_put':{'key':'%s','value':'%s'}}", horizon64, s->put64);
    if (write == FLAKE_I_ETCD_TAKE)
        flake_i_etcd_add(b, ",{'request_put':{'key':'%s','value':'%s','lease':'%lld'}}", pool64, token64, lease);
    if (write == FLAKE_I_ETCD_RELEASE) flake_i_etcd_add(b, ",{'request_delete_range':{'key':'%s'}}", pool64);
    flake_i_etcd_add(b, "],'failure':[{'request_range':{'key':'%s'}},", horizon64);
    flake_i_etcd_add(b, "{'request_range':{'key':'%s'}}]}", pool64);
}

/* Sends the unsettled write, always with the same bytes; returns the status of flake_i_etcd_outcome_in. */
FLAKE_I_FN flake_status flake_i_etcd_settle_write(flake_i_etcd *s) {
    flake_status status = FLAKE_IO;
    for (int tries = 0; tries < 2 && status == FLAKE_IO; tries++) {
        status = flake_i_etcd_call(s, "kv/txn", s->write.text);
        if (status == FLAKE_OK) {
            status = flake_i_etcd_outcome_in(s->answer, s->horizon.base64, s->known64, s->put64);
            if (status == FLAKE_IO) flake_i_etcd_say(s, "unexpected answer to a transaction");
        }
    }
    /* No such lease: etcd checks the lease after the comparison, so nothing was written. */
    if (status == FLAKE_INVALID) status = s->code == FLAKE_I_ETCD_NOT_FOUND ? FLAKE_AGAIN : FLAKE_IO;
    if (status == FLAKE_OK) memcpy(s->known64, s->put64, sizeof s->known64);
    if (status == FLAKE_AGAIN) s->lease = 0; /* the next write heals */
    if (status != FLAKE_IO) s->is_unsettled = false;
    return status;
}

/* The next horizon: ahead of the clock and of the times requested, and never earlier than the last one. False:
 * this clock is ahead of etcd's. */
FLAKE_I_FN bool flake_i_etcd_next_horizon(flake_etcd *c, int64_t *put_ns) {
    flake_i_etcd *const s = c->session;
    int64_t base_ns;
    if (!flake_i_etcd_read_clock(s, &base_ns)) {
        FLAKE_ATOMIC_STORE(&c->trouble, FLAKE_I_ETCD_CLOCK, relaxed);
        return false;
    }
    const int64_t asked_ns[] = {(int64_t)FLAKE_ATOMIC_LOAD(&c->asked_ns, relaxed),
                                (int64_t)FLAKE_ATOMIC_LOAD(&c->wanted_ns, relaxed)};
    FLAKE_ATOMIC_STORE(&c->wanted_ns, 0u, relaxed); /* waiting draws ask again */
    FLAKE_ATOMIC_STORE(&c->trouble, FLAKE_I_ETCD_WELL, relaxed);
    for (int i = 0; i < 2; i++)
        if (flake_i_etcd_is_too_far(s, asked_ns[i])) FLAKE_ATOMIC_STORE(&c->trouble, FLAKE_I_ETCD_TOO_FAR, relaxed);
        else base_ns = flake_i_max_i64(base_ns, asked_ns[i]);
    *put_ns = flake_i_max_i64(flake_i_etcd_ahead_of(s, base_ns), (int64_t)FLAKE_ATOMIC_LOAD(&c->horizon_ns, relaxed));
    return true;
}

/* Extends the horizon, and restores the key of the pool if it is missing. FLAKE_LEASE_LOST: the claim is lost;
 * FLAKE_IO: unconfirmed. */
FLAKE_I_FN flake_status flake_i_etcd_extend_horizon(flake_etcd *c) {
    flake_i_etcd *const s = c->session;
    for (int tries = 0; tries < 4; tries++) {
        const bool is_old = s->is_unsettled;
        int64_t put_ns;
        if (!is_old) {
            const bool heals = !s->lease;
            if (!flake_i_etcd_next_horizon(c, &put_ns)) return FLAKE_IO;
            if (heals && flake_i_etcd_grant(s) != FLAKE_OK) break;
            flake_i_etcd_compose_write(s, heals ? FLAKE_I_ETCD_TAKE : FLAKE_I_ETCD_EXTEND, put_ns);
        }
        const flake_status status = flake_i_etcd_settle_write(s);
        if (status == FLAKE_LEASE_LOST) return status;
        if (status == FLAKE_IO) break;
        if (status == FLAKE_AGAIN) continue;
        FLAKE_ATOMIC_STORE(&c->horizon_ns, (uint64_t)s->put_ns, relaxed);
        if (!is_old) return FLAKE_OK;
    }
    FLAKE_ATOMIC_STORE(&c->trouble, FLAKE_I_ETCD_UNREACHED, relaxed);
    return FLAKE_IO;
}

/* ---- the gate ---- */

FLAKE_I_FN bool flake_i_etcd_is_held(uint64_t state) { return (state & 3) == FLAKE_I_ETCD_HELD; }

FLAKE_I_FN void flake_i_etcd_close_gate(flake_etcd *c, uint64_t state, uint64_t reason) {
    const uint64_t closed = (state & ~(uint64_t)3) | reason;
    if (FLAKE_ATOMIC_CAS(&c->state, &state, closed, seq_cst, relaxed) && c->fence) /* END:S */
        /* a draw that misses it asks the gate in the next unit */
        FLAKE_ATOMIC_STORE(c->fence, 0u, relaxed);
}

/* Sets a time if the new one is later. */
FLAKE_I_FN void flake_i_etcd_raise_time(flake_atomic64 *at, int64_t ns) {
    uint64_t seen = FLAKE_ATOMIC_LOAD(at, seq_cst);                                              /* ADMIT:S */
    while ((int64_t)seen < ns && !FLAKE_ATOMIC_CAS(at, &seen, (uint64_t)ns, seq_cst, seq_cst)) { /* ADMIT:S */
    }
}

/* Lock-free. */
FLAKE_I_FN flake_status flake_i_etcd_gate(void *user, int64_t until_ns) {
    flake_etcd *c = (flake_etcd *)user;
    const uint64_t state = FLAKE_ATOMIC_LOAD(&c->state, acquire); /* HELD:A */
    if (!flake_i_etcd_is_held(state)) return FLAKE_LEASE_LOST;
    if (c->process != flake_i_process_owner_id()) return FLAKE_FORKED;
    if (until_ns <= c->floor_ns) return FLAKE_CLOCK_BACKWARDS;
    if (until_ns > (int64_t)FLAKE_ATOMIC_LOAD(&c->horizon_ns, relaxed)) {
        flake_i_etcd_raise_time(&c->wanted_ns, until_ns);
        const uint32_t trouble = FLAKE_ATOMIC_LOAD(&c->trouble, relaxed);
        return trouble == FLAKE_I_ETCD_WELL ? FLAKE_AGAIN : FLAKE_IO;
    }
    flake_i_etcd_raise_time(&c->asked_ns, until_ns);
    const bool is_open = FLAKE_ATOMIC_LOAD(&c->state, seq_cst) == state; /* ADMIT:S */
    return is_open ? FLAKE_OK : FLAKE_LEASE_LOST;
}

/* A generator starts after all earlier holders and after earlier generators of this claim. */
FLAKE_I_FN int64_t flake_i_etcd_not_before(void *user) {
    return (int64_t)FLAKE_ATOMIC_LOAD(&((flake_etcd *)user)->asked_ns, relaxed);
}

/* ---- the thread ---- */

/* Whether draws wait for a horizon that the next attempt may bring. */
FLAKE_I_FN bool flake_i_etcd_is_wanted(flake_etcd *c) {
    return FLAKE_ATOMIC_LOAD(&c->wanted_ns, relaxed) != 0 &&
           FLAKE_ATOMIC_LOAD(&c->trouble, relaxed) == FLAKE_I_ETCD_WELL;
}

FLAKE_I_FN void *flake_i_etcd_keep_claim(void *user) {
    flake_etcd *c = (flake_etcd *)user;
    flake_i_etcd *s = c->session;
    const uint64_t state = FLAKE_ATOMIC_LOAD(&c->state, relaxed);
    const int64_t tick_ms = s->ttl_ms / 3, third_ms = s->options.horizon_ms / 3;
    const int64_t soon_ms =
        (int64_t)flake_i_min_u64(flake_i_min_u64((uint64_t)tick_ms / 4, (uint64_t)s->options.timeout_ms), 250);
    int64_t renew_ms = flake_i_elapsed_ms() + tick_ms, extend_ms = flake_i_elapsed_ms() + third_ms;
    int64_t look_ms = 0; /* no earlier, whatever the watch reports: it may report all the time */
    flake_i_etcd_watch(s, s->pool.base64, "");
    while (flake_i_etcd_is_held(state) && !FLAKE_ATOMIC_LOAD(&s->stop, relaxed)) {
        int64_t now_ms = flake_i_elapsed_ms();
        if (now_ms >= renew_ms) {
            const flake_status renewed = flake_i_etcd_keep_alive(s);
            s->must_look = s->must_look || renewed == FLAKE_INVALID;
            now_ms = flake_i_elapsed_ms();
            renew_ms = now_ms + (renewed == FLAKE_IO ? soon_ms : tick_ms);
        }
        /* the report is kept, and the wait is not for another */
        if (s->must_look && now_ms < look_ms) {
            s->must_look = false;
            if (extend_ms > look_ms) extend_ms = look_ms;
        }
        if (!s->must_look && now_ms < extend_ms && !flake_i_etcd_is_wanted(c)) {
            const int64_t due_ms = (extend_ms < renew_ms ? extend_ms : renew_ms) - now_ms;
            /* Every 100 ms it checks whether a draw wants a later horizon. If the watch ended, the key may be
             * gone as well. */
            if (!flake_i_etcd_wait(s, due_ms < 100 ? (int)due_ms : 100) && extend_ms > now_ms + soon_ms)
                extend_ms = now_ms + soon_ms;
            continue;
        }
        s->must_look = false;
        const flake_status status = flake_i_etcd_extend_horizon(c);
        if (status == FLAKE_LEASE_LOST) {
            flake_i_etcd_close_gate(c, state, FLAKE_I_ETCD_LOST);
            break;
        }
        look_ms = flake_i_elapsed_ms() + soon_ms;
        extend_ms = status == FLAKE_OK ? look_ms - soon_ms + third_ms : look_ms;
        if (status == FLAKE_OK) flake_i_etcd_watch(s, s->pool.base64, "");
        else flake_i_etcd_unwatch(s);
    }
    flake_i_etcd_unwatch(s);
    return NULL;
}

/* ---- options ---- */

/* Fills in the defaults; returns the reason why an option is invalid, or NULL. */
FLAKE_I_FN const char *flake_i_etcd_resolve(flake_etcd_options *o) {
    const int64_t hour_ms = 3600000;
    if (!o->endpoints) o->endpoints = "http://127.0.0.1:2379";
    if (!o->name_space) o->name_space = "";
    if (o->uniqueid && !o->last) o->last = 255;
    if (!o->ttl_ms) o->ttl_ms = 10000;
    if (!o->horizon_ms) o->horizon_ms = 30000;
    if (!o->timeout_ms) o->timeout_ms = o->ttl_ms / 8;
    if (strlen(o->name_space) > 255) return "name_space: longer than 255 bytes";
    if (!o->last) return "last: is 0: first and last are the numbers of the pool; or uniqueid = true";
    if (o->last >> (o->uniqueid ? 11 : 48)) return "last: exceeds 2^48 - 1, or uniqueid's 2,047";
    if (o->first > o->last || o->last - o->first >= FLAKE_I_ETCD_NUMBERS)
        return "first: exceeds last, or the pool has more than 2,048 numbers";
    if (o->cluster > (o->cluster_given ? 15 : 0) || (o->cluster_given && !o->uniqueid))
        return "cluster: exceeds 15, or is set without cluster_given and uniqueid";
    if (o->ttl_ms < 1000 || o->ttl_ms > 300000) return "ttl_ms: not 1,000 to 300,000";
    if (o->horizon_ms < 1000 || o->horizon_ms > hour_ms) return "horizon_ms: not 1,000 to 3,600,000";
    if (o->wait_ms < 0 || o->wait_ms > INT64_MAX / 4) return "wait_ms: out of range";
    if (o->timeout_ms < 0 || o->timeout_ms > hour_ms) return "timeout_ms: not 0 to 3,600,000";
    return o->password && !o->user ? "password: without user" : NULL;
}

/* Splits "http://a:1, https://b:2/". */
FLAKE_I_FN bool flake_i_etcd_parse_endpoints(flake_i_etcd *s, const char *at) {
    for (const char *comma; *at; at = comma + (*comma == ',')) {
        comma = at + strcspn(at, ",");
        at += strspn(at, " ");
        size_t n = (size_t)(comma - at);
        while (n && (at[n - 1] == ' ' || at[n - 1] == '/')) n--;
        const size_t scheme = strncmp(at, "https://", 8) == 0 ? 8 : 7;
        if (scheme == 7 && strncmp(at, "http://", 7) != 0) return false;
        if (n <= scheme || n > 255 || s->endpoint_count == FLAKE_I_ETCD_ENDPOINTS) return false;
        for (size_t i = 0; i < n; i++)
            if (at[i] <= ' ' || at[i] > '~') return false;
        memcpy(s->endpoint[s->endpoint_count++], at, n);
    }
    return s->endpoint_count > 0;
}

FLAKE_I_FN bool flake_i_etcd_write_login(flake_i_etcd *s) {
    const char *const user = s->options.user, *const password = s->options.password;
    s->login = (char *)malloc((strlen(user) + (password ? strlen(password) : 0)) * 6 + 32);
    if (!s->login) return false;
    strcpy(s->login, "{\"name\":\"");
    flake_i_json_quote(s->login, user);
    strcat(s->login, "\",\"password\":\"");
    flake_i_json_quote(s->login, password ? password : "");
    strcat(s->login, "\"}");
    return true;
}

/* 128 random bits, as hex digits. */
FLAKE_I_FN bool flake_i_etcd_draw_token(flake_i_etcd *s) {
    uint64_t random[2];
    if (!flake_i_random_bytes(random, sizeof random)) return false;
    (void)flake_format_fixed(random[0], FLAKE_HEX, s->token, 17);
    (void)flake_format_fixed(random[1], FLAKE_HEX, s->token + 16, 17);
    s->pool_size = (size_t)(s->options.last - s->options.first) + 1;
    s->start = (size_t)(random[1] % s->pool_size);
    return true;
}

FLAKE_I_FN void flake_i_etcd_close_session(flake_i_etcd *s) {
    if (s->multi) (void)curl_multi_cleanup(s->multi);
    if (s->easy) curl_easy_cleanup(s->easy);
    if (s->watch) curl_easy_cleanup(s->watch);
    curl_slist_free_all(s->headers);
    free(s->text);
    free(s->login);
    free(s);
}

/* Prepares a claim up to its first request. Each reason is written before the step that can fail. */
FLAKE_I_FN flake_status flake_i_etcd_open_session(flake_i_etcd *s, const flake_etcd_options *options) {
    flake_etcd_options *const o = &s->options;
    if (options) *o = *options;
    const char *const unfit = flake_i_etcd_resolve(o);
    flake_i_put_why(&s->why, "flake_etcd_options.", unfit ? unfit : "", "");
    if (unfit) return FLAKE_INVALID;
    flake_i_put_why(&s->why, "flake_etcd_options.endpoints: not 1 to 16 URLs with http:// or https://: \"",
                    o->endpoints, "\"");
    if (!flake_i_etcd_parse_endpoints(s, o->endpoints)) return FLAKE_INVALID;
    memcpy(s->name_space, o->name_space, strlen(o->name_space));
    s->etcd_ns = INT64_MIN;
    s->easy = curl_easy_init();
    s->watch = curl_easy_init();
    s->multi = curl_multi_init();
    flake_i_put_why(&s->why, "libcurl cannot start, or out of memory", "", "");
    if (!s->easy || !s->watch || !s->multi) return FLAKE_IO;
    if (o->user && !flake_i_etcd_write_login(s)) return FLAKE_IO;
    if (!flake_i_etcd_set_headers(s, flake_i_json_none)) return FLAKE_IO;
    flake_i_put_why(&s->why, "flake_etcd_options: libcurl refuses ca_file, cert_file or key_file", "", "");
    if (!flake_i_etcd_set_options(s, s->easy, flake_i_etcd_on_answer)) return FLAKE_INVALID;
    if (!flake_i_etcd_set_options(s, s->watch, flake_i_etcd_on_watch)) return FLAKE_INVALID;
    flake_i_put_why(&s->why, "the system has no random bytes", "", "");
    return flake_i_etcd_draw_token(s) ? FLAKE_OK : FLAKE_IO;
}

/* ---- claim ---- */

FLAKE_I_FN flake_status flake_i_etcd_read_clusters(flake_i_etcd *s, unsigned *clusters, size_t *n) {
    char value[128];
    flake_i_etcd_body body = {"", 0};
    const flake_i_etcd_key key = flake_i_etcd_key_of(s, "cluster-id");
    clusters[0] = s->options.cluster;
    *n = 1;
    if (s->options.cluster_given || !s->options.uniqueid) return FLAKE_OK;
    flake_i_etcd_add(&body, "{'key':'%s'}", key.base64);
    if (flake_i_etcd_call(s, "kv/range", body.text) != FLAKE_OK) return FLAKE_IO;
    if (!flake_i_json_get(s->answer, "header").at) return flake_i_etcd_say(s, "unexpected answer to a range request");
    if (!flake_i_json_get(s->answer, "kvs").at) return FLAKE_OK; /* no such key: 0 */
    const flake_i_json list = flake_i_json_get(s->answer, "kvs/0/value");
    const size_t len = flake_i_json_bytes(list, value, sizeof value);
    if (len != SIZE_MAX && flake_i_etcd_clusters_in(value, len, clusters, n)) return FLAKE_OK;
    flake_i_put_why(&s->why, "the key ", key.text, " is not a number from 0 to 15, or a list of them");
    return FLAKE_INVALID;
}

/* A key of a pool, see KEYS. The rest is ":N", or one byte for the bounds of all its numbers. */
FLAKE_I_FN flake_i_etcd_key flake_i_etcd_pool_key(const flake_i_etcd *s, const char *kind, unsigned cluster,
                                                  const char *rest) {
    return s->options.uniqueid ? flake_i_etcd_key_of(s, "%s/%u%s", kind, cluster, rest)
                               : flake_i_etcd_key_of(s, "node/%s%s", kind, rest);
}

/* Reads the pool and its horizons in one transaction. Linearizable: etcd asks a majority. */
FLAKE_I_FN flake_status flake_i_etcd_read_numbers(flake_i_etcd *s, unsigned cluster, flake_i_etcd_numbers *numbers) {
    const flake_i_etcd_key pool = flake_i_etcd_pool_key(s, "pool", cluster, ":");
    const flake_i_etcd_key pool_end = flake_i_etcd_pool_key(s, "pool", cluster, ";");
    const flake_i_etcd_key horizon = flake_i_etcd_pool_key(s, "horizon", cluster, ":");
    const flake_i_etcd_key horizon_end = flake_i_etcd_pool_key(s, "horizon", cluster, ";");
    flake_i_etcd_body body = {"", 0};
    flake_i_etcd_add(&body, "{'success':[{'request_range':{'key':'%s','range_end':'%s',", pool.base64, pool_end.base64);
    flake_i_etcd_add(&body, "'keys_only':true}},{'request_range':{'key':'%s','range_end':'%s'}}]}", horizon.base64,
                     horizon_end.base64);
    /* before reading, so no change is missed */
    if (s->options.wait_ms) flake_i_etcd_watch(s, pool.base64, pool_end.base64);
    if (flake_i_etcd_call(s, "kv/txn", body.text) != FLAKE_OK) return FLAKE_IO;
    numbers->first = s->options.first;
    for (size_t i = 0; i < s->pool_size; i++) numbers->horizon_ns[i] = INT64_MIN;
    if (flake_i_etcd_note_numbers(flake_i_json_get(s->answer, "responses/0/response_range"), pool.text, s->pool_size,
                                  false, numbers) &&
        flake_i_etcd_note_numbers(flake_i_json_get(s->answer, "responses/1/response_range"), horizon.text, s->pool_size,
                                  true, numbers))
        return FLAKE_OK;
    return flake_i_etcd_say(s, "unexpected answer to a range request");
}

/* The first free number from `start` on whose horizon has passed; otherwise the one whose horizon passes first, if
 * that is within 60 s. SIZE_MAX: none. */
FLAKE_I_FN size_t flake_i_etcd_choose_number(const flake_i_etcd_numbers *numbers, size_t size, size_t start,
                                             int64_t now_ns, bool *is_blocked) {
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < size; i++) {
        const size_t at = (start + i) % size;
        const int64_t horizon_ns = numbers->horizon_ns[at];
        if (numbers->taken[at]) continue;
        if (horizon_ns <= now_ns) return at;
        if (flake_i_ns_until(horizon_ns, now_ns) > FLAKE_I_ETCD_AHEAD_NS) *is_blocked = true;
        else if (best == SIZE_MAX || horizon_ns < numbers->horizon_ns[best]) best = at;
    }
    return best;
}

/* Claims a number in the state that the answer shows. FLAKE_LEASE_LOST: another process was faster. */
FLAKE_I_FN flake_status flake_i_etcd_claim_number(flake_etcd *c, flake_i_etcd *s, unsigned cluster, uint64_t number,
                                                  int64_t floor_ns, int64_t now_ns) {
    const int64_t put_ns = flake_i_etcd_ahead_of(s, flake_i_max_i64(floor_ns, now_ns));
    flake_status status = FLAKE_AGAIN;
    char rest[24];
    (void)snprintf(rest, sizeof rest, ":%llu", (unsigned long long)number);
    s->pool = flake_i_etcd_pool_key(s, "pool", cluster, rest);
    s->horizon = flake_i_etcd_pool_key(s, "horizon", cluster, rest);
    if (!flake_i_etcd_value_of(flake_i_json_get(s->answer, "responses/1/response_range"), s->horizon.base64,
                               s->known64))
        return FLAKE_LEASE_LOST;
    for (int tries = 0; tries < 3 && status == FLAKE_AGAIN; tries++) {
        /* The lease may have expired while no number was free. */
        if (!s->lease && flake_i_etcd_grant(s) != FLAKE_OK) return FLAKE_IO;
        flake_i_etcd_compose_write(s, FLAKE_I_ETCD_TAKE, put_ns);
        status = flake_i_etcd_settle_write(s);
    }
    if (status == FLAKE_AGAIN) (void)flake_i_etcd_say(s, "leases expire at once, or answers contradict each other");
    if (status != FLAKE_OK) return status == FLAKE_LEASE_LOST ? FLAKE_LEASE_LOST : FLAKE_IO;
    c->floor_ns = floor_ns;
    c->node = s->options.uniqueid ? flake_uniqueid_node(cluster, (unsigned)number) : number;
    FLAKE_ATOMIC_STORE(&c->asked_ns, (uint64_t)floor_ns, relaxed);
    FLAKE_ATOMIC_STORE(&c->wanted_ns, 0u, relaxed);
    FLAKE_ATOMIC_STORE(&c->trouble, FLAKE_I_ETCD_WELL, relaxed);
    FLAKE_ATOMIC_STORE(&c->horizon_ns, (uint64_t)put_ns, relaxed);
    return FLAKE_OK;
}

/* Tries the free numbers of one cluster. FLAKE_AGAIN: there is none. */
FLAKE_I_FN flake_status flake_i_etcd_claim_in_cluster(flake_etcd *c, flake_i_etcd *s, unsigned cluster,
                                                      bool *is_blocked) {
    flake_i_etcd_numbers numbers;
    size_t doubts = 0;
    memset(numbers.taken, 0, sizeof numbers.taken);
    for (size_t tries = 0; tries < s->pool_size; tries++) {
        int64_t now_ns;
        flake_status status = flake_i_etcd_read_numbers(s, cluster, &numbers);
        if (status != FLAKE_OK) return status;
        if (!flake_i_etcd_read_clock(s, &now_ns)) {
            if (++doubts >= s->endpoint_count) return FLAKE_IO;
            continue;
        }
        const size_t slot = flake_i_etcd_choose_number(&numbers, s->pool_size, s->start, now_ns, is_blocked);
        if (slot == SIZE_MAX) break;
        numbers.taken[slot] = true; /* each is tried once */
        status = flake_i_etcd_claim_number(c, s, cluster, numbers.first + slot, numbers.horizon_ns[slot], now_ns);
        if (status != FLAKE_LEASE_LOST) return status;
    }
    return FLAKE_AGAIN;
}

FLAKE_I_FN flake_status flake_i_etcd_claim_any(flake_etcd *c, flake_i_etcd *s) {
    static const char blocked[] = ", or have a horizon that is unreadable or more than 60 s ahead of this clock";
    unsigned clusters[16];
    size_t n;
    flake_status status = flake_i_etcd_read_clusters(s, clusters, &n);
    if (status != FLAKE_OK) return status;
    const int64_t end_ms = flake_i_elapsed_ms() + s->options.wait_ms;
    for (;;) {
        bool is_blocked = false;
        for (size_t i = 0; i < n; i++) {
            if (n > 1) flake_i_etcd_unwatch(s); /* there is one watch: of the last cluster */
            status = flake_i_etcd_claim_in_cluster(c, s, clusters[i], &is_blocked);
            if (status != FLAKE_AGAIN) return status;
        }
        const int64_t left_ms = end_ms - flake_i_elapsed_ms();
        if (left_ms <= 0) {
            flake_i_put_why(&s->why, "flake_etcd_options: all numbers from first to last are taken",
                            is_blocked ? blocked : "", "");
            return FLAKE_AGAIN;
        }
        s->must_look = false;
        (void)flake_i_etcd_wait(s, left_ms < 1000 ? (int)left_ms : 1000);
        FLAKE_SLEEP_NS(10000000); /* so that numbers released together are read together */
    }
}

/* Opens the gate and starts the thread. */
FLAKE_I_FN flake_status flake_i_etcd_start_thread(flake_etcd *c, flake_i_etcd *s) {
    if (!c->fence) {
        void *const page = flake_i_new_page(false);
        if (page && flake_i_wipe_on_fork(page)) c->fence = (flake_atomic64 *)page;
        else if (page) flake_i_drop_page(page);
    }
    const uint64_t claim = (FLAKE_ATOMIC_LOAD(&c->state, relaxed) >> 2) + 1;
    c->session = s;
    c->process = flake_i_process_owner_id();
    if (c->fence) FLAKE_ATOMIC_STORE(c->fence, claim, relaxed);
    FLAKE_ATOMIC_STORE(&c->state, claim << 2 | FLAKE_I_ETCD_HELD, release); /* HELD:R */
    if (pthread_create(&c->thread, NULL, flake_i_etcd_keep_claim, c) == 0) return FLAKE_OK;
    flake_i_put_why(&s->why, "pthread_create failed", "", "");
    flake_i_etcd_close_gate(c, claim << 2 | FLAKE_I_ETCD_HELD, FLAKE_I_ETCD_NONE);
    c->session = NULL;
    return FLAKE_IO;
}

FLAKE_API flake_status flake_etcd_claim(flake_etcd *c, const flake_etcd_options *options, flake_why *why) {
    if (!c || c->session || (c->process && !c->fence)) {
        /* Without a fence, generators of the last claim could not distinguish it from this one. */
        flake_i_put_why(why, "flake_etcd_claim: the object has an earlier claim: release it, or use another object", "",
                        "");
        return FLAKE_INVALID;
    }
    flake_i_etcd *const s = (flake_i_etcd *)calloc(1, sizeof *s);
    if (!s) return flake_i_say(why, FLAKE_IO, "flake_etcd_claim", "out of memory");
    flake_status status = flake_i_etcd_open_session(s, options);
    /* unchecked otherwise */
    const int64_t end_ms = flake_i_elapsed_ms() + (status == FLAKE_OK ? s->options.wait_ms : 0);
    if (status == FLAKE_OK) status = flake_i_etcd_claim_any(c, s);
    flake_i_etcd_unwatch(s);
    if (status == FLAKE_OK) status = flake_i_etcd_start_thread(c, s);
    flake_i_put_why(why, status == FLAKE_OK ? "" : s->why.text, "", "");
    if (status != FLAKE_OK) {
        flake_i_etcd_revoke(s);
        flake_i_etcd_close_session(s);
        return status;
    }
    while (FLAKE_CLOCK_NS(FLAKE_CLOCK_EXACT) <= c->floor_ns && flake_i_elapsed_ms() < end_ms) FLAKE_SLEEP_NS(10000000);
    return FLAKE_OK;
}

/* ---- release ---- */

/* After the gate is closed: writes the latest time admitted, and frees the number. */
FLAKE_I_FN flake_status flake_i_etcd_release_number(flake_etcd *c) {
    flake_i_etcd *const s = c->session;
    flake_status status = s->is_unsettled ? flake_i_etcd_settle_write(s) : FLAKE_OK;
    if (status == FLAKE_OK) {
        const int64_t asked_ns = (int64_t)FLAKE_ATOMIC_LOAD(&c->asked_ns, seq_cst); /* END:S */
        flake_i_etcd_compose_write(s, FLAKE_I_ETCD_RELEASE, flake_i_max_i64(asked_ns, 0));
        status = flake_i_etcd_settle_write(s);
    }
    return status == FLAKE_IO ? FLAKE_IO : FLAKE_OK;
}

FLAKE_API flake_status flake_etcd_release(flake_etcd *c, flake_why *why) {
    flake_status status = FLAKE_OK;
    if (!c || !c->session) {
        flake_i_put_why(why, "flake_etcd_release: no number is claimed", "", "");
        return FLAKE_INVALID;
    }
    flake_i_etcd *const s = c->session;
    const uint64_t state = FLAKE_ATOMIC_LOAD(&c->state, relaxed);
    flake_i_put_why(why, "", "", "");
    flake_i_etcd_close_gate(c, state, FLAKE_I_ETCD_NONE);
    if (c->process != flake_i_process_owner_id()) {
        /* libcurl's objects are leaked: closing a connection would write to the parent's socket. */
        s->multi = NULL;
        s->easy = s->watch = NULL;
        s->headers = NULL;
    } else {
        FLAKE_ATOMIC_STORE(&s->stop, 1u, relaxed);
        (void)curl_multi_wakeup(s->multi);
        (void)pthread_join(c->thread, NULL);
        FLAKE_ATOMIC_STORE(&s->stop, 0u, relaxed);
        const bool is_lost =
            (state & 3) == FLAKE_I_ETCD_LOST || (FLAKE_ATOMIC_LOAD(&c->state, relaxed) & 3) == FLAKE_I_ETCD_LOST;
        if (!is_lost) status = flake_i_etcd_release_number(c);
        if (status == FLAKE_OK) flake_i_etcd_revoke(s);
        else if (why) *why = s->why;
    }
    flake_i_etcd_close_session(s);
    c->session = NULL;
    return status;
}

FLAKE_API void flake_etcd_destroy(flake_etcd *c) {
    if (!c) return;
    if (c->session) (void)flake_etcd_release(c, NULL);
    if (c->fence) flake_i_drop_page((void *)c->fence);
    c->fence = NULL;
    c->process = 0;
}

/* ---- queries ---- */

FLAKE_API flake_node flake_etcd_node(flake_etcd *c) {
    flake_gate gate;
    gate.admit = flake_i_etcd_gate;
    gate.not_before_ns = flake_i_etcd_not_before;
    gate.user = c;
    gate.fence = c->fence;
    return flake_node_gated(&gate, c->fence ? c->node : FLAKE_I_NO_NUMBER);
}

FLAKE_API flake_status flake_etcd_check(flake_etcd *c, flake_why *why) {
    const uint64_t state = FLAKE_ATOMIC_LOAD(&c->state, acquire) & 3; /* HELD:A */
    const uint32_t trouble = FLAKE_ATOMIC_LOAD(&c->trouble, relaxed);
    const char *text = flake_i_etcd_troubles[trouble];
    flake_status status = trouble == FLAKE_I_ETCD_WELL ? FLAKE_OK : FLAKE_IO;
    if (state != FLAKE_I_ETCD_HELD) {
        text = state == FLAKE_I_ETCD_LOST ? "another process has written the number's keys: release and claim again"
                                          : "no number is claimed";
        status = FLAKE_LEASE_LOST;
    } else if (c->process != flake_i_process_owner_id()) {
        text = "the claim belongs to the parent process";
        status = FLAKE_FORKED;
    }
    flake_i_put_why(why, text, "", "");
    return status;
}

FLAKE_API int64_t flake_etcd_left_ms(flake_etcd *c) {
    const flake_status status = flake_etcd_check(c, NULL);
    const int64_t now_ns = FLAKE_CLOCK_NS(FLAKE_CLOCK_EXACT);
    const int64_t end_ns = (int64_t)FLAKE_ATOMIC_LOAD(&c->horizon_ns, relaxed);
    if ((status != FLAKE_OK && status != FLAKE_IO) || end_ns <= now_ns) return 0;
    return (end_ns - now_ns) / 1000000;
}

#endif /* FLAKE_I_ETCD_IMPLEMENTED */

/* MIT License
 *
 * Copyright (c) 2026 the authors of flake.h and sno.h
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
 * associated documentation files (the "Software"), to deal in the Software without restriction,
 * including without limitation the rights to use, copy, modify, merge, publish, distribute,
 * sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all copies or
 * substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
 * NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
 * NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
 * DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 */
