/* SPDX-License-Identifier: Apache-2.0 */
#include "hccl_internal.h"

HcclResult hcl_init_cluster(const char *path, uint32_t rank,
                            const HcclCommConfig *config, HcclComm *comm,
                            const char *call)
{
    if (!path || !config || !comm) {
        return hcl_null(call, !path ? "clusterInfo" : config ? "comm"
                        : "config");
    }
    return hcl_fail(HCCL_E_NOT_SUPPORT, "EI0004", "%s: rank %u: rank tables "
                    "are not read yet", call, rank);
}
