/* SPDX-License-Identifier: MIT
 *
 * When a thread must never block. flake_try returns at once. On FLAKE_AGAIN and FLAKE_CLOCK_BACKWARDS
 * requests stay in the loop's own list, and flake_retry_ns is the loop's timeout. No other status goes away
 * with time.
 */
#include "flake.h"
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

static flake_gen ids;
static flake_options options;

static int timeout_ms(void) {
    const int64_t ms = flake_retry_ns(&ids) / 1000000 + 1;
    return ms < 1000 ? (int)ms : 1000;
}

int main(void) {
    static char requests[1000];
    int ends[2], waiting = 0, answered = 0;
    flake_why why;
    flake_status status = FLAKE_OK;
    uint64_t id;
    options.layout = flake_layout_sonyflake; // 256 IDs in 10 ms are soon exhausted
    if (flake_init(&ids, &options, &why) != FLAKE_OK) return fprintf(stderr, "%s\n", why.text), 1;
    if (pipe(ends) != 0 || write(ends[1], requests, sizeof requests) != sizeof requests)
        return perror("pipe"), 1;
    while (answered < 1000) {
        struct pollfd event = {ends[0], POLLIN, 0};
        if (poll(&event, 1, waiting ? timeout_ms() : -1) < 0) return perror("poll"), 1;
        if (event.revents & POLLIN) waiting += (int)read(ends[0], requests, sizeof requests);
        for (; waiting && (status = flake_try(&ids, &id)) == FLAKE_OK; waiting--) answered++;
        if (status != FLAKE_OK && status != FLAKE_AGAIN && status != FLAKE_CLOCK_BACKWARDS)
            return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    }
    return 0;
}
