/*
 * Atlas 350 virtual card: the scheduler's state in a migration stream.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Saved while the card is paused: no queue is in the middle of a turn, copies
 * stand at a slice boundary. The stream is not trusted: what could lead
 * outside the card's memory or tables is checked, chains and pointers are
 * made anew. Work in other blocks is asked for again when all of them are
 * loaded (a350_ts_loaded).
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "migration/vmstate.h"
#include "priv.h"

/* ---- small structures ---- */

static const VMStateDescription vmstate_sq_label = {
    .name = "atlas350/sq-label",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(rank, a350_sq_label),
        VMSTATE_UINT32(thread, a350_sq_label),
        VMSTATE_UINT32(kind, a350_sq_label),
        VMSTATE_BUFFER_UNSAFE(comm, a350_sq_label, 1, 64),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_notify_label = {
    .name = "atlas350/notify-label",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(notify_id, a350_notify_label),
        VMSTATE_UINT32(kind, a350_notify_label),
        VMSTATE_UINT32(index, a350_notify_label),
        VMSTATE_UINT32(rank, a350_notify_label),
        VMSTATE_UINT32(peer_rank, a350_notify_label),
        VMSTATE_UINT32(owner_sq, a350_notify_label),
        VMSTATE_BUFFER(peer_eid, a350_notify_label),
        VMSTATE_BUFFER_UNSAFE(comm, a350_notify_label, 1, 64),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_task_error = {
    .name = "atlas350/task-error",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(kind, TaskError),
        VMSTATE_UINT32(bits, TaskError),
        VMSTATE_UINT32(sqe_type, TaskError),
        VMSTATE_UINT32(status, TaskError),
        VMSTATE_UINT8_ARRAY(ub, TaskError, 4),
        VMSTATE_UINT64(address, TaskError),
        VMSTATE_UINT64(length, TaskError),
        VMSTATE_UINT32(peer_card, TaskError),
        VMSTATE_UINT32(jetty, TaskError),
        VMSTATE_UINT32(notify, TaskError),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_first_error = {
    .name = "atlas350/first-error",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(kind, a350_first_error),
        VMSTATE_UINT32(sq_id, a350_first_error),
        VMSTATE_UINT32(sqe_index, a350_first_error),
        VMSTATE_UINT32(sqe_type, a350_first_error),
        VMSTATE_UINT32(task, a350_first_error),
        VMSTATE_UINT32(error_bits, a350_first_error),
        VMSTATE_UINT32(status, a350_first_error),
        VMSTATE_UINT32(sub_status, a350_first_error),
        VMSTATE_UINT64(address, a350_first_error),
        VMSTATE_UINT64(length, a350_first_error),
        VMSTATE_UINT64(time_ns, a350_first_error),
        VMSTATE_UINT32(peer_card, a350_first_error),
        VMSTATE_UINT32(followers, a350_first_error),
        VMSTATE_UINT32(jetty_id, a350_first_error),
        VMSTATE_UINT32(notify_id, a350_first_error),
        VMSTATE_BUFFER_UNSAFE(message, a350_first_error, 1,
                              A350_ADMIN_MSG_SIZE),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_sq_ub = {
    .name = "atlas350/sq-ub",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL(rung, SqUb),
        VMSTATE_UINT32(done, SqUb),
        VMSTATE_UINT8(result.status, SqUb),
        VMSTATE_UINT8(result.sub_status, SqUb),
        VMSTATE_UINT32(result.jetty, SqUb),
        VMSTATE_UINT16(result.ci, SqUb),
        VMSTATE_UINT64(result.address, SqUb),
        VMSTATE_UINT64(result.length, SqUb),
        VMSTATE_UINT32(result.peer_card, SqUb),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_sq_copy = {
    .name = "atlas350/sq-copy",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(opcode, SqCopy),
        VMSTATE_UINT32(fill, SqCopy),
        VMSTATE_UINT64(dst, SqCopy),
        VMSTATE_UINT64(src, SqCopy),
        VMSTATE_UINT64(len, SqCopy),
        VMSTATE_UINT32(inner, SqCopy),
        VMSTATE_UINT32(outer, SqCopy),
        VMSTATE_UINT32(i, SqCopy),
        VMSTATE_UINT32(o, SqCopy),
        VMSTATE_UINT64(src_step, SqCopy),
        VMSTATE_UINT64(src_row, SqCopy),
        VMSTATE_UINT64(dst_step, SqCopy),
        VMSTATE_END_OF_LIST()
    },
};

/* Set with the error, but for the CQE; older streams have none of it. */
static bool error_stopped_needed(void *opaque)
{
    A350Sq *sq = opaque;

    return sq->err.stopped;
}

static const VMStateDescription vmstate_error_stopped = {
    .name = "atlas350/sq/error-stopped",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = error_stopped_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL(err.stopped, A350Sq),
        VMSTATE_END_OF_LIST()
    },
};

/* ---- a queue ---- */

static bool sq_job_needed(void *opaque)
{
    A350Sq *sq = opaque;

    return sq->job_busy;
}

static int sq_job_pre_load(void *opaque)
{
    A350Sq *sq = opaque;

    if (!sq->job) {
        sq->job = g_new0(A350Move, 1);
    }
    memset(sq->job, 0, sizeof(*sq->job));
    sq->job_busy = true;
    return 0;
}

static const VMStateDescription vmstate_sq_job = {
    .name = "atlas350/sq/job",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = sq_job_needed,
    .pre_load = sq_job_pre_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(job_done, A350Sq),
        VMSTATE_UINT32(job_status, A350Sq),
        VMSTATE_STRUCT_POINTER(job, A350Sq, vmstate_a350_move, A350Move),
        VMSTATE_END_OF_LIST()
    },
};

static bool sq_waiter_needed(void *opaque)
{
    A350Sq *sq = opaque;

    return sq->state == SQ_NOTIFY;
}

static const VMStateDescription vmstate_sq_waiter = {
    .name = "atlas350/sq/waiter",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = sq_waiter_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(wait_order, A350Sq),
        VMSTATE_END_OF_LIST()
    },
};

static bool sq_ring_ok(A350Sq *sq)
{
    A350Card *c = sq->ts->card;
    uint64_t size = (uint64_t)sq->depth * A350_SQE_SIZE;

    if (sq->depth < A350_SQ_DEPTH_MIN || sq->depth > A350_SQ_DEPTH_MAX ||
        (sq->depth - 1) % 8 || sq->base % 64) {
        return false;
    }
    sq->ring = a350_hbm_ptr(c, sq->base, size);
    return sq->ring || (a350_addr_is_host(sq->base) &&
                        sq->base + size <= A350_DEV_FIRST);
}

static bool sq_work_ok(A350Sq *sq)
{
    A350Card *c = sq->ts->card;

    switch (sq->state) {
    case SQ_NOTIFY:
        return sq->wait_id < (sq->wait_cnt ? c->num_cnt_notify :
                              c->num_notify);
    case SQ_COPY:
        return sq->copy.i < sq->copy.inner && sq->copy.o < sq->copy.outer &&
               (sq->job || !sq->job_busy);
    case SQ_AICPU:
        return sq->next_block <= sq->blocks && sq->blocks <= 0xffff &&
               sq->blocks_done <= sq->next_block;
    case SQ_TELL:
        return sq->sqe.w[6] < c->num_notify;
    default:
        return sq->state <= SQ_END_ERROR;
    }
}

static int sq_post_load(void *opaque, int version_id)
{
    A350Sq *sq = opaque;
    A350Card *c = sq->ts->card;
    unsigned i;

    if (!sq->exists) {
        sq->state = SQ_IDLE;
        sq->job_busy = false;
        return 0;
    }
    if (!sq_ring_ok(sq) || sq->head >= sq->depth || sq->slots > 3 ||
        sq->tail_seen >= sq->depth || !sq_work_ok(sq) ||
        (sq->head_req != A350_ID_NONE && sq->head_req >= sq->depth) ||
        (sq->cq_id != A350_ID_NONE && sq->cq_id >= c->num_sq)) {
        error_report("atlas350: state of queue %u is not valid", sq->id);
        return -EINVAL;
    }
    sq->label.sq_id = sq->id;
    sq->label.comm[sizeof(sq->label.comm) - 1] = 0;
    sq->launch_exc = false;
    sq->stands = sq->state == SQ_IDLE && (!sq->enabled || sq->paused);
    for (i = 0; i < 2; i++) {
        sq->ub[i].sq = sq;
        sq->ub[i].result.reason = NULL;
    }
    return 0;
}

static int sq_pre_load(void *opaque)
{
    A350Sq *sq = opaque;

    sq->job_busy = false;
    sq->wait_order = 0;
    sq->err.stopped = false;
    return 0;
}

static const VMStateDescription vmstate_sq = {
    .name = "atlas350/sq",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_load = sq_pre_load,
    .post_load = sq_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL(exists, A350Sq),
        VMSTATE_BOOL(enabled, A350Sq),
        VMSTATE_UINT32(tail, A350Sq),
        VMSTATE_UINT32(head, A350Sq),
        VMSTATE_UINT32(head_req, A350Sq),
        VMSTATE_UINT32(depth, A350Sq),
        VMSTATE_UINT32(cq_id, A350Sq),
        VMSTATE_UINT32(flags, A350Sq),
        VMSTATE_UINT64(base, A350Sq),
        VMSTATE_BOOL(paused, A350Sq),
        VMSTATE_UINT32(tail_seen, A350Sq),
        VMSTATE_UINT32(state, A350Sq),
        VMSTATE_UINT32(slots, A350Sq),
        VMSTATE_UINT32_ARRAY(sqe.w, A350Sq, 16),
        VMSTATE_UINT32_ARRAY(ext.w, A350Sq, 32),
        VMSTATE_INT64(since, A350Sq),
        VMSTATE_INT64(deadline, A350Sq),
        VMSTATE_UINT64(completed, A350Sq),
        VMSTATE_UINT32(wait_id, A350Sq),
        VMSTATE_BOOL(wait_cnt, A350Sq),
        VMSTATE_STRUCT(copy, A350Sq, 1, vmstate_sq_copy, SqCopy),
        VMSTATE_STRUCT_ARRAY(ub, A350Sq, 2, 1, vmstate_sq_ub, SqUb),
        VMSTATE_UINT32(blocks, A350Sq),
        VMSTATE_UINT32(next_block, A350Sq),
        VMSTATE_UINT32(blocks_done, A350Sq),
        VMSTATE_UINT32(launch_code, A350Sq),
        VMSTATE_STRUCT(err, A350Sq, 1, vmstate_task_error, TaskError),
        VMSTATE_UINT32(err_index, A350Sq),
        VMSTATE_UINT32(err_task, A350Sq),
        VMSTATE_STRUCT(label, A350Sq, 1, vmstate_sq_label, a350_sq_label),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &vmstate_sq_job,
        &vmstate_sq_waiter,
        &vmstate_error_stopped,
        NULL
    },
};

/* ---- completion queues ---- */

static const VMStateDescription vmstate_cq = {
    .name = "atlas350/cq",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL(exists, A350Cq),
        VMSTATE_UINT32(depth, A350Cq),
        VMSTATE_UINT64(base, A350Cq),
        VMSTATE_BOOL(irq, A350Cq),
        VMSTATE_UINT32(phase, A350Cq),
        VMSTATE_UINT32(head, A350Cq),
        VMSTATE_UINT32(tail, A350Cq),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_cqint_group = {
    .name = "atlas350/cqint",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(mask, CqIntGroup),
        VMSTATE_UINT32(status, CqIntGroup),
        VMSTATE_UINT32_ARRAY(l2, CqIntGroup, A350_CQS_PER_GROUP / 32),
        VMSTATE_END_OF_LIST()
    },
};

static bool cq_load(A350Ts *ts, uint32_t id)
{
    A350Cq *cq = &ts->cq[id];
    uint64_t size = (uint64_t)cq->depth * A350_CQE_SIZE;

    cq->users = 0;
    if (!cq->exists) {
        return true;
    }
    if (cq->depth < 2 || cq->depth > A350_SQ_DEPTH_MAX || cq->base % 64 ||
        cq->head >= cq->depth || cq->tail >= cq->depth || cq->phase > 1) {
        return false;
    }
    cq->ring = a350_hbm_ptr(ts->card, cq->base, size);
    return cq->ring || (a350_addr_is_host(cq->base) &&
                        cq->base + size <= A350_DEV_FIRST);
}

/* ---- the scheduler ---- */

/* The waiters of each notify, from the oldest on. */
static void ts_save_waiters(A350Ts *ts)
{
    uint32_t i, order;
    A350Sq *w;

    for (i = 0; i < ts->top; i++) {
        w = &ts->sq[i];
        if (w->state != SQ_NOTIFY || !ts_wait_oldest(w)) {
            continue;
        }
        for (order = 0; w; w = w->next_waiter) {
            w->wait_order = order++;
        }
    }
}

static int ts_pre_save(void *opaque)
{
    A350Ts *ts = opaque;
    GHashTableIter it;
    gpointer label;
    int n = 0;

    ts_save_waiters(ts);
    g_free(ts->saved_label);
    ts->num_saved = g_hash_table_size(ts->labels);
    ts->saved_label = g_new0(a350_notify_label, ts->num_saved);
    g_hash_table_iter_init(&it, ts->labels);
    while (g_hash_table_iter_next(&it, NULL, &label)) {
        ts->saved_label[n++] = *(a350_notify_label *)label;
    }
    return 0;
}

static int ts_post_save(void *opaque)
{
    A350Ts *ts = opaque;

    g_free(ts->saved_label);
    ts->saved_label = NULL;
    ts->num_saved = 0;
    return 0;
}

static void ts_load_labels(A350Ts *ts)
{
    char msg[A350_ADMIN_MSG_SIZE];
    int i;

    g_hash_table_remove_all(ts->labels);
    for (i = 0; i < ts->num_saved; i++) {
        a350_ts_notify_label(ts->card, &ts->saved_label[i], msg);
    }
    ts_post_save(ts);
}

static gint by_since(gconstpointer a, gconstpointer b)
{
    const A350Sq *x = *(A350Sq * const *)a, *y = *(A350Sq * const *)b;

    if (x->since != y->since) {
        return x->since < y->since ? -1 : 1;
    }
    return x->wait_order < y->wait_order ? -1 : x->wait_order > y->wait_order;
}

/* Chains of waiters, in the order in which they came. */
static void ts_load_waiters(A350Ts *ts)
{
    g_autoptr(GPtrArray) waiters = g_ptr_array_new();
    A350Card *c = ts->card;
    uint32_t i;

    memset(ts->waiter, 0, c->num_notify * sizeof(*ts->waiter));
    memset(ts->cnt_waiter, 0, c->num_cnt_notify * sizeof(*ts->cnt_waiter));
    for (i = 0; i < c->num_sq; i++) {
        if (ts->sq[i].state == SQ_NOTIFY) {
            g_ptr_array_add(waiters, &ts->sq[i]);
        }
    }
    g_ptr_array_sort(waiters, by_since);
    for (i = 0; i < waiters->len; i++) {
        ts_wait_link(g_ptr_array_index(waiters, i));
    }
}

static int ts_post_load(void *opaque, int version_id)
{
    A350Ts *ts = opaque;
    uint32_t i;

    for (i = 0; i < ts->num_sq; i++) {
        if (!cq_load(ts, i)) {
            error_report("atlas350: state of completion queue %u is not "
                         "valid", i);
            return -EINVAL;
        }
    }
    ts->top = 0;
    ts->next_deadline = TS_NO_DEADLINE;
    for (i = 0; i < ts->num_sq; i++) {
        A350Sq *sq = &ts->sq[i];

        if (!sq->exists) {
            continue;
        }
        ts->top = i + 1;
        if (sq->cq_id != A350_ID_NONE) {
            if (!ts->cq[sq->cq_id].exists) {
                error_report("atlas350: queue %u has no completion queue", i);
                return -EINVAL;
            }
            ts->cq[sq->cq_id].users++;
        }
        if (sq->deadline != TS_NO_DEADLINE) {
            ts_deadline(sq, sq->deadline);
        }
    }
    for (i = 0; i < ts->num_notify; i++) {
        ts->notify[i] &= 1;
    }
    ts->first.message[sizeof(ts->first.message) - 1] = 0;
    ts_load_labels(ts);
    ts_load_waiters(ts);
    return 0;
}

/* Before that many are allocated. */
static bool ts_saved_count_ok(void *opaque, int version_id)
{
    A350Ts *ts = opaque;

    return ts->num_saved >= 0 && ts->num_saved <= (int32_t)ts->num_notify;
}

static const VMStateDescription vmstate_ts_body = {
    .name = "atlas350/ts/body",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = ts_pre_save,
    .post_save = ts_post_save,
    .post_load = ts_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_EQUAL(num_sq, A350Ts, NULL),
        VMSTATE_UINT32_EQUAL(num_notify, A350Ts, NULL),
        VMSTATE_UINT32_EQUAL(num_cnt, A350Ts, NULL),
        VMSTATE_VBUFFER_UINT32(notify, A350Ts, 1, NULL, num_notify),
        VMSTATE_VARRAY_UINT32(cnt_notify, A350Ts, num_cnt, 1,
                              vmstate_info_uint32, uint32_t),
        VMSTATE_STRUCT_VARRAY_POINTER_UINT32(cq, A350Ts, num_sq, vmstate_cq,
                                             A350Cq),
        VMSTATE_STRUCT_VARRAY_POINTER_UINT32(sq, A350Ts, num_sq, vmstate_sq,
                                             A350Sq),
        VMSTATE_STRUCT_ARRAY(group, A350Ts, A350_CQINT_GROUPS, 1,
                             vmstate_cqint_group, CqIntGroup),
        VMSTATE_STRUCT(first, A350Ts, 1, vmstate_first_error,
                       a350_first_error),
        VMSTATE_INT32(num_saved, A350Ts),
        VMSTATE_VALIDATE("number of labels", ts_saved_count_ok),
        VMSTATE_STRUCT_VARRAY_ALLOC(saved_label, A350Ts, num_saved, 1,
                                    vmstate_notify_label, a350_notify_label),
        VMSTATE_END_OF_LIST()
    },
};

const VMStateDescription vmstate_a350_ts = {
    .name = "atlas350/ts",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(ts, A350Card, vmstate_ts_body, A350Ts),
        VMSTATE_END_OF_LIST()
    },
};

void a350_ts_loaded(A350Card *c, bool stalled)
{
    A350Ts *ts = c->ts;
    uint32_t i;

    ts->stall_said = stalled;
    for (i = 0; i < ts->top; i++) {
        if (ts->sq[i].state == SQ_COPY) {
            ts_copy_resume(&ts->sq[i]);
        } else if (ts->sq[i].state == SQ_UB) {
            ts_ub_resume(&ts->sq[i]);
        }
    }
}
