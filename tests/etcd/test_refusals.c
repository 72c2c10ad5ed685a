/* SPDX-License-Identifier: MIT
 *
 * An etcd that answers what a real one never would, and a system that refuses memory, pages, threads or what
 * libcurl is asked for: each is a status and a reason, and nothing is held.
 */
#define _GNU_SOURCE
#include <curl/curl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

static int calls_until_refused; /* 0: none is */
static bool is_refused(void) { return calls_until_refused && --calls_until_refused == 0; }
#define SCRIPT_REFUSES()   is_refused()
#define calloc(n, size)    (is_refused() ? NULL : calloc(n, size))
#define malloc(size)       (is_refused() ? NULL : malloc(size))
#define realloc(old, size) (is_refused() ? NULL : realloc(old, size))
#define mmap(at, size, may, kind, fd, from) \
    (is_refused() ? MAP_FAILED : mmap(at, size, may, kind, fd, from))
#define curl_slist_append(list, line) (is_refused() ? NULL : curl_slist_append(list, line))
#include "scripted.h"

#define REFUSED(code) "{'error':'etcdserver: no','code':" #code "}"

static char long_token[2100], unprintable[400];

/* One member, or `urls`, which gives this answer as often as it is asked for. */
static flake_etcd_options from_one(told answer, const char *urls) {
    const told list[] = {answer, {0}};
    flake_etcd_options o = scripted();
    o.endpoints = urls;
    script_begin();
    tell(list);
    told_list[0].times = 1000;
    return o;
}

TEST(what_etcd_says_is_told) {
    static const struct {
        told a;
        const char *why;
    } cases[] = {
        {{.to = "kv/range", .text = ""}, ": HTTP 200 without etcd's JSON"},
        {{.to = "kv/range", .http = 502, .text = "<html>Bad gateway</html>"},
         ": HTTP 502 without etcd's JSON"},
        {{.to = "kv/range", .text = "[]"}, ": HTTP 200 without etcd's JSON"},
        {{.to = "kv/range", .sent = CURLE_WRITE_ERROR}, ": Failed writing"},
        {{.to = "kv/range", .text = "{}"}, ": unexpected answer to a range request"},
        {{.to = "kv/range", .http = 503, .text = REFUSED(14)}, ": etcdserver: no"},
        {{.to = "kv/range", .http = 503, .text = "{'error':7,'code':14}"}, ": etcd refused without a reason"},
        {{.to = "kv/range", .http = 500, .text = "{'header':{}}"}, ": etcd refused without a reason"},
        {{.to = "kv/range", .text = "{'code':14}"}, ": etcd refused without a reason"},
        {{.to = "kv/range", .text = "{'error':{'grpc_code':14}}"}, ": etcd refused without a reason"},
        {{.to = "kv/range", .text = "{'error':'\x7fquoted \xc3\xa4'}"}, ": quoted "},
        {{.to = "kv/range", .http = 503, .text = unprintable}, ": xxxxxxxx"},
        {{.to = "lease/grant", .text = "{'header':{}}"}, ": no lease in etcd's answer"},
        {{.to = "lease/grant", .text = "{'ID':'7'}"}, ": no lease in"},
        {{.to = "lease/grant", .text = "{'ID':'7','TTL':'0'}"}, ": no lease in"},
        {{.to = "lease/grant", .text = "{'ID':'7','TTL':'2147483648'}"}, ": no lease in"},
        {{.to = "lease/grant", .text = "{'ID':'-7','TTL':'3'}"}, ": no lease in"},
        {{.to = "lease/grant", .text = "{'ID':'0','TTL':'3'}"}, ": no lease in"},
        {{.to = "keys_only", .text = "{'header':{},'responses':[]}"},
         ": unexpected answer to a range request"},
        {{.to = "keys_only", .text = BOTH("", ",'kvs':[{}]")}, ": unexpected answer to a range request"},
        {{.to = "keys_only", .text = BOTH("", ",'kvs':[{'key':'\\u0041'}]")},
         "pool_size: all numbers are taken"},
        {{.to = "CREATE", .text = "{}"}, ": unexpected answer to a transaction"},
        {{.to = "CREATE", .text = "{'header':{}}"}, ": unexpected answer to a transaction"},
        {{.to = "CREATE", .http = 400, .text = REFUSED(3)}, ": etcdserver: no"},
        {{.to = "CREATE", .http = 400, .text = REFUSED(7)}, ": etcdserver: no"},
        {{.to = "CREATE", .http = 400, .text = REFUSED(9)}, ": etcdserver: no"},
        {{.to = "CREATE", .http = 400, .text = REFUSED(5)},
         ": leases expire at once, or answers contradict each other"},
        {{.to = "CREATE", .text = BOTH("", "")}, ": leases expire at once, or answers contradict each other"},
    };
    (void)snprintf(unprintable, sizeof unprintable, "{'error':'%0300d','code':14}", 0);
    for (char *at = strchr(unprintable, '0'); *at == '0'; at++) *at = 'x';
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const flake_etcd_options o = from_one(cases[i].a, "http://m1");
        const flake_status wanted = *cases[i].why == ':' ? FLAKE_IO : FLAKE_AGAIN;
        const flake_status status = flake_etcd_claim(&claim, &o, &why);
        if (status != wanted || !strstr(why.text, cases[i].why) || !told_list[0].answered) {
            printf("  %s: %.60s is %d, %s\n", cases[i].a.to, cases[i].a.text, (int)status,
                   why.text);
            CHECK(!"is told");
        }
        CHECK(claim.session == NULL);
        CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_LEASE_LOST);
        tell(NULL);
        CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    }
}

/* etcd has answered, and won't: no other member is asked, but after what may be this member's trouble. */
TEST(a_refusal_is_no_reason_to_ask_the_next) {
    static const told answers[] = {
        {.http = 400, .text = REFUSED(3)},  {.http = 404, .text = REFUSED(5)},
        {.http = 403, .text = REFUSED(7)},  {.http = 400, .text = REFUSED(9)},
        {.http = 401, .text = REFUSED(16)}, {.http = 503, .text = REFUSED(14)},
        {.http = 429, .text = REFUSED(8)}};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        told answer = answers[i];
        answer.to = "lease/grant";
        const flake_etcd_options o = from_one(answer, "http://m1, http://m2/ ");
        CHECK_EQ(flake_etcd_claim(&claim, &o, NULL), FLAKE_IO);
        CHECK_EQ(told_list[0].answered, i < 5 ? 1 : 2);
    }
}

TEST(logins_are_read_strictly) {
    static const told answers[] = {
        {.to = "auth/authenticate", .text = "{'header':{}}"},
        {.to = "auth/authenticate", .text = "{'token':'\\u0041'}"},
        {.to = "auth/authenticate", .text = long_token},
    };
    static const told refuses[] = {
        {.to = "auth/authenticate", .http = 400, .text = REFUSED(3), .times = 9},
        {.to = "kv/range", .http = 401, .text = REFUSED(16), .times = 9}, {0}};
    flake_i_etcd *s = NULL;
    (void)snprintf(long_token, sizeof long_token, "{'token':'%02048d'}", 0);
    for (size_t i = 0; i <= sizeof answers / sizeof *answers; i++) {
        flake_etcd_options o = from_one(answers[i % 3], "http://m1");
        o.user = "a\"\x01\\";
        s = (flake_i_etcd *)calloc(1, sizeof *s);
        CHECK_EQ(flake_i_etcd_open_session(s, &o), FLAKE_OK);
        if (i == 3) break;
        CHECK_EQ(flake_i_etcd_log_in(s), FLAKE_IO);
        CHECK(strstr(s->why.text, ": no token in etcd's answer") != NULL);
        CHECK_STR(easies[0].body, "{\"name\":\"a\\u0022\\u0001\\u005c\",\"password\":\"\"}");
        flake_i_etcd_close_session(s);
    }
    tell(refuses);
    CHECK_EQ(flake_i_etcd_log_in(s), FLAKE_INVALID);
    tell(refuses + 1); /* logs in once, and is refused again */
    CHECK_EQ(flake_i_etcd_call(s, "kv/range", "{}"), FLAKE_INVALID);
    CHECK_EQ(told_list[0].answered, 2);
    flake_i_etcd_close_session(s);
}

TEST(etcds_clock_is_one_that_can_be) {
    static const struct {
        const char *date;
        flake_status status;
    } cases[] = {{"Date: Thu, 01 Jan 1970 00:00:01 GMT\r\n", FLAKE_IO},
                 {"dATE: Thu, 01 Jan 1970 00:00:01 GMT\r\n", FLAKE_IO},
                 {"Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n", FLAKE_OK},
                 {"Date: Wed, 31 Dec 1969 23:59:59 GMT\r\n", FLAKE_OK},
                 {"Date: yesterday\r\n", FLAKE_OK},
                 {"Update: Thu, 01 Jan 1970 00:00:01 GMT\r\n", FLAKE_OK},
                 {"Date: Sun, 01 Jan 2150 00:00:01 GMT\r\n", FLAKE_OK}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const told answer = {.to = "kv/range", .text = "{'header':{}}", .date = cases[i].date};
        const flake_etcd_options o = from_one(answer, "http://m1");
        const flake_status status = flake_etcd_claim(&claim, &o, &why);
        if (status != cases[i].status) printf("  %s\n", cases[i].date);
        CHECK_EQ(status, cases[i].status);
        CHECK(status == FLAKE_OK || strstr(why.text, ": this clock is more than 60 s ahead of"));
    }
}

/* The lease is left to run out. */
TEST(a_release_whose_answer_makes_no_sense_says_so) {
    static const told no_write[] = {{.to = "LEASE", .text = "{}", .times = 9}, {0}};
    for (int i = 0; i < 2; i++) {
        begin_claimed(no_write);
        CHECK_EQ(flake_etcd_release(&claim, i ? &why : NULL), FLAKE_IO);
        CHECK(strstr(notes, "lease/revoke") == NULL);
    }
    CHECK(strstr(why.text, ": unexpected answer to a transaction") != NULL);
}

/* Each call that a claim and its release make is refused once. */
TEST(what_the_system_refuses_is_a_status) {
    static const told logged_out[] = {{.to = "", .http = 401, .text = REFUSED(16)}, {0}};
    int refused = 0, held = 0;
    flake_etcd_options o = scripted();
    o.user = "a";
    o.password = "b";
    o.ca_file = o.cert_file = o.key_file = "/dev/null";
    for (int times = 0; times < 2; times++) {
        bool is_past_all = false;
        for (int n = 1; n < 300 && !is_past_all; n++) {
            script_begin();
            if (o.user) tell(logged_out);
            calls_until_refused = n;
            const flake_status status = flake_etcd_claim(&claim, &o, &why);
            CHECK(status == FLAKE_OK || status == FLAKE_IO || status == FLAKE_INVALID);
            CHECK((status == FLAKE_OK) == (why.text[0] == 0));
            CHECK((status == FLAKE_OK) == (claim.session != NULL));
            CHECK_EQ(flake_etcd_check(&claim, NULL), status == FLAKE_OK ? FLAKE_OK : FLAKE_LEASE_LOST);
            if (status != FLAKE_OK) refused++;
            else {
                held++;
                const bool is_wordless = claim.fence == NULL;
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
}

int main(int argc, char **argv) { return alone_main(argc, argv); }
