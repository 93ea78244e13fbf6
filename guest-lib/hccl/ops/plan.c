/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tasks of which operators are made.
 */
#include <string.h>
#include "ops.h"

uint32_t ops_type_size(HcclDataType type)
{
    static const uint8_t size[] = {
        [HCCL_DATA_TYPE_INT8] = 1, [HCCL_DATA_TYPE_UINT8] = 1,
        [HCCL_DATA_TYPE_INT16] = 2, [HCCL_DATA_TYPE_UINT16] = 2,
        [HCCL_DATA_TYPE_INT32] = 4, [HCCL_DATA_TYPE_UINT32] = 4,
        [HCCL_DATA_TYPE_INT64] = 8, [HCCL_DATA_TYPE_UINT64] = 8,
        [HCCL_DATA_TYPE_FP16] = 2, [HCCL_DATA_TYPE_FP32] = 4,
        [HCCL_DATA_TYPE_FP64] = 8, [HCCL_DATA_TYPE_BFP16] = 2,
        [HCCL_DATA_TYPE_HIF8] = 1, [HCCL_DATA_TYPE_FP8E4M3] = 1,
        [HCCL_DATA_TYPE_FP8E5M2] = 1, [HCCL_DATA_TYPE_FP8E8M0] = 1,
    };

    return (uint32_t)type < sizeof(size) ? size[type] : 0;
}

bool ops_card_reduces(HcclDataType type, HcclReduceOp op)
{
    switch (type) {
    case HCCL_DATA_TYPE_INT8:
    case HCCL_DATA_TYPE_INT16:
    case HCCL_DATA_TYPE_INT32:
    case HCCL_DATA_TYPE_FP16:
    case HCCL_DATA_TYPE_FP32:
    case HCCL_DATA_TYPE_BFP16:
        return op != HCCL_REDUCE_PROD;
    default:
        return false;
    }
}

/* Smaller pieces are moved out of the buffer while caches hold them. */
#define CHUNK_MAX       (64ull << 20)

uint64_t ops_chunk(uint64_t room)
{
    return (room < CHUNK_MAX ? room : CHUNK_MAX) / OPS_ALIGN * OPS_ALIGN;
}

void ops_plan_start(ops_plan *p, const ops_view *v, const ops_sink *sink)
{
    p->v = *v;
    p->sink = *sink;
    p->rc = HCCL_SUCCESS;
    memset(&p->run, 0, sizeof(p->run));
}

static void launch(ops_plan *p)
{
    if (p->run.num && p->rc == HCCL_SUCCESS) {
        p->rc = p->sink.run(p->sink.opaque, &p->run);
    }
    p->run.num = 0;
}

HcclResult ops_plan_end(ops_plan *p)
{
    launch(p);
    return p->rc;
}

static void add(ops_plan *p, a350_ops_task t)
{
    if (p->run.num == A350_OPS_TASKS_MAX) {
        launch(p);
    }
    p->run.task[p->run.num++] = t;
}

/* Copies of neighbours become one: parts of an input that lies in one piece. */
static bool extend(ops_plan *p, uint32_t thread, uint64_t dst, uint64_t src,
                   uint64_t len)
{
    a350_ops_task *last = p->run.num ? &p->run.task[p->run.num - 1] : NULL;

    if (!last || last->kind != A350_OPS_COPY || last->thread != thread ||
        last->dst + last->len != dst || last->src + last->len != src) {
        return false;
    }
    last->len += len;
    return true;
}

void ops_copy(ops_plan *p, uint32_t thread, uint64_t dst, uint64_t src,
              uint64_t len)
{
    if (len && dst != src && !extend(p, thread, dst, src, len)) {
        add(p, (a350_ops_task){ .kind = A350_OPS_COPY,
                                .thread = (uint16_t)thread, .dst = dst,
                                .src = src, .len = len });
    }
}

void ops_read(ops_plan *p, uint32_t thread, uint32_t peer, uint64_t dst,
              uint64_t src, uint64_t len)
{
    if (len) {
        add(p, (a350_ops_task){ .kind = A350_OPS_READ,
                                .thread = (uint16_t)thread,
                                .peer = (uint16_t)peer, .dst = dst,
                                .src = src, .len = len });
    }
}

void ops_record(ops_plan *p, uint32_t thread, uint32_t peer, uint32_t index)
{
    add(p, (a350_ops_task){ .kind = A350_OPS_RECORD,
                            .thread = (uint16_t)thread,
                            .peer = (uint16_t)peer,
                            .index = (uint8_t)index });
}

void ops_wait(ops_plan *p, uint32_t thread, uint32_t peer, uint32_t index)
{
    add(p, (a350_ops_task){ .kind = A350_OPS_WAIT,
                            .thread = (uint16_t)thread,
                            .peer = (uint16_t)peer,
                            .index = (uint8_t)index });
}

void ops_combine(ops_plan *p, const ops_reducer *r, uint32_t peer,
                 uint64_t dst, uint64_t src, uint64_t count)
{
    if (count) {
        add(p, (a350_ops_task){ .kind = peer == p->v.rank
                                ? A350_OPS_REDUCE_TO : A350_OPS_READ_REDUCE,
                                .peer = (uint16_t)peer,
                                .type = (uint8_t)r->type,
                                .op = (uint8_t)r->op, .dst = dst, .src = src,
                                .len = count });
    }
}

void ops_compute(ops_plan *p, const ops_reducer *r, uint64_t dst,
                 const uint64_t *src, uint32_t num, uint64_t count)
{
    union {
        a350_ops_reduce a;
        uint64_t room[sizeof(a350_ops_reduce) / 8 + OPS_RANKS_MAX];
    } u;

    launch(p);
    if (!count || p->rc != HCCL_SUCCESS) {
        return;
    }
    u.a = (a350_ops_reduce){ .dst = dst, .count = count,
                             .type = (uint32_t)r->type,
                             .op = (uint32_t)r->op, .num = num };
    memcpy(u.a.src, src, num * sizeof(*src));
    p->rc = p->sink.reduce(p->sink.opaque, &u.a);
}

/* Thread i waits for its notify 0, thread 0 for its notify i. */
void ops_fork(ops_plan *p, uint32_t n)
{
    uint32_t i;

    for (i = 1; i <= n; i++) {
        add(p, (a350_ops_task){ .kind = A350_OPS_SIGNAL,
                                .peer = (uint16_t)i });
        add(p, (a350_ops_task){ .kind = A350_OPS_AWAIT,
                                .thread = (uint16_t)i });
    }
}

void ops_join(ops_plan *p, uint32_t n)
{
    uint32_t i;

    for (i = 1; i <= n; i++) {
        add(p, (a350_ops_task){ .kind = A350_OPS_SIGNAL,
                                .thread = (uint16_t)i,
                                .index = (uint8_t)i });
    }
    for (i = 1; i <= n; i++) {
        add(p, (a350_ops_task){ .kind = A350_OPS_AWAIT,
                                .index = (uint8_t)i });
    }
}
