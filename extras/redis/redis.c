/* SPDX-License-Identifier: MIT
 *
 * IDs in Redis 7, as a module:
 *
 *     cc -O2 -fPIC -shared -I../.. redis.c -o flake.so
 *     redis-server --loadmodule "$PWD/flake.so" node=3 dir=/var/lib/redis/ids
 *
 * The arguments are words of a flake_config. Redis enters its --dir before it loads modules, so a relative path of
 * the module fails.
 *
 *     FLAKE.NEXT          a 64-bit ID, as an integer; FLAKE.NEXT COUNT: an array of up to 100,000
 *     SNO.NEXT META       a sno of 16 characters; META 0 to 255
 *     UUID7.NEXT          a UUID of version 7; UUID7.NEXT COUNT: an array, as above
 *
 * The event loop never sleeps for an ID. When this unit's IDs are exhausted, only the client that asks is
 * blocked, until a timer serves it in its turn. It gets the error TRYAGAIN instead if that would take more than a
 * second, because the clock went backwards, or within MULTI and scripts, where no client can be blocked. Any
 * other failure is an ERR, which the server logs, too. (js53's IDs are exact in JavaScript.)
 *
 * Servers of a host share a directory; one that finds no free number does not start. Snos have the same number as
 * partition, in the directory's `snos`. A thread writes the files. After a crash the start waits for 3 s at most, and
 * with node=3-4 it takes the other number. With dir=none nothing checks the node. Without arguments FLAKE.NEXT is an
 * ERR, and the library chooses the partition.
 */
#define _GNU_SOURCE
#include "flake.h"
#include "sno.h"
#include "redis_module.h" // some of Redis' redismodule.h, which you include instead if you have it
#include <poll.h>
#include <pthread.h>
#include <stdio.h>

/* ---- requests: each draws what is available and waits for the rest ---- */

enum { FLAKE, SNO, UUID7, KINDS, MOST = 100000, PATIENCE_NS = 1000000000 };
typedef struct request {
    struct request *next;
    RedisModuleBlockedClient *client;
    flake_status status;
    int kind;
    uint8_t meta;
    bool as_array;
    size_t wanted, drawn;
    char text[16];   // the sno
    flake128 *uuids; // wanted; stored where `ids` is
    uint64_t ids[];  // wanted
} request;

static struct queue {
    request *first, **end; // in the order of arrival
} waiting[KINDS];
static flake_gen flakes, uuids;
static sno_gen snos;
static char no_ids[250]; // the error of FLAKE.NEXT; empty: it has IDs

static int64_t retry_ns(int kind) {
    return flake_retry_ns(kind == FLAKE ? &flakes : kind == SNO ? &snos.gen : &uuids);
}

static bool is_to_retry(flake_status status) {
    return status == FLAKE_AGAIN || status == FLAKE_CLOCK_BACKWARDS || status == FLAKE_NOT_EXTENDED;
}

/* Whether the request can be answered: it has its IDs, or will have none. */
static bool draw(request *r) {
    sno_id sno;
    size_t got = 0;
    r->status = FLAKE_OK;
    if (r->kind == SNO) {
        r->status = sno_try(&snos, r->meta, &sno);
        sno_encode(sno, r->text); // zero after a failure
    }
    for (; r->drawn < r->wanted && r->status == FLAKE_OK; r->drawn += got) {
        uint64_t *ids = r->ids + r->drawn;
        const size_t more = r->wanted - r->drawn;
        r->status = r->kind == FLAKE ? flake_try_n(&flakes, ids, more, &got)
                                     : flake128_try_n(&uuids, r->uuids + r->drawn, more, &got);
    }
    return !is_to_retry(r->status) || r->status == FLAKE_NOT_EXTENDED || retry_ns(r->kind) > PATIENCE_NS;
}

/* The client retries. All other failures are logged: as a bug of this module, or for the operator. */
static int reply_failure(RedisModuleCtx *ctx, flake_status status) {
    const bool is_bug = status == FLAKE_INVALID || status == FLAKE_FORKED;
    const char *what = flake_status_str(status);
    char text[200];
    (void)snprintf(text, sizeof text, "%s no id: %s", is_to_retry(status) ? "TRYAGAIN" : "ERR",
                   what);
    if (!is_to_retry(status))
        RedisModule_Log(ctx, "warning", "flake: %s: %s", is_bug ? "a bug" : "for the operator",
                        what);
    return RedisModule_ReplyWithError(ctx, text);
}

static int reply(RedisModuleCtx *ctx, const request *r) {
    char text[37];
    if (r->status != FLAKE_OK) return reply_failure(ctx, r->status);
    if (r->kind == SNO) return RedisModule_ReplyWithStringBuffer(ctx, r->text, sizeof r->text);
    if (r->as_array) (void)RedisModule_ReplyWithArray(ctx, (long)r->wanted);
    for (size_t i = 0; i < r->wanted; i++) {
        if (r->kind == UUID7) flake128_to_uuid(&r->uuids[i], text);
        if (r->kind == UUID7) (void)RedisModule_ReplyWithStringBuffer(ctx, text, 36);
        else (void)RedisModule_ReplyWithLongLong(ctx, (long long)r->ids[i]);
    }
    return REDISMODULE_OK;
}
static int reply_late(RedisModuleCtx *ctx, RedisModuleString **words, int count) {
    return (void)words, (void)count, reply(ctx, RedisModule_GetBlockedClientPrivateData(ctx));
}
static void release(RedisModuleCtx *ctx, void *r) { (void)ctx, RedisModule_Free(r); }

static void serve(RedisModuleCtx *ctx, void *of_kind) {
    struct queue *queue = of_kind;
    request *r;
    while ((r = queue->first) != NULL && draw(r)) {
        queue->first = r->next;
        (void)RedisModule_UnblockClient(r->client, r);
    }
    if (r) (void)RedisModule_CreateTimer(ctx, retry_ns(r->kind) / 1000000 + 1, serve, queue);
}

static int answer(RedisModuleCtx *ctx, int kind, uint8_t meta, size_t wanted, bool as_array) {
    struct queue *queue = &waiting[kind];
    const size_t id_size = kind == UUID7 ? sizeof(flake128) : sizeof(uint64_t);
    request *r = RedisModule_Calloc(1, sizeof *r + wanted * id_size);
    r->uuids = (flake128 *)(void *)r->ids;
    r->kind = kind, r->meta = meta, r->wanted = wanted, r->as_array = as_array;
    const bool may_not_block = RedisModule_GetContextFlags(ctx) &
                               (REDISMODULE_CTX_FLAGS_LUA | REDISMODULE_CTX_FLAGS_MULTI |
                                REDISMODULE_CTX_FLAGS_DENY_BLOCKING);
    if (may_not_block || !queue->first) {
        if (draw(r) || may_not_block) {
            (void)reply(ctx, r), RedisModule_Free(r);
            return REDISMODULE_OK;
        }
        queue->end = &queue->first;
        (void)RedisModule_CreateTimer(ctx, retry_ns(kind) / 1000000 + 1, serve, queue);
    }
    r->client = RedisModule_BlockClient(ctx, reply_late, NULL, release, 0);
    *queue->end = r, queue->end = &r->next;
    return REDISMODULE_OK;
}

/* ---- commands ---- */

static int next_command(RedisModuleCtx *ctx, RedisModuleString **words, int count, int kind) {
    long long wanted = 1;
    if (count > 2) return RedisModule_WrongArity(ctx);
    if (count == 2 && (RedisModule_StringToLongLong(words[1], &wanted) != REDISMODULE_OK ||
                       wanted < 1 || wanted > MOST))
        return RedisModule_ReplyWithError(ctx, "ERR COUNT is a number from 1 to 100000");
    return answer(ctx, kind, 0, (size_t)wanted, count == 2);
}
static int flake_command(RedisModuleCtx *ctx, RedisModuleString **words, int count) {
    if (*no_ids) return RedisModule_ReplyWithError(ctx, no_ids);
    return next_command(ctx, words, count, FLAKE);
}
static int uuid_command(RedisModuleCtx *ctx, RedisModuleString **words, int count) {
    return next_command(ctx, words, count, UUID7);
}
static int sno_command(RedisModuleCtx *ctx, RedisModuleString **words, int count) {
    long long meta;
    if (count != 2) return RedisModule_WrongArity(ctx);
    if (RedisModule_StringToLongLong(words[1], &meta) != REDISMODULE_OK || meta < 0 || meta > 255)
        return RedisModule_ReplyWithError(ctx, "ERR META is a number from 0 to 255");
    return answer(ctx, SNO, (uint8_t)meta, 0, false);
}

/* ---- the directory ---- */

static void *extend(void *unused) {
    const int64_t horizon_ms = flake_gen_options(&flakes)->horizon_ms;
    while (poll(NULL, 0, (int)(horizon_ms / 4)) <= 0) // if it fails, draws do, too, which is logged
        (void)flake_extend(&flakes, NULL), (void)flake_extend(&snos.gen, NULL);
    return unused;
}

/* At exit: the next holder need not wait. In a forked child: it would hold the number until it ends, too. */
__attribute__((destructor)) static void end(void) {
    (void)flake_close(&flakes, NULL), (void)flake_close(&snos.gen, NULL);
}

static bool begin(flake_config *c, flake_why *why) {
    char sno_dir[sizeof c->text + sizeof "/snos"];
    const char *const dir = c->node.dir;
    flake_options *o = &c->options, sno = {.horizon_ms = o->horizon_ms, .manual_extend = dir != NULL};
    pthread_t thread;
    o->manual_extend = sno.manual_extend;
    if (o->max_ahead_ms || o->layout.format || flake_init(&flakes, c->node, o, why) != FLAKE_OK) return false;
    (void)snprintf(sno_dir, sizeof sno_dir, "%s/snos", dir ? dir : "");
    const flake_node partition = dir ? flake_node_fixed(sno_dir, flake_gen_node(&flakes)) : c->node;
    return sno_init(&snos, partition, NULL, &sno, why) == FLAKE_OK &&
           (!dir || (pthread_atfork(NULL, NULL, end) == 0 &&
                     pthread_create(&thread, NULL, extend, NULL) == 0));
}

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **words, int count) {
    static flake_config c;
    static flake_options uuid_options = {.layout = FLAKE_LAYOUT_UUID7};
    flake_why why = {"takes no max_ahead_ms or 128-bit layout"}, no_node;
    char text[sizeof c.text + 1] = ""; // one byte more than a config takes
    if (RedisModule_Init(ctx, "flake", 1, REDISMODULE_APIVER_1) != REDISMODULE_OK)
        return REDISMODULE_ERR;
    for (size_t i = 0, n = 0; i < (size_t)count && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s ",
                              RedisModule_StringPtrLen(words[i], NULL));
    bool fits = flake_config_parse(text, &c, &no_node) == FLAKE_OK;
    if (fits) fits = begin(&c, &why);
    else {
        (void)snprintf(no_ids, sizeof no_ids, "ERR no id: %s", no_node.text);
        why = no_node;
        fits = count == 0 && sno_init(&snos, flake_node_none(), NULL, NULL, &why) == FLAKE_OK;
    }
    if (!fits || flake_init(&uuids, flake_node_none(), &uuid_options, &why) != FLAKE_OK)
        return RedisModule_Log(ctx, "warning", "flake: %s", why.text), REDISMODULE_ERR;
    return RedisModule_CreateCommand(ctx, "flake.next", flake_command, "fast", 0, 0, 0) |
           RedisModule_CreateCommand(ctx, "sno.next", sno_command, "fast", 0, 0, 0) |
           RedisModule_CreateCommand(ctx, "uuid7.next", uuid_command, "fast", 0, 0, 0);
}

/* Refused: the thread and the generators stay. */
int RedisModule_OnUnload(RedisModuleCtx *ctx) { return (void)ctx, REDISMODULE_ERR; }
