/* SPDX-License-Identifier: MIT
 *
 * IDs as column defaults in PostgreSQL 15 or later. All backends share one generator in shared memory. State
 * files in the data directory ensure that no ID repeats after a kill -9, a crash, or a backward step of the clock.
 *
 *     cc -O2 -fPIC -shared -I../.. -I"$(pg_config --includedir-server)" postgresql.c -o flake_ids.so
 *     cp flake_ids.so "$(pg_config --pkglibdir)"
 *     printf "shared_preload_libraries = 'flake_ids'\nflake.config = 'node=3 dir=none'\n" >> postgresql.conf # restart
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
 * flake.config is the text of a flake_config for flake_next. The node is unique among clusters whose IDs must differ,
 * and also the partition of snos; a standby needs its own before it is promoted. Without a text flake_next() is an
 * error, and the library chooses the partition. A background worker opens the state files and writes them twice a
 * second. If it cannot, IDs are generated for 2 s more. A first ID may wait as long.
 */
#define _GNU_SOURCE
#include <postgres.h>
#include <fmgr.h>
#include <miscadmin.h>
#include <port/atomics.h>
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
    flake_state ids_state;
    sno_gen snos;
    flake_state snos_state;
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
    char path[50], sno_path[50]; // in the data directory
    flake_options *ids = &config.options, snos = {.max_wait_ms = WAIT_MS, .shared_memory = true};
    const bool has_node = has_ids && ids->layout.node_bits; // else the library chooses a partition
    const unsigned node = has_node ? (unsigned)config.node.number : 0;
    sno_snapshot pool = {.partition = (uint16_t)node, .sequence_max = has_node ? UINT16_MAX : 0};
    flake_state_options at = {.path = path, .horizon_ms = HORIZON_MS, .no_wait = true}, sno_at = at;
    flake_why why;
    sno_at.path = sno_path;
    (void)snprintf(path, sizeof path, "flake_ids.%u", node);
    (void)snprintf(sno_path, sizeof sno_path, has_node ? "flake_ids.%u.sno" : "flake_ids.sno", node);
    ids->state = &all->ids_state;
    snos.state = &all->snos_state;
    if ((has_ids && flake_state_open(ids->state, &at, config.node, ids, NULL, &why) != FLAKE_OK) ||
        sno_state_open(snos.state, &sno_at, &snos, &pool, &why) != FLAKE_OK ||
        (!pg_atomic_read_u32(&all->begun) && // else by an earlier worker
         ((has_ids && flake_init(&all->ids, config.node, ids, &why) != FLAKE_OK) ||
          sno_init(&all->snos, flake_node_fixed(NULL, pool.partition), &pool, &snos, &why))))
        ereport(FATAL, errmsg("flake_ids: %s", why.text));
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
        flake_state *const states[] = {&all->snos_state, &all->ids_state};
        for (int i = 0; i < 1 + has_ids; i++)
            if (flake_state_extend(states[i], &why) != FLAKE_OK)
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

/* A wrong configuration prevents the start of the server. */
void _PG_init(void) {
    static char *text;
    static sno_gen trial;
    BackgroundWorker worker = {.bgw_flags = BGWORKER_SHMEM_ACCESS,
                               .bgw_start_time = BgWorkerStart_PostmasterStart,
                               .bgw_restart_time = 1,
                               .bgw_name = "flake_ids",
                               .bgw_function_name = "flake_ids_worker"};
    flake_options *o = &config.options;
    flake_why why = {"takes no state, single_thread, max_wait_ms or 128-bit layout"};
    Dl_info here;
    if (!process_shared_preload_libraries_in_progress)
        ereport(ERROR, errmsg("flake_ids must be in shared_preload_libraries"));
    DefineCustomStringVariable("flake.config", "Options of this cluster's ids.", NULL, &text, "",
                               PGC_POSTMASTER, 0, NULL, NULL, NULL);
    MarkGUCPrefixReserved("flake");
    has_ids = flake_config_parse(text, &config, &no_ids) == FLAKE_OK;
    if (!has_ids) why = no_ids;
    bool fits = !config.state.path && !config.state.dir && !o->single_thread && !o->max_wait_ms &&
                !o->layout.format;
    o->max_wait_ms = WAIT_MS;
    o->shared_memory = true;
    if (has_ids ? !fits || flake_init(&trial.gen, config.node, o, &why) != FLAKE_OK ||
                      sno_init(&trial, config.node, NULL, NULL, &why) != FLAKE_OK
                : *text)
        ereport(ERROR, errmsg("flake.config: %s", why.text));
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
