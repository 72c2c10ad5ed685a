/* SPDX-License-Identifier: MIT
 *
 * The soak test draws in all ways on the real clock and proves that no ID repeats. Its memory use does not
 * grow with the number of IDs.
 *
 *     soak [--ids=N]        N IDs in all, 1,000,000,000 by default, from 2, 8 and 64 threads, in one way
 *                           after the other; the last line is "N passed, N failed"
 *     soak --hours=H        all ways at once, for H hours or until it is interrupted, with a line each minute
 *
 * IDs that must differ from each other form a space. It has a row of bits for each time unit, and in it a bit
 * for each number. The thread that draws an ID sets its bit; if the bit is already set, the ID is a
 * duplicate. A space keeps a window of rows, some seconds to either side of the clock. Its floor follows the
 * clock: rows below it are closed, returned to the system, and reused for later times. An ID below the floor
 * is late: it is counted, stored, and compared with the other late ones.
 *
 * All of this is in memory that forked children share, so their IDs are compared, too.
 *
 * A mode, which is one way to draw, is a line of the table at the end.
 */
#define _GNU_SOURCE
#define REAL_SLEEP
#include "support.h"
#include "flake.h"
#include "sno.h"
#include "options.h"
#include "real_time.h"
#include "temporary_dir.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum {
    kept_ms = 8000,    /* before the clock */
    window_ms = 16384, /* in all */
    most_late = 1 << 20,
    most_threads = 64,
    most_workers = most_threads + 3, /* three to test the checker itself */
    most_mib = 700,
    most_ids = 64, /* of one call, or of several that are recorded together */
    calls = 8      /* recorded together */
};

/* ---- spaces ---- */

typedef struct space {
    int64_t unit_ms, epoch_ms;
    uint64_t row_bits, rows;
    _Atomic(uint64_t) *bits;
    _Atomic(uint64_t) floor, ceiling; /* units */
} space;

enum { SPACE_MS, SPACE_ROOMY, SPACE_SNO, SPACE_WIDE, n_spaces };

typedef struct place { /* of an ID in its space */
    uint64_t unit, number;
} place;

/* The work of a thread, or of a forked child. */
typedef struct worker {
    _Atomic(uint64_t) busy; /* odd: between a load of the floor and the last bit set */
    _Atomic(uint64_t) ids, duplicates, late, refused, failed, misplaced;
    place last; /* returned by `next` */
    char pad[64];
} worker;

static struct hours {
    space spaces[n_spaces];
    worker workers[most_workers];
    _Atomic(uint64_t) late[most_late], late_duplicates, late_lost;
    _Atomic(uint64_t) forks, refusals, kills, restarts;
    _Atomic(bool) stop;
} * hours;

/* Memory that forked children share. */
static void *shared_memory(size_t size) {
    void *const at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) abort();
    return at;
}

static int64_t unix_ms(void) { return clock_ns(CLOCK_REALTIME) / 1000000; }

static uint64_t floor_at(const space *s, int64_t now_ms) {
    return (uint64_t)((now_ms - kept_ms - s->epoch_ms) / s->unit_ms);
}

static void space_init(space *s, int64_t unit_ms, int64_t epoch_ms, uint64_t row_bits) {
    if (s->bits) (void)munmap((void *)s->bits, s->rows * s->row_bits / 8);
    s->unit_ms = unit_ms;
    s->epoch_ms = epoch_ms;
    s->row_bits = row_bits;
    s->rows = (uint64_t)(window_ms / unit_ms);
    s->bits = (_Atomic(uint64_t) *)shared_memory(s->rows * row_bits / 8);
    atomic_store(&s->floor, floor_at(s, unix_ms()));
    atomic_store(&s->ceiling, atomic_load(&s->floor) + s->rows);
}

/* Waits until no thread sets a bit by an earlier floor. */
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

/* Stores late IDs in a table; true: the ID was there already. */
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

/* True: it was there already. */
static bool set(worker *w, unsigned of, const place *p, bool is_late) {
    space *const s = &hours->spaces[of];
    if (!is_late) {
        const uint64_t at = p->unit % s->rows * s->row_bits + p->number;
        return atomic_fetch_or(&s->bits[at / 64], UINT64_C(1) << at % 64) >> at % 64 & 1;
    }
    atomic_fetch_add(&w->late, 1);
    const bool found = keep_late((uint64_t)(of + 1) << 61 ^ (p->unit * s->row_bits + p->number));
    if (found) atomic_fetch_add(&hours->late_duplicates, 1);
    return found;
}

static void note(worker *w, unsigned of, const place *p, size_t n) {
    space *const s = &hours->spaces[of];
    uint64_t found = 0;
    size_t i = 0;
    for (int tries = 0; i < n; tries++) {
        if (tries) nap_us(1000); /* the window follows the clock */
        atomic_fetch_add(&w->busy, 1);
        const uint64_t floor = atomic_load(&s->floor), ceiling = atomic_load(&s->ceiling);
        for (; i < n && (p[i].unit < ceiling || tries > 5000); i++)
            found += set(w, of, &p[i], p[i].unit < floor || p[i].unit >= ceiling);
        atomic_fetch_add(&w->busy, 1);
    }
    atomic_fetch_add(&w->ids, n);
    if (found) atomic_fetch_add(&w->duplicates, found);
}

/* ---- generators, each with its own numbers ---- */

/* Nodes of SPACE_MS, which has flake-idgen's layout; the first three are those of SPACE_ROOMY, too.
 * Four children take turns; a row is whole pages. */
enum { NODE_SHARED, NODE_SHARDS, NODE_LANES, NODE_OTHERS, NODE_CHILDREN = 16, n_nodes = 24 };
enum { most_children = 4 };
enum { NODE_CLOSED = 12, NODE_KILLED, NODE_TWINS };
/* Partitions of SPACE_SNO. */
enum { PART_SHARED, PART_SHARDS, PART_LANES, PART_BATCHES, PART_CHILDREN, n_parts = 8 };

enum { n_lanes = 8, crowd = 2, meta = 42, first_partition = 4000, wide_node = 471147 };

static flake_gen ms_whole, ms_shards[most_threads], ms_lanes;
static flake_gen roomy_whole, roomy_shards[most_threads], roomy_lanes, wide_lanes;
static sno_gen sno_whole, sno_shards[most_threads], sno_lanes, sno_batches;
/* One for each clock: for batches, for given times, for stocks; then with lanes. */
static const int kinds[] = {FLAKE_CLOCK_EXACT, FLAKE_CLOCK_EXACT,  FLAKE_CLOCK_EXACT, FLAKE_CLOCK_COARSE,
                            FLAKE_CLOCK_FAST,  FLAKE_CLOCK_COARSE, FLAKE_CLOCK_FAST};
enum { n_others = sizeof kinds / sizeof *kinds, first_laned = 5 };
static flake_gen others[n_others];
static flake_prefetch stocks[crowd];

/* So many numbers a unit that no thread waits for the clock. */
static flake_layout roomy(void) { return flake_layout_of(40, 4, 20, INT64_C(1577836800000)); }

static flake_options options_of(flake_layout layout, int kind) {
    flake_options o = {0};
    o.layout = layout;
    o.clock.kind = kind;
    return o;
}

static flake_node node_of(unsigned part) { return flake_node_fixed(NULL, first_partition + part); }

static bool make_lanes(flake_gen *g, uint64_t node, flake_options o, size_t n) {
    static flake_lane lanes_of[5][n_lanes];
    static unsigned used;
    return flake_init(g, flake_node_fixed(NULL, node), with_lanes(&o, lanes_of[used++ % 5], n), NULL) == FLAKE_OK;
}

/* One generator for all threads, shards, and one with lanes. */
static bool make_three(flake_gen *whole, flake_gen *shards, flake_gen *lanes, flake_options o, unsigned threads,
                       size_t with) {
    const flake_node node = flake_node_fixed(NULL, NODE_SHARDS);
    bool well = flake_init(whole, flake_node_fixed(NULL, NODE_SHARED), &o, NULL) == FLAKE_OK;
    well &= flake_init_shards(shards, threads, node, &o, NULL) == FLAKE_OK;
    return well & make_lanes(lanes, NODE_LANES, o, with);
}

/* The ones that --ids draws from. */
static bool make_first(unsigned threads, size_t with, int64_t max_wait_ms, uint32_t wide_max) {
    static flake_lane sno_lane[n_lanes];
    flake_options o = options_of(flake_layout_idgen, FLAKE_CLOCK_EXACT);
    o.max_wait_ms = max_wait_ms;
    bool well = make_three(&ms_whole, ms_shards, &ms_lanes, o, threads, with);
    o.layout = roomy();
    well &= make_three(&roomy_whole, roomy_shards, &roomy_lanes, o, threads, with);
    o.layout = flake_layout_boundary;
    o.seq_max = wide_max;
    return well & make_lanes(&wide_lanes, wide_node, o, with) &&
           sno_init(&sno_whole, node_of(PART_SHARED), NULL, NULL, NULL) == FLAKE_OK &&
           sno_init_shards(sno_shards, threads, node_of(PART_SHARDS), NULL, NULL, NULL) == FLAKE_OK &&
           sno_init(&sno_lanes, node_of(PART_LANES), NULL, with_lanes(NULL, sno_lane, with), NULL) == FLAKE_OK;
}

static bool make_others(void) {
    bool well = sno_init(&sno_batches, node_of(PART_BATCHES), NULL, NULL, NULL) == FLAKE_OK;
    for (unsigned i = 0; i < n_others; i++) {
        const flake_options o = options_of(flake_layout_idgen, kinds[i]);
        const flake_node node = flake_node_fixed(NULL, NODE_OTHERS + i);
        well &= i < first_laned ? flake_init(&others[i], node, &o, NULL) == FLAKE_OK
                                : make_lanes(&others[i], NODE_OTHERS + i, o, 3);
    }
    for (unsigned i = 0; i < crowd; i++) well &= flake_prefetch_init(&stocks[i], &others[2], 100, 50, NULL) == FLAKE_OK;
    return well;
}

/* ---- drawing ---- */

/* IDs of any size. */
typedef union drawn {
    uint64_t flake[most_ids];
    sno_id sno[most_ids];
    flake128 wide[most_ids];
} drawn;

/* False: another space's. */
static bool find_place(unsigned of, const drawn *ids, size_t i, place *p) {
    if (of == SPACE_SNO) {
        const sno_id id = ids->sno[i];
        const unsigned part = sno_partition(id) - (unsigned)first_partition;
        p->unit = sno_units(id);
        p->number = (uint64_t)part << 17 | (uint64_t)sno_tick(id) << 16 | sno_sequence(id);
        return part < n_parts && sno_meta(id) == meta;
    }
    if (of == SPACE_WIDE) {
        flake_parts parts = {0};
        const flake_status status = flake128_decompose(&flake_layout_boundary, &ids->wide[i], &parts);
        p->unit = (uint64_t)parts.unix_ms;
        p->number = parts.seq;
        return status == FLAKE_OK && parts.node == wide_node;
    }
    const uint64_t id = ids->flake[i];
    const unsigned bits = of == SPACE_MS ? 22 : 24;
    p->unit = id >> bits;
    p->number = id - (p->unit << bits);
    return p->number < hours->spaces[of].row_bits;
}

/* Up to n IDs that a call returned, or its status: an exhausted unit is no failure. */
static void note_ids(worker *w, unsigned of, flake_status status, const drawn *ids, size_t n) {
    place places[most_ids];
    size_t ours = 0;
    if (status == FLAKE_AGAIN || status == FLAKE_CLOCK_BACKWARDS || status == FLAKE_TOO_FAR_AHEAD) {
        atomic_fetch_add(&w->refused, 1);
        nap_us(200);
    } else if (status != FLAKE_OK) atomic_fetch_add(&w->failed, 1);
    for (size_t i = 0; i < n; i++) ours += find_place(of, ids, i, &places[ours]);
    if (ours < n) atomic_fetch_add(&w->failed, n - ours);
    note(w, of, places, ours);
}

/* What must hold for a thread's IDs, which `next` returns: they rise, or their times are those of the exact
 * clock to within a ms. */
typedef enum order { ANY, UNITS_RISE, IDS_RISE, NEAR_CLOCK } order;

typedef struct mode {
    const char *name, *ids_of;
    unsigned space;
    void *gens;
    size_t shard; /* offset from one thread's generator to the next one's; 0: all share it */
    /* One at random: n next, several times   t try   N next_n   T try_n   a try_at a time of some ms ago
     * p from the thread's stock */
    const char *calls;
    unsigned threads; /* for hours */
    order order;
    void (*draws)(worker *w, uint64_t *random); /* or this */
} mode;

#define CALL_BY(letter, prefix, g, ids, ...)                        \
    ((letter) == 'N'   ? prefix##next_n(g, __VA_ARGS__ ids, *n)     \
     : (letter) == 'T' ? prefix##try_n(g, __VA_ARGS__ ids, *n, n)   \
     : (letter) == 'a' ? prefix##try_at(g, __VA_ARGS__ now_ms, ids) \
     : (letter) == 't' ? prefix##try(g, __VA_ARGS__ ids)            \
                       : prefix##next(g, __VA_ARGS__ ids))

/* Its IDs at `at`; *n: how many are wanted, then how many there are. */
static flake_status draw(const mode *m, void *g, char letter, drawn *ids, size_t at, size_t *n, int64_t now_ms) {
    const flake_status status = letter == 'p'            ? flake_prefetch_next((flake_prefetch *)g, &ids->flake[at])
                                : m->space == SPACE_SNO  ? CALL_BY(letter, sno_, (sno_gen *)g, &ids->sno[at], meta, )
                                : m->space == SPACE_WIDE ? CALL_BY(letter, flake128_, (flake_gen *)g, &ids->wide[at], )
                                                         : CALL_BY(letter, flake_, (flake_gen *)g, &ids->flake[at], );
    if (status != FLAKE_OK) *n = 0;
    return status;
}

static void draw_some(const mode *m, worker *w, unsigned nth, const char *letters, uint64_t *random) {
    drawn ids;
    memset(&ids, 0, sizeof ids);
    void *const g = (char *)m->gens + m->shard * nth;
    const char letter = letters[random_below(random, strlen(letters))];
    const int64_t before_ms = letter == 'a' || m->order == NEAR_CLOCK ? unix_ms() : 0;
    const int64_t now_ms = before_ms - (letter == 'a' ? (int64_t)random_below(random, 4) : 0);
    size_t n = letter == 'N' || letter == 'T' ? 1 + random_below(random, most_ids) : 1, sum = 0;
    flake_status status = draw(m, g, letter, &ids, 0, &n, now_ms);
    for (sum = n; letter == 'n' && n && sum < calls; sum += n) status = draw(m, g, letter, &ids, sum, &n, now_ms);
    const uint64_t after_ms = m->order == NEAR_CLOCK ? (uint64_t)unix_ms() : 0;
    note_ids(w, m->space, status, &ids, sum);
    for (size_t i = 0; letter == 'n' && i < sum && m->order; i++) {
        place now;
        (void)find_place(m->space, &ids, i, &now);
        w->misplaced += m->order == NEAR_CLOCK
                            ? now.unit + 2 < (uint64_t)before_ms || now.unit > after_ms + 1
                            : now.unit < w->last.unit ||
                                  (m->order == IDS_RISE && now.unit == w->last.unit && now.number <= w->last.number);
        w->last = now;
    }
}

static void note_one(worker *w, unsigned of, flake_status status, const drawn *ids) {
    note_ids(w, of, status, ids, status == FLAKE_OK);
}

/* Claims the number, draws for a while, and closes. A child forked meanwhile holds the number, too, until it ends. */
static bool draw_run(worker *w, uint64_t number, int64_t ms) {
    flake_options o = options_of(flake_layout_idgen, FLAKE_CLOCK_EXACT);
    flake_gen gen;
    o.horizon_ms = 200;
    o.claim_wait_ms = 10000;
    if (flake_init(&gen, flake_node_fixed(folder, number), &o, NULL) != FLAKE_OK) {
        atomic_fetch_add(&w->failed, 1);
        nap_us(100000);
        return false;
    }
    const int64_t until_ms = unix_ms() + ms;
    while (unix_ms() < until_ms && !atomic_load(&hours->stop)) {
        drawn id = {{0}};
        note_one(w, SPACE_MS, flake_next(&gen, id.flake), &id);
    }
    if (flake_close(&gen, NULL) != FLAKE_OK) atomic_fetch_add(&w->failed, 1);
    return true;
}

static void draw_closed(worker *w, uint64_t *random) {
    const int64_t ms = (int64_t)random_below(random, 400);
    if (draw_run(w, NODE_CLOSED, ms)) atomic_fetch_add(&hours->restarts, 1);
}

static pid_t start(worker *w) {
    const pid_t child = fork();
    if (child < 0) {
        atomic_fetch_add(&w->failed, 1);
        nap_us(100000);
    }
    return child;
}

static void end_of(pid_t child) {
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
}

/* A process that is killed at any moment, and another that continues after it. */
static void draw_killed(worker *w, uint64_t *random) {
    const pid_t child = start(w);
    if (child < 0) return;
    if (child == 0) {
        (void)draw_run(w, NODE_KILLED, 60000);
        _exit(0);
    }
    nap_us(1000 * (long)(50 + random_below(random, 700)));
    (void)kill(child, SIGKILL);
    end_of(child);
    if (atomic_load(&w->busy) & 1) atomic_fetch_add(&w->busy, 1); /* killed while it set a bit */
    atomic_fetch_add(&hours->kills, 1);
}

/* A forked child: its parent's generators fail there until they have numbers of their own, one of them from the
 * directory. */
static void draw_as_child(worker *w, unsigned turn) {
    const flake_options o = options_of(flake_layout_idgen, FLAKE_CLOCK_EXACT);
    const flake_node node = flake_node_any(folder, NODE_CHILDREN, NODE_CHILDREN + most_children - 1);
    drawn ids = {{0}};
    for (int again = 0; again < 2; again++) {
        const flake_status status = again ? sno_next(&sno_whole, meta, ids.sno) : flake_next(&ms_whole, ids.flake);
        if (status == FLAKE_FORKED) atomic_fetch_add(&hours->refusals, 1);
        else note_one(w, again ? SPACE_SNO : SPACE_MS, status, &ids);
    }
    if (flake_reinit_after_fork(&ms_whole, node, &o, NULL) != FLAKE_OK ||
        sno_reinit_after_fork(&sno_whole, node_of(PART_CHILDREN + turn), NULL, NULL, NULL) != FLAKE_OK) {
        atomic_fetch_add(&w->failed, 1);
        return;
    }
    for (const int64_t until_ms = unix_ms() + 40; unix_ms() < until_ms;) {
        note_one(w, SPACE_SNO, sno_next(&sno_whole, meta, ids.sno), &ids);
        note_one(w, SPACE_MS, flake_next(&ms_whole, ids.flake), &ids);
    }
    if (flake_close(&ms_whole, NULL) != FLAKE_OK) atomic_fetch_add(&w->failed, 1);
}

static void draw_forked(worker *w, uint64_t *random) {
    const unsigned turn = (unsigned)(atomic_fetch_add(&hours->forks, 1) % most_children);
    const pid_t child = start(w);
    (void)random;
    if (child == 0) {
        draw_as_child(w, turn);
        _exit(0);
    }
    if (child > 0) end_of(child);
    nap_us(60000);
}

#define THREE_MODES(ids_of, space, of)                                                               \
    {"shared", ids_of, space, &of##_whole, 0, "nnnt", crowd, IDS_RISE, NULL},                        \
        {"sharded", ids_of, space, of##_shards, sizeof *of##_shards, "nN", crowd, IDS_RISE, NULL}, { \
        "lanes", ids_of, space, &of##_lanes, 0, "nN", 2 * crowd, UNITS_RISE, NULL                    \
    }
static const mode modes[] = {
    THREE_MODES("flake 40+4+20", SPACE_ROOMY, roomy),
    THREE_MODES("flake-idgen", SPACE_MS, ms),
    THREE_MODES("sno", SPACE_SNO, sno),
    {"lanes", "128 bits", SPACE_WIDE, &wide_lanes, 0, "nN", 2 * crowd, UNITS_RISE, NULL},
    {"shared", "fast clock", SPACE_MS, &others[4], 0, "n", crowd, NEAR_CLOCK, NULL},
    {"lanes", "fast clock", SPACE_MS, &others[6], 0, "nN", 2 * crowd, NEAR_CLOCK, NULL},
#define MODE(name, ids_of, space, gens, shard, calls, threads) \
    { name, ids_of, space, gens, shard, calls, threads, ANY, NULL }
    MODE("batches", "flake-idgen", SPACE_MS, &others[0], 0, "NT", crowd),
    MODE("given", "flake-idgen", SPACE_MS, &others[1], 0, "a", crowd),
    MODE("coarse", "flake-idgen", SPACE_MS, &others[3], 0, "n", crowd),
    MODE("stocks", "flake-idgen", SPACE_MS, stocks, sizeof *stocks, "p", crowd),
    MODE("lanes", "coarse clock", SPACE_MS, &others[5], 0, "nN", 2 * crowd),
    MODE("batches", "sno", SPACE_SNO, &sno_batches, 0, "NTa", crowd),
    {"numbers", "closed", SPACE_MS, NULL, 0, "", 1, ANY, draw_closed},
    {"numbers", "killed", SPACE_MS, NULL, 0, "", 1, ANY, draw_killed},
    {"forked", "children", SPACE_MS, NULL, 0, "", 1, ANY, draw_forked},
};
enum { n_first = 12, n_modes = sizeof modes / sizeof *modes };

/* ---- threads ---- */

static struct seat {
    pthread_t thread;
    const mode *mode;
    const char *calls;
    unsigned nth;
} seats[most_threads];
static unsigned n_seats;
static uint64_t share; /* per thread, until it ends or fails; 0: for hours */
static _Atomic(unsigned) ended;

static void *sit(void *at) {
    const struct seat *const s = (const struct seat *)at;
    worker *const w = &hours->workers[s - seats];
    uint64_t random = 0x9e3779b97f4a7c15 * (uint64_t)(s - seats + 1);
    while (!atomic_load(&hours->stop) && (!share || (w->ids < share && !w->failed && !w->refused)))
        if (s->mode->draws) s->mode->draws(w, &random);
        else draw_some(s->mode, w, s->nth, s->calls, &random);
    atomic_fetch_add(&ended, 1);
    return NULL;
}

static void seat_all(const mode *m, unsigned threads, const char *letters) {
    for (unsigned nth = 0; nth < threads; nth++) {
        struct seat *const s = &seats[n_seats++];
        s->mode = m;
        s->calls = letters;
        s->nth = nth;
        if (pthread_create(&s->thread, NULL, sit, s) != 0) abort();
    }
}

/* The real clock minus the monotonic one. */
static int64_t drift_ns(void) { return clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC); }
static bool drift_is_new(int64_t before_ns) { return llabs(drift_ns() - before_ns) > 1000000; }

static worker sum_of(const mode *m) {
    worker sum;
    memset(&sum, 0, sizeof sum);
    for (unsigned i = 0; i < n_seats; i++) {
        const worker *const w = &hours->workers[i];
        if (m && seats[i].mode != m) continue;
        sum.ids += w->ids;
        sum.duplicates += w->duplicates;
        sum.late += w->late;
        sum.refused += w->refused;
        sum.failed += w->failed;
        sum.misplaced += w->misplaced;
    }
    return sum;
}

static int passed, failed;
static bool count(bool well) {
    *(well ? &passed : &failed) += 1;
    printf("%-4s ", well ? "ok" : "FAIL");
    return well;
}

/* Snos fall after a backward step, as they should, and the fast clock notices a step late. */
static bool say_mode(const mode *m, unsigned threads, uint64_t wanted, bool was_set) {
    const worker sum = sum_of(m);
    const bool well = count(sum.ids && sum.ids >= wanted && !sum.duplicates && !sum.failed &&
                            (!sum.misplaced || was_set) && (!wanted || !sum.refused));
    printf("%2u threads, %-7s %-13s %13" PRIu64 " IDs %4" PRIu64 " duplicates %4" PRIu64 " misplaced %4" PRIu64
           " late %6" PRIu64 " times none free %4" PRIu64 " failed",
           threads, m->name, m->ids_of, sum.ids, sum.duplicates, sum.misplaced, sum.late, sum.refused, sum.failed);
    return well;
}

static void say_progress(double seconds, const char *end) {
    const worker all = sum_of(NULL);
    printf("%02d:%02d:%02d %" PRIu64 " IDs %" PRIu64 " duplicates %" PRIu64 " late %" PRIu64 " failed, %" PRIu64
           " forks %" PRIu64 " kills %" PRIu64 " restarts %7.3f M/s%s",
           (int)(seconds / 3600), (int)(seconds / 60) % 60, (int)seconds % 60, all.ids, all.duplicates, all.late,
           all.failed, (uint64_t)hours->forks, (uint64_t)hours->kills, (uint64_t)hours->restarts,
           seconds > 0 ? (double)all.ids / seconds / 1e6 : 0, end);
    (void)fflush(stdout);
}

static void on_signal(int number) {
    (void)number;
    atomic_store(&hours->stop, true);
}

/* Empty ones, and workers that have done nothing. */
static void begin(void) {
    memset((void *)hours->workers, 0, sizeof hours->workers);
    memset((void *)hours->late, 0, sizeof hours->late);
    hours->late_duplicates = 0;
    n_seats = 0;
    atomic_store(&ended, 0);
    space_init(&hours->spaces[SPACE_MS], 1, flake_layout_idgen.epoch_ms, (uint64_t)n_nodes << 12);
    space_init(&hours->spaces[SPACE_ROOMY], 1, roomy().epoch_ms, 3 << 20);
    space_init(&hours->spaces[SPACE_SNO], 4, INT64_C(1262304000000), (uint64_t)n_parts << 17);
    space_init(&hours->spaces[SPACE_WIDE], 1, 0, 1 << 16);
}

static void move_windows(void) {
    for (unsigned i = 0; i < n_spaces; i++) {
        space *const s = &hours->spaces[i];
        const uint64_t floor = floor_at(s, unix_ms());
        if (floor >= atomic_load(&s->floor) + s->rows / 128) space_move(s, floor);
    }
}

/* ---- whether duplicates are detected ---- */

/* A window that moves forgets what it should, and nothing else. */
static void windows_move(void) {
    worker *const w = &hours->workers[most_workers - 1];
    space *const s = &hours->spaces[SPACE_MS];
    const uint64_t unit = atomic_load(&s->floor) + 5, number = NODE_TWINS << 12 | 77;
    const struct {
        place p;
        uint64_t duplicates, late; /* after it */
    } steps[] = {
        {{unit, number}, 0, 0},
        {{unit, number + 1}, 0, 0},
        {{unit + 1, number}, 0, 0},
        {{unit, number}, 1, 0},
        {{0, 0}, 1, 0},
        /* it moves */ {{unit + s->rows, number}, 1, 0},
        {{unit + 1, number + 1}, 1, 0},
        {{unit + 1, number}, 2, 0},
        {{unit, number + 2}, 2, 1},
        {{unit, number + 2}, 3, 2},
    };
    bool well = true;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (steps[i].p.unit) note(w, SPACE_MS, &steps[i].p, 1);
        else space_move(s, unit + 1);
        well &= w->duplicates == steps[i].duplicates && w->late == steps[i].late;
    }
    (void)count(well && hours->late_duplicates == 1);
    printf("a window that moves forgets what it should, and late IDs are compared\n");
}

/* Two processes, each with a generator of the same node. */
static void twins_are_found(void) {
    worker *parent = &hours->workers[most_workers - 2], *other = &hours->workers[most_workers - 3];
    const pid_t child = fork();
    const flake_options o = options_of(flake_layout_idgen, FLAKE_CLOCK_EXACT);
    flake_gen gen;
    const flake_node node = flake_node_fixed(NULL, NODE_TWINS);
    const bool well = child >= 0 && flake_init(&gen, node, &o, NULL) == FLAKE_OK;
    for (int i = 0; well && i < 100000; i++) {
        drawn id = {{0}};
        note_one(child ? parent : other, SPACE_MS, flake_next(&gen, id.flake), &id);
    }
    if (child == 0) _exit(!well);
    if (child > 0) end_of(child);
    const uint64_t n = parent->duplicates + other->duplicates;
    (void)count(well && n && parent->ids + other->ids == 200000);
    printf("%" PRIu64 " duplicates among %" PRIu64 " IDs of two processes with one node\n", n,
           (uint64_t)(parent->ids + other->ids));
}

/* ---- runs ---- */

static void soak_ids(uint64_t each) {
    static const unsigned crowds[] = {2, 8, most_threads};
    uint64_t proven = 0;
    for (unsigned i = 0; i < n_first * 3; i++) {
        const mode *const m = &modes[i / 3];
        const unsigned threads = crowds[i % 3];
        begin();
        if (!make_first(threads, n_lanes, 60000, 0) || !make_others()) abort();
        share = each / threads;
        const int64_t drift_before_ns = drift_ns(), began_ns = clock_ns(CLOCK_MONOTONIC);
        seat_all(m, threads, "n");
        for (; atomic_load(&ended) < threads; nap_us(2000)) move_windows();
        const int64_t took_ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
        for (unsigned at = 0; at < threads; at++) (void)pthread_join(seats[at].thread, NULL);
        if (say_mode(m, threads, each, drift_is_new(drift_before_ns))) proven += each;
        printf(" %7.3f M/s\n", (double)each / (double)took_ns * 1e3);
        (void)fflush(stdout);
    }
    printf("%" PRIu64 " IDs, no duplicates\n", proven);
}

static void soak_for(double seconds) {
    const bool is_seen = isatty(1);
    const int64_t drift_before_ns = drift_ns(), began_ns = clock_ns(CLOCK_MONOTONIC);
    double next_line = 60, now = 0;
    begin();
    if (!make_first(crowd, 3, 0, 4095) || !make_others()) abort();
    for (unsigned m = 0; m < n_modes; m++) seat_all(&modes[m], modes[m].threads, modes[m].calls);
    for (int tick = 0; now < seconds && !atomic_load(&hours->stop); tick++) {
        move_windows();
        nap_us(50000);
        now = (double)(clock_ns(CLOCK_MONOTONIC) - began_ns) / 1e9;
        if (now >= next_line) {
            say_progress(now, "\n");
            next_line += 60;
        } else if (is_seen && tick % 20 == 0) say_progress(now, " \r");
    }
    atomic_store(&hours->stop, true);
    say_progress(now, "\n");
    for (unsigned i = 0; i < n_seats; i++) (void)pthread_join(seats[i].thread, NULL);
    const bool was_set = drift_is_new(drift_before_ns);
    for (unsigned m = 0; m < n_modes; m++) {
        (void)say_mode(&modes[m], modes[m].threads, 0, was_set);
        (void)putchar('\n');
    }
    (void)count(hours->refusals == 2 * hours->forks && hours->forks);
    printf("%" PRIu64 " draws of %" PRIu64 " forked children from their parent's generators were refused\n",
           (uint64_t)hours->refusals, (uint64_t)hours->forks);
}

int main(int argc, char **argv) {
    uint64_t ids = 1000000000;
    double wanted_hours = 0;
    for (int i = 1; i < argc; i++) {
        char *end = argv[i];
        if (strncmp(argv[i], "--ids=", 6) == 0) ids = strtoull(argv[i] + 6, &end, 10);
        if (strncmp(argv[i], "--hours=", 8) == 0) wanted_hours = strtod(argv[i] + 8, &end);
        if (end == argv[i] || *end || ids < 100000 || !(wanted_hours >= 0)) {
            (void)fprintf(stderr, "usage: %s [--ids=N | --hours=H], N 100000 or more\n", argv[0]);
            return 2;
        }
    }
    struct sigaction on;
    struct rusage usage;
    begin_folder();
    hours = (struct hours *)shared_memory(sizeof *hours);
    begin();
    windows_move();
    twins_are_found();
    memset(&on, 0, sizeof on);
    on.sa_handler = on_signal;
    (void)sigaction(SIGINT, &on, NULL);
    (void)sigaction(SIGTERM, &on, NULL);
    (void)fflush(stdout);
    /* all threads' groups are whole */
    const uint64_t unit = (uint64_t)most_threads * calls, parts = n_first * 3 * unit;
    if (wanted_hours > 0) soak_for(wanted_hours * 3600);
    else soak_ids((ids + parts - 1) / parts * unit);
    (void)count(!hours->late_lost);
    printf("%" PRIu64 " late IDs were not compared\n", (uint64_t)hours->late_lost);
    (void)getrusage(RUSAGE_SELF, &usage);
    (void)count(usage.ru_maxrss / 1024 < most_mib);
    printf("%ld MiB of memory at most\n", usage.ru_maxrss / 1024);
    end_folder();
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
