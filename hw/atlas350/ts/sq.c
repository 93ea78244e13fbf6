/*
 * Atlas 350 virtual card: submission queues, their registers and commands.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * spec/hw/task-queues.md §1. The register functions may be called by any
 * thread and only store; the commands run on the card's thread.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "priv.h"
#include "../trace.h"

/* ---- helpers ---- */

A350Sq *ts_sq(A350Ts *ts, uint32_t id)
{
    return id < ts->card->num_sq && ts->sq[id].exists ? &ts->sq[id] : NULL;
}

/* Entries between head and tail. */
uint32_t ts_used(const A350Sq *sq)
{
    uint32_t head = qatomic_read(&sq->head);
    uint32_t tail = qatomic_read(&sq->tail);

    return tail >= head ? tail - head : tail + sq->depth - head;
}

/* Takes back whatever the entry in progress has under way. */
void ts_sq_stop_work(A350Sq *sq)
{
    switch (sq->state) {
    case SQ_NOTIFY:
        ts_wait_unlink(sq);
        break;
    case SQ_COPY:
        ts_copy_abandon(sq);
        break;
    case SQ_UB:
        ts_ub_abandon(sq);
        break;
    case SQ_AICPU:
        ts_aicpu_abandon(sq);
        break;
    default:
        break;
    }
    sq->state = SQ_IDLE;
    sq->deadline = TS_NO_DEADLINE;
}

/* As if never created. */
void ts_sq_clear(A350Sq *sq)
{
    qatomic_set(&sq->exists, false);
    qatomic_set(&sq->enabled, false);
    qatomic_set(&sq->tail, 0);
    qatomic_set(&sq->head, 0);
    qatomic_set(&sq->head_req, A350_ID_NONE);
    sq->depth = 0;
    sq->cq_id = A350_ID_NONE;
    sq->flags = 0;
    sq->base = 0;
    sq->ring = NULL;
    sq->paused = false;
    sq->tail_seen = 0;
    sq->stands = false;
    sq->state = SQ_IDLE;
    sq->deadline = TS_NO_DEADLINE;
    sq->completed = 0;
    memset(&sq->err, 0, sizeof(sq->err));
    sq->err_index = sq->err_task = 0;
    memset(&sq->label, 0, sizeof(sq->label));
    sq->label.rank = A350_ID_NONE;
}

static uint32_t adm_fail(char *msg, uint32_t res, const char *fmt, ...)
    G_GNUC_PRINTF(3, 4);

static uint32_t adm_fail(char *msg, uint32_t res, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(msg, A350_ADMIN_MSG_SIZE, fmt, ap);
    va_end(ap);
    return res;
}

static uint32_t adm_no_sq(A350Card *c, uint32_t id, char *msg)
{
    if (id >= c->num_sq) {
        return adm_fail(msg, A350_ADM_E_RANGE, "queue %u is not in 0..%u", id,
                        c->num_sq - 1);
    }
    return adm_fail(msg, A350_ADM_E_NOT_FOUND, "there is no queue %u", id);
}

/* Memory for a ring: this card's HBM or the host's. */
static uint32_t adm_check_ring(A350Card *c, const char *what, uint64_t base,
                               uint64_t size, char *msg)
{
    if (base % 64) {
        return adm_fail(msg, A350_ADM_E_ADDRESS, "%s base 0x%" PRIx64
                        " is not a multiple of 64", what, base);
    }
    if (a350_addr_is_host(base) ? base + size > A350_DEV_FIRST :
        !a350_hbm_ptr(c, base, size)) {
        return adm_fail(msg, A350_ADM_E_ADDRESS, "%s memory 0x%" PRIx64 " + "
                        "0x%" PRIx64 " is neither HBM of this card (0x%"
                        PRIx64 " + 0x%" PRIx64 ") nor host memory", what,
                        base, size, c->dev_base, c->hbm_size);
    }
    return A350_ADM_OK;
}

/* ---- completion queues ---- */

static uint32_t cq_pick(A350Ts *ts, uint32_t *id, char *msg)
{
    uint32_t i;

    if (*id != A350_ID_ANY) {
        if (*id >= ts->card->num_sq) {
            return adm_fail(msg, A350_ADM_E_RANGE, "cq_id %u is not in 0..%u",
                            *id, ts->card->num_sq - 1);
        }
        return ts->cq[*id].exists ?
            adm_fail(msg, A350_ADM_E_EXISTS, "completion queue %u exists",
                     *id) : A350_ADM_OK;
    }
    for (i = 0; i < ts->card->num_sq; i++) {
        if (!ts->cq[i].exists) {
            *id = i;
            return A350_ADM_OK;
        }
    }
    return adm_fail(msg, A350_ADM_E_NO_RESOURCE, "all %u completion queues "
                    "are in use (num-sq)", ts->card->num_sq);
}

uint32_t a350_ts_cq_create(A350Card *c, a350_cq_create *arg, char *msg)
{
    A350Ts *ts = c->ts;
    uint32_t id = arg->cq_id;
    uint32_t res = cq_pick(ts, &id, msg);
    A350Cq *cq;

    if (res) {
        return res;
    }
    if (arg->depth < 2 || arg->depth > A350_SQ_DEPTH_MAX) {
        return adm_fail(msg, A350_ADM_E_RANGE, "CQ depth %u is not in 2..%u",
                        arg->depth, A350_SQ_DEPTH_MAX);
    }
    res = adm_check_ring(c, "CQ", arg->base, arg->depth * A350_CQE_SIZE, msg);
    if (res) {
        return res;
    }
    cq = &ts->cq[id];
    cq->depth = arg->depth;
    cq->base = arg->base;
    cq->ring = a350_hbm_ptr(c, arg->base, arg->depth * A350_CQE_SIZE);
    cq->irq = arg->irq & 1;
    cq->phase = 1;
    cq->users = 0;
    qatomic_set(&cq->head, 0);
    qatomic_set(&cq->tail, 0);
    qatomic_store_release(&cq->exists, true);
    arg->cq_id = id;
    arg->vector = A350_MSIX_CQ_FIRST + id / A350_CQS_PER_GROUP;
    return A350_ADM_OK;
}

uint32_t a350_ts_cq_destroy(A350Card *c, uint32_t id, char *msg)
{
    A350Ts *ts = c->ts;

    if (id >= c->num_sq || !ts->cq[id].exists) {
        return adm_fail(msg, id < c->num_sq ? A350_ADM_E_NOT_FOUND :
                        A350_ADM_E_RANGE, "there is no completion queue %u "
                        "(ids are 0..%u)", id, c->num_sq - 1);
    }
    if (ts->cq[id].users) {
        return adm_fail(msg, A350_ADM_E_BUSY, "completion queue %u serves %u "
                        "queues", id, ts->cq[id].users);
    }
    qatomic_set(&ts->cq[id].exists, false);
    return A350_ADM_OK;
}

/* ---- submission queues ---- */

static uint32_t sq_pick(A350Ts *ts, uint32_t *id, char *msg)
{
    uint32_t i;

    if (*id != A350_ID_ANY) {
        if (*id >= ts->card->num_sq) {
            return adm_fail(msg, A350_ADM_E_RANGE, "sq_id %u is not in 0..%u",
                            *id, ts->card->num_sq - 1);
        }
        return ts->sq[*id].exists ?
            adm_fail(msg, A350_ADM_E_EXISTS, "queue %u exists", *id) :
            A350_ADM_OK;
    }
    for (i = 0; i < ts->card->num_sq; i++) {
        if (!ts->sq[i].exists) {
            *id = i;
            return A350_ADM_OK;
        }
    }
    return adm_fail(msg, A350_ADM_E_NO_RESOURCE, "all %u queues are in use "
                    "(num-sq)", ts->card->num_sq);
}

static uint32_t sq_check(A350Card *c, const a350_sq_create *arg, char *msg)
{
    if (arg->depth < A350_SQ_DEPTH_MIN || arg->depth > A350_SQ_DEPTH_MAX ||
        (arg->depth - 1) % 8) {
        return adm_fail(msg, A350_ADM_E_RANGE, "SQ depth %u is not a multiple "
                        "of 8 plus 1 in %u..%u", arg->depth,
                        A350_SQ_DEPTH_MIN, A350_SQ_DEPTH_MAX);
    }
    if (arg->cq_id != A350_ID_NONE &&
        (arg->cq_id >= c->num_sq || !c->ts->cq[arg->cq_id].exists)) {
        return adm_fail(msg, A350_ADM_E_NOT_FOUND, "there is no completion "
                        "queue %u", arg->cq_id);
    }
    if (arg->flags & ~(A350_SQ_F_DISABLED | A350_SQ_F_CONTINUE)) {
        return adm_fail(msg, A350_ADM_E_RANGE, "SQ flags 0x%x are not in 0..3",
                        arg->flags);
    }
    return adm_check_ring(c, "SQ", arg->base, arg->depth * A350_SQE_SIZE, msg);
}

uint32_t a350_ts_sq_create(A350Card *c, a350_sq_create *arg, char *msg)
{
    A350Ts *ts = c->ts;
    uint32_t id = arg->sq_id;
    uint32_t res = sq_pick(ts, &id, msg);
    A350Sq *sq;

    res = res ?: sq_check(c, arg, msg);
    if (res) {
        return res;
    }
    sq = &ts->sq[id];
    ts_sq_clear(sq);
    sq->depth = arg->depth;
    sq->base = arg->base;
    sq->ring = a350_hbm_ptr(c, arg->base, arg->depth * A350_SQE_SIZE);
    sq->cq_id = arg->cq_id;
    sq->flags = arg->flags;
    if (sq->cq_id != A350_ID_NONE) {
        ts->cq[sq->cq_id].users++;
    }
    ts->top = MAX(ts->top, id + 1);
    qatomic_set(&sq->enabled, !(arg->flags & A350_SQ_F_DISABLED));
    qatomic_store_release(&sq->exists, true);
    arg->sq_id = id;
    trace_atlas350_sq_create(c->index, id, sq->depth, sq->base, sq->cq_id);
    return A350_ADM_OK;
}

uint32_t a350_ts_sq_destroy(A350Card *c, uint32_t id, char *msg)
{
    A350Ts *ts = c->ts;
    A350Sq *sq = ts_sq(ts, id);

    if (!sq) {
        return adm_no_sq(c, id, msg);
    }
    trace_atlas350_sq_destroy(c->index, id);
    qatomic_set(&sq->exists, false);
    ts_sq_stop_work(sq);
    if (sq->cq_id != A350_ID_NONE) {
        ts->cq[sq->cq_id].users--;
    }
    ts_sq_clear(sq);
    while (ts->top && !ts->sq[ts->top - 1].exists) {
        ts->top--;
    }
    return A350_ADM_OK;
}

uint32_t a350_ts_sq_reset(A350Card *c, uint32_t id, char *msg)
{
    A350Sq *sq = ts_sq(c->ts, id);

    if (!sq) {
        return adm_no_sq(c, id, msg);
    }
    trace_atlas350_sq_reset(c->index, id);
    qatomic_set(&sq->enabled, false);
    ts_sq_stop_work(sq);
    qatomic_set(&sq->tail, 0);
    qatomic_set(&sq->head, 0);
    qatomic_set(&sq->head_req, A350_ID_NONE);
    sq->tail_seen = 0;
    sq->paused = false;
    sq->stands = false;
    memset(&sq->err, 0, sizeof(sq->err));
    sq->err_index = sq->err_task = 0;
    return A350_ADM_OK;
}

uint32_t a350_ts_sq_query(A350Card *c, uint32_t id, a350_sq_query_rsp *rsp,
                          char *msg)
{
    A350Sq *sq = ts_sq(c->ts, id);

    if (!sq) {
        return adm_no_sq(c, id, msg);
    }
    *rsp = (a350_sq_query_rsp) {
        .sq_id = id,
        .depth = sq->depth,
        .cq_id = sq->cq_id,
        .flags = sq->flags,
        .base = sq->base,
        .head = qatomic_read(&sq->head),
        .tail = qatomic_read(&sq->tail),
        .enabled = qatomic_read(&sq->enabled),
        .paused = sq->paused,
        .error_bits = sq->err.bits,
        .status = sq->err.status,
        .error_index = sq->err_index,
        .error_task = sq->err_task,
        .completed = sq->completed,
    };
    return A350_ADM_OK;
}

uint32_t a350_ts_sq_pause(A350Card *c, uint32_t id, bool pause, char *msg)
{
    A350Sq *sq = ts_sq(c->ts, id);

    if (!sq) {
        return adm_no_sq(c, id, msg);
    }
    sq->paused = pause;
    ts_ready(c->ts, id);
    return A350_ADM_OK;
}

uint32_t a350_ts_sq_label(A350Card *c, const a350_sq_label *arg, char *msg)
{
    A350Sq *sq = ts_sq(c->ts, arg->sq_id);

    if (!sq) {
        return adm_no_sq(c, arg->sq_id, msg);
    }
    sq->label = *arg;
    sq->label.comm[sizeof(sq->label.comm) - 1] = 0;
    return A350_ADM_OK;
}

/* ---- registers, any thread ---- */

static void reg_tail(A350Ts *ts, uint32_t id, uint32_t val)
{
    A350Sq *sq = &ts->sq[id];

    trace_atlas350_doorbell(ts->card->index, id, val);
    /* What is out of range is found when the queue is run: an error there. */
    qatomic_store_release(&sq->tail, val);
    ts_wake(ts, id);
}

static void reg_head(A350Ts *ts, uint32_t id, uint32_t val)
{
    A350Sq *sq = &ts->sq[id];

    if (qatomic_read(&sq->enabled) || val >= sq->depth) {
        qemu_log_mask(LOG_GUEST_ERROR, "atlas350 %u: head %u of queue %u "
                      "refused: the queue must be disabled, the value in "
                      "0..%u\n", ts->card->index, val, id, sq->depth - 1);
        return;
    }
    qatomic_set(&sq->head_req, val);
    ts_wake(ts, id);
}

static void reg_status(A350Ts *ts, uint32_t id, uint32_t val)
{
    trace_atlas350_sq_enable(ts->card->index, id,
                             val & A350_SQ_STATUS_ENABLE);
    qatomic_set(&ts->sq[id].enabled, val & A350_SQ_STATUS_ENABLE);
    ts_wake(ts, id);
}

static void reg_cq_head(A350Ts *ts, uint32_t id, uint32_t val)
{
    A350Cq *cq = &ts->cq[id];

    if (val >= cq->depth) {
        qemu_log_mask(LOG_GUEST_ERROR, "atlas350 %u: head %u of completion "
                      "queue %u is not in 0..%u\n", ts->card->index, val, id,
                      cq->depth - 1);
        return;
    }
    qatomic_store_release(&cq->head, val);
    qatomic_set_mb(&ts->cq_moved, 1);
    ts_kick(ts);
}

static uint32_t reg_head_read(A350Sq *sq)
{
    uint32_t req = qatomic_read(&sq->head_req);

    return req != A350_ID_NONE ? req : qatomic_load_acquire(&sq->head);
}

static uint32_t page_read(A350Ts *ts, uint32_t id, uint32_t reg)
{
    bool sq = qatomic_read(&ts->sq[id].exists);
    bool cq = qatomic_read(&ts->cq[id].exists);

    switch (reg) {
    case A350_SQ_TAIL:
        return sq ? qatomic_read(&ts->sq[id].tail) : 0;
    case A350_SQ_HEAD:
        return sq ? reg_head_read(&ts->sq[id]) : 0;
    case A350_SQ_STATUS:
        return sq && qatomic_read(&ts->sq[id].enabled);
    case A350_CQ_HEAD:
        return cq ? qatomic_read(&ts->cq[id].head) : 0;
    case A350_CQ_TAIL:
        return cq ? qatomic_load_acquire(&ts->cq[id].tail) : 0;
    default:
        return 0;
    }
}

static bool page_write(A350Ts *ts, uint32_t id, uint32_t reg, uint32_t val)
{
    bool sq = qatomic_load_acquire(&ts->sq[id].exists);
    bool cq = qatomic_load_acquire(&ts->cq[id].exists);

    if (reg == A350_SQ_TAIL && sq) {
        reg_tail(ts, id, val);
    } else if (reg == A350_SQ_HEAD && sq) {
        reg_head(ts, id, val);
    } else if (reg == A350_SQ_STATUS && sq) {
        reg_status(ts, id, val);
    } else if (reg == A350_CQ_HEAD && cq) {
        reg_cq_head(ts, id, val);
    } else {
        /* Of a queue that is not there, or nothing writable: ignored. */
        qemu_log_mask(LOG_GUEST_ERROR, "atlas350 %u: write of 0x%x to register "
                      "0x%x of queue %u ignored\n", ts->card->index, val, reg,
                      id);
    }
    return true;
}

/*
 * spec/hw/task-queues.md §1: 32 bits from the kernel, 16-bit loads from the
 * user HAL. The index registers are 16 bits wide in effect.
 */
static bool page_access(A350Ts *ts, uint32_t offset, unsigned size,
                        bool write, uint64_t *val)
{
    uint32_t id = offset / A350_SQ_PAGE_SIZE;
    uint32_t reg = offset % A350_SQ_PAGE_SIZE;
    uint32_t part = reg & 3;

    if (size < 2 || reg % MIN(size, 4)) {
        return false;
    }
    if (id >= ts->card->num_sq) {
        *val = write ? *val : 0;
        return true;
    }
    if (!write) {
        *val = page_read(ts, id, reg & ~3u) >> (8 * part);
        *val &= size == 2 ? 0xffff : 0xffffffff;
        return true;
    }
    return part ? true : page_write(ts, id, reg, size == 2 ? *val & 0xffff :
                                    (uint32_t)*val);
}

static bool ts_reg(A350Ts *ts, uint32_t offset, unsigned size, bool write,
                   uint64_t *val)
{
    if (offset - A350_REG_NOTIFY < A350_REG_NOTIFY_SIZE) {
        return ts_notify_reg(ts, offset - A350_REG_NOTIFY, size, write, val);
    }
    if (offset - A350_REG_RTSQ < A350_REG_RTSQ_SIZE) {
        return page_access(ts, offset - A350_REG_RTSQ, size, write, val);
    }
    if (offset - A350_REG_CNT_NOTIFY < A350_REG_CNT_NOTIFY_SIZE) {
        return ts_cnt_notify_reg(ts, offset - A350_REG_CNT_NOTIFY, size, write,
                                 val);
    }
    return false;
}

bool a350_ts_reg_read(A350Card *c, uint32_t offset, unsigned size,
                      uint64_t *val)
{
    return ts_reg(c->ts, offset, size, false, val);
}

bool a350_ts_reg_write(A350Card *c, uint32_t offset, unsigned size,
                       uint64_t val)
{
    return ts_reg(c->ts, offset, size, true, &val);
}
