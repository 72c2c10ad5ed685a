/* SPDX-License-Identifier: MIT
 *
 * The rules that explore_engine.c's first comment lists: at each access to the word, a note, the ring or the clock; and
 * in the threads' calls, one for each letter, when they return. And which of the rules' data distinguishes two states.
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

// >>accesses

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

// >>states

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

// >>calls

typedef struct place {
    uint64_t time, index;
    unsigned tick;
} place;

/* What a call returned: a status, or fewer IDs than a batch of n. */
enum { SAID_FEWER = -1 };

static int64_t given_ms(char letter) { return current->clock[0] + (letter == 'G' ? 2 : 0); }

static flake_gen *first_gen(void) { return current->of == SNO ? &our.sno[0].gen : our.flake; }

/* An index of the whole becomes one of its lane. */
static unsigned lane_of(uint64_t *index) {
    unsigned i = 0;
    for (; *index >= engines[i]->unit_capacity && i + 1 < current->lanes; i++) *index -= engines[i]->unit_capacity;
    return i;
}

/* As generators of UUIDs do. */
static flake_status draw_on(flake_gen *g, unsigned resume, uint64_t *id) {
    flake_i_ticket p;
    flake_status status = flake_i_draw(&g->engine, resume, 0, 1, &p);
    if (status != FLAKE_OK) status = flake_i_continue_in(&g->engine, resume, status, 1, &p);
    if (status == FLAKE_OK) flake_i_put_id(g, false, p.time, p.index, id);
    return status;
}

enum { NODE = 5, PARTITION = 7, SEQUENCE_MIN = 16 };

#define DRAW(prefix, g, ids, ...)                                                                        \
    (strchr("nlo", letter)   ? prefix##next(g, __VA_ARGS__ ids)                                          \
     : strchr("tLO", letter) ? prefix##try(g, __VA_ARGS__ ids)                                           \
     : strchr("NQ", letter)  ? prefix##next_n(g, __VA_ARGS__ ids, n = 3)                                 \
     : strchr("TqM", letter) ? ((void)!prefix##try_n(g, __VA_ARGS__ ids, 3, &n), (flake_status)FLAKE_OK) \
                             : prefix##try_at(g, __VA_ARGS__ given_ms(letter), ids))

/* With a start the first unit of IDs. */
static uint64_t first_unit(void) { return current->starts ? (uint64_t)current->clock[0] + 1 : 0; }

/* How many tickets it got. */
static unsigned draw(unsigned me, char letter, place got[3], int *said) {
    const bool is_sno = current->of == SNO;
    const uint8_t meta = (uint8_t)(64 + me);
    flake_gen *const g = &our.flake[is_owned(letter) ? me : 0];
    sno_gen *const s = &our.sno[is_owned(letter) ? me : 0];
    const flake_options *o = flake_gen_options(g);
    uint64_t ids[3] = {0, 0, 0};
    sno_id snos[3];
    size_t n = 1;
    memset(snos, 0, sizeof snos);
    const flake_status status = letter == 'f'          ? flake_prefetch_next(&our.prefetch[me], ids)
                                : strchr("cC", letter) ? draw_on(g, letter == 'C' ? FLAKE_I_WAIT : 0, ids)
                                : is_sno               ? DRAW(sno_, s, snos, meta, )
                                                       : DRAW(flake_, g, ids, );
    *said = status == FLAKE_OK && is_many(letter) && n < 3 ? SAID_FEWER : (int)status;
    if (status != FLAKE_OK)
        for (n = 0; n < 3 && (is_sno ? !sno_is_zero(snos[n]) : ids[n]);) n++;
    for (size_t k = 0; k < n; k++) {
        flake_parts parts;
        memset(&parts, 0, sizeof parts);
        if (is_sno) {
            const unsigned min = current->shards ? s->sequence_min : SEQUENCE_MIN;
            got[k] = (place){sno_units(snos[k]), sno_sequence(snos[k]) - min, sno_tick(snos[k])};
            if (sno_meta(snos[k]) == meta && sno_partition(snos[k]) == PARTITION && sno_sequence(snos[k]) >= min)
                continue;
        } else if (flake_decompose(&o->layout, ids[k], &parts) == FLAKE_OK &&
                   parts.node == (current->full ? 0u : NODE) && parts.seq >= o->seq_min && parts.seq <= o->seq_max) {
            got[k] = (place){(uint64_t)parts.unix_ms, parts.seq - o->seq_min, 0};
            continue;
        }
        fail("not an ID of this generator");
    }
    return (unsigned)n;
}

static void check_place(unsigned me, unsigned i, char letter, place got) {
    struct caller *const my = &seen.thread[me];
    const flake_i_engine *e = engines[i];
    const uint64_t at = got.time * e->unit_capacity + got.index;
    if (got.time < first_unit()) fail("START: an ID of a unit that the predecessor used");
    say("  unit %" PRIu64 "%s, index %" PRIu64, got.time, current->of != SNO ? "" : got.tick ? "B" : "A", got.index);
    if (current->gate && got.time > current->gate) fail("an ID of a unit that the gate refused");
    if (my->was_lost) fail("an ID of a closed engine");
    if (my->was_closed && got.time > seen.closed_unit)
        fail("CLOSED: an ID of unit %" PRIu64 ", which began after the close", got.time);
    if (current->horizon_ms) {
        const int64_t until_ns = (int64_t)(got.time + 1) * MS - 1;
        if (until_ns > lasting_ns()) fail("HORIZON: a power cut now would forget the ID");
        if (until_ns > seen.floor_ns) fail("HORIZON: the number's next holder does not know the ID");
        if (until_ns > seen.latest_ns) seen.latest_ns = until_ns;
    }
    if (got.index >= e->unit_capacity) fail("I1: an index past the capacity");
    if (!let_go(me, i, at, got.tick))
        fail("I1: unit %" PRIu64 ", index %" PRIu64 " is handed out, but not drawn by this call", got.time, got.index);
    if (at < my->last[i][got.tick]) fail("a thread's IDs fall");
    my->last[i][got.tick] = at + 1;
    if (letter != 'f' && !continues_past_clock(letter) && got.time > my->reach + e->ahead + (unsigned)current->slack_ms)
        fail("I3: an ID of unit %" PRIu64 ", when the clock read %" PRIu64, got.time, my->reach);
    if (is_given(letter) && got.time > seen.latest_unit + 1 + e->ahead)
        fail("an ID of unit %" PRIu64 ", when the latest reading was %" PRIu64, got.time, seen.latest_unit);
    if (current->counter[1] && !my->saw_clock && my->counter >= seen.leased_to[got.time % UNITS])
        fail("LEASE: unit %" PRIu64 " was leased too long ago", got.time);
}

static void check_failure(unsigned me, unsigned i, char letter, int said, unsigned got) {
    struct caller *const my = &seen.thread[me];
    const flake_i_engine *e = engines[i];
    const point p = point_of(my->word);
    const uint64_t reading = is_given(letter) ? larger(my->reading, p.time) : my->reading;
    const bool back = p.time > reading + e->ahead;
    if ((said == SAID_FEWER && is_lost()) || said == FLAKE_FORKED || (said == FLAKE_LEASE_LOST && calls_any('x'))) {
        if (said == FLAKE_FORKED ? !is_bumped() : said != SAID_FEWER && our.gate_word)
            fail("%s, which is wrong", said == FLAKE_FORKED ? "FORKED" : "LEASE");
        events |= SHUT;
        return;
    }
    if (said == FLAKE_CLOSED || (said == SAID_FEWER && seen.is_closing)) {
        if (!seen.is_closing) fail("CLOSED, but it is open");
        events |= ENDED;
        return;
    }
    if (current->horizon_ms && said == FLAKE_AGAIN) {
        events |= AGAIN;
        return;
    }
    if (said == FLAKE_NOT_EXTENDED) {
        if (!current->manual_extend) fail("NOT_EXTENDED, although draws write");
        events |= UNEXTENDED;
        return;
    }
    if (said == FLAKE_TOO_FAR_AHEAD) {
        if (!is_given(letter) || my->reading <= my->bound + 1 + e->ahead) fail("TOO_FAR_AHEAD, which is wrong");
        if (my->wrote) fail("I4: a call that failed wrote");
        events |= FAR;
        return;
    }
    if (said != FLAKE_AGAIN && said != FLAKE_CLOCK_BACKWARDS && said != FLAKE_LEASE_LOST && said != SAID_FEWER)
        fail("neither AGAIN nor CLOCK_BACK");
    if (continues_past_clock(letter) && back) fail("the clock went backwards, and the draw does not continue");
    if (said == FLAKE_AGAIN && back) fail("AGAIN, although the clock went backwards");
    if (said == FLAKE_CLOCK_BACKWARDS && !back) fail("CLOCK_BACK, although the clock is not before the word");
    if (!got && !waits(letter) && my->wrote) fail("I4: a call that failed wrote");
    if (said == FLAKE_LEASE_LOST || (said == SAID_FEWER && current->gate)) {
        if (!current->gate) fail("LEASE, without a gate");
        events |= SHUT;
        return;
    }
    events |= back ? BACK : AGAIN;
    if (!back && p.at / e->unit_capacity <= reading + e->ahead) fail("AGAIN, although a ticket was free");
    if (is_laned(letter) && !(back && current->fail_on_backwards) && my->full != (1u << n_engines) - 1)
        fail("no ID, although a lane always had a ticket");
    if (back && !my->behind) fail("I2: CLOCK_BACK on a reading older than the word");
    if (back && e->tick_bits && reading * e->unit_capacity >= seen.ever[i][p.tick ^ 1])
        fail("CLOCK_BACK, although the other timeline was free");
}

static void call_draw(unsigned me, char letter) {
    struct caller *const my = &seen.thread[me];
    unsigned i = is_owned(letter) ? me : 0;
    int said = FLAKE_OK;
    place got[3];
    if (is_given(letter)) my->reading = my->reach = unit_of(given_ms(letter) * MS);
    const unsigned n = draw(me, letter, got, &said);
    say("%c returns%s", letter, said == FLAKE_OK ? "" : ", with fewer than requested");
    for (unsigned k = 0; k < n; k++) {
        if (is_laned(letter)) i = lane_of(&got[k].index);
        check_place(me, i, letter, got[k]);
    }
    if (is_laned(letter)) i = my->engine;
    if (said != FLAKE_OK) check_failure(me, i, letter, said, n);
    for (unsigned p = 0; p < seen.n_places;) {
        const held *h = &seen.places[p];
        if (h->by != me || letter == 'f') { /* f has a stock */
            p++;
            continue;
        }
        if (!h->followed && said != FLAKE_CLOSED) fail("I4: a ticket is neither issued nor returned");
        seen.places[p] = seen.places[--seen.n_places];
        events |= UNUSED;
    }
}

/* Not 0, as after_unix_ms that would be none. */
static uint64_t newest_of(point p) {
    return p.at > engines[0]->unit_capacity * 2 ? (p.at - 1) / engines[0]->unit_capacity : 1;
}

/* That of one word, at some time, and not before this thread's last ID. */
static void call_newest(unsigned me) {
    const uint64_t newest = (uint64_t)flake_newest_ms(our.flake), last = seen.thread[me].last[0][0];
    bool was = false;
    for (unsigned k = 0; k < seen.n_past; k++) was |= newest_of(point_of(seen.past[k].word)) == newest;
    if (!was) fail("the newest unit was never the newest");
    if (last && (last - 1) / engines[0]->unit_capacity > newest)
        fail("the newest unit is before this thread's last ID");
}

static void call_snapshot(unsigned me) {
    const flake_i_engine *e = engines[0];
    bool was = false;
    sno_snapshot s;
    memset(&s, 0, sizeof s);
    if (current->of != SNO) {
        call_newest(me);
        return;
    }
    if (sno_snapshot_take(our.sno, &s) != FLAKE_OK) fail("no snapshot");
    const uint64_t drifts = s.drifts, safe = (uint64_t)s.wall_safe;
    /* the first number and none at all look the same */
    const uint64_t word =
        ((uint64_t)s.wall_hi << 1 | (drifts & 1)) << (e->time_shift - 1) | (s.sequence - s.sequence_min + 1u);
    for (unsigned k = 0; k < seen.n_past; k++) {
        const past *p = &seen.past[k];
        was |= (p->word == word || (p->word == word - 1 && !point_of(p->word).count)) && p->toggles == drifts &&
               safe >= p->used && safe <= p->ever;
    }
    if (!was) fail("a torn snapshot");
    if (point_of(word).at < seen.thread[me].last[0][point_of(word).tick])
        fail("a snapshot from before this thread's last ID");
}

/* While other threads draw. */
static void call_stats(void) {
    flake_stats s;
    memset(&s, 0, sizeof s);
    flake_stats_get(first_gen(), &s);
    if (s.ids > current->count + seen.gross)
        fail("stats.ids is %" PRIu64 " after %" PRIu64 " draws", s.ids, current->count + seen.gross);
}

static void check_note(uint64_t position, const flake_overflow *note) {
    const flake_i_engine *e = engines[0];
    const uint64_t due = position < seen.pushes ? seen.pushed[position] : NO_NOTE;
    bool right = due & 1;
    if (due == NO_NOTE) fail("a note is popped that was not pushed, or twice");
    if (unit_of(note->now_ns) * 2 + !note->waiting != due) fail("a note is not what its writer was elected for");
    for (unsigned k = 0; k < seen.n_past; k++) /* the queue had this length at some time */
        right |= point_of(seen.past[k].word).at ==
                 (larger(unit_of(note->now_ns) + e->ahead, first_unit()) + 1) * e->unit_capacity + note->waiting;
    if (!right) fail("a note counts %" PRIu32 " callers", note->waiting);
    if (position < NOTES) seen.pushed[position] = NO_NOTE;
}

static void call_pop(unsigned me) {
    flake_overflow note;
    memset(&note, 0, sizeof note);
    if (!flake_ring_pop(&our.ring, &note)) return;
    learn((uint64_t)note.now_ns);
    learn((uint64_t)note.waiting << 32 | note.elapsed_ms);
    check_note(seen.thread[me].popped, &note);
}

/* An ID, or a partition, is issued once. */
static void issue(uint64_t id, unsigned begun) {
    for (unsigned k = 0; k < seen.n_issued; k++)
        if (seen.issued[k].id == id) fail("%" PRIx64 " is issued twice", id);
    seen.issued[seen.n_issued].id = id;
    seen.issued[seen.n_issued++].begun = begun;
}

/* Go sno's New, reduced to its fast path: a CAS moves the time; a separate store and fetch_add
 * move the sequence. */
static void call_two_words(void) {
    uint64_t id, time = FLAKE_ATOMIC_LOAD(&our.two_time, acquire);
    const uint64_t clock = unit_of(FLAKE_CLOCK_NS(FLAKE_CLOCK_EXACT));
    if (clock > time && FLAKE_ATOMIC_CAS(&our.two_time, &time, clock, release, acquire)) {
        FLAKE_ATOMIC_STORE(&our.two_seq, 0u, relaxed);
        id = clock << 16;
    } else id = time << 16 | (FLAKE_ATOMIC_ADD(&our.two_seq, 1u, relaxed) + 1);
    say("w returns unit %" PRIu64 ", sequence %" PRIu64, id >> 16, id & 0xffff);
    issue(id, 0);
}

/* A ticket drawn after flake_machine_cloned has returned has no partition that was in use before. */
static void call_generate(unsigned me) {
    struct caller *const my = &seen.thread[me];
    const sno_id id = sno_generate(0);
    const uint64_t known = sno_units(id) << 32 | (uint64_t)sno_partition(id) << 16 | sno_sequence(id);
    unsigned begun = seen.bumps_begun;
    say("d returns partition %u, sequence %u", sno_partition(id), sno_sequence(id));
    if (sno_is_zero(id)) fail("no ID");
    for (unsigned k = 0; k < seen.n_issued; k++)
        if (((seen.issued[k].id ^ known) >> 16 & 0xffff) == 0) begun = seen.issued[k].begun;
        else events |= RETAGGED;
    if (begun < my->bumps) fail("a partition from before the clone");
    issue(known, begun);
    my->bumps = 0;
}

static void call_clone(unsigned me) {
    const bool has_partitions = current->of >= DEFAULT;
    seen.bumps_begun += has_partitions;
    flake_machine_cloned();
    seen.bumps_done += has_partitions;
    relatives[me].cloned = has_partitions;
    relatives[me].drew = false;
}

/* No two relatives take the same partition, and one that was cloned looks from a start that it drew since. */
static void call_take(unsigned me) {
    uint16_t partition;
    if (sno_i_take_partition(&partition) != FLAKE_OK) fail("no partition");
    say("P takes %u", partition);
    if (relatives[me].cloned && !relatives[me].drew) fail("a start from before the clone");
    if (relatives[me].drew && partition != any_start) events |= MET;
    relatives[me].cloned = relatives[me].drew = false;
    issue(partition, 0);
}

static flake_status flake_admit(void *user, int64_t until_ns) {
    (void)user;
    return current->gate && unit_of(until_ns) > current->gate ? FLAKE_LEASE_LOST : FLAKE_OK;
}

static bool has_gate(void) { return current->gate || calls_any('x'); }

static flake_gate gate_of(void) {
    const flake_gate gate = {.admit = flake_admit, .fence = calls_any('x') ? &our.gate_word : NULL};
    return gate;
}

static flake_node node_of_flake(void) {
    const flake_gate gate = gate_of();
    return current->full ? flake_node_none()
           : has_gate()  ? flake_node_gated(&gate, NODE)
                         : flake_node_fixed(current->horizon_ms ? "/ids" : NULL, NODE);
}

/* The next holder of the number generates IDs after the time that the last record shows. */
static void call_close(void) {
    seen.is_closing = true;
    if (flake_close(first_gen(), NULL) != FLAKE_OK) fail("it cannot be closed");
    seen.is_closed = true;
    seen.closed_unit = seen.latest_unit;
    for (unsigned i = 0; i < n_engines; i++)
        seen.closed_unit = larger(seen.closed_unit, point_of(engines[i]->word).time);
    if (!current->horizon_ms) return;
    seen.floor_ns = lasting_ns();
    if (seen.latest_ns > seen.floor_ns) fail("HORIZON: the next holder begins before the last ID");
}

static void call_extend(void) {
    const flake_status status = flake_extend(our.flake, NULL);
    if (status != FLAKE_OK && !(status == FLAKE_CLOSED && seen.is_closing)) fail("extend returns %d", (int)status);
}

static void call(unsigned me, char letter) {
    struct caller *const my = &seen.thread[me];
    my->letter = letter;
    my->saw_word = my->behind = my->wrote = false;
    my->saw_clock = is_given(letter); /* the caller's */
    if (letter != 'f') my->reach = 0;
    my->full = 0;
    if (current->lanes) watch_lanes();
    my->was_lost = is_lost();
    my->was_closed = seen.is_closed;
    switch (letter) {
    case 'k': call_close(); break;
    case 'e': call_extend(); break;
    case 'x': FLAKE_ATOMIC_STORE(&our.gate_word, 0u, seq_cst); break;
    case 'b': call_clone(me); break;
    case 'P': call_take(me); break;
    case 's': call_snapshot(me); break;
    case 'v': call_stats(); break;
    case 'r': (void)flake_retry_ns(first_gen()); break;
    case 'p': call_pop(me); break;
    case 'w': call_two_words(); break;
    case 'd': call_generate(me); break;
    default: call_draw(me, letter);
    }
    if (strchr("svr", letter) && my->wrote) fail("a query wrote");
    my->calls++;
    my->was_lost = my->was_closed = false;
    my->letter = 0;
    my->full = 0;
    my->sleeps = 0;
    if (letter != 'f') forget(my->calls);
}

#endif
