/* SPDX-License-Identifier: MIT
 *
 * What a module offers to its host: calls of its own copy of the headers. Statuses are flake's.
 */
#ifndef PLUGIN_H
#define PLUGIN_H

#include <stddef.h>
#include <stdint.h>

typedef struct plugin {
    /* From now on sno.h's clock stands still, and its random bytes are these two. */
    void (*script)(uint16_t random);
    void (*snos)(uint8_t (*ids)[10], size_t n); /* of sno_generate */
    int (*uuids)(uint8_t (*ids)[16], size_t n); /* of flake_uuid7_bytes */
    int (*make)(uint32_t node);                 /* the module's one flake_gen */
    int (*flakes)(uint64_t *ids, size_t n);
    int (*restart)(uint32_t node); /* after fork */
    void (*bump)(void);
    int (*claim)(const char *dir, int64_t now_ns, uint64_t *number);
    int (*release)(void);
    int (*open_state)(const char *path);
    int (*close_state)(void);
} plugin;

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const plugin *
plugin_calls(void);

#endif
