/* SPDX-License-Identifier: MIT
 *
 * For tests with real members: those that etcd.sh has started, operations on them and on their keys, and claims. The
 * clock of a process can be skewed.
 */
#ifndef CLUSTER_H
#define CLUSTER_H

#define REAL_SLEEP
#define _GNU_SOURCE /* unshare */
#define CHECK_OWN_MAIN
#include "support.h"
#include <unistd.h>

#ifndef SCRIPTED_H
static int64_t skew_ns; /* of this process's clock */
#define FLAKE_CLOCK_NS(kind) (flake_i_system_ns(kind) + skew_ns)
#endif
#include "flake_etcd.h"
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

static char etcd_dir[400], member_url[4][64], all_members[256];

static inline int64_t now_ms(void) { return flake_i_elapsed_ms(); }
static inline int64_t unix_ms(void) { return flake_i_system_ns(FLAKE_CLOCK_EXACT) / 1000000; }

static inline void nap_ms(int64_t ms) { flake_i_system_sleep(ms * 1000000); }

/* ---- operations on etcd ---- */

static inline flake_i_etcd *admin(const char *endpoints) {
    flake_etcd_options o = {0};
    char ca[sizeof etcd_dir + 16];
    o.endpoints = endpoints;
    o.last = 1; /* it claims nothing */
    o.timeout_ms = 2000;
    (void)snprintf(ca, sizeof ca, "%s/ca.pem", etcd_dir);
    o.ca_file = ca;
    flake_i_etcd *const s = (flake_i_etcd *)calloc(1, sizeof *s);
    if (!s || flake_i_etcd_open_session(s, &o) != FLAKE_OK) abort();
    return s;
}

static flake_i_etcd *etcd; /* the test's session with all members */

/* Retries for a while until etcd answers. */
static inline flake_i_json ask(flake_i_etcd *s, const char *path, const char *body) {
    const int64_t end_ms = now_ms() + 8000;
    flake_status result;
    do result = flake_i_etcd_call(s, path, body);
    while (result == FLAKE_IO && now_ms() < end_ms);
    if (result != FLAKE_OK) {
        check_fail(__FILE__, __LINE__, s->why.text);
        s->answer.at = NULL;
    }
    return s->answer;
}

static inline const char *base64_of(const char *text) {
    static char all[4][600];
    static unsigned next;
    char *const out = all[next++ % 4];
    flake_i_to_base64(text, strlen(text), out);
    return out;
}

static inline const char *key_body(const char *key, const char *rest) {
    static char body[2000];
    (void)snprintf(body, sizeof body, "{\"key\":\"%s\"%s}", base64_of(key), rest);
    return body;
}

static inline void put_key(const char *key, const char *value) {
    char rest[250];
    (void)snprintf(rest, sizeof rest, ",\"value\":\"%.200s\"", base64_of(value));
    (void)ask(etcd, "kv/put", key_body(key, rest));
}

static inline void delete_key(flake_i_etcd *s, const char *key) { (void)ask(s, "kv/deleterange", key_body(key, "")); }

/* A key's value; "": there is none. */
static inline const char *value_of(flake_i_etcd *s, const char *key) {
    static char value[2][FLAKE_I_ETCD_VALUE];
    static int next;
    char *const out = value[next++ % 2];
    *out = 0;
    (void)flake_i_json_bytes(flake_i_json_get(ask(s, "kv/range", key_body(key, "")), "kvs/0/value"), out,
                             FLAKE_I_ETCD_VALUE);
    return out;
}

static inline flake_i_json member_of_key(const char *key, const char *path) {
    return flake_i_json_get(ask(etcd, "kv/range", key_body(key, "")), path);
}

/* Calls with the key's lease, if it has one. */
static inline flake_i_json ask_of_lease(const char *key, const char *call) {
    char body[64];
    int64_t lease = 0;
    if (!flake_i_json_number(member_of_key(key, "kvs/0/lease"), &lease)) return flake_i_json_none;
    (void)snprintf(body, sizeof body, "{\"ID\":\"%lld\"}", (long long)lease);
    return flake_i_etcd_call(etcd, call, body) == FLAKE_OK ? etcd->answer : flake_i_json_none;
}

/* All keys with this prefix. */
static inline void delete_keys(const char *prefix) {
    char end[300], rest[700];
    (void)snprintf(end, sizeof end, "%s", prefix);
    end[strlen(end) - 1]++;
    (void)snprintf(rest, sizeof rest, ",\"range_end\":\"%s\"", base64_of(end));
    (void)ask(etcd, "kv/deleterange", key_body(prefix, rest));
}

/* Takes numbers of a pool as another client does, from 0 on, except those from `from` to `to`. */
static inline void fill(const char *name_space, unsigned cluster, unsigned size, unsigned from, unsigned to) {
    static char body[20000];
    for (unsigned number = 0; number < size;) {
        size_t at = (size_t)snprintf(body, sizeof body, "{\"success\":[");
        for (unsigned n = 0; n < 100 && number < size; number++) {
            char key[300];
            if (number >= from && number <= to) continue;
            (void)snprintf(key, sizeof key, "%spool/%u:%u", name_space, cluster, number);
            at += (size_t)snprintf(body + at, sizeof body - at, "%s{\"request_put\":{\"key\":\"%s\"}}", n++ ? "," : "",
                                   base64_of(key));
        }
        (void)snprintf(body + at, sizeof body - at, "]}");
        (void)ask(etcd, "kv/txn", body);
    }
}

/* In the test's own name space only the numbers from `from` to `to` of cluster 0 are free. */
static inline void leave_free(const char *name_space, unsigned from, unsigned to) {
    delete_keys(name_space);
    fill(name_space, 0, 256, from, to);
}

static inline pid_t member_pid(int member) {
    char path[sizeof etcd_dir + 16];
    int pid = 0;
    (void)snprintf(path, sizeof path, "%s/%d.pid", etcd_dir, member);
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "%d", &pid) != 1 || pid <= 1) abort();
    (void)fclose(f);
    return pid;
}

static inline void member_signal(int member, int sig) { CHECK(kill(member_pid(member), sig) == 0); }

static inline void member_start(int member) {
    char command[1200];
    (void)snprintf(command, sizeof command, "%s start '%s' %d", getenv("ETCD_SH"), etcd_dir, member);
    CHECK(system(command) == 0);
}

/* All members, or one, answer a linearizable read. */
static inline bool ready(const char *urls, int64_t within_ms) {
    char list[512];
    const int64_t end_ms = now_ms() + within_ms;
    bool all = true;
    (void)snprintf(list, sizeof list, "%s", urls);
    for (char *url = strtok(list, ","); url; url = strtok(NULL, ",")) {
        flake_i_etcd *const s = admin(url);
        s->options.timeout_ms = 500;
        bool answered = false;
        while (!answered && now_ms() < end_ms) {
            answered = flake_i_etcd_call(s, "kv/range", "{\"key\":\"eA==\"}") != FLAKE_IO;
            if (!answered) nap_ms(50);
        }
        all = all && answered;
        flake_i_etcd_close_session(s);
    }
    return all;
}

/* ---- claims ---- */

#define TOKEN "0123456789abcdef0123456789ABCDEF"

static flake_etcd claim, second;

/* A pool of uniqueid's, cluster 0. */
static inline flake_etcd_options from(const char *endpoints, const char *name_space) {
    flake_etcd_options o = {0};
    o.endpoints = endpoints;
    o.name_space = name_space;
    o.uniqueid = true;
    o.ttl_ms = 3000;
    o.horizon_ms = 3000;
    o.timeout_ms = 500;
    return o;
}

static inline flake_status init_ahead(flake_gen *gen, flake_etcd *c, int64_t max_ahead_ms) {
    flake_options o = {0};
    o.layout = flake_layout_uniqueid_ordered;
    o.max_ahead_ms = max_ahead_ms;
    o.max_wait_ms = max_ahead_ms ? 3000 : 0; /* 0: the default */
    return flake_init(gen, flake_etcd_node(c), &o, NULL);
}

static inline flake_status init(flake_gen *gen, flake_etcd *c) { return init_ahead(gen, c, 0); }

/* flake_uniqueid_node composes them. */
static inline unsigned cluster_of(const flake_etcd *c) { return (unsigned)c->node & 15; }
static inline unsigned generator_of(const flake_etcd *c) { return (unsigned)(c->node >> 4); }

static inline flake_status claims(flake_etcd *c, const flake_etcd_options *o) {
    flake_why why;
    const flake_status status = flake_etcd_claim(c, o, &why);
    if (status != FLAKE_OK) printf("  not claimed: %s\n", why.text);
    return status;
}

static inline void hold(flake_etcd *c, flake_gen *gen, const flake_etcd_options *o) {
    CHECK_EQ(claims(c, o), FLAKE_OK);
    CHECK_EQ(init(gen, c), FLAKE_OK);
}

/* Draws for that long, or until a draw fails. */
static inline flake_status draw_for(flake_gen *gen, int64_t ms) {
    const int64_t begin_ms = now_ms();
    uint64_t id;
    flake_status status;
    while ((status = flake_next(gen, &id)) == FLAKE_OK && now_ms() < begin_ms + ms) nap_ms(1);
    return status;
}

/* Draws until the wanted status; returns whether it came within the time. */
static inline bool comes_to(flake_gen *gen, flake_status wanted, int64_t within_ms) {
    const int64_t end_ms = now_ms() + within_ms;
    uint64_t id;
    while (flake_next(gen, &id) != wanted)
        if (now_ms() > end_ms) return false;
    return true;
}

static inline void let_go(flake_etcd *c) { CHECK_EQ(flake_etcd_release(c, NULL), FLAKE_OK); }

/* The key of the pool or the horizon; of uniqueid's pools. */
static inline const char *key_of(const flake_etcd *c, const char *kind) {
    static char key[2][64];
    static int next;
    char *const out = key[next++ % 2];
    (void)snprintf(out, 64, "%.30s%s/%u:%u", c->session->name_space, kind, cluster_of(c), generator_of(c));
    return out;
}

static inline int64_t horizon_of(const char *key) {
    const char *const value = value_of(etcd, key);
    return flake_i_etcd_horizon_in(value, strlen(value));
}

/* ---- main, with and without members ---- */

static inline int alone_main(int argc, char **argv) {
    const int failed = check_main(argc, argv);
    flake_etcd_destroy(&claim);
    flake_etcd_destroy(&second);
    return failed;
}

/* Called with --ready URLS DIR, it only reports whether the members answer. */
static inline int cluster_main(int argc, char **argv) {
    const bool says_when_ready = argc == 4 && strcmp(argv[1], "--ready") == 0;
    const char *const dir = says_when_ready ? argv[3] : getenv("ETCD_DIR"), *const base = getenv("ETCD_BASE");
    (void)snprintf(etcd_dir, sizeof etcd_dir, "%s", dir ? dir : "");
    if (says_when_ready) return !ready(argv[2], 20000);
    if (!dir || !base || !getenv("ETCD_SH")) {
        printf("run me by tests/etcd/etcd.sh\n0 passed, 1 failed\n");
        return 1;
    }
    for (int i = 0; i < 4; i++)
        (void)snprintf(member_url[i], sizeof member_url[i], "%s://127.0.0.1:%d", i == 3 ? "https" : "http",
                       atoi(base) + 2 * i);
    (void)snprintf(all_members, sizeof all_members, "%s,%s,%s", member_url[0], member_url[1], member_url[2]);
    etcd = admin(all_members);
    const int failed = alone_main(argc, argv);
    flake_i_etcd_close_session(etcd);
    return failed;
}

#endif
