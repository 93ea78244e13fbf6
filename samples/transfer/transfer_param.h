/* SPDX-License-Identifier: Apache-2.0 */
/* What the host program hands to its kernel, byte by byte. */
#ifndef TRANSFER_PARAM_H
#define TRANSFER_PARAM_H

#include <stdint.h>

enum TransferStep {
    STEP_FILL = 1,               /* pattern into [src, src + size) */
    STEP_CHECK = 2,              /* [dst, dst + size) against the pattern */
    STEP_READY = 3,              /* tell the peer that it may write */
    STEP_AWAIT = 4,              /* wait until the peer is ready */
    STEP_WRITE = 5,              /* write src to the peer's dst, notify */
    STEP_RECEIVE = 6,            /* wait for that notify */
    STEP_COPY = 7,               /* dst = src on this card */
    STEP_PING = 8,               /* rounds times: write, wait for the echo */
    STEP_PONG = 9                /* rounds times: wait, write it back */
};

enum TransferNotify { NOTIFY_DATA = 0, NOTIFY_GO = 1, NOTIFY_ECHO = 2 };

struct TransferResult {
    uint64_t bad;                /* bytes that differ */
    uint64_t first;              /* offset of the first of them */
};

struct TransferParam {
    uint32_t step;
    uint32_t rounds;
    uint64_t thread;             /* ThreadHandle of the AICPU */
    uint64_t hostThread;         /* the stream's thread, as the AICPU knows it */
    uint64_t channel;
    uint64_t src;
    uint64_t dst;
    uint64_t size;               /* bytes; of one message for PING, PONG */
    uint64_t seed;               /* of the pattern */
    uint64_t result;             /* device address of a TransferResult */
    uint32_t seconds;            /* limit of waits; 0: 60 */
    uint32_t reserved;
};

/*
 * The pattern: 64-bit word i is seed + i * STEP. Every byte depends on the
 * seed (rank, transfer) and on the offset.
 */
#define PATTERN_STEP 0x9e3779b97f4a7c15ull

#endif /* TRANSFER_PARAM_H */
