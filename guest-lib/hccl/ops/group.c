/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Point to point: a list of sends and receives that goes on side by side.
 * Between HcclGroupStart and HcclGroupEnd, sends and receives are collected;
 * those of one communicator and stream become one such list.
 */
#include <stdlib.h>
#include <string.h>
#include "hccl_internal.h"
#include "ops.h"

/* ---- lists ---- */

/* Messages by peer and direction, in the order of the list. */
typedef struct lists {
    ops_message *msg;
    ops_exchange x;
} lists;

static void list_plan(ops_plan *p, const void *arg)
{
    ops_exchange_plan(p, &((const lists *)arg)->x);
}

/* Messages of the peer @r; returns the place behind them. */
static ops_message *sort(const HcclSendRecvItem *item, uint32_t num,
                         uint32_t r, HcclSendRecvType type, ops_message *at,
                         ops_flow *flow)
{
    uint32_t i;

    flow->msg = at;
    for (i = 0; i < num; i++) {
        if (item[i].remoteRank == r && item[i].sendRecvType == type) {
            *at++ = (ops_message){ (uintptr_t)item[i].buf, item[i].count *
                                   ops_type_size(item[i].dataType) };
        }
    }
    flow->num = (uint32_t)(at - flow->msg);
    return at;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = ((const ops_message *)a)->len;
    uint64_t y = ((const ops_message *)b)->len;

    return x < y ? -1 : x > y;
}

/* What a rank sends itself: pairs of equal size, smallest first. */
static HcclResult to_self(const ops_call *c, const HcclSendRecvItem *item,
                          uint32_t num, ops_message *at)
{
    ops_flow s, r;
    ops_message *out = at, *in;
    uint32_t i;

    in = sort(item, num, c->rank, HCCL_SEND, out, &s);
    sort(item, num, c->rank, HCCL_RECV, in, &r);
    qsort(out, s.num, sizeof(*out), by_size);
    qsort(in, r.num, sizeof(*in), by_size);
    for (i = 0; i < s.num || i < r.num; i++) {
        if (i >= s.num || i >= r.num || out[i].len != in[i].len) {
            return hcl_bad(HCCL_E_PARA, c->name, "sendRecvInfo", "a receive "
                           "of the same size for each send to this rank "
                           "itself", "%u sends, %u receives; pair %u differs",
                           s.num, r.num, i);
        }
    }
    for (i = 0; i < s.num; i++) {
        TRY(ops_copy_here(c, (void *)(uintptr_t)in[i].addr,
                          (void *)(uintptr_t)out[i].addr, in[i].len));
    }
    return HCCL_SUCCESS;
}

/* The messages of the others; how many ranks they are. */
static uint32_t to_others(const ops_call *c, const HcclSendRecvItem *item,
                          uint32_t num, lists *l, bool *peers)
{
    ops_message *at = l->msg;
    uint32_t r, n = 0;

    for (r = 0; r < c->ranks; r++) {
        if (r != c->rank) {
            at = sort(item, num, r, HCCL_SEND, at, &l->x.send[r]);
            at = sort(item, num, r, HCCL_RECV, at, &l->x.recv[r]);
            peers[r] = l->x.send[r].num + l->x.recv[r].num != 0;
            n += peers[r];
        }
    }
    return n;
}

HcclResult ops_batch(const ops_call *c, const HcclSendRecvItem *item,
                     uint32_t num)
{
    bool peers[OPS_RANKS_MAX] = { false };
    lists *l;
    HcclResult rc;
    uint32_t n;

    if (c->ranks > OPS_RANKS_MAX) {
        return hcl_bad(HCCL_E_NOT_SUPPORT, c->name, "comm", "a communicator "
                       "of at most 128 ranks", "%u ranks", c->ranks);
    }
    l = calloc(1, sizeof(*l));
    if (l) {
        l->msg = calloc(num, sizeof(*l->msg));
    }
    if (!l || !l->msg) {
        free(l);
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    rc = to_self(c, item, num, l->msg);
    if (rc == HCCL_SUCCESS) {
        n = to_others(c, item, num, l, peers);
        l->x.pairs = n > 1;
        if (n) {
            rc = ops_run(c, peers, l->x.pairs, list_plan, l);
        }
    }
    free(l->msg);
    free(l);
    return rc;
}

/* ---- groups ---- */

typedef struct batch {
    struct batch *next;
    ops_call c;
    HcclSendRecvItem *item;
    uint32_t num, room;
} batch;

/* Of this thread's group; those of an earlier group are gone. */
static __thread batch *open_batches;
static __thread uint64_t open_serial;

static HcclResult run_batch(void *arg)
{
    batch *b = arg;
    HcclResult rc = ops_batch(&b->c, b->item, b->num);

    free(b->item);
    free(b);
    return rc;
}

static HcclResult new_batch(const ops_call *c, batch **out)
{
    batch *b = calloc(1, sizeof(*b));
    HcclResult rc;

    if (!b) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    b->c = *c;
    b->c.name = "HcclSend, HcclRecv (in a group)";
    rc = hcl_group_call(run_batch, b);
    if (rc != HCCL_SUCCESS) {
        free(b);
        return rc;
    }
    b->next = open_batches;
    open_batches = b;
    *out = b;
    return HCCL_SUCCESS;
}

HcclResult ops_group_add(const ops_call *c, const HcclSendRecvItem *item)
{
    HcclSendRecvItem *more;
    batch *b;

    if (open_serial != hcl_group_serial()) {
        open_serial = hcl_group_serial();
        open_batches = NULL;
    }
    for (b = open_batches; b; b = b->next) {
        if (b->c.comm == c->comm && b->c.stream == c->stream) {
            break;
        }
    }
    if (!b) {
        TRY(new_batch(c, &b));
    }
    if (b->num == b->room) {
        more = realloc(b->item, (b->room + 16) * sizeof(*more));
        if (!more) {
            return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
        }
        b->item = more;
        b->room += 16;
    }
    b->item[b->num++] = *item;
    return HCCL_SUCCESS;
}
