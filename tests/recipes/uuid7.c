/* SPDX-License-Identifier: MIT
 *
 * UUIDs of version 7: in one line, from any thread, in the order of the calls; from a generator of one's own
 * with a node number, so that no two nodes ever give the same; and the bounds of a range of time.
 */
#include "flake.h"
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, REQUESTS = 10000 };

static void *serve(void *ends_well) {
    char id[37], last[37] = "";
    for (int i = 0; i < REQUESTS; i++) {
        if (flake_uuid7(id) != FLAKE_OK || strcmp(last, id) >= 0) return NULL;
        memcpy(last, id, sizeof last);
    }
    return ends_well;
}

int main(void) {
    pthread_t threads[THREADS];
    void *ended;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, serve, threads) != 0) return 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_join(threads[i], &ended) != 0 || !ended) return 1;

    static flake_gen ids;
    flake_options options;
    flake128 id, first, last;
    char id_text[37], first_text[37], last_text[37];
    memset(&options, 0, sizeof options);
    options.layout = flake_layout_uuid7_node; // FORM_UUID7 has random bits in the node's place
    if (flake_init(&ids, of_128(&options, 17), NULL) != FLAKE_OK) return 1; // 17: see "Who am I"
    if (flake128_next(&ids, &id) != FLAKE_OK) return 1;
    flake128_to_uuid(&id, id_text);
    printf("INSERT INTO events (id) VALUES ('%s');\n", id_text);

    // The bounds of FORM_UUID7 are the same: one query finds the ids of both.
    const int64_t day_ms = 24 * 60 * 60 * 1000, new_year = INT64_C(1767225600000); // 2026-01-01
    if (flake128_min_at(layout_128(options.form), new_year, &first) != FLAKE_OK) return 1;
    if (flake128_max_at(layout_128(options.form), new_year + day_ms - 1, &last) != FLAKE_OK) return 1;
    flake128_to_uuid(&first, first_text);
    flake128_to_uuid(&last, last_text);
    printf("SELECT * FROM events WHERE id BETWEEN '%s' AND '%s';\n", first_text, last_text);
}
