/* SPDX-License-Identifier: MIT
 *
 * The part of Redis' module interface that redis.c calls, under the names that it has in redismodule.h,
 * which no package of Debian has.
 * A module finds the server's functions by their names, through the first word of its context.
 */
#ifndef REDIS_MODULE_H
#define REDIS_MODULE_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { REDISMODULE_OK = 0, REDISMODULE_ERR = 1, REDISMODULE_APIVER_1 = 1 };
enum {
    REDISMODULE_CTX_FLAGS_LUA = 1 << 0,
    REDISMODULE_CTX_FLAGS_MULTI = 1 << 1,
    REDISMODULE_CTX_FLAGS_DENY_BLOCKING = 1 << 21
};

typedef struct RedisModuleCtx RedisModuleCtx;
typedef struct RedisModuleString RedisModuleString;
typedef struct RedisModuleBlockedClient RedisModuleBlockedClient;
typedef int (*RedisModuleCmdFunc)(RedisModuleCtx *, RedisModuleString **, int);
typedef void (*RedisModuleTimerProc)(RedisModuleCtx *, void *);

static void (*RedisModule_SetModuleAttribs)(RedisModuleCtx *, const char *, int, int);
static int (*RedisModule_CreateCommand)(RedisModuleCtx *, const char *, RedisModuleCmdFunc,
                                        const char *, int, int, int);
static int (*RedisModule_WrongArity)(RedisModuleCtx *);
static int (*RedisModule_StringToLongLong)(const RedisModuleString *, long long *);
static const char *(*RedisModule_StringPtrLen)(const RedisModuleString *, size_t *);
static int (*RedisModule_ReplyWithError)(RedisModuleCtx *, const char *);
static int (*RedisModule_ReplyWithArray)(RedisModuleCtx *, long);
static int (*RedisModule_ReplyWithLongLong)(RedisModuleCtx *, long long);
static int (*RedisModule_ReplyWithStringBuffer)(RedisModuleCtx *, const char *, size_t);
static int (*RedisModule_GetContextFlags)(RedisModuleCtx *);
static RedisModuleBlockedClient *(*RedisModule_BlockClient)(
    RedisModuleCtx *, RedisModuleCmdFunc reply, RedisModuleCmdFunc timeout,
    void (*release)(RedisModuleCtx *, void *), long long timeout_ms);
static int (*RedisModule_UnblockClient)(RedisModuleBlockedClient *, void *);
static void *(*RedisModule_GetBlockedClientPrivateData)(RedisModuleCtx *);
static uint64_t (*RedisModule_CreateTimer)(RedisModuleCtx *, long long ms, RedisModuleTimerProc,
                                           void *);
static void *(*RedisModule_Calloc)(size_t, size_t); /* ends the server if there is no memory */
static void (*RedisModule_Free)(void *);
static void (*RedisModule_Log)(RedisModuleCtx *, const char *, const char *, ...);

static int RedisModule_Init(RedisModuleCtx *ctx, const char *name, int version, int api) {
    int (*get)(const char *, void *);
    memcpy(&get, ctx, sizeof get);
#define GET(function) get("RedisModule_" #function, &RedisModule_##function)
    if (GET(SetModuleAttribs) | GET(CreateCommand) | GET(WrongArity) | GET(StringToLongLong) |
        GET(StringPtrLen) | GET(ReplyWithError) | GET(ReplyWithArray) | GET(ReplyWithLongLong) |
        GET(ReplyWithStringBuffer) | GET(GetContextFlags) | GET(BlockClient) | GET(UnblockClient) |
        GET(GetBlockedClientPrivateData) | GET(CreateTimer) | GET(Calloc) | GET(Free) | GET(Log))
        return REDISMODULE_ERR;
#undef GET
    RedisModule_SetModuleAttribs(ctx, name, version, api);
    return REDISMODULE_OK;
}
#endif
