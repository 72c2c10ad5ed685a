/* SPDX-License-Identifier: MIT
 *
 * A claim is lost, a machine is cloned, a process forks, or a generator is closed (FLAKE_LEASE_LOST, FLAKE_FORKED and
 * FLAKE_CLOSED in flake.h): what happens to callers that sleep at that moment, and what each call returns afterwards.
 * No caller gets an ID that by then belongs to another.
 */
#define _GNU_SOURCE
#include "process_scene.h"
#include "flake.h"
#include "sno.h"
#include "ways_to_draw.h"

/* Where each generator has its number from: a call, a directory, or a gate with a word, as of a claim. */
enum { ALONE, IN_A_DIRECTORY, BEHIND_A_GATE, places };
static int place;
static flake_atomic64 claim;
static flake_status gate_answer;

static flake_status ask_gate(void *user, int64_t until_ns) {
    (void)user;
    (void)until_ns;
    return gate_answer;
}

static ways_setup setup(void) {
    ways_setup w = {0};
    if (place == IN_A_DIRECTORY) w.dir = our_folder;
    if (place == BEHIND_A_GATE) w.gate.admit = ask_gate, w.gate.fence = &claim;
    return w;
}

static flake_status draw(const struct way *w) {
    way_ids ids;
    const flake_status status = way_draw(w, &ids);
    CHECK(!ids.left_ids);
    way_note(w->family, &ids);
    return status;
}

static void make(void) {
    const ways_setup w = setup();
    CHECK_EQ(ways_make(&w), 0);
}

static void make_of_numbers(uint32_t seq_min, uint32_t seq_max) {
    const ways_setup w = setup();
    flake_options o = ways_flake_options(&w, seq_min, seq_max);
    CHECK_EQ(flake_init(&ways.gen, ways_flake_node(&w), &o, NULL), FLAKE_OK);
}

/* ---- sleeping callers ----
 *
 * Each way is set up so that the next draw sleeps once. */

static const struct way *way_now;

static void use_up_way(void) {
    struct way by_try = *way_now;
    by_try.call = BY_TRY;
    make();
    while (draw(&by_try) == FLAKE_OK) {
    }
}

static flake_status sleep_way(void) { return draw(way_now); }

static const struct way one_gen = {"next of one number", FAMILY_FLAKE, &ways.gen, BY_NEXT};
static void use_up_one(void) {
    make_of_numbers(1, 1);
    CHECK_EQ(draw(&one_gen), FLAKE_OK);
}
static flake_status sleep_one(void) { return draw(&one_gen); }

/* By fetch_add, after others' draws. */
static void use_up_all(void) {
    make_of_numbers(0, 4095);
    for (int i = 0; i < 4096; i++) CHECK_EQ(draw(&one_gen), FLAKE_OK);
}
static flake_status sleep_late(void) {
    flake_i_ticket ticket = {0, 0, 0, 0, 0, NULL};
    flake_gen *const g = &ways.gen;
    CHECK(g->engine.add_limit != 0);
    const int64_t now_ns = atomic_load(&our->now_ns);
    const uint64_t word = atomic_fetch_add(&g->engine.word, 1u);
    const flake_status status =
        flake_i_draw_slow(&g->engine, FLAKE_I_WAIT | FLAKE_I_OVERSHOT, word, now_ns, 1, &ticket);
    flake_stats stats;
    flake_stats_get(g, &stats);
    CHECK(stats.waits > 0);
    uint64_t id;
    (void)flake_i_put_unusual_id(g, ticket.time, ticket.index, &id);
    const way_ids ids = {status == FLAKE_OK, {id}, false};
    way_note(FAMILY_FLAKE, &ids);
    return status;
}

/* Both ticks have used the time that the clock reads. */
static const struct way of_sno = {"next of a blocked sno", FAMILY_SNO, &ways.sno, BY_NEXT};
static void block_sno(void) {
    make();
    for (int back = 0; back < 2; back++, pass_ms(-100)) CHECK_EQ(draw(&of_sno), FLAKE_OK);
    pass_ms(50);
    CHECK_EQ(flake_retry_ns(&ways.sno.gen), 50 * a_ms);
}
static flake_status sleep_blocked(void) { return draw(&of_sno); }

static const struct sleeper {
    const char *name;
    void (*use_up)(void);
    flake_status (*sleep)(void);
} others[] = {{"next of one number", use_up_one, sleep_one},
              {"next of many numbers", use_up_all, sleep_one},
              {"next by fetch_add", use_up_all, sleep_late},
              {"next of a blocked sno", block_sno, sleep_blocked}};
enum { others_count = sizeof others / sizeof *others, sleepers = others_count + ways_count };

static struct sleeper sleeper_at(unsigned i) {
    struct sleeper s = {"", use_up_way, sleep_way};
    if (i < others_count) return others[i];
    way_now = &all_ways[i - others_count];
    s.name = way_now->call == BY_NEXT || way_now->call == BY_NEXT_N || way_now->call == BY_PREFETCH
                 ? way_now->name
                 : NULL; /* it does not sleep */
    return s;
}

/* ---- events during the sleep ---- */

static pid_t forked; /* 0: this is the child */

static void sleep_on(int64_t ns) { atomic_fetch_add(&our->now_ns, ns); }

static void sleep_once(int64_t ns) {
    sleep_on(ns);
    on_sleep = sleep_on;
}

static void clone_meanwhile(int64_t ns) {
    sleep_once(ns);
    flake_machine_cloned();
    flake_machine_cloned();
}

static void lose_the_claim_meanwhile(int64_t ns) {
    sleep_once(ns);
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

static void begin_at(int there) {
    ways_close(); /* of the scene before */
    begin();
    place = there;
    atomic_store(&claim, 1u);
    gate_answer = FLAKE_OK;
    forked = -1;
    on_sleep = sleep_on;
}

static void (*then)(int64_t ns);

static void open_the_gate_meanwhile(int64_t ns) {
    gate_answer = FLAKE_OK;
    then(ns);
}

/* The draw of each sleeper, there, and what happens while it sleeps: for its unit, or until the gate opens. */
static void each_sleeps(int there, bool for_gate, void (*meanwhile)(int64_t ns), flake_status wanted) {
    for (unsigned i = 0; i < sleepers && !check_failures; i++) {
        const struct sleeper s = sleeper_at(i);
        if (!s.name || (for_gate && (s.sleep == sleep_late || s.sleep == sleep_blocked))) continue;
        begin_at(there);
        s.use_up();
        if (for_gate) pass_ms(10), gate_answer = FLAKE_AGAIN;
        then = meanwhile;
        on_sleep = for_gate ? open_the_gate_meanwhile : meanwhile;
        const flake_status status = s.sleep();
        if (forked == 0) _exit(status == FLAKE_FORKED ? 0 : 1);
        CHECK_EQ(status, wanted);
        CHECK(on_sleep == sleep_on); /* it has slept */
        CHECK_EQ(repeated(), 0);
        if (check_failures) printf("  %s, place %d\n", s.name, there);
    }
}

TEST(a_sleeper_gets_no_id_after_a_bump) {
    each_sleeps(ALONE, false, clone_meanwhile, FLAKE_FORKED);
    each_sleeps(BEHIND_A_GATE, false, clone_meanwhile, FLAKE_FORKED);
}

TEST(a_sleeper_gets_no_id_after_its_claim_is_lost) {
    each_sleeps(BEHIND_A_GATE, false, lose_the_claim_meanwhile, FLAKE_LEASE_LOST);
}

TEST(a_fork_in_a_sleep_gives_the_parent_alone_an_id) {
    each_sleeps(ALONE, false, fork_meanwhile, FLAKE_OK);
    each_sleeps(BEHIND_A_GATE, false, fork_meanwhile, FLAKE_OK);
}

static void close_meanwhile(int64_t ns) {
    sleep_once(ns);
    ways_close();
}

/* A thread that draws beside close is a mistake, and repeats no ID. */
TEST(a_sleeper_gets_no_id_after_a_close) {
    for (int there = ALONE; there < places; there++) each_sleeps(there, false, close_meanwhile, FLAKE_CLOSED);
}

TEST(a_caller_that_waits_for_a_gate_looks_again) {
    each_sleeps(BEHIND_A_GATE, true, sleep_once, FLAKE_OK);
    each_sleeps(BEHIND_A_GATE, true, lose_the_claim_meanwhile, FLAKE_LEASE_LOST);
    each_sleeps(BEHIND_A_GATE, true, clone_meanwhile, FLAKE_FORKED);
    each_sleeps(BEHIND_A_GATE, true, fork_meanwhile, FLAKE_OK);
}

/* A horizon that a timer extends. */
static bool extends;

static void extend_or_close_meanwhile(int64_t ns) {
    flake_status (*const call)(flake_gen *, flake_why *) = extends ? flake_extend : flake_close;
    sleep_once(ns);
    CHECK_EQ(call(&ways.gen, NULL), FLAKE_OK);
    CHECK_EQ(call(&ways.sno.gen, NULL), FLAKE_OK);
}

TEST(a_caller_that_waits_for_a_horizon_looks_again) {
    for (unsigned i = 0; i < 4; i++) {
        const sno_snapshot pool = pool_of_numbers(10, 0, 3);
        begin_at(ALONE);
        flake_options o = options_in_scene(), p = ways_sno_options();
        o.manual_extend = p.manual_extend = true;
        CHECK_EQ(flake_init(&ways.gen, flake_node_fixed(our_folder, 1), &o, NULL), FLAKE_OK);
        CHECK_EQ(sno_init(&ways.sno, flake_node_fixed(our_folder, 10), &pool, &p, NULL), FLAKE_OK);
        pass_ms(10000);
        extends = i / 2;
        on_sleep = extend_or_close_meanwhile;
        CHECK_EQ(draw(i % 2 ? &of_sno : &one_gen), extends ? FLAKE_OK : FLAKE_CLOSED);
        CHECK(on_sleep == sleep_on);
    }
}

/* ---- what each call returns after a lost claim ---- */

TEST(a_lost_claim_is_told_by_each_call) {
    sno_snapshot taken;
    sno_id sno;
    begin_at(BEHIND_A_GATE);
    make();
    for (unsigned i = 0; i < ways_count; i++) CHECK_EQ(draw(&all_ways[i]), FLAKE_OK); /* three are left in stock */
    const flake_options closed = *flake_gen_options(&ways.gen);
    const ways_setup claimed = setup(), free = {.who = 1};
    const flake_options o = ways_flake_options(&free, 0, 99), wide = ways_wide_options(&free), s = ways_sno_options();
    const sno_snapshot pool = ways_pool(1, FAMILY_SNO, 0, 99);
    const flake_node node = ways_flake_node(&free), partition = ways_node(&free, pool.partition);
    atomic_store(&claim, 0u);
    for (unsigned i = 0; i < ways_count; i++) CHECK_EQ(draw(&all_ways[i]), FLAKE_LEASE_LOST);
    FAILS(sno_with_time(&ways.sno, 0, start_ms, &sno), FLAKE_LEASE_LOST, sno);
    CHECK_EQ(sno_snapshot_take(&ways.sno, &taken), FLAKE_LEASE_LOST);
    CHECK_EQ(sno_shards_snapshot(ways.sno_shards, 2, &taken), FLAKE_LEASE_LOST);
    CHECK_EQ(flake_retry_ns(&ways.gen), INT64_MAX);
    CHECK_EQ(flake_retry_ns(&ways.sno.gen), INT64_MAX);
    /* They were not forked. */
    CHECK_EQ(flake_reinit_after_fork(&ways.gen, node, &o, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_reinit_after_fork(&ways.shards[0], node, &o, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_reinit_after_fork(&ways.wide, ways_wide_node(&free), &wide, NULL), FLAKE_INVALID);
    CHECK_EQ(sno_reinit_after_fork(&ways.sno, partition, &pool, &s, NULL), FLAKE_INVALID);
    CHECK_EQ(sno_reinit_after_fork(&ways.sno_shards[0], partition, &pool, &s, NULL), FLAKE_INVALID);
    CHECK_EQ(draw(&one_gen), FLAKE_LEASE_LOST);
    CHECK_EQ(flake_init(&ways.gen, ways_flake_node(&claimed), &closed, NULL), FLAKE_LEASE_LOST);
    CHECK_EQ(draw(&one_gen), FLAKE_INVALID);
}

/* ---- what each call returns after a close ---- */

/* Of the closed unit the stock has IDs, which were drawn before. */
static void draw_from_each_until_none_is_left(void) {
    for (unsigned i = 0; i < ways_count; i++) {
        flake_status status = FLAKE_OK;
        for (unsigned k = 0; k < 500 && status == FLAKE_OK; k++) status = draw(&all_ways[i]);
        CHECK_EQ(status, FLAKE_CLOSED);
    }
    CHECK_EQ(repeated(), 0);
}

static void check_that_each_is_closed(void) {
    sno_snapshot taken;
    sno_id sno;
    flake_prefetch stock;
    for (unsigned i = 0; i < ways_count; i++) {
        flake_gen *const g = way_gen(&all_ways[i]);
        if (draw(&all_ways[i]) != FLAKE_CLOSED) check_fail(__FILE__, __LINE__, all_ways[i].name);
        CHECK_EQ(flake_retry_ns(g), INT64_MAX);
        CHECK_EQ(flake_available(g), 0);
        CHECK_EQ(flake_close(g, NULL), FLAKE_OK);
        CHECK_EQ(flake_extend(g, NULL), FLAKE_CLOSED);
    }
    FAILS(sno_with_time(&ways.sno, 0, start_ms, &sno), FLAKE_CLOSED, sno);
    CHECK(flake_prefetch_init(&stock, &ways.gen, 4, 0, NULL) != FLAKE_OK ||
          flake_prefetch_next(&stock, &our->ids[0]) == FLAKE_CLOSED);
    CHECK_EQ(sno_snapshot_take(&ways.sno, &taken), FLAKE_OK); /* to continue from */
    CHECK_EQ(taken.partition, 10);
    CHECK_EQ(sno_shards_snapshot(ways.sno_shards, 2, &taken), FLAKE_OK);
}

/* At once, and in the next unit. */
TEST(a_close_is_told_by_each_call) {
    for (int there = ALONE; there < places; there++)
        for (int later = 0; later < 2; later++) {
            begin_at(there);
            make();
            for (unsigned k = 0; k < ways_count; k++) CHECK_EQ(draw(&all_ways[k]), FLAKE_OK);
            const int64_t newest_ms = flake_newest_ms(&ways.gen);
            ways_close();
            if (later) pass_ms(10); /* longer than a unit */
            else draw_from_each_until_none_is_left();
            check_that_each_is_closed();
            CHECK_EQ(flake_newest_ms(&ways.gen), newest_ms);
            CHECK_EQ(flake_gen_node(&ways.gen), 1);
            CHECK_EQ(flake_ahead_ms(&ways.gen), 0);
            /* its memory serves the next one */
            make();
            for (unsigned k = 0; k < ways_count; k++) {
                pass_ms(10);
                CHECK_EQ(draw(&all_ways[k]), FLAKE_OK);
            }
            CHECK_EQ(repeated(), 0);
        }
}

int main(int argc, char **argv) { return scene_main(argc, argv); }
