/*
 * Atlas 350 virtual card: a queue takes its entries one after the other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * spec/hw/task-queues.md §1-§3. The entry at the head is copied once, then
 * checked; what software does to the ring afterwards has no effect. The head
 * moves when the entry is complete, never before, and not past one that
 * failed (unless the queue goes on after errors).
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "priv.h"
#include "../trace.h"

uint64_t ts_addr(A350Sq *sq, uint32_t low, uint32_t high, unsigned bits)
{
    uint64_t mask = (1ull << bits) - 1;
    uint64_t addr = ((uint64_t)high << 32 | low) & mask;

    /* Upper bits of the card's own window; most cards have none to add. */
    return addr | (sq->ts->card->dev_base & ~mask);
}

/* ---- types ---- */

static TsResult exec_other(A350Sq *sq)
{
    if (sq->ts->noop_others) {
        return TS_DONE;
    }
    return ts_error(sq, A350_EK_SQE, A350_ERR_SQE, 0, "this card has no engine "
                    "for entries of type %u", a350_sqe_get_type(&sq->sqe));
}

static TsResult exec_invalid(A350Sq *sq)
{
    return ts_error(sq, A350_EK_SQE, A350_ERR_SQE, 0, "there is no entry type "
                    "%u", a350_sqe_get_type(&sq->sqe));
}

static TsResult exec_cond(A350Sq *sq)
{
    return ts_error(sq, A350_EK_SQE, A350_ERR_SQE, 0, "COND programs are not "
                    "supported");
}

/*
 * The host learns of a callback that blocks before it is complete, and records
 * the notify when its function has run.
 */
static TsResult callback_tell(A350Sq *sq)
{
    sq->state = SQ_TELL;
    if (!ts_cqe(sq, sq->head, NULL)) {
        return TS_WAIT;
    }
    sq->sqe.w[0] &= ~A350_SQE_WR_CQE;
    sq->wait_cnt = false;
    return ts_wait_for(sq, sq->sqe.w[6]);
}

static TsResult exec_callback(A350Sq *sq)
{
    bool block = sq->sqe.w[7] & (1u << 16);
    uint32_t id = sq->sqe.w[6];

    if (!block) {
        sq->sqe.w[0] |= A350_SQE_WR_CQE;
        return TS_DONE;
    }
    if (id >= sq->ts->card->num_notify) {
        sq->err.notify = id;
        return ts_error(sq, A350_EK_SQE, A350_ERR_SQE, 0, "callback notify %u "
                        "is not in 0..%u", id, sq->ts->card->num_notify - 1);
    }
    return callback_tell(sq);
}

static TsResult exec_place_holder(A350Sq *sq)
{
    switch (sq->sqe.w[3] & 0xffff) {
    case A350_PH_HOST_CALLBACK:
        return exec_callback(sq);
    case 90: /* memory copy without SDMA */
        return ts_exec_memcpy(sq);
    default:
        /* NOP, flip and what concerns TS firmware only: it completes. */
        return TS_DONE;
    }
}

/* ptrMode: the address fields hold where the entry itself is. */
static bool write_value_fetch(A350Sq *sq)
{
    uint64_t addr = ts_addr(sq, sq->sqe.w[4], sq->sqe.w[5] & 0x1ffff, 49);
    a350_sqe inner;

    if (!a350_bus_read(sq->ts->card, addr, &inner, sizeof(inner))) {
        sq->err.address = addr;
        sq->err.length = sizeof(inner);
        ts_error(sq, A350_EK_ADDRESS, A350_ERR_BUS, 0, "entry of a pointer-"
                 "mode WRITE_VALUE at 0x%" PRIx64 " is not memory", addr);
        return false;
    }
    /* Header and task number stay those of the ring's entry. */
    memcpy(&sq->sqe.w[4], &inner.w[4], 12 * sizeof(uint32_t));
    return true;
}

static TsResult exec_write_value(A350Sq *sq)
{
    uint32_t log2size;
    uint64_t addr;

    if ((sq->sqe.w[0] & A350_SQE_PTR_MODE) && !write_value_fetch(sq)) {
        return TS_ERROR;
    }
    log2size = (sq->sqe.w[5] >> A350_WV_AWSIZE_SHIFT) & 7;
    addr = ts_addr(sq, sq->sqe.w[4], sq->sqe.w[5] & 0x1ffff, 49);
    if (log2size > 5) {
        return ts_error(sq, A350_EK_SQE, A350_ERR_SQE, 0, "awsize %u is not in "
                        "0..5", log2size);
    }
    if (!a350_bus_write(sq->ts->card, addr, &sq->sqe.w[8], 1u << log2size)) {
        sq->err.address = addr;
        sq->err.length = 1u << log2size;
        return ts_error(sq, A350_EK_ADDRESS, A350_ERR_BUS, 0, "WRITE_VALUE of "
                        "%u bytes to 0x%" PRIx64 ", which is neither memory "
                        "nor a register of that size", 1u << log2size, addr);
    }
    return TS_DONE;
}

typedef TsResult TsExec(A350Sq *sq);

static TsExec *const type_exec[A350_SQE_TYPE_MASK + 1] = {
    [A350_SQE_AIC] = exec_other,
    [A350_SQE_AIV] = exec_other,
    [A350_SQE_FUSION] = exec_other,
    [A350_SQE_PLACE_HOLDER] = exec_place_holder,
    [A350_SQE_AICPU_H] = exec_other,
    [A350_SQE_AICPU_D] = ts_exec_aicpu,
    [A350_SQE_NOTIFY_RECORD] = ts_exec_record,
    [A350_SQE_NOTIFY_WAIT] = ts_exec_wait,
    [A350_SQE_WRITE_VALUE] = exec_write_value,
    [A350_SQE_UBDMA] = ts_exec_ub,
    [A350_SQE_ASYNCDMA] = exec_other,
    [A350_SQE_SDMA] = ts_exec_sdma,
    [A350_SQE_VPC] = exec_other,
    [A350_SQE_JPEGE] = exec_other,
    [A350_SQE_JPEGD] = exec_other,
    [A350_SQE_CMO] = exec_other,
    [A350_SQE_CCU] = exec_other,
    [A350_SQE_NSC] = exec_other,
    [A350_SQE_DSS] = exec_other,
    [A350_SQE_COND] = exec_cond,
    [A350_SQE_END] = exec_other,
};

/* ---- the head entry ---- */

bool ts_fetch_slot(A350Sq *sq, uint32_t slot, void *out)
{
    uint64_t offset = (uint64_t)slot * A350_SQE_SIZE;

    if (sq->ring) {
        memcpy(out, sq->ring + offset, A350_SQE_SIZE);
        return true;
    }
    return sq->ts->card->host_read(sq->ts->card, sq->base + offset, out,
                                   A350_SQE_SIZE, false) == MEMTX_OK;
}

/*
 * A tail outside the ring, or one that takes entries back, breaks the ring's
 * rules: software may only add.
 */
static bool check_tail(A350Sq *sq, uint32_t head)
{
    uint32_t tail = qatomic_load_acquire(&sq->tail);
    uint32_t before = sq->tail_seen;
    uint32_t depth = sq->depth;

    if (tail == before) {
        return true;
    }
    /* There is no entry to blame: type INVALID, task 0. */
    memset(&sq->sqe, 0, sizeof(sq->sqe));
    if (tail >= depth) {
        sq->sqe.w[0] = A350_SQE_INVALID;
        ts_error_begin(sq);
        ts_error(sq, A350_EK_RING, A350_ERR_SQE, 0, "tail %u is not in 0..%u",
                 tail, depth - 1);
        return false;
    }
    if ((tail + depth - head) % depth < (before + depth - head) % depth) {
        sq->sqe.w[0] = A350_SQE_INVALID;
        ts_error_begin(sq);
        ts_error(sq, A350_EK_RING, A350_ERR_SQE, 0, "tail went back from %u to "
                 "%u (head %u, depth %u)", before, tail, head, depth);
        return false;
    }
    sq->tail_seen = tail;
    return true;
}

static TsResult fetch_ext(A350Sq *sq, uint32_t head, uint32_t used)
{
    uint32_t i;

    sq->slots = 1 + a350_sqe_get_len(&sq->sqe);
    if (sq->slots == 1) {
        return TS_DONE;
    }
    if (sq->slots > 3) {
        sq->slots = 1;
        return ts_error(sq, A350_EK_SQE, A350_ERR_SQE, 0, "sqeLength %u is not "
                        "in 0..2", a350_sqe_get_len(&sq->sqe));
    }
    if (sq->slots > used) {
        return ts_error(sq, A350_EK_RING, A350_ERR_SQE, 0, "entry of %u slots, "
                        "of which the tail covers %u", sq->slots, used);
    }
    for (i = 1; i < sq->slots; i++) {
        if (!ts_fetch_slot(sq, (head + i) % sq->depth,
                           &sq->ext.w[16 * (i - 1)])) {
            return ts_error(sq, A350_EK_RING, A350_ERR_BUS, 0, "queue memory "
                            "cannot be read");
        }
    }
    return TS_DONE;
}

/*
 * kernelCredit: hardware counts credit + 1 units of 2^32 ns, 255 never ends.
 * Cores watch the time of launches themselves, from the kernel's start.
 */
static void arm_credit(A350Sq *sq)
{
    uint32_t credit = a350_sqe_get_credit(&sq->sqe);

    if (credit != A350_CREDIT_NEVER && sq->state != SQ_AICPU) {
        ts_deadline(sq, sq->since + (credit + 1) * A350_CREDIT_UNIT_NS);
    }
}

static void arm_timeout(A350Sq *sq)
{
    uint64_t seconds;

    sq->since = a350_clock_ns();
    sq->deadline = TS_NO_DEADLINE;
    if (a350_sqe_get_type(&sq->sqe) == A350_SQE_NOTIFY_WAIT) {
        seconds = sq->sqe.w[6];
        if (seconds) {
            ts_deadline(sq, sq->since + seconds * NANOSECONDS_PER_SECOND);
        }
        if (a350_sqe_get_credit(&sq->sqe) == A350_CREDIT_NEVER) {
            return;
        }
        if (seconds && sq->deadline < sq->since +
            (a350_sqe_get_credit(&sq->sqe) + 1) * A350_CREDIT_UNIT_NS) {
            return;
        }
    }
    arm_credit(sq);
}

static TsResult start_entry(A350Sq *sq, uint32_t head, uint32_t used)
{
    TsExec *exec;
    TsResult res;

    sq->slots = 1;
    ts_error_begin(sq);
    if (!ts_fetch_slot(sq, head, &sq->sqe)) {
        memset(&sq->sqe, 0, sizeof(sq->sqe));
        sq->err.address = sq->base + (uint64_t)head * A350_SQE_SIZE;
        return ts_error(sq, A350_EK_RING, A350_ERR_BUS, 0, "queue memory "
                        "cannot be read");
    }
    exec = type_exec[a350_sqe_get_type(&sq->sqe)];
    trace_atlas350_task_start(sq->ts->card->index, sq->id, head,
                              a350_sqe_get_type(&sq->sqe),
                              a350_sqe_get_task(&sq->sqe));
    if (!exec) {
        return exec_invalid(sq);
    }
    res = fetch_ext(sq, head, used);
    if (res != TS_DONE) {
        return res;
    }
    res = exec(sq);
    if (res == TS_WAIT) {
        arm_timeout(sq);
    }
    return res;
}

/* ---- the end of an entry ---- */

static void move_head(A350Sq *sq, uint32_t head)
{
    sq->state = SQ_IDLE;
    sq->deadline = TS_NO_DEADLINE;
    sq->completed++;
    qatomic_set(&sq->ts->progress, sq->ts->progress + 1);
    /* What the entry did is seen before the head that says it is done. */
    qatomic_store_release(&sq->head, head);
}

/* False: no room in the CQ; the entry ends when there is. */
static bool end_ok(A350Sq *sq)
{
    uint32_t head = (sq->head + sq->slots) % sq->depth;
    bool again = sq->state == SQ_END_OK;

    if (sq->sqe.w[0] & (A350_SQE_WR_CQE | A350_SQE_IE)) {
        sq->state = SQ_END_OK;
        if ((sq->sqe.w[0] & A350_SQE_WR_CQE) && !ts_cqe(sq, head, NULL)) {
            sq->since = again ? sq->since : a350_clock_ns();
            return false;
        }
    }
    trace_atlas350_task_end(sq->ts->card->index, sq->id, sq->head, 0, 0);
    move_head(sq, head);
    if ((sq->sqe.w[0] & (A350_SQE_IE | A350_SQE_WR_CQE)) == A350_SQE_IE &&
        sq->cq_id != A350_ID_NONE) {
        ts_irq(sq->ts, sq->cq_id);
    }
    return true;
}

static bool end_error(A350Sq *sq)
{
    bool go_on = (sq->flags & A350_SQ_F_CONTINUE) &&
                 sq->err.kind != A350_EK_RING;
    uint32_t head = sq->head;

    if (go_on) {
        head = (head + MIN(sq->slots, ts_used(sq))) % sq->depth;
    } else if (!sq->err.stopped) {
        /* Once: software may enable it while the CQE waits for room. */
        sq->err.stopped = true;
        qatomic_set(&sq->enabled, false);
    }
    sq->state = SQ_END_ERROR;
    if (!ts_cqe(sq, head, &sq->err)) {
        return false;
    }
    trace_atlas350_task_end(sq->ts->card->index, sq->id, sq->head,
                            sq->err.bits, sq->err.status);
    sq->err_index = sq->head;
    sq->err_task = a350_sqe_get_task(&sq->sqe);
    if (go_on) {
        move_head(sq, head);
    } else {
        sq->state = SQ_IDLE;
        sq->deadline = TS_NO_DEADLINE;
        sq->tail_seen = MIN(qatomic_read(&sq->tail), sq->depth - 1);
        qatomic_set(&sq->ts->progress, sq->ts->progress + 1);
    }
    return true;
}

static bool end_entry(A350Sq *sq, TsResult res)
{
    return res == TS_ERROR ? end_error(sq) : end_ok(sq);
}

/* ---- turns ---- */

static TsResult poll_entry(A350Sq *sq)
{
    switch (sq->state) {
    case SQ_NOTIFY:
        return ts_poll_wait(sq);
    case SQ_TELL:
        return callback_tell(sq);
    case SQ_COPY:
        return ts_poll_copy(sq);
    case SQ_UB:
        return ts_poll_ub(sq);
    case SQ_AICPU:
        return ts_poll_aicpu(sq);
    case SQ_END_ERROR:
        return TS_ERROR;
    default:
        return TS_DONE;
    }
}

static void apply_head(A350Sq *sq)
{
    /* The queue was disabled at the store; it may be enabled again by now. */
    uint32_t req = qatomic_xchg(&sq->head_req, A350_ID_NONE);

    /* It was checked against the depth of what was here at that time. */
    if (req < sq->depth) {
        qatomic_set(&sq->head, req);
        sq->tail_seen = req;
    }
}

/* Takes the next entry, if the queue may and has one. */
static bool next_entry(A350Sq *sq, TsResult *res)
{
    uint32_t head, used;

    if (qatomic_read(&sq->head_req) != A350_ID_NONE) {
        apply_head(sq);
    }
    if (!qatomic_read(&sq->enabled) || sq->paused) {
        if (!sq->stands) {
            sq->stands = true;
            sq->since = a350_clock_ns();
        }
        return false;
    }
    sq->stands = false;
    head = sq->head;
    if (!check_tail(sq, head)) {
        sq->slots = 1;
        *res = TS_ERROR;
        return true;
    }
    if (sq->tail_seen == head) {
        return false;
    }
    used = (sq->tail_seen + sq->depth - head) % sq->depth;
    *res = start_entry(sq, head, used);
    return true;
}

bool ts_sq_run(A350Sq *sq, unsigned budget)
{
    TsResult res;
    unsigned n;

    if (!sq->exists) {
        return false;
    }
    for (n = 0; n < budget; n++) {
        if (sq->state == SQ_IDLE) {
            if (!next_entry(sq, &res)) {
                return false;
            }
        } else {
            res = poll_entry(sq);
        }
        if (res == TS_WAIT || !end_entry(sq, res)) {
            return false;
        }
    }
    return true;
}

/*
 * Time is over. A notify wait is reported as TS firmware does it: an
 * exception whose type is PLACE_HOLDER and whose task number is the wait's
 * (spec/hw/task-queues.md §4).
 */
void ts_sq_timeout(A350Sq *sq, int64_t now)
{
    char name[96];
    double waited = (now - sq->since) / 1e9;
    const a350_notify_label *l;

    sq->deadline = TS_NO_DEADLINE;
    switch (sq->state) {
    case SQ_NOTIFY:
        ts_wait_unlink(sq);
        sq->err.notify = sq->wait_id;
        l = ts_notify_label(sq->ts, sq->wait_id, sq->wait_cnt);
        if (l && l->kind == 2) {
            sq->err.peer_card = a350_eid_card(l->peer_eid);
        }
        ts_error(sq, A350_EK_TIMEOUT, A350_ERR_TIMEOUT, 0, "waited %.1f s for "
                 "%snotify %u, which nobody recorded", waited,
                 sq->wait_cnt ? "counting " : "", sq->wait_id);
        sq->err.sqe_type = A350_SQE_PLACE_HOLDER;
        break;
    case SQ_TELL:
        ts_error(sq, A350_EK_TIMEOUT, A350_ERR_TIMEOUT, 0, "callback not told "
                 "for %.1f s: completion queue %u is full", waited, sq->cq_id);
        break;
    case SQ_COPY:
        ts_copy_abandon(sq);
        ts_error(sq, A350_EK_TIMEOUT, A350_ERR_TIMEOUT, 0, "copy not done "
                 "after %.1f s (kernelCredit %u)", waited,
                 a350_sqe_get_credit(&sq->sqe));
        break;
    case SQ_UB:
        ts_ub_abandon(sq);
        sq->err.jetty = sq->sqe.w[4] & 0xffff;
        ts_error(sq, A350_EK_TIMEOUT, A350_ERR_TIMEOUT, 0, "UB work not done "
                 "after %.1f s (kernelCredit %u)", waited,
                 a350_sqe_get_credit(&sq->sqe));
        break;
    default:
        return;
    }
    trace_atlas350_timeout(sq->ts->card->index, ts_sq_name(sq, name),
                           (int64_t)(waited * 1000));
    sq->state = SQ_END_ERROR;
}
