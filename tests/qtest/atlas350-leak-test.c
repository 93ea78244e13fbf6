/*
 * QTest: nothing is lost when an Atlas 350 card, or what uses it, goes away
 * in the middle of its work.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Every round begins with two cards that have all there is under way: queues
 * half full, waits that nobody ends, a timeout running, copies and fills,
 * transfers of UB in both directions, a stopped queue with an error. Then it is
 * taken away: object by object, as by the heir of a process that died; by a
 * reset of queues; of a function; by unplugging; by QEMU's end.
 *
 * On a QEMU with AddressSanitizer what is lost shows when QEMU ends. On any
 * other its resident memory may not grow from round to round.
 */
#include "qemu/osdep.h"
#include "qemu/units.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "atlas350-ub.h"

#define QUEUES      8
#define QRING(i)    (0x200000u + (i) * 0x20000u)
#define DEPTH       65
#define LONG        (8 * MiB)
/* Everybody writes to a place of his own: what is under way is legal. */
#define TO(i)       (DST + (i) * LONG)
#define SECOND      1000000000ll
/* Of two rounds out of three; what one queue or jetty needs is more. */
#define GROWTH_MAX  (2 * MiB)

typedef struct Busy {
    Ub ub;
    TQueue q[2][QUEUES];
} Busy;

static unsigned rounds(unsigned usual)
{
    const char *n = g_getenv("A350_LEAK_ROUNDS");

    return n ? CLAMP(atoi(n), 3, 100000) : usual;
}

/* ---- memory ---- */

/* A sanitizer keeps what was freed, and tells itself what was not. */
static bool sanitized(void)
{
    return g_getenv("ASAN_OPTIONS") || g_getenv("TSAN_OPTIONS");
}

static uint64_t resident(QTestState *qts)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/statm",
                                            (int)qtest_pid(qts));
    g_autofree char *text = NULL;
    unsigned long size, pages;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpint(sscanf(text, "%lu %lu", &size, &pages), ==, 2);
    return (uint64_t)pages * qemu_real_host_page_size();
}

/* After each round; the first third finds out what is normal. */
static void watch(QTestState *qts, unsigned round, unsigned n, uint64_t *most)
{
    uint64_t now = resident(qts);

    if (round <= n / 3) {
        *most = MAX(*most, now);
    } else if (round == n - 1) {
        g_test_message("resident memory 0x%" PRIx64 ", after the first third "
                       "of %u rounds 0x%" PRIx64, now, n, *most);
        if (!sanitized()) {
            g_assert_cmphex(now, <, *most + GROWTH_MAX);
        }
    }
}

/* ---- all at work ---- */

static void push_n(TQueue *q, const a350_sqe *s, unsigned n)
{
    while (n--) {
        t_push(q, s);
    }
    t_ring(q);
}

static void label(TQueue *q)
{
    a350_sq_label l = { .sq_id = q->id, .rank = q->id, .kind = 1 };
    a350_notify_label n = { .notify_id = q->id, .kind = 2, .rank = q->id,
                            .owner_sq = q->id };

    g_assert_cmpuint(t_admin(q->c, A350_ADM_SQ_LABEL, &l, sizeof(l), NULL),
                     ==, A350_ADM_OK);
    g_assert_cmpuint(t_admin(q->c, A350_ADM_NOTIFY_LABEL, &n, sizeof(n), NULL),
                     ==, A350_ADM_OK);
}

static void queues(Busy *b, unsigned i)
{
    TCard *c = &b->ub.m->card[i];
    TQueue *q = b->q[i];
    a350_sqe s;
    unsigned k;

    for (k = 0; k < QUEUES; k++) {
        q[k] = t_queue(c, QRING(k), DEPTH, true, 0);
        label(&q[k]);
    }
    a350_sqe_notify_wait(&s, 1, 100, 0);
    push_n(&q[0], &s, DEPTH / 2);
    a350_sqe_notify_wait(&s, 1, 100, 50);
    push_n(&q[1], &s, 3);
    a350_sqe_sdma(&s, 1, A350_SDMA_CPY, c->dev + TO(2), c->dev + SRC, LONG);
    push_n(&q[2], &s, 16);
    /* stride: blocks of one byte */
    a350_sqe_sdma(&s, 1, A350_SDMA_CPY, c->dev + TO(3), c->dev + SRC, 1);
    s.w[4] |= 1u << A350_SDMA_STRIDE_SHIFT;
    s.w[15] = UINT32_MAX;
    push_n(&q[3], &s, 2);
    a350_sqe_sdma(&s, 1, A350_SDMA_ADD | A350_SDMA_FP32, c->dev + TO(4),
                  c->dev + SRC, LONG);
    push_n(&q[4], &s, 16);
    /* from the host's memory */
    a350_sqe_sdma(&s, 1, A350_SDMA_CPY, c->dev + TO(5), T_RAM, LONG);
    push_n(&q[5], &s, 16);
    a350_sqe_init(&s, A350_SQE_INVALID, 1, 254);
    push_n(&q[6], &s, 3);
    /* all of them write a CQE, and nobody takes them */
    a350_sqe_nop(&s, 1);
    s.w[0] |= A350_SQE_WR_CQE;
    push_n(&q[7], &s, DEPTH - 1);
    q[7].tail = 8;
    push_n(&q[7], &s, 0);
}

static void transfers(Busy *b, unsigned i)
{
    UbCard *k = &b->ub.card[i], *peer = &b->ub.card[1 - i];
    a350_wqe w = i ? ub_rw(k, peer, A350_UB_READ, SRC, TO(QUEUES), LONG) :
                     ub_rw(k, peer, A350_UB_WRITE, TO(QUEUES + 1), SRC, LONG);
    unsigned n;

    for (n = 0; n < 24; n++) {
        ub_post(k, &w);
    }
    ub_ring_at(k, 12);
    ub_ring_at(k, 24);
}

static void start_all(Busy *b)
{
    unsigned i;

    for (i = 0; i < 2; i++) {
        b->ub.card[i].pi = 0;
        ub_card(&b->ub, i, 64, 0);
        queues(b, i);
    }
    transfers(b, 0);
    transfers(b, 1);
}

/* ---- taken away ---- */

static void drop_queue(TQueue *q)
{
    t_admin_id(q->c, A350_ADM_SQ_DESTROY, q->id);
    t_admin_id(q->c, A350_ADM_CQ_DESTROY, q->cq);
}

/* One after the other; @turn changes the order. */
static void drop_all(Busy *b, unsigned turn, unsigned cards)
{
    unsigned i, k, n;

    for (n = 0; n < 2 * cards; n++) {
        i = n % cards;
        if ((n < cards) == (turn & 1)) {
            t_admin_id(b->ub.card[i].c, A350_ADM_JETTY_DESTROY,
                       b->ub.card[i].jetty);
        } else {
            drop_queue(&b->ub.card[i].q);
            for (k = 0; k < QUEUES; k++) {
                drop_queue(&b->q[i][(k + turn) % QUEUES]);
            }
        }
    }
    for (i = 0; i < cards; i++) {
        t_admin_id(b->ub.card[i].c, A350_ADM_SEG_UNREGISTER,
                   b->ub.card[i].data_token);
        t_admin_id(b->ub.card[i].c, A350_ADM_SEG_UNREGISTER,
                   b->ub.card[i].notify_token);
    }
}

static void works(Busy *b, unsigned i)
{
    TCard *c = &b->ub.m->card[i];
    TQueue q = t_queue(c, 0, DEPTH, true, 0);
    a350_sqe s;

    t_hbm_pattern(c, SRC, i, 4096);
    a350_sqe_sdma(&s, 1, A350_SDMA_CPY, c->dev + DST, c->dev + SRC, 4096);
    t_push_ring(&q, &s);
    g_assert_true(t_drain(&q));
    g_assert_true(t_hbm_is_pattern(c, DST, i, 4096));
    drop_queue(&q);
}

static void touch(Busy *b, unsigned i)
{
    t_hbm_fill(&b->ub.m->card[i], 0, 0, DATA + DATA_LEN);
}

/* Two cards, nothing under way. */
static Busy *busy_new(void)
{
    Busy *b = g_new0(Busy, 1);

    b->ub.m = t_start(2, "", "");
    touch(b, 0);
    touch(b, 1);
    return b;
}

static void busy_free(Busy *b)
{
    t_stop(b->ub.m);
    g_free(b);
}

static void test_objects(void)
{
    Busy *b = busy_new();
    unsigned r, n = rounds(30);
    uint64_t most = 0;

    for (r = 0; r < n; r++) {
        start_all(b);
        g_usleep(r % 5 * 300);
        drop_all(b, r, 2);
        watch(b->ub.m->qts, r, n, &most);
    }
    works(b, 0);
    works(b, 1);
    busy_free(b);
}

/* The queues stay and are reset: what was under way is gone. */
static void test_queue_reset(void)
{
    Busy *b = busy_new();
    unsigned r, k, n = rounds(150);
    uint64_t most = 0;
    a350_sqe s;
    TCard *c;
    TQueue *q;

    start_all(b);
    c = &b->ub.m->card[0];
    for (r = 0; r < n; r++) {
        for (k = 0; k < QUEUES; k++) {
            q = &b->q[0][k];
            t_admin_id(c, A350_ADM_SQ_RESET, q->id);
            t_wr32(c, A350_REG_RTSQ + q->id * A350_SQ_PAGE_SIZE +
                   A350_SQ_STATUS, A350_SQ_STATUS_ENABLE);
            q->tail = 0;
            if (k % 2) {
                a350_sqe_sdma(&s, 1, A350_SDMA_CPY, c->dev + TO(k),
                              c->dev + SRC, LONG);
            } else {
                a350_sqe_notify_wait(&s, 1, 100, k * 10);
            }
            push_n(q, &s, 8);
        }
        ub_recover(&b->ub.card[0]);
        transfers(b, 0);
        g_usleep(r % 5 * 300);
        watch(b->ub.m->qts, r, n, &most);
    }
    drop_all(b, 0, 2);
    works(b, 0);
    busy_free(b);
}

static void test_flr(void)
{
    Busy *b = busy_new();
    unsigned r, n = rounds(30);
    uint64_t most = 0;
    TCard *c;

    for (r = 0; r < n; r++) {
        start_all(b);
        g_usleep(r % 5 * 300);
        /* one of them alone, then the other */
        c = &b->ub.m->card[r % 2];
        t_flr(c);
        t_enable(c);
        works(b, r % 2);
        c = &b->ub.m->card[1 - r % 2];
        t_flr(c);
        t_enable(c);
        watch(b->ub.m->qts, r, n, &most);
    }
    works(b, 0);
    works(b, 1);
    busy_free(b);
}

/* ---- unplugging ---- */

static void test_unplug(void)
{
    Busy *b = g_new0(Busy, 1);
    TMachine *m = t_start(1, "", "-global ICH9-LPC.acpi-pci-hotplug-with-"
                          "bridge-support=off "
                          "-device pcie-root-port,id=rp0,addr=8");
    QPCIDevice *port = qpci_device_find(m->bus, QPCI_DEVFN(8, 0));
    unsigned r, n = rounds(sanitized() ? 100 : 30);
    uint64_t most = 0;

    b->ub.m = m;
    touch(b, 0);
    t_port_open(port, 1);
    for (r = 0; r < n; r++) {
        qtest_qmp_device_add(m->qts, "atlas350", "hot", "{'bus': 'rp0', "
                             "'hbm-size': 268435456 }");
        t_slot_power(port, true);
        t_hot_open(m, 1, 1);
        start_all(b);
        g_usleep(r % 5 * 300);
        if (r % 3 == 2) {
            /* gone while the cores and queues rest */
            qtest_clock_step(m->qts, 51 * SECOND);
        }
        t_slot_power(port, false);
        qtest_qmp_eventwait(m->qts, "DEVICE_DELETED");
        t_hot_close(m, 1);
        drop_all(b, r, 1);
        watch(m->qts, r, n, &most);
    }
    works(b, 0);
    g_free(port);
    t_stop(m);
    g_free(b);
}

/* QEMU ends with all under way. */
static void test_exit(void)
{
    unsigned r;

    for (r = 0; r < 3; r++) {
        Busy *b = g_new0(Busy, 1);

        b->ub.m = t_start(2, "", "");
        start_all(b);
        t_stop(b->ub.m);
        g_free(b);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("atlas350/leak/objects", test_objects);
    qtest_add_func("atlas350/leak/queue-reset", test_queue_reset);
    qtest_add_func("atlas350/leak/flr", test_flr);
    qtest_add_func("atlas350/leak/unplug", test_unplug);
    qtest_add_func("atlas350/leak/exit", test_exit);
    return g_test_run();
}
