/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes, offsets and values of the public HCCL and Hcomm headers, against
 * spec/api/hccl-control-plane.md §2, §3, §8, §9 and hcomm-data-plane.md §1.
 * Most of it fails at compile time.
 */
#include <cstddef>
#include <cstdio>
#include <cstring>
#include "hccl/hccl.h"
#include "hccl/hccl_mc2.h"
#include "hccl/hccl_rank_graph.h"
#include "hccl/hccl_sym_win.h"
#include "hccl/hccl_team.h"
#include "hcomm/hcomm_primitives.h"
#include "hcomm/hcomm_res.h"
#include "hccl/hccl_res_expt.h"
#include "hccl/hccl_diag.h"
#include "hccl/dtype_common.h"
#include "hcomm/hcomm_exception.h"

#define SIZE(type, n) static_assert(sizeof(type) == (n), #type)
#define AT(type, field, n) static_assert(offsetof(type, field) == (n), #field)
#define IS(name, n) static_assert(static_cast<long long>(name) == (n), #name)

SIZE(HcclResult, 4); SIZE(CommEngine, 4); SIZE(HcclDataType, 4);
SIZE(HcclRootInfo, 4108);
SIZE(CommAbiHeader, 16);
AT(CommAbiHeader, version, 0); AT(CommAbiHeader, magicWord, 4);
AT(CommAbiHeader, size, 8); AT(CommAbiHeader, reserved, 12);
SIZE(CommAddr, 40); AT(CommAddr, raws, 4); AT(CommAddr, eid, 4);
SIZE(EndpointLoc, 64); AT(EndpointLoc, raws, 4);
AT(EndpointLoc, device.superPodIdx, 16);
SIZE(EndpointDesc, 160); AT(EndpointDesc, commAddr, 4);
AT(EndpointDesc, loc, 44); AT(EndpointDesc, raws, 108);
SIZE(CommMem, 24); AT(CommMem, addr, 8); AT(CommMem, size, 16);
SIZE(ThreadConfig, 32); AT(ThreadConfig, notifyNumPerThread, 16);
SIZE(HcclChannelDesc, 496);
AT(HcclChannelDesc, remoteRank, 16); AT(HcclChannelDesc, channelProtocol, 20);
AT(HcclChannelDesc, localEndpoint, 24);
AT(HcclChannelDesc, remoteEndpoint, 184); AT(HcclChannelDesc, notifyNum, 344);
AT(HcclChannelDesc, memHandles, 352); AT(HcclChannelDesc, memHandleNum, 360);
AT(HcclChannelDesc, raws, 364); AT(HcclChannelDesc, roceAttr.sl, 364 + 13);
SIZE(HcommChannelDesc, 360);
AT(HcommChannelDesc, remoteEndpoint, 16); AT(HcommChannelDesc, notifyNum, 176);
AT(HcommChannelDesc, exchangeAllMems, 180);
AT(HcommChannelDesc, memHandles, 184); AT(HcommChannelDesc, memHandleNum, 192);
AT(HcommChannelDesc, socket, 200); AT(HcommChannelDesc, role, 208);
AT(HcommChannelDesc, port, 212); AT(HcommChannelDesc, raws, 216);
AT(HcommChannelDesc, qos, 344); AT(HcommChannelDesc, channelName, 352);
SIZE(CommLink, 464); AT(CommLink, srcEndpointDesc, 16);
AT(CommLink, dstEndpointDesc, 176); AT(CommLink, linkAttr, 336);
AT(CommLink, linkAttr.linkProtocol, 336); AT(CommLink, linkAttr.hop, 340);
SIZE(HcclCommConfig, 2248);
AT(HcclCommConfig, hcclBufferSize, 24); AT(HcclCommConfig, hcclDeterministic, 28);
AT(HcclCommConfig, hcclCommName, 32); AT(HcclCommConfig, hcclUdi, 160);
AT(HcclCommConfig, hcclOpExpansionMode, 288);
AT(HcclCommConfig, hcclRdmaTrafficClass, 292);
AT(HcclCommConfig, hcclRdmaServiceLevel, 296);
AT(HcclCommConfig, hcclWorldRankID, 300); AT(HcclCommConfig, hcclJobID, 304);
AT(HcclCommConfig, aclGraphZeroCopyEnable, 312);
AT(HcclCommConfig, hcclExecTimeOut, 316); AT(HcclCommConfig, hcclAlgo, 320);
AT(HcclCommConfig, hcclRetryEnable, 1920);
AT(HcclCommConfig, hcclRetryParams, 1970);
AT(HcclCommConfig, hcclBufferName, 2098); AT(HcclCommConfig, hcclQos, 2228);
AT(HcclCommConfig, hcclSymWinMaxMemSizePerRank, 2232);
AT(HcclCommConfig, hcclChannelSqDepth, 2240);
SIZE(HcclSendRecvItem, 32); AT(HcclSendRecvItem, buf, 8);
AT(HcclSendRecvItem, count, 16); AT(HcclSendRecvItem, dataType, 24);
AT(HcclSendRecvItem, remoteRank, 28);
SIZE(HcclP2pKernelParam, 8200); AT(HcclP2pKernelParam, opParams, 8);
SIZE(HcclOpP2pDesc, 48); AT(HcclOpP2pDesc, cmdType, 16);
AT(HcclOpP2pDesc, dataType, 20); AT(HcclOpP2pDesc, count, 24);
AT(HcclOpP2pDesc, remoteRank, 32); AT(HcclOpP2pDesc, unfoldStream, 40);
SIZE(HcclOpDesc, 360); AT(HcclOpDesc, opDescType, 16);
AT(HcclOpDesc, opName, 20); AT(HcclOpDesc, p2p, 280);
SIZE(HcclKernelFuncInfo, 528); AT(HcclKernelFuncInfo, kernelFuncName, 256);
AT(HcclKernelFuncInfo, args, 512); AT(HcclKernelFuncInfo, argSize, 520);
SIZE(HcclKernelLaunchCfg, 128); AT(HcclKernelLaunchCfg, timeOut, 16);
SIZE(HcclTeamCreateDesc, 88); AT(HcclTeamCreateDesc, rankNum, 24);
AT(HcclTeamCreateDesc, selfRankId, 28); AT(HcclTeamCreateDesc, netLayer, 32);
AT(HcclTeamCreateDesc, protocol, 36); AT(HcclTeamCreateDesc, requirement, 40);
AT(HcclTeamCreateDesc, reserved, 72);
SIZE(HcclTeamCreateChannelsDesc, 48);
AT(HcclTeamCreateChannelsDesc, engine, 16);
AT(HcclTeamCreateChannelsDesc, notifyNum, 20);
AT(HcclTeamCreateChannelsDesc, channelCnt, 28);
SIZE(HcommBatchTransferDesc, 64); AT(HcommBatchTransferDesc, transferInfo, 8);
AT(HcommBatchTransferDesc, transferInfo.write.src, 24);
AT(HcommBatchTransferDesc, transferInfo.reduce.dataType, 36);
AT(HcommBatchTransferDesc, transferInfo.writeWithNotify.notifyIdx, 32);
AT(HcommBatchTransferDesc, transferInfo.writeReduceWithNotify.notifyIdx, 40);
SIZE(HcommExceptionInfo, 216); AT(HcommExceptionInfo, expandInfo, 80);
AT(HcommExceptionInfo, retCode, 36);

IS(HCCL_E_OOM, 24); IS(HCCL_E_IN_STATUS, 1041); IS(HCCL_E_RESERVED, 1042);
IS(HCCL_E_TIMEOUT, 9); IS(HCCL_E_RUNTIME, 15); IS(HCCL_E_AGAIN, 20);
IS(HCCL_DATA_TYPE_BFP16, 11); IS(HCCL_DATA_TYPE_HIF8, 14);
IS(HCCL_DATA_TYPE_FP8E8M0, 17); IS(HCCL_DATA_TYPE_RESERVED, 255);
IS(HCCL_CMD_ALLGATHER, 6); IS(HCCL_CMD_BATCH_SEND_RECV, 13);
IS(HCCL_CMD_HALF_ALLTOALLV, 20); IS(HCCL_CMD_MAX, 104);
IS(COMM_ENGINE_AICPU_TS, 3); IS(COMM_PROTOCOL_UB_CTP, 4);
IS(COMM_PROTOCOL_UBC_CTP, 4); IS(COMM_PROTOCOL_UBG, 9);
IS(COMM_ADDR_TYPE_EID, 3); IS(COMM_TOPO_CUSTOM, 5);
IS(HCCL_COMM_CONFIG_RESERVED, 12); IS(HCCL_OP_EXPANSION_AIV_ONLY, 6);
IS(HCCL_COMM_STATUS_INVALID, 254);
IS(HCOMM_TRANSFER_TYPE_NOTIFY_RECORD, 6);
IS(HCCL_DED_THREAD_TYPE_AICPU_ORDER_LAUNCH_DEVICE, 5);
IS(HCOMM_CHANNEL_DESC_ABI_V1_SIZE, 344); IS(HCOMM_CHANNEL_NAME_MAX_LEN, 191);
IS(HCCL_ROOT_INFO_BYTES, 4108); IS(HCOMM_TIMEOUT_FLOAT_TYPE, 1);
IS(DevType::DEV_TYPE_950, 6);

/* Names that programs define themselves must be free. */
struct CommBuffer { int x; };
struct ChannelInfo { int x; };
struct AlgResourceCtx { int x; };
struct OpParam { int x; };
struct ThreadContext { int x; };
enum DeviceType { DEVICE_TYPE_X };
enum LogLevel { LOG_LEVEL_X };
constexpr uint32_t SIZE_TABLE[HCCL_DATA_TYPE_RESERVED] = { 1, 2, 4 };
constexpr uint32_t COMM_INDENTIFIER_MAX_LENGTH = 128;
constexpr uint32_t NOTIFY_IDX_ACK = 0;
constexpr uint32_t CUSTOM_TIMEOUT = 1836;
constexpr uint32_t TAG_LENGTH = 1, OP_NAME_LENGTH = 1;
constexpr uint32_t INVALID_VALUE_RANKID = 1, AICPU_CONTROL_NOTIFY_NUM = 2;
#if defined(CHK_PTR_NULL) || defined(CHK_RET) || defined(CHK_PRT_RET) || \
    defined(HCCL_DEBUG) || defined(HCCL_INFO) || defined(HCCL_WARNING) || \
    defined(HCCL_ERROR) || defined(ACLCHECK) || defined(HCCLCHECK)
#error "a macro that programs define themselves"
#endif

static int failed, count;

static void ok(bool good, const char *what)
{
    count++;
    failed += !good;
    std::printf("%sok %d - %s\n", good ? "" : "not ", count, what);
}

static bool filled(const void *p, size_t from, size_t to)
{
    const unsigned char *b = static_cast<const unsigned char *>(p);

    for (size_t i = from; i < to; i++) {
        if (b[i] != 0xff) {
            return false;
        }
    }
    return true;
}

static bool head(const CommAbiHeader &h, uint32_t version, uint32_t magic,
                 size_t size)
{
    return h.version == version && h.magicWord == magic && h.size == size &&
           h.reserved == 0;
}

int main()
{
    HcclChannelDesc c;
    HcommChannelDesc h;
    EndpointDesc e;
    ThreadConfig t;
    CommLink l;
    HcclOpDesc o;
    HcclKernelLaunchCfg k;
    HcclTeamCreateDesc td;
    HcclTeamCreateChannelsDesc tc;
    HcclCommConfig g;
    struct { size_t size; uint32_t magic, version; } info;

    std::printf("1..11\n");
    EndpointDescInit(&e, 1);
    ok(e.protocol == -1 && e.commAddr.type == -1 && e.loc.locType == -1 &&
       filled(&e, 48, 160) && EndpointDescInit(nullptr, 1) == 2,
       "EndpointDescInit");
    ThreadConfigInit(&t, 1);
    ok(head(t.header, 1, 0x0f0f0f2f, 32) && t.notifyNumPerThread == 0 &&
       ThreadConfigInit(nullptr, 1) == 2, "ThreadConfigInit");
    HcclChannelDescInit(&c, 1);
    ok(head(c.header, 1, 0x0f0f0f0f, 496) && c.remoteRank == 0xffffffff &&
       c.channelProtocol == -1 && c.notifyNum == 0 && !c.memHandles &&
       c.memHandleNum == 0 && c.localEndpoint.protocol == -1 &&
       filled(&c, 364, 492), "HcclChannelDescInit");
    ok(HcclChannelDescInit(nullptr, 1) == HCCL_E_PTR &&
       HcommChannelDescInit(nullptr, 1) == 2, "null descriptors");
    HcommChannelDescInit(&h, 1);
    ok(head(h.header, 4, 0x0fcf0f0f, 360) && h.notifyNum == 0 &&
       !h.exchangeAllMems && !h.memHandles && !h.socket && h.role == -1 &&
       h.port == 0 && !h.roceAttr.srcPortList && !h.channelName,
       "HcommChannelDescInit");
    CommLinkInit(&l, 1);
    ok(head(l.header, 1, 0x0f0e0f0f, 464) && l.linkAttr.linkProtocol == -1 &&
       l.linkAttr.hop == 1 && CommLinkInit(nullptr, 1) == HCCL_E_PTR,
       "CommLinkInit");
    HcclOpDescInit(&o);
    ok(head(o.header, 1, 0x0f0f0f0f, 360) && filled(&o, 16, 360) &&
       HcclOpDescInit(nullptr) == HCCL_E_PTR, "HcclOpDescInit");
    HcclKernelLaunchCfgInit(&k);
    ok(head(k.header, 1, 0x0f0f0f0f, 128) && k.timeOut == ~0ull,
       "HcclKernelLaunchCfgInit");
    HcclTeamCreateDescInit(&td);
    ok(head(td.header, 1, 0x0fcf0f14, 88) && !td.rankIds &&
       td.rankNum == 0 && td.protocol == -1 &&
       td.requirement.barrierCount == 0 && td.requirement.reserved[0] == ~0u &&
       td.reserved[3] == 0, "HcclTeamCreateDescInit");
    HcclTeamCreateChannelsDescInit(&tc);
    ok(head(tc.header, 1, 0x0fcf0f15, 48) && tc.engine == -1 &&
       tc.notifyNum == 0 && tc.protocol == -1 && tc.channelCnt == 0,
       "HcclTeamCreateChannelsDescInit");
    HcclCommConfigInit(&g);
    HcclCommConfigInit(nullptr);
    std::memcpy(&info, g.reserved, sizeof(info));
    ok(info.size == 2248 && info.magic == 0xf0f0f0f0 && info.version == 11 &&
       g.hcclBufferSize == 0xffffffff && g.hcclDeterministic == 0xffffffff &&
       g.hcclCommName[0] == 0 && g.hcclOpExpansionMode == 0 &&
       g.hcclExecTimeOut == -1 && g.hcclQos == 0xffffffff &&
       g.hcclSymWinMaxMemSizePerRank == 16 &&
       g.hcclChannelSqDepth == 0xffffffff, "HcclCommConfigInit");
    return failed != 0;
}
