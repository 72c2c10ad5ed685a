/* SPDX-License-Identifier: MIT
 *
 * The explorer: runs two to four virtual threads through a header in every possible order, and stops at
 * the first that breaks a rule. Included before flake.h or sno.h it replaces their atomics, clock, sleep
 * and relax hint.
 *
 * A STEP    A virtual thread is a fiber. It runs up to its next shared access, makes it, and yields;
 *           code between two accesses belongs to the step of the later one. (So plain data that is
 *           written too late, after the atomic that publishes it, is seen missing. With `fine` it yields
 *           before the access as well, and data read too early shows too.)
 * SCHEDULE  One letter a step: a b c d the threads, t the clock. The search is depth first and
 *           stateless: each execution starts anew, replays the letters of the last one up to the deepest
 *           that has an alternative, and takes that. After a failure the search is repeated for a
 *           schedule with as few preemptions as possible.
 * CLOCK     One more thread, whose steps come from a list: forward, backward, or none ("stuck"). With
 *           `coarse` each is two steps: the exact clock moves, then the coarse one follows.
 * SLEEP     A sleeper continues once the clock thread has moved (a sleep may end early), or by itself
 *           when no other thread can run: then the clock moves to the end of the shortest sleep,
 *           unless `stuck`. With `early` it may continue at any time, as after a signal.
 * CUT       If a thread sleeps more than `sleeps` times in a call, its execution is cut and counted;
 *           nothing is checked after that. An execution of EXPLORE_STEPS steps has a loop that makes
 *           no progress, and fails.
 *
 * PRUNING   by visited states. A thread's next step follows from the values that its accesses have
 * returned. These values, with memory, clock, and the rules' data, are therefore the whole state, fiber
 * stacks included. Two schedules that reach the same state have the same future: the second stops there
 * ("merged"). Steps that commute reach the same state, so this prunes what sleep sets or DPOR would,
 * also under a bound on preemptions: there the state includes which thread ran last and how many
 * preemptions were used. Between two calls a thread has mostly forgotten what it read, and says so
 * (explore_forget), which merges far more; threads of one role are interchangeable. A state is
 * identified by a 64-bit hash: among a million states the odds of a collision are one in 37 million.
 * `every` switches pruning off: the results must be equal, which the scenarios every_... check.
 *
 * A scenario must obey two rules: `thread` depends only on what accesses return (plain data that others
 * write is passed to explore_saw), and `digest` covers all that `watch` keeps, except what follows from
 * what the threads have read since they last forgot.
 *
 * NOT ITS JOB    memory orders, which orders.h explores: here everything is sequentially consistent.
 */
#ifndef EXPLORE_H
#define EXPLORE_H

#include <inttypes.h>
#include <stdarg.h>

#include "fibers.h"

enum { EXPLORE_THREADS = FIBERS, EXPLORE_STEPS = 600, EXPLORE_ANY = -1 };

typedef enum explore_kind {
    EXPLORE_LOAD,
    EXPLORE_STORE,
    EXPLORE_ADD,
    EXPLORE_CAS,
    EXPLORE_CLOCK
} explore_kind;

typedef struct explore_access {
    explore_kind kind;
    const void *at;      /* NULL: the clock */
    uint64_t seen, left; /* value before and after; of the clock: ns */
    bool wrote;          /* false: a load, or a CAS that failed */
} explore_access;

typedef struct explore_setup {
    unsigned threads;
    unsigned role[EXPLORE_THREADS]; /* threads of one role are interchangeable */
    const int64_t *clock_ns;        /* the start, then a step each */
    const int64_t *counter_ns;      /* what the processor's counter says then; NULL: 0 */
    unsigned clocks;
    int preemptions;           /* a limit; EXPLORE_ANY. The clock's steps are no preemptions */
    unsigned sleeps;           /* since it last forgot */
    unsigned long most_states; /* after which the search ends; 0: any number */
    bool coarse, stuck, early, fine, every;
} explore_setup;

/* The explorer's: sets everything shared, and what `watch` keeps, to the start; what thread i does; called
 * after each access; called when all threads have returned. The last two may fail. */
static void reset(void), thread(unsigned i), watch(unsigned i, const explore_access *), ended(void);
/* A hash of what `watch` keeps: for thread i, or for no thread (i == threads) */
static uint64_t digest(unsigned i);
static void *own(void *at);                 /* the thread's copy, where each has one */
static const char *name_of(const void *at); /* NULL: no thread acts on it, so no step */
static void show(const void *at, uint64_t value, char *out, size_t size);

typedef struct explore_result {
    bool failed;
    char message[200];
    char schedule[EXPLORE_STEPS + 1];
    unsigned long
        complete; /* complete executions, no two with the same end state; with `every` too */
    unsigned long cut;
    unsigned long merged; /* stopped at a visited state */
    unsigned long states;
    double schedules; /* interleavings up to an end that these represent */
    bool ended_early; /* with most_states */
} explore_result;

// >>execution

typedef struct explore_thread {
    fiber_context fiber;
    uint64_t history; /* hash of what its accesses have returned since it last forgot */
    bool done, asleep;
    unsigned clock_at, sleeps;
    int64_t until_ns; /* of slept_ns */
} explore_thread;

enum { EXPLORE_CLOCK_THREAD = EXPLORE_THREADS, EXPLORE_NOBODY };

/* The current execution. */
static struct {
    const explore_setup *s;
    explore_result *r;
    explore_thread thread[EXPLORE_THREADS];
    fiber_context scheduler;
    unsigned me, last; /* the stepping thread; the one before, not the clock */
    int preempted;
    unsigned clock_at;                     /* the clock thread's steps so far */
    int64_t exact_ns, coarse_ns, slept_ns; /* slept_ns: added by standstills */
    uint64_t counter;
    uint64_t memory; /* hash of the current objects against those of the start */
    unsigned steps;
    bool trace;
} explore_now = {.me = EXPLORE_NOBODY};

/* Reports a broken rule. From a fiber it does not return. */
__attribute__((format(printf, 1, 2))) static inline void explore_fail(const char *format, ...) {
    va_list args;
    if (!explore_now.r->failed) {
        va_start(args, format);
        (void)vsnprintf(explore_now.r->message, sizeof explore_now.r->message, format, args);
        va_end(args);
        explore_now.r->failed = true;
    }
    if (explore_now.me < EXPLORE_THREADS)
        for (;;) fiber_go(&explore_now.thread[explore_now.me].fiber, &explore_now.scheduler);
}

/* A line of the trace that a replay prints. */
__attribute__((format(printf, 1, 2))) static inline void explore_say(const char *format, ...) {
    va_list args;
    if (!explore_now.trace) return;
    if (explore_now.me == EXPLORE_NOBODY) printf("            ");
    else printf("  %4u %c    ", explore_now.steps, "abcdt"[explore_now.me]);
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    (void)putchar('\n');
}

/* This thread has read plain data that another may have written. */
static inline void explore_saw(uint64_t value) {
    explore_thread *t = &explore_now.thread[explore_now.me];
    t->history = hash_mix(t->history, value);
}

/* The thread forgets all that it has read, except `value`. */
static inline void explore_forget(uint64_t value) {
    explore_thread *t = &explore_now.thread[explore_now.me];
    t->history = hash_mix(0, value);
    t->sleeps = 0;
}

static inline void explore_give_way(void) {
    fiber_go(&explore_now.thread[explore_now.me].fiber, &explore_now.scheduler);
}

static void fiber_main(void) {
    thread(explore_now.me);
    explore_now.thread[explore_now.me].done = true;
    for (;;) explore_give_way();
}

/* The step that ends with this access. */
static inline void explore_step(const explore_access *a) {
    static const char *const verbs[] = {"load", "store", "add", "cas", "clock"};
    explore_thread *t = &explore_now.thread[explore_now.me];
    const char *name = a->at ? name_of(a->at) : "";
    if (a->wrote && name) {
        const uint64_t at = (uint64_t)(uintptr_t)a->at;
        explore_now.memory ^= hash_mix(hash_mix(1, at), a->seen);
        explore_now.memory ^= hash_mix(hash_mix(1, at), a->left);
    }
    if (name) t->history = hash_mix(t->history, a->kind == EXPLORE_STORE ? 1 : a->seen);
    if (name && explore_now.trace) {
        char seen[64], left[64];
        show(a->at, a->seen, seen, sizeof seen);
        show(a->at, a->left, left, sizeof left);
        if (a->wrote) explore_say("%-5s %-8s %s -> %s", verbs[a->kind], name, seen, left);
        else
            explore_say("%-5s %-8s %s%s", verbs[a->kind], name, seen,
                        a->kind == EXPLORE_CAS ? ", failed" : "");
    }
    watch(explore_now.me, a);
    if (name) explore_give_way();
}

/* ---- what the hooks call ---- */

static inline bool explore_before(const void *at) {
    if (explore_now.me == EXPLORE_NOBODY) return false; /* reset and ended run outside */
    if (fiber_has(at)) return false;                    /* on a fiber's own stack */
    if (explore_now.s->fine && (!at || name_of(at))) {
        explore_saw(1); /* the thread is at another point now, so this is another state */
        explore_give_way();
    }
    return true;
}

/* The old value. A CAS compares it with *expected, and leaves it if they differ. */
static inline uint64_t explore_touch(explore_kind kind, void *at, size_t size, void *expected,
                                     uint64_t value) {
    at = own(at);
    const bool inside = explore_before(at);
    const uint64_t seen = memory_peek(at, size);
    explore_access a = {kind, at, seen, seen, kind != EXPLORE_LOAD};
    if (kind == EXPLORE_CAS) a.wrote = seen == memory_peek(expected, size);
    if (a.wrote) memory_poke(at, size, kind == EXPLORE_ADD ? seen + value : value);
    else if (kind == EXPLORE_CAS) memory_poke(expected, size, seen);
    a.left = memory_peek(at, size);
    if (inside) explore_step(&a);
    return kind == EXPLORE_CAS ? a.wrote : seen;
}

static inline void explore_store(void *at, size_t size, uint64_t value) {
    (void)explore_touch(EXPLORE_STORE, at, size, NULL, value);
}

static inline int64_t explore_clock(bool coarse) {
    const bool inside = explore_before(NULL);
    const int64_t ns = coarse ? explore_now.coarse_ns : explore_now.exact_ns;
    const explore_access a = {EXPLORE_CLOCK, NULL, (uint64_t)ns, (uint64_t)ns, false};
    if (inside) explore_step(&a);
    return ns;
}

static inline void explore_sleep(int64_t ns) {
    explore_thread *t = &explore_now.thread[explore_now.me];
    t->history = hash_mix(t->history, (uint64_t)ns);
    t->until_ns = explore_now.slept_ns + ns;
    t->clock_at = explore_now.clock_at;
    t->asleep = true;
    t->sleeps++;
    explore_say("sleep %.6g ms", (double)ns / 1e6);
    explore_give_way();
    t->asleep = false;
}

/* ---- the scheduler ---- */

static inline bool explore_awake(const explore_thread *t) {
    return !t->asleep || t->clock_at != explore_now.clock_at ||
           t->until_ns <= explore_now.slept_ns || explore_now.s->early;
}

static inline void explore_begin(const explore_setup *s, explore_result *r, bool trace) {
    memset(&explore_now, 0, sizeof explore_now);
    explore_now.s = s;
    explore_now.r = r;
    explore_now.trace = trace;
    explore_now.me = explore_now.last = EXPLORE_NOBODY;
    explore_now.exact_ns = explore_now.coarse_ns = s->clock_ns[0];
    if (s->counter_ns) explore_now.counter = (uint64_t)s->counter_ns[0];
    reset();
    for (unsigned i = 0; i < s->threads; i++) {
        fiber_start(&explore_now.thread[i].fiber, fiber_stacks[i]);
    }
}

/* The threads that may make the next step, the one that made the last first; 0: all have returned.
 * At a standstill the shortest sleep ends. */
static inline unsigned explore_choices(uint8_t choices[EXPLORE_THREADS + 1]) {
    const explore_setup *s = explore_now.s;
    unsigned n = 0, left = 0, last = explore_now.last;
    int64_t shortest = INT64_MAX;
    for (unsigned i = 0; i < s->threads; i++) {
        const unsigned at = last < s->threads ? (last + i) % s->threads : i;
        const explore_thread *t = &explore_now.thread[at];
        if (t->done) continue;
        left++;
        if (explore_awake(t)) choices[n++] = (uint8_t)at;
        else if (t->until_ns - explore_now.slept_ns < shortest)
            shortest = t->until_ns - explore_now.slept_ns;
    }
    if (n && s->preemptions != EXPLORE_ANY && explore_now.preempted >= s->preemptions &&
        choices[0] == last)
        n = 1;
    if (left && explore_now.clock_at < (s->clocks - 1) * (s->coarse ? 2u : 1u))
        choices[n++] = EXPLORE_CLOCK_THREAD;
    if (n || !left) return n;

    explore_now.slept_ns += shortest;
    if (!s->stuck) explore_now.exact_ns += shortest;
    if (!s->stuck) explore_now.counter += (uint64_t)shortest;
    explore_now.coarse_ns = explore_now.exact_ns;
    explore_say("standstill: the sleep of %.6g ms ends", (double)shortest / 1e6);
    return explore_choices(choices);
}

static inline void explore_turn(unsigned who) {
    const explore_setup *s = explore_now.s;
    if (++explore_now.steps == EXPLORE_STEPS) explore_fail("no end after %d steps", EXPLORE_STEPS);
    explore_now.me = who;
    if (who == EXPLORE_CLOCK_THREAD) {
        const unsigned at = ++explore_now.clock_at;
        explore_now.exact_ns = s->clock_ns[s->coarse ? (at + 1) / 2 : at];
        explore_now.coarse_ns = s->clock_ns[s->coarse ? at / 2 : at];
        if (s->counter_ns) explore_now.counter = (uint64_t)s->counter_ns[at];
        explore_say("the clock reads %.6g ms%s", (double)explore_now.exact_ns / 1e6,
                    explore_now.coarse_ns == explore_now.exact_ns ? ""
                                                                  : ", the coarse one not yet");
    } else {
        if (who != explore_now.last && explore_now.last < s->threads) {
            const explore_thread *last = &explore_now.thread[explore_now.last];
            if (!last->done && explore_awake(last)) explore_now.preempted++;
        }
        explore_now.last = who;
        fiber_go(&explore_now.scheduler, &explore_now.thread[who].fiber);
    }
    explore_now.me = EXPLORE_NOBODY;
}

static inline bool explore_is_cut(void) {
    for (unsigned i = 0; i < explore_now.s->threads; i++)
        if (explore_now.thread[i].sleeps > explore_now.s->sleeps) return true;
    return false;
}

static inline uint64_t explore_state(void) {
    uint64_t hash = hash_mix(explore_now.memory, explore_now.clock_at);
    uint64_t part[EXPLORE_THREADS];
    const explore_setup *s = explore_now.s;
    hash = hash_mix(hash, digest(s->threads));
    hash = hash_mix(hash, (uint64_t)explore_now.slept_ns);
    if (s->preemptions != EXPLORE_ANY) hash = hash_mix(hash, (uint64_t)explore_now.preempted);
    for (unsigned i = 0; i < s->threads; i++) {
        const explore_thread *t = &explore_now.thread[i];
        const bool last = s->preemptions != EXPLORE_ANY && i == explore_now.last;
        uint64_t own = hash_mix(hash_mix(s->role[i], t->history), digest(i));
        own = hash_mix(own, !t->asleep ? t->done : explore_awake(t) ? 2 : 3);
        own = hash_mix(own, last);
        if (t->asleep) own = hash_mix(own, (uint64_t)t->until_ns);
        unsigned at = i; /* sorted: threads of one role are interchangeable */
        for (; at && part[at - 1] > own; at--) part[at] = part[at - 1];
        part[at] = own;
    }
    for (unsigned i = 0; i < s->threads; i++) hash = hash_mix(hash, part[i]);
    return hash ? hash : 1;
}

// >>search

/* A point where the schedule has alternatives. */
typedef struct explore_node {
    uint64_t state;
    double schedules;
    unsigned n, at;
    uint8_t choices[EXPLORE_THREADS + 1];
} explore_node;

/* One execution: replays `path`, extends it, and returns how many schedules its end represents. */
static inline double explore_run(explore_node *path, unsigned *length) {
    explore_result *r = explore_now.r;
    for (unsigned depth = 0;; depth++) {
        uint8_t choices[EXPLORE_THREADS + 1];
        const unsigned n = explore_choices(choices);
        if (depth == *length) {
            if (explore_is_cut()) {
                r->cut++;
                return 0;
            }
            explore_node *node = &path[(*length)++];
            node->state = explore_state();
            node->n = n;
            node->at = 0;
            node->schedules = 0;
            memcpy(node->choices, choices, sizeof choices);
            if (!explore_now.s->every || !n) {
                if (!states_add(node->state)) {
                    r->merged++;
                    --*length;
                    return states_find(node->state)->schedules;
                }
                r->states++;
                if (!n) {
                    r->complete++;
                    --*length;
                    ended();
                    return states_find(node->state)->schedules = 1;
                }
            }
        }
        explore_turn(path[depth].choices[path[depth].at]);
        if (r->failed) return 0;
    }
}

static inline explore_result explore_search(const explore_setup *s) {
    static explore_node path[EXPLORE_STEPS + 1];
    explore_result r;
    unsigned length = 0;
    memset(&r, 0, sizeof r);
    states_forget();
    do {
        explore_begin(s, &r, false);
        double schedules = explore_run(path, &length);
        if (r.failed) {
            for (unsigned i = 0; i < length; i++)
                r.schedule[i] = "abcdt"[path[i].choices[path[i].at]];
            return r;
        }
        for (; length; length--) {
            explore_node *node = &path[length - 1];
            node->schedules += schedules;
            if (++node->at < node->n) break;
            schedules = node->schedules;
            if (!s->every) states_find(node->state)->schedules = schedules;
        }
        if (!length) r.schedules = schedules;
        r.ended_early = length && s->most_states && r.states >= s->most_states;
    } while (length && !r.ended_early);
    return r;
}

// >>public

static inline explore_result explore(const explore_setup *s) {
    explore_result r = explore_search(s), simple;
    explore_setup bounded = *s;
    if (!r.failed) return r;
    bounded.every = false;
    for (bounded.preemptions = 0;
         s->preemptions == EXPLORE_ANY || bounded.preemptions < s->preemptions;
         bounded.preemptions++) {
        simple = explore_search(&bounded);
        if (!simple.failed) continue;
        memcpy(r.message, simple.message, sizeof r.message);
        memcpy(r.schedule, simple.schedule, sizeof r.schedule);
        break;
    }
    return r;
}

/* One execution along the letters of `schedule`, each step printed; after their end, or where one
 * does not fit, the last thread continues. */
static inline explore_result explore_replay(const explore_setup *s, const char *schedule) {
    explore_result r;
    memset(&r, 0, sizeof r);
    explore_begin(s, &r, true);
    while (!r.failed) {
        uint8_t choices[EXPLORE_THREADS + 1];
        const unsigned n = explore_choices(choices);
        unsigned pick = 0;
        if (explore_is_cut()) {
            printf("            cut\n");
            r.cut = 1;
            break;
        }
        if (!n) {
            r.complete = 1;
            ended();
            break;
        }
        if (*schedule) {
            while (pick < n && "abcdt"[choices[pick]] != *schedule) pick++;
            if (pick == n) {
                printf("            %c cannot make a step here\n", *schedule);
                pick = 0;
            }
            schedule++;
        }
        explore_turn(choices[pick]);
    }
    if (r.failed) printf("            %s\n", r.message);
    return r;
}

// >>hooks

/* The order is dropped: all is sequentially consistent here. The type is a plain one. */
#define FLAKE_ATOMIC(T) T
#define FLAKE_ATOMIC_LOAD(p, order) \
    ((__typeof__(*(p)))explore_touch(EXPLORE_LOAD, EXPLORE_AT(p), sizeof *(p), NULL, 0))
#define FLAKE_ATOMIC_STORE(p, v, order) explore_store((p), sizeof *(p), (uint64_t)(v))
#define FLAKE_ATOMIC_ADD(p, v, order) \
    ((__typeof__(*(p)))explore_touch(EXPLORE_ADD, (p), sizeof *(p), NULL, (uint64_t)(v)))
#define FLAKE_ATOMIC_CAS(p, seen, v, success, failure) \
    (explore_touch(EXPLORE_CAS, (p), sizeof *(p), (seen), (uint64_t)(v)) != 0)
#define EXPLORE_AT(p)           ((void *)(uintptr_t)(p)) /* of a const object, too */
#define FLAKE_CLOCK_NS(kind)    explore_clock((kind) == FLAKE_CLOCK_COARSE)
#define FLAKE_COUNTER()         FLAKE_ATOMIC_LOAD(&explore_now.counter, relaxed)
#define FLAKE_SLEEP_NS(ns)      explore_sleep(ns)
#define FLAKE_RELAX()           ((void)0)
#define FLAKE_ASSERT(condition) ((condition) ? (void)0 : explore_fail("assert: " #condition))

#endif
