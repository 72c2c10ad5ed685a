/* SPDX-License-Identifier: MIT
 *
 * Generators with a state file in a scene: opens and starts them, draws, and reads the file. For
 * test_state*.c and test_gates.c.
 */
#ifndef SCRIPTED_STATE_H
#define SCRIPTED_STATE_H

#include "scene.h"
#include "flake.h"
#include "sno.h"
#include "options.h"
#include "sno_key.h"

static flake_state state, snos;
static flake_gen gen;
static sno_gen sno;
static flake_why why;

static inline flake_state_options where_of(const char *name) {
    return (flake_state_options){.path = path_of(name)};
}

static inline flake_status open_with(flake_state *s, flake_state_options w, flake_node node,
                                     flake_options o) {
    memset(&why, 0, sizeof why);
    return flake_state_open(s, &w, node, &o, NULL, &why);
}

static inline flake_status open_at(flake_state *s, const char *name) {
    return open_with(s, where_of(name), flake_node_fixed(NULL, 1), options_in_scene());
}

static inline flake_status open_snos(const char *name, sno_snapshot *pool) {
    const flake_state_options w = where_of(name);
    const flake_options o = options_of_sno(scene_clock, NULL);
    memset(&why, 0, sizeof why);
    return sno_state_open(&snos, &w, &o, pool, &why);
}

static inline flake_status start_with(flake_gen *g, flake_node node, flake_options o,
                                      flake_state *s) {
    o.state = s;
    return flake_init(g, node, &o, NULL);
}

static inline flake_status start_on(flake_gen *g, flake_state *s) {
    return start_with(g, flake_node_fixed(NULL, 1), options_in_scene(), s);
}

static inline flake_status start_sno(const sno_snapshot *pool) {
    flake_options o = options_of_sno(scene_clock, NULL);
    o.state = &snos;
    return sno_init(&sno, pool ? flake_node_fixed(NULL, pool->partition) : flake_node_none(), pool,
                    &o, NULL);
}

static inline flake_status open_and_start(void) {
    const flake_status status = open_at(&state, "ids");
    return status == FLAKE_OK ? start_on(&gen, &state) : status;
}

static inline void begin_with_ids(void) {
    begin();
    CHECK_EQ(open_and_start(), FLAKE_OK);
}

static inline flake_status draw_from(flake_gen *g) {
    uint64_t id;
    const flake_status status = flake_next(g, &id);
    if (status == FLAKE_OK) note(id);
    return status;
}

static inline flake_status draw(void) { return draw_from(&gen); }

static inline flake_status draw_sno(void) {
    sno_id id;
    const flake_status status = sno_next(&sno, 0, &id);
    if (status == FLAKE_OK) note(sno_key(id) | (uint64_t)1 << 63);
    return status;
}

/* Of the last ID that was noted. */
static inline int64_t newest_ms(void) { return ms_of(our->ids[our->n - 1]); }

static inline void close_it(flake_state *s) { CHECK_EQ(flake_state_close(s, NULL), FLAKE_OK); }

static inline void close_if_open(flake_state *s) {
    const flake_status status = flake_state_close(s, NULL);
    CHECK(status == FLAKE_OK || status == FLAKE_INVALID);
}

/* At the end of each scene: no ID was repeated, and all open states can be closed. */
static inline void end_scene(void) {
    on_sleep = NULL;
    disk_begin();
    CHECK_EQ(repeated(), 0);
    close_if_open(&state);
    close_if_open(&snos);
}

static inline int state_main(int argc, char **argv) {
    check_after = end_scene;
    return scene_main(argc, argv);
}

/* The state is as after a crash of this process, as far as others can detect. */
static inline void crash_here(void) {
    flake_i_file_drop(&state.file, false);
    memset(&state, 0, sizeof state);
}

static inline flake_i_record record_of(const char *name) {
    static uint8_t bytes[FLAKE_I_FILE];
    flake_i_record r;
    memset(&r, 0, sizeof r);
    CHECK_EQ(flake_i_file_get(bytes, read_file(path_of(name), bytes, sizeof bytes), &r), FLAKE_OK);
    return r;
}

static inline int64_t horizon_at(const char *name) { return record_of(name).horizon_ns; }

static inline bool why_is_of(const char *name) {
    return strncmp(why.text, path_of(name), strlen(path_of(name))) == 0;
}

#endif
