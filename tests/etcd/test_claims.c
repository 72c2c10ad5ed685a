/* SPDX-License-Identifier: MIT
 *
 * A claim on a node number, and its release: the owner of the keys, the number chosen, the first ID's time,
 * forked children, https and users.
 */
#include "cluster.h"
#include "children.h"

static flake_gen ids;

static int64_t ms_of_next(flake_gen *gen, uint64_t node) {
    flake_parts parts = {0, 0, 0};
    uint64_t id = 0;
    CHECK_EQ(flake_next(gen, &id), FLAKE_OK);
    CHECK_EQ(flake_decompose(&flake_gen_options(gen)->layout, id, &parts), FLAKE_OK);
    CHECK_EQ(parts.node, node);
    return parts.unix_ms;
}

static void is_ahead(const char *horizon) {
    const int64_t ahead_ms = horizon_of(horizon) / 1000000 - unix_ms();
    CHECK(ahead_ms > 1500 && ahead_ms <= 3000);
}

TEST(a_claim_is_a_leased_key_and_a_horizon) {
    char token[40], pool[64], horizon[64];
    int64_t ttl = 0;
    const flake_etcd_options o = from(all_members, "two-keys/");
    delete_keys("two-keys/");
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    const unsigned number = generator_of(&claim);
    (void)snprintf(pool, sizeof pool, "%s", key_of(&claim, "pool"));
    (void)snprintf(horizon, sizeof horizon, "%s", key_of(&claim, "horizon"));
    CHECK_EQ(cluster_of(&claim), 0);
    CHECK(number < 256);
    CHECK(flake_etcd_left_ms(&claim) > 1500 && flake_etcd_left_ms(&claim) <= 3000);
    CHECK_EQ(flake_etcd_claim(&claim, &o, NULL), FLAKE_INVALID);

    (void)snprintf(token, sizeof token, "%s", value_of(etcd, pool));
    CHECK_EQ(strlen(token), 32);
    CHECK_EQ(strspn(token, "0123456789abcdef"), 32);
    CHECK(flake_i_json_number(flake_i_json_get(ask_of_lease(pool, "lease/timetolive"), "grantedTTL"), &ttl));
    CHECK_EQ(ttl, 3);
    CHECK(strstr(value_of(etcd, horizon), token) != NULL);
    is_ahead(horizon);
    CHECK(member_of_key(horizon, "kvs/0/lease").at == NULL);

    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    (void)ms_of_next(&ids, flake_uniqueid_node(0, number));
    CHECK_EQ(draw_for(&ids, 3400), FLAKE_OK); /* longer than lease and horizon */
    CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_OK);
    is_ahead(horizon);

    /* The release leaves the time of the last ID, and no key in the pool. */
    const int64_t last_ms = ms_of_next(&ids, flake_uniqueid_node(0, number));
    let_go(&claim);
    CHECK_STR(value_of(etcd, pool), "");
    CHECK(horizon_of(horizon) == last_ms * 1000000 + 999999);
    /* The next claim of the number has another token. */
    CHECK(strstr(value_of(etcd, horizon), token) != NULL);
    fill("two-keys/", 0, 256, number, number);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK(strcmp(value_of(etcd, pool), token) != 0);
    CHECK(strstr(value_of(etcd, horizon), token) == NULL);
    let_go(&claim);
}

/* A real etcd's answer; `clusters_are_tried_in_their_order` has the rest. */
TEST(the_cluster_is_read_from_its_key) {
    const flake_etcd_options o = from(all_members, "clusters/");
    put_key("clusters/cluster-id", "3, 4"); /* the first is full */
    fill("clusters/", 3, 256, 1, 0);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(claim.node, flake_uniqueid_node(4, generator_of(&claim)));
    let_go(&claim);
}

/* A child releases another number while this process waits: a real watch reports it. */
TEST(a_full_pool_is_waited_for) {
    flake_etcd_options o = from(all_members, "full/");
    o.last = 2047;
    fill("full/", 0, 2048, 2046, 2046);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(generator_of(&claim), 2046);
    pid_t child;
    IN_CHILD_AS(child) {
        flake_i_etcd *const own = admin(all_members);
        nap_ms(700);
        delete_key(own, "full/pool/0:17");
    }
    o.wait_ms = 10000;
    const int64_t begin_ms = now_ms();
    CHECK_EQ(claims(&second, &o), FLAKE_OK);
    CHECK_EQ(generator_of(&second), 17);
    CHECK(now_ms() - begin_ms >= 600 && now_ms() - begin_ms < 3000);
    end_child(child);
    let_go(&second);
    let_go(&claim);
    delete_keys("full/");
}

/* IDs run 20 s ahead, and the clock of the next holder lags: it still begins after all of them. */
TEST(a_released_number_begins_after_its_last_id) {
    const flake_etcd_options o = from(all_members, "ahead/");
    uint64_t id, newest = 0;
    leave_free("ahead/", 9, 9);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(init_ahead(&ids, &claim, 25000), FLAKE_OK);
    const int64_t until_ms = unix_ms() + 20000, end_ms = now_ms() + 9000;
    flake_parts parts = {0, 0, 0};
    while (parts.unix_ms < until_ms && now_ms() < end_ms && flake_next(&ids, &newest) == FLAKE_OK)
        CHECK_EQ(flake_decompose(&flake_layout_uniqueid_ordered, newest, &parts), FLAKE_OK);
    CHECK(parts.unix_ms >= until_ms);
    let_go(&claim);
    skew_ns = -20000000000;
    hold(&second, &ids, &o);
    CHECK(flake_try(&ids, &id) != FLAKE_OK);
    CHECK(flake_try_at(&ids, unix_ms() - 60000, &id) != FLAKE_OK);
    CHECK_EQ(init_ahead(&ids, &second, 50000), FLAKE_OK); /* instead of waiting 40 s */
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
    CHECK(id > newest);
    let_go(&second);
    skew_ns = 0;
}

/* With the dates of a real etcd. */
TEST(a_clock_far_ahead_claims_nothing) {
    const flake_etcd_options o = from(all_members, "far/");
    flake_why why;
    leave_free("far/", 9, 9);
    skew_ns = 90 * (int64_t)1000000000;
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_IO);
    CHECK(strstr(why.text, "60 s ahead of etcd's") != NULL);
    CHECK_STR(value_of(etcd, "far/horizon/0:9"), "");
    skew_ns = 0;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    let_go(&claim);
}

enum { rivals = 8 };
static _Atomic(int) rivals_ready;

static void *claim_with_the_others(void *user) {
    const flake_etcd_options o = from(all_members, "rivals/");
    flake_etcd *const c = (flake_etcd *)user;
    atomic_fetch_add(&rivals_ready, 1);
    while (atomic_load(&rivals_ready) % rivals) {
    }
    return flake_etcd_claim(c, &o, NULL) == FLAKE_OK ? c : NULL;
}

TEST(of_many_claims_at_once_one_succeeds) {
    static flake_etcd rival[rivals];
    pthread_t thread[rivals];
    for (int round = 0; round < 4; round++) {
        unsigned won = 0;
        fill("rivals/", 0, 256, 77, 77);
        for (int i = 0; i < rivals; i++)
            if (pthread_create(&thread[i], NULL, claim_with_the_others, &rival[i]) != 0) abort();
        for (int i = 0; i < rivals; i++) {
            void *winner = NULL;
            (void)pthread_join(thread[i], &winner);
            won += winner != NULL;
        }
        CHECK_EQ(won, 1);
        for (int i = 0; i < rivals; i++) flake_etcd_destroy(&rival[i]);
        delete_keys("rivals/");
    }
}

/* ---- fork ---- */

static bool is_process_1; /* of one namespace; its child will be of another */

static void has_no_claim(void) {
    uint64_t id;
    flake_gen own;
    CHECK(!is_process_1 || getpid() == 1);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_FORKED);
    CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_FORKED);
    CHECK_EQ(flake_etcd_left_ms(&claim), 0);
    CHECK_EQ(flake_i_etcd_gate(&claim, flake_i_system_ns(FLAKE_CLOCK_EXACT)), FLAKE_FORKED);
    CHECK(init(&own, &claim) != FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    const flake_etcd_options o = from(all_members, "fork/");
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);   /* its own */
    CHECK(flake_next(&ids, &id) != FLAKE_OK); /* the parent's, still closed */
    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
}

static void forks_while_it_holds(void) {
    const flake_etcd_options o = from(all_members, "fork/");
    CHECK(!is_process_1 || getpid() == 1);
    hold(&claim, &ids, &o);
    CHECK_EQ(draw_for(&ids, 100), FLAKE_OK);
    if (is_process_1) CHECK_EQ(unshare(CLONE_NEWPID), 0);
    in_child(has_no_claim);
    CHECK_EQ(draw_for(&ids, 1500), FLAKE_OK);
    let_go(&claim);
}

TEST(a_child_has_no_claim) { forks_while_it_holds(); }

static void begin_a_namespace(void) {
    is_process_1 = true;
    if (unshare(CLONE_NEWPID) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0) in_child(forks_while_it_holds);
    else printf("  SKIPPED: no pid namespaces here\n");
}

TEST(a_child_with_its_parents_pid_has_no_claim) { in_child(begin_a_namespace); }

/* ---- https, and etcd's authentication ---- */

TEST(a_claim_uses_https_and_logs_in) {
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
    hold(&claim, &ids, &o);
    CHECK_EQ(draw_for(&ids, 1200), FLAKE_OK);
    let_go(&claim);

    (void)ask(s, "auth/user/add", "{\"name\":\"root\",\"password\":\"q\\\"\\\\w\"}");
    (void)ask(s, "auth/user/grant", "{\"user\":\"root\",\"role\":\"root\"}");
    (void)ask(s, "auth/enable", "{}");
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_IO); /* no user */
    o.user = "root";
    o.password = "wrong";
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_IO);
    o.password = "q\"\\w";
    hold(&claim, &ids, &o);
    CHECK_EQ(draw_for(&ids, 300), FLAKE_OK);
    /* A member's tokens end with it: the next renewal logs in again. */
    member_signal(3, SIGKILL);
    member_start(3);
    CHECK(draw_for(&ids, 3000) != FLAKE_LEASE_LOST);
    let_go(&claim);
    flake_i_etcd_close_session(s);
}

int main(int argc, char **argv) { return cluster_main(argc, argv); }
