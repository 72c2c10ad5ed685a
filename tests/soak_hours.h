/* SPDX-License-Identifier: MIT
 *
 * The soak that goes on for hours: all ways to draw at once, on the real clock, in memory that stays
 * the same. soak.c says how it is called.
 *
 * Ids that may be compared with each other make a space. It has a row of bits for each time unit, and
 * a bit for each number in it; whoever draws an id sets its bit, and has found a duplicate when it is
 * set already. A space keeps a window of rows, some seconds to either side of the clock. Its floor
 * follows the clock: rows below it are closed, given back to the system, and used for later times. An
 * id below the floor is late: it is counted, and kept and compared with the other late ones.
 *
 * All of it lies in memory that forked children share, and so are their ids.
 *
 * A mode is a line in the table at the end, and a function that draws some ids and notes them.
 */
#ifndef SOAK_HOURS_H
#define SOAK_HOURS_H

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif
#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

enum {
    kept_ms = 8000,    /* behind the clock */
    window_ms = 16384, /* in all */
    most_late = 1 << 20,
    most_workers = 64,
    hours_most_mib = 700
};

/* ---- spaces ---- */

typedef struct space {
    int64_t unit_ms, epoch_ms;
    uint64_t row_bits, rows;
    _Atomic(uint64_t) *bits;
    _Atomic(uint64_t) floor, ceiling; /* units */
} space;

enum { SPACE_MS, SPACE_ROOMY, SPACE_SNO, SPACE_WIDE, n_spaces };

/* What a thread, or a forked child, has done. */
typedef struct worker {
    _Atomic(uint64_t) busy; /* odd: between a look at the floor and the last bit that it set */
    _Atomic(uint64_t) ids, duplicates, late, refused, failed;
    char pad[64];
} worker;

static struct hours {
    space spaces[n_spaces];
    worker workers[most_workers];
    _Atomic(uint64_t) late[most_late], late_duplicates, late_lost;
    _Atomic(uint64_t) forks, refusals, kills, restarts;
    _Atomic(bool) stop;
} * hours;

static bool shared_map(void **at, size_t size) {
    *at =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return *at != MAP_FAILED;
}

static int64_t unix_ms(void) { return clock_ns(CLOCK_REALTIME) / 1000000; }

static uint64_t floor_at(const space *s, int64_t now_ms) {
    return (uint64_t)((now_ms - kept_ms - s->epoch_ms) / s->unit_ms);
}

static bool space_init(space *s, int64_t unit_ms, int64_t epoch_ms, uint64_t row_bits) {
    void *at;
    s->unit_ms = unit_ms;
    s->epoch_ms = epoch_ms;
    s->row_bits = row_bits;
    s->rows = (uint64_t)(window_ms / unit_ms);
    if (!shared_map(&at, s->rows * row_bits / 8)) return false;
    s->bits = (_Atomic(uint64_t) *)at;
    atomic_store(&s->floor, floor_at(s, unix_ms()));
    atomic_store(&s->ceiling, atomic_load(&s->floor) + s->rows);
    return true;
}

/* Waits until nobody sets a bit by a floor that he saw before. */
static void wait_for_workers(void) {
    for (unsigned i = 0; i < most_workers; i++) {
        const uint64_t seen = atomic_load(&hours->workers[i].busy);
        while (seen & 1 && atomic_load(&hours->workers[i].busy) == seen) nap_us(50);
    }
}

/* Closes the rows below a later floor, and opens as many above. */
static void space_move(space *s, uint64_t floor) {
    const uint64_t from = atomic_load(&s->floor);
    if (floor <= from) return;
    atomic_store(&s->floor, floor);
    wait_for_workers();
    const uint64_t closed = floor - from < s->rows ? floor - from : s->rows;
    for (uint64_t i = 0; i < closed;) {
        const uint64_t row = (from + i) % s->rows;
        const uint64_t n = closed - i < s->rows - row ? closed - i : s->rows - row;
        char *at = (char *)s->bits + row * s->row_bits / 8;
        if (madvise(at, n * s->row_bits / 8, MADV_REMOVE) != 0) memset(at, 0, n * s->row_bits / 8);
        i += n;
    }
    atomic_store(&s->ceiling, floor + s->rows);
}

/* Late ids are kept in a table; true: it was there. */
static bool keep_late(uint64_t key) {
    uint64_t at = key * 0x9e3779b97f4a7c15 >> 44;
    for (unsigned tries = 0; tries < 4096; tries++, at++) {
        uint64_t is = 0;
        if (atomic_compare_exchange_strong(&hours->late[at % most_late], &is, key)) return false;
        if (is == key) return true;
    }
    atomic_fetch_add(&hours->late_lost, 1);
    return false;
}

static void note(worker *w, unsigned of, uint64_t unit, uint64_t number) {
    space *s = &hours->spaces[of];
    bool found = false;
    for (int tries = 0;; tries++) {
        atomic_fetch_add(&w->busy, 1);
        const uint64_t floor = atomic_load(&s->floor);
        const bool above = unit >= atomic_load(&s->ceiling), is_in = unit >= floor && !above;
        if (is_in) {
            const uint64_t bit = unit % s->rows * s->row_bits + number;
            found = atomic_fetch_or(&s->bits[bit / 64], UINT64_C(1) << bit % 64) >> bit % 64 & 1;
        }
        atomic_fetch_add(&w->busy, 1);
        if (is_in) break;
        if (above && tries < 5000) {
            nap_us(1000); /* the window follows the clock */
            continue;
        }
        atomic_fetch_add(&w->late, 1);
        found = keep_late((uint64_t)(of + 1) << 61 ^ (unit * s->row_bits + number));
        if (found) atomic_fetch_add(&hours->late_duplicates, 1);
        break;
    }
    atomic_fetch_add_explicit(&w->ids, 1, memory_order_relaxed);
    if (found) atomic_fetch_add(&w->duplicates, 1);
}

/* ---- generators, each with numbers of its own ---- */

#define ROOMY_EPOCH_MS INT64_C(1577836800000)

/* Nodes of SPACE_MS, which has flake-idgen's layout. */
enum {
    NODE_SHARED,
    NODE_SHARDS,
    NODE_BATCHES,
    NODE_GIVEN,
    NODE_COARSE,
    NODE_FAST,
    NODE_STATE,
    NODE_KILLED,
    NODE_STOCK,
    NODE_TWINS,
    NODE_LANES,
    NODE_CHILDREN, /* four, in turn */
    NODE_COARSE_LANES = NODE_CHILDREN + 4,
    NODE_FAST_LANES,
    n_nodes = 24 /* a row is whole pages */
};
/* Partitions of SPACE_SNO. */
enum {
    PART_SHARED,
    PART_SHARDS,
    PART_BATCHES,
    PART_LANES,
    PART_CHILDREN, /* four, in turn */
    n_parts = 8
};

enum {
    crowd = 2,
    h_parts = 3,
    first_partition = 4000,
    a_batch = 64,
    wide_seq_max = 4095,
    wide_row_bits = 1 << 15
};

static flake_gen h_shared, h_batches, h_given, h_coarse, h_fast, h_stocked, h_roomy;
static flake_gen h_shards[crowd], h_roomy_shards[crowd];
static flake_prefetch h_stocks[crowd];
static sno_gen h_sno, h_sno_batches;
static sno_gen h_sno_shards[crowd];
static flake_lane h_lane[h_parts], h_coarse_lane[h_parts], h_fast_lane[h_parts],
    h_wide_lane[h_parts];
static flake_gen h_lanes, h_coarse_lanes, h_fast_lanes;
static flake_gen h_wide_lanes;
static flake_lane h_sno_lane[h_parts];
static sno_gen h_sno_lanes;
static char h_folder[512];

static flake_options h_options(unsigned node) {
    flake_options o = {0};
    o.node = node;
    return o;
}

static flake_options h_roomy_options(unsigned node) {
    flake_options o = h_options(node);
    o.layout = roomy();
    return o;
}

static flake_options h_sno_options(unsigned part, sno_snapshot *pool) {
    flake_options o = {0};
    memset(pool, 0, sizeof *pool);
    pool->partition = (uint16_t)(first_partition + part);
    return o;
}

static bool h_init(void) {
    sno_snapshot pool;
    flake_options s;
    flake_options o = h_options(NODE_SHARED);
    bool well = flake_init(&h_shared, &o, NULL) == FLAKE_OK;
    o.node = NODE_BATCHES, well &= flake_init(&h_batches, &o, NULL) == FLAKE_OK;
    o.node = NODE_GIVEN, well &= flake_init(&h_given, &o, NULL) == FLAKE_OK;
    o.node = NODE_STOCK, well &= flake_init(&h_stocked, &o, NULL) == FLAKE_OK;
    for (unsigned i = 0; i < crowd; i++)
        well &= flake_prefetch_init(&h_stocks[i], &h_stocked, 100, 50, NULL) == FLAKE_OK;
    o.node = NODE_SHARDS, well &= flake_init_shards(h_shards, crowd, &o, NULL) == FLAKE_OK;
    o.node = NODE_LANES, well &= flake_init(&h_lanes, with_lanes(&o, h_lane, h_parts), NULL) == FLAKE_OK;
    o.node = NODE_COARSE, o.clock.kind = FLAKE_CLOCK_COARSE;
    well &= flake_init(&h_coarse, &o, NULL) == FLAKE_OK;
    o.node = NODE_COARSE_LANES;
    well &= flake_init(&h_coarse_lanes, with_lanes(&o, h_coarse_lane, h_parts), NULL) == FLAKE_OK;
    o.node = NODE_FAST, o.clock.kind = FLAKE_CLOCK_FAST;
    well &= flake_init(&h_fast, &o, NULL) == FLAKE_OK;
    o.node = NODE_FAST_LANES;
    well &= flake_init(&h_fast_lanes, with_lanes(&o, h_fast_lane, h_parts), NULL) == FLAKE_OK;
    o = h_options(0), o.seq_max = wide_seq_max;
    o.layout = flake_layout_boundary, o.node = wide_worker;
    well &= flake_init(&h_wide_lanes, with_lanes(&o, h_wide_lane, h_parts), NULL) == FLAKE_OK;
    o = h_roomy_options(0), well &= flake_init(&h_roomy, &o, NULL) == FLAKE_OK;
    o = h_roomy_options(1), well &= flake_init_shards(h_roomy_shards, crowd, &o, NULL) == FLAKE_OK;
    s = h_sno_options(PART_SHARED, &pool), well &= sno_init(&h_sno, &pool, &s, NULL) == FLAKE_OK;
    s = h_sno_options(PART_BATCHES, &pool),
    well &= sno_init(&h_sno_batches, &pool, &s, NULL) == FLAKE_OK;
    s = h_sno_options(PART_LANES, &pool);
    well &= sno_init(&h_sno_lanes, &pool, with_lanes(&s, h_sno_lane, h_parts), NULL) == FLAKE_OK;
    s = h_sno_options(PART_SHARDS, &pool);
    return well && sno_init_shards(h_sno_shards, crowd, &pool, &s, NULL) == FLAKE_OK;
}

/* ---- drawing ---- */

/* Draws some ids as the `nth` of the mode's threads. */
typedef void (*mode_draws)(worker *w, unsigned nth, uint64_t *random);

static uint64_t h_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 11;
}

static void note_ms(worker *w, const uint64_t *ids, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if ((ids[i] >> 12 & 1023) >= n_nodes) atomic_fetch_add(&w->failed, 1); /* whose? */
        else note(w, SPACE_MS, ids[i] >> 22, ids[i] & 0x3fffff);
    }
}

static void note_roomy(worker *w, const uint64_t *ids, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (ids[i] >> 20 & 14) atomic_fetch_add(&w->failed, 1);
        else note(w, SPACE_ROOMY, ids[i] >> 24, ids[i] & 0x1fffff);
    }
}

static void note_snos(worker *w, const sno_id *ids, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const unsigned part = sno_partition(ids[i]) - (unsigned)first_partition;
        if (part >= n_parts || sno_meta(ids[i]) != meta) atomic_fetch_add(&w->failed, 1);
        else
            note(w, SPACE_SNO, sno_units(ids[i]),
                 (uint64_t)part << 17 | (uint64_t)sno_tick(ids[i]) << 16 | sno_sequence(ids[i]));
    }
}

static void note_wide(worker *w, const flake128 *ids, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint64_t key = 0;
        const bool ours = wide_key(ids[i], &key) && (key & 0xffff) <= wide_seq_max;
        if (!ours) atomic_fetch_add(&w->failed, 1);
        else note(w, SPACE_WIDE, key >> 16, key & 0xffff);
    }
}

/* One id, or one refusal: a full unit is no failure. */
static void note_one(worker *w, flake_status status, const uint64_t *id) {
    if (status == FLAKE_OK) note_ms(w, id, 1);
    else if (status == FLAKE_AGAIN || status == FLAKE_CLOCK_BACKWARDS ||
             status == FLAKE_TOO_FAR_AHEAD) { /* the clock was put back meanwhile */
        atomic_fetch_add(&w->refused, 1);
        nap_us(200);
    } else atomic_fetch_add(&w->failed, 1);
}

/* Some ids, all of which `note` takes, or a refusal. */
#define NOTE(note, w, status, ids, n)             \
    do {                                          \
        const flake_status noted = (status);      \
        if (noted == FLAKE_OK) note(w, ids, n);   \
        else note_one(w, noted, NULL);            \
    } while (0)

static void draw_shared(worker *w, unsigned nth, uint64_t *random) {
    uint64_t id = 0;
    const bool waits = nth || h_random(random) % 4;
    const flake_status status = waits ? flake_next(&h_shared, &id) : flake_try(&h_shared, &id);
    note_one(w, status, &id);
}

/* The first thread draws batches. */
static size_t of_lanes(unsigned nth, uint64_t *random) {
    return nth ? 1 : 1 + h_random(random) % a_batch;
}

static void draw_flake_lanes(flake_gen *lanes, worker *w, unsigned nth, uint64_t *random) {
    uint64_t ids[a_batch] = {0};
    const size_t n = of_lanes(nth, random);
    const flake_status status =
        nth ? flake_next(lanes, ids) : flake_next_n(lanes, ids, n);
    if (status == FLAKE_OK && n > 1) note_ms(w, ids, n);
    else note_one(w, status, ids);
}

#define DRAW_LANES(name, lanes)                                       \
    static void name(worker *w, unsigned nth, uint64_t *random) {     \
        draw_flake_lanes(&lanes, w, nth, random);                     \
    }
DRAW_LANES(draw_lanes, h_lanes)
DRAW_LANES(draw_coarse_lanes, h_coarse_lanes)
DRAW_LANES(draw_fast_lanes, h_fast_lanes)

static void draw_wide_lanes(worker *w, unsigned nth, uint64_t *random) {
    flake128 ids[a_batch];
    const size_t n = of_lanes(nth, random);
    memset(ids, 0, sizeof ids);
    NOTE(note_wide, w,
         nth ? flake128_next(&h_wide_lanes, ids) : flake128_next_n(&h_wide_lanes, ids, n), ids, n);
}

static void draw_shards(worker *w, unsigned nth, uint64_t *random) {
    uint64_t ids[a_batch];
    const size_t n = 1 + h_random(random) % a_batch;
    NOTE(note_ms, w, flake_next_n(&h_shards[nth], ids, n), ids, n);
}

static void draw_batches(worker *w, unsigned nth, uint64_t *random) {
    uint64_t ids[a_batch];
    size_t n = 1 + h_random(random) % a_batch;
    if (nth) {
        n = got64_n(&h_batches, ids, n);
        if (n) note_ms(w, ids, n);
        else note_one(w, FLAKE_AGAIN, NULL);
        return;
    }
    NOTE(note_ms, w, flake_next_n(&h_batches, ids, n), ids, n);
}

static void draw_given(worker *w, unsigned nth, uint64_t *random) {
    const int64_t now_ms = unix_ms() - (int64_t)(h_random(random) % 4);
    (void)nth;
    for (int i = 0; i < 100; i++) {
        uint64_t id = 0;
        note_one(w, flake_try_at(&h_given, now_ms, &id), &id);
    }
}

#define DRAW_ONE(name, draw)                                      \
    static void name(worker *w, unsigned nth, uint64_t *random) { \
        uint64_t id = 0;                                          \
        (void)nth, (void)random;                                  \
        note_one(w, draw, &id);                                   \
    }
DRAW_ONE(draw_coarse, flake_next(&h_coarse, &id))
DRAW_ONE(draw_fast, flake_next(&h_fast, &id))
DRAW_ONE(draw_stock, flake_prefetch_next(&h_stocks[nth], &id))

static void draw_roomy(worker *w, unsigned nth, uint64_t *random) {
    uint64_t id = 0;
    (void)random;
    NOTE(note_roomy, w,
         nth < crowd ? flake_next(&h_roomy, &id) : flake_next(&h_roomy_shards[nth - crowd], &id), &id, 1);
}

static void draw_sno(worker *w, unsigned nth, uint64_t *random) {
    sno_id id;
    (void)random;
    NOTE(note_snos, w,
         nth < crowd ? sno_next(&h_sno, meta, &id) : sno_next(&h_sno_shards[nth - crowd], meta, &id), &id, 1);
}

static void draw_sno_batches(worker *w, unsigned nth, uint64_t *random) {
    sno_id ids[a_batch];
    const size_t n = 1 + h_random(random) % a_batch;
    NOTE(note_snos, w,
         nth ? sno_try_at(&h_sno_batches, meta, unix_ms(), ids) : sno_next_n(&h_sno_batches, meta, ids, n), ids,
         nth ? 1 : n);
}

static void draw_sno_lanes(worker *w, unsigned nth, uint64_t *random) {
    sno_id ids[a_batch];
    const size_t n = of_lanes(nth, random);
    NOTE(note_snos, w,
         nth ? sno_next(&h_sno_lanes, meta, ids) : sno_next_n(&h_sno_lanes, meta, ids, n), ids, n);
}

/* Opens the state, draws for a while, and closes it. TAKEN: a child that was forked meanwhile has it
 * open too, until it ends. */
static bool draw_run(worker *w, const char *name, unsigned node, int64_t ms) {
    static const flake_state closed;
    flake_state state = closed;
    flake_state_options where = {0};
    flake_options o = h_options(node);
    flake_gen gen;
    char path[600];
    flake_status status;
    (void)snprintf(path, sizeof path, "%s/%s", h_folder, name);
    where.path = path;
    where.horizon_ms = 200;
    for (int tries = 0; (status = flake_state_open(&state, &where, &o, NULL, NULL)) == FLAKE_IN_USE;
         tries++) {
        if (tries == 5000) break;
        nap_us(2000);
    }
    o.state = &state;
    if (status == FLAKE_OK) status = flake_init(&gen, &o, NULL);
    if (status != FLAKE_OK) {
        atomic_fetch_add(&w->failed, 1);
        nap_us(100000);
        return false;
    }
    const int64_t until_ms = unix_ms() + ms;
    while (unix_ms() < until_ms && !atomic_load(&hours->stop)) {
        uint64_t id = 0;
        note_one(w, flake_next(&gen, &id), &id);
    }
    flake_release(&gen);
    if (flake_state_close(&state, NULL) != FLAKE_OK) atomic_fetch_add(&w->failed, 1);
    return true;
}

static void draw_state(worker *w, unsigned nth, uint64_t *random) {
    (void)nth;
    if (draw_run(w, "closed", NODE_STATE, (int64_t)(h_random(random) % 400)))
        atomic_fetch_add(&hours->restarts, 1);
}

/* A process that is killed at any moment, and another that goes on with its state. */
static void draw_killed(worker *w, unsigned nth, uint64_t *random) {
    (void)nth;
    const pid_t child = fork();
    if (child == 0) {
        (void)draw_run(w, "killed", NODE_KILLED, 60000);
        _exit(0);
    }
    if (child < 0) {
        atomic_fetch_add(&w->failed, 1);
        nap_us(100000);
        return;
    }
    nap_us(1000 * (long)(50 + h_random(random) % 700));
    (void)kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
    if (atomic_load(&w->busy) & 1) atomic_fetch_add(&w->busy, 1); /* killed while it set a bit */
    atomic_fetch_add(&hours->kills, 1);
}

/* What a forked child does: its parent's generators refuse it, until they have ids of its own. */
static void draw_as_child(worker *w, unsigned turn) {
    sno_snapshot pool;
    uint64_t id = 0;
    flake_status status = flake_next(&h_shared, &id);
    if (status == FLAKE_FORKED) atomic_fetch_add(&hours->refusals, 1);
    else note_one(w, status, &id);
    sno_id theirs;
    if (sno_next(&h_sno, meta, &theirs) == FLAKE_FORKED) atomic_fetch_add(&hours->refusals, 1);
    else note_snos(w, &theirs, 1);
    const flake_options o = h_options(NODE_CHILDREN + turn);
    const flake_options s = h_sno_options(PART_CHILDREN + turn, &pool);
    if (flake_reinit_after_fork(&h_shared, &o, NULL) != FLAKE_OK ||
        sno_reinit_after_fork(&h_sno, &pool, &s, NULL) != FLAKE_OK) {
        atomic_fetch_add(&w->failed, 1);
        return;
    }
    for (const int64_t until_ms = unix_ms() + 40; unix_ms() < until_ms;) {
        uint64_t random = 1;
        draw_sno(w, 0, &random);
        draw_shared(w, 1, &random);
    }
}

static void draw_forked(worker *w, unsigned nth, uint64_t *random) {
    (void)nth;
    const unsigned turn = (unsigned)(atomic_fetch_add(&hours->forks, 1) % 4);
    const pid_t child = fork();
    (void)random;
    if (child == 0) {
        draw_as_child(w, turn);
        _exit(0);
    }
    if (child < 0) atomic_fetch_add(&w->failed, 1);
    else
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
        }
    nap_us(60000);
}

/* ---- modes ---- */

static const struct mode {
    const char *name;
    mode_draws draws;
    unsigned threads;
} modes[] = {
    {"shared", draw_shared, crowd},
    {"shards", draw_shards, crowd},
    {"batches", draw_batches, crowd},
    {"given time", draw_given, crowd},
    {"coarse clock", draw_coarse, crowd},
    {"fast clock", draw_fast, crowd},
    {"prefetched", draw_stock, crowd},
    {"wide sequences", draw_roomy, 2 * crowd},
    {"sno", draw_sno, 2 * crowd},
    {"lanes", draw_lanes, 2 * crowd},
    {"lanes, coarse", draw_coarse_lanes, 2 * crowd},
    {"lanes, fast", draw_fast_lanes, 2 * crowd},
    {"lanes, 128 bits", draw_wide_lanes, 2 * crowd},
    {"lanes, sno", draw_sno_lanes, 2 * crowd},
    {"sno batches", draw_sno_batches, crowd},
    {"states, closed", draw_state, 1},
    {"states, killed", draw_killed, 1},
    {"forked children", draw_forked, 1},
};
enum { n_modes = sizeof modes / sizeof *modes };

typedef struct seat {
    pthread_t thread;
    const struct mode *mode;
    worker *w;
    unsigned nth;
} seat;

static seat seats[most_workers];

static void *sit(void *given) {
    const seat *s = (const seat *)given;
    uint64_t random = 0x9e3779b97f4a7c15 * (uint64_t)(s->w - hours->workers + 1);
    while (!atomic_load(&hours->stop)) s->mode->draws(s->w, s->nth, &random);
    return NULL;
}

/* ---- what is said ---- */

static worker sum_of(const struct mode *mode) {
    worker sum = {0};
    for (unsigned i = 0; i < most_workers; i++) {
        if (!seats[i].w || (mode && seats[i].mode != mode)) continue;
        sum.ids += seats[i].w->ids;
        sum.duplicates += seats[i].w->duplicates;
        sum.late += seats[i].w->late;
        sum.refused += seats[i].w->refused;
        sum.failed += seats[i].w->failed;
    }
    return sum;
}

static void say_progress(double seconds, const char *end) {
    const worker all = sum_of(NULL);
    printf("%02d:%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60) % 60, (int)seconds % 60);
    print_grouped(all.ids);
    printf(" ids %" PRIu64 " duplicates %" PRIu64 " late %" PRIu64 " failed, %" PRIu64
           " forks %" PRIu64 " kills %" PRIu64 " restarts %7.3f M/s%s",
           all.duplicates, all.late, all.failed, (uint64_t)hours->forks, (uint64_t)hours->kills,
           (uint64_t)hours->restarts, seconds > 0 ? (double)all.ids / seconds / 1e6 : 0, end);
    (void)fflush(stdout);
}

static void on_signal(int number) {
    (void)number;
    atomic_store(&hours->stop, true);
}

static bool h_spaces(void) {
    void *at;
    if (!shared_map(&at, sizeof *hours)) return false;
    hours = (struct hours *)at;
    return space_init(&hours->spaces[SPACE_MS], 1, flake_layout_default.epoch_ms, (uint64_t)n_nodes << 12) &&
           space_init(&hours->spaces[SPACE_ROOMY], 1, ROOMY_EPOCH_MS, 2 << 20) &&
           space_init(&hours->spaces[SPACE_SNO], 4, INT64_C(1262304000000),
                      (uint64_t)n_parts << 17) &&
           space_init(&hours->spaces[SPACE_WIDE], 1, 0, wide_row_bits);
}

/* A window that moves forgets what it should, and nothing else. */
static bool windows_move(void) {
    worker *w = &hours->workers[most_workers - 1];
    space *s = &hours->spaces[SPACE_MS];
    const uint64_t unit = atomic_load(&s->floor) + 5, number = NODE_TWINS << 12 | 77;
    note(w, SPACE_MS, unit, number);
    bool well = !w->duplicates && !w->late;
    note(w, SPACE_MS, unit, number + 1);
    note(w, SPACE_MS, unit + 1, number);
    well &= !w->duplicates;
    note(w, SPACE_MS, unit, number);
    well &= w->duplicates == 1 && !w->late;
    space_move(s, unit + 1);
    note(w, SPACE_MS, unit + s->rows, number); /* in the same row */
    note(w, SPACE_MS, unit + 1, number + 1);
    well &= w->duplicates == 1 && !w->late;
    note(w, SPACE_MS, unit + 1, number);
    well &= w->duplicates == 2 && !w->late;
    note(w, SPACE_MS, unit, number + 2);
    well &= w->duplicates == 2 && w->late == 1;
    note(w, SPACE_MS, unit, number + 2);
    well &= w->duplicates == 3 && w->late == 2 && hours->late_duplicates == 1;
    printf("%-4s a window that moves forgets what it should, and late ids are compared\n",
           well ? "ok" : "FAIL");
    return well;
}

/* Two processes with a generator of one node each. */
static bool twins_are_found(void) {
    worker *parent = &hours->workers[most_workers - 2], *other = &hours->workers[most_workers - 3];
    const flake_options o = h_options(NODE_TWINS);
    const pid_t child = fork();
    flake_gen gen;
    const bool well = child >= 0 && flake_init(&gen, &o, NULL) == FLAKE_OK;
    for (int i = 0; well && i < 100000; i++) {
        uint64_t id = 0;
        note_one(child ? parent : other, flake_next(&gen, &id), &id);
    }
    if (child == 0) _exit(!well);
    if (child > 0) (void)waitpid(child, NULL, 0);
    const uint64_t n = parent->duplicates + other->duplicates;
    const bool found = well && n && parent->ids + other->ids == 200000;
    printf("%-4s %" PRIu64 " duplicates among %" PRIu64 " ids of two processes with one node\n",
           found ? "ok" : "FAIL", n, (uint64_t)(parent->ids + other->ids));
    return found;
}

static void forget_all(void) {
    for (unsigned i = 0; i < most_workers; i++) {
        worker *w = &hours->workers[i];
        w->ids = w->duplicates = w->late = w->refused = w->failed = 0;
    }
    memset((void *)hours->late, 0, sizeof hours->late);
    hours->late_duplicates = 0;
}

static void follow_clock(double seconds) {
    const bool is_seen = isatty(1);
    const int64_t began_ns = clock_ns(CLOCK_MONOTONIC);
    double next_line = 60, now = 0;
    for (int tick = 0; now < seconds && !atomic_load(&hours->stop); tick++) {
        for (unsigned i = 0; i < n_spaces; i++) {
            space *s = &hours->spaces[i];
            const uint64_t floor = floor_at(s, unix_ms());
            if (floor >= atomic_load(&s->floor) + s->rows / 128) space_move(s, floor);
        }
        nap_us(50000);
        now = (double)(clock_ns(CLOCK_MONOTONIC) - began_ns) / 1e9;
        if (now >= next_line) {
            say_progress(now, "\n");
            next_line += 60;
        } else if (is_seen && tick % 20 == 0) say_progress(now, " \r");
    }
    atomic_store(&hours->stop, true);
    say_progress(now, "\n");
}

static bool say_mode(const struct mode *mode) {
    const worker sum = sum_of(mode);
    const bool well = sum.ids && !sum.duplicates && !sum.failed;
    printf("%-4s %-16s %2u threads", well ? "ok" : "FAIL", mode->name, mode->threads);
    print_grouped(sum.ids);
    printf(" ids %4" PRIu64 " duplicates %4" PRIu64 " late %9" PRIu64 " times none free %4" PRIu64
           " failed\n",
           sum.duplicates, sum.late, sum.refused, sum.failed);
    return well;
}

/* A second generator of the shared one's node, for `--plant`. */
static flake_gen h_twin;
DRAW_ONE(draw_twin, (nap_us(10000), flake_next(&h_twin, &id)))
static const struct mode planted = {"planted", draw_twin, 1};

static void h_seat(unsigned *n, const struct mode *mode) {
    for (unsigned nth = 0; nth < mode->threads; nth++, ++*n) {
        seat *s = &seats[*n];
        s->mode = mode;
        s->nth = nth;
        s->w = &hours->workers[*n];
        if (pthread_create(&s->thread, NULL, sit, s) != 0) abort();
    }
}

/* Exit code of the program. */
static int soak_for(double wanted_hours, bool plant) {
    const char *tmp = getenv("TMPDIR");
    const flake_options twin = h_options(NODE_SHARED);
    struct rusage usage;
    struct sigaction on = {0};
    char path[600];
    unsigned n = 0;
    int passed = 0, failed = 0;
    (void)snprintf(h_folder, sizeof h_folder, "%s/soak-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(h_folder) || !h_spaces() || !h_init() || flake_init(&h_twin, &twin, NULL) != FLAKE_OK) {
        printf("FAIL nothing to draw from, or no memory\n0 passed, 1 failed\n");
        return 1;
    }
    *(windows_move() ? &passed : &failed) += 1;
    *(twins_are_found() ? &passed : &failed) += 1;
    forget_all();
    on.sa_handler = on_signal;
    (void)sigaction(SIGINT, &on, NULL);
    (void)sigaction(SIGTERM, &on, NULL);
    (void)fflush(stdout);
    for (unsigned m = 0; m < n_modes; m++) h_seat(&n, &modes[m]);
    if (plant) h_seat(&n, &planted);
    follow_clock(wanted_hours * 3600);
    for (unsigned i = 0; i < n; i++) (void)pthread_join(seats[i].thread, NULL);
    for (unsigned m = 0; m < n_modes; m++) *(say_mode(&modes[m]) ? &passed : &failed) += 1;
    if (plant) *(say_mode(&planted) ? &passed : &failed) += 1;
    const bool refused = hours->refusals == 2 * hours->forks && hours->forks;
    printf("%-4s %" PRIu64 " draws of %" PRIu64
           " forked children from their parent's generators were refused\n",
           refused ? "ok" : "FAIL", (uint64_t)hours->refusals, (uint64_t)hours->forks);
    *(refused ? &passed : &failed) += 1;
    const worker all = sum_of(NULL);
    printf("%-4s %" PRIu64 " ids came late, and were compared with each other alone; %" PRIu64
           " with none\n",
           hours->late_lost ? "FAIL" : "ok", (uint64_t)all.late, (uint64_t)hours->late_lost);
    *(hours->late_lost ? &failed : &passed) += 1;
    (void)getrusage(RUSAGE_SELF, &usage);
    const bool is_small = usage.ru_maxrss / 1024 < hours_most_mib;
    printf("%-4s %ld MiB of memory at most\n", is_small ? "ok" : "FAIL", usage.ru_maxrss / 1024);
    *(is_small ? &passed : &failed) += 1;
    for (int i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", h_folder, i ? "killed" : "closed");
        (void)unlink(path);
    }
    (void)rmdir(h_folder);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

#endif
