/* SPDX-License-Identifier: MIT
 *
 * State files: runs that end by close, by SIGKILL at any system call, on a full disk, with the clock
 * put back before, during and after. The next run repeats nothing, waits no longer than it must, and
 * refuses by name what it can't go on from. Gates in general, too.
 */
#define _GNU_SOURCE
#include "support.h"
#include "disk.h"
#include "flake.h"
#include "sno.h"
#include "ways_to_draw.h"
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#ifdef TEST_SMALL
enum { runs_small = 1 };
#else
enum { runs_small = 0 };
#endif

static const int64_t ms = 1000000, start_ms = 1700000000000;

typedef struct common {
    ways_log log;
    int64_t now_ns;
    _Atomic(unsigned) trouble;
    _Atomic(int64_t) ticking_ns;
} common;
static common *our;

static char folder[200];

static const char *path_of(const char *name) {
    static char paths[8][512];
    static unsigned next;
    char *path = paths[next++ % 8];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* By name: on some emulated machines a folder can't be read. */
static void empty_folder(void) {
    static const char *const names[] = {"ids",       "others",   "childs",  "snos",
                                        "all_flake", "all_wide", "all_sno", "all_sno_shards"};
    static const char *const endings[] = {"", ".new", ".flake-lock", ".sno-lock"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) {
            char path[300];
            (void)snprintf(path, sizeof path, "%s/%s%s", folder, names[i], endings[k]);
            (void)unlink(path);
        }
}

static void begin(void) {
    empty_folder();
    disk_begin();
    script_at_ms(start_ms);
    our->log.n = 0;
    atomic_store(&our->trouble, 0u);
    (void)fflush(stdout);
}

static void trouble(int line, const char *what) {
    atomic_fetch_add(&our->trouble, 1u);
    printf("  line %d, in a child: %s\n", line, what);
    (void)fflush(stdout);
}
#define EXPECT(condition) ((condition) ? (void)0 : trouble(__LINE__, #condition))

/* Runs it in a forked child; what wait says. */
static int in_child(void (*run)(void)) {
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        run();
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return status;
}

static void child_is_well(void (*run)(void)) {
    CHECK_EQ(in_child(run), 0);
    CHECK_EQ(atomic_load(&our->trouble), 0);
}

/* ---- one generator of flake.h with its state ---- */

static flake_state state;
static flake_gen gen;
static flake_why why;

static flake_options options_of(uint32_t node) {
    flake_options o;
    memset(&o, 0, sizeof o);
    o.node = node;
    o.clock.now_ns = script_read;
    o.clock.user = &script_now;
    return o;
}

static flake_state_options where_of(const char *path) {
    flake_state_options w;
    memset(&w, 0, sizeof w);
    w.path = path;
    w.clock.now_ns = script_read;
    w.clock.user = &script_now;
    return w;
}

/* The state is as after a crash of this process, as far as others can tell. */
static void crash_here(void) {
    flake_i_file_drop(&state.file, false);
    memset(&state, 0, sizeof state);
}

static flake_status open_node(const char *path, uint32_t node) {
    const flake_state_options w = where_of(path);
    const flake_options o = options_of(node);
    memset(&why, 0, sizeof why);
    return flake_state_open(&state, &w, &o, &why);
}

static flake_status start_gen(void) {
    flake_options o = options_of(1);
    o.state = &state;
    return flake_init(&gen, &o);
}

static flake_status open_and_start(const char *path) {
    const flake_status status = open_node(path, 1);
    return status == FLAKE_OK ? start_gen() : status;
}

static void note(uint64_t id) {
    way_ids ids;
    ids.n = 1;
    ids.keys[0] = id;
    ways_note(&our->log, FAMILY_FLAKE, &ids);
}

static int64_t ms_of(uint64_t id) { return (int64_t)(id >> 22); }

static flake_status draw(uint64_t *id) {
    const flake_status status = flake_next(&gen, id);
    if (status == FLAKE_OK) note(*id);
    return status;
}

static size_t read_file(const char *path, uint8_t *bytes, size_t room) {
    FILE *in = fopen(path, "rb");
    const size_t n = in ? fread(bytes, 1, room, in) : 0;
    if (in) (void)fclose(in);
    return n;
}

static void write_file(const char *path, const uint8_t *bytes, size_t n) {
    FILE *out = fopen(path, "wb");
    CHECK(out && fwrite(bytes, 1, n, out) == n);
    if (out) (void)fclose(out);
}

static flake_i_record record_of(const char *path) {
    flake_i_record r;
    uint8_t bytes[FLAKE_I_FILE];
    memset(&r, 0, sizeof r);
    CHECK_EQ(flake_i_file_get(bytes, read_file(path, bytes, sizeof bytes), &r), FLAKE_OK);
    return r;
}

/* What it refuses it names, and leaves as it was. */
static void refused(const char *path, flake_status status, flake_status wanted) {
    CHECK_EQ(status, wanted);
    CHECK(strncmp(why.text, path, strlen(path)) == 0);
    CHECK(strlen(why.text) > strlen(path) + 5);
    CHECK_EQ(flake_state_extend(&state), FLAKE_INVALID);
    CHECK_EQ(flake_state_close(&state), FLAKE_INVALID);
}

static void draw_then_die(void) {
    uint64_t id;
    EXPECT(open_and_start(path_of("ids")) == FLAKE_OK);
    for (int i = 0; i < 10; i++) EXPECT(draw(&id) == FLAKE_OK);
    (void)kill(getpid(), SIGKILL);
}

static void crash(void) { CHECK(WIFSIGNALED(in_child(draw_then_die))); }

/* ---- the plain course of things ---- */

static void a_run_goes_on_where_the_last_was_closed(void) {
    const char *path = path_of("ids");
    uint64_t id;
    begin();
    for (int run = 0; run < 20; run++) {
        const int64_t began_ns = script_now.now_ns;
        CHECK_EQ(open_and_start(path), FLAKE_OK);
        CHECK(script_now.now_ns - began_ns <= ms); /* the rest of the newest unit */
        for (int i = 0; i < 7; i++) CHECK_EQ(draw(&id), FLAKE_OK);
        script_now.now_ns += run * 300 * ms;
        CHECK_EQ(draw(&id), FLAKE_OK);
        CHECK_EQ(flake_state_close(&state), FLAKE_OK);
        CHECK_EQ(flake_state_close(&state), FLAKE_INVALID);
        CHECK_EQ(flake_state_extend(&state), FLAKE_INVALID);
        script_now.now_ns += ms;
        CHECK_EQ(flake_next(&gen, &id), FLAKE_IO);
    }
    CHECK_EQ(ways_repeated(&our->log), 0);
}

static void a_crash_is_waited_out(void) {
    const char *path = path_of("ids");
    uint64_t id;
    begin();
    crash();
    const int64_t horizon_ns = record_of(path).horizon_ns;
    CHECK(horizon_ns >= script_now.now_ns + 3000 * ms);
    CHECK(horizon_ns <= script_now.now_ns + 3001 * ms);
    CHECK_EQ(open_and_start(path), FLAKE_OK);
    CHECK(script_now.now_ns > horizon_ns && script_now.now_ns <= horizon_ns + 2);
    CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK(ms_of(id) > horizon_ns / ms);
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
    CHECK_EQ(ways_repeated(&our->log), 0);
}

static void who_does_not_wait_draws_later(void) {
    const char *path = path_of("ids");
    flake_state_options w = where_of(path);
    flake_options o = options_of(1);
    uint64_t id;
    begin();
    w.no_wait = true;
    crash();
    const int64_t began_ns = script_now.now_ns, horizon_ns = record_of(path).horizon_ns;
    CHECK_EQ(flake_state_open(&state, &w, &o, &why), FLAKE_OK);
    CHECK_EQ(script_now.now_ns, began_ns);
    CHECK_EQ(start_gen(), FLAKE_OK);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_CLOCK_BACK);
    CHECK(flake_retry_ns(&gen) > 2900 * ms);
    script_now.now_ns += flake_retry_ns(&gen);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    CHECK(ms_of(id) > horizon_ns / ms);
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
}

static void crash_loops_don_t_run_the_horizon_away(void) {
    const char *path = path_of("ids");
    flake_state_options w = where_of(path);
    flake_options o = options_of(1);
    begin();
    w.no_wait = true;
    crash();
    for (int i = 0; i < 20; i++) { /* opens, draws nothing, and dies */
        CHECK_EQ(flake_state_open(&state, &w, &o, &why), FLAKE_OK);
        crash_here();
        script_now.now_ns += 10 * ms;
    }
    CHECK(record_of(path).horizon_ns <= script_now.now_ns + 3001 * ms);
}

static void the_file_is_written_each_half_horizon(void) {
    uint64_t id;
    begin();
    CHECK_EQ(open_and_start(path_of("ids")), FLAKE_OK);
    CHECK_STR(disk.log, "owsrOSC");
    for (int i = 0; i < 12000; i++, script_now.now_ns += ms) {
        CHECK_EQ(draw(&id), FLAKE_OK);
        CHECK((int64_t)state.horizon <= disk.lasting);
        CHECK(ms_of(id) * ms < disk.lasting);
    }
    const int writes = (disk.calls - 7) / 2;
    CHECK(writes >= 7 && writes <= 9); /* 12 s */
    for (int i = 0; i < writes; i++) CHECK(strncmp(disk.log + 7 + 2 * i, "wd", 2) == 0);
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
}

/* ---- refusals ---- */

static uint8_t image[FLAKE_I_FILE + 10], again[FLAKE_I_FILE + 10];

/* The file with these bytes is refused, and stays as it is. */
static void refused_bytes(const uint8_t *bytes, size_t n, flake_status wanted) {
    const char *path = path_of("ids");
    write_file(path, bytes, n);
    refused(path, open_node(path, 1), wanted);
    CHECK_EQ(read_file(path, again, sizeof again), n);
    CHECK(memcmp(bytes, again, n) == 0);
}

static void what_is_not_whole_is_refused(void) {
    const char *path = path_of("ids");
    const size_t record = (size_t)flake_i_record_at(1);
    begin();
    crash();
    CHECK_EQ(read_file(path, image, sizeof image), FLAKE_I_FILE);
    script_now.now_ns += 10000 * ms;
    for (size_t n = 0; n < FLAKE_I_FILE; n += n < record + FLAKE_I_RECORD ? 1 : 97)
        refused_bytes(image, n, FLAKE_TORN);
    for (size_t at = 0; at < FLAKE_I_RECORD; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            image[record + at] ^= (uint8_t)(1u << bit);
            refused_bytes(image, FLAKE_I_FILE, FLAKE_TORN);
            image[record + at] ^= (uint8_t)(1u << bit);
            if (at >= 16) continue;
            image[at] ^= (uint8_t)(1u << bit);
            refused_bytes(image, FLAKE_I_FILE, FLAKE_FOREIGN);
            image[at] ^= (uint8_t)(1u << bit);
        }
    write_file(path, image, FLAKE_I_FILE);
    CHECK_EQ(open_node(path, 1), FLAKE_OK);
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
}

/* A write that was cut short has damaged the older record alone. */
static void the_newest_whole_record_counts(void) {
    const char *path = path_of("ids");
    begin();
    crash();
    const flake_i_record first = record_of(path);
    script_now.now_ns = first.horizon_ns + ms;
    CHECK_EQ(open_node(path, 1), FLAKE_OK);
    crash_here();
    const flake_i_record second = record_of(path);
    CHECK_EQ(second.number, first.number + 1);
    CHECK(second.horizon_ns > first.horizon_ns);
    CHECK_EQ(read_file(path, image, sizeof image), FLAKE_I_FILE);
    for (unsigned damaged = 0; damaged < 2; damaged++) {
        const flake_i_record *left = damaged ? &second : &first;
        const size_t at = (size_t)flake_i_record_at(damaged ? first.number : second.number) + 9;
        image[at] ^= 1;
        write_file(path, image, FLAKE_I_FILE);
        CHECK_EQ(record_of(path).number, left->number);
        CHECK_EQ(record_of(path).horizon_ns, left->horizon_ns);
        image[at] ^= 1;
    }
}

/* Else two records in a row might be spoilt by one power cut. */
static void what_the_last_run_wrote_is_synced_before_the_next_write(void) {
    const char *path = path_of("ids");
    begin();
    crash();
    script_now.now_ns = record_of(path).horizon_ns + ms;
    disk_begin();
    CHECK_EQ(open_node(path, 1), FLAKE_OK);
    CHECK_STR(disk.log, "dwd");
    disk_begin();
    disk.fail_from = 1, disk.fails = 1;
    crash_here();
    script_now.now_ns += 4000 * ms;
    refused(path, open_node(path, 1), FLAKE_IO);
}

/* A file as version 0.1.0 wrote it. */
static void make_old_file(const char *path, int64_t horizon_ns) {
    CHECK_EQ(open_node(path, 1), FLAKE_OK);
    uint8_t old[FLAKE_I_RECORD];
    memset(old, 0, sizeof old);
    memcpy(old, FLAKE_I_MAGIC, 8);
    flake_i_put64(old + 8, FLAKE_I_VERSION_1);
    flake_i_put64(old + 16, (uint64_t)horizon_ns);
    flake_i_put64(old + 24, (uint64_t)script_now.now_ns);
    memcpy(old + 32, state.identity, FLAKE_I_IDENTITY);
    flake_i_put64(old + 120, flake_i_fnv(old, 120));
    crash_here();
    write_file(path, old, sizeof old);
}

static void open_and_die_at_a_step(void) {
    disk.kill_at = disk.calls + (int)our->log.n; /* which one, from 1 */
    (void)open_node(path_of("ids"), 1);
}

/* Wherever the first to take it over dies, the next one does the rest: version 0.1.0, which knows
 * nothing of the new records, no longer takes the file for its own. */
static void a_taking_over_cut_short_is_finished(void) {
    const char *path = path_of("ids");
    int steps = 0;
    for (bool killed = true; killed; steps++) {
        begin();
        const int64_t horizon_ns = script_now.now_ns + 1500 * ms;
        make_old_file(path, horizon_ns);
        our->log.n = (size_t)steps + 1;
        killed = WIFSIGNALED(in_child(open_and_die_at_a_step));
        script_now.now_ns = horizon_ns + ms; /* to which the child has slept */
        CHECK_EQ(open_node(path, 1), FLAKE_OK);
        CHECK_EQ(flake_state_close(&state), FLAKE_OK);
        CHECK_EQ(read_file(path, image, sizeof image), FLAKE_I_FILE);
        CHECK_EQ(flake_i_get64(image + 8), FLAKE_I_VERSION);
    }
    CHECK(steps >= 7);
}

/* Rewrites the checksum behind a change of the record. */
static void change_record(const char *path, size_t at, uint8_t to) {
    uint8_t *const record = image + flake_i_record_at(1);
    CHECK_EQ(read_file(path, image, sizeof image), FLAKE_I_FILE);
    record[at] = to;
    flake_i_put64(record + 120, flake_i_fnv(record, 120));
    write_file(path, image, FLAKE_I_FILE);
}

static void what_is_anothers_is_refused(void) {
    const char *path = path_of("ids");
    begin();
    crash();
    refused(path, open_node(path, 2), FLAKE_FOREIGN);
    flake_state_options w = where_of(path);
    flake_options o = options_of(1);
    o.seq_max = 4094;
    refused(path, flake_state_open(&state, &w, &o, &why), FLAKE_FOREIGN);
    o = options_of(1);
    o.layout = flake_layout_idgen();
    o.layout.epoch_ms = 1;
    refused(path, flake_state_open(&state, &w, &o, &why), FLAKE_FOREIGN);
    o = options_of(0);
    refused(path, flake128_state_open(&state, &w, 1, &o, &why), FLAKE_FOREIGN);
    static sno_state snos;
    sno_why sno_reason;
    sno_state_options sno_where;
    sno_snapshot pool = ways_pool(0, FAMILY_SNO, 0, 99);
    memset(&sno_where, 0, sizeof sno_where);
    sno_where.path = path;
    CHECK_EQ(sno_state_open(&snos, &sno_where, &pool, &sno_reason), SNO_FOREIGN);
    memset(&pool, 0, sizeof pool);
    CHECK_EQ(sno_state_open(&snos, &sno_where, &pool, &sno_reason), SNO_FOREIGN);

    CHECK_EQ(read_file(path, image, sizeof image), FLAKE_I_FILE);
    image[11] = 3; /* a later version */
    refused_bytes(image, FLAKE_I_FILE, FLAKE_FOREIGN);
    image[11] = 2;
    write_file(path, image, FLAKE_I_FILE);
    for (size_t at = 104; at < 120; at++) { /* what this version has no meaning for */
        change_record(path, at, 1);
        refused(path, open_node(path, 1), FLAKE_FOREIGN);
        change_record(path, at, 0);
    }

    const char *text = "id = 7\n";
    write_file(path, (const uint8_t *)text, strlen(text));
    refused(path, open_node(path, 1), FLAKE_FOREIGN);
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(mkdir(path, 0777), 0);
    refused(path, open_node(path, 1), FLAKE_IO);
    CHECK_EQ(rmdir(path), 0);
    CHECK_EQ(mkfifo(path, 0666), 0);
    refused(path, open_node(path, 1), FLAKE_FOREIGN);
}

static void what_can_t_be_read_or_made_is_refused(void) {
    const char *path = path_of("nowhere/ids");
    char longest[2000];
    begin();
    CHECK_EQ(open_node(path, 1), FLAKE_IO);
    CHECK(strncmp(why.text, path, strlen(path)) == 0);
    flake_state_options w = where_of(path_of("ids"));
    const flake_options o = options_of(1);
    w.must_exist = true;
    refused(w.path, flake_state_open(&state, &w, &o, &why), FLAKE_IO);
    CHECK(access(w.path, F_OK) != 0);
    w.must_exist = false;
    w.horizon_ms = -1;
    CHECK_EQ(flake_state_open(&state, &w, &o, &why), FLAKE_INVALID);
    CHECK(strncmp(why.text, "horizon_ms", 10) == 0);
    w.horizon_ms = INT64_MAX;
    CHECK_EQ(flake_state_open(&state, &w, &o, &why), FLAKE_INVALID);
    w.horizon_ms = 0;
    w.allowable_downtime_ms = -1;
    CHECK_EQ(flake_state_open(&state, &w, &o, &why), FLAKE_INVALID);
    w.allowable_downtime_ms = 0;
    w.path = NULL;
    CHECK_EQ(flake_state_open(&state, &w, &o, NULL), FLAKE_INVALID);
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    w.path = longest;
    CHECK_EQ(flake_state_open(&state, &w, &o, &why), FLAKE_INVALID);
    CHECK_EQ(open_node(path_of("ids"), 5000), FLAKE_INVALID);
    CHECK(strncmp(why.text, "options", 7) == 0);
    disk_begin();
    disk.fail_from = 1, disk.fails = 100;
    refused(path_of("ids"), open_node(path_of("ids"), 1), FLAKE_IO);
}

static void a_clock_put_back_across_the_restart_is_refused(void) {
    const char *path = path_of("ids");
    uint64_t id;
    begin();
    crash();
    script_now.now_ns -= 1;
    refused(path, open_node(path, 1), FLAKE_CLOCK_BACK);
    script_now.now_ns -= 3600000 * ms;
    refused(path, open_node(path, 1), FLAKE_CLOCK_BACK);
    script_now.now_ns += 3600000 * ms + 1;
    CHECK_EQ(open_and_start(path), FLAKE_OK);
    CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK_EQ(ways_repeated(&our->log), 0);
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
}

static void a_clock_put_back_before_the_close_is_refused(void) {
    const char *path = path_of("ids");
    uint64_t id;
    begin();
    CHECK_EQ(open_and_start(path), FLAKE_OK);
    CHECK_EQ(draw(&id), FLAKE_OK);
    script_now.now_ns -= 3600000 * ms;
    CHECK_EQ(flake_next(&gen, &id), FLAKE_CLOCK_BACK);
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
    script_now.slept_ns = 0;
    refused(path, open_node(path, 1), FLAKE_CLOCK_BACK);
    CHECK_EQ(script_now.slept_ns, 0);
    script_now.now_ns += 3600000 * ms;
    CHECK_EQ(open_and_start(path), FLAKE_OK);
    CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK_EQ(ways_repeated(&our->log), 0);
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
}

static void a_clock_put_back_while_a_crash_is_waited_out(void) {
    begin();
    crash();
    script_now.jump_to_ns = script_now.now_ns - 5;
    refused(path_of("ids"), open_node(path_of("ids"), 1), FLAKE_CLOCK_BACK);
}

static void too_long_a_downtime_is_refused(void) {
    const char *path = path_of("ids");
    flake_state_options w = where_of(path);
    const flake_options o = options_of(1);
    begin();
    w.allowable_downtime_ms = 60000;
    crash();
    script_now.now_ns = record_of(path).horizon_ns + 60000 * ms + 1;
    refused(path, flake_state_open(&state, &w, &o, &why), FLAKE_DOWNTIME);
    script_now.now_ns -= 1;
    CHECK_EQ(flake_state_open(&state, &w, &o, &why), FLAKE_OK);
    script_now.now_ns += 7200000 * ms; /* two hours without a draw are no downtime */
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
    CHECK_EQ(flake_state_open(&state, &w, &o, &why), FLAKE_OK);
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
}

/* ---- the lock ---- */

static void find_it_taken(void) {
    static flake_state other;
    const flake_state_options w = where_of(path_of("ids"));
    const flake_options o = options_of(1);
    EXPECT(flake_state_open(&other, &w, &o, &why) == FLAKE_TAKEN);
    EXPECT(strstr(why.text, "in use") != NULL);
}

static void find_it_free(void) {
    EXPECT(open_node(path_of("ids"), 1) == FLAKE_OK);
    EXPECT(flake_state_close(&state) == FLAKE_OK);
}

static void one_run_at_a_time(void) {
    const char *path = path_of("ids");
    begin();
    CHECK_EQ(open_node(path, 1), FLAKE_OK);
    find_it_taken();
    child_is_well(find_it_taken); /* and what it tried has not let go of the lock */
    child_is_well(find_it_taken);
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
    child_is_well(find_it_free);
    script_now.now_ns += ms; /* the child's clock went on a little */
    CHECK_EQ(open_node(path, 1), FLAKE_OK);
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
}

/* A record lock of POSIX would go when any descriptor of its file is closed. */
static void a_sno_state_at_the_same_path_lets_go_of_nothing(void) {
    const char *path = path_of("ids");
    static sno_state snos;
    sno_state_options w;
    sno_snapshot pool = ways_pool(0, FAMILY_SNO, 0, 99);
    begin();
    memset(&w, 0, sizeof w);
    w.path = path;
    CHECK_EQ(open_node(path, 1), FLAKE_OK);
    CHECK(sno_state_open(&snos, &w, &pool, NULL) != SNO_OK);
    child_is_well(find_it_taken);
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
}

static void an_open_state_opened_again_stays_as_it_is(void) {
    const char *path = path_of("ids");
    uint64_t id;
    begin();
    CHECK_EQ(open_and_start(path), FLAKE_OK);
    CHECK_EQ(open_node(path, 1), FLAKE_TAKEN);
    CHECK_EQ(open_node(path_of("others"), 1), FLAKE_TAKEN);
    for (int i = 0; i < 100; i++, script_now.now_ns += 100 * ms) CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK(record_of(path).horizon_ns > script_now.now_ns);
    CHECK_EQ(flake_state_extend(&state), FLAKE_OK);
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
    CHECK(record_of(path).horizon_ns >= (ms_of(id) + 1) * ms - 1);
}

static void a_change_of_folder_does_not_move_the_file(void) {
    char was[300];
    uint64_t id;
    begin();
    CHECK(getcwd(was, sizeof was) != NULL);
    CHECK_EQ(chdir(folder), 0);
    CHECK_EQ(open_and_start("ids"), FLAKE_OK);
    CHECK_EQ(chdir(was), 0);
    for (int i = 0; i < 100; i++, script_now.now_ns += 100 * ms) CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK(record_of(path_of("ids")).horizon_ns > script_now.now_ns);
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
    CHECK(access("ids", F_OK) != 0);
}

/* ---- fork and bump ---- */

static void leave_the_parents_file_alone(void) {
    static flake_gen mine;
    uint64_t id;
    const flake_i_record before = record_of(path_of("ids"));
    flake_options o = options_of(1);
    o.state = &state;
    script_now.now_ns += 10000 * ms;
    EXPECT(flake_next(&gen, &id) == FLAKE_FORKED);
    EXPECT(flake_init(&mine, &o) == FLAKE_FORKED); /* a new one on the parent's state */
    EXPECT(flake_state_extend(&state) == FLAKE_FORKED);
    find_it_taken();
    EXPECT(flake_state_close(&state) == FLAKE_FORKED);
    find_it_taken();
    EXPECT(record_of(path_of("ids")).horizon_ns == before.horizon_ns);
    o.node = 2;
    o.state = NULL;
    EXPECT(flake_reinit_after_fork(&gen, &o) == FLAKE_OK);
    EXPECT(flake_next(&gen, &id) == FLAKE_OK);
    EXPECT(open_node(path_of("childs"), 2) == FLAKE_OK); /* with a file of its own */
    EXPECT(flake_state_close(&state) == FLAKE_OK);
}

static void a_child_leaves_its_parents_file_alone(void) {
    uint64_t id;
    begin();
    CHECK_EQ(open_and_start(path_of("ids")), FLAKE_OK);
    CHECK_EQ(draw(&id), FLAKE_OK);
    child_is_well(leave_the_parents_file_alone);
    child_is_well(find_it_taken);
    CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK_EQ(flake_state_extend(&state), FLAKE_OK);
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
}

static void a_bump_keeps_the_lock(void) {
    uint64_t id;
    begin();
    CHECK_EQ(open_and_start(path_of("ids")), FLAKE_OK);
    CHECK_EQ(draw(&id), FLAKE_OK);
    flake_generation_bump();
    find_it_taken();
    child_is_well(find_it_taken);
    script_now.now_ns += 10000 * ms;
    CHECK_EQ(flake_next(&gen, &id), FLAKE_FORKED);
    CHECK_EQ(start_gen(), FLAKE_FORKED);
    CHECK_EQ(flake_state_extend(&state), FLAKE_FORKED);
    CHECK_EQ(flake_state_close(&state), FLAKE_FORKED);
    CHECK_EQ(open_and_start(path_of("ids")), FLAKE_OK);
    CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK_EQ(ways_repeated(&our->log), 0);
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
}

/* ---- the disk ---- */

static unsigned step_to_die_at;
static void die_at_a_step(void) {
    uint64_t id;
    EXPECT(open_and_start(path_of("ids")) == FLAKE_OK);
    disk.kill_at = disk.calls + (int)step_to_die_at;
    for (int i = 0; i < 10000; i++, script_now.now_ns += 10 * ms) EXPECT(draw(&id) == FLAKE_OK);
}

static void killed_at_each_system_call(void) {
    begin();
    for (step_to_die_at = 1; step_to_die_at <= 24; step_to_die_at++) {
        CHECK(WIFSIGNALED(in_child(die_at_a_step)));
        /* the next run starts at the time at which this one died, as far as ids tell, or earlier */
        script_now.now_ns = record_of(path_of("ids")).written_ns;
        for (size_t i = 0; i < our->log.n; i++)
            CHECK((int64_t)(our->log.entries[i].key >> 22) * ms <=
                  record_of(path_of("ids")).horizon_ns);
    }
    CHECK(our->log.n > 1000);
    CHECK_EQ(ways_repeated(&our->log), 0);
}

static void a_full_disk_stops_draws_at_the_horizon(void) {
    uint64_t id;
    begin();
    for (int step = 1; step <= 2; step++) {
        CHECK_EQ(open_and_start(path_of("ids")), FLAKE_OK);
        disk.fail_from = disk.calls + step, disk.fails = 1000000;
        const int64_t horizon_ns = record_of(path_of("ids")).horizon_ns;
        unsigned drawn = 0;
        flake_status status;
        for (; (status = draw(&id)) == FLAKE_OK && drawn < 4000; script_now.now_ns += ms, drawn++) {
            CHECK(ms_of(id) * ms < horizon_ns);
            CHECK((int64_t)state.horizon <= disk.lasting);
        }
        CHECK_EQ(status, FLAKE_IO);
        CHECK(drawn >= 2998);
        CHECK_EQ(flake_try(&gen, &id), FLAKE_IO);
        CHECK_EQ(flake_state_extend(&state), FLAKE_IO);
        disk.fail_from = 0;
        CHECK_EQ(draw(&id), FLAKE_OK);
        CHECK_EQ(flake_state_close(&state), FLAKE_OK);
        CHECK(access(path_of("ids.new"), F_OK) != 0);
    }
    CHECK_EQ(ways_repeated(&our->log), 0);
}

static void fill_the_disk(void) {
    uint64_t id;
    struct rlimit limit;
    (void)signal(SIGXFSZ, SIG_IGN);
    EXPECT(open_and_start(path_of("ids")) == FLAKE_OK);
    EXPECT(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = 100; /* not even a record */
    EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    for (int i = 0; i < 2900; i++, script_now.now_ns += ms) EXPECT(draw(&id) == FLAKE_OK);
    script_now.now_ns += 200 * ms;
    EXPECT(draw(&id) == FLAKE_IO);
    EXPECT(flake_state_extend(&state) == FLAKE_IO);
    EXPECT(flake_state_close(&state) == FLAKE_IO);
}

static void a_file_that_can_t_grow(void) {
    uint64_t id;
    begin();
    child_is_well(fill_the_disk);
    CHECK_EQ(open_and_start(path_of("ids")), FLAKE_OK);
    CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK_EQ(ways_repeated(&our->log), 0);
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
}

/* ---- the timer ---- */

static void a_timer_writes_instead_of_draws(void) {
    flake_state_options w = where_of(path_of("ids"));
    const flake_options o = options_of(1);
    uint64_t id;
    begin();
    w.by_timer = true;
    CHECK_EQ(flake_state_open(&state, &w, &o, &why), FLAKE_OK);
    CHECK_EQ(start_gen(), FLAKE_OK);
    for (int i = 0; i < 10000; i++, script_now.now_ns += ms) {
        if (i % 1000 == 999) CHECK_EQ(flake_state_extend(&state), FLAKE_OK);
        const int calls = disk.calls;
        CHECK_EQ(draw(&id), FLAKE_OK);
        CHECK_EQ(disk.calls, calls);
    }
    script_now.now_ns += 3000 * ms; /* the timer is late */
    CHECK_EQ(flake_try(&gen, &id), FLAKE_AGAIN);
    const int64_t began_ns = script_now.now_ns;
    CHECK_EQ(flake_next(&gen, &id), FLAKE_AGAIN); /* waits for it as long as it may */
    CHECK_EQ(script_now.now_ns - began_ns, 1000 * ms);
    disk.fail_from = disk.calls + 1, disk.fails = 1;
    CHECK_EQ(flake_state_extend(&state), FLAKE_IO);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_IO); /* the timer has come, and the disk failed it */
    CHECK_EQ(flake_state_extend(&state), FLAKE_OK);
    CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
    CHECK_EQ(ways_repeated(&our->log), 0);
}

static void a_timer_keeps_up_with_ids_ahead_of_the_clock(void) {
    flake_state_options w = where_of(path_of("ids"));
    flake_options o = options_of(1);
    uint64_t id;
    begin();
    w.by_timer = true;
    w.horizon_ms = 1; /* shorter than a unit */
    o.layout = flake_layout_sonyflake();
    o.seq_max = 9;
    o.max_ahead_ms = 15000;
    CHECK_EQ(flake_state_open(&state, &w, &o, &why), FLAKE_OK);
    o.state = &state;
    CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
    unsigned drawn = 0;
    for (int i = 0; i < 40000 && drawn < 15000; i++) {
        if (flake_try(&gen, &id) == FLAKE_OK) drawn++, note(id);
        else CHECK_EQ(flake_state_extend(&state), FLAKE_OK);
    }
    CHECK_EQ(drawn, 15000);
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
    o.state = NULL;
    CHECK_EQ(flake_state_open(&state, &w, &o, &why), FLAKE_OK);
    o.state = &state;
    CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
    CHECK_EQ(flake_state_extend(&state), FLAKE_OK);
    while (flake_try(&gen, &id) == FLAKE_AGAIN) CHECK_EQ(flake_state_extend(&state), FLAKE_OK);
    note(id);
    CHECK_EQ(ways_repeated(&our->log), 0);
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
}

/* ---- generators that come later ---- */

static void a_second_generator_on_a_state_repeats_nothing(void) {
    uint64_t id;
    begin();
    CHECK_EQ(open_and_start(path_of("ids")), FLAKE_OK);
    for (int run = 0; run < 10; run++) {
        CHECK_EQ(draw(&id), FLAKE_OK);
        CHECK_EQ(draw(&id), FLAKE_OK);
        CHECK_EQ(start_gen(), FLAKE_OK);
    }
    CHECK_EQ(ways_repeated(&our->log), 0);
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
}

static void a_state_is_for_its_generators_alone(void) {
    static flake_gen other;
    flake_options o = options_of(2);
    begin();
    CHECK_EQ(open_node(path_of("ids"), 1), FLAKE_OK);
    o.state = &state;
    CHECK_EQ(flake_init(&other, &o), FLAKE_FOREIGN);
    o.node = 1;
    o.seq_min = 7, o.seq_max = 9;
    CHECK_EQ(flake_init(&other, &o), FLAKE_OK); /* a part of its range */
    o.shared_memory = true;
    CHECK_EQ(flake_init(&other, &o), FLAKE_INVALID);
    o.shared_memory = false;
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
    CHECK_EQ(flake_init(&other, &o), FLAKE_FOREIGN);
}

static void a_snapshot_does_not_pass_by_the_horizon(void) {
    flake_snapshot snapshot;
    uint64_t id;
    begin();
    CHECK_EQ(open_and_start(path_of("ids")), FLAKE_OK);
    CHECK_EQ(flake_snapshot_take(&gen, &snapshot), FLAKE_OK);
    snapshot.unix_ms = start_ms + 10000;
    snapshot.count = 5;
    CHECK_EQ(flake_restore(&gen, &snapshot), FLAKE_OK);
    script_now.now_ns = snapshot.unix_ms * ms;
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(draw(&id), FLAKE_OK);
        CHECK(ms_of(id) * ms < disk.lasting);
    }
    crash_here();
    CHECK_EQ(open_and_start(path_of("ids")), FLAKE_OK);
    CHECK_EQ(draw(&id), FLAKE_OK);
    CHECK_EQ(ways_repeated(&our->log), 0);
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);

    static sno_state snos;
    sno_state_options w;
    sno_snapshot pool = ways_pool(0, FAMILY_SNO, 0, 99);
    memset(&w, 0, sizeof w);
    w.path = path_of("snos");
    w.clock.now_ns = script_read;
    w.clock.user = &script_now;
    CHECK_EQ(sno_state_open(&snos, &w, &pool, NULL), SNO_OK);
    ways_setup setup;
    memset(&setup, 0, sizeof setup);
    setup.is_scripted = true;
    sno_options o = ways_sno_options(&setup, &pool);
    o.state = &snos;
    pool.wall_hi = (script_now.now_ns - SNO_I_EPOCH_NS) / (4 * ms) + 2500;
    pool.sequence = 5;
    CHECK_EQ(sno_init(&ways.sno, &o), SNO_OK);
    script_now.now_ns += 10000 * ms;
    sno_id drawn;
    script_now.now_ns += sno_retry_ns(&ways.sno);
    CHECK_EQ(sno_try(&ways.sno, 7, &drawn), SNO_OK);
    CHECK(sno_time_ns(drawn) < disk.lasting);
    CHECK_EQ(sno_state_close(&snos), SNO_OK);
}

/* ---- gates ---- */

static flake_status gate_says;
static int64_t gate_until_ns;
static int gate_asked;

static flake_status ask_gate(void *user, int64_t until_ns) {
    CHECK(user == &gate_says);
    gate_asked++;
    gate_until_ns = until_ns;
    return gate_says;
}

static void a_gate_is_asked_for_each_unit(void) {
    flake_options o = options_of(1);
    flake_snapshot snapshot;
    uint64_t id = 7, ids[10];
    begin();
    o.gate.admit = ask_gate;
    o.gate.user = &gate_says;
    o.seq_max = 9;
    gate_says = FLAKE_LEASE;
    gate_asked = 0;
    CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_LEASE);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_LEASE);
    CHECK_EQ(flake_try_at(&gen, start_ms, &id), FLAKE_LEASE);
    CHECK_EQ(flake_next_n(&gen, &id, 1), FLAKE_LEASE);
    CHECK_EQ(flake_try_n(&gen, &id, 1), 0);
    CHECK_EQ(id, 7);
    gate_says = FLAKE_OK;
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(gate_until_ns, (start_ms + 1) * ms - 1);
    gate_asked = 0;
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK); /* the same unit */
    CHECK_EQ(gate_asked, 0);
    CHECK_EQ(flake_next_n(&gen, ids, 10), FLAKE_OK); /* two of them in the next */
    CHECK_EQ(gate_asked, 1);
    CHECK_EQ(gate_until_ns, (start_ms + 2) * ms - 1);

    gate_says = FLAKE_LEASE; /* the unit that a snapshot stands in was not asked for either */
    CHECK_EQ(flake_snapshot_take(&gen, &snapshot), FLAKE_OK);
    CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
    CHECK_EQ(flake_restore(&gen, &snapshot), FLAKE_OK);
    CHECK(flake_try(&gen, &id) != FLAKE_OK);
    o.layout = flake_layout_of(41, 10, 12, start_ms); /* and the first since the epoch */
    script_at_ms(start_ms);
    CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
    CHECK(flake_try(&gen, &id) != FLAKE_OK);
}

static int64_t gate_floor_ns(void *user) {
    CHECK(user == &gate_says);
    return (start_ms + 3) * ms + 1; /* within a unit, which is not ours */
}

static void every_init_asks_for_the_gates_floor(void) {
    flake_options o = options_of(1);
    const flake_layout layout = flake_layout_idgen();
    flake_shard shards[2];
    flake128_gen wide;
    flake128 wide_id;
    flake128_parts wide_parts = {0, 0, 0, 0};
    flake_parts parts = {0, 0, 0, 0};
    uint64_t id = 0;
    begin();
    script_at_ms(start_ms);
    gate_says = FLAKE_OK;
    o.gate.admit = ask_gate;
    o.gate.floor_ns = gate_floor_ns;
    o.gate.user = &gate_says;
    CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
    CHECK_EQ(flake_shards_init(shards, 2, &o), FLAKE_OK);
    CHECK(flake_try(&gen, &id) != FLAKE_OK);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(flake_decompose(&layout, id, &parts), FLAKE_OK);
    CHECK_EQ(parts.unix_ms, start_ms + 4);
    CHECK_EQ(flake_shard_next(&shards[1], &id), FLAKE_OK);
    CHECK_EQ(flake_decompose(&layout, id, &parts), FLAKE_OK);
    CHECK_EQ(parts.unix_ms, start_ms + 4);
    flake_options of_wide = o;
    memset(&of_wide.layout, 0, sizeof of_wide.layout);
    of_wide.node = 0;
    script_at_ms(start_ms);
    CHECK_EQ(flake128_init(&wide, 1, &of_wide), FLAKE_OK);
    script_at_ms(start_ms + 3);
    CHECK(flake128_try(&wide, &wide_id) != FLAKE_OK);
    script_at_ms(start_ms + 4);
    CHECK_EQ(flake128_next(&wide, &wide_id), FLAKE_OK);
    CHECK_EQ(flake128_decompose(wide_id, &wide_parts), FLAKE_OK);
    CHECK_EQ(wide_parts.unix_ms, start_ms + 4);
}

/* A caller whose place others have pushed into a later unit has to ask for that one. */
static void a_place_in_the_queue_is_asked_for(void) {
    flake_options o = options_of(1);
    flake_i_place place;
    begin();
    o.gate.admit = ask_gate;
    o.gate.user = &gate_says;
    o.seq_max = 9;
    gate_says = FLAKE_OK;
    CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
    uint64_t id;
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    const uint64_t word = atomic_fetch_add(&gen.engine.word, 13u) + 12; /* 12 and one more draw */
    gate_says = FLAKE_LEASE;
    CHECK_EQ(flake_i_draw_late(&gen.engine, word, script_now.now_ns, &place), FLAKE_LEASE);
    CHECK_EQ(atomic_load(&gen.engine.word), word); /* given back */
}

static void a_gate_that_says_again_is_waited_for(void) {
    flake_options o = options_of(1);
    uint64_t id;
    begin();
    o.gate.admit = ask_gate;
    o.gate.user = &gate_says;
    o.max_wait_ms = 50;
    gate_says = FLAKE_AGAIN;
    gate_asked = 0;
    CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(gate_asked, 1);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_AGAIN);
    CHECK_EQ(script_now.now_ns, (start_ms + 50) * ms);
    CHECK_EQ(gate_asked, 52);
}

/* ---- at the end of time ---- */

static void the_horizon_ends_with_the_clock(void) {
    flake_options o = options_of(1);
    flake_state_options w = where_of(path_of("ids"));
    uint64_t id;
    begin();
    script_now.now_ns = INT64_MAX - 3000 * ms;
    o.layout = flake_layout_of(44, 8, 12, 0);
    CHECK_EQ(flake_state_open(&state, &w, &o, &why), FLAKE_OK);
    o.state = &state;
    CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
    for (int i = 0; i < 2998; i++, script_now.now_ns += ms)
        CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    disk.fail_from = disk.calls + 1, disk.fails = 1000;
    CHECK(flake_state_extend(&state) != FLAKE_INVALID);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    disk.fail_from = 0;
    CHECK_EQ(flake_state_close(&state), FLAKE_OK);
}

/* ---- threads: who is admitted, the closing thread knows of ---- */

enum { drawers = 2 };
static _Atomic(uint64_t) newest[drawers];
static _Atomic(bool) stop;

static int64_t ticking_clock(void *user) {
    (void)user;
    return atomic_fetch_add(&our->ticking_ns, 100000) + 100000;
}

static void *draw_until_closed(void *seat) {
    uint64_t id;
    while (!atomic_load(&stop)) {
        const flake_status status = flake_try(&gen, &id);
        if (status == FLAKE_OK) atomic_store(&newest[*(int *)seat], id);
        else if (status == FLAKE_IO) break;
    }
    return NULL;
}

static void *extend_often(void *unused) {
    (void)unused;
    while (!atomic_load(&stop)) (void)flake_state_extend(&state);
    return NULL;
}

static void closed_while_others_draw(void) {
    const int rounds = runs_small ? 20 : 100;
    flake_options o = options_of(1);
    flake_state_options w = where_of(path_of("ids"));
    begin();
    o.clock.now_ns = w.clock.now_ns = ticking_clock;
    w.horizon_ms = 20;
    w.no_wait = true;
    atomic_store(&our->ticking_ns, start_ms * ms);
    for (int round = 0; round < rounds; round++) {
        pthread_t threads[drawers], timer;
        static int seats[drawers] = {0, 1};
        o.state = NULL;
        CHECK_EQ(flake_state_open(&state, &w, &o, &why), FLAKE_OK);
        o.state = &state;
        CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
        atomic_store(&stop, false);
        for (int i = 0; i < drawers; i++) {
            atomic_store(&newest[i], 0u);
            if (pthread_create(&threads[i], NULL, draw_until_closed, &seats[i]) != 0) abort();
        }
        if (pthread_create(&timer, NULL, extend_often, NULL) != 0) abort();
        for (int i = 0; i < drawers; i++)
            while (!atomic_load(&newest[i])) {
            }
        CHECK_EQ(flake_state_close(&state), FLAKE_OK);
        const int64_t horizon_ns = record_of(w.path).horizon_ns;
        for (int i = 0; i < drawers; i++) (void)pthread_join(threads[i], NULL);
        atomic_store(&stop, true);
        (void)pthread_join(timer, NULL);
        for (int i = 0; i < drawers; i++)
            CHECK((ms_of(atomic_load(&newest[i])) + 1) * ms - 1 <= horizon_ns);
        CHECK_EQ(record_of(w.path).horizon_ns, horizon_ns);
        atomic_store(&our->ticking_ns, horizon_ns + ms);
    }
}

/* ---- all ways to an id, killed anywhere ---- */

static flake_state states[2];
static sno_state sno_states[2];
static uint64_t random_state;

/* Opens all four, and makes the generators; false: refused, since the clock was put back. */
static bool open_all(void) {
    flake_state_options w = where_of(NULL);
    sno_state_options s;
    ways_setup setup;
    memset(&setup, 0, sizeof setup);
    memset(&s, 0, sizeof s);
    setup.is_scripted = true;
    s.clock.now_ns = script_read;
    s.clock.user = &script_now;
    const flake_options o = ways_flake_options(&setup, 0, 199), wide = ways_wide_options(&setup);
    sno_snapshot pool = ways_pool(0, FAMILY_SNO, 0, 99);
    sno_snapshot shards = ways_pool(0, FAMILY_SNO_SHARDS, 0, 99);
    flake_status status[2];
    sno_status sno_status_of[2];
    flake_options whole = o;
    whole.seq_max = 299;
    w.path = path_of("all_flake");
    status[0] = flake_state_open(&states[0], &w, &whole, NULL);
    w.path = path_of("all_wide");
    status[1] = flake128_state_open(&states[1], &w, 0, &wide, NULL);
    s.path = path_of("all_sno");
    sno_status_of[0] = sno_state_open(&sno_states[0], &s, &pool, NULL);
    s.path = path_of("all_sno_shards");
    sno_status_of[1] = sno_state_open(&sno_states[1], &s, &shards, NULL);
    bool open = true;
    for (int i = 0; i < 2; i++) {
        EXPECT(status[i] == FLAKE_OK || status[i] == FLAKE_CLOCK_BACK);
        EXPECT(sno_status_of[i] == SNO_OK || sno_status_of[i] == SNO_CLOCK_BACK);
        open &= status[i] == FLAKE_OK && sno_status_of[i] == SNO_OK;
    }
    if (!open) { /* those that were opened have drawn nothing */
        for (int i = 0; i < 2; i++) {
            if (status[i] == FLAKE_OK) (void)flake_state_close(&states[i]);
            if (sno_status_of[i] == SNO_OK) (void)sno_state_close(&sno_states[i]);
        }
        return false;
    }
    setup.flake = &states[0];
    setup.wide = &states[1];
    setup.sno = &sno_states[0];
    setup.sno_shards = &sno_states[1];
    EXPECT(ways_make(&setup) == 0);
    return true;
}

static void move_clock(void) {
    const uint64_t by = random_below(&random_state, 100);
    if (by < 60) script_now.now_ns += (int64_t)random_below(&random_state, 4) * ms;
    else if (by < 90) script_now.now_ns += (int64_t)random_below(&random_state, 400) * ms;
    else if (by < 94) script_now.now_ns -= (int64_t)random_below(&random_state, 2000) * ms;
    our->now_ns = script_now.now_ns;
}

static void run_and_end_somehow(void) {
    script_now.now_ns = our->now_ns;
    if (!open_all()) return;
    const uint64_t end = random_below(&random_state, 3);
    if (end == 0) disk.kill_at = disk.calls + 1 + (int)random_below(&random_state, 60);
    if (random_below(&random_state, 4) == 0) {
        disk.fail_from = disk.calls + 1 + (int)random_below(&random_state, 40);
        disk.fails = 1 + (int)random_below(&random_state, 30);
    }
    for (uint64_t draws = 20 + random_below(&random_state, 200); draws; draws--) {
        way_ids ids;
        const struct way *way = &all_ways[random_below(&random_state, ways_count)];
        if (way->family == FAMILY_SNO_POOL) continue; /* has no state */
        if (way->draw(&ids) == WAY_FORKED) EXPECT(false);
        ways_note(&our->log, way->family, &ids);
        move_clock();
        if (draws % 32 == 0) (void)flake_state_extend(&states[0]);
        if (draws % 32 == 16) (void)sno_state_extend(&sno_states[0]);
    }
    if (end == 1)
        for (int i = 0; i < 2; i++) {
            (void)flake_state_close(&states[i]);
            (void)sno_state_close(&sno_states[i]);
        }
    else (void)kill(getpid(), SIGKILL);
}

static void runs_that_end_anywhere_repeat_nothing(void) {
    const uint64_t seeds = runs_small ? 6 : 30;
    unsigned refused_runs = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        begin();
        our->now_ns = script_now.now_ns;
        random_state = seed * 0x9e3779b97f4a7c15;
        for (int run = 0; run < 25; run++) {
            const size_t had = our->log.n;
            (void)random_next(&random_state);
            (void)in_child(run_and_end_somehow);
            (void)random_next(&random_state);
            random_state ^= (uint64_t)run << 32;
            refused_runs += our->log.n == had;
            our->now_ns += (int64_t)random_below(&random_state, 3) * 700 * ms;
            if (random_below(&random_state, 6) == 0) our->now_ns -= 400 * ms;
            else if (our->log.n == had) our->now_ns += 3000 * ms;
        }
        CHECK(our->log.n > 500);
        CHECK_EQ(ways_repeated(&our->log), 0);
        CHECK_EQ(atomic_load(&our->trouble), 0);
        if (check_failures) {
            printf("  seed %" PRIu64 "\n", seed);
            return;
        }
    }
    CHECK(refused_runs > 0);
}

/* ---- killed from outside, with the system's clock ---- */

static void draw_with_the_system_clock(void) {
    flake_options o = options_of(1);
    flake_state_options w = where_of(path_of("ids"));
    memset(&o.clock, 0, sizeof o.clock);
    memset(&w.clock, 0, sizeof w.clock);
    w.horizon_ms = 10;
    EXPECT(flake_state_open(&state, &w, &o, &why) == FLAKE_OK);
    o.state = &state;
    EXPECT(flake_init(&gen, &o) == FLAKE_OK);
    const size_t enough = our->log.n + 1000; /* who should kill this may be kept waiting */
    for (;;) {
        uint64_t id;
        if (flake_try(&gen, &id) != FLAKE_OK) continue;
        if (our->log.n < enough && id % 8 == 0) note(id);
    }
}

static void killed_from_outside(void) {
    const int kills = runs_small ? 8 : 30;
    begin();
    uint64_t random = 77;
    for (int i = 0; i < kills; i++) {
        const size_t had = our->log.n;
        const pid_t child = fork();
        if (child == 0) draw_with_the_system_clock();
        if (child < 0) abort();
        const volatile size_t *n = &our->log.n;
        while (*n < had + 10 + random_below(&random, 300)) {
            if (waitpid(child, NULL, WNOHANG) == child) break;
        }
        (void)kill(child, SIGKILL);
        (void)waitpid(child, NULL, 0);
        CHECK(our->log.n > had);
    }
    CHECK_EQ(ways_repeated(&our->log), 0);
    CHECK_EQ(atomic_load(&our->trouble), 0);
}

/* ---- sno's own ---- */

static void a_sno_state_brings_its_pool(void) {
    static sno_state snos;
    sno_state_options w;
    sno_snapshot pool;
    sno_why reason;
    sno_id id;
    begin();
    memset(&pool, 0, sizeof pool);
    memset(&w, 0, sizeof w);
    w.path = path_of("snos");
    w.clock.now_ns = script_read;
    w.clock.user = &script_now;
    CHECK_EQ(sno_state_open(&snos, &w, &pool, &reason), SNO_OK); /* a partition of its choice */
    const uint16_t partition = pool.partition;
    CHECK_EQ(pool.sequence_max, UINT16_MAX);
    ways_setup setup;
    memset(&setup, 0, sizeof setup);
    setup.is_scripted = true;
    sno_options o = ways_sno_options(&setup, &pool);
    o.state = &snos;
    CHECK_EQ(sno_init(&ways.sno, &o), SNO_OK);
    CHECK_EQ(sno_try(&ways.sno, 7, &id), SNO_OK);
    CHECK_EQ(sno_partition(id), partition);
    const int64_t first_ns = sno_time_ns(id);
    CHECK_EQ(sno_state_close(&snos), SNO_OK);
    memset(&pool, 0, sizeof pool);
    CHECK_EQ(sno_state_open(&snos, &w, &pool, &reason), SNO_OK);
    CHECK_EQ(pool.partition, partition);
    CHECK_EQ(sno_init(&ways.sno, &o), SNO_OK);
    CHECK_EQ(sno_try(&ways.sno, 7, &id), SNO_OK);
    CHECK(sno_time_ns(id) > first_ns);
    script_now.now_ns -= 8 * ms; /* no tick has used it, but both count as if they had */
    CHECK_EQ(sno_try(&ways.sno, 7, &id), SNO_CLOCK_BACK);
    pool.sequence_max = 99;
    CHECK_EQ(sno_init(&ways.sno, &o), SNO_FOREIGN);
    CHECK_EQ(sno_shards_init(ways.sno_shards, 2, &o), SNO_FOREIGN);
    o.snapshot = NULL;
    CHECK_EQ(sno_init(&ways.sno, &o), SNO_FOREIGN);
    CHECK_EQ(sno_state_close(&snos), SNO_OK);
    pool = ways_pool(0, FAMILY_SNO, 5, 7);
    CHECK_EQ(sno_state_open(&snos, &w, &pool, &reason), SNO_INVALID);
}

int main(int argc, char **argv) {
    static const check_test all[] = {CHECK_TEST(a_run_goes_on_where_the_last_was_closed),
                                     CHECK_TEST(a_crash_is_waited_out),
                                     CHECK_TEST(who_does_not_wait_draws_later),
                                     CHECK_TEST(crash_loops_don_t_run_the_horizon_away),
                                     CHECK_TEST(the_file_is_written_each_half_horizon),
                                     CHECK_TEST(what_is_not_whole_is_refused),
                                     CHECK_TEST(the_newest_whole_record_counts),
                                     CHECK_TEST(what_the_last_run_wrote_is_synced_before_the_next_write),
                                     CHECK_TEST(a_taking_over_cut_short_is_finished),
                                     CHECK_TEST(what_is_anothers_is_refused),
                                     CHECK_TEST(what_can_t_be_read_or_made_is_refused),
                                     CHECK_TEST(a_clock_put_back_across_the_restart_is_refused),
                                     CHECK_TEST(a_clock_put_back_before_the_close_is_refused),
                                     CHECK_TEST(a_clock_put_back_while_a_crash_is_waited_out),
                                     CHECK_TEST(too_long_a_downtime_is_refused),
                                     CHECK_TEST(one_run_at_a_time),
                                     CHECK_TEST(a_sno_state_at_the_same_path_lets_go_of_nothing),
                                     CHECK_TEST(an_open_state_opened_again_stays_as_it_is),
                                     CHECK_TEST(a_change_of_folder_does_not_move_the_file),
                                     CHECK_TEST(a_child_leaves_its_parents_file_alone),
                                     CHECK_TEST(a_bump_keeps_the_lock),
                                     CHECK_TEST(killed_at_each_system_call),
                                     CHECK_TEST(a_full_disk_stops_draws_at_the_horizon),
                                     CHECK_TEST(a_file_that_can_t_grow),
                                     CHECK_TEST(a_timer_writes_instead_of_draws),
                                     CHECK_TEST(a_timer_keeps_up_with_ids_ahead_of_the_clock),
                                     CHECK_TEST(a_second_generator_on_a_state_repeats_nothing),
                                     CHECK_TEST(a_state_is_for_its_generators_alone),
                                     CHECK_TEST(a_snapshot_does_not_pass_by_the_horizon),
                                     CHECK_TEST(a_gate_is_asked_for_each_unit),
                                     CHECK_TEST(every_init_asks_for_the_gates_floor),
                                     CHECK_TEST(a_place_in_the_queue_is_asked_for),
                                     CHECK_TEST(a_gate_that_says_again_is_waited_for),
                                     CHECK_TEST(the_horizon_ends_with_the_clock),
                                     CHECK_TEST(closed_while_others_draw),
                                     CHECK_TEST(runs_that_end_anywhere_repeat_nothing),
                                     CHECK_TEST(killed_from_outside),
                                     CHECK_TEST(a_sno_state_brings_its_pool)};
    const char *room = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%s/ids-XXXXXX", room && *room ? room : "/tmp");
    void *page = mmap(NULL, sizeof *our, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || !mkdtemp(folder)) return 1;
    our = (common *)page;
    const int code = CHECK_MAIN(argc, argv, all);
    empty_folder();
    (void)rmdir(folder);
    return code;
}
