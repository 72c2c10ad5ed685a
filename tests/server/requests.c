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
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

static const char *server_path, *server_mode;

/* ---- the server ---- */

typedef struct server {
    pid_t pid;
    uint16_t port;
} server;

static server start(const char *option, const char *another) {
    char mode[32], line[32] = "";
    int ends[2];
    server s;
    (void)snprintf(mode, sizeof mode, "--mode=%s", server_mode);
    if (pipe(ends) != 0) abort();
    (void)fflush(stdout);
    s.pid = fork();
    if (s.pid < 0) abort();
    if (s.pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(ends[1], 1);
        (void)close(ends[0]);
        execl(server_path, server_path, mode, "--threads=2", option, another, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    const ssize_t n = read(ends[0], line, sizeof line - 1);
    CHECK(n > 5 && strncmp(line, "port ", 5) == 0);
    s.port = (uint16_t)atoi(line + 5);
    (void)close(ends[0]);
    return s;
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
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons(s.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!c) abort();
    c->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(connect(c->socket, (struct sockaddr *)&address, sizeof address), 0);
    (void)setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
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

static void what_is_no_request_is_refused_by_name(void) {
    static const struct {
        const char *request;
        int status;
        const char *why;
    } cases[] = {
        {"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\r\nabc", 405, "GET"},
        {"DELETE / HTTP/1.1\r\nHost: test\r\n\r\n", 405, "GET"},
        {"GET / HTTP/1.0\r\nHost: test\r\n\r\n", 505, "HTTP/1.1"},
        {"GET / HTTP/2.0\r\nHost: test\r\n\r\n", 505, "HTTP/1.1"},
        {"GET / HTTP/1.1\r\n\r\n", 400, "Host"},
        {"GET / HTTP/1.1\r\nGhost: test\r\n\r\n", 400, "Host"},
        {"GET /\r\nHost: test\r\n\r\n", 400, "request line"},
        {"GET\r\n\r\n", 400, "request line"},
        {"\r\n\r\n", 400, "request line"},
        {"GET index HTTP/1.1\r\nHost: test\r\n\r\n", 400, "request line"},
        {"GET / HTTP/1.1\r\nHost: test\r\ncontent-length: 3\r\n\r\nabc", 400, "body"},
        {"GET / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
         "body"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        client *c = connect_to(usual);
        say(c, cases[i].request);
        ask(c, "/"); /* may be part of a body, so it is not answered */
        CHECK_EQ(hear(c, false)->status, cases[i].status);
        CHECK(strstr(heard.body, cases[i].why) != NULL);
        CHECK(heard.closes);
        CHECK(heard.id[0] != 0);
        CHECK_EQ(strstr(heard.head, "Allow: GET, HEAD") != NULL, cases[i].status == 405);
        CHECK(hears_the_end(c));
        leave(c);
    }
    client *c = connect_to(usual);
    say_bytes(c, "GET / HTTP/1.1\r\nHost: test\r\nX: \0\r\n\r\n", 37);
    CHECK_EQ(hear(c, false)->status, 400);
    leave(c);
}

static void a_connection_closes_when_it_is_asked_to(void) {
    client *c = connect_to(usual);
    say(c, "GET / HTTP/1.1\r\nHost: test\r\nConnection: Close\r\n\r\n");
    ask(c, "/");
    CHECK_EQ(hear(c, false)->status, 200);
    CHECK(heard.closes);
    CHECK(hears_the_end(c));
    leave(c);
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
    static const check_test all[] = {CHECK_TEST(each_request_on_a_connection_has_an_id_of_its_own),
                                     CHECK_TEST(an_id_has_the_server_s_time_and_node),
                                     CHECK_TEST(pipelined_requests_are_answered_in_their_order),
                                     CHECK_TEST(a_request_may_come_byte_by_byte),
                                     CHECK_TEST(a_request_may_be_cut_anywhere),
                                     CHECK_TEST(a_head_that_is_too_long_is_refused),
                                     CHECK_TEST(a_head_request_gets_no_body),
                                     CHECK_TEST(what_is_no_request_is_refused_by_name),
                                     CHECK_TEST(a_connection_closes_when_it_is_asked_to),
                                     CHECK_TEST(who_says_no_more_still_hears_every_answer),
                                     CHECK_TEST(a_list_has_each_layout_in_each_format),
                                     CHECK_TEST(a_list_has_wide_ids_in_each_base),
                                     CHECK_TEST(a_list_has_snos_as_text_and_as_uuids),
                                     CHECK_TEST(a_wrong_parameter_is_named),
                                     CHECK_TEST(stamps_and_lists_have_no_id_in_common),
                                     CHECK_TEST(a_client_that_does_not_read_holds_up_nobody),
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
    const int failed = CHECK_MAIN(argc - 2, argv + 2, all);
    (void)kill(usual.pid, SIGKILL);
    return failed;
}
