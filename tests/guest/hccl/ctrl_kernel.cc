/* SPDX-License-Identifier: Apache-2.0 */
/* AICPU kernels of the control plane's test programs. */
#include <cstring>
#include "hccl/hccl_sym_win.h"
#include "hccl/hcomm_primitives.h"
#include "ctrl_param.h"

namespace {

void *Ptr(uint64_t v)
{
    return reinterpret_cast<void *>(v);
}

int32_t Step(uint64_t thread, const CtrlStep &s)
{
    void *dst = Ptr(s.dst);

    switch (s.op) {
    case CTRL_SYM_SEND: {
        int32_t rc = HcclSymWinGetPeerPointer(
            reinterpret_cast<HcclCommSymWindow>(s.win), s.dst, s.peer, &dst);
        if (rc != 0) {
            return rc;
        }
        return HcommWriteWithNotifyOnThread(thread, s.channel, dst, Ptr(s.src),
                                            s.size, s.notify);
    }
    case CTRL_SEND:
        return HcommWriteWithNotifyOnThread(thread, s.channel, dst, Ptr(s.src),
                                            s.size, s.notify);
    case CTRL_RECV:
        return HcommChannelNotifyWaitOnThread(thread, s.channel, s.notify,
                                              s.seconds ? s.seconds : 60);
    case CTRL_READ:
        return HcommReadOnThread(thread, s.channel, dst, Ptr(s.src), s.size);
    case CTRL_RECORD:
        return HcommChannelNotifyRecordOnThread(thread, s.channel, s.notify);
    case CTRL_COPY:
        return HcommLocalCopyOnThread(thread, dst, Ptr(s.src), s.size);
    default:
        return 1;
    }
}

int32_t Run(uint64_t thread, const CtrlParam *p)
{
    int32_t rc = HcommBatchModeStart("ctrl");

    for (uint32_t i = 0; i < p->num && rc == 0; i++) {
        rc = Step(thread, p->step[i]);
    }
    if (rc == 0 && p->host != 0) {
        rc = HcommThreadNotifyRecordOnThread(thread, p->host, 0);
    }
    int32_t end = HcommBatchModeEnd("ctrl");
    return rc != 0 ? rc : end;
}

} // namespace

extern "C" unsigned int CtrlCacheKernel(void *args)
{
    CtrlCacheParam *c = static_cast<CtrlCacheParam *>(args);
    CtrlCacheResult *r = static_cast<CtrlCacheResult *>(Ptr(c->result));
    void *addr[2] = { Ptr(c->addr[0]), Ptr(c->addr[1]) };
    bool hit = false;

    r->rc = c->clear ? HcommAicpuTsTaskCacheClear(c->tag) : 0;
    if (r->rc == 0) {
        r->rc = HcommAicpuTsTaskCacheLookup(c->tag, &hit);
    }
    r->hit = hit;
    if (r->rc == 0 && hit) {
        r->rc = HcommAicpuTsTaskCacheExecute(c->tag, addr, c->size, 2);
    } else if (r->rc == 0) {
        r->rc = HcommAicpuTsTaskCacheStart(c->tag, addr, c->size, 2);
        if (r->rc == 0) {
            r->rc = Run(c->p.thread, &c->p);
        }
        if (r->rc == 0) {
            r->rc = HcommAicpuTsTaskCacheEnd(c->tag);
        }
    }
    if (r->rc != 0 && c->p.host != 0) {
        /* The host is to see the code rather than a wait without end. */
        HcommThreadNotifyRecordOnThread(c->p.thread, c->p.host, 0);
    }
    return 0;
}

extern "C" unsigned int CtrlKernel(void *args)
{
    const CtrlParam *p = static_cast<const CtrlParam *>(args);

    return static_cast<unsigned int>(Run(p->thread, p));
}

extern "C" unsigned int CtrlLockKernel(void *args)
{
    const CtrlLockParam *p = static_cast<const CtrlLockParam *>(args);
    int32_t rc = HcommAcquireComm(p->comm);

    if (rc == 0 && p->die != 0) {
        *static_cast<volatile int *>(nullptr) = 1;
    }
    return static_cast<unsigned int>(rc != 0 ? rc
                                             : HcommReleaseComm(p->comm));
}

/* As HcclAicpuKernelLaunch calls it: the thread, then the caller's bytes. */
extern "C" unsigned int CtrlP2pKernel(void *args)
{
    CtrlParam p;
    uint64_t thread;

    memcpy(&thread, args, sizeof(thread));
    memcpy(&p, static_cast<char *>(args) + 8, sizeof(p));
    return static_cast<unsigned int>(Run(thread, &p));
}
