/* SPDX-License-Identifier: MIT
 *
 * When a server forks workers. A child that continued with its parent's generator would repeat its IDs, so
 * it gets FLAKE_FORKED until it has numbers of its own: another node, or another sequence range. (A program
 * that becomes a daemon has forked, too: initialise generators after that.) sno_generate needs none of this, if
 * it was called once before the fork: in a child it takes another partition.
 *
 * Here each process claims its node number from a directory. A child first closes the state that it inherited:
 * until then it keeps the parent's claim, and if the parent dies, its restart cannot have that number, or with
 * `path` gets FLAKE_IN_USE. Other hosts do not see this directory, and need another range (where.first, where.count).
 * Without a state, number the workers: one that takes over the number of a dead one starts in the next time unit.
 */
#include "flake.h"
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 4 };
static flake_gen ids;
static flake_options options;
static flake_state state;
static flake_state_options where;

static int work(void) {
    flake_why why;
    uint64_t id, number;
    (void)flake_state_close(&state, NULL); // the parent's: returns FLAKE_FORKED, its file is unchanged
    if (flake_state_open(&state, &where, flake_node_none(), &options, &number, &why) != FLAKE_OK ||
        flake_reinit_after_fork(&ids, flake_node_fixed(NULL, number), &options, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    const flake_status status = flake_next(&ids, &id);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    if (flake_state_close(&state, &why) != FLAKE_OK) return fprintf(stderr, "%s\n", why.text), 1;
    return 0;
}

int main(void) {
    flake_why why;
    uint64_t number;
    int status, failed = 0;
    where.dir = "."; // "/var/lib/app" in production: a disk that outlives a reboot
    options.state = &state;
    if (flake_state_open(&state, &where, flake_node_none(), &options, &number, &why) != FLAKE_OK ||
        flake_init(&ids, flake_node_fixed(NULL, number), &options, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    for (int worker = 0; worker < WORKERS; worker++) {
        const pid_t child = fork();
        if (child == 0) _exit(work());
        if (child == -1) return perror("fork"), 1;
    }
    while (wait(&status) > 0) failed |= status;
    if (flake_state_close(&state, &why) != FLAKE_OK) return fprintf(stderr, "%s\n", why.text), 1;
    return failed != 0;
}
