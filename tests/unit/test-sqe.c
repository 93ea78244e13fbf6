/*
 * Queue entry builders against bytes put together by hand from
 * spec/hw/task-queues.md §2 - §4. One row is one 32-bit word.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "hw/atlas350/sqe.h"
#include "tap.h"

#define Z 0, 0, 0, 0

/* §3 NOTIFY_RECORD: w2 notifyId[16:0], w3 subType 0, credit 254. */
static const uint8_t notify_record[64] = {
    0x06, 0, 0, 0,
    0x04, 0x03, 0x02, 0x01,
    0xcd, 0xab, 0x01, 0,
    0, 0, 0xfe, 0,
};

/* §3 NOTIFY_WAIT: clrFlag w2[31], subType 1, credit 255, w6 timeout 1836. */
static const uint8_t notify_wait[64] = {
    0x07, 0, 0, 0,
    0x04, 0x03, 0x02, 0x01,
    0xcd, 0xab, 0x01, 0x80,
    0x01, 0, 0xff, 0,
    Z, Z,
    0x2c, 0x07, 0, 0,
};

/* §3 WRITE_VALUE: 0x1_2345_6789_abc0, awsize 2 at w5[22:20], va w5[31]. */
static const uint8_t write_value[64] = {
    0x08, 0, 0, 0,
    0x04, 0x03, 0x02, 0x01,
    Z,
    0, 0, 0xfe, 0,
    0xc0, 0xab, 0x89, 0x67,
    0x45, 0x23, 0x21, 0x80,
    Z, Z,
    0x01, 0, 0, 0,
};

/* §3 SDMA: sssv dssv sns dns = w4[11:8]; w8 src, w10 dst, w12 length. */
static const uint8_t sdma_copy[64] = {
    0x0b, 0, 0, 0,
    0x04, 0x03, 0x02, 0x01,
    Z,
    0, 0, 0xfe, 0,
    0x00, 0x0f, 0, 0,
    Z, Z, Z,
    0x78, 0x56, 0x34, 0x12,
    0x00, 0x80, 0, 0,
    0x21, 0x43, 0x65, 0x87,
    0x00, 0x90, 0, 0,
    0x40, 0x30, 0x20, 0x10,
};

/* opcode MAX 2 | FP16 0x60. */
static const uint8_t sdma_max_fp16[64] = {
    0x0b, 0, 0, 0,
    0x04, 0x03, 0x02, 0x01,
    Z,
    0, 0, 0xfe, 0,
    0x62, 0x0f, 0, 0,
    Z, Z, Z,
    0x78, 0x56, 0x34, 0x12,
    0x00, 0x80, 0, 0,
    0x21, 0x43, 0x65, 0x87,
    0x00, 0x90, 0, 0,
    0x10, 0, 0, 0,
};

/* MEMSET 5: w8-9 target, w10 fill value, w12 count. */
static const uint8_t sdma_memset[64] = {
    0x0b, 0, 0, 0,
    0x04, 0x03, 0x02, 0x01,
    Z,
    0, 0, 0xfe, 0,
    0x05, 0x0f, 0, 0,
    Z, Z, Z,
    0x78, 0x56, 0x34, 0x12,
    0x00, 0x80, 0, 0,
    0xa5, 0, 0, 0,
    Z,
    0x03, 0x10, 0, 0,
};

/* §3 UBDMA doorbell form: mode 1, doorbellNum[2:1] 1, jetty, pi, source 1. */
static const uint8_t ubdma[64] = {
    0x09, 0, 0, 0,
    0x04, 0x03, 0x02, 0x01,
    0x03, 0, 0, 0,
    0, 0, 0xfe, 0,
    0x34, 0x12, 0, 0,
    0xdc, 0xfe, 0, 0,
    Z, Z,
    0x01, 0, 0, 0,
};

/* §3 PLACE_HOLDER: preP w0[9], task type 103 NOP. */
static const uint8_t nop[64] = {
    0x03, 0x02, 0, 0,
    0x04, 0x03, 0x02, 0x01,
    Z,
    0x67, 0, 0xfe, 0,
};

/* §3 AICPU_D: blockDim 1, kernelType[22:16] 4, topicId[17:12] 3, length 40. */
static const uint8_t aicpu[64] = {
    0x05, 0, 0x01, 0,
    0x04, 0x03, 0x02, 0x01,
    0, 0, 0x04, 0,
    0, 0, 0x10, 0,
    0x00, 0x10, 0, 0,
    0x00, 0x80, 0, 0,
    0x40, 0, 0x10, 0,
    0x00, 0x80, 0xff, 0xff,
    0x80, 0x10, 0, 0,
    0x00, 0x80, 0, 0,
    Z, Z,
    0x04, 0x03, 0x02, 0x01,
    Z,
    0x00, 0x30, 0, 0x28,
    Z,
};

static void test_builders(void)
{
    const uint64_t src = 0x800012345678, dst = 0x900087654321;
    const uint32_t task = 0x01020304, one = 1;
    a350_sqe s;

    a350_sqe_notify_record(&s, task, 0x1abcd);
    is_bytes(&s, notify_record, 64, "NOTIFY_RECORD");
    a350_sqe_notify_wait(&s, task, 0x1abcd, 1836);
    is_bytes(&s, notify_wait, 64, "NOTIFY_WAIT, 1836 s");
    a350_sqe_write_value(&s, task, 0x123456789abc0, 2, &one,
                         A350_WV_SUB_DEFAULT);
    is_bytes(&s, write_value, 64, "WRITE_VALUE, 32 bits");
    a350_sqe_sdma(&s, task, A350_SDMA_CPY, dst, src, 0x10203040);
    is_bytes(&s, sdma_copy, 64, "SDMA copy");
    a350_sqe_sdma(&s, task, A350_SDMA_MAX | A350_SDMA_FP16, dst, src, 16);
    is_bytes(&s, sdma_max_fp16, 64, "SDMA reduce");
    a350_sqe_memset(&s, task, src, 0xa5, 0x1003);
    is_bytes(&s, sdma_memset, 64, "SDMA memset");
    a350_sqe_ubdma_db(&s, task, 0x1234, 0xfedc);
    is_bytes(&s, ubdma, 64, "UBDMA doorbell");
    a350_sqe_nop(&s, task);
    is_bytes(&s, nop, 64, "PLACE_HOLDER NOP");
    a350_sqe_aicpu(&s, task, A350_KERNEL_TYPE_CUSTOM, 1, 0x800000001000,
                   0x800000001080, 0x800000100040, 16);
    is_bytes(&s, aicpu, 64, "AICPU_D");
}

/* Each WRITE_VALUE width fills its bytes and no more: awsize = log2. */
static void test_write_value_widths(void)
{
    uint8_t data[32], want[32];
    a350_sqe s;
    uint32_t i;

    for (i = 0; i < 32; i++) {
        data[i] = (uint8_t)(i + 1);
    }
    for (i = 0; i <= 5; i++) {
        memset(want, 0, sizeof(want));
        memcpy(want, data, 1u << i);
        a350_sqe_write_value(&s, 0, 0x1000, i, data, A350_WV_SUB_IPC_PCIE);
        ok(memcmp(&s.w[8], want, 32) == 0 && s.w[7] == 4 &&
           ((s.w[5] >> 20) & 7) == i, "WRITE_VALUE of %u bytes", 1u << i);
    }
}

/* §4: byte 9[7:2] is the entry's type, byte 12 the status. */
static void test_cqe(void)
{
    static const uint8_t raw[32] = {
        0x31, 0x92,              /* phase 1, sq 0x123, error */
        0x56, 0x04,              /* sq head */
        0x04, 0x03, 0x02, 0x01,  /* task number */
        0x08, 0x18, 0x78, 0x01,  /* bad SQE, type 6, index 0x178 */
        0x03, 0, 0, 0,           /* status */
        0x03, 0x02, 0, 0,        /* UB status 0, sub-status 0 */
    };
    a350_cqe c;

    memcpy(&c, raw, sizeof(c));
    is(c.h0 & A350_CQE_PHASE, 1, "CQE phase");
    is((c.h0 >> A350_CQE_SQ_SHIFT) & A350_SQ_ID_MASK, 0x123, "CQE sq id");
    ok(c.h0 & A350_CQE_ERROR, "CQE error bit");
    is(c.sq_head, 0x456, "CQE sq head");
    is(c.stream_id | (uint32_t)c.task_id << 16, 0x01020304, "CQE task");
    is(c.error_bits, A350_ERR_SQE, "CQE error bits");
    is(c.flags_type >> 2, A350_SQE_NOTIFY_RECORD, "CQE sqe type");
    is(c.sqe_index, 0x178, "CQE sqe index");
    is(c.status, 3, "CQE status");
    is(c.ub_status0, 3, "CQE UB status");
    is(c.ub_sub0, 2, "CQE UB sub-status");
}

/* §5: 16 ids a 4 KiB page, 4096 a 2 MiB slice, 8 bytes apart. */
static void test_notify_offsets(void)
{
    is(a350_notify_offset(0), 0, "notify 0");
    is(a350_notify_offset(15), 0x78, "notify 15");
    is(a350_notify_offset(16), 0x1000, "notify 16");
    is(a350_notify_offset(4095), 0xff078, "notify 4095");
    is(a350_notify_offset(4096), 0x200000, "notify 4096");
    is(a350_notify_offset(65535), 0x1eff078, "notify 65535");
    is(a350_cnt_notify_offset(1), 0x20, "counting notify 1");
    is(a350_cnt_notify_offset(16), 0x1000, "counting notify 16");
    is(a350_cnt_notify_offset(128), 0x10000, "counting notify 128");
    is(a350_cnt_notify_offset(2047), 0xf71e0, "counting notify 2047");
}

int main(void)
{
    test_builders();
    test_write_value_widths();
    test_cqe();
    test_notify_offsets();
    return done_testing();
}
