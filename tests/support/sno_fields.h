/* SPDX-License-Identifier: MIT
 *
 * Shared by the tests of snos and of their text: the original's snos, read from a file, and a repeatable source of
 * others. Include it after support.h and sno.h.
 */
#ifndef SNO_FIELDS_H
#define SNO_FIELDS_H

typedef struct sno_fields {
    uint64_t units;
    unsigned tick, meta, partition, sequence;
    sno_id id;
    char text[17];
    int64_t time_ns;
    char json[19];
} sno_fields;

static void (*sno_fields_use)(const sno_fields *);

static inline void sno_fields_row(char **field) {
    sno_fields row;
    row.units = strtoull(field[0], NULL, 10);
    row.tick = (unsigned)strtoul(field[1], NULL, 10);
    row.meta = (unsigned)strtoul(field[2], NULL, 10);
    row.partition = (unsigned)strtoul(field[3], NULL, 10);
    row.sequence = (unsigned)strtoul(field[4], NULL, 10);
    hex_bytes(field[5], row.id.bytes, sizeof row.id.bytes);
    (void)snprintf(row.text, sizeof row.text, "%s", field[6]);
    row.time_ns = strtoll(field[7], NULL, 10);
    (void)snprintf(row.json, sizeof row.json, "%s", field[8]);
    sno_fields_use(&row);
}

static inline void sno_fields_each(void (*use)(const sno_fields *)) {
    sno_fields_use = use;
    vectors_read("sno_fields.tsv", 9, sno_fields_row);
}

static uint64_t random_state = UINT64_C(0x9e3779b97f4a7c15);

static inline uint64_t random_bits(void) { return random_next(&random_state); }

static inline sno_id random_id(void) {
    sno_id id;
    for (size_t i = 0; i < sizeof id.bytes; i++) id.bytes[i] = (uint8_t)(random_bits() >> 32);
    return id;
}

#endif
