/* SPDX-License-Identifier: MIT
 *
 * An etcd for models, behind a libcurl of its own: a store that takes one request after the other, and
 * a network on which requests and answers get lost, or arrive late; leases end when the store likes,
 * as under a leader that revokes what it should not. The header runs as it is. Include it before
 * flake.h and model.h.
 */
#ifndef ETCD_H
#define ETCD_H

#define MODEL_WITH_SYSTEM
#define FLAKE_I_CURL
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct CURL {
    char url[128], body[4096];
    size_t (*on_body)(char *, size_t, size_t, void *);
    void *user;
} CURL;
typedef struct CURLM {
    CURL *watch;
} CURLM;
typedef enum { CURLE_OK, CURLE_LOST } CURLcode;
typedef enum { CURLM_OK } CURLMcode;
typedef struct CURLMsg {
    enum { CURLMSG_NONE, CURLMSG_DONE } msg;
} CURLMsg;
struct curl_slist {
    char unused;
};
typedef enum {
    CURLOPT_NOSIGNAL,
    CURLOPT_POST,
    CURLOPT_WRITEFUNCTION,
    CURLOPT_WRITEDATA,
    CURLOPT_HEADERFUNCTION,
    CURLOPT_HEADERDATA,
    CURLOPT_HTTP_VERSION,
    CURLOPT_TCP_KEEPALIVE,
    CURLOPT_CONNECTTIMEOUT_MS,
    CURLOPT_CAINFO,
    CURLOPT_SSLCERT,
    CURLOPT_SSLKEY,
    CURLOPT_URL,
    CURLOPT_HTTPHEADER,
    CURLOPT_POSTFIELDSIZE,
    CURLOPT_COPYPOSTFIELDS,
    CURLOPT_TIMEOUT_MS
} CURLoption;
enum { CURL_HTTP_VERSION_1_1, CURLINFO_RESPONSE_CODE };

static CURLcode curl_easy_perform(CURL *easy);
static unsigned etcd_random(unsigned below);

static inline CURL *curl_easy_init(void) { return (CURL *)calloc(1, sizeof(CURL)); }
static inline void curl_easy_cleanup(CURL *easy) { free(easy); }
static inline CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...) {
    va_list rest;
    va_start(rest, option);
    switch (option) {
    case CURLOPT_URL:
        (void)snprintf(easy->url, sizeof easy->url, "%s", va_arg(rest, char *));
        break;
    case CURLOPT_COPYPOSTFIELDS:
        (void)snprintf(easy->body, sizeof easy->body, "%s", va_arg(rest, char *));
        break;
    case CURLOPT_WRITEFUNCTION:
        easy->on_body = va_arg(rest, size_t(*)(char *, size_t, size_t, void *));
        break;
    case CURLOPT_WRITEDATA: easy->user = va_arg(rest, void *); break;
    default: break;
    }
    va_end(rest);
    return CURLE_OK;
}
static _Thread_local long etcd_status;
static inline CURLcode curl_easy_getinfo(CURL *easy, int what, long *status) {
    (void)easy;
    (void)what;
    *status = etcd_status;
    return CURLE_OK;
}
static inline const char *curl_easy_strerror(CURLcode code) { return code ? "lost" : ""; }
static inline time_t curl_getdate(const char *text, const time_t *unused) {
    (void)text;
    (void)unused;
    return -1;
}
static inline struct curl_slist *curl_slist_append(struct curl_slist *list, const char *line) {
    (void)line;
    return list ? list : (struct curl_slist *)calloc(1, sizeof(struct curl_slist));
}
static inline void curl_slist_free_all(struct curl_slist *list) { free(list); }
static inline CURLM *curl_multi_init(void) { return (CURLM *)calloc(1, sizeof(CURLM)); }
static inline CURLMcode curl_multi_cleanup(CURLM *multi) { return free(multi), CURLM_OK; }
static inline CURLMcode curl_multi_add_handle(CURLM *multi, CURL *easy) {
    multi->watch = easy;
    return CURLM_OK;
}
static inline CURLMcode curl_multi_remove_handle(CURLM *multi, CURL *easy) {
    (void)easy;
    multi->watch = NULL;
    return CURLM_OK;
}
/* A watch says now and then that something may have changed. */
static inline CURLMcode curl_multi_perform(CURLM *multi, int *running) {
    char nothing = 0;
    *running = 1;
    if (multi->watch && etcd_random(2) == 0)
        (void)multi->watch->on_body(&nothing, 1, 1, multi->watch->user);
    return CURLM_OK;
}
static inline CURLMcode curl_multi_poll(CURLM *multi, void *unused, unsigned n, int ms,
                                        int *ready) {
    (void)multi;
    (void)unused;
    (void)n;
    (void)ms;
    (void)ready;
    (void)sched_yield();
    return CURLM_OK;
}
static inline CURLMsg *curl_multi_info_read(CURLM *multi, int *left) {
    (void)multi;
    (void)left;
    return NULL;
}
static inline CURLMcode curl_multi_wakeup(CURLM *multi) { return (void)multi, CURLM_OK; }

#include "model.h"

#include "../etcd/flake_etcd.h"

/* ---- the store ---- */

enum { ETCD_NUMBERS = 1, ETCD_LEASES = 4096, ETCD_LATE = 2 };
typedef struct etcd_entry {
    char key64[32], value64[128];
    int64_t lease, create;
} etcd_entry;

static pthread_mutex_t etcd_lock = PTHREAD_MUTEX_INITIALIZER;
static etcd_entry etcd_pool[ETCD_NUMBERS], etcd_horizon[ETCD_NUMBERS]; /* create 0: no such key */
static bool etcd_leases[ETCD_LEASES];
static int64_t etcd_revision, etcd_next_lease;
static CURL etcd_late[ETCD_LATE]; /* requests under way, whose senders wait no more */
static char etcd_others[16384];   /* the keys of the numbers that are taken for good */
static _Thread_local bool etcd_is_cut_off;

static _Thread_local unsigned etcd_seed;
static unsigned etcd_random(unsigned below) {
    static _Atomic(unsigned) threads;
    if (!etcd_seed) etcd_seed = atomic_fetch_add(&threads, 1u) * 2654435761u | 1u;
    etcd_seed ^= etcd_seed << 13;
    etcd_seed ^= etcd_seed >> 17;
    etcd_seed ^= etcd_seed << 5;
    return etcd_seed % below;
}

static void etcd_begin(void) {
    char key[32];
    size_t at = 0;
    memset(etcd_pool, 0, sizeof etcd_pool);
    memset(etcd_horizon, 0, sizeof etcd_horizon);
    memset(etcd_leases, 0, sizeof etcd_leases);
    memset(etcd_late, 0, sizeof etcd_late);
    etcd_revision = etcd_next_lease = 1;
    for (unsigned i = 0; i < ETCD_NUMBERS; i++) {
        (void)snprintf(key, sizeof key, "pool/0:%u", i);
        flake_i_to_base64(key, strlen(key), etcd_pool[i].key64);
        (void)snprintf(key, sizeof key, "horizon/0:%u", i);
        flake_i_to_base64(key, strlen(key), etcd_horizon[i].key64);
    }
    if (*etcd_others) return;
    for (unsigned i = ETCD_NUMBERS; i < 256; i++) {
        char key64[32];
        (void)snprintf(key, sizeof key, "pool/0:%u", i);
        flake_i_to_base64(key, strlen(key), key64);
        at += (size_t)snprintf(etcd_others + at, sizeof etcd_others - at, "%s{\"key\":\"%s\"}",
                               i == ETCD_NUMBERS ? "" : ",", key64);
    }
}

static void etcd_end_lease(int64_t lease) {
    if (lease > 0 && lease < ETCD_LEASES) etcd_leases[lease] = false;
    for (unsigned i = 0; i < ETCD_NUMBERS; i++)
        if (etcd_pool[i].create && etcd_pool[i].lease == lease) etcd_pool[i].create = 0;
}

static etcd_entry *etcd_entry_of(flake_i_json op) {
    const flake_i_json key = flake_i_json_get(op, "key");
    const size_t n = (size_t)(key.end - key.at) - 2;
    for (unsigned i = 0; i < ETCD_NUMBERS; i++) {
        if (strlen(etcd_pool[i].key64) == n && !memcmp(key.at + 1, etcd_pool[i].key64, n))
            return &etcd_pool[i];
        if (strlen(etcd_horizon[i].key64) == n && !memcmp(key.at + 1, etcd_horizon[i].key64, n))
            return &etcd_horizon[i];
    }
    return NULL; /* a range's begin */
}

static int64_t etcd_number(flake_i_json op, const char *name) {
    int64_t number = 0;
    (void)flake_i_json_number(flake_i_json_get(op, name), &number);
    return number;
}

static bool etcd_is(flake_i_json v, const char *text) {
    return v.at && (size_t)(v.end - v.at) == strlen(text) + 2 &&
           !memcmp(v.at + 1, text, strlen(text));
}

static bool etcd_compares(flake_i_json compare) {
    const etcd_entry *e = etcd_entry_of(compare);
    const flake_i_json target = flake_i_json_get(compare, "target");
    if (etcd_is(target, "CREATE")) return e->create == etcd_number(compare, "create_revision");
    if (etcd_is(target, "LEASE"))
        return (e->create ? e->lease : 0) == etcd_number(compare, "lease");
    assert(etcd_is(target, "VALUE"));
    return e->create && etcd_is(flake_i_json_get(compare, "value"), e->value64);
}

#define ETCD_HEADER "\"header\":{\"revision\":\"1\"}"

/* One range, of one key or of all. */
static size_t etcd_range(flake_i_json op, char *out, size_t size) {
    size_t at = (size_t)snprintf(out, size, "{\"response_range\":{" ETCD_HEADER);
    const bool of_all = flake_i_json_get(op, "range_end").at != NULL;
    const bool of_pool = flake_i_json_get(op, "keys_only").at != NULL;
    const char *before = ",\"kvs\":[";
    for (unsigned i = 0; i < 2 * ETCD_NUMBERS; i++) {
        const etcd_entry *e = i < ETCD_NUMBERS ? &etcd_pool[i] : &etcd_horizon[i - ETCD_NUMBERS];
        if (!e->create || (of_all ? of_pool != (i < ETCD_NUMBERS) : e != etcd_entry_of(op)))
            continue;
        at += (size_t)snprintf(out + at, size - at,
                               "%s{\"key\":\"%s\",\"value\":\"%s\",\"lease\":\"%lld\"}", before,
                               e->key64, e->value64, (long long)e->lease);
        before = ",";
    }
    if (of_all && of_pool) {
        at += (size_t)snprintf(out + at, size - at, "%s%s", before, etcd_others);
        before = ",";
    }
    return at + (size_t)snprintf(out + at, size - at, *before == ',' && before[1] ? "}}" : "]}}");
}

static void etcd_txn(flake_i_json request, char *out, size_t size) {
    flake_i_json name, op = flake_i_json_none, list = flake_i_json_get(request, "compare");
    bool holds = true;
    while (flake_i_json_each(list, &name, &op)) holds = etcd_compares(op) && holds;
    list = flake_i_json_get(request, holds ? "success" : "failure");
    for (op = flake_i_json_none; flake_i_json_each(list, &name, &op);) {
        const int64_t lease = etcd_number(flake_i_json_get(op, "request_put"), "lease");
        if (lease && (lease >= ETCD_LEASES || !etcd_leases[lease])) {
            (void)snprintf(out, size, "{\"error\":\"no such lease\",\"code\":5}");
            etcd_status = 404;
            return;
        }
    }
    size_t n = (size_t)snprintf(out, size, "{" ETCD_HEADER "%s,\"responses\":[",
                                holds ? ",\"succeeded\":true" : "");
    const char *comma = "";
    etcd_revision++;
    for (op = flake_i_json_none; flake_i_json_each(list, &name, &op);) {
        const flake_i_json put = flake_i_json_get(op, "request_put");
        const flake_i_json gone = flake_i_json_get(op, "request_delete_range");
        n += (size_t)snprintf(out + n, size - n, "%s", comma);
        comma = ",";
        if (put.at) {
            etcd_entry *e = etcd_entry_of(put);
            const flake_i_json value = flake_i_json_get(put, "value");
            assert((size_t)(value.end - value.at) - 2 < sizeof e->value64);
            memset(e->value64, 0, sizeof e->value64);
            memcpy(e->value64, value.at + 1, (size_t)(value.end - value.at) - 2);
            if (!e->create) e->create = etcd_revision;
            e->lease = etcd_number(put, "lease");
        } else if (gone.at) etcd_entry_of(gone)->create = 0;
        n += put.at || gone.at
                 ? (size_t)snprintf(out + n, size - n, "{\"response_put\":{}}")
                 : etcd_range(flake_i_json_get(op, "request_range"), out + n, size - n);
    }
    (void)snprintf(out + n, size - n, "]}");
}

static void etcd_serve(const CURL *easy, char *out, size_t size) {
    const flake_i_json request = flake_i_json_text(easy->body, strlen(easy->body));
    const int64_t id = etcd_number(request, "ID");
    etcd_status = 200;
    if (strstr(easy->url, "kv/txn")) etcd_txn(request, out, size);
    else if (strstr(easy->url, "lease/grant")) {
        etcd_leases[etcd_next_lease] = true;
        (void)snprintf(out, size, "{" ETCD_HEADER ",\"ID\":\"%lld\",\"TTL\":\"10\"}",
                       (long long)etcd_next_lease);
        if (etcd_next_lease < ETCD_LEASES - 1) etcd_next_lease++;
    } else if (strstr(easy->url, "lease/revoke")) {
        etcd_end_lease(id);
        (void)snprintf(out, size, "{" ETCD_HEADER "}");
    } else {
        assert(strstr(easy->url, "lease/keepalive"));
        (void)snprintf(out, size, "{\"result\":{" ETCD_HEADER ",\"ID\":\"%lld\"%s}}", (long long)id,
                       id < ETCD_LEASES && etcd_leases[id] ? ",\"TTL\":\"10\"" : "");
    }
}

static CURLcode curl_easy_perform(CURL *easy) {
    static char none[32768];
    static _Thread_local char out[32768];
    model_stall();
    if (etcd_is_cut_off) return CURLE_LOST;
    (void)pthread_mutex_lock(&etcd_lock);
    const unsigned fate = etcd_random(12);
    CURL *late = &etcd_late[etcd_random(ETCD_LATE)];
    if (*late->url && etcd_random(2) == 0) { /* what was under way arrives */
        etcd_serve(late, none, sizeof none);
        *late->url = 0;
    }
    if (fate == 0) etcd_end_lease(etcd_pool[0].lease); /* a leader that should not */
    if (fate == 1) *late = *easy;
    if (fate > 2) etcd_serve(easy, out, sizeof out); /* else it is lost */
    (void)pthread_mutex_unlock(&etcd_lock);
    model_stall();
    if (fate < 5) return CURLE_LOST; /* with 3 and 4 the answer alone */
    (void)easy->on_body(out, 1, strlen(out), easy->user);
    return CURLE_OK;
}

#endif
