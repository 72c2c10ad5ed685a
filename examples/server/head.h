/* SPDX-License-Identifier: MIT
 *
 * The head of a request, strictly by RFC 9112. What the RFC forbids is refused, never repaired: if
 * two programs repair the same bytes differently, one of them reads a second request where the
 * other reads a body. A request with a body is refused, however it states the length.
 */
#ifndef HEAD_H
#define HEAD_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Points into the bytes that it was read from. */
typedef struct request_head {
    const char *method, *version;
    char *target;
    bool has_host, has_body, wants_close;
} request_head;

/* How many bytes the head has, its empty line included; 0: its end has not arrived. What has
 * arrived may already be malformed: then `*why` is the reason. */
static size_t head_size(const char *bytes, size_t n, const char **why) {
    *why = NULL;
    for (size_t i = 0; i < n; i++) {
        const unsigned char byte = (unsigned char)bytes[i];
        if ((byte >= ' ' && byte != 127) || byte == '\t') continue;
        if (byte == '\r' && i + 1 == n) return 0;
        if (byte != '\r' || bytes[i + 1] != '\n') {
            *why = byte == '\n' || byte == '\r' ? "a line must end with CR and LF\n"
                                                : "there is a control character in the head\n";
            return 0;
        }
        if (i + 3 < n && bytes[i + 2] == '\r' && bytes[i + 3] == '\n') return i + 4;
        i++;
    }
    return 0;
}

static char *after_token(char *at) {
    while (isalnum((unsigned char)*at) || (*at && strchr("!#$%&'*+-.^_`|~", *at))) at++;
    return at;
}

static bool read_request_line(request_head *h, char *line) {
    char *at = after_token(line);
    if (at == line || at[0] != ' ' || at[1] != '/') return false;
    h->method = line;
    *at++ = 0;
    h->target = at;
    while (*at > ' ' && *at < 127 && *at != '#') at++;
    if (*at != ' ') return false;
    *at++ = 0;
    h->version = at;
    return strncmp(at, "HTTP/", 5) == 0 && isdigit((unsigned char)at[5]) && at[6] == '.' &&
           isdigit((unsigned char)at[7]) && !at[8];
}

/* A name or an address, and optionally a port. */
static bool is_host(const char *value) {
    static const char digits[] = "0123456789";
    if (*value == '[') {
        value += 1 + strspn(value + 1, "0123456789abcdefABCDEF:.");
        if (*value++ != ']') return false;
    } else
        while (isalnum((unsigned char)*value) || (*value && strchr("-._~%!$&'()*+,;=", *value)))
            value++;
    if (*value == ':') value += 1 + strspn(value + 1, digits);
    return !*value;
}

/* Whether the list a, b, c has the word. */
static bool has_word(const char *list, const char *word) {
    for (const char *at = list; *at;) {
        const size_t n = strcspn(at, ", \t");
        if (n == strlen(word) && strncasecmp(at, word, n) == 0) return true;
        at += n;
        at += strspn(at, ", \t");
    }
    return false;
}

static bool is_name(const char *name, size_t n, const char *wanted) {
    return n == strlen(wanted) && strncasecmp(name, wanted, n) == 0;
}

/* NULL, or why it is malformed. */
static const char *read_field(request_head *h, char *line) {
    char *value = after_token(line), *end = value + strlen(value);
    const size_t n = (size_t)(value - line);
    if (*line == ' ' || *line == '\t') return "a header's line begins with a blank\n";
    if (n == 0 || *value != ':') return "a header must be NAME: VALUE\n";
    for (value++; *value == ' ' || *value == '\t';) value++;
    while (end > value && (end[-1] == ' ' || end[-1] == '\t')) *--end = 0;
    if (is_name(line, n, "Host")) {
        if (h->has_host) return "there are two Host headers\n";
        if (!is_host(value)) return "Host must be a name or an address, and maybe a port\n";
        h->has_host = true;
    } else if (is_name(line, n, "Content-Length") || is_name(line, n, "Transfer-Encoding"))
        h->has_body = true;
    else if (is_name(line, n, "Connection")) h->wants_close |= has_word(value, "close");
    return NULL;
}

/* Ends the line, and goes to the next. */
static char *cut_line(char *line) {
    char *end = strchr(line, '\r');
    *end = 0;
    return end + 2;
}

/* Parses a head that head_size found complete. NULL, or why it is malformed. */
static const char *read_head(request_head *h, char *bytes, size_t size) {
    bytes[size - 2] = 0; /* the empty line */
    memset(h, 0, sizeof *h);
    char *line = bytes, *next = cut_line(line);
    if (!read_request_line(h, line)) return "the request line must be METHOD /PATH HTTP/1.1\n";
    while (*(line = next)) {
        next = cut_line(line);
        const char *why = read_field(h, line);
        if (why) return why;
    }
    if (!h->has_host && strcmp(h->version, "HTTP/1.1") == 0) return "there is no Host header\n";
    return NULL;
}

#endif
