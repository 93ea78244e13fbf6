/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two cards write into each other.
 *
 * Each rank acquires one AICPU thread and one channel, and asks for both HCCL
 * buffers. The sender's kernel writes its buffer into the peer's with notify;
 * the receiver's waits for the notify and compares every byte with a pattern
 * that depends on rank, transfer and offset. The bytes around the target must
 * be untouched.
 *
 * usage: transfer threads|processes [SIZE...]
 */
#include "../common/sample.h"
#include "transfer_param.h"

using sample::Rank;

namespace {

constexpr uint64_t GUARD = 4096;
constexpr uint8_t GUARD_BYTE = 0xa5;
constexpr uint16_t LIMIT = 120;          /* s, of a kernel and of a wait */
constexpr uint32_t ROUNDS = 1000;
constexpr uint64_t MESSAGE = 64;
constexpr uint64_t WINDOW = 65536;       /* compared by the host too */

const char *g_mode;

uint64_t Seed(uint32_t rank, uint64_t size, uint32_t number)
{
    return (rank + 1) * 0x0123456789abcdefull + size * 0x10001 +
           number * 0x1000000000001ull;
}

std::string SizeName(uint64_t n)
{
    const char *unit = "B";
    uint64_t odd = 0;

    for (auto u : { std::make_pair(1ull << 20, "MiB"),
                    std::make_pair(1ull << 10, "KiB") }) {
        if (n >= u.first) {
            odd = n % u.first;
            n /= u.first;
            unit = u.second;
            break;
        }
    }
    return std::to_string(n) + unit + (odd ? "+" + std::to_string(odd) : "");
}

class Node {
public:
    Node(const Rank &me, uint64_t largest)
        : me_(me), peer_(1 - me.rank),
          kernel_("libtransfer_kernel.json", "TransferKernel")
    {
        HcclCommConfig config;
        uint64_t size = 0;

        half_ = (largest + 3 * GUARD + (1 << 20) - 1) >> 20 << 20;
        HcclCommConfigInit(&config);
        config.hcclBufferSize = static_cast<uint32_t>(half_ >> 20);
        comm_ = sample::Connect(me, config);
        SAMPLE_CHECK(aclrtCreateStream(&stream_));
        SAMPLE_CHECK(HcclThreadAcquireWithStream(comm_, COMM_ENGINE_CPU_TS,
                                                 stream_, 1, &host_));
        SAMPLE_CHECK(HcclThreadExportToCommEngine(
            comm_, 1, &host_, COMM_ENGINE_AICPU_TS, &hostOnAicpu_));
        SAMPLE_CHECK(HcclThreadAcquire(comm_, COMM_ENGINE_AICPU_TS, 1, 1,
                                       &thread_));
        HcclChannelDesc desc = sample::ChannelTo(comm_, me.rank, peer_, 3);
        SAMPLE_CHECK(HcclChannelAcquire(comm_, COMM_ENGINE_AICPU_TS, &desc, 1,
                                        &channel_));
        SAMPLE_CHECK(HcclGetHcclBuffer(comm_, &local_, &size));
        SAMPLE_CHECK(HcclChannelGetHcclBuffer(comm_, channel_, &remote_,
                                              &size));
        SAMPLE_CHECK(aclrtMalloc(&result_, sizeof(TransferResult),
                                 ACL_MEM_MALLOC_HUGE_ONLY));
    }

    ~Node()
    {
        aclrtFree(result_);
        HcclCommDestroy(comm_);
        aclrtDestroyStream(stream_);
    }

    void Write(uint32_t from, uint64_t size);
    void Copy(uint64_t size);
    void PingPong();

private:
    /* The first half of the buffer is sent, the second received into. */
    uint64_t Source() const
    {
        return reinterpret_cast<uint64_t>(local_);
    }

    uint64_t Target(const void *buffer, uint64_t size) const
    {
        return reinterpret_cast<uint64_t>(buffer) + half_ + GUARD +
               (size % 2 && size < (2 << 20) ? 3 : 0);
    }

    /* Steps that queue work on the AICPU thread end with its notify. */
    void Step(TransferParam p)
    {
        bool queues = p.step != STEP_FILL && p.step != STEP_CHECK;

        p.thread = thread_;
        p.hostThread = hostOnAicpu_;
        p.channel = channel_;
        p.result = reinterpret_cast<uint64_t>(result_);
        kernel_.Launch(stream_, &p, sizeof(p), LIMIT);
        if (queues) {
            SAMPLE_CHECK(HcommThreadNotifyWaitOnThread(host_, 0, LIMIT));
        }
        SAMPLE_CHECK(aclrtSynchronizeStream(stream_));
    }

    void Simple(uint32_t step)
    {
        TransferParam p = {};

        p.step = step;
        Step(p);
    }

    /* Both ranks pass this at about the same time. */
    void Meet(bool first)
    {
        Simple(first ? STEP_READY : STEP_AWAIT);
        Simple(first ? STEP_AWAIT : STEP_READY);
    }

    void Guard(uint64_t target, uint64_t size) const
    {
        std::vector<uint8_t> band(GUARD, GUARD_BYTE);

        for (uint64_t at : { target - GUARD, target + size }) {
            SAMPLE_CHECK(aclrtMemcpy(reinterpret_cast<void *>(at), GUARD,
                                     band.data(), GUARD,
                                     ACL_MEMCPY_HOST_TO_DEVICE));
        }
    }

    std::string Verify(uint64_t target, uint64_t size, uint64_t seed);
    std::string CompareHere(uint64_t target, uint64_t from, uint64_t n,
                            uint64_t seed) const;
    std::string CheckGuard(uint64_t target, uint64_t size) const;

    void Report(const std::string &name, uint64_t bytes, double seconds,
                const std::string &bad)
    {
        sample::Line("demo %s %llu %.6f %s %s", name.c_str(),
                     static_cast<unsigned long long>(bytes), seconds,
                     bad.empty() ? "ok" : "FAILED", bad.c_str());
        if (!bad.empty()) {
            throw std::runtime_error(name + ": " + bad);
        }
    }

    Rank me_;
    uint32_t peer_;
    sample::Kernel kernel_;
    HcclComm comm_ = nullptr;
    aclrtStream stream_ = nullptr;
    ThreadHandle host_ = 0, hostOnAicpu_ = 0, thread_ = 0;
    ChannelHandle channel_ = 0;
    void *local_ = nullptr, *remote_ = nullptr, *result_ = nullptr;
    uint64_t half_ = 0;
    uint32_t number_ = 0;
};

/* By the host: an independent look at a part of the target. */
std::string Node::CompareHere(uint64_t target, uint64_t from, uint64_t n,
                              uint64_t seed) const
{
    std::vector<uint8_t> got(n);

    SAMPLE_CHECK(aclrtMemcpy(got.data(), n,
                             reinterpret_cast<void *>(target + from), n,
                             ACL_MEMCPY_DEVICE_TO_HOST));
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = from + i;
        uint64_t word = seed + at / 8 * PATTERN_STEP;

        if (got[i] != static_cast<uint8_t>(word >> (8 * (at % 8)))) {
            return "byte " + std::to_string(at) + " is " +
                   std::to_string(got[i]) + ", not " +
                   std::to_string((word >> (8 * (at % 8))) & 0xff);
        }
    }
    return "";
}

std::string Node::CheckGuard(uint64_t target, uint64_t size) const
{
    std::vector<uint8_t> band(GUARD);

    for (uint64_t at : { target - GUARD, target + size }) {
        SAMPLE_CHECK(aclrtMemcpy(band.data(), GUARD,
                                 reinterpret_cast<void *>(at), GUARD,
                                 ACL_MEMCPY_DEVICE_TO_HOST));
        for (uint8_t b : band) {
            if (b != GUARD_BYTE) {
                return at < target ? "bytes before the target were written"
                                   : "bytes behind the target were written";
            }
        }
    }
    return "";
}

std::string Node::Verify(uint64_t target, uint64_t size, uint64_t seed)
{
    TransferParam p = {};
    TransferResult r = { 1, 0 };
    uint64_t n = size < WINDOW ? size : WINDOW;

    p.step = STEP_CHECK;
    p.dst = target;
    p.size = size;
    p.seed = seed;
    Step(p);
    SAMPLE_CHECK(aclrtMemcpy(&r, sizeof(r), result_, sizeof(r),
                             ACL_MEMCPY_DEVICE_TO_HOST));
    if (r.bad != 0) {
        return std::to_string(r.bad) + " bytes differ, first at " +
               std::to_string(r.first);
    }
    std::string bad = CompareHere(target, 0, n, seed);
    if (bad.empty()) {
        bad = CompareHere(target, size - n, n, seed);
    }
    return bad.empty() ? CheckGuard(target, size) : bad;
}

void Node::Write(uint32_t from, uint64_t size)
{
    uint64_t seed = Seed(from, size, number_++);
    TransferParam p = {};

    p.size = size;
    p.seed = seed;
    if (me_.rank == from) {
        p.step = STEP_FILL;
        p.src = Source();
        Step(p);
        Meet(true);
        p.step = STEP_WRITE;
        p.dst = Target(remote_, size);
        Step(p);
        return;
    }
    uint64_t target = Target(local_, size);
    Guard(target, size);
    Meet(false);
    p.step = STEP_RECEIVE;
    double start = sample::Now();
    Step(p);
    double seconds = sample::Now() - start;
    Report(std::string("write-") + g_mode + "-" + std::to_string(from) + "to" +
           std::to_string(me_.rank) + "-" + SizeName(size), size, seconds,
           Verify(target, size, seed));
}

void Node::Copy(uint64_t size)
{
    uint64_t seed = Seed(me_.rank, size, 77);
    uint64_t target = Target(local_, size);
    TransferParam p = {};

    p.size = size;
    p.seed = seed;
    p.src = Source();
    p.dst = target;
    p.step = STEP_FILL;
    Step(p);
    Guard(target, size);
    p.step = STEP_COPY;
    double start = sample::Now();
    Step(p);
    double seconds = sample::Now() - start;
    Report(std::string("copy-") + g_mode + "-card" + std::to_string(me_.rank) +
           "-" + SizeName(size), size, seconds, Verify(target, size, seed));
}

void Node::PingPong()
{
    uint64_t size = ROUNDS * MESSAGE;
    uint64_t seed = Seed(0, size, 99);
    uint64_t target = Target(local_, size);
    TransferParam p = {};

    if (me_.rank == 0) {
        p.step = STEP_FILL;
        p.src = Source();
        p.size = size;
        p.seed = seed;
        Step(p);
        Guard(target, size);
    }
    Meet(me_.rank == 0);
    p.rounds = ROUNDS;
    p.size = MESSAGE;
    p.dst = Target(remote_, size);
    p.src = me_.rank == 0 ? Source() : target;
    p.step = me_.rank == 0 ? STEP_PING : STEP_PONG;
    double start = sample::Now();
    Step(p);
    double seconds = sample::Now() - start;
    if (me_.rank == 0) {
        sample::Line("%u round trips of %llu bytes: %.2f us each", ROUNDS,
                     static_cast<unsigned long long>(MESSAGE),
                     seconds / ROUNDS * 1e6);
        Report(std::string("pingpong-") + g_mode + "-1000x64B", 2 * size,
               seconds, Verify(target, size, seed));
    }
}

void Job(const Rank &me, const std::vector<uint64_t> &sizes)
{
    uint64_t largest = 1 << 20;

    for (uint64_t size : sizes) {
        largest = size > largest ? size : largest;
    }
    Node node(me, largest);
    node.Copy(4096);
    node.Copy((1 << 20) + 3);
    for (uint64_t size : sizes) {
        node.Write(0, size);
        node.Write(1, size);
    }
    node.PingPong();
}

} // namespace

int main(int argc, char **argv)
{
    std::vector<uint64_t> sizes = { 1, 4096, (1 << 20) + 3, 256u << 20,
                                    (256u << 20) + 1 };

    if (argc < 2 || (strcmp(argv[1], "threads") != 0 &&
                     strcmp(argv[1], "processes") != 0)) {
        fprintf(stderr, "usage: transfer threads|processes [SIZE...]\n");
        return 2;
    }
    if (argc > 2) {
        sizes.clear();
        for (int i = 2; i < argc; i++) {
            sizes.push_back(strtoull(argv[i], nullptr, 0));
        }
    }
    bool processes = argv[1][0] == 'p';
    g_mode = processes ? "2proc" : "2thr";
    return sample::Run(2, processes,
                       [&](const Rank &me) { Job(me, sizes); });
}
