/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams and communicators that end while work is queued, and attempts that
 * fail because ranks differ, with what comes after them:
 *
 *   hccl-ends threads|processes N stream|comm|again...
 */
#include <functional>
#include "hccl/hccl.h"
#include "hccl/hccl_sym_win.h"
#include "ctrl.h"

using namespace ctrl;

namespace {

constexpr uint64_t COUNT = 1000;

void Slow(void *)
{
    usleep(300000);
}

/* Two buffers of a rank; the input is its rank plus the index. */
struct Sum {
    Rank me;
    void *in = nullptr, *out = nullptr;

    explicit Sum(const Rank &r) : me(r)
    {
        std::vector<int32_t> v(COUNT);

        for (uint64_t i = 0; i < COUNT; i++) {
            v[i] = static_cast<int32_t>(i + me.rank);
        }
        SAMPLE_CHECK(aclrtMalloc(&in, COUNT * 4, ACL_MEM_MALLOC_HUGE_FIRST));
        SAMPLE_CHECK(aclrtMalloc(&out, COUNT * 4, ACL_MEM_MALLOC_HUGE_FIRST));
        SAMPLE_CHECK(aclrtMemcpy(in, COUNT * 4, v.data(), COUNT * 4,
                                 ACL_MEMCPY_HOST_TO_DEVICE));
    }
    ~Sum()
    {
        aclrtFree(in);
        aclrtFree(out);
    }
    Sum(const Sum &) = delete;
    Sum &operator=(const Sum &) = delete;
    HcclResult Go(HcclComm comm, aclrtStream stream) const
    {
        SAMPLE_CHECK(aclrtMemset(out, COUNT * 4, 0, COUNT * 4));
        return HcclAllReduce(in, out, COUNT, HCCL_DATA_TYPE_INT32,
                             HCCL_REDUCE_SUM, comm, stream);
    }
    bool Right() const
    {
        std::vector<int32_t> v(COUNT);
        bool good = true;

        SAMPLE_CHECK(aclrtMemcpy(v.data(), COUNT * 4, out, COUNT * 4,
                                 ACL_MEMCPY_DEVICE_TO_HOST));
        for (uint64_t i = 0; i < COUNT; i++) {
            good &= v[i] == static_cast<int32_t>(
                i * me.ranks + me.ranks * (me.ranks - 1) / 2);
        }
        return good;
    }
};

/* aclrtDestroyStream waits for the stream's work, operators included. */
void Stream(const Rank &me)
{
    HcclComm comm = Make(me, 0, Config("stream"));
    Sum sum(me);
    bool good = true;

    for (int i = 0; i < 6; i++) {
        aclrtStream stream;

        SAMPLE_CHECK(aclrtCreateStream(&stream));
        if (i > 1) {             /* the operator has not begun then */
            SAMPLE_CHECK(aclrtLaunchHostFunc(stream, Slow, nullptr));
        }
        SAMPLE_CHECK(sum.Go(comm, stream));
        SAMPLE_CHECK(aclrtDestroyStream(stream));
        good &= sum.Right();
        Meet(me);
    }
    Ok(good, "a stream that is destroyed does its operators first");
    Ok(HcclCommDestroy(comm) == HCCL_SUCCESS, "then the communicator ends");
}

/* A communicator takes its work from the streams, and leaves no trace. */
void Comm(const Rank &me)
{
    HcclComm comm = Make(me, 1, Config("short"));
    aclrtStream stream, force;
    Sum sum(me);
    double t;

    SAMPLE_CHECK(aclrtCreateStream(&stream));
    SAMPLE_CHECK(aclrtCreateStream(&force));
    SAMPLE_CHECK(sum.Go(comm, stream));
    SAMPLE_CHECK(aclrtSynchronizeStream(stream));
    Meet(me);
    if (me.rank == 0) {          /* the others are there, but do not call */
        SAMPLE_CHECK(sum.Go(comm, stream));
        t = sample::Now();
        Ok(HcclCommDestroy(comm) == HCCL_SUCCESS, "a busy communicator ends");
        Ok(aclrtSynchronizeStream(stream) == 507001 &&
           Says("", { "short", "destroyed", "queued" }) &&
           sample::Now() - t < 10, "its stream says so at once");
    }
    Meet(me);
    if (me.rank != 0) {
        SAMPLE_CHECK(HcclCommDestroy(comm));
    }
    Meet(me);
    comm = Make(me, 2, Config("next"));
    for (int i = 0; i < 3; i++) {
        SAMPLE_CHECK(sum.Go(comm, stream));
        SAMPLE_CHECK(aclrtSynchronizeStream(stream));
        Ok(sum.Right(), "the next communicator works on it");
    }
    Meet(me);
    if (me.rank != 0) {
        SAMPLE_CHECK(HcclCommDestroy(comm));
    }
    Meet(me);
    if (me.rank == 0) {          /* the others have gone */
        HcclResult state = HCCL_SUCCESS, went = sum.Go(comm, force);

        for (int i = 0; i < 500 && state == HCCL_SUCCESS; i++) {
            usleep(10000);
            SAMPLE_CHECK(HcclGetCommAsyncError(comm, &state));
        }
        Ok(state == HCCL_E_REMOTE, "what others do not receive fails");
        SAMPLE_CHECK(aclrtMemsetAsync(sum.out, 64, 1, 64, stream));
        Ok(aclrtSynchronizeStream(stream) == ACL_SUCCESS,
           "a stream that waits no more is left alone");
        Ok(went == HCCL_E_REMOTE || aclrtSynchronizeStream(force) == 507057,
           "the one that waits is not");
        SAMPLE_CHECK(aclrtLaunchHostFunc(force, Slow, nullptr));
    }
    Ok(aclrtDestroyStreamForce(force) == ACL_SUCCESS, "a busy stream ends");
    if (me.rank == 0) {
        Ok(HcclCommDestroy(comm) == HCCL_SUCCESS, "and its communicator");
    }
    Meet(me);
    comm = Make(me, 3, Config("last"));
    SAMPLE_CHECK(sum.Go(comm, stream));
    SAMPLE_CHECK(aclrtSynchronizeStream(stream));
    Ok(sum.Right(), "another one works");
    SAMPLE_CHECK(aclrtDestroyStream(stream));
    SAMPLE_CHECK(HcclCommDestroy(comm));
}

/*
 * The last rank differs, the others do not; rank 1 is late. Each then tries
 * again without waiting for the others.
 */
void Again(const Rank &me)
{
    HcclComm world = Make(me, 4, Config("world")), sub = nullptr;
    bool odd = me.rank == me.ranks - 1;
    std::vector<uint32_t> ids(me.ranks);
    HcclCommConfig config = Config("part", odd ? 2 : 1);
    HcclCommSymWindow win;
    void *mem;

    SAMPLE_CHECK(aclrtMalloc(&mem, 65536, ACL_MEM_MALLOC_HUGE_FIRST));
    for (uint32_t i = 0; i < me.ranks; i++) {
        ids[i] = i;
    }
    Meet(me);
    usleep(me.rank == 1 ? 500000 : 0);
    Ok(HcclCommSymWinRegister(world, mem, odd ? 8192 : 4096, &win, 1) ==
       HCCL_E_PARA && Says("EI0005", { "size", "8192", "4096" }),
       "windows of different sizes");
    for (uint64_t size : { 16384, 32768 }) {
        Ok(HcclCommSymWinRegister(world, mem, size, &win, 1) == HCCL_SUCCESS,
           "windows of equal sizes");
    }
    Meet(me);
    usleep(me.rank == 1 ? 500000 : 0);
    Ok(HcclCreateSubCommConfig(&world, me.ranks, ids.data(), 7, me.rank,
                               &config, &sub) == HCCL_E_PARA &&
       Says("EI0005", { "hcclBufferSize", "1 MiB", "2 MiB" }),
       "parts with different buffers");
    config.hcclBufferSize = 3;
    Ok(HcclCreateSubCommConfig(&world, me.ranks, ids.data(), 7, me.rank,
                               &config, &sub) == HCCL_SUCCESS,
       "parts with equal buffers");
    Meet(me);

    std::vector<HcclChannelDesc> d;
    std::vector<ChannelHandle> h(me.ranks);
    uint32_t info = odd;

    for (uint32_t i = 0; i < me.ranks; i++) {
        if (i != me.rank) {
            d.push_back(sample::ChannelTo(sub, me.rank, i, 2));
        }
    }
    SAMPLE_CHECK(HcclCommAddExchangeInfo(sub, &info, sizeof(info)));
    usleep(me.rank == 1 ? 500000 : 0);
    Ok(HcclChannelAcquire(sub, COMM_ENGINE_AICPU_TS, d.data(), d.size(),
                          h.data()) == HCCL_E_PARA &&
       Says("EI0005", { "exchange info" }), "channels of different operators");
    SAMPLE_CHECK(HcclCommResetExchangeInfo(sub));
    info = 99;
    SAMPLE_CHECK(HcclCommAddExchangeInfo(sub, &info, sizeof(info)));
    Ok(HcclChannelAcquire(sub, COMM_ENGINE_AICPU_TS, d.data(), d.size(),
                          h.data()) == HCCL_SUCCESS,
       "channels of equal ones");
    Meet(me);
    SAMPLE_CHECK(HcclCommDestroy(sub));
    SAMPLE_CHECK(HcclCommDestroy(world));
    SAMPLE_CHECK(aclrtFree(mem));
}

} // namespace

int main(int argc, char **argv)
{
    uint32_t n = argc > 3 ? strtoul(argv[2], nullptr, 10) : 0;
    int rc;

    if (n < 2) {
        fprintf(stderr, "usage: hccl-ends threads|processes N TEST...\n");
        return 2;
    }
    setenv("HCCL_EXEC_TIMEOUT", "60", 0);
    setenv("ATLAS350_CONNECT_TIMEOUT", "30", 0);
    Share();
    rc = sample::Run(n, strcmp(argv[1], "processes") == 0,
                     [&](const Rank &me) {
        for (int i = 3; i < argc; i++) {
            std::string what = argv[i];

            what == "stream" ? Stream(me) : what == "comm" ? Comm(me)
                : Again(me);
        }
    });
    return Done(rc);
}
