/*
 * QTest: how fast the Atlas 350 card works through its queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run with A350_BENCH=1 it prints one line for each measurement,
 *
 *   bench NAME VALUE UNIT BASELINE_NAME BASELINE
 *
 * the median of A350_BENCH_RUNS repetitions (5), the baseline measured right
 * before each of them. Without it, each measurement is made once with few
 * entries, so that the test suite notices when one of them hangs.
 *
 * All entries are queued before the doorbell; the time is that from the
 * doorbell until the queue's head has reached its tail, seen by polling.
 */
#include "qemu/osdep.h"
#include "qemu/units.h"
#include "qemu/atomic.h"
#include "qemu/processor.h"
#include "atlas350-card.h"

#define RING        0x0u
#define WQ          0x400000u
#define SRC         0x1000000u
#define DST         0x8000000u
#define AREA        (64 * MiB)
#define TOKEN       0x350u
#define RUNS_MAX    51

static bool measuring;
static unsigned runs = 1;

static double now(void)
{
    return g_get_monotonic_time() * 1e-6;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double median(double *v)
{
    qsort(v, runs, sizeof(*v), compare);
    return v[runs / 2];
}

static void print(const char *name, double *value, const char *unit,
                  const char *base_name, double *base)
{
    if (measuring) {
        printf("bench %s %.3f %s %s %.3f\n", name, median(value), unit,
               base_name, median(base));
        fflush(stdout);
    }
}

/* ---- queues ---- */

/* Writes @n entries into the ring in one go. */
static void load(TQueue *q, const a350_sqe *s, uint32_t n)
{
    g_assert_cmpuint(n, <, q->depth);
    t_hbm_write(q->c, q->ring, s, n * sizeof(*s));
    q->tail = n;
}

static void rewind_queue(TQueue *q)
{
    t_admin_id(q->c, A350_ADM_SQ_RESET, q->id);
    t_wr32(q->c, A350_REG_RTSQ + q->id * A350_SQ_PAGE_SIZE + A350_SQ_STATUS,
           A350_SQ_STATUS_ENABLE);
    q->tail = 0;
}

/* Until the heads of @n queues are at their tails; @nap: us between looks. */
static void finish(TQueue *q, unsigned n, unsigned nap)
{
    double end = now() + 60;
    unsigned i;

    for (i = 0; i < n; i++) {
        while (t_head(&q[i]) != q[i].tail) {
            g_assert_true(t_enabled(&q[i]));
            g_assert_cmpfloat(now(), <, end);
            if (nap) {
                g_usleep(nap);
            }
        }
    }
}

/* ---- baselines ---- */

static uint8_t *host_area(void)
{
    uint8_t *p = mmap(NULL, 2 * AREA, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    g_assert(p != MAP_FAILED);
    /* As QEMU asks for guest memory. */
    madvise(p, 2 * AREA, MADV_HUGEPAGE);
    memset(p, 1, 2 * AREA);
    return p;
}

/* GB/s of @n copies of @len, going round the area. */
static double host_copy(uint8_t *p, uint32_t len, uint32_t n)
{
    double t = now();
    uint32_t i;

    for (i = 0; i < n; i++) {
        uint64_t at = (uint64_t)i * len % AREA;

        memcpy(p + AREA + at, p + at, len);
        asm volatile("" : : "r"(p) : "memory");
    }
    return (double)len * n / (now() - t) * 1e-9;
}

/* A plain loop as the compiler makes it. */
static void __attribute__((noinline, optimize("O3")))
add_fp32(float *d, const float *s, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        d[i] += s[i];
    }
}

static float bf16_float(uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    float f;

    memcpy(&f, &u, sizeof(f));
    return f;
}

static void __attribute__((noinline, optimize("O3")))
add_bf16(uint16_t *d, const uint16_t *s, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        float f = bf16_float(d[i]) + bf16_float(s[i]);
        uint32_t u;

        memcpy(&u, &f, sizeof(u));
        d[i] = f != f ? 0x7fc0 : (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    }
}

static double host_reduce(uint8_t *p, bool bf16, uint32_t n)
{
    double t = now();
    uint32_t i;

    for (i = 0; i < n; i++) {
        if (bf16) {
            add_bf16((uint16_t *)(p + AREA), (uint16_t *)p, AREA / 2);
        } else {
            add_fp32((float *)(p + AREA), (float *)p, AREA / 4);
        }
    }
    return (double)AREA * n / (now() - t) * 1e-9;
}

typedef struct Ball {
    uint32_t word;
} QEMU_ALIGNED(128) Ball;

static Ball ball;
#define BOUNCES 20000u

static gpointer bounce(gpointer opaque)
{
    uint32_t i;

    for (i = 1; i < 2 * BOUNCES; i += 2) {
        while (qatomic_load_acquire(&ball.word) != i) {
            cpu_relax();
        }
        qatomic_store_release(&ball.word, i + 1);
    }
    return NULL;
}

/* Microseconds for one way of a cache line between two threads. */
static double host_hop(void)
{
    GThread *t;
    uint32_t i;
    double start;

    qatomic_set(&ball.word, 0);
    t = g_thread_new("bounce", bounce, NULL);
    start = now();
    for (i = 0; i < 2 * BOUNCES; i += 2) {
        while (qatomic_load_acquire(&ball.word) != i) {
            cpu_relax();
        }
        qatomic_store_release(&ball.word, i + 1);
    }
    g_thread_join(t);
    return (now() - start) / (2 * BOUNCES) * 1e6;
}

/* ---- measurements ---- */

static void bench_moves(const char *name, uint32_t opcode, uint32_t len,
                        uint32_t n, bool bf16)
{
    TMachine *m = t_start(1, "", "");
    TQueue q = t_queue(&m->card[0], RING, A350_SQ_DEPTH_MAX, false, 0);
    g_autofree a350_sqe *s = g_new(a350_sqe, n);
    double value[RUNS_MAX], base[RUNS_MAX], t;
    uint8_t *host = host_area();
    uint64_t dev = m->card[0].dev;
    unsigned r;
    uint32_t i;

    t_hbm_fill(&m->card[0], SRC, 0, AREA);
    t_hbm_fill(&m->card[0], DST, 0, AREA);
    for (i = 0; i < n; i++) {
        uint64_t at = (uint64_t)i * len % AREA;

        a350_sqe_sdma(&s[i], i, opcode, dev + DST + at, dev + SRC + at, len);
    }
    for (r = 0; r < runs; r++) {
        base[r] = opcode ? host_reduce(host, bf16, n) :
                           host_copy(host, len, n);
        rewind_queue(&q);
        load(&q, s, n);
        t = now();
        t_ring(&q);
        finish(&q, 1, (uint64_t)len * n > 32 * MiB ? 500 : 0);
        value[r] = (double)len * n / (now() - t) * 1e-9;
    }
    print(name, value, "GB/s", opcode ? "loop" : "memcpy", base);
    munmap(host, 2 * AREA);
    t_stop(m);
}

static void bench_copy_4k(void)
{
    bench_moves("copy.4K", A350_SDMA_CPY, 4 * KiB, measuring ? 2048 : 100,
                false);
}

static void bench_copy_1m(void)
{
    bench_moves("copy.1M", A350_SDMA_CPY, MiB, measuring ? 512 : 10, false);
}

static void bench_copy_64m(void)
{
    bench_moves("copy.64M", A350_SDMA_CPY, AREA, measuring ? 32 : 1, false);
}

static void bench_reduce_fp32(void)
{
    bench_moves("reduce.fp32.64M", A350_SDMA_ADD | A350_SDMA_FP32, AREA,
                measuring ? 32 : 1, false);
}

static void bench_reduce_bf16(void)
{
    bench_moves("reduce.bf16.64M", A350_SDMA_ADD | A350_SDMA_BF16, AREA,
                measuring ? 8 : 1, true);
}

/* Million copies of 64 bytes a second, @n on each of @queues queues. */
static void bench_tasks(const char *name, unsigned queues, uint32_t n)
{
    TMachine *m = t_start(1, "", "");
    g_autofree TQueue *q = g_new(TQueue, queues);
    g_autofree a350_sqe *s = g_new(a350_sqe, n);
    double value[RUNS_MAX], base[RUNS_MAX], t;
    uint8_t *host = host_area();
    uint64_t dev = m->card[0].dev;
    unsigned r, k;
    uint32_t i;

    for (k = 0; k < queues; k++) {
        q[k] = t_queue(&m->card[0], RING + k * 0x30000, A350_SQ_DEPTH_MAX,
                       false, 0);
    }
    for (i = 0; i < n; i++) {
        a350_sqe_sdma(&s[i], i, A350_SDMA_CPY, dev + DST + 64 * i,
                      dev + DST + AREA / 2 + 64 * i, 64);
    }
    for (r = 0; r < runs; r++) {
        base[r] = host_copy(host, 64, 1000000) / 64 * 1e3;
        for (k = 0; k < queues; k++) {
            rewind_queue(&q[k]);
            load(&q[k], s, n);
        }
        t = now();
        for (k = 0; k < queues; k++) {
            t_ring(&q[k]);
        }
        finish(q, queues, 0);
        value[r] = (double)n * queues / (now() - t) * 1e-6;
    }
    print(name, value, "M/s", "memcpy64", base);
    munmap(host, 2 * AREA);
    t_stop(m);
}

static void bench_tasks_1q(void)
{
    bench_tasks("tasks.1q", 1, measuring ? 2048 : 64);
}

static void bench_tasks_64q(void)
{
    bench_tasks("tasks.64q", 64, measuring ? 2048 : 16);
}

/* ---- hop ---- */

typedef struct Side {
    TQueue q;
    uint32_t jetty, data, notify;
    a350_ub_remote rmt;
} Side;

static uint32_t segment(TCard *c, uint64_t base, uint64_t len)
{
    a350_seg_register s = {
        .base = base, .length = len, .token_value = TOKEN,
        .access = A350_SEG_READ | A350_SEG_WRITE | A350_SEG_ATOMIC,
    };

    g_assert_cmpuint(t_admin(c, A350_ADM_SEG_REGISTER, &s, sizeof(s), NULL),
                     ==, A350_ADM_OK);
    return s.token_id;
}

static void side_init(Side *d, TCard *c, unsigned i, uint32_t depth)
{
    a350_jetty_create j = { .jetty_id = A350_ID_ANY, .depth = depth,
                            .base = c->dev + WQ };

    d->q = t_queue(c, RING, A350_SQ_DEPTH_MAX, false, 0);
    g_assert_cmpuint(t_admin(c, A350_ADM_JETTY_CREATE, &j, sizeof(j), NULL),
                     ==, A350_ADM_OK);
    d->jetty = j.jetty_id;
    d->data = segment(c, c->dev + SRC, AREA);
    d->notify = segment(c, a350_notify_addr(c->dev, 0), 0x1000);
    a350_eid_make(d->rmt.eid, 0, i);
    d->rmt.token_id = d->data;
    d->rmt.token_value = TOKEN;
}

/* @n writes of 64 bytes with notify, and the waits between them. */
static void side_load(Side *me, Side *peer, uint32_t n, bool first)
{
    TCard *c = me->q.c, *pc = peer->q.c;
    g_autofree a350_wqe *w = g_new0(a350_wqe, n);
    g_autofree a350_sqe *s = g_new(a350_sqe, 2 * n);
    uint32_t i;

    for (i = 0; i < n; i++) {
        a350_wqe_write_notify(&w[i], A350_WQE_CQE, &peer->rmt, pc->dev + SRC,
                              0, c->dev + SRC + 4096, 64, me->data,
                              a350_notify_addr(pc->dev, 0), peer->notify,
                              TOKEN, 1);
        a350_sqe_ubdma_db(&s[2 * i + !first], i, me->jetty, 2 * (i + 1));
        a350_sqe_notify_wait(&s[2 * i + first], i, 0, 0);
    }
    t_hbm_write(c, WQ, w, n * sizeof(*w));
    rewind_queue(&me->q);
    t_admin_id(c, A350_ADM_JETTY_RESET, me->jetty);
    load(&me->q, s, 2 * n);
}

/* All cards on one thread, or @threads: one thread each. */
static void bench_hop(const char *name, bool threads)
{
    uint32_t n = measuring ? 1000 : 20, i;
    TMachine *m = threads ?
        t_start(2, "", "-object iothread,id=t0 -object iothread,id=t1 "
                "-global atlas350.iothread=t0") : t_start(2, "", "");
    double value[RUNS_MAX], base[RUNS_MAX], t;
    Side d[2];
    unsigned r;

    for (i = 0; i < 2; i++) {
        side_init(&d[i], &m->card[i], i, 4096);
    }
    for (r = 0; r < runs; r++) {
        base[r] = host_hop();
        side_load(&d[0], &d[1], n, true);
        side_load(&d[1], &d[0], n, false);
        t_ring(&d[1].q);
        t = now();
        t_ring(&d[0].q);
        finish(&d[0].q, 1, 0);
        finish(&d[1].q, 1, 0);
        value[r] = (now() - t) / (2 * n) * 1e6;
    }
    print(name, value, "us", "cache-line", base);
    t_stop(m);
}

static void bench_hop_shared(void)
{
    bench_hop("hop", false);
}

int main(int argc, char **argv)
{
    const char *n = g_getenv("A350_BENCH_RUNS");

    g_test_init(&argc, &argv, NULL);
    measuring = g_getenv("A350_BENCH") != NULL;
    if (measuring) {
        runs = n ? CLAMP(atoi(n), 1, RUNS_MAX) : 5;
    }
    qtest_add_func("/atlas350/bench/copy-4k", bench_copy_4k);
    qtest_add_func("/atlas350/bench/copy-1m", bench_copy_1m);
    qtest_add_func("/atlas350/bench/copy-64m", bench_copy_64m);
    qtest_add_func("/atlas350/bench/reduce-fp32", bench_reduce_fp32);
    qtest_add_func("/atlas350/bench/reduce-bf16", bench_reduce_bf16);
    qtest_add_func("/atlas350/bench/tasks-1q", bench_tasks_1q);
    qtest_add_func("/atlas350/bench/tasks-64q", bench_tasks_64q);
    qtest_add_func("/atlas350/bench/hop", bench_hop_shared);
    return g_test_run();
}
