/*
 * QTest: SDMA of the Atlas 350 card: copies, fills, reductions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Rules: spec/hw/task-queues.md §3 (SDMA) and the matrix of
 * spec/api/hcomm-data-plane.md §3.8. What the arithmetic gives for each bit
 * pattern is the matter of tests/unit/test-reduce.c.
 */
#include "qemu/osdep.h"
#include "atlas350-card.h"

#define RING        0x000000u
#define SRC         0x1000000u
#define DST         0x5000000u

typedef struct Sdma {
    TMachine *m;
    TCard *c;
    TQueue q;
} Sdma;

static Sdma *sdma_start(unsigned cards)
{
    Sdma *s = g_new0(Sdma, 1);

    s->m = t_start(cards, "", "");
    s->c = &s->m->card[0];
    s->q = t_queue(s->c, RING, 65, true, 0);
    return s;
}

static void sdma_stop(Sdma *s)
{
    t_stop(s->m);
    g_free(s);
}

static void run(Sdma *s, const a350_sqe *e)
{
    t_push_ring(&s->q, e);
    g_assert_true(t_drain(&s->q));
}

/* The entry stops the queue with these error bits and this status. */
static void run_fails(Sdma *s, const a350_sqe *e, uint32_t bits,
                      uint32_t status)
{
    a350_cqe c;

    t_push_ring(&s->q, e);
    g_assert_true(t_wait_stop(&s->q));
    g_assert_true(t_cqe(&s->q, &c));
    g_assert_true(c.h0 & A350_CQE_ERROR);
    g_assert_cmphex(c.error_bits, ==, bits);
    g_assert_cmpuint(c.flags_type >> 2, ==, A350_SQE_SDMA);
    g_assert_cmphex(c.status, ==, status);
    t_admin_id(s->c, A350_ADM_SQ_RESET, s->q.id);
    t_wr32(s->c, A350_REG_RTSQ + s->q.id * A350_SQ_PAGE_SIZE + A350_SQ_STATUS,
           A350_SQ_STATUS_ENABLE);
    s->q.tail = 0;
}

static void guard(Sdma *s, uint64_t off, size_t len)
{
    t_hbm_fill(s->c, off - 64, 0xa5, len + 128);
}

static void check_guarded(Sdma *s, uint64_t off, uint32_t seed, size_t len)
{
    g_assert_true(t_hbm_is_fill(s->c, off - 64, 0xa5, 64));
    g_assert_true(t_hbm_is_fill(s->c, off + len, 0xa5, 64));
    g_assert_true(t_hbm_is_pattern(s->c, off, seed, len));
}

static const uint32_t sizes[] = {
    1, 3, 64, 65535, 65536, 65537, 1048575, 1048576, 1048577, 7 * 1048576 + 5,
};

static void test_lengths(void)
{
    Sdma *s = sdma_start(1);
    unsigned i;
    a350_sqe e;

    for (i = 0; i < G_N_ELEMENTS(sizes); i++) {
        t_hbm_pattern(s->c, SRC + i, i, sizes[i]);
        guard(s, DST + 7 * i, sizes[i]);
        a350_sqe_sdma(&e, i, A350_SDMA_CPY, s->c->dev + DST + 7 * i,
                      s->c->dev + SRC + i, sizes[i]);
        run(s, &e);
        check_guarded(s, DST + 7 * i, i, sizes[i]);
    }
    sdma_stop(s);
}

static void test_zero_length(void)
{
    Sdma *s = sdma_start(1);
    a350_sqe e;

    guard(s, DST, 16);
    a350_sqe_sdma(&e, 0, A350_SDMA_CPY, s->c->dev + DST, s->c->dev + SRC, 0);
    run(s, &e);
    g_assert_true(t_hbm_is_fill(s->c, DST, 0xa5, 16));
    sdma_stop(s);
}

/* Overlapping copies give the result of memmove, in slices or not. */
static void test_overlap(void)
{
    static const struct { int64_t shift; uint32_t len; } c[] = {
        { 1, 1000 }, { -1, 1000 }, { 64, 60000 }, { -64, 60000 },
        { 1, 3000000 }, { -1, 3000000 }, { 4096, 3000000 },
        { -4096, 3000000 }, { 1500000, 3000000 }, { -1500000, 3000000 },
        { 1048576, 3000001 }, { 0, 3000000 },
    };
    Sdma *s = sdma_start(1);
    unsigned i;
    a350_sqe e;

    for (i = 0; i < G_N_ELEMENTS(c); i++) {
        guard(s, DST + c[i].shift, c[i].len);
        t_hbm_pattern(s->c, DST, i, c[i].len);
        a350_sqe_sdma(&e, i, A350_SDMA_CPY, s->c->dev + DST + c[i].shift,
                      s->c->dev + DST, c[i].len);
        run(s, &e);
        g_assert_true(t_hbm_is_pattern(s->c, DST + c[i].shift, i, c[i].len));
    }
    sdma_stop(s);
}

static void test_memset(void)
{
    Sdma *s = sdma_start(1);
    unsigned i;
    a350_sqe e;

    for (i = 0; i < G_N_ELEMENTS(sizes); i++) {
        guard(s, DST + i, sizes[i]);
        a350_sqe_memset(&e, i, s->c->dev + DST + i, 0x1234567a + i, sizes[i]);
        run(s, &e);
        g_assert_true(t_hbm_is_fill(s->c, DST + i, 0x7a + i, sizes[i]));
        g_assert_true(t_hbm_is_fill(s->c, DST + i - 64, 0xa5, 64));
        g_assert_true(t_hbm_is_fill(s->c, DST + i + sizes[i], 0xa5, 64));
    }
    sdma_stop(s);
}

/* Host memory is the source, the target, and both. */
static void test_host_memory(void)
{
    Sdma *s = sdma_start(1);
    size_t len = 3 * 1048576 + 17;
    g_autofree uint8_t *buf = g_malloc(len), *got = g_malloc(len);
    a350_sqe e;
    size_t i;

    for (i = 0; i < len; i++) {
        buf[i] = (i * 2654435761u) >> 23;
    }
    qtest_bufwrite(s->m->qts, T_RAM + 3, buf, len);
    guard(s, DST, len);
    a350_sqe_sdma(&e, 0, A350_SDMA_CPY, s->c->dev + DST, T_RAM + 3, len);
    run(s, &e);
    t_hbm_read(s->c, DST, got, len);
    g_assert_cmpmem(got, len, buf, len);
    g_assert_true(t_hbm_is_fill(s->c, DST + len, 0xa5, 64));

    a350_sqe_sdma(&e, 1, A350_SDMA_CPY, T_RAM + 0x1000000, s->c->dev + DST,
                  len);
    run(s, &e);
    qtest_bufread(s->m->qts, T_RAM + 0x1000000, got, len);
    g_assert_cmpmem(got, len, buf, len);

    /* Host to host, overlapping by all but 100 bytes. */
    a350_sqe_sdma(&e, 2, A350_SDMA_CPY, T_RAM + 0x1000064, T_RAM + 0x1000000,
                  len);
    run(s, &e);
    qtest_bufread(s->m->qts, T_RAM + 0x1000064, got, len);
    g_assert_cmpmem(got, len, buf, len);

    a350_sqe_memset(&e, 3, T_RAM + 0x1000000, 0x3c, 200000);
    run(s, &e);
    qtest_bufread(s->m->qts, T_RAM + 0x1000000, got, 200000);
    memset(buf, 0x3c, 200000);
    g_assert_cmpmem(got, 200000, buf, 200000);
    sdma_stop(s);
}

/* Peers by their own device addresses, as PCIe peers reach each other. */
static void test_peer(void)
{
    Sdma *s = sdma_start(2);
    TCard *peer = &s->m->card[1];
    uint32_t len = 1048576 + 9;
    a350_sqe e;

    t_hbm_pattern(s->c, SRC, 1, len);
    a350_sqe_sdma(&e, 0, A350_SDMA_CPY, peer->dev + DST, s->c->dev + SRC, len);
    run(s, &e);
    g_assert_true(t_hbm_is_pattern(peer, DST, 1, len));
    a350_sqe_sdma(&e, 1, A350_SDMA_CPY, s->c->dev + DST, peer->dev + DST, len);
    run(s, &e);
    g_assert_true(t_hbm_is_pattern(s->c, DST, 1, len));
    sdma_stop(s);
}

/* Neither end may leave memory, by a byte, nor be nobody's. */
static void test_bad_addresses(void)
{
    Sdma *s = sdma_start(2);
    uint64_t d = s->c->dev, bad[] = {
        d + T_HBM_SIZE - 4095, d + T_HBM_SIZE, d - 1, d + (1ull << 42),
        s->m->card[1].dev + T_HBM_SIZE - 1, A350_DEV_BASE(7),
        A350_DEV_FIRST - 1, -1ull, -4096ull, 0x7000000000ull,
    };
    unsigned i;
    a350_sqe e;

    for (i = 0; i < G_N_ELEMENTS(bad); i++) {
        guard(s, DST, 4096);
        a350_sqe_sdma(&e, i, A350_SDMA_CPY, bad[i], d + DST, 4096);
        run_fails(s, &e, A350_ERR_BUS, A350_SDMA_ST_ADDR);
        a350_sqe_sdma(&e, i, A350_SDMA_CPY, d + DST, bad[i], 4096);
        run_fails(s, &e, A350_ERR_BUS, A350_SDMA_ST_ADDR);
        a350_sqe_memset(&e, i, bad[i], 0, 4096);
        run_fails(s, &e, A350_ERR_BUS, A350_SDMA_ST_ADDR);
        a350_sqe_sdma(&e, i, A350_SDMA_ADD | A350_SDMA_FP32, d + DST, bad[i],
                      4096);
        run_fails(s, &e, A350_ERR_BUS, A350_SDMA_ST_ADDR);
        g_assert_true(t_hbm_is_fill(s->c, DST, 0xa5, 4096));
    }
    a350_sqe_sdma(&e, 0, A350_SDMA_CPY, d + DST, d + SRC, 4096);
    run(s, &e);
    sdma_stop(s);
}

/* The longest length of the 32-bit field is checked as a whole. */
static void test_longest(void)
{
    Sdma *s = sdma_start(1);
    a350_sqe e;

    a350_sqe_sdma(&e, 0, A350_SDMA_CPY, s->c->dev + DST, s->c->dev + SRC,
                  0xffffffff);
    run_fails(s, &e, A350_ERR_BUS, A350_SDMA_ST_ADDR);
    sdma_stop(s);
}

/* Queues with large copies go on side by side with small ones. */
static void test_side_by_side(void)
{
    enum { BIG = 4, LEN = 24 << 20 };
    Sdma *s = sdma_start(1);
    TQueue big[BIG];
    unsigned i, k;
    a350_sqe e;

    for (i = 0; i < BIG; i++) {
        big[i] = t_queue(s->c, 0x100000 * (i + 1), 65, false, 0);
        for (k = 0; k < 16; k++) {
            a350_sqe_sdma(&e, k, A350_SDMA_CPY, s->c->dev + DST + i * LEN,
                          s->c->dev + SRC, LEN);
            t_push(&big[i], &e);
        }
        t_ring(&big[i]);
    }
    t_hbm_pattern(s->c, 0xe000000, 1, 300000);
    a350_sqe_sdma(&e, 0, A350_SDMA_CPY, s->c->dev + 0xe800000,
                  s->c->dev + 0xe000000, 300000);
    run(s, &e);
    g_assert_true(t_hbm_is_pattern(s->c, 0xe800000, 1, 300000));
    for (i = 0; i < BIG; i++) {
        g_assert_true(t_drain(&big[i]));
    }
    sdma_stop(s);
}

/* ---- reductions ---- */

static bool matrix_allows(uint32_t opcode)
{
    static const uint32_t types[] = { 0x00, 0x10, 0x20, 0x60, 0x70, 0x80 };
    uint32_t op = opcode & 0xf;
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(types); i++) {
        if ((op == 1 || op == 2 || op == 3) && (opcode & 0xf0) == types[i]) {
            return true;
        }
    }
    return op == 0 || op == 5;
}

/* All 256 opcodes: done, or refused and nothing touched. */
static void test_matrix(void)
{
    Sdma *s = sdma_start(1);
    uint32_t op;
    a350_sqe e;

    for (op = 0; op < 256; op++) {
        guard(s, DST, 64);
        a350_sqe_sdma(&e, op, op, s->c->dev + DST, s->c->dev + SRC, 64);
        if ((op & 0xf) == A350_SDMA_MEMSET) {
            /* bytes, whatever the type */
            a350_sqe_memset(&e, op, s->c->dev + DST, 0x1234567a, 63);
            e.w[4] |= op;
            run(s, &e);
            g_assert_true(t_hbm_is_fill(s->c, DST, 0x7a, 63));
            g_assert_true(t_hbm_is_fill(s->c, DST + 63, 0xa5, 1));
            continue;
        }
        if (matrix_allows(op)) {
            run(s, &e);
        } else {
            run_fails(s, &e, A350_ERR_SQE, A350_SDMA_ST_OPCODE);
            g_assert_true(t_hbm_is_fill(s->c, DST, 0xa5, 64));
            /* never skipped, though there is nothing to move */
            e.w[12] = 0;
            run_fails(s, &e, A350_ERR_SQE, A350_SDMA_ST_OPCODE);
        }
    }
    sdma_stop(s);
}

typedef struct ReduceCase {
    uint32_t opcode, size, dst, src, want;
} ReduceCase;

static const ReduceCase cases[] = {
    { A350_SDMA_ADD | A350_SDMA_INT8, 1, 0x80, 0xff, 0x7f },
    { A350_SDMA_MAX | A350_SDMA_INT16, 2, 0xffff, 0x0001, 0x0001 },
    { A350_SDMA_MIN | A350_SDMA_INT32, 4, 0x80000000, 5, 0x80000000 },
    { A350_SDMA_ADD | A350_SDMA_FP16, 2, 0x3c00, 0x3c00, 0x4000 },
    { A350_SDMA_MIN | A350_SDMA_FP16, 2, 0x0000, 0x8000, 0x8000 },
    { A350_SDMA_ADD | A350_SDMA_FP32, 4, 0x3f800000, 0x40000000, 0x40400000 },
    { A350_SDMA_MAX | A350_SDMA_FP32, 4, 0x7f800001, 0, 0x7fc00000 },
    { A350_SDMA_ADD | A350_SDMA_BF16, 2, 0x3f80, 0x4000, 0x4040 },
    { A350_SDMA_ADD | A350_SDMA_BF16, 2, 0x7f7f, 0x7f7f, 0x7f80 },
};

static void check_reduce(Sdma *s, const ReduceCase *r, uint64_t src,
                         uint64_t dst, uint32_t count)
{
    uint32_t len = r->size * count, i;
    g_autofree uint8_t *buf = g_malloc(len);
    bool host = src < (1ull << 47);
    a350_sqe e;

    for (i = 0; i < count; i++) {
        memcpy(buf + i * r->size, &r->src, r->size);
    }
    if (host) {
        qtest_bufwrite(s->m->qts, src, buf, len);
    } else {
        t_hbm_write(s->c, src - s->c->dev, buf, len);
    }
    guard(s, dst, len);
    for (i = 0; i < count; i++) {
        memcpy(buf + i * r->size, &r->dst, r->size);
    }
    t_hbm_write(s->c, dst, buf, len);
    a350_sqe_sdma(&e, 0, r->opcode, s->c->dev + dst, src, len);
    run(s, &e);
    t_hbm_read(s->c, dst, buf, len);
    for (i = 0; i < count; i++) {
        uint32_t v = 0;

        memcpy(&v, buf + i * r->size, r->size);
        g_assert_cmphex(v, ==, r->want);
    }
    g_assert_true(t_hbm_is_fill(s->c, dst - 64, 0xa5, 64));
    g_assert_true(t_hbm_is_fill(s->c, dst + len, 0xa5, 64));
}

static void test_reduce(void)
{
    static const uint32_t counts[] = { 1, 17, 40000, 600001 };
    Sdma *s = sdma_start(1);
    unsigned i, n;

    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (n = 0; n < G_N_ELEMENTS(counts); n++) {
            check_reduce(s, &cases[i], s->c->dev + SRC + 1, DST + 3,
                         counts[n]);
        }
        check_reduce(s, &cases[i], T_RAM + 1, DST + 5, 100001);
    }
    sdma_stop(s);
}

static void test_part_of_element(void)
{
    Sdma *s = sdma_start(1);
    a350_sqe e;

    a350_sqe_sdma(&e, 0, A350_SDMA_ADD | A350_SDMA_FP32, s->c->dev + DST,
                  s->c->dev + SRC, 4097);
    run_fails(s, &e, A350_ERR_SQE, A350_SDMA_ST_LENGTH);
    a350_sqe_sdma(&e, 0, A350_SDMA_ADD | A350_SDMA_BF16, s->c->dev + DST,
                  s->c->dev + SRC, 1);
    run_fails(s, &e, A350_ERR_SQE, A350_SDMA_ST_LENGTH);
    sdma_stop(s);
}

/* Reducing over an overlap: as if the source had been copied away first. */
static void test_reduce_overlap(void)
{
    enum { N = 700000 };
    static const int shifts[] = { 4, -4, 64, 65536, -65536, 1048576 };
    Sdma *s = sdma_start(1);
    g_autofree uint32_t *old = g_new(uint32_t, 3 * N);
    g_autofree uint32_t *got = g_new(uint32_t, N);
    unsigned k, i;
    a350_sqe e;

    for (k = 0; k < G_N_ELEMENTS(shifts); k++) {
        for (i = 0; i < 3 * N; i++) {
            old[i] = i * 2654435761u;
        }
        t_hbm_write(s->c, DST, old, 12 * N);
        a350_sqe_sdma(&e, k, A350_SDMA_ADD | A350_SDMA_INT32,
                      s->c->dev + DST + 4 * N + shifts[k],
                      s->c->dev + DST + 4 * N, 4 * N);
        run(s, &e);
        t_hbm_read(s->c, DST + 4 * N + shifts[k], got, 4 * N);
        for (i = 0; i < N; i++) {
            g_assert_cmphex(got[i], ==, old[N + shifts[k] / 4 + i] +
                            old[N + i]);
        }
    }
    sdma_stop(s);
}

/* ---- stride forms ---- */

/* stride 1: w13, w14 source and destination step, w15 count. */
static void test_stride_1(void)
{
    Sdma *s = sdma_start(1);
    unsigned i;
    a350_sqe e;

    guard(s, DST, 10 * 5000);
    for (i = 0; i < 10; i++) {
        t_hbm_pattern(s->c, SRC + i * 3000, i, 1000);
    }
    a350_sqe_sdma(&e, 0, A350_SDMA_CPY, s->c->dev + DST, s->c->dev + SRC,
                  1000);
    e.w[4] |= 1u << A350_SDMA_STRIDE_SHIFT;
    e.w[13] = 3000;
    e.w[14] = 5000;
    e.w[15] = 10;
    run(s, &e);
    for (i = 0; i < 10; i++) {
        g_assert_true(t_hbm_is_pattern(s->c, DST + i * 5000, i, 1000));
        g_assert_true(t_hbm_is_fill(s->c, DST + i * 5000 + 1000, 0xa5, 4000));
    }
    sdma_stop(s);
}

/* Blocks are moved one after the other, as by so many calls of memmove. */
static void test_stride_overlap(void)
{
    enum { LEN = 100, N = 40, STEP = 60 };
    Sdma *s = sdma_start(1);
    uint8_t mem[LEN + N * STEP + 200], got[sizeof(mem)];
    unsigned i;
    a350_sqe e;

    for (i = 0; i < sizeof(mem); i++) {
        mem[i] = i * 37 + (i >> 8);
    }
    t_hbm_write(s->c, SRC, mem, sizeof(mem));
    a350_sqe_sdma(&e, 0, A350_SDMA_CPY, s->c->dev + SRC + 150,
                  s->c->dev + SRC, LEN);
    e.w[4] |= 1u << A350_SDMA_STRIDE_SHIFT;
    e.w[13] = e.w[14] = STEP;
    e.w[15] = N;
    run(s, &e);
    for (i = 0; i < N; i++) {
        memmove(mem + 150 + i * STEP, mem + i * STEP, LEN);
    }
    t_hbm_read(s->c, SRC, got, sizeof(got));
    g_assert_cmpmem(got, sizeof(got), mem, sizeof(mem));
    sdma_stop(s);
}

/* ---- registers ---- */

/* A word copied into a notify register records it. */
static void test_notify_register(void)
{
    Sdma *s = sdma_start(2);
    uint64_t one = 1;
    unsigned i;
    a350_sqe e;

    t_hbm_write(s->c, SRC, &one, 8);
    for (i = 0; i < 2; i++) {
        TCard *c = &s->m->card[i];

        a350_sqe_sdma(&e, 0, A350_SDMA_CPY, a350_notify_addr(c->dev, 20),
                      s->c->dev + SRC, 4);
        run(s, &e);
        g_assert_cmphex(t_notify(c, 20), ==, 1);
        a350_sqe_sdma(&e, 0, A350_SDMA_CPY, a350_notify_addr(c->dev, 21),
                      s->c->dev + SRC, 8);
        run(s, &e);
        g_assert_cmphex(t_notify(c, 21), ==, 1);
        a350_sqe_sdma(&e, 0, A350_SDMA_CPY, a350_notify_addr(c->dev, 22),
                      s->c->dev + SRC, 16);
        run_fails(s, &e, A350_ERR_BUS, A350_SDMA_ST_ADDR);
    }
    /* A peer's queue pages are not for others. */
    a350_sqe_sdma(&e, 0, A350_SDMA_CPY,
                  a350_sq_page_addr(s->m->card[1].dev, 0),
                  s->c->dev + SRC, 4);
    run_fails(s, &e, A350_ERR_BUS, A350_SDMA_ST_ADDR);
    sdma_stop(s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/atlas350/sdma/lengths", test_lengths);
    qtest_add_func("/atlas350/sdma/zero-length", test_zero_length);
    qtest_add_func("/atlas350/sdma/overlap", test_overlap);
    qtest_add_func("/atlas350/sdma/memset", test_memset);
    qtest_add_func("/atlas350/sdma/host-memory", test_host_memory);
    qtest_add_func("/atlas350/sdma/peer", test_peer);
    qtest_add_func("/atlas350/sdma/bad-addresses", test_bad_addresses);
    qtest_add_func("/atlas350/sdma/longest", test_longest);
    qtest_add_func("/atlas350/sdma/side-by-side", test_side_by_side);
    qtest_add_func("/atlas350/sdma/reduce-matrix", test_matrix);
    qtest_add_func("/atlas350/sdma/reduce", test_reduce);
    qtest_add_func("/atlas350/sdma/part-of-element", test_part_of_element);
    qtest_add_func("/atlas350/sdma/reduce-overlap", test_reduce_overlap);
    qtest_add_func("/atlas350/sdma/stride-1", test_stride_1);
    qtest_add_func("/atlas350/sdma/stride-overlap", test_stride_overlap);
    qtest_add_func("/atlas350/sdma/notify-register", test_notify_register);
    return g_test_run();
}
