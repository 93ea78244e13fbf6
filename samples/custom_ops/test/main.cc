/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the operators on all cards, one thread for each, and compares the
 * results with what the host computes.
 *
 * usage: custom_ops_test RANKS [BUFFER_MIB [LARGE_MIB]]
 *
 * LARGE_MIB: an all-gather with so many MiB in all besides.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>
#include <acl/acl.h>
#include <hccl/hccl_comm.h>
#include <hccl/hccl_types.h>
#include <hccl_custom_ops.h>

#define CHECK(call)                                                     \
    do {                                                                \
        int rc_ = static_cast<int>(call);                               \
        if (rc_ != 0) {                                                 \
            const char *text_ = aclGetRecentErrMsg();                   \
            printf("rank %u: %s: %d: %s\n", rank_, #call, rc_,          \
                   text_ != nullptr ? text_ : "");                      \
            failed++;                                                   \
            return false;                                               \
        }                                                               \
    } while (0)

static std::atomic<int> failed, passed;

class Worker {
public:
    Worker(uint32_t rank, uint32_t ranks) : rank_(rank), ranks_(ranks)
    {
    }

    bool Open(const HcclRootInfo *root, uint32_t mib)
    {
        HcclCommConfig config;

        CHECK(aclrtSetDevice(static_cast<int32_t>(rank_)));
        HcclCommConfigInit(&config);
        config.hcclBufferSize = mib;
        CHECK(HcclCommInitRootInfoConfig(ranks_, root, rank_, &config,
                                         &comm_));
        CHECK(aclrtCreateStream(&stream_));
        return true;
    }

    bool Close()
    {
        CHECK(HcclCommDestroy(comm_));
        CHECK(aclrtDestroyStream(stream_));
        CHECK(aclrtResetDevice(static_cast<int32_t>(rank_)));
        return true;
    }

    bool SendRecv(uint64_t bytes, HcclDataType type, uint32_t size);
    bool AllGather(uint64_t count, HcclDataType type, uint32_t size);
    bool AllReduceInt(uint64_t count, HcclReduceOp op);
    bool AllReduceFloat(uint64_t count);
    bool AllReduceAs(uint64_t count, HcclDataType type, uint32_t size);
    bool Ask(uint64_t question);
    bool Large(uint64_t bytes);
    bool Refusals();

private:
    /* The same on every rank, different for every rank and place. */
    static uint8_t Byte(uint32_t rank, uint64_t i)
    {
        return static_cast<uint8_t>(i * 7 + i / 251 + rank * 61 + 1);
    }

    bool Verdict(const char *what, uint64_t n, bool good)
    {
        if (good) {
            passed++;
            if (getenv("OPS_VERBOSE") != nullptr) {
                printf("rank %u: %s of %llu ok\n", rank_, what,
                       static_cast<unsigned long long>(n));
            }
        } else {
            failed++;
            printf("rank %u: %s of %llu: wrong data\n", rank_, what,
                   static_cast<unsigned long long>(n));
        }
        return good;
    }

    bool Up(void **dev, const void *host, uint64_t n)
    {
        CHECK(aclrtMalloc(dev, n, ACL_MEM_MALLOC_HUGE_ONLY));
        if (host != nullptr) {
            CHECK(aclrtMemcpy(*dev, n, host, n, ACL_MEMCPY_HOST_TO_DEVICE));
        }
        return true;
    }

    bool Down(void *host, const void *dev, uint64_t n)
    {
        CHECK(aclrtSynchronizeStream(stream_));
        CHECK(aclrtMemcpy(host, n, dev, n, ACL_MEMCPY_DEVICE_TO_HOST));
        return true;
    }

    uint32_t rank_, ranks_;
    HcclComm comm_ = nullptr;
    aclrtStream stream_ = nullptr;
};

/* Even ranks send to the next odd one, as in the public example. */
bool Worker::SendRecv(uint64_t count, HcclDataType type, uint32_t size)
{
    uint64_t n = count * size;
    std::vector<uint8_t> data(n), got(n);
    uint32_t peer = rank_ ^ 1;
    void *dev = nullptr;

    if (peer >= ranks_) {
        return true;
    }
    for (uint64_t i = 0; i < n; i++) {
        data[i] = Byte(rank_ & ~1u, i);
    }
    if (!Up(&dev, rank_ % 2 == 0 ? data.data() : nullptr, n)) {
        return false;
    }
    if (rank_ % 2 == 0) {
        CHECK(HcclSendCustom(dev, count, type, peer, comm_, stream_));
        CHECK(aclrtSynchronizeStream(stream_));
    } else {
        CHECK(HcclRecvCustom(dev, count, type, peer, comm_, stream_));
        if (!Down(got.data(), dev, n)) {
            return false;
        }
        Verdict("receive", n, got == data);
    }
    CHECK(aclrtFree(dev));
    return true;
}

bool Worker::AllGather(uint64_t count, HcclDataType type, uint32_t size)
{
    uint64_t n = count * size;
    std::vector<uint8_t> mine(n), all(n * ranks_), got(n * ranks_);
    void *in = nullptr, *out = nullptr;

    for (uint32_t r = 0; r < ranks_; r++) {
        for (uint64_t i = 0; i < n; i++) {
            all[r * n + i] = Byte(r, i);
        }
    }
    memcpy(mine.data(), &all[rank_ * n], n);
    if (!Up(&in, mine.data(), n) || !Up(&out, nullptr, n * ranks_)) {
        return false;
    }
    CHECK(HcclAllGatherCustom(in, out, count, type, comm_, stream_));
    if (!Down(got.data(), out, n * ranks_)) {
        return false;
    }
    Verdict("all-gather", n, got == all);
    CHECK(aclrtFree(in));
    CHECK(aclrtFree(out));
    return true;
}

bool Worker::AllReduceInt(uint64_t count, HcclReduceOp op)
{
    std::vector<int32_t> mine(count), want(count), got(count);
    auto value = [](uint32_t r, uint64_t i) {
        return static_cast<int32_t>(i * 2654435761u + r * 40503u) >> 4;
    };
    void *in = nullptr, *out = nullptr;

    for (uint64_t i = 0; i < count; i++) {
        mine[i] = value(rank_, i);
        want[i] = value(0, i);
        for (uint32_t r = 1; r < ranks_; r++) {
            int32_t v = value(r, i);

            want[i] = op == HCCL_REDUCE_SUM
                      ? static_cast<int32_t>(static_cast<uint32_t>(want[i]) +
                                             static_cast<uint32_t>(v))
                      : op == HCCL_REDUCE_MAX ? std::max(want[i], v)
                                              : std::min(want[i], v);
        }
    }
    if (!Up(&in, mine.data(), 4 * count) || !Up(&out, nullptr, 4 * count)) {
        return false;
    }
    CHECK(HcclAllReduceCustom(in, out, count, HCCL_DATA_TYPE_INT32, op, comm_,
                              stream_));
    if (!Down(got.data(), out, 4 * count)) {
        return false;
    }
    Verdict("all-reduce int32", count, got == want);
    CHECK(aclrtFree(in));
    CHECK(aclrtFree(out));
    return true;
}

/* Small whole numbers: the sum is exact in any order. */
bool Worker::AllReduceFloat(uint64_t count)
{
    std::vector<float> mine(count), got(count);
    void *in = nullptr, *out = nullptr;
    bool good = true;

    for (uint64_t i = 0; i < count; i++) {
        mine[i] = static_cast<float>((i % 1000) * (rank_ + 1));
    }
    if (!Up(&in, mine.data(), 4 * count) || !Up(&out, nullptr, 4 * count)) {
        return false;
    }
    CHECK(HcclAllReduceCustom(in, out, count, HCCL_DATA_TYPE_FP32,
                              HCCL_REDUCE_SUM, comm_, stream_));
    if (!Down(got.data(), out, 4 * count)) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        good &= got[i] == static_cast<float>((i % 1000) *
                                             (ranks_ * (ranks_ + 1) / 2));
    }
    Verdict("all-reduce fp32", count, good);
    CHECK(aclrtFree(in));
    CHECK(aclrtFree(out));
    return true;
}

/* A small whole number in the bits of @type. */
static uint32_t Encode(HcclDataType type, uint32_t v)
{
    float f = static_cast<float>(v);
    uint32_t bits, exponent = 0;

    memcpy(&bits, &f, sizeof(bits));
    switch (type) {
    case HCCL_DATA_TYPE_FP32:
        return bits;
    case HCCL_DATA_TYPE_BFP16:
        return bits >> 16;
    case HCCL_DATA_TYPE_FP16:
        while (v >> (exponent + 1) != 0) {
            exponent++;
        }
        return v == 0 ? 0 : (exponent + 15) << 10 |
                            ((v << (10 - exponent)) & 0x3ff);
    default:
        return v;
    }
}

/* Sums below 128: exact in every type that the link can add. */
bool Worker::AllReduceAs(uint64_t count, HcclDataType type, uint32_t size)
{
    std::vector<uint8_t> mine(count * size), want(count * size),
        got(count * size);
    void *in = nullptr, *out = nullptr;

    for (uint64_t i = 0; i < count; i++) {
        uint32_t v = i % 4;
        uint32_t a = Encode(type, v * (rank_ + 1));
        uint32_t b = Encode(type, v * (ranks_ * (ranks_ + 1) / 2));

        memcpy(&mine[i * size], &a, size);
        memcpy(&want[i * size], &b, size);
    }
    if (!Up(&in, mine.data(), mine.size()) ||
        !Up(&out, nullptr, mine.size())) {
        return false;
    }
    CHECK(HcclAllReduceCustom(in, out, count, type, HCCL_REDUCE_SUM, comm_,
                              stream_));
    if (!Down(got.data(), out, got.size())) {
        return false;
    }
    Verdict("all-reduce of a type", static_cast<uint64_t>(type), got == want);
    CHECK(aclrtFree(in));
    CHECK(aclrtFree(out));
    return true;
}

bool Worker::Ask(uint64_t question)
{
    std::vector<uint64_t> got(ranks_);
    uint64_t want = question % 2 == 0 ? question / 2 : 3 * question + 1;
    void *dev = nullptr;
    bool good = true;

    if (!Up(&dev, got.data(), 8 * ranks_)) {
        return false;
    }
    CHECK(HcclAskCustom(question, dev, comm_, stream_));
    if (!Down(got.data(), dev, 8 * ranks_)) {
        return false;
    }
    for (uint32_t r = 1; r < ranks_ && rank_ == 0; r++) {
        good &= got[r] == want;
    }
    Verdict("ask", question, good);
    CHECK(aclrtFree(dev));
    return true;
}

/* Compared in windows, so that the host needs little memory. */
bool Worker::Large(uint64_t bytes)
{
    constexpr uint64_t WINDOW = 4 << 20;
    uint64_t n = bytes / ranks_ / 64 * 64;
    std::vector<uint8_t> window(WINDOW);
    void *in = nullptr, *out = nullptr;
    bool good = true;

    if (!Up(&in, nullptr, n) || !Up(&out, nullptr, n * ranks_)) {
        return false;
    }
    CHECK(aclrtMemset(in, n, static_cast<int32_t>(rank_ + 17), n));
    CHECK(HcclAllGatherCustom(in, out, n / 8, HCCL_DATA_TYPE_INT64, comm_,
                              stream_));
    CHECK(aclrtSynchronizeStream(stream_));
    for (uint64_t at = 0; at < n * ranks_; at += WINDOW) {
        uint64_t len = std::min(WINDOW, n * ranks_ - at);

        if (!Down(window.data(), static_cast<uint8_t *>(out) + at, len)) {
            return false;
        }
        /* All bytes of a part are alike: its ends and equality tell. */
        for (uint64_t i = 0; i < len;) {
            uint32_t r = static_cast<uint32_t>((at + i) / n);
            uint64_t part = std::min(len - i, (r + 1) * n - (at + i));

            good &= window[i] == static_cast<uint8_t>(r + 17) &&
                    memcmp(&window[i], &window[i + 1], part - 1) == 0;
            i += part;
        }
    }
    Verdict("large all-gather", n * ranks_, good);
    CHECK(aclrtFree(in));
    CHECK(aclrtFree(out));
    return true;
}

bool Worker::Refusals()
{
    void *dev = nullptr;

    if (!Up(&dev, nullptr, 64)) {
        return false;
    }
    bool good =
        HcclSendCustom(nullptr, 1, HCCL_DATA_TYPE_INT8, 1, comm_, stream_) ==
            HCCL_E_PTR &&
        HcclSendCustom(dev, 1, HCCL_DATA_TYPE_INT8, rank_, comm_, stream_) ==
            HCCL_E_PARA &&
        HcclSendCustom(dev, 1, static_cast<HcclDataType>(13), 1, comm_,
                       stream_) == HCCL_E_NOT_SUPPORT;
    Verdict("refusals", 3, good);
    CHECK(aclrtFree(dev));
    return true;
}

static void Job(uint32_t rank, uint32_t ranks, const HcclRootInfo *root,
                uint32_t mib, uint64_t large)
{
    Worker w(rank, ranks);

    if (!w.Open(root, mib)) {
        return;
    }
    bool go = w.Refusals();
    for (int round = 0; round < 2 && go; round++) {
        for (uint64_t n : { 1ull, 1000ull, 1ull << 18, (5ull << 18) + 3 }) {
            go = go && w.SendRecv(n, HCCL_DATA_TYPE_INT8, 1) &&
                 w.SendRecv(n, HCCL_DATA_TYPE_FP32, 4) &&
                 w.AllGather(n, HCCL_DATA_TYPE_UINT8, 1) &&
                 w.AllGather(n, HCCL_DATA_TYPE_BFP16, 2) &&
                 w.AllReduceInt(n, HCCL_REDUCE_SUM) &&
                 w.AllReduceInt(n, HCCL_REDUCE_MAX) &&
                 w.AllReduceInt(n, HCCL_REDUCE_MIN) && w.AllReduceFloat(n);
        }
        for (uint64_t n : { 1ull, 5000ull, 700001ull }) {
            go = go && w.AllReduceAs(n, HCCL_DATA_TYPE_INT8, 1) &&
                 w.AllReduceAs(n, HCCL_DATA_TYPE_UINT8, 1) &&
                 w.AllReduceAs(n, HCCL_DATA_TYPE_INT16, 2) &&
                 w.AllReduceAs(n, HCCL_DATA_TYPE_UINT16, 2) &&
                 w.AllReduceAs(n, HCCL_DATA_TYPE_FP16, 2) &&
                 w.AllReduceAs(n, HCCL_DATA_TYPE_BFP16, 2) &&
                 w.AllReduceAs(n, HCCL_DATA_TYPE_UINT32, 4);
        }
        go = go && w.AllGather(777, HCCL_DATA_TYPE_FP64, 8) && w.Ask(12) &&
             w.Ask(7) && w.Ask(1ull << 40);
    }
    if (go && large != 0) {
        go = w.Large(large);
    }
    if (go) {
        w.Close();
    }
}

int main(int argc, char **argv)
{
    uint32_t ranks = argc > 1 ? static_cast<uint32_t>(atoi(argv[1])) : 2;
    uint32_t mib = argc > 2 ? static_cast<uint32_t>(atoi(argv[2])) : 1;
    uint64_t large = argc > 3 ? strtoull(argv[3], nullptr, 0) << 20 : 0;
    std::vector<std::thread> threads;
    HcclRootInfo root;

    setvbuf(stdout, nullptr, _IOLBF, 0);
    if (aclInit(nullptr) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS ||
        HcclGetRootInfo(&root) != HCCL_SUCCESS) {
        const char *text = aclGetRecentErrMsg();

        printf("set-up: %s\n", text != nullptr ? text : "");
        return 1;
    }
    for (uint32_t r = 0; r < ranks; r++) {
        threads.emplace_back(Job, r, ranks, &root, mib, large);
    }
    for (std::thread &t : threads) {
        t.join();
    }
    aclrtResetDevice(0);
    aclFinalize();
    printf("%d passed, %d failed\n", passed.load(), failed.load());
    return failed.load() != 0 || passed.load() == 0;
}
