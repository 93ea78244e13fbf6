/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One channel: this side's resources, what it tells its peer, and the object
 * that kernels use. Knows neither communicators nor sockets, so that channels
 * of communicators and of endpoints are made here alike.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hccl_internal.h"

static void label(hcl_channel *ch, uint32_t i, uint32_t rank,
                  const char *comm_name, const uint8_t eid[A350_EID_LEN])
{
    a350_notify_label l = {
        .notify_id = ch->notify_first + i, .kind = 2, .index = i,
        .rank = rank, .peer_rank = ch->peer, .owner_sq = A350_ID_NONE,
    };

    memcpy(l.peer_eid, eid, A350_EID_LEN);
    snprintf(l.comm, sizeof(l.comm), "%.63s", comm_name);
    a350_notify_set_label(ch->card, &l);
}

static uint32_t blocks_for(uint32_t depth)
{
    uint32_t blocks = A350_JETTY_DEPTH_MIN;

    /* A write with notify takes two blocks. */
    while (blocks < 2 * depth && blocks < A350_JETTY_DEPTH_MAX) {
        blocks *= 2;
    }
    return blocks;
}

static HcclResult make_notifies(hcl_channel *ch, uint32_t rank,
                                const char *comm_name,
                                const uint8_t eid[A350_EID_LEN])
{
    uint64_t first, last;
    uint32_t i;
    int rc;

    /* One more, for the drain; it is the local operand of a read. */
    rc = a350_notify_alloc_n(ch->card, ch->notify_num + 1, &ch->notify_first);
    if (rc) {
        return hcl_driver(rc, "channel notifies");
    }
    ch->drain_notify = ch->notify_first + ch->notify_num;
    a350_notify_clear(ch->card, ch->notify_first, ch->notify_num + 1);
    for (i = 0; i < ch->notify_num; i++) {
        label(ch, i, rank, comm_name, eid);
    }
    first = a350_notify_device_addr(ch->card, ch->notify_first);
    last = a350_notify_device_addr(ch->card, ch->drain_notify);
    ch->notify_token_value = 0;
    rc = a350_segment_register(ch->card, first, last + 8 - first,
                               A350_SEG_WRITE, &ch->notify_token,
                               &ch->notify_token_value);
    if (rc) {
        a350_notify_free(ch->card, ch->drain_notify);
        for (i = 0; i < ch->notify_num; i++) {
            a350_notify_free(ch->card, ch->notify_first + i);
        }
        ch->notify_first = A350_ID_NONE;
        return hcl_driver(rc, "channel notifies");
    }
    return HCCL_SUCCESS;
}

HcclResult hcl_channel_prepare(hcl_channel *ch, uint32_t rank, uint32_t depth,
                               const char *comm_name,
                               const uint8_t peer_eid[A350_EID_LEN])
{
    const hcl_env *env;
    HcclResult rc = hcl_env_get(&env);
    int err;

    ch->notify_first = A350_ID_NONE;
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    err = a350_jetty_new(ch->card, blocks_for(depth), 0, env->ub_timeout, rank,
                         ch->peer, &ch->jetty);
    if (err) {
        ch->jetty.card = NULL;
        return hcl_driver(err, "jetty of a channel");
    }
    return make_notifies(ch, rank, comm_name, peer_eid);
}

void hcl_offer_mem_fill(hcl_offer_mem *o, const hcl_mem *m)
{
    o->addr = (uintptr_t)m->mem.addr;
    o->size = m->mem.size;
    o->base = m->base;
    o->length = m->length;
    o->token_id = m->token_id;
    o->token_value = m->token_value;
    o->type = (uint32_t)m->mem.type;
    memcpy(o->tag, m->tag, sizeof(o->tag));
}

HcclResult hcl_offer_make(hcl_channel *ch, uint32_t rank, hcl_mem *const *mems,
                          uint32_t n, const void *exchange, uint32_t ex_len,
                          const a350_mem_token *drain, hcl_offer **offer,
                          uint32_t *len)
{
    uint32_t bytes = (uint32_t)(sizeof(hcl_offer) +
                                n * sizeof(hcl_offer_mem) + ex_len), i;
    hcl_offer *o = calloc(1, bytes);
    hcl_offer_mem *m = (hcl_offer_mem *)(o + 1);

    if (!o) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    o->magic = HCL_OFFER_MAGIC;
    o->version = 1;
    o->rank = rank;
    o->peer = ch->peer;
    o->engine = (uint32_t)ch->engine;
    o->protocol = (uint32_t)ch->protocol;
    o->notify_num = ch->notify_num;
    o->jetty_id = ch->jetty.id;
    memcpy(o->eid, a350_card_id(ch->card)->eid, A350_EID_LEN);
    for (i = 0; i < ch->notify_num; i++) {
        o->notify_addr[i] = a350_notify_device_addr(ch->card,
                                                    ch->notify_first + i);
    }
    o->notify_token = ch->notify_token;
    o->notify_token_value = ch->notify_token_value;
    if (drain) {
        o->drain = *drain;
    }
    snprintf(o->lib_version, sizeof(o->lib_version), "%s", HCL_LIB_VERSION);
    o->mem_num = n;
    o->exchange_len = ex_len;
    for (i = 0; i < n; i++) {
        hcl_offer_mem_fill(&m[i], mems[i]);
    }
    if (ex_len) {
        memcpy(m + n, exchange, ex_len);
    }
    *offer = o;
    *len = bytes;
    return HCCL_SUCCESS;
}

/* ---- the peer's offer ---- */

static HcclResult broken(const char *what)
{
    return hcl_fail(HCCL_E_NETWORK, "EI0006", "the peer's channel data is "
                    "broken: %s", what);
}

/* Addresses must be of the peer's card; host memory may be of its guest. */
static bool of_card(uint64_t addr, uint64_t len, uint32_t card)
{
    return !a350_addr_is_host(addr) && a350_addr_card(addr) == card &&
           addr + len >= addr && a350_addr_card(addr + len - 1) == card;
}

HcclResult hcl_offer_mem_check(const hcl_offer_mem *m, uint32_t card)
{
    bool device = m->type == COMM_MEM_TYPE_DEVICE;

    if (!memchr(m->tag, 0, sizeof(m->tag)) || m->size == 0 ||
        m->length < m->size || m->base > m->addr ||
        m->addr - m->base > m->length - m->size) {
        return broken("memory");
    }
    if (device ? !of_card(m->base, m->length, card)
               : !a350_addr_is_host(m->base) ||
                 !a350_addr_is_host(m->base + m->length - 1)) {
        return broken("a memory address that is not the peer's");
    }
    return HCCL_SUCCESS;
}

static HcclResult check_offer(const hcl_channel *ch, const hcl_offer *o,
                              uint32_t len,
                              const uint8_t eid[A350_EID_LEN])
{
    const hcl_offer_mem *m = (const hcl_offer_mem *)(o + 1);
    uint32_t card = a350_eid_card(eid), i;
    HcclResult rc;

    if (len < sizeof(*o) || o->magic != HCL_OFFER_MAGIC || o->version != 1) {
        return broken("head");
    }
    if (o->mem_num > HCL_MEMS_MAX || o->exchange_len > HCL_EXCHANGE_MAX ||
        o->notify_num > HCL_CHANNEL_NOTIFY_MAX ||
        len != sizeof(*o) + o->mem_num * sizeof(*m) + o->exchange_len) {
        return broken("lengths");
    }
    if (memcmp(o->eid, eid, A350_EID_LEN)) {
        return broken("it comes from another card");
    }
    for (i = 0; i < o->notify_num; i++) {
        if (!of_card(o->notify_addr[i], 8, card)) {
            return broken("a notify address that is not the peer's");
        }
    }
    if (o->drain.len && !of_card(o->drain.addr, o->drain.len, card)) {
        return broken("drain address");
    }
    for (i = 0; i < o->mem_num; i++) {
        rc = hcl_offer_mem_check(&m[i], card);
        if (rc != HCCL_SUCCESS) {
            return rc;
        }
    }
    if (o->notify_num != ch->notify_num) {
        return hcl_fail(HCCL_E_PARA, "EI0005", "notifyNum differs between the "
                        "ends of a channel: rank %u (this one) has %u, rank "
                        "%u has %u", o->peer, ch->notify_num, o->rank,
                        o->notify_num);
    }
    return HCCL_SUCCESS;
}

/* Tables in HBM that the object points to. */
static HcclResult publish_mems(hcl_channel *ch, hcl_mem *const *mems,
                               uint32_t n)
{
    a350_mem_token *t = calloc(n + 1u, sizeof(*t));
    uint32_t i;
    int rc;

    if (!t) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    for (i = 0; i < n; i++) {
        t[i] = (a350_mem_token){ mems[i]->base, mems[i]->length,
                                 mems[i]->token_id, mems[i]->token_value };
    }
    /* The notify registers: local operand of a drain. */
    t[n].addr = a350_notify_device_addr(ch->card, ch->notify_first);
    t[n].len = a350_notify_device_addr(ch->card, ch->drain_notify) + 8 -
               t[n].addr;
    t[n].token_id = ch->notify_token;
    t[n].token_value = ch->notify_token_value;
    rc = a350_hbm_new(ch->card, t, (n + 1) * sizeof(*t), &ch->local_mems);
    free(t);
    if (!rc) {
        rc = a350_hbm_new(ch->card, ch->mem_num ? ch->tokens : NULL,
                          ch->mem_num ? ch->mem_num * sizeof(*ch->tokens) : 64,
                          &ch->remote_mems);
    }
    return rc ? hcl_driver(rc, "memory tables of a channel") : HCCL_SUCCESS;
}

static HcclResult keep_remote(hcl_channel *ch, const hcl_offer *o)
{
    const hcl_offer_mem *m = (const hcl_offer_mem *)(o + 1);
    uint32_t n = o->mem_num, i;

    ch->mems = calloc(n + 1u, sizeof(*ch->mems));
    ch->tags = calloc(n + 1u, sizeof(*ch->tags));
    ch->tokens = calloc(n + 1u, sizeof(*ch->tokens));
    ch->exchange = calloc(1, o->exchange_len + 1u);
    if (!ch->mems || !ch->tags || !ch->tokens || !ch->exchange) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    for (i = 0; i < n; i++) {
        ch->mems[i] = (CommMem){ (CommMemType)m[i].type,
                                 (void *)(uintptr_t)m[i].addr, m[i].size };
        /* What users may address: not the rounding of the registration. */
        ch->tokens[i] = (a350_mem_token){ m[i].addr, m[i].size, m[i].token_id,
                                          m[i].token_value };
        ch->tags[i] = strdup(m[i].tag);
        if (!ch->tags[i]) {
            return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
        }
    }
    ch->mem_num = n;
    memcpy(ch->exchange, m + n, o->exchange_len);
    ch->exchange_len = o->exchange_len;
    return HCCL_SUCCESS;
}

static HcclResult make_object(hcl_channel *ch, uint32_t rank,
                              const hcl_offer *of, uint32_t n_local,
                              uint64_t comm_object)
{
    const a350_identify_rsp *id = a350_card_id(ch->card);
    a350_channel_obj o = {
        .magic = A350_CHANNEL_MAGIC, .version = A350_HCOMM_ABI_VERSION,
        .size = sizeof(o), .proto = A350_PROTO_UB,
        .comm_protocol = (uint32_t)ch->protocol, .rank = rank,
        .peer_rank = ch->peer, .notify_num = ch->notify_num,
        .jetty_id = ch->jetty.id, .jetty_depth = ch->jetty.depth,
        .wq_base = ch->jetty.wq, .ci_addr = ch->jetty.ci,
        .max_msg = id->max_msg ? id->max_msg : A350_UB_MAX_MSG,
        .local_mem_num = n_local + 1, .remote_mem_num = ch->mem_num,
        .local_mems = ch->local_mems, .remote_mems = ch->remote_mems,
        .comm = comm_object, .drain_notify = ch->drain_notify,
        .drain_remote = of->drain,
    };
    uint32_t i;
    int rc;

    memcpy(o.eid, id->eid, A350_EID_LEN);
    memcpy(o.peer_eid, of->eid, A350_EID_LEN);
    if (!of->drain.len) {
        o.drain_notify = A350_ID_NONE;
    }
    rc = a350_local_token(ch->card, &o.local_any_token);
    for (i = 0; i < ch->notify_num; i++) {
        o.local_notify[i] = ch->notify_first + i;
        o.remote_notify[i] = (a350_mem_token){
            of->notify_addr[i], 8, of->notify_token, of->notify_token_value,
        };
    }
    if (!rc && ch->device) {     /* the handle was given out before */
        a350_copy(a350_hbm_ptr(ch->device, sizeof(o)), &o, sizeof(o));
    } else if (!rc) {
        rc = a350_hbm_new(ch->card, &o, sizeof(o), &ch->device);
        if (!rc && hcl_handle_add(ch->device, HCL_CHANNEL, ch)) {
            rc = -ENOMEM;
        }
    }
    return rc ? hcl_driver(rc, "channel object") : HCCL_SUCCESS;
}

HcclResult hcl_channel_connect(hcl_channel *ch, uint32_t rank,
                               const hcl_offer *offer, uint32_t len,
                               const uint8_t peer_eid[A350_EID_LEN],
                               hcl_mem *const *mems, uint32_t n,
                               uint64_t comm_object)
{
    HcclResult rc = check_offer(ch, offer, len, peer_eid);

    if (rc == HCCL_SUCCESS) {
        rc = keep_remote(ch, offer);
    }
    if (rc == HCCL_SUCCESS) {
        rc = publish_mems(ch, mems, n);
    }
    return rc == HCCL_SUCCESS ? make_object(ch, rank, offer, n, comm_object)
                              : rc;
}

void hcl_channel_free(hcl_channel *ch)
{
    a350_channel_obj *o;
    uint32_t i;

    if (ch->device) {
        hcl_handle_drop(ch->device);
        o = a350_hbm_ptr(ch->device, sizeof(*o));
        if (o) {
            o->magic = 0;
        }
    }
    if (ch->jetty.card) {
        a350_jetty_free(&ch->jetty);
    }
    if (ch->notify_first != A350_ID_NONE &&
        hcl_segment_end(ch->card, ch->notify_token)) {
        for (i = 0; i <= ch->notify_num; i++) {
            a350_notify_free(ch->card, ch->notify_first + i);
        }
    }
    if (ch->local_mems) {
        a350_hbm_free(ch->local_mems);
    }
    if (ch->remote_mems) {
        a350_hbm_free(ch->remote_mems);
    }
    if (ch->device) {
        a350_hbm_free(ch->device);
    }
    for (i = 0; ch->tags && i < ch->mem_num; i++) {
        free(ch->tags[i]);
    }
    free(ch->tags);
    free(ch->mems);
    free(ch->tokens);
    free(ch->exchange);
    free(ch);
}
