/* SPDX-License-Identifier: MIT
 *
 * Which requests a claim sends to etcd, and when; and the effect of each answer.
 */
#include "scripted.h"

/* One event per line. */
// clang-format off

TEST(a_claim_and_its_release_send_these_requests) {
    const flake_etcd_options o = scripted();
    CHECK_EQ(claim_from(NULL, &o), FLAKE_OK);
    CHECK_OPTIONS(USUAL_OPTIONS);
    HAPPENED(
        ASKS_FOR_A_NUMBER,
        TAKES(1030, M1, "0:21", ABSENT, 8520, 1, 7),
        NOTE("starts the thread"));
    hold_ms(3500);
    want(11040);
    HAPPENED(
        WATCHES_OF(1040, M1, "0:21"),
        KEEPS(10, 1000, 2040),
        KEEPS(10, 1000, 3050),
        WAITS(5, 480),
        EXTENDS_OF(3540, M1, "0:21", 8520, 1, 11040, 2),
        KEEPS(6, 510, 4060),
        UNWATCHES(5, 470, 4540),
        NOTE("4540: a draw is ok"));
    CHECK_EQ(flake_etcd_release(&claim, &why), FLAKE_OK);
    CHECK_STR(why.text, "");
    HAPPENED(
        ENDS_THREAD,
        RELEASES_OF(4540, M1, "0:21", 11040, 2, 11040, 3),
        REVOKES(4550));
}

/* A lease's time is rounded up; with a second name space, certificates and a requested cluster. */
TEST(options_decide_keys_and_certificates) {
    flake_etcd_options o = scripted_cluster(15);
    o.ttl_ms = 2000;
    o.name_space = "";
    o.last = 2047;
    o.ca_file = "ca.pem";
    o.cert_file = "cert.pem";
    o.key_file = "key.pem";
    CHECK_EQ(claim_from(NULL, &o), FLAKE_OK);
    CHECK_OPTIONS(USUAL_OPTIONS FILE_OPTIONS);
    CHECK_EQ(claim.node, flake_uniqueid_node(15, 0x215));
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
#undef SPACE
#define SPACE ""
    HAPPENED(
        READS_NUMBERS(1000, M1, "15"),
        GRANTS(1010, M1, 2),
        TAKES(1020, M1, "15:533", ABSENT, 8510, 1, 7),
        NOTE("starts the thread"),
        ENDS_THREAD,
        RELEASES_OF(1030, M1, "15:533", 8510, 1, AT_0_MS, 2),
        REVOKES(1040));
#undef SPACE
#define SPACE "x/"
}

/* A client that etcd rejects as not logged in logs in, and repeats the request with the token. */
TEST(a_client_that_is_logged_out_logs_in) {
    static const told first[] = {
        {.to = "kv/range", .http = 401, .text = "{'error':'etcdserver: no','code':16}"}, {0}};
    static const told later[] = {{.to = "kv/txn",
                                  .http = 400,
                                  .text = "{'error':'etcdserver: user name is empty','code':3}"},
                                 {.to = "authenticate", .text = "{'header':{},'token':'t.22'}"}, {0}};
    flake_etcd_options o = scripted();
    o.user = "me";
    o.password = "\"secret\"";
    CHECK_EQ(claim_from(first, &o), FLAKE_OK);
    HAPPENED(
        READS_CLUSTERS(1000, M1),
        LOGS_IN(1010, "me", "\\u0022secret\\u0022"),
        READS_CLUSTERS(1020, M1_AS("t.1")),
        READS_NUMBERS(1030, M1_AS("t.1"), "0"),
        GRANTS(1040, M1_AS("t.1"), 3),
        TAKES(1050, M1_AS("t.1"), "0:21", ABSENT, 8540, 1, 7),
        NOTE("starts the thread"));
    tell(later);
    hold_ms(3000);
    HAPPENED(
        WATCHES_OF(1060, M1_AS("t.1"), "0:21"),
        WAITS(10, 1000),
        RENEWS(2060, M1_AS("t.1")),
        WAITS(10, 1000),
        RENEWS(3070, M1_AS("t.1")),
        WAITS(5, 480),
        EXTENDS_OF(3560, M1_AS("t.1"), "0:21", 8540, 1, 11060, 2),
        NOTE("3570: watches no more"),
        LOGS_IN(3570, "me", "\\u0022secret\\u0022"),
        EXTENDS_OF(3580, M1_AS("t.22"), "0:21", 8540, 1, 11060, 2),
        WATCHES_OF(3590, M1_AS("t.22"), "0:21"),
        UNWATCHES(5, 470, 4060));
}

/* After a failed login the request is not repeated. */
TEST(a_refused_login_ends_the_claim) {
    static const told refuses[] = {
        {.to = "kv/range", .http = 401, .text = "{'error':'etcdserver: no','code':16}"},
        {.to = "authenticate", .http = 400, .text = "{'error':'etcdserver: wrong','code':3}"}, {0}};
    flake_etcd_options o = scripted();
    o.user = "me";
    CHECK_EQ(claim_from(refuses, &o), FLAKE_IO);
    CHECK_STR(why.text, "http://m1: etcdserver: wrong");
    HAPPENED(
        READS_CLUSTERS(1000, M1),
        LOGS_IN(1010, "me", ""),
        CLOSES_ALL);
}

/* The same bytes are sent to the next member, whose refusal shows that the first has made the claim. */
TEST(a_claim_whose_answer_is_lost_is_one_claim) {
    static const told lost[] = {{.to = "CREATE", .sent = CURLE_GOT_NOTHING},
                                {.to = "CREATE", .text = BOTH(HORIZON("$put"), POOL)}, {0}};
    const flake_etcd_options o = scripted();
    CHECK_EQ(claim_from(lost, &o), FLAKE_OK);
    CHECK_EQ(claim.node, flake_uniqueid_node(0, 21));
    HAPPENED(
        ASKS_FOR_A_NUMBER,
        TAKES(1030, M1, "0:21", ABSENT, 8520, 1, 7),
        TAKES(1040, M2, "0:21", ABSENT, 8520, 1, 7),
        NOTE("starts the thread"));
}

/* A failed claim releases what it holds. */
TEST(a_claim_that_fails_leaves_nothing) {
    static const told lost[] = {{.to = "CREATE", .http = 503, .text = "{'code':14}", .times = 4}, {0}};
    static const told no_lease[] = {{.to = "grant", .text = "{'header':{},'ID':'7','TTL':'0'}"}, {0}};
    const flake_etcd_options o = scripted();
#define LEAVES_NOTHING(told, says, at, ...)                                    \
    CHECK_EQ(claim_from(told, &o), FLAKE_IO);                                  \
    CHECK_STR(why.text, says);                                                 \
    CHECK(claim.session == NULL);                                              \
    say_how_it_is();                                                           \
    CHECK_EQ(flake_etcd_release(&claim, &why), FLAKE_INVALID);                 \
    CHECK_STR(why.text, "flake_etcd_release: no number is claimed");           \
    HAPPENED(ASKS_FOR_A_NUMBER, __VA_ARGS__,                                   \
             NOTE(#at ": is lost \"no number is claimed\", left 0 ms"))
    LEAVES_NOTHING(lost, "https://m2: etcd refused without a reason", 1080,
        TAKES(1030, M1, "0:21", ABSENT, 8520, 1, 7),
        TAKES(1040, M2, "0:21", ABSENT, 8520, 1, 7),
        TAKES(1050, M1, "0:21", ABSENT, 8520, 1, 7),
        TAKES(1060, M2, "0:21", ABSENT, 8520, 1, 7),
        REVOKES(1070));
    LEAVES_NOTHING(no_lease, "http://m1: no lease in etcd's answer", 1030,
        CLOSES_ALL);
    thread_fails = true;
    LEAVES_NOTHING(NULL, "pthread_create failed", 1050,
        TAKES(1030, M1, "0:21", ABSENT, 8520, 1, 7),
        REVOKES(1040));
    thread_fails = false;
    CHECK(claim.fence != NULL && *claim.fence == 0);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "flake_etcd_claim: the object has an earlier claim: release it, or use another object");
}

/* A clock that is ahead of etcd's claims nothing, and extends nothing. */
TEST(a_clock_that_is_ahead_writes_nothing) {
#define AT_0 .date = "Server: x\r\nDate: Tue, 14 Nov 2023 22:13:20 GMT\r\nX: y\r\n"
    static const told dated[] = {{.to = "keys_only",
                                  .text = "{'header':{},'responses':[" RANGE("") "," RANGE("") "]}",
                                  AT_0, .times = 2}, {0}};
    static const told held[] = {{.to = "LEASE", .text = "{'header':{},'succeeded':true}", AT_0}, {0}};
    const flake_etcd_options o = scripted_cluster(0);
    for (int ahead_ms = 58990; ahead_ms <= 58991; ahead_ms++) {
        script_begin();
        tell(dated);
        clock_ahead_ms = ahead_ms; /* etcd's 0 is 1,010 of ours */
        const flake_status status = flake_etcd_claim(&claim, &o, &why);
        CHECK_EQ(status, ahead_ms == 58990 ? FLAKE_OK : FLAKE_IO);
        note_raw("is \"%s\"\n", why.text);
        if (ahead_ms == 58990) forget_noted();
    }
    HAPPENED(
        READS_NUMBERS(1000, M1, "0"),
        READS_NUMBERS(1010, M2, "0"),
        CLOSES_ALL,
        NOTE("is \"https://m2: this clock is more than 60 s ahead of etcd's\""));
    begin_claimed(held);
    hold_told(1100, 300);
    forget_noted();
    clock_ahead_ms = 70000;
    watch_says_ms = clock_ms + 50;
    look(clock_ms + 100, say_how_it_is);
    hold_ms(380);
    HAPPENED(
        WATCHES(1330, M1),
        WATCH_SAYS(1, 50, 1380),
        NOTE("1380: watches no more"),
        WAITS(1, 50),
        NOTE("1430: is io \"this clock is more than 60 s ahead of etcd's\", left 0 ms"),
        WAITS(3, 280));
}

TEST(a_claim_that_waits_watches_the_pool) {
    const told frees[] = {{.to = "keys_only", .text = numbers("%s/2:", 0, 255, 0, 0), .times = 2},
                          {.to = "keys_only", .text = numbers("%s/2:", 0, 255, 0, 0)},
                          {.to = "keys_only", .text = numbers("%s/2:", 0, 254, 255, 3000)}, {0}};
    const told full[] = {{.to = "keys_only", .text = numbers("%s/2:", 0, 255, 0, 0), .times = 3}, {0}};
    const told blocks[] = {{.to = "keys_only", .text = numbers("%s/2:", 0, 254, 255, 61011)}, {0}};
    flake_etcd_options o = scripted_cluster(2);
    o.wait_ms = 2999;
    script_begin();
    watch_says_ms = 2200;
    tell(frees);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(claim.floor_ns, (begin_s * 1000LL + 3000) * 1000000);
    HAPPENED(
        LOOKS_INTO(1000, "2"),
        WAITS(1, 1000),
        SLEEPS(1, 10),
        READS_NUMBERS(2020, M1, "2"),
        WATCH_SAYS(1, 170, 2200),
        SLEEPS(1, 10),
        READS_NUMBERS(2210, M1, "2"),
        WAITS(1, 1000),
        SLEEPS(1, 10),
        READS_NUMBERS(3230, M1, "2"),
        GRANTS(3240, M1, 3),
        TAKES(3250, M1, "2:255", IS(3000, TOKEN, 9), 10740, 1, 7),
        NOTE("3260: watches no more"),
        NOTE("starts the thread"));

    script_begin();
    watch_says_ms = 1500; /* once the claim is made, its answer no longer matters */
    tell(frees + 1);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    forget_noted();
    hold_ms(250);
    HAPPENED(
        WATCHES_OF(3010, M1, "2:255"),
        UNWATCHES(3, 250, 3260));

    o.wait_ms = 1030;
    CHECK_EQ(claim_from(full, &o), FLAKE_AGAIN);
    note_raw("is \"%s\"\n", why.text);
    HAPPENED(
        LOOKS_INTO(1000, "2"),
        WAITS(1, 1000),
        SLEEPS(1, 10),
        READS_NUMBERS(2020, M1, "2"),
        NOTE("2030: watches no more"),
        CLOSES_ALL,
        NOTE("is \"flake_etcd_options: all numbers from first to last are taken\""));

    for (int left_ms = 998; left_ms <= 1001; left_ms++) {
        o.wait_ms = 10 + left_ms;
        CHECK_EQ(claim_from(full, &o), FLAKE_AGAIN);
        CHECK_EQ(clock_ms, 1010 + (left_ms < 1000 ? left_ms : 1000) + 10 + 10);
    }

    o.wait_ms = 0;
    CHECK_EQ(claim_from(blocks, &o), FLAKE_AGAIN);
    note_raw("is \"%s\"\n", why.text);
    HAPPENED(
        READS_NUMBERS(1000, M1, "2"),
        CLOSES_ALL,
        NOTE("is \"flake_etcd_options: all numbers from first to last are taken, or have a horizon that is unreadable or more than 60 s ahead of this clock\""));
}

/* The number whose horizon passes first is claimed; the wait for it is at most wait_ms. */
TEST(a_claim_waits_for_the_earliest_horizon) {
    const told ahead[] = {{.to = "keys_only", .text = numbers("%s/2:", 0, 254, 255, 1070)}, {0}};
    flake_etcd_options o = scripted_cluster(2);
    static const int cases[][2] = {{0, 1030}, {30, 1030}, {31, 1040}, {50, 1050}, {90, 1080}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        o.wait_ms = cases[i][0];
        CHECK_EQ(claim_from(ahead, &o), FLAKE_OK);
        CHECK_EQ(clock_ms, cases[i][1]);
    }
    HAPPENED(
        LOOKS_INTO(1000, "2"),
        GRANTS(1010, M1, 3),
        TAKES(1020, M1, "2:255", IS(1070, TOKEN, 9), 8570, 1, 7),
        NOTE("1030: watches no more"),
        NOTE("starts the thread"),
        SLEEPS(5, 50));
}

TEST(clusters_are_tried_in_their_order) {
    const told two[] = {
        {.to = "kv/range", .text = "{'header':{},'kvs':[{'value':'NCwgMw=='}]}"}, /* 4, 3 */
        {.to = "keys_only", .text = numbers("%s/4:", 0, 255, 0, 0)},
        {.to = "keys_only", .text = numbers("%s/3:", 0, 255, 0, 0)},
        {.to = "keys_only", .text = numbers("%s/4:", 0, 255, 0, 0)},
        {.to = "keys_only", .text = numbers("%s/3:", 30, 255, 21, -5)},
        {.to = "CREATE", .text = BOTH(HORIZON("eA=="), POOL)},
        {.to = "keys_only", .text = numbers("%s/3:", 30, 255, 21, -5)}, {0}};
    flake_etcd_options o = scripted();
    o.wait_ms = 5000;
    CHECK_EQ(claim_from(two, &o), FLAKE_OK);
    CHECK_EQ(claim.node, flake_uniqueid_node(3, 22));
    HAPPENED(
        READS_CLUSTERS(1000, M1),
        LOOKS_INTO(1010, "4"),
        NOTE("1020: watches no more"),
        LOOKS_INTO(1020, "3"),
        WAITS(1, 1000),
        SLEEPS(1, 10),
        NOTE("2040: watches no more"),
        LOOKS_INTO(2040, "4"),
        NOTE("2050: watches no more"),
        LOOKS_INTO(2050, "3"),
        GRANTS(2060, M1, 3),
        TAKES(2070, M1, "3:21", IS(-5, TOKEN, 9), 9560, 1, 7),
        READS_NUMBERS(2080, M1, "3"),
        TAKES(2090, M1, "3:22", ABSENT, 9590, 2, 7),
        NOTE("2100: watches no more"),
        NOTE("starts the thread"));
}

/* ---- pools for any layout ---- */

#undef NUMBER
#undef BOUND
#define NUMBER(kind, n)     "node/" kind ":" n
#define BOUND(kind, c, end) "node/" kind c end
#define ALL                 "" /* no cluster */

static flake_etcd_options scripted_pool(uint64_t first, uint64_t last) {
    flake_etcd_options o = scripted();
    o.uniqueid = false;
    o.first = first;
    o.last = last;
    return o;
}

TEST(a_pool_for_any_layout_has_its_own_keys) {
    const flake_etcd_options o = scripted_pool(700, 955);
    CHECK_EQ(claim_from(NULL, &o), FLAKE_OK);
    HAPPENED(
        READS_NUMBERS(1000, M1, ALL),
        GRANTS(1010, M1, 3),
        TAKES(1020, M1, "721", ABSENT, 8510, 1, 7),
        NOTE("starts the thread"));
    hold_ms(2700);
    HAPPENED(
        WATCHES_OF(1030, M1, "721"),
        KEEPS(10, 1000, 2030),
        KEEPS(10, 1000, 3040),
        WAITS(5, 480),
        EXTENDS_OF(3530, M1, "721", 8510, 1, 11030, 2),
        UNWATCHES(2, 190, 3730));
    CHECK_EQ(flake_etcd_release(&claim, &why), FLAKE_OK);
    HAPPENED(
        ENDS_THREAD,
        RELEASES_OF(3730, M1, "721", 11030, 2, AT_0_MS, 3),
        REVOKES(3740));
}

/* An init needs the claim alone: the number and its end come with it. A later claim of the object has generators of its
 * own. */
TEST(generators_end_with_their_claim) {
    const flake_etcd_options o = scripted_pool(1000, 1023);
    flake_options options = {0};
    static flake_etcd unclaimed;
    flake_gen ids, late, wide;
    flake128 wide_id;
    flake_parts parts = {0, 0, 0};
    uint64_t id = 0;
    CHECK_EQ(claim_from(NULL, &o), FLAKE_OK);
    options.layout = flake_layout_boundary;
    CHECK_EQ(flake_init(&wide, flake_etcd_node(&claim), &options, &why), FLAKE_OK);
    CHECK_EQ(flake128_next(&wide, &wide_id), FLAKE_OK);
    options.layout = flake_layout_twitter;
    CHECK_EQ(flake_init(&ids, flake_etcd_node(&claim), &options, &why), FLAKE_OK);
    CHECK_EQ(flake_gen_node(&ids), 1000 + 0xfedcba9876543215 % 24);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
    CHECK_EQ(flake_decompose(&options.layout, id, &parts), FLAKE_OK);
    CHECK_EQ(parts.node, claim.node);
    const flake_node claimed = flake_etcd_node(&claim);
    CHECK_EQ(flake_etcd_release(&claim, &why), FLAKE_OK);
    for (int again = 0; again < 2; again++) {
        CHECK_EQ(flake_next(&ids, &id), FLAKE_LEASE_LOST);
        CHECK_EQ(flake_try(&ids, &id), FLAKE_LEASE_LOST);
        CHECK_EQ(flake128_next(&wide, &wide_id), FLAKE_LEASE_LOST);
        if (again) break;
        CHECK_EQ(flake_init(&late, claimed, &options, &why), FLAKE_LEASE_LOST);
        CHECK_EQ(flake_init(&late, flake_etcd_node(&claim), &options, &why), FLAKE_LEASE_LOST);
        CHECK_EQ(flake_init(&late, flake_etcd_node(&unclaimed), &options, &why), FLAKE_NODE_RANGE);
        easies_n = 0;
        CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    }
    CHECK_EQ(flake_init(&ids, flake_etcd_node(&claim), &options, &why), FLAKE_OK);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
}

/* Other pools of the name space overlap this one, and others write keys of their own there. */
TEST(a_number_is_taken_whichever_pool_it_was_claimed_from) {
    static const struct {
        uint64_t first, last;
        unsigned from, to; /* taken */
        unsigned ahead;    /* the number of the horizon, which passes last */
        uint64_t claimed;  /* UINT64_MAX: none */
    } cases[] = {{100, 199, 0, 198, 0, 199},         {100, 199, 101, 300, 0, 100},
                 {100, 199, 90, 199, 0, UINT64_MAX}, {100, 101, 7, 8, 100, 101},
                 {100, 101, 7, 8, 101, 100},         {100, 101, 101, 102, 100, 100},
                 {1, 2, 0, 1, 3, 2},                 {2, 2, 0, 1, 3, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const told taken[] = {
            {.to = "keys_only",
             .text = numbers("node/%s:", cases[i].from, cases[i].to, cases[i].ahead, 30000)}, {0}};
        const flake_etcd_options o = scripted_pool(cases[i].first, cases[i].last);
        const bool is_free = cases[i].claimed != UINT64_MAX;
        CHECK_EQ(claim_from(taken, &o), is_free ? FLAKE_OK : FLAKE_AGAIN);
        if (is_free) CHECK_EQ(claim.node, cases[i].claimed);
        else CHECK_STR(why.text, "flake_etcd_options: all numbers from first to last are taken");
        CHECK_EQ(claim.floor_ns == (begin_s * 1000LL + 30000) * 1000000,
                 is_free && cases[i].claimed == cases[i].ahead);
    }
}

TEST(a_number_with_an_unreadable_horizon_is_not_claimed) {
    static const told x[] = {
        {.to = "keys_only", .text = BOTH("", ",'kvs':[{'key':'eC9ub2RlL2hvcml6b246MjE=','value':'eA=='}]")}, {0}};
    const flake_etcd_options o = scripted_pool(21, 21);
    CHECK_EQ(claim_from(x, &o), FLAKE_AGAIN); /* x/node/horizon:21 is x */
    CHECK_STR(why.text, "flake_etcd_options: all numbers from first to last are taken, or have a horizon that is "
                        "unreadable or more than 60 s ahead of this clock");
}

// clang-format on

int main(int argc, char **argv) { return alone_main(argc, argv); }
