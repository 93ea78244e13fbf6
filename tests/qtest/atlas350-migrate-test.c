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

/* Saves @m to a file, ends it, and goes on in a new machine. */
static TMachine *through_file(TMachine *m, unsigned cards, const char *props)
{
    g_autofree char *file = state_file();
    g_autofree char *uri = g_strdup_printf("file:%s", file);
    TMachine *n;

    qtest_qmp_assert_success(m->qts, "{ 'execute': 'migrate', 'arguments': "
                             "{ 'uri': %s } }", uri);
    wait_migrated(m->qts);
    t_stop(m);
    n = t_start_incoming(cards, props, "-incoming defer");
    qtest_qmp_assert_success(n->qts, "{ 'execute': 'migrate-incoming', "
                             "'arguments': { 'uri': %s } }", uri);
    wait_migrated(n->qts);
    qtest_qmp_assert_success(n->qts, "{ 'execute': 'cont' }");
    unlink(file);
    return n;
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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("atlas350/migrate/waits", test_waits);
    qtest_add_func("atlas350/migrate/copy-in-flight", test_copy_in_flight);
    qtest_add_func("atlas350/migrate/error-state", test_error_state);
    return g_test_run();
}
