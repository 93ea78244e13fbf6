/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints, their memory, and channels between them without a communicator.
 * spec/api/hccl-control-plane.md §11.
 *
 * An endpoint has a mailbox, named by its EID; the process's server is its
 * listen port. Where a peer's mailbox is, stands in the otherwise unused bytes
 * of the EndpointDesc that HcommEndpointGetDescs() gives: descriptions are
 * carried to the other side whole. A description without them is looked for in
 * this guest.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hccl_internal.h"

#define WHERE_MAGIC     0x57335041u
#define DESC_MAGIC      0x4d333541u

typedef struct where {
    uint32_t magic;
    uint16_t port, reserved;
    char ip[40];
} where;
_Static_assert(sizeof(where) <= 52, "fits the raw bytes of an EndpointDesc");

/* Exported memory, carried by the user. */
typedef struct mem_desc {
    uint32_t magic, version;
    uint8_t eid[A350_EID_LEN];
    hcl_offer_mem mem;
} mem_desc;

typedef struct exported {
    struct exported *next;
    hcl_mem *mem;
    mem_desc desc;
} exported;

/* All endpoints of a card have one mailbox: mail is addressed to its EID. */
typedef struct card_box {
    struct card_box *next;
    a350_card *card;
    hcl_box *box;
    unsigned users;
} card_box;

typedef struct endpoint {
    uint64_t handle;
    a350_card *card;
    EndpointDesc desc;
    card_box *box;
    pthread_mutex_t lock;
    hcl_mem *mems;
    exported *exports;
    exported *imports;           /* mem NULL */
    uint32_t channels;
} endpoint;

/* A channel and the state of its handshake. */
enum { READY = 0, CONNECTING = 1, FAILED = 2, TIMED_OUT = 3 };

typedef struct link {
    hcl_channel ch;              /* first: found by the channel's handle */
    endpoint *ep;
    uint8_t peer_eid[A350_EID_LEN];
    hcl_rank_info peer;          /* where to send */
    bool server, sent;
    int32_t status;
    uint64_t deadline;
    hcl_mem *copies;             /* the memory may be unregistered meanwhile */
    hcl_mem **mems;
    uint32_t n;
    struct link *next;           /* all links, under links_lock */
    char pair[HCL_KEY];
    uint32_t ordinal;
} link_t;

static pthread_mutex_t links_lock = PTHREAD_MUTEX_INITIALIZER;
static link_t *links;
static card_box *boxes;          /* under links_lock, too */

static card_box *box_get(a350_card *card)
{
    card_box *b;

    pthread_mutex_lock(&links_lock);
    for (b = boxes; b && b->card != card; b = b->next) {
    }
    if (!b && (b = calloc(1, sizeof(*b)))) {
        b->card = card;
        b->box = hcl_box_new(a350_card_id(card)->eid, 0);
        if (b->box) {
            b->next = boxes;
            boxes = b;
        } else {
            free(b);
            b = NULL;
        }
    }
    if (b) {
        b->users++;
    }
    pthread_mutex_unlock(&links_lock);
    return b;
}

static void box_put(card_box *b)
{
    card_box **p;

    pthread_mutex_lock(&links_lock);
    if (--b->users == 0) {
        for (p = &boxes; *p != b; p = &(*p)->next) {
        }
        *p = b->next;
        hcl_box_free(b->box);
        free(b);
    }
    pthread_mutex_unlock(&links_lock);
}

static endpoint *get_endpoint(const char *call, EndpointHandle h,
                              HcclResult *rc)
{
    endpoint *e = h ? hcl_handle_get((uintptr_t)h, HCL_ENDPOINT) : NULL;

    *rc = HCCL_SUCCESS;
    if (!h) {
        *rc = hcl_null(call, "endpointHandle");
    } else if (!e) {
        *rc = hcl_bad(HCCL_E_NOT_FOUND, call, "endpointHandle", "a live "
                      "endpoint", "%p", h);
    }
    return e;
}

/* ---- descriptions ---- */

HcommResult HcommEndpointGetDescNum(int32_t deviceLogicId, uint32_t *descNum)
{
    if (!descNum) {
        return hcl_null("HcommEndpointGetDescNum", "descNum");
    }
    *descNum = 0;
    if (!a350_device_card(deviceLogicId)) {
        return hcl_bad(HCCL_E_NOT_FOUND, "HcommEndpointGetDescNum",
                       "deviceLogicId", "a device set by aclrtSetDevice",
                       "%d", deviceLogicId);
    }
    *descNum = 1;
    return HCCL_SUCCESS;
}

static HcclResult make_desc(a350_card *card, EndpointDesc *d)
{
    where w = { .magic = WHERE_MAGIC };
    char ip[HCL_IP_LEN];
    uint32_t port = 0;
    HcclResult rc = hcl_server_start(ip, &port);

    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    EndpointDescInit(d, 1);
    d->protocol = COMM_PROTOCOL_UBC_CTP;
    d->commAddr.type = COMM_ADDR_TYPE_EID;
    memcpy(d->commAddr.eid, a350_card_id(card)->eid, A350_EID_LEN);
    d->loc.locType = ENDPOINT_LOC_TYPE_DEVICE;
    d->loc.device.devPhyId = a350_card_number(card);
    w.port = (uint16_t)port;
    snprintf(w.ip, sizeof(w.ip), "%.39s", ip);
    memcpy(d->raws, &w, sizeof(w));
    return HCCL_SUCCESS;
}

HcommResult HcommEndpointGetDescs(int32_t deviceLogicId, uint32_t *descNum,
                                  EndpointDesc *endpointDescs)
{
    static const char call[] = "HcommEndpointGetDescs";
    a350_card *card = a350_device_card(deviceLogicId);
    HcclResult rc;

    if (!descNum || !endpointDescs) {
        return hcl_null(call, descNum ? "endpointDescs" : "descNum");
    }
    if (!card) {
        return hcl_bad(HCCL_E_NOT_FOUND, call, "deviceLogicId", "a device set "
                       "by aclrtSetDevice", "%d", deviceLogicId);
    }
    if (*descNum < 1) {
        return hcl_bad(HCCL_E_PARA, call, "descNum", "room for 1", "%u",
                       *descNum);
    }
    rc = make_desc(card, endpointDescs);
    if (rc == HCCL_SUCCESS) {
        *descNum = 1;
    }
    return rc;
}

HcommResult HcommEndpointCheckFeature(HcommEndpointFeatureType featureType,
                                      const EndpointDesc *ep, bool *value)
{
    static const char call[] = "HcommEndpointCheckFeature";

    if (!ep || !value) {
        return hcl_null(call, ep ? "value" : "endpoint");
    }
    if (featureType != HCOMM_ENDPOINT_FEATURE_NDA) {
        return hcl_bad(HCCL_E_PARA, call, "featureType", "NDA (0)", "%d",
                       (int)featureType);
    }
    *value = ep->protocol == COMM_PROTOCOL_ROCE &&
             ep->loc.locType == ENDPOINT_LOC_TYPE_HOST;
    return HCCL_SUCCESS;
}

/* ---- endpoints ---- */

static HcclResult check_endpoint(const char *call, const EndpointDesc *d)
{
    if (d->loc.locType != ENDPOINT_LOC_TYPE_DEVICE) {
        return hcl_bad(d->loc.locType == ENDPOINT_LOC_TYPE_HOST
                       ? HCCL_E_NOT_SUPPORT : HCCL_E_PARA, call,
                       "loc.locType", "DEVICE (0)", "%d",
                       (int)d->loc.locType);
    }
    if (d->protocol != COMM_PROTOCOL_UB_CTP) {
        return hcl_bad(HCCL_E_NOT_SUPPORT, call, "protocol", "UB_CTP (4)",
                       "%d (%s)", (int)d->protocol,
                       hcl_protocol_name(d->protocol));
    }
    if (d->commAddr.type != COMM_ADDR_TYPE_EID &&
        d->commAddr.type != COMM_ADDR_TYPE_IP_V6) {
        return hcl_bad(HCCL_E_PARA, call, "commAddr.type", "EID (3) or IP_V6 "
                       "(1)", "%d", (int)d->commAddr.type);
    }
    return HCCL_SUCCESS;
}

HcommResult HcommEndpointCreate(const EndpointDesc *desc,
                                EndpointHandle *endpointHandle)
{
    static const char call[] = "HcommEndpointCreate";
    a350_card *card = a350_current_card();
    endpoint *e;
    HcclResult rc;

    if (!desc || !endpointHandle) {
        return hcl_null(call, desc ? "endpointHandle" : "endpoint");
    }
    rc = check_endpoint(call, desc);
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    if (!card) {
        return hcl_fail(HCCL_E_RUNTIME, "EI0003", "%s: this thread has no "
                        "current device (aclrtSetDevice)", call);
    }
    if (memcmp(desc->commAddr.eid, a350_card_id(card)->eid, A350_EID_LEN)) {
        return hcl_bad(HCCL_E_PARA, call, "commAddr", "the address of the "
                       "current device", "another one (devPhyId %u)",
                       desc->loc.device.devPhyId);
    }
    e = calloc(1, sizeof(*e));
    if (!e) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    rc = make_desc(card, &e->desc);
    e->box = rc == HCCL_SUCCESS ? box_get(card) : NULL;
    if (!e->box) {
        free(e);
        return rc != HCCL_SUCCESS ? rc : HCCL_E_MEMORY;
    }
    hcl_watch_resets();
    e->card = card;
    a350_card_ref(card);
    pthread_mutex_init(&e->lock, NULL);
    e->handle = hcl_handle_new(HCL_ENDPOINT, e);
    *endpointHandle = (EndpointHandle)(uintptr_t)e->handle;
    return HCCL_SUCCESS;
}

static void endpoint_free(endpoint *e)
{
    exported *x;
    hcl_mem *m;

    hcl_handle_drop(e->handle);
    while ((m = e->mems)) {
        e->mems = m->next;
        hcl_mem_release(e->card, m);
    }
    while ((x = e->exports ? e->exports : e->imports)) {
        if (e->exports) {
            e->exports = x->next;
        } else {
            e->imports = x->next;
        }
        free(x);
    }
    box_put(e->box);
    a350_card_close(e->card);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

HcommResult HcommEndpointDestroy(EndpointHandle endpointHandle)
{
    static const char call[] = "HcommEndpointDestroy";
    HcclResult rc;
    endpoint *e = get_endpoint(call, endpointHandle, &rc);

    if (!e) {
        return rc;
    }
    if (e->channels) {
        return hcl_fail(HCCL_E_AGAIN, NULL, "%s: the endpoint has %u channels;"
                        " destroy them first", call, e->channels);
    }
    endpoint_free(e);
    return HCCL_SUCCESS;
}

HcommResult HcommEndpointGetListenPort(EndpointHandle endpointHandle,
                                       uint32_t *port)
{
    char ip[HCL_IP_LEN];
    HcclResult rc;
    endpoint *e = get_endpoint("HcommEndpointGetListenPort", endpointHandle,
                               &rc);

    if (!e) {
        return rc;
    }
    if (!port) {
        return hcl_null("HcommEndpointGetListenPort", "port");
    }
    return hcl_server_start(ip, port);
}

/* ---- memory ---- */

HcommResult HcommMemReg(EndpointHandle endpointHandle, const char *memTag,
                        const CommMem *mem, HcommMemHandle *memHandle)
{
    static const char call[] = "HcommMemReg";
    HcclResult rc;
    endpoint *e = get_endpoint(call, endpointHandle, &rc);
    hcl_mem *m;

    if (!e) {
        return rc;
    }
    if (!memTag || !mem || !memHandle) {
        return hcl_null(call, !memTag ? "memTag" : mem ? "memHandle" : "mem");
    }
    if (strlen(memTag) > HCCL_RES_TAG_MAX_LEN) {
        return hcl_bad(HCCL_E_PARA, call, "memTag", "at most "
                       HCL_TEXT(HCL_TAG_MAX) " characters",
                       "%zu characters", strlen(memTag));
    }
    if (mem->type != COMM_MEM_TYPE_DEVICE && mem->type != COMM_MEM_TYPE_HOST) {
        return hcl_bad(HCCL_E_PARA, call, "mem->type", "DEVICE 0 or HOST 1",
                       "%d", (int)mem->type);
    }
    if (!mem->addr || !mem->size) {
        return mem->addr ? hcl_bad(HCCL_E_PARA, call, "mem->size", "1 or more",
                                   "0")
                         : hcl_null(call, "mem->addr");
    }
    rc = hcl_mem_register(e->card, call, memTag, mem, &m);
    if (rc == HCCL_SUCCESS) {
        pthread_mutex_lock(&e->lock);
        m->next = e->mems;
        e->mems = m;
        pthread_mutex_unlock(&e->lock);
        *memHandle = (HcommMemHandle)(uintptr_t)m->handle;
    }
    return rc;
}

/* Takes it out of the endpoint's list; NULL: not there. */
static hcl_mem **find_mem(endpoint *e, HcommMemHandle h)
{
    hcl_mem **p;

    for (p = &e->mems; *p; p = &(*p)->next) {
        if ((*p)->handle == (uintptr_t)h) {
            return p;
        }
    }
    return NULL;
}

static HcclResult no_mem(const char *call, HcommMemHandle h)
{
    return hcl_bad(HCCL_E_NOT_FOUND, call, "memHandle", "memory of this "
                   "endpoint", "%p", h);
}

HcommResult HcommMemUnreg(EndpointHandle endpointHandle,
                          HcommMemHandle memHandle)
{
    static const char call[] = "HcommMemUnreg";
    HcclResult rc;
    endpoint *e = get_endpoint(call, endpointHandle, &rc);
    exported **x;
    hcl_mem **p, *m = NULL;

    if (!e) {
        return rc;
    }
    pthread_mutex_lock(&e->lock);
    p = find_mem(e, memHandle);
    if (p) {
        m = *p;
        *p = m->next;
        for (x = &e->exports; *x;) {
            exported *dead = *x;

            if (dead->mem == m) {
                *x = dead->next;
                free(dead);
            } else {
                x = &dead->next;
            }
        }
    }
    pthread_mutex_unlock(&e->lock);
    if (!m) {
        return no_mem(call, memHandle);
    }
    hcl_mem_release(e->card, m);
    return HCCL_SUCCESS;
}

HcommResult HcommMemExport(EndpointHandle endpointHandle,
                           HcommMemHandle memHandle, void **memDesc,
                           uint32_t *memDescLen)
{
    static const char call[] = "HcommMemExport";
    HcclResult rc;
    endpoint *e = get_endpoint(call, endpointHandle, &rc);
    exported *x;
    hcl_mem **p;

    if (!e) {
        return rc;
    }
    if (!memDesc || !memDescLen) {
        return hcl_null(call, memDesc ? "memDescLen" : "memDesc");
    }
    x = calloc(1, sizeof(*x));
    if (!x) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    pthread_mutex_lock(&e->lock);
    p = find_mem(e, memHandle);
    if (p) {
        x->mem = *p;
        x->desc.magic = DESC_MAGIC;
        x->desc.version = 1;
        memcpy(x->desc.eid, a350_card_id(e->card)->eid, A350_EID_LEN);
        hcl_offer_mem_fill(&x->desc.mem, *p);
        x->next = e->exports;
        e->exports = x;
    }
    pthread_mutex_unlock(&e->lock);
    if (!p) {
        free(x);
        return no_mem(call, memHandle);
    }
    *memDesc = &x->desc;
    *memDescLen = sizeof(x->desc);
    return HCCL_SUCCESS;
}

static HcclResult check_mem_desc(const char *call, const void *memDesc,
                                 uint32_t len, mem_desc *d)
{
    if (!memDesc) {
        return hcl_null(call, "memDesc");
    }
    if (len != sizeof(*d)) {
        return hcl_bad(HCCL_E_PARA, call, "descLen", "what HcommMemExport "
                       "gave", "%u", len);
    }
    memcpy(d, memDesc, sizeof(*d));
    if (d->magic != DESC_MAGIC || d->version != 1 ||
        hcl_offer_mem_check(&d->mem, a350_eid_card(d->eid)) != HCCL_SUCCESS) {
        return hcl_bad(HCCL_E_PARA, call, "memDesc", "the bytes that "
                       "HcommMemExport gave", "magic 0x%x", d->magic);
    }
    return HCCL_SUCCESS;
}

HcommResult HcommMemImport(EndpointHandle endpointHandle, const void *memDesc,
                           uint32_t descLen, CommMem *outMem)
{
    static const char call[] = "HcommMemImport";
    HcclResult rc;
    endpoint *e = get_endpoint(call, endpointHandle, &rc);
    exported *x;
    mem_desc d;

    if (!e) {
        return rc;
    }
    if (!outMem) {
        return hcl_null(call, "outMem");
    }
    rc = check_mem_desc(call, memDesc, descLen, &d);
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    x = calloc(1, sizeof(*x));
    if (!x) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    x->desc = d;
    pthread_mutex_lock(&e->lock);
    x->next = e->imports;
    e->imports = x;
    pthread_mutex_unlock(&e->lock);
    *outMem = (CommMem){ (CommMemType)d.mem.type,
                         (void *)(uintptr_t)d.mem.addr, d.mem.size };
    return HCCL_SUCCESS;
}

HcommResult HcommMemUnimport(EndpointHandle endpointHandle,
                             const void *memDesc, uint32_t descLen)
{
    static const char call[] = "HcommMemUnimport";
    HcclResult rc;
    endpoint *e = get_endpoint(call, endpointHandle, &rc);
    exported **p, *x = NULL;
    mem_desc d;

    if (!e) {
        return rc;
    }
    rc = check_mem_desc(call, memDesc, descLen, &d);
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    pthread_mutex_lock(&e->lock);
    for (p = &e->imports; *p; p = &(*p)->next) {
        if (!memcmp(&(*p)->desc, &d, sizeof(d))) {
            x = *p;
            *p = x->next;
            break;
        }
    }
    pthread_mutex_unlock(&e->lock);
    if (!x) {
        return hcl_bad(HCCL_E_NOT_FOUND, call, "memDesc", "imported memory",
                       "memory %s", d.mem.tag);
    }
    free(x);
    return HCCL_SUCCESS;
}

/* ---- channels ---- */

static void eid_text(char out[2 * A350_EID_LEN + 1],
                     const uint8_t eid[A350_EID_LEN])
{
    int i;

    for (i = 0; i < A350_EID_LEN; i++) {
        sprintf(out + 2 * i, "%02x", eid[i]);
    }
}

/*
 * Channels of a pair and name meet by number: the lowest that no live one of
 * this side has. So one that is made again after a failure, or by a peer that
 * was started again, has the number that the other side expects.
 */
static void take_ordinal(link_t *l)
{
    const link_t *o;

    pthread_mutex_lock(&links_lock);
    do {
        for (o = links; o && (o->server != l->server ||
                              o->ordinal != l->ordinal ||
                              strcmp(o->pair, l->pair)); o = o->next) {
        }
        l->ordinal += o != NULL;
    } while (o);
    l->next = links;
    links = l;
    pthread_mutex_unlock(&links_lock);
}

static void give_ordinal(link_t *l)
{
    link_t **p;

    pthread_mutex_lock(&links_lock);
    for (p = &links; *p && *p != l; p = &(*p)->next) {
    }
    if (*p) {
        *p = l->next;
    }
    pthread_mutex_unlock(&links_lock);
}

/* A long name by its beginning and a digest of all of it. */
static void short_name(char out[41], const char *name)
{
    uint64_t h = 1469598103934665603ull;
    const char *p;

    if (strlen(name) <= 40) {
        strcpy(out, name);
        return;
    }
    for (p = name; *p; p++) {
        h = (h ^ (uint8_t)*p) * 1099511628211ull;
    }
    snprintf(out, 41, "%.23s~%016llx", name, (unsigned long long)h);
}

static void make_key(link_t *l, const char *name)
{
    const uint8_t *self = a350_card_id(l->ch.card)->eid;
    char a[33], b[33], brief[41];

    eid_text(a, l->server ? l->peer_eid : self);
    eid_text(b, l->server ? self : l->peer_eid);
    short_name(brief, name ? name : "");
    snprintf(l->pair, sizeof(l->pair), "%s-%s %s", a, b, brief);
    take_ordinal(l);
    snprintf(l->ch.key, sizeof(l->ch.key), "%.115s#%u", l->pair, l->ordinal);
}

/* Offers of client and server have their own boxes, hence the same key. */
static void find_peer(link_t *l, const HcommChannelDesc *d)
{
    where w;

    memcpy(&w, d->remoteEndpoint.raws, sizeof(w));
    l->peer.rank = 0;
    if (w.magic == WHERE_MAGIC && memchr(w.ip, 0, sizeof(w.ip))) {
        snprintf(l->peer.ip, sizeof(l->peer.ip), "%s", w.ip);
        l->peer.port = w.port;
    } else {
        snprintf(l->peer.ip, sizeof(l->peer.ip), "127.0.0.1");
    }
    if (d->port && !l->server) {
        l->peer.port = d->port;
    }
}

static void add_mem(link_t *l, const hcl_mem *m)
{
    l->copies[l->n] = *m;
    l->mems[l->n] = &l->copies[l->n];
    l->n++;
}

static HcclResult take_mems(const char *call, endpoint *e, link_t *l,
                            const HcommChannelDesc *d)
{
    uint32_t n = 0, i;
    hcl_mem *m, **p;

    if (!d->exchangeAllMems && d->memHandleNum && !d->memHandles) {
        return hcl_null(call, "memHandles");
    }
    if (!d->exchangeAllMems && d->memHandleNum > HCL_MEMS_MAX) {
        return hcl_bad(HCCL_E_PARA, call, "memHandleNum",
                       "0 to " HCL_TEXT(HCL_MEMS_MAX), "%u",
                       d->memHandleNum);
    }
    for (m = e->mems; m; m = m->next) {
        n++;
    }
    n = (n > d->memHandleNum ? n : d->memHandleNum) + 1u;
    l->mems = calloc(n, sizeof(*l->mems));
    l->copies = calloc(n, sizeof(*l->copies));
    if (!l->mems || !l->copies) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    if (d->exchangeAllMems) {
        for (m = e->mems; m && l->n < HCL_MEMS_MAX; m = m->next) {
            add_mem(l, m);
        }
        return HCCL_SUCCESS;
    }
    for (i = 0; i < d->memHandleNum; i++) {
        p = find_mem(e, d->memHandles[i]);
        if (!p) {
            return no_mem(call, d->memHandles[i]);
        }
        add_mem(l, *p);
    }
    return HCCL_SUCCESS;
}

static void link_free(link_t *l)
{
    endpoint *e = l->ep;
    hcl_mem **mems = l->mems, *copies = l->copies;

    give_ordinal(l);
    pthread_mutex_lock(&e->lock);
    e->channels--;
    pthread_mutex_unlock(&e->lock);
    hcl_channel_free(&l->ch);    /* frees l, which begins with it */
    free(mems);
    free(copies);
}

static HcclResult link_new(const char *call, endpoint *e, CommEngine engine,
                           const HcommChannelDesc *d, link_t **out)
{
    uint32_t depth = d->ubAttr.sqDepth;
    link_t *l = calloc(1, sizeof(*l));
    HcclResult rc;
    int err;

    if (!l) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    l->ep = e;
    l->ch.card = e->card;
    l->ch.engine = engine;
    l->ch.protocol = d->remoteEndpoint.protocol;
    l->ch.notify_num = d->notifyNum;
    l->ch.notify_first = A350_ID_NONE;
    memcpy(l->peer_eid, d->remoteEndpoint.commAddr.eid, A350_EID_LEN);
    l->ch.peer = a350_eid_card(l->peer_eid);
    l->server = d->role == HCOMM_SOCKET_ROLE_RESERVED
                ? memcmp(a350_card_id(e->card)->eid, l->peer_eid,
                         A350_EID_LEN) < 0
                : d->role == HCOMM_SOCKET_ROLE_SERVER;
    l->status = CONNECTING;
    l->deadline = hcl_connect_deadline();
    find_peer(l, d);
    make_key(l, d->channelName);
    pthread_mutex_lock(&e->lock);
    e->channels++;
    rc = take_mems(call, e, l, d);
    pthread_mutex_unlock(&e->lock);
    if (rc == HCCL_SUCCESS) {
        rc = hcl_channel_prepare(&l->ch, a350_card_id(e->card)->card_index,
                                 depth == UINT32_MAX || !depth ? 2048 : depth,
                                 "endpoint", l->peer_eid);
    }
    if (rc == HCCL_SUCCESS) {
        err = a350_hbm_new(e->card, NULL, sizeof(a350_channel_obj),
                           &l->ch.device);
        rc = err ? hcl_driver(err, "channel object") : HCCL_SUCCESS;
    }
    if (rc == HCCL_SUCCESS && hcl_handle_add(l->ch.device, HCL_CHANNEL, l)) {
        rc = HCCL_E_MEMORY;
    }
    if (rc != HCCL_SUCCESS) {
        link_free(l);
        return rc;
    }
    *out = l;
    return HCCL_SUCCESS;
}

static HcclResult check_desc(const char *call, const HcommChannelDesc *d)
{
    if (d->header.magicWord != HCOMM_CHANNEL_MAGIC_WORD) {
        return hcl_bad(HCCL_E_PARA, call, "channelDescs", "structures filled "
                       "by HcommChannelDescInit", "magic 0x%x",
                       d->header.magicWord);
    }
    if (d->notifyNum > HCL_CHANNEL_NOTIFY_MAX) {
        return hcl_bad(HCCL_E_PARA, call, "notifyNum",
                       "0 to " HCL_TEXT(HCL_CHANNEL_NOTIFY_MAX), "%u",
                       d->notifyNum);
    }
    if (d->channelName &&
        strnlen(d->channelName, HCOMM_CHANNEL_NAME_MAX_LEN + 1) >
        HCOMM_CHANNEL_NAME_MAX_LEN) {
        return hcl_bad(HCCL_E_PARA, call, "channelName", "at most "
                       HCL_TEXT(HCL_CHANNEL_NAME_MAX) " characters", "(longer)");
    }
    if (d->socket) {
        return hcl_bad(HCCL_E_NOT_SUPPORT, call, "socket", "NULL: channels "
                       "meet at the endpoint's port", "%p", d->socket);
    }
    return check_endpoint(call, &d->remoteEndpoint);
}

HcommResult HcommChannelCreate(EndpointHandle endpointHandle,
                               CommEngine engine,
                               HcommChannelDesc *channelDescs,
                               uint32_t channelNum, ChannelHandle *channels)
{
    static const char call[] = "HcommChannelCreate";
    HcclResult rc;
    endpoint *e = get_endpoint(call, endpointHandle, &rc);
    link_t *l = NULL;
    uint32_t i;

    if (!e) {
        return rc;
    }
    if (!channelDescs || !channels) {
        return hcl_null(call, channelDescs ? "channels" : "channelDescs");
    }
    if (channelNum == 0 || channelNum > HCL_CHANNELS_CALL_MAX) {
        return hcl_bad(HCCL_E_PARA, call, "channelNum",
                       "1 to " HCL_TEXT(HCL_CHANNELS_CALL_MAX), "%u",
                       channelNum);
    }
    if (engine != COMM_ENGINE_AICPU && engine != COMM_ENGINE_AICPU_TS) {
        return hcl_bad(HCCL_E_NOT_SUPPORT, call, "engine", "AICPU 2 or "
                       "AICPU_TS 3 on this card", "%d (%s)", (int)engine,
                       hcl_engine_name(engine));
    }
    for (i = 0; i < channelNum && rc == HCCL_SUCCESS; i++) {
        rc = check_desc(call, &channelDescs[i]);
    }
    for (i = 0; i < channelNum && rc == HCCL_SUCCESS; i++) {
        rc = link_new(call, e, engine, &channelDescs[i], &l);
        if (rc == HCCL_SUCCESS) {
            channels[i] = l->ch.device;
        } else {
            while (i--) {
                link_free(hcl_handle_get(channels[i], HCL_CHANNEL));
            }
            break;
        }
    }
    return rc;
}

HcommResult HcommChannelCreateWithConfig(EndpointHandle endpointHandle,
                                         CommEngine engine,
                                         HcommChannelDesc *channelDescs,
                                         uint32_t channelNum,
                                         HcommChannelConfig config,
                                         ChannelHandle *channels)
{
    HcclResult rc = hcl_channel_config_check("HcommChannelCreateWithConfig",
                                             config);

    return rc != HCCL_SUCCESS ? (HcommResult)rc
                              : HcommChannelCreate(endpointHandle, engine,
                                                   channelDescs, channelNum,
                                                   channels);
}

HcommResult HcommChannelConfigCreate(HcommChannelConfig *config)
{
    return hcl_channel_config_new("HcommChannelConfigCreate", config);
}

HcommResult HcommChannelConfigDestroy(HcommChannelConfig config)
{
    free(config);
    return HCCL_SUCCESS;
}

HcommResult HcommChannelConfigSetInt(HcommChannelConfig config,
                                     HcommChannelConfigType type,
                                     uint32_t value)
{
    return hcl_channel_config_int("HcommChannelConfigSetInt", config,
                                  (int)type, value);
}

/* ---- handshake ---- */

/* The sender's address, then its offer. */
typedef struct envelope {
    where from;
} envelope;

static HcclResult send_offer(link_t *l)
{
    char ip[HCL_IP_LEN];
    uint32_t port, len;
    uint8_t *buf;
    envelope env = { .from = { .magic = WHERE_MAGIC } };
    hcl_offer *offer;
    HcclResult rc = hcl_server_start(ip, &port);

    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    rc = hcl_offer_make(&l->ch, l->ch.card ? a350_card_id(l->ch.card)->
                        card_index : 0, l->mems, l->n, NULL, 0, NULL, &offer,
                        &len);
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    env.from.port = (uint16_t)port;
    snprintf(env.from.ip, sizeof(env.from.ip), "%.39s", ip);
    buf = malloc(sizeof(env) + len);
    if (buf) {
        memcpy(buf, &env, sizeof(env));
        memcpy(buf + sizeof(env), offer, len);
        rc = hcl_mail_send(&l->peer, a350_card_id(l->ch.card)->card_index,
                           l->peer_eid, HCL_MAIL_OFFER, l->ch.key, buf,
                           (uint32_t)sizeof(env) + len,
                           hcl_now_ns() + 2000000000ull);
    } else {
        rc = HCCL_E_MEMORY;
    }
    free(buf);
    free(offer);
    return rc;
}

/* Imported memory of the peer joins the table that kernels check against. */
static hcl_offer *with_imports(link_t *l, const uint8_t *data, uint32_t *len)
{
    hcl_offer *o = calloc(1, *len + sizeof(hcl_offer) +
                          HCL_MEMS_MAX * sizeof(hcl_offer_mem));
    hcl_offer_mem *m;
    exported *x;

    if (!o) {
        return NULL;
    }
    memcpy(o, data, *len);
    if (*len < sizeof(*o) || o->mem_num > HCL_MEMS_MAX || o->exchange_len ||
        *len != sizeof(*o) + o->mem_num * sizeof(*m)) {
        return o;                /* refused by the check that follows */
    }
    m = (hcl_offer_mem *)(o + 1);
    pthread_mutex_lock(&l->ep->lock);
    for (x = l->ep->imports; x && o->mem_num < HCL_MEMS_MAX; x = x->next) {
        if (!memcmp(x->desc.eid, l->peer_eid, A350_EID_LEN)) {
            m[o->mem_num++] = x->desc.mem;
            *len += (uint32_t)sizeof(*m);
        }
    }
    pthread_mutex_unlock(&l->ep->lock);
    return o;
}

static HcclResult accept_offer(link_t *l, const hcl_mail *mail)
{
    uint32_t len = mail->len - (uint32_t)sizeof(envelope);
    envelope env;
    hcl_offer *o;
    HcclResult rc;

    memcpy(&env, mail->data, sizeof(env));
    if (l->server && env.from.magic == WHERE_MAGIC &&
        memchr(env.from.ip, 0, sizeof(env.from.ip))) {
        snprintf(l->peer.ip, sizeof(l->peer.ip), "%s", env.from.ip);
        l->peer.port = env.from.port;
    }
    if (!l->sent) {
        rc = send_offer(l);
        if (rc != HCCL_SUCCESS) {
            return rc;
        }
        l->sent = true;
    }
    o = with_imports(l, mail->data + sizeof(envelope), &len);
    if (!o) {
        return HCCL_E_MEMORY;
    }
    rc = hcl_channel_connect(&l->ch, a350_card_id(l->ch.card)->card_index, o,
                             len, l->peer_eid, l->mems, l->n, 0);
    free(o);
    return rc;
}

static void advance(link_t *l)
{
    uint64_t now = hcl_now_ns();
    hcl_mail *mail;

    if (l->status != CONNECTING) {
        return;
    }
    if (!l->server && !l->sent) {
        /* The server may not be there yet: tried again at the next call. */
        l->sent = send_offer(l) == HCCL_SUCCESS;
    }
    mail = l->server || l->sent
           ? hcl_mail_take(l->ep->box->box, l->ch.peer, HCL_MAIL_OFFER, l->ch.key,
                           now)
           : NULL;
    if (mail && mail->len > sizeof(envelope)) {
        l->status = accept_offer(l, mail) == HCCL_SUCCESS ? READY : FAILED;
    } else if (mail) {
        l->status = FAILED;
    } else if (now >= l->deadline) {
        hcl_fail(HCCL_E_TIMEOUT, "EI0006", "channel to card %u at %s:%u: the "
                 "peer did not come within %u s (HCCL_CONNECT_TIMEOUT)",
                 l->ch.peer, l->peer.ip, l->peer.port, hcl_connect_limit());
        l->status = TIMED_OUT;
    }
    free(mail);
}

static link_t *get_link(ChannelHandle h)
{
    hcl_channel *ch = hcl_handle_get(h, HCL_CHANNEL);

    return ch && !ch->comm ? (link_t *)ch : NULL;
}

HcommResult HcommChannelGetStatus(const ChannelHandle *channelList,
                                  uint32_t listNum, int32_t *statusList)
{
    static const char call[] = "HcommChannelGetStatus";
    link_t *l;
    uint32_t i;

    if (!channelList || !statusList) {
        return hcl_null(call, channelList ? "statusList" : "channelList");
    }
    for (i = 0; i < listNum; i++) {
        l = get_link(channelList[i]);
        if (!l) {
            return hcl_bad(HCCL_E_NOT_FOUND, call, "channelList", "channels "
                           "of HcommChannelCreate", "0x%llx",
                           (unsigned long long)channelList[i]);
        }
        advance(l);
        statusList[i] = l->status;
    }
    return HCCL_SUCCESS;
}

HcommResult HcommChannelDestroy(const ChannelHandle *channels,
                                uint32_t channelNum)
{
    static const char call[] = "HcommChannelDestroy";
    link_t *l;
    uint32_t i;

    if (!channels) {
        return hcl_null(call, "channels");
    }
    for (i = 0; i < channelNum; i++) {
        l = get_link(channels[i]);
        if (!l) {
            return hcl_bad(HCCL_E_NOT_FOUND, call, "channels", "channels of "
                           "HcommChannelCreate", "0x%llx",
                           (unsigned long long)channels[i]);
        }
        link_free(l);
    }
    return HCCL_SUCCESS;
}

/* ---- a device that is reset ---- */

static bool link_on(const void *object, const void *card)
{
    const hcl_channel *ch = object;

    return !ch->comm && ch->card == card;
}

static bool endpoint_on(const void *object, const void *card)
{
    return ((const endpoint *)object)->card == card;
}

void hcl_endpoints_left(a350_card *card, int32_t device)
{
    unsigned channels = 0, n = 0;
    hcl_channel *ch;
    endpoint *e;

    while ((ch = hcl_handle_find(HCL_CHANNEL, link_on, card))) {
        link_free((link_t *)ch);
        channels++;
    }
    while ((e = hcl_handle_find(HCL_ENDPOINT, endpoint_on, card))) {
        endpoint_free(e);
        n++;
    }
    if (n) {
        hcl_log(2, "%u endpoints with %u channels were not destroyed before "
                "their device %d was reset", n, channels, device);
    }
}
