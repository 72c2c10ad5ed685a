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
#include "plugin.h"

static void script(uint16_t random) {
    scripted.is_on = true;
    scripted.random = random;
    scripted.now_ns = 1700000000000000000;
}

const plugin *plugin_calls(void) {
    static const plugin calls = {script,
                                 sno_generate,
                                 flake_uuid7_bytes,
                                 flake_init,
                                 flake_next_n,
                                 flake_reinit_after_fork,
                                 flake_machine_cloned,
                                 flake_close};
    return &calls;
}
