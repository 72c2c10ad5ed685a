/* SPDX-License-Identifier: MIT
 *
 * When a program has one thread per core. Each has a generator with a part of the sequence range, here a
 * quarter, and draws from it with plain loads and stores.
 */
#include "flake.h"
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, REQUESTS = 10000 };
static flake_gen shards[THREADS];

static void *serve(void *mine) {
    uint64_t id;
    for (int i = 0; i < REQUESTS; i++) {
        const flake_status status = flake_next((flake_gen *)mine, &id);
        if (status != FLAKE_OK)
            return fprintf(stderr, "%s\n", flake_status_str(status)), (void *)NULL;
    }
    return mine;
}

int main(void) {
    pthread_t threads[THREADS];
    void *ended;
    flake_why why;
    // 0 to 1023: this host's numbers, all that the layout has; other hosts have ranges of their own
    if (flake_init_shards(shards, THREADS, flake_node_any("ids", 0, 1023), NULL, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, serve, &shards[i]) != 0)
            return fprintf(stderr, "no thread\n"), 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_join(threads[i], &ended) != 0 || !ended) return 1; // its thread printed why
    if (flake_close(&shards[0], &why) != FLAKE_OK) // the first one has the number of all
        return fprintf(stderr, "%s\n", why.text), 1;
    return 0;
}
