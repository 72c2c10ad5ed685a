/* SPDX-License-Identifier: MIT
 *
 * When a server forks workers. A child that continued with its parent's generator would repeat its IDs, so it gets
 * FLAKE_FORKED until flake_reinit_after_fork gives it another number. That call also drops the parent's number,
 * which the child inherited: until then it keeps the number, even if the parent has ended. A child that draws no IDs
 * calls flake_close instead, which leaves the parent's generator alone. A program that becomes a daemon has forked,
 * too: call flake_init after that.
 *
 * The range has a number for the parent, one for each child, and one for each child that ends late, when its
 * replacement starts: a child claims a number before it drops the inherited one. Where workers are killed, add as
 * many as may be killed within 3 s: with fewer numbers, init waits. A parent that draws nothing calls no
 * init, or closes before it forks; then its children call flake_init.
 *
 * sno_generate needs none of this, if it was called once before the fork: in a child
 * it takes another partition.
 *
 * Other hosts do not see this directory, and need ranges of their own.
 */
#include "flake.h"
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 4 };
static flake_gen ids;

static int work(void) {
    flake_why why;
    uint64_t id;
    if (flake_reinit_after_fork(&ids, flake_node_any("ids", 0, 99), NULL, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    const flake_status status = flake_next(&ids, &id);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    if (flake_close(&ids, &why) != FLAKE_OK) return fprintf(stderr, "%s\n", why.text), 1;
    return 0;
}

int main(void) {
    flake_why why;
    int status, failed = 0;
    // "/var/lib/app/ids" in production: a disk that survives a restart of the machine
    if (flake_init(&ids, flake_node_any("ids", 0, 99), NULL, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    for (int worker = 0; worker < WORKERS; worker++) {
        const pid_t child = fork();
        if (child == 0) _exit(work());
        if (child == -1) return perror("fork"), 1;
    }
    while (wait(&status) > 0) failed |= status;
    if (flake_close(&ids, &why) != FLAKE_OK) return fprintf(stderr, "%s\n", why.text), 1;
    return failed != 0;
}
