/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints, their memory and channels without a communicator, data moving
 * between two cards:
 *
 *   hccl-endpoints threads|processes
 */
#include "hcomm/hcomm_res.h"
#include "ctrl.h"

using namespace ctrl;

namespace {

/* Descriptions and exported memory go by the shared page, as over a socket. */
struct Desk {
    EndpointDesc desc[2];
    uint8_t blob[2][1024];
    uint32_t len[2];
    uint64_t addr[2];
};

Desk *g_desk;

std::string Who(const Rank &me, const char *what)
{
    return "rank " + std::to_string(me.rank) + ": " + what;
}

HcommChannelDesc Channel(const EndpointDesc &peer, bool server, bool all)
{
    HcommChannelDesc d;

    HcommChannelDescInit(&d, 1);
    d.remoteEndpoint = peer;
    d.notifyNum = 2;
    d.exchangeAllMems = all;
    d.role = server ? HCOMM_SOCKET_ROLE_SERVER : HCOMM_SOCKET_ROLE_CLIENT;
    return d;
}

int32_t Await(ChannelHandle ch, double limit)
{
    double end = sample::Now() + limit;
    int32_t status = 1;

    while (status == 1 && sample::Now() < end) {
        HcommResult rc = HcommChannelGetStatus(&ch, 1, &status);
        if (rc != 0 && status == 1) {
            return -rc;
        }
        usleep(1000);
    }
    return status;
}

bool Move(const Rank &me, ThreadHandle thread, ChannelHandle ch, uint64_t src,
          uint64_t dst, uint64_t inbox, uint32_t round)
{
    CtrlParam p;
    aclrtStream stream;

    memset(&p, 0, sizeof(p));
    p.thread = thread;
    p.num = 2;
    p.step[0].op = CTRL_SEND;
    p.step[0].channel = ch;
    p.step[0].src = src;
    p.step[0].dst = dst;
    p.step[0].size = PART;
    p.step[1].op = CTRL_RECV;
    p.step[1].channel = ch;
    Put(src, Pattern(me.rank, 1 - me.rank, round));
    SAMPLE_CHECK(aclrtCreateStream(&stream));
    TheKernel().Launch(stream, &p, sizeof(p), 60);
    aclError rc = aclrtSynchronizeStream(stream);
    SAMPLE_CHECK(aclrtDestroyStream(stream));
    if (rc != ACL_SUCCESS) {
        return false;
    }
    /* No host thread here: the notify came after the data; look until then. */
    std::vector<uint8_t> want = Pattern(1 - me.rank, me.rank, round);
    double end = sample::Now() + 20;
    while (Get(inbox, PART) != want) {
        if (sample::Now() > end) {
            return false;
        }
        usleep(2000);
    }
    return true;
}

void Threads(const Rank &me)
{
    uint32_t notifies = 65;
    ThreadHandle t[4] = { 0 };
    void *info = nullptr;

    Ok(HcommThreadAlloc(COMM_ENGINE_AICPU_TS, 1, &notifies, t) ==
           HCCL_E_PARA && Says("EI0003", { "notifyNumPerThread", "64" }),
       Who(me, "65 notifies"));
    notifies = 2;
    Ok(HcommThreadAlloc(COMM_ENGINE_AICPU_TS, 1001, &notifies, t) ==
           HCCL_E_PARA && Says("EI0003", { "threadNum", "1000" }),
       Who(me, "1001 threads"));
    Ok(HcommThreadAlloc(COMM_ENGINE_AIV, 1, &notifies, t) == HCCL_E_PARA,
       Who(me, "engine AIV"));
    SAMPLE_CHECK(HcommThreadAlloc(COMM_ENGINE_CPU_TS, 2, &notifies, t));
    Ok(HcommThreadResGetInfo(t[0], THREAD_RES_TYPE_STREAM,
                             sizeof(aclrtStream), &info) == HCCL_SUCCESS &&
           info != nullptr && t[0] != t[1], Who(me, "two host threads"));
    Ok(HcommThreadNotifyRecordOnThread(t[0], t[1], 1) == HCCL_SUCCESS &&
           HcommThreadNotifyWaitOnThread(t[1], 1, 20) == HCCL_SUCCESS &&
           aclrtSynchronizeStream(info) == ACL_SUCCESS,
       Who(me, "one wakes the other"));
    Ok(HcommThreadFree(t, 2) == HCCL_SUCCESS &&
           HcommThreadFree(t, 1) == HCCL_E_NOT_FOUND, Who(me, "freed, once"));
}

void Job(const Rank &me)
{
    uint32_t other = 1 - me.rank, num = 0, port = 0, notifies = 2, len = 0;
    EndpointDesc desc[8];
    EndpointHandle ep;
    HcommMemHandle handle, unlisted;
    ThreadHandle thread;
    ChannelHandle ch = 0;
    CommMem imported;
    void *mem = nullptr, *blob = nullptr;

    Threads(me);
    SAMPLE_CHECK(HcommEndpointGetDescNum(me.rank, &num));
    Ok(num >= 1 && num <= 8, Who(me, "end points of the device"),
       std::to_string(num));
    num = 8;
    SAMPLE_CHECK(HcommEndpointGetDescs(me.rank, &num, desc));
    Ok(desc[0].protocol == COMM_PROTOCOL_UB_CTP &&
           desc[0].commAddr.type == COMM_ADDR_TYPE_EID &&
           desc[0].loc.locType == ENDPOINT_LOC_TYPE_DEVICE,
       Who(me, "UB, with an EID"));
    SAMPLE_CHECK(HcommEndpointCreate(&desc[0], &ep));
    Ok(HcommEndpointGetListenPort(ep, &port) == 0 && port != 0,
       Who(me, "listens"));
    g_desk->desc[me.rank] = desc[0];
    SAMPLE_CHECK(aclrtMalloc(&mem, 1u << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    uint64_t base = reinterpret_cast<uint64_t>(mem);
    uint64_t half = 1u << 19;
    CommMem m = { COMM_MEM_TYPE_DEVICE, mem, half };
    CommMem m2 = { COMM_MEM_TYPE_DEVICE, static_cast<char *>(mem) + half,
                   half };
    SAMPLE_CHECK(HcommMemReg(ep, "first half", &m, &handle));
    SAMPLE_CHECK(HcommMemReg(ep, "second half", &m2, &unlisted));
    SAMPLE_CHECK(HcommMemExport(ep, unlisted, &blob, &len));
    if (len > sizeof(g_desk->blob[0])) {
        throw std::runtime_error("long description");
    }
    memcpy(g_desk->blob[me.rank], blob, len);
    g_desk->len[me.rank] = len;
    g_desk->addr[me.rank] = base;
    SAMPLE_CHECK(HcommThreadAlloc(COMM_ENGINE_AICPU_TS, 1, &notifies,
                                  &thread));
    Meet(me);
    SAMPLE_CHECK(HcommMemImport(ep, g_desk->blob[other], g_desk->len[other],
                                &imported));
    Ok(reinterpret_cast<uint64_t>(imported.addr) == g_desk->addr[other] + half
           && imported.size == half, Who(me, "imported what was exported"));
    HcommChannelDesc d = Channel(g_desk->desc[other], me.rank == 0, false);
    d.memHandles = &handle;
    d.memHandleNum = 1;
    SAMPLE_CHECK(HcommChannelCreate(ep, COMM_ENGINE_AICPU_TS, &d, 1, &ch));
    int32_t status = Await(ch, 30);
    Ok(status == 0, Who(me, "the channel becomes ready"),
       std::to_string(status));
    Ok(Move(me, thread, ch, base, g_desk->addr[other] + 100000, base + 100000,
            1), Who(me, "data into memory given with the channel"));
    Ok(Move(me, thread, ch, base, g_desk->addr[other] + half, base + half, 2),
       Who(me, "data into imported memory"));
    Meet(me);
    Ok(HcommEndpointDestroy(ep) == HCCL_E_AGAIN, Who(me, "in use"));
    SAMPLE_CHECK(HcommChannelDestroy(&ch, 1));
    Ok(HcommChannelDestroy(&ch, 1) == HCCL_E_NOT_FOUND, Who(me, "once"));
    Meet(me);
    d = Channel(g_desk->desc[other], me.rank == 1, true);
    SAMPLE_CHECK(HcommChannelCreate(ep, COMM_ENGINE_AICPU_TS, &d, 1, &ch));
    status = Await(ch, 30);
    Ok(status == 0 && Move(me, thread, ch, base, g_desk->addr[other] + half,
                           base + half, 3),
       Who(me, "again, with all memories"), std::to_string(status));
    Meet(me);
    SAMPLE_CHECK(HcommChannelDestroy(&ch, 1));
    Meet(me);
    if (me.rank == 0) {
        d = Channel(g_desk->desc[other], false, true);
        SAMPLE_CHECK(HcommChannelCreate(ep, COMM_ENGINE_AICPU_TS, &d, 1,
                                        &ch));
        double start = sample::Now();
        status = Await(ch, 30);
        Ok(status == 3 && sample::Now() - start < 25 &&
               Says("EI0006", { "s" }), "a peer that makes none: time-out",
           std::to_string(status));
        SAMPLE_CHECK(HcommChannelDestroy(&ch, 1));
    }
    SAMPLE_CHECK(HcommMemUnimport(ep, g_desk->blob[other],
                                  g_desk->len[other]));
    SAMPLE_CHECK(HcommMemUnreg(ep, handle));
    SAMPLE_CHECK(HcommMemUnreg(ep, unlisted));
    SAMPLE_CHECK(HcommThreadFree(&thread, 1));
    SAMPLE_CHECK(HcommEndpointDestroy(ep));
    Ok(HcommEndpointDestroy(ep) == HCCL_E_NOT_FOUND, Who(me, "the end"));
    aclrtFree(mem);
    Meet(me);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s threads|processes\n", argv[0]);
        return 2;
    }
    setenv("ATLAS350_CONNECT_TIMEOUT", "6", 0);
    Share();
    void *p = mmap(nullptr, sizeof(Desk), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    g_desk = static_cast<Desk *>(p);
    return Done(sample::Run(2, argv[1][0] == 'p', Job));
}
