/*
 * QTest: an Atlas 350 behind an IOMMU: what it may reach of the host's memory,
 * and that what is taken back is not touched any more.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The tables of an Intel IOMMU in legacy mode are made by hand: root, context,
 * three levels, of which the last maps the first 2 MiB of IOVAs.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "atlas350-card.h"

#define VTD         0xfed90000ull
#define VTD_GCMD    0x18
#define VTD_RTADDR  0x20
#define VTD_CCMD    0x28
#define VTD_IVA     0xf0        /* where intel-iommu has these two */
#define VTD_IOTLB   0xf8
#define GCMD_TE     (1u << 31)
#define GCMD_SRTP   (1u << 30)
#define DOMAIN      7ull

#define TABLE(n)    (T_RAM + (n) * 0x1000ull)
#define PAGE(n)     (T_RAM + 0x100000 + (n) * 0x1000ull)
#define OTHER(n)    (T_RAM + 0x800000 + (n) * 0x1000ull)
#define PAGES       512u
#define R           1u
#define W           2u

#define RING        0
#define SRC         0x1000000u
#define DST         0x2000000u

enum Flush { FLUSH_PAGE, FLUSH_DOMAIN, FLUSH_GLOBAL, FLUSH_CONTEXT, FLUSHES };

static void map(TMachine *m, uint32_t page, uint64_t addr, uint32_t access)
{
    qtest_writeq(m->qts, TABLE(4) + page * 8, access ? addr | access : 0);
}

static void flush(TMachine *m, enum Flush how, uint64_t iova)
{
    const uint64_t ivt = 1ull << 63;

    switch (how) {
    case FLUSH_PAGE:
        qtest_writeq(m->qts, VTD + VTD_IVA, iova);
        qtest_writeq(m->qts, VTD + VTD_IOTLB, ivt | 3ull << 60 |
                     DOMAIN << 32);
        break;
    case FLUSH_DOMAIN:
        qtest_writeq(m->qts, VTD + VTD_IOTLB, ivt | 2ull << 60 |
                     DOMAIN << 32);
        break;
    case FLUSH_CONTEXT:
        qtest_writeq(m->qts, VTD + VTD_CCMD, ivt | 1ull << 61);
        /* fall through */
    default:
        qtest_writeq(m->qts, VTD + VTD_IOTLB, ivt | 1ull << 60);
        break;
    }
}

static TMachine *iommu_start(void)
{
    TMachine *m = t_start(1, "", "-device intel-iommu");
    uint64_t context = TABLE(1) + QPCI_DEVFN(4, 0) * 16;
    uint32_t i;

    qtest_memset(m->qts, TABLE(0), 0, 5 * 0x1000);
    qtest_writeq(m->qts, TABLE(0), TABLE(1) | 1);
    qtest_writeq(m->qts, context, TABLE(2) | 1);
    qtest_writeq(m->qts, context + 8, DOMAIN << 8 | 1); /* 39 bits */
    qtest_writeq(m->qts, TABLE(2), TABLE(3) | R | W);
    qtest_writeq(m->qts, TABLE(3), TABLE(4) | R | W);
    for (i = 0; i < PAGES; i++) {
        map(m, i, PAGE(i), R | W);
    }
    qtest_writeq(m->qts, VTD + VTD_RTADDR, TABLE(0));
    qtest_writel(m->qts, VTD + VTD_GCMD, GCMD_SRTP);
    qtest_writel(m->qts, VTD + VTD_GCMD, GCMD_TE);
    flush(m, FLUSH_CONTEXT, 0);
    return m;
}

static void again(TQueue *q)
{
    t_admin_id(q->c, A350_ADM_SQ_RESET, q->id);
    t_wr32(q->c, A350_REG_RTSQ + q->id * A350_SQ_PAGE_SIZE + A350_SQ_STATUS,
           A350_SQ_STATUS_ENABLE);
    q->tail = 0;
}

/* A copy that is done, or refused. */
static bool copy(TQueue *q, uint64_t dst, uint64_t src, uint32_t len)
{
    a350_sqe s;
    a350_cqe e;

    a350_sqe_sdma(&s, 1, A350_SDMA_CPY, dst, src, len);
    t_push_ring(q, &s);
    if (t_drain(q)) {
        return true;
    }
    g_assert_true(t_cqe(q, &e));
    g_assert_cmphex(e.error_bits, ==, A350_ERR_BUS);
    g_assert_cmphex(e.status, ==, A350_SDMA_ST_ADDR);
    again(q);
    return false;
}

static uint8_t host(TMachine *m, uint64_t addr)
{
    return qtest_readb(m->qts, addr);
}

/* IOVAs are translated page by page, both ways. */
static void test_translate(void)
{
    enum { LEN = 0x1fe000 };
    TMachine *m = iommu_start();
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, RING, 17, true, 0);
    uint32_t i;

    /* every other page lies elsewhere, and the order is turned round */
    for (i = 1; i < PAGES; i += 2) {
        map(m, i, OTHER(PAGES - i), R | W);
    }
    flush(m, FLUSH_DOMAIN, 0);
    t_hbm_pattern(c, SRC, 1, LEN);
    g_assert_true(copy(&q, 0x800, c->dev + SRC, LEN));
    g_assert_true(copy(&q, c->dev + DST, 0x800, LEN));
    g_assert_true(t_hbm_is_pattern(c, DST, 1, LEN));
    for (i = 1; i < PAGES - 1; i++) {
        uint8_t want;

        t_hbm_read(c, SRC + i * 0x1000 - 0x800, &want, 1);
        g_assert_cmphex(host(m, i % 2 ? OTHER(PAGES - i) : PAGE(i)), ==, want);
    }
    /* beyond what is mapped */
    g_assert_false(copy(&q, 0x200000, c->dev + SRC, 64));
    g_assert_false(copy(&q, c->dev + DST, 0x1ff000, 0x1001));
    t_stop(m);
}

/* What was reached is not after its mapping went, whatever told of that. */
static void test_taken_back(void)
{
    enum { FIRST = 70, NUM = 100 };     /* across blocks of 64 */
    TMachine *m = iommu_start();
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, RING, 17, true, 0);
    uint64_t iova = FIRST * 0x1000;
    uint32_t how, i;

    for (how = 0; how < FLUSHES; how++) {
        t_hbm_fill(c, SRC, 0x10 + how, NUM * 0x1000);
        g_assert_true(copy(&q, iova, c->dev + SRC, NUM * 0x1000));
        g_assert_cmphex(host(m, PAGE(FIRST + NUM / 2)), ==, 0x10 + how);
        /* one page in the middle goes */
        map(m, FIRST + NUM / 2, 0, 0);
        flush(m, how, iova + NUM / 2 * 0x1000);
        t_hbm_fill(c, SRC, 0x20 + how, NUM * 0x1000);
        g_assert_false(copy(&q, iova + NUM / 2 * 0x1000, c->dev + SRC, 1));
        g_assert_false(copy(&q, c->dev + DST, iova + NUM / 2 * 0x1000, 1));
        g_assert_cmphex(host(m, PAGE(FIRST + NUM / 2)), ==, 0x10 + how);
        /* its neighbours are there as before */
        g_assert_true(copy(&q, iova + (NUM / 2 - 1) * 0x1000, c->dev + SRC,
                           0x1000));
        g_assert_true(copy(&q, iova + (NUM / 2 + 1) * 0x1000, c->dev + SRC,
                           0x1000));
        g_assert_cmphex(host(m, PAGE(FIRST + NUM / 2 + 1)), ==, 0x20 + how);
        /* and comes back somewhere else */
        map(m, FIRST + NUM / 2, OTHER(how), R | W);
        flush(m, how, iova + NUM / 2 * 0x1000);
        g_assert_true(copy(&q, iova, c->dev + SRC, NUM * 0x1000));
        g_assert_cmphex(host(m, OTHER(how)), ==, 0x20 + how);
        g_assert_cmphex(host(m, PAGE(FIRST + NUM / 2)), ==, 0x10 + how);
        for (i = FIRST; i < FIRST + NUM; i++) {
            map(m, i, PAGE(i), R | W);
        }
        flush(m, FLUSH_GLOBAL, 0);
    }
    /* a function that is no bus master reaches nothing */
    g_assert_true(copy(&q, iova, c->dev + SRC, 0x1000));
    qpci_config_writew(c->pci, PCI_COMMAND, PCI_COMMAND_MEMORY);
    t_hbm_fill(c, SRC, 0x30, 0x1000);
    g_assert_false(copy(&q, iova, c->dev + SRC, 0x1000));
    g_assert_cmphex(host(m, PAGE(FIRST)), !=, 0x30);
    t_stop(m);
}

/* A page may be granted for reading only, or for writing only. */
static void test_access(void)
{
    TMachine *m = iommu_start();
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, RING, 17, true, 0);
    uint32_t i;

    map(m, 20, PAGE(20), R);
    map(m, 21, PAGE(21), W);
    flush(m, FLUSH_GLOBAL, 0);
    qtest_memset(m->qts, PAGE(20), 0x77, 0x2000);
    t_hbm_fill(c, SRC, 0x55, 0x1000);
    /* twice: what the first access learned does not help the other kind */
    for (i = 0; i < 2; i++) {
        g_assert_true(copy(&q, c->dev + DST, 20 * 0x1000, 0x1000));
        g_assert_true(t_hbm_is_fill(c, DST, 0x77, 0x1000));
        g_assert_false(copy(&q, 20 * 0x1000, c->dev + SRC, 0x1000));
        g_assert_cmphex(host(m, PAGE(20)), ==, 0x77);
    }
    for (i = 0; i < 2; i++) {
        t_hbm_fill(c, DST, 0x11, 0x1000);
        g_assert_true(copy(&q, 21 * 0x1000, c->dev + SRC, 0x1000));
        g_assert_cmphex(host(m, PAGE(21)), ==, 0x55);
        g_assert_false(copy(&q, c->dev + DST, 21 * 0x1000, 0x1000));
        g_assert_true(t_hbm_is_fill(c, DST, 0x11, 0x1000));
    }
    t_stop(m);
}

/* Pages go and come while they are copied to: never to where they were. */
static void test_taken_back_busy(void)
{
    enum { NUM = 256, ROUNDS = 40 };
    TMachine *m = iommu_start();
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, RING, 257, false, A350_SQ_F_CONTINUE);
    a350_sqe s;
    uint32_t i, k;

    t_hbm_fill(c, SRC, 0xcc, NUM * 0x1000);
    a350_sqe_sdma(&s, 1, A350_SDMA_CPY, 0, c->dev + SRC, NUM * 0x1000);
    for (i = 0; i < ROUNDS; i++) {
        for (k = 0; k < 20; k++) {
            t_push(&q, &s);
        }
        t_ring(&q);
        for (k = i % 7; k < NUM; k += 16) {
            map(m, k, OTHER(k), R | W);
            flush(m, FLUSH_PAGE, k * 0x1000);
            /* from here on this one is ours */
            qtest_memset(m->qts, PAGE(k), i, 0x1000);
        }
        g_assert_true(t_drain(&q));
        for (k = i % 7; k < NUM; k += 16) {
            g_assert_cmphex(host(m, PAGE(k)), ==, i);
            g_assert_cmphex(host(m, PAGE(k) + 0xfff), ==, i);
            map(m, k, PAGE(k), R | W);
        }
        flush(m, FLUSH_DOMAIN, 0);
    }
    t_stop(m);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("atlas350/iommu/translate", test_translate);
    qtest_add_func("atlas350/iommu/taken-back", test_taken_back);
    qtest_add_func("atlas350/iommu/taken-back-busy", test_taken_back_busy);
    qtest_add_func("atlas350/iommu/access", test_access);
    return g_test_run();
}
