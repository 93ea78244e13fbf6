/*
 * Device side of Hcomm: the entries it writes and the codes it returns.
 * Expected values: spec/hw/task-queues.md §3, spec/hw/transport.md §2, §3,
 * spec/api/hcomm-data-plane.md §2 - §4.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include "hcomm-mock.h"
#include "tap.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

static a350_thread_obj *t, *t2;
static a350_channel_obj *ch;
#define T  ((ThreadHandle)(uintptr_t)t)
#define T2 ((ThreadHandle)(uintptr_t)t2)
#define C  ((ChannelHandle)(uintptr_t)ch)

static void *ptr(uint64_t addr)
{
    return (void *)(uintptr_t)addr;
}

static void fresh(uint32_t depth, uint32_t blocks)
{
    mock_reset();
    t = mock_thread(0, depth, 4);
    t2 = mock_thread(1, depth, 2);
    ch = mock_channel(blocks, 3);
}

static bool logged(const char *text)
{
    return strstr(mock_log, text) != NULL;
}

/* Common to SDMA entries of hcomm: w0, w3, the four attribute bits. */
static bool is_sdma(const a350_sqe *s, uint32_t op, uint64_t dst, uint64_t src,
                    uint32_t len)
{
    return s->w[0] == 11 && s->w[3] == 254u << 16 &&
           s->w[4] == (0xf00u | op) && u64at(&s->w[8]) == src &&
           u64at(&s->w[10]) == dst && s->w[12] == len;
}

static void test_local_copy(void)
{
    uint64_t d = mock_local(0), s = mock_local(1 * GIB);
    uint64_t left = 9 * GIB + 5, pos = 0;
    uint32_t n = 0;
    bool good = true;

    fresh(129, 64);
    is(HcommLocalCopyOnThread(T, ptr(d), ptr(s), 0), 0, "copy of 0 bytes");
    is(mock_launched(t), 0, "queues nothing");
    is(HcommLocalCopyOnThread(T, ptr(d), ptr(s), 1), 0, "copy of 1 byte");
    ok(mock_launched(t) == 1 && is_sdma(mock_sqe(t, 0), 0, d, s, 1),
       "is one SDMA entry");
    is(mock_tail(t), 1, "and rings the tail");
    is(HcommLocalCopyOnThread(T, ptr(d), ptr(s), UINT32_MAX), 0,
       "copy of 4 GiB - 1");
    ok(mock_launched(t) == 2 &&
       is_sdma(mock_sqe(t, 1), 0, d, s, UINT32_MAX), "is one entry");
    is(HcommLocalCopyOnThread(T, ptr(d), ptr(s), left), 0,
       "copy of 9 GiB + 5");
    for (n = 2; n < mock_launched(t); n++) {
        const a350_sqe *e = mock_sqe(t, n);

        good &= e->w[12] != 0 && is_sdma(e, 0, d + pos, s + pos, e->w[12]);
        pos += e->w[12];
    }
    ok(good && pos == left && n == 5, "is 3 adjoining entries, none empty");
    /* Up within one block: what is overwritten first has been read. */
    is(HcommLocalCopyOnThread(T, ptr(s + 1024), ptr(s), left), 0,
       "copy of 9 GiB + 5 to 1 KiB above");
    for (pos = left, good = true, n = 5; n < mock_launched(t); n++) {
        const a350_sqe *e = mock_sqe(t, n);

        pos -= e->w[12];
        good &= is_sdma(e, 0, s + 1024 + pos, s + pos, e->w[12]);
    }
    ok(good && pos == 0 && n == 8, "begins with its last entry");
    is(HcommLocalCopyOnThread(T, ptr(s - 1024), ptr(s), left), 0,
       "to 1 KiB below");
    ok(is_sdma(mock_sqe(t, 8), 0, s - 1024, s, mock_sqe(t, 8)->w[12]),
       "with its first");
    is(mock_sqe(t, 4)->w[1], mock_sqe(t, 3)->w[1] + 1, "task numbers go up");
}

static void test_local_reduce(void)
{
    static const uint8_t ok_types[] = { 0, 1, 2, 3, 4, 11 };
    static const uint8_t code[] = { 0x00, 0x10, 0x20, 0x60, 0x70, 0x80 };
    static const uint8_t size[] = { 1, 2, 4, 2, 4, 2 };
    static const uint8_t op[] = { 0, 2, 3 }, opcode[] = { 1, 2, 3 };
    static const uint8_t refused[] = { 5, 6, 7, 8, 9, 10, 12 };
    static const uint8_t unknown[] = { 13, 14, 15, 16, 17, 18, 255 };
    uint64_t d = mock_local(0), s = mock_local(4096);
    uint32_t i, k, n = 0;
    bool good = true;

    fresh(129, 64);
    for (i = 0; i < 6; i++) {
        for (k = 0; k < 3; k++, n++) {
            good &= HcommLocalReduceOnThread(T, ptr(d), ptr(s), 33,
                                             ok_types[i], op[k]) == 0 &&
                    is_sdma(mock_sqe(t, n), code[i] | opcode[k], d, s,
                            33u * size[i]);
        }
    }
    ok(good && mock_launched(t) == 18, "local reduce, 6 types x 3 operations");
    for (i = 0, good = true; i < 7; i++) {
        good &= HcommLocalReduceOnThread(T, ptr(d), ptr(s), 1, refused[i],
                                         HCOMM_REDUCE_SUM) == HCCL_E_INTERNAL;
    }
    ok(good, "types that SDMA can not reduce: E_INTERNAL");
    for (i = 0, good = true; i < 7; i++) {
        good &= HcommLocalReduceOnThread(T, ptr(d), ptr(s), 1, unknown[i],
                                         HCOMM_REDUCE_SUM) == HCCL_E_PARA;
    }
    ok(good, "types that are none: E_PARA");
    is(HcommLocalReduceOnThread(T, ptr(d), ptr(s), 1, HCOMM_DATA_TYPE_FP32,
                                HCOMM_REDUCE_PROD), HCCL_E_INTERNAL, "PROD");
    is(HcommLocalReduceOnThread(T, ptr(d), ptr(s), 1, HCOMM_DATA_TYPE_FP32,
                                (HcommReduceOp)4), HCCL_E_PARA, "operation 4");
    is(HcommLocalReduceOnThread(T, ptr(d), ptr(s), UINT64_MAX / 2,
                                HCOMM_DATA_TYPE_FP32, HCOMM_REDUCE_SUM),
       HCCL_E_PARA, "count beyond 64 bits of bytes");
    is(mock_launched(t), 18, "nothing was queued by the refused ones");
}

static void test_thread_notify(void)
{
    fresh(129, 64);
    is(HcommThreadNotifyRecordOnThread(T, T2, 1), 0, "thread record");
    ok(mock_sqe(t, 0)->w[0] == 6 && mock_sqe(t, 0)->w[2] == 2001 &&
       mock_sqe(t, 0)->w[3] == 254u << 16, "names the other's notify");
    is(HcommThreadNotifyWaitOnThread(T, 3, 7), 0, "thread wait");
    ok(mock_sqe(t, 1)->w[0] == 7 && mock_sqe(t, 1)->w[2] == (1003 | 1u << 31)
       && mock_sqe(t, 1)->w[3] == (255u << 16 | 1) && mock_sqe(t, 1)->w[6] == 7,
       "clears, credit 255, 7 s");
    is(HcommThreadNotifyWaitOnThreadWithDefaultTimeout(T, 0), 0,
       "wait, default time");
    is(mock_sqe(t, 2)->w[6], 1836, "1836 s");
    is(HcommSetNotifyWaitTimeOut(12.9f), 0, "another default");
    HcommThreadNotifyWaitOnThreadWithDefaultTimeout(T, 0);
    is(mock_sqe(t, 3)->w[6], 12, "fraction dropped");
    is(HcommSetNotifyWaitTimeOut(NAN), HCCL_E_PARA, "NaN seconds");
    is(HcommSetNotifyWaitTimeOut(-1.0f), HCCL_E_PARA, "-1 seconds");
    is(HcommSetNotifyWaitTimeOut(4294967296.0f), HCCL_E_PARA, "2^32 seconds");
    is(HcommThreadNotifyWaitOnThread(T, 4, 0), HCCL_E_PTR, "index = number");
    is(HcommThreadNotifyRecordOnThread(T, T2, 2), HCCL_E_PTR,
       "recorded index = number");
    ok(logged("notify index 2 of rank 3, thread 1 is out of range: it has 2"),
       "message names the index");
    is(HcommAclrtNotifyRecordOnThread(T, 77), 0, "runtime notify");
    is(mock_sqe(t, 4)->w[2], 77, "by its id");
    is(HcommAclrtNotifyWaitOnThread(T, 65536, 1), HCCL_E_PARA, "id 65536");
}

static void test_handles(void)
{
    static uint64_t outside[64];
    uint64_t d = mock_local(0);

    fresh(129, 64);
    is(HcommLocalCopyOnThread(0, ptr(d), ptr(d), 1), HCCL_E_PTR, "thread 0");
    is(HcommLocalCopyOnThread(T, NULL, ptr(d), 1), HCCL_E_PTR, "dst null");
    is(HcommLocalCopyOnThread(T, ptr(d), NULL, 1), HCCL_E_PTR, "src null");
    is(HcommLocalCopyOnThread((uintptr_t)outside, ptr(d), ptr(d), 1),
       HCCL_E_PTR, "host-side handle");
    ok(logged("a handle of the host side?"), "message says so");
    is(HcommLocalCopyOnThread(T + 4, ptr(d), ptr(d), 1), HCCL_E_PTR,
       "crooked handle");
    is(HcommLocalCopyOnThread(C, ptr(d), ptr(d), 1), HCCL_E_PTR,
       "a channel as thread");
    ok(logged("is a channel"), "message says so");
    is(HcommWriteOnThread(T, T, ptr(MOCK_REMOTE), ptr(d), 1), HCCL_E_PTR,
       "a thread as channel");
    is(HcommWriteOnThread(T, 0, ptr(MOCK_REMOTE), ptr(d), 1), HCCL_E_PTR,
       "channel 0");
    t2->magic = 0;
    is(HcommThreadNotifyRecordOnThread(T, T2, 0), HCCL_E_PTR, "freed thread");
    ok(logged("not a live object"), "message says so");
    t2->magic = A350_THREAD_MAGIC;
    t2->kind = A350_THREAD_EXPORTED;
    is(HcommThreadNotifyRecordOnThread(T, T2, 0), 0, "record on a host thread");
    is(HcommLocalCopyOnThread(T2, ptr(d), ptr(d), 1), HCCL_E_PTR,
       "copy on a host thread");
    t->sq_tail = 129;
    is(HcommLocalCopyOnThread(T, ptr(d), ptr(d), 1), HCCL_E_PTR,
       "tail beyond the ring");
    t->sq_tail = 0;
    ch->wq_base = 0x1000;
    is(HcommWriteOnThread(T, C, ptr(MOCK_REMOTE), ptr(d), 1), HCCL_E_PTR,
       "ring outside the card");
    is(mock_launched(t), 1, "only the good one was queued");
}

/* The plain WQE at block @n: what every one of them carries. */
static bool is_wqe(uint32_t n, uint32_t opcode, uint32_t order, uint64_t remote,
                   uint64_t local, uint32_t len)
{
    const uint32_t *w = mock_block(ch, n);

    return bits(w[0], 31, 16) == (0x3010 | order) && w[1] == opcode << 8 &&
           w[2] == (0x00abcd | (len ? 1u << 24 : 0)) && w[3] == 0x33333 &&
           w[4] == 0xecedeeef && w[7] == 0xe0e1e2e3 && w[8] == 0xbbbb &&
           u64at(&w[10]) == remote && w[12] == len &&
           u64at(&w[14]) == local;
}
/* Upper half of word 0 without se, tokenEn and type: placeOdr, compOrder 4,
   fence 8, cqe 0x20. */
enum { LAST = 0x2e, FIRST = 0x0d, MIDDLE = 0x01, FENCED = 0x0e, INNER = 0x09 };

static bool is_doorbell(const a350_sqe *s, uint32_t pi)
{
    return s->w[0] == 9 && bits(s->w[2], 2, 0) == 3 && s->w[4] == 0x4321 &&
           s->w[5] == pi && bits(s->w[3], 23, 16) == 254;
}

static void test_write_sizes(void)
{
    uint64_t r = MOCK_REMOTE, l = mock_local(0);

    fresh(129, 64);
    is(HcommWriteOnThread(T, C, ptr(r), ptr(l), 1), 0, "write of 1 byte");
    ok(is_wqe(0, 3, LAST, r, l, 1) && mock_block(ch, 0)[13] == 0x11111,
       "one strong WRITE");
    ok(mock_launched(t) == 1 && is_doorbell(mock_sqe(t, 0), 1),
       "one doorbell, PI 1");
    is(HcommWriteOnThread(T, C, ptr(r), ptr(l), 256 * MIB), 0, "256 MiB");
    ok(is_wqe(1, 3, LAST, r, l, 256 * MIB) &&
       is_doorbell(mock_sqe(t, 1), 2), "one WRITE");
    is(HcommWriteOnThread(T, C, ptr(r), ptr(l), 256 * MIB + 1), 0,
       "256 MiB + 1");
    ok(is_wqe(2, 3, FIRST, r, l, 256 * MIB) &&
       is_wqe(3, 3, LAST, r + 256 * MIB, l + 256 * MIB, 1) &&
       is_doorbell(mock_sqe(t, 2), 4), "two WRITEs, one doorbell");
    is(HcommReadOnThread(T, C, ptr(l), ptr(r), 768 * MIB), 0, "read 768 MiB");
    ok(is_wqe(4, 6, FIRST, r, l, 256 * MIB) &&
       is_wqe(5, 6, MIDDLE, r + 256 * MIB, l + 256 * MIB, 256 * MIB) &&
       is_wqe(6, 6, LAST, r + 512 * MIB, l + 512 * MIB, 256 * MIB) &&
       is_doorbell(mock_sqe(t, 3), 7), "first, middle and last order");
    is(HcommWriteOnThread(T, C, ptr(r), ptr(l), 0), 0, "write of nothing");
    ok(is_doorbell(mock_sqe(t, 4), 7), "a doorbell with the same PI");
    is(HcommWriteOnThread(T, C, ptr(r), ptr(mock_local(0x100000)), 0x100000),
       0, "from registered memory");
    is(mock_block(ch, 7)[13], 0x22222, "uses its token");
}

static void test_4gib(void)
{
    uint64_t r = MOCK_REMOTE, l = mock_local(0);
    uint32_t i;
    bool good = true;

    fresh(129, 64);
    is(HcommWriteWithNotifyOnThread(T, C, ptr(r), ptr(l), 4 * GIB + 3, 2), 0,
       "write with notify of 4 GiB + 3");
    for (i = 0; i < 16; i++) {
        good &= is_wqe(i, 3, i ? MIDDLE : FIRST, r + i * 256 * MIB,
                       l + i * 256 * MIB, 256 * MIB);
    }
    ok(good, "16 plain slices");
    ok(mock_block(ch, 16)[1] == 5u << 8 && mock_block(ch, 17)[4] == 3,
       "the last slice of 3 bytes carries the notify");
    ok(mock_launched(t) == 1 && is_doorbell(mock_sqe(t, 0), 18),
       "one doorbell, PI 18");
}

static void test_with_notify(void)
{
    uint64_t r = MOCK_REMOTE, l = mock_local(0);
    const uint32_t *w, *v;

    fresh(129, 64);
    is(HcommWriteWithNotifyOnThread(T, C, ptr(r), ptr(l), 512 * MIB, 1), 0,
       "exact multiple of 256 MiB");
    w = mock_block(ch, 1);
    v = mock_block(ch, 2);
    ok(is_wqe(0, 3, FIRST, r, l, 256 * MIB) && w[1] == 5u << 8 &&
       bits(w[0], 31, 16) == (0x3010 | LAST), "notify on the last slice");
    ok(w[12] == 0x55551 && w[13] == 0xdd01 &&
       u64at(&w[14]) == 0x9c0002000008 && v[0] == 1 && v[1] == 0,
       "notify register, token and datum 1");
    ok(v[4] == 256 * MIB && v[5] == 0x11111 &&
       u64at(&v[6]) == l + 256 * MIB, "local range in words 20-23");
    is(HcommWriteWithNotifyOnThread(T, C, ptr(r), ptr(l), 0, 0), 0,
       "zero length");
    w = mock_block(ch, 3);
    ok(w[1] == 5u << 8 && bits(w[2], 31, 24) == 0 && w[12] == 0x55550 &&
       mock_block(ch, 4)[0] == 1 && mock_block(ch, 4)[4] == 0 &&
       is_doorbell(mock_sqe(t, 1), 5), "still notifies");
    is(HcommWriteReduceWithNotifyOnThread(T, C, ptr(r), ptr(l), 3,
       HCOMM_DATA_TYPE_BFP16, HCOMM_REDUCE_MIN, 2), 0, "reduce with notify");
    w = mock_block(ch, 5);
    ok(bits(w[0], 23, 23) == 1 && w[9] == (8u << 8 | 9u << 12) &&
       w[1] == 5u << 8 && mock_block(ch, 6)[4] == 6, "MIN of BF16, 6 bytes");
    is(HcommWriteWithNotifyOnThread(T, C, ptr(r), ptr(l), 1, 3), HCCL_E_PARA,
       "notify index 3 of 3");
    is(HcommChannelNotifyRecordOnThread(T, C, 3), HCCL_E_PARA, "record of 3");
    is(HcommChannelNotifyWaitOnThread(T, C, 3, 0), HCCL_E_PARA, "wait for 3");
    ok(logged("notify index 3 of rank 3, channel to rank 5"), "is named");
}

static void test_channel_notify(void)
{
    const uint32_t *w;

    fresh(129, 64);
    is(HcommChannelNotifyRecordOnThread(T, C, 2), 0, "channel record");
    w = mock_block(ch, 0);
    ok(bits(w[0], 31, 16) == (0x3050 | LAST) && w[1] == (3u << 8 | 4u << 22) &&
       bits(w[2], 31, 24) == 1 && w[3] == 0x55552 && w[8] == 0xdd02 &&
       u64at(&w[10]) == 0x9c0002000010 && w[12] == 1,
       "inline WRITE of 1 to the register");
    ok(is_doorbell(mock_sqe(t, 0), 1), "and a doorbell");
    is(HcommChannelNotifyWaitOnThread(T, C, 1, 0), 0, "channel wait");
    ok(mock_sqe(t, 1)->w[0] == 7 && mock_sqe(t, 1)->w[2] == (501 | 1u << 31) &&
       mock_sqe(t, 1)->w[6] == 0, "waits for the local notify, for ever");
    is(HcommChannelNotifyWaitOnThreadWithDefaultTimeout(T, C, 0), 0,
       "default time");
    is(mock_sqe(t, 2)->w[6], 1836, "1836 s");
}

static void test_remote_reduce(void)
{
    static const uint8_t type[] = { 0, 1, 2, 3, 4, 7, 8, 9, 11 };
    static const uint8_t code[] = { 0, 1, 2, 6, 7, 3, 4, 5, 8 };
    static const uint8_t op[] = { 0, 2, 3 }, opcode[] = { 0xa, 8, 9 };
    uint64_t r = MOCK_REMOTE, l = mock_local(0);
    uint32_t i, k, n = 0;
    bool good = true;

    fresh(129, 256);
    for (i = 0; i < 9; i++) {
        for (k = 0; k < 3; k++, n++) {
            good &= HcommReadReduceOnThread(T, C, ptr(l), ptr(r), 4, type[i],
                                            op[k]) == 0 &&
                    mock_block(ch, n)[9] ==
                    ((uint32_t)code[i] << 8 | (uint32_t)opcode[k] << 12) &&
                    mock_block(ch, n)[1] == 6u << 8;
        }
    }
    ok(good, "read-reduce, 9 types x 3 operations");
    is(HcommWriteReduceOnThread(T, C, ptr(r), ptr(l), 1, HCOMM_DATA_TYPE_INT64,
                                HCOMM_REDUCE_SUM), HCCL_E_INTERNAL, "int64");
    is(HcommWriteReduceOnThread(T, C, ptr(r), ptr(l), 1,
                                HCOMM_DATA_TYPE_FP8E4M3, HCOMM_REDUCE_SUM),
       HCCL_E_PARA, "fp8");
    is(HcommWriteReduceOnThread(T, C, ptr(r), ptr(l), 1, HCOMM_DATA_TYPE_INT8,
                                HCOMM_REDUCE_PROD), HCCL_E_INTERNAL, "PROD");
}

static void test_ranges(void)
{
    uint64_t r = MOCK_REMOTE, e = MOCK_REMOTE + MOCK_REMOTE_SIZE;
    uint64_t l = mock_local(0);

    fresh(129, 64);
    is(HcommWriteOnThread(T, C, ptr(e - 1), ptr(l), 1), 0, "last byte");
    is(HcommWriteOnThread(T, C, ptr(e - 1), ptr(l), 2), HCCL_E_INTERNAL,
       "one beyond the region");
    ok(logged("is not inside one of the 2 exchanged regions"), "is said");
    is(HcommWriteOnThread(T, C, ptr(r - 1), ptr(l), 2), HCCL_E_INTERNAL,
       "one before the region");
    is(HcommReadOnThread(T, C, ptr(l), ptr(r), UINT64_MAX), HCCL_E_INTERNAL,
       "length that wraps");
    is(HcommWriteOnThread(T, C, ptr(MOCK_REMOTE2), ptr(l), 4096), 0,
       "second region");
    is(mock_block(ch, 1)[3], 0x44444, "has its own token");
    is(HcommWriteOnThread(T, C, ptr(r), ptr(0x7000), 1), HCCL_E_PARA,
       "local operand in host memory");
    is(HcommWriteOnThread(T, C, ptr(r), NULL, 1), HCCL_E_PTR, "src null");
    is(HcommReadOnThread(T, C, NULL, ptr(r), 1), HCCL_E_PTR, "dst null");
    ch->local_any_token = A350_ID_NONE;
    is(HcommWriteOnThread(T, C, ptr(r), ptr(l), 1), HCCL_E_INTERNAL,
       "no token for local memory");
    is(mock_launched(t), 2, "only the two good ones were queued");
}

/* Fence flag: the next data operation only; a record leaves it alone. */
static void test_fence(void)
{
    uint64_t r = MOCK_REMOTE, l = mock_local(0);

    fresh(129, 64);
    is(HcommChannelFenceOnThread(T, C), 0, "fence");
    is(mock_launched(t), 0, "queues nothing");
    HcommChannelNotifyRecordOnThread(T, C, 0);
    HcommWriteOnThread(T, C, ptr(r), ptr(l), 512 * MIB);
    ok(is_wqe(1, 3, FENCED, r, l, 256 * MIB) &&
       is_wqe(2, 3, LAST, r + 256 * MIB, l + 256 * MIB, 256 * MIB),
       "fences every slice of the next operation");
    HcommWriteOnThread(T, C, ptr(r), ptr(l), 512 * MIB);
    ok(is_wqe(3, 3, FIRST, r, l, 256 * MIB), "and only that one");
}

static void test_drain(void)
{
    const uint32_t *w;

    fresh(129, 64);
    is(HcommChannelDrainOnThread(T, C), 0, "drain without resources");
    ok(mock_launched(t) == 0 && logged("has no drain resources"),
       "does nothing, with a warning");
    ch->drain_notify = 17;
    ch->drain_remote = (a350_mem_token){ MOCK_REMOTE2, 8, 0x66666, 0xee };
    is(HcommChannelDrainOnThread(T, C), 0, "drain");
    w = mock_block(ch, 0);
    /* Notify 17: second page of the table, slot 1. */
    ok(w[1] == 6u << 8 && bits(w[0], 31, 16) == (0x3010 | LAST) &&
       w[3] == 0x66666 && w[12] == 8 && u64at(&w[14]) ==
       mock_base() + (1ull << 42) + 0x02000000 + 0x1008,
       "reads 8 bytes into the private notify");
    ok(mock_launched(t) == 2 && is_doorbell(mock_sqe(t, 0), 1) &&
       mock_sqe(t, 1)->w[0] == 7 && bits(mock_sqe(t, 1)->w[2], 16, 0) == 17,
       "and waits for it");
}

static HcommBatchTransferDesc desc(HcommTransferType type, uint64_t dst,
                                   uint64_t src, uint64_t len)
{
    HcommBatchTransferDesc d;

    memset(&d, 0, sizeof(d));
    d.transType = type;
    d.transferInfo.write.dst = ptr(dst);
    d.transferInfo.write.src = ptr(src);
    d.transferInfo.write.len = len;
    return d;
}

static void test_batch_transfer(void)
{
    uint64_t r = MOCK_REMOTE, l = mock_local(0);
    HcommBatchTransferDesc d[6];

    fresh(129, 64);
    d[0] = desc(HCOMM_TRANSFER_TYPE_WRITE, r, l, 300 * MIB);
    d[1] = desc(HCOMM_TRANSFER_TYPE_READ, l, r + 8, 8);
    d[2] = desc(HCOMM_TRANSFER_TYPE_NOTIFY_RECORD, 0, 0, 1);
    d[3] = desc(HCOMM_TRANSFER_TYPE_NOTIFY_RECORD, 0, 0, 2);
    d[4] = desc(HCOMM_TRANSFER_TYPE_WRITE_REDUCE, r, l, 5);
    d[4].transferInfo.reduce.dataType = HCOMM_DATA_TYPE_FP32;
    d[4].transferInfo.reduce.reduceOp = HCOMM_REDUCE_MAX;
    d[5] = desc(HCOMM_TRANSFER_TYPE_WRITE_WITH_NOTIFY, r + 64, l, 16);
    d[5].transferInfo.writeWithNotify.notifyIdx = 2;
    is(HcommBatchTransferOnThread(T, C, d, 6), 0, "batch of 6");
    ok(is_wqe(0, 3, INNER, r, l, 256 * MIB) &&
       is_wqe(1, 3, INNER, r + 256 * MIB, l + 256 * MIB, 44 * MIB) &&
       is_wqe(2, 6, INNER, r + 8, l, 8), "inner entries are relaxed, fenced");
    is(bits(mock_block(ch, 3)[0], 31, 16), 0x3050 | LAST,
       "record of index 1 is strong in mid-batch");
    is(bits(mock_block(ch, 4)[0], 31, 16), 0x3050 | INNER,
       "record of index 2 is not");
    ok(mock_block(ch, 5)[9] == (7u << 8 | 8u << 12) &&
       mock_block(ch, 5)[12] == 20, "reduction inside");
    ok(bits(mock_block(ch, 6)[0], 31, 16) == (0x3010 | LAST) &&
       mock_block(ch, 6)[1] == 5u << 8, "last is strong and completes");
    ok(mock_launched(t) == 1 && is_doorbell(mock_sqe(t, 0), 8),
       "one doorbell");
    d[1].transferInfo.write.len = 0;
    is(HcommBatchTransferOnThread(T, C, d, 2), 0, "batch ending in nothing");
    is(bits(mock_block(ch, 9)[0], 31, 16), 0x3010 | LAST,
       "the last entry that moves something is strong");
}

static void test_batch_transfer_codes(void)
{
    uint64_t r = MOCK_REMOTE, l = mock_local(0);
    HcommBatchTransferDesc d[2];

    fresh(129, 64);
    d[0] = desc(HCOMM_TRANSFER_TYPE_WRITE, r, l, 8);
    is(HcommBatchTransferOnThread(T, C, NULL, 1), HCCL_E_PTR, "descs null");
    is(HcommBatchTransferOnThread(T, C, d, 0), HCCL_E_PARA, "0 descs");
    d[1] = desc((HcommTransferType)7, r, l, 8);
    is(HcommBatchTransferOnThread(T, C, d, 2), HCCL_E_NOT_SUPPORT, "type 7");
    d[1] = desc(HCOMM_TRANSFER_TYPE_READ, 0, r, 8);
    is(HcommBatchTransferOnThread(T, C, d, 2), HCCL_E_PTR, "null in an entry");
    d[1] = desc(HCOMM_TRANSFER_TYPE_NOTIFY_RECORD, 0, 0, 0xffffffff);
    is(HcommBatchTransferOnThread(T, C, d, 2), HCCL_E_PARA, "index ~0");
    d[1] = desc(HCOMM_TRANSFER_TYPE_WRITE, r - 8, l, 8);
    is(HcommBatchTransferOnThread(T, C, d, 2), HCCL_E_INTERNAL, "bad range");
    ok(ch->pi == 0 && mock_launched(t) == 0, "nothing was posted");
}

static void complete_all(void)
{
    mock_complete(t, 1000);
    mock_complete(t2, 1000);
}

static void test_queue_wrap(void)
{
    uint32_t i;
    bool good = true;

    fresh(17, 64);
    for (i = 0; i < 100; i++) {
        good &= HcommThreadNotifyRecordOnThread(T, T, i % 4) == 0 &&
                mock_sqe(t, i)->w[2] == 1000 + i % 4 &&
                mock_sqe(t, i)->w[1] == i && mock_tail(t) == (i + 1) % 17;
        mock_complete(t, 1);
    }
    ok(good, "queue of 17 wraps, task numbers go on");
    fresh(17, 64);
    for (i = 0; i < 16; i++) {
        HcommThreadNotifyRecordOnThread(T, T, 0);
    }
    is(mock_launched(t), 16, "16 fit into a ring of 17");
    mock_on_sleep = complete_all;
    is(HcommThreadNotifyRecordOnThread(T, T, 0), 0, "the 17th waits for room");
    HcommThreadResAcquireTimeOut(5);
    mock_on_sleep = NULL;
    for (i = 0; i < 15; i++) {
        HcommThreadNotifyRecordOnThread(T, T, 0);
    }
    is(HcommThreadNotifyRecordOnThread(T, T, 0), HCCL_E_INTERNAL,
       "full for 5 s");
    ok(logged("queue 100 of 16 entries was full for 5 s"), "is said");
    mock_stop_queue(t);
    is(HcommThreadNotifyRecordOnThread(T, T, 0), HCCL_E_INTERNAL,
       "full and stopped");
    ok(logged("queue 100 is stopped"), "is said");
}

static void consume_jetty(void)
{
    *(uint32_t *)(uintptr_t)ch->ci_addr = ch->pi;
    mock_complete(t, 1000);
}

static void test_jetty_wrap(void)
{
    uint64_t r = MOCK_REMOTE, l = mock_local(0);
    uint32_t i;
    bool good = true;

    fresh(129, 16);
    /* 15 blocks, then a two-block entry from slot 15 to slot 0. */
    for (i = 0; i < 15; i++) {
        HcommWriteOnThread(T, C, ptr(r), ptr(l), 1);
    }
    consume_jetty();
    is(HcommWriteWithNotifyOnThread(T, C, ptr(r), ptr(l), 9, 0), 0,
       "entry across the end of the ring");
    ok(mock_block(ch, 15)[1] == 5u << 8 && mock_block(ch, 0)[4] == 9 &&
       is_doorbell(mock_sqe(t, 15), 17), "goes on at slot 0");
    mock_on_doorbell = (void (*)(a350_thread_obj *, uint32_t))consume_jetty;
    for (i = 17; i < 65536 + 40; i++) {
        good &= HcommWriteOnThread(T, C, ptr(r), ptr(l), 1) == 0 &&
                is_doorbell(mock_sqe(t, (i - 1) & 0xffff), (i + 1) & 0xffff);
    }
    ok(good, "PI runs over 65536");
}

static void test_jetty_full(void)
{
    uint64_t r = MOCK_REMOTE, l = mock_local(0);

    fresh(129, 16);
    mock_on_sleep = consume_jetty;
    is(HcommWriteOnThread(T, C, ptr(r), ptr(l), 10 * GIB), 0,
       "40 slices through a ring of 16");
    is(mock_launched(t), 3, "three doorbells");
    ok(is_doorbell(mock_sqe(t, 0), 15) && is_doorbell(mock_sqe(t, 1), 30) &&
       is_doorbell(mock_sqe(t, 2), 40), "PI 15, 30, 40");
    ok(bits(mock_block(ch, 29)[0], 21, 21) && bits(mock_block(ch, 39)[0], 21,
       21) && !bits(mock_block(ch, 31)[0], 21, 21),
       "what a doorbell waits for asks for completion");
    mock_on_sleep = NULL;
    HcommThreadResAcquireTimeOut(3);
    is(HcommWriteOnThread(T, C, ptr(r), ptr(l), 10 * GIB), HCCL_E_INTERNAL,
       "a ring that does not empty");
    ok(logged("send queue of 16 blocks is full"), "is said");
}

static void test_batch_mode(void)
{
    uint32_t i;

    fresh(1025, 64);
    is(HcommBatchModeStart("x"), 0, "batch mode");
    HcommThreadNotifyRecordOnThread(T, T, 1);
    HcommThreadNotifyRecordOnThread(T2, T, 2);
    HcommWriteOnThread(T, C, ptr(MOCK_REMOTE), ptr(mock_local(0)), 8);
    ok(mock_launched(t) == 0 && mock_launched(t2) == 0, "nothing launched");
    is(ch->pi, 1, "but the WQE is written");
    is(HcommBatchModeEnd(NULL), 0, "end");
    ok(mock_launched(t) == 2 && mock_launched(t2) == 1, "launches all");
    ok(mock_doorbells(t) == 1 && mock_doorbells(t2) == 1, "one ring each");
    is(mock_sqe(t, 0)->w[2], 1001, "in order");
    HcommBatchModeStart(NULL);
    for (i = 0; i < 127; i++) {
        HcommThreadNotifyRecordOnThread(T, T, 0);
    }
    is(mock_launched(t), 2, "127 are staged");
    HcommThreadNotifyRecordOnThread(T, T, 0);
    ok(mock_launched(t) == 130 && mock_doorbells(t) == 2,
       "128 go out at once");
    HcommThreadNotifyRecordOnThread(T, T, 0);
    HcommBatchModeEnd("");
    is(mock_launched(t), 131, "and the rest at the end");
    HcommThreadNotifyRecordOnThread(T, T, 0);
    is(mock_launched(t), 132, "immediate again");
}

/* A full queue whose way is barred by a task staged for another thread. */
static void test_batch_deadlock(void)
{
    uint32_t i;
    int32_t ret = 0;

    fresh(17, 64);
    HcommBatchModeStart(NULL);
    HcommThreadNotifyRecordOnThread(T2, T, 0);
    for (i = 0; i < 16; i++) {
        ret |= HcommThreadNotifyWaitOnThread(T, 0, 0);
    }
    mock_on_sleep = complete_all;
    for (i = 0; i < 128; i++) {
        ret |= HcommThreadNotifyWaitOnThread(T, 0, 0);
    }
    is(ret, 0, "a full queue does not keep others back");
    is(mock_launched(t2), 1, "the other thread's task went out");
    is(HcommBatchModeEnd(NULL), 0, "end");
    is(mock_launched(t), 144, "all launched");
}

/* A card that serves what was rung for, and nothing else. */
static void consume_rung(void)
{
    uint32_t n = mock_launched(t);

    if (n) {
        *(uint32_t *)(uintptr_t)ch->ci_addr = mock_sqe(t, n - 1)->w[5];
    }
    mock_complete(t, 1000);
}

/* In batch mode a jetty's ring fills up while its doorbells are staged. */
static void test_batch_jetty_full(void)
{
    int32_t ret = 0;
    uint32_t i;

    fresh(129, 16);
    mock_on_sleep = consume_rung;
    HcommThreadResAcquireTimeOut(1);
    HcommBatchModeStart(NULL);
    for (i = 0; i < 40; i++) {
        ret |= HcommWriteOnThread(T, C, ptr(MOCK_REMOTE), ptr(mock_local(0)),
                                  1);
    }
    is(ret, 0, "a full jetty launches the doorbells that are staged");
    is(HcommBatchModeEnd(NULL), 0, "end");
    ok(mock_launched(t) == 40 && is_doorbell(mock_sqe(t, 39), 40),
       "all 40 in order");
}

/* What the host is told about a kernel that returned an error. */
static void test_error_text(void)
{
    fresh(64, 64);
    is(a350_hcomm_error()[0], 0, "no error, no text");
    HcommChannelNotifyRecordOnThread(T, C, 63);
    ok(strstr(a350_hcomm_error(), "HcommChannelNotifyRecordOnThread") &&
       strstr(a350_hcomm_error(), "63"), "the call and the index are named");
    HcommWriteOnThread(T, C, ptr(8), ptr(mock_local(0)), 64);
    ok(strstr(a350_hcomm_error(), "HcommWriteOnThread") &&
       strstr(a350_hcomm_error(), "rank") &&
       !strstr(a350_hcomm_error(), "region 0"),
       "the next error takes its place, by its first line");
    a350_hcomm_kernel_enter();
    is(a350_hcomm_error()[0], 0, "forgotten at the next kernel");
}

/* ---- no memory to stage in ---- */

static bool no_memory;
void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n)
{
    return no_memory ? NULL : __real_malloc(n);
}

static a350_thread_obj *t3;

static void complete_after_t2(void)
{
    if (mock_launched(t2)) {
        mock_complete(t3, 1000);
    }
}

/* Then entries go to the ring at once; what is staged must not bar it. */
static void test_batch_no_memory(void)
{
    int32_t ret = 0;
    uint32_t i;

    fresh(17, 64);
    t3 = mock_thread(2, 17, 2);
    HcommThreadResAcquireTimeOut(1);
    HcommBatchModeStart(NULL);
    HcommThreadNotifyRecordOnThread(T, T, 0);
    HcommThreadNotifyRecordOnThread(T2, (uintptr_t)t3, 0);
    no_memory = true;
    mock_on_sleep = complete_after_t2;
    for (i = 0; i < 20; i++) {
        ret |= HcommThreadNotifyWaitOnThread((uintptr_t)t3, 0, 0);
    }
    no_memory = false;
    is(ret, 0, "without memory to stage in, a full queue bars nobody");
    is(mock_launched(t3), 20, "its entries went out at once");
    is(HcommBatchModeEnd(NULL), 0, "end");
}

static void test_kernel_enter(void)
{
    a350_comm_obj *m;
    a350_comm_attach a;

    fresh(129, 64);
    m = mock_comm("world");
    a.comm = (uintptr_t)m;
    a350_hcomm_attach(&a);
    HcommAcquireComm("world");
    HcommBatchModeStart(NULL);
    HcommSetNotifyWaitTimeOut(5);
    HcommThreadNotifyRecordOnThread(T, T, 0);
    hc_lock(&t->lock);
    a350_hcomm_kernel_enter();
    ok(t->lock == 0, "a crashed kernel's lock is opened");
    is(m->lock, 0, "and its communicator released");
    ok(logged("1 tasks were never launched"), "lost tasks are reported");
    HcommThreadNotifyWaitOnThreadWithDefaultTimeout(T, 0);
    ok(mock_launched(t) == 1 && mock_sqe(t, 0)->w[6] == 1836,
       "next kernel starts in immediate mode with defaults");
}

static void one_done(void)
{
    mock_complete(t, 1);
}

static void test_join(void)
{
    fresh(129, 64);
    is(HcommThreadJoin(T, 1), 0, "join of an empty queue");
    HcommThreadNotifyRecordOnThread(T, T, 0);
    HcommThreadNotifyRecordOnThread(T, T, 0);
    is(HcommThreadJoin(T, 3), HCCL_E_TIMEOUT, "3 s are over");
    ok(logged("2 tasks of queue 100 are not complete after 3 s"), "is said");
    mock_on_sleep = one_done;
    is(HcommThreadJoin(T, 3), 0, "join");
    is(HcommThreadJoin(0, 3), HCCL_E_PTR, "join of thread 0");
    mock_on_sleep = NULL;
    HcommThreadNotifyRecordOnThread(T, T, 0);
    mock_stop_queue(t);
    is(HcommThreadJoin(T, 100), HCCL_E_INTERNAL, "a stopped queue");
}

static uint32_t sleeps;

static void release_world(void)
{
    if (++sleeps == 3) {
        HcommReleaseComm("world");
    }
}

static void test_comm(void)
{
    a350_comm_obj *m;
    a350_comm_attach a;
    HcclCommStatus s;
    extern HcclResult HcclCommGetStatus(const char *, HcclCommStatus *);

    fresh(129, 64);
    is(HcommAcquireComm("world"), HCCL_E_PTR, "unknown communicator");
    is(HcommAcquireComm(NULL), HCCL_E_PTR, "null name");
    is(HcommReleaseComm("world"), 0, "release of an unknown one");
    m = mock_comm("world");
    t->comm = (uintptr_t)m;
    HcommThreadNotifyRecordOnThread(T, T, 0);
    is(HcommAcquireComm("world"), 0, "known by a thread of it");
    mock_on_sleep = release_world;
    is(HcommAcquireComm("world"), 0, "waits until it is free");
    is(sleeps, 3, "for three polls");
    HcommReleaseComm("world");
    m->status = HCCL_COMM_STATUS_SUSPENDING;
    ok(HcclCommGetStatus("world", &s) == HCCL_SUCCESS &&
       s == HCCL_COMM_STATUS_SUSPENDING, "status");
    m->magic = 0;
    is(HcommAcquireComm("world"), HCCL_E_PTR, "destroyed");
    m->magic = A350_COMM_MAGIC;
    a.comm = (uintptr_t)m;
    a350_hcomm_detach(&a);
    is(HcommAcquireComm("world"), HCCL_E_PTR, "detached");
    a.comm = 8;
    is(a350_hcomm_attach(&a), HCCL_E_PARA, "attach of nothing");
}

static void test_symwin(void)
{
    a350_symwin_obj *w;
    uint64_t *peers;
    void *p = NULL;
    extern HcclResult HcclSymWinGetPeerPointer(HcclCommSymWindow, size_t,
                                               uint32_t, void **);

    fresh(129, 64);
    w = mock_alloc(sizeof(*w));
    peers = mock_alloc(16);
    *w = (a350_symwin_obj){ .magic = A350_SYMWIN_MAGIC, .version = 1,
                            .rank_size = 2, .win_size = 4096,
                            .peers = (uintptr_t)peers };
    peers[0] = 0x123000;
    ok(HcclSymWinGetPeerPointer(w, 16, 0, &p) == 0 && p == ptr(0x123010),
       "peer pointer");
    is(HcclSymWinGetPeerPointer(w, 0, 1, &p), HCCL_E_NOT_FOUND,
       "no channel yet");
    is(HcclSymWinGetPeerPointer(w, 0, 2, &p), HCCL_E_PARA, "rank 2 of 2");
    is(HcclSymWinGetPeerPointer(w, 4096, 0, &p), HCCL_E_PARA, "offset");
    is(HcclSymWinGetPeerPointer(NULL, 0, 0, &p), HCCL_E_PTR, "null window");
    is(HcclSymWinGetPeerPointer(w, 0, 0, NULL), HCCL_E_PTR, "null result");
}

static void test_pcie(void)
{
    uint64_t r = MOCK_REMOTE, l = mock_local(0);
    uint64_t reg = mock_base() + (1ull << 44);
    HcommBatchTransferDesc d[2];
    const a350_sqe *s;

    fresh(129, 64);
    ch->proto = A350_PROTO_PCIE;
    ch->remote_notify[1].addr = reg;
    is(HcommReadOnThread(T, C, ptr(l), ptr(r), 100), 0, "PCIe read");
    ok(is_sdma(mock_sqe(t, 0), 0, l, r, 100), "is an SDMA copy");
    is(HcommReadReduceOnThread(T, C, ptr(l), ptr(r), 8, HCOMM_DATA_TYPE_FP16,
                               HCOMM_REDUCE_SUM), 0, "PCIe read-reduce");
    ok(is_sdma(mock_sqe(t, 1), 0x61, l, r, 16), "is an SDMA reduction");
    is(HcommWriteWithNotifyOnThread(T, C, ptr(r), ptr(l), 64, 1), 0,
       "PCIe write with notify");
    s = mock_sqe(t, 3);
    ok(is_sdma(mock_sqe(t, 2), 0, r, l, 64) && s->w[0] == 8 &&
       s->w[4] == (uint32_t)reg && bits(s->w[5], 16, 0) ==
       ((reg >> 32) & 0x1ffff) && bits(s->w[5], 22, 20) == 2 && s->w[8] == 1,
       "is a copy and a value write");
    is(HcommChannelNotifyRecordOnThread(T, C, 1), 0, "PCIe record");
    is(mock_sqe(t, 4)->w[0], 8, "is a value write");
    is(HcommReadReduceOnThread(T, C, ptr(l), ptr(r), 8, HCOMM_DATA_TYPE_UINT8,
                               HCOMM_REDUCE_SUM), HCCL_E_INTERNAL, "uint8");
    is(HcommReadOnThread(T, C, ptr(l), ptr(r - 1), 1), HCCL_E_INTERNAL,
       "range outside");
    d[0] = desc(HCOMM_TRANSFER_TYPE_READ, l, r, 8);
    d[1] = desc(HCOMM_TRANSFER_TYPE_WRITE, r, l, 8);
    is(HcommBatchTransferOnThread(T, C, d, 2), 0, "PCIe batch");
    is(mock_launched(t), 7, "two more entries");
    is(ch->pi, 0, "no WQE anywhere");
}

static void test_cache_and_rest(void)
{
    bool hit = true;
    void *a[1] = { ptr(8) };
    uint64_t n[1] = { 8 };

    fresh(129, 64);
    is(HcommAicpuTsTaskCacheStart("a", a, n, 1), HCCL_E_PARA,
       "cache start before lookup");
    is(HcommAicpuTsTaskCacheLookup(NULL, &hit), HCCL_E_PTR, "null tag");
    is(HcommAicpuTsTaskCacheLookup("a", NULL), HCCL_E_PTR, "null result");
    ok(HcommAicpuTsTaskCacheLookup("a", &hit) == 0 && !hit, "miss");
    is(HcommAicpuTsTaskCacheStart("b", a, n, 1), HCCL_E_PARA, "other tag");
    is(HcommAicpuTsTaskCacheExecute("a", a, n, 1), HCCL_E_INTERNAL,
       "execute after a miss");
    is(HcommAicpuTsTaskCacheStart("a", NULL, n, 1), HCCL_E_PTR, "null array");
    is(HcommAicpuTsTaskCacheStart("a", a, n, 1), 0, "start");
    is(HcommAicpuTsTaskCacheEnd("a"), 0, "end");
    is(HcommAicpuTsTaskCacheClear("zzz"), 0, "clear of a missing tag");
    is(HcommWriteNbi(C, ptr(8), ptr(8), 8), HCCL_E_NOT_SUPPORT, "Nbi");
    is(HcommFenceOnThread(T), HCCL_E_NOT_SUPPORT, "host fence");
    is(HcommChannelNotifyWait(C, 0, 1), HCCL_E_NOT_SUPPORT, "host wait");
}

/* One operator as a kernel queues it, on buffers of its caller. */
static int32_t operator(uint64_t in, uint64_t out)
{
    return HcommLocalCopyOnThread(T, ptr(out), ptr(in), 100) |
           HcommThreadNotifyRecordOnThread(T, T2, 1) |
           HcommThreadNotifyWaitOnThread(T2, 1, 7) |
           HcommWriteWithNotifyOnThread(T2, C, ptr(MOCK_REMOTE + 64),
                                        ptr(in + 8), 50, 2) |
           HcommReadOnThread(T2, C, ptr(out + 16), ptr(MOCK_REMOTE), 600 *
                             MIB) |
           HcommChannelNotifyRecordOnThread(T, C, 1) |
           HcommLocalCopyOnThread(T, ptr(mock_local(0)), ptr(in + 99), 1);
}

static bool same_work(const a350_thread_obj *q, uint32_t from, uint32_t num)
{
    uint32_t i, k;

    for (i = 0; i < num; i++) {
        for (k = 0; k < 16; k++) {
            /* Word 1 is the running number; a doorbell's 5 the ring's. */
            if (k == 1 || (k == 5 && mock_sqe(q, i)->w[0] == 9)) {
                continue;
            }
            if (mock_sqe(q, i)->w[k] != mock_sqe(q, from + i)->w[k]) {
                printf("# entry %u word %u: %x, %x\n", i, k,
                       mock_sqe(q, i)->w[k], mock_sqe(q, from + i)->w[k]);
                return false;
            }
        }
    }
    return true;
}

/* The same operator by its calls and from the cache, on other buffers than
   those it was recorded with, has to look the same. */
static void test_cache_replay(void)
{
    uint64_t in = mock_local(0x1000), out = mock_local(0x2000);
    uint64_t in2 = mock_local(0x100800), out2 = mock_local(0x40000);
    uint64_t size[2] = { 0x100, GIB };
    void *first[2] = { ptr(in), ptr(out) }, *then[2] = { ptr(in2),
                                                         ptr(out2) };
    uint32_t n, n2, pi, i;
    bool hit = true, good;

    fresh(129, 64);
    operator(in2, out2);             /* what is expected */
    n = mock_launched(t);
    n2 = mock_launched(t2);
    pi = ch->pi;
    consume_jetty();
    HcommAicpuTsTaskCacheLookup("op", &hit);
    ok(!hit, "not there at first");
    is(HcommAicpuTsTaskCacheStart("op", first, size, 2), 0, "start");
    is(HcommAicpuTsTaskCacheStart("op", first, size, 2), HCCL_E_INTERNAL,
       "start twice");
    is(operator(in, out), 0, "recorded with other buffers");
    is(HcommAicpuTsTaskCacheEnd("op"), 0, "end");
    is(HcommAicpuTsTaskCacheEnd("op"), HCCL_E_PARA, "end twice");
    consume_jetty();
    a350_hcomm_kernel_enter();
    HcommAicpuTsTaskCacheLookup("op", &hit);
    ok(hit, "the next kernel finds it");
    is(HcommAicpuTsTaskCacheStart("op", first, size, 2), HCCL_E_INTERNAL,
       "start after a hit");
    is(HcommAicpuTsTaskCacheEnd("op"), HCCL_E_INTERNAL, "end after a hit");
    is(HcommAicpuTsTaskCacheExecute("op", NULL, size, 2), HCCL_E_PTR,
       "null array");
    is(HcommAicpuTsTaskCacheExecute("op", then, size, 2), 0, "execute");
    ok(mock_launched(t) == 3 * n && mock_launched(t2) == 3 * n2 &&
       ch->pi == 3 * pi, "as many entries as the calls made");
    ok(same_work(t, 2 * n, n) && same_work(t2, 2 * n2, n2),
       "queues: what the calls on these buffers queue");
    for (i = 0, good = true; i < pi; i++) {
        good = good && memcmp(mock_block(ch, i), mock_block(ch, 2 * pi + i),
                              64) == 0;
    }
    ok(good, "jetty: every block, with its tokens");
    ok(is_doorbell(mock_sqe(t, 3 * n - 2), 3 * pi), "doorbells are new");
    is(HcommAicpuTsTaskCacheExecute("op", then, size, 2), HCCL_E_PARA,
       "twice without lookup");
    size[1]++;
    HcommAicpuTsTaskCacheLookup("op", &hit);
    is(HcommAicpuTsTaskCacheExecute("op", then, size, 2), HCCL_E_PARA,
       "another size");
    ok(logged("range 1 had 1073741824 bytes, not 1073741825"), "is said");
    HcommAicpuTsTaskCacheLookup("op", &hit);
    is(HcommAicpuTsTaskCacheExecute("op", then, size, 1), HCCL_E_PARA,
       "another count");
    size[1]--;
    ch->magic = 0;
    HcommAicpuTsTaskCacheLookup("op", &hit);
    is(HcommAicpuTsTaskCacheExecute("op", then, size, 2), HCCL_E_PTR,
       "a channel that is gone");
    HcommAicpuTsTaskCacheClear("op");
    HcommAicpuTsTaskCacheLookup("op", &hit);
    ok(!hit, "cleared");
}

/* What can not be cached is queued all the same. */
static void test_cache_limits(void)
{
    uint64_t size = 64, in = mock_local(0);
    void *addr = ptr(in);
    uint32_t i, tags = 0;
    char tag[16];
    bool hit;

    fresh(129, 64);
    mock_on_doorbell = (void (*)(a350_thread_obj *, uint32_t))consume_jetty;
    mock_on_sleep = complete_all;
    for (i = 0; i < 200; i++) {
        uint32_t k;

        snprintf(tag, sizeof(tag), "t%u", i);
        HcommAicpuTsTaskCacheLookup(tag, &hit);
        HcommAicpuTsTaskCacheStart(tag, &addr, &size, 1);
        for (k = 0; k < 500; k++) {
            HcommThreadNotifyRecordOnThread(T, T2, 1);
        }
        is(HcommAicpuTsTaskCacheEnd(tag), 0, "end");
    }
    for (i = 0; i < 200; i++) {
        snprintf(tag, sizeof(tag), "t%u", i);
        HcommAicpuTsTaskCacheLookup(tag, &hit);
        tags += hit;
        HcommAicpuTsTaskCacheClear(tag);
    }
    ok(tags > 50 && tags < 200, "10 MiB are kept (%u of 200)", tags);
    HcommAicpuTsTaskCacheLookup("x", &hit);
    HcommAicpuTsTaskCacheStart("x", &addr, &size, 1);
    mock_on_sleep = NULL;
    mock_on_doorbell = NULL;
    mock_stop_queue(t);
    for (i = 0; i < 300; i++) {
        HcommThreadNotifyRecordOnThread(T, T2, 1);
    }
    is(HcommAicpuTsTaskCacheEnd("x"), 0, "end after errors");
    HcommAicpuTsTaskCacheLookup("x", &hit);
    ok(!hit, "is not kept");
}

int main(void)
{
    mock_reset();
    test_local_copy();
    test_local_reduce();
    test_thread_notify();
    test_handles();
    test_write_sizes();
    test_4gib();
    test_with_notify();
    test_channel_notify();
    test_remote_reduce();
    test_ranges();
    test_fence();
    test_drain();
    test_batch_transfer();
    test_batch_transfer_codes();
    test_queue_wrap();
    test_jetty_wrap();
    test_jetty_full();
    test_batch_mode();
    test_batch_deadlock();
    test_batch_jetty_full();
    test_error_text();
    test_batch_no_memory();
    test_kernel_enter();
    test_join();
    test_comm();
    test_symwin();
    test_pcie();
    test_cache_and_rest();
    test_cache_replay();
    test_cache_limits();
    return done_testing();
}
