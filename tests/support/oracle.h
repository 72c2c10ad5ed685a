/* SPDX-License-Identifier: MIT
 *
 * The oracle of tests and fuzzers, for both headers: what a generator must return to one call after the other. It
 * models what the headers promise, not how they do it: it packs no word, and has one thread.
 *
 *     oracle o = oracle_of(epoch_ms, unit_ms, time_bits, cap);   then set what differs, and the clock
 *     oracle_run run; if (oracle_draw(&o, ORACLE_WAIT, 1, &run) == ORACLE_OK) ... run.first is the
 *     ticket
 *
 * The statuses have the values of the FLAKE_ and SNO_ statuses.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef enum oracle_status {
    ORACLE_OK,
    ORACLE_AGAIN,
    ORACLE_CLOCK_BACK,
    ORACLE_RANGE,
    ORACLE_TOO_FAR_AHEAD = 16
} oracle_status;

typedef enum oracle_how { ORACLE_TRY, ORACLE_WAIT } oracle_how;

/* Number `index` (from 0) of a unit, on the timeline `tick`. */
typedef struct oracle_place {
    uint64_t unit, index;
    unsigned tick;
} oracle_place;

/* n tickets, each after the one before it. */
typedef struct oracle_run {
    oracle_place first;
    uint64_t n;
} oracle_run;

typedef struct oracle {
    int64_t epoch_ms, unit_ms;
    uint64_t last_unit; /* that layout and clock can represent */
    uint64_t cap;       /* tickets a unit */
    uint64_t max_ahead; /* units */
    int64_t max_wait_ns;
    bool fail_on_backwards;    /* a backward step fails waiting callers, too */
    bool without_places; /* callers sleep without a ticket: a count with few bits to spare */
    /* UUIDs and ULIDs: after a backward step they draw as if the clock read their next ticket's
     * time. Set fail_on_backwards, too. */
    bool continues_past_clock;
    bool ticks; /* sno's tick-tock */
    bool no_wait; /* init did not wait until the first unit that has tickets */
    const int64_t *clock_ns;
    void (*sleep)(int64_t ns); /* moves the clock arbitrarily */

    uint64_t recorded; /* the highest clock reading at which a ticket was drawn */
    oracle_place next; /* the first ticket not drawn */
    uint64_t safe[2];  /* the last unit used on each abandoned timeline */
    uint64_t start;    /* the first unit that has tickets, if it was set, else 0: to wait for it is no overflow */
    uint64_t ids, batches, waits, clock_backwards, drifts; /* draws that met each */
} oracle;

static inline oracle oracle_of(int64_t epoch_ms, int64_t unit_ms, unsigned time_bits, uint64_t cap) {
    oracle o;
    memset(&o, 0, sizeof o);
    o.epoch_ms = epoch_ms;
    o.unit_ms = unit_ms;
    o.cap = cap;
    o.max_wait_ns = 1000 * 1000000;
    /* the clock cannot represent the end of a later unit */
    o.last_unit = (uint64_t)((INT64_MAX / 1000000 - epoch_ms) / unit_ms - 1);
    if (time_bits < 63 && o.last_unit >> time_bits) o.last_unit = ((uint64_t)1 << time_bits) - 1;
    return o;
}

/* ---- time ---- */

static inline int64_t oracle_start_ns(const oracle *o, uint64_t unit) {
    return (o->epoch_ms + (int64_t)unit * o->unit_ms) * 1000000;
}

static inline oracle_status oracle_unit_at(const oracle *o, int64_t ns, uint64_t *unit) {
    int64_t ms = ns / 1000000;
    if (ns % 1000000 < 0) ms--;
    if (ms < o->epoch_ms) return ORACLE_RANGE;
    *unit = (uint64_t)((ms - o->epoch_ms) / o->unit_ms);
    return *unit > o->last_unit ? ORACLE_RANGE : ORACLE_OK;
}

static inline int64_t oracle_until_ns(int64_t due_ns, int64_t now_ns) {
    if (now_ns >= due_ns) return 0;
    return now_ns < 0 && due_ns > INT64_MAX + now_ns ? INT64_MAX : due_ns - now_ns;
}

/* ---- tickets ---- */

static inline oracle_place oracle_after(const oracle *o, oracle_place place, uint64_t n) {
    place.index += n;
    place.unit += place.index / o->cap;
    place.index %= o->cap;
    return place;
}

/* The unit of the newest ticket drawn. */
static inline uint64_t oracle_newest(const oracle *o) {
    return o->next.index || !o->next.unit ? o->next.unit : o->next.unit - 1;
}

/* What a caller finds at a certain time. */
typedef struct oracle_view {
    oracle_status status; /* ORACLE_OK: `first` is available now */
    oracle_place first;   /* the caller's next ticket */
    uint64_t free;        /* how many are available now, `first` included */
    uint64_t now;         /* the unit of its clock */
    int64_t due_ns;       /* if there are none: when there are */
    bool leaves;          /* it switches to the other timeline */
    bool blocked;         /* its time was used on both timelines: there is no queue */
    int64_t blocked_ns;   /* until then */
} oracle_view;

static inline bool oracle_has_drawn(const oracle *o) { return o->next.unit > o->start || o->next.index; }

/* A clock that reads less than the first unit has not gone backwards, if init did not wait for that unit, and no draw
 * has read a time of it or a later one. */
static inline bool oracle_is_early(const oracle *o) { return o->no_wait && o->recorded < o->start; }

/* `given`: the reading is the caller's own. If the newest recorded one is later, that counts. */
static inline oracle_view oracle_look(const oracle *o, int64_t now_ns, bool given) {
    oracle_view v;
    memset(&v, 0, sizeof v);
    if (given && (oracle_has_drawn(o) || o->start) && now_ns < oracle_start_ns(o, o->recorded))
        now_ns = oracle_start_ns(o, o->recorded);
    v.status = oracle_unit_at(o, now_ns, &v.now);
    if (v.status != ORACLE_OK) return v;

    v.first = o->next;
    if (o->ticks && v.now < o->recorded) {
        const unsigned other = o->next.tick ^ 1;
        if (v.now <= o->safe[other]) {
            const uint64_t past = o->safe[other] + 1, due = past < o->recorded ? past : v.first.unit;
            v.status = due > o->last_unit ? ORACLE_RANGE : ORACLE_CLOCK_BACK;
            v.blocked = true;
            v.blocked_ns = oracle_start_ns(o, past < o->recorded ? past : o->recorded);
            v.due_ns = oracle_start_ns(o, due);
            return v;
        }
        v.leaves = true;
        v.first.tick = other;
        v.first.unit = v.now;
        v.first.index = 0;
    } else if (v.first.unit < v.now) {
        v.first.unit = v.now;
        v.first.index = 0;
    }

    if (v.first.unit > o->last_unit) {
        v.status = ORACLE_RANGE;
    } else if (v.first.unit > v.now + (given && oracle_is_early(o) ? 0 : o->max_ahead)) {
        const bool back = o->recorded > v.now + o->max_ahead && !oracle_is_early(o);
        v.status = back ? ORACLE_CLOCK_BACK : ORACLE_AGAIN;
        v.due_ns = oracle_start_ns(o, v.first.unit - o->max_ahead);
    } else {
        uint64_t last = v.now + o->max_ahead;
        if (last > o->last_unit) last = o->last_unit;
        v.free = (last - v.first.unit + 1) * o->cap - v.first.index;
    }
    return v;
}

/* Whether it continues although its clock reads less than what it has drawn, or than the time that its init has
 * waited for. */
static inline bool oracle_goes_on(const oracle *o) {
    const int64_t now_ns = *o->clock_ns;
    if (!o->continues_past_clock || o->next.unit > o->last_unit) return false;
    if (now_ns < oracle_start_ns(o, 0)) return oracle_has_drawn(o);
    if (oracle_is_early(o)) return false;
    const oracle_view v = oracle_look(o, now_ns, false);
    return v.status != ORACLE_RANGE && o->recorded > v.now + o->max_ahead;
}

/* ---- draw ---- */

static inline void oracle_take(oracle *o, const oracle_view *v, uint64_t n, oracle_run *run) {
    run->first = v->first;
    run->n = n;
    if (v->leaves) {
        const uint64_t newest = oracle_newest(o);
        if (o->safe[o->next.tick] < newest) o->safe[o->next.tick] = newest;
        o->drifts++;
    }
    if (v->leaves || o->recorded < v->now) o->recorded = v->now;
    o->next = oracle_after(o, v->first, n);
    o->ids += n;
    o->batches += n > 1;
}

/* Sleeps until the caller's ticket in a coming unit is due. False: the clock went backwards, or max_wait
 * has elapsed, and the caller has no ticket. */
static inline bool oracle_hold(const oracle *o, int64_t due_ns, int64_t *budget_ns) {
    const int64_t drawn_ns = *o->clock_ns;
    for (;;) {
        const int64_t left_ns = oracle_until_ns(due_ns, *o->clock_ns);
        if (!left_ns) return true;
        if (left_ns > *budget_ns) return false;
        if (*o->clock_ns < drawn_ns && (o->ticks || o->fail_on_backwards)) return false;
        o->sleep(left_ns);
        *budget_ns -= left_ns;
    }
}

static inline oracle_status oracle_draw_by_clock(oracle *o, oracle_how how, uint64_t want, oracle_run *run) {
    int64_t budget_ns = o->max_wait_ns;
    bool behind = false, slept = false;
    for (;;) {
        const int64_t now_ns = *o->clock_ns;
        const oracle_view v = oracle_look(o, now_ns, false);
        uint64_t n = v.free;
        if (v.status == ORACLE_RANGE) return v.status;
        const bool back = v.now < o->recorded && !oracle_is_early(o);
        o->clock_backwards += !behind && back;
        behind |= back;
        if (v.status != ORACLE_OK) {
            const int64_t left_ns = oracle_until_ns(v.due_ns, now_ns);
            const bool refused = o->fail_on_backwards && v.status == ORACLE_CLOCK_BACK;
            if (how != ORACLE_WAIT || refused || left_ns > budget_ns) return v.status;
            if (!slept && v.due_ns > oracle_start_ns(o, o->start) - (int64_t)o->max_ahead * o->unit_ms * 1000000) {
                o->waits++;
                slept = true;
            }
            if (v.blocked || o->without_places) {
                const int64_t sleep_ns = v.blocked ? oracle_until_ns(v.blocked_ns, now_ns) : left_ns;
                o->sleep(sleep_ns);
                budget_ns -= sleep_ns;
                continue;
            }
            if (!oracle_hold(o, v.due_ns, &budget_ns)) continue;
            n = o->cap - v.first.index;
        }
        oracle_take(o, &v, n < want ? n : want, run);
        return ORACLE_OK;
    }
}

/* 1 to `want` tickets: those that are free now. If there are none and the caller waits: those that
 * it wants of the next unit. */
static inline oracle_status oracle_draw(oracle *o, oracle_how how, uint64_t want, oracle_run *run) {
    const oracle_status status = oracle_draw_by_clock(o, how, want, run);
    if (status == ORACLE_OK || !oracle_goes_on(o)) return status;
    const oracle_view v = oracle_look(o, oracle_start_ns(o, o->next.unit), true);
    oracle_take(o, &v, v.free < want ? v.free : want, run);
    return ORACLE_OK;
}

/* Whether it is ahead of the clock by more than max_ahead and one unit. */
static inline bool oracle_is_far_ahead(const oracle *o, int64_t given_ns) {
    const int64_t ahead_ns = oracle_until_ns(given_ns, *o->clock_ns);
    return ahead_ns && (uint64_t)((ahead_ns - 1) / (o->unit_ms * 1000000)) > o->max_ahead;
}

/* One ticket, by a reading that the caller supplies. The clock is read for that of a new unit. */
static inline oracle_status oracle_draw_at(oracle *o, int64_t given_ns, oracle_run *run) {
    const oracle_view v = oracle_look(o, given_ns, true);
    const bool is_new = v.now > o->recorded || (!oracle_has_drawn(o) && !o->start);
    if (v.status != ORACLE_RANGE && is_new && oracle_is_far_ahead(o, given_ns)) return ORACLE_TOO_FAR_AHEAD;
    if (v.status == ORACLE_OK) oracle_take(o, &v, 1, run);
    return v.status;
}

/* ---- queries ---- */

/* How long until a try succeeds; INT64_MAX: it never does. */
static inline int64_t oracle_retry_ns(const oracle *o) {
    const int64_t now_ns = *o->clock_ns, epoch_ns = oracle_start_ns(o, 0);
    if (oracle_goes_on(o)) return 0;
    oracle_view v = oracle_look(o, now_ns, false);
    if (now_ns < epoch_ns) {
        v = oracle_look(o, epoch_ns, false);
        if (v.status == ORACLE_OK) return oracle_until_ns(epoch_ns, now_ns);
    }
    if (v.status == ORACLE_RANGE) return INT64_MAX;
    return v.status == ORACLE_OK ? 0 : oracle_until_ns(v.due_ns, now_ns);
}

/* For one that continues: what its unit has left. */
static inline uint64_t oracle_available(const oracle *o) {
    if (oracle_goes_on(o)) return o->cap - o->next.index;
    return oracle_look(o, *o->clock_ns, false).free;
}

/* How many units the newest ticket is ahead of the clock, whose time must be within the layout. 0: none is drawn. */
static inline uint64_t oracle_lag(const oracle *o) {
    uint64_t now = 0;
    (void)oracle_unit_at(o, *o->clock_ns, &now);
    return oracle_newest(o) > now && oracle_newest(o) >= o->start ? oracle_newest(o) - now : 0;
}

/* Of an init: sleeps until the clock has passed a time. False: it went backwards, or stands still for more than a
 * second of sleep. While it stands, each sleep takes a ms or more. */
static inline bool oracle_wait_past(const oracle *o, int64_t past_ns) {
    const int64_t ms = 1000000;
    int64_t still_ns = 0;
    while (*o->clock_ns <= past_ns) {
        const int64_t before_ns = *o->clock_ns;
        int64_t nap_ns = oracle_until_ns(past_ns, before_ns) + 1;
        if (still_ns && nap_ns < ms) nap_ns = ms;
        o->sleep(nap_ns);
        still_ns = *o->clock_ns == before_ns ? still_ns + nap_ns : 0;
        if (*o->clock_ns < before_ns || still_ns > 1000 * ms) return false;
    }
    return true;
}

/* A new generator in its place. */
static inline void oracle_anew(oracle *o) {
    memset(&o->next, 0, sizeof o->next);
    o->ids = o->batches = o->waits = o->clock_backwards = o->drifts = 0;
    o->recorded = o->start = o->safe[0] = o->safe[1] = 0;
}

/* Of a generator that has not drawn yet: its tickets are of later units than this time. */
static inline void oracle_start_after(oracle *o, int64_t floor_ns) {
    uint64_t unit = 0;
    if (floor_ns < oracle_start_ns(o, 0)) return;
    if (oracle_unit_at(o, floor_ns, &unit) != ORACLE_OK) unit = o->last_unit;
    for (unsigned i = 0; i < 2; i++)
        if (o->ticks && o->safe[i] < unit) o->safe[i] = unit;
    if (o->recorded > unit || o->next.unit > unit) return;
    o->recorded = unit;
    o->start = o->next.unit = unit + 1;
    o->next.index = 0;
}

/* ---- prefetch ---- */

typedef struct oracle_stock {
    uint64_t count;   /* to claim at once */
    int64_t valid_ns; /* 0: for ever */
    oracle_run left;
    int64_t taken_ns;
} oracle_stock;

static inline oracle_status oracle_stock_next(oracle *o, oracle_stock *s, oracle_place *place) {
    const int64_t now_ns = *o->clock_ns;
    const bool back = now_ns < s->taken_ns;
    if (s->valid_ns && (back || oracle_until_ns(now_ns, s->taken_ns) >= s->valid_ns)) s->left.n = 0;
    if (!s->left.n) {
        const oracle_status status = oracle_draw(o, ORACLE_WAIT, s->count, &s->left);
        if (status != ORACLE_OK) return status;
        s->taken_ns = *o->clock_ns;
    }
    *place = s->left.first;
    s->left.first = oracle_after(o, s->left.first, 1);
    s->left.n--;
    return ORACLE_OK;
}

#endif
