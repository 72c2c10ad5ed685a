/* SPDX-License-Identifier: MIT
 *
 * When forked workers are to draw from one generator: it is in memory that they share. One node number
 * serves all, and a worker that is killed and replaced needs no new one. A process that dies in the middle
 * of a call holds up no other.
 */
#define _DEFAULT_SOURCE // MAP_ANONYMOUS
#include "flake.h"
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 4 };
static flake_options options;

static int work(flake_gen *ids) {
    uint64_t id;
    const flake_status status = flake_next(ids, &id);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    return 0;
}

int main(void) {
    int status, failed = 0;
    flake_why why;
    void *memory =
        mmap(NULL, sizeof(flake_gen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    flake_gen *ids = (flake_gen *)memory;
    if (memory == MAP_FAILED) return perror("mmap"), 1;
    options.shared_memory = true;
    // 7 is yours: unique among generators that run at the same time, on all hosts
    if (flake_init(ids, flake_node_fixed(NULL, 7), &options, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    for (int worker = 0; worker < WORKERS; worker++) {
        const pid_t child = fork();
        if (child == 0) _exit(work(ids));
        if (child == -1) return perror("fork"), 1;
    }
    while (wait(&status) > 0) failed |= status;
    return failed != 0;
}
