/* SPDX-License-Identifier: MIT
 *
 * The test harness: a test is a function; a failed CHECK prints its location and fails the test; a program's last line
 * is "N passed, N failed".
 *
 *     TEST(adds) { CHECK(1 + 1 == 2); }
 *
 * is a program: `program NAME...` runs the tests whose names contain one of the words. One that does more defines
 * CHECK_OWN_MAIN before it includes this, and calls check_main.
 */
#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether to take little time. */
#ifdef TEST_SMALL
enum { small = 1 };
#else
enum { small = 0 };
#endif

typedef struct check_test {
    const char *name;
    void (*run)(void);
    int line; /* the order in which they run */
    struct check_test *next;
} check_test;

static check_test *check_tests;

static inline void check_add(check_test *test) {
    check_test **at = &check_tests;
    while (*at && (*at)->line < test->line) at = &(*at)->next;
    test->next = *at;
    *at = test;
}

#define TEST(name)                                                          \
    static void name(void);                                                 \
    __attribute__((constructor)) static void check_add_##name(void) {       \
        static check_test test = {#name, name, __LINE__, NULL};          \
        check_add(&test);                                                   \
    }                                                                       \
    static void name(void)

static const char *check_running = "main"; /* the running test, */
static int check_failures;                 /* its failures, */
static unsigned check_turns;               /* and its readings and sleeps of a scripted clock */
static void (*check_before)(void), (*check_after)(void); /* called around each test */
static void (*check_failed)(void);                       /* called for each failure */

static inline void check_fail(const char *file, int line, const char *what) {
    if (++check_failures <= 5) printf("  %s:%d: %s\n", file, line, what);
    (void)fflush(stdout); /* a crash may follow */
    if (check_failed) check_failed();
}

/* A call that does not return fails the test, and with it the program. */
static inline void check_endless(void) {
    printf("  a call does not return\nFAIL %s\n", check_running);
    (void)fflush(stdout);
    _Exit(1);
}

/* Each reading of a scripted clock and each sleep. Relaxed: it must not order what threads do. */
static inline unsigned check_turn_number(void) { return __atomic_fetch_add(&check_turns, 1u, __ATOMIC_RELAXED); }

/* Tests need at most six million turns. */
static inline void check_turn(void) {
    if (check_turn_number() >= 10000000) check_endless();
}

#define CHECK(condition)                                              \
    do {                                                              \
        if (!(condition)) check_fail(__FILE__, __LINE__, #condition); \
    } while (0)

#define CHECK_EQ(a, b) check_equal(__FILE__, __LINE__, #a, #b, (int64_t)(a), (int64_t)(b))
static inline void check_equal(const char *file, int line, const char *a_is, const char *b_is, int64_t a, int64_t b) {
    char text[256];
    if (a == b) return;
    (void)snprintf(text, sizeof text, "%s is %" PRId64 ", not %s = %" PRId64, a_is, a, b_is, b);
    check_fail(file, line, text);
}

#define CHECK_STR(a, b) check_same_text(__FILE__, __LINE__, #a, a, b)
static inline void check_same_text(const char *file, int line, const char *a_text, const char *a, const char *b) {
    char text[512];
    if (a && strcmp(a, b) == 0) return;
    (void)snprintf(text, sizeof text, "%s is \"%s\", not \"%s\"", a_text, a ? a : "(null)", b);
    check_fail(file, line, text);
}

static inline int is_zero(const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (((const uint8_t *)bytes)[i]) return 0;
    return 1;
}

/* A draw fails with this status, and zeroes its output: a variable or an array. */
#define FAILS(call, status, out)                     \
    do {                                             \
        memset((void *)&(out), 0x5e, sizeof(out));   \
        CHECK_EQ(call, status);                      \
        CHECK(is_zero((void *)&(out), sizeof(out))); \
    } while (0)

static inline int check_main(int argc, char **argv) {
    int passed = 0, failed = 0;
    for (const check_test *test = check_tests; test; test = test->next) {
        int wanted = argc < 2;
        for (int a = 1; a < argc; a++) wanted |= strstr(test->name, argv[a]) != NULL;
        if (!wanted) continue;
        check_running = test->name;
        check_failures = 0;
        check_turns = 0;
        if (check_before) check_before();
        test->run();
        if (check_after) check_after();
        printf("%s %s\n", check_failures ? "FAIL" : "ok", test->name);
        fflush(stdout);
        if (check_failures) failed++;
        else passed++;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed ? 1 : passed ? 0 : 77; /* 77: it has none of the tests; another program may */
}

#ifndef CHECK_OWN_MAIN
int main(int argc, char **argv) { return check_main(argc, argv); }
#endif

#endif
