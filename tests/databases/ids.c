/* SPDX-License-Identifier: MIT
 *
 * ids.c DIRECTORY COUNT   draws COUNT IDs of each kind over some hours of the caller's time, and writes for each kind
 *
 *     KIND.made     number,id    in the order of generation
 *     KIND.ranges   name,least,greatest    windows of time, as min_at and max_at bound them
 *     KIND.NAME     the lines of the ids whose time lies in that window
 */
#define REAL_SLEEP
#define CHECK_OWN_MAIN
#include "support.h"
#include "flake.h"
#include "sno.h"

enum { flakes, wides, uuids, snos, generators };
static const struct {
    const char *name;
    unsigned from;
    enum { decimal, hex, uuid } form;
} kinds[] = {{"bigint", flakes, decimal}, {"flake_bytes", wides, hex}, {"sno_bytes", snos, hex},
             {"uuid7_bytes", uuids, hex}, {"flake_uuid", wides, uuid}, {"sno_uuid", snos, uuid},
             {"uuid7", uuids, uuid}};

typedef struct row {
    int64_t unix_ms;
    flake128 id[generators]; /* the bytes of each: 8, 16, 16 and 10 */
} row;

static flake_layout layouts[] = {FLAKE_LAYOUT_DEFAULT, FLAKE_LAYOUT_BOUNDARY, FLAKE_LAYOUT_UUID7};
static row *rows;
static size_t count;
static uint64_t random_state = 88172645463325252u;

#define MUST(condition) \
    ((condition) ? (void)0 : (printf("%s:%d: %s\n", __FILE__, __LINE__, #condition), exit(1)))
#define WELL(call) MUST((call) == FLAKE_OK)

/* Three of four IDs share the ms of the one before; a million of them take six hours. Their times
 * are in the past, so no generator may start after the system's time. */
static void make_rows(void) {
    static flake_gen gens[snos];
    static sno_gen sno_ids;
    const flake_node nodes[] = {flake_node_fixed(NULL, 97), flake_node_fixed(NULL, 0x0242ac110002), flake_node_none()};
    for (unsigned g = 0; g < snos; g++) {
        const flake_options options = {.layout = layouts[g], .start_this_unit = true};
        WELL(flake_init(&gens[g], nodes[g], &options, NULL));
    }
    const flake_options sno_options = {.start_this_unit = true};
    WELL(sno_init(&sno_ids, flake_node_fixed(NULL, 4711), NULL, &sno_options, NULL));
    int64_t unix_ms = 1750000000000; /* the default layout begins in 2025 */
    for (row *r = rows; r < rows + count; r++) {
        uint64_t flake;
        sno_id sno;
        if (random_below(&random_state, 4) == 0) unix_ms += (int64_t)random_below(&random_state, 173);
        r->unix_ms = unix_ms;
        WELL(flake_try_at(&gens[flakes], unix_ms, &flake));
        flake_to_bytes(flake, r->id[flakes].bytes);
        WELL(flake128_try_at(&gens[wides], unix_ms, &r->id[wides]));
        WELL(flake128_try_at(&gens[uuids], unix_ms, &r->id[uuids]));
        WELL(sno_try_at(&sno_ids, 7, unix_ms, &sno));
        sno_to_bytes(sno, r->id[snos].bytes);
    }
}

static char *text_of(unsigned k, const flake128 *id, char *text) {
    const unsigned g = kinds[k].from;
    if (kinds[k].form == decimal)
        MUST(flake_format(flake_from_bytes(id->bytes), FLAKE_DEC, text, FLAKE_TEXT_SIZE) != 0);
    else if (kinds[k].form == hex)
        for (size_t i = 0; i < (g == snos ? 10 : 16); i++) (void)snprintf(text + 2 * i, 3, "%02x", id->bytes[i]);
    else if (g == snos) sno_to_uuid(sno_from_bytes(id->bytes), text);
    else flake128_to_uuid(id, text);
    return text;
}

static flake128 bound(unsigned g, int64_t unix_ms, bool greatest) {
    flake128 id = {{0}};
    uint64_t flake = 0;
    sno_id sno;
    if (g == flakes) {
        WELL((greatest ? flake_max_at : flake_min_at)(&layouts[g], unix_ms, &flake));
        flake_to_bytes(flake, id.bytes);
    } else if (g == snos) {
        WELL((greatest ? sno_max_at : sno_min_at)(unix_ms, &sno));
        sno_to_bytes(sno, id.bytes);
    } else WELL((greatest ? flake128_max_at : flake128_min_at)(&layouts[g], unix_ms, &id));
    return id;
}

static FILE *open_file(const char *folder, const char *name, const char *what) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s.%s", folder, name, what);
    FILE *out = fopen(path, "w");
    MUST(out != NULL);
    return out;
}

/* Those with a time from..to, in the kind's units. */
static void write_rows(const char *folder, unsigned k, const char *what, int64_t from_ms, int64_t to_ms) {
    FILE *out = open_file(folder, kinds[k].name, what);
    const int64_t unit_ms = kinds[k].from == snos ? 4 : 1;
    for (size_t i = 0; i < count; i++) {
        char text[FLAKE128_TEXT_SIZE];
        const int64_t unix_ms = rows[i].unix_ms / unit_ms * unit_ms;
        if (unix_ms >= from_ms / unit_ms * unit_ms && unix_ms <= to_ms)
            (void)fprintf(out, "%zu,%s\n", i, text_of(k, &rows[i].id[kinds[k].from], text));
    }
    MUST(fclose(out) == 0);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    /* else the output would land in a file that replaced the closed one */
    for (int file = 0; file < 3; file++) MUST(fcntl(file, F_GETFD) != -1);
    count = strtoul(argv[2], NULL, 10);
    if (count < 1000) return printf("%s IDs are too few\n", argv[2]), 2;
    rows = (row *)calloc(count, sizeof *rows);
    MUST(rows != NULL);
    make_rows();
    size_t gap = count / 2;
    while (rows[gap + 1].unix_ms - rows[gap].unix_ms < 20) gap++;
    const struct {
        const char *name;
        int64_t from_ms, to_ms;
    } windows[] = {{"some_time", rows[count / 3].unix_ms, rows[count / 3 + count / 20].unix_ms},
                   {"one_unit", rows[count / 2].unix_ms, rows[count / 2].unix_ms},
                   {"a_pause", rows[gap].unix_ms + 8, rows[gap + 1].unix_ms - 8},
                   {"before_all", rows[0].unix_ms - 60000, rows[0].unix_ms - 8},
                   {"past_the_end", rows[count - 1].unix_ms, rows[count - 1].unix_ms + 60000}};
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        FILE *ranges = open_file(argv[1], kinds[k].name, "ranges");
        write_rows(argv[1], k, "made", 0, INT64_MAX);
        for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
            char least[FLAKE128_TEXT_SIZE], greatest[FLAKE128_TEXT_SIZE];
            const flake128 from = bound(kinds[k].from, windows[i].from_ms, false),
                           to = bound(kinds[k].from, windows[i].to_ms, true);
            (void)fprintf(ranges, "%s,%s,%s\n", windows[i].name, text_of(k, &from, least), text_of(k, &to, greatest));
            write_rows(argv[1], k, windows[i].name, windows[i].from_ms, windows[i].to_ms);
        }
        MUST(fclose(ranges) == 0);
    }
    free(rows);
    return 0;
}
