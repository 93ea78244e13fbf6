/*
 * HixlCS: cs/hixl_cs.h over the core.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rules: spec/api/hixl.md §1.4. A server is an engine that may listen, a
 * client one that has a single link. A server is created before its memory and
 * starts to listen later, which is when its engine gets its name; until then
 * registrations go to an engine without a port.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cs/hixl_cs.h"
#include "hx.h"

#define CS_API __attribute__((visibility("default")))

typedef struct cs_common {
    uint32_t magic;
    hixl_core *core;
    char name[HX_NAME_MAX];      /* of the engine that is listened on */
    char *config;
} cs_common;
#define SERVER_MAGIC 0x53435848u
#define CLIENT_MAGIC 0x43435848u

/* Memory that was registered before Listen is kept to be registered again. */
typedef struct cs_mem {
    void *handle;                /* the core's */
    uintptr_t addr;
    size_t len;
    int type;
    char tag[HX_TAG_MAX];
    struct cs_mem *next;
} cs_mem;

typedef struct cs_server {
    cs_common c;
    pthread_mutex_t mutex;
    uint32_t port;
    bool listening;
    cs_mem *mems;
} cs_server;

typedef struct cs_client {
    cs_common c;
    pthread_mutex_t mutex;
    bool connected;
    CommMem *mem;                /* what GetRemoteMem gave out */
    char **tag;
    uint32_t num;
} cs_client;

/* The header knows fewer codes than the core. */
static HixlStatus code(uint32_t c)
{
    return c;
}

static HixlStatus bad(const char *call, const char *what)
{
    return hx_err(HX_PARAM_INVALID, "%s: %s", call, what);
}

static const char *check_endpoint(const EndpointDesc *d)
{
    if (!d) {
        return "an end point is null";
    }
    if (d->protocol != COMM_PROTOCOL_UBC_CTP &&
        d->protocol != COMM_PROTOCOL_UBOE && d->protocol != COMM_PROTOCOL_UBG) {
        return "an end point's protocol is none of UB_CTP, UBOE, UB_RTP";
    }
    return NULL;
}

static const char *protocol_name(const EndpointDesc *d)
{
    return d->protocol == COMM_PROTOCOL_UBOE ? "uboe:device" :
           d->protocol == COMM_PROTOCOL_UBG ? "ub_rtp:device" :
           "ub_ctp:device";
}

/*
 * The configuration of the engine below: the caller's, with the protocols of
 * the end points.
 */
static char *make_config(const char *given, const EndpointDesc *list,
                         uint32_t num)
{
    json_t *root = given && *given ?
                   json_loads(given, JSON_REJECT_DUPLICATES, NULL) :
                   json_object();
    json_t *protos = json_array();
    char *text = NULL;
    uint32_t i;

    for (i = 0; i < num; i++) {
        json_array_append_new(protos, json_string(protocol_name(&list[i])));
    }
    if (json_is_object(root)) {
        json_object_set(root, "comm_resource_config.protocol_desc", protos);
        text = json_dumps(root, JSON_COMPACT);
    }
    json_decref(protos);
    json_decref(root);
    return text;
}

static uint32_t start_engine(cs_common *c, const char *name)
{
    hixl_option o = { "GlobalResourceConfig", c->config };

    return hixl_core_init(c->core, name, &o, 1);
}

static bool common_init(cs_common *c, uint32_t magic, const char *config,
                        const EndpointDesc *list, uint32_t num)
{
    c->magic = magic;
    c->core = hixl_core_new();
    c->config = make_config(config, list, num);
    return c->core && c->config;
}

static void common_free(cs_common *c)
{
    c->magic = 0;
    hixl_core_free(c->core);
    free(c->config);
}

/* ---- server ---- */

static cs_server *server_of(HixlServerHandle h)
{
    cs_server *s = h;

    return s && s->c.magic == SERVER_MAGIC ? s : NULL;
}

static bool ip_and_port(const char *ip, uint32_t port, char out[HX_NAME_MAX],
                        bool with_port)
{
    char text[HX_NAME_MAX];
    bool v6 = ip && strchr(ip, ':');
    hx_addr a;
    int n;

    n = snprintf(text, sizeof(text), v6 ? "[%s]" : "%s", ip ? ip : "");
    if (with_port && n < (int)sizeof(text)) {
        n += snprintf(text + n, sizeof(text) - (size_t)n, ":%u", port);
    }
    if (n >= (int)sizeof(text) || !hx_parse_name(text, &a)) {
        return false;
    }
    strcpy(out, text);
    return true;
}

static const char *check_server(const HixlServerDesc *d,
                                const HixlServerConfig *config)
{
    const char *why;
    uint32_t i;

    if (!d || !config) {
        return "a pointer is null";
    }
    if (d->server_port > 65535) {
        return "server_port is above 65535";
    }
    if (!d->endpoint_list || d->endpoint_list_num == 0 ||
        d->endpoint_list_num > HX_ENDPOINT_MAX) {
        return "endpoint_list has to hold 1 to 16 end points";
    }
    for (i = 0; i < d->endpoint_list_num; i++) {
        why = check_endpoint(&d->endpoint_list[i]);
        if (why) {
            return why;
        }
    }
    return NULL;
}

CS_API HixlStatus HixlCSServerCreate(const HixlServerDesc *server_desc,
                                     const HixlServerConfig *config,
                                     HixlServerHandle *server_handle)
{
    const char *why = server_handle ? check_server(server_desc, config) :
                      "a pointer is null";
    char ip[HX_NAME_MAX];
    cs_server *s;
    uint32_t ret;

    if (!why && !ip_and_port(server_desc->server_ip, 0, ip, false)) {
        why = "server_ip is no IP address";
    }
    if (why) {
        return bad(__func__, why);
    }
    s = calloc(1, sizeof(*s));
    if (!s) {
        return hx_err(HX_FAILED, "%s: out of host memory", __func__);
    }
    pthread_mutex_init(&s->mutex, NULL);
    s->port = server_desc->server_port;
    ip_and_port(server_desc->server_ip, s->port, s->c.name, true);
    if (!common_init(&s->c, SERVER_MAGIC, config->global_resource_config,
                     server_desc->endpoint_list,
                     server_desc->endpoint_list_num)) {
        ret = bad(__func__, "global_resource_config is no JSON object");
    } else {
        ret = start_engine(&s->c, ip);
    }
    if (ret != HX_OK) {
        common_free(&s->c);
        free(s);
        return code(ret);
    }
    *server_handle = s;
    return HIXL_SUCCESS;
}

static const char *check_mem(const char *tag, const CommMem *mem,
                             const MemHandle *handle)
{
    if (!mem || !handle) {
        return "a pointer is null";
    }
    if (tag && strlen(tag) >= HX_TAG_MAX) {
        return "the tag has more than 63 characters";
    }
    if (mem->type != COMM_MEM_TYPE_DEVICE && mem->type != COMM_MEM_TYPE_HOST) {
        return "the memory type is neither device (0) nor host (1)";
    }
    return NULL;
}

/* Type values of CommMem are those of the core. */
static uint32_t register_mem(cs_common *c, const char *tag, const CommMem *mem,
                             void **handle)
{
    return hixl_core_register(c->core, (uintptr_t)mem->addr, mem->size,
                              (int)mem->type, tag, handle);
}

CS_API HixlStatus HixlCSServerRegMem(HixlServerHandle server_handle,
                                     const char *mem_tag, const CommMem *mem,
                                     MemHandle *mem_handle)
{
    cs_server *s = server_of(server_handle);
    const char *why = s ? check_mem(mem_tag, mem, mem_handle) :
                      "no server handle";
    cs_mem *m, *same;
    uint32_t ret;

    if (why) {
        return bad(__func__, why);
    }
    m = calloc(1, sizeof(*m));
    if (!m) {
        return hx_err(HX_FAILED, "%s: out of host memory", __func__);
    }
    m->addr = (uintptr_t)mem->addr;
    m->len = mem->size;
    m->type = (int)mem->type;
    strcpy(m->tag, mem_tag ? mem_tag : "");
    pthread_mutex_lock(&s->mutex);
    ret = register_mem(&s->c, mem_tag, mem, &m->handle);
    for (same = s->mems; same && same->handle != m->handle;
         same = same->next) {
        continue;
    }
    if (ret != HX_OK || same) {
        free(m);
    } else {
        m->next = s->mems;
        s->mems = same = m;
    }
    if (ret == HX_OK) {
        *mem_handle = same;      /* the same range has the same handle */
    }
    pthread_mutex_unlock(&s->mutex);
    return code(ret);
}

/* The engine gets its port: a new one takes over the registrations. */
static uint32_t listen_now(cs_server *s)
{
    hixl_option o = { "GlobalResourceConfig", s->c.config };
    uint32_t ret = hixl_core_rename(s->c.core, s->c.name, &o, 1);
    cs_mem *m;

    for (m = s->mems; m && ret == HX_OK; m = m->next) {
        ret = hixl_core_register(s->c.core, m->addr, m->len, m->type, m->tag,
                                 &m->handle);
    }
    s->listening = ret == HX_OK;
    return ret;
}

CS_API HixlStatus HixlCSServerListen(HixlServerHandle server_handle,
                                     uint32_t backlog)
{
    cs_server *s = server_of(server_handle);
    uint32_t ret = HX_OK;

    (void)backlog;               /* always as long as the system allows */
    if (!s) {
        return bad(__func__, "no server handle");
    }
    pthread_mutex_lock(&s->mutex);
    if (s->port && !s->listening) {
        ret = listen_now(s);
    }
    pthread_mutex_unlock(&s->mutex);
    return code(ret);
}

CS_API HixlStatus HixlCSServerUnregMem(HixlServerHandle server_handle,
                                       MemHandle mem_handle)
{
    cs_server *s = server_of(server_handle);
    cs_mem **p, *m;
    uint32_t ret;

    if (!s || !mem_handle) {
        return bad(__func__, "no server or memory handle");
    }
    pthread_mutex_lock(&s->mutex);
    for (p = &s->mems; *p && *p != mem_handle; p = &(*p)->next) {
        continue;
    }
    m = *p;
    ret = m ? hixl_core_deregister(s->c.core, m->handle) :
          bad(__func__, "the memory handle is none of this server");
    if (m && ret == HX_OK) {
        *p = m->next;
        free(m);
    }
    pthread_mutex_unlock(&s->mutex);
    return code(ret);
}

CS_API HixlStatus HixlCSServerDestroy(HixlServerHandle server_handle)
{
    cs_server *s = server_of(server_handle);
    cs_mem *m;

    if (!s) {
        return bad(__func__, "no server handle");
    }
    common_free(&s->c);
    while ((m = s->mems)) {
        s->mems = m->next;
        free(m);
    }
    pthread_mutex_destroy(&s->mutex);
    free(s);
    return HIXL_SUCCESS;
}

/* ---- client ---- */

static cs_client *client_of(HixlClientHandle h)
{
    cs_client *c = h;

    return c && c->c.magic == CLIENT_MAGIC ? c : NULL;
}

static const char *check_client(const HixlClientDesc *d,
                                const HixlClientConfig *config)
{
    const char *why;

    if (!d || !config) {
        return "a pointer is null";
    }
    if (d->server_port == 0 || d->server_port > 65535) {
        return "server_port is not in 1..65535";
    }
    why = check_endpoint(d->local_endpoint);
    return why ? why : check_endpoint(d->remote_endpoint);
}

CS_API HixlStatus HixlCSClientCreate(const HixlClientDesc *client_desc,
                                     const HixlClientConfig *config,
                                     HixlClientHandle *client_handle)
{
    const char *why = client_handle ? check_client(client_desc, config) :
                      "a pointer is null";
    char name[HX_NAME_MAX];
    cs_client *c;
    uint32_t ret;

    if (!why && !ip_and_port(client_desc->server_ip, client_desc->server_port,
                             name, true)) {
        why = "server_ip is no IP address";
    }
    if (why) {
        return bad(__func__, why);
    }
    c = calloc(1, sizeof(*c));
    if (!c) {
        return hx_err(HX_FAILED, "%s: out of host memory", __func__);
    }
    pthread_mutex_init(&c->mutex, NULL);
    strcpy(c->c.name, name);
    if (!common_init(&c->c, CLIENT_MAGIC, config->global_resource_config,
                     client_desc->local_endpoint, 1)) {
        ret = bad(__func__, "global_resource_config is no JSON object");
    } else {
        ret = start_engine(&c->c, strchr(name, '[') ? "[::1]" : "127.0.0.1");
    }
    if (ret != HX_OK) {
        common_free(&c->c);
        free(c);
        return code(ret);
    }
    *client_handle = c;
    return HIXL_SUCCESS;
}

static int32_t timeout_of(uint32_t ms)
{
    return ms > INT32_MAX ? INT32_MAX : (int32_t)ms;
}

CS_API HixlStatus HixlCSClientConnect(HixlClientHandle client_handle,
                                      uint32_t timeout_ms)
{
    cs_client *c = client_of(client_handle);

    if (!c) {
        return bad(__func__, "no client handle");
    }
    return code(hixl_core_connect(c->c.core, c->c.name,
                                  timeout_of(timeout_ms)));
}

static void forget_remote(cs_client *c)
{
    uint32_t i;

    for (i = 0; i < c->num; i++) {
        free(c->tag[i]);
    }
    free(c->tag);
    free(c->mem);
    c->tag = NULL;
    c->mem = NULL;
    c->num = 0;
}

static void add_remote(void *opaque, int type, uint64_t addr, uint64_t size,
                       const char *tag)
{
    cs_client *c = opaque;
    CommMem *mem = realloc(c->mem, (c->num + 1) * sizeof(*mem));
    char **tags = realloc(c->tag, (c->num + 1) * sizeof(*tags));

    c->mem = mem ? mem : c->mem;
    c->tag = tags ? tags : c->tag;
    if (mem && tags && (tags[c->num] = strdup(tag))) {
        mem[c->num].type = (CommMemType)type;
        mem[c->num].addr = (void *)(uintptr_t)addr;
        mem[c->num].size = size;
        c->num++;
    }
}

/* What the server offered at Connect; no message is needed, nor time. */
CS_API HixlStatus HixlCSClientGetRemoteMem(HixlClientHandle client_handle,
                                           CommMem **remote_mem_list,
                                           char ***mem_tag_list,
                                           uint32_t *list_num,
                                           uint32_t timeout_ms)
{
    cs_client *c = client_of(client_handle);
    uint32_t ret = HX_OK;

    (void)timeout_ms;
    if (!c || !remote_mem_list || !mem_tag_list || !list_num) {
        return bad(__func__, "no client handle, or a pointer is null");
    }
    pthread_mutex_lock(&c->mutex);
    if (!c->mem) {
        ret = hixl_core_remote_mem(c->c.core, c->c.name, add_remote, c);
    }
    *remote_mem_list = c->mem;
    *mem_tag_list = c->tag;
    *list_num = c->num;
    pthread_mutex_unlock(&c->mutex);
    return ret == HX_NOT_CONNECTED ? HIXL_FAILED : code(ret);
}

CS_API HixlStatus HixlCSClientRegMem(HixlClientHandle client_handle,
                                     const char *mem_tag, const CommMem *mem,
                                     MemHandle *mem_handle)
{
    cs_client *c = client_of(client_handle);
    const char *why = c ? check_mem(mem_tag, mem, mem_handle) :
                      "no client handle";

    return why ? bad(__func__, why) :
           code(register_mem(&c->c, mem_tag, mem, mem_handle));
}

CS_API HixlStatus HixlCSClientUnregMem(HixlClientHandle client_handle,
                                       MemHandle mem_handle)
{
    cs_client *c = client_of(client_handle);

    return c ? code(hixl_core_deregister(c->c.core, mem_handle)) :
           bad(__func__, "no client handle");
}

static hixl_op *make_ops(uint32_t num, const HixlOneSideOpDesc *desc)
{
    hixl_op *ops = calloc(num, sizeof(*ops));
    uint32_t i;

    for (i = 0; ops && i < num; i++) {
        ops[i].local = (uintptr_t)desc[i].local_buf;
        ops[i].remote = (uintptr_t)desc[i].remote_buf;
        ops[i].len = desc[i].len;
    }
    return ops;
}

static HixlStatus batch(HixlClientHandle h, uint32_t num,
                        const HixlOneSideOpDesc *desc, int op,
                        const uint32_t *timeout_ms, CompleteHandle *complete,
                        const char *call)
{
    cs_client *c = client_of(h);
    hixl_op *ops;
    uint32_t ret;

    if (!c || !desc || num == 0 || (!timeout_ms && !complete)) {
        return bad(call, num ? "no client handle, or a pointer is null" :
                   "list_num is 0");
    }
    ops = make_ops(num, desc);
    if (!ops) {
        return hx_err(HX_FAILED, "%s: out of host memory", call);
    }
    ret = timeout_ms ?
          hixl_core_transfer(c->c.core, c->c.name, op, ops, num,
                             timeout_of(*timeout_ms)) :
          hixl_core_transfer_async(c->c.core, c->c.name, op, ops, num, NULL,
                                   complete);
    free(ops);
    return ret == HX_NOT_CONNECTED ? HIXL_FAILED : code(ret);
}

CS_API HixlStatus HixlCSClientBatchPutAsync(HixlClientHandle client_handle,
                                            uint32_t list_num,
                                            const HixlOneSideOpDesc *desc_list,
                                            CompleteHandle *complete_handle)
{
    return batch(client_handle, list_num, desc_list, HX_WRITE, NULL,
                 complete_handle, __func__);
}

CS_API HixlStatus HixlCSClientBatchGetAsync(HixlClientHandle client_handle,
                                            uint32_t list_num,
                                            const HixlOneSideOpDesc *desc_list,
                                            CompleteHandle *complete_handle)
{
    return batch(client_handle, list_num, desc_list, HX_READ, NULL,
                 complete_handle, __func__);
}

CS_API HixlStatus HixlCSClientBatchPutSync(HixlClientHandle client_handle,
                                           uint32_t list_num,
                                           const HixlOneSideOpDesc *desc_list,
                                           uint32_t timeout_ms)
{
    return batch(client_handle, list_num, desc_list, HX_WRITE, &timeout_ms,
                 NULL, __func__);
}

CS_API HixlStatus HixlCSClientBatchGetSync(HixlClientHandle client_handle,
                                           uint32_t list_num,
                                           const HixlOneSideOpDesc *desc_list,
                                           uint32_t timeout_ms)
{
    return batch(client_handle, list_num, desc_list, HX_READ, &timeout_ms,
                 NULL, __func__);
}

CS_API HixlStatus HixlCSClientQueryCompleteStatus(
    HixlClientHandle client_handle, CompleteHandle complete_handle,
    HixlCompleteStatus *complete_status)
{
    cs_client *c = client_of(client_handle);
    uint32_t ret;
    int status;

    if (!c || !complete_handle || !complete_status) {
        return bad(__func__, "no client handle, or a pointer is null");
    }
    ret = hixl_core_status(c->c.core, complete_handle, &status);
    *complete_status = (HixlCompleteStatus)status;
    return code(ret);
}

CS_API HixlStatus HixlCSClientDestroy(HixlClientHandle client_handle)
{
    cs_client *c = client_of(client_handle);

    if (!c) {
        return bad(__func__, "no client handle");
    }
    common_free(&c->c);
    forget_remote(c);
    pthread_mutex_destroy(&c->mutex);
    free(c);
    return HIXL_SUCCESS;
}
