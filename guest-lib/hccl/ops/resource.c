/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operators of a communicator share, made at the first of them: its
 * task threads, channels to the ranks that an operator is the first to need,
 * and two engine contexts: one here, one in card memory with the handles that
 * kernels use. All of it ends with the communicator.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "hccl_internal.h"
#include "ops.h"

#define TAG     "operators of hccl/hccl.h"
#define ENGINE  COMM_ENGINE_AICPU_TS

/* Two threads of a program may make the same communicator's state. */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static uint64_t thread_at(uint32_t i)
{
    return offsetof(a350_ops_ctx, handle) + i * sizeof(uint64_t);
}

static uint64_t channel_at(const ops_state *st, uint32_t peer)
{
    return thread_at(st->ranks + peer);
}

/* The card's context. Its table has room for a thread for each rank. */
static HcclResult make_ctx(HcclComm comm, ops_state *st)
{
    a350_ops_ctx head = { A350_OPS_CTX_MAGIC, st->rank, st->ranks, st->ranks };
    uint64_t size = channel_at(st, st->ranks);
    a350_ops_ctx *all = calloc(1, size);
    void *addr = NULL;
    HcclResult rc;

    if (!all) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    *all = head;
    rc = HcclThreadAcquire(comm, ENGINE, 1, st->ranks, all->handle);
    if (rc == HCCL_SUCCESS) {
        rc = HcclEngineCtxCreate(comm, TAG, ENGINE, size, &addr);
    }
    if (rc == HCCL_SUCCESS) {
        rc = HcclEngineCtxCopy(comm, ENGINE, TAG, all, size, 0);
    }
    free(all);
    st->ctx = (uintptr_t)addr;
    st->threads = 1;
    return rc;
}

static HcclResult fill(const ops_call *c, ops_state *st)
{
    void *buffer = NULL;
    HcclResult rc;

    st->rank = c->rank;
    st->ranks = c->ranks;
    rc = hcl_exec_seconds(c->comm, &st->wait_s);
    if (rc == HCCL_SUCCESS) {
        rc = HcclGetHcclBuffer(c->comm, &buffer, &st->buffer_size);
    }
    st->buffer = (uintptr_t)buffer;
    st->peer_buffer[st->rank] = st->buffer;
    if (rc == HCCL_SUCCESS) {
        rc = make_ctx(c->comm, st);
    }
    return rc;
}

static ops_state *find(HcclComm comm)
{
    void *p = NULL;
    uint64_t size;

    return HcclEngineCtxGet(comm, TAG, COMM_ENGINE_CPU_TS, &p, &size) ==
           HCCL_SUCCESS ? p : NULL;
}

HcclResult ops_state_get(const ops_call *c, ops_state **out)
{
    uint64_t size = sizeof(ops_state) + c->ranks * sizeof(uint64_t);
    HcclResult rc = HCCL_SUCCESS;
    void *p = NULL;

    if (c->ranks > OPS_RANKS_MAX) {
        return hcl_bad(HCCL_E_NOT_SUPPORT, c->name, "comm", "a communicator "
                       "of at most 128 ranks", "%u ranks", c->ranks);
    }
    pthread_mutex_lock(&making);
    *out = find(c->comm);
    if (!*out) {
        rc = HcclEngineCtxCreate(c->comm, TAG, COMM_ENGINE_CPU_TS, size, &p);
        if (rc == HCCL_SUCCESS) {
            rc = fill(c, p);
            *out = p;
            if (rc != HCCL_SUCCESS) {    /* the next call tries again */
                if ((*out)->ctx) {
                    HcclEngineCtxDestroy(c->comm, TAG, ENGINE);
                }
                HcclEngineCtxDestroy(c->comm, TAG, COMM_ENGINE_CPU_TS);
            }
        }
    }
    pthread_mutex_unlock(&making);
    return rc;
}

static HcclResult describe(const ops_call *c, uint32_t peer,
                           HcclChannelDesc *d)
{
    CommLink *links = NULL, *l;
    uint32_t n = 0;

    TRY(HcclRankGraphGetLinks(c->comm, 0, c->rank, peer, &links, &n));
    for (l = links; l < links + n; l++) {
        if (l->linkAttr.linkProtocol == COMM_PROTOCOL_UB_CTP) {
            TRY(HcclChannelDescInit(d, 1));
            d->remoteRank = peer;
            d->channelProtocol = l->linkAttr.linkProtocol;
            d->notifyNum = OPS_NOTIFIES;
            d->localEndpoint = l->srcEndpointDesc;
            d->remoteEndpoint = l->dstEndpointDesc;
            return HCCL_SUCCESS;
        }
    }
    return hcl_fail(HCCL_E_NOT_FOUND, "EI0003", "%s: no UB_CTP link between "
                    "ranks %u and %u", c->name, c->rank, peer);
}

static HcclResult add_channels(const ops_call *c, ops_state *st,
                               const uint32_t *peer, HcclChannelDesc *desc,
                               uint32_t num)
{
    ChannelHandle handle[OPS_RANKS_MAX];
    void *buffer;
    uint64_t size;
    uint32_t i;

    for (i = 0; i < num; i++) {
        TRY(describe(c, peer[i], &desc[i]));
    }
    TRY(hcl_channels_own(c->comm, desc, num, handle));
    for (i = 0; i < num; i++) {
        TRY(HcclChannelGetHcclBuffer(c->comm, handle[i], &buffer, &size));
        TRY(HcclEngineCtxCopy(c->comm, ENGINE, TAG, &handle[i],
                              sizeof(handle[i]), channel_at(st, peer[i])));
        st->peer_buffer[peer[i]] = (uintptr_t)buffer;
    }
    return HCCL_SUCCESS;
}

static HcclResult need_channels(const ops_call *c, ops_state *st,
                                const bool *peers)
{
    uint32_t list[OPS_RANKS_MAX], num = 0, r;
    HcclChannelDesc *desc;
    HcclResult rc;

    for (r = 0; r < st->ranks; r++) {
        if ((!peers || peers[r]) && !st->peer_buffer[r]) {
            list[num++] = r;
        }
    }
    if (!num) {
        return HCCL_SUCCESS;
    }
    desc = calloc(num, sizeof(*desc));
    if (!desc) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    rc = add_channels(c, st, list, desc, num);
    if (rc != HCCL_SUCCESS) {
        a350_append_error("%s", c->name);
    }
    free(desc);
    return rc;
}

static HcclResult need_threads(const ops_call *c, ops_state *st)
{
    ThreadHandle handle[OPS_RANKS_MAX];

    if (st->threads == st->ranks) {
        return HCCL_SUCCESS;
    }
    TRY(HcclThreadAcquire(c->comm, ENGINE, st->ranks, st->ranks, handle));
    TRY(HcclEngineCtxCopy(c->comm, ENGINE, TAG, handle,
                          st->ranks * sizeof(handle[0]), thread_at(0)));
    st->threads = st->ranks;
    return HCCL_SUCCESS;
}

HcclResult ops_state_need(const ops_call *c, ops_state *st, const bool *peers,
                          bool pairs)
{
    TRY(need_channels(c, st, peers));
    return pairs ? need_threads(c, st) : HCCL_SUCCESS;
}
