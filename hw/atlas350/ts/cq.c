/*
 * Atlas 350 virtual card: completion queues and their interrupts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * spec/hw/task-queues.md §4 (layout, "reading relied on") and §1 (interrupt
 * window, host side). A CQE is written before the tail moves, its phase bit
 * last of all.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "priv.h"
#include "../trace.h"

/* ---- interrupts ---- */

/* One MSI-X until software has acknowledged: what comes meanwhile merges. */
static void irq_update(A350Ts *ts, unsigned g)
{
    CqIntGroup *grp = &ts->group[g];
    bool any = grp->l2[0] | grp->l2[1] | grp->l2[2] | grp->l2[3];

    if (!any || grp->mask || grp->status) {
        return;
    }
    grp->status = 1;
    ts->irq_sent++;
    ts->card->msix(ts->card, A350_MSIX_CQ_FIRST + g);
}

void ts_irq(A350Ts *ts, uint32_t cq)
{
    unsigned g = cq / A350_CQS_PER_GROUP, n = cq % A350_CQS_PER_GROUP;

    if (!ts->cq[cq].irq) {
        return;
    }
    QEMU_LOCK_GUARD(&ts->irq_lock);
    ts->group[g].l2[n / 32] |= 1u << (n % 32);
    if (ts->group[g].mask || ts->group[g].status) {
        ts->irq_merged++;
    }
    irq_update(ts, g);
}

static uint32_t irq_mid(const CqIntGroup *grp)
{
    uint32_t mid = 0;
    unsigned m;

    for (m = 0; m < ARRAY_SIZE(grp->l2); m++) {
        mid |= grp->l2[m] ? 1u << m : 0;
    }
    return mid;
}

uint32_t a350_ts_cqint_read(A350Card *c, uint32_t offset)
{
    A350Ts *ts = c->ts;
    CqIntGroup *grp = &ts->group[offset / A350_CQINT_GROUP_STRIDE];
    uint32_t reg = offset % A350_CQINT_GROUP_STRIDE;

    QEMU_LOCK_GUARD(&ts->irq_lock);
    switch (reg) {
    case A350_CQINT_L1_STATUS:
        return grp->status;
    case A350_CQINT_L1_MASK:
        return grp->mask;
    case A350_CQINT_MID_STATUS:
        return irq_mid(grp);
    case A350_CQINT_L2_STATUS ... A350_CQINT_L2_STATUS + 12:
    case A350_CQINT_L2_CTRL ... A350_CQINT_L2_CTRL + 12:
        return reg & 3 ? 0 : grp->l2[(reg & 0xf) / 4];
    default:
        return 0;
    }
}

void a350_ts_cqint_write(A350Card *c, uint32_t offset, uint32_t val)
{
    A350Ts *ts = c->ts;
    unsigned g = offset / A350_CQINT_GROUP_STRIDE;
    CqIntGroup *grp = &ts->group[g];
    uint32_t reg = offset % A350_CQINT_GROUP_STRIDE;

    QEMU_LOCK_GUARD(&ts->irq_lock);
    switch (reg) {
    case A350_CQINT_L1_CTRL:
        if (val & 1) {
            grp->status = 0;
            irq_update(ts, g);
        }
        break;
    case A350_CQINT_L1_MASK:
        grp->mask = val & 1;
        irq_update(ts, g);
        break;
    case A350_CQINT_L2_CTRL ... A350_CQINT_L2_CTRL + 12:
        if (reg & 3) {
            break;
        }
        grp->l2[(reg & 0xf) / 4] &= ~val;
        break;
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "atlas350 %u: CQ interrupt register "
                      "0x%x is read-only\n", c->index, offset);
    }
}

/* ---- completion entries ---- */

static void cqe_fill(A350Sq *sq, A350Cq *cq, uint32_t head,
                     const TaskError *err, a350_cqe *e)
{
    uint32_t type = a350_sqe_get_type(&sq->sqe);
    uint32_t task = a350_sqe_get_task(&sq->sqe);
    uint32_t sub = sq->sqe.w[3] & 0xffff;
    uint64_t now;

    memset(e, 0, sizeof(*e));
    e->h0 = cq->phase | sq->id << A350_CQE_SQ_SHIFT;
    e->sq_head = head;
    e->stream_id = task;
    e->task_id = task >> 16;
    if (err) {
        e->h0 |= A350_CQE_ERROR;
        e->error_bits = err->bits;
        e->flags_type = err->sqe_type << 2;
        e->sqe_index = sq->head;
        e->status = err->status;
        memcpy(&e->ub_status0, err->ub, 4);
        return;
    }
    if (type == A350_SQE_PLACE_HOLDER) {
        e->h0 |= A350_CQE_PLACE_HOLD;
    } else if (type == A350_SQE_NOTIFY_RECORD &&
               (sub == A350_NSUB_EVENT_RECORD ||
                sub == A350_NSUB_EVENT_RECORD_COUNT)) {
        e->h0 |= A350_CQE_EVT;
    } else {
        e->flags_type = type << 2;
        e->sqe_index = sq->head;
        return;
    }
    now = a350_clock_ns();
    e->ts_low = now;
    e->ts_high = now >> 32;
}

/* The phase bit last: who polls it finds the rest. */
static bool cqe_store(A350Card *c, A350Cq *cq, uint32_t slot,
                      const a350_cqe *e)
{
    uint64_t offset = (uint64_t)slot * A350_CQE_SIZE;
    uint32_t first;

    memcpy(&first, e, sizeof(first));
    if (cq->ring) {
        memcpy(cq->ring + offset + 4, (const uint8_t *)e + 4, sizeof(*e) - 4);
        qatomic_store_release((uint32_t *)(cq->ring + offset), first);
        return true;
    }
    if (c->host_write(c, cq->base + offset + 4, (const uint8_t *)e + 4,
                      sizeof(*e) - 4, false) != MEMTX_OK) {
        return false;
    }
    /* Phase last. */
    smp_wmb();
    return c->host_write(c, cq->base + offset, &first, 4, false) == MEMTX_OK;
}

bool ts_cqe(A350Sq *sq, uint32_t head, const TaskError *err)
{
    A350Ts *ts = sq->ts;
    uint32_t tail, next;
    a350_cqe e;
    A350Cq *cq;

    if (sq->cq_id == A350_ID_NONE) {
        return true;
    }
    cq = &ts->cq[sq->cq_id];
    tail = cq->tail;
    next = tail + 1 == cq->depth ? 0 : tail + 1;
    if (next == qatomic_load_acquire(&cq->head)) {
        trace_atlas350_cq_full(ts->card->index, sq->cq_id, sq->id);
        return false;
    }
    cqe_fill(sq, cq, head, err, &e);
    trace_atlas350_cqe(ts->card->index, sq->cq_id, tail, e.h0, e.sq_head,
                       a350_sqe_get_task(&sq->sqe));
    if (!cqe_store(ts->card, cq, tail, &e)) {
        a350_log(ts->card, "completion queue %u: its memory at 0x%" PRIx64
                 " cannot be written; the completion of task %u of queue %u "
                 "is lost", sq->cq_id, cq->base, a350_sqe_get_task(&sq->sqe),
                 sq->id);
        return true;
    }
    if (next == 0) {
        cq->phase ^= 1;
    }
    qatomic_store_release(&cq->tail, next);
    ts_irq(ts, sq->cq_id);
    return true;
}

void ts_cq_reset(A350Ts *ts)
{
    uint32_t i;

    for (i = 0; i < ts->card->num_sq; i++) {
        qatomic_set(&ts->cq[i].exists, false);
        ts->cq[i].users = 0;
        ts->cq[i].irq = false;
        qatomic_set(&ts->cq[i].head, 0);
        qatomic_set(&ts->cq[i].tail, 0);
    }
    QEMU_LOCK_GUARD(&ts->irq_lock);
    memset(ts->group, 0, sizeof(ts->group));
    ts->irq_sent = ts->irq_merged = 0;
}
