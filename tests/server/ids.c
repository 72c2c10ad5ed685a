/* SPDX-License-Identifier: MIT
 *
 * ids.c MOST_UNSEEN LOG... -- RESPONSES...   compares the ids that the server's threads stamped
 * (LOG, 8 bytes each) with those in the responses that came (RESPONSES, lines): none twice in either,
 * each that came was stamped, and at most MOST_UNSEEN were stamped and did not come, since wrk
 * leaves when its time is over. Prints how many came.
 */
#include "check.h"
#include "flake.h"
#include <stdbool.h>

typedef struct list {
    uint64_t *ids;
    size_t n, room;
} list;

static void add(list *l, uint64_t id) {
    if (l->n == l->room) {
        l->room = l->room ? 2 * l->room : 1 << 16;
        l->ids = (uint64_t *)realloc(l->ids, l->room * sizeof *l->ids);
        if (!l->ids) abort();
    }
    l->ids[l->n++] = id;
}

static bool read_log(list *l, FILE *in) {
    uint64_t id;
    while (fread(&id, sizeof id, 1, in) == 1) add(l, id);
    return true;
}

static bool read_lines(list *l, FILE *in) {
    char line[64];
    while (fgets(line, sizeof line, in)) {
        uint64_t id;
        if (flake_parse(line, strcspn(line, "\n"), FLAKE_DEC, &id) != FLAKE_OK) {
            printf("  no id: %s", line);
            return false;
        }
        add(l, id);
    }
    return true;
}

static int compare_ids(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static size_t duplicates(list *l, const char *what) {
    size_t n = 0;
    qsort(l->ids, l->n, sizeof *l->ids, compare_ids);
    for (size_t i = 1; i < l->n; i++)
        if (l->ids[i] == l->ids[i - 1] && n++ == 0)
            printf("  %s: %" PRIu64 " twice\n", what, l->ids[i]);
    return n;
}

int main(int argc, char **argv) {
    list stamped = {NULL, 0, 0}, came = {NULL, 0, 0};
    bool well = argc > 3, logs = true;
    for (int i = 2; i < argc && well; i++) {
        if (strcmp(argv[i], "--") == 0) {
            logs = false;
            continue;
        }
        FILE *in = fopen(argv[i], "rb");
        well = in && (logs ? read_log(&stamped, in) : read_lines(&came, in));
        if (!well) printf("  %s can't be read\n", argv[i]);
        if (in) (void)fclose(in);
    }
    if (!well) return 2;

    const size_t most_unseen = strtoul(argv[1], NULL, 10);
    const size_t twice = duplicates(&stamped, "stamped") + duplicates(&came, "came");
    size_t unknown = 0;
    for (size_t i = 0, k = 0; i < came.n; i++) {
        while (k < stamped.n && stamped.ids[k] < came.ids[i]) k++;
        unknown += k == stamped.n || stamped.ids[k] != came.ids[i];
    }
    if (unknown) printf("  %zu came that no thread has stamped\n", unknown);
    const bool lost = stamped.n > came.n + most_unseen;
    if (lost) printf("  %zu were stamped, %zu came\n", stamped.n, came.n);
    printf("came %zu\n", came.n);
    free(stamped.ids);
    free(came.ids);
    return twice || unknown || lost || !came.n;
}
