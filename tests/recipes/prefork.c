/* SPDX-License-Identifier: MIT
 *
 * When a server forks workers. A child that continued with its parent's generator would repeat its IDs, so
 * it gets FLAKE_FORKED until it has numbers of its own: another node, or another sequence range. (A program
 * that becomes a daemon has forked, too: initialise generators after that.) A worker that takes over the
 * number of a dead one must start in a later time unit, which start_next_unit ensures. sno_generate needs none
 * of this, if it was called once before the fork: in a child it takes another partition.
 *
 * With a state, each child opens one of its own and sets options.state before it calls flake_reinit_after_fork.
 * exclusive_dir is checked there, too.
 */
#include "flake.h"
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 4 };
static flake_gen ids;
static flake_options options;

static int work(unsigned worker) {
    flake_why why;
    uint64_t id;
    if (flake_next(&ids, &id) != FLAKE_FORKED) return 1;
    options.node = worker;
    options.start_next_unit = true;
    if (flake_reinit_after_fork(&ids, &options, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    const flake_status status = flake_next(&ids, &id);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    return 0;
}

int main(void) {
    flake_why why;
    int status, failed = 0;
    options.node = 0; // the parent's
    if (flake_init(&ids, &options, &why) != FLAKE_OK) return fprintf(stderr, "%s\n", why.text), 1;
    for (unsigned worker = 1; worker <= WORKERS; worker++)
        if (fork() == 0) _exit(work(worker));
    while (wait(&status) > 0) failed |= status;
    return failed != 0;
}
