/* SPDX-License-Identifier: MIT
 *
 * A prefork server: a child that went on with its parent's generator would repeat its ids, so it gets
 * FLAKE_FORKED until it has said which numbers are its own: another node, or other sequence numbers. (A
 * program that turns itself into a daemon has forked, too: it initialises its generators after that.) A
 * worker that takes over a dead one's number must begin in a later unit of time, which start_next_unit sees to.
 * sno_generate needs none of this, if it was called once before the fork: in a child it takes another
 * partition.
 */
#include "flake.h"
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 4 };
static flake_gen ids;
static flake_options options;

static int work(unsigned worker) {
    uint64_t id;
    if (flake_next(&ids, &id) != FLAKE_FORKED) return 1;
    options.node = flake_idgen_node(3, worker);
    options.start_next_unit = true;
    return flake_reinit_after_fork(&ids, &options, NULL) || flake_next(&ids, &id);
}

int main(void) {
    int status, failed = 0;
    options.node = flake_idgen_node(3, 0); // the parent's
    if (flake_init(&ids, &options, NULL) != FLAKE_OK) return 1;
    for (unsigned worker = 1; worker <= WORKERS; worker++)
        if (fork() == 0) _exit(work(worker));
    while (wait(&status) > 0) failed |= status;
    return failed != 0;
}
