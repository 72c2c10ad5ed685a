/* SPDX-License-Identifier: MIT
 *
 * KILLS processes are killed, at a system call that writes or from outside at any moment, on a disk that fails, while
 * the clock steps back and forth; some runs end cleanly, and some kills are power cuts. A power cut loses or tears each
 * record that is not on disk. After a failed sync a record may be in the kernel's cache and not on disk, and later syncs
 * do not write it: only another write of the record and a sync do. Processes share a directory:
 *
 *     every_kind  generators of all kinds in one process, each with a number
 *     syncs     one generator, whose syncs often fail
 *     files     one generator, whose file is deleted, replaced or damaged while it is held, and restored to an
 *               earlier copy while it is free
 *     few, many processes that take fixed numbers and ranges, of which there are fewer than processes, or as many.
 *               They fork children that take other numbers, or the same one after their parent's end, or only
 *               close; and threads draw beside extend and close
 *     shared    generators in shared memory, whose holder dies; another process takes over, unless a third one has
 *               had the number meanwhile
 *
 * What may repeat, and is avoided here: IDs of times that a deleted file's holder still uses, or that a restored copy
 * does not know. So after either the clock moves past the horizon of the file that is gone, and does not step back
 * until the next holder has written.
 *
 * No ID repeats. Each kind of event in the list must happen, or the attack has failed to attack; fewer than 1,000 kills
 * may leave one out.
 *
 *     attack [--kills=10000] [--ids=N]    --ids: large batches, again and again until N IDs are compared
 */
#define _GNU_SOURCE
#include "process_scene.h"
#include "flake.h"
#include "sno.h"
#include "id_log.h"
#include "ways_to_draw.h"
#include <pthread.h>
#include <sys/file.h>
#include <sys/prctl.h>

enum {
    seats = 3,
    journal_room = 64,
    most_lives = 4096, /* of generators in shared memory */
    last_slot = 16 /* files are 0.slot to 16.slot */
};

/* ---- events ---- */

/* What calls return here, and what else happens. */
static const struct event {
    const char *what;
    flake_status status;
} events[] = {
    {"process killed", FLAKE_OK},
    {"clean end", FLAKE_OK},
    {"power cut", FLAKE_OK},
    {"write", FLAKE_OK},
    {"write or sync", FLAKE_IO},
    {"init", FLAKE_OK},
    {"init", FLAKE_IN_USE},
    {"init", FLAKE_CLOCK_BACKWARDS},
    {"init", FLAKE_IO},
    {"init with an old copy", FLAKE_DOWNTIME},
    {"init with an earlier copy", FLAKE_OK},
    {"init in shared memory", FLAKE_OK},
    {"extend", FLAKE_OK},
    {"extend", FLAKE_IO},
    {"draw", FLAKE_OK},
    {"draw", FLAKE_AGAIN},
    {"draw", FLAKE_CLOCK_BACKWARDS},
    {"draw", FLAKE_NOT_EXTENDED},
    {"draw", FLAKE_IO},
    {"draw after the file was lost", FLAKE_MISMATCH},
    {"draw beside a close", FLAKE_CLOSED},
    {"draw in closed shared memory", FLAKE_CLOSED},
    {"draw in a child", FLAKE_FORKED},
    {"draw in a child that has closed", FLAKE_FORKED},
    {"close", FLAKE_OK},
    {"close", FLAKE_IO},
    {"close after the file was lost", FLAKE_MISMATCH},
    {"close in a child", FLAKE_OK},
    {"child with a number of the range", FLAKE_OK},
    {"child with its ended parent's number", FLAKE_OK},
    {"child with its living parent's number", FLAKE_IN_USE},
    {"take-over", FLAKE_OK},
    {"take-over", FLAKE_IN_USE},
    {"take-over", FLAKE_CLOSED},
    {"take-over", FLAKE_MISMATCH}, /* another holder since */
    {"take-over", FLAKE_IO},
};
enum { n_events = sizeof events / sizeof *events };

/* The disk's content where the kernel's cache has a newer record. */
typedef struct undo {
    _Atomic(uint64_t) inode; /* 0: the disk has what the cache has */
    _Atomic(bool) is_dirty;  /* the next sync writes it; false: a sync of it has failed */
    int64_t at;
    uint8_t bytes[FLAKE_I_RECORD];
} undo;

static struct common {
    _Atomic(unsigned) crashes, strange;
    _Atomic(bool) power_fails;          /* when this process has ended */
    _Atomic(int) pending;               /* 1: a file is gone, 2: a copy was restored, and no holder has written since */
    _Atomic(int64_t) used_ns;           /* the horizon of a file that is gone; 0: none is */
    _Atomic(unsigned) n_undo;
    undo journal[journal_room];
    _Atomic(unsigned) life; /* the newest generator in shared memory; 0: none */
    flake_gen lives[most_lives];
    flake_lane lanes[most_lives][2];
} * common;

static _Atomic(uint64_t) *happened; /* events, of all tests */
static uint64_t total_ids, wanted_ids;
static unsigned all_kills = 10000, kills, rounds;
static size_t batch = 5; /* at most */
static _Thread_local uint64_t random_state;

static uint64_t below(uint64_t bound) { return random_below(&random_state, bound); }

/* A status that none of the events explains. */
static void is_strange(const char *what, flake_status status) {
    if (atomic_fetch_add(&common->strange, 1u) < 5) printf("  strange: %s: %s\n", what, flake_status_str(status));
    (void)fflush(stdout);
}

/* What a call returned. True: FLAKE_OK. */
static bool returned(const char *what, flake_status status) {
    unsigned i = 0;
    while (i < n_events && (events[i].status != status || strcmp(events[i].what, what) != 0)) i++;
    if (i == n_events) is_strange(what, status);
    else atomic_fetch_add(&happened[i], 1u);
    return status == FLAKE_OK;
}

static void happens(const char *what) { (void)returned(what, FLAKE_OK); }

static void sleep_a_minute_at_most(int64_t ns) {
    atomic_fetch_add(&our->now_ns, ns > 60000 * a_ms ? 60000 * a_ms : ns);
}

static void step_clock(void) {
    const uint64_t by = below(100);
    if (by < 60) pass_ms((int64_t)below(4));
    else if (by < 85) pass_ms((int64_t)below(400));
    else if (by < 88) pass_ms(-(int64_t)below(2000));
}

/* ---- power cuts ---- */

static void before_write(int fd, size_t n) {
    struct stat file;
    const off_t at = lseek(fd, 0, SEEK_CUR);
    happens("write");
    const int call = disk.calls + 1;
    if (disk.fail_from && call >= disk.fail_from && call < disk.fail_from + disk.fails)
        (void)returned("write or sync", FLAKE_IO);
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
        if (atomic_load(&common->journal[i].inode) && !atomic_load(&common->journal[i].is_dirty)) return true;
    return false;
}

static const char *path_of_slot(uint64_t number) {
    char name[32];
    (void)snprintf(name, sizeof name, "%" PRIu64 ".slot", number);
    return path_of(name);
}

static void take_back(const undo *u, const char *path) {
    struct stat file;
    if (stat(path, &file) != 0 || (uint64_t)file.st_ino != atomic_load(&u->inode)) return;
    const int fd = (open)(path, O_RDWR);
    const size_t kept = atomic_load(&u->is_dirty) && below(4) ? (size_t)below(sizeof u->bytes + 1) : 0;
    if (fd < 0) abort();
    if (pwrite(fd, u->bytes + kept, sizeof u->bytes - kept, u->at + (off_t)kept) < 0) abort();
    (void)(close)(fd);
}

/* With all processes dead, a record that is not on disk is lost, or all but its first part if a
 * sync may have been writing it. The processes' shared memory is lost, too. */
static void cut_power(void) {
    for (unsigned i = 0; i < journal_room; i++) {
        undo *u = &common->journal[i];
        for (uint64_t k = 0; k <= last_slot; k++)
            if (atomic_load(&u->inode)) take_back(u, path_of_slot(k));
        atomic_store(&u->inode, 0u);
    }
    happens("power cut");
    atomic_store(&common->life, 0u);
}

/* ---- processes ---- */

/* Of the processes that run together, and of the children they leave behind; its first process does nothing else.
 * 0: one process at a time. */
static pid_t group;

static pid_t start(void (*run)(void)) { /* on a disk with faults */
    const uint64_t own = random_next(&random_state);
    const pid_t child = fork();
    if (child < 0) abort();
    if (group) (void)setpgid(child, group); /* in both processes: whichever comes first */
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

static void count_end(int status) {
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        kills++;
        happens("process killed");
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == 0) happens("clean end");
    else atomic_fetch_add(&common->crashes, 1u);
}

static void await_end(pid_t child) { count_end(end_of(child)); }

static void pause_a_while(uint64_t most_us) { (void)usleep((useconds_t)below(most_us)); }

/* An attack that goes wrong need not go on. */
static bool goes_on(unsigned wanted) {
    return kills < wanted && atomic_load(&common->strange) < 100 && atomic_load(&common->crashes) < 100;
}

static pid_t members[seats];

static void idle(void) {
    for (;;) (void)pause();
}

static void begin_group(void (*run)(void)) {
    group = begin_child(idle);
    (void)setpgid(group, group);
    for (unsigned i = 0; i < seats; i++) members[i] = start(run);
}

/* Of those who have ended. */
static void reap(pid_t who, int how) {
    int status;
    for (pid_t ended; (ended = waitpid(who, &status, how)) > 0;) {
        if (ended != group) count_end(status);
        for (unsigned i = 0; i < seats; i++)
            if (members[i] == ended) members[i] = 0;
        if (who > 0) return;
    }
}

static void end_group(void) {
    (void)kill(-group, SIGKILL);
    reap(-group, 0);
    while (kill(-group, 0) == 0) (void)usleep(100); /* another process reaps them */
    group = 0;
}

/* Several processes at a time, one of which is killed again and again. */
static void kill_among(void (*run)(void), unsigned wanted) {
    const unsigned had = kills;
    begin_group(run);
    while (goes_on(had + wanted)) {
        const unsigned victim = (unsigned)below(seats);
        pause_a_while(1500);
        step_clock();
        if (below(24) == 0) { /* the machine */
            end_group();
            cut_power();
            begin_group(run);
            continue;
        }
        if (members[victim] && below(4)) (void)kill(members[victim], SIGKILL);
        if (members[victim]) reap(members[victim], 0);
        reap(-group, WNOHANG);
        for (unsigned i = 0; i < seats; i++)
            if (!members[i]) members[i] = start(run);
    }
    end_group();
}

static void begin_attack(void) {
    begin();
    move_to_ns(1800000000000 * a_ms);
    on_sleep = sleep_a_minute_at_most;
    memset((void *)common, 0, offsetof(struct common, lives));
    random_state = 0x9e3779b97f4a7c15 + rounds;
}

static void report(void) {
    if (!kills) return;
    const size_t n = atomic_load(&drawn->n), ids = atomic_load(&drawn->ids);
    const uint64_t duplicates = duplicates_in_log();
    printf("  %u kills, %zu IDs, %" PRIu64 " duplicates\n", kills, ids, duplicates);
    CHECK_EQ(duplicates, 0);
    CHECK_EQ(atomic_load(&common->crashes), 0);
    CHECK_EQ(atomic_load(&common->strange), 0);
    CHECK(n > kills && n <= log_room);
    memset((void *)drawn, 0, offsetof(struct id_log, runs) + runs_in_log() * sizeof *drawn->runs);
    total_ids += ids;
    kills = 0;
}

static flake_options options_in_attack(void) {
    flake_options o = options_in_scene();
    o.horizon_ms = 500;
    o.max_wait_ms = 5;
    return o;
}

/* Draws from a generator of that type, by one of four calls; the greatest ID that it returned, or 0, is *last. */
static flake_status draw_to(uint64_t *last, unsigned type, void *g) {
    static _Thread_local uint64_t keys[most_batch];
    size_t n = 1 + (size_t)below(batch);
    const flake_status status = draw_keys(type, g, "ntNT"[below(4)], 0, keys, &n);
    keep(type, keys, n);
    *last = n ? keys[n - 1] : 0;
    return status;
}

static flake_status draw(unsigned type, void *g) {
    uint64_t last;
    return draw_to(&last, type, g);
}

// >>every kind

static void run_of_ways(void) {
    if (!returned("init", ways_open(our_folder, below(2)))) return;
    for (uint64_t draws = 20 + below(200); draws; draws--) {
        way_ids ids;
        const struct way *way = &all_ways[below(ways_count)];
        (void)returned("draw", way_draw(way, &ids));
        keep(way->family, ids.keys, ids.n);
        step_clock();
        if (draws % 32 == 0) (void)returned("extend", flake_extend(way_gen(&all_ways[below(ways_count)]), NULL));
    }
    if (below(4)) be_killed();
    ways_close();
}

TEST(every_kind) {
    while (goes_on(all_kills / 6)) {
        const pid_t child = start(run_of_ways);
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
    flake_options o = options_in_scene();
    o.no_wait = true;
    if (!returned("init", flake_init(&gen, flake_node_fixed(our_folder, 0), &o, NULL))) return;
    if (!disk.fail_from && below(2)) {
        disk_fail(1 + (int)below(4), 1000000);
        disk.only_syncs = true;
    }
    flake_status status = FLAKE_OK;
    for (uint64_t draws = 20 + below(60); draws && status != FLAKE_IO; draws--) {
        (void)returned("draw", status = draw(FLAKES, &gen));
        pass_ms(100);
    }
    be_killed();
}

TEST(syncs) {
    while (goes_on(all_kills / 6)) {
        const unsigned had = kills;
        await_end(start(run_of_syncs));
        const bool power_fails = atomic_exchange(&common->power_fails, false) || below(4) == 0;
        if (kills == had) pass_ms(300); /* the init was refused */
        else if (power_fails) {
            cut_power();
            pass_ms(-(int64_t)below(30) * 100);
        } else pass_ms((int64_t)below(10) * 100);
    }
}

// >>files

static uint8_t copies[4][FLAKE_I_FILE]; /* earlier ones; all zero: none yet */

/* False: there is none, or it is damaged. */
static bool read_slot(uint8_t bytes[FLAKE_I_FILE], flake_i_record *r) {
    const size_t n = read_file(path_of_slot(0), bytes, FLAKE_I_FILE);
    return n > 0 && flake_i_slot_get(bytes, n, r) == FLAKE_OK;
}

/* By another program: in place, or as another file. */
static void put_slot(const uint8_t bytes[FLAKE_I_FILE], bool in_place) {
    const char *const path = in_place ? path_of_slot(0) : path_of("copy");
    const int fd = (open)(path, O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || (write)(fd, bytes, FLAKE_I_FILE) != FLAKE_I_FILE) abort();
    (void)(close)(fd);
    if (!in_place && (rename)(path, path_of_slot(0)) != 0) abort();
    for (unsigned i = 0; i < journal_room; i++) atomic_store(&common->journal[i].inode, 0u);
}

/* What becomes of the file while it is held. */
static void damage_slot(uint8_t bytes[FLAKE_I_FILE]) {
    const uint8_t *const earlier = copies[below(4)];
    flake_i_record r;
    const uint64_t how = below(5);
    if (how <= 1 && flake_i_slot_get(earlier, FLAKE_I_FILE, &r) == FLAKE_OK &&
        memcmp(earlier, bytes, FLAKE_I_FILE) != 0)
        put_slot(earlier, how == 0);
    else if (how == 2) {
        for (size_t i = 0; i < 2; i++)
            bytes[512 + 4096 * i + below(120)] ^= (uint8_t)(1 + below(255)); /* both records */
        put_slot(bytes, true);
    } else if (how == 3) {
        if (truncate(path_of_slot(0), (off_t)below(512)) != 0) abort();
    } else (void)(unlink)(path_of_slot(0));
}

static void run_of_files(void) {
    static flake_gen gen;
    static uint8_t bytes[FLAKE_I_FILE];
    uint64_t last, damage_at = below(3) ? 0 : 1 + below(60);
    flake_i_record r;
    int64_t horizon_ns = INT64_MAX;
    flake_options o = options_in_attack();
    o.no_wait = below(2);
    o.max_ahead_ms = (int64_t)below(3) * 200;
    if (!returned("init", flake_init(&gen, flake_node_fixed(our_folder, 0), &o, NULL))) return;
    if (atomic_exchange(&common->pending, 0) == 2) happens("init with an earlier copy");
    flake_status status = FLAKE_OK;
    for (uint64_t draws = 1 + below(100); draws && status != FLAKE_MISMATCH; draws--) {
        if (draws == damage_at && read_slot(bytes, &r)) {
            horizon_ns = r.horizon_ns;
            atomic_store(&common->used_ns, horizon_ns);
            damage_slot(bytes);
            disk.fail_from = 0;
            draws = 2000;
            damage_at = 0;
        }
        status = draw_to(&last, FLAKES, &gen);
        const bool is_lost = horizon_ns != INT64_MAX && status == FLAKE_MISMATCH;
        (void)returned(is_lost ? "draw after the file was lost" : "draw", status);
        if (last && (int64_t)((last >> 22) + 1) * a_ms - 1 > horizon_ns) is_strange("an ID past the horizon", status);
        if (horizon_ns == INT64_MAX) step_clock();
        else pass_ms((int64_t)below(30));
    }
    if (horizon_ns != INT64_MAX && status != FLAKE_MISMATCH) is_strange("a lost file", status);
    if (below(2)) be_killed();
    status = flake_close(&gen, NULL);
    (void)returned(horizon_ns == INT64_MAX || status == FLAKE_IO ? "close" : "close after the file was lost", status);
}

/* An earlier copy is recognised by its age. */
static void try_old_copy(void) {
    static flake_gen gen;
    static uint8_t before[FLAKE_I_FILE], after[FLAKE_I_FILE];
    const uint8_t *const copy = copies[below(4)];
    flake_i_record now, r;
    flake_options o = options_in_attack();
    o.max_downtime_ms = 1000;
    if (!read_slot(before, &now) || flake_i_slot_get(copy, FLAKE_I_FILE, &r) != FLAKE_OK) return;
    if (scene_ns() - 1000 * a_ms <= r.horizon_ns) return;
    put_slot(copy, true);
    const flake_status status = flake_init(&gen, flake_node_fixed(our_folder, 0), &o, NULL);
    (void)returned("init with an old copy", status);
    if (!read_slot(after, &r) || memcmp(after, copy, sizeof after) != 0) is_strange("an old copy was changed", status);
    put_slot(before, true);
}

/* Of a file that is gone, or is to be replaced: the next holder begins after its horizon. */
static void move_past(int64_t horizon_ns) {
    atomic_store(&common->pending, 1);
    if (scene_ns() <= horizon_ns + a_ms) move_to_ns(horizon_ns + a_ms);
}

TEST(files) {
    static uint8_t bytes[FLAKE_I_FILE];
    memset(copies, 0, sizeof copies);
    while (goes_on(all_kills / 6)) {
        flake_i_record r;
        await_end(start(run_of_files));
        if (atomic_exchange(&common->power_fails, false) || below(6) == 0) cut_power();
        const int64_t used_ns = atomic_exchange(&common->used_ns, 0);
        if (used_ns) move_past(used_ns);
        const bool is_whole = read_slot(bytes, &r);
        if (!is_whole && (below(2) || flake_i_slot_get(copies[0], FLAKE_I_FILE, &r) != FLAKE_OK))
            (void)(unlink)(path_of_slot(0));
        else if (!is_whole) put_slot(copies[0], below(2));
        else if (below(8) == 0) memcpy(copies[below(4)], bytes, sizeof bytes);
        else if (below(6) == 0) {
            const uint8_t *const copy = copies[below(4)];
            flake_i_record earlier;
            if (flake_i_slot_get(copy, FLAKE_I_FILE, &earlier) == FLAKE_OK) {
                move_past(r.horizon_ns);
                put_slot(copy, below(2));
                atomic_store(&common->pending, 2);
            }
        } else if (below(4) == 0) try_old_copy();
        pass_ms((int64_t)below(3) * 300);
        if (!atomic_load(&common->pending) && below(4) == 0) pass_ms(-(int64_t)below(3000));
    }
}

// >>few and many

typedef enum form { WHOLE, SINGLE, SHARDS, LANES, forms } form;
static struct mine {
    form form;
    unsigned type; /* FLAKES, SNOS or FLAKES128 */
    flake_gen gen[2];
    sno_gen sno[2];
    flake_lane lanes[2];
} mine;
static uint64_t numbers; /* in the directory */

static flake_gen *mine_gen(void) { return mine.type == SNOS ? &mine.sno[0].gen : mine.gen; }

static flake_options mine_options(void) {
    flake_options o = options_in_attack();
    o.claim_wait_ms = (int64_t)below(2) * 100;
    o.manual_extend = below(4) == 0;
    o.no_wait = below(2);
    o.single_thread = mine.form == SINGLE;
    if (mine.form == LANES) o = way_lanes_of(o, mine.lanes);
    if (mine.type == SNOS) memset(&o.layout, 0, sizeof o.layout);
    else if (mine.type == FLAKES128) o.layout = flake_layout_boundary;
    else {
        o.max_ahead_ms = (int64_t)below(3) * 400;
        o.seq_max = below(2) ? 3 : 4095;
    }
    return o;
}

static flake_status begin_mine(flake_node node, bool again) {
    const flake_options o = mine_options();
    const sno_snapshot bounds = pool_of_numbers((uint16_t)node.number, 0, 99);
    const sno_snapshot *const pool = below(2) ? &bounds : NULL;
    const bool is_shards = mine.form == SHARDS;
    if (again && is_shards) (void)returned("close", flake_close(mine_gen(), NULL));
    if (mine.type == SNOS)
        return is_shards ? sno_init_shards(mine.sno, 2, node, pool, &o, NULL)
               : again   ? sno_reinit_after_fork(mine.sno, node, pool, &o, NULL)
                         : sno_init(mine.sno, node, pool, &o, NULL);
    return is_shards ? flake_init_shards(mine.gen, 2, node, &o, NULL)
           : again   ? flake_reinit_after_fork(mine.gen, node, &o, NULL)
                     : flake_init(mine.gen, node, &o, NULL);
}

static flake_status draw_mine(void) {
    const bool second = mine.form == SHARDS && below(2);
    return mine.type == SNOS ? draw(SNOS, &mine.sno[second]) : draw(mine.type, &mine.gen[second]);
}

static flake_node of_range(void) { return flake_node_any(our_folder, 0, numbers - 1); }

static void draw_for(uint64_t draws) {
    for (; draws; draws--) {
        (void)returned("draw", draw_mine());
        if (below(8) == 0) step_clock();
        if (draws % 16 == 0) (void)returned("extend", flake_extend(mine_gen(), NULL));
    }
}

static void end_mine(void) {
    const uint64_t how = below(3);
    if (how == 0) be_killed();
    if (how == 1) (void)returned("close", flake_close(mine_gen(), NULL));
}

/* A forked child. */
static void run_of_child(void) {
    const flake_node same = flake_node_fixed(our_folder, flake_gen_node(mine_gen()));
    flake_status status = draw_mine();
    const uint64_t how = below(4);
    (void)returned("draw in a child", status);
    if (how == 0) {
        (void)returned("close in a child", flake_close(mine_gen(), NULL));
        (void)returned("draw in a child that has closed", draw_mine());
        pause_a_while(1000);
        return;
    }
    const bool wants_same = how == 1;
    for (int tries = 0; (status = begin_mine(wants_same ? same : of_range(), true)) != FLAKE_OK; tries++) {
        if (wants_same && status == FLAKE_IN_USE) (void)returned("child with its living parent's number", status);
        if (tries == 10 || mine.form == SHARDS) return;
        (void)returned("init", status);
        pass_ms(20);
        pause_a_while(300);
    }
    happens(wants_same ? "child with its ended parent's number" : "child with a number of the range");
    draw_for(5 + below(60));
    end_mine();
}

/* Draws beside a close. */
static void *draw_beside(void *random) {
    unsigned closed = 0;
    random_state = *(const uint64_t *)random;
    for (uint64_t draws = 2000; draws && closed < 3; draws--) {
        const flake_status status = draw_mine();
        (void)returned(status == FLAKE_CLOSED ? "draw beside a close" : "draw", status);
        if (status == FLAKE_CLOSED) {
            closed++;
            pass_ms(1);
        }
        if (below(16) == 0) pass_ms((int64_t)below(3));
    }
    return NULL;
}

static void draw_in_threads(void) {
    pthread_t threads[2];
    uint64_t seeds[2];
    for (unsigned i = 0; i < 2; i++) {
        seeds[i] = random_next(&random_state) | 1;
        if (pthread_create(&threads[i], NULL, draw_beside, &seeds[i]) != 0) abort();
    }
    for (uint64_t extends = below(20); extends; extends--) {
        (void)returned("extend", flake_extend(mine_gen(), NULL));
        step_clock();
        pause_a_while(100);
    }
    (void)returned("close", flake_close(mine_gen(), NULL));
    for (unsigned i = 0; i < 2; i++) (void)pthread_join(threads[i], NULL);
}

static void run_of_numbers(void) {
    const flake_node fixed = flake_node_fixed(our_folder, below(numbers));
    mine.form = (form)below(forms);
    mine.type = (unsigned)below(FLAKES128 + 1);
    for (int tries = 0; !returned("init", begin_mine(below(3) ? of_range() : fixed, false)); tries++) {
        if (tries == 20) return;
        pass_ms(20);
    }
    for (uint64_t forks = below(3); forks; forks--) {
        draw_for(below(100));
        if (below(2) || fork() != 0) continue;
        random_state = random_state * 3 | 1;
        run_of_child();
        _exit(0);
    }
    if (below(3) == 0 && (mine.form == WHOLE || mine.form == LANES)) draw_in_threads();
    else {
        draw_for(20 + below(200));
        end_mine();
    }
}

TEST(few) {
    numbers = 2;
    kill_among(run_of_numbers, all_kills / 5);
}

TEST(many) {
    numbers = 6;
    kill_among(run_of_numbers, all_kills / 10);
}

// >>shared

/* Makes the next generator, if `ended` is still the newest. One process at a time. */
static bool make_life(unsigned ended) {
    bool is_made = false;
    const int fd = (open)(path_of("maker"), O_RDWR | O_CREAT, 0600);
    if (fd < 0) abort();
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && atomic_load(&common->life) == ended && ended + 1 < most_lives) {
        flake_options o = options_in_attack();
        o.shared_memory = true;
        o.no_wait = below(2);
        o.seq_max = 63;
        if (below(2)) o = way_lanes_of(o, common->lanes[ended + 1]);
        is_made = returned("init", flake_init(&common->lives[ended + 1], flake_node_fixed(our_folder, 0), &o, NULL));
        if (is_made) {
            happens("init in shared memory");
            atomic_store(&common->life, ended + 1);
        } else pass_ms(5); /* which may be older than the last write */
    }
    (void)(close)(fd);
    return is_made;
}

/* A generator of this process's own, with the same number. */
static void draw_between(void) {
    static flake_gen own;
    const flake_options o = options_in_attack();
    if (!returned("init", flake_init(&own, flake_node_fixed(our_folder, 0), &o, NULL))) return;
    for (uint64_t draws = 1 + below(5); draws; draws--) (void)returned("draw", draw(FLAKES, &own));
    if (below(2)) (void)returned("close", flake_close(&own, NULL));
    else be_killed();
}

/* The holder's child: while it has not closed, nobody takes over. */
static void run_of_holders_child(flake_gen *g) {
    if (below(2)) (void)returned("close in a child", flake_close(g, NULL));
    pause_a_while(500);
}

static void run_of_shared(void) {
    unsigned held = 0; /* the life that this process holds */
    for (uint64_t draws = 20 + below(300); draws; draws--) {
        const unsigned life = atomic_load(&common->life);
        flake_gen *const g = &common->lives[life];
        const flake_status status = life ? draw(FLAKES, g) : FLAKE_CLOSED;
        const bool has_ended = status == FLAKE_CLOSED || status == FLAKE_MISMATCH;
        if (!has_ended) (void)returned("draw", status);
        else if (life && status == FLAKE_CLOSED) (void)returned("draw in closed shared memory", status);
        if (below(8) == 0) step_clock();
        if (held == life && life && draws % 16 == 0 && !has_ended) (void)returned("extend", flake_extend(g, NULL));
        if (held != life && life && below(8) == 0 && returned("take-over", flake_take_over(g, NULL)))
            held = life;
        if (has_ended && below(4) == 0 && make_life(life)) held = life + 1;
        if (!held && below(30) == 0) draw_between();
        if (held != life || !life || has_ended) continue;
        if (below(150) == 0) {
            (void)returned("close", flake_close(g, NULL));
            held = 0;
        } else if (below(100) == 0 && fork() == 0) {
            random_state = random_state * 3 | 1;
            run_of_holders_child(g);
            _exit(0);
        }
    }
    if (below(3)) be_killed();
}

TEST(shared) { kill_among(run_of_shared, all_kills / 5); }

static bool all_happened(void) {
    bool well = true;
    for (unsigned i = 0; i < n_events; i++) {
        const uint64_t count = atomic_load(&happened[i]);
        printf("%12" PRIu64 " %s: %s%s\n", count, events[i].what, flake_status_str(events[i].status),
               count ? "" : ": NONE");
        well &= count > 0 || all_kills < 1000;
    }
    printf("%12" PRIu64 " IDs\n", total_ids);
    return well;
}

int main(int argc, char **argv) {
    int code;
    for (; argc > 1 && strncmp(argv[1], "--", 2) == 0; argc--, argv++) {
        if (strncmp(argv[1], "--kills=", 8) == 0) all_kills = (unsigned)strtoul(argv[1] + 8, NULL, 10);
        else if (strncmp(argv[1], "--ids=", 6) == 0) {
            wanted_ids = strtoull(argv[1] + 6, NULL, 10);
            batch = most_batch;
        } else return 2;
    }
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    drawn = (struct id_log *)shared_memory(sizeof *drawn);
    common = (struct common *)shared_memory(sizeof *common);
    happened = (_Atomic(uint64_t) *)shared_memory(n_events * sizeof *happened);
    check_before = begin_attack;
    check_after = report;
    do {
        code = scene_main(argc, argv);
        rounds++;
    } while (code == 0 && total_ids < wanted_ids);
    return (argc > 1 || all_happened()) ? code : 1;
}
