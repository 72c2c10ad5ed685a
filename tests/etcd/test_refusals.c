/* SPDX-License-Identifier: MIT
 *
 * An etcd that answers what a real one never would, and a system that refuses memory, pages, threads or what
 * libcurl is asked for: each is a status and a reason, and nothing is held.
 */
#define _GNU_SOURCE
#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

static _Thread_local int calls_until_refused; /* 0: none is */
static int is_refused(void) { return calls_until_refused && --calls_until_refused == 0; }
#define calloc(n, size)    (is_refused() ? NULL : calloc(n, size))
#define malloc(size)       (is_refused() ? NULL : malloc(size))
#define realloc(old, size) (is_refused() ? NULL : realloc(old, size))
#define mmap(at, size, may, kind, fd, from) \
    (is_refused() ? MAP_FAILED : mmap(at, size, may, kind, fd, from))
#define pthread_create(to, kind, run, user) \
    (is_refused() ? 11 : pthread_create(to, kind, run, user))
#define curl_easy_init()              (is_refused() ? NULL : curl_easy_init())
#define curl_multi_init()             (is_refused() ? NULL : curl_multi_init())
#define curl_slist_append(list, line) (is_refused() ? NULL : curl_slist_append(list, line))
#undef curl_easy_setopt
#define curl_easy_setopt(easy, option, value) \
    (is_refused() ? CURLE_OUT_OF_MEMORY : (curl_easy_setopt)(easy, option, value))
#define curl_easy_perform(easy) (is_refused() ? CURLE_SEND_ERROR : curl_easy_perform(easy))
#include "cluster.h"

/* ---- an etcd that has nothing, answers as told, and notes what it was asked ---- */

typedef struct answer {
    const char *to; /* a request that has this */
    int http;
    const char *head, *text;
} answer;

typedef struct server {
    int listener;
    char url[64];
    pthread_t thread;
    _Atomic(bool) end, ends_watches, asks_for_login;
    _Atomic(const answer *) told; /* NULL: as usual_answers */
    _Atomic(int) asked, writes, revoked;
    char login[256];
} server;

static server fake;

static const answer usual_answers[] = {
    {"/v3/kv/range", 200, "", "{\"header\":{}}"},
    {"keys_only", 200, "",
     "{\"header\":{},\"responses\":[{\"response_range\":{\"header\":{}}},"
     "{\"response_range\":{\"header\":{}}}]}"},
    {"/v3/kv/txn", 200, "", "{\"header\":{},\"succeeded\":true}"},
    {"/v3/lease/grant", 200, "", "{\"header\":{},\"ID\":\"7\",\"TTL\":\"3\"}"},
    {"/v3/lease/keepalive", 200, "", "{\"result\":{\"header\":{},\"ID\":\"7\",\"TTL\":\"3\"}}"},
    {"/v3/auth/authenticate", 200, "", "{\"header\":{},\"token\":\"t.1\"}"},
    {"", 200, "", "{\"header\":{}}"},
};

static const answer logged_out = {"", 401, "", "{\"error\":\"no\",\"code\":16}"};

/* One request, as far as it is below a buffer's size; false: there is none. */
static bool read_request(int fd, char *to, size_t size) {
    size_t n = 0, whole = 0;
    while (n + 1 < size) {
        const ssize_t got = read(fd, to + n, size - n - 1);
        if (got <= 0) return false;
        n += (size_t)got;
        to[n] = 0;
        const char *const body = strstr(to, "\r\n\r\n"), *const len =
                                                             strstr(to, "Content-Length: ");
        if (body && len) whole = (size_t)(body - to) + 4 + (size_t)atoi(len + 16);
        if (whole && n >= whole) return true;
    }
    return false;
}

static void *serve(void *none) {
    static char request[8192], reply[512];
    int watches[64], n = 0;
    (void)none;
    while (!atomic_load(&fake.end)) {
        struct pollfd p = {fake.listener, POLLIN, 0};
        if (poll(&p, 1, 20) != 1) continue;
        const int fd = accept(fake.listener, NULL, NULL);
        if (fd < 0 || !read_request(fd, request, sizeof request)) {
            (void)close(fd);
            continue;
        }
        if (strstr(request, "/v3/watch") && !atomic_load(&fake.ends_watches) && n < 64) {
            watches[n++] = fd;
            continue;
        }
        if (strstr(request, "/v3/kv/txn") && !strstr(request, "keys_only")) fake.writes++;
        if (strstr(request, "/v3/lease/revoke")) fake.revoked++;
        if (strstr(request, "/v3/auth/"))
            (void)snprintf(fake.login, sizeof fake.login, "%s", strstr(request, "\r\n\r\n") + 4);
        const answer *a = atomic_load(&fake.told);
        if (atomic_load(&fake.asks_for_login) && !strstr(request, "Authorization: t.1\r\n") &&
            !strstr(request, "/v3/auth/"))
            a = &logged_out;
        else if (a && strstr(request, a->to)) fake.asked++;
        else
            for (a = usual_answers; !strstr(request, a->to); a++) {
            }
        const int len =
            snprintf(reply, sizeof reply,
                     "HTTP/1.1 %d x\r\nConnection: close\r\nContent-Length: %zu\r\n%s\r\n", a->http,
                     strlen(a->text), a->head);
        (void)send(fd, reply, (size_t)len, MSG_NOSIGNAL);
        (void)send(fd, a->text, strlen(a->text), MSG_NOSIGNAL);
        (void)close(fd);
    }
    while (n) (void)close(watches[--n]);
    return NULL;
}

static void server_begin(void) {
    int port;
    memset(&fake, 0, sizeof fake);
    fake.listener = listen_anywhere(&port);
    (void)snprintf(fake.url, sizeof fake.url, "http://127.0.0.1:%d", port);
    if (pthread_create(&fake.thread, NULL, serve, NULL) != 0) abort();
}

static void server_end(void) {
    atomic_store(&fake.end, true);
    (void)pthread_join(fake.thread, NULL);
    (void)close(fake.listener);
}

/* It answers at once; what takes long is a machine that is busy. */
static flake_etcd_options from_fake(const char *urls) {
    flake_etcd_options o = from(urls, "x/");
    o.timeout_ms = 8000;
    return o;
}

static bool within(_Atomic(int) *count, int wanted, int64_t ms) {
    const int64_t end_ms = now_ms() + ms;
    while (atomic_load(count) < wanted && now_ms() < end_ms) nap_ms(5);
    return atomic_load(count) >= wanted;
}

/* ---- tests ---- */

#define REFUSED(code) "{\"error\":\"etcdserver: no\",\"code\":" #code "}"
#define RANGES(pool, horizon)                                                                      \
    "{\"header\":{},\"responses\":[{\"response_range\":" pool "},{\"response_range\":" horizon "}" \
    "]"                                                                                            \
    "}"

static char too_long[(4 << 20) + 2], long_token[2100], unprintable[400];

TEST(what_etcd_says_is_told) {
    static const struct {
        answer a;
        flake_status status;
        const char *why;
    } cases[] = {
        {{"kv/range", 200, "", ""}, FLAKE_IO, ": HTTP 200, and not etcd's JSON"},
        {{"kv/range", 502, "", "<html>Bad gateway</html>"},
         FLAKE_IO,
         ": HTTP 502, and not etcd's JSON"},
        {{"kv/range", 200, "", "[]"}, FLAKE_IO, ": HTTP 200, and not etcd's JSON"},
        {{"kv/range", 200, "", too_long}, FLAKE_IO, ": Failed writing"}, /* libcurl's words */
        {{"kv/range", 200, "", "{}"}, FLAKE_IO, ": not etcd's answer to a range"},
        {{"kv/range", 503, "", REFUSED(14)}, FLAKE_IO, ": etcdserver: no"},
        {{"kv/range", 503, "", "{\"error\":7,\"code\":14}"}, FLAKE_IO, ": no reason given"},
        {{"kv/range", 500, "", "{\"header\":{}}"}, FLAKE_IO, ": no reason given"},
        {{"kv/range", 200, "", "{\"code\":14}"}, FLAKE_IO, ": no reason given"},
        {{"kv/range", 200, "", "{\"error\":{\"grpc_code\":14}}"}, FLAKE_IO, ": no reason given"},
        {{"kv/range", 200, "", "{\"error\":\"\x7fquoted \xc3\xa4\"}"}, FLAKE_IO, ": quoted "},
        {{"kv/range", 503, "", unprintable}, FLAKE_IO, ": xxxxxxxx"},
        {{"lease/grant", 200, "", "{\"header\":{}}"}, FLAKE_IO, ": no lease in etcd's answer"},
        {{"lease/grant", 200, "", "{\"ID\":\"7\"}"}, FLAKE_IO, ": no lease in"},
        {{"lease/grant", 200, "", "{\"ID\":\"7\",\"TTL\":\"0\"}"}, FLAKE_IO, ": no lease in"},
        {{"lease/grant", 200, "", "{\"ID\":\"7\",\"TTL\":\"2147483648\"}"},
         FLAKE_IO,
         ": no lease in"},
        {{"lease/grant", 200, "", "{\"ID\":\"-7\",\"TTL\":\"3\"}"}, FLAKE_IO, ": no lease in"},
        {{"lease/grant", 200, "", "{\"ID\":\"0\",\"TTL\":\"3\"}"}, FLAKE_IO, ": no lease in"},
        {{"keys_only", 200, "", "{\"header\":{},\"responses\":[]}"},
         FLAKE_IO,
         ": not etcd's answer to a range"},
        {{"keys_only", 200, "", RANGES("{\"header\":{}}", "{\"header\":{},\"kvs\":[{}]}")},
         FLAKE_IO,
         ": not etcd's answer to a range"},
        {{"keys_only", 200, "",
          RANGES("{\"header\":{}}", "{\"header\":{},\"kvs\":[{\"key\":\"\\u0041\"}]}")},
         FLAKE_AGAIN,
         "pool_size: all numbers are taken"},
        {{"CREATE", 200, "", "{}"}, FLAKE_IO, ": not etcd's answer to a transaction"},
        {{"CREATE", 200, "", "{\"header\":{}}"}, FLAKE_IO, ": not etcd's answer to a transaction"},
        {{"CREATE", 400, "", REFUSED(3)}, FLAKE_IO, ": etcdserver: no"},
        {{"CREATE", 400, "", REFUSED(7)}, FLAKE_IO, ": etcdserver: no"},
        {{"CREATE", 400, "", REFUSED(9)}, FLAKE_IO, ": etcdserver: no"},
        {{"CREATE", 400, "", REFUSED(5)}, FLAKE_IO, ": leases end at once, or answers don't agree"},
        {{"CREATE", 200, "", RANGES("{\"header\":{}}", "{\"header\":{}}")},
         FLAKE_IO,
         ": leases end at once, or answers don't agree"},
    };
    server_begin();
    const flake_etcd_options o = from_fake(fake.url);
    memset(too_long, ' ', sizeof too_long - 1);
    (void)snprintf(unprintable, sizeof unprintable, "{\"error\":\"%0300d\",\"code\":14}", 0);
    for (char *at = strchr(unprintable, '0'); *at == '0'; at++) *at = 'x';
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        flake_why why = {""};
        fake.asked = 0;
        atomic_store(&fake.told, &cases[i].a);
        const flake_status status = flake_etcd_claim(&claim, &o, &why);
        if (status != cases[i].status || !strstr(why.text, cases[i].why) || fake.asked == 0) {
            printf("  %s: %.60s is %d, %s\n", cases[i].a.to, cases[i].a.text, (int)status,
                   why.text);
            CHECK(!"is told");
        }
        CHECK(claim.session == NULL);
        CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_LEASE_LOST);
    }
    atomic_store(&fake.told, NULL);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    server_end();
}

/* etcd has answered, and won't: no other member is asked, but after what may be this member's trouble. */
TEST(a_refusal_is_no_reason_to_ask_the_next) {
    static const answer answers[] = {
        {"lease/grant", 400, "", REFUSED(3)},  {"lease/grant", 404, "", REFUSED(5)},
        {"lease/grant", 403, "", REFUSED(7)},  {"lease/grant", 400, "", REFUSED(9)},
        {"lease/grant", 401, "", REFUSED(16)}, {"lease/grant", 503, "", REFUSED(14)},
        {"lease/grant", 429, "", REFUSED(8)}};
    server_begin();
    char urls[140];
    (void)snprintf(urls, sizeof urls, "%s, %s/ ", fake.url, fake.url);
    const flake_etcd_options o = from_fake(urls);
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        fake.asked = 0;
        atomic_store(&fake.told, &answers[i]);
        CHECK_EQ(flake_etcd_claim(&claim, &o, NULL), FLAKE_IO);
        CHECK_EQ(fake.asked, i < 5 ? 1 : 2);
    }
    server_end();
}

TEST(logins_are_read_strictly) {
    static const answer answers[] = {
        {"auth/authenticate", 200, "", "{\"header\":{}}"},
        {"auth/authenticate", 200, "", "{\"token\":\"\\u0041\"}"},
        {"auth/authenticate", 200, "", long_token},
    };
    static const answer out = {"kv/range", 401, "", REFUSED(16)};
    static const answer refused = {"auth/authenticate", 400, "", REFUSED(3)};
    flake_i_etcd *s = NULL;
    server_begin();
    flake_etcd_options o = from_fake(fake.url);
    o.user = "a\"\x01\\";
    (void)snprintf(long_token, sizeof long_token, "{\"token\":\"%02048d\"}", 0);
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        s = (flake_i_etcd *)calloc(1, sizeof *s);
        CHECK_EQ(flake_i_etcd_open_session(s, &o), FLAKE_OK);
        atomic_store(&fake.told, &answers[i]);
        CHECK_EQ(flake_i_etcd_log_in(s), FLAKE_IO);
        CHECK(strstr(s->why.text, ": no token in etcd's answer") != NULL);
        flake_i_etcd_close_session(s);
    }
    CHECK_STR(fake.login, "{\"name\":\"a\\u0022\\u0001\\u005c\",\"password\":\"\"}");
    atomic_store(&fake.told, &refused);
    s = (flake_i_etcd *)calloc(1, sizeof *s);
    CHECK_EQ(flake_i_etcd_open_session(s, &o), FLAKE_OK);
    CHECK_EQ(flake_i_etcd_log_in(s), FLAKE_INVALID);
    atomic_store(&fake.told, &out); /* logs in once, and is refused again */
    CHECK_EQ(flake_i_etcd_call(s, "kv/range", "{}"), FLAKE_INVALID);
    CHECK_EQ(fake.asked, 6);
    flake_i_etcd_close_session(s);
    server_end();
}

TEST(etcds_clock_is_one_that_can_be) {
    static const struct {
        answer a;
        flake_status status;
    } cases[] = {
        {{"kv/range", 200, "Date: Thu, 01 Jan 1970 00:00:01 GMT\r\n", "{\"header\":{}}"}, FLAKE_IO},
        {{"kv/range", 200, "dATE: Thu, 01 Jan 1970 00:00:01 GMT\r\n", "{\"header\":{}}"}, FLAKE_IO},
        {{"kv/range", 200, "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n", "{\"header\":{}}"}, FLAKE_OK},
        {{"kv/range", 200, "Date: Wed, 31 Dec 1969 23:59:59 GMT\r\n", "{\"header\":{}}"}, FLAKE_OK},
        {{"kv/range", 200, "Date: yesterday\r\n", "{\"header\":{}}"}, FLAKE_OK},
        {{"kv/range", 200, "Update: Thu, 01 Jan 1970 00:00:01 GMT\r\n", "{\"header\":{}}"},
         FLAKE_OK},
        {{"kv/range", 200, "Date: Sun, 01 Jan 2150 00:00:01 GMT\r\n", "{\"header\":{}}"}, FLAKE_OK},
    };
    server_begin();
    const flake_etcd_options o = from_fake(fake.url);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        flake_why why = {""};
        atomic_store(&fake.told, &cases[i].a);
        const flake_status status = flake_etcd_claim(&claim, &o, &why);
        if (status != cases[i].status) printf("  %s\n", cases[i].a.head);
        CHECK_EQ(status, cases[i].status);
        if (status == FLAKE_OK) CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
        else CHECK(strstr(why.text, ": this clock is more than 60 s ahead of etcd's") != NULL);
    }
    server_end();
}

/* Neither a lease that is gone nor a watch that ends waits for the next third of the horizon. */
TEST(a_holder_looks_when_there_is_a_reason) {
    static const answer no_lease = {"lease/keepalive", 200, "", "{\"result\":{\"header\":{}}}"};
    static const answer no_write = {"LEASE", 200, "", "{}"};
    server_begin();
    flake_etcd_options o = from_fake(fake.url);
    o.ttl_ms = 1000;
    o.horizon_ms = 3600000;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    nap_ms(1500); /* a keepalive, and the watch is there */
    CHECK_EQ(fake.writes, 1);
    atomic_store(&fake.told, &no_lease);
    CHECK(within(&fake.writes, 2, 5000));
    atomic_store(&fake.told, NULL);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    CHECK_EQ(fake.revoked, 1);

    fake.writes = 0;
    atomic_store(&fake.ends_watches, true);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK(within(&fake.writes, 4, 5000));
    /* A release whose answer makes no sense says so, or keeps it to itself; the lease is left to run out. */
    flake_why why;
    atomic_store(&fake.told, &no_write);
    CHECK_EQ(flake_etcd_release(&claim, &why), FLAKE_IO);
    CHECK(strstr(why.text, ": not etcd's answer to a transaction") != NULL);
    atomic_store(&fake.told, NULL);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    atomic_store(&fake.told, &no_write);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_IO);
    CHECK_EQ(fake.revoked, 1);
    server_end();
}

/* Each call that a claim and its release make is refused once. */
TEST(what_the_system_refuses_is_a_status) {
    int refused = 0, held = 0;
    server_begin();
    flake_etcd_options o = from_fake(fake.url);
    o.user = "a";
    o.password = "b";
    o.ca_file = o.cert_file = o.key_file = "/dev/null";
    for (int times = 0; times < 2; times++) {
        atomic_store(&fake.asks_for_login, o.user != NULL);
        bool is_past_all = false;
        for (int n = 1; n < 300 && !is_past_all; n++) {
            flake_why why = {""};
            calls_until_refused = n;
            const flake_status status = flake_etcd_claim(&claim, &o, &why);
            CHECK(status == FLAKE_OK || status == FLAKE_IO || status == FLAKE_INVALID);
            CHECK((status == FLAKE_OK) == (why.text[0] == 0));
            CHECK((status == FLAKE_OK) == (claim.session != NULL));
            CHECK_EQ(flake_etcd_check(&claim, NULL), status == FLAKE_OK ? FLAKE_OK : FLAKE_LEASE_LOST);
            if (status != FLAKE_OK) refused++;
            else {
                held++;
                const bool is_wordless = claim.word == NULL;
                const flake_status released = flake_etcd_release(&claim, &why);
                CHECK(released == FLAKE_OK || released == FLAKE_IO);
                is_past_all = calls_until_refused > 0;
                calls_until_refused = 0;
                /* Old generators could not tell the next claim from this one. */
                if (is_wordless) CHECK_EQ(flake_etcd_claim(&claim, &o, NULL), FLAKE_INVALID);
            }
            flake_etcd_destroy(&claim);
        }
        CHECK(is_past_all);
        o.user = o.password = NULL;
    }
    calls_until_refused = 0;
    CHECK(refused > 50 && held > 4);
    CHECK_EQ(flake_etcd_release(NULL, NULL), FLAKE_INVALID);
    flake_etcd_destroy(NULL);
    server_end();
}

int main(int argc, char **argv) { return alone_main(argc, argv); }
