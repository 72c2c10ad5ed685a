/* SPDX-License-Identifier: MIT
 *
 * KILLS processes are killed, at a system call that writes or from outside at any moment, on a disk that
 * fails, while the clock steps back and forth; some runs end cleanly, and some kills are power cuts. A
 * power cut loses or tears each record that is not on disk. After a failed sync a record may be in the
 * kernel's cache and not on disk, and later syncs do not write it: only another write of the record and
 * a sync do. Four kinds: runs of all generators with their states; runs of one generator whose syncs
 * often fail; a few processes that share the slots of a directory, with IDs ahead of the clock;
 * generators in shared memory whose state is extended by one process after the other. No ID repeats.
 *
 *     attack [--kills=10000]
 */
#define _GNU_SOURCE
#include "scene.h"
#include "flake.h"
#include "sno.h"
#include "ways_to_draw.h"

enum { seats = 3, log_room = 8000000, journal_room = 64 };

/* The disk's content where the kernel's cache has a newer record. */
typedef struct undo {
    _Atomic(uint64_t) inode; /* 0: the disk has what the cache has */
    _Atomic(bool) is_dirty;  /* the next sync writes it; false: a sync of it has failed */
    int64_t at;
    uint8_t bytes[FLAKE_I_RECORD];
} undo;

typedef struct drawn {
    uint64_t key, family;
} drawn;

static struct common {
    _Atomic(size_t) n;
    _Atomic(unsigned) faults, crashes, writes, cuts;
    _Atomic(bool) power_fails; /* when this process has ended */
    _Atomic(bool) made;        /* all that follows is shared */
    _Atomic(unsigned) n_undo;
    undo journal[journal_room];
    flake_gen gen; /* of the shared kind */
    flake_gen shards[seats];
    flake_state state;
    drawn log[log_room];
} * common;

static uint64_t random_state;
static unsigned all_kills = 10000, kills, clean_ends;

static uint64_t below(uint64_t bound) { return random_below(&random_state, bound); }

static void sleep_a_minute_at_most(int64_t ns) {
    atomic_fetch_add(&our->now_ns, ns > 60000 * a_ms ? 60000 * a_ms : ns);
}

static void step_clock(void) {
    const uint64_t by = below(100);
    if (by < 60) pass_ms((int64_t)below(4));
    else if (by < 85) pass_ms((int64_t)below(400));
    else if (by < 88) pass_ms(-(int64_t)below(2000));
}

/* ---- what was drawn ---- */

static void keep(uint64_t family, uint64_t key) {
    const size_t at = atomic_fetch_add(&common->n, 1u);
    if (at < log_room) common->log[at] = (drawn){key, family};
}

static size_t twice(void) {
    size_t n = 0, count = atomic_load(&common->n);
    if (count > log_room) count = log_room;
    for (size_t i = 0; i < count; i++) /* zeros: killed before it was recorded */
        if (common->log[i].family || common->log[i].key) common->log[n++] = common->log[i];
    return count_duplicates(common->log, n);
}

/* ---- power cuts ---- */

static void before_write(int fd, size_t n) {
    struct stat file;
    const off_t at = lseek(fd, 0, SEEK_CUR);
    atomic_fetch_add(&common->writes, 1u);
    const int call = disk.calls + 1;
    if (disk.fail_from && call >= disk.fail_from && call < disk.fail_from + disk.fails)
        atomic_fetch_add(&common->faults, 1u);
    if (n != FLAKE_I_RECORD || at < FLAKE_I_FIRST_RECORD || fstat(fd, &file) != 0) return;
    for (unsigned i = 0; i < journal_room; i++) {
        undo *u = &common->journal[i];
        if (atomic_load(&u->inode) != (uint64_t)file.st_ino || u->at != at) continue;
        atomic_store(&u->is_dirty, true);
        return;
    }
    undo *u;
    unsigned tries = 0;
    do {
        if (tries++ == journal_room) abort();
        u = &common->journal[atomic_fetch_add(&common->n_undo, 1u) % journal_room];
    } while (atomic_load(&u->inode));
    memset(u->bytes, 0, sizeof u->bytes);
    if (pread(fd, u->bytes, n, at) < 0) return;
    u->at = at;
    atomic_store(&u->is_dirty, true);
    atomic_store(&u->inode, (uint64_t)file.st_ino);
}

static void after_sync(int fd, bool well) {
    struct stat file;
    if (fstat(fd, &file) != 0) return;
    for (unsigned i = 0; i < journal_room; i++) {
        undo *u = &common->journal[i];
        if (atomic_load(&u->inode) != (uint64_t)file.st_ino || !atomic_load(&u->is_dirty)) continue;
        if (well) atomic_store(&u->inode, 0u);
        else atomic_store(&u->is_dirty, false);
    }
}

/* Whether a sync has failed and its record has not been written since. */
static bool cache_differs(void) {
    for (unsigned i = 0; i < journal_room; i++)
        if (atomic_load(&common->journal[i].inode) && !atomic_load(&common->journal[i].is_dirty))
            return true;
    return false;
}

static void take_back(const undo *u, const char *name) {
    struct stat file;
    const char *const path = path_of(name);
    if (stat(path, &file) != 0 || (uint64_t)file.st_ino != atomic_load(&u->inode)) return;
    const int fd = (open)(path, O_RDWR);
    const size_t kept =
        atomic_load(&u->is_dirty) && below(4) ? (size_t)below(sizeof u->bytes + 1) : 0;
    if (fd < 0) abort();
    if (pwrite(fd, u->bytes + kept, sizeof u->bytes - kept, u->at + (off_t)kept) < 0) abort();
    (void)(close)(fd);
}

/* With all processes dead, a record that is not on disk is lost, or all but its first part if a
 * sync may have been writing it. The processes' shared memory is lost, too. */
static void cut_power(void) {
    static const char *const names[] = {"flake",  "wide",   "sno",    "sno_shards", "syncs",
                                        "0.slot", "1.slot", "2.slot", "3.slot",     "shared"};
    for (unsigned i = 0; i < journal_room; i++) {
        undo *u = &common->journal[i];
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (atomic_load(&u->inode)) take_back(u, names[k]);
        atomic_store(&u->inode, 0u);
    }
    atomic_fetch_add(&common->cuts, 1u);
    atomic_store(&common->made, false);
    memset(&common->state, 0, sizeof common->state);
}

/* ---- processes ---- */

static pid_t start(void (*run)(void)) { /* on a disk with faults */
    const uint64_t own = random_next(&random_state);
    const pid_t child = fork();
    if (child < 0) abort();
    if (child) return child;
    random_state = own | 1;
    disk_begin();
    disk_on_write = before_write;
    disk_on_sync = after_sync;
    if (below(cache_differs() ? 2 : 8) == 0) { /* the power fails in one of the first syncs */
        disk.kill_at_sync = 1 + (int)below(4);
        atomic_store(&common->power_fails, true);
    } else if (below(4) == 0) disk.kill_at = 1 + (int)below(60);
    else if (below(3) == 0) {
        disk.fail_from = 1 + (int)below(32);
        disk.only_syncs = below(4);
        disk.fails = disk.only_syncs ? 1000000 : 1 + (int)below(20);
    }
    run();
    _exit(0);
}

static void await_end(pid_t child) {
    const int status = end_of(child);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) kills++;
    else if (WIFEXITED(status) && WEXITSTATUS(status) == 0) clean_ends++;
    else atomic_fetch_add(&common->crashes, 1u);
}

static void pause_a_while(uint64_t most_us) { (void)usleep((useconds_t)below(most_us)); }

/* Many processes at a time, one of which is killed again and again. */
static void kill_among(void (*run)(void), unsigned wanted) {
    pid_t children[seats];
    const unsigned had = kills;
    for (unsigned i = 0; i < seats; i++) children[i] = start(run);
    while (kills - had < wanted) {
        const unsigned victim = (unsigned)below(seats);
        pause_a_while(1500);
        step_clock();
        if (below(16) == 0) { /* the machine */
            for (unsigned i = 0; i < seats; i++) (void)kill(children[i], SIGKILL);
            for (unsigned i = 0; i < seats; i++) await_end(children[i]);
            cut_power();
            for (unsigned i = 0; i < seats; i++) children[i] = start(run);
            continue;
        }
        if (below(4)) (void)kill(children[victim], SIGKILL);
        await_end(children[victim]);
        children[victim] = start(run);
    }
    for (unsigned i = 0; i < seats; i++) {
        (void)kill(children[i], SIGKILL);
        await_end(children[i]);
    }
}

static void begin_attack(void) {
    begin();
    move_to_ns(1800000000000 * a_ms);
    on_sleep = sleep_a_minute_at_most;
    memset(common, 0, offsetof(struct common, log));
    random_state = 0x9e3779b97f4a7c15;
}

static void report(void) {
    if (!kills) return;
    size_t n = atomic_load(&common->n);
    if (n > log_room) n = log_room;
    const size_t duplicates = twice();
    printf("  %u kills, %u clean ends, %u power cuts, %u faults in %u writes, %zu IDs\n", kills,
           clean_ends, atomic_load(&common->cuts), atomic_load(&common->faults),
           atomic_load(&common->writes), n);
    CHECK_EQ(duplicates, 0);
    CHECK_EQ(atomic_load(&common->crashes), 0);
    CHECK(n > kills);
    memset(common->log, 0, n * sizeof *common->log);
    kills = clean_ends = 0;
}

// >>states

static void run_of_states(void) {
    const char *const paths[] = {path_of("flake"), path_of("wide"), path_of("sno"),
                                 path_of("sno_shards")};
    const flake_status status = ways_open(paths, below(2));
    if (status == FLAKE_INVALID) _exit(1);
    for (uint64_t draws = 20 + below(200); draws && status == FLAKE_OK; draws--) {
        way_ids ids;
        const struct way *way = &all_ways[below(ways_count)];
        if (way->family >= FAMILY_SNO_LANES) continue; /* have no state */
        (void)way_draw(way, &ids);
        for (size_t i = 0; i < ids.n; i++) keep(way->family + 1u, ids.keys[i]);
        step_clock();
        if (draws % 32 == 0) (void)flake_state_extend(&ways_state[0], NULL);
    }
    if (below(4)) be_killed();
    ways_close();
}

TEST(states) {
    while (kills < all_kills / 4) {
        const pid_t child = start(run_of_states);
        if (below(3) == 0) {
            pause_a_while(3000);
            (void)kill(child, SIGKILL);
        }
        await_end(child);
        if (atomic_exchange(&common->power_fails, false) || below(4) == 0) cut_power();
        pass_ms((int64_t)below(3) * 700);
        if (below(3) == 0) pass_ms(3500);
    }
}

// >>syncs

/* Draws at a few times only, so that a lost horizon shows. */
static void run_of_syncs(void) {
    static flake_gen gen;
    static flake_state state;
    const flake_state_options where = {.path = path_of("syncs"), .no_wait = true};
    const flake_node node = flake_node_fixed(NULL, 0);
    flake_options o = {.clock.now_ns = scene_clock};
    if (flake_state_open(&state, &where, node, &o, NULL, NULL) != FLAKE_OK) return;
    o.state = &state;
    if (flake_init(&gen, node, &o, NULL) != FLAKE_OK) _exit(1);
    if (!disk.fail_from && below(2)) {
        disk_fail(1 + (int)below(4), 1000000);
        disk.only_syncs = true;
    }
    flake_status status = FLAKE_OK;
    for (uint64_t draws = 20 + below(60); draws && status != FLAKE_IO; draws--) {
        uint64_t id;
        status = flake_try(&gen, &id);
        if (status == FLAKE_OK) keep(300, id);
        pass_ms(100);
    }
    be_killed();
}

TEST(syncs) {
    while (kills < all_kills / 4) {
        const unsigned had = kills;
        await_end(start(run_of_syncs));
        const bool power_fails = atomic_exchange(&common->power_fails, false) || below(4) == 0;
        if (kills == had) pass_ms(300); /* the open was refused */
        else if (power_fails) {
            cut_power();
            pass_ms(-(int64_t)below(30) * 100);
        } else pass_ms((int64_t)below(10) * 100);
    }
}

// >>slots

static void run_of_slots(void) {
    static flake_state state;
    static flake_gen gen;
    const flake_state_options where = {.dir = our_folder, .count = 4, .horizon_ms = 500};
    flake_options o = {.clock.now_ns = scene_clock, .seq_max = 3};
    uint64_t number = 0;
    o.max_ahead_ms = (int64_t)below(3) * 400;
    for (int tries = 0;
         flake_state_open(&state, &where, flake_node_none(), &o, &number, NULL) != FLAKE_OK; tries++) {
        if (tries == 50) return;
        pass_ms(20);
    }
    o.state = &state;
    if (flake_init(&gen, flake_node_fixed(NULL, number), &o, NULL) != FLAKE_OK) _exit(1);
    for (uint64_t draws = 20 + below(400); draws; draws--) {
        uint64_t ids[5];
        const size_t n = got64_n(&gen, ids, 1 + (size_t)below(5));
        for (size_t i = 0; i < n; i++) keep(100, ids[i]);
        if (below(8) == 0) step_clock();
        if (draws % 32 == 0) (void)flake_state_extend(&state, NULL);
    }
    if (below(3) == 0) (void)flake_state_close(&state, NULL);
    else be_killed();
}

TEST(slots) { kill_among(run_of_slots, all_kills / 10 * 3); }

// >>shared

static bool hold_shared(void) {
    const flake_state_options where = {
        .path = path_of("shared"), .horizon_ms = 500, .no_wait = true};
    const flake_node node = flake_node_fixed(NULL, 0);
    flake_options o = {
        .shared_memory = true, .seq_max = 63, .max_wait_ms = 5, .clock.now_ns = scene_clock};
    if (flake_state_open(&common->state, &where, node, &o, NULL, NULL) != FLAKE_OK) {
        pass_ms(5); /* which may be older than the last write */
        return false;
    }
    if (atomic_load(&common->made)) return true;
    o.state = &common->state; /* it is the first run */
    o.seq_max = 31;
    if (flake_init(&common->gen, node, &o, NULL) != FLAKE_OK) _exit(1);
    o.seq_min = 32;
    o.seq_max = 63;
    if (flake_init_shards(common->shards, 2, node, &o, NULL) != FLAKE_OK) _exit(1);
    atomic_store(&common->made, true);
    return true;
}

/* Draws with what is there; and holds the state, if no other process does. */
static void run_of_shared(void) {
    bool holds = false;
    for (uint64_t draws = 20 + below(300); draws; draws--) {
        uint64_t ids[5] = {0};
        size_t n = 0;
        if (!holds && draws % 8 == 0) holds = hold_shared();
        if (!atomic_load(&common->made)) continue;
        if (below(2)) n = got64_n(&common->gen, ids, 5);
        else n = flake_next(&common->gen, ids) == FLAKE_OK;
        for (size_t i = 0; i < n; i++) keep(200, ids[i]);
        if (below(8) == 0) step_clock();
        if (holds && draws % 16 == 0) (void)flake_state_extend(&common->state, NULL);
    }
    if (below(3)) be_killed();
}

TEST(shared) {
    if (!words_reach_other_processes) return;
    kill_among(run_of_shared, all_kills - all_kills / 4 * 2 - all_kills / 10 * 3);
}

int main(int argc, char **argv) {
    if (argc > 1 && strncmp(argv[1], "--kills=", 8) == 0)
        all_kills = (unsigned)strtoul(argv[1] + 8, NULL, 10);
    else if (argc > 1) return 2;
    common = (struct common *)mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check_before = begin_attack;
    check_after = report;
    return common == MAP_FAILED ? 1 : scene_main(1, argv);
}
