/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Algorithm bandwidth of the sample operators and of HCCL's own on all cards,
 * one thread for each: bytes of the result (all-gather: of all ranks together)
 * over the time of one operator, by events around many. Beside it, a copy of
 * as many bytes by the C library, here in the guest.
 *
 * collectives [NAME SIZE FACTOR]: only that operator and size, FACTOR times as
 * often, for a profiler to look at.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <algorithm>
#include <string>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>
#include <acl/acl.h>
#include <hccl/hccl.h>
#include <hccl/hccl_comm.h>
#include <hccl_custom_ops.h>

#define CHECK(call)                                                     \
    do {                                                                \
        int rc_ = static_cast<int>(call);                               \
        if (rc_ != 0) {                                                 \
            const char *text_ = aclGetRecentErrMsg();                   \
            fprintf(stderr, "%s: %d %s\n", #call, rc_,                  \
                    text_ != nullptr ? text_ : "");                     \
            exit(1);                                                    \
        }                                                               \
    } while (0)

/* copy: GB/s of memcpy, measured before anything else runs. */
static struct {
    const char *name;
    uint64_t bytes;
    int rounds;
    double copy;
} sizes[] = {
    { "4K", 4096, 50, 0 }, { "64K", 65536, 50, 0 }, { "1M", 1 << 20, 20, 0 },
    { "16M", 16 << 20, 5, 0 }, { "64M", 64 << 20, 3, 0 },
};

static std::atomic<uint32_t> g_here;
static const char *g_name, *g_size;  /* NULL: all */
static int g_factor = 1;

/* All ranks begin together. */
static void Meet(uint32_t ranks)
{
    uint32_t at = g_here++, until = (at / ranks + 1) * ranks;

    while (g_here < until) {
        std::this_thread::yield();
    }
}

static double MemcpyRate(uint64_t bytes)
{
    std::vector<char> a(bytes, 1), b(bytes, 2);
    double best = 0;

    for (int i = 0; i < 5; i++) {
        int n = static_cast<int>(std::max<uint64_t>(1, (4 << 20) / bytes));
        auto start = std::chrono::steady_clock::now();

        for (int k = 0; k < n; k++) {
            memcpy(b.data(), a.data(), bytes);
            __asm__ volatile("" : : "r"(b.data()) : "memory");
        }
        std::chrono::duration<double> t =
            std::chrono::steady_clock::now() - start;
        best = std::max(best, static_cast<double>(bytes) * n / t.count());
    }
    return best / 1e9;
}

class Bench {
public:
    Bench(uint32_t rank, uint32_t ranks, const HcclRootInfo *root)
        : rank_(rank), ranks_(ranks)
    {
        HcclCommConfig config;

        CHECK(aclrtSetDevice(static_cast<int32_t>(rank)));
        HcclCommConfigInit(&config);
        config.hcclBufferSize = 64;
        CHECK(HcclCommInitRootInfoConfig(ranks, root, rank, &config, &comm_));
        CHECK(aclrtCreateStream(&stream_));
        CHECK(aclrtCreateEvent(&begin_));
        CHECK(aclrtCreateEvent(&end_));
        CHECK(aclrtMalloc(&in_, 64 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK(aclrtMalloc(&out_, 64 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK(aclrtMemset(in_, 64 << 20, 0, 64 << 20));
    }

    void Run()
    {
        static const char *const names[] = {
            "allgather", "ring-allreduce", "hccl.allreduce", "hccl.allgather",
            "hccl.reducescatter", "hccl.alltoall", "hccl.broadcast",
        };

        for (const char *name : names) {
            for (const auto &s : sizes) {
                if ((g_name && strcmp(g_name, name)) ||
                    (g_size && strcmp(g_size, s.name))) {
                    continue;
                }
                Print(name, s.name, s.bytes,
                      Time(name, s.bytes, s.rounds * g_factor), s.copy);
            }
        }
        if (!g_name) {
            Barrier();
        }
    }

    void Close()
    {
        CHECK(aclrtFree(in_));
        CHECK(aclrtFree(out_));
        CHECK(aclrtDestroyEvent(begin_));
        CHECK(aclrtDestroyEvent(end_));
        CHECK(HcclCommDestroy(comm_));
        CHECK(aclrtDestroyStream(stream_));
        CHECK(aclrtResetDevice(static_cast<int32_t>(rank_)));
    }

private:
    void One(const std::string &name, uint64_t bytes)
    {
        const HcclDataType type = HCCL_DATA_TYPE_FP32;
        const HcclReduceOp sum = HCCL_REDUCE_SUM;
        uint64_t all = bytes / 4, part = all / ranks_;

        if (name == "allgather") {
            CHECK(HcclAllGatherCustom(in_, out_, part, type, comm_, stream_));
        } else if (name == "ring-allreduce") {
            CHECK(HcclAllReduceCustom(in_, out_, all, type, sum, comm_,
                                      stream_));
        } else if (name == "hccl.allreduce") {
            CHECK(HcclAllReduce(in_, out_, all, type, sum, comm_, stream_));
        } else if (name == "hccl.allgather") {
            CHECK(HcclAllGather(in_, out_, part, type, comm_, stream_));
        } else if (name == "hccl.reducescatter") {
            CHECK(HcclReduceScatter(in_, out_, part, type, sum, comm_,
                                    stream_));
        } else if (name == "hccl.alltoall") {
            CHECK(HcclAlltoAll(in_, part, type, out_, part, type, comm_,
                               stream_));
        } else {
            CHECK(HcclBroadcast(out_, all, type, 0, comm_, stream_));
        }
    }

    void Barrier()
    {
        float ms = 0;

        CHECK(HcclBarrier(comm_, stream_));
        CHECK(aclrtRecordEvent(begin_, stream_));
        for (int i = 0; i < 200; i++) {
            CHECK(HcclBarrier(comm_, stream_));
        }
        CHECK(aclrtRecordEvent(end_, stream_));
        CHECK(aclrtSynchronizeStream(stream_));
        CHECK(aclrtEventElapsedTime(&ms, begin_, end_));
        if (rank_ == 0) {
            printf("bench hccl.barrier.%ucards %.1f us target 200\n", ranks_,
                   static_cast<double>(ms) * 1000 / 200);
        }
    }

    /* Seconds of one operator; the first ones are not counted. */
    double Time(const char *name, uint64_t bytes, int rounds)
    {
        float ms = 0;

        for (int i = 0; i < 2; i++) {
            One(name, bytes);
        }
        CHECK(aclrtSynchronizeStream(stream_));
        Meet(ranks_);
        CHECK(aclrtRecordEvent(begin_, stream_));
        for (int i = 0; i < rounds; i++) {
            One(name, bytes);
        }
        CHECK(aclrtRecordEvent(end_, stream_));
        CHECK(aclrtSynchronizeStream(stream_));
        CHECK(aclrtEventElapsedTime(&ms, begin_, end_));
        Meet(ranks_);
        return static_cast<double>(ms) / 1000 / rounds;
    }

    void Print(const char *what, const char *size, uint64_t bytes, double t,
               double copy) const
    {
        if (rank_ == 0) {
            printf("bench %s.%ucards.%s %.4f GB/s guest_copy %.3f\n", what,
                   ranks_, size, static_cast<double>(bytes) / t / 1e9, copy);
            fflush(stdout);
        }
    }

    uint32_t rank_, ranks_;
    HcclComm comm_ = nullptr;
    aclrtStream stream_ = nullptr;
    aclrtEvent begin_ = nullptr, end_ = nullptr;
    void *in_ = nullptr, *out_ = nullptr;
};

int main(int argc, char **argv)
{
    std::vector<std::thread> threads;
    HcclRootInfo root;
    uint32_t ranks = 0;

    if (argc == 4) {
        g_name = argv[1];
        g_size = argv[2];
        g_factor = atoi(argv[3]);
    }
    for (auto &s : sizes) {
        s.copy = MemcpyRate(s.bytes);
    }
    CHECK(aclInit(nullptr));
    CHECK(aclrtGetDeviceCount(&ranks));
    CHECK(aclrtSetDevice(0));
    CHECK(HcclGetRootInfo(&root));
    for (uint32_t i = 0; i < ranks; i++) {
        threads.emplace_back([=, &root] {
            Bench b(i, ranks, &root);

            b.Run();
            b.Close();
        });
    }
    for (std::thread &t : threads) {
        t.join();
    }
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
