/* SPDX-License-Identifier: MIT
 *
 * How far ids by the fast clock are off the exact one, on this machine: a measurement, which judges
 * nothing. soak.c says how it is called.
 *
 * An id says a unit of a ms. Every fourth draw stands between two readings of the exact clock. An id whose
 * unit ended before the first is late, by as much; one whose unit begins behind the second leads. For
 * comparison the exact clock comes first, which is never off, and the coarse one, which lags.
 */
#ifndef SOAK_CLOCKS_H
#define SOAK_CLOCKS_H

enum { draws_a_look = 4, most_lookers = 2 };

static struct looker {
    pthread_t thread;
    flake_gen *from;
    uint64_t looks, late, leads, failed;
    int64_t late_ns, leads_ns;
    char pad[64];
} lookers[most_lookers];
static _Atomic(bool) looks_end;

static void *look(void *of) {
    struct looker *const l = (struct looker *)of;
    while (!atomic_load(&looks_end)) {
        uint64_t id;
        for (unsigned i = 1; i < draws_a_look; i++)
            l->failed += flake_next(l->from, &id) != FLAKE_OK;
        const int64_t before_ns = clock_ns(CLOCK_REALTIME);
        l->failed += flake_next(l->from, &id) != FLAKE_OK;
        const int64_t after_ns = clock_ns(CLOCK_REALTIME);
        if (!id) continue; /* the call failed */
        const int64_t from_ns = ((int64_t)(id >> 24) + roomy().epoch_ms) * 1000000;
        const int64_t late_ns = before_ns - (from_ns + 1000000), leads_ns = from_ns - after_ns;
        l->looks++;
        l->late += late_ns > 0;
        l->leads += leads_ns > 0;
        if (late_ns > l->late_ns) l->late_ns = late_ns;
        if (leads_ns > l->leads_ns) l->leads_ns = leads_ns;
    }
    return NULL;
}

/* False: a draw failed, or there was nothing to draw from. */
static bool look_for(double seconds, const char *name, int kind, unsigned threads, bool at_lanes) {
    struct looker sum = {0};
    static flake_lane lane[n_lanes];
    const flake_options o = options_of(roomy(), 0, kind);
    memset(lookers, 0, sizeof lookers);
    if (flake_init(&roomy_whole, &o, NULL) != FLAKE_OK ||
        flake_init(&roomy_lanes, with_lanes(&o, lane, n_lanes), NULL) != FLAKE_OK)
        return false;
    /* Without leases if the machine's counter is none for it, or its pace is not known. */
    bool has_leases = false;
    atomic_store(&looks_end, false);
    const int64_t drift_before_ns = drift_ns();
    const int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + (int64_t)(seconds * 1e9);
    for (unsigned i = 0; i < threads; i++) {
        lookers[i].from = at_lanes ? &roomy_lanes : &roomy_whole;
        if (pthread_create(&lookers[i].thread, NULL, look, &lookers[i]) != 0) abort();
    }
    while (clock_ns(CLOCK_MONOTONIC) < until_ns) nap_us(10000);
    atomic_store(&looks_end, true);
    for (unsigned i = 0; i < threads; i++) {
        const struct looker *const l = &lookers[i];
        (void)pthread_join(l->thread, NULL);
        sum.looks += l->looks;
        sum.late += l->late;
        sum.leads += l->leads;
        sum.failed += l->failed;
        if (l->late_ns > sum.late_ns) sum.late_ns = l->late_ns;
        if (l->leads_ns > sum.leads_ns) sum.leads_ns = l->leads_ns;
    }
    for (unsigned i = 0; i < n_lanes; i++)
        has_leases |=
            lane[i].engine.ticks_per_window > 1 || roomy_whole.engine.ticks_per_window > 1;
    printf("%-13s %u thread%s %5.1f s %13" PRIu64 " looks  late %" PRIu64 ", by %" PRId64
           " ns at most  leading %" PRIu64 ", by %" PRId64 " ns at most%s\n",
           name, threads, threads > 1 ? "s" : " ", seconds, sum.looks, sum.late, sum.late_ns,
           sum.leads, sum.leads_ns,
           kind == FLAKE_CLOCK_FAST && !has_leases ? "  (without leases)" : "");
    const int64_t stepped_ns = drift_ns() - drift_before_ns;
    if (stepped_ns > 1000 || stepped_ns < -1000)
        printf("     the clock was set or slewed by %" PRId64 " ns meanwhile\n", stepped_ns);
    if (sum.failed) printf("     %" PRIu64 " draws failed\n", sum.failed);
    (void)fflush(stdout);
    return !sum.failed;
}

/* Exit code of the program. */
static int look_at_clocks(double seconds) {
    const double few = seconds < 1 ? seconds : 1;
    const bool well = look_for(few, "exact", FLAKE_CLOCK_EXACT, 1, false) &&
                      look_for(few, "coarse", FLAKE_CLOCK_COARSE, 1, false) &&
                      look_for(seconds, "fast", FLAKE_CLOCK_FAST, 1, false) &&
                      look_for(seconds, "fast", FLAKE_CLOCK_FAST, 2, false) &&
                      look_for(seconds, "fast, lanes", FLAKE_CLOCK_FAST, 2, true);
    return !well;
}

#endif
