/* SPDX-License-Identifier: MIT
 *
 * Tests that need no member: JSON, keys and lists of clusters, the choice of a number, the gate of a claim, and an
 * address that does not answer. (Random answers: test_random_claims.c.)
 */
#include "cluster.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* ---- pure functions ---- */

static flake_i_json json(const char *text) { return flake_i_json_text(text, strlen(text)); }

TEST(json_is_read_strictly) {
    static const char *const well[] = {
        "{}", "[]", " { \"a\" : [ 1 , -2.5e+3 , true , false , null ] } \n", "\"\\u00e9\\n\\\"\"", "0", "-0.1",
        "[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]"};
    static const char *const ill[] = {
        "{\"a\":1,\"b\" 2}", "{\"a\":1,2:3}", "", " ", "{", "}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "{a:1}",
        "{1:1}", "{\"a\":1 \"b\":2}", "[1,]", "[,1]", "[1 2]", "[1", "[1}", "\"", "\"\\\"", "\"\\x\"", "\"\\u12g4\"",
        "\"\\u12", "\"a\nb\"",
        "01", "-", "1.", ".5", "1e", "1e+", "+1", "tru", "nulll", "{} {}", "{}x", "[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]"};
    for (size_t i = 0; i < sizeof well / sizeof *well; i++) CHECK(json(well[i]).at != NULL);
    for (size_t i = 0; i < sizeof ill / sizeof *ill; i++) {
        CHECK(json(ill[i]).at == NULL);
        if (json(ill[i]).at) printf("  taken for JSON: %s\n", ill[i]);
    }
}

TEST(members_of_json_are_found) {
    static const struct {
        const char *path, *text; /* NULL: there is none */
    } members[] = {{"a/a", "\"12\""}, {"ab", "7"},  {"b", NULL},     {"d", NULL}, /* ambiguous */
                   {"t", "true"},     {"0", NULL},  {"a/a/a", NULL}, {"none/0", NULL},
                   {"list/0/x", "\"y\""}, {"list/1", "2"}, {"list/2", NULL}, {"list/x", NULL},
                   {"ten/9", "9"}, {"ten/:", NULL}}; /* one digit; ':' comes after '9' */
    const flake_i_json v =
        json("{\"a\":{\"a\":\"12\"},\"ab\":7,\"list\":[{\"x\":\"y\"},2],\"d\":1,\"d\":1,\"e\":\"\\n\","
             "\"t\":true,\"none\":[],\"ten\":[0,1,2,3,4,5,6,7,8,9,10]}");
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const flake_i_json member = flake_i_json_get(v, members[i].path);
        const char *const text = members[i].text;
        CHECK(text ? flake_i_json_is(member, text, strlen(text)) : !member.at);
    }
    CHECK(!flake_i_json_is(flake_i_json_get(v, "ab"), "true", 4));
    CHECK(flake_i_json_is(flake_i_json_string(flake_i_json_get(v, "list/0/x")), "y", 1));
    CHECK(flake_i_json_string(flake_i_json_get(v, "e")).at == NULL);
    CHECK(flake_i_json_string(flake_i_json_get(v, "ab")).at == NULL);
}

#define HEADER "\"header\":{\"member_id\":\"12428976124636271536\",\"raft_term\":\"5\"}"

/* Of keys after "pool/0:", in a pool; others write any key. */
TEST(clusters_are_read_strictly) {
    unsigned clusters[16];
    size_t n;
    CHECK(flake_i_etcd_clusters_in("3", 1, clusters, &n) && n == 1 && clusters[0] == 3);
    CHECK(flake_i_etcd_clusters_in(" 15 , 0,7\n", 10, clusters, &n) && n == 3);
    CHECK(clusters[0] == 15 && clusters[1] == 0 && clusters[2] == 7);
    static const char *const ill[] = {
        "", " ", "16", "-1", "x", "1,", ",1", "1 2", "1;2", "1.0", "1,,2", "99999999999999999999",
        "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0"};
    for (size_t i = 0; i < sizeof ill / sizeof *ill; i++)
        CHECK(!flake_i_etcd_clusters_in(ill[i], strlen(ill[i]), clusters, &n));
}

TEST(numbers_of_keys_are_read_strictly) {
    static const struct {
        const char *text;
        uint64_t first;
        size_t size, slot; /* SIZE_MAX: not of this pool */
    } keys[] = {{"0", 0, 256, 0},
                {"255", 0, 256, 255},
                {"2047", 0, 2048, 2047},
                {"256", 0, 256, SIZE_MAX},
                {"2048", 0, 2048, SIZE_MAX},
                {"", 0, 256, SIZE_MAX},
                {"007", 0, 256, SIZE_MAX},
                {"1a", 0, 256, SIZE_MAX},
                {"-1", 0, 256, SIZE_MAX},
                {"99", 100, 2, SIZE_MAX},
                {"100", 100, 2, 0},
                {"101", 100, 2, 1},
                {"102", 100, 2, SIZE_MAX},
                {"281474976710655", 281474976708608, 2048, 2047},
                {"281474976710656", 281474976708608, 2048, SIZE_MAX},
                {"9223372036854775807", 1, 2048, SIZE_MAX},
                {"18446744073709551615", 1, 2048, SIZE_MAX}};
    static flake_i_etcd_numbers n;
    char others[200]; /* of another cluster */
    (void)snprintf(others, sizeof others, "{" HEADER ",\"kvs\":[{\"key\":\"%s\"}]}", base64_of("pool/1:7"));
    CHECK(flake_i_etcd_note_numbers(json(others), "pool/0:", 256, false, &n) && !n.taken[7]);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char key[64], text[300];
        memset(&n, 0, sizeof n);
        n.first = keys[i].first;
        (void)snprintf(key, sizeof key, "pool/0:%s", keys[i].text);
        (void)snprintf(text, sizeof text, "{" HEADER ",\"kvs\":[{\"key\":\"%s\"}]}", base64_of(key));
        CHECK(flake_i_etcd_note_numbers(json(text), "pool/0:", keys[i].size, false, &n));
        for (size_t slot = 0; slot < FLAKE_I_ETCD_NUMBERS; slot++)
            CHECK_EQ(n.taken[slot], slot == keys[i].slot);
    }
}

TEST(values_are_read_strictly) {
    char text[300], value[FLAKE_I_ETCD_VALUE], longest[FLAKE_I_ETCD_VALUE + 1];
    memset(longest, 'x', sizeof longest);
    for (int more = 0; more < 2; more++) {
        longest[FLAKE_I_ETCD_VALUE - 1 + more] = 0;
        longest[FLAKE_I_ETCD_VALUE - 1] = more ? 'x' : 0;
        (void)snprintf(text, sizeof text, "{" HEADER ",\"kvs\":[{\"key\":\"eA==\",\"value\":\"%s\"}]}", longest);
        CHECK_EQ(flake_i_etcd_value_of(json(text), "eA==", value), !more);
        if (!more) CHECK_STR(value, longest);
        CHECK(flake_i_etcd_value_of(json(text), "eQ==", value) && !*value); /* another key's */
    }
    static const char *const ill[] = {"{\"kvs\":[]}", "{" HEADER ",\"kvs\":[{\"key\":\"eA==\"}]}",
                                      "{" HEADER ",\"kvs\":[7]}",
                                      /* bodies are written with values */
                                      "{" HEADER ",\"kvs\":[{\"key\":\"eA==\",\"value\":\"a'b\"}]}"};
    for (size_t i = 0; i < sizeof ill / sizeof *ill; i++)
        CHECK(!flake_i_etcd_value_of(json(ill[i]), "eA==", value));
}

/* The first free number whose horizon has passed; else the free one whose horizon passes first. */
TEST(the_number_whose_horizon_passes_first_is_chosen) {
    const int64_t now_ns = INT64_C(1700000000000000000), minute_ns = INT64_C(60000000000);
    const int64_t horizons_ns[] = {INT64_MIN,  now_ns - 1,         now_ns,
                                   now_ns + 1, now_ns + minute_ns, now_ns + minute_ns + 1,
                                   INT64_MAX};
    enum { size = 4, kinds = 8 }; /* the eighth is taken */
    static flake_i_etcd_numbers n;
    for (unsigned all = 0; all < kinds * kinds * kinds * kinds; all++) {
        for (size_t i = 0, left = all; i < size; i++, left /= kinds) {
            n.taken[i] = left % kinds == 7;
            n.horizon_ns[i] = n.taken[i] ? now_ns - 2 : horizons_ns[left % kinds];
        }
        for (size_t first = 0; first < size; first++) {
            size_t best = SIZE_MAX;
            bool has_passed = false, is_far = false, is_blocked = false;
            for (size_t at = first; at < first + size && !has_passed; at++) {
                const int64_t horizon_ns = n.horizon_ns[at % size];
                if (n.taken[at % size]) continue;
                has_passed = horizon_ns <= now_ns;
                if (horizon_ns > now_ns + minute_ns) is_far = true;
                else if (has_passed || best == SIZE_MAX || horizon_ns < n.horizon_ns[best])
                    best = at % size;
            }
            CHECK_EQ(flake_i_etcd_choose_number(&n, size, first, now_ns, &is_blocked), best);
            CHECK_EQ(is_blocked, is_far);
        }
    }
}

TEST(options_have_defaults) {
    flake_i_etcd *const s = (flake_i_etcd *)calloc(1, sizeof *s);
    char endpoints[16 * 257 + 1] = "", longest[256] = "https://";
    flake_etcd_options o = {0};
    CHECK_EQ(flake_i_etcd_open_session(s, NULL), FLAKE_INVALID);
    CHECK_STR(s->why.text, "flake_etcd_options.last: is 0: first and last are the numbers of the pool; or uniqueid = true");
    o.uniqueid = true;
    CHECK(flake_i_etcd_resolve(&o) == NULL);
    CHECK(o.first == 0 && o.last == 255);
    memset(&o, 0, sizeof o);
    o.last = 1023;
    CHECK_EQ(flake_i_etcd_open_session(s, &o), FLAKE_OK);
    CHECK(s->endpoint_count == 1 && s->login == NULL);
    CHECK_STR(s->endpoint[0], "http://127.0.0.1:2379");
    CHECK_STR(s->name_space, "");
    CHECK(s->pool_size == 1024 && s->options.ttl_ms == 10000 && s->options.wait_ms == 0);
    CHECK(s->options.horizon_ms == 30000 && s->options.timeout_ms == 1250);
    CHECK(strlen(s->token) == 32 && s->start < 1024);

    const int64_t ahead_ns = 30000000000;
    CHECK_EQ(flake_i_etcd_ahead_of(s, 5), 5 + ahead_ns);
    CHECK_EQ(flake_i_etcd_ahead_of(s, -5), ahead_ns); /* a clock before 1970 */
    CHECK_EQ(flake_i_etcd_ahead_of(s, INT64_MAX - ahead_ns), INT64_MAX);
    CHECK_EQ(flake_i_etcd_ahead_of(s, INT64_MAX - ahead_ns - 1), INT64_MAX - 1);
    CHECK_EQ(flake_i_etcd_ahead_of(s, INT64_MAX - 1), INT64_MAX);

    s->endpoint_count = 0;
    memset(longest + 8, '~', 255 - 8);
    for (int i = 0; i < 16; i++) strcat(strcat(endpoints, longest), i < 15 ? "," : "");
    CHECK(flake_i_etcd_parse_endpoints(s, endpoints));
    CHECK_EQ(s->endpoint_count, 16);
    CHECK(strcmp(s->endpoint[15], longest) == 0);
    memset(s->endpoint, 0, sizeof s->endpoint);
    s->endpoint_count = 0;
    CHECK(flake_i_etcd_parse_endpoints(s, " http://a:1/ ,  https://b/"));
    CHECK_EQ(s->endpoint_count, 2);
    CHECK_STR(s->endpoint[0], "http://a:1");
    CHECK_STR(s->endpoint[1], "https://b");
    flake_i_etcd_close_session(s);
}

TEST(the_gate_lets_nothing_past_the_horizon) {
    static flake_etcd c;
    flake_why why;
    const int64_t s = 1000000000, unix_ns = 1700000000 * s;
    c.fence = (flake_atomic64 *)flake_i_new_page(false);
    c.process = flake_i_process_owner_id();
    c.floor_ns = unix_ns + 7000000 / 2; /* within a unit of a generator */
    c.asked_ns = (uint64_t)c.floor_ns;
    c.horizon_ns = (uint64_t)(unix_ns + 100 * s);
    *c.fence = 7;
    c.state = 7 << 2 | FLAKE_I_ETCD_HELD;
    CHECK_EQ(flake_i_etcd_gate(&c, unix_ns), FLAKE_CLOCK_BACKWARDS);
    CHECK_EQ(flake_i_etcd_gate(&c, c.floor_ns), FLAKE_CLOCK_BACKWARDS);
    CHECK_EQ(flake_i_etcd_gate(&c, unix_ns + 5000000), FLAKE_OK);
    CHECK(c.asked_ns == (uint64_t)unix_ns + 5000000);
    CHECK_EQ(flake_i_etcd_gate(&c, unix_ns + 4000000), FLAKE_OK);
    CHECK_EQ(flake_i_etcd_not_before(&c), unix_ns + 5000000); /* the latest: the next generator begins after it */
    CHECK_EQ(flake_i_etcd_gate(&c, unix_ns + 100 * s + 1), FLAKE_AGAIN);
    CHECK(c.asked_ns == (uint64_t)unix_ns + 5000000); /* failed requests do not count */
    CHECK(c.wanted_ns == (uint64_t)(unix_ns + 100 * s + 1));
    c.trouble = FLAKE_I_ETCD_UNREACHED;
    CHECK_EQ(flake_i_etcd_gate(&c, INT64_MAX), FLAKE_IO);
    CHECK_EQ(flake_etcd_check(&c, &why), FLAKE_IO);
    CHECK_STR(why.text, "no endpoint confirmed the new horizon");
    CHECK_EQ(flake_i_etcd_gate(&c, unix_ns + 6000000), FLAKE_OK); /* not lost */
    c.process++;
    CHECK_EQ(flake_i_etcd_gate(&c, unix_ns + 6000000), FLAKE_FORKED);
    CHECK_EQ(flake_etcd_check(&c, &why), FLAKE_FORKED);
    CHECK_STR(why.text, "the claim belongs to the parent process");
    c.process--;
    flake_etcd_destroy(&c);
}

TEST(an_address_that_does_not_answer_costs_a_timeout) {
    flake_why why;
    char urls[160], deaf[64];
    struct sockaddr_in at = {0};
    socklen_t size = sizeof at;
    const int listener = socket(AF_INET, SOCK_STREAM, 0); /* accepts connections, does not answer */
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 8) == 0);
    CHECK_EQ(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    (void)snprintf(deaf, sizeof deaf, "http://127.0.0.1:%d", ntohs(at.sin_port));
    (void)snprintf(urls, sizeof urls, "http://127.0.0.1:1,%s", deaf);
    const flake_etcd_options o = from(urls, "x/");
    const int64_t begin_ms = now_ms();
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_IO);
    CHECK(strstr(why.text, deaf) == why.text);
    CHECK(now_ms() - begin_ms < 3000);
    (void)close(listener);
}

int main(int argc, char **argv) { return alone_main(argc, argv); }
