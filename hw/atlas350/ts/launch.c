/*
 * Atlas 350 virtual card: entries that other blocks of the card carry out:
 * UBDMA and kernel launches.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * spec/hw/task-queues.md §3, UBDMA and AICPU_D.
 */
#include "qemu/osdep.h"
#include "priv.h"
#include "../trace.h"

static __thread A350Sq *submitting;

/* ---- UBDMA ---- */

static void ub_done(void *opaque, const A350UbResult *r)
{
    SqUb *u = opaque;
    A350Sq *sq = u->sq;

    u->result = *r;
    qatomic_store_release(&u->done, 1);
    if (submitting != sq) {
        ts_wake(sq->ts, sq->id);
    }
}

static TsResult ub_error(A350Sq *sq, unsigned i)
{
    const A350UbResult *r = &sq->ub[i].result;
    TaskError *e = &sq->err;
    unsigned k;

    for (k = 0; k < 2; k++) {
        if (sq->ub[k].rung) {
            e->ub[2 * k] = sq->ub[k].result.status;
            e->ub[2 * k + 1] = sq->ub[k].result.sub_status;
        }
    }
    e->address = r->address;
    e->length = r->length;
    e->peer_card = r->peer_card;
    e->jetty = r->jetty;
    if (r->peer_card != A350_ID_NONE) {
        return ts_error(sq, A350_EK_UB, A350_ERR_EXCEPTION, r->status, "jetty "
                        "%u, block %u, to card %u: %s (0x%" PRIx64 " + 0x%"
                        PRIx64 ", status %u/%u)", r->jetty, r->ci,
                        r->peer_card, r->reason ?: "failed", r->address,
                        r->length, r->status, r->sub_status);
    }
    return ts_error(sq, A350_EK_UB, A350_ERR_EXCEPTION, r->status, "jetty %u, "
                    "block %u: %s (0x%" PRIx64 " + 0x%" PRIx64 ", status "
                    "%u/%u)", r->jetty, r->ci, r->reason ?: "failed",
                    r->address, r->length, r->status, r->sub_status);
}

TsResult ts_poll_ub(A350Sq *sq)
{
    unsigned i;

    for (i = 0; i < 2; i++) {
        if (sq->ub[i].rung && !qatomic_load_acquire(&sq->ub[i].done)) {
            return TS_WAIT;
        }
    }
    for (i = 0; i < 2; i++) {
        if (sq->ub[i].rung && sq->ub[i].result.status != A350_UB_OK) {
            return ub_error(sq, i);
        }
    }
    return TS_DONE;
}

/* Rings jetty @jetty; false if it takes no such work. */
static bool ub_ring(A350Sq *sq, unsigned i, uint32_t jetty, uint16_t pi,
                    const a350_wqe *wqe)
{
    A350Card *c = sq->ts->card;
    SqUb *u = &sq->ub[i];
    const char *reason = "refused";
    bool ok;

    u->sq = sq;
    u->rung = true;
    qatomic_set(&u->done, 0);
    submitting = sq;
    ok = wqe ? a350_ub_direct(c, jetty, wqe, ub_done, u, &reason) :
         a350_ub_doorbell(c, jetty, pi, ub_done, u, &reason);
    submitting = NULL;
    if (!ok) {
        u->rung = false;
        sq->err.jetty = jetty;
        ts_error(sq, A350_EK_SQE, A350_ERR_SQE, 0, "jetty %u: %s", jetty,
                 reason);
    }
    return ok;
}

static TsResult ub_direct(A350Sq *sq)
{
    uint32_t blocks = sq->sqe.w[2] & A350_UBDMA_WQE_128 ? 2 : 1;

    if (sq->slots != 1 + blocks) {
        return ts_error(sq, A350_EK_SQE, A350_ERR_SQE, 0, "direct WQE of %u "
                        "blocks in an entry of sqeLength %u", blocks,
                        sq->slots - 1);
    }
    if (a350_wqe_blocks(&sq->ext) > blocks) {
        return ts_error(sq, A350_EK_SQE, A350_ERR_SQE, 0, "WQE of opcode %u "
                        "has 2 blocks, its direct form 1",
                        a350_wqe_opcode(&sq->ext));
    }
    if (!ub_ring(sq, 0, sq->sqe.w[4] & 0xffff, 0, &sq->ext)) {
        return TS_ERROR;
    }
    return ts_poll_ub(sq);
}

TsResult ts_exec_ub(A350Sq *sq)
{
    uint32_t n = (sq->sqe.w[2] >> A350_UBDMA_DB_NUM_SHIFT) & 3;
    uint32_t i;

    sq->ub[0].rung = sq->ub[1].rung = false;
    sq->state = SQ_UB;
    if (!(sq->sqe.w[2] & A350_UBDMA_MODE_DOORBELL)) {
        return ub_direct(sq);
    }
    if (n < 1 || n > 2) {
        return ts_error(sq, A350_EK_SQE, A350_ERR_SQE, 0, "doorbellNum %u is "
                        "not 1 or 2", n);
    }
    for (i = 0; i < n; i++) {
        if (!ub_ring(sq, i, sq->sqe.w[4 + 2 * i] & 0xffff,
                     sq->sqe.w[5 + 2 * i] & 0xffff, NULL)) {
            ts_ub_abandon(sq);
            return TS_ERROR;
        }
    }
    return ts_poll_ub(sq);
}

void ts_ub_abandon(A350Sq *sq)
{
    unsigned i;

    for (i = 0; i < 2; i++) {
        if (sq->ub[i].rung && !qatomic_load_acquire(&sq->ub[i].done)) {
            a350_ub_forget(sq->ts->card, &sq->ub[i]);
        }
        sq->ub[i].rung = false;
    }
}

/* The state was loaded; the jetties go on by themselves, ask them again. */
void ts_ub_resume(A350Sq *sq)
{
    unsigned i;

    for (i = 0; i < 2; i++) {
        if (sq->ub[i].rung && !sq->ub[i].done &&
            !ub_ring(sq, i, sq->sqe.w[4 + 2 * i] & 0xffff,
                     sq->sqe.w[5 + 2 * i] & 0xffff,
                     sq->sqe.w[2] & A350_UBDMA_MODE_DOORBELL ? NULL :
                     &sq->ext)) {
            sq->state = SQ_END_ERROR;
        }
    }
}

/* ---- AICPU_D ---- */

static void aicpu_submit(A350Sq *sq, uint32_t block)
{
    const uint32_t *w = sq->sqe.w;
    uint32_t task = a350_sqe_get_task(&sq->sqe);
    uint32_t credit = a350_sqe_get_credit(&sq->sqe);
    uint64_t limit = credit == A350_CREDIT_NEVER ? 0 :
                     (credit + 1) * A350_CREDIT_UNIT_NS;
    a350_topic_mbox m = {
        .blk_dim = sq->blocks,
        .stream_id = task,
        .task_id = task >> 16,
        .blk_id = block,
        .kernel = w[2] >> 16,   /* type, batch, topic type, qos as they are */
        .pid = w[15],
        .topic = w[14],
        .tq_id = sq->id,
    };

    memcpy(m.user_data, &w[4], sizeof(m.user_data));
    a350_aicpu_submit(sq->ts->card, &m, limit);
}

static TsResult aicpu_error(A350Sq *sq)
{
    uint32_t code = sq->launch_code >> 16;
    const a350_exc_record *x = sq->launch_exc ? sq->exc : NULL;
    uint32_t bits = code == A350_AICPU_ERR_TIMEOUT ? A350_ERR_TIMEOUT :
                    A350_ERR_EXCEPTION;

    if (x) {
        sq->err.address = x->pc;
        return ts_error(sq, code == A350_AICPU_ERR_TIMEOUT ? A350_EK_TIMEOUT :
                        A350_EK_AICPU, bits, sq->launch_code,
                        "kernel %.48s: %.72s", x->kernel, x->text);
    }
    return ts_error(sq, code == A350_AICPU_ERR_TIMEOUT ? A350_EK_TIMEOUT :
                    A350_EK_AICPU, bits, sq->launch_code, "kernel launch "
                    "ended with code %u, status %u", code,
                    sq->launch_code & 0xffff);
}

TsResult ts_poll_aicpu(A350Sq *sq)
{
    uint32_t done, code;

    WITH_QEMU_LOCK_GUARD(&sq->ts->launch_lock) {
        done = sq->blocks_done;
        code = sq->launch_code;
    }
    /* After an error no more blocks are started; the running ones end. */
    while (!code && sq->next_block < sq->blocks &&
           sq->next_block - done < A350_LAUNCH_WINDOW) {
        aicpu_submit(sq, sq->next_block++);
    }
    if (done < sq->next_block) {
        return TS_WAIT;
    }
    sq->state = SQ_IDLE;
    return code ? aicpu_error(sq) : TS_DONE;
}

TsResult ts_exec_aicpu(A350Sq *sq)
{
    uint32_t fw = a350_aicpu_fw_status(sq->ts->card);

    if (fw == A350_FW_OFF || fw >= A350_FW_FAILED) {
        return ts_error(sq, A350_EK_AICPU, A350_ERR_EXCEPTION,
                        A350_AICPU_ERR_EXCEPTION << 16 |
                        A350_AICPU_ST_EXCEPTION, "kernel launch: the card's "
                        "firmware %s", fw == A350_FW_OFF ? "is not loaded "
                        "(firmware= property)" : "has failed");
    }
    WITH_QEMU_LOCK_GUARD(&sq->ts->launch_lock) {
        sq->blocks = MAX(sq->sqe.w[0] >> A350_SQE_BLOCK_DIM_SHIFT, 1);
        sq->next_block = 0;
        sq->blocks_done = 0;
        sq->launch_code = 0;
        sq->launch_exc = false;
        sq->state = SQ_AICPU;
    }
    return ts_poll_aicpu(sq);
}

void a350_ts_aicpu_done(A350Card *c, uint32_t id, uint32_t task,
                        uint16_t errcode, uint16_t status,
                        const a350_exc_record *exc)
{
    A350Ts *ts = c->ts;
    A350Sq *sq;

    if (id >= c->num_sq) {
        return;
    }
    sq = &ts->sq[id];
    WITH_QEMU_LOCK_GUARD(&ts->launch_lock) {
        if (sq->state != SQ_AICPU || a350_sqe_get_task(&sq->sqe) != task) {
            return;
        }
        sq->blocks_done++;
        if ((errcode || status) && !sq->launch_code) {
            sq->launch_code = (uint32_t)errcode << 16 | status;
            if (exc) {
                sq->exc = sq->exc ?: g_new(a350_exc_record, 1);
                *sq->exc = *exc;
                sq->launch_exc = true;
            }
        }
    }
    ts_wake(ts, id);
}

void ts_aicpu_abandon(A350Sq *sq)
{
    WITH_QEMU_LOCK_GUARD(&sq->ts->launch_lock) {
        sq->state = SQ_IDLE;
    }
    if (sq->blocks_done < sq->next_block) {
        a350_aicpu_abort(sq->ts->card, sq->id, a350_sqe_get_task(&sq->sqe));
    }
}
