/* SPDX-License-Identifier: MIT
 *
 * A sno as a number. Include it after sno.h.
 */
#ifndef SNO_KEY_H
#define SNO_KEY_H

/* Time, tick and sequence: they distinguish the snos of one partition and metabyte, in 56 bits that
 * sort in the same order. */
static inline uint64_t sno_key(sno_id id) {
    return sno_units(id) << 17 | (uint64_t)sno_tick(id) << 16 | sno_sequence(id);
}

#endif
