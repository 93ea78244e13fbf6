/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process, one thread for each card. Even ranks send to the next odd one,
 * then back; every byte is compared.
 *
 * usage: send_recv [LARGE_MIB]    one more transfer of so many MiB
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <atomic>
#include <thread>
#include <vector>
#include <acl/acl_rt.h>
#include <acl/acl.h>
#include <hccl/hccl_types.h>
#include <hccl/hccl_comm.h>
#include <hccl_custom_p2p.h>

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
    uint32_t rank;
    HcclComm comm;
    aclrtStream stream;
};

/* Other values for every sender, call and place. */
static void Fill(uint8_t *data, uint64_t size, uint32_t seed)
{
    uint32_t x = seed * 2654435761u + 12345;

    for (uint64_t i = 0; i < size; i++) {
        x = x * 1664525u + 1013904223u;
        data[i] = static_cast<uint8_t>(x >> 24);
    }
}

static int Verify(const Rank &me, const void *dev, uint64_t size,
                  uint32_t seed)
{
    std::vector<uint8_t> want(size), got(size);

    CHECK(aclrtMemcpy(got.data(), size, dev, size,
                      ACL_MEMCPY_DEVICE_TO_HOST));
    Fill(want.data(), size, seed);
    for (uint64_t i = 0; i < size; i++) {
        if (got[i] != want[i]) {
            printf("rank %u: byte %llu of %llu is %u, not %u\n", me.rank,
                   (unsigned long long)i, (unsigned long long)size, got[i],
                   want[i]);
            g_failed++;
            return 1;
        }
    }
    g_passed++;
    return 0;
}

static int Transfer(Rank &me, uint64_t count, HcclDataType type,
                    uint32_t width, uint32_t seed)
{
    uint32_t peer = me.rank ^ 1;
    uint64_t size = count * width;
    void *host = nullptr, *dev = nullptr;

    CHECK(aclrtMalloc(&dev, size, ACL_MEM_MALLOC_HUGE_ONLY));
    CHECK(aclrtMallocHost(&host, size));
    for (uint32_t turn = 0; turn < 2; turn++) {
        uint32_t now = seed * 64 + turn * 32 + me.rank / 2;

        if (me.rank % 2 == turn) {
            Fill(static_cast<uint8_t *>(host), size, now);
            CHECK(aclrtMemcpy(dev, size, host, size,
                              ACL_MEMCPY_HOST_TO_DEVICE));
            CHECK(HcclSendCustom(dev, count, type, peer, me.comm, me.stream));
            CHECK(aclrtSynchronizeStream(me.stream));
        } else {
            CHECK(aclrtMemset(dev, size, 0xa5, size));
            CHECK(HcclRecvCustom(dev, count, type, peer, me.comm, me.stream));
            CHECK(aclrtSynchronizeStream(me.stream));
            if (Verify(me, dev, size, now) != 0) {
                return 1;
            }
        }
    }
    CHECK(aclrtFreeHost(host));
    CHECK(aclrtFree(dev));
    return 0;
}

/* Many calls queued, none awaited, each with its own memory. */
static int Burst(Rank &me, uint32_t calls)
{
    constexpr uint64_t SIZE = 4096;
    std::vector<uint8_t> data(SIZE);
    uint8_t *dev = nullptr;

    CHECK(aclrtMalloc(reinterpret_cast<void **>(&dev), SIZE * calls,
                      ACL_MEM_MALLOC_HUGE_ONLY));
    for (uint32_t i = 0; i < calls && me.rank % 2 == 0; i++) {
        Fill(data.data(), SIZE, 7000 + i);
        CHECK(aclrtMemcpy(dev + i * SIZE, SIZE, data.data(), SIZE,
                          ACL_MEMCPY_HOST_TO_DEVICE));
    }
    for (uint32_t i = 0; i < calls; i++) {
        if (me.rank % 2 == 0) {
            CHECK(HcclSendCustom(dev + i * SIZE, SIZE / 4,
                                 HCCL_DATA_TYPE_FP32, me.rank ^ 1, me.comm,
                                 me.stream));
        } else {
            CHECK(HcclRecvCustom(dev + i * SIZE, SIZE / 4,
                                 HCCL_DATA_TYPE_FP32, me.rank ^ 1, me.comm,
                                 me.stream));
        }
    }
    CHECK(aclrtSynchronizeStream(me.stream));
    for (uint32_t i = 0; i < calls && me.rank % 2 == 1; i++) {
        if (Verify(me, dev + i * SIZE, SIZE, 7000 + i) != 0) {
            return 1;
        }
    }
    CHECK(aclrtFree(dev));
    return 0;
}

/*
 * A second stream of the same communicator is another thread of the host. It
 * goes before the communicator, and a later one may get its handle.
 */
static int OtherStream(Rank me)
{
    CHECK(aclrtCreateStream(&me.stream));
    if (Transfer(me, 999, HCCL_DATA_TYPE_FP16, 2, 5) != 0) {
        return 1;
    }
    CHECK(aclrtDestroyStream(me.stream));
    return 0;
}

static int Sizes(Rank &me)
{
    static const struct {
        HcclDataType type;
        uint32_t width;
    } types[] = {
        { HCCL_DATA_TYPE_INT8, 1 }, { HCCL_DATA_TYPE_BFP16, 2 },
        { HCCL_DATA_TYPE_FP32, 4 }, { HCCL_DATA_TYPE_INT64, 8 },
        { HCCL_DATA_TYPE_INT128, 16 },
    };
    uint32_t seed = 0;

    for (const auto &t : types) {
        for (uint64_t count : { 1ull, 2ull, 1023ull, 65536ull, 300007ull }) {
            if (Transfer(me, count, t.type, t.width, ++seed) != 0) {
                return 1;
            }
        }
    }
    return 0;
}

static int Work(uint32_t rank, uint32_t ranks, const HcclRootInfo *rootInfo,
                uint64_t large)
{
    HcclCommConfig config = {0};
    Rank me = { rank, nullptr, nullptr };

    CHECK(aclrtSetDevice(static_cast<int32_t>(rank)));
    /* 2 MiB of buffer: larger transfers go in pieces. */
    HcclCommConfigInit(&config);
    config.hcclBufferSize = large != 0 ? 32 : 1;
    CHECK(HcclCommInitRootInfoConfig(ranks, rootInfo, rank, &config,
                                     &me.comm));
    CHECK(aclrtCreateStream(&me.stream));
    if (large != 0) {
        if (Transfer(me, large << 20, HCCL_DATA_TYPE_UINT8, 1, 99) != 0) {
            return 1;
        }
    } else if (Sizes(me) != 0 || Burst(me, 200) != 0 ||
               OtherStream(me) != 0 || OtherStream(me) != 0 ||
               OtherStream(me) != 0 ||
               Transfer(me, 3, HCCL_DATA_TYPE_FP32, 4, 1000) != 0) {
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
    std::vector<std::thread> threads;
    void *rootInfo = nullptr;
    uint32_t ranks = 0;

    setvbuf(stdout, nullptr, _IOLBF, 0);
    CHECK(aclInit(nullptr));
    CHECK(aclrtGetDeviceCount(&ranks));
    if (ranks % 2 != 0) {
        printf("an even number of cards is needed, not %u\n", ranks);
        return 1;
    }
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtMallocHost(&rootInfo, sizeof(HcclRootInfo)));
    CHECK(HcclGetRootInfo(static_cast<HcclRootInfo *>(rootInfo)));
    for (uint32_t i = 0; i < ranks; i++) {
        threads.emplace_back(Work, i, ranks,
                             static_cast<HcclRootInfo *>(rootInfo), large);
    }
    for (std::thread &t : threads) {
        t.join();
    }
    CHECK(aclrtFreeHost(rootInfo));
    /* In this order, as published programs do it. */
    CHECK(aclFinalize());
    CHECK(aclrtResetDevice(0));
    printf("%d passed, %d failed\n", g_passed.load(), g_failed.load());
    return g_failed != 0 || g_passed == 0;
}
