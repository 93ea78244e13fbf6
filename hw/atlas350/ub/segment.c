/*
 * Atlas 350 virtual card: UB segments, registered memory with its tokens.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A token id is 20 bits: the index of the segment, and above it a generation
 * of 1 to 15 that changes when an index is used again, so that the token of a
 * segment that is gone does not open its successor.
 */
#include "qemu/osdep.h"
#include "block/aio.h"
#include "exec/memattrs.h"
#include "qemu/atomic.h"
#include "qemu/lockable.h"
#include "qemu/queue.h"
#include "ub-int.h"
#include "trace.h"

#define SEG_GENERATIONS     16u

static uint32_t seg_index(uint32_t token_id)
{
    return token_id & (A350_SEGMENT_MAX - 1);
}

static uint32_t seg_next_token(const A350Segment *s, uint32_t index)
{
    uint32_t gen = (s->token_id >> A350_SEGMENT_INDEX_BITS) + 1;

    if (gen >= SEG_GENERATIONS) {
        gen = 1;
    }
    return (gen << A350_SEGMENT_INDEX_BITS) | index;
}

/* Own HBM, own notify registers, or host memory. */
static bool seg_range_ok(A350Card *c, uint64_t base, uint64_t length)
{
    uint64_t reg = base - c->dev_base - A350_DEV_REG_OFFSET;

    if (a350_addr_is_host(base)) {
        return length <= A350_DEV_FIRST - base;
    }
    if (a350_hbm_ptr(c, base, length)) {
        return true;
    }
    return (reg - A350_REG_NOTIFY < A350_REG_NOTIFY_SIZE &&
            length <= A350_REG_NOTIFY_SIZE - (reg - A350_REG_NOTIFY)) ||
           (reg - A350_REG_CNT_NOTIFY < A350_REG_CNT_NOTIFY_SIZE &&
            length <= A350_REG_CNT_NOTIFY_SIZE - (reg - A350_REG_CNT_NOTIFY));
}

static uint32_t seg_check_args(A350Card *c, const a350_seg_register *arg,
                               char *msg)
{
    uint32_t known = A350_SEG_LOCAL_ONLY | A350_SEG_READ | A350_SEG_WRITE |
                     A350_SEG_ATOMIC;

    if (arg->length == 0) {
        snprintf(msg, A350_ADMIN_MSG_SIZE, "segment length 0: must be more");
        return A350_ADM_E_RANGE;
    }
    if (arg->access & ~known) {
        snprintf(msg, A350_ADMIN_MSG_SIZE, "segment access 0x%x: bits 0x%x "
                 "only", arg->access, known);
        return A350_ADM_E_RANGE;
    }
    if (arg->flags) {
        snprintf(msg, A350_ADMIN_MSG_SIZE, "segment flags 0x%x: must be 0",
                 arg->flags);
        return A350_ADM_E_RANGE;
    }
    if (!seg_range_ok(c, arg->base, arg->length)) {
        snprintf(msg, A350_ADMIN_MSG_SIZE, "segment 0x%" PRIx64 " + 0x%" PRIx64
                 " is not HBM or notify registers of card %u, nor host memory",
                 arg->base, arg->length, c->index);
        return A350_ADM_E_ADDRESS;
    }
    return A350_ADM_OK;
}

/* A free index, the one longest unused first; A350_SEGMENT_MAX if none. */
static uint32_t seg_find_free(A350Ub *ub)
{
    uint32_t i, n;

    for (n = 0; n < A350_SEGMENT_MAX; n++) {
        i = (ub->seg_hint + n) % A350_SEGMENT_MAX;
        if (!ub->seg[i].valid && !qatomic_read(&ub->seg[i].users)) {
            ub->seg_hint = (i + 1) % A350_SEGMENT_MAX;
            return i;
        }
    }
    return A350_SEGMENT_MAX;
}

uint32_t a350_ub_seg_register(A350Card *c, a350_seg_register *arg, char *msg)
{
    uint32_t result = seg_check_args(c, arg, msg);
    A350Ub *ub = c->ub;
    A350Segment *s;
    uint32_t i;

    if (result != A350_ADM_OK) {
        return result;
    }
    QEMU_LOCK_GUARD(&ub->seg_lock);
    i = ub->seg_count < A350_SEGMENT_MAX ? seg_find_free(ub) : A350_SEGMENT_MAX;
    if (i == A350_SEGMENT_MAX) {
        snprintf(msg, A350_ADMIN_MSG_SIZE, "all %u segments of card %u are "
                 "in use", A350_SEGMENT_MAX, c->index);
        return A350_ADM_E_NO_RESOURCE;
    }
    s = &ub->seg[i];
    s->token_id = seg_next_token(s, i);
    s->token_value = arg->token_value;
    s->access = arg->access;
    s->base = arg->base;
    s->length = arg->length;
    s->valid = true;
    ub->seg_count++;
    arg->token_id = s->token_id;
    trace_atlas350_ub_seg_register(c->index, s->token_id, s->base, s->length,
                                   s->access);
    return A350_ADM_OK;
}

uint32_t a350_ub_seg_unregister(A350Card *c, uint32_t token_id, char *msg)
{
    A350Ub *ub = c->ub;
    A350Segment *s = &ub->seg[seg_index(token_id)];
    uint32_t users;

    QEMU_LOCK_GUARD(&ub->seg_lock);
    if (!s->valid || s->token_id != token_id) {
        snprintf(msg, A350_ADMIN_MSG_SIZE, "token id 0x%x names no segment of "
                 "card %u", token_id, c->index);
        return A350_ADM_E_NOT_FOUND;
    }
    users = qatomic_read(&s->users);
    if (users) {
        /* Peers that go on asking would keep it for as long as they like. */
        s->access = A350_SEG_LOCAL_ONLY;
        snprintf(msg, A350_ADMIN_MSG_SIZE, "segment of token id 0x%x is in use "
                 "by %u transfers in flight", token_id, users);
        return A350_ADM_E_BUSY;
    }
    s->valid = false;
    ub->seg_count--;
    trace_atlas350_ub_seg_unregister(c->index, token_id);
    return A350_ADM_OK;
}

static const char *seg_denied(uint32_t missing)
{
    if (missing & A350_SEG_READ) {
        return "segment grants no read access";
    }
    if (missing & A350_SEG_WRITE) {
        return "segment grants no write access";
    }
    return "segment grants no atomic access, which a reduction needs";
}

static const char *seg_refusal(const A350Segment *s, uint32_t token_id,
                               const uint32_t *token_value, uint64_t addr,
                               uint64_t len, uint32_t access)
{
    if (!s->valid || s->token_id != token_id) {
        return "token id names no segment";
    }
    if (token_value && *token_value != s->token_value) {
        return "token value is not that of the segment";
    }
    if (addr < s->base || addr - s->base > s->length ||
        len > s->length - (addr - s->base)) {
        return "range is not inside the segment of its token";
    }
    if (access && (s->access & A350_SEG_LOCAL_ONLY)) {
        return "segment is for local use only";
    }
    return access & ~s->access ? seg_denied(access & ~s->access) : NULL;
}

int32_t a350_seg_pin(A350Ub *ub, uint32_t token_id,
                     const uint32_t *token_value, uint64_t addr,
                     uint64_t len, uint32_t access, const char **reason)
{
    uint32_t index = seg_index(token_id);
    A350Segment *s = &ub->seg[index];

    QEMU_LOCK_GUARD(&ub->seg_lock);
    *reason = seg_refusal(s, token_id, token_value, addr, len, access);
    if (*reason) {
        return -1;
    }
    qatomic_inc(&s->users);
    qatomic_inc(&ub->seg_pins);
    return index;
}

void a350_seg_unpin(A350Ub *ub, int32_t index)
{
    if (index >= 0) {
        smp_mb__before_rmw();
        qatomic_dec(&ub->seg[index].users);
        qatomic_dec(&ub->seg_pins);
    }
}

void a350_seg_reset(A350Ub *ub)
{
    uint32_t i;

    qemu_mutex_lock(&ub->seg_lock);
    for (i = 0; i < A350_SEGMENT_MAX && ub->seg_count; i++) {
        if (ub->seg[i].valid) {
            ub->seg[i].valid = false;
            ub->seg_count--;
        }
    }
    qemu_mutex_unlock(&ub->seg_lock);
    /* A request that passed its check just now may not have a job yet. */
    while (qatomic_read(&ub->seg_pins)) {
        a350_fabric_drop_inbound(ub->card);
        g_usleep(10);
    }
}

bool a350_seg_restore(A350Ub *ub, const A350Segment *saved)
{
    uint32_t index = seg_index(saved->token_id);
    A350Segment *s = &ub->seg[index];

    if (s->valid || saved->token_id > A350_TOKEN_ID_MASK ||
        saved->token_id >> A350_SEGMENT_INDEX_BITS == 0 || !saved->length ||
        !seg_range_ok(ub->card, saved->base, saved->length)) {
        return false;
    }
    s->token_id = saved->token_id;
    s->token_value = saved->token_value;
    s->access = saved->access;
    s->base = saved->base;
    s->length = saved->length;
    s->valid = true;
    ub->seg_count++;
    ub->seg_hint = (index + 1) % A350_SEGMENT_MAX;
    return true;
}

uint8_t *a350_seg_get_gens(A350Ub *ub, uint32_t *num)
{
    uint8_t *gens;
    uint32_t i, n = A350_SEGMENT_MAX;

    while (n && !ub->seg[n - 1].token_id) {
        n--;
    }
    gens = g_new(uint8_t, n);
    for (i = 0; i < n; i++) {
        gens[i] = ub->seg[i].token_id >> A350_SEGMENT_INDEX_BITS;
    }
    *num = n;
    return gens;
}

void a350_seg_set_gens(A350Ub *ub, const uint8_t *gens, uint32_t num,
                       uint32_t hint)
{
    uint32_t i;

    for (i = 0; i < num; i++) {
        if (!ub->seg[i].valid && gens[i] < SEG_GENERATIONS) {
            ub->seg[i].token_id = (uint32_t)gens[i] << A350_SEGMENT_INDEX_BITS;
        }
    }
    ub->seg_hint = hint % A350_SEGMENT_MAX;
}

void a350_seg_init(A350Ub *ub)
{
    qemu_mutex_init(&ub->seg_lock);
    ub->seg = g_new0(A350Segment, A350_SEGMENT_MAX);
}

void a350_seg_destroy(A350Ub *ub)
{
    g_free(ub->seg);
    qemu_mutex_destroy(&ub->seg_lock);
}
