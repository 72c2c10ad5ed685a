/* SPDX-License-Identifier: MIT
 *
 * Which requests a claim sends to etcd, and when; and what each answer leads to.
 */
#include "scripted.h"

/* One event per line. */
// clang-format off

TEST(what_etcd_is_asked) {
    script_begin();
    notes_options = true;
    const flake_etcd_options o = scripted();
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    HAPPENED(
        OPTIONS_OF("request"),
        OPTIONS_OF("watch"),
        ASKS(1000, "m1", .reads = "cluster-id"),
        ASKS(1010, "m1", .reads_numbers = "0"),
        ASKS(1020, "m1", .grants_s = 3),
        ASKS(1030, "m1", .write = {"0:21", .puts = {8520, OURS, 1}, .puts_lease = 7}),
        NOTE("starts the thread"));
    hold_ms(3500);
    wanted_ms = 11040;
    want();
    HAPPENED(
        ASKS(1040, "m1", .watches = "pool/0:21"),
        KEEPS(10, 1000, 2040),
        KEEPS(10, 1000, 3050),
        WAITS(5, 480),
        ASKS(3540, "m1", .write = {"0:21", .was = {8520, OURS, 1}, .has_lease = 7, .puts = {11040, OURS, 2}}),
        KEEPS(6, 510, 4060),
        UNWATCHES(5, 470, 4540),
        NOTE("4540: a draw is ok"));
    CHECK_EQ(flake_etcd_release(&claim, &why), FLAKE_OK);
    CHECK_STR(why.text, "");
    HAPPENED(
        ENDS_THREAD,
        ASKS(4540, "m1", .write = {"0:21", .was = {11040, OURS, 2}, .has_lease = 7, .puts = {11040, OURS, 3}, .deletes = true}),
        REVOKES(4550));
}

/* A lease's time is rounded up; with a second name space, certificates and a cluster that is given. */
TEST(what_is_given_is_asked_for) {
    script_begin();
    notes_options = true;
    flake_etcd_options o = scripted();
    o.ttl_ms = 2000;
    o.name_space = space = "";
    o.pool_size = 2048;
    o.cluster_given = true;
    o.cluster = 15;
    o.ca_file = "ca.pem";
    o.cert_file = "cert.pem";
    o.key_file = "key.pem";
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_generator(&claim), 0x215);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    HAPPENED(
        OPTIONS_OF("request"),
        FILES_OF("request"),
        OPTIONS_OF("watch"),
        FILES_OF("watch"),
        ASKS(1000, "m1", .reads_numbers = "15"),
        ASKS(1010, "m1", .grants_s = 2),
        ASKS(1020, "m1", .write = {"15:533", .puts = {8510, OURS, 1}, .puts_lease = 7}),
        NOTE("starts the thread"),
        ENDS_THREAD,
        ASKS(1030, "m1", .write = {"15:533", .was = {8510, OURS, 1}, .has_lease = 7, .puts = {AT_0_MS, OURS, 2}, .deletes = true}),
        REVOKES(1040));
    space = "x/";
}

/* Who is told that he is not logged in logs in, and asks again with the token. */
TEST(who_is_logged_out_logs_in) {
    static const told first[] = {
        {.to = "kv/range", .http = 401, .text = "{'error':'etcdserver: no','code':16}"}, {0}};
    static const told later[] = {{.to = "kv/txn",
                                  .http = 400,
                                  .text = "{'error':'etcdserver: user name is empty','code':3}"},
                                 {.to = "authenticate", .text = "{'header':{},'token':'t.22'}"}, {0}};
    script_begin();
    notes_options = true;
    flake_etcd_options o = scripted();
    o.user = "me";
    o.password = "\"secret\"";
    tell(first);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    HAPPENED(
        OPTIONS_OF("request"),
        OPTIONS_OF("watch"),
        ASKS(1000, "m1", .reads = "cluster-id"),
        ASKS(1010, "m1", .user = "me", .password = "\\u0022secret\\u0022"),
        ASKS(1020, "m1", .reads = "cluster-id", .token = "t.1"),
        ASKS(1030, "m1", .reads_numbers = "0", .token = "t.1"),
        ASKS(1040, "m1", .grants_s = 3, .token = "t.1"),
        ASKS(1050, "m1", .write = {"0:21", .puts = {8540, OURS, 1}, .puts_lease = 7}, .token = "t.1"),
        NOTE("starts the thread"));
    tell(later);
    hold_ms(3000);
    HAPPENED(
        ASKS(1060, "m1", .watches = "pool/0:21", .token = "t.1"),
        WAITS(10, 1000),
        ASKS(2060, "m1", .keeps = 7, .token = "t.1"),
        WAITS(10, 1000),
        ASKS(3070, "m1", .keeps = 7, .token = "t.1"),
        WAITS(5, 480),
        ASKS(3560, "m1", .write = {"0:21", .was = {8540, OURS, 1}, .has_lease = 7, .puts = {11060, OURS, 2}}, .token = "t.1"),
        NOTE("3570: watches no more"),
        ASKS(3570, "m1", .user = "me", .password = "\\u0022secret\\u0022"),
        ASKS(3580, "m1", .write = {"0:21", .was = {8540, OURS, 1}, .has_lease = 7, .puts = {11060, OURS, 2}}, .token = "t.22"),
        ASKS(3590, "m1", .watches = "pool/0:21", .token = "t.22"),
        UNWATCHES(5, 470, 4060));
}

/* A login that is refused is no reason to ask as before. */
TEST(a_login_that_is_refused_ends_it) {
    static const told refuses[] = {
        {.to = "kv/range", .http = 401, .text = "{'error':'etcdserver: no','code':16}"},
        {.to = "authenticate", .http = 400, .text = "{'error':'etcdserver: wrong','code':3}"}, {0}};
    script_begin();
    flake_etcd_options o = scripted();
    o.user = "me";
    tell(refuses);
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_IO);
    CHECK_STR(why.text, "http://m1: etcdserver: wrong");
    HAPPENED(
        ASKS(1000, "m1", .reads = "cluster-id"),
        ASKS(1010, "m1", .user = "me", .password = ""),
        CLOSES_ALL);
}

/* A claim that fails gives back what it has. */
TEST(a_claim_that_fails_leaves_nothing) {
    static const told lost[] = {{.to = "CREATE", .http = 503, .text = "{'code':14}", .times = 4}, {0}};
    static const told no_lease[] = {{.to = "grant", .text = "{'header':{},'ID':'7','TTL':'0'}"}, {0}};
    const flake_etcd_options o = scripted();
    for (int i = 0; i < 3; i++) {
        script_begin();
        tell(i == 0 ? lost : i == 1 ? no_lease : NULL);
        thread_fails = i == 2;
        CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_IO);
        thread_fails = false;
        note_raw("is \"%s\"\n", why.text);
        CHECK(claim.session == NULL);
        say_how_it_is();
        CHECK_EQ(flake_etcd_release(&claim, &why), FLAKE_INVALID);
        CHECK_STR(why.text, "flake_etcd_release: no number is claimed");
        if (i == 0)
            HAPPENED(
                ASKS(1000, "m1", .reads = "cluster-id"),
                ASKS(1010, "m1", .reads_numbers = "0"),
                ASKS(1020, "m1", .grants_s = 3),
                ASKS(1030, "m1", .write = {"0:21", .puts = {8520, OURS, 1}, .puts_lease = 7}),
                ASKS(1040, "m2", .write = {"0:21", .puts = {8520, OURS, 1}, .puts_lease = 7}),
                ASKS(1050, "m1", .write = {"0:21", .puts = {8520, OURS, 1}, .puts_lease = 7}),
                ASKS(1060, "m2", .write = {"0:21", .puts = {8520, OURS, 1}, .puts_lease = 7}),
                REVOKES(1070),
                NOTE("is \"https://m2: etcd refused without a reason\""),
                NOTE("1080: is lost \"no number is claimed\", left 0 ms"));
        if (i == 1)
            HAPPENED(
                ASKS(1000, "m1", .reads = "cluster-id"),
                ASKS(1010, "m1", .reads_numbers = "0"),
                ASKS(1020, "m1", .grants_s = 3),
                CLOSES_ALL,
                NOTE("is \"http://m1: no lease in etcd's answer\""),
                NOTE("1030: is lost \"no number is claimed\", left 0 ms"));
        if (i == 2)
            HAPPENED(
                ASKS(1000, "m1", .reads = "cluster-id"),
                ASKS(1010, "m1", .reads_numbers = "0"),
                ASKS(1020, "m1", .grants_s = 3),
                ASKS(1030, "m1", .write = {"0:21", .puts = {8520, OURS, 1}, .puts_lease = 7}),
                REVOKES(1040),
                NOTE("is \"pthread_create failed\""),
                NOTE("1050: is lost \"no number is claimed\", left 0 ms"));
    }
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
    flake_etcd_options o = scripted();
    o.cluster_given = true;
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
        ASKS(1000, "m1", .reads_numbers = "0"),
        ASKS(1010, "m2", .reads_numbers = "0"),
        CLOSES_ALL,
        NOTE("is \"https://m2: this clock is more than 60 s ahead of etcd's\""));
    begin_claimed(held);
    watch_says_ms = 1100;
    hold_ms(300);
    forget_noted();
    clock_ahead_ms = 70000;
    watch_says_ms = clock_ms + 50;
    looks = say_how_it_is;
    looks_ms = clock_ms + 100;
    hold_ms(380);
    HAPPENED(
        WATCHES(1330, "m1"),
        WATCH_SAYS(1, 50, 1380),
        NOTE("1380: watches no more"),
        WAITS(1, 50),
        NOTE("1430: is io \"this clock is more than 60 s ahead of etcd's\", left 0 ms"),
        WAITS(3, 280));
}

TEST(who_waits_for_a_number_watches_the_pool) {
    const told frees[] = {{.to = "keys_only", .text = numbers(2, 0, 255, 0, 0), .times = 2},
                          {.to = "keys_only", .text = numbers(2, 0, 255, 0, 0)},
                          {.to = "keys_only", .text = numbers(2, 0, 254, 255, 3000)}, {0}};
    const told full[] = {{.to = "keys_only", .text = numbers(2, 0, 255, 0, 0), .times = 3}, {0}};
    const told blocks[] = {{.to = "keys_only", .text = numbers(2, 0, 254, 255, 61011)}, {0}};
    flake_etcd_options o = scripted();
    o.cluster_given = true;
    o.cluster = 2;
    o.wait_ms = 2999;
    script_begin();
    watch_says_ms = 2200;
    tell(frees);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(claim.floor_ns, (begin_s * 1000LL + 3000) * 1000000);
    HAPPENED(
        ASKS(1000, "m1", .watches = "pool/2:", .watches_to = "pool/2;"),
        ASKS(1000, "m1", .reads_numbers = "2"),
        WAITS(1, 1000),
        NOTE("sleeps 1 times, 10 ms"),
        ASKS(2020, "m1", .reads_numbers = "2"),
        WATCH_SAYS(1, 170, 2200),
        NOTE("sleeps 1 times, 10 ms"),
        ASKS(2210, "m1", .reads_numbers = "2"),
        WAITS(1, 1000),
        NOTE("sleeps 1 times, 10 ms"),
        ASKS(3230, "m1", .reads_numbers = "2"),
        ASKS(3240, "m1", .grants_s = 3),
        ASKS(3250, "m1", .write = {"2:255", .was = {3000, ANOTHER, 9}, .puts = {10740, OURS, 1}, .puts_lease = 7}),
        NOTE("3260: watches no more"),
        NOTE("starts the thread"));

    script_begin();
    watch_says_ms = 1500; /* what it says is over when the claim is there */
    tell(frees + 1);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    forget_noted();
    hold_ms(250);
    HAPPENED(
        ASKS(3010, "m1", .watches = "pool/2:255"),
        UNWATCHES(3, 250, 3260));

    script_begin();
    o.wait_ms = 1030;
    tell(full);
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_AGAIN);
    note_raw("is \"%s\"\n", why.text);
    HAPPENED(
        ASKS(1000, "m1", .watches = "pool/2:", .watches_to = "pool/2;"),
        ASKS(1000, "m1", .reads_numbers = "2"),
        WAITS(1, 1000),
        NOTE("sleeps 1 times, 10 ms"),
        ASKS(2020, "m1", .reads_numbers = "2"),
        NOTE("2030: watches no more"),
        CLOSES_ALL,
        NOTE("is \"flake_etcd_options.pool_size: all numbers are taken\""));

    for (int left_ms = 998; left_ms <= 1001; left_ms++) {
        script_begin();
        o.wait_ms = 10 + left_ms;
        tell(full);
        CHECK_EQ(flake_etcd_claim(&claim, &o, NULL), FLAKE_AGAIN);
        CHECK_EQ(clock_ms, 1010 + (left_ms < 1000 ? left_ms : 1000) + 10 + 10);
    }

    script_begin();
    o.wait_ms = 0;
    tell(blocks);
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_AGAIN);
    note_raw("is \"%s\"\n", why.text);
    HAPPENED(
        ASKS(1000, "m1", .reads_numbers = "2"),
        CLOSES_ALL,
        NOTE("is \"flake_etcd_options.pool_size: all numbers are taken, or have a horizon that is unreadable or more than 60 s ahead of this clock\""));
}

/* The number whose horizon passes first is claimed, and waited for as long as wait_ms allows. */
TEST(a_horizon_that_lies_ahead_is_waited_for) {
    const told ahead[] = {{.to = "keys_only", .text = numbers(2, 0, 254, 255, 1070)}, {0}};
    flake_etcd_options o = scripted();
    o.cluster_given = true;
    o.cluster = 2;
    static const int cases[][2] = {{0, 1030}, {30, 1030}, {31, 1040}, {50, 1050}, {90, 1080}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        script_begin();
        o.wait_ms = cases[i][0];
        tell(ahead);
        CHECK_EQ(claims(&claim, &o), FLAKE_OK);
        CHECK_EQ(clock_ms, cases[i][1]);
    }
    HAPPENED(
        ASKS(1000, "m1", .watches = "pool/2:", .watches_to = "pool/2;"),
        ASKS(1000, "m1", .reads_numbers = "2"),
        ASKS(1010, "m1", .grants_s = 3),
        ASKS(1020, "m1", .write = {"2:255", .was = {1070, ANOTHER, 9}, .puts = {8570, OURS, 1}, .puts_lease = 7}),
        NOTE("1030: watches no more"),
        NOTE("starts the thread"),
        NOTE("sleeps 5 times, 50 ms"));
}

TEST(clusters_are_tried_in_their_order) {
    const told two[] = {
        {.to = "kv/range", .text = "{'header':{},'kvs':[{'value':'NCwgMw=='}]}"}, /* 4, 3 */
        {.to = "keys_only", .text = numbers(4, 0, 255, 0, 0)},
        {.to = "keys_only", .text = numbers(3, 0, 255, 0, 0)},
        {.to = "keys_only", .text = numbers(4, 0, 255, 0, 0)},
        {.to = "keys_only", .text = numbers(3, 30, 255, 21, -5)},
        {.to = "CREATE", .text = BOTH(HORIZON("eA=="), POOL)},
        {.to = "keys_only", .text = numbers(3, 30, 255, 21, -5)}, {0}};
    flake_etcd_options o = scripted();
    o.wait_ms = 5000;
    script_begin();
    tell(two);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_cluster(&claim), 3);
    CHECK_EQ(flake_etcd_generator(&claim), 22);
    HAPPENED(
        ASKS(1000, "m1", .reads = "cluster-id"),
        ASKS(1010, "m1", .watches = "pool/4:", .watches_to = "pool/4;"),
        ASKS(1010, "m1", .reads_numbers = "4"),
        NOTE("1020: watches no more"),
        ASKS(1020, "m1", .watches = "pool/3:", .watches_to = "pool/3;"),
        ASKS(1020, "m1", .reads_numbers = "3"),
        WAITS(1, 1000),
        NOTE("sleeps 1 times, 10 ms"),
        NOTE("2040: watches no more"),
        ASKS(2040, "m1", .watches = "pool/4:", .watches_to = "pool/4;"),
        ASKS(2040, "m1", .reads_numbers = "4"),
        NOTE("2050: watches no more"),
        ASKS(2050, "m1", .watches = "pool/3:", .watches_to = "pool/3;"),
        ASKS(2050, "m1", .reads_numbers = "3"),
        ASKS(2060, "m1", .grants_s = 3),
        ASKS(2070, "m1", .write = {"3:21", .was = {-5, ANOTHER, 9}, .puts = {9560, OURS, 1}, .puts_lease = 7}),
        ASKS(2080, "m1", .reads_numbers = "3"),
        ASKS(2090, "m1", .write = {"3:22", .puts = {9590, OURS, 2}, .puts_lease = 7}),
        NOTE("2100: watches no more"),
        NOTE("starts the thread"));
}

// clang-format on

int main(int argc, char **argv) { return alone_main(argc, argv); }
