/* SPDX-License-Identifier: MIT
 *
 * An event loop: flake_try never waits. On FLAKE_AGAIN and FLAKE_CLOCK_BACKWARDS, flake_retry_ns is the loop's
 * timeout, and requests stay in the loop's own list. No other status passes with time.
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
    flake_status status = FLAKE_OK;
    uint64_t id;
    options.layout = flake_layout_sonyflake; // 256 ids each 10 ms are soon spent
    if (pipe(ends) != 0 || flake_init(&ids, &options, NULL) != FLAKE_OK) return 1;
    if (write(ends[1], requests, sizeof requests) != sizeof requests) return 1;
    while (answered < 1000) {
        struct pollfd event = {ends[0], POLLIN, 0};
        if (poll(&event, 1, waiting ? timeout_ms() : -1) < 0) return 1;
        if (event.revents & POLLIN) waiting += (int)read(ends[0], requests, sizeof requests);
        for (; waiting && (status = flake_try(&ids, &id)) == FLAKE_OK; waiting--) answered++;
        if (status != FLAKE_OK && status != FLAKE_AGAIN && status != FLAKE_CLOCK_BACKWARDS) {
            (void)fprintf(stderr, "%s\n", flake_status_str(status));
            return 1;
        }
    }
}
