/* SPDX-License-Identifier: MIT
 *
 * scale [SECONDS]   measures on 1, 2, 4 ... all cores, unpinned and each thread on a core of its own, what one ID costs
 * one core, from one word, lanes, shards and batches. It prints tables, then the same as data for a plot. Static, so
 * that it runs on a machine that cannot build it. SECONDS of each figure, by default 0.02.
 */
#define _GNU_SOURCE /* CPU_SET */
#include "shim.h"
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const names[] = {
    "floor/fetch_add", "floor/exact_fetch_add", "floor/counter_fetch_add", "floor/exact_store", /* one word; its own */
    "flake/next", "flake/next_fast", "flake/lanes_next", "flake/lanes_next_fast", "flake/shard_next",
    "flake/batch_16", "flake/lanes/batch_16", "sno/next", "sno/lanes_next", "flake/uuid7", "flake128/uuid7_lanes_next",
    "peer/mutex_snowflake"};

enum { n_names = sizeof names / sizeof *names, most_columns = 16 };

static cpu_set_t all_cores;
static unsigned columns[most_columns], n_columns;

/* ns of one core for an ID; 0: the row failed. Of how many bursts the threads did not run at once. */
typedef struct figure {
    double ns, alone;
} figure;

static figure figures[2][n_names][most_columns]; /* of unpinned threads, and of pinned ones */

typedef struct job {
    const bench_row *row;
    unsigned thread;
    bool is_pinned;
    size_t bursts;
    double s_per_id; /* of the median burst */
} job;

/* The n-th core that this process may run on. */
static void pin_to(unsigned n) {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (unsigned core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &all_cores) && n-- == 0) CPU_SET(core, &one);
    if (pthread_setaffinity_np(pthread_self(), sizeof one, &one) != 0) abort();
}

static void *run(void *of) {
    job *const j = (job *)of;
    double *const took = (double *)malloc(j->bursts * sizeof *took);
    if (!took) abort();
    if (j->is_pinned) pin_to(j->thread);
    for (size_t i = 0; i < j->bursts; i++) took[i] = bench_burst(j->row, j->thread);
    j->s_per_id = bench_typical(took, j->bursts, 1);
    free(took);
    return NULL;
}

static figure measure(const bench_row *row, unsigned threads, bool is_pinned, double seconds) {
    static job jobs[bench_most_threads];
    static pthread_t crew[bench_most_threads];
    double sum_s = 0;
    bench_begin(row, threads);
    for (unsigned i = 0; i < threads; i++) {
        jobs[i] = (job){row, i, is_pinned, bench_bursts(row, threads, seconds), 0};
        if (pthread_create(&crew[i], NULL, run, &jobs[i]) != 0) abort();
    }
    for (unsigned i = 0; i < threads; i++) {
        (void)pthread_join(crew[i], NULL);
        sum_s += jobs[i].s_per_id;
    }
    const bench_result result = bench_end(row);
    figure f = {sum_s / threads / (double)bench_burst_size(row, threads) * 1e9,
                (double)result.alone / (double)jobs[0].bursts};
    if (result.why || result.duplicates) {
        fprintf(stderr, "FAILED: %s\n", result.why ? result.why : row->name);
        f.ns = 0;
    }
    return f;
}

static void print_machine(void) {
    char line[256] = "unknown", date[32];
    const time_t now = time(NULL);
    FILE *const file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file) && strncmp(line, "model name", 10) != 0) continue;
    if (file) (void)fclose(file);
    (void)strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    const char *const colon = strchr(line, ':');
    printf("%s, %u cores, %.*s, %s\n", date, bench_cores(), (int)strcspn(colon ? colon + 2 : line, "\n"),
           colon ? colon + 2 : line, bench_compiler());
}

static void print_table(int is_pinned) {
    printf("\n%-26s", is_pinned ? "ns per ID, pinned" : "ns per ID, unpinned");
    for (unsigned c = 0; c < n_columns; c++) printf(" %9u ", columns[c]);
    for (size_t i = 0; i < n_names; i++) {
        printf("\n%-26s", names[i]);
        for (unsigned c = 0; c < n_columns; c++)
            printf(" %9.3g%s", figures[is_pinned][i][c].ns, figures[is_pinned][i][c].alone > 0.1 ? "?" : " ");
    }
    putchar('\n');
}

int main(int argc, char **argv) {
    const double seconds = argc > 1 ? atof(argv[1]) : 0.02;
    const unsigned cores = bench_cores() < bench_most_threads ? bench_cores() : bench_most_threads;
    bool well = seconds > 0 && sched_getaffinity(0, sizeof all_cores, &all_cores) == 0;
    for (unsigned threads = 1; threads < cores; threads *= 2) columns[n_columns++] = threads;
    columns[n_columns++] = cores;
    for (int is_pinned = 0; is_pinned < 2; is_pinned++)
        for (size_t i = 0; well && i < n_names; i++)
            for (unsigned c = 0; c < n_columns; c++) {
                figures[is_pinned][i][c] = measure(bench_row_named(names[i]), columns[c], is_pinned, seconds);
                well &= figures[is_pinned][i][c].ns > 0;
            }
    print_machine();
    print_table(0);
    print_table(1);
    printf("\n?: in a tenth of the bursts or more the threads did not run at once\n");
    printf("\nrow\tpinned\tthreads\tns_per_id\tids_per_second\n");
    for (int is_pinned = 0; is_pinned < 2; is_pinned++)
        for (size_t i = 0; i < n_names; i++)
            for (unsigned c = 0; c < n_columns; c++)
                printf("%s\t%d\t%u\t%.4g\t%.4g\n", names[i], is_pinned, columns[c], figures[is_pinned][i][c].ns,
                       columns[c] / figures[is_pinned][i][c].ns * 1e9);
    return !well;
}
