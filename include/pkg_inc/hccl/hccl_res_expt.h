/*
 * HCCL: resources outside the public headers.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hccl-control-plane.md §5, §6, §7 and Appendix A.
 */
#ifndef HCCL_RES_EXPT_H
#define HCCL_RES_EXPT_H

#include <stdint.h>
#include <stdbool.h>
#include "hccl/hccl_res.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t(Callback)(uint64_t, int32_t);

/*
 * The same threads as another engine knows them: host threads for kernels
 * (AICPU, AICPU_TS), kernel threads for the host (CPU, CPU_TS, CCU).
 * @threadNum 1..40. An unknown handle is HCCL_E_PARA. Repeatable.
 */
HcclResult HcclThreadExportToCommEngine(HcclComm comm, uint32_t threadNum,
                                        const ThreadHandle *threads,
                                        CommEngine dstCommEngine,
                                        ThreadHandle *exportedThreads);

/* Notifies of a thread, the hidden last one of an AICPU_TS thread included. */
HcclResult HcclGetNotifyNumInThread(HcclComm comm, ThreadHandle thread,
                                    CommEngine engine, uint32_t *notifyNum);
HcclResult HcclChannelGetNotifyNum(HcclComm comm, ChannelHandle channel,
                                   uint32_t *notifyNum);

/* Card memory under a name: made at the first call, given again after. */
HcclResult HcclDevMemAcquire(HcclComm comm, const char *memTag, uint64_t *size,
                             void **addr, bool *newCreated);

/* Not on this card: HCCL_E_NOT_SUPPORT. */
HcclResult HcclGetRemoteIpcHcclBuf(HcclComm comm, uint64_t remoteRank,
                                   void **addr, uint64_t *size);
int32_t HcclTaskRegister(HcclComm comm, const char *msgTag, Callback cb);
int32_t HcclTaskUnRegister(HcclComm comm, const char *msgTag);

/*
 * Bytes that channels acquired from now on carry to their peers, which
 * compare them with their own: unequal is HCCL_E_PARA with EI0005. Get copies
 * what @remoteRank sent.
 */
HcclResult HcclCommAddExchangeInfo(HcclComm comm, const void *info,
                                   uint32_t length);
HcclResult HcclCommGetExchangeInfo(HcclComm comm, uint32_t remoteRank,
                                   uint32_t length, void *info,
                                   uint32_t *actualLength);
HcclResult HcclCommResetExchangeInfo(HcclComm comm);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_RES_EXPT_H */
