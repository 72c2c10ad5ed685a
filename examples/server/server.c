/* SPDX-License-Identifier: MIT
 *
 * A small HTTP/1.1 server that stamps each request with an ID: a thread per core, each with its own
 * epoll, keep-alive, pipelining. The main thread accepts the connections for them.
 *
 *     GET /anything    answers "hello" with the header  X-Request-Id: 8306849466254995456
 *     GET /ids?count=1000&layout=twitter&format=base58          IDs for other programs, one a line
 *     GET /ids?layout=uuid7                                     a UUID
 *
 * An event loop must not sleep in a generator. When a unit is exhausted, the request waits in a
 * queue of its generator, and epoll wakes the thread when the next unit begins.
 *
 * A port has one owner, since two servers with the same node number would repeat each other's IDs. A
 * head that RFC 9112 forbids is refused (head.h).
 *
 * SIGTERM and SIGINT end it: it accepts the connections that the system holds and no others, answers
 * what it has received for at most --drain-ms, and exits.
 */
#define _GNU_SOURCE
#include "generators.h"
#include "head.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

enum {
    max_count = 100000,       /* IDs in one answer */
    patience_ns = 1000000000, /* a request waits at most that long after a backward step */
    pause_ms = 50,            /* until an accept that failed is repeated */
    request_room = 8192,      /* the longest head of a request */
    response_room = 32768,    /* pipelined requests are answered until it may be full */
    answer_room = 512 + batch * FLAKE128_TEXT_SIZE /* the longest head, or a chunk */
};

static struct {
    unsigned port, threads, mode, layout, number, idle_ms, drain_ms;
    flake_node node;
    bool has_node;
    const char *log;
} options = {.idle_ms = 30000, .drain_ms = 2000};
static flake_config config; /* --config: what all generators have in common */

/* ---- connections ---- */

typedef enum phase { phase_reading, phase_stamping, phase_listing } phase;

TAILQ_HEAD(connections, connection);

typedef struct connection {
    TAILQ_ENTRY(connection) link;
    struct connections *queue; /* its worker's `open`, or one of `waiting` */
    int64_t deadline_ns;       /* in `open`: it is closed then */
    int socket;
    uint32_t watched;  /* epoll's events */
    bool has_turn;     /* was the first in a queue */
    bool earned_time;  /* in this step */
    bool last_request; /* what follows is not read */
    bool input_ended, shut_down;
    phase phase;
    bool head_only;
    const char *status, *body; /* of the answer that is under way; no body: a list of IDs */
    unsigned layout, format, ids_left;
    size_t received, consumed, written, sent;
    char request[request_room];
    char response[response_room];
} connection;

typedef struct worker {
    pthread_t thread;
    unsigned index;
    int epoll, mailbox[2]; /* a pipe: the accepted connections, and at the end -1 */
    atomic_uint connections;
    bool stopped;   /* gets no more connections */
    int64_t now_ns; /* when epoll returned */
    FILE *log;
    struct connections open; /* the first has the earliest deadline */
    struct connections waiting[generators];
} worker;

static worker workers[max_threads];
static int listener;
static _Atomic int64_t end_ns; /* when the server ends at the latest; 0: it was not asked to */

static void move_to(connection *c, struct connections *queue) {
    TAILQ_REMOVE(c->queue, c, link);
    TAILQ_INSERT_TAIL(queue, c, link);
    c->queue = queue;
}

/* After a large backward step a request fails rather than wait. */
static bool is_due(int64_t wait_ns) { return wait_ns == 0 || wait_ns > patience_ns; }

/* A request that finds others in the queue joins its end, unless it is its turn. */
static bool others_wait(worker *w, connection *c, unsigned layout) {
    return !c->has_turn && !TAILQ_EMPTY(&w->waiting[layout]);
}

/* ---- answers ---- */

/* Whether bytes were received that the last request did not take, except those that are discarded. */
static bool has_more_input(const connection *c) {
    int unread = 0;
    return (!c->last_request && c->consumed != c->received) ||
           (ioctl(c->socket, FIONREAD, &unread) == 0 && unread > 0);
}

static bool write_head(connection *c, const char *id) {
    const bool list = !c->body;
    char length[32] = "";
    if (atomic_load(&end_ns) && !has_more_input(c)) c->last_request = true;
    if (!list) (void)snprintf(length, sizeof length, "%zu", strlen(c->body));
    c->written += (size_t)sprintf(
        c->response + c->written,
        "HTTP/1.1 %s\r\nContent-Type: text/plain\r\n%s%s%s%s%s%s\r\n\r\n%s", c->status,
        list ? "Transfer-Encoding: chunked" : "Content-Length: ", length,
        id ? "\r\nX-Request-Id: " : "", id ? id : "",
        strncmp(c->status, "405", 3) == 0 ? "\r\nAllow: GET, HEAD" : "",
        c->last_request ? "\r\nConnection: close" : "", list || c->head_only ? "" : c->body);
    c->phase = list && !c->head_only ? phase_listing : phase_reading;
    return true;
}

/* The next chunk of a list; false: no ID is free. */
static bool write_chunk(worker *w, connection *c) {
    ids drawn;
    const size_t wanted = c->ids_left < batch ? c->ids_left : batch;
    const size_t n = others_wait(w, c, c->layout) ? 0 : draw(w->index, c->layout, &drawn, wanted);
    if (n == 0) return false;
    char *const begin = c->response + c->written, *at = begin + 6; /* after the size */
    for (size_t i = 0; i < n; i++) {
        at += write_id(c->layout, c->format, &drawn, i, at);
        *at++ = '\n';
    }
    (void)sprintf(begin, "%04zx\r", (size_t)(at - begin) - 6);
    begin[5] = '\n';
    c->ids_left -= (unsigned)n;
    at += sprintf(at, c->ids_left ? "\r\n" : "\r\n0\r\n\r\n");
    c->written = (size_t)(at - c->response);
    if (c->ids_left == 0) c->phase = phase_reading;
    return true;
}

/* ---- requests ---- */

static void refuse(connection *c, const char *status, const char *why) {
    c->status = status;
    c->body = why;
    c->last_request = true;
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
            layout = layout_named(value);
        } else if (strcmp(name, "format") == 0) {
            for (format = 0; format < format_count && strcmp(value, formats[format].name) != 0;)
                format++;
            if (format == format_count) format++;
        } else {
            c->body = "unknown parameter: there are count, layout and format\n";
            return;
        }
    }
    if (format == format_count && layout < generators) format = usual_format(layout);
    if (count < 1 || count > max_count) c->body = "count must be a number from 1 to 100000\n";
    else if (layout == generators)
        c->body = "layout must be default, idgen, hazelcast, uniqueid_ordered, uniqueid_spread, "
                  "twitter, sonyflake, discord, instagram, mastodon, js53, boundary, uuid7, "
                  "uuid7_node, uuid8, ulid or sno\n";
    else if (made[layout] == FLAKE_IO) c->body = "this server's system has no random bytes\n";
    else if (made[layout] != FLAKE_OK)
        c->body = "layout has no room for this server's node number, or the server has none\n";
    else if (format > format_count || !has_format(layout, format))
        c->body = layout == sno ? "format must be text or uuid for snos\n"
                  : is_wide(layout)
                      ? "format must be uuid, ulid, dec, hex, bin, base36 or base62 for 128 bits\n"
                      : "format must be dec, hex, bin, base32, base36, base58 or base62\n";
    else {
        c->status = "200 OK";
        c->body = NULL;
        c->layout = layout;
        c->format = format;
        c->ids_left = count;
    }
}

static void read_request(connection *c, char *text_of_head, size_t size) {
    request_head h;
    const char *malformed = read_head(&h, text_of_head, size);
    if (malformed) {
        refuse(c, "400 Bad Request", malformed);
        return;
    }
    c->status = "200 OK";
    c->body = "hello\n";
    c->head_only = strcmp(h.method, "HEAD") == 0;
    c->last_request = h.wants_close;
    if (strcmp(h.version, "HTTP/1.1") != 0)
        refuse(c, "505 HTTP Version Not Supported", "only HTTP/1.1 is spoken here\n");
    else if (!c->head_only && strcmp(h.method, "GET") != 0)
        refuse(c, "405 Method Not Allowed", "only GET and HEAD are answered\n");
    else if (h.has_body) refuse(c, "400 Bad Request", "a request body is not taken\n");
    else if (strncmp(h.target, "/ids", 4) == 0 && (!h.target[4] || h.target[4] == '?'))
        list_ids(c, h.target + 4 + (h.target[4] == '?'));
}

/* Takes the next request out of what was received; false: it is not complete. */
static bool take_request(connection *c) {
    char *begin = c->request + c->consumed;
    const size_t n = c->received - c->consumed;
    if (c->last_request) return false;
    const char *malformed;
    const size_t size = head_size(begin, n, &malformed);
    if (!size && !malformed && n < request_room) return false;
    c->head_only = false;
    c->consumed = size ? c->consumed + size : c->received;
    if (size) read_request(c, begin, size);
    else if (malformed) refuse(c, "400 Bad Request", malformed);
    else refuse(c, "431 Request Header Fields Too Large", "a request's head may have 8192 bytes\n");
    c->phase = phase_stamping;
    return true;
}

/* ---- connections ---- */

/* The connection has --idle-ms for its next step. Single bytes do not restart that time: the
 * start of a head does, and the end of what was written. Waiting for an ID does not count. */
static void give_time(worker *w, connection *c) {
    c->deadline_ns = w->now_ns + (int64_t)options.idle_ms * 1000000;
    move_to(c, &w->open);
}

static void hang_up(worker *w, connection *c) {
    TAILQ_REMOVE(c->queue, c, link);
    (void)close(c->socket);
    free(c);
    atomic_fetch_sub(&w->connections, 1);
}

static void end_overdue(worker *w) {
    const struct linger reset = {1, 0}; /* what is not read is not kept either */
    for (connection *c; (c = TAILQ_FIRST(&w->open)) != NULL && c->deadline_ns <= w->now_ns;) {
        if (c->written) (void)setsockopt(c->socket, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        hang_up(w, c);
    }
}

static void adopt(worker *w, int socket) {
    connection *c = (connection *)malloc(sizeof *c);
    struct epoll_event event = {EPOLLIN, {c}};
    if (!c || epoll_ctl(w->epoll, EPOLL_CTL_ADD, socket, &event) != 0) {
        free(c);
        (void)close(socket);
        atomic_fetch_sub(&w->connections, 1);
        return;
    }
    memset(c, 0, offsetof(connection, request));
    c->socket = socket;
    c->watched = EPOLLIN;
    c->queue = &w->open;
    TAILQ_INSERT_TAIL(c->queue, c, link);
    give_time(w, c);
}

static bool receive(connection *c) {
    if (c->last_request) c->consumed = c->received; /* what follows is discarded */
    memmove(c->request, c->request + c->consumed, c->received - c->consumed);
    c->received -= c->consumed;
    c->consumed = 0;
    const ssize_t n = recv(c->socket, c->request + c->received, request_room - c->received, 0);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    if (n == 0) c->input_ended = true;
    if (c->received == 0 && !c->last_request) c->earned_time = true;
    c->received += (size_t)n;
    return true;
}

static bool transmit(connection *c) {
    if (c->sent == c->written) return true;
    const ssize_t n = send(c->socket, c->response + c->sent, c->written - c->sent, MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    c->sent += (size_t)n;
    if (c->sent < c->written) return true;
    c->sent = c->written = 0;
    c->earned_time = true;
    return true;
}

/* ---- the loop of a thread ---- */

static bool stamp(worker *w, connection *c);

typedef enum progress { needs_input, needs_ids, needs_room, needs_another_clock } progress;

/* Answers what was received, until something is missing. */
static progress answer(worker *w, connection *c) {
    while (response_room - c->written >= answer_room) {
        if (c->phase == phase_reading && !take_request(c)) return needs_input;
        if (c->phase == phase_stamping && !stamp(w, c)) {
            move_to(c, &w->waiting[options.layout]);
            return needs_ids;
        }
        if (c->phase == phase_listing && !write_chunk(w, c)) {
            if (retry_ns(w->index, c->layout) > patience_ns) return needs_another_clock;
            move_to(c, &w->waiting[c->layout]);
            return needs_ids;
        }
    }
    return needs_room;
}

/* One step: reads once, answers, writes once. Then other connections have their turn. */
static void advance(worker *w, connection *c, uint32_t events, bool has_turn) {
    c->has_turn = has_turn;
    c->earned_time = false;
    if (events & (EPOLLERR | EPOLLHUP) || (events & EPOLLIN && !receive(c))) {
        hang_up(w, c);
        return;
    }
    const progress lacking = answer(w, c);
    const bool sent = transmit(c), all_sent = c->written == 0;
    const bool ends = c->input_ended || (atomic_load(&end_ns) && !has_more_input(c));
    if (!sent || lacking == needs_another_clock || (ends && all_sent && lacking == needs_input)) {
        hang_up(w, c);
        return;
    }
    if (c->last_request && all_sent && lacking == needs_input && !c->shut_down) {
        c->shut_down = true; /* closed when the client has read it and closes too */
        (void)shutdown(c->socket, SHUT_WR);
    }
    if (c->earned_time && c->queue == &w->open) give_time(w, c);
    const uint32_t wanted = !all_sent || lacking == needs_room ? EPOLLOUT
                            : lacking == needs_input           ? EPOLLIN
                                                               : 0;
    if (wanted == c->watched) return;
    c->watched = wanted;
    struct epoll_event event = {wanted, {c}};
    (void)epoll_ctl(w->epoll, EPOLL_CTL_MOD, c->socket, &event);
}

/* A large backward step of the clock. */
static bool fail(connection *c, flake_status status) {
    refuse(c, "503 Service Unavailable", flake_status_str(status));
    return write_head(c, NULL);
}

/* Requests that wait for a generator continue in their order, as long as it has IDs. */
static void resume(worker *w) {
    for (unsigned i = 0; i < generators; i++)
        for (connection *c;
             (c = TAILQ_FIRST(&w->waiting[i])) != NULL && is_due(retry_ns(w->index, i));) {
            give_time(w, c);
            advance(w, c, 0, true);
        }
}

/* How long epoll may sleep: until the next unit of a generator that a request waits for, until a
 * connection's time is over, until the server ends. */
static const struct timespec *until_next(worker *w, struct timespec *room) {
    int64_t least_ns = INT64_MAX;
    const connection *first = TAILQ_FIRST(&w->open);
    for (unsigned i = 0; i < generators; i++)
        if (!TAILQ_EMPTY(&w->waiting[i]) && retry_ns(w->index, i) < least_ns)
            least_ns = retry_ns(w->index, i);
    if (first && first->deadline_ns - w->now_ns < least_ns)
        least_ns = first->deadline_ns - w->now_ns;
    if (w->stopped && atomic_load(&end_ns) - w->now_ns < least_ns)
        least_ns = atomic_load(&end_ns) - w->now_ns;
    room->tv_sec = least_ns / 1000000000;
    room->tv_nsec = least_ns % 1000000000;
    return least_ns == INT64_MAX ? NULL : room;
}

/* It gets no more connections: an idle one ends here. */
static void stop(worker *w) {
    connection *c;
    unsigned open = 0;
    w->stopped = true;
    TAILQ_FOREACH(c, &w->open, link) open++;
    for (; open; open--) {
        c = TAILQ_FIRST(&w->open);
        give_time(w, c);
        advance(w, c, c->watched & EPOLLIN, false);
    }
}

static void adopt_those_given(worker *w) {
    for (int socket; read(w->mailbox[0], &socket, sizeof socket) == sizeof socket;)
        if (socket >= 0) adopt(w, socket);
        else stop(w);
}

static bool is_done(worker *w) {
    return w->stopped && (atomic_load(&w->connections) == 0 || w->now_ns >= atomic_load(&end_ns));
}

static int64_t monotonic_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// >>example begin
/* Answers with an ID in the head. False: this unit's IDs are exhausted, and the request has to wait. */
static bool stamp(worker *w, connection *c) {
    char digits[FLAKE_TEXT_SIZE];
    uint64_t id;
    if (options.mode == mode_none) return write_head(c, NULL);
    if (others_wait(w, c, options.layout)) return false;
    const flake_status status = flake_try(gen_of(w->index, options.layout), &id);
    if (status != FLAKE_OK)
        return retry_ns(w->index, options.layout) > patience_ns && fail(c, status);
    (void)flake_format(id, FLAKE_DEC, digits, sizeof digits);
    if (w->log) (void)fprintf(w->log, "%s\n", digits);
    return write_head(c, digits);
}

static void *serve(void *arg) {
    worker *w = (worker *)arg;
    struct epoll_event events[64];
    struct timespec room;
    while (!is_done(w)) {
        bool given = false;
        const int n = epoll_pwait2(w->epoll, events, 64, until_next(w, &room), NULL);
        w->now_ns = monotonic_ns();
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr == w->mailbox) given = true;
            else advance(w, (connection *)events[i].data.ptr, events[i].events, false);
        }
        resume(w);
        end_overdue(w);
        if (given) adopt_those_given(w);
    }
    return NULL;
}
// >>example end

/* ---- start and end ---- */

_Noreturn static void give_up(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

/* Without SO_REUSEPORT, which would let another server of the same user share the port.
 * SO_REUSEADDR only ignores old connections: while a program listens, another cannot. */
static void listen_to_port(void) {
    char name[32];
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    const int yes = 1;
    (void)snprintf(name, sizeof name, "port %u", options.port);
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)options.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    (void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    (void)setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes); /* inherited */
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 1024) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0)
        give_up(name);
    options.port = ntohs(address.sin_port);
}

static void start(worker *w) {
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event given = {EPOLLIN, {w->mailbox}};
    if (pipe2(w->mailbox, O_CLOEXEC) != 0 || fcntl(w->mailbox[0], F_SETFL, O_NONBLOCK) != 0 ||
        epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->mailbox[0], &given) != 0)
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

/* False: no descriptor, or no memory. */
static bool take_connection(void) {
    const int socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    worker *w = workers; /* the one with the fewest */
    for (worker *other = workers; other < workers + options.threads; other++)
        if (atomic_load(&other->connections) < atomic_load(&w->connections)) w = other;
    atomic_fetch_add(&w->connections, 1);
    (void)!write(w->mailbox[1], &socket, sizeof socket);
    return true;
}

/* Accepts connections until the signal descriptor reports the end, then those that the system holds. */
static void take_connections(int signals) {
    const int none = -1;
    struct pollfd arrivals[2] = {{listener, POLLIN, 0}, {signals, POLLIN, 0}};
    for (int wait_ms = -1; (void)poll(arrivals, 2, wait_ms), !arrivals[1].revents;) {
        /* With no descriptor left the listener stays readable, and is ignored for a while. */
        const bool is_lacking = arrivals[0].revents && !take_connection();
        arrivals[0].fd = is_lacking ? -1 : listener;
        wait_ms = is_lacking ? pause_ms : -1;
    }
    atomic_store(&end_ns, monotonic_ns() + (int64_t)options.drain_ms * 1000000);
    arrivals[0].fd = listener;
    while (poll(arrivals, 1, 0) == 1 && take_connection()) {
    }
    (void)close(listener);
    for (unsigned i = 0; i < options.threads; i++)
        (void)!write(workers[i].mailbox[1], &none, sizeof none);
}

/* Output to a full disk must not count as printed. */
static void print(const char *text_to_print) {
    if (fputs(text_to_print, stdout) < 0 || fflush(stdout) != 0) give_up("standard output");
}

static bool close_log(worker *w) {
    const bool failed = ferror(w->log) != 0;
    errno = 0;
    if (fclose(w->log) == 0 && !failed) return true;
    fprintf(stderr, "%s.%u: the log is not complete: %s\n", options.log, w->index,
            errno ? strerror(errno) : "a write failed");
    return false;
}

static const char usage[] =
    "--port=0        0: one that is free; it is printed\n"
    "--threads=N     1 to 64; as many as there are processors\n"
    "--mode=lanes    one generator on several words; shared: on one; shard: a shard for each "
    "thread;\n"
    "                none: no stamp at all\n"
    "--layout=default of the stamps, and of /ids when it names none\n"
    "--node=N        the node number, and boundary's worker; each server needs another.\n"
    "                Only the stamps of layout mastodon need none\n"
    "--config=WORDS  such as \"twitter node=7 dir=none clock=fast\": the words are in flake.h, at "
    "flake_config\n"
    "--idle-ms=30000 until a connection ends on which no request begins or no answer is read\n"
    "--drain-ms=2000 until it exits at the latest after SIGTERM or SIGINT\n"
    "--log=PREFIX    each thread writes the ids that it stamped to PREFIX.0, PREFIX.1, ...\n";

static bool set_layout(const char *name) {
    options.layout = layout_named(name);
    return options.layout < sno && !is_wide(options.layout);
}

static bool read_config(const char *words) {
    flake_why why;
    const flake_options *o = &config.options;
    if (flake_config_parse(words, &config, &why) != FLAKE_OK) {
        fprintf(stderr, "%s\n", why.text);
        exit(2);
    }
    options.node = config.node;
    options.has_node = true; /* if the layout has one */
    return !config.node.dir && !o->lane_count && !o->single_thread && !o->seq_min && !o->seq_max &&
           o->layout.name && set_layout(o->layout.name) &&
           memcmp(&o->layout, &layouts[options.layout], sizeof o->layout) == 0;
}

static bool is_number(const char *value) {
    const size_t digits = strspn(value, "0123456789");
    return digits && digits <= 18 && !value[digits];
}

static bool read_option(const char *argument) {
    const char *value = strchr(argument, '=');
    const size_t n = value ? (size_t)(value++ - argument) : 0;
    const struct {
        const char *name;
        unsigned *number, least, most;
    } numbers[] = {{"--port", &options.port, 0, 65535},
                   {"--threads", &options.threads, 1, max_threads},
                   {"--node", &options.number, 0, UINT32_MAX},
                   {"--idle-ms", &options.idle_ms, 1, 1000000000},
                   {"--drain-ms", &options.drain_ms, 0, 1000000000}};
    if (!value) return false;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strlen(numbers[i].name) == n && memcmp(argument, numbers[i].name, n) == 0) {
            const unsigned long long number =
                is_number(value) ? strtoull(value, NULL, 10) : UINT64_MAX;
            *numbers[i].number = (unsigned)number;
            if (numbers[i].number == &options.number) {
                options.node = flake_node_fixed(NULL, number);
                options.has_node = true;
            }
            if (number >= numbers[i].least && number <= numbers[i].most) return true;
            fprintf(stderr, "%s is not a number from %u to %u\n", argument, numbers[i].least,
                    numbers[i].most);
            exit(2);
        }
    if (strncmp(argument, "--mode=", 7) == 0) {
        for (options.mode = 0;
             options.mode < mode_count && strcmp(value, modes[options.mode]) != 0;)
            options.mode++;
        return options.mode < mode_count;
    }
    if (strncmp(argument, "--layout=", 9) == 0) return set_layout(value);
    if (strncmp(argument, "--config=", 9) == 0) return read_config(value);
    options.log = value;
    return strncmp(argument, "--log=", 6) == 0;
}

/* A log or a connection would replace a closed standard file, and the output meant for that one would
 * land in it. */
static void insist_on_standard_files(void) {
    static const char *const names[] = {"standard input", "standard output", "standard error"};
    for (int file = 0; file < 3; file++)
        if (fcntl(file, F_GETFD) == -1) give_up(names[file]);
}

int main(int argc, char **argv) {
    insist_on_standard_files();
    if (!list_layouts()) return fprintf(stderr, "flake.h has another number of layouts\n"), 2;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    options.node = flake_node_none();
    options.threads = processors > max_threads ? max_threads : (unsigned)processors;
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        print(usage);
        return 0;
    }
    for (int i = 1; i < argc; i++)
        if (!read_option(argv[i])) {
            fprintf(stderr, "%s is no option, or its value does not fit:\n%s", argv[i], usage);
            return 2;
        }
    if (layouts[options.layout].node_bits && !options.has_node) {
        fprintf(stderr, "node is missing: --node=7, and another number for each other server\n");
        return 2;
    }
    make_generators(options.mode, options.threads, options.node, &config.options);
    if (made[options.layout] != FLAKE_OK) {
        fprintf(stderr, "layout %s: %s\n", layout_name(options.layout),
                reasons[options.layout].text);
        return 2;
    }
    sigset_t ends;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGINT);
    (void)sigaddset(&ends, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &ends, NULL); /* the threads inherit it */

    listen_to_port();
    const int signals = signalfd(-1, &ends, SFD_CLOEXEC);
    if (signals < 0) give_up("signalfd");
    for (unsigned i = 0; i < options.threads; i++) {
        workers[i].index = i;
        start(&workers[i]);
    }
    char line[32];
    (void)snprintf(line, sizeof line, "port %u\n", options.port);
    print(line);
    for (unsigned i = 0; i < options.threads; i++)
        if ((errno = pthread_create(&workers[i].thread, NULL, serve, &workers[i])) != 0)
            give_up("thread");

    take_connections(signals);
    for (unsigned i = 0; i < options.threads; i++) (void)pthread_join(workers[i].thread, NULL);
    bool written = true;
    for (unsigned i = 0; i < options.threads; i++)
        if (workers[i].log) written &= close_log(&workers[i]);
    return written ? 0 : 1;
}
