/* SPDX-License-Identifier: MIT
 *
 * A thread per core: each owns a shard, which is a range of the sequence numbers and a word on cache
 * lines of its own. A shard has its share of a unit's ids, here a quarter.
 */
#include "flake.h"
#include <pthread.h>

enum { THREADS = 4, REQUESTS = 10000 };
static flake_gen shards[THREADS];

static void *serve(void *mine) {
    uint64_t id;
    for (int i = 0; i < REQUESTS; i++)
        if (flake_next((flake_gen *)mine, &id) != FLAKE_OK) return mine;
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    void *failed;
    if (flake_init_shards(shards, THREADS, NULL, NULL) != FLAKE_OK) return 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, serve, &shards[i]) != 0) return 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_join(threads[i], &failed) != 0 || failed) return 1;
}
