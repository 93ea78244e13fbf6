/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the control plane's test programs share: TAP lines, ranks that meet as
 * threads or processes, and a communicator on which data moves.
 */
#ifndef CTRL_H
#define CTRL_H

#include <atomic>
#include "../../../samples/common/sample.h"
#include "ctrl_param.h"

namespace ctrl {

using sample::Rank;

constexpr uint64_t PART = 60000;         /* bytes that go to each peer */
constexpr uint64_t SLOT = 65536;
constexpr uint64_t INBOX = 1u << 20;     /* in the HCCL buffer of 2 MiB */
/* Rounds take turns: a peer may be one ahead. */
inline uint64_t Turn(uint32_t round)
{
    return (round & 1) * 8 * SLOT;
}

constexpr uint32_t ROOTS = 64;

/* Seen by all ranks, also if they are processes. */
struct Shared {
    std::atomic<int> ready[ROOTS];
    HcclRootInfo root[ROOTS];
    std::atomic<uint32_t> arrived[1024];
    std::atomic<int> count, failed;
    std::atomic<int64_t> word[16];
};

inline Shared *&S()
{
    static Shared *s;

    return s;
}

inline void Share()
{
    void *p = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    S() = static_cast<Shared *>(p);
}

inline bool Ok(bool good, const std::string &what,
               const std::string &detail = "")
{
    const char *text = good ? nullptr : aclGetRecentErrMsg();
    int n = ++S()->count;

    S()->failed += !good;
    sample::Line("%sok %d - %s%s%s", good ? "" : "not ", n, what.c_str(),
                 detail.empty() ? "" : ": ", detail.c_str());
    if (text != nullptr) {
        sample::Line("# %s", text);
    }
    return good;
}

/* The recent error begins with @code and names all @words. */
inline bool Says(const std::string &code,
                 const std::vector<std::string> &words)
{
    const char *p = aclGetRecentErrMsg();
    std::string text = p != nullptr ? p : "(none)";
    bool good = text.compare(0, code.size(), code) == 0;

    for (const std::string &w : words) {
        good = good && text.find(w) != std::string::npos;
    }
    if (!good) {
        std::string all;
        for (const std::string &w : words) {
            all += " \"" + w + "\"";
        }
        sample::Line("# wanted %s ...%s, got: %s", code.c_str(), all.c_str(),
                     text.c_str());
    } else if (getenv("CTRL_VERBOSE") != nullptr) {
        sample::Line("# %s", text.c_str());
    }
    return good;
}

/* Waits for all; the n-th call of every rank is the same meeting. */
inline void Meet(const Rank &me, double limit = 100)
{
    static thread_local uint32_t number;
    std::atomic<uint32_t> &a = S()->arrived[number++];
    double end = sample::Now() + limit;

    a++;
    while (a < me.ranks) {
        usleep(500);
        if (sample::Now() > end) {
            throw std::runtime_error("the other ranks did not come");
        }
    }
}

inline HcclCommConfig Config(const char *name, uint32_t mib = 1)
{
    HcclCommConfig config;

    HcclCommConfigInit(&config);
    config.hcclBufferSize = mib;
    snprintf(config.hcclCommName, sizeof(config.hcclCommName), "%s", name);
    return config;
}

/* Root @k is used once. */
inline const HcclRootInfo *Root(const Rank &me, uint32_t k)
{
    if (me.rank == 0) {
        SAMPLE_CHECK(HcclGetRootInfo(&S()->root[k]));
        S()->ready[k] = 1;
    }
    for (int i = 0; S()->ready[k] == 0; i++) {
        usleep(500);
        if (i > 200000) {
            throw std::runtime_error("no root information");
        }
    }
    return &S()->root[k];
}

inline HcclComm Make(const Rank &me, uint32_t k, const HcclCommConfig &config)
{
    HcclComm comm = nullptr;

    SAMPLE_CHECK(HcclCommInitRootInfoConfig(me.ranks, Root(me, k), me.rank,
                                            &config, &comm));
    return comm;
}

inline const sample::Kernel &TheKernel()
{
    static sample::Kernel *k = new sample::Kernel("libctrl_kernel.json",
                                                  "CtrlKernel");
    return *k;
}

inline uint8_t Byte(uint32_t from, uint32_t to, uint32_t round, uint64_t i)
{
    return static_cast<uint8_t>((i * 2654435761u + from * 40503u +
                                 to * 9973u + round * 977u) >> 11);
}

inline void Put(uint64_t dst, const std::vector<uint8_t> &v)
{
    SAMPLE_CHECK(aclrtMemcpy(reinterpret_cast<void *>(dst), v.size(), v.data(),
                             v.size(), ACL_MEMCPY_HOST_TO_DEVICE));
}

inline std::vector<uint8_t> Get(uint64_t src, uint64_t n)
{
    std::vector<uint8_t> v(n);

    SAMPLE_CHECK(aclrtMemcpy(v.data(), n, reinterpret_cast<void *>(src), n,
                             ACL_MEMCPY_DEVICE_TO_HOST));
    return v;
}

inline std::vector<uint8_t> Pattern(uint32_t from, uint32_t to, uint32_t round,
                                    uint64_t n = PART)
{
    std::vector<uint8_t> v(n);

    for (uint64_t i = 0; i < n; i++) {
        v[i] = Byte(from, to, round, i);
    }
    return v;
}

/* One rank of a communicator, with a stream, a thread, channels to all. */
struct Node {
    HcclComm comm = nullptr;
    uint32_t rank = 0, ranks = 0;
    aclrtStream stream = nullptr;
    ThreadHandle host = 0, hostOnAicpu = 0, thread = 0, threadOnHost = 0;
    std::vector<ChannelHandle> channel;
    std::vector<uint64_t> inbox;         /* of each peer */
    uint64_t local = 0;
    uint32_t limit = 0;                  /* of the exchange's waits, 0: 60 s */

    void Open(HcclComm c, uint32_t notifies = 4)
    {
        void *p = nullptr;
        uint64_t size = 0;

        comm = c;
        SAMPLE_CHECK(HcclGetRankId(comm, &rank));
        SAMPLE_CHECK(HcclGetRankSize(comm, &ranks));
        SAMPLE_CHECK(aclrtCreateStream(&stream));
        SAMPLE_CHECK(HcclThreadAcquireWithStream(comm, COMM_ENGINE_CPU_TS,
                                                 stream, 1, &host));
        SAMPLE_CHECK(HcclThreadExportToCommEngine(
            comm, 1, &host, COMM_ENGINE_AICPU_TS, &hostOnAicpu));
        SAMPLE_CHECK(HcclThreadAcquire(comm, COMM_ENGINE_AICPU_TS, 1, 1,
                                       &thread));
        SAMPLE_CHECK(HcclThreadExportToCommEngine(
            comm, 1, &thread, COMM_ENGINE_CPU_TS, &threadOnHost));
        SAMPLE_CHECK(HcclGetHcclBuffer(comm, &p, &size));
        local = reinterpret_cast<uint64_t>(p);
        Connect(notifies);
    }

    void Connect(uint32_t notifies)
    {
        std::vector<HcclChannelDesc> d;
        std::vector<uint32_t> peers;

        for (uint32_t i = 0; i < ranks; i++) {
            if (i != rank) {
                d.push_back(sample::ChannelTo(comm, rank, i, notifies));
                peers.push_back(i);
            }
        }
        std::vector<ChannelHandle> h(d.size());
        if (!d.empty()) {
            SAMPLE_CHECK(HcclChannelAcquire(comm, COMM_ENGINE_AICPU_TS,
                                            d.data(), d.size(), h.data()));
        }
        channel.assign(ranks, 0);
        inbox.assign(ranks, 0);
        for (size_t i = 0; i < peers.size(); i++) {
            void *p = nullptr;
            uint64_t size = 0;

            channel[peers[i]] = h[i];
            SAMPLE_CHECK(HcclChannelGetHcclBuffer(comm, h[i], &p, &size));
            inbox[peers[i]] = reinterpret_cast<uint64_t>(p) + INBOX +
                              rank * SLOT;
        }
    }

    CtrlParam Param() const
    {
        CtrlParam p;

        memset(&p, 0, sizeof(p));
        p.thread = thread;
        p.host = hostOnAicpu;
        return p;
    }

    /* Launches, and lets the stream wait for the thread. */
    aclError Go(const CtrlParam &p, uint32_t seconds = 100) const
    {
        TheKernel().Launch(stream, &p, sizeof(p), 60);
        SAMPLE_CHECK(HcommThreadNotifyWaitOnThread(host, 0, seconds));
        return aclrtSynchronizeStream(stream);
    }

    /* Everybody writes to everybody; true if all bytes are right. */
    bool Exchange(uint32_t round) const
    {
        CtrlParam p = Param();

        for (uint32_t i = 0; i < ranks; i++) {
            if (i == rank) {
                continue;
            }
            Put(local + i * SLOT, Pattern(rank, i, round));
            CtrlStep &s = p.step[p.num++];
            s.op = CTRL_SEND;
            s.channel = channel[i];
            s.dst = inbox[i] + Turn(round);
            s.src = local + i * SLOT;
            s.size = PART;
        }
        for (uint32_t i = 0; i < ranks; i++) {
            if (i != rank) {
                CtrlStep &s = p.step[p.num++];
                s.op = CTRL_RECV;
                s.channel = channel[i];
                s.seconds = limit;
            }
        }
        if (Go(p) != ACL_SUCCESS) {
            return false;
        }
        for (uint32_t i = 0; i < ranks; i++) {
            if (i != rank && Get(local + INBOX + Turn(round) + i * SLOT,
                                 PART) != Pattern(i, rank, round)) {
                sample::Line("# rank %u: bytes of rank %u differ", rank, i);
                return false;
            }
        }
        return true;
    }

    HcclResult Close()
    {
        HcclResult rc = HcclCommDestroy(comm);

        aclrtDestroyStream(stream);
        return rc;
    }
};

inline int Done(int rc)
{
    int n = S()->count, failed = S()->failed;

    sample::Line("1..%d", n);
    sample::Line("# %d checks, %d failed%s", n, failed,
                 rc != 0 ? ", a rank ended early" : "");
    return rc != 0 || failed != 0 || n == 0;
}

} // namespace ctrl

#endif /* CTRL_H */
