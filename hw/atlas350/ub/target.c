/*
 * Atlas 350 virtual card: the target side of UB, for cards of one process.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A request is checked against the segments of the card it addresses, payload
 * and notification both before anything is written. The data is moved by the
 * initiator's mover straight between the two memories. The segments stay
 * pinned until then: they cannot be unregistered, and a card that is reset or
 * goes away first drops the requests that use them.
 */
#include "qemu/osdep.h"
#include "block/aio.h"
#include "exec/memattrs.h"
#include "qemu/atomic.h"
#include "qemu/queue.h"
#include "ub-int.h"
#include "../mem.h"

static bool refuse(A350UbReq *q, uint8_t status, uint8_t sub,
                   const char *reason, uint64_t addr, uint64_t len)
{
    q->status = status;
    q->sub_status = sub;
    q->reason = reason;
    q->error_addr = addr;
    q->error_len = len;
    return false;
}

static bool refuse_access(A350UbReq *q, const char *reason, uint64_t addr,
                          uint64_t len)
{
    return refuse(q, A350_UB_ERR_REMOTE, A350_UB_SUB_REMOTE_ABORT, reason,
                  addr, len);
}

static bool refuse_unsupported(A350UbReq *q, const char *reason,
                               uint64_t addr, uint64_t len)
{
    return refuse(q, A350_UB_ERR_REMOTE, A350_UB_SUB_REMOTE_UNSUP, reason,
                  addr, len);
}

static bool is_reduce(const A350UbReq *q)
{
    return q->opcode & A350_SDMA_OP_MASK;
}

static void unpin(A350UbReq *q)
{
    a350_seg_unpin(q->target->ub, q->pinned[0]);
    a350_seg_unpin(q->target->ub, q->pinned[1]);
    q->pinned[0] = q->pinned[1] = -1;
}

static bool check_payload(A350UbReq *q, A350Card *target)
{
    uint32_t access = q->read ? A350_SEG_READ : A350_SEG_WRITE;
    const char *reason;
    A350Span s;

    if (q->len == 0) {
        return true;             /* touches nothing */
    }
    if (!q->token_enable) {
        return refuse_access(q, "work request carries no token", q->remote,
                             q->len);
    }
    if (is_reduce(q) && !q->read) {
        access |= A350_SEG_ATOMIC;
    }
    q->pinned[0] = a350_seg_pin(target->ub, q->token_id, &q->token_value,
                                q->remote, q->len, access, &reason);
    if (q->pinned[0] < 0) {
        return refuse_access(q, reason, q->remote, q->len);
    }
    /* The segment is memory of the target; a register takes a word only. */
    if (!a350_span_open(target, q->remote, q->len, &s)) {
        return refuse_unsupported(q, "a notify register is accessed by 4 or "
                                  "8 aligned bytes", q->remote, q->len);
    }
    if (s.kind == A350_SPAN_REG && is_reduce(q)) {
        return refuse_unsupported(q, "reduction into a register", q->remote,
                                  q->len);
    }
    return true;
}

static bool check_notify(A350UbReq *q, A350Card *target)
{
    const char *reason;

    if (!q->notify) {
        return true;
    }
    if (q->notify_addr % 8) {
        return refuse_unsupported(q, "notify address is not a multiple of 8",
                                  q->notify_addr, 8);
    }
    q->pinned[1] = a350_seg_pin(target->ub, q->notify_token_id,
                                &q->notify_token_value, q->notify_addr, 8,
                                A350_SEG_WRITE, &reason);
    if (q->pinned[1] < 0) {
        return refuse_access(q, reason, q->notify_addr, 8);
    }
    return true;
}

/* The payload is there: now the notification, then the answer. */
static void finish(A350UbReq *q)
{
    uint64_t data = cpu_to_le64(q->notify_data);

    if (q->status == A350_UB_OK && q->notify &&
        !a350_bus_write(q->target, q->notify_addr, &data, sizeof(data))) {
        refuse_unsupported(q, "there is no such notify register",
                           q->notify_addr, sizeof(data));
    }
    unpin(q);
    q->finished = true;
    q->done(q);
}

static void moved(A350Move *m, uint32_t status)
{
    A350UbReq *q = m->opaque;
    uint64_t at = m->error_addr;

    if (status == A350_SDMA_ST_LINK) {
        refuse(q, A350_UB_ERR_ACK_TIMEOUT, 0, "the peer card was reset or "
               "removed during the transfer", q->remote, q->len);
    } else if (status && at >= q->remote && at - q->remote < q->len) {
        refuse_unsupported(q, "the target's memory or register refused the "
                           "access", at, q->len);
    } else if (status) {
        refuse(q, A350_UB_ERR_LOCAL, A350_UB_SUB_LOCAL_ACCESS, "local memory "
               "or register refused the access", at, q->len);
    }
    finish(q);
}

static void transfer(A350UbReq *q)
{
    A350Move *m = &q->move;

    if (q->inline_len) {
        if (!a350_bus_write(q->target, q->remote, q->inline_data,
                            q->inline_len)) {
            refuse_unsupported(q, "the target's memory or register refused "
                               "the access", q->remote, q->len);
        }
        finish(q);
        return;
    }
    m->opcode = q->opcode;
    m->ub = true;
    m->bulk = q->bulk;
    m->bf16_sat = q->bf16_sat;
    m->len = q->len;
    m->dst = q->read ? q->local : q->remote;
    m->src = q->read ? q->remote : q->local;
    m->dst_card = q->read ? q->card : q->target;
    m->src_card = q->read ? q->target : q->card;
    m->pos = q->start;
    m->done = moved;
    m->opaque = q;
    a350_mover_submit(q->card, m);
}

static void local_request(A350Fabric *f, A350UbReq *q)
{
    uint32_t index = a350_eid_card(q->eid);
    A350Card *target = a350_fabric_get(f, index);

    q->status = A350_UB_OK;
    q->sub_status = 0;
    q->reason = NULL;
    q->pinned[0] = q->pinned[1] = -1;
    q->finished = false;
    q->peer = target ? index : A350_ID_NONE;
    if (!target || memcmp(target->eid, q->eid, A350_EID_LEN)) {
        refuse(q, A350_UB_ERR_ACK_TIMEOUT, 0, "no card of the fabric has the "
               "remote end point address", q->remote, q->len);
        q->finished = true;
        q->done(q);
    } else {
        q->target = target;
        if (check_payload(q, target) && check_notify(q, target)) {
            /* From here on @q may be gone, but the slot is still held. */
            transfer(q);
        } else {
            unpin(q);
            q->finished = true;
            q->done(q);
        }
    }
    if (target) {
        a350_fabric_put(f, index);
    }
}

static bool local_cancel(A350Fabric *f, A350UbReq *q)
{
    if (a350_mover_cancel(q->card, &q->move) || !q->finished) {
        /* Taken back here, or dropped by a reset of the mover before. */
        unpin(q);
        q->finished = true;
        return true;
    }
    return false;
}

static uint64_t local_position(A350Fabric *f, A350UbReq *q)
{
    return q->move.pos;
}

const A350FabricOps a350_fabric_local_ops = {
    .request = local_request,
    .cancel = local_cancel,
    .position = local_position,
};

void a350_fabric_drop_inbound(A350Card *c)
{
    A350Fabric *f = c->fabric;
    A350Card *other;
    uint32_t i;

    for (i = 0; f && i < A350_CARDS_MAX; i++) {
        other = i == c->index ? NULL : a350_fabric_get(f, i);
        if (other) {
            a350_mover_drop_peer(other, c);
            a350_fabric_put(f, i);
        }
    }
}
