/* SPDX-License-Identifier: MIT
 *
 * Several processes on one generator in shared memory, or on a shard each, and one of them killed
 * by SIGKILL again and again, wherever it stands. No id comes twice, those that the killed have
 * drawn included; nobody waits longer than the queue's bound; who is left goes on, and a new process
 * takes the killed one's place, and its shard.
 */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#define REAL_SLEEP
#include "support.h"
#include "flake.h"
#include "sno.h"
#include "options.h"
#include "sno_key.h"
#include "real_time.h"
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef TEST_SMALL
enum { kills = 20 };
#else
enum { kills = 100 };
#endif

enum {
    seats = 4,          /* processes at a time */
    ids_a_round = 2000, /* that a process may draw from one kill to the next */
    room = ids_a_round * (kills + 2),
    max_wait_ms = 200,
    stall_ms = 5000 /* that the machine may add */
};

/* What one process at a time draws into; its successor goes on behind it. */
typedef struct seat {
    _Atomic(uint64_t) n;
    _Atomic(int64_t) since_ns; /* when the call that runs began; 0: none runs */
    _Atomic(int64_t) longest_ns;
    _Atomic(uint64_t) refused;
    uint64_t ids[room];
} seat;

typedef struct common {
    flake_gen flake;
    flake_gen flake_shards[seats];
    sno_gen sno;
    sno_gen sno_shards[seats];
    _Atomic(int64_t) offset_ns; /* how far the clock was put back */
    _Atomic(uint64_t) allowed;
    seat seats[seats];
} common;

static common *our;

static int64_t stepping_clock(void *user) {
    (void)user;
    return 1700000000000000000 + clock_ns(CLOCK_MONOTONIC) +
           atomic_load_explicit(&our->offset_ns, memory_order_relaxed);
}

/* ---- ways to the ids ---- */

typedef bool (*way)(unsigned i, uint64_t *id);

static bool from_flake(unsigned i, uint64_t *id) {
    (void)i;
    return flake_next(&our->flake, id) == FLAKE_OK;
}

static bool from_flake_shard(unsigned i, uint64_t *id) {
    return flake_next(&our->flake_shards[i], id) == FLAKE_OK;
}

static bool from_sno(unsigned i, uint64_t *id) {
    const sno_id drawn = next_sno(&our->sno, 7);
    (void)i;
    *id = sno_key(drawn);
    return !sno_is_zero(drawn);
}

static bool from_sno_shard(unsigned i, uint64_t *id) {
    const sno_id drawn = next_sno(&our->sno_shards[i], 7);
    *id = sno_key(drawn);
    return !sno_is_zero(drawn);
}

/* `cap` ids a unit. */
static void init(uint32_t cap, bool clock_steps) {
    flake_options f = {0};
    flake_options s = {0};
    sno_snapshot pool = {0};
    memset(our, 0, offsetof(common, seats));
    for (unsigned i = 0; i < seats; i++) memset(&our->seats[i], 0, offsetof(seat, ids));
    s.shared_memory = f.shared_memory = words_reach_other_processes;
    f.layout = flake_layout_idgen;
    f.seq_min = 1;
    f.seq_max = cap < 4095 ? cap : 4095;
    f.max_wait_ms = s.max_wait_ms = max_wait_ms;
    pool.partition = 5;
    pool.sequence_min = 1;
    pool.sequence_max = (uint16_t)(cap < 16 ? 16 : cap);
    if (clock_steps) f.clock.now_ns = s.clock.now_ns = stepping_clock;
    CHECK_EQ(flake_init(&our->flake, &f, NULL), FLAKE_OK);
    CHECK_EQ(flake_init_shards(our->flake_shards, seats, &f, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&our->sno, &pool, &s, NULL), FLAKE_OK);
    CHECK_EQ(sno_init_shards(our->sno_shards, seats, &pool, &s, NULL), FLAKE_OK);
}

/* ---- processes ---- */

/* What was drawn is kept before the next is drawn; who is killed between the two has had that one
 * id, and nobody else may have it. */
static _Noreturn void draw_on(unsigned i, way draw, pid_t parent) {
    seat *s = &our->seats[i];
    for (;;) {
        const uint64_t n = atomic_load(&s->n);
        if (n >= atomic_load(&our->allowed)) {
            if (getppid() != parent) _exit(1);
            nap_us(20);
            continue;
        }
        const int64_t began_ns = clock_ns(CLOCK_MONOTONIC);
        atomic_store(&s->since_ns, began_ns);
        uint64_t id = 0;
        const bool drawn = draw(i, &id);
        const int64_t took_ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
        atomic_store(&s->since_ns, 0);
        if (took_ns > atomic_load(&s->longest_ns)) atomic_store(&s->longest_ns, took_ns);
        if (!drawn) {
            atomic_fetch_add(&s->refused, 1u);
            continue;
        }
        s->ids[n] = id;
        atomic_store(&s->n, n + 1);
    }
}

static pid_t start(unsigned i, way draw) {
    atomic_store(&our->seats[i].since_ns, 0);
    const pid_t parent = getpid(), child = fork();
    if (child == 0) draw_on(i, draw, parent);
    if (child < 0) abort();
    return child;
}

/* Waits until every process has drawn more than it had; false: one does not. */
static bool all_go_on(const uint64_t *had) {
    const int64_t end_ns = clock_ns(CLOCK_MONOTONIC) + (max_wait_ms + stall_ms) * INT64_C(1000000);
    for (unsigned i = 0; i < seats; i++)
        while (atomic_load(&our->seats[i].n) <= had[i]) {
            const int64_t since_ns = atomic_load(&our->seats[i].since_ns);
            if (clock_ns(CLOCK_MONOTONIC) > end_ns) {
                printf("  process %u has %" PRIu64 " ids and draws no more; it is %s\n", i, had[i],
                       since_ns ? "in a call" : "between two calls");
                return false;
            }
            nap_us(20);
        }
    return true;
}

static void pause_shortly(uint64_t *random) {
    const int64_t end_ns = clock_ns(CLOCK_MONOTONIC) + (int64_t)random_below(random, 300000);
    while (clock_ns(CLOCK_MONOTONIC) < end_ns) {
    }
}

/* Starts all, kills one after the other, and says how many ids fell below the one before. */
static size_t kill_again_and_again(way draw, bool clock_steps) {
    pid_t children[seats];
    uint64_t random = 88172645463325252u, had[seats] = {0};
    (void)fflush(stdout);
    atomic_store(&our->allowed, ids_a_round);
    for (unsigned i = 0; i < seats; i++) children[i] = start(i, draw);
    bool all_well = all_go_on(had);
    for (unsigned k = 0; k < kills && all_well; k++) {
        const unsigned victim = (unsigned)random_below(&random, seats);
        for (unsigned i = 0; i < seats; i++) had[i] = atomic_load(&our->seats[i].n);
        atomic_fetch_add(&our->allowed, ids_a_round);
        if (clock_steps) {
            const uint64_t most_ns = random_below(&random, 2) ? 2000000 : 20000000;
            atomic_store(&our->offset_ns, -(int64_t)random_below(&random, most_ns));
        }
        pause_shortly(&random);
        if (kill(children[victim], SIGKILL) != 0) abort();
        if (waitpid(children[victim], NULL, 0) != children[victim]) abort();
        children[victim] = start(victim, draw);
        all_well = all_go_on(had);
    }
    CHECK(all_well);
    for (unsigned i = 0; i < seats; i++) {
        (void)kill(children[i], SIGKILL);
        (void)waitpid(children[i], NULL, 0);
    }

    size_t falls = 0;
    for (unsigned i = 0; i < seats; i++) {
        const seat *s = &our->seats[i];
        for (uint64_t k = 1; k < s->n; k++) falls += s->ids[k] <= s->ids[k - 1];
        CHECK(s->longest_ns <= (max_wait_ms + stall_ms) * INT64_C(1000000));
    }
    return falls;
}

static size_t repeated(void) {
    size_t n = 0;
    uint64_t *all = (uint64_t *)malloc(seats * sizeof our->seats[0].ids);
    if (!all) abort();
    for (unsigned i = 0; i < seats; i++) {
        const size_t held = (size_t)our->seats[i].n;
        memcpy(all + n, our->seats[i].ids, held * sizeof *all);
        n += held;
    }
    CHECK(n >= kills);
    const size_t duplicates = count_duplicates(all, n);
    free(all);
    return duplicates;
}

static void kill_who_draws(way draw, uint32_t cap, bool clock_steps) {
    if (!words_reach_other_processes) {
        flake_options shared = {0};
        shared.shared_memory = true;
        CHECK_EQ(flake_init(&our->flake, &shared, NULL), FLAKE_INVALID);
        return;
    }
    init(cap, clock_steps);
    const size_t falls = kill_again_and_again(draw, clock_steps);
    CHECK_EQ(repeated(), 0);
    if (clock_steps) return;
    CHECK_EQ(falls, 0);
    for (unsigned i = 0; i < seats; i++) CHECK_EQ(our->seats[i].refused, 0);
}

/* ---- tests ---- */

TEST(killed_among_those_who_share_a_generator) {
    kill_who_draws(from_flake, 4095, false);
}
TEST(killed_in_the_queue_of_a_shared_generator) {
    kill_who_draws(from_flake, 256, false);
}
TEST(killed_where_each_id_is_waited_for) { kill_who_draws(from_flake, 4, false); }
TEST(killed_while_the_clock_is_put_back) { kill_who_draws(from_flake, 256, true); }
TEST(killed_on_shards_that_successors_take_over) {
    kill_who_draws(from_flake_shard, 1024, false);
}
TEST(killed_on_shards_while_the_clock_is_put_back) {
    kill_who_draws(from_flake_shard, 1024, true);
}
TEST(killed_among_those_who_share_a_sno) { kill_who_draws(from_sno, 65535, false); }
TEST(killed_in_the_queue_of_a_shared_sno) { kill_who_draws(from_sno, 512, false); }
TEST(killed_while_the_clock_of_a_shared_sno_is_put_back) {
    kill_who_draws(from_sno, 4095, true);
}
TEST(killed_on_sno_shards_that_successors_take_over) {
    kill_who_draws(from_sno_shard, 4095, false);
}
TEST(killed_on_sno_shards_while_the_clock_is_put_back) {
    kill_who_draws(from_sno_shard, 4095, true);
}

/* Runs `draw` in a forked child; what it says. */
static int in_child(int (*draw)(void)) {
    int status = -1;
    (void)fflush(stdout);
    const pid_t child = fork();
    if (child == 0) _exit(draw());
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

static flake_gen own_gen;
static flake_gen own_shard;
static flake_prefetch stock;

static int draw_from_the_parents(void) {
    uint64_t id;
    FAILS(flake_next(&own_gen, &id), FLAKE_FORKED, id);
    FAILS(flake_try(&own_gen, &id), FLAKE_FORKED, id);
    FAILS(flake_try_at(&own_gen, 1700000000000, &id), FLAKE_FORKED, id);
    FAILS(flake_next_n(&own_gen, &id, 1), FLAKE_FORKED, id);
    CHECK_EQ(got64_n(&own_gen, &id, 1), 0);
    FAILS(flake_next(&own_shard, &id), FLAKE_FORKED, id);
    return check_failures;
}

TEST(a_child_draws_nothing_from_its_parents_generator) {
    uint64_t id;
    CHECK_EQ(flake_init(&own_gen, NULL, NULL), FLAKE_OK);
    CHECK_EQ(flake_init_shards(&own_shard, 1, NULL, NULL), FLAKE_OK);
    CHECK_EQ(in_child(draw_from_the_parents), 0);
    CHECK_EQ(flake_next(&own_gen, &id), FLAKE_OK);
}

/* Draws from the stock that it has inherited, into the second seat. */
static int draw_from_the_parents_stock(void) {
    seat *s = &our->seats[1];
    for (; s->n < 50; s->n++)
        if (flake_prefetch_next(&stock, &s->ids[s->n]) != FLAKE_OK) return 1;
    return 0;
}

TEST(a_child_draws_nothing_from_its_parents_stock) {
    uint64_t ids[100];
    init(4095, false);
    CHECK_EQ(flake_prefetch_init(&stock, &our->flake, 20, 0, NULL), FLAKE_OK);
    for (unsigned i = 0; i < 10; i++) CHECK_EQ(flake_prefetch_next(&stock, &ids[i]), FLAKE_OK);
    CHECK_EQ(in_child(draw_from_the_parents_stock) == 0, words_reach_other_processes);
    if (!words_reach_other_processes) return; /* the child was refused */
    for (unsigned i = 10; i < 50; i++) CHECK_EQ(flake_prefetch_next(&stock, &ids[i]), FLAKE_OK);
    memcpy(ids + 50, our->seats[1].ids, 50 * sizeof *ids);
    CHECK_EQ(count_duplicates(ids, 100), 0);
}

int main(int argc, char **argv) {
    void *page = mmap(NULL, sizeof *our, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return 1;
    our = (common *)page;
    return check_main(argc, argv);
}
