/* SPDX-License-Identifier: MIT
 *
 * What the players of both headers share: calls by name, and what the oracle is asked for them.
 */
#ifndef PLAYER_H
#define PLAYER_H

#include "fuzz.h"
#include "flake.h"

typedef enum player_call {
    PLAYER_NEXT,
    PLAYER_TRY,
    PLAYER_NEXT_N,
    PLAYER_TRY_N,
    PLAYER_TRY_AT,
    PLAYER_PREFETCH,
    PLAYER_WITH_TIME,
    PLAYER_RESTORE,
    PLAYER_CLOCK,
    PLAYER_NONE
} player_call;

static inline void player_begin_step(player_call call, size_t actor) {
    static const char *const names[] = {"next",     "try",       "next_n",  "try_n", "try_at",
                                        "prefetch", "with_time", "restore", "clock", "none"};
    fuzz_call = names[call];
    if (fuzz_traced) printf("%u %s, actor %d\n", fuzz_step, fuzz_call, (int)actor);
}

/* How an oracle waits; 0: as long as usual. */
static inline void player_set_waits(oracle *o, int64_t max_wait_ms) {
    if (!max_wait_ms) max_wait_ms = 1000;
    o->max_wait_ns = max_wait_ms > INT64_MAX / FUZZ_MS ? INT64_MAX : max_wait_ms * FUZZ_MS;
    o->clock_ns = &fuzz_reading_ns;
    o->sleep = fuzz_sleep;
}

/* A coarse clock may read less than this, and a time before the end of all units. */
static inline uint64_t player_latest_unit(const oracle *o) {
    uint64_t now = 0;
    if (oracle_unit_at(o, fuzz_latest_ns(), &now) != ORACLE_OK)
        now = fuzz_latest_ns() < oracle_start_ns(o, 0) ? 0 : o->last_unit;
    return now;
}

/* A time for a call: the clock's, one near it, or any. */
static inline int64_t player_given_ms(int64_t now_ms, unsigned may) {
    const uint8_t choice = fuzz_byte();
    if (choice < 100) return now_ms;
    if (choice < 150) return now_ms - (int64_t)fuzz_below(1 << 12);
    if (choice < 200 || !(may & FUZZ_OUTSIDE)) return now_ms + choice % 16;
    const uint64_t any = fuzz_number();
    return (int64_t)(choice & 1 ? any : 0 - any);
}

/* What try_at gives for that time. */
static inline void player_ask_at(oracle *o, int64_t unix_ms, fuzz_wanted *w) {
    oracle_run run = {{0, 0, 0}, 0};
    const int64_t most_ms = INT64_MAX / FUZZ_MS;
    w->status = unix_ms > most_ms
                    ? ORACLE_RANGE
                    : oracle_draw_at(o, unix_ms < -most_ms ? INT64_MIN : unix_ms * FUZZ_MS, &run);
    w->n = w->status == ORACLE_OK;
    w->places[0] = run.first;
    w->after_ns = script_now.now_ns;
}

/* Notes come while callers queue; whatever the clock did, they count a queue that there was. */
static inline void player_read_notes(flake_ring *ring, uint64_t most) {
    flake_overflow note;
    while (flake_ring_pop(ring, &note))
        fuzz_true("queued callers of a note", note.waiting <= most);
}

#endif
