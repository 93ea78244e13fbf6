/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HCCL_CUSTOM_ALLGATHER_H
#define HCCL_CUSTOM_ALLGATHER_H

#include <stdint.h>
#include <acl/acl_rt.h>
#include <hccl/hccl_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Every rank's sendCount elements to recvBuf of every rank, in rank order.
 * Only queues on the stream. Any size; device memory.
 */
HcclResult HcclAllGatherCustom(void *sendBuf, void *recvBuf,
                               uint64_t sendCount, HcclDataType dataType,
                               HcclComm comm, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif /* HCCL_CUSTOM_ALLGATHER_H */
