/* SPDX-License-Identifier: MIT
 *
 * A scripted etcd with its own libcurl and clock, for one thread. Each request is noted as text, with its
 * options and time, and the answers come from a list. A claim's thread runs when and as long as the test
 * says. The header runs unmodified.
 */
#ifndef SCRIPTED_H
#define SCRIPTED_H

#define _GNU_SOURCE
#include <curl/curl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the clock, in ms since the test began; begin_s: its Unix time then ---- */

enum { begin_s = 1700000000 };
static int64_t clock_ms, clock_ahead_ms; /* ahead of the time of day */

static inline int64_t script_unix_ns(void) { return (begin_s * INT64_C(1000) + clock_ms + clock_ahead_ms) * 1000000; }

/* By the clock that no one sets and that counts sleep, which began half a second earlier. */
static inline int script_elapsed(struct timespec *to) {
    to->tv_sec = (time_t)((clock_ms + 500) / 1000);
    to->tv_nsec = (long)((clock_ms + 500) % 1000) * 1000000;
    return 0;
}

/* ---- what was noted ---- */

static char notes[1 << 18];
static size_t notes_n;
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

static inline void forget_noted(void) {
    waits_n = waited_ms = sleeps = slept_ms = 0;
    *notes = 0;
    notes_n = 0;
}

/* ---- etcd's answers: the first remaining one whose `to` is in the request ---- */

typedef struct told {
    const char *to,
        *text;        /* ' for "; $known and $put, $horizon and $pool: of the last write, base64 */
    int http;         /* 0: 200 */
    CURLcode sent;    /* not 0: the connection breaks, after the text */
    int ms;           /* until it arrives; 0: 10 */
    const char *date; /* header lines; NULL: none */
    int times;        /* uses of this answer; 0: once */
    int answered;
} told;

static told told_list[24]; /* the last is in each request */

static inline void tell(const told *list) {
    static const told usual[] = {
        {.to = "keys_only",
         .text = "{'header':{},'responses':[{'response_range':{'header':{}}},"
                 "{'response_range':{'header':{}}}]}"},
        {.to = "/v3/kv/txn", .text = "{'header':{},'succeeded':true}"},
        {.to = "/v3/lease/grant", .text = "{'header':{},'ID':'7','TTL':'3'}"},
        {.to = "/v3/lease/keepalive", .text = "{'result':{'header':{},'ID':'7','TTL':'3'}}"},
        {.to = "/v3/auth/authenticate", .text = "{'header':{},'token':'t.1'}"},
        {.to = "", .text = "{'header':{}}"},
    };
    told *to = told_list;
    while (list && list->to) *to++ = *list++;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++, to++) {
        *to = usual[i];
        to->times = INT32_MAX;
    }
}

/* ---- libcurl ---- */

typedef size_t (*on_bytes)(char *, size_t, size_t, void *);
typedef struct script_easy {
    const char *name;
    char options[200]; /* "NUMBER=VALUE " of those that are set once */
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
static int64_t watch_every_ms; /* and again after that; 0: once */
static int64_t looks_ms;                              /* when the test checks; 0: never */
static void (*looks)(void);
static long last_http;
static char multi;

/* A test may have each call fail. */
#ifndef SCRIPT_REFUSES
#define SCRIPT_REFUSES() false
#endif

static inline void stop_thread(void);

static inline CURL *script_easy_init(void) {
    if (SCRIPT_REFUSES()) return NULL;
    script_easy *const e = &easies[easies_n++ % 2];
    memset(e, 0, sizeof *e);
    e->name = e == easies ? "request" : "watch";
    e->body_n = -1;
    return e;
}

static inline CURLcode script_setopt(CURL *easy, CURLoption option, ...) {
    script_easy *const e = (script_easy *)easy;
    va_list given;
    if (SCRIPT_REFUSES()) return CURLE_OUT_OF_MEMORY;
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
    default: {
        const size_t n = strlen(e->options);
        char *const to = e->options + n;
        if (is_long) (void)snprintf(to, sizeof e->options - n, "%d=%ld ", (int)option, number);
        else (void)snprintf(to, sizeof e->options - n, "%d=%s ", (int)option, (const char *)pointer);
    }
    }
    return CURLE_OK;
}

static inline void note_request(const char *what, const script_easy *e);
static inline const char *answer_to(const script_easy *e, const told *a);

static inline const told *told_to(const script_easy *e) {
    told *a = told_list;
    while ((a->answered > 0 && a->answered >= a->times) ||
           (!strstr(e->url, a->to) && !strstr(e->body, a->to)))
        a++;
    a->answered++;
    return a;
}

/* In memory of its exact size: reads past the end are detected. */
static inline bool hand_over(on_bytes to, const char *text, size_t n, void *user) {
    char *const copy = (char *)(malloc)(n + !n);
    if (!copy) abort();
    memcpy(copy, text, n);
    const bool taken = !n || to(copy, 1, n, user) == n;
    free(copy);
    return taken;
}

static inline CURLcode script_perform(CURL *easy) {
    script_easy *const e = (script_easy *)easy;
    const told *const a = told_to(e);
    if (SCRIPT_REFUSES()) return CURLE_SEND_ERROR;
    note_request("asks", e);
    clock_ms += a->ms ? a->ms : 10;
    last_http = a->http ? a->http : 200;
    if (stop_ms && clock_ms >= stop_ms) stop_thread();
    for (const char *line = a->date; line && *line;) {
        const size_t n = strcspn(line, "\n") + 1;
        if (!hand_over(e->on_header, line, n, e->of_header)) return CURLE_WRITE_ERROR;
        line += n;
    }
    const char *const text = answer_to(e, a);
    const size_t n = strlen(text); /* in two parts */
    return !hand_over(e->on_body, text, n / 2, e->of_body) ||
                   !hand_over(e->on_body, text + n / 2, n - n / 2, e->of_body)
               ? CURLE_WRITE_ERROR
               : a->sent;
}

static inline CURLcode script_getinfo(CURL *easy, CURLINFO info, long *to) {
    if (easy != &easies[0] || info != CURLINFO_RESPONSE_CODE) abort();
    *to = last_http;
    return CURLE_OK;
}

static inline CURLMcode script_add(CURLM *m, CURL *easy) {
    if (m != &multi || watching) note_raw("a second watch\n");
    watching = (script_easy *)easy;
    note_request("watches", watching);
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
        watch_says_ms = watch_every_ms ? clock_ms + watch_every_ms : 0;
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
    if (waits_n > 100000) note_raw("%300000s", ""); /* endless */
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

static inline void script_sleep_ns(int64_t ns) {
    if (ns % 1000000) note_raw("sleeps %lld ns\n", (long long)ns);
    if (++sleeps > 100000) note_raw("%300000s", ""); /* endless */
    slept_ms += (int)(ns / 1000000);
    clock_ms += ns / 1000000;
}

/* Its last byte makes 21 the first number tried. */
#define SCRIPT_TOKEN "0123456789abcdeffedcba9876543215"
static inline bool script_random(void *to, size_t n) {
    const uint64_t words[] = {0x0123456789abcdef, 0xfedcba9876543215};
    if (SCRIPT_REFUSES() || n != sizeof words) return false;
    memcpy(to, words, n);
    return true;
}

#undef curl_easy_setopt
#undef curl_easy_getinfo
#define CHECK_IS_BOOTTIME(id) check_equal(__FILE__, __LINE__, #id, "CLOCK_BOOTTIME", id, CLOCK_BOOTTIME)
#define clock_gettime(id, to)                   (CHECK_IS_BOOTTIME(id), script_elapsed(to))
#define curl_easy_init()                        script_easy_init()
#define curl_easy_cleanup(easy)                 note_raw("closes the %s\n", ((script_easy *)easy)->name)
#define curl_easy_setopt(easy, option, value)   script_setopt(easy, option, value)
#define curl_easy_getinfo(easy, what, to)       script_getinfo(easy, what, to)
#define curl_easy_perform(easy)                 script_perform(easy)
#define curl_multi_init()                       (SCRIPT_REFUSES() ? NULL : (CURLM *)&multi)
#define curl_multi_cleanup(m)                   (note_raw("closes what waits\n"), (void)(m), CURLM_OK)
#define curl_multi_add_handle(m, easy)          script_add(m, easy)
#define curl_multi_remove_handle(m, easy)       script_remove(m, easy)
#define curl_multi_perform(m, running)          script_multi_perform(m, running)
#define curl_multi_poll(m, more, n, ms, ready)  script_poll(m, ms)
#define curl_multi_info_read(m, left)           ((void)(left), script_info_read(m))
#define curl_multi_wakeup(m)                    (note_raw("wakes the thread\n"), CURLM_OK)
#define pthread_create(thread, kind, run, user) script_thread(run, user)
#define pthread_join(thread, to)                (note_raw("joins the thread\n"), 0)
#define FLAKE_SLEEP_NS(ns)        script_sleep_ns(ns)
#define FLAKE_CLOCK_NS(kind)      ((void)(kind), script_unix_ns())
#define FLAKE_RANDOM_BYTES(to, n) script_random(to, n)

/* What other clients do before the next compare-and-swap, once. */
static void (*others)(void);

static inline void let_others(void) {
    void (*const now)(void) = others;
    others = NULL;
    if (now) now();
}

#define BEFORE_ATOMIC(p, is_cas) (is_cas ? let_others() : (void)0)
#include "cluster.h"

/* ---- texts ---- */

/* Notes a whole request: base64 as <decoded>, and a horizon's time in ns of the test's clock. */
static inline void note_request(const char *what, const script_easy *e) {
    note_time();
    note_raw("%s ", what);
    for (const struct curl_slist *h = e->headers; h; h = h->next) note_raw("[%s]", h->data);
    note_raw(" %s within %ld ms ", e->url, e->timeout_ms);
    for (const char *at = e->body; at < e->body + e->body_n;) {
        static const char *const coded[] = {"\"key\":\"", "\"range_end\":\"", "\"value\":\""};
        char bytes[400], *end;
        size_t skip = 0, len = SIZE_MAX;
        for (int i = 0; i < 3; i++)
            if (strncmp(at, coded[i], strlen(coded[i])) == 0) skip = strlen(coded[i]);
        const size_t width = strcspn(at + skip, "\"");
        if (skip && width) len = flake_i_from_base64(at + skip, width, bytes, sizeof bytes - 1);
        if (len == SIZE_MAX) {
            note_raw("%c", *at == '"' ? '\'' : *at ? *at : '~');
            at++;
            continue;
        }
        bytes[len] = 0;
        const long long ns = strtoll(bytes, &end, 10);
        note_raw("'%.*s':<", (int)skip - 4, at + 1);
        if (*end == ' ') note_raw("%lld%s>", ns - begin_s * 1000000000LL, end);
        else note_raw("%s>", bytes);
        at += skip + width + 1;
    }
    note_raw("\n");
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

/* ---- expected events: the lines that a test expects to be noted, in order ---- */

#define TEXT(x)                  #x
#define NOTE(text)               text "\n"
#define WAITS(n, ms)             NOTE("waits " #n " times, " #ms " ms")
#define SLEEPS(n, ms)            NOTE("sleeps " #n " times, " #ms " ms")
#define HEADERS                  "[Content-Type: application/json][Expect:]"
#define M1                       HEADERS " http://m1/v3/"
#define M2                       HEADERS " https://m2/v3/"
#define M1_AS(token)             HEADERS "[Authorization: " token "] http://m1/v3/"
#define ASKS(at, where, what, body) NOTE(#at ": asks " where what " within 700 ms " body)

/* C: a cluster. N: a number, CLUSTER:GENERATOR. KEY, HORIZON: a name. NUMBER and BOUND: names of uniqueid's pools */
#define SPACE                     "x/"
#define KEY(name)                 "'key':<" SPACE name ">"
#define NUMBER(kind, n)           kind "/" n
#define BOUND(kind, c, end)       kind "/" c end
#define READS_CLUSTERS(at, where) ASKS(at, where, "kv/range", "{" KEY("cluster-id") "}")
#define READS_NUMBERS(at, where, c)                                                         \
    ASKS(at, where, "kv/txn",                                                               \
         "{'success':[{'request_range':{" KEY(BOUND("pool", c, ":")) ",'range_end':<" SPACE \
         BOUND("pool", c, ";") ">,'keys_only':true}},{'request_range':{"                    \
         KEY(BOUND("horizon", c, ":")) ",'range_end':<" SPACE BOUND("horizon", c, ";") ">}}]}")
#define GRANTS(at, where, s)      ASKS(at, where, "lease/grant", "{'TTL':'" #s "'}")
#define RENEWS(at, where)         ASKS(at, where, "lease/keepalive", "{'ID':'7'}")
#define LOGS_IN(at, user, password) \
    ASKS(at, M1, "auth/authenticate", "{'name':'" user "','password':'" password "'}")
#define WATCHES_KEYS(at, where, key, end)        \
    NOTE(#at ": watches " where "watch within 0 ms {'create_request':{" key ",'range_end':" end "}}")
#define WATCHES_OF(at, where, n)   WATCHES_KEYS(at, where, KEY(NUMBER("pool", n)), "''")
#define WATCHES(at, where)         WATCHES_OF(at, where, "2:21")
#define LOOKS_INTO(at, c) \
    WATCHES_KEYS(at, M1, KEY(BOUND("pool", c, ":")), "<" SPACE BOUND("pool", c, ";") ">") READS_NUMBERS(at, M1, c)

/* A transaction that claims, extends, heals or releases a number, on two conditions. If one fails, it reads the
 * horizon and the key of the pool. */
#define WRITES(at, where, n, horizon_is, pool_is, puts_ms, seq, more)                        \
    ASKS(at, where, "kv/txn",                                                                \
         "{'compare':[{" KEY(NUMBER("horizon", n)) ",'target':" horizon_is "},{"             \
         KEY(NUMBER("pool", n)) ",'target':" pool_is "}],'success':[{'request_put':{"        \
         KEY(NUMBER("horizon", n)) ",'value':" VALUE(puts_ms, SCRIPT_TOKEN, seq) "}}" more   \
         "],'failure':[{'request_range':{" KEY(NUMBER("horizon", n)) "}},{'request_range':{" \
         KEY(NUMBER("pool", n)) "}}]}")
#define VALUE(ms, token, seq)      "<" TEXT(ms) "000000 " token " " #seq ">"
#define AT_0_MS                    -1700000000000 /* the Unix time 0 */
#define ABSENT                     "'CREATE','create_revision':'0'"
#define IS(ms, token, seq)         "'VALUE','value':" VALUE(ms, token, seq)
#define HAS_OURS                   "'LEASE','lease':'7'"
#define TAKES(at, where, n, horizon_is, puts_ms, seq, lease)   \
    WRITES(at, where, n, horizon_is, ABSENT, puts_ms, seq,     \
           ",{'request_put':{" KEY(NUMBER("pool", n)) ",'value':<" SCRIPT_TOKEN ">,'lease':'" #lease "'}}")
#define EXTENDS_OF(at, where, n, was_ms, was_seq, puts_ms, seq) \
    WRITES(at, where, n, IS(was_ms, SCRIPT_TOKEN, was_seq), HAS_OURS, puts_ms, seq, "")
#define RELEASES_OF(at, where, n, was_ms, was_seq, puts_ms, seq)                     \
    WRITES(at, where, n, IS(was_ms, SCRIPT_TOKEN, was_seq), HAS_OURS, puts_ms, seq,  \
           ",{'request_delete_range':{" KEY(NUMBER("pool", n)) "}}")
/* of number 21 of cluster 2 */
#define EXTENDS(at, where, was_ms, was_seq, puts_ms, seq) \
    EXTENDS_OF(at, where, "2:21", was_ms, was_seq, puts_ms, seq)
#define RELEASES(at, where, was_ms, was_seq, puts_ms, seq) \
    RELEASES_OF(at, where, "2:21", was_ms, was_seq, puts_ms, seq)
#define PUTS_BACK(at, where, was_ms, was_seq, puts_ms, seq, lease) \
    TAKES(at, where, "2:21", IS(was_ms, SCRIPT_TOKEN, was_seq), puts_ms, seq, lease)

/* the same bytes to one member after the other */
#define EXTENDS_4(at_1, at_2, at_3, at_4, ...)                                                     \
    EXTENDS(at_1, M1, __VA_ARGS__), EXTENDS(at_2, M2, __VA_ARGS__), EXTENDS(at_3, M1, __VA_ARGS__), \
        EXTENDS(at_4, M2, __VA_ARGS__)
/* a claim's requests before its write */
#define ASKS_FOR_A_NUMBER \
    READS_CLUSTERS(1000, M1), READS_NUMBERS(1010, M1, "0"), GRANTS(1020, M1, 3)

#define CLOSES_ALL NOTE("closes what waits") NOTE("closes the request") NOTE("closes the watch")
/* After waits: the lease is kept; the watch has news; it ends. */
#define KEEPS(n, ms, at)      WAITS(n, ms) RENEWS(at, M1)
#define WATCH_SAYS(n, ms, at) WAITS(n, ms) NOTE(#at ": the watch says something")
#define UNWATCHES(n, ms, at)  WAITS(n, ms) NOTE(#at ": watches no more")
#define ENDS_THREAD           NOTE("wakes the thread") NOTE("joins the thread")
#define REVOKES(at)           ASKS(at, M1, "lease/revoke", "{'ID':'7'}") CLOSES_ALL
#define HAPPENED(...)                                                              \
    do {                                                                           \
        const bool has_happened = happened((const char *const[]){__VA_ARGS__, NULL}); \
        CHECK(has_happened);                                                       \
    } while (0)

/* A claim is held for that long, while etcd answers from its list. The watch is the first request; it reports a
 * change and ends at the given times (0: never). */
#define HOLDS(told, says_at_ms, ends_at_ms, ms, ...) \
    begin_claimed(told);                             \
    watch_ends_ms = ends_at_ms;                      \
    hold_told(says_at_ms, ms);                       \
    HAPPENED(WATCHES(1030, M1), __VA_ARGS__)

/* Whether exactly these lines were noted, in this order; then forgets what was noted. */
static inline bool happened(const char *const *lines) {
    note_waits();
    const char *at = notes;
    for (; *lines && strncmp(at, *lines, strlen(*lines)) == 0; lines++) at += strlen(*lines);
    const bool is_same = !*lines && !*at;
    if (!is_same) printf("  %.*s\n  not %s", (int)strcspn(at, "\n"), at, *lines ? *lines : "this\n");
    forget_noted();
    return is_same;
}

/* libcurl's numbers of NOSIGNAL, POST, HTTP_VERSION, TCP_KEEPALIVE, CONNECTTIMEOUT_MS; CAINFO, SSLCERT, SSLKEY */
#define USUAL_OPTIONS "99=1 47=1 84=2 213=1 156=700 "
#define FILE_OPTIONS  "10065=ca.pem 10025=cert.pem 10087=key.pem "
#define CHECK_OPTIONS(wanted) \
    for (int both = 0; both < 2; both++) CHECK_STR(easies[both].options, wanted)

/* ---- a claim ---- */

static inline void stop_thread(void) {
    stop_ms = 0;
    claim.session->stop = 1;
}

/* Runs the claim's thread for that long. */
static inline void hold_ms(int64_t ms) {
    stop_ms = clock_ms + ms;
    (void)thread_run(thread_user);
    claim.session->stop = 0;
}

/* The watch reports a change meanwhile. */
static inline void hold_told(int64_t says_ms, int64_t ms) {
    watch_says_ms = says_ms;
    hold_ms(ms);
}

static inline void script_begin(void) {
    tell(NULL);
    flake_etcd_destroy(&claim);
    memset(&claim, 0, sizeof claim);
    clock_ms = 1000;
    clock_ahead_ms = watch_says_ms = watch_every_ms = watch_ends_ms = stop_ms = looks_ms = 0;
    easies_n = 0;
    watching = NULL;
    forget_noted();
}

static flake_why why;

/* Claims a number from such an etcd. */
static inline flake_status claim_from(const told *list, const flake_etcd_options *o) {
    script_begin();
    tell(list);
    return flake_etcd_claim(&claim, o, &why);
}

static inline flake_etcd_options scripted(void) {
    flake_etcd_options o = from("http://m1,https://m2", SPACE);
    o.ttl_ms = 2001;
    o.horizon_ms = 7500;
    o.timeout_ms = 700;
    return o;
}

#define RANGE(kvs)  "{'response_range':{'header':{}" kvs "}}"
#define BOTH(horizon, pool)                                \
    "{'header':{},'responses':[" RANGE(horizon) "," RANGE( \
        pool) "]}" /* of a write that fails */
#define HORIZON(value) ",'kvs':[{'key':'$horizon','value':'" value "'}]"
#define POOL           ",'kvs':[{'key':'$pool','value':'eA=='}]"

static const char *const names[] = {
    [FLAKE_OK] = "ok", [FLAKE_AGAIN] = "again", [FLAKE_IO] = "io", [FLAKE_LEASE_LOST] = "lost"};

static inline flake_etcd_options scripted_cluster(unsigned cluster) {
    flake_etcd_options o = scripted();
    o.cluster_given = true;
    o.cluster = cluster;
    return o;
}

/* A claim of number 21 of cluster 2, in three requests. */
static inline void begin_claimed(const told *then) {
    const flake_etcd_options o = scripted_cluster(2);
    CHECK_EQ(claim_from(NULL, &o), FLAKE_OK);
    CHECK_EQ(clock_ms, 1030);
    CHECK_EQ(claim.node, flake_uniqueid_node(2, 21));
    forget_noted();
    tell(then);
}

static inline void say_how_it_is(void) {
    const flake_status status = flake_etcd_check(&claim, &why);
    note_time();
    note_raw("is %s \"%s\", left %d ms\n", names[status], why.text,
             (int)flake_etcd_left_ms(&claim));
}

static inline void want(int64_t ms) {
    const int64_t unix_ms = begin_s * INT64_C(1000) + ms;
    note_time();
    note_raw("a draw is %s\n", names[flake_i_etcd_gate(&claim, unix_ms * 1000000)]);
}

static int64_t wanted_ms;
static inline void want_that(void) { want(wanted_ms); }

/* The test checks at that time, or draws an ID then. */
static inline void look(int64_t at_ms, void (*what)(void)) {
    looks_ms = at_ms;
    looks = what;
}

static inline void want_at(int64_t at_ms, int64_t ms) {
    wanted_ms = ms;
    look(at_ms, want_that);
}

/* The answer to a read of a pool, whose keys begin with "%s/2:", of cluster 2, or "node/%s:": from..to are taken, and
 * there is a horizon of a number. */
static inline const char *numbers(const char *keys, unsigned from, unsigned to, unsigned number, int64_t horizon_ms) {
    static char text[8][20000];
    static int next;
    char *const out = text[next++ % 8], pool[20], horizon[20], key[40], value[80];
    int n = sprintf(out, "{'header':{},'responses':[{'response_range':{'header':{},'kvs':[");
    (void)snprintf(pool, sizeof pool, keys, "pool");
    (void)snprintf(horizon, sizeof horizon, keys, "horizon");
    for (unsigned i = from; i <= to; i++) {
        (void)snprintf(key, sizeof key, "x/%s%u", pool, i);
        n += sprintf(out + n, "%s{'key':'%s'}", i == from ? "" : ",", base64_of(key));
    }
    (void)snprintf(key, sizeof key, "x/%s%u", horizon, number);
    (void)snprintf(value, sizeof value, "%lld " TOKEN " 9",
                   (begin_s * 1000LL + horizon_ms) * 1000000);
    (void)sprintf(out + n, "]}},{'response_range':{'header':{},'kvs':[{'key':'%s','value':'%s'}]}}]}",
                  base64_of(key), base64_of(value));
    return out;
}

#endif
