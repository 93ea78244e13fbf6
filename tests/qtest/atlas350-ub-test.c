/*
 * QTest: UB of the Atlas 350 card, rule by rule.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Rules: spec/hw/transport.md §2-§5. Each test has its own machine.
 */
#include "qemu/osdep.h"
#include "atlas350-ub.h"

/* ---- opcodes ---- */

static const uint32_t sizes[] = {
    1, 2, 63, 64, 65, 4096, 65535, 65536, 65537, 1048576 + 3, 5 * 1048576 + 1,
};

static void test_write(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    a350_wqe w;
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(sizes); i++) {
        t_hbm_pattern(a->c, SRC + i, i, sizes[i]);
        ub_guard(b, DST + 3 * i, sizes[i]);
        w = ub_rw(a, b, A350_UB_WRITE, DST + 3 * i, SRC + i, sizes[i]);
        ub_post(a, &w);
        ub_ring_ok(a);
        ub_check_guarded(b, DST + 3 * i, i, sizes[i]);
    }
    ub_stop(u);
}

static void test_read(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    a350_wqe w;
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(sizes); i++) {
        t_hbm_pattern(b->c, SRC + i, i, sizes[i]);
        ub_guard(a, DST + 5 * i, sizes[i]);
        w = ub_rw(a, b, A350_UB_READ, SRC + i, DST + 5 * i, sizes[i]);
        ub_post(a, &w);
        ub_ring_ok(a);
        ub_check_guarded(a, DST + 5 * i, i, sizes[i]);
    }
    ub_stop(u);
}

static void test_write_with_notify(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    a350_wqe w;
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(sizes); i++) {
        t_hbm_pattern(a->c, SRC, i, sizes[i]);
        ub_guard(b, DST, sizes[i]);
        w = ub_write_notify(a, b, DST, SRC, sizes[i], i, 1);
        ub_post(a, &w);
        ub_ring_ok(a);
        ub_check_guarded(b, DST, i, sizes[i]);
        g_assert_cmphex(t_notify(b->c, i), ==, 1);
        g_assert_cmphex(t_notify(b->c, i + 1), ==, 0);
    }
    ub_stop(u);
}

/* A zero-length write with notify moves nothing but notifies. */
static void test_zero_length(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    a350_wqe w;

    ub_guard(b, DST, 64);
    w = ub_rw(a, b, A350_UB_WRITE, DST, SRC, 0);
    g_assert_cmpuint(w.w[2] >> A350_WQE_SGE_NUM_SHIFT, ==, 0);
    ub_post(a, &w);
    w = ub_rw(a, b, A350_UB_READ, DST, SRC, 0);
    ub_post(a, &w);
    w = ub_write_notify(a, b, DST, SRC, 0, 5, 1);
    ub_post(a, &w);
    ub_ring_ok(a);
    g_assert_true(t_hbm_is_fill(b->c, DST, 0xa5, 64));
    g_assert_cmphex(t_notify(b->c, 5), ==, 1);
    ub_stop(u);
}

static void test_nop(void)
{
    Ub *u = ub_start(1);
    UbCard *a = &u->card[0];
    a350_wqe w = ub_nop();
    uint32_t ci;

    ub_post(a, &w);
    ub_post(a, &w);
    ub_ring_ok(a);
    g_assert_cmpuint(ub_query(a).ci, ==, 2);
    g_assert_cmpuint(ub_query(a).pi, ==, 2);
    t_hbm_read(a->c, CI, &ci, sizeof(ci));
    g_assert_cmpuint(ci, ==, 2);
    ub_stop(u);
}

static void test_inline(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    uint8_t got[32];
    a350_wqe w;
    uint32_t n;

    for (n = 1; n <= 16; n++) {
        ub_guard(b, DST, n);
        a350_wqe_inline4(&w, A350_WQE_CQE, &b->rmt, b->c->dev + DST, 0, 0);
        w.w[1] = (A350_UB_WRITE << A350_WQE_OPCODE_SHIFT) |
                 (n << A350_WQE_INLINE_LEN_SHIFT);
        memcpy(&w.w[12], "0123456789abcdef", 16);
        ub_post(a, &w);
        ub_ring_ok(a);
        t_hbm_read(b->c, DST, got, sizeof(got));
        g_assert_cmpmem(got, n, "0123456789abcdef", n);
        g_assert_cmphex(got[n], ==, 0xa5);
    }
    ub_stop(u);
}

/* NotifyRecord: an inline write of 4 bytes, 1, to the peer's register. */
static void test_inline_notify(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    a350_ub_remote rmt = b->rmt;
    a350_wqe w;
    a350_sqe s;

    rmt.token_id = b->notify_token;
    a350_wqe_inline4(&w, A350_WQE_CQE | A350_WQE_FENCE, &rmt,
                     a350_notify_addr(b->c->dev, 17), 0, 1);
    ub_post(a, &w);
    ub_ring_ok(a);
    g_assert_cmphex(t_notify(b->c, 17), ==, 1);
    /* A waiting queue takes it. */
    a350_sqe_notify_wait(&s, 0, 17, 0);
    t_push_ring(&b->q, &s);
    g_assert_true(t_drain(&b->q));
    g_assert_cmphex(t_notify(b->c, 17), ==, 0);
    t_push_ring(&b->q, &s);
    g_assert_true(t_stays(&b->q, 1));
    ub_post(a, &w);
    ub_ring_ok(a);
    g_assert_true(t_drain(&b->q));
    ub_stop(u);
}

/* Drain: an 8-byte read of a remote constant into an own notify register. */
static void test_read_into_notify(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    uint64_t one = 1;
    a350_wqe w;

    t_hbm_write(b->c, SRC, &one, sizeof(one));
    a350_wqe_rw(&w, A350_UB_READ, A350_WQE_CQE | A350_WQE_FENCE, &b->rmt,
                b->c->dev + SRC, 0, a350_notify_addr(a->c->dev, 3), 8,
                a->notify_token);
    ub_post(a, &w);
    ub_ring_ok(a);
    g_assert_cmphex(t_notify(a->c, 3), ==, 1);
    ub_stop(u);
}

/* A card may address itself. */
static void test_loopback(void)
{
    Ub *u = ub_start(1);
    UbCard *a = &u->card[0];
    a350_wqe w;

    t_hbm_pattern(a->c, SRC, 7, 300000);
    ub_guard(a, DST, 300000);
    w = ub_write_notify(a, a, DST, SRC, 300000, 2, 1);
    ub_post(a, &w);
    ub_ring_ok(a);
    ub_check_guarded(a, DST, 7, 300000);
    g_assert_cmphex(t_notify(a->c, 2), ==, 1);
    ub_stop(u);
}

/* Segments in host memory, on either side. */
static void test_host_memory(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    g_autofree uint8_t *buf = g_malloc(200000), *got = g_malloc(200000);
    uint32_t local, remote;
    a350_ub_remote rmt = b->rmt;
    a350_wqe w;
    unsigned i;

    local = ub_segment(a->c, T_RAM, 0x100000, ALL, 1);
    remote = ub_segment(b->c, T_RAM + 0x100000, 0x100000, ALL, 99);
    rmt.token_id = remote;
    rmt.token_value = 99;
    for (i = 0; i < 200000; i++) {
        buf[i] = i * 31 + (i >> 8);
    }
    qtest_bufwrite(u->m->qts, T_RAM, buf, 200000);
    a350_wqe_rw(&w, A350_UB_WRITE, A350_WQE_CQE, &rmt, T_RAM + 0x100000, 0,
                T_RAM, 200000, local);
    ub_post(a, &w);
    ub_ring_ok(a);
    qtest_bufread(u->m->qts, T_RAM + 0x100000, got, 200000);
    g_assert_cmpmem(got, 200000, buf, 200000);
    ub_stop(u);
}

/* ---- rings ---- */

static void set_remote(a350_wqe *w, uint64_t addr)
{
    w->w[10] = addr;
    w->w[11] = addr >> 32;
}

/* A two-block entry at the last slot goes on at slot 0. */
static void test_wrap_in_wqe(void)
{
    Ub *u = ub_start_full(2, 16, 0);
    UbCard *a = &u->card[0], *b = &u->card[1];
    a350_wqe n = ub_nop(), w;
    unsigned lap, i;

    for (i = 0; i < 15; i++) {
        ub_post(a, &n);
    }
    ub_ring_ok(a);
    for (lap = 0; lap < 3; lap++) {
        g_assert_cmpuint(a->pi % 16, ==, 15);
        t_hbm_pattern(a->c, SRC, lap, 1000);
        ub_guard(b, DST, 1000);
        w = ub_write_notify(a, b, DST, SRC, 1000, lap, 1);
        ub_post(a, &w);
        for (i = 0; i < 14; i++) {
            ub_post(a, &n);
        }
        ub_ring_ok(a);
        ub_check_guarded(b, DST, lap, 1000);
        g_assert_cmphex(t_notify(b->c, lap), ==, 1);
    }
    ub_stop(u);
}

/* The ring full to the last block, and the 16-bit index through its wrap. */
static void test_index_wrap(void)
{
    Ub *u = ub_start_full(1, A350_JETTY_DEPTH_MAX, 0);
    UbCard *a = &u->card[0];
    g_autofree uint8_t *ring = g_malloc0(A350_JETTY_DEPTH_MAX * 64);
    a350_wqe w = ub_nop();
    uint32_t i;

    for (i = 0; i < A350_JETTY_DEPTH_MAX; i++) {
        memcpy(ring + i * 64, &w, 64);
    }
    t_hbm_write(a->c, WQ, ring, A350_JETTY_DEPTH_MAX * 64);
    for (i = 1; i <= 5; i++) {
        a->pi += A350_JETTY_DEPTH_MAX;
        ub_ring_ok(a);
        g_assert_cmpuint(ub_query(a).ci, ==, a->pi);
    }
    ub_stop(u);
}

/* An index that is reached already, or passed, completes at once. */
static void test_doorbell_behind(void)
{
    Ub *u = ub_start(1);
    UbCard *a = &u->card[0];
    a350_wqe w = ub_nop();

    ub_ring_at(a, 0);
    g_assert_true(t_drain(&a->q));
    ub_post(a, &w);
    ub_post(a, &w);
    ub_post(a, &w);
    ub_ring_ok(a);
    ub_ring_at(a, 3);
    ub_ring_at(a, 2);
    ub_ring_at(a, 0);
    g_assert_true(t_drain(&a->q));
    g_assert_cmpuint(ub_query(a).ci, ==, 3);
    ub_stop(u);
}

/* An index beyond the ring is an error of the task; the jetty lives. */
static void test_doorbell_too_far(void)
{
    Ub *u = ub_start_full(1, 16, 0);
    UbCard *a = &u->card[0];
    a350_cqe e;

    ub_ring_at(a, 17);
    g_assert_true(t_wait_stop(&a->q));
    g_assert_true(t_cqe(&a->q, &e));
    g_assert_true(e.h0 & A350_CQE_ERROR);
    g_assert_cmpuint(ub_query(a).state, ==, A350_JETTY_READY);
    g_assert_cmpuint(ub_query(a).pi, ==, 0);
    ub_stop(u);
}

static void test_no_such_jetty(void)
{
    Ub *u = ub_start(1);
    UbCard *a = &u->card[0];
    a350_cqe e;

    a->jetty = 4242;
    ub_ring_at(a, 1);
    g_assert_true(t_wait_stop(&a->q));
    g_assert_true(t_cqe(&a->q, &e));
    g_assert_true(e.h0 & A350_CQE_ERROR);
    ub_stop(u);
}

/* The producer index inside a two-block entry. */
static void test_half_entry(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0];
    a350_wqe w = ub_write_notify(a, &u->card[1], DST, SRC, 8, 0, 1);

    ub_post(a, &w);
    a->pi--;
    ub_ring_fails(a, A350_UB_ERR_LOCAL, A350_UB_SUB_LOCAL_LENGTH);
    g_assert_cmphex(t_notify(u->card[1].c, 0), ==, 0);
    ub_stop(u);
}

/*
 * placeOdr, compOrder, fence, se, cqe and owner in all combinations, with a
 * targetHint and a tpn: requests take effect in order, and each completes.
 */
static void test_order_bits(void)
{
    enum { N = 256 };
    Ub *u = ub_start_full(2, 512, 0);
    UbCard *a = &u->card[0], *b = &u->card[1];
    uint32_t i, v;
    a350_wqe w;

    for (i = 0; i < N; i++) {
        /* to where the one before has written, and each to its own */
        t_hbm_write(a->c, SRC + 8 * i, &i, 4);
        w = ub_rw(a, b, A350_UB_WRITE, DST, SRC + 8 * i, 4);
        w.w[0] &= A350_WQE_TOKEN_EN | A350_WQE_RMT_JETTY;
        w.w[0] |= (i & 3) << A350_WQE_ODR_SHIFT |
                  (i & 4 ? A350_WQE_COMP_ORDER : 0) |
                  (i & 8 ? A350_WQE_FENCE : 0) | (i & 16 ? A350_WQE_SE : 0) |
                  (i & 32 ? A350_WQE_CQE : 0) | (i & 64 ? A350_WQE_OWNER : 0);
        w.w[1] |= i;
        w.w[2] |= 0x123456;
        if (i & 128) {
            set_remote(&w, b->c->dev + DST + 8 * i);
        }
        ub_post(a, &w);
        if (i == 127) {
            ub_ring_ok(a);
            t_hbm_read(b->c, DST, &v, 4);
            g_assert_cmpuint(v, ==, i);
        }
    }
    ub_ring_ok(a);
    g_assert_cmpuint(ub_query(a).ci, ==, N);
    for (i = 128; i < N; i++) {
        t_hbm_read(b->c, DST + 8 * i, &v, 4);
        g_assert_cmpuint(v, ==, i);
    }
    ub_stop(u);
}

/* The longest message, 256 MiB: allowed, and whole. */
static void test_longest_message(void)
{
    Ub *u = g_new0(Ub, 1);
    UbCard *a = &u->card[0];
    uint64_t from = 0x10000000, to = 0x20000000;
    a350_wqe w;

    u->m = t_start(1, ",hbm-size=1G", "");
    ub_card(u, 0, 64, 0);
    a->rmt.token_id = a->data_token =
        ub_segment(a->c, a->c->dev, 0x40000000, ALL, VALUE);
    t_hbm_fill(a->c, to + A350_UB_MAX_MSG, 0xa5, 64);
    t_hbm_pattern(a->c, from, 1, 4096);
    t_hbm_pattern(a->c, from + A350_UB_MAX_MSG - 4096, 2, 4096);
    w = ub_rw(a, a, A350_UB_WRITE, to, from, A350_UB_MAX_MSG);
    ub_post(a, &w);
    ub_ring_ok(a);
    g_assert_true(t_hbm_is_pattern(a->c, to, 1, 4096));
    g_assert_true(t_hbm_is_pattern(a->c, to + A350_UB_MAX_MSG - 4096, 2,
                                   4096));
    g_assert_true(t_hbm_is_fill(a->c, to + A350_UB_MAX_MSG, 0xa5, 64));
    ub_stop(u);
}

/* Two queues ring one jetty, in either order. */
static void test_two_queues(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    TQueue q2 = t_queue(a->c, 0x200000, 65, true, 0);
    a350_sqe s;
    a350_wqe w;
    unsigned i;

    for (i = 0; i < 20; i++) {
        t_hbm_pattern(a->c, SRC, i, 300000);
        ub_guard(b, DST, 300000);
        w = ub_rw(a, b, A350_UB_WRITE, DST, SRC, 300000);
        ub_post(a, &w);
        w = ub_write_notify(a, b, DST, SRC, 300000, 1, 1);
        ub_post(a, &w);
        a350_sqe_ubdma_db(&s, i, a->jetty, a->pi - (i % 2 ? 2 : 0));
        t_push_ring(&q2, &s);
        ub_ring_at(a, a->pi - (i % 2 ? 0 : 2));
        g_assert_true(t_drain(&q2));
        g_assert_true(t_drain(&a->q));
        ub_check_guarded(b, DST, i, 300000);
    }
    ub_stop(u);
}

/* ---- refusals ---- */

typedef struct Refusal {
    const char *name;
    void (*spoil)(a350_wqe *w, UbCard *a, UbCard *b);
    uint8_t status, sub;
} Refusal;

static void set_opcode(a350_wqe *w, uint32_t opcode)
{
    w->w[1] = (w->w[1] & ~0xff00u) | (opcode << A350_WQE_OPCODE_SHIFT);
}

static void set_local(a350_wqe *w, uint64_t addr)
{
    w->w[14] = addr;
    w->w[15] = addr >> 32;
}

static void spoil_send(a350_wqe *w, UbCard *a, UbCard *b)
{
    set_opcode(w, 0);
}

static void spoil_cas(a350_wqe *w, UbCard *a, UbCard *b)
{
    set_opcode(w, 7);
}

static void spoil_first_invalid(a350_wqe *w, UbCard *a, UbCard *b)
{
    set_opcode(w, 0x12);
}

static void spoil_udf_type(a350_wqe *w, UbCard *a, UbCard *b)
{
    a350_wqe_set_reduce(w, A350_UB_ADD, A350_UB_INT8);
    w->w[9] |= 1;
}

static void spoil_reduce_type(a350_wqe *w, UbCard *a, UbCard *b)
{
    a350_wqe_set_reduce(w, A350_UB_ADD, 10);
}

static void spoil_reduce_op_low(a350_wqe *w, UbCard *a, UbCard *b)
{
    a350_wqe_set_reduce(w, 7, A350_UB_INT8);
}

static void spoil_reduce_equal(a350_wqe *w, UbCard *a, UbCard *b)
{
    a350_wqe_set_reduce(w, A350_UB_EQUAL, A350_UB_INT8);
}

static void spoil_inline_read(a350_wqe *w, UbCard *a, UbCard *b)
{
    set_opcode(w, A350_UB_READ);
    w->w[0] |= A350_WQE_INLINE;
    w->w[1] |= 4u << A350_WQE_INLINE_LEN_SHIFT;
}

static void spoil_inline_len(a350_wqe *w, UbCard *a, UbCard *b)
{
    w->w[0] |= A350_WQE_INLINE;
    w->w[1] |= 17u << A350_WQE_INLINE_LEN_SHIFT;
}

static void spoil_too_long(a350_wqe *w, UbCard *a, UbCard *b)
{
    w->w[12] = A350_UB_MAX_MSG + 1;
}

static void spoil_two_sges(a350_wqe *w, UbCard *a, UbCard *b)
{
    w->w[2] += 1u << A350_WQE_SGE_NUM_SHIFT;
}

static void spoil_part_element(a350_wqe *w, UbCard *a, UbCard *b)
{
    a350_wqe_set_reduce(w, A350_UB_ADD, A350_UB_FP32);
    w->w[12] = 4095;
}

static void spoil_local_token(a350_wqe *w, UbCard *a, UbCard *b)
{
    w->w[13] ^= 0x400;
}

static void spoil_local_before(a350_wqe *w, UbCard *a, UbCard *b)
{
    set_local(w, a->c->dev + DATA - 1);
}

static void spoil_local_after(a350_wqe *w, UbCard *a, UbCard *b)
{
    set_local(w, a->c->dev + DATA + DATA_LEN - 4095);
}

static void spoil_local_wrap(a350_wqe *w, UbCard *a, UbCard *b)
{
    set_local(w, -16ull);
}

static void spoil_token_disabled(a350_wqe *w, UbCard *a, UbCard *b)
{
    w->w[0] &= ~A350_WQE_TOKEN_EN;
}

static void spoil_remote_token(a350_wqe *w, UbCard *a, UbCard *b)
{
    w->w[3] ^= 0x400;
}

static void spoil_remote_generation(a350_wqe *w, UbCard *a, UbCard *b)
{
    w->w[3] += 0x10000;
}

static void spoil_token_value(a350_wqe *w, UbCard *a, UbCard *b)
{
    w->w[8] ^= 1;
}

static void spoil_remote_before(a350_wqe *w, UbCard *a, UbCard *b)
{
    set_remote(w, b->c->dev + DATA - 1);
}

static void spoil_remote_after(a350_wqe *w, UbCard *a, UbCard *b)
{
    set_remote(w, b->c->dev + DATA + DATA_LEN - 4095);
}

static void spoil_remote_wrap(a350_wqe *w, UbCard *a, UbCard *b)
{
    set_remote(w, -16ull);
}

static void spoil_other_card(a350_wqe *w, UbCard *a, UbCard *b)
{
    /* The right card and token, but an address of the initiator. */
    set_remote(w, a->c->dev + DST);
}

static void spoil_eid_card(a350_wqe *w, UbCard *a, UbCard *b)
{
    w->w[4] ^= 0x40;             /* last bytes of the address: card 65 */
}

static void spoil_eid_form(a350_wqe *w, UbCard *a, UbCard *b)
{
    w->w[7] = 0x12345678;
}

static void spoil_register_len(a350_wqe *w, UbCard *a, UbCard *b)
{
    w->w[3] = b->notify_token;
    set_remote(w, a350_notify_addr(b->c->dev, 0));
    w->w[12] = 16;
}

static void spoil_register_reduce(a350_wqe *w, UbCard *a, UbCard *b)
{
    spoil_register_len(w, a, b);
    a350_wqe_set_reduce(w, A350_UB_ADD, A350_UB_INT32);
    w->w[12] = 4;
}

static const Refusal refusals[] = {
    { "send", spoil_send, 1, 0 },
    { "compare-and-swap", spoil_cas, 1, 0 },
    { "first-invalid-opcode", spoil_first_invalid, 1, 0 },
    { "udf-type", spoil_udf_type, 1, 0 },
    { "reduce-type", spoil_reduce_type, 1, 0 },
    { "reduce-op", spoil_reduce_op_low, 1, 0 },
    { "reduce-equal", spoil_reduce_equal, 1, 0 },
    { "inline-read", spoil_inline_read, 1, 0 },
    { "inline-length", spoil_inline_len, 2, 1 },
    { "message-length", spoil_too_long, 2, 1 },
    { "two-sges", spoil_two_sges, 2, 1 },
    { "part-of-element", spoil_part_element, 2, 1 },
    { "local-token", spoil_local_token, 2, 2 },
    { "local-before-segment", spoil_local_before, 2, 2 },
    { "local-after-segment", spoil_local_after, 2, 2 },
    { "local-wraps", spoil_local_wrap, 2, 2 },
    { "token-disabled", spoil_token_disabled, 3, 2 },
    { "remote-token", spoil_remote_token, 3, 2 },
    { "remote-token-generation", spoil_remote_generation, 3, 2 },
    { "token-value", spoil_token_value, 3, 2 },
    { "remote-before-segment", spoil_remote_before, 3, 2 },
    { "remote-after-segment", spoil_remote_after, 3, 2 },
    { "remote-wraps", spoil_remote_wrap, 3, 2 },
    { "address-of-other-card", spoil_other_card, 3, 2 },
    { "eid-of-no-card", spoil_eid_card, 5, 0 },
    { "eid-malformed", spoil_eid_form, 5, 0 },
    { "register-16-bytes", spoil_register_len, 3, 1 },
    { "register-reduce", spoil_register_reduce, 3, 1 },
};

static void test_refusals(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    unsigned i;
    a350_wqe w;

    t_hbm_fill(a->c, SRC, 0x11, 4096);
    for (i = 0; i < G_N_ELEMENTS(refusals); i++) {
        const Refusal *r = &refusals[i];

        g_test_message("%s", r->name);
        ub_guard(b, DST, 4096);
        w = ub_rw(a, b, A350_UB_WRITE, DST, SRC, 4096);
        r->spoil(&w, a, b);
        ub_post(a, &w);
        ub_ring_fails(a, r->status, r->sub);
        g_assert_true(t_hbm_is_fill(b->c, DST, 0xa5, 4096));
        g_assert_cmpuint(ub_query(a).status, ==, r->status);
        g_assert_cmpuint(ub_query(a).sub_status, ==, r->sub);
        g_assert_cmpuint(ub_query(a).state, ==, r->status >= 4 ?
                         A350_JETTY_ERROR : A350_JETTY_SUSPEND);
        ub_recover(a);
        w = ub_rw(a, b, A350_UB_WRITE, DST, SRC, 4096);
        ub_post(a, &w);
        ub_ring_ok(a);
        g_assert_true(t_hbm_is_fill(b->c, DST, 0x11, 4096));
    }
    ub_stop(u);
}

/* Of the 256 opcodes four are there; the others are refused as such. */
static void test_opcodes(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    unsigned i;
    a350_wqe w;

    for (i = 0; i < 256; i++) {
        ub_guard(b, DST, 64);
        w = ub_rw(a, b, A350_UB_WRITE, DST, SRC, 64);
        if (i == 5) {
            w = ub_write_notify(a, b, DST, SRC, 64, 1, 1);
        }
        set_opcode(&w, i);
        ub_post(a, &w);
        if (i == 3 || i == 5 || i == 6 || i == 0x11) {
            ub_ring_ok(a);
            continue;
        }
        ub_ring_fails(a, A350_UB_ERR_OPCODE, 0);
        g_assert_true(t_hbm_is_fill(b->c, DST, 0xa5, 64));
        ub_recover(a);
    }
    ub_stop(u);
}

/*
 * All pairs that word 9 can name: MAX 8, MIN 9, ADD 0xa on types 0 to 9 and
 * no other; of length 0 too.
 */
static void test_reduce_matrix(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    unsigned op, type, len;
    a350_wqe w;

    for (op = 0; op < 16; op++) {
        for (type = 0; type < 16; type++) {
            bool legal = op >= 8 && op <= 0xa && type <= 9;

            for (len = 0; len <= 64; len += 64) {
                ub_guard(b, DST, 64);
                w = ub_rw(a, b, A350_UB_WRITE, DST, SRC, len);
                a350_wqe_set_reduce(&w, op, type);
                ub_post(a, &w);
                if (legal) {
                    ub_ring_ok(a);
                    continue;
                }
                ub_ring_fails(a, A350_UB_ERR_OPCODE, 0);
                g_assert_true(t_hbm_is_fill(b->c, DST, 0xa5, 64));
                ub_recover(a);
            }
        }
    }
    ub_stop(u);
}

/* A refused notification leaves the payload unwritten as well. */
static void test_notify_refusals(void)
{
    static const struct { unsigned word; uint32_t flip; uint8_t sub; } c[] = {
        { 12, 0x400, 2 },        /* token id */
        { 13, 1, 2 },            /* token value */
        { 14, 0x100000, 2 },     /* outside of the segment */
        { 14, 4, 1 },            /* not on an 8-byte step */
    };
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    unsigned i;
    a350_wqe w;

    t_hbm_fill(a->c, SRC, 0x22, 4096);
    for (i = 0; i < G_N_ELEMENTS(c); i++) {
        ub_guard(b, DST, 4096);
        w = ub_write_notify(a, b, DST, SRC, 4096, 9, 1);
        w.w[c[i].word] ^= c[i].flip;
        ub_post(a, &w);
        ub_ring_fails(a, A350_UB_ERR_REMOTE, c[i].sub);
        g_assert_true(t_hbm_is_fill(b->c, DST, 0xa5, 4096));
        g_assert_cmphex(t_notify(b->c, 9), ==, 0);
        ub_recover(a);
    }
    ub_stop(u);
}

static void test_access_rights(void)
{
    static const struct {
        uint32_t access, opcode;
        bool reduce, ok;
    } c[] = {
        { A350_SEG_READ, A350_UB_WRITE, false, false },
        { A350_SEG_READ, A350_UB_READ, false, true },
        { A350_SEG_WRITE, A350_UB_WRITE, false, true },
        { A350_SEG_WRITE, A350_UB_READ, false, false },
        { A350_SEG_READ | A350_SEG_WRITE, A350_UB_WRITE, true, false },
        { A350_SEG_READ | A350_SEG_WRITE, A350_UB_READ, true, true },
        { ALL, A350_UB_WRITE, true, true },
        { ALL | A350_SEG_LOCAL_ONLY, A350_UB_WRITE, false, false },
        { ALL | A350_SEG_LOCAL_ONLY, A350_UB_READ, false, false },
        { 0, A350_UB_READ, false, false },
    };
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    unsigned i;
    a350_wqe w;

    for (i = 0; i < G_N_ELEMENTS(c); i++) {
        w = ub_rw(a, b, c[i].opcode, DST, SRC, 64);
        w.w[3] = ub_segment(b->c, b->c->dev + DST, 64, c[i].access,
                              b->rmt.token_value);
        if (c[i].reduce) {
            a350_wqe_set_reduce(&w, A350_UB_ADD, A350_UB_INT32);
        }
        ub_post(a, &w);
        if (c[i].ok) {
            ub_ring_ok(a);
        } else {
            ub_ring_fails(a, A350_UB_ERR_REMOTE, A350_UB_SUB_REMOTE_ABORT);
            ub_recover(a);
        }
        t_admin_id(b->c, A350_ADM_SEG_UNREGISTER, w.w[3]);
    }
    ub_stop(u);
}

/* The token of a segment that is gone does not open its successors. */
static void test_stale_token(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    uint32_t old, i;
    a350_wqe w;

    old = ub_segment(b->c, b->c->dev + DST, 4096, ALL, VALUE + 1);
    t_admin_id(b->c, A350_ADM_SEG_UNREGISTER, old);
    for (i = 0; i < 8; i++) {
        g_assert_cmphex(ub_segment(b->c, b->c->dev + DST, 4096, ALL,
                                     VALUE + 1), !=, old);
    }
    w = ub_rw(a, b, A350_UB_WRITE, DST, SRC, 64);
    w.w[3] = old;
    ub_post(a, &w);
    ub_ring_fails(a, A350_UB_ERR_REMOTE, A350_UB_SUB_REMOTE_ABORT);
    ub_stop(u);
}

/*
 * A page of the notify table is registered alone: it opens its 16 notifies and
 * none of the pages beside.
 */
static void test_notify_page(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    a350_ub_remote rmt = b->rmt;
    uint32_t id;
    a350_wqe w;

    rmt.token_id = ub_segment(b->c, b->c->dev + A350_DEV_REG_OFFSET +
                              A350_REG_NOTIFY + 0x1000, 0x1000, ALL,
                              rmt.token_value);
    for (id = 15; id <= 32; id++) {
        a350_wqe_inline4(&w, A350_WQE_CQE, &rmt,
                         a350_notify_addr(b->c->dev, id), 0, 1);
        ub_post(a, &w);
        if (id >= 16 && id < 32) {
            ub_ring_ok(a);
            g_assert_cmpuint(t_notify(b->c, id), ==, 1);
        } else {
            ub_ring_fails(a, A350_UB_ERR_REMOTE, A350_UB_SUB_REMOTE_ABORT);
            g_assert_cmpuint(t_notify(b->c, id), ==, 0);
            ub_recover(a);
        }
    }
    /* what lies in the page behind the 16 is no register */
    a350_wqe_inline4(&w, A350_WQE_CQE, &rmt, a350_notify_addr(b->c->dev, 31) +
                     8, 0, 1);
    ub_post(a, &w);
    ub_ring_fails(a, A350_UB_ERR_REMOTE, A350_UB_SUB_REMOTE_UNSUP);
    ub_stop(u);
}

/* First and last byte of a segment are inside. */
static void test_segment_edges(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    a350_wqe w;

    t_hbm_pattern(a->c, SRC, 1, 100);
    w = ub_rw(a, b, A350_UB_WRITE, DATA, SRC, 100);
    ub_post(a, &w);
    w = ub_rw(a, b, A350_UB_WRITE, DATA + DATA_LEN - 100, SRC, 100);
    ub_post(a, &w);
    ub_ring_ok(a);
    g_assert_true(t_hbm_is_pattern(b->c, DATA, 1, 100));
    g_assert_true(t_hbm_is_pattern(b->c, DATA + DATA_LEN - 100, 1, 100));
    ub_stop(u);
}

/* ---- after an error ---- */

static void post_three(UbCard *a, UbCard *b)
{
    a350_wqe w;
    unsigned i;

    for (i = 0; i < 3; i++) {
        t_hbm_pattern(a->c, SRC + i * 4096, i, 4096);
        ub_guard(b, DST + i * 8192, 4096);
        w = ub_rw(a, b, A350_UB_WRITE, DST + i * 8192, SRC + i * 4096, 4096);
        if (i == 1) {
            w.w[8] ^= 1;
        }
        ub_post(a, &w);
    }
}

/* What follows a failed request completes with status 6 and does nothing. */
static void test_flush(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    a350_wqe w;

    post_three(a, b);
    ub_ring_fails(a, A350_UB_ERR_REMOTE, A350_UB_SUB_REMOTE_ABORT);
    ub_check_guarded(b, DST, 0, 4096);
    g_assert_true(t_hbm_is_fill(b->c, DST + 8192, 0xa5, 4096));
    g_assert_true(t_hbm_is_fill(b->c, DST + 16384, 0xa5, 4096));
    g_assert_cmpuint(ub_query(a).ci, ==, 3);

    t_admin_id(a->c, A350_ADM_SQ_RESET, a->q.id);
    t_wr32(a->c, A350_REG_RTSQ + a->q.id * A350_SQ_PAGE_SIZE + A350_SQ_STATUS,
           A350_SQ_STATUS_ENABLE);
    a->q.tail = 0;
    w = ub_rw(a, b, A350_UB_WRITE, DST + 16384, SRC, 4096);
    ub_post(a, &w);
    ub_ring_fails(a, A350_UB_ERR_FLUSHED, 0);
    g_assert_true(t_hbm_is_fill(b->c, DST + 16384, 0xa5, 4096));

    ub_recover(a);
    g_assert_cmpuint(ub_query(a).state, ==, A350_JETTY_READY);
    g_assert_cmpuint(ub_query(a).ci, ==, 0);
    ub_post(a, &w);
    ub_ring_ok(a);
    ub_check_guarded(b, DST + 16384, 0, 4096);
    ub_stop(u);
}

/*
 * Two queues on one jetty, and the one that rings for both comes first: the
 * other's request has failed as well, which it is told when it rings.
 */
static void test_flush_other_queue(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    TQueue q2 = t_queue(a->c, 0x200000, 65, true, 0);
    a350_sqe s;
    a350_wqe w;
    a350_cqe e;

    w = ub_rw(a, b, A350_UB_WRITE, DST, SRC, 64);
    w.w[8] ^= 1;
    ub_post(a, &w);
    w = ub_rw(a, b, A350_UB_WRITE, DST, SRC, 64);
    ub_post(a, &w);
    ub_ring_fails(a, A350_UB_ERR_REMOTE, A350_UB_SUB_REMOTE_ABORT);
    a350_sqe_ubdma_db(&s, 1, a->jetty, 1);
    t_push_ring(&q2, &s);
    g_assert_true(t_wait_stop(&q2));
    g_assert_true(t_cqe(&q2, &e));
    g_assert_cmphex(e.status & 0xff, ==, A350_UB_ERR_FLUSHED);
    g_assert_cmphex(e.ub_status0, ==, A350_UB_ERR_FLUSHED);
    ub_stop(u);
}

/* errorSuspend = 0: the failure is reported, the rest is done. */
static void test_continue(void)
{
    Ub *u = ub_start_full(2, 64, A350_JETTY_F_CONTINUE);
    UbCard *a = &u->card[0], *b = &u->card[1];

    post_three(a, b);
    ub_ring_fails(a, A350_UB_ERR_REMOTE, A350_UB_SUB_REMOTE_ABORT);
    g_assert_true(T_WAIT(ub_query(a).ci == 3));
    g_assert_cmpuint(ub_query(a).state, ==, A350_JETTY_READY);
    ub_check_guarded(b, DST, 0, 4096);
    g_assert_true(t_hbm_is_fill(b->c, DST + 8192, 0xa5, 4096));
    ub_check_guarded(b, DST + 16384, 2, 4096);
    ub_stop(u);
}

/* A jetty that is reset or destroyed gives its waiting tasks status 6. */
static void test_reset_in_flight(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    a350_wqe w = ub_rw(a, b, A350_UB_WRITE, DST, SRC, 64 << 20);
    unsigned i, k;
    a350_cqe e;

    for (k = 0; k < 6; k++) {
        for (i = 0; i < 60; i++) {
            ub_post(a, &w);
        }
        ub_ring_at(a, a->pi);
        /* The queue has rung the jetty: else the command may come first. */
        g_assert_true(T_WAIT(ub_query(a).pi == 60));
        if (k == 5) {
            t_admin_id(a->c, A350_ADM_JETTY_DESTROY, a->jetty);
        } else {
            t_admin_id(a->c, A350_ADM_JETTY_RESET, a->jetty);
            g_assert_cmpuint(ub_query(a).ci, ==, 0);
        }
        g_assert_true(t_wait_stop(&a->q));
        g_assert_true(t_cqe(&a->q, &e));
        g_assert_cmphex(e.status & 0xff, ==, A350_UB_ERR_FLUSHED);
        if (k < 5) {
            ub_recover(a);
        }
    }
    ub_stop(u);
}

/* ---- reductions ---- */

typedef struct ReduceCase {
    uint32_t type, op, size;
    uint32_t dst, src, want;
} ReduceCase;

/* Worked out by hand; the arithmetic itself has a test of its own. */
static const ReduceCase reduce_cases[] = {
    { A350_UB_INT8, A350_UB_ADD, 1, 0x7f, 0x01, 0x80 },
    { A350_UB_INT8, A350_UB_MAX, 1, 0x80, 0x7f, 0x7f },
    { A350_UB_INT16, A350_UB_MIN, 2, 0x8000, 0x0001, 0x8000 },
    { A350_UB_INT32, A350_UB_ADD, 4, 0xffffffff, 2, 1 },
    { A350_UB_UINT8, A350_UB_MAX, 1, 0x80, 0x7f, 0x80 },
    { A350_UB_UINT16, A350_UB_MIN, 2, 0x8000, 0x0001, 0x0001 },
    { A350_UB_UINT32, A350_UB_MAX, 4, 0x80000000, 1, 0x80000000 },
    { A350_UB_FP16, A350_UB_ADD, 2, 0x3c00, 0x4000, 0x4200 },
    { A350_UB_FP32, A350_UB_ADD, 4, 0x3fc00000, 0x40100000, 0x40700000 },
    { A350_UB_FP32, A350_UB_MAX, 4, 0xbf800000, 0xc0000000, 0xbf800000 },
    { A350_UB_BF16, A350_UB_ADD, 2, 0x7f7f, 0x7f7f, 0x7f80 },
    { A350_UB_BF16_SAT, A350_UB_ADD, 2, 0x7f7f, 0x7f7f, 0x7f7f },
};

static void fill_elements(UbCard *k, uint64_t off, uint32_t v, uint32_t size,
                          uint32_t count)
{
    g_autofree uint8_t *buf = g_malloc(size * count);
    uint32_t i;

    for (i = 0; i < count; i++) {
        memcpy(buf + i * size, &v, size);
    }
    t_hbm_write(k->c, off, buf, size * count);
}

static void check_elements(UbCard *k, uint64_t off, const ReduceCase *r,
                           uint32_t count)
{
    g_autofree uint8_t *buf = g_malloc(r->size * count);
    uint32_t i;

    t_hbm_read(k->c, off, buf, r->size * count);
    for (i = 0; i < count; i++) {
        uint32_t v = 0;

        memcpy(&v, buf + i * r->size, r->size);
        if (v != r->want) {
            g_test_message("type %u op %u element %u", r->type, r->op, i);
        }
        g_assert_cmphex(v, ==, r->want);
    }
}

static void test_reduce(gconstpointer opaque)
{
    bool read = GPOINTER_TO_INT(opaque);
    static const uint32_t counts[] = { 1, 33, 100003 };
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    UbCard *to = read ? a : b, *from = read ? b : a;
    unsigned i, n;
    a350_wqe w;

    for (i = 0; i < G_N_ELEMENTS(reduce_cases); i++) {
        for (n = 0; n < G_N_ELEMENTS(counts); n++) {
            const ReduceCase *r = &reduce_cases[i];
            uint32_t len = r->size * counts[n];

            ub_guard(to, DST + 1, len);
            fill_elements(to, DST + 1, r->dst, r->size, counts[n]);
            fill_elements(from, SRC + 2, r->src, r->size, counts[n]);
            w = read ? ub_rw(a, b, A350_UB_READ, SRC + 2, DST + 1, len) :
                       ub_rw(a, b, A350_UB_WRITE, DST + 1, SRC + 2, len);
            a350_wqe_set_reduce(&w, r->op, r->type);
            ub_post(a, &w);
            ub_ring_ok(a);
            check_elements(to, DST + 1, r, counts[n]);
            g_assert_true(t_hbm_is_fill(to->c, DST + 1 + len, 0xa5, 64));
        }
    }
    ub_stop(u);
}

static void test_reduce_with_notify(void)
{
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    const ReduceCase *r = &reduce_cases[8];
    a350_wqe w = ub_write_notify(a, b, DST, SRC, 4 * 50000, 4, 1);

    a350_wqe_set_reduce(&w, r->op, r->type);
    fill_elements(b, DST, r->dst, 4, 50000);
    fill_elements(a, SRC, r->src, 4, 50000);
    ub_post(a, &w);
    ub_ring_ok(a);
    check_elements(b, DST, r, 50000);
    g_assert_cmphex(t_notify(b->c, 4), ==, 1);
    ub_stop(u);
}

/* Three cards add into one buffer of the fourth; nothing is lost. */
static void test_reduce_concurrent(void)
{
    Ub *u = ub_start(4);
    UbCard *to = &u->card[3];
    ReduceCase want = { A350_UB_INT32, A350_UB_ADD, 4, 0, 0, 3 * 8 };
    uint32_t count = 300000, i, k;
    a350_wqe w;

    fill_elements(to, DST, 0, 4, count);
    for (k = 0; k < 3; k++) {
        fill_elements(&u->card[k], SRC, 1, 4, count);
        w = ub_rw(&u->card[k], to, A350_UB_WRITE, DST, SRC, 4 * count);
        a350_wqe_set_reduce(&w, A350_UB_ADD, A350_UB_INT32);
        for (i = 0; i < 8; i++) {
            ub_post(&u->card[k], &w);
        }
    }
    for (k = 0; k < 3; k++) {
        ub_ring_at(&u->card[k], u->card[k].pi);
    }
    for (k = 0; k < 3; k++) {
        g_assert_true(t_drain(&u->card[k].q));
    }
    check_elements(to, DST, &want, count);
    ub_stop(u);
}

/* ---- several cards ---- */

/*
 * Payload before notify: the receiver waits for each notify, copies the
 * target buffer away and lets the sender go on; other queues keep the movers
 * of both cards busy. Each copy must be complete.
 */
static void test_payload_before_notify(void)
{
    enum { ROUNDS = 24, LEN = 200000 };
    Ub *u = ub_start(2);
    UbCard *a = &u->card[0], *b = &u->card[1];
    TQueue load[2];
    a350_sqe s;
    a350_wqe w;
    unsigned i;

    for (i = 0; i < 2; i++) {
        load[i] = t_queue(&u->m->card[i], 0x200000, 65, false, 0);
    }
    for (i = 0; i < ROUNDS; i++) {
        t_hbm_pattern(a->c, SRC + i * LEN, i, LEN);
        w = ub_write_notify(a, b, DST, SRC + i * LEN, LEN, 0, 1);
        ub_post(a, &w);
        a350_sqe_ubdma_db(&s, 2 * i, a->jetty, a->pi);
        t_push(&a->q, &s);
        a350_sqe_notify_wait(&s, 2 * i + 1, 1, 0);
        t_push(&a->q, &s);

        a350_sqe_notify_wait(&s, 3 * i, 0, 0);
        t_push(&b->q, &s);
        a350_sqe_sdma(&s, 3 * i + 1, A350_SDMA_CPY,
                      b->c->dev + DST + (i + 1) * 0x80000, b->c->dev + DST,
                      LEN);
        t_push(&b->q, &s);
        w = ub_write_notify(b, a, DST, SRC, 0, 1, 1);
        ub_post(b, &w);
        a350_sqe_ubdma_db(&s, 3 * i + 2, b->jetty, b->pi);
        t_push(&b->q, &s);
        if (i % 8 == 7) {
            unsigned n;

            for (n = 0; n < 2; n++) {
                a350_sqe_sdma(&s, i, A350_SDMA_CPY,
                              u->m->card[n].dev + DATA + 0x6000000,
                              u->m->card[n].dev + DATA + 0x5000000, 16 << 20);
                t_push_ring(&load[n], &s);
            }
            t_ring(&b->q);
            t_ring(&a->q);
            g_assert_true(t_drain(&a->q));
            g_assert_true(t_drain(&b->q));
        }
    }
    for (i = 0; i < ROUNDS; i++) {
        g_assert_true(t_hbm_is_pattern(b->c, DST + (i + 1) * 0x80000, i, LEN));
    }
    ub_stop(u);
}

/* Each of four cards writes to each other one, all at once. */
static void test_four_cards(void)
{
    enum { LEN = 150001 };
    Ub *u = ub_start(4);
    unsigned i, k;
    a350_wqe w;

    for (i = 0; i < 4; i++) {
        t_hbm_pattern(&u->m->card[i], SRC, i, LEN);
        for (k = 0; k < 4; k++) {
            ub_guard(&u->card[i], DST + k * 0x100000, LEN);
        }
    }
    for (i = 0; i < 4; i++) {
        for (k = 0; k < 4; k++) {
            w = ub_write_notify(&u->card[i], &u->card[k], DST + i * 0x100000,
                             SRC, LEN, i, 1);
            ub_post(&u->card[i], &w);
        }
        ub_ring_at(&u->card[i], u->card[i].pi);
    }
    for (i = 0; i < 4; i++) {
        g_assert_true(t_drain(&u->card[i].q));
    }
    for (i = 0; i < 4; i++) {
        for (k = 0; k < 4; k++) {
            ub_check_guarded(&u->card[i], DST + k * 0x100000, k, LEN);
            g_assert_cmphex(t_notify(&u->m->card[i], k), ==, 1);
        }
    }
    ub_stop(u);
}

/* ---- direct form ---- */

static void direct(UbCard *k, const a350_wqe *w)
{
    uint32_t blocks = a350_wqe_blocks(w), len;
    uint8_t slots[3 * A350_SQE_SIZE];
    a350_sqe s;

    len = 1 + blocks;
    a350_sqe_init(&s, A350_SQE_UBDMA, k->q.task++, A350_CREDIT_DEFAULT);
    s.w[2] = blocks == 2 ? A350_UBDMA_WQE_128 : 0;
    s.w[3] |= blocks << A350_SQE_LEN_SHIFT;
    s.w[4] = k->jetty;
    memcpy(slots, &s, sizeof(s));
    memcpy(slots + sizeof(s), w, blocks * A350_WQEBB_SIZE);
    t_push_ext(&k->q, slots, len);
}

static void test_direct(void)
{
    Ub *u = ub_start_full(2, 64, A350_JETTY_F_DIRECT);
    UbCard *a = &u->card[0], *b = &u->card[1];
    unsigned i;
    a350_wqe w;
    a350_cqe e;

    /* Enough to go round the queue of 65 slots. */
    for (i = 0; i < 40; i++) {
        uint32_t len = 1 + i * 3001;

        t_hbm_pattern(a->c, SRC, i, len);
        ub_guard(b, DST, len);
        w = i % 2 ? ub_write_notify(a, b, DST, SRC, len, i, 1) :
                    ub_rw(a, b, A350_UB_WRITE, DST, SRC, len);
        direct(a, &w);
        t_ring(&a->q);
        g_assert_true(t_drain(&a->q));
        ub_check_guarded(b, DST, i, len);
        g_assert_cmphex(t_notify(b->c, i), ==, i % 2);
    }
    /* Such a jetty takes no doorbell. */
    ub_ring_at(a, 1);
    g_assert_true(t_wait_stop(&a->q));
    g_assert_true(t_cqe(&a->q, &e));
    g_assert_true(e.h0 & A350_CQE_ERROR);
    ub_stop(u);
}

/* ---- admin ---- */

static uint32_t try_jetty(TCard *c, uint32_t id, uint32_t depth, uint64_t base,
                          uint64_t ci_addr, uint32_t timeout, uint32_t flags)
{
    a350_jetty_create j = {
        .jetty_id = id, .depth = depth, .base = base, .ci_addr = ci_addr,
        .err_timeout = timeout, .flags = flags,
    };

    return t_admin(c, A350_ADM_JETTY_CREATE, &j, sizeof(j), NULL);
}

static void test_jetty_arguments(void)
{
    Ub *u = ub_start(1);
    TCard *c = u->card[0].c;
    uint64_t d = c->dev, base = d + WQ2;

    g_assert_cmpuint(try_jetty(c, 7, 16, base, 0, 0, 0), ==, A350_ADM_OK);
    g_assert_cmpuint(try_jetty(c, 7, 16, base, 0, 0, 0), ==,
                     A350_ADM_E_EXISTS);
    g_assert_cmpuint(try_jetty(c, 65536, 16, base, 0, 0, 0), ==,
                     A350_ADM_E_RANGE);
    g_assert_cmpuint(try_jetty(c, 8, 8, base, 0, 0, 0), ==, A350_ADM_E_RANGE);
    g_assert_cmpuint(try_jetty(c, 8, 24, base, 0, 0, 0), ==, A350_ADM_E_RANGE);
    g_assert_cmpuint(try_jetty(c, 8, 65536, base, 0, 0, 0), ==,
                     A350_ADM_E_RANGE);
    g_assert_cmpuint(try_jetty(c, 8, 16, base + 32, 0, 0, 0), ==,
                     A350_ADM_E_ADDRESS);
    g_assert_cmpuint(try_jetty(c, 8, 16, d + T_HBM_SIZE - 960, 0, 0, 0), ==,
                     A350_ADM_E_ADDRESS);
    g_assert_cmpuint(try_jetty(c, 8, 16, T_RAM, 0, 0, 0), ==,
                     A350_ADM_E_ADDRESS);
    g_assert_cmpuint(try_jetty(c, 8, 16, base, d + 2, 0, 0), ==,
                     A350_ADM_E_ADDRESS);
    g_assert_cmpuint(try_jetty(c, 8, 16, base, 0, 32, 0), ==,
                     A350_ADM_E_RANGE);
    g_assert_cmpuint(try_jetty(c, 8, 16, base, 0, 0, 4), ==, A350_ADM_E_RANGE);
    g_assert_cmpuint(try_jetty(c, 65535, 32768, base, d + CI, 31, 3), ==,
                     A350_ADM_OK);
    t_admin_id(c, A350_ADM_JETTY_DESTROY, 7);
    g_assert_cmpuint(try_jetty(c, 7, 16, base, 0, 0, 0), ==, A350_ADM_OK);
    ub_stop(u);
}

static uint32_t try_segment(TCard *c, uint64_t base, uint64_t len,
                            uint32_t access)
{
    a350_seg_register s = { .base = base, .length = len, .access = access };

    return t_admin(c, A350_ADM_SEG_REGISTER, &s, sizeof(s), NULL);
}

static void test_segment_arguments(void)
{
    Ub *u = ub_start(2);
    TCard *c = u->card[0].c;
    uint64_t d = c->dev;
    uint64_t reg = d + A350_DEV_REG_OFFSET;
    uint8_t data[A350_ADMIN_DATA_SIZE] = { 0 };

    g_assert_cmpuint(try_segment(c, d, T_HBM_SIZE, ALL), ==, A350_ADM_OK);
    g_assert_cmpuint(try_segment(c, d, 0, ALL), ==, A350_ADM_E_RANGE);
    g_assert_cmpuint(try_segment(c, d, 16, 16), ==, A350_ADM_E_RANGE);
    g_assert_cmpuint(try_segment(c, d + 1, T_HBM_SIZE, ALL), ==,
                     A350_ADM_E_ADDRESS);
    g_assert_cmpuint(try_segment(c, d - 1, 2, ALL), ==, A350_ADM_E_ADDRESS);
    g_assert_cmpuint(try_segment(c, d + 16, -8ull, ALL), ==,
                     A350_ADM_E_ADDRESS);
    g_assert_cmpuint(try_segment(c, u->card[1].c->dev, 16, ALL), ==,
                     A350_ADM_E_ADDRESS);
    g_assert_cmpuint(try_segment(c, (1ull << 47) - 8, 16, ALL), ==,
                     A350_ADM_E_ADDRESS);
    g_assert_cmpuint(try_segment(c, 0x1000, 1ull << 40, ALL), ==, A350_ADM_OK);
    g_assert_cmpuint(try_segment(c, reg + A350_REG_NOTIFY, 4096, ALL), ==,
                     A350_ADM_OK);
    g_assert_cmpuint(try_segment(c, reg + A350_REG_RTSQ, 4096, ALL), ==,
                     A350_ADM_E_ADDRESS);
    g_assert_cmpuint(try_segment(c, reg + A350_REG_CTRL, 64, ALL), ==,
                     A350_ADM_E_ADDRESS);
    g_assert_cmpuint(t_admin(c, A350_ADM_SEG_UNREGISTER, data,
                             sizeof(a350_id_req), NULL), ==,
                     A350_ADM_E_NOT_FOUND);
    ub_stop(u);
}

/* ---- fabric ---- */

static void test_fabric_shape(void)
{
    TMachine *m = t_start(2, ",fabric=ub0",
                          "-object atlas350-fabric,id=ub0,shape=bridge,"
                          "fabric-id=0x1122334455667788");
    a350_identify_rsp id;

    memset(&id, 0, sizeof(id));
    g_assert_cmpuint(t_admin(&m->card[1], A350_ADM_IDENTIFY, &id, 0, NULL), ==,
                     A350_ADM_OK);
    g_assert_cmpuint(id.card_index, ==, 1);
    g_assert_cmpuint(id.fabric_cards, ==, 2);
    g_assert_cmphex(id.eid[0], ==, 0x11);
    g_assert_cmphex(id.eid[7], ==, 0x88);
    g_assert_cmphex(id.eid[15], ==, 2);
    t_stop(m);
}

/* Two fabrics do not see each other, though indices and tokens are equal. */
static void test_fabric_isolated(void)
{
    Ub *u = g_new0(Ub, 1);
    UbCard *a = &u->card[0], *b = &u->card[1];
    a350_wqe w;

    u->m = t_start(1, ",fabric=ub0", "-object atlas350-fabric,id=ub0 "
                   "-device atlas350,addr=5,hbm-size=256M");
    ub_card(u, 0, 64, 0);
    *b = *a;
    a350_eid_make(b->rmt.eid, 0, 1);
    w = ub_rw(a, b, A350_UB_WRITE, DST, SRC, 64);
    ub_post(a, &w);
    ub_ring_fails(a, A350_UB_ERR_ACK_TIMEOUT, 0);
    ub_stop(u);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/atlas350/ub/write", test_write);
    qtest_add_func("/atlas350/ub/read", test_read);
    qtest_add_func("/atlas350/ub/write-with-notify", test_write_with_notify);
    qtest_add_func("/atlas350/ub/zero-length", test_zero_length);
    qtest_add_func("/atlas350/ub/nop", test_nop);
    qtest_add_func("/atlas350/ub/inline", test_inline);
    qtest_add_func("/atlas350/ub/inline-notify", test_inline_notify);
    qtest_add_func("/atlas350/ub/read-into-notify", test_read_into_notify);
    qtest_add_func("/atlas350/ub/loopback", test_loopback);
    qtest_add_func("/atlas350/ub/host-memory", test_host_memory);
    qtest_add_func("/atlas350/ub/wrap-in-wqe", test_wrap_in_wqe);
    qtest_add_func("/atlas350/ub/index-wrap", test_index_wrap);
    qtest_add_func("/atlas350/ub/doorbell-behind", test_doorbell_behind);
    qtest_add_func("/atlas350/ub/doorbell-too-far", test_doorbell_too_far);
    qtest_add_func("/atlas350/ub/no-such-jetty", test_no_such_jetty);
    qtest_add_func("/atlas350/ub/half-entry", test_half_entry);
    qtest_add_func("/atlas350/ub/order-bits", test_order_bits);
    qtest_add_func("/atlas350/ub/longest-message", test_longest_message);
    qtest_add_func("/atlas350/ub/two-queues", test_two_queues);
    qtest_add_func("/atlas350/ub/refusals", test_refusals);
    qtest_add_func("/atlas350/ub/opcodes", test_opcodes);
    qtest_add_func("/atlas350/ub/reduce-matrix", test_reduce_matrix);
    qtest_add_func("/atlas350/ub/notify-refusals", test_notify_refusals);
    qtest_add_func("/atlas350/ub/access-rights", test_access_rights);
    qtest_add_func("/atlas350/ub/stale-token", test_stale_token);
    qtest_add_func("/atlas350/ub/notify-page", test_notify_page);
    qtest_add_func("/atlas350/ub/segment-edges", test_segment_edges);
    qtest_add_func("/atlas350/ub/flush", test_flush);
    qtest_add_func("/atlas350/ub/flush-other-queue", test_flush_other_queue);
    qtest_add_func("/atlas350/ub/continue", test_continue);
    qtest_add_func("/atlas350/ub/reset-in-flight", test_reset_in_flight);
    qtest_add_data_func("/atlas350/ub/write-reduce", GINT_TO_POINTER(0),
                        test_reduce);
    qtest_add_data_func("/atlas350/ub/read-reduce", GINT_TO_POINTER(1),
                        test_reduce);
    qtest_add_func("/atlas350/ub/reduce-with-notify", test_reduce_with_notify);
    qtest_add_func("/atlas350/ub/reduce-concurrent", test_reduce_concurrent);
    qtest_add_func("/atlas350/ub/payload-before-notify",
                   test_payload_before_notify);
    qtest_add_func("/atlas350/ub/four-cards", test_four_cards);
    qtest_add_func("/atlas350/ub/direct", test_direct);
    qtest_add_func("/atlas350/ub/jetty-arguments", test_jetty_arguments);
    qtest_add_func("/atlas350/ub/segment-arguments", test_segment_arguments);
    qtest_add_func("/atlas350/ub/fabric-shape", test_fabric_shape);
    qtest_add_func("/atlas350/ub/fabric-isolated", test_fabric_isolated);
    return g_test_run();
}
