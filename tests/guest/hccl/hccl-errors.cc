/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mistakes on two cards: each with the right code, a text that names the
 * thing, and soon. Prints TAP.
 */
#include <atomic>
#include "../../../samples/common/sample.h"
#include "../../../samples/transfer/transfer_param.h"

using sample::Rank;

namespace {

int g_count, g_failed;
std::atomic<bool> g_restart;

void Ok(bool good, const char *what, const std::string &detail = "")
{
    const char *text = good ? nullptr : aclGetRecentErrMsg();

    g_count++;
    g_failed += !good;
    sample::Line("%sok %d - %s%s%s", good ? "" : "not ", g_count, what,
                 detail.empty() ? "" : ": ", detail.c_str());
    if (text != nullptr) {
        sample::Line("# %s", text);
    }
}

/* The recent error begins with @code and names @word. */
bool Says(const char *code, const char *word)
{
    const char *text = aclGetRecentErrMsg();

    if (text == nullptr || strstr(text, code) == nullptr ||
        strstr(text, word) == nullptr) {
        sample::Line("# wanted %s ... %s, got: %s", code, word,
                     text != nullptr ? text : "(none)");
        return false;
    }
    return true;
}

HcclCommConfig Config(uint32_t mib)
{
    HcclCommConfig config;

    HcclCommConfigInit(&config);
    config.hcclBufferSize = mib;
    return config;
}

struct Node {
    HcclComm comm = nullptr;
    aclrtStream stream = nullptr;
    ThreadHandle host = 0, hostOnAicpu = 0, thread = 0, threadOnHost = 0;
    ChannelHandle channel = 0;
    void *local = nullptr, *remote = nullptr;
    uint64_t size = 0;

    void Open(const Rank &me)
    {
        comm = sample::Connect(me, Config(1));
        SAMPLE_CHECK(aclrtCreateStream(&stream));
        SAMPLE_CHECK(HcclThreadAcquireWithStream(comm, COMM_ENGINE_CPU_TS,
                                                 stream, 1, &host));
        SAMPLE_CHECK(HcclThreadExportToCommEngine(
            comm, 1, &host, COMM_ENGINE_AICPU_TS, &hostOnAicpu));
        SAMPLE_CHECK(HcclThreadAcquire(comm, COMM_ENGINE_AICPU_TS, 1, 1,
                                       &thread));
        SAMPLE_CHECK(HcclThreadExportToCommEngine(
            comm, 1, &thread, COMM_ENGINE_CPU_TS, &threadOnHost));
        HcclChannelDesc d = sample::ChannelTo(comm, me.rank, 1 - me.rank, 3);
        SAMPLE_CHECK(HcclChannelAcquire(comm, COMM_ENGINE_AICPU_TS, &d, 1,
                                        &channel));
        SAMPLE_CHECK(HcclGetHcclBuffer(comm, &local, &size));
        SAMPLE_CHECK(HcclChannelGetHcclBuffer(comm, channel, &remote, &size));
    }

    TransferParam Param(uint32_t step) const
    {
        TransferParam p = {};

        p.step = step;
        p.thread = thread;
        p.hostThread = hostOnAicpu;
        p.channel = channel;
        p.src = reinterpret_cast<uint64_t>(local);
        p.dst = reinterpret_cast<uint64_t>(remote);
        p.size = 4096;
        return p;
    }
};

/* ---- arguments, on one rank ---- */

void Handles(Node &n)
{
    ThreadHandle x = 0;
    uint32_t rank;

    Ok(HcommThreadNotifyRecordOnThread(n.host, n.threadOnHost, 9) ==
           HCCL_E_PTR && Says("EI0003", "dstNotifyIdx"),
       "a notify index out of range");
    Ok(HcommThreadNotifyRecordOnThread(n.thread, n.threadOnHost, 0) ==
           HCCL_E_PARA && Says("EI0003", "AICPU"),
       "a kernel's thread handle on the host");
    Ok(HcommThreadNotifyWaitOnThread(n.host + 16000, 0, 1) == HCCL_E_PARA,
       "a thread handle that never was");
    Ok(HcclGetRankId(reinterpret_cast<HcclComm>(0x1234), &rank) ==
           HCCL_E_PARA && Says("EI0003", "comm"),
       "a communicator that never was");
    Ok(HcclThreadAcquire(n.comm, COMM_ENGINE_AICPU_TS, 201, 1, &x) ==
           HCCL_E_UNAVAIL && Says("EI0007", "200"),
       "more than 200 threads: the limit is named");
    CommMem mem = { COMM_MEM_TYPE_DEVICE, n.local, n.size + 1 };
    HcclMemHandle handle;
    Ok(HcclCommMemReg(n.comm, "m", &mem, &handle) == HCCL_E_PARA &&
           Says("EI0003", "mem"),
       "registration beyond the allocation");
    Ok(HcommWriteOnThread(n.host, n.channel, n.remote, n.local, 1) ==
           HCCL_E_NOT_SUPPORT, "a kernel's call on the host");
}

void TooLarge(const Rank &me)
{
    HcclRootInfo root;
    HcclComm comm;
    HcclCommConfig config = Config(1u << 20);

    if (me.rank != 0) {
        return;
    }
    config.hcclBufferSize = 1u << 20;
    SAMPLE_CHECK(HcclGetRootInfo(&root));
    /* One rank has no buffer, so this works; the rank count is refused. */
    Ok(HcclCommInitRootInfoConfig(1, &root, 0, &config, &comm) == 0 &&
           HcclCommDestroy(comm) == 0, "one rank needs no HCCL buffer");
    SAMPLE_CHECK(HcclGetRootInfo(&root));
    double start = sample::Now();
    Ok(HcclCommInitRootInfoConfig(2, &root, 0, &config, &comm) ==
           HCCL_E_TIMEOUT && Says("EI0015", "missing: 1") &&
           sample::Now() - start < 10, "a rank that never comes is named");
}

/* ---- work that fails ---- */

/* Sync's code, and how long it took. */
aclError Sync(Node &n, double *seconds)
{
    double start = sample::Now();
    aclError rc = aclrtSynchronizeStream(n.stream);

    *seconds = sample::Now() - start;
    return rc;
}

void OutsideRange(Node &n, const sample::Kernel &k)
{
    TransferParam p = n.Param(STEP_WRITE);
    double s;

    p.dst += n.size - 100;       /* 4096 bytes do not fit */
    k.Launch(n.stream, &p, sizeof(p), 20);
    SAMPLE_CHECK(HcommThreadNotifyWaitOnThread(n.host, 0, 20));
    aclError rc = Sync(n, &s);
    Ok(rc == 507018 && s < 10, "a write beyond the peer's buffer fails the "
       "kernel at once", std::to_string(rc) + " after " + std::to_string(s));
}

/* Nobody records: the thread's wait expires, and with it the host's. */
void NeverRecorded(Node &n, const sample::Kernel &k)
{
    TransferParam p = n.Param(STEP_AWAIT);
    double s;

    p.seconds = 2;
    k.Launch(n.stream, &p, sizeof(p), 60);
    SAMPLE_CHECK(HcommThreadNotifyWaitOnThread(n.host, 0, 1836));
    aclError rc = Sync(n, &s);
    const char *text = aclGetRecentErrMsg();
    std::string t = text != nullptr ? text : "";
    Ok(rc == 507001 && s > 1 && s < 15, "a notify that nobody records ends "
       "the host's wait with it", std::to_string(rc) + " after " +
       std::to_string(s));
    Ok(t.find("EI0002") != std::string::npos &&
           t.find("rank 0") != std::string::npos &&
           t.find("thread 0") != std::string::npos &&
           t.find("notify 1 of the channel to rank 1") != std::string::npos,
       "and says which rank, thread, notify, and who owes it", t);
    Ok(HcommThreadNotifyWaitOnThread(n.host, 0, 1) == HCCL_E_REMOTE,
       "the communicator stays failed");
}

void Job(const Rank &me)
{
    sample::Kernel k("libtransfer_kernel.json", "TransferKernel");
    Node n;

    n.Open(me);
    if (me.rank == 0) {
        Handles(n);
        OutsideRange(n, k);
        HcclComm old = n.comm;
        SAMPLE_CHECK(HcclCommDestroy(n.comm));
        uint32_t rank;
        Ok(HcclGetRankId(old, &rank) == HCCL_E_PARA, "a destroyed one");
        Ok(HcommThreadNotifyWaitOnThread(n.host, 0, 1) == HCCL_E_PARA,
           "a thread of a destroyed communicator");
        Ok(HcclCommDestroy(old) == HCCL_E_PARA, "destroyed twice");
        me.board->ready = 0;     /* a new root comes */
        g_restart = true;
    } else {
        SAMPLE_CHECK(HcclCommDestroy(n.comm));
        while (!g_restart) {
            usleep(1000);
        }
    }
    SAMPLE_CHECK(aclrtDestroyStream(n.stream));
    Node again;
    again.Open(me);
    if (me.rank == 0) {
        NeverRecorded(again, k);
    }
    SAMPLE_CHECK(HcclCommDestroy(again.comm));
    aclrtDestroyStream(again.stream);
    TooLarge(me);
}

} // namespace

int main()
{
    HcclRootInfo root;

    setenv("ATLAS350_CONNECT_TIMEOUT", "3", 1);
    Ok(HcclGetRootInfo(&root) != HCCL_SUCCESS, "before aclInit");
    int rc = sample::Run(2, false, Job);
    sample::Line("1..%d", g_count);
    return rc != 0 || g_failed != 0;
}
