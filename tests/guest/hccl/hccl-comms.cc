/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators made in every way, data moving on each:
 *
 *   hccl-comms threads|processes RANKS TEST...
 */
#include <fstream>
#include "ctrl.h"

using namespace ctrl;

namespace {

std::string Who(const Rank &me, const char *what)
{
    return "rank " + std::to_string(me.rank) + ": " + what;
}

/* ---- several communicators ---- */

void Many(const Rank &me)
{
    static const char *const name[3] = { "first", "second", "third" };
    Node n[3];
    HcclComm again;

    for (uint32_t i = 0; i < 3; i++) {
        n[i].Open(Make(me, i, Config(name[i])));
    }
    for (uint32_t i = 0; i < 6; i++) {
        Ok(n[i % 3].Exchange(i), Who(me, "three communicators, exchange"));
    }
    Ok(n[0].local != n[1].local && n[1].local != n[2].local,
       Who(me, "each has its own HCCL buffer"));
    HcclCommConfig cfg = Config("second");
    Ok(HcclCommInitRootInfoConfig(me.ranks, &S()->root[0], me.rank, &cfg,
                                  &again) == HCCL_E_PARA &&
           Says("EI0003", { "second" }), Who(me, "a name twice on a card"));
    ThreadHandle t[3];
    SAMPLE_CHECK(HcclThreadAcquire(n[0].comm, COMM_ENGINE_AICPU_TS, 3, 2, t));
    Ok(t[0] == n[0].thread && t[1] != t[0] && t[2] != t[1],
       Who(me, "threads are pooled: the first is the one there was"));
    ChannelHandle c;
    uint32_t peer = me.rank == 0 ? 1 : 0;
    HcclChannelDesc d = sample::ChannelTo(n[0].comm, me.rank, peer, 9);
    SAMPLE_CHECK(HcclChannelAcquire(n[0].comm, COMM_ENGINE_AICPU_TS, &d, 1,
                                    &c));
    Ok(c == n[0].channel[peer], Who(me, "channels are used again"));
    Meet(me);
    Ok(n[1].Close() == HCCL_SUCCESS, Who(me, "the second is destroyed"));
    Ok(n[0].Exchange(7) && n[2].Exchange(8), Who(me, "the others work on"));
    Meet(me);
    /* Each rank in an order of its own. */
    Ok(n[me.rank % 2 ? 0 : 2].Close() == HCCL_SUCCESS &&
           n[me.rank % 2 ? 2 : 0].Close() == HCCL_SUCCESS,
       Who(me, "destroyed in any order"));
    n[1].Open(Make(me, 3, Config("second")));
    Ok(n[1].Exchange(9), Who(me, "the name is free again"));
    Meet(me);
    n[1].Close();
}

/* ---- rank table ---- */

std::string Table(uint32_t ranks)
{
    std::string s = "{\"status\":\"completed\",\"version\":\"2.0\","
                    "\"rank_count\":" + std::to_string(ranks) +
                    ",\"rank_list\":[";

    for (uint32_t i = 0; i < ranks; i++) {
        std::string n = std::to_string(i);
        s += (i ? "," : "") + std::string("{\"rank_id\":") + n +
             ",\"local_id\":" + n + ",\"device_id\":" + n +
             ",\"level_list\":[{\"net_layer\":0,\"net_instance_id\":"
             "\"az0-rack0\",\"net_type\":\"TOPO_FILE_DESC\",\"net_attr\":\"\","
             "\"rank_addr_list\":[{\"addr_type\":\"IPV4\",\"addr\":"
             "\"223.0.0." + std::to_string(10 + i) +
             "\",\"ports\":[\"0/" + n + "\"]}]}]}";
    }
    return s + "]}";
}

void RankTable(const Rank &me)
{
    const char *path = "/tmp/ctrl-rank-table.json";
    char name[COMM_NAME_MAX_LENGTH] = "";
    HcclCommConfig cfg = Config("");
    HcclComm comm = nullptr, again;
    Node n;

    if (me.rank == 0) {
        std::ofstream(path) << Table(me.ranks);
    }
    Meet(me);
    SAMPLE_CHECK(HcclCommInitClusterInfoConfig(path, me.rank, &cfg, &comm));
    SAMPLE_CHECK(HcclGetCommName(comm, name));
    Ok(strcmp(name, "hccl_world_group") == 0, Who(me, "the fixed name"), name);
    n.Open(comm);
    Ok(n.Exchange(1), Who(me, "by rank table, exchange"));
    Ok(HcclCommInitClusterInfo(path, me.rank, &again) == HCCL_E_PARA,
       Who(me, "twice on a device"));
    Meet(me);
    Ok(n.Close() == HCCL_SUCCESS, Who(me, "destroyed"));
    Meet(me);
    SAMPLE_CHECK(HcclCommInitClusterInfoConfig(path, me.rank, &cfg, &comm));
    n.Open(comm);
    Ok(n.Exchange(2), Who(me, "and made again"));
    Meet(me);
    n.Close();
}

/* ---- sub-communicators ---- */

void Sub(const Rank &me)
{
    HcclComm world = Make(me, 0, Config("world")), sub = nullptr, none, dup;
    HcclCommConfig cfg = Config("");
    char name[COMM_NAME_MAX_LENGTH] = "";
    std::vector<uint32_t> ids;
    uint32_t place = 0, size = 0, id = 99;
    Node w, s;

    /* Every second rank; with two ranks: both. */
    for (uint32_t i = me.ranks > 2 ? me.rank % 2 : 0; i < me.ranks;
         i += me.ranks > 2 ? 2 : 1) {
        place = i == me.rank ? ids.size() : place;
        ids.push_back(i);
    }
    w.Open(world);
    SAMPLE_CHECK(HcclCreateSubCommConfig(&world, ids.size(), ids.data(),
                                         10 + me.rank % (me.ranks > 2 ? 2 : 1),
                                         place, &cfg, &sub));
    SAMPLE_CHECK(HcclGetCommName(sub, name));
    SAMPLE_CHECK(HcclGetRankSize(sub, &size));
    SAMPLE_CHECK(HcclGetRankId(sub, &id));
    Ok(std::string(name).find("world_sub_1") == 0 && size == ids.size() &&
           id == place, Who(me, "a part of the world"), name);
    s.Open(sub);
    Ok(s.Exchange(1) && w.Exchange(2) && s.Exchange(3),
       Who(me, "exchange in the part and in the whole"));
    Ok(HcclCreateSubCommConfig(&world, 0, nullptr, 0xffffffffu, 0, &cfg,
                               &none) == HCCL_SUCCESS,
       Who(me, "not a member: nothing"));
    std::vector<uint32_t> twice = { me.rank, me.rank };
    Ok(HcclCreateSubCommConfig(&world, 2, twice.data(), 5, 0, &cfg, &dup) ==
           HCCL_E_PARA && Says("EI0003", { "rankIds" }),
       Who(me, "a rank twice"));
    uint32_t other = (me.rank + 1) % me.ranks;
    Ok(HcclCreateSubCommConfig(&world, 1, &other, 5, 0, &cfg, &dup) ==
           HCCL_E_NOT_FOUND, Who(me, "without the calling rank"));
    Ok(HcclCreateSubCommConfig(&sub, ids.size(), ids.data(), 6, place, &cfg,
                               &dup) == HCCL_E_INTERNAL,
       Who(me, "a part of a part"));
    Ok(HcclCreateSubCommConfig(&world, ids.size(), ids.data(),
                               10 + me.rank % (me.ranks > 2 ? 2 : 1), place,
                               &cfg, &dup) == HCCL_E_PARA,
       Who(me, "the same part again: its name is taken"));
    cfg.hcclBufferSize = 0;
    Ok(HcclCreateSubCommConfig(&world, ids.size(), ids.data(), 7, place, &cfg,
                               &dup) == HCCL_E_PARA &&
           Says("EI0003", { "hcclBufferSize" }), Who(me, "no buffer"));
    Meet(me);
    Ok(w.Close() == HCCL_SUCCESS, Who(me, "the world goes first"));
    Ok(s.Exchange(4), Who(me, "the part works on"));
    Meet(me);
    Ok(s.Close() == HCCL_SUCCESS, Who(me, "then the part"));
}

/* ---- memory ---- */

void SymWin(const Rank &me)
{
    HcclComm comm = Make(me, 0, Config("win"));
    HcclCommSymWindow win = nullptr, found = nullptr, second = nullptr;
    uint64_t size = 1u << 20;
    void *mem = nullptr, *more = nullptr;
    size_t offset = 0;
    Node n;

    SAMPLE_CHECK(aclrtMalloc(&mem, size, ACL_MEM_MALLOC_HUGE_FIRST));
    SAMPLE_CHECK(aclrtMalloc(&more, size, ACL_MEM_MALLOC_HUGE_FIRST));
    SAMPLE_CHECK(HcclCommSymWinRegister(comm, mem, size, &win, 1));
    SAMPLE_CHECK(HcclCommSymWinRegister(comm, more, size, &second, 1));
    Ok(HcclCommSymWinGet(comm, static_cast<char *>(mem) + 4096, 100, &found,
                         &offset) == HCCL_SUCCESS && found == win &&
           offset == 4096, Who(me, "an address in a window"));
    Ok(HcclCommSymWinGet(comm, reinterpret_cast<void *>(n.local + 8), 100,
                         &found, &offset) == HCCL_SUCCESS && found == nullptr,
       Who(me, "an address in none"));
    Ok(HcclCommSymWinGet(comm, static_cast<char *>(mem) + size - 10, 100,
                         &found, &offset) == HCCL_SUCCESS && found == nullptr,
       Who(me, "a range that leaves the window"));
    Ok(HcclCommSymWinRegister(comm, mem, size, &found, 0) == HCCL_E_PARA,
       Who(me, "flag 0"));
    n.Open(comm);
    uint64_t base = reinterpret_cast<uint64_t>(second);
    for (uint32_t round = 0; round < 2; round++) {
        uint64_t to = reinterpret_cast<uint64_t>(round ? more : mem);
        CtrlParam p = n.Param();
        bool good = true;
        for (uint32_t i = 0; i < me.ranks; i++) {
            if (i != me.rank) {
                Put(n.local + i * SLOT, Pattern(me.rank, i, round));
                CtrlStep &s = p.step[p.num++];
                s.op = CTRL_SYM_SEND;
                s.channel = n.channel[i];
                s.win = round ? base : reinterpret_cast<uint64_t>(win);
                s.dst = me.rank * SLOT + 8;
                s.src = n.local + i * SLOT;
                s.size = PART;
                s.peer = i;
            }
        }
        for (uint32_t i = 0; i < me.ranks; i++) {
            if (i != me.rank) {
                CtrlStep &s = p.step[p.num++];
                s.op = CTRL_RECV;
                s.channel = n.channel[i];
            }
        }
        aclError rc = n.Go(p);
        for (uint32_t i = 0; i < me.ranks && rc == 0; i++) {
            good = good && (i == me.rank || Get(to + i * SLOT + 8, PART) ==
                            Pattern(i, me.rank, round));
        }
        Ok(rc == 0 && good, Who(me, "kernels write by the peer's pointer"),
           std::to_string(rc));
        Meet(me);
    }
    /* An offset outside the window: the kernel gets no pointer. */
    CtrlParam p = n.Param();
    p.num = 1;
    p.step[0].op = CTRL_SYM_SEND;
    p.step[0].channel = n.channel[me.rank ? 0 : 1];
    p.step[0].win = base;
    p.step[0].dst = size;
    p.step[0].src = n.local;
    p.step[0].size = 8;
    p.step[0].peer = me.rank ? 0 : 1;
    TheKernel().Launch(n.stream, &p, sizeof(p), 60);
    Ok(aclrtSynchronizeStream(n.stream) != ACL_SUCCESS,
       Who(me, "an offset outside the window is refused"));
    Meet(me);
    Ok(HcclCommSymWinDeregister(win) == HCCL_SUCCESS &&
           HcclCommSymWinDeregister(win) == HCCL_E_PARA,
       Who(me, "deregistered, once"));
    Meet(me);
    Ok(n.Close() == HCCL_SUCCESS, Who(me, "destroyed with a window"));
    aclrtFree(mem);
    aclrtFree(more);
    /* Sizes that differ. */
    HcclComm other = Make(me, 1, Config("win2"));
    SAMPLE_CHECK(aclrtMalloc(&mem, size, ACL_MEM_MALLOC_HUGE_FIRST));
    Ok(HcclCommSymWinRegister(other, mem, size - 4096 * me.rank, &win, 1) ==
           HCCL_E_PARA && Says("EI0005", { "size", "1048576", "rank" }),
       Who(me, "sizes that differ are named"));
    Meet(me);
    HcclCommDestroy(other);
    aclrtFree(mem);
}

void MemReg(const Rank &me)
{
    HcclComm comm = Make(me, 0, Config("mem"));
    uint64_t size = SLOT * me.ranks;
    HcclMemHandle handle, second;
    void *dev = nullptr, *small = nullptr;
    Node n;

    SAMPLE_CHECK(aclrtMalloc(&dev, size, ACL_MEM_MALLOC_HUGE_FIRST));
    SAMPLE_CHECK(aclrtMalloc(&small, 8192, ACL_MEM_MALLOC_HUGE_FIRST));
    CommMem m = { COMM_MEM_TYPE_DEVICE, dev, size };
    CommMem m2 = { COMM_MEM_TYPE_DEVICE, small, 4096 };
    SAMPLE_CHECK(HcclCommMemReg(comm, "inbox", &m, &handle));
    SAMPLE_CHECK(HcclCommMemReg(comm, "small", &m2, &second));
    Ok(HcclCommMemReg(comm, "inbox", &m2, &second) == HCCL_E_PARA &&
           Says("EI0003", { "inbox" }), Who(me, "a tag twice"));
    /* Two buffers of the host in one page, and the first once more. */
    std::vector<uint8_t> block(4096);
    CommMem h[3] = { { COMM_MEM_TYPE_HOST, block.data(), 100 },
                     { COMM_MEM_TYPE_HOST, block.data() + 200, 100 },
                     { COMM_MEM_TYPE_HOST, block.data(), 100 } };
    Ok(HcclCommMemReg(comm, "host1", &h[0], &second) == 0 &&
           HcclCommMemReg(comm, "host2", &h[1], &second) == 0 &&
           HcclCommMemReg(comm, "host3", &h[2], &second) == 0,
       Who(me, "buffers in one page"));
    n.Open(comm);
    CtrlParam p = n.Param();
    std::vector<uint64_t> at(me.ranks);
    for (uint32_t i = 0; i < me.ranks; i++) {
        if (i == me.rank) {
            continue;
        }
        CommMem *mems = nullptr;
        char **tags = nullptr;
        uint32_t num = 0;
        bool buffer = false, few = false;
        SAMPLE_CHECK(HcclChannelGetRemoteMems(comm, n.channel[i], &num, &mems,
                                              &tags));
        for (uint32_t k = 0; k < num; k++) {
            std::string tag = tags[k];
            buffer = buffer || (tag == "HcclBuffer" &&
                                mems[k].size == 2u << 20);
            few = few || (tag == "small" && mems[k].size == 4096);
            if (tag == "inbox" && mems[k].size == size) {
                at[i] = reinterpret_cast<uint64_t>(mems[k].addr);
            }
        }
        Ok(num == 6 && buffer && few && at[i] != 0,
           Who(me, "the peer's memories by their tags"));
        Put(n.local + i * SLOT, Pattern(me.rank, i, 5));
        CtrlStep &s = p.step[p.num++];
        s.op = CTRL_SEND;
        s.channel = n.channel[i];
        s.dst = at[i] + me.rank * SLOT;
        s.src = n.local + i * SLOT;
        s.size = PART;
    }
    for (uint32_t i = 0; i < me.ranks; i++) {
        if (i != me.rank) {
            CtrlStep &s = p.step[p.num++];
            s.op = CTRL_RECV;
            s.channel = n.channel[i];
        }
    }
    bool good = n.Go(p) == ACL_SUCCESS;
    for (uint32_t i = 0; i < me.ranks && good; i++) {
        good = i == me.rank ||
               Get(reinterpret_cast<uint64_t>(dev) + i * SLOT, PART) ==
               Pattern(i, me.rank, 5);
    }
    Ok(good, Who(me, "written into registered memory"));
    Meet(me);
    /* And read from there. */
    uint32_t peer = (me.rank + 1) % me.ranks;
    p = n.Param();
    p.num = 1;
    p.step[0].op = CTRL_READ;
    p.step[0].channel = n.channel[peer];
    p.step[0].dst = n.local;
    p.step[0].src = at[peer] + me.rank * SLOT;
    p.step[0].size = PART;
    Ok(n.Go(p) == ACL_SUCCESS && Get(n.local, PART) ==
           Pattern(me.rank, peer, 5), Who(me, "and read from it"));
    Meet(me);
    n.Close();
    aclrtFree(dev);
    aclrtFree(small);
}

/* ---- operators by HcclAicpuKernelLaunch ---- */

HcclResult LaunchP2p(const Node &n, const CtrlParam &p, aclrtStream unfold,
                     const char *so, const char *function)
{
    HcclKernelLaunchCfg cfg;
    HcclKernelFuncInfo info;
    HcclOpDesc op;

    memset(&info, 0, sizeof(info));
    HcclOpDescInit(&op);
    HcclKernelLaunchCfgInit(&cfg);
    op.opDescType = 1;
    snprintf(op.opName, sizeof(op.opName), "test");
    op.p2p.cmdType = HcclCMDType::HCCL_CMD_SEND;
    op.p2p.dataType = HCCL_DATA_TYPE_INT8;
    op.p2p.count = PART;
    op.p2p.unfoldStream = unfold;
    snprintf(info.kernelSoName, sizeof(info.kernelSoName), "%s", so);
    snprintf(info.kernelFuncName, sizeof(info.kernelFuncName), "%s", function);
    info.args = const_cast<CtrlParam *>(&p);
    info.argSize = sizeof(p);
    return HcclAicpuKernelLaunch(n.comm, &op, &info, n.thread, n.stream, &cfg);
}

void Slow(void *)
{
    usleep(300000);
}

void Launch(const Rank &me)
{
    static const char so[] = "libctrl_kernel.so";
    uint32_t to = (me.rank + 1) % me.ranks;
    uint32_t from = (me.rank + me.ranks - 1) % me.ranks;
    aclrtStream unfold;
    Node n;

    n.Open(Make(me, 0, Config("launch")));
    SAMPLE_CHECK(aclrtCreateStream(&unfold));
    for (uint32_t round = 0; round < 4; round++) {
        CtrlParam send = n.Param(), recv = n.Param();

        send.host = recv.host = 0;
        send.num = recv.num = 1;
        Put(n.local + to * SLOT, Pattern(me.rank, to, round));
        send.step[0].op = CTRL_SEND;
        send.step[0].channel = n.channel[to];
        send.step[0].dst = n.inbox[to];
        send.step[0].src = n.local + to * SLOT;
        send.step[0].size = PART;
        recv.step[0].op = CTRL_RECV;
        recv.step[0].channel = n.channel[from];
        if (round % 2) {
            SAMPLE_CHECK(HcclGroupStart());
        }
        SAMPLE_CHECK(LaunchP2p(n, send, unfold, so, "CtrlP2pKernel"));
        SAMPLE_CHECK(LaunchP2p(n, recv, round < 2 ? unfold : n.stream, so,
                               "CtrlP2pKernel"));
        if (round % 2) {
            HcclComm c;
            HcclCommConfig cfg = Config("mixed");
            Ok(HcclCommInitRootInfoConfig(me.ranks, &S()->root[0], me.rank,
                                          &cfg, &c) == HCCL_E_NOT_SUPPORT,
               Who(me, "a communicator in a group of operators"));
            SAMPLE_CHECK(HcclGroupEnd());
        }
        aclError rc = aclrtSynchronizeStream(n.stream);
        /* The user's stream is behind the transfer without the other. */
        Ok(rc == 0 && Get(n.local + INBOX + from * SLOT, PART) ==
               Pattern(from, me.rank, round),
           Who(me, round % 2 ? "send and receive in a group"
                             : "send and receive"), std::to_string(rc));
        SAMPLE_CHECK(aclrtSynchronizeStream(unfold));
        Meet(me);
    }
    CtrlParam p = n.Param();
    Ok(LaunchP2p(n, p, unfold, "libno_such.so", "F") != HCCL_SUCCESS &&
           Says("E", { "libno_such.so", "opp/vendors" }),
       Who(me, "a library that is nowhere"));
    Ok(LaunchP2p(n, p, unfold, so, "NoSuchFunction") != HCCL_SUCCESS &&
           Says("E", { "NoSuchFunction" }),
       Who(me, "a function that is not there"));
    Ok(LaunchP2p(n, p, nullptr, so, "CtrlP2pKernel") == HCCL_E_PTR,
       Who(me, "no unfold stream"));
    Ok(aclrtSynchronizeStream(n.stream) == ACL_SUCCESS,
       Who(me, "a refused launch leaves nothing behind"));
    /* A kernel that returns an error: the user's stream must not wait on. */
    uint64_t stop = 1;
    aclrtStream strict;
    SAMPLE_CHECK(aclrtCreateStream(&strict));
    SAMPLE_CHECK(aclrtSetStreamFailureMode(strict, stop));
    p.host = 0;
    p.num = 1;
    p.step[0].op = 99;
    /* It may have failed before the call's last step. */
    HcclResult launched = LaunchP2p(n, p, strict, so, "CtrlP2pKernel");
    Ok(launched == HCCL_SUCCESS || (launched == HCCL_E_RUNTIME &&
                                    Says("EI0012", { "operator" })),
       Who(me, "a kernel that fails is launched"), std::to_string(launched));
    double start = sample::Now();
    aclError failed = aclrtSynchronizeStream(n.stream);
    Ok(failed == 507018 && Says("EI0012", { "operator" }) &&
           sample::Now() - start < 20, Who(me, "a kernel that fails"),
       std::to_string(failed));
    Ok(aclrtSynchronizeStream(strict) == 507018,
       Who(me, "and the unfold stream says why"));
    launched = LaunchP2p(n, p, strict, so, "CtrlP2pKernel");
    Ok(launched == HCCL_E_RUNTIME &&
           Says("EI0012", { "operator", "unfold stream", "returned" }),
       Who(me, "and takes no other operator"), std::to_string(launched));
    aclrtDestroyStream(strict);
    Meet(me);
    /* What is queued when the communicator ends does not run afterwards. */
    p.num = 0;
    SAMPLE_CHECK(aclrtLaunchHostFunc(unfold, Slow, nullptr));
    SAMPLE_CHECK(LaunchP2p(n, p, unfold, so, "CtrlP2pKernel"));
    n.Close();
    failed = aclrtSynchronizeStream(unfold);
    Ok(failed == 507001 && Says("", { "destroyed", "queued" }),
       Who(me, "the unfold stream says that its operator was not done"),
       std::to_string(failed));
    aclrtDestroyStream(unfold);
}

/* ---- one thread for all devices ---- */

void WorkAll(const std::vector<HcclComm> &comms, const char *what)
{
    std::vector<std::thread> threads;

    for (uint32_t i = 0; i < comms.size(); i++) {
        threads.emplace_back([&, i] {
            Rank me = { i, static_cast<uint32_t>(comms.size()), nullptr };
            Node n;

            try {
                SAMPLE_CHECK(aclrtSetDevice(i));
                n.Open(comms[i]);
                Ok(n.Exchange(1) && n.Exchange(2), Who(me, what));
                aclrtDestroyStream(n.stream);
                SAMPLE_CHECK(aclrtResetDevice(i));
            } catch (const std::exception &e) {
                Ok(false, Who(me, e.what()));
            }
        });
    }
    for (auto &t : threads) {
        t.join();
    }
}

int InitAll(uint32_t n)
{
    std::vector<int32_t> devices(n);
    std::vector<HcclComm> comms(n);
    int32_t now = -1;

    SAMPLE_CHECK(aclInit(nullptr));
    for (uint32_t i = 0; i < n; i++) {
        devices[i] = i;
        SAMPLE_CHECK(aclrtSetDevice(i));
    }
    setenv("HCCL_BUFFSIZE", "1", 1);
    Ok(HcclCommInitAll(0, devices.data(), comms.data()) == HCCL_E_PARA,
       "no devices");
    std::vector<int32_t> twice = { 0, 0 };
    Ok(HcclCommInitAll(2, twice.data(), comms.data()) == HCCL_E_PARA &&
           Says("EI0003", { "device 0 twice" }), "a device twice");
    std::vector<int32_t> wrong = { 0, 77 };
    Ok(HcclCommInitAll(2, wrong.data(), comms.data()) == HCCL_E_INTERNAL &&
           Says("E", { "device 77" }), "a device that is not there");
    SAMPLE_CHECK(HcclCommInitAll(n, devices.data(), comms.data()));
    SAMPLE_CHECK(aclrtGetDevice(&now));
    Ok(now == static_cast<int32_t>(n) - 1, "the current device is as it was");
    WorkAll(comms, "HcclCommInitAll, exchange");
    for (HcclComm c : comms) {
        Ok(HcclCommDestroy(c) == HCCL_SUCCESS, "destroyed by one thread");
    }
    for (uint32_t i = 0; i < n; i++) {
        SAMPLE_CHECK(aclrtResetDevice(i));
    }
    return aclFinalize();
}

int Group(uint32_t n)
{
    std::vector<HcclComm> comms(n);
    HcclCommConfig cfg = Config("grouped");
    HcclRootInfo root;

    SAMPLE_CHECK(aclInit(nullptr));
    Ok(HcclGroupEnd() == HCCL_E_NOT_SUPPORT, "an end without a start");
    SAMPLE_CHECK(aclrtSetDevice(0));
    SAMPLE_CHECK(HcclGetRootInfo(&root));
    SAMPLE_CHECK(HcclGroupStart());
    for (uint32_t i = 0; i < n; i++) {
        SAMPLE_CHECK(aclrtSetDevice(i));
        SAMPLE_CHECK(HcclCommInitRootInfoConfig(n, &root, i, &cfg,
                                                &comms[i]));
    }
    SAMPLE_CHECK(HcclGroupEnd());
    WorkAll(comms, "made in a group, exchange");
    SAMPLE_CHECK(HcclGroupStart());
    for (uint32_t i = 0; i < n; i++) {
        SAMPLE_CHECK(aclrtSetDevice(i));
        SAMPLE_CHECK(HcclCommDestroy(comms[i]));
    }
    Ok(HcclGroupEnd() == HCCL_SUCCESS, "destroyed in a group");
    uint32_t size;
    Ok(HcclGetRankSize(comms[0], &size) == HCCL_E_PARA, "and gone");
    return aclFinalize();
}

} // namespace

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*fn)(const Rank &);
    } tests[] = {
        { "many", Many }, { "table", RankTable }, { "sub", Sub },
        { "symwin", SymWin }, { "memreg", MemReg }, { "launch", Launch },
    };
    int rc = 0;

    if (argc < 4) {
        fprintf(stderr, "usage: %s threads|processes RANKS TEST...\n",
                argv[0]);
        return 2;
    }
    setenv("ATLAS350_CONNECT_TIMEOUT", "60", 0);
    uint32_t n = atoi(argv[2]);
    Share();
    for (int i = 3; i < argc; i++) {
        bool found = true;
        std::string name = argv[i];
        double start = sample::Now();

        /* A clean slate for each, for processes too. */
        int count = S()->count, failed = S()->failed;
        memset(static_cast<void *>(S()), 0, sizeof(Shared));
        S()->count = count;
        S()->failed = failed;
        /* In a child: whatever a test leaves must not meet the next one. */
        pid_t pid = fork();
        if (pid == 0) {
            try {
                if (name == "initall") {
                    rc = InitAll(n);
                } else if (name == "group") {
                    rc = Group(n);
                } else {
                    found = false;
                    for (auto &t : tests) {
                        if (name == t.name) {
                            found = true;
                            rc = sample::Run(n, argv[1][0] == 'p', t.fn);
                        }
                    }
                }
            } catch (const std::exception &e) {
                Ok(false, name + ": " + e.what());
                rc = 1;
            }
            exit(!found ? 3 : rc != 0);
        }
        int status = 1;
        waitpid(pid, &status, 0);
        Ok(status == 0, name + " with " + argv[2] + " ranks ends",
           std::to_string(status));
        sample::Line("# %s: %.1f s", name.c_str(), sample::Now() - start);
    }
    return Done(0);
}
