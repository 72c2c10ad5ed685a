/* SPDX-License-Identifier: MIT
 *
 * CLAIMS: two processes claim the same number again and again, each with its own thread that extends,
 * and one that is admitted while the claim is released; on a lossy network, and from an etcd that ends
 * leases at any time (etcd.h). The times admitted by one holder and by any other are disjoint: however
 * late a thread is, whichever process is cut off, whatever was lost.
 */
#include "etcd.h"

enum { ROUNDS = 2, ADMITS = 5 };

typedef struct holder { /* one claim */
    flake_etcd claim;
    _Atomic(int64_t) first, last; /* admitted, in ns */
    bool held;
} holder;

static holder holders[2][ROUNDS];
static _Atomic(unsigned) lost_horizons;

static void note(holder *h, int64_t ns) {
    int64_t seen = atomic_load(&h->first);
    while (ns < seen && !atomic_compare_exchange_strong(&h->first, &seen, ns)) {
    }
    seen = atomic_load(&h->last);
    while (ns > seen && !atomic_compare_exchange_strong(&h->last, &seen, ns)) {
    }
}

/* Asks for a time that its clock, whichever it is, may read. */
static flake_status admit(holder *h) {
    const int64_t floor_ns = h->claim.floor_ns;
    const int64_t from_ns = floor_ns < 0 ? 1000 * (int64_t)UNIT_NS : floor_ns - 100 * (int64_t)UNIT_NS;
    const int64_t until_ns = from_ns + (int64_t)model_random(1400) * UNIT_NS;
    const flake_status status = flake_i_etcd_gate(&h->claim, until_ns);
    model_stall();
    assert(status == FLAKE_OK || status == FLAKE_AGAIN || status == FLAKE_IO || status == FLAKE_LEASE_LOST ||
           (status == FLAKE_CLOCK_BACKWARDS && until_ns <= floor_ns));
    if (status == FLAKE_OK) note(h, until_ns);
    return status;
}

static void *be_late(void *user) {
    for (int i = 0; i < ADMITS; i++) (void)admit((holder *)user);
    return user;
}

static bool is_written_by(const holder *h) {
    char bytes[FLAKE_I_ETCD_VALUE] = "";
    (void)pthread_mutex_lock(&etcd_lock);
    (void)flake_i_from_base64(etcd_horizon.value64, strlen(etcd_horizon.value64), bytes, sizeof bytes - 1);
    (void)pthread_mutex_unlock(&etcd_lock);
    return strstr(bytes, h->claim.session->token) != NULL;
}

static void hold(holder *h) {
    flake_etcd_options o;
    pthread_t late;
    flake_why why;
    memset(&o, 0, sizeof o);
    o.uniqueid = o.cluster_given = true;
    o.ttl_ms = o.horizon_ms = 1000;
    o.timeout_ms = 1;
    atomic_store(&h->first, INT64_MAX);
    atomic_store(&h->last, INT64_MIN);
    for (int tries = 0; tries < 20 && !h->held; tries++) {
        h->held = flake_etcd_claim(&h->claim, &o, &why) == FLAKE_OK;
        model_clock(1000 + model_random(3000)); /* any process's clock may read anything */
    }
    if (!h->held) return;
    const struct timespec retry = {0, 1000000};
    for (int i = 0; i < ADMITS; i++) {
        const int64_t before_ns = (int64_t)FLAKE_ATOMIC_LOAD(&h->claim.horizon_ns, relaxed);
        (void)admit(h);
        model_clock(1000 + model_random(3000));
        if (model_random(8) == 0) (void)nanosleep(&retry, NULL); /* a failed call is repeated */
        /* while a number is held its horizon does not go backwards */
        const int64_t horizon_ns = (int64_t)FLAKE_ATOMIC_LOAD(&h->claim.horizon_ns, relaxed);
        assert(horizon_ns >= before_ns);
    }
    if (pthread_create(&late, NULL, be_late, h) != 0) abort();
    if (model_random(2)) (void)sched_yield();
    if (flake_etcd_check(&h->claim, NULL) == FLAKE_LEASE_LOST) {
        assert(!is_written_by(h)); /* then another process has written */
        atomic_fetch_add(&lost_horizons, 1u);
    }
    etcd_is_cut_off = model_random(4) == 0; /* dies, as etcd sees it */
    const flake_status status = flake_etcd_release(&h->claim, &why);
    assert(status == FLAKE_OK || status == FLAKE_IO);
    etcd_is_cut_off = false;
    (void)pthread_join(late, NULL);
    assert(flake_i_etcd_gate(&h->claim, 0) == FLAKE_LEASE_LOST);
}

void model_thread(unsigned who) {
    for (int i = 0; i < ROUNDS; i++) hold(&holders[who][i]);
}

int main(void) {
    const int runs = RUNS < 1000 ? RUNS : RUNS / 10; /* each is many requests */
    for (int run = 0; run < runs; run++) {
        unsigned held = 0;
        memset(holders, 0, sizeof holders);
        atomic_store(&lost_horizons, 0u);
        etcd_begin();
        model_clock(1000);
        model_run(2);
        for (int a = 0; a < 2 * ROUNDS; a++) {
            const holder *const one = &holders[a / ROUNDS][a % ROUNDS];
            held += one->held;
            for (int b = 0; b < a; b++) {
                const holder *const other = &holders[b / ROUNDS][b % ROUNDS];
                assert(one->last < other->first || other->last < one->first);
            }
        }
        for (int i = 0; i < 2 * ROUNDS; i++) flake_etcd_destroy(&holders[i / ROUNDS][i % ROUNDS].claim);
        MODEL_REACHED(held == 2 * ROUNDS && lost_horizons); /* they took it from each other */
    }
    return 0;
}
