/* SPDX-License-Identifier: MIT
 *
 * Answers that a real etcd never sends, and a system that refuses memory, pages, threads or libcurl's options:
 * each leads to a status and a reason, and nothing is held. Also the limits of a claim's options, buffers and
 * dates, and one more.
 */
#define _GNU_SOURCE
#include <curl/curl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int calls_until_refused; /* 0: none is */
static int pages;               /* that are mapped */
static bool is_refused(void) { return calls_until_refused && --calls_until_refused == 0; }
#define SCRIPT_REFUSES()   is_refused()
#define calloc(n, size)    (is_refused() ? NULL : calloc(n, size))
#define malloc(size)       (is_refused() ? NULL : malloc(size))
#define realloc(old, size) (is_refused() ? NULL : realloc(old, size))
#define mmap(at, size, may, kind, fd, from) \
    (is_refused() ? MAP_FAILED : (pages++, mmap(at, size, may, kind, fd, from)))
#define munmap(page, size) (pages--, munmap(page, size))
#define curl_slist_append(list, line) (is_refused() ? NULL : curl_slist_append(list, line))

/* Replaces libc's: it may refuse that a page is wiped in forked children. */
int madvise(void *page, size_t n, int kind) {
    return kind == 18 && is_refused() ? -1 : (int)syscall(SYS_madvise, page, n, kind);
}

#include "scripted.h"

#define REFUSED(code) "{'error':'etcdserver: no','code':" #code "}"

static char long_token[2100];

/* One member, or `urls`, which always gives this answer. */
static flake_etcd_options from_one(told answer, const char *urls) {
    const told list[] = {answer, {0}};
    flake_etcd_options o = scripted();
    o.endpoints = urls;
    script_begin();
    tell(list);
    told_list[0].times = 1000;
    return o;
}

TEST(errors_of_etcd_are_reported) {
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
        {{.to = "lease/grant", .text = "{'ID':'7'}"}, ": no lease in etcd's answer"},
        {{.to = "lease/grant", .text = "{'ID':'7','TTL':'2147483648'}"}, ": no lease in"},
        {{.to = "lease/grant", .text = "{'ID':'-7','TTL':'3'}"}, ": no lease in"},
        {{.to = "lease/grant", .text = "{'ID':'0','TTL':'3'}"}, ": no lease in"},
        {{.to = "keys_only", .text = BOTH("", ",'kvs':[{}]")}, ": unexpected answer to a range request"},
        {{.to = "keys_only", .text = BOTH("", ",'kvs':[{'key':'\\u0041'}]")},
         "all numbers from first to last are taken"},
        {{.to = "keys_only", .text = BOTH("", ",'kvs':7")}, ": unexpected answer to a range request"},
        {{.to = "keys_only", .text = BOTH(",'kvs':[7]", "")}, ": unexpected answer to a range request"},
        {{.to = "keys_only", .text = "{'header':{},'responses':[{'response_range':{}}," RANGE("") "]}"},
         ": unexpected answer to a range request"},
        {{.to = "CREATE", .text = "{'succeeded':true}"}, ": unexpected answer to a transaction"},
        {{.to = "CREATE", .text = "{'header':{},'succeeded':'true'}"}, ": unexpected answer to a transaction"},
        {{.to = "CREATE", .text = "{'header':{},'responses':[" RANGE("") "]}"}, ": unexpected answer to a transaction"},
        {{.to = "CREATE", .text = "{'header':{},'responses':[{'response_range':{}}," RANGE("") "]}"},
         ": unexpected answer to a transaction"},
        {{.to = "CREATE", .http = 400, .text = REFUSED(3)}, ": etcdserver: no"},
        {{.to = "CREATE", .http = 403, .text = REFUSED(7)}, ": etcdserver: no"},
        {{.to = "CREATE", .http = 400, .text = REFUSED(5)},
         ": leases expire at once, or answers contradict each other"},
        {{.to = "CREATE", .text = BOTH("", "")}, ": leases expire at once, or answers contradict each other"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const flake_etcd_options o = from_one(cases[i].a, "http://m1");
        const flake_status wanted = *cases[i].why == ':' ? FLAKE_IO : FLAKE_AGAIN;
        const flake_status status = flake_etcd_claim(&claim, &o, &why);
        if (status != wanted || !strstr(why.text, cases[i].why) || !told_list[0].answered) {
            printf("  %s: %.60s is %d, %s\n", cases[i].a.to, cases[i].a.text, (int)status,
                   why.text);
            check_fail(__FILE__, __LINE__, "is told");
        }
        CHECK(claim.session == NULL);
        CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_LEASE_LOST);
        tell(NULL);
        CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    }
}

/* After a refusal no other member is tried, unless the error may be this member's own. */
TEST(another_member_is_asked_after_errors_of_one_member_only) {
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
        CHECK(strcmp(easies[0].body, "{\"name\":\"a\\u0022\\u0001\\u005c\",\"password\":\"\"}") == 0);
        flake_i_etcd_close_session(s);
    }
    tell(refuses);
    CHECK_EQ(flake_i_etcd_log_in(s), FLAKE_INVALID);
    tell(refuses + 1); /* logs in once, and is rejected again */
    CHECK_EQ(flake_i_etcd_call(s, "kv/range", "{}"), FLAKE_INVALID);
    CHECK_EQ(told_list[0].answered, 2);
    flake_i_etcd_close_session(s);
}

/* cluster-id is a list of numbers, in 127 bytes at most. */
TEST(a_malformed_cluster_id_claims_nothing) {
    char value[128], key64[200], answer[300];
    const told listed[] = {{.to = "kv/range", .text = answer}, {0}};
    const flake_etcd_options o = scripted();
    for (int i = 0; i < 3; i++) {
        memset(value, ' ', sizeof value);
        value[0] = i < 2 ? '5' : 'x';
        flake_i_to_base64(value, i == 0 ? 127 : i == 1 ? 128 : 1, key64);
        (void)snprintf(answer, sizeof answer, "{'header':{},'kvs':[{'value':'%s'}]}", key64);
        CHECK_EQ(claim_from(listed, &o), i == 0 ? FLAKE_OK : FLAKE_INVALID);
        CHECK_STR(why.text, i == 0 ? "" : "the key x/cluster-id is not a number from 0 to 15, or a list of them");
        if (i == 0) CHECK_EQ(cluster_of(&claim), 5);
    }
}

TEST(options_are_accepted_up_to_their_limits) {
    char name_space[257];
    memset(name_space, 'x', sizeof name_space);
    name_space[256] = 0;
    flake_etcd_options o = scripted_cluster(0);
#define FITS(field, fits, does_not)                                                        \
    do {                                                                                   \
        flake_etcd_options with = o;                                                       \
        for (int i = 0; i < 2; i++) {                                                      \
            with.field = i ? does_not : fits;                                              \
            CHECK_EQ(claim_from(NULL, &with), i ? FLAKE_INVALID : FLAKE_OK);               \
            CHECK((strstr(why.text, "flake_etcd_options." #field) == why.text) == i);      \
        }                                                                                  \
    } while (0)
    FITS(ttl_ms, 1000, 999);
    FITS(ttl_ms, 300000, 300001);
    FITS(horizon_ms, 1000, 999);
    FITS(horizon_ms, 3600000, 3600001);
    FITS(wait_ms, INT64_MAX / 4, INT64_MAX / 4 + 1);
    FITS(ttl_ms, 0, -1);
    FITS(horizon_ms, 0, -1);
    FITS(wait_ms, 0, -1);
    FITS(timeout_ms, 1, -1);
    FITS(timeout_ms, 3600000, 3600001);
    FITS(cluster, 15, 16);
    FITS(first, 255, 256);
    FITS(last, 2047, 2048);
    FITS(last, 0, UINT64_MAX);
    FITS(password, NULL, "x");
    FITS(name_space, name_space + 1, name_space);
    o.cluster_given = false;
    FITS(cluster, 0, 1);
    o.uniqueid = false;
    FITS(last, 1, 0); /* it was forgotten */
    o.last = ((uint64_t)1 << 48) - 1;
    FITS(first, o.last - 2047, o.last - 2048);
    FITS(first, o.last, o.last + 1);
    o.first = o.last;
    FITS(last, o.last, o.last + 1);
    o.first = 5;
    FITS(last, 5, 0);
    o.first = 0;
    o.last = 31;
    o.cluster_given = true;
    CHECK_EQ(claim_from(NULL, &o), FLAKE_INVALID);
    CHECK_STR(why.text, "flake_etcd_options.cluster: exceeds 15, or is set without cluster_given and uniqueid");
    o.cluster_given = false;
    char seventeen[17 * 9 + 1] = "", url[8 + 255] = "http://";
    for (int i = 0; i < 17; i++) strcat(seventeen, "http://a,");
    memset(url + 7, 'a', 249);
    const char *const urls[] = {
        "", "127.0.0.1:2379", "http://", "http://a:1,,http://b:1", "http://a b:1", "ftp://a:1",
        "http://a:1,http://a\x7f:1", "http://127.0.0.1:1,,", seventeen, url};
    for (size_t k = 0; k < sizeof urls / sizeof *urls; k++) FITS(endpoints, "http://a", urls[k]);
    CHECK_EQ(flake_etcd_claim(NULL, NULL, NULL), FLAKE_INVALID);

    /* The longest write is sent in full. */
    o.first = o.last = ((uint64_t)1 << 48) - 1;
    o.name_space = name_space + 1;
    CHECK_EQ(claim_from(NULL, &o), FLAKE_OK);
    const flake_i_json write = flake_i_json_text(easies[0].body, strlen(easies[0].body));
    static const char *const keys[] = {"compare/0/key", "success/0/request_put/key",
                                       "failure/0/request_range/key", "compare/1/key",
                                       "success/1/request_put/key", "failure/1/request_range/key"};
    for (int i = 0; i < 6; i++) {
        const char *const wanted =
            i < 3 ? "node/horizon:281474976710655" : "node/pool:281474976710655";
        char key[300];
        const size_t n = flake_i_json_bytes(flake_i_json_get(write, keys[i]), key, sizeof key);
        CHECK_EQ(n, 255 + strlen(wanted));
        CHECK_STR(key + 255, wanted);
    }
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);

    /* A login of which each byte is written as six. */
    char user[101], wanted[1300] = "{\"name\":\"";
    memset(user, 1, 100);
    user[100] = 0;
    o.user = o.password = user;
    flake_i_etcd *const s = (flake_i_etcd *)calloc(1, sizeof *s);
    CHECK_EQ(flake_i_etcd_open_session(s, &o), FLAKE_OK);
    for (int i = 0; i < 200; i++)
        strcat(strcat(wanted, "\\u0001"), i == 99 ? "\",\"password\":\"" : "");
    CHECK(strcmp(s->login, strcat(wanted, "\"}")) == 0);

    /* A token that just fits into a header's line. */
    char token[2034];
    memset(token, 't', sizeof token);
    for (int i = 1; i >= 0; i--) {
        const flake_i_json v = {token, token + 2032 + i, 1};
        CHECK_EQ(flake_i_etcd_set_headers(s, v), i == 0);
    }
    CHECK_EQ(strlen(s->headers->next->next->data), 2047);

    /* The longest answer. */
    char *const answer = (char *)calloc(1, 4 << 20);
    CHECK_EQ(flake_i_etcd_on_answer(answer, 1, (4 << 20) - 1, s), (4 << 20) - 1);
    CHECK_EQ(flake_i_etcd_on_answer(answer, 1, 2, s), 0);
    CHECK_EQ(flake_i_etcd_on_answer(answer, 1, 1, s), 1);
    CHECK_EQ(flake_i_etcd_on_answer(answer, 1, 1, s), 0);
    CHECK_EQ(s->text_len, 4 << 20);
    free(answer);
    flake_i_etcd_close_session(s);
}

TEST(a_lease_of_68_years_is_accepted) {
    static const told grants[] = {
        {.to = "lease/grant",
         .text = "{'header':{},'ID':'9223372036854775807','TTL':'2147483647'}"},
        {0}};
    const flake_etcd_options o = scripted();
    CHECK_EQ(claim_from(grants, &o), FLAKE_OK);
    CHECK_EQ(claim.session->lease, INT64_MAX);
    CHECK_EQ(claim.session->ttl_ms, INT64_C(2147483647000));
}

/* An error's text is reported up to 127 characters, printable ones only. */
TEST(a_long_error_is_cut) {
    char error[400] = "{'error':'\x7f\xc3\xa4~", wanted[200] = "http://m1: ~";
    const told refuses[] = {{.to = "kv/range", .http = 400, .text = error}, {0}};
    flake_etcd_options o = scripted();
    o.endpoints = "http://m1";
    memset(wanted + strlen(wanted), ' ', 126);
    memset(error + strlen(error), ' ', 300);
    strcat(error, "'}");
    CHECK_EQ(claim_from(refuses, &o), FLAKE_IO);
    CHECK_STR(why.text, wanted);
    /* Nothing remains of a longer earlier one. */
    flake_i_etcd *const s = (flake_i_etcd *)calloc(1, sizeof *s);
    flake_i_etcd_say_refusal(s, flake_i_json_text("\"longer\"", 8));
    flake_i_etcd_say_refusal(s, flake_i_json_text("\"at\"", 4));
    CHECK_STR(s->why.text, ": at");
    free(s);
}

/* The Unix time of a header's line, whose `n` bytes are allocated exactly; -1: it is not accepted. */
static int64_t date_of(const char *line, size_t n) {
    flake_i_etcd *const s = (flake_i_etcd *)calloc(1, sizeof *s);
    static char longer[63];
    char *const copy = (char *)malloc(n);
    memset(longer, 'x', sizeof longer); /* nothing remains of a longer earlier line */
    memcpy(copy, line, n);
    s->etcd_ns = INT64_MIN;
    CHECK_EQ(flake_i_etcd_on_header(longer, 1, sizeof longer, s), sizeof longer);
    CHECK_EQ(flake_i_etcd_on_header(copy, 1, n, s), n);
    const int64_t ns = s->etcd_ns;
    free(copy);
    free(s);
    return ns == INT64_MIN ? -1 : (ns + flake_i_elapsed_ns()) / 1000000000;
}

TEST(dates_are_read_to_the_last_byte_that_has_room) {
    char line[80];
    script_begin();
    memset(line, ' ', sizeof line);
    memcpy(line, "DATE:", 5);
    for (size_t n = 5; n < 34; n++) CHECK_EQ(date_of(line, n), -1);
    /* The last digits are in the last bytes that are read: 63. */
    memcpy(line + 63 - 24, "14 Nov 2023 22:13:20 GMT", 24);
    CHECK_EQ(date_of(line, 63), begin_s);
    CHECK_EQ(date_of(line, 64), -1);
    for (int i = 0; i < 3; i++) {
        memcpy(line, &"Data:date;date\x1a"[5 * i], 5); /* the last is a colon with one bit less */
        CHECK_EQ(date_of(line, 63), -1);
    }
    static const struct {
        const char *line;
        int64_t s;
    } lines[] = {{"Date: Tue, 14 Nov 2023 22:13:20 GMT", begin_s},
                 {"dATE: Thu, 01 Jan 1970 00:00:01 GMT\r\n", 1},
                 {"Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n", -1},
                 {"Date: Wed, 31 Dec 1969 23:59:59 GMT\r\n", -1},
                 {"Date: Thu, 20 Feb 2116 23:53:37 GMT\r\n", 4611686017},
                 {"Date: Thu, 20 Feb 2116 23:53:38 GMT\r\n", -1},
                 {"Date: yesterday\r\n", -1},
                 {"Update: Thu, 01 Jan 1970 00:00:01 GMT\r\n", -1}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        CHECK_EQ(date_of(lines[i].line, strlen(lines[i].line)), lines[i].s);
}

/* The lease is left to expire. */
TEST(a_release_reports_a_malformed_answer) {
    static const told no_write[] = {{.to = "LEASE", .text = "{}", .times = 9}, {0}};
    for (int i = 0; i < 2; i++) {
        begin_claimed(no_write);
        CHECK_EQ(flake_etcd_release(&claim, i ? &why : NULL), FLAKE_IO);
        CHECK(strstr(notes, "lease/revoke") == NULL);
    }
    CHECK(strstr(why.text, ": unexpected answer to a transaction") != NULL);
}

/* Each call that a claim, its watch and its release make fails once. */
TEST(each_call_of_the_system_that_fails_is_reported) {
    static const char rejects[] = "http://m1: libcurl rejects the request, or out of memory",
                      unsent[] = "http://m1: Failed sending data to the peer",
                      cut[] = "http://m1: Failed writing received data to disk/application";
    static const struct {
        int calls;
        const char *why;
    } reasons[] = {{1, "flake_etcd_claim: out of memory"},
                   {5, "libcurl cannot start, or out of memory"},
                   {24, "flake_etcd_options: libcurl refuses ca_file, cert_file or key_file"},
                   {1, "the system has no random bytes"},
                   {5, rejects}, {1, unsent}, {2, cut}, /* the cluster, */
                   {5, rejects}, {1, unsent}, {2, cut}, /* its numbers, */
                   {5, rejects}, {1, unsent}, {2, cut}, /* and a lease are requested; */
                   {10, ""},                            /* a write is sent twice, and a page mapped and wiped */
                   {1, "pthread_create failed"},
                   {99, ""}};
    static const told logged_out[] = {{.to = "", .http = 401, .text = REFUSED(16)}, {0}};
    int refused = 0, held = 0, wordless = 0;
    for (int kind = 0; kind < 3; kind++) { /* of one member; of two, with a login and without */
        flake_etcd_options o = scripted();
        int n = 0, before = 0, reason = 0;
        if (kind == 0) o.endpoints = "http://m1";
        if (kind == 1) o.user = "a", o.password = "b";
        o.ca_file = o.cert_file = o.key_file = "/dev/null";
        for (bool is_past_all = false; !is_past_all && n < 300;) {
            calls_until_refused = ++n;
            const flake_status status = claim_from(kind == 1 ? logged_out : NULL, &o);
            if (n > before + reasons[reason].calls) before += reasons[reason++].calls;
            if (kind == 0) CHECK_STR(why.text, reasons[reason].why);
            CHECK_EQ(status, !why.text[0]                          ? FLAKE_OK
                             : strstr(why.text, "libcurl refuses") ? FLAKE_INVALID
                                                                   : FLAKE_IO);
            CHECK_EQ(claim.session != NULL, status == FLAKE_OK);
            CHECK_EQ(flake_etcd_check(&claim, NULL), status == FLAKE_OK ? FLAKE_OK : FLAKE_LEASE_LOST);
            if (status != FLAKE_OK) refused++;
            else {
                held++;
                const int left = calls_until_refused; /* the first four are the watch's */
                hold_ms(100);
                CHECK_EQ(strstr(notes, ": watches ") != NULL, left == 0 || left > 4);
                const bool is_wordless = claim.fence == NULL; /* children would inherit an open one */
                wordless += is_wordless;
                const flake_status released = flake_etcd_release(&claim, &why);
                CHECK(released == FLAKE_OK || released == FLAKE_IO);
                is_past_all = calls_until_refused > 0;
                calls_until_refused = 0;
                /* Old generators could not distinguish the next claim from this one. */
                if (is_wordless) CHECK_EQ(flake_etcd_claim(&claim, &o, NULL), FLAKE_INVALID);
            }
            flake_etcd_destroy(&claim);
            CHECK_EQ(pages, 0);
        }
        CHECK(n < 300);
    }
    calls_until_refused = 0;
    CHECK(refused > 50 && held > 4 && wordless == 6);
    CHECK_EQ(flake_etcd_release(NULL, NULL), FLAKE_INVALID);
    flake_etcd_destroy(NULL);
}

int main(int argc, char **argv) { return alone_main(argc, argv); }
