/* SPDX-License-Identifier: Apache-2.0 */
#include <algorithm>
#include <hccl/hccl_types.h>
#include <hccl/hccl_res.h>
#include <hccl/hccl_comm.h>
#include <hccl/hccl_rank_graph.h>
#include <hccl/hccl_res_expt.h>
#include <acl/acl.h>
#include "hccl_custom_allgather.h"
#include "launch_kernel.h"

#define CHK_RET(call)                                           \
    do {                                                        \
        HcclResult ret_ = static_cast<HcclResult>(call);        \
        if (ret_ != HCCL_SUCCESS) {                             \
            return ret_;                                        \
        }                                                       \
    } while (0)

namespace {

constexpr uint32_t SIZE_TABLE[HCCL_DATA_TYPE_RESERVED] = {
    1, 2, 4, 2, 4, 8, 8, 1, 2, 4, 8, 2, 16, 0, 1, 1, 1, 1
};
constexpr CommEngine DEVICE = CommEngine::COMM_ENGINE_AICPU_TS;
constexpr CommEngine HOST = CommEngine::COMM_ENGINE_CPU_TS;

/* Kept in host memory under the same tag: what the host needs at each call. */
struct HostContext {
    ThreadHandle mainThread;
    uint32_t threadNum;
};

HcclResult DescribeChannel(HcclComm comm, uint32_t me, uint32_t peer,
                           HcclChannelDesc *desc)
{
    CommLink *links = nullptr;
    uint32_t num = 0;

    CHK_RET(HcclChannelDescInit(desc, 1));
    CHK_RET(HcclRankGraphGetLinks(comm, 0, me, peer, &links, &num));
    for (uint32_t i = 0; i < num; i++) {
        const CommLink &link = links[i];

        if (link.linkAttr.linkProtocol != CommProtocol::COMM_PROTOCOL_UB_CTP) {
            continue;
        }
        desc->remoteRank = peer;
        desc->notifyNum = CHANNEL_NOTIFY_NUM;
        desc->channelProtocol = link.linkAttr.linkProtocol;
        desc->localEndpoint.protocol = link.srcEndpointDesc.protocol;
        desc->localEndpoint.commAddr = link.srcEndpointDesc.commAddr;
        desc->localEndpoint.loc = link.srcEndpointDesc.loc;
        desc->remoteEndpoint.protocol = link.dstEndpointDesc.protocol;
        desc->remoteEndpoint.commAddr = link.dstEndpointDesc.commAddr;
        desc->remoteEndpoint.loc = link.dstEndpointDesc.loc;
        return HCCL_SUCCESS;
    }
    return HCCL_E_NOT_FOUND;
}

HcclResult AcquireChannels(HcclComm comm, AlgResource *res)
{
    std::vector<HcclChannelDesc> descs;
    std::vector<ChannelHandle> handles(res->rankSize);

    for (uint32_t peer = 0; peer < res->rankSize; peer++) {
        HcclChannelDesc desc;

        if (peer != res->rank) {
            CHK_RET(DescribeChannel(comm, res->rank, peer, &desc));
            descs.push_back(desc);
        }
    }
    if (!descs.empty()) {
        CHK_RET(HcclChannelAcquire(comm, DEVICE, descs.data(),
                                   static_cast<uint32_t>(descs.size()),
                                   handles.data()));
    }
    CHK_RET(HcclGetHcclBuffer(comm, &res->buffer, &res->bufferSize));
    for (size_t i = 0; i < descs.size(); i++) {
        ChannelInfo info = { descs[i].remoteRank, CHANNEL_NOTIFY_NUM,
                             handles[i], nullptr, 0 };

        CHK_RET(HcclChannelGetHcclBuffer(comm, info.handle,
                                         &info.remoteBuffer,
                                         &info.remoteSize));
        res->channels.push_back(info);
    }
    return HCCL_SUCCESS;
}

HcclResult CreateResources(HcclComm comm, const char *tag, void **ctx,
                           uint64_t *size, HostContext **host)
{
    AlgResource res;
    void *hostCtx = nullptr;

    CHK_RET(HcclGetRankId(comm, &res.rank));
    CHK_RET(HcclGetRankSize(comm, &res.rankSize));
    uint32_t num = std::max(res.rankSize, 2u) - 1;
    res.threads.resize(num);
    CHK_RET(HcclThreadAcquire(comm, DEVICE, num, num, res.threads.data()));
    CHK_RET(AcquireChannels(comm, &res));
    std::vector<char> bytes = res.Serialize();
    CHK_RET(HcclEngineCtxCreate(comm, tag, DEVICE, bytes.size(), ctx));
    CHK_RET(HcclEngineCtxCopy(comm, DEVICE, tag, bytes.data(), bytes.size(),
                              0));
    CHK_RET(HcclEngineCtxCreate(comm, tag, HOST, sizeof(HostContext),
                                &hostCtx));
    *host = static_cast<HostContext *>(hostCtx);
    (*host)->mainThread = res.threads[0];
    (*host)->threadNum = num;
    *size = bytes.size();
    return HCCL_SUCCESS;
}

HcclResult GetResources(HcclComm comm, OpParam &param, HostContext **host)
{
    const char *tag = param.tag;
    void *ctx = nullptr, *hostCtx = nullptr;
    uint64_t size = 0, hostSize = 0;

    if (HcclEngineCtxGet(comm, tag, DEVICE, &ctx, &size) != HCCL_SUCCESS) {
        CHK_RET(CreateResources(comm, tag, &ctx, &size, host));
    } else {
        CHK_RET(HcclEngineCtxGet(comm, tag, HOST, &hostCtx, &hostSize));
        *host = static_cast<HostContext *>(hostCtx);
    }
    param.ctx = static_cast<char *>(ctx);
    param.ctxSize = size;
    return HCCL_SUCCESS;
}

} // namespace

HcclResult HcclAllGatherCustom(void *sendBuf, void *recvBuf,
                               uint64_t sendCount, HcclDataType dataType,
                               HcclComm comm, aclrtStream stream)
{
    char commName[COMM_NAME_MAX_LENGTH] = {0};
    HostContext *host = nullptr;
    HostThreads threads;
    OpParam param;

    if (sendBuf == nullptr || recvBuf == nullptr || comm == nullptr ||
        stream == nullptr) {
        return HCCL_E_PTR;
    }
    if (dataType < 0 || dataType >= HCCL_DATA_TYPE_RESERVED ||
        SIZE_TABLE[dataType] == 0) {
        return HCCL_E_PARA;
    }
    (void)memset_s(&param, sizeof(param), 0, sizeof(param));
    param.count = sendCount;
    param.typeSize = SIZE_TABLE[dataType];
    param.dataType = dataType;
    param.bytes = sendCount * param.typeSize;
    param.inputPtr = sendBuf;
    param.outputPtr = recvBuf;
    CHK_RET(HcclGetCommName(comm, commName));
    if (sprintf_s(param.tag, sizeof(param.tag), "allgather_%s", commName) <
        0) {
        return HCCL_E_INTERNAL;
    }
    CHK_RET(HcclThreadAcquireWithStream(comm, HOST, stream, 1,
                                        &threads.cpuThread));
    CHK_RET(HcclThreadExportToCommEngine(comm, 1, &threads.cpuThread, DEVICE,
                                         &param.cpuThreadOnAicpu));
    CHK_RET(GetResources(comm, param, &host));
    CHK_RET(HcclThreadExportToCommEngine(comm, 1, &host->mainThread, HOST,
                                         &threads.mainThreadOnCpu));
    threads.startNotify = host->threadNum - 1;
    return LaunchKernel(param, threads, stream);
}
