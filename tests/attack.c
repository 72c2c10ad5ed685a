/* SPDX-License-Identifier: MIT
 *
 * KILLS processes are killed, at a system call that writes or from outside at any moment, on a disk that
 * fails, while the clock steps back and forth; some runs end cleanly, and some kills are power cuts.
 * Such a cut loses or tears each record that is not on disk. After a failed sync the kernel keeps a
 * record in its cache that is not on disk, and later syncs do not write it: only another write of the
 * record and a sync do. Four kinds: runs of all generators with their states; runs of one generator
 * whose syncs often fail; a few processes that share the slots of a directory, with ids ahead of the
 * clock; generators in shared memory whose state is extended by one process after the other. No id
 * comes twice.
 *
 *     attack [--kills=10000]
 */
#define _GNU_SOURCE
#define REAL_SLEEP
#include "support.h"
#include "disk.h"

static void move_shared_clock(int64_t ns);
#define FLAKE_SLEEP_NS(ns) move_shared_clock(ns)
#include "flake.h"
#include "sno.h"
#include "options.h"
#include "ways_to_draw.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

static const int64_t ms = 1000000;

enum { seats = 3, log_room = 8000000, journal_room = 64 };

/* What the disk has at the place of a record that is in the kernel's cache alone. */
typedef struct undo {
    _Atomic(uint64_t) inode; /* 0: the disk has what the cache has */
    _Atomic(bool) is_dirty;  /* the next sync writes it; false: a sync of it has failed */
    int64_t at;
    uint8_t bytes[FLAKE_I_RECORD];
} undo;

typedef struct common {
    _Atomic(int64_t) now_ns;
    _Atomic(size_t) n;
    _Atomic(unsigned) faults, trouble, writes, cuts;
    _Atomic(bool) power_fails; /* when this process has ended */
    _Atomic(bool) made;        /* what follows is there for all */
    _Atomic(unsigned) n_undo;
    undo journal[journal_room];
    flake_gen gen; /* of the shared kind */
    flake_gen shards[seats];
    flake_state state;
    struct ways_entry log[log_room];
} common;
static common *our;

static const char *const names[] = {"flake",  "wide",   "sno",    "sno_shards", "syncs",
                                    "0.slot", "1.slot", "2.slot", "3.slot",     "shared"};
enum { n_names = sizeof names / sizeof *names };

static char folder[200];
static uint64_t random_state;
static unsigned kills, clean_ends;

static uint64_t below(uint64_t bound) { return random_below(&random_state, bound); }

static void move_shared_clock(int64_t ns) {
    if (ns > 60000 * ms) ns = 60000 * ms;
    atomic_fetch_add(&our->now_ns, ns);
    script_now.now_ns = atomic_load(&our->now_ns);
}

static int64_t shared_clock(void *user) {
    (void)user;
    return atomic_load(&our->now_ns);
}

static void step_clock(void) {
    const uint64_t by = below(100);
    if (by < 60) move_shared_clock((int64_t)below(4) * ms);
    else if (by < 85) move_shared_clock((int64_t)below(400) * ms);
    else if (by < 88) move_shared_clock(-(int64_t)below(2000) * ms);
}

static const char *path_of(const char *name, const char *ending) {
    static char paths[4][300];
    static unsigned next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s%s", folder, name, ending);
    return path;
}

/* ---- what was drawn ---- */

static void keep(uint64_t family, uint64_t key) {
    const size_t at = atomic_fetch_add(&our->n, 1u);
    if (at < log_room) our->log[at] = (struct ways_entry){key, family};
}

/* ---- power cuts ---- */

static void before_write(int fd, size_t n) {
    struct stat file;
    const off_t at = lseek(fd, 0, SEEK_CUR);
    atomic_fetch_add(&our->writes, 1u);
    const int call = disk.calls + 1;
    if (disk.fail_from && call >= disk.fail_from && call < disk.fail_from + disk.fails)
        atomic_fetch_add(&our->faults, 1u);
    if (n != FLAKE_I_RECORD || at < FLAKE_I_FIRST_RECORD || fstat(fd, &file) != 0) return;
    for (unsigned i = 0; i < journal_room; i++) {
        undo *u = &our->journal[i];
        if (atomic_load(&u->inode) != (uint64_t)file.st_ino || u->at != at) continue;
        atomic_store(&u->is_dirty, true);
        return;
    }
    undo *u;
    unsigned tries = 0;
    do {
        if (tries++ == journal_room) abort();
        u = &our->journal[atomic_fetch_add(&our->n_undo, 1u) % journal_room];
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
        undo *u = &our->journal[i];
        if (atomic_load(&u->inode) != (uint64_t)file.st_ino || !atomic_load(&u->is_dirty)) continue;
        if (well) atomic_store(&u->inode, 0u);
        else atomic_store(&u->is_dirty, false);
    }
}

/* Whether a sync has failed and its record has not been written since. */
static bool cache_differs(void) {
    for (unsigned i = 0; i < journal_room; i++)
        if (atomic_load(&our->journal[i].inode) && !atomic_load(&our->journal[i].is_dirty))
            return true;
    return false;
}

static void take_back(const undo *u, const char *name) {
    const char *const path = path_of(name, "");
    struct stat file;
    if (stat(path, &file) != 0 || (uint64_t)file.st_ino != atomic_load(&u->inode)) return;
    const int fd = (open)(path, O_RDWR);
    const size_t kept =
        atomic_load(&u->is_dirty) && below(4) ? (size_t)below(sizeof u->bytes + 1) : 0;
    if (fd < 0) abort();
    if (pwrite(fd, u->bytes + kept, sizeof u->bytes - kept, u->at + (off_t)kept) < 0) abort();
    (void)(close)(fd);
}

/* With all processes dead: a record that is not on disk is lost, or all but its first part if a sync
 * may have been writing it; and so is the memory that the processes shared. */
static void cut_power(void) {
    for (unsigned i = 0; i < journal_room; i++) {
        undo *u = &our->journal[i];
        for (size_t k = 0; k < n_names; k++)
            if (atomic_load(&u->inode)) take_back(u, names[k]);
        atomic_store(&u->inode, 0u);
    }
    atomic_fetch_add(&our->cuts, 1u);
    atomic_store(&our->made, false);
    memset(&our->state, 0, sizeof our->state);
}

/* ---- processes ---- */

static pid_t start(void (*run)(void)) {
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
        atomic_store(&our->power_fails, true);
    } else if (below(4) == 0) disk.kill_at = 1 + (int)below(60);
    else if (below(3) == 0) {
        disk.fail_from = 1 + (int)below(32);
        disk.only_syncs = below(4);
        disk.fails = disk.only_syncs ? 1000000 : 1 + (int)below(20);
    }
    run();
    _exit(0);
}

static void end_of(pid_t child) {
    int status = 0;
    if (waitpid(child, &status, 0) != child) abort();
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) kills++;
    else if (WIFEXITED(status) && WEXITSTATUS(status) == 0) clean_ends++;
    else atomic_fetch_add(&our->trouble, 1u); /* it crashed */
}

static void pause_a_while(int64_t most_ns) {
    struct timespec t = {0, (long)below((uint64_t)most_ns)};
    (void)nanosleep(&t, NULL);
}

/* Many processes at a time, and one of them killed again and again. */
static void kill_among(void (*run)(void), unsigned wanted) {
    pid_t children[seats];
    for (unsigned i = 0; i < seats; i++) children[i] = start(run);
    while (kills < wanted) {
        const unsigned victim = (unsigned)below(seats);
        pause_a_while(1500000);
        step_clock();
        if (below(16) == 0) { /* the machine */
            for (unsigned i = 0; i < seats; i++) (void)kill(children[i], SIGKILL);
            for (unsigned i = 0; i < seats; i++) end_of(children[i]);
            cut_power();
            for (unsigned i = 0; i < seats; i++) children[i] = start(run);
            continue;
        }
        if (below(4)) (void)kill(children[victim], SIGKILL);
        end_of(children[victim]);
        children[victim] = start(run);
    }
    for (unsigned i = 0; i < seats; i++) {
        (void)kill(children[i], SIGKILL);
        end_of(children[i]);
    }
}

static void begin(void) {
    for (size_t i = 0; i < n_names; i++) {
        (void)unlink(path_of(names[i], ""));
        (void)unlink(path_of(names[i], ".new"));
    }
    memset(our, 0, offsetof(common, log));
    atomic_store(&our->now_ns, 1800000000000 * ms);
    script_now.now_ns = 1800000000000 * ms;
    kills = clean_ends = 0;
    random_state = 0x9e3779b97f4a7c15;
}

static bool report(const char *name) {
    size_t n = 0, count = atomic_load(&our->n);
    if (count > log_room) count = log_room;
    for (size_t i = 0; i < count; i++) /* zeros: killed before it was written down */
        if (our->log[i].family || our->log[i].key) our->log[n++] = our->log[i];
    const size_t duplicates = count_duplicates(our->log, n);
    const unsigned trouble = atomic_load(&our->trouble);
    const bool well = !duplicates && !trouble && n > kills;
    printf("%-4s %-8s %u kills, %u clean ends, %u power cuts, %u faults in %u writes, %zu ids, %zu "
           "twice%s\n",
           well ? "ok" : "FAIL", name, kills, clean_ends, atomic_load(&our->cuts),
           atomic_load(&our->faults), atomic_load(&our->writes), n, duplicates,
           trouble ? ", and processes crashed" : "");
    (void)fflush(stdout);
    memset(our->log, 0, count * sizeof *our->log);
    return well;
}

// >>states

static flake_state states[4];

static bool open_all(ways_setup *setup) {
    flake_state_options where = {0};
    const flake_options whole = ways_flake_options(setup, 0, 399), snos = ways_sno_options(setup);
    flake_options wide = ways_wide_options(setup);
    wide.seq_max = 199; /* the generator's, and the lanes' */
    sno_snapshot pool = ways_pool(0, FAMILY_SNO, 0, 99);
    sno_snapshot shards = ways_pool(0, FAMILY_SNO_SHARDS, 0, 99);
    where.no_wait = below(2);
    for (unsigned i = 0; i < 4; i++) {
        where.path = path_of(names[i], "");
        const flake_status status =
            i < 2 ? flake_state_open(&states[i], &where, i ? &wide : &whole, NULL, NULL)
                  : sno_state_open(&states[i], &where, &snos, i > 2 ? &shards : &pool, NULL);
        if (status != FLAKE_OK) return false;
    }
    return true;
}

static void run_of_states(void) {
    ways_setup setup = {0};
    setup.is_scripted = true;
    script_now.now_ns = atomic_load(&our->now_ns);
    if (open_all(&setup)) {
        setup.flake = &states[0];
        setup.wide = &states[1];
        setup.sno = &states[2];
        setup.sno_shards = &states[3];
        if (ways_make(&setup) != 0) _exit(1);
        for (uint64_t draws = 20 + below(200); draws; draws--) {
            way_ids ids;
            const struct way *way = &all_ways[below(ways_count)];
            if (way->family >= FAMILY_SNO_LANES) continue; /* have no state */
            (void)way_draw(way, &ids);
            for (size_t i = 0; i < ids.n; i++) keep(way->family + 1u, ids.keys[i]);
            step_clock();
            script_now.now_ns = atomic_load(&our->now_ns);
            if (draws % 32 == 0) (void)flake_state_extend(&states[0], NULL);
        }
    }
    if (below(4)) (void)kill(getpid(), SIGKILL);
    for (int i = 0; i < 4; i++) (void)flake_state_close(&states[i], NULL);
}

static void attack_states(void (*run)(void), unsigned wanted) {
    while (kills < wanted) {
        const pid_t child = start(run);
        if (below(3) == 0) {
            pause_a_while(3000000);
            (void)kill(child, SIGKILL);
        }
        end_of(child);
        if (atomic_exchange(&our->power_fails, false) || below(4) == 0) cut_power();
        move_shared_clock((int64_t)below(3) * 700 * ms);
        if (below(3) == 0) move_shared_clock(3500 * ms);
    }
}

// >>syncs

/* Draws at a few times only, so that a horizon that was lost shows. */
static void run_of_syncs(void) {
    static flake_gen gen;
    flake_state_options where = {0};
    flake_options o = {0};
    where.path = path_of("syncs", "");
    where.no_wait = true;
    o.clock.now_ns = shared_clock;
    if (flake_state_open(&states[0], &where, &o, NULL, NULL) != FLAKE_OK) return;
    o.state = &states[0];
    if (flake_init(&gen, &o, NULL) != FLAKE_OK) _exit(1);
    if (!disk.fail_from && below(2)) {
        disk.fail_from = disk.calls + 1 + (int)below(4);
        disk.fails = 1000000;
        disk.only_syncs = true;
    }
    flake_status status = FLAKE_OK;
    for (uint64_t draws = 20 + below(60); draws && status != FLAKE_IO; draws--) {
        uint64_t id;
        status = flake_try(&gen, &id);
        if (status == FLAKE_OK) keep(300, id);
        move_shared_clock(100 * ms);
    }
    (void)kill(getpid(), SIGKILL);
}

static void attack_syncs(void (*run)(void), unsigned wanted) {
    while (kills < wanted) {
        const unsigned had = kills;
        end_of(start(run));
        const bool power_fails = atomic_exchange(&our->power_fails, false) || below(4) == 0;
        if (kills == had) move_shared_clock(300 * ms); /* the open was refused */
        else if (power_fails) {
            cut_power();
            move_shared_clock(-(int64_t)below(30) * 100 * ms);
        } else move_shared_clock((int64_t)below(10) * 100 * ms);
    }
}

// >>slots

static void run_of_slots(void) {
    static flake_state state;
    static flake_gen gen;
    flake_state_options where = {0};
    flake_options o = {0};
    uint64_t number = 0;
    where.dir = folder;
    where.count = 4;
    where.horizon_ms = 500;
    o.clock.now_ns = shared_clock;
    o.max_ahead_ms = (int64_t)below(3) * 400;
    o.seq_max = 3;
    for (int tries = 0; flake_state_open(&state, &where, &o, &number, NULL) != FLAKE_OK; tries++) {
        if (tries == 50) return;
        move_shared_clock(20 * ms);
    }
    o.node = (uint32_t)number;
    o.state = &state;
    if (flake_init(&gen, &o, NULL) != FLAKE_OK) _exit(1);
    for (uint64_t draws = 20 + below(400); draws; draws--) {
        uint64_t ids[5];
        const size_t n = got64_n(&gen, ids, 1 + (size_t)below(5));
        for (size_t i = 0; i < n; i++) keep(100, ids[i]);
        if (below(8) == 0) step_clock();
        if (draws % 32 == 0) (void)flake_state_extend(&state, NULL);
    }
    if (below(3) == 0) (void)flake_state_close(&state, NULL);
    else (void)kill(getpid(), SIGKILL);
}

// >>shared

static flake_options shared_options(void) {
    flake_options o = {0};
    o.shared_memory = true;
    o.seq_max = 63;
    o.max_wait_ms = 5;
    o.clock.now_ns = shared_clock;
    return o;
}

static bool hold_shared(void) {
    flake_state_options where = {0};
    flake_options o = shared_options();
    where.path = path_of("shared", "");
    where.horizon_ms = 500;
    where.no_wait = true;
    if (flake_state_open(&our->state, &where, &o, NULL, NULL) != FLAKE_OK) {
        move_shared_clock(5 * ms); /* which may have been put back to before the last write */
        return false;
    }
    if (atomic_load(&our->made)) return true;
    o.state = &our->state; /* it is the first of all */
    o.seq_max = 31;
    if (flake_init(&our->gen, &o, NULL) != FLAKE_OK) _exit(1);
    o.seq_min = 32;
    o.seq_max = 63;
    if (flake_init_shards(our->shards, 2, &o, NULL) != FLAKE_OK) _exit(1);
    atomic_store(&our->made, true);
    return true;
}

/* Draws with what is there; and holds the state, when nobody else does. */
static void run_of_shared(void) {
    bool holds = false;
    for (uint64_t draws = 20 + below(300); draws; draws--) {
        uint64_t ids[5] = {0};
        size_t n = 0;
        if (!holds && draws % 8 == 0) holds = hold_shared();
        if (!atomic_load(&our->made)) continue;
        if (below(2)) n = got64_n(&our->gen, ids, 5);
        else n = flake_next(&our->gen, ids) == FLAKE_OK;
        for (size_t i = 0; i < n; i++) keep(200, ids[i]);
        if (below(8) == 0) step_clock();
        if (holds && draws % 16 == 0) (void)flake_state_extend(&our->state, NULL);
    }
    if (below(3)) (void)kill(getpid(), SIGKILL);
}

int main(int argc, char **argv) {
    unsigned all = 10000;
    const char *room = getenv("TMPDIR");
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--kills=", 8) != 0) return 2;
        all = (unsigned)strtoul(argv[i] + 8, NULL, 10);
    }
    (void)snprintf(folder, sizeof folder, "%s/ids-XXXXXX", room && *room ? room : "/tmp");
    void *page = mmap(NULL, sizeof *our, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || !mkdtemp(folder)) return 1;
    our = (common *)page;
    int passed = 0;
    const struct {
        const char *name;
        void (*attack)(void (*run)(void), unsigned wanted), (*run)(void);
        unsigned wanted;
    } kinds[] = {{"states", attack_states, run_of_states, all / 4},
                 {"syncs", attack_syncs, run_of_syncs, all / 4},
                 {"slots", kill_among, run_of_slots, all / 10 * 3},
                 {"shared", kill_among, run_of_shared, all - all / 4 * 2 - all / 10 * 3}};
    for (int i = 0; i < 3 + words_reach_other_processes; i++) {
        begin();
        kinds[i].attack(kinds[i].run, kinds[i].wanted);
        passed += report(kinds[i].name);
    }
    passed += !words_reach_other_processes;
    begin(); /* which removes the files */
    (void)rmdir(folder);
    printf("%d passed, %d failed\n", passed, 4 - passed);
    return passed != 4;
}
