/* SPDX-License-Identifier: MIT
 *
 * A unit of mixed.c: its process-wide objects, and draws by its version of the headers.
 */
#ifndef MIXED_H
#define MIXED_H

#include <stddef.h>
#include <stdint.h>

enum { MIXED_OBJECTS = 4, MIXED_IDS = 1000 };
typedef struct mixed {
    struct {
        const char *name;
        void *at;
        size_t size;
    } objects[MIXED_OBJECTS];
    int (*make)(uint32_t node); /* 0: made */
    int (*next)(uint64_t *id);
    void (*generate)(uint8_t id[10]);
    int (*uuid)(uint8_t id[16]);
} mixed;

extern const mixed mixed_one, mixed_two;

#endif
