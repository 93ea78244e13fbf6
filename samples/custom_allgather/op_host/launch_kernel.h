/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCH_KERNEL_H
#define LAUNCH_KERNEL_H

#include "allgather_common.h"

struct HostThreads {
    ThreadHandle cpuThread;
    ThreadHandle mainThreadOnCpu;
    uint32_t startNotify;        /* the last one of the main thread */
};

/* Start signal, kernel, wait for its end; all on the user's stream. */
HcclResult LaunchKernel(OpParam &param, const HostThreads &threads,
                        aclrtStream stream);

#endif /* LAUNCH_KERNEL_H */
