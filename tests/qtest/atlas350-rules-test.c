/*
 * QTest: rules of the Atlas 350's queues that stand between the other suites.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Expected values: spec/hw/task-queues.md §1-§5 and spec/hw/transport.md §2,
 * §3; where the sheets leave a choice, docs/specs/atlas350.rst.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "hw/pci/pci_regs.h"
#include "atlas350-card.h"
#include "atlas350-ub.h"

#define SECOND  1000000000ll
#define RING_B  0x20000u
#define RING_C  0x40000u
#define AREA    0x1000000u

static uint32_t page(const TQueue *q, uint32_t reg)
{
    return A350_REG_RTSQ + q->id * A350_SQ_PAGE_SIZE + reg;
}

/* A queue that an error stopped: as new. */
static void again(TQueue *q)
{
    t_admin_id(q->c, A350_ADM_SQ_RESET, q->id);
    t_wr32(q->c, page(q, A350_SQ_STATUS), A350_SQ_STATUS_ENABLE);
    q->tail = 0;
}

/* The entry is refused with these bits and this status. */
static void refused(TQueue *q, const a350_sqe *s, unsigned slots,
                    uint32_t bits, uint32_t status)
{
    a350_cqe e;

    t_push_ext(q, s, slots);
    t_ring(q);
    g_assert_true(t_wait_stop(q));
    g_assert_true(t_cqe(q, &e));
    g_assert_cmphex(e.h0 & A350_CQE_ERROR, ==, A350_CQE_ERROR);
    g_assert_cmphex(e.error_bits, ==, bits);
    g_assert_cmphex(e.status, ==, status);
    again(q);
}

static void cnt_wait(a350_sqe *s, uint32_t id, uint32_t mode, uint32_t val,
                     bool clr)
{
    a350_sqe_notify_wait(s, 1, id, 0);
    s->w[2] = id | A350_NOTIFY_CNT | (clr ? A350_NOTIFY_CLR : 0);
    s->w[3] |= A350_NSUB_COUNT_WAIT;
    s->w[4] = val;
    s->w[5] = mode;
}

/* ---- §3 notifies ---- */

/* A wait that clears changes the counter: that may be what another wants. */
static void test_count_take_wakes(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue a = t_queue(c, 0, 17, false, 0);
    TQueue b = t_queue(c, RING_B, 17, false, 0);
    a350_sqe s;

    /* the older wants 0, the younger takes 5 and leaves 0 */
    t_cnt_set(c, 9, A350_CNT_NOTIFY_STORE, 1);
    cnt_wait(&s, 9, A350_NOTIFY_WAIT_EQUAL, 0, false);
    t_push_ring(&a, &s);
    g_assert_true(t_stays(&a, 0));
    cnt_wait(&s, 9, A350_NOTIFY_WAIT_EQUAL, 5, true);
    t_push_ring(&b, &s);
    g_assert_true(t_stays(&b, 0));
    t_cnt_set(c, 9, A350_CNT_NOTIFY_STORE, 5);
    g_assert_true(t_drain(&b));
    g_assert_true(t_drain(&a));
    /* the same where the younger passes at once */
    t_cnt_set(c, 9, A350_CNT_NOTIFY_STORE, 5);
    cnt_wait(&s, 9, A350_NOTIFY_WAIT_EQUAL, 0, false);
    t_push_ring(&a, &s);
    g_assert_true(t_stays(&a, 1));
    cnt_wait(&s, 9, A350_NOTIFY_WAIT_EQUAL, 5, true);
    t_push_ring(&b, &s);
    g_assert_true(t_drain(&b));
    g_assert_true(t_drain(&a));
    t_stop(m);
}

/* The reset of a counting notify by the driver is a store of 0 (§5). */
static void test_count_admin_reset(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue a = t_queue(c, 0, 17, false, 0);
    a350_notify_reset r = { .first = 3, .count = 2, .counting = 1 };
    a350_sqe s;

    t_cnt_set(c, 4, A350_CNT_NOTIFY_STORE, 7);
    cnt_wait(&s, 4, 0, 1, false);
    t_push_ring(&a, &s);
    g_assert_true(t_stays(&a, 0));
    g_assert_cmpuint(t_admin(c, A350_ADM_NOTIFY_RESET, &r, sizeof(r), NULL),
                     ==, A350_ADM_OK);
    g_assert_cmpuint(t_cnt(c, 4, A350_CNT_NOTIFY_STORE), ==, 0);
    g_assert_true(t_drain(&a));
    t_stop(m);
}

/* Sub-types 6, 7 and 9: record stores, wait is at-least and keeps, reset. */
static void test_count_events(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue a = t_queue(c, 0, 17, false, 0);
    TQueue r = t_queue(c, RING_B, 17, true, 0);
    a350_sqe s;
    a350_cqe e;

    cnt_wait(&s, 12, 3, 4, false);
    s.w[3] = (s.w[3] & ~0xffffu) | A350_NSUB_EVENT_WAIT_COUNT;
    t_push_ring(&a, &s);
    g_assert_true(t_stays(&a, 0));
    a350_sqe_notify_record(&s, 2, 12);
    s.w[0] |= A350_SQE_WR_CQE;
    s.w[2] |= A350_NOTIFY_CNT;
    s.w[3] |= A350_NSUB_EVENT_RECORD_COUNT;
    s.w[4] = 6;
    t_push_ring(&r, &s);
    g_assert_true(t_drain(&a) && t_drain(&r));
    g_assert_cmpuint(t_cnt(c, 12, A350_CNT_NOTIFY_STORE), ==, 6);
    /* an event record's CQE has the time-stamp form (§4) */
    g_assert_true(t_cqe(&r, &e));
    g_assert_cmphex(e.h0 & A350_CQE_EVT, ==, A350_CQE_EVT);
    a350_sqe_notify_record(&s, 3, 12);
    s.w[2] |= A350_NOTIFY_CNT | A350_NOTIFY_CLR;
    s.w[3] = 255u << A350_SQE_CREDIT_SHIFT | A350_NSUB_EVENT_RESET_COUNT;
    s.w[4] = 99;
    t_push_ring(&r, &s);
    g_assert_true(t_drain(&r));
    g_assert_cmpuint(t_cnt(c, 12, A350_CNT_NOTIFY_STORE), ==, 0);
    t_stop(m);
}

/* All 65,536 are there and are not each other. */
static void test_all_notifies(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 2049, false, 0);
    uint32_t id, n, num = t_rd32(c, A350_REG_CTRL + A350_CTRL_NUM_NOTIFY);
    a350_sqe s;

    g_assert_cmpuint(num, ==, A350_NOTIFY_MAX);
    /* every third is recorded by an entry ... */
    for (id = 0; id < num; ) {
        for (n = 0; n < 2000 && id < num; n++, id += 3) {
            a350_sqe_notify_record(&s, id, id);
            t_push(&q, &s);
        }
        t_ring(&q);
        g_assert_true(t_drain(&q));
    }
    /* ... and these and no others are seen in the registers */
    for (id = 0; id < num; id++) {
        g_assert_cmpuint(t_notify(c, id), ==, id % 3 == 0);
    }
    for (id = 0; id < num; ) {
        for (n = 0; n < 2000 && id < num; n++, id += 3) {
            a350_sqe_notify_wait(&s, id, id, 1);
            t_push(&q, &s);
        }
        t_ring(&q);
        g_assert_true(t_drain(&q));
    }
    for (id = 0; id < num; id += 3) {
        g_assert_cmpuint(t_notify(c, id), ==, 0);
    }
    t_stop(m);
}

/* ---- §1 queues ---- */

/* 2016 of them, all at once, each with a wait that only its record ends. */
static void test_2016_queues(void)
{
    enum { N = A350_SQ_MAX, STEP = 1024 };
    TMachine *m = t_start(1, ",num-sq=2016", "");
    TCard *c = &m->card[0];
    g_autofree TQueue *q = g_new(TQueue, N);
    a350_sq_create more = { .sq_id = A350_ID_ANY, .depth = 9,
                            .base = c->dev, .cq_id = A350_ID_NONE };
    a350_sqe s;
    unsigned i;

    for (i = 0; i < N; i++) {
        q[i] = t_queue(c, AREA + i * STEP, 9, false, 0);
        g_assert_cmpuint(q[i].id, ==, i);
        a350_sqe_notify_wait(&s, i, i, 0);
        t_push_ring(&q[i], &s);
    }
    g_assert_cmpuint(t_admin(c, A350_ADM_SQ_CREATE, &more, sizeof(more), NULL),
                     ==, A350_ADM_E_NO_RESOURCE);
    for (i = 1; i < N; i += 2) {
        t_notify_set(c, i, 1);
    }
    for (i = 0; i < N; i++) {
        if (i % 2) {
            g_assert_true(t_drain(&q[i]));
        } else {
            g_assert_cmpuint(t_head(&q[i]), ==, 0);
        }
    }
    t_stop(m);
}

/* Waiting, stopped, paused, disabled, its CQ full: others go on. */
static void test_independent(void)
{
    TMachine *m = t_start(2, "", "");
    TCard *c = &m->card[0];
    TQueue q[6];
    a350_sqe s;
    unsigned i, k;

    for (i = 0; i < ARRAY_SIZE(q); i++) {
        q[i] = t_queue(c, AREA + i * 0x10000, 129, i == 3,
                       i == 4 ? A350_SQ_F_DISABLED : 0);
    }
    a350_sqe_notify_wait(&s, 1, 1, 0);
    t_push_ring(&q[0], &s);
    a350_sqe_init(&s, A350_SQE_INVALID, 1, 254);
    t_push_ring(&q[1], &s);
    t_admin_id(c, A350_ADM_SQ_PAUSE, q[2].id);
    a350_sqe_nop(&s, 1);
    t_push_ring(&q[2], &s);
    t_push_ring(&q[4], &s);
    s.w[0] |= A350_SQE_WR_CQE;
    for (k = 0; k < 70; k++) {
        t_push(&q[3], &s);
    }
    t_ring(&q[3]);
    g_assert_true(t_wait_stop(&q[1]));
    g_assert_true(T_WAIT(t_head(&q[3]) == 64));
    for (k = 0; k < 300; k++) {
        t_hbm_pattern(c, AREA + 0x800000, k, 100);
        a350_sqe_sdma(&s, k, 0, c->dev + AREA + 0x900000,
                      c->dev + AREA + 0x800000, 100);
        t_push_ring(&q[5], &s);
        g_assert_true(t_drain(&q[5]));
        g_assert_true(t_hbm_is_pattern(c, AREA + 0x900000, k, 100));
    }
    g_assert_cmpuint(t_head(&q[0]), ==, 0);
    g_assert_cmpuint(t_head(&q[1]), ==, 0);
    g_assert_cmpuint(t_head(&q[2]), ==, 0);
    g_assert_cmpuint(t_head(&q[3]), ==, 64);
    g_assert_cmpuint(t_head(&q[4]), ==, 0);
    t_stop(m);
}

/* Ring memory of the host that is not there, that goes away. */
static void test_ring_unmapped(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue other = t_queue(c, 0, 17, false, 0);
    a350_sq_create sa = { .sq_id = A350_ID_ANY, .depth = 17,
                          .base = 0x4000000000ull - 0x100000,
                          .cq_id = A350_ID_NONE };
    a350_cq_create ca = { .cq_id = A350_ID_ANY, .depth = 65,
                          .base = 0x3000000000ull };
    union {
        a350_first_error e;
        uint8_t data[A350_ADMIN_DATA_SIZE];
    } u = { 0 };
    TQueue q = { .c = c, .depth = 17, .tail = 1 };
    a350_sqe s;

    g_assert_cmpuint(t_admin(c, A350_ADM_SQ_CREATE, &sa, sizeof(sa), NULL),
                     ==, A350_ADM_OK);
    q.id = sa.sq_id;
    t_ring(&q);
    g_assert_true(t_wait_stop(&q));
    g_assert_cmpuint(t_head(&q), ==, 0);
    g_assert_cmpuint(t_admin(c, A350_ADM_FIRST_ERROR, &u, 0, NULL), ==, 0);
    g_assert_cmpuint(u.e.kind, ==, A350_EK_RING);
    g_assert_cmphex(u.e.error_bits, ==, A350_ERR_BUS);
    g_assert_cmphex(u.e.address, ==, sa.base);
    /* a CQ there loses its completions; its queue is not held up */
    g_assert_cmpuint(t_admin(c, A350_ADM_CQ_CREATE, &ca, sizeof(ca), NULL),
                     ==, A350_ADM_OK);
    sa = (a350_sq_create) { .sq_id = A350_ID_ANY, .depth = 17,
                            .base = c->dev + RING_B, .cq_id = ca.cq_id };
    g_assert_cmpuint(t_admin(c, A350_ADM_SQ_CREATE, &sa, sizeof(sa), NULL),
                     ==, A350_ADM_OK);
    q = (TQueue) { .c = c, .depth = 17, .id = sa.sq_id, .ring = RING_B };
    a350_sqe_nop(&s, 1);
    s.w[0] |= A350_SQE_WR_CQE;
    t_push_ring(&q, &s);
    g_assert_true(t_drain(&q));
    a350_sqe_nop(&s, 1);
    t_push_ring(&other, &s);
    g_assert_true(t_drain(&other));
    t_stop(m);
}

/* ---- §3 SDMA ---- */

/* Stride 2: outer times inner blocks, gathered behind each other. */
static void test_stride_2(void)
{
    enum { OUTER = 3, INNER = 5, LEN = 33, ROW = 0x1000, STEP = 100 };
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 17, true, 0);
    uint8_t src[OUTER * ROW], dst[OUTER * INNER * LEN + 1];
    uint64_t to = c->dev + AREA + 0x10000;
    unsigned o, i, k;
    a350_sqe s;

    for (k = 0; k < sizeof(src); k++) {
        src[k] = k * 31 + (k >> 8);
    }
    t_hbm_write(c, AREA, src, sizeof(src));
    t_hbm_fill(c, AREA + 0x10000, 0xee, sizeof(dst));
    a350_sqe_sdma(&s, 1, 0, 0, c->dev + AREA, LEN);
    s.w[4] |= 2u << A350_SDMA_STRIDE_SHIFT;
    s.w[7] = OUTER | INNER << 16;
    s.w[10] = ROW;
    s.w[11] = STEP;
    s.w[13] = to;
    s.w[14] = to >> 32;
    t_push_ring(&q, &s);
    g_assert_true(t_drain(&q));
    t_hbm_read(c, AREA + 0x10000, dst, sizeof(dst));
    for (o = 0; o < OUTER; o++) {
        for (i = 0; i < INNER; i++) {
            g_assert_cmpmem(dst + (o * INNER + i) * LEN, LEN,
                            src + o * ROW + i * STEP, LEN);
        }
    }
    g_assert_cmphex(dst[sizeof(dst) - 1], ==, 0xee);
    /* 3 is no mode; a count of 0 moves nothing */
    s.w[7] = 0;
    t_push_ring(&q, &s);
    g_assert_true(t_drain(&q));
    s.w[4] |= 1u << A350_SDMA_STRIDE_SHIFT;
    refused(&q, &s, 1, A350_ERR_SQE, A350_SDMA_ST_OPCODE);
    t_stop(m);
}

/* ptrMode: source, destination and length stand in a descriptor of 64 B. */
static void test_sdma_pointer(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 17, true, 0);
    uint64_t d[8] = { 0, 0, 0, 0, c->dev + AREA, c->dev + AREA + 0x8000,
                      1234, 0 };
    uint64_t at = c->dev + 0x80000;
    a350_sqe s;

    t_hbm_pattern(c, AREA, 5, 1234);
    t_hbm_fill(c, AREA + 0x8000, 0xee, 1300);
    t_hbm_write(c, 0x80000, d, sizeof(d));
    a350_sqe_init(&s, A350_SQE_SDMA, 1, 254);
    s.w[0] |= A350_SQE_PTR_MODE;
    s.w[4] = at;
    s.w[5] = ((at >> 32) & 0x1ffff) | 1u << 31;
    t_push_ring(&q, &s);
    g_assert_true(t_drain(&q));
    g_assert_true(t_hbm_is_pattern(c, AREA + 0x8000, 5, 1234));
    g_assert_true(t_hbm_is_fill(c, AREA + 0x8000 + 1234, 0xee, 66));
    /* a descriptor that is not in memory */
    at = c->dev + T_HBM_SIZE - 32;
    s.w[4] = at;
    refused(&q, &s, 1, A350_ERR_BUS, A350_SDMA_ST_ADDR);
    t_stop(m);
}

/* The two offsets of w13-w15 are added where d2dOffsetFlag is set. */
static void test_sdma_offsets(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 17, true, 0);
    a350_sqe s;

    t_hbm_pattern(c, AREA + 0x500, 6, 64);
    t_hbm_fill(c, AREA + 0x8000, 0xee, 0x1000);
    a350_sqe_sdma(&s, 1, 0, c->dev + AREA + 0x8000, c->dev + AREA, 64);
    s.w[13] = 0x500;
    s.w[14] = 0x300;
    s.w[5] |= 1u << 31;
    t_push_ring(&q, &s);
    g_assert_true(t_drain(&q));
    g_assert_true(t_hbm_is_pattern(c, AREA + 0x8300, 6, 64));
    g_assert_true(t_hbm_is_fill(c, AREA + 0x8000, 0xee, 0x300));
    /* offsets whose sum runs over 64 bits end outside memory, as an error */
    s.w[15] = 0xffffffff;
    refused(&q, &s, 1, A350_ERR_BUS, A350_SDMA_ST_ADDR);
    t_stop(m);
}

/* PLACE_HOLDER of task type 90: source, destination, size. */
static void test_place_holder_copy(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 17, true, 0);
    uint64_t src = c->dev + AREA, dst = c->dev + AREA + 0x4000;
    a350_sqe s;

    t_hbm_pattern(c, AREA, 7, 777);
    a350_sqe_init(&s, A350_SQE_PLACE_HOLDER, 1, 254);
    s.w[3] |= 90;
    memcpy(&s.w[4], &src, 8);
    memcpy(&s.w[6], &dst, 8);
    s.w[8] = 777;
    t_push_ring(&q, &s);
    g_assert_true(t_drain(&q));
    g_assert_true(t_hbm_is_pattern(c, AREA + 0x4000, 7, 777));
    t_stop(m);
}

/* ---- §3 WRITE_VALUE ---- */

/* A notify of the peer may be written, its queues' registers may not. */
static void test_peer_registers(void)
{
    TMachine *m = t_start(2, "", "");
    TCard *c = &m->card[0], *peer = &m->card[1];
    TQueue q = t_queue(c, 0, 17, true, 0);
    TQueue theirs = t_queue(peer, 0, 17, false, 0);
    uint64_t regs = peer->dev + A350_DEV_REG_OFFSET;
    const uint64_t bad[] = {
        a350_sq_page_addr(peer->dev, theirs.id),
        a350_sq_page_addr(peer->dev, theirs.id) + A350_SQ_STATUS,
        regs + A350_REG_CTRL + A350_CTRL_RESET,
        regs + A350_REG_CQINT, regs + A350_REG_MSIX_TABLE,
        regs + A350_REG_NOTIFY + 0x80,          /* behind the 16 of a page */
        regs + A350_REG_NOTIFY + 0x100000,      /* reserved half of a slice */
        regs + A350_REG_NOTIFY + 2,
        regs + A350_BAR2_SIZE, peer->dev + T_HBM_SIZE,
        A350_DEV_BASE(2), A350_DEV_BASE(7),
    };
    uint32_t val = A350_RESET_KEY | 1;
    a350_sqe s;
    unsigned i;

    a350_sqe_write_value(&s, 1, a350_notify_addr(peer->dev, 77), 2, &val, 4);
    t_push_ring(&q, &s);
    g_assert_true(t_drain(&q));
    g_assert_cmpuint(t_notify(peer, 77), ==, 1);
    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        a350_sqe_write_value(&s, 1, bad[i], 2, &val, 4);
        refused(&q, &s, 1, A350_ERR_BUS, 0);
    }
    /* a notify is written by 4 or 8 bytes */
    for (i = 0; i <= 5; i++) {
        a350_sqe_init(&s, A350_SQE_WRITE_VALUE, 1, 254);
        s.w[4] = a350_notify_addr(peer->dev, 78);
        s.w[5] = ((a350_notify_addr(peer->dev, 78) >> 32) & 0x1ffff) | i << 20;
        s.w[8] = 1;
        if (i == 2 || i == 3) {
            t_push_ring(&q, &s);
            g_assert_true(t_drain(&q));
            g_assert_cmpuint(t_notify(peer, 78), ==, 1);
            t_notify_set(peer, 78, 0);
        } else {
            refused(&q, &s, 1, A350_ERR_BUS, 0);
            g_assert_cmpuint(t_notify(peer, 78), ==, 0);
        }
    }
    g_assert_true(t_enabled(&theirs));
    t_stop(m);
}

/* ---- §3 UBDMA ---- */

/* doorbellNum 2: one entry rings two jetties and ends with both. */
static void test_two_doorbells(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    uint32_t second = ub_jetty(a->c, WQ2, 64, 0, 0);
    union {
        a350_first_error e;
        uint8_t data[A350_ADMIN_DATA_SIZE];
    } f = { 0 };
    a350_sqe s;
    a350_wqe w;
    a350_cqe e;

    t_hbm_pattern(a->c, SRC, 1, 0x100000);
    t_hbm_pattern(a->c, SRC + 0x200000, 2, 500);
    w = ub_rw(a, b, A350_UB_WRITE, DST, SRC, 0x100000);
    ub_post(a, &w);
    w = ub_rw(a, b, A350_UB_WRITE, DST + 0x200000, SRC + 0x200000, 500);
    t_hbm_write(a->c, WQ2, &w, A350_WQEBB_SIZE);
    a350_sqe_ubdma_db(&s, 1, a->jetty, 1);
    s.w[2] = A350_UBDMA_MODE_DOORBELL | 2u << A350_UBDMA_DB_NUM_SHIFT;
    s.w[6] = second;
    s.w[7] = 1;
    t_push_ring(&a->q, &s);
    g_assert_true(t_drain(&a->q));
    g_assert_true(t_hbm_is_pattern(b->c, DST, 1, 0x100000));
    g_assert_true(t_hbm_is_pattern(b->c, DST + 0x200000, 2, 500));
    /* one fails: both statuses are in the CQE, the entry is in error */
    w.w[8] ^= 1;
    t_hbm_write(a->c, WQ2 + A350_WQEBB_SIZE, &w, A350_WQEBB_SIZE);
    w = ub_nop();
    ub_post(a, &w);
    s.w[5] = s.w[7] = 2;
    t_push_ring(&a->q, &s);
    g_assert_true(t_wait_stop(&a->q));
    g_assert_true(t_cqe(&a->q, &e));
    g_assert_cmphex(e.status & 0xff, ==, A350_UB_ERR_REMOTE);
    g_assert_cmpuint(e.ub_status0, ==, 0);
    g_assert_cmpuint(e.ub_status1, ==, A350_UB_ERR_REMOTE);
    g_assert_cmpuint(e.ub_sub1, ==, A350_UB_SUB_REMOTE_ABORT);
    /* the latch has that of the jetty that failed */
    g_assert_cmpuint(t_admin(a->c, A350_ADM_FIRST_ERROR, &f, 0, NULL), ==, 0);
    g_assert_cmpuint(f.e.jetty_id, ==, second);
    g_assert_cmpuint(f.e.status, ==, A350_UB_ERR_REMOTE);
    g_assert_cmpuint(f.e.sub_status, ==, A350_UB_SUB_REMOTE_ABORT);
    ub_stop(u);
}

/* wqeSize and sqeLength of the direct form say the same. */
static void test_direct_lengths(void)
{
    Ub *u = ub_start_full(2, 64, A350_JETTY_F_DIRECT);
    UbCard *a = &u->card[0];
    a350_sqe s[3] = { 0 };
    unsigned len, size;
    a350_wqe w;

    for (len = 0; len <= 2; len++) {
        for (size = 0; size <= 1; size++) {
            a350_sqe_init(s, A350_SQE_UBDMA, 1, 254);
            s[0].w[2] = size << 1;
            s[0].w[3] |= len << A350_SQE_LEN_SHIFT;
            s[0].w[4] = a->jetty;
            s[1].w[1] = A350_UB_NOP << A350_WQE_OPCODE_SHIFT;
            if (len == size + 1) {
                t_push_ext(&a->q, s, 1 + len);
                t_ring(&a->q);
                g_assert_true(t_drain(&a->q));
            } else {
                refused(&a->q, s, 1 + len, A350_ERR_SQE, 0);
            }
        }
    }
    /* a request of two blocks does not fit the form of one */
    a350_sqe_init(s, A350_SQE_UBDMA, 1, 254);
    s[0].w[3] |= 1u << A350_SQE_LEN_SHIFT;
    s[0].w[4] = a->jetty;
    w = ub_write_notify(a, &u->card[1], DST, SRC, 64, 1, 1);
    memcpy(&s[1], &w, A350_WQEBB_SIZE);
    refused(&a->q, s, 2, A350_ERR_SQE, 0);
    ub_stop(u);
}

/* The direct form is for jetties that were made for it. */
static void test_direct_to_doorbell_jetty(void)
{
    Ub *u = ub_start(1);
    UbCard *a = &u->card[0];
    a350_sqe s[2] = { 0 };

    a350_sqe_init(s, A350_SQE_UBDMA, 1, 254);
    s[0].w[3] |= 1u << A350_SQE_LEN_SHIFT;
    s[0].w[4] = a->jetty;
    s[1].w[1] = A350_UB_NOP << A350_WQE_OPCODE_SHIFT;
    refused(&a->q, s, 2, A350_ERR_SQE, 0);
    g_assert_cmpuint(ub_query(a).pi, ==, 0);
    ub_stop(u);
}

/* ---- §2 kernelCredit: credit + 1 units of 2^32 ns ---- */

/* Of a copy that takes long, and of UB work; the queue can be used again. */
static void test_copy_credit(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    a350_sqe s;
    a350_wqe w;
    a350_cqe e;
    unsigned i;

    /* 2^32 - 1 blocks of one byte */
    a350_sqe_sdma(&s, 1, 0, a->c->dev + DATA, a->c->dev + DATA, 1);
    s.w[3] = 0;
    s.w[4] |= 1u << A350_SDMA_STRIDE_SHIFT;
    s.w[15] = UINT32_MAX;
    t_push_ring(&a->q, &s);
    g_assert_true(t_stays(&a->q, 0));
    qtest_clock_step(u->m->qts, (1ll << 32) - SECOND / 1000);
    g_assert_true(t_stays(&a->q, 0));
    g_assert_true(t_enabled(&a->q));
    qtest_clock_step(u->m->qts, 2 * SECOND / 1000);
    g_assert_true(t_wait_stop(&a->q));
    g_assert_true(t_cqe(&a->q, &e));
    g_assert_cmphex(e.error_bits, ==, A350_ERR_TIMEOUT);
    g_assert_cmpuint(e.flags_type >> 2, ==, A350_SQE_SDMA);
    again(&a->q);

    for (i = 0; i < 60; i++) {
        w = ub_rw(a, b, A350_UB_WRITE, DATA, DATA, 0x7000000);
        ub_post(a, &w);
    }
    a350_sqe_ubdma_db(&s, 2, a->jetty, a->pi);
    s.w[3] = 0;
    t_push_ring(&a->q, &s);
    g_assert_true(T_WAIT(ub_query(a).pi == 60));
    qtest_clock_step(u->m->qts, (1ll << 32) + SECOND / 1000);
    g_assert_true(t_wait_stop(&a->q));
    g_assert_true(t_cqe(&a->q, &e));
    g_assert_cmphex(e.error_bits, ==, A350_ERR_TIMEOUT);
    g_assert_cmpuint(e.flags_type >> 2, ==, A350_SQE_UBDMA);
    ub_recover(a);
    w = ub_rw(a, b, A350_UB_WRITE, DST, SRC, 64);
    ub_post(a, &w);
    ub_ring_ok(a);
    ub_stop(u);
}

/* By QMP: status 5 and 4, latched with their peer; the next one is fine. */
static void test_injected(void)
{
    static const struct {
        const char *name;
        uint8_t status;
    } t[] = { { "ack-timeout", 5 }, { "retry", 4 } };
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    QDict *rsp;
    unsigned i;
    a350_wqe w;

    rsp = qtest_qmp(u->m->qts, "{ 'execute': 'atlas350-inject-link-error',"
                    " 'arguments': { 'card': 'card0', 'jetty': 4242,"
                    " 'error': 'retry' } }");
    g_assert_true(qdict_haskey(rsp, "error"));
    qobject_unref(rsp);
    for (i = 0; i < ARRAY_SIZE(t); i++) {
        union {
            a350_first_error e;
            uint8_t data[A350_ADMIN_DATA_SIZE];
        } f = { 0 };

        qtest_qmp_assert_success(u->m->qts, "{ 'execute': "
                                 "'atlas350-inject-link-error', 'arguments': "
                                 "{ 'card': 'card0', 'jetty': %u, "
                                 "'error': %s } }", a->jetty, t[i].name);
        w = ub_rw(a, b, A350_UB_WRITE, DST, SRC, 64);
        ub_post(a, &w);
        ub_ring_fails(a, t[i].status, 0);
        g_assert_cmpuint(ub_query(a).state, ==, A350_JETTY_ERROR);
        g_assert_cmpuint(t_admin(a->c, A350_ADM_FIRST_ERROR, &f, 0, NULL), ==,
                         0);
        g_assert_cmpuint(f.e.kind, ==, A350_EK_UB);
        g_assert_cmpuint(f.e.status, ==, t[i].status);
        g_assert_cmpuint(f.e.peer_card, ==, 1);
        g_assert_cmpuint(f.e.jetty_id, ==, a->jetty);
        t_admin_id(a->c, A350_ADM_CLEAR_ERROR, 0);
        ub_recover(a);
        w = ub_rw(a, b, A350_UB_WRITE, DST, SRC, 64);
        ub_post(a, &w);
        ub_ring_ok(a);
    }
    ub_stop(u);
}

/* ---- the first error, and what follows it ---- */

static void test_followers(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 17, true, 0);
    union {
        a350_first_error e;
        uint8_t data[A350_ADMIN_DATA_SIZE];
    } u = { 0 };
    uint8_t text[0x1000] = { 0 };
    a350_sqe s;
    unsigned i;

    for (i = 0; i < 5; i++) {
        a350_sqe_init(&s, A350_SQE_INVALID, 100 + i, 254);
        refused(&q, &s, 1, A350_ERR_SQE, 0);
    }
    g_assert_cmpuint(t_admin(c, A350_ADM_FIRST_ERROR, &u, 0, NULL), ==, 0);
    g_assert_cmpuint(u.e.task, ==, 100);
    g_assert_cmpuint(u.e.followers, ==, 4);
    qtest_bufread(c->qts, c->shm + A350_SHM_LOG + sizeof(a350_log_ring), text,
                  sizeof(text) - 1);
    g_assert_nonnull(strstr((char *)text, "task 100: there is no entry type "
                            "63\n"));
    g_assert_nonnull(strstr((char *)text, "task 104: there is no entry type "
                            "63 (after an earlier error of this card)\n"));
    t_stop(m);
}

/* ---- a peer that is pulled out ---- */

/* Copies to and from a card that goes away meanwhile end with an error. */
static void test_peer_unplugged(void)
{
    enum { LEN = 4 << 20 };
    TMachine *m = t_start(1, "", "-global ICH9-LPC.acpi-pci-hotplug-with-"
                          "bridge-support=off "
                          "-device pcie-root-port,id=rp0,addr=8");
    TCard *c = &m->card[0];
    QPCIDevice *port = qpci_device_find(m->bus, QPCI_DEVFN(8, 0));
    uint64_t own = c->dev + AREA, peer = A350_DEV_BASE(1) + AREA;
    TQueue q = t_queue(c, 0, 257, true, 0);
    a350_cqe e;
    a350_sqe s;
    int i, k;

    for (i = 0; i < 6; i++) {
        qtest_qmp_device_add(m->qts, "atlas350", "hot", "{'bus': 'rp0', "
                             "'hbm-size': 268435456 }");
        t_slot_power(port, true);
        /* while it is there, bytes go there and back */
        t_hbm_pattern(c, AREA, i, 1000);
        a350_sqe_sdma(&s, 1, 0, peer, own, 1000);
        t_push(&q, &s);
        a350_sqe_sdma(&s, 2, 0, own + 0x10000, peer, 1000);
        t_push_ring(&q, &s);
        g_assert_true(t_drain(&q));
        g_assert_true(t_hbm_is_pattern(c, AREA + 0x10000, i, 1000));
        for (k = 0; k < 200; k++) {
            a350_sqe_sdma(&s, k, 0, k & 1 ? peer : own, k & 1 ? own : peer,
                          i & 1 ? 512 : LEN);
            t_push(&q, &s);
        }
        t_ring(&q);
        g_usleep(700 * i);
        t_slot_power(port, false);
        qtest_qmp_eventwait(m->qts, "DEVICE_DELETED");
        if (!t_drain(&q)) {
            g_assert_true(t_cqe(&q, &e));
            g_assert_cmpuint(e.flags_type >> 2, ==, A350_SQE_SDMA);
            g_assert_cmpuint(e.error_bits, !=, 0);
        }
        again(&q);
        a350_sqe_sdma(&s, 1, 0, peer, own, 64);
        refused(&q, &s, 1, A350_ERR_BUS, A350_SDMA_ST_ADDR);
    }
    g_free(port);
    t_stop(m);
}

/* Many waiters of one notify, none of which will ever be served. */
static void at_work_waiting(TCard *c)
{
    a350_sqe s;
    TQueue q;
    int i;

    for (i = 0; i < 3; i++) {
        q = t_queue(c, i * 0x10000, 17, false, 0);
        a350_sqe_notify_wait(&s, i, 5, 0);
        t_push_ring(&q, &s);
        a350_sqe_init(&s, A350_SQE_NOTIFY_WAIT, i, A350_CREDIT_NEVER);
        s.w[2] = 6 | A350_NOTIFY_CNT;
        s.w[4] = 1;
        s.w[5] = A350_NOTIFY_WAIT_EQUAL;
        q = t_queue(c, 0x80000 + i * 0x10000, 17, false, 0);
        t_push_ring(&q, &s);
        g_assert_true(t_stays(&q, 0));
    }
}

static void at_work_copying(TCard *c)
{
    a350_sqe s;
    TQueue q;
    int i;

    for (i = 0; i < 3; i++) {
        q = t_queue(c, i * 0x10000, 17, true, 0);
        a350_sqe_sdma(&s, i, 0, c->dev + AREA + (i + 2) * 0x2000000,
                      c->dev + AREA, 0x2000000);
        t_push(&q, &s);
        t_push_ring(&q, &s);
    }
}

/* Work requests to itself, of which the mover has the first. */
static void at_work_sending(TCard *c)
{
    TQueue q = t_queue(c, 0, 17, true, 0);
    uint32_t token = ub_segment(c, c->dev, T_HBM_SIZE, ALL, VALUE);
    uint32_t jetty = ub_jetty(c, 0x100000, 64, 0, 0);
    a350_ub_remote r = { .token_id = token, .token_value = VALUE };
    a350_wqe w;
    a350_sqe s;
    int i;

    a350_eid_make(r.eid, 0, 0);
    for (i = 0; i < 3; i++) {
        a350_wqe_rw(&w, A350_UB_WRITE, A350_WQE_CQE, &r,
                    c->dev + AREA + 0x4000000, 0, c->dev + AREA, 0x4000000,
                    token);
        t_hbm_write(c, 0x100000 + i * 64, &w, 64);
    }
    a350_sqe_ubdma_db(&s, 1, jetty, 3);
    t_push_ring(&q, &s);
}

typedef struct AtWork {
    const char *name;
    void (*begin)(TCard *c);
} AtWork;

static const AtWork at_work[] = {
    { "waiting", at_work_waiting },
    { "copying", at_work_copying },
    { "sending", at_work_sending },
};

/* A card is pulled out in the middle of its own work; the next one works. */
static void test_unplugged_at_work(gconstpointer opaque)
{
    const AtWork *work = opaque;
    TMachine *m = t_start(0, "", "-global ICH9-LPC.acpi-pci-hotplug-with-"
                          "bridge-support=off "
                          "-device pcie-root-port,id=rp0,addr=8");
    QPCIDevice *port = qpci_device_find(m->bus, QPCI_DEVFN(8, 0));
    a350_sqe s;
    TQueue q;
    int i;

    for (i = 0; i < 3; i++) {
        t_plug(m, port, "rp0", "", 1);
        q = t_queue(&m->card[0], 0x200000, 17, false, 0);
        a350_sqe_notify_record(&s, 1, 9);
        t_push_ring(&q, &s);
        g_assert_true(t_drain(&q));
        work->begin(&m->card[0]);
        t_unplug(m, port);
    }
    g_free(port);
    t_stop(m);
}

/*
 * Records for a card that comes while they are made: until it is there whole
 * they find nobody.
 */
static void test_peer_plugged(void)
{
    enum { QUEUES = 32, DEPTH = 2049, ENTRIES = 2000 };
    TMachine *m = t_start(1, ",num-notify=1024", "-global ICH9-LPC.acpi-pci-"
                          "hotplug-with-bridge-support=off "
                          "-device pcie-root-port,id=rp0,addr=8");
    TCard *c = &m->card[0];
    QPCIDevice *port = qpci_device_find(m->bus, QPCI_DEVFN(8, 0));
    g_autofree a350_sqe *s = g_new(a350_sqe, DEPTH);
    TQueue q[QUEUES];
    uint32_t one = 1;
    int i, k, round;

    for (k = 0; k < DEPTH; k++) {
        a350_sqe_write_value(&s[k], k, a350_notify_addr(A350_DEV_BASE(1),
                                                        k % 1024), 2, &one, 0);
    }
    for (i = 0; i < QUEUES; i++) {
        q[i] = t_queue(c, AREA + i * 0x100000, DEPTH, false,
                       A350_SQ_F_CONTINUE);
        t_hbm_write(c, q[i].ring, s, DEPTH * sizeof(*s));
    }
    for (round = 0; round < 6; round++) {
        for (i = 0; i < QUEUES; i++) {
            q[i].tail = (q[i].tail + ENTRIES) % DEPTH;
            t_ring(&q[i]);
        }
        qtest_qmp_device_add(m->qts, "atlas350", "hot", "{'bus': 'rp0', "
                             "'hbm-size': 268435456 }");
        t_slot_power(port, true);
        for (i = 0; i < QUEUES; i++) {
            g_assert_true(t_drain(&q[i]));
        }
        t_slot_power(port, false);
        qtest_qmp_eventwait(m->qts, "DEVICE_DELETED");
    }
    g_free(port);
    t_stop(m);
}

/* ---- who waits for whom ---- */

static void label(TQueue *q, uint32_t rank, uint32_t notify, uint32_t peer,
                  unsigned peer_card)
{
    a350_sq_label l = { .sq_id = q->id, .rank = rank, .kind = 1 };
    a350_notify_label n = { .notify_id = notify, .kind = 2, .rank = rank,
                            .peer_rank = peer, .owner_sq = q->id };

    a350_eid_make(n.peer_eid, 0, peer_card);
    g_assert_cmpuint(t_admin(q->c, A350_ADM_SQ_LABEL, &l, sizeof(l), NULL),
                     ==, A350_ADM_OK);
    g_assert_cmpuint(t_admin(q->c, A350_ADM_NOTIFY_LABEL, &n, sizeof(n), NULL),
                     ==, A350_ADM_OK);
}

static bool stall(TMachine *m, const char *want)
{
    QDict *ev, *data;
    bool cycle;
    unsigned i;

    for (i = 0; i < 3; i++) {
        qtest_clock_step(m->qts, SECOND + 1000);
    }
    ev = qtest_qmp_eventwait_ref(m->qts, "ATLAS350_STALL");
    data = qdict_get_qdict(ev, "data");
    g_test_message("%s", qdict_get_str(data, "text"));
    g_assert_nonnull(strstr(qdict_get_str(data, "text"), want));
    cycle = qdict_get_bool(data, "cycle");
    qobject_unref(ev);
    return cycle;
}

/* A chain of three ranks that ends at an idle one, then at a stopped one. */
static void test_stall_chain(void)
{
    TMachine *m = t_start(3, "", "");
    TQueue q[3];
    a350_sqe s;
    unsigned i;

    for (i = 0; i < 3; i++) {
        q[i] = t_queue(&m->card[i], 0, 17, false, 0);
        label(&q[i], i, 4, (i + 1) % 3, (i + 1) % 3);
    }
    a350_sqe_notify_wait(&s, 1, 4, 0);
    t_push_ring(&q[0], &s);
    g_assert_true(t_stays(&q[0], 0));
    qtest_clock_step(m->qts, 1000);
    t_push_ring(&q[1], &s);
    g_assert_true(t_stays(&q[1], 0));
    g_assert_false(stall(m, "its channel to rank 1; rank 1 waits itself; rank "
                         "1, thread 0: waits"));
    a350_sqe_init(&s, A350_SQE_INVALID, 0x77, 254);
    t_push_ring(&q[2], &s);
    g_assert_true(t_wait_stop(&q[2]));
    g_assert_false(stall(m, "to rank 2; rank 2 was stopped by an error; rank "
                         "2, thread 0: was stopped by an error of its task "
                         "119"));
    t_stop(m);
}

/* The shortest time of three. */
static gint64 list_waits(TMachine *m, unsigned num)
{
    gint64 start, best = INT64_MAX;
    QDict *rsp;
    int i;

    for (i = 0; i < 3; i++) {
        start = g_get_monotonic_time();
        rsp = qtest_qmp(m->qts, "{ 'execute': 'query-atlas350-waits' }");
        best = MIN(best, g_get_monotonic_time() - start);
        g_assert_cmpuint(qlist_size(qdict_get_qlist(rsp, "return")), ==, num);
        qobject_unref(rsp);
    }
    return best;
}

/*
 * All queues wait and nobody records. That each has as many entries behind it
 * as a ring holds does not make the list take much longer, during which the
 * machine stands.
 */
static void test_many_waits(void)
{
    enum { QUEUES = 2016, DEPTH = 2049 };
    TMachine *m = t_start(1, ",num-sq=2016", "");
    TCard *c = &m->card[0];
    g_autofree a350_sqe *s = g_new(a350_sqe, DEPTH);
    TQueue q = { .c = c, .id = QUEUES - 1, .depth = DEPTH };
    const uint32_t tail = A350_REG_RTSQ + A350_SQ_TAIL;
    gint64 few, many;
    unsigned i;

    a350_sqe_notify_wait(&s[0], 0, 5, 0);
    for (i = 1; i < DEPTH; i++) {
        a350_sqe_nop(&s[i], i);
    }
    t_hbm_write(c, 0, s, DEPTH * sizeof(*s));
    for (i = 0; i < QUEUES; i++) {
        a350_sq_create sa = { .sq_id = i, .depth = DEPTH, .base = c->dev,
                              .cq_id = A350_ID_NONE };

        g_assert_cmpuint(t_admin(c, A350_ADM_SQ_CREATE, &sa, sizeof(sa), NULL),
                         ==, A350_ADM_OK);
        t_wr32(c, tail + i * A350_SQ_PAGE_SIZE, 1);
    }
    g_assert_true(t_stays(&q, 0));
    few = list_waits(m, QUEUES);
    for (i = 0; i < QUEUES; i++) {
        t_wr32(c, tail + i * A350_SQ_PAGE_SIZE, DEPTH - 1);
    }
    many = list_waits(m, QUEUES);
    g_test_message("%u waits listed in %" PRId64 " ms, with full rings in %"
                   PRId64 " ms", QUEUES, few / 1000, many / 1000);
    /* TSan looks at every entry's memory: its time says nothing. */
    if (!g_getenv("TSAN_OPTIONS")) {
        g_assert_cmpint(many, <, few * 3 / 2);
    }
    t_stop(m);
}

int main(int argc, char **argv)
{
    unsigned i;

    g_test_init(&argc, &argv, NULL);
    qtest_add_func("atlas350/notify/count-take-wakes", test_count_take_wakes);
    qtest_add_func("atlas350/notify/count-admin-reset",
                   test_count_admin_reset);
    qtest_add_func("atlas350/notify/count-events", test_count_events);
    qtest_add_func("atlas350/notify/all-65536", test_all_notifies);
    qtest_add_func("atlas350/queue/all-2016", test_2016_queues);
    qtest_add_func("atlas350/queue/independent", test_independent);
    qtest_add_func("atlas350/queue/ring-unmapped", test_ring_unmapped);
    qtest_add_func("atlas350/sdma/stride-2", test_stride_2);
    qtest_add_func("atlas350/sdma/pointer-mode", test_sdma_pointer);
    qtest_add_func("atlas350/sdma/offsets", test_sdma_offsets);
    qtest_add_func("atlas350/entry/place-holder-copy", test_place_holder_copy);
    qtest_add_func("atlas350/entry/peer-registers", test_peer_registers);
    qtest_add_func("atlas350/ubdma/two-doorbells", test_two_doorbells);
    qtest_add_func("atlas350/ubdma/direct-lengths", test_direct_lengths);
    qtest_add_func("atlas350/ubdma/direct-to-doorbell-jetty",
                   test_direct_to_doorbell_jetty);
    qtest_add_func("atlas350/timeout/copy-credit", test_copy_credit);
    qtest_add_func("atlas350/ubdma/injected-errors", test_injected);
    qtest_add_func("atlas350/error/followers", test_followers);
    qtest_add_func("atlas350/reset/peer-unplugged", test_peer_unplugged);
    for (i = 0; i < ARRAY_SIZE(at_work); i++) {
        g_autofree char *name = g_strdup_printf("atlas350/reset/unplugged-%s",
                                                at_work[i].name);

        qtest_add_data_func(name, &at_work[i], test_unplugged_at_work);
    }
    qtest_add_func("atlas350/reset/peer-plugged", test_peer_plugged);
    qtest_add_func("atlas350/report/stall-chain", test_stall_chain);
    qtest_add_func("atlas350/wait/many", test_many_waits);
    return g_test_run();
}
