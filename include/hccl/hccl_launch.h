/*
 * HCCL: launch of point-to-point operators on the AICPU.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hccl-control-plane.md §3.2, §4.5 and Appendix A.
 */
#ifndef HCCL_LAUNCH_H
#define HCCL_LAUNCH_H

#include <acl/acl_rt.h>
#include "hccl_types.h"
#include "hcomm_res_defs.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
const uint32_t P2P_MAX_ARG_SIZE = 8192U;
const uint32_t HCCL_OP_DESC_OP_NAME_MAX_LEN = 256;
const uint32_t HCCL_OPDESC_MAGIC_WORD = 0x0f0f0f0f;
const uint32_t HCCL_OPDESC_VERSION = 1;
const uint32_t HCCL_KERNEL_SO_NAME_MAX_LEN = 256;
const uint32_t HCCL_KERNEL_FUNC_NAME_MAX_LEN = 256;
const uint32_t HCCL_KERNEL_LAUNCH_CFG_MAGIC_WORD = 0x0f0f0f0f;
const uint32_t HCCL_KERNEL_LAUNCH_CFG_VERSION = 1;
#else
#define P2P_MAX_ARG_SIZE                    8192U
#define HCCL_OP_DESC_OP_NAME_MAX_LEN        256U
#define HCCL_OPDESC_MAGIC_WORD              0x0f0f0f0fU
#define HCCL_OPDESC_VERSION                 1U
#define HCCL_KERNEL_SO_NAME_MAX_LEN         256U
#define HCCL_KERNEL_FUNC_NAME_MAX_LEN       256U
#define HCCL_KERNEL_LAUNCH_CFG_MAGIC_WORD   0x0f0f0f0fU
#define HCCL_KERNEL_LAUNCH_CFG_VERSION      1U
#endif

/* What the kernel of HcclAicpuKernelLaunch() gets. */
typedef struct {
    ThreadHandle sendRecvThread;
    uint8_t opParams[P2P_MAX_ARG_SIZE];
} HcclP2pKernelParam;

typedef struct {
    void *buffer;
    uint8_t reserved[8];
    HcclCMDType cmdType;
    HcclDataType dataType;
    uint64_t count;
    uint32_t remoteRank;
    void *unfoldStream;              /* the stream that kernels run on */
} HcclOpP2pDesc;

typedef struct {
    CommAbiHeader header;
    uint32_t opDescType;             /* 1: point to point */
    char opName[HCCL_OP_DESC_OP_NAME_MAX_LEN];
    union {
        uint8_t raws[76];
        HcclOpP2pDesc p2p;
    };
} HcclOpDesc;

typedef struct {
    char kernelSoName[HCCL_KERNEL_SO_NAME_MAX_LEN];
    char kernelFuncName[HCCL_KERNEL_FUNC_NAME_MAX_LEN];
    void *args;
    uint32_t argSize;                /* bytes, at most P2P_MAX_ARG_SIZE */
} HcclKernelFuncInfo;

typedef struct {
    CommAbiHeader header;
    uint64_t timeOut;                /* s */
    uint8_t reserved[104];
} HcclKernelLaunchCfg;

static inline HcclResult HcclOpDescInit(HcclOpDesc *opDesc)
{
    if (opDesc == NULL) {
        return HCCL_E_PTR;
    }
    memset(opDesc, 0xff, sizeof(*opDesc));
    opDesc->header.version = HCCL_OPDESC_VERSION;
    opDesc->header.magicWord = HCCL_OPDESC_MAGIC_WORD;
    opDesc->header.size = (uint32_t)sizeof(*opDesc);
    opDesc->header.reserved = 0;
    return HCCL_SUCCESS;
}

static inline HcclResult HcclKernelLaunchCfgInit(HcclKernelLaunchCfg *cfg)
{
    if (cfg == NULL) {
        return HCCL_E_PTR;
    }
    memset(cfg, 0xff, sizeof(*cfg));
    cfg->header.version = HCCL_KERNEL_LAUNCH_CFG_VERSION;
    cfg->header.magicWord = HCCL_KERNEL_LAUNCH_CFG_MAGIC_WORD;
    cfg->header.size = (uint32_t)sizeof(*cfg);
    cfg->header.reserved = 0;
    return HCCL_SUCCESS;
}

/*
 * Launches a kernel of the operator library between a notify from
 * @userStream and one back to it. The headers of @opInfo and @cfg are not
 * checked.
 */
HcclResult HcclAicpuKernelLaunch(HcclComm comm, const HcclOpDesc *opInfo,
                                 const HcclKernelFuncInfo *funcInfo,
                                 ThreadHandle aicpuThreadHandle,
                                 aclrtStream userStream,
                                 const HcclKernelLaunchCfg *cfg);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_LAUNCH_H */
