/* SPDX-License-Identifier: MIT
 *
 * Holders under faults of real members: keys deleted, put and restored by others, leases revoked, members stopped,
 * frozen and killed, clocks that differ, and many processes that claim few numbers. In all cases no ID may repeat.
 */
#include "cluster.h"
#include "children.h"

static flake_gen ids;

enum { patience_ms = 5000 }; /* for steps that take milliseconds on an idle machine */

/* Until the key of the pool is ours again. */
static bool is_healed(const flake_etcd *c, int64_t within_ms) {
    const int64_t end_ms = now_ms() + within_ms;
    while (now_ms() < end_ms) {
        if (strcmp(value_of(etcd, key_of(c, "pool")), c->session->token) == 0) return true;
        nap_ms(10);
    }
    return false;
}

/* Draws until the horizon has other bytes. */
static bool is_extended(flake_gen *gen, const char *horizon, const char *bytes) {
    const int64_t end_ms = now_ms() + patience_ms;
    while (draw_for(gen, 10) == FLAKE_OK && now_ms() < end_ms)
        if (strcmp(value_of(etcd, horizon), bytes) != 0) return true;
    return false;
}

/* A deleted pool key is restored, or the claim ends, long before the next re-check. */
TEST(a_holder_restores_its_key_and_stops_for_another_writer) {
    enum { delete_pool, revoke_lease, put_pool, delete_horizon, restore_horizon, kinds };
    for (int kind = 0; kind < kinds; kind++) {
        flake_etcd_options o = from(all_members, "others/");
        flake_why why;
        char pool[64], horizon[64], backup[FLAKE_I_ETCD_VALUE];
        if (kind < delete_horizon) o.ttl_ms = o.horizon_ms = 6 * patience_ms; /* the re-check is after a third of it */
        hold(&claim, &ids, &o);
        (void)snprintf(pool, sizeof pool, "%s", key_of(&claim, "pool"));
        (void)snprintf(horizon, sizeof horizon, "%s", key_of(&claim, "horizon"));
        (void)snprintf(backup, sizeof backup, "%s", value_of(etcd, horizon));
        CHECK_EQ(draw_for(&ids, 300), FLAKE_OK); /* by then the watch has usually started */
        if (kind == restore_horizon) CHECK(is_extended(&ids, horizon, backup));
        if (kind == delete_pool) delete_key(etcd, pool);
        if (kind == revoke_lease) CHECK(ask_of_lease(pool, "lease/revoke").at != NULL);
        if (kind == put_pool) put_key(pool, "");
        if (kind == delete_horizon) delete_key(etcd, horizon);
        if (kind == restore_horizon) put_key(horizon, backup);
        if (kind <= revoke_lease) {
            CHECK(is_healed(&claim, patience_ms));
            CHECK_EQ(draw_for(&ids, 1500), FLAKE_OK);
            CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_OK);
        } else {
            CHECK(comes_to(&ids, FLAKE_LEASE_LOST, patience_ms));
            CHECK_EQ(flake_etcd_check(&claim, &why), FLAKE_LEASE_LOST);
            CHECK(strstr(why.text, "another") != NULL);
        }
        let_go(&claim);
        if (kind == restore_horizon) CHECK_STR(value_of(etcd, horizon), backup); /* not overwritten */
        CHECK_EQ(member_of_key(pool, "kvs/0/key").at != NULL,
                 kind == put_pool); /* another client's, so it is not deleted */
        delete_keys("others/");
    }
}

/* ---- fail-over ---- */

TEST(draws_continue_while_one_member_fails) {
    flake_etcd_options o = from(all_members, "fail-over/");
    o.ttl_ms = 5000;
    o.horizon_ms = 4000;
    hold(&claim, &ids, &o);
    static const int sig[] = {SIGKILL, SIGSTOP, SIGTERM};
    for (int member = 0; member < 3; member++) {
        member_signal(member, sig[member]);
        CHECK_EQ(draw_for(&ids, 4500), FLAKE_OK); /* longer than a claim lasts without renewal */
        if (sig[member] == SIGSTOP) member_signal(member, SIGCONT);
        else member_start(member);
        CHECK_EQ(draw_for(&ids, 500), FLAKE_OK);
        CHECK(ready(all_members, 8000));
        CHECK_EQ(draw_for(&ids, 1000), FLAKE_OK);
    }
    CHECK_EQ(flake_etcd_check(&claim, NULL), FLAKE_OK);
    let_go(&claim);
}

/* One holder has only the first member, which stops or dies; it ends at its horizon, before another one begins, and for
 * good. If all members die, no other can claim the number, and the holder continues when they are back. */
TEST(ids_end_at_the_horizon_without_members) {
    const struct {
        const char *endpoints;
        int members, sig;
    } cases[] = {{member_url[0], 1, SIGSTOP}, {member_url[0], 1, SIGKILL}, {all_members, 3, SIGKILL}};
    char others[160];
    (void)snprintf(others, sizeof others, "%s,%s", member_url[1], member_url[2]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        flake_etcd_options o = from(cases[i].endpoints, "outage/"), direct = from(others, "outage/");
        const bool is_taken = cases[i].members == 1;
        uint64_t id, newest = 0, first;
        flake_gen next;
        flake_status status;
        flake_why why;
        leave_free("outage/", 5, 5);
        o.ttl_ms = 2000;
        hold(&claim, &ids, &o);
        CHECK_EQ(draw_for(&ids, 1000), FLAKE_OK);
        for (int member = 0; member < cases[i].members; member++) member_signal(member, cases[i].sig);
        const int64_t begin_ms = now_ms();
        while ((status = flake_next(&ids, &id)) == FLAKE_OK && now_ms() < begin_ms + 9000) newest = id;
        const int64_t over_ms = now_ms() - begin_ms;
        CHECK_EQ(status, FLAKE_IO);
        CHECK(over_ms > 1000 && over_ms <= 3100); /* the rest of the horizon */
        CHECK_EQ(flake_etcd_check(&claim, &why), FLAKE_IO);
        CHECK(strstr(why.text, "no endpoint confirmed") != NULL);
        nap_ms(50);
        CHECK_EQ(flake_etcd_left_ms(&claim), 0);
        if (is_taken) {
            direct.wait_ms = 9000;
            hold(&second, &next, &direct);
            CHECK_EQ(flake_next(&next, &first), FLAKE_OK);
            CHECK(newest < first);
        }
        for (int member = 0; member < cases[i].members; member++)
            if (cases[i].sig == SIGSTOP) member_signal(member, SIGCONT);
            else member_start(member);
        CHECK(ready(all_members, 10000));
        CHECK(comes_to(&ids, is_taken ? FLAKE_LEASE_LOST : FLAKE_OK, 5000));
        if (!is_taken) {
            CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
            CHECK(id > newest);
            CHECK(is_healed(&claim, 3000));
        }
        let_go(&claim);
        if (!is_taken) continue;
        CHECK_EQ(flake_next(&next, &id), FLAKE_OK); /* and the first holder's release deleted nothing */
        let_go(&second);
    }
}

/* ---- holders in their own processes, and the IDs of each ---- */

enum { seats = 5, free_numbers = 3, room = 1 << 21 };

typedef struct seat {
    _Atomic(uint64_t) n, claims, losses;
    _Atomic(int) state; /* 1: claimed, drawing; 2: lost; 3: ended */
    uint64_t ids[room];
} seat;

static seat *seat_of; /* shared */

static void no_id_is_drawn_twice(void) {
    size_t n = 0;
    for (unsigned i = 0; i < seats; i++) n += (size_t)seat_of[i].n;
    uint64_t *const all = (uint64_t *)exactly(n * sizeof *all);
    n = 0;
    for (unsigned i = 0; i < seats; n += (size_t)seat_of[i++].n)
        memcpy(all + n, seat_of[i].ids, (size_t)seat_of[i].n * sizeof *all);
    CHECK_EQ(count_duplicates(all, n), 0);
    printf("  %zu IDs\n", n);
    free(all);
}

/* Claims, draws some IDs each 0.2 ms for a while, releases. False: another process has, or had, the number. */
static bool draw_once(seat *me, const flake_etcd_options *o, int64_t ahead_ms, int64_t for_ms) {
    static flake_etcd mine;
    static flake_gen gen;
    if (flake_etcd_claim(&mine, o, NULL) != FLAKE_OK) return false;
    atomic_fetch_add(&me->claims, 1u);
    atomic_store(&me->state, 1);
    const int64_t end_ms = now_ms() + for_ms;
    flake_status status = init_ahead(&gen, &mine, ahead_ms);
    while (status != FLAKE_LEASE_LOST && now_ms() < end_ms) {
        uint64_t id;
        for (int i = 0; i < 30 && (status = flake_try(&gen, &id)) == FLAKE_OK; i++) {
            const uint64_t n = atomic_load(&me->n);
            if (n == room) _exit(2);
            me->ids[n] = id;
            atomic_store(&me->n, n + 1);
        }
        flake_i_system_sleep(200000);
    }
    if (status == FLAKE_LEASE_LOST) atomic_fetch_add(&me->losses, 1u);
    atomic_store(&me->state, status == FLAKE_LEASE_LOST ? 2 : 3);
    (void)flake_etcd_release(&mine, NULL);
    return true;
}

static void draw_begin(const char *name_space, unsigned from, unsigned to) {
    leave_free(name_space, from, to);
    for (unsigned i = 0; i < seats; i++) {
        atomic_store(&seat_of[i].n, 0u);
        atomic_store(&seat_of[i].state, 0);
    }
}

/* In a child, once. */
static pid_t draw_in_child(unsigned who, const flake_etcd_options *o, int64_t skew, int64_t ahead_ms, int64_t for_ms) {
    const pid_t child = fork_child();
    if (child != 0) return child;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    skew_ns = skew;
    const int64_t patient_ms = now_ms() + 9000; /* a waiting claim would wait for the horizon, too */
    while (!draw_once(&seat_of[who], o, ahead_ms, for_ms))
        if (now_ms() > patient_ms) _exit(1);
        else nap_ms(20);
    _exit(0);
}

static bool wait_for_state(unsigned who, int state, int64_t within_ms) {
    const int64_t end_ms = now_ms() + within_ms;
    while (atomic_load(&seat_of[who].state) < state && now_ms() < end_ms) nap_ms(5);
    return atomic_load(&seat_of[who].state) >= state;
}

/* The clocks differ by seconds and by minutes, either way; the first holder is stopped, the second
 * takes its number, and the first continues. */
TEST(clocks_may_differ_by_any_amount) {
    static const int64_t skew_s[][2] = {{0, 0}, {0, -2}, {3, 0}, {0, -55}, {-300, 0}, {0, 50}, {20, -20}};
    for (size_t i = 0; i < sizeof skew_s / sizeof *skew_s; i++) {
        flake_etcd_options o = from(all_members, "skew/");
        const int64_t g = 1000000000;
        draw_begin("skew/", 9, 9);
        o.ttl_ms = o.horizon_ms = 1000;
        const pid_t first = draw_in_child(0, &o, skew_s[i][0] * g, i % 2 ? 2500 : 0, 9000);
        CHECK(wait_for_state(0, 1, 5000));
        nap_ms(700);
        CHECK(kill(first, SIGSTOP) == 0);
        const pid_t other = draw_in_child(1, &o, skew_s[i][1] * g, 60000, 1500);
        CHECK(wait_for_state(1, 1, 9000));
        nap_ms(300);
        CHECK(kill(first, SIGCONT) == 0);
        end_child(first);
        end_child(other);
        CHECK(seat_of[0].n > 0 && seat_of[1].n > 0);
        CHECK_EQ(seat_of[0].state, 2); /* it was notified */
        no_id_is_drawn_twice();
    }
}

static int leader(void) {
    for (int member = 0; member < 3; member++) {
        flake_i_etcd *const one = admin(member_url[member]);
        const flake_i_json status = ask(one, "maintenance/status", "{}");
        const flake_i_json id = flake_i_json_get(status, "header/member_id");
        const flake_i_json lead = flake_i_json_get(status, "leader");
        const size_t n = (size_t)(id.end - id.at);
        const bool leads = id.at && lead.at + n == lead.end && memcmp(id.at, lead.at, n) == 0;
        flake_i_etcd_close_session(one);
        if (leads) return member;
    }
    check_fail(__FILE__, __LINE__, "no leader");
    return 0;
}

/* A leader that was frozen considers all leases expired when it continues, and revokes them, although
 * another was elected meanwhile and the leases were renewed. Another process, whose clock lags, waits
 * for the number. */
TEST(a_stale_leader_that_revokes_leases_causes_no_duplicate) {
    flake_etcd_options o = from(all_members, "stale/");
    int status;
    draw_begin("stale/", 9, 9);
    o.ttl_ms = 2000;
    o.timeout_ms = 250;
    const pid_t first = draw_in_child(0, &o, 0, 0, 7000);
    CHECK(wait_for_state(0, 1, 5000));
    const pid_t other = draw_in_child(1, &o, -2000000000, 60000, 6000);
    const int stale = leader();
    member_signal(stale, SIGSTOP);
    nap_ms(4300);
    member_signal(stale, SIGCONT);
    for (int i = 0; i < 3; i++) { /* the test revokes it if the leader does not */
        nap_ms(300);
        (void)ask_of_lease("stale/pool/0:9", "lease/revoke");
    }
    end_child(first);
    CHECK(waitpid(other, &status, 0) == other && WIFEXITED(status));
    CHECK(seat_of[0].n > 0);
    printf("  the first holder %s\n", seat_of[0].state == 2 ? "lost the number" : "kept the number");
    no_id_is_drawn_twice();
    CHECK(ready(all_members, 8000));
}

/* ---- many processes, few numbers ---- */

static pid_t start(unsigned i, uint64_t random) {
    const pid_t parent = getpid(), child = fork_child();
    if (child != 0) return child;
    flake_etcd_options o = from(all_members, "many/");
    o.uniqueid = false; /* a pool for any layout; others of the name space overlap it */
    o.first = 100 + i % 2;
    o.last = o.first + free_numbers - 2;
    o.ttl_ms = 1000;
    o.horizon_ms = 1000 + (int64_t)random_below(&random, 1000);
    o.wait_ms = 2000;
    o.timeout_ms = 300;
    skew_ns = ((int64_t)random_below(&random, 3000) - 1500) * 1000000;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* frozen or not */
    while (getppid() == parent) (void)draw_once(&seat_of[i], &o, 0, 200 + (int64_t)random_below(&random, 2500));
    _exit(0);
}

static uint64_t losses(void) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < seats; i++) sum += seat_of[i].losses;
    return sum;
}

/* For 15 s, or until a process has lost its claim, which happens by chance. */
TEST(two_processes_never_hold_one_number) {
    pid_t child[seats];
    int64_t frozen_until_ms[seats] = {0};
    uint64_t random = 88172645463325252u, claimed = 0;
    int frozen = 0, member_frozen = 0;
    draw_begin("many/", 100, 100 + free_numbers - 1);
    for (unsigned i = 0; i < seats; i++) child[i] = start(i, random_next(&random));
    const int64_t end_ms = now_ms() + 15000;
    while (now_ms() < end_ms || (!losses() && now_ms() < end_ms + 60000)) {
        nap_ms(100 + (int64_t)random_below(&random, 200));
        unsigned i = (unsigned)random_below(&random, seats);
        for (unsigned k = 0; k < seats && (frozen_until_ms[i] || seat_of[i].state != 1); k++) i = (i + 1) % seats;
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
            atomic_store(&seat_of[i].state, 0);
            child[i] = start(i, random_next(&random));
        }
    }
    if (member_frozen == 1) member_signal(0, SIGCONT);
    for (unsigned i = 0; i < seats; i++) {
        int status;
        (void)kill(child[i], SIGKILL);
        CHECK(waitpid(child[i], &status, 0) == child[i] && WIFSIGNALED(status));
        claimed += seat_of[i].claims;
    }
    no_id_is_drawn_twice();
    printf("  %" PRIu64 " claims on %d numbers, %" PRIu64 " of them lost; %d freezes\n", claimed, (int)free_numbers,
           losses(), frozen);
    CHECK(claimed > 3 * free_numbers);
    CHECK(losses() > 0);
}

int main(int argc, char **argv) {
    seat_of = (seat *)shared_memory(seats * sizeof *seat_of);
    return cluster_main(argc, argv);
}
