/*
 * QTest: random task graphs on the Atlas 350 against a sequential model.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Memory is divided into regions. The tasks of one region have an order; they
 * are dealt to random queues of two cards, and where the next task of a
 * region sits in another queue, a notify of its own joins the two. Queues get
 * their entries in one global order, so no graph can block. The model runs
 * the tasks one after the other on a copy of the memory, and writes down the
 * CQEs that were asked for: afterwards memory, heads, notifies and CQEs are
 * the same. A350_GRAPHS graphs (1000), A350_SEED.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "atlas350-ub.h"

#define REGIONS 6
#define SIZE    0x2000u
#define QUEUES  8
#define TASKS   150
#define DEPTH   2049u
#define BLOCKS  1024u           /* of a queue's jetty */
#define AREA    0x400000u       /* of the storm */

/* In each card's HBM: the regions, a constant of SIZE bytes, rings. */
#define REGION(r)   (DATA + (r) * SIZE)
#define CONSTANT    (DATA + 0x100000u)
#define LANE(i)     (0xa000000u + (i) * 0x100000u)
#define LANE_WQ     0x80000u

typedef struct Cqe {
    uint32_t task;
    uint16_t head;
    bool stamp;                 /* the form with the clock */
} Cqe;

/* A queue, a jetty that only it rings, and what is not in their rings yet. */
typedef struct Lane {
    TQueue q;
    uint32_t card, jetty;
    uint16_t pi;
    GArray *sqe, *wqe;          /* a350_sqe; blocks */
    GArray *cqe;                /* that the model expects */
    uint32_t seen;              /* of them */
} Lane;

typedef struct Graph {
    Ub *u;
    Lane *lane;
    GRand *rand;
    uint32_t seed;
    uint8_t model[REGIONS][SIZE];
    int last[REGIONS];          /* queue of the region's last task, -1 */
    uint32_t next_notify[2], next_cnt[2];
} Graph;

/* What stands in CONSTANT. */
static uint8_t constant[2][SIZE];

static uint32_t pick(Graph *g, uint32_t n)
{
    return g_rand_int_range(g->rand, 0, n);
}

/* Region r lies on card r % 2. */
static uint64_t region_addr(Graph *g, int r)
{
    return g->u->card[r % 2].c->dev + REGION(r);
}

/* ---- queues ---- */

static void put(Graph *g, Lane *l, a350_sqe *s)
{
    Cqe e;

    s->w[1] = l->q.task++;
    if (pick(g, 3) == 0) {
        s->w[0] |= A350_SQE_WR_CQE;
        e.task = s->w[1];
        e.head = (l->q.tail + l->sqe->len + 1) % DEPTH;
        e.stamp = a350_sqe_get_type(s) == A350_SQE_PLACE_HOLDER;
        g_array_append_val(l->cqe, e);
    }
    g_array_append_vals(l->sqe, s, 1);
}

static void put_wqe(Lane *l, const a350_wqe *w, a350_sqe *s)
{
    g_array_append_vals(l->wqe, w, a350_wqe_blocks(w));
    a350_sqe_ubdma_db(s, 0, l->jetty, l->pi + l->wqe->len);
}

/* Into a ring of @depth elements from element @at on. */
static void write_ring(Lane *l, uint64_t ring, uint32_t depth, uint32_t at,
                       GArray *a)
{
    uint32_t first = MIN(a->len, depth - at), size = A350_SQE_SIZE;

    t_hbm_write(l->q.c, ring + at * size, a->data, first * size);
    t_hbm_write(l->q.c, ring, a->data + first * size, (a->len - first) * size);
}

static void let_loose(Lane *l)
{
    write_ring(l, l->q.ring + LANE_WQ, BLOCKS, l->pi % BLOCKS, l->wqe);
    l->pi += l->wqe->len;
    g_array_set_size(l->wqe, 0);
    write_ring(l, l->q.ring, DEPTH, l->q.tail, l->sqe);
    l->q.tail = (l->q.tail + l->sqe->len) % DEPTH;
    g_array_set_size(l->sqe, 0);
    t_ring(&l->q);
}

static void check_cqe(Graph *g, Lane *l, const a350_cqe *e)
{
    TQueue *q = &l->q;
    const Cqe *want = &g_array_index(l->cqe, Cqe, l->seen);
    uint32_t h0 = q->cq_phase | q->id << A350_CQE_SQ_SHIFT;

    if (l->seen == l->cqe->len) {
        g_error("A350_SEED=%u: queue %u, a CQE too many", g->seed, q->id);
    }
    h0 |= want->stamp ? A350_CQE_PLACE_HOLD : 0;
    if (e->h0 != h0 || e->sq_head != want->head ||
        (e->stream_id | (uint32_t)e->task_id << 16) != want->task) {
        g_error("A350_SEED=%u: queue %u, CQE %u: 0x%04x head %u task "
                "0x%04x%04x, not 0x%04x head %u task 0x%08x", g->seed, q->id,
                l->seen, e->h0, e->sq_head, e->task_id, e->stream_id, h0,
                want->head, want->task);
    }
    l->seen++;
}

/* Takes the CQEs that are there; a queue whose CQ is full waits for that. */
static void collect(Graph *g, Lane *l)
{
    TQueue *q = &l->q;
    uint32_t page = A350_REG_RTSQ + q->cq * A350_SQ_PAGE_SIZE;
    uint32_t tail = t_rd32(q->c, page + A350_CQ_TAIL), n, i;
    a350_cqe e[65];

    while (q->cq_head != tail) {
        n = (tail > q->cq_head ? tail : q->cq_depth) - q->cq_head;
        t_hbm_read(q->c, q->cq_ring + q->cq_head * sizeof(*e), e,
                   n * sizeof(*e));
        for (i = 0; i < n; i++) {
            check_cqe(g, l, &e[i]);
        }
        q->cq_head += n;
        if (q->cq_head == q->cq_depth) {
            q->cq_head = 0;
            q->cq_phase ^= 1;
        }
        t_wr32(q->c, page + A350_CQ_HEAD, q->cq_head);
    }
}

static bool all_done(Graph *g)
{
    bool done = true;
    int i;

    for (i = 0; i < QUEUES; i++) {
        collect(g, &g->lane[i]);
        done = done && t_head(&g->lane[i].q) == g->lane[i].q.tail &&
               g->lane[i].seen == g->lane[i].cqe->len;
    }
    return done;
}

/* ---- tasks ---- */

/* An inline write or a write of length 0, which record a remote notify. */
static void join_by_ub(Graph *g, Lane *from, UbCard *to, uint32_t id,
                       a350_sqe *s)
{
    UbCard *k = &g->u->card[from->card];
    a350_ub_remote rmt = to->rmt;
    a350_wqe w;

    if (pick(g, 2)) {
        w = ub_write_notify(k, to, CONSTANT, CONSTANT, 0, id, 1);
    } else {
        rmt.token_id = to->notify_token;
        a350_wqe_inline4(&w, A350_WQE_CQE, &rmt,
                         a350_notify_addr(to->c->dev, id), 0, 1);
    }
    put_wqe(from, &w, s);
}

static void join_by_count(Graph *g, Lane *from, Lane *to)
{
    uint32_t id = g->next_cnt[to->card]++, mode = pick(g, 3), val = 1u + id;
    a350_sqe s;

    a350_sqe_notify_record(&s, 0, id);
    s.w[2] |= A350_NOTIFY_CNT;
    s.w[3] |= A350_NSUB_COUNT_RECORD;
    s.w[4] = val;
    s.w[5] = mode << A350_NOTIFY_REC_SHIFT; /* store, add, set bits */
    put(g, from, &s);
    a350_sqe_notify_wait(&s, 0, id, 0);
    s.w[2] |= A350_NOTIFY_CNT;
    s.w[4] = val;
    s.w[5] = pick(g, 2) ? A350_NOTIFY_WAIT_EQUAL : A350_NOTIFY_BITMAP;
    put(g, to, &s);
}

/* The task behind this in queue @to waits until queue @from got here. */
static void join(Graph *g, Lane *from, Lane *to)
{
    UbCard *k = &g->u->card[to->card];
    uint32_t how = pick(g, 4), id, one = 1;
    a350_sqe s;

    if (how == 0 && from->card == to->card) {
        join_by_count(g, from, to);
        return;
    }
    id = g->next_notify[to->card]++;
    if (how == 1 && from->card == to->card) {
        a350_sqe_notify_record(&s, 0, id);
    } else if (how == 2) {
        join_by_ub(g, from, k, id, &s);
    } else {
        a350_sqe_write_value(&s, 0, a350_notify_addr(k->c->dev, id), 2, &one,
                             A350_WV_SUB_IPC_PCIE);
    }
    put(g, from, &s);
    a350_sqe_notify_wait(&s, 0, id, 0);
    put(g, to, &s);
}

static void add_bytes(uint8_t *dst, const uint8_t *src, uint32_t len)
{
    g_autofree uint8_t *copy = g_memdup2(src, len);
    uint32_t i;

    for (i = 0; i < len; i++) {
        dst[i] += copy[i];
    }
}

/* Of a constant into region @r: written to it, or read by the card it is on. */
static void task_ub(Graph *g, Lane *l, int r, uint32_t dst, uint32_t src,
                    uint32_t len, a350_sqe *s)
{
    UbCard *own = &g->u->card[l->card], *of = &g->u->card[r % 2];
    bool read = own == of && pick(g, 2), add = pick(g, 2);
    uint8_t *to = g->model[r] + dst;
    const uint8_t *from = constant[read ? 1 - l->card : l->card] + src;
    a350_wqe w;

    if (read) {
        w = ub_rw(own, &g->u->card[1 - l->card], A350_UB_READ, CONSTANT + src,
                  REGION(r) + dst, len);
    } else {
        w = ub_rw(own, of, A350_UB_WRITE, REGION(r) + dst, CONSTANT + src,
                  len);
    }
    if (add) {
        a350_wqe_set_reduce(&w, A350_UB_ADD, A350_UB_UINT8);
        add_bytes(to, from, len);
    } else {
        memcpy(to, from, len);
    }
    put_wqe(l, &w, s);
}

/* Blocks of a constant, by stride 1. */
static void task_stride(Graph *g, int r, a350_sqe *s)
{
    uint32_t len = 1 + pick(g, 64), n = 1 + pick(g, 20);
    uint32_t src = pick(g, 200), dst = pick(g, 200), i;

    a350_sqe_sdma(s, 0, 0, region_addr(g, r),
                  g->u->card[r % 2].c->dev + CONSTANT, len);
    s->w[4] |= 1u << A350_SDMA_STRIDE_SHIFT;
    s->w[13] = src;
    s->w[14] = dst;
    s->w[15] = n;
    for (i = 0; i < n; i++) {
        memcpy(g->model[r] + i * dst, constant[r % 2] + i * src, len);
    }
}

static void task(Graph *g, Lane *l, int r, a350_sqe *s)
{
    uint32_t len = 1 + pick(g, SIZE / 2);
    uint32_t dst = pick(g, SIZE - len), src = pick(g, SIZE - len);
    uint64_t base = region_addr(g, r), value;
    uint8_t *to = g->model[r] + dst;

    switch (pick(g, 6)) {
    case 0:
        a350_sqe_sdma(s, 0, 0, base + dst, base + src, len);
        memmove(to, g->model[r] + src, len);
        break;
    case 1:
        a350_sqe_memset(s, 0, base + dst, len & 0xff, len);
        memset(to, len & 0xff, len);
        break;
    case 2:
        a350_sqe_sdma(s, 0, A350_SDMA_ADD | A350_SDMA_INT8, base + dst,
                      base + src, len);
        add_bytes(to, g->model[r] + src, len);
        break;
    case 3:
        task_stride(g, r, s);
        break;
    case 4:
        task_ub(g, l, r, dst, src, len, s);
        break;
    default:
        value = (uint64_t)g_rand_int(g->rand) << 32 | g_rand_int(g->rand);
        dst = dst / 8 * 8;
        len = pick(g, 4);
        a350_sqe_write_value(s, 0, base + dst, len, &value, 0);
        memcpy(g->model[r] + dst, &value, 1u << len);
        break;
    }
}

static void add_task(Graph *g)
{
    int r = pick(g, REGIONS), q = pick(g, QUEUES);
    Lane *l = &g->lane[q];
    a350_sqe s;

    if (pick(g, 10) == 0) {
        a350_sqe_nop(&s, 0);
        put(g, l, &s);
    }
    if (g->last[r] >= 0 && g->last[r] != q) {
        join(g, &g->lane[g->last[r]], l);
    }
    g->last[r] = q;
    task(g, l, r, &s);
    put(g, l, &s);
    /* now and then the queue is let loose before the graph is whole */
    if (pick(g, 10) == 0) {
        let_loose(l);
    }
}

/* ---- graphs ---- */

static void check_graph(Graph *g)
{
    uint8_t back[SIZE];
    uint32_t i, r;

    for (r = 0; r < REGIONS; r++) {
        t_hbm_read(g->u->card[r % 2].c, REGION(r), back, SIZE);
        if (memcmp(back, g->model[r], SIZE)) {
            g_error("A350_SEED=%u: region %u differs", g->seed, r);
        }
    }
    for (i = 0; i < 2; i++) {
        for (r = 0; r < g->next_notify[i]; r++) {
            g_assert_cmpuint(t_notify(g->u->card[i].c, r), ==, 0);
        }
        for (r = 0; r < g->next_cnt[i]; r++) {
            g_assert_cmpuint(t_cnt(g->u->card[i].c, r, A350_CNT_NOTIFY_STORE),
                             ==, 0);
        }
    }
}

static void run_graph(Ub *u, Lane *lane, uint32_t seed)
{
    Graph g = { .u = u, .lane = lane, .seed = seed,
                .rand = g_rand_new_with_seed(seed) };
    int i, r;

    for (r = 0; r < REGIONS; r++) {
        g.last[r] = -1;
        for (i = 0; i < SIZE; i++) {
            g.model[r][i] = g_rand_int(g.rand);
        }
        t_hbm_write(u->card[r % 2].c, REGION(r), g.model[r], SIZE);
    }
    for (i = 0; i < TASKS; i++) {
        add_task(&g);
    }
    for (i = 0; i < QUEUES; i++) {
        let_loose(&lane[i]);
    }
    if (!T_WAIT(all_done(&g))) {
        for (i = 0; i < QUEUES; i++) {
            g_test_message("queue %d stands at %u of %u, %u CQEs of %u", i,
                           t_head(&lane[i].q), lane[i].q.tail, lane[i].seen,
                           lane[i].cqe->len);
        }
        g_error("A350_SEED=%u: does not end", seed);
    }
    check_graph(&g);
    for (i = 0; i < QUEUES; i++) {
        g_array_set_size(lane[i].cqe, 0);
        lane[i].seen = 0;
    }
    g_rand_free(g.rand);
}

static void lane_open(Lane *l, Ub *u, uint32_t i)
{
    TCard *c = u->card[i % 2].c;

    *l = (Lane) {
        .card = i % 2,
        .q = t_queue(c, LANE(i), DEPTH, true, 0),
        .jetty = ub_jetty(c, LANE(i) + LANE_WQ, BLOCKS, 0, 0),
        .sqe = g_array_new(false, false, A350_SQE_SIZE),
        .wqe = g_array_new(false, false, A350_WQEBB_SIZE),
        .cqe = g_array_new(false, false, sizeof(Cqe)),
    };
    l->q.task = 0xfff0 + (i << 20); /* both halves move */
}

static void lane_close(Lane *l)
{
    g_array_unref(l->sqe);
    g_array_unref(l->wqe);
    g_array_unref(l->cqe);
}

static void run_graphs(const char *props, const char *args)
{
    const char *n = g_getenv("A350_GRAPHS"), *s = g_getenv("A350_SEED");
    uint32_t graphs = n ? atoi(n) : s ? 1 : 1000;
    uint32_t seed = s ? g_ascii_strtoull(s, NULL, 0) : g_random_int();
    Ub u = { .m = t_start(2, props, args) };
    Lane lane[QUEUES];
    uint32_t i, k;

    g_test_message("A350_SEED=%u, %u graphs", seed, graphs);
    for (i = 0; i < 2; i++) {
        ub_card(&u, i, 64, 0);
        for (k = 0; k < SIZE; k++) {
            constant[i][k] = k * 2654435761u >> (13 + i);
        }
        t_hbm_write(u.card[i].c, CONSTANT, constant[i], SIZE);
    }
    for (i = 0; i < QUEUES; i++) {
        lane_open(&lane[i], &u, i);
    }
    for (i = 0; i < graphs; i++) {
        run_graph(&u, lane, seed + i);
    }
    for (i = 0; i < QUEUES; i++) {
        lane_close(&lane[i]);
    }
    t_stop(u.m);
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
