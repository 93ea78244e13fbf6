/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host library and the kernels share: raw bytes, little-endian, the
 * same layout on both.
 */
#ifndef CUSTOM_OPS_PARAM_H
#define CUSTOM_OPS_PARAM_H

#include <stdint.h>

#define OPS_MAX_RANKS   16
/* Of a channel. The ring uses one for each step, so that a fast neighbour's
   second record cannot fall on the first. */
enum {
    OPS_NOTIFY_READY = 0,
    OPS_NOTIFY_DONE = 1,
    OPS_NOTIFY_STEP = 2,
    OPS_CHANNEL_NOTIFIES = OPS_NOTIFY_STEP + 2 * (OPS_MAX_RANKS - 1)
};
#define OPS_THREAD_NOTIFIES (OPS_MAX_RANKS + 1)
#define OPS_NOTIFY_HOST     OPS_MAX_RANKS    /* host to thread 0 */
#define OPS_WAIT_SECONDS    1836

/* Made once for a communicator and operator, kept in card memory. */
struct OpsContext {
    uint32_t rank;
    uint32_t ranks;
    uint64_t bufferSize;
    uint64_t buffer[OPS_MAX_RANKS];      /* HCCL buffers as seen from here */
    uint64_t channel[OPS_MAX_RANKS];     /* 0: none (self) */
    uint64_t thread[OPS_MAX_RANKS];      /* 0: main; p: works with peer p */
};

/* Made for every call, copied at the launch. */
struct OpsParam {
    uint64_t context;                    /* device address of OpsContext */
    uint64_t hostThread;                 /* of the user's stream */
    uint64_t send;
    uint64_t recv;
    uint64_t count;
    uint32_t typeSize;
    uint32_t dataType;
    uint32_t reduceOp;
    uint32_t peer;
    uint64_t value;
    char tag[64];
};

#endif /* CUSTOM_OPS_PARAM_H */
