/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong calls inside a kernel: each returns the published code at once and
 * queues nothing. The codes are those of the Hcomm reference's tables.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "hccl/hcomm_primitives.h"
#include "hcomm/hcomm_primitives_expt.h"
#include "mistakes_param.h"

namespace {

enum { OK = 0, PARA = 1, PTR = 2, INTERNAL = 4, NOT_SUPPORT = 5, TIMEOUT = 9,
       ANY_ERROR = 1000 };

class Report {
public:
    explicit Report(const MistakesParam *p)
        : r_(reinterpret_cast<MistakeResult *>(p->result)), max_(p->max)
    {
    }

    void Add(const char *call, int32_t got, int32_t want)
    {
        if (n_ < max_) {
            r_[n_].got = got;
            r_[n_].want = want;
            snprintf(r_[n_].call, sizeof(r_[n_].call), "%s", call);
            n_++;
        }
    }

private:
    MistakeResult *r_;
    uint32_t max_, n_ = 0;
};

#define TRY(want, call) report.Add(#call, call, want)

void Local(const MistakesParam &p, Report &report)
{
    ThreadHandle t = p.thread[0], none = 0;
    uint8_t *b = reinterpret_cast<uint8_t *>(p.local);
    uint8_t *nil = nullptr;

    TRY(PTR, HcommLocalCopyOnThread(none, b, b + 64, 64));
    TRY(PTR, HcommLocalCopyOnThread(t, nil, b, 64));
    TRY(PTR, HcommLocalCopyOnThread(t, b, nil, 64));
    TRY(OK, HcommLocalCopyOnThread(t, b, b + 64, 0));
    TRY(INTERNAL, HcommLocalReduceOnThread(t, b, b + 64, 4,
        HCOMM_DATA_TYPE_FP32, HCOMM_REDUCE_PROD));
    TRY(INTERNAL, HcommLocalReduceOnThread(t, b, b + 64, 4,
        HCOMM_DATA_TYPE_INT64, HCOMM_REDUCE_SUM));
    TRY(INTERNAL, HcommLocalReduceOnThread(t, b, b + 64, 4,
        HCOMM_DATA_TYPE_UINT8, HCOMM_REDUCE_SUM));
    TRY(PARA, HcommLocalReduceOnThread(t, b, b + 64, 4,
        static_cast<HcommDataType>(13), HCOMM_REDUCE_SUM));
    TRY(PARA, HcommLocalReduceOnThread(t, b, b + 64, 4,
        HCOMM_DATA_TYPE_FP32, static_cast<HcommReduceOp>(77)));
    TRY(PTR, HcommThreadNotifyWaitOnThread(t, 2, 1));
    TRY(PTR, HcommThreadNotifyRecordOnThread(t, p.thread[1], 2));
    TRY(PTR, HcommThreadNotifyRecordOnThread(t, p.hostThread, 99));
    TRY(ANY_ERROR, HcommThreadNotifyWaitOnThread(p.hostSide, 0, 1));
    TRY(ANY_ERROR, HcommThreadNotifyRecordOnThread(t, p.hostSide, 0));
    TRY(ANY_ERROR, HcommThreadNotifyWaitOnThread(p.channel, 0, 1));
    TRY(ANY_ERROR, HcommThreadNotifyWaitOnThread(0x1238, 0, 1));
}

void Remote(const MistakesParam &p, Report &report)
{
    ThreadHandle t = p.thread[0];
    ChannelHandle c = p.channel, none = 0;
    uint8_t *b = reinterpret_cast<uint8_t *>(p.local);
    uint8_t *far = reinterpret_cast<uint8_t *>(p.remote);
    uint8_t *end = far + p.size, *nil = nullptr;

    TRY(INTERNAL, HcommWriteOnThread(t, c, end - 63, b, 64));
    TRY(INTERNAL, HcommWriteOnThread(t, c, far - 1, b, 64));
    TRY(INTERNAL, HcommWriteOnThread(t, c, far, b, p.size + 1));
    TRY(INTERNAL, HcommReadOnThread(t, c, b, end, 1));
    TRY(INTERNAL, HcommWriteWithNotifyOnThread(t, c, end, b, 8, 0));
    TRY(PTR, HcommWriteOnThread(t, c, nil, b, 64));
    TRY(ANY_ERROR, HcommWriteOnThread(t, none, far, b, 64));
    TRY(ANY_ERROR, HcommWriteOnThread(t, p.thread[1], far, b, 64));
    TRY(ANY_ERROR, HcommWriteOnThread(t, 0x1238, far, b, 64));
    TRY(PARA, HcommChannelNotifyRecordOnThread(t, c, 3));
    TRY(PARA, HcommChannelNotifyWaitOnThread(t, c, 3, 1));
    TRY(PARA, HcommWriteWithNotifyOnThread(t, c, far, b, 64, 64));
    TRY(INTERNAL, HcommWriteReduceOnThread(t, c, far, b, 4,
        HCOMM_DATA_TYPE_FP32, HCOMM_REDUCE_PROD));
    TRY(INTERNAL, HcommReadReduceOnThread(t, c, b, far, 4,
        HCOMM_DATA_TYPE_FP64, HCOMM_REDUCE_SUM));
    TRY(NOT_SUPPORT, HcommWriteNbi(c, far, b, 64));
    TRY(NOT_SUPPORT, HcommChannelFence(c));
}

void Batch(const MistakesParam &p, Report &report)
{
    HcommBatchTransferDesc d;
    ThreadHandle t = p.thread[0];
    ChannelHandle c = p.channel;

    memset(&d, 0, sizeof(d));
    TRY(PTR, HcommBatchTransferOnThread(t, c, nullptr, 1));
    TRY(PARA, HcommBatchTransferOnThread(t, c, &d, 0));
    TRY(PTR, HcommBatchTransferOnThread(t, c, &d, 1));
    d.transType = static_cast<HcommTransferType>(7);
    TRY(NOT_SUPPORT, HcommBatchTransferOnThread(t, c, &d, 1));
    d.transType = HCOMM_TRANSFER_TYPE_NOTIFY_RECORD;
    d.transferInfo.notifyRecord.notifyIdx = 0xffffffff;
    TRY(PARA, HcommBatchTransferOnThread(t, c, &d, 1));
}

void Control(const MistakesParam &p, Report &report)
{
    bool hit;

    TRY(PTR, HcommAcquireComm("no such communicator"));
    TRY(OK, HcommReleaseComm("no such communicator"));
    TRY(PARA, HcommSetNotifyWaitTimeOut(-1.0f));
    TRY(PARA, HcommSetNotifyWaitTimeOut(NAN));
    TRY(PARA, HcommThreadResAcquireTimeOut(-2.0f));
    TRY(PTR, HcommAicpuTsTaskCacheLookup(nullptr, &hit));
    TRY(PARA, HcommAicpuTsTaskCacheEnd("never looked up"));
    /* A thread that waits: joining it takes its time, then it goes on. */
    TRY(OK, HcommThreadNotifyWaitOnThread(p.thread[0], 0, 60));
    TRY(TIMEOUT, HcommThreadJoin(p.thread[0], 1));
    TRY(OK, HcommThreadNotifyRecordOnThread(p.thread[1], p.thread[0], 0));
    TRY(OK, HcommThreadJoin(p.thread[0], 60));
}

/* A call that fails, and its code returned: the host must learn of it. */
unsigned int One(const MistakesParam &p)
{
    uint8_t *b = reinterpret_cast<uint8_t *>(p.local);
    uint8_t *far = reinterpret_cast<uint8_t *>(p.remote);
    int32_t rc = 0;

    switch (p.what) {
    case 1:
        rc = HcommWriteOnThread(p.thread[0], p.channel, far + p.size - 100, b,
                                4096);
        break;
    case 2:
        rc = HcommChannelNotifyRecordOnThread(p.thread[0], p.channel, 17);
        break;
    case 3:
        rc = HcommThreadNotifyWaitOnThread(p.thread[0], 23, 1);
        break;
    case 4:
        rc = HcommThreadNotifyWaitOnThread(p.hostSide, 0, 1);
        break;
    }
    return static_cast<unsigned int>(rc);
}

} // namespace

extern "C" unsigned int MistakesKernel(const MistakesParam *p)
{
    Report report(p);

    if (p->what != 0) {
        return One(*p);
    }
    Local(*p, report);
    Remote(*p, report);
    Batch(*p, report);
    Control(*p, report);
    return 0;
}
