/* SPDX-License-Identifier: MIT
 *
 * When several processes are to draw from one generator: it is in memory that they share. One node number serves
 * all, and a worker that is killed and replaced needs no new one. A process that dies in the middle of a call holds
 * up no other.
 *
 * The process that called flake_init holds the number. It calls flake_extend at least twice per horizon_ms, since
 * draws do not write. If it dies, draws continue up to the horizon, 3 s at most, and then return
 * FLAKE_NOT_EXTENDED. Another process calls flake_take_over, is the holder from then on, and extends. Until then the
 * number is free: so it is a fixed one, or of a range that no other program has. After FLAKE_MISMATCH another one has
 * had it: stop all draws, close, and init.
 *
 * Let a worker call init, not the parent that forks all: a forked child holds its parent's lock until it calls
 * flake_close. It may draw afterwards.
 */
#define _DEFAULT_SOURCE // MAP_ANONYMOUS, kill
#include "flake.h"
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 4 };
static flake_options options;

/* Says through the pipe that the generator can be used. */
static int hold(flake_gen *ids, int ready) {
    flake_why why;
    options.shared_memory = true;
    // 0 to 1023: all numbers that the layout has; other hosts, and other programs, have ranges of their own
    if (flake_init(ids, flake_node_any("ids", 0, 1023), &options, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    if (write(ready, "", 1) != 1) return perror("pipe"), 1;
    while (flake_extend(ids, &why) == FLAKE_OK) (void)sleep(1);
    return fprintf(stderr, "%s\n", why.text), 1;
}

static int work(flake_gen *ids) {
    uint64_t id;
    const flake_status status = flake_next(ids, &id);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    return 0;
}

int main(void) {
    int ready[2], status, failed = 0;
    char byte;
    flake_why why;
    void *memory =
        mmap(NULL, sizeof(flake_gen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    flake_gen *ids = (flake_gen *)memory;
    if (memory == MAP_FAILED || pipe(ready) != 0) return perror("memory or pipe"), 1;
    const pid_t holder = fork();
    if (holder == 0) _exit(hold(ids, ready[1]));
    (void)close(ready[1]);
    if (holder == -1 || read(ready[0], &byte, 1) != 1) return fprintf(stderr, "no holder\n"), 1;
    for (int worker = 0; worker < WORKERS; worker++) {
        const pid_t child = fork();
        if (child == 0) _exit(work(ids));
        if (child == -1) return perror("fork"), 1;
        if (waitpid(child, &status, 0) == child) failed |= status;
    }
    if (kill(holder, SIGKILL) != 0 || waitpid(holder, &status, 0) != holder) // as if it crashed
        return perror("kill"), 1;
    if (flake_take_over(ids, &why) != FLAKE_OK) return fprintf(stderr, "%s\n", why.text), 1;
    failed |= work(ids);
    if (flake_close(ids, &why) != FLAKE_OK) return fprintf(stderr, "%s\n", why.text), 1;
    return failed != 0;
}
