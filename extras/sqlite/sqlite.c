/* SPDX-License-Identifier: MIT
 *
 * IDs in SQLite, as a loadable extension:
 *
 *     cc -O2 -fPIC -shared -I../.. sqlite.c -o flake.so
 *     FLAKE_CONFIG="node=0-99 dir=/var/lib/shop/ids" sqlite3 shop.db
 *     .load ./flake
 *     CREATE TABLE orders (id INT PRIMARY KEY NOT NULL DEFAULT (flake_next()), what) WITHOUT ROWID;
 *     INSERT INTO orders (what) VALUES ('tea') RETURNING id;
 *     SELECT datetime(flake_time(id) / 1000, 'unixepoch') FROM orders
 *         WHERE id >= flake_min(1700000000000);
 *
 *     flake_next()     a 64-bit ID, positive until 2094; waits while this ms is exhausted
 *     flake_time(id)   the Unix time of an ID, in ms
 *     flake_min(ms)    the smallest ID of that time, for ranges
 *     uuid7()          a UUID of version 7 as text; uuid7_blob() as 16 bytes
 *
 * A failed call returns SQLITE_BUSY if a retry may succeed, SQLITE_MISUSE after a mistake such as a fork, and else
 * SQLITE_ERROR, which SQLite's error log has, too: for the operator.
 *
 * FLAKE_CONFIG is the text of a flake_config. With node=0-99 each process that loads the module takes a free number
 * of the directory, so all processes that write into a database share one text. The number is free again when the
 * process and the children that it forked have ended. After a kill -9 a new process takes another number, or waits for
 * 3 s at most. About every 1.5 s one call writes the number's file. With dir=none nothing checks that no other process
 * has this node. Without a text flake_next() is an error. UUIDs need none. (An INTEGER PRIMARY KEY is the row's number
 * and takes no default. INT does.)
 */
#define _GNU_SOURCE
#include <sqlite3ext.h>
#include "flake.h"
#include <stdlib.h>
SQLITE_EXTENSION_INIT1

static flake_gen ids; // one for all connections and threads of this process
static flake_config config;
static bool begun;
static flake_why no_ids; // why flake_next() is an error; empty: it is none

static void say(sqlite3_context *context, const char *function, const char *what) {
    char *text = sqlite3_mprintf("%s: %s", function, what);
    sqlite3_result_error(context, text ? text : what, -1);
    sqlite3_free(text);
}

static void refuse(sqlite3_context *context, const char *function, flake_status status) {
    say(context, function, flake_status_str(status));
    switch (status) {
    case FLAKE_AGAIN:
    case FLAKE_CLOCK_BACKWARDS:
    case FLAKE_NOT_EXTENDED: sqlite3_result_error_code(context, SQLITE_BUSY); break;
    case FLAKE_INVALID:
    case FLAKE_FORKED: sqlite3_result_error_code(context, SQLITE_MISUSE); break;
    default: sqlite3_log(SQLITE_ERROR, "%s: %s", function, flake_status_str(status));
    }
}

static void next(sqlite3_context *context, int count, sqlite3_value **values) {
    uint64_t id;
    (void)count, (void)values;
    const flake_status status = flake_next(&ids, &id);
    if (*no_ids.text) say(context, "flake_next: FLAKE_CONFIG", no_ids.text);
    else if (status == FLAKE_OK) sqlite3_result_int64(context, (sqlite3_int64)id);
    else refuse(context, "flake_next", status);
}

static void time_of(sqlite3_context *context, int count, sqlite3_value **values) {
    flake_parts parts;
    (void)count;
    if (sqlite3_value_type(values[0]) == SQLITE_NULL) return; // the result is NULL
    const flake_status status =
        flake_decompose(&config.options.layout, (uint64_t)sqlite3_value_int64(values[0]), &parts);
    if (sqlite3_value_type(values[0]) != SQLITE_INTEGER || status != FLAKE_OK)
        say(context, "flake_time", "not an id of this layout");
    else sqlite3_result_int64(context, parts.unix_ms);
}

static void least_of(sqlite3_context *context, int count, sqlite3_value **values) {
    uint64_t id;
    (void)count;
    const flake_status status =
        flake_min_at(&config.options.layout, sqlite3_value_int64(values[0]), &id);
    if (status == FLAKE_OK) sqlite3_result_int64(context, (sqlite3_int64)id);
    else say(context, "flake_min", flake_status_str(status));
}

static void uuid_text(sqlite3_context *context, int count, sqlite3_value **values) {
    char text[37];
    (void)count, (void)values;
    const flake_status status = flake_uuid7(text);
    if (status == FLAKE_OK) sqlite3_result_text(context, text, 36, SQLITE_TRANSIENT);
    else refuse(context, "uuid7", status);
}

static void uuid_blob(sqlite3_context *context, int count, sqlite3_value **values) {
    uint8_t bytes[16];
    (void)count, (void)values;
    const flake_status status = flake_uuid7_bytes(bytes);
    if (status == FLAKE_OK) sqlite3_result_blob(context, bytes, 16, SQLITE_TRANSIENT);
    else refuse(context, "uuid7_blob", status);
}

/* Once per process, even if several connections load this. What is wrong, or NULL. */
static char *begin(void) {
    flake_options *o = &config.options;
    const char *text = getenv("FLAKE_CONFIG");
    flake_why why = {"takes no single_thread, manual_extend, max_ahead_ms or 128-bit layout"};
    if (begun) return NULL;
    if (flake_config_parse(text ? text : "", &config, &no_ids) != FLAKE_OK) {
        o->layout = flake_layout_default; // of flake_time and flake_min
        begun = !text || !*text;          // UUIDs alone
        return begun ? NULL : sqlite3_mprintf("FLAKE_CONFIG: %s", no_ids.text);
    }
    begun = !o->single_thread && !o->manual_extend && !o->max_ahead_ms && !o->layout.format &&
            flake_init(&ids, config.node, o, &why) == FLAKE_OK;
    return begun ? NULL : sqlite3_mprintf("FLAKE_CONFIG: %s", why.text);
}

/* The next holder of the number need not wait for the horizon. In a forked child this drops what it inherited. */
__attribute__((destructor)) static void end(void) { (void)flake_close(&ids, NULL); }

int sqlite3_extension_init(sqlite3 *db, char **error, const sqlite3_api_routines *api);
int sqlite3_extension_init(sqlite3 *db, char **error, const sqlite3_api_routines *api) {
    static const struct {
        const char *name;
        int arguments, flags;
        void (*call)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {{"flake_next", 0, 0, next},
                     {"flake_time", 1, SQLITE_DETERMINISTIC, time_of},
                     {"flake_min", 1, SQLITE_DETERMINISTIC, least_of},
                     {"uuid7", 0, 0, uuid_text},
                     {"uuid7_blob", 0, 0, uuid_blob}};
    SQLITE_EXTENSION_INIT2(api)
    sqlite3_mutex *alone = sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP1);
    sqlite3_mutex_enter(alone);
    *error = begin();
    sqlite3_mutex_leave(alone);
    if (*error) return SQLITE_ERROR;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const int code =
            sqlite3_create_function(db, functions[i].name, functions[i].arguments,
                                    SQLITE_UTF8 | SQLITE_INNOCUOUS | functions[i].flags, NULL,
                                    functions[i].call, NULL, NULL);
        if (code != SQLITE_OK) return code;
    }
    // The generator must outlive the connection: a new one would repeat IDs of the same ms.
    return SQLITE_OK_LOAD_PERMANENTLY;
}
