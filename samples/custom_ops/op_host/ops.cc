/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host side of the operators: makes threads, channels and a context once for a
 * communicator, then launches a kernel for every call.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <map>
#include <mutex>
#include <string>
#include <vector>
#include <acl/acl.h>
#include <hccl/hccl_comm.h>
#include <hccl/hccl_rank_graph.h>
#include <hccl/hccl_res.h>
#include <hccl/hcomm_primitives.h>
#include <hccl/hccl_res_expt.h>
#include "hccl_custom_ops.h"
#include "../op_kernel/param.h"

#define OPS_CHECK(call)                                     \
    do {                                                    \
        HcclResult rc_ = static_cast<HcclResult>(call);     \
        if (rc_ != HCCL_SUCCESS) {                          \
            return rc_;                                     \
        }                                                   \
    } while (0)

#define OPS_CHECK_ACL(call)                                 \
    do {                                                    \
        if ((call) != ACL_SUCCESS) {                        \
            return HCCL_E_RUNTIME;                          \
        }                                                   \
    } while (0)

namespace {

constexpr CommEngine ENGINE = COMM_ENGINE_AICPU_TS;
constexpr char TAG[] = "custom_ops";
constexpr uint16_t LIMIT = OPS_WAIT_SECONDS;

/* spec of HcclDataType: bytes of an element, 0: not a type. */
uint32_t SizeOf(HcclDataType type)
{
    static const uint32_t size[] = { 1, 2, 4, 2, 4, 8, 8, 1, 2, 4, 8, 2, 16, 0,
                                     1, 1, 1, 1 };
    uint32_t i = static_cast<uint32_t>(type);

    return i < sizeof(size) / sizeof(size[0]) ? size[i] : 0;
}

/* ---- kernels ---- */

std::string JsonPath()
{
    const char *vendor = getenv("HCCL_CUSTOM_VENDOR");
    const char *home = getenv("ASCEND_HOME_PATH");
    std::string path = vendor != nullptr ? std::string(vendor)
        : std::string(home != nullptr ? home : "/usr/local/Ascend/cann") +
          "/opp/vendors/cust";

    return path + "/aicpu/config/libcustom_ops_kernel.json";
}

/* The library is loaded once for the process and serves all devices. */
HcclResult Function(const char *name, aclrtFuncHandle *function)
{
    static std::mutex lock;
    static aclrtBinHandle bin;
    static std::map<std::string, aclrtFuncHandle> known;
    std::lock_guard<std::mutex> guard(lock);

    if (bin == nullptr) {
        char path[PATH_MAX];
        aclrtBinaryLoadOption option;
        aclrtBinaryLoadOptions options = { &option, 1 };

        if (realpath(JsonPath().c_str(), path) == nullptr) {
            fprintf(stderr, "custom_ops: no %s\n", JsonPath().c_str());
            return HCCL_E_OPEN_FILE_FAILURE;
        }
        option.type = ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE;
        option.value.cpuKernelMode = 0;
        OPS_CHECK_ACL(aclrtBinaryLoadFromFile(path, &options, &bin));
    }
    auto it = known.find(name);
    if (it == known.end()) {
        OPS_CHECK_ACL(aclrtBinaryGetFunction(bin, name, function));
        known[name] = *function;
    } else {
        *function = it->second;
    }
    return HCCL_SUCCESS;
}

/* ---- context ---- */

HcclResult Describe(HcclComm comm, uint32_t me, uint32_t peer,
                    HcclChannelDesc *desc)
{
    CommLink *links = nullptr;
    uint32_t n = 0;

    OPS_CHECK(HcclRankGraphGetLinks(comm, 0, me, peer, &links, &n));
    for (uint32_t i = 0; i < n; i++) {
        const CommLink &l = links[i];

        if (l.linkAttr.linkProtocol != CommProtocol::COMM_PROTOCOL_UB_CTP) {
            continue;
        }
        OPS_CHECK(HcclChannelDescInit(desc, 1));
        desc->remoteRank = peer;
        desc->channelProtocol = l.linkAttr.linkProtocol;
        desc->notifyNum = OPS_CHANNEL_NOTIFIES;
        desc->localEndpoint.protocol = l.srcEndpointDesc.protocol;
        desc->localEndpoint.commAddr = l.srcEndpointDesc.commAddr;
        desc->localEndpoint.loc = l.srcEndpointDesc.loc;
        desc->remoteEndpoint.protocol = l.dstEndpointDesc.protocol;
        desc->remoteEndpoint.commAddr = l.dstEndpointDesc.commAddr;
        desc->remoteEndpoint.loc = l.dstEndpointDesc.loc;
        return HCCL_SUCCESS;
    }
    return HCCL_E_NOT_FOUND;
}

HcclResult Channels(HcclComm comm, OpsContext *c)
{
    std::vector<HcclChannelDesc> desc(c->ranks);
    std::vector<ChannelHandle> handle(c->ranks);
    uint32_t n = 0;
    uint64_t size;

    for (uint32_t i = 0; i < c->ranks; i++) {
        if (i != c->rank) {
            OPS_CHECK(Describe(comm, c->rank, i, &desc[n++]));
        }
    }
    OPS_CHECK(HcclChannelAcquire(comm, ENGINE, desc.data(), n,
                                 handle.data()));
    n = 0;
    for (uint32_t i = 0; i < c->ranks; i++) {
        void *buffer = nullptr;

        if (i != c->rank) {
            c->channel[i] = handle[n++];
            OPS_CHECK(HcclChannelGetHcclBuffer(comm, c->channel[i], &buffer,
                                               &size));
        } else {
            OPS_CHECK(HcclGetHcclBuffer(comm, &buffer, &c->bufferSize));
        }
        c->buffer[i] = reinterpret_cast<uint64_t>(buffer);
    }
    return HCCL_SUCCESS;
}

HcclResult MakeContext(HcclComm comm, void **ctx)
{
    OpsContext c = {};

    OPS_CHECK(HcclGetRankId(comm, &c.rank));
    OPS_CHECK(HcclGetRankSize(comm, &c.ranks));
    if (c.ranks < 2 || c.ranks > OPS_MAX_RANKS) {
        return HCCL_E_NOT_SUPPORT;
    }
    OPS_CHECK(HcclThreadAcquire(comm, ENGINE, c.ranks, OPS_THREAD_NOTIFIES,
                                c.thread));
    OPS_CHECK(Channels(comm, &c));
    OPS_CHECK(HcclEngineCtxCreate(comm, TAG, ENGINE, sizeof(c), ctx));
    return HcclEngineCtxCopy(comm, ENGINE, TAG, &c, sizeof(c), 0);
}

/* Also thread 0, which the host records: it is in the context, but the host
   does not read card memory for it. */
HcclResult GetContext(HcclComm comm, void **ctx, ThreadHandle *mainThread)
{
    uint64_t size = 0;

    if (HcclEngineCtxGet(comm, TAG, ENGINE, ctx, &size) != HCCL_SUCCESS) {
        OPS_CHECK(MakeContext(comm, ctx));
    }
    return HcclThreadAcquire(comm, ENGINE, 1, OPS_THREAD_NOTIFIES, mainThread);
}

/* ---- launch ---- */

HcclResult Launch(const char *kernel, OpsParam *p, HcclComm comm,
                  aclrtStream stream)
{
    ThreadHandle host, hostOnDevice, mainThread, mainOnHost;
    aclrtFuncHandle function;
    aclrtLaunchKernelAttr attr;
    aclrtLaunchKernelCfg cfg = { &attr, 1 };
    aclrtArgsHandle args;
    aclrtParamHandle param;
    void *ctx = nullptr;

    OPS_CHECK(Function(kernel, &function));
    OPS_CHECK(GetContext(comm, &ctx, &mainThread));
    OPS_CHECK(HcclThreadAcquireWithStream(comm, COMM_ENGINE_CPU_TS, stream, 1,
                                          &host));
    OPS_CHECK(HcclThreadExportToCommEngine(comm, 1, &host, ENGINE,
                                           &hostOnDevice));
    OPS_CHECK(HcclThreadExportToCommEngine(comm, 1, &mainThread,
                                           COMM_ENGINE_CPU_TS, &mainOnHost));
    p->context = reinterpret_cast<uint64_t>(ctx);
    p->hostThread = hostOnDevice;
    snprintf(p->tag, sizeof(p->tag), "%s", kernel);
    attr.id = ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT;
    attr.value.timeout = LIMIT;
    OPS_CHECK(HcommThreadNotifyRecordOnThread(host, mainOnHost,
                                              OPS_NOTIFY_HOST));
    OPS_CHECK_ACL(aclrtKernelArgsInit(function, &args));
    OPS_CHECK_ACL(aclrtKernelArgsAppend(args, p, sizeof(*p), &param));
    OPS_CHECK_ACL(aclrtKernelArgsFinalize(args));
    OPS_CHECK_ACL(aclrtLaunchKernelWithConfig(function, 1, stream, &cfg, args,
                                              nullptr));
    return static_cast<HcclResult>(
        HcommThreadNotifyWaitOnThread(host, 0, LIMIT));
}

HcclResult Prepare(const void *buf, uint64_t count, HcclDataType type,
                   HcclComm comm, aclrtStream stream, OpsParam *p)
{
    if (buf == nullptr || comm == nullptr || stream == nullptr) {
        return HCCL_E_PTR;
    }
    if (SizeOf(type) == 0) {
        return HCCL_E_NOT_SUPPORT;
    }
    p->count = count;
    p->typeSize = SizeOf(type);
    p->dataType = static_cast<uint32_t>(type);
    return HCCL_SUCCESS;
}

HcclResult CheckPeer(HcclComm comm, uint32_t peer)
{
    uint32_t ranks = 0, rank = 0;

    OPS_CHECK(HcclGetRankSize(comm, &ranks));
    OPS_CHECK(HcclGetRankId(comm, &rank));
    return peer < ranks && peer != rank ? HCCL_SUCCESS : HCCL_E_PARA;
}

} // namespace

HcclResult HcclSendCustom(void *sendBuf, uint64_t count, HcclDataType dataType,
                          uint32_t destRank, HcclComm comm, aclrtStream stream)
{
    OpsParam p = {};

    OPS_CHECK(Prepare(sendBuf, count, dataType, comm, stream, &p));
    OPS_CHECK(CheckPeer(comm, destRank));
    p.send = reinterpret_cast<uint64_t>(sendBuf);
    p.peer = destRank;
    return Launch("CustomSendKernel", &p, comm, stream);
}

HcclResult HcclRecvCustom(void *recvBuf, uint64_t count, HcclDataType dataType,
                          uint32_t srcRank, HcclComm comm, aclrtStream stream)
{
    OpsParam p = {};

    OPS_CHECK(Prepare(recvBuf, count, dataType, comm, stream, &p));
    OPS_CHECK(CheckPeer(comm, srcRank));
    p.recv = reinterpret_cast<uint64_t>(recvBuf);
    p.peer = srcRank;
    return Launch("CustomRecvKernel", &p, comm, stream);
}

HcclResult HcclAllGatherCustom(void *sendBuf, void *recvBuf,
                               uint64_t sendCount, HcclDataType dataType,
                               HcclComm comm, aclrtStream stream)
{
    OpsParam p = {};

    OPS_CHECK(Prepare(sendBuf, sendCount, dataType, comm, stream, &p));
    if (recvBuf == nullptr) {
        return HCCL_E_PTR;
    }
    p.send = reinterpret_cast<uint64_t>(sendBuf);
    p.recv = reinterpret_cast<uint64_t>(recvBuf);
    return Launch("CustomAllGatherKernel", &p, comm, stream);
}

HcclResult HcclAllReduceCustom(void *sendBuf, void *recvBuf, uint64_t count,
                               HcclDataType dataType, HcclReduceOp op,
                               HcclComm comm, aclrtStream stream)
{
    OpsParam p = {};

    OPS_CHECK(Prepare(sendBuf, count, dataType, comm, stream, &p));
    if (recvBuf == nullptr) {
        return HCCL_E_PTR;
    }
    p.send = reinterpret_cast<uint64_t>(sendBuf);
    p.recv = reinterpret_cast<uint64_t>(recvBuf);
    p.reduceOp = static_cast<uint32_t>(op);
    return Launch("CustomAllReduceKernel", &p, comm, stream);
}

HcclResult HcclAskCustom(uint64_t question, void *answers, HcclComm comm,
                         aclrtStream stream)
{
    OpsParam p = {};

    OPS_CHECK(Prepare(answers, 1, HCCL_DATA_TYPE_UINT64, comm, stream, &p));
    p.recv = reinterpret_cast<uint64_t>(answers);
    p.value = question;
    return Launch("CustomAskKernel", &p, comm, stream);
}
