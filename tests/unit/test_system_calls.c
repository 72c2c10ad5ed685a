/* SPDX-License-Identifier: MIT
 *
 * System calls that a test replaces. A sleep (flake_i_system_sleep), which signals interrupt as often as a test says,
 * lasts until an absolute time. Random bytes (flake_i_system_random): a machine that has just started waits for them,
 * rather than take bytes that a copy of it may also get. Both leave errno unchanged. Then which counter is cheap enough
 * for the fast clock.
 */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <stdarg.h>
#include "real_time.h"

static const int64_t a_second = 1000000000;
static int64_t end_ns[100]; /* each call's request */
static unsigned calls, cut_short;

#if defined(__linux__)
int clock_nanosleep(clockid_t id, int flags, const struct timespec *until, struct timespec *left) {
    CHECK_EQ(id, CLOCK_MONOTONIC);
    CHECK_EQ(flags, TIMER_ABSTIME);
    CHECK(left == NULL);
    CHECK(until->tv_nsec >= 0 && until->tv_nsec < a_second);
    end_ns[calls++ % 100] = (int64_t)until->tv_sec * a_second + until->tv_nsec;
    return calls <= cut_short ? EINTR : 0;
}
#endif

#if defined(__GNUC__) && defined(__x86_64__)
/* Of clock and counter. A reading takes its cost in counts, and 100 more in all rounds but the last. */
static unsigned readings;
static int64_t take(void *price) {
    static int64_t counter;
    counter += *(const int64_t *)price + (readings++ / 67 < 3) * 100;
    return counter;
}
static int64_t counter_price;
#define __builtin_ia32_rdtsc() (uint64_t) take(&counter_price)
#endif
#include "flake.h"

TEST(signals_do_not_postpone_the_end_of_a_sleep) {
    static const int64_t lengths[] = {1, 999999999, 1500000000, 86400 * a_second + 999999999};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        calls = 0;
        cut_short = 50;
        errno = 77;
        const int64_t before_ns = clock_ns(CLOCK_MONOTONIC);
        flake_i_system_sleep(lengths[i]);
        const int64_t after_ns = clock_ns(CLOCK_MONOTONIC);
        CHECK_EQ(errno, 77);
        CHECK_EQ(calls, 51);
        for (unsigned k = 0; k < calls; k++) CHECK_EQ(end_ns[k], end_ns[0]);
        CHECK(end_ns[0] >= before_ns + lengths[i] && end_ns[0] <= after_ns + lengths[i]);
    }
}

TEST(the_longest_sleep_takes_decades) {
    calls = 0;
    cut_short = 0;
    flake_i_system_sleep(INT64_MAX);
    CHECK_EQ(calls, 1);
    CHECK(end_ns[0] > clock_ns(CLOCK_MONOTONIC) + 30ll * 365 * 86400 * a_second);
}

#ifdef __builtin_ia32_rdtsc
/* 32 readings of the clock and one of the counter take 3/2 to 32 times as much as 33 of the counter. */
TEST(a_counter_suits_if_it_is_cheaper_than_the_clock_but_not_by_far) {
    static const int64_t prices[][3] = {{97, 64, 0}, {98, 64, 1}, {1054, 32, 1}, {1055, 32, 0}};
    for (size_t i = 0; i < sizeof prices / sizeof *prices; i++) {
        int64_t clock_price = prices[i][0];
        const flake_clock clock = {.now_ns = take, .user = &clock_price};
        counter_price = prices[i][1];
        readings = 0;
        CHECK_EQ(flake_i_counter_suits(&clock), prices[i][2]);
    }
}
#endif

#if defined(SYS_getrandom)
static struct {
    unsigned calls, interrupted, flags; /* flags: of all calls */
    int refuses_with;
} kernel;

/* Replaces the C library's. */
long syscall(long number, ...) {
    va_list values;
    va_start(values, number);
    uint8_t *const to = va_arg(values, uint8_t *);
    const size_t n = va_arg(values, size_t);
    kernel.flags |= va_arg(values, unsigned);
    va_end(values);
    kernel.calls++;
    errno = number != SYS_getrandom ? ENOSYS : kernel.interrupted ? EINTR : kernel.refuses_with;
    if (kernel.interrupted) kernel.interrupted--;
    if (errno) return -1;
    for (size_t i = 0; i < n; i++) to[i] = (uint8_t)(0xa0 + i);
    return (long)n;
}

TEST(the_kernel_is_asked_to_wait_until_it_has_random_bytes) {
    uint8_t bytes[16] = {0};
    memset(&kernel, 0, sizeof kernel);
    kernel.interrupted = 3; /* by signals, meanwhile */
    errno = 7;
    CHECK(flake_i_random_bytes(bytes, sizeof bytes));
    CHECK_EQ(kernel.flags, 0); /* GRND_NONBLOCK would be 1, GRND_INSECURE 4 */
    CHECK_EQ(kernel.calls, 4);
    CHECK_EQ(bytes[0], 0xa0);
    CHECK_EQ(bytes[15], 0xaf);
    CHECK_EQ(errno, 7);
}

TEST(without_that_call_a_file_is_read) {
    uint8_t bytes[2][16] = {{0}};
    memset(&kernel, 0, sizeof kernel);
    kernel.refuses_with = ENOSYS;
    for (int i = 0; i < 2; i++) CHECK(flake_i_random_bytes(bytes[i], sizeof bytes[i]));
    CHECK_EQ(kernel.calls, 2);
    CHECK(memcmp(bytes[0], bytes[1], sizeof bytes[0]) != 0);
}
#endif
