/*
 * Unit test of the AICPU cluster's mailbox: what a queue test cannot time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The cores have no firmware and execute nothing; the test does the accesses
 * to their MMIO page, and has the clock.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/guest-random.h"
#include "qapi/error.h"
#include "cluster.h"
#include "tap.h"

#define SECOND      1000000000ll
#define HBM         (1u << 20)

/* ---- cores that do nothing ---- */

struct A350Core {
    int unused;
};

A350Core *a350_core_new(unsigned hartid, const A350CoreOps *ops, void *opaque)
{
    return g_new0(A350Core, 1);
}

void a350_core_free(A350Core *c)
{
    g_free(c);
}

int a350_core_add_region(A350Core *c, uint64_t addr, uint64_t size,
                         void *host, unsigned access)
{
    return 0;
}

void a350_core_reset(A350Core *c, uint64_t pc)
{
}

A350CoreExit a350_core_run(A350Core *c, int64_t budget)
{
    return A350_EXIT_BUDGET;
}

A350CoreExit a350_core_step(A350Core *c)
{
    return A350_EXIT_BUDGET;
}

void a350_core_set_irq(A350Core *c, uint32_t line, bool level)
{
}

bool a350_core_irq_pending(A350Core *c)
{
    return false;
}

void a350_core_halt(A350Core *c)
{
}

void a350_core_kick(A350Core *c)
{
}

void a350_core_invalidate(A350Core *c)
{
}

void a350_core_get_state(A350Core *c, A350CoreState *s)
{
    memset(s, 0, sizeof(*s));
}

void *a350_core_mem(A350Core *c, uint64_t addr, uint64_t size)
{
    return NULL;
}

A350DebugInfo a350_core_debug_info(A350Core *c)
{
    return (A350DebugInfo) { 0 };
}

void qemu_guest_getrandom_nofail(void *buf, size_t len)
{
    memset(buf, 0, len);
}

/* ---- the card around them ---- */

typedef struct Card {
    A350Cluster *cl;
    uint8_t *hbm;
    int64_t now;
    QemuEvent inside, open;      /* of the callback */
    bool gate;                   /* the callback stays until it is opened */
    uint32_t calls;              /* atomic: that have returned */
    uint32_t status;             /* the firmware's */
} Card;

static int64_t card_clock(void *opaque)
{
    return ((Card *)opaque)->now;
}

static void card_arm_timer(void *opaque, int64_t ns)
{
}

static void card_log(void *opaque, int level, const char *line)
{
}

static void card_done(void *opaque, const a350_topic_mbox *mbox,
                      uint16_t errcode, uint16_t status,
                      const a350_exc_record *exc)
{
    Card *k = opaque;

    if (k->gate) {
        qemu_event_set(&k->inside);
        qemu_event_wait(&k->open);
    }
    qatomic_inc(&k->calls);
}

static void card_fw_status(void *opaque, uint32_t status, const char *message)
{
    ((Card *)opaque)->status = status;
}

static bool card_reg_read(void *opaque, uint32_t off, unsigned size,
                          uint64_t *val)
{
    return false;
}

static bool card_reg_write(void *opaque, uint32_t off, unsigned size,
                           uint64_t val)
{
    return false;
}

static const A350ClusterOps card_ops = {
    .clock = card_clock,
    .arm_timer = card_arm_timer,
    .log = card_log,
    .done = card_done,
    .fw_status = card_fw_status,
    .reg_read = card_reg_read,
    .reg_write = card_reg_write,
};

static void set_status(Card *k, uint32_t status)
{
    qemu_mutex_lock(&k->cl->lock);
    a350_cluster_set_fw_status(k->cl, status);
    qemu_mutex_unlock(&k->cl->lock);
}

static void card_init(Card *k)
{
    A350ClusterConfig cfg = { .num_cores = 1, .hbm_size = HBM };

    memset(k, 0, sizeof(*k));
    qemu_event_init(&k->inside, false);
    qemu_event_init(&k->open, false);
    cfg.hbm = k->hbm = g_malloc0(HBM);
    k->cl = a350_cluster_new(&cfg, &card_ops, k);
    set_status(k, A350_FW_READY);
}

static void card_free(Card *k)
{
    a350_cluster_stop(k->cl);
    a350_cluster_free(k->cl);
    g_free(k->hbm);
    qemu_event_destroy(&k->inside);
    qemu_event_destroy(&k->open);
}

static void submit(Card *k, uint32_t sq, uint32_t task, uint64_t limit)
{
    a350_topic_mbox m = { .tq_id = sq, .stream_id = task };

    a350_cluster_submit(k->cl, &m, limit);
}

/* As the core's thread. */
static void accept_launch(Card *k)
{
    uint64_t val;

    a350_page_read(&k->cl->core[0], A350_AM_MSQ_STATUS, 8, &val);
    a350_page_write(&k->cl->core[0], A350_AM_MSQ_ACCEPT, 8, 1);
}

static void *answer_thread(void *opaque)
{
    Card *k = opaque;

    a350_page_write(&k->cl->core[0], A350_AM_TOPIC_CQE, 8, 0);
    return NULL;
}

static void *fail_thread(void *opaque)
{
    set_status(opaque, A350_FW_FAILED);
    return NULL;
}

typedef struct Abort {
    Card *k;
    uint32_t sq, task;
    uint32_t calls;              /* of done, when it returned */
    uint32_t returned;           /* atomic */
} Abort;

static void *abort_thread(void *opaque)
{
    Abort *a = opaque;

    a350_cluster_abort(a->k->cl, a->sq, a->task);
    a->calls = qatomic_read(&a->k->calls);
    qatomic_set(&a->returned, 1);
    return NULL;
}

/* ---- tests ---- */

/*
 * A queue is reset while its launch is being answered: its next launch, which
 * may have the same number, is not mistaken for the old one.
 */
static void test_abort_answered(void)
{
    QemuThread answer, abort;
    Abort a = { .sq = 3, .task = 7 };
    bool waited;
    Card k;

    card_init(&k);
    a.k = &k;
    k.gate = true;
    submit(&k, 3, 7, 0);
    accept_launch(&k);
    qemu_thread_create(&answer, "answer", answer_thread, &k,
                       QEMU_THREAD_JOINABLE);
    qemu_event_wait(&k.inside);
    qemu_thread_create(&abort, "abort", abort_thread, &a,
                       QEMU_THREAD_JOINABLE);
    g_usleep(20000);
    waited = !qatomic_read(&a.returned);
    /* another queue's launch does not wait */
    a350_cluster_abort(k.cl, 4, 7);
    a350_cluster_abort(k.cl, 3, 8);
    qemu_event_set(&k.open);
    qemu_thread_join(&answer);
    qemu_thread_join(&abort);
    ok(waited && a.calls == 1, "no answer comes behind an abort");
    card_free(&k);
}

/* The same when the firmware fails, for the launch told of and for others. */
static void test_abort_failed(void)
{
    QemuThread fail, abort;
    Abort a = { .sq = 1, .task = 7 };
    bool waited;
    Card k;

    card_init(&k);
    a.k = &k;
    submit(&k, 1, 7, 0);
    submit(&k, 2, 7, 0);
    submit(&k, 3, 7, 0);
    k.gate = true;
    qemu_thread_create(&fail, "fail", fail_thread, &k, QEMU_THREAD_JOINABLE);
    qemu_event_wait(&k.inside);
    qemu_thread_create(&abort, "abort", abort_thread, &a,
                       QEMU_THREAD_JOINABLE);
    a350_cluster_abort(k.cl, 2, 7);
    g_usleep(20000);
    waited = !qatomic_read(&a.returned);
    qemu_event_set(&k.open);
    qemu_thread_join(&fail);
    qemu_thread_join(&abort);
    ok(waited && a.calls >= 1, "nor when the firmware fails");
    is(k.calls, 2, "a launch that was taken back is not told of");
    card_free(&k);
}

static void pass(Card *k, int64_t ns)
{
    k->now += ns;
    a350_cluster_timer(k->cl);
}

/* The time limit runs on in a debugger, but the firmware need not react. */
static void test_limit_in_debugger(void)
{
    uint64_t why;
    Card k;

    card_init(&k);
    submit(&k, 1, 7, 2 * SECOND);
    accept_launch(&k);
    a350_cluster_debug_stop(k.cl);
    pass(&k, 3 * SECOND);
    a350_page_read(&k.cl->core[0], A350_AM_ABORT, 8, &why);
    is(why, A350_ABORT_TIMEOUT, "the limit runs on in a debugger");
    pass(&k, 6 * SECOND);
    pass(&k, 600 * SECOND);
    is(k.status, A350_FW_READY, "firmware that stands is given its time");
    a350_cluster_debug_resume(k.cl, 1, 0);
    pass(&k, 4 * SECOND);
    is(k.status, A350_FW_READY, "and as much as ever when it goes on");
    pass(&k, 2 * SECOND);
    ok(k.status >= A350_FW_FAILED && k.calls == 1, "then it has failed");
    card_free(&k);
}

int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    test_abort_answered();
    test_abort_failed();
    test_limit_in_debugger();
    return done_testing();
}
