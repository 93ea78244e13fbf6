/*
 * HCCL: operator registration for diagnosis.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hccl-control-plane.md §9. Profiling is not modelled: the report
 * calls succeed without effect.
 */
#ifndef HCCL_DIAG_H
#define HCCL_DIAG_H

#include <stdint.h>
#include "hccl/hccl_types.h"
#include "hccl/hcomm_res_defs.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    CommAbiHeader header;
    uint64_t beginTime;
    uint64_t endTime;
    uint32_t opMode;
    uint32_t opType;
    uint32_t reduceOp;
    uint32_t dataType;
    uint32_t outputType;
    uint64_t dataCount;
    uint32_t root;
    char algTag[288];
    CommEngine engine;
    uint64_t cpuTsThread;
    uint32_t cpuWaitAicpuNotifyIdx;
    uint32_t cpuWaitAicpuNotifyId;
    uint64_t inputMemAddr;
    uint64_t inputMemSize;
    uint64_t outputMemAddr;
    uint64_t outputMemSize;
    int8_t reserve[96];
} HcclDfxOpInfo;

HcclResult HcclDfxRegOpInfoByCommId(char *commId, void *hcclDfxOpInfo);
HcclResult HcclProfilingReportOp(HcclComm comm, uint64_t beginTime);
HcclResult HcclReportAicpuKernel(HcclComm comm, uint64_t beginTime,
                                 char *kernelName);
HcclResult HcclReportAivKernel(HcclComm comm, uint64_t beginTime);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_DIAG_H */
