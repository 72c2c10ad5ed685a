/* SPDX-License-Identifier: MIT
 *
 * Ids as column defaults in PostgreSQL 15 or later: one generator for all backends, in shared memory, and
 * state files in the data folder, so that none comes twice over a kill -9, a crash, or a clock put back.
 *
 *     cc -O2 -fPIC -shared -I../.. -I"$(pg_config --includedir-server)" postgresql.c -o flake_ids.so
 *     cp flake_ids.so "$(pg_config --pkglibdir)"
 *     echo "shared_preload_libraries = 'flake_ids'" >> postgresql.conf   # flake.node = 3, too; restart
 *     psql -f postgresql.sql                                             # in each database
 *
 *     CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT flake_next(), what text);
 *
 *     flake_next()   bigint, positive until 2080; waits when this ms has none left, and can be cancelled
 *     sno_next(meta)  text of 16 characters, meta 0 to 255; a column of them is best COLLATE "C"
 *     uuid7()        uuid of version 7, from a generator of each backend: those of two backends are in no
 *                    order inside a ms
 *
 * flake.node, 0 to 1023, is another in each cluster whose ids must not meet; a standby has its own before
 * it is promoted. A background worker opens the state files, and writes them twice a second. While it
 * can't, ids go on for two seconds, and then wait or fail. The first id after a start may wait as long.
 */
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
#include "flake.h"
#include "sno.h"

PG_MODULE_MAGIC;
PGDLLEXPORT void _PG_init(void);
PGDLLEXPORT void flake_ids_worker(Datum unused);

typedef struct shared {
    pg_atomic_uint32 begun; // the generators below may draw
    flake_gen ids;
    flake_state ids_state;
    sno_gen snos;
    flake_state snos_state;
} shared;

static shared *all;
static int node;
static shmem_request_hook_type request_before;
static shmem_startup_hook_type startup_before;

enum { HORIZON_MS = 2000, WRITE_MS = 500, WAIT_MS = 100 };

/* ---- the background worker: it alone opens the files ---- */

static void open_states(flake_options *ids, flake_options *snos, sno_snapshot *pool) {
    static flake_state_options where;
    static flake_state_options sno_where;
    char path[50], sno_path[50]; // in the data folder
    flake_why why;
    flake_why why_snos;
    (void)snprintf(path, sizeof path, "flake_ids.%d", node);
    (void)snprintf(sno_path, sizeof sno_path, "flake_ids.%d.sno", node);
    where.path = path;
    sno_where.path = sno_path;
    where.horizon_ms = sno_where.horizon_ms = HORIZON_MS;
    where.no_wait = sno_where.no_wait = true; // the draws wait
    if (flake_state_open(&all->ids_state, &where, ids, NULL, &why) != FLAKE_OK)
        ereport(FATAL, errmsg("flake_ids: %s", why.text));
    if (sno_state_open(&all->snos_state, &sno_where, snos, pool, &why_snos) != FLAKE_OK)
        ereport(FATAL, errmsg("flake_ids: %s", why_snos.text));
    ids->state = &all->ids_state;
    snos->state = &all->snos_state;
}

static void begin(void) {
    static flake_options ids;
    static flake_options snos;
    static sno_snapshot pool;
    ids.layout = flake_layout_twitter; // 63 bits: bigint has a sign
    ids.node = pool.partition = (uint16_t)node;
    ids.max_wait_ms = snos.max_wait_ms = WAIT_MS;
    ids.shared_memory = snos.shared_memory = true;
    open_states(&ids, &snos, &pool);
    if (pg_atomic_read_u32(&all->begun)) return; // after a worker that has ended: its ids go on
    const flake_status status = flake_init(&all->ids, &ids, NULL);
    if (status != FLAKE_OK) ereport(FATAL, errmsg("flake_ids: %s", flake_status_str(status)));
    const flake_status sno_is = sno_init(&all->snos, &pool, &snos, NULL);
    if (sno_is != FLAKE_OK) ereport(FATAL, errmsg("flake_ids: %s", flake_status_str(sno_is)));
    pg_write_barrier();
    pg_atomic_write_u32(&all->begun, 1);
}

/* It ends with SIGTERM or an error, and is started again by the server, unless that ends, too. */
void flake_ids_worker(Datum unused) {
    (void)unused;
    pqsignal(SIGTERM, die);
    BackgroundWorkerUnblockSignals();
    begin();
    for (;;) {
        (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, WRITE_MS,
                        PG_WAIT_EXTENSION);
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
        const flake_status status = flake_state_extend(&all->ids_state, NULL);
        const flake_status sno_is = flake_state_extend(&all->snos_state, NULL);
        if (status != FLAKE_OK || sno_is != FLAKE_OK)
            ereport(WARNING, errmsg("flake_ids: a state file: %s, %s", flake_status_str(status),
                                    flake_status_str(sno_is)));
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
    if (!found) memset(all, 0, sizeof *all);
    if (!found) pg_atomic_init_u32(&all->begun, 0);
    LWLockRelease(AddinShmemInitLock);
}

void _PG_init(void) {
    BackgroundWorker worker;
    if (!process_shared_preload_libraries_in_progress)
        ereport(ERROR, errmsg("flake_ids must be in shared_preload_libraries"));
    DefineCustomIntVariable("flake.node", "Node number of this cluster's ids.", NULL, &node, 0, 0,
                            1023, PGC_POSTMASTER, 0, NULL, NULL, NULL);
    request_before = shmem_request_hook;
    shmem_request_hook = request;
    startup_before = shmem_startup_hook;
    shmem_startup_hook = startup;
    memset(&worker, 0, sizeof worker);
    worker.bgw_flags = BGWORKER_SHMEM_ACCESS;
    worker.bgw_start_time = BgWorkerStart_PostmasterStart;
    worker.bgw_restart_time = 1;
    (void)snprintf(worker.bgw_name, BGW_MAXLEN, "flake_ids");
    (void)snprintf(worker.bgw_library_name, BGW_MAXLEN, "flake_ids");
    (void)snprintf(worker.bgw_function_name, BGW_MAXLEN, "flake_ids_worker");
    RegisterBackgroundWorker(&worker);
}

/* ---- what SQL calls ---- */

/* A call of a generator waits 100 ms at most, so that a query can be cancelled; then it is made anew. */
static void wait_for_the_worker(void) {
    for (; !pg_atomic_read_u32(&all->begun); pg_usleep(10000)) CHECK_FOR_INTERRUPTS();
    pg_read_barrier();
}

PG_FUNCTION_INFO_V1(pg_flake_next);
Datum pg_flake_next(PG_FUNCTION_ARGS) {
    uint64_t id = 0;
    flake_status status;
    (void)fcinfo;
    wait_for_the_worker();
    while ((status = flake_next(&all->ids, &id)) == FLAKE_AGAIN || status == FLAKE_CLOCK_BACKWARDS ||
           status == FLAKE_NOT_EXTENDED)
        CHECK_FOR_INTERRUPTS();
    if (status != FLAKE_OK) ereport(ERROR, errmsg("flake_next: %s", flake_status_str(status)));
    PG_RETURN_INT64((int64)id);
}

PG_FUNCTION_INFO_V1(pg_sno_next);
Datum pg_sno_next(PG_FUNCTION_ARGS) {
    const int32 meta = PG_GETARG_INT32(0);
    char text[16];
    sno_id id;
    flake_status status;
    if (meta < 0 || meta > 255) ereport(ERROR, errmsg("sno_next: meta is 0 to 255"));
    wait_for_the_worker();
    while ((status = sno_next_n(&all->snos, (uint8_t)meta, &id, 1)) == FLAKE_AGAIN ||
           status == FLAKE_CLOCK_BACKWARDS || status == FLAKE_NOT_EXTENDED)
        CHECK_FOR_INTERRUPTS();
    if (status != FLAKE_OK) ereport(ERROR, errmsg("sno_next: %s", flake_status_str(status)));
    sno_encode(id, text);
    PG_RETURN_TEXT_P(cstring_to_text_with_len(text, sizeof text));
}

PG_FUNCTION_INFO_V1(pg_uuid7);
Datum pg_uuid7(PG_FUNCTION_ARGS) {
    pg_uuid_t *uuid = palloc(sizeof *uuid);
    (void)fcinfo;
    const flake_status status = flake_uuid7_bytes(uuid->data);
    if (status != FLAKE_OK) ereport(ERROR, errmsg("uuid7: %s", flake_status_str(status)));
    PG_RETURN_UUID_P(uuid);
}
