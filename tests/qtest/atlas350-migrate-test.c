/*
 * QTest: an Atlas 350 is saved and loaded in the middle of its work.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "atlas350-card.h"

#define SECOND 1000000000ll

static char *state_file(void)
{
    return g_strdup_printf("%s/atlas350-state-%d", g_get_tmp_dir(), getpid());
}

static void wait_migrated(QTestState *qts)
{
    bool done = false;

    while (!done) {
        QDict *rsp = qtest_qmp_assert_success_ref(qts,
            "{ 'execute': 'query-migrate' }");
        const char *status = qdict_get_try_str(rsp, "status");

        g_assert_cmpstr(status, !=, "failed");
        done = status && !strcmp(status, "completed");
        qobject_unref(rsp);
        g_usleep(1000);
    }
}

/* Saves @m to a file and ends it. */
static void save(TMachine *m, const char *file)
{
    g_autofree char *uri = g_strdup_printf("file:%s", file);

    qtest_qmp_assert_success(m->qts, "{ 'execute': 'migrate', 'arguments': "
                             "{ 'uri': %s } }", uri);
    wait_migrated(m->qts);
    t_stop(m);
}

/* And goes on in a new machine. */
static TMachine *load(unsigned cards, const char *props, const char *file)
{
    g_autofree char *uri = g_strdup_printf("file:%s", file);
    TMachine *n = t_start_incoming(cards, props, "-incoming defer");

    qtest_qmp_assert_success(n->qts, "{ 'execute': 'migrate-incoming', "
                             "'arguments': { 'uri': %s } }", uri);
    wait_migrated(n->qts);
    qtest_qmp_assert_success(n->qts, "{ 'execute': 'cont' }");
    unlink(file);
    return n;
}

/* A machine that is given a file it must refuse, and survive. */
static void load_refused(unsigned cards, const char *props, const char *file)
{
    g_autofree char *uri = g_strdup_printf("file:%s", file);
    TMachine *n = t_start_incoming(cards, props, "-incoming defer");
    const char *status;
    bool failed;
    QDict *rsp;

    qtest_qmp_assert_success(n->qts, "{ 'execute': 'migrate-incoming', "
                             "'arguments': { 'uri': %s, "
                             "'exit-on-error': false } }", uri);
    do {
        g_usleep(1000);
        rsp = qtest_qmp_assert_success_ref(n->qts,
                                           "{ 'execute': 'query-migrate' }");
        status = qdict_get_try_str(rsp, "status");
        g_assert_cmpstr(status, !=, "completed");
        failed = status && !strcmp(status, "failed");
        qobject_unref(rsp);
    } while (!failed);
    unlink(file);
    t_stop(n);
}

static TMachine *through_file(TMachine *m, unsigned cards, const char *props)
{
    g_autofree char *file = state_file();

    save(m, file);
    return load(cards, props, file);
}

/* Replaces @len bytes @offset behind the last place with @key: RAM is first. */
static void patch(const char *file, const void *key, size_t key_len,
                  long offset, const void *val, size_t len)
{
    g_autofree char *state = NULL;
    char *at = NULL, *next;
    gsize size;

    g_assert_true(g_file_get_contents(file, &state, &size, NULL));
    next = memmem(state, size, key, key_len);
    while (next) {
        at = next;
        next = memmem(at + 1, state + size - at - 1, key, key_len);
    }
    g_assert_nonnull(at);
    memcpy(at + offset, val, len);
    g_assert_true(g_file_set_contents(file, state, size, NULL));
}

static void moved(TQueue *q, TMachine *m, unsigned card)
{
    q->c = &m->card[card];
}

/* Queues half full, waits pending, a time-out running. */
static void test_waits(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue w = t_queue(c, 0x10000, 17, true, 0);
    TQueue w2 = t_queue(c, 0x20000, 17, false, 0);
    TQueue l = t_queue(c, 0x30000, 17, true, 0);
    a350_sqe s;
    a350_cqe e;
    int64_t end;
    int i;

    for (i = 0; i < 3; i++) {
        a350_sqe_notify_record(&s, i, 100 + i);
        s.w[0] |= A350_SQE_WR_CQE;
        t_push(&w, &s);
    }
    a350_sqe_notify_wait(&s, 9, 5, 0);
    t_push(&w, &s);
    a350_sqe_notify_record(&s, 10, 110);
    s.w[0] |= A350_SQE_WR_CQE;
    t_push_ring(&w, &s);
    g_assert_true(T_WAIT(t_head(&w) == 3));
    a350_sqe_notify_wait(&s, 9, 5, 0);
    t_push_ring(&w2, &s);
    g_assert_true(t_stays(&w2, 0));
    a350_sqe_notify_wait(&s, 11, 6, 10);
    end = t_rd64(c, A350_REG_CTRL + A350_CTRL_CLOCK_NS) + 10 * SECOND;
    t_push_ring(&l, &s);
    g_assert_true(t_stays(&l, 0));
    t_notify_set(c, 40, 1);
    t_cnt_set(c, 41, 0, 0x1234);
    qtest_clock_step(m->qts, 4 * SECOND);

    m = through_file(m, 1, "");
    c = &m->card[0];
    moved(&w, m, 0);
    moved(&w2, m, 0);
    moved(&l, m, 0);
    g_assert_cmpuint(t_head(&w), ==, 3);
    g_assert_cmpuint(t_notify(c, 40), ==, 1);
    g_assert_cmphex(t_cnt(c, 41, 0), ==, 0x1234);
    g_assert_cmpuint(t_notify(c, 102), ==, 1);
    g_assert_cmpuint(t_notify(c, 110), ==, 0);
    /* the older waiter goes first */
    t_notify_set(c, 5, 1);
    g_assert_true(t_drain(&w));
    g_assert_cmpuint(t_notify(c, 110), ==, 1);
    g_assert_true(t_stays(&w2, 0));
    t_notify_set(c, 5, 1);
    g_assert_true(t_drain(&w2));
    for (i = 0; i < 4; i++) {
        g_assert_true(t_cqe(&w, &e));
        g_assert_cmpuint(e.stream_id, ==, i < 3 ? i : 10);
    }
    /*
     * The time-out ends when it would have; the clock of a qtest machine is
     * not in its state and has begun anew.
     */
    end -= t_rd64(c, A350_REG_CTRL + A350_CTRL_CLOCK_NS);
    qtest_clock_step(m->qts, end - 1000000);
    g_assert_true(t_stays(&l, 0) && t_enabled(&l));
    qtest_clock_step(m->qts, 2000000);
    g_assert_true(t_wait_stop(&l));
    g_assert_true(t_cqe(&l, &e));
    g_assert_cmphex(e.error_bits, ==, A350_ERR_TIMEOUT);
    t_stop(m);
}

/* A large copy, and a reduction that must not happen twice. */
static void test_copy_in_flight(void)
{
    enum { LEN = 16 << 20 };
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 17, false, 0);
    TQueue r = t_queue(c, 0x10000, 17, false, 0);
    a350_sqe s;

    t_hbm_pattern(c, 0x1000000, 5, LEN);
    a350_sqe_memset(&s, 1, c->dev + 0xa000000, 1, 4 << 20);
    t_push_ring(&r, &s);
    g_assert_true(t_drain(&r));
    a350_sqe_sdma(&s, 2, A350_SDMA_ADD | A350_SDMA_INT8, c->dev + 0xa000000,
                  c->dev + 0xa000000, 4 << 20);
    t_push(&r, &s);
    a350_sqe_sdma(&s, 1, 0, c->dev + 0x5000000, c->dev + 0x1000000, LEN);
    t_push_ring(&q, &s);
    t_ring(&r);

    m = through_file(m, 1, "");
    moved(&q, m, 0);
    moved(&r, m, 0);
    g_assert_true(t_drain(&q));
    g_assert_true(t_drain(&r));
    g_assert_true(t_hbm_is_pattern(&m->card[0], 0x5000000, 5, LEN));
    g_assert_true(t_hbm_is_fill(&m->card[0], 0xa000000, 2, 4 << 20));
    t_stop(m);
}

/* The latched error, the CQ's phase, a stopped queue. */
static void test_error_state(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 257, true, 0);
    union {
        a350_first_error e;
        uint8_t data[A350_ADMIN_DATA_SIZE];
    } before = { 0 }, after = { 0 };
    a350_sqe s;
    a350_cqe e;
    int i;

    a350_sqe_nop(&s, 0);
    s.w[0] |= A350_SQE_WR_CQE;
    for (i = 0; i < 70; i++) {
        t_push_ring(&q, &s);
        g_assert_true(t_cqe(&q, &e));
    }
    a350_sqe_init(&s, A350_SQE_COND, 9, 254);
    t_push_ring(&q, &s);
    g_assert_true(t_wait_stop(&q));
    t_admin(c, A350_ADM_FIRST_ERROR, &before, 0, NULL);

    m = through_file(m, 1, "");
    c = &m->card[0];
    moved(&q, m, 0);
    g_assert_false(t_enabled(&q));
    t_admin(c, A350_ADM_FIRST_ERROR, &after, 0, NULL);
    g_assert_cmpmem(&after, sizeof(after.e), &before, sizeof(before.e));
    g_assert_true(t_cqe(&q, &e));
    g_assert_cmpuint(e.stream_id, ==, 9);
    a350_sqe_nop(&s, 3);
    s.w[0] |= A350_SQE_WR_CQE;
    t_hbm_write(c, q.ring + 70 * 64, &s, sizeof(s));
    t_wr32(c, A350_REG_RTSQ + q.id * 0x1000 + A350_SQ_STATUS, 1);
    g_assert_true(t_drain(&q));
    g_assert_true(t_cqe(&q, &e));
    g_assert_cmpuint(e.stream_id, ==, 3);
    t_stop(m);
}

/* An entry of more slots than there are, while the CQ has no room for it. */
static void test_bad_length(void)
{
    TMachine *m = t_start(1, "", "");
    TQueue q = t_queue(&m->card[0], 0, 257, true, 0);
    a350_sqe s;
    a350_cqe e;
    int i;

    t_fill_cq(&q);
    a350_sqe_nop(&s, 77);
    s.w[3] |= 7u << A350_SQE_LEN_SHIFT;
    for (i = 0; i < 8; i++) {
        t_push(&q, &s);
    }
    t_ring(&q);
    g_assert_true(t_wait_stop(&q));

    m = through_file(m, 1, "");
    moved(&q, m, 0);
    for (i = 0; i < 65; i++) {
        g_assert_true(t_cqe(&q, &e));
    }
    g_assert_cmpuint(e.stream_id, ==, 77);
    g_assert_cmphex(e.error_bits, ==, A350_ERR_SQE);
    /* once more with the CQE written already */
    m = through_file(m, 1, "");
    moved(&q, m, 0);
    g_assert_false(t_enabled(&q));
    g_assert_cmpuint(t_head(&q), ==, 64);
    t_stop(m);
}

/* A callback that the host has not been told of, then one it has been. */
static void test_callback(void)
{
    TMachine *m = t_start(1, "", "");
    TQueue q = t_queue(&m->card[0], 0, 257, true, 0);
    a350_sqe s;
    a350_cqe e;
    int i;

    t_fill_cq(&q);
    a350_sqe_init(&s, A350_SQE_PLACE_HOLDER, 77, A350_CREDIT_NEVER);
    s.w[3] |= A350_PH_HOST_CALLBACK;
    s.w[6] = 33;
    s.w[7] = 1u << 16;
    t_push_ring(&q, &s);
    g_assert_true(T_WAIT(t_head(&q) == 64));
    g_assert_true(t_stays(&q, 64));

    m = through_file(m, 1, "");
    moved(&q, m, 0);
    for (i = 0; i < 65; i++) {
        g_assert_true(t_cqe(&q, &e));
    }
    g_assert_cmpuint(e.stream_id, ==, 77);
    m = through_file(m, 1, "");
    moved(&q, m, 0);
    g_assert_true(t_no_cqe(&q));
    g_assert_cmpuint(t_head(&q), ==, 64);
    t_notify_set(&m->card[0], 33, 1);
    g_assert_true(t_drain(&q));
    g_assert_true(t_no_cqe(&q));
    t_stop(m);
}

/* Waiters that came at one moment of the clock keep their order. */
static void test_waiters_of_a_moment(void)
{
    TMachine *m = t_start(1, "", "");
    TQueue q[4], *w;
    a350_sqe s;
    int i;

    for (i = 0; i < 4; i++) {
        q[i] = t_queue(&m->card[0], i * 0x10000, 17, false, 0);
    }
    a350_sqe_notify_wait(&s, 1, 5, 0);
    for (i = 3; i >= 0; i--) {
        t_push_ring(&q[i], &s);
        g_assert_true(t_stays(&q[i], 0));
    }
    m = through_file(m, 1, "");
    for (i = 3; i >= 0; i--) {
        w = &q[i];
        moved(w, m, 0);
        t_notify_set(&m->card[0], 5, 1);
        g_assert_true(t_drain(w));
    }
    t_stop(m);
}

/* A card that was stalled says so until something moves. */
static void test_stalled(void)
{
    const uint32_t status = A350_REG_CTRL + A350_CTRL_STATUS;
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 17, false, 0);
    a350_sqe s;

    a350_sqe_notify_wait(&s, 1, 5, 0);
    t_push_ring(&q, &s);
    g_assert_true(t_stays(&q, 0));
    g_assert_true(T_WAIT((qtest_clock_step(m->qts, SECOND / 2),
                          t_rd32(c, status) & A350_STATUS_STALLED)));
    m = through_file(m, 1, "");
    c = &m->card[0];
    moved(&q, m, 0);
    g_assert_true(t_rd32(c, status) & A350_STATUS_STALLED);
    t_notify_set(c, 5, 1);
    g_assert_true(t_drain(&q));
    g_assert_true(T_WAIT((qtest_clock_step(m->qts, SECOND / 2),
                          !(t_rd32(c, status) & A350_STATUS_STALLED))));
    t_stop(m);
}

/* The token of a segment that was gone before does not open a later one. */
static void test_token_generations(void)
{
    TMachine *m = t_start(1, "", "");
    a350_seg_register a = { .base = m->card[0].dev, .length = 4096,
                            .access = A350_SEG_READ };
    a350_seg_register b = a;

    g_assert_cmpuint(t_admin(&m->card[0], A350_ADM_SEG_REGISTER, &a, sizeof(a),
                             NULL), ==, A350_ADM_OK);
    t_admin_id(&m->card[0], A350_ADM_SEG_UNREGISTER, a.token_id);
    m = through_file(m, 1, "");
    g_assert_cmpuint(t_admin(&m->card[0], A350_ADM_SEG_REGISTER, &b, sizeof(b),
                             NULL), ==, A350_ADM_OK);
    g_assert_cmphex(a.token_id, !=, b.token_id);
    t_stop(m);
}

/*
 * Interrupts are sent by the main loop. One that was raised, but not sent
 * when the state was saved, is sent after the load.
 */
static void test_raised_interrupt(void)
{
    static const uint8_t key[] = {
        0, 0, 0, 0, 0x10, 0, 0, 0,  /* HBM size */
        0, 0, 0, 0,                 /* card index */
        0, 0, 1, 0,                 /* queues */
        0, 1, 0, 0,                 /* notifies */
        0, 0, 0, 7,                 /* cores */
    };
    g_autofree char *file = state_file();
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    const uint64_t entry = c->reg + A350_REG_MSIX_TABLE +
                           A350_MSIX_CQ_FIRST * 16;
    uint8_t bit = 1;

    qtest_writeq(m->qts, entry, T_RAM);
    qtest_writel(m->qts, entry + 8, 0x12345678);
    qtest_writel(m->qts, entry + 12, 0);
    qpci_config_writew(c->pci, A350_PCI_CAP_MSIX + 2, 0x8000);
    save(m, file);
    /* status, two words of the admin queue, then 256 bits, big-endian */
    patch(file, key, sizeof(key), sizeof(key) + 12 + 8 + 5, &bit, 1);
    m = load(1, "", file);
    g_assert_true(T_WAIT(qtest_readl(m->qts, T_RAM) == 0x12345678));
    t_stop(m);
}

/* What a stream says of itself is not believed. */
static void test_bad_label_count(void)
{
    static const uint32_t counts[] = { 0xffffffff, 0x7fffffff, 0x01010101 };
    a350_notify_label l = { .notify_id = 3, .kind = 1,
                            .comm = "label of the test" };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(counts); i++) {
        g_autofree char *file = state_file();
        TMachine *m = t_start(1, "", "");

        g_assert_cmpuint(t_admin(&m->card[0], A350_ADM_NOTIFY_LABEL, &l,
                                 sizeof(l), NULL), ==, A350_ADM_OK);
        save(m, file);
        /* count, six words, an end point address, the text */
        patch(file, l.comm, strlen(l.comm), -(long)(4 + 24 + 16), &counts[i],
              4);
        load_refused(1, "", file);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("atlas350/migrate/waits", test_waits);
    qtest_add_func("atlas350/migrate/copy-in-flight", test_copy_in_flight);
    qtest_add_func("atlas350/migrate/error-state", test_error_state);
    qtest_add_func("atlas350/migrate/bad-length", test_bad_length);
    qtest_add_func("atlas350/migrate/callback", test_callback);
    qtest_add_func("atlas350/migrate/waiters-of-a-moment",
                   test_waiters_of_a_moment);
    qtest_add_func("atlas350/migrate/stalled", test_stalled);
    qtest_add_func("atlas350/migrate/token-generations",
                   test_token_generations);
    qtest_add_func("atlas350/migrate/raised-interrupt",
                   test_raised_interrupt);
    qtest_add_func("atlas350/migrate/bad-label-count", test_bad_label_count);
    return g_test_run();
}
