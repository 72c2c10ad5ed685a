/* SPDX-License-Identifier: MIT
 *
 * IDs in nginx, as variables of a dynamic module. It is built from nginx's own sources, or what Debian's
 * nginx-dev has of them, with the file `config` next to this one:
 *
 *     cp -r /usr/share/nginx/src . && cd src
 *     ./configure --with-compat --add-dynamic-module=/path/to/this/directory
 *     make -f objs/Makefile modules
 *     cp objs/ngx_http_flake_module.so /usr/lib/nginx/modules/
 *
 *     load_module modules/ngx_http_flake_module.so;
 *     http {
 *         flake_config "node=3 dir=none";             # a flake_config; the node is unique to each nginx
 *         add_header X-Request-Id $flake_id;          # one ID for each request and its subrequests
 *         log_format with_ids '$flake_id $request';   # $uuid7: a UUID of version 7
 *     }
 *
 * Without flake_config there is no $flake_id. All workers draw from one generator, in a zone of shared memory that
 * outlasts reloads. No worker ever waits: IDs may run 10 ms ahead of the clock, which is 40,960 requests at once.
 * If that is not enough, for example after a longer backward step of the clock, the variable is empty. The log has
 * the reason: [error] if later requests will have IDs again,
 * [crit] if the operator must act, [alert] for a bug of this module. An nginx and its successor after USR2 have
 * separate generators and need different nodes. Each worker generates its own UUIDs: those of two workers are
 * unordered within a ms.
 */
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>
#include "flake.h"

typedef struct main_conf {
    ngx_str_t text; // of a flake_config
    flake_gen *ids; // in the zone
} main_conf;

extern ngx_module_t ngx_http_flake_module;
static flake_why no_ids; // why there is no $flake_id

/* ---- the zone ---- */

static ngx_int_t zone_init(ngx_shm_zone_t *zone, void *of_old_cycle) {
    main_conf *conf = zone->data;
    const main_conf *old = of_old_cycle;
    flake_config c;
    flake_why why = {"takes no state, single_thread, max_ahead_ms or 128-bit layout"};
    if (old && ngx_strcmp(old->text.data, conf->text.data) != 0) {
        ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0,
                      "flake_config changes with a restart, not a reload");
        return NGX_ERROR;
    }
    if (old) {
        conf->ids = old->ids; // the old workers still draw from it
        return NGX_OK;
    }
    bool fits = flake_config_parse((const char *)conf->text.data, &c, &no_ids) == FLAKE_OK;
    if (!fits && !conf->text.len) return NGX_OK; // UUIDs alone
    if (fits)
        fits = !c.state.path && !c.state.dir && !c.options.single_thread &&
               !c.options.max_ahead_ms && !c.options.layout.format;
    else why = no_ids;
    c.options.max_ahead_ms = 10;
    c.options.shared_memory = true;
    conf->ids = ngx_slab_alloc((ngx_slab_pool_t *)(void *)zone->shm.addr, sizeof *conf->ids);
    if (!conf->ids) return NGX_ERROR; // logged
    if (fits && flake_init(conf->ids, c.node, &c.options, &why) == FLAKE_OK) return NGX_OK;
    ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0, "flake_config: %s", why.text);
    return NGX_ERROR;
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
    if (!conf->ids) {
        ngx_log_error(NGX_LOG_CRIT, r->connection->log, 0, "no id: flake_config: %s", no_ids.text);
        v->not_found = 1;
        return NGX_OK;
    }
    const flake_status status = flake_try(conf->ids, &id);
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
                                      NULL,          NULL,     NULL,     NULL,
                                      NULL,          NULL,     NULL,     NGX_MODULE_V1_PADDING};
