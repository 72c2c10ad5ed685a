/* SPDX-License-Identifier: MIT
 *
 * The memory orders of flake.h and sno.h: a few calls by two to four threads, in every execution that C11's memory
 * model allows. Each order with a label in the headers is also weakened, which must break a rule. explorer.h describes
 * the search and the command line, orders.h the model.
 *
 * A scenario is a line of the table in orders_scenarios.h: what each thread calls, one letter a call, and what the
 * clock may read. The rules do not depend on it:
 *
 *   ids      no ID is issued twice; all time up to the start is used, on either timeline
 *   I2       while the clock only goes forward, the timeline does not change
 *   I5       a thread that has read a word reads from safe[] what was used on the other timeline before it
 *   lanes    a snapshot is no older than the word that it read of each lane
 *   drifts   at the end as many as the timeline changed; one may be missing
 *   snapshot of one word: safe[] and drifts are those of the same moment
 *   stats    never more IDs than were drawn
 *   notes    while the clock only goes forward, the ms of elections rise
 *   ring     a note is popped once or stays, and a claimed slot has one owner until its turn; a ring with room takes all
 *   claim    an admitted time is on disk, and no later than the last record, which is that of the close; one thread at
 *            a time is the writer, and knows what the one before it did; a closed claim is not taken over
 *   page     a thread that accesses an object by a pointer sees it initialised
 *   uuids    a thread's UUIDs rise, except over a clone
 *   salt     threads of a process agree on one
 *
 * And in all of them, an access to an address that is neither a location nor a statistic is an error.
 *
 * To add a location, name it in `reset`; add a mere statistic to `is_plain`; what a rule needs to know of a message is
 * a `fact` that `wrote` stores in it.
 */
#include "orders_scenarios.h"
#include <regex.h>

enum { LANES_OF = 2 };

static const scenario *current;
static sno_gen gen;
static sno_gen shard;
static flake_i_lanes split; /* of `gen`, from which no thread draws */
static flake_lane lanes[LANES_OF];
static flake_ring ring;
static flake_ring_slot slots[2];
static flake_gen ids;      /* its claim is explored */
static uint64_t file_lock; /* of its file */
static uint64_t litmus[3]; /* x, y, z */

/* Locations; 0: there is none. An engine's are consecutive, in the order of `part`; so are the lanes'. */
static struct { unsigned litmus, word, overflow, disk, lock, head; } is_at;
enum part { WORD, SAFE, DRIFTS = SAFE + 2, PARTS };

enum { MOST_DRAWN = 32 };
static struct { /* the rules' data */
    uint64_t drawn[MOST_DRAWN];
    unsigned n;
    int64_t pending[FIBERS]; /* horizon written, not synced */
    int64_t latest;          /* admitted */
    bool is_closed;          /* a close has written its record */
    unsigned pushed, popped; /* notes, a bit each */
    unsigned pushes;         /* begun */
    flake_i_salt salt;
    bool is_salted;
    struct {
        unsigned pushed;
        struct {
            uint64_t word, used[2]; /* as it last read the word; 0: not yet */
        } of[LANES_OF];
        char loads[8];
        uint8_t uuid[16]; /* its newest */
    } thread[FIBERS];
} kept;

static bool calls_any(char letter) { return calls_have(current->calls, letter); }

// >>rules

/* Facts of a word: the last unit drawn on each timeline, changes of the timeline, tickets drawn. */
enum { USED, CHANGES = 2, DRAWN };

static unsigned engines(void) { return current->of == LANES ? LANES_OF : current->of >= ENGINE; }
static flake_i_engine *nth_engine(unsigned n) {
    return current->of == LANES ? &lanes[n].engine : current->of == SHARD ? &shard.gen.engine : &gen.gen.engine;
}
/* Lanes differ only in their locations. */
static flake_i_engine *engine(void) { return nth_engine(0); }

/* Whether location i is part of an engine: its number *n, and *part. */
static bool is_of_engine(unsigned i, unsigned *n, unsigned *part) {
    if (!is_at.word || i < is_at.word || i >= is_at.word + engines() * PARTS) return false;
    *n = (i - is_at.word) / PARTS;
    *part = (i - is_at.word) % PARTS;
    return true;
}
static orders_location *location_of(unsigned n, unsigned part) { return &orders_at[is_at.word + n * PARTS + part]; }
static unsigned tick_of(uint64_t word) { return flake_i_tick(engine(), word); }
static uint64_t time_of(uint64_t word) { return word >> engine()->time_shift; }
static uint64_t count_of(uint64_t word) { return word & engine()->count_mask; }

static bool is_forward(void) {
    unsigned n = 0;
    while (current->clock[n + 1] > current->clock[n]) n++;
    return !current->clock[n + 1];
}

static void wrote_word(orders_message *m, const orders_message *before) {
    const uint64_t tick = tick_of(m->value), count = count_of(m->value);
    if (before) {
        const bool leaves = tick != tick_of(before->value);
        const uint64_t old =
            leaves ? 0 : flake_i_queued(engine(), time_of(before->value), count_of(before->value), time_of(m->value));
        memcpy(m->fact, before->fact, sizeof m->fact);
        m->fact[CHANGES] += leaves;
        if (leaves && is_forward())
            fail("I2: the timeline changes at %" PRIu64 ", but the clock only goes forward", time_of(m->value));
        m->fact[DRAWN] += count > old ? count - old : 0;
    }
    m->fact[USED + tick] = time_of(m->value) + (count ? (count - 1) / engine()->unit_capacity : 0);
}

static void note_word(unsigned n, const orders_message *m) {
    kept.thread[run_now.me].of[n].word = m->value;
    memcpy(kept.thread[run_now.me].of[n].used, &m->fact[USED], sizeof kept.thread[0].of[n].used);
}

/* The ms of an election, or of the end of one; 0: there was none. */
static uint64_t elected_ms(uint64_t overflow) {
    const uint64_t noted = overflow & FLAKE_I_NOTED_MAX;
    return !noted ? 0 : (overflow >> 24) + (noted == FLAKE_I_NOTED_MAX ? 0 : noted - 1);
}

static void wrote(unsigned i, unsigned p) {
    orders_location *const l = &orders_at[i];
    unsigned n, part;
    if (is_of_engine(i, &n, &part) && part == WORD) {
        wrote_word(&l->message[p], p ? &l->message[p - 1] : NULL);
        if (run_now.me != NOBODY) note_word(n, &l->message[p]);
    }
    if (!is_at.overflow || i != is_at.overflow) return;
    l->message[p].fact[0] = run_now.me + 1;
    if (p > 1 && l->message[p].value == l->message[p - 2].value && l->message[p].fact[0] == l->message[p - 1].fact[0])
        return; /* a last note that did not fit is written later */
    const uint64_t ms = elected_ms(l->message[p].value), before = elected_ms(l->message[p - 1].value);
    if (ms <= before) fail("an election for ms %" PRIu64 " comes after that for %" PRIu64, ms, before);
}

static void saw(unsigned i, const orders_message *m) {
    const unsigned me = run_now.me;
    unsigned n, part;
    if (!is_of_engine(i, &n, &part)) return;
    if (part == WORD) note_word(n, m);
    if (!kept.thread[me].of[n].word) return;
    const unsigned other = tick_of(kept.thread[me].of[n].word) ^ 1;
    if (part == SAFE + other && m->value < kept.thread[me].of[n].used[other])
        fail("I5: reads safe[%u] = %" PRIu64 ", but %" PRIu64 " is used", other, m->value,
             kept.thread[me].of[n].used[other]);
}

/* A value different from all before. */
static void keep_once(uint64_t is, const char *what) {
    for (unsigned i = 0; i < kept.n; i++)
        if (kept.drawn[i] == is) fail("%s twice", what);
    if (kept.n == MOST_DRAWN) fail("the table of IDs is too small");
    kept.drawn[kept.n++] = is;
}

static void hand_out(const flake_i_ticket *ticket, uint64_t first) {
    for (uint64_t k = 0; k < ticket->n; k++) {
        const uint64_t at = ticket->index - first + k; /* a run of tickets may continue into later units */
        const uint64_t id = (ticket->time + at / engine()->unit_capacity) << 24 | ticket->tick << 16 |
                            (first + at % engine()->unit_capacity);
        const uint64_t used = ticket->tick ? current->safe : (uint64_t)current->clock[0] - 1;
        say("got    %" PRIu64 "%c+%" PRIu64, id >> 24, "AB"[ticket->tick], id & 0xffff);
        if (id >> 24 <= used)
            fail("%" PRIu64 "%c+%" PRIu64 " may have been issued before", id >> 24, "AB"[ticket->tick], id & 0xffff);
        keep_once(id, "a ticket is issued");
    }
}

static void draw(unsigned request, uint64_t want) {
    flake_i_ticket ticket;
    uint64_t word = 0;
    int64_t now_ns = 0;
    if (current->of == LANES) {
        unsigned outcome = FLAKE_I_LOST;
        ticket.from = NULL;
        if (flake_i_lanes_own(&split, &ticket.from))
            outcome = flake_i_draw_fast(&ticket.from->engine, FLAKE_I_LANE, want, &word, &now_ns, &ticket);
        if (!outcome) ticket.index += ticket.from->first;
        if (!outcome || flake_i_ticket_slow(&split, request | outcome, word, now_ns, want, &ticket) == FLAKE_OK)
            hand_out(&ticket, ticket.from->first);
    } else if (flake_i_draw(engine(), request, 0, want, &ticket) == FLAKE_OK) hand_out(&ticket, 0);
}

/* All that was used of a lane, by the word read from it, is in the snapshot. */
static void snapshot_of_lanes(void) {
    const uint64_t newest = flake_i_lanes_newest(&split);
    for (unsigned n = 0; n < LANES_OF; n++)
        for (unsigned tick = 0; tick < 2; tick++)
            if (newest < kept.thread[run_now.me].of[n].used[tick])
                fail("a snapshot of lanes is of %" PRIu64 ", but %" PRIu64 " is used", newest,
                     kept.thread[run_now.me].of[n].used[tick]);
}

/* A ticket that was drawn and returned may count as used. */
static void snapshot(void) {
    sno_snapshot s;
    const orders_location *l = &orders_at[is_at.word];
    int64_t ever[2] = {(int64_t)l->message[0].fact[USED], (int64_t)l->message[0].fact[USED + 1]};
    if (sno_snapshot_take(current->of == SHARD ? &shard : &gen, &s) != FLAKE_OK) return;
    for (const orders_message *m = l->message; m < l->message + l->n; m++) {
        const uint64_t count = count_of(m->value);
        const unsigned tick = tick_of(m->value), other = tick ^ 1;
        if ((int64_t)m->fact[USED + tick] > ever[tick]) ever[tick] = (int64_t)m->fact[USED + tick];
        if ((int64_t)time_of(m->value) == s.wall_hi && m->fact[CHANGES] == s.drifts &&
            s.sequence == (count ? count - 1 : 0) && (int64_t)m->fact[USED + other] <= s.wall_safe &&
            s.wall_safe <= ever[other])
            return;
    }
    fail("a torn snapshot: wall_hi %" PRId64 ", drifts %u, wall_safe %" PRId64, s.wall_hi, s.drifts, s.wall_safe);
}

static void statistics(void) {
    const orders_location *l = &orders_at[is_at.word];
    uint64_t drawn = 0;
    flake_stats s = {0};
    flake_i_stats(engine(), &s);
    for (unsigned p = 0; p < l->n; p++)
        if (l->message[p].fact[DRAWN] > drawn) drawn = l->message[p].fact[DRAWN];
    if (s.ids > drawn) fail("stats count %" PRIu64 " IDs, but %" PRIu64 " were drawn", s.ids, drawn);
}

// >>file

static const int64_t epoch_ns = SNO_I_EPOCH_MS * 1000000;

static int64_t unit_ns(int64_t unit) { return epoch_ns + unit * UNIT_NS; }
static int64_t units(int64_t ns) { return ns < epoch_ns ? -1 : (ns - epoch_ns) / UNIT_NS; }

static void file_seek(uint64_t at) { the_file.position = at; }
static void file_was_read(const uint8_t *bytes, size_t n) { (void)bytes, (void)n; }

static void file_written(uint64_t at, const uint8_t *bytes, size_t n, bool is_new) {
    flake_i_record r;
    memset(&r, 0, sizeof r);
    (void)at, (void)n, (void)is_new;
    if (run_now.me == NOBODY) return;
    if (flake_i_record_get(bytes, &r) != FLAKE_OK) fail("what is written is no record");
    if (kept.is_closed) fail("a record is written after that of the close");
    kept.pending[run_now.me] = r.horizon_ns;
    say("write  record %" PRIu64 ", horizon %" PRId64, r.number, units(r.horizon_ns));
}

static void file_synced(void) {
    if (run_now.me != NOBODY && is_at.disk) orders_touch(is_at.disk, (uint64_t)kept.pending[run_now.me]);
}

/* The kernel's locks have the orders of a mutex. */
static bool file_locked(bool lock) {
    uint64_t seen = 0;
    if (run_now.me == NOBODY || !is_at.lock) return true;
    if (lock) return orders_rmw_at(is_at.lock, &seen, 1, false, ORDERS_acquire, ORDERS_relaxed, 0);
    orders_store_at(is_at.lock, 0, ORDERS_release, 0);
    return true;
}

static void admit(int64_t unit) {
    bool pointless = false;
    const orders_location *l = &orders_at[is_at.disk];
    const flake_status status = flake_i_admit(&ids.claim, unit_ns(unit), &pointless);
    int64_t known = 0; /* the latest, since a close may write less */
    for (unsigned p = 0; p <= orders_me()->view.of[is_at.disk]; p++)
        if ((int64_t)l->message[p].value > known) known = (int64_t)l->message[p].value;
    say("admit  %" PRId64 ": %d", unit, (int)status);
    if (status != FLAKE_OK) return;
    if (unit_ns(unit) > known) fail("%" PRId64 " is admitted, but known to be on disk is %" PRId64, unit, units(known));
    if (unit_ns(unit) > kept.latest) kept.latest = unit_ns(unit);
}

/* The holder is another process: it is dead, or closes the claim. */
static bool is_anothers(void) { return calls_any('T'); }

static void extend(void) {
    const flake_status status = flake_extend(&ids, NULL);
    say("extend %d", (int)status);
    if (status != FLAKE_OK && status != (is_anothers() ? FLAKE_INVALID : FLAKE_CLOSED))
        fail("an extend returns %d", (int)status);
}

static void take_over(void) {
    const flake_status status = flake_take_over(&ids, NULL);
    say("take   %d", (int)status);
    if (calls_any('c') && status == FLAKE_OK) fail("a closed claim is taken over");
    if (!calls_any('c') && status != FLAKE_OK && status != FLAKE_IN_USE)
        fail("the claim cannot be taken over: %d", (int)status);
}

/* Of two that close it at once the second may return before the record is written. */
static void close_claim(void) {
    const int64_t before = kept.pending[run_now.me];
    const flake_status status =
        is_anothers() ? flake_i_claim_close(&ids.claim, &ids.engine, NULL) : flake_close(&ids, NULL);
    if (status != FLAKE_OK) fail("a close returns %d", (int)status);
    kept.is_closed |= kept.pending[run_now.me] != before;
}

// >>calls

static void call_ring(char letter) {
    const unsigned me = run_now.me;
    flake_overflow note = {0, 0, 0};
    if (letter == 'u') {
        note.waiting = me * 4 + kept.thread[me].pushed++;
        kept.pushes++;
        if (flake_ring_push(&ring, &note)) kept.pushed |= 1u << note.waiting;
        else if (kept.pushes <= current->cap) fail("a ring that was never full is full");
    }
    if (letter != 'p' || !flake_ring_pop(&ring, &note)) return;
    if (kept.popped >> note.waiting & 1) fail("a note is popped twice");
    kept.popped |= 1u << note.waiting;
}

static void generate(void) {
    const sno_id id = sno_generate(0);
    const uint64_t is = flake_i_fnv((const uint8_t *)&id, sizeof id);
    if (sno_is_zero(id)) return; /* the clock's script has ended */
    keep_once(is, "the process's generator returns an ID");
}

static void take_partition(void) {
    uint16_t partition;
    if (sno_i_take_partition(&partition) != FLAKE_OK) return;
    keep_once(partition, "a partition is taken");
}

static uint64_t owner_before_clone;

/* A thread that has seen the owner id of a cloned machine looks from another start than before. */
static void take_after_a_clone(void) {
    uint16_t partition;
    const bool cloned = flake_i_instance_owner_now() != owner_before_clone;
    if (sno_i_take_partition(&partition) != FLAKE_OK) fail("no partition");
    if (cloned && partition < 20) fail("a partition after a clone from the start before it");
}

static void take_owner_id(void) {
    flake_atomic64 *word;
    const uint64_t mark = flake_i_instance_owner_id(&word);
    if (kept.n && kept.drawn[0] != mark) fail("a process has two owner IDs");
    if (!word || word != told_page) fail("the fork page was not registered with the kernel");
    kept.drawn[0] = mark;
    kept.n = 1;
}

static void generate_uuid(void) {
    uint8_t id[16], *const last = kept.thread[run_now.me].uuid;
    if (flake_uuid7_bytes(id) != FLAKE_OK) return; /* the clock's script has ended */
    const uint64_t is = flake_i_fnv(id, sizeof id);
    keep_once(is, "the process's generator returns a UUID");
    if (!calls_any('b') && memcmp(last, id, sizeof id) >= 0) fail("a UUID is not greater than the last");
    memcpy(last, id, sizeof id);
}

/* The salt of an owner ID: the same for every thread that makes or reads it. */
static void agree_on_salt(void) {
    if (!flake_i_new_salt()) fail("no salt without random bytes");
    const flake_i_salt salt = {FLAKE_ATOMIC_LOAD(&flake_i_default.low, relaxed),
                               FLAKE_ATOMIC_LOAD(&flake_i_default.high, relaxed)};
    const uint64_t seal = FLAKE_ATOMIC_LOAD(&flake_i_default.seal, relaxed);
    if ((salt.low ^ salt.high ^ seal) != flake_i_instance_owner_now()) return;
    if (kept.is_salted && (salt.low != kept.salt.low || salt.high != kept.salt.high)) fail("a process has two salts");
    kept.salt = salt;
    kept.is_salted = true;
}

static void call(char letter) {
    if (strchr("up", letter)) call_ring(letter);
    if (letter == 'o') draw(FLAKE_I_OWNED, 1);
    if (letter >= '1' && letter <= '9') admit(letter - '0');
    switch (letter) {
    case 't': draw(0, 1); break;
    case 'm': draw(0, 2); break;
    case 'n': draw(FLAKE_I_WAIT, 1); break;
    case 's':
        if (current->of == LANES) snapshot_of_lanes();
        else snapshot();
        break;
    case 'S': statistics(); break;
    case 'r': (void)flake_i_retry_ns(engine()); break;
    case 'q': flake_i_check_overflow(engine()); break;
    case 'e': extend(); break;
    case 'c': close_claim(); break;
    case 'T': take_over(); break;
    case 'f': (void)FLAKE_ATOMIC_LOAD((flake_i_atomic32 *)sno_i_get_family(), relaxed); break;
    case 'g': generate(); break;
    case 'P': take_partition(); break;
    case 'C': take_after_a_clone(); break;
    case 'M': take_owner_id(); break;
    case 'U': generate_uuid(); break;
    case 'b': flake_machine_cloned(); break;
    case 'k': agree_on_salt(); break;
    case 'a': (void)flake_i_available(engine()); break;
    default: break;
    }
}

/* One access of a litmus test; returns the rest of the string. */
static const char *litmus_access(const char *c) {
    const unsigned order = *c == 'A'   ? ORDERS_acquire
                           : *c == 'R' ? ORDERS_release
                           : *c == 'S' ? ORDERS_seq_cst
                                       : ORDERS_relaxed;
    char *const loads = kept.thread[run_now.me].loads;
    if (order) c++;
    const unsigned i = is_at.litmus + (unsigned)(*c++ - 'x');
    uint64_t seen = *c && *c != ' ' ? (uint64_t)(c[1] - '0') : 0;
    switch (*c) {
    case '=': orders_store_at(i, seen, order, 0); break;
    case '+': (void)orders_rmw_at(i, &seen, 1, true, order, order, 0); break;
    case '?': (void)orders_rmw_at(i, &seen, (uint64_t)(c[2] - '0'), false, order, 0, 0); break;
    default: seen = orders_load_at(i, order, 0);
    }
    if (*c != '=') loads[strlen(loads)] = (char)('0' + seen);
    c += strcspn(c, " ");
    return c + strspn(c, " ");
}

static void thread(unsigned i) {
    for (const char *c = current->calls[i]; *c;) {
        if (current->of == LITMUS) c = litmus_access(c);
        else {
            say("%c", *c);
            call(*c++);
        }
        /* Only engines have everything in locations. */
        memset(kept.thread[i].of, 0, sizeof kept.thread[i].of);
        if (current->of >= ENGINE) forget((uint64_t)(c - current->calls[i]));
    }
}

// >>beginnings

/* A fast clock has measured its counter. */
static void init_engine(flake_i_engine *e, const flake_i_engine_config *config) {
    if (flake_i_engine_init(e, config) != FLAKE_OK) exit(2);
    if (!current->fast) return;
    FLAKE_ATOMIC_STORE(&e->ticks_per_window, ORDERS_WINDOW, relaxed);
    e->frequent = 1; /* as if all draws were frequent */
}

static void begin_lanes(flake_i_engine_config *config) {
    config->unit_capacity = LANES_OF * current->cap;
    init_engine(&gen.gen.engine, config);
    flake_i_lanes_begin(&split, lanes, LANES_OF, &gen.gen.engine);
    /* Identified by address, as in one process, so that the straight path is explored. */
    split.from = 0;
    split.lanes_at = (uintptr_t)lanes - sizeof *lanes;
    for (unsigned i = 0; i < FIBERS; i++)
        split.map[i] = (current->apart ? i % LANES_OF + 1 : 1) * (uint32_t)sizeof(flake_lane);
}

static unsigned begin_word(flake_i_engine *e) {
    FLAKE_ATOMIC_STORE(&e->word, ((uint64_t)current->clock[0] << e->time_shift) + current->count, relaxed);
    const unsigned at = orders_locate(&e->word, 8, 0, "word");
    (void)orders_locate(&e->safe[0], 8, 0, "safe[0]");
    (void)orders_locate(&e->safe[1], 8, 0, "safe[1]");
    (void)orders_locate(&e->drifts, 8, 0, "drifts");
    return at;
}

/* The first word of an engine has its facts. */
static void wrote_first(unsigned n) {
    orders_message *const m = &location_of(n, WORD)->message[0];
    location_of(n, SAFE + 1)->message[0].value = current->safe;
    wrote_word(m, NULL);
    m->fact[USED + 1] = current->safe;
    m->fact[DRAWN] = count_of(m->value);
}

static void begin_engine(void) {
    static flake_i_engine_config config;
    static flake_options options;
    static const sno_snapshot bounds = {.partition = 1, .sequence_max = 3};
    const flake_node node = flake_node_fixed(NULL, bounds.partition);
    options.shared_memory = config.options.shared_memory = true; /* no fork word */
    options.clock.kind = FLAKE_CLOCK_EXACT;
    if (current->of == SHARD) (void)!sno_init_shards(&shard, 1, node, &bounds, &options, NULL);
    config.epoch_ms = SNO_I_EPOCH_MS;
    config.unit_ms = UNIT_NS / 1000000;
    config.time_bits = 39;
    config.tick_bits = 1;
    config.unit_capacity = current->cap;
    config.options.max_wait_ms = 20000; /* long enough for draws by fetch_add */
    config.options.clock.kind = current->fast     ? FLAKE_CLOCK_FAST
                                : current->coarse ? FLAKE_CLOCK_COARSE
                                                  : FLAKE_CLOCK_EXACT;
    config.options.overflow = calls_any('q') || current->noted ? &ring : NULL;
    (void)flake_ring_init(&ring, slots, 2);
    if (current->of == LANES) begin_lanes(&config);
    flake_i_engine *const e = engine();
    if (current->of != LANES) init_engine(e, &config);
    if (current->of == ENGINE) gen.gen.kind = FLAKE_I_PART | FLAKE_I_MULTI; /* for its snapshots */
    if (e->add_limit != e->unit_capacity - 1) exit(2);
    for (unsigned n = 0; n < engines(); n++) {
        const unsigned at = begin_word(nth_engine(n));
        if (!n) is_at.word = at;
    }
    for (unsigned n = 0; n < engines(); n++) wrote_first(n);
    if (current->of == LANES) (void)orders_locate(&split.turn, 4, 0, "turn");
    for (unsigned n = 0; n < engines() && current->fast; n++) {
        (void)orders_locate(&nth_engine(n)->fast_until, 8, 0, "lease");
        (void)orders_locate(&nth_engine(n)->ticks_per_window, 8, ORDERS_WINDOW, "ticks");
    }
    if (config.options.overflow) is_at.overflow = orders_locate(&e->overflow, 8, 0, "overflow");
    if (calls_any('S')) (void)orders_locate(&e->rebased, 8, 0, "rebased");
}

static void begin_ring(unsigned size) {
    static const char *const turns[] = {"turn 0", "turn 1"}, *const notes[] = {"note 0", "note 1"};
    (void)flake_ring_init(&ring, slots, size);
    memset(&slots[0].note, 0, sizeof slots[0].note);
    slots[1].note = slots[0].note;
    is_at.head = orders_locate(&ring.head, 8, 0, "head");
    (void)orders_locate(&ring.tail, 8, 0, "tail");
    for (unsigned i = 0; i < size; i++) {
        const unsigned turn = orders_locate(&slots[i].turn, 8, 0, turns[i]);
        orders_at[turn].guards = orders_locate(NULL, 0, 0, notes[i]);
    }
}

/* This process's page has been requested. */
static void begin_process(void) {
    flake_atomic64 *word;
    memset(&flake_i_process, 0, sizeof flake_i_process);
    n_pages = 0;
    (void)flake_i_instance_owner_id(&word);
    (void)flake_i_process_owner_id();
}

static void begin_claim(void) {
    flake_i_claim *const c = &ids.claim;
    begin_process();
    memset((void *)&ids, 0, sizeof ids);
    ids.kind = FLAKE_I_PLAIN | FLAKE_I_MULTI;
    ids.engine.is_shared = true;
    ids.engine.self_address = (uintptr_t)&ids.engine;
    ids.engine.claim_at = (uintptr_t)c - (uintptr_t)&ids.engine;
    ids.engine.epoch_ns = (uint64_t)epoch_ns;
    ids.engine.unit_ns = UNIT_NS;
    ids.engine.unit_share = UINT64_MAX / UNIT_NS;
    c->lead_ns = 8 * UNIT_NS;
    c->manual_extend = is_anothers(); /* as in shared memory */
    memcpy(c->path, "/ids/7.slot", sizeof "/ids/7.slot");
    c->file.fd = FILE_DESCRIPTOR;
    c->own.written_ns = unit_ns(current->clock[0]);
    c->own.pid = 1;
    c->self_address = is_anothers() ? 0 : (uintptr_t)c;
    c->horizon_ns = (uint64_t)unit_ns((int64_t)current->horizon);
    c->admitted_ns = (uint64_t)unit_ns(current->clock[0]);
    c->retry_from_ns = (uint64_t)INT64_MIN;
    c->holder = is_anothers() ? 0 : flake_i_process_owner_id();
    flake_i_record_next(c, (int64_t)c->horizon_ns, c->last);
    c->own.number = 1;
    memset(&the_file, 0, sizeof the_file);
    the_file.is_there = true;
    memcpy(the_file.bytes, FLAKE_I_MAGIC, 8);
    flake_i_put64(the_file.bytes + 8, (uint64_t)FLAKE_I_VERSION << 32);
    memcpy(the_file.bytes + flake_i_record_at(1), c->last, sizeof c->last);
    (void)orders_locate(&c->horizon_ns, 8, 0, "horizon_ns");
    (void)orders_locate(&c->admitted_ns, 8, 0, "admitted_ns");
    const unsigned writer = orders_locate(&c->writer, 8, 0, "writer");
    orders_at[writer].guards = orders_locate(NULL, 0, 0, "the writer's part");
    (void)orders_locate(&c->retry_from_ns, 8, 0, "retry_from_ns");
    (void)orders_locate(&c->holder, 8, 0, "holder");
    (void)orders_locate(&ids.engine.is_closed, 4, 0, "is_closed");
    is_at.disk = orders_locate(NULL, 0, c->horizon_ns, "disk");
    file_lock = calls_any('c'); /* of the dead holder nothing is left */
    if (is_anothers()) is_at.lock = orders_locate(&file_lock, 8, 0, "lock");
}

/* What is stored at location i is the address of an object of that size. */
static void carry(unsigned i, size_t size, const char *object) {
    orders_at[i].carries = orders_locate(NULL, 0, 0, object);
    orders_at[i].carried = size;
}

static struct sno_i_family a_family;

static void begin_page(void) {
    zeroes_no_page = current->pageless;
    begin_process();
    if (calls_any('M') || current->pageless) { /* no page, no owner ID yet */
        memset(&flake_i_process, 0, sizeof flake_i_process);
        told_page = NULL;
    }
    owner_before_clone = flake_i_instance_owner_now();
    memset(&sno_i_partitions, 0, sizeof sno_i_partitions);
    memset(&sno_i_default, 0, sizeof sno_i_default);
    memset(&flake_i_default, 0, sizeof flake_i_default);
    if (calls_any('g') || calls_any('P') || calls_any('C')) { /* a family that has chosen */
        sno_i_partitions.next = 1u << 16 | 7;
        sno_i_partitions.family = &a_family;
        memset((void *)&a_family, 0, sizeof a_family);
    }
    const unsigned family = orders_locate(&sno_i_partitions, 8, 0, "family");
    const unsigned generator = orders_locate(&sno_i_default, 8, 0, "generator");
    const unsigned uuids = orders_locate(&flake_i_default, 8, 0, "generator of UUIDs");
    if (calls_any('f')) carry(family, sizeof(struct sno_i_family), "the family");
    carry(generator, sizeof(flake_i_engine), "the generator");
    carry(uuids, sizeof(struct flake_i_uuids), "the UUID generator");
}

static void reset(void) {
    orders_leases = current->fast;
    memset(&kept, 0, sizeof kept);
    memset(&is_at, 0, sizeof is_at);
    memset(&flake_i_counter, 0, sizeof flake_i_counter);
    flake_i_counter.rate = current->fast ? ORDERS_WINDOW + 1u : 0; /* measured; as in a new process */
    (void)orders_locate(NULL, 0, 0, "clock");
    for (unsigned n = 0; current->clock[n]; orders_at[0].n = ++n)
        orders_at[0].message[n].value = (uint64_t)unit_ns(current->clock[n]);
    if (current->of == LITMUS) {
        static const char *const names[] = {"x", "y", "z"};
        for (unsigned i = 0; i < 3; i++) {
            const unsigned at = orders_locate(&litmus[i], 8, 0, names[i]);
            if (!i) is_at.litmus = at;
        }
    }
    if (current->of >= ENGINE) begin_engine();
    if (current->of == RING) begin_ring(current->cap);
    if (is_at.overflow) begin_ring(2);
    if (current->of == CLAIM) begin_claim();
    if (current->of == PAGE) begin_page();
}

static bool within(const void *p, const void *object, size_t size) {
    return (const char *)p >= (const char *)object && (const char *)p < (const char *)object + size;
}

/* Resolved at the first access: a process has one copy of each. */
static bool is_shared(const void *p) {
    return within(p, &flake_i_process, sizeof flake_i_process) || within(p, pages, sizeof pages) ||
           within(p, &sno_i_partitions, sizeof sno_i_partitions) || within(p, &a_family, sizeof a_family) ||
           within(p, &sno_i_default, sizeof sno_i_default) || within(p, &flake_i_default, sizeof flake_i_default);
}

/* Statistics, and a generator that no other thread has yet. */
static bool is_plain(const void *p) {
    const flake_i_engine *const e = engine();
    if (p == &ids.engine.first_limit || p == &ids.identity_hash) return true; /* no thread draws by these here */
    for (unsigned n = 0; n < engines(); n++) {
        const flake_i_engine *const of = nth_engine(n);
        if (p == &of->batches || p == &of->waits || p == &of->clock_backwards) return true;
        if (p == &of->is_closed || p == &of->first_limit) return true; /* these never change here */
        if (p == &of->fast_until || p == &of->ticks_per_window) return !current->fast;
    }
    if (within(p, &flake_i_counter, sizeof flake_i_counter)) return true; /* its rate never changes here */
    if (within(p, split.map, sizeof split.map)) return true;
    if (p == &e->rebased || p == &lanes[1].engine.rebased) return !calls_any('S');
    if (current->of != PAGE) return false;
    const bool of_uuids = calls_any('U');
    if (of_uuids && !calls_any('b') && /* page_salt is about these */
        within(p, &flake_i_default.low, offsetof(struct flake_i_default, begun) - 8))
        return true;
    for (unsigned i = 0; of_uuids && i < FLAKE_I_DEFAULT_PLACES; i++) { /* its pace is not learned */
        const flake_i_engine *const of = &flake_i_default.places[i].engine;
        if (p == &of->ticks_per_window || p == &of->fast_until) return true;
    }
    const orders_location *found = &orders_at[of_uuids ? 3 : 2]; /* the generator's pointer */
    const bool is_page =
        within(p, pages, sizeof pages) && flake_i_process.page && !within(p, flake_i_process.page, PAGE_BYTES);
    const bool is_place = of_uuids ? within(p, flake_i_default.places, sizeof flake_i_default.places)
                                   : within(p, sno_i_default.places, sizeof sno_i_default.places);
    if ((!calls_any('g') && !of_uuids) || (!is_page && !is_place)) return false;
    for (unsigned i = 0; i < found->n; i++)
        if (found->message[i].value && within(p, (const void *)(uintptr_t)found->message[i].value,
                                              of_uuids ? sizeof(struct flake_i_uuids) : sizeof(flake_i_engine)))
            return false;
    return true;
}

static uint64_t digest(unsigned i) {
    uint64_t hash = 7, sum = 0;
    if (i < FIBERS) {
        for (const char *c = kept.thread[i].loads; *c; c++) hash = hash_mix(hash, (uint64_t)*c);
        for (unsigned n = 0; n < engines(); n++) {
            hash = hash_mix(hash, kept.thread[i].of[n].word);
            for (unsigned k = 0; k < 2; k++) hash = hash_mix(hash, kept.thread[i].of[n].used[k]);
        }
        if (current->of == LANES) hash = hash_mix(hash, split.map[i]); /* the thread's own slot */
        return hash_mix(hash, (uint64_t)kept.pending[i]);
    }
    for (unsigned k = 0; k < kept.n; k++) sum += hash_mix(hash, kept.drawn[k]); /* any thread's */
    hash = hash_mix(hash_mix(hash, sum), kept.popped);
    hash = hash_mix(hash, (uint64_t)kept.pushes << 32 | kept.pushed);
    hash = hash_mix(hash_mix(hash, (uint64_t)kept.latest), kept.is_closed);
    hash = hash_mix(hash_mix(hash, kept.salt.low), kept.salt.high);
    if (current->of == CLAIM) {
        hash = hash_mix(hash_mix(hash, ids.claim.own.number), (uint64_t)ids.claim.own.written_ns);
        hash = hash_mix(hash_mix(hash, ids.claim.self_address), (uint64_t)ids.claim.file.fd);
        for (uint64_t k = 0; k < 2; k++)
            hash = hash_mix(hash, flake_i_fnv(the_file.bytes + flake_i_record_at(k), FLAKE_I_RECORD));
    }
    if (current->of == RING)
        for (unsigned k = 0; k < current->cap; k++) hash = hash_mix(hash, slots[k].note.waiting);
    return hash;
}

static void show(unsigned i, uint64_t value, char *out, size_t size) {
    unsigned n, part;
    if (!i || (current->of == CLAIM && value >> 48)) (void)snprintf(out, size, "%" PRId64, units((int64_t)value));
    else if (is_of_engine(i, &n, &part) && part == WORD)
        (void)snprintf(out, size, "%" PRIu64 "%c+%" PRIu64, time_of(value), "AB"[tick_of(value)], count_of(value));
    else if (is_at.overflow && i == is_at.overflow)
        (void)snprintf(out, size, "%" PRIu64 "ms:%" PRIx64, value >> 24, value & FLAKE_I_NOTED_MAX);
    else (void)snprintf(out, size, "%" PRIu64, value);
}

// >>ends

static bool came_up; /* the result that a litmus test looks for */

static void ended_litmus(void) {
    char end[FIBERS * 8 + 4] = "";
    size_t n = 0;
    for (unsigned i = 0; i < run_now.s->threads; i++)
        for (const char *c = kept.thread[i].loads; *c; c++) end[n++] = *c;
    end[n++] = ':';
    for (unsigned i = 0; i < 2; i++) {
        const orders_location *l = &orders_at[is_at.litmus + i];
        end[n++] = (char)('0' + l->message[l->n - 1].value);
    }
    bool same = n == strlen(current->seen);
    for (size_t i = 0; same && i < n; i++) same = current->seen[i] == '.' || end[i] == current->seen[i];
    came_up |= same;
    if (same && !current->seldom) fail("%s occurred", end);
}

static void ended_ring(void) {
    const orders_location *const head = &orders_at[is_at.head], *const tail = head + 1;
    uint64_t left = head->message[head->n - 1].value - tail->message[tail->n - 1].value;
    for (unsigned notes = kept.pushed & ~kept.popped; notes; notes &= notes - 1) left--;
    if (left || kept.popped & ~kept.pushed) fail("a note is lost, or is popped but was not pushed");
}

static void ended(void) {
    if (current->of == LITMUS) ended_litmus();
    if (current->of == RING) ended_ring();
    for (unsigned n = 0; n < engines() && current->of != SHARD; n++) {
        const orders_location *word = location_of(n, WORD), *drifts = location_of(n, DRIFTS);
        const orders_message *last = &word->message[word->n - 1];
        uint64_t counted = drifts->message[drifts->n - 1].value; /* the last may be missing */
        counted += (counted & 1) != tick_of(last->value);
        if (counted != last->fact[CHANGES])
            fail("drifts is %" PRIu64 " after %" PRIu64 " changes", counted, last->fact[CHANGES]);
    }
    if (current->of == CLAIM && kept.latest) {
        const orders_location *disk = &orders_at[is_at.disk];
        const int64_t said = (int64_t)disk->message[disk->n - 1].value;
        if (kept.latest > said)
            fail("%" PRId64 " was admitted, but the next holder begins after %" PRId64, units(kept.latest),
                 units(said));
    }
}

// >>labels

enum { LABELS = 64, MARKS = 256, MOST_TEXT = 400 };
static struct {
    char name[24]; /* with what it removes: LOOK:A */
    bool in_table;
} labels[LABELS];
static unsigned n_labels;
static struct mark {
    unsigned label;
    int first, last; /* lines of one access */
} marks[MARKS];
static unsigned n_marks, unlabelled;

/* The next LABEL:R, LABEL:A or LABEL:S at or after c; its length in *n, 0: none. */
static const char *next_label(const char *c, size_t *n) {
    static regex_t label;
    static bool is_made;
    regmatch_t at;
    if (!is_made) is_made = regcomp(&label, "[A-Z]{3,}:[RAS]", REG_EXTENDED) == 0;
    *n = regexec(&label, c, 1, &at, 0) == 0 ? (size_t)(at.rm_eo - at.rm_so) : 0;
    return *n ? c + at.rm_so : c;
}

static unsigned label_of(const char *name, size_t n) {
    unsigned i = 0;
    while (i < n_labels && (strlen(labels[i].name) != n || strncmp(labels[i].name, name, n) != 0)) i++;
    if (i < n_labels) return i;
    if (n_labels == LABELS) exit(2);
    (void)snprintf(labels[i].name, sizeof labels[i].name, "%.*s", (int)n, name);
    n_labels++;
    return i;
}

static bool is_access(const char *line) {
    const char *c = strstr(line, "_ATOMIC_");
    return c && *line != '#' && strncmp(line, " *", 2) != 0 &&
           (strstr(c, "LOAD(") || strstr(c, "STORE(") || strstr(c, "ADD(") || strstr(c, "CAS("));
}

static uint8_t loses(const char *label) {
    const char what = label[strlen(label) - 1];
    return what == 'A' ? ORDERS_A : what == 'R' ? ORDERS_R : ORDERS_S;
}

static uint8_t orders_in(const char *line) {
    const bool both = strstr(line, "acq_rel") != NULL;
    return (uint8_t)((both || strstr(line, "acquire") ? ORDERS_A : 0) |
                     (both || strstr(line, "release") ? ORDERS_R : 0) | (strstr(line, "seq_cst") ? ORDERS_S : 0));
}

static bool is_comment(const char *line) {
    const char *const code = line + strspn(line, " ");
    return *code == '/' || (*code == '*' && strchr(" /\n", code[1]));
}

/* Labels are after the access that they name, on its last line or the next: one for each order. */
static void scan(const char *path, int offset) {
    char line[MOST_TEXT];
    int access = 0;
    unsigned orders = 0, labelled = 0;
    FILE *f = fopen(path, "r");
    if (!f) {
        (void)fprintf(stderr, "%s: not here\n", path);
        exit(2);
    }
    for (int n = 1; fgets(line, sizeof line, f) && strncmp(line, "// >>answers", 12) != 0; n++) {
        size_t length;
        const char *c = next_label(line, &length);
        if (!strncmp(line, " *     ", 7) && c == line + 7) /* a row of the table */
            for (; length; c = next_label(c + length, &length)) labels[label_of(c, length)].in_table = true;
        if (is_access(line) || (access && n > access + 2)) {
            if (orders & ~labelled) {
                printf("FAIL %s:%d: an order without a label\n", path, access);
                unlabelled++;
            }
            orders = labelled = 0;
            access = is_access(line) ? n : 0;
        }
        if (!access || is_comment(line)) continue;
        orders |= orders_in(line);
        for (; length; c = next_label(c + length, &length)) {
            const unsigned label = label_of(c, length);
            labelled |= loses(labels[label].name);
            if (n_marks == MARKS) exit(2);
            marks[n_marks++] = (struct mark){label, offset + access, offset + n};
        }
    }
    (void)fclose(f);
}

// >>runs

static bool reached[SCENARIOS][ORDERS_LINES];
static unsigned long size_of[SCENARIOS]; /* executions; 0: not explored */
static const char *name_of_scenario(unsigned i) { return i < SCENARIOS ? scenarios[i].name : NULL; }

static setup setup_of(unsigned i) {
    current = &scenarios[i];
    setup s = setup_for(current->calls, current->of < ENGINE || current->of == LANES);
    s.samples = current->samples;
    return s;
}

/* The search without pruning reaches as many states. */
static bool prunes_rightly(const setup *s, const result *pruned) {
    setup all = *s;
    all.every = true;
    const clock_t begun = clock();
    const result r = search_all(&all);
    const bool same = !r.failed && r.ends == pruned->ends;
    print_result(same ? "ok" : "FAIL", "  without pruning", &r, begun);
    return same;
}

static bool passes(unsigned i, const setup *given) {
    const scenario *const s = &scenarios[i];
    const clock_t begun = clock();
    came_up = false;
    memset(orders_reached, 0, sizeof orders_reached);
    result r = search_all(given);
    const bool well = !r.failed && came_up == s->seldom && (s->samples || (r.finished && r.ends));
    memcpy(reached[i], orders_reached, sizeof reached[i]);
    size_of[i] = r.executions;
    print_outcome(!well ? "FAIL" : s->samples ? "some" : "ok", s->name, given, &r, begun);
    if (!well) printf("     %s%s\n", s->shows, r.failed ? "" : ": the expected result never occurred");
    return well && ((!s->every && s->of != LITMUS) || prunes_rightly(given, &r));
}

enum { MOST_WEAKENED = 200000 }; /* executions of a scenario */

/* Whether some scenario breaks a rule with the currently weakened orders; the cheapest run first.
 * The scenario and its result are left in *by, *r. */
static bool is_caught(const scenario **by, result *r, unsigned long *executions) {
    bool tried[SCENARIOS] = {false};
    *executions = 0;
    for (;;) {
        unsigned least = SCENARIOS;
        for (unsigned i = 0; i < SCENARIOS; i++) {
            bool reaches = false;
            for (unsigned n = 0; n < ORDERS_LINES && size_of[i] && !tried[i]; n++)
                reaches |= orders_weakened[n] && reached[i][n];
            if (reaches && (least == SCENARIOS || size_of[i] < size_of[least])) least = i;
        }
        if (least == SCENARIOS) return false;
        tried[least] = true;
        *by = &scenarios[least];
        setup s = setup_of(least);
        s.most_executions = MOST_WEAKENED;
        *r = search_all(&s);
        *executions += r->executions;
        if (r->failed) return true;
    }
}

enum { EVERY_ACCESS = MARKS };

/* Weakens a label at all its accesses, or at one mark: which scenario detects it. */
static void run_label(unsigned k, unsigned only) {
    const scenario *by = NULL;
    result r;
    unsigned long executions;
    char at[24] = "";
    for (unsigned i = 0; i < n_marks; i++) {
        if (marks[i].label != k || (only != EVERY_ACCESS && i != only)) continue;
        for (int n = marks[i].first; n <= marks[i].last; n++) orders_weakened[n] |= loses(labels[k].name);
        if (i == only)
            (void)snprintf(at, sizeof at, "%s:%d", marks[i].last < ORDERS_FLAKE ? "sno.h" : "flake.h",
                           marks[i].first % ORDERS_FLAKE);
    }
    const bool caught = is_caught(&by, &r, &executions);
    printf("%s %-10s %-12s  %7lu executions  %-16s %s\n", count(caught), labels[k].name, *at ? at : "everywhere",
           executions, caught ? by->name : "", caught ? r.message : "and no scenario detects it");
    (void)fflush(stdout);
    memset(orders_weakened, 0, sizeof orders_weakened);
}

static void run_labels(void) {
    for (unsigned k = 0; k < n_labels; k++) {
        unsigned accesses = 0;
        if (!labels[k].in_table) printf("FAIL %s is in no table\n", labels[k].name);
        (void)count(labels[k].in_table);
        for (unsigned i = 0; i < n_marks; i++) accesses += marks[i].label == k;
        run_label(k, EVERY_ACCESS);
        for (unsigned i = 0; i < n_marks && accesses > 1; i++)
            if (marks[i].label == k) run_label(k, i);
    }
    printf("%s %u orders without a label\n", count(!unlabelled), unlabelled);
}

int main(int argc, char **argv) {
    scan("sno.h", 0);
    scan("flake.h", ORDERS_FLAKE);
    return explorer_main(argc, argv, run_labels);
}
