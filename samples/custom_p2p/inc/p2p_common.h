/* SPDX-License-Identifier: Apache-2.0 */
/* What crosses from the host library to the kernel, as raw bytes. */
#ifndef P2P_COMMON_H
#define P2P_COMMON_H

#include <stdint.h>
#include <hccl/hccl_types.h>
#include <hccl/hcomm_primitives.h>

constexpr uint32_t NOTIFY_IDX_READY = 0;
constexpr uint32_t NOTIFY_IDX_DONE = 1;
constexpr uint32_t CUSTOM_TIMEOUT = 27 * 68;
constexpr uint32_t TAG_LENGTH = 192;

/* Kept by the communicator in card memory, one for each peer. */
struct AlgResourceCtx {
    ThreadHandle cpuThreadOnAicpu;
    ThreadHandle aicpuThread;
    ChannelHandle channel;
    void *localBuffer;
    void *remoteBuffer;
    uint64_t bufferSize;
    uint64_t reserved;
};
static_assert(sizeof(AlgResourceCtx) == 56, "the kernel reads these bytes");

struct OpParam {
    char tag[TAG_LENGTH];
    HcclCMDType opType;
    HcclDataType dataType;
    uint64_t count;
    uint64_t bytes;
    void *buffer;
    AlgResourceCtx *resCtx;
};
static_assert(sizeof(OpParam) == 232, "the kernel reads these bytes");

#endif /* P2P_COMMON_H */
