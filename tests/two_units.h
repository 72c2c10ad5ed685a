/* SPDX-License-Identifier: MIT
 *
 * What two_units_other.cc offers to two_units_main.c. Include it after both headers.
 */
#ifndef TWO_UNITS_H
#define TWO_UNITS_H

#ifdef __cplusplus
extern "C" {
#endif
void *other_unit_flake_process(void);
void *other_unit_sno_partitions(void);
void *other_unit_sno_default(void);
size_t other_unit_flake_gen_size(void);
size_t other_unit_sno_gen_size(void);
uint64_t other_unit_flake_next(flake_gen *gen);
flake_status other_unit_sno_next(sno_gen *gen, sno_id *id);
sno_id other_unit_sno_generate(void);
void *other_unit_flake_default(void);
size_t other_unit_flake128_gen_size(void);
int other_unit_uuid7(uint8_t out[16]);
#ifdef __cplusplus
}
#endif

#endif
