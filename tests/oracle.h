/* SPDX-License-Identifier: MIT
 *
 * What a generator must answer, as the header's protocol has it, one step after the other,
 * with no word to pack and nobody beside it. An oracle for tests and fuzzers of both headers.
 *
 *     model m = model_of(epoch_ms, unit_ms, time_bits, cap);   then set what differs, and the clock
 *     model_run run;
 *     if (model_draw(&m, MODEL_WAIT, 1, &run) == MODEL_OK) ... run.first is the place
 *
 * The statuses have the values that FLAKE_ and SNO_ statuses have.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stdint.h>

typedef enum model_status { MODEL_OK, MODEL_AGAIN, MODEL_CLOCK_BACK, MODEL_RANGE } model_status;

typedef enum model_how { MODEL_TRY, MODEL_WAIT } model_how;

/* Number `index` (from 0) of a unit, on the timeline `tick`. */
typedef struct model_place {
    uint64_t unit, index;
    unsigned tick;
} model_place;

/* n places, each behind the one before it. */
typedef struct model_run {
    model_place first;
    uint64_t n;
} model_run;

typedef struct model {
    int64_t epoch_ms, unit_ms;
    uint64_t last_unit; /* that layout and clock can express */
    uint64_t cap;       /* places a unit */
    uint64_t max_ahead; /* units */
    int64_t max_wait_ns;
    bool refuse_back;    /* waiting callers don't wait for a clock that was put back */
    bool without_places; /* callers sleep without a place: a count with few bits to spare */
    bool ticks;          /* sno's tick-tock */
    const int64_t *clock_ns;
    void (*sleep)(int64_t ns); /* moves the clock, as it likes */

    uint64_t recorded; /* the highest clock reading at which a place was drawn */
    model_place next;  /* the first that nobody has drawn */
    uint64_t safe[2];  /* the last unit used on each timeline that was left */
    uint64_t ids, batches, waits, clock_backs, drifts; /* draws that had to do with each */
} model;

static inline model model_of(int64_t epoch_ms, int64_t unit_ms, unsigned time_bits, uint64_t cap) {
    const model nothing = {0};
    model m = nothing;
    m.epoch_ms = epoch_ms;
    m.unit_ms = unit_ms;
    m.cap = cap;
    m.max_wait_ns = 1000 * 1000000;
    /* the clock can't show the end of a later unit */
    m.last_unit = (uint64_t)((INT64_MAX / 1000000 - epoch_ms) / unit_ms - 1);
    if (time_bits < 63 && m.last_unit >> time_bits) m.last_unit = ((uint64_t)1 << time_bits) - 1;
    return m;
}

/* ---- time ---- */

static inline int64_t model_start_ns(const model *m, uint64_t unit) {
    return (m->epoch_ms + (int64_t)unit * m->unit_ms) * 1000000;
}

static inline model_status model_unit_at(const model *m, int64_t ns, uint64_t *unit) {
    int64_t ms = ns / 1000000;
    if (ns % 1000000 < 0) ms--;
    if (ms < m->epoch_ms) return MODEL_RANGE;
    *unit = (uint64_t)((ms - m->epoch_ms) / m->unit_ms);
    return *unit > m->last_unit ? MODEL_RANGE : MODEL_OK;
}

static inline int64_t model_until_ns(int64_t due_ns, int64_t now_ns) {
    if (now_ns >= due_ns) return 0;
    return now_ns < 0 && due_ns > INT64_MAX + now_ns ? INT64_MAX : due_ns - now_ns;
}

/* ---- places ---- */

static inline model_place model_after(const model *m, model_place place, uint64_t n) {
    place.index += n;
    place.unit += place.index / m->cap;
    place.index %= m->cap;
    return place;
}

/* The unit of the newest place drawn. */
static inline uint64_t model_newest(const model *m) {
    return m->next.index || !m->next.unit ? m->next.unit : m->next.unit - 1;
}

/* What a caller finds who comes at a certain time. */
typedef struct model_view {
    model_status status; /* MODEL_OK: `first` can be had now */
    model_place first;   /* the next place for him */
    uint64_t free;       /* how many can be had now, `first` included */
    uint64_t now;        /* the unit of his clock */
    int64_t due_ns;      /* if there are none: when there are */
    bool leaves;         /* he goes over to the other timeline */
    bool blocked;        /* his time was used on both timelines: there is no queue to stand in */
    int64_t blocked_ns;  /* until then */
} model_view;

/* `given`: the reading is the caller's own. One older than the newest recorded counts as that. */
static inline model_view model_look(const model *m, int64_t now_ns, bool given) {
    const model_view nothing = {0};
    model_view v = nothing;
    const bool drawn = m->next.unit || m->next.index;
    if (given && drawn && now_ns < model_start_ns(m, m->recorded))
        now_ns = model_start_ns(m, m->recorded);
    v.status = model_unit_at(m, now_ns, &v.now);
    if (v.status != MODEL_OK) return v;

    v.first = m->next;
    if (m->ticks && v.now < m->recorded) {
        const unsigned other = m->next.tick ^ 1;
        if (v.now <= m->safe[other]) {
            const uint64_t past = m->safe[other] + 1,
                           due = past < m->recorded ? past : v.first.unit;
            v.status = due > m->last_unit ? MODEL_RANGE : MODEL_CLOCK_BACK;
            v.blocked = true;
            v.blocked_ns = model_start_ns(m, past < m->recorded ? past : m->recorded);
            v.due_ns = model_start_ns(m, due);
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

    if (v.first.unit > m->last_unit) {
        v.status = MODEL_RANGE;
    } else if (v.first.unit > v.now + m->max_ahead) {
        v.status = m->recorded > v.now + m->max_ahead ? MODEL_CLOCK_BACK : MODEL_AGAIN;
        v.due_ns = model_start_ns(m, v.first.unit - m->max_ahead);
    } else {
        uint64_t last = v.now + m->max_ahead;
        if (last > m->last_unit) last = m->last_unit;
        v.free = (last - v.first.unit + 1) * m->cap - v.first.index;
    }
    return v;
}

/* ---- draw ---- */

static inline void model_take(model *m, const model_view *v, uint64_t n, model_run *run) {
    run->first = v->first;
    run->n = n;
    if (v->leaves) {
        const uint64_t newest = model_newest(m);
        if (m->safe[m->next.tick] < newest) m->safe[m->next.tick] = newest;
        m->drifts++;
    }
    if (v->leaves || m->recorded < v->now) m->recorded = v->now;
    m->next = model_after(m, v->first, n);
    m->ids += n;
    m->batches += n > 1;
}

/* Sleeps, holding the place that is due then. False: it isn't worth it, or not allowed, any more.
 */
static inline bool model_hold(const model *m, int64_t due_ns, int64_t *budget_ns) {
    const int64_t drawn_ns = *m->clock_ns;
    for (;;) {
        const int64_t left_ns = model_until_ns(due_ns, *m->clock_ns);
        if (!left_ns) return true;
        if (left_ns > *budget_ns) return false;
        if (*m->clock_ns < drawn_ns && (m->ticks || m->refuse_back)) return false;
        m->sleep(left_ns);
        *budget_ns -= left_ns;
    }
}

/* 1 to `want` places: those that are free now; if there are none and the caller waits, those that
 * he wants of the next unit. */
static inline model_status model_draw(model *m, model_how how, uint64_t want, model_run *run) {
    int64_t budget_ns = m->max_wait_ns;
    bool behind = false, slept = false;
    for (;;) {
        const int64_t now_ns = *m->clock_ns;
        const model_view v = model_look(m, now_ns, false);
        uint64_t n = v.free;
        if (v.status == MODEL_RANGE) return v.status;
        m->clock_backs += !behind && v.now < m->recorded;
        behind |= v.now < m->recorded;
        if (v.status != MODEL_OK) {
            const int64_t left_ns = model_until_ns(v.due_ns, now_ns);
            const bool refused = m->refuse_back && v.status == MODEL_CLOCK_BACK;
            if (how != MODEL_WAIT || refused || left_ns > budget_ns) return v.status;
            m->waits += !slept;
            slept = true;
            if (v.blocked || m->without_places) {
                const int64_t sleep_ns = v.blocked ? model_until_ns(v.blocked_ns, now_ns) : left_ns;
                m->sleep(sleep_ns);
                budget_ns -= sleep_ns;
                continue;
            }
            if (!model_hold(m, v.due_ns, &budget_ns)) continue;
            n = m->cap - v.first.index;
        }
        model_take(m, &v, n < want ? n : want, run);
        return MODEL_OK;
    }
}

/* One place, by a reading that the caller brings along. */
static inline model_status model_draw_at(model *m, int64_t given_ns, model_run *run) {
    const model_view v = model_look(m, given_ns, true);
    if (v.status == MODEL_OK) model_take(m, &v, 1, run);
    return v.status;
}

/* ---- questions ---- */

/* How long until a try succeeds; INT64_MAX: it never does. */
static inline int64_t model_retry_ns(const model *m) {
    const int64_t now_ns = *m->clock_ns, epoch_ns = model_start_ns(m, 0);
    model_view v = model_look(m, now_ns, false);
    if (now_ns < epoch_ns) {
        v = model_look(m, epoch_ns, false);
        if (v.status == MODEL_OK) return model_until_ns(epoch_ns, now_ns);
    }
    if (v.status == MODEL_RANGE) return INT64_MAX;
    return v.status == MODEL_OK ? 0 : model_until_ns(v.due_ns, now_ns);
}

static inline uint64_t model_available(const model *m) {
    return model_look(m, *m->clock_ns, false).free;
}

/* How many units the newest place is ahead of the clock, whose time must be one with ids. */
static inline uint64_t model_lag(const model *m) {
    uint64_t now = 0;
    (void)model_unit_at(m, *m->clock_ns, &now);
    return model_newest(m) > now ? model_newest(m) - now : 0;
}

/* Goes on behind the `count` places drawn since `unit` began, or where it is if that is further. */
static inline void model_restore(model *m, uint64_t unit, uint64_t count) {
    model_place place = m->next;
    place.unit = unit;
    place.index = 0;
    place = model_after(m, place, count);
    if (place.unit < m->next.unit || (place.unit == m->next.unit && place.index <= m->next.index))
        return;
    m->next = place;
    if (m->recorded < unit) m->recorded = unit;
}

/* ---- prefetch ---- */

typedef struct model_stock {
    uint64_t count;   /* to claim at once */
    int64_t valid_ns; /* 0: for ever */
    model_run left;
    int64_t taken_ns;
} model_stock;

static inline model_status model_stock_next(model *m, model_stock *s, model_place *place) {
    const int64_t now_ns = *m->clock_ns;
    const bool back = now_ns < s->taken_ns;
    if (s->valid_ns && (back || model_until_ns(now_ns, s->taken_ns) >= s->valid_ns)) s->left.n = 0;
    if (!s->left.n) {
        const model_status status = model_draw(m, MODEL_WAIT, s->count, &s->left);
        if (status != MODEL_OK) return status;
        s->taken_ns = *m->clock_ns;
    }
    *place = s->left.first;
    s->left.first = model_after(m, s->left.first, 1);
    s->left.n--;
    return MODEL_OK;
}

#endif
