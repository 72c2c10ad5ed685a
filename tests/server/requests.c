/* SPDX-License-Identifier: MIT
 *
 * requests.c SERVER MODE [NAME...]   starts the server, and sends it what a client may send: well formed
 * or not, whole or byte by byte, one or many at once; stamps and lists.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include "client.h"

/* ---- requests ---- */

static server usual;

TEST(each_request_on_a_connection_has_an_id_of_its_own) {
    client *c = connect_to(usual);
    uint64_t last = 0;
    for (int i = 0; i < 1000; i++) {
        ask(c, "/");
        const response *r = hear(c, false);
        CHECK_EQ(r->status, 200);
        CHECK_STR(r->body, "hello\n");
        CHECK(!r->closes);
        CHECK(is_later(&flake_layout_default, id_of(r), last));
        last = id_of(r);
    }
    leave(c);
}

static int64_t unix_s(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec;
}

TEST(an_id_has_the_server_s_time_and_node) {
    client *c = connect_to(usual);
    const flake_layout layout = flake_layout_default;
    const int64_t begun = unix_s();
    flake_parts parts = {0};
    ask(c, "/");
    CHECK_EQ(flake_decompose(&layout, id_of(hear(c, false)), &parts), FLAKE_OK);
    CHECK(parts.unix_ms / 1000 >= begun && parts.unix_ms / 1000 <= unix_s());
    CHECK_EQ(parts.node, 5);
    leave(c);
}

TEST(pipelined_requests_are_answered_in_their_order) {
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
        CHECK(is_later(&flake_layout_default, id_of(r), last));
        last = id_of(r);
    }
    leave(c);
}

TEST(a_request_may_come_byte_by_byte) {
    const char *request = "GET / HTTP/1.1\r\nHost: test\r\n\r\nGET /ids HTTP/1.1\r\nhost:x\r\n\r\n";
    client *c = connect_to(usual);
    for (const char *at = request; *at; at++) say_bytes(c, at, 1);
    CHECK_EQ(hear(c, false)->status, 200);
    CHECK_EQ(hear(c, false)->status, 200);
    leave(c);
}

TEST(a_request_may_be_cut_anywhere) {
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

TEST(a_head_that_is_too_long_is_refused) {
    CHECK_EQ(status_of_a_head_of(8192), 200);
    CHECK_EQ(status_of_a_head_of(8193), 431);
    CHECK_EQ(status_of_a_head_of(1000000), 431);
}

TEST(a_head_request_gets_no_body) {
    client *c = connect_to(usual);
    say(c, "HEAD / HTTP/1.1\r\nHost: test\r\n\r\nHEAD /ids?count=9 HTTP/1.1\r\nHost: test\r\n\r\n");
    CHECK_EQ(hear(c, true)->status, 200);
    CHECK(strstr(heard.head, "Content-Length: 6") != NULL);
    CHECK_EQ(hear(c, true)->status, 200);
    CHECK(strstr(heard.head, "Transfer-Encoding: chunked") != NULL);
    SERVES(c, "/");
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

TEST(what_is_no_request_is_refused_by_name) {
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

TEST(a_malformed_request_line_is_refused) {
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
TEST(a_malformed_header_is_refused_with_what_follows) {
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

TEST(a_body_is_never_answered) {
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

TEST(a_line_ends_with_cr_and_lf) {
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

TEST(a_head_has_no_control_character) {
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

TEST(there_is_one_host) {
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

TEST(a_connection_closes_when_it_is_asked_to) {
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
        SERVES(c, "/");
        CHECK_EQ(heard.closes, cases[i].closes);
        if (cases[i].closes) CHECK(hears_the_end(c));
        else CHECK_EQ(hear(c, false)->status, 200);
        leave(c);
    }
}

TEST(who_says_no_more_still_hears_every_answer) {
    client *c = connect_to(usual);
    for (int i = 0; i < 100; i++) ask(c, "/ids?count=100");
    say(c, "GET / HT");
    (void)shutdown(c->socket, SHUT_WR);
    for (int i = 0; i < 100; i++) CHECK_EQ(hear(c, false)->status, 200);
    CHECK(hears_the_end(c));
    leave(c);
}

/* ---- lists ---- */

static const char *const forms[] = {"dec",    "hex",    "bin",    "",
                                    "base32", "base36", "base58", "base62"};

/* Walks over the lines of the response's body. */
static char *next_line(char **rest) { return strtok_r(*rest, "\n", rest); }

TEST(a_list_has_each_layout_in_each_format) {
    client *c = connect_to(usual);
    flake_layout layout = {0};
    for (size_t i = 0; flake_layout_at(i, &layout) == FLAKE_OK; i++) {
        if (layout.format || !layout.node_bits) continue;
        for (int form = 0; form < (int)(sizeof forms / sizeof *forms); form++) {
            char target[128], *rest = heard.body;
            if (form == FLAKE_BIN4) continue;
            (void)snprintf(target, sizeof target, "/ids?layout=%s&format=%s&count=250", layout.name,
                           forms[form]);
            SERVES(c, target);
            int n = 0;
            uint64_t last = 0;
            for (char *line; (line = next_line(&rest)) != NULL; n++) {
                uint64_t id = 0;
                flake_parts parts = {0};
                CHECK_EQ(flake_parse(line, strlen(line), (flake_encoding)form, &id), FLAKE_OK);
                CHECK_EQ(flake_decompose(&layout, id, &parts), FLAKE_OK);
                CHECK_EQ(parts.node, 5);
                CHECK(id != last && (layout.time_reversed || is_later(&layout, id, last)));
                last = id;
            }
            CHECK_EQ(n, 250);
        }
    }
    leave(c);
}

/* Ids of 128 bits in a list; lanes' rise by ms, and inside one they differ. */
static bool is_later_wide(const flake_layout *l, flake128 id, flake128 last) {
    flake_parts one = {0}, before = {0};
    if (strcmp(server_mode, "lanes") != 0) return flake128_compare(&last, &id) < 0;
    CHECK_EQ(flake128_decompose(l, &id, &one), FLAKE_OK);
    (void)flake128_decompose(l, &last, &before); /* there is none before the first */
    return flake128_compare(&last, &id) != 0 && one.unix_ms >= before.unix_ms;
}

static int compare_wide(const void *a, const void *b) {
    return flake128_compare((const flake128 *)a, (const flake128 *)b);
}

static size_t twice_among(flake128 *ids, size_t n) {
    size_t twice = 0;
    qsort(ids, n, sizeof *ids, compare_wide);
    for (size_t i = 1; i < n; i++) twice += compare_wide(&ids[i], &ids[i - 1]) == 0;
    return twice;
}

TEST(a_list_has_wide_ids_in_each_form) {
    static const struct {
        const char *name;
        unsigned base; /* without a format */
    } wides[] = {{"boundary", 62}, {"uuid7", 0}, {"uuid7_node", 0}, {"uuid8", 0}, {"ulid", 1}};
    static const struct {
        const char *format;
        unsigned base; /* 0: a UUID, 1: a ULID, 63: the layout's own */
    } bases[] = {
        {"&format=dec", 10},    {"&format=hex", 16}, {"&format=bin", 2},  {"&format=base36", 36},
        {"&format=base62", 62}, {"&format=uuid", 0}, {"&format=ulid", 1}, {"", 63}};
    enum { ids_a_list = 250, all_bases = sizeof bases / sizeof *bases };
    static flake128 drawn[all_bases * ids_a_list];
    const int64_t begun = unix_s();
    client *c = connect_to(usual);
    for (size_t w = 0; w < sizeof wides / sizeof *wides; w++) {
        size_t n = 0;
        flake128 last = {0};
        flake_layout layout = {0};
        CHECK_EQ(flake_layout_named(wides[w].name, &layout), FLAKE_OK);
        for (size_t i = 0; i < all_bases; i++) {
            const unsigned base = bases[i].base == 63 ? wides[w].base : bases[i].base;
            char target[128], *rest = heard.body;
            (void)snprintf(target, sizeof target, "/ids?layout=%s&count=%d%s", wides[w].name,
                           (int)ids_a_list, bases[i].format);
            SERVES(c, target);
            for (char *line; (line = next_line(&rest)) != NULL && n < all_bases * ids_a_list; n++) {
                const size_t length = strlen(line);
                flake128 id = last;
                flake_parts parts = {0};
                if (base == 16) {
                    CHECK(length == 32 && strspn(line, "0123456789abcdef") == 32);
                    for (size_t k = 0; k < length; k++) line[k] = (char)toupper(line[k]);
                }
                CHECK_EQ(base == 0   ? flake128_from_uuid(line, length, &id)
                         : base == 1 ? flake128_from_ulid(line, length, &id)
                                     : flake128_parse(line, length, base, &id),
                         FLAKE_OK);
                CHECK_EQ(flake128_decompose(&layout, &id, &parts), FLAKE_OK);
                CHECK(parts.unix_ms / 1000 >= begun && parts.unix_ms / 1000 <= unix_s());
                if (layout.node_bits) CHECK_EQ(parts.node, 5);
                CHECK(is_later_wide(&layout, id, last));
                drawn[n] = last = id;
            }
        }
        CHECK_EQ(n, all_bases * ids_a_list);
        CHECK_EQ(twice_among(drawn, n), 0);
    }
    leave(c);
}

TEST(a_list_has_snos_as_text_and_as_uuids) {
    static const char *const targets[] = {"/ids?layout=sno&count=250",
                                          "/ids?layout=sno&format=text&count=250",
                                          "/ids?layout=sno&format=uuid&count=250"};
    client *c = connect_to(usual);
    for (int i = 0; i < 3; i++) {
        char *rest = heard.body;
        SERVES(c, targets[i]);
        int n = 0;
        sno_id last = {0};
        for (char *line; (line = next_line(&rest)) != NULL; n++) {
            sno_id id = last;
            CHECK_EQ((i == 2 ? sno_from_uuid : sno_decode)(line, strlen(line), &id), FLAKE_OK);
            CHECK(sno_compare(last, id) < 0);
            last = id;
        }
        CHECK_EQ(n, 250);
    }
    leave(c);
}

TEST(a_wrong_parameter_is_named) {
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
        {"/ids?layout=uuid7&format=base58", "format"},
        {"/ids?layout=uuid7&format=text", "format"},
        {"/ids?layout=sno&format=ulid", "format"},
        {"/ids?format=uuid", "format"},
        {"/ids?layout=uuid9", "layout"},
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
    SERVES(c, "/ids?&count=2&");
    leave(c);
}

/* Reads lists that several connections asked for at once: no id comes twice, nor do the stamps, if they are of
 * the same layout. */
static void lists_of(const char *layout, bool is_wide) {
    enum {
        connections = 8,
        lists = 10,
        ids_a_list = 1000,
        most = connections * lists * (ids_a_list + 1)
    };
    static flake128 ids[most];
    client *c[connections];
    char target[64];
    size_t n = 0;
    memset(ids, 0, sizeof ids);
    (void)snprintf(target, sizeof target, "/ids?count=%d&layout=%s", (int)ids_a_list, layout);
    for (int i = 0; i < connections; i++) {
        c[i] = connect_to(usual);
        for (int k = 0; k < lists; k++) ask(c[i], target);
    }
    for (int i = 0; i < connections; i++) {
        for (int k = 0; k < lists; k++) {
            char *rest = heard.body;
            CHECK_EQ(hear(c[i], false)->status, 200);
            if (!is_wide) flake_to_bytes(id_of(&heard), ids[n++].bytes);
            for (char *line; (line = next_line(&rest)) != NULL && n < most; n++) {
                uint64_t id = 0;
                CHECK_EQ(is_wide ? flake128_from_uuid(line, strlen(line), &ids[n])
                                 : flake_parse(line, strlen(line), FLAKE_DEC, &id),
                         FLAKE_OK);
                if (!is_wide) flake_to_bytes(id, ids[n].bytes);
            }
        }
        leave(c[i]);
    }
    CHECK_EQ(n, is_wide ? connections * lists * ids_a_list : most);
    CHECK_EQ(twice_among(ids, n), 0);
}

TEST(stamps_and_lists_have_no_id_in_common) { lists_of("default", false); }
TEST(lists_of_uuids_have_none_in_common) { lists_of("uuid8", true); }

TEST(a_client_that_does_not_read_holds_up_nobody) {
    client *slow[8], *c = connect_to(usual);
    for (int i = 0; i < 8; i++) {
        slow[i] = connect_to(usual);
        for (int k = 0; k < 10; k++) ask(slow[i], "/ids?count=100000&format=bin&layout=twitter");
    }
    const int64_t begin_ms = now_ms();
    for (int i = 0; i < 100; i++) {
        SERVES(c, "/");
    }
    CHECK(now_ms() - begin_ms < 5000);
    for (int i = 0; i < 7; i++) leave(slow[i]);
    CHECK_EQ(hear(slow[7], false)->status, 0); /* longer than what is kept here */
    leave(slow[7]);
    leave(c);
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    server_path = argv[1];
    server_mode = argv[2];
    (void)alarm(60); /* whoever hangs, hangs no longer */
    usual = start("--node=5", NULL);
    const int failed = check_main(argc - 2, argv + 2);
    (void)kill(usual.pid, SIGKILL);
    return failed;
}
