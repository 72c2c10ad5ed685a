/* SPDX-License-Identifier: MIT
 *
 * What just fits into a claim's options, buffers and dates, and what is one more; and what libcurl refuses.
 */
#include "scripted.h"

/* cluster-id is a list of numbers, in 127 bytes at most. */
TEST(what_is_no_cluster_claims_nothing) {
    char value[128], key64[200], answer[300];
    const told listed[] = {{.to = "kv/range", .text = answer}, {0}};
    const flake_etcd_options o = scripted();
    for (int i = 0; i < 3; i++) {
        memset(value, ' ', sizeof value);
        value[0] = i < 2 ? '5' : 'x';
        flake_i_to_base64(value, i == 0 ? 127 : i == 1 ? 128 : 1, key64);
        (void)snprintf(answer, sizeof answer, "{'header':{},'kvs':[{'value':'%s'}]}", key64);
        script_begin();
        tell(listed);
        CHECK_EQ(flake_etcd_claim(&claim, &o, &why), i == 0 ? FLAKE_OK : FLAKE_INVALID);
        CHECK_STR(why.text, i == 0
                                ? ""
                                : "the key x/cluster-id is not a number from 0 to 15, or a list "
                                  "of them");
        if (i == 0) CHECK_EQ(flake_etcd_cluster(&claim), 5);
    }
}

/* Those of the two handles first, then those of each request, and of the thread's watch. */
TEST(an_option_that_libcurl_refuses_ends_the_claim) {
    flake_etcd_options o = scripted();
    o.endpoints = "http://m1";
    o.ca_file = o.cert_file = o.key_file = "x";
    for (int n = 1; n <= 49; n++) {
        script_begin();
        setopt_refused = n;
        const flake_status status = flake_etcd_claim(&claim, &o, &why);
        if (n <= 24) {
            CHECK_EQ(status, FLAKE_INVALID);
            CHECK_STR(why.text,
                      "flake_etcd_options: libcurl refuses ca_file, cert_file or key_file");
            CHECK_EQ(setopts, n);
        } else if (n <= 39) {
            CHECK_EQ(status, FLAKE_IO);
            CHECK_STR(why.text, "http://m1: libcurl rejects the request, or out of memory");
            CHECK(strstr(notes, n <= 29 ? "kv/range" : n <= 34 ? "keys_only" : "grant") == NULL);
        } else {
            CHECK_EQ(status, FLAKE_OK); /* a write is sent twice */
            CHECK_EQ(clock_ms, 1040);
            hold_ms(100);
            CHECK_EQ(setopts, n <= 44 ? 24 + 20 + n - 39 + 4 : n < 49 ? n : 48);
            CHECK((strstr(notes, "watches") != NULL) == (n < 45 || n == 49));
        }
    }
}

TEST(a_handle_that_libcurl_refuses_ends_the_claim) {
    const flake_etcd_options o = scripted();
    for (int n = 1; n <= 4; n++) {
        script_begin();
        inits_until_refused = n;
        CHECK_EQ(flake_etcd_claim(&claim, &o, &why), n < 4 ? FLAKE_IO : FLAKE_OK);
        CHECK_STR(why.text, n < 4 ? "libcurl cannot start, or out of memory" : "");
    }
    random_fails = true;
    script_begin();
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_IO);
    CHECK_STR(why.text, "the system has no random bytes");
    random_fails = false;
}

TEST(options_that_just_fit_are_taken) {
    char name_space[257];
    memset(name_space, 'x', sizeof name_space);
    name_space[256] = 0;
    flake_etcd_options o = scripted();
    o.cluster_given = true;
#define FITS(field, fits, does_not)                                                        \
    do {                                                                                   \
        flake_etcd_options with = o;                                                       \
        for (int i = 0; i < 2; i++) {                                                      \
            with.field = i ? does_not : fits;                                              \
            script_begin();                                                                \
            CHECK_EQ(flake_etcd_claim(&claim, &with, &why), i ? FLAKE_INVALID : FLAKE_OK); \
            CHECK((strstr(why.text, "flake_etcd_options." #field) == why.text) == i);      \
        }                                                                                  \
    } while (0)
    FITS(ttl_ms, 1000, 999);
    FITS(ttl_ms, 300000, 300001);
    FITS(horizon_ms, 1000, 999);
    FITS(horizon_ms, 3600000, 3600001);
    FITS(wait_ms, INT64_MAX / 4, INT64_MAX / 4 + 1);
    FITS(timeout_ms, 1, -1);
    FITS(timeout_ms, 3600000, 3600001);
    FITS(cluster, 15, 16);
    FITS(pool_size, 2048, 2047);
    FITS(name_space, name_space + 1, name_space);
    o.cluster_given = false;
    FITS(cluster, 0, 1);

    /* All of the longest write is sent. */
    o.cluster_given = true;
    o.cluster = 15;
    o.pool_size = 2048;
    o.name_space = name_space + 1;
    script_begin();
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    const flake_i_json write = flake_i_json_text(easies[0].body, strlen(easies[0].body));
    static const char *const horizons[] = {"compare/0/key", "success/0/request_put/key",
                                           "failure/0/request_range/key"};
    static const char *const pools[] = {"compare/1/key", "success/1/request_put/key",
                                        "failure/1/request_range/key"};
    char key[300];
    for (int i = 0; i < 3; i++) {
        size_t n = flake_i_json_bytes(flake_i_json_get(write, horizons[i]), key, sizeof key);
        CHECK_EQ(n, 255 + strlen("horizon/15:533"));
        CHECK_STR(key + 255, "horizon/15:533");
        n = flake_i_json_bytes(flake_i_json_get(write, pools[i]), key, sizeof key);
        CHECK_EQ(n, 255 + strlen("pool/15:533"));
        CHECK_STR(key + 255, "pool/15:533");
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
    for (int i = 0; i < 2; i++) {
        const flake_i_json v = {token, token + 2032 + i, 1};
        CHECK_EQ(flake_i_etcd_set_headers(s, v), i == 0);
    }
    const flake_i_json longest = {token, token + 2032, 1};
    CHECK(flake_i_etcd_set_headers(s, longest));
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

TEST(a_lease_of_68_years_is_taken) {
    static const told grants[] = {
        {.to = "lease/grant",
         .text = "{'header':{},'ID':'9223372036854775807','TTL':'2147483647'}"},
        {0}};
    const flake_etcd_options o = scripted();
    script_begin();
    tell(grants);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(claim.session->lease, INT64_MAX);
    CHECK_EQ(claim.session->ttl_ms, INT64_C(2147483647000));
}

/* A refusal is told up to 127 of its characters, those that can be printed. */
TEST(a_long_refusal_is_cut) {
    char error[400] = "{'error':'\x7f~", wanted[200] = "http://m1: ~";
    const told refuses[] = {{.to = "kv/range", .http = 400, .text = error}, {0}};
    flake_etcd_options o = scripted();
    o.endpoints = "http://m1";
    memset(wanted + strlen(wanted), ' ', 126);
    memset(error + strlen(error), ' ', 300);
    strcat(error, "'}");
    script_begin();
    tell(refuses);
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_IO);
    CHECK_STR(why.text, wanted);
    /* Nothing is left of a longer one before. */
    flake_i_etcd *const s = (flake_i_etcd *)calloc(1, sizeof *s);
    const flake_i_json longer = flake_i_json_text("\"longer\"", 8),
                       shorter = flake_i_json_text("\"at\"", 4);
    flake_i_etcd_say_refusal(s, longer);
    flake_i_etcd_say_refusal(s, shorter);
    CHECK_STR(s->why.text, ": at");
    free(s);
}

static int64_t date_of(const char *line, size_t n) {
    flake_i_etcd *const s = (flake_i_etcd *)calloc(1, sizeof *s);
    char *const copy = (char *)malloc(n);
    int64_t ns;
    memcpy(copy, line, n);
    s->etcd_ns = INT64_MIN;
    CHECK_EQ(flake_i_etcd_on_header(copy, 1, n, s), n);
    ns = s->etcd_ns;
    free(copy);
    free(s);
    return ns == INT64_MIN ? -1 : ns + flake_i_elapsed_ns();
}

TEST(dates_are_read_to_the_last_byte_that_has_room) {
    char line[80];
    script_begin();
    memset(line, ' ', sizeof line);
    memcpy(line, "DATE:", 5);
    for (size_t n = 5; n < 34; n++) CHECK_EQ(date_of(line, n), -1);
    /* The last digits stand in the last bytes that are read: 63. */
    memcpy(line + 63 - 24, "14 Nov 2023 22:13:20 GMT", 24);
    CHECK_EQ(date_of(line, 63), begin_s * INT64_C(1000000000));
    CHECK_EQ(date_of(line, 64), -1);
    memcpy(line, "Data:", 5);
    CHECK_EQ(date_of(line, 63), -1);
    memcpy(line, "date;", 5);
    CHECK_EQ(date_of(line, 63), -1);
    memcpy(line, "date\x1a", 5); /* a colon with one bit less */
    CHECK_EQ(date_of(line, 63), -1);
    /* Nothing is left of a longer line before. */
    flake_i_etcd *const s = (flake_i_etcd *)calloc(1, sizeof *s);
    static char longer[63], shorter[] = "Date: Tue, 14 Nov 2023 22:13:20 GMT";
    memset(longer, 'x', sizeof longer);
    CHECK_EQ(flake_i_etcd_on_header(longer, 1, sizeof longer, s) +
                 flake_i_etcd_on_header(shorter, 1, sizeof shorter - 1, s),
             sizeof longer + sizeof shorter - 1);
    CHECK_EQ(s->etcd_ns + flake_i_elapsed_ns(), begin_s * INT64_C(1000000000));
    free(s);
    static const struct {
        int64_t s;
        bool is_read;
    } dates[] = {{-1, false}, {0, false}, {1, true}, {4611686017, true}, {4611686018, false}};
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        const time_t at = (time_t)dates[i].s;
        struct tm parts;
        const size_t n = strftime(line, sizeof line, "date: %a, %d %b %Y %H:%M:%S GMT\r\n",
                                  gmtime_r(&at, &parts));
        CHECK_EQ(date_of(line, n), dates[i].is_read ? dates[i].s * 1000000000 : -1);
    }
}

int main(int argc, char **argv) { return alone_main(argc, argv); }
