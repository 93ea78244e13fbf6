/*
 * Device side of Hcomm: HcommBatchTransferOnThread.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hcomm-data-plane.md §3.7: all entries become WQEs in array order
 * and one doorbell; only the last is strongly ordered. Nothing is posted
 * unless every entry is right.
 */
#include <inttypes.h>
#include <string.h>
#include "hc.h"

typedef struct operands {
    void *dst, *src;
    HcommReduceOp op;
    HcommDataType type;
    uint64_t len;                /* bytes, or elements of a reduction */
} operands;

/* Takes an entry apart; HCCL_E_NOT_SUPPORT: no such kind. */
static int32_t split(const HcommBatchTransferDesc *d, hc_xfer *x, operands *o)
{
    memset(x, 0, sizeof(*x));
    memset(o, 0, sizeof(*o));
    x->opcode = A350_UB_WRITE;
    switch (d->transType) {
    case HCOMM_TRANSFER_TYPE_READ:
        x->opcode = A350_UB_READ;
        /* fall through */
    case HCOMM_TRANSFER_TYPE_WRITE:
        o->len = d->transferInfo.write.len;
        break;
    case HCOMM_TRANSFER_TYPE_READ_REDUCE:
        x->opcode = A350_UB_READ;
        /* fall through */
    case HCOMM_TRANSFER_TYPE_WRITE_REDUCE:
        x->reduce = true;
        break;
    case HCOMM_TRANSFER_TYPE_WRITE_WITH_NOTIFY:
        o->len = d->transferInfo.writeWithNotify.len;
        x->notify = true;
        x->notify_idx = d->transferInfo.writeWithNotify.notifyIdx;
        break;
    case HCOMM_TRANSFER_TYPE_WRITE_REDUCE_WITH_NOTIFY:
        x->reduce = true;
        x->notify = true;
        x->notify_idx = d->transferInfo.writeReduceWithNotify.notifyIdx;
        break;
    case HCOMM_TRANSFER_TYPE_NOTIFY_RECORD:
        x->record = true;
        x->notify_idx = d->transferInfo.notifyRecord.notifyIdx;
        return HCCL_SUCCESS;
    default:
        return HCCL_E_NOT_SUPPORT;
    }
    /* dst and src stand at the same place in all of them, and so do count,
       operation and type of the reductions. */
    o->dst = d->transferInfo.write.dst;
    o->src = d->transferInfo.write.src;
    if (x->reduce) {
        o->len = d->transferInfo.reduce.count;
        o->op = d->transferInfo.reduce.reduceOp;
        o->type = d->transferInfo.reduce.dataType;
    }
    return HCCL_SUCCESS;
}

/* Entry @i as an operation, checked. */
static int32_t parse(const hc_burst *b, const HcommBatchTransferDesc *d,
                     uint32_t i, hc_xfer *x)
{
    operands o;
    int32_t ret = split(d, x, &o);

    if (ret != HCCL_SUCCESS) {
        hc_log(HC_ERROR, "%s: entry %u: transfer type %d is not known "
               "(WRITE 0 .. NOTIFY_RECORD 6)", b->call, i, (int)d->transType);
        return ret;
    }
    if (!x->record && (!o.dst || !o.src)) {
        hc_log(HC_ERROR, "%s: entry %u: %s is null", b->call, i,
               o.dst ? "src" : "dst");
        return HCCL_E_PTR;
    }
    if (x->notify || x->record) {
        ret = hc_check_notify_idx(b->c, x->notify_idx, b->call);
    }
    if (ret != HCCL_SUCCESS || x->record) {
        return ret;
    }
    x->local = (uintptr_t)(x->opcode == A350_UB_WRITE ? o.src : o.dst);
    x->remote = (uintptr_t)(x->opcode == A350_UB_WRITE ? o.dst : o.src);
    x->len = o.len;
    if (x->reduce) {
        ret = hc_reduce_types(x, o.type, o.op, o.len,
                              b->c->proto == A350_PROTO_UB, b->call);
        if (ret != HCCL_SUCCESS) {
            return ret;
        }
    }
    return hc_resolve(b->c, x, b->call);
}

/* Checks all entries; @last: the last one that becomes a WQE, or @num. */
static int32_t check_all(const hc_burst *b, const HcommBatchTransferDesc *d,
                         uint32_t num, uint32_t *last)
{
    uint32_t i;
    int32_t ret;
    hc_xfer x;

    *last = num;
    for (i = 0; i < num; i++) {
        ret = parse(b, &d[i], i, &x);
        if (ret != HCCL_SUCCESS) {
            return ret;
        }
        if (x.record || x.notify || x.len) {
            *last = i;
        }
    }
    return HCCL_SUCCESS;
}

HC_API int32_t HcommBatchTransferOnThread(
    ThreadHandle thread, ChannelHandle channel,
    const HcommBatchTransferDesc *transferDescs, uint32_t transferDescNum)
{
    hc_burst b = { .call = __func__ };
    uint32_t i, last;
    int32_t ret;
    hc_xfer x;

    b.t = hc_queue(thread, __func__);
    b.c = b.t ? hc_channel(channel, __func__) : NULL;
    if (!b.c) {
        return HCCL_E_PTR;
    }
    if (!transferDescs) {
        hc_log(HC_ERROR, "%s: transferDescs is null", __func__);
        return HCCL_E_PTR;
    }
    if (transferDescNum == 0) {
        hc_log(HC_ERROR, "%s: transferDescNum is 0", __func__);
        return HCCL_E_PARA;
    }
    ret = check_all(&b, transferDescs, transferDescNum, &last);
    for (i = 0; i < transferDescNum && ret == HCCL_SUCCESS; i++) {
        parse(&b, &transferDescs[i], i, &x);
        ret = b.c->proto == A350_PROTO_PCIE ?
              hc_pcie_xfer(b.t, b.c, &x, __func__) :
              hc_post(&b, &x, i == last ? HC_LAST : HC_INNER);
    }
    if (ret != HCCL_SUCCESS || b.c->proto == A350_PROTO_PCIE) {
        return ret;
    }
    return hc_ring(&b);
}
