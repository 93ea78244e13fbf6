/*
 * HCCL: helpers of fused operators. Their kernels need engines that this
 * card's model has not: the setters work, HcclCreateOpResCtx() is
 * HCCL_E_NOT_SUPPORT.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hccl-collectives.md §1.1.
 */
#ifndef HCCL_MC2_H
#define HCCL_MC2_H

#include <hccl/hccl_types.h>
#include <hccl/hccl_res.h>

#ifdef __cplusplus
extern "C" {
#endif

HcclResult HcclKfcAllocOpArgs(void **opArgs);
HcclResult HcclKfcFreeOpArgs(void *opArgs);
HcclResult HcclKfcOpArgsSetSrcDataType(void *opArgs, uint8_t srcDataType);
HcclResult HcclKfcOpArgsSetDstDataType(void *opArgs, uint8_t dstDataType);
HcclResult HcclKfcOpArgsSetReduceType(void *opArgs, uint32_t reduceType);
HcclResult HcclKfcOpArgsSetCount(void *opArgs, uint64_t count);
HcclResult HcclKfcOpArgsSetAlgConfig(void *opArgs, char *algConfig);
HcclResult HcclKfcOpArgsSetCommEngine(void *opArgs, uint8_t commEngine);
HcclResult HcclCreateOpResCtx(HcclComm comm, uint8_t opType, void *opArgs,
                              void **opResCtx);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_MC2_H */
