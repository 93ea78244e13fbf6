/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs on the card. It only queues: when it returns, nothing need have moved.
 * It reads its parameters and the context straight from card memory.
 */
#include <algorithm>
#include "p2p_common.h"

#define CHK_RET(call)                           \
    do {                                        \
        int32_t ret_ = (call);                  \
        if (ret_ != 0) {                        \
            return ret_;                        \
        }                                       \
    } while (0)

namespace {

int32_t Send(const AlgResourceCtx &ctx, const uint8_t *user, uint64_t size)
{
    CHK_RET(HcommLocalCopyOnThread(ctx.aicpuThread, ctx.localBuffer, user,
                                   size));
    CHK_RET(HcommChannelNotifyRecordOnThread(ctx.aicpuThread, ctx.channel,
                                             NOTIFY_IDX_READY));
    return HcommChannelNotifyWaitOnThread(ctx.aicpuThread, ctx.channel,
                                          NOTIFY_IDX_DONE, CUSTOM_TIMEOUT);
}

/* The user's memory need not be registered: it is the local side. */
int32_t Receive(const AlgResourceCtx &ctx, uint8_t *user, uint64_t size)
{
    CHK_RET(HcommChannelNotifyWaitOnThread(ctx.aicpuThread, ctx.channel,
                                           NOTIFY_IDX_READY, CUSTOM_TIMEOUT));
    CHK_RET(HcommReadOnThread(ctx.aicpuThread, ctx.channel, user,
                              ctx.remoteBuffer, size));
    return HcommChannelNotifyRecordOnThread(ctx.aicpuThread, ctx.channel,
                                            NOTIFY_IDX_DONE);
}

int32_t Run(const OpParam &param)
{
    const AlgResourceCtx &ctx = *param.resCtx;
    uint8_t *user = static_cast<uint8_t *>(param.buffer);

    CHK_RET(HcommThreadNotifyWaitOnThread(ctx.aicpuThread, 0,
                                          CUSTOM_TIMEOUT));
    for (uint64_t done = 0; done < param.bytes;) {
        uint64_t size = std::min(param.bytes - done, ctx.bufferSize);

        CHK_RET(param.opType == HcclCMDType::HCCL_CMD_SEND
                ? Send(ctx, user + done, size)
                : Receive(ctx, user + done, size));
        done += size;
    }
    return HcommThreadNotifyRecordOnThread(ctx.aicpuThread,
                                           ctx.cpuThreadOnAicpu, 0);
}

} // namespace

extern "C" unsigned int HcclLaunchP2PAicpuKernel(OpParam *param)
{
    if (param == nullptr || param->resCtx == nullptr ||
        HcommBatchModeStart(param->tag) != 0) {
        return 1;
    }
    if (Run(*param) != 0) {
        return 1;
    }
    return HcommBatchModeEnd(param->tag) != 0;
}
