/* SPDX-License-Identifier: MIT
 *
 * The rules that explore_engine.c's first comment lists: checked at each access to the word, a note,
 * the ring or the clock. And which of their data distinguishes two states.
 */
#ifndef ENGINE_RULES_H
#define ENGINE_RULES_H

#include "engine_subject.h"

enum { PLACES = 64, WORDS = 64, NOTES = 16, UNITS = 256, LEASE_NS = 1 << 19 };

/* A ticket drawn by a call that still runs, neither issued nor returned. */
typedef struct held {
    uint64_t at; /* position */
    unsigned engine, tick, by;
    bool followed; /* another thread has moved the word since */
} held;

/* Past values of the word, with the rules' data for each. */
typedef struct past {
    uint64_t word, toggles;
    uint64_t used, ever; /* last time drawn on the other timeline, with returned tickets */
} past;

/* A note's key is its ms * 2, + 1 for an overflow's last one. */
enum { NO_NOTE = 0 };

typedef struct election {
    uint64_t note;
    bool owed, pushed;
} election;

/* The rules' data of an execution; `digest` hashes what distinguishes states. */
static struct {
    held places[PLACES];
    unsigned n_places;
    uint64_t net[ENGINES], gross;               /* tickets drawn, without returned ones; with */
    uint64_t top[ENGINES][2], ever[ENGINES][2]; /* after all drawn; after returned ones too */
    uint64_t toggles[ENGINES], batches;
    past past[WORDS];
    unsigned n_past;
    election elections[NOTES];
    unsigned n_elections;
    uint64_t pushed[NOTES]; /* ring position -> note */
    uint64_t pushes, pops;
    struct {
        uint64_t id;    /* time, partition, sequence; or a partition */
        unsigned begun; /* clones that had begun when this partition's first ID was issued */
    } issued[8];
    unsigned n_issued, bumps_begun, bumps_done;
    int64_t latest_ns;          /* until when IDs are issued */
    int64_t floor_ns;           /* what a close has recorded; INT64_MAX: none */
    bool is_closing, is_closed; /* a close has begun; has returned, */
    uint64_t closed_unit;       /* ... in this unit, or an earlier call has begun this one since */
    uint64_t latest_unit;       /* the exact clock's latest reading by any thread */
    uint64_t leased_to[UNITS];  /* by the counter: when a thread read each unit, and a lease on */

    struct caller {
        /* of the running call */
        char letter;
        bool saw_word, behind, wrote;
        bool was_lost;   /* when it began, or woke */
        bool was_closed; /* likewise */
        unsigned full;   /* engines that had no ticket, by the clock, at some time during it */
        unsigned engine; /* whose word it saw last */
        unsigned sleeps;
        uint64_t word;    /* last seen */
        uint64_t reading; /* last unit read from the clock, or given by the caller */
        uint64_t bound;   /* the clock with which a given time was compared */
        uint64_t reach;   /* the last unit it may issue, not counting max_ahead */
        bool saw_clock;
        uint64_t counter; /* last seen */
        uint64_t popped;  /* ring position */
        uint64_t pushing; /* note */
        uint64_t before;  /* overflow, before it was closed */
        unsigned bumps;   /* complete when its ticket was drawn */
        /* of all its calls */
        uint64_t last[ENGINES][2]; /* after the last position issued */
        unsigned calls;
    } thread[FIBERS];
} seen;

static bool is_given(char letter) { return letter == 'g' || letter == 'G'; }
static bool is_owned(char letter) { return letter == 'o' || letter == 'O' || letter == 'M'; }
static bool is_laned(char letter) { return letter && strchr("lLQq", letter) != NULL; }
static bool is_many(char letter) { return letter && strchr("NTMQq", letter) != NULL; }
static bool continues_past_clock(char letter) { return letter == 'c' || letter == 'C'; }
static bool waits(char letter) { return strchr("nNoflQC", letter) != NULL; }
static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Removes a ticket from the table; false: this thread does not hold it. */
static bool let_go(unsigned me, unsigned i, uint64_t at, unsigned tick) {
    for (unsigned p = 0; p < seen.n_places; p++) {
        const held *h = &seen.places[p];
        if (h->engine != i || h->tick != tick || h->at != at || h->by != me) continue;
        seen.places[p] = seen.places[--seen.n_places];
        return true;
    }
    return false;
}

static void watch_draw(unsigned me, unsigned i, uint64_t from, uint64_t to, unsigned tick) {
    if (to - from > 3) fail("I1: %" PRIu64 " tickets drawn at once", to - from);
    if (from < seen.top[i][tick]) fail("I1: a ticket is drawn again");
    for (uint64_t at = from; at < to; at++) {
        if (seen.n_places == PLACES) fail("the table of tickets is too small");
        seen.places[seen.n_places++] = (held){at, i, tick, me, false};
    }
    seen.net[i] += to - from;
    seen.gross += to - from;
    seen.top[i][tick] = to;
    seen.ever[i][tick] = larger(seen.ever[i][tick], to);
    if (to - from > 1) {
        events |= BATCHED;
        seen.batches++;
    }
}

static void watch_give_back(unsigned me, unsigned i, uint64_t from, uint64_t to, unsigned tick) {
    if (to != seen.top[i][tick]) fail("I1: the returned ticket is not the newest");
    for (uint64_t at = from; at < to; at++)
        if (!let_go(me, i, at, tick)) fail("I1: another thread's ticket is returned, or an issued one");
    seen.net[i] -= to - from;
    seen.top[i][tick] = from;
    events |= RETURNED;
}

/* For snapshots, and notes that count a queue. */
static void remember(unsigned i) {
    const flake_i_engine *e = engines[i];
    const unsigned other = point_of(e->word).tick ^ 1;
    const uint64_t top = seen.top[i][other], ever = seen.ever[i][other];
    const past p = {e->word, seen.toggles[i], top ? (top - 1) / e->unit_capacity : 0, ever / e->unit_capacity};
    if (i || !ask_past) return;
    for (unsigned k = 0; k < seen.n_past; k++)
        if (seen.past[k].word == p.word && seen.past[k].toggles == p.toggles) return;
    if (seen.n_past == WORDS) fail("the table of words is too small");
    seen.past[seen.n_past++] = p;
}

static void watch_move(unsigned me, unsigned i, const shared_access *a) {
    struct caller *const my = &seen.thread[me];
    const flake_i_engine *e = engines[i];
    const point old = point_of(a->seen), new = point_of(a->left);
    for (unsigned p = 0; p < seen.n_places; p++)
        if (seen.places[p].by != me && seen.places[p].engine == i) seen.places[p].followed = true;
    if (a->kind == STORE && (me != i || my->word != a->seen)) fail("an owned word has a second writer");
    if (a->kind == ADD && old.count >= e->unit_capacity) events |= LATE;
    if (a->kind == ADD && a->seen - old.count != my->word - point_of(my->word).count) events |= MOVED;
    if (new.time > larger(old.time, unit_of(world.exact_ns))) events |= LEAPT;

    if (new.tick != old.tick) {
        const uint64_t last = (seen.top[i][old.tick] - 1) / e->unit_capacity, safe = e->safe[old.tick];
        if (!my->behind) fail("I2: a timeline is left on a reading that is older than the word");
        if (seen.top[i][old.tick] && safe < last)
            fail("I5: a timeline used up to %" PRIu64 " is left with safe = %" PRIu64, last, safe);
        if (e->drifts != seen.toggles[i]) fail("a timeline is left before drifts is settled");
        seen.toggles[i]++;
        events |= TOGGLED;
        watch_draw(me, i, new.time * e->unit_capacity, new.at, new.tick);
    } else if (new.at < old.at) {
        watch_give_back(me, i, new.at, old.at, new.tick);
    } else {
        const uint64_t from = larger(old.at, new.time * e->unit_capacity);
        if (from == new.at) fail("I1: the word is moved, but nothing drawn");
        if (new.time > old.time && from > new.time * e->unit_capacity) events |= REBASED;
        if (from / e->unit_capacity > unit_of(world.exact_ns) + e->ahead) events |= QUEUED;
        watch_draw(me, i, from, new.at, new.tick);
    }
    remember(i);
}

static bool put_back(void) {
    bool back = false;
    for (unsigned k = 0; k < world.clock_at; k++) back |= current->clock[k + 1] < current->clock[k];
    return back;
}

/* [ began ms:40 ][ ms noted since:24 ], or all ones below: closed */
static void watch_overflow(unsigned me, const shared_access *a) {
    struct caller *const my = &seen.thread[me];
    const uint64_t low = a->left & 0xffffff, began = a->left >> 24;
    const bool closing = low == 0xffffff;
    const uint64_t note = (began + (closing ? 0 : low - 1)) * 2 + closing;
    if ((my->pushing & 1) && a->left == my->before) { /* it did not fit */
        for (unsigned k = 0; k < seen.n_elections; k++)
            if (seen.elections[k].note == my->pushing) seen.elections[k].owed = true;
        my->pushing = NO_NOTE;
        events |= OWED;
        return;
    }
    events |= closing ? CLOSED : NOTED;
    my->pushing = note;
    my->before = a->seen;
    for (unsigned k = 0; k < seen.n_elections; k++)
        if (seen.elections[k].note == note) {
            if (!seen.elections[k].owed && !put_back())
                fail("two elections for the %s of one ms", closing ? "last note" : "note");
            seen.elections[k].owed = seen.elections[k].pushed = false;
            return;
        }
    if (seen.n_elections == NOTES) fail("the table of elections is too small");
    seen.elections[seen.n_elections++] = (election){note, false, false};
}

static void watch_ring(unsigned me, const shared_access *a) {
    struct caller *const my = &seen.thread[me];
    const uint64_t note = my->pushing;
    if (a->at == &our.ring.tail) {
        my->popped = a->seen;
        seen.pops++;
        return;
    }
    if (a->seen != seen.pushes || seen.pushes == NOTES) fail("ring positions skip");
    if (note == NO_NOTE) fail("a note is pushed twice, or without an election");
    for (unsigned k = 0; k < seen.n_elections; k++)
        if (seen.elections[k].note == note) seen.elections[k].pushed = true;
    seen.pushed[seen.pushes++] = note;
    my->pushing = NO_NOTE;
}

static void watch_clock(unsigned me, uint64_t unit) {
    struct caller *const my = &seen.thread[me];
    seen.latest_unit = larger(seen.latest_unit, unit);
    if (is_given(my->letter)) {
        my->bound = unit;
        return;
    }
    my->reading = unit;
    my->saw_clock = true;
    uint64_t *const to = &seen.leased_to[unit % UNITS];
    *to = larger(*to, my->counter + LEASE_NS);
    my->behind = my->saw_word && point_of(my->word).time > unit;
    /* each of several draws takes a reading, and so does each sweep over lanes */
    bool holds = is_many(my->letter) || is_laned(my->letter);
    for (unsigned p = 0; p < seen.n_places; p++) holds |= seen.places[p].by == me;
    my->reach = holds ? larger(my->reach, unit) : unit;
}

/* A draw may write these although it fails. */
static bool is_of_claim(const void *at) {
    const char *const byte = (const char *)at;
    const flake_i_claim *const c = &our.flake[0].claim;
    return (byte >= (const char *)c && byte < (const char *)(c + 1)) || byte == (const char *)&the_file.position ||
           (byte >= (const char *)our.records && byte < (const char *)(our.records + 2));
}

/* Before AGAIN is returned: lanes without a ticket, by the clock now. */
static void watch_lanes(void) {
    for (unsigned i = 0; i < n_engines; i++) {
        const flake_i_engine *e = engines[i];
        const uint64_t unit = unit_of(world.exact_ns) + e->ahead;
        if (point_of(e->word).at < (unit + 1) * e->unit_capacity) continue;
        for (unsigned t = 0; t < FIBERS; t++)
            if (is_laned(seen.thread[t].letter)) seen.thread[t].full |= 1u << i;
    }
}

static void watch(unsigned me, const shared_access *a) {
    struct caller *const my = &seen.thread[me];
    const unsigned i = engine_of(a->at);
    if (current->lanes) watch_lanes();
    const flake_i_engine *e = engines[i % ENGINES];
    if (world.thread[me].sleeps) events |= SLEPT;
    if (world.thread[me].sleeps != my->sleeps) {
        my->sleeps = world.thread[me].sleeps;
        if (is_lost()) events |= LOST;
        my->was_lost |= is_lost();
        my->was_closed |= seen.is_closed;
    }
    if (a->wrote && a->at == &our.flake[0].claim.horizon_ns && a->left != FLAKE_I_CLOSED) events |= WRITTEN;
    if (a->kind == CLOCK_READ) {
        watch_clock(me, unit_of((int64_t)a->seen));
        return;
    }
    if (a->at == &world.counter) my->counter = a->seen;
    if (i < n_engines && a->at == &e->fast_until) /* a unit that a reading has returned */
        my->reach = larger(my->reach, seen.latest_unit);
    if (a->wrote && (a->at == &our.ring.head || a->at == &our.ring.tail)) watch_ring(me, a);
    if (a->wrote && name_of(a->at) && !is_of_claim(a->at) && !is_hint(a->at))
        my->wrote |=
            i == n_engines ||
            (a->at > (const void *)&e->fast_until && a->at < (const void *)e->safe && a->at != &e->ticks_per_window) ||
            a->at > (const void *)&e->drifts;
    if (current->of == DEFAULT && a->wrote && name_of(a->at) && strcmp(name_of(a->at), "word") == 0)
        my->bumps = seen.bumps_done;
    if (i == n_engines) return;
    if (a->at == &e->word) {
        if (a->wrote) watch_move(me, i, a);
        if (a->wrote && seen.is_closed && !my->was_closed)
            seen.closed_unit = larger(seen.closed_unit, point_of(a->left).time);
        if (a->kind == CAS && !a->wrote) events |= OUTRUN;
        my->word = a->wrote ? a->left : a->seen;
        my->engine = i;
        my->saw_word = true;
        if (is_given(my->letter)) my->reach = larger(my->reach, point_of(a->seen).time);
    }
    if (!a->wrote) return;
    if (a->at == &e->overflow) {
        watch_overflow(me, a);
    } else if (a->at == &e->safe[0] || a->at == &e->safe[1]) {
        const unsigned tick = a->at == &e->safe[1];
        if (a->left < a->seen) fail("safe[%u] is lowered", tick);
        if (a->left > seen.ever[i][tick] / e->unit_capacity) fail("safe[%u] was never used so far", tick);
    } else if (a->at == &e->drifts) {
        if (a->left != seen.toggles[i]) fail("drifts becomes %" PRIu64 ", not %" PRIu64, a->left, seen.toggles[i]);
    }
    if (e->tick_bits && seen.toggles[i] - e->drifts > 1) fail("drifts lags by more than one");
}

static uint64_t set_of(uint64_t set, uint64_t a, uint64_t b) { return set + hash_mix(hash_mix(2, a), b); }

/* Unordered where order does not matter, so that more states are equal. */
static uint64_t digest(unsigned thread) {
    uint64_t hash = 0, set = 0;
    if (thread < FIBERS && current->calls[thread]) {
        hash = hash_mix(seen.thread[thread].calls, thread);
        hash = hash_mix(hash, seen.thread[thread].bumps);
        hash = hash_mix(hash, seen.thread[thread].was_lost * 2u + seen.thread[thread].was_closed);
        hash = hash_mix(hash, relatives[thread].cloned * 2u + relatives[thread].drew);
        if (current->lanes) {
            hash = hash_mix(hash, seen.thread[thread].full);
            hash = hash_mix(hash, lanes_map()[current->one_slot ? 0 : thread]);
        }
        for (unsigned i = 0; i < n_engines; i++)
            for (unsigned tick = 0; tick < 2; tick++) hash = hash_mix(hash, seen.thread[thread].last[i][tick]);
        for (unsigned p = 0; p < seen.n_places; p++) {
            const held *h = &seen.places[p];
            if (h->by == thread) set = set_of(set, h->at, h->engine << 2 | h->tick << 1 | (h->followed ? 1 : 0));
        }
        return hash_mix(hash, set);
    }
    for (unsigned i = 0; i < n_engines; i++) {
        const flake_i_engine *e = engines[i];
        for (unsigned tick = 0; tick < 2; tick++) {
            hash = hash_mix(hash, seen.top[i][tick]);
            hash = hash_mix(hash, seen.ever[i][tick]);
        }
        hash = hash_mix(hash, seen.toggles[i]);
        hash = hash_mix(hash, e->rebased - seen.net[i]); /* as stats.ids will show it */
        hash = hash_mix(hash, e->batches - seen.batches);
    }
    if (ask_stats) hash = hash_mix(hash, seen.gross);
    if (current->counter[1]) {
        hash = hash_mix(hash, seen.latest_unit);
        for (unsigned k = 0; k < UNITS; k++)
            if (seen.leased_to[k]) hash = hash_mix(hash_mix(hash, k), seen.leased_to[k]);
    }
    hash = hash_mix(hash, seen.is_closing * 2u + seen.is_closed);
    hash = hash_mix(hash, seen.closed_unit);
    if (current->horizon_ms) { /* plain data, too */
        const flake_i_claim *const c = &our.flake[0].claim;
        hash = hash_mix(hash_mix(hash, (uint64_t)seen.latest_ns), (uint64_t)seen.floor_ns);
        hash = hash_mix(hash, hash_of_bytes(the_file.bytes, FILE_SIZE));
        hash = hash_mix(hash_mix(hash, c->own.number), (uint64_t)c->own.written_ns);
        hash = hash_mix(hash, (uint64_t)c->file.fd);
    }
    for (unsigned k = 0; k < seen.n_past; k++) set = set_of(set, seen.past[k].word, seen.past[k].toggles);
    for (unsigned k = 0; k < seen.n_elections; k++)
        set = set_of(set, seen.elections[k].note, 1024u + (seen.elections[k].owed ? 2 : 0) + seen.elections[k].pushed);
    for (unsigned k = 0; k < seen.pushes; k++) hash = hash_mix(hash, seen.pushed[k]);
    for (unsigned k = 0; k < seen.n_issued; k++) set = set_of(set, seen.issued[k].id, seen.issued[k].begun);
    hash = hash_mix(hash, seen.bumps_begun << 8 | seen.bumps_done);
    return hash_mix(hash, set);
}

#endif
