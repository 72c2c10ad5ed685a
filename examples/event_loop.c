/* SPDX-License-Identifier: MIT
 *
 * When a thread must never block. flake_try returns at once, and its status says who acts: the loop tries again,
 * the program is wrong, the operator is told, or the machine was cloned. Meanwhile requests stay in the loop's own
 * list, and flake_retry_ns is its timeout. options.overflow reports nothing here, because no call waits: count the
 * requests in the list after FLAKE_AGAIN, and the time since the first one, instead.
 */
#include "flake.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static flake_gen ids;
static flake_options options;

static int timeout_ms(void) {
    const int64_t ms = flake_retry_ns(&ids) / 1000000 + 1;
    return ms < 1000 ? (int)ms : 1000;
}

static bool starts(void) {
    flake_why why;
    // 7 is yours: unique among generators that run at the same time, on all hosts
    if (flake_init(&ids, flake_node_fixed(NULL, 7), &options, &why) == FLAKE_OK) return true;
    (void)fprintf(stderr, "for the operator: %s\n", why.text);
    return false;
}

/* After flake_machine_cloned, which the program calls when its machine was resumed or cloned. This keeps the node:
 * only one copy of a machine may; others take another number, as a forked child does. With a state close it,
 * which returns FLAKE_FORKED, and open it again, before the init. */
static bool starts_again(void) {
    flake_release(&ids); // if exclusive_dir is set
    return starts();
}

/* Whether the draw succeeded, or will after some time. */
static bool may_continue(flake_status status) {
    switch (status) {
    case FLAKE_OK:
    case FLAKE_AGAIN:
    case FLAKE_CLOCK_BACKWARDS:
    case FLAKE_NOT_EXTENDED: return true;
    case FLAKE_FORKED: return starts_again(); // a child that fork made: flake_reinit_after_fork
    case FLAKE_TIME_RANGE:
    case FLAKE_LEASE_LOST:
    case FLAKE_IO:
    case FLAKE_CORRUPT:
    case FLAKE_MISMATCH:
    case FLAKE_DOWNTIME:
    case FLAKE_IN_USE: // a server would page somebody, and answer that it has no IDs
        (void)fprintf(stderr, "for the operator: %s\n", flake_status_str(status));
        return false;
    default: // the other statuses are mistakes of the program
        (void)fprintf(stderr, "a bug: %s\n", flake_status_str(status));
        abort();
    }
}

int main(void) {
    static char requests[1000];
    int ends[2], waiting = 0, answered = 0;
    flake_status status = FLAKE_OK;
    uint64_t id;
    options.layout = flake_layout_sonyflake; // 256 IDs in 10 ms are soon exhausted
    if (!starts()) return 1;
    if (pipe(ends) != 0 || write(ends[1], requests, sizeof requests) != sizeof requests)
        return perror("pipe"), 1;
    flake_machine_cloned(); // as if it were
    while (answered < 1000) {
        struct pollfd event = {ends[0], POLLIN, 0};
        if (poll(&event, 1, waiting ? timeout_ms() : -1) < 0) return perror("poll"), 1;
        if (event.revents & POLLIN) waiting += (int)read(ends[0], requests, sizeof requests);
        for (; waiting && (status = flake_try(&ids, &id)) == FLAKE_OK; waiting--) answered++;
        if (!may_continue(status)) return 1;
    }
    return 0;
}
