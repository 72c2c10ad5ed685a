/* SPDX-License-Identifier: MIT
 *
 * When a text is to show what it names, as in user_01h455vb4pex5vsknk084sn02q: a TypeID, which is a prefix and a UUIDv7
 * in 26 characters, those of a ULID in lower case. Store the UUID, in a column of its table; the prefix is the table's.
 */
#include "flake.h"
#include <ctype.h>
#include <stdio.h>

enum { PREFIX = 63, SUFFIX = 26 };

// Lower-case letters, and underscores between them.
static bool is_prefix(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if ((text[i] < 'a' || text[i] > 'z') && (text[i] != '_' || i == 0 || i + 1 == length)) return false;
    return length <= PREFIX;
}

static flake_status type_id_of(const char *prefix, const flake128 *uuid, char out[PREFIX + 1 + SUFFIX + 1]) {
    const size_t length = strlen(prefix);
    if (!is_prefix(prefix, length)) return FLAKE_INVALID;
    memcpy(out, prefix, length);
    if (length) *(out + length) = '_'; // without a prefix there is no underscore either
    char *const suffix = out + length + (length != 0);
    flake128_to_ulid(uuid, suffix);
    for (int i = 0; i < SUFFIX; i++) suffix[i] = (char)tolower((unsigned char)suffix[i]);
    return FLAKE_OK;
}

// The whole text is a TypeID with this prefix.
static flake_status uuid_of(const char *prefix, const char *text, flake128 *uuid) {
    const size_t length = strlen(prefix), skipped = length + (length != 0);
    if (strlen(text) != skipped + SUFFIX || memcmp(text, prefix, length) != 0) return FLAKE_PARSE;
    if (length && text[length] != '_') return FLAKE_PARSE;
    // A TypeID accepts neither upper case nor I, L and O, which the text of a ULID does.
    for (const char *at = text + skipped; *at; at++)
        if ((*at >= 'A' && *at <= 'Z') || strchr("ilou", *at)) return FLAKE_PARSE;
    return flake128_from_ulid(text + skipped, SUFFIX, uuid);
}

int main(void) {
    char text[PREFIX + 1 + SUFFIX + 1], uuid_text[37];
    flake128 uuid, back;
    flake_status status = flake_uuid7_bytes(uuid.bytes);
    if (status == FLAKE_OK) status = type_id_of("user", &uuid, text);
    if (status == FLAKE_OK) status = uuid_of("user", text, &back);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    flake128_to_uuid(&back, uuid_text);
    printf("%s is %s\n", text, uuid_text);
    // One of the specification's.
    status = uuid_of("prefix", "prefix_01h455vb4pex5vsknk084sn02q", &back);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    flake128_to_uuid(&back, uuid_text);
    return strcmp(uuid_text, "01890a5d-ac96-774b-bcce-b302099a8057") != 0;
}
