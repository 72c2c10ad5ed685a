/* SPDX-License-Identifier: MIT
 *
 * An etcd for models, behind its own libcurl: a store that takes one request after the other, and a
 * network on which requests and answers get lost, or arrive late. Leases end at any time, as under a
 * leader that revokes them wrongly. The header runs unmodified. Include this instead of model.h.
 */
#ifndef ETCD_H
#define ETCD_H

#define MODEL_WITH_SYSTEM
#define FLAKE_I_CURL
#include "model.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct CURL {
    char url[128], body[4096];
    size_t (*on_body)(char *, size_t, size_t, void *);
    void *user;
} CURL;
typedef CURL *CURLM; /* the watch */
typedef enum { CURLE_OK, CURLE_LOST } CURLcode;
typedef enum { CURLM_OK } CURLMcode;
typedef struct CURLMsg {
    enum { CURLMSG_NONE, CURLMSG_DONE } msg;
} CURLMsg;
struct curl_slist {
    char unused;
};
typedef int CURLoption;
enum { CURLOPT_URL = 1, CURLOPT_COPYPOSTFIELDS, CURLOPT_WRITEFUNCTION, CURLOPT_WRITEDATA };
/* These change nothing here. */
enum { CURLOPT_NOSIGNAL = 5, CURLOPT_POST, CURLOPT_HEADERFUNCTION, CURLOPT_HEADERDATA };
enum { CURLOPT_HTTP_VERSION = 9, CURLOPT_TCP_KEEPALIVE, CURLOPT_CONNECTTIMEOUT_MS, CURLOPT_CAINFO };
enum { CURLOPT_SSLCERT = 13, CURLOPT_SSLKEY, CURLOPT_HTTPHEADER, CURLOPT_POSTFIELDSIZE };
enum { CURLOPT_TIMEOUT_MS = 17, CURL_HTTP_VERSION_1_1, CURLINFO_RESPONSE_CODE };

static CURLcode curl_easy_perform(CURL *easy);

static inline CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...) {
    va_list rest;
    va_start(rest, option);
    if (option == CURLOPT_URL) (void)snprintf(easy->url, sizeof easy->url, "%s", va_arg(rest, char *));
    if (option == CURLOPT_COPYPOSTFIELDS) (void)snprintf(easy->body, sizeof easy->body, "%s", va_arg(rest, char *));
    if (option == CURLOPT_WRITEFUNCTION) easy->on_body = va_arg(rest, size_t(*)(char *, size_t, size_t, void *));
    if (option == CURLOPT_WRITEDATA) easy->user = va_arg(rest, void *);
    va_end(rest);
    return CURLE_OK;
}
static _Thread_local long etcd_status;
static inline CURLcode etcd_answered(const CURL *easy, long *status) {
    return *status = etcd_status, easy ? CURLE_OK : CURLE_LOST;
}
/* A watch reports now and then that something may have changed. */
static inline CURLMcode curl_multi_perform(CURLM *multi, int *running) {
    char nothing = 0;
    *running = 1;
    if (*multi && model_random(2) == 0) (void)(*multi)->on_body(&nothing, 1, 1, (*multi)->user);
    return CURLM_OK;
}
static inline CURLMcode etcd_watch(CURLM *multi, CURL *easy) { return *multi = easy, CURLM_OK; }

#define curl_easy_init()                        ((CURL *)calloc(1, sizeof(CURL)))
#define curl_easy_cleanup(easy)                 free(easy)
#define curl_easy_getinfo(easy, what, status)   etcd_answered(easy, status)
#define curl_easy_strerror(code)                ((code) ? "lost" : "")
#define curl_getdate(text, unused)              ((void)(text), (time_t)-1)
#define curl_slist_append(list, line) \
    ((list) ? (list) : (struct curl_slist *)calloc(1, sizeof(struct curl_slist)))
#define curl_slist_free_all(list)               free(list)
#define curl_multi_init()                       ((CURLM *)calloc(1, sizeof(CURLM)))
#define curl_multi_cleanup(multi)               (free(multi), CURLM_OK)
#define curl_multi_add_handle(multi, easy)      etcd_watch(multi, easy)
#define curl_multi_remove_handle(multi, easy)   etcd_watch(multi, NULL)
#define curl_multi_poll(multi, more, n, ms, to) ((void)(ms), (void)(to), (void)sched_yield(), CURLM_OK)
#define curl_multi_info_read(multi, left)       ((void)(left), (CURLMsg *)NULL)
#define curl_multi_wakeup(multi)                CURLM_OK

#include "../../extras/etcd/flake_etcd.h"

/* ---- the store: of one number; all others are taken for good ---- */

enum { ETCD_LEASES = 4096, ETCD_LATE = 2 };
typedef struct etcd_entry {
    char key64[32], value64[128];
    int64_t lease, create;
} etcd_entry;

static pthread_mutex_t etcd_lock = PTHREAD_MUTEX_INITIALIZER;
static etcd_entry etcd_pool, etcd_horizon; /* create 0: no such key */
static bool etcd_leases[ETCD_LEASES];
static int64_t etcd_revision, etcd_next_lease;
static CURL etcd_late[ETCD_LATE]; /* requests under way, whose senders no longer wait */
static char etcd_others[16384];   /* the keys of the other numbers */
static _Thread_local bool etcd_is_cut_off;

static void etcd_key(const char *of, unsigned number, char key64[32]) {
    char key[32];
    (void)snprintf(key, sizeof key, "%s/0:%u", of, number);
    flake_i_to_base64(key, strlen(key), key64);
}

static void etcd_begin(void) {
    size_t at = 0;
    memset(&etcd_pool, 0, sizeof etcd_pool);
    memset(&etcd_horizon, 0, sizeof etcd_horizon);
    memset(etcd_leases, 0, sizeof etcd_leases);
    memset(etcd_late, 0, sizeof etcd_late);
    etcd_revision = etcd_next_lease = 1;
    etcd_key("pool", 0, etcd_pool.key64);
    etcd_key("horizon", 0, etcd_horizon.key64);
    for (unsigned i = 1; i < 256; i++) {
        char key64[32];
        etcd_key("pool", i, key64);
        at +=
            (size_t)snprintf(etcd_others + at, sizeof etcd_others - at, "%s{\"key\":\"%s\"}", i == 1 ? "" : ",", key64);
    }
}

static void etcd_end_lease(int64_t lease) {
    if (lease > 0 && lease < ETCD_LEASES) etcd_leases[lease] = false;
    if (etcd_pool.lease == lease) etcd_pool.create = 0;
}

static bool etcd_is(flake_i_json v, const char *text) {
    return v.at && (size_t)(v.end - v.at) == strlen(text) + 2 && !memcmp(v.at + 1, text, strlen(text));
}

/* NULL: the start of a range. */
static etcd_entry *etcd_entry_of(flake_i_json op) {
    const flake_i_json key = flake_i_json_get(op, "key");
    return etcd_is(key, etcd_pool.key64) ? &etcd_pool : etcd_is(key, etcd_horizon.key64) ? &etcd_horizon : NULL;
}

static int64_t etcd_number(flake_i_json op, const char *name) {
    int64_t number = 0;
    (void)flake_i_json_number(flake_i_json_get(op, name), &number);
    return number;
}

static bool etcd_compares(flake_i_json compare) {
    const etcd_entry *e = etcd_entry_of(compare);
    const flake_i_json target = flake_i_json_get(compare, "target");
    if (etcd_is(target, "CREATE")) return e->create == etcd_number(compare, "create_revision");
    if (etcd_is(target, "LEASE")) return (e->create ? e->lease : 0) == etcd_number(compare, "lease");
    assert(etcd_is(target, "VALUE"));
    return e->create && etcd_is(flake_i_json_get(compare, "value"), e->value64);
}

#define ETCD_HEADER "\"header\":{\"revision\":\"1\"}"

/* One range, of one key or of all. */
static size_t etcd_range(flake_i_json op, char *out, size_t size) {
    size_t at = (size_t)snprintf(out, size, "{\"response_range\":{" ETCD_HEADER);
    const bool of_all = flake_i_json_get(op, "range_end").at != NULL;
    const bool of_pool = flake_i_json_get(op, "keys_only").at != NULL;
    const etcd_entry *const e = !of_all ? etcd_entry_of(op) : of_pool ? &etcd_pool : &etcd_horizon;
    if (!e->create && !of_pool) return at + (size_t)snprintf(out + at, size - at, "}}");
    at += (size_t)snprintf(out + at, size - at, ",\"kvs\":[");
    if (e->create)
        at += (size_t)snprintf(out + at, size - at, "{\"key\":\"%s\",\"value\":\"%s\",\"lease\":\"%lld\"}%s", e->key64,
                               e->value64, (long long)e->lease, of_pool ? "," : "");
    return at + (size_t)snprintf(out + at, size - at, "%s]}}", of_pool ? etcd_others : "");
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
    size_t n = (size_t)snprintf(out, size, "{" ETCD_HEADER "%s,\"responses\":[", holds ? ",\"succeeded\":true" : "");
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
        n += put.at || gone.at ? (size_t)snprintf(out + n, size - n, "{\"response_put\":{}}")
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
        (void)snprintf(out, size, "{" ETCD_HEADER ",\"ID\":\"%lld\",\"TTL\":\"10\"}", (long long)etcd_next_lease);
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
    const unsigned fate = model_random(12);
    CURL *late = &etcd_late[model_random(ETCD_LATE)];
    if (*late->url && model_random(2) == 0) { /* what was under way arrives */
        etcd_serve(late, none, sizeof none);
        *late->url = 0;
    }
    if (fate == 0) etcd_end_lease(etcd_pool.lease); /* a leader that should not */
    if (fate == 1) *late = *easy;
    if (fate > 2) etcd_serve(easy, out, sizeof out); /* else it is lost */
    (void)pthread_mutex_unlock(&etcd_lock);
    model_stall();
    if (fate < 5) return CURLE_LOST; /* with 3 and 4 only the answer is lost */
    (void)easy->on_body(out, 1, strlen(out), easy->user);
    return CURLE_OK;
}

#endif
