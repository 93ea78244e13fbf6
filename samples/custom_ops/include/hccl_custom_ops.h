/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communication operators of our own: C interface of libhccl_custom_ops.so.
 * All are queued on @stream; counts are elements; buffers are card memory.
 */
#ifndef HCCL_CUSTOM_OPS_H
#define HCCL_CUSTOM_OPS_H

#include <acl/acl_rt.h>
#include <hccl/hccl_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Point to point: both sides with the same count and type. */
HcclResult HcclSendCustom(void *sendBuf, uint64_t count, HcclDataType dataType,
                          uint32_t destRank, HcclComm comm,
                          aclrtStream stream);
HcclResult HcclRecvCustom(void *recvBuf, uint64_t count, HcclDataType dataType,
                          uint32_t srcRank, HcclComm comm, aclrtStream stream);

/* recvBuf[r * sendCount + i] = rank r's sendBuf[i]. */
HcclResult HcclAllGatherCustom(void *sendBuf, void *recvBuf,
                               uint64_t sendCount, HcclDataType dataType,
                               HcclComm comm, aclrtStream stream);

/* Ring: every block is reduced on its way round. Types and operations of the
   UB link: int8/16/32, uint8/16/32, fp16, fp32, bf16; sum, max, min. */
HcclResult HcclAllReduceCustom(void *sendBuf, void *recvBuf, uint64_t count,
                               HcclDataType dataType, HcclReduceOp op,
                               HcclComm comm, aclrtStream stream);

/*
 * Rank 0 sends @question to all others; a rank looks at it on its AICPU and
 * answers an even number n with n / 2, an odd one with 3 n + 1. @answers
 * (card memory, ranks x uint64_t) is filled on rank 0.
 */
HcclResult HcclAskCustom(uint64_t question, void *answers, HcclComm comm,
                         aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_CUSTOM_OPS_H */
