/* SPDX-License-Identifier: MIT
 *
 * A claim on a node number, and its release: whose the keys are, which number is taken, where its ids begin,
 * forked children, https and users.
 */
#include "cluster.h"

static flake_gen ids;

TEST(a_claim_is_a_leased_key_and_a_horizon) {
    char body[200], token[40];
    int64_t lease = 0, ttl = 0;
    flake_parts parts = {0, 0, 0};
    uint64_t id;
    const flake_etcd_options o = from(all_members, "two-keys/");
    delete_keys(etcd, "two-keys/");
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_cluster(&claim), 0);
    CHECK(flake_etcd_generator(&claim) < 256);
    CHECK(flake_etcd_left_ms(&claim) > 1500 && flake_etcd_left_ms(&claim) <= 3000);
    CHECK_EQ(flake_etcd_claim(&claim, &o, NULL), FLAKE_INVALID);

    (void)snprintf(token, sizeof token, "%s", value_of(etcd, key_of(&claim, "pool")));
    CHECK_EQ(strlen(token), 32);
    CHECK_EQ(strspn(token, "0123456789abcdef"), 32);
    const flake_i_json kv =
        flake_i_json_get(ask(etcd, "kv/range", key_body(key_of(&claim, "pool"), "")), "kvs/0");
    CHECK(flake_i_json_number(flake_i_json_get(kv, "lease"), &lease));
    (void)snprintf(body, sizeof body, "{\"ID\":\"%lld\"}", (long long)lease);
    CHECK(flake_i_json_number(flake_i_json_get(ask(etcd, "lease/timetolive", body), "grantedTTL"),
                              &ttl));
    CHECK_EQ(ttl, 3);
    const char *const horizon = value_of(etcd, key_of(&claim, "horizon"));
    CHECK(strstr(horizon, token) != NULL);
    const int64_t ahead_ms =
        flake_i_etcd_horizon_in(horizon, strlen(horizon)) / 1000000 - unix_ms();
    CHECK(ahead_ms > 1500 && ahead_ms <= 3000);
    CHECK(
        flake_i_json_get(ask(etcd, "kv/range", key_body(key_of(&claim, "horizon"), "")), "kvs/0/lease")
            .at == NULL);

    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
    const flake_layout layout = flake_layout_uniqueid_ordered;
    CHECK_EQ(flake_decompose(&layout, id, &parts), FLAKE_OK);
    CHECK_EQ(parts.node, flake_uniqueid_node(0, flake_etcd_generator(&claim)));
    CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_OK);
    CHECK(ms_until_lost(&ids, 3400) == -1); /* longer than lease and horizon */
    const int64_t later_ms = horizon_of(etcd, key_of(&claim, "horizon")) / 1000000;
    CHECK(later_ms - unix_ms() > 1500 && later_ms - unix_ms() <= 3000);

    /* What the release leaves: the time of the last id, and no key in the pool. */
    char pool[64], kept[64];
    (void)snprintf(pool, sizeof pool, "%s", key_of(&claim, "pool"));
    (void)snprintf(kept, sizeof kept, "%s", key_of(&claim, "horizon"));
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
    CHECK_EQ(flake_decompose(&layout, id, &parts), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    CHECK_STR(value_of(etcd, pool), "");
    CHECK(horizon_of(etcd, kept) == parts.unix_ms * 1000000 + 999999);
    /* The next claim of the number has another token. */
    CHECK(strstr(value_of(etcd, kept), token) != NULL);
    fill(etcd, "two-keys/", 0, 256, flake_etcd_generator(&claim), flake_etcd_generator(&claim));
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK(strcmp(value_of(etcd, pool), token) != 0 && strstr(value_of(etcd, kept), token) == NULL);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
}

TEST(without_random_bytes_nothing_is_claimed) {
    const flake_etcd_options o = from(all_members, "random/");
    flake_why why;
    random_is_gone = true;
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_IO);
    CHECK(strstr(why.text, "random") != NULL);
    random_is_gone = false;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
}

TEST(the_cluster_stands_in_its_key_or_is_given) {
    flake_etcd_options o = from(all_members, "clusters/");
    flake_why why;
    put_key(etcd, "clusters/cluster-id", "15");
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

    put_key(etcd, "clusters/cluster-id", "3, 4"); /* the first is full */
    fill(etcd, "clusters/", 3, 256, 1, 0);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_cluster(&claim), 4);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);

    put_key(etcd, "clusters/cluster-id", "16");
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_INVALID);
    CHECK(strstr(why.text, "clusters/cluster-id") != NULL);
    put_key(etcd, "clusters/cluster-id", "");
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_INVALID);
}

TEST(a_full_pool_is_waited_for_with_a_deadline) {
    static const unsigned sizes[] = {256, 2048};
    flake_etcd_options o = from(all_members, "full/");
    for (unsigned i = 0; i < 2; i++) {
        const unsigned size = sizes[i], only = size - 2;
        char key[64];
        flake_why why;
        o.pool_size = size;
        fill(etcd, "full/", 0, size, only, only);
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
        delete_keys(etcd, "full/");
    }
}

TEST(a_released_number_is_free_at_once) {
    flake_etcd_options o = from(all_members, "free/");
    flake_gen late;
    uint64_t id, last;
    flake_why why;
    delete_keys(etcd, "free");
    fill(etcd, "free/", 0, 256, 9, 9);
    o.ttl_ms = 20000;     /* it is not the lease's end that frees it, */
    o.horizon_ms = 20000; /* nor the horizon's */
    hold(&claim, &ids, &o);
    CHECK_EQ(flake_next(&ids, &last), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&claim, &why), FLAKE_OK);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_LEASE_LOST);
    CHECK_EQ(flake_try(&ids, &id), FLAKE_LEASE_LOST);
    CHECK_EQ(flake_etcd_check(&claim, &why), FLAKE_LEASE_LOST);
    CHECK(init(&late, &claim) == FLAKE_LEASE_LOST || flake_next(&late, &id) == FLAKE_LEASE_LOST);
    CHECK_EQ(claims(&second, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_generator(&second), 9);
    /* The object claims again, and its old generator stays shut. */
    CHECK_EQ(init(&late, &second), FLAKE_OK);
    CHECK_EQ(flake_next(&late, &id), FLAKE_OK);
    CHECK(id > last);
    CHECK_EQ(flake_etcd_release(&second, NULL), FLAKE_OK);
    o.name_space = "free2/";
    CHECK_EQ(claims(&second, &o), FLAKE_OK);
    CHECK_EQ(flake_next(&late, &id), FLAKE_LEASE_LOST);
    CHECK_EQ(init(&late, &second), FLAKE_OK);
    CHECK_EQ(flake_next(&late, &id), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&second, NULL), FLAKE_OK);
}

/* Ids run 20 s ahead, and the clock of the next holder lags: he begins behind them all the same. */
TEST(a_released_number_begins_behind_its_last_id) {
    flake_etcd_options o = from(all_members, "ahead/");
    uint64_t id;
    leave_free("ahead/", 9, 9);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(init_ahead(&ids, &claim, 25000), FLAKE_OK);
    const uint64_t newest = draw_up_to(&ids, unix_ms() + 20000, FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    skew_ns = -20000000000;
    hold(&second, &ids, &o);
    CHECK(flake_try(&ids, &id) != FLAKE_OK);
    CHECK(flake_try_at(&ids, unix_ms() - 60000, &id) != FLAKE_OK);
    CHECK_EQ(init_ahead(&ids, &second, 50000), FLAKE_OK); /* rather than wait for 40 s */
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
    CHECK(id > newest);
    CHECK_EQ(flake_etcd_release(&second, NULL), FLAKE_OK);
    skew_ns = 0;
}

/* A thread that is admitted, and stands still until the number is another's. */
TEST(what_was_admitted_before_a_release_is_nobody_elses) {
    flake_etcd_options o = from(all_members, "late-thread/");
    flake_parts parts = {0, 0, 0};
    uint64_t id;
    const flake_layout layout = flake_layout_uniqueid_ordered;
    leave_free("late-thread/", 9, 9);
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    const flake_gate gate = flake_etcd_gate(&claim);
    const int64_t until_ns = flake_i_system_ns(FLAKE_CLOCK_EXACT) + 1500000000;
    CHECK_EQ(gate.admit(gate.user, until_ns), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    CHECK_EQ(gate.admit(gate.user, until_ns), FLAKE_LEASE_LOST);
    CHECK_EQ(claims(&second, &o), FLAKE_OK);
    CHECK_EQ(init_ahead(&ids, &second, 5000), FLAKE_OK);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
    CHECK_EQ(flake_decompose(&layout, id, &parts), FLAKE_OK);
    CHECK(parts.unix_ms * 1000000 > until_ns);
    CHECK_EQ(flake_etcd_release(&second, NULL), FLAKE_OK);
}

TEST(a_clock_far_ahead_moves_no_horizon) {
    flake_etcd_options o = from(all_members, "far/");
    char horizon[64], value[200];
    flake_why why;
    uint64_t id;
    leave_free("far/", 9, 9);
    skew_ns = 90 * (int64_t)1000000000; /* from the start */
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_IO);
    CHECK(strstr(why.text, "60 s ahead of etcd's") != NULL);
    CHECK_STR(value_of(etcd, "far/horizon/0:9"), "");
    skew_ns = 0;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    (void)snprintf(horizon, sizeof horizon, "%s", key_of(&claim, "horizon"));
    CHECK_EQ(init_with(&ids, &claim, 86400000, 0), FLAKE_OK); /* no time below is too far ahead for it */
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);

    /* An id is asked for from far ahead: it is refused, and nobody else feels it. */
    const int64_t asked_ms = now_ms();
    while (flake_try_at(&ids, unix_ms() + 86400000, &id) == FLAKE_AGAIN &&
           now_ms() < asked_ms + 3000)
        nap_ms(1);
    CHECK_EQ(flake_etcd_check(&claim, &why), FLAKE_IO);
    CHECK(strstr(why.text, "requested") != NULL);
    CHECK_EQ(ms_until_lost(&ids, 3300), -1);
    CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_OK);
    CHECK(horizon_of(etcd, horizon) / 1000000 < unix_ms() + 3100);

    skew_ns = 90 * (int64_t)1000000000; /* it was set, meanwhile */
    const int64_t end_ms = now_ms() + 5000;
    while (flake_etcd_check(&claim, &why) == FLAKE_OK && now_ms() < end_ms) nap_ms(10);
    CHECK_EQ(flake_etcd_check(&claim, &why), FLAKE_IO);
    CHECK(strstr(why.text, "60 s ahead of etcd's") != NULL);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_IO);
    CHECK(horizon_of(etcd, horizon) / 1000000 < unix_ms() + 3100);
    skew_ns = 0;
    nap_ms(1500);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
    CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);

    /* A number whose horizon is far ahead is left, and so is one that is no horizon. */
    (void)snprintf(value, sizeof value, "%lld " TOKEN " 1",
                   (long long)(unix_ms() + 63000) * 1000000);
    put_key(etcd, horizon, value);
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_AGAIN);
    CHECK(strstr(why.text, "60 s ahead of this clock") != NULL);
    put_key(etcd, horizon, "x");
    CHECK_EQ(flake_etcd_claim(&claim, &o, &why), FLAKE_AGAIN);
    delete_key(etcd, horizon); /* the way out */
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
}

/* Of those that are free one whose horizon has passed is taken, and a claim waits for one that has not. */
TEST(a_horizon_that_has_passed_goes_first) {
    flake_etcd_options o = from(all_members, "passed/");
    char value[200];
    uint64_t id;
    leave_free("passed/", 20, 22);
    (void)snprintf(value, sizeof value, "%lld " TOKEN " 1",
                   (long long)(unix_ms() + 1500) * 1000000);
    put_key(etcd, "passed/horizon/0:20", value);
    put_key(etcd, "passed/horizon/0:22", value);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(claims(&claim, &o), FLAKE_OK);
        CHECK_EQ(flake_etcd_generator(&claim), 21);
        CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    }
    fill(etcd, "passed/", 0, 256, 20, 20);
    o.wait_ms = 5000;
    CHECK_EQ(claims(&claim, &o), FLAKE_OK);
    CHECK_EQ(flake_etcd_generator(&claim), 20);
    CHECK_EQ(init(&ids, &claim), FLAKE_OK);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
    CHECK(flake_i_etcd_horizon_in(value, strlen(value)) < flake_i_system_ns(FLAKE_CLOCK_EXACT));
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
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

TEST(of_many_who_claim_at_once_one_gets_it) {
    static flake_etcd rival[rivals];
    pthread_t thread[rivals];
    for (int round = 0; round < 4; round++) {
        unsigned won = 0;
        fill(etcd, "rivals/", 0, 256, 77, 77);
        for (int i = 0; i < rivals; i++)
            if (pthread_create(&thread[i], NULL, claim_with_the_others, &rival[i]) != 0) abort();
        for (int i = 0; i < rivals; i++) (void)pthread_join(thread[i], NULL);
        for (int i = 0; i < rivals; i++) won += rival[i].generator;
        CHECK_EQ(won, 1);
        for (int i = 0; i < rivals; i++) flake_etcd_destroy(&rival[i]);
        delete_keys(etcd, "rivals/");
    }
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

TEST(a_child_has_no_claim) {
    int status = -1;
    const flake_etcd_options o = from(all_members, "fork/");
    hold(&claim, &ids, &o);
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

TEST(a_child_with_its_parents_pid_has_no_claim) {
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

TEST(https_and_users) {
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
    hold(&claim, &ids, &o);
    CHECK(ms_until_lost(&ids, 300) == -1);
    /* Its tokens die with a member: the next renewal logs in again. */
    member_signal(3, SIGKILL);
    member_start(3);
    CHECK(ms_until_lost(&ids, 3000) == -1);
    CHECK_EQ(flake_etcd_release(&claim, NULL), FLAKE_OK);
    flake_i_etcd_close_session(s);
}

int main(int argc, char **argv) { return cluster_main(argc, argv); }
