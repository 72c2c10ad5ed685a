/* SPDX-License-Identifier: MIT
 *
 * requests.c SERVER MODE [NAME...]   starts the server, and sends it what a client may send: well formed
 * or not, whole or byte by byte, one or many at once, and goes away at the wrong moment.
 */
#define _GNU_SOURCE
#include "check.h"
#include "flake.h"
#include "sno.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

static const char *server_path, *server_mode;

/* ---- the server ---- */

typedef struct server {
    pid_t pid;
    uint16_t port; /* 0: it did not start */
    int output;    /* what it prints, errors too */
} server;

enum { few_descriptors = 32, client_patience_s = 10 };

static server launch(const char *option, const char *another, bool has_few_descriptors) {
    char mode[32];
    int ends[2];
    server s = {0, 0, -1};
    (void)snprintf(mode, sizeof mode, "--mode=%s", server_mode);
    if (pipe2(ends, O_CLOEXEC) != 0) abort();
    (void)fflush(stdout);
    s.pid = fork();
    if (s.pid < 0) abort();
    if (s.pid == 0) {
        const struct rlimit few = {few_descriptors, few_descriptors};
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(ends[1], 1);
        (void)dup2(ends[1], 2);
        if (has_few_descriptors) (void)setrlimit(RLIMIT_NOFILE, &few);
        execl(server_path, server_path, mode, "--threads=2", option, another, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    s.output = ends[0];
    return s;
}

/* Waits for the first line, or the end, of what it prints. */
static void hear_port(server *s, char *line, size_t room) {
    const ssize_t n = read(s->output, line, room - 1);
    line[n > 0 ? n : 0] = 0;
    if (strncmp(line, "port ", 5) == 0 && !strchr(line, ':')) s->port = (uint16_t)atoi(line + 5);
    (void)close(s->output);
}

static server start_with(const char *option, const char *another, bool has_few_descriptors) {
    char line[256];
    server s = launch(option, another, has_few_descriptors);
    hear_port(&s, line, sizeof line);
    CHECK(s.port != 0);
    return s;
}

static server start(const char *option, const char *another) {
    return start_with(option, another, false);
}

static void stop(server s) {
    int status = -1;
    CHECK_EQ(kill(s.pid, SIGTERM), 0);
    CHECK_EQ(waitpid(s.pid, &status, 0), s.pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- a client ---- */

typedef struct client {
    int socket;
    size_t held;
    char buffer[1 << 16];
} client;

typedef struct response {
    int status; /* 0: the connection ended, or what came is no response */
    bool closes;
    char id[64], head[1024];
    size_t length;
    char *body;
} response;

static char bodies[1 << 22];

static client *connect_to(server s) {
    client *c = (client *)calloc(1, sizeof *c);
    const int yes = 1;
    const struct timeval patience = {client_patience_s, 0};
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
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

static void leave(client *c) {
    (void)close(c->socket);
    free(c);
}

static void say_bytes(client *c, const char *bytes, size_t n) {
    while (n) {
        const ssize_t sent = send(c->socket, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0) return;
        bytes += sent;
        n -= (size_t)sent;
    }
}

static void say(client *c, const char *bytes) { say_bytes(c, bytes, strlen(bytes)); }

static void ask(client *c, const char *target) {
    char request[512];
    (void)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: test\r\n\r\n", target);
    say(c, request);
}

static bool hear_more(client *c) {
    const ssize_t n = recv(c->socket, c->buffer + c->held, sizeof c->buffer - c->held, 0);
    if (n <= 0) return false;
    c->held += (size_t)n;
    return true;
}

static void drop(client *c, size_t n) {
    memmove(c->buffer, c->buffer + n, c->held - n);
    c->held -= n;
}

/* Takes what stands before `end`, and the end. */
static bool hear_until(client *c, const char *end, char *text, size_t room) {
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

static bool hear_body(client *c, response *r, size_t n) {
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

static bool hear_chunks(client *c, response *r) {
    char size[16];
    for (;;) {
        if (!hear_until(c, "\r\n", size, sizeof size)) return false;
        const size_t n = strtoul(size, NULL, 16);
        if (!hear_body(c, r, n) || !hear_until(c, "\r\n", size, sizeof size) || *size) return false;
        if (!n) return true;
    }
}

static response heard = {.body = bodies};

static response *hear(client *c, bool head_only) {
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
    if (!head_only && !(length ? hear_body(c, r, (size_t)atol(length + 18)) : hear_chunks(c, r)))
        return r;
    r->status = atoi(r->head + 9);
    return r;
}

/* The server has closed in order, without a reset, and said nothing more. */
static bool hears_the_end(client *c) {
    return c->held == 0 && recv(c->socket, c->buffer, sizeof c->buffer, 0) == 0;
}

static uint64_t id_of(const response *r) {
    uint64_t id = 0;
    CHECK_EQ(flake_parse(r->id, strlen(r->id), FLAKE_DEC, &id), FLAKE_OK);
    return id;
}

static int64_t now_ms(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + (int64_t)t.tv_nsec / 1000000;
}

/* ---- requests ---- */

static server usual;

static void each_request_on_a_connection_has_an_id_of_its_own(void) {
    client *c = connect_to(usual);
    uint64_t last = 0;
    for (int i = 0; i < 1000; i++) {
        ask(c, "/");
        const response *r = hear(c, false);
        CHECK_EQ(r->status, 200);
        CHECK_STR(r->body, "hello\n");
        CHECK(!r->closes);
        CHECK(id_of(r) > last);
        last = id_of(r);
    }
    leave(c);
}

static void an_id_has_the_server_s_time_and_node(void) {
    client *c = connect_to(usual);
    const flake_layout layout = flake_layout_idgen();
    struct timespec t;
    flake_parts parts;
    ask(c, "/");
    CHECK_EQ(flake_decompose(&layout, id_of(hear(c, false)), &parts), FLAKE_OK);
    (void)clock_gettime(CLOCK_REALTIME, &t);
    CHECK(parts.unix_ms / 1000 <= t.tv_sec && parts.unix_ms / 1000 >= t.tv_sec - 10);
    CHECK_EQ(parts.node, 5);
    leave(c);
}

static void pipelined_requests_are_answered_in_their_order(void) {
    client *c = connect_to(usual);
    uint64_t last = 0;
    for (int i = 0; i < 300; i++) {
        char target[64];
        (void)snprintf(target, sizeof target, "/ids?count=%d", i + 1);
        ask(c, target);
        ask(c, "/");
        say(c, "HEAD /ids HTTP/1.1\r\nHost: test\r\n\r\n");
    }
    for (int i = 0; i < 900; i++) {
        const response *r = hear(c, i % 3 == 2);
        int lines = 0;
        for (size_t k = 0; k < r->length; k++) lines += r->body[k] == '\n';
        CHECK_EQ(r->status, 200);
        CHECK_EQ(lines, i % 3 == 0 ? i / 3 + 1 : i % 3 == 1);
        CHECK(id_of(r) > last);
        last = id_of(r);
    }
    leave(c);
}

static void a_request_may_come_byte_by_byte(void) {
    const char *request = "GET / HTTP/1.1\r\nHost: test\r\n\r\nGET /ids HTTP/1.1\r\nhost:x\r\n\r\n";
    client *c = connect_to(usual);
    for (const char *at = request; *at; at++) say_bytes(c, at, 1);
    CHECK_EQ(hear(c, false)->status, 200);
    CHECK_EQ(hear(c, false)->status, 200);
    leave(c);
}

static void a_request_may_be_cut_anywhere(void) {
    const char *request =
        "GET / HTTP/1.1\r\nHost: test\r\n\r\nGET / HTTP/1.1\r\nHost: test\r\n\r\n";
    client *c = connect_to(usual);
    for (size_t cut = 1; cut < strlen(request); cut++) {
        say_bytes(c, request, cut);
        if (cut >= strlen(request) / 2) CHECK_EQ(hear(c, false)->status, 200);
        say(c, request + cut);
        if (cut < strlen(request) / 2) CHECK_EQ(hear(c, false)->status, 200);
        CHECK_EQ(hear(c, false)->status, 200);
    }
    leave(c);
}

/* A request whose head has `length` bytes. */
static int status_of_a_head_of(size_t length) {
    const char *begin = "GET / HTTP/1.1\r\nHost: test\r\nX: ";
    char *request = (char *)malloc(length);
    client *c = connect_to(usual);
    if (!request) abort();
    memset(request, 'x', length);
    memcpy(request, begin, strlen(begin));
    memcpy(request + length - 4, "\r\n\r\n", 4);
    say_bytes(c, request, length);
    const int status = hear(c, false)->status;
    CHECK_EQ(heard.closes, status != 200);
    (void)shutdown(c->socket, SHUT_WR);
    CHECK(hears_the_end(c));
    leave(c);
    free(request);
    return status;
}

static void a_head_that_is_too_long_is_refused(void) {
    CHECK_EQ(status_of_a_head_of(8192), 200);
    CHECK_EQ(status_of_a_head_of(8193), 431);
    CHECK_EQ(status_of_a_head_of(1000000), 431);
}

static void a_head_request_gets_no_body(void) {
    client *c = connect_to(usual);
    say(c, "HEAD / HTTP/1.1\r\nHost: test\r\n\r\nHEAD /ids?count=9 HTTP/1.1\r\nHost: test\r\n\r\n");
    CHECK_EQ(hear(c, true)->status, 200);
    CHECK(strstr(heard.head, "Content-Length: 6") != NULL);
    CHECK_EQ(hear(c, true)->status, 200);
    CHECK(strstr(heard.head, "Transfer-Encoding: chunked") != NULL);
    ask(c, "/");
    CHECK_EQ(hear(c, false)->status, 200);
    leave(c);
}

/* Refused with that status and a reason that has the word, and nothing behind it is answered. */
static void is_refused(const char *bytes, size_t n, int status, const char *why) {
    const int failures = check_failures;
    client *c = connect_to(usual);
    say_bytes(c, bytes, n);
    ask(c, "/");
    CHECK_EQ(hear(c, false)->status, status);
    CHECK(strstr(heard.body, why) != NULL);
    CHECK(heard.closes);
    CHECK(heard.id[0] != 0);
    CHECK_EQ(strstr(heard.head, "Allow: GET, HEAD") != NULL, status == 405);
    CHECK(hears_the_end(c));
    if (check_failures != failures) printf("  %d, %s, to:\n%s\n", heard.status, heard.body, bytes);
    leave(c);
}

static void what_is_no_request_is_refused_by_name(void) {
    static const struct {
        const char *request;
        int status;
        const char *why;
    } cases[] = {
        {"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\r\nabc", 405, "GET"},
        {"DELETE / HTTP/1.1\r\nHost: test\r\n\r\n", 405, "GET"},
        {"get / HTTP/1.1\r\nHost: test\r\n\r\n", 405, "GET"},
        {"GET / HTTP/1.0\r\nHost: test\r\n\r\n", 505, "HTTP/1.1"},
        {"GET / HTTP/1.0\r\n\r\n", 505, "HTTP/1.1"},
        {"GET / HTTP/2.0\r\nHost: test\r\n\r\n", 505, "HTTP/1.1"},
        {"GET / HTTP/1.1\r\nHost: test\r\ncontent-length: 3\r\n\r\nabc", 400, "body"},
        {"GET / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: Chunked \r\n\r\n0\r\n\r\n", 400,
         "body"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        is_refused(cases[i].request, strlen(cases[i].request), cases[i].status, cases[i].why);
}

static void a_malformed_request_line_is_refused(void) {
    static const char *const lines[] = {
        "",
        "GET",
        "GET ",
        "GET /",
        "GET / ",
        "/ HTTP/1.1",
        " GET / HTTP/1.1",
        " / HTTP/1.1",
        "GET index HTTP/1.1",
        "GET  / HTTP/1.1",
        "GET /  HTTP/1.1",
        "GET / HTTP/1.1 ",
        "GET\t/ HTTP/1.1",
        "GET /\tHTTP/1.1",
        "GET /a b HTTP/1.1",
        "GET /#a HTTP/1.1",
        "GET /\xc3\xa4 HTTP/1.1",
        "G(T / HTTP/1.1",
        "G\xc3\x84T / HTTP/1.1",
        "GET: / HTTP/1.1",
        "GET / http/1.1",
        "GET / HTTP/1",
        "GET / HTTP/11",
        "GET / HTTP/1,1",
        "GET / HTTP/1.10",
        "GET / HTTP/01.1",
        "GET / HTTP/-1.1",
        "GET / HTTP 1.1",
        "GET / FTP/1.1",
    };
    char request[256];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const int n = snprintf(request, sizeof request, "%s\r\nHost: test\r\n\r\n", lines[i]);
        is_refused(request, (size_t)n, 400, "request line");
    }
}

static const char smuggled[] = "GET /ids HTTP/1.1\r\nHost: test\r\n\r\n";

/* What one program may take for a body is no second request to this one. */
static void a_malformed_header_is_refused_with_what_follows(void) {
    static const struct {
        const char *headers, *why;
    } cases[] = {
        {"Content-Length : 34\r\n", "NAME: VALUE"},
        {"Content-Length\t: 34\r\n", "NAME: VALUE"},
        {"Transfer-Encoding : chunked\r\n", "NAME: VALUE"},
        {"Content Length: 34\r\n", "NAME: VALUE"},
        {"(Content-Length): 34\r\n", "NAME: VALUE"},
        {"Content-L\xc3\xa4nge: 34\r\n", "NAME: VALUE"},
        {"Content-Length\r\n", "NAME: VALUE"},
        {": 34\r\n", "NAME: VALUE"},
        {"Content-Length: 34\r\nContent-Length: 34\r\n", "two Content-Length"},
        {"Content-Length: 0\r\ncontent-length: 34\r\n", "two Content-Length"},
        {"Content-Length: 34, 34\r\n", "Content-Length must"},
        {"Content-Length: 0, 34\r\n", "Content-Length must"},
        {"Content-Length: +34\r\n", "Content-Length must"},
        {"Content-Length: -1\r\n", "Content-Length must"},
        {"Content-Length:\r\n", "Content-Length must"},
        {"Content-Length: 0x22\r\n", "Content-Length must"},
        {"Content-Length: 34 0\r\n", "Content-Length must"},
        {"Content-Length: 34.0\r\n", "Content-Length must"},
        {"Content-Length: 18446744073709551650\r\n", "Content-Length must"},
        {"Content-Length: \"34\"\r\n", "Content-Length must"},
        {"Content-Length: 34\r\nTransfer-Encoding: chunked\r\n", "and Transfer-Encoding"},
        {"Transfer-Encoding: chunked\r\nContent-Length: 34\r\n", "and Transfer-Encoding"},
        {"Transfer-Encoding: identity\r\n", "coding is unknown"},
        {"Transfer-Encoding: xchunked\r\n", "coding is unknown"},
        {"Transfer-Encoding: chunked, identity\r\n", "coding is unknown"},
        {"Transfer-Encoding: gzip, chunked\r\n", "coding is unknown"},
        {"Transfer-Encoding: chunked, chunked\r\n", "coding is unknown"},
        {"Transfer-Encoding: chunked;a=b\r\n", "coding is unknown"},
        {"Transfer-Encoding: \"chunked\"\r\n", "coding is unknown"},
        {"Transfer-Encoding:\r\n", "coding is unknown"},
        {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "two Transfer-Encoding"},
        {"X: a\r\n Content-Length: 34\r\n", "blank"},
        {"X: a\r\n\tTransfer-Encoding: chunked\r\n", "blank"},
        {"X: a\r\n \r\n", "blank"},
    };
    char request[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int n = snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: test\r\n%s\r\n%s",
                               cases[i].headers, smuggled);
        is_refused(request, (size_t)n, 400, cases[i].why);
    }
    const int n =
        snprintf(request, sizeof request,
                 "GET / HTTP/1.1\r\n Content-Length: 34\r\nHost: test\r\n\r\n%s", smuggled);
    is_refused(request, (size_t)n, 400, "blank");
}

static void a_body_is_never_answered(void) {
    static const char *const bodies_of[] = {"Content-Length: 34\r\n\r\n",
                                            "content-length:34\r\n\r\n",
                                            "Content-Length: 0\r\n\r\n",
                                            "Transfer-Encoding: chunked\r\n\r\n22\r\n",
                                            "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                                            "Transfer-Encoding: chunked\r\n\r\n-1;\r\n"};
    static const char *const methods[] = {"GET", "HEAD", "POST", "PUT"};
    char request[512];
    for (size_t i = 0; i < sizeof bodies_of / sizeof *bodies_of; i++)
        for (int k = 0; k < 4; k++) {
            client *c = connect_to(usual);
            (void)snprintf(request, sizeof request, "%s / HTTP/1.1\r\nHost: test\r\n%s%s",
                           methods[k], bodies_of[i], smuggled);
            say(c, request);
            CHECK_EQ(hear(c, k == 1)->status, k < 2 ? 400 : 405);
            CHECK(heard.closes);
            CHECK(hears_the_end(c));
            leave(c);
        }
}

static void a_line_ends_with_cr_and_lf(void) {
    static const char *const heads[] = {
        "GET / HTTP/1.1\nHost: test\n\n",
        "GET / HTTP/1.1\nHost: test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: test\n\r\n",
        "GET / HTTP/1.1\r\nHost: test\r\n\n",
        "GET / HTTP/1.1\r\nHost: test\r\nX: a\nContent-Length: 34\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: test\r\nX: a\rContent-Length: 34\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: test\r\nX: a\r\r\nContent-Length: 34\r\n\r\n",
        "GET / HTTP/1.1\rHost: test\r\r",
        "GET / HTTP/1.1\r\nHost: test\r\n\r\r\n",
        "GET / HTTP/1.1\r\nHost: test\r\nContent-Length: 34\n\n",
        "\nGET / HTTP/1.1\r\nHost: test\r\n\r\n",
        "\rGET / HTTP/1.1\r\nHost: test\r\n\r\n",
    };
    char request[512];
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        const int n = snprintf(request, sizeof request, "%s%s", heads[i], smuggled);
        is_refused(request, (size_t)n, 400, "CR and LF");
    }
    client *c = connect_to(usual);
    say(c, "GET / HTTP/1.1\nHost"); /* refused before the head ends, if it ever does */
    CHECK_EQ(hear(c, false)->status, 400);
    CHECK(hears_the_end(c));
    leave(c);
}

static void a_head_has_no_control_character(void) {
    const char *request = "GET /xyz HTTP/1.1\r\nHost: xyz\r\nA: xyz\r\nxyz: 1\r\n\r\n";
    char bytes[128];
    for (int byte = 0; byte < 128; byte++) {
        if (byte >= ' ' && byte != 127) continue;
        for (const char *at = request; (at = strstr(at, "xyz")) != NULL; at++) {
            const bool in_a_value = at == strstr(request, "A: xyz") + 3;
            memcpy(bytes, request, strlen(request) + 1);
            bytes[at - request + 1] = (char)byte;
            if (byte != '\t')
                is_refused(bytes, strlen(request), 400,
                           byte == '\n' || byte == '\r' ? "CR" : "control");
            else if (!in_a_value) is_refused(bytes, strlen(request), 400, "");
        }
    }
    client *c = connect_to(usual);
    say(c, "GET / HTTP/1.1\r\nHost:\t test \t\r\nX: a\tb \xc3\xa4\r\nY:\r\nZ:\t\r\n\r\n");
    CHECK_EQ(hear(c, false)->status, 200);
    leave(c);
}

static void there_is_one_host(void) {
    static const char *const wrong[] = {"",
                                        "Ghost: test\r\n",
                                        "Host : test\r\n",
                                        "Host: test\r\nHost: test\r\n",
                                        "Host: a\r\nX: b\r\nhost: c\r\n",
                                        "Host: a, b\r\n",
                                        "Host: a b\r\n",
                                        "Host: a/b\r\n",
                                        "Host: user@a\r\n",
                                        "Host: a:b\r\n",
                                        "Host: a:1:2\r\n",
                                        "Host: [::1\r\n",
                                        "Host: [::1]x\r\n",
                                        "Host: \xc3\xa4\r\n"};
    static const char *const right[] = {"test",      "test:8080", "127.0.0.1:80", "[::1]:80",
                                        "a-b.c_d.e", "",          "test:",        "%C3%A4"};
    char request[256];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const int n = snprintf(request, sizeof request, "GET / HTTP/1.1\r\n%s\r\n", wrong[i]);
        is_refused(request, (size_t)n, 400, strstr(wrong[i], " :") ? "NAME" : "Host");
    }
    client *c = connect_to(usual);
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        (void)snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost:%s\r\n\r\n", right[i]);
        say(c, request);
        CHECK_EQ(hear(c, false)->status, 200);
    }
    leave(c);
}

static void a_connection_closes_when_it_is_asked_to(void) {
    static const struct {
        const char *headers;
        bool closes;
    } cases[] = {{"Connection: Close\r\n", true},
                 {"Connection: keep-alive,close\r\n", true},
                 {"Connection: , close , x\r\n", true},
                 {"Connection: keep-alive\r\nconnection: close\r\n", true},
                 {"Connection: close\r\nConnection: keep-alive\r\n", true},
                 {"Connection: keep-alive\r\n", false},
                 {"Connection: closed\r\n", false},
                 {"Connection: not-close\r\n", false},
                 {"Connection:\r\n", false},
                 {"X-Connection: close\r\n", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        client *c = connect_to(usual);
        char request[256];
        (void)snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: test\r\n%s\r\n",
                       cases[i].headers);
        say(c, request);
        ask(c, "/");
        CHECK_EQ(hear(c, false)->status, 200);
        CHECK_EQ(heard.closes, cases[i].closes);
        if (cases[i].closes) CHECK(hears_the_end(c));
        else CHECK_EQ(hear(c, false)->status, 200);
        leave(c);
    }
}

static void who_says_no_more_still_hears_every_answer(void) {
    client *c = connect_to(usual);
    for (int i = 0; i < 100; i++) ask(c, "/ids?count=100");
    say(c, "GET / HT");
    (void)shutdown(c->socket, SHUT_WR);
    for (int i = 0; i < 100; i++) CHECK_EQ(hear(c, false)->status, 200);
    CHECK(hears_the_end(c));
    leave(c);
}

/* ---- lists ---- */

static flake_layout (*const layouts[])(void) = {
    flake_layout_idgen,           flake_layout_hazelcast, flake_layout_uniqueid_ordered,
    flake_layout_uniqueid_spread, flake_layout_twitter,   flake_layout_sonyflake,
    flake_layout_discord,         flake_layout_instagram, flake_layout_js53};
static const char *const forms[] = {"dec",    "hex",    "bin",    "",
                                    "base32", "base36", "base58", "base62"};

/* Walks over the lines of the response's body. */
static char *next_line(char **rest) { return strtok_r(*rest, "\n", rest); }

static void a_list_has_each_layout_in_each_format(void) {
    client *c = connect_to(usual);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const flake_layout layout = layouts[i]();
        for (int form = 0; form < (int)(sizeof forms / sizeof *forms); form++) {
            char target[128], *rest = heard.body;
            if (form == FLAKE_BIN4) continue;
            (void)snprintf(target, sizeof target, "/ids?layout=%s&format=%s&count=250", layout.name,
                           forms[form]);
            ask(c, target);
            CHECK_EQ(hear(c, false)->status, 200);
            int n = 0;
            uint64_t last = 0;
            for (char *line; (line = next_line(&rest)) != NULL; n++) {
                uint64_t id = 0;
                flake_parts parts;
                memset(&parts, 0, sizeof parts);
                CHECK_EQ(flake_parse(line, strlen(line), (flake_text)form, &id), FLAKE_OK);
                CHECK_EQ(flake_decompose(&layout, id, &parts), FLAKE_OK);
                CHECK_EQ(parts.node, 5);
                CHECK(id != last && (layout.spread || id > last));
                last = id;
            }
            CHECK_EQ(n, 250);
        }
    }
    leave(c);
}

static void a_list_has_wide_ids_in_each_base(void) {
    static const struct {
        const char *format;
        unsigned base;
    } bases[] = {{"&format=dec", 10},    {"&format=hex", 16},    {"&format=bin", 2},
                 {"&format=base36", 36}, {"&format=base62", 62}, {"", 62}};
    client *c = connect_to(usual);
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        char target[128], *rest = heard.body;
        (void)snprintf(target, sizeof target, "/ids?layout=boundary&count=250%s", bases[i].format);
        ask(c, target);
        CHECK_EQ(hear(c, false)->status, 200);
        int n = 0;
        flake128 last;
        memset(&last, 0, sizeof last);
        for (char *line; (line = next_line(&rest)) != NULL; n++) {
            flake128 id = last;
            flake128_parts parts;
            memset(&parts, 0, sizeof parts);
            CHECK_EQ(flake128_parse(line, strlen(line), bases[i].base, &id), FLAKE_OK);
            CHECK_EQ(flake128_decompose(id, &parts), FLAKE_OK);
            CHECK_EQ(parts.worker, 5);
            CHECK(flake128_compare(last, id) < 0);
            last = id;
        }
        CHECK_EQ(n, 250);
    }
    leave(c);
}

static void a_list_has_snos_as_text_and_as_uuids(void) {
    static const char *const targets[] = {"/ids?layout=sno&count=250",
                                          "/ids?layout=sno&format=text&count=250",
                                          "/ids?layout=sno&format=uuid&count=250"};
    client *c = connect_to(usual);
    for (int i = 0; i < 3; i++) {
        char *rest = heard.body;
        ask(c, targets[i]);
        CHECK_EQ(hear(c, false)->status, 200);
        int n = 0;
        sno_id last;
        memset(&last, 0, sizeof last);
        for (char *line; (line = next_line(&rest)) != NULL; n++) {
            sno_id id = last;
            CHECK_EQ((i == 2 ? sno_from_uuid : sno_decode)(line, strlen(line), &id), SNO_OK);
            CHECK(sno_compare(last, id) < 0);
            last = id;
        }
        CHECK_EQ(n, 250);
    }
    leave(c);
}

static void a_wrong_parameter_is_named(void) {
    static const struct {
        const char *target, *name;
    } cases[] = {
        {"/ids?count=0", "count"},
        {"/ids?count=100001", "count"},
        {"/ids?count=4294967297", "count"},
        {"/ids?count=-1", "count"},
        {"/ids?count=", "count"},
        {"/ids?count", "count"},
        {"/ids?count=1x", "count"},
        {"/ids?count=+1", "count"},
        {"/ids?layout=", "layout"},
        {"/ids?layout=snow", "layout"},
        {"/ids?layout=IDGEN", "layout"},
        {"/ids?format=base64", "format"},
        {"/ids?format=", "format"},
        {"/ids?format=text", "format"},
        {"/ids?layout=sno&format=dec", "format"},
        {"/ids?layout=boundary&format=base58", "format"},
        {"/ids?layout=mastodon", "node"},
        {"/ids?number=5", "parameter"},
        {"/ids?count=5&size=3", "parameter"},
    };
    client *c = connect_to(usual);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ask(c, cases[i].target);
        CHECK_EQ(hear(c, false)->status, 400);
        if (!strstr(heard.body, cases[i].name)) CHECK_STR(heard.body, cases[i].name);
        CHECK(!heard.closes);
    }
    ask(c, "/ids?&count=2&");
    CHECK_EQ(hear(c, false)->status, 200);
    leave(c);
}

static int compare_ids(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* All connections' lists of a layout, and the stamps if they are of it too, draw from the same. */
static void stamps_and_lists_have_no_id_in_common(void) {
    enum { connections = 8, lists = 10, ids_a_list = 1000 };
    enum { all = connections * lists * (ids_a_list + 1) };
    client *c[connections];
    uint64_t *ids = (uint64_t *)calloc(all, sizeof *ids);
    size_t n = 0, duplicates = 0;
    if (!ids) abort();
    for (int i = 0; i < connections; i++) {
        c[i] = connect_to(usual);
        for (int k = 0; k < lists; k++) ask(c[i], "/ids?count=1000&layout=idgen");
    }
    for (int i = 0; i < connections; i++) {
        for (int k = 0; k < lists; k++) {
            char *rest = heard.body;
            CHECK_EQ(hear(c[i], false)->status, 200);
            ids[n++] = id_of(&heard);
            for (char *line; (line = next_line(&rest)) != NULL && n < all; n++)
                CHECK_EQ(flake_parse(line, strlen(line), FLAKE_DEC, &ids[n]), FLAKE_OK);
        }
        leave(c[i]);
    }
    CHECK_EQ(n, all);
    qsort(ids, n, sizeof *ids, compare_ids);
    for (size_t i = 1; i < n; i++) duplicates += ids[i] == ids[i - 1];
    CHECK_EQ(duplicates, 0);
    free(ids);
}

static void a_client_that_does_not_read_holds_up_nobody(void) {
    client *slow[8], *c = connect_to(usual);
    for (int i = 0; i < 8; i++) {
        slow[i] = connect_to(usual);
        for (int k = 0; k < 10; k++) ask(slow[i], "/ids?count=100000&format=bin&layout=twitter");
    }
    const int64_t begin_ms = now_ms();
    for (int i = 0; i < 100; i++) {
        ask(c, "/");
        CHECK_EQ(hear(c, false)->status, 200);
    }
    CHECK(now_ms() - begin_ms < 5000);
    for (int i = 0; i < 7; i++) leave(slow[i]);
    CHECK_EQ(hear(slow[7], false)->status, 0); /* longer than what is kept here */
    leave(slow[7]);
    leave(c);
}

/* ---- a port ---- */

static int exit_code(server s) {
    int status = -1;
    CHECK_EQ(waitpid(s.pid, &status, 0), s.pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_second_server_on_the_port_does_not_start(void) {
    char port[32], said[256], expected[64];
    (void)snprintf(port, sizeof port, "--port=%d", usual.port);
    (void)snprintf(expected, sizeof expected, "port %d: Address already in use\n", usual.port);
    server second = launch("--node=5", port, false);
    hear_port(&second, said, sizeof said);
    CHECK_STR(said, expected);
    if (second.port) stop(second);
    else CHECK_EQ(exit_code(second), 1);
    client *c = connect_to(usual);
    ask(c, "/");
    CHECK_EQ(hear(c, false)->status, 200);
    leave(c);
}

static void of_servers_that_start_at_once_one_has_the_port(void) {
    enum { rounds = 5, rivals = 8 };
    for (int round = 0; round < rounds; round++) {
        server free_one = start("--node=5", NULL), s[rivals];
        char port[32], said[256];
        int owners = 0;
        (void)snprintf(port, sizeof port, "--port=%d", free_one.port);
        stop(free_one);
        for (int i = 0; i < rivals; i++) s[i] = launch("--node=5", port, false);
        for (int i = 0; i < rivals; i++) {
            hear_port(&s[i], said, sizeof said);
            owners += s[i].port != 0;
            if (!s[i].port) CHECK(strstr(said, "Address already in use") != NULL);
        }
        CHECK(owners <= 1); /* those who try at the same moment may all fail */
        for (int i = 0; i < rivals; i++)
            if (s[i].port) stop(s[i]);
            else CHECK_EQ(exit_code(s[i]), 1);
    }
}

/* Its old connections don't keep a server from its port. */
static void a_server_can_start_again_at_once(void) {
    server s = start("--node=5", NULL);
    char port[32];
    (void)snprintf(port, sizeof port, "--port=%d", s.port);
    client *c = connect_to(s);
    ask(c, "/");
    CHECK_EQ(hear(c, false)->status, 200);
    stop(s);
    s = start("--node=5", port);
    leave(c);
    c = connect_to(s);
    ask(c, "/");
    CHECK_EQ(hear(c, false)->status, 200);
    leave(c);
    stop(s);
}

/* ---- descriptors ---- */

static int64_t processor_ms(server s) {
    clockid_t clock;
    struct timespec t = {0, 0};
    CHECK_EQ(clock_getcpuclockid(s.pid, &clock), 0);
    CHECK_EQ(clock_gettime(clock, &t), 0);
    return (int64_t)t.tv_sec * 1000 + (int64_t)t.tv_nsec / 1000000;
}

static void runs_out_of_descriptors(const char *threads) {
    enum { clients = 3 * few_descriptors, window_ms = 500 };
    server s = start_with(threads, NULL, true);
    client *c[clients];
    bool answered[clients] = {false}, all_heard = true;
    int taken = 0;
    for (int i = 0; i < clients; i++) {
        c[i] = connect_to(s);
        ask(c[i], "/");
    }
    struct pollfd first = {c[0]->socket, POLLIN, 0};
    CHECK_EQ(poll(&first, 1, client_patience_s * 1000), 1);

    const int64_t begin_ms = now_ms(), spent_ms = processor_ms(s);
    while (now_ms() - begin_ms < window_ms) (void)poll(NULL, 0, window_ms / 10);
    CHECK(processor_ms(s) - spent_ms < window_ms / 10);

    for (int i = 0; i < clients; i++) {
        struct pollfd arrived = {c[i]->socket, POLLIN, 0};
        answered[i] = poll(&arrived, 1, 0) == 1;
        if (answered[i]) {
            CHECK_EQ(hear(c[i], false)->status, 200);
            ask(c[i], "/"); /* and goes on being served */
            CHECK_EQ(hear(c[i], false)->status, 200);
            taken++;
        }
    }
    CHECK(taken > few_descriptors / 2 && taken < few_descriptors);
    for (int i = 0; i < clients; i++)
        if (answered[i]) leave(c[i]);
    for (int i = 0; i < clients; i++)
        if (!answered[i]) {
            all_heard = all_heard && hear(c[i], false)->status == 200;
            leave(c[i]);
        }
    CHECK(all_heard);
    stop(s);
}

static void without_descriptors_it_serves_whom_it_has_and_does_not_spin(void) {
    runs_out_of_descriptors("--threads=1");
    runs_out_of_descriptors("--threads=2");
}

/* ---- time ---- */

/* A short time for what the client does next. */
enum { idle_ms = 300 };
static server impatient;

static void an_idle_connection_ends(void) {
    for (int requests = 0; requests < 3; requests++) {
        const int64_t begin_ms = now_ms();
        client *c = connect_to(impatient);
        for (int i = 0; i < requests; i++) {
            ask(c, "/");
            CHECK_EQ(hear(c, false)->status, 200);
        }
        CHECK(hears_the_end(c));
        CHECK(now_ms() - begin_ms >= idle_ms - 10);
        leave(c);
    }
}

/* Says a byte now and then, until the server has closed; false: it does not. */
static bool is_cut_off_while_saying(client *c, const char *byte) {
    struct pollfd closed = {c->socket, 0, 0};
    const int64_t begin_ms = now_ms();
    while (poll(&closed, 1, idle_ms / 20) == 0) {
        if (now_ms() - begin_ms > client_patience_s * 1000) return false;
        say(c, byte);
    }
    return true;
}

static void a_head_that_trickles_in_ends_the_connection(void) {
    client *c = connect_to(impatient);
    say(c, "GET / HTTP/1.1\r\nHost: test\r\nX: ");
    CHECK(is_cut_off_while_saying(c, "x"));
    leave(c);
    c = connect_to(impatient);
    ask(c, "/");
    CHECK_EQ(hear(c, false)->status, 200);
    CHECK(is_cut_off_while_saying(c, "G"));
    leave(c);
}

static void a_body_that_trickles_in_ends_the_connection(void) {
    client *c = connect_to(impatient);
    say(c, "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000\r\n\r\n");
    CHECK_EQ(hear(c, false)->status, 405);
    CHECK(hears_the_end(c)); /* it says no more */
    CHECK(is_cut_off_while_saying(c, "x"));
    leave(c);
}

static void answers_that_are_not_read_end_the_connection(void) {
    client *c = connect_to(impatient);
    for (int i = 0; i < 20; i++) ask(c, "/ids?count=100000&format=bin&layout=twitter");
    CHECK(is_cut_off_while_saying(c, "x"));
    leave(c);
}

/* Time begins anew with an answer, and with a head's first byte. */
static void who_asks_in_time_stays(void) {
    client *c = connect_to(impatient);
    for (int i = 0; i < 4; i++) {
        const int64_t begin_ms = now_ms();
        (void)poll(NULL, 0, idle_ms * 6 / 10);
        say(c, "G");
        const int64_t said_ms = now_ms();
        (void)poll(NULL, 0, idle_ms * 6 / 10);
        say(c, "ET / HTTP/1.1\r\nHost: test\r\n\r\n");
        const bool late = /* if this machine stood still */
            said_ms - begin_ms > idle_ms * 8 / 10 || now_ms() - said_ms > idle_ms * 8 / 10;
        const bool answered = hear(c, false)->status == 200;
        CHECK(answered || late);
        if (!answered) break;
    }
    leave(c);
}

/* A list takes longer than a client may be idle. */
static void who_reads_in_time_stays(void) {
    client *c = connect_to(impatient);
    for (int i = 0; i < 20; i++) ask(c, "/ids?count=100000&format=bin&layout=twitter");
    const int64_t begin_ms = now_ms();
    int64_t read_ms = begin_ms;
    while (now_ms() - begin_ms < 5 * idle_ms) {
        const bool came = recv(c->socket, c->buffer, sizeof c->buffer, 0) > 0;
        CHECK(came || now_ms() - read_ms >= idle_ms); /* unless this machine stood still */
        if (!came) break;
        read_ms = now_ms();
        (void)poll(NULL, 0, 5);
    }
    leave(c);
}

/* 256 ids in 10 ms: the last client waits for longer than a client may be idle. */
static void who_waits_for_ids_is_not_idle(void) {
    enum { clients = 50, requests = 300 };
    server s = start("--layout=sonyflake", "--idle-ms=200");
    client *c[clients];
    bool in_time[clients];
    char all[requests * 40] = "";
    for (int i = 0; i < requests; i++) strcat(all, "GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    const int64_t begin_ms = now_ms();
    for (int i = 0; i < clients; i++) {
        const int64_t connect_ms = now_ms();
        c[i] = connect_to(s);
        say(c[i], all);
        in_time[i] = now_ms() - connect_ms < 200;
    }
    for (int i = 0; i < clients; i++) {
        int answers = 0;
        while (answers < requests && hear(c[i], false)->status == 200) answers++;
        CHECK(answers == requests || !in_time[i]);
        leave(c[i]);
    }
    CHECK(now_ms() - begin_ms > 400);
    stop(s);
}

/* ---- more requests than ids ---- */

/* 256 ids in 10 ms; in shards 128 a thread. */
static server scarce;

static void requests_wait_for_the_next_unit_in_their_order(void) {
    enum { requests = 1500 };
    client *c = connect_to(scarce);
    const flake_layout layout = flake_layout_sonyflake();
    uint64_t last = 0, first = 0;
    flake_parts begin, end;
    for (int i = 0; i < requests; i++) ask(c, "/");
    for (int i = 0; i < requests; i++) {
        CHECK_EQ(hear(c, false)->status, 200);
        CHECK(id_of(&heard) > last);
        last = id_of(&heard);
        if (!first) first = last;
    }
    CHECK_EQ(flake_decompose(&layout, first, &begin), FLAKE_OK);
    CHECK_EQ(flake_decompose(&layout, last, &end), FLAKE_OK);
    CHECK(end.time - begin.time >= requests / 256 - 1);
    leave(c);
}

static void nobody_starves_behind_a_long_list(void) {
    client *list = connect_to(scarce), *others[10];
    ask(list, "/ids?count=10000&layout=sonyflake"); /* 0.4 s, or 0.8 s of a shard */
    for (int i = 0; i < 10; i++) others[i] = connect_to(scarce);
    for (int round = 0; round < 5; round++)
        for (int i = 0; i < 10; i++) {
            const int64_t begin_ms = now_ms();
            ask(others[i], "/");
            CHECK_EQ(hear(others[i], false)->status, 200);
            CHECK(now_ms() - begin_ms < 200);
        }
    CHECK_EQ(hear(list, false)->status, 200);
    CHECK(heard.length > 10000u * 15);
    for (int i = 0; i < 10; i++) leave(others[i]);
    leave(list);
}

/* Each asks again as soon as it is answered, all of them more often than there are ids. */
static void all_who_wait_are_served_alike(void) {
    enum { connections = 400 };
    static struct pollfd sockets[connections];
    client *c[connections];
    unsigned answers[connections] = {0}, least = UINT32_MAX, most = 0;
    for (int i = 0; i < connections; i++) {
        c[i] = connect_to(scarce);
        sockets[i].fd = c[i]->socket;
        sockets[i].events = POLLIN;
        ask(c[i], "/");
    }
    const int64_t begin_ms = now_ms();
    while (now_ms() - begin_ms < 700) {
        CHECK(poll(sockets, connections, 1000) > 0);
        for (int i = 0; i < connections; i++)
            if (sockets[i].revents) {
                CHECK_EQ(hear(c[i], false)->status, 200);
                answers[i]++;
                ask(c[i], "/");
            }
    }
    for (int i = 0; i < connections; i++) {
        if (answers[i] < least) least = answers[i];
        if (answers[i] > most) most = answers[i];
        leave(c[i]);
    }
    if (4 * least < most) printf("  one has %u answers, another %u\n", least, most);
    CHECK(least > 0 && 4 * least >= most);
}

static void who_waits_may_leave(void) {
    const struct linger at_once = {1, 0};
    for (int i = 0; i < 200; i++) {
        client *c = connect_to(scarce);
        for (int k = 0; k < 50; k++) ask(c, "/");
        ask(c, "/ids?count=100000");
        if (i % 2) (void)setsockopt(c->socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        if (i % 3) (void)recv(c->socket, c->buffer, 10, 0);
        leave(c);
    }
    client *c = connect_to(scarce);
    ask(c, "/");
    CHECK_EQ(hear(c, false)->status, 200);
    leave(c);
}

static void it_ends_while_requests_wait(void) {
    client *c = connect_to(scarce);
    ask(c, "/ids?count=100000");
    ask(c, "/");
    CHECK(hear_more(c));
    stop(scarce);
    CHECK_EQ(hear(c, false)->status, 0);
    leave(c);
}

int main(int argc, char **argv) {
    static const check_test all[] = {
        CHECK_TEST(each_request_on_a_connection_has_an_id_of_its_own),
        CHECK_TEST(an_id_has_the_server_s_time_and_node),
        CHECK_TEST(pipelined_requests_are_answered_in_their_order),
        CHECK_TEST(a_request_may_come_byte_by_byte),
        CHECK_TEST(a_request_may_be_cut_anywhere),
        CHECK_TEST(a_head_that_is_too_long_is_refused),
        CHECK_TEST(a_head_request_gets_no_body),
        CHECK_TEST(what_is_no_request_is_refused_by_name),
        CHECK_TEST(a_malformed_request_line_is_refused),
        CHECK_TEST(a_malformed_header_is_refused_with_what_follows),
        CHECK_TEST(a_body_is_never_answered),
        CHECK_TEST(a_line_ends_with_cr_and_lf),
        CHECK_TEST(a_head_has_no_control_character),
        CHECK_TEST(there_is_one_host),
        CHECK_TEST(a_connection_closes_when_it_is_asked_to),
        CHECK_TEST(who_says_no_more_still_hears_every_answer),
        CHECK_TEST(a_list_has_each_layout_in_each_format),
        CHECK_TEST(a_list_has_wide_ids_in_each_base),
        CHECK_TEST(a_list_has_snos_as_text_and_as_uuids),
        CHECK_TEST(a_wrong_parameter_is_named),
        CHECK_TEST(stamps_and_lists_have_no_id_in_common),
        CHECK_TEST(a_client_that_does_not_read_holds_up_nobody),
        CHECK_TEST(a_second_server_on_the_port_does_not_start),
        CHECK_TEST(of_servers_that_start_at_once_one_has_the_port),
        CHECK_TEST(a_server_can_start_again_at_once),
        CHECK_TEST(without_descriptors_it_serves_whom_it_has_and_does_not_spin),
        CHECK_TEST(an_idle_connection_ends),
        CHECK_TEST(a_head_that_trickles_in_ends_the_connection),
        CHECK_TEST(a_body_that_trickles_in_ends_the_connection),
        CHECK_TEST(answers_that_are_not_read_end_the_connection),
        CHECK_TEST(who_asks_in_time_stays),
        CHECK_TEST(who_reads_in_time_stays),
        CHECK_TEST(who_waits_for_ids_is_not_idle),
        CHECK_TEST(requests_wait_for_the_next_unit_in_their_order),
        CHECK_TEST(nobody_starves_behind_a_long_list),
        CHECK_TEST(all_who_wait_are_served_alike),
        CHECK_TEST(who_waits_may_leave),
        CHECK_TEST(it_ends_while_requests_wait)};
    if (argc < 3) return 2;
    server_path = argv[1];
    server_mode = argv[2];
    (void)alarm(60); /* whoever hangs, hangs no longer */
    usual = start("--node=5", NULL);
    scarce = start("--node=5", "--layout=sonyflake");
    impatient = start("--node=5", "--idle-ms=300");
    const int failed = CHECK_MAIN(argc - 2, argv + 2, all);
    (void)kill(usual.pid, SIGKILL);
    (void)kill(impatient.pid, SIGKILL);
    return failed;
}
