/*
 * Atlas 350 virtual card: SDMA entries.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * spec/hw/task-queues.md §3, SDMA. An entry is one block or a pattern of
 * equal blocks; each is a job of the data mover, which ends small ones before
 * it returns. Length 0 moves nothing and succeeds.
 */
#include "qemu/osdep.h"
#include "priv.h"
#include "../trace.h"

/* The queue whose job this thread is handing over right now. */
static __thread A350Sq *submitting;

static void copy_done(A350Move *m, uint32_t status)
{
    A350Sq *sq = m->opaque;

    sq->job_status = status;
    qatomic_store_release(&sq->job_done, 1);
    if (submitting == sq) {
        return;
    }
    if (status) {
        ts_wake(sq->ts, sq->id);
    } else {
        ts_continue(sq);
    }
}

static TsResult copy_no_operation(A350Sq *sq)
{
    return ts_error(sq, A350_EK_SQE, A350_ERR_SQE, A350_SDMA_ST_OPCODE, "SDMA "
                    "opcode 0x%x: no such operation on that type",
                    sq->copy.opcode);
}

static TsResult copy_error(A350Sq *sq)
{
    uint64_t addr = sq->job->error_addr;

    sq->err.address = addr;
    sq->err.length = sq->copy.len;
    switch (sq->job_status) {
    case A350_SDMA_ST_ADDR:
        return ts_error(sq, A350_EK_ADDRESS, A350_ERR_BUS, sq->job_status,
                        "SDMA of 0x%" PRIx64 " bytes: 0x%" PRIx64 " is not "
                        "memory of this card, of the host or of a peer",
                        sq->copy.len, addr);
    case A350_SDMA_ST_OPCODE:
        return copy_no_operation(sq);
    case A350_SDMA_ST_LENGTH:
        return ts_error(sq, A350_EK_SQE, A350_ERR_SQE, sq->job_status, "SDMA "
                        "length 0x%" PRIx64 " is not a multiple of the "
                        "element size %u", sq->copy.len,
                        a350_sdma_elem_size(sq->copy.opcode));
    default:
        return ts_error(sq, A350_EK_SDMA, A350_ERR_EXCEPTION, sq->job_status,
                        "SDMA failed with status %u", sq->job_status);
    }
}

/* Hands the job over; true if it has ended. */
static bool copy_submit(A350Sq *sq)
{
    sq->job_done = 0;
    sq->job_busy = true;
    submitting = sq;
    a350_mover_submit(sq->ts->card, sq->job);
    submitting = NULL;
    return qatomic_load_acquire(&sq->job_done);
}

static void copy_job(A350Sq *sq)
{
    SqCopy *cp = &sq->copy;
    A350Move *m = sq->job;
    uint64_t n = (uint64_t)cp->o * cp->inner + cp->i;

    memset(m, 0, sizeof(*m));
    m->opcode = cp->opcode;
    m->fill = cp->fill;
    m->len = cp->len;
    m->src = cp->src + cp->o * cp->src_row + cp->i * cp->src_step;
    m->dst = cp->dst + n * cp->dst_step;
    m->dst_card = m->src_card = sq->ts->card;
    m->done = copy_done;
    m->opaque = sq;
}

/* The next block; false after the last one. */
static bool copy_advance(SqCopy *cp)
{
    if (++cp->i == cp->inner) {
        cp->i = 0;
        cp->o++;
    }
    return cp->o < cp->outer;
}

TsResult ts_poll_copy(A350Sq *sq)
{
    unsigned n;

    for (n = 0; n < TS_BLOCK_BUDGET; n++) {
        if (!sq->job_busy) {
            copy_job(sq);
            if (!copy_submit(sq)) {
                return TS_WAIT;
            }
        } else if (!qatomic_load_acquire(&sq->job_done)) {
            return TS_WAIT;
        }
        sq->job_busy = false;
        if (sq->job_status) {
            return copy_error(sq);
        }
        if (!copy_advance(&sq->copy)) {
            return TS_DONE;
        }
    }
    ts_ready(sq->ts, sq->id);
    return TS_WAIT;
}

static TsResult copy_start(A350Sq *sq)
{
    SqCopy *cp = &sq->copy;
    uint32_t op = cp->opcode & A350_SDMA_OP_MASK;

    cp->i = cp->o = 0;
    /* An error, though there may be nothing to move. */
    if (op != A350_SDMA_CPY && op != A350_SDMA_MEMSET &&
        !a350_reduce_supported(cp->opcode, false)) {
        return copy_no_operation(sq);
    }
    if (!cp->len || !cp->inner || !cp->outer) {
        return TS_DONE;
    }
    if (!sq->job) {
        sq->job = g_new0(A350Move, 1);
    }
    sq->state = SQ_COPY;
    sq->job_busy = false;
    return ts_poll_copy(sq);
}

static uint64_t words64(const uint32_t *w)
{
    return (uint64_t)w[1] << 32 | w[0];
}

/* ptrMode: addresses and length stand in a descriptor of 64 bytes. */
static TsResult sdma_pointer(A350Sq *sq)
{
    uint64_t addr = ts_addr(sq, sq->sqe.w[4], sq->sqe.w[5] & 0x1ffff, 49);
    uint32_t d[16];

    if (!a350_bus_read(sq->ts->card, addr, d, sizeof(d))) {
        sq->err.address = addr;
        sq->err.length = sizeof(d);
        return ts_error(sq, A350_EK_ADDRESS, A350_ERR_BUS, A350_SDMA_ST_ADDR,
                        "SDMA descriptor at 0x%" PRIx64 " is not memory", addr);
    }
    sq->copy.opcode = A350_SDMA_CPY;
    sq->copy.src = words64(&d[8]);
    sq->copy.dst = words64(&d[10]);
    sq->copy.len = d[12];
    return copy_start(sq);
}

/*
 * Stride 2 has no field of its own for the destination in the sheet; here it
 * is words 13-14, and the blocks are gathered there one behind the other.
 */
static TsResult sdma_strided(A350Sq *sq, uint32_t stride)
{
    const uint32_t *w = sq->sqe.w;
    SqCopy *cp = &sq->copy;

    if (stride == 1) {
        cp->inner = w[15];
        cp->src_step = w[13];
        cp->dst_step = w[14];
        return copy_start(sq);
    }
    if (stride != 2) {
        return ts_error(sq, A350_EK_SQE, A350_ERR_SQE, A350_SDMA_ST_OPCODE,
                        "SDMA stride mode %u is not in 0..2", stride);
    }
    cp->outer = w[7] & 0xffff;
    cp->inner = w[7] >> 16;
    cp->src_row = w[10];
    cp->src_step = w[11];
    cp->dst = words64(&w[13]);
    cp->dst_step = cp->len;
    return copy_start(sq);
}

TsResult ts_exec_sdma(A350Sq *sq)
{
    const uint32_t *w = sq->sqe.w;
    SqCopy *cp = &sq->copy;
    uint32_t stride = (w[4] >> A350_SDMA_STRIDE_SHIFT) & 3;

    memset(cp, 0, sizeof(*cp));
    cp->inner = cp->outer = 1;
    if (w[0] & A350_SQE_PTR_MODE) {
        return sdma_pointer(sq);
    }
    cp->opcode = w[4] & 0xff;
    cp->src = words64(&w[8]);
    cp->dst = words64(&w[10]);
    cp->len = w[12];
    if ((cp->opcode & A350_SDMA_OP_MASK) == A350_SDMA_MEMSET) {
        cp->dst = words64(&w[8]);
        cp->src = 0;
        cp->fill = w[10] & 0xff;
        return copy_start(sq);
    }
    if (stride) {
        return sdma_strided(sq, stride);
    }
    if (w[5] & (1u << 31)) { /* d2dOffsetFlag */
        cp->src += (uint64_t)(w[15] & 0xffff) << 32 | w[13];
        cp->dst += (uint64_t)(w[15] >> 16) << 32 | w[14];
    }
    return copy_start(sq);
}

/* PLACE_HOLDER of task type 90: source, destination, size. */
TsResult ts_exec_memcpy(A350Sq *sq)
{
    const uint32_t *w = sq->sqe.w;

    memset(&sq->copy, 0, sizeof(sq->copy));
    sq->copy.inner = sq->copy.outer = 1;
    sq->copy.opcode = A350_SDMA_CPY;
    sq->copy.src = words64(&w[4]);
    sq->copy.dst = words64(&w[6]);
    sq->copy.len = w[8];
    return copy_start(sq);
}

void ts_copy_abandon(A350Sq *sq)
{
    if (sq->job_busy) {
        a350_mover_cancel(sq->ts->card, sq->job);
        sq->job_busy = false;
    }
}

/* The state was loaded: the job goes on from where it was. */
void ts_copy_resume(A350Sq *sq)
{
    A350Move *m = sq->job;

    if (!sq->job_busy || sq->job_done) {
        return;
    }
    m->dst_card = m->src_card = sq->ts->card;
    m->done = copy_done;
    m->opaque = sq;
    copy_submit(sq);
}
