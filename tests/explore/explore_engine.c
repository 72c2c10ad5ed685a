/* SPDX-License-Identifier: MIT
 *
 * Every interleaving of a few calls to flake.h and sno.h, and of a clock that steps forward and backward
 * between any two accesses. explore.h describes the search.
 *
 *     explore_engine                     all scenarios; the last line is "N passed, N failed"
 *     explore_engine WORD...             those whose names contain one of the words
 *     explore_engine --states=N [WORD...]  of each at most N states: "part" if that is not all of them
 *     explore_engine --part=K/N          every Nth scenario, from the Kth
 *     explore_engine --replay LIST NAME  one execution, step by step; LIST is what a failure printed
 *
 * A scenario is a line of the table in engine_scenarios.h: what each thread calls, one letter a call,
 * what the clock does meanwhile, and the engine's state at the start. The rules do not depend on the
 * scenario, and are checked at each access (`watch`) and each return (`call`):
 *
 *   I1   A move of the word draws tickets after all those drawn before on that timeline and not
 *        returned. A returned ticket is the newest, is the caller's own, and has not been issued. Only a
 *        ticket's drawer issues it. So no ticket is issued twice.
 *   I2   A call that returns CLOCK_BACK or leaves a timeline does so on a reading that it took after it
 *        had loaded a word of a later time.
 *   I3   No ticket is issued that is more than max_ahead after the reading by which it was drawn.
 *   I4   A call that fails has written nothing; a waiter has returned its ticket, unless another thread
 *        has moved the word since, or the generator is closed. (safe[] and drifts are checked separately.)
 *   I5   A move that leaves a timeline finds safe[] at or past the last time drawn on it.
 *   HORIZON   An issued ID is at or before the horizon that a power cut would leave then, and before
 *        everything that the number's next holder draws; one thread at a time writes, never over the newest
 *        record.
 *   CLOSED A call that begins, or wakes from a sleep, when a close has returned gets no ID of a later unit,
 *        unless a call from before has begun that unit.
 *   LOST A caller gets nothing, and the status for it, if the gate is closed or the process was cloned
 *        when the call begins or after a sleep.
 *   also drifts is settled before a timeline is left, lags by one at most, and adds up; AGAIN and
 *        CLOCK_BACK are true; a thread's IDs rise; a snapshot is a state that existed; an election leads
 *        to exactly one note, and each ms has one election; statistics add up.
 *
 * A scenario names the events that must occur in some execution, and fails without them. It fails, too,
 * if an execution was cut unexpectedly.
 */
#include "engine_scenarios.h"

static unsigned long most_states; /* 0: any number */

static explore_setup setup_of(const scenario *s) {
    static int64_t clock_ns[7], counter_ns[7];
    explore_setup e;
    memset(&e, 0, sizeof e);
    prepare(s);
    for (; e.threads < EXPLORE_THREADS && s->calls[e.threads]; e.threads++) {
        unsigned like = e.threads;         /* threads with the same calls are interchangeable, */
        if (!s->shards && !s->lanes && !calls_any('u')) /* unless they have something of their own */
            for (like = 0; strcmp(s->calls[like], s->calls[e.threads]) != 0;) like++;
        e.role[e.threads] = like;
    }
    for (; e.clocks < 7 && s->clock[e.clocks]; e.clocks++)
        clock_ns[e.clocks] =
            (s->clock[e.clocks] + (s->of == DEFAULT ? INT64_C(1600000000000) : 0)) * MS;
    e.clock_ns = clock_ns;
    for (unsigned i = 0; i < e.clocks; i++) counter_ns[i] = s->counter[i] * INT64_C(1000);
    e.counter_ns = s->counter[1] ? counter_ns : NULL;
    e.preemptions = s->bound ? s->bound : EXPLORE_ANY;
    e.sleeps = s->sleeps ? s->sleeps : 8;
    e.most_states = most_states;
    e.coarse = s->coarse;
    e.stuck = s->stuck;
    e.early = s->early;
    e.fine = s->fine;
    return e;
}

/* Whether the search without pruning reaches as many states, by as many schedules, and the same
 * events. */
static bool prunes_rightly(const explore_setup *setup, const explore_result *pruned) {
    const unsigned events_then = events;
    explore_setup all = *setup;
    all.every = true;
    events = 0;
    const explore_result r = explore(&all);
    const bool same = !r.failed && r.complete == pruned->complete &&
                      r.schedules == pruned->schedules && events == events_then;
    if (!same)
        printf(
            "     without pruning: %lu complete, %.0f schedules, events %x; with: %lu, %.0f, %x\n",
            r.complete, r.schedules, events, pruned->complete, pruned->schedules, events_then);
    return same;
}

/* Explores it; false: a result is unexpected. */
static bool passes(const scenario *s) {
    const explore_setup setup = setup_of(s);
    const clock_t begun = clock();
    const explore_result r = explore(&setup);
    const unsigned missing = s->must & ~events;
    const bool passed =
        (s->caught       ? r.failed && strstr(r.message, s->caught)
         : r.ended_early ? !r.failed
                         : !r.failed && !missing && (s->cuts ? r.cut : !r.cut && r.complete)) &&
        (!s->every || r.ended_early || prunes_rightly(&setup, &r));
    const double seconds = (double)(clock() - begun) / CLOCKS_PER_SEC;
    printf("%-4s %-20s %7lu complete %5lu cut %8lu merged %8lu states %8.1e schedules %6.2f s\n",
           !passed ? "FAIL" : r.ended_early ? "part" : "ok", s->name, r.complete, r.cut,
           r.merged, r.states, r.schedules, seconds);
    if (r.failed) printf("     %s\n     --replay %s %s\n", r.message, r.schedule, s->name);
    if (passed) return true;
    printf("     %s\n", s->shows);
    if (r.failed) {
        prepare(s);
        (void)explore_replay(&setup, r.schedule);
    } else if (s->caught) printf("     this was to fail: %s\n", s->caught);
    else if (!r.cut != !s->cuts) printf("     cut %lu executions\n", r.cut);
    for (unsigned i = 0; !r.failed && i < sizeof event_names / sizeof *event_names; i++)
        if (missing >> i & 1) printf("     occurred in no execution: %s\n", event_names[i]);
    return false;
}

int main(int argc, char **argv) {
    const bool replays = argc == 4 && !strcmp(argv[1], "--replay");
    int passed = 0, failed = 0, words = 1;
    unsigned part = 0, parts = 1;
    for (; words < argc && !replays && !strncmp(argv[words], "--", 2); words++) {
        const bool is_limit = sscanf(argv[words], "--states=%lu", &most_states) == 1 && most_states;
        if (!is_limit && (sscanf(argv[words], "--part=%u/%u", &part, &parts) != 2 || part >= parts)) {
            (void)fprintf(stderr, "%s: neither --states=N nor --part=K/N\n", argv[words]);
            return 2;
        }
    }
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        const scenario *s = &scenarios[i];
        bool wanted = replays ? !strcmp(s->name, argv[3]) : words == argc && i % parts == part;
        for (int a = words; a < argc && !replays; a++) wanted |= strstr(s->name, argv[a]) != NULL;
        if (!wanted) continue;
        if (replays) {
            const explore_setup setup = setup_of(s);
            return explore_replay(&setup, argv[2]).failed;
        }
        *(passes(s) ? &passed : &failed) += 1;
        (void)fflush(stdout);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0 || passed == 0;
}
