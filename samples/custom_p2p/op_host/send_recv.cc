/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <hccl/hccl_types.h>
#include <hccl/hccl_res.h>
#include <hccl/hccl_comm.h>
#include <hccl/hccl_rank_graph.h>
#include <hccl/hccl_res_expt.h>
#include <acl/acl.h>
#include "hccl_custom_p2p.h"
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

HcclResult CheckDevice()
{
    const char *name = aclrtGetSocName();

    return name != nullptr && strstr(name, "Ascend950") != nullptr
           ? HCCL_SUCCESS : HCCL_E_NOT_SUPPORT;
}

/* The same handles at every call: threads are pooled. */
HcclResult AcquireThreads(HcclComm comm, aclrtStream stream, HostThreads *host,
                          AlgResourceCtx *ctx)
{
    CHK_RET(HcclThreadAcquireWithStream(comm, CommEngine::COMM_ENGINE_CPU_TS,
                                        stream, 1, &host->cpuThread));
    CHK_RET(HcclThreadExportToCommEngine(comm, 1, &host->cpuThread,
                                         CommEngine::COMM_ENGINE_AICPU_TS,
                                         &ctx->cpuThreadOnAicpu));
    CHK_RET(HcclThreadAcquire(comm, CommEngine::COMM_ENGINE_AICPU_TS, 1, 1,
                              &ctx->aicpuThread));
    return HcclThreadExportToCommEngine(comm, 1, &ctx->aicpuThread,
                                        CommEngine::COMM_ENGINE_CPU_TS,
                                        &host->aicpuThreadOnCpu);
}

HcclResult FindLink(HcclComm comm, uint32_t me, uint32_t peer,
                    HcclChannelDesc *desc)
{
    CommLink *links = nullptr;
    uint32_t num = 0;

    CHK_RET(HcclRankGraphGetLinks(comm, 0, me, peer, &links, &num));
    for (uint32_t i = 0; i < num; i++) {
        const CommLink &link = links[i];

        if (link.linkAttr.linkProtocol != CommProtocol::COMM_PROTOCOL_UB_CTP) {
            continue;
        }
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

HcclResult AcquireChannel(HcclComm comm, uint32_t me, uint32_t peer,
                          AlgResourceCtx *ctx)
{
    HcclChannelDesc desc;
    uint64_t size = 0;

    CHK_RET(HcclChannelDescInit(&desc, 1));
    desc.remoteRank = peer;
    desc.notifyNum = 2;
    CHK_RET(FindLink(comm, me, peer, &desc));
    CHK_RET(HcclChannelAcquire(comm, CommEngine::COMM_ENGINE_AICPU, &desc, 1,
                               &ctx->channel));
    CHK_RET(HcclGetHcclBuffer(comm, &ctx->localBuffer, &ctx->bufferSize));
    return HcclChannelGetHcclBuffer(comm, ctx->channel, &ctx->remoteBuffer,
                                    &size);
}

/*
 * The context of this peer. The threads of the stream may be others than those
 * of the last call, so they are written anew when they are.
 */
HcclResult Prepare(OpParam &param, uint32_t peer, HcclComm comm,
                   aclrtStream stream, HostThreads *host)
{
    char commName[COMM_NAME_MAX_LENGTH] = {0};
    constexpr CommEngine engine = CommEngine::COMM_ENGINE_AICPU;
    AlgResourceCtx now = {};
    uint64_t size = 0;
    uint32_t me = 0, ranks = 0;
    void *ctx = nullptr;
    char tag[64];

    CHK_RET(CheckDevice());
    CHK_RET(HcclGetCommName(comm, commName));
    CHK_RET(HcclGetRankId(comm, &me));
    CHK_RET(HcclGetRankSize(comm, &ranks));
    if (peer >= ranks || peer == me) {
        return HCCL_E_PARA;
    }
    if (sprintf_s(param.tag, sizeof(param.tag), "p2p_%s", commName) < 0 ||
        sprintf_s(tag, sizeof(tag), "hccl_custom_p2p_%u", peer) < 0) {
        return HCCL_E_INTERNAL;
    }
    CHK_RET(AcquireThreads(comm, stream, host, &now));
    if (HcclEngineCtxGet(comm, tag, engine, &ctx, &size) != HCCL_SUCCESS) {
        CHK_RET(AcquireChannel(comm, me, peer, &now));
        CHK_RET(HcclEngineCtxCreate(comm, tag, engine, sizeof(now), &ctx));
        if (aclrtMemcpy(ctx, sizeof(now), &now, sizeof(now),
                        ACL_MEMCPY_HOST_TO_DEVICE) != ACL_SUCCESS) {
            return HCCL_E_RUNTIME;
        }
    } else if (aclrtMemcpy(ctx, size, &now, 2 * sizeof(ThreadHandle),
                           ACL_MEMCPY_HOST_TO_DEVICE) != ACL_SUCCESS) {
        return HCCL_E_RUNTIME;
    }
    param.resCtx = static_cast<AlgResourceCtx *>(ctx);
    return HCCL_SUCCESS;
}

HcclResult Execute(HcclCMDType type, void *buffer, uint64_t count,
                   HcclDataType dataType, uint32_t peer, HcclComm comm,
                   aclrtStream stream)
{
    HostThreads host;
    OpParam param;

    if (buffer == nullptr || comm == nullptr || stream == nullptr) {
        return HCCL_E_PTR;
    }
    if (dataType < 0 || dataType >= HCCL_DATA_TYPE_RESERVED ||
        SIZE_TABLE[dataType] == 0) {
        return HCCL_E_PARA;
    }
    (void)memset_s(&param, sizeof(param), 0, sizeof(param));
    param.opType = type;
    param.dataType = dataType;
    param.count = count;
    param.bytes = count * SIZE_TABLE[dataType];
    param.buffer = buffer;
    CHK_RET(Prepare(param, peer, comm, stream, &host));
    return LaunchKernel(param, host, stream);
}

} // namespace

HcclResult HcclSendCustom(void *sendBuf, uint64_t count, HcclDataType dataType,
                          uint32_t destRank, HcclComm comm, aclrtStream stream)
{
    return Execute(HcclCMDType::HCCL_CMD_SEND, sendBuf, count, dataType,
                   destRank, comm, stream);
}

HcclResult HcclRecvCustom(void *recvBuf, uint64_t count, HcclDataType dataType,
                          uint32_t srcRank, HcclComm comm, aclrtStream stream)
{
    return Execute(HcclCMDType::HCCL_CMD_RECEIVE, recvBuf, count, dataType,
                   srcRank, comm, stream);
}
