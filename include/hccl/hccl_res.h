/*
 * HCCL: what a communicator owns - buffer, threads, contexts, memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hccl-control-plane.md §4.2, §5, §6. Everything given out here
 * belongs to the communicator and ends with it.
 */
#ifndef HCCL_RES_H
#define HCCL_RES_H

#include "acl/acl_rt.h"
#include "hccl_types.h"
#include "hcomm_res_defs.h"
#include "hccl_channel.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
static const uint32_t HCCL_RES_TAG_MAX_LEN = 255;
#else
#define HCCL_RES_TAG_MAX_LEN 255U
#endif

typedef aclrtStream ThreadResTypeStream;

typedef enum {
    HCCL_DED_THREAD_TYPE_INVALID = -1,
    HCCL_DED_THREAD_TYPE_AICPU_LAUNCH = 0,
    HCCL_DED_THREAD_TYPE_AICPU_LAUNCH_GE = 1,
    HCCL_DED_THREAD_TYPE_AICPU_ORDER_LAUNCH_OPBASE = 2,
    HCCL_DED_THREAD_TYPE_AICPU_ORDER_LAUNCH_ACLGRAPH = 3,
    HCCL_DED_THREAD_TYPE_AICPU_ORDER_LAUNCH_GE = 4,
    HCCL_DED_THREAD_TYPE_AICPU_ORDER_LAUNCH_DEVICE = 5
} HcclDedicatedThreadType;

/*
 * The communicator's staging memory on its card: 2 x hcclBufferSize MiB. With
 * one rank there is none: address NULL, size 0. Cleared: zeroed at every call,
 * HCCL_E_PARA if there is none.
 */
HcclResult HcclGetHcclBuffer(HcclComm comm, void **buffer, uint64_t *size);
HcclResult HcclGetHcclBufferCleared(HcclComm comm, void **buffer,
                                    uint64_t *size);

/*
 * Threads are pooled for a communicator and engine: a call gives the first
 * @threadNum of the pool, which grows as needed, each with at least
 * @notifyNumPerThread notifies. A second call gives the same threads.
 * Engines CPU, CPU_TS, AICPU, AICPU_TS. At most 200 threads and 65536
 * notifies in a communicator: HCCL_E_UNAVAIL.
 */
HcclResult HcclThreadAcquire(HcclComm comm, CommEngine engine,
                             uint32_t threadNum, uint32_t notifyNumPerThread,
                             ThreadHandle *threads);
/* Engines CPU and AICPU, @type THREAD_TYPE_TS. */
HcclResult HcclThreadAcquireWithConfig(HcclComm comm, CommEngine engine,
                                       uint32_t threadNum, ThreadType type,
                                       const ThreadConfig *config,
                                       ThreadHandle *threads);
/* A thread whose tasks go to @stream; one for a stream. */
HcclResult HcclThreadAcquireWithStream(HcclComm comm, CommEngine engine,
                                       aclrtStream stream, uint32_t notifyNum,
                                       ThreadHandle *thread);
/* @notifyNumPerThread 0..64. Handle 0 with success: not needed here. */
HcclResult HcclDedicatedThreadAcquire(HcclComm comm,
                                      HcclDedicatedThreadType type,
                                      uint32_t notifyNumPerThread,
                                      ThreadHandle *thread);
HcclResult HcclThreadResGetInfo(HcclComm comm, ThreadHandle thread,
                                ThreadResType type, uint32_t infoLen,
                                void **info);

/*
 * Memory under a name, kept between calls of an operator; the key is @ctxTag
 * (0..255 characters, NULL is "") with the engine. AICPU, AICPU_TS and AIV:
 * card memory, contents undefined; CPU, CPU_TS and CCU: host memory, zeroed.
 */
HcclResult HcclEngineCtxCreate(HcclComm comm, const char *ctxTag,
                               CommEngine engine, uint64_t size, void **ctx);
/* HCCL_E_NOT_FOUND leaves both outputs as they were. */
HcclResult HcclEngineCtxGet(HcclComm comm, const char *ctxTag,
                            CommEngine engine, void **ctx, uint64_t *size);
/* From host memory into the context, done on return. */
HcclResult HcclEngineCtxCopy(HcclComm comm, CommEngine engine,
                             const char *ctxTag, const void *srcCtx,
                             uint64_t size, uint64_t dstCtxOffset);
HcclResult HcclEngineCtxDestroy(HcclComm comm, const char *ctxTag,
                                CommEngine engine);

/* Memory that channels made from now on give to their peers. @memTag 1..255
   characters, once in a communicator. */
HcclResult HcclCommMemReg(HcclComm comm, const char *memTag,
                          const CommMem *mem, HcclMemHandle *memHandle);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_RES_H */
