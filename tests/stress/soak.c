/* SPDX-License-Identifier: MIT
 *
 * The soak test draws in all ways at once on the real clock, from threads and from processes that are forked, killed
 * and restarted, and proves that no ID repeats.
 *
 *     soak [--ids=N | --hours=H]   1,000,000,000 IDs by default
 *
 * It goes in rounds, with 2, 8 and 32 threads for each generator in turn. All IDs of a round are compared with each
 * other and with the newest of the rounds before, so that memory does not grow; an ID older than those is a failure.
 * A mode, which is one way to draw, is a line of the table below.
 */
#define _GNU_SOURCE
#define REAL_SLEEP
#define CHECK_OWN_MAIN
#include "support.h"
#include "flake.h"
#include "sno.h"
#include "children.h"
#include "id_log.h"
#include "options.h"
#include "real_time.h"
#include "temporary_dir.h"
#include <pthread.h>
#include <sys/resource.h>

enum {
    most_crowd = 32,
    most_mib = 700,
    round_runs = 8000000,
    rounds_at_least = 3,
    kept_units = 2048, /* before the newest of a round: the next one is compared with them */
    most_ids = 64      /* of one call, or of several that are recorded together */
};

/* What the threads and children of one mode have done. */
typedef struct tally {
    _Atomic(uint64_t) ids, refused, failed, misplaced, late;
} tally;

enum { most_modes = 32 };
static struct state {
    tally of_mode[most_modes];
    uint64_t forks, refusals, kills, restarts, round_ids;
    _Atomic(bool) stop;
} *state;
static uint64_t wanted_ids = 1000000000;
static double wanted_s = 1e9;
static uint64_t newest[flakes_of_another_layout + 1]; /* unit of the rounds before, of each family */

static int64_t unix_ms(void) { return clock_ns(CLOCK_REALTIME) / 1000000; }

static bool round_is_over(void) {
    return atomic_load(&state->stop) || atomic_load(&drawn->n) > round_runs ||
           atomic_load(&drawn->ids) >= state->round_ids;
}

/* ---- generators, each with its own numbers ---- */

/* Nodes; of another layout the first three. Four children take turns. */
enum { NODE_SHARED, NODE_SHARDS, NODE_LANES, NODE_OTHERS, NODE_CLOSED = 12, NODE_KILLED, NODE_TWINS };
enum { NODE_CHILDREN = 16, most_children = 4 };
enum { PART_SHARED, PART_SHARDS, PART_LANES, PART_BATCHES, PART_CHILDREN };
enum { n_lanes = 8, first_partition = 4000, wide_node = 471147 };

static flake_gen idgen_whole, idgen_shards[most_crowd], idgen_lanes;
static flake_gen roomy_whole, roomy_shards[most_crowd], roomy_lanes, wide_lanes;
static sno_gen sno_whole, sno_shards[most_crowd], sno_lanes, sno_batches;
/* One for each clock: for batches, for given times, for stocks; then with lanes. */
static const int kinds[] = {FLAKE_CLOCK_EXACT, FLAKE_CLOCK_EXACT,  FLAKE_CLOCK_EXACT, FLAKE_CLOCK_COARSE,
                            FLAKE_CLOCK_FAST,  FLAKE_CLOCK_COARSE, FLAKE_CLOCK_FAST};
enum { n_others = sizeof kinds / sizeof *kinds, first_laned = 5 };
static flake_gen others[n_others];
static flake_prefetch stocks[most_crowd];

static flake_options options_of(flake_layout layout, int kind) {
    flake_options o = {0};
    o.layout = layout;
    o.clock.kind = kind;
    return o;
}

static flake_node node_of(unsigned part) { return flake_node_fixed(NULL, first_partition + part); }

static void make_lanes(flake_gen *g, uint64_t node, flake_options o, size_t n) {
    static flake_lane lanes_of[5][n_lanes];
    static unsigned used;
    CHECK_EQ(flake_init(g, flake_node_fixed(NULL, node), with_lanes(&o, lanes_of[used++], n), NULL), FLAKE_OK);
}

/* One generator for all threads, shards, and one with lanes. */
static void make_three(flake_gen *whole, flake_gen *shards, flake_gen *lanes, flake_layout layout) {
    const flake_options o = options_of(layout, FLAKE_CLOCK_EXACT);
    CHECK_EQ(flake_init(whole, flake_node_fixed(NULL, NODE_SHARED), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_init_shards(shards, most_crowd, flake_node_fixed(NULL, NODE_SHARDS), &o, NULL), FLAKE_OK);
    make_lanes(lanes, NODE_LANES, o, n_lanes);
}

static void make_generators(void) {
    static flake_lane sno_lane[n_lanes];
    flake_options wide = options_of(flake_layout_boundary, FLAKE_CLOCK_EXACT);
    wide.seq_max = 4095;
    make_three(&idgen_whole, idgen_shards, &idgen_lanes, flake_layout_idgen);
    /* So many numbers a unit that no thread waits for the clock. */
    make_three(&roomy_whole, roomy_shards, &roomy_lanes, flake_layout_of(40, 2, 20, INT64_C(1577836800000)));
    make_lanes(&wide_lanes, wide_node, wide, n_lanes);
    CHECK_EQ(sno_init(&sno_whole, node_of(PART_SHARED), NULL, NULL, NULL), FLAKE_OK);
    CHECK_EQ(sno_init_shards(sno_shards, most_crowd, node_of(PART_SHARDS), NULL, NULL, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&sno_lanes, node_of(PART_LANES), NULL, with_lanes(NULL, sno_lane, n_lanes), NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&sno_batches, node_of(PART_BATCHES), NULL, NULL, NULL), FLAKE_OK);
    for (unsigned i = 0; i < n_others; i++) {
        const flake_options o = options_of(flake_layout_idgen, kinds[i]);
        const flake_node node = flake_node_fixed(NULL, NODE_OTHERS + i);
        if (i < first_laned) CHECK_EQ(flake_init(&others[i], node, &o, NULL), FLAKE_OK);
        else make_lanes(&others[i], NODE_OTHERS + i, o, 3);
    }
}

/* ---- drawing ---- */

/* What a call returned, or its status: an exhausted unit is no failure. */
static void note(tally *t, unsigned family, flake_status status, const uint64_t *keys, size_t n) {
    if (status == FLAKE_AGAIN || status == FLAKE_CLOCK_BACKWARDS || status == FLAKE_TOO_FAR_AHEAD) {
        t->refused++;
        nap_us(200);
    } else t->failed += status != FLAKE_OK;
    for (size_t i = 0; i < n; i++) t->late += (keys[i] >> 22) + kept_units < newest[family];
    t->ids += n;
    keep(family, keys, n);
}

static flake_status draw_one(tally *t, unsigned family, void *g) {
    uint64_t key;
    size_t n;
    const flake_status status = draw_keys(family, g, 'n', 0, &key, &n);
    if (status != FLAKE_FORKED) note(t, family, status, &key, n);
    return status;
}

/* What must hold for a thread's IDs, if each call returns one: they rise, or their times are those of the exact clock
 * to within a ms. */
typedef enum order { ANY, UNITS_RISE, IDS_RISE, NEAR_CLOCK } order;

typedef struct mode {
    const char *name;
    unsigned family;
    void *gens;
    size_t shard; /* offset from one thread's generator to the next one's; 0: all share it */
    /* One of these letters at random; a: of some ms ago; p: from the thread's stock */
    const char *calls;
    order order;
    void (*draws)(tally *t, uint64_t *random); /* or this, of one thread */
} mode;

typedef struct seat {
    pthread_t thread;
    const mode *mode;
    tally *of_mode;
    unsigned nth;
    uint64_t random, last;
} seat;

static void draw_some(seat *s) {
    const mode *const m = s->mode;
    uint64_t keys[most_ids];
    void *const g = (char *)m->gens + m->shard * s->nth;
    const char letter = m->calls[random_below(&s->random, strlen(m->calls))];
    const bool is_batch = letter == 'N' || letter == 'T';
    const int64_t before_ms = unix_ms(), now_ms = before_ms - (int64_t)random_below(&s->random, 4);
    size_t n = 1 + random_below(&s->random, most_ids), sum = 0;
    flake_status status;
    do status = draw_keys(m->family, g, letter, now_ms, keys + sum, &n);
    while ((sum += n) < most_ids && !is_batch && status == FLAKE_OK);
    const uint64_t after_ms = (uint64_t)unix_ms();
    note(s->of_mode, m->family, status, keys, sum);
    for (size_t i = 0; !is_batch && i < sum; s->last = keys[i++]) {
        const uint64_t unit = keys[i] >> 22;
        const bool is_wrong = m->order == NEAR_CLOCK   ? unit + 2 < (uint64_t)before_ms || unit > after_ms + 1
                              : m->order == UNITS_RISE ? unit < s->last >> 22
                                                       : m->order == IDS_RISE && keys[i] <= s->last;
        s->of_mode->misplaced += is_wrong;
    }
}

/* Claims the number, draws for a while, and closes. A child forked meanwhile holds the number, too, until it ends. */
static void draw_run(tally *t, uint64_t number, int64_t ms) {
    flake_options o = options_of(flake_layout_idgen, FLAKE_CLOCK_EXACT);
    flake_gen gen;
    o.horizon_ms = 200;
    o.claim_wait_ms = 10000;
    const bool is_held = flake_init(&gen, flake_node_fixed(folder, number), &o, NULL) == FLAKE_OK;
    const int64_t until_ms = unix_ms() + ms;
    t->failed += !is_held;
    if (!is_held) return;
    do (void)draw_one(t, FLAKES, &gen);
    while (unix_ms() < until_ms && !round_is_over());
    t->failed += flake_close(&gen, NULL) != FLAKE_OK;
}

static void draw_closed(tally *t, uint64_t *random) {
    draw_run(t, NODE_CLOSED, (int64_t)random_below(random, 400));
    state->restarts++;
}

/* A process that is killed at any moment, and another that continues after it. */
static void draw_killed(tally *t, uint64_t *random) {
    pid_t child;
    IN_CHILD_AS(child) draw_run(t, NODE_KILLED, 60000);
    nap_us(1000 * (long)(50 + random_below(random, 700)));
    (void)kill(child, SIGKILL);
    (void)end_of(child);
    state->kills++;
}

/* A forked child: its parent's generators fail there until they have numbers of their own, one of them from the
 * directory. */
static void draw_as_child(tally *t, unsigned turn) {
    const flake_options o = options_of(flake_layout_idgen, FLAKE_CLOCK_EXACT);
    const flake_node node = flake_node_any(folder, NODE_CHILDREN, NODE_CHILDREN + most_children - 1);
    state->refusals += draw_one(t, SNOS, &sno_whole) == FLAKE_FORKED;
    state->refusals += draw_one(t, FLAKES, &idgen_whole) == FLAKE_FORKED;
    t->failed += flake_reinit_after_fork(&idgen_whole, node, &o, NULL) != FLAKE_OK;
    t->failed += sno_reinit_after_fork(&sno_whole, node_of(PART_CHILDREN + turn), NULL, NULL, NULL) != FLAKE_OK;
    for (const int64_t until_ms = unix_ms() + 40; unix_ms() < until_ms;) {
        (void)draw_one(t, SNOS, &sno_whole);
        (void)draw_one(t, FLAKES, &idgen_whole);
    }
    t->failed += flake_close(&idgen_whole, NULL) != FLAKE_OK;
}

static void draw_forked(tally *t, uint64_t *random) {
    (void)random;
    IN_CHILD draw_as_child(t, (unsigned)(state->forks % most_children));
    state->forks++;
    nap_us(60000);
}

#define THREE_MODES(ids_of, family, of)                                                         \
    {ids_of, family, &of##_whole, 0, "nnnt", IDS_RISE, NULL},                                   \
        {ids_of ", sharded", family, of##_shards, sizeof *of##_shards, "nN", IDS_RISE, NULL}, { \
        ids_of ", lanes", family, &of##_lanes, 0, "nN", UNITS_RISE, NULL                        \
    }
static const mode modes[] = {
    THREE_MODES("flake 40+2+20", flakes_of_another_layout, roomy),
    THREE_MODES("flake-idgen", FLAKES, idgen),
    THREE_MODES("sno", SNOS, sno),
    {"128 bits, lanes", FLAKES128, &wide_lanes, 0, "nN", UNITS_RISE, NULL},
    {"fast clock", FLAKES, &others[4], 0, "n", NEAR_CLOCK, NULL},
    {"fast clock, lanes", FLAKES, &others[6], 0, "nN", NEAR_CLOCK, NULL},
    {"batches", FLAKES, &others[0], 0, "NT", ANY, NULL},
    {"given times", FLAKES, &others[1], 0, "a", ANY, NULL},
    {"coarse clock", FLAKES, &others[3], 0, "n", ANY, NULL},
    {"stocks", FLAKES, stocks, sizeof *stocks, "p", ANY, NULL},
    {"coarse clock, lanes", FLAKES, &others[5], 0, "nN", ANY, NULL},
    {"sno, batches", SNOS, &sno_batches, 0, "NTa", ANY, NULL},
    {"numbers, closed", FLAKES, NULL, 0, "", ANY, draw_closed},
    {"numbers, killed", FLAKES, NULL, 0, "", ANY, draw_killed},
    {"forked children", FLAKES, NULL, 0, "", ANY, draw_forked},
};
enum { n_modes = sizeof modes / sizeof *modes };

/* ---- rounds ---- */

static void *sit(void *at) {
    seat *const s = (seat *)at;
    do
        if (s->mode->draws) s->mode->draws(s->of_mode, &s->random);
        else draw_some(s);
    while (!round_is_over());
    return NULL;
}

/* The log is sorted. It keeps the newest units of each family, which the next IDs are compared with. */
static void forget_old_ids(void) {
    const size_t n = runs_in_log();
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) newest[drawn->runs[i].high] = drawn->runs[i].low >> 22;
    for (size_t i = 0; i < n; i++)
        if ((drawn->runs[i].low >> 22) + kept_units >= newest[drawn->runs[i].high])
            drawn->runs[kept++] = drawn->runs[i];
    memset(drawn->runs + kept, 0, (n - kept) * sizeof *drawn->runs);
    atomic_store(&drawn->n, kept);
}

static double seconds_since(int64_t began_ns) { return (double)(clock_ns(CLOCK_MONOTONIC) - began_ns) / 1e9; }

static void draw_a_round(unsigned crowd, int64_t began_ns) {
    static seat seats[n_modes * most_crowd];
    unsigned n = 0;
    for (unsigned i = 0; i < crowd; i++)
        CHECK_EQ(flake_prefetch_init(&stocks[i], &others[2], 100, 50, NULL), FLAKE_OK);
    for (unsigned m = 0; m < n_modes; m++)
        for (unsigned nth = 0; nth < (modes[m].draws ? 1 : crowd); nth++, n++) {
            seats[n] = (seat){0, &modes[m], &state->of_mode[m], nth, 0x9e3779b97f4a7c15 * (n + 1), 0};
            if (pthread_create(&seats[n].thread, NULL, sit, &seats[n]) != 0) abort();
        }
    for (; !round_is_over(); nap_us(2000))
        if (seconds_since(began_ns) > wanted_s) atomic_store(&state->stop, true);
    for (unsigned i = 0; i < n; i++) (void)pthread_join(seats[i].thread, NULL);
    CHECK(atomic_load(&drawn->n) <= log_room);
    CHECK_EQ(duplicates_in_log(), 0);
    forget_old_ids();
}

/* The real clock minus the monotonic one. */
static int64_t drift_ns(void) { return clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC); }

static void on_signal(int number) {
    (void)number;
    atomic_store(&state->stop, true);
}

TEST(no_id_repeats) {
    static const unsigned crowds[] = {2, 8, most_crowd};
    const int64_t began_ns = clock_ns(CLOCK_MONOTONIC), drift_before_ns = drift_ns();
    double next_line_s = 60;
    struct sigaction on = {0};
    struct rusage usage;
    on.sa_handler = on_signal;
    (void)sigaction(SIGINT, &on, NULL);
    (void)sigaction(SIGTERM, &on, NULL);
    make_generators();
    for (unsigned round = 0; !atomic_load(&state->stop) && !check_failures; round++) {
        state->round_ids = atomic_load(&drawn->ids) + wanted_ids / rounds_at_least + 1;
        draw_a_round(crowds[round % 3], began_ns);
        const double now_s = seconds_since(began_ns);
        if (atomic_load(&drawn->ids) >= wanted_ids) atomic_store(&state->stop, true);
        if (now_s < next_line_s && !atomic_load(&state->stop)) continue;
        next_line_s = now_s + 60;
        printf("%6.0f s %zu IDs, %" PRIu64 " forks %" PRIu64 " kills %" PRIu64 " restarts\n", now_s,
               atomic_load(&drawn->ids), state->forks, state->kills, state->restarts);
        (void)fflush(stdout);
    }
    /* Snos fall after a step back, as they should, and the fast clock notices a step late. */
    const bool was_set = llabs(drift_ns() - drift_before_ns) > 1000000;
    for (unsigned m = 0; m < n_modes; m++) {
        const tally *const t = &state->of_mode[m];
        printf("%-22s %13" PRIu64 " IDs %4" PRIu64 " misplaced %4" PRIu64 " late %6" PRIu64 " times none free\n",
               modes[m].name, t->ids, t->misplaced, t->late, t->refused);
        CHECK(t->ids > 0);
        CHECK_EQ(t->failed, 0);
        if (!was_set) CHECK_EQ(t->misplaced + t->late, 0);
    }
    CHECK(state->forks > 0 && state->kills > 0 && state->restarts > 0);
    CHECK_EQ(state->refusals, 2 * state->forks);
    (void)getrusage(RUSAGE_SELF, &usage);
    printf("%ld MiB of memory at most\n", usage.ru_maxrss / 1024);
    CHECK(usage.ru_maxrss / 1024 < most_mib);
}

/* ---- whether duplicates are detected: after the soak, whose log these change ---- */

TEST(ids_of_runs_that_overlap_are_duplicates) {
    static const struct {
        id_run runs[4];
        uint64_t duplicates;
    } cases[] = {
        {{{1, 1000, 600}, {1, 1600, 600}, {1, 2200, 600}, {2, 1000, 600}}, 0},
        {{{1, 900, 1}, {1, 800, 2}, {1, 700, 3}, {1, 600, 4}}, 0},
        {{{1, 1000, 600}, {1, 1600, 600}, {1, 1300, 1}}, 1},
        {{{1, 1000, 600}, {1, 1000, 600}}, 600},
        {{{1, 1000, 100}, {1, 1099, 100}}, 1},
        {{{1, 1000, 100}, {1, 1050, 100}}, 50},
        {{{1, 1000, 600}, {1, 1200, 20}, {1, 1300, 20}}, 40},
        {{{1, 1000, 600}, {1, 1300, 1}, {1, 1300, 1}}, 2},
        {{{1, 1000, 600}, {1, 1599, 1}, {1, 1000, 1}}, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        id_run runs[4];
        memcpy(runs, cases[i].runs, sizeof runs);
        CHECK_EQ(id_run_duplicates(runs, 4), cases[i].duplicates);
    }
}

TEST(a_round_is_compared_with_the_newest_of_those_before) {
    tally *const t = &state->of_mode[n_modes];
    const uint64_t unit = newest[FLAKES] + kept_units + 1;
    const uint64_t earlier = 5 << 22 | 77, last = unit << 22 | 77, other = last + 1;
    note(t, FLAKES, FLAKE_OK, &last, 1);
    CHECK_EQ(duplicates_in_log(), 0);
    forget_old_ids();
    note(t, FLAKES, FLAKE_OK, &other, 1);
    CHECK_EQ(duplicates_in_log(), 0);
    CHECK_EQ(t->late, 0);
    note(t, FLAKES, FLAKE_OK, &last, 1);
    note(t, FLAKES, FLAKE_OK, &earlier, 1);
    CHECK_EQ(duplicates_in_log(), 1);
    CHECK_EQ(t->late, 1);
}

static void draw_as_twin(tally *t) {
    const flake_options o = options_of(flake_layout_idgen, FLAKE_CLOCK_EXACT);
    flake_gen gen;
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, NODE_TWINS), &o, NULL), FLAKE_OK);
    for (int i = 0; i < 100000; i++) (void)draw_one(t, FLAKES, &gen);
}

TEST(two_processes_with_one_node_have_duplicates) {
    const uint64_t before = atomic_load(&drawn->ids);
    pid_t child;
    IN_CHILD_AS(child) draw_as_twin(&state->of_mode[n_modes]);
    draw_as_twin(&state->of_mode[n_modes]);
    CHECK_EQ(end_of(child), 0);
    CHECK_EQ(atomic_load(&drawn->ids) - before, 200000);
    CHECK(duplicates_in_log() > 0);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        char *end = argv[i];
        if (strncmp(argv[i], "--ids=", 6) == 0) wanted_ids = strtoull(argv[i] + 6, &end, 10);
        if (strncmp(argv[i], "--hours=", 8) == 0) {
            wanted_s = 3600 * strtod(argv[i] + 8, &end);
            wanted_ids = UINT64_MAX;
        }
        if (end == argv[i] || *end || !wanted_ids || !(wanted_s > 0)) {
            (void)fprintf(stderr, "usage: %s [--ids=N | --hours=H]\n", argv[0]);
            return 2;
        }
    }
    begin_folder();
    drawn = (struct id_log *)shared_memory(sizeof *drawn);
    state = (struct state *)shared_memory(sizeof *state);
    const int code = check_main(1, argv);
    end_folder();
    return code;
}
