/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HcclAicpuKernelLaunch: spec/api/hccl-control-plane.md §4.5. Its kernels are
 * those of the operator library, which this build does not have.
 */
#include <string.h>
#include "hccl_internal.h"

HcclResult HcclAicpuKernelLaunch(HcclComm comm, const HcclOpDesc *opInfo,
                                 const HcclKernelFuncInfo *funcInfo,
                                 ThreadHandle aicpuThreadHandle,
                                 aclrtStream userStream,
                                 const HcclKernelLaunchCfg *cfg)
{
    static const char call[] = "HcclAicpuKernelLaunch";
    HcclResult rc;
    hcl_comm *c;

    if (!comm || !opInfo || !funcInfo || !userStream || !cfg) {
        return hcl_null(call, !comm ? "comm" : !opInfo ? "opInfo"
                        : !funcInfo ? "funcInfo"
                        : userStream ? "cfg" : "userStream");
    }
    c = hcl_comm_get(comm, call, &rc);
    if (!c) {
        return rc;
    }
    if (funcInfo->argSize && !funcInfo->args) {
        rc = hcl_null(call, "funcInfo->args");
    } else if (funcInfo->argSize > P2P_MAX_ARG_SIZE) {
        rc = hcl_bad(HCCL_E_PARA, call, "argSize", "0 to 8192", "%u",
                     funcInfo->argSize);
    } else if (!hcl_thread_get(aicpuThreadHandle)) {
        rc = hcl_bad(HCCL_E_PARA, call, "aicpuThreadHandle", "a thread of "
                     "this communicator", "0x%llx",
                     (unsigned long long)aicpuThreadHandle);
    } else {
        rc = hcl_fail(HCCL_E_NOT_SUPPORT, "EI0003", "%s: this build has no "
                      "operator kernels; launch your own with "
                      "aclrtLaunchKernelWithConfig", call);
    }
    hcl_comm_put(c);
    return rc;
}
