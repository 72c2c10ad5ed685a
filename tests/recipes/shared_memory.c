/* SPDX-License-Identifier: MIT
 *
 * Workers that draw from one generator, which lies in memory that they share: one node number for all,
 * and a worker that is killed and replaced needs no new one. The word knows nothing of addresses or
 * owners: a process that dies in the middle of a call holds up nobody.
 */
#define _DEFAULT_SOURCE // MAP_ANONYMOUS
#include "flake.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 4 };
static flake_options options;

int main(void) {
    int status, failed = 0;
    uint64_t id;
    void *memory = mmap(NULL, sizeof(flake_gen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    flake_gen *ids = (flake_gen *)memory;
    options.shared_memory = true;
    if (memory == MAP_FAILED || flake_init(ids, &options, NULL) != FLAKE_OK) return 1;
    for (int worker = 0; worker < WORKERS; worker++)
        if (fork() == 0) _exit(flake_next(ids, &id) != FLAKE_OK);
    while (wait(&status) > 0) failed |= status;
    return failed != 0;
}
