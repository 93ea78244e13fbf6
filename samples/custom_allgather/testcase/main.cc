/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process, one thread for each card: all-gathers of many sizes and types,
 * every byte of the result compared with what the host computes.
 *
 * usage: allgather [LARGE_MIB [BUFFER_MIB]]   only one, with so many MiB in all
 *        allgather processes                a process for each card instead
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>
#include <acl/acl_rt.h>
#include <acl/acl.h>
#include <hccl/hccl_types.h>
#include <hccl/hccl_comm.h>
#include <hccl_custom_allgather.h>

#define CHECK(call)                                                      \
    do {                                                                 \
        int ret_ = static_cast<int>(call);                               \
        if (ret_ != 0) {                                                 \
            const char *text_ = aclGetRecentErrMsg();                    \
            printf("%s:%d: %s returned %d: %s\n", __FILE__, __LINE__,    \
                   #call, ret_, text_ != nullptr ? text_ : "");          \
            g_failed++;                                                  \
            return ret_;                                                 \
        }                                                                \
    } while (0)

static std::atomic<int> g_passed, g_failed;

struct Rank {
    uint32_t rank, ranks;
    HcclComm comm;
    aclrtStream stream;
};

/* Depends on the rank, the call and the place; no period below 2^32. */
static uint64_t Word(uint32_t rank, uint32_t seed, uint64_t i)
{
    uint64_t x = i * 0x9e3779b97f4a7c15ull + rank * 0xbf58476d1ce4e5b9ull +
                 seed;

    return x ^ (x >> 29);
}

static void Fill(uint8_t *data, uint64_t at, uint64_t size, uint32_t rank,
                 uint32_t seed)
{
    for (uint64_t i = 0; i < size; i += 8) {
        uint64_t w = Word(rank, seed, (at + i) / 8);

        memcpy(data + i, &w, std::min<uint64_t>(8, size - i));
    }
}

/* In windows, so that large ones need little memory. */
constexpr uint64_t WINDOW = 8 << 20;

static int Upload(const Rank &me, uint8_t *dev, uint64_t size, uint32_t seed)
{
    std::vector<uint8_t> host(std::min(size, WINDOW));

    for (uint64_t at = 0; at < size; at += WINDOW) {
        uint64_t n = std::min(WINDOW, size - at);

        Fill(host.data(), at, n, me.rank, seed);
        CHECK(aclrtMemcpy(dev + at, n, host.data(), n,
                          ACL_MEMCPY_HOST_TO_DEVICE));
    }
    return 0;
}

static int Verify(const Rank &me, const uint8_t *dev, uint64_t size,
                  uint32_t seed)
{
    std::vector<uint8_t> want(std::min(size, WINDOW)), got(want.size());

    for (uint32_t r = 0; r < me.ranks; r++) {
        for (uint64_t at = 0; at < size; at += WINDOW) {
            uint64_t n = std::min(WINDOW, size - at);

            CHECK(aclrtMemcpy(got.data(), n, dev + r * size + at, n,
                              ACL_MEMCPY_DEVICE_TO_HOST));
            Fill(want.data(), at, n, r, seed);
            if (memcmp(got.data(), want.data(), n) != 0) {
                printf("rank %u: part of rank %u, bytes from %llu of %llu: "
                       "wrong data\n", me.rank, r, (unsigned long long)at,
                       (unsigned long long)size);
                g_failed++;
                return 1;
            }
        }
    }
    g_passed++;
    return 0;
}

/* @calls with the same memory, then one look at the result. */
static int Gather(Rank &me, uint64_t count, HcclDataType type, uint32_t width,
                  uint32_t seed, uint32_t calls)
{
    uint64_t size = count * width;
    uint8_t *in = nullptr, *out = nullptr;

    CHECK(aclrtMalloc(reinterpret_cast<void **>(&in), size,
                      ACL_MEM_MALLOC_HUGE_ONLY));
    CHECK(aclrtMalloc(reinterpret_cast<void **>(&out), size * me.ranks,
                      ACL_MEM_MALLOC_HUGE_ONLY));
    if (Upload(me, in, size, seed) != 0) {
        return 1;
    }
    for (uint32_t i = 0; i < calls; i++) {
        CHECK(HcclAllGatherCustom(in, out, count, type, me.comm, me.stream));
    }
    CHECK(aclrtSynchronizeStream(me.stream));
    if (Verify(me, out, size, seed) != 0) {
        return 1;
    }
    CHECK(aclrtFree(in));
    CHECK(aclrtFree(out));
    return 0;
}

static int Sizes(Rank &me)
{
    static const struct {
        HcclDataType type;
        uint32_t width;
    } types[] = {
        { HCCL_DATA_TYPE_INT8, 1 }, { HCCL_DATA_TYPE_FP16, 2 },
        { HCCL_DATA_TYPE_FP32, 4 }, { HCCL_DATA_TYPE_FP64, 8 },
        { HCCL_DATA_TYPE_INT128, 16 }, { HCCL_DATA_TYPE_FP8E4M3, 1 },
    };
    uint32_t seed = 0;

    for (const auto &t : types) {
        for (uint64_t count : { 1ull, 3ull, 1000ull, 32768ull, 262147ull }) {
            if (Gather(me, count, t.type, t.width, ++seed, 2) != 0) {
                return 1;
            }
        }
    }
    return Gather(me, 257, HCCL_DATA_TYPE_FP32, 4, 100, 300);
}

/* Two communicators on the same cards and stream; one goes, one stays. */
static int Second(Rank &me, const HcclRootInfo *root)
{
    HcclCommConfig config = {0};
    Rank other = me;

    HcclCommConfigInit(&config);
    config.hcclBufferSize = 2;
    CHECK(HcclCommInitRootInfoConfig(me.ranks, root, me.rank, &config,
                                     &other.comm));
    for (uint32_t i = 0; i < 2; i++) {
        if (Gather(other, 300007, HCCL_DATA_TYPE_FP32, 4, 200 + i, 2) != 0 ||
            Gather(me, 300007, HCCL_DATA_TYPE_FP32, 4, 300 + i, 2) != 0) {
            return 1;
        }
    }
    CHECK(HcclCommDestroy(other.comm));
    return Gather(me, 5, HCCL_DATA_TYPE_INT16, 2, 400, 2);
}

/* What MPI does for the published programs: the root's bytes reach all. */
struct Shared {
    std::atomic<int> ready;
    HcclRootInfo root;
};

/* The stream goes before the communicator, as those programs have it. */
static int Process(uint32_t rank, uint32_t ranks, Shared *shared)
{
    Rank me = { rank, ranks, nullptr, nullptr };
    HcclCommConfig config = {0};

    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(static_cast<int32_t>(rank)));
    if (rank == 0) {
        CHECK(HcclGetRootInfo(&shared->root));
        shared->ready = 1;
    }
    while (shared->ready == 0) {
        usleep(1000);
    }
    HcclCommConfigInit(&config);
    config.hcclBufferSize = 1;
    strcpy(config.hcclCommName, "comm_1");
    CHECK(HcclCommInitRootInfoConfig(ranks, &shared->root, rank, &config,
                                     &me.comm));
    CHECK(aclrtCreateStream(&me.stream));
    if (Sizes(me) != 0) {
        return 1;
    }
    CHECK(aclrtDestroyStream(me.stream));
    CHECK(HcclCommDestroy(me.comm));
    CHECK(aclrtResetDevice(static_cast<int32_t>(rank)));
    CHECK(aclFinalize());
    printf("rank %u: %d passed, %d failed\n", rank, g_passed.load(),
           g_failed.load());
    return g_failed != 0;
}

static int Processes()
{
    Shared *shared = static_cast<Shared *>(
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    uint32_t ranks = 0;
    int bad = 0, status = 0;

    CHECK(aclrtGetDeviceCount(&ranks));
    for (uint32_t i = 0; i < ranks; i++) {
        if (fork() == 0) {
            exit(Process(i, ranks, shared));
        }
    }
    for (uint32_t i = 0; i < ranks; i++) {
        bad |= wait(&status) < 0 || status != 0;
    }
    printf("%u processes: %s\n", ranks, bad != 0 ? "FAILED" : "ok");
    return bad;
}

static int Work(uint32_t rank, uint32_t ranks, const HcclRootInfo *rootInfo,
                uint64_t large, uint32_t mib)
{
    HcclCommConfig config = {0};
    Rank me = { rank, ranks, nullptr, nullptr };

    CHECK(aclrtSetDevice(static_cast<int32_t>(rank)));
    HcclCommConfigInit(&config);
    config.hcclBufferSize = mib;
    CHECK(HcclCommInitRootInfoConfig(ranks, rootInfo, rank, &config,
                                     &me.comm));
    CHECK(aclrtCreateStream(&me.stream));
    if (large != 0) {
        if (Gather(me, (large << 20) / ranks / 4, HCCL_DATA_TYPE_FP32, 4, 77,
                   1) != 0) {
            return 1;
        }
    } else if (Sizes(me) != 0 || Second(me, rootInfo + 1) != 0) {
        return 1;
    }
    CHECK(HcclCommDestroy(me.comm));
    CHECK(aclrtDestroyStream(me.stream));
    CHECK(aclrtResetDevice(static_cast<int32_t>(rank)));
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t large = argc > 1 ? strtoull(argv[1], nullptr, 0) : 0;
    uint32_t mib = argc > 2 ? static_cast<uint32_t>(atoi(argv[2]))
                            : large != 0 ? 200 : 1;
    std::vector<std::thread> threads;
    void *rootInfo = nullptr;
    uint32_t ranks = 0;

    setvbuf(stdout, nullptr, _IOLBF, 0);
    if (argc > 1 && strcmp(argv[1], "processes") == 0) {
        return Processes();
    }
    CHECK(aclInit(nullptr));
    CHECK(aclrtGetDeviceCount(&ranks));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtMallocHost(&rootInfo, 2 * sizeof(HcclRootInfo)));
    CHECK(HcclGetRootInfo(static_cast<HcclRootInfo *>(rootInfo)));
    CHECK(HcclGetRootInfo(static_cast<HcclRootInfo *>(rootInfo) + 1));
    for (uint32_t i = 0; i < ranks; i++) {
        threads.emplace_back(Work, i, ranks,
                             static_cast<HcclRootInfo *>(rootInfo), large,
                             mib);
    }
    for (std::thread &t : threads) {
        t.join();
    }
    CHECK(aclrtFreeHost(rootInfo));
    CHECK(aclFinalize());
    CHECK(aclrtResetDevice(0));
    printf("%d passed, %d failed\n", g_passed.load(), g_failed.load());
    return g_failed != 0 || g_passed == 0;
}
