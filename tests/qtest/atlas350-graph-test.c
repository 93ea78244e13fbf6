/*
 * QTest: random task graphs on the Atlas 350 against a sequential model.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Memory is divided into regions. The tasks of one region have an order; they
 * are dealt to random queues of two cards, and where the next task of a
 * region sits in another queue, a notify of its own joins the two. Queues get
 * their entries in one global order, so no graph can block. The model runs
 * the tasks one after the other on a copy of the memory: afterwards memory,
 * heads and notifies are the same. A350_GRAPHS graphs (250), A350_SEED.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "atlas350-card.h"

#define REGIONS 6
#define SIZE    0x2000u
#define QUEUES  8
#define TASKS   150
#define AREA    0x400000u

typedef struct Graph {
    TMachine *m;
    GRand *rand;
    TQueue q[QUEUES];
    uint8_t model[REGIONS][SIZE];
    int last[REGIONS];          /* queue of the region's last task, -1 */
    uint32_t next_notify[2];
} Graph;

static uint32_t pick(Graph *g, uint32_t n)
{
    return g_rand_int_range(g->rand, 0, n);
}

/* Region r lies on card r % 2. */
static uint64_t region_addr(Graph *g, int r)
{
    return g->m->card[r % 2].dev + AREA + r * SIZE;
}

/* The task behind this in queue @to waits until queue @from got here. */
static void join(Graph *g, int from, int to)
{
    TCard *c = g->q[to].c;
    uint32_t id = g->next_notify[c - g->m->card]++;
    uint32_t one = 1;
    a350_sqe s;

    if (g->q[from].c == c && pick(g, 2)) {
        a350_sqe_notify_record(&s, 1, id);
    } else {
        a350_sqe_write_value(&s, 1, a350_notify_addr(c->dev, id), 2, &one,
                             A350_WV_SUB_IPC_PCIE);
    }
    t_push(&g->q[from], &s);
    a350_sqe_notify_wait(&s, 1, id, 0);
    t_push(&g->q[to], &s);
}

static void add_task(Graph *g)
{
    int r = pick(g, REGIONS), q = pick(g, QUEUES);
    uint32_t len = 1 + pick(g, SIZE / 2);
    uint32_t dst = pick(g, SIZE - len), src = pick(g, SIZE - len);
    uint64_t base = region_addr(g, r), value;
    uint32_t log2 = pick(g, 4);
    a350_sqe s;

    if (g->last[r] >= 0 && g->last[r] != q) {
        join(g, g->last[r], q);
    }
    g->last[r] = q;
    switch (pick(g, 3)) {
    case 0:
        a350_sqe_sdma(&s, 2, 0, base + dst, base + src, len);
        memmove(g->model[r] + dst, g->model[r] + src, len);
        break;
    case 1:
        a350_sqe_memset(&s, 3, base + dst, len & 0xff, len);
        memset(g->model[r] + dst, len & 0xff, len);
        break;
    default:
        value = (uint64_t)g_rand_int(g->rand) << 32 | g_rand_int(g->rand);
        dst = dst / 8 * 8;
        a350_sqe_write_value(&s, 4, base + dst, log2, &value, 0);
        memcpy(g->model[r] + dst, &value, 1u << log2);
        break;
    }
    t_push(&g->q[q], &s);
    /* now and then the queue is let loose before the graph is whole */
    if (pick(g, 10) == 0) {
        t_ring(&g->q[q]);
    }
}

static void run_graph(TMachine *m, TQueue *q, uint32_t seed)
{
    Graph g = { .m = m, .rand = g_rand_new_with_seed(seed) };
    uint8_t back[SIZE];
    int i, r;

    memcpy(g.q, q, sizeof(g.q));
    for (r = 0; r < REGIONS; r++) {
        g.last[r] = -1;
        for (i = 0; i < SIZE; i++) {
            g.model[r][i] = g_rand_int(g.rand);
        }
        t_hbm_write(&m->card[r % 2], AREA + r * SIZE, g.model[r], SIZE);
    }
    for (i = 0; i < TASKS; i++) {
        add_task(&g);
    }
    for (i = 0; i < QUEUES; i++) {
        t_ring(&g.q[i]);
    }
    for (i = 0; i < QUEUES; i++) {
        if (!t_drain(&g.q[i])) {
            g_error("A350_SEED=%u: queue %d stands at %u of %u", seed, i,
                    t_head(&g.q[i]), g.q[i].tail);
        }
    }
    for (r = 0; r < REGIONS; r++) {
        t_hbm_read(&m->card[r % 2], AREA + r * SIZE, back, SIZE);
        if (memcmp(back, g.model[r], SIZE)) {
            g_error("A350_SEED=%u: region %d differs", seed, r);
        }
    }
    for (i = 0; i < 2; i++) {
        for (r = 0; r < g.next_notify[i]; r++) {
            g_assert_cmpuint(t_notify(&m->card[i], r), ==, 0);
        }
    }
    memcpy(q, g.q, sizeof(g.q));
    g_rand_free(g.rand);
}

static void run_graphs(const char *props, const char *args)
{
    const char *n = g_getenv("A350_GRAPHS"), *s = g_getenv("A350_SEED");
    uint32_t graphs = n ? atoi(n) : s ? 1 : 250;
    uint32_t seed = s ? g_ascii_strtoull(s, NULL, 0) : g_random_int();
    TMachine *m = t_start(2, props, args);
    TQueue q[QUEUES];
    uint32_t i;

    g_test_message("A350_SEED=%u, %u graphs", seed, graphs);
    for (i = 0; i < QUEUES; i++) {
        q[i] = t_queue(&m->card[i % 2], 0x40000 * (i / 2), 2049, false, 0);
    }
    for (i = 0; i < graphs; i++) {
        run_graph(m, q, seed + i);
    }
    t_stop(m);
}

static void test_shared_thread(void)
{
    run_graphs("", "");
}

static void test_own_threads(void)
{
    run_graphs(",iothread=io#",
               "-object iothread,id=io0 -object iothread,id=io1");
}

/* Stopped and continued, and looked at, while they run. */
static void test_reset_storm(void)
{
    TMachine *m = t_start(2, ",iothread=io#",
                          "-object iothread,id=io0 -object iothread,id=io1");
    GRand *rand = g_rand_new_with_seed(g_test_rand_int());
    a350_sqe s, note;
    uint32_t one = 1;
    int i, k;

    for (i = 0; i < 25; i++) {
        TCard *c = &m->card[i % 2], *peer = &m->card[1 - i % 2];
        TQueue a = t_queue(c, 0, 257, true, 0);
        TQueue b = t_queue(peer, 0x80000 + 0x1000 * i, 9, false, 0);

        for (k = 0; k < 120; k++) {
            a350_sqe_sdma(&s, k, 0, peer->dev + AREA,
                          k & 1 ? c->dev + AREA : T_RAM,
                          1 + g_rand_int_range(rand, 0, 0x200000));
            t_push(&a, &s);
            a350_sqe_write_value(&note, k, a350_notify_addr(peer->dev, 3), 2,
                                 &one, 0);
            t_push(&a, &note);
        }
        t_ring(&a);
        a350_sqe_notify_wait(&s, 1, 3, 0);
        t_push_ring(&b, &s);
        if (i % 3 == 1) {
            qtest_qmp_assert_success(m->qts, "{ 'execute': 'stop' }");
            qobject_unref(qtest_qmp(m->qts,
                                    "{ 'execute': 'query-atlas350-waits' }"));
            qtest_qmp_assert_success(m->qts, "{ 'execute': 'cont' }");
        }
        g_usleep(g_rand_int_range(rand, 0, 3000));
        /* the one that copies, or the one it copies to */
        t_wr32(i % 4 < 2 ? c : peer, A350_REG_CTRL + A350_CTRL_RESET,
               A350_RESET_KEY);
        t_wr32(c, A350_REG_CTRL + A350_CTRL_RESET, A350_RESET_KEY);
        g_assert_cmphex(t_rd32(c, A350_REG_CTRL + A350_CTRL_STATUS), ==,
                        A350_STATUS_READY);
        t_wr32(peer, A350_REG_CTRL + A350_CTRL_RESET, A350_RESET_KEY);
        g_assert_cmpuint(t_notify(peer, 3), ==, 0);
    }
    g_rand_free(rand);
    t_stop(m);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("atlas350/graph/shared-thread", test_shared_thread);
    qtest_add_func("atlas350/graph/own-threads", test_own_threads);
    qtest_add_func("atlas350/graph/reset-storm", test_reset_storm);
    return g_test_run();
}
