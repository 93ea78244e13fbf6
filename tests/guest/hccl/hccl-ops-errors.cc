/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of the operators: spec/api/hccl-collectives.md §2, §4. Two ranks;
 * rank 0 makes the mistakes, and at the end both use the communicator. Then
 * one rank alone.
 */
#include <functional>
#include "hccl/hccl.h"
#include "ctrl.h"

using namespace ctrl;

namespace {

constexpr uint64_t MANY = 0x800000000ull;        /* one more than is legal */
const HcclDataType F32 = HCCL_DATA_TYPE_FP32, I16 = HCCL_DATA_TYPE_INT16;
const HcclDataType U8 = HCCL_DATA_TYPE_UINT8, BF = HCCL_DATA_TYPE_BFP16;
const HcclDataType I128 = HCCL_DATA_TYPE_INT128;
const HcclDataType HOLE = static_cast<HcclDataType>(13);
const HcclReduceOp SUM = HCCL_REDUCE_SUM, PROD = HCCL_REDUCE_PROD;

/* @param is what the text must name, besides the call. */
void Try(const char *call, const char *what, HcclResult got, HcclResult want,
         const char *param)
{
    bool says = want == HCCL_SUCCESS ||
                Says("EI0003", { call, std::string("parameter ") + param });

    Ok(got == want && says, std::string(call) + ": " + what,
       "returns " + std::to_string(got) + ", wanted " + std::to_string(want));
}

/* Whatever has no number stays HCCL_SUCCESS. */
#define OK_(op, what, ...) Try(#op, what, op(__VA_ARGS__), HCCL_SUCCESS, "")
#define PTR(op, param, ...) \
    Try(#op, "no " param, op(__VA_ARGS__), HCCL_E_PTR, param)
#define PARA(op, what, param, ...) \
    Try(#op, what, op(__VA_ARGS__), HCCL_E_PARA, param)
#define NOT(op, what, param, ...) \
    Try(#op, what, op(__VA_ARGS__), HCCL_E_NOT_SUPPORT, param)

struct World {
    HcclComm c;
    aclrtStream s;
    void *a, *b;
};

void Reductions(const World &w)
{
    HcclComm c = w.c;
    aclrtStream s = w.s;
    void *a = w.a, *b = w.b;

    OK_(HcclAllReduce, "nothing, all null", nullptr, nullptr, 0, I128, PROD,
        nullptr, nullptr);
    PTR(HcclAllReduce, "stream", nullptr, nullptr, 1, F32, SUM, nullptr,
        nullptr);
    PTR(HcclAllReduce, "comm", nullptr, nullptr, 1, F32, SUM, nullptr, s);
    PTR(HcclAllReduce, "sendBuf", nullptr, nullptr, 1, F32, SUM, c, s);
    PTR(HcclAllReduce, "recvBuf", a, nullptr, MANY, F32, SUM, c, s);
    PARA(HcclAllReduce, "too many", "count", a, b, MANY, I128, SUM, c, s);
    NOT(HcclAllReduce, "uint8", "dataType", a, b, 1, U8, PROD, c, s);
    NOT(HcclAllReduce, "int128", "dataType", a, b, 1, I128, SUM, c, s);
    NOT(HcclAllReduce, "type 13", "dataType", a, b, 1, HOLE, SUM, c, s);
    NOT(HcclAllReduce, "an 8-bit float", "dataType", a, b, 1,
        HCCL_DATA_TYPE_FP8E4M3, SUM, c, s);
    NOT(HcclAllReduce, "uint32", "dataType", a, b, 1, HCCL_DATA_TYPE_UINT32,
        SUM, c, s);
    NOT(HcclAllReduce, "uint16", "dataType", a, b, 1, HCCL_DATA_TYPE_UINT16,
        SUM, c, s);
    NOT(HcclAllReduce, "int16 product", "op", a, b, 1, I16, PROD, c, s);
    NOT(HcclAllReduce, "bfp16 product", "op", a, b, 1, BF, PROD, c, s);

    OK_(HcclReduce, "nothing, all null", nullptr, nullptr, 0, I128, PROD, 9,
        nullptr, nullptr);
    PTR(HcclReduce, "comm", nullptr, nullptr, 1, F32, SUM, 0, nullptr,
        nullptr);
    PTR(HcclReduce, "sendBuf", nullptr, nullptr, 1, F32, SUM, 0, c, nullptr);
    PTR(HcclReduce, "recvBuf", a, nullptr, 1, F32, SUM, 1, c, nullptr);
    PTR(HcclReduce, "stream", a, b, MANY, F32, SUM, 0, c, nullptr);
    PARA(HcclReduce, "too many", "count", a, b, MANY, I128, SUM, 9, c, s);
    NOT(HcclReduce, "uint8", "dataType", a, b, 1, U8, PROD, 9, c, s);
    NOT(HcclReduce, "int16 product", "op", a, b, 1, I16, PROD, 9, c, s);
    PARA(HcclReduce, "no such root", "root", a, b, 1, F32, SUM, 2, c, s);

    OK_(HcclReduceScatter, "nothing, all null", nullptr, nullptr, 0, I128,
        PROD, nullptr, nullptr);
    PTR(HcclReduceScatter, "stream", a, b, 1, F32, SUM, c, nullptr);
    PTR(HcclReduceScatter, "comm", a, b, 1, F32, SUM, nullptr, s);
    PTR(HcclReduceScatter, "sendBuf", nullptr, b, 1, F32, SUM, c, s);
    PTR(HcclReduceScatter, "recvBuf", a, nullptr, 1, F32, SUM, c, s);
    PARA(HcclReduceScatter, "too many", "recvCount", a, b, MANY, I128, SUM, c,
         s);
    NOT(HcclReduceScatter, "uint8", "dataType", a, b, 1, U8, PROD, c, s);
    NOT(HcclReduceScatter, "bfp16 product", "op", a, b, 1, BF, PROD, c, s);

    uint64_t none[2] = { 0, 0 }, one[2] = { 1, 1 }, at[2] = { 0, 1 };
    OK_(HcclReduceScatterV, "nothing", nullptr, none, at, nullptr, 0, I128,
        PROD, c, s);
    PTR(HcclReduceScatterV, "stream", a, one, at, b, 1, F32, SUM, nullptr,
        nullptr);
    PTR(HcclReduceScatterV, "comm", a, nullptr, at, b, 1, F32, SUM, nullptr,
        s);
    PTR(HcclReduceScatterV, "sendCounts", a, nullptr, nullptr, b, 1, F32, SUM,
        c, s);
    PTR(HcclReduceScatterV, "sendDispls", a, one, nullptr, nullptr, 1, F32,
        SUM, c, s);
    PTR(HcclReduceScatterV, "recvBuf", a, one, at, nullptr, 1, F32, SUM, c, s);
    PARA(HcclReduceScatterV, "too many", "recvCount", a, one, at, b, MANY,
         I128, SUM, c, s);
    NOT(HcclReduceScatterV, "uint8", "dataType", a, one, at, b, 1, U8, PROD, c,
        s);
    NOT(HcclReduceScatterV, "int16 product", "op", a, one, at, b, 1, I16, PROD,
        c, s);
    PARA(HcclReduceScatterV, "another count than its own", "recvCount", a, one,
         at, b, 2, F32, SUM, c, s);
}

void Gathers(const World &w)
{
    HcclComm c = w.c;
    aclrtStream s = w.s;
    void *a = w.a, *b = w.b;

    OK_(HcclBroadcast, "nothing, all null", nullptr, 0, I128, 9, nullptr,
        nullptr);
    PTR(HcclBroadcast, "comm", nullptr, 1, F32, 0, nullptr, nullptr);
    PTR(HcclBroadcast, "buf", nullptr, 1, F32, 0, c, nullptr);
    PTR(HcclBroadcast, "stream", a, 1, F32, 9, c, nullptr);
    PARA(HcclBroadcast, "no such root", "root", a, MANY, I128, 2, c, s);
    PARA(HcclBroadcast, "too many", "count", a, MANY, I128, 1, c, s);
    NOT(HcclBroadcast, "int128", "dataType", a, 1, I128, 1, c, s);

    OK_(HcclAllGather, "nothing, all null", nullptr, nullptr, 0, I128, nullptr,
        nullptr);
    PTR(HcclAllGather, "comm", a, b, 1, F32, nullptr, s);
    PTR(HcclAllGather, "sendBuf", nullptr, b, 1, F32, c, s);
    PTR(HcclAllGather, "recvBuf", a, nullptr, 1, F32, c, s);
    PTR(HcclAllGather, "stream", a, b, MANY, F32, c, nullptr);
    PARA(HcclAllGather, "too many", "sendCount", a, b, MANY, I128, c, s);
    NOT(HcclAllGather, "type 13", "dataType", a, b, 1, HOLE, c, s);

    uint64_t none[2] = { 0, 0 }, one[2] = { 1, 1 }, at[2] = { 0, 1 };
    OK_(HcclAllGatherV, "nothing", nullptr, 0, nullptr, none, at, I128, c, s);
    PTR(HcclAllGatherV, "comm", a, 1, b, nullptr, at, F32, nullptr, s);
    PTR(HcclAllGatherV, "recvCounts", a, 1, b, nullptr, nullptr, F32, c, s);
    PTR(HcclAllGatherV, "recvDispls", a, 1, b, one, nullptr, F32, c, nullptr);
    PTR(HcclAllGatherV, "stream", nullptr, 1, b, one, at, F32, c, nullptr);
    PTR(HcclAllGatherV, "sendBuf", nullptr, 1, nullptr, one, at, F32, c, s);
    PTR(HcclAllGatherV, "recvBuf", a, 1, nullptr, one, at, F32, c, s);
    PARA(HcclAllGatherV, "too many", "sendCount", a, MANY, b, one, at, I128, c,
         s);
    NOT(HcclAllGatherV, "int128", "dataType", a, 1, b, one, at, I128, c, s);
    PARA(HcclAllGatherV, "another count than its own", "sendCount", a, 2, b,
         one, at, F32, c, s);

    PTR(HcclScatter, "comm", nullptr, nullptr, 0, I128, 9, nullptr, nullptr);
    OK_(HcclScatter, "nothing", nullptr, nullptr, 0, I128, 9, c, nullptr);
    PTR(HcclScatter, "recvBuf", nullptr, nullptr, 1, F32, 0, c, s);
    PTR(HcclScatter, "sendBuf", nullptr, b, 1, F32, 0, c, s);
    PARA(HcclScatter, "no such root", "root", nullptr, b, MANY, I128, 2, c, s);
    PARA(HcclScatter, "too many", "recvCount", nullptr, b, MANY, I128, 1, c,
         s);
    NOT(HcclScatter, "int128", "dataType", a, b, 1, I128, 0, c, s);
}

void AllToAlls(const World &w)
{
    HcclComm c = w.c;
    aclrtStream s = w.s;
    void *a = w.a, *b = w.b;
    uint64_t none[2] = { 0, 0 }, one[2] = { 1, 1 }, at[2] = { 0, 1 };
    uint64_t much[2] = { 1, MANY };

    OK_(HcclAlltoAll, "nothing, all null", nullptr, 0, I128, nullptr, 0, F32,
        nullptr, nullptr);
    PTR(HcclAlltoAll, "comm", a, 1, F32, a, 2, F32, nullptr, s);
    PTR(HcclAlltoAll, "sendBuf", nullptr, 1, F32, b, 2, F32, c, s);
    PTR(HcclAlltoAll, "recvBuf", a, 1, F32, nullptr, 2, F32, c, s);
    PARA(HcclAlltoAll, "another count", "recvCount", a, 1, F32, a, 2, U8, c,
         nullptr);
    PARA(HcclAlltoAll, "another type", "recvType", a, 1, F32, a, 1, U8, c,
         nullptr);
    PTR(HcclAlltoAll, "stream", a, 1, F32, a, 1, F32, c, nullptr);
    PARA(HcclAlltoAll, "in place", "recvBuf", a, MANY, F32, a, MANY, F32, c,
         s);
    PARA(HcclAlltoAll, "more than 64 bits of bytes", "sendCount", a,
         1ull << 61, F32, b, 1ull << 61, F32, c, s);
    PARA(HcclAlltoAll, "too many", "sendCount", a, MANY, I128, b, MANY, I128,
         c, s);
    NOT(HcclAlltoAll, "int128", "recvType", a, 1, I128, b, 1, I128, c, s);

    PTR(HcclAlltoAllV, "comm", a, nullptr, at, F32, b, one, at, F32, nullptr,
        s);
    PTR(HcclAlltoAllV, "sendCounts", a, nullptr, nullptr, F32, b, one, at, F32,
        c, s);
    PTR(HcclAlltoAllV, "sdispls", a, one, nullptr, F32, b, nullptr, at, F32, c,
        s);
    PTR(HcclAlltoAllV, "recvCounts", a, one, at, F32, b, nullptr, nullptr, F32,
        c, s);
    PTR(HcclAlltoAllV, "rdispls", a, one, at, F32, b, one, nullptr, F32, c,
        nullptr);
    PTR(HcclAlltoAllV, "stream", a, one, at, F32, a, one, at, F32, c, nullptr);
    PARA(HcclAlltoAllV, "in place", "recvBuf", a, much, at, F32, a, one, at,
         F32, c, s);
    PTR(HcclAlltoAllV, "sendBuf", nullptr, much, at, F32, b, one, at, F32, c,
        s);
    PTR(HcclAlltoAllV, "recvBuf", a, much, at, F32, nullptr, one, at, F32, c,
        s);
    PARA(HcclAlltoAllV, "too many", "sendCounts", a, much, at, F32, b, one, at,
         I128, c, s);
    PARA(HcclAlltoAllV, "too many", "recvCounts", a, one, at, F32, b, much, at,
         I128, c, s);
    NOT(HcclAlltoAllV, "int128", "recvType", a, one, at, F32, b, one, at, I128,
        c, s);

    uint64_t m[4] = { 0, 1, 1, 0 }, big[4] = { 0, 0, MANY, 0 };
    PTR(HcclAlltoAllVC, "comm", a, nullptr, F32, b, F32, nullptr, s);
    PTR(HcclAlltoAllVC, "sendCountMatrix", a, nullptr, F32, b, F32, c,
        nullptr);
    PTR(HcclAlltoAllVC, "stream", a, m, F32, a, F32, c, nullptr);
    PARA(HcclAlltoAllVC, "in place", "recvBuf", a, big, F32, a, F32, c, s);
    PARA(HcclAlltoAllVC, "too many, in a row of another", "sendCountMatrix",
         nullptr, big, F32, nullptr, I128, c, s);
    PTR(HcclAlltoAllVC, "sendBuf", nullptr, m, F32, nullptr, F32, c, s);
    PTR(HcclAlltoAllVC, "recvBuf", a, m, F32, nullptr, I128, c, s);
    NOT(HcclAlltoAllVC, "int128", "recvType", a, m, F32, b, I128, c, s);
    (void)none;
}

void Points(const World &w)
{
    HcclComm c = w.c;
    aclrtStream s = w.s;
    void *a = w.a;

    OK_(HcclSend, "nothing, all null", nullptr, 0, I128, 9, nullptr, nullptr);
    PTR(HcclSend, "comm", nullptr, 1, F32, 1, nullptr, nullptr);
    PTR(HcclSend, "sendBuf", nullptr, MANY, F32, 1, c, nullptr);
    PARA(HcclSend, "too many", "count", a, MANY, I128, 0, c, nullptr);
    NOT(HcclSend, "int128", "dataType", a, 1, I128, 0, c, nullptr);
    NOT(HcclSend, "to itself", "destRank", a, 1, F32, 0, c, nullptr);
    PARA(HcclSend, "no such rank", "destRank", a, 1, F32, 2, c, nullptr);
    OK_(HcclRecv, "nothing, all null", nullptr, 0, I128, 9, nullptr, nullptr);
    PTR(HcclRecv, "recvBuf", nullptr, 1, F32, 1, c, s);
    NOT(HcclRecv, "from itself", "srcRank", a, 1, F32, 0, c, s);
    PARA(HcclRecv, "no such rank", "srcRank", a, 1, F32, 2, c, s);

    HcclSendRecvItem i[2] = { { HCCL_SEND, a, 1, F32, 1 },
                              { HCCL_RECV, a, MANY, I128, 9 } };
    OK_(HcclBatchSendRecv, "nothing, all null", nullptr, 0, nullptr, nullptr);
    PTR(HcclBatchSendRecv, "stream", nullptr, 2, nullptr, nullptr);
    PTR(HcclBatchSendRecv, "comm", nullptr, 2, nullptr, s);
    PTR(HcclBatchSendRecv, "sendRecvInfo", nullptr, 2, c, s);
    PARA(HcclBatchSendRecv, "too many", "count", i, 2, c, s);
    i[1].count = 1;
    NOT(HcclBatchSendRecv, "int128", "dataType", i, 2, c, s);
    i[1].dataType = F32;
    PARA(HcclBatchSendRecv, "no such rank", "remoteRank", i, 2, c, s);
    i[1].remoteRank = 0;
    PARA(HcclBatchSendRecv, "half a pair to itself", "sendRecvInfo", i, 2, c,
         s);
    SAMPLE_CHECK(HcclGroupStart());
    i[1].remoteRank = 1;
    HcclResult rc = HcclBatchSendRecv(i, 2, c, s);
    Ok(rc == HCCL_E_NOT_SUPPORT, "BatchSendRecv in a group",
       std::to_string(rc));
    SAMPLE_CHECK(HcclGroupEnd());

    PTR(HcclBarrier, "stream", nullptr, nullptr);
    PTR(HcclBarrier, "comm", nullptr, s);
}

void Two(const Rank &me)
{
    World w = {};
    std::vector<float> v(4, 1.5f);

    w.c = Make(me, 0, Config("mistakes"));
    SAMPLE_CHECK(aclrtCreateStream(&w.s));
    SAMPLE_CHECK(aclrtMalloc(&w.a, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    SAMPLE_CHECK(aclrtMalloc(&w.b, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    if (me.rank == 0) {
        Reductions(w);
        Gathers(w);
        AllToAlls(w);
        Points(w);
    }
    /* None of it is left on the communicator or on the stream. */
    SAMPLE_CHECK(aclrtMemcpy(w.a, 16, v.data(), 16,
                             ACL_MEMCPY_HOST_TO_DEVICE));
    SAMPLE_CHECK(HcclAllReduce(w.a, w.b, 4, F32, SUM, w.c, w.s));
    SAMPLE_CHECK(aclrtSynchronizeStream(w.s));
    SAMPLE_CHECK(aclrtMemcpy(v.data(), 16, w.b, 16,
                             ACL_MEMCPY_DEVICE_TO_HOST));
    Ok(v == std::vector<float>(4, 3.0f), "rank " + std::to_string(me.rank) +
       ": the communicator works after that");
    SAMPLE_CHECK(HcclCommDestroy(w.c));
    Ok(HcclAllReduce(w.a, w.b, 4, F32, SUM, w.c, w.s) == HCCL_E_PARA,
       "a communicator that was destroyed");
    SAMPLE_CHECK(aclrtFree(w.a));
    SAMPLE_CHECK(aclrtFree(w.b));
    SAMPLE_CHECK(aclrtDestroyStream(w.s));
    Meet(me);
}

bool Same(const World &w, const std::vector<uint8_t> &want)
{
    std::vector<uint8_t> got(want.size());

    SAMPLE_CHECK(aclrtSynchronizeStream(w.s));
    SAMPLE_CHECK(aclrtMemcpy(got.data(), got.size(), w.b, got.size(),
                             ACL_MEMCPY_DEVICE_TO_HOST));
    SAMPLE_CHECK(aclrtMemset(w.b, 4096, 0, 4096));
    return got == want;
}

/* One rank alone: copies, §4. */
void Alone(const Rank &me)
{
    World w = {};
    std::vector<uint8_t> v = Pattern(0, 1, 2, 1000);
    uint64_t n[1] = { 1000 }, at[1] = { 77 };
    HcclDataType t = HCCL_DATA_TYPE_INT8;
    HcclComm c;
    int32_t device = static_cast<int32_t>(me.rank);

    SAMPLE_CHECK(HcclCommInitAll(1, &device, &w.c));
    c = w.c;
    SAMPLE_CHECK(aclrtCreateStream(&w.s));
    SAMPLE_CHECK(aclrtMalloc(&w.a, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    SAMPLE_CHECK(aclrtMalloc(&w.b, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    SAMPLE_CHECK(aclrtMemcpy(w.a, 1000, v.data(), 1000,
                             ACL_MEMCPY_HOST_TO_DEVICE));
#define COPY(op, ...) \
    Ok(op(__VA_ARGS__) == HCCL_SUCCESS && Same(w, v), #op " of one rank")
    COPY(HcclAllReduce, w.a, w.b, 1000, t, PROD, c, w.s);
    COPY(HcclReduce, w.a, w.b, 1000, t, SUM, 0, c, w.s);
    COPY(HcclReduceScatter, w.a, w.b, 1000, t, SUM, c, w.s);
    COPY(HcclReduceScatterV, w.a, n, at, w.b, 1000, t, SUM, c, w.s);
    COPY(HcclAllGather, w.a, w.b, 1000, t, c, w.s);
    COPY(HcclAllGatherV, w.a, 1000, w.b, n, at, t, c, w.s);
    COPY(HcclScatter, w.a, w.b, 1000, t, 0, c, w.s);
    COPY(HcclAlltoAll, w.a, 1000, t, w.b, 1000, t, c, w.s);
    COPY(HcclAlltoAllV, w.a, n, at, t, w.b, n, at, t, c, w.s);
    COPY(HcclAlltoAllVC, w.a, n, t, w.b, t, c, w.s);
    HcclSendRecvItem i[2] = { { HCCL_RECV, w.b, 1000, t, 0 },
                              { HCCL_SEND, w.a, 1000, t, 0 } };
    COPY(HcclBatchSendRecv, i, 2, c, w.s);
    v.assign(1000, 0);
    COPY(HcclBroadcast, w.a, 1000, t, 0, c, w.s);
    COPY(HcclBarrier, c, w.s);
    COPY(HcclAllReduce, w.b, w.b, 1000, t, SUM, c, w.s);
    Ok(HcclSend(w.a, 1, t, 0, c, w.s) == HCCL_E_NOT_SUPPORT,
       "HcclSend of one rank");
    SAMPLE_CHECK(HcclCommDestroy(c));
    SAMPLE_CHECK(aclrtFree(w.a));
    SAMPLE_CHECK(aclrtFree(w.b));
    SAMPLE_CHECK(aclrtDestroyStream(w.s));
}

} // namespace

int main()
{
    Share();
    return Done(sample::Run(2, false, [](const Rank &me) {
        Two(me);
        if (me.rank == 1) {
            Alone(me);
        }
    }));
}
