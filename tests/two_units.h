/* SPDX-License-Identifier: MIT
 *
 * What two_units_other.cc offers to two_units_main.c. Include it after both headers.
 */
#ifndef TWO_UNITS_H
#define TWO_UNITS_H

#ifdef __cplusplus
extern "C" {
#endif
typedef flake_status unit_calls_flake(flake_gen *, uint64_t *id);
typedef flake_status unit_calls_sno(sno_gen *, uint8_t meta, sno_id *);
unit_calls_flake *other_unit_calls_flake(void);
unit_calls_sno *other_unit_calls_sno(void);
#ifndef FLAKE_SHARED /* else only the unit with the implementation knows them */
void *other_unit_flake_process(void);
void *other_unit_flake_default(void);
void *other_unit_sno_partitions(void);
void *other_unit_sno_default(void);
#endif
size_t other_unit_flake_gen_size(void);
size_t other_unit_sno_gen_size(void);
uint64_t other_unit_flake_next(flake_gen *gen);
flake_status other_unit_sno_next(sno_gen *gen, sno_id *id);
sno_id other_unit_sno_generate(void);
int other_unit_uuid7(uint8_t out[16]);
#ifdef __cplusplus
}
#endif

#endif
