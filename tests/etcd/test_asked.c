/* SPDX-License-Identifier: MIT
 *
 * What a claim asks etcd for, byte by byte, and when; and what comes of each answer.
 */
#include "scripted.h"

static void what_etcd_is_asked(void) {
    script_begin();
    const flake_etcd_options o = scripted();
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    NOTED("request: no signals 1\n"
          "request: post 1\n"
          "request: HTTP 1.1 1\n"
          "request: keepalive 1\n"
          "request: connects within 700 ms\n"
          "watch: no signals 1\n"
          "watch: post 1\n"
          "watch: HTTP 1.1 1\n"
          "watch: keepalive 1\n"
          "watch: connects within 700 ms\n"
          "1000: asks within 700 ms http://m1/v3/kv/range\n"
          "    {'key':<x/cluster-id>}\n"
          "1010: asks within 700 ms http://m1/v3/kv/txn\n"
          "    {'success':[{'request_range':{'key':<x/pool/0:>,'range_end':<x/pool/0;>,'keys_"
          "only':true}},{'request_range':{'key':<x/horizon/0:>,'range_end':<x/horizon/0;>}}]}\n"
          "1020: asks within 700 ms http://m1/v3/lease/grant\n"
          "    {'TTL':'3'}\n"
          "1030: asks within 700 ms http://m1/v3/kv/txn\n"
          "    {'compare':[{'key':<x/horizon/0:21>,'target':'CREATE','create_revision':'0'},"
          "{'key':<x/pool/0:21>,'target':'CREATE','create_revision':'0'}],"
          "'success':[{'request_put':{'key':<x/horizon/0:21>,'value':<1700000008520000000 "
          "0123456789abcdeffedcba9876543215 1>}},"
          "{'request_put':{'key':<x/pool/0:21>,'value':<0123456789abcdeffedcba9876543215>,'le"
          "ase':'7'}}],'failure':[{'request_range':{'key':<x/horizon/0:21>}},"
          "{'request_range':{'key':<x/pool/0:21>}}]}\n"
          "starts the thread\n");
    hold_ms(3500);
    wanted_ms = 11040;
    want();
    NOTED("1040: watches http://m1/v3/watch\n"
          "    {'create_request':{'key':<x/pool/0:21>,'range_end':''}}\n"
          "waits 10 times, 1000 ms\n"
          "2040: asks within 700 ms http://m1/v3/lease/keepalive\n"
          "    {'ID':'7'}\n"
          "waits 10 times, 1000 ms\n"
          "3050: asks within 700 ms http://m1/v3/lease/keepalive\n"
          "    {'ID':'7'}\n"
          "waits 5 times, 480 ms\n"
          "3540: asks within 700 ms http://m1/v3/kv/txn\n"
          "    {'compare':[{'key':<x/horizon/0:21>,'target':'VALUE','value':<1700000008520000"
          "000 0123456789abcdeffedcba9876543215 1>},"
          "{'key':<x/pool/0:21>,'target':'LEASE','lease':'7'}],"
          "'success':[{'request_put':{'key':<x/horizon/0:21>,'value':<1700000011040000000 "
          "0123456789abcdeffedcba9876543215 2>}}],'failure':["
          "{'request_range':{'key':<x/horizon/0:21>}},"
          "{'request_range':{'key':<x/pool/0:21>}}]}\n"
          "waits 6 times, 510 ms\n"
          "4060: asks within 700 ms http://m1/v3/lease/keepalive\n"
          "    {'ID':'7'}\n"
          "waits 5 times, 470 ms\n"
          "4540: watches no more\n"
          "4540: a draw is ok\n");
    CHECK_EQ(flake_etcd_release(&claim, &why), FLAKE_OK);
    CHECK_STR(why.text, "");
    NOTED("wakes the thread\n"
          "joins the thread\n"
          "4540: asks within 700 ms http://m1/v3/kv/txn\n"
          "    {'compare':[{'key':<x/horizon/0:21>,'target':'VALUE','value':<1700000011040000"
          "000 0123456789abcdeffedcba9876543215 2>},"
          "{'key':<x/pool/0:21>,'target':'LEASE','lease':'7'}],"
          "'success':[{'request_put':{'key':<x/horizon/0:21>,'value':<1700000011040000000 "
          "0123456789abcdeffedcba9876543215 3>}},"
          "{'request_delete_range':{'key':<x/pool/0:21>}}],"
          "'failure':[{'request_range':{'key':<x/horizon/0:21>}},"
          "{'request_range':{'key':<x/pool/0:21>}}]}\n"
          "4550: asks within 700 ms http://m1/v3/lease/revoke\n"
          "    {'ID':'7'}\n"
          "closes what waits\n"
          "closes the request\n"
          "closes the watch\n");
}

/* A lease's time is rounded up; with a second name space, certificates and a cluster that is given. */
static void what_is_given_is_asked_for(void) {
    script_begin();
    flake_etcd_options o = scripted();
    o.ttl_ms = 2000;
    o.name_space = "";
    o.pool_size = 2048;
    o.cluster_given = true;
    o.cluster = 15;
    o.ca_file = "ca.pem";
    o.cert_file = "cert.pem";
    o.key_file = "key.pem";
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_generator(&claim), 0x215);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    NOTED("request: no signals 1\n"
          "request: post 1\n"
          "request: HTTP 1.1 1\n"
          "request: keepalive 1\n"
          "request: connects within 700 ms\n"
          "request: ca ca.pem\n"
          "request: cert cert.pem\n"
          "request: key key.pem\n"
          "watch: no signals 1\n"
          "watch: post 1\n"
          "watch: HTTP 1.1 1\n"
          "watch: keepalive 1\n"
          "watch: connects within 700 ms\n"
          "watch: ca ca.pem\n"
          "watch: cert cert.pem\n"
          "watch: key key.pem\n"
          "1000: asks within 700 ms http://m1/v3/kv/txn\n"
          "    {'success':[{'request_range':{'key':<pool/15:>,'range_end':<pool/15;>,'keys_on"
          "ly':true}},{'request_range':{'key':<horizon/15:>,'range_end':<horizon/15;>}}]}\n"
          "1010: asks within 700 ms http://m1/v3/lease/grant\n"
          "    {'TTL':'2'}\n"
          "1020: asks within 700 ms http://m1/v3/kv/txn\n"
          "    {'compare':[{'key':<horizon/15:533>,'target':'CREATE','create_revision':'0'},"
          "{'key':<pool/15:533>,'target':'CREATE','create_revision':'0'}],"
          "'success':[{'request_put':{'key':<horizon/15:533>,'value':<1700000008510000000 "
          "0123456789abcdeffedcba9876543215 1>}},"
          "{'request_put':{'key':<pool/15:533>,'value':<0123456789abcdeffedcba9876543215>,'le"
          "ase':'7'}}],'failure':[{'request_range':{'key':<horizon/15:533>}},"
          "{'request_range':{'key':<pool/15:533>}}]}\n"
          "starts the thread\n"
          "wakes the thread\n"
          "joins the thread\n"
          "1030: asks within 700 ms http://m1/v3/kv/txn\n"
          "    {'compare':[{'key':<horizon/15:533>,'target':'VALUE','value':<1700000008510000"
          "000 0123456789abcdeffedcba9876543215 1>},"
          "{'key':<pool/15:533>,'target':'LEASE','lease':'7'}],"
          "'success':[{'request_put':{'key':<horizon/15:533>,'value':<0 "
          "0123456789abcdeffedcba9876543215 2>}},"
          "{'request_delete_range':{'key':<pool/15:533>}}],"
          "'failure':[{'request_range':{'key':<horizon/15:533>}},"
          "{'request_range':{'key':<pool/15:533>}}]}\n"
          "1040: asks within 700 ms http://m1/v3/lease/revoke\n"
          "    {'ID':'7'}\n"
          "closes what waits\n"
          "closes the request\n"
          "closes the watch\n");
}

/* Who is told that he is not logged in logs in, and asks again with the token. */
static void who_is_logged_out_logs_in(void) {
    static const told first[] = {
        {.to = "kv/range", .http = 401, .text = "{'error':'etcdserver: no','code':16}"}, {0}};
    static const told later[] = {{.to = "kv/txn",
                                  .http = 400,
                                  .text = "{'error':'etcdserver: user name is empty','code':3}"},
                                 {.to = "authenticate", .text = "{'header':{},'token':'t.22'}"},
                                 {0}};
    script_begin();
    flake_etcd_options o = scripted();
    o.user = "me";
    o.password = "\"secret\"";
    tell(first);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    NOTED("request: no signals 1\n"
          "request: post 1\n"
          "request: HTTP 1.1 1\n"
          "request: keepalive 1\n"
          "request: connects within 700 ms\n"
          "watch: no signals 1\n"
          "watch: post 1\n"
          "watch: HTTP 1.1 1\n"
          "watch: keepalive 1\n"
          "watch: connects within 700 ms\n"
          "1000: asks within 700 ms http://m1/v3/kv/range\n"
          "    {'key':<x/cluster-id>}\n"
          "1010: asks within 700 ms http://m1/v3/auth/authenticate\n"
          "    {'name':'me','password':'\\u0022secret\\u0022'}\n"
          "1020: asks within 700 ms http://m1/v3/kv/range [Content-Type: "
          "application/json][Expect:][Authorization: t.1]\n"
          "    {'key':<x/cluster-id>}\n"
          "1030: asks within 700 ms http://m1/v3/kv/txn [Content-Type: "
          "application/json][Expect:][Authorization: t.1]\n"
          "    {'success':[{'request_range':{'key':<x/pool/0:>,'range_end':<x/pool/0;>,'keys_"
          "only':true}},{'request_range':{'key':<x/horizon/0:>,'range_end':<x/horizon/0;>}}]}\n"
          "1040: asks within 700 ms http://m1/v3/lease/grant [Content-Type: "
          "application/json][Expect:][Authorization: t.1]\n"
          "    {'TTL':'3'}\n"
          "1050: asks within 700 ms http://m1/v3/kv/txn [Content-Type: "
          "application/json][Expect:][Authorization: t.1]\n"
          "    {'compare':[{'key':<x/horizon/0:21>,'target':'CREATE','create_revision':'0'},"
          "{'key':<x/pool/0:21>,'target':'CREATE','create_revision':'0'}],"
          "'success':[{'request_put':{'key':<x/horizon/0:21>,'value':<1700000008540000000 "
          "0123456789abcdeffedcba9876543215 1>}},"
          "{'request_put':{'key':<x/pool/0:21>,'value':<0123456789abcdeffedcba9876543215>,'le"
          "ase':'7'}}],'failure':[{'request_range':{'key':<x/horizon/0:21>}},"
          "{'request_range':{'key':<x/pool/0:21>}}]}\n"
          "starts the thread\n");
    tell(later);
    hold_ms(3000);
    NOTED("1060: watches http://m1/v3/watch [Content-Type: "
          "application/json][Expect:][Authorization: t.1]\n"
          "    {'create_request':{'key':<x/pool/0:21>,'range_end':''}}\n"
          "waits 10 times, 1000 ms\n"
          "2060: asks within 700 ms http://m1/v3/lease/keepalive [Content-Type: "
          "application/json][Expect:][Authorization: t.1]\n"
          "    {'ID':'7'}\n"
          "waits 10 times, 1000 ms\n"
          "3070: asks within 700 ms http://m1/v3/lease/keepalive [Content-Type: "
          "application/json][Expect:][Authorization: t.1]\n"
          "    {'ID':'7'}\n"
          "waits 5 times, 480 ms\n"
          "3560: asks within 700 ms http://m1/v3/kv/txn [Content-Type: "
          "application/json][Expect:][Authorization: t.1]\n"
          "    {'compare':[{'key':<x/horizon/0:21>,'target':'VALUE','value':<1700000008540000"
          "000 0123456789abcdeffedcba9876543215 1>},"
          "{'key':<x/pool/0:21>,'target':'LEASE','lease':'7'}],"
          "'success':[{'request_put':{'key':<x/horizon/0:21>,'value':<1700000011060000000 "
          "0123456789abcdeffedcba9876543215 2>}}],'failure':["
          "{'request_range':{'key':<x/horizon/0:21>}},"
          "{'request_range':{'key':<x/pool/0:21>}}]}\n"
          "3570: watches no more\n"
          "3570: asks within 700 ms http://m1/v3/auth/authenticate\n"
          "    {'name':'me','password':'\\u0022secret\\u0022'}\n"
          "3580: asks within 700 ms http://m1/v3/kv/txn [Content-Type: "
          "application/json][Expect:][Authorization: t.22]\n"
          "    {'compare':[{'key':<x/horizon/0:21>,'target':'VALUE','value':<1700000008540000"
          "000 0123456789abcdeffedcba9876543215 1>},"
          "{'key':<x/pool/0:21>,'target':'LEASE','lease':'7'}],"
          "'success':[{'request_put':{'key':<x/horizon/0:21>,'value':<1700000011060000000 "
          "0123456789abcdeffedcba9876543215 2>}}],'failure':["
          "{'request_range':{'key':<x/horizon/0:21>}},"
          "{'request_range':{'key':<x/pool/0:21>}}]}\n"
          "3590: watches http://m1/v3/watch [Content-Type: "
          "application/json][Expect:][Authorization: t.22]\n"
          "    {'create_request':{'key':<x/pool/0:21>,'range_end':''}}\n"
          "waits 5 times, 470 ms\n"
          "4060: watches no more\n");
}

/* A login that is refused is no reason to ask as before. */
static void a_login_that_is_refused_ends_it(void) {
    static const told refuses[] = {
        {.to = "kv/range", .http = 401, .text = "{'error':'etcdserver: no','code':16}"},
        {.to = "authenticate", .http = 400, .text = "{'error':'etcdserver: wrong','code':3}"},
        {0}};
    script_begin();
    is_brief = true;
    flake_etcd_options o = scripted();
    o.user = "me";
    tell(refuses);
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_IO);
    CHECK_STR(why.text, "http://m1: etcdserver: wrong");
    NOTED("1000: asks m1 kv/range {<x/cluster-id>}\n"
          "1010: asks m1 auth/authenticate {'name':'me','password':''}\n"
          "closes what waits\n"
          "closes the request\n"
          "closes the watch\n");
}

/* A claim that fails gives back what it has. */
static void a_claim_that_fails_leaves_nothing(void) {
    static const told lost[] = {{.to = "CREATE", .http = 503, .text = "{'code':14}"},
                                {.to = "CREATE", .http = 503, .text = "{'code':14}"},
                                {.to = "CREATE", .http = 503, .text = "{'code':14}"},
                                {.to = "CREATE", .http = 503, .text = "{'code':14}"},
                                {0}};
    static const told no_lease[] = {{.to = "grant", .text = "{'header':{},'ID':'7','TTL':'0'}"},
                                    {0}};
    const flake_etcd_options o = scripted();
    for (int i = 0; i < 3; i++) {
        script_begin();
        is_brief = true;
        tell(i == 0 ? lost : i == 1 ? no_lease : NULL);
        thread_fails = i == 2;
        CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_IO);
        thread_fails = false;
        note_raw("is \"%s\"\n", why.text);
        CHECK(claim.session == NULL);
        say_how_it_is();
        CHECK_EQ(flake_etcd_release(&claim, &why), FLAKE_INVALID);
        CHECK_STR(why.text, "flake_etcd_release: nothing is claimed");
        if (i == 0)
            NOTED("1000: asks m1 kv/range {<x/cluster-id>}\n"
                  "1010: asks m1 kv/txn {'success':[{range "
                  "{<x/pool/0:>,'range_end':<x/pool/0;>,'keys_only':true}},"
                  "{range {<x/horizon/0:>,'range_end':<x/horizon/0;>}}]}\n"
                  "1020: asks m1 lease/grant {'TTL':'3'}\n"
                  "1030: asks m1 kv/txn {'compare':[{<x/horizon/0:21>,is not there},"
                  "{<x/pool/0:21>,is not there}],'success':[{put "
                  "{<x/horizon/0:21>,'value':<1700000008520000000 T 1>}},"
                  "{put {<x/pool/0:21>,'value':<T>,'lease':'7'}}] ...\n"
                  "1040: asks m2 kv/txn {'compare':[{<x/horizon/0:21>,is not there},"
                  "{<x/pool/0:21>,is not there}],'success':[{put "
                  "{<x/horizon/0:21>,'value':<1700000008520000000 T 1>}},"
                  "{put {<x/pool/0:21>,'value':<T>,'lease':'7'}}] ...\n"
                  "1050: asks m1 kv/txn {'compare':[{<x/horizon/0:21>,is not there},"
                  "{<x/pool/0:21>,is not there}],'success':[{put "
                  "{<x/horizon/0:21>,'value':<1700000008520000000 T 1>}},"
                  "{put {<x/pool/0:21>,'value':<T>,'lease':'7'}}] ...\n"
                  "1060: asks m2 kv/txn {'compare':[{<x/horizon/0:21>,is not there},"
                  "{<x/pool/0:21>,is not there}],'success':[{put "
                  "{<x/horizon/0:21>,'value':<1700000008520000000 T 1>}},"
                  "{put {<x/pool/0:21>,'value':<T>,'lease':'7'}}] ...\n"
                  "1070: asks m1 lease/revoke {'ID':'7'}\n"
                  "closes what waits\n"
                  "closes the request\n"
                  "closes the watch\n"
                  "is \"https://m2: no reason given\"\n"
                  "1080: is lost \"nothing is claimed\", left 0 ms\n");
        if (i == 1)
            NOTED("1000: asks m1 kv/range {<x/cluster-id>}\n"
                  "1010: asks m1 kv/txn {'success':[{range "
                  "{<x/pool/0:>,'range_end':<x/pool/0;>,'keys_only':true}},"
                  "{range {<x/horizon/0:>,'range_end':<x/horizon/0;>}}]}\n"
                  "1020: asks m1 lease/grant {'TTL':'3'}\n"
                  "closes what waits\n"
                  "closes the request\n"
                  "closes the watch\n"
                  "is \"http://m1: no lease in etcd's answer\"\n"
                  "1030: is lost \"nothing is claimed\", left 0 ms\n");
        if (i == 2)
            NOTED("1000: asks m1 kv/range {<x/cluster-id>}\n"
                  "1010: asks m1 kv/txn {'success':[{range "
                  "{<x/pool/0:>,'range_end':<x/pool/0;>,'keys_only':true}},"
                  "{range {<x/horizon/0:>,'range_end':<x/horizon/0;>}}]}\n"
                  "1020: asks m1 lease/grant {'TTL':'3'}\n"
                  "1030: asks m1 kv/txn {'compare':[{<x/horizon/0:21>,is not there},"
                  "{<x/pool/0:21>,is not there}],'success':[{put "
                  "{<x/horizon/0:21>,'value':<1700000008520000000 T 1>}},"
                  "{put {<x/pool/0:21>,'value':<T>,'lease':'7'}}] ...\n"
                  "1040: asks m1 lease/revoke {'ID':'7'}\n"
                  "closes what waits\n"
                  "closes the request\n"
                  "closes the watch\n"
                  "is \"pthread_create failed\"\n"
                  "1050: is lost \"nothing is claimed\", left 0 ms\n");
    }
    CHECK(claim.word != NULL && *claim.word == 0);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "flake_etcd_claim: the claim is not released, or needs a fresh object");
}

/* A clock that is ahead of etcd's claims nothing, and extends nothing. */
static void a_clock_that_is_ahead_writes_nothing(void) {
#define AT_0 .date = "Server: x\r\nDate: Tue, 14 Nov 2023 22:13:20 GMT\r\nX: y\r\n"
    static const told dated[] = {{.to = "keys_only",
                                  .text = "{'header':{},'responses':[" RANGE("") "," RANGE("") "]}",
                                  AT_0},
                                 {.to = "keys_only",
                                  .text = "{'header':{},'responses':[" RANGE("") "," RANGE("") "]}",
                                  AT_0},
                                 {0}};
    static const told held[] = {{.to = "LEASE", .text = "{'header':{},'succeeded':true}", AT_0},
                                {0}};
    flake_etcd_options o = scripted();
    o.cluster_given = true;
    for (int ahead_ms = 58990; ahead_ms <= 58991; ahead_ms++) {
        script_begin();
        is_brief = true;
        tell(dated);
        clock_ahead_ms = ahead_ms; /* etcd's 0 is 1,010 of ours */
        const flake_status status = flake_etcd_claim(&claim, &o, &why);
        CHECK_EQ(status, ahead_ms == 58990 ? FLAKE_OK : FLAKE_IO);
        note_raw("is \"%s\"\n", why.text);
        if (ahead_ms == 58990) forget_noted();
    }
    NOTED("1000: asks m1 kv/txn {'success':[{range "
          "{<x/pool/0:>,'range_end':<x/pool/0;>,'keys_only':true}},"
          "{range {<x/horizon/0:>,'range_end':<x/horizon/0;>}}]}\n"
          "1010: asks m2 kv/txn {'success':[{range "
          "{<x/pool/0:>,'range_end':<x/pool/0;>,'keys_only':true}},"
          "{range {<x/horizon/0:>,'range_end':<x/horizon/0;>}}]}\n"
          "closes what waits\n"
          "closes the request\n"
          "closes the watch\n"
          "is \"https://m2: this clock is more than 60 s ahead of etcd's\"\n");
    begin_claimed(&o, held);
    watch_says_ms = 1100;
    hold_ms(300);
    forget_noted();
    clock_ahead_ms = 70000;
    watch_says_ms = clock_ms + 50;
    looks = say_how_it_is;
    looks_ms = clock_ms + 100;
    hold_ms(380);
    NOTED("1330: watches m1 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 1 times, 50 ms\n"
          "1380: the watch says something\n"
          "1380: watches no more\n"
          "waits 1 times, 50 ms\n"
          "1430: is io \"this clock is more than 60 s ahead of etcd's\", left 0 ms\n"
          "waits 3 times, 280 ms\n");
}

static void who_waits_for_a_number_watches_the_pool(void) {
    const told frees[] = {{.to = "keys_only", .text = numbers(2, 0, 255, 0, 0)},
                          {.to = "keys_only", .text = numbers(2, 0, 255, 0, 0)},
                          {.to = "keys_only", .text = numbers(2, 0, 255, 0, 0)},
                          {.to = "keys_only", .text = numbers(2, 0, 254, 255, 3000)},
                          {0}};
    const told full[] = {{.to = "keys_only", .text = numbers(2, 0, 255, 0, 0)},
                         {.to = "keys_only", .text = numbers(2, 0, 255, 0, 0)},
                         {.to = "keys_only", .text = numbers(2, 0, 255, 0, 0)},
                         {0}};
    const told blocks[] = {{.to = "keys_only", .text = numbers(2, 0, 254, 255, 61011)}, {0}};
    flake_etcd_options o = scripted();
    o.cluster_given = true;
    o.cluster = 2;
    o.wait_ms = 2999;
    script_begin();
    is_brief = true;
    watch_says_ms = 2200;
    tell(frees);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(claim.floor_ns, (begin_s * 1000LL + 3000) * 1000000);
    NOTED("1000: watches m1 watch {'create_request':{<x/pool/2:>,'range_end':<x/pool/2;>}}\n"
          "1000: asks m1 kv/txn {'success':[{range "
          "{<x/pool/2:>,'range_end':<x/pool/2;>,'keys_only':true}},"
          "{range {<x/horizon/2:>,'range_end':<x/horizon/2;>}}]}\n"
          "waits 1 times, 1000 ms\n"
          "sleeps 1 times, 10 ms\n"
          "2020: asks m1 kv/txn {'success':[{range "
          "{<x/pool/2:>,'range_end':<x/pool/2;>,'keys_only':true}},"
          "{range {<x/horizon/2:>,'range_end':<x/horizon/2;>}}]}\n"
          "waits 1 times, 170 ms\n"
          "2200: the watch says something\n"
          "sleeps 1 times, 10 ms\n"
          "2210: asks m1 kv/txn {'success':[{range "
          "{<x/pool/2:>,'range_end':<x/pool/2;>,'keys_only':true}},"
          "{range {<x/horizon/2:>,'range_end':<x/horizon/2;>}}]}\n"
          "waits 1 times, 1000 ms\n"
          "sleeps 1 times, 10 ms\n"
          "3230: asks m1 kv/txn {'success':[{range "
          "{<x/pool/2:>,'range_end':<x/pool/2;>,'keys_only':true}},"
          "{range {<x/horizon/2:>,'range_end':<x/horizon/2;>}}]}\n"
          "3240: asks m1 lease/grant {'TTL':'3'}\n"
          "3250: asks m1 kv/txn {'compare':[{<x/horizon/2:255>,is <1700000003000000000 "
          "0123456789abcdef0123456789ABCDEF 9>},{<x/pool/2:255>,is not there}],"
          "'success':[{put {<x/horizon/2:255>,'value':<1700000010740000000 T 1>}},"
          "{put {<x/pool/2:255>,'value':<T>,'lease':'7'}}] ...\n"
          "3260: watches no more\n"
          "starts the thread\n");

    script_begin();
    is_brief = true;
    watch_says_ms = 1500; /* what it says is over when the claim is there */
    tell(frees + 2);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    forget_noted();
    hold_ms(250);
    NOTED("3010: watches m1 watch {'create_request':{<x/pool/2:255>,'range_end':''}}\n"
          "waits 3 times, 250 ms\n"
          "3260: watches no more\n");

    script_begin();
    is_brief = true;
    o.wait_ms = 1030;
    tell(full);
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_AGAIN);
    note_raw("is \"%s\"\n", why.text);
    NOTED("1000: watches m1 watch {'create_request':{<x/pool/2:>,'range_end':<x/pool/2;>}}\n"
          "1000: asks m1 kv/txn {'success':[{range "
          "{<x/pool/2:>,'range_end':<x/pool/2;>,'keys_only':true}},"
          "{range {<x/horizon/2:>,'range_end':<x/horizon/2;>}}]}\n"
          "waits 1 times, 1000 ms\n"
          "sleeps 1 times, 10 ms\n"
          "2020: asks m1 kv/txn {'success':[{range "
          "{<x/pool/2:>,'range_end':<x/pool/2;>,'keys_only':true}},"
          "{range {<x/horizon/2:>,'range_end':<x/horizon/2;>}}]}\n"
          "2030: watches no more\n"
          "closes what waits\n"
          "closes the request\n"
          "closes the watch\n"
          "is \"flake_etcd_options.pool_size: all numbers are taken\"\n");

    for (int left_ms = 998; left_ms <= 1001; left_ms++) {
        script_begin();
        is_brief = true;
        o.wait_ms = 10 + left_ms;
        tell(full);
        CHECK_EQ(flake_etcd_claim(&claim, &o, NULL), FLAKE_AGAIN);
        CHECK_EQ(clock_ms, 1010 + (left_ms < 1000 ? left_ms : 1000) + 10 + 10);
    }

    script_begin();
    is_brief = true;
    o.wait_ms = 0;
    tell(blocks);
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_AGAIN);
    note_raw("is \"%s\"\n", why.text);
    NOTED("1000: asks m1 kv/txn {'success':[{range "
          "{<x/pool/2:>,'range_end':<x/pool/2;>,'keys_only':true}},"
          "{range {<x/horizon/2:>,'range_end':<x/horizon/2;>}}]}\n"
          "closes what waits\n"
          "closes the request\n"
          "closes the watch\n"
          "is \"flake_etcd_options.pool_size: all numbers are taken, or have a horizon more "
          "than 60 s ahead of this clock, or none that can be read\"\n");
}

/* The number whose horizon passes first is claimed, and waited for as long as wait_ms allows. */
static void a_horizon_that_lies_ahead_is_waited_for(void) {
    const told ahead[] = {{.to = "keys_only", .text = numbers(2, 0, 254, 255, 1070)}, {0}};
    flake_etcd_options o = scripted();
    o.cluster_given = true;
    o.cluster = 2;
    static const int cases[][2] = {{0, 1030}, {30, 1030}, {31, 1040}, {50, 1050}, {90, 1080}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        script_begin();
        is_brief = true;
        o.wait_ms = cases[i][0];
        tell(ahead);
        CHECK_EQ(claims(&claim, &o), FLAKE_OK);
        CHECK_EQ(clock_ms, cases[i][1]);
    }
    NOTED("1000: watches m1 watch {'create_request':{<x/pool/2:>,'range_end':<x/pool/2;>}}\n"
          "1000: asks m1 kv/txn {'success':[{range "
          "{<x/pool/2:>,'range_end':<x/pool/2;>,'keys_only':true}},"
          "{range {<x/horizon/2:>,'range_end':<x/horizon/2;>}}]}\n"
          "1010: asks m1 lease/grant {'TTL':'3'}\n"
          "1020: asks m1 kv/txn {'compare':[{<x/horizon/2:255>,is <1700000001070000000 "
          "0123456789abcdef0123456789ABCDEF 9>},{<x/pool/2:255>,is not there}],"
          "'success':[{put {<x/horizon/2:255>,'value':<1700000008570000000 T 1>}},"
          "{put {<x/pool/2:255>,'value':<T>,'lease':'7'}}] ...\n"
          "1030: watches no more\n"
          "starts the thread\n"
          "sleeps 5 times, 50 ms\n");
}

static void clusters_are_tried_in_their_order(void) {
    const told two[] = {
        {.to = "kv/range", .text = "{'header':{},'kvs':[{'value':'NCwgMw=='}]}"}, /* 4, 3 */
        {.to = "keys_only", .text = numbers(4, 0, 255, 0, 0)},
        {.to = "keys_only", .text = numbers(3, 0, 255, 0, 0)},
        {.to = "keys_only", .text = numbers(4, 0, 255, 0, 0)},
        {.to = "keys_only", .text = numbers(3, 30, 255, 21, -5)},
        {.to = "CREATE", .text = BOTH(HORIZON("eA=="), POOL)},
        {.to = "keys_only", .text = numbers(3, 30, 255, 21, -5)},
        {0}};
    flake_etcd_options o = scripted();
    o.wait_ms = 5000;
    script_begin();
    is_brief = true;
    tell(two);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_cluster(&claim), 3);
    CHECK_EQ(flake_etcd_generator(&claim), 22);
    NOTED("1000: asks m1 kv/range {<x/cluster-id>}\n"
          "1010: watches m1 watch {'create_request':{<x/pool/4:>,'range_end':<x/pool/4;>}}\n"
          "1010: asks m1 kv/txn {'success':[{range "
          "{<x/pool/4:>,'range_end':<x/pool/4;>,'keys_only':true}},"
          "{range {<x/horizon/4:>,'range_end':<x/horizon/4;>}}]}\n"
          "1020: watches no more\n"
          "1020: watches m1 watch {'create_request':{<x/pool/3:>,'range_end':<x/pool/3;>}}\n"
          "1020: asks m1 kv/txn {'success':[{range "
          "{<x/pool/3:>,'range_end':<x/pool/3;>,'keys_only':true}},"
          "{range {<x/horizon/3:>,'range_end':<x/horizon/3;>}}]}\n"
          "waits 1 times, 1000 ms\n"
          "sleeps 1 times, 10 ms\n"
          "2040: watches no more\n"
          "2040: watches m1 watch {'create_request':{<x/pool/4:>,'range_end':<x/pool/4;>}}\n"
          "2040: asks m1 kv/txn {'success':[{range "
          "{<x/pool/4:>,'range_end':<x/pool/4;>,'keys_only':true}},"
          "{range {<x/horizon/4:>,'range_end':<x/horizon/4;>}}]}\n"
          "2050: watches no more\n"
          "2050: watches m1 watch {'create_request':{<x/pool/3:>,'range_end':<x/pool/3;>}}\n"
          "2050: asks m1 kv/txn {'success':[{range "
          "{<x/pool/3:>,'range_end':<x/pool/3;>,'keys_only':true}},"
          "{range {<x/horizon/3:>,'range_end':<x/horizon/3;>}}]}\n"
          "2060: asks m1 lease/grant {'TTL':'3'}\n"
          "2070: asks m1 kv/txn {'compare':[{<x/horizon/3:21>,is <1699999999995000000 "
          "0123456789abcdef0123456789ABCDEF 9>},{<x/pool/3:21>,is not there}],"
          "'success':[{put {<x/horizon/3:21>,'value':<1700000009560000000 T 1>}},"
          "{put {<x/pool/3:21>,'value':<T>,'lease':'7'}}] ...\n"
          "2080: asks m1 kv/txn {'success':[{range "
          "{<x/pool/3:>,'range_end':<x/pool/3;>,'keys_only':true}},"
          "{range {<x/horizon/3:>,'range_end':<x/horizon/3;>}}]}\n"
          "2090: asks m1 kv/txn {'compare':[{<x/horizon/3:22>,is not there},"
          "{<x/pool/3:22>,is not there}],'success':[{put "
          "{<x/horizon/3:22>,'value':<1700000009590000000 T 2>}},"
          "{put {<x/pool/3:22>,'value':<T>,'lease':'7'}}] ...\n"
          "2100: watches no more\n"
          "starts the thread\n");
}

int main(int argc, char **argv) {
    static const check_test all[] = {CHECK_TEST(what_etcd_is_asked),
                                     CHECK_TEST(what_is_given_is_asked_for),
                                     CHECK_TEST(who_is_logged_out_logs_in),
                                     CHECK_TEST(a_login_that_is_refused_ends_it),
                                     CHECK_TEST(a_claim_that_fails_leaves_nothing),
                                     CHECK_TEST(a_clock_that_is_ahead_writes_nothing),
                                     CHECK_TEST(who_waits_for_a_number_watches_the_pool),
                                     CHECK_TEST(a_horizon_that_lies_ahead_is_waited_for),
                                     CHECK_TEST(clusters_are_tried_in_their_order)};
    return ALONE_MAIN(argc, argv, all);
}
