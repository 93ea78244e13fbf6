/*
 * Device side of Hcomm: local copies, reductions and thread notifies.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hcomm-data-plane.md §2.1, §3.4.
 */
#include <inttypes.h>
#include "hc.h"

int32_t hc_sdma(a350_thread_obj *t, uint32_t opcode, uint64_t dst,
                uint64_t src, uint64_t len, const char *call)
{
    /* What fits into one entry is one. */
    a350_slice s = a350_slices(dst, src, len, len <= UINT32_MAX
                               ? UINT32_MAX : HC_SDMA_SLICE);
    int32_t ret = HCCL_SUCCESS;
    a350_sqe sqe HC_ALIGNED;

    while (ret == HCCL_SUCCESS && a350_slice_next(&s)) {
        a350_sqe_sdma(&sqe, 0, opcode, dst + s.at, src + s.at, s.len);
        ret = hc_push(t, &sqe, call);
    }
    return ret;
}

static int32_t null_operand(const char *call, const void *dst, const void *src)
{
    hc_log(HC_ERROR, "%s: %s is null", call, dst ? "src" : "dst");
    (void)src;
    return HCCL_E_PTR;
}

HC_API int32_t HcommLocalCopyOnThread(ThreadHandle thread, void *dst,
                                      const void *src, uint64_t len)
{
    a350_thread_obj *t = hc_queue(thread, __func__);

    if (!t) {
        return HCCL_E_PTR;
    }
    if (!dst || !src) {
        return null_operand(__func__, dst, src);
    }
    return hc_sdma(t, A350_SDMA_CPY, (uintptr_t)dst, (uintptr_t)src, len,
                   __func__);
}

HC_API int32_t HcommLocalReduceOnThread(ThreadHandle thread, void *dst,
                                        const void *src, uint64_t count,
                                        HcommDataType dataType,
                                        HcommReduceOp reduceOp)
{
    a350_thread_obj *t = hc_queue(thread, __func__);
    hc_xfer x;
    int32_t ret;

    if (!t) {
        return HCCL_E_PTR;
    }
    if (!dst || !src) {
        return null_operand(__func__, dst, src);
    }
    ret = hc_reduce_types(&x, dataType, reduceOp, count, false, __func__);
    if (ret != HCCL_SUCCESS) {
        return ret;
    }
    return hc_sdma(t, x.sdma_op, (uintptr_t)dst, (uintptr_t)src, x.len,
                   __func__);
}

/* Notify @idx of @t; HCCL_E_PTR out of range, as §2.1 has it. */
static int32_t thread_notify(const a350_thread_obj *t, uint32_t idx,
                             const char *call, uint32_t *id)
{
    char name[HC_NAME_LEN];

    if (idx >= t->notify_num) {
        hc_log(HC_ERROR, "%s: notify index %u of %s is out of range: it has "
               "%u", call, idx, hc_thread_name(t, name), t->notify_num);
        return HCCL_E_PTR;
    }
    *id = ((const uint32_t *)(uintptr_t)t->notify_ids)[idx];
    return HCCL_SUCCESS;
}

HC_API int32_t HcommThreadNotifyRecordOnThread(ThreadHandle thread,
                                               ThreadHandle dstThread,
                                               uint32_t dstNotifyIdx)
{
    a350_thread_obj *t = hc_queue(thread, __func__), *d;
    a350_sqe sqe HC_ALIGNED;
    uint32_t id;
    int32_t ret;

    if (!t) {
        return HCCL_E_PTR;
    }
    d = hc_thread(dstThread, __func__, "dstThread");
    if (!d) {
        return HCCL_E_PTR;
    }
    ret = thread_notify(d, dstNotifyIdx, __func__, &id);
    if (ret != HCCL_SUCCESS) {
        return ret;
    }
    a350_sqe_notify_record(&sqe, 0, id);
    return hc_push(t, &sqe, __func__);
}

static int32_t thread_wait(ThreadHandle thread, uint32_t idx, uint32_t timeout,
                           const char *call)
{
    a350_thread_obj *t = hc_queue(thread, call);
    a350_sqe sqe HC_ALIGNED;
    uint32_t id;
    int32_t ret;

    if (!t) {
        return HCCL_E_PTR;
    }
    ret = thread_notify(t, idx, call, &id);
    if (ret != HCCL_SUCCESS) {
        return ret;
    }
    a350_sqe_notify_wait(&sqe, 0, id, timeout);
    return hc_push(t, &sqe, call);
}

HC_API int32_t HcommThreadNotifyWaitOnThread(ThreadHandle thread,
                                             uint32_t notifyIdx,
                                             uint32_t timeOut)
{
    return thread_wait(thread, notifyIdx, timeOut, __func__);
}

HC_API int32_t HcommThreadNotifyWaitOnThreadWithDefaultTimeout(
    ThreadHandle thread, uint32_t notifyIdx)
{
    return thread_wait(thread, notifyIdx, hc_self()->notify_timeout, __func__);
}

/* Notifies of the runtime, by their number: §2.1, "Y in code". */
static int32_t runtime_notify(ThreadHandle thread, uint64_t id,
                              const char *call, a350_thread_obj **t)
{
    *t = hc_queue(thread, call);
    if (!*t) {
        return HCCL_E_PTR;
    }
    if (id >= A350_NOTIFY_MAX) {
        hc_log(HC_ERROR, "%s: notify id %" PRIu64 " is out of range "
               "(0 .. %u)", call, id, A350_NOTIFY_MAX - 1);
        return HCCL_E_PARA;
    }
    return HCCL_SUCCESS;
}

HC_API int32_t HcommAclrtNotifyRecordOnThread(ThreadHandle thread,
                                              uint64_t dstNotifyId)
{
    a350_thread_obj *t;
    a350_sqe sqe HC_ALIGNED;
    int32_t ret = runtime_notify(thread, dstNotifyId, __func__, &t);

    if (ret != HCCL_SUCCESS) {
        return ret;
    }
    a350_sqe_notify_record(&sqe, 0, (uint32_t)dstNotifyId);
    return hc_push(t, &sqe, __func__);
}

HC_API int32_t HcommAclrtNotifyWaitOnThread(ThreadHandle thread,
                                            uint64_t notifyId,
                                            uint32_t timeOut)
{
    a350_thread_obj *t;
    a350_sqe sqe HC_ALIGNED;
    int32_t ret = runtime_notify(thread, notifyId, __func__, &t);

    if (ret != HCCL_SUCCESS) {
        return ret;
    }
    a350_sqe_notify_wait(&sqe, 0, (uint32_t)notifyId, timeOut);
    return hc_push(t, &sqe, __func__);
}
