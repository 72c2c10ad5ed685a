/* SPDX-License-Identifier: MIT
 *
 * claims.c CONNINFO NAME [lossy|forks|MS]   claims a number by examples/postgresql_claim.c, and another one when that
 *                                           is lost. Adds an ID a ms to NAME.ids, a line each, until SIGTERM: then it
 *                                           releases, and goes on as long as there are IDs
 *
 * What happens is added to NAME.said: claimed N, draws N, lost N, released N, and what a claim or a draw says
 * otherwise. lossy: each second statement is lost on its way to the server, or its answer is on its way back. forks:
 * a child tries to use the claim. MS: a horizon so long that a busy machine does not miss two thirds; otherwise 1 s.
 */
#include <fcntl.h>
#include <libpq-fe.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static bool is_lossy;
static unsigned statements;

static PGresult *exec_over_lossy_network(PGconn *db, const char *sql, int n, const Oid *types, const char *const *values,
                                         const int *lengths, const int *formats, int format) {
    const unsigned fate = is_lossy ? ++statements % 4 : 0; // it is lost, answered, its answer is lost, answered
    PGresult *r = fate == 1 ? NULL : PQexecParams(db, sql, n, types, values, lengths, formats, format);
    if (fate == 3) PQclear(r);
    return fate == 3 ? NULL : r;
}

#define PQexecParams exec_over_lossy_network
#define main         example_main
#include "examples/postgresql_claim.c"
#undef main

enum { CLAIMS = 1000 };

static volatile sig_atomic_t stops;
static FILE *said;
static int ids_fd;

static void stop(int signal) { stops = signal; }

static void note(const char *what, const char *number) { // once
    static char last[300];
    char line[300];
    (void)snprintf(line, sizeof line, "%s%s", what, number);
    if (strcmp(line, last) == 0) return;
    (void)fprintf(said, "%s\n", strcpy(last, line));
    (void)fflush(said);
}

static flake_status draw(flake_gen *ids) {
    char line[24];
    uint64_t id;
    const flake_status status = flake_next(ids, &id);
    const int n = snprintf(line, sizeof line, "%llu\n", (unsigned long long)id);
    if (status == FLAKE_OK && write(ids_fd, line, (size_t)n) != n) exit(2);
    return status;
}

static flake_status draw_in_child(pg_claim *c) {
    static flake_gen ids;
    int code;
    const pid_t child = fork();
    if (child == 0) _exit(flake_init(&ids, pg_claim_node(c), NULL, NULL) == FLAKE_OK ? (int)draw(&ids) : 99);
    return waitpid(child, &code, 0) == child && WIFEXITED(code) ? (flake_status)WEXITSTATUS(code) : FLAKE_INVALID;
}

int main(int argc, char **argv) {
    static pg_claim claims[CLAIMS];
    static flake_gen ids;
    char name[200];
    flake_why why;
    if (argc < 3) return 2;
    const char *const way = argc > 3 ? argv[3] : "";
    const int horizon_ms = atoi(way) ? atoi(way) : 1000;
    is_lossy = strcmp(way, "lossy") == 0;
    (void)snprintf(name, sizeof name, "%s.said", argv[2]);
    said = fopen(name, "a");
    (void)snprintf(name, sizeof name, "%s.ids", argv[2]);
    ids_fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (!said || ids_fd < 0 || signal(SIGTERM, stop) == SIG_ERR) return 2;
    for (int i = 0; i < CLAIMS && !stops;) {
        pg_claim *c = &claims[i];
        if (pg_claim_number(c, argv[1], horizon_ms, &why) != FLAKE_OK) {
            note("claim: ", why.text);
            if (c->gate.process) i++;
            (void)poll(NULL, 0, 10);
            continue;
        }
        note("claimed ", c->number);
        if (flake_init(&ids, pg_claim_node(c), NULL, &why) != FLAKE_OK) return puts(why.text), 2;
        if (strcmp(way, "forks") == 0) note("a child: ", flake_status_str(draw_in_child(c)));
        flake_status status = FLAKE_OK;
        while (!stops && status != FLAKE_LEASE_LOST) {
            status = draw(&ids);
            note(status == FLAKE_OK ? "draws " : "draws: ", status == FLAKE_OK ? c->number : flake_status_str(status));
            (void)poll(NULL, 0, 1);
        }
        note(stops ? "ends " : "lost ", c->number);
        note(pg_claim_release(c, &why) == FLAKE_OK ? "released " : "not released ", c->number);
        while ((status = draw(&ids)) == FLAKE_OK) (void)poll(NULL, 0, 1);
        note("then: ", flake_status_str(status));
        i++;
    }
    return 0;
}
