/* SPDX-License-Identifier: MIT
 *
 * When there is no operating system, as on a Cortex-M4 or M0: the program brings the clock, the sleep and, where the
 * processor has no 64-bit atomics, these, with interrupts off for a few instructions. A gate stores a time that no ID
 * has passed in an EEPROM, so none repeats after a reset, even if the board's clock has lost its time.
 *
 * Off such a board (as in its test) the parts that are a board's are variables. Build it for one with
 *     arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb -I. examples/board.c --specs=rdimon.specs
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// ---- the board ----

static int64_t rtc_ms = INT64_C(1800000000000);     // a clock with a battery: Unix time in ms
static volatile struct { int64_t unix_ms, check; } eeprom[2]; // two cells: a reset during a write leaves one whole

#if defined(__arm__) && defined(__thumb__) && !defined(__linux__)
static inline uint32_t interrupts_off(void) {
    uint32_t before;
    __asm__ volatile("mrs %0, primask\n cpsid i" : "=r"(before) : : "memory");
    return before;
}
static inline void interrupts_as(uint32_t before) { __asm__ volatile("msr primask, %0" : : "r"(before) : "memory"); }
static inline bool in_interrupt(void) {
    uint32_t number;
    __asm__ volatile("mrs %0, ipsr" : "=r"(number));
    return number != 0;
}
#else
static inline uint32_t interrupts_off(void) { return 0; }
static inline void interrupts_as(uint32_t before) { (void)before; }
static inline bool in_interrupt(void) { return false; }
#endif

static inline int64_t board_ns(void) { return rtc_ms * 1000000; }
// Sleeps until the timer's next interrupt, which counts a ms.
static inline void board_sleep(int64_t ns) { rtc_ms += (ns + 999999) / 1000000; }

// ---- what flake.h needs: before the include, in each file of the program ----

#define FLAKE_NO_OS
#define FLAKE_CLOCK_NS(kind) ((void)(kind), board_ns())
#define FLAKE_SLEEP_NS(ns)   board_sleep(ns)
// An access of any type, with interrupts off: gcc and clang.
#define WHOLE(T, name, access) __extension__({ \
    const uint32_t name##_before = interrupts_off(); \
    const T name = access; \
    interrupts_as(name##_before); \
    name; })
#define FLAKE_ATOMIC(T)                 T
#define FLAKE_ATOMIC_LOAD(p, order)     WHOLE(__typeof__(*(p)), loaded, *(p))
#define FLAKE_ATOMIC_STORE(p, v, order) ((void)WHOLE(__typeof__(*(p)), stored, *(p) = (v)))
#define FLAKE_ATOMIC_ADD(p, v, order)   (WHOLE(__typeof__(*(p)), added, *(p) += (v)) - (v))
#define FLAKE_ATOMIC_CAS(p, seen, v, success, failure) \
    WHOLE(bool, swapped, (*(p) == *(seen) ? (*(p) = (v), true) : (*(seen) = *(p), false)))
#include "flake.h"

// ---- the time that no ID has passed ----

// How often it is stored at most, and how long a start waits after a reset. An EEPROM cell has 100,000 writes or more:
// two last for 139 days of steady draws, so use more cells, or a longer interval.
enum { INTERVAL_MS = 60000 };

static bool is_whole(int cell) { return eeprom[cell].check == ~eeprom[cell].unix_ms; }

// 0: nothing was stored
static int64_t stored_ms(void) {
    int64_t latest = 0;
    for (int cell = 0; cell < 2; cell++)
        if (is_whole(cell) && eeprom[cell].unix_ms > latest) latest = eeprom[cell].unix_ms;
    return latest;
}

static void store_ms(int64_t unix_ms) {
    const int older = is_whole(0) && (!is_whole(1) || eeprom[0].unix_ms > eeprom[1].unix_ms);
    eeprom[older].check = 0;
    eeprom[older].unix_ms = unix_ms;
    eeprom[older].check = ~unix_ms;
}

// The gate, asked by the first draw of each unit, before IDs of times up to until_ns.
static flake_status admit(void *user, int64_t until_ns) {
    (void)user;
    if (until_ns <= stored_ms() * 1000000) return FLAKE_OK;
    if (in_interrupt()) return FLAKE_AGAIN; // the main program's next draw stores
    store_ms(until_ns / 1000000 + INTERVAL_MS);
    return FLAKE_OK;
}

// At init: all IDs of this run are later.
static int64_t not_before_ns(void *user) { return (void)user, stored_ms() * 1000000; }

static flake_gen ids;

// Any draw of the main program. An interrupt calls flake_try, and does without an ID if there is none.
static uint64_t next_id(void) {
    uint64_t id;
    for (flake_status status; (status = flake_next(&ids, &id)) != FLAKE_OK;) {
        // After a reset the clock may have to be set (TIME_RANGE), or to pass what was stored.
        if (status != FLAKE_AGAIN && status != FLAKE_CLOCK_BACKWARDS && status != FLAKE_TIME_RANGE)
            return (void)puts(flake_status_str(status)), 0;
        const int64_t wait_ns = flake_retry_ns(&ids); // perhaps years, while the clock is wrong
        board_sleep(wait_ns < 1000000 ? wait_ns : 1000000);
    }
    return id;
}

static uint64_t run(int draws) {
    flake_options options;
    flake_gate gate;
    flake_why why;
    uint64_t id = 0;
    memset(&options, 0, sizeof options);
    memset(&gate, 0, sizeof gate);
    gate.admit = admit;
    gate.not_before_ns = not_before_ns;
    // 7 is the board's own number; a failed init says why
    if (flake_init(&ids, flake_node_gated(&gate, 7), &options, &why) != FLAKE_OK) return (void)puts(why.text), 0;
    for (int i = 0; i < draws; i++) id = next_id();
    return id;
}

int main(void) {
    const uint64_t last = run(10000);
    rtc_ms -= 1000; // a reset, after which the clock is a second behind
    const uint64_t first = run(1);
    printf("%llu, and after a reset %llu\n", (unsigned long long)last, (unsigned long long)first);
    return !last || first <= last;
}
