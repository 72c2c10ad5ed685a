/* SPDX-License-Identifier: MIT
 *
 * What a claim, its holder and a release ask etcd for, byte by byte, and when; and what comes of each answer.
 */
#include "scripted.h"

#define NOTED(text) CHECK(was_noted(text))
#define RANGE(kvs)  "{'response_range':{'header':{}" kvs "}}"
#define BOTH(horizon, pool)                                \
    "{'header':{},'responses':[" RANGE(horizon) "," RANGE( \
        pool) "]}" /* of a write that is refused */
#define HORIZON(value) ",'kvs':[{'key':'$horizon','value':'" value "'}]"
#define POOL           ",'kvs':[{'key':'$pool','value':'eA=='}]"

static const char *name_of(flake_status status) {
    return status == FLAKE_OK      ? "ok"
           : status == FLAKE_AGAIN ? "again"
           : status == FLAKE_IO    ? "io"
           : status == FLAKE_LEASE ? "lost"
                                   : "something else";
}

/* A claim of number 21 of cluster 2, by three requests; notes the rest in brief. */
static void begin_claimed(const flake_etcd_options *options, const told *then) {
    flake_etcd_options o = *options;
    script_begin();
    o.cluster_given = true;
    o.cluster = 2;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(clock_ms, 1030);
    is_brief = true;
    CHECK_EQ(flake_etcd_cluster(&claim), 2);
    CHECK_EQ(flake_etcd_generator(&claim), 21);
    forget_noted();
    tell(then);
}

static void say_how_it_is(void) {
    const flake_status status = flake_etcd_check(&claim, &why);
    note_time();
    note_raw("is %s \"%s\", left %d ms\n", name_of(status), why.text,
             (int)flake_etcd_left_ms(&claim));
}

static int64_t wanted_ms;

static void want(void) {
    const int64_t unix_ms = begin_s * INT64_C(1000) + wanted_ms;
    note_time();
    note_raw("a draw is %s\n", name_of(flake_i_etcd_admit(&claim, unix_ms * 1000000)));
}

/* The answer to who reads a cluster's numbers: keys from..to are taken, and a horizon of a number. */
static const char *numbers(unsigned cluster, unsigned from, unsigned to, unsigned number,
                           int64_t horizon_ms) {
    static char text[8][20000];
    static int next;
    char *const out = text[next++ % 8], key[40], key64[64], value[80], value64[120];
    int n = sprintf(out, "{'header':{},'responses':[{'response_range':{'header':{},'kvs':[");
    for (unsigned i = from; i <= to; i++) {
        (void)snprintf(key, sizeof key, "x/pool/%u:%u", cluster, i);
        flake_i_to_base64(key, strlen(key), key64);
        n += sprintf(out + n, "%s{'key':'%s'}", i == from ? "" : ",", key64);
    }
    (void)snprintf(key, sizeof key, "x/horizon/%u:%u", cluster, number);
    flake_i_to_base64(key, strlen(key), key64);
    (void)snprintf(value, sizeof value, "%lld " TOKEN " 9",
                   (begin_s * 1000LL + horizon_ms) * 1000000);
    flake_i_to_base64(value, strlen(value), value64);
    (void)sprintf(out + n,
                  "]}},{'response_range':{'header':{},'kvs':[{'key':'%s','value':'%s'}]}}]}", key64,
                  value64);
    return out;
}

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

/* The lease has run out and the key with it: a write with a new lease puts it back. */
static void a_key_that_is_gone_is_put_back(void) {
    static const told gone[] = {{.to = "lease/keepalive", .text = "{'result':{'header':{}}}"},
                                {.to = "LEASE", .text = BOTH(HORIZON("$known"), "")},
                                {.to = "lease/grant", .text = "{'header':{},'ID':'8','TTL':'3'}"},
                                {0}};
    static const told no_lease[] = {
        {.to = "kv/txn", .http = 404, .text = "{'error':'no lease','code':5}"},
        {.to = "kv/txn", .text = "{'error':{'grpc_code':5}}"},
        {.to = "kv/txn", .http = 404, .text = "{'error':'no lease','code':5}"},
        {.to = "kv/txn", .http = 404, .text = "{'error':'no lease','code':5}"},
        {0}};
    const flake_etcd_options o = scripted();
    begin_claimed(&o, gone);
    hold_ms(1300);
    NOTED("1030: watches m1 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 10 times, 1000 ms\n"
          "2030: asks m1 lease/keepalive {'ID':'7'}\n"
          "2040: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000009540000000 T 2>}}] ...\n"
          "2050: asks m1 lease/grant {'TTL':'3'}\n"
          "2060: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,is not there}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000009550000000 T 3>}},"
          "{put {<x/pool/2:21>,'value':<T>,'lease':'8'}}] ...\n"
          "waits 3 times, 260 ms\n"
          "2330: watches no more\n");
    begin_claimed(&o, no_lease + 1); /* three times */
    watch_says_ms = 1100;
    hold_ms(200);
    NOTED("1030: watches m1 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 1 times, 70 ms\n"
          "1100: the watch says something\n"
          "1100: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000008600000000 T 2>}}] ...\n"
          "1110: asks m1 lease/grant {'TTL':'3'}\n"
          "1120: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,is not there}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000008610000000 T 3>}},"
          "{put {<x/pool/2:21>,'value':<T>,'lease':'7'}}] ...\n"
          "1130: asks m1 lease/grant {'TTL':'3'}\n"
          "1140: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,is not there}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000008630000000 T 4>}},"
          "{put {<x/pool/2:21>,'value':<T>,'lease':'7'}}] ...\n"
          "1150: asks m1 lease/grant {'TTL':'3'}\n"
          "1160: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,is not there}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000008650000000 T 5>}},"
          "{put {<x/pool/2:21>,'value':<T>,'lease':'7'}}] ...\n"
          "waits 1 times, 60 ms\n"
          "1230: watches no more\n");
    CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_OK);
    begin_claimed(&o, no_lease); /* four times */
    watch_says_ms = 1100;
    hold_ms(200);
    CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_IO);
}

/* The same bytes are sent until it is known what came of them; only then others. */
static void an_answer_that_is_lost_is_asked_for_again(void) {
    static const told lost[] = {{.to = "LEASE", .sent = CURLE_GOT_NOTHING, .ms = 300},
                                {.to = "LEASE", .sent = CURLE_GOT_NOTHING, .ms = 300},
                                {.to = "LEASE", .text = "{'header':{}}"},
                                {.to = "LEASE", .text = "{'header':{}}"},
                                {.to = "LEASE", .text = BOTH(HORIZON("$put"), POOL)},
                                {0}};
    static const told cut[] = {
        {.to = "keepalive", .sent = CURLE_OPERATION_TIMEDOUT, .ms = 700},
        {.to = "keepalive", .sent = CURLE_PARTIAL_FILE, .text = "{'res", .ms = 50},
        {.to = "keepalive", .http = 503, .text = "{'error':'x','code':14}"},
        {0}};
    const flake_etcd_options o = scripted();
    begin_claimed(&o, lost);
    looks = say_how_it_is;
    looks_ms = 4300;
    hold_ms(3600);
    say_how_it_is();
    NOTED("1030: watches m1 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 10 times, 1000 ms\n"
          "2030: asks m1 lease/keepalive {'ID':'7'}\n"
          "waits 10 times, 1000 ms\n"
          "3040: asks m1 lease/keepalive {'ID':'7'}\n"
          "waits 5 times, 480 ms\n"
          "3530: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000011030000000 T 2>}}] ...\n"
          "3830: asks m2 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000011030000000 T 2>}}] ...\n"
          "4130: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000011030000000 T 2>}}] ...\n"
          "4140: watches no more\n"
          "4140: asks m1 lease/keepalive {'ID':'7'}\n"
          "waits 2 times, 150 ms\n"
          "4300: is io \"etcd was not reached\", left 4210 ms\n"
          "waits 1 times, 90 ms\n"
          "4390: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000011030000000 T 2>}}] ...\n"
          "4400: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000011030000000 T 2>}}] ...\n"
          "4410: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000011030000000 T 2>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000011910000000 T 3>}}] ...\n"
          "4420: watches m1 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 3 times, 210 ms\n"
          "4630: watches no more\n"
          "4630: is ok \"\", left 7280 ms\n");
    begin_claimed(&o, cut);
    hold_ms(2400);
    NOTED("1030: watches m1 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 10 times, 1000 ms\n"
          "2030: asks m1 lease/keepalive {'ID':'7'}\n"
          "2730: asks m2 lease/keepalive {'ID':'7'}\n"
          "waits 3 times, 250 ms\n"
          "3030: asks m1 lease/keepalive {'ID':'7'}\n"
          "3040: asks m2 lease/keepalive {'ID':'7'}\n"
          "waits 4 times, 380 ms\n"
          "3430: watches no more\n");
    begin_claimed(&o, lost);
    watch_says_ms = 1100;
    hold_ms(200); /* it ends while the first member is asked */
    NOTED("1030: watches m1 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 1 times, 70 ms\n"
          "1100: the watch says something\n"
          "1100: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000008600000000 T 2>}}] ...\n"
          "1400: asks m2 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000008600000000 T 2>}}] ...\n"
          "1700: watches no more\n");
}

/* Soon is a twelfth of the lease, a request's time, or 250 ms, whichever is least. */
static void what_failed_is_tried_again_soon(void) {
    static const told grants[][2] = {
        {{.to = "lease/grant", .text = "{'header':{},'ID':'9','TTL':'1'}"}, {0}},
        {{.to = "lease/grant", .text = "{'header':{},'ID':'9','TTL':'30'}"}, {0}}};
    static const told fails[] = {{.to = "kv/txn", .http = 503, .text = "{'code':14}"},
                                 {.to = "kv/txn", .http = 503, .text = "{'code':14}"},
                                 {.to = "kv/txn", .http = 503, .text = "{'code':14}"},
                                 {.to = "kv/txn", .http = 503, .text = "{'code':14}"},
                                 {0}};
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
        watch_says_ms = clock_ms + 10;
        hold_ms(400);
        /* four requests of 10 ms fail, then it waits */
        char wanted[40];
        (void)snprintf(wanted, sizeof wanted, "\n%d: asks", 1040 + 10 + 40 + cases[i][2]);
        CHECK(strstr(notes, wanted) != NULL);
    }
}

static void what_another_has_written_is_lost(void) {
    static const told other[] = {{.to = "LEASE", .text = BOTH(HORIZON("eA=="), POOL)}, {0}};
    const flake_etcd_options o = scripted();
    begin_claimed(&o, other);
    watch_says_ms = 1500;
    const flake_gate gate = flake_etcd_gate(&claim);
    CHECK_EQ(gate.floor_ns(gate.user), INT64_MIN);
    (void)thread_run(thread_user); /* ends by itself */
    say_how_it_is();
    CHECK_EQ(flake_etcd_release(&claim, &why), FLAKE_OK);
    CHECK_STR(why.text, "");
    NOTED("1030: watches m1 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 5 times, 470 ms\n"
          "1500: the watch says something\n"
          "1500: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000009000000000 T 2>}}] ...\n"
          "1510: watches no more\n"
          "1510: is lost \"another has written the number's keys\", left 0 ms\n"
          "wakes the thread\n"
          "joins the thread\n"
          "1510: asks m1 lease/revoke {'ID':'7'}\n"
          "closes what waits\n"
          "closes the request\n"
          "closes the watch\n");
}

static void lose_it(void) {
    const uint64_t state = claim.state;
    claim.state = (state & ~(uint64_t)3) | FLAKE_I_ETCD_LOST;
}

/* A loss that the thread comes upon as the release begins; and a child's release, which sends nothing. */
static void a_release_writes_only_what_is_held(void) {
    const flake_etcd_options o = scripted();
    begin_claimed(&o, NULL);
    looks_at_join = true;
    looks = lose_it;
    CHECK_EQ(flake_etcd_release(&claim, &why), FLAKE_OK);
    NOTED("wakes the thread\n"
          "joins the thread\n"
          "1030: asks m1 lease/revoke {'ID':'7'}\n"
          "closes what waits\n"
          "closes the request\n"
          "closes the watch\n");
    begin_claimed(&o, NULL);
    struct curl_slist *const headers = claim.session->headers;
    claim.process++;
    CHECK_EQ(flake_etcd_release(&claim, &why), FLAKE_OK);
    NOTED("");
    claim.process--;
    curl_slist_free_all(headers);
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

/* Nothing is left of a claim in the next one of the same object. */
static void a_claim_begins_anew(void) {
    static const told fails[] = {{.to = "LEASE", .http = 503, .text = "{'code':14}"},
                                 {.to = "LEASE", .http = 503, .text = "{'code':14}"},
                                 {.to = "LEASE", .http = 503, .text = "{'code':14}"},
                                 {.to = "LEASE", .http = 503, .text = "{'code':14}"},
                                 {0}};
    const told later[] = {{.to = "keys_only", .text = numbers(0, 0, 20, 21, -7000)}, {0}};
    const flake_etcd_options o = scripted();
    begin_claimed(&o, fails);
    wanted_ms = 5000;
    want();
    wanted_ms = 30000;
    want();
    hold_ms(50);
    say_how_it_is();
    want();
    const uint64_t state = claim.state, word = *claim.word;
    CHECK(word != 0);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    CHECK_EQ(*claim.word, 0);
    say_how_it_is();
    NOTED("1030: a draw is ok\n"
          "1030: a draw is again\n"
          "1030: watches m1 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "1030: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000037500000000 T 2>}}] ...\n"
          "1040: asks m2 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000037500000000 T 2>}}] ...\n"
          "1050: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000037500000000 T 2>}}] ...\n"
          "1060: asks m2 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000037500000000 T 2>}}] ...\n"
          "1070: watches no more\n"
          "waits 1 times, 10 ms\n"
          "1080: is io \"etcd was not reached\", left 7430 ms\n"
          "1080: a draw is io\n"
          "wakes the thread\n"
          "joins the thread\n"
          "1080: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000037500000000 T 2>}}] ...\n"
          "1090: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000037500000000 T 2>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000005000000000 T 3>}},"
          "{delete {<x/pool/2:21>}}] ...\n"
          "1100: asks m1 lease/revoke {'ID':'7'}\n"
          "closes what waits\n"
          "closes the request\n"
          "closes the watch\n"
          "1110: is lost \"nothing is claimed\", left 0 ms\n");
    tell(later);
    easies_n = 0;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK(claim.state != state && *claim.word != word && *claim.word != 0);
    const flake_gate gate = flake_etcd_gate(&claim);
    CHECK(gate.floor_ns(gate.user) == (begin_s * 1000LL - 7000) * 1000000);
    CHECK(gate.word == claim.word && gate.user == &claim);
    CHECK(!flake_i_etcd_is_wanted(&claim));
    say_how_it_is();
    want();
    NOTED("1110: asks m1 kv/range {<x/cluster-id>}\n"
          "1120: asks m1 kv/txn {'success':[{range "
          "{<x/pool/0:>,'range_end':<x/pool/0;>,'keys_only':true}},"
          "{range {<x/horizon/0:>,'range_end':<x/horizon/0;>}}]}\n"
          "1130: asks m1 lease/grant {'TTL':'3'}\n"
          "1140: asks m1 kv/txn {'compare':[{<x/horizon/0:21>,is <1699999993000000000 "
          "0123456789abcdef0123456789ABCDEF 9>},{<x/pool/0:21>,is not there}],"
          "'success':[{put {<x/horizon/0:21>,'value':<1700000008630000000 T 1>}},"
          "{put {<x/pool/0:21>,'value':<T>,'lease':'7'}}] ...\n"
          "starts the thread\n"
          "1150: is ok \"\", left 7480 ms\n"
          "1150: a draw is again\n");
}

/* A watch that says something, and one that ends, are reasons to look. */
static void a_watch_is_a_reason_to_look(void) {
    static const told moved[] = {{.to = "LEASE", .sent = CURLE_GOT_NOTHING, .ms = 20}, {0}};
    const flake_etcd_options o = scripted();
    begin_claimed(&o, moved); /* the write goes to the next member, and the watch with it */
    watch_says_ms = 1234;
    hold_ms(800);
    NOTED("1030: watches m1 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 3 times, 204 ms\n"
          "1234: the watch says something\n"
          "1234: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000008734000000 T 2>}}] ...\n"
          "1254: asks m2 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000008734000000 T 2>}}] ...\n"
          "1264: watches no more\n"
          "1264: watches m2 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 6 times, 566 ms\n"
          "1830: watches no more\n");
    watch_says_ms = clock_ms + 100;
    hold_ms(300);
    tell(moved); /* and back */
    watch_says_ms = clock_ms + 100;
    hold_ms(300);
    NOTED("1830: watches m2 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 1 times, 100 ms\n"
          "1930: the watch says something\n"
          "1930: asks m2 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008734000000 T 2>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000009430000000 T 3>}}] ...\n"
          "waits 2 times, 190 ms\n"
          "2130: watches no more\n"
          "2130: watches m2 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 1 times, 100 ms\n"
          "2230: the watch says something\n"
          "2230: asks m2 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000009430000000 T 3>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000009730000000 T 4>}}] ...\n"
          "2250: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000009430000000 T 3>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000009730000000 T 4>}}] ...\n"
          "2260: watches no more\n"
          "2260: watches m1 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 2 times, 170 ms\n"
          "2430: watches no more\n");
    begin_claimed(&o, NULL);
    watch_says_ms = 2035; /* while the lease is renewed */
    hold_ms(1200);
    NOTED("1030: watches m1 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 10 times, 1000 ms\n"
          "2030: asks m1 lease/keepalive {'ID':'7'}\n"
          "2040: the watch says something\n"
          "2040: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000009540000000 T 2>}}] ...\n"
          "waits 2 times, 180 ms\n"
          "2230: watches no more\n");
    begin_claimed(&o, NULL);
    watch_ends_ms = 1200;
    hold_ms(800);
    NOTED("1030: watches m1 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 2 times, 170 ms\n"
          "1200: the watch ends\n"
          "1200: watches no more\n"
          "waits 2 times, 180 ms\n"
          "1380: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000008880000000 T 2>}}] ...\n"
          "1390: watches m1 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 5 times, 440 ms\n"
          "1830: watches no more\n");
    begin_claimed(&o, NULL);
    watch_ends_ms = 3500; /* the horizon is due in 30 ms, sooner than soon */
    hold_ms(2700);
    NOTED("1030: watches m1 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 10 times, 1000 ms\n"
          "2030: asks m1 lease/keepalive {'ID':'7'}\n"
          "waits 10 times, 1000 ms\n"
          "3040: asks m1 lease/keepalive {'ID':'7'}\n"
          "waits 5 times, 450 ms\n"
          "3500: the watch ends\n"
          "3500: watches no more\n"
          "waits 1 times, 30 ms\n"
          "3530: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000011030000000 T 2>}}] ...\n"
          "3540: watches m1 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 2 times, 190 ms\n"
          "3730: watches no more\n");
}

/* Draws that wait for the horizon bring it forward, but not more than a minute past etcd's clock. */
static void what_draws_wait_for_is_written_at_once(void) {
    static const told dated[] = {{.to = "LEASE",
                                  .text = "{'header':{},'succeeded':true}",
                                  .date = "Date: Tue, 14 Nov 2023 22:13:20 GMT\r\n"},
                                 {0}};
    const flake_etcd_options o = scripted();
    begin_claimed(&o, dated);
    looks = want;
    looks_ms = 1150;
    wanted_ms = 20000;
    hold_ms(400);
    NOTED("1030: watches m1 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 2 times, 120 ms\n"
          "1150: a draw is again\n"
          "1150: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000027500000000 T 2>}}] ...\n"
          "waits 3 times, 270 ms\n"
          "1430: watches no more\n");
    want();
    looks_ms = 1500;
    wanted_ms = 60340; /* etcd's clock is at 340 */
    hold_ms(100);
    say_how_it_is();
    looks_ms = 1600;
    wanted_ms = 67841;
    hold_ms(200);
    say_how_it_is();
    NOTED("1430: a draw is ok\n"
          "1430: watches m1 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 1 times, 70 ms\n"
          "1500: a draw is again\n"
          "1500: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000027500000000 T 2>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000067840000000 T 3>}}] ...\n"
          "waits 1 times, 20 ms\n"
          "1530: watches no more\n"
          "1530: is ok \"\", left 66310 ms\n"
          "1530: watches m1 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 1 times, 70 ms\n"
          "1600: a draw is again\n"
          "1600: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000067840000000 T 3>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000067840000000 T 4>}}] ...\n"
          "waits 2 times, 120 ms\n"
          "1730: watches no more\n"
          "1730: is io \"ids were asked for more than 60 s ahead of etcd's clock\", left 66110 "
          "ms\n");
    wanted_ms = 70000;
    want();
    wanted_ms = 67840;
    want();
    say_how_it_is();
    hold_ms(2700);
    say_how_it_is();
    NOTED("1730: a draw is io\n"
          "1730: a draw is ok\n"
          "1730: is io \"ids were asked for more than 60 s ahead of etcd's clock\", left 66110 "
          "ms\n"
          "1730: watches m1 watch {'create_request':{<x/pool/2:21>,'range_end':''}}\n"
          "waits 10 times, 1000 ms\n"
          "2730: asks m1 lease/keepalive {'ID':'7'}\n"
          "waits 10 times, 1000 ms\n"
          "3740: asks m1 lease/keepalive {'ID':'7'}\n"
          "waits 5 times, 480 ms\n"
          "4230: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000067840000000 T 4>},"
          "{<x/pool/2:21>,has lease '7'}],'success':[{put "
          "{<x/horizon/2:21>,'value':<1700000067840000000 T 5>}}] ...\n"
          "waits 2 times, 190 ms\n"
          "4430: watches no more\n"
          "4430: is io \"ids were asked for more than 60 s ahead of etcd's clock\", left 63410 "
          "ms\n");
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

/* A write that is not settled is settled before the release. */
static void what_is_not_settled_is_settled_first(void) {
    static const told lost[] = {{.to = "LEASE", .sent = CURLE_GOT_NOTHING},
                                {.to = "LEASE", .sent = CURLE_GOT_NOTHING},
                                {.to = "LEASE", .sent = CURLE_GOT_NOTHING},
                                {.to = "LEASE", .sent = CURLE_GOT_NOTHING},
                                {0}};
    static const told gone[] = {{.to = "LEASE", .text = BOTH(HORIZON("$known"), "")}, {0}};
    static const told other[] = {{.to = "LEASE", .text = BOTH("", POOL)}, {0}};
    const flake_etcd_options o = scripted();
    for (int i = 0; i < 4; i++) {
        begin_claimed(&o, lost);
        watch_says_ms = 1100;
        hold_ms(110);
        forget_noted();
        tell(i == 0 ? NULL : i == 1 ? gone : i == 2 ? other : lost);
        CHECK_EQ(flake_etcd_release(&claim, &why), i < 3 ? FLAKE_OK : FLAKE_IO);
        note_raw("is \"%s\"\n", why.text);
        if (i == 0)
            NOTED(
                "wakes the thread\n"
                "joins the thread\n"
                "1140: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
                "{<x/pool/2:21>,has lease '7'}],'success':[{put "
                "{<x/horizon/2:21>,'value':<1700000008600000000 T 2>}}] ...\n"
                "1150: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008600000000 T 2>},"
                "{<x/pool/2:21>,has lease '7'}],'success':[{put {<x/horizon/2:21>,'value':<0 T "
                "3>}},{delete {<x/pool/2:21>}}] ...\n"
                "1160: asks m1 lease/revoke {'ID':'7'}\n"
                "closes what waits\n"
                "closes the request\n"
                "closes the watch\n"
                "is \"\"\n");
        if (i == 1)
            NOTED(
                "wakes the thread\n"
                "joins the thread\n"
                "1140: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
                "{<x/pool/2:21>,has lease '7'}],'success':[{put "
                "{<x/horizon/2:21>,'value':<1700000008600000000 T 2>}}] ...\n"
                "closes what waits\n"
                "closes the request\n"
                "closes the watch\n"
                "is \"\"\n");
        if (i == 2)
            NOTED(
                "wakes the thread\n"
                "joins the thread\n"
                "1140: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
                "{<x/pool/2:21>,has lease '7'}],'success':[{put "
                "{<x/horizon/2:21>,'value':<1700000008600000000 T 2>}}] ...\n"
                "1150: asks m1 lease/revoke {'ID':'7'}\n"
                "closes what waits\n"
                "closes the request\n"
                "closes the watch\n"
                "is \"\"\n");
        if (i == 3)
            NOTED(
                "wakes the thread\n"
                "joins the thread\n"
                "1140: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
                "{<x/pool/2:21>,has lease '7'}],'success':[{put "
                "{<x/horizon/2:21>,'value':<1700000008600000000 T 2>}}] ...\n"
                "1150: asks m2 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
                "{<x/pool/2:21>,has lease '7'}],'success':[{put "
                "{<x/horizon/2:21>,'value':<1700000008600000000 T 2>}}] ...\n"
                "1160: asks m1 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
                "{<x/pool/2:21>,has lease '7'}],'success':[{put "
                "{<x/horizon/2:21>,'value':<1700000008600000000 T 2>}}] ...\n"
                "1170: asks m2 kv/txn {'compare':[{<x/horizon/2:21>,is <1700000008510000000 T 1>},"
                "{<x/pool/2:21>,has lease '7'}],'success':[{put "
                "{<x/horizon/2:21>,'value':<1700000008600000000 T 2>}}] ...\n"
                "closes what waits\n"
                "closes the request\n"
                "closes the watch\n"
                "is \"https://m2: Server returned nothing (no headers, no data)\"\n");
    }
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
                                     CHECK_TEST(a_key_that_is_gone_is_put_back),
                                     CHECK_TEST(an_answer_that_is_lost_is_asked_for_again),
                                     CHECK_TEST(what_failed_is_tried_again_soon),
                                     CHECK_TEST(what_another_has_written_is_lost),
                                     CHECK_TEST(a_release_writes_only_what_is_held),
                                     CHECK_TEST(a_claim_that_fails_leaves_nothing),
                                     CHECK_TEST(a_claim_begins_anew),
                                     CHECK_TEST(a_watch_is_a_reason_to_look),
                                     CHECK_TEST(what_draws_wait_for_is_written_at_once),
                                     CHECK_TEST(a_clock_that_is_ahead_writes_nothing),
                                     CHECK_TEST(what_is_not_settled_is_settled_first),
                                     CHECK_TEST(who_waits_for_a_number_watches_the_pool),
                                     CHECK_TEST(a_horizon_that_lies_ahead_is_waited_for),
                                     CHECK_TEST(clusters_are_tried_in_their_order)};
    return ALONE_MAIN(argc, argv, all);
}
