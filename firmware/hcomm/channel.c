/*
 * Device side of Hcomm: work queue entries of a channel's jetty.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lowering and order flags: spec/hw/transport.md §2, §3.
 */
#include <inttypes.h>
#include <string.h>
#include "hc.h"
#include "platform.h"

static const a350_mem_token *find_mem(uint64_t mems, uint32_t num,
                                      uint64_t addr, uint64_t len)
{
    const a350_mem_token *m = (const a350_mem_token *)(uintptr_t)mems;
    uint32_t i;

    for (i = 0; i < num; i++) {
        uint64_t off = addr - m[i].addr;

        if (addr >= m[i].addr && off <= m[i].len && len <= m[i].len - off) {
            return &m[i];
        }
    }
    return NULL;
}

int32_t hc_local_token(const a350_channel_obj *c, uint64_t addr, uint64_t len,
                       const char *call, uint32_t *token)
{
    const a350_mem_token *m = find_mem(c->local_mems, c->local_mem_num, addr,
                                       len);
    char name[HC_NAME_LEN];

    if (m) {
        *token = m->token_id;
        return HCCL_SUCCESS;
    }
    if (!hc_in_window(addr, len)) {
        hc_log(HC_ERROR, "%s: %s: local range 0x%" PRIx64 ", %" PRIu64
               " bytes, is neither memory of this card nor registered on the "
               "channel", call, hc_channel_name(c, name), addr, len);
        return HCCL_E_PARA;
    }
    if (c->local_any_token == A350_ID_NONE) {
        hc_log(HC_ERROR, "%s: %s: local range 0x%" PRIx64 ", %" PRIu64
               " bytes, is not registered", call, hc_channel_name(c, name),
               addr, len);
        return HCCL_E_INTERNAL;
    }
    *token = c->local_any_token;
    return HCCL_SUCCESS;
}

/* What the user needs to see why a remote range is refused. */
static int32_t remote_refused(const a350_channel_obj *c, const hc_xfer *x,
                              const char *call)
{
    const a350_mem_token *m = (const a350_mem_token *)(uintptr_t)c->remote_mems;
    char name[HC_NAME_LEN];
    uint32_t i;

    hc_log(HC_ERROR, "%s: %s: remote range 0x%" PRIx64 ", %" PRIu64
           " bytes, is not inside one of the %u exchanged regions", call,
           hc_channel_name(c, name), x->remote, x->len, c->remote_mem_num);
    for (i = 0; i < c->remote_mem_num && i < 8; i++) {
        hc_log(HC_MORE, "%s:   region %u: 0x%" PRIx64 ", %" PRIu64 " bytes",
               call, i, m[i].addr, m[i].len);
    }
    return HCCL_E_INTERNAL;
}

int32_t hc_resolve(const a350_channel_obj *c, hc_xfer *x, const char *call)
{
    x->mem = find_mem(c->remote_mems, c->remote_mem_num, x->remote, x->len);
    if (!x->mem) {
        return remote_refused(c, x, call);
    }
    if (c->proto == A350_PROTO_PCIE) {
        return HCCL_SUCCESS;     /* SDMA needs no token */
    }
    return hc_local_token(c, x->local, x->len, call, &x->local_token);
}

/* ---- the ring ---- */

static uint32_t ring_used(const a350_channel_obj *c)
{
    const uint32_t *ci = (const uint32_t *)(uintptr_t)c->ci_addr;

    return (c->pi - __atomic_load_n(ci, __ATOMIC_ACQUIRE)) & 0xffff;
}

/*
 * Copies the entry's blocks to the ring if there is room, one block staying
 * free. The producer index moves after the blocks are written: who reads it,
 * on whatever core, rings for whole entries only.
 */
static bool ring_put(hc_burst *b, const a350_wqe *q)
{
    a350_channel_obj *c = b->c;
    uint8_t *base = (uint8_t *)(uintptr_t)c->wq_base;
    uint32_t i, n = a350_wqe_blocks(q), mask = c->jetty_depth - 1;
    bool room;

    hc_lock(&c->lock);
    room = ring_used(c) + n <= mask;
    if (room) {
        for (i = 0; i < n; i++) {
            hc_copy64(base + ((c->pi + i) & mask) * A350_WQEBB_SIZE,
                      &q->w[16 * i]);
        }
        b->last = (uint32_t *)(base + (c->pi & mask) * A350_WQEBB_SIZE);
        b->blocks += n;
        __atomic_store_n(&c->pi, (c->pi + n) & 0xffff, __ATOMIC_RELEASE);
    }
    hc_unlock(&c->lock);
    return room;
}

int32_t hc_ring(hc_burst *b)
{
    a350_sqe sqe HC_ALIGNED;

    b->blocks = 0;
    if (hc_self()->capture) {
        hc_cache_ring(b);
    }
    a350_sqe_ubdma_db(&sqe, 0, b->c->jetty_id,
                      (uint16_t)__atomic_load_n(&b->c->pi, __ATOMIC_ACQUIRE));
    return hc_push(b->t, &sqe, b->call);
}

static int32_t ring_full(hc_burst *b, bool stopped)
{
    char name[HC_NAME_LEN];

    hc_cache_spoil();
    hc_log(HC_ERROR, "%s: %s: send queue of %u blocks is full, %s", b->call,
           hc_channel_name(b->c, name), b->c->jetty_depth,
           stopped ? "and the thread's queue is stopped by an error" :
           "and stayed so for the time of HcommThreadResAcquireTimeOut");
    return HCCL_E_INTERNAL;
}

/*
 * A full ring empties as its doorbells are reached: those of this operation
 * are queued and those staged in batch mode launched, then it is a matter of
 * time.
 */
static __attribute__((noinline)) int32_t put_waiting(hc_burst *b,
                                                     const a350_wqe *q)
{
    hc_wait wait;
    int32_t ret;

    hc_wait_start(&wait, hc_self()->queue_timeout);
    while (!ring_put(b, q)) {
        if (b->blocks) {
            *b->last |= A350_WQE_CQE;
            ret = hc_ring(b);
            if (ret != HCCL_SUCCESS) {
                return ret;
            }
        }
        hc_flush_some();
        if (!hc_queue_enabled(b->t)) {
            return ring_full(b, true);
        }
        if (!hc_wait_step(&wait)) {
            return ring_full(b, false);
        }
    }
    return HCCL_SUCCESS;
}

int32_t hc_put(hc_burst *b, const a350_wqe *q)
{
    int32_t ret = ring_put(b, q) ? HCCL_SUCCESS : put_waiting(b, q);

    if (hc_self()->capture) {
        hc_cache_wqe(b, q);
    }
    return ret;
}

/* ---- entries ---- */

/* Flags of a slice of a data operation, transport.md §3 below the table. */
static uint32_t slice_flags(enum hc_place place, bool fenced, bool first,
                            bool final)
{
    uint32_t cqe = final && place != HC_INNER ? A350_WQE_CQE : 0;

    if (fenced || place == HC_LAST) {
        return HC_F_STRONG | cqe;
    }
    if (place == HC_INNER) {
        return HC_F_BATCH;
    }
    return final ? HC_F_STRONG | cqe : first ? HC_F_FIRST : HC_F_MIDDLE;
}

_Static_assert(offsetof(a350_channel_obj, peer_eid) % 8 == 0 &&
               A350_EID_LEN == 16, "two aligned words");

/* @rmt is HC_ALIGNED. */
static void peer_of(const a350_channel_obj *c, const a350_mem_token *m,
                    a350_ub_remote *rmt)
{
    memcpy(__builtin_assume_aligned(rmt->eid, 8),
           __builtin_assume_aligned(c->peer_eid, 8), A350_EID_LEN);
    rmt->token_id = m->token_id;
    rmt->token_value = m->token_value;
}

static int32_t post_data(hc_burst *b, const hc_xfer *x, enum hc_place place)
{
    a350_channel_obj *c = b->c;
    bool fenced = __atomic_exchange_n(&c->fence, 0, __ATOMIC_RELAXED);
    uint64_t max = c->max_msg - c->max_msg % (x->elem ? x->elem : 1);
    const a350_mem_token *n = &c->remote_notify[x->notify_idx];
    uint64_t pos = 0, len;
    a350_ub_remote rmt HC_ALIGNED;
    uint32_t flags;
    int32_t ret;
    a350_wqe q HC_ALIGNED;
    bool final;

    peer_of(c, x->mem, &rmt);
    do {
        len = x->len - pos < max ? x->len - pos : max;
        final = pos + len == x->len;
        flags = slice_flags(place, fenced, pos == 0, final);
        if (final && x->notify) {
            a350_wqe_write_notify(&q, flags, &rmt, x->remote + pos, c->tpn,
                                  x->local + pos, (uint32_t)len,
                                  x->local_token, n->addr, n->token_id,
                                  n->token_value, 1);
        } else {
            a350_wqe_rw(&q, x->opcode, flags, &rmt, x->remote + pos, c->tpn,
                        x->local + pos, (uint32_t)len, x->local_token);
        }
        if (x->reduce && len) {
            a350_wqe_set_reduce(&q, x->red_op, x->red_type);
        }
        ret = hc_put(b, &q);
        pos += len;
    } while (ret == HCCL_SUCCESS && pos < x->len);
    return ret;
}

/* A record neither uses nor clears the fence: transport.md §3. */
static int32_t post_record(hc_burst *b, const hc_xfer *x, enum hc_place place)
{
    const a350_mem_token *n = &b->c->remote_notify[x->notify_idx];
    uint32_t flags = HC_F_STRONG | A350_WQE_CQE;
    a350_ub_remote rmt HC_ALIGNED;
    a350_wqe q HC_ALIGNED;

    if (place == HC_INNER && x->notify_idx != 1) {
        flags = HC_F_BATCH;
    }
    peer_of(b->c, n, &rmt);
    a350_wqe_inline4(&q, flags, &rmt, n->addr, b->c->tpn, 1);
    return hc_put(b, &q);
}

int32_t hc_post(hc_burst *b, const hc_xfer *x, enum hc_place place)
{
    if (x->record) {
        return post_record(b, x, place);
    }
    if (x->len == 0 && !x->notify) {
        return HCCL_SUCCESS;     /* the doorbell alone, transport.md §3 (d) */
    }
    return post_data(b, x, place);
}
