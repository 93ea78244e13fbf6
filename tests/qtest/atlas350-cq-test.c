/*
 * QTest: the Atlas 350's completions, interrupts, errors and time-outs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Expected values: spec/hw/task-queues.md §1 (interrupt window), §2
 * (kernelCredit), §4 (CQEs, errors).
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "atlas350-card.h"

#define SECOND 1000000000ll

static uint32_t cqint(TCard *c, uint32_t g, uint32_t reg)
{
    return t_rd32(c, A350_REG_CQINT + g * 0x10000 + reg);
}

static void cqint_set(TCard *c, uint32_t g, uint32_t reg, uint32_t val)
{
    t_wr32(c, A350_REG_CQINT + g * 0x10000 + reg, val);
}

/* ---- completion entries ---- */

static void test_wr_cqe(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 17, true, 0);
    a350_sqe s;
    a350_cqe e;

    /* without wrCqe there is none */
    a350_sqe_notify_record(&s, 1, 3);
    t_push_ring(&q, &s);
    g_assert_true(t_drain(&q));
    g_assert_true(t_no_cqe(&q));
    /* with it: head behind the entry, halves of the task number */
    a350_sqe_notify_record(&s, 0xabcd1234, 3);
    s.w[0] |= A350_SQE_WR_CQE;
    t_push_ring(&q, &s);
    g_assert_true(t_cqe(&q, &e));
    g_assert_cmphex(e.h0, ==, A350_CQE_PHASE | q.id << 4);
    g_assert_cmpuint(e.sq_head, ==, 2);
    g_assert_cmphex(e.stream_id, ==, 0x1234);
    g_assert_cmphex(e.task_id, ==, 0xabcd);
    g_assert_cmphex(e.error_bits, ==, 0);
    t_stop(m);
}

/* First pass phase 1, toggling at every wrap; a full CQ holds the queue. */
static void test_phase_and_full(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 257, true, 0);
    a350_sqe s;
    a350_cqe e;
    uint32_t i;

    a350_sqe_nop(&s, 0);
    s.w[0] |= A350_SQE_WR_CQE;
    for (i = 0; i < 200; i++) {
        s.w[1] = i;
        t_push(&q, &s);
    }
    t_ring(&q);
    /* 65 slots take 64 */
    g_assert_true(T_WAIT(t_head(&q) == 64));
    g_assert_true(t_stays(&q, 64));
    for (i = 0; i < 200; i++) {
        g_assert_true(t_cqe(&q, &e));
        g_assert_cmpuint(e.stream_id, ==, i);
        g_assert_cmpuint(e.sq_head, ==, i + 1);
    }
    g_assert_true(t_drain(&q));
    g_assert_true(t_no_cqe(&q));
    t_stop(m);
}

/* A CQ that is full, and an error behind that finds no room. */
static void fill_then_fail(TQueue *q)
{
    a350_sqe s;

    t_fill_cq(q);
    a350_sqe_init(&s, A350_SQE_INVALID, 99, 254);
    t_push_ring(q, &s);
    g_assert_true(t_wait_stop(q));
}

static void test_error_when_full(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 257, true, 0);
    a350_cqe e;
    uint32_t i;

    fill_then_fail(&q);
    for (i = 0; i < 64; i++) {
        g_assert_true(t_cqe(&q, &e));
        g_assert_cmphex(e.h0 & A350_CQE_ERROR, ==, 0);
    }
    g_assert_true(t_cqe(&q, &e));
    g_assert_cmphex(e.h0 & A350_CQE_ERROR, ==, A350_CQE_ERROR);
    g_assert_cmpuint(e.stream_id, ==, 99);
    t_stop(m);
}

/*
 * Software that enables the queue while its error still waits for room in the
 * CQ has enabled it: it tries the entry again when the CQE is out.
 */
static void test_enable_when_full(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 257, true, 0);
    a350_sqe s;
    a350_cqe e;
    uint32_t i;

    fill_then_fail(&q);
    a350_sqe_notify_record(&s, 100, 20);
    t_hbm_write(c, q.ring + 64 * 64, &s, sizeof(s));
    t_wr32(c, A350_REG_RTSQ + q.id * 0x1000 + A350_SQ_STATUS, 1);
    g_assert_true(t_stays(&q, 64));
    for (i = 0; i < 65; i++) {
        g_assert_true(t_cqe(&q, &e));
        g_assert_cmphex(e.h0 & A350_CQE_ERROR, ==, i < 64 ? 0 :
                        A350_CQE_ERROR);
    }
    g_assert_true(t_drain(&q));
    g_assert_cmpuint(t_notify(c, 20), ==, 1);
    t_stop(m);
}

/* A blocking callback whose CQE finds no room waits for that, then for both. */
static void test_callback_when_full(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 257, true, 0);
    a350_sqe s;
    a350_cqe e;
    uint32_t i;

    t_fill_cq(&q);
    a350_sqe_init(&s, A350_SQE_PLACE_HOLDER, 77, 255);
    s.w[3] |= A350_PH_HOST_CALLBACK;
    s.w[6] = 33;
    s.w[7] = 1u << 16;
    t_push_ring(&q, &s);
    t_notify_set(c, 33, 1);
    g_assert_true(t_stays(&q, 64));
    g_assert_cmpuint(t_notify(c, 33), ==, 1);
    t_notify_set(c, 33, 0);
    for (i = 0; i < 65; i++) {
        g_assert_true(t_cqe(&q, &e));
    }
    g_assert_cmpuint(e.stream_id, ==, 77);
    g_assert_true(t_stays(&q, 64));
    t_notify_set(c, 33, 1);
    g_assert_true(t_drain(&q));
    g_assert_true(t_no_cqe(&q));
    t_stop(m);
}

/* ---- interrupts: the host's flow of §1 ---- */

static void one_completion(TQueue *q)
{
    a350_sqe s;
    a350_cqe e;

    a350_sqe_nop(&s, 1);
    s.w[0] |= A350_SQE_WR_CQE | A350_SQE_IE;
    t_push_ring(q, &s);
    g_assert_true(t_cqe(q, &e));
    g_assert_true(t_drain(q));
}

static bool msix_pending(TCard *c, unsigned vector)
{
    uint64_t pba = t_rd64(c, A350_REG_MSIX_PBA + vector / 64 * 8);

    return pba & (1ull << (vector % 64));
}

static void test_interrupt_flow(void)
{
    TMachine *m = t_start(1, ",num-sq=300", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 17, true, 0);
    uint32_t bit = 1u << (q.cq % 32);

    /* MSI-X on, all vectors masked: what is sent shows as pending */
    qpci_config_writew(c->pci, A350_PCI_CAP_MSIX + 2, 0x8000);
    g_assert_false(msix_pending(c, 80));
    one_completion(&q);
    g_assert_true(T_WAIT(msix_pending(c, 80)));
    g_assert_cmphex(cqint(c, 0, A350_CQINT_L1_STATUS), ==, 1);
    g_assert_cmphex(cqint(c, 0, A350_CQINT_MID_STATUS), ==, 1);
    g_assert_cmphex(cqint(c, 0, A350_CQINT_L2_STATUS), ==, bit);
    /* the flow: mask, read, clear, drain, acknowledge, unmask */
    cqint_set(c, 0, A350_CQINT_L1_MASK, 1);
    cqint_set(c, 0, A350_CQINT_L2_CTRL, bit);
    g_assert_cmphex(cqint(c, 0, A350_CQINT_MID_STATUS), ==, 0);
    /* comes while masked: stays noted */
    one_completion(&q);
    g_assert_cmphex(cqint(c, 0, A350_CQINT_L2_STATUS), ==, bit);
    cqint_set(c, 0, A350_CQINT_L1_CTRL, 1);
    g_assert_cmphex(cqint(c, 0, A350_CQINT_L1_STATUS), ==, 0);
    cqint_set(c, 0, A350_CQINT_L1_MASK, 0);
    g_assert_cmphex(cqint(c, 0, A350_CQINT_L1_STATUS), ==, 1);
    t_stop(m);
}

static void check_counts(TMachine *m, int interrupts, int merged)
{
    QDict *rsp = qtest_qmp(m->qts, "{ 'execute': 'query-atlas350' }");
    QDict *card = qobject_to(QDict,
                             qlist_peek(qdict_get_qlist(rsp, "return")));

    g_assert_cmpint(qdict_get_int(card, "interrupts"), ==, interrupts);
    g_assert_cmpint(qdict_get_int(card, "merged"), ==, merged);
    qobject_unref(rsp);
}

/*
 * One MSI-X for many completions until software has acknowledged; each
 * completion counts once, as sent or as merged.
 */
static void test_interrupt_merge(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 65, true, 0);
    uint32_t bit = 1u << (q.cq % 32);
    int i;

    for (i = 0; i < 40; i++) {
        one_completion(&q);
    }
    check_counts(m, 1, 39);
    /* handled one by one, none merges with another */
    for (i = 0; i < 3; i++) {
        cqint_set(c, 0, A350_CQINT_L1_MASK, 1);
        cqint_set(c, 0, A350_CQINT_L2_CTRL, bit);
        cqint_set(c, 0, A350_CQINT_L1_CTRL, 1);
        cqint_set(c, 0, A350_CQINT_L1_MASK, 0);
        check_counts(m, 1 + i, 39);
        one_completion(&q);
        g_assert_cmphex(cqint(c, 0, A350_CQINT_L1_STATUS), ==, 1);
    }
    t_stop(m);
}

static void test_interrupt_groups(void)
{
    TMachine *m = t_start(1, ",num-sq=300", "");
    TCard *c = &m->card[0];
    a350_cq_create ca = { .cq_id = 261, .depth = 65, .irq = 1,
                          .base = c->dev + 0x10000 };
    a350_sq_create sa = { .sq_id = 7, .depth = 17, .base = c->dev,
                          .cq_id = 261 };
    TQueue q = { .c = c, .depth = 17, .id = 7, .cq = 261, .cq_depth = 65,
                 .cq_phase = 1, .cq_ring = 0x10000 };

    g_assert_cmpuint(t_admin(c, A350_ADM_CQ_CREATE, &ca, sizeof(ca), NULL),
                     ==, 0);
    g_assert_cmpuint(ca.vector, ==, 82);
    g_assert_cmpuint(t_admin(c, A350_ADM_SQ_CREATE, &sa, sizeof(sa), NULL),
                     ==, 0);
    one_completion(&q);
    /* cq id = group * 128 + 32 m + bit: 261 = 2 * 128 + 0 + 5 */
    g_assert_cmphex(cqint(c, 2, A350_CQINT_L1_STATUS), ==, 1);
    g_assert_cmphex(cqint(c, 2, A350_CQINT_L2_STATUS), ==, 1 << 5);
    g_assert_cmphex(cqint(c, 0, A350_CQINT_L1_STATUS), ==, 0);
    /* a CQ that serves a queue is not destroyed */
    g_assert_cmpuint(t_admin(c, A350_ADM_CQ_DESTROY, &sa.cq_id, 4, NULL), ==,
                     A350_ADM_E_BUSY);
    t_admin_id(c, A350_ADM_SQ_DESTROY, 7);
    t_admin_id(c, A350_ADM_CQ_DESTROY, 261);
    t_stop(m);
}

/* ---- time-outs ---- */

static void test_notify_timeout(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 17, true, 0);
    TQueue ever = t_queue(c, 0x10000, 17, true, 0);
    a350_sqe s;
    a350_cqe e;

    a350_sqe_notify_wait(&s, 1, 5, 0);
    t_push_ring(&ever, &s);
    a350_sqe_notify_wait(&s, 0x00770042, 4, 3);
    t_push_ring(&q, &s);
    g_assert_true(t_stays(&q, 0));
    qtest_clock_step(m->qts, 3 * SECOND - 1000000);
    g_assert_true(t_stays(&q, 0));
    g_assert_true(t_enabled(&q));
    qtest_clock_step(m->qts, 2000000);
    g_assert_true(t_wait_stop(&q));
    g_assert_true(t_cqe(&q, &e));
    /* an exception of type PLACE_HOLDER that repeats w1 of the wait (§4) */
    g_assert_cmphex(e.h0 & A350_CQE_ERROR, ==, A350_CQE_ERROR);
    g_assert_cmphex(e.error_bits, ==, A350_ERR_TIMEOUT);
    g_assert_cmpuint(e.flags_type >> 2, ==, A350_SQE_PLACE_HOLDER);
    g_assert_cmphex(e.stream_id, ==, 0x42);
    g_assert_cmphex(e.task_id, ==, 0x77);
    /* 0 waits for ever */
    qtest_clock_step(m->qts, 100000 * SECOND);
    g_assert_true(t_stays(&ever, 0));
    g_assert_true(t_enabled(&ever));
    t_notify_set(c, 5, 1);
    g_assert_true(t_drain(&ever));
    /* a record after the time-out is kept for the next wait */
    t_notify_set(c, 4, 1);
    g_assert_cmpuint(t_notify(c, 4), ==, 1);
    t_stop(m);
}

/* credit + 1 units of 2^32 ns; 255 never. Here on a wait, which they break. */
static void test_kernel_credit(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 17, true, 0);
    a350_sqe s;
    a350_cqe e;

    a350_sqe_notify_wait(&s, 1, 5, 0);
    s.w[3] &= ~(A350_SQE_CREDIT_MASK << A350_SQE_CREDIT_SHIFT);
    s.w[3] |= 1 << A350_SQE_CREDIT_SHIFT;
    t_push_ring(&q, &s);
    g_assert_true(t_stays(&q, 0));
    qtest_clock_step(m->qts, (2ll << 32) - 1000000);
    g_assert_true(t_stays(&q, 0));
    g_assert_true(t_enabled(&q));
    qtest_clock_step(m->qts, 2000000);
    g_assert_true(t_wait_stop(&q));
    g_assert_true(t_cqe(&q, &e));
    g_assert_cmphex(e.error_bits, ==, A350_ERR_TIMEOUT);
    t_stop(m);
}

/* ---- errors ---- */

static a350_first_error first_error(TCard *c)
{
    union {
        a350_first_error e;
        uint8_t data[A350_ADMIN_DATA_SIZE];
    } u = { 0 };

    g_assert_cmpuint(t_admin(c, A350_ADM_FIRST_ERROR, &u, 0, NULL), ==, 0);
    return u.e;
}

static void test_first_error(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue a = t_queue(c, 0, 17, false, 0);
    TQueue b = t_queue(c, 0x10000, 17, false, 0);
    a350_first_error f = first_error(c);
    a350_sqe s;

    g_assert_cmpuint(f.kind, ==, A350_EK_NONE);
    a350_sqe_nop(&s, 1);
    t_push(&a, &s);
    a350_sqe_sdma(&s, 0x55, 0, c->dev + T_HBM_SIZE - 8, c->dev, 16);
    t_push_ring(&a, &s);
    g_assert_true(t_wait_stop(&a));
    a350_sqe_init(&s, A350_SQE_INVALID, 2, 254);
    t_push_ring(&b, &s);
    g_assert_true(t_wait_stop(&b));
    f = first_error(c);
    g_assert_cmpuint(f.kind, ==, A350_EK_ADDRESS);
    g_assert_cmpuint(f.sq_id, ==, a.id);
    g_assert_cmpuint(f.sqe_index, ==, 1);
    g_assert_cmpuint(f.sqe_type, ==, A350_SQE_SDMA);
    g_assert_cmpuint(f.task, ==, 0x55);
    g_assert_cmphex(f.error_bits, ==, A350_ERR_BUS);
    g_assert_cmphex(f.address, ==, c->dev + T_HBM_SIZE - 8);
    g_assert_cmpuint(f.followers, ==, 1);
    g_assert_cmpuint(strlen(f.message), >, 10);
    g_assert_cmphex(t_rd32(c, A350_REG_CTRL + A350_CTRL_STATUS) &
                    A350_STATUS_FIRST_ERROR, ==, A350_STATUS_FIRST_ERROR);
    t_admin_id(c, A350_ADM_CLEAR_ERROR, 0);
    g_assert_cmpuint(first_error(c).kind, ==, A350_EK_NONE);
    g_assert_cmphex(t_rd32(c, A350_REG_CTRL + A350_CTRL_STATUS) &
                    A350_STATUS_FIRST_ERROR, ==, 0);
    t_stop(m);
}

static void label_notify(TCard *c, uint32_t id, uint32_t rank,
                         uint32_t peer_rank, unsigned peer_card, uint32_t sq)
{
    a350_notify_label l = { .notify_id = id, .kind = 2, .index = 1,
                            .rank = rank, .peer_rank = peer_rank,
                            .owner_sq = sq, .comm = "world" };

    a350_eid_make(l.peer_eid, 0, peer_card);
    g_assert_cmpuint(t_admin(c, A350_ADM_NOTIFY_LABEL, &l, sizeof(l), NULL),
                     ==, 0);
}

/* An address of another card, a notify that a peer owes: who is meant. */
static void test_first_error_peer(void)
{
    TMachine *m = t_start(3, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 17, false, A350_SQ_F_CONTINUE);
    TQueue w = t_queue(c, 0x10000, 17, false, 0);
    uint64_t at = m->card[2].dev + T_HBM_SIZE;
    uint32_t one = 1;
    a350_first_error f;
    a350_sqe s;
    int i;

    for (i = 0; i < 2; i++) {
        if (i) {
            a350_sqe_sdma(&s, 1, 0, c->dev, at, 64);
        } else {
            a350_sqe_write_value(&s, 1, at, 2, &one, 0);
        }
        t_push_ring(&q, &s);
        g_assert_true(t_drain(&q));
        f = first_error(c);
        g_assert_cmphex(f.address, ==, at);
        g_assert_cmpuint(f.peer_card, ==, 2);
        t_admin_id(c, A350_ADM_CLEAR_ERROR, 0);
    }
    /* its own memory's end is nobody else's */
    a350_sqe_sdma(&s, 1, 0, c->dev, c->dev + T_HBM_SIZE, 64);
    t_push_ring(&q, &s);
    g_assert_true(t_drain(&q));
    g_assert_cmpuint(first_error(c).peer_card, ==, A350_ID_NONE);
    t_admin_id(c, A350_ADM_CLEAR_ERROR, 0);
    label_notify(c, 77, 3, 5, 1, w.id);
    a350_sqe_notify_wait(&s, 1, 77, 1);
    t_push_ring(&w, &s);
    g_assert_true(t_stays(&w, 0));
    qtest_clock_step(m->qts, SECOND + 1000);
    g_assert_true(t_wait_stop(&w));
    f = first_error(c);
    g_assert_cmpuint(f.kind, ==, A350_EK_TIMEOUT);
    g_assert_cmpuint(f.notify_id, ==, 77);
    g_assert_cmpuint(f.peer_card, ==, 1);
    t_stop(m);
}

static void test_continue_mode(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 17, true, A350_SQ_F_CONTINUE);
    a350_sqe s;
    a350_cqe e;

    a350_sqe_init(&s, A350_SQE_COND, 7, 254);
    t_push(&q, &s);
    a350_sqe_notify_record(&s, 8, 20);
    t_push_ring(&q, &s);
    g_assert_true(t_drain(&q));
    g_assert_true(t_enabled(&q));
    g_assert_true(t_cqe(&q, &e));
    g_assert_cmphex(e.error_bits, ==, A350_ERR_SQE);
    g_assert_cmpuint(e.sq_head, ==, 1);
    g_assert_cmpuint(t_notify(c, 20), ==, 1);
    t_stop(m);
}

/* DISABLE_TO_ENABLE: the bit falls with the error; enabled, it tries again. */
static void test_disable_to_enable(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 17, true, 0);
    a350_sqe s;
    a350_cqe e;

    a350_sqe_init(&s, A350_SQE_COND, 7, 254);
    t_push_ring(&q, &s);
    g_assert_true(t_wait_stop(&q));
    g_assert_true(t_cqe(&q, &e));
    a350_sqe_notify_record(&s, 8, 20);
    t_hbm_write(c, q.ring, &s, sizeof(s));
    t_wr32(c, A350_REG_RTSQ + q.id * 0x1000 + A350_SQ_STATUS, 1);
    g_assert_true(t_drain(&q));
    g_assert_cmpuint(t_notify(c, 20), ==, 1);
    t_stop(m);
}

/* ---- rings in host memory ---- */

static void test_host_rings(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    a350_cq_create ca = { .cq_id = A350_ID_ANY, .depth = 65,
                          .base = T_RAM + 0x4000 };
    a350_sq_create sa = { .sq_id = A350_ID_ANY, .depth = 17, .base = T_RAM };
    TQueue q = { .c = c, .depth = 17 };
    uint8_t buf[5000], back[5000];
    a350_sqe s;
    a350_cqe e;
    unsigned i;

    g_assert_cmpuint(t_admin(c, A350_ADM_CQ_CREATE, &ca, sizeof(ca), NULL),
                     ==, 0);
    sa.cq_id = ca.cq_id;
    g_assert_cmpuint(t_admin(c, A350_ADM_SQ_CREATE, &sa, sizeof(sa), NULL),
                     ==, 0);
    q.id = sa.sq_id;
    for (i = 0; i < sizeof(buf); i++) {
        buf[i] = i * 7;
    }
    qtest_memwrite(c->qts, T_RAM + 0x10003, buf, sizeof(buf));
    a350_sqe_sdma(&s, 1, 0, c->dev + 0x5001, T_RAM + 0x10003, sizeof(buf));
    qtest_memwrite(c->qts, T_RAM, &s, sizeof(s));
    a350_sqe_sdma(&s, 2, 0, T_RAM + 0x20ffd, c->dev + 0x5001, sizeof(buf));
    s.w[0] |= A350_SQE_WR_CQE;
    qtest_memwrite(c->qts, T_RAM + 64, &s, sizeof(s));
    q.tail = 2;
    t_ring(&q);
    g_assert_true(t_drain(&q));
    qtest_memread(c->qts, T_RAM + 0x20ffd, back, sizeof(back));
    g_assert_cmpmem(back, sizeof(back), buf, sizeof(buf));
    qtest_memread(c->qts, T_RAM + 0x4000, &e, sizeof(e));
    g_assert_cmphex(e.h0, ==, A350_CQE_PHASE | q.id << 4);
    g_assert_cmpuint(e.stream_id, ==, 2);
    /* what is not RAM is refused: the local APIC's page, a hole */
    a350_sqe_sdma(&s, 3, 0, 0xfee00000, c->dev, 64);
    qtest_memwrite(c->qts, T_RAM + 128, &s, sizeof(s));
    q.tail = 3;
    t_ring(&q);
    g_assert_true(t_wait_stop(&q));
    t_stop(m);
}

/* ---- reports ---- */

static void label_queue(TQueue *q, uint32_t rank, uint32_t thread)
{
    a350_sq_label l = { .sq_id = q->id, .rank = rank, .thread = thread,
                        .kind = 1, .comm = "world" };

    g_assert_cmpuint(t_admin(q->c, A350_ADM_SQ_LABEL, &l, sizeof(l), NULL),
                     ==, 0);
}

static void test_wait_list(void)
{
    TMachine *m = t_start(2, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 17, false, 0);
    TQueue p = t_queue(&m->card[1], 0, 17, false, 0);
    union {
        a350_id_req q;
        a350_wait_list_rsp r;
        uint8_t data[A350_ADMIN_DATA_SIZE];
    } u = { 0 };
    a350_sqe s;

    label_queue(&q, 3, 2);
    label_queue(&p, 5, 0);
    label_notify(c, 77, 3, 5, 1, q.id);
    a350_sqe_notify_wait(&s, 0x99, 77, 1836);
    t_push_ring(&q, &s);
    g_assert_true(t_stays(&q, 0));
    g_assert_cmpuint(t_admin(c, A350_ADM_WAIT_LIST, &u, 8, NULL), ==, 0);
    g_assert_cmpuint(u.r.count, ==, 1);
    g_assert_cmpuint(u.r.entry[0].sq_id, ==, q.id);
    g_assert_cmpuint(u.r.entry[0].kind, ==, A350_WAIT_NOTIFY);
    g_assert_cmpuint(u.r.entry[0].notify_id, ==, 77);
    g_assert_cmpuint(u.r.entry[0].task, ==, 0x99);
    g_assert_cmpuint(u.r.entry[0].rank, ==, 3);
    g_assert_cmpuint(u.r.entry[0].peer_rank, ==, 5);
    g_assert_cmpuint(u.r.entry[0].owner_state, ==, A350_OWNER_IDLE);
    g_assert_cmpuint(u.r.entry[0].limit_ns, ==, 1836 * SECOND);
    /* the peer blocks too */
    a350_sqe_notify_wait(&s, 1, 5, 0);
    t_push_ring(&p, &s);
    g_assert_true(t_stays(&p, 0));
    memset(&u, 0, sizeof(u));
    g_assert_cmpuint(t_admin(c, A350_ADM_WAIT_LIST, &u, 8, NULL), ==, 0);
    g_assert_cmpuint(u.r.entry[0].owner_state, ==, A350_OWNER_BLOCKED);
    g_assert_cmpuint(u.r.entry[0].owner_card, ==, 1);
    g_assert_cmpuint(u.r.entry[0].owner_sq, ==, p.id);
    /* the peer's queue goes away */
    t_admin_id(&m->card[1], A350_ADM_SQ_DESTROY, p.id);
    memset(&u, 0, sizeof(u));
    g_assert_cmpuint(t_admin(c, A350_ADM_WAIT_LIST, &u, 8, NULL), ==, 0);
    g_assert_cmpuint(u.r.entry[0].owner_state, ==, A350_OWNER_GONE);
    t_stop(m);
}

/* The blocked queues of @m; the entry of @q. To be freed by the caller. */
static QDict *waits_entry(TMachine *m, const TQueue *q)
{
    QDict *rsp = qtest_qmp(m->qts, "{ 'execute': 'query-atlas350-waits' }");
    const QListEntry *e;
    QDict *d = NULL;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(rsp, "return"), e) {
        d = qobject_to(QDict, qlist_entry_obj(e));
        if (qdict_get_int(d, "queue") == q->id &&
            &m->card[qdict_get_int(d, "card")] == q->c) {
            break;
        }
        d = NULL;
    }
    g_assert_nonnull(d);
    qobject_ref(d);
    qobject_unref(rsp);
    return d;
}

/* What it waits for, at which entry, and since when: the clock is ours. */
static void check_wait(TMachine *m, const TQueue *q, const char *kind,
                       int entry, int task, int64_t waited)
{
    QDict *d = waits_entry(m, q);

    g_test_message("%s", qdict_get_str(d, "text"));
    g_assert_cmpstr(qdict_get_str(d, "kind"), ==, kind);
    g_assert_cmpint(qdict_get_int(d, "entry"), ==, entry);
    g_assert_cmpint(qdict_get_int(d, "task"), ==, task);
    g_assert_cmpint(qdict_get_int(d, "waited-ns"), ==, waited);
    qobject_unref(d);
}

/* Card, queue, entry, notify, since when, who owes it and how that one is. */
static void test_waits_qmp(void)
{
    TMachine *m = t_start(2, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 17, false, 0);
    TQueue p = t_queue(&m->card[1], 0, 17, false, 0);
    a350_sqe s;
    QDict *d;

    label_queue(&q, 3, 2);
    label_queue(&p, 5, 0);
    label_notify(c, 77, 3, 5, 1, q.id);
    qtest_clock_step(m->qts, 5 * SECOND);
    a350_sqe_nop(&s, 0x98);
    t_push(&q, &s);
    a350_sqe_notify_wait(&s, 0x99, 77, 1836);
    t_push_ring(&q, &s);
    g_assert_true(T_WAIT(t_head(&q) == 1));
    g_assert_true(t_stays(&q, 1));
    qtest_clock_step(m->qts, 2 * SECOND);
    check_wait(m, &q, "notify", 1, 0x99, 2 * SECOND);
    d = waits_entry(m, &q);
    g_assert_cmpint(qdict_get_int(d, "notify"), ==, 77);
    g_assert_cmpint(qdict_get_int(d, "limit-ns"), ==, 1836 * SECOND);
    g_assert_cmpint(qdict_get_int(d, "rank"), ==, 3);
    g_assert_cmpint(qdict_get_int(d, "thread"), ==, 2);
    g_assert_cmpint(qdict_get_int(d, "peer-rank"), ==, 5);
    g_assert_cmpint(qdict_get_int(d, "owner-card"), ==, 1);
    g_assert_cmpstr(qdict_get_str(d, "owner-state"), ==, "idle");
    g_assert_false(qdict_haskey(d, "owner-queue"));
    qobject_unref(d);
    a350_sqe_notify_wait(&s, 1, 5, 0);
    t_push_ring(&p, &s);
    g_assert_true(t_stays(&p, 0));
    d = waits_entry(m, &q);
    g_assert_cmpstr(qdict_get_str(d, "owner-state"), ==, "blocked");
    g_assert_cmpint(qdict_get_int(d, "owner-queue"), ==, p.id);
    qobject_unref(d);
    t_admin_id(&m->card[1], A350_ADM_SQ_DESTROY, p.id);
    d = waits_entry(m, &q);
    g_assert_cmpstr(qdict_get_str(d, "owner-state"), ==, "gone");
    qobject_unref(d);
    t_stop(m);
}

/* Queues that stand for another reason: their head entry, since they do. */
static void test_waits_standing(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue paused = t_queue(c, 0, 17, false, 0);
    TQueue off = t_queue(c, 0x10000, 17, false, 0);
    TQueue failed = t_queue(c, 0x20000, 17, false, 0);
    TQueue full = t_queue(c, 0x30000, 257, true, 0);
    TQueue *q[] = { &paused, &off, &failed };
    a350_sqe s;
    int i;

    for (i = 0; i < ARRAY_SIZE(q); i++) {
        a350_sqe_nop(&s, 10 + i);
        t_push_ring(q[i], &s);
        g_assert_true(t_drain(q[i]));
    }
    qtest_clock_step(m->qts, 5 * SECOND);
    t_admin_id(c, A350_ADM_SQ_PAUSE, paused.id);
    t_wr32(c, A350_REG_RTSQ + off.id * 0x1000 + A350_SQ_STATUS, 0);
    for (i = 0; i < ARRAY_SIZE(q); i++) {
        a350_sqe_init(&s, A350_SQE_COND, 20 + i, 254);
        t_push_ring(q[i], &s);
    }
    t_fill_cq(&full);
    a350_sqe_nop(&s, 30);
    s.w[0] |= A350_SQE_WR_CQE;
    t_push_ring(&full, &s);
    g_assert_true(t_wait_stop(&failed));
    g_assert_true(T_WAIT(t_head(&full) == 64));
    g_assert_true(t_stays(&paused, 1));
    qtest_clock_step(m->qts, 3 * SECOND);
    check_wait(m, &paused, "paused", 1, 20, 3 * SECOND);
    check_wait(m, &off, "stopped", 1, 21, 3 * SECOND);
    check_wait(m, &failed, "stopped", 1, 22, 3 * SECOND);
    check_wait(m, &full, "stopped", 64, 30, 3 * SECOND);
    t_stop(m);
}

/* Lines of the card's log with @text, since its start. */
static int log_lines(TCard *c, const char *text)
{
    char log[0x4000] = { 0 };
    uint64_t ring = c->shm + A350_SHM_LOG, head = qtest_readq(c->qts, ring);
    const char *at = log;
    int n = 0;

    g_assert_cmpuint(head, <, sizeof(log));
    if (head) {
        qtest_bufread(c->qts, ring + sizeof(a350_log_ring), log, head);
    }
    while ((at = strstr(at, text))) {
        at++;
        n++;
    }
    return n;
}

static void test_stall_cycle(void)
{
    TMachine *m = t_start(2, "", "");
    TQueue a = t_queue(&m->card[0], 0, 17, false, 0);
    TQueue b = t_queue(&m->card[1], 0, 17, false, 0);
    g_autofree char *hmp = NULL;
    QDict *ev, *data, *rsp;
    const char *text;
    a350_sqe s;
    int i;

    label_queue(&a, 0, 0);
    label_queue(&b, 1, 0);
    label_notify(&m->card[0], 10, 0, 1, 1, a.id);
    label_notify(&m->card[1], 10, 1, 0, 0, b.id);
    a350_sqe_notify_wait(&s, 1, 10, 60);
    t_push_ring(&a, &s);
    t_push_ring(&b, &s);
    g_assert_true(t_stays(&a, 0) && t_stays(&b, 0));
    qtest_clock_step(m->qts, SECOND + 1000);
    qtest_clock_step(m->qts, SECOND + 1000);
    qtest_clock_step(m->qts, SECOND + 1000);
    ev = qtest_qmp_eventwait_ref(m->qts, "ATLAS350_STALL");
    data = qdict_get_qdict(ev, "data");
    text = qdict_get_str(data, "text");
    g_test_message("%s", text);
    g_assert_true(qdict_get_bool(data, "cycle"));
    g_assert_nonnull(strstr(text, "rank 0, thread 0"));
    g_assert_nonnull(strstr(text, "notify 1 of its channel to rank 1 (limit "
                            "60 s, HcommSetNotifyWaitTimeOut); rank 1 waits "
                            "itself"));
    g_assert_nonnull(strstr(text, "rank 1 waits itself"));
    qobject_unref(ev);
    g_assert_cmphex(t_rd32(&m->card[0], A350_REG_CTRL + A350_CTRL_STATUS) &
                    A350_STATUS_STALLED, ==, A350_STATUS_STALLED);
    rsp = qtest_qmp(m->qts, "{ 'execute': 'query-atlas350-waits' }");
    g_assert_cmpuint(qlist_size(qdict_get_qlist(rsp, "return")), ==, 2);
    qobject_unref(rsp);
    hmp = qtest_hmp(m->qts, "info atlas350");
    g_assert_nonnull(strstr(hmp, "card 0 (/machine/peripheral/card0): HBM 256 "
                            "MiB"));
    g_assert_nonnull(strstr(hmp, "1 queues, 1 blocked, 0 stopped"));
    g_assert_nonnull(strstr(hmp, "  rank 0, thread 0: waits "));
    g_assert_nonnull(strstr(hmp, "  rank 1, thread 0: waits "));
    /* told once, and on the console of one card */
    for (i = 0; i < 5; i++) {
        qtest_clock_step(m->qts, SECOND + 1000);
        g_assert_true(t_stays(&a, 0));
    }
    g_assert_null(qtest_qmp_event_ref(m->qts, "ATLAS350_STALL"));
    g_assert_cmpint(log_lines(&m->card[0], "deadlock: rank ") +
                    log_lines(&m->card[1], "deadlock: rank "), ==, 1);
    /* it goes on as soon as somebody records */
    t_notify_set(&m->card[0], 10, 1);
    g_assert_true(t_drain(&a));
    /* and when they are blocked again, it is told again */
    qtest_clock_step(m->qts, SECOND + 1000);
    a350_sqe_notify_wait(&s, 2, 10, 0);
    t_push_ring(&a, &s);
    g_assert_true(t_stays(&a, 1));
    for (i = 0; i < 3; i++) {
        qtest_clock_step(m->qts, SECOND + 1000);
    }
    qtest_qmp_eventwait(m->qts, "ATLAS350_STALL");
    t_stop(m);
}

/*
 * Who owes the record waits for room in its CQ: that is no progress either,
 * and software learns what holds all of them.
 */
static void test_stall_cq_full(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue a = t_queue(c, 0, 17, false, 0);
    TQueue b = t_queue(c, 0x10000, 257, true, 0);
    QDict *ev, *data;
    const char *text;
    a350_sqe s;
    a350_cqe e;
    int i;

    a350_sqe_notify_wait(&s, 1, 10, 0);
    t_push_ring(&a, &s);
    g_assert_true(t_stays(&a, 0));
    t_fill_cq(&b);
    a350_sqe_nop(&s, 0);
    s.w[0] |= A350_SQE_WR_CQE;
    t_push(&b, &s);
    a350_sqe_notify_record(&s, 1, 10);
    t_push_ring(&b, &s);
    g_assert_true(T_WAIT(t_head(&b) == 64));
    for (i = 0; i < 3; i++) {
        qtest_clock_step(m->qts, SECOND + 1000);
    }
    g_assert_true(T_WAIT(t_rd32(c, A350_REG_CTRL + A350_CTRL_STATUS) &
                         A350_STATUS_STALLED));
    ev = qtest_qmp_eventwait_ref(m->qts, "ATLAS350_STALL");
    data = qdict_get_qdict(ev, "data");
    text = qdict_get_str(data, "text");
    g_test_message("%s", text);
    g_assert_false(qdict_get_bool(data, "cycle"));
    g_assert_nonnull(strstr(text, "queue 1 waits itself; card 0, queue 1: "
                            "waits for room in its completion queue"));
    qobject_unref(ev);
    g_assert_true(t_cqe(&b, &e));
    g_assert_true(t_drain(&a) && t_drain(&b));
    t_stop(m);
}

/* Every doorbell, task, notify, error and reset can be traced. */
static void test_trace_events(void)
{
    static const char *const want[] = {
        "atlas350_doorbell card 0 queue 0 tail 1\n",
        "atlas350_task_start card 0 queue 0 entry 0 type 6 task 66\n",
        "atlas350_task_end card 0 queue 0 entry 0 error bits 0x0 status 0x0\n",
        "atlas350_notify card 0 notify 20 = 1\n",
        "atlas350_cnt_notify card 0 counting notify 21 op 1 value 0x5\n",
        "atlas350_cqe card 0 cq 0 slot 0 first halfword 0x1 sq head 1 task "
        "66\n",
        "atlas350_task_start card 0 queue 0 entry 1 type 20 task 67\n",
        "atlas350_error card 0 queue 0 entry 1 kind 1 bits 0x8 status 0x0: "
        "COND programs are not supported\n",
        "atlas350_task_end card 0 queue 0 entry 1 error bits 0x8 status 0x0\n",
        "atlas350_sq_reset card 0 queue 0\n",
        "atlas350_reset card 0 type 0\n",
    };
    g_autofree char *file = g_strdup_printf("%s/atlas350-trace-%d",
                                            g_get_tmp_dir(), getpid());
    g_autofree char *args = g_strdup_printf("-trace 'atlas350_*' -D %s", file);
    g_autofree char *log = NULL;
    TMachine *m = t_start(1, "", args);
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 17, true, 0);
    const char *at;
    a350_sqe s;
    int i;

    a350_sqe_notify_record(&s, 66, 20);
    s.w[0] |= A350_SQE_WR_CQE;
    t_push_ring(&q, &s);
    g_assert_true(t_drain(&q));
    t_cnt_set(c, 21, A350_CNT_NOTIFY_ADD, 5);
    a350_sqe_init(&s, A350_SQE_COND, 67, 254);
    t_push_ring(&q, &s);
    g_assert_true(t_wait_stop(&q));
    t_admin_id(c, A350_ADM_SQ_RESET, q.id);
    t_wr32(c, A350_REG_CTRL + A350_CTRL_RESET, A350_RESET_KEY);
    t_stop(m);
    g_assert_true(g_file_get_contents(file, &log, NULL, NULL));
    unlink(file);
    for (i = 0; i < ARRAY_SIZE(want); i++) {
        at = strstr(log, want[i]);
        if (!at) {
            g_error("no trace event: %s", want[i]);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("atlas350/cq/wr-cqe", test_wr_cqe);
    qtest_add_func("atlas350/cq/phase-and-full", test_phase_and_full);
    qtest_add_func("atlas350/cq/error-when-full", test_error_when_full);
    qtest_add_func("atlas350/cq/enable-when-full", test_enable_when_full);
    qtest_add_func("atlas350/cq/callback-when-full", test_callback_when_full);
    qtest_add_func("atlas350/cq/interrupt-flow", test_interrupt_flow);
    qtest_add_func("atlas350/cq/interrupt-merge", test_interrupt_merge);
    qtest_add_func("atlas350/cq/interrupt-groups", test_interrupt_groups);
    qtest_add_func("atlas350/timeout/notify-wait", test_notify_timeout);
    qtest_add_func("atlas350/timeout/kernel-credit", test_kernel_credit);
    qtest_add_func("atlas350/error/first-error", test_first_error);
    qtest_add_func("atlas350/error/first-error-peer", test_first_error_peer);
    qtest_add_func("atlas350/error/continue-mode", test_continue_mode);
    qtest_add_func("atlas350/error/disable-to-enable", test_disable_to_enable);
    qtest_add_func("atlas350/host/rings", test_host_rings);
    qtest_add_func("atlas350/report/wait-list", test_wait_list);
    qtest_add_func("atlas350/report/waits-qmp", test_waits_qmp);
    qtest_add_func("atlas350/report/waits-standing", test_waits_standing);
    qtest_add_func("atlas350/report/stall-cycle", test_stall_cycle);
    qtest_add_func("atlas350/report/stall-cq-full", test_stall_cq_full);
    qtest_add_func("atlas350/report/trace-events", test_trace_events);
    return g_test_run();
}
