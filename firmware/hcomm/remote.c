/*
 * Device side of Hcomm: one-sided operations and notifies of channels.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hcomm-data-plane.md §2.2, §3.5 - §3.7, §3.12, §3.13. A remote
 * operation is WQEs in the channel's jetty and one doorbell on the thread's
 * queue, which retires when the data has arrived.
 */
#include <inttypes.h>
#include <string.h>
#include "hc.h"

int32_t hc_check_notify_idx(const a350_channel_obj *c, uint32_t idx,
                            const char *call)
{
    char name[HC_NAME_LEN];

    if (idx < c->notify_num) {
        return HCCL_SUCCESS;
    }
    hc_log(HC_ERROR, "%s: notify index %u of %s is out of range: it has %u",
           call, idx, hc_channel_name(c, name), c->notify_num);
    return HCCL_E_PARA;
}

/* Thread and channel of a call; HCCL_E_PTR if either is not one. */
static int32_t ends(ThreadHandle thread, ChannelHandle channel, hc_burst *b,
                    const char *call)
{
    b->call = call;
    b->blocks = 0;
    b->last = NULL;
    b->t = hc_queue(thread, call);
    b->c = b->t ? hc_channel(channel, call) : NULL;
    return b->c ? HCCL_SUCCESS : HCCL_E_PTR;
}

static int32_t operands(hc_xfer *x, uint32_t opcode, const void *dst,
                        const void *src, const char *call)
{
    bool write = opcode == A350_UB_WRITE;

    if (!dst || !src) {
        hc_log(HC_ERROR, "%s: %s is null", call, dst ? "src" : "dst");
        return HCCL_E_PTR;
    }
    x->opcode = opcode;
    x->record = false;
    x->reduce = false;
    x->elem = 1;
    x->local = (uintptr_t)(write ? src : dst);
    x->remote = (uintptr_t)(write ? dst : src);
    return HCCL_SUCCESS;
}

/* The last steps of every single operation. */
static int32_t issue(hc_burst *b, hc_xfer *x)
{
    int32_t ret;

    if (x->notify || x->record) {
        ret = hc_check_notify_idx(b->c, x->notify_idx, b->call);
        if (ret != HCCL_SUCCESS) {
            return ret;
        }
    }
    if (!x->record) {
        ret = hc_resolve(b->c, x, b->call);
        if (ret != HCCL_SUCCESS) {
            return ret;
        }
    }
    if (b->c->proto == A350_PROTO_PCIE) {
        return hc_pcie_xfer(b->t, b->c, x, b->call);
    }
    ret = hc_post(b, x, HC_ALONE);
    return ret != HCCL_SUCCESS ? ret : hc_ring(b);
}

static int32_t move(ThreadHandle thread, ChannelHandle channel,
                    uint32_t opcode, void *dst, const void *src, uint64_t len,
                    const uint32_t *notify, const char *call)
{
    hc_burst b;
    hc_xfer x;
    int32_t ret = ends(thread, channel, &b, call);

    if (ret == HCCL_SUCCESS) {
        ret = operands(&x, opcode, dst, src, call);
    }
    if (ret != HCCL_SUCCESS) {
        return ret;
    }
    x.len = len;
    x.notify = notify != NULL;
    x.notify_idx = notify ? *notify : 0;
    return issue(&b, &x);
}

typedef struct reduce_args {
    uint64_t count;
    HcommDataType type;
    HcommReduceOp op;
} reduce_args;

static int32_t reduce(ThreadHandle thread, ChannelHandle channel,
                      uint32_t opcode, void *dst, const void *src,
                      reduce_args r, const uint32_t *notify, const char *call)
{
    hc_burst b;
    hc_xfer x;
    int32_t ret = ends(thread, channel, &b, call);

    if (ret == HCCL_SUCCESS) {
        ret = operands(&x, opcode, dst, src, call);
    }
    if (ret == HCCL_SUCCESS) {
        ret = hc_reduce_types(&x, r.type, r.op, r.count,
                              b.c->proto == A350_PROTO_UB, call);
    }
    if (ret != HCCL_SUCCESS) {
        return ret;
    }
    x.notify = notify != NULL;
    x.notify_idx = notify ? *notify : 0;
    return issue(&b, &x);
}

HC_API int32_t HcommWriteOnThread(ThreadHandle thread, ChannelHandle channel,
                                  void *dst, const void *src, uint64_t len)
{
    return move(thread, channel, A350_UB_WRITE, dst, src, len, NULL, __func__);
}

HC_API int32_t HcommReadOnThread(ThreadHandle thread, ChannelHandle channel,
                                 void *dst, const void *src, uint64_t len)
{
    return move(thread, channel, A350_UB_READ, dst, src, len, NULL, __func__);
}

HC_API int32_t HcommWriteWithNotifyOnThread(ThreadHandle thread,
                                            ChannelHandle channel, void *dst,
                                            const void *src, uint64_t len,
                                            uint32_t remoteNotifyIdx)
{
    return move(thread, channel, A350_UB_WRITE, dst, src, len,
                &remoteNotifyIdx, __func__);
}

HC_API int32_t HcommWriteReduceOnThread(ThreadHandle thread,
                                        ChannelHandle channel, void *dst,
                                        const void *src, uint64_t count,
                                        HcommDataType dataType,
                                        HcommReduceOp reduceOp)
{
    reduce_args r = { count, dataType, reduceOp };

    return reduce(thread, channel, A350_UB_WRITE, dst, src, r, NULL, __func__);
}

HC_API int32_t HcommReadReduceOnThread(ThreadHandle thread,
                                       ChannelHandle channel, void *dst,
                                       const void *src, uint64_t count,
                                       HcommDataType dataType,
                                       HcommReduceOp reduceOp)
{
    reduce_args r = { count, dataType, reduceOp };

    return reduce(thread, channel, A350_UB_READ, dst, src, r, NULL, __func__);
}

HC_API int32_t HcommWriteReduceWithNotifyOnThread(
    ThreadHandle thread, ChannelHandle channel, void *dst, const void *src,
    uint64_t count, HcommDataType dataType, HcommReduceOp reduceOp,
    uint32_t remoteNotifyIdx)
{
    reduce_args r = { count, dataType, reduceOp };

    return reduce(thread, channel, A350_UB_WRITE, dst, src, r,
                  &remoteNotifyIdx, __func__);
}

HC_API int32_t HcommChannelNotifyRecordOnThread(ThreadHandle thread,
                                                ChannelHandle channel,
                                                uint32_t remoteNotifyIdx)
{
    hc_xfer x = { .record = true, .notify_idx = remoteNotifyIdx };
    hc_burst b;
    int32_t ret = ends(thread, channel, &b, __func__);

    return ret != HCCL_SUCCESS ? ret : issue(&b, &x);
}

static int32_t channel_wait(ThreadHandle thread, ChannelHandle channel,
                            uint32_t idx, uint32_t timeout, const char *call)
{
    a350_sqe sqe HC_ALIGNED;
    hc_burst b;
    int32_t ret = ends(thread, channel, &b, call);

    if (ret == HCCL_SUCCESS) {
        ret = hc_check_notify_idx(b.c, idx, call);
    }
    if (ret != HCCL_SUCCESS) {
        return ret;
    }
    a350_sqe_notify_wait(&sqe, 0, b.c->local_notify[idx], timeout);
    return hc_push(b.t, &sqe, call);
}

HC_API int32_t HcommChannelNotifyWaitOnThread(ThreadHandle thread,
                                              ChannelHandle channel,
                                              uint32_t localNotifyIdx,
                                              uint32_t timeOut)
{
    return channel_wait(thread, channel, localNotifyIdx, timeOut, __func__);
}

HC_API int32_t HcommChannelNotifyWaitOnThreadWithDefaultTimeout(
    ThreadHandle thread, ChannelHandle channel, uint32_t localNotifyIdx)
{
    return channel_wait(thread, channel, localNotifyIdx,
                        hc_self()->notify_timeout, __func__);
}

/* Queues nothing: the channel's next data operation is fenced, §3.6. */
HC_API int32_t HcommChannelFenceOnThread(ThreadHandle thread,
                                         ChannelHandle channel)
{
    hc_burst b;
    int32_t ret = ends(thread, channel, &b, __func__);

    if (ret == HCCL_SUCCESS && b.c->proto == A350_PROTO_UB) {
        __atomic_store_n(&b.c->fence, 1, __ATOMIC_RELAXED);
    }
    return ret;
}

/*
 * Reads 8 bytes {1, 0} of the peer into a private notify, behind everything
 * earlier, and lets the thread wait for it: §3.6. On PCIe the thread's order
 * is all there is to drain.
 */
HC_API int32_t HcommChannelDrainOnThread(ThreadHandle thread,
                                         ChannelHandle channel)
{
    hc_xfer x = { .opcode = A350_UB_READ, .len = 8 };
    char name[HC_NAME_LEN];
    a350_sqe sqe HC_ALIGNED;
    hc_burst b;
    int32_t ret = ends(thread, channel, &b, __func__);

    if (ret != HCCL_SUCCESS || b.c->proto == A350_PROTO_PCIE) {
        return ret;
    }
    if (b.c->drain_notify >= A350_NOTIFY_MAX || b.c->drain_remote.len < 8) {
        hc_log(HC_WARN, "%s: %s has no drain resources, nothing is queued",
               __func__, hc_channel_name(b.c, name));
        return HCCL_SUCCESS;
    }
    x.local = hc_notify_addr(b.c->drain_notify);
    x.remote = b.c->drain_remote.addr;
    x.mem = &b.c->drain_remote;
    ret = hc_local_token(b.c, x.local, 8, __func__, &x.local_token);
    if (ret != HCCL_SUCCESS) {
        return ret;
    }
    __atomic_store_n(&b.c->fence, 1, __ATOMIC_RELAXED);
    ret = hc_post(&b, &x, HC_ALONE);
    if (ret == HCCL_SUCCESS) {
        ret = hc_ring(&b);
    }
    if (ret != HCCL_SUCCESS) {
        return ret;
    }
    a350_sqe_notify_wait(&sqe, 0, b.c->drain_notify,
                         hc_self()->notify_timeout);
    return hc_push(b.t, &sqe, __func__);
}
