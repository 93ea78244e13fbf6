/*
 * Device side of Hcomm: task queue entries, immediate and batch mode.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A ring is filled by the cores and emptied by the scheduler; its head moves
 * only when a task is complete (spec/hw/task-queues.md §1). One slot stays
 * empty.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "hc.h"
#include "platform.h"

uint32_t hc_queue_head(const a350_thread_obj *t)
{
    return hc_plat_reg_read(t->sq_page + A350_SQ_HEAD);
}

bool hc_queue_enabled(const a350_thread_obj *t)
{
    return hc_plat_reg_read(t->sq_page + A350_SQ_STATUS) &
           A350_SQ_STATUS_ENABLE;
}

/* Free slots; a head that is no slot number counts as a full ring. */
static uint32_t ring_room(const a350_thread_obj *t)
{
    uint32_t depth = t->sq_depth, head = hc_queue_head(t);

    if (head >= depth || t->sq_tail >= depth) {
        return 0;
    }
    return depth - 1 - (t->sq_tail + depth - head) % depth;
}

/*
 * Copies as many of @num entries as there is room for and rings once. The
 * lock makes slot, task number and tail of two cores one step.
 */
static uint32_t launch_some(a350_thread_obj *t, const a350_sqe *sqe,
                            uint32_t num)
{
    a350_sqe *ring = (a350_sqe *)(uintptr_t)t->sq_base;
    uint32_t i, n, tail;

    hc_lock(&t->lock);
    n = ring_room(t);
    n = n < num ? n : num;
    tail = t->sq_tail;
    for (i = 0; i < n; i++) {
        hc_copy64(&ring[tail], &sqe[i]);
        ring[tail].w[1] = t->task++;
        if (a350_sqe_get_type(&sqe[i]) == A350_SQE_AICPU_D) {
            ring[tail].w[12] = ring[tail].w[1];
        }
        tail = tail + 1 == t->sq_depth ? 0 : tail + 1;
    }
    if (n) {
        t->sq_tail = tail;
        hc_plat_doorbell(t->sq_page + A350_SQ_TAIL, tail);
    }
    hc_unlock(&t->lock);
    return n;
}

/* Moves the rest of a staging buffer to its front. */
static void stage_drop(hc_stage *s, uint32_t n)
{
    s->count -= n;
    memmove(s->sqe, s->sqe + n, s->count * sizeof(s->sqe[0]));
}

bool hc_flush_some(void)
{
    hc_stage *s;
    bool moved = false;
    uint32_t n;

    for (s = hc_self()->stages; s; s = s->next) {
        if (s->count) {
            n = launch_some(s->thread, s->sqe, s->count);
            stage_drop(s, n);
            moved |= n != 0;
        }
    }
    return moved;
}

/* A queue that takes no entries any more will not make room. */
static bool queue_stopped(a350_thread_obj *t, const char *call)
{
    char name[HC_NAME_LEN];

    if (hc_queue_enabled(t)) {
        return false;
    }
    hc_cache_spoil();
    hc_log(HC_ERROR, "%s: %s: its queue %u is stopped (an earlier task "
           "failed, or it is being reset); nothing more is queued", call,
           hc_thread_name(t, name), t->sq_id);
    return true;
}

static int32_t queue_full(a350_thread_obj *t, const char *call)
{
    char name[HC_NAME_LEN];

    hc_cache_spoil();
    hc_log(HC_ERROR, "%s: %s: queue %u of %u entries was full for %u s "
           "(HcommThreadResAcquireTimeOut)", call, hc_thread_name(t, name),
           t->sq_id, t->sq_depth - 1, hc_self()->queue_timeout);
    return HCCL_E_INTERNAL;
}

/*
 * Launches @num entries; while the ring is full, what is staged for other
 * threads goes out, for a task there may be what this ring waits for (§3.9).
 */
static int32_t launch_all(a350_thread_obj *t, const a350_sqe *sqe,
                          uint32_t num, const char *call)
{
    uint32_t n = launch_some(t, sqe, num);
    hc_wait wait;

    if (n == num) {
        return HCCL_SUCCESS;
    }
    hc_wait_start(&wait, hc_self()->queue_timeout);
    for (num -= n, sqe += n; num; num -= n, sqe += n) {
        n = launch_some(t, sqe, num);
        if (n) {
            hc_wait_start(&wait, hc_self()->queue_timeout);
            continue;
        }
        if (queue_stopped(t, call)) {
            return HCCL_E_INTERNAL;
        }
        hc_flush_some();
        if (!hc_wait_step(&wait)) {
            return queue_full(t, call);
        }
    }
    return HCCL_SUCCESS;
}

/* Launches one staging buffer; it is empty afterwards, whatever happens. */
static int32_t stage_launch(hc_stage *s, const char *call)
{
    int32_t ret = HCCL_SUCCESS;
    hc_wait wait;

    hc_wait_start(&wait, hc_self()->queue_timeout);
    while (s->count) {
        if (hc_flush_some()) {
            hc_wait_start(&wait, hc_self()->queue_timeout);
        } else if (queue_stopped(s->thread, call)) {
            ret = HCCL_E_INTERNAL;
            break;
        } else if (!hc_wait_step(&wait)) {
            ret = queue_full(s->thread, call);
            break;
        }
    }
    s->count = 0;
    return ret;
}

static hc_stage *stage_find(const a350_thread_obj *t)
{
    hc_stage *s;

    for (s = hc_self()->stages; s; s = s->next) {
        if (s->thread == t && s->touched) {
            return s;
        }
    }
    return NULL;
}

/* The staging buffer of @t in this batch; NULL: no memory. */
static hc_stage *stage_get(a350_thread_obj *t)
{
    hc_stage *s = stage_find(t);

    if (s) {
        return s;
    }
    for (s = hc_self()->stages; s && s->touched; s = s->next) {
        continue;
    }
    if (!s) {
        s = malloc(sizeof(*s));
        if (!s) {
            return NULL;
        }
        s->next = hc_self()->stages;
        hc_self()->stages = s;
    }
    s->thread = t;
    s->count = 0;
    s->touched = true;
    return s;
}

int32_t hc_push(a350_thread_obj *t, const a350_sqe *sqe, const char *call)
{
    hc_tls *me = hc_self();
    hc_stage *s;

    if (me->capture) {
        hc_cache_sqe(t, sqe);
    }
    s = me->batch ? stage_get(t) : NULL;
    if (!s) {
        /* Out of staging memory the order is still right: nothing of this
           thread is staged. */
        return launch_all(t, sqe, 1, call);
    }
    if (s->count == HC_BATCH_MAX) {
        int32_t ret = stage_launch(s, call);

        if (ret != HCCL_SUCCESS) {
            return ret;
        }
    }
    hc_copy64(&s->sqe[s->count++], sqe);
    if (s->count == HC_BATCH_MAX) {
        return stage_launch(s, call);
    }
    return HCCL_SUCCESS;
}

int32_t hc_flush(const char *call)
{
    int32_t ret, first = HCCL_SUCCESS;
    hc_stage *s;

    for (s = hc_self()->stages; s; s = s->next) {
        ret = stage_launch(s, call);
        if (first == HCCL_SUCCESS) {
            first = ret;
        }
        s->touched = false;
    }
    return first;
}

uint32_t hc_staged(const a350_thread_obj *t)
{
    hc_stage *s = stage_find(t);

    return s ? s->count : 0;
}

uint32_t hc_discard(void)
{
    uint32_t n = 0;
    hc_stage *s;

    for (s = hc_self()->stages; s; s = s->next) {
        n += s->count;
        s->count = 0;
        s->touched = false;
    }
    return n;
}
