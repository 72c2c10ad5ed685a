/* SPDX-License-Identifier: MIT
 *
 * Every interleaving of a few calls to flake.h and sno.h, and of a clock that steps forward and backward between any
 * two accesses. explorer.h describes the search and the command line, engine_steps.h the steps.
 *
 * A scenario is a line of the table below: what each thread calls, one letter a call, what the clock does meanwhile,
 * and the engine's state at the start. The rules do not depend on the scenario, and are checked at each access
 * (`watch`) and each return (`call`):
 *
 *   I1   A move of the word draws tickets after all those drawn before on that timeline and not returned. A returned
 *        ticket is the newest, is the caller's own, and has not been issued. Only a ticket's drawer issues it. So no
 *        ticket is issued twice.
 *   I2   A call that returns CLOCK_BACK or leaves a timeline does so on a reading that it took after it had loaded a
 *        word of a later time.
 *   I3   No ticket is issued that is more than max_ahead after the reading by which it was drawn.
 *   I4   A call that fails has written nothing; a waiter has returned its ticket, unless another thread has moved the
 *        word since, or the generator is closed. (safe[] and drifts are checked separately.)
 *   I5   A move that leaves a timeline finds safe[] at or past the last time drawn on it.
 *   HORIZON   An issued ID is at or before the horizon that a power cut would leave then, and before everything that
 *        the number's next holder draws; one thread at a time writes, never over the newest record.
 *   CLOSED A call that begins, or wakes from a sleep, when a close has returned gets no ID of a later unit, unless a
 *        call from before has begun that unit.
 *   LOST A caller gets nothing, and the status for it, if the gate is closed or the process was cloned when the call
 *        begins or after a sleep.
 *   also drifts is settled before a timeline is left, lags by one at most, and adds up; AGAIN and CLOCK_BACK are true;
 *        a thread's IDs rise; a snapshot is a state that existed; an election leads to exactly one note, and each ms
 *        has one election; statistics add up.
 *
 * A scenario names the events that must occur in some execution, and fails without them. It fails, too, if an execution
 * was cut unexpectedly.
 */
#include "engine_rules.h"

// >>beginnings

static unsigned capacity(void) { return current->full ? 1u << 20 : current->cap ? current->cap : 2; }

/* The file that an earlier holder has left. */
static void prepare_file(void) {
    flake_i_record r;
    memset(&r, 0, sizeof r);
    world.exact_ns = current->clock[0] * MS;
    r.number = 1;
    r.horizon_ns = r.written_ns = world.exact_ns - 10 * MS;
    r.node = NODE;
    memcpy(the_file.bytes, FLAKE_I_MAGIC, 8);
    flake_i_put64(the_file.bytes + 8, (uint64_t)FLAKE_I_VERSION << 32);
    flake_i_record_put(&r, the_file.bytes + flake_i_record_at(1));
    our.records[1] = r.number << 41 | (uint64_t)r.horizon_ns << 1;
    the_file.is_there = true;
}

static int clock_kind(void) {
    return current->coarse ? FLAKE_CLOCK_COARSE : current->counter[1] ? FLAKE_CLOCK_FAST : FLAKE_CLOCK_EXACT;
}

static flake_options options_of_flake(void) {
    flake_options o;
    memset(&o, 0, sizeof o);
    o.layout = current->full ? flake_layout_of(44, 0, 20, 0) : flake_layout_of(42, 10, 12, 0);
    o.seq_min = current->full ? 0 : SEQUENCE_MIN;
    o.seq_max = o.seq_min + capacity() * n_engines - 1;
    o.max_ahead_ms = current->ahead_ms;
    o.max_wait_ms = current->wait_ms ? current->wait_ms : 5000;
    o.shared_memory = !has_gate() && !current->horizon_ms && !calls_any('b'); /* no fork word */
    o.clock.kind = clock_kind();
    o.overflow = current->ring && current->of == FLAKE ? &our.ring : NULL;
    o.start_this_unit = true; /* scenarios with a start set it */
    o.horizon_ms = current->horizon_ms;
    o.manual_extend = current->manual_extend;
    return o;
}

/* sno.h wants a pool of 4 numbers and units of 4 ms from 2010 on. Its engine is set up anew,
 * with the requested capacity and units of 1 ms from 1970 on: only the engine uses them. */
static bool prepare_sno_engine(flake_i_engine *e) {
    flake_i_engine_config config;
    memset(&config, 0, sizeof config);
    config.unit_ms = 1;
    config.time_bits = 39;
    config.tick_bits = 1;
    config.unit_capacity = capacity();
    config.options.max_wait_ms = current->wait_ms ? current->wait_ms : INT64_MAX;
    config.options.shared_memory = !has_gate();
    if (has_gate()) config.gate = gate_of();
    if (config.gate.fence) config.fence_value = *config.gate.fence;
    config.options.clock.kind = clock_kind();
    config.options.overflow = current->ring ? &our.ring : NULL;
    return flake_i_engine_init(e, &config) == FLAKE_OK;
}

static flake_status init_of_flake(const flake_options *o) {
    const flake_node node = node_of_flake();
    return current->shards ? flake_init_shards(our.flake, current->shards, node, o, NULL)
                           : flake_init(our.flake, node, o, NULL);
}

static flake_status init_of_sno(const flake_options *o) {
    sno_snapshot pool;
    memset(&pool, 0, sizeof pool);
    pool.partition = PARTITION;
    pool.sequence_min = SEQUENCE_MIN;
    pool.sequence_max = SEQUENCE_MIN + 3;
    const flake_node node = flake_node_fixed(NULL, PARTITION);
    return current->shards ? sno_init_shards(our.sno, current->shards, node, &pool, o, NULL)
                           : sno_init(our.sno, node, &pool, o, NULL);
}

static bool prepare_generators(void) {
    const bool is_sno = current->of == SNO;
    flake_options o = options_of_flake();
    if (is_sno) {
        memset(&o, 0, sizeof o);
        o.shared_memory = true;
        o.clock.kind = clock_kind();
    }
    if (current->lanes) o.lanes = our.lane;
    o.lane_count = current->lanes;
    if (current->horizon_ms) prepare_file();
    bool well = (is_sno ? init_of_sno(&o) : init_of_flake(&o)) == FLAKE_OK;
    if (!o.shared_memory) {
        flake_atomic64 *word;
        mark_at_start = flake_i_instance_owner_id(&word);
        fork_page = word;
    }
    for (unsigned i = 0; i < FIBERS && calls_any('f'); i++)
        well = well && flake_prefetch_init(&our.prefetch[i], our.flake, 2, 1, NULL) == FLAKE_OK;
    for (unsigned i = 0; i < n_engines; i++) {
        engines[i] = current->lanes ? &our.lane[i].engine : is_sno ? &our.sno[i].gen.engine : &our.flake[i].engine;
        if (is_sno) well = well && prepare_sno_engine(engines[i]);
        if (current->counter[1]) {
            engines[i]->ticks_per_window = LEASE_NS; /* as if learned: one a ns */
            engines[i]->frequent = 1;                /* and as if all draws were frequent */
        }
    }
    return well;
}

/* The page and the family are there already, since they take system calls. */
static void reset_default(void) {
    marks[0] = marks[1] = 0;
    flake_i_process.page = marks;
    flake_i_process.instance_count = 0;
    flake_i_process.clone_count = 0;
    memset((void *)&family, 0, sizeof family);
    any_start = sno_i_random_partition();
    sno_i_partitions.next = 1u << 16 | any_start;
    sno_i_partitions.family = &family;
    memset(relatives, 0, sizeof relatives);
    for (unsigned i = 0; i < FIBERS; i++) relatives[i].next = sno_i_partitions.next;
    memset(&sno_i_default, 0, sizeof sno_i_default);
}

/* Tickets in excess of the IDs were dropped. */
static void default_ended(void) {
    const flake_i_engine *const e = sno_i_default.engine;
    const uint64_t drawn = e->word & e->count_mask;
    if (drawn < seen.n_issued) fail("more IDs than tickets");
    if (drawn > seen.n_issued) events |= DROPPED;
}

/* Builds at_start, the state in which each execution begins. */
static void prepare(const scenario *s) {
    current = s;
    events = 0;
    ask_stats = calls_any('v');
    ask_past = calls_any('s') || s->ring;
    memset(&our, 0, sizeof our);
    memset(&the_file, 0, sizeof the_file);
    memset(&flake_i_process, 0, sizeof flake_i_process); /* of an earlier scenario's clones nothing is left */
    fork_page = NULL;
    our.gate_word = GATE_OPEN;
    for (unsigned i = 0; i < ENGINES; i++) engines[i] = &our.flake[0].engine; /* until there are more */
    n_engines = s->lanes ? s->lanes : s->shards ? s->shards : 1;
    bool right = flake_ring_init(&our.ring, our.slots, s->ring ? s->ring : 1) == FLAKE_OK && prepare_generators();
    if (s->of >= DEFAULT) n_engines = 0;
    for (unsigned i = 0; i < n_engines; i++) {
        flake_i_engine *e = engines[i];
        const bool by_add = !s->wait_ms && !s->full;
        right = right && e->unit_capacity == capacity() && e->add_limit == (by_add ? e->unit_capacity - 1 : 0);
        e->word = ((uint64_t)s->time << e->time_shift) + (s->tick ? e->count_mask + 1 : 0) + s->count;
        e->drifts = s->tick;
        e->rebased = 0;
        e->safe[0] = s->safe[0];
        e->safe[1] = s->safe[1];
        e->fail_on_backwards |= s->fail_on_backwards;
        if (s->starts) flake_i_engine_not_before(e, s->clock[0] * MS);
    }
    if (!right) {
        (void)fprintf(stderr, "%s: the engine is not what it was meant to be\n", s->name);
        exit(2);
    }
    at_start = our;
    file_at_start = the_file;
    process_at_start = flake_i_process;
}

static void reset(void) {
    our = at_start;
    the_file = file_at_start;
    flake_i_process = process_at_start;
    flake_i_counter.rate = current->counter[1] ? LEASE_NS + 1 : 1; /* 1: no windows */
    flake_i_counter.calibrated_at = flake_i_counter.calibration = 0;
    if (fork_page) *fork_page = mark_at_start;
    memset(&seen, 0, sizeof seen);
    if (current->of >= DEFAULT) reset_default();
    for (unsigned i = 0; i < n_engines; i++) {
        const flake_i_engine *e = engines[i];
        const point p = point_of(e->word);
        seen.toggles[i] = current->tick;
        for (unsigned tick = 0; tick < 2; tick++) {
            seen.top[i][tick] = e->safe[tick] ? (e->safe[tick] + 1) * e->unit_capacity : 0;
            if (tick == p.tick) seen.top[i][tick] = larger(seen.top[i][tick], p.at);
            seen.ever[i][tick] = seen.top[i][tick];
        }
        remember(i);
    }
    seen.floor_ns = INT64_MAX;
}

static void thread(unsigned me) {
    for (const char *letter = current->calls[me]; *letter; letter++) call(me, *letter);
}

static uint64_t drawn_at_most(void) {
    uint64_t most = 0;
    for (unsigned i = 0; i < FIBERS && current->calls[i]; i++)
        for (const char *letter = current->calls[i]; *letter; letter++) most += is_many(*letter) ? 3 : 1;
    return most;
}

static void ended(void) {
    flake_overflow note;
    if (current->of == DEFAULT) default_ended();
    for (unsigned i = 0; i < current->ring; i++)
        if (flake_ring_pop(&our.ring, &note)) check_note(seen.pops++, &note);
    if (seen.pops != seen.pushes) fail("a note is lost");
    if (current->starts && seen.pushes && drawn_at_most() <= engines[0]->unit_capacity)
        fail("START: the wait for the start is noted");
    for (unsigned k = 0; k < seen.n_elections; k++)
        if (!seen.elections[k].pushed && !seen.elections[k].owed && seen.pushes < current->ring)
            fail("a note is lost between election and ring");
    for (unsigned i = 0; i < n_engines; i++) {
        const flake_i_engine *e = engines[i];
        const point p = point_of(e->word);
        const uint64_t drifts = e->drifts + ((e->drifts & 1) != p.tick), ids = e->rebased + p.count;
        if (ids != current->count + seen.net[i])
            fail("stats.ids is %" PRIu64 " after %" PRIu64 " draws", ids, current->count + seen.net[i]);
        if (n_engines == 1 && e->batches > seen.batches) fail("stats.batches is wrong");
        if (current->starts && drawn_at_most() <= e->unit_capacity && e->waits)
            fail("START: stats.waits counts the wait for the start");
        if (e->tick_bits && drifts != seen.toggles[i])
            fail("%" PRIu64 " drifts after %" PRIu64 " changes of the timeline", drifts, seen.toggles[i]);
    }
}

// >>scenarios

// clang-format off
#define FORWARD {100, 101, 102}
#define STUCK {100}
#define BACK_ONCE {100, 101, 98}
#define BACK_TWICE {100, 98, 96}
#define BACK_AND_ON {100, 97, 101}
#define QUEUE .time = 100, .count = 3 /* of a capacity of 2: one already waits for unit 101 */
static const scenario scenarios[] = {
    {"two_words", "Go sno's New keeps time and sequence in two words: must be caught", {"ww", "w"}, {100, 101}, .of = TWO_WORDS, .caught = "twice"},

    {"every_stuck", "the explorer itself: without pruning as many schedules and ends", {"t", "t"}, STUCK, .must = OUTRUN, .stuck = true, .every = true},
    {"every_back", "the same, and a step back", {"t", "t"}, {100, 99}, .must = OUTRUN | BACK, .every = true},
    {"every_next", "the same with fetch_add and sleeps", {"n", "n"}, {100, 101}, .must = SLEPT | QUEUED, .cap = 1, .every = true},
    {"every_sno", "the same with a change of the timeline", {"t", "t"}, {100, 98}, .must = TOGGLED, .every = true, .of = SNO},
    {"every_bound", "the same under a bound: 2 preemptions", {"tt", "tt"}, {100, 101}, .must = OUTRUN, .bound = 2, .every = true},
    {"every_bound3", "the same with three threads", {"t", "n", "n"}, STUCK, .must = OUTRUN, .bound = 2, .stuck = true, .cap = 3, .every = true},

    {"flake_add_forward", "fetch_add, 2 x 3: late tickets wait their turn, the queue is carried over", {"nnn", "nnn"}, FORWARD, .must = SLEPT | QUEUED | REBASED | LATE},
    {"flake_add_stuck", "a clock that stands still: the wait is cut", {"nnn", "nnn"}, STUCK, .must = SLEPT | QUEUED | LATE, .stuck = true, .cuts = true},
    {"flake_add_back", "without a tick the word continues from its own time", {"nnn", "nnn"}, BACK_ONCE, .must = SLEPT | QUEUED | MOVED},
    {"flake_add_back2", "two steps back", {"nnn", "nnn"}, BACK_TWICE, .must = SLEPT | QUEUED},
    {"flake_add_queue", "a step back while callers queue", {"nnn", "nnn"}, {100, 97}, .must = SLEPT | QUEUED, QUEUE},
    {"flake_add_far", "a step back further than max_wait: tickets are returned, or left", {"nn", "nn"}, {6000, 100}, .must = SLEPT | QUEUED | RETURNED | UNUSED | BACK, .stuck = true, .time = 6000, .count = 1},

    {"flake_cas_forward", "CAS alone, 2 x 3", {"nnn", "nnn"}, FORWARD, .must = SLEPT | QUEUED | REBASED | OUTRUN, .wait_ms = 9},
    {"flake_cas_stuck", "a clock that stands still: AGAIN when the wait is over, tickets returned", {"nnn", "nnn"}, STUCK, .must = SLEPT | QUEUED | RETURNED | UNUSED | AGAIN, .wait_ms = 2, .stuck = true},
    {"flake_cas_back", "a step back further than max_wait", {"nnn", "nnn"}, BACK_ONCE, .must = SLEPT | QUEUED | RETURNED | UNUSED | BACK, .wait_ms = 2},
    {"flake_cas_back2", "two steps back", {"nnn", "nnn"}, BACK_TWICE, .must = SLEPT | QUEUED | BACK, .wait_ms = 2},
    {"flake_cas_queue", "a step back while callers queue", {"nnn", "nnn"}, {100, 97}, .must = SLEPT | QUEUED | RETURNED | UNUSED | BACK, .wait_ms = 3, QUEUE},
    {"flake_early", "sleeps that end early", {"nn", "nn"}, FORWARD, .must = SLEPT | QUEUED | RETURNED, .wait_ms = 2, .early = true},
    {"flake_refuse", "fail_on_backwards: waiting calls return CLOCK_BACK at once", {"nnn", "nnn"}, BACK_AND_ON, .must = QUEUED | RETURNED | BACK, .fail_on_backwards = true},

    {"flake_try_forward", "tries, 2 x 3", {"ttt", "ttt"}, FORWARD, .must = OUTRUN | AGAIN},
    {"flake_try_back", "CLOCK_BACK, and nothing written", {"ttt", "ttt"}, BACK_AND_ON, .must = OUTRUN | AGAIN | BACK},
    {"flake_try_queue", "a try after a queue", {"ttt", "nn"}, {100, 101, 97}, .must = SLEPT | QUEUED | AGAIN | BACK, QUEUE},
    {"flake_mixed", "next, try and batches at once", {"ntN", "Tn"}, FORWARD, .must = SLEPT | QUEUED | BATCHED, .cap = 3},
    {"flake_batch", "batches over the end of a unit", {"Nn", "NT"}, FORWARD, .must = SLEPT | QUEUED | BATCHED | REBASED},
    {"flake_batch_cas", "the same by CAS alone", {"Nn", "NT"}, {100, 101, 99}, .must = SLEPT | QUEUED | BATCHED | RETURNED, .wait_ms = 2},
    {"flake_given", "the caller's readings, old and ahead", {"gGg", "ntn"}, FORWARD, .must = FAR | SLEPT | LEAPT | AGAIN},
    {"flake_on", "draws that continue after a backward step, for good", {"cccc", "ccc"}, BACK_ONCE, .must = OUTRUN | AGAIN, .fail_on_backwards = true},
    {"flake_on_waits", "the same with waiting callers, one of them queued", {"CCC", "CcC"}, BACK_ONCE, .must = SLEPT | QUEUED, .cap = 1, .fail_on_backwards = true},
    {"flake_on_there", "and forward again", {"CcC", "ccc"}, BACK_AND_ON, .must = AGAIN, .cap = 1, .fail_on_backwards = true},
    {"flake_given_back", "the same, and a step back", {"gGg", "tnt"}, BACK_AND_ON, .must = FAR | SLEPT | LEAPT | AGAIN | BACK},
    {"flake_ahead", "Hazelcast's: two units ahead of the clock, then wait", {"nnn", "nnn"}, FORWARD, .must = SLEPT | QUEUED, .cap = 1, .ahead_ms = 2},
    {"flake_ahead_back", "the same, and a step back", {"nnn", "ttt"}, BACK_ONCE, .must = SLEPT | QUEUED | BACK, .cap = 1, .ahead_ms = 2},
    {"flake_limit", "so far ahead that count is full: whole units move to time", {"nn", "nn"}, FORWARD, .must = LEAPT, .cap = 1, .ahead_ms = 1 << 23, .time = 100, .count = (3 << 20) - 1},
    {"flake_full", "a unit that fills its count carries into time", {"ntn", "sn"}, FORWARD, .must = SLEPT | AGAIN, .full = true, .time = 100, .count = (1 << 20) - 2},
    {"flake_full_back", "the same, and a step back", {"nn", "Ts"}, BACK_ONCE, .must = SLEPT | LEAPT | BATCHED, .full = true, .time = 100, .count = (1 << 20) - 2},
    {"flake_full_fast", "two units that several callers fill, alone and by batches, from their last tickets on", {"Nt", "tT", "t"}, {100, 101}, .must = BATCHED | OUTRUN | AGAIN, .full = true, .time = 100, .count = (1 << 20) - 4, .bound = 3},
    {"flake_coarse", "a clock that lags: the exact one is read before a wait or a step back", {"ntn", "nn"}, {100, 101, 99}, .must = SLEPT | QUEUED, .coarse = true},
    {"flake_slack", "a clock that lags by a unit, and counts as of the word's", {"ntn", "nn"}, {100, 101, 102}, .must = SLEPT | QUEUED, .coarse = true, .slack_ms = 2},
    {"flake_slack3", "by three units, and steps back by more than the slack", {"tnt", "tn"}, {100, 103, 96}, .must = SLEPT | QUEUED | BACK, .coarse = true, .slack_ms = 6},
    {"flake_slack_cas", "the same by CAS alone, a smaller step back", {"nnn", "tt"}, {100, 103, 102}, .must = SLEPT | QUEUED | OUTRUN, .wait_ms = 9, .coarse = true, .slack_ms = 6},
    {"flake_slack_3", "three threads with a clock that lags", {"t", "n", "t"}, {100, 102, 99}, .must = OUTRUN | QUEUED, .coarse = true, .slack_ms = 4},
    {"flake_fast", "leases on a unit: they outlast it, end, and are used by a thread that was stopped", {"nt", "tn"}, FORWARD, .must = QUEUED | OUTRUN, .wait_ms = 9, .counter = {0, 300, 700}},
    {"flake_fast_add", "the same by fetch_add", {"nn", "tn"}, FORWARD, .must = QUEUED | LATE, .counter = {0, 300, 700}},
    {"flake_fast_back", "a step back while a unit is leased", {"ttt", "tt"}, BACK_AND_ON, .must = OUTRUN | AGAIN | BACK, .counter = {0, 100, 800}},
    {"flake_fast_given", "the caller's readings beside leases", {"gGg", "tt"}, {100, 101}, .must = FAR | LEAPT | BACK, .counter = {0, 300}},
    {"flake_fast_jumps", "a counter that jumps back, and far ahead", {"tt", "tt"}, {100, 101, 102, 103}, .must = OUTRUN | AGAIN, .counter = {900, 1200, 300, 5000}},
    {"flake_fast_3", "three threads; 3 preemptions", {"nt", "tt", "tn"}, {100, 101}, .must = OUTRUN | QUEUED, .wait_ms = 9, .counter = {0, 300}, .bound = 3},
    {"flake_gate", "a gate that refuses a unit: tickets drawn in it are returned, or left", {"nn", "nt", "n"}, {100, 101}, .must = QUEUED | LATE | SHUT | RETURNED | UNUSED, .gate = 100},
    {"flake_gate_cas", "the same by CAS alone: nothing is drawn", {"nnn", "ntn"}, {100, 101}, .must = SHUT, .gate = 100, .wait_ms = 2},
    {"gate_closes", "the gate is closed, by its word, while callers sleep: they check it when they wake", {"nn", "nn", "x"}, {100, 101}, .must = SLEPT | QUEUED | SHUT | LOST, QUEUE},
    {"gate_closes_cas", "the same by CAS alone", {"nn", "n", "x"}, {100, 101}, .must = SLEPT | QUEUED | SHUT | LOST | RETURNED, .wait_ms = 9, QUEUE},
    {"bumped", "the process is cloned while callers sleep", {"nn", "nn", "b"}, {100, 101}, .must = SLEPT | QUEUED | SHUT | LOST, QUEUE},
    {"bumped_gate", "the same, and the gate is closed by its word: each has its status", {"nn", "x", "b"}, {100, 101}, .must = SLEPT | QUEUED | SHUT | LOST, QUEUE},
    {"claim_draws", "a directory, by CAS: a draw near the horizon writes the next, others continue or wait", {"nn", "nn"}, {100, 101, 102}, .must = WRITTEN | SLEPT, .wait_ms = 9, .horizon_ms = 2},
    {"claim_add", "the same by fetch_add", {"nn", "n"}, {100, 102}, .must = WRITTEN | SLEPT, .cap = 1, .horizon_ms = 2},
    {"claim_extend", "a timer writes, and draws do; 2 preemptions", {"t", "t", "e"}, {100, 102}, .must = WRITTEN | OUTRUN, .horizon_ms = 2, .bound = 2},
    {"claim_by_timer", "only a timer writes; 2 preemptions", {"t", "t", "ee"}, {100, 103}, .must = WRITTEN | UNEXTENDED, .horizon_ms = 2, .manual_extend = true, .bound = 2},
    {"claim_close", "closed while others draw, and a timer writes: the file covers all IDs; 3 preemptions", {"tt", "e", "k"}, {100, 101, 102}, .must = WRITTEN | ENDED, .horizon_ms = 2, .bound = 3},
    {"claim_close_waiting", "closed while two draw, with fetch_add; 2 preemptions", {"n", "n", "k"}, {100, 102}, .must = WRITTEN | ENDED, .horizon_ms = 2, .bound = 2},
    {"claim_close_2", "closed while one draws", {"ttt", "k"}, {100, 101, 103}, .must = WRITTEN | ENDED, .horizon_ms = 2},
    {"claim_close_3", "closed while two draw; 3 preemptions", {"t", "t", "k"}, {100, 102}, .must = WRITTEN | ENDED, .horizon_ms = 2, .bound = 3},
    {"claim_close_timer", "the same with a timer, which alone writes; 3 preemptions", {"tt", "e", "k"}, {100, 102}, .must = WRITTEN | ENDED | UNEXTENDED, .horizon_ms = 2, .manual_extend = true, .bound = 3},
    {"close", "closed without a directory: CLOSED from the next unit on", {"ttt", "k"}, {100, 101}, .must = ENDED},
    {"close_waiting", "the same with callers that sleep", {"nn", "nn", "k"}, {100, 101}, .must = SLEPT | QUEUED | ENDED, .bound = 3},
    {"close_cas", "the same by CAS alone, with batches", {"Nn", "T", "k"}, {100, 101}, .must = SLEPT | QUEUED | ENDED, .wait_ms = 9, .bound = 3},
    {"close_prefetch", "and prefetched stocks", {"fff", "k"}, {100, 101}, .must = BATCHED | ENDED},
    {"close_fast", "and leases on a unit", {"ttt", "k"}, FORWARD, .must = ENDED, .counter = {0, 300, 700}},
    {"close_lanes", "and lanes", {"LlL", "k"}, {100, 101}, .must = ENDED, .lanes = 2, .wait_ms = 9},
    {"close_shards", "and shards, which the first one closes", {"oO", "OO", "k"}, {100, 101}, .must = ENDED, .shards = 2, .bound = 3},
    {"flake_newest", "the newest unit, and retry, while others draw", {"srs", "nnn"}, FORWARD, .must = QUEUED},
    {"flake_stats", "statistics while others draw", {"vv", "nnn"}, FORWARD, .must = QUEUED},
    {"flake_prefetch", "two threads' stocks, dropped after 1 ms", {"fff", "fff"}, FORWARD, .must = BATCHED},
    {"flake_3x1", "three threads, a call each: a step back, then forward, while callers queue", {"n", "n", "t"}, BACK_AND_ON, .must = QUEUED | OUTRUN | AGAIN | BACK, QUEUE},
    {"flake_3x1_forward", "three that wait", {"n", "n", "n"}, FORWARD, .must = SLEPT | QUEUED | LATE},
    {"flake_3x1_stuck", "three that wait for a clock that stands still: the wait is cut", {"n", "n", "n"}, STUCK, .must = SLEPT | QUEUED | LATE, .stuck = true, .cuts = true},
    {"flake_3x1_there", "three that wait, one step back, then forward", {"n", "n", "n"}, BACK_AND_ON, .must = SLEPT | QUEUED, QUEUE},
    {"flake_3x1_back", "three that try, one step back", {"t", "t", "t"}, BACK_ONCE, .must = OUTRUN | BACK},
    {"flake_3x1_back2", "two steps back while callers queue", {"n", "n", "t"}, BACK_TWICE, .must = QUEUED | AGAIN | BACK, QUEUE},
    {"flake_3x1_queue", "three that wait after a queue, two steps back", {"n", "n", "n"}, BACK_TWICE, .must = SLEPT | QUEUED, QUEUE},
    {"flake_3x1_cas", "three that wait by CAS alone, after a queue, a step back", {"n", "n", "n"}, {100, 97}, .must = SLEPT | QUEUED | RETURNED | UNUSED | OUTRUN | BACK, .wait_ms = 3, QUEUE},
    {"flake_3x1_cas_back2", "the same, two steps back", {"n", "n", "n"}, BACK_TWICE, .must = SLEPT | OUTRUN | BACK, .wait_ms = 3, QUEUE},
    {"flake_3x2", "three threads, two calls each; 3 preemptions", {"nn", "nn", "nn"}, FORWARD, .must = SLEPT | QUEUED | LATE, .bound = 3},
    {"flake_3x2_back", "the same, and a step back", {"nt", "nt", "nt"}, BACK_ONCE, .must = SLEPT | QUEUED | AGAIN | BACK, .bound = 3},
    {"flake_3x2_stuck", "the same, and a clock that stands still", {"nt", "nt", "tn"}, STUCK, .must = SLEPT | QUEUED | AGAIN, .bound = 3, .stuck = true, .cuts = true},
    {"flake_4x2", "four threads, two calls each; 3 preemptions", {"nn", "nn", "nn", "nn"}, {100, 99}, .must = SLEPT | QUEUED, .bound = 3},
    {"flake_4x2_forward", "the same, and the clock advances", {"nn", "nn", "nn", "nn"}, {100, 101}, .must = SLEPT | QUEUED | REBASED | LATE, .bound = 3},
    {"flake_4x2_try", "tries by four, a step back, then forward; 3 preemptions", {"tt", "tt", "tt", "tt"}, BACK_AND_ON, .must = OUTRUN | AGAIN | BACK, .bound = 3},

    {"start", "a predecessor has used this unit: callers queue for the next one, and are carried over", {"nnt", "tn"}, FORWARD, .must = SLEPT | QUEUED | AGAIN, .starts = true},
    {"start_cas", "the same by CAS alone, with a batch", {"Nn", "tT"}, FORWARD, .must = SLEPT | QUEUED | BATCHED | AGAIN, .wait_ms = 9, .starts = true},
    {"start_noted", "all have an ID of the start unit: nothing is counted or noted", {"nn", "nn"}, {100, 101}, .must = SLEPT | QUEUED, .cap = 4, .ring = 4, .starts = true},
    {"start_notes", "some have not: their wait is noted", {"nn", "n"}, FORWARD, .must = NOTED | CLOSED, .cap = 1, .ring = 4, .starts = true},
    {"start_back", "a step back before the start", {"nt", "tn"}, {100, 98, 101}, .must = SLEPT | QUEUED | BACK | AGAIN, .starts = true},
    {"start_given", "the caller's readings, before the start and after it", {"gGg", "tn"}, FORWARD, .must = FAR | AGAIN | SLEPT, .starts = true},
    {"start_ahead", "a unit ahead of the clock, which need not wait", {"tt", "nn"}, {100, 101}, .must = AGAIN | SLEPT, .ahead_ms = 1, .starts = true},
    {"start_slack", "a clock that lags by two units and the exact one, which has chosen the start", {"tn", "nt"}, {100, 102, 101}, .must = SLEPT | QUEUED | AGAIN, .coarse = true, .slack_ms = 4, .starts = true},
    {"start_fast", "leases on a unit, beside the wait", {"tn", "nt"}, FORWARD, .must = QUEUED | AGAIN, .wait_ms = 9, .counter = {0, 300, 700}, .starts = true},
    {"start_3", "three that wait and try; 3 preemptions", {"nt", "tn", "n"}, {100, 99, 101}, .must = SLEPT | QUEUED | BACK | AGAIN, .bound = 3, .starts = true},
    {"start_sno", "a step back before the start, which neither timeline may use", {"nt", "tn"}, {100, 98, 101}, .must = SLEPT | BACK | AGAIN, .starts = true, .of = SNO},
    {"start_lanes", "each lane starts in the next unit; 3 preemptions", {"lL", "Ll"}, {100, 101}, .must = AGAIN | SLEPT, .lanes = 2, .wait_ms = 9, .bound = 3, .starts = true},

    {"sno_add_forward", "fetch_add, 2 x 3; no tick-tock without a step back", {"nnn", "nnn"}, FORWARD, .must = SLEPT | QUEUED | REBASED | LATE, .of = SNO},
    {"sno_add_stuck", "a clock that stands still: the wait is cut", {"nnn", "nnn"}, STUCK, .must = SLEPT | QUEUED, .stuck = true, .cuts = true, .of = SNO},
    {"sno_add_back", "tick-tock", {"nnn", "nnn"}, BACK_ONCE, .must = SLEPT | QUEUED | TOGGLED | MOVED, .of = SNO},
    {"sno_add_back2", "two steps back: the second, into used time, waits", {"nnn", "nnn"}, BACK_TWICE, .must = SLEPT | QUEUED | TOGGLED, .of = SNO},
    {"sno_add_queue", "a step back while callers queue", {"nnn", "nnn"}, {100, 97}, .must = SLEPT | QUEUED | TOGGLED | RETURNED | UNUSED, QUEUE, .of = SNO},
    {"sno_cas_forward", "CAS alone, 2 x 3", {"nnn", "nnn"}, FORWARD, .must = SLEPT | QUEUED | REBASED | OUTRUN, .wait_ms = 9, .of = SNO},
    {"sno_cas_back", "tick-tock by CAS", {"nnn", "nnn"}, BACK_ONCE, .must = SLEPT | QUEUED | TOGGLED | OUTRUN, .wait_ms = 2, .of = SNO},
    {"sno_try_back", "tries change the timeline, there and back", {"ttt", "ttt"}, {100, 98, 102, 101}, .must = TOGGLED | OUTRUN | AGAIN, .of = SNO},
    {"sno_try_back2", "a second step back into used time: CLOCK_BACK, and nothing written", {"ttt", "ttt"}, {100, 98, 99, 97}, .must = TOGGLED | OUTRUN | AGAIN | BACK, .of = SNO},
    {"sno_blocked", "both timelines used: waits for the first free time", {"nn", "tn"}, {100, 98, 101}, .must = SLEPT | BACK, .time = 101, .tick = 1, .count = 1, .safe = {99, 0}, .of = SNO},
    {"sno_gate_closes", "the gate is closed while callers without a ticket sleep", {"nn", "x"}, {100, 98, 101}, .must = SLEPT | SHUT | LOST, .time = 101, .tick = 1, .count = 1, .safe = {99, 0}, .of = SNO},
    {"sno_mixed", "waiting and trying, timelines changed twice", {"nt", "tn"}, {100, 98, 100, 99}, .must = SLEPT | TOGGLED, .time = 99, .count = 2, .of = SNO},
    {"sno_batch", "batches, and a step back", {"Nn", "TN"}, {100, 101, 99}, .must = SLEPT | QUEUED | BATCHED | TOGGLED, .cap = 3, .of = SNO},
    {"sno_given", "the caller's readings never change the timeline", {"gGg", "tnt"}, BACK_AND_ON, .must = FAR | LEAPT | TOGGLED, .of = SNO},
    {"sno_coarse", "a clock that lags", {"tn", "nt"}, {100, 101, 99}, .must = TOGGLED, .coarse = true, .of = SNO},
    {"sno_slack", "a clock that lags, and steps back by more than the slack: the tick changes only on exact readings", {"tn", "nt"}, {100, 102, 97}, .must = TOGGLED, .coarse = true, .slack_ms = 4, .of = SNO},
    {"sno_fast", "leases beside changes of the timeline", {"tn", "tt"}, {100, 101, 98}, .must = TOGGLED | OUTRUN, .counter = {0, 300, 600}, .of = SNO},
    {"sno_fast_back", "a step back while a unit is leased, and forward again", {"ttt", "tt"}, {100, 98, 101}, .must = TOGGLED | OUTRUN, .counter = {0, 300, 600}, .of = SNO},
    {"sno_gate", "a gate that refuses a unit, and a step back to before it", {"nnn", "nnn"}, {100, 101, 98}, .must = SHUT | TOGGLED, .gate = 100, .of = SNO},
    {"sno_snapshot", "snapshots are not torn by a change of the timeline", {"sr", "ttt"}, {100, 98, 102, 101}, .must = TOGGLED, .of = SNO},
    {"sno_stats", "statistics while the timeline changes", {"v", "tttt"}, {100, 98, 100}, .must = TOGGLED, .of = SNO},
    {"sno_3x1", "three threads, a call each, a step back", {"n", "n", "t"}, BACK_ONCE, .must = TOGGLED | OUTRUN, .of = SNO},
    {"sno_3x1_forward", "three that wait", {"n", "n", "n"}, FORWARD, .must = SLEPT | QUEUED | LATE, .of = SNO},
    {"sno_3x1_stuck", "three that wait for a clock that stands still: the wait is cut", {"n", "n", "n"}, STUCK, .must = SLEPT | QUEUED | LATE, .stuck = true, .cuts = true, .of = SNO},
    {"sno_3x1_back", "three that wait, one step back", {"n", "n", "n"}, BACK_ONCE, .must = TOGGLED | OUTRUN, .of = SNO},
    {"sno_3x1_there", "three that try, a step back, then forward", {"t", "t", "t"}, BACK_AND_ON, .must = TOGGLED | OUTRUN, .of = SNO},
    {"sno_3x1_back2", "two steps back", {"n", "n", "t"}, BACK_TWICE, .must = TOGGLED | OUTRUN, .of = SNO},
    {"sno_3x1_wait_back2", "three that wait, two steps back", {"n", "n", "n"}, BACK_TWICE, .must = TOGGLED | OUTRUN, .of = SNO},
    {"sno_3x1_try_queue", "three that try after a queue, two steps back", {"t", "t", "t"}, BACK_TWICE, .must = TOGGLED | OUTRUN, QUEUE, .of = SNO},
    {"sno_3x1_cas", "three that wait by CAS alone, one step back", {"n", "n", "n"}, BACK_ONCE, .must = TOGGLED | OUTRUN, .wait_ms = 2, .of = SNO},
    {"sno_3x1_queue", "three that wait, a step back while callers queue; bounded: 4 preemptions, the unbounded search does not end", {"n", "n", "n"}, {100, 97}, .must = TOGGLED | RETURNED | UNUSED, QUEUE, .bound = 4, .of = SNO},
    {"sno_3x2", "three threads, two calls each; 3 preemptions", {"nn", "nn", "nn"}, {100, 98}, .must = SLEPT | QUEUED | TOGGLED, .bound = 3, .of = SNO},
    {"sno_3x2_forward", "the same, and the clock advances", {"nn", "nn", "nn"}, FORWARD, .must = SLEPT | QUEUED | LATE, .bound = 3, .of = SNO},
    {"sno_3x2_back2", "tries by three, two steps back; 3 preemptions", {"tt", "tt", "tt"}, BACK_TWICE, .must = TOGGLED | OUTRUN | AGAIN | BACK, .bound = 3, .of = SNO},
    {"sno_4x2", "four threads, two tries each; 3 preemptions", {"tt", "tt", "tt", "tt"}, {100, 98}, .must = TOGGLED, .bound = 3, .of = SNO},
    {"sno_4x2_forward", "four that wait, two calls each, the clock advances; 3 preemptions", {"nn", "nn", "nn", "nn"}, {100, 101}, .must = SLEPT | QUEUED | LATE, .bound = 3, .of = SNO},
    {"sno_4x2_queue", "tries by four after a queue, a step back; 3 preemptions", {"tt", "tt", "tt", "tt"}, {100, 97}, .must = TOGGLED | OUTRUN, QUEUE, .bound = 3, .of = SNO},

    {"note_queue", "a note each ms while callers queue, and a last one", {"nnn", "nnn"}, FORWARD, .must = NOTED | CLOSED, .ring = 4},
    {"note_small", "a ring of one: notes are dropped, the last one is written later", {"nnn", "nnn"}, FORWARD, .must = NOTED | OWED, .ring = 1},
    {"note_popped", "the same, with a consumer", {"nn", "nn", "pp"}, FORWARD, .must = NOTED | CLOSED, .ring = 1, .bound = 3},
    {"note_sno", "notes over a change of the timeline", {"nn", "n"}, {100, 101, 102, 99}, .must = NOTED | CLOSED | TOGGLED, .ring = 4, .of = SNO},

    {"default_first", "two first calls of sno_generate at once: one generator, one tag, no duplicate ID", {"d", "d"}, STUCK, .must = 0, .of = DEFAULT},
    {"default_3x1", "three; 4 preemptions", {"d", "d", "d"}, STUCK, .must = 0, .bound = 4, .of = DEFAULT},
    {"default_bump", "a clone while another draws: a ticket drawn after it has a partition taken after it; 6 preemptions", {"dd", "bd"}, STUCK, .must = RETAGGED | DROPPED, .bound = 6, .of = DEFAULT},
    {"default_bump2", "two clones while two draw; 4 preemptions", {"dd", "dd", "bb"}, STUCK, .must = RETAGGED | DROPPED, .bound = 4, .of = DEFAULT},

    {"relatives", "processes of a family, each cloned at any time, and their starts all meet", {"PbPP", "PbbP"}, STUCK, .must = MET, .of = RELATIVES},
    {"relatives_3", "three, of which one is not cloned, and one twice; 3 preemptions", {"PbPbP", "bPP", "PP"}, STUCK, .must = MET, .bound = 3, .of = RELATIVES},

    {"shard", "owned words, and a snapshot of one by another thread", {"ooO", "Mo", "s"}, FORWARD, .must = SLEPT | BATCHED, .shards = 2},
    {"shard_sno", "owned words, and a step back", {"oOo", "sMo"}, {100, 98}, .must = TOGGLED, .shards = 2, .of = SNO},
    {"lanes", "two threads with a lane each, and each with all IDs of a unit", {"LLL", "LL"}, FORWARD, .must = AGAIN | OUTRUN, .lanes = 2},
    {"lanes_wait", "two that wait: in the lane whose ticket comes first", {"lll", "ll"}, FORWARD, .must = SLEPT | QUEUED, .lanes = 2, .wait_ms = 9},
    {"lanes_meet", "two in one lane: the one whose CAS fails moves to the other", {"LL", "LL"}, {100, 101}, .must = OUTRUN, .lanes = 2, .one_slot = true, .cap = 3},
    {"lanes_back", "a sweep beside a draw, and a step back: lanes ahead of the clock are skipped", {"LL", "LL"}, BACK_AND_ON, .must = BACK, .lanes = 2, .cap = 1},
    {"lanes_refuse", "the same, with an immediate failure", {"Ll", "Ll"}, BACK_AND_ON, .must = BACK, .lanes = 2, .cap = 1, .fail_on_backwards = true},
    {"lanes_batch", "batches over lanes and units", {"Qq", "Q"}, {100, 101}, .must = SLEPT | BATCHED, .lanes = 2, .wait_ms = 9},
    {"lanes_fast", "each lane with its own leases, and a step back", {"LLL", "LL"}, BACK_AND_ON, .must = BACK, .lanes = 2, .cap = 2, .counter = {0, 300, 600}},
    {"lanes_slack", "a clock that lags by one to three units, and steps back: a reading counts as of the word's unit only for that lane", {"LL", "LL"}, {100, 101, 104, 96}, .must = BACK | OUTRUN, .lanes = 2, .one_slot = true, .coarse = true, .slack_ms = 6},
    {"lanes_stuck", "a clock that stands still: AGAIN when the wait is over", {"lL", "lL"}, STUCK, .must = AGAIN | RETURNED, .lanes = 2, .cap = 1, .wait_ms = 2, .stuck = true},
    {"lanes_ahead", "two units ahead of the clock", {"LLL", "LLL"}, {100, 101}, .must = AGAIN, .lanes = 2, .cap = 1, .ahead_ms = 1},
    {"lanes_3x2", "three threads, two lanes; 3 preemptions", {"Ll", "lL", "LL"}, {100, 101}, .must = SLEPT | OUTRUN, .lanes = 2, .wait_ms = 9, .cap = 1, .bound = 3},
    {"lanes_late", "a unit begins during a sweep, and others draw in it: the sweep repeats; 3 preemptions", {"LL", "L", "LL"}, {100, 101}, .must = AGAIN | OUTRUN, .lanes = 2, .time = 100, .count = 1, .bound = 3},
    {"lanes_sno", "lanes with ticks, and a step back", {"LL", "LL"}, {100, 98, 101}, .must = TOGGLED, .lanes = 2, .of = SNO},
    {"lanes_sno_wait", "the same, and they wait", {"ll", "ll"}, {100, 98}, .must = TOGGLED, .lanes = 2, .wait_ms = 9, .of = SNO},
};
// clang-format on
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

// >>runs

static const char *name_of_scenario(unsigned i) { return i < SCENARIOS ? scenarios[i].name : NULL; }

static setup setup_of(unsigned i) {
    const scenario *const s = &scenarios[i];
    prepare(s);
    setup e = setup_for(s->calls, s->shards || s->lanes);
    if (s->bound) e.bound = s->bound;
    return e;
}

/* Whether the search without pruning reaches as many states, by as many schedules, and the same events. */
static bool prunes_rightly(const setup *s, const result *pruned) {
    const unsigned events_then = events;
    setup all = *s;
    all.every = true;
    events = 0;
    const result r = search_all(&all);
    print_result("", "without pruning", &r, clock());
    return !r.failed && r.ends == pruned->ends && r.schedules == pruned->schedules && events == events_then;
}

static bool passes(unsigned i, const setup *given) {
    const scenario *const s = &scenarios[i];
    const clock_t begun = clock();
    result r = search_all(given);
    const unsigned missing = s->must & ~events;
    const bool well = (s->caught     ? r.failed && strstr(r.message, s->caught)
                       : !r.finished ? !r.failed
                                     : !missing && (s->cuts ? r.cuts : !r.cuts && r.ends)) &&
                      (!s->every || !r.finished || prunes_rightly(given, &r));
    print_outcome(!well ? "FAIL" : r.finished || r.failed ? "ok" : "part", s->name, given, &r, begun);
    if (well) return true;
    printf("     %s\n", s->shows);
    if (r.failed) (void)replay(given, r.choices);
    else if (s->caught) printf("     this was to fail: %s\n", s->caught);
    else if (!r.cuts != !s->cuts) printf("     cut %lu executions\n", r.cuts);
    for (unsigned e = 0; !r.failed && e < sizeof event_names / sizeof *event_names; e++)
        if (missing >> e & 1) printf("     occurred in no execution: %s\n", event_names[e]);
    return false;
}

int main(int argc, char **argv) { return explorer_main(argc, argv, NULL); }
