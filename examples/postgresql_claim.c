/* SPDX-License-Identifier: MIT
 *
 * When programs on many hosts share the numbers of one layout and have a PostgreSQL server (13 or later): each claims a
 * free row of a table. All programs whose IDs must differ use the same table. `example CONNINFO` prints an ID.
 *
 *     CREATE TABLE flake_nodes (number bigint PRIMARY KEY, token uuid, horizon_ns bigint NOT NULL DEFAULT 0);
 *     INSERT INTO flake_nodes SELECT generate_series(0, 1023); -- the pool: all numbers of the default layout
 *
 * horizon_ns is a Unix time that no ID with this number has passed. A holder moves it before it generates IDs up to
 * it. If the holder is killed, the number is free once the server's clock has passed it.
 *
 * Why no ID repeats: each write to a row compares its token, which a claim replaces. After a claim, no write of an
 * earlier holder succeeds, so all IDs of that holder are at or before the horizon that the claim replaced. The new
 * holder starts after it. Clocks that differ or step, stopped processes, lost connections and lost answers only cost
 * waiting.
 *
 * The server must keep what it has committed. IDs may repeat after a power failure with fsync = off; after failover to
 * a replica that lacks the last commits (synchronous_standby_names prevents that); with two primaries; if rows were
 * deleted, reset or restored from a backup; on a cloned machine (flake_machine_cloned, then claim anew without release).
 * After a restore, before any program connects:
 *
 *     UPDATE flake_nodes SET token = NULL, horizon_ns = (extract(epoch FROM now()) + 120) * 1000000000;
 *
 * Without a server IDs continue up to the horizon. For failover, name all servers in CONNINFO, with
 * target_session_attrs=read-write. A pooler may be in between: there is no session state.
 */
#include "flake.h"
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- the gate: IDs up to a time that another thread moves. Copy this part for any store ----
 *
 * The thread that writes the store calls horizon_move once the store has confirmed the new horizon, never before. Its
 * store is a release and an admission's load an acquire, so the commit happens before each ID up to that time.
 *
 * An admission and horizon_close change one word, whose changes have one order whatever the barriers: either the close
 * comes later and returns a time at or after the admitted one, or the admission finds the gate closed.
 *
 * gate.fence is NULL: it would also stop draws within a unit, but up to the stored horizon IDs are the holder's own.
 */
typedef struct horizon_gate {
    flake_atomic64 stored_ns; // the horizon in the store, or an earlier one
    flake_atomic64 used_ns;   // latest time admitted; at first the last holder's horizon; or HORIZON_CLOSED
    flake_atomic64 refusal;   // flake_status of a time after stored_ns
    pid_t process;            // a forked child has no claim
} horizon_gate;

#define HORIZON_CLOSED ((uint64_t)INT64_MAX)

static flake_status horizon_admit(void *user, int64_t until_ns) {
    horizon_gate *h = (horizon_gate *)user;
    uint64_t used = FLAKE_ATOMIC_LOAD(&h->used_ns, relaxed);
    if (h->process != getpid()) return FLAKE_FORKED;
    if ((uint64_t)until_ns > FLAKE_ATOMIC_LOAD(&h->stored_ns, acquire))
        return (flake_status)FLAKE_ATOMIC_LOAD(&h->refusal, relaxed);
    while (used < (uint64_t)until_ns &&
           !FLAKE_ATOMIC_CAS(&h->used_ns, &used, (uint64_t)until_ns, relaxed, relaxed)) {
    }
    return used == HORIZON_CLOSED ? FLAKE_LEASE_LOST : FLAKE_OK;
}

static int64_t horizon_not_before(void *user) { // a generator starts after earlier holders, and earlier generators
    const uint64_t used = FLAKE_ATOMIC_LOAD(&((horizon_gate *)user)->used_ns, relaxed);
    return used == HORIZON_CLOSED ? 0 : (int64_t)used;
}

static void horizon_refuse(horizon_gate *h, flake_status refusal) {
    FLAKE_ATOMIC_STORE(&h->refusal, (uint64_t)refusal, relaxed);
}

static void horizon_move(horizon_gate *h, int64_t stored_ns) { // never backwards
    horizon_refuse(h, FLAKE_AGAIN);
    FLAKE_ATOMIC_STORE(&h->stored_ns, (uint64_t)stored_ns, release);
}

static void horizon_open(horizon_gate *h, int64_t replaced_ns, int64_t stored_ns) { // once; each claim has its own
    h->process = getpid();
    FLAKE_ATOMIC_STORE(&h->used_ns, (uint64_t)replaced_ns, relaxed);
    horizon_move(h, stored_ns);
}

static int64_t horizon_close(horizon_gate *h) { // once; returns a time that no ID has passed or will pass
    uint64_t used = FLAKE_ATOMIC_LOAD(&h->used_ns, relaxed);
    horizon_refuse(h, FLAKE_LEASE_LOST);
    while (!FLAKE_ATOMIC_CAS(&h->used_ns, &used, HORIZON_CLOSED, relaxed, relaxed)) {
    }
    return (int64_t)used;
}

static flake_node horizon_node(horizon_gate *h, uint64_t number) {
    const flake_gate gate = {horizon_admit, horizon_not_before, h, NULL};
    return flake_node_gated(&gate, number);
}

/* ---- the store: PostgreSQL ---- */

#define SERVER_NS "(extract(epoch FROM clock_timestamp()) * 1000000000)::bigint"
/* $1 is this host's time, $2 the length of a horizon. A clock that is more than a minute ahead of the server's counts
 * as a minute ahead: it cannot block a number for long. */
#define NEXT_NS "greatest(n.horizon_ns, " SERVER_NS " + $2, least($1, " SERVER_NS " + 60000000000) + $2)"
#define IS_DURABLE "set_config('synchronous_commit', 'on', true) = 'on'" // of this transaction

static const char claim_sql[] =
    "WITH free AS (SELECT number, horizon_ns FROM flake_nodes WHERE horizon_ns < " SERVER_NS
    " ORDER BY horizon_ns LIMIT 1 FOR UPDATE SKIP LOCKED)"
    " UPDATE flake_nodes n SET token = gen_random_uuid(), horizon_ns = " NEXT_NS
    " FROM free WHERE n.number = free.number AND " IS_DURABLE
    " RETURNING n.horizon_ns, free.horizon_ns, n.number, n.token";
static const char extend_sql[] = "UPDATE flake_nodes n SET horizon_ns = " NEXT_NS
                                 " WHERE number = $3 AND token = $4 AND " IS_DURABLE " RETURNING horizon_ns";
static const char release_sql[] = "UPDATE flake_nodes SET token = NULL, horizon_ns = $1"
                                  " WHERE number = $2 AND token = $3 RETURNING number";

typedef struct pg_claim { // all zero at first; must not move
    horizon_gate gate;
    PGconn *db; // after the claim used by the thread alone, until release has joined it
    pthread_t thread;
    flake_atomic64 stop;
    int horizon_ms;
    char number[24], token[40];
} pg_claim;

/* One row or none, committed. NULL: unknown; the server may also commit it later. */
static PGresult *run(PGconn *db, const char *sql, int n, const char *const values[], flake_why *why) {
    PGresult *r = PQstatus(db) == CONNECTION_OK ? PQexecParams(db, sql, n, NULL, values, NULL, NULL, 0) : NULL;
    if (PQresultStatus(r) == PGRES_TUPLES_OK) return r;
    (void)snprintf(why->text, sizeof why->text, "PostgreSQL: %s", PQerrorMessage(db));
    PQclear(r);
    return NULL;
}

static PGresult *move_horizon(pg_claim *c, const char *sql, int n, flake_why *why) {
    char now[24], length[24];
    const char *const values[] = {now, length, c->number, c->token};
    (void)snprintf(now, sizeof now, "%lld", (long long)FLAKE_CLOCK_NS(FLAKE_CLOCK_EXACT));
    (void)snprintf(length, sizeof length, "%lld", c->horizon_ms * 1000000LL);
    return run(c->db, sql, n, values, why);
}

static int64_t left_ns(pg_claim *c) { // until the horizon
    return (int64_t)FLAKE_ATOMIC_LOAD(&c->gate.stored_ns, relaxed) - FLAKE_CLOCK_NS(FLAKE_CLOCK_EXACT);
}

static void *extend(void *user) { // after a third of a horizon; at once after a suspend or a step of the clock
    pg_claim *c = (pg_claim *)user;
    bool is_held = true;
    flake_why why;
    for (int ticks = 1; is_held && !FLAKE_ATOMIC_LOAD(&c->stop, relaxed); ticks++) {
        FLAKE_SLEEP_NS(c->horizon_ms * 10000LL); // a hundredth
        if (ticks < 33 && left_ns(c) > c->horizon_ms * 330000LL) continue;
        PGresult *r = move_horizon(c, extend_sql, 4, &why);
        is_held = !r || PQntuples(r) == 1;
        if (!r) horizon_refuse(&c->gate, FLAKE_IO), PQreset(c->db);
        else if (!is_held) horizon_refuse(&c->gate, FLAKE_LEASE_LOST);
        else horizon_move(&c->gate, atoll(PQgetvalue(r, 0, 0)));
        PQclear(r);
        ticks = 0;
    }
    return NULL;
}

/* Ends the claim and its thread. The number is free at once or, after FLAKE_IO, when its horizon has passed. */
static flake_status pg_claim_release(pg_claim *c, flake_why *why) {
    char used[24];
    const char *const values[] = {used, c->number, c->token};
    if (c->gate.process != getpid()) return FLAKE_FORKED;
    FLAKE_ATOMIC_STORE(&c->stop, 1u, relaxed);
    (void)pthread_join(c->thread, NULL);
    (void)snprintf(used, sizeof used, "%lld", (long long)horizon_close(&c->gate));
    PGresult *r = run(c->db, release_sql, 3, values, why);
    const flake_status status = r ? FLAKE_OK : FLAKE_IO;
    PQclear(r);
    PQfinish(c->db);
    return status;
}

static flake_status say(flake_why *why, flake_status status, const char *text) {
    (void)snprintf(why->text, sizeof why->text, "flake_nodes: %s", text);
    return status;
}

/* horizon_ms must exceed max_ahead_ms. FLAKE_AGAIN: all numbers are taken. If a draw returns FLAKE_LEASE_LOST, as after
 * a long suspend: release, claim with another pg_claim, and init. */
static flake_status pg_claim_number(pg_claim *c, const char *conninfo, int horizon_ms, flake_why *why) {
    const char *const words[] = {"connect_timeout", "tcp_user_timeout", "dbname", NULL};
    const char *const values[] = {"5", "5000", conninfo, NULL};
    flake_status status = FLAKE_OK;
    if (c->gate.process) return say(why, FLAKE_INVALID, "this pg_claim has been used");
    c->horizon_ms = horizon_ms;
    c->db = PQconnectdbParams(words, values, 1);
    PGresult *r = move_horizon(c, claim_sql, 2, why);
    if (!r) status = FLAKE_IO;
    else if (PQntuples(r) == 0) status = say(why, FLAKE_AGAIN, "all numbers are taken, or have a later horizon");
    else {
        (void)snprintf(c->number, sizeof c->number, "%s", PQgetvalue(r, 0, 2));
        (void)snprintf(c->token, sizeof c->token, "%s", PQgetvalue(r, 0, 3));
        horizon_open(&c->gate, atoll(PQgetvalue(r, 0, 1)), atoll(PQgetvalue(r, 0, 0)));
        if (pthread_create(&c->thread, NULL, extend, c) != 0) status = say(why, FLAKE_IO, "no thread");
    }
    PQclear(r);
    if (status != FLAKE_OK) return PQfinish(c->db), status;
    if (left_ns(c) > 0) return FLAKE_OK;
    (void)pg_claim_release(c, why);
    return say(why, FLAKE_IO, "this clock is more than a minute ahead of the server's, or the claim took too long");
}

/* For one generator at a time, or the shards of one init. Its draws return FLAKE_CLOCK_BACKWARDS until this clock has
 * passed the horizon that was replaced, FLAKE_AGAIN or FLAKE_IO while the own one is not extended. */
static flake_node pg_claim_node(pg_claim *c) { return horizon_node(&c->gate, strtoull(c->number, NULL, 10)); }

int main(int argc, char **argv) {
    static pg_claim claim;
    static flake_gen ids;
    flake_why why;
    uint64_t id;
    if (pg_claim_number(&claim, argc > 1 ? argv[1] : "", 30000, &why) != FLAKE_OK ||
        flake_init(&ids, pg_claim_node(&claim), NULL, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    const flake_status status = flake_next(&ids, &id);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    printf("%llu of node %llu\n", (unsigned long long)id, (unsigned long long)flake_gen_node(&ids));
    if (pg_claim_release(&claim, &why) != FLAKE_OK) // after the last ID
        return fprintf(stderr, "%s\n", why.text), 1;
    return 0;
}
