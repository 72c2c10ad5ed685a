/* SPDX-License-Identifier: MIT
 *
 * A module's interface for its host: calls of its own copy of the headers, and a scripted clock.
 */
#ifndef PLUGIN_H
#define PLUGIN_H

#include "flake.h"
#include "sno.h"

typedef struct plugin {
    /* From now on the copy's clock does not move, and its random bytes are these two. */
    void (*script)(uint16_t random);
    sno_id (*generate)(uint8_t meta);
    flake_status (*uuid7)(uint8_t out[16]);
    flake_status (*init)(flake_gen *, flake_node, const flake_options *, flake_why *);
    flake_status (*next_n)(flake_gen *, uint64_t *ids, size_t n);
    flake_status (*reinit)(flake_gen *, flake_node, const flake_options *, flake_why *);
    void (*clone)(void);
    flake_status (*close)(flake_gen *, flake_why *);
} plugin;

__attribute__((visibility("default"))) const plugin *plugin_calls(void);

#endif
