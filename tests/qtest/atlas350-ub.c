/*
 * QTest: cards of the Atlas 350 with what a test of UB needs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "atlas350-ub.h"

/* ---- set-up ---- */

uint32_t ub_segment(TCard *c, uint64_t base, uint64_t len,
                             uint32_t access, uint32_t value)
{
    a350_seg_register s = { .base = base, .length = len, .access = access,
                            .token_value = value };

    g_assert_cmpuint(t_admin(c, A350_ADM_SEG_REGISTER, &s, sizeof(s), NULL),
                     ==, A350_ADM_OK);
    return s.token_id;
}

uint32_t ub_jetty(TCard *c, uint64_t ring, uint32_t depth,
                             uint64_t ci_addr, uint32_t flags)
{
    a350_jetty_create j = {
        .jetty_id = A350_ID_ANY, .depth = depth, .base = c->dev + ring,
        .ci_addr = ci_addr, .flags = flags, .err_timeout = 8,
        .rank = A350_ID_NONE, .peer_rank = A350_ID_NONE,
    };

    g_assert_cmpuint(t_admin(c, A350_ADM_JETTY_CREATE, &j, sizeof(j), NULL),
                     ==, A350_ADM_OK);
    return j.jetty_id;
}

void ub_card(Ub *u, unsigned i, uint32_t depth, uint32_t flags)
{
    UbCard *k = &u->card[i];
    TCard *c = &u->m->card[i];

    k->c = c;
    k->index = i;
    k->depth = depth;
    k->q = t_queue(c, RING, 65, true, 0);
    k->jetty = ub_jetty(c, WQ, depth, c->dev + CI, flags);
    k->data_token = ub_segment(c, c->dev + DATA, DATA_LEN, ALL, VALUE + i);
    k->notify_token = ub_segment(c, a350_notify_addr(c->dev, 0), 0x8000, ALL,
                                   VALUE + i);
    a350_eid_make(k->rmt.eid, 0, i);
    k->rmt.token_id = k->data_token;
    k->rmt.token_value = VALUE + i;
}

Ub *ub_start_full(unsigned cards, uint32_t depth, uint32_t flags)
{
    Ub *u = g_new0(Ub, 1);
    unsigned i;

    u->m = t_start(cards, "", "");
    for (i = 0; i < cards; i++) {
        ub_card(u, i, depth, flags);
    }
    return u;
}

Ub *ub_start(unsigned cards)
{
    return ub_start_full(cards, 64, 0);
}

void ub_stop(Ub *u)
{
    t_stop(u->m);
    g_free(u);
}

/* ---- work requests ---- */

void ub_post(UbCard *k, const a350_wqe *w)
{
    uint32_t i, n = a350_wqe_blocks(w);

    for (i = 0; i < n; i++) {
        t_hbm_write(k->c, WQ + (k->pi++ % k->depth) * A350_WQEBB_SIZE,
                    &w->w[i * 16], A350_WQEBB_SIZE);
    }
}

void ub_ring_at(UbCard *k, uint16_t pi)
{
    a350_sqe s;

    a350_sqe_ubdma_db(&s, k->q.task, k->jetty, pi);
    t_push_ring(&k->q, &s);
}

/* Rings for all that was posted and expects it to be done. */
void ub_ring_ok(UbCard *k)
{
    ub_ring_at(k, k->pi);
    g_assert_true(t_drain(&k->q));
}

/* Rings and expects the queue to stop with this UB status. */
void ub_ring_fails(UbCard *k, uint8_t status, uint8_t sub)
{
    a350_cqe e;

    ub_ring_at(k, k->pi);
    g_assert_true(t_wait_stop(&k->q));
    g_assert_true(t_cqe(&k->q, &e));
    g_assert_true(e.h0 & A350_CQE_ERROR);
    g_assert_cmpuint(e.error_bits, !=, 0);
    g_assert_cmpuint(e.flags_type >> 2, ==, A350_SQE_UBDMA);
    g_assert_cmphex(e.status & 0xff, ==, status);
    g_assert_cmphex(e.ub_status0, ==, status);
    g_assert_cmphex(e.ub_sub0, ==, sub);
}

a350_jetty_query_rsp ub_query(UbCard *k)
{
    a350_jetty_query_rsp r;
    uint8_t data[A350_ADMIN_DATA_SIZE] = { 0 };

    memcpy(data, &k->jetty, sizeof(k->jetty));
    g_assert_cmpuint(t_admin(k->c, A350_ADM_JETTY_QUERY, data,
                             sizeof(a350_id_req), NULL), ==, A350_ADM_OK);
    memcpy(&r, data, sizeof(r));
    return r;
}

/* After a failure: jetty and queue as new. */
void ub_recover(UbCard *k)
{
    t_admin_id(k->c, A350_ADM_JETTY_RESET, k->jetty);
    t_admin_id(k->c, A350_ADM_SQ_RESET, k->q.id);
    t_wr32(k->c, A350_REG_RTSQ + k->q.id * A350_SQ_PAGE_SIZE + A350_SQ_STATUS,
           A350_SQ_STATUS_ENABLE);
    k->q.tail = 0;
    k->pi = 0;
}

a350_wqe ub_rw(UbCard *k, UbCard *peer, uint32_t opcode, uint64_t remote,
                   uint64_t local, uint32_t len)
{
    a350_wqe w;

    a350_wqe_rw(&w, opcode, A350_WQE_CQE, &peer->rmt, peer->c->dev + remote, 0,
                k->c->dev + local, len, k->data_token);
    return w;
}

a350_wqe ub_write_notify(UbCard *k, UbCard *peer, uint64_t remote,
                             uint64_t local, uint32_t len, uint32_t notify,
                             uint64_t data)
{
    a350_wqe w;

    a350_wqe_write_notify(&w, A350_WQE_CQE, &peer->rmt, peer->c->dev + remote,
                          0, k->c->dev + local, len, k->data_token,
                          a350_notify_addr(peer->c->dev, notify),
                          peer->notify_token, peer->rmt.token_value, data);
    return w;
}

a350_wqe ub_nop(void)
{
    a350_wqe w;

    memset(&w, 0, sizeof(w));
    w.w[1] = A350_UB_NOP << A350_WQE_OPCODE_SHIFT;
    return w;
}

/* @len bytes of pattern @seed at @off, with a guard band around. */
void ub_guard(UbCard *k, uint64_t off, size_t len)
{
    t_hbm_fill(k->c, off - 64, 0xa5, len + 128);
}

void ub_check_guarded(UbCard *k, uint64_t off, uint32_t seed, size_t len)
{
    g_assert_true(t_hbm_is_fill(k->c, off - 64, 0xa5, 64));
    g_assert_true(t_hbm_is_fill(k->c, off + len, 0xa5, 64));
    g_assert_true(t_hbm_is_pattern(k->c, off, seed, len));
}
