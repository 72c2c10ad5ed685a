/* SPDX-License-Identifier: MIT
 *
 * The parsers of etcd's answers, which come from the network: JSON, base64, horizons. Each is compared with a naive
 * parser. Texts are on the heap in their exact size. Built with -lcurl; nothing is sent.
 */
#include "fuzz.h"
#include "flake_etcd.h"

/* The text with some edits, or the rest of the input. */
static char *claims_text(const char *right, size_t *n) {
    *n = strlen(right);
    return fuzz_byte() % 8 == 7 ? fuzz_rest(n) : fuzz_edited(right, n);
}

/* ---- JSON, read into a tree ---- */

typedef struct claims_node {
    const char *at, *end, *name, *name_end;
    int first, next; /* nodes; -1: none */
} claims_node;

enum { claims_most_nodes = 2048, claims_depth = 16, claims_none = -1, claims_wrong = -2 };
static claims_node claims_nodes[claims_most_nodes];
static int claims_used;
static const char *claims_at, *claims_end;

static const char claims_hex[] = "0123456789abcdefABCDEF";

/* The next character, if it is one of these. */
static bool claims_eat(const char *any) {
    if (claims_at == claims_end || !*claims_at || !strchr(any, *claims_at)) return false;
    claims_at++;
    return true;
}

static void claims_space(void) {
    while (claims_eat(" \t\n\r")) continue;
}

static unsigned claims_digits(void) {
    unsigned n = 0;
    while (claims_eat("0123456789")) n++;
    return n;
}

static bool claims_string(void) {
    if (!claims_eat("\"")) return false;
    while (!claims_eat("\"")) {
        if (claims_at == claims_end || (*claims_at >= 0 && *claims_at < 32)) return false;
        if (!claims_eat("\\")) claims_at++;
        else if (claims_eat("u")) {
            for (unsigned i = 0; i < 4; i++)
                if (!claims_eat(claims_hex)) return false;
        } else if (!claims_eat("\"\\/bfnrt")) return false;
    }
    return true;
}

static bool claims_number(void) {
    (void)claims_eat("-");
    const char first = claims_at < claims_end ? *claims_at : 0;
    const unsigned n = claims_digits();
    if (!n || (first == '0' && n > 1)) return false;
    if (claims_eat(".") && !claims_digits()) return false;
    if (!claims_eat("eE")) return true;
    (void)claims_eat("+-");
    return claims_digits() > 0;
}

static bool claims_word(const char *word) {
    const size_t n = strlen(word);
    if ((size_t)(claims_end - claims_at) < n || memcmp(claims_at, word, n) != 0) return false;
    claims_at += n;
    return true;
}

static int claims_value(unsigned depth) {
    const int me = claims_used++;
    claims_node *node = &claims_nodes[me];
    int *link = &node->first;
    if (depth > claims_depth || claims_at == claims_end || me >= claims_most_nodes - 1) return claims_wrong;
    node->at = claims_at;
    node->first = node->next = claims_none;
    const char c = *claims_at, *const closing = c == '{' ? "}" : "]";
    bool right = true;
    if (c == '"') right = claims_string();
    else if (c == 't') right = claims_word("true");
    else if (c == 'f') right = claims_word("false");
    else if (c == 'n') right = claims_word("null");
    else if (c != '{' && c != '[') right = claims_number();
    else {
        claims_at++;
        claims_space();
        bool more = !claims_eat(closing);
        while (more) {
            const char *name = claims_at;
            if (c == '{' && !claims_string()) return claims_wrong;
            const char *name_end = claims_at;
            if (c == '{') {
                claims_space();
                if (!claims_eat(":")) return claims_wrong;
                claims_space();
            }
            const int child = claims_value(depth + 1);
            if (child < 0) return claims_wrong;
            claims_nodes[child].name = name;
            claims_nodes[child].name_end = name_end;
            *link = child;
            link = &claims_nodes[child].next;
            claims_space();
            if (claims_eat(closing)) break;
            if (!claims_eat(",")) return claims_wrong;
            claims_space();
        }
    }
    node->end = claims_at;
    return right ? me : claims_wrong;
}

/* The tree's root; claims_wrong: not one value. */
static int claims_tree(const char *text, size_t n) {
    claims_at = text;
    claims_end = text + n;
    claims_used = 0;
    claims_space();
    const int root = claims_value(1);
    claims_space();
    return claims_at == claims_end ? root : claims_wrong;
}

static int claims_member(int at, const char *name) {
    int found = claims_none;
    if (at < 0 || *claims_nodes[at].at != '{') return claims_none;
    for (int i = claims_nodes[at].first; i >= 0; i = claims_nodes[i].next) {
        const claims_node *n = &claims_nodes[i];
        if ((size_t)(n->name_end - n->name) - 2 != strlen(name)) continue;
        if (strncmp(n->name + 1, name, strlen(name)) != 0) continue;
        if (found >= 0) return claims_none; /* two: ambiguous */
        found = i;
    }
    return found;
}

/* Of at most 63 bits, without a zero in front; -1: none. */
static int64_t claims_whole(const char *text, size_t n) {
    char digits[20] = "";
    if (n < 1 || n > 19) return -1;
    memcpy(digits, text, n);
    if (strspn(digits, "0123456789") < n || (n > 1 && *digits == '0') ||
        (n == 19 && strcmp(digits, "9223372036854775807") > 0))
        return -1;
    return (int64_t)strtoull(digits, NULL, 10);
}

/* Quoted or not. */
static int64_t claims_whole_of(const claims_node *node) {
    const bool is_quoted = *node->at == '"';
    return claims_whole(node->at + is_quoted, (size_t)(node->end - node->at) - 2 * is_quoted);
}

/* ---- base64 ---- */

static const char claims_digits64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void claims_to_64(const uint8_t *bytes, size_t n, char *out) {
    size_t at = 0;
    for (size_t bit = 0; bit < 8 * n; bit += 6) {
        unsigned v = 0;
        for (size_t i = bit; i < bit + 6; i++) v = v << 1 | (i < 8 * n ? 1u & (unsigned)bytes[i / 8] >> (7 - i % 8) : 0u);
        out[at++] = claims_digits64[v];
    }
    while (at % 4) out[at++] = '=';
    out[at] = 0;
}

/* The bytes that the base64 encodes, if it is valid. */
static size_t claims_from_64(const char *text, size_t n, uint8_t out[1100]) {
    char again[1500];
    size_t bits = 0;
    memset(out, 0, 1100);
    for (size_t i = 0; i < n && text[i] && strchr(claims_digits64, text[i]); i++)
        for (unsigned bit = 0; bit < 6; bit++, bits++)
            if ((strchr(claims_digits64, text[i]) - claims_digits64) >> (5 - bit) & 1)
                out[bits / 8] |= (uint8_t)(0x80 >> bits % 8);
    claims_to_64(out, bits / 8, again);
    return strlen(again) == n && !memcmp(again, text, n) ? bits / 8 : SIZE_MAX;
}

static void claims_check_64(void) {
    uint8_t bytes[64] = {0}, back[1100];
    char wanted[100], out[1100];
    size_t n = fuzz_byte() % sizeof bytes;
    for (size_t i = 0; i < n; i++) bytes[i] = fuzz_byte();
    claims_to_64(bytes, n, wanted);
    char *room = (char *)exactly((n + 2) / 3 * 4 + 1);
    flake_i_to_base64((const char *)bytes, n, room);
    fuzz_true("flake_i_to_base64", !strcmp(room, wanted));
    free(room);
    char *text = claims_text(wanted, &n);
    const size_t size = fuzz_byte() % 2 ? sizeof out : fuzz_byte();
    const size_t fits = claims_from_64(text, n, back);
    const size_t got = flake_i_from_base64(text, n, out, size);
    fuzz_same_u64("flake_i_from_base64", got, fits > size ? SIZE_MAX : fits);
    if (got != SIZE_MAX) fuzz_true("bytes", !memcmp(out, back, got));
    free(text);
}

/* ---- answers ---- */

#define CLAIMS_HEADER                                                                             \
    "\"header\":{\"cluster_id\":\"14841639068965178418\",\"member_id\":\"10276657743932975437\"," \
    "\"revision\":\"6\",\"raft_term\":\"2\"}"
#define CLAIMS_KVS                                                                                \
    "\"kvs\":[{\"key\":\"L3AvMTI=\",\"mod_revision\":\"3\",\"lease\":\"77\",\"value\":\"eA==\"}," \
    "{\"key\":\"L3AvNw==\",\"lease\":\"78\"}],\"count\":\"2\""

static const char *const claims_answers[] = {
    "{" CLAIMS_HEADER "," CLAIMS_KVS "}", "{" CLAIMS_HEADER "}",
    "{" CLAIMS_HEADER ",\"succeeded\":true,\"responses\":[{\"response_put\":{}}]}",
    "{" CLAIMS_HEADER ",\"responses\":[{\"response_range\":{" CLAIMS_HEADER "," CLAIMS_KVS
    "}},{\"response_range\":{" CLAIMS_HEADER "}}]}",
    "{" CLAIMS_HEADER ",\"responses\":[{\"response_range\":{" CLAIMS_HEADER "}},{\"response_range\":{" CLAIMS_HEADER
    "," CLAIMS_KVS "}}]}",
    "{\"result\":{" CLAIMS_HEADER ",\"ID\":\"77\",\"TTL\":\"10\"}}",
    "{\"error\":{\"grpc_code\":5,\"message\":\"etcdserver: \\u00e9\\\"\",\"n\":[-1.5e+3,null]}}",
    /* values just within a bound, and just outside */
    " [ [ [ [ [ [ [ [ [ [ [ [ [ [ [ 1 , false ] ] ] ] ] ] ] ] ] ] ] ] ] ] ] ", "[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]",
    "{\"result\":{" CLAIMS_HEADER ",\"ID\":\"77\",\"TTL\":\"2147483648\"}}",
    "[9223372036854775807,9223372036854775808,\"9223372036854775809\",-0,0.5]"};
static const char *const claims_members[] = {"header", "kvs", "succeeded", "responses", "result", "error"};

/* The H of "H TOKEN SEQ"; -1: malformed. */
static int64_t claims_horizon(const char *text, size_t n) {
    size_t length = 0;
    while (length < n && text[length] >= '0' && text[length] <= '9') length++;
    if (n < length + 35 || text[length] != ' ' || text[length + 33] != ' ') return -1;
    for (size_t i = length + 1; i < length + 33; i++)
        if (!text[i] || !strchr(claims_hex, text[i])) return -1;
    for (size_t i = length + 34; i < n; i++)
        if (text[i] < '0' || text[i] > '9') return -1;
    return claims_whole(text, length);
}

static flake_i_etcd_numbers claims_noted;

static void claims_check_answer(void) {
    const size_t answers = sizeof claims_answers / sizeof *claims_answers;
    size_t n;
    char *text = claims_text(claims_answers[fuzz_byte() % answers], &n);
    const int root = claims_tree(text, n);
    const flake_i_json v = flake_i_json_text(text, n);
    fuzz_same("one value", v.at != NULL, root >= 0);
    if (root < 0) {
        free(text);
        return;
    }
    fuzz_same("its start", v.at - text, claims_nodes[root].at - text);
    fuzz_same("its end", v.end - text, claims_nodes[root].end - text);

    flake_i_json name = flake_i_json_none, value = flake_i_json_none;
    int child = *v.at == '{' || *v.at == '[' ? claims_nodes[root].first : claims_none;
    while (flake_i_json_each(v, &name, &value)) {
        if (child < 0) fuzz_fail("values", 1, 0);
        fuzz_same("a value's start", value.at - text, claims_nodes[child].at - text);
        fuzz_same("a value's end", value.end - text, claims_nodes[child].end - text);
        if (*v.at == '{') fuzz_same("its name", name.at - 1 - text, claims_nodes[child].name - text);
        int64_t number = -1;
        const int64_t whole = claims_whole_of(&claims_nodes[child]);
        fuzz_same("flake_i_json_number", flake_i_json_number(value, &number), whole >= 0);
        fuzz_same("number", number, whole);
        child = claims_nodes[child].next;
    }
    fuzz_same("values left", child, claims_none);

    for (size_t i = 0; i < sizeof claims_members / sizeof *claims_members; i++) {
        const int member = claims_member(root, claims_members[i]);
        const char *const at = flake_i_json_get(v, claims_members[i]).at;
        fuzz_true("flake_i_json_get", at == (member < 0 ? NULL : claims_nodes[member].at));
    }
    /* Tests in tests/etcd say what these return. */
    for (int horizons = 0; horizons < 2; horizons++)
        (void)flake_i_etcd_note_numbers(v, "/p/", 100, horizons, &claims_noted);
    (void)flake_i_etcd_outcome_in(v, "L3AvMTI=", "eQ==", "eA==");
    free(text);
}

static void claims_check_horizon(void) {
    size_t n;
    char *text = claims_text("9223372036854775807 0123456789abcdef0123456789ABCDEF 7", &n);
    fuzz_same("flake_i_etcd_horizon_in", flake_i_etcd_horizon_in(text, n), claims_horizon(text, n));
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    fuzz_begin(bytes, size);
    switch (fuzz_byte() % 8) {
    case 0:
    case 2: claims_check_64(); break;
    case 3: claims_check_horizon(); break;
    default: claims_check_answer(); break;
    }
    return 0;
}

#include "driver.h"
