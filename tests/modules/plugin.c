/* SPDX-License-Identifier: MIT
 *
 * A module: see plugin.h. It is the host, too, in the program itself.
 */
#define FLAKE_CLOCK_NS(kind) \
    (scripted.is_on ? (void)(kind), scripted.now_ns : flake_i_system_ns(kind))
#define FLAKE_SLEEP_NS(ns) \
    (scripted.is_on ? (void)(scripted.now_ns += (ns)) : flake_i_system_sleep(ns))
#define FLAKE_RANDOM_BYTES(to, n) \
    (scripted.is_on ? (memcpy(to, &scripted.random, n), true) : flake_i_system_random(to, n))
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
static struct {
    bool is_on;
    uint16_t random;
    int64_t now_ns;
} scripted;
#include "flake.h"
#include "sno.h"
#include "plugin.h"

static flake_gen gen;
static flake_state numbered;
static flake_state state;

static void script(uint16_t random) {
    scripted.is_on = true;
    scripted.random = random;
    scripted.now_ns = 1700000000000000000;
}

static void snos(uint8_t (*ids)[10], size_t n) {
    for (size_t i = 0; i < n; i++) sno_to_bytes(sno_generate(1), ids[i]);
}

static int uuids(uint8_t (*ids)[16], size_t n) {
    int status = 0;
    for (size_t i = 0; i < n && !status; i++) status = (int)flake_uuid7_bytes(ids[i]);
    return status;
}

static flake_options options_of(uint32_t node) {
    flake_options o;
    memset(&o, 0, sizeof o);
    o.layout = flake_layout_idgen; /* the clock is before the default layout's epoch */
    o.node = node;
    return o;
}

static int make(uint32_t node) {
    const flake_options o = options_of(node);
    return (int)flake_init(&gen, &o, NULL);
}

static int flakes(uint64_t *ids, size_t n) { return (int)flake_next_n(&gen, ids, n); }

static int restart(uint32_t node) {
    const flake_options o = options_of(node);
    return (int)flake_reinit_after_fork(&gen, &o, NULL);
}

static void bump(void) {
    flake_machine_cloned();
    flake_machine_cloned();
}

static int64_t told_ns;
static int64_t told(void *unused) {
    (void)unused;
    return told_ns;
}

static int claim(const char *dir, int64_t now_ns, uint64_t *number) {
    flake_options o;
    flake_state_options where;
    memset(&o, 0, sizeof o);
    memset(&where, 0, sizeof where);
    where.dir = dir;
    o.clock.now_ns = told;
    told_ns = now_ns;
    return (int)flake_state_open(&numbered, &where, &o, number, NULL);
}

static int release(void) { return (int)flake_state_close(&numbered, NULL); }

static int open_state(const char *path) {
    const flake_options o = options_of(0);
    flake_state_options where;
    memset(&where, 0, sizeof where);
    where.path = path;
    return (int)flake_state_open(&state, &where, &o, NULL, NULL);
}

static int close_state(void) { return (int)flake_state_close(&state, NULL); }

const plugin *plugin_calls(void) {
    static const plugin calls = {script, snos,  uuids,   make,       flakes,     restart,
                                 bump,   claim, release, open_state, close_state};
    return &calls;
}
