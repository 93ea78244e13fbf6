/*
 * Atlas 350 virtual card: life of UB jetties, and of the UB block.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "block/aio.h"
#include "exec/memattrs.h"
#include "qemu/atomic.h"
#include "qemu/host-utils.h"
#include "qemu/lockable.h"
#include "qemu/queue.h"
#include "ub-int.h"
#include "trace.h"

/* Where the card looks first for a free jetty id: STARS' own range. */
#define JETTY_ID_FIRST      1216u
/* Reserved for CCU (spec/hw/transport.md §1); only an explicit id is there. */
#define JETTY_ID_CCU_FIRST  1024u
#define JETTY_ID_CCU_LAST   1151u

#define JETTY_FLAGS         (A350_JETTY_F_DIRECT | A350_JETTY_F_CONTINUE)
#define JETTY_ERR_TIMEOUT_MAX 31u

const char *a350_ub_jetty_map(A350Ub *ub, A350Jetty *j)
{
    A350Card *c = ub->card;

    if (j->depth < A350_JETTY_DEPTH_MIN || j->depth > A350_JETTY_DEPTH_MAX ||
        !is_power_of_2(j->depth)) {
        return "depth";
    }
    if (j->flags & ~JETTY_FLAGS) {
        return "flags";
    }
    if (j->err_timeout > JETTY_ERR_TIMEOUT_MAX) {
        return "err_timeout";
    }
    j->ring = NULL;
    if (!(j->flags & A350_JETTY_F_DIRECT)) {
        j->ring = a350_hbm_ptr(c, j->base, j->depth * A350_WQEBB_SIZE);
        if (!j->ring || j->base % A350_WQEBB_SIZE) {
            return "base";
        }
    }
    j->ci_mirror = NULL;
    if (j->ci_addr) {
        j->ci_mirror = a350_hbm_ptr(c, j->ci_addr, sizeof(uint32_t));
        if (!j->ci_mirror || j->ci_addr % sizeof(uint32_t)) {
            return "ci_addr";
        }
    }
    return NULL;
}

static uint32_t jetty_bad_argument(A350Card *c, const A350Jetty *j,
                                   const char *what, char *msg)
{
    if (!strcmp(what, "depth")) {
        snprintf(msg, A350_ADMIN_MSG_SIZE, "jetty depth %u: a power of two "
                 "from %u to %u blocks", j->depth, A350_JETTY_DEPTH_MIN,
                 A350_JETTY_DEPTH_MAX);
    } else if (!strcmp(what, "flags")) {
        snprintf(msg, A350_ADMIN_MSG_SIZE, "jetty flags 0x%x: bits 0x%x only",
                 j->flags, JETTY_FLAGS);
    } else if (!strcmp(what, "err_timeout")) {
        snprintf(msg, A350_ADMIN_MSG_SIZE, "jetty error timeout %u: 0 to %u",
                 j->err_timeout, JETTY_ERR_TIMEOUT_MAX);
    } else if (!strcmp(what, "base")) {
        snprintf(msg, A350_ADMIN_MSG_SIZE, "jetty ring 0x%" PRIx64 " of %u "
                 "blocks is not 64-byte aligned HBM of card %u", j->base,
                 j->depth, c->index);
        return A350_ADM_E_ADDRESS;
    } else {
        snprintf(msg, A350_ADMIN_MSG_SIZE, "jetty ci_addr 0x%" PRIx64 " is not "
                 "4-byte aligned HBM of card %u", j->ci_addr, c->index);
        return A350_ADM_E_ADDRESS;
    }
    return A350_ADM_E_RANGE;
}

/* With the lock held. */
static uint32_t jetty_choose_id(A350Ub *ub, uint32_t *id, char *msg)
{
    uint32_t i, n;

    if (*id != A350_ID_ANY) {
        if (*id >= A350_JETTY_MAX) {
            snprintf(msg, A350_ADMIN_MSG_SIZE, "jetty %u: 0 to %u", *id,
                     A350_JETTY_MAX - 1);
            return A350_ADM_E_RANGE;
        }
        if (ub->jetty[*id]) {
            snprintf(msg, A350_ADMIN_MSG_SIZE, "jetty %u of card %u exists "
                     "already", *id, ub->card->index);
            return A350_ADM_E_EXISTS;
        }
        return A350_ADM_OK;
    }
    for (n = 0; n < A350_JETTY_MAX; n++) {
        i = (JETTY_ID_FIRST + n) % A350_JETTY_MAX;
        if (!ub->jetty[i] &&
            (i < JETTY_ID_CCU_FIRST || i > JETTY_ID_CCU_LAST)) {
            *id = i;
            return A350_ADM_OK;
        }
    }
    snprintf(msg, A350_ADMIN_MSG_SIZE, "all jetties of card %u are in use",
             ub->card->index);
    return A350_ADM_E_NO_RESOURCE;
}

void a350_ub_jetty_init(A350Ub *ub, A350Jetty *j)
{
    j->ub = ub;
    j->local_pin = -1;
    j->req.card = ub->card;
    j->req.done = a350_ub_request_done;
    j->req.opaque = j;
    QTAILQ_INIT(&j->waiters);
}

void a350_ub_jetty_add(A350Ub *ub, A350Jetty *j)
{
    ub->jetty[j->id] = j;
    QTAILQ_INSERT_TAIL(&ub->all, j, all);
}

uint32_t a350_ub_jetty_create(A350Card *c, a350_jetty_create *arg, char *msg)
{
    A350Ub *ub = c->ub;
    g_autofree A350Jetty *j = g_new0(A350Jetty, 1);
    const char *wrong;
    uint32_t result;

    a350_ub_jetty_init(ub, j);
    j->depth = arg->depth;
    j->flags = arg->flags;
    j->err_timeout = arg->err_timeout;
    j->rank = arg->rank;
    j->peer_rank = arg->peer_rank;
    j->base = arg->base;
    j->ci_addr = arg->ci_addr;
    j->state = A350_JETTY_READY;
    wrong = a350_ub_jetty_map(ub, j);
    if (wrong) {
        return jetty_bad_argument(c, j, wrong, msg);
    }
    QEMU_LOCK_GUARD(&ub->lock);
    result = jetty_choose_id(ub, &arg->jetty_id, msg);
    if (result != A350_ADM_OK) {
        return result;
    }
    j->id = arg->jetty_id;
    if (j->ci_mirror) {
        qatomic_set(j->ci_mirror, 0);
    }
    trace_atlas350_ub_jetty_create(c->index, j->id, j->base, j->depth,
                                   j->flags);
    a350_ub_jetty_add(ub, g_steal_pointer(&j));
    return A350_ADM_OK;
}

/*
 * Nothing runs on @j and nothing is in flight when this returns; what was in
 * hand is dropped. With the lock held, which it may leave meanwhile.
 */
static void jetty_quiesce(A350Ub *ub, A350Jetty *j)
{
    bool cancelled;

    j->stop = true;
    while (j->pumping) {
        qemu_cond_wait(&ub->idle, &ub->lock);
    }
    if (j->in_ready) {
        QTAILQ_REMOVE(&ub->ready, j, ready);
        j->in_ready = false;
    }
    if (j->exec == A350_EXEC_RUNNING) {
        qemu_mutex_unlock(&ub->lock);
        cancelled = a350_fabric_cancel(ub->card->fabric, &j->req);
        qemu_mutex_lock(&ub->lock);
        assert(cancelled || j->exec == A350_EXEC_DONE);
    }
    a350_seg_unpin(ub, j->local_pin);
    j->local_pin = -1;
    j->exec = A350_EXEC_NONE;
    j->resumable = false;
    j->owned = false;
}

static A350Jetty *jetty_find_msg(A350Ub *ub, uint32_t id, char *msg)
{
    A350Jetty *j = id < A350_JETTY_MAX ? ub->jetty[id] : NULL;

    if (!j) {
        snprintf(msg, A350_ADMIN_MSG_SIZE, "there is no jetty %u on card %u",
                 id, ub->card->index);
    }
    return j;
}

uint32_t a350_ub_jetty_destroy(A350Card *c, uint32_t jetty, char *msg)
{
    A350Ub *ub = c->ub;
    A350UbWaiterList fire = QTAILQ_HEAD_INITIALIZER(fire);
    A350Jetty *j;

    QEMU_LOCK_GUARD(&ub->admin_lock);
    QEMU_LOCK_GUARD(&ub->lock);
    j = jetty_find_msg(ub, jetty, msg);
    if (!j) {
        return A350_ADM_E_NOT_FOUND;
    }
    trace_atlas350_ub_jetty_destroy(c->index, jetty);
    ub->jetty[jetty] = NULL;
    jetty_quiesce(ub, j);
    QTAILQ_REMOVE(&ub->all, j, all);
    a350_ub_collect_flushed(j, &fire);
    g_free(j);
    a350_ub_fire_all(ub, &fire);
    return A350_ADM_OK;
}

uint32_t a350_ub_jetty_reset(A350Card *c, uint32_t jetty, char *msg)
{
    A350Ub *ub = c->ub;
    A350UbWaiterList fire = QTAILQ_HEAD_INITIALIZER(fire);
    A350Jetty *j;

    QEMU_LOCK_GUARD(&ub->admin_lock);
    QEMU_LOCK_GUARD(&ub->lock);
    j = jetty_find_msg(ub, jetty, msg);
    if (!j) {
        return A350_ADM_E_NOT_FOUND;
    }
    trace_atlas350_ub_jetty_reset(c->index, jetty);
    jetty_quiesce(ub, j);
    a350_ub_collect_flushed(j, &fire);
    j->state = A350_JETTY_READY;
    j->status = j->sub_status = 0;
    j->pi = j->ci = 0;
    if (j->ci_mirror) {
        qatomic_store_release(j->ci_mirror, 0);
    }
    j->stop = false;
    a350_ub_fire_all(ub, &fire);
    return A350_ADM_OK;
}

uint32_t a350_ub_jetty_query(A350Card *c, uint32_t jetty,
                             a350_jetty_query_rsp *rsp, char *msg)
{
    A350Ub *ub = c->ub;
    A350Jetty *j;

    QEMU_LOCK_GUARD(&ub->lock);
    j = jetty_find_msg(ub, jetty, msg);
    if (!j) {
        return A350_ADM_E_NOT_FOUND;
    }
    *rsp = (a350_jetty_query_rsp) {
        .jetty_id = j->id,
        .state = j->state,
        .depth = j->depth,
        .pi = j->pi & 0xffff,
        .ci = j->ci & 0xffff,
        .status = j->status,
        .sub_status = j->sub_status,
    };
    return A350_ADM_OK;
}

/* ---- the block ---- */

void a350_ub_pause(A350Card *c)
{
    A350Ub *ub = c->ub;

    QEMU_LOCK_GUARD(&ub->lock);
    ub->paused = true;
    while (ub->active) {
        qemu_cond_wait(&ub->idle, &ub->lock);
    }
}

void a350_ub_resume(A350Card *c)
{
    A350Ub *ub = c->ub;
    A350Jetty *j;

    QEMU_LOCK_GUARD(&ub->lock);
    ub->paused = false;
    QTAILQ_FOREACH(j, &ub->all, all) {
        if (!j->owned && (j->exec != A350_EXEC_NONE || j->ci != j->pi ||
                          !QTAILQ_EMPTY(&j->waiters))) {
            j->owned = true;
            j->in_ready = true;
            QTAILQ_INSERT_TAIL(&ub->ready, j, ready);
        }
    }
    if (!QTAILQ_EMPTY(&ub->ready)) {
        qemu_bh_schedule(ub->bh);
    }
}

static void jetty_free(A350Jetty *j)
{
    A350UbWaiter *w;

    while ((w = QTAILQ_FIRST(&j->waiters))) {
        QTAILQ_REMOVE(&j->waiters, w, next);
        g_free(w);
    }
    g_free(j);
}

void a350_ub_reset(A350Card *c)
{
    A350Ub *ub = c->ub;
    bool was_paused;
    A350Jetty *j;

    trace_atlas350_ub_reset(c->index);
    qemu_mutex_lock(&ub->admin_lock);
    qemu_mutex_lock(&ub->lock);
    was_paused = ub->paused;
    ub->paused = true;
    while (ub->active) {
        qemu_cond_wait(&ub->idle, &ub->lock);
    }
    while ((j = QTAILQ_FIRST(&ub->all))) {
        /* One that was refused by a load has no place in the table. */
        if (j->id < A350_JETTY_MAX && ub->jetty[j->id] == j) {
            ub->jetty[j->id] = NULL;
        }
        jetty_quiesce(ub, j);
        QTAILQ_REMOVE(&ub->all, j, all);
        jetty_free(j);
    }
    qatomic_set(&ub->inject_count, 0);
    ub->paused = was_paused;
    qemu_mutex_unlock(&ub->lock);
    qemu_mutex_unlock(&ub->admin_lock);
    a350_seg_reset(ub);
}

void a350_ub_init(A350Card *c)
{
    A350Ub *ub = g_new0(A350Ub, 1);

    c->ub = ub;
    ub->card = c;
    ub->jetty = g_new0(A350Jetty *, A350_JETTY_MAX);
    ub->bh = aio_bh_new(c->ctx, a350_ub_bh, ub);
    QTAILQ_INIT(&ub->all);
    QTAILQ_INIT(&ub->ready);
    QTAILQ_INIT(&ub->firing);
    qemu_mutex_init(&ub->admin_lock);
    qemu_mutex_init(&ub->lock);
    qemu_cond_init(&ub->idle);
    a350_seg_init(ub);
}

void a350_ub_destroy(A350Card *c)
{
    A350Ub *ub = c->ub;

    if (!ub) {
        return;
    }
    a350_ub_reset(c);
    qemu_bh_delete(ub->bh);
    a350_seg_destroy(ub);
    qemu_cond_destroy(&ub->idle);
    qemu_mutex_destroy(&ub->lock);
    qemu_mutex_destroy(&ub->admin_lock);
    g_free(ub->jetty);
    g_free(ub);
    c->ub = NULL;
}
