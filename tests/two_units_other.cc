// SPDX-License-Identifier: MIT
//
// The other unit of two_units_main.c, which says what is tested. Compiles as C++ and as C.
#if defined(FLAKE_SHARED) && defined(REVERSED)
#define FLAKE_IMPLEMENTATION
#endif
#if defined(REVERSED)
#include "flake.h"
#include "sno.h"
#else
#include "sno.h"
#include "flake.h"
#endif
#include "two_units.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifndef FLAKE_SHARED
void *other_unit_flake_process(void) { return (void *)&flake_i_process; }
void *other_unit_flake_default(void) { return (void *)&flake_i_default; }
void *other_unit_sno_partitions(void) { return (void *)&sno_i_partitions; }
void *other_unit_sno_default(void) { return (void *)&sno_i_default; }
#endif
unit_calls_flake *other_unit_calls_flake(void) { return flake_next; }
unit_calls_sno *other_unit_calls_sno(void) { return sno_next; }
size_t other_unit_flake_gen_size(void) { return sizeof(flake_gen); }
size_t other_unit_sno_gen_size(void) { return sizeof(sno_gen); }

uint64_t other_unit_flake_next(flake_gen *gen) {
    uint64_t id = 0;
    return flake_next(gen, &id) == FLAKE_OK ? id : 0;
}

flake_status other_unit_sno_next(sno_gen *gen, sno_id *id) { return sno_next(gen, 0, id); }
sno_id other_unit_sno_generate(void) { return sno_generate(0); }
int other_unit_uuid7(uint8_t out[16]) { return (int)flake_uuid7_bytes(out); }
#ifdef __cplusplus
}
#endif
