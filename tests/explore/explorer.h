/* SPDX-License-Identifier: MIT
 *
 * What both explorers share. Each runs up to four virtual threads through a header in every possible way, and stops at
 * the first execution that breaks a rule: explore_engine every interleaving of sequentially consistent accesses,
 * explore_orders every value that a load may read by C11's rules. Each includes this before the headers, whose atomics,
 * clock and sleeps it replaces.
 *
 * FIBER      A virtual thread has its own stack; one runs at a time. It runs up to its next step and yields.
 * SEARCH     Depth first and stateless: an execution starts anew, and repeats the choices of the last one up to the
 *            deepest that has an alternative. After a failure the search is repeated for an execution with as few
 *            preemptions as possible; its choices, a character each, can be replayed.
 * PRUNING    by visited states. A thread's next step follows from what its accesses have returned. These values, with
 *            memory, clock, and the rules' data, are therefore the whole state, stacks included. Executions that reach
 *            the same state have the same future: the second stops there ("merged"). Between two calls a thread has
 *            mostly forgotten what it read, and says so, which merges far more. A state is identified by a 64-bit
 *            hash: among a million states the odds of a collision are one in 37 million. `every` switches pruning off:
 *            the results must be equal, which some scenarios of each explorer check.
 * SCENARIO   A line of a table: what each thread calls, one letter a call, and what the clock does.
 *
 *     EXPLORER                       all scenarios; the last line is "N passed, N failed"
 *     EXPLORER WORD...               those whose names contain one of the words
 *     EXPLORER --states=N [WORD...]  of each at most N states: "part" if that is not all of them
 *     EXPLORER --part=K/N            every Nth scenario, from the Kth
 *     EXPLORER --replay CHOICES NAME one execution, step by step; CHOICES is what a failure printed
 */
#ifndef EXPLORER_H
#define EXPLORER_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- fibers ---- */

enum { FIBERS = 4, FIBER_STACK = 256 << 10 };

static char fiber_stacks[FIBERS][FIBER_STACK] __attribute__((aligned(16)));
static void fiber_main(void);

/* Whether the address is on a fiber's stack. */
static inline bool fiber_has(const void *at) {
    const char *const first = (const char *)fiber_stacks;
    return (const char *)at >= first && (const char *)at < first + sizeof fiber_stacks;
}

#if defined(__linux__) && defined(__LP64__) && defined(__x86_64__)

/* Saves the callee-saved registers on the stack, stores the stack pointer in *from, and continues
 * where `to` was left. swapcontext does the same with two system calls. */
typedef void *fiber_context;
void fiber_switch(fiber_context *from, fiber_context to) __asm__("fiber_switch");

enum { FIBER_FRAME = 8, FIBER_RETURN = 6 }; /* in words; 1 more keeps the stack aligned */
__asm__(".text\n"
        "fiber_switch:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  ret\n");

static inline void fiber_start(fiber_context *fiber, char *stack) {
    void (*entry)(void) = fiber_main;
    char *frame = stack + FIBER_STACK - FIBER_FRAME * sizeof(void *);
    memset(frame, 0, FIBER_FRAME * sizeof(void *));
    memcpy(frame + FIBER_RETURN * sizeof(void *), &entry, sizeof entry);
    *fiber = frame;
}

#define fiber_go(from, to) fiber_switch(from, *(to))

#else
#include <ucontext.h>

typedef ucontext_t fiber_context;

static inline void fiber_start(fiber_context *fiber, char *stack) {
    (void)getcontext(fiber);
    fiber->uc_stack.ss_sp = stack;
    fiber->uc_stack.ss_size = FIBER_STACK;
    fiber->uc_link = NULL;
    makecontext(fiber, fiber_main, 0);
}

#define fiber_go(from, to) ((void)swapcontext(from, to))
#endif

/* ---- memory, and states ---- */

static inline uint64_t memory_peek(const void *at, size_t size) {
    uint64_t wide;
    uint32_t narrow;
    if (size == sizeof wide) return memcpy(&wide, at, sizeof wide), wide;
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
}

static inline void memory_poke(void *at, size_t size, uint64_t value) {
    const uint32_t narrow = (uint32_t)value;
    if (size == sizeof value) memcpy(at, &value, sizeof value);
    else memcpy(at, &narrow, sizeof narrow);
}

static inline uint64_t hash_mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15 + value + 0x632be59bd9b4e019;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
    return hash ^ (hash >> 31);
}

typedef struct state_slot {
    uint64_t state;   /* 0: an empty slot */
    double schedules; /* from here to an end */
} state_slot;

static struct {
    state_slot *slot;
    size_t size, used;
} states;

/* Its slot, or where it would be. */
static inline state_slot *states_find(uint64_t state) {
    size_t at = (size_t)state & (states.size - 1);
    while (states.slot[at].state && states.slot[at].state != state) at = (at + 1) & (states.size - 1);
    return &states.slot[at];
}

static inline void states_resize(size_t size) {
    state_slot *const old = states.slot;
    const size_t old_size = states.size;
    states.slot = (state_slot *)calloc(size, sizeof *old);
    if (!states.slot) {
        (void)fprintf(stderr, "no memory for %zu states\n", size);
        exit(2);
    }
    states.size = size;
    for (size_t i = 0; i < old_size; i++)
        if (old[i].state) *states_find(old[i].state) = old[i];
    free(old);
}

static inline void states_forget(void) {
    states.size = states.used = 0;
    states_resize(1 << 12);
}

/* False: it was visited before. */
static inline bool states_add(uint64_t state) {
    if (states_find(state)->state) return false;
    if (++states.used * 4 > states.size * 3) states_resize(states.size * 2);
    states_find(state)->state = state;
    return true;
}

/* ---- one execution ---- */

enum { CLOCK = FIBERS, NOBODY, ANY = -1, CHOICES = 4000 };

typedef struct setup {
    unsigned threads;
    unsigned role[FIBERS];         /* threads of one role are interchangeable */
    int bound;                     /* of preemptions; ANY */
    unsigned long samples;         /* executions that choose at random; 0: all executions */
    unsigned long most_executions; /* after which the search gives up; 0: any number */
    unsigned long most_states;     /* likewise */
    bool every;                    /* no pruning */
} setup;

static struct run {
    const setup *s;
    struct {
        fiber_context fiber;
        uint64_t history; /* hash of what its accesses have returned since it last forgot */
        bool done;
    } thread[FIBERS];
    fiber_context scheduler;
    unsigned me, last; /* the running thread; the one before, not the clock */
    unsigned steps;
    int preempted; /* how often a thread that could have continued did not */
    bool failed, cut, merged, trace;
    char why[200];
} run_now = {.me = NOBODY};

/* Each explorer's: what is its own at the start, then everything shared; what thread i does; all have returned
 * (`thread` and `ended` may fail). A hash of the current state. Whether a thread that has not returned may continue.
 * The threads that may make the next step, and the clock; 0: all have returned. Makes a step of the clock. */
static void begin_run(void), reset(void), thread(unsigned i), ended(void);
static uint64_t state_now(void);
static bool is_awake(unsigned i);
static unsigned next_steps(uint8_t who[FIBERS + 1]);
static void step_clock(void);

static inline void give_way(void) { fiber_go(&run_now.thread[run_now.me].fiber, &run_now.scheduler); }

/* Reports a broken rule. From a thread it does not return. */
__attribute__((format(printf, 1, 2))) static inline void fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (!run_now.failed) (void)vsnprintf(run_now.why, sizeof run_now.why, format, args);
    va_end(args);
    run_now.failed = true;
    while (run_now.me < FIBERS) give_way();
}

/* A line of the trace that a replay prints. */
__attribute__((format(printf, 1, 2))) static inline void say(const char *format, ...) {
    va_list args;
    if (!run_now.trace) return;
    va_start(args, format);
    printf("  %4u %c    ", run_now.steps, "abcdt "[run_now.me]);
    (void)vprintf(format, args);
    (void)putchar('\n');
    va_end(args);
}

/* The thread's accesses have returned this, too; or it has read plain data that another may have written. */
static inline void learn(uint64_t value) {
    run_now.thread[run_now.me].history = hash_mix(run_now.thread[run_now.me].history, value);
}

static inline void count_step(unsigned most) {
    if (++run_now.steps == most) fail("no end after %u steps", most);
}

static void fiber_main(void) {
    thread(run_now.me);
    run_now.thread[run_now.me].done = true;
    for (;;) give_way();
}

/* The threads that may continue, the one that ran last first. */
static inline unsigned awake_threads(uint8_t who[FIBERS]) {
    unsigned n = 0;
    for (unsigned i = 0; i < run_now.s->threads; i++) {
        const unsigned at = run_now.last < NOBODY ? (run_now.last + i) % run_now.s->threads : i;
        if (!run_now.thread[at].done && is_awake(at)) who[n++] = (uint8_t)at;
    }
    return n && run_now.s->bound != ANY && run_now.preempted >= run_now.s->bound && who[0] == run_now.last ? 1 : n;
}

static inline void make_step(unsigned who) {
    run_now.me = who;
    if (who == CLOCK) step_clock();
    else {
        const bool could_continue =
            run_now.last != NOBODY && !run_now.thread[run_now.last].done && is_awake(run_now.last);
        run_now.preempted += who != run_now.last && could_continue;
        run_now.last = who;
        fiber_go(&run_now.scheduler, &run_now.thread[who].fiber);
    }
    run_now.me = NOBODY;
}

/* Mixes in the threads' parts, sorted by value: threads of one role are interchangeable. */
static inline uint64_t mix_threads(uint64_t hash, uint64_t part[FIBERS]) {
    for (unsigned i = 0; i < run_now.s->threads; i++) {
        const uint64_t own = part[i];
        unsigned at = i;
        for (; at && part[at - 1] > own; at--) part[at] = part[at - 1];
        part[at] = own;
    }
    for (unsigned i = 0; i < run_now.s->threads; i++) hash = hash_mix(hash, part[i]);
    return hash ? hash : 1;
}

/* ---- the search ---- */

typedef struct result {
    bool failed, finished;
    char message[200], choices[CHOICES + 1];
    unsigned long executions, ends, cuts, merged, states; /* ends: with different states */
    double schedules;                                     /* interleavings up to an end that these represent */
} result;

/* The choices of the current execution, which the next one repeats up to the deepest that has an alternative. */
static struct {
    struct {
        uint64_t state; /* 0: known by no hash */
        double schedules;
        uint16_t n, pick;
    } path[CHOICES];
    unsigned length, depth;
    uint64_t state, random;
} search;

/* One of n alternatives. */
static inline unsigned choose(unsigned n) {
    if (search.depth == CHOICES) fail("too many choices");
    if (search.depth == search.length) {
        const bool at_random = run_now.s->samples && n > 1;
        if (at_random) search.random = search.random * 6364136223846793005u + 1442695040888963407u;
        search.path[search.length].state = search.state;
        search.path[search.length].schedules = 0;
        search.path[search.length].n = (uint16_t)n;
        search.path[search.length++].pick = (uint16_t)(at_random ? (search.random >> 33) % n : 0);
        search.state = 0;
    } else if (search.path[search.depth].n != n && !run_now.trace)
        fail("the same choices lead elsewhere: reset misses something");
    return search.path[search.depth++].pick;
}

/* Whether all continuations are known already. */
static inline bool is_known(void) {
    if (search.depth < search.length || run_now.s->every || run_now.s->samples) return false;
    search.state = state_now();
    return run_now.merged = !states_add(search.state);
}

/* One execution along the path, which grows; returns how many schedules its end represents. */
static inline double execute(bool *is_new) {
    uint8_t who[FIBERS + 1];
    unsigned n;
    const bool trace = run_now.trace;
    const setup *const s = run_now.s;
    memset(&run_now, 0, sizeof run_now);
    run_now.s = s;
    run_now.trace = trace;
    run_now.me = run_now.last = NOBODY;
    search.depth = 0;
    search.state = 0;
    begin_run();
    reset();
    for (unsigned i = 0; i < s->threads; i++) fiber_start(&run_now.thread[i].fiber, fiber_stacks[i]);
    while ((n = next_steps(who)) > 0) {
        if (is_known()) return states_find(search.state)->schedules;
        make_step(who[choose(n)]);
        if (run_now.failed || run_now.cut || run_now.merged) return 0;
    }
    const uint64_t state = state_now();
    *is_new = states_add(state);
    run_now.merged = !*is_new;
    ended();
    return states_find(state)->schedules = 1;
}

static inline result search_all(const setup *s) {
    result r;
    memset(&r, 0, sizeof r);
    run_now.s = s;
    states_forget();
    search.length = 0;
    search.random = 1;
    do {
        bool is_new = false;
        double schedules = execute(&is_new);
        r.executions++;
        r.ends += is_new;
        r.cuts += run_now.cut;
        r.merged += run_now.merged;
        r.failed = run_now.failed;
        if (r.failed || r.executions == s->most_executions) break;
        if (s->samples) search.length = 0;
        for (; search.length; search.length--) {
            const unsigned at = search.length - 1;
            search.path[at].schedules += schedules;
            if (++search.path[at].pick < search.path[at].n) break;
            schedules = search.path[at].schedules;
            if (search.path[at].state) states_find(search.path[at].state)->schedules = schedules;
        }
        if (!search.length) r.schedules = schedules;
        if (s->most_states && states.used >= s->most_states) break;
    } while (s->samples ? r.executions < s->samples : search.length > 0);
    r.finished = !r.failed && !s->samples && !search.length;
    r.states = (unsigned long)states.used;
    if (!r.failed) return r;
    memcpy(r.message, run_now.why, sizeof r.message);
    for (unsigned i = 0; i < search.depth; i++) {
        const unsigned pick = search.path[i].pick;
        r.choices[i] = (char)(pick < 10 ? '0' + pick : 'a' + pick - 10);
    }
    return r;
}

/* The same failure, or another, with as few preemptions as possible. */
static inline void simplify(const setup *s, result *r) {
    setup bounded = *s;
    bounded.every = false;
    bounded.samples = 0;
    bounded.most_executions = 1000000;
    for (bounded.bound = 0; bounded.bound < (s->bound == ANY ? 7 : s->bound); bounded.bound++) {
        const result simple = search_all(&bounded);
        if (!simple.failed) continue;
        memcpy(r->message, simple.message, sizeof r->message);
        memcpy(r->choices, simple.choices, sizeof r->choices);
        return;
    }
}

/* One execution along those choices, each step printed. True: it breaks a rule. */
static inline bool replay(const setup *s, const char *choices) {
    setup one = *s;
    bool is_new;
    one.every = true;
    one.samples = 0;
    one.bound = ANY;
    run_now.s = &one;
    run_now.trace = true;
    states_forget();
    for (search.length = 0; *choices && search.length < CHOICES; choices++)
        search.path[search.length++].pick = (uint16_t)(*choices < 'a' ? *choices - '0' : *choices - 'a' + 10);
    (void)execute(&is_new);
    run_now.trace = false;
    printf("            %s\n", run_now.failed ? run_now.why : run_now.cut ? "cut" : "holds");
    return run_now.failed;
}

/* ---- scenarios, and the command line ---- */

static bool calls_have(const char *const calls[FIBERS], char letter) {
    for (unsigned i = 0; i < FIBERS && calls[i]; i++)
        if (strchr(calls[i], letter)) return true;
    return false;
}

/* All executions of these calls. Threads with the same ones are interchangeable, unless they have something of their
 * own. */
static setup setup_for(const char *const calls[FIBERS], bool have_own) {
    setup s;
    memset(&s, 0, sizeof s);
    s.bound = ANY;
    for (; s.threads < FIBERS && calls[s.threads]; s.threads++) {
        unsigned like = have_own ? s.threads : 0;
        while (strcmp(calls[like], calls[s.threads]) != 0) like++;
        s.role[s.threads] = like;
    }
    return s;
}

static int n_passed, n_failed;
static const char *count(bool well) {
    *(well ? &n_passed : &n_failed) += 1;
    return well ? "ok  " : "FAIL";
}

/* Each explorer's: scenario i's name, NULL: there is none; makes it the current one; explores it, and prints a line. */
static const char *name_of_scenario(unsigned i);
static setup setup_of(unsigned i);
static bool passes(unsigned i, const setup *s);
static unsigned long most_states;

static void print_result(const char *verdict, const char *name, const result *r, clock_t begun) {
    printf("%-4s %-21s %8lu executions %6lu ends %6lu cut %8lu merged %8lu states %8.1e schedules %6.2f s\n", verdict,
           name, r->executions, r->ends, r->cuts, r->merged, r->states, r->schedules,
           (double)(clock() - begun) / CLOCKS_PER_SEC);
}

/* Likewise; and of a failure the choices with as few preemptions as possible. */
static void print_outcome(const char *verdict, const char *name, const setup *s, result *r, clock_t begun) {
    print_result(verdict, name, r, begun);
    if (!r->failed) return;
    simplify(s, r);
    printf("     %s\n     --replay %s %s\n", r->message, r->choices, name);
}

/* `also` is called after all scenarios; NULL: nothing. */
static int explorer_main(int argc, char **argv, void (*also)(void)) {
    const bool replays = argc == 4 && !strcmp(argv[1], "--replay");
    unsigned part = 0, parts = 1;
    int words = 1;
    for (; words < argc && !replays && !strncmp(argv[words], "--", 2); words++) {
        const bool is_limit = sscanf(argv[words], "--states=%lu", &most_states) == 1 && most_states;
        if (!is_limit && (sscanf(argv[words], "--part=%u/%u", &part, &parts) != 2 || part >= parts)) {
            (void)fprintf(stderr, "%s: neither --states=N nor --part=K/N\n", argv[words]);
            return 2;
        }
    }
    const char *name;
    for (unsigned i = 0; (name = name_of_scenario(i)) != NULL; i++) {
        bool wanted = replays ? !strcmp(name, argv[3]) : words == argc && i % parts == part;
        for (int a = words; a < argc && !replays; a++) wanted |= strstr(name, argv[a]) != NULL;
        if (!wanted) continue;
        setup s = setup_of(i);
        if (replays) return replay(&s, argv[2]);
        s.most_states = most_states;
        (void)count(passes(i, &s));
        (void)fflush(stdout);
    }
    if (argc == 1 && also) also();
    printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed != 0 || n_passed == 0;
}

#endif
