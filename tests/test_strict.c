/* SPDX-License-Identifier: MIT
 *
 * A program in strict C, which hides from the header what a system adds: it asks for that by its number,
 * or by the function's own name.
 */
#if !defined(SHOW_POSIX)
#undef _REENTRANT /* for this macro of -pthread glibc declares the clocks */
#endif
#include "support.h"
#include <time.h>

#if defined(__linux__) && defined(__LP64__)
static struct timespec resolution; /* of the coarse clock; below 0: unknown */

int clock_getres(int id, struct timespec *to);
int clock_getres(int id, struct timespec *to) {
    CHECK_EQ(id, 5);
    *to = resolution;
    return resolution.tv_sec < 0 ? -1 : 0;
}
#endif

#include "flake.h"
#include <stdio.h>
#include <stdlib.h>

static flake_state state, second;
static char path[400];

static flake_status open_at_path(flake_state *s) {
    flake_state_options o = {0};
    o.path = path;
    return flake_state_open(s, &o, NULL, NULL, NULL);
}

static bool names_a_file(void) {
    const char *const room = getenv("TMPDIR");
    uint64_t any = 0;
    CHECK(flake_i_random_bytes(&any, sizeof any));
    (void)snprintf(path, sizeof path, "%s/flake-strict-%llx", room && *room ? room : "/tmp",
                   (unsigned long long)any);
    return FLAKE_I_HAS_FILES;
}

TEST(a_file_in_use_is_refused_at_once) {
    if (!names_a_file()) return;
    CHECK_EQ(open_at_path(&state), FLAKE_OK);
    CHECK_EQ(open_at_path(&second), FLAKE_IN_USE);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
    CHECK_EQ(remove(path), 0);
}

/* Or a program that is started meanwhile would keep the lock. Linux tells what flags a descriptor has. */
TEST(descriptors_end_with_the_program) {
    char name[64], line[100];
    unsigned long flags = 0;
    if (!names_a_file()) return;
    CHECK_EQ(open_at_path(&state), FLAKE_OK);
    (void)snprintf(name, sizeof name, "/proc/self/fdinfo/%d", state.file.fd);
    FILE *const told = fopen(name, "r");
    while (told && fgets(line, sizeof line, told))
        if (strncmp(line, "flags:", 6) == 0) flags = strtoul(line + 6, NULL, 8);
    if (told) CHECK_EQ(flags & 02000003, 02000002); /* closed by exec; read and written */
    if (told) (void)fclose(told);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_OK);
    CHECK_EQ(remove(path), 0);
}

#if defined(__linux__) && defined(__LP64__)
static int64_t c11_ns(void) {
    struct timespec t;
    CHECK_EQ(timespec_get(&t, TIME_UTC), TIME_UTC);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

TEST(clocks_are_the_systems) {
    for (int i = 0; i < 1000; i++) {
        const int64_t before_ns = c11_ns(), exact_ns = flake_i_system_ns(FLAKE_CLOCK_EXACT);
        const int64_t coarse_ns = flake_i_system_ns(FLAKE_CLOCK_COARSE), after_ns = c11_ns();
        CHECK(before_ns <= exact_ns && exact_ns <= after_ns);
        CHECK(before_ns - 100000000 <= coarse_ns && coarse_ns <= after_ns);
    }
}

/* Twice the resolution, 50 ms at the most. */
TEST(the_coarse_clock_lags_by_its_resolution) {
    static const struct timespec resolutions[] = {
        {0, 1}, {0, 24999999}, {0, 25000001}, {1, 1}, {-1, 1}};
    static const uint64_t slacks[] = {2, 49999998, 50000000, 50000000, 0};
    for (size_t i = 0; i < 5; i++) {
        resolution = resolutions[i];
        CHECK_EQ(flake_i_system_slack_ns(), slacks[i]);
    }
}
#endif

TEST(a_new_page_is_of_zeros_and_closes_no_stream) {
    flake_i_found file;
    const bool has_input = flake_i_find(NULL, 0, &file);
    void *const page = flake_i_new_page(true);
    if (page) CHECK(is_zero(page, 4096));
    if (page) flake_i_drop_page(page);
    CHECK_EQ(flake_i_find(NULL, 0, &file), has_input);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
