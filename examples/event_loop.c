/* SPDX-License-Identifier: MIT
 *
 * When a thread must never block. flake_try returns at once, and its status tells what to do: the loop tries
 * again, the program is wrong, the operator is told, or the machine was cloned. Meanwhile requests stay in the loop's
 * own list, and flake_retry_ns is its timeout. options.overflow reports nothing here, because no call waits: count the
 * requests in the list after FLAKE_AGAIN, and the time since the first one, instead.
 *
 * With manual_extend no draw waits for the disk: a timer's thread calls flake_extend, here each second.
 */
#include "flake.h"
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static flake_gen ids;
static flake_options options;
static pthread_mutex_t reinit = PTHREAD_MUTEX_INITIALIZER; // no extend beside it; draws take no lock

static int timeout_ms(void) {
    const int64_t ms = flake_retry_ns(&ids) / 1000000 + 1;
    return ms < 1000 ? (int)ms : 1000;
}

static void *extend(void *unused) {
    flake_why why;
    for (flake_status status = FLAKE_OK; status != FLAKE_CLOSED; (void)sleep(1)) {
        (void)pthread_mutex_lock(&reinit);
        status = flake_extend(&ids, &why);
        (void)pthread_mutex_unlock(&reinit);
        if (status == FLAKE_IO || status == FLAKE_MISMATCH)
            (void)fprintf(stderr, "for the operator: %s\n", why.text);
    }
    return unused;
}

/* After a fork, or flake_machine_cloned, which the program calls when its machine was resumed or cloned. Clones have
 * copies of the directory, too: each needs a range of its own. */
static bool takes_another_number(void) {
    flake_why why;
    (void)pthread_mutex_lock(&reinit);
    const flake_status status =
        flake_reinit_after_fork(&ids, flake_node_any("ids", 100, 199), NULL, &why);
    (void)pthread_mutex_unlock(&reinit);
    if (status != FLAKE_OK) (void)fprintf(stderr, "for the operator: %s\n", why.text);
    return status == FLAKE_OK;
}

/* Whether the draw succeeded, or will after some time. */
static bool may_continue(flake_status status) {
    switch (status) {
    case FLAKE_OK:
    case FLAKE_AGAIN:
    case FLAKE_CLOCK_BACKWARDS:
    case FLAKE_NOT_EXTENDED: return true;
    case FLAKE_FORKED: return takes_another_number();
    case FLAKE_TIME_RANGE:
    case FLAKE_LEASE_LOST:
    case FLAKE_IO:
    case FLAKE_CORRUPT:
    case FLAKE_MISMATCH:
    case FLAKE_DOWNTIME:
    case FLAKE_IN_USE: // a server would alert the operator, and answer that it has no IDs
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
    pthread_t timer;
    flake_why why;
    uint64_t id;
    options.layout = flake_layout_sonyflake; // 256 IDs in 10 ms are soon exhausted
    options.manual_extend = true;
    if (flake_init(&ids, flake_node_any("ids", 0, 99), &options, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    if (pthread_create(&timer, NULL, extend, NULL) != 0) return fprintf(stderr, "no thread\n"), 1;
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
    if (flake_close(&ids, &why) != FLAKE_OK) return fprintf(stderr, "%s\n", why.text), 1;
    return 0; // ends the timer, too
}
