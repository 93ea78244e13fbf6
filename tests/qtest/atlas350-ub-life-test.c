/*
 * QTest: UB of the Atlas 350 card when things go wrong or away: bad links,
 * resets in the middle of a transfer, migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "atlas350-ub.h"

/* ---- bad links, resets, migration ---- */

static void inject(Ub *u, const char *error, int jetty)
{
    QDict *rsp;

    if (jetty < 0) {
        rsp = qtest_qmp(u->m->qts, "{ 'execute': 'atlas350-inject-link-error',"
                        " 'arguments': { 'card': 'card0', 'error': %s } }",
                        error);
    } else {
        rsp = qtest_qmp(u->m->qts, "{ 'execute': 'atlas350-inject-link-error',"
                        " 'arguments': { 'card': 'card0', 'error': %s,"
                        " 'jetty': %d, 'count': 1 } }", error, jetty);
    }
    g_assert_true(qdict_haskey(rsp, "return"));
    qobject_unref(rsp);
}

/* A perfect link never shows statuses 4 and 5: they can be asked for. */
static void test_injected_errors(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    a350_wqe w = ub_rw(a, b, A350_UB_WRITE, DST, SRC, 4096);
    unsigned i;

    for (i = 0; i < 4; i++) {
        ub_guard(b, DST, 4096);
        inject(u, i % 2 ? "retry" : "ack-timeout", i < 2 ? -1 : (int)a->jetty);
        ub_post(a, &w);
        ub_ring_fails(a, i % 2 ? A350_UB_ERR_RETRY : A350_UB_ERR_ACK_TIMEOUT,
                      0);
        g_assert_cmpuint(ub_query(a).state, ==, A350_JETTY_ERROR);
        g_assert_true(t_hbm_is_fill(b->c, DST, 0xa5, 4096));
        ub_recover(a);
        ub_post(a, &w);
        ub_ring_ok(a);
    }
    ub_stop(u);
}

static void start_long(UbCard *a, UbCard *b)
{
    a350_wqe w = ub_rw(a, b, A350_UB_WRITE, DST, SRC, 64 << 20);
    unsigned i;

    for (i = 0; i < 32; i++) {
        ub_post(a, &w);
    }
    ub_ring_at(a, a->pi);
}

/* The target is reset in the middle: the initiator's task ends with it. */
static void test_target_reset(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    a350_cqe e;
    a350_wqe w;

    start_long(a, b);
    t_flr(b->c);
    g_assert_true(t_wait_stop(&a->q));
    g_assert_true(t_cqe(&a->q, &e));
    g_assert_true(e.ub_status0 == A350_UB_ERR_ACK_TIMEOUT ||
                  e.ub_status0 == A350_UB_ERR_REMOTE);
    /* Both are usable again; old tokens are not. */
    t_enable(b->c);
    ub_recover(a);
    w = ub_rw(a, b, A350_UB_WRITE, DST, SRC, 64);
    ub_post(a, &w);
    ub_ring_fails(a, A350_UB_ERR_REMOTE, A350_UB_SUB_REMOTE_ABORT);
    ub_recover(a);
    ub_card(u, 1, 64, 0);
    t_hbm_pattern(a->c, SRC, 9, 4096);
    ub_guard(b, DST, 4096);
    w = ub_rw(a, b, A350_UB_WRITE, DST, SRC, 4096);
    ub_post(a, &w);
    ub_ring_ok(a);
    ub_check_guarded(b, DST, 9, 4096);
    ub_stop(u);
}

/* The initiator is reset in the middle: its request is gone. */
static void test_initiator_reset(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    a350_wqe w;

    start_long(a, b);
    t_flr(a->c);
    t_enable(a->c);
    t_admin_id(b->c, A350_ADM_SEG_UNREGISTER, b->data_token);
    b->data_token = ub_segment(b->c, b->c->dev + DATA, DATA_LEN, ALL,
                                 b->rmt.token_value);
    b->rmt.token_id = b->data_token;
    a->pi = 0;
    ub_card(u, 0, 64, 0);
    t_hbm_pattern(a->c, SRC, 4, 4096);
    ub_guard(b, DST, 4096);
    w = ub_write_notify(a, b, DST, SRC, 4096, 3, 1);
    ub_post(a, &w);
    ub_ring_ok(a);
    ub_check_guarded(b, DST, 4, 4096);
    g_assert_cmphex(t_notify(b->c, 3), ==, 1);
    ub_stop(u);
}

/* A peer that has more and more to write does not keep the segment. */
static void test_unregister_in_flight(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    a350_id_req id = { .id = b->data_token };
    uint8_t data[A350_ADMIN_DATA_SIZE] = { 0 };
    uint32_t res;
    a350_cqe e;

    start_long(a, b);
    memcpy(data, &id, sizeof(id));
    res = t_admin(b->c, A350_ADM_SEG_UNREGISTER, data, sizeof(id), NULL);
    /* One of the 32 requests is at work, unless it is just between two. */
    g_assert_true(res == A350_ADM_E_BUSY || res == A350_ADM_OK);
    g_assert_true(t_wait_stop(&a->q));
    g_assert_true(t_cqe(&a->q, &e));
    g_assert_cmpuint(e.ub_status0, ==, A350_UB_ERR_REMOTE);
    if (res == A350_ADM_E_BUSY) {
        t_admin_id(b->c, A350_ADM_SEG_UNREGISTER, b->data_token);
    }
    ub_stop(u);
}

static void wait_migration(QTestState *qts)
{
    const char *status = "";
    QDict *rsp = NULL;

    g_assert_true(T_WAIT(({
        qobject_unref(rsp);
        rsp = qtest_qmp(qts, "{ 'execute': 'query-migrate' }");
        status = qdict_haskey(qdict_get_qdict(rsp, "return"), "status") ?
            qdict_get_str(qdict_get_qdict(rsp, "return"), "status") : "";
        g_assert_cmpstr(status, !=, "failed");
        !strcmp(status, "completed");
    })));
    qobject_unref(rsp);
}

static void qmp_ok(QTestState *qts, const char *command, const char *uri)
{
    QDict *rsp;

    rsp = uri ? qtest_qmp(qts, "{ 'execute': %s, 'arguments': "
                          "{ 'uri': %s } }", command, uri) :
                qtest_qmp(qts, "{ 'execute': %s }", command);
    g_assert_true(qdict_haskey(rsp, "return"));
    qobject_unref(rsp);
}

/*
 * A reduction in flight goes on in the machine that loads the state; adding
 * shows each byte that was done twice or not at all.
 */
static void push_direct(UbCard *k, const a350_wqe *w)
{
    a350_sqe s[3];

    a350_sqe_init(s, A350_SQE_UBDMA, k->q.task++, A350_CREDIT_DEFAULT);
    s[0].w[2] = A350_UBDMA_WQE_128;
    s[0].w[3] |= 2u << A350_SQE_LEN_SHIFT;
    s[0].w[4] = k->jetty;
    memcpy(&s[1], w, 2 * A350_WQEBB_SIZE);
    t_push_ext(&k->q, s, 3);
}

/* @at: transfers that are over when it stops, the next one is in flight. */
static void migration(bool direct, unsigned at)
{
    enum { COUNT = 12 << 20, TIMES = 8 };
    Ub *u = ub_start_full(2, 64, direct ? A350_JETTY_F_DIRECT : 0);
    Ub *v = g_new0(Ub, 1);
    UbCard *a = &u->card[0], *b = &u->card[1];
    g_autofree char *path = g_strdup_printf("%s/atlas350-ub-%d",
                                            g_get_tmp_dir(),
                                            getpid());
    g_autofree char *uri = g_strdup_printf("file:%s", path);
    unsigned i;
    a350_wqe w;

    t_hbm_fill(a->c, SRC, 0x01, 4 * COUNT);
    t_hbm_fill(b->c, DST, 0x10, 4 * COUNT);
    for (i = 0; i < TIMES; i++) {
        w = ub_write_notify(a, b, DST, SRC, 4 * COUNT, i, 1);
        a350_wqe_set_reduce(&w, A350_UB_ADD, A350_UB_INT32);
        if (direct) {
            push_direct(a, &w);
        } else {
            ub_post(a, &w);
        }
    }
    if (direct) {
        t_ring(&a->q);
    } else {
        ub_ring_at(a, a->pi);
    }
    g_assert_true(!at || T_WAIT(t_notify(b->c, at - 1)));
    qmp_ok(u->m->qts, "stop", NULL);
    for (i = 0; i < TIMES && t_notify(b->c, i); i++) {
        ;
    }
    g_test_message("%u of %u transfers were over when it stopped", i, TIMES);
    qmp_ok(u->m->qts, "migrate", uri);
    wait_migration(u->m->qts);

    v->m = t_start(2, "", "-incoming defer");
    qmp_ok(v->m->qts, "migrate-incoming", uri);
    wait_migration(v->m->qts);
    unlink(path);
    for (i = 0; i < 2; i++) {
        v->card[i] = u->card[i];
        v->card[i].c = v->card[i].q.c = &v->m->card[i];
    }
    ub_stop(u);
    qmp_ok(v->m->qts, "cont", NULL);
    a = &v->card[0];
    b = &v->card[1];
    g_assert_true(t_drain(&a->q));
    for (i = 0; i < TIMES; i++) {
        g_assert_cmphex(t_notify(b->c, i), ==, 1);
    }
    for (i = 0; i < 4 * COUNT; i += 1 << 20) {
        g_assert_true(t_hbm_is_fill(b->c, DST + i, 0x10 + TIMES, 1 << 20));
    }
    /* And all goes on as before: indices, tokens. */
    if (direct) {
        w = ub_write_notify(a, b, DST, SRC, 64, 0, 1);
        push_direct(a, &w);
        t_ring(&a->q);
        g_assert_true(t_drain(&a->q));
        g_assert_cmpuint(ub_query(a).ci, ==, 2 * (TIMES + 1));
    } else {
        w = ub_rw(a, b, A350_UB_READ, DST, SRC, 64);
        ub_post(a, &w);
        ub_ring_ok(a);
        g_assert_cmpuint(ub_query(a).ci, ==, a->pi);
    }
    ub_stop(v);
}

static void test_migration(void)
{
    migration(false, 0);
}

static void test_migration_direct(void)
{
    unsigned i;

    for (i = 0; i < 4; i++) {
        migration(true, i);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/atlas350/ub-life/injected-errors", test_injected_errors);
    qtest_add_func("/atlas350/ub-life/target-reset", test_target_reset);
    qtest_add_func("/atlas350/ub-life/initiator-reset", test_initiator_reset);
    qtest_add_func("/atlas350/ub-life/unregister-in-flight",
                   test_unregister_in_flight);
    /*
     * Memory that changes while it is sent is a race by design; telling TSan to
     * overlook millions of them takes hours.
     */
    if (!g_getenv("TSAN_OPTIONS")) {
        qtest_add_func("/atlas350/ub-life/migration", test_migration);
        qtest_add_func("/atlas350/ub-life/migration-direct",
                       test_migration_direct);
    }
    return g_test_run();
}
