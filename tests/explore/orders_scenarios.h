/* SPDX-License-Identifier: MIT
 *
 * What explore_orders.c explores: the headers on a simulated system, and the table of scenarios.
 */
#ifndef ORDERS_SCENARIOS_H
#define ORDERS_SCENARIOS_H

#include "orders.h"
#include "files.h"

// >>system
//
// The system under the headers, besides the file: pages, process IDs and the time of waits.

enum { PAGES = 4, PAGE_BYTES = 4096, UNIT_NS = 4000000 };
static _Alignas(4096) char pages[PAGES][PAGE_BYTES];
static unsigned n_pages;
static const void *told_page; /* whose copy in a child is zeroed */
static bool zeroes_no_page;   /* a kernel without that */

static void *system_map(int flags) {
    (void)flags;
    return n_pages == PAGES ? MAP_FAILED : (void *)memset(pages[n_pages++], 0, PAGE_BYTES);
}
/* A taker waits until the lock is free: FLAKE_SLEEP_NS bounds that. */
int clock_gettime(int, struct timespec *);
int clock_gettime(int kind, struct timespec *now) {
    (void)kind;
    now->tv_sec = now->tv_nsec = 0;
    return 0;
}

int madvise(void *, size_t, int);
int madvise(void *at, size_t n, int advice) {
    if (advice != 18 || zeroes_no_page) return -1; /* no other advice is supported */
    if (n) told_page = at;
    return 0;
}

#define mmap(at, n, protection, flags, fd, offset) system_map(flags)
#define munmap(at, n)                              ((void)(at), 0)
#define FLAKE_NO_SIMD
#define FLAKE_RANDOM_BYTES(to, n) (memset(to, (int)run_now.me + 1, n), true) /* a thread's own */
#define FLAKE_LANE()              run_now.me                                 /* a map slot for each thread */
#undef FLAKE_SLEEP_NS
#define FLAKE_SLEEP_NS(ns) orders_sleep()
#include "sno.h"
#include "flake.h"
#undef stat

// >>scenarios

typedef enum tested { LITMUS, RING, CLAIM, PAGE, ENGINE, SHARD, LANES } tested;

typedef struct scenario {
    const char *name, *shows;
    /* t try   n next   m try for two   o try on one's own shard   s snapshot   S stats   r retry_ns   a available
     * q notes, as a waiting caller   u push   p pop
     * of a claim: 1 to 9 admit that unit   e extend   c close   T take over, from a dead holder or the one that closes
     * f the family of partitions   P a partition   C the same, after a clone   M a mark   g generate   U a UUID   b clone
     * Litmus: x load   x=1 store   x+1 add   x?12 CAS from 1 to 2; before it A acquire, R release, S */
    const char *calls[FIBERS];
    tested of;
    unsigned cap;      /* of an engine, so of each lane; or slots of the ring */
    int clock[9];      /* units, from 1. The engine's unit at the start */
    unsigned count;    /* the word's, at the start */
    bool noted;        /* by draws, too */
    unsigned safe;     /* and used on the other timeline */
    unsigned horizon;  /* unit at the start; records are written 8 ahead */
    bool fast, coarse; /* the clock; else exact */
    bool apart;        /* each thread begins in its own lane; else all in the first */
    const char *seen;  /* litmus: what each thread loads, a colon, the ends of x and y; . any: */
    bool seldom;       /* must occur; else it must not */
    bool every;        /* again without pruning, which must reach as many ends */
    bool pageless;     /* the kernel zeroes no page in children */
    unsigned long samples;
} scenario;

// clang-format off
static const scenario scenarios[] = {
    {"litmus_sb", "store buffering", {"x=1 y", "y=1 x"}, .seen = "00:..", .seldom = true},
    {"litmus_sb_sc", "the same, seq_cst", {"Sx=1 Sy", "Sy=1 Sx"}, .seen = "00:.."},
    {"litmus_sb_half", "the same, one side only acquire and release", {"Sx=1 Sy", "Ry=1 Ax"}, .seen = "00:..", .seldom = true},
    {"litmus_mp", "a message without orders", {"x=1 y=1", "y x"}, .seen = "10:..", .seldom = true},
    {"litmus_mp_r", "released, not acquired", {"x=1 Ry=1", "y x"}, .seen = "10:..", .seldom = true},
    {"litmus_mp_a", "acquired, not released", {"x=1 y=1", "Ay x"}, .seen = "10:..", .seldom = true},
    {"litmus_mp_ra", "released and acquired", {"x=1 Ry=1", "Ay x"}, .seen = "10:.."},
    {"litmus_rmw", "an RMW carries on what was released", {"x=1 Ry=1", "y+1", "Ay x"}, .seen = ".20:.2"},
    {"litmus_cut", "a store does not", {"x=1 Ry=1", "y=2", "Ay x"}, .seen = "20:.2", .seldom = true},
    {"litmus_2w", "stores crosswise", {"x=1 y=2", "y=1 x=2"}, .seen = ":11", .seldom = true},
    {"litmus_between", "nothing comes between an RMW and what it has read", {"x+1", "x=5"}, .seen = "0:6."},
    {"litmus_add", "two additions to one value", {"x+1", "x+1"}, .seen = "00:.."},
    {"litmus_back", "loads of one location", {"x=1 x=2", "x x"}, .seen = "21:.."},
    {"litmus_lb", "read before written", {"y x=1", "x y=1"}, .seen = "11:.."},
    {"litmus_iriw", "two readers disagree", {"Rx=1", "Ry=1", "Ax Ay", "Ay Ax"}, .seen = "1010:..", .seldom = true},
    {"litmus_iriw_sc", "the same, seq_cst", {"Sx=1", "Sy=1", "Sx Sy", "Sy Sx"}, .seen = "1010:.."},
    {"litmus_close", "one reads what another has raised, the closing thread does not", {"Sy+1", "y Sx", "Sx=1 Sy"}, .seen = "0100:..", .seldom = true},
    {"litmus_close_a", "the same, acquired (which C11 forbids, C++20 does not)", {"Sy+1", "Ay Sx", "Sx=1 Sy"}, .seen = "0100:..", .seldom = true},
    {"litmus_close_sc", "the same, all seq_cst", {"Sy+1", "Sy Sx", "Sx=1 Sy"}, .seen = "0100:.."},
    {"litmus_failed", "a CAS that fails has read something old", {"x=1 x=2 y=1", "y x?23"}, .seen = "10:..", .seldom = true},
    {"litmus_chain", "what was acquired is released onwards", {"x=1 Ry=1", "Ay Rz=1", "Az x"}, .seen = "110:.."},

    {"safe_532", "two steps back, into time used on both timelines", {"tt", "tt"}, ENGINE, .cap = 1, .clock = {5, 3, 2}, .every = true},
    {"safe_2532", "the same from an earlier time", {"tt", "tt"}, ENGINE, .cap = 1, .clock = {2, 5, 3, 2}},
    {"safe_53877", "back, forward, and back again", {"tt", "tt"}, ENGINE, .cap = 1, .clock = {5, 3, 8, 7, 7}},
    {"safe_cap2", "two tickets a unit", {"tt", "tt"}, ENGINE, .cap = 2, .clock = {2, 5, 3, 2}},
    {"safe_look", "a thread that missed two changes of the timeline", {"ttt", "t"}, ENGINE, .cap = 1, .clock = {5, 3, 8, 7}},
    {"safe_3", "three threads", {"t", "t", "t"}, ENGINE, .cap = 1, .clock = {2, 5, 3, 2}},
    {"safe_2x3", "three tries each", {"ttt", "ttt"}, ENGINE, .cap = 2, .clock = {2, 5, 3, 2}},
    {"safe_3x2", "three threads, two tries each", {"tt", "tt", "tt"}, ENGINE, .cap = 1, .clock = {5, 3, 2}},
    {"safe_many", "two tickets at once", {"mt", "mt"}, ENGINE, .cap = 2, .clock = {2, 5, 3, 2}},
    {"safe_add", "draws by fetch_add", {"nn", "nt"}, ENGINE, .cap = 4, .clock = {5, 3, 4, 3}},
    {"drifts", "changes of the timeline are counted", {"tt", "tt"}, ENGINE, .cap = 100, .clock = {5, 3, 8, 7, 12, 11}},
    {"wait_blocked", "one sleeps, the other changes the timeline", {"n", "ttt"}, ENGINE, .cap = 1, .clock = {5, 3, 2, 8, 7}},
    {"wait_reload", "one sleeps, and finds another timeline", {"n", "t"}, ENGINE, .cap = 1, .clock = {5, 2, 4, 3}, .safe = 3},
    {"wait_back", "a returned ticket", {"nt", "tt"}, ENGINE, .cap = 1, .clock = {5, 3, 2, 5, 8, 7}},
    {"wait_late", "fetch_adds that come late", {"nn", "nn"}, ENGINE, .cap = 1, .clock = {5, 3, 5, 6, 7}},
    {"wait_back_532", "the same, and one that only tries", {"n", "tt"}, ENGINE, .cap = 1, .clock = {5, 3, 2, 8}},
    {"wait_returned", "a fetch_add that joins another timeline, and returns its ticket", {"n", "tt"}, ENGINE, .cap = 4, .clock = {5, 3, 2, 8}, .count = 1},
    {"ask_retry", "one only asks when", {"tt", "r"}, ENGINE, .cap = 1, .clock = {5, 3, 2}},
    {"ask_available", "one only asks how many", {"tt", "a"}, ENGINE, .cap = 1, .clock = {5, 3, 2}},

    {"fast_567", "a window is renewed after another draw began a unit", {"t", "t"}, ENGINE, .cap = 2, .clock = {5, 6, 7}, .count = 1, .fast = true, .every = true},

    {"snapshot_53", "a snapshot while the timeline changes", {"tt", "s"}, ENGINE, .cap = 4, .clock = {5, 3}},
    {"snapshot_5387", "and changes back", {"tttt", "s"}, ENGINE, .cap = 4, .clock = {5, 3, 8, 7}, .every = true},
    {"snapshot_2", "while two draw", {"tt", "tt", "s"}, ENGINE, .cap = 4, .clock = {5, 3, 8, 7}},
    {"snapshot_help", "two, while the thread that changed it has not counted that", {"t", "s", "s"}, ENGINE, .cap = 4, .clock = {5, 3}},
    {"snapshot_owned", "of another's shard", {"oo", "s"}, SHARD, .cap = 4, .clock = {5, 3}},
    {"stats", "statistics while the word is re-based", {"tt", "S"}, ENGINE, .cap = 4, .clock = {5, 6, 7}},
    {"stats_2", "by two", {"mt", "t", "S"}, ENGINE, .cap = 4, .clock = {5, 6, 7}, .every = true},
    {"stats_owned", "of another's shard", {"ooo", "S"}, SHARD, .cap = 4, .clock = {5, 6, 7}},
    {"note_2", "an election, and a late thread", {"q", "q"}, ENGINE, .cap = 1, .clock = {5, 6, 7}, .count = 6, .every = true},
    {"note_draws", "notes of waiting callers", {"n", "n"}, ENGINE, .cap = 1, .clock = {5, 6, 7}, .count = 1, .noted = true},
    {"note_end", "the last note, and a late thread", {"q", "q", "q"}, ENGINE, .cap = 1, .clock = {5, 6}, .count = 2},
    {"mix_words", "all calls at once", {"nts", "mtS", "tnr"}, ENGINE, .cap = 2, .clock = {4, 5, 3, 8, 7, 6, 9}, .samples = 300000},
    {"mix_notes", "with notes", {"nqt", "nq", "tS"}, ENGINE, .cap = 2, .clock = {5, 6, 7, 8, 9, 10, 11}, .count = 2, .samples = 300000},
    {"lanes_532", "a sweep joins a lane that leaves its timeline", {"tt", "tt"}, LANES, .cap = 1, .clock = {5, 3, 2}},
    {"lanes_sweep", "a sweep joins a lane that has left its timeline, into time used on both", {"t", "t"}, LANES, .cap = 1, .clock = {5, 3, 2}, .count = 1, .safe = 2, .apart = true, .every = true},
    {"lanes_last", "a lane leaves its timeline before a sweep asks it last", {"t", "t"}, LANES, .cap = 1, .clock = {5, 3, 2}, .count = 1, .safe = 2, .every = true},
    {"lanes_wait", "a sweep that waits in a lane", {"n", "t"}, LANES, .cap = 1, .clock = {5, 2, 4, 3}, .safe = 3},
    {"lanes_snapshot", "a snapshot while a lane leaves its timeline", {"tt", "s"}, LANES, .cap = 1, .clock = {5, 6, 3}, .count = 1},
    {"lanes_all", "a sweep, a lane that is left, and a snapshot", {"tt", "t", "s"}, LANES, .cap = 1, .clock = {5, 6, 3}, .count = 1, .apart = true},
    {"lanes_coarse", "with a clock that lags", {"tt", "t"}, LANES, .cap = 1, .clock = {5, 6, 3}, .coarse = true},
    {"lanes_fast", "with leases, whatever the counter reads", {"tt", "t"}, LANES, .cap = 2, .clock = {5, 6, 3}, .fast = true},

    {"ring_push", "two producers, a consumer, one slot", {"u", "u", "pp"}, RING, .cap = 1},
    {"ring_pop", "a producer, two consumers, one slot", {"uu", "p", "p"}, RING, .cap = 1},
    {"ring_2", "two slots", {"uu", "u", "pp"}, RING, .cap = 2, .every = true},
    {"ring_room", "a ring with room for all takes all", {"up", "up"}, RING, .cap = 2},
    {"ring_3", "three that push and pop", {"up", "up", "pu"}, RING, .cap = 2},

    {"claim_write", "two whose time is near the horizon", {"9", "9"}, CLAIM, .clock = {5, 6}, .horizon = 8},
    {"claim_later", "one of them asks for more", {"69", "8"}, CLAIM, .clock = {5, 6}, .horizon = 7, .every = true},
    {"claim_extend", "two timers, and a draw", {"e", "e", "9"}, CLAIM, .clock = {5, 7}, .horizon = 8},
    {"claim_take_over", "a dead holder's claim is taken over, and a timer", {"T", "e"}, CLAIM, .clock = {5, 6, 7}, .horizon = 8},
    {"claim_take_over_draw", "the same, and a draw past its horizon", {"T", "99"}, CLAIM, .clock = {5, 6, 7}, .horizon = 8, .every = true},
    {"claim_take_over_3", "taken over, a timer, and a draw", {"T", "e", "9"}, CLAIM, .clock = {5, 6, 7}, .horizon = 8},
    {"claim_take_over_twice", "two that take it over", {"T", "T", "9"}, CLAIM, .clock = {5, 6, 7}, .horizon = 8},
    {"claim_take_over_late", "one that takes it over from the holder that closes it", {"c", "T"}, CLAIM, .clock = {5, 6, 7}, .horizon = 20, .every = true},
    {"claim_take_over_drawn", "the same, and a draw", {"c", "T", "7"}, CLAIM, .clock = {5, 6, 7}, .horizon = 20},
    {"claim_close", "closed while two draw", {"7", "7", "c"}, CLAIM, .clock = {5, 6, 7}, .horizon = 20, .every = true},
    {"claim_close_apart", "closed while two draw, one further than the other", {"7", "8", "c"}, CLAIM, .clock = {5, 6, 7}, .horizon = 20},
    {"claim_close_twice", "two that close it", {"c", "c", "7"}, CLAIM, .clock = {5, 6, 7}, .horizon = 20},
    {"claim_close_3", "closed while two draw, one of which writes", {"9", "9", "c"}, CLAIM, .clock = {5, 6, 7}, .horizon = 8},
    {"claim_close_near", "closed while a draw writes", {"9", "c"}, CLAIM, .clock = {5, 6, 7}, .horizon = 8},
    {"claim_close_late", "closed while a draw writes, whose thread continues to draw", {"78", "c"}, CLAIM, .clock = {5, 6, 7}, .horizon = 8},
    {"claim_close_extend", "closed while a timer writes", {"c", "e"}, CLAIM, .clock = {5, 6, 7}, .horizon = 8, .every = true},
    {"claim_close_extend_3", "closed while a timer writes, and a draw", {"c", "e", "9"}, CLAIM, .clock = {5, 6, 7}, .horizon = 8},

    {"page_family", "the family of partitions", {"f", "f"}, PAGE, .clock = {5}},
    {"page_partition", "each call takes another partition", {"PP", "P"}, PAGE, .clock = {5}},
    {"page_clone", "after a clone, from another start", {"C", "C", "b"}, PAGE, .clock = {5}},
    {"page_clone_pageless", "the same where the kernel zeroes no page in children", {"C", "C", "b"}, PAGE, .clock = {5}, .pageless = true},
    {"page_mark", "the process has one mark", {"M", "M"}, PAGE, .clock = {5}},
    {"page_default", "the process's own generator", {"g", "g"}, PAGE, .clock = {5, 6}, .every = true},
    {"page_uuids", "the process's own generator of UUIDs", {"U", "U"}, PAGE, .clock = {5}, .every = true},
    {"page_uuids_2", "two calls each, while the clock advances", {"UU", "U"}, PAGE, .clock = {5, 6}},
    {"page_salt", "the salt of its keys", {"k", "k"}, PAGE, .clock = {5}, .every = true},
    {"page_bump", "and keys that change during a draw", {"UU", "b"}, PAGE, .clock = {5}},
};
// clang-format on
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

#endif
