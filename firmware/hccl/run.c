/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libhccl_ops_kernel.so: queues the tasks of an operator that libhccl.so has
 * planned (hw/atlas350/hccl_ops.h). It ends when all are queued, long before
 * they have run: a core never waits for another rank.
 */
#include <stdbool.h>
#include <stddef.h>
#include "hccl/hccl_types.h"
#include "hcomm/hcomm_primitives.h"
#include "hw/atlas350/hccl_ops.h"

#define API __attribute__((visibility("default")))
#define TAG "hccl"

typedef struct call {
    const a350_ops_ctx *ctx;
    uint32_t wait_s;
} call;

static void *at(uint64_t addr)
{
    return (void *)(uintptr_t)addr;
}

static uint64_t thread_of(const call *c, uint32_t i)
{
    return c->ctx->handle[i];
}

static uint64_t channel_of(const call *c, uint32_t peer)
{
    return c->ctx->handle[c->ctx->threads + peer];
}

static bool with_channel(uint8_t kind)
{
    return kind == A350_OPS_READ || kind == A350_OPS_READ_REDUCE ||
           kind == A350_OPS_RECORD || kind == A350_OPS_WAIT;
}

static bool in_range(const call *c, const a350_ops_task *t)
{
    return t->thread < c->ctx->threads &&
           (!with_channel(t->kind) || t->peer < c->ctx->ranks) &&
           (t->kind != A350_OPS_SIGNAL || t->peer < c->ctx->threads);
}

static int32_t one(const call *c, const a350_ops_task *t)
{
    uint64_t th = thread_of(c, t->thread);
    HcommDataType type = (HcommDataType)t->type;
    HcommReduceOp op = (HcommReduceOp)t->op;

    switch (t->kind) {
    case A350_OPS_COPY:
        return HcommLocalCopyOnThread(th, at(t->dst), at(t->src), t->len);
    case A350_OPS_REDUCE_TO:
        return HcommLocalReduceOnThread(th, at(t->dst), at(t->src), t->len,
                                        type, op);
    case A350_OPS_READ:
        return HcommReadOnThread(th, channel_of(c, t->peer), at(t->dst),
                                 at(t->src), t->len);
    case A350_OPS_READ_REDUCE:
        return HcommReadReduceOnThread(th, channel_of(c, t->peer), at(t->dst),
                                       at(t->src), t->len, type, op);
    case A350_OPS_RECORD:
        return HcommChannelNotifyRecordOnThread(th, channel_of(c, t->peer),
                                                t->index);
    case A350_OPS_WAIT:
        return HcommChannelNotifyWaitOnThread(th, channel_of(c, t->peer),
                                              t->index, c->wait_s);
    case A350_OPS_SIGNAL:
        return HcommThreadNotifyRecordOnThread(th, thread_of(c, t->peer),
                                               t->index);
    case A350_OPS_AWAIT:
        return HcommThreadNotifyWaitOnThread(th, t->index, c->wait_s);
    default:
        return HCCL_E_PARA;
    }
}

static int32_t queue(const a350_ops_run *r)
{
    call c = { at(r->ctx), r->wait_s };
    int32_t rc = HCCL_SUCCESS;
    uint32_t i;

    if (!c.ctx || c.ctx->magic != A350_OPS_CTX_MAGIC) {
        return HCCL_E_PTR;
    }
    for (i = 0; i < r->num && rc == HCCL_SUCCESS; i++) {
        rc = in_range(&c, &r->task[i]) ? one(&c, &r->task[i]) : HCCL_E_PARA;
    }
    if (rc == HCCL_SUCCESS) {
        rc = HcommThreadNotifyRecordOnThread(thread_of(&c, 0), r->host, 0);
    }
    return rc;
}

API unsigned int HcclRunTasks(const a350_ops_run *r);
API unsigned int HcclRunTasks(const a350_ops_run *r)
{
    int32_t rc = HcommBatchModeStart(TAG), end;

    if (rc != HCCL_SUCCESS) {
        return (unsigned int)rc;
    }
    rc = queue(r);
    /* Also after an error: what is queued must not stay behind. */
    end = HcommBatchModeEnd(TAG);
    return (unsigned int)(rc != HCCL_SUCCESS ? rc : end);
}
