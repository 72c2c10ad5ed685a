/* SPDX-License-Identifier: MIT
 *
 * flake_uuid7, flake_ulid and flake_uuid7_at (flake.h, >>process-wide): calls in one line draw from one generator of
 * the process, which the first call makes. One call after the other first, then leases, random bytes, a given time;
 * then threads that all begin at once, signal handlers, and processes that are forked or cloned.
 *
 * Clock and counter are scripted: each reading and each sleep moves them. `machine.meanwhile` is called in each of
 * these and in each call for random bytes: what it does happens while a draw is under way.
 */
#define _GNU_SOURCE
#define REAL_SLEEP /* the sleep is this file's */
#define CHECK_OWN_MAIN
#include "children.h"
#include "support.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#define MS INT64_C(1000000) /* in ns */
enum { RATE = 3 };          /* of the counter, in a ns */
static const int64_t T = 1700000000000;

static struct machine {
    _Atomic(int64_t) now_ns, per_reading_ns;
    _Atomic(uint64_t) counter_ahead; /* of RATE times now_ns */
    atomic_uint readings;            /* of the clock */
    atomic_uint sleeps, randoms;     /* calls for random bytes */
    atomic_uint random_left;         /* calls before the source fails */
    void (*volatile meanwhile)(void);
    bool gives_scripted_bytes; /* `next`, then those of a seed, and not the system's */
    uint64_t seed;
    uint8_t next[16];
    size_t n_next;
} machine;

static int64_t read_time(void) {
    if (machine.meanwhile) machine.meanwhile();
    return atomic_fetch_add(&machine.now_ns, machine.per_reading_ns);
}

static int64_t read_clock(void) {
    machine.readings++;
    return read_time();
}

static void sleep_ns(int64_t ns) {
    if (machine.meanwhile) machine.meanwhile();
    if (machine.sleeps++ > 1000000) check_endless();
    machine.now_ns += ns;
}

static bool random_bytes(void *to, size_t n);
#define FLAKE_CLOCK_NS(kind)      ((void)(kind), read_clock())
#define FLAKE_COUNTER()           ((uint64_t)read_time() * RATE + machine.counter_ahead)
#define FLAKE_SLEEP_NS(ns)        sleep_ns(ns)
#define FLAKE_RANDOM_BYTES(to, n) random_bytes(to, n)
#include "flake.h"
#include "uuid_fields.h"

static bool random_bytes(void *to, size_t n) {
    uint8_t *const bytes = (uint8_t *)to;
    unsigned left = machine.random_left;
    if (machine.meanwhile) machine.meanwhile();
    machine.randoms++;
    while (left && !atomic_compare_exchange_weak(&machine.random_left, &left, left - 1)) {
    }
    if (!left || (!machine.gives_scripted_bytes && !flake_i_system_random(to, n))) return false;
    for (size_t i = 0; i < n && machine.gives_scripted_bytes; i++)
        bytes[i] = machine.n_next ? machine.next[sizeof machine.next - machine.n_next--]
                                  : (uint8_t)(random_next(&machine.seed) >> 56);
    return true;
}

enum { rounds = small ? 30 : 300, forks = small ? 6 : 30 };

/* Of all processes of a test. */
enum { of_each = 50, most_kin = 400 };
static struct {
    atomic_uint n;
    flake128 ids[most_kin * of_each];
} * family;

static void family_adds(flake128 id) { family->ids[family->n++] = id; }
static void no_id_of_the_family_is_a_duplicate(void) { CHECK_EQ(count_duplicates(family->ids, family->n), 0); }

static void as_at_program_start(void) {
    memset((void *)&flake_i_default, 0, sizeof flake_i_default);
    memset((void *)&flake_i_counter, 0, sizeof flake_i_counter);
    memset((void *)&machine, 0, sizeof machine);
    machine.now_ns = T * MS;
    machine.per_reading_ns = 20;
    machine.random_left = UINT32_MAX;
    family->n = 0;
}

static void with_a_clock_that_only_sleeps_move(void) {
    as_at_program_start();
    machine.per_reading_ns = 0;
}

static struct flake_i_uuids *its_generator(void) { return FLAKE_ATOMIC_LOAD(&flake_i_default.gen, relaxed); }

static bool is_uuid7(flake128 id) { return id.bytes[6] >> 4 == 7 && id.bytes[8] >> 6 == 2; }

static flake128 uuid(void) {
    flake128 id = untouched;
    CHECK_EQ(flake_uuid7_bytes(id.bytes), FLAKE_OK);
    CHECK(is_uuid7(id));
    return id;
}

/* The lower half of a ULID's. */
static uint64_t ulid_counter(flake128 id) { return flake_from_bytes(id.bytes + 8); }

#define OF_TEXT(name, spell, read, room)                   \
    static flake128 name(void) {                           \
        char text[room] = "";                              \
        flake128 id = untouched;                           \
        CHECK_EQ(spell(text), FLAKE_OK);                   \
        CHECK_EQ(read(text, strlen(text), &id), FLAKE_OK); \
        return id;                                         \
    }
OF_TEXT(uuid_of_text, flake_uuid7, flake128_from_uuid, 37)
OF_TEXT(ulid, flake_ulid, flake128_from_ulid, 27)

static flake128 ulid_of_bytes(void) {
    flake128 id = untouched;
    CHECK_EQ(flake_ulid_bytes(id.bytes), FLAKE_OK);
    return id;
}

static void no_call_gives(flake_status status) {
    uint8_t bytes[16], ulid_bytes[16];
    char text[37], ulid_text[27];
    FAILS(flake_uuid7_bytes(bytes), status, bytes);
    FAILS(flake_uuid7(text), status, text);
    FAILS(flake_ulid(ulid_text), status, ulid_text);
    FAILS(flake_ulid_bytes(ulid_bytes), status, ulid_bytes);
}

// >>one after the other

TEST(one_word_serves_all_calls) {
    as_at_program_start();
    flake128 last = uuid();
    CHECK_EQ(uuid_ms(last), T);
    const uint64_t first = counter_of(last);
    flake128 last_ulid = ulid();
    for (uint32_t i = 2; i < 3000; i += 4) {
        rises(&last, uuid());
        CHECK_EQ(counter_of(last), first + i);
        rises(&last, uuid_of_text());
        CHECK_EQ(counter_of(last), first + i + 1);
        const flake128 before = last_ulid;
        rises(&last_ulid, ulid());
        rises(&last_ulid, ulid_of_bytes());
        if (i > 2) CHECK_EQ(ulid_counter(last_ulid) - ulid_counter(before), 4);
    }
    CHECK(uuid_ms(last) == T && uuid_ms(last_ulid) == T);
    machine.now_ns += 5 * MS;
    rises(&last, uuid());
    rises(&last_ulid, ulid());
    CHECK(uuid_ms(last) == T + 5 && uuid_ms(last_ulid) == T + 5);
}

/* A cached ULID counter counts only if its words belong together. */
TEST(cached_words_of_two_ms_are_not_used) {
    with_a_clock_that_only_sleeps_move();
    uint64_t last = ulid_counter(ulid());
    for (unsigned i = 0; i < 9; i++) {
        flake_atomic64 *const word = &its_generator()->keys.ulid[i % 3];
        FLAKE_ATOMIC_STORE(word, FLAKE_ATOMIC_LOAD(word, relaxed) ^ 1, relaxed);
        CHECK_EQ(ulid_counter(ulid()), ++last);
    }
}

static void hold_the_clock(void) { machine.now_ns = T * MS; }

TEST(a_full_ms_is_waited_out) {
    with_a_clock_that_only_sleeps_move();
    flake128 last = uuid();
    for (int i = 1; i < 65536; i++) rises(&last, uuid());
    CHECK(uuid_ms(last) == T && !machine.sleeps);
    rises(&last, uuid());
    CHECK(uuid_ms(last) == T + 1 && machine.sleeps);
}

TEST(a_clock_that_goes_backwards_stops_no_call) {
    static const int64_t back_to[] = {T - 1, T - 3600 * 1000, 0, T + 2, 441763199999};
    as_at_program_start();
    flake128 last = uuid(), last_ulid = ulid();
    for (size_t i = 0; i < sizeof back_to / sizeof *back_to; i++) {
        machine.now_ns = back_to[i] * MS;
        for (int k = 0; k < 70000; k++) { /* more than a ms has */
            const flake128 before = last;
            rises(&last, uuid());
            CHECK(!k || uuid_ms(last) > uuid_ms(before) || counter_of(last) == counter_of(before) + 1);
        }
        rises(&last_ulid, ulid());
    }
    CHECK(uuid_ms(last) >= T + 4 && uuid_ms(last) < T + 20);
    machine.now_ns = (T - 1000) * MS;
    flake_machine_cloned(); /* which makes no new engine */
    CHECK(uuid_ms(uuid()) >= uuid_ms(last));
}

TEST(no_generator_begins_before_1984) {
    as_at_program_start();
    machine.now_ns = 441763200000 * MS - 1000;
    machine.per_reading_ns = 0;
    no_call_gives(FLAKE_TIME_RANGE);
    machine.now_ns = 441763200000 * MS;
    CHECK_EQ(uuid_ms(uuid()), 441763200000);
}

/* A sleep cannot end if the second does not pass. */
TEST(a_clock_that_stands_still_gives_the_ids_of_one_ms) {
    with_a_clock_that_only_sleeps_move();
    for (int i = 0; i < 65536; i++) (void)uuid();
    machine.meanwhile = hold_the_clock;
    no_call_gives(FLAKE_AGAIN);
    machine.meanwhile = NULL;
    CHECK_EQ(uuid_ms(uuid()), T + 1);
}

TEST(after_2262_no_id_is_drawn) {
    as_at_program_start();
    (void)uuid();
    machine.per_reading_ns = 0;
    machine.now_ns = INT64_MAX;
    no_call_gives(FLAKE_TIME_RANGE);
    machine.now_ns = INT64_MAX / MS * MS - 1;
    (void)uuid();
}

// >>leases

/* The clock steps back or forward, and the counter does not. */
static void step_clock(int64_t ns) {
    machine.now_ns += ns;
    machine.counter_ahead -= (uint64_t)ns * RATE;
}

/* Draws often enough to know the counter's pace, and at the start of a ms, which is leased then. */
static void learn(void) {
    for (unsigned i = 0; i < 4; i++) {
        machine.now_ns += 20 * MS;
        (void)uuid();
    }
    flake_i_default.gen->engine.frequent = 1; /* one a ms are frequent draws */
    const int64_t now_ns = machine.now_ns;
    machine.now_ns = now_ns + MS - now_ns % MS;
    (void)uuid();
    (void)uuid();
    machine.readings = 0;
}

TEST(under_a_lease_the_clock_is_not_read) {
    as_at_program_start();
    learn();
    const int64_t ms = machine.now_ns / MS;
    flake128 last = uuid(), last_ulid = ulid();
    for (int i = 0; i < 1000; i++) {
        rises(&last, i % 2 ? uuid() : uuid_of_text());
        rises(&last_ulid, i % 2 ? ulid() : ulid_of_bytes());
    }
    CHECK_EQ(machine.readings, 0);
    CHECK(uuid_ms(last) == ms && uuid_ms(last_ulid) == ms);
    machine.now_ns += MS;
    rises(&last, uuid());
    CHECK_EQ(machine.readings, 1);
    CHECK_EQ(uuid_ms(last), ms + 1);
}

TEST(a_step_back_is_seen_when_the_lease_has_ended) {
    as_at_program_start();
    learn();
    flake128 last = uuid();
    const int64_t ms = uuid_ms(last);
    step_clock(-3600 * 1000 * MS);
    for (int i = 0; i < 10; i++) rises(&last, uuid());
    CHECK_EQ(machine.readings, 0);
    for (int i = 0; i < 10; i++) { /* none of these is leased */
        machine.now_ns += MS;
        machine.readings = 0;
        rises(&last, uuid());
        CHECK(machine.readings > 0);
    }
    CHECK_EQ(uuid_ms(last), ms);
    step_clock(3600 * 1000 * MS);
    rises(&last, uuid());
    CHECK_EQ(uuid_ms(last), ms + 10);
}

/* The clock steps; the counter jumps and stops. No ID is later than the clock was at its latest, but for
 * those that exhaust a ms after a step back: there are too few for that. */
TEST(ids_rise_whatever_clock_and_counter_read) {
    as_at_program_start();
    learn();
    flake128 last = uuid(), last_ulid = ulid();
    uint64_t random = 1;
    int64_t latest_ns = machine.now_ns;
    unsigned too_late = 0, stepped_back = 0, leased = 0;
    const unsigned draws = 100 * rounds;
    for (unsigned i = 0; i < draws; i++) {
        const int64_t by_ns = (int64_t)random_below(&random, (uint64_t)1 << random_below(&random, 40));
        switch (random_below(&random, 64)) {
        case 0: step_clock(by_ns); break;
        case 1: step_clock(-by_ns), stepped_back++; break;
        case 2: machine.counter_ahead += (uint64_t)by_ns * RATE; break;
        case 3: machine.counter_ahead -= (uint64_t)by_ns * RATE; break;
        case 4: machine.now_ns += by_ns % (30 * MS); break;
        default: machine.now_ns += by_ns % (MS / 20); break;
        }
        if (machine.now_ns > latest_ns) latest_ns = machine.now_ns;
        const unsigned read = machine.readings;
        if (i % 3) rises(&last, i % 2 ? uuid() : uuid_of_text());
        else rises(&last_ulid, i % 2 ? ulid() : ulid_of_bytes());
        leased += machine.readings == read;
        too_late += uuid_ms(i % 3 ? last : last_ulid) > latest_ns / MS + 1;
    }
    CHECK_EQ(too_late, 0);
    CHECK(stepped_back > draws / 100);
    CHECK(leased > draws / 100);
}

// >>random bytes

TEST(without_random_bytes_no_call_gives_an_id) {
    for (unsigned before = 0; before < 2; before++) { /* the salt's; the keys' */
        as_at_program_start();
        for (int i = 0; i < 20; i++) {
            machine.random_left = before && i == 0;
            no_call_gives(FLAKE_IO);
        }
        machine.random_left = UINT32_MAX;
        flake128 last = uuid();
        CHECK(its_generator() != NULL); /* no place was lost */
        for (int i = 0; i < 100; i++) rises(&last, uuid());
    }
}

TEST(ids_continue_when_random_bytes_end) {
    as_at_program_start();
    flake128 last = uuid();
    machine.random_left = 0;
    for (int i = 0; i < 100; i++) { /* the tail's keys are not renewed */
        machine.now_ns += 1000 * MS;
        rises(&last, uuid());
    }
    CHECK(machine.randoms > 90);
    flake_machine_cloned(); /* but without keys none is made */
    no_call_gives(FLAKE_IO);
    machine.random_left = UINT32_MAX;
    machine.now_ns += MS;
    rises(&last, uuid());
}

// >>of a given time

/* The random bytes follow the time, except where version and variant are. */
TEST(a_uuid_of_a_given_time_has_random_bits) {
    static const struct {
        int64_t ms;
        uint8_t random[10];
        const char *text;
    } of[] = {
        {0, {0}, "00000000-0000-7000-8000-000000000000"},
        {1645557742000, /* the RFC's example */
         {0x1c, 0xc3, 0xd8, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f},
         "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"},
        {T, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "018bcfe5-6800-7fff-bfff-ffffffffffff"},
        {T, {0xf0, 0x00, 0xc0}, "018bcfe5-6800-7000-8000-000000000000"},
        {T, {0x0f, 0xff, 0x3f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "018bcfe5-6800-7fff-bfff-ffffffffffff"},
        {((int64_t)1 << 48) - 1, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, "ffffffff-ffff-7102-8304-05060708090a"},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char text[37];
        flake128 id;
        flake_parts parts = {0, 0, 0};
        as_at_program_start();
        machine.gives_scripted_bytes = true;
        machine.n_next = sizeof machine.next;
        memcpy(machine.next, of[i].random, sizeof of[i].random);
        CHECK_EQ(flake_uuid7_at(of[i].ms, text), FLAKE_OK);
        CHECK_STR(text, of[i].text);
        CHECK_EQ(machine.n_next, sizeof machine.next - 10);
        CHECK_EQ(flake128_from_uuid(text, 36, &id), FLAKE_OK);
        CHECK_EQ(flake128_decompose(&flake_layout_uuid7, &id, &parts), FLAKE_OK);
        CHECK_EQ(parts.unix_ms, of[i].ms);
        CHECK(!machine.readings && !its_generator());
    }
}

TEST(a_uuid_of_a_given_time_fails_without_a_change) {
    static const int64_t outside[] = {INT64_MIN, -1, (int64_t)1 << 48, INT64_MAX};
    char text[37] = "unchanged";
    as_at_program_start();
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        CHECK_EQ(flake_uuid7_at(outside[i], text), FLAKE_TIME_RANGE);
    CHECK_EQ(machine.randoms, 0);
    machine.random_left = 0;
    CHECK_EQ(flake_uuid7_at(T, text), FLAKE_IO);
    CHECK_STR(text, "unchanged");
}

// >>places

static flake128 makers;
static void is_made_at_the_third_nap(void) {
    if (machine.sleeps != 2 || its_generator()) return;
    void (*const was)(void) = machine.meanwhile;
    machine.meanwhile = NULL;
    const uint64_t begun = FLAKE_ATOMIC_LOAD(&flake_i_default.begun, relaxed);
    FLAKE_ATOMIC_STORE(&flake_i_default.begun, begun - 1, relaxed); /* one of the four is ready now */
    makers = uuid();
    machine.meanwhile = was;
}

static void take_all_places(void) {
    for (unsigned i = 0; i < FLAKE_I_DEFAULT_PLACES; i++)
        CHECK_EQ(flake_i_take_place(&flake_i_default.begun, FLAKE_I_DEFAULT_PLACES), i);
}

TEST(a_call_that_finds_no_place_waits_for_a_maker) {
    with_a_clock_that_only_sleeps_move();
    take_all_places();
    machine.meanwhile = is_made_at_the_third_nap;
    const flake128 id = uuid();
    CHECK_EQ(machine.sleeps, 3);
    CHECK(flake128_compare(&makers, &id) < 0 && counter_of(id) == counter_of(makers) + 1);
}

TEST(a_call_draws_alone_when_all_makers_are_gone) {
    as_at_program_start();
    take_all_places();
    machine.gives_scripted_bytes = true;
    machine.seed = 1;
    flake128 ids[20];
    unsigned like_uuids = 0;
    for (int i = 0; i < 20; i++) {
        machine.sleeps = 0;
        machine.now_ns = T * MS;
        ids[i] = i % 2 ? uuid() : ulid();
        like_uuids += is_uuid7(ids[i]);
        CHECK_EQ(flake_from_bytes(ids[i].bytes) >> 16, (uint64_t)machine.now_ns / MS);
        CHECK_EQ(machine.sleeps, FLAKE_I_DEFAULT_NAPS);
    }
    CHECK(like_uuids < 15); /* a ULID's bits resemble a UUID's by chance: 1 in 64 */
    CHECK(its_generator() == NULL);
    CHECK_EQ(count_duplicates(ids, 20), 0);
    as_at_program_start();
    take_all_places();
    /* the salt's and those before each nap, but none for that generator */
    machine.random_left = 1 + FLAKE_I_DEFAULT_NAPS + 1;
    no_call_gives(FLAKE_IO);
}

// >>threads

enum { most_threads = 12, each = 60 };

/* n threads, of which each gets its row. */
static pthread_t threads[most_threads];
static void start_threads(unsigned n, void *(*run)(void *), void *rows, size_t size) {
    for (unsigned i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, run, rows ? (char *)rows + i * size : NULL) != 0) abort();
}
static void join_threads(unsigned n) {
    for (unsigned i = 0; i < n; i++) (void)pthread_join(threads[i], NULL);
}

static struct {
    pthread_barrier_t begin;
    pthread_mutex_t lock;
    flake128 greatest; /* that was returned to any thread */
    flake128 ids[most_threads][each];
    atomic_uint wrong;
} race;

static void *race_of(void *mine) {
    flake128 *const ids = (flake128 *)mine;
    (void)pthread_barrier_wait(&race.begin);
    for (unsigned i = 0; i < each; i++) {
        (void)pthread_mutex_lock(&race.lock);
        const flake128 before = race.greatest;
        (void)pthread_mutex_unlock(&race.lock);
        if (flake_uuid7_bytes(ids[i].bytes) != FLAKE_OK || flake128_compare(&before, &ids[i]) >= 0) race.wrong++;
        (void)pthread_mutex_lock(&race.lock);
        if (flake128_compare(&race.greatest, &ids[i]) < 0) race.greatest = ids[i];
        (void)pthread_mutex_unlock(&race.lock);
        if (ids == race.ids[0] && i == each / 2) step_clock(-3600 * 1000 * MS);
    }
    return NULL;
}

static void race_for_ids(bool leased) {
    for (unsigned round = 0; round < rounds; round++) {
        const unsigned n = 2 + round % (most_threads - 1);
        as_at_program_start();
        if (leased) {
            learn();
            machine.per_reading_ns = 5000; /* a lease lasts for some 100 draws */
        }
        memset(&race.greatest, 0, sizeof race.greatest);
        (void)pthread_barrier_init(&race.begin, NULL, n);
        start_threads(n, race_of, race.ids, sizeof race.ids[0]);
        join_threads(n);
        (void)pthread_barrier_destroy(&race.begin);
        CHECK_EQ(race.wrong, 0);
        CHECK_EQ(count_duplicates(race.ids[0], (size_t)n * each), 0);
    }
}

TEST(a_later_call_gets_the_greater_id_from_the_first_call_on) {
    race_for_ids(false);
    race_for_ids(true);
}

// >>handlers

/* A handler may run wherever the calls read a clock, sleep or ask for random bytes. */
static volatile sig_atomic_t countdown, handled;
static flake128 in_handler;
static bool handles_uuids;

static void handler(int number) {
    (void)number;
    in_handler = handles_uuids ? uuid() : ulid();
    handled++;
}

static void raise_in_time(void) {
    if (countdown && !--countdown) (void)raise(SIGUSR1);
}

static void draw_in_handlers(bool leased) {
    struct sigaction action = {0};
    action.sa_handler = handler;
    (void)sigaction(SIGUSR1, &action, NULL);
    int at = 1;
    for (handled = 1; handled; at++) { /* until no step is left to interrupt */
        as_at_program_start();
        handled = 0;
        if (leased) learn();
        countdown = at;
        handles_uuids = at % 2;
        machine.meanwhile = raise_in_time;
        const flake128 first = uuid();
        flake128 last = first;
        for (int i = 0; i < 10; i++) {
            if (i % 2) machine.now_ns += 700 * MS; /* renewals, too */
            rises(&last, uuid());
        }
        flake128 ids[3] = {in_handler, first, last};
        if (handled) CHECK_EQ(count_duplicates(ids, 3), 0);
        machine.meanwhile = NULL;
        rises(&last, uuid());
        if (handled && handles_uuids) CHECK(flake128_compare(&in_handler, &last) < 0);
    }
    CHECK(at > 20);
}

TEST(handlers_may_draw_wherever_they_interrupt) {
    draw_in_handlers(false);
    draw_in_handlers(true);
}

// >>processes

static void draw_for_the_family(void) {
    flake128 last = {{0}};
    for (unsigned i = 0; i < of_each; i++) {
        const flake128 id = i % 4 == 3 ? ulid() : uuid();
        if (i % 4 < 3) rises(&last, id);
        family_adds(id);
    }
}

static void child_with_a_child(void) {
    in_child(draw_for_the_family);
    draw_for_the_family();
    flake_machine_cloned();
    draw_for_the_family();
}
static void child_that_is_cloned_first(void) {
    flake_machine_cloned();
    draw_for_the_family();
}

/* All in one ms, from the same ticket on. */
static void relatives(bool has_drawn, bool leased) {
    with_a_clock_that_only_sleeps_move();
    if (leased) learn();
    const int64_t ms = machine.now_ns / MS;
    if (has_drawn) draw_for_the_family();
    for (int i = 0; i < 3; i++) in_child(draw_for_the_family);
    in_child(child_with_a_child);
    for (int i = 0; i < 3; i++) in_child(child_that_is_cloned_first);
    draw_for_the_family();
    flake_machine_cloned();
    draw_for_the_family();
    const unsigned n = family->n;
    CHECK_EQ(n, (11 + has_drawn) * of_each);
    for (unsigned i = 0; i < n; i++) CHECK_EQ(uuid_ms(family->ids[i]), ms);
    no_id_of_the_family_is_a_duplicate();
}

/* While tails differ, duplicates do not reveal equal counters. */
static void store_an_id(void) { family->ids[0] = uuid(); }

TEST(counters_begin_elsewhere_in_each_process) {
    with_a_clock_that_only_sleeps_move();
    const uint64_t drawn = counter_of(uuid());
    uint64_t counters[8];
    for (unsigned i = 0; i < 8; i++) {
        if (i >= 4) flake_machine_cloned();
        if (i < 4) in_child(store_an_id);
        else store_an_id();
        counters[i] = counter_of(family->ids[0]);
        CHECK(llabs((long long)(counters[i] - drawn)) > 20);
        for (unsigned k = 0; k < i; k++) CHECK(counters[i] != counters[k]);
    }
}

TEST(relatives_share_no_id) {
    relatives(false, false);
    relatives(true, false);
    relatives(true, true);
}

/* The first IDs after flake_machine_cloned: a UUID's counter and tail, and a ULID's counter. Bit `turned` of
 * the random bytes that it takes is flipped; 128: none is. */
static void ids_after_a_clone(unsigned turned, flake128 found[2]) {
    as_at_program_start();
    machine.gives_scripted_bytes = true;
    machine.seed = 1;
    (void)uuid();
    flake_machine_cloned();
    for (machine.n_next = 0; machine.n_next < 16; machine.n_next++)
        machine.next[machine.n_next] = (uint8_t)(random_next(&machine.seed) >> 56);
    if (turned < 128) machine.next[turned / 8] ^= (uint8_t)(1 << turned % 8);
    found[0] = uuid();
    found[1] = ulid();
    CHECK_EQ(machine.n_next, 0);
}

/* Each of the 128 bits that distinguish processes changes all bits that look random: they are hashed. */
TEST(keys_depend_on_all_128_bits) {
    flake128 as_it_is[2], changed[2];
    ids_after_a_clone(128, as_it_is);
    for (unsigned turned = 0; turned < 128; turned++) {
        ids_after_a_clone(turned, changed);
        CHECK(counter_of(as_it_is[0]) != counter_of(changed[0]));
        CHECK(tail_of(as_it_is[0]) != tail_of(changed[0]));
        CHECK(ulid_counter(as_it_is[1]) != ulid_counter(changed[1]));
    }
}

#ifdef __linux__
static bool wipes_none, is_beaten;
static uint64_t low_of_the_first; /* half of its salt */
int madvise(void *at, size_t length, int advice);
int madvise(void *at, size_t length, int advice) {
    if (is_beaten) { /* another thread draws first, and then the machine is cloned */
        is_beaten = false;
        (void)uuid();
        low_of_the_first = FLAKE_ATOMIC_LOAD(&flake_i_default.low, relaxed);
        flake_machine_cloned();
    }
    if (wipes_none) return -1;
    return (int)syscall(SYS_madvise, at, length, advice);
}

TEST(a_clone_takes_no_part_of_an_older_salt) {
    memset((void *)&flake_i_process, 0, sizeof flake_i_process);
    as_at_program_start();
    is_beaten = true;
    (void)uuid();
    CHECK(!is_beaten && FLAKE_ATOMIC_LOAD(&flake_i_default.low, relaxed) != low_of_the_first);
    CHECK((uint32_t)FLAKE_ATOMIC_LOAD(&flake_i_default.high, relaxed) != 0);
}

TEST(relatives_share_no_id_where_only_the_pid_distinguishes_them) {
    memset((void *)&flake_i_process, 0, sizeof flake_i_process);
    wipes_none = true;
    relatives(false, false);
    relatives(true, false);
    relatives(true, true);
    CHECK(FLAKE_ATOMIC_LOAD(&flake_i_process.page, relaxed) == NULL);
    counters_begin_elsewhere_in_each_process();
    memset((void *)&flake_i_process, 0, sizeof flake_i_process);
    wipes_none = false;
}
#endif

/* A part of a salt has 32 bits of the mark: those of neighbours differ. */
TEST(tags_of_relatives_differ) {
    enum { pids = 4096, generations = 16 };
    static uint32_t tags[pids * generations];
    for (uint64_t i = 0; i < pids * generations; i++) tags[i] = flake_i_tag_of(i / pids << 32 | (i % pids + 4096));
    CHECK_EQ(count_duplicates(tags, pids * generations), 0);
    for (uint32_t i = 1; i < 1 << 20; i++) CHECK_EQ(flake_i_tag_of(i), i);
}

static atomic_bool stop;
static void *draw_meanwhile(void *unused) {
    flake128 last = {{0}};
    while (!stop) rises(&last, uuid());
    return unused;
}

TEST(no_id_repeats_if_threads_draw_during_forks) {
    if (!words_reach_other_processes) return; /* see forked_while_threads_draw */
    as_at_program_start();
    stop = false;
    start_threads(3, draw_meanwhile, threads, 0);
    for (unsigned i = 0; i < forks; i++) {
        in_child(draw_for_the_family);
        draw_for_the_family();
    }
    stop = true;
    join_threads(3);
    no_id_of_the_family_is_a_duplicate();
}

/* Threads draw while the machine is copied again and again: no ID repeats. */
static void *draw_and_note(void *unused) {
    for (unsigned i = 0; i < 40 * of_each; i++) family_adds(uuid());
    return unused;
}

TEST(no_id_repeats_if_the_machine_is_cloned_while_threads_draw) {
    as_at_program_start();
    start_threads(4, draw_and_note, threads, 0);
    for (unsigned i = 0; i < 200; i++) flake_machine_cloned();
    join_threads(4);
    no_id_of_the_family_is_a_duplicate();
}

int main(int argc, char **argv) {
    (void)pthread_mutex_init(&race.lock, NULL);
    family = shared_memory(sizeof *family);
    return check_main(argc, argv);
}
