/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators: birth, name, death. spec/api/hccl-control-plane.md §4.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "hccl_internal.h"

typedef struct callback {
    struct callback *next;
    char name[HCL_REGNAME_MAX + 1];
    HcclCommStateCallback fn;
    void *args;
} callback;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hcl_comm *comms;
static callback *callbacks;
static pthread_once_t reset_once = PTHREAD_ONCE_INIT;

/* ---- registry ---- */

hcl_comm *hcl_comm_get(HcclComm comm, const char *call, HcclResult *rc)
{
    hcl_comm *c;

    if (!comm) {
        *rc = hcl_null(call, "comm");
        return NULL;
    }
    pthread_mutex_lock(&lock);
    c = hcl_handle_get((uintptr_t)comm, HCL_COMM);
    if (c) {
        c->refs++;
    }
    pthread_mutex_unlock(&lock);
    *rc = c ? HCCL_SUCCESS
            : hcl_bad(HCCL_E_PARA, call, "comm", "a live communicator",
                      "%p (destroyed, or never one)", comm);
    return c;
}

void hcl_comm_put(hcl_comm *c)
{
    pthread_mutex_lock(&lock);
    c->refs--;
    pthread_mutex_unlock(&lock);
}

/* Lock held. */
static hcl_comm *by_name(int32_t device, const char *name)
{
    hcl_comm *c;

    for (c = comms; c && ((device >= 0 && c->device != device) ||
                          strcmp(c->name, name)); c = c->next) {
    }
    return c;
}

/* Ranks that are threads of one process share names: the own device first. */
hcl_comm *hcl_comm_by_name(int32_t device, const char *name)
{
    hcl_comm *c;

    pthread_mutex_lock(&lock);
    c = by_name(device >= 0 ? device : a350_current_device(), name);
    if (!c && device < 0) {
        c = by_name(-1, name);
    }
    if (c) {
        c->refs++;
    }
    pthread_mutex_unlock(&lock);
    return c;
}

bool hcl_comm_name_taken(int32_t device, const char *name)
{
    bool taken;

    pthread_mutex_lock(&lock);
    taken = by_name(device, name) != NULL;
    pthread_mutex_unlock(&lock);
    return taken;
}

hcl_comm *hcl_comm_by_object(uint64_t object)
{
    hcl_comm *c;

    pthread_mutex_lock(&lock);
    for (c = comms; c && c->object != object; c = c->next) {
    }
    if (c) {
        c->refs++;
    }
    pthread_mutex_unlock(&lock);
    return c;
}

hcl_comm *hcl_comm_by_nonce(const uint8_t nonce[HCL_NONCE], uint32_t rank)
{
    hcl_comm *c;

    pthread_mutex_lock(&lock);
    for (c = comms; c; c = c->next) {
        if (c->rank == rank && !memcmp(c->nonce, nonce, HCL_NONCE)) {
            c->refs++;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return c;
}

static void run_callbacks(hcl_comm *c, HcclCommStatePhase phase)
{
    callback *all = NULL, *p;

    /* Copied, so that a callback may register another. */
    pthread_mutex_lock(&lock);
    for (p = callbacks; p; p = p->next) {
        callback *copy = malloc(sizeof(*copy));

        if (copy) {
            *copy = *p;
            copy->next = all;
            all = copy;
        }
    }
    pthread_mutex_unlock(&lock);
    while ((p = all)) {
        all = p->next;
        p->fn((HcclComm)(uintptr_t)c->handle, phase, p->args);
        free(p);
    }
}

/* ---- death ---- */

/* One by one: a stream that ends takes its thread out of the list. */
static void free_threads(hcl_comm *c, hcl_thread **list)
{
    hcl_thread *t;

    do {
        pthread_mutex_lock(&c->lock);
        t = *list;
        if (t) {
            *list = t->next;
        }
        pthread_mutex_unlock(&c->lock);
        if (t) {
            hcl_thread_free(t);
        }
    } while (t);
}

static void free_device_side(hcl_comm *c)
{
    a350_comm_attach arg = { c->object };
    a350_comm_obj *o;

    if (!c->object) {
        return;
    }
    hcl_device_call(c->card, A350_HCOMM_DETACH, &arg, sizeof(arg));
    o = a350_hbm_ptr(c->object, sizeof(*o));
    if (o) {
        o->magic = 0;
    }
    a350_hbm_free(c->object);
}

/* Everything; also of one that was never complete. */
static void comm_free(hcl_comm *c)
{
    hcl_channel *ch;
    hcl_mem *m;

    hcl_comm_leave_streams(c);
    free_device_side(c);
    hcl_helpers_free(c);
    while ((ch = c->channels)) {
        c->channels = ch->next;
        hcl_channel_free(ch);
    }
    hcl_symwin_free_all(c);
    free_threads(c, &c->device_threads);
    free_threads(c, &c->host_threads);
    free_threads(c, &c->stream_threads);
    free_threads(c, &c->dedicated);
    hcl_ctx_free_all(c);
    while ((m = c->mems)) {
        c->mems = m->next;
        hcl_mem_release(c->card, m);
    }
    while ((m = c->dev_mems)) {
        c->dev_mems = m->next;
        a350_hbm_free((uintptr_t)m->mem.addr);
        free(m);
    }
    if ((!c->buffer_mem || hcl_mem_release(c->card, c->buffer_mem)) &&
        c->buffer) {
        a350_hbm_free(c->buffer);
    }
    if (c->drain_const && hcl_segment_end(c->card, c->drain_token)) {
        a350_hbm_free(c->drain_const);
    }
    hcl_box_free(c->box);
    hcl_attempts_free(c);
    if (c->card) {
        a350_card_close(c->card);
    }
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->chan_lock);
    pthread_mutex_destroy(&c->launch_lock);
    free(c->table);
    free(c->scratch);
    free(c->links);
    free(c->exchange);
    free(c);
}

static void unlink_comm(hcl_comm *c)
{
    hcl_comm **p;

    for (p = &comms; *p; p = &(*p)->next) {
        if (*p == c) {
            *p = c->next;
            return;
        }
    }
}

/*
 * HCCL_E_AGAIN if others use it, and then the caller's reference is given
 * back. @end: else nobody finds it any more.
 */
static HcclResult alone(hcl_comm *c, bool end)
{
    char name[COMM_NAME_MAX_LENGTH];
    bool yes;

    pthread_mutex_lock(&lock);
    yes = c->refs == 1 && !c->destroyed;
    memcpy(name, c->name, sizeof(name));     /* it may be gone soon */
    if (!yes || end) {
        c->refs--;
    }
    if (yes && end) {
        c->destroyed = true;
        hcl_handle_drop(c->handle);
        unlink_comm(c);
    }
    pthread_mutex_unlock(&lock);
    return yes ? HCCL_SUCCESS
           : hcl_fail(HCCL_E_AGAIN, NULL, "communicator %s is in use by "
                      "another thread; destroy it when that call has returned",
                      name);
}

HcclResult hcl_comm_destroy(HcclComm comm)
{
    HcclResult rc = HCCL_SUCCESS;
    hcl_comm *c = hcl_comm_get(comm, "HcclCommDestroy", &rc);

    if (!c) {
        return rc;
    }
    rc = alone(c, false);        /* else no callback is to hear of it */
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    run_callbacks(c, HCCL_COMM_STATE_PHASE_DESTROY_PRE);
    rc = alone(c, true);
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    run_callbacks(c, HCCL_COMM_STATE_PHASE_DESTROY_POST);
    comm_free(c);
    return rc;
}

/* A device that is reset takes its communicators with it. */
static void device_reset(void *opaque, int32_t device)
{
    a350_card *card = a350_device_card(device);
    hcl_comm *c;

    (void)opaque;
    for (;;) {
        pthread_mutex_lock(&lock);
        for (c = comms; c && (c->device != device || c->destroyed);
             c = c->next) {
        }
        if (c) {
            c->destroyed = true;
            hcl_handle_drop(c->handle);
            unlink_comm(c);
        }
        pthread_mutex_unlock(&lock);
        if (!c) {
            break;
        }
        hcl_log(2, "communicator %s (rank %u) was not destroyed before its "
                "device %d was reset", c->name, c->rank, device);
        comm_free(c);
    }
    if (card) {
        hcl_endpoints_left(card, device);
        hcl_threads_left(card, device);
    }
}

static void register_reset(void)
{
    a350_on_device_reset(device_reset, NULL);
}

void hcl_watch_resets(void)
{
    pthread_once(&reset_once, register_reset);
}

/* ---- configuration ---- */

static HcclResult check_expansion(const char *call, uint32_t mode,
                                  uint32_t *out)
{
    switch (mode) {
    case 0:
    case 2:
        return HCCL_SUCCESS;
    case 6:
        *out = 2;                /* needs no CCU here: spec §4.3 */
        return HCCL_SUCCESS;
    default:
        return hcl_bad(HCCL_E_NOT_SUPPORT, call, "hcclOpExpansionMode",
                       "0 (default), 2 (AICPU_TS) or 6 (taken as 2)", "%u",
                       mode);
    }
}

static bool terminated(const char *s, size_t n)
{
    return memchr(s, 0, n) != NULL;
}

static HcclResult check_head(const char *call, const HcclCommConfig *cfg)
{
    struct {
        size_t size;
        uint32_t magic, version;
    } info;

    memcpy(&info, cfg->reserved, sizeof(info));
    if (info.magic != HCCL_COMM_CONFIG_MAGIC_WORD) {
        return hcl_bad(HCCL_E_PARA, call, "config", "a structure filled by "
                       "HcclCommConfigInit", "magic 0x%x", info.magic);
    }
    if (!terminated(cfg->hcclCommName, sizeof(cfg->hcclCommName))) {
        return hcl_bad(HCCL_E_PARA, call, "hcclCommName",
                       "at most " HCL_TEXT(HCL_NAME_MAX) " characters", "unterminated");
    }
    if (!terminated(cfg->hcclUdi, sizeof(cfg->hcclUdi))) {
        return hcl_bad(HCCL_E_PARA, call, "hcclUdi",
                       "at most " HCL_TEXT(HCL_NAME_MAX) " characters", "unterminated");
    }
    if (!terminated(cfg->hcclAlgo, sizeof(cfg->hcclAlgo))) {
        return hcl_bad(HCCL_E_PARA, call, "hcclAlgo",
                       "at most " HCL_TEXT(HCL_ALGO_MAX) " characters", "unterminated");
    }
    return HCCL_SUCCESS;
}

static HcclResult check_values(const char *call, const HcclCommConfig *cfg,
                               const hcl_env *env, hcl_settings *set)
{
    uint32_t tc = cfg->hcclRdmaTrafficClass, sl = cfg->hcclRdmaServiceLevel;
    uint32_t depth = cfg->hcclChannelSqDepth;
    const char *p;

    set->buffer_mib = cfg->hcclBufferSize == HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET
                      ? env->buffer_mib : cfg->hcclBufferSize;
    if (set->buffer_mib == 0 || set->buffer_mib > UINT32_MAX / 2) {
        return hcl_bad(HCCL_E_PARA, call, "hcclBufferSize", "MiB, 1 or more",
                       "%u", cfg->hcclBufferSize);
    }
    if (tc != HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET && (tc > 255 || tc % 4)) {
        return hcl_bad(HCCL_E_PARA, call, "hcclRdmaTrafficClass",
                       "0 to 255, a multiple of 4", "%u", tc);
    }
    if (sl != HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET && sl > 7) {
        return hcl_bad(HCCL_E_PARA, call, "hcclRdmaServiceLevel", "0 to 7",
                       "%u", sl);
    }
    set->sq_depth = 2048;
    if (depth != HCCL_COMM_SQ_DEPTH_CONFIG_NOT_SET) {
        if (depth == 0 || depth > A350_JETTY_DEPTH_MAX) {
            return hcl_bad(HCCL_E_PARA, call, "hcclChannelSqDepth",
                           "1 to 32768", "%u", depth);
        }
        set->sq_depth = depth;
    }
    set->qos = cfg->hcclQos;
    set->traffic_class = tc;
    set->service_level = sl;
    snprintf(set->algo, sizeof(set->algo), "%.63s", cfg->hcclAlgo);
    set->algo_digest = 2166136261u;
    for (p = cfg->hcclAlgo; *p; p++) {
        set->algo_digest = (set->algo_digest ^ (uint8_t)*p) * 16777619u;
    }
    set->expansion = cfg->hcclOpExpansionMode;
    if (set->expansion == 0) {
        set->expansion = env->expansion;
    }
    return check_expansion(call, set->expansion, &set->expansion);
}

static void fill_self(hcl_rank_info *self, a350_card *card, uint32_t rank)
{
    const a350_identify_rsp *id = a350_card_id(card);

    memset(self, 0, sizeof(*self));
    self->rank = rank;
    self->device = a350_card_number(card);
    self->card_index = id->card_index;
    self->pid = (uint32_t)getpid();
    self->fabric = id->fabric_id;
    self->host_id = hcl_host_id();
    memcpy(self->eid, id->eid, A350_EID_LEN);
}

HcclResult hcl_comm_prepare(const char *call, const HcclCommConfig *config,
                            uint32_t n_ranks, uint32_t rank,
                            const char *default_name, hcl_settings *set,
                            hcl_rank_info *self, a350_card **card)
{
    const hcl_env *env;
    HcclResult rc = hcl_env_get(&env);

    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    *card = a350_current_card();
    if (!*card) {
        return hcl_fail(HCCL_E_RUNTIME, "EI0003", "%s: this thread has no "
                        "current device; call aclInit and aclrtSetDevice "
                        "first", call);
    }
    memset(set, 0, sizeof(*set));
    rc = check_head(call, config);
    if (rc == HCCL_SUCCESS) {
        rc = check_values(call, config, env, set);
    }
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    set->n_ranks = n_ranks;
    snprintf(set->version, sizeof(set->version), "%s", HCL_LIB_VERSION);
    snprintf(set->name, sizeof(set->name), "%s", config->hcclCommName[0]
             ? config->hcclCommName : default_name);
    if (hcl_comm_name_taken(a350_current_device(), set->name)) {
        return hcl_bad(HCCL_E_PARA, call, "hcclCommName", "a name that this "
                       "device does not have yet", "\"%s\"", set->name);
    }
    fill_self(self, *card, rank);
    return hcl_server_start(self->ip, &self->port);
}

/* ---- birth ---- */

static HcclResult make_buffer(hcl_comm *c)
{
    CommMem mem;
    uint64_t size;
    int rc;

    if (c->n_ranks < 2) {
        return HCCL_SUCCESS;
    }
    size = (uint64_t)c->set.buffer_mib * 2 << 20;
    rc = a350_hbm_alloc(c->card, size, A350_HBM_HUGE, &c->buffer);
    if (rc) {
        hcl_driver(rc, "HCCL buffer");
        a350_append_error("communicator %s needs 2 x %u MiB; "
                          "hcclBufferSize or HCCL_BUFFSIZE make it smaller",
                          c->name, c->set.buffer_mib);
        return rc == -ENOSPC ? HCCL_E_OOM : HCCL_E_MEMORY;
    }
    c->buffer_size = size;
    mem = (CommMem){ COMM_MEM_TYPE_DEVICE, (void *)(uintptr_t)c->buffer, size };
    return hcl_mem_register(c->card, "HCCL buffer", "HcclBuffer", &mem,
                            &c->buffer_mem);
}

static HcclResult make_drain(hcl_comm *c)
{
    static const uint32_t one[16] = { 1, 0 };
    int rc = a350_hbm_new(c->card, one, sizeof(one), &c->drain_const);

    if (rc) {
        return hcl_driver(rc, "drain constant");
    }
    c->drain_token_value = 0;
    rc = a350_segment_register(c->card, c->drain_const, sizeof(one),
                               A350_SEG_READ, &c->drain_token,
                               &c->drain_token_value);
    return rc ? hcl_driver(rc, "drain constant") : HCCL_SUCCESS;
}

/* The device side's view, and its announcement there. */
static HcclResult make_object(hcl_comm *c)
{
    a350_comm_obj o = {
        .magic = A350_COMM_MAGIC, .version = A350_HCOMM_ABI_VERSION,
        .rank = c->rank, .rank_size = c->n_ranks,
        .status = HCCL_COMM_STATUS_READY,
    };
    a350_comm_attach arg;
    int rc;

    memcpy(o.name, c->name, sizeof(o.name));
    rc = a350_hbm_new(c->card, &o, sizeof(o), &c->object);
    if (rc) {
        return hcl_driver(rc, "communicator object");
    }
    arg.comm = c->object;
    if (hcl_device_call(c->card, A350_HCOMM_ATTACH, &arg, sizeof(arg))) {
        hcl_log(2, "kernels learn of communicator %s only by its threads",
                c->name);
    }
    return HCCL_SUCCESS;
}

HcclResult hcl_comm_create(const char *name, bool world, hcl_comm *parent,
                           const uint8_t nonce[HCL_NONCE], hcl_box *box,
                           hcl_rank_info *table, const hcl_settings *set,
                           uint32_t rank, const HcclCommConfig *config,
                           HcclComm *out)
{
    hcl_comm *c = calloc(1, sizeof(*c));
    HcclResult rc;

    if (!c) {
        hcl_box_free(box);
        free(table);
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    hcl_watch_resets();
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->chan_lock, NULL);
    pthread_mutex_init(&c->launch_lock, NULL);
    snprintf(c->name, sizeof(c->name), "%s", name);
    memcpy(c->nonce, nonce, HCL_NONCE);
    c->world = world;
    c->parent = parent;
    c->box = box;
    c->table = table;
    c->set = *set;
    c->config = *config;
    c->rank = rank;
    c->n_ranks = set->n_ranks;
    c->device = a350_current_device();
    c->card = a350_current_card();
    a350_card_ref(c->card);
    c->scratch = calloc(c->n_ranks + 4u, sizeof(*c->scratch));
    c->links = calloc(1, sizeof(*c->links));
    rc = c->scratch && c->links ? HCCL_SUCCESS
         : hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    if (rc == HCCL_SUCCESS) {
        rc = make_buffer(c);
    }
    if (rc == HCCL_SUCCESS) {
        rc = make_drain(c);
    }
    if (rc == HCCL_SUCCESS) {
        rc = make_object(c);
    }
    if (rc == HCCL_SUCCESS) {
        c->handle = hcl_handle_new(HCL_COMM, c);
        rc = c->handle ? HCCL_SUCCESS : HCCL_E_MEMORY;
    }
    if (rc != HCCL_SUCCESS) {
        comm_free(c);
        return rc;
    }
    pthread_mutex_lock(&lock);
    c->next = comms;
    comms = c;
    pthread_mutex_unlock(&lock);
    *out = (HcclComm)(uintptr_t)c->handle;
    return HCCL_SUCCESS;
}

/* ---- root info ---- */

#define ROOT_MAGIC 0x544f4f52u   /* "ROOT" */

/*
 * The text first: programs print it or take its address. Identifier:
 * ip%interface_port_device_time, spec §4.1; it is the default name.
 */
typedef struct root_content {
    char ip[64];
    char identifier[128];
    uint32_t magic, port;
    uint8_t nonce[HCL_NONCE];
} root_content;
_Static_assert(sizeof(root_content) <= sizeof(HcclRootInfo), "root info");

HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo)
{
    root_content r = { .magic = ROOT_MAGIC };
    char ip[HCL_IP_LEN] = "";
    HcclResult rc;

    if (!rootInfo) {
        return hcl_null("HcclGetRootInfo", "rootInfo");
    }
    if (!a350_current_card()) {
        return hcl_fail(HCCL_E_RUNTIME, "EI0003", "HcclGetRootInfo: this "
                        "thread has no current device; call aclInit and "
                        "aclrtSetDevice first");
    }
    rc = hcl_server_start(ip, &r.port);
    if (rc == HCCL_SUCCESS) {
        rc = hcl_root_open(r.nonce);
    }
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    snprintf(r.ip, sizeof(r.ip), "%s", ip);
    snprintf(r.identifier, sizeof(r.identifier), "%s%%host_%u_%d_%llu", ip,
             r.port, a350_current_device(),
             (unsigned long long)hcl_now_ns());
    memset(rootInfo, 0, sizeof(*rootInfo));
    memcpy(rootInfo->internal, &r, sizeof(r));
    return HCCL_SUCCESS;
}

HcclResult hcl_init_root_info(uint32_t n_ranks, const HcclRootInfo *info,
                              uint32_t rank, const HcclCommConfig *config,
                              HcclComm *comm, const char *call)
{
    root_content r;
    hcl_where w;
    hcl_settings set;
    hcl_rank_info self, *table = NULL;
    a350_card *card;
    hcl_box *box;
    HcclResult rc;

    if (!info || !comm || !config) {
        return hcl_null(call, !info ? "rootInfo" : !comm ? "comm" : "config");
    }
    if (n_ranks == 0 || n_ranks > HCL_RANKS_MAX) {
        return hcl_bad(HCCL_E_PARA, call, "nRanks",
                       "1 to " HCL_TEXT(HCL_RANKS_MAX), "%u",
                       n_ranks);
    }
    if (rank >= n_ranks) {
        return hcl_bad(HCCL_E_PARA, call, "rank", "less than nRanks", "%u",
                       rank);
    }
    memcpy(&r, info->internal, sizeof(r));
    if (r.magic != ROOT_MAGIC || !terminated(r.ip, HCL_IP_LEN) ||
        !terminated(r.identifier, sizeof(r.identifier))) {
        return hcl_bad(HCCL_E_PARA, call, "rootInfo", "the bytes that "
                       "HcclGetRootInfo gave on the root", "%.15s", r.ip);
    }
    rc = hcl_comm_prepare(call, config, n_ranks, rank, r.identifier, &set,
                          &self, &card);
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    /* Before the others can know of this rank. */
    box = hcl_box_new(r.nonce, rank);
    if (!box) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    w = hcl_where_of(r.ip, r.port);
    rc = hcl_root_join(&w, r.nonce, &set, &self, &table,
                       hcl_connect_deadline());
    if (rc != HCCL_SUCCESS) {
        hcl_box_free(box);
        return rc;
    }
    return hcl_comm_create(set.name, true, NULL, r.nonce, box, table, &set,
                           rank, config, comm);
}

/* ---- small questions ---- */

#define GET(call)                                           \
    HcclResult rc;                                          \
    hcl_comm *c = hcl_comm_get(comm, call, &rc);            \
    if (!c) {                                               \
        return rc;                                          \
    }

HcclResult HcclGetRankSize(HcclComm comm, uint32_t *rankSize)
{
    GET("HcclGetRankSize");
    if (!rankSize) {
        rc = hcl_null("HcclGetRankSize", "rankSize");
    } else {
        *rankSize = c->n_ranks;
    }
    hcl_comm_put(c);
    return rc;
}

HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank)
{
    GET("HcclGetRankId");
    if (!rank) {
        rc = hcl_null("HcclGetRankId", "rank");
    } else {
        *rank = c->rank;
    }
    hcl_comm_put(c);
    return rc;
}

HcclResult HcclGetCommName(HcclComm comm, char *commName)
{
    GET("HcclGetCommName");
    if (!commName) {
        rc = hcl_null("HcclGetCommName", "commName");
    } else {
        memcpy(commName, c->name, sizeof(c->name));
    }
    hcl_comm_put(c);
    return rc;
}

HcclResult HcclCommGetHandleWithName(const char *commName, HcclComm *comm)
{
    hcl_comm *c;

    if (!commName || !comm) {
        return hcl_null("HcclCommGetHandleWithName",
                        commName ? "comm" : "commName");
    }
    c = hcl_comm_by_name(a350_current_device(), commName);
    if (!c) {
        return hcl_bad(HCCL_E_NOT_FOUND, "HcclCommGetHandleWithName",
                       "commName", "a communicator of the current device",
                       "\"%.127s\"", commName);
    }
    *comm = (HcclComm)(uintptr_t)c->handle;
    hcl_comm_put(c);
    return HCCL_SUCCESS;
}

HcclResult HcclGetHcclBuffer(HcclComm comm, void **buffer, uint64_t *size)
{
    GET("HcclGetHcclBuffer");
    if (!buffer || !size) {
        rc = hcl_null("HcclGetHcclBuffer", buffer ? "size" : "buffer");
    } else {
        *buffer = (void *)(uintptr_t)c->buffer;
        *size = c->buffer_size;
    }
    hcl_comm_put(c);
    return rc;
}

HcclResult HcclGetHcclBufferCleared(HcclComm comm, void **buffer,
                                    uint64_t *size)
{
    void *p;

    GET("HcclGetHcclBufferCleared");
    if (!buffer || !size) {
        rc = hcl_null("HcclGetHcclBufferCleared", buffer ? "size" : "buffer");
    } else if (!c->buffer) {
        rc = hcl_bad(HCCL_E_PARA, "HcclGetHcclBufferCleared", "comm",
                     "more than one rank", "communicator %s", c->name);
    } else {
        p = a350_hbm_ptr(c->buffer, c->buffer_size);
        a350_fill(p, 0, c->buffer_size);
        *buffer = (void *)(uintptr_t)c->buffer;
        *size = c->buffer_size;
    }
    hcl_comm_put(c);
    return rc;
}

HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult *asyncError)
{
    GET("HcclGetCommAsyncError");
    if (!asyncError) {
        rc = hcl_null("HcclGetCommAsyncError", "asyncError");
    } else {
        *asyncError = c->async_error;
    }
    hcl_comm_put(c);
    return rc;
}

uint32_t HcclGetCommConfigCapability(void)
{
    return HCCL_COMM_CONFIG_RESERVED;
}

HcclResult HcclCommGetStatus(const char *commId, HcclCommStatus *status)
{
    hcl_comm *c;

    if (!commId || !status) {
        return hcl_null("HcclCommGetStatus", commId ? "status" : "commId");
    }
    c = hcl_comm_by_name(-1, commId);
    if (!c) {
        *status = HCCL_COMM_STATUS_INVALID;
        return hcl_bad(HCCL_E_NOT_FOUND, "HcclCommGetStatus", "commId",
                       "the name of a live communicator", "\"%.127s\"",
                       commId);
    }
    *status = c->status;
    hcl_comm_put(c);
    return HCCL_SUCCESS;
}

HcclResult HcclCommRegCommStateCallback(const char *regName,
                                        HcclCommStateCallback fn, void *args)
{
    callback *p;

    if (!regName || !fn) {
        return hcl_null("HcclCommRegCommStateCallback",
                        regName ? "callback" : "regName");
    }
    if (strlen(regName) > HCL_REGNAME_MAX || !*regName) {
        return hcl_bad(HCCL_E_PARA, "HcclCommRegCommStateCallback", "regName",
                       "1 to " HCL_TEXT(HCL_REGNAME_MAX) " characters",
                       "%zu characters",
                       strlen(regName));
    }
    pthread_mutex_lock(&lock);
    for (p = callbacks; p && strcmp(p->name, regName); p = p->next) {
    }
    if (!p) {
        p = calloc(1, sizeof(*p));
        if (p) {
            strcpy(p->name, regName);
            p->next = callbacks;
            callbacks = p;
        }
    }
    if (p) {
        p->fn = fn;
        p->args = args;
    }
    pthread_mutex_unlock(&lock);
    return p ? HCCL_SUCCESS : HCCL_E_MEMORY;
}

HcclResult HcclConfigGetInfo(HcclComm comm, HcclConfigType cfgType,
                             uint32_t infoLen, void *info)
{
    HcclOpExpansionMode mode = HCCL_OP_EXPANSION_MODE_AI_CPU;

    GET("HcclConfigGetInfo");
    if (!info) {
        rc = hcl_null("HcclConfigGetInfo", "info");
    } else if (cfgType == HCCL_CONFIG_TYPE_OP_EXPANSION_MODE) {
        if (infoLen != sizeof(mode)) {
            rc = hcl_bad(HCCL_E_PARA, "HcclConfigGetInfo", "infoLen", "4",
                         "%u", infoLen);
        } else {
            memcpy(info, &mode, sizeof(mode));
        }
    } else if (cfgType == HCCL_CONFIG_TYPE_HCCL_ALGO) {
        if (infoLen < HCCL_COMM_ALGO_MAX_LENGTH) {
            rc = hcl_bad(HCCL_E_PARA, "HcclConfigGetInfo", "infoLen",
                         "1600 or more", "%u", infoLen);
        } else {
            memcpy(info, c->config.hcclAlgo, HCCL_COMM_ALGO_MAX_LENGTH);
        }
    } else {
        rc = hcl_bad(HCCL_E_PARA, "HcclConfigGetInfo", "cfgType", "0 or 1",
                     "%d", (int)cfgType);
    }
    hcl_comm_put(c);
    return rc;
}

/* ---- for the operators ---- */

/* The communicator's own setting before that of the environment. */
HcclResult hcl_exec_seconds(HcclComm comm, uint32_t *seconds)
{
    const hcl_env *env;
    HcclResult rc = hcl_env_get(&env);
    hcl_comm *c;
    int32_t own;

    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    c = hcl_comm_get(comm, "HcclCommConfig.hcclExecTimeOut", &rc);
    if (!c) {
        return rc;
    }
    own = c->config.hcclExecTimeOut;
    if (own >= 0) {
        *seconds = (uint32_t)own;
    } else if (env->exec_timeout >= (float)UINT32_MAX) {
        *seconds = UINT32_MAX;
    } else {
        *seconds = (uint32_t)ceilf(env->exec_timeout);   /* 0.5 is not 0 */
    }
    hcl_comm_put(c);
    return HCCL_SUCCESS;
}
