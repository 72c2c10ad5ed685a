/* SPDX-License-Identifier: MIT
 *
 * When many threads draw at once and contend for the generator's word. The options give it a lane for
 * each of them: a draw takes the lane that its processor used last, and any thread can draw all IDs of a
 * unit. With the fast clock most draws do not read the system's clock.
 */
#include "flake.h"
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, REQUESTS = 10000 };
static flake_gen ids;
static flake_options options;
static flake_lane lanes[THREADS]; // as many as threads run at once

static void *serve(void *ended_well) {
    uint64_t id;
    for (int i = 0; i < REQUESTS; i++) {
        const flake_status status = flake_next(&ids, &id);
        if (status != FLAKE_OK)
            return fprintf(stderr, "%s\n", flake_status_str(status)), (void *)NULL;
    }
    return ended_well;
}

int main(void) {
    pthread_t threads[THREADS];
    void *ended;
    flake_why why;
    options.lanes = lanes;
    options.lane_count = THREADS;
    options.clock.kind = FLAKE_CLOCK_FAST;
    // 0 to 1023: this host's numbers, all that the layout has; other hosts have ranges of their own
    if (flake_init(&ids, flake_node_any("ids", 0, 1023), &options, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, serve, &ids) != 0)
            return fprintf(stderr, "no thread\n"), 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_join(threads[i], &ended) != 0 || !ended) return 1; // its thread printed why
    if (flake_close(&ids, &why) != FLAKE_OK) return fprintf(stderr, "%s\n", why.text), 1;
    return 0;
}
