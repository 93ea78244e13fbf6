/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hccl-rest threads|processes: functions that no other program calls, with
 * what they do or with the code of what this card cannot; the rank table that
 * is published as an example; the task cache in a kernel.
 */
#include <fstream>
#include "hccl/hccl_mc2.h"
#include "hccl/hccl_team.h"
#include "hcomm/hcomm_res.h"
#include "hccl_diag.h"
#include "hcomm_diag.h"
#include "ctrl.h"

using namespace ctrl;

/* Exported for libraries that look them up by name; in no header. */
extern "C" {
int32_t HcommChannelNotifyWaitWithDefaultTimeout(ChannelHandle, uint32_t);
int32_t HcommThreadSynchronize(ThreadHandle);
int32_t HcommSendRequest(uint64_t, const char *, const void *, size_t,
                         uint32_t *);
int32_t HcommWaitResponse(uint64_t, void *, size_t, uint32_t *);
int32_t HcommFlush();
}

namespace {

/* The call returns @want, and its text has @word. */
void Gives(int32_t rc, int32_t want, const char *what, const char *word = "")
{
    const char *text = want != 0 ? aclGetRecentErrMsg() : nullptr;
    bool good = rc == want && (want == 0 || (text && strstr(text, word)));

    Ok(good, what, good ? "" : std::to_string(rc) + " " +
       (text ? text : "(no text)"));
}

#define NOT(call, word) Gives(call, HCCL_E_NOT_SUPPORT, #call, word)
#define YES(call) Gives(call, HCCL_SUCCESS, #call)

/* ---- the rank table as it is published ---- */

const char table[] = R"({
    "status": "completed",
    "version": "2.0",
    "rank_count": "2",
    "rank_list": [
        {
            "rank_id": 0,
            "local_id": 0,
            "device_id": 0,
            "level_list": [
                {
                    "net_layer": 0,
                    "net_instance_id": "az0-rack0",
                    "net_type": "TOPO_FILE_DESC",
                    "net_attr": "",
                    "rank_addr_list": [
                        {
                            "addr_type": "IPV4",
                            "addr": "223.0.0.10",
                            "ports": ["0/0"]
                        }
                    ]
                }
            ]
        },
        {
            "rank_id": 1,
            "local_id": 1,
            "device_id": 1,
            "level_list": [
                {
                    "net_layer": 0,
                    "net_instance_id": "az0-rack0",
                    "net_type": "TOPO_FILE_DESC",
                    "net_attr": "",
                    "rank_addr_list": [
                        {
                            "addr_type": "IPV4",
                            "addr": "223.0.0.28",
                            "ports": ["0/1"]
                        }
                    ]
                }
            ]
        }
    ]
})";

/* hcomm's example: a configuration with a name and 50 MB of buffer. */
void Published(const Rank &me)
{
    const char *path = "/tmp/rank_table_v2.json";
    char name[COMM_NAME_MAX_LENGTH] = "";
    HcclCommConfig cfg = Config("comm_1", 50);
    HcclComm comm = nullptr;
    Node n;

    if (me.rank == 0) {
        std::ofstream(path) << table;
    }
    Meet(me);
    cfg.hcclDeterministic = 1;
    SAMPLE_CHECK(HcclCommInitClusterInfoConfig(path, me.rank, &cfg, &comm));
    SAMPLE_CHECK(HcclGetCommName(comm, name));
    Ok(strcmp(name, "comm_1") == 0, "the published table: the name", name);
    n.Open(comm);
    Ok(n.Exchange(1), "the published table: exchange");
    Meet(me);
    Ok(n.Close() == HCCL_SUCCESS, "the published table: destroyed");
}

/* ---- the task cache ---- */

struct Cache {
    Node &n;
    const Rank &me;
    sample::Kernel kernel;
    void *result = nullptr;
    uint64_t source = 0;

    Cache(Node &node, const Rank &rank)
        : n(node), me(rank), kernel("libctrl_kernel.json", "CtrlCacheKernel")
    {
        void *p = nullptr;

        SAMPLE_CHECK(aclrtMalloc(&result, 64, ACL_MEM_MALLOC_HUGE_FIRST));
        SAMPLE_CHECK(aclrtMalloc(&p, 4 * SLOT, ACL_MEM_MALLOC_HUGE_FIRST));
        source = reinterpret_cast<uint64_t>(p);
    }

    ~Cache()
    {
        aclrtFree(result);
        aclrtFree(reinterpret_cast<void *>(source));
    }

    /* One call of the operator: @src into slot @slot of the peer. */
    CtrlCacheResult Call(uint64_t src, uint32_t slot, uint64_t size,
                         uint64_t ranges, bool clear)
    {
        uint32_t peer = 1 - me.rank;
        CtrlCacheParam c;
        CtrlCacheResult r;

        memset(&c, 0, sizeof(c));
        c.result = reinterpret_cast<uint64_t>(result);
        c.addr[0] = src;
        c.addr[1] = n.inbox[peer] + slot * 2 * SLOT;
        c.size[0] = c.size[1] = ranges;
        c.clear = clear;
        strcpy(c.tag, "exchange");
        c.p = n.Param();
        c.p.num = 2;
        c.p.step[0].op = CTRL_SEND;
        c.p.step[0].channel = n.channel[peer];
        c.p.step[0].src = src;
        c.p.step[0].dst = c.addr[1];
        c.p.step[0].size = size;
        c.p.step[1].op = CTRL_RECV;
        c.p.step[1].channel = n.channel[peer];
        kernel.Launch(n.stream, &c, sizeof(c), 60);
        SAMPLE_CHECK(HcommThreadNotifyWaitOnThread(n.host, 0, 60));
        SAMPLE_CHECK(aclrtSynchronizeStream(n.stream));
        SAMPLE_CHECK(aclrtMemcpy(&r, sizeof(r), result, sizeof(r),
                                 ACL_MEMCPY_DEVICE_TO_HOST));
        return r;
    }

    void Round(uint32_t round, bool clear, bool hit)
    {
        uint32_t peer = 1 - me.rank, slot = round % 3;
        uint64_t src = source + slot * SLOT;
        std::string name = "cache, round " + std::to_string(round);

        Put(src, Pattern(me.rank, peer, round));
        CtrlCacheResult r = Call(src, slot, PART, SLOT, clear);
        Ok(r.rc == 0, name + " runs", std::to_string(r.rc));
        Ok((r.hit != 0) == hit, name + (hit ? " hits" : " misses"));
        Ok(Get(n.local + INBOX + peer * SLOT + slot * 2 * SLOT, PART) ==
               Pattern(peer, me.rank, round), name + ": every byte");
        Meet(me);
    }
};

void TaskCache(const Rank &me)
{
    Node n;

    n.Open(Make(me, 0, Config("cache", 2)));
    {
        Cache c(n, me);

        c.Round(0, false, false);
        for (uint32_t i = 1; i < 6; i++) {
            c.Round(i, false, true);
        }
        /* Ranges of another size are refused, and nothing is sent. */
        CtrlCacheResult r = c.Call(c.source, 0, PART, SLOT / 2, false);
        Ok(r.hit == 1 && r.rc == HCCL_E_PARA, "cache, another size");
        Meet(me);
        c.Round(6, true, false);
        c.Round(7, false, true);
    }
    Meet(me);
    n.Close();
}

/* ---- everything else ---- */

void Teams(HcclComm comm)
{
    uint32_t ids[2] = { 0, 1 };
    uint64_t handle[4] = { 0 };
    HcommTeamHandle team = handle;
    HcommWindowHandle window = handle;
    HcclTeamCreateChannelsDesc channels;
    HcclTeamCreateDesc d;
    CommMem mem;

    memset(&mem, 0, sizeof(mem));
    YES(HcclTeamCreateDescInit(&d));
    YES(HcclTeamCreateChannelsDescInit(&channels));
    d.rankIds = ids;
    d.rankNum = 1;
    d.requirement.barrierCount = 1;
    Gives(HcclWorldTeamCreate(comm, &d, &team), HCCL_E_PARA, "a team of one",
          "rankNum");
    d.rankNum = 2;
    d.selfRankId = 7;
    Gives(HcclWorldTeamCreate(comm, &d, &team), HCCL_E_NOT_FOUND,
          "a team without its maker", "selfRankId");
    d.selfRankId = 0;
    d.netLayer = 3;
    Gives(HcclWorldTeamCreate(comm, &d, &team), HCCL_E_PARA, "team, layer 3",
          "netLayer");
    d.netLayer = 0;
    d.requirement.signalCount = 1;
    Gives(HcclWorldTeamCreate(comm, &d, &team), HCCL_E_PARA, "team, signals",
          "signalCount");
    d.requirement.signalCount = 0;
    NOT(HcclWorldTeamCreate(comm, &d, &team), "AIV");
    NOT(HcclSubTeamCreate(team, &d, &team), "AIV");
    NOT(HcclTeamChannelsCreate(comm, team, &channels), "AIV");
    Gives(HcclTeamWindowRegister(comm, team, &mem, &window, 1), HCCL_E_PARA,
          "team window, flag", "flag");
    NOT(HcclTeamWindowRegister(comm, team, &mem, &window, 0), "AIV");
    NOT(HcclTeamWindowDeregister(team, window), "AIV");
    NOT(HcclTeamDestroy(team), "AIV");
    Gives(HcclTeamDestroy(nullptr), HCCL_E_PTR, "no team", "team");
}

void Nic(const Node &n, ChannelHandle c)
{
    uint8_t a[8], b[8];
    uint32_t id = 0;

    NOT(HcommWriteNbi(c, a, b, 8), "network interface");
    NOT(HcommReadNbi(c, a, b, 8), "network interface");
    NOT(HcommWriteNbiOnThread(0, c, a, b, 8), "network interface");
    NOT(HcommReadNbiOnThread(0, c, a, b, 8), "network interface");
    NOT(HcommWriteWithNotifyNbi(c, a, b, 8, 0), "network interface");
    NOT(HcommWriteWithNotifyNbiOnThread(0, c, a, b, 8, 0),
        "network interface");
    NOT(HcommChannelNotifyRecord(c, 0), "network interface");
    NOT(HcommChannelNotifyWait(c, 0, 1), "network interface");
    NOT(HcommChannelNotifyWaitWithDefaultTimeout(c, 0), "");
    YES(HcommThreadSynchronize(n.host));
    NOT(HcommSendRequest(0, "tag", a, 8, &id), "");
    NOT(HcommWaitResponse(0, a, 8, &id), "");
    NOT(HcommFlush(), "");
}

int32_t NoTask(uint64_t, int32_t)
{
    return 0;
}

void Unsupported(HcclComm comm)
{
    HcclConfigValue value = { 1 };
    uint64_t size = 0;
    bool backup = false;
    uint32_t rank = 0;
    void *p = nullptr;

    NOT(HcclSetConfig(HCCL_DETERMINISTIC, value), "deterministic");
    NOT(HcclGetConfig(HCCL_DETERMINISTIC, &value), "");
    NOT(HcclCommSuspend(comm), "");
    NOT(HcclCommResume(comm), "destroy it");
    Gives(HcclCommResume(nullptr), HCCL_E_PTR, "resume nothing");
    NOT(HcclCommSetMemoryRange(comm, &p, 4096, 4096, 0), "");
    NOT(HcclCommUnsetMemoryRange(comm, &p), "");
    NOT(HcclCommActivateCommMemory(comm, &p, 1, 0, nullptr, 0), "");
    NOT(HcclCommDeactivateCommMemory(comm, &p), "");
    NOT(HcclCommWorkingDevNicSet(comm, &rank, &backup, 1), "");
    NOT(HcclGetRemoteIpcHcclBuf(comm, 1, &p, &size),
        "HcclChannelGetHcclBuffer");
    NOT(HcclTaskRegister(comm, "tag", NoTask), "");
    NOT(HcclTaskUnRegister(comm, "tag"), "");
    NOT(HcommMemAlloc(&p, 4096), "aclrtMalloc");
    NOT(HcommMemFree(&p), "aclrtFree");
}

void Diagnosis(HcclComm comm, char *name)
{
    uint8_t op[512] = { 0 };
    uint64_t t = HcommGetProfilingSysCycleTime();

    usleep(2000);
    Ok(HcommGetProfilingSysCycleTime() > t, "the profiling clock runs");
    YES(HcclDfxRegOpInfoByCommId(name, op));
    YES(HcclProfilingReportOp(comm, t));
    YES(HcclReportAicpuKernel(comm, t, name));
    YES(HcclReportAivKernel(comm, t));
    YES(HcommRegOpInfo(name, op, sizeof(op)));
    YES(HcommRegOpTaskException(name, nullptr));
    YES(HcommProfilingReportDeviceOp(name));
    YES(HcommProfilingReportKernelStartTask(1, name));
    YES(HcommProfilingReportKernelEndTask(1, name));
}

void Channels(const Node &n, const Rank &me)
{
    HcclChannelDesc d = sample::ChannelTo(n.comm, me.rank, 1 - me.rank, 4);
    HcommChannelConfig low = nullptr;
    HcclChannelConfig cfg = nullptr;
    ChannelHandle same = 0;
    uint32_t num = 0;

    YES(HcclChannelGetNotifyNum(n.comm, n.channel[1 - me.rank], &num));
    Ok(num == 4, "its notifies");
    YES(HcclChannelConfigCreate(&cfg));
    YES(HcclChannelConfigSetInt(cfg, HCCL_CHANNEL_CONFIG_TYPE_IS_SHARED_QUEUE,
                                0));
    Gives(HcclChannelConfigSetInt(cfg, HCCL_CHANNEL_CONFIG_TYPE_INVALID, 0),
          HCCL_E_PARA, "channel configuration of no type", "type");
    YES(HcclChannelAcquireWithConfig(n.comm, COMM_ENGINE_AICPU_TS, &d, 1, cfg,
                                     &same));
    Ok(same == n.channel[1 - me.rank], "the same channel");
    YES(HcclChannelConfigSetInt(cfg, HCCL_CHANNEL_CONFIG_TYPE_IS_SHARED_QUEUE,
                                1));
    NOT(HcclChannelAcquireWithConfig(n.comm, COMM_ENGINE_AICPU_TS, &d, 1, cfg,
                                     &same), "AIV");
    YES(HcclChannelConfigDestroy(cfg));
    YES(HcclChannelConfigDestroy(nullptr));
    YES(HcommChannelConfigCreate(&low));
    YES(HcommChannelConfigSetInt(low,
                                 HCOMM_CHANNEL_CONFIG_TYPE_IS_SHARED_QUEUE,
                                 1));
    Gives(HcommChannelConfigSetInt(low, HCOMM_CHANNEL_CONFIG_TYPE_INVALID, 0),
          HCCL_E_PARA, "low-level configuration of no type", "type");
    HcommChannelDesc desc;
    memset(&desc, 0, sizeof(desc));
    NOT(HcommChannelCreateWithConfig(nullptr, COMM_ENGINE_AICPU_TS, &desc, 1,
                                     low, &same), "AIV");
    YES(HcommChannelConfigDestroy(low));
}

void Questions(const Node &n, const Rank &me)
{
    char name[COMM_NAME_MAX_LENGTH] = "", algo[1600];
    HcclConfigTypeOpExpansionMode mode = HCCL_OP_EXPANSION_MODE_INVALID;
    HcclResult async = HCCL_E_RESERVED;
    HcclComm found = nullptr;
    bool made = false;
    uint64_t size = 4096, again = 0;
    void *p = nullptr, *q = nullptr;
    ThreadConfig config;
    ThreadHandle t = 0;

    Ok(HcclGetCommConfigCapability() == 12, "all configuration fields");
    Ok(*HcclGetErrorString(HCCL_E_PTR) != 0 &&
           std::string(HcclGetErrorString(HCCL_E_PTR)) !=
               HcclGetErrorString(HCCL_E_PARA), "phrases of codes");
    Ok(*HcclGetErrorString(static_cast<HcclResult>(5000)) != 0,
       "a phrase for an unknown code");
    YES(HcclGetCommAsyncError(n.comm, &async));
    Ok(async == HCCL_SUCCESS, "no error so far");
    SAMPLE_CHECK(HcclGetCommName(n.comm, name));
    YES(HcclCommGetHandleWithName(name, &found));
    Ok(found == n.comm, "found by its name");
    Gives(HcclCommGetHandleWithName("nobody", &found), HCCL_E_NOT_FOUND,
          "no such name", "nobody");
    YES(HcclConfigGetInfo(n.comm, HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, 4,
                          &mode));
    Ok(mode == HCCL_OP_EXPANSION_MODE_AI_CPU, "expansion mode",
       std::to_string(mode));
    Gives(HcclConfigGetInfo(n.comm, HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, 8,
                            &mode), HCCL_E_PARA, "another size", "infoLen");
    YES(HcclConfigGetInfo(n.comm, HCCL_CONFIG_TYPE_HCCL_ALGO, 1600, algo));
    /* The buffer, cleared. */
    Put(n.local, Pattern(1, 2, 3));
    YES(HcclGetHcclBufferCleared(n.comm, &p, &size));
    Ok(reinterpret_cast<uint64_t>(p) == n.local && size == 2u << 20 &&
           Get(n.local, PART) == std::vector<uint8_t>(PART), "cleared");
    size = 4096;
    YES(HcclDevMemAcquire(n.comm, "mine", &size, &p, &made));
    Ok(made && size == 4096, "memory under a name");
    YES(HcclDevMemAcquire(n.comm, "mine", &again, &q, &made));
    Ok(!made && q == p && again == 4096, "and again");
    memset(&config, 0, sizeof(config));
    config.header.version = HCOMM_THREAD_CONFIG_VERSION;
    config.header.magicWord = HCOMM_THREAD_CONFIG_MAGIC_WORD;
    config.header.size = sizeof(config);
    config.notifyNumPerThread = 1;
    YES(HcclThreadAcquireWithConfig(n.comm, COMM_ENGINE_AICPU, 1,
                                    THREAD_TYPE_TS, &config, &t));
    Ok(t == n.thread, "AICPU with TS is AICPU_TS");
    Gives(HcclThreadAcquireWithConfig(n.comm, COMM_ENGINE_AICPU_TS, 1,
                                      THREAD_TYPE_TS, &config, &t),
          HCCL_E_PARA, "AICPU_TS with a configuration", "engine");
    Diagnosis(n.comm, name);
    (void)me;
}

void Fused(HcclComm comm)
{
    void *args = nullptr, *ctx = nullptr;
    char algo[] = "AllGather=level0:fullmesh";

    YES(HcclKfcAllocOpArgs(&args));
    YES(HcclKfcOpArgsSetSrcDataType(args, HCCL_DATA_TYPE_FP16));
    YES(HcclKfcOpArgsSetDstDataType(args, HCCL_DATA_TYPE_FP16));
    YES(HcclKfcOpArgsSetReduceType(args, HCCL_REDUCE_SUM));
    YES(HcclKfcOpArgsSetCount(args, 1024));
    YES(HcclKfcOpArgsSetAlgConfig(args, algo));
    YES(HcclKfcOpArgsSetCommEngine(args, COMM_ENGINE_AICPU_TS));
    NOT(HcclCreateOpResCtx(comm, HCCL_CMD_ALLGATHER, args, &ctx), "");
    YES(HcclKfcFreeOpArgs(args));
}

void Rest(const Rank &me)
{
    Node n;

    n.Open(Make(me, 0, Config("rest")));
    if (me.rank == 0) {
        Teams(n.comm);
        Nic(n, n.channel[1]);
        Unsupported(n.comm);
        Fused(n.comm);
    }
    Meet(me);
    Channels(n, me);
    Questions(n, me);
    Ok(n.Exchange(1), "it works as before");
    Meet(me);
    n.Close();
}

} // namespace

int main(int argc, char **argv)
{
    static void (*const tests[])(const Rank &) = {
        Published, TaskCache, Rest
    };
    int rc = 0;

    if (argc != 2) {
        fprintf(stderr, "usage: %s threads|processes\n", argv[0]);
        return 2;
    }
    setenv("ATLAS350_CONNECT_TIMEOUT", "60", 0);
    Share();
    for (auto test : tests) {
        int count = S()->count, failed = S()->failed, status = 1;

        memset(static_cast<void *>(S()), 0, sizeof(Shared));
        S()->count = count;
        S()->failed = failed;
        pid_t pid = fork();
        if (pid == 0) {
            exit(sample::Run(2, argv[1][0] == 'p', test) != 0);
        }
        waitpid(pid, &status, 0);
        rc |= status;
    }
    return Done(rc);
}
