/* SPDX-License-Identifier: MIT
 *
 * Generators with a number in the scene's directory: starts them, draws, and reads their files. For
 * test_directory*.c and test_gates.c.
 */
#ifndef SCRIPTED_DIRECTORY_H
#define SCRIPTED_DIRECTORY_H

#include "process_scene.h"
#include "flake.h"
#include "sno.h"
#include "options.h"
#include "sno_key.h"

static flake_gen gen, other, third;
static sno_gen sno;
static flake_why why;

/* Number n of the scene's directory, and its file. */
static inline flake_node slot(uint64_t n) { return flake_node_fixed(our_folder, n); }

static inline const char *slot_path(uint64_t n) {
    char name[32];
    (void)snprintf(name, sizeof name, "%" PRIu64 ".slot", n);
    return path_of(name);
}

static inline flake_status init_with(flake_gen *g, flake_node node, flake_options o) {
    memset(&why, 0, sizeof why);
    return flake_init(g, node, &o, &why);
}

static inline flake_status init_slot(flake_gen *g, uint64_t n) {
    return init_with(g, slot(n), options_in_scene());
}

static inline flake_status init_in(flake_gen *g, const char *dir, uint64_t n) {
    return init_with(g, flake_node_fixed(dir, n), options_in_scene());
}

static inline flake_node range(uint64_t first, uint64_t last) { return flake_node_any(our_folder, first, last); }

static inline flake_status init_range(flake_gen *g, uint64_t first, uint64_t last) {
    return init_with(g, range(first, last), options_in_scene());
}

static inline flake_status init_sno(sno_gen *g, flake_node node, const sno_snapshot *snapshot) {
    const flake_options o = options_of_sno(scene_clock, NULL);
    memset(&why, 0, sizeof why);
    return sno_init(g, node, snapshot, &o, &why);
}

static inline flake_status draw_from(flake_gen *g) {
    uint64_t id;
    const flake_status status = flake_next(g, &id);
    if (status == FLAKE_OK) note(id);
    return status;
}

/* Begins a run with number n, whose first ID is drawn. */
static inline void run(flake_gen *g, uint64_t n) {
    CHECK_EQ(init_slot(g, n), FLAKE_OK);
    CHECK_EQ(draw_from(g), FLAKE_OK);
}

static inline flake_status draw_sno(sno_gen *g) {
    sno_id id;
    const flake_status status = sno_next(g, 0, &id);
    if (status == FLAKE_OK) note(sno_key(id) | (uint64_t)1 << 63);
    return status;
}

/* Of the last ID that was noted. */
static inline int64_t newest_ms(void) { return ms_of(our->ids[our->n - 1]); }

static inline void close_it(flake_gen *g) { CHECK_EQ(flake_close(g, NULL), FLAKE_OK); }

/* At the end of each scene: no ID was repeated, and all generators can be closed. One that has lost its file is
 * closed by the test itself. */
static inline void end_scene(void) {
    on_sleep = NULL;
    disk_begin();
    no_id_is_repeated();
    close_it(&gen);
    close_it(&other);
    close_it(&third);
    close_it(&sno.gen);
}

static inline int directory_main(int argc, char **argv) {
    check_after = end_scene;
    return scene_main(argc, argv);
}

/* The generator's process has crashed, as far as others can detect. */
static inline void crash_here(flake_gen *g) {
    flake_i_file_drop(&g->claim.file, false);
    memset((void *)g, 0, sizeof *g);
}

static inline flake_i_record record_at(const char *path) {
    static uint8_t bytes[FLAKE_I_FILE];
    flake_i_record r;
    memset(&r, 0, sizeof r);
    CHECK_EQ(flake_i_slot_get(bytes, read_file(path, bytes, sizeof bytes), &r), FLAKE_OK);
    return r;
}

static inline flake_i_record record_of(uint64_t n) { return record_at(slot_path(n)); }
static inline int64_t horizon_of(uint64_t n) { return record_of(n).horizon_ns; }

/* The reason is about this file, in words. */
static inline bool why_is_of(uint64_t n) {
    const size_t length = strlen(slot_path(n));
    return strncmp(why.text, slot_path(n), length) == 0 && strlen(why.text) > length + 5;
}

#endif
