/* SPDX-License-Identifier: MIT
 *
 * The system's sleep, whose call is cut short by signals as often as the test says.
 */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <time.h>

static const int64_t a_second = 1000000000;
static int64_t end_ns[100]; /* what each call asks for */
static unsigned calls, cut_short;

static int64_t ns_of(const struct timespec *t) {
    return (int64_t)t->tv_sec * a_second + t->tv_nsec;
}

#if defined(__linux__)
int clock_nanosleep(clockid_t id, int flags, const struct timespec *until, struct timespec *left) {
    CHECK_EQ(id, CLOCK_MONOTONIC);
    CHECK_EQ(flags, TIMER_ABSTIME);
    CHECK(left == NULL);
    CHECK(until->tv_nsec >= 0 && until->tv_nsec < a_second);
    end_ns[calls++ % 100] = ns_of(until);
    return calls <= cut_short ? EINTR : 0;
}
#endif

#include "flake.h"

static int64_t now_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return ns_of(&t);
}

TEST(signals_put_the_end_of_a_sleep_off_by_nothing) {
    static const int64_t lengths[] = {1, 999999999, 1500000000, 86400 * a_second + 999999999};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        calls = 0;
        cut_short = 50;
        errno = 77;
        const int64_t before_ns = now_ns();
        flake_i_system_sleep(lengths[i]);
        const int64_t after_ns = now_ns();
        CHECK_EQ(errno, 77);
        CHECK_EQ(calls, 51);
        for (unsigned k = 0; k < calls; k++) CHECK_EQ(end_ns[k], end_ns[0]);
        CHECK(end_ns[0] >= before_ns + lengths[i] && end_ns[0] <= after_ns + lengths[i]);
    }
}

TEST(a_sleep_for_ever_is_one) {
    calls = 0;
    cut_short = 0;
    flake_i_system_sleep(INT64_MAX);
    CHECK_EQ(calls, 1);
    CHECK(end_ns[0] > now_ns() + 30ll * 365 * 86400 * a_second);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
