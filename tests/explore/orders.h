/* SPDX-License-Identifier: MIT
 *
 * The steps of explore_orders.c's executions: it replaces the header's atomics, clock, sleep and relax hint.
 *
 * THE RULES   RC11 without fences: C11 and C++20, except that no value is read before it is written, which follows from
 *             making an execution step by step.
 *
 *   location    holds the messages written to it, in modification order
 *   view        for each location the oldest message that may still be read. Each thread has one; a reader that
 *               acquires joins the message's view into its own
 *   load        of any message from the thread's view on, which moves the view up to it
 *   store       to any position after the thread's view, but never between an RMW and the message that it read. It
 *               carries the thread's view if it releases, else none
 *   RMW         reads any message from the view on that no other RMW has read, and is stored right after it. It carries
 *               that message's view, joined with the thread's if it releases
 *   CAS         on failure a load, in its failure order, of a message with another value
 *   seq_cst     acquires and releases, and RC11's order of such accesses (psc, as in C++20) has no cycle
 *   plain data  is touched where a location says so (`guards`, `carries`): touches are messages that no thread reads,
 *               and a thread that touches without knowing the last one has a data race
 *   clock       location 0. Its messages, the script, exist from the start: a reading may be as old as the thread's
 *               view allows. A sleep advances that by one; after the script's end the execution is cut
 *
 * LEFT OUT    fences and consume (the headers have none), a weak CAS, load buffering, accesses of several sizes, a
 *             signal handler's view of its own thread, forks.
 *
 * THE SEARCH  chooses a thread, and the message that a load reads or after which a store goes. A load changes nothing
 *             that other threads see, and no message disappears; so a thread yields only after its writes. A state is
 *             the messages that some thread may still read, counted from the oldest such, and each thread's view and
 *             history.
 */
#ifndef ORDERS_H
#define ORDERS_H

#include "explorer.h"

enum {
    ORDERS_LOCATIONS = 32,
    ORDERS_MESSAGES = 48,
    ORDERS_FACTS = 4,
    ORDERS_STEPS = 800,
    ORDERS_TOTAL = 64, /* accesses with seq_cst in an execution */
    ORDERS_LINES = 1 << 15,
    ORDERS_NONE = UINT8_MAX,
    ORDERS_MANY = UINT8_MAX - 1
};

/* An order as bits: acquire, release, and whether it is in the total order. */
enum { ORDERS_A = 1, ORDERS_R = 2, ORDERS_S = 4 };
enum {
    ORDERS_relaxed = 0,
    ORDERS_acquire = ORDERS_A,
    ORDERS_release = ORDERS_R,
    ORDERS_acq_rel = ORDERS_A | ORDERS_R,
    ORDERS_seq_cst = ORDERS_A | ORDERS_R | ORDERS_S
};

typedef struct orders_view {
    uint8_t of[ORDERS_LOCATIONS];
    /* Accesses with seq_cst that happened before, a bit each; and those after which their thread
     * had accessed another location with seq_cst, that happened before, too. */
    uint64_t total, strong;
} orders_view;

typedef struct orders_message {
    uint64_t value;
    orders_view view;
    bool is_rmw;                 /* has read the message before it */
    uint64_t fact[ORDERS_FACTS]; /* the rules' own, of this message */
} orders_message;

typedef struct orders_location {
    const void *at; /* NULL: no memory: the clock, or touches */
    char name[20];
    unsigned n;
    /* Touches of plain data, 0: none. guards: a CAS takes it, a store gives it to the next. carries:
     * a thread that stores an address has written the object there, of `carried` bytes; each access to that
     * reads it. */
    unsigned guards, carries;
    size_t carried;
    orders_message message[ORDERS_MESSAGES];
} orders_location;

/* A message of location i was read, or is new; both may fail. */
static void saw(unsigned i, const orders_message *), wrote(unsigned i, unsigned message);
/* A hash of the rules' data that others have written plainly: thread i's, or no thread's (i == FIBERS) */
static uint64_t digest(unsigned i);
/* The address is a location from the first access on; or no thread acts on it yet, or ever */
static bool is_shared(const void *), is_plain(const void *);
static void show(unsigned i, uint64_t value, char *out, size_t size);

static struct orders_thread {
    orders_view view;
    /* Of `strong`: where this thread has made an access since. ORDERS_NONE: nowhere; ORDERS_MANY */
    uint8_t through[ORDERS_TOTAL];
} orders_thread[FIBERS];

/* Accesses with seq_cst, in the order in which they were made. */
static struct {
    struct {
        uint8_t at, read, wrote; /* location and messages; ORDERS_NONE: none */
        uint64_t name;           /* thread, and which of its accesses */
        uint64_t later;          /* those directly after it, a bit each */
    } access[ORDERS_TOTAL];
    unsigned n, by[FIBERS];
} orders_total;

static orders_location orders_at[ORDERS_LOCATIONS];
static unsigned orders_n; /* locations */

static uint8_t orders_weakened[ORDERS_LINES]; /* what the order on a line loses */
static bool orders_reached[ORDERS_LINES];     /* lines with an access that was made */

static inline struct orders_thread *orders_me(void) { return &orders_thread[run_now.me]; }

static void begin_run(void) {
    orders_n = 0;
    memset(&orders_total, 0, sizeof orders_total);
    memset(orders_thread, 0, sizeof orders_thread);
    for (unsigned k = 0; k < FIBERS; k++) memset(orders_thread[k].through, ORDERS_NONE, ORDERS_TOTAL);
}

static bool is_awake(unsigned i) { return (void)i, true; }
static unsigned next_steps(uint8_t who[FIBERS + 1]) { return awake_threads(who); }
static void step_clock(void) {}

// >>states

/* Of a set of accesses with seq_cst, in any order. */
static inline uint64_t orders_names(uint64_t set) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < orders_total.n; i++)
        if (set >> i & 1) sum += hash_mix(11, orders_total.access[i].name);
    return sum;
}

/* Those after any of them, and they themselves. */
static inline uint64_t orders_behind(uint64_t set) {
    for (uint64_t seen = 0; seen != set;) {
        seen = set;
        for (unsigned i = 0; i < orders_total.n; i++)
            if (set >> i & 1) set |= orders_total.access[i].later;
    }
    return set;
}

static inline uint64_t orders_mix_total(uint64_t hash, const unsigned *base) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < orders_total.n; i++) {
        const unsigned at = orders_total.access[i].at;
        const uint8_t read = orders_total.access[i].read, wrote = orders_total.access[i].wrote;
        uint64_t own = hash_mix(orders_total.access[i].name, orders_names(orders_behind(orders_total.access[i].later)));
        own = hash_mix(own, read == ORDERS_NONE || read < base[at] ? 0 : read - base[at] + 1);
        own = hash_mix(own, wrote == ORDERS_NONE ? 0 : wrote < base[at] ? 1 : wrote - base[at] + 2);
        sum += own;
    }
    return hash_mix(hash, sum);
}

static inline uint64_t orders_mix_view(uint64_t hash, const orders_view *v, const unsigned *base) {
    uint64_t word = 0;
    if (v->total) hash = hash_mix(hash_mix(hash, orders_names(v->total)), orders_names(v->strong));
    for (unsigned i = 0; i < orders_n; i++) {
        word = word << 8 | (v->of[i] > base[i] ? v->of[i] - base[i] : 0);
        if (i % 8 == 7) hash = hash_mix(hash, word);
    }
    return hash_mix(hash, word);
}

static inline uint64_t orders_mix_location(uint64_t hash, const orders_location *l, const unsigned *base,
                                           unsigned from) {
    hash = hash_mix(hash_mix(hash, (uint64_t)(uintptr_t)l->at), l->n - from);
    for (unsigned p = from; p < l->n; p++) {
        const orders_message *m = &l->message[p];
        hash = hash_mix(hash_mix(hash, m->value), m->is_rmw && p > from);
        for (unsigned k = 0; k < ORDERS_FACTS; k++)
            if (m->fact[k]) hash = hash_mix(hash, m->fact[k] << 3 | k);
        hash = orders_mix_view(hash, &m->view, base);
    }
    return hash;
}

static uint64_t state_now(void) {
    const unsigned threads = run_now.s->threads;
    const bool bounded = run_now.s->bound != ANY;
    unsigned base[ORDERS_LOCATIONS]; /* no thread can read older ones */
    uint64_t part[FIBERS], hash = digest(FIBERS);
    for (unsigned i = 0; i < orders_n; i++) {
        base[i] = orders_at[i].n - 1;
        for (unsigned k = 0; k < threads; k++)
            if (!run_now.thread[k].done && orders_thread[k].view.of[i] < base[i]) base[i] = orders_thread[k].view.of[i];
    }
    for (unsigned i = 1; i < orders_n; i++) hash = orders_mix_location(hash, &orders_at[i], base, base[i]);
    hash = hash_mix(hash, base[0]);
    if (orders_total.n) hash = orders_mix_total(hash, base);
    for (unsigned k = 0; k < threads; k++) {
        const bool done = run_now.thread[k].done;
        uint64_t through = 0;
        part[k] = hash_mix(hash_mix(run_now.s->role[k], done), digest(k));
        part[k] = hash_mix(part[k], (k == run_now.me) + 2u * (bounded && k == run_now.last));
        if (done) continue;
        part[k] = orders_mix_view(hash_mix(part[k], run_now.thread[k].history), &orders_thread[k].view, base);
        for (unsigned a = 0; a < orders_total.n; a++)
            if (orders_thread[k].through[a] != ORDERS_NONE)
                through += hash_mix(orders_total.access[a].name, orders_thread[k].through[a]);
        part[k] = hash_mix(part[k], through);
    }
    if (bounded) hash = hash_mix(hash, (uint64_t)run_now.preempted);
    return mix_threads(hash, part);
}

/* The thread forgets what its accesses have returned, except `value`. */
static inline void forget(uint64_t value) {
    run_now.thread[run_now.me].history = hash_mix(0, value);
    if (is_known()) give_way();
}

// >>accesses

/* A location with one message, its current value; at NULL with `value`. */
static inline unsigned orders_locate(const void *at, size_t size, uint64_t value, const char *name) {
    orders_location *l = &orders_at[orders_n];
    if (orders_n == ORDERS_LOCATIONS) {
        (void)fprintf(stderr, "too many locations\n");
        exit(2);
    }
    memset(l, 0, offsetof(orders_location, message) + sizeof l->message[0]);
    (void)snprintf(l->name, sizeof l->name, "%s", name);
    l->at = at;
    l->n = 1;
    l->message[0].value = value;
    if (at) l->message[0].value = memory_peek(at, size);
    return orders_n++;
}

static inline void orders_trace(const char *verb, unsigned i, unsigned p, unsigned order, int line, const char *arrow,
                                uint64_t left) {
    static const char *const names[] = {"relaxed", "acquire", "release", "acq_rel", "", "", "", "seq_cst"};
    char first[48], second[48] = "";
    if (!run_now.trace) return;
    show(i, *verb == 's' ? left : orders_at[i].message[p].value, first, sizeof first);
    if (!strcmp(arrow, " -> ")) show(i, left, second, sizeof second);
    say("%5d  %-5s %-10s %-8s %s%s%s%s", line & (ORDERS_LINES / 2 - 1), verb, orders_at[i].name, names[order & 7],
        first, arrow, second, *verb != 's' && p + 1 < orders_at[i].n ? "   (there are newer)" : "");
}

static inline void orders_join(orders_view *to, const orders_view *from) {
    for (unsigned i = 0; i < orders_n; i++)
        if (to->of[i] < from->of[i]) to->of[i] = from->of[i];
    to->total |= from->total;
    to->strong |= from->strong;
}

/* ---- the order of accesses with seq_cst ---- */

/* The accesses on location i that must come after one that reads message `read` and writes, if it does,
 * before what is now message `wrote`; and those that must come before it. */
static inline uint64_t orders_later(unsigned i, unsigned read, unsigned wrote) {
    uint64_t set = 0;
    for (unsigned k = 0; k < orders_total.n; k++) {
        const uint8_t w = orders_total.access[k].wrote;
        if (orders_total.access[k].at == i && w != ORDERS_NONE &&
            ((read != ORDERS_NONE && w > read) || (wrote != ORDERS_NONE && w >= wrote)))
            set |= (uint64_t)1 << k;
    }
    return set;
}

/* As RC11 defines it: what is sequenced before it; what happened before it with an access elsewhere at
 * either end; what happened before it at the same location, by what it acquires, too; modification order. */
static inline uint64_t orders_earlier(unsigned i, unsigned wrote, uint64_t acquired) {
    const struct orders_thread *t = orders_me();
    uint64_t set = 0;
    for (unsigned k = 0; k < orders_total.n; k++) {
        const uint64_t bit = (uint64_t)1 << k;
        const uint8_t w = orders_total.access[k].wrote, r = orders_total.access[k].read;
        const bool is_own = (orders_total.access[k].name & 3) == run_now.me;
        const bool around = t->view.strong & bit && t->through[k] != ORDERS_NONE && t->through[k] != i;
        if (is_own || around) set |= bit;
        if (orders_total.access[k].at != i) continue;
        if ((t->view.total | acquired) & bit) set |= bit;
        if (wrote == ORDERS_NONE) continue;
        if ((w != ORDERS_NONE && w < wrote) || (r != ORDERS_NONE && r < wrote)) set |= bit;
    }
    return set;
}

/* This thread has made an access to location i. */
static inline void orders_passed(unsigned i) {
    struct orders_thread *t = orders_me();
    for (unsigned k = 0; k < orders_total.n && i; k++) {
        const uint64_t bit = (uint64_t)1 << k;
        if (t->view.strong & bit && t->through[k] != i)
            t->through[k] = (uint8_t)(t->through[k] == ORDERS_NONE ? i : ORDERS_MANY);
        if ((orders_total.access[k].name & 3) == run_now.me && orders_total.access[k].at != i) t->view.strong |= bit;
    }
}

static inline uint64_t orders_acquired(unsigned i, unsigned read) {
    return read == ORDERS_NONE ? 0 : orders_at[i].message[read].view.total;
}

/* Whether an access may read and write so. */
static inline bool orders_fits(unsigned order, unsigned i, unsigned read, unsigned wrote) {
    if (!(order & ORDERS_S)) return true;
    return !(orders_behind(orders_later(i, read, wrote)) & orders_earlier(i, wrote, orders_acquired(i, read)));
}

/* Before its message exists, and before it has acquired anything. */
static inline void orders_enter(unsigned order, unsigned i, unsigned read, unsigned wrote) {
    const unsigned k = orders_total.n;
    if (!(order & ORDERS_S)) return;
    if (k == ORDERS_TOTAL) fail("too many accesses with seq_cst");
    const uint64_t later = orders_later(i, read, wrote), earlier = orders_earlier(i, wrote, orders_acquired(i, read));
    for (unsigned e = 0; e < k; e++)
        if (earlier >> e & 1) orders_total.access[e].later |= (uint64_t)1 << k;
    orders_total.access[k].at = (uint8_t)i;
    orders_total.access[k].read = (uint8_t)read;
    orders_total.access[k].wrote = ORDERS_NONE; /* put determines it */
    orders_total.access[k].name = run_now.me | ++orders_total.by[run_now.me] << 2;
    orders_total.access[k].later = later;
    orders_total.n++;
    orders_me()->view.total |= (uint64_t)1 << k;
}

static inline bool orders_knows(unsigned touches) { return orders_me()->view.of[touches] + 1u == orders_at[touches].n; }

/* Plain data is written; `value` is for the rules. */
static inline void orders_touch(unsigned touches, uint64_t value) {
    orders_location *l = &orders_at[touches];
    if (l->n == ORDERS_MESSAGES) fail("too many touches of %s", l->name);
    memset(&l->message[l->n], 0, sizeof l->message[0]);
    l->message[l->n].value = value;
    orders_me()->view.of[touches] = (uint8_t)l->n++;
    learn(2);
}

/* A thread that continues holds what the location guards, or releases it. */
static inline void orders_guarded(unsigned i) {
    const unsigned touches = orders_at[i].guards;
    if (!touches) return;
    if (!orders_knows(touches)) fail("a data race on %s", orders_at[touches].name);
    orders_touch(touches, 0);
}

static inline uint64_t orders_see(unsigned i, unsigned p, unsigned order) {
    struct orders_thread *t = orders_me();
    const orders_location *l = &orders_at[i];
    const uint64_t value = l->message[p].value;
    t->view.of[i] = (uint8_t)p;
    if (order & ORDERS_A) orders_join(&t->view, &l->message[p].view);
    orders_passed(i);
    learn(value);
    saw(i, &l->message[p]);
    return value;
}

/* Makes room for a message at p: later ones move by one. */
static inline void orders_make_room(unsigned i, unsigned p) {
    orders_location *l = &orders_at[i];
    if (l->n == ORDERS_MESSAGES) fail("too many messages to %s", l->name);
    if (p < l->n) {
        memmove(&l->message[p + 1], &l->message[p], (l->n - p) * sizeof l->message[0]);
        for (unsigned j = 0; j < orders_n; j++)
            for (unsigned q = 0; q < orders_at[j].n + (i == j); q++) {
                uint8_t *at = &orders_at[j].message[q].view.of[i];
                *at = (uint8_t)(*at + (*at >= p));
            }
        for (unsigned k = 0; k < run_now.s->threads; k++) {
            uint8_t *at = &orders_thread[k].view.of[i];
            *at = (uint8_t)(*at + (*at >= p));
        }
        for (unsigned k = 0; k < orders_total.n; k++) {
            uint8_t *read = &orders_total.access[k].read, *wrote = &orders_total.access[k].wrote;
            if (orders_total.access[k].at != i) continue;
            if (*read != ORDERS_NONE && *read >= p) ++*read;
            if (*wrote != ORDERS_NONE && *wrote >= p) ++*wrote;
        }
    }
    l->n++;
}

/* A new message at p; `seen`: the message that an RMW has read. */
static inline void orders_put(unsigned i, unsigned p, uint64_t value, const orders_message *seen, unsigned order) {
    orders_location *l = &orders_at[i];
    struct orders_thread *t = orders_me();
    orders_message fresh;
    memset(&fresh, 0, sizeof fresh);
    orders_guarded(i);
    if (l->carries && value) orders_touch(l->carries, value);
    orders_make_room(i, p);
    t->view.of[i] = (uint8_t)p;
    fresh.value = value;
    fresh.is_rmw = seen != NULL;
    if (seen) fresh.view = seen->view;
    if (order & ORDERS_R) orders_join(&fresh.view, &t->view);
    fresh.view.of[i] = (uint8_t)p;
    if (order & ORDERS_S) orders_total.access[orders_total.n - 1].wrote = (uint8_t)p;
    l->message[p] = fresh;
    wrote(i, p);
    give_way();
}

/* The execution cannot continue: it does not exist. */
static inline void orders_stuck(void) {
    run_now.merged = true;
    give_way();
}

static inline uint64_t orders_load_at(unsigned i, unsigned order, int line) {
    count_step(ORDERS_STEPS);
    unsigned places[ORDERS_MESSAGES], n = 0;
    for (unsigned p = orders_at[i].n; p-- > orders_me()->view.of[i];)
        if (orders_fits(order, i, p, ORDERS_NONE)) places[n++] = p;
    if (!n) orders_stuck();
    const unsigned p = places[choose(n)];
    orders_trace("load", i, p, order, line, "", 0);
    orders_enter(order, i, p, ORDERS_NONE);
    return orders_see(i, p, order);
}

static inline void orders_store_at(unsigned i, uint64_t value, unsigned order, int line) {
    unsigned places[ORDERS_MESSAGES + 1], n = 0;
    const orders_location *l = &orders_at[i];
    count_step(ORDERS_STEPS);
    for (unsigned p = l->n; p > orders_me()->view.of[i]; p--)
        if ((p == l->n || !l->message[p].is_rmw) && orders_fits(order, i, ORDERS_NONE, p)) places[n++] = p;
    if (!n) orders_stuck();
    const unsigned p = places[choose(n)];
    orders_trace("store", i, p, order, line, "", value);
    orders_enter(order, i, ORDERS_NONE, p);
    orders_passed(i);
    orders_put(i, p, value, NULL, order);
}

/* With `add` it adds, else it compares with *expected and exchanges. */
static inline bool orders_rmw_at(unsigned i, uint64_t *expected, uint64_t value, bool add, unsigned success,
                                 unsigned failure, int line) {
    unsigned places[ORDERS_MESSAGES], n = 0;
    const struct orders_thread *t = orders_me();
    const orders_location *l = &orders_at[i];
    count_step(ORDERS_STEPS);
    for (unsigned p = l->n; p-- > t->view.of[i];) {
        const bool same = add || l->message[p].value == *expected;
        if (same && p + 1 < l->n && l->message[p + 1].is_rmw) continue; /* taken by another RMW */
        if (same ? orders_fits(success, i, p, p + 1) : orders_fits(failure, i, p, ORDERS_NONE)) places[n++] = p;
    }
    if (!n) orders_stuck();
    const unsigned p = places[choose(n)];
    const orders_message seen = l->message[p];
    const bool fits = add || seen.value == *expected;
    if (add) value += seen.value;
    orders_trace(add ? "add" : "cas", i, p, fits ? success : failure, line, fits ? " -> " : ", failed", value);
    orders_enter(fits ? success : failure, i, p, fits ? p + 1 : ORDERS_NONE);
    *expected = orders_see(i, p, fits ? success : failure);
    learn(fits);
    if (fits) orders_put(i, p + 1, value, &seen, success);
    return fits;
}

// >>hooks

/* p is in no object that another thread has written, as far as this thread knows. */
static inline void orders_enter_object(const void *p) {
    for (unsigned i = 1; i < orders_n; i++) {
        const orders_location *const touches = &orders_at[orders_at[i].carries];
        if (!orders_at[i].carries) continue;
        for (unsigned q = orders_me()->view.of[orders_at[i].carries] + 1u; q < touches->n; q++)
            if ((uintptr_t)p - touches->message[q].value < orders_at[i].carried)
                fail("a data race on %s", touches->name);
    }
}

/* The location of p; -1: no thread acts on it, or no thread runs. */
static inline int orders_find(const void *p, size_t size) {
    if (run_now.me == NOBODY) return -1;
    orders_enter_object(p);
    for (unsigned i = 1; i < orders_n; i++)
        if (orders_at[i].at == p) return (int)i;
    if (fiber_has(p) || is_plain(p)) return -1;
    if (!is_shared(p)) fail("an access to something that is no location");
    return (int)orders_locate(p, size, 0, "other");
}

static inline unsigned orders_order(unsigned order, int line) {
    const unsigned lost = orders_weakened[line];
    orders_reached[line] = true;
    /* seq_cst minus one of its parts is no more than the other part */
    return lost & order ? order & ~lost & ~(unsigned)ORDERS_S : order;
}

static inline uint64_t orders_load(const void *p, size_t size, unsigned order, int line) {
    const int i = orders_find(p, size);
    return i < 0 ? memory_peek(p, size) : orders_load_at((unsigned)i, orders_order(order, line), line);
}

static inline void orders_store(void *p, size_t size, uint64_t value, unsigned order, int line) {
    const int i = orders_find(p, size);
    if (i < 0) memory_poke(p, size, value);
    else orders_store_at((unsigned)i, value, orders_order(order, line), line);
}

static inline uint64_t orders_add(void *p, size_t size, uint64_t more, unsigned order, int line) {
    const int i = orders_find(p, size);
    uint64_t was = memory_peek(p, size);
    const uint64_t sum = was + more;
    if (i < 0) memory_poke(p, size, sum);
    else (void)orders_rmw_at((unsigned)i, &was, more, true, orders_order(order, line), 0, line);
    return was;
}

static inline bool orders_cas(void *p, size_t size, void *expected, uint64_t value, unsigned success, unsigned failure,
                              int line) {
    const int i = orders_find(p, size);
    const uint64_t want = memory_peek(expected, size);
    uint64_t was = i < 0 ? memory_peek(p, size) : want;
    if (i >= 0)
        (void)orders_rmw_at((unsigned)i, &was, value, false, orders_order(success, line), orders_order(failure, line),
                            line);
    else if (was == want) memory_poke(p, size, value);
    if (was != want) memory_poke(expected, size, was);
    return was == want;
}

static inline int64_t orders_clock(void) {
    return (int64_t)(run_now.me == NOBODY ? orders_at[0].message[0].value : orders_load_at(0, ORDERS_relaxed, 0));
}

/* One of two values. */
static inline uint64_t orders_either(uint64_t a, uint64_t b) {
    if (run_now.me == NOBODY) return a;
    const uint64_t value = choose(2) ? b : a;
    say("either %" PRIu64, value);
    learn(value);
    return value;
}

/* The coarse clock lags by less than half of the slack: here it may read 1 ns less. */
enum { ORDERS_SLACK_NS = 4 };
static inline int64_t orders_coarse(void) { return orders_clock() - (int64_t)orders_either(0, 1); }

/* A lease ends within a window. The counter reads one of three values: a lease made at one may have ended at another,
 * just now or long ago. Without leases its value does not matter. */
enum { ORDERS_WINDOW = 1 << 19 };
static bool orders_leases;
static inline uint64_t orders_counter(void) {
    if (!orders_leases) return 1;
    return orders_either(orders_either(1, 1 + ORDERS_WINDOW + ORDERS_WINDOW / 16), 1 + 2 * ORDERS_WINDOW);
}

static inline void orders_sleep(void) {
    if (run_now.me == NOBODY) return;
    struct orders_thread *t = orders_me();
    say("sleep");
    learn(3);
    run_now.cut = t->view.of[0] + 1u == orders_at[0].n;
    if (run_now.cut) give_way();
    t->view.of[0]++;
}

/* Lines of sno.h unchanged, those of flake.h in the upper half. */
enum { ORDERS_FLAKE = ORDERS_LINES / 2 };
#define ORDERS_HERE                     ((strstr(__FILE__, "flake.h") ? ORDERS_FLAKE : 0) + __LINE__)
#define FLAKE_ATOMIC(T)                 T
#define FLAKE_ATOMIC_LOAD(p, order)     ((__typeof__(*(p)))orders_load((p), sizeof *(p), ORDERS_##order, ORDERS_HERE))
#define FLAKE_ATOMIC_STORE(p, v, order) orders_store((p), sizeof *(p), (uint64_t)(v), ORDERS_##order, ORDERS_HERE)
#define FLAKE_ATOMIC_ADD(p, v, order) \
    ((__typeof__(*(p)))orders_add((p), sizeof *(p), (uint64_t)(v), ORDERS_##order, ORDERS_HERE))
#define FLAKE_ATOMIC_CAS(p, seen, v, success, failure) \
    orders_cas((p), sizeof *(p), (seen), (uint64_t)(v), ORDERS_##success, ORDERS_##failure, ORDERS_HERE)
#define FLAKE_CLOCK_NS(kind)    ((kind) == FLAKE_CLOCK_COARSE ? orders_coarse() : orders_clock())
#define FLAKE_CLOCK_SLACK_NS    ((uint64_t)ORDERS_SLACK_NS)
#define FLAKE_COUNTER()         orders_counter()
#define FLAKE_SLEEP_NS(ns)      orders_sleep()
#define FLAKE_RELAX()           ((void)0)
#define FLAKE_ASSERT(condition) ((condition) ? (void)0 : fail("assert: " #condition))

#endif
