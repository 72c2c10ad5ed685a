/* SPDX-License-Identifier: MIT
 *
 * The functions of two_units_other.cc, for two_units_main.c. Include it after both headers.
 */
#ifndef TWO_UNITS_H
#define TWO_UNITS_H

typedef struct unit {
    flake_status (*flake)(flake_gen *, uint64_t *id);
    flake_status (*sno)(sno_gen *, uint8_t meta, sno_id *);
    sno_id (*generate)(uint8_t meta);
    flake_status (*uuid7)(uint8_t out[16]);
    size_t flake_gen_size, sno_gen_size;
    const char *(*what_containers_miss)(void); /* "": nothing. NULL in C */
    void *objects[5]; /* none with FLAKE_SHARED: only the unit with the implementation knows them */
} unit;
#ifdef __cplusplus
extern "C" {
#endif
extern const unit other_unit;
#ifdef __cplusplus
}
#endif

#ifdef FLAKE_SHARED
#define OBJECTS \
    { NULL, NULL, NULL, NULL, NULL }
#else
#define OBJECTS                                                                        \
    {                                                                                  \
        (void *)&flake_i_process, (void *)&flake_i_default, (void *)&sno_i_partitions, \
            (void *)&sno_i_default, (void *)&flake_i_counter                           \
    }
#endif

#endif
