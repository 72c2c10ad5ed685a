/* SPDX-License-Identifier: MIT
 *
 * A program in strict C, which hides system extensions from the header (// >>system): it uses them by their numbers, or
 * by the functions' names. A number in a directory, the lane of a thread, the clocks, and pages.
 */
#if !defined(SHOW_POSIX)
#undef _REENTRANT /* for this macro of -pthread glibc declares the clocks */
#endif
#include "support.h"
#include "flake.h"
#include <stdio.h>
#include <stdlib.h>

static flake_gen gen, second;
static char dir[400], path[420];

static flake_status claim(flake_gen *g) { return flake_init(g, flake_node_fixed(dir, 0), NULL, NULL); }

static bool names_a_directory(void) {
    const char *const room = getenv("TMPDIR");
    uint64_t any = 0;
    CHECK(flake_i_random_bytes(&any, sizeof any));
    (void)snprintf(dir, sizeof dir, "%s/flake-strict-%llx", room && *room ? room : "/tmp", (unsigned long long)any);
    (void)snprintf(path, sizeof path, "%s/0.slot", dir);
    return FLAKE_I_HAS_FILES;
}

static void free_the_number(void) {
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
    CHECK_EQ(remove(path), 0);
    CHECK_EQ(remove(dir), 0);
}

TEST(a_number_in_use_is_refused) {
    if (!names_a_directory()) return;
    CHECK_EQ(claim(&gen), FLAKE_OK);
    CHECK_EQ(claim(&second), FLAKE_IN_USE);
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK);
    free_the_number();
}

/* Otherwise a program started meanwhile would keep the lock. Linux reports a descriptor's flags. */
TEST(descriptors_end_with_the_program) {
    char name[64], line[100];
    unsigned long flags = 0;
    if (!names_a_directory()) return;
    (void)fclose(stdin); /* open gets its number, which no generator may keep */
    CHECK_EQ(claim(&gen), FLAKE_OK);
    CHECK(gen.claim.file.fd > 2);
    (void)snprintf(name, sizeof name, "/proc/self/fdinfo/%d", gen.claim.file.fd);
    FILE *const told = fopen(name, "r");
    while (told && fgets(line, sizeof line, told))
        if (strncmp(line, "flags:", 6) == 0) flags = strtoul(line + 6, NULL, 8);
    if (told) CHECK_EQ(flags & 02000003, 02000002); /* closed by exec; read and written */
    if (told) (void)fclose(told);
    free_the_number();
}

/* Where threads know their processor; else each has one of 256 lanes. */
TEST(a_threads_lane_is_its_processor) {
    int processor;
    unsigned lane;
    do { /* again if the thread has moved meanwhile */
        processor = flake_i_processor();
        lane = flake_i_system_lane();
    } while (processor != flake_i_processor());
    if (processor >= 0) CHECK_EQ(lane, processor);
    else CHECK(lane < 256);
}

#if defined(__linux__) && defined(__LP64__)
static long resolution_ns; /* of the coarse clock; below 0: unknown */

int clock_getres(int id, struct timespec *to) {
    to->tv_sec = resolution_ns / 1000000000;
    to->tv_nsec = resolution_ns % 1000000000;
    return resolution_ns < 0 || id != 5 ? -1 : 0;
}

TEST(the_clocks_are_the_systems_and_the_coarse_one_lags) {
    static const long lags_ns[][2] = {
        {1, 2}, {24999999, 49999998}, {25000001, 50000000}, {1000000001, 50000000}, {-1, 0}};
    for (size_t i = 0; i < 5000; i++) {
        const int64_t coarse_ns = flake_i_system_ns(FLAKE_CLOCK_COARSE);
        const int64_t exact_ns = flake_i_system_ns(FLAKE_CLOCK_EXACT);
        CHECK(coarse_ns <= exact_ns && exact_ns - coarse_ns < 100000000);
        const int64_t after_ns = exact_ns - (int64_t)time(NULL) * 1000000000; /* which lags, too */
        CHECK(after_ns >= 0 && after_ns < 1100000000);
        resolution_ns = lags_ns[i % 5][0]; /* the lag is twice that, or 50 ms */
        CHECK_EQ(flake_i_system_slack_ns(), lags_ns[i % 5][1]);
    }
}
#endif

TEST(a_new_page_closes_no_stream) {
    flake_i_file_id file;
    const bool has_input = flake_i_stat(NULL, 0, &file);
    void *const page = flake_i_new_page(true);
#if defined(__linux__)
    CHECK(page != NULL);
#endif
    if (page) flake_i_drop_page(page);
    CHECK_EQ(flake_i_stat(NULL, 0, &file), has_input);
}
