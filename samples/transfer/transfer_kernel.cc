/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AICPU kernel of the transfer sample: runs on the card's cores, reads and
 * writes the card's memory by pointer, and moves data with Hcomm.
 */
#include <cstddef>
#include <cstring>
#include "hccl/hcomm_primitives.h"
#include "transfer_param.h"

namespace {

constexpr uint32_t WAIT_SECONDS = 60;

uint32_t Limit(const TransferParam *p)
{
    return p->seconds != 0 ? p->seconds : WAIT_SECONDS;
}

void Fill(uint8_t *p, uint64_t size, uint64_t seed)
{
    uint64_t *w = reinterpret_cast<uint64_t *>(p);
    uint64_t words = size / 8;
    uint64_t v = seed;

    if (reinterpret_cast<uintptr_t>(p) % 8 == 0) {
        for (uint64_t i = 0; i < words; i++, v += PATTERN_STEP) {
            w[i] = v;
        }
    } else {
        for (uint64_t i = 0; i < words; i++, v += PATTERN_STEP) {
            memcpy(p + 8 * i, &v, 8);
        }
    }
    memcpy(p + 8 * words, &v, size % 8);
}

/* The slow part of a check: where, and how much. */
void Locate(const uint8_t *p, uint64_t size, uint64_t seed,
            TransferResult *result)
{
    for (uint64_t i = 0; i < size; i++) {
        uint64_t v = seed + i / 8 * PATTERN_STEP;

        if (p[i] != static_cast<uint8_t>(v >> (8 * (i % 8)))) {
            if (result->bad++ == 0) {
                result->first = i;
            }
        }
    }
}

void Check(const uint8_t *p, uint64_t size, uint64_t seed,
           TransferResult *result)
{
    const uint64_t *w = reinterpret_cast<const uint64_t *>(p);
    uint64_t words = size / 8;
    uint64_t differ = 0;
    uint64_t v = seed;

    result->bad = 0;
    result->first = 0;
    if (reinterpret_cast<uintptr_t>(p) % 8 == 0) {
        for (uint64_t i = 0; i < words; i++, v += PATTERN_STEP) {
            differ |= w[i] ^ v;
        }
        if (differ == 0 && memcmp(p + 8 * words, &v, size % 8) == 0) {
            return;
        }
    }
    Locate(p, size, seed, result);
}

/* Sends each message from its slot, and waits for the echo in the peer's. */
int32_t Ping(const TransferParam *p)
{
    int32_t rc = 0;

    for (uint32_t i = 0; i < p->rounds && rc == 0; i++) {
        rc = HcommWriteWithNotifyOnThread(
            p->thread, p->channel,
            reinterpret_cast<void *>(p->dst + i * p->size),
            reinterpret_cast<void *>(p->src + i * p->size), p->size,
            NOTIFY_ECHO);
        if (rc == 0) {
            rc = HcommChannelNotifyWaitOnThread(p->thread, p->channel,
                                                NOTIFY_ECHO, WAIT_SECONDS);
        }
    }
    return rc;
}

/* Sends back what has just arrived: src is where it arrives. */
int32_t Pong(const TransferParam *p)
{
    int32_t rc = 0;

    for (uint32_t i = 0; i < p->rounds && rc == 0; i++) {
        rc = HcommChannelNotifyWaitOnThread(p->thread, p->channel,
                                            NOTIFY_ECHO, WAIT_SECONDS);
        if (rc == 0) {
            rc = HcommWriteWithNotifyOnThread(
                p->thread, p->channel,
                reinterpret_cast<void *>(p->dst + i * p->size),
                reinterpret_cast<void *>(p->src + i * p->size), p->size,
                NOTIFY_ECHO);
        }
    }
    return rc;
}

int32_t Queue(const TransferParam *p)
{
    void *src = reinterpret_cast<void *>(p->src);
    void *dst = reinterpret_cast<void *>(p->dst);

    switch (p->step) {
    case STEP_READY:
        return HcommChannelNotifyRecordOnThread(p->thread, p->channel,
                                                NOTIFY_GO);
    case STEP_AWAIT:
        return HcommChannelNotifyWaitOnThread(p->thread, p->channel, NOTIFY_GO,
                                              Limit(p));
    case STEP_WRITE:
        return HcommWriteWithNotifyOnThread(p->thread, p->channel, dst, src,
                                            p->size, NOTIFY_DATA);
    case STEP_RECEIVE:
        return HcommChannelNotifyWaitOnThread(p->thread, p->channel,
                                              NOTIFY_DATA, Limit(p));
    case STEP_COPY:
        return HcommLocalCopyOnThread(p->thread, dst, src, p->size);
    case STEP_PING:
        return Ping(p);
    case STEP_PONG:
        return Pong(p);
    default:
        return 1;
    }
}

} // namespace

/* 0 is success; anything else fails the host's stream. */
extern "C" unsigned int TransferKernel(void *args)
{
    const TransferParam *p = static_cast<const TransferParam *>(args);
    int32_t rc;

    if (p->step == STEP_FILL) {
        Fill(reinterpret_cast<uint8_t *>(p->src), p->size, p->seed);
        return 0;
    }
    if (p->step == STEP_CHECK) {
        Check(reinterpret_cast<const uint8_t *>(p->dst), p->size, p->seed,
              reinterpret_cast<TransferResult *>(p->result));
        return 0;
    }
    rc = HcommBatchModeStart("transfer");
    if (rc == 0) {
        rc = Queue(p);
    }
    /* When the thread has come here, the host's stream goes on. */
    if (rc == 0) {
        rc = HcommThreadNotifyRecordOnThread(p->thread, p->hostThread, 0);
    }
    int32_t end = HcommBatchModeEnd("transfer");
    return static_cast<unsigned int>(rc != 0 ? rc : end);
}
