/* SPDX-License-Identifier: MIT
 *
 * The test harness: a test is a function, a CHECK that fails says where and fails its test, and a
 * program closes with "N passed, N failed".
 *
 *     static void adds(void) { CHECK(1 + 1 == 2); }
 *     int main(int argc, char **argv) { static const check_test all[] = {CHECK_TEST(adds)};
 *                                       return CHECK_MAIN(argc, argv, all); }
 *
 * `program NAME...` runs the tests whose names contain one of the words.
 */
#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct check_test {
    const char *name;
    void (*run)(void);
} check_test;

static const char *check_running = "main"; /* the test that runs now, */
static int check_failures;                 /* what failed in it, */
static unsigned check_turns;               /* and its readings of and sleeps by a scripted clock */

static inline void check_fail(const char *file, int line, const char *what) {
    if (++check_failures <= 5) printf("  %s:%d: %s\n", file, line, what);
}

/* A call does not return: the test fails, and with it the program. */
static inline void check_endless(void) {
    printf("  a call does not return\nFAIL %s\n", check_running);
    (void)fflush(stdout);
    _Exit(1);
}

/* Each reading of a scripted clock and each sleep by one. Tests need six million at the most. */
static inline void check_turn(void) {
    if (++check_turns > 10000000) check_endless();
}

#define CHECK(condition)                                              \
    do {                                                              \
        if (!(condition)) check_fail(__FILE__, __LINE__, #condition); \
    } while (0)

#define CHECK_EQ(a, b)                                                                            \
    do {                                                                                          \
        int64_t check_a = (int64_t)(a), check_b = (int64_t)(b);                                   \
        if (check_a != check_b) {                                                                 \
            char check_text[256];                                                                 \
            (void)snprintf(check_text, sizeof check_text, "%s is %" PRId64 ", not %s = %" PRId64, \
                           #a, check_a, #b, check_b);                                             \
            check_fail(__FILE__, __LINE__, check_text);                                           \
        }                                                                                         \
    } while (0)

#define CHECK_STR(a, b)                                                                            \
    do {                                                                                           \
        const char *check_a = (a), *check_b = (b);                                                 \
        if (strcmp(check_a, check_b) != 0) {                                                       \
            char check_text[512];                                                                  \
            (void)snprintf(check_text, sizeof check_text, "%s is \"%s\", not \"%s\"", #a, check_a, \
                           check_b);                                                               \
            check_fail(__FILE__, __LINE__, check_text);                                            \
        }                                                                                          \
    } while (0)

#define CHECK_TEST(function) \
    { #function, function }
#define CHECK_MAIN(argc, argv, tests) check_main(argc, argv, tests, sizeof(tests) / sizeof *(tests))

static inline int check_main(int argc, char **argv, const check_test *tests, size_t count) {
    int passed = 0, failed = 0;
    for (size_t i = 0; i < count; i++) {
        int wanted = argc < 2;
        for (int a = 1; a < argc; a++) wanted |= strstr(tests[i].name, argv[a]) != NULL;
        if (!wanted) continue;
        check_running = tests[i].name;
        check_failures = 0;
        check_turns = 0;
        tests[i].run();
        printf("%s %s\n", check_failures ? "FAIL" : "ok", tests[i].name);
        fflush(stdout);
        if (check_failures) failed++;
        else passed++;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0 || passed == 0;
}

#endif
