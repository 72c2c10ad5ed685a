/* SPDX-License-Identifier: MIT
 *
 * The billion: draws ids from 2, 8 and 64 threads on the real clock, from one generator, from a shard
 * each and from lanes, and proves that no id came twice, in memory that does not grow with their number.
 *
 *     soak [--ids=N]        N ids in all, 1,000,000,000 by default; closes with "N passed, N failed"
 *     soak --hours=H        all ways to draw at once, for so long or until it is interrupted, with a line
 *                           each minute: see soak_hours.h. With --plant a second generator of a node
 *                           draws along: this must fail
 *     soak --clocks=S       how far ids by the fast clock are off the exact one, in S seconds each of three
 *                           ways to draw: see soak_clocks.h
 *
 * The ids of a thread rise, and those of lanes from unit to unit, inside which they are put in order. So
 * a merge of the threads' streams rises too, strictly, or an id is in it twice. Threads hand their ids
 * over in rings; one whose ring is full sleeps until the merge has caught up. "No call above" bounds the
 * slowest call: every CALLS calls in a row were timed, and none of these groups took longer.
 */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#include "flake.h"
#include "sno.h"
#include "options.h"
#include "sno_key.h"
#include "real_time.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
    most_threads = 64,
    n_lanes = 8,
    calls = 8,              /* timed together, and handed over together */
    ring_ids = 16 << 20,    /* of all threads: 128 MiB */
    most_numbers = 1 << 20, /* of a unit */
    most_mib = 300
};

/* ---- what ids are drawn from ---- */

static flake_gen flakes;
static flake_gen flake_shards[most_threads];
static sno_gen snos;
static sno_gen sno_shards[most_threads];
static flake_lane flake_lane_of[n_lanes], wide_lane_of[n_lanes];
static flake_gen flake_all_lanes;
static flake_gen wide_all_lanes;
static flake_lane sno_lane_of[n_lanes];
static sno_gen sno_all_lanes;

enum { meta = 42, partition = 4711, wide_worker = 471147 };

/* Draws `calls` ids one by one; false: a call failed. */
typedef bool (*way)(unsigned thread, uint64_t *ids);

/* What tells the ids of one partition apart; false: another's. */
static bool key_of_sno(sno_id id, uint64_t *key) {
    *key = sno_key(id);
    return sno_meta(id) == meta && sno_partition(id) == partition;
}

/* Time and sequence, which tell the ids of one worker apart; false: another's. */
static bool wide_key(flake128 id, uint64_t *key) {
    flake_parts parts = {0};
    const flake_status status = flake128_decompose(&flake_layout_boundary, &id, &parts);
    *key = (uint64_t)parts.unix_ms << 16 | parts.seq;
    return status == FLAKE_OK && parts.node == wide_worker;
}

static flake128 next_wide(void) {
    flake128 id = {{0}}; /* that of a call that failed: of no worker */
    (void)!flake128_next(&wide_all_lanes, &id);
    return id;
}

#define WAY(name, call)                                          \
    static bool name(unsigned thread, uint64_t *ids) {           \
        bool well = true;                                        \
        (void)thread;                                            \
        for (unsigned i = 0; i < calls; i++) well &= (call);     \
        return well;                                             \
    }
WAY(from_flake, flake_next(&flakes, &ids[i]) == FLAKE_OK)
WAY(from_flake_shard, flake_next(&flake_shards[thread], &ids[i]) == FLAKE_OK)
WAY(from_flake_lanes, flake_next(&flake_all_lanes, &ids[i]) == FLAKE_OK)
WAY(from_sno, key_of_sno(next_sno(&snos, meta), &ids[i]))
WAY(from_sno_shard, key_of_sno(next_sno(&sno_shards[thread], meta), &ids[i]))
WAY(from_sno_lanes, key_of_sno(next_sno(&sno_all_lanes, meta), &ids[i]))
WAY(from_wide_lanes, wide_key(next_wide(), &ids[i]))
/* Two generators of one node, which nobody may run at once: the proof that repeated ids are found. */
WAY(from_twins, flake_next(&flake_shards[thread], &ids[i]) == FLAKE_OK)
/* One thread, in turn from each. */
WAY(from_both_twins, flake_next(&flake_shards[i % 2], &ids[i]) == FLAKE_OK)

/* So many numbers a unit that nobody waits for the clock. */
static flake_layout roomy(void) { return flake_layout_of(40, 4, 20, 1577836800000); }

static bool init(unsigned shards, bool of_idgen) {
    static sno_snapshot pool; /* the whole of it */
    flake_options f = {0}, wide;
    pool.partition = partition;
    f.max_wait_ms = 60000;
    wide = f;
    wide.layout = flake_layout_boundary;
    wide.node = wide_worker;
    f.layout = of_idgen ? flake_layout_idgen : roomy();
    return flake_init(&flakes, &f, NULL) == FLAKE_OK && sno_init(&snos, &pool, NULL, NULL) == FLAKE_OK &&
           flake_init_shards(flake_shards, shards, &f, NULL) == FLAKE_OK &&
           sno_init_shards(sno_shards, shards, &pool, NULL, NULL) == FLAKE_OK &&
           flake_init(&flake_all_lanes, with_lanes(&f, flake_lane_of, n_lanes), NULL) == FLAKE_OK &&
           sno_init(&sno_all_lanes, &pool, with_lanes(NULL, sno_lane_of, n_lanes), NULL) == FLAKE_OK &&
           flake_init(&wide_all_lanes, with_lanes(&wide, wide_lane_of, n_lanes), NULL) ==
               FLAKE_OK;
}

static bool init_twins(void) {
    return flake_init(&flake_shards[0], NULL, NULL) == FLAKE_OK &&
           flake_init(&flake_shards[1], NULL, NULL) == FLAKE_OK;
}

/* ---- streams ---- */

/* A ring of ids from one thread to the merge. Each end has a cache line to itself. */
typedef struct stream {
    uint64_t *ids;
    uint64_t size; /* a power of two */
    pthread_t thread;
    unsigned index;
    char pad0[64];
    _Atomic(uint64_t) head; /* ids handed over */
    _Atomic(bool) ended;
    char pad1[64];
    _Atomic(uint64_t) tail; /* ids merged */
    char pad2[64];
    /* the drawing thread's, until it has ended */
    uint64_t share, handed, room, last, falls, failed;
    uint64_t unit, low, high; /* of numbers[]: words from low to high */
    uint64_t twice;           /* found there */
    int64_t slowest_ns, ended_ns;
    char pad3[64];
    /* the merge's */
    uint64_t at, end;
} stream;

static stream streams[most_threads];
static uint64_t ring[ring_ids];
/* What lanes gave each thread in a unit, a bit for each number. */
static uint64_t numbers[most_threads][most_numbers / 64];
static way draw;
static unsigned number_bits; /* of an id from lanes: the rest is its unit; 0: a thread's ids rise */
static _Atomic(bool) started;

/* Up to `calls` ids. */
static void hand_over(stream *s, const uint64_t *ids, uint64_t n) {
    while (s->handed + n > s->room) { /* full */
        s->room = atomic_load_explicit(&s->tail, memory_order_acquire) + s->size;
        if (s->handed + n > s->room) nap_us(200);
    }
    for (uint64_t i = 0; i < n; i++) {
        s->falls += ids[i] <= s->last;
        s->last = s->ids[s->handed++ & (s->size - 1)] = ids[i];
    }
    atomic_store_explicit(&s->head, s->handed, memory_order_release);
}

static void hand_over_unit(stream *s) {
    uint64_t ids[calls], n = 0;
    for (uint64_t at = s->low; at <= s->high; at++) {
        uint64_t *const bits = &numbers[s->index][at];
        for (; *bits; *bits &= *bits - 1) {
            const unsigned bit = (unsigned)__builtin_ctzll(*bits);
            ids[n++] = s->unit << number_bits | (at * 64 + bit);
            if (n < calls) continue;
            hand_over(s, ids, n);
            n = 0;
        }
    }
    hand_over(s, ids, n);
    s->low = most_numbers / 64;
    s->high = 0;
}

/* Inside a unit lanes have no order, but an older unit's ids don't follow a newer one's. */
static void keep(stream *s, const uint64_t *ids) {
    for (unsigned i = 0; i < calls; i++) {
        const uint64_t unit = ids[i] >> number_bits, number = ids[i] - (unit << number_bits);
        const uint64_t at = number / 64, bit = UINT64_C(1) << number % 64;
        if (number >= most_numbers) {
            s->failed++; /* whose? */
            continue;
        }
        if (unit != s->unit) hand_over_unit(s);
        s->unit = unit;
        s->twice += (numbers[s->index][at] & bit) != 0;
        numbers[s->index][at] |= bit;
        if (at < s->low) s->low = at;
        if (at > s->high) s->high = at;
    }
}

static void *draw_share(void *given) {
    stream *s = (stream *)given;
    uint64_t own[calls];
    while (!atomic_load(&started)) nap_us(100);
    for (uint64_t n = 0; n < s->share && !s->failed; n += calls) {
        memset(own, 0, sizeof own);
        const int64_t began_ns = clock_ns(CLOCK_MONOTONIC);
        s->failed += !draw(s->index, own);
        const int64_t took_ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
        if (took_ns > s->slowest_ns) s->slowest_ns = took_ns;
        if (number_bits) keep(s, own);
        else hand_over(s, own, calls);
    }
    hand_over_unit(s);
    s->ended_ns = clock_ns(CLOCK_MONOTONIC);
    atomic_store_explicit(&s->ended, true, memory_order_release);
    return NULL;
}

/* ---- merge ---- */

typedef struct merged {
    uint64_t ids, duplicates, falls, last;
} merged;

/* The heap has the stream whose next id is the lowest at its top. */
static stream *heap[most_threads];
static unsigned heap_size;

static uint64_t next_of(const stream *s) { return s->ids[s->at & (s->size - 1)]; }

static void sift_down(unsigned i) {
    stream *s = heap[i];
    const uint64_t id = next_of(s);
    for (;;) {
        unsigned child = 2 * i + 1;
        if (child >= heap_size) break;
        if (child + 1 < heap_size && next_of(heap[child + 1]) < next_of(heap[child])) child++;
        if (next_of(heap[child]) >= id) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = s;
}

/* Sees to it that the stream has an id to compare; false: it has ended. */
static bool fill(stream *s) {
    if (s->at < s->end) return true;
    atomic_store_explicit(&s->tail, s->at, memory_order_release);
    for (;;) {
        const bool ended = atomic_load_explicit(&s->ended, memory_order_acquire);
        s->end = atomic_load_explicit(&s->head, memory_order_acquire);
        if (s->at < s->end) return true;
        if (ended) return false;
        nap_us(500); /* the others go on into their rings */
    }
}

/* The lowest stream's ids up to the second lowest's next. */
static void take_run(stream *s, uint64_t below, merged *m) {
    const uint64_t mask = s->size - 1;
    uint64_t at = s->at, last = m->last;
    do {
        const uint64_t id = s->ids[at++ & mask];
        if (id <= last) {
            m->duplicates += id == last;
            m->falls += id < last;
        }
        last = id;
    } while (at < s->end && s->ids[at & mask] <= below);
    m->ids += at - s->at;
    m->last = last;
    s->at = at;
    if (at - atomic_load_explicit(&s->tail, memory_order_relaxed) > s->size / 8)
        atomic_store_explicit(&s->tail, at, memory_order_release);
}

static merged merge(unsigned threads) {
    merged m = {0, 0, 0, 0};
    heap_size = 0;
    for (unsigned i = 0; i < threads; i++)
        if (fill(&streams[i])) heap[heap_size++] = &streams[i];
    for (unsigned i = heap_size / 2; i-- > 0;) sift_down(i);
    while (heap_size) {
        uint64_t below = UINT64_MAX;
        if (heap_size > 1) below = next_of(heap[1]);
        if (heap_size > 2 && next_of(heap[2]) < below) below = next_of(heap[2]);
        take_run(heap[0], below, &m);
        if (!fill(heap[0])) heap[0] = heap[--heap_size];
        if (heap_size) sift_down(0);
    }
    return m;
}

/* ---- runs ---- */

typedef struct plan {
    const char *mode, *ids_of;
    way draw;
    bool of_idgen;
    double capacity;      /* ids a second; 0: more than can be drawn */
    unsigned number_bits; /* of lanes */
} plan;

typedef struct result {
    merged all;
    uint64_t drawn, falls, failed;
    int64_t slowest_ns, took_ns, put_back_ns;
    bool inits;
} result;

/* The real clock less the one that nobody puts back. */
static int64_t drift_ns(void) { return clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC); }

static result run(way how, unsigned lanes_number_bits, unsigned threads, uint64_t ids, bool inits) {
    result r = {0};
    r.inits = inits;
    if (!inits) return r;
    draw = how;
    number_bits = lanes_number_bits;
    atomic_store(&started, false);
    for (unsigned i = 0; i < threads; i++) {
        stream *s = &streams[i];
        memset(s, 0, sizeof *s);
        s->index = i;
        s->size = ring_ids / threads;
        s->ids = ring + i * s->size;
        s->low = most_numbers / 64;
        s->share = ids / threads;
        if (pthread_create(&s->thread, NULL, draw_share, s) != 0) abort();
    }
    const int64_t drift_before_ns = drift_ns(), began_ns = clock_ns(CLOCK_MONOTONIC);
    atomic_store(&started, true);
    r.all = merge(threads);
    int64_t ended_ns = began_ns;
    for (unsigned i = 0; i < threads; i++) {
        const stream *s = &streams[i];
        (void)pthread_join(s->thread, NULL);
        r.drawn += atomic_load(&s->head) + s->twice;
        r.all.ids += s->twice;
        r.all.duplicates += s->twice;
        r.falls += s->falls;
        r.failed += s->failed;
        if (s->slowest_ns > r.slowest_ns) r.slowest_ns = s->slowest_ns;
        if (s->ended_ns > ended_ns) ended_ns = s->ended_ns;
    }
    r.took_ns = ended_ns - began_ns;
    r.put_back_ns = drift_before_ns - drift_ns();
    return r;
}

static void print_grouped(uint64_t n) {
    char text[32], *at = text + sizeof text - 1;
    *at = 0;
    for (int digits = 0; n || !digits; n /= 10, digits++) {
        if (digits && digits % 3 == 0) *--at = ',';
        *--at = (char)('0' + n % 10);
    }
    printf(" %14s", at);
}

static bool is_well(const result *r) {
    return r->inits && r->drawn && !r->all.duplicates && !r->all.falls && !r->falls && !r->failed &&
           r->all.ids == r->drawn;
}

/* A clock put back by more than the two readings of drift_ns lie apart. */
static bool was_put_back(const result *r) { return r->put_back_ns > 1000000; }

static bool report(const plan *p, unsigned threads, const result *r) {
    const double a_second = (double)r->drawn / ((double)r->took_ns / 1e9);
    printf("%-4s %2u threads, %-7s %-16s", is_well(r) ? "ok" : "FAIL", threads, p->mode, p->ids_of);
    print_grouped(r->drawn);
    printf(" ids %4" PRIu64 " duplicates %7.3f M/s", r->all.duplicates, a_second / 1e6);
    if (p->capacity > 0) printf(" %6.2f %% of capacity", 100 * a_second / p->capacity);
    else printf("%21s", "");
    printf("  no call above %.3f ms\n", (double)r->slowest_ns / 1e6);
    if (was_put_back(r))
        printf("     the clock was put back by %.3f ms during this run\n",
               (double)r->put_back_ns / 1e6);
    if (!r->inits) printf("     init was refused\n");
    if (r->falls || r->all.falls)
        printf("     %" PRIu64 " ids of a thread were not above the one before\n",
               r->falls + r->all.falls);
    if (r->failed) printf("     %" PRIu64 " groups of calls with one that failed\n", r->failed);
    if (r->all.ids != r->drawn) printf("     only %" PRIu64 " ids were merged\n", r->all.ids);
    (void)fflush(stdout);
    return is_well(r);
}

/* One that the clock was put back in is not a proof: snos fall then, as they should. */
static bool prove(const plan *p, unsigned threads, uint64_t ids) {
    for (int attempt = 0;; attempt++) {
        const result r = run(p->draw, p->number_bits, threads, ids, init(threads, p->of_idgen));
        if (report(p, threads, &r)) return true;
        if (!was_put_back(&r) || attempt == 2) return false;
        printf("     once more\n");
    }
}

static bool finds_duplicates(way how, unsigned lanes_number_bits, unsigned threads) {
    const result r = run(how, lanes_number_bits, threads, 400000, init_twins());
    const bool found = r.inits && r.all.duplicates > 0 && r.all.ids == r.drawn;
    printf("%-4s %" PRIu64 " duplicates among %" PRIu64
           " ids of two generators with one node, %u thread%s\n",
           found ? "ok" : "FAIL", r.all.duplicates, r.drawn, threads, threads > 1 ? "s" : "");
    return found;
}

static bool stays_small(void) {
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    const long mib = usage.ru_maxrss / 1024;
    printf("%-4s %ld MiB of memory at most\n", mib < most_mib ? "ok" : "FAIL", mib);
    return mib < most_mib;
}

#include "soak_clocks.h"
#include "soak_hours.h"

int main(int argc, char **argv) {
    static const plan plans[] = {
        {"shared", "flake 40+4+20", from_flake, false, 0, 0},
        {"sharded", "flake 40+4+20", from_flake_shard, false, 0, 0},
        {"shared", "flake-idgen", from_flake, true, 4096e3, 0},
        {"sharded", "flake-idgen", from_flake_shard, true, 4096e3, 0},
        {"shared", "sno", from_sno, false, 65536 * 250.0, 0},
        {"sharded", "sno", from_sno_shard, false, 65536 * 250.0, 0},
        {"lanes", "flake 40+4+20", from_flake_lanes, false, 0, 24},
        {"lanes", "flake-idgen", from_flake_lanes, true, 4096e3, 22},
        {"lanes", "sno", from_sno_lanes, false, 65536 * 250.0, 17},
        {"lanes", "128 bits", from_wide_lanes, false, 0, 16},
    };
    static const unsigned crowds[] = {2, 8, most_threads};
    enum { n_plans = sizeof plans / sizeof *plans, n_crowds = sizeof crowds / sizeof *crowds };
    uint64_t ids = 1000000000, proven = 0;
    double wanted_hours = 0, clocks_seconds = 0;
    bool plant = false;
    int passed = 0, failed = 0;
    for (int i = 1; i < argc; i++) {
        char *end = argv[i], none[] = "";
        if (strncmp(argv[i], "--ids=", 6) == 0 && strspn(argv[i] + 6, "0123456789") > 0)
            ids = strtoull(argv[i] + 6, &end, 10);
        if (strncmp(argv[i], "--hours=", 8) == 0) wanted_hours = strtod(argv[i] + 8, &end);
        if (strncmp(argv[i], "--clocks=", 9) == 0) {
            clocks_seconds = strtod(argv[i] + 9, &end);
            if (!(clocks_seconds > 0)) end = argv[i];
        }
        if (strcmp(argv[i], "--plant") == 0) plant = true, end = none;
        if (end == argv[i] || *end || ids < 100000 || !(wanted_hours >= 0) ||
            clocks_seconds > 1e6) {
            (void)fprintf(
                stderr,
                "usage: %s [--ids=N | --hours=H [--plant] | --clocks=S], N 100000 or more\n",
                argv[0]);
            return 2;
        }
    }
    if (clocks_seconds > 0) return look_at_clocks(clocks_seconds);
    if (wanted_hours > 0) return soak_for(wanted_hours, plant);
    *(finds_duplicates(from_twins, 0, 2) ? &passed : &failed) += 1;
    *(finds_duplicates(from_both_twins, 22, 1) ? &passed : &failed) += 1;
    /* all threads' groups are whole */
    const uint64_t unit = (uint64_t)most_threads * calls;
    const uint64_t each = (ids / (n_plans * n_crowds) + unit - 1) / unit * unit;
    for (unsigned p = 0; p < n_plans; p++)
        for (unsigned c = 0; c < n_crowds; c++) {
            const bool well = prove(&plans[p], crowds[c], each);
            if (well) proven += each;
            *(well ? &passed : &failed) += 1;
        }
    *(stays_small() ? &passed : &failed) += 1;
    print_grouped(proven);
    printf(" ids, each of them once\n");
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
