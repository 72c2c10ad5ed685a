/* SPDX-License-Identifier: MIT
 *
 * A server that a test starts, and a client that exchanges bytes. Define _GNU_SOURCE first.
 */
#ifndef CLIENT_H
#define CLIENT_H

#define REAL_SLEEP
#define CHECK_OWN_MAIN
#include "support.h"
#include "flake.h"
#include "sno.h"
#include "children.h"
#include "real_time.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

static const char *server_path, *server_mode;

/* IDs of one connection rise; those of lanes by units, and inside one they differ. */
static inline bool is_later(const flake_layout *l, uint64_t id, uint64_t last) {
    if (strcmp(server_mode, "lanes") != 0) return id > last;
    return id != last && id >> l->time_shift >= last >> l->time_shift;
}

/* ---- the server ---- */

typedef struct server {
    pid_t pid;
    uint16_t port; /* 0: it did not start */
    int output;    /* what it prints, errors too */
} server;

enum { client_patience_s = 10 };

/* With those of the options that are not NULL. */
static inline server launch(const char *option, const char *another) {
    char mode[32];
    int ends[2];
    (void)snprintf(mode, sizeof mode, "--mode=%s", server_mode);
    if (pipe2(ends, O_CLOEXEC) != 0) abort();
    const server s = {fork_child(), 0, ends[0]};
    if (s.pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(ends[1], 1);
        (void)dup2(ends[1], 2);
        execl(server_path, server_path, mode, "--threads=2", option, another, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    return s;
}

/* Waits for the first line, or the end, of what it prints. */
static inline void hear_port(server *s, char *line, size_t room) {
    const ssize_t n = read(s->output, line, room - 1);
    line[n > 0 ? n : 0] = 0;
    if (strncmp(line, "port ", 5) == 0 && !strchr(line, ':')) s->port = (uint16_t)atoi(line + 5);
    (void)close(s->output);
}

static inline server start(const char *option, const char *another) {
    char line[256];
    server s = launch(option, another);
    hear_port(&s, line, sizeof line);
    CHECK(s.port != 0);
    return s;
}

static inline void stop(server s) {
    CHECK_EQ(kill(s.pid, SIGTERM), 0);
    CHECK_EQ(end_of(s.pid), 0);
}

/* ---- a client ---- */

typedef struct client {
    int socket;
    size_t held;
    char buffer[1 << 16];
} client;

typedef struct response {
    int status; /* 0: the connection ended, or the bytes are no response */
    bool closes;
    char id[64], head[1024];
    size_t length;
    char *body;
} response;

static char bodies[1 << 22];

static inline client *connect_to(server s) {
    client *c = (client *)calloc(1, sizeof *c);
    const int yes = 1;
    const struct timeval patience = {client_patience_s, 0};
    struct sockaddr_in address = {0};
    address.sin_family = AF_INET;
    address.sin_port = htons(s.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!c) abort();
    c->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(connect(c->socket, (struct sockaddr *)&address, sizeof address), 0);
    (void)setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    (void)setsockopt(c->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return c;
}

static inline void leave(client *c) {
    (void)close(c->socket);
    free(c);
}

static inline void say_bytes(client *c, const char *bytes, size_t n) {
    while (n) {
        const ssize_t sent = send(c->socket, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0) return;
        bytes += sent;
        n -= (size_t)sent;
    }
}

static inline void say(client *c, const char *bytes) { say_bytes(c, bytes, strlen(bytes)); }

static inline void ask(client *c, const char *target) {
    char request[512];
    (void)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: test\r\n\r\n", target);
    say(c, request);
}

static inline bool hear_more(client *c) {
    const ssize_t n = recv(c->socket, c->buffer + c->held, sizeof c->buffer - c->held, 0);
    if (n <= 0) return false;
    c->held += (size_t)n;
    return true;
}

static inline void drop(client *c, size_t n) {
    memmove(c->buffer, c->buffer + n, c->held - n);
    c->held -= n;
}

/* Takes what is before `end`, and the end. */
static inline bool hear_until(client *c, const char *end, char *text, size_t room) {
    char *found;
    while ((found = (char *)memmem(c->buffer, c->held, end, strlen(end))) == NULL)
        if (!hear_more(c)) return false;
    const size_t n = (size_t)(found - c->buffer);
    if (n >= room) return false;
    memcpy(text, c->buffer, n);
    text[n] = 0;
    drop(c, n + strlen(end));
    return true;
}

static inline bool hear_body(client *c, response *r, size_t n) {
    if (r->length + n >= sizeof bodies) return false;
    while (n) {
        if (!c->held && !hear_more(c)) return false;
        const size_t part = c->held < n ? c->held : n;
        memcpy(r->body + r->length, c->buffer, part);
        drop(c, part);
        r->length += part;
        n -= part;
    }
    r->body[r->length] = 0;
    return true;
}

static inline bool hear_chunks(client *c, response *r) {
    char size[16];
    for (;;) {
        if (!hear_until(c, "\r\n", size, sizeof size)) return false;
        const size_t n = strtoul(size, NULL, 16);
        if (!hear_body(c, r, n) || !hear_until(c, "\r\n", size, sizeof size) || *size) return false;
        if (!n) return true;
    }
}

static response heard = {.body = bodies};

static inline response *hear(client *c, bool head_only) {
    response *r = &heard;
    r->status = 0;
    r->length = 0;
    r->body[0] = r->id[0] = 0;
    if (!hear_until(c, "\r\n\r\n", r->head, sizeof r->head)) return r;
    const char *id = strstr(r->head, "\r\nX-Request-Id: ");
    const char *length = strstr(r->head, "\r\nContent-Length: ");
    r->closes = strstr(r->head, "\r\nConnection: close") != NULL;
    if (id) (void)sscanf(id + 16, "%63[0-9]", r->id);
    if (strncmp(r->head, "HTTP/1.1 ", 9) != 0) return r;
    if (!head_only && !(length ? hear_body(c, r, (size_t)atol(length + 18)) : hear_chunks(c, r))) return r;
    r->status = atoi(r->head + 9);
    return r;
}

/* The server receives a request, and answers. */
#define SERVES(c, target)                      \
    do {                                       \
        ask(c, target);                        \
        CHECK_EQ(hear(c, false)->status, 200); \
    } while (0)

/* How many of so many requests it answers. */
static inline int answers(client *c, int requests) {
    int n = 0;
    while (n < requests && hear(c, false)->status == 200) n++;
    return n;
}

/* The server has closed in order, without a reset, and sent nothing more. */
static inline bool hears_the_end(client *c) {
    return c->held == 0 && recv(c->socket, c->buffer, sizeof c->buffer, 0) == 0;
}

static inline uint64_t id_of(const response *r) {
    uint64_t id = 0;
    CHECK_EQ(flake_parse(r->id, strlen(r->id), FLAKE_DEC, &id), FLAKE_OK);
    return id;
}

static inline int64_t now_ms(void) { return clock_ns(CLOCK_MONOTONIC) / 1000000; }

/* ---- the program: SERVER MODE [NAME...] ---- */

static inline void begin_clients(int argc, char **argv) {
    if (argc < 3) exit(2);
    server_path = argv[1];
    server_mode = argv[2];
    (void)alarm(60); /* ends a server that hangs */
}

static inline int end_clients(int argc, char **argv, const server *s, int n) {
    const int failed = check_main(argc - 2, argv + 2);
    while (n--) (void)kill(s[n].pid, SIGKILL);
    return failed;
}

#endif
