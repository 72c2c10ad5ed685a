/* SPDX-License-Identifier: MIT
 *
 * When keys are to be UUIDs: of version 7 in one line, from any thread, in the order of the calls; from a
 * generator with a node number, so that no two nodes ever generate the same; and the bounds of a range of
 * time.
 */
#include "flake.h"
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, REQUESTS = 10000 };

static void *serve(void *ended_well) {
    char id[37], last[37] = "";
    for (int i = 0; i < REQUESTS; i++) {
        const flake_status status = flake_uuid7(id);
        if (status != FLAKE_OK)
            return fprintf(stderr, "%s\n", flake_status_str(status)), (void *)NULL;
        if (strcmp(last, id) >= 0) return fprintf(stderr, "%s after %s\n", id, last), (void *)NULL;
        memcpy(last, id, sizeof last);
    }
    return ended_well;
}

static int from_a_node(void) {
    static flake_gen ids;
    static flake_options options;
    flake_why why;
    flake128 id, first, last;
    char id_text[37], first_text[37], last_text[37];
    options.layout = flake_layout_uuid7_node; // uuid7 has random bits in place of the node
    // 0 to 1023: this host's numbers; other hosts have ranges of their own
    if (flake_init(&ids, flake_node_any("ids", 0, 1023), &options, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    flake_status status = flake128_next(&ids, &id);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    if (flake_close(&ids, &why) != FLAKE_OK) return fprintf(stderr, "%s\n", why.text), 1;
    flake128_to_uuid(&id, id_text);
    printf("INSERT INTO events (id) VALUES ('%s');\n", id_text);

    // The bounds of uuid7 are the same: one query finds the IDs of both.
    const int64_t day_ms = 24 * 60 * 60 * 1000, new_year = INT64_C(1767225600000); // 2026-01-01
    status = flake128_min_at(&options.layout, new_year, &first);
    if (status == FLAKE_OK) status = flake128_max_at(&options.layout, new_year + day_ms - 1, &last);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    flake128_to_uuid(&first, first_text);
    flake128_to_uuid(&last, last_text);
    printf("SELECT * FROM events WHERE id BETWEEN '%s' AND '%s';\n", first_text, last_text);
    return 0;
}

int main(void) {
    pthread_t threads[THREADS];
    void *ended;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, serve, threads) != 0)
            return fprintf(stderr, "no thread\n"), 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_join(threads[i], &ended) != 0 || !ended) return 1; // its thread printed why
    return from_a_node();
}
