/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to the others when device work fails, or a rank's process dies:
 *
 *   hccl-fail callbacks|deadlock|locked|killed|left|leaks
 */
#include <signal.h>
#include <mutex>
#include "hcomm/hcomm_exception.h"
#include "hcomm/hcomm_res.h"
#include "ctrl.h"

using namespace ctrl;

namespace {

/* ---- callbacks ---- */

std::mutex g_lock;
std::vector<HcommExceptionInfo> g_seen;
void *g_data;

void OnFailure(const HcommExceptionInfo *info, void *data)
{
    std::lock_guard<std::mutex> guard(g_lock);

    g_seen.push_back(*info);
    g_data = data;
}

void Unwanted(const HcommExceptionInfo *, void *)
{
    Ok(false, "a callback that was unregistered");
}

/* The callback comes on a thread of the library's own. */
bool Seen(size_t n, HcommExceptionInfo *last)
{
    for (int i = 0; i < 5000; i++) {
        std::lock_guard<std::mutex> guard(g_lock);
        if (g_seen.size() >= n) {
            *last = g_seen.back();
            return true;
        }
        usleep(1000);
    }
    return false;
}

bool Readable(const std::string &text, const std::string &code);

/* Each waits for the other: both learn for what, of whom, and for how long. */
void Deadlock(const Rank &me)
{
    Node n;

    n.Open(Make(me, 0, Config("waiting")));
    Meet(me);
    CtrlParam p = n.Param();
    p.num = 1;
    p.step[0].op = CTRL_RECV;
    p.step[0].channel = n.channel[1 - me.rank];
    p.step[0].notify = 3;
    p.step[0].seconds = 4;
    aclError rc = n.Go(p);
    const char *raw = aclGetRecentErrMsg();
    std::string text = raw ? raw : "";
    Ok(rc == 507001 && Readable(text, "EI0002") &&
           text.find("notify 3 of the channel to rank " +
                     std::to_string(1 - me.rank)) != std::string::npos,
       "rank " + std::to_string(me.rank) + " waits for the other", text);
    printf("# rank %u: %d, %s\n", me.rank, rc, text.c_str());
    SAMPLE_CHECK(HcclCommDestroy(n.comm));
    Meet(me);
}

/* One published number, in front. */
bool Readable(const std::string &text, const std::string &code)
{
    size_t numbers = 0;

    for (size_t i = 0; i + 6 < text.size(); i++) {
        numbers += text[i] == 'E' && (text[i + 1] == 'I' || text[i + 1] == 'E')
                   && isdigit(text[i + 2]) && isdigit(text[i + 5]) &&
                   text[i + 6] == ':';
    }
    return numbers == 1 && text.compare(0, code.size() + 2, code + ": ") == 0;
}

void Callbacks(const Rank &me)
{
    HcommExceptionInfo info;
    Node n;
    int mark = 0;

    n.Open(Make(me, 0, Config("failing")));
    Meet(me);
    if (me.rank == 0) {
        Ok(HcommExceptionRegisterCallback(nullptr, nullptr) == HCCL_E_PTR &&
               HcommExceptionRegisterCallback(Unwanted, nullptr) == 0 &&
               HcommExceptionUnregisterCallback(Unwanted) == 0 &&
               HcommExceptionUnregisterCallback(Unwanted) == HCCL_E_NOT_FOUND,
           "registered and unregistered");
        SAMPLE_CHECK(HcommExceptionRegisterCallback(OnFailure, &mark));
        CtrlParam p = n.Param();
        p.num = 1;
        p.step[0].op = CTRL_RECV;
        p.step[0].channel = n.channel[1];
        p.step[0].notify = 3;
        p.step[0].seconds = 2;
        aclError rc = n.Go(p);
        const char *raw = aclGetRecentErrMsg();
        std::string text = raw ? raw : "";
        Ok(rc == 507001 && Readable(text, "EI0002") &&
               text.find("notify 3 of the channel to rank 1") !=
               std::string::npos, "a wait that expires", text);
        Ok(Seen(1, &info) && info.header.size == sizeof(info) &&
               info.header.version == 1 && info.thread == n.thread &&
               info.channel == n.channel[1] && info.retCode == 507001 &&
               info.expandInfo.type == HCOMM_EXCEPTION_EXPAND_STARS &&
               info.expandInfo.stars.sqeType == 3 && g_data == &mark,
           "its callback", "type " + std::to_string(info.expandInfo.type) +
           " sqe " + std::to_string(info.expandInfo.stars.sqeType) +
           " code " + std::to_string(info.retCode));
        SAMPLE_CHECK(HcclCommDestroy(n.comm));
    } else {
        SAMPLE_CHECK(HcclCommDestroy(n.comm));
    }
    SAMPLE_CHECK(aclrtDestroyStream(n.stream));
    Node again;
    again.Open(Make(me, 1, Config("failing")));
    Ok(again.Exchange(1), "and a new one works");
    Meet(me);
    if (me.rank == 1) {          /* its memory is withdrawn */
        SAMPLE_CHECK(HcclCommDestroy(again.comm));
    }
    Meet(me);
    if (me.rank == 0) {
        CtrlParam p = again.Param();
        p.num = 1;
        p.step[0].op = CTRL_SEND;
        p.step[0].channel = again.channel[1];
        p.step[0].src = again.local;
        p.step[0].dst = again.inbox[1];
        p.step[0].size = PART;
        double start = sample::Now();
        aclError rc = again.Go(p);
        const char *raw = aclGetRecentErrMsg();
        std::string text = raw ? raw : "";
        Ok(rc == 507057 && Readable(text, "EI0018") &&
               sample::Now() - start < 20, "a write to a peer that has "
           "destroyed the communicator", std::to_string(rc) + " " + text);
        Ok(Seen(2, &info) && info.thread == again.thread &&
               info.channel == again.channel[1] &&
               info.expandInfo.type == HCOMM_EXCEPTION_EXPAND_URMA &&
               info.expandInfo.stars.sqeType == 9, "its callback",
           "type " + std::to_string(info.expandInfo.type) + " sqe " +
           std::to_string(info.expandInfo.stars.sqeType));
        SAMPLE_CHECK(HcommExceptionUnregisterCallback(OnFailure));
        SAMPLE_CHECK(HcclCommDestroy(again.comm));
    }
    Meet(me);
    aclrtDestroyStream(again.stream);
}

/* ---- a process that dies ---- */

pid_t Fork(uint32_t rank, void (*fn)(const Rank &))
{
    pid_t pid = fork();

    if (pid == 0) {
        sample::Board board = {};
        int rc = 1;

        if (aclInit(nullptr) == ACL_SUCCESS) {
            rc = sample::RunRank({ rank, 2, &board }, fn);
        }
        aclFinalize();
        _exit(rc);
    }
    return pid;
}

/* Exchanges until it is killed. */
void Victim(const Rank &me)
{
    Node n;

    n.Open(Make(me, 0, Config("life")));
    for (uint32_t i = 0; n.Exchange(i); i++) {
    }
}

void Heir(const Rank &me)
{
    Node n;

    n.Open(Make(me, 1, Config("life")));
    Ok(n.Exchange(1) && n.Exchange(2), "the dead process's card works for the "
       "next one");
    S()->word[2] = 1;
    while (S()->word[3] == 0) {
        usleep(1000);
    }
    n.Close();
}

void Survivor(const Rank &me)
{
    ChannelHandle h;
    uint32_t round = 0;
    Node n;

    n.limit = 4;
    n.Open(Make(me, 0, Config("life")));
    while (n.Exchange(round)) {
        S()->word[0] = ++round;
    }
    double end = sample::Now(), killed = S()->word[1] * 1e-3;
    const char *raw = aclGetRecentErrMsg();
    std::string text = raw ? raw : "";
    Ok(killed > 0 && end - killed < 15 &&
           text.find("rank 1") != std::string::npos &&
           (Readable(text, "EI0002") || Readable(text, "EI0018")),
       "the survivor's stream ends and says who", std::to_string(end - killed)
       + " s after " + std::to_string(round) + " rounds: " + text);
    HcclChannelDesc d = sample::ChannelTo(n.comm, 0, 1, 1);
    double start = sample::Now();
    HcclResult rc = HcclChannelAcquire(n.comm, COMM_ENGINE_AICPU, &d, 1, &h);
    Ok(rc != HCCL_SUCCESS && Says("EI0006", { "rank 1", "process" }) &&
           sample::Now() - start < 15, "a new channel to the dead",
       std::to_string(rc) + " after " + std::to_string(sample::Now() - start));
    Ok(n.Close() == HCCL_SUCCESS, "the communicator can be destroyed");
    Node next;
    next.Open(Make(me, 1, Config("life")));
    Ok(next.Exchange(1) && next.Exchange(2), "and another one be made");
    while (S()->word[2] == 0) {
        usleep(1000);
    }
    S()->word[3] = 1;
    next.Close();
}

int Killed()
{
    pid_t survivor = Fork(0, Survivor), victim = Fork(1, Victim);
    int status = 1, other = 1;

    while (S()->word[0] < 5) {
        usleep(1000);
        if (waitpid(survivor, &status, WNOHANG) == survivor) {
            kill(victim, SIGKILL);
            return 1;
        }
    }
    kill(victim, SIGKILL);
    S()->word[1] = static_cast<int64_t>(sample::Now() * 1e3);
    waitpid(victim, nullptr, 0);
    pid_t heir = Fork(1, Heir);
    waitpid(survivor, &status, 0);
    waitpid(heir, &other, 0);
    return status != 0 || other != 0;
}

/* ---- dying while the others meet ---- */

void Waits(const Rank &me)
{
    HcclCommConfig c = Config("meeting");
    HcclComm comm;
    double start = sample::Now();
    HcclResult rc = HcclCommInitRootInfoConfig(3, Root(me, 0), me.rank, &c,
                                               &comm);

    Ok(rc == HCCL_E_REMOTE && Says("EI0015", { "rank 1" }) &&
           sample::Now() - start < 20, "the others hear of it",
       std::to_string(rc));
}

int Left()
{
    pid_t first = Fork(0, Waits), second = Fork(1, [](const Rank &me) {
        HcclCommConfig c = Config("meeting");
        HcclComm comm;
        Root(me, 0);
        S()->word[0] = 1;
        HcclCommInitRootInfoConfig(3, Root(me, 0), 1, &c, &comm);
    });
    int status = 1;

    while (S()->word[0] == 0) {
        usleep(1000);
    }
    sleep(2);                    /* it waits at the root now */
    kill(second, SIGKILL);
    waitpid(second, nullptr, 0);
    waitpid(first, &status, 0);
    return status != 0;
}

/* ---- what a program does not destroy ---- */

/* A kernel dies with the communicator locked: the next one gets the lock. */
void Locked(const Rank &me)
{
    HcclComm comm = Make(me, 0, Config("locked"));
    sample::Kernel kernel("libctrl_kernel.json", "CtrlLockKernel");
    CtrlLockParam p = { "locked", 1 };
    aclrtStream stream;

    SAMPLE_CHECK(aclrtCreateStream(&stream));
    kernel.Launch(stream, &p, sizeof(p), 30);
    Ok(aclrtSynchronizeStream(stream) == ACL_ERROR_RT_AICPU_EXCEPTION,
       "a kernel dies with the lock");
    p.die = 0;
    kernel.Launch(stream, &p, sizeof(p), 30);
    Ok(aclrtSynchronizeStreamWithTimeout(stream, 20000) == 0,
       "the next one gets it");
    aclrtDestroyStreamForce(stream);
    HcclCommDestroy(comm);
}

int Leaks()
{
    Rank me = { 0, 1, nullptr };
    uint32_t n = 1, notifies = 2, rank;
    ThreadHandle t[3];
    EndpointHandle ep;
    EndpointDesc d;
    HcommChannelDesc cd;
    ChannelHandle ch;
    HcclComm comm;
    pid_t pid = fork();          /* before there is anything to inherit */

    if (pid == 0) {
        while (S()->word[0] == 0) {
            usleep(1000);
        }
        int rc = aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0;
        if (rc) {
            sample::Line("# %s", aclGetRecentErrMsg());
        }
        _exit(rc);
    }
    SAMPLE_CHECK(aclInit(nullptr));
    SAMPLE_CHECK(aclrtSetDevice(1));
    SAMPLE_CHECK(HcommEndpointGetDescs(1, &n, &d));
    HcommChannelDescInit(&cd, 1);
    cd.remoteEndpoint = d;
    cd.exchangeAllMems = true;
    cd.role = HCOMM_SOCKET_ROLE_CLIENT;
    SAMPLE_CHECK(aclrtResetDevice(1));
    SAMPLE_CHECK(aclrtSetDevice(0));
    comm = Make(me, 0, Config("left over"));
    SAMPLE_CHECK(HcommThreadAlloc(COMM_ENGINE_AICPU_TS, 2, &notifies, t));
    SAMPLE_CHECK(HcommThreadAlloc(COMM_ENGINE_CPU_TS, 1, &notifies, t + 2));
    n = 1;
    SAMPLE_CHECK(HcommEndpointGetDescs(0, &n, &d));
    SAMPLE_CHECK(HcommEndpointCreate(&d, &ep));
    SAMPLE_CHECK(HcommChannelCreate(ep, COMM_ENGINE_AICPU_TS, &cd, 1, &ch));
    SAMPLE_CHECK(aclrtResetDevice(0));
    Ok(HcclGetRankId(comm, &rank) == HCCL_E_PARA &&
           HcommThreadFree(t, 1) == HCCL_E_NOT_FOUND &&
           HcommThreadFree(t + 2, 1) == HCCL_E_NOT_FOUND &&
           HcommChannelDestroy(&ch, 1) == HCCL_E_NOT_FOUND &&
           HcommEndpointDestroy(ep) == HCCL_E_NOT_FOUND,
       "the device took all of it along");
    S()->word[0] = 1;
    int status = 1;
    waitpid(pid, &status, 0);
    Ok(status == 0, "and the card is free for another process",
       std::to_string(status));
    SAMPLE_CHECK(aclrtSetDevice(0));
    SAMPLE_CHECK(HcommThreadAlloc(COMM_ENGINE_AICPU_TS, 1, &notifies, t));
    Ok(HcommThreadFree(t, 1) == HCCL_SUCCESS, "and for this one");
    return aclFinalize();
}

} // namespace

int main(int argc, char **argv)
{
    std::string what = argc == 2 ? argv[1] : "";

    setenv("ATLAS350_CONNECT_TIMEOUT", "20", 0);
    Share();
    if (what == "callbacks") {
        return Done(sample::Run(2, false, Callbacks));
    }
    if (what == "deadlock") {
        return Done(sample::Run(2, false, Deadlock));
    }
    if (what == "locked") {
        return Done(sample::Run(1, false, Locked));
    }
    if (what == "leaks") {
        return Done(Leaks());
    }
    return Done(what == "killed" ? Killed() : what == "left" ? Left() : 2);
}
