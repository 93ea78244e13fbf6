/*
 * Atlas 350 virtual card: what the operator library gives to its kernels.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later OR Apache-2.0
 *
 * libhccl.so turns an operator into tasks: copies, reads, reductions, records
 * and waits, each for one thread. HcclRunTasks queues them in the order given
 * and ends; it never waits for data, so any number of operators shares the
 * card's cores. HcclReduceLocal computes what neither SDMA nor UB can. Both
 * are in libhccl_ops_kernel.so. Ours: docs/specs/atlas350-hcomm.rst.
 * Little-endian, LP64, natural alignment.
 */
#ifndef HW_ATLAS350_HCCL_OPS_H
#define HW_ATLAS350_HCCL_OPS_H

#include <stdint.h>
#include "hw/atlas350/regs.h"

#define A350_OPS_SO             "libhccl_ops_kernel.so"
#define A350_OPS_RUN            "HcclRunTasks"
#define A350_OPS_REDUCE         "HcclReduceLocal"

/* What the arguments of a launch may take (spec/api/examples.md §8.4). */
#define A350_OPS_ARGS_MAX       16384u

#define A350_OPS_CTX_MAGIC      0x4f50434fu  /* "OCPO" */

/*
 * Engine context: handles of one communicator. A channel is 0 until it is
 * there; handles of kernels are device addresses (hcomm_abi.h).
 */
typedef struct a350_ops_ctx {
    uint32_t magic;
    uint32_t rank, ranks, threads;
    uint64_t handle[];           /* thread[threads], then channel[ranks] */
} a350_ops_ctx;
A350_STATIC_ASSERT(sizeof(a350_ops_ctx) == 16);

enum a350_ops_kind {
    A350_OPS_COPY = 1,           /* dst = src, len bytes, of this card */
    A350_OPS_REDUCE_TO,          /* dst = dst op src, len elements */
    A350_OPS_READ,               /* dst = src of rank peer, len bytes */
    A350_OPS_READ_REDUCE,        /* dst = dst op src of peer, len elements */
    A350_OPS_RECORD,             /* notify index of the channel, at peer */
    A350_OPS_WAIT,               /* own notify index of the channel */
    A350_OPS_SIGNAL,             /* notify index of thread peer */
    A350_OPS_AWAIT,              /* notify index of the task's own thread */
};

typedef struct a350_ops_task {
    uint8_t kind;                /* enum a350_ops_kind */
    uint8_t index;               /* of a notify */
    uint16_t thread;             /* that does it */
    uint16_t peer;               /* rank, or thread that is signalled */
    uint8_t type, op;            /* HcclDataType, HcclReduceOp */
    uint64_t dst, src, len;
} a350_ops_task;
A350_STATIC_ASSERT(sizeof(a350_ops_task) == 32);

/* Arguments of HcclRunTasks. */
typedef struct a350_ops_run {
    uint64_t ctx;                /* device address of the context */
    uint64_t host;               /* the stream's thread: its notify 0 ends it */
    uint32_t wait_s;             /* limit of every wait, 0: none */
    uint32_t num;
    a350_ops_task task[];
} a350_ops_run;
A350_STATIC_ASSERT(sizeof(a350_ops_run) == 24);

#define A350_OPS_TASKS_MAX \
    ((A350_OPS_ARGS_MAX - (uint32_t)sizeof(a350_ops_run)) / \
     (uint32_t)sizeof(a350_ops_task))

/*
 * Arguments of HcclReduceLocal: dst[i] = src[0][i] op src[1][i] op ..., from
 * left to right. dst may be one of the sources.
 */
typedef struct a350_ops_reduce {
    uint64_t dst, count;
    uint32_t type, op;           /* HcclDataType, HcclReduceOp */
    uint32_t num, reserved;
    uint64_t src[];
} a350_ops_reduce;
A350_STATIC_ASSERT(sizeof(a350_ops_reduce) == 32);

#endif /* HW_ATLAS350_HCCL_OPS_H */
