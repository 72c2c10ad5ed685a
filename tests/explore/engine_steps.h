/* SPDX-License-Identifier: MIT
 *
 * The steps of explore_engine.c's executions, all sequentially consistent (orders.h explores memory orders): it
 * replaces the header's atomics, clock, sleep and relax hint.
 *
 * STEP      A thread runs up to its next shared access, makes it, and yields; code between two accesses belongs to the
 *           step of the later one. (So plain data that is written too late, after the atomic that publishes it, is seen
 *           missing.)
 * CLOCK     One more thread, whose steps come from the scenario: forward, backward, or none ("stuck"). With `coarse`
 *           each is two steps: the exact clock moves, then the coarse one follows.
 * SLEEP     A sleeper continues once the clock thread has moved (a sleep may end early), or by itself when no other
 *           thread can run: then the clock moves to the end of the shortest sleep, unless `stuck`. With `early` it may
 *           continue at any time, as after a signal.
 * CUT       If a thread sleeps more than 8 times in a call, its execution is cut; nothing is checked after that. An
 *           execution of 600 steps has a loop that makes no progress, and fails.
 *
 * `thread` must depend only on what accesses return (plain data that others write is passed to `learn`), and `digest`
 * must cover all that `watch` keeps, except what follows from what the threads have read since they last forgot.
 */
#ifndef ENGINE_STEPS_H
#define ENGINE_STEPS_H

typedef enum access_kind { LOAD, STORE, ADD, CAS, CLOCK_READ } access_kind;
typedef struct shared_access {
    access_kind kind;
    const void *at;      /* NULL: the clock */
    uint64_t seen, left; /* value before and after; of the clock: ns */
    bool wrote;          /* false: a load, or a CAS that failed */
} shared_access;

/* Called after each access; it may fail. A hash of what it keeps: for thread i, or for no thread (i == FIBERS) */
static void watch(unsigned i, const shared_access *);
static uint64_t digest(unsigned i);
static void *own(void *at);                 /* the thread's copy, where each has one */
static const char *name_of(const void *at); /* NULL: no thread acts on it, so no step */
static void show(const void *at, uint64_t value, char *out, size_t size);

static struct {
    struct {
        bool asleep;
        unsigned clock_at, sleeps;
        int64_t until_ns; /* of slept_ns */
    } thread[FIBERS];
    unsigned clock_at;                     /* the clock's steps so far */
    int64_t exact_ns, coarse_ns, slept_ns; /* slept_ns: added by standstills */
    uint64_t counter;
    uint64_t memory; /* hash of the current objects against those of the start */
} world;

/* The thread forgets all that it has read, except `value`. */
static void forget(uint64_t value) {
    run_now.thread[run_now.me].history = hash_mix(0, value);
    world.thread[run_now.me].sleeps = 0;
}

/* ---- accesses ---- */

/* The step that ends with this access. */
static void end_step(const shared_access *a) {
    static const char *const verbs[] = {"load", "store", "add", "cas", "clock"};
    const char *name = a->at ? name_of(a->at) : "";
    if (a->wrote && name) {
        const uint64_t at = hash_mix(1, (uint64_t)(uintptr_t)a->at);
        world.memory ^= hash_mix(at, a->seen) ^ hash_mix(at, a->left);
    }
    if (name) learn(a->kind == STORE ? 1 : a->seen);
    if (name && run_now.trace) {
        char seen[64], left[64];
        show(a->at, a->seen, seen, sizeof seen);
        show(a->at, a->left, left, sizeof left);
        if (a->wrote) say("%-5s %-8s %s -> %s", verbs[a->kind], name, seen, left);
        else say("%-5s %-8s %s%s", verbs[a->kind], name, seen, a->kind == CAS ? ", failed" : "");
    }
    watch(run_now.me, a);
    if (name) give_way();
}

/* Whether this is a step, or the end of one. */
static bool begin_access(const void *at) {
    if (run_now.me == NOBODY) return false; /* reset and ended run outside */
    return !fiber_has(at);                  /* on a fiber's own stack */
}

/* The old value. A CAS compares it with *expected, and leaves it if they differ. */
static uint64_t touch(access_kind kind, void *at, size_t size, void *expected, uint64_t value) {
    at = own(at);
    const bool inside = begin_access(at);
    const uint64_t seen = memory_peek(at, size);
    shared_access a = {kind, at, seen, seen, kind != LOAD};
    if (kind == CAS) a.wrote = seen == memory_peek(expected, size);
    if (a.wrote) memory_poke(at, size, kind == ADD ? seen + value : value);
    else if (kind == CAS) memory_poke(expected, size, seen);
    a.left = memory_peek(at, size);
    if (inside) end_step(&a);
    return kind == CAS ? a.wrote : seen;
}

static void store(void *at, size_t size, uint64_t value) { (void)touch(STORE, at, size, NULL, value); }

static int64_t read_clock(bool coarse) {
    const bool inside = begin_access(NULL);
    const int64_t ns = coarse ? world.coarse_ns : world.exact_ns;
    const shared_access a = {CLOCK_READ, NULL, (uint64_t)ns, (uint64_t)ns, false};
    if (inside) end_step(&a);
    return ns;
}

static void sleep_for(int64_t ns) {
    enum { MOST_SLEEPS = 8 };
    learn((uint64_t)ns);
    world.thread[run_now.me].until_ns = world.slept_ns + ns;
    world.thread[run_now.me].clock_at = world.clock_at;
    world.thread[run_now.me].asleep = true;
    run_now.cut = ++world.thread[run_now.me].sleeps > MOST_SLEEPS;
    say("sleep %.6g ms", (double)ns / 1e6);
    give_way();
    world.thread[run_now.me].asleep = false;
}

/* The order is dropped, and the type is a plain one. */
#define FLAKE_ATOMIC(T) T
#define FLAKE_ATOMIC_LOAD(p, order) \
    ((__typeof__(*(p)))touch(LOAD, (void *)(uintptr_t)(p), sizeof *(p), NULL, 0)) /* of a const object, too */
#define FLAKE_ATOMIC_STORE(p, v, order)                store((p), sizeof *(p), (uint64_t)(v))
#define FLAKE_ATOMIC_ADD(p, v, order) \
    ((__typeof__(*(p)))touch(ADD, (p), sizeof *(p), NULL, (uint64_t)(v)))
#define FLAKE_ATOMIC_CAS(p, seen, v, success, failure) (touch(CAS, (p), sizeof *(p), (seen), (uint64_t)(v)) != 0)
#define FLAKE_CLOCK_NS(kind)                           read_clock((kind) == FLAKE_CLOCK_COARSE)
#define FLAKE_COUNTER()                                FLAKE_ATOMIC_LOAD(&world.counter, relaxed)
#define FLAKE_SLEEP_NS(ns)                             sleep_for(ns)
#define FLAKE_RELAX()                                  ((void)0)
#define FLAKE_ASSERT(condition)                        ((condition) ? (void)0 : fail("assert: " #condition))

/* ---- the clock and the threads ---- */

#define MS INT64_C(1000000)
enum { MOST_STEPS = 600 };
static int64_t clock_ns(unsigned i) {
    return (current->clock[i] + (current->of == DEFAULT ? INT64_C(1600000000000) : 0)) * MS;
}
static uint64_t counter_at(unsigned i) {
    return (uint64_t)(current->counter[1] ? current->counter[i] * INT64_C(1000) : 0);
}

static void begin_run(void) {
    memset(&world, 0, sizeof world);
    world.exact_ns = world.coarse_ns = clock_ns(0);
    world.counter = counter_at(0);
}

static bool is_awake(unsigned i) {
    return !world.thread[i].asleep || world.thread[i].clock_at != world.clock_at ||
           world.thread[i].until_ns <= world.slept_ns || current->early;
}

static void step_clock(void) {
    const unsigned at = ++world.clock_at;
    world.exact_ns = clock_ns(current->coarse ? (at + 1) / 2 : at);
    world.coarse_ns = clock_ns(current->coarse ? at / 2 : at);
    if (current->counter[1]) world.counter = counter_at(at);
    say("the clock reads %.6g ms%s", (double)world.exact_ns / 1e6,
        world.coarse_ns == world.exact_ns ? "" : ", the coarse one not yet");
}

/* At a standstill the shortest sleep ends. */
static unsigned next_steps(uint8_t who[FIBERS + 1]) {
    unsigned n = awake_threads(who), clocks = 1;
    count_step(MOST_STEPS);
    int64_t shortest = INT64_MAX;
    for (unsigned i = 0; i < run_now.s->threads; i++)
        if (!run_now.thread[i].done && world.thread[i].until_ns - world.slept_ns < shortest)
            shortest = world.thread[i].until_ns - world.slept_ns;
    if (shortest == INT64_MAX) return 0;
    while (clocks < 7 && current->clock[clocks]) clocks++;
    if (world.clock_at < (clocks - 1) * (current->coarse ? 2u : 1u)) who[n++] = CLOCK;
    if (n) return n;

    world.slept_ns += shortest;
    if (!current->stuck) world.exact_ns += shortest;
    if (!current->stuck) world.counter += (uint64_t)shortest;
    world.coarse_ns = world.exact_ns;
    say("standstill: the sleep of %.6g ms ends", (double)shortest / 1e6);
    return awake_threads(who);
}

static uint64_t state_now(void) {
    const bool bounded = run_now.s->bound != ANY;
    uint64_t part[FIBERS], hash = hash_mix(hash_mix(world.memory, world.clock_at), digest(FIBERS));
    hash = hash_mix(hash, (uint64_t)world.slept_ns);
    if (bounded) hash = hash_mix(hash, (uint64_t)run_now.preempted);
    for (unsigned i = 0; i < run_now.s->threads; i++) {
        const bool asleep = world.thread[i].asleep;
        part[i] = hash_mix(hash_mix(run_now.s->role[i], run_now.thread[i].history), digest(i));
        part[i] = hash_mix(part[i], !asleep ? run_now.thread[i].done : is_awake(i) ? 2 : 3);
        part[i] = hash_mix(part[i], bounded && i == run_now.last);
        if (asleep) part[i] = hash_mix(part[i], (uint64_t)world.thread[i].until_ns);
    }
    return mix_threads(hash, part);
}

#endif
