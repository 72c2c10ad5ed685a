/* SPDX-License-Identifier: MIT
 *
 * Claims on node numbers, against etcd members that etcd.sh has started: they are stopped, frozen and
 * killed, connections are cut, leases revoked, keys deleted, the pool filled. Two clients never hold
 * one number: what counts is that no id comes twice.
 */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#define REAL_SLEEP
#define FLAKE_ETCD
#include "support.h"
#include "flake.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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
    const char *text = "";
    size_t len = 0;
    const flake_i_json v =
        json("{\"a\":{\"a\":\"12\"},\"ab\":7,\"list\":[{\"x\":\"y\"},2],\"d\":1,\"d\":1,"
             "\"e\":\"\\n\",\"t\":true,\"none\":[]}");
    CHECK(flake_i_json_number(flake_i_json_member(flake_i_json_member(v, "a"), "a"), &number));
    CHECK_EQ(number, 12);
    CHECK(flake_i_json_number(flake_i_json_member(v, "ab"), &number));
    CHECK_EQ(number, 7);
    CHECK(flake_i_json_member(v, "b").at == NULL);
    CHECK(flake_i_json_member(v, "d").at == NULL); /* which of the two? */
    CHECK(flake_i_json_true(flake_i_json_member(v, "t")));
    CHECK(!flake_i_json_true(flake_i_json_member(v, "ab")));
    const flake_i_json first = flake_i_json_first(flake_i_json_member(v, "list"));
    CHECK(flake_i_json_string(flake_i_json_member(first, "x"), &text, &len));
    CHECK(len == 1 && *text == 'y');
    CHECK(flake_i_json_first(flake_i_json_member(v, "none")).at == NULL);
    CHECK(flake_i_json_first(v).at == NULL);
    CHECK(flake_i_json_member(first, "").at == NULL);
    CHECK(!flake_i_json_string(flake_i_json_member(v, "e"), &text, &len));
    CHECK(!flake_i_json_string(flake_i_json_member(v, "ab"), &text, &len));

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
    CHECK(flake_i_etcd_clusters("3", 1, clusters, &n) && n == 1 && clusters[0] == 3);
    CHECK(flake_i_etcd_clusters(" 15 , 0,7\n", 10, clusters, &n) && n == 3);
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
        CHECK(!flake_i_etcd_clusters(ill[i], strlen(ill[i]), clusters, &n));
    CHECK_EQ(flake_i_etcd_slot("0", 1, 256), 0);
    CHECK_EQ(flake_i_etcd_slot("255", 3, 256), 255);
    CHECK_EQ(flake_i_etcd_slot("2047", 4, 2048), 2047);
    CHECK(flake_i_etcd_slot("256", 3, 256) == SIZE_MAX);
    CHECK(flake_i_etcd_slot("2048", 4, 2048) == SIZE_MAX);
    CHECK(flake_i_etcd_slot("", 0, 256) == SIZE_MAX);
    CHECK(flake_i_etcd_slot("007", 3, 256) == SIZE_MAX);
    CHECK(flake_i_etcd_slot("1a", 2, 256) == SIZE_MAX);
    CHECK(flake_i_etcd_slot("99999", 5, 2048) == SIZE_MAX);
}

#define HEADER "\"header\":{\"member_id\":\"12428976124636271536\",\"raft_term\":\"5\"}"

static void answers_are_taken_at_their_word_only(void) {
    const char *const key = "cG9vbC8wOjA=";
#define OWNER(text) flake_i_etcd_owner_in(json(text), key, 41)
    CHECK_EQ(OWNER("{" HEADER "}"), FLAKE_I_ETCD_NOBODY);
    CHECK_EQ(OWNER("{" HEADER ",\"kvs\":[{\"key\":\"cG9vbC8wOjA=\",\"lease\":\"41\"}]}"),
             FLAKE_I_ETCD_OURS);
    CHECK_EQ(OWNER("{" HEADER ",\"kvs\":[{\"key\":\"cG9vbC8wOjA=\",\"lease\":\"42\"}]}"),
             FLAKE_I_ETCD_ANOTHER);
    CHECK_EQ(OWNER("{" HEADER ",\"kvs\":[{\"key\":\"cG9vbC8wOjA=\"}]}"), FLAKE_I_ETCD_ANOTHER);
    CHECK_EQ(OWNER("{" HEADER ",\"kvs\":[{\"key\":\"cG9vbC8wOjE=\",\"lease\":\"41\"}]}"),
             FLAKE_I_ETCD_UNKNOWN);
    CHECK_EQ(OWNER("{" HEADER ",\"kvs\":[]}"), FLAKE_I_ETCD_UNKNOWN);
    CHECK_EQ(OWNER("{" HEADER ",\"kvs\":{}}"), FLAKE_I_ETCD_UNKNOWN);
    CHECK_EQ(OWNER("{" HEADER ",\"kvs\":[{\"key\":\"cG9vbC8wOjA=\",\"lease\":\"x\"}]}"),
             FLAKE_I_ETCD_UNKNOWN);
    CHECK_EQ(OWNER("{}"), FLAKE_I_ETCD_UNKNOWN);
    CHECK_EQ(OWNER("nothing"), FLAKE_I_ETCD_UNKNOWN);
#define AFTER(text) flake_i_etcd_owner_after(json(text), key, 41)
    CHECK_EQ(AFTER("{" HEADER ",\"succeeded\":true,\"responses\":[]}"), FLAKE_I_ETCD_OURS);
    CHECK_EQ(AFTER("{\"succeeded\":true}"), FLAKE_I_ETCD_UNKNOWN);
    CHECK_EQ(AFTER("{" HEADER ",\"succeeded\":\"true\"}"), FLAKE_I_ETCD_UNKNOWN);
    CHECK_EQ(AFTER("{" HEADER "}"), FLAKE_I_ETCD_UNKNOWN);
    CHECK_EQ(AFTER("{" HEADER ",\"responses\":[{\"response_range\":{" HEADER "}}]}"),
             FLAKE_I_ETCD_UNKNOWN);
    CHECK_EQ(AFTER("{" HEADER ",\"responses\":[{\"response_range\":{" HEADER
                   ",\"kvs\":[{\"key\":\"cG9vbC8wOjA=\",\"lease\":\"41\"}]}}]}"),
             FLAKE_I_ETCD_OURS);
    CHECK_EQ(AFTER("{" HEADER ",\"responses\":[{\"response_range\":{" HEADER
                   ",\"kvs\":[{\"key\":\"cG9vbC8wOjA=\",\"lease\":\"9\"}]}}]}"),
             FLAKE_I_ETCD_ANOTHER);
    flake_i_etcd_stamp stamp;
#define RENEWED(text) flake_i_etcd_renewed_ms(json(text), 41, &stamp)
    CHECK_EQ(RENEWED("{\"result\":{" HEADER ",\"ID\":\"41\",\"TTL\":\"10\"}}"), 10000);
    CHECK(stamp.term == 5 && strcmp(stamp.member, "12428976124636271536") == 0);
    CHECK_EQ(RENEWED("{\"result\":{" HEADER ",\"ID\":\"41\"}}"), 0);
    CHECK_EQ(RENEWED("{\"result\":{" HEADER ",\"ID\":\"42\",\"TTL\":\"10\"}}"), 0);
    CHECK_EQ(RENEWED("{\"result\":{" HEADER ",\"ID\":\"41\",\"TTL\":\"-1\"}}"), 0);
    CHECK_EQ(RENEWED("{\"result\":{" HEADER ",\"ID\":\"41\",\"TTL\":\"99999999999\"}}"), 0);
    CHECK_EQ(RENEWED("{\"result\":{\"ID\":\"41\",\"TTL\":\"10\"}}"), 0);
    CHECK_EQ(RENEWED("{\"error\":{}}"), 0);
    bool taken[256] = {false};
#define TAKEN(text) flake_i_etcd_taken(json(text), "pool/0:", 256, taken)
    CHECK(TAKEN("{" HEADER "}"));
    CHECK(TAKEN("{" HEADER ",\"kvs\":[{\"key\":\"cG9vbC8wOjA=\"},{\"key\":\"cG9vbC8wOng=\"},"
                "{\"key\":\"eA==\"}]}")); /* pool/0:0, pool/0:x, x */
    CHECK(taken[0]);
    for (size_t i = 1; i < 256; i++) CHECK(!taken[i]);
    CHECK(!TAKEN("{\"kvs\":[]}"));
    CHECK(!TAKEN("{" HEADER ",\"kvs\":7}"));
    CHECK(!TAKEN("{" HEADER ",\"kvs\":[7]}"));
    CHECK(!TAKEN("garbage"));
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
    REFUSES(margin_ms, -1);
    REFUSES(margin_ms, 99);
    REFUSES(margin_ms, 5000);
    REFUSES(wait_ms, -1);
    REFUSES(hold_ms, -1);
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

static void the_gate_lets_nothing_past_the_claim(void) {
    static flake_etcd c;
    flake_options o;
    flake_gen gen;
    uint64_t id;
    const int64_t s = 1000000000, unix_ns = flake_i_system_ns(FLAKE_CLOCK_EXACT);
    memset(&o, 0, sizeof o);
    c.word = (flake_i_atomic64 *)flake_i_new_page(false);
    c.pid = (uint64_t)flake_i_pid();
    c.since_unix_ns = unix_ns;
    c.deadline_ns = (uint64_t)(flake_i_elapsed_ns() + 100 * s);
    c.deadline_unix_ns = (uint64_t)(unix_ns + 100 * s);
    *c.word = 7;
    c.state = 7 << 2 | FLAKE_I_ETCD_HELD;
    CHECK_EQ(flake_i_etcd_admit(&c, unix_ns), FLAKE_OK);
    CHECK_EQ(c.ran_ahead, 0);
    CHECK_EQ(flake_i_etcd_admit(&c, unix_ns - 1), FLAKE_CLOCK_BACK);
    CHECK_EQ(flake_i_etcd_admit(&c, unix_ns + 100 * s + 1), FLAKE_LEASE);
    CHECK_EQ(flake_i_etcd_admit(&c, INT64_MAX), FLAKE_LEASE);
    CHECK_EQ(flake_i_etcd_admit(&c, unix_ns + 100 * s), FLAKE_OK); /* was not lost */
    CHECK_EQ(c.ran_ahead, 1);
    c.pid++;
    CHECK_EQ(flake_i_etcd_admit(&c, unix_ns), FLAKE_FORKED);
    c.pid--;

    int64_t still_ns = unix_ns + 5 * s;
    o.gate = flake_etcd_gate(&c);
    o.clock.now_ns = still_clock;
    o.clock.user = &still_ns;
    CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    c.deadline_ns = (uint64_t)(flake_i_elapsed_ns() - 1);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK); /* of the same unit: that is the claim's own */
    CHECK_EQ(flake_i_etcd_admit(&c, unix_ns), FLAKE_LEASE);
    CHECK_EQ(*c.word, 0);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_LEASE); /* in the same unit, too, once it is known */
    CHECK_EQ(flake_try(&gen, &id), FLAKE_LEASE);
    c.deadline_ns = (uint64_t)(flake_i_elapsed_ns() + 100 * s);
    CHECK_EQ(flake_i_etcd_admit(&c, unix_ns), FLAKE_LEASE); /* lost stays lost */
    CHECK_EQ(c.state, 7 << 2 | FLAKE_I_ETCD_RAN_OUT);
    flake_etcd_destroy(&c);
}

/* ---- what the tests do to etcd ---- */

static flake_i_etcd_session *admin(const char *endpoints) {
    flake_etcd_options o;
    flake_status status;
    flake_why why;
    char ca[sizeof etcd_dir + 16];
    memset(&o, 0, sizeof o);
    o.endpoints = endpoints;
    o.timeout_ms = 2000;
    (void)snprintf(ca, sizeof ca, "%s/ca.pem", etcd_dir);
    o.ca_file = ca;
    flake_i_etcd_session *const s = flake_i_etcd_begin(&o, &status, &why);
    if (!s) abort();
    return s;
}

/* Asks until etcd answers, for a while. */
static flake_i_json ask(flake_i_etcd_session *s, const char *path, const char *body) {
    flake_i_json answer = {NULL, NULL};
    flake_why why;
    const int64_t end_ms = now_ms() + 8000;
    flake_i_etcd_result result;
    do result = flake_i_etcd_call(s, path, body, &answer, &why);
    while (result == FLAKE_I_ETCD_UNSURE && now_ms() < end_ms);
    if (result != FLAKE_I_ETCD_DONE) {
        check_fail(__FILE__, __LINE__, why.text);
        answer.at = NULL;
    }
    return answer;
}

static const char *key_body(const char *key, const char *rest) {
    static char body[2000];
    char key64[600];
    flake_i_to_base64(key, strlen(key), key64);
    (void)snprintf(body, sizeof body, "{\"key\":\"%s\"%s}", key64, rest);
    return body;
}

static void put_key(flake_i_etcd_session *s, const char *key, const char *value) {
    char value64[128], rest[200];
    flake_i_to_base64(value, strlen(value), value64);
    (void)snprintf(rest, sizeof rest, ",\"value\":\"%s\"", value64);
    (void)ask(s, "kv/put", key_body(key, rest));
}

static void delete_key(flake_i_etcd_session *s, const char *key) {
    (void)ask(s, "kv/deleterange", key_body(key, ""));
}

/* All keys that begin so. */
static void delete_keys(flake_i_etcd_session *s, const char *prefix) {
    char end[300], end64[500], rest[600];
    const size_t len = strlen(prefix);
    memcpy(end, prefix, len + 1);
    end[len - 1]++;
    flake_i_to_base64(end, len, end64);
    (void)snprintf(rest, sizeof rest, ",\"range_end\":\"%s\"", end64);
    (void)ask(s, "kv/deleterange", key_body(prefix, rest));
}

/* Takes numbers of a pool as another client does, from 0 on, all but those from `from` to `to`. */
static void fill(flake_i_etcd_session *s, const char *name_space, unsigned cluster, unsigned size,
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
        flake_i_etcd_session *const s = admin(url);
        flake_i_json answer;
        s->options.timeout_ms = 500;
        bool answered = false;
        while (!answered && now_ms() < end_ms) {
            answered = flake_i_etcd_call(s, "kv/range", "{\"key\":\"eA==\"}", &answer, NULL) !=
                       FLAKE_I_ETCD_UNSURE;
            if (!answered) nap_ms(50);
        }
        all = all && answered;
        flake_i_etcd_end_session(s);
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

/* ---- a gateway that answers what it is told to ---- */

typedef struct pretender {
    int listener;
    char url[64];
    const char *const *answers; /* "200 {...}", in the order of the requests */
    size_t n;
    _Atomic(size_t) asked;
    pthread_t thread;
} pretender;

static void *pretend(void *user) {
    pretender *f = (pretender *)user;
    while (atomic_load(&f->asked) < f->n) {
        char request[8192], head[128];
        size_t len = 0;
        const int fd = accept(f->listener, NULL, NULL);
        if (fd < 0) break;
        for (const char *body = NULL; len + 1 < sizeof request;) {
            const ssize_t got = read(fd, request + len, sizeof request - 1 - len);
            if (got <= 0) break;
            len += (size_t)got;
            request[len] = 0;
            const char *const size = strstr(request, "Content-Length: ");
            body = strstr(request, "\r\n\r\n");
            if (body && size && strlen(body + 4) >= (size_t)atoi(size + 16)) break;
        }
        const char *const answer = f->answers[atomic_load(&f->asked)];
        (void)snprintf(head, sizeof head,
                       "HTTP/1.1 %.3s x\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
                       answer, strlen(answer + 4));
        atomic_fetch_add(&f->asked, 1u);
        if (strstr(answer, "TTL")) flake_i_system_sleep(300000000);
        (void)send(fd, head, strlen(head), MSG_NOSIGNAL);
        (void)send(fd, answer + 4, strlen(answer + 4), MSG_NOSIGNAL);
        (void)close(fd);
    }
    return NULL;
}

static void pretender_begin(pretender *f, const char *const *answers, size_t n) {
    int port;
    memset(f, 0, sizeof *f);
    f->listener = listen_anywhere(&port);
    f->answers = answers;
    f->n = n;
    (void)snprintf(f->url, sizeof f->url, "http://127.0.0.1:%d", port);
    if (pthread_create(&f->thread, NULL, pretend, f) != 0) abort();
}

static void pretender_end(pretender *f) {
    (void)shutdown(f->listener, SHUT_RDWR);
    (void)close(f->listener);
    (void)pthread_join(f->thread, NULL);
}

#define STAMPED(member, term) "\"header\":{\"member_id\":\"" member "\",\"raft_term\":\"" term "\"}"
#define OURS(member, term) \
    "200 {" STAMPED(member, term) ",\"kvs\":[{\"key\":\"cG9vbC8wOjA=\",\"lease\":\"41\"}]}"
#define KEPT(member, term) \
    "200 {\"result\":{" STAMPED(member, term) ",\"ID\":\"41\",\"TTL\":\"10\"}}\n"

static flake_i_etcd_result renew_with(const char *const *answers, size_t n, bool *trusted) {
    static flake_etcd claim;
    pretender f;
    pretender_begin(&f, answers, n);
    flake_i_etcd_session *const s = admin(f.url);
    s->options.margin_ms = 1000;
    s->lease = 41;
    memcpy(s->key64, "cG9vbC8wOjA=", 13);
    claim.deadline_ns = 0;
    const flake_i_etcd_result result = flake_i_etcd_renew_here(&claim, s, NULL);
    *trusted = claim.deadline_ns != 0;
    if (*trusted) { /* TTL and margin from when it was sent */
        const int64_t left_ms = ((int64_t)claim.deadline_ns - flake_i_elapsed_ns()) / 1000000;
        CHECK(left_ms < 8750 && left_ms > 6000);
    }
    flake_i_etcd_end_session(s);
    pretender_end(&f);
    return result;
}

static void a_renewal_counts_only_in_one_term_of_one_member(void) {
#define RENEW(result, trust, ...)                                        \
    do {                                                                 \
        static const char *const a[] = {__VA_ARGS__};                    \
        bool trusted;                                                    \
        CHECK_EQ(renew_with(a, sizeof a / sizeof *a, &trusted), result); \
        CHECK_EQ(trusted, trust);                                        \
    } while (0)
    RENEW(FLAKE_I_ETCD_DONE, true, OURS("1", "5"), KEPT("1", "5"), OURS("1", "5"));
    /* an election between; then all in the new term */
    RENEW(FLAKE_I_ETCD_DONE, true, OURS("1", "5"), KEPT("1", "5"), OURS("1", "6"), OURS("1", "6"),
          KEPT("1", "6"), OURS("1", "6"));
    RENEW(FLAKE_I_ETCD_UNSURE, false, OURS("1", "5"), KEPT("1", "5"), OURS("1", "6"),
          OURS("1", "6"), KEPT("1", "5"), OURS("1", "6"), OURS("1", "6"), KEPT("1", "7"),
          OURS("1", "7"));
    /* an address behind which more than one member answers */
    RENEW(FLAKE_I_ETCD_UNSURE, false, OURS("1", "5"), KEPT("2", "5"), OURS("1", "5"),
          OURS("1", "5"), KEPT("1", "5"), OURS("2", "5"), OURS("2", "5"), KEPT("1", "5"),
          OURS("1", "5"));
    /* renewed, says one, and the key is gone */
    RENEW(FLAKE_I_ETCD_REFUSED, false, OURS("1", "5"), KEPT("1", "5"),
          "200 {" STAMPED("1", "5") "}");
    RENEW(FLAKE_I_ETCD_REFUSED, false, "200 {" STAMPED("1", "5") "}");
    /* not etcd, not JSON, not whole, too busy */
    RENEW(FLAKE_I_ETCD_UNSURE, false, "200 <html>");
    RENEW(FLAKE_I_ETCD_UNSURE, false, "200 {" STAMPED("1", "5"));
    RENEW(FLAKE_I_ETCD_UNSURE, false, "500 {}");
    RENEW(FLAKE_I_ETCD_UNSURE, false, "200 {\"error\":\"etcdserver: no leader\",\"code\":14}");
    RENEW(FLAKE_I_ETCD_UNSURE, false, OURS("1", "5"), KEPT("1", "5"), "200 ");
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

static void a_claim_is_a_key_as_lables(void) {
    flake_i_etcd_session *const s = admin(member_url[0]);
    char key[64], body[200];
    const char *text = "";
    size_t len = 0;
    int64_t lease = 0, ttl = 0;
    flake_parts parts = {0, 0, 0, 0};
    uint64_t id;
    const flake_etcd_options o = from(all_members, "as-lable/");
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_cluster(&claim), 0);
    CHECK(flake_etcd_generator(&claim) < 256);
    CHECK(flake_etcd_left_ms(&claim) > 1500 && flake_etcd_left_ms(&claim) <= 2400);
    CHECK_EQ(flake_etcd_claim(&claim, &o, NULL), FLAKE_INVALID);

    (void)snprintf(key, sizeof key, "as-lable/pool/0:%u", flake_etcd_generator(&claim));
    const flake_i_json kv =
        flake_i_json_first(flake_i_json_member(ask(s, "kv/range", key_body(key, "")), "kvs"));
    CHECK(kv.at != NULL);
    CHECK(flake_i_json_member(kv, "value").at == NULL); /* empty */
    CHECK(flake_i_json_string(flake_i_json_member(kv, "key"), &text, &len));
    CHECK(flake_i_json_number(flake_i_json_member(kv, "lease"), &lease));
    (void)snprintf(body, sizeof body, "{\"ID\":\"%lld\"}", (long long)lease);
    CHECK(flake_i_json_number(flake_i_json_member(ask(s, "lease/timetolive", body), "grantedTTL"),
                              &ttl));
    CHECK_EQ(ttl, 3);

    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
    const flake_layout layout = flake_layout_uniqueid_ordered();
    CHECK_EQ(flake_decompose(&layout, id, &parts), FLAKE_OK);
    CHECK_EQ(parts.node, flake_uniqueid_node(0, flake_etcd_generator(&claim)));
    CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_OK);
    CHECK(ms_until_lost(&ids, 3400) == -1); /* kept alive, longer than a lease */
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    flake_i_etcd_end_session(s);
}

static void the_cluster_stands_in_its_key_or_is_given(void) {
    flake_i_etcd_session *const s = admin(all_members);
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
    flake_i_etcd_end_session(s);
}

static void a_full_pool_is_waited_for_with_a_deadline(void) {
    static const unsigned sizes[] = {256, 2048};
    flake_i_etcd_session *const s = admin(all_members);
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
            flake_i_etcd_session *const own = admin(all_members);
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
    flake_i_etcd_end_session(s);
}

static void a_released_number_is_held_back(void) {
    flake_i_etcd_session *const s = admin(all_members);
    flake_etcd_options o = from(all_members, "hold/");
    flake_gen late;
    uint64_t id;
    flake_why why;
    fill(s, "hold/", 0, 256, 9, 9);
    o.hold_ms = 2000;
    o.ttl_ms = 20000; /* it is not the lease's end that frees it */
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
    const int64_t begin_ms = now_ms();
    CHECK_EQ(flake_etcd_release(&claim, &why), FLAKE_OK);
    CHECK(now_ms() - begin_ms < 1500); /* does not sleep through the hold */
    CHECK_EQ(flake_next(&ids, &id), FLAKE_LEASE);
    CHECK_EQ(flake_try(&ids, &id), FLAKE_LEASE);
    CHECK_EQ(flake_etcd_check(&claim, &why), FLAKE_LEASE);
    CHECK(init(&late, &claim) == FLAKE_LEASE || flake_next(&late, &id) == FLAKE_LEASE);
    o.wait_ms = 8000;
    CHECK_EQ(claims(&second, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_generator(&second), 9);
    CHECK(now_ms() - begin_ms >= 2000 && now_ms() - begin_ms < 6000);
    /* The object claims again, and its old generator stays shut. */
    CHECK_EQ(init(&late, &second), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&second, NULL), FLAKE_OK);
    o.name_space = "hold2/";
    CHECK_EQ(claims(&second, &o), FLAKE_OK);
    CHECK_EQ(flake_next(&late, &id), FLAKE_LEASE);
    CHECK_EQ(init(&late, &second), FLAKE_OK);
    CHECK_EQ(flake_next(&late, &id), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&second, NULL), FLAKE_OK);
    delete_keys(s, "hold");
    flake_i_etcd_end_session(s);
}

/* Draws as far ahead as the generator may; the newest id. */
static uint64_t draw_until_refused(flake_gen *gen) {
    const int64_t end_ms = now_ms() + 5000;
    uint64_t id, newest = 0;
    flake_status status;
    while ((status = flake_next(gen, &id)) == FLAKE_OK && now_ms() < end_ms) newest = id;
    CHECK_EQ(status, FLAKE_LEASE);
    return newest;
}

static void ids_ahead_of_the_clock_stay_inside_the_claim(void) {
    flake_i_etcd_session *const s = admin(all_members);
    flake_etcd_options o = from(all_members, "ahead/");
    flake_options g;
    flake_parts parts = {0, 0, 0, 0};
    uint64_t id;
    fill(s, "ahead/", 0, 256, 9, 9);
    o.ttl_ms = 4000;
    o.hold_ms = 1000;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    memset(&g, 0, sizeof g);
    g.layout = flake_layout_uniqueid_ordered();
    g.node = flake_etcd_node(&claim);
    g.gate = flake_etcd_gate(&claim);
    g.max_ahead_ms = 15000;
    CHECK_EQ(flake_init(&ids, &g), FLAKE_OK);
    CHECK_EQ(flake_decompose(&g.layout, draw_until_refused(&ids), &parts), FLAKE_OK);
    CHECK(parts.unix_ms > unix_ms() + 1000 && parts.unix_ms < unix_ms() + 3200);
    CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_OK); /* refused for now, not lost */
    nap_ms(1600);                                       /* renewed */
    CHECK_EQ(flake_decompose(&g.layout, draw_until_refused(&ids), &parts), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    /* Whoever is next has later times only. */
    o.wait_ms = 9000;
    CHECK_EQ(claims(&second, &o), FLAKE_OK);
    CHECK(parts.unix_ms < unix_ms());
    CHECK_EQ(init(&ids, &second), FLAKE_OK);
    CHECK_EQ(flake_try_at(&ids, unix_ms() - 60000, &id), FLAKE_CLOCK_BACK); /* not our minute */
    CHECK_EQ(flake_try_at(&ids, unix_ms(), &id), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&second, NULL), FLAKE_OK);
    delete_keys(s, "ahead/");
    flake_i_etcd_end_session(s);
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
    flake_i_etcd_session *const s = admin(all_members);
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
    flake_i_etcd_end_session(s);
}

static void claim_with_long_lease(const char *name_space) {
    flake_etcd_options o = from(all_members, name_space);
    o.ttl_ms = 30000; /* neither its end nor a re-check is near */
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    /* until the watch stands */
    CHECK(ms_until_lost(&ids, 300) == -1);
}

static void a_deleted_key_is_noticed_at_once(void) {
    flake_i_etcd_session *const s = admin(all_members);
    char key[64];
    flake_why why;
    claim_with_long_lease("deleted/");
    (void)snprintf(key, sizeof key, "deleted/pool/0:%u", flake_etcd_generator(&claim));
    delete_key(s, key);
    const int64_t took_ms = ms_until_lost(&ids, 5000);
    CHECK(took_ms >= 0 && took_ms < 1000);
    CHECK_EQ(flake_etcd_check(&claim, &why), FLAKE_LEASE);
    CHECK(strstr(why.text, "deleted") != NULL);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    flake_i_etcd_end_session(s);
}

static void a_key_put_by_another_is_noticed_at_once(void) {
    flake_i_etcd_session *const s = admin(all_members);
    char key[64];
    claim_with_long_lease("overwritten/");
    (void)snprintf(key, sizeof key, "overwritten/pool/0:%u", flake_etcd_generator(&claim));
    put_key(s, key, "");
    const int64_t took_ms = ms_until_lost(&ids, 5000);
    CHECK(took_ms >= 0 && took_ms < 1000);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    delete_keys(s, "overwritten/");
    flake_i_etcd_end_session(s);
}

static void a_revoked_lease_is_noticed_at_once(void) {
    flake_i_etcd_session *const s = admin(all_members);
    char body[64];
    claim_with_long_lease("revoked/");
    (void)snprintf(body, sizeof body, "{\"ID\":\"%lld\"}", (long long)claim.session->lease);
    (void)ask(s, "lease/revoke", body);
    const int64_t took_ms = ms_until_lost(&ids, 5000);
    CHECK(took_ms >= 0 && took_ms < 1000);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    flake_i_etcd_end_session(s);
}

static void a_deleted_key_is_noticed_without_the_watch(void) {
    flake_i_etcd_session *const s = admin(member_url[1]);
    char key[64];
    char urls[160];
    (void)snprintf(urls, sizeof urls, "%s,%s", member_url[0], member_url[1]);
    flake_etcd_options o = from(urls, "unwatched/");
    o.ttl_ms = 9000;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    nap_ms(300);
    member_signal(0, SIGSTOP); /* who watches for us */
    (void)snprintf(key, sizeof key, "unwatched/pool/0:%u", flake_etcd_generator(&claim));
    delete_key(s, key);
    const int64_t took_ms = ms_until_lost(&ids, 9000);
    CHECK(took_ms >= 0 && took_ms < 6500); /* a third of the TTL, and a timeout */
    CHECK_EQ(FLAKE_ATOMIC_LOAD(&claim.state, relaxed) & 3, FLAKE_I_ETCD_TAKEN);
    member_signal(0, SIGCONT);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    CHECK(ready(all_members, 8000));
    flake_i_etcd_end_session(s);
}

static void whoever_is_cut_off_stops_before_another_begins(void) {
    static const int how[] = {STALL, CUT};
    flake_i_etcd_session *const s = admin(all_members);
    for (unsigned i = 0; i < 2; i++) {
        way w;
        uint64_t id, newest = 0, first;
        flake_gen next;
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
        while (flake_next(&ids, &id) == FLAKE_OK && now_ms() < begin_ms + 9000) newest = id;
        const int64_t lost_ms = now_ms() - begin_ms;
        CHECK(lost_ms > 200 && lost_ms < 2000);
        CHECK_EQ(flake_etcd_claim(&second, &direct, NULL), FLAKE_OK);
        CHECK(now_ms() - begin_ms > lost_ms + 200); /* the margin is 400 ms */
        CHECK_EQ(init(&next, &second), FLAKE_OK);
        CHECK_EQ(flake_next(&next, &first), FLAKE_OK);
        CHECK(newest < first);
        atomic_store(&w.mode, PASS);
        nap_ms(300);
        CHECK_EQ(flake_next(&ids, &id), FLAKE_LEASE); /* does not come back */
        CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
        CHECK_EQ(flake_next(&next, &id), FLAKE_OK); /* and took nothing with it */
        CHECK_EQ(flake_etcd_release(&second, NULL), FLAKE_OK);
        way_end(&w);
    }
    delete_keys(s, "cut/");
    flake_i_etcd_end_session(s);
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
    flake_i_etcd_session *const s = admin(all_members);
    char urls[160];
    way w;
    way_begin(&w, 0);
    atomic_store(&w.mode, SWALLOW_CLAIM);
    (void)snprintf(urls, sizeof urls, "%s,%s", w.url, member_url[1]);
    flake_etcd_options o = from(urls, "swallowed/");
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    const char *const body =
        key_body("swallowed/pool/0:", /* to swallowed/pool/0; */
                 ",\"range_end\":\"c3dhbGxvd2VkL3Bvb2wvMDs=\",\"count_only\":true");
    int64_t count = 0;
    CHECK(flake_i_json_number(flake_i_json_member(ask(s, "kv/range", body), "count"), &count));
    CHECK_EQ(count, 1);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    way_end(&w);
    flake_i_etcd_end_session(s);
}

static void *claim_slowly(void *user) {
    flake_etcd_options o = from((const char *)user, "late/");
    o.timeout_ms = 4000;
    return flake_etcd_claim(&second, &o, NULL) == FLAKE_AGAIN ? user : NULL;
}

static void who_comes_late_takes_nothing_away(void) {
    flake_i_etcd_session *const s = admin(all_members);
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
    flake_i_etcd_end_session(s);
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

static void without_etcd_a_claim_ends_before_its_lease(void) {
    flake_etcd_options o = from(all_members, "gone/");
    flake_why why;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    for (int member = 0; member < 3; member++) member_signal(member, SIGKILL);
    const int64_t took_ms = ms_until_lost(&ids, 5000);
    CHECK(took_ms >= 0 && took_ms <= 2500); /* 3,000 less 600 */
    nap_ms(50); /* the generator asks for the whole of its ms, so it is the first to be refused */
    CHECK_EQ(flake_etcd_check(&claim, &why), FLAKE_LEASE);
    CHECK(strstr(why.text, "not reached") != NULL);
    for (int member = 0; member < 3; member++) member_start(member);
    CHECK(ready(all_members, 10000));
    CHECK_EQ(flake_next(&ids, &(uint64_t){0}), FLAKE_LEASE);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    CHECK_EQ(flake_next(&ids, &(uint64_t){0}), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
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

/* ---- https, and etcd's authentication ---- */

static void https_and_users(void) {
    flake_i_etcd_session *const s = admin(member_url[3]);
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
    flake_i_etcd_end_session(s);
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
    o.hold_ms = 1000;
    o.wait_ms = 2000;
    o.timeout_ms = 300;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* frozen or not */
    while (getppid() == parent) {
        if (flake_etcd_claim(&mine, &o, NULL) != FLAKE_OK) continue;
        atomic_fetch_add(&me->claims, 1u);
        atomic_store(&me->draws, true);
        const int64_t end_ms = now_ms() + 200 + (int64_t)random_below(&random, 2500);
        flake_status status = init(&gen, &mine);
        while (status == FLAKE_OK && getppid() == parent && now_ms() < end_ms) {
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
        if (status != FLAKE_OK) atomic_fetch_add(&me->losses, 1u);
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
    flake_i_etcd_session *const s = admin(all_members);
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
    flake_i_etcd_end_session(s);
}

int main(int argc, char **argv) {
    static const check_test all[] = {CHECK_TEST(json_is_read_strictly),
                                     CHECK_TEST(members_are_found),
                                     CHECK_TEST(base64_is_read_strictly),
                                     CHECK_TEST(clusters_and_numbers_are_read_strictly),
                                     CHECK_TEST(answers_are_taken_at_their_word_only),
                                     CHECK_TEST(options_that_do_not_fit_are_named),
                                     CHECK_TEST(the_gate_lets_nothing_past_the_claim),
                                     CHECK_TEST(a_renewal_counts_only_in_one_term_of_one_member),
                                     CHECK_TEST(nobody_answers),
                                     CHECK_TEST(a_claim_is_a_key_as_lables),
                                     CHECK_TEST(the_cluster_stands_in_its_key_or_is_given),
                                     CHECK_TEST(a_full_pool_is_waited_for_with_a_deadline),
                                     CHECK_TEST(a_released_number_is_held_back),
                                     CHECK_TEST(ids_ahead_of_the_clock_stay_inside_the_claim),
                                     CHECK_TEST(who_comes_late_takes_nothing_away),
                                     CHECK_TEST(of_many_who_claim_at_once_one_gets_it),
                                     CHECK_TEST(a_deleted_key_is_noticed_at_once),
                                     CHECK_TEST(a_key_put_by_another_is_noticed_at_once),
                                     CHECK_TEST(a_revoked_lease_is_noticed_at_once),
                                     CHECK_TEST(a_deleted_key_is_noticed_without_the_watch),
                                     CHECK_TEST(whoever_is_cut_off_stops_before_another_begins),
                                     CHECK_TEST(a_short_cut_is_survived),
                                     CHECK_TEST(a_claim_whose_answer_is_lost_is_one_claim),
                                     CHECK_TEST(a_child_has_no_claim),
                                     CHECK_TEST(one_member_after_the_other_fails),
                                     CHECK_TEST(without_etcd_a_claim_ends_before_its_lease),
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
    const int failed = CHECK_MAIN(argc, argv, all);
    flake_etcd_destroy(&claim);
    flake_etcd_destroy(&second);
    return failed;
}
