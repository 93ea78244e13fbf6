/*
 * Hcomm: operator registration for diagnosis.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hcomm-data-plane.md §2.6. Success without effect.
 */
#ifndef HCOMM_DIAG_H
#define HCOMM_DIAG_H

#include <stddef.h>
#include <stdint.h>
#include "hccl/hccl_types.h"
#include "hccl/hcomm_res_defs.h"

#ifdef __cplusplus
extern "C" {
#endif

HcommResult HcommRegOpInfo(const char *commId, void *opInfo, size_t size);
HcommResult HcommRegOpTaskException(const char *commId,
                                    void (*callback)(const void *, char *,
                                                     size_t));
HcommResult HcommProfilingReportDeviceOp(const char *groupName);
HcommResult HcommProfilingReportKernelStartTask(uint64_t thread,
                                                const char *groupName);
HcommResult HcommProfilingReportKernelEndTask(uint64_t thread,
                                              const char *groupName);
uint64_t HcommGetProfilingSysCycleTime(void);

#ifdef __cplusplus
}
#endif

#endif /* HCOMM_DIAG_H */
