/* SPDX-License-Identifier: MIT
 *
 * Random bytes on Linux: a machine that has just started waits for them, rather than take bytes that a copy of it
 * may also get.
 */
#include "check.h"
#if defined(__linux__)
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#endif
#include "flake.h"

#if defined(SYS_getrandom)
static struct {
    unsigned calls, interrupted, flags; /* flags: of all calls */
} kernel;

/* Replaces the C library's. */
long syscall(long number, ...);
long syscall(long number, ...) {
    va_list values;
    va_start(values, number);
    uint8_t *const to = va_arg(values, uint8_t *);
    const size_t n = va_arg(values, size_t);
    kernel.flags |= va_arg(values, unsigned);
    va_end(values);
    kernel.calls++;
    errno = number != SYS_getrandom ? ENOSYS : kernel.interrupted ? EINTR : 0;
    if (kernel.interrupted) kernel.interrupted--;
    if (errno) return -1;
    for (size_t i = 0; i < n; i++) to[i] = (uint8_t)(0xa0 + i);
    return (long)n;
}

TEST(the_kernel_is_asked_to_wait_until_it_has_random_bytes) {
    uint8_t bytes[16] = {0};
    kernel.interrupted = 3; /* by signals, meanwhile */
    errno = 7;
    CHECK(flake_i_random_bytes(bytes, sizeof bytes));
    CHECK_EQ(kernel.flags, 0); /* GRND_NONBLOCK would be 1, GRND_INSECURE 4 */
    CHECK_EQ(kernel.calls, 4);
    CHECK_EQ(bytes[0], 0xa0);
    CHECK_EQ(bytes[15], 0xaf);
    CHECK_EQ(errno, 7);
}

#else
TEST(there_is_no_such_call) { puts("  SKIPPED: the kernel has no call for random bytes"); }
#endif
