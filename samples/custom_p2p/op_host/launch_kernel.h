/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCH_KERNEL_H
#define LAUNCH_KERNEL_H

#include "p2p_common.h"

struct HostThreads {
    ThreadHandle cpuThread;
    ThreadHandle aicpuThreadOnCpu;
};

/* Start signal, kernel, wait for its end; all on the user's stream. */
HcclResult LaunchKernel(OpParam &param, const HostThreads &threads,
                        aclrtStream stream);

#endif /* LAUNCH_KERNEL_H */
