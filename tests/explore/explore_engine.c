/* SPDX-License-Identifier: MIT
 *
 * Every interleaving of a few calls to flake.h and sno.h, and of a clock that steps forward and backward between any
 * two accesses. explorer.h describes the search and the command line, engine_steps.h the steps.
 *
 * A scenario is a line of the table in engine_scenarios.h: what each thread calls, one letter a call, what the clock
 * does meanwhile, and the engine's state at the start. The rules do not depend on the scenario, and are checked at each
 * access (`watch`) and each return (`call`):
 *
 *   I1   A move of the word draws tickets after all those drawn before on that timeline and not returned. A returned
 *        ticket is the newest, is the caller's own, and has not been issued. Only a ticket's drawer issues it. So no
 *        ticket is issued twice.
 *   I2   A call that returns CLOCK_BACK or leaves a timeline does so on a reading that it took after it had loaded a
 *        word of a later time.
 *   I3   No ticket is issued that is more than max_ahead after the reading by which it was drawn.
 *   I4   A call that fails has written nothing; a waiter has returned its ticket, unless another thread has moved the
 *        word since, or the generator is closed. (safe[] and drifts are checked separately.)
 *   I5   A move that leaves a timeline finds safe[] at or past the last time drawn on it.
 *   HORIZON   An issued ID is at or before the horizon that a power cut would leave then, and before everything that
 *        the number's next holder draws; one thread at a time writes, never over the newest record.
 *   CLOSED A call that begins, or wakes from a sleep, when a close has returned gets no ID of a later unit, unless a
 *        call from before has begun that unit.
 *   LOST A caller gets nothing, and the status for it, if the gate is closed or the process was cloned when the call
 *        begins or after a sleep.
 *   also drifts is settled before a timeline is left, lags by one at most, and adds up; AGAIN and CLOCK_BACK are true;
 *        a thread's IDs rise; a snapshot is a state that existed; an election leads to exactly one note, and each ms
 *        has one election; statistics add up.
 *
 * A scenario names the events that must occur in some execution, and fails without them. It fails, too, if an execution
 * was cut unexpectedly.
 */
#include "engine_scenarios.h"

static const char *name_of_scenario(unsigned i) { return i < SCENARIOS ? scenarios[i].name : NULL; }

static setup setup_of(unsigned i) {
    const scenario *const s = &scenarios[i];
    prepare(s);
    setup e = setup_for(s->calls, s->shards || s->lanes);
    if (s->bound) e.bound = s->bound;
    return e;
}

/* Whether the search without pruning reaches as many states, by as many schedules, and the same events. */
static bool prunes_rightly(const setup *s, const result *pruned) {
    const unsigned events_then = events;
    setup all = *s;
    all.every = true;
    events = 0;
    const result r = search_all(&all);
    print_result("", "without pruning", &r, clock());
    return !r.failed && r.ends == pruned->ends && r.schedules == pruned->schedules && events == events_then;
}

static bool passes(unsigned i, const setup *given) {
    const scenario *const s = &scenarios[i];
    const clock_t begun = clock();
    result r = search_all(given);
    const unsigned missing = s->must & ~events;
    const bool well = (s->caught     ? r.failed && strstr(r.message, s->caught)
                       : !r.finished ? !r.failed
                                     : !missing && (s->cuts ? r.cuts : !r.cuts && r.ends)) &&
                      (!s->every || !r.finished || prunes_rightly(given, &r));
    print_outcome(!well ? "FAIL" : r.finished || r.failed ? "ok" : "part", s->name, given, &r, begun);
    if (well) return true;
    printf("     %s\n", s->shows);
    if (r.failed) (void)replay(given, r.choices);
    else if (s->caught) printf("     this was to fail: %s\n", s->caught);
    else if (!r.cuts != !s->cuts) printf("     cut %lu executions\n", r.cuts);
    for (unsigned e = 0; !r.failed && e < sizeof event_names / sizeof *event_names; e++)
        if (missing >> e & 1) printf("     occurred in no execution: %s\n", event_names[e]);
    return false;
}

int main(int argc, char **argv) { return explorer_main(argc, argv, NULL); }
