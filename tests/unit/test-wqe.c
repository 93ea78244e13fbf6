/*
 * Work queue entry builders against bytes put together by hand from
 * spec/hw/transport.md §2. One row is one 32-bit word.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "hw/atlas350/ub.h"
#include "tap.h"

#define Z 0, 0, 0, 0

/* Words 4-7: the end point address backwards. */
#define EID_REVERSED \
    0xef, 0xee, 0xed, 0xec, 0xeb, 0xea, 0xe9, 0xe8, \
    0xe7, 0xe6, 0xe5, 0xe4, 0xe3, 0xe2, 0xe1, 0xe0

static const a350_ub_remote rmt = {
    { 0xe0, 0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7,
      0xe8, 0xe9, 0xea, 0xeb, 0xec, 0xed, 0xee, 0xef },
    0xabcde, 0xdeadbeef
};

/* Strong order 2 at [17:16], compOrder 18, fence 19, se 20, cqe 21, tokenEn
   28, rmtJettyType 1 at [30:29]; opcode 3 at w1[15:8]; sgeNum 1. */
static const uint8_t write_strong[64] = {
    0, 0, 0x3e, 0x30,
    0, 0x03, 0, 0,
    0x56, 0x34, 0x12, 0x01,
    0xde, 0xbc, 0x0a, 0,
    EID_REVERSED,
    0xef, 0xbe, 0xad, 0xde,
    Z,
    0x44, 0x33, 0x22, 0x11,
    0x00, 0x88, 0, 0,
    0x00, 0x00, 0x00, 0x10,
    0x21, 0x43, 0x05, 0,
    0x80, 0x70, 0x60, 0x50,
    0x00, 0x80, 0, 0,
};

/* Relax 1, compOrder and fence, no cqe; opcode 6. */
static const uint8_t read_first[64] = {
    0, 0, 0x1d, 0x30,
    0, 0x06, 0, 0,
    0x56, 0x34, 0x12, 0x01,
    0xde, 0xbc, 0x0a, 0,
    EID_REVERSED,
    0xef, 0xbe, 0xad, 0xde,
    Z,
    0x44, 0x33, 0x22, 0x11,
    0x00, 0x88, 0, 0,
    0x01, 0, 0, 0,
    0x21, 0x43, 0x05, 0,
    0x80, 0x70, 0x60, 0x50,
    0x00, 0x80, 0, 0,
};

/* udfFlag 23; w9: udfType 0, reduceType FP32 7, reduceOp ADD 0xa. */
static const uint8_t write_add_fp32[64] = {
    0, 0, 0xbe, 0x30,
    0, 0x03, 0, 0,
    0x56, 0x34, 0x12, 0x01,
    0xde, 0xbc, 0x0a, 0,
    EID_REVERSED,
    0xef, 0xbe, 0xad, 0xde,
    0x00, 0xa7, 0, 0,
    0x44, 0x33, 0x22, 0x11,
    0x00, 0x88, 0, 0,
    0x40, 0, 0, 0,
    0x21, 0x43, 0x05, 0,
    0x80, 0x70, 0x60, 0x50,
    0x00, 0x80, 0, 0,
};

/* inlineEn 22, inlineMsgLen 4 at w1[31:22], sgeNum stays 1, value in w12. */
static const uint8_t inline4[64] = {
    0, 0, 0x7e, 0x30,
    0, 0x03, 0, 0x01,
    0x56, 0x34, 0x12, 0x01,
    0xde, 0xbc, 0x0a, 0,
    EID_REVERSED,
    0xef, 0xbe, 0xad, 0xde,
    Z,
    0x44, 0x33, 0x22, 0x11,
    0x00, 0x88, 0, 0,
    0x01, 0, 0, 0,
};

/* Opcode 5: words 12-17 notify, 18-19 reserved, 20-23 local SGE. */
static const uint8_t write_notify[96] = {
    0, 0, 0x3e, 0x30,
    0, 0x05, 0, 0,
    0x56, 0x34, 0x12, 0x01,
    0xde, 0xbc, 0x0a, 0,
    EID_REVERSED,
    0xef, 0xbe, 0xad, 0xde,
    Z,
    0x44, 0x33, 0x22, 0x11,
    0x00, 0x88, 0, 0,
    0x77, 0x66, 0x05, 0,
    0x0d, 0xf0, 0xed, 0xfe,
    0x08, 0x10, 0x00, 0x02,
    0x00, 0x8c, 0, 0,
    0x01, 0, 0, 0,
    Z,
    Z, Z,
    0x00, 0x10, 0, 0,
    0x21, 0x43, 0x05, 0,
    0x80, 0x70, 0x60, 0x50,
    0x00, 0x80, 0, 0,
};

enum {
    STRONG = A350_WQE_ODR_STRONG << A350_WQE_ODR_SHIFT | A350_WQE_COMP_ORDER |
             A350_WQE_FENCE | A350_WQE_CQE,
    FIRST = A350_WQE_ODR_RELAX << A350_WQE_ODR_SHIFT | A350_WQE_COMP_ORDER |
            A350_WQE_FENCE,
};

#define REMOTE 0x880011223344u
#define LOCAL  0x800050607080u

static void test_builders(void)
{
    a350_wqe q;

    a350_wqe_rw(&q, A350_UB_WRITE, STRONG, &rmt, REMOTE, 0x123456, LOCAL,
                256u << 20, 0x54321);
    is_bytes(&q, write_strong, 64, "WRITE of 256 MiB, strong");
    is(a350_wqe_blocks(&q), 1, "WRITE takes one block");
    a350_wqe_rw(&q, A350_UB_READ, FIRST, &rmt, REMOTE, 0x123456, LOCAL, 1,
                0x54321);
    is_bytes(&q, read_first, 64, "READ of one byte, relaxed");
    a350_wqe_rw(&q, A350_UB_WRITE, STRONG, &rmt, REMOTE, 0x123456, LOCAL, 64,
                0x54321);
    a350_wqe_set_reduce(&q, A350_UB_ADD, A350_UB_FP32);
    is_bytes(&q, write_add_fp32, 64, "WRITE with reduction");
    a350_wqe_inline4(&q, STRONG, &rmt, REMOTE, 0x123456, 1);
    is_bytes(&q, inline4, 64, "inline WRITE of 4 bytes");
    a350_wqe_write_notify(&q, STRONG, &rmt, REMOTE, 0x123456, LOCAL, 4096,
                          0x54321, 0x8c0002001008, 0x56677, 0xfeedf00d, 1);
    is_bytes(&q, write_notify, 96, "WRITE_WITH_NOTIFY");
    is(a350_wqe_blocks(&q), 2, "WRITE_WITH_NOTIFY takes two blocks");
}

/* "sgeNum is 1, or 0 when length 0". */
static void test_empty(void)
{
    uint8_t want[96];
    a350_wqe q;

    memcpy(want, write_notify, 96);
    want[11] = 0;
    memset(want + 80, 0, 4);
    a350_wqe_write_notify(&q, STRONG, &rmt, REMOTE, 0x123456, LOCAL, 0,
                          0x54321, 0x8c0002001008, 0x56677, 0xfeedf00d, 1);
    is_bytes(&q, want, 96, "empty WRITE_WITH_NOTIFY");
    a350_wqe_ctrl(&q, A350_UB_NOP, A350_WQE_CQE, &rmt, 0, 0, 0);
    is(q.w[1], 0x1100, "NOP is opcode 0x11");
}

static void test_eid(void)
{
    /* Bytes 8-11 are 00 10 00 00, then the card's number + 1. */
    static const uint8_t want[16] = {
        0, 0, 0, 0, 0, 0, 0, 0x05, 0, 0x10, 0, 0, 0, 0, 0, 0x04
    };
    uint8_t eid[16], bad[16];

    a350_eid_make(eid, 5, 3);
    is_bytes(eid, want, 16, "EID of card 3 in fabric 5");
    is(a350_eid_card(eid), 3, "card of that EID");
    memset(bad, 0, sizeof(bad));
    is(a350_eid_card(bad), UINT32_MAX, "EID of nobody");
}

int main(void)
{
    test_builders();
    test_empty();
    test_eid();
    return done_testing();
}
