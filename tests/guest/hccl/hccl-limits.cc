/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of docs/hccl.rst, from one table: the last value that works where it
 * is cheap, the first that does not, and the limit's number in the text. Then
 * what must be equal on all ranks, one field after the other.
 */
#include "hcomm/hcomm_res.h"
#include "hccl/hccl_launch.h"
#include "ctrl.h"

using namespace ctrl;

namespace {

std::string Who(const Rank &me, const char *what)
{
    return "rank " + std::to_string(me.rank) + ": " + what;
}

struct Env {
    Rank me;
    Node n;
    HcclComm comm;
    std::vector<ThreadHandle> out = std::vector<ThreadHandle>(300);
    std::string long_name = std::string(300, 'x');

    const char *Name(size_t len)
    {
        long_name = std::string(len, 'x');
        return long_name.c_str();
    }

    HcclChannelDesc Desc(uint32_t notifies)
    {
        return sample::ChannelTo(comm, me.rank, 1 - me.rank, notifies);
    }
};

HcclResult CommName(size_t len)
{
    HcclCommConfig c = Config("");
    HcclComm comm;

    memset(c.hcclCommName, 'n', len);
    if (len < sizeof(c.hcclCommName)) {
        c.hcclCommName[len] = '\0';
    }
    HcclRootInfo root;
    SAMPLE_CHECK(HcclGetRootInfo(&root));
    HcclResult rc = HcclCommInitRootInfoConfig(1, &root, 0, &c, &comm);
    return rc == HCCL_SUCCESS ? HcclCommDestroy(comm) : rc;
}

HcclResult Depth(uint32_t depth)
{
    HcclCommConfig c = Config("depth");
    HcclComm comm;
    HcclRootInfo root;

    c.hcclChannelSqDepth = depth;
    SAMPLE_CHECK(HcclGetRootInfo(&root));
    HcclResult rc = HcclCommInitRootInfoConfig(1, &root, 0, &c, &comm);
    return rc == HCCL_SUCCESS ? HcclCommDestroy(comm) : rc;
}

HcclResult Export(Env &e, uint32_t n)
{
    std::vector<ThreadHandle> in(n + 1, e.n.thread), out(n + 1);

    return HcclThreadExportToCommEngine(e.comm, n, in.data(),
                                        COMM_ENGINE_CPU_TS, out.data());
}

HcclResult Context(Env &e, size_t len)
{
    void *p;
    HcclResult rc = HcclEngineCtxCreate(e.comm, e.Name(len), COMM_ENGINE_CPU,
                                        16, &p);

    return rc == HCCL_SUCCESS
           ? HcclEngineCtxDestroy(e.comm, e.Name(len), COMM_ENGINE_CPU) : rc;
}

HcclResult MemTag(Env &e, size_t len)
{
    HcclMemHandle h;
    CommMem m = { COMM_MEM_TYPE_DEVICE, reinterpret_cast<void *>(e.n.local),
                  4096 };

    return HcclCommMemReg(e.comm, e.Name(len), &m, &h);
}

HcclResult Channels(Env &e, uint32_t num, uint32_t notifies, uint32_t mems)
{
    HcclChannelDesc d = e.Desc(notifies);
    std::vector<HcclMemHandle> handles(mems + 1);
    ChannelHandle h;

    if (mems) {
        d.memHandles = handles.data();
        d.memHandleNum = mems;
    }
    return HcclChannelAcquire(e.comm, COMM_ENGINE_AICPU, &d, num, &h);
}

HcclResult State(HcclComm, HcclCommStatePhase, void *)
{
    return HCCL_SUCCESS;
}

HcclResult P2pArgs(Env &e, uint32_t size)
{
    std::vector<uint8_t> args(size);
    HcclKernelLaunchCfg cfg;
    HcclKernelFuncInfo f;
    HcclOpDesc op;

    memset(&f, 0, sizeof(f));
    HcclOpDescInit(&op);
    HcclKernelLaunchCfgInit(&cfg);
    op.opDescType = 1;
    op.p2p.unfoldStream = e.n.stream;
    strcpy(f.kernelSoName, "a.so");
    strcpy(f.kernelFuncName, "f");
    f.args = args.data();
    f.argSize = size;
    return HcclAicpuKernelLaunch(e.comm, &op, &f, e.n.thread, e.n.stream,
                                 &cfg);
}

struct Case {
    const char *what;
    HcclResult want;
    const char *code, *limit;    /* limit stands in the text */
    HcclResult (*fn)(Env &);
};

const Case cases[] = {
    { "0 threads", HCCL_E_PARA, "EI0003", "threadNum", [](Env &e) {
        return HcclThreadAcquire(e.comm, COMM_ENGINE_AICPU_TS, 0, 1,
                                 e.out.data()); } },
    { "201 threads", HCCL_E_UNAVAIL, "EI0007", "200", [](Env &e) {
        return HcclThreadAcquire(e.comm, COMM_ENGINE_AICPU_TS, 201, 1,
                                 e.out.data()); } },
    { "200 threads and those there are", HCCL_E_UNAVAIL, "EI0007", "200",
      [](Env &e) {
        return HcclThreadAcquire(e.comm, COMM_ENGINE_CPU_TS, 199, 1,
                                 e.out.data()); } },
    { "65536 notifies for a thread", HCCL_E_PARA, "EI0003", "65535",
      [](Env &e) {
        return HcclThreadAcquire(e.comm, COMM_ENGINE_AICPU_TS, 1, 65536,
                                 e.out.data()); } },
    { "more than 65536 notifies for all", HCCL_E_UNAVAIL, "EI0007", "65536",
      [](Env &e) {
        return HcclThreadAcquire(e.comm, COMM_ENGINE_AICPU_TS, 2, 40000,
                                 e.out.data()); } },
    { "65 notifies for a dedicated thread", HCCL_E_PARA, "EI0003", "64",
      [](Env &e) {
        return HcclDedicatedThreadAcquire(
            e.comm, HCCL_DED_THREAD_TYPE_AICPU_LAUNCH, 65, e.out.data()); } },
    { "export of 40", HCCL_SUCCESS, "", "", [](Env &e) {
        return Export(e, 40); } },
    { "export of 41", HCCL_E_PARA, "EI0003", "40", [](Env &e) {
        return Export(e, 41); } },
    { "export of 0", HCCL_E_PARA, "EI0003", "threadNum", [](Env &e) {
        return Export(e, 0); } },
    { "0 channels", HCCL_E_PARA, "EI0003", "channelNum", [](Env &e) {
        return Channels(e, 0, 1, 0); } },
    { "1048577 channels", HCCL_E_PARA, "EI0003", "1048576", [](Env &e) {
        return Channels(e, 1048577, 1, 0); } },
    { "65 notifies for a channel", HCCL_E_PARA, "EI0003", "64", [](Env &e) {
        return Channels(e, 1, 65, 0); } },
    { "257 memories for a channel", HCCL_E_PARA, "EI0003", "256", [](Env &e) {
        return Channels(e, 1, 1, 257); } },
    { "context tag of 255", HCCL_SUCCESS, "", "", [](Env &e) {
        return Context(e, 255); } },
    { "context tag of 256", HCCL_E_PARA, "EI0003", "255", [](Env &e) {
        return Context(e, 256); } },
    { "memory tag of 255", HCCL_SUCCESS, "", "", [](Env &e) {
        return MemTag(e, 255); } },
    { "memory tag of 256", HCCL_E_PARA, "EI0003", "255", [](Env &e) {
        return MemTag(e, 256); } },
    { "memory tag of 0", HCCL_E_PARA, "EI0003", "255", [](Env &e) {
        return MemTag(e, 0); } },
    { "communicator name of 127", HCCL_SUCCESS, "", "", [](Env &) {
        return CommName(127); } },
    { "communicator name of 128", HCCL_E_PARA, "EI0003", "127", [](Env &) {
        return CommName(128); } },
    { "queue depth 32768", HCCL_SUCCESS, "", "", [](Env &) {
        return Depth(32768); } },
    { "queue depth 32769", HCCL_E_PARA, "EI0003", "32768", [](Env &) {
        return Depth(32769); } },
    { "65537 ranks", HCCL_E_PARA, "EI0003", "65536", [](Env &) {
        HcclComm c;
        return HcclCommInitRootInfo(65537, &S()->root[0], 0, &c); } },
    { "66 devices", HCCL_E_PARA, "EI0003", "65", [](Env &) {
        std::vector<int32_t> d(66);
        std::vector<HcclComm> c(66);
        return HcclCommInitAll(66, d.data(), c.data()); } },
    { "state callback name of 160", HCCL_SUCCESS, "", "", [](Env &e) {
        return HcclCommRegCommStateCallback(e.Name(160), State, nullptr); } },
    { "state callback name of 161", HCCL_E_PARA, "EI0003", "160",
      [](Env &e) {
        return HcclCommRegCommStateCallback(e.Name(161), State, nullptr); } },
    { "exchange info of 65537 bytes", HCCL_E_PARA, "EI0003", "65536",
      [](Env &e) {
        std::vector<uint8_t> v(65537);
        return HcclCommAddExchangeInfo(e.comm, v.data(), v.size()); } },
    { "8193 bytes for a P2P kernel", HCCL_E_PARA, "EI0003", "8192",
      [](Env &e) { return P2pArgs(e, 8193); } },
    { "shared queue tag of 255", HCCL_E_PARA, "EI0003", "254", [](Env &e) {
        HcclChannelConfig c;
        SAMPLE_CHECK(HcclChannelConfigCreate(&c));
        HcclResult rc = HcclChannelConfigSetStr(
            c, HCCL_CHANNEL_CONFIG_TYPE_SHARED_QUEUE_TAG, e.Name(255));
        HcclChannelConfigDestroy(c);
        return rc; } },
    { "256 memories for a communicator", HCCL_E_UNAVAIL, "EI0007", "255",
      [](Env &e) {
        HcclResult rc = HCCL_SUCCESS;
        HcclMemHandle h;
        CommMem m = { COMM_MEM_TYPE_DEVICE,
                      reinterpret_cast<void *>(e.n.local), 4096 };
        for (int i = 0; i < 256 && rc == HCCL_SUCCESS; i++) {
            rc = HcclCommMemReg(e.comm, ("m" + std::to_string(i)).c_str(), &m,
                                &h);
        }
        return rc; } },
};

void Limits(const Rank &me)
{
    Env e = { me, Node(), nullptr };

    e.comm = Make(me, 0, Config("limits"));
    e.n.Open(e.comm, 64);
    for (size_t i = 0; me.rank == 0 && i < sizeof(cases) / sizeof(cases[0]);
         i++) {
        const Case &c = cases[i];
        HcclResult rc = c.fn(e);
        Ok(rc == c.want && (rc == HCCL_SUCCESS || Says(c.code, { c.limit })),
           c.what, std::to_string(rc));
    }
    /* 64 notifies are 64: the last one wakes. */
    CtrlParam p = e.n.Param();
    p.num = 2;
    p.step[0].op = CTRL_RECORD;
    p.step[1].op = CTRL_RECV;
    p.step[0].channel = p.step[1].channel = e.n.channel[1 - me.rank];
    p.step[0].notify = p.step[1].notify = 63;
    Ok(e.n.Go(p) == ACL_SUCCESS, Who(me, "notify 63 of 64"));
    /* As many threads as there may be: one is a stream's. */
    SAMPLE_CHECK(HcclThreadAcquire(e.comm, COMM_ENGINE_AICPU_TS, 199, 1,
                                   e.out.data()));
    CtrlParam q = e.n.Param();
    q.thread = e.out[198];
    q.num = 1;
    q.step[0].op = CTRL_COPY;
    q.step[0].src = e.n.local;
    q.step[0].dst = e.n.local + SLOT;
    q.step[0].size = PART;
    Put(e.n.local, Pattern(me.rank, 1, 3));
    Ok(e.n.Go(q) == ACL_SUCCESS && Get(e.n.local + SLOT, PART) ==
           Pattern(me.rank, 1, 3), Who(me, "200 threads, the last one works"));
    Meet(me);
    Ok(e.n.Close() == HCCL_SUCCESS, Who(me, "all freed"));
}

/* ---- what must be equal ---- */

struct Differ {
    const char *field;
    void (*set)(HcclCommConfig &c, uint32_t rank);
};

const Differ differ[] = {
    { "hcclBufferSize", [](HcclCommConfig &c, uint32_t r) {
        c.hcclBufferSize = 1 + r; } },
    { "hcclCommName", [](HcclCommConfig &c, uint32_t r) {
        strcpy(c.hcclCommName, r ? "yes" : "no"); } },
    { "hcclChannelSqDepth", [](HcclCommConfig &c, uint32_t r) {
        c.hcclChannelSqDepth = 64 << r; } },
    { "hcclQos", [](HcclCommConfig &c, uint32_t r) { c.hcclQos = 1 + r; } },
    { "hcclRdmaTrafficClass", [](HcclCommConfig &c, uint32_t r) {
        c.hcclRdmaTrafficClass = 4 * r; } },
    { "hcclRdmaServiceLevel", [](HcclCommConfig &c, uint32_t r) {
        c.hcclRdmaServiceLevel = r; } },
    { "hcclAlgo", [](HcclCommConfig &c, uint32_t r) {
        strcpy(c.hcclAlgo, r ? "level0:NA;level1:NHR" : ""); } },
};

void Consistent(const Rank &me)
{
    HcclComm comm;
    uint32_t k = 0;
    HcclResult rc;
    Node n;

    for (const Differ &d : differ) {
        HcclCommConfig c = Config("equal");
        d.set(c, me.rank);
        double start = sample::Now();
        rc = HcclCommInitRootInfoConfig(2, Root(me, k), me.rank, &c, &comm);
        Ok(rc == HCCL_E_PARA && Says("EI0005", { d.field, "rank 0 has",
                                                 "rank 1 has" }) &&
               sample::Now() - start < 20, Who(me, d.field),
           std::to_string(rc));
        Meet(me);
        k++;
    }
    HcclCommConfig c = Config("equal");
    rc = HcclCommInitRootInfoConfig(2 + me.rank, Root(me, k++), me.rank, &c,
                                    &comm);
    Ok(rc == HCCL_E_PARA && Says("EI0005", { "nRanks", "2", "3" }),
       Who(me, "nRanks"), std::to_string(rc));
    Meet(me);
    rc = HcclCommInitRootInfoConfig(2, Root(me, k++), 0, &c, &comm);
    Ok(rc != HCCL_SUCCESS && Says("EI0015", { "rank" }),
       Who(me, "the same rank twice"), std::to_string(rc));
    Meet(me);
    n.Open(Make(me, k++, c));
    Ok(n.Exchange(1), Who(me, "all equal"));
    /* Ends of a channel. */
    ChannelHandle h;
    HcclChannelDesc d = sample::ChannelTo(n.comm, me.rank, 1 - me.rank,
                                          2 + me.rank);
    rc = HcclChannelAcquire(n.comm, COMM_ENGINE_AICPU, &d, 1, &h);
    Ok(rc == HCCL_E_PARA && Says("EI0005", { "notifyNum", "rank 0", "rank 1" }),
       Who(me, "notifyNum of the ends of a channel"), std::to_string(rc));
    Meet(me);
    d.notifyNum = 2;
    uint32_t word = 7 + me.rank;
    SAMPLE_CHECK(HcclCommAddExchangeInfo(n.comm, &word, sizeof(word)));
    rc = HcclChannelAcquire(n.comm, COMM_ENGINE_AICPU, &d, 1, &h);
    Ok(rc == HCCL_E_PARA && Says("EI0005", { "exchange info", "byte 0" }),
       Who(me, "exchange info"), std::to_string(rc));
    SAMPLE_CHECK(HcclCommResetExchangeInfo(n.comm));
    Meet(me);
    /* Engines that differ do not meet. */
    rc = HcclChannelAcquire(n.comm, me.rank ? COMM_ENGINE_AICPU
                            : COMM_ENGINE_AICPU_TS, &d, 1, &h);
    if (me.rank == 0) {
        Ok(rc == HCCL_SUCCESS && h == n.channel[1],
           Who(me, "that engine has its channel already"));
    } else {
        Ok(rc == HCCL_E_TIMEOUT && Says("EI0006", { "rank 0" }),
           Who(me, "a peer with another engine"), std::to_string(rc));
    }
    Meet(me);
    Ok(n.Exchange(2), Who(me, "what there was works on"));
    /* Parts. */
    HcclComm sub;
    uint32_t ids[2] = { 0, 1 };
    HcclCommConfig sc = Config("", 1 + me.rank);
    rc = HcclCreateSubCommConfig(&n.comm, 2, ids, 3, me.rank, &sc, &sub);
    Ok(rc == HCCL_E_PARA && Says("EI0005", { "hcclBufferSize", "rank 0",
                                             "rank 1" }),
       Who(me, "buffer of a part"), std::to_string(rc));
    Meet(me);
    n.Close();
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s threads|processes limits|differ\n",
                argv[0]);
        return 2;
    }
    setenv("ATLAS350_CONNECT_TIMEOUT", "8", 0);
    Share();
    return Done(sample::Run(2, argv[1][0] == 'p', argv[2][0] == 'l'
                            ? Limits : Consistent));
}
