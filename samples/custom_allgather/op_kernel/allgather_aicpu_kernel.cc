/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs on the card: queues the whole operator. Thread i works with the i-th
 * peer; thread 0 does the local copies too and waits for the others.
 */
#include <algorithm>
#include "allgather_common.h"

#define CHK_RET(call)                           \
    do {                                        \
        int32_t ret_ = (call);                  \
        if (ret_ != 0) {                        \
            return ret_;                        \
        }                                       \
    } while (0)

namespace {

class AllGather {
public:
    AllGather(const OpParam &param, const AlgResource &res)
        : param_(param), res_(res), main_(res.threads[0])
    {
        slot_ = std::min(MAX_CHUNK, res.bufferSize / res.rankSize) /
                SLOT_ALIGN * SLOT_ALIGN;
    }

    int32_t Run()
    {
        uint32_t start = static_cast<uint32_t>(res_.threads.size()) - 1;

        if (slot_ == 0 && res_.rankSize > 1) {
            return 1;
        }
        CHK_RET(HcommThreadNotifyWaitOnThread(main_, start, CUSTOM_TIMEOUT));
        if (res_.rankSize == 1) {
            CHK_RET(HcommLocalCopyOnThread(main_, param_.outputPtr,
                                           param_.inputPtr, param_.bytes));
        }
        for (uint64_t at = 0; at < param_.bytes && res_.rankSize > 1;
             at += slot_) {
            CHK_RET(Chunk(at, std::min(slot_, param_.bytes - at)));
        }
        return HcommThreadNotifyRecordOnThread(main_, param_.cpuThreadOnAicpu,
                                               0);
    }

private:
    uint8_t *Slot(void *buffer, uint32_t rank) const
    {
        return static_cast<uint8_t *>(buffer) + rank * slot_;
    }

    int32_t Chunk(uint64_t at, uint64_t size)
    {
        uint8_t *in = static_cast<uint8_t *>(param_.inputPtr) + at;
        uint32_t peers = static_cast<uint32_t>(res_.channels.size());

        CHK_RET(HcommLocalCopyOnThread(main_, Slot(res_.buffer, res_.rank),
                                       in, size));
        for (uint32_t i = 1; i < peers; i++) {
            CHK_RET(HcommThreadNotifyRecordOnThread(main_, res_.threads[i],
                                                    0));
            CHK_RET(HcommThreadNotifyWaitOnThread(res_.threads[i], 0,
                                                  CUSTOM_TIMEOUT));
        }
        for (uint32_t i = 0; i < peers; i++) {
            CHK_RET(Exchange(res_.threads[i], res_.channels[i], size));
        }
        for (uint32_t i = 1; i < peers; i++) {
            CHK_RET(HcommThreadNotifyRecordOnThread(res_.threads[i], main_,
                                                    i - 1));
            CHK_RET(HcommThreadNotifyWaitOnThread(main_, i - 1,
                                                  CUSTOM_TIMEOUT));
        }
        return CopyOut(at, size);
    }

    /* Both may write, then both have written. */
    int32_t Exchange(ThreadHandle thread, const ChannelInfo &peer,
                     uint64_t size)
    {
        CHK_RET(HcommChannelNotifyRecordOnThread(thread, peer.handle,
                                                 NOTIFY_IDX_ACK));
        CHK_RET(HcommChannelNotifyWaitOnThread(thread, peer.handle,
                                               NOTIFY_IDX_ACK,
                                               CUSTOM_TIMEOUT));
        CHK_RET(HcommWriteOnThread(thread, peer.handle,
                                   Slot(peer.remoteBuffer, res_.rank),
                                   Slot(res_.buffer, res_.rank), size));
        CHK_RET(HcommChannelNotifyRecordOnThread(thread, peer.handle,
                                                 NOTIFY_IDX_DATA));
        return HcommChannelNotifyWaitOnThread(thread, peer.handle,
                                              NOTIFY_IDX_DATA,
                                              CUSTOM_TIMEOUT);
    }

    int32_t CopyOut(uint64_t at, uint64_t size)
    {
        for (uint32_t rank = 0; rank < res_.rankSize; rank++) {
            uint8_t *out = static_cast<uint8_t *>(param_.outputPtr) +
                           rank * param_.bytes + at;

            CHK_RET(HcommLocalCopyOnThread(main_, out,
                                           Slot(res_.buffer, rank), size));
        }
        return 0;
    }

    const OpParam &param_;
    const AlgResource &res_;
    ThreadHandle main_;
    uint64_t slot_;
};

} // namespace

extern "C" unsigned int HcclLaunchAllGatherAicpuKernel(OpParam *param)
{
    AlgResource res;

    if (param == nullptr || param->ctx == nullptr ||
        !res.Deserialize(param->ctx, param->ctxSize) || res.threads.empty()) {
        return 1;
    }
    if (HcommBatchModeStart(param->tag) != 0) {
        return 1;
    }
    if (AllGather(*param, res).Run() != 0) {
        return 1;
    }
    return HcommBatchModeEnd(param->tag) != 0;
}
