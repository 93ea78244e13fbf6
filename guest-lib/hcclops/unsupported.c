/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libhccl.so: the operators of hccl/hccl.h. spec/api/hccl-collectives.md.
 */
#pragma GCC visibility push(default)
#include "hccl/hccl.h"
#pragma GCC visibility pop
#include "acl_internal.h"

/* These have their arguments only for their signature. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static HcclResult missing(const char *op)
{
    a350_set_error("EI0003", "%s: this build has no collective operators; "
                   "samples/ shows how to write one", op);
    return HCCL_E_NOT_SUPPORT;
}

HcclResult HcclAllReduce(void *sendBuf, void *recvBuf, uint64_t count,
                         HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                         aclrtStream stream)
{
    return missing("HcclAllReduce");
}

HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType,
                         uint32_t root, HcclComm comm, aclrtStream stream)
{
    return missing("HcclBroadcast");
}

HcclResult HcclReduceScatter(void *sendBuf, void *recvBuf, uint64_t recvCount,
                             HcclDataType dataType, HcclReduceOp op,
                             HcclComm comm, aclrtStream stream)
{
    return missing("HcclReduceScatter");
}

HcclResult HcclReduceScatterV(void *sendBuf, const void *sendCounts,
                              const void *sendDispls, void *recvBuf,
                              uint64_t recvCount, HcclDataType dataType,
                              HcclReduceOp op, HcclComm comm,
                              aclrtStream stream)
{
    return missing("HcclReduceScatterV");
}

HcclResult HcclScatter(void *sendBuf, void *recvBuf, uint64_t recvCount,
                       HcclDataType dataType, uint32_t root, HcclComm comm,
                       aclrtStream stream)
{
    return missing("HcclScatter");
}

HcclResult HcclAllGather(void *sendBuf, void *recvBuf, uint64_t sendCount,
                         HcclDataType dataType, HcclComm comm,
                         aclrtStream stream)
{
    return missing("HcclAllGather");
}

HcclResult HcclAllGatherV(void *sendBuf, uint64_t sendCount, void *recvBuf,
                          const void *recvCounts, const void *recvDispls,
                          HcclDataType dataType, HcclComm comm,
                          aclrtStream stream)
{
    return missing("HcclAllGatherV");
}

HcclResult HcclSend(void *sendBuf, uint64_t count, HcclDataType dataType,
                    uint32_t destRank, HcclComm comm, aclrtStream stream)
{
    return missing("HcclSend");
}

HcclResult HcclRecv(void *recvBuf, uint64_t count, HcclDataType dataType,
                    uint32_t srcRank, HcclComm comm, aclrtStream stream)
{
    return missing("HcclRecv");
}

HcclResult HcclAlltoAllVC(const void *sendBuf, const void *sendCountMatrix,
                          HcclDataType sendType, const void *recvBuf,
                          HcclDataType recvType, HcclComm comm,
                          aclrtStream stream)
{
    return missing("HcclAlltoAllVC");
}

HcclResult HcclAlltoAllV(const void *sendBuf, const void *sendCounts,
                         const void *sdispls, HcclDataType sendType,
                         const void *recvBuf, const void *recvCounts,
                         const void *rdispls, HcclDataType recvType,
                         HcclComm comm, aclrtStream stream)
{
    return missing("HcclAlltoAllV");
}

HcclResult HcclAlltoAll(const void *sendBuf, uint64_t sendCount,
                        HcclDataType sendType, const void *recvBuf,
                        uint64_t recvCount, HcclDataType recvType,
                        HcclComm comm, aclrtStream stream)
{
    return missing("HcclAlltoAll");
}

HcclResult HcclReduce(void *sendBuf, void *recvBuf, uint64_t count,
                      HcclDataType dataType, HcclReduceOp op, uint32_t root,
                      HcclComm comm, aclrtStream stream)
{
    return missing("HcclReduce");
}

HcclResult HcclBatchSendRecv(HcclSendRecvItem *sendRecvInfo, uint32_t itemNum,
                             HcclComm comm, aclrtStream stream)
{
    return missing("HcclBatchSendRecv");
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream)
{
    return missing("HcclBarrier");
}
