/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What users do wrong, on two cards: the right code and a text that names the
 * thing. Prints TAP, and every text for people to judge.
 */
#include <atomic>
#include "../../../samples/common/sample.h"
#include "mistakes_param.h"

using sample::Rank;

namespace {

constexpr uint32_t MAX_RESULTS = 96;
constexpr int32_t ANY_ERROR = 1000;

std::atomic<int> g_count, g_failed;

void Ok(bool good, const std::string &what)
{
    int n = ++g_count;

    g_failed += !good;
    sample::Line("%sok %d - %s", good ? "" : "not ", n, what.c_str());
}

/* @rc is @want, and the recent error has all of @words. */
void Says(int rc, int want, const char *what,
          std::initializer_list<const char *> words)
{
    const char *text = aclGetRecentErrMsg();
    std::string t = text != nullptr ? text : "(no text)";
    bool good = rc == want;

    for (const char *w : words) {
        if (t.find(w) == std::string::npos) {
            sample::Line("# \"%s\" is missing", w);
            good = false;
        }
    }
    if (rc != want) {
        sample::Line("# code %d instead of %d", rc, want);
    }
    sample::Line("# %d %s", rc, t.c_str());
    Ok(good, what);
}

/* Both ranks come here before either goes on. */
class Meeting {
public:
    void Wait()
    {
        int at = ++here_;
        int until = (at + 1) / 2 * 2;

        while (here_ < until) {
            usleep(500);
        }
    }

private:
    std::atomic<int> here_{0};
};

Meeting g_meeting;

HcclCommConfig Config(uint32_t mib)
{
    HcclCommConfig config;

    HcclCommConfigInit(&config);
    config.hcclBufferSize = mib;
    return config;
}

/* A communicator of both; afterwards the board is as before. */
HcclComm Together(const Rank &me)
{
    HcclComm comm = sample::Connect(me, Config(1));

    g_meeting.Wait();
    if (me.rank == 0) {
        me.board->ready = 0;
    }
    g_meeting.Wait();
    return comm;
}

/* ---- ranks that do not agree ---- */

void MismatchedNotifies(const Rank &me)
{
    HcclComm comm = Together(me);
    HcclChannelDesc d = sample::ChannelTo(comm, me.rank, 1 - me.rank,
                                          3 + me.rank);
    ChannelHandle ch = 0;

    Says(HcclChannelAcquire(comm, COMM_ENGINE_AICPU_TS, &d, 1, &ch),
         HCCL_E_PARA, "channels with 3 and 4 notifies",
         { "EI0005", "notifyNum", "3", "4" });
    g_meeting.Wait();
    SAMPLE_CHECK(HcclCommDestroy(comm));
}

/* How operators compare their counts: as exchange information. */
void MismatchedCounts(const Rank &me)
{
    HcclComm comm = Together(me);
    HcclChannelDesc d = sample::ChannelTo(comm, me.rank, 1 - me.rank, 3);
    ChannelHandle ch = 0;
    uint64_t count = 1000 + me.rank;        /* 0x3e8, 0x3e9 */

    SAMPLE_CHECK(HcclCommAddExchangeInfo(comm, &count, sizeof(count)));
    Says(HcclChannelAcquire(comm, COMM_ENGINE_AICPU_TS, &d, 1, &ch),
         HCCL_E_PARA, "operators with different counts",
         { "EI0005", "rank 0", "rank 1", "byte 0", "0xe8", "0xe9" });
    count = 5000;
    SAMPLE_CHECK(HcclCommResetExchangeInfo(comm));
    SAMPLE_CHECK(HcclCommAddExchangeInfo(comm, &count, sizeof(count)));
    g_meeting.Wait();
    SAMPLE_CHECK(HcclChannelAcquire(comm, COMM_ENGINE_AICPU_TS, &d, 1, &ch));
    uint64_t theirs = 0;
    uint32_t length = 0;
    Ok(HcclCommGetExchangeInfo(comm, 1 - me.rank, sizeof(theirs), &theirs,
                               &length) == HCCL_SUCCESS && length == 8 &&
           theirs == 5000, "with equal ones it is made");
    g_meeting.Wait();
    SAMPLE_CHECK(HcclCommDestroy(comm));
}

void MismatchedRanks(const Rank &me)
{
    static HcclRootInfo root;
    HcclCommConfig config = Config(1);
    HcclComm comm = nullptr;

    if (me.rank == 0) {
        SAMPLE_CHECK(HcclGetRootInfo(&root));
    }
    g_meeting.Wait();
    HcclResult rc = HcclCommInitRootInfoConfig(2 + me.rank, &root, me.rank,
                                               &config, &comm);
    Says(rc, HCCL_E_PARA, "two ranks or three", { "EI0005", "nRanks", "2",
                                                  "3" });
    g_meeting.Wait();
}

/* Only one of the two asks for the channel. */
void NobodyThere(const Rank &me)
{
    HcclComm comm = Together(me);
    HcclChannelDesc d = sample::ChannelTo(comm, me.rank, 1 - me.rank, 3);
    ChannelHandle ch = 0;

    if (me.rank == 0) {
        double t = sample::Now();

        Says(HcclChannelAcquire(comm, COMM_ENGINE_AICPU_TS, &d, 1, &ch),
             HCCL_E_TIMEOUT, "a channel that the peer never asks for",
             { "EI0006", "rank 1" });
        Ok(sample::Now() - t < 20, "not later than the limit");
    }
    g_meeting.Wait();
    SAMPLE_CHECK(HcclCommDestroy(comm));
}

void DifferentEngines(const Rank &me)
{
    HcclComm comm = Together(me);
    HcclChannelDesc d = sample::ChannelTo(comm, me.rank, 1 - me.rank, 3);
    ChannelHandle ch = 0;

    Says(HcclChannelAcquire(comm, me.rank == 0 ? COMM_ENGINE_AICPU
                                               : COMM_ENGINE_AICPU_TS, &d, 1,
                            &ch),
         HCCL_E_TIMEOUT, "AICPU on one side, AICPU_TS on the other",
         { "EI0006", me.rank == 0 ? "rank 1" : "rank 0" });
    g_meeting.Wait();
    SAMPLE_CHECK(HcclCommDestroy(comm));
}

/* ---- calls of one rank ---- */

void Order(const Rank &me)
{
    HcclComm comm = Together(me);
    void *ctx = nullptr, *buffer = nullptr;
    uint64_t size = 0;
    char data[8] = {};

    if (me.rank == 0) {
        Says(HcclEngineCtxCopy(comm, COMM_ENGINE_AICPU_TS, "mine", data, 8,
                               0), HCCL_E_NOT_FOUND,
             "a context that was not created", { "mine" });
        Ok(HcclEngineCtxGet(comm, "mine", COMM_ENGINE_AICPU_TS, &ctx,
                            &size) == HCCL_E_NOT_FOUND && ctx == nullptr,
           "nor can it be got");
        SAMPLE_CHECK(HcclEngineCtxCreate(comm, "mine", COMM_ENGINE_AICPU_TS,
                                         8, &ctx));
        Says(HcclEngineCtxCreate(comm, "mine", COMM_ENGINE_AICPU_TS, 8, &ctx),
             HCCL_E_PARA, "a context created twice", { "EI0003", "mine" });
        Says(HcclEngineCtxCopy(comm, COMM_ENGINE_AICPU_TS, "mine", data, 8,
                               4), HCCL_E_PARA, "a copy beyond the context",
             { "EI0003", "8" });
        Says(HcclChannelGetHcclBuffer(comm, 0x123456, &buffer, &size),
             HCCL_E_INTERNAL, "the buffer of a channel that never was",
             { "123456" });
        Says(HcclGroupEnd(), HCCL_E_NOT_SUPPORT, "the end of no group",
             { "HcclGroupStart" });
    }
    g_meeting.Wait();
    SAMPLE_CHECK(HcclCommDestroy(comm));
}

void Registration(const Rank &me)
{
    HcclComm comm = Together(me);
    HcclMemHandle handle = nullptr;
    void *page = nullptr, *dev = nullptr;

    if (me.rank == 0) {
        page = aligned_alloc(4096, 8192);
        memset(page, 0, 8192);
        Says(aclrtHostRegister(static_cast<char *>(page) + 8, 4096,
                               ACL_HOST_REGISTER_MAPPED, &dev), 107000,
             "host memory registered from the middle of a page",
             { "4096" });
        CommMem mem = { COMM_MEM_TYPE_DEVICE, page, 4096 };
        Says(HcclCommMemReg(comm, "host", &mem, &handle), HCCL_E_PARA,
             "host memory registered as the card's", { "EI0003" });
        mem.size = 0;
        Says(HcclCommMemReg(comm, "empty", &mem, &handle), HCCL_E_PARA,
             "no bytes registered", { "EI0003", "size" });
        free(page);
    }
    g_meeting.Wait();
    SAMPLE_CHECK(HcclCommDestroy(comm));
}

void BufferSize(const Rank &me)
{
    HcclCommConfig config = Config(0);
    HcclRootInfo root;
    HcclComm comm;

    if (me.rank == 0) {
        SAMPLE_CHECK(HcclGetRootInfo(&root));
        Says(HcclCommInitRootInfoConfig(2, &root, 0, &config, &comm),
             HCCL_E_PARA, "an HCCL buffer of no size",
             { "EI0003", "hcclBufferSize", "0" });
    }
    g_meeting.Wait();
}

void Streams(const Rank &me)
{
    std::vector<aclrtStream> all;
    aclrtStream s;
    aclError rc = 0;

    if (me.rank == 0) {
        while (all.size() < 5000 && (rc = aclrtCreateStream(&s)) == 0) {
            all.push_back(s);
        }
        Says(rc, 207008, "streams used up",
             { "EE1011", "device 0", "1984 streams" });
        sample::Line("# after %zu streams", all.size());
        for (aclrtStream x : all) {
            SAMPLE_CHECK(aclrtDestroyStream(x));
        }
        Ok(aclrtCreateStream(&s) == 0 && aclrtDestroyStream(s) == 0,
           "streams given back can be had again");
    }
    g_meeting.Wait();
}

/* ---- calls of a kernel ---- */

struct Node {
    HcclComm comm;
    aclrtStream stream;
    MistakesParam p;

    explicit Node(const Rank &me) : comm(Together(me)), p()
    {
        HcclChannelDesc d = sample::ChannelTo(comm, me.rank, 1 - me.rank, 3);
        void *local, *remote, *result;

        SAMPLE_CHECK(aclrtCreateStream(&stream));
        SAMPLE_CHECK(HcclThreadAcquireWithStream(comm, COMM_ENGINE_CPU_TS,
                                                 stream, 1, &p.hostSide));
        SAMPLE_CHECK(HcclThreadExportToCommEngine(
            comm, 1, &p.hostSide, COMM_ENGINE_AICPU_TS, &p.hostThread));
        SAMPLE_CHECK(HcclThreadAcquire(comm, COMM_ENGINE_AICPU_TS, 2, 1,
                                       p.thread));
        SAMPLE_CHECK(HcclChannelAcquire(comm, COMM_ENGINE_AICPU_TS, &d, 1,
                                        &p.channel));
        SAMPLE_CHECK(HcclGetHcclBuffer(comm, &local, &p.size));
        SAMPLE_CHECK(HcclChannelGetHcclBuffer(comm, p.channel, &remote,
                                              &p.size));
        SAMPLE_CHECK(aclrtMalloc(&result,
                                 MAX_RESULTS * sizeof(MistakeResult),
                                 ACL_MEM_MALLOC_HUGE_ONLY));
        SAMPLE_CHECK(aclrtMemset(result, MAX_RESULTS * sizeof(MistakeResult),
                                 0, MAX_RESULTS * sizeof(MistakeResult)));
        p.local = reinterpret_cast<uint64_t>(local);
        p.remote = reinterpret_cast<uint64_t>(remote);
        p.result = reinterpret_cast<uint64_t>(result);
        p.max = MAX_RESULTS;
    }

    void Close()
    {
        SAMPLE_CHECK(HcclCommDestroy(comm));
        SAMPLE_CHECK(aclrtDestroyStream(stream));
        SAMPLE_CHECK(aclrtFree(reinterpret_cast<void *>(p.result)));
    }
};

void KernelList(Node &n, const sample::Kernel &k)
{
    std::vector<MistakeResult> r(MAX_RESULTS);
    size_t bytes = r.size() * sizeof(r[0]);
    uint32_t seen = 0;

    k.Launch(n.stream, &n.p, sizeof(n.p), 100);
    SAMPLE_CHECK(aclrtSynchronizeStream(n.stream));
    SAMPLE_CHECK(aclrtMemcpy(r.data(), bytes,
                             reinterpret_cast<void *>(n.p.result), bytes,
                             ACL_MEMCPY_DEVICE_TO_HOST));
    for (const MistakeResult &x : r) {
        if (x.call[0] != '\0') {
            bool good = x.want == ANY_ERROR ? x.got == 1 || x.got == 2
                                            : x.got == x.want;

            Ok(good, std::string(x.call, strnlen(x.call, sizeof(x.call))) +
               ": " + std::to_string(x.got));
            seen++;
        }
    }
    Ok(seen > 45, "the kernel tried all");
}

void KernelOne(Node &n, const sample::Kernel &k)
{
    static const struct {
        const char *what;
        std::initializer_list<const char *> words;
    } list[] = {
        { "a write beyond the peer's buffer, from a kernel",
          { "HcommWriteOnThread", "rank 1" } },
        { "channel notify 17 of 3", { "17", "HcommChannelNotifyRecord" } },
        { "thread notify 23", { "23", "HcommThreadNotifyWait" } },
        { "the host's handle in a kernel", { "HcommThreadNotifyWait" } },
    };

    for (uint32_t i = 0; i < 4; i++) {
        n.p.what = i + 1;
        k.Launch(n.stream, &n.p, sizeof(n.p), 100);
        Says(aclrtSynchronizeStream(n.stream), 507018, list[i].what,
             list[i].words);
    }
    n.p.what = 0;
}

/* What the communicator owned is gone; a kernel still has the handles. */
void KernelFreed(const Rank &me, const sample::Kernel &k, MistakesParam p)
{
    aclrtStream stream;

    if (me.rank != 0) {
        return;
    }
    SAMPLE_CHECK(aclrtCreateStream(&stream));
    p.what = 2;
    k.Launch(stream, &p, sizeof(p), 100);
    Says(aclrtSynchronizeStream(stream), 507018, "a freed thread in a kernel",
         { "HcommChannelNotifyRecord", "freed" });
    SAMPLE_CHECK(aclrtDestroyStream(stream));
}

void Quirks(Node &n, const Rank &me)
{
    HcclComm none = nullptr;
    ThreadHandle t = 0x7f00dead0000;

    /* The published send/receive does this at its second call. */
    Says(HcommThreadNotifyRecordOnThread(t, n.p.thread[0], 0), HCCL_E_PARA,
         "an uninitialised thread handle", { "EI0003", "7f00dead0000" });
    Ok(HcommThreadNotifyWaitOnThread(0, 0, 1) == HCCL_E_PTR, "handle 0");
    Ok(HcclCommDestroy(none) == HCCL_SUCCESS, "destroying nothing");
    /* Exports may be repeated; threads acquired again are the same. */
    ThreadHandle again[2] = {}, out = 0;
    SAMPLE_CHECK(HcclThreadAcquire(n.comm, COMM_ENGINE_AICPU_TS, 2, 1,
                                   again));
    Ok(again[0] == n.p.thread[0] && again[1] == n.p.thread[1],
       "acquired again: the same threads");
    SAMPLE_CHECK(HcclThreadExportToCommEngine(n.comm, 1, &n.p.hostSide,
                                              COMM_ENGINE_AICPU_TS, &out));
    Ok(out == n.p.hostThread, "exported again: the same handle");
    HcclChannelDesc d = sample::ChannelTo(n.comm, me.rank, 1 - me.rank, 9);
    ChannelHandle ch = 0;
    SAMPLE_CHECK(HcclChannelAcquire(n.comm, COMM_ENGINE_AICPU_TS, &d, 1,
                                    &ch));
    Ok(ch == n.p.channel, "channel acquired again: the same");
}

void Job(const Rank &me)
{
    sample::Kernel k("libmistakes_kernel.json", "MistakesKernel");

    if (me.rank == 0) {
        me.board->ready = 0;
    }
    MismatchedNotifies(me);
    MismatchedCounts(me);
    MismatchedRanks(me);
    NobodyThere(me);
    DifferentEngines(me);
    Order(me);
    Registration(me);
    BufferSize(me);
    Streams(me);
    Node n(me);
    Quirks(n, me);
    g_meeting.Wait();
    if (me.rank == 0) {
        KernelList(n, k);
        KernelOne(n, k);
    }
    g_meeting.Wait();
    n.Close();
    KernelFreed(me, k, n.p);
}

} // namespace

int main()
{
    HcclRootInfo root;
    int32_t device;

    setenv("ATLAS350_CONNECT_TIMEOUT", "3", 1);
    Says(HcclGetRootInfo(&root), HCCL_E_RUNTIME, "before a device is set",
         { "EI0003", "aclrtSetDevice" });
    Says(aclrtGetDevice(&device), 107002, "no current device", {});
    int rc = sample::Run(2, false, Job);
    sample::Line("1..%d", g_count.load());
    return rc != 0 || g_failed != 0;
}
