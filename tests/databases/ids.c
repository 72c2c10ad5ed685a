/* SPDX-License-Identifier: MIT
 *
 * ids.c FOLDER COUNT   draws COUNT ids of each kind over some hours of the caller's time, and writes
 * for each kind
 *
 *     KIND.made     number,id    in the order of their making
 *     KIND.mixed    the same lines in another order, to load
 *     KIND.sql      the same as SQL, for kinds that are blobs
 *     KIND.ranges   name,least,greatest    windows of time, as min_at and max_at bound them
 *     KIND.NAME     the lines of the ids whose time, taken from them, lies in that window
 *
 * and random.made, as many UUIDs of version 4, to compare with.
 */
#include "check.h"
#include "flake.h"
#include "sno.h"

typedef struct kind {
    const char *name;
    bool blob; /* KIND.sql is needed */
} kind;

enum { bigint, flake_bytes, sno_bytes, uuid7_bytes, flake_uuid, sno_uuid, uuid7, kinds };
static const kind all[kinds] = {{"bigint", false},     {"flake_bytes", true}, {"sno_bytes", true},
                                {"uuid7_bytes", true}, {"flake_uuid", false}, {"sno_uuid", false},
                                {"uuid7", false}};

typedef struct row {
    int64_t unix_ms;
    uint64_t flake;
    flake128 wide, uuid;
    sno_id sno;
} row;

typedef struct window {
    const char *name;
    int64_t from_ms, to_ms;
} window;

static row *rows;
static size_t count;

#define MUST(condition) \
    ((condition) ? (void)0 : (printf("%s:%d: %s\n", __FILE__, __LINE__, #condition), exit(1)))

static uint64_t random_below(uint64_t bound) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % bound;
}

/* Three of four ids share the ms of the one before; over all a million take six hours. */
static void make_rows(void) {
    static flake_gen flakes, wides, uuids;
    static sno_gen snos;
    flake_options options = {0};
    sno_snapshot partition = {0};
    options.node = 97;
    partition.partition = 4711;
    MUST(flake_init(&flakes, &options, NULL) == FLAKE_OK);
    options.layout = flake_layout_boundary;
    options.node = 0x0242ac110002;
    MUST(flake_init(&wides, &options, NULL) == FLAKE_OK);
    MUST(sno_init(&snos, &partition, NULL, NULL) == FLAKE_OK);
    memset(&options, 0, sizeof options);
    options.layout = flake_layout_uuid7;
    MUST(flake_init(&uuids, &options, NULL) == FLAKE_OK);
    int64_t unix_ms = 1750000000000; /* the default layout begins in 2025 */
    for (size_t i = 0; i < count; i++) {
        if (random_below(4) == 0) unix_ms += (int64_t)random_below(173);
        rows[i].unix_ms = unix_ms;
        MUST(flake_try_at(&flakes, unix_ms, &rows[i].flake) == FLAKE_OK);
        MUST(flake128_try_at(&wides, unix_ms, &rows[i].wide) == FLAKE_OK);
        MUST(flake128_try_at(&uuids, unix_ms, &rows[i].uuid) == FLAKE_OK);
        MUST(sno_try_at(&snos, 7, unix_ms, &rows[i].sno) == FLAKE_OK);
    }
}

static char *hex(const uint8_t *bytes, size_t n, char *text) {
    for (size_t i = 0; i < n; i++) (void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return text;
}

static char *text_of(unsigned k, const row *r, char *text) {
    switch (k) {
    case bigint: MUST(flake_format(r->flake, FLAKE_DEC, text, FLAKE_TEXT_SIZE) != 0); return text;
    case flake_bytes: return hex(r->wide.bytes, 16, text);
    case sno_bytes: return hex(r->sno.bytes, 10, text);
    case uuid7_bytes: return hex(r->uuid.bytes, 16, text);
    case flake_uuid: flake128_to_uuid(&r->wide, text); return text;
    case uuid7: flake128_to_uuid(&r->uuid, text); return text;
    default: sno_to_uuid(r->sno, text); return text;
    }
}

/* The window's time is that of the kind's units. */
static int64_t unit_of(unsigned k, int64_t unix_ms) {
    return k == sno_bytes || k == sno_uuid ? unix_ms / 4 * 4 : unix_ms;
}

static int64_t time_of(unsigned k, const row *r) {
    flake_parts parts;
    switch (k) {
    case bigint:
        MUST(flake_decompose(&flake_layout_default, r->flake, &parts) == FLAKE_OK);
        return parts.unix_ms;
    case flake_bytes:
    case flake_uuid:
        MUST(flake128_decompose(&flake_layout_boundary, &r->wide, &parts) == FLAKE_OK);
        return parts.unix_ms;
    case uuid7_bytes:
    case uuid7:
        MUST(flake128_decompose(&flake_layout_uuid7, &r->uuid, &parts) == FLAKE_OK);
        return parts.unix_ms;
    default: return sno_time_ms(r->sno);
    }
}

static void bounds(const window *w, row *least, row *greatest) {
    MUST(flake_min_at(&flake_layout_default, w->from_ms, &least->flake) == FLAKE_OK);
    MUST(flake_max_at(&flake_layout_default, w->to_ms, &greatest->flake) == FLAKE_OK);
    MUST(flake128_min_at(&flake_layout_boundary, w->from_ms, &least->wide) == FLAKE_OK);
    MUST(flake128_max_at(&flake_layout_boundary, w->to_ms, &greatest->wide) == FLAKE_OK);
    MUST(flake128_min_at(&flake_layout_uuid7, w->from_ms, &least->uuid) == FLAKE_OK);
    MUST(flake128_max_at(&flake_layout_uuid7, w->to_ms, &greatest->uuid) == FLAKE_OK);
    MUST(sno_min_at(w->from_ms, &least->sno) == FLAKE_OK);
    MUST(sno_max_at(w->to_ms, &greatest->sno) == FLAKE_OK);
}

static FILE *open_named(const char *folder, const char *name, const char *what) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s.%s", folder, name, what);
    FILE *out = fopen(path, "w");
    MUST(out != NULL);
    return out;
}

static FILE *open_for(const char *folder, unsigned k, const char *what) {
    return open_named(folder, all[k].name, what);
}

static void write_random(const char *folder) {
    FILE *made = open_named(folder, "random", "made");
    for (size_t i = 0; i < count; i++) {
        flake128 id;
        char text[37];
        for (size_t k = 0; k < 16; k++) id.bytes[k] = (uint8_t)random_below(256);
        id.bytes[6] = (uint8_t)(0x40 | (id.bytes[6] & 15));
        id.bytes[8] = (uint8_t)(0x80 | (id.bytes[8] & 63));
        flake128_to_uuid(&id, text);
        (void)fprintf(made, "%zu,%s\n", i, text);
    }
    MUST(fclose(made) == 0);
}

static void write_rows(const char *folder, unsigned k) {
    FILE *made = open_for(folder, k, "made"), *mixed = open_for(folder, k, "mixed");
    FILE *sql = all[k].blob ? open_for(folder, k, "sql") : NULL;
    const size_t step = 10007; /* a prime: all numbers come, unless it divides the count */
    char text[FLAKE128_TEXT_SIZE];
    MUST(count % step != 0);
    if (sql) (void)fprintf(sql, "BEGIN;\n");
    for (size_t i = 0, j = 0; i < count; i++, j = (j + step) % count) {
        (void)fprintf(made, "%zu,%s\n", i, text_of(k, &rows[i], text));
        (void)fprintf(mixed, "%zu,%s\n", j, text_of(k, &rows[j], text));
        if (sql)
            (void)fprintf(sql, "%s(%zu,X'%s')%s", i % 100 ? "" : "INSERT INTO ids VALUES ", j, text,
                          i % 100 == 99 || i + 1 == count ? ";\n" : ",");
    }
    if (sql) {
        (void)fprintf(sql, "COMMIT;\n");
        MUST(fclose(sql) == 0);
    }
    MUST(fclose(made) == 0 && fclose(mixed) == 0);
}

static void write_ranges(const char *folder, unsigned k, const window *windows, size_t n) {
    FILE *ranges = open_for(folder, k, "ranges");
    char least_text[FLAKE128_TEXT_SIZE], greatest_text[FLAKE128_TEXT_SIZE];
    for (size_t i = 0; i < n; i++) {
        const int64_t from = unit_of(k, windows[i].from_ms), to = unit_of(k, windows[i].to_ms);
        row least, greatest;
        bounds(&windows[i], &least, &greatest);
        (void)fprintf(ranges, "%s,%s,%s\n", windows[i].name, text_of(k, &least, least_text),
                      text_of(k, &greatest, greatest_text));
        FILE *inside = open_for(folder, k, windows[i].name);
        for (size_t r = 0; r < count; r++) {
            MUST(time_of(k, &rows[r]) == unit_of(k, rows[r].unix_ms));
            if (time_of(k, &rows[r]) >= from && time_of(k, &rows[r]) <= to)
                (void)fprintf(inside, "%zu,%s\n", r, text_of(k, &rows[r], least_text));
        }
        MUST(fclose(inside) == 0);
    }
    MUST(fclose(ranges) == 0);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    /* else what is printed would land in a file that took the closed one's place */
    for (int file = 0; file < 3; file++) MUST(fcntl(file, F_GETFD) != -1);
    count = strtoul(argv[2], NULL, 10);
    if (count < 1000) {
        printf("%s ids are too few\n", argv[2]);
        return 2;
    }
    rows = (row *)calloc(count, sizeof *rows);
    MUST(rows != NULL);
    make_rows();
    size_t gap = count / 2;
    while (rows[gap + 1].unix_ms - rows[gap].unix_ms < 20) gap++;
    const window windows[] = {
        {"some_time", rows[count / 3].unix_ms, rows[count / 3 + count / 20].unix_ms},
        {"one_unit", rows[count / 2].unix_ms, rows[count / 2].unix_ms},
        {"a_pause", rows[gap].unix_ms + 8, rows[gap + 1].unix_ms - 8},
        {"before_all", rows[0].unix_ms - 60000, rows[0].unix_ms - 8},
        {"past_the_end", rows[count - 1].unix_ms, rows[count - 1].unix_ms + 60000}};
    for (unsigned k = 0; k < kinds; k++) {
        write_rows(argv[1], k);
        write_ranges(argv[1], k, windows, sizeof windows / sizeof *windows);
    }
    write_random(argv[1]);
    free(rows);
    return 0;
}
