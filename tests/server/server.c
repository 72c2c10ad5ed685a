/* SPDX-License-Identifier: MIT
 *
 * A small HTTP/1.1 server that stamps each request with an id: a thread a core, each with a socket
 * and an epoll of its own, keep-alive, pipelining.
 *
 *     GET /anything    answers "hello" with the header  X-Request-Id: 8306849466254995456
 *     GET /ids?count=1000&layout=twitter&format=base58          ids for other programs, one a line
 *
 * An event loop must not sleep in a generator. When a unit's ids are all drawn, the request waits in
 * a queue of its generator, and epoll wakes the thread when the next unit begins.
 */
#define _GNU_SOURCE
#include "flake.h"
#include "sno.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/socket.h>

enum {
    max_threads = 64,
    max_count = 100000,       /* ids in one answer */
    patience_ns = 1000000000, /* a request waits no longer for a clock that was put back */
    request_room = 8192,      /* the longest head of a request */
    response_room = 32768,    /* pipelined requests are answered until it may be full */
    batch = 100,              /* ids of one chunk */
    answer_room = 512 + batch * FLAKE128_TEXT_SIZE /* the longest head, or a chunk */
};

/* ---- where ids come from ---- */

static flake_layout (*const layouts[])(void) = {flake_layout_idgen,
                                                flake_layout_hazelcast,
                                                flake_layout_uniqueid_ordered,
                                                flake_layout_uniqueid_spread,
                                                flake_layout_twitter,
                                                flake_layout_sonyflake,
                                                flake_layout_discord,
                                                flake_layout_instagram,
                                                flake_layout_mastodon,
                                                flake_layout_js53};
enum {
    flakes = sizeof layouts / sizeof *layouts,
    boundary = flakes, /* 128 bits */
    sno,
    generators
};

static const struct {
    const char *name;
    int flake;         /* a flake_text, or -1 */
    unsigned boundary; /* a base, or 0 */
} formats[] = {{"dec", FLAKE_DEC, 10},
               {"hex", FLAKE_HEX, 16},
               {"bin", FLAKE_BIN, 2},
               {"base32", FLAKE_BASE32, 0},
               {"base36", FLAKE_BASE36, 36},
               {"base58", FLAKE_BASE58, 0},
               {"base62", FLAKE_BASE62, 62},
               {"text", -1, 0},
               {"uuid", -1, 0}};
enum { dec = 0, base62 = 6, text, uuid, format_count };

typedef enum mode { mode_shared, mode_shard, mode_none } mode;
static const char *const modes[] = {"shared", "shard", "none"};

static struct {
    unsigned port, threads, mode, layout, node;
    const char *log;
} options;

static flake_gen shared[flakes];
static flake_shard shards[flakes][max_threads];
/* Drawn in batches only, each of them one read-modify-write: shared in either mode. */
static flake128_gen boundary_ids;
static sno_gen snos;

static const char *layout_name(unsigned layout) {
    return layout == boundary ? "boundary" : layout == sno ? "sno" : layouts[layout]().name;
}

/* A layout whose bits don't hold the node number is not offered. */
static flake_status made[generators];

static flake_status make_generators(void) {
    flake_options flake;
    memset(&flake, 0, sizeof flake);
    flake.node = options.node;
    for (unsigned i = 0; i < flakes; i++) {
        flake.layout = layouts[i]();
        made[i] = options.mode == mode_shard ? flake_shards_init(shards[i], options.threads, &flake)
                                             : flake_init(&shared[i], &flake);
    }
    made[boundary] = flake128_init(&boundary_ids, options.node, NULL);
    if (sno_init(&snos, NULL) != SNO_OK) made[sno] = FLAKE_INVALID;
    return made[options.layout];
}

/* ---- connections ---- */

typedef enum phase { phase_reading, phase_stamping, phase_listing } phase;

TAILQ_HEAD(connections, connection);

typedef struct connection {
    TAILQ_ENTRY(connection) link;
    struct connections *queue; /* its worker's `open`, or one of `waiting` */
    int socket;
    uint32_t watched;  /* epoll's events */
    bool has_turn;     /* was the first of those who wait */
    bool last_request; /* what follows is not read */
    bool input_ended, shut_down;
    phase phase;
    bool head_only;
    const char *status, *body; /* of the answer that is under way; no body: a list of ids */
    unsigned layout, format, ids_left;
    size_t received, consumed, written, sent;
    char request[request_room];
    char response[response_room];
} connection;

typedef struct worker {
    pthread_t thread;
    unsigned index;
    int listener, epoll;
    FILE *log;
    struct connections open, waiting[generators];
} worker;

static worker workers[max_threads];
static int stop_event;

/* ---- drawing ---- */

typedef union ids {
    uint64_t flake[batch];
    flake128 boundary[batch];
    sno_id sno[batch];
} ids;

static size_t draw(worker *w, unsigned layout, ids *drawn, size_t n) {
    if (layout == boundary) return flake128_try_n(&boundary_ids, drawn->boundary, n);
    if (layout == sno) return sno_try_n(&snos, 0, drawn->sno, n);
    if (options.mode == mode_shard)
        return flake_shard_try_n(&shards[layout][w->index], drawn->flake, n);
    return flake_try_n(&shared[layout], drawn->flake, n);
}

static int64_t retry_ns(worker *w, unsigned layout) {
    if (layout == boundary) return flake128_retry_ns(&boundary_ids);
    if (layout == sno) return sno_retry_ns(&snos);
    if (options.mode == mode_shard) return flake_shard_retry_ns(&shards[layout][w->index]);
    return flake_retry_ns(&shared[layout]);
}

static void move_to(connection *c, struct connections *queue) {
    TAILQ_REMOVE(c->queue, c, link);
    TAILQ_INSERT_TAIL(queue, c, link);
    c->queue = queue;
}

/* A clock that was put back far makes a request fail rather than wait. */
static bool is_due(int64_t wait_ns) { return wait_ns == 0 || wait_ns > patience_ns; }

/* Who finds others in the queue stands behind them, unless it is his turn. */
static bool others_wait(worker *w, connection *c, unsigned layout) {
    return !c->has_turn && !TAILQ_EMPTY(&w->waiting[layout]);
}

/* ---- answers ---- */

static void write_text(connection *c, const char *text_to_write) {
    const size_t n = strlen(text_to_write);
    memcpy(c->response + c->written, text_to_write, n);
    c->written += n;
}

static bool write_head(connection *c, const char *id) {
    const bool list = !c->body;
    char length[32];
    (void)snprintf(length, sizeof length, "%zu", list ? 0 : strlen(c->body));
    write_text(c, "HTTP/1.1 ");
    write_text(c, c->status);
    write_text(c, "\r\nContent-Type: text/plain\r\n");
    write_text(c, list ? "Transfer-Encoding: chunked" : "Content-Length: ");
    if (!list) write_text(c, length);
    if (id) {
        write_text(c, "\r\nX-Request-Id: ");
        write_text(c, id);
    }
    if (strncmp(c->status, "405", 3) == 0) write_text(c, "\r\nAllow: GET, HEAD");
    if (c->last_request) write_text(c, "\r\nConnection: close");
    write_text(c, "\r\n\r\n");
    if (!list && !c->head_only) write_text(c, c->body);
    c->phase = list && !c->head_only ? phase_listing : phase_reading;
    return true;
}

static void write_id(connection *c, const ids *drawn, size_t i) {
    char *at = c->response + c->written;
    const size_t room = FLAKE128_TEXT_SIZE;
    if (c->layout == boundary)
        c->written += flake128_format(drawn->boundary[i], formats[c->format].boundary, at, room);
    else if (c->layout == sno && c->format == uuid) {
        sno_to_uuid(drawn->sno[i], at);
        c->written += 36;
    } else if (c->layout == sno) {
        sno_encode(drawn->sno[i], at);
        c->written += 16;
    } else
        c->written += flake_format(drawn->flake[i], (flake_text)formats[c->format].flake, at, room);
    c->response[c->written++] = '\n';
}

/* The next chunk of a list; false: no id is free. */
static bool write_chunk(worker *w, connection *c) {
    ids drawn;
    const size_t wanted = c->ids_left < batch ? c->ids_left : batch;
    const size_t n = others_wait(w, c, c->layout) ? 0 : draw(w, c->layout, &drawn, wanted);
    if (n == 0) return false;
    char size[8], *const size_at = c->response + c->written;
    c->written += 6;
    const size_t begin = c->written;
    for (size_t i = 0; i < n; i++) write_id(c, &drawn, i);
    (void)snprintf(size, sizeof size, "%04zx\r\n", c->written - begin);
    memcpy(size_at, size, 6);
    write_text(c, "\r\n");
    c->ids_left -= (unsigned)n;
    if (c->ids_left == 0) {
        write_text(c, "0\r\n\r\n");
        c->phase = phase_reading;
    }
    return true;
}

/* ---- requests ---- */

static void refuse(connection *c, const char *status, const char *why) {
    c->status = status;
    c->body = why;
    c->last_request = true;
}

/* Where the value of a header begins; NULL: there is no such header. */
static const char *header(const char *headers, const char *name) {
    const size_t n = strlen(name);
    for (const char *line = headers; *line; line = strstr(line, "\r\n") + 2)
        if (strncasecmp(line, name, n) == 0 && line[n] == ':') return line + n + 1;
    return NULL;
}

static bool has_word(const char *value, const char *word) {
    const char *found = value ? strcasestr(value, word) : NULL;
    return found && found < strstr(value, "\r\n");
}

static bool has_format(unsigned layout, unsigned format) {
    if (layout == sno) return format == text || format == uuid;
    return layout == boundary ? formats[format].boundary != 0 : formats[format].flake >= 0;
}

static void list_ids(connection *c, char *query) {
    unsigned count = 1, layout = options.layout, format = format_count;
    char *rest = query;
    c->status = "400 Bad Request";
    for (char *name; (name = strtok_r(rest, "&", &rest)) != NULL;) {
        char *value = strchr(name, '=');
        if (value) *value++ = 0;
        else value = name + strlen(name);
        if (strcmp(name, "count") == 0) {
            const size_t digits = strspn(value, "0123456789");
            count = digits && digits <= 6 && !value[digits] ? (unsigned)atoi(value) : 0;
        } else if (strcmp(name, "layout") == 0) {
            for (layout = 0; layout < generators && strcmp(value, layout_name(layout)) != 0;)
                layout++;
        } else if (strcmp(name, "format") == 0) {
            for (format = 0; format < format_count && strcmp(value, formats[format].name) != 0;)
                format++;
            if (format == format_count) format++;
        } else {
            c->body = "unknown parameter: there are count, layout and format\n";
            return;
        }
    }
    if (format == format_count) format = layout == sno ? text : layout == boundary ? base62 : dec;
    if (count < 1 || count > max_count) c->body = "count must be a number from 1 to 100000\n";
    else if (layout == generators)
        c->body = "layout must be idgen, hazelcast, uniqueid_ordered, uniqueid_spread, twitter, "
                  "sonyflake, "
                  "discord, instagram, mastodon, js53, boundary or sno\n";
    else if (made[layout] != FLAKE_OK)
        c->body = "layout has no room for this server's node number\n";
    else if (format > format_count || !has_format(layout, format))
        c->body = layout == sno ? "format must be text or uuid for snos\n"
                  : layout == boundary
                      ? "format must be dec, hex, bin, base36 or base62 for boundary\n"
                      : "format must be dec, hex, bin, base32, base36, base58 or base62\n";
    else {
        c->status = "200 OK";
        c->body = NULL;
        c->layout = layout;
        c->format = format;
        c->ids_left = count;
    }
}

/* `head` is the request line and the headers, each with its line end. */
static void read_request(connection *c, char *head) {
    char *headers = strstr(head, "\r\n") + 2;
    headers[-2] = 0;
    char *target = strchr(head, ' '), *version = target ? strchr(target + 1, ' ') : NULL;
    if (!version || target[1] != '/') {
        refuse(c, "400 Bad Request", "the request line must be METHOD /PATH HTTP/1.1\n");
        return;
    }
    *target++ = *version++ = 0;
    c->status = "200 OK";
    c->body = "hello\n";
    c->head_only = strcmp(head, "HEAD") == 0;
    c->last_request = has_word(header(headers, "Connection"), "close");
    const char *body_length = header(headers, "Content-Length");
    if (strcmp(version, "HTTP/1.1") != 0)
        refuse(c, "505 HTTP Version Not Supported", "only HTTP/1.1 is spoken here\n");
    else if (!c->head_only && strcmp(head, "GET") != 0)
        refuse(c, "405 Method Not Allowed", "only GET and HEAD are answered\n");
    else if (!header(headers, "Host")) refuse(c, "400 Bad Request", "there is no Host header\n");
    else if (body_length || header(headers, "Transfer-Encoding"))
        refuse(c, "400 Bad Request", "a request body is not taken\n");
    else if (strncmp(target, "/ids", 4) == 0 && (!target[4] || target[4] == '?'))
        list_ids(c, target + 4 + (target[4] == '?'));
}

/* Takes the next request out of what was received; false: it is not there as a whole. */
static bool take_request(connection *c) {
    char *head = c->request + c->consumed;
    const size_t n = c->received - c->consumed;
    if (c->last_request) return false;
    char *end = (char *)memmem(head, n, "\r\n\r\n", 4);
    if (!end && n < request_room) return false;
    c->head_only = false;
    if (!end) {
        refuse(c, "431 Request Header Fields Too Large", "a request's head may have 8192 bytes\n");
        c->consumed = c->received;
    } else {
        c->consumed += (size_t)(end - head) + 4;
        end[2] = 0;
        if (memchr(head, 0, (size_t)(end - head)))
            refuse(c, "400 Bad Request", "there is a NUL in the head\n");
        else read_request(c, head);
    }
    c->phase = phase_stamping;
    return true;
}

/* ---- connections ---- */

static void hang_up(connection *c) {
    TAILQ_REMOVE(c->queue, c, link);
    (void)close(c->socket);
    free(c);
}

static void greet(worker *w) {
    const int socket = accept4(w->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    connection *c = socket < 0 ? NULL : (connection *)malloc(sizeof *c);
    if (!c) {
        if (socket >= 0) (void)close(socket);
        return;
    }
    memset(c, 0, offsetof(connection, request));
    c->socket = socket;
    c->watched = EPOLLIN;
    c->queue = &w->open;
    TAILQ_INSERT_TAIL(c->queue, c, link);
    struct epoll_event event = {EPOLLIN, {c}};
    if (epoll_ctl(w->epoll, EPOLL_CTL_ADD, socket, &event) != 0) hang_up(c);
}

static bool receive(connection *c) {
    if (c->last_request) c->consumed = c->received; /* what follows is thrown away */
    memmove(c->request, c->request + c->consumed, c->received - c->consumed);
    c->received -= c->consumed;
    c->consumed = 0;
    const ssize_t n = recv(c->socket, c->request + c->received, request_room - c->received, 0);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    if (n == 0) c->input_ended = true;
    c->received += (size_t)n;
    return true;
}

static bool transmit(connection *c) {
    if (c->sent == c->written) return true;
    const ssize_t n = send(c->socket, c->response + c->sent, c->written - c->sent, MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    c->sent += (size_t)n;
    if (c->sent == c->written) c->sent = c->written = 0;
    return true;
}

/* ---- the loop of a thread ---- */

static bool stamp(worker *w, connection *c);

typedef enum progress { needs_input, needs_ids, needs_room, needs_another_clock } progress;

/* Answers what was received, until something is lacking. */
static progress answer(worker *w, connection *c) {
    while (response_room - c->written >= answer_room) {
        if (c->phase == phase_reading && !take_request(c)) return needs_input;
        if (c->phase == phase_stamping && !stamp(w, c)) {
            move_to(c, &w->waiting[options.layout]);
            return needs_ids;
        }
        if (c->phase == phase_listing && !write_chunk(w, c)) {
            if (retry_ns(w, c->layout) > patience_ns) return needs_another_clock;
            move_to(c, &w->waiting[c->layout]);
            return needs_ids;
        }
    }
    return needs_room;
}

/* One step: reads once, answers, writes once. Then others have their turn. */
static void advance(worker *w, connection *c, uint32_t events, bool has_turn) {
    c->has_turn = has_turn;
    if (events & (EPOLLERR | EPOLLHUP) || (events & EPOLLIN && !receive(c))) {
        hang_up(c);
        return;
    }
    const progress lacking = answer(w, c);
    const bool sent = transmit(c), all_sent = c->written == 0;
    if (!sent || lacking == needs_another_clock ||
        (c->input_ended && all_sent && lacking == needs_input)) {
        hang_up(c);
        return;
    }
    if (c->last_request && all_sent && lacking == needs_input && !c->shut_down) {
        c->shut_down = true; /* closed when the client has read it and closes too */
        (void)shutdown(c->socket, SHUT_WR);
    }
    const uint32_t wanted = !all_sent || lacking == needs_room ? EPOLLOUT
                            : lacking == needs_input           ? EPOLLIN
                                                               : 0;
    if (wanted == c->watched) return;
    c->watched = wanted;
    struct epoll_event event = {wanted, {c}};
    (void)epoll_ctl(w->epoll, EPOLL_CTL_MOD, c->socket, &event);
}

/* The clock went far back. */
static bool fail(connection *c, flake_status status) {
    refuse(c, "503 Service Unavailable", flake_status_str(status));
    return write_head(c, NULL);
}

/* Those who wait for a generator go on in their order, as long as it has ids. */
static void resume(worker *w) {
    for (unsigned i = 0; i < generators; i++)
        for (connection *c; (c = TAILQ_FIRST(&w->waiting[i])) != NULL && is_due(retry_ns(w, i));) {
            move_to(c, &w->open);
            advance(w, c, 0, true);
        }
}

/* How long epoll may sleep: until the next unit of a generator that somebody waits for. */
static const struct timespec *until_next_unit(worker *w, struct timespec *room) {
    int64_t least_ns = INT64_MAX;
    for (unsigned i = 0; i < generators; i++)
        if (!TAILQ_EMPTY(&w->waiting[i]) && retry_ns(w, i) < least_ns) least_ns = retry_ns(w, i);
    room->tv_sec = least_ns / 1000000000;
    room->tv_nsec = least_ns % 1000000000;
    return least_ns == INT64_MAX ? NULL : room;
}

// >>example begin
/* Answers with an id in the head. False: this unit's ids are all drawn, and the request has to wait. */
static bool stamp(worker *w, connection *c) {
    char digits[FLAKE_TEXT_SIZE];
    uint64_t id;
    if (options.mode == mode_none) return write_head(c, NULL);
    if (others_wait(w, c, options.layout)) return false;
    flake_status status = options.mode == mode_shard
                              ? flake_shard_try(&shards[options.layout][w->index], &id)
                              : flake_try(&shared[options.layout], &id);
    if (status != FLAKE_OK) return retry_ns(w, options.layout) > patience_ns && fail(c, status);
    if (w->log) (void)fwrite(&id, sizeof id, 1, w->log);
    (void)flake_format(id, FLAKE_DEC, digits, sizeof digits);
    return write_head(c, digits);
}

static void *serve(void *arg) {
    worker *w = (worker *)arg;
    struct epoll_event events[64];
    struct timespec room;
    for (bool stopped = false; !stopped; resume(w)) {
        const int n = epoll_pwait2(w->epoll, events, 64, until_next_unit(w, &room), NULL);
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr == &stop_event) stopped = true;
            else if (events[i].data.ptr == w) greet(w);
            else advance(w, (connection *)events[i].data.ptr, events[i].events, false);
        }
    }
    return NULL;
}
// >>example end

static void close_all(worker *w) {
    while (!TAILQ_EMPTY(&w->open)) hang_up(TAILQ_FIRST(&w->open));
    for (unsigned i = 0; i < generators; i++)
        while (!TAILQ_EMPTY(&w->waiting[i])) hang_up(TAILQ_FIRST(&w->waiting[i]));
    (void)close(w->listener);
    (void)close(w->epoll);
}

/* ---- start and end ---- */

_Noreturn static void give_up(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static void start(worker *w) {
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    const int yes = 1;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)options.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    w->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    (void)setsockopt(w->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    (void)setsockopt(w->listener, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
    (void)setsockopt(w->listener, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes); /* inherited */
    if (bind(w->listener, (struct sockaddr *)&address, size) != 0 ||
        listen(w->listener, 1024) != 0 ||
        getsockname(w->listener, (struct sockaddr *)&address, &size) != 0)
        give_up("port");
    options.port = ntohs(address.sin_port); /* the other threads share it */

    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event stop = {EPOLLIN, {&stop_event}}, arrival = {EPOLLIN, {w}};
    if (epoll_ctl(w->epoll, EPOLL_CTL_ADD, stop_event, &stop) != 0 ||
        epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->listener, &arrival) != 0)
        give_up("epoll");
    TAILQ_INIT(&w->open);
    for (unsigned i = 0; i < generators; i++) TAILQ_INIT(&w->waiting[i]);
    if (options.log) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s.%u", options.log, w->index);
        w->log = fopen(path, "wb");
        if (!w->log) give_up(path);
    }
}

static const char usage[] =
    "--port=0        0: one that is free; it is printed\n"
    "--threads=N     1 to 64; as many as there are processors\n"
    "--mode=shared   one generator for all threads; shard: one shard each; none: no stamp at all\n"
    "--layout=idgen  of the stamps, and of /ids when it names none\n"
    "--node=0        the node number, and the worker of boundary's ids\n"
    "--log=PREFIX    each thread writes the ids that it stamped to PREFIX.0, PREFIX.1, ...\n";

static bool read_option(const char *argument) {
    const char *value = strchr(argument, '=');
    const size_t n = value ? (size_t)(value++ - argument) : 0;
    const struct {
        const char *name;
        unsigned *number, most;
    } numbers[] = {{"--port", &options.port, 65535},
                   {"--threads", &options.threads, max_threads},
                   {"--node", &options.node, UINT32_MAX}};
    if (!value) return false;
    for (size_t i = 0; i < 3; i++)
        if (strlen(numbers[i].name) == n && memcmp(argument, numbers[i].name, n) == 0) {
            char *end;
            const unsigned long number = strtoul(value, &end, 10);
            *numbers[i].number = (unsigned)number;
            return end != value && !*end && number <= numbers[i].most;
        }
    if (strncmp(argument, "--mode=", 7) == 0) {
        for (options.mode = 0; options.mode < 3 && strcmp(value, modes[options.mode]) != 0;)
            options.mode++;
        return options.mode < 3;
    }
    if (strncmp(argument, "--layout=", 9) == 0) {
        for (options.layout = 0;
             options.layout < flakes && strcmp(value, layout_name(options.layout)) != 0;)
            options.layout++;
        return options.layout < flakes;
    }
    options.log = value;
    return strncmp(argument, "--log=", 6) == 0;
}

int main(int argc, char **argv) {
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    options.threads = processors > max_threads ? max_threads : (unsigned)processors;
    if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(usage, stdout) < 0;
    for (int i = 1; i < argc; i++)
        if (!read_option(argv[i]) || options.threads == 0) {
            fprintf(stderr, "%s is no option, or its value does not fit:\n%s", argv[i], usage);
            return 2;
        }
    const flake_status status = make_generators();
    if (status != FLAKE_OK) {
        fprintf(stderr, "layout %s, node %u: %s\n", layout_name(options.layout), options.node,
                flake_status_str(status));
        return 2;
    }
    sigset_t ends;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGINT);
    (void)sigaddset(&ends, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &ends, NULL); /* the threads inherit it */

    stop_event = eventfd(0, EFD_CLOEXEC);
    for (unsigned i = 0; i < options.threads; i++) {
        workers[i].index = i;
        start(&workers[i]);
    }
    for (unsigned i = 0; i < options.threads; i++)
        if ((errno = pthread_create(&workers[i].thread, NULL, serve, &workers[i])) != 0)
            give_up("thread");
    printf("port %u\n", options.port);
    (void)fflush(stdout);

    int signal_number;
    (void)sigwait(&ends, &signal_number);
    (void)eventfd_write(stop_event, 1);
    bool written = true;
    for (unsigned i = 0; i < options.threads; i++) {
        (void)pthread_join(workers[i].thread, NULL);
        close_all(&workers[i]);
        if (workers[i].log) written &= fclose(workers[i].log) == 0;
    }
    return written ? 0 : 1;
}
