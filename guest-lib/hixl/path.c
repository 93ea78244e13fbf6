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
    p->max_msg = a350_card_id(card)->max_msg;
    memcpy(p->peer_eid, eid, A350_EID_LEN);
    rc = a350_jetty_new(card, HX_JETTY_BLOCKS, 0, 0, A350_ID_NONE,
                        A350_ID_NONE, &p->jetty);
    if (rc) {
        return hx_err(rc == -ENOSPC ? HX_EXHAUSTED : HX_FAILED,
                      "Connect: no jetty on the card: %s", a350_card_text());
    }
    p->ring = a350_hbm_ptr(p->jetty.wq,
                           (size_t)HX_JETTY_BLOCKS * A350_WQEBB_SIZE);
    p->ci = a350_hbm_ptr(p->jetty.ci, sizeof(*p->ci));
    return HX_OK;
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
    if (--p->users == 0 && !p->woken) {
        hx_queue_give(p->sq);
        p->sq = NULL;
    }
}

static uint32_t used_blocks(const hx_path *p)
{
    return (p->pi - __atomic_load_n(p->ci, __ATOMIC_ACQUIRE)) & 0xffff;
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
        p->woken = true;
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

/*
 * Rings for what is posted. A completion entry wakes whoever sleeps, which
 * costs the machine an interrupt: only the last doorbell of a transfer has
 * one, and those that a full ring may be waiting for.
 */
static uint32_t ring(hx_path *p, bool last, uint64_t *seq)
{
    a350_sqe sqe;
    uint32_t at;

    if (p->unrung) {
        *p->last = (*p->last & ~(3u << A350_WQE_ODR_SHIFT)) |
                   (A350_WQE_ODR_STRONG << A350_WQE_ODR_SHIFT) |
                   A350_WQE_COMP_ORDER | A350_WQE_FENCE | A350_WQE_CQE;
        a350_sqe_ubdma_db(&sqe, 0, p->jetty.id, p->pi);
        sqe.w[0] |= last || p->posted > HX_QUIET ? A350_SQE_WR_CQE : 0;
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

/* In slices, for a Disconnect that gives up waiting for this transfer. */
static uint32_t wait_chunk(hx_path *p, uint64_t seq, uint64_t deadline)
{
    uint64_t until;
    uint32_t ret;

    do {
        until = hx_now_ms() + 20;
        ret = hx_path_wait(p, seq, until < deadline ? until : deadline);
        if (ret == HX_TIMEOUT &&
            __atomic_load_n(&p->abandoned, __ATOMIC_ACQUIRE)) {
            return hx_err(HX_FAILED, "transfer failed: the link was ended by "
                          "another call");
        }
    } while (ret == HX_TIMEOUT && hx_left_ms(deadline));
    return ret;
}

/* Waits for the oldest doorbell that may not be complete. */
static uint32_t make_room(hx_path *p, uint64_t deadline)
{
    uint64_t seq;
    uint32_t ret = ring(p, false, &seq);

    if (ret != HX_OK || p->chunk_num == 0) {
        return ret;
    }
    seq = p->chunk_seq[p->chunk_head];
    p->chunk_head = (p->chunk_head + 1) % HX_CHUNKS;
    p->chunk_num--;
    return wait_chunk(p, seq, deadline);
}

static uint32_t need_room(hx_path *p, uint64_t deadline)
{
    uint32_t ret = HX_OK;

    p->room = HX_JETTY_BLOCKS - 1 - used_blocks(p);
    while (p->room == 0 && ret == HX_OK) {
        ret = make_room(p, deadline);
        p->room = HX_JETTY_BLOCKS - 1 - used_blocks(p);
    }
    return ret;
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

/*
 * The loop over a list, with everything in it: an emulated processor pays much
 * for a call, and 2000 descriptors are written while the card moves the first.
 */
uint32_t hx_path_post(hx_path *p, int op, const hixl_op *desc, size_t num,
                      const hx_table *local, const hx_table *remote,
                      uint64_t deadline, uint64_t *seq)
{
    const hx_mem *l = NULL, *r = NULL;
    uint64_t laddr, raddr, len;
    uint32_t ret = HX_OK, n;
    uint8_t *slot;
    size_t i;

    p->chunk = HX_CHUNK_FIRST;
    p->posted = 0;
    for (i = 0; i < num; i++) {
        laddr = desc[i].local;
        raddr = desc[i].remote;
        len = desc[i].len;
        l = hx_table_near(local, l, laddr, len);
        r = hx_table_near(remote, r, raddr, len);
        prepare(p, op, l, r);
        for (; len; len -= n, laddr += n, raddr += n) {
            if (p->room == 0) {
                ret = need_room(p, deadline);
                if (ret != HX_OK) {
                    return ret;
                }
            }
            n = len < p->max_msg ? (uint32_t)len : p->max_msg;
            p->wqe.w[10] = (uint32_t)raddr;
            p->wqe.w[11] = (uint32_t)(raddr >> 32);
            a350_wqe_sge(&p->wqe.w[12], laddr, n, l->token_id);
            slot = p->ring + p->pi++ % HX_JETTY_BLOCKS * A350_WQEBB_SIZE;
            memcpy(slot, &p->wqe, A350_WQEBB_SIZE);
            p->last = (uint32_t *)slot;
            p->room--;
            p->posted++;
            if (++p->unrung == p->chunk) {
                p->chunk = p->chunk < HX_CHUNK ? 2 * p->chunk : HX_CHUNK;
                ret = ring(p, i + 1 == num && n == len, seq);
                if (ret != HX_OK) {
                    return ret;
                }
            }
        }
    }
    return ring(p, true, seq);
}
