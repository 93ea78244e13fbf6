/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sample programs share: error checks, ranks as threads or as
 * processes, a communicator, and the launch of AICPU kernels.
 *
 * Ranks and cards are the same numbers: rank i works on device i.
 */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "hccl/hccl_comm.h"
#include "hccl/hccl_rank_graph.h"
#include "hccl/hccl_res.h"
#include "hccl/hcomm_primitives.h"
#include "hccl/hccl_res_expt.h"

namespace sample {

/* Throws with the call, its code and what the library says about it. */
inline void Fail(const char *call, int code)
{
    const char *text = aclGetRecentErrMsg();

    throw std::runtime_error(std::string(call) + " returned " +
                             std::to_string(code) + ": " +
                             (text ? text : "no text"));
}

#define SAMPLE_CHECK(call)                                  \
    do {                                                    \
        int rc_ = static_cast<int>(call);                   \
        if (rc_ != 0) {                                     \
            sample::Fail(#call, rc_);                       \
        }                                                   \
    } while (0)

inline double Now()
{
    return std::chrono::duration<double>(
        std::chrono::steady_clock::now().time_since_epoch()).count();
}

/* One line, written at once, so that ranks do not mix theirs. */
inline void Line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
inline void Line(const char *fmt, ...)
{
    char buf[1024];
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(buf, sizeof(buf) - 1, fmt, ap);
    va_end(ap);
    if (n < 0) {
        return;
    }
    if (n > static_cast<int>(sizeof(buf)) - 2) {
        n = sizeof(buf) - 2;
    }
    buf[n] = '\n';
    if (write(1, buf, n + 1) < 0) {
        abort();
    }
}

/* A file beside the running program. */
inline std::string Beside(const char *name)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (n < 0) {
        throw std::runtime_error("/proc/self/exe");
    }
    path[n] = '\0';
    *strrchr(path, '/') = '\0';
    return std::string(path) + "/" + name;
}

/* Shared by all ranks, threads or processes. */
struct Board {
    volatile int ready;          /* 1: root is valid, -1: the root failed */
    HcclRootInfo root;
};

struct Rank {
    uint32_t rank;
    uint32_t ranks;
    Board *board;
};

/* Root information from rank 0, then the communicator of all. */
inline HcclComm Connect(const Rank &me, const HcclCommConfig &config)
{
    HcclComm comm = nullptr;

    if (me.rank == 0) {
        HcclResult rc = HcclGetRootInfo(&me.board->root);

        __sync_synchronize();
        me.board->ready = rc == HCCL_SUCCESS ? 1 : -1;
        SAMPLE_CHECK(rc);
    }
    while (me.board->ready == 0) {
        usleep(1000);
    }
    __sync_synchronize();
    if (me.board->ready < 0) {
        throw std::runtime_error("the root gave no root information");
    }
    SAMPLE_CHECK(HcclCommInitRootInfoConfig(me.ranks, &me.board->root, me.rank,
                                            &config, &comm));
    return comm;
}

inline int RunRank(const Rank &me, const std::function<void(const Rank &)> &f)
{
    try {
        SAMPLE_CHECK(aclrtSetDevice(static_cast<int32_t>(me.rank)));
        f(me);
        SAMPLE_CHECK(aclrtResetDevice(static_cast<int32_t>(me.rank)));
        return 0;
    } catch (const std::exception &e) {
        if (me.board->ready == 0) {
            me.board->ready = -1;
        }
        Line("rank %u: %s", me.rank, e.what());
        return 1;
    }
}

inline int RunThreads(uint32_t n, Board *board,
                      const std::function<void(const Rank &)> &f)
{
    std::vector<std::thread> threads;
    std::vector<int> rc(n);
    int bad = 0;

    if (aclInit(nullptr) != ACL_SUCCESS) {
        Line("aclInit: %s", aclGetRecentErrMsg());
        return 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        threads.emplace_back([&, i] { rc[i] = RunRank({ i, n, board }, f); });
    }
    for (uint32_t i = 0; i < n; i++) {
        threads[i].join();
        bad |= rc[i];
    }
    aclFinalize();
    return bad;
}

inline int RunProcesses(uint32_t n, Board *board,
                        const std::function<void(const Rank &)> &f)
{
    std::vector<pid_t> pids;
    int bad = 0;

    for (uint32_t i = 0; i < n; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            if (aclInit(nullptr) != ACL_SUCCESS) {
                Line("aclInit: %s", aclGetRecentErrMsg());
                _exit(1);
            }
            int rc = RunRank({ i, n, board }, f);
            aclFinalize();
            exit(rc);
        }
        pids.push_back(pid);
    }
    for (pid_t pid : pids) {
        int status = 1;

        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
            bad = 1;
        }
    }
    return bad;
}

/* Runs @f once for each rank. @processes: each in a process of its own. */
inline int Run(uint32_t n, bool processes,
               const std::function<void(const Rank &)> &f)
{
    void *p = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    Board *board = static_cast<Board *>(p);
    int rc = processes ? RunProcesses(n, board, f) : RunThreads(n, board, f);
    munmap(p, sizeof(Board));
    return rc;
}

/* A kernel library described by @json beside the program. */
class Kernel {
public:
    Kernel(const char *json, const char *function)
    {
        aclrtBinaryLoadOption option;
        aclrtBinaryLoadOptions options = { &option, 1 };

        option.type = ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE;
        option.value.cpuKernelMode = 1;      /* the library is beside it */
        SAMPLE_CHECK(aclrtBinaryLoadFromFile(Beside(json).c_str(), &options,
                                             &bin_));
        SAMPLE_CHECK(aclrtBinaryGetFunction(bin_, function, &function_));
    }

    ~Kernel()
    {
        aclrtBinaryUnLoad(bin_);
    }

    Kernel(const Kernel &) = delete;
    Kernel &operator=(const Kernel &) = delete;

    /* @param is copied by the call. */
    void Launch(aclrtStream stream, const void *param, size_t size,
                uint16_t seconds) const
    {
        aclrtLaunchKernelAttr attr;
        aclrtLaunchKernelCfg cfg = { &attr, 1 };
        aclrtArgsHandle args;
        aclrtParamHandle handle;

        memset(&attr, 0, sizeof(attr));
        attr.id = ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT;
        attr.value.timeout = seconds;
        SAMPLE_CHECK(aclrtKernelArgsInit(function_, &args));
        SAMPLE_CHECK(aclrtKernelArgsAppend(args, const_cast<void *>(param),
                                           size, &handle));
        SAMPLE_CHECK(aclrtKernelArgsFinalize(args));
        SAMPLE_CHECK(aclrtLaunchKernelWithConfig(function_, 1, stream, &cfg,
                                                 args, nullptr));
    }

private:
    aclrtBinHandle bin_ = nullptr;
    aclrtFuncHandle function_ = nullptr;
};

/* The UB link to @peer as the rank graph gives it. */
inline CommLink LinkTo(HcclComm comm, uint32_t me, uint32_t peer)
{
    CommLink *links = nullptr;
    uint32_t n = 0;

    SAMPLE_CHECK(HcclRankGraphGetLinks(comm, 0, me, peer, &links, &n));
    for (uint32_t i = 0; i < n; i++) {
        if (links[i].linkAttr.linkProtocol == COMM_PROTOCOL_UB_CTP) {
            return links[i];
        }
    }
    throw std::runtime_error("no UB_CTP link between ranks " +
                             std::to_string(me) + " and " +
                             std::to_string(peer));
}

inline HcclChannelDesc ChannelTo(HcclComm comm, uint32_t me, uint32_t peer,
                                 uint32_t notifies)
{
    CommLink link = LinkTo(comm, me, peer);
    HcclChannelDesc desc;

    SAMPLE_CHECK(HcclChannelDescInit(&desc, 1));
    desc.remoteRank = peer;
    desc.channelProtocol = link.linkAttr.linkProtocol;
    desc.notifyNum = notifies;
    desc.localEndpoint.protocol = link.srcEndpointDesc.protocol;
    desc.localEndpoint.commAddr = link.srcEndpointDesc.commAddr;
    desc.localEndpoint.loc = link.srcEndpointDesc.loc;
    desc.remoteEndpoint.protocol = link.dstEndpointDesc.protocol;
    desc.remoteEndpoint.commAddr = link.dstEndpointDesc.commAddr;
    desc.remoteEndpoint.loc = link.dstEndpointDesc.loc;
    return desc;
}

} // namespace sample

#endif /* SAMPLE_H */
