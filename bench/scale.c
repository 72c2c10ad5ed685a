/* SPDX-License-Identifier: MIT
 *
 * scale [SECONDS]   measures on 1, 2, 4 ... all cores, unpinned and each thread on a core of its own, what one ID costs
 * one core, from one word, lanes, shards and batches. Static, so that it runs on a machine that cannot build it. SECONDS
 * of each figure, by default 0.02.
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

static cpu_set_t all_cores;

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

/* Prints ns of one core for an ID, and whether it may be too low; false: the row failed. */
static bool measure(const bench_row *row, unsigned threads, bool is_pinned, double seconds) {
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
    printf(" %9.3g%s", sum_s / threads / (double)bench_burst_size(row, threads) * 1e9,
           (double)result.alone > 0.1 * (double)jobs[0].bursts ? "?" : " ");
    if (!result.why && !result.duplicates) return true;
    fprintf(stderr, "FAILED: %s\n", result.why ? result.why : row->name);
    return false;
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

static bool print_table(bool is_pinned, double seconds) {
    const unsigned cores = bench_cores() < bench_most_threads ? bench_cores() : bench_most_threads;
    bool well = true;
    printf("\n%-26s", is_pinned ? "ns per ID, pinned" : "ns per ID, unpinned");
    for (unsigned threads = 1; threads < cores; threads *= 2) printf(" %9u ", threads);
    printf(" %9u \n", cores);
    for (size_t i = 0; well && i < sizeof names / sizeof *names; i++) {
        const bench_row *const row = bench_row_named(names[i]);
        printf("%-26s", names[i]);
        for (unsigned threads = 1; threads < cores; threads *= 2) well &= measure(row, threads, is_pinned, seconds);
        well &= measure(row, cores, is_pinned, seconds);
        putchar('\n');
    }
    return well;
}

int main(int argc, char **argv) {
    const double seconds = argc > 1 ? atof(argv[1]) : 0.02;
    if (!(seconds > 0) || sched_getaffinity(0, sizeof all_cores, &all_cores) != 0) return 1;
    print_machine();
    const bool well = print_table(false, seconds) && print_table(true, seconds);
    printf("\n?: in a tenth of the bursts or more the threads did not run at once\n");
    return !well;
}
