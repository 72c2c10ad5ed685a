/* SPDX-License-Identifier: MIT
 *
 * IDs in nginx, as variables of a dynamic module, which is built from nginx's sources (Debian: nginx-dev) and `config`:
 *
 *     cp -r /usr/share/nginx/src . && cd src
 *     ./configure --with-compat --add-dynamic-module=/path/to/this/directory
 *     make -f objs/Makefile modules
 *     cp objs/ngx_http_flake_module.so /usr/lib/nginx/modules/
 *
 *     load_module modules/ngx_http_flake_module.so;
 *     http {
 *         flake_config "node=6-7 dir=/var/lib/nginx/ids"; # words of a flake_config
 *         add_header X-Request-Id $flake_id;          # one ID for each request and its subrequests
 *         log_format with_ids '$flake_id $request';   # $uuid7: a UUID of version 7
 *     }
 *
 * Without flake_config there is no $flake_id. All workers draw from one generator, in a zone of shared memory that
 * outlasts reloads. No worker ever waits for an ID: IDs may run 10 ms ahead of the clock, which is 40,960 requests at
 * once. If that is not enough, for example after a longer backward step of the clock, the variable is empty. The log
 * has the reason: [error] if later requests will have IDs again, [crit] if the operator must act, [alert] for a bug of
 * this module. Each worker generates its own UUIDs: those of two workers are unordered within a ms.
 *
 * One worker, never the master, holds the number, and writes its file twice a second. When it ends, another takes over.
 * The number is in use while a worker lives, also after a kill -9 of the master. A second nginx, and the successor
 * after USR2, takes the range's other number. So does an nginx that starts again, which with one number has no IDs for
 * 2 s. Going back, with HUP after WINCH, needs a range, too: once the successor has the only number, the old master has
 * no IDs until a restart. The directory belongs to the user of the workers. With dir=none nothing checks the node.
 */
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>
#include "flake.h"

enum { HORIZON_MS = 2000, WRITE_MS = 500, RETRY_MS = 5000 };

typedef struct shared { // in the zone
    flake_atomic64 begun; // the generator is initialised
    flake_gen ids;
} shared;

typedef struct main_conf {
    ngx_str_t text; // of the config
    flake_config config;
    ngx_slab_pool_t *pool;
    shared *all;
} main_conf;

extern ngx_module_t ngx_http_flake_module;
static flake_why no_ids;       // why there is no $flake_id
static flake_status of_number; // what this worker last met when it began, wrote or took over
static ngx_event_t keeper;

/* ---- the number: no other process but the workers opens its file ---- */

/* Holds the pool's lock, which the master opens if the worker dies. */
static flake_status begin(main_conf *conf, flake_why *why) {
    flake_status status = FLAKE_OK;
    if (!FLAKE_ATOMIC_LOAD(&conf->all->begun, acquire)) // else another worker was first
        status = flake_init(&conf->all->ids, conf->config.node, &conf->config.options, why);
    if (status == FLAKE_OK) FLAKE_ATOMIC_STORE(&conf->all->begun, 1u, release);
    ngx_shmtx_unlock(&conf->pool->mutex);
    return status;
}

static flake_status extend_or_take_over(main_conf *conf, flake_why *why) {
    flake_status status = conf->config.node.dir ? flake_extend(&conf->all->ids, why) : FLAKE_OK;
    if (status == FLAKE_INVALID) status = flake_take_over(&conf->all->ids, why);
    return status == FLAKE_IN_USE ? FLAKE_OK : status; // the worker lives that extends
}

/* A try to begin may take 50 ms: at the start each worker waits for it, later one of them tries at a time. */
static void keep(ngx_event_t *event) {
    main_conf *conf = event->data;
    flake_status status = of_number;
    flake_why why = {""};
    if (FLAKE_ATOMIC_LOAD(&conf->all->begun, acquire)) status = extend_or_take_over(conf, &why);
    else if (event->timedout ? ngx_shmtx_trylock(&conf->pool->mutex) != 0
                             : (ngx_shmtx_lock(&conf->pool->mutex), true))
        status = begin(conf, &why);
    if (status != FLAKE_OK && status != of_number)
        ngx_log_error(NGX_LOG_CRIT, event->log, 0, "flake_config: %s", why.text);
    of_number = status;
    ngx_add_timer(event, FLAKE_ATOMIC_LOAD(&conf->all->begun, relaxed) ? WRITE_MS : RETRY_MS);
}

static ngx_int_t init_process(ngx_cycle_t *cycle) {
    main_conf *conf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_flake_module);
    if (!conf || !conf->all || ngx_process == NGX_PROCESS_HELPER) return NGX_OK;
    keeper = (ngx_event_t){.handler = keep, .data = conf, .log = cycle->log, .cancelable = 1};
    keep(&keeper);
    return NGX_OK;
}

/* ---- the zone ---- */

/* Whether a generator can have these options; the number is not claimed. */
static bool fits(const flake_options *c, const flake_node *node, flake_why *why) {
    static flake_gen trial;
    flake_options o = *c;
    if (node->dir) o.claim_wait_ms = o.max_downtime_ms = o.must_exist = o.no_wait = o.manual_extend = 0;
    o.after_unix_ms = 0; // of the clock at that time
    o.start_this_unit = true;
    return flake_init(&trial, o.layout.node_bits ? flake_node_fixed(NULL, node->last) : *node, &o,
                      why) == FLAKE_OK;
}

static ngx_int_t zone_init(ngx_shm_zone_t *zone, void *of_old_cycle) {
    main_conf *conf = zone->data;
    const main_conf *old = of_old_cycle;
    flake_options *o = &conf->config.options;
    flake_why why = {"takes no single_thread, horizon_ms, max_ahead_ms or 128-bit layout"};
    if (old && ngx_strcmp(old->text.data, conf->text.data) != 0) {
        ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0,
                      "flake_config changes with a restart, not a reload");
        return NGX_ERROR;
    }
    bool is_good = flake_config_parse((const char *)conf->text.data, &conf->config, &no_ids) == FLAKE_OK;
    if (!is_good && !conf->text.len) return NGX_OK; // UUIDs alone
    if (!is_good) why = no_ids;
    is_good &= !o->single_thread && !o->horizon_ms && !o->max_ahead_ms && !o->layout.format;
    o->max_ahead_ms = 10, o->shared_memory = true;
    if (!is_good || !fits(o, &conf->config.node, &why)) {
        ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0, "flake_config: %s", why.text);
        return NGX_ERROR;
    }
    if (conf->config.node.dir) o->horizon_ms = HORIZON_MS, o->no_wait = true;
    conf->pool = (ngx_slab_pool_t *)(void *)zone->shm.addr;
    // the old workers still draw from theirs
    conf->all = old ? old->all : ngx_slab_calloc(conf->pool, sizeof *conf->all);
    return conf->all ? NGX_OK : NGX_ERROR; // logged
}

static void *create_main_conf(ngx_conf_t *cf) { return ngx_pcalloc(cf->pool, sizeof(main_conf)); }

static char *init_main_conf(ngx_conf_t *cf, void *of_module) {
    main_conf *conf = of_module;
    ngx_str_t name = ngx_string("flake"), none = ngx_string("");
    if (!conf->text.data) conf->text = none;
    ngx_shm_zone_t *zone =
        ngx_shared_memory_add(cf, &name, 8 * ngx_pagesize, &ngx_http_flake_module);
    if (!zone) return NGX_CONF_ERROR;
    zone->init = zone_init;
    zone->data = conf;
    return NGX_CONF_OK;
}

/* ---- the variables ---- */

/* Severity, by who has to act. */
static ngx_uint_t level_of(flake_status status) {
    switch (status) {
    case FLAKE_AGAIN:
    case FLAKE_CLOCK_BACKWARDS:
    case FLAKE_NOT_EXTENDED: return NGX_LOG_ERR;
    case FLAKE_INVALID:
    case FLAKE_FORKED: return NGX_LOG_ALERT;
    default: return NGX_LOG_CRIT;
    }
}

static ngx_int_t put(ngx_http_request_t *r, ngx_http_variable_value_t *v, flake_status status,
                     const char *text) {
    const size_t length = status == FLAKE_OK ? strlen(text) : 0;
    u_char *copy = length ? ngx_pnalloc(r->pool, length) : NULL;
    if (status != FLAKE_OK)
        ngx_log_error(level_of(status), r->connection->log, 0, "no id: %s",
                      flake_status_str(status));
    if (length && !copy) return NGX_ERROR;
    if (length) ngx_memcpy(copy, text, length);
    v->data = copy;
    v->len = length & 0xff;
    v->valid = length != 0;
    v->not_found = length == 0;
    v->no_cacheable = 0;
    return NGX_OK;
}

static ngx_int_t flake_id(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t unused) {
    const main_conf *conf = ngx_http_get_module_main_conf(r, ngx_http_flake_module);
    char text[FLAKE_TEXT_SIZE];
    uint64_t id = 0;
    (void)unused;
    if (!conf->all) {
        ngx_log_error(NGX_LOG_CRIT, r->connection->log, 0, "no id: flake_config: %s", no_ids.text);
        v->not_found = 1;
        return NGX_OK;
    }
    const bool has_begun = FLAKE_ATOMIC_LOAD(&conf->all->begun, acquire) != 0;
    const flake_status status = has_begun ? flake_try(&conf->all->ids, &id) : of_number;
    (void)flake_format(id, FLAKE_DEC, text, sizeof text);
    return put(r, v, status, text);
}

static ngx_int_t uuid7(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t unused) {
    char text[37];
    (void)unused;
    const flake_status status = flake_uuid7(text); // each worker has a generator of its own
    return put(r, v, status, text);
}

static ngx_int_t add_variables(ngx_conf_t *cf) {
    ngx_str_t flake_id_name = ngx_string("flake_id"), uuid7_name = ngx_string("uuid7");
    ngx_http_variable_t *of_flake = ngx_http_add_variable(cf, &flake_id_name, 0);
    ngx_http_variable_t *of_uuid = ngx_http_add_variable(cf, &uuid7_name, 0);
    if (!of_flake || !of_uuid) return NGX_ERROR;
    of_flake->get_handler = flake_id;
    of_uuid->get_handler = uuid7;
    return NGX_OK;
}

/* ---- what nginx looks for ---- */

static ngx_command_t commands[] = {{ngx_string("flake_config"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1,
                                    ngx_conf_set_str_slot, NGX_HTTP_MAIN_CONF_OFFSET,
                                    offsetof(main_conf, text), NULL},
                                   ngx_null_command};

static ngx_http_module_t context = {.preconfiguration = add_variables,
                                    .create_main_conf = create_main_conf,
                                    .init_main_conf = init_main_conf};

ngx_module_t ngx_http_flake_module = {NGX_MODULE_V1, &context, commands, NGX_HTTP_MODULE,
                                      NULL,          NULL,     init_process, NULL,
                                      NULL,          NULL,     NULL,     NGX_MODULE_V1_PADDING};
