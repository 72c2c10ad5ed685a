/* SPDX-License-Identifier: MIT
 *
 * An etcd behind a libcurl and a clock of its own, for one thread: what it is asked, with what options and
 * when, is noted as text, and it answers as a list tells. A claim's thread runs when and as long as the test
 * says. The header runs as it is.
 */
#ifndef SCRIPTED_H
#define SCRIPTED_H

#define _GNU_SOURCE
#include <curl/curl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the clock, in ms since the test began; begin_s: its Unix time then ---- */

enum { begin_s = 1700000000 };
static int64_t clock_ms, clock_ahead_ms; /* ahead: of the time of day */

static inline int script_clock(clockid_t id, struct timespec *to) {
    const int64_t ms =
        clock_ms + (id == CLOCK_REALTIME ? begin_s * INT64_C(1000) + clock_ahead_ms : 500);
    to->tv_sec = (time_t)(ms / 1000);
    to->tv_nsec = (long)(ms % 1000) * 1000000;
    return 0;
}

/* ---- what was noted ---- */

static char notes[1 << 16];
static size_t notes_n;
static bool notes_options;                     /* libcurl's, too */
static int waits_n, waited_ms, sleeps, slept_ms; /* since the last note */

static inline void note_raw(const char *format, ...) {
    va_list given;
    va_start(given, format);
    notes_n += (size_t)vsnprintf(notes + notes_n, sizeof notes - notes_n, format, given);
    va_end(given);
    if (notes_n >= sizeof notes - 8192) {
        printf("  it goes on and on\n");
        exit(1);
    }
}

static inline void note_waits(void) {
    if (waits_n) note_raw("waits %d times, %d ms\n", waits_n, waited_ms);
    if (sleeps) note_raw("sleeps %d times, %d ms\n", sleeps, slept_ms);
    waits_n = waited_ms = sleeps = slept_ms = 0;
}

static inline void note_time(void) {
    note_waits();
    note_raw("%lld: ", (long long)clock_ms);
}

/* The requests of the notes, in full. */
typedef struct sent_request {
    char url[600], headers[512], body[8192];
    long body_n, timeout_ms;
} sent_request;
static sent_request requests[64];
static size_t requests_n;

static inline void forget_noted(void) {
    waits_n = waited_ms = sleeps = slept_ms = 0;
    requests_n = 0;
    *notes = 0;
    notes_n = 0;
}

/* ---- what etcd answers: the first that is left of the list whose `to` is in the request ---- */

typedef struct told {
    const char *to,
        *text;        /* ' for "; $known and $put, $horizon and $pool: of the last write, base64 */
    int http;         /* 0: 200 */
    CURLcode sent;    /* anything but 0: it breaks off, after the text */
    int ms;           /* until it is there; 0: 10 */
    const char *date; /* header lines; NULL: none */
    int times;        /* that it answers; 0: once */
    int answered;
} told;

static told told_list[16]; /* up to one without `to` */

static inline void tell(const told *list) {
    memset(told_list, 0, sizeof told_list);
    for (size_t i = 0; list && list[i].to; i++) told_list[i] = list[i];
}

static const told usual_answers[] = {
    {.to = "keys_only",
     .text = "{'header':{},'responses':[{'response_range':{'header':{}}},"
             "{'response_range':{'header':{}}}]}"},
    {.to = "/v3/kv/txn", .text = "{'header':{},'succeeded':true}"},
    {.to = "/v3/lease/grant", .text = "{'header':{},'ID':'7','TTL':'3'}"},
    {.to = "/v3/lease/keepalive", .text = "{'result':{'header':{},'ID':'7','TTL':'3'}}"},
    {.to = "/v3/auth/authenticate", .text = "{'header':{},'token':'t.1'}"},
    {.to = "", .text = "{'header':{}}"},
};

/* ---- libcurl ---- */

typedef size_t (*on_bytes)(char *, size_t, size_t, void *);
typedef struct script_easy {
    const char *name;
    on_bytes on_body, on_header;
    void *of_body, *of_header;
    const struct curl_slist *headers;
    char url[600], body[8192];
    long body_n, timeout_ms;
} script_easy;

static script_easy easies[2];
static int easies_n;
static script_easy *watching;
static int64_t watch_says_ms, watch_ends_ms, stop_ms; /* when; 0: never */
static int64_t looks_ms;                              /* when the test looks in; 0: never */
static bool looks_at_join;
static void (*looks)(void);
static long last_http;
static int setopts, setopt_refused; /* the number of the call; 0: none */
static char multi;

static int inits_until_refused; /* 0: none is */

/* A test may have each call refused. */
#ifndef SCRIPT_REFUSES
#define SCRIPT_REFUSES() false
#endif

static inline bool is_init_refused(void) {
    return SCRIPT_REFUSES() || (inits_until_refused && --inits_until_refused == 0);
}

static inline void stop_thread(void);

static inline CURL *script_easy_init(void) {
    if (is_init_refused()) return NULL;
    script_easy *const e = &easies[easies_n++ % 2];
    memset(e, 0, sizeof *e);
    e->name = e == easies ? "request" : "watch";
    e->body_n = -1;
    return e;
}

static inline void note_option(const char *easy, CURLoption option, long number, const char *text) {
    switch ((int)option) {
    case CURLOPT_NOSIGNAL: note_raw("%s: no signals %ld\n", easy, number); break;
    case CURLOPT_POST: note_raw("%s: post %ld\n", easy, number); break;
    case CURLOPT_HTTP_VERSION:
        note_raw("%s: HTTP 1.1 %d\n", easy, number == CURL_HTTP_VERSION_1_1);
        break;
    case CURLOPT_TCP_KEEPALIVE: note_raw("%s: keepalive %ld\n", easy, number); break;
    case CURLOPT_CONNECTTIMEOUT_MS: note_raw("%s: connects within %ld ms\n", easy, number); break;
    case CURLOPT_CAINFO: note_raw("%s: ca %s\n", easy, text); break;
    case CURLOPT_SSLCERT: note_raw("%s: cert %s\n", easy, text); break;
    case CURLOPT_SSLKEY: note_raw("%s: key %s\n", easy, text); break;
    default: note_raw("%s: option %d\n", easy, (int)option);
    }
}

static inline CURLcode script_setopt(CURL *easy, CURLoption option, ...) {
    script_easy *const e = (script_easy *)easy;
    va_list given;
    if (++setopts == setopt_refused || SCRIPT_REFUSES()) return CURLE_OUT_OF_MEMORY;
    va_start(given, option);
    const bool is_long = option < CURLOPTTYPE_OBJECTPOINT;
    const bool is_function = option >= CURLOPTTYPE_FUNCTIONPOINT;
    const long number = is_long ? va_arg(given, long) : 0;
    const on_bytes on = is_function ? va_arg(given, on_bytes) : NULL;
    void *const pointer = is_long || is_function ? NULL : va_arg(given, void *);
    va_end(given);
    switch ((int)option) {
    case CURLOPT_WRITEFUNCTION: e->on_body = on; break;
    case CURLOPT_WRITEDATA: e->of_body = pointer; break;
    case CURLOPT_HEADERFUNCTION: e->on_header = on; break;
    case CURLOPT_HEADERDATA: e->of_header = pointer; break;
    case CURLOPT_HTTPHEADER: e->headers = (const struct curl_slist *)pointer; break;
    case CURLOPT_TIMEOUT_MS: e->timeout_ms = number; break;
    case CURLOPT_POSTFIELDSIZE: e->body_n = number; break;
    case CURLOPT_URL: (void)snprintf(e->url, sizeof e->url, "%s", (const char *)pointer); break;
    case CURLOPT_COPYPOSTFIELDS:
        if (e->body_n < 0 || (size_t)e->body_n >= sizeof e->body) abort();
        memcpy(e->body, pointer, (size_t)e->body_n);
        e->body[e->body_n] = 0;
        break;
    default:
        if (notes_options) note_option(e->name, option, number, (const char *)pointer);
    }
    return CURLE_OK;
}

static inline void note_request(const script_easy *e);
static inline const char *answer_to(const script_easy *e, const told *a);

static inline const told *told_to(const script_easy *e) {
    for (told *a = told_list; a->to; a++) {
        if (a->answered > 0 && a->answered >= a->times) continue;
        if (!strstr(e->url, a->to) && !strstr(e->body, a->to)) continue;
        a->answered++;
        return a;
    }
    const told *a = usual_answers;
    while (!strstr(e->url, a->to) && !strstr(e->body, a->to)) a++;
    return a;
}

/* A text that is handed over in two parts. */
static inline bool hand_over(on_bytes to, const char *text, size_t n, void *user) {
    char *const copy = (char *)(malloc)(n + 1); /* of its size: who reads behind it is seen */
    const size_t half = n / 2;
    if (!copy) abort();
    memcpy(copy, text, n);
    const bool taken = (!half || to(copy, 1, half, user) == half) &&
                       (!n || to(copy + half, 1, n - half, user) == n - half);
    free(copy);
    return taken;
}

static inline CURLcode script_perform(CURL *easy) {
    script_easy *const e = (script_easy *)easy;
    const told *const a = told_to(e);
    if (SCRIPT_REFUSES()) return CURLE_SEND_ERROR;
    note_time();
    note_raw("asks ");
    note_request(e);
    clock_ms += a->ms ? a->ms : 10;
    last_http = a->http ? a->http : 200;
    if (stop_ms && clock_ms >= stop_ms) stop_thread();
    for (const char *line = a->date; line && *line;) {
        const size_t n = strcspn(line, "\n") + 1;
        char *const copy = (char *)(malloc)(n);
        if (!copy) abort();
        memcpy(copy, line, n);
        const bool taken = e->on_header(copy, 1, n, e->of_header) == n;
        free(copy);
        if (!taken) return CURLE_WRITE_ERROR;
        line += n;
    }
    const char *const text = answer_to(e, a);
    if (!hand_over(e->on_body, text, strlen(text), e->of_body)) return CURLE_WRITE_ERROR;
    return a->sent;
}

static inline CURLcode script_getinfo(CURL *easy, CURLINFO info, long *to) {
    if (easy != &easies[0] || info != CURLINFO_RESPONSE_CODE) abort();
    *to = last_http;
    return CURLE_OK;
}

static inline CURLMcode script_add(CURLM *m, CURL *easy) {
    if (m != &multi || watching) note_raw("a second watch\n");
    watching = (script_easy *)easy;
    note_time();
    note_raw("watches ");
    note_request(watching);
    return CURLM_OK;
}

static inline CURLMcode script_remove(CURLM *m, CURL *easy) {
    if (m != &multi || easy != watching) note_raw("no such watch\n");
    watching = NULL;
    note_time();
    note_raw("watches no more\n");
    return CURLM_OK;
}

static inline CURLMcode script_multi_perform(CURLM *m, int *running) {
    (void)m;
    *running = watching != NULL;
    if (watching && watch_says_ms && clock_ms >= watch_says_ms) {
        watch_says_ms = 0;
        note_time();
        note_raw("the watch says something\n");
        if (!hand_over(watching->on_body, "{}", 2, watching->of_body)) abort();
    }
    return CURLM_OK;
}

static inline CURLMcode script_poll(CURLM *m, int ms) {
    int64_t end_ms = clock_ms + ms;
    const int64_t events[] = {watch_says_ms, watch_ends_ms, stop_ms, looks_ms};
    if (m != &multi) abort();
    for (int i = 0; i < 4; i++)
        if (events[i] > clock_ms && events[i] < end_ms) end_ms = events[i];
    waits_n++;
    waited_ms += (int)(end_ms - clock_ms);
    if (waits_n > 100000) note_raw("%70000s", ""); /* goes on and on */
    clock_ms = end_ms;
    if (looks_ms && clock_ms >= looks_ms) {
        looks_ms = 0;
        looks();
    }
    if (stop_ms && clock_ms >= stop_ms) stop_thread();
    return CURLM_OK;
}

static inline CURLMsg *script_info_read(CURLM *m) {
    static CURLMsg ended;
    if (m != &multi) abort();
    if (!watching || !watch_ends_ms || clock_ms < watch_ends_ms) return NULL;
    watch_ends_ms = 0;
    note_time();
    note_raw("the watch ends\n");
    return &ended;
}

static inline CURLMcode script_wakeup(void) {
    note_raw("wakes the thread\n");
    return CURLM_OK;
}

static void *(*thread_run)(void *);
static void *thread_user;

static bool thread_fails;

static inline int script_thread(void *(*run)(void *), void *user) {
    if (thread_fails || SCRIPT_REFUSES()) return 11;
    thread_run = run;
    thread_user = user;
    note_raw("starts the thread\n");
    return 0;
}

static inline int script_join(void) {
    note_raw("joins the thread\n");
    if (looks_at_join) looks();
    return 0;
}

static inline void script_sleep_ns(int64_t ns) {
    if (ns % 1000000) note_raw("sleeps %lld ns\n", (long long)ns);
    if (++sleeps > 100000) note_raw("%70000s", ""); /* goes on and on */
    slept_ms += (int)(ns / 1000000);
    clock_ms += ns / 1000000;
}

static bool random_fails;

/* The last byte makes 21 the first number that is looked at. */
#define SCRIPT_TOKEN "0123456789abcdeffedcba9876543215"
static inline bool script_random(void *to, size_t n) {
    const uint64_t words[] = {0x0123456789abcdef, 0xfedcba9876543215};
    if (random_fails || n != sizeof words) return false;
    memcpy(to, words, n);
    return true;
}

#undef curl_easy_setopt
#undef curl_easy_getinfo
#define clock_gettime(id, to)                   script_clock(id, to)
#define curl_easy_init()                        script_easy_init()
#define curl_easy_cleanup(easy)                 note_raw("closes the %s\n", ((script_easy *)easy)->name)
#define curl_easy_setopt(easy, option, value)   script_setopt(easy, option, value)
#define curl_easy_getinfo(easy, what, to)       script_getinfo(easy, what, to)
#define curl_easy_perform(easy)                 script_perform(easy)
#define curl_multi_init()                       (is_init_refused() ? NULL : (CURLM *)&multi)
#define curl_multi_cleanup(m)                   (note_raw("closes what waits\n"), (void)(m), CURLM_OK)
#define curl_multi_add_handle(m, easy)          script_add(m, easy)
#define curl_multi_remove_handle(m, easy)       script_remove(m, easy)
#define curl_multi_perform(m, running)          script_multi_perform(m, running)
#define curl_multi_poll(m, more, n, ms, ready)  script_poll(m, ms)
#define curl_multi_info_read(m, left)           ((void)(left), script_info_read(m))
#define curl_multi_wakeup(m)                    script_wakeup()
#define pthread_create(thread, kind, run, user) script_thread(run, user)
#define pthread_join(thread, to)                script_join()
#define FLAKE_SLEEP_NS(ns)                      script_sleep_ns(ns)
#define FLAKE_CLOCK_NS(kind)                    flake_i_system_ns(kind)
#define FLAKE_RANDOM_BYTES(to, n)               script_random(to, n)

/* What others do before the next compare-and-swap, once. */
static void (*others)(void);

static inline void let_others(void) {
    void (*const now)(void) = others;
    others = NULL;
    if (now) now();
}

#define FLAKE_ATOMIC(T)                 _Atomic(T)
#define FLAKE_ATOMIC_LOAD(p, order)     atomic_load_explicit(p, memory_order_##order)
#define FLAKE_ATOMIC_STORE(p, v, order) atomic_store_explicit(p, v, memory_order_##order)
#define FLAKE_ATOMIC_ADD(p, v, order)   atomic_fetch_add_explicit(p, v, memory_order_##order)
#define FLAKE_ATOMIC_CAS(p, seen, v, success, failure)                                         \
    (let_others(), atomic_compare_exchange_strong_explicit(p, seen, v, memory_order_##success, \
                                                           memory_order_##failure))
#include "cluster.h"

/* ---- texts ---- */

/* Keeps a request, and notes its URL and its body, with base64 as <text>. */
static inline void note_request(const script_easy *e) {
    char body[8192];
    sent_request *const r = &requests[requests_n++ % (sizeof requests / sizeof *requests)];
    char *const headers = r->headers;
    size_t n = 0;
    memcpy(r->url, e->url, sizeof r->url);
    memcpy(r->body, e->body, sizeof r->body);
    r->body_n = e->body_n;
    r->timeout_ms = e->timeout_ms;
    *headers = 0;
    for (const struct curl_slist *h = e->headers; h; h = h->next)
        (void)snprintf(headers + strlen(headers), sizeof r->headers - strlen(headers), "[%s]",
                       h->data);
    for (const char *at = e->body; at < e->body + e->body_n;) {
        static const char *const coded[] = {"\"key\":\"", "\"range_end\":\"", "\"value\":\""};
        char bytes[400];
        size_t skip = 0, len = SIZE_MAX;
        for (int i = 0; i < 3; i++)
            if (strncmp(at, coded[i], strlen(coded[i])) == 0) skip = strlen(coded[i]);
        const size_t width = strcspn(at + skip, "\"");
        if (skip && width) len = flake_i_from_base64(at + skip, width, bytes, sizeof bytes);
        if (len == SIZE_MAX) {
            body[n++] = (char)(*at == '"' ? '\'' : *at ? *at : '~');
            at++;
        } else {
            n += (size_t)sprintf(body + n, "'%.*s':<%.*s>", (int)skip - 4, at + 1, (int)len, bytes);
            at += skip + width + 1;
        }
        if (n > sizeof body - 600) abort();
    }
    body[n] = 0;
    note_raw("%s %s\n", e->url, body);
}

static inline const char *answer_to(const script_easy *e, const told *a) {
    static const char *const words[][2] = {{"$known", "compare/0/value"},
                                           {"$put", "success/0/request_put/value"},
                                           {"$horizon", "compare/0/key"},
                                           {"$pool", "compare/1/key"}};
    static char text[20000];
    char *out = text;
    const flake_i_json body = flake_i_json_text(e->body, (size_t)e->body_n);
    for (const char *at = a->text ? a->text : ""; *at && out < text + sizeof text - 400;) {
        size_t n = 0;
        for (int i = 0; i < 4 && !n; i++) {
            if (strncmp(at, words[i][0], strlen(words[i][0])) != 0) continue;
            n = strlen(words[i][0]);
            const flake_i_json v = flake_i_json_string(flake_i_json_get(body, words[i][1]));
            if (v.at) out += snprintf(out, 400, "%.*s", (int)(v.end - v.at), v.at);
        }
        if (!n) *out++ = (char)(*at == '\'' ? '"' : *at);
        at += n ? n : 1;
    }
    *out = 0;
    return text;
}

/* ---- expected events ----
 *
 * A test lists the events that it expects, in their order: requests by what they must contain, all else as
 * notes. A request's body is parsed and compared member by member: a missing, different or additional member
 * fails the test, and is named by its path. */

/* A horizon's value. */
typedef struct horizon {
    int64_t ms; /* of the test's clock */
    const char *token;
    int seq;
} horizon;
#define OURS    SCRIPT_TOKEN
#define ANOTHER TOKEN
#define AT_0_MS (-begin_s * INT64_C(1000)) /* the Unix time 0 */

/* A transaction that claims, extends, heals or releases a number. If a condition does not hold, it reads the
 * horizon and the key of the pool. */
typedef struct txn {
    const char *number; /* CLUSTER:GENERATOR */
    horizon was; /* on the condition that the horizon has this value; {0}: that it does not exist */
    int has_lease;  /* and that the key of the pool has this lease; 0: that it does not exist */
    horizon puts;   /* puts this horizon */
    int puts_lease; /* puts our token at the key of the pool, with this lease; 0: does not */
    bool deletes;   /* deletes the key of the pool */
} txn;

typedef struct event {
    const char *note;     /* the note of an event that is no request; NULL: a request */
    int at_ms;            /* of the test's clock */
    const char *endpoint; /* m1 or m2 */
    const char *token;    /* of its header Authorization; NULL: none */
    /* one of these: */
    const char *reads;         /* a key */
    const char *reads_numbers; /* keys of this cluster's pool, and its horizons */
    int grants_s;              /* a lease of so many seconds */
    int keeps, revokes;        /* a lease by its ID */
    const char *user, *password;
    const char *watches, *watches_to; /* a key, or a range of keys */
    txn write;
} event;

#define NOTE(text) \
    { .note = text }
#define WAITS(n, ms) NOTE("waits " #n " times, " #ms " ms")
#define ASKS(at, where, ...) \
    { .at_ms = at, .endpoint = where, __VA_ARGS__ }
/* Of number 21 of cluster 2, with lease 7: its horizon is extended; its key is put back; it is released. */
#define EXTENDS(at, where, was_ms, was_seq, puts_ms, puts_seq)                              \
    ASKS(at, where, .write = {"2:21", .was = {was_ms, OURS, was_seq}, .has_lease = 7,       \
                              .puts = {puts_ms, OURS, puts_seq}})
#define PUTS_BACK(at, where, was_ms, was_seq, puts_ms, seq, lease)                          \
    ASKS(at, where, .write = {"2:21", .was = {was_ms, OURS, was_seq}, .puts = {puts_ms, OURS, seq}, \
                              .puts_lease = lease})
#define RELEASES(at, where, was_ms, was_seq, puts_ms, puts_seq)                             \
    ASKS(at, where, .write = {"2:21", .was = {was_ms, OURS, was_seq}, .has_lease = 7,       \
                              .puts = {puts_ms, OURS, puts_seq}, .deletes = true})
#define CLOSES_ALL NOTE("closes what waits"), NOTE("closes the request"), NOTE("closes the watch")
/* After waits: the lease is kept; the watch has news; it ends. */
#define KEEPS(n, ms, at)      WAITS(n, ms), ASKS(at, "m1", .keeps = 7)
#define WATCH_SAYS(n, ms, at) WAITS(n, ms), NOTE(#at ": the watch says something")
#define UNWATCHES(n, ms, at)  WAITS(n, ms), NOTE(#at ": watches no more")
#define WATCHES(at, where)    ASKS(at, where, .watches = "pool/2:21")
#define ENDS_THREAD           NOTE("wakes the thread"), NOTE("joins the thread")
#define REVOKES(at)           ASKS(at, "m1", .revokes = 7), CLOSES_ALL
#define FILES_OF(easy) \
    NOTE(easy ": ca ca.pem"), NOTE(easy ": cert cert.pem"), NOTE(easy ": key key.pem")
#define OPTIONS_OF(easy)                                                           \
    NOTE(easy ": no signals 1"), NOTE(easy ": post 1"), NOTE(easy ": HTTP 1.1 1"), \
        NOTE(easy ": keepalive 1"), NOTE(easy ": connects within 700 ms")
#define HAPPENED(...)                                                          \
    do {                                                                       \
        const bool has_happened = happened((const event[]){__VA_ARGS__, {0}}); \
        CHECK(has_happened);                                                   \
    } while (0)

static const char *space = "x/"; /* the keys' name space */

/* ---- the body that an expected request must have ---- */

/* Appends, with " for each '. */
static inline void add(char *body, const char *format, ...) {
    va_list given;
    va_start(given, format);
    body += strlen(body);
    (void)vsprintf(body, format, given);
    va_end(given);
    for (; *body; body++)
        if (*body == '\'') *body = '"';
}

static inline const char *in_base64(const char *format, ...) {
    static char all[8][512];
    static unsigned next;
    char text[300];
    va_list given;
    va_start(given, format);
    (void)vsnprintf(text, sizeof text, format, given);
    va_end(given);
    flake_i_to_base64(text, strlen(text), all[++next % 8]);
    return all[next % 8];
}

static inline const char *horizon_value(horizon h) {
    return in_base64("%lld %s %d", (long long)(begin_s * INT64_C(1000) + h.ms) * 1000000, h.token,
                     h.seq);
}

static inline void add_write(char *body, const txn *w) {
    const char *const at = in_base64("%shorizon/%s", space, w->number);
    const char *const pool = in_base64("%spool/%s", space, w->number);
    const char *const is_absent = "'target':'CREATE','create_revision':'0'";
    add(body, "{'compare':[{'key':'%s',", at);
    if (w->was.token) add(body, "'target':'VALUE','value':'%s'", horizon_value(w->was));
    else add(body, is_absent);
    add(body, "},{'key':'%s',", pool);
    if (w->has_lease) add(body, "'target':'LEASE','lease':'%d'", w->has_lease);
    else add(body, is_absent);
    add(body, "}],'success':[{'request_put':{'key':'%s','value':'%s'}}", at,
        horizon_value(w->puts));
    if (w->puts_lease)
        add(body, ",{'request_put':{'key':'%s','value':'%s','lease':'%d'}}", pool, in_base64(OURS),
            w->puts_lease);
    if (w->deletes) add(body, ",{'request_delete_range':{'key':'%s'}}", pool);
    add(body, "],'failure':[{'request_range':{'key':'%s'}},{'request_range':{'key':'%s'}}]}", at,
        pool);
}

/* Returns the name of the call. */
static inline const char *add_body(char *body, const event *e) {
    if (e->reads) return add(body, "{'key':'%s'}", in_base64("%s%s", space, e->reads)), "kv/range";
    if (e->grants_s) return add(body, "{'TTL':'%d'}", e->grants_s), "lease/grant";
    if (e->keeps) return add(body, "{'ID':'%d'}", e->keeps), "lease/keepalive";
    if (e->revokes) return add(body, "{'ID':'%d'}", e->revokes), "lease/revoke";
    if (e->user)
        return add(body, "{'name':'%s','password':'%s'}", e->user, e->password),
               "auth/authenticate";
    if (e->watches) {
        add(body, "{'create_request':{'key':'%s',", in_base64("%s%s", space, e->watches));
        add(body, "'range_end':'%s'}}",
            e->watches_to ? in_base64("%s%s", space, e->watches_to) : "");
        return "watch";
    }
    if (!e->reads_numbers) return add_write(body, &e->write), "kv/txn";
    add(body, "{'success':[{'request_range':{'key':'%s',",
        in_base64("%spool/%s:", space, e->reads_numbers));
    add(body, "'range_end':'%s','keys_only':true}},",
        in_base64("%spool/%s;", space, e->reads_numbers));
    add(body, "{'request_range':{'key':'%s',", in_base64("%shorizon/%s:", space, e->reads_numbers));
    add(body, "'range_end':'%s'}}]}", in_base64("%shorizon/%s;", space, e->reads_numbers));
    return "kv/txn";
}

/* ---- comparison ---- */

static inline void say_value(const char *what, flake_i_json v) {
    char bytes[400];
    const flake_i_json text = flake_i_json_string(v);
    const size_t n =
        text.at ? flake_i_from_base64(text.at, (size_t)(text.end - text.at), bytes, sizeof bytes)
                : 0;
    if (!v.at) printf("%smissing", what);
    else if (n && n != SIZE_MAX) printf("%s<%.*s>", what, (int)n, bytes);
    else printf("%s%.*s", what, (int)(v.end - v.at), v.at);
}

/* Compares JSON values whatever the order of members; prints the path of the first difference. */
static inline bool is_same_value(const char *path, flake_i_json is, flake_i_json wanted) {
    flake_i_json name, value = flake_i_json_none;
    const bool is_list = wanted.at && (*wanted.at == '{' || *wanted.at == '[');
    int members = 0, members_wanted = 0;
    if (is_list && is.at && *is.at == *wanted.at) {
        for (; flake_i_json_each(wanted, &name, &value); members_wanted++) {
            char below[200], key[40];
            if (*wanted.at == '[') (void)snprintf(key, sizeof key, "%d", members_wanted);
            else (void)snprintf(key, sizeof key, "%.*s", (int)(name.end - name.at), name.at);
            (void)snprintf(below, sizeof below, "%s/%s", path, key);
            if (!is_same_value(below, flake_i_json_get(is, key), value)) return false;
        }
        for (value = flake_i_json_none; flake_i_json_each(is, &name, &value);) members++;
        if (members == members_wanted) return true;
        printf("  %d members, not %d:", members, members_wanted);
    } else if (!is_list && is.at && wanted.at &&
               flake_i_json_is(is, wanted.at, (size_t)(wanted.end - wanted.at)))
        return true;
    printf("  %s", path);
    say_value(" is ", is);
    say_value(", not ", wanted);
    printf("\n");
    return false;
}

static inline bool is_same_text(const char *what, const char *is, const char *wanted) {
    if (strcmp(is, wanted) == 0) return true;
    printf("  %s is %s, not %s\n", what, is, wanted);
    return false;
}

static inline bool is_request(const sent_request *r, const event *e) {
    char url[100], headers[200], body[4096] = "";
    const char *const call = add_body(body, e);
    (void)snprintf(url, sizeof url, "%s://%s/v3/%s", strcmp(e->endpoint, "m1") ? "https" : "http",
                   e->endpoint, call);
    (void)snprintf(headers, sizeof headers, "[Content-Type: application/json][Expect:]%s%s%s",
                   e->token ? "[Authorization: " : "", e->token ? e->token : "",
                   e->token ? "]" : "");
    return is_same_text("URL", r->url, url) && is_same_text("headers", r->headers, headers) &&
           (e->watches || r->timeout_ms == 700) &&
           is_same_value(call, flake_i_json_text(r->body, (size_t)r->body_n),
                         flake_i_json_text(body, strlen(body)));
}

/* Whether these events happened, in this order, and no others; then forgets what was noted. */
static inline bool happened(const event *e) {
    size_t asked = 0;
    bool is_same = true;
    note_waits();
    const char *at = notes;
    for (; is_same && (e->note || e->endpoint); e++) {
        const int n = (int)strcspn(at, "\n");
        char line[300];
        if (e->note) is_same = n == (int)strlen(e->note) && memcmp(at, e->note, (size_t)n) == 0;
        else {
            (void)snprintf(line, sizeof line, "%d: %s ", e->at_ms, e->watches ? "watches" : "asks");
            is_same = strncmp(at, line, strlen(line)) == 0 && asked < requests_n &&
                      is_request(&requests[asked++], e);
        }
        if (!is_same) {
            (void)snprintf(line, sizeof line, "a request at %d", e->at_ms);
            printf("  \"%.*s\", not %s\n", n, at, e->note ? e->note : line);
        }
        at += n + (at[n] == '\n');
    }
    if (is_same && *at) printf("  more: %.1000s", at);
    is_same = is_same && !*at && asked == requests_n;
    forget_noted();
    return is_same;
}

/* ---- a claim ---- */

static inline void stop_thread(void) {
    stop_ms = 0;
    claim.session->stop = 1;
}

/* Runs the claim's thread until so long from now. */
static inline void hold_ms(int64_t ms) {
    stop_ms = clock_ms + ms;
    (void)thread_run(thread_user);
    claim.session->stop = 0;
}

static inline void script_begin(void) {
    tell(NULL);
    flake_etcd_destroy(&claim);
    memset(&claim, 0, sizeof claim);
    notes_options = false;
    clock_ms = 1000;
    clock_ahead_ms = watch_says_ms = watch_ends_ms = stop_ms = looks_ms = 0;
    setopts = setopt_refused = easies_n = inits_until_refused = 0;
    looks_at_join = false;
    watching = NULL;
    forget_noted();
}

static flake_why why;

static inline flake_etcd_options scripted(void) {
    flake_etcd_options o = from("http://m1,https://m2", "x/");
    o.ttl_ms = 2001;
    o.horizon_ms = 7500;
    o.timeout_ms = 700;
    return o;
}

#define RANGE(kvs)  "{'response_range':{'header':{}" kvs "}}"
#define BOTH(horizon, pool)                                \
    "{'header':{},'responses':[" RANGE(horizon) "," RANGE( \
        pool) "]}" /* of a write that is refused */
#define HORIZON(value) ",'kvs':[{'key':'$horizon','value':'" value "'}]"
#define POOL           ",'kvs':[{'key':'$pool','value':'eA=='}]"

static inline const char *name_of(flake_status status) {
    return status == FLAKE_OK      ? "ok"
           : status == FLAKE_AGAIN ? "again"
           : status == FLAKE_IO    ? "io"
           : status == FLAKE_LEASE_LOST ? "lost"
                                   : "something else";
}

/* A claim of number 21 of cluster 2, by three requests. */
static inline void begin_claimed(const told *then) {
    flake_etcd_options o = scripted();
    script_begin();
    o.cluster_given = true;
    o.cluster = 2;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(clock_ms, 1030);
    CHECK_EQ(flake_etcd_cluster(&claim), 2);
    CHECK_EQ(flake_etcd_generator(&claim), 21);
    forget_noted();
    tell(then);
}

static inline void say_how_it_is(void) {
    const flake_status status = flake_etcd_check(&claim, &why);
    note_time();
    note_raw("is %s \"%s\", left %d ms\n", name_of(status), why.text,
             (int)flake_etcd_left_ms(&claim));
}

static int64_t wanted_ms;

static inline void want(void) {
    const int64_t unix_ms = begin_s * INT64_C(1000) + wanted_ms;
    note_time();
    note_raw("a draw is %s\n", name_of(flake_i_etcd_gate(&claim, unix_ms * 1000000)));
}

/* The answer to who reads a cluster's numbers: keys from..to are taken, and a horizon of a number. */
static inline const char *numbers(unsigned cluster, unsigned from, unsigned to, unsigned number,
                                  int64_t horizon_ms) {
    static char text[8][20000];
    static int next;
    char *const out = text[next++ % 8], key[40], key64[64], value[80], value64[120];
    int n = sprintf(out, "{'header':{},'responses':[{'response_range':{'header':{},'kvs':[");
    for (unsigned i = from; i <= to; i++) {
        (void)snprintf(key, sizeof key, "x/pool/%u:%u", cluster, i);
        flake_i_to_base64(key, strlen(key), key64);
        n += sprintf(out + n, "%s{'key':'%s'}", i == from ? "" : ",", key64);
    }
    (void)snprintf(key, sizeof key, "x/horizon/%u:%u", cluster, number);
    flake_i_to_base64(key, strlen(key), key64);
    (void)snprintf(value, sizeof value, "%lld " TOKEN " 9",
                   (begin_s * 1000LL + horizon_ms) * 1000000);
    flake_i_to_base64(value, strlen(value), value64);
    (void)sprintf(out + n,
                  "]}},{'response_range':{'header':{},'kvs':[{'key':'%s','value':'%s'}]}}]}", key64,
                  value64);
    return out;
}

#endif
