/* SPDX-License-Identifier: MIT
 *
 * requests.c SERVER MODE [NAME...]   starts the server, and sends it well-formed and malformed requests,
 * whole or byte by byte, one or many at once; stamps and lists.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include "client.h"

/* ---- requests ---- */

static server usual;

static int64_t unix_s(void) { return clock_ns(CLOCK_REALTIME) / 1000000000; }

TEST(each_request_on_a_connection_has_an_id_of_its_own) {
    client *c = connect_to(usual);
    const int64_t begun = unix_s();
    uint64_t last = 0;
    for (int i = 0; i < 1000; i++, last = id_of(&heard)) {
        flake_parts parts = {0};
        SERVES(c, "/");
        CHECK_STR(heard.body, "hello\n");
        CHECK(!heard.closes);
        CHECK(is_later(&flake_layout_default, id_of(&heard), last));
        CHECK_EQ(flake_decompose(&flake_layout_default, id_of(&heard), &parts), FLAKE_OK);
        CHECK(parts.unix_ms / 1000 >= begun && parts.unix_ms / 1000 <= unix_s());
        CHECK_EQ(parts.node, 5);
    }
    leave(c);
}

TEST(pipelined_requests_are_answered_in_their_order_and_a_head_request_without_a_body) {
    client *c = connect_to(usual);
    uint64_t last = 0;
    for (int i = 0; i < 300; i++) {
        char target[64];
        (void)snprintf(target, sizeof target, "/ids?count=%d", i + 1);
        ask(c, target);
        ask(c, "/");
        say(c, i % 2 ? "HEAD /ids HTTP/1.1\r\nHost: test\r\n\r\n" : "HEAD / HTTP/1.1\r\nHost: test\r\n\r\n");
    }
    for (int i = 0; i < 900; i++) {
        const bool is_head = i % 3 == 2;
        const response *r = hear(c, is_head);
        int lines = 0;
        for (size_t k = 0; k < r->length; k++) lines += r->body[k] == '\n';
        CHECK_EQ(r->status, 200);
        CHECK_EQ(lines, i % 3 == 0 ? i / 3 + 1 : i % 3 == 1);
        if (is_head) CHECK(strstr(r->head, i / 3 % 2 ? "Transfer-Encoding: chunked" : "Content-Length: 6") != NULL);
        CHECK(is_later(&flake_layout_default, id_of(r), last));
        last = id_of(r);
    }
    leave(c);
}

TEST(a_request_may_be_cut_anywhere) {
    const char *request = "GET / HTTP/1.1\r\nHost: test\r\n\r\nGET / HTTP/1.1\r\nHost: test\r\n\r\n";
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

/* The bytes, on a new connection, get that answer, with the word in its body; then the connection ends, or serves
 * another request. */
static void is_answered(const char *bytes, size_t n, int status, const char *word, bool closes) {
    const bool head_only = strncmp(bytes, "HEAD ", 5) == 0;
    const int failures = check_failures;
    client *c = connect_to(usual);
    say_bytes(c, bytes, n);
    ask(c, "/");
    CHECK_EQ(hear(c, head_only)->status, status);
    CHECK(head_only || strstr(heard.body, word) != NULL);
    CHECK_EQ(heard.closes, closes);
    CHECK(heard.id[0] != 0);
    CHECK_EQ(strstr(heard.head, "Allow: GET, HEAD") != NULL, status == 405);
    if (check_failures != failures) printf("  %d, %s, to:\n%.*s\n", heard.status, heard.body, (int)n, bytes);
    if (closes) CHECK(hears_the_end(c));
    else CHECK_EQ(hear(c, false)->status, 200);
    leave(c);
}

/* Each of the texts that | separates, between two others. */
static void are_answered(const char *before, const char *texts, const char *after, int status, const char *word,
                         bool closes) {
    char request[512], all[1024], *rest = strcpy(all, texts);
    for (const char *text; (text = strsep(&rest, "|")) != NULL;) {
        const int n = snprintf(request, sizeof request, "%s%s%s", before, text, after);
        is_answered(request, (size_t)n, status, word, closes);
    }
}

static void are_refused(const char *before, const char *texts, const char *after, int status, const char *why) {
    are_answered(before, texts, after, status, why, true);
}

static void a_head_is_answered(size_t length, int status) {
    const char *begin = "GET / HTTP/1.1\r\nHost: test\r\nX: ";
    char *const request = (char *)exactly(length);
    memset(request, 'x', length);
    memcpy(request, begin, strlen(begin));
    memcpy(request + length - 4, "\r\n\r\n", 4);
    is_answered(request, length, status, "", status != 200);
    free(request);
}

TEST(a_head_that_is_too_long_is_refused) {
    a_head_is_answered(8192, 200);
    a_head_is_answered(8193, 431);
    a_head_is_answered(1000000, 431);
}

#define GET      "GET / HTTP/1.1\r\nHost: test\r\n"
#define SMUGGLED "GET /ids HTTP/1.1\r\nHost: test\r\n\r\n"

TEST(what_is_no_request_is_refused_by_name) {
    are_refused("", "POST|DELETE|get|GETS|X-Y", " / HTTP/1.1\r\nHost: test\r\n\r\n", 405, "GET");
    are_refused("GET / HTTP/", "1.0\r\nHost: test|1.0|2.0\r\nHost: test", "\r\n\r\n", 505, "HTTP/1.1");
    are_refused(GET, "content-length: 3\r\n\r\nabc|Transfer-Encoding: Chunked \r\n\r\n0\r\n\r\n", "", 400, "body");
}

TEST(a_malformed_request_line_is_refused) {
    are_refused("",
                "|GET|GET |GET /|GET / |/ HTTP/1.1| GET / HTTP/1.1| / HTTP/1.1|GET index HTTP/1.1|"
                "GET  / HTTP/1.1|GET /  HTTP/1.1|GET / HTTP/1.1 |GET\t/ HTTP/1.1|GET /\tHTTP/1.1|"
                "GET /a b HTTP/1.1|GET /#a HTTP/1.1|GET /\xc3\xa4 HTTP/1.1|G(T / HTTP/1.1|"
                "G\xc3\x84T / HTTP/1.1|GET: / HTTP/1.1|GET / http/1.1|GET / HTTP/1|GET / HTTP/11|"
                "GET / HTTP/1,1|GET / HTTP/1.10|GET / HTTP/01.1|GET / HTTP/-1.1|GET / HTTP 1.1|GET "
                "/ FTP/1.1",
                "\r\nHost: test\r\n\r\n", 400, "request line");
}

/* Bytes that another program may read as a body are no second request to this one. */
TEST(a_malformed_header_is_refused_with_what_follows) {
    static const char *const cases[][2] = {
        {"NAME: VALUE", "Content-Length : 34|Content-Length\t: 34|Transfer-Encoding : chunked|"
                        "Content Length: 34|(Content-Length): 34|Content-L\xc3\xa4nge: 34|"
                        "Content-Length|: 34"},
        {"body", "Content-Length: 0|content-length:34|Content-Length: +34|Content-Length:|"
                 "Content-Length: 34\r\nContent-Length: 34|Transfer-Encoding: xchunked|"
                 "Content-Length: 34\r\nTransfer-Encoding: chunked|Transfer-Encoding:"},
        {"blank", "X: a\r\n Content-Length: 34|X: a\r\n\tTransfer-Encoding: chunked|X: a\r\n "}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        are_refused(GET, cases[i][1], "\r\n\r\n" SMUGGLED, 400, cases[i][0]);
    are_refused("GET / HTTP/1.1\r\n", " Content-Length: 34", "\r\nHost: test\r\n\r\n" SMUGGLED, 400, "blank");
}

TEST(a_body_is_never_answered) {
    static const char *const bodies_of =
        "Content-Length: 34\r\n\r\n|content-length:34\r\n\r\n|Content-Length: 0\r\n\r\n|"
        "Transfer-Encoding: chunked\r\n\r\n22\r\n|Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n|"
        "Transfer-Encoding: chunked\r\n\r\n-1;\r\n";
    are_refused(GET, bodies_of, SMUGGLED, 400, "body");
    are_refused("HEAD / HTTP/1.1\r\nHost: test\r\n", bodies_of, SMUGGLED, 400, "");
    are_refused("POST / HTTP/1.1\r\nHost: test\r\n", bodies_of, SMUGGLED, 405, "GET");
    are_refused("PUT / HTTP/1.1\r\nHost: test\r\n", bodies_of, SMUGGLED, 405, "GET");
}

TEST(a_line_ends_with_cr_and_lf) {
    are_refused("GET / HTTP/1.1",
                "\nHost: test\n\n|\nHost: test\r\n\r\n|\r\nHost: test\n\r\n|\r\nHost: test\r\n\n|"
                "\r\nHost: test\r\nX: a\nContent-Length: 34\r\n\r\n|"
                "\r\nHost: test\r\nX: a\rContent-Length: 34\r\n\r\n|"
                "\r\nHost: test\r\nX: a\r\r\nContent-Length: 34\r\n\r\n|"
                "\rHost: test\r\r|\r\nHost: test\r\n\r\r\n|\r\nHost: test\r\nContent-Length: 34\n\n",
                SMUGGLED, 400, "CR and LF");
    are_refused("", "\n|\r", GET "\r\n" SMUGGLED, 400, "CR and LF");
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
            const char *const why = byte == '\t' ? "" : byte == '\n' || byte == '\r' ? "CR" : "control";
            if (byte != '\t' || !in_a_value) is_answered(bytes, strlen(request), 400, why, true);
        }
    }
    are_answered("GET / HTTP/1.1\r\n", "Host:\t test \t\r\nX: a\tb \xc3\xa4\r\nY:\r\nZ:\t", "\r\n\r\n", 200,
                 "hello", false);
}

TEST(there_is_one_host) {
    are_answered("GET / HTTP/1.1\r\nHost:", "test|test:8080|127.0.0.1:80|[::1]:80|a-b.c_d.e||test:|%C3%A4",
                 "\r\n\r\n", 200, "hello", false);
    are_refused("GET / HTTP/1.1\r\n",
                "|Ghost: test\r\n|Host: test\r\nHost: test\r\n|Host: a\r\nX: b\r\nhost: c\r\n|"
                "Host: a, b\r\n|Host: a b\r\n|Host: a/b\r\n|Host: user@a\r\n|Host: a:b\r\n|"
                "Host: a:1:2\r\n|Host: [::1\r\n|Host: [::1]x\r\n|Host: \xc3\xa4\r\n",
                "\r\n", 400, "Host");
    are_refused("GET / HTTP/1.1\r\n", "Host : test\r\n", "\r\n", 400, "NAME");
}

TEST(a_connection_closes_when_it_is_asked_to) {
    are_answered(GET,
                 "Connection: Close|Connection: keep-alive,close|Connection: , close , x|"
                 "Connection: keep-alive\r\nconnection: close|Connection: close\r\nConnection: keep-alive",
                 "\r\n\r\n", 200, "hello", true);
    are_answered(GET,
                 "Connection: keep-alive|Connection: closed|Connection: clos|Connection: not-close|Connection:|"
                 "X-Connection: close",
                 "\r\n\r\n", 200, "hello", false);
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

/* Iterates over the lines of the response's body. */
static char *next_line(char **rest) { return strtok_r(*rest, "\n", rest); }

enum { as_uuid = 1, as_ulid = 3, usual_form = 99 }; /* instead of a base */
static const struct {
    const char *name;
    flake_encoding narrow;
    unsigned wide; /* a base, or one of those above; 0: none */
} forms[] = {{"&format=dec", FLAKE_DEC, 10},        {"&format=hex", FLAKE_HEX, 16},
             {"&format=bin", FLAKE_BIN, 2},         {"&format=base32", FLAKE_BASE32, 0},
             {"&format=base36", FLAKE_BASE36, 36},  {"&format=base58", FLAKE_BASE58, 0},
             {"&format=base62", FLAKE_BASE62, 62},  {"", FLAKE_DEC, usual_form},
             {"&format=uuid", FLAKE_BIN4, as_uuid}, {"&format=ulid", FLAKE_BIN4, as_ulid}};

/* An ID as bytes, of which the last eight are 0 if it has 64 bits. */
static flake128 read_id(const flake_layout *l, unsigned form, char *line, flake_parts *parts) {
    const size_t n = strlen(line);
    flake128 id = {{0}};
    uint64_t narrow = 0;
    unsigned base = forms[form].wide;
    if (!l->format) {
        CHECK_EQ(flake_parse(line, n, forms[form].narrow, &narrow), FLAKE_OK);
        CHECK_EQ(flake_decompose(l, narrow, parts), FLAKE_OK);
        flake_to_bytes(narrow, id.bytes);
        return id;
    }
    if (base == usual_form)
        base = strcmp(l->name, "boundary") == 0 ? 62 : strcmp(l->name, "ulid") == 0 ? as_ulid : as_uuid;
    if (base == 16) {
        CHECK(n == 32 && strspn(line, "0123456789abcdef") == 32);
        for (size_t k = 0; k < n; k++) line[k] = (char)toupper(line[k]);
    }
    CHECK_EQ(base == as_uuid   ? flake128_from_uuid(line, n, &id)
             : base == as_ulid ? flake128_from_ulid(line, n, &id)
                               : flake128_parse(line, n, base, &id),
             FLAKE_OK);
    CHECK_EQ(flake128_decompose(l, &id, parts), FLAKE_OK);
    return id;
}

TEST(a_list_has_each_layout_in_each_format) {
    enum { ids_a_list = 250, all_forms = sizeof forms / sizeof *forms };
    static flake128 drawn[all_forms * ids_a_list];
    client *c = connect_to(usual);
    flake_layout layout = {0};
    for (size_t i = 0; flake_layout_at(i, &layout) == FLAKE_OK; i++) {
        const int64_t begun = unix_s();
        size_t n = 0, lists = 0;
        flake_parts parts = {0}, before = {0};
        if (!layout.format && !layout.node_bits) continue;
        for (unsigned form = 0; form < all_forms; form++) {
            char target[128], *rest = heard.body;
            if (layout.format ? !forms[form].wide : forms[form].narrow == FLAKE_BIN4) continue;
            (void)snprintf(target, sizeof target, "/ids?layout=%s&count=%d%s", layout.name, (int)ids_a_list,
                           forms[form].name);
            SERVES(c, target);
            lists++;
            for (char *line; (line = next_line(&rest)) != NULL && n < all_forms * ids_a_list; n++) {
                const flake128 id = drawn[n] = read_id(&layout, form, line, &parts);
                CHECK(parts.unix_ms / 1000 >= begun && parts.unix_ms / 1000 <= unix_s());
                CHECK(!layout.node_bits || parts.node == 5);
                /* Those of lanes rise by units. */
                if (strcmp(server_mode, "lanes") == 0) CHECK(parts.unix_ms >= before.unix_ms);
                else if (n && !layout.time_reversed) CHECK(flake128_compare(&drawn[n - 1], &id) < 0);
                before = parts;
            }
        }
        CHECK_EQ(n, lists * ids_a_list);
        CHECK_EQ(count_duplicates(drawn, n), 0);
    }
    leave(c);
}

TEST(a_list_has_snos_as_text_and_as_uuids) {
    static const char *const targets[] = {"/ids?layout=sno&count=250", "/ids?layout=sno&count=250&format=text",
                                          "/ids?layout=sno&count=250&format=uuid"};
    client *c = connect_to(usual);
    sno_id last = {0};
    for (int i = 0; i < 3; i++) {
        char *rest = heard.body;
        int n = 0;
        SERVES(c, targets[i]);
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
    static const char *const cases[][2] = {
        {"count", "count=0|count=100001|count=4294967297|count=-1|count=|count|count=1x|count=+1"},
        {"layout", "layout=|layout=snow|layout=IDGEN|layout=uuid9"},
        {"format", "format=base64|format=|format=text|format=uuid|layout=sno&format=dec|"
                   "layout=sno&format=ulid|layout=boundary&format=base58|"
                   "layout=uuid7&format=base58|layout=uuid7&format=text"},
        {"node", "layout=mastodon"},
        {"parameter", "number=5|count=5&size=3"}};
    client *c = connect_to(usual);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char queries[256], *rest = strcpy(queries, cases[i][1]);
        for (const char *query; (query = strsep(&rest, "|")) != NULL;) {
            char target[64];
            (void)snprintf(target, sizeof target, "/ids?%s", query);
            ask(c, target);
            CHECK_EQ(hear(c, false)->status, 400);
            if (!strstr(heard.body, cases[i][0])) CHECK_STR(heard.body, cases[i][0]);
            CHECK(!heard.closes);
        }
    }
    SERVES(c, "/ids?&count=2&");
    leave(c);
}

/* Of several connections that ask at once. */
TEST(stamps_and_lists_have_no_id_in_common) {
    enum { connections = 8, lists = 10, ids_a_list = 1000, most = connections * lists * (ids_a_list + 1) };
    static uint64_t ids[most];
    client *c[connections];
    size_t n = 0;
    for (int i = 0; i < connections; i++) {
        c[i] = connect_to(usual);
        for (int k = 0; k < lists; k++) ask(c[i], "/ids?count=1000&layout=default");
    }
    for (int i = 0; i < connections; i++) {
        for (int k = 0; k < lists; k++) {
            char *rest = heard.body;
            CHECK_EQ(hear(c[i], false)->status, 200);
            ids[n++] = id_of(&heard);
            for (char *line; (line = next_line(&rest)) != NULL && n < most;)
                CHECK_EQ(flake_parse(line, strlen(line), FLAKE_DEC, &ids[n++]), FLAKE_OK);
        }
        leave(c[i]);
    }
    CHECK_EQ(n, most);
    CHECK_EQ(count_duplicates(ids, n), 0);
}

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
    begin_clients(argc, argv);
    usual = start("--node=5", NULL);
    return end_clients(argc, argv, &usual, 1);
}
