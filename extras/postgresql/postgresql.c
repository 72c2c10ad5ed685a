/* SPDX-License-Identifier: MIT
 *
 * IDs as column defaults in PostgreSQL 15 or later. All backends share one generator in shared memory. Files of a
 * directory ensure that no ID repeats after a kill -9, a crash, or a backward step of the clock.
 *
 *     cc -O2 -fPIC -shared -I../.. -I"$(pg_config --includedir-server)" postgresql.c -o flake_ids.so
 *     cp flake_ids.so "$(pg_config --pkglibdir)"
 *     printf "shared_preload_libraries = 'flake_ids'\nflake.config = 'node=3 dir=flake_ids'\n" >> postgresql.conf # restart
 *     psql -f postgresql.sql   # in each database
 *
 *     CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT flake_next(), what text);
 *
 *     flake_next()    bigint, positive until 2094
 *     sno_next(meta)  text of 16 characters, meta 0 to 255; declare the column COLLATE "C"
 *     uuid7()         uuid of version 7, from a generator of each backend: those of two backends are
 *                     unordered within a ms
 *
 * A query whose status asks for a retry waits for 10 to 20 s, and can be cancelled. Another status is an error:
 * SQLSTATE 58000 for the operator, XX000 for a bug of this module.
 *
 * flake.config is a flake_config for flake_next. A relative dir is in the data directory. Clusters of one host and user
 * may share a directory, which gives each a node of its own. A base backup contains the data directory, so a standby
 * needs another node before it is promoted. Snos have the same number as partition, in DIR/snos. Without a text
 * flake_next() is an error, and the library chooses the partition. With dir=none nothing is checked or written.
 *
 * A background worker holds the number and writes the files twice a second. If it ends, the next one takes over. If it
 * cannot write, IDs are generated for 2 s more. A first ID may wait as long.
 */
#define _GNU_SOURCE
#include <postgres.h>
#include <fmgr.h>
#include <miscadmin.h>
#include <postmaster/bgworker.h>
#include <storage/ipc.h>
#include <storage/latch.h>
#include <storage/lwlock.h>
#include <storage/shmem.h>
#include <tcop/tcopprot.h>
#include <utils/builtins.h>
#include <utils/guc.h>
#include <utils/uuid.h>
#include <utils/wait_event.h>
#include <dlfcn.h>
#include "flake.h"
#include "sno.h"

PG_MODULE_MAGIC;
PGDLLEXPORT void _PG_init(void);
PGDLLEXPORT void flake_ids_worker(Datum unused);

typedef struct shared {
    pg_atomic_uint32 begun; // the generators below are initialised
    flake_gen ids;
    sno_gen snos;
} shared;

static shared *all;
static flake_config config;
static bool has_ids;
static flake_why no_ids; // why flake_next() is an error if not
static shmem_request_hook_type request_before;
static shmem_startup_hook_type startup_before;

enum { HORIZON_MS = 2000, WRITE_MS = 500, WAIT_MS = 100, MOST_WAITS = 100 };

/* ---- the background worker: it alone opens the files ---- */

static void begin(void) {
    char path[sizeof config.text + sizeof "/snos"];
    const char *const dir = config.node.dir;
    const flake_options *const o = &config.options;
    const flake_options snos = {.max_wait_ms = WAIT_MS, .shared_memory = true,
                                .horizon_ms = o->horizon_ms, .no_wait = o->no_wait};
    flake_status status = FLAKE_OK;
    flake_why why;
    if (!pg_atomic_read_u32(&all->begun)) {
        if (has_ids) status = flake_init(&all->ids, config.node, o, &why);
        (void)snprintf(path, sizeof path, "%s/snos", dir ? dir : "");
        const flake_node partition = dir ? flake_node_fixed(path, flake_gen_node(&all->ids)) : config.node;
        if (status == FLAKE_OK) status = sno_init(&all->snos, partition, NULL, &snos, &why);
    } else if (dir && (status = flake_take_over(&all->ids, &why)) == FLAKE_OK) // an earlier worker has ended
        status = flake_take_over(&all->snos.gen, &why);
    if (status != FLAKE_OK) ereport(FATAL, errmsg("flake_ids: %s", why.text));
    pg_write_barrier();
    pg_atomic_write_u32(&all->begun, 1);
}

/* It ends with SIGTERM or an error, and the server starts another one, unless the server ends, too. */
void flake_ids_worker(Datum unused) {
    flake_why why;
    (void)unused;
    pqsignal(SIGTERM, die);
    BackgroundWorkerUnblockSignals();
    begin();
    for (;;) {
        (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, WRITE_MS,
                        PG_WAIT_EXTENSION);
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
        if (config.node.dir && (flake_extend(&all->ids, &why) | flake_extend(&all->snos.gen, &why)))
            ereport(WARNING, errmsg("flake_ids: %s", why.text));
    }
}

/* ---- what the server calls at its start ---- */

static void request(void) {
    if (request_before) request_before();
    RequestAddinShmemSpace(sizeof(shared));
}

static void startup(void) {
    bool found;
    if (startup_before) startup_before();
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    all = ShmemInitStruct("flake_ids", sizeof(shared), &found);
    if (!found) memset(all, 0, sizeof *all), pg_atomic_init_u32(&all->begun, 0);
    LWLockRelease(AddinShmemInitLock);
}

/* Whether generators can have these options; no number is claimed. */
static bool fits(flake_options o, flake_why *why) {
    static sno_gen trial;
    const flake_node node = o.layout.node_bits ? flake_node_fixed(NULL, config.node.last) : config.node;
    if (config.node.dir) o.claim_wait_ms = o.max_downtime_ms = o.must_exist = o.no_wait = o.manual_extend = 0;
    o.after_unix_ms = 0, o.start_this_unit = o.shared_memory = true; // a call that does not wait
    return flake_init(&trial.gen, node, &o, why) == FLAKE_OK &&
           sno_init(&trial, node, NULL, NULL, why) == FLAKE_OK;
}

/* A wrong configuration prevents the start of the server. */
void _PG_init(void) {
    static char *text;
    BackgroundWorker worker = {.bgw_flags = BGWORKER_SHMEM_ACCESS, .bgw_restart_time = 1,
                               .bgw_start_time = BgWorkerStart_PostmasterStart,
                               .bgw_name = "flake_ids", .bgw_function_name = "flake_ids_worker"};
    flake_options *o = &config.options;
    flake_why why = {"takes no single_thread, max_wait_ms, horizon_ms or 128-bit layout"};
    Dl_info here;
    if (!process_shared_preload_libraries_in_progress)
        ereport(ERROR, errmsg("flake_ids must be in shared_preload_libraries"));
    DefineCustomStringVariable("flake.config", "Options of this cluster's ids.", NULL, &text, "",
                               PGC_POSTMASTER, 0, NULL, NULL, NULL);
    MarkGUCPrefixReserved("flake");
    has_ids = flake_config_parse(text, &config, &no_ids) == FLAKE_OK;
    if (!has_ids) why = no_ids;
    else if (o->single_thread || o->max_wait_ms || o->horizon_ms || o->layout.format || !fits(*o, &why))
        has_ids = false;
    if (*text && !has_ids) ereport(ERROR, errmsg("flake.config: %s", why.text));
    if (!has_ids) config.node = flake_node_none();
    o->max_wait_ms = WAIT_MS, o->shared_memory = true;
    if (config.node.dir) o->horizon_ms = HORIZON_MS, o->no_wait = true;
    // The worker loads this file by its path: another name may not be found.
    if (!dladdr(&config, &here) ||
        strlcpy(worker.bgw_library_name, here.dli_fname, sizeof worker.bgw_library_name) >=
            sizeof worker.bgw_library_name)
        ereport(ERROR, errmsg("flake_ids: the path of the module is too long for a worker: %s",
                              here.dli_fname));
    request_before = shmem_request_hook;
    shmem_request_hook = request;
    startup_before = shmem_startup_hook;
    shmem_startup_hook = startup;
    RegisterBackgroundWorker(&worker);
}

/* ---- what SQL calls ---- */

static void wait_for_the_worker(const char *function) {
    for (int waits = 0; !pg_atomic_read_u32(&all->begun); pg_usleep(WAIT_MS * 1000)) {
        CHECK_FOR_INTERRUPTS();
        if (waits++ == MOST_WAITS)
            ereport(ERROR, errcode(ERRCODE_SYSTEM_ERROR),
                    errmsg("%s: the worker cannot begin: see the server's log", function));
    }
    pg_read_barrier();
}

/* A draw waits for at most 100 ms, so that a query can be cancelled before the draw is retried. */
static bool is_to_retry(const char *function, flake_status status, int *waits) {
    const bool is_bug = status == FLAKE_INVALID || status == FLAKE_FORKED;
    CHECK_FOR_INTERRUPTS();
    if (status == FLAKE_OK) return false;
    if ((status != FLAKE_AGAIN && status != FLAKE_CLOCK_BACKWARDS &&
         status != FLAKE_NOT_EXTENDED) ||
        ++*waits == MOST_WAITS)
        ereport(ERROR, errcode(is_bug ? ERRCODE_INTERNAL_ERROR : ERRCODE_SYSTEM_ERROR),
                errmsg("%s: %s", function, flake_status_str(status)));
    pg_usleep(WAIT_MS * 1000); // a draw whose wait is pointless returns at once
    return true;
}

PG_FUNCTION_INFO_V1(pg_flake_next);
Datum pg_flake_next(PG_FUNCTION_ARGS) {
    uint64_t id;
    int waits = 0;
    (void)fcinfo;
    if (!has_ids)
        ereport(ERROR, errcode(ERRCODE_SYSTEM_ERROR), errmsg("flake_next: flake.config: %s", no_ids.text));
    wait_for_the_worker("flake_next");
    while (is_to_retry("flake_next", flake_next(&all->ids, &id), &waits)) continue;
    PG_RETURN_INT64((int64)id);
}

PG_FUNCTION_INFO_V1(pg_sno_next);
Datum pg_sno_next(PG_FUNCTION_ARGS) {
    const int32 meta = PG_GETARG_INT32(0);
    char text[16];
    sno_id id;
    int waits = 0;
    if (meta < 0 || meta > 255) ereport(ERROR, errmsg("sno_next: meta is 0 to 255"));
    wait_for_the_worker("sno_next");
    while (is_to_retry("sno_next", sno_next_n(&all->snos, (uint8_t)meta, &id, 1), &waits)) continue;
    sno_encode(id, text);
    PG_RETURN_TEXT_P(cstring_to_text_with_len(text, sizeof text));
}

PG_FUNCTION_INFO_V1(pg_uuid7);
Datum pg_uuid7(PG_FUNCTION_ARGS) {
    pg_uuid_t *uuid = palloc(sizeof *uuid);
    int waits = 0;
    (void)fcinfo;
    while (is_to_retry("uuid7", flake_uuid7_bytes(uuid->data), &waits)) continue;
    PG_RETURN_UUID_P(uuid);
}
