/* SPDX-License-Identifier: MIT
 *
 * Claims on node numbers, against etcd members that etcd.sh has started: they are stopped, frozen and
 * killed, connections are cut, leases revoked, keys deleted and put back, the pool filled; clocks differ
 * and answers get lost. What counts is that no id comes twice.
 */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#define REAL_SLEEP
#define _GNU_SOURCE /* unshare */
#define FLAKE_ETCD
#include "support.h"
#include <unistd.h>

static int64_t skew_ns; /* of this process's clock */
#define FLAKE_CLOCK_NS(kind) (flake_i_system_ns(kind) + skew_ns)
static bool random_is_gone;
#define FLAKE_RANDOM_BYTES(to, n) (!random_is_gone && flake_i_system_random(to, n))
#include "flake.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

static char etcd_dir[400], member_url[4][64], all_members[256];

static int64_t now_ms(void) { return flake_i_elapsed_ms(); }
static int64_t unix_ms(void) { return flake_i_system_ns(FLAKE_CLOCK_EXACT) / 1000000; }

static void nap_ms(int64_t ms) { flake_i_system_sleep(ms * 1000000); }

/* ---- pure functions ---- */

static flake_i_json json(const char *text) { return flake_i_json_text(text, strlen(text)); }

static void json_is_read_strictly(void) {
    static const char *const well[] = {"{}",
                                       "[]",
                                       " { \"a\" : [ 1 , -2.5e+3 , true , false , null ] } \n",
                                       "\"\\u00e9\\n\\\"\"",
                                       "0",
                                       "-0.1",
                                       "[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]"};
    static const char *const ill[] = {"",
                                      " ",
                                      "{",
                                      "}",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":1,}",
                                      "{,}",
                                      "{a:1}",
                                      "{1:1}",
                                      "{\"a\":1 \"b\":2}",
                                      "[1,]",
                                      "[,1]",
                                      "[1 2]",
                                      "[1",
                                      "[1}",
                                      "\"",
                                      "\"\\\"",
                                      "\"\\x\"",
                                      "\"\\u12g4\"",
                                      "\"\\u12",
                                      "\"a\nb\"",
                                      "01",
                                      "-",
                                      "1.",
                                      ".5",
                                      "1e",
                                      "1e+",
                                      "+1",
                                      "tru",
                                      "nulll",
                                      "{} {}",
                                      "{}x",
                                      "[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]"};
    for (size_t i = 0; i < sizeof well / sizeof *well; i++) CHECK(json(well[i]).at != NULL);
    for (size_t i = 0; i < sizeof ill / sizeof *ill; i++) {
        CHECK(json(ill[i]).at == NULL);
        if (json(ill[i]).at) printf("  taken for JSON: %s\n", ill[i]);
    }
    /* Every beginning of a well-formed text is malformed; no byte behind it is looked at. */
    const char *const whole = "{\"a\":[{\"b\":\"\\u0041\"},-1.5e3,true],\"c\":null}";
    for (size_t n = 0; n < strlen(whole); n++) {
        char *const part = (char *)malloc(n + 1);
        if (!part) abort();
        memcpy(part, whole, n);
        CHECK(flake_i_json_text(part, n).at == NULL);
        free(part);
    }
    const char nul[] = "[\"\\\0\"]";
    CHECK(flake_i_json_text(nul, sizeof nul - 1).at == NULL);
}

static void members_are_found(void) {
    int64_t number = 77;
    const flake_i_json v =
        json("{\"a\":{\"a\":\"12\"},\"ab\":7,\"list\":[{\"x\":\"y\"},2],\"d\":1,\"d\":1,"
             "\"e\":\"\\n\",\"t\":true,\"none\":[]}");
    CHECK(flake_i_json_number(flake_i_json_get(flake_i_json_get(v, "a"), "a"), &number));
    CHECK_EQ(number, 12);
    CHECK(flake_i_json_number(flake_i_json_get(v, "ab"), &number));
    CHECK_EQ(number, 7);
    CHECK(flake_i_json_get(v, "b").at == NULL);
    CHECK(flake_i_json_get(v, "d").at == NULL); /* which of the two? */
    CHECK(flake_i_json_is(flake_i_json_get(v, "t"), "true", 4));
    CHECK(!flake_i_json_is(flake_i_json_get(v, "ab"), "true", 4));
    const flake_i_json first = flake_i_json_get(v, "list/0");
    CHECK(flake_i_json_get(v, "list/0/x").at != NULL && *flake_i_json_get(v, "list/1").at == '2');
    CHECK(flake_i_json_get(v, "list/2").at == NULL && flake_i_json_get(v, "list/x").at == NULL);
    CHECK(flake_i_json_get(v, "a/a/a").at == NULL && flake_i_json_get(v, "d").at == NULL);
    const flake_i_json y = flake_i_json_string(flake_i_json_get(first, "x"));
    CHECK(y.end == y.at + 1 && *y.at == 'y');
    CHECK(flake_i_json_get(v, "none/0").at == NULL);
    CHECK(flake_i_json_get(v, "0").at == NULL);
    CHECK(flake_i_json_string(flake_i_json_get(v, "e")).at == NULL);
    CHECK(flake_i_json_string(flake_i_json_get(v, "ab")).at == NULL);

    static const char *const no_numbers[] = {"\"\"",
                                             "\"01\"",
                                             "\"-1\"",
                                             "-1",
                                             "1.0",
                                             "1e2",
                                             "true",
                                             "[]",
                                             "\"1 \"",
                                             "\"9223372036854775808\"",
                                             "99999999999999999999"};
    for (size_t i = 0; i < sizeof no_numbers / sizeof *no_numbers; i++)
        CHECK(!flake_i_json_number(json(no_numbers[i]), &number));
    CHECK(flake_i_json_number(json("\"9223372036854775807\""), &number));
    CHECK(number == INT64_MAX);
    CHECK(flake_i_json_number(json("0"), &number) && number == 0);
}

static void base64_is_read_strictly(void) {
    static const char *const pairs[][2] = {
        {"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
        {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"pool/0:0", "cG9vbC8wOjA="}};
    char text[80], bytes[64];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        flake_i_to_base64(pairs[i][0], strlen(pairs[i][0]), text);
        CHECK_STR(text, pairs[i][1]);
        CHECK_EQ(flake_i_from_base64(text, strlen(text), bytes, sizeof bytes), strlen(pairs[i][0]));
        CHECK(memcmp(bytes, pairs[i][0], strlen(pairs[i][0])) == 0);
    }
    static const char *const ill[] = {"Z",    "Zg",       "Zg=",  "Zh==", "Zm9=", "====",
                                      "Z===", "Zg==Zg==", "Zm 9", "Zm-_", "=Zg=", "Zg=g"};
    for (size_t i = 0; i < sizeof ill / sizeof *ill; i++)
        CHECK(flake_i_from_base64(ill[i], strlen(ill[i]), bytes, sizeof bytes) == SIZE_MAX);
    CHECK(flake_i_from_base64("Zm9v", 4, bytes, 2) == SIZE_MAX);
    CHECK(flake_i_from_base64("Zm\0v", 4, bytes, 9) == SIZE_MAX);
    for (unsigned seed = 0; seed < 2000; seed++) {
        char in[48], out[48];
        uint64_t random = seed * 77777u + 1;
        const size_t n = seed % sizeof in;
        for (size_t i = 0; i < n; i++) in[i] = (char)(unsigned char)random_below(&random, 256);
        flake_i_to_base64(in, n, text);
        CHECK_EQ(flake_i_from_base64(text, strlen(text), out, sizeof out), n);
        CHECK(memcmp(in, out, n) == 0);
    }
}

static void clusters_and_numbers_are_read_strictly(void) {
    unsigned clusters[16];
    size_t n;
    CHECK(flake_i_etcd_clusters_in("3", 1, clusters, &n) && n == 1 && clusters[0] == 3);
    CHECK(flake_i_etcd_clusters_in(" 15 , 0,7\n", 10, clusters, &n) && n == 3);
    CHECK(clusters[0] == 15 && clusters[1] == 0 && clusters[2] == 7);
    static const char *const ill[] = {"",
                                      " ",
                                      "16",
                                      "-1",
                                      "x",
                                      "1,",
                                      ",1",
                                      "1 2",
                                      "1;2",
                                      "1.0",
                                      "1,,2",
                                      "99999999999999999999",
                                      "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0"};
    for (size_t i = 0; i < sizeof ill / sizeof *ill; i++)
        CHECK(!flake_i_etcd_clusters_in(ill[i], strlen(ill[i]), clusters, &n));
    CHECK_EQ(flake_i_etcd_number_in("0", 1, 256), 0);
    CHECK_EQ(flake_i_etcd_number_in("255", 3, 256), 255);
    CHECK_EQ(flake_i_etcd_number_in("2047", 4, 2048), 2047);
    CHECK(flake_i_etcd_number_in("256", 3, 256) == SIZE_MAX);
    CHECK(flake_i_etcd_number_in("2048", 4, 2048) == SIZE_MAX);
    CHECK(flake_i_etcd_number_in("", 0, 256) == SIZE_MAX);
    CHECK(flake_i_etcd_number_in("007", 3, 256) == SIZE_MAX);
    CHECK(flake_i_etcd_number_in("1a", 2, 256) == SIZE_MAX);
    CHECK(flake_i_etcd_number_in("99999", 5, 2048) == SIZE_MAX);
}

#define HEADER "\"header\":{\"member_id\":\"12428976124636271536\",\"raft_term\":\"5\"}"

#define TOKEN "0123456789abcdef0123456789ABCDEF"

static void horizons_are_read_strictly(void) {
#define H(text) flake_i_etcd_horizon_in(text, strlen(text))
    CHECK(H("1700000000000000000 " TOKEN " 7") == 1700000000000000000);
    CHECK(H("0 " TOKEN " 1") == 0);
    CHECK(H("9223372036854775807 " TOKEN " 18446744073709551615") == INT64_MAX);
    static const char *const ill[] = {"",
                                      "0",
                                      " " TOKEN " 7",
                                      "-1 " TOKEN " 7",
                                      "01 " TOKEN " 7",
                                      "x " TOKEN " 7",
                                      "1 " TOKEN,
                                      "1 " TOKEN " ",
                                      "1 " TOKEN " x",
                                      "1 " TOKEN "0 7",
                                      "1  7",
                                      "1 " TOKEN " 7 ",
                                      "\"1\" " TOKEN " 7",
                                      "9223372036854775808 " TOKEN " 7",
                                      "1 0123456789abcdef0123456789abcdeg 7"};
    for (size_t i = 0; i < sizeof ill / sizeof *ill; i++) {
        CHECK(H(ill[i]) == -1);
        if (H(ill[i]) != -1) printf("  taken for a horizon: %s\n", ill[i]);
    }
}

/* {header, kvs: [{key, value}]}; "": no such key */
static const char *ranged(const char *key64, const char *value64) {
    static char text[4][300];
    static int next;
    char *const out = text[next++ % 4];
    if (!*value64) (void)snprintf(out, 300, "{" HEADER "}");
    else
        (void)snprintf(out, 300, "{" HEADER ",\"kvs\":[{\"key\":\"%s\",\"value\":\"%s\"}]}", key64,
                       value64);
    return out;
}

static void answers_are_taken_at_their_word_only(void) {
    char text[900], value[FLAKE_I_ETCD_VALUE];
    const char *const horizon = "aG9yaXpvbg==", *const pool = "cG9vbA==";
#define OUTCOME(text) flake_i_etcd_outcome_in(json(text), horizon, "a25vd24=", "cHV0")
#define REFUSED(horizon_now, pool_now)                                                   \
    ((void)snprintf(text, sizeof text,                                                   \
                    "{" HEADER                                                           \
                    ",\"responses\":[{\"response_range\":%s},{\"response_range\":%s}]}", \
                    ranged(horizon, horizon_now), ranged(pool, pool_now)),               \
     OUTCOME(text))
    CHECK_EQ(OUTCOME("{" HEADER ",\"succeeded\":true,\"responses\":[]}"), FLAKE_OK);
    CHECK_EQ(OUTCOME("{\"succeeded\":true}"), FLAKE_IO);
    CHECK_EQ(OUTCOME("{" HEADER ",\"succeeded\":\"true\"}"), FLAKE_IO);
    CHECK_EQ(OUTCOME("{" HEADER "}"), FLAKE_IO);
    CHECK_EQ(OUTCOME("nothing"), FLAKE_IO);
    CHECK_EQ(OUTCOME("{" HEADER ",\"responses\":[{\"response_range\":{" HEADER "}}]}"), FLAKE_IO);
    CHECK_EQ(OUTCOME("{" HEADER
                     ",\"responses\":[{\"response_range\":{}},{\"response_range\":{" HEADER "}}]}"),
             FLAKE_IO);
    CHECK_EQ(REFUSED("cHV0", "dG9rZW4="), FLAKE_OK); /* what was sent before */
    CHECK_EQ(REFUSED("cHV0", ""), FLAKE_OK);
    CHECK_EQ(REFUSED("a25vd24=", ""), FLAKE_AGAIN);
    CHECK_EQ(REFUSED("a25vd24=", "dG9rZW4="), FLAKE_LEASE);
    CHECK_EQ(REFUSED("b3RoZXI=", ""), FLAKE_LEASE);
    CHECK_EQ(REFUSED("b3RoZXI=", "dG9rZW4="), FLAKE_LEASE);
    CHECK_EQ(REFUSED("", ""), FLAKE_LEASE); /* the horizon was deleted */
    CHECK_EQ(flake_i_etcd_outcome_in(json(text), horizon, "", "cHV0"), FLAKE_AGAIN);

    CHECK(flake_i_etcd_value_of(json(ranged(horizon, "cHV0")), horizon, value));
    CHECK_STR(value, "cHV0");
    CHECK(flake_i_etcd_value_of(json(ranged(pool, "cHV0")), horizon, value) && !*value);
    CHECK(!flake_i_etcd_value_of(json("{\"kvs\":[]}"), horizon, value));
    CHECK(!flake_i_etcd_value_of(json("{" HEADER ",\"kvs\":[{\"key\":\"aG9yaXpvbg==\"}]}"), horizon,
                                 value));
    CHECK(!flake_i_etcd_value_of(json("{" HEADER ",\"kvs\":[7]}"), horizon, value));

    static flake_i_etcd_numbers numbers;
#define NOTE(text, horizons) \
    flake_i_etcd_note_numbers(json(text), "pool/0:", 256, horizons, &numbers)
    CHECK(NOTE("{" HEADER "}", false));
    CHECK(NOTE("{" HEADER ",\"kvs\":[{\"key\":\"cG9vbC8wOjA=\"},{\"key\":\"cG9vbC8wOng=\"},"
               "{\"key\":\"eA==\"}]}",
               false)); /* pool/0:0, pool/0:x, x */
    CHECK(numbers.taken[0]);
    for (size_t i = 1; i < 256; i++) CHECK(!numbers.taken[i]);
    CHECK(NOTE("{" HEADER ",\"kvs\":[{\"key\":\"cG9vbC8wOjA=\",\"value\":\"eA==\"}]}", true));
    CHECK(numbers.horizon_ns[0] == INT64_MAX); /* "x" */
    CHECK(!NOTE("{\"kvs\":[]}", false));
    CHECK(!NOTE("{" HEADER ",\"kvs\":7}", false));
    CHECK(!NOTE("{" HEADER ",\"kvs\":[7]}", true));
    CHECK(!NOTE("garbage", false));
}

static void the_best_number_is_chosen(void) {
    static flake_i_etcd_numbers n;
    const int64_t s = 1000000000, now_ns = 1700 * s;
    bool is_blocked = false;
#define CHOOSE(start) flake_i_etcd_choose_number(&n, 4, start, now_ns, &is_blocked)
    n.horizon_ns[0] = now_ns + 2 * s;
    n.horizon_ns[1] = now_ns + s;
    n.horizon_ns[2] = now_ns; /* has passed */
    n.horizon_ns[3] = INT64_MIN;
    CHECK_EQ(CHOOSE(0), 2);
    CHECK_EQ(CHOOSE(3), 3); /* there is none */
    n.taken[2] = n.taken[3] = true;
    CHECK_EQ(CHOOSE(0), 1);
    CHECK(!is_blocked);
    n.horizon_ns[0] = now_ns + 60 * s;
    n.horizon_ns[1] = now_ns + 60 * s + 1;
    CHECK_EQ(CHOOSE(1), 0);
    CHECK(is_blocked);
    n.horizon_ns[0] = INT64_MAX;
    CHECK(CHOOSE(0) == SIZE_MAX);
}

static void options_that_do_not_fit_are_named(void) {
    static flake_etcd claim;
    flake_why why;
#define REFUSES(field, value)                                              \
    do {                                                                   \
        flake_etcd_options o;                                              \
        memset(&o, 0, sizeof o);                                           \
        o.field = value;                                                   \
        CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_INVALID);       \
        CHECK(strstr(why.text, "flake_etcd_options." #field) == why.text); \
    } while (0)
    char long_name[300];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    REFUSES(name_space, long_name);
    REFUSES(pool_size, 257);
    REFUSES(cluster, 3);
    REFUSES(ttl_ms, 999);
    REFUSES(ttl_ms, 300001);
    REFUSES(ttl_ms, -1);
    REFUSES(horizon_ms, -1);
    REFUSES(horizon_ms, 999);
    REFUSES(horizon_ms, 3600001);
    REFUSES(wait_ms, -1);
    REFUSES(wait_ms, INT64_MAX);
    REFUSES(timeout_ms, -1);
    REFUSES(password, "x");
    REFUSES(endpoints, "");
    REFUSES(endpoints, "127.0.0.1:2379");
    REFUSES(endpoints, "http://");
    REFUSES(endpoints, "http://a:1,,http://b:1");
    REFUSES(endpoints, "http://a b:1");
    REFUSES(endpoints, "ftp://a:1");
    CHECK_EQ(flake_etcd_claim(NULL, NULL, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_etcd_release(&claim, &why), FLAKE_INVALID);
    CHECK_EQ(flake_etcd_check(&claim, &why), FLAKE_LEASE);
    CHECK_EQ(flake_etcd_left_ms(&claim), 0);
    flake_etcd_destroy(&claim);
}

static int64_t still_clock(void *user) { return *(int64_t *)user; }

static void the_gate_lets_nothing_past_the_horizon(void) {
    static flake_etcd c;
    flake_options o;
    flake_gen gen;
    flake_why why;
    flake_parts parts = {0, 0, 0, 0};
    uint64_t id;
    const int64_t s = 1000000000, unix_ns = 1700000000 * s;
    memset(&o, 0, sizeof o);
    c.word = (flake_i_atomic64 *)flake_i_new_page(false);
    c.process = flake_i_process_mark();
    c.floor_ns = unix_ns + 7000000 / 2; /* within a unit of a generator */
    c.asked_ns = (uint64_t)c.floor_ns;
    c.horizon_ns = (uint64_t)(unix_ns + 100 * s);
    *c.word = 7;
    c.state = 7 << 2 | FLAKE_I_ETCD_HELD;
    CHECK_EQ(flake_i_etcd_admit(&c, unix_ns), FLAKE_CLOCK_BACK);
    CHECK_EQ(flake_i_etcd_admit(&c, c.floor_ns), FLAKE_CLOCK_BACK);
    CHECK_EQ(flake_i_etcd_admit(&c, unix_ns + 5000000), FLAKE_OK);
    CHECK(c.asked_ns == (uint64_t)unix_ns + 5000000);
    CHECK_EQ(flake_i_etcd_admit(&c, unix_ns + 4000000), FLAKE_OK);
    CHECK(c.asked_ns == (uint64_t)unix_ns + 5000000); /* the latest */
    CHECK_EQ(flake_i_etcd_admit(&c, unix_ns + 100 * s + 1), FLAKE_AGAIN);
    CHECK(c.asked_ns == (uint64_t)unix_ns + 5000000); /* what was refused is not among them */
    CHECK(c.wanted_ns == (uint64_t)(unix_ns + 100 * s + 1));
    c.trouble = FLAKE_I_ETCD_UNREACHED;
    CHECK_EQ(flake_i_etcd_admit(&c, INT64_MAX), FLAKE_IO);
    CHECK_EQ(flake_etcd_check(&c, &why), FLAKE_IO);
    CHECK_STR(why.text, "etcd was not reached");
    CHECK_EQ(flake_i_etcd_admit(&c, unix_ns + 6000000), FLAKE_OK); /* not lost */
    c.process++;
    CHECK_EQ(flake_i_etcd_admit(&c, unix_ns + 6000000), FLAKE_FORKED);
    CHECK_EQ(flake_etcd_check(&c, &why), FLAKE_FORKED);
    c.process--;

    /* Every init asks for the floor: the unit in which it lies is the others'. */
    int64_t still_ns = unix_ns;
    c.asked_ns = (uint64_t)c.floor_ns;
    o.gate = flake_etcd_gate(&c);
    o.clock.now_ns = still_clock;
    o.clock.user = &still_ns;
    o.max_ahead_ms = 50;
    o.layout = flake_layout_idgen();
    flake_shard shards[2];
    flake128_gen wide;
    flake128 wide_id = {{0}};
    CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
    CHECK_EQ(flake_shards_init(shards, 2, &o), FLAKE_OK);
    flake_options wide_options = o;
    memset(&wide_options.layout, 0, sizeof wide_options.layout);
    CHECK_EQ(flake128_init(&wide, 1, &wide_options), FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(flake_decompose(&o.layout, id, &parts), FLAKE_OK);
    CHECK_EQ(parts.unix_ms, unix_ns / 1000000 + 4);
    CHECK_EQ(flake_shard_next(&shards[1], &id), FLAKE_OK);
    CHECK_EQ(flake_decompose(&o.layout, id, &parts), FLAKE_OK);
    CHECK_EQ(parts.unix_ms, unix_ns / 1000000 + 4);
    CHECK_EQ(flake128_next(&wide, &wide_id), FLAKE_OK);
    flake128_parts wide_parts = {0, 0, 0, 0};
    CHECK_EQ(flake128_decompose(wide_id, &wide_parts), FLAKE_OK);
    CHECK_EQ(wide_parts.unix_ms, unix_ns / 1000000 + 4);

    flake_i_etcd_close_gate(&c, c.state, FLAKE_I_ETCD_LOST);
    CHECK_EQ(*c.word, 0);
    CHECK_EQ(flake_i_etcd_admit(&c, unix_ns + 6000000), FLAKE_LEASE);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_LEASE); /* in the same unit, too */
    CHECK_EQ(flake_try(&gen, &id), FLAKE_LEASE);
    CHECK_EQ(flake_etcd_check(&c, &why), FLAKE_LEASE);
    CHECK(strstr(why.text, "another") != NULL);
    flake_etcd_destroy(&c);
}

/* ---- what the tests do to etcd ---- */

static flake_i_etcd *admin(const char *endpoints) {
    flake_etcd_options o;
    char ca[sizeof etcd_dir + 16];
    memset(&o, 0, sizeof o);
    o.endpoints = endpoints;
    o.timeout_ms = 2000;
    (void)snprintf(ca, sizeof ca, "%s/ca.pem", etcd_dir);
    o.ca_file = ca;
    flake_i_etcd *const s = (flake_i_etcd *)calloc(1, sizeof *s);
    if (!s || flake_i_etcd_open_session(s, &o) != FLAKE_OK) abort();
    return s;
}

/* Asks until etcd answers, for a while. */
static flake_i_json ask(flake_i_etcd *s, const char *path, const char *body) {
    const int64_t end_ms = now_ms() + 8000;
    flake_status result;
    do result = flake_i_etcd_call(s, path, body);
    while (result == FLAKE_IO && now_ms() < end_ms);
    if (result != FLAKE_OK) {
        check_fail(__FILE__, __LINE__, s->why.text);
        s->answer.at = NULL;
    }
    return s->answer;
}

static const char *key_body(const char *key, const char *rest) {
    static char body[2000];
    char key64[600];
    flake_i_to_base64(key, strlen(key), key64);
    (void)snprintf(body, sizeof body, "{\"key\":\"%s\"%s}", key64, rest);
    return body;
}

static void put_key(flake_i_etcd *s, const char *key, const char *value) {
    char value64[128], rest[200];
    flake_i_to_base64(value, strlen(value), value64);
    (void)snprintf(rest, sizeof rest, ",\"value\":\"%s\"", value64);
    (void)ask(s, "kv/put", key_body(key, rest));
}

static void delete_key(flake_i_etcd *s, const char *key) {
    (void)ask(s, "kv/deleterange", key_body(key, ""));
}

/* A key's value; "": there is none. */
static const char *value_of(flake_i_etcd *s, const char *key) {
    static char value[2][FLAKE_I_ETCD_VALUE];
    static int next;
    char *const out = value[next++ % 2];
    *out = 0;
    (void)flake_i_json_bytes(flake_i_json_get(ask(s, "kv/range", key_body(key, "")), "kvs/0/value"),
                             out, FLAKE_I_ETCD_VALUE);
    return out;
}

/* All keys that begin so. */
static void delete_keys(flake_i_etcd *s, const char *prefix) {
    char end[300], end64[500], rest[600];
    const size_t len = strlen(prefix);
    memcpy(end, prefix, len + 1);
    end[len - 1]++;
    flake_i_to_base64(end, len, end64);
    (void)snprintf(rest, sizeof rest, ",\"range_end\":\"%s\"", end64);
    (void)ask(s, "kv/deleterange", key_body(prefix, rest));
}

/* Takes numbers of a pool as another client does, from 0 on, all but those from `from` to `to`. */
static void fill(flake_i_etcd *s, const char *name_space, unsigned cluster, unsigned size,
                 unsigned from, unsigned to) {
    static char body[20000];
    for (unsigned number = 0; number < size;) {
        size_t at = (size_t)snprintf(body, sizeof body, "{\"success\":[");
        for (unsigned n = 0; n < 100 && number < size; number++) {
            char key[300], key64[400];
            if (number >= from && number <= to) continue;
            (void)snprintf(key, sizeof key, "%spool/%u:%u", name_space, cluster, number);
            flake_i_to_base64(key, strlen(key), key64);
            at += (size_t)snprintf(body + at, sizeof body - at,
                                   "%s{\"request_put\":{\"key\":\"%s\"}}", n++ ? "," : "", key64);
        }
        (void)snprintf(body + at, sizeof body - at, "]}");
        (void)ask(s, "kv/txn", body);
    }
}

static pid_t member_pid(int member) {
    char path[sizeof etcd_dir + 16];
    int pid = 0;
    (void)snprintf(path, sizeof path, "%s/%d.pid", etcd_dir, member);
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "%d", &pid) != 1 || pid <= 1) abort();
    (void)fclose(f);
    return pid;
}

static void member_signal(int member, int sig) { CHECK(kill(member_pid(member), sig) == 0); }

static void member_start(int member) {
    char command[1200];
    (void)snprintf(command, sizeof command, "%s start '%s' %d", getenv("ETCD_SH"), etcd_dir,
                   member);
    CHECK(system(command) == 0);
}

/* All of the cluster, or one, answer a linearizable read. */
static bool ready(const char *urls, int64_t within_ms) {
    char list[512];
    const int64_t end_ms = now_ms() + within_ms;
    bool all = true;
    (void)snprintf(list, sizeof list, "%s", urls);
    for (char *url = strtok(list, ","); url; url = strtok(NULL, ",")) {
        flake_i_etcd *const s = admin(url);
        s->options.timeout_ms = 500;
        bool answered = false;
        while (!answered && now_ms() < end_ms) {
            answered = flake_i_etcd_call(s, "kv/range", "{\"key\":\"eA==\"}") != FLAKE_IO;
            if (!answered) nap_ms(50);
        }
        all = all && answered;
        flake_i_etcd_close_session(s);
    }
    return all;
}

/* ---- a way to etcd that can be cut ---- */

enum {
    PASS,
    STALL /* takes everything, passes nothing */,
    CUT /* closes, refuses */,
    SWALLOW_CLAIM, /* passes requests, but no answer once a transaction was asked for */
    SLOW_CLAIM     /* keeps transactions back for a while */
};
enum { pairs = 24 };

typedef struct way {
    int listener, target_port;
    char url[64];
    _Atomic(int) mode;
    _Atomic(bool) end;
    pthread_t thread;
} way;

static void *way_run(void *user) {
    way *w = (way *)user;
    int fd[pairs][2];
    bool mute[pairs] = {false};
    int n = 0;
    static char bytes[65536];
    while (!atomic_load(&w->end)) {
        struct pollfd p[1 + 2 * pairs];
        const int mode = atomic_load(&w->mode);
        memset(p, 0, sizeof p);
        p[0].fd = w->listener;
        p[0].events = POLLIN;
        for (int i = 0; i < n; i++)
            for (int side = 0; side < 2; side++) {
                p[1 + 2 * i + side].fd = mode == STALL ? -1 : fd[i][side];
                p[1 + 2 * i + side].events = POLLIN;
            }
        const int before = n;
        (void)poll(p, (nfds_t)(1 + 2 * n), 20);
        if (p[0].revents && n < pairs) {
            struct sockaddr_in to;
            memset(&to, 0, sizeof to);
            to.sin_family = AF_INET;
            to.sin_port = htons((uint16_t)w->target_port);
            to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            fd[n][0] = accept(w->listener, NULL, NULL);
            fd[n][1] = socket(AF_INET, SOCK_STREAM, 0);
            mute[n] = false;
            if (connect(fd[n][1], (struct sockaddr *)&to, sizeof to) == 0) n++;
            else (void)close(fd[n][0]), (void)close(fd[n][1]);
        }
        for (int i = before - 1; i >= 0; i--) {
            bool over = mode == CUT;
            for (int side = 0; side < 2 && !over; side++) {
                if (mode == STALL || !p[1 + 2 * i + side].revents) continue;
                const ssize_t got = read(fd[i][side], bytes, sizeof bytes - 1);
                if (got <= 0) {
                    over = true;
                    break;
                }
                bytes[got] = 0;
                if (side == 0 && mode == SWALLOW_CLAIM && strstr(bytes, "kv/txn")) mute[i] = true;
                if (side == 1 && mute[i]) continue;
                if (side == 0 && mode == SLOW_CLAIM && strstr(bytes, "kv/txn")) nap_ms(800);
                over = send(fd[i][!side], bytes, (size_t)got, MSG_NOSIGNAL) != got;
            }
            if (!over) continue;
            (void)close(fd[i][0]);
            (void)close(fd[i][1]);
            n--;
            fd[i][0] = fd[n][0];
            fd[i][1] = fd[n][1];
            mute[i] = mute[n];
            if (n >= before) p[0].revents = 0;
        }
    }
    for (int i = 0; i < n; i++) (void)close(fd[i][0]), (void)close(fd[i][1]);
    return NULL;
}

static int listen_anywhere(int *port) {
    struct sockaddr_in at;
    socklen_t size = sizeof at;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 64) != 0 ||
        getsockname(listener, (struct sockaddr *)&at, &size) != 0)
        abort();
    *port = ntohs(at.sin_port);
    return listener;
}

static void way_begin(way *w, int member) {
    int port;
    memset(w, 0, sizeof *w);
    w->listener = listen_anywhere(&port);
    w->target_port = atoi(strrchr(member_url[member], ':') + 1);
    (void)snprintf(w->url, sizeof w->url, "http://127.0.0.1:%d", port);
    if (pthread_create(&w->thread, NULL, way_run, w) != 0) abort();
}

static void way_end(way *w) {
    atomic_store(&w->end, true);
    (void)pthread_join(w->thread, NULL);
    (void)close(w->listener);
}

/* ---- claims ---- */

static flake_etcd claim, second;
static flake_gen ids;

static flake_etcd_options from(const char *endpoints, const char *name_space) {
    flake_etcd_options o;
    memset(&o, 0, sizeof o);
    o.endpoints = endpoints;
    o.name_space = name_space;
    o.ttl_ms = 3000;
    o.horizon_ms = 3000;
    o.timeout_ms = 500;
    return o;
}

static flake_status init(flake_gen *gen, flake_etcd *c) {
    flake_options o;
    memset(&o, 0, sizeof o);
    o.layout = flake_layout_uniqueid_ordered();
    o.node = flake_etcd_node(c);
    o.gate = flake_etcd_gate(c);
    return flake_init(gen, &o);
}

static flake_status claims(flake_etcd *c, const flake_etcd_options *o) {
    flake_why why;
    const flake_status status = flake_etcd_claim(c, o, &why);
    if (status != FLAKE_OK) printf("  not claimed: %s\n", why.text);
    return status;
}

/* How long until the generator says FLAKE_LEASE; -1: it does not. */
static int64_t ms_until_lost(flake_gen *gen, int64_t at_most_ms) {
    const int64_t begin_ms = now_ms();
    uint64_t id;
    flake_status status;
    while ((status = flake_next(gen, &id)) == FLAKE_OK && now_ms() < begin_ms + at_most_ms)
        nap_ms(1);
    return status == FLAKE_LEASE ? now_ms() - begin_ms : -1;
}

static const char *key_of(const flake_etcd *c, const char *kind) {
    static char key[2][64];
    static int next;
    char *const out = key[next++ % 2];
    (void)snprintf(out, 64, "%.30s%s/%u:%u", c->session->name_space, kind, c->cluster,
                   c->generator);
    return out;
}

static int64_t horizon_of(flake_i_etcd *s, const char *key) {
    const char *const value = value_of(s, key);
    return flake_i_etcd_horizon_in(value, strlen(value));
}

static void a_claim_is_a_leased_key_and_a_horizon(void) {
    flake_i_etcd *const s = admin(member_url[0]);
    char body[200], token[40];
    int64_t lease = 0, ttl = 0;
    flake_parts parts = {0, 0, 0, 0};
    uint64_t id;
    const flake_etcd_options o = from(all_members, "two-keys/");
    delete_keys(s, "two-keys/");
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_cluster(&claim), 0);
    CHECK(flake_etcd_generator(&claim) < 256);
    CHECK(flake_etcd_left_ms(&claim) > 1500 && flake_etcd_left_ms(&claim) <= 3000);
    CHECK_EQ(flake_etcd_claim(&claim, &o, NULL), FLAKE_INVALID);

    (void)snprintf(token, sizeof token, "%s", value_of(s, key_of(&claim, "pool")));
    CHECK_EQ(strlen(token), 32);
    CHECK_EQ(strspn(token, "0123456789abcdef"), 32);
    const flake_i_json kv =
        flake_i_json_get(ask(s, "kv/range", key_body(key_of(&claim, "pool"), "")), "kvs/0");
    CHECK(flake_i_json_number(flake_i_json_get(kv, "lease"), &lease));
    (void)snprintf(body, sizeof body, "{\"ID\":\"%lld\"}", (long long)lease);
    CHECK(flake_i_json_number(flake_i_json_get(ask(s, "lease/timetolive", body), "grantedTTL"),
                              &ttl));
    CHECK_EQ(ttl, 3);
    const char *const horizon = value_of(s, key_of(&claim, "horizon"));
    CHECK(strstr(horizon, token) != NULL);
    const int64_t ahead_ms =
        flake_i_etcd_horizon_in(horizon, strlen(horizon)) / 1000000 - unix_ms();
    CHECK(ahead_ms > 1500 && ahead_ms <= 3000);
    CHECK(
        flake_i_json_get(ask(s, "kv/range", key_body(key_of(&claim, "horizon"), "")), "kvs/0/lease")
            .at == NULL);

    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
    const flake_layout layout = flake_layout_uniqueid_ordered();
    CHECK_EQ(flake_decompose(&layout, id, &parts), FLAKE_OK);
    CHECK_EQ(parts.node, flake_uniqueid_node(0, flake_etcd_generator(&claim)));
    CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_OK);
    CHECK(ms_until_lost(&ids, 3400) == -1); /* longer than lease and horizon */
    const int64_t later_ms = horizon_of(s, key_of(&claim, "horizon")) / 1000000;
    CHECK(later_ms - unix_ms() > 1500 && later_ms - unix_ms() <= 3000);

    /* What the release leaves: the time of the last id, and no key in the pool. */
    char pool[64], kept[64];
    (void)snprintf(pool, sizeof pool, "%s", key_of(&claim, "pool"));
    (void)snprintf(kept, sizeof kept, "%s", key_of(&claim, "horizon"));
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
    CHECK_EQ(flake_decompose(&layout, id, &parts), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    CHECK_STR(value_of(s, pool), "");
    CHECK(horizon_of(s, kept) == parts.unix_ms * 1000000 + 999999);
    /* The next claim of the number has another token. */
    CHECK(strstr(value_of(s, kept), token) != NULL);
    fill(s, "two-keys/", 0, 256, flake_etcd_generator(&claim), flake_etcd_generator(&claim));
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK(strcmp(value_of(s, pool), token) != 0 && strstr(value_of(s, kept), token) == NULL);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    delete_keys(s, "two-keys/");
    flake_i_etcd_close_session(s);
}

static void without_random_bytes_nothing_is_claimed(void) {
    const flake_etcd_options o = from(all_members, "random/");
    flake_why why;
    random_is_gone = true;
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_IO);
    CHECK(strstr(why.text, "random") != NULL);
    random_is_gone = false;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
}

static void the_cluster_stands_in_its_key_or_is_given(void) {
    flake_i_etcd *const s = admin(all_members);
    flake_etcd_options o = from(all_members, "clusters/");
    flake_why why;
    put_key(s, "clusters/cluster-id", "15");
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_cluster(&claim), 15);
    CHECK_EQ(flake_etcd_node(&claim), flake_uniqueid_node(15, flake_etcd_generator(&claim)));
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);

    o.cluster_given = true;
    o.cluster = 7;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_cluster(&claim), 7);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    o.cluster_given = false;
    o.cluster = 0;

    put_key(s, "clusters/cluster-id", "3, 4"); /* the first is full */
    fill(s, "clusters/", 3, 256, 1, 0);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_cluster(&claim), 4);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);

    put_key(s, "clusters/cluster-id", "16");
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "clusters/cluster-id") != NULL);
    put_key(s, "clusters/cluster-id", "");
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_INVALID);
    delete_keys(s, "clusters/");
    flake_i_etcd_close_session(s);
}

static void a_full_pool_is_waited_for_with_a_deadline(void) {
    static const unsigned sizes[] = {256, 2048};
    flake_i_etcd *const s = admin(all_members);
    flake_etcd_options o = from(all_members, "full/");
    for (unsigned i = 0; i < 2; i++) {
        const unsigned size = sizes[i], only = size - 2;
        char key[64];
        flake_why why;
        o.pool_size = size;
        fill(s, "full/", 0, size, only, only);
        o.wait_ms = 0;
        CHECK_EQ(claims(&claim, &o), FLAKE_OK);
        CHECK_EQ(flake_etcd_generator(&claim), only);
        CHECK_EQ(flake_etcd_claim(&second, &o, &why), FLAKE_AGAIN);
        CHECK(strstr(why.text, "pool_size") != NULL);
        o.wait_ms = 600;
        int64_t begin_ms = now_ms();
        CHECK_EQ(flake_etcd_claim(&second, &o, NULL), FLAKE_AGAIN);
        CHECK(now_ms() - begin_ms >= 600 && now_ms() - begin_ms < 2500);

        /* A child frees another number while we wait. */
        (void)snprintf(key, sizeof key, "full/pool/0:%u", 17u);
        (void)fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            flake_i_etcd *const own = admin(all_members);
            nap_ms(700);
            delete_key(own, key);
            _exit(0);
        }
        o.wait_ms = 10000;
        begin_ms = now_ms();
        CHECK_EQ(claims(&second, &o), FLAKE_OK);
        CHECK_EQ(flake_etcd_generator(&second), 17);
        CHECK(now_ms() - begin_ms >= 600 && now_ms() - begin_ms < 3000);
        (void)waitpid(child, NULL, 0);
        CHECK_EQ(flake_etcd_release(&second, NULL), FLAKE_OK);
        CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
        delete_keys(s, "full/");
    }
    flake_i_etcd_close_session(s);
}

static void a_released_number_is_free_at_once(void) {
    flake_i_etcd *const s = admin(all_members);
    flake_etcd_options o = from(all_members, "free/");
    flake_gen late;
    uint64_t id, last;
    flake_why why;
    delete_keys(s, "free");
    fill(s, "free/", 0, 256, 9, 9);
    o.ttl_ms = 20000;     /* it is not the lease's end that frees it, */
    o.horizon_ms = 20000; /* nor the horizon's */
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    CHECK_EQ(flake_next(&ids, &last), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&claim, &why), FLAKE_OK);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_LEASE);
    CHECK_EQ(flake_try(&ids, &id), FLAKE_LEASE);
    CHECK_EQ(flake_etcd_check(&claim, &why), FLAKE_LEASE);
    CHECK(init(&late, &claim) == FLAKE_LEASE || flake_next(&late, &id) == FLAKE_LEASE);
    CHECK_EQ(claims(&second, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_generator(&second), 9);
    /* The object claims again, and its old generator stays shut. */
    CHECK_EQ(init(&late, &second), FLAKE_OK);
    CHECK_EQ(flake_next(&late, &id), FLAKE_OK);
    CHECK(id > last);
    CHECK_EQ(flake_etcd_release(&second, NULL), FLAKE_OK);
    o.name_space = "free2/";
    CHECK_EQ(claims(&second, &o), FLAKE_OK);
    CHECK_EQ(flake_next(&late, &id), FLAKE_LEASE);
    CHECK_EQ(init(&late, &second), FLAKE_OK);
    CHECK_EQ(flake_next(&late, &id), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&second, NULL), FLAKE_OK);
    delete_keys(s, "free");
    flake_i_etcd_close_session(s);
}

static flake_status init_ahead(flake_gen *gen, flake_etcd *c, int64_t max_ahead_ms) {
    flake_options o;
    memset(&o, 0, sizeof o);
    o.layout = flake_layout_uniqueid_ordered();
    o.node = flake_etcd_node(c);
    o.gate = flake_etcd_gate(c);
    o.max_ahead_ms = max_ahead_ms;
    o.max_wait_ms = 3000;
    return flake_init(gen, &o);
}

/* Draws up to the time; the newest id. */
static uint64_t draw_up_to(flake_gen *gen, int64_t until_unix_ms, flake_status wanted) {
    const flake_layout layout = flake_layout_uniqueid_ordered();
    const int64_t end_ms = now_ms() + 9000;
    flake_parts parts = {0, 0, 0, 0};
    uint64_t id = 0, newest = 0;
    flake_status status = FLAKE_OK;
    while (parts.unix_ms < until_unix_ms && now_ms() < end_ms) {
        if ((status = flake_next(gen, &id)) != FLAKE_OK) break;
        newest = id;
        CHECK_EQ(flake_decompose(&layout, id, &parts), FLAKE_OK);
    }
    CHECK_EQ(status, wanted);
    return newest;
}

/* Ids run 20 s ahead, and the clock of the next holder lags: he begins behind them all the same. */
static void a_released_number_begins_behind_its_last_id(void) {
    flake_i_etcd *const s = admin(all_members);
    flake_etcd_options o = from(all_members, "ahead/");
    uint64_t id;
    delete_keys(s, "ahead/");
    fill(s, "ahead/", 0, 256, 9, 9);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(init_ahead(&ids, &claim, 25000), FLAKE_OK);
    const uint64_t newest = draw_up_to(&ids, unix_ms() + 20000, FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    skew_ns = -20000000000;
    CHECK_EQ(claims(&second, &o), FLAKE_OK);
    CHECK_EQ(init(&ids, &second), FLAKE_OK);
    CHECK(flake_try(&ids, &id) != FLAKE_OK);
    CHECK(flake_try_at(&ids, unix_ms() - 60000, &id) != FLAKE_OK);
    CHECK_EQ(init_ahead(&ids, &second, 50000), FLAKE_OK); /* rather than wait for 40 s */
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
    CHECK(id > newest);
    CHECK_EQ(flake_etcd_release(&second, NULL), FLAKE_OK);
    skew_ns = 0;
    delete_keys(s, "ahead/");
    flake_i_etcd_close_session(s);
}

/* A thread that is admitted, and stands still until the number is another's. */
static void what_was_admitted_before_a_release_is_nobody_elses(void) {
    flake_i_etcd *const s = admin(all_members);
    flake_etcd_options o = from(all_members, "late-thread/");
    flake_parts parts = {0, 0, 0, 0};
    uint64_t id;
    const flake_layout layout = flake_layout_uniqueid_ordered();
    delete_keys(s, "late-thread/");
    fill(s, "late-thread/", 0, 256, 9, 9);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    const flake_gate gate = flake_etcd_gate(&claim);
    const int64_t until_ns = flake_i_system_ns(FLAKE_CLOCK_EXACT) + 1500000000;
    CHECK_EQ(gate.admit(gate.user, until_ns), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    CHECK_EQ(gate.admit(gate.user, until_ns), FLAKE_LEASE);
    CHECK_EQ(claims(&second, &o), FLAKE_OK);
    CHECK_EQ(init_ahead(&ids, &second, 5000), FLAKE_OK);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
    CHECK_EQ(flake_decompose(&layout, id, &parts), FLAKE_OK);
    CHECK(parts.unix_ms * 1000000 > until_ns);
    CHECK_EQ(flake_etcd_release(&second, NULL), FLAKE_OK);
    delete_keys(s, "late-thread/");
    flake_i_etcd_close_session(s);
}

static void a_clock_far_ahead_moves_no_horizon(void) {
    flake_i_etcd *const s = admin(all_members);
    flake_etcd_options o = from(all_members, "far/");
    char horizon[64], value[200];
    flake_why why;
    uint64_t id;
    delete_keys(s, "far/");
    fill(s, "far/", 0, 256, 9, 9);
    skew_ns = 90 * (int64_t)1000000000; /* from the start */
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_IO);
    CHECK(strstr(why.text, "60 s ahead of etcd's") != NULL);
    CHECK_STR(value_of(s, "far/horizon/0:9"), "");
    skew_ns = 0;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    (void)snprintf(horizon, sizeof horizon, "%s", key_of(&claim, "horizon"));
    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);

    /* An id is asked for from far ahead: it is refused, and nobody else feels it. */
    const int64_t asked_ms = now_ms();
    while (flake_try_at(&ids, unix_ms() + 86400000, &id) == FLAKE_AGAIN &&
           now_ms() < asked_ms + 3000)
        nap_ms(1);
    CHECK_EQ(flake_etcd_check(&claim, &why), FLAKE_IO);
    CHECK(strstr(why.text, "asked for") != NULL);
    CHECK_EQ(ms_until_lost(&ids, 3300), -1);
    CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_OK);
    CHECK(horizon_of(s, horizon) / 1000000 < unix_ms() + 3100);

    skew_ns = 90 * (int64_t)1000000000; /* it was set, meanwhile */
    const int64_t end_ms = now_ms() + 5000;
    while (flake_etcd_check(&claim, &why) == FLAKE_OK && now_ms() < end_ms) nap_ms(10);
    CHECK_EQ(flake_etcd_check(&claim, &why), FLAKE_IO);
    CHECK(strstr(why.text, "60 s ahead of etcd's") != NULL);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_IO);
    CHECK(horizon_of(s, horizon) / 1000000 < unix_ms() + 3100);
    skew_ns = 0;
    nap_ms(1500);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
    CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);

    /* A number whose horizon is far ahead is left, and so is one that is no horizon. */
    (void)snprintf(value, sizeof value, "%lld " TOKEN " 1",
                   (long long)(unix_ms() + 63000) * 1000000);
    put_key(s, horizon, value);
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_AGAIN);
    CHECK(strstr(why.text, "60 s ahead of this clock") != NULL);
    put_key(s, horizon, "x");
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_AGAIN);
    delete_key(s, horizon); /* the way out */
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    delete_keys(s, "far/");
    flake_i_etcd_close_session(s);
}

/* Of those that are free one whose horizon has passed is taken, and a claim waits for one that has not. */
static void a_horizon_that_has_passed_goes_first(void) {
    flake_i_etcd *const s = admin(all_members);
    flake_etcd_options o = from(all_members, "passed/");
    char value[200];
    uint64_t id;
    delete_keys(s, "passed/");
    fill(s, "passed/", 0, 256, 20, 22);
    (void)snprintf(value, sizeof value, "%lld " TOKEN " 1",
                   (long long)(unix_ms() + 1500) * 1000000);
    put_key(s, "passed/horizon/0:20", value);
    put_key(s, "passed/horizon/0:22", value);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(claims(&claim, &o), FLAKE_OK);
        CHECK_EQ(flake_etcd_generator(&claim), 21);
        CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    }
    fill(s, "passed/", 0, 256, 20, 20);
    o.wait_ms = 5000;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_generator(&claim), 20);
    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
    CHECK(flake_i_etcd_horizon_in(value, strlen(value)) < flake_i_system_ns(FLAKE_CLOCK_EXACT));
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    delete_keys(s, "passed/");
    flake_i_etcd_close_session(s);
}

enum { rivals = 8 };
static _Atomic(int) rivals_ready;

static void *claim_with_the_others(void *user) {
    const flake_etcd_options o = from(all_members, "rivals/");
    flake_etcd *const c = (flake_etcd *)user;
    atomic_fetch_add(&rivals_ready, 1);
    while (atomic_load(&rivals_ready) % rivals) {
    }
    c->generator = flake_etcd_claim(c, &o, NULL) == FLAKE_OK;
    return NULL;
}

static void of_many_who_claim_at_once_one_gets_it(void) {
    static flake_etcd rival[rivals];
    flake_i_etcd *const s = admin(all_members);
    pthread_t thread[rivals];
    for (int round = 0; round < 4; round++) {
        unsigned won = 0;
        fill(s, "rivals/", 0, 256, 77, 77);
        for (int i = 0; i < rivals; i++)
            if (pthread_create(&thread[i], NULL, claim_with_the_others, &rival[i]) != 0) abort();
        for (int i = 0; i < rivals; i++) (void)pthread_join(thread[i], NULL);
        for (int i = 0; i < rivals; i++) won += rival[i].generator;
        CHECK_EQ(won, 1);
        for (int i = 0; i < rivals; i++) flake_etcd_destroy(&rival[i]);
        delete_keys(s, "rivals/");
    }
    flake_i_etcd_close_session(s);
}

static void claim_with_long_lease(const char *name_space) {
    flake_etcd_options o = from(all_members, name_space);
    o.ttl_ms = 30000; /* neither its end nor a re-check is near */
    o.horizon_ms = 30000;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    /* until the watch stands */
    CHECK(ms_until_lost(&ids, 300) == -1);
}

/* Until the key of the pool is ours again. */
static bool is_healed(flake_i_etcd *s, const flake_etcd *c, int64_t within_ms) {
    const int64_t end_ms = now_ms() + within_ms;
    while (now_ms() < end_ms) {
        if (strcmp(value_of(s, key_of(c, "pool")), c->session->token) == 0) return true;
        nap_ms(10);
    }
    return false;
}

static void a_deleted_key_is_put_back_at_once(void) {
    flake_i_etcd *const s = admin(all_members);
    claim_with_long_lease("deleted/");
    delete_key(s, key_of(&claim, "pool"));
    CHECK(is_healed(s, &claim, 2000));
    CHECK_EQ(ms_until_lost(&ids, 1500), -1);
    CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    flake_i_etcd_close_session(s);
}

static void a_revoked_lease_is_replaced_at_once(void) {
    flake_i_etcd *const s = admin(all_members);
    char body[64];
    int64_t lease = 0;
    claim_with_long_lease("revoked/");
    CHECK(flake_i_json_number(
        flake_i_json_get(ask(s, "kv/range", key_body(key_of(&claim, "pool"), "")), "kvs/0/lease"),
        &lease));
    (void)snprintf(body, sizeof body, "{\"ID\":\"%lld\"}", (long long)lease);
    (void)ask(s, "lease/revoke", body);
    CHECK(is_healed(s, &claim, 2000));
    CHECK_EQ(ms_until_lost(&ids, 1500), -1);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    flake_i_etcd_close_session(s);
}

static void a_key_put_by_another_ends_a_claim_at_once(void) {
    flake_i_etcd *const s = admin(all_members);
    flake_why why;
    claim_with_long_lease("overwritten/");
    put_key(s, key_of(&claim, "pool"), "");
    const int64_t took_ms = ms_until_lost(&ids, 5000);
    CHECK(took_ms >= 0 && took_ms < 1000);
    CHECK_EQ(flake_etcd_check(&claim, &why), FLAKE_LEASE);
    CHECK(strstr(why.text, "another") != NULL);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    CHECK(*value_of(s, "overwritten/pool/0:0") ==
          0); /* whatever it was, it is not ours to delete */
    delete_keys(s, "overwritten/");
    flake_i_etcd_close_session(s);
}

static void a_deleted_horizon_ends_a_claim(void) {
    flake_i_etcd *const s = admin(all_members);
    flake_etcd_options o = from(all_members, "no-horizon/");
    uint64_t id;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
    delete_key(s, key_of(&claim, "horizon"));
    const int64_t took_ms = ms_until_lost(&ids, 5000);
    CHECK(took_ms >= 0 && took_ms < 1500); /* the next extension */
    char pool[64];
    (void)snprintf(pool, sizeof pool, "%s", key_of(&claim, "pool"));
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    CHECK_STR(value_of(s, pool), "");
    delete_keys(s, "no-horizon/");
    flake_i_etcd_close_session(s);
}

/* The horizon has earlier bytes again; its create_revision is what it was. */
static void a_restored_backup_ends_a_claim(void) {
    flake_i_etcd *const s = admin(all_members);
    flake_etcd_options o = from(all_members, "backup/");
    char backup[FLAKE_I_ETCD_VALUE], horizon[64];
    uint64_t id, last = 0;
    flake_gen next;
    delete_keys(s, "backup/");
    fill(s, "backup/", 0, 256, 9, 9);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    (void)snprintf(horizon, sizeof horizon, "%s", key_of(&claim, "horizon"));
    (void)snprintf(backup, sizeof backup, "%s", value_of(s, horizon));
    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    CHECK_EQ(ms_until_lost(&ids, 1300), -1);
    CHECK(strcmp(backup, value_of(s, horizon)) != 0); /* extended since */
    const int64_t begin_ms = now_ms();
    put_key(s, horizon, backup);
    flake_status status;
    while ((status = flake_next(&ids, &id)) == FLAKE_OK && now_ms() < begin_ms + 5000) last = id;
    CHECK_EQ(status, FLAKE_LEASE);
    CHECK(now_ms() - begin_ms < 1500);
    CHECK_STR(value_of(s, horizon), backup); /* not written over */
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    CHECK_STR(value_of(s, horizon), backup);
    o.wait_ms = 5000;
    CHECK_EQ(claims(&second, &o), FLAKE_OK);
    CHECK_EQ(init(&next, &second), FLAKE_OK);
    CHECK_EQ(flake_next(&next, &id), FLAKE_OK);
    CHECK(id > last);
    CHECK_EQ(flake_etcd_release(&second, NULL), FLAKE_OK);
    delete_keys(s, "backup/");
    flake_i_etcd_close_session(s);
}

static void a_deleted_key_is_put_back_without_the_watch(void) {
    flake_i_etcd *const s = admin(member_url[1]);
    char urls[160];
    (void)snprintf(urls, sizeof urls, "%s,%s", member_url[0], member_url[1]);
    flake_etcd_options o = from(urls, "unwatched/");
    o.ttl_ms = 9000;
    o.horizon_ms = 9000;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    nap_ms(300);
    member_signal(0, SIGSTOP); /* who watches for us */
    delete_key(s, key_of(&claim, "pool"));
    CHECK(is_healed(s, &claim, 6500)); /* a third of the horizon, and a timeout or two */
    member_signal(0, SIGCONT);
    CHECK_EQ(ms_until_lost(&ids, 100), -1);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    CHECK(ready(all_members, 8000));
    flake_i_etcd_close_session(s);
}

static void whoever_is_cut_off_stops_before_another_begins(void) {
    static const int how[] = {STALL, CUT};
    flake_i_etcd *const s = admin(all_members);
    for (unsigned i = 0; i < 2; i++) {
        way w;
        uint64_t id, newest = 0, first;
        flake_gen next;
        flake_status status;
        delete_keys(s, "cut/");
        fill(s, "cut/", 0, 256, 5, 5);
        way_begin(&w, 0);
        flake_etcd_options o = from(w.url, "cut/");
        o.ttl_ms = 2000;
        CHECK_EQ(claims(&claim, &o), FLAKE_OK);
        CHECK_EQ(init(&ids, &claim), FLAKE_OK);
        CHECK(ms_until_lost(&ids, 1000) == -1);
        atomic_store(&w.mode, how[i]);
        flake_etcd_options direct = from(all_members, "cut/");
        direct.wait_ms = 9000;
        const int64_t begin_ms = now_ms();
        while ((status = flake_next(&ids, &id)) == FLAKE_OK && now_ms() < begin_ms + 9000)
            newest = id;
        CHECK_EQ(status, FLAKE_IO);
        CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_IO);
        const int64_t over_ms = now_ms() - begin_ms;
        CHECK(over_ms > 1000 && over_ms <= 3000); /* what was left of the horizon */
        CHECK_EQ(flake_etcd_claim(&second, &direct, NULL), FLAKE_OK);
        CHECK_EQ(init(&next, &second), FLAKE_OK);
        CHECK_EQ(flake_next(&next, &first), FLAKE_OK);
        CHECK(newest < first);
        atomic_store(&w.mode, PASS);
        const int64_t pass_ms = now_ms();
        while ((status = flake_next(&ids, &id)) == FLAKE_IO && now_ms() < pass_ms + 3000) nap_ms(1);
        CHECK_EQ(status, FLAKE_LEASE); /* for good */
        CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
        CHECK_EQ(flake_next(&next, &id), FLAKE_OK); /* and took nothing with it */
        CHECK_EQ(flake_etcd_release(&second, NULL), FLAKE_OK);
        way_end(&w);
    }
    delete_keys(s, "cut/");
    flake_i_etcd_close_session(s);
}

static void a_short_cut_is_survived(void) {
    way w;
    way_begin(&w, 1);
    flake_etcd_options o = from(w.url, "short/");
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    CHECK(ms_until_lost(&ids, 500) == -1);
    atomic_store(&w.mode, CUT);
    CHECK(ms_until_lost(&ids, 900) == -1);
    atomic_store(&w.mode, PASS);
    CHECK(ms_until_lost(&ids, 2500) == -1);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    way_end(&w);
}

static void a_claim_whose_answer_is_lost_is_one_claim(void) {
    flake_i_etcd *const s = admin(all_members);
    char urls[160];
    way w;
    delete_keys(s, "swallowed/");
    way_begin(&w, 0);
    atomic_store(&w.mode, SWALLOW_CLAIM);
    (void)snprintf(urls, sizeof urls, "%s,%s", w.url, member_url[1]);
    flake_etcd_options o = from(urls, "swallowed/");
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    const char *const body =
        key_body("swallowed/pool/0:", /* to swallowed/pool/0; */
                 ",\"range_end\":\"c3dhbGxvd2VkL3Bvb2wvMDs=\",\"count_only\":true");
    int64_t count = 0;
    CHECK(flake_i_json_number(flake_i_json_get(ask(s, "kv/range", body), "count"), &count));
    CHECK_EQ(count, 1);
    const char *const horizon = value_of(s, key_of(&claim, "horizon"));
    CHECK(strstr(horizon, claim.session->token) != NULL);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    way_end(&w);
    flake_i_etcd_close_session(s);
}

/* Its extension is applied, and no answer comes: it goes on with the bytes that it knows of, and settles
 * the others first, whether or not the key of the pool is still there. */
static void an_extension_whose_answer_is_lost_is_settled(void) {
    flake_i_etcd *const s = admin(all_members);
    for (int deleted = 0; deleted < 2; deleted++) {
        way w;
        uint64_t id;
        way_begin(&w, 0);
        flake_etcd_options o = from(w.url, "unanswered/");
        CHECK_EQ(claims(&claim, &o), FLAKE_OK);
        CHECK_EQ(init(&ids, &claim), FLAKE_OK);
        CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
        nap_ms(300); /* until the watch stands */
        char horizon[64], before[FLAKE_I_ETCD_VALUE];
        (void)snprintf(horizon, sizeof horizon, "%s", key_of(&claim, "horizon"));
        (void)snprintf(before, sizeof before, "%s", value_of(s, horizon));
        atomic_store(&w.mode, SWALLOW_CLAIM);
        const int64_t begin_ms = now_ms();
        while (strcmp(value_of(s, horizon), before) == 0 && now_ms() < begin_ms + 5000) nap_ms(10);
        const int64_t seen_ns = (int64_t)FLAKE_ATOMIC_LOAD(&claim.horizon_ns, relaxed);
        CHECK(horizon_of(s, horizon) > seen_ns); /* written, and not known of */
        if (deleted) delete_key(s, key_of(&claim, "pool"));
        while (flake_next(&ids, &id) == FLAKE_OK && now_ms() < begin_ms + 9000) {
        }
        CHECK_EQ(flake_next(&ids, &id), FLAKE_IO);
        CHECK((int64_t)FLAKE_ATOMIC_LOAD(&claim.horizon_ns, relaxed) == seen_ns);
        atomic_store(&w.mode, PASS);
        const int64_t end_ms = now_ms() + 4000;
        while (flake_etcd_check(&claim, NULL) != FLAKE_OK && now_ms() < end_ms) nap_ms(5);
        CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
        CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_OK);
        CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
        way_end(&w);
    }
    delete_keys(s, "unanswered/");
    flake_i_etcd_close_session(s);
}

static void *claim_slowly(void *user) {
    flake_etcd_options o = from((const char *)user, "late/");
    o.timeout_ms = 4000;
    return flake_etcd_claim(&second, &o, NULL) == FLAKE_AGAIN ? user : NULL;
}

static void who_comes_late_takes_nothing_away(void) {
    flake_i_etcd *const s = admin(all_members);
    pthread_t thread;
    void *refused = NULL;
    way w;
    fill(s, "late/", 0, 256, 11, 11);
    way_begin(&w, 0);
    atomic_store(&w.mode, SLOW_CLAIM);
    if (pthread_create(&thread, NULL, claim_slowly, w.url) != 0) abort();
    nap_ms(400); /* it has seen the number free, and asks for it */
    const flake_etcd_options o = from(all_members, "late/");
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    (void)pthread_join(thread, &refused);
    CHECK(refused != NULL);
    CHECK(ms_until_lost(&ids, 300) == -1);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    flake_etcd_destroy(&second);
    way_end(&w);
    delete_keys(s, "late/");
    flake_i_etcd_close_session(s);
}

static void nobody_answers(void) {
    flake_why why;
    int port;
    char urls[160], deaf[64];
    const int listener = listen_anywhere(&port); /* takes connections, answers nothing */
    (void)snprintf(deaf, sizeof deaf, "http://127.0.0.1:%d", port);
    (void)snprintf(urls, sizeof urls, "http://127.0.0.1:1,%s", deaf);
    const flake_etcd_options o = from(urls, "x/");
    const int64_t begin_ms = now_ms();
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_IO);
    CHECK(strstr(why.text, deaf) == why.text);
    CHECK(now_ms() - begin_ms < 3000);
    (void)close(listener);
    const flake_etcd_options both = from("http://127.0.0.1:1,,", "x/");
    CHECK_EQ(flake_etcd_claim(&claim, &both, &why), FLAKE_INVALID);
}

/* ---- fail-over ---- */

static void one_member_after_the_other_fails(void) {
    flake_etcd_options o = from(all_members, "fail-over/");
    o.ttl_ms = 5000;
    o.horizon_ms = 4000;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    static const int sig[] = {SIGKILL, SIGSTOP, SIGTERM};
    for (int member = 0; member < 3; member++) {
        member_signal(member, sig[member]);
        CHECK(ms_until_lost(&ids, 4500) == -1); /* longer than a claim lasts by itself */
        if (sig[member] == SIGSTOP) member_signal(member, SIGCONT);
        else member_start(member);
        CHECK(ms_until_lost(&ids, 500) == -1);
        CHECK(ready(all_members, 8000));
        CHECK(ms_until_lost(&ids, 1000) == -1);
    }
    CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
}

static void without_etcd_ids_go_on_up_to_the_horizon(void) {
    flake_i_etcd *const s = admin(all_members);
    flake_etcd_options o = from(all_members, "gone/");
    flake_why why;
    uint64_t id, last = 0;
    flake_status status;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    for (int member = 0; member < 3; member++) member_signal(member, SIGKILL);
    const int64_t begin_ms = now_ms();
    while ((status = flake_next(&ids, &id)) == FLAKE_OK && now_ms() < begin_ms + 6000) last = id;
    CHECK_EQ(status, FLAKE_IO);
    CHECK(now_ms() - begin_ms > 1500 && now_ms() - begin_ms <= 3100);
    CHECK_EQ(flake_etcd_check(&claim, &why), FLAKE_IO);
    CHECK(strstr(why.text, "not reached") != NULL);
    nap_ms(50);
    CHECK_EQ(flake_etcd_left_ms(&claim), 0);
    for (int member = 0; member < 3; member++) member_start(member);
    CHECK(ready(all_members, 10000));
    /* It was nobody else's, so it goes on. */
    const int64_t end_ms = now_ms() + 5000;
    while (flake_next(&ids, &id) != FLAKE_OK && now_ms() < end_ms) nap_ms(10);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
    CHECK(id > last);
    CHECK(is_healed(s, &claim, 3000));
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    flake_i_etcd_close_session(s);
}

/* ---- two holders, and what each has drawn ---- */

enum { drawn_room = 1 << 18 };
typedef struct drawn {
    _Atomic(uint64_t) n;
    _Atomic(int) state; /* 1: claimed and draws; 2: lost; 3: over */
    uint64_t ids[drawn_room];
} drawn;
static drawn *drawn_by; /* two, shared */

/* In a child: claims, draws for a while, some ids each ms, and releases. */
static pid_t draw_in_child(unsigned who, const flake_etcd_options *o, int64_t skew,
                           int64_t ahead_ms, int64_t for_ms) {
    (void)fflush(stdout);
    const pid_t child = fork();
    if (child != 0) return child;
    static flake_etcd mine;
    static flake_gen gen;
    drawn *const d = &drawn_by[who];
    flake_status status = FLAKE_OK;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    skew_ns = skew;
    const int64_t patient_ms =
        now_ms() + 9000; /* a claim that waits would wait for the horizon, too */
    while (flake_etcd_claim(&mine, o, NULL) != FLAKE_OK)
        if (now_ms() > patient_ms) _exit(1);
        else nap_ms(20);
    if (init_ahead(&gen, &mine, ahead_ms) != FLAKE_OK) _exit(1);
    atomic_store(&d->state, 1);
    for (const int64_t end_ms = now_ms() + for_ms; now_ms() < end_ms && status != FLAKE_LEASE;) {
        uint64_t id;
        for (int i = 0; i < 30 && (status = flake_try(&gen, &id)) == FLAKE_OK; i++) {
            const uint64_t n = atomic_load(&d->n);
            if (n == drawn_room) _exit(2);
            d->ids[n] = id;
            atomic_store(&d->n, n + 1);
        }
        nap_ms(1);
    }
    atomic_store(&d->state, status == FLAKE_LEASE ? 2 : 3);
    (void)flake_etcd_release(&mine, NULL);
    _exit(0);
}

static void draw_begin(void) {
    for (int i = 0; i < 2; i++) {
        atomic_store(&drawn_by[i].n, 0u);
        atomic_store(&drawn_by[i].state, 0);
    }
}

static bool wait_for_state(unsigned who, int state, int64_t within_ms) {
    const int64_t end_ms = now_ms() + within_ms;
    while (atomic_load(&drawn_by[who].state) < state && now_ms() < end_ms) nap_ms(5);
    return atomic_load(&drawn_by[who].state) >= state;
}

static void no_id_is_drawn_twice(void) {
    const size_t a = (size_t)drawn_by[0].n, b = (size_t)drawn_by[1].n;
    uint64_t *const all = (uint64_t *)malloc((a + b) * sizeof *all + 1);
    if (!all) abort();
    memcpy(all, drawn_by[0].ids, a * sizeof *all);
    memcpy(all + a, drawn_by[1].ids, b * sizeof *all);
    CHECK_EQ(count_duplicates(all, a + b), 0);
    printf("  %zu and %zu ids\n", a, b);
    free(all);
}

/* The clocks differ by seconds and by minutes, either way; the first holder is stopped, the second takes
 * his number, and the first goes on. */
static void clocks_may_differ_by_any_amount(void) {
    static const int64_t skew_s[][2] = {{0, 0},    {0, -2}, {3, 0},   {0, -55},
                                        {-300, 0}, {0, 50}, {20, -20}};
    flake_i_etcd *const s = admin(all_members);
    for (size_t i = 0; i < sizeof skew_s / sizeof *skew_s; i++) {
        flake_etcd_options o = from(all_members, "skew/");
        const int64_t g = 1000000000;
        int status;
        delete_keys(s, "skew/");
        fill(s, "skew/", 0, 256, 9, 9);
        draw_begin();
        o.ttl_ms = o.horizon_ms = 1000;
        const pid_t first = draw_in_child(0, &o, skew_s[i][0] * g, i % 2 ? 2500 : 0, 9000);
        CHECK(wait_for_state(0, 1, 5000));
        nap_ms(700);
        CHECK(kill(first, SIGSTOP) == 0);
        const pid_t other = draw_in_child(1, &o, skew_s[i][1] * g, 60000, 1500);
        CHECK(wait_for_state(1, 1, 9000));
        nap_ms(300);
        CHECK(kill(first, SIGCONT) == 0);
        CHECK(waitpid(first, &status, 0) == first && WIFEXITED(status) && WEXITSTATUS(status) == 0);
        CHECK(waitpid(other, &status, 0) == other && WIFEXITED(status) && WEXITSTATUS(status) == 0);
        CHECK(drawn_by[0].n > 0 && drawn_by[1].n > 0);
        CHECK_EQ(drawn_by[0].state, 2); /* it was told */
        no_id_is_drawn_twice();
    }
    delete_keys(s, "skew/");
    flake_i_etcd_close_session(s);
}

static int leader(flake_i_etcd *s) {
    for (int member = 0; member < 3; member++) {
        flake_i_etcd *const one = admin(member_url[member]);
        const flake_i_json status = ask(one, "maintenance/status", "{}");
        const flake_i_json id = flake_i_json_get(status, "header/member_id");
        const flake_i_json lead = flake_i_json_get(status, "leader");
        const size_t n = (size_t)(id.end - id.at);
        const bool leads = id.at && lead.at + n == lead.end && memcmp(id.at, lead.at, n) == 0;
        flake_i_etcd_close_session(one);
        if (leads) return member;
    }
    check_fail(__FILE__, __LINE__, "no leader");
    return (void)s, 0;
}

/* A leader that stood still believes, when it goes on, that all leases have run out, and revokes them,
 * though another was elected meanwhile and they were renewed. Somebody waits for the number, with a clock
 * that lags. */
static void a_stale_leader_that_revokes_live_leases_ends_no_uniqueness(void) {
    flake_i_etcd *const s = admin(all_members);
    flake_etcd_options o = from(all_members, "stale/");
    int status;
    delete_keys(s, "stale/");
    fill(s, "stale/", 0, 256, 9, 9);
    draw_begin();
    o.ttl_ms = 2000;
    o.timeout_ms = 250;
    const pid_t first = draw_in_child(0, &o, 0, 0, 7000);
    CHECK(wait_for_state(0, 1, 5000));
    const pid_t other = draw_in_child(1, &o, -2000000000, 60000, 6000);
    const int stale = leader(s);
    member_signal(stale, SIGSTOP);
    nap_ms(4300);
    member_signal(stale, SIGCONT);
    for (int i = 0; i < 3; i++) { /* whether or not it does it this time: we do what it would */
        int64_t lease = 0;
        char body[64];
        nap_ms(300);
        if (!flake_i_json_number(
                flake_i_json_get(ask(s, "kv/range", key_body("stale/pool/0:9", "")), "kvs/0/lease"),
                &lease))
            continue;
        (void)snprintf(body, sizeof body, "{\"ID\":\"%lld\"}", (long long)lease);
        (void)flake_i_etcd_call(s, "lease/revoke", body);
    }
    CHECK(waitpid(first, &status, 0) == first && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(waitpid(other, &status, 0) == other && WIFEXITED(status));
    CHECK(drawn_by[0].n > 0);
    printf("  the first holder %s\n",
           drawn_by[0].state == 2 ? "lost the number" : "kept the number");
    no_id_is_drawn_twice();
    CHECK(ready(all_members, 8000));
    delete_keys(s, "stale/");
    flake_i_etcd_close_session(s);
}

/* ---- fork ---- */

static int in_the_child(void) {
    uint64_t id;
    int wrong = flake_next(&ids, &id) != FLAKE_FORKED;
    wrong += flake_etcd_check(&claim, NULL) != FLAKE_FORKED;
    wrong += flake_etcd_left_ms(&claim) != 0;
    wrong += flake_etcd_release(&claim, NULL) != FLAKE_OK;
    const flake_etcd_options o = from(all_members, "fork/");
    wrong += claims(&claim, &o) != FLAKE_OK;    /* its own */
    wrong += flake_next(&ids, &id) == FLAKE_OK; /* the parent's, still shut */
    wrong += init(&ids, &claim) != FLAKE_OK || flake_next(&ids, &id) != FLAKE_OK;
    wrong += flake_etcd_release(&claim, NULL) != FLAKE_OK;
    return wrong;
}

static void a_child_has_no_claim(void) {
    int status = -1;
    const flake_etcd_options o = from(all_members, "fork/");
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    CHECK(ms_until_lost(&ids, 100) == -1);
    (void)fflush(stdout);
    const pid_t child = fork();
    if (child == 0) _exit(in_the_child());
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    CHECK(ms_until_lost(&ids, 1500) == -1);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
}

static int with_the_parents_pid(void) {
    uint64_t id;
    int wrong = flake_next(&ids, &id) != FLAKE_FORKED;
    wrong += flake_etcd_check(&claim, NULL) != FLAKE_FORKED;
    const flake_gate gate = flake_etcd_gate(&claim);
    wrong += gate.admit(gate.user, flake_i_system_ns(FLAKE_CLOCK_EXACT)) != FLAKE_FORKED;
    flake_gen own;
    wrong += init(&own, &claim) == FLAKE_OK;
    wrong += flake_etcd_release(&claim, NULL) != FLAKE_OK;
    return wrong;
}

/* Process 1 of a namespace claims, and its child is process 1 of another. 99: they can't be had. */
static int first_of_a_namespace(void) {
    uint64_t id;
    int status = -1;
    const flake_etcd_options o = from(all_members, "namespace/");
    if (getpid() != 1 || claims(&claim, &o) != FLAKE_OK || init(&ids, &claim) != FLAKE_OK)
        return 98;
    if (flake_next(&ids, &id) != FLAKE_OK) return 97;
    if (unshare(CLONE_NEWPID) != 0) return 99;
    const pid_t child = fork();
    if (child == 0) _exit(getpid() == 1 ? with_the_parents_pid() : 96);
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 95;
    if (WEXITSTATUS(status) != 0) return WEXITSTATUS(status);
    nap_ms(300);
    if (flake_next(&ids, &id) != FLAKE_OK || flake_etcd_check(&claim, NULL) != FLAKE_OK) return 94;
    return flake_etcd_release(&claim, NULL) == FLAKE_OK ? 0 : 93;
}

static void a_child_with_its_parents_pid_has_no_claim(void) {
    int status = -1;
    (void)fflush(stdout);
    const pid_t outer = fork();
    if (outer == 0) {
        if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) _exit(99);
        const pid_t first = fork();
        if (first == 0) _exit(first_of_a_namespace());
        _exit(waitpid(first, &status, 0) == first && WIFEXITED(status) ? WEXITSTATUS(status) : 92);
    }
    CHECK(waitpid(outer, &status, 0) == outer && WIFEXITED(status));
    if (WEXITSTATUS(status) == 99) printf("  SKIPPED: no pid namespaces here\n");
    else CHECK_EQ(WEXITSTATUS(status), 0);
}

/* ---- https, and etcd's authentication ---- */

static void https_and_users(void) {
    flake_i_etcd *const s = admin(member_url[3]);
    char ca[sizeof etcd_dir + 16], other[sizeof etcd_dir + 16];
    flake_why why;
    flake_etcd_options o = from(member_url[3], "tls/");
    (void)snprintf(ca, sizeof ca, "%s/ca.pem", etcd_dir);
    (void)snprintf(other, sizeof other, "%s/other.pem", etcd_dir);
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_IO); /* unknown authority */
    CHECK(strstr(why.text, "https://") == why.text);
    o.ca_file = other;
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_IO);
    o.ca_file = ca;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    CHECK(ms_until_lost(&ids, 1200) == -1);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);

    (void)ask(s, "auth/user/add", "{\"name\":\"root\",\"password\":\"q\\\"\\\\w\"}");
    (void)ask(s, "auth/user/grant", "{\"user\":\"root\",\"role\":\"root\"}");
    (void)ask(s, "auth/enable", "{}");
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_IO); /* nobody */
    o.user = "root";
    o.password = "wrong";
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_IO);
    o.password = "q\"\\w";
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    CHECK(ms_until_lost(&ids, 300) == -1);
    /* Its tokens die with a member: the next renewal logs in again. */
    member_signal(3, SIGKILL);
    member_start(3);
    CHECK(ms_until_lost(&ids, 3000) == -1);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    flake_i_etcd_close_session(s);
}

/* ---- many processes, few numbers ---- */

enum { seats = 5, free_numbers = 3, room = 1 << 19 };

typedef struct seat {
    _Atomic(uint64_t) n, claims, losses;
    _Atomic(bool) draws;
    uint64_t ids[room];
} seat;

static seat *seat_of; /* shared */

static _Noreturn void live(seat *me, pid_t parent, uint64_t random) {
    static flake_etcd mine;
    static flake_gen gen;
    flake_etcd_options o = from(all_members, "many/");
    o.ttl_ms = 1000;
    o.horizon_ms = 1000 + (int64_t)random_below(&random, 1000);
    o.wait_ms = 2000;
    o.timeout_ms = 300;
    skew_ns = ((int64_t)random_below(&random, 3000) - 1500) * 1000000;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* frozen or not */
    while (getppid() == parent) {
        if (flake_etcd_claim(&mine, &o, NULL) != FLAKE_OK) continue;
        atomic_fetch_add(&me->claims, 1u);
        atomic_store(&me->draws, true);
        const int64_t end_ms = now_ms() + 200 + (int64_t)random_below(&random, 2500);
        flake_status status = init(&gen, &mine);
        while (status != FLAKE_LEASE && getppid() == parent && now_ms() < end_ms) {
            uint64_t id;
            for (int i = 0; i < 20 && (status = flake_next(&gen, &id)) == FLAKE_OK; i++) {
                const uint64_t n = atomic_load(&me->n);
                if (n == room) _exit(2);
                me->ids[n] = id;
                atomic_store(&me->n, n + 1);
            }
            flake_i_system_sleep(200000);
        }
        atomic_store(&me->draws, false);
        if (status == FLAKE_LEASE) atomic_fetch_add(&me->losses, 1u);
        (void)flake_etcd_release(&mine, NULL);
    }
    _exit(0);
}

static pid_t start(unsigned i, uint64_t random) {
    const pid_t parent = getpid(), child = fork();
    if (child == 0) live(&seat_of[i], parent, random);
    if (child < 0) abort();
    return child;
}

static void two_never_hold_one_number(void) {
    flake_i_etcd *const s = admin(all_members);
    pid_t child[seats];
    int64_t frozen_until_ms[seats] = {0};
    uint64_t random = 88172645463325252u, claimed = 0, lost = 0, total = 0;
    int frozen = 0, member_frozen = 0;
    delete_keys(s, "many/");
    fill(s, "many/", 0, 256, 100, 100 + free_numbers - 1);
    (void)fflush(stdout);
    for (unsigned i = 0; i < seats; i++) child[i] = start(i, random_next(&random));
    const int64_t end_ms = now_ms() + 15000;
    while (now_ms() < end_ms) {
        nap_ms(100 + (int64_t)random_below(&random, 200));
        unsigned i = (unsigned)random_below(&random, seats);
        for (unsigned k = 0; k < seats && (frozen_until_ms[i] || !seat_of[i].draws); k++)
            i = (i + 1) % seats;
        const int64_t ms = now_ms();
        for (unsigned k = 0; k < seats; k++)
            if (frozen_until_ms[k] && ms >= frozen_until_ms[k]) {
                CHECK(kill(child[k], SIGCONT) == 0);
                frozen_until_ms[k] = 0;
            }
        if (member_frozen == 1 && ms > end_ms - 8000) member_signal(0, SIGCONT), member_frozen = 2;
        if (member_frozen == 0 && ms > end_ms - 9000) member_signal(0, SIGSTOP), member_frozen = 1;
        if (frozen_until_ms[i]) continue;
        if (random_below(&random, 3)) {
            CHECK(kill(child[i], SIGSTOP) == 0);
            frozen_until_ms[i] = ms + 500 + (int64_t)random_below(&random, 2500);
            frozen++;
        } else {
            CHECK(kill(child[i], SIGKILL) == 0);
            CHECK(waitpid(child[i], NULL, 0) == child[i]);
            atomic_store(&seat_of[i].draws, false);
            child[i] = start(i, random_next(&random));
        }
    }
    if (member_frozen == 1) member_signal(0, SIGCONT);
    for (unsigned i = 0; i < seats; i++) {
        int status;
        (void)kill(child[i], SIGKILL);
        CHECK(waitpid(child[i], &status, 0) == child[i] && WIFSIGNALED(status));
        claimed += seat_of[i].claims;
        lost += seat_of[i].losses;
        total += seat_of[i].n;
    }
    uint64_t *const all = (uint64_t *)malloc((size_t)total * sizeof *all + 1);
    if (!all) abort();
    size_t n = 0;
    for (unsigned i = 0; i < seats; i++) {
        memcpy(all + n, seat_of[i].ids, (size_t)seat_of[i].n * sizeof *all);
        n += (size_t)seat_of[i].n;
    }
    CHECK_EQ(count_duplicates(all, n), 0);
    printf("  %zu ids of %" PRIu64 " claims on %d numbers, %" PRIu64 " of them lost; %d freezes\n",
           n, claimed, (int)free_numbers, lost, frozen);
    CHECK(claimed > 3 * free_numbers);
    CHECK(lost > 0);
    free(all);
    delete_keys(s, "many/");
    flake_i_etcd_close_session(s);
}

int main(int argc, char **argv) {
    static const check_test all[] = {
        CHECK_TEST(json_is_read_strictly),
        CHECK_TEST(members_are_found),
        CHECK_TEST(base64_is_read_strictly),
        CHECK_TEST(clusters_and_numbers_are_read_strictly),
        CHECK_TEST(horizons_are_read_strictly),
        CHECK_TEST(answers_are_taken_at_their_word_only),
        CHECK_TEST(the_best_number_is_chosen),
        CHECK_TEST(options_that_do_not_fit_are_named),
        CHECK_TEST(the_gate_lets_nothing_past_the_horizon),
        CHECK_TEST(nobody_answers),
        CHECK_TEST(without_random_bytes_nothing_is_claimed),
        CHECK_TEST(a_claim_is_a_leased_key_and_a_horizon),
        CHECK_TEST(the_cluster_stands_in_its_key_or_is_given),
        CHECK_TEST(a_full_pool_is_waited_for_with_a_deadline),
        CHECK_TEST(a_released_number_is_free_at_once),
        CHECK_TEST(a_released_number_begins_behind_its_last_id),
        CHECK_TEST(what_was_admitted_before_a_release_is_nobody_elses),
        CHECK_TEST(a_clock_far_ahead_moves_no_horizon),
        CHECK_TEST(a_horizon_that_has_passed_goes_first),
        CHECK_TEST(who_comes_late_takes_nothing_away),
        CHECK_TEST(of_many_who_claim_at_once_one_gets_it),
        CHECK_TEST(a_deleted_key_is_put_back_at_once),
        CHECK_TEST(a_revoked_lease_is_replaced_at_once),
        CHECK_TEST(a_key_put_by_another_ends_a_claim_at_once),
        CHECK_TEST(a_deleted_horizon_ends_a_claim),
        CHECK_TEST(a_restored_backup_ends_a_claim),
        CHECK_TEST(a_deleted_key_is_put_back_without_the_watch),
        CHECK_TEST(whoever_is_cut_off_stops_before_another_begins),
        CHECK_TEST(a_short_cut_is_survived),
        CHECK_TEST(a_claim_whose_answer_is_lost_is_one_claim),
        CHECK_TEST(an_extension_whose_answer_is_lost_is_settled),
        CHECK_TEST(a_child_has_no_claim),
        CHECK_TEST(a_child_with_its_parents_pid_has_no_claim),
        CHECK_TEST(one_member_after_the_other_fails),
        CHECK_TEST(without_etcd_ids_go_on_up_to_the_horizon),
        CHECK_TEST(clocks_may_differ_by_any_amount),
        CHECK_TEST(a_stale_leader_that_revokes_live_leases_ends_no_uniqueness),
        CHECK_TEST(https_and_users),
        CHECK_TEST(two_never_hold_one_number)};
    if (argc == 4 && strcmp(argv[1], "--ready") == 0) {
        (void)snprintf(etcd_dir, sizeof etcd_dir, "%s", argv[3]);
        return ready(argv[2], 10000) ? 0 : 1;
    }
    const char *const dir = getenv("ETCD_DIR"), *const base = getenv("ETCD_BASE");
    if (!dir || !base || !getenv("ETCD_SH")) {
        printf("run me by tests/etcd/etcd.sh\n0 passed, 1 failed\n");
        return 1;
    }
    (void)snprintf(etcd_dir, sizeof etcd_dir, "%s", dir);
    for (int i = 0; i < 4; i++)
        (void)snprintf(member_url[i], sizeof member_url[i], "%s://127.0.0.1:%d",
                       i == 3 ? "https" : "http", atoi(base) + 2 * i);
    (void)snprintf(all_members, sizeof all_members, "%s,%s,%s", member_url[0], member_url[1],
                   member_url[2]);
    void *page = mmap(NULL, seats * sizeof *seat_of, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return 1;
    seat_of = (seat *)page;
    page =
        mmap(NULL, 2 * sizeof *drawn_by, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return 1;
    drawn_by = (drawn *)page;
    const int failed = CHECK_MAIN(argc, argv, all);
    flake_etcd_destroy(&claim);
    flake_etcd_destroy(&second);
    return failed;
}
