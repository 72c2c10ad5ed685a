/* SPDX-License-Identifier: MIT
 *
 * A call waits no longer than max_wait_ms, whatever the clock does: stops, creeps, steps back, jumps (PROGRESS). The
 * scripted sleep counts how often a caller slept, and the requested times; a sleep takes at least 50 us, however short
 * the request.
 */
#define _GNU_SOURCE
#include "process_scene.h"
#include "flake.h"
#include "sno.h"
#include "options.h"

static flake_gen gen;
static sno_gen sno;
static flake_ring ring;
static flake_ring_slot ring_slots[8];

enum { max_wait_ms = 10 };

/* ---- clocks ---- */

static uint64_t random_state;
static int64_t goes_back_ns; /* by so much with each reading */

static int64_t odd_clock(void *user) { return (void)user, atomic_fetch_sub(&our->now_ns, goes_back_ns); }
static void advance(int64_t ns) { atomic_fetch_add(&our->now_ns, ns); }

static void stand_still(int64_t ns) { (void)ns; }
static void creep(int64_t ns) { (void)ns, advance(1); }
static void sleep_half(int64_t ns) { advance(ns / 2); }
static void sleep_and_fall_back(int64_t ns) {
    static bool odd;
    odd = !odd;
    advance(odd ? ns : -ns);
}
static void jump(int64_t ns) {
    const int64_t by_ns = (int64_t)random_below(&random_state, (uint64_t)(3 * a_ms)) - a_ms * 3 / 2;
    advance(random_below(&random_state, 3) ? ns : by_ns);
}

static const struct {
    const char *name;
    void (*sleep)(int64_t ns);
    int64_t back_ns;
} clocks[] = {{"stands still", stand_still, 0}, {"creeps", creep, 0}, {"sleeps half", sleep_half, 0},
              {"goes back and stands", stand_still, 1}, {"goes back far", advance, 3000},
              {"falls back", sleep_and_fall_back, 0}, {"jumps", jump, 0}, {"jumps and goes back", jump, 77}};

/* ---- waits ---- */

static flake_status gate_says(void *user, int64_t until_ns) { return (void)user, (void)until_ns, FLAKE_AGAIN; }

static flake_options options_of(bool with_ring) {
    flake_options o = options_of_flake(1, 1, odd_clock, NULL); /* one ID a ms */
    o.max_wait_ms = max_wait_ms;
    CHECK_EQ(flake_ring_init(&ring, ring_slots, 8), FLAKE_OK);
    if (with_ring) o.overflow = &ring;
    return o;
}

static void no_sleep_yet(void) {
    atomic_store(&our->sleeps, 0u);
    atomic_store(&our->slept_ns, 0);
}

enum { NEXT, SHARD, WIDE, LATE, GATE, SNO, BLOCKED, waits_count };
static const char *const waits[] = {"next", "shard", "wide", "late", "gate", "sno", "blocked sno"};

/* The unit's one ID is drawn, or a gate is asked before the first. */
static void wait_for_one(unsigned kind, bool with_ring) {
    static const flake_gate gate = {.admit = gate_says};
    const flake_node node = kind == GATE ? flake_node_gated(&gate, 0) : flake_node_fixed(NULL, 0);
    flake_options o = options_of(with_ring);
    flake_i_ticket ticket;
    uint64_t id;
    flake128 wide;
    o.single_thread = kind == SHARD;
    if (kind == WIDE) o.layout = flake_layout_boundary;
    CHECK_EQ(flake_init(&gen, node, &o, NULL), FLAKE_OK);
    if (kind != GATE) (void)!(kind == WIDE ? flake128_try(&gen, &wide) : flake_try(&gen, &id));
    no_sleep_yet();
    if (kind == LATE) {
        const int64_t now_ns = atomic_load(&our->now_ns);
        const uint64_t word = atomic_fetch_add(&gen.engine.word, 1u);
        (void)flake_i_draw_slow(&gen.engine, FLAKE_I_WAIT | FLAKE_I_OVERSHOT, word, now_ns, 1, &ticket);
    } else (void)!(kind == WIDE ? flake128_next(&gen, &wide) : flake_next(&gen, &id));
}

/* Its 4 numbers are drawn; or both ticks have used the time. */
static void wait_for_sno(bool is_blocked, bool with_ring) {
    const sno_snapshot pool = pool_of_numbers(1, 0, 3); /* the least */
    flake_options o = options_of(with_ring);
    sno_id ids[4];
    const int64_t now_ns = atomic_load(&our->now_ns), back_ns = goes_back_ns;
    memset(&o.layout, 0, sizeof o.layout);
    o.seq_min = o.seq_max = 0;
    if (is_blocked) goes_back_ns = 0;
    CHECK_EQ(sno_init(&sno, flake_node_fixed(NULL, 1), &pool, &o, NULL), FLAKE_OK);
    if (is_blocked) {
        for (int i = 0; i < 3; i++) {
            atomic_store(&our->now_ns, now_ns - 100 * i * a_ms);
            CHECK_EQ(sno_try(&sno, 0, ids), i < 2 ? FLAKE_OK : FLAKE_CLOCK_BACKWARDS);
        }
        atomic_store(&our->now_ns, now_ns - 102 * a_ms); /* not much to wait for */
        goes_back_ns = back_ns;
    } else (void)tried_n(&sno, 0, ids, 4);
    no_sleep_yet();
    (void)next_sno(&sno, 0);
}

TEST(no_wait_outlasts_max_wait_ms) {
    static const int64_t before_a_unit_ns[] = {1, 1000, 49999, 50001, 500000, 999999};
    const int64_t most_ns = max_wait_ms * a_ms;
    for (unsigned i = 0; i < waits_count * 8 * 6 * 2 && !check_failures; i++) {
        const unsigned wait = i / 96, clock = i / 12 % 8, before = i / 2 % 6;
        const bool with_ring = i % 2;
        random_state = 0x9e3779b97f4a7c15 + before;
        begin();
        atomic_store(&our->now_ns, (start_ms + 4) * a_ms - before_a_unit_ns[before]);
        goes_back_ns = clocks[clock].back_ns;
        on_sleep = clocks[clock].sleep;
        if (wait < SNO) wait_for_one(wait, with_ring);
        else wait_for_sno(wait == BLOCKED, with_ring);
        const int64_t slept_ns = atomic_load(&our->slept_ns);
        const unsigned sleeps = atomic_load(&our->sleeps);
        CHECK(slept_ns <= most_ns);
        CHECK(sleeps <= most_ns / 50000 + 1);
        if (check_failures)
            printf("  %s, the clock %s, from %d ns before a unit, ring %d: %u sleeps, %d us\n", waits[wait],
                   clocks[clock].name, (int)before_a_unit_ns[before], with_ring, sleeps, (int)(slept_ns / 1000));
    }
}

int main(int argc, char **argv) { return scene_main(argc, argv); }
