/*
 * Hcomm data plane: what a thread does on a channel.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The same names stand in two libraries: libccl_kernel.so for AICPU kernels,
 * libhcomm.so for the host; a call that a side cannot make returns
 * HCCL_E_NOT_SUPPORT (5) there. Facts: spec/api/hcomm-data-plane.md.
 *
 * A thread is an in-order task queue, a channel a connection to one peer.
 * Every call queues work and returns; the work of one thread runs in the order
 * of the calls, and a transfer is complete before the thread's next task
 * starts. Two threads are ordered only by notifies.
 *
 * A notify is a flag: record sets it, wait blocks until it is set and clears
 * it. Two records before a wait are one. Timeouts are seconds, 0 waits for
 * ever.
 *
 * Results: 0, or a code of HcclResult. A null handle or pointer is HCCL_E_PTR,
 * a value out of range HCCL_E_PARA. Failures of the work itself come from the
 * stream of the operator: aclrtSynchronizeStream().
 *
 * Threads of the operating system: calls that name one thread or one channel
 * must not run at the same time; everything else may.
 */
#ifndef HCOMM_PRIMITIVES_H
#define HCOMM_PRIMITIVES_H

#include <stdint.h>
#include <stddef.h>
#include <securec.h>
#include <arpa/inet.h>
#include "acl/acl_rt.h"
#include "hcomm_res_defs.h"

/* The two timeout setters take float. */
#define HCOMM_TIMEOUT_FLOAT_TYPE 1

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    HCOMM_REDUCE_SUM = 0,
    HCOMM_REDUCE_PROD = 1,
    HCOMM_REDUCE_MAX = 2,
    HCOMM_REDUCE_MIN = 3,
    HCOMM_REDUCE_RESERVED = 255
} HcommReduceOp;

/* 13 is unused. */
typedef enum {
    HCOMM_DATA_TYPE_INT8 = 0,
    HCOMM_DATA_TYPE_INT16 = 1,
    HCOMM_DATA_TYPE_INT32 = 2,
    HCOMM_DATA_TYPE_FP16 = 3,
    HCOMM_DATA_TYPE_FP32 = 4,
    HCOMM_DATA_TYPE_INT64 = 5,
    HCOMM_DATA_TYPE_UINT64 = 6,
    HCOMM_DATA_TYPE_UINT8 = 7,
    HCOMM_DATA_TYPE_UINT16 = 8,
    HCOMM_DATA_TYPE_UINT32 = 9,
    HCOMM_DATA_TYPE_FP64 = 10,
    HCOMM_DATA_TYPE_BFP16 = 11,
    HCOMM_DATA_TYPE_INT128 = 12,
    HCOMM_DATA_TYPE_HIF8 = 14,
    HCOMM_DATA_TYPE_FP8E4M3 = 15,
    HCOMM_DATA_TYPE_FP8E5M2 = 16,
    HCOMM_DATA_TYPE_FP8E8M0 = 17,
    HCOMM_DATA_TYPE_RESERVED = 255
} HcommDataType;

typedef enum {
    HCOMM_TRANSFER_TYPE_INVALID = -1,
    HCOMM_TRANSFER_TYPE_WRITE = 0,
    HCOMM_TRANSFER_TYPE_WRITE_REDUCE = 1,
    HCOMM_TRANSFER_TYPE_WRITE_WITH_NOTIFY = 2,
    HCOMM_TRANSFER_TYPE_WRITE_REDUCE_WITH_NOTIFY = 3,
    HCOMM_TRANSFER_TYPE_READ = 4,
    HCOMM_TRANSFER_TYPE_READ_REDUCE = 5,
    HCOMM_TRANSFER_TYPE_NOTIFY_RECORD = 6
} HcommTransferType;

/* One entry of HcommBatchTransferOnThread; lengths in bytes, counts in
   elements. */
typedef struct {
    HcommTransferType transType;
    uint8_t reserved[4];
    union {
        uint8_t raws[56];
        struct {
            uint64_t len;
            void *dst;
            void *src;
        } write;
        struct {
            uint64_t len;
            void *dst;
            void *src;
        } read;
        struct {
            uint64_t count;
            void *dst;
            void *src;
            HcommReduceOp reduceOp;
            HcommDataType dataType;
        } reduce;
        struct {
            uint32_t notifyIdx;
        } notifyRecord;
        struct {
            uint64_t len;
            void *dst;
            void *src;
            uint32_t notifyIdx;
        } writeWithNotify;
        struct {
            uint64_t count;
            void *dst;
            void *src;
            HcommReduceOp reduceOp;
            HcommDataType dataType;
            uint32_t notifyIdx;
        } writeReduceWithNotify;
    } transferInfo;
} HcommBatchTransferDesc;

/*
 * On one card. The host side takes threads made from a stream
 * (HcclThreadAcquireWithStream) or exported to COMM_ENGINE_CPU_TS.
 */

/* dst = src, @len bytes; 0 queues nothing. */
int32_t HcommLocalCopyOnThread(ThreadHandle thread, void *dst, const void *src,
                               uint64_t len);

/* dst = dst op src, @count elements: int8/16/32, fp16/32, bf16; sum, max,
   min. */
int32_t HcommLocalReduceOnThread(ThreadHandle thread, void *dst,
                                 const void *src, uint64_t count,
                                 HcommDataType dataType,
                                 HcommReduceOp reduceOp);

/* Sets notify @dstNotifyIdx of @dstThread when @thread comes to it. */
int32_t HcommThreadNotifyRecordOnThread(ThreadHandle thread,
                                        ThreadHandle dstThread,
                                        uint32_t dstNotifyIdx);

/* Waits for the thread's own notify; @timeOut in seconds, 0: for ever. */
int32_t HcommThreadNotifyWaitOnThread(ThreadHandle thread, uint32_t notifyIdx,
                                      uint32_t timeOut);

/* As above with the time of HcommSetNotifyWaitTimeOut(). */
int32_t HcommThreadNotifyWaitOnThreadWithDefaultTimeout(ThreadHandle thread,
                                                        uint32_t notifyIdx);

/* Runtime notifies, by the id that aclrtGetNotifyId() gives. */
int32_t HcommAclrtNotifyRecordOnThread(ThreadHandle thread,
                                       uint64_t dstNotifyId);
int32_t HcommAclrtNotifyWaitOnThread(ThreadHandle thread, uint64_t notifyId,
                                     uint32_t timeOut);

/*
 * To and from the peer of a channel; kernels only. The remote operand lies
 * inside one memory exchanged on the channel (HcclChannelGetHcclBuffer,
 * HcclChannelGetRemoteMems), the local one anywhere in the card's memory. Any
 * length; a notify goes out after all data, also after none.
 */
int32_t HcommWriteOnThread(ThreadHandle thread, ChannelHandle channel,
                           void *dst, const void *src, uint64_t len);
int32_t HcommWriteReduceOnThread(ThreadHandle thread, ChannelHandle channel,
                                 void *dst, const void *src, uint64_t count,
                                 HcommDataType dataType,
                                 HcommReduceOp reduceOp);
int32_t HcommWriteWithNotifyOnThread(ThreadHandle thread,
                                     ChannelHandle channel, void *dst,
                                     const void *src, uint64_t len,
                                     uint32_t remoteNotifyIdx);
int32_t HcommWriteReduceWithNotifyOnThread(ThreadHandle thread,
                                           ChannelHandle channel, void *dst,
                                           const void *src, uint64_t count,
                                           HcommDataType dataType,
                                           HcommReduceOp reduceOp,
                                           uint32_t remoteNotifyIdx);
int32_t HcommReadOnThread(ThreadHandle thread, ChannelHandle channel,
                          void *dst, const void *src, uint64_t len);
int32_t HcommReadReduceOnThread(ThreadHandle thread, ChannelHandle channel,
                                void *dst, const void *src, uint64_t count,
                                HcommDataType dataType,
                                HcommReduceOp reduceOp);
int32_t HcommChannelNotifyRecordOnThread(ThreadHandle thread,
                                         ChannelHandle channel,
                                         uint32_t remoteNotifyIdx);
int32_t HcommChannelNotifyWaitOnThread(ThreadHandle thread,
                                       ChannelHandle channel,
                                       uint32_t localNotifyIdx,
                                       uint32_t timeOut);
int32_t HcommChannelNotifyWaitOnThreadWithDefaultTimeout(
    ThreadHandle thread, ChannelHandle channel, uint32_t localNotifyIdx);

/*
 * All entries under one doorbell, in the order of the array; among themselves
 * they are ordered only by the last, which is complete last.
 */
int32_t HcommBatchTransferOnThread(ThreadHandle thread, ChannelHandle channel,
                                   const HcommBatchTransferDesc *transferDescs,
                                   uint32_t transferDescNum);

/* The channel's next operation starts after all earlier ones completed. */
int32_t HcommChannelFenceOnThread(ThreadHandle thread, ChannelHandle channel);
int32_t HcommChannelDrainOnThread(ThreadHandle thread, ChannelHandle channel);

/* For a host network interface, which this card has not: HCCL_E_NOT_SUPPORT. */
int32_t HcommWriteNbi(ChannelHandle channel, void *dst, const void *src,
                      uint64_t len);
int32_t HcommReadNbi(ChannelHandle channel, void *dst, const void *src,
                     uint64_t len);
int32_t HcommWriteNbiOnThread(ThreadHandle thread, ChannelHandle channel,
                              void *dst, const void *src, uint64_t len);
int32_t HcommReadNbiOnThread(ThreadHandle thread, ChannelHandle channel,
                             void *dst, const void *src, uint64_t len);
int32_t HcommWriteWithNotifyNbi(ChannelHandle channel, void *dst,
                                const void *src, uint64_t len,
                                uint32_t remoteNotifyIdx);
int32_t HcommWriteWithNotifyNbiOnThread(ThreadHandle thread,
                                        ChannelHandle channel, void *dst,
                                        const void *src, uint64_t len,
                                        uint32_t remoteNotifyIdx);
int32_t HcommChannelNotifyRecord(ChannelHandle channel,
                                 uint32_t remoteNotifyIdx);
int32_t HcommChannelNotifyWait(ChannelHandle channel, uint32_t localNotifyIdx,
                               uint32_t timeOut);
int32_t HcommChannelFence(ChannelHandle channel);
int32_t HcommFenceOnThread(ThreadHandle thread);

/*
 * Batch mode, per thread of the operating system: between Start and End calls
 * collect tasks, End hands all of them over. @batchTag may be NULL.
 */
int32_t HcommBatchModeStart(const char *batchTag);
int32_t HcommBatchModeEnd(const char *batchTag);

/* Locks a communicator, named by HcclGetCommName(), among the card's kernels;
   waits without limit. HCCL_E_PTR: no such communicator. */
int32_t HcommAcquireComm(const char *commId);
int32_t HcommReleaseComm(const char *commId);

/*
 * Seconds, whole numbers (a fraction is cut off), 0: for ever; per thread of
 * the operating system. NaN, below 0 or above UINT32_MAX: HCCL_E_PARA.
 * Defaults: 1836 s for kernels, 1863 s on the host; 1856 s for a full queue.
 */
int32_t HcommSetNotifyWaitTimeOut(float timeOut);
int32_t HcommThreadResAcquireTimeOut(float timeOut);

/*
 * Task cache, kernels only: Lookup; after a miss Start, calls, End; after a
 * hit Execute replays the calls with other addresses. Sizes and count must be
 * those of the recording.
 */
HcommResult HcommAicpuTsTaskCacheLookup(const char *tag, bool *isHit);
HcommResult HcommAicpuTsTaskCacheStart(const char *tag, void **addrs,
                                       uint64_t *sizes, uint64_t count);
HcommResult HcommAicpuTsTaskCacheEnd(const char *tag);
HcommResult HcommAicpuTsTaskCacheExecute(const char *tag, void **addrs,
                                         uint64_t *sizes, uint64_t count);
HcommResult HcommAicpuTsTaskCacheClear(const char *tag);

#ifdef __cplusplus
}
#endif

#endif /* HCOMM_PRIMITIVES_H */
