/*
 * HIXL: the card's way to a peer.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A jetty of the initiator's card, and while transfers are under way a task
 * queue. Work requests are written into the jetty's ring in HBM, one doorbell
 * entry for up to HX_CHUNK of them; the doorbell's task is complete when its
 * data is in memory on both sides (spec/hw/transport.md §3). The CPU moves no
 * payload. The first doorbells of a transfer are for few, so that the card
 * starts while the rest is being written.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "acl_internal.h"
#include "hx.h"

uint32_t hx_path_open(hx_path *p, a350_card *card,
                      const uint8_t eid[A350_EID_LEN])
{
    int rc;

    memset(p, 0, sizeof(*p));
    p->card = card;
    memcpy(p->peer_eid, eid, A350_EID_LEN);
    rc = a350_jetty_new(card, HX_JETTY_BLOCKS, 0, 0, A350_ID_NONE,
                        A350_ID_NONE, &p->jetty);
    return rc == 0 ? HX_OK :
           hx_err(rc == -ENOSPC ? HX_EXHAUSTED : HX_FAILED,
                  "Connect: no jetty on the card: %s", a350_card_text());
}

void hx_path_close(hx_path *p)
{
    /* The queue first: then no doorbell is left that the jetty serves. */
    if (p->sq) {
        a350_sq_destroy(p->sq);
    }
    a350_jetty_free(&p->jetty);
    memset(p, 0, sizeof(*p));
}

uint32_t hx_path_take(hx_path *p)
{
    int rc;

    if (!p->sq) {
        rc = hx_queue_take(p->card, &p->sq);
        if (rc) {
            p->sq = NULL;
            return hx_err(rc == -ENOSPC ? HX_EXHAUSTED : HX_FAILED,
                          "transfer: no task queue of the card: %s",
                          a350_card_text());
        }
        p->errors = a350_sq_error_count(p->sq);
        p->seq = 0;
        p->chunk_num = 0;
    }
    p->users++;
    return HX_OK;
}

void hx_path_give(hx_path *p)
{
    if (--p->users == 0) {
        hx_queue_give(p->sq);
        p->sq = NULL;
    }
}

static uint32_t consumer(const hx_path *p)
{
    const uint32_t *ci = a350_hbm_ptr(p->jetty.ci, 4);

    return __atomic_load_n(ci, __ATOMIC_ACQUIRE) & 0xffff;
}

static uint32_t used_blocks(const hx_path *p)
{
    return (p->pi - consumer(p)) & 0xffff;
}

uint32_t hx_path_explain(hx_path *p)
{
    char text[400] = "no reason known";
    a350_sq_error err;

    if (a350_sq_last_error(p->sq, &err)) {
        if (err.sqe_type == A350_SQE_INVALID) {
            strcpy(text, "the link was ended by another call");
        } else {
            a350_explain_error(p->sq, &err, text, sizeof(text));
        }
    }
    return hx_err(HX_FAILED, "transfer failed: %s", text);
}

void hx_path_wake(hx_path *p)
{
    if (p->sq) {
        a350_sq_fail(p->sq, 0);
    }
}

uint32_t hx_path_wait(hx_path *p, uint64_t seq, uint64_t deadline)
{
    int rc = a350_sq_wait(p->sq, seq, hx_left_ms(deadline), p->errors);

    if (rc == 0) {
        return HX_OK;
    }
    return rc == -ETIMEDOUT ? HX_TIMEOUT : hx_path_explain(p);
}

int hx_path_poll(hx_path *p, uint64_t seq)
{
    if (a350_sq_done(p->sq) >= seq) {
        return HX_COMPLETED;
    }
    return a350_sq_error_count(p->sq) != p->errors ? HX_ST_FAILED :
           HX_WAITING;
}

uint32_t hx_path_ring(hx_path *p, uint64_t *seq)
{
    a350_sqe sqe;
    uint32_t at;

    if (p->unrung) {
        *p->last = (*p->last & ~(3u << A350_WQE_ODR_SHIFT)) |
                   (A350_WQE_ODR_STRONG << A350_WQE_ODR_SHIFT) |
                   A350_WQE_COMP_ORDER | A350_WQE_FENCE | A350_WQE_CQE;
        a350_sqe_ubdma_db(&sqe, 0, p->jetty.id, p->pi);
        sqe.w[0] |= A350_SQE_WR_CQE;
        /* The ring's blocks are written before the doorbell is. */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (a350_sq_push(p->sq, &sqe, 1, &p->seq)) {
            return hx_path_explain(p);
        }
        p->unrung = 0;
        at = (p->chunk_head + p->chunk_num) % HX_CHUNKS;
        p->chunk_seq[at] = p->seq;
        if (p->chunk_num < HX_CHUNKS) {
            p->chunk_num++;
        } else {
            p->chunk_head = (p->chunk_head + 1) % HX_CHUNKS;
        }
    }
    *seq = p->seq;
    return HX_OK;
}

/* Waits for the oldest doorbell that may not be complete. */
static uint32_t make_room(hx_path *p, uint64_t deadline)
{
    uint64_t seq;
    uint32_t ret = hx_path_ring(p, &seq);

    if (ret != HX_OK || p->chunk_num == 0) {
        return ret;
    }
    seq = p->chunk_seq[p->chunk_head];
    p->chunk_head = (p->chunk_head + 1) % HX_CHUNKS;
    p->chunk_num--;
    return hx_path_wait(p, seq, deadline);
}

static uint32_t put(hx_path *p, uint64_t deadline)
{
    uint8_t *ring = a350_hbm_ptr(p->jetty.wq,
                                 (size_t)HX_JETTY_BLOCKS * A350_WQEBB_SIZE);
    uint8_t *slot;
    uint32_t ret;
    uint64_t seq;

    while (used_blocks(p) >= HX_JETTY_BLOCKS - 1) {
        ret = make_room(p, deadline);
        if (ret != HX_OK) {
            return ret;
        }
    }
    slot = ring + (p->pi % HX_JETTY_BLOCKS) * A350_WQEBB_SIZE;
    memcpy(slot, &p->wqe, A350_WQEBB_SIZE);
    p->last = (uint32_t *)slot;
    p->pi++;
    if (++p->unrung < p->chunk) {
        return HX_OK;
    }
    p->chunk = p->chunk < HX_CHUNK ? 2 * p->chunk : HX_CHUNK;
    return hx_path_ring(p, &seq);
}

void hx_path_begin(hx_path *p)
{
    p->chunk = HX_CHUNK_FIRST;
}

/* Most descriptors of a list differ from the one before in addresses and
   length only. A new path has operation 0, which is none. */
static void prepare(hx_path *p, int op, const hx_mem *local,
                    const hx_mem *remote)
{
    uint32_t opcode = op == HX_READ ? A350_UB_READ : A350_UB_WRITE;
    a350_ub_remote rmt;

    if (p->wqe_op == opcode && p->wqe_local == local->token_id &&
        p->wqe_remote == remote->token_id) {
        return;
    }
    memcpy(rmt.eid, p->peer_eid, A350_EID_LEN);
    rmt.token_id = remote->token_id;
    rmt.token_value = remote->token_value;
    /* Descriptors are not ordered among each other: relaxed. */
    a350_wqe_rw(&p->wqe, opcode, A350_WQE_ODR_RELAX << A350_WQE_ODR_SHIFT,
                &rmt, remote->addr, 0, local->addr, 1, local->token_id);
    p->wqe_op = opcode;
    p->wqe_local = local->token_id;
    p->wqe_remote = remote->token_id;
}

uint32_t hx_path_post(hx_path *p, int op, const hx_mem *local, uint64_t laddr,
                      const hx_mem *remote, uint64_t raddr, uint64_t len,
                      uint64_t deadline)
{
    uint32_t max = a350_card_id(p->card)->max_msg, ret = HX_OK, n;

    prepare(p, op, local, remote);
    while (len && ret == HX_OK) {
        n = len < max ? (uint32_t)len : max;
        p->wqe.w[10] = (uint32_t)raddr;
        p->wqe.w[11] = (uint32_t)(raddr >> 32);
        a350_wqe_sge(&p->wqe.w[12], laddr, n, local->token_id);
        ret = put(p, deadline);
        laddr += n;
        raddr += n;
        len -= n;
    }
    return ret;
}
