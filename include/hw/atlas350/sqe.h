/*
 * Atlas 350 virtual card: task queue entries (SQE) and completions (CQE).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later OR Apache-2.0
 *
 * Bit layouts: spec/hw/task-queues.md §2-§4. An SQE is sixteen little-endian
 * 32-bit words; "w4[7:0]" names bits 7..0 of word 4. The builders below are
 * the one source for host, firmware and tests: each fills all 64 bytes.
 */
#ifndef HW_ATLAS350_SQE_H
#define HW_ATLAS350_SQE_H

#include <stdint.h>
#include <string.h>
#include "hw/atlas350/regs.h"

typedef struct a350_sqe {
    uint32_t w[16];
} a350_sqe;
A350_STATIC_ASSERT(sizeof(a350_sqe) == A350_SQE_SIZE);

/* w0[5:0] */
enum a350_sqe_type {
    A350_SQE_AIC = 0,
    A350_SQE_AIV = 1,
    A350_SQE_FUSION = 2,
    A350_SQE_PLACE_HOLDER = 3,
    A350_SQE_AICPU_H = 4,
    A350_SQE_AICPU_D = 5,
    A350_SQE_NOTIFY_RECORD = 6,
    A350_SQE_NOTIFY_WAIT = 7,
    A350_SQE_WRITE_VALUE = 8,
    A350_SQE_UBDMA = 9,
    A350_SQE_ASYNCDMA = 10,
    A350_SQE_SDMA = 11,
    A350_SQE_VPC = 12,
    A350_SQE_JPEGE = 13,
    A350_SQE_JPEGD = 14,
    A350_SQE_CMO = 15,
    A350_SQE_CCU = 16,
    A350_SQE_NSC = 18,
    A350_SQE_DSS = 19,
    A350_SQE_COND = 20,
    A350_SQE_END = 21,
    A350_SQE_INVALID = 63,
};

/* w0 */
#define A350_SQE_TYPE_MASK          0x3fu
#define A350_SQE_LOCK               (1u << 6)
#define A350_SQE_UNLOCK             (1u << 7)
#define A350_SQE_IE                 (1u << 8)
#define A350_SQE_PRE_P              (1u << 9)
#define A350_SQE_POST_P             (1u << 10)
#define A350_SQE_WR_CQE             (1u << 11)
#define A350_SQE_PTR_MODE           (1u << 12)
#define A350_SQE_RTT_MODE           (1u << 13)
#define A350_SQE_HEAD_UPDATE        (1u << 14)
#define A350_SQE_BLOCK_DIM_SHIFT    16

/* w3 */
#define A350_SQE_CREDIT_SHIFT       16
#define A350_SQE_CREDIT_MASK        0xffu
#define A350_SQE_LEN_SHIFT          29
#define A350_SQE_LEN_MASK           0x7u
#define A350_CREDIT_DEFAULT         254u  /* hcomm */
#define A350_CREDIT_NEVER           255u
#define A350_CREDIT_UNIT_NS         (1ull << 32) /* credit + 1 of them */

/* NOTIFY_RECORD / NOTIFY_WAIT */
#define A350_NOTIFY_ID_MASK         0x1ffffu     /* w2 */
#define A350_NOTIFY_CNT             (1u << 30)   /* w2 */
#define A350_NOTIFY_CLR             (1u << 31)   /* w2 */
#define A350_NOTIFY_WAIT_EQUAL      (1u << 0)    /* w5[1:0] */
#define A350_NOTIFY_WAIT_BIGGER     (1u << 1)
#define A350_NOTIFY_REC_SHIFT       2            /* w5[4:2] */
#define A350_NOTIFY_REC_STORE       0u
#define A350_NOTIFY_REC_ADD         1u
#define A350_NOTIFY_REC_OR          2u
#define A350_NOTIFY_REC_CLEAR       4u
#define A350_NOTIFY_BITMAP          (1u << 5)    /* w5 */

enum a350_notify_subtype {                       /* w3[15:0] */
    A350_NSUB_SINGLE_RECORD = 0,
    A350_NSUB_SINGLE_WAIT = 1,
    A350_NSUB_COUNT_RECORD = 2,
    A350_NSUB_COUNT_WAIT = 3,
    A350_NSUB_EVENT_RECORD = 4,
    A350_NSUB_EVENT_WAIT = 5,
    A350_NSUB_EVENT_RECORD_COUNT = 6,
    A350_NSUB_EVENT_WAIT_COUNT = 7,
    A350_NSUB_EVENT_RESET = 8,
    A350_NSUB_EVENT_RESET_COUNT = 9,
    A350_NSUB_MODEL_WAIT = 10,
};

/* WRITE_VALUE */
#define A350_WV_AWSIZE_SHIFT        20           /* w5[22:20]: log2 bytes */
#define A350_WV_VA                  (1u << 31)   /* w5 */
#define A350_WV_ADDR_BITS           49           /* w4, w5[16:0] */
#define A350_WV_SUB_DEFAULT         0u           /* w7 */
#define A350_WV_SUB_EVENT_RESET     1u
#define A350_WV_SUB_RDMA_DB         2u
#define A350_WV_SUB_IPC             3u
#define A350_WV_SUB_IPC_PCIE        4u

/* SDMA: opcode w4[7:0] = operation | type */
#define A350_SDMA_CPY               0x0u
#define A350_SDMA_ADD               0x1u
#define A350_SDMA_MAX               0x2u
#define A350_SDMA_MIN               0x3u
#define A350_SDMA_EQUAL             0x4u
#define A350_SDMA_MEMSET            0x5u
#define A350_SDMA_OP_MASK           0x0fu
#define A350_SDMA_TYPE_MASK         0xf0u
#define A350_SDMA_INT8              0x00u
#define A350_SDMA_INT16             0x10u
#define A350_SDMA_INT32             0x20u
#define A350_SDMA_UINT8             0x30u
#define A350_SDMA_UINT16            0x40u
#define A350_SDMA_UINT32            0x50u
#define A350_SDMA_FP16              0x60u
#define A350_SDMA_FP32              0x70u
#define A350_SDMA_BF16              0x80u
#define A350_SDMA_SSSV              (1u << 8)    /* w4 */
#define A350_SDMA_DSSV              (1u << 9)
#define A350_SDMA_SNS               (1u << 10)
#define A350_SDMA_DNS               (1u << 11)
#define A350_SDMA_STRIDE_SHIFT      14           /* w4[15:14] */

/* UBDMA */
#define A350_UBDMA_MODE_DOORBELL    (1u << 0)    /* w2 */
#define A350_UBDMA_DB_NUM_SHIFT     1            /* w2[2:1], doorbell form */
#define A350_UBDMA_WQE_128          (1u << 1)    /* w2, direct form */

/* PLACE_HOLDER task types, w3[15:0] */
#define A350_PH_HOST_CALLBACK       72u
#define A350_PH_FLIP                98u
#define A350_PH_NOP                 103u

/* AICPU_D */
#define A350_KERNEL_TYPE_CCE        0u           /* w2[22:16] */
#define A350_KERNEL_TYPE_AICPU      2u
#define A350_KERNEL_TYPE_CUSTOM     4u
#define A350_KERNEL_TYPE_KFC        5u
#define A350_KERNEL_TYPE_CUSTOM_KFC 6u
#define A350_TOPIC_KERNEL           3u           /* w14[17:12] */
#define A350_TOPIC_USER_DATA_LEN    40u          /* w14[31:24] */

/* Fields common to all SQEs. */
static inline uint32_t a350_sqe_get_type(const a350_sqe *s)
{
    return s->w[0] & A350_SQE_TYPE_MASK;
}

static inline uint32_t a350_sqe_get_task(const a350_sqe *s)
{
    return s->w[1];
}

static inline uint32_t a350_sqe_get_credit(const a350_sqe *s)
{
    return (s->w[3] >> A350_SQE_CREDIT_SHIFT) & A350_SQE_CREDIT_MASK;
}

static inline uint32_t a350_sqe_get_len(const a350_sqe *s)
{
    return (s->w[3] >> A350_SQE_LEN_SHIFT) & A350_SQE_LEN_MASK;
}

static inline void a350_sqe_init(a350_sqe *s, uint32_t type, uint32_t task,
                                 uint32_t credit)
{
    memset(s, 0, sizeof(*s));
    s->w[0] = type & A350_SQE_TYPE_MASK;
    s->w[1] = task;
    s->w[3] = (credit & A350_SQE_CREDIT_MASK) << A350_SQE_CREDIT_SHIFT;
}

static inline void a350_sqe_nop(a350_sqe *s, uint32_t task)
{
    a350_sqe_init(s, A350_SQE_PLACE_HOLDER, task, A350_CREDIT_DEFAULT);
    s->w[0] |= A350_SQE_PRE_P;
    s->w[3] |= A350_PH_NOP;
}

static inline void a350_sqe_notify_record(a350_sqe *s, uint32_t task,
                                          uint32_t notify)
{
    a350_sqe_init(s, A350_SQE_NOTIFY_RECORD, task, A350_CREDIT_DEFAULT);
    s->w[2] = notify & A350_NOTIFY_ID_MASK;
    s->w[3] |= A350_NSUB_SINGLE_RECORD;
}

/* @timeout in seconds, 0 waits for ever; the credit of a wait is always 255. */
static inline void a350_sqe_notify_wait(a350_sqe *s, uint32_t task,
                                        uint32_t notify, uint32_t timeout)
{
    a350_sqe_init(s, A350_SQE_NOTIFY_WAIT, task, A350_CREDIT_NEVER);
    s->w[2] = (notify & A350_NOTIFY_ID_MASK) | A350_NOTIFY_CLR;
    s->w[3] |= A350_NSUB_SINGLE_WAIT;
    s->w[6] = timeout;
}

/* @log2size 0..5: 1 to 32 bytes of @data; @addr 49 bits. */
static inline void a350_sqe_write_value(a350_sqe *s, uint32_t task,
                                        uint64_t addr, uint32_t log2size,
                                        const void *data, uint32_t subtype)
{
    a350_sqe_init(s, A350_SQE_WRITE_VALUE, task, A350_CREDIT_DEFAULT);
    s->w[4] = (uint32_t)addr;
    s->w[5] = ((uint32_t)(addr >> 32) & 0x1ffffu) |
              (log2size << A350_WV_AWSIZE_SHIFT) | A350_WV_VA;
    s->w[7] = subtype;
    memcpy(&s->w[8], data, (size_t)1 << log2size);
}

/* SDMA copy or reduce, stride 0: @opcode = operation | type, @len in bytes. */
static inline void a350_sqe_sdma(a350_sqe *s, uint32_t task, uint32_t opcode,
                                 uint64_t dst, uint64_t src, uint32_t len)
{
    a350_sqe_init(s, A350_SQE_SDMA, task, A350_CREDIT_DEFAULT);
    s->w[4] = (opcode & 0xffu) | A350_SDMA_SSSV | A350_SDMA_DSSV |
              A350_SDMA_SNS | A350_SDMA_DNS;
    s->w[8] = (uint32_t)src;
    s->w[9] = (uint32_t)(src >> 32);
    s->w[10] = (uint32_t)dst;
    s->w[11] = (uint32_t)(dst >> 32);
    s->w[12] = len;
}

/*
 * The pieces of at most @max bytes in which @len bytes go from @src to @dst
 * when they do not fit into one entry: the last piece first where that keeps a
 * piece from being overwritten before it is read.
 *
 *   for (s = a350_slices(dst, src, len, max); a350_slice_next(&s);) {
 *       s.len bytes from src + s.at to dst + s.at
 */
typedef struct a350_slice {
    uint64_t at;
    uint32_t len, max;
    uint64_t left, total;
    int backwards;
} a350_slice;

static inline a350_slice a350_slices(uint64_t dst, uint64_t src, uint64_t len,
                                     uint32_t max)
{
    a350_slice s = { .max = max, .left = len, .total = len,
                     .backwards = dst != src && dst - src < len };

    return s;
}

static inline int a350_slice_next(a350_slice *s)
{
    s->len = s->left < s->max ? (uint32_t)s->left : s->max;
    s->at = s->backwards ? s->left - s->len : s->total - s->left;
    s->left -= s->len;
    return s->len != 0;
}

/* SDMA fill: @count bytes of the low byte of @value at @dst. */
static inline void a350_sqe_memset(a350_sqe *s, uint32_t task, uint64_t dst,
                                   uint32_t value, uint32_t count)
{
    a350_sqe_sdma(s, task, A350_SDMA_MEMSET, 0, dst, count);
    s->w[10] = value;
    s->w[11] = 0;
}

/* Rings @jetty up to producer index @pi (the next free block). */
static inline void a350_sqe_ubdma_db(a350_sqe *s, uint32_t task,
                                     uint32_t jetty, uint16_t pi)
{
    a350_sqe_init(s, A350_SQE_UBDMA, task, A350_CREDIT_DEFAULT);
    s->w[2] = A350_UBDMA_MODE_DOORBELL | (1u << A350_UBDMA_DB_NUM_SHIFT);
    s->w[4] = jetty & 0xffffu;
    s->w[5] = pi;
    s->w[8] = 1;
}

/*
 * Kernel launch. The three addresses are device addresses of this card's HBM
 * (48-bit fields): NUL-terminated library and function names, argument block.
 */
static inline void a350_sqe_aicpu(a350_sqe *s, uint32_t task,
                                  uint32_t kernel_type, uint32_t blocks,
                                  uint64_t so_name, uint64_t func_name,
                                  uint64_t args, uint32_t credit)
{
    a350_sqe_init(s, A350_SQE_AICPU_D, task, credit);
    s->w[0] |= blocks << A350_SQE_BLOCK_DIM_SHIFT;
    s->w[2] = (kernel_type & 0x7fu) << 16;
    s->w[4] = (uint32_t)so_name;
    s->w[5] = (uint32_t)(so_name >> 32) & 0xffffu;
    s->w[6] = (uint32_t)args;
    s->w[7] = ((uint32_t)(args >> 32) & 0xffffu) | 0xffff0000u;
    s->w[8] = (uint32_t)func_name;
    s->w[9] = (uint32_t)(func_name >> 32) & 0xffffu;
    s->w[12] = task;
    s->w[14] = (A350_TOPIC_KERNEL << 12) | (A350_TOPIC_USER_DATA_LEN << 24);
}

/*
 * Hardware CQE, 32-byte slot, 20 bytes used: spec/hw/task-queues.md §4, in
 * the reading that runtime and hcomm rely on.
 */
typedef struct a350_cqe {
    uint16_t h0;             /* phase 0, warn 1, evt 2, place 3, sq 14:4, err */
    uint16_t sq_head;
    uint16_t stream_id;      /* low half of the task number */
    uint16_t task_id;        /* high half */
    union {
        struct {
            uint32_t ts_low; /* normal completion, evt or place_hold */
            uint32_t ts_high;
        };
        struct {
            uint8_t error_bits;   /* A350_ERR_*, 6 bits */
            uint8_t flags_type;   /* notify_attached 0, next_task 1, type 7:2 */
            uint16_t sqe_index;
            uint32_t status;      /* software's; UB status in its low byte */
        };
    };
    uint8_t ub_status0, ub_sub0, ub_status1, ub_sub1;
    uint32_t reserved[3];
} a350_cqe;
A350_STATIC_ASSERT(sizeof(a350_cqe) == A350_CQE_SIZE);
A350_STATIC_ASSERT(offsetof(a350_cqe, ts_low) == 8);
A350_STATIC_ASSERT(offsetof(a350_cqe, status) == 12);
A350_STATIC_ASSERT(offsetof(a350_cqe, ub_status0) == 16);

#define A350_CQE_PHASE              0x0001u
#define A350_CQE_WARN               0x0002u
#define A350_CQE_EVT                0x0004u
#define A350_CQE_PLACE_HOLD         0x0008u
#define A350_CQE_SQ_SHIFT           4
#define A350_CQE_ERROR              0x8000u

#define A350_ERR_EXCEPTION          0x01u   /* 0x103 */
#define A350_ERR_BUS                0x02u   /* 0x112 */
#define A350_ERR_TIMEOUT            0x04u   /* 0x105 */
#define A350_ERR_SQE                0x08u   /* 0x106 */
#define A350_ERR_CONFLICT           0x10u   /* 0x113 */
#define A350_ERR_SW_STATUS          0x20u   /* 0x114: status itself is used */

/* SDMA status in the CQE's status word (hcomm reads 8, 9, 0xa). */
#define A350_SDMA_ST_DDRC           0x08u
#define A350_SDMA_ST_LINK           0x09u
#define A350_SDMA_ST_POISON         0x0au
#define A350_SDMA_ST_ADDR           0x01u   /* ours: address outside memory */
#define A350_SDMA_ST_OPCODE         0x02u   /* ours: unsupported op or type */
#define A350_SDMA_ST_LENGTH         0x03u   /* ours: not whole elements */

/* AICPU: CQE status = (errcode << 16) | status, spec/hw/aicpu.md §4. */
#define A350_AICPU_ST_OK            0u
#define A350_AICPU_ST_EXCEPTION     4u
#define A350_AICPU_ERR_TIMEOUT      0x28u
#define A350_AICPU_ERR_EXCEPTION    0x2au

#endif /* HW_ATLAS350_SQE_H */
