/* SPDX-License-Identifier: MIT
 *
 * A claim that is lost, a machine that is cloned, a process that forks: what becomes of callers who
 * sleep at that moment, and what each call says afterwards. Nobody gets an id that by then is
 * another's.
 */
#define _GNU_SOURCE
#include "scene.h"
#include "flake.h"
#include "sno.h"
#include "options.h"
#include "sno_key.h"

static flake_gen gen;
static flake_gen shard;
static flake_prefetch stock;
static flake_gen wide;
static sno_gen sno;
static sno_gen sno_shard_of;
static flake_state state;
static flake_state snos;

static flake_i_atomic64 claim;
static flake_status gate_answer;

static flake_status ask_gate(void *user, int64_t until_ns) {
    (void)user;
    (void)until_ns;
    return gate_answer;
}

static flake_status ask_sno_gate(void *user, int64_t until_ns) {
    (void)user;
    (void)until_ns;
    return gate_answer == FLAKE_OK ? FLAKE_OK : FLAKE_AGAIN;
}

static bool with_claim; /* a gate with a word, that may be closed */

static flake_options options_and_claim(void) {
    flake_options o = options_in_scene(1);
    if (with_claim) {
        o.gate.admit = ask_gate;
        o.gate.fence = &claim;
    }
    return o;
}

static flake_options sno_options_of(sno_snapshot *pool) {
    flake_options o = {0};
    memset(pool, 0, sizeof *pool);
    pool->partition = 5;
    pool->sequence_max = 3;
    o.clock.now_ns = scene_clock;
    if (with_claim) {
        o.gate.admit = ask_sno_gate;
        o.gate.fence = &claim;
    }
    return o;
}

/* ---- who sleeps ----
 *
 * Each way is set up so that the next draw has to sleep, once. */

static void spend_narrow(uint32_t seq_max) {
    flake_options o = options_and_claim();
    static uint64_t ids[4096];
    o.seq_min = seq_max ? 0 : 1;
    o.seq_max = seq_max ? seq_max : 1;
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_next_n(&gen, ids, seq_max + 1), FLAKE_OK);
    for (uint32_t i = 0; i <= seq_max; i++) note(ids[i]);
}

static flake_status noted(flake_status status, uint64_t id) {
    if (status == FLAKE_OK) note(id);
    return status;
}

static void spend_few(void) { spend_narrow(0); }
static void spend_all(void) { spend_narrow(4095); }

static flake_status sleep_next(void) {
    uint64_t id = 0;
    const flake_status status = flake_next(&gen, &id);
    return noted(status, id);
}

static flake_status sleep_next_n(void) {
    uint64_t id = 0;
    const flake_status status = flake_next_n(&gen, &id, 1);
    return noted(status, id);
}

static flake_status sleep_prefetch(void) {
    uint64_t id = 0;
    CHECK_EQ(flake_prefetch_init(&stock, &gen, 1, 0, NULL), FLAKE_OK);
    const flake_status status = flake_prefetch_next(&stock, &id);
    return noted(status, id);
}

/* By fetch_add, and others were faster. */
static flake_status sleep_late(void) {
    flake_i_ticket ticket = {0, 0, 0, 0, 0};
    CHECK(gen.engine.add_limit != 0);
    const int64_t now_ns = atomic_load(&our->now_ns);
    const uint64_t word = atomic_fetch_add(&gen.engine.word, 1u);
    const flake_status status =
        flake_i_draw_slow(&gen.engine, FLAKE_I_WAIT | FLAKE_I_OVERSHOT, word, now_ns, 1, &ticket);
    flake_stats stats;
    flake_stats_get(&gen, &stats);
    CHECK(stats.waits > 0);
    uint64_t id = 0;
    (void)flake_i_put_odd_id(&gen, ticket.time, ticket.index, &id);
    return noted(status, id);
}

static void spend_shard(void) {
    flake_options o = options_and_claim();
    uint64_t id = 0;
    o.seq_min = o.seq_max = 1;
    CHECK_EQ(flake_init_shards(&shard, 1, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(&shard, &id), FLAKE_OK);
    note(id);
}

static flake_status sleep_shard(void) {
    uint64_t id = 0;
    const flake_status status = flake_next(&shard, &id);
    return noted(status, id);
}

static void spend_wide(void) {
    flake_options o = options_and_claim();
    flake128 id;
    o.layout = flake_layout_boundary;
    o.seq_min = o.seq_max = 1;
    CHECK_EQ(flake_init(&wide, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake128_next(&wide, &id), FLAKE_OK);
}

static flake_status sleep_wide(void) {
    flake128 id;
    return flake128_next(&wide, &id);
}

static void make_sno(void) {
    sno_snapshot pool;
    const flake_options o = sno_options_of(&pool);
    CHECK_EQ(sno_init(&sno, &pool, &o, NULL), FLAKE_OK);
}

static void spend_sno(void) {
    sno_id ids[4];
    make_sno();
    CHECK_EQ(sno_next_n(&sno, 0, ids, 4), FLAKE_OK);
    for (int i = 0; i < 4; i++) note(sno_key(ids[i]));
}

static flake_status sleep_sno(void) {
    sno_id id = {0};
    const flake_status status = sno_next_n(&sno, 0, &id, 1);
    return noted(status, sno_key(id));
}

/* Both ticks have used the time that the clock reads. */
static void block_sno(void) {
    sno_id id;
    make_sno();
    for (int back = 0; back < 2; back++, pass_ms(-100)) {
        CHECK_EQ(sno_try(&sno, 0, &id), FLAKE_OK);
        note(sno_key(id));
    }
    pass_ms(50);
    CHECK_EQ(sno_try(&sno, 0, &id), FLAKE_CLOCK_BACKWARDS);
}

static void spend_sno_shard(void) {
    sno_snapshot pool;
    const flake_options o = sno_options_of(&pool);
    sno_id ids[4];
    CHECK_EQ(sno_init_shards(&sno_shard_of, 1, &pool, &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_next_n(&sno_shard_of, 0, ids, 4), FLAKE_OK);
    for (int i = 0; i < 4; i++) note(sno_key(ids[i]));
}

static flake_status sleep_sno_shard(void) {
    sno_id id = {0};
    const flake_status status = sno_next_n(&sno_shard_of, 0, &id, 1);
    return noted(status, sno_key(id));
}

static const struct sleeper {
    const char *name;
    void (*spend)(void);
    flake_status (*sleep)(void);
} sleepers[] = {{"flake_next", spend_few, sleep_next},
                {"flake_next of many", spend_all, sleep_next},
                {"flake_next by fetch_add", spend_all, sleep_late},
                {"flake_next_n", spend_few, sleep_next_n},
                {"flake_prefetch_next", spend_few, sleep_prefetch},
                {"flake_next", spend_shard, sleep_shard},
                {"flake128_next", spend_wide, sleep_wide},
                {"sno_new", spend_sno, sleep_sno},
                {"a blocked sno_new", block_sno, sleep_sno},
                {"sno_shard_new", spend_sno_shard, sleep_sno_shard}};
enum { sleepers_count = sizeof sleepers / sizeof *sleepers };

/* ---- what happens meanwhile ---- */

static pid_t forked; /* 0: this is the child */

static void sleep_on(int64_t ns) { atomic_fetch_add(&our->now_ns, ns); }

static void clone_meanwhile(int64_t ns) {
    sleep_on(ns);
    on_sleep = sleep_on;
    flake_machine_cloned();
    flake_machine_cloned();
}

static void lose_the_claim_meanwhile(int64_t ns) {
    sleep_on(ns);
    on_sleep = sleep_on;
    atomic_store(&claim, 0u);
}

static void fork_meanwhile(int64_t ns) { /* as a signal handler may */
    on_sleep = sleep_on;
    (void)fflush(stdout);
    forked = fork();
    if (forked < 0) abort();
    if (forked > 0) CHECK_EQ(end_of(forked), 0);
    else our = (scene *)memcpy(malloc(sizeof *our), our, sizeof *our); /* a clock of its own */
    sleep_on(ns);
}

static void begin_with(bool claims, void (*meanwhile)(int64_t ns)) {
    begin();
    atomic_store(&claim, 1u);
    gate_answer = FLAKE_OK;
    with_claim = claims;
    forked = -1;
    on_sleep = meanwhile;
}

static void says_once_slept(const struct sleeper *s, flake_status wanted) {
    void (*const meanwhile)(int64_t) = on_sleep;
    on_sleep = sleep_on;
    s->spend();
    on_sleep = meanwhile;
    const flake_status status = s->sleep();
    if (forked == 0) _exit(status == FLAKE_FORKED ? 0 : 1);
    CHECK_EQ(status, wanted);
    CHECK(on_sleep == sleep_on); /* it has slept */
    CHECK_EQ(repeated(), 0);
    if (check_failures) printf("  %s\n", s->name);
    with_claim = false;
}

TEST(a_sleeper_gets_no_id_after_a_bump) {
    for (int i = 0; i < 2 * sleepers_count && !check_failures; i++) {
        begin_with(i % 2, clone_meanwhile);
        says_once_slept(&sleepers[i / 2], FLAKE_FORKED);
    }
}

TEST(a_sleeper_gets_no_id_after_his_claim_is_lost) {
    for (int i = 0; i < sleepers_count && !check_failures; i++) {
        begin_with(true, lose_the_claim_meanwhile);
        says_once_slept(&sleepers[i], FLAKE_LEASE_LOST);
    }
}

TEST(a_fork_in_a_sleep_gives_the_parent_alone_an_id) {
    for (int i = 0; i < 2 * sleepers_count && !check_failures; i++) {
        begin_with(i % 2, fork_meanwhile);
        says_once_slept(&sleepers[i / 2], FLAKE_OK);
    }
}

/* ---- in front of a gate ---- */

static void (*then)(int64_t ns);

static void open_the_gate_meanwhile(int64_t ns) {
    gate_answer = FLAKE_OK;
    then(ns);
}

static void in_front_of_a_gate(void (*meanwhile)(int64_t ns), flake_status wanted) {
    static const struct sleeper gated[] = {{"flake_next", spend_few, sleep_next},
                                           {"sno_new", spend_sno, sleep_sno}};
    for (int i = 0; i < 2; i++) {
        begin_with(true, NULL);
        gated[i].spend();
        pass_ms(10);
        gate_answer = FLAKE_AGAIN;
        then = meanwhile;
        on_sleep = open_the_gate_meanwhile;
        const flake_status status = gated[i].sleep();
        if (forked == 0) _exit(status == FLAKE_FORKED ? 0 : 1);
        CHECK_EQ(status, wanted);
        CHECK_EQ(repeated(), 0);
        with_claim = false;
    }
}

TEST(who_waits_for_a_gate_looks_again) {
    in_front_of_a_gate(sleep_on, FLAKE_OK);
    in_front_of_a_gate(lose_the_claim_meanwhile, FLAKE_LEASE_LOST);
    in_front_of_a_gate(clone_meanwhile, FLAKE_FORKED);
    in_front_of_a_gate(fork_meanwhile, FLAKE_OK);
}

/* A state that a timer extends is a gate, too. */
static bool extends;

static void close_the_state_meanwhile(int64_t ns) {
    sleep_on(ns);
    on_sleep = sleep_on;
    if (extends) {
        CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
        CHECK_EQ(flake_state_extend(&snos, NULL), FLAKE_OK);
    } else {
        CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
        CHECK_EQ(flake_state_close(&snos, NULL), FLAKE_OK);
    }
}

TEST(who_waits_for_a_state_looks_again) {
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 2; i++) {
            flake_state_options w = {0};
            flake_state_options s = {0};
            sno_snapshot pool;
            begin_with(false, NULL);
            flake_options o = options_and_claim();
            flake_options p = sno_options_of(&pool);
            w.path = path_of("ids");
            s.path = path_of("snos");
            w.manual_extend = s.manual_extend = true;
            CHECK_EQ(flake_state_open(&state, &w, &o, NULL, NULL), FLAKE_OK);
            CHECK_EQ(sno_state_open(&snos, &s, &p, &pool, NULL), FLAKE_OK);
            o.state = &state;
            p.state = &snos;
            CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
            CHECK_EQ(sno_init(&sno, &pool, &p, NULL), FLAKE_OK);
            pass_ms(10000);
            extends = k;
            on_sleep = close_the_state_meanwhile;
            CHECK_EQ(i ? sleep_sno() : sleep_next(), extends ? FLAKE_OK : FLAKE_IO);
            if (!extends) continue;
            CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
            CHECK_EQ(flake_state_close(&snos, NULL), FLAKE_OK);
        }
}

/* ---- what each call says of a lost claim ---- */

TEST(a_lost_claim_is_told_by_each_call) {
    flake_snapshot snapshot;
    flake_options o;
    uint64_t ids[3];
    begin_with(true, NULL);
    o = options_and_claim();
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_prefetch_init(&stock, &gen, 10, 0, NULL), FLAKE_OK);
    CHECK_EQ(flake_prefetch_next(&stock, &ids[0]), FLAKE_OK); /* nine are left in stock */
    o.seq_min = 1000;
    o.seq_max = 1009;
    CHECK_EQ(flake_init_shards(&shard, 1, &o, NULL), FLAKE_OK);
    atomic_store(&claim, 0u);
    FAILS(flake_next(&gen, ids), FLAKE_LEASE_LOST, ids[0]);
    FAILS(flake_try(&gen, ids), FLAKE_LEASE_LOST, ids[0]);
    FAILS(flake_try_at(&gen, start_ms, ids), FLAKE_LEASE_LOST, ids[0]);
    FAILS(flake_next_n(&gen, ids, 3), FLAKE_LEASE_LOST, ids);
    CHECK_EQ(got64_n(&gen, ids, 3), 0);
    FAILS(flake_prefetch_next(&stock, ids), FLAKE_LEASE_LOST, ids[0]);
    CHECK_EQ(flake_snapshot_take(&gen, &snapshot), FLAKE_LEASE_LOST);
    CHECK_EQ(flake_retry_ns(&gen), INT64_MAX);
    FAILS(flake_next(&shard, ids), FLAKE_LEASE_LOST, ids[0]);
    FAILS(flake_try(&shard, ids), FLAKE_LEASE_LOST, ids[0]);
    FAILS(flake_try_at(&shard, start_ms, ids), FLAKE_LEASE_LOST, ids[0]);
    FAILS(flake_next_n(&shard, ids, 3), FLAKE_LEASE_LOST, ids);
    CHECK_EQ(got64_n(&shard, ids, 3), 0);
    const flake_options closed = o;
    o = options_and_claim();
    o.gate.admit = NULL;
    o.node = 4;
    CHECK_EQ(flake_reinit_after_fork(&gen, &o, NULL), FLAKE_INVALID); /* it was not forked */
    CHECK_EQ(flake_reinit_after_fork(&shard, &o, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_next(&gen, ids), FLAKE_LEASE_LOST);
    CHECK_EQ(flake_init(&gen, &closed, NULL), FLAKE_LEASE_LOST);
    CHECK_EQ(flake_next(&gen, ids), FLAKE_INVALID);
}

TEST(a_lost_claim_of_wide_ids) {
    flake_options o;
    flake128 id;
    begin_with(true, NULL);
    o = options_and_claim();
    o.layout = flake_layout_boundary;
    CHECK_EQ(flake_init(&wide, &o, NULL), FLAKE_OK);
    atomic_store(&claim, 0u);
    FAILS(flake128_next(&wide, &id), FLAKE_LEASE_LOST, id);
    FAILS(flake128_try(&wide, &id), FLAKE_LEASE_LOST, id);
    FAILS(flake128_next_n(&wide, &id, 1), FLAKE_LEASE_LOST, id);
    CHECK_EQ(got128_n(&wide, &id, 1), 0);
    FAILS(flake128_try_at(&wide, start_ms, &id), FLAKE_LEASE_LOST, id);
    o.gate.admit = NULL;
    o.node = 2;
    CHECK_EQ(flake_reinit_after_fork(&wide, &o, NULL), FLAKE_INVALID);
}

TEST(a_lost_claim_of_snos) {
    sno_snapshot pool, taken;
    flake_options o;
    sno_id id;
    begin_with(true, NULL);
    o = sno_options_of(&pool);
    CHECK_EQ(sno_init(&sno, &pool, &o, NULL), FLAKE_OK);
    pool.partition = 6;
    CHECK_EQ(sno_init_shards(&sno_shard_of, 1, &pool, &o, NULL), FLAKE_OK);
    atomic_store(&claim, 0u);
    FAILS(sno_next(&sno, 0, &id), FLAKE_LEASE_LOST, id);
    FAILS(sno_try(&sno, 0, &id), FLAKE_LEASE_LOST, id);
    FAILS(sno_next_n(&sno, 0, &id, 1), FLAKE_LEASE_LOST, id);
    size_t got = 1;
    CHECK_EQ(sno_try_n(&sno, 0, &id, 1, &got), FLAKE_LEASE_LOST);
    CHECK_EQ(got, 0);
    FAILS(sno_try_at(&sno, 0, start_ms, &id), FLAKE_LEASE_LOST, id);
    FAILS(sno_with_time(&sno, 0, start_ms, &id), FLAKE_LEASE_LOST, id);
    CHECK_EQ(sno_snapshot_take(&sno, &taken), FLAKE_LEASE_LOST);
    CHECK_EQ(sno_shards_snapshot(&sno_shard_of, 1, &taken), FLAKE_LEASE_LOST);
    FAILS(sno_try(&sno_shard_of, 0, &id), FLAKE_LEASE_LOST, id);
    FAILS(sno_next_n(&sno_shard_of, 0, &id, 1), FLAKE_LEASE_LOST, id);
    FAILS(sno_try_at(&sno_shard_of, 0, start_ms, &id), FLAKE_LEASE_LOST, id);
    FAILS(sno_next(&sno_shard_of, 0, &id), FLAKE_LEASE_LOST, id);
    CHECK_EQ(flake_retry_ns(&sno.gen), INT64_MAX);
    o.gate.admit = NULL;
    pool.partition = 7;
    CHECK_EQ(sno_reinit_after_fork(&sno, &pool, &o, NULL), FLAKE_INVALID);
    CHECK_EQ(sno_reinit_after_fork(&sno_shard_of, &pool, &o, NULL), FLAKE_INVALID);
    with_claim = false;
}

int main(int argc, char **argv) { return scene_main(argc, argv); }
