/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every operator of HCCL once, on all cards: one thread for each, rank i on
 * device i. Each prints what it received; the program fails if that is wrong.
 */
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>
#include "hccl/hccl.h"
#include "hccl/hccl_types.h"

#define ACLCHECK(call)                                                  \
    do {                                                                \
        int rc_ = static_cast<int>(call);                               \
        if (rc_ != 0) {                                                 \
            const char *text_ = aclGetRecentErrMsg();                   \
            fprintf(stderr, "%s:%d: %s returned %d: %s\n", __FILE__,    \
                    __LINE__, #call, rc_, text_ ? text_ : "");          \
            exit(1);                                                    \
        }                                                               \
    } while (0)
#define HCCLCHECK ACLCHECK

/* Floats in card memory. */
class Buffer {
public:
    explicit Buffer(const std::vector<float> &v) : bytes_(v.size() * 4)
    {
        ACLCHECK(aclrtMalloc(&p_, bytes_, ACL_MEM_MALLOC_HUGE_ONLY));
        ACLCHECK(aclrtMemcpy(p_, bytes_, v.data(), bytes_,
                             ACL_MEMCPY_HOST_TO_DEVICE));
    }

    ~Buffer()
    {
        ACLCHECK(aclrtFree(p_));
    }

    std::vector<float> Get() const
    {
        std::vector<float> v(bytes_ / 4);

        ACLCHECK(aclrtMemcpy(v.data(), bytes_, p_, bytes_,
                             ACL_MEMCPY_DEVICE_TO_HOST));
        return v;
    }

    void *p() const
    {
        return p_;
    }

private:
    size_t bytes_;
    void *p_ = nullptr;
};

typedef std::vector<float> Floats;

struct Rank {
    uint32_t me, n;
    HcclComm comm;
    aclrtStream stream;
};

/* Runs @op on @in; the result must be @want (nothing: it does not matter). */
static void Run(const Rank &r, const char *name, const Floats &in, size_t size,
                const Floats &want,
                const std::function<HcclResult(void *, void *)> &op)
{
    Buffer send(in), recv(Floats(size, -1));
    std::string text;

    HCCLCHECK(op(send.p(), recv.p()));
    ACLCHECK(aclrtSynchronizeStream(r.stream));
    Floats got = recv.Get();
    for (float f : got) {
        text += " " + std::to_string(static_cast<int>(f));
    }
    printf("%s, rank %u of %u:%s\n", name, r.me, r.n, text.c_str());
    if (!want.empty() && got != want) {
        fprintf(stderr, "%s, rank %u: wrong\n", name, r.me);
        exit(1);
    }
}

/* Rank m's element i is 10 m + i. */
static Floats Part(uint32_t m, uint32_t first, uint32_t num)
{
    Floats v;

    for (uint32_t i = first; i < first + num; i++) {
        v.push_back(static_cast<float>(10 * m + i));
    }
    return v;
}

static Floats Sum(uint32_t n, uint32_t first, uint32_t num)
{
    Floats v(num, 0);

    for (uint32_t m = 0; m < n; m++) {
        Floats p = Part(m, first, num);
        for (uint32_t i = 0; i < num; i++) {
            v[i] += p[i];
        }
    }
    return v;
}

/* What all ranks have at place @at. */
static Floats Column(uint32_t n, uint32_t at, uint32_t num)
{
    Floats v;

    for (uint32_t m = 0; m < n; m++) {
        Floats p = Part(m, at, num);
        v.insert(v.end(), p.begin(), p.end());
    }
    return v;
}

static const HcclDataType F32 = HCCL_DATA_TYPE_FP32;
static const HcclReduceOp SUM = HCCL_REDUCE_SUM;

static void Collectives(const Rank &r)
{
    uint32_t n = r.n, me = r.me, root = n - 1;
    HcclComm c = r.comm;
    aclrtStream st = r.stream;
    Floats mine = Part(me, 0, n);

    Run(r, "AllReduce", mine, n, Sum(n, 0, n), [&](void *s, void *d) {
        return HcclAllReduce(s, d, n, F32, SUM, c, st);
    });
    Run(r, "Reduce", mine, n, me == root ? Sum(n, 0, n) : Floats(),
        [&](void *s, void *d) {
        return HcclReduce(s, d, n, F32, SUM, root, c, st);
    });
    Run(r, "ReduceScatter", mine, 1, Sum(n, me, 1), [&](void *s, void *d) {
        return HcclReduceScatter(s, d, 1, F32, SUM, c, st);
    });
    Run(r, "AllGather", Part(me, 0, 1), n, Column(n, 0, 1),
        [&](void *s, void *d) {
        return HcclAllGather(s, d, 1, F32, c, st);
    });
    Run(r, "Scatter", mine, 1, Part(root, me, 1), [&](void *s, void *d) {
        return HcclScatter(s, d, 1, F32, root, c, st);
    });
    Run(r, "AlltoAll", mine, n, Column(n, me, 1), [&](void *s, void *d) {
        return HcclAlltoAll(s, 1, F32, d, 1, F32, c, st);
    });

    std::vector<uint64_t> ones(n, 1), all(n * n, 1), places;
    for (uint32_t i = 0; i < n; i++) {
        places.push_back(i);
    }
    Run(r, "AlltoAllV", mine, n, Column(n, me, 1), [&](void *s, void *d) {
        return HcclAlltoAllV(s, ones.data(), places.data(), F32, d,
                             ones.data(), places.data(), F32, c, st);
    });
    Run(r, "AlltoAllVC", mine, n, Column(n, me, 1), [&](void *s, void *d) {
        return HcclAlltoAllVC(s, all.data(), F32, d, F32, c, st);
    });
    Run(r, "AllGatherV", Part(me, 0, 1), n, Column(n, 0, 1),
        [&](void *s, void *d) {
        return HcclAllGatherV(s, 1, d, ones.data(), places.data(), F32, c, st);
    });
    Run(r, "ReduceScatterV", mine, 1, Sum(n, me, 1), [&](void *s, void *d) {
        return HcclReduceScatterV(s, ones.data(), places.data(), d, 1, F32,
                                  SUM, c, st);
    });
    /* In place: the received buffer is the one that is sent. */
    Run(r, "Broadcast", mine, n, Part(root, 0, n), [&](void *s, void *d) {
        ACLCHECK(aclrtMemcpy(d, n * 4, s, n * 4, ACL_MEMCPY_DEVICE_TO_DEVICE));
        return HcclBroadcast(d, n, F32, root, c, st);
    });
}

static void PointToPoint(const Rank &r)
{
    uint32_t next = (r.me + 1) % r.n, prev = (r.me + r.n - 1) % r.n;
    Floats mine = Part(r.me, 0, 2);

    /* Even ranks send to the next one; a last one without partner waits. */
    if ((r.me | 1u) < r.n) {
        Run(r, "Send, Recv", mine, 2, r.me % 2 ? Part(r.me - 1, 0, 2)
            : Floats(2, -1), [&](void *s, void *d) {
            return r.me % 2 ? HcclRecv(d, 2, F32, r.me - 1, r.comm, r.stream)
                            : HcclSend(s, 2, F32, r.me + 1, r.comm, r.stream);
        });
    }
    Run(r, "BatchSendRecv", mine, 2, Part(prev, 0, 2), [&](void *s, void *d) {
        HcclSendRecvItem items[] = { { HCCL_SEND, s, 2, F32, next },
                                     { HCCL_RECV, d, 2, F32, prev } };
        return HcclBatchSendRecv(items, 2, r.comm, r.stream);
    });
    HCCLCHECK(HcclBarrier(r.comm, r.stream));
    ACLCHECK(aclrtSynchronizeStream(r.stream));
}

static void OneRank(uint32_t me, uint32_t n, const HcclRootInfo *root)
{
    Rank r = { me, n, nullptr, nullptr };

    ACLCHECK(aclrtSetDevice(static_cast<int32_t>(me)));
    HCCLCHECK(HcclCommInitRootInfo(n, root, me, &r.comm));
    ACLCHECK(aclrtCreateStream(&r.stream));
    Collectives(r);
    if (n > 1) {
        PointToPoint(r);
    }
    HCCLCHECK(HcclCommDestroy(r.comm));
    ACLCHECK(aclrtDestroyStream(r.stream));
    ACLCHECK(aclrtResetDevice(static_cast<int32_t>(me)));
}

int main()
{
    std::vector<std::thread> threads;
    uint32_t n = 0;
    void *root = nullptr;

    ACLCHECK(aclInit(nullptr));
    ACLCHECK(aclrtGetDeviceCount(&n));
    ACLCHECK(aclrtSetDevice(0));
    ACLCHECK(aclrtMallocHost(&root, sizeof(HcclRootInfo)));
    HCCLCHECK(HcclGetRootInfo(static_cast<HcclRootInfo *>(root)));
    for (uint32_t i = 0; i < n; i++) {
        threads.emplace_back(OneRank, i, n, static_cast<HcclRootInfo *>(root));
    }
    for (std::thread &t : threads) {
        t.join();
    }
    ACLCHECK(aclrtFreeHost(root));
    ACLCHECK(aclrtResetDevice(0));
    ACLCHECK(aclFinalize());
    printf("%u ranks: ok\n", n);
    return 0;
}
