/* SPDX-License-Identifier: MIT
 *
 * What the holder of a claim and its release ask etcd for, and when; and what comes of each answer.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool wipe_fails;
static int dropped; /* pages */
#define munmap(page, n) (dropped++, munmap(page, n))

/* In libc's stead: this is how a page is asked to be wiped in forked children. */
int madvise(void *page, size_t n, int kind) {
    return wipe_fails && kind == 18 ? -1 : (int)syscall(SYS_madvise, page, n, kind);
}

#include "scripted.h"

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

static void a_page_that_cannot_be_wiped_is_given_back(void) {
    const flake_etcd_options o = scripted();
    begin_claimed(&o, NULL);
    CHECK(claim.word != NULL);
    flake_etcd_destroy(&claim);
    const int before = dropped;
    wipe_fails = true;
    begin_claimed(&o, NULL);
    wipe_fails = false;
    CHECK(claim.word == NULL);
    CHECK_EQ(dropped, before + 1);
}

static flake_i_atomic64 raised;
static void raise_to_50(void) { raised = 50; }
static void raise_to_200(void) { raised = 200; }

static void a_time_that_others_raise_is_not_set_back(void) {
    raised = 7;
    others = raise_to_50;
    flake_i_etcd_raise_time(&raised, 100);
    CHECK_EQ(raised, 100);
    others = raise_to_200;
    flake_i_etcd_raise_time(&raised, 150);
    CHECK_EQ(raised, 200);
    others = NULL;
}

int main(int argc, char **argv) {
    static const check_test all[] = {CHECK_TEST(a_page_that_cannot_be_wiped_is_given_back),
                                     CHECK_TEST(a_time_that_others_raise_is_not_set_back),
                                     CHECK_TEST(a_key_that_is_gone_is_put_back),
                                     CHECK_TEST(an_answer_that_is_lost_is_asked_for_again),
                                     CHECK_TEST(what_failed_is_tried_again_soon),
                                     CHECK_TEST(what_another_has_written_is_lost),
                                     CHECK_TEST(a_release_writes_only_what_is_held),
                                     CHECK_TEST(a_claim_begins_anew),
                                     CHECK_TEST(a_watch_is_a_reason_to_look),
                                     CHECK_TEST(what_draws_wait_for_is_written_at_once),
                                     CHECK_TEST(what_is_not_settled_is_settled_first)};
    return ALONE_MAIN(argc, argv, all);
}
