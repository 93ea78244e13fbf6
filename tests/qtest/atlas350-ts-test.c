/*
 * QTest: the Atlas 350's task scheduler, rule by rule.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each test is named after the rule of spec/hw/task-queues.md that it walks;
 * expected values are taken from there.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "atlas350-card.h"

#define RING    0x0
#define DATA    0x100000
#define DST     0x200000

static void copy_sqe(TCard *c, a350_sqe *s, uint32_t task, uint64_t dst,
                     uint64_t src, uint32_t len)
{
    a350_sqe_sdma(s, task, A350_SDMA_CPY, c->dev + dst, c->dev + src, len);
}

/* ---- §1 queues ---- */

static void test_doorbell_copy_head(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, RING, 17, false, 0);
    a350_sqe s;

    t_hbm_pattern(c, DATA, 1, 4099);
    t_hbm_fill(c, DST - 64, 0xee, 64 + 4099 + 64);
    copy_sqe(c, &s, 1, DST, DATA, 4099);
    t_push(&q, &s);
    /* in the ring, but not rung: nothing happens */
    g_assert_true(t_stays(&q, 0));
    g_assert_true(t_hbm_is_fill(c, DST, 0xee, 4099));
    t_ring(&q);
    g_assert_true(t_drain(&q));
    g_assert_true(t_hbm_is_pattern(c, DST, 1, 4099));
    g_assert_true(t_hbm_is_fill(c, DST - 64, 0xee, 64));
    g_assert_true(t_hbm_is_fill(c, DST + 4099, 0xee, 64));
    t_stop(m);
}

static void test_depth_rule(void)
{
    static const struct {
        uint32_t depth, result;
    } t[] = {
        { 0, 3 }, { 1, 3 }, { 8, 3 }, { 9, 0 }, { 10, 3 }, { 16, 3 },
        { 17, 0 }, { 2049, 0 }, { 2048, 3 }, { 2057, 3 }, { 0xffffffff, 3 },
    };
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(t); i++) {
        a350_sq_create a = { .sq_id = A350_ID_ANY, .depth = t[i].depth,
                             .base = c->dev, .cq_id = A350_ID_NONE };

        g_assert_cmpuint(t_admin(c, A350_ADM_SQ_CREATE, &a, sizeof(a), NULL),
                         ==, t[i].result);
    }
    t_stop(m);
}

static void test_create_checks(void)
{
    TMachine *m = t_start(1, ",num-sq=4", "");
    TCard *c = &m->card[0];
    const a350_sq_create ok = { .sq_id = 3, .depth = 9, .base = c->dev,
                                .cq_id = A350_ID_NONE };
    struct {
        a350_sq_create a;
        uint32_t result;
    } t[8];
    uint32_t id;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(t); i++) {
        t[i].a = ok;
        t[i].result = A350_ADM_E_ADDRESS;
    }
    t[0].a.base = c->dev + 32;                       /* alignment */
    t[1].a.base = c->dev + T_HBM_SIZE - 512;         /* over the end */
    t[2].a.base = c->dev + (1ull << 43);             /* another card */
    t[3].a.base = (1ull << 47) - 64;                 /* over host memory */
    t[4].a.sq_id = 4;
    t[4].result = A350_ADM_E_RANGE;
    t[5].a.cq_id = 0;                                /* there is none */
    t[5].result = A350_ADM_E_NOT_FOUND;
    t[6].a.flags = 4;
    t[6].result = A350_ADM_E_RANGE;
    t[7].result = A350_ADM_OK;
    for (i = 0; i < ARRAY_SIZE(t); i++) {
        g_assert_cmpuint(t_admin(c, A350_ADM_SQ_CREATE, &t[i].a, sizeof(ok),
                                 NULL), ==, t[i].result);
    }
    t[7].a = ok;
    g_assert_cmpuint(t_admin(c, A350_ADM_SQ_CREATE, &t[7].a, sizeof(ok), NULL),
                     ==, A350_ADM_E_EXISTS);
    for (i = 0; i < 3; i++) {
        t[7].a = ok;
        t[7].a.sq_id = A350_ID_ANY;
        g_assert_cmpuint(t_admin(c, A350_ADM_SQ_CREATE, &t[7].a, sizeof(ok),
                                 NULL), ==, 0);
        g_assert_cmpuint(t[7].a.sq_id, ==, i);
    }
    t[7].a = ok;
    t[7].a.sq_id = A350_ID_ANY;
    g_assert_cmpuint(t_admin(c, A350_ADM_SQ_CREATE, &t[7].a, sizeof(ok), NULL),
                     ==, A350_ADM_E_NO_RESOURCE);
    t_admin_id(c, A350_ADM_SQ_DESTROY, 1);
    id = 1;
    g_assert_cmpuint(t_admin(c, A350_ADM_SQ_DESTROY, &id, 4, NULL), ==,
                     A350_ADM_E_NOT_FOUND);
    t_stop(m);
}

/* Wrap at depth; the ring takes depth - 1 entries; empty when head == tail. */
static void test_wrap_full_empty(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, RING, 9, false, 0);
    a350_sqe s;
    uint32_t i, n;

    for (n = 0; n < 5; n++) {
        for (i = 0; i < 8; i++) {
            uint32_t v = 100 * n + i;

            a350_sqe_write_value(&s, v, c->dev + DATA + 4 * i, 2, &v, 0);
            t_push(&q, &s);
        }
        t_ring(&q);
        g_assert_true(t_drain(&q));
        g_assert_cmpuint(t_head(&q), ==, q.tail);
        for (i = 0; i < 8; i++) {
            g_assert_cmpuint(qtest_readl(c->qts, c->hbm + DATA + 4 * i), ==,
                             100 * n + i);
        }
    }
    t_stop(m);
}

static void test_tail_rules(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, RING, 17, true, 0);
    uint32_t page = A350_REG_RTSQ + q.id * 0x1000;
    a350_cqe e;
    a350_sqe s;

    /* beyond the ring */
    t_wr32(c, page, 17);
    g_assert_true(t_wait_stop(&q));
    g_assert_true(t_cqe(&q, &e));
    g_assert_cmphex(e.h0 & A350_CQE_ERROR, ==, A350_CQE_ERROR);
    g_assert_cmphex(e.error_bits, ==, A350_ERR_SQE);
    g_assert_cmpuint(e.flags_type >> 2, ==, A350_SQE_INVALID);
    t_admin_id(c, A350_ADM_SQ_RESET, q.id);
    g_assert_cmpuint(t_rd32(c, page), ==, 0);

    /* back */
    t_wr32(c, page + A350_SQ_STATUS, 1);
    q.tail = 0;
    a350_sqe_notify_wait(&s, 1, 5, 0);
    t_push(&q, &s);
    t_push(&q, &s);
    t_push_ring(&q, &s);
    g_assert_true(t_stays(&q, 0));
    t_wr32(c, page, 1);
    t_notify_set(c, 5, 1);
    g_assert_true(t_wait_stop(&q));
    g_assert_true(t_cqe(&q, &e));
    g_assert_cmphex(e.error_bits, ==, A350_ERR_SQE);
    t_stop(m);
}

/* Tail by 32-bit and 16-bit stores, head and tail by 16-bit loads (§1). */
static void test_access_widths(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, RING, 17, false, 0);
    uint64_t page = c->reg + A350_REG_RTSQ + q.id * 0x1000;
    a350_sqe s;

    a350_sqe_nop(&s, 1);
    t_push(&q, &s);
    qtest_writew(c->qts, page + A350_SQ_TAIL, q.tail);
    g_assert_true(t_drain(&q));
    g_assert_cmpuint(qtest_readw(c->qts, page + A350_SQ_HEAD), ==, 1);
    g_assert_cmpuint(qtest_readw(c->qts, page + A350_SQ_TAIL), ==, 1);
    g_assert_cmpuint(qtest_readw(c->qts, page + A350_SQ_TAIL + 2), ==, 0);
    t_stop(m);
}

/* Head is writable while the queue is disabled only. */
static void test_head_write(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, RING, 17, false, 0);
    uint32_t page = A350_REG_RTSQ + q.id * 0x1000;
    a350_sqe s;
    int i;

    for (i = 0; i < 4; i++) {
        a350_sqe_notify_record(&s, i, 10 + i);
        t_push(&q, &s);
    }
    t_wr32(c, page + A350_SQ_HEAD, 2);
    g_assert_cmpuint(t_head(&q), ==, 0);
    t_wr32(c, page + A350_SQ_STATUS, 0);
    g_assert_false(t_enabled(&q));
    t_wr32(c, page + A350_SQ_HEAD, 2);
    g_assert_cmpuint(t_head(&q), ==, 2);
    t_wr32(c, page + A350_SQ_HEAD, 17);
    g_assert_cmpuint(t_head(&q), ==, 2);
    t_ring(&q);
    g_assert_true(t_stays(&q, 2));
    t_wr32(c, page + A350_SQ_STATUS, 1);
    g_assert_true(t_drain(&q));
    g_assert_cmpuint(t_notify(c, 10), ==, 0);
    g_assert_cmpuint(t_notify(c, 11), ==, 0);
    g_assert_cmpuint(t_notify(c, 12), ==, 1);
    g_assert_cmpuint(t_notify(c, 13), ==, 1);
    t_stop(m);
}

/* The head counts from the store on, however soon the queue is enabled. */
static void test_head_write_and_enable(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, RING, 17, false, A350_SQ_F_DISABLED);
    uint32_t page = A350_REG_RTSQ + q.id * 0x1000;
    a350_sqe s;
    int i;

    for (i = 0; i < 4; i++) {
        a350_sqe_notify_record(&s, i, 10 + i);
        t_push(&q, &s);
    }
    t_ring(&q);
    /* both stores before the card's thread looks */
    qtest_qmp_assert_success(m->qts, "{ 'execute': 'stop' }");
    t_wr32(c, page + A350_SQ_HEAD, 2);
    t_wr32(c, page + A350_SQ_STATUS, 1);
    g_assert_cmpuint(t_head(&q), ==, 2);
    qtest_qmp_assert_success(m->qts, "{ 'execute': 'cont' }");
    g_assert_true(t_drain(&q));
    for (i = 0; i < 4; i++) {
        g_assert_cmpuint(t_notify(c, 10 + i), ==, i >= 2);
    }
    /* and it moves on from there */
    a350_sqe_notify_record(&s, 9, 20);
    t_push_ring(&q, &s);
    g_assert_true(t_drain(&q));
    g_assert_cmpuint(t_notify(c, 20), ==, 1);
    t_stop(m);
}

static void test_pause_resume(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, RING, 17, false, 0);
    a350_sqe s;

    t_admin_id(c, A350_ADM_SQ_PAUSE, q.id);
    a350_sqe_nop(&s, 1);
    t_push_ring(&q, &s);
    g_assert_true(t_stays(&q, 0));
    /* a software flag only: the enable bit does not show it */
    g_assert_true(t_enabled(&q));
    t_admin_id(c, A350_ADM_SQ_RESUME, q.id);
    g_assert_true(t_drain(&q));
    t_stop(m);
}

#define COPY_LEN    0x400000u
#define COPY_FROM   0x4000000u
#define COPY_TO     0x8000000u

/*
 * Many long copies, from the queue's start. Each of a few tries comes too late
 * if all are done before the caller has stopped the queue.
 */
static void start_copies(TQueue *q, uint32_t n)
{
    uint64_t dev = q->c->dev;
    a350_sqe s;

    t_admin_id(q->c, A350_ADM_SQ_RESET, q->id);
    t_wr32(q->c, A350_REG_RTSQ + q->id * A350_SQ_PAGE_SIZE + A350_SQ_STATUS,
           A350_SQ_STATUS_ENABLE);
    q->tail = 0;
    a350_sqe_sdma(&s, 1, A350_SDMA_CPY, dev + COPY_TO, dev + COPY_FROM,
                  COPY_LEN);
    while (n--) {
        t_push(q, &s);
    }
    t_ring(q);
}

/*
 * Long copies follow each other without the card's thread: yet the queue stops
 * after the entry at hand when it is paused, disabled or reset.
 */
static void test_pause_copies(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, RING, 257, false, 0);
    uint32_t status = A350_REG_RTSQ + q.id * A350_SQ_PAGE_SIZE +
                      A350_SQ_STATUS;
    uint32_t at = q.depth, how, try, late = 0;

    for (how = 0; how < 3; how++) {
        for (try = 0; try < 20; try++) {
            start_copies(&q, 200);
            if (how == 1) {
                t_wr32(c, status, 0);
            } else {
                t_admin_id(c, how ? A350_ADM_SQ_RESET : A350_ADM_SQ_PAUSE,
                           q.id);
            }
            g_usleep(20000);
            at = t_head(&q);
            if (at < 200) {
                break;
            }
            late++;
        }
        g_assert_cmpuint(try, <, 20);
        g_assert_cmpint(t_enabled(&q), ==, how == 0);
        g_assert_true(how < 2 || at == 0);
        if (!t_stays(&q, at)) {
            /* the entry at hand: a slow machine takes its time */
            g_assert_cmpuint(how, <, 2);
            g_assert_cmpuint(t_head(&q), ==, at + 1);
            g_assert_true(t_stays(&q, at + 1));
        }
    }
    g_test_message("%u tries came too late", late);
    t_hbm_pattern(c, COPY_FROM, 2, 4096);
    start_copies(&q, 2);
    g_assert_true(t_drain(&q));
    g_assert_true(t_hbm_is_pattern(c, COPY_TO, 2, 4096));
    t_stop(m);
}

/* The head entry is copied once: what happens to the ring later is ignored. */
static void test_toctou(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, RING, 17, false, 0);
    a350_sqe s;

    a350_sqe_notify_wait(&s, 1, 5, 0);
    t_push_ring(&q, &s);
    g_assert_true(t_stays(&q, 0));
    /* flip the entry that is being executed */
    a350_sqe_notify_wait(&s, 1, 6, 0);
    t_hbm_write(c, q.ring, &s, sizeof(s));
    t_notify_set(c, 6, 1);
    g_assert_true(t_stays(&q, 0));
    t_notify_set(c, 5, 1);
    g_assert_true(t_drain(&q));
    g_assert_cmpuint(t_notify(c, 6), ==, 1);
    t_stop(m);
}

static void test_queue_reset(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, RING, 17, false, 0);
    a350_sqe s;
    int i;

    for (i = 0; i < 20; i++) {
        a350_sqe_notify_wait(&s, 1, 5, 0);
        t_push(&q, &s);
        copy_sqe(c, &s, 2, DST, DATA, 64 << 20);
        t_push_ring(&q, &s);
        if (i & 1) {
            /* in the middle of a large copy */
            t_notify_set(c, 5, 1);
        }
        t_admin_id(c, A350_ADM_SQ_RESET, q.id);
        g_assert_cmpuint(t_head(&q), ==, 0);
        g_assert_false(t_enabled(&q));
        t_notify_set(c, 5, 0);
        q.tail = 0;
        t_wr32(c, A350_REG_RTSQ + q.id * 0x1000 + A350_SQ_STATUS, 1);
    }
    a350_sqe_notify_record(&s, 1, 9);
    t_push_ring(&q, &s);
    g_assert_true(t_drain(&q));
    g_assert_cmpuint(t_notify(c, 9), ==, 1);
    t_stop(m);
}

/* A queue that waits, or copies for long, holds up no other. */
static void test_fairness(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue w = t_queue(c, 0x10000, 17, false, 0);
    TQueue big = t_queue(c, 0x20000, 2049, false, 0);
    TQueue busy = t_queue(c, 0x60000, 2049, false, 0);
    TQueue q = t_queue(c, 0xa0000, 17, false, 0);
    a350_sqe s;
    int i;

    a350_sqe_notify_wait(&s, 1, 5, 0);
    t_push_ring(&w, &s);
    for (i = 0; i < 1000; i++) {
        copy_sqe(c, &s, i, 0x8000000, 0x1000000, 64 << 20);
        t_push(&big, &s);
    }
    t_ring(&big);
    for (i = 0; i < 2000; i++) {
        copy_sqe(c, &s, i, 0x400000, 0x500000, 32 << 10);
        t_push(&busy, &s);
    }
    t_ring(&busy);
    for (i = 0; i < 10; i++) {
        a350_sqe_nop(&s, i);
        t_push_ring(&q, &s);
        g_assert_true(t_drain(&q));
    }
    g_assert_cmpuint(t_head(&big), <, 1000);
    g_assert_cmpuint(t_head(&w), ==, 0);
    t_stop(m);
}

/* ---- §2 header ---- */

/* Types and lengths that are refused, each with its CQE and a living card. */
static void test_bad_entries(void)
{
    enum { ANY = 0xff };
    static const struct {
        const char *what;
        uint32_t w0, w2, w3, w5;
        uint32_t bits;
    } t[] = {
        { "AIC", 0, 0, 0, 0, A350_ERR_SQE },
        { "AIV", 1, 0, 0, 0, A350_ERR_SQE },
        { "FUSION", 2, 0, 0, 0, A350_ERR_SQE },
        { "AICPU_H", 4, 0, 0, 0, A350_ERR_SQE },
        { "AICPU_D without firmware", 5, 0, 0, 0, A350_ERR_EXCEPTION },
        { "record of notify 65536", 6, 65536, 0, 0, A350_ERR_SQE },
        { "wait for notify 131071", 7, 131071, 0, 0, A350_ERR_SQE },
        { "counting notify 2048", 6, 2048 | 1u << 30, 0, 0, A350_ERR_SQE },
        { "record mode 3", 6, 1u << 30, 0, 3 << 2, A350_ERR_SQE },
        { "bitmap with wait mode", 7, 1u << 30, 0, 1 | 1 << 5, A350_ERR_SQE },
        { "WRITE_VALUE of 64 bytes", 8, 0, 0, 6 << 20, A350_ERR_SQE },
        { "UBDMA, 0 doorbells", 9, 1, 0, 0, A350_ERR_SQE },
        { "UBDMA, 3 doorbells", 9, 7, 0, 0, A350_ERR_SQE },
        { "UBDMA, no such jetty", 9, 3, 0, 0, A350_ERR_SQE },
        { "direct UBDMA without WQE", 9, 0, 0, 0, A350_ERR_SQE },
        { "ASYNCDMA", 10, 0, 0, 0, A350_ERR_SQE },
        { "VPC", 12, 0, 0, 0, A350_ERR_SQE },
        { "JPEGE", 13, 0, 0, 0, A350_ERR_SQE },
        { "JPEGD", 14, 0, 0, 0, A350_ERR_SQE },
        { "CMO", 15, 0, 0, 0, A350_ERR_SQE },
        { "CCU", 16, 0, 0, 0, A350_ERR_SQE },
        { "type 17", 17, 0, 0, 0, A350_ERR_SQE },
        { "NSC", 18, 0, 0, 0, A350_ERR_SQE },
        { "DSS", 19, 0, 0, 0, A350_ERR_SQE },
        { "COND", 20, 0, 0, 0, A350_ERR_SQE },
        { "END", 21, 0, 0, 0, A350_ERR_SQE },
        { "type 22", 22, 0, 0, 0, A350_ERR_SQE },
        { "type 62", 62, 0, 0, 0, A350_ERR_SQE },
        { "INVALID", 63, 0, 0, 0, A350_ERR_SQE },
        { "sqeLength 3", 3, 0, 3u << 29, 0, A350_ERR_SQE },
        { "two slots, one rung", 3, 0, 1u << 29, 0, A350_ERR_SQE },
    };
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, RING, 17, true, 0);
    uint32_t page = A350_REG_RTSQ + q.id * 0x1000;
    unsigned i;
    a350_sqe s;
    a350_cqe e;

    for (i = 0; i < ARRAY_SIZE(t); i++) {
        uint32_t task = 0x12340000 + i;

        g_test_message("%s", t[i].what);
        memset(&s, 0, sizeof(s));
        s.w[0] = t[i].w0;
        s.w[1] = task;
        s.w[2] = t[i].w2;
        s.w[3] = t[i].w3 | A350_CREDIT_DEFAULT << A350_SQE_CREDIT_SHIFT;
        s.w[5] = t[i].w5;
        t_push_ring(&q, &s);
        g_assert_true(t_wait_stop(&q));
        g_assert_true(t_cqe(&q, &e));
        /* the reading relied on, §4 */
        g_assert_cmphex(e.h0 & ~1u, ==, A350_CQE_ERROR | q.id << 4);
        g_assert_cmphex(e.stream_id, ==, task & 0xffff);
        g_assert_cmphex(e.task_id, ==, task >> 16);
        g_assert_cmphex(e.error_bits, ==, t[i].bits);
        g_assert_cmpuint(e.flags_type >> 2, ==, t[i].w0);
        g_assert_cmpuint(e.sqe_index, ==, 0);
        /* the head stays on the entry that failed */
        g_assert_cmpuint(t_head(&q), ==, 0);
        t_admin_id(c, A350_ADM_SQ_RESET, q.id);
        t_wr32(c, page + A350_SQ_STATUS, 1);
        q.tail = 0;
    }
    a350_sqe_nop(&s, 1);
    t_push_ring(&q, &s);
    g_assert_true(t_drain(&q));
    t_stop(m);
}

static void test_other_types_noop(void)
{
    static const uint8_t type[] = { 0, 1, 2, 4, 10, 12, 13, 14, 15, 16, 18,
                                    19, 21 };
    TMachine *m = t_start(1, ",other-sqe=noop", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, RING, 17, false, 0);
    a350_sqe s;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(type); i++) {
        a350_sqe_init(&s, type[i], i, 254);
        t_push_ring(&q, &s);
        g_assert_true(t_drain(&q));
    }
    a350_sqe_init(&s, A350_SQE_COND, 1, 254);
    t_push_ring(&q, &s);
    g_assert_true(t_wait_stop(&q));
    t_stop(m);
}

static void test_place_holders(void)
{
    static const uint16_t type[] = { 0, 6, 12, 20, 26, 70, 98, 103, 65535 };
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, RING, 17, true, 0);
    a350_sqe s;
    a350_cqe e;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(type); i++) {
        a350_sqe_init(&s, A350_SQE_PLACE_HOLDER, i, 254);
        s.w[3] |= type[i];
        t_push_ring(&q, &s);
        g_assert_true(t_drain(&q));
    }
    g_assert_true(t_no_cqe(&q));
    /* a host callback always tells the host, and when it was */
    qtest_clock_step(m->qts, 0x1234567890ll);
    a350_sqe_init(&s, A350_SQE_PLACE_HOLDER, 77, 254);
    s.w[3] |= A350_PH_HOST_CALLBACK;
    t_push_ring(&q, &s);
    g_assert_true(t_cqe(&q, &e));
    g_assert_cmphex(e.h0, ==, A350_CQE_PHASE | A350_CQE_PLACE_HOLD |
                    q.id << 4);
    g_assert_cmpuint(e.stream_id, ==, 77);
    g_assert_cmphex(e.ts_low | (uint64_t)e.ts_high << 32, ==,
                    t_rd64(c, A350_REG_CTRL + A350_CTRL_CLOCK_NS));
    g_assert_true(t_drain(&q));
    /* a blocking one tells it first, then waits for its notify */
    s.w[6] = 33;
    s.w[7] = 1u << 16;
    t_push_ring(&q, &s);
    g_assert_true(t_cqe(&q, &e));
    g_assert_cmphex(e.h0, ==, A350_CQE_PHASE | A350_CQE_PLACE_HOLD |
                    q.id << 4);
    g_assert_cmpuint(e.stream_id, ==, 77);
    g_assert_cmpuint(e.sq_head, ==, 10);
    g_assert_true(t_stays(&q, 10));
    t_notify_set(c, 33, 1);
    g_assert_true(t_drain(&q));
    g_assert_cmpuint(t_notify(c, 33), ==, 0);
    g_assert_true(t_no_cqe(&q));
    t_stop(m);
}

/* ---- §3 notifies ---- */

static void test_notify_orders(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue a = t_queue(c, 0x10000, 17, false, 0);
    TQueue b = t_queue(c, 0x20000, 17, false, 0);
    a350_sqe s;

    /* wait first */
    a350_sqe_notify_wait(&s, 1, 65535, 0);
    t_push_ring(&a, &s);
    g_assert_true(t_stays(&a, 0));
    a350_sqe_notify_record(&s, 1, 65535);
    t_push_ring(&b, &s);
    g_assert_true(t_drain(&a));
    g_assert_true(t_drain(&b));
    g_assert_cmpuint(t_notify(c, 65535), ==, 0);
    /* record first: remembered */
    a350_sqe_notify_record(&s, 2, 65535);
    t_push_ring(&b, &s);
    g_assert_true(t_drain(&b));
    g_assert_cmpuint(t_notify(c, 65535), ==, 1);
    a350_sqe_notify_wait(&s, 2, 65535, 0);
    t_push_ring(&a, &s);
    g_assert_true(t_drain(&a));
    g_assert_cmpuint(t_notify(c, 65535), ==, 0);
    /* two records are one */
    a350_sqe_notify_record(&s, 3, 65535);
    t_push(&b, &s);
    t_push_ring(&b, &s);
    g_assert_true(t_drain(&b));
    a350_sqe_notify_wait(&s, 3, 65535, 0);
    t_push(&a, &s);
    t_push_ring(&a, &s);
    g_assert_true(T_WAIT(t_head(&a) == 3));
    g_assert_true(t_stays(&a, 3));
    t_notify_set(c, 65535, 1);
    g_assert_true(t_drain(&a));
    t_stop(m);
}

/* Flag in bit 0, 4 bytes at an 8-byte step, 16 a page, slices of 2 MiB. */
static void test_notify_registers(void)
{
    static const struct {
        uint32_t id, offset;
    } t[] = {
        { 0, 0 }, { 1, 8 }, { 15, 0x78 }, { 16, 0x1000 }, { 17, 0x1008 },
        { 4095, 0xff078 }, { 4096, 0x200000 }, { 65535, 0x1eff078 },
    };
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(t); i++) {
        uint64_t a = c->reg + A350_REG_NOTIFY + t[i].offset;
        TQueue q = t_queue(c, 0x10000 + i * 0x1000, 17, false, 0);
        a350_sqe s;

        /* the reserved word does nothing */
        qtest_writel(c->qts, a + 4, 1);
        g_assert_cmpuint(qtest_readl(c->qts, a), ==, 0);
        /* only bit 0 counts */
        qtest_writel(c->qts, a, 0xfffffffe);
        g_assert_cmpuint(qtest_readl(c->qts, a), ==, 0);
        qtest_writel(c->qts, a, 1);
        g_assert_cmpuint(qtest_readl(c->qts, a), ==, 1);
        g_assert_cmpuint(qtest_readl(c->qts, a + 4), ==, 0);
        qtest_writel(c->qts, a, 0);
        g_assert_cmpuint(qtest_readl(c->qts, a), ==, 0);
        /* 8-byte stores of 1 occur too */
        qtest_writeq(c->qts, a, 1);
        g_assert_cmpuint(qtest_readl(c->qts, a), ==, 1);
        a350_sqe_notify_wait(&s, 1, t[i].id, 0);
        t_push_ring(&q, &s);
        g_assert_true(t_drain(&q));
        g_assert_cmpuint(qtest_readl(c->qts, a), ==, 0);
    }
    t_stop(m);
}

static void test_events(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue a = t_queue(c, 0x10000, 17, false, 0);
    TQueue b = t_queue(c, 0x20000, 17, false, 0);
    TQueue r = t_queue(c, 0x30000, 17, true, 0);
    a350_sqe s;
    a350_cqe e;

    /* event waits do not clear: all pass with one record */
    a350_sqe_notify_wait(&s, 1, 7, 0);
    s.w[2] &= ~A350_NOTIFY_CLR;
    t_push_ring(&a, &s);
    t_push_ring(&b, &s);
    g_assert_true(t_stays(&a, 0) && t_stays(&b, 0));
    a350_sqe_notify_record(&s, 0x50006, 7);
    s.w[3] |= A350_NSUB_EVENT_RECORD;
    s.w[0] |= A350_SQE_WR_CQE;
    t_push_ring(&r, &s);
    g_assert_true(t_drain(&a) && t_drain(&b) && t_drain(&r));
    g_assert_cmpuint(t_notify(c, 7), ==, 1);
    /* its CQE has the time-stamp form */
    g_assert_true(t_cqe(&r, &e));
    g_assert_cmphex(e.h0, ==, A350_CQE_PHASE | A350_CQE_EVT | r.id << 4);
    g_assert_cmphex(e.stream_id, ==, 6);
    g_assert_cmphex(e.task_id, ==, 5);
    /* event reset: a record with the clear flag */
    a350_sqe_notify_record(&s, 2, 7);
    s.w[2] |= A350_NOTIFY_CLR;
    t_push_ring(&r, &s);
    g_assert_true(t_drain(&r));
    g_assert_cmpuint(t_notify(c, 7), ==, 0);
    t_stop(m);
}

static void cnt_record(a350_sqe *s, uint32_t id, uint32_t mode, uint32_t val)
{
    a350_sqe_notify_record(s, 1, id);
    s->w[2] |= A350_NOTIFY_CNT;
    s->w[3] |= A350_NSUB_COUNT_RECORD;
    s->w[4] = val;
    s->w[5] = mode << A350_NOTIFY_REC_SHIFT;
}

static void cnt_wait(a350_sqe *s, uint32_t id, uint32_t mode, uint32_t val,
                     bool clr)
{
    a350_sqe_notify_wait(s, 1, id, 0);
    s->w[2] = id | A350_NOTIFY_CNT | (clr ? A350_NOTIFY_CLR : 0);
    s->w[4] = val;
    s->w[5] = mode;
}

static void test_count_record(void)
{
    static const struct {
        uint32_t mode, before, val, after;
    } t[] = {
        { 0, 5, 9, 9 },
        { 1, 5, 9, 14 },
        { 1, 0xffffffff, 2, 1 },
        { 2, 0x0f, 0xf1, 0xff },
        { 4, 0xff, 0x0f, 0xf0 },
    };
    static const uint32_t alias[] = { 0, 8, 0x10, 0, 0x18 };
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, RING, 17, false, 0);
    unsigned i;
    a350_sqe s;

    for (i = 0; i < ARRAY_SIZE(t); i++) {
        t_cnt_set(c, 2047, 0, t[i].before);
        cnt_record(&s, 2047, t[i].mode, t[i].val);
        t_push_ring(&q, &s);
        g_assert_true(t_drain(&q));
        g_assert_cmphex(t_cnt(c, 2047, 0), ==, t[i].after);
        /* the same by the registers */
        t_cnt_set(c, 128, 0, t[i].before);
        t_cnt_set(c, 128, alias[t[i].mode], t[i].val);
        g_assert_cmphex(t_cnt(c, 128, 0), ==, t[i].after);
    }
    /* clear flag: reset */
    cnt_record(&s, 2047, 0, 77);
    s.w[2] |= A350_NOTIFY_CLR;
    t_push_ring(&q, &s);
    g_assert_true(t_drain(&q));
    g_assert_cmphex(t_cnt(c, 2047, 0), ==, 0);
    t_stop(m);
}

static void test_count_wait(void)
{
    /* less, equal, bigger, not less, bitmap */
    static const struct {
        uint32_t mode, val, no, yes, left;
    } t[] = {
        { 0, 5, 5, 4, 0 },
        { 1, 5, 4, 5, 0 },
        { 2, 5, 5, 6, 0 },
        { 3, 5, 4, 5, 0 },
        { 3, 5, 4, 0xffffffff, 0 },
        { 1 << 5, 0x6, 0x5, 0xf, 0x9 },
    };
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, RING, 17, false, 0);
    unsigned i;
    a350_sqe s;

    for (i = 0; i < ARRAY_SIZE(t); i++) {
        uint32_t head = q.tail;

        t_cnt_set(c, 3, 0, t[i].no);
        cnt_wait(&s, 3, t[i].mode, t[i].val, true);
        t_push_ring(&q, &s);
        g_assert_true(t_stays(&q, head));
        t_cnt_set(c, 3, 0, t[i].yes);
        g_assert_true(t_drain(&q));
        g_assert_cmphex(t_cnt(c, 3, 0), ==, t[i].left);
        /* without the clear flag the value stays */
        t_cnt_set(c, 3, 0, t[i].yes);
        cnt_wait(&s, 3, t[i].mode, t[i].val, false);
        t_push_ring(&q, &s);
        g_assert_true(t_drain(&q));
        g_assert_cmphex(t_cnt(c, 3, 0), ==, t[i].yes);
    }
    t_stop(m);
}

/* hcomm: 1-to-N by store and bitmap waits, N-to-1 by OR and an equal wait. */
static void test_count_fan(void)
{
    enum { N = 6 };
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q[N], one = t_queue(c, 0x80000, 17, false, 0);
    a350_sqe s;
    unsigned i;

    for (i = 0; i < N; i++) {
        q[i] = t_queue(c, 0x10000 + 0x1000 * i, 17, false, 0);
        cnt_wait(&s, 9, A350_NOTIFY_BITMAP, 1u << i, true);
        t_push_ring(&q[i], &s);
    }
    cnt_record(&s, 9, 0, (1u << N) - 1);
    t_push_ring(&one, &s);
    for (i = 0; i < N; i++) {
        g_assert_true(t_drain(&q[i]));
    }
    g_assert_cmphex(t_cnt(c, 9, 0), ==, 0);

    cnt_wait(&s, 10, A350_NOTIFY_WAIT_EQUAL, (1u << N) - 1, true);
    t_push_ring(&one, &s);
    for (i = 0; i < N; i++) {
        g_assert_true(t_stays(&one, 1));
        cnt_record(&s, 10, A350_NOTIFY_REC_OR, 1u << i);
        t_push_ring(&q[i], &s);
    }
    g_assert_true(t_drain(&one));
    g_assert_cmphex(t_cnt(c, 10, 0), ==, 0);
    t_stop(m);
}

/* Several queues wait for one notify: a record lets the oldest through. */
static void test_many_waiters(void)
{
    enum { N = 5 };
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q[N];
    a350_sqe s;
    unsigned i, k;

    for (i = 0; i < N; i++) {
        q[i] = t_queue(c, 0x10000 + 0x1000 * i, 17, false, 0);
        a350_sqe_notify_wait(&s, 1, 21, 0);
        t_push_ring(&q[i], &s);
        g_assert_true(t_stays(&q[i], 0));
    }
    /* one leaves the middle of the chain */
    t_admin_id(c, A350_ADM_SQ_DESTROY, q[2].id);
    for (i = 0; i < N; i++) {
        if (i == 2) {
            continue;
        }
        t_notify_set(c, 21, 1);
        g_assert_true(t_drain(&q[i]));
        for (k = i + 1; k < N; k++) {
            g_assert_true(k == 2 || t_head(&q[k]) == 0);
        }
    }
    t_stop(m);
}

static void test_notify_admin_reset(void)
{
    TMachine *m = t_start(1, ",num-notify=64", "");
    TCard *c = &m->card[0];
    a350_notify_reset r = { .first = 60, .count = 4 };
    a350_notify_reset bad = { .first = 61, .count = 4 };

    t_notify_set(c, 59, 1);
    t_notify_set(c, 60, 1);
    t_notify_set(c, 63, 1);
    g_assert_cmpuint(t_admin(c, A350_ADM_NOTIFY_RESET, &bad, sizeof(bad),
                             NULL), ==, A350_ADM_E_RANGE);
    g_assert_cmpuint(t_notify(c, 63), ==, 1);
    g_assert_cmpuint(t_admin(c, A350_ADM_NOTIFY_RESET, &r, sizeof(r), NULL),
                     ==, A350_ADM_OK);
    g_assert_cmpuint(t_notify(c, 59), ==, 1);
    g_assert_cmpuint(t_notify(c, 60), ==, 0);
    g_assert_cmpuint(t_notify(c, 63), ==, 0);
    /* there is no notify 64 */
    t_notify_set(c, 64, 1);
    g_assert_cmpuint(t_notify(c, 64), ==, 0);
    t_stop(m);
}

/* ---- §3 write value ---- */

static void test_write_value(void)
{
    TMachine *m = t_start(2, "", "");
    TCard *c = &m->card[0], *peer = &m->card[1];
    TQueue q = t_queue(c, RING, 17, true, 0);
    uint8_t data[32];
    uint32_t one = 1;
    a350_sqe s, inner;
    a350_cqe e;
    unsigned i;

    for (i = 0; i < 32; i++) {
        data[i] = 0x40 + i;
    }
    for (i = 0; i <= 5; i++) {
        uint8_t back[64];

        t_hbm_fill(c, DATA, 0xaa, 64);
        a350_sqe_write_value(&s, i, c->dev + DATA + 8, i, data, 0);
        t_push_ring(&q, &s);
        g_assert_true(t_drain(&q));
        t_hbm_read(c, DATA, back, 64);
        g_assert_cmpmem(back + 8, 1 << i, data, 1 << i);
        g_assert_cmphex(back[7], ==, 0xaa);
        g_assert_cmphex(back[8 + (1 << i)], ==, 0xaa);
    }
    /* the peer's notify register, a 32-bit write of 1 */
    a350_sqe_write_value(&s, 9, a350_notify_addr(peer->dev, 100), 2, &one,
                         A350_WV_SUB_IPC_PCIE);
    t_push_ring(&q, &s);
    g_assert_true(t_drain(&q));
    g_assert_cmpuint(t_notify(peer, 100), ==, 1);
    /* pointer mode: the entry's body lies elsewhere */
    a350_sqe_write_value(&inner, 0, c->dev + DATA + 16, 3, data, 0);
    t_hbm_write(c, DST, &inner, sizeof(inner));
    a350_sqe_write_value(&s, 10, c->dev + DST, 0, data, 0);
    s.w[0] |= A350_SQE_PTR_MODE;
    t_push_ring(&q, &s);
    g_assert_true(t_drain(&q));
    g_assert_cmphex(qtest_readq(c->qts, c->hbm + DATA + 16), ==,
                    0x4746454443424140ull);
    /* nowhere */
    a350_sqe_write_value(&s, 11, c->dev + T_HBM_SIZE - 2, 2, &one, 0);
    t_push_ring(&q, &s);
    g_assert_true(t_wait_stop(&q));
    g_assert_true(t_cqe(&q, &e));
    g_assert_cmphex(e.error_bits, ==, A350_ERR_BUS);
    t_stop(m);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("atlas350/queue/doorbell-copy-head",
                   test_doorbell_copy_head);
    qtest_add_func("atlas350/queue/depth-rule", test_depth_rule);
    qtest_add_func("atlas350/queue/create-checks", test_create_checks);
    qtest_add_func("atlas350/queue/wrap-full-empty", test_wrap_full_empty);
    qtest_add_func("atlas350/queue/tail-rules", test_tail_rules);
    qtest_add_func("atlas350/queue/access-widths", test_access_widths);
    qtest_add_func("atlas350/queue/head-write", test_head_write);
    qtest_add_func("atlas350/queue/head-write-and-enable",
                   test_head_write_and_enable);
    qtest_add_func("atlas350/queue/pause-resume", test_pause_resume);
    qtest_add_func("atlas350/queue/pause-between-copies", test_pause_copies);
    qtest_add_func("atlas350/queue/entry-copied-once", test_toctou);
    qtest_add_func("atlas350/queue/reset", test_queue_reset);
    qtest_add_func("atlas350/queue/fairness", test_fairness);
    qtest_add_func("atlas350/entry/refused", test_bad_entries);
    qtest_add_func("atlas350/entry/other-types-noop", test_other_types_noop);
    qtest_add_func("atlas350/entry/place-holders", test_place_holders);
    qtest_add_func("atlas350/notify/orders", test_notify_orders);
    qtest_add_func("atlas350/notify/registers", test_notify_registers);
    qtest_add_func("atlas350/notify/events", test_events);
    qtest_add_func("atlas350/notify/count-record", test_count_record);
    qtest_add_func("atlas350/notify/count-wait", test_count_wait);
    qtest_add_func("atlas350/notify/count-fan", test_count_fan);
    qtest_add_func("atlas350/notify/many-waiters", test_many_waiters);
    qtest_add_func("atlas350/notify/admin-reset", test_notify_admin_reset);
    qtest_add_func("atlas350/entry/write-value", test_write_value);
    return g_test_run();
}
