/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Send and receive as a custom operator: the sender stages in its HCCL buffer,
 * the receiver reads from there straight into the user's memory.
 */
#ifndef HCCL_CUSTOM_P2P_H
#define HCCL_CUSTOM_P2P_H

#include <stdint.h>
#include <acl/acl_rt.h>
#include <hccl/hccl_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Both only queue on the stream. Any number of elements, device memory. */
HcclResult HcclSendCustom(void *sendBuf, uint64_t count, HcclDataType dataType,
                          uint32_t destRank, HcclComm comm,
                          aclrtStream stream);
HcclResult HcclRecvCustom(void *recvBuf, uint64_t count, HcclDataType dataType,
                          uint32_t srcRank, HcclComm comm,
                          aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif /* HCCL_CUSTOM_P2P_H */
