/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hcomm data plane, host side: tasks on streams.
 * spec/api/hcomm-data-plane.md §2, columns "Host".
 */
#include <math.h>
#include <string.h>
#include "hccl_internal.h"

/* 1836 s and 27 more, so that the inner wait of a kernel expires first. */
#define DEFAULT_WAIT_S  (1836u + 27u)
#define COPY_MAX        0xfffff000u      /* a slice of a queue entry, bytes */

static __thread uint32_t default_wait = DEFAULT_WAIT_S;

/* ---- arguments ---- */

static HcclResult stream_thread(const char *call, ThreadHandle handle,
                                hcl_thread **out)
{
    hcl_thread *t;

    if (!handle) {
        return hcl_null(call, "thread");
    }
    t = hcl_thread_get(handle);
    if (!t) {
        return hcl_bad(HCCL_E_PARA, call, "thread", "a live thread", "0x%llx "
                       "(freed, or never one)", (unsigned long long)handle);
    }
    if (handle != t->host || t->sq) {
        return hcl_bad(HCCL_E_PARA, call, "thread", "a thread of a stream "
                       "(HcclThreadAcquireWithStream)", "0x%llx, which is for "
                       "AICPU kernels", (unsigned long long)handle);
    }
    if (!t->s) {
        return hcl_bad(HCCL_E_PARA, call, "thread", "a thread whose stream "
                       "exists", "0x%llx, whose stream was destroyed",
                       (unsigned long long)handle);
    }
    *out = t;
    return HCCL_SUCCESS;
}

static HcclResult notify_of(const char *call, const char *param,
                            const hcl_thread *t, uint32_t index, uint32_t *id)
{
    if (index >= t->notify.num) {
        return hcl_bad(HCCL_E_PTR, call, param, "less than the notifies of "
                       "the thread", "%u of %u", index, t->notify.num);
    }
    *id = t->notify.ids[index];
    return HCCL_SUCCESS;
}

static int32_t push(const char *call, hcl_thread *t, const a350_sqe *sqe)
{
    aclError rc = a350_stream_push(t->s, sqe, 1, call, &t->mark);

    return rc == ACL_SUCCESS ? HCCL_SUCCESS : hcl_acl(rc, call);
}

/* ---- notifies ---- */

int32_t HcommThreadNotifyRecordOnThread(ThreadHandle thread,
                                        ThreadHandle dstThread,
                                        uint32_t dstNotifyIdx)
{
    static const char call[] = "HcommThreadNotifyRecordOnThread";
    hcl_thread *t, *dst;
    uint32_t id = 0;
    a350_sqe sqe;
    HcclResult rc = stream_thread(call, thread, &t);

    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    if (!dstThread) {
        return hcl_null(call, "dstThread");
    }
    dst = hcl_thread_get(dstThread);
    if (!dst || dstThread != dst->host) {
        return hcl_bad(HCCL_E_PARA, call, "dstThread", "a live thread as the "
                       "host knows it (HcclThreadExportToCommEngine with "
                       "CPU_TS)", "0x%llx%s", (unsigned long long)dstThread,
                       dst ? ", which is for AICPU kernels" : "");
    }
    if (dst->card != t->card) {
        return hcl_bad(HCCL_E_PARA, call, "dstThread", "a thread of the same "
                       "card", "0x%llx of another card",
                       (unsigned long long)dstThread);
    }
    rc = notify_of(call, "dstNotifyIdx", dst, dstNotifyIdx, &id);
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    a350_sqe_notify_record(&sqe, 0, id);
    return push(call, t, &sqe);
}

static int32_t wait_thread(const char *call, ThreadHandle thread,
                           uint32_t index, uint32_t limit)
{
    hcl_thread *t;
    uint32_t id = 0;
    a350_sqe sqe;
    HcclResult rc = stream_thread(call, thread, &t);

    if (rc == HCCL_SUCCESS) {
        rc = notify_of(call, "notifyIdx", t, index, &id);
    }
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    if (t->comm && t->comm->first_error[0]) {
        return hcl_fail(HCCL_E_REMOTE, NULL, "%s: communicator %s has failed "
                        "before: %s; destroy it and create another", call,
                        t->comm->name, t->comm->first_error);
    }
    t->waits = true;             /* failures of kernel threads end this wait */
    a350_sqe_notify_wait(&sqe, 0, id, limit);
    rc = (HcclResult)push(call, t, &sqe);
    if (rc == HCCL_SUCCESS) {
        hcl_thread_waits(t);
    }
    return rc;
}

int32_t HcommThreadNotifyWaitOnThread(ThreadHandle thread, uint32_t notifyIdx,
                                      uint32_t timeOut)
{
    return wait_thread("HcommThreadNotifyWaitOnThread", thread, notifyIdx,
                       timeOut);
}

int32_t HcommThreadNotifyWaitOnThreadWithDefaultTimeout(ThreadHandle thread,
                                                        uint32_t notifyIdx)
{
    return wait_thread("HcommThreadNotifyWaitOnThreadWithDefaultTimeout",
                       thread, notifyIdx, default_wait);
}

static HcclResult runtime_id(const char *call, uint64_t id)
{
    return id <= A350_NOTIFY_ID_MASK ? HCCL_SUCCESS
           : hcl_bad(HCCL_E_PARA, call, "notifyId", "an id of "
                     "aclrtGetNotifyId", "%llu", (unsigned long long)id);
}

int32_t HcommAclrtNotifyRecordOnThread(ThreadHandle thread,
                                       uint64_t dstNotifyId)
{
    static const char call[] = "HcommAclrtNotifyRecordOnThread";
    hcl_thread *t;
    a350_sqe sqe;
    HcclResult rc = stream_thread(call, thread, &t);

    if (rc == HCCL_SUCCESS) {
        rc = runtime_id(call, dstNotifyId);
    }
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    a350_sqe_notify_record(&sqe, 0, (uint32_t)dstNotifyId);
    return push(call, t, &sqe);
}

int32_t HcommAclrtNotifyWaitOnThread(ThreadHandle thread, uint64_t notifyId,
                                     uint32_t timeOut)
{
    static const char call[] = "HcommAclrtNotifyWaitOnThread";
    hcl_thread *t;
    a350_sqe sqe;
    HcclResult rc = stream_thread(call, thread, &t);

    if (rc == HCCL_SUCCESS) {
        rc = runtime_id(call, notifyId);
    }
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    a350_sqe_notify_wait(&sqe, 0, (uint32_t)notifyId, timeOut);
    return push(call, t, &sqe);
}

/* ---- copy and reduce ---- */

static int32_t sdma(const char *call, hcl_thread *t, uint32_t opcode,
                    uint64_t dst, uint64_t src, uint64_t len)
{
    a350_slice s = a350_slices(dst, src, len, COPY_MAX);
    int32_t rc = HCCL_SUCCESS;
    a350_sqe sqe;

    while (rc == HCCL_SUCCESS && a350_slice_next(&s)) {
        a350_sqe_sdma(&sqe, 0, opcode, dst + s.at, src + s.at, s.len);
        rc = push(call, t, &sqe);
    }
    return rc;
}

int32_t HcommLocalCopyOnThread(ThreadHandle thread, void *dst, const void *src,
                               uint64_t len)
{
    static const char call[] = "HcommLocalCopyOnThread";
    hcl_thread *t;
    int32_t rc;

    if (!dst || !src) {
        return hcl_null(call, dst ? "src" : "dst");
    }
    rc = stream_thread(call, thread, &t);
    return rc == HCCL_SUCCESS ? sdma(call, t, A350_SDMA_CPY, (uintptr_t)dst,
                                     (uintptr_t)src, len) : rc;
}

/* spec/api/hcomm-data-plane.md §3.8, column LocalReduce. */
static bool reduce_code(HcommDataType type, HcommReduceOp op, uint32_t *code,
                        uint32_t *size)
{
    switch (type) {
    case HCOMM_DATA_TYPE_INT8:
        *code = A350_SDMA_INT8;
        *size = 1;
        break;
    case HCOMM_DATA_TYPE_INT16:
        *code = A350_SDMA_INT16;
        *size = 2;
        break;
    case HCOMM_DATA_TYPE_INT32:
        *code = A350_SDMA_INT32;
        *size = 4;
        break;
    case HCOMM_DATA_TYPE_FP16:
        *code = A350_SDMA_FP16;
        *size = 2;
        break;
    case HCOMM_DATA_TYPE_FP32:
        *code = A350_SDMA_FP32;
        *size = 4;
        break;
    case HCOMM_DATA_TYPE_BFP16:
        *code = A350_SDMA_BF16;
        *size = 2;
        break;
    default:
        return false;
    }
    switch (op) {
    case HCOMM_REDUCE_SUM:
        *code |= A350_SDMA_ADD;
        return true;
    case HCOMM_REDUCE_MAX:
        *code |= A350_SDMA_MAX;
        return true;
    case HCOMM_REDUCE_MIN:
        *code |= A350_SDMA_MIN;
        return true;
    default:
        return false;
    }
}

int32_t HcommLocalReduceOnThread(ThreadHandle thread, void *dst,
                                 const void *src, uint64_t count,
                                 HcommDataType dataType,
                                 HcommReduceOp reduceOp)
{
    static const char call[] = "HcommLocalReduceOnThread";
    uint32_t code, size;
    hcl_thread *t;
    int32_t rc;

    if (!dst || !src) {
        return hcl_null(call, dst ? "src" : "dst");
    }
    rc = stream_thread(call, thread, &t);
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    if (!reduce_code(dataType, reduceOp, &code, &size)) {
        return hcl_bad(HCCL_E_PARA, call, "dataType, reduceOp", "int8, int16, "
                       "int32, fp16, fp32 or bfp16 with sum, max or min",
                       "%d, %d", (int)dataType, (int)reduceOp);
    }
    if (count > UINT64_MAX / size) {
        return hcl_bad(HCCL_E_PARA, call, "count", "a size of 64 bits", "%llu",
                       (unsigned long long)count);
    }
    return sdma(call, t, code, (uintptr_t)dst, (uintptr_t)src, count * size);
}

/* ---- control ---- */

int32_t HcommSetNotifyWaitTimeOut(float timeOut)
{
    if (isnan(timeOut) || timeOut < 0 || timeOut > (float)UINT32_MAX) {
        return hcl_bad(HCCL_E_PARA, "HcommSetNotifyWaitTimeOut", "timeOut",
                       "seconds from 0 to 4294967295", "%g", (double)timeOut);
    }
    default_wait = timeOut >= 4294967040.0f ? UINT32_MAX : (uint32_t)timeOut;
    return HCCL_SUCCESS;
}

/* Streams have no staging: every task goes out at once. */
int32_t HcommBatchModeStart(const char *batchTag)
{
    (void)batchTag;
    return HCCL_SUCCESS;
}

int32_t HcommBatchModeEnd(const char *batchTag)
{
    (void)batchTag;
    return HCCL_SUCCESS;
}

int32_t HcommAcquireComm(const char *commId)
{
    hcl_comm *c;

    if (!commId) {
        return hcl_null("HcommAcquireComm", "commId");
    }
    c = hcl_comm_by_name(-1, commId);
    if (!c) {
        return hcl_bad(HCCL_E_PTR, "HcommAcquireComm", "commId", "the name of "
                       "a live communicator", "\"%.127s\"", commId);
    }
    hcl_comm_put(c);
    return HCCL_SUCCESS;
}

int32_t HcommReleaseComm(const char *commId)
{
    return commId ? HCCL_SUCCESS : hcl_null("HcommReleaseComm", "commId");
}

/* ---- kernels only, or for a host network interface ---- */

static int32_t kernels_only(const char *call)
{
    return hcl_fail(HCCL_E_NOT_SUPPORT, "EI0003", "%s: for AICPU kernels; the "
                    "host queues thread notifies and local copies only", call);
}

static int32_t no_nic(const char *call)
{
    return hcl_fail(HCCL_E_NOT_SUPPORT, "EI0003", "%s: needs a channel of "
                    "engine CPU over a host network interface, which this "
                    "card has not", call);
}

/* These have their arguments only for their signature. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

int32_t HcommWriteOnThread(ThreadHandle t, ChannelHandle c, void *d,
                           const void *s, uint64_t n)
{
    return kernels_only("HcommWriteOnThread");
}

int32_t HcommWriteReduceOnThread(ThreadHandle t, ChannelHandle c, void *d,
                                 const void *s, uint64_t n, HcommDataType y,
                                 HcommReduceOp o)
{
    return kernels_only("HcommWriteReduceOnThread");
}

int32_t HcommWriteWithNotifyOnThread(ThreadHandle t, ChannelHandle c, void *d,
                                     const void *s, uint64_t n, uint32_t i)
{
    return kernels_only("HcommWriteWithNotifyOnThread");
}

int32_t HcommWriteReduceWithNotifyOnThread(ThreadHandle t, ChannelHandle c,
                                           void *d, const void *s, uint64_t n,
                                           HcommDataType y, HcommReduceOp o,
                                           uint32_t i)
{
    return kernels_only("HcommWriteReduceWithNotifyOnThread");
}

int32_t HcommReadOnThread(ThreadHandle t, ChannelHandle c, void *d,
                          const void *s, uint64_t n)
{
    return kernels_only("HcommReadOnThread");
}

int32_t HcommReadReduceOnThread(ThreadHandle t, ChannelHandle c, void *d,
                                const void *s, uint64_t n, HcommDataType y,
                                HcommReduceOp o)
{
    return kernels_only("HcommReadReduceOnThread");
}

int32_t HcommChannelNotifyRecordOnThread(ThreadHandle t, ChannelHandle c,
                                         uint32_t i)
{
    return kernels_only("HcommChannelNotifyRecordOnThread");
}

int32_t HcommChannelNotifyWaitOnThread(ThreadHandle t, ChannelHandle c,
                                       uint32_t i, uint32_t s)
{
    return kernels_only("HcommChannelNotifyWaitOnThread");
}

int32_t HcommChannelNotifyWaitOnThreadWithDefaultTimeout(ThreadHandle t,
                                                         ChannelHandle c,
                                                         uint32_t i)
{
    return kernels_only("HcommChannelNotifyWaitOnThreadWithDefaultTimeout");
}

int32_t HcommBatchTransferOnThread(ThreadHandle t, ChannelHandle c,
                                   const HcommBatchTransferDesc *d, uint32_t n)
{
    return kernels_only("HcommBatchTransferOnThread");
}

int32_t HcommChannelFenceOnThread(ThreadHandle t, ChannelHandle c)
{
    return kernels_only("HcommChannelFenceOnThread");
}

int32_t HcommChannelDrainOnThread(ThreadHandle t, ChannelHandle c)
{
    return kernels_only("HcommChannelDrainOnThread");
}

int32_t HcommThreadResAcquireTimeOut(float timeOut)
{
    return kernels_only("HcommThreadResAcquireTimeOut");
}

HCL_EXPORT int32_t HcommThreadJoin(ThreadHandle t, uint32_t s);
int32_t HcommThreadJoin(ThreadHandle t, uint32_t s)
{
    return kernels_only("HcommThreadJoin");
}

HcommResult HcommAicpuTsTaskCacheLookup(const char *tag, bool *isHit)
{
    return kernels_only("HcommAicpuTsTaskCacheLookup");
}

HcommResult HcommAicpuTsTaskCacheStart(const char *tag, void **addrs,
                                       uint64_t *sizes, uint64_t count)
{
    return kernels_only("HcommAicpuTsTaskCacheStart");
}

HcommResult HcommAicpuTsTaskCacheEnd(const char *tag)
{
    return kernels_only("HcommAicpuTsTaskCacheEnd");
}

HcommResult HcommAicpuTsTaskCacheExecute(const char *tag, void **addrs,
                                         uint64_t *sizes, uint64_t count)
{
    return kernels_only("HcommAicpuTsTaskCacheExecute");
}

HcommResult HcommAicpuTsTaskCacheClear(const char *tag)
{
    return kernels_only("HcommAicpuTsTaskCacheClear");
}

int32_t HcommWriteNbi(ChannelHandle c, void *d, const void *s, uint64_t n)
{
    return no_nic("HcommWriteNbi");
}

int32_t HcommReadNbi(ChannelHandle c, void *d, const void *s, uint64_t n)
{
    return no_nic("HcommReadNbi");
}

int32_t HcommWriteNbiOnThread(ThreadHandle t, ChannelHandle c, void *d,
                              const void *s, uint64_t n)
{
    return no_nic("HcommWriteNbiOnThread");
}

int32_t HcommReadNbiOnThread(ThreadHandle t, ChannelHandle c, void *d,
                             const void *s, uint64_t n)
{
    return no_nic("HcommReadNbiOnThread");
}

int32_t HcommWriteWithNotifyNbi(ChannelHandle c, void *d, const void *s,
                                uint64_t n, uint32_t i)
{
    return no_nic("HcommWriteWithNotifyNbi");
}

int32_t HcommWriteWithNotifyNbiOnThread(ThreadHandle t, ChannelHandle c,
                                        void *d, const void *s, uint64_t n,
                                        uint32_t i)
{
    return no_nic("HcommWriteWithNotifyNbiOnThread");
}

int32_t HcommChannelNotifyRecord(ChannelHandle c, uint32_t i)
{
    return no_nic("HcommChannelNotifyRecord");
}

int32_t HcommChannelNotifyWait(ChannelHandle c, uint32_t i, uint32_t s)
{
    return no_nic("HcommChannelNotifyWait");
}

int32_t HcommChannelFence(ChannelHandle c)
{
    return no_nic("HcommChannelFence");
}

int32_t HcommFenceOnThread(ThreadHandle t)
{
    return no_nic("HcommFenceOnThread");
}

/* Resolved at run time by operator libraries; in no header. */
HCL_EXPORT int32_t HcommChannelNotifyWaitWithDefaultTimeout(ChannelHandle c,
                                                            uint32_t i);
int32_t HcommChannelNotifyWaitWithDefaultTimeout(ChannelHandle c, uint32_t i)
{
    return no_nic("HcommChannelNotifyWaitWithDefaultTimeout");
}

HCL_EXPORT int32_t HcommThreadSynchronize(ThreadHandle thread);
int32_t HcommThreadSynchronize(ThreadHandle thread)
{
    hcl_thread *t;
    HcclResult rc = stream_thread("HcommThreadSynchronize", thread, &t);

    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    return hcl_acl(aclrtSynchronizeStream(t->stream), "HcommThreadSynchronize");
}

HCL_EXPORT int32_t HcommSendRequest(uint64_t handle, const char *msgTag,
                                    const void *src, size_t size,
                                    uint32_t *msgId);
int32_t HcommSendRequest(uint64_t handle, const char *msgTag, const void *src,
                         size_t size, uint32_t *msgId)
{
    return no_nic("HcommSendRequest");
}

HCL_EXPORT int32_t HcommWaitResponse(uint64_t handle, void *dst, size_t size,
                                     uint32_t *msgId);
int32_t HcommWaitResponse(uint64_t handle, void *dst, size_t size,
                          uint32_t *msgId)
{
    return no_nic("HcommWaitResponse");
}

HCL_EXPORT int32_t HcommFlush(void);
int32_t HcommFlush(void)
{
    return no_nic("HcommFlush");
}
