/* SPDX-License-Identifier: MIT
 *
 * UUIDs and ULIDs of a generator rise (flake.h, >>128-bit, and flake_i_continue in >>draws): they continue when the
 * clock goes backwards, with a gate, over lanes, forks and restarts; and queries return what a try would do. (Any calls
 * and any clock: test_random_flake.c.)
 */
#define _GNU_SOURCE
#define CHECK_OWN_MAIN
#include "uuid.h"
#include "children.h"
#include "temporary_dir.h"

static flake_gen gen, other, lanes;
static flake128 ids[3];

static void open_lanes(const setup *of) {
    static flake_lane array[3]; /* as many as lanes have: sanitizers detect an overrun */
    setup s = *of;
    s.options.lanes = array;
    s.options.lane_count = 3;
    open_gen(&lanes, &s);
}

// >>rising

TEST(a_clock_that_goes_backwards_stops_no_draw) {
    EACH_LAYOUT(l) {
        setup s = usual(l);
        s.last_number = 2;
        open_gen(&gen, &s);
        flake128 last = drawn(&gen);
        clock_at(T - 3600 * 1000);
        for (unsigned i = 1; i < 9; i++) {
            rises(&last, drawn(&gen));
            CHECK_EQ(uuid_ms(last), T + i / 3); /* its units are all used, none is left out */
        }
        CHECK_EQ(flake_ahead_ms(&gen), 3600 * 1000 + 2);
        CHECK_EQ(script_now.sleeps, 0);
        clock_at(T + 10000); /* and then it is right again */
        rises(&last, drawn(&gen));
        CHECK_EQ(uuid_ms(last), T + 10000);
    }
}

/* This many of a call's readings are past the end; later ones are in the last ms. */
static int reads_past_the_end;
static int64_t read_past_the_end(void *unused) {
    (void)unused;
    return (INT64_MAX / MS - (reads_past_the_end-- > 0 ? 0 : 1)) * MS;
}

TEST(a_clock_that_goes_back_to_the_last_ms_stops_no_draw) {
    EACH_LAYOUT(l) {
        flake128 id;
        int reads = 0;
        setup s = usual(l);
        s.options.clock.now_ns = read_past_the_end;
        open_gen(&gen, &s);
        (void)drawn(&gen);
        for (; reads_past_the_end = reads, flake128_try(&gen, &id) == FLAKE_OK; reads++)
            CHECK_EQ(uuid_ms(id), INT64_MAX / MS - 1);
        CHECK_EQ(reads_past_the_end, 0); /* each reading was past the end */
        CHECK(reads > 2);
    }
}

static int64_t refused; /* bit 0: the next time that the gate is asked; and so on */
static int asked;

static flake_status gate_admits(void *unused, int64_t until_ns) {
    (void)unused, (void)until_ns;
    check_turn();
    asked++;
    const bool is_refused = refused & 1;
    refused >>= 1;
    return is_refused ? FLAKE_AGAIN : FLAKE_OK;
}

static const flake_gate gate = {.admit = gate_admits};

/* With a gate, too. */
TEST(before_1984_a_generator_without_an_id_waits_for_the_clock_to_be_set) {
    EACH_LAYOUT(l) for (int gated = 0; gated < (l->node_bits ? 2 : 1); gated++) {
        flake128 id = untouched;
        setup s = usual(l);
        if (gated) s.node = flake_node_gated(&gate, a_node);
        open_gen(&gen, &s);
        script_now.now_ns = INT64_C(441763200000) * MS - 1;
        CHECK_EQ(flake128_next(&gen, &id), FLAKE_TIME_RANGE);
        CHECK_EQ(flake_available(&gen), 0);
        if (gated) continue; /* its first ms begins exhausted */
        CHECK_EQ(flake_retry_ns(&gen), 1);
        script_now.now_ns++;
        CHECK_EQ(uuid_ms(drawn(&gen)), 441763200000);
        script_now.now_ns--;
        CHECK_EQ(uuid_ms(drawn(&gen)), 441763200000);
    }
}

/* The last ms whose ns fit into an int64_t: no unit follows it, and once it is exhausted none can continue. */
TEST(no_id_follows_the_last_ms) {
    const int64_t last_ms = INT64_MAX / MS - 1;
    EACH_LAYOUT(l) {
        flake128 id;
        setup s = usual(l);
        s.last_number = 2;
        open_gen(&gen, &s);
        clock_at(last_ms);
        for (int i = 0; i < 3; i++) CHECK_EQ(uuid_ms(drawn(&gen)), last_ms);
        clock_at(T);
        FAILS(flake128_next(&gen, &id), FLAKE_TIME_RANGE, id);
        CHECK_EQ(flake_available(&gen), 0);
    }
}

TEST(a_call_waits_for_a_gate_too_while_the_clock_is_back) {
    setup s = usual(&flake_layout_uuid7_node);
    s.last_number = 2;
    s.node = flake_node_gated(&gate, a_node);
    open_gen(&gen, &s);
    CHECK_EQ(flake128_next_n(&gen, ids, 3), FLAKE_OK);
    flake128 last = ids[2], id = untouched;
    clock_at(T - 1000);
    refused = -1;
    CHECK_EQ(flake128_try(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(script_now.sleeps, 0);
    refused = 0x7f;
    CHECK_EQ(flake128_next(&gen, &id), FLAKE_OK);
    CHECK(script_now.sleeps > 0);
    rises(&last, id);
    refused = -1;
    CHECK_EQ(flake128_next_n(&gen, ids, 3), FLAKE_AGAIN); /* after max_wait_ms */
    clock_at(T - 1000);
    refused = 0xb; /* it refuses once more after the wait */
    rises(&last, drawn(&gen));
    CHECK_EQ(refused, 0);
}

// >>lanes

static void step_clock(uint64_t *seed) {
    lane_now = (unsigned)random_below(seed, 3);
    switch (random_below(seed, 24)) {
    case 0: script_now.now_ns -= MS; break;
    case 1: script_now.now_ns -= 3600 * 1000 * MS; break;
    case 2: script_now.now_ns = 1; break; /* 1970, as a clock without a battery reads */
    case 3: clock_at(T + (int64_t)random_below(seed, 3600 * 1000)); break;
    case 4:
        if (script_now.now_ns < (T + 7200 * 1000) * MS) script_now.now_ns += 1000 * MS;
        break;
    default: script_now.now_ns += (int64_t)random_below(seed, 400000);
    }
}

static int64_t newest_ms;

static size_t tried(size_t n) {
    flake128 few[30];
    const size_t given = n > 1 ? got128_n(&lanes, few, n) : flake128_try(&lanes, few) == FLAKE_OK;
    for (size_t i = 0; i < given; i++)
        if (uuid_ms(few[i]) > newest_ms) newest_ms = uuid_ms(few[i]);
    return given;
}

static void check_answers(int64_t max_ahead_ms) {
    const int64_t retry_ns = flake_retry_ns(&lanes), now_ms = script_now.now_ns / MS;
    const uint64_t free_now = flake_available(&lanes);
    const bool is_back = newest_ms > now_ms + max_ahead_ms;
    CHECK((retry_ns == 0) == (free_now > 0));
    if (free_now) {
        const size_t n = tried(30);
        CHECK(is_back ? n >= flake_i_min_u64(free_now, 30) : n == flake_i_min_u64(free_now, 30));
        return;
    }
    CHECK_EQ(tried(1), 0);
    CHECK(retry_ns > 0 && retry_ns <= 10 * MS);
    script_now.now_ns += retry_ns - 1;
    CHECK_EQ(tried(1), 0);
    script_now.now_ns++;
    CHECK_EQ(tried(1), 1);
}

/* Of lanes. (Of one word: test_random_flake.c.) */
TEST(answers_agree_with_what_a_try_does) {
    uint64_t seed = 5;
    EACH_LAYOUT(l) for (unsigned ahead = 0; ahead < 4; ahead += 3) {
        setup s = usual(l);
        s.last_number = 7;
        s.options.max_ahead_ms = ahead;
        open_lanes(&s);
        newest_ms = 0;
        (void)tried(1);
        for (unsigned step = 0; step < steps; step++, step_clock(&seed)) check_answers(ahead);
    }
}

/* A sweep asks twice. A lane that is ahead of the clock then continues, and asks three times: its first
 * refusal may be due to other threads, the second is the gate's, for which a waiting call would wait. */
TEST(a_try_of_lanes_asks_a_gate_five_times_at_most) {
    int most = 0;
    EACH_LAYOUT(l) for (unsigned drawn = 0; drawn < 256; drawn++) {
        flake128 id;
        setup s = usual(l);
        if (!l->node_bits) continue; /* without a node there is no gate */
        s.node = flake_node_gated(&gate, a_node);
        s.last_number = 5; /* two of each lane */
        refused = 0;
        open_lanes(&s);
        for (unsigned i = 0; i < 8; i++) { /* each with the clock at either time */
            clock_at(drawn >> i & 1 ? T + 5 : T);
            lane_now = i % 3;
            CHECK(flake128_try(&lanes, &id) == FLAKE_OK || is_none(&id));
        }
        for (int64_t ms = T - 1; ms < T + 8; ms++)
            for (lane_now = 0; lane_now < 4; lane_now++) {
                clock_at(ms);
                refused = -1;
                asked = 0;
                CHECK(flake128_try(&lanes, &id) == FLAKE_OK || is_none(&id));
                if (asked > most) most = asked;
            }
    }
    CHECK_EQ(most, 5);
}

// >>processes

static struct {
    flake128 newest;
    int64_t now_ns;
} * shared; /* with children */
static const setup *inherited; /* by children */

static void a_child(void) {
    setup s = *inherited;
    flake128 id = untouched;
    CHECK_EQ(flake128_next(&gen, &id), FLAKE_FORKED);
    CHECK_EQ(got128_n(&gen, &id, 1), 0);
    CHECK_EQ(flake_available(&gen), 0);
    CHECK(is_none(&id));
    if (s.options.layout.node_bits)
        CHECK_EQ(flake_reinit_after_fork(&gen, s.node, &s.options, NULL), FLAKE_NODE_OVERLAP);
    s.node = node_in(&s.options.layout, 1);
    source.fails = true;
    CHECK_EQ(flake_reinit_after_fork(&gen, s.node, &s.options, NULL), FLAKE_IO);
    source.fails = false;
    source.seed += (uint64_t)getpid();
    CHECK_EQ(flake_reinit_after_fork(&gen, s.node, &s.options, NULL), FLAKE_OK);
    shared->newest = drawn(&gen);
}

TEST(a_child_draws_after_a_reinit_with_another_node) {
    EACH_LAYOUT(l) {
        setup s = usual(l);
        open_gen(&gen, &s);
        flake128 mine = drawn(&gen), childs[2];
        for (int i = 0; i < 2; i++) {
            inherited = &s;
            in_child(a_child);
            childs[i] = shared->newest;
        }
        CHECK(flake128_compare(&childs[0], &childs[1]) && flake128_compare(&childs[0], &mine));
        CHECK(uuid_ms(childs[0]) == T && uuid_ms(childs[1]) == T);
        rises(&mine, drawn(&gen));
        flake_machine_cloned();
        CHECK_EQ(flake128_try(&gen, ids), FLAKE_FORKED);
        s.node = node_in(l, 1);
        CHECK_EQ(flake_reinit_after_fork(&gen, s.node, &s.options, NULL), FLAKE_OK);
        const flake128 anew = drawn(&gen);
        CHECK(flake128_compare(&anew, &mine) && uuid_ms(anew) == T);
    }
}

/* Two processes draw from one generator in shared memory: its IDs rise, whichever draws. */
static flake_gen *common;
static void draws_from_the_common_one(void) {
    for (int i = 0; i < 100; i++) {
        flake128 id = drawn(common);
        rises(&shared->newest, id);
        if (i == 50) script_now.now_ns -= 3600 * 1000 * MS;
    }
}

TEST(in_shared_memory_ids_rise_in_all_processes) {
    if (!words_reach_other_processes) return;
    common = (flake_gen *)shared_memory(sizeof *common);
    setup s = usual(&flake_layout_uuid7);
    s.options.shared_memory = true;
    open_gen(common, &s);
    memset(shared, 0, sizeof *shared);
    draws_from_the_common_one();
    in_child(draws_from_the_common_one);
    in_child(draws_from_the_common_one);
    draws_from_the_common_one();
    (void)munmap(common, sizeof *common);
}

#if FLAKE_I_HAS_FILES
static setup usual_in_directory(const flake_layout *l) {
    setup s = usual(l);
    begin_folder();
    s.node = flake_node_fixed(folder, a_node);
    memset(shared, 0, sizeof *shared);
    return s;
}

#define EACH_LAYOUT_WITH_A_NODE(l) for (const flake_layout *l = layouts + 1; l < layouts + 3; l++)

/* One run; if `which` is odd it ends without a close. */
static unsigned which;
static void a_run(void) {
    open_gen(&gen, inherited);
    for (int i = 0; i < 20; i++) {
        rises(&shared->newest, drawn(&gen));
        script_now.now_ns += i % 7 == 6 ? -30 * MS : 10 * MS;
    }
    if (which % 2 == 0) CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
    shared->now_ns = script_now.now_ns;
}

TEST(ids_rise_over_restarts_with_a_directory) {
    EACH_LAYOUT_WITH_A_NODE(l) {
        flake128 none;
        const setup s = usual_in_directory(l);
        inherited = &s;
        for (which = 0; which < 8; which++) {
            source.seed += which;
            in_child(a_run);
            script_now.now_ns = shared->now_ns - which % 2 * 60 * MS; /* back after a crash */
        }
        clock_at(T - 1000); /* before the last run began */
        CHECK_EQ(flake_init(&gen, s.node, &s.options, NULL), FLAKE_CLOCK_BACKWARDS);
        clock_at(T + 3600 * 1000);
        open_gen(&gen, &s);
        rises(&shared->newest, drawn(&gen));
        CHECK_EQ(flake_init(&other, s.node, &s.options, NULL), FLAKE_IN_USE);
        CHECK_EQ(flake_init(&other, flake_node_fixed(folder, a_node + 1), &s.options, NULL), FLAKE_OK);
        CHECK_EQ(flake_close(&other, NULL), FLAKE_OK);
        CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
        script_now.now_ns += MS;
        FAILS(flake128_next(&gen, &none), FLAKE_CLOSED, none);
        end_folder();
    }
}

/* A close covers the IDs that UUIDs have drawn ahead of a clock that has gone backwards. */
TEST(an_init_waits_for_a_close_before_the_newest_id) {
    EACH_LAYOUT_WITH_A_NODE(l) {
        const setup s = usual_in_directory(l);
        open_gen(&gen, &s);
        script_now.now_ns += 500 * MS;
        flake128 last = drawn(&gen);
        CHECK_EQ(uuid_ms(last), T + 500);
        script_now.now_ns -= 400 * MS; /* not before the file's last write */
        CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
        open_gen(&other, &s);
        rises(&last, drawn(&other));
        CHECK(uuid_ms(last) > T + 500);
        CHECK_EQ(flake_close(&other, NULL), FLAKE_OK);
        end_folder();
    }
}
#endif

int main(int argc, char **argv) {
    shared = shared_memory(sizeof *shared);
    return check_main(argc, argv);
}
