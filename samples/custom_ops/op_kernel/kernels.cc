/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AICPU side of the operators. A kernel only queues: it ends long before the
 * data has moved. Thread 0 waits for the user's stream first and tells it last.
 */
#include <algorithm>
#include "hccl/hcomm_primitives.h"
#include "hcomm/hcomm_primitives_expt.h"
#include "param.h"

#define OPS_CHECK(call)             \
    do {                            \
        int32_t rc_ = (call);       \
        if (rc_ != 0) {             \
            return rc_;             \
        }                           \
    } while (0)

namespace {

constexpr uint64_t MAX_CHUNK = 256ull << 20;
constexpr uint64_t SLOT_ALIGN = 128;

void *At(uint64_t base, uint64_t offset)
{
    return reinterpret_cast<void *>(base + offset);
}

/* One operator call: its parameters and its context. */
class Op {
public:
    explicit Op(const OpsParam *p)
        : p_(*p), c_(*reinterpret_cast<const OpsContext *>(p->context))
    {
    }

    template <typename Body> unsigned int Run(Body body)
    {
        int32_t rc = HcommBatchModeStart(p_.tag);

        if (rc == 0) {
            rc = HcommThreadNotifyWaitOnThread(c_.thread[0], OPS_NOTIFY_HOST,
                                               OPS_WAIT_SECONDS);
        }
        if (rc == 0) {
            rc = body(*this);
        }
        if (rc == 0) {
            rc = HcommThreadNotifyRecordOnThread(c_.thread[0], p_.hostThread,
                                                 0);
        }
        /* Also after an error: what is queued must not stay behind. */
        int32_t end = HcommBatchModeEnd(p_.tag);
        return static_cast<unsigned int>(rc != 0 ? rc : end);
    }

    int32_t Send();
    int32_t Receive();
    int32_t Gather();
    int32_t Ring();
    int32_t Ask();

private:
    uint64_t Bytes() const
    {
        return p_.count * p_.typeSize;
    }

    int32_t ToPeers();
    int32_t FromPeers();
    int32_t GatherChunk(uint64_t at, uint64_t n, uint64_t slot);
    int32_t RingChunk(uint64_t at, uint64_t count, uint64_t slot);
    int32_t AskOne(uint32_t peer);
    int32_t Answer();

    const OpsParam &p_;
    const OpsContext &c_;
};

/* ---- point to point ---- */

/* The sender stages a chunk in its buffer, the receiver fetches it. */
int32_t Op::Send()
{
    uint64_t t = c_.thread[0], ch = c_.channel[p_.peer];
    uint64_t chunk = std::min(MAX_CHUNK, c_.bufferSize);

    for (uint64_t at = 0; at < Bytes(); at += chunk) {
        uint64_t n = std::min(chunk, Bytes() - at);

        OPS_CHECK(HcommLocalCopyOnThread(t, At(c_.buffer[c_.rank], 0),
                                         At(p_.send, at), n));
        OPS_CHECK(HcommChannelNotifyRecordOnThread(t, ch, OPS_NOTIFY_READY));
        OPS_CHECK(HcommChannelNotifyWaitOnThread(t, ch, OPS_NOTIFY_DONE,
                                                 OPS_WAIT_SECONDS));
    }
    return 0;
}

int32_t Op::Receive()
{
    uint64_t t = c_.thread[0], ch = c_.channel[p_.peer];
    uint64_t chunk = std::min(MAX_CHUNK, c_.bufferSize);

    for (uint64_t at = 0; at < Bytes(); at += chunk) {
        uint64_t n = std::min(chunk, Bytes() - at);

        OPS_CHECK(HcommChannelNotifyWaitOnThread(t, ch, OPS_NOTIFY_READY,
                                                 OPS_WAIT_SECONDS));
        OPS_CHECK(HcommReadOnThread(t, ch, At(p_.recv, at),
                                    At(c_.buffer[p_.peer], 0), n));
        OPS_CHECK(HcommChannelNotifyRecordOnThread(t, ch, OPS_NOTIFY_DONE));
    }
    return 0;
}

/* ---- all-gather: one thread for each peer ---- */

int32_t Op::ToPeers()
{
    for (uint32_t i = 0; i < c_.ranks; i++) {
        if (i != c_.rank) {
            OPS_CHECK(HcommThreadNotifyRecordOnThread(
                c_.thread[0], c_.thread[i == 0 ? c_.rank : i], 0));
        }
    }
    return 0;
}

int32_t Op::FromPeers()
{
    for (uint32_t i = 0; i < c_.ranks; i++) {
        if (i != c_.rank) {
            OPS_CHECK(HcommThreadNotifyWaitOnThread(
                c_.thread[0], i == 0 ? c_.rank : i, OPS_WAIT_SECONDS));
        }
    }
    return 0;
}

int32_t Op::GatherChunk(uint64_t at, uint64_t n, uint64_t slot)
{
    uint64_t mine = c_.rank * slot;

    OPS_CHECK(HcommLocalCopyOnThread(c_.thread[0],
                                     At(c_.buffer[c_.rank], mine),
                                     At(p_.send, at), n));
    OPS_CHECK(ToPeers());
    for (uint32_t i = 0; i < c_.ranks; i++) {
        if (i == c_.rank) {
            continue;
        }
        /* Thread 0 is the main one: peer 0 gets the thread of this rank. */
        uint32_t k = i == 0 ? c_.rank : i;
        uint64_t t = c_.thread[k], ch = c_.channel[i];

        OPS_CHECK(HcommThreadNotifyWaitOnThread(t, 0, OPS_WAIT_SECONDS));
        OPS_CHECK(HcommChannelNotifyRecordOnThread(t, ch, OPS_NOTIFY_READY));
        OPS_CHECK(HcommChannelNotifyWaitOnThread(t, ch, OPS_NOTIFY_READY,
                                                 OPS_WAIT_SECONDS));
        OPS_CHECK(HcommWriteOnThread(t, ch, At(c_.buffer[i], mine),
                                     At(c_.buffer[c_.rank], mine), n));
        OPS_CHECK(HcommChannelNotifyRecordOnThread(t, ch, OPS_NOTIFY_DONE));
        OPS_CHECK(HcommChannelNotifyWaitOnThread(t, ch, OPS_NOTIFY_DONE,
                                                 OPS_WAIT_SECONDS));
        OPS_CHECK(HcommThreadNotifyRecordOnThread(t, c_.thread[0], k));
    }
    OPS_CHECK(FromPeers());
    for (uint32_t i = 0; i < c_.ranks; i++) {
        OPS_CHECK(HcommLocalCopyOnThread(c_.thread[0],
                                         At(p_.recv, i * Bytes() + at),
                                         At(c_.buffer[c_.rank], i * slot), n));
    }
    return 0;
}

int32_t Op::Gather()
{
    uint64_t slot = std::min(MAX_CHUNK, c_.bufferSize / c_.ranks) /
                    SLOT_ALIGN * SLOT_ALIGN;

    for (uint64_t at = 0; at < Bytes(); at += slot) {
        OPS_CHECK(GatherChunk(at, std::min(slot, Bytes() - at), slot));
    }
    return 0;
}

/* ---- ring all-reduce ---- */

int32_t Op::RingChunk(uint64_t at, uint64_t count, uint64_t slot)
{
    uint32_t r = c_.ranks, me = c_.rank;
    uint32_t next = (me + 1) % r, prev = (me + r - 1) % r;
    uint64_t t = c_.thread[0], to = c_.channel[next], from = c_.channel[prev];
    uint64_t block = (count + r - 1) / r, work = c_.buffer[me];
    auto type = static_cast<HcommDataType>(p_.dataType);
    auto op = static_cast<HcommReduceOp>(p_.reduceOp);
    auto size = [&](uint32_t b) {
        return b * block >= count ? 0 : std::min(block, count - b * block);
    };

    (void)slot;
    OPS_CHECK(HcommLocalCopyOnThread(t, At(work, 0), At(p_.send, at),
                                     count * p_.typeSize));
    OPS_CHECK(HcommChannelNotifyRecordOnThread(t, from, OPS_NOTIFY_READY));
    OPS_CHECK(HcommChannelNotifyWaitOnThread(t, to, OPS_NOTIFY_READY,
                                             OPS_WAIT_SECONDS));
    for (uint32_t s = 0; s < 2 * (r - 1); s++) {
        bool reduce = s < r - 1;
        uint32_t b = (me + 2 * r - s + (reduce ? 0 : r)) % r;
        uint64_t off = b * block * p_.typeSize;

        if (reduce) {
            OPS_CHECK(HcommWriteReduceWithNotifyOnThread(
                t, to, At(c_.buffer[next], off), At(work, off), size(b), type,
                op, OPS_NOTIFY_STEP + s));
        } else {
            OPS_CHECK(HcommWriteWithNotifyOnThread(
                t, to, At(c_.buffer[next], off), At(work, off),
                size(b) * p_.typeSize, OPS_NOTIFY_STEP + s));
        }
        OPS_CHECK(HcommChannelNotifyWaitOnThread(t, from, OPS_NOTIFY_STEP + s,
                                                 OPS_WAIT_SECONDS));
    }
    return HcommLocalCopyOnThread(t, At(p_.recv, at), At(work, 0),
                                  count * p_.typeSize);
}

int32_t Op::Ring()
{
    uint64_t chunk = std::min(MAX_CHUNK, c_.bufferSize) / p_.typeSize;

    for (uint64_t at = 0; at < p_.count; at += chunk) {
        OPS_CHECK(RingChunk(at * p_.typeSize, std::min(chunk, p_.count - at),
                            0));
    }
    return 0;
}

/* ---- a kernel that looks at what it received ---- */

int32_t Op::AskOne(uint32_t peer)
{
    uint64_t t = c_.thread[0], ch = c_.channel[peer];
    uint64_t *stage = static_cast<uint64_t *>(At(c_.buffer[0], 0));

    *stage = p_.value;
    OPS_CHECK(HcommWriteWithNotifyOnThread(t, ch, At(c_.buffer[peer], 0),
                                           stage, 8, OPS_NOTIFY_READY));
    OPS_CHECK(HcommChannelNotifyWaitOnThread(t, ch, OPS_NOTIFY_DONE,
                                             OPS_WAIT_SECONDS));
    return HcommLocalCopyOnThread(t, At(p_.recv, 8 * peer),
                                  At(c_.buffer[0], 8 * (peer + 1)), 8);
}

int32_t Op::Answer()
{
    uint64_t t = c_.thread[0], ch = c_.channel[0];
    uint64_t *stage = static_cast<uint64_t *>(At(c_.buffer[c_.rank], 0));

    OPS_CHECK(HcommChannelNotifyWaitOnThread(t, ch, OPS_NOTIFY_READY,
                                             OPS_WAIT_SECONDS));
    /* Hand over what is queued, then wait until the thread has done it. */
    OPS_CHECK(HcommBatchModeEnd(p_.tag));
    OPS_CHECK(HcommBatchModeStart(p_.tag));
    OPS_CHECK(HcommThreadJoin(t, OPS_WAIT_SECONDS));
    if (stage[0] % 2 == 0) {
        stage[1] = stage[0] / 2;
    } else {
        stage[1] = 3 * stage[0] + 1;
    }
    return HcommWriteWithNotifyOnThread(t, ch,
                                        At(c_.buffer[0], 8 * (c_.rank + 1)),
                                        &stage[1], 8, OPS_NOTIFY_DONE);
}

int32_t Op::Ask()
{
    if (c_.rank != 0) {
        return Answer();
    }
    for (uint32_t i = 1; i < c_.ranks; i++) {
        OPS_CHECK(AskOne(i));
    }
    return 0;
}

} // namespace

extern "C" unsigned int CustomSendKernel(OpsParam *param)
{
    return Op(param).Run([](Op &op) { return op.Send(); });
}

extern "C" unsigned int CustomRecvKernel(OpsParam *param)
{
    return Op(param).Run([](Op &op) { return op.Receive(); });
}

extern "C" unsigned int CustomAllGatherKernel(OpsParam *param)
{
    return Op(param).Run([](Op &op) { return op.Gather(); });
}

extern "C" unsigned int CustomAllReduceKernel(OpsParam *param)
{
    return Op(param).Run([](Op &op) { return op.Ring(); });
}

extern "C" unsigned int CustomAskKernel(OpsParam *param)
{
    return Op(param).Run([](Op &op) { return op.Ask(); });
}
