/*
 * Atlas 350 virtual card: UB jetties, work queue entries, segments, status.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later OR Apache-2.0
 *
 * Bit layouts: spec/hw/transport.md §2; status: §4; registration: §5.
 * A WQE occupies one or two 64-byte blocks (WQEBB) of a jetty's send queue.
 * The producer index (PI) counts blocks in 16 bits and wraps by itself; the
 * slot of block n is n mod depth, depth a power of two of at most 32768.
 */
#ifndef HW_ATLAS350_UB_H
#define HW_ATLAS350_UB_H

#include <stdint.h>
#include <string.h>
#include "hw/atlas350/regs.h"

#define A350_WQEBB_SIZE             64u
#define A350_JETTY_DEPTH_MAX        32768u       /* blocks: 8192 x 4 */
#define A350_JETTY_DEPTH_MIN        16u
#define A350_UB_MAX_MSG             (256u << 20) /* bytes a WQE may move */

typedef struct a350_wqe {
    uint32_t w[32];          /* two blocks; a plain WQE uses the first */
} a350_wqe;
A350_STATIC_ASSERT(sizeof(a350_wqe) == 2 * A350_WQEBB_SIZE);

/* w0 */
#define A350_WQE_ODR_SHIFT          16           /* placeOdr [17:16] */
#define A350_WQE_ODR_NONE           0u
#define A350_WQE_ODR_RELAX          1u
#define A350_WQE_ODR_STRONG         2u
#define A350_WQE_COMP_ORDER         (1u << 18)
#define A350_WQE_FENCE              (1u << 19)
#define A350_WQE_SE                 (1u << 20)
#define A350_WQE_CQE                (1u << 21)
#define A350_WQE_INLINE             (1u << 22)
#define A350_WQE_UDF                (1u << 23)
#define A350_WQE_TOKEN_EN           (1u << 28)
#define A350_WQE_RMT_JETTY          (1u << 29)   /* rmtJettyType = 1 */
#define A350_WQE_OWNER              (1u << 31)
/* w1 */
#define A350_WQE_OPCODE_SHIFT       8
#define A350_WQE_INLINE_LEN_SHIFT   22
/* w2 */
#define A350_WQE_SGE_NUM_SHIFT      24
/* w3, and the token id of a notify */
#define A350_TOKEN_ID_MASK          0xfffffu
/* w9 */
#define A350_WQE_UDF_REDUCE         0u
#define A350_WQE_RED_TYPE_SHIFT     8
#define A350_WQE_RED_OP_SHIFT       12

enum a350_ub_opcode {
    A350_UB_WRITE = 3,
    A350_UB_WRITE_WITH_NOTIFY = 5,
    A350_UB_READ = 6,
    A350_UB_NOP = 0x11,
};

enum a350_ub_reduce_op {
    A350_UB_MAX = 8,
    A350_UB_MIN = 9,
    A350_UB_ADD = 0xa,
    A350_UB_EQUAL = 0xb,
};

enum a350_ub_reduce_type {
    A350_UB_INT8 = 0,
    A350_UB_INT16 = 1,
    A350_UB_INT32 = 2,
    A350_UB_UINT8 = 3,
    A350_UB_UINT16 = 4,
    A350_UB_UINT32 = 5,
    A350_UB_FP16 = 6,
    A350_UB_FP32 = 7,
    A350_UB_BF16 = 8,
    A350_UB_BF16_SAT = 9,
};

/* Completion status and sub-status: spec/hw/transport.md §4. */
enum a350_ub_status {
    A350_UB_OK = 0,
    A350_UB_ERR_OPCODE = 1,
    A350_UB_ERR_LOCAL = 2,
    A350_UB_ERR_REMOTE = 3,
    A350_UB_ERR_RETRY = 4,
    A350_UB_ERR_ACK_TIMEOUT = 5,
    A350_UB_ERR_FLUSHED = 6,
};
#define A350_UB_SUB_LOCAL_LENGTH    1u
#define A350_UB_SUB_LOCAL_ACCESS    2u
#define A350_UB_SUB_LOCAL_RSP_LEN   3u
#define A350_UB_SUB_REMOTE_UNSUP    1u
#define A350_UB_SUB_REMOTE_ABORT    2u           /* permission, token, bounds */

/* Segment access, URMA bits. LOCAL_ONLY: no remote access whatever else. */
#define A350_SEG_LOCAL_ONLY         1u
#define A350_SEG_READ               2u
#define A350_SEG_WRITE              4u
#define A350_SEG_ATOMIC             8u           /* reduce */

/* Jetty states, hardware numbering. */
enum a350_jetty_state {
    A350_JETTY_RESET = 0,
    A350_JETTY_READY = 1,
    A350_JETTY_ERROR = 2,
    A350_JETTY_SUSPEND = 3,
};

/* What a WQE addresses on the remote side. */
typedef struct a350_ub_remote {
    uint8_t eid[A350_EID_LEN];   /* natural order; the builder reverses it */
    uint32_t token_id;
    uint32_t token_value;
} a350_ub_remote;

static inline uint32_t a350_wqe_opcode(const a350_wqe *q)
{
    return (q->w[1] >> A350_WQE_OPCODE_SHIFT) & 0xffu;
}

/* Blocks that a WQE with this first block occupies. */
static inline uint32_t a350_wqe_blocks(const a350_wqe *q)
{
    return a350_wqe_opcode(q) == A350_UB_WRITE_WITH_NOTIFY ? 2 : 1;
}

static inline void a350_wqe_get_eid(const a350_wqe *q,
                                    uint8_t eid[A350_EID_LEN])
{
    const uint8_t *p = (const uint8_t *)&q->w[4];
    int i;

    for (i = 0; i < A350_EID_LEN; i++) {
        eid[i] = p[A350_EID_LEN - 1 - i];
    }
}

/*
 * Control part of a WQE (words 0-11, all written); @flags are A350_WQE_* bits
 * of word 0.
 */
static inline void a350_wqe_ctrl(a350_wqe *q, uint32_t opcode, uint32_t flags,
                                 const a350_ub_remote *rmt, uint64_t rmt_addr,
                                 uint32_t tpn, uint32_t sge_num)
{
    uint8_t *p = (uint8_t *)&q->w[4];
    int i;

    /* Kernels run this for each operation: no loop, no call. */
    q->w[0] = flags | A350_WQE_SE | A350_WQE_TOKEN_EN | A350_WQE_RMT_JETTY;
    q->w[1] = opcode << A350_WQE_OPCODE_SHIFT;
    q->w[2] = (tpn & 0xffffffu) | (sge_num << A350_WQE_SGE_NUM_SHIFT);
    q->w[3] = rmt->token_id & A350_TOKEN_ID_MASK;
#pragma GCC unroll 16
    for (i = 0; i < A350_EID_LEN; i++) {
        p[i] = rmt->eid[A350_EID_LEN - 1 - i];
    }
    q->w[8] = rmt->token_value;
    q->w[9] = 0;
    q->w[10] = (uint32_t)rmt_addr;
    q->w[11] = (uint32_t)(rmt_addr >> 32);
}

static inline void a350_wqe_sge(uint32_t *w, uint64_t addr, uint32_t len,
                                uint32_t token_id)
{
    w[0] = len;
    w[1] = token_id & A350_TOKEN_ID_MASK;
    w[2] = (uint32_t)addr;
    w[3] = (uint32_t)(addr >> 32);
}

/*
 * WRITE or READ of @len bytes, at most A350_UB_MAX_MSG. One block; like all
 * builders it leaves nothing of the structure unwritten.
 */
static inline void a350_wqe_rw(a350_wqe *q, uint32_t opcode, uint32_t flags,
                               const a350_ub_remote *rmt, uint64_t rmt_addr,
                               uint32_t tpn, uint64_t local_addr, uint32_t len,
                               uint32_t local_token_id)
{
    a350_wqe_ctrl(q, opcode, flags, rmt, rmt_addr, tpn, len ? 1 : 0);
    a350_wqe_sge(&q->w[12], local_addr, len, local_token_id);
    memset(&q->w[16], 0, 16 * sizeof(q->w[0]));
}

/* Turns a WRITE, READ or WRITE_WITH_NOTIFY into its inline-reduce form. */
static inline void a350_wqe_set_reduce(a350_wqe *q, uint32_t op, uint32_t type)
{
    q->w[0] |= A350_WQE_UDF;
    q->w[9] = A350_WQE_UDF_REDUCE | (type << A350_WQE_RED_TYPE_SHIFT) |
              (op << A350_WQE_RED_OP_SHIFT);
}

/* Inline WRITE of 4 bytes, how a remote notify is recorded. One block. */
static inline void a350_wqe_inline4(a350_wqe *q, uint32_t flags,
                                    const a350_ub_remote *rmt,
                                    uint64_t rmt_addr, uint32_t tpn,
                                    uint32_t value)
{
    a350_wqe_ctrl(q, A350_UB_WRITE, flags | A350_WQE_INLINE, rmt, rmt_addr,
                  tpn, 1);
    q->w[1] |= 4u << A350_WQE_INLINE_LEN_SHIFT;
    q->w[12] = value;
    q->w[13] = 0;
    q->w[14] = 0;
    q->w[15] = 0;
    memset(&q->w[16], 0, 16 * sizeof(q->w[0]));
}

/* WRITE_WITH_NOTIFY: payload, then 8 bytes @notify_data at @notify_addr. */
static inline void a350_wqe_write_notify(a350_wqe *q, uint32_t flags,
                                         const a350_ub_remote *rmt,
                                         uint64_t rmt_addr, uint32_t tpn,
                                         uint64_t local_addr, uint32_t len,
                                         uint32_t local_token_id,
                                         uint64_t notify_addr,
                                         uint32_t notify_token_id,
                                         uint32_t notify_token_value,
                                         uint64_t notify_data)
{
    a350_wqe_ctrl(q, A350_UB_WRITE_WITH_NOTIFY, flags, rmt, rmt_addr, tpn,
                  len ? 1 : 0);
    q->w[12] = notify_token_id & A350_TOKEN_ID_MASK;
    q->w[13] = notify_token_value;
    q->w[14] = (uint32_t)notify_addr;
    q->w[15] = (uint32_t)(notify_addr >> 32);
    q->w[16] = (uint32_t)notify_data;
    q->w[17] = (uint32_t)(notify_data >> 32);
    q->w[18] = 0;
    q->w[19] = 0;
    a350_wqe_sge(&q->w[20], local_addr, len, local_token_id);
    memset(&q->w[24], 0, 8 * sizeof(q->w[0]));
}

#endif /* HW_ATLAS350_UB_H */
