/* SPDX-License-Identifier: MIT
 *
 * Many threads and one object: a draw takes the lane that its processor has at hand, and any thread can
 * have all ids of a unit. The fast clock spares most draws the call of the system's clock.
 */
#include "flake.h"
#include <pthread.h>

enum { THREADS = 4, REQUESTS = 10000 };
static flake_gen ids;
static flake_lane each[THREADS]; /* as many as threads run at once */

static void *serve(void *ends_well) {
    uint64_t id;
    for (int i = 0; i < REQUESTS; i++)
        if (flake_next(&ids, &id) != FLAKE_OK) return NULL;
    return ends_well;
}

int main(void) {
    pthread_t threads[THREADS];
    void *ended;
    flake_options options;
    memset(&options, 0, sizeof options);
    options.clock.kind = FLAKE_CLOCK_FAST;
    if (flake_init(&ids, with_lanes(&options, each, THREADS), NULL) != FLAKE_OK) return 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, serve, &ids) != 0) return 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_join(threads[i], &ended) != 0 || !ended) return 1;
}
