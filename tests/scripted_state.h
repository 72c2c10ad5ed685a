/* SPDX-License-Identifier: MIT
 *
 * One generator of flake.h with a state file, on a scripted clock and on a disk that fails or kills
 * where a test says; and children, who share a log of ids with their parent. For test_state.c and
 * test_state_ends.c; it includes both headers. (The other tests of files have scene.h, whose clock is
 * shared too, and calls.h.) Define _GNU_SOURCE first.
 */
#ifndef SCRIPTED_STATE_H
#define SCRIPTED_STATE_H

#include "support.h"
#include "disk.h"
#include "flake.h"
#include "sno.h"
#include "ways_to_draw.h"
#include <sys/mman.h>
#include <sys/wait.h>

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
static inline void empty_folder(void) {
    static const char *const names[] = {"ids",       "others",   "childs",  "snos",
                                        "all_flake", "all_wide", "all_sno", "all_sno_shards"};
    static const char *const endings[] = {"", ".new"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) {
            char path[300];
            (void)snprintf(path, sizeof path, "%s/%s%s", folder, names[i], endings[k]);
            (void)unlink(path);
        }
}

static inline void begin(void) {
    empty_folder();
    disk_begin();
    script_at_ms(start_ms);
    our->log.n = 0;
    atomic_store(&our->trouble, 0u);
    (void)fflush(stdout);
}

static inline void trouble(int line, const char *what) {
    atomic_fetch_add(&our->trouble, 1u);
    printf("  line %d, in a child: %s\n", line, what);
    (void)fflush(stdout);
}
#define EXPECT(condition) ((condition) ? (void)0 : trouble(__LINE__, #condition))

/* Runs it in a forked child; what wait says. */
static inline int in_child(void (*run)(void)) {
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        run();
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return status;
}

static inline void child_is_well(void (*run)(void)) {
    CHECK_EQ(in_child(run), 0);
    CHECK_EQ(atomic_load(&our->trouble), 0);
}

/* ---- one generator of flake.h with its state ---- */

static flake_state state;
static flake_gen gen;
static flake_why why;

static inline flake_options options_of(uint32_t node) {
    return options_of_flake(node, 0, 0, script_read, &script_now);
}

static inline flake_state_options where_of(const char *path) {
    flake_state_options w;
    memset(&w, 0, sizeof w);
    w.path = path;
    return w;
}

/* The state is as after a crash of this process, as far as others can tell. */
static inline void crash_here(void) {
    flake_i_file_drop(&state.file, false);
    memset(&state, 0, sizeof state);
}

static inline flake_status open_node(const char *path, uint32_t node) {
    const flake_state_options w = where_of(path);
    const flake_options o = options_of(node);
    memset(&why, 0, sizeof why);
    return flake_state_open(&state, &w, &o, NULL, &why);
}

static inline flake_status start_gen(void) {
    flake_options o = options_of(1);
    o.state = &state;
    return flake_init(&gen, &o, NULL);
}

static inline flake_status open_and_start(const char *path) {
    const flake_status status = open_node(path, 1);
    return status == FLAKE_OK ? start_gen() : status;
}

static inline void note(uint64_t id) {
    way_ids ids;
    ids.n = 1;
    ids.keys[0] = id;
    ways_note(&our->log, FAMILY_FLAKE, &ids);
}


static inline flake_status draw(uint64_t *id) {
    const flake_status status = flake_next(&gen, id);
    if (status == FLAKE_OK) note(*id);
    return status;
}

static inline flake_i_record record_of(const char *path) {
    flake_i_record r;
    uint8_t bytes[FLAKE_I_FILE];
    memset(&r, 0, sizeof r);
    CHECK_EQ(flake_i_file_get(bytes, read_file(path, bytes, sizeof bytes), &r), FLAKE_OK);
    return r;
}

/* What it refuses it names, and leaves as it was. */
static inline void refused(const char *path, flake_status status, flake_status wanted) {
    CHECK_EQ(status, wanted);
    CHECK(strncmp(why.text, path, strlen(path)) == 0);
    CHECK(strlen(why.text) > strlen(path) + 5);
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_INVALID);
}

static inline void draw_then_die(void) {
    uint64_t id;
    EXPECT(open_and_start(path_of("ids")) == FLAKE_OK);
    for (int i = 0; i < 10; i++) EXPECT(draw(&id) == FLAKE_OK);
    (void)kill(getpid(), SIGKILL);
}

static inline void crash(void) { CHECK(WIFSIGNALED(in_child(draw_then_die))); }

/* ---- a folder for the tests, and memory that children share ---- */

static inline int state_main(int argc, char **argv) {
    const char *room = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%s/ids-XXXXXX", room && *room ? room : "/tmp");
    void *page = mmap(NULL, sizeof *our, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || !mkdtemp(folder)) return 1;
    our = (common *)page;
    const int code = check_main(argc, argv);
    empty_folder();
    (void)rmdir(folder);
    return code;
}

#endif
