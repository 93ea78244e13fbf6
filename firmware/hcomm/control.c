/*
 * Device side of Hcomm: batch mode, timeouts, join, start of a kernel.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hcomm-data-plane.md §3.3, §3.6, §3.9. All state here belongs to the
 * OS thread.
 */
#include <inttypes.h>
#include <math.h>
#include "hc.h"

/* The tag names nothing that is kept; NULL is allowed. Starting twice goes on
   with the same batch. */
HC_API int32_t HcommBatchModeStart(const char *batchTag)
{
    (void)batchTag;
    hc_self()->batch = true;
    return HCCL_SUCCESS;
}

HC_API int32_t HcommBatchModeEnd(const char *batchTag)
{
    (void)batchTag;
    hc_self()->batch = false;
    return hc_flush(__func__);
}

int32_t hc_timeout(float value, uint32_t *seconds, const char *call)
{
    /* 2^32 is the first float that does not fit. */
    if (isnan(value) || value < 0 || value >= 4294967296.0f) {
        hc_log(HC_ERROR, "%s: timeout %g is out of range (0 .. 4294967295 "
               "seconds, 0: for ever)", call, (double)value);
        return HCCL_E_PARA;
    }
    *seconds = (uint32_t)value;
    return HCCL_SUCCESS;
}

HC_API int32_t HcommSetNotifyWaitTimeOut(float timeOut)
{
    return hc_timeout(timeOut, &hc_self()->notify_timeout, __func__);
}

HC_API int32_t HcommThreadResAcquireTimeOut(float timeOut)
{
    return hc_timeout(timeOut, &hc_self()->queue_timeout, __func__);
}

/*
 * Waits until the head has passed what was the tail at the call. Another core
 * may add entries meanwhile, so the head's way is counted, not compared.
 */
HC_API int32_t HcommThreadJoin(ThreadHandle thread, uint32_t timeout)
{
    a350_thread_obj *t = hc_queue(thread, __func__);
    uint32_t head, seen, left, depth, tail, moved;
    char name[HC_NAME_LEN];
    hc_wait wait;

    if (!t) {
        return HCCL_E_PTR;
    }
    if (hc_staged(t)) {
        hc_log(HC_WARN, "%s: %s has %u tasks in batch mode that are not "
               "launched (HcommBatchModeEnd); they are not waited for",
               __func__, hc_thread_name(t, name), hc_staged(t));
    }
    depth = t->sq_depth;
    tail = __atomic_load_n(&t->sq_tail, __ATOMIC_ACQUIRE);
    seen = hc_queue_head(t);
    left = (tail + depth - seen % depth) % depth;
    hc_wait_start(&wait, timeout);
    while (left) {
        if (!hc_wait_step(&wait)) {
            hc_log(HC_ERROR, "%s: %s: %u tasks of queue %u are not complete "
                   "after %u s", __func__, hc_thread_name(t, name), left,
                   t->sq_id, timeout);
            return HCCL_E_TIMEOUT;
        }
        head = hc_queue_head(t);
        moved = (head + depth - seen % depth) % depth;
        seen = head;
        left -= moved < left ? moved : left;
        if (left && !hc_queue_enabled(t)) {
            hc_log(HC_ERROR, "%s: %s: queue %u is stopped by an error, %u "
                   "tasks will not run", __func__, hc_thread_name(t, name),
                   t->sq_id, left);
            return HCCL_E_INTERNAL;
        }
    }
    return HCCL_SUCCESS;
}

/* Kernels of the host library, around one of HcclAicpuKernelLaunch. */
HC_API uint32_t a350_hcomm_step_wait(void *arg)
{
    const a350_thread_step *s = arg;

    return (uint32_t)HcommThreadNotifyWaitOnThreadWithDefaultTimeout(
        s->thread, s->index);
}

HC_API uint32_t a350_hcomm_step_record(void *arg)
{
    const a350_thread_step *s = arg;

    return (uint32_t)HcommThreadNotifyRecordOnThread(s->thread, s->target,
                                                     s->index);
}

/*
 * The firmware calls this on the core that is about to enter a kernel: an
 * earlier kernel may have crashed, or returned in batch mode. Timeouts go back
 * to their defaults, since which core runs a kernel is chance.
 */
HC_API void a350_hcomm_kernel_enter(void)
{
    hc_tls *me = hc_self();
    uint32_t lost = hc_discard();

    if (lost) {
        hc_log(HC_WARN, "an earlier kernel ended without HcommBatchModeEnd: "
               "%u tasks were never launched", lost);
    }
    me->error[0] = '\0';
    me->batch = false;
    me->notify_timeout = HC_NOTIFY_TIMEOUT;
    me->queue_timeout = HC_QUEUE_TIMEOUT;
    while (me->held_num) {
        hc_unlock(me->held[me->held_num - 1]);
    }
    hc_comm_kernel_enter();
    hc_cache_kernel_enter();
}

/* The firmware puts it beside the code of a kernel that returns an error. */
HC_API const char *a350_hcomm_error(void)
{
    return hc_self()->error;
}
