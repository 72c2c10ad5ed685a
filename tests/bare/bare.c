/* SPDX-License-Identifier: MIT
 *
 * The headers with parts left out, or on machines without them: optouts.sh builds this with each of the
 * macros FLAKE_NO_FILES, FLAKE_NO_NET and FLAKE_NO_OS, in C and in C++; cross.sh builds it for a
 * processor without an operating system, and for WASI.
 *
 * Without an operating system the clock moves only during sleeps, like that of a timer whose interrupt
 * alone wakes the processor. PLAIN_ATOMICS: for a processor without 64-bit atomics, where one core
 * draws, and no interrupt handler does.
 */
#include <inttypes.h>
#include <stdbool.h>
#ifndef PRId64 /* newlib hides it from strict C */
#define PRId64 "lld"
#endif
#include "../support/check.h"

#if defined(FLAKE_NO_OS)
static int64_t board_now_ns = 1800000000000000000;
#define FLAKE_CLOCK_NS(kind) ((void)(kind), board_now_ns)
#define FLAKE_SLEEP_NS(ns)   ((void)(board_now_ns += (ns)))
#endif

#if defined(PLAIN_ATOMICS)
#define FLAKE_ATOMIC(T)                 T
#define FLAKE_ATOMIC_LOAD(p, order)     (*(p))
#define FLAKE_ATOMIC_STORE(p, v, order) ((void)(*(p) = (v)))
#define FLAKE_ATOMIC_ADD(p, v, order)   (*(p) += (v), *(p) - (v))
#define FLAKE_ATOMIC_CAS(p, seen, v, success, failure) \
    (*(p) == *(seen) ? (*(p) = (v), true) : (*(seen) = *(p), false))
#endif

#include "../../flake.h"
#include "../../sno.h"

#if defined(WIN32_LEAN_AND_MEAN) || defined(NOMINMAX) || defined(min) || defined(max)
#error "a macro that was for <windows.h> is left behind, or one of its own that is in the way"
#endif

#if defined(FLAKE_NO_OS)
enum { has_system = 0 };
#else
enum { has_system = 1 };
#endif
#if defined(FLAKE_NO_OS) || defined(FLAKE_NO_FILES) || defined(_WIN32) || defined(__wasi__)
enum { has_files = 0 };
#else
enum { has_files = 1 };
#endif
#if defined(FLAKE_NO_OS) || defined(FLAKE_NO_NET) || defined(_WIN32) || defined(__wasi__)
enum { has_net = 0 };
#else
enum { has_net = 1 };
#endif

/* The reason names the macro that leaves it out, or what else is missing. */
static bool names_the_cause(const char *why) { return why && (strstr(why, "FLAKE_NO_") || strstr(why, "POSIX")); }

enum { IDS = 20000 }; /* of several units */

/* What a call for a node number sets on failure. */
static const uint64_t no_number = 0xBFFFFFFFBFFFBFFF;

static flake_gen ids;

TEST(flake_ids_rise) {
    uint64_t last = 0, id = 0;
    CHECK_EQ(flake_init(&ids, flake_node_fixed(NULL, 0), NULL, NULL), FLAKE_OK);
    for (int i = 0; i < IDS; i++) {
        CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
        CHECK(id > last);
        last = id;
    }
    flake_parts parts = {0, 0, 0};
    CHECK_EQ(flake_decompose(&flake_layout_default, id, &parts), FLAKE_OK);
    CHECK(parts.unix_ms >= 1767225600000);
}

TEST(flake128_ids_rise) {
    static flake_gen wide;
    static flake128 batch[IDS];
    flake_options options;
    memset(&options, 0, sizeof options);
    options.layout = flake_layout_boundary;
    CHECK_EQ(flake_init(&wide, flake_node_fixed(NULL, 0x001a2b3c4d5e), &options, NULL), FLAKE_OK);
    CHECK_EQ(flake128_next_n(&wide, batch, IDS), FLAKE_OK);
    for (int i = 1; i < IDS; i++) CHECK(flake128_compare(&batch[i - 1], &batch[i]) < 0);
}

TEST(shards_differ) {
    static flake_gen shards[4];
    uint64_t last[4] = {0, 0, 0, 0}, id = 0;
    CHECK_EQ(flake_init_shards(shards, 4, flake_node_fixed(NULL, 0), NULL, NULL), FLAKE_OK);
    for (unsigned i = 0; i < IDS; i++) {
        CHECK_EQ(flake_next(&shards[i % 4], &id), FLAKE_OK);
        CHECK(id > last[i % 4]);
        CHECK_EQ(id >> 10 & 3, i % 4); /* a quarter of the sequence numbers each */
        last[i % 4] = id;
    }
}

TEST(sno_ids_rise) {
    sno_id last = sno_generate(42);
    for (int i = 0; i < IDS; i++) {
        const sno_id id = sno_generate(42);
        CHECK(sno_compare(last, id) < 0);
        last = id;
    }
}

TEST(a_uuid_of_a_given_time_needs_random_bytes) {
    char text[37] = "unchanged";
    CHECK_EQ(flake_uuid7_at(1645557742000, text), has_system ? FLAKE_OK : FLAKE_IO);
    CHECK(!memcmp(text, has_system ? "017f22e2-79b0-7" : "unchanged", has_system ? 15 : 10));
    CHECK_EQ(flake_uuid7_at(-1, text), FLAKE_TIME_RANGE);
}

TEST(a_clone_stops_all_generators) {
    uint64_t id = 0;
    CHECK_EQ(flake_init(&ids, flake_node_fixed(NULL, 0), NULL, NULL), FLAKE_OK);
    flake_machine_cloned();
    CHECK_EQ(flake_try(&ids, &id), FLAKE_FORKED);
    const sno_id before = sno_generate(1);
    flake_machine_cloned();
    CHECK(sno_partition(sno_generate(1)) != sno_partition(before));
}

TEST(a_directory_is_there_or_says_why) {
    static const flake_layout layouts[] = {FLAKE_LAYOUT_DEFAULT, FLAKE_LAYOUT_BOUNDARY};
    static sno_gen snos;
    const flake_status wanted = has_files ? FLAKE_OK : FLAKE_IO;
    flake_options options;
    uint64_t id;
    flake128 wide;
    sno_id sno;
    memset(&options, 0, sizeof options);
    for (int i = 0; i < 4; i++) { /* 3: a sno */
        const flake_node node = i % 2 ? flake_node_any(".", 77, 78) : flake_node_fixed(".", 77);
        flake_gen *const g = i == 3 ? &snos.gen : &ids;
        flake_why why = {""};
        if (i < 3) options.layout = layouts[i / 2];
        else memset(&options.layout, 0, sizeof options.layout);
        CHECK_EQ(i == 3 ? sno_init(&snos, node, NULL, &options, &why) : flake_init(g, node, &options, &why), wanted);
        CHECK(has_files || names_the_cause(why.text));
        CHECK(has_files ? flake_gen_node(g) - 77 < 2 : flake_gen_node(g) == UINT64_MAX);
        CHECK_EQ(i == 3   ? sno_next(&snos, 1, &sno)
                 : i == 2 ? flake128_next(g, &wide)
                          : flake_next(g, &id),
                 has_files ? FLAKE_OK : FLAKE_INVALID);
        CHECK_EQ(flake_extend(g, NULL), has_files ? FLAKE_OK : FLAKE_INVALID);
        CHECK_EQ(flake_take_over(g, NULL), FLAKE_INVALID);
        CHECK_EQ(flake_close(g, NULL), FLAKE_OK);
    }
    if (has_files) CHECK_EQ(remove("77.slot"), 0);
    if (has_files) (void)remove("78.slot");
}

TEST(a_generator_is_closed_with_or_without_files) {
    uint64_t id = 0;
    CHECK_EQ(flake_init(&ids, flake_node_fixed(NULL, 0), NULL, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK);
    CHECK_EQ(flake_close(&ids, NULL), FLAKE_OK);
    flake_status status = FLAKE_OK; /* until its unit ends, at the latest */
    for (int i = 0; i < IDS && status == FLAKE_OK; i++) status = flake_next(&ids, &id);
    CHECK_EQ(status, FLAKE_CLOSED);
    CHECK_EQ(flake_close(&ids, NULL), FLAKE_OK);
}

TEST(addresses_are_there_or_say_why) {
    for (int i = 0; i < 2; i++) {
        uint64_t node = 77;
        flake_why why = {""};
        const flake_status status = i ? flake_node_from_mac(NULL, &node, &why) : flake_node_from_ip(&node, &why);
        if (has_net) CHECK(status == FLAKE_OK || status == FLAKE_INVALID); /* a host may have none */
        else CHECK(status == FLAKE_IO && node == no_number && names_the_cause(why.text));
    }
}

TEST(names_are_read_or_not_there) {
    uint64_t node = 77;
    flake_why why = {""};
    CHECK_EQ(flake_node_from_hostname("web-3.web.prod.svc", 100, 199, &node, &why), FLAKE_OK);
    CHECK_EQ(node, 103);
    CHECK_EQ(flake_node_from_env("NO_VARIABLE_HAS_THIS_NAME", &node, &why), FLAKE_INVALID);
    if (has_system) return;
    CHECK_EQ(flake_node_from_env("PATH", &node, &why), FLAKE_INVALID);
    CHECK_EQ(flake_node_from_hostname(NULL, 100, 199, &node, &why), FLAKE_IO);
    CHECK_EQ(node, no_number);
}
