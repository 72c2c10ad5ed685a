/* SPDX-License-Identifier: MIT
 *
 * Which requests a holder and its release send to etcd, and when; and the effect of each answer.
 */
#include "scripted.h"

/* One event per line. */
// clang-format off

/* The lease has expired, and the key with it: a write with a new lease restores it. */
TEST(a_deleted_key_is_restored) {
    static const told gone[] = {{.to = "lease/keepalive", .text = "{'result':{'header':{}}}"},
                                {.to = "LEASE", .text = BOTH(HORIZON("$known"), "")},
                                {.to = "lease/grant", .text = "{'header':{},'ID':'8','TTL':'3'}"}, {0}};
    static const told no_lease[] = {
        {.to = "kv/txn", .http = 404, .text = "{'error':'no lease','code':5}"},
        {.to = "kv/txn", .text = "{'error':{'grpc_code':5}}"},
        {.to = "kv/txn", .http = 404, .text = "{'error':'no lease','code':5}", .times = 2}, {0}};
    HOLDS(gone, 0, 0, 1300,
        KEEPS(10, 1000, 2030),
        EXTENDS(2040, M1, 8510, 1, 9540, 2),
        GRANTS(2050, M1, 3),
        PUTS_BACK(2060, M1, 8510, 1, 9550, 3, 8),
        UNWATCHES(3, 260, 2330));
    HOLDS(no_lease + 1, 1100, 0, 200, /* three times */
        WATCH_SAYS(1, 70, 1100),
        EXTENDS(1100, M1, 8510, 1, 8600, 2),
        GRANTS(1110, M1, 3),
        PUTS_BACK(1120, M1, 8510, 1, 8610, 3, 7),
        GRANTS(1130, M1, 3),
        PUTS_BACK(1140, M1, 8510, 1, 8630, 4, 7),
        GRANTS(1150, M1, 3),
        PUTS_BACK(1160, M1, 8510, 1, 8650, 5, 7),
        UNWATCHES(1, 60, 1230));
    CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_OK);
    begin_claimed(no_lease); /* four times */
    hold_told(1100, 200);
    CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_IO);
}

/* The same bytes are sent until their result is known; only then others. */
TEST(a_write_whose_answer_is_lost_is_repeated) {
    static const told lost[] = {{.to = "LEASE", .sent = CURLE_GOT_NOTHING, .ms = 300, .times = 2},
                                {.to = "LEASE", .text = "{'header':{}}", .times = 2},
                                {.to = "LEASE", .text = BOTH(HORIZON("$put"), POOL)}, {0}};
    static const told cut[] = {
        {.to = "keepalive", .sent = CURLE_OPERATION_TIMEDOUT, .ms = 700},
        {.to = "keepalive", .sent = CURLE_PARTIAL_FILE, .text = "{'res", .ms = 50},
        {.to = "keepalive", .http = 503, .text = "{'error':'x','code':14}"}, {0}};
    begin_claimed(lost);
    look(4300, say_how_it_is);
    hold_ms(3600);
    say_how_it_is();
    HAPPENED(
        WATCHES(1030, M1),
        KEEPS(10, 1000, 2030),
        KEEPS(10, 1000, 3040),
        WAITS(5, 480),
        EXTENDS(3530, M1, 8510, 1, 11030, 2),
        EXTENDS(3830, M2, 8510, 1, 11030, 2),
        EXTENDS(4130, M1, 8510, 1, 11030, 2),
        NOTE("4140: watches no more"),
        RENEWS(4140, M1),
        WAITS(2, 150),
        NOTE("4300: is io \"no endpoint confirmed the new horizon\", left 4210 ms"),
        WAITS(1, 90),
        EXTENDS(4390, M1, 8510, 1, 11030, 2),
        EXTENDS(4400, M1, 8510, 1, 11030, 2),
        EXTENDS(4410, M1, 11030, 2, 11910, 3),
        WATCHES(4420, M1),
        UNWATCHES(3, 210, 4630),
        NOTE("4630: is ok \"\", left 7280 ms"));
    HOLDS(cut, 0, 0, 2400,
        KEEPS(10, 1000, 2030),
        RENEWS(2730, M2),
        KEEPS(3, 250, 3030),
        RENEWS(3040, M2),
        UNWATCHES(4, 380, 3430));
    HOLDS(lost, 1100, 0, 200, /* it ends while the first member is asked */
        WATCH_SAYS(1, 70, 1100),
        EXTENDS(1100, M1, 8510, 1, 8600, 2),
        EXTENDS(1400, M2, 8510, 1, 8600, 2),
        NOTE("1700: watches no more"));
}

/* Soon: within a twelfth of the lease, a request's time, or 250 ms, whichever is least. */
TEST(failed_requests_are_retried_soon) {
    static const told grants[][2] = {
        {{.to = "lease/grant", .text = "{'header':{},'ID':'9','TTL':'1'}"}, {0}},
        {{.to = "lease/grant", .text = "{'header':{},'ID':'9','TTL':'30'}"}, {0}}};
    static const told fails[] = {{.to = "kv/txn", .http = 503, .text = "{'code':14}", .times = 4}, {0}};
    static const int cases[][3] = {
        {0, 700, 83}, {0, 82, 82}, {1, 700, 250}, {1, 251, 250}, {1, 249, 249}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        script_begin();
        flake_etcd_options o = scripted();
        o.timeout_ms = cases[i][1];
        tell(grants[cases[i][0]]);
        CHECK_EQ(claims(&claim, &o), FLAKE_OK);
        tell(fails);
        forget_noted();
        hold_told(clock_ms + 10, 400);
        /* four requests of 10 ms fail, then it waits */
        char wanted[40];
        (void)snprintf(wanted, sizeof wanted, "\n%d: asks", 1040 + 10 + 40 + cases[i][2]);
        CHECK(strstr(notes, wanted) != NULL);
    }
}

/* An extension may have been made although it is refused. */
TEST(the_keys_decide_whether_a_refused_write_was_made) {
    static const struct {
        const char *horizon_and_pool;
        flake_status status;
    } cases[] = {{BOTH(HORIZON("$put"), POOL), FLAKE_OK},
                 {BOTH(HORIZON("$put"), ""), FLAKE_OK},
                 {BOTH(HORIZON("$known"), ""), FLAKE_OK}, /* the key is put back */
                 {BOTH(HORIZON("$known"), POOL), FLAKE_LEASE_LOST},
                 {BOTH(HORIZON("eA=="), ""), FLAKE_LEASE_LOST},
                 {BOTH(",'kvs':[{'key':'$horizon'}]", ""), FLAKE_LEASE_LOST}, /* malformed */
                 {BOTH(",'kvs':[7]", ""), FLAKE_LEASE_LOST},
                 {BOTH("", ""), FLAKE_LEASE_LOST}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const told answer[] = {{.to = "LEASE", .text = cases[i].horizon_and_pool}, {0}};
        begin_claimed(answer);
        hold_told(1100, 200);
        CHECK_EQ(told_list[0].answered, 1);
        CHECK_EQ(flake_etcd_check(&claim, NULL), cases[i].status);
    }
}

TEST(a_number_that_another_process_has_written_is_lost) {
    static const told other[] = {{.to = "LEASE", .text = BOTH(HORIZON("eA=="), POOL)}, {0}};
    begin_claimed(other);
    watch_says_ms = 1500;
    CHECK_EQ(flake_i_etcd_not_before(&claim), INT64_MIN);
    (void)thread_run(thread_user); /* ends by itself */
    say_how_it_is();
    want(1600);
    CHECK_EQ(*claim.fence, 0);
    CHECK_EQ(flake_etcd_release(&claim, &why), FLAKE_OK);
    CHECK_STR(why.text, "");
    HAPPENED(
        WATCHES(1030, M1),
        WATCH_SAYS(5, 470, 1500),
        EXTENDS(1500, M1, 8510, 1, 9000, 2),
        NOTE("1510: watches no more"),
        NOTE("1510: is lost \"another process has written the number's keys: release and claim again\", left 0 ms"),
        NOTE("1510: a draw is lost"),
        ENDS_THREAD,
        REVOKES(1510));
}

static void lose_it(void) {
    const uint64_t state = claim.state;
    claim.state = (state & ~(uint64_t)3) | FLAKE_I_ETCD_LOST;
}

/* A loss that the thread detects as the release begins; and a child's release, which sends nothing. */
TEST(a_release_writes_only_what_is_held) {
    begin_claimed(NULL);
    others = lose_it;
    CHECK_EQ(flake_etcd_release(&claim, &why), FLAKE_OK);
    HAPPENED(
        ENDS_THREAD,
        REVOKES(1030));
    begin_claimed(NULL);
    struct curl_slist *const headers = claim.session->headers;
    claim.process++;
    CHECK_EQ(flake_etcd_release(&claim, &why), FLAKE_OK);
    HAPPENED(NULL);
    claim.process--;
    curl_slist_free_all(headers);
}

/* A new claim of the same object keeps nothing of the old one. */
TEST(a_second_claim_keeps_nothing_of_the_first) {
    static const told fails[] = {{.to = "LEASE", .http = 503, .text = "{'code':14}", .times = 4}, {0}};
    const told later[] = {{.to = "keys_only", .text = numbers("%s/0:", 0, 20, 21, -7000)}, {0}};
    const flake_etcd_options o = scripted();
    begin_claimed(fails);
    want(5000);
    want(30000);
    hold_ms(50);
    say_how_it_is();
    want(30000);
    const uint64_t state = claim.state, word = *claim.fence;
    CHECK(word != 0);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    CHECK_EQ(*claim.fence, 0);
    say_how_it_is();
    HAPPENED(
        NOTE("1030: a draw is ok"),
        NOTE("1030: a draw is again"),
        WATCHES(1030, M1),
        EXTENDS_4(1030, 1040, 1050, 1060, 8510, 1, 37500, 2),
        NOTE("1070: watches no more"),
        WAITS(1, 10),
        NOTE("1080: is io \"no endpoint confirmed the new horizon\", left 7430 ms"),
        NOTE("1080: a draw is io"),
        ENDS_THREAD,
        EXTENDS(1080, M1, 8510, 1, 37500, 2),
        RELEASES(1090, M1, 37500, 2, 5000, 3),
        REVOKES(1100),
        NOTE("1110: is lost \"no number is claimed\", left 0 ms"));
    tell(later);
    easies_n = 0;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK(claim.state != state && *claim.fence != word && *claim.fence != 0);
    const flake_gate gate = flake_etcd_node(&claim).gate;
    CHECK(gate.not_before_ns(gate.user) == (begin_s * 1000LL - 7000) * 1000000);
    CHECK(gate.fence == claim.fence && gate.user == &claim);
    CHECK(!flake_i_etcd_is_wanted(&claim));
    say_how_it_is();
    want(30000);
    HAPPENED(
        READS_CLUSTERS(1110, M1),
        READS_NUMBERS(1120, M1, "0"),
        GRANTS(1130, M1, 3),
        TAKES(1140, M1, "0:21", IS(-7000, TOKEN, 9), 8630, 1, 7),
        NOTE("starts the thread"),
        NOTE("1150: is ok \"\", left 7480 ms"),
        NOTE("1150: a draw is again"));
}

/* At most one request in 250 ms, besides those that keep the lease and extend the horizon. */
TEST(frequent_changes_cause_few_requests) {
    int asked = 0;
    begin_claimed(NULL);
    watch_says_ms = clock_ms + 5;
    watch_every_ms = 5;
    hold_ms(900);
    for (const char *at = notes; (at = strstr(at, ": asks")) != NULL; at++) asked++;
    CHECK(asked >= 3);
    CHECK(asked <= 5);
}

/* The thread checks its claim when the watch reports a change, and when it ends. */
TEST(a_change_and_the_end_of_a_watch_cause_a_write) {
    static const told moved[] = {{.to = "LEASE", .sent = CURLE_GOT_NOTHING, .ms = 20}, {0}};
    HOLDS(moved, 1234, 0, 800, /* the write goes to the next member, and the watch with it */
        WATCH_SAYS(3, 204, 1234),
        EXTENDS(1234, M1, 8510, 1, 8734, 2),
        EXTENDS(1254, M2, 8510, 1, 8734, 2),
        NOTE("1264: watches no more"),
        WATCHES(1264, M2),
        UNWATCHES(6, 566, 1830));
    hold_told(clock_ms + 100, 300);
    tell(moved); /* and back */
    hold_told(clock_ms + 100, 300);
    HAPPENED(
        WATCHES(1830, M2),
        WATCH_SAYS(1, 100, 1930),
        EXTENDS(1930, M2, 8734, 2, 9430, 3),
        UNWATCHES(2, 190, 2130),
        WATCHES(2130, M2),
        WATCH_SAYS(1, 100, 2230),
        EXTENDS(2230, M2, 9430, 3, 9730, 4),
        EXTENDS(2250, M1, 9430, 3, 9730, 4),
        NOTE("2260: watches no more"),
        WATCHES(2260, M1),
        UNWATCHES(2, 170, 2430));
    HOLDS(NULL, 2035, 0, 1200, /* while the lease is renewed */
        KEEPS(10, 1000, 2030),
        NOTE("2040: the watch says something"),
        EXTENDS(2040, M1, 8510, 1, 9540, 2),
        UNWATCHES(2, 180, 2230));
    HOLDS(NULL, 0, 1200, 800,
        WAITS(2, 170),
        NOTE("1200: the watch ends"),
        NOTE("1200: watches no more"),
        WAITS(2, 180),
        EXTENDS(1380, M1, 8510, 1, 8880, 2),
        WATCHES(1390, M1),
        UNWATCHES(5, 440, 1830));
    HOLDS(NULL, 0, 3500, 2700, /* the horizon is due in 30 ms, sooner than soon */
        KEEPS(10, 1000, 2030),
        KEEPS(10, 1000, 3040),
        WAITS(5, 450),
        NOTE("3500: the watch ends"),
        NOTE("3500: watches no more"),
        WAITS(1, 30),
        EXTENDS(3530, M1, 8510, 1, 11030, 2),
        WATCHES(3540, M1),
        UNWATCHES(2, 190, 3730));
}

/* Draws that wait for the horizon advance it, but at most a minute past etcd's clock. */
TEST(a_horizon_that_draws_wait_for_is_written_at_once) {
    static const told dated[] = {{.to = "LEASE",
                                  .text = "{'header':{},'succeeded':true}",
                                  .date = "Date: Tue, 14 Nov 2023 22:13:20 GMT\r\n"}, {0}};
    begin_claimed(dated);
    want_at(1150, 20000);
    hold_ms(400);
    HAPPENED(
        WATCHES(1030, M1),
        WAITS(2, 120),
        NOTE("1150: a draw is again"),
        EXTENDS(1150, M1, 8510, 1, 27500, 2),
        UNWATCHES(3, 270, 1430));
    want(20000);
    want_at(1500, 60340); /* etcd's clock is at 340 */
    hold_ms(100);
    say_how_it_is();
    want_at(1600, 67841);
    hold_ms(200);
    say_how_it_is();
    HAPPENED(
        NOTE("1430: a draw is ok"),
        WATCHES(1430, M1),
        WAITS(1, 70),
        NOTE("1500: a draw is again"),
        EXTENDS(1500, M1, 27500, 2, 67840, 3),
        UNWATCHES(1, 20, 1530),
        NOTE("1530: is ok \"\", left 66310 ms"),
        WATCHES(1530, M1),
        WAITS(1, 70),
        NOTE("1600: a draw is again"),
        EXTENDS(1600, M1, 67840, 3, 67840, 4),
        UNWATCHES(2, 120, 1730),
        NOTE("1730: is io \"IDs were requested more than 60 s ahead of etcd's clock\", left 66110 ms"));
    want(70000);
    want(67840);
    say_how_it_is();
    hold_ms(2700);
    say_how_it_is();
    HAPPENED(
        NOTE("1730: a draw is io"),
        NOTE("1730: a draw is ok"),
        NOTE("1730: is io \"IDs were requested more than 60 s ahead of etcd's clock\", left 66110 ms"),
        WATCHES(1730, M1),
        KEEPS(10, 1000, 2730),
        KEEPS(10, 1000, 3740),
        WAITS(5, 480),
        EXTENDS(4230, M1, 67840, 4, 67840, 5),
        UNWATCHES(2, 190, 4430),
        NOTE("4430: is io \"IDs were requested more than 60 s ahead of etcd's clock\", left 63410 ms"));
}

/* A write with an unknown result is resolved before the release. */
TEST(a_release_first_settles_a_write_of_unknown_result) {
    static const told lost[] = {{.to = "LEASE", .sent = CURLE_GOT_NOTHING, .times = 4}, {0}};
    static const told gone[] = {{.to = "LEASE", .text = BOTH(HORIZON("$known"), "")}, {0}};
    static const told other[] = {{.to = "LEASE", .text = BOTH("", POOL)}, {0}};
#define SETTLES(told, status, says, ...)                    \
    begin_claimed(lost);                                    \
    hold_told(1100, 110);                                   \
    forget_noted();                                         \
    tell(told);                                             \
    CHECK_EQ(flake_etcd_release(&claim, &why), status);     \
    CHECK_STR(why.text, says);                              \
    HAPPENED(ENDS_THREAD, __VA_ARGS__)
    SETTLES(NULL, FLAKE_OK, "",
        EXTENDS(1140, M1, 8510, 1, 8600, 2),
        RELEASES(1150, M1, 8600, 2, AT_0_MS, 3),
        REVOKES(1160));
    SETTLES(gone, FLAKE_OK, "",
        EXTENDS(1140, M1, 8510, 1, 8600, 2),
        CLOSES_ALL);
    SETTLES(other, FLAKE_OK, "",
        EXTENDS(1140, M1, 8510, 1, 8600, 2),
        REVOKES(1150));
    SETTLES(lost, FLAKE_IO, "https://m2: Server returned nothing (no headers, no data)",
        EXTENDS_4(1140, 1150, 1160, 1170, 8510, 1, 8600, 2),
        CLOSES_ALL);
}

static flake_atomic64 raised;
static void raise_to_50(void) { raised = 50; }
static void raise_to_200(void) { raised = 200; }

TEST(a_time_that_others_raise_is_not_set_back) {
    raised = 7;
    others = raise_to_50;
    flake_i_etcd_raise_time(&raised, 100);
    CHECK_EQ(raised, 100);
    others = raise_to_200;
    flake_i_etcd_raise_time(&raised, 150);
    CHECK_EQ(raised, 200);
    others = NULL;
}

// clang-format on

int main(int argc, char **argv) { return alone_main(argc, argv); }
