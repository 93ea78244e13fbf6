/* SPDX-License-Identifier: Apache-2.0 */
/* What the control plane's test programs hand to their kernel. */
#ifndef CTRL_PARAM_H
#define CTRL_PARAM_H

#include <stdint.h>

enum CtrlOp {
    CTRL_SEND = 1,               /* src to dst of the peer, with a notify */
    CTRL_RECV = 2,               /* wait for it */
    CTRL_READ = 3,               /* src of the peer to dst */
    CTRL_SYM_SEND = 4,           /* as SEND; dst is an offset in window win */
    CTRL_RECORD = 5,             /* the peer's notify */
    CTRL_COPY = 6                /* on this card */
};

struct CtrlStep {
    uint32_t op, notify;
    uint64_t channel, dst, src, size;
    uint64_t win;
    uint32_t peer, seconds;      /* limit of a wait, 0: 60 */
};

struct CtrlParam {
    uint64_t thread, host;       /* host 0: nobody waits */
    uint32_t num, reserved;
    CtrlStep step[24];
};

/* Steps that are taken from the task cache where it has them. */
struct CtrlCacheParam {
    uint64_t result;             /* CtrlCacheResult, device memory */
    uint64_t addr[2], size[2];   /* ranges: source, destination */
    uint32_t clear, reserved;    /* 1: forgets the tag first */
    char tag[32];
    CtrlParam p;
};

/* Locks the communicator; then dies or lets go. */
struct CtrlLockParam {
    char comm[128];
    uint64_t die;
};

struct CtrlCacheResult {
    uint32_t hit;
    int32_t rc;
};

#endif /* CTRL_PARAM_H */
