/*
 * Atlas 350 virtual card: the UB engine, which executes jetties.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * spec/hw/transport.md §2-§4. ub-int.h explains how a jetty is run.
 */
#include "qemu/osdep.h"
#include "block/aio.h"
#include "exec/memattrs.h"
#include "qemu/atomic.h"
#include "qemu/lockable.h"
#include "qemu/log.h"
#include "qemu/queue.h"
#include "ub-int.h"
#include "trace.h"

/*
 * What a jetty may do in one turn before it lets others go on: some 80 us. A
 * turn's end costs a round of the thread's event loop, 4 us.
 */
#define TURN_REQUESTS   64u
#define TURN_BYTES      (1024u * 1024)

/* So many entries in hand are a list: see bulk.h. */
#define BULK_BLOCKS     16u

static const char jetty_had_stopped[] = "the jetty had stopped; reset it";

static A350Jetty *jetty_find(A350Ub *ub, uint32_t id)
{
    return id < A350_JETTY_MAX ? ub->jetty[id] : NULL;
}

static uint32_t jetty_slot(const A350Jetty *j, uint64_t block)
{
    return block & (j->depth - 1);
}

/* ---- waiters; all with the lock held ---- */

static void result_init(A350UbResult *r, const A350Jetty *j, uint8_t status,
                        uint8_t sub, uint64_t ci, const char *reason)
{
    memset(r, 0, sizeof(*r));
    r->status = status;
    r->sub_status = sub;
    r->jetty = j->id;
    r->ci = ci;
    r->peer_card = A350_ID_NONE;
    r->reason = reason;
}

static void waiter_fire(A350Jetty *j, A350UbWaiter *w, const A350UbResult *r,
                        A350UbWaiterList *fire)
{
    QTAILQ_REMOVE(&j->waiters, w, next);
    w->result = *r;
    QTAILQ_INSERT_TAIL(fire, w, next);
    /* Where a350_ub_forget finds it until its callback has returned. */
    QTAILQ_INSERT_TAIL(&j->ub->firing, w, firing);
}

static void fire_reached(A350Jetty *j, A350UbWaiterList *fire)
{
    A350UbWaiter *w, *following;
    A350UbResult r;

    QTAILQ_FOREACH_SAFE(w, &j->waiters, next, following) {
        if (w->target <= j->ci) {
            result_init(&r, j, A350_UB_OK, 0, j->ci, NULL);
            waiter_fire(j, w, &r, fire);
        }
    }
}

void a350_ub_collect_flushed(A350Jetty *j, A350UbWaiterList *fire)
{
    A350UbWaiter *w, *following;
    A350UbResult r;

    result_init(&r, j, A350_UB_ERR_FLUSHED, 0, j->ci, jetty_had_stopped);
    QTAILQ_FOREACH_SAFE(w, &j->waiters, next, following) {
        waiter_fire(j, w, &r, fire);
    }
}

/* The request at block @at has failed: those who rang for it learn it. */
static void fire_failed(A350Jetty *j, uint64_t at, const A350UbResult *r,
                        A350UbWaiterList *fire)
{
    A350UbWaiter *w, *following;

    QTAILQ_FOREACH_SAFE(w, &j->waiters, next, following) {
        if (w->start <= at && at < w->target) {
            waiter_fire(j, w, r, fire);
        }
    }
}

void a350_ub_fire_all(A350Ub *ub, A350UbWaiterList *fire)
{
    A350UbWaiter *w;
    A350UbDone *done;

    while ((w = QTAILQ_FIRST(fire))) {
        QTAILQ_REMOVE(fire, w, next);
        done = w->done;
        if (done) {
            w->calling = true;
            w->caller = pthread_self();
            qemu_mutex_unlock(&ub->lock);
            done(w->opaque, &w->result);
            qemu_mutex_lock(&ub->lock);
            qemu_cond_broadcast(&ub->idle);
        }
        QTAILQ_REMOVE(&ub->firing, w, firing);
        g_free(w);
    }
}

/* ---- indices and states; all with the lock held ---- */

/* Whoever sees the new index in memory sees the data of these requests. */
static void jetty_set_ci(A350Jetty *j, uint64_t ci)
{
    j->ci = ci;
    if (j->ci_mirror) {
        qatomic_store_release(j->ci_mirror, cpu_to_le32(ci & 0xffff));
    }
}

static bool jetty_stopped(const A350Jetty *j)
{
    return j->state != A350_JETTY_READY;
}

/* What is left completes with status 6 (spec/hw/transport.md §4). */
static void jetty_flush(A350Jetty *j, A350UbWaiterList *fire)
{
    if (j->pi != j->ci) {
        trace_atlas350_ub_flush(j->ub->card->index, j->id, j->pi - j->ci);
        jetty_set_ci(j, j->pi);
    }
    a350_ub_collect_flushed(j, fire);
}

/*
 * A request that was refused suspends its jetty, unless it was created to
 * continue; a link that is gone ends it in any case.
 */
static void jetty_failed(A350Jetty *j, uint64_t at, A350UbWaiterList *fire)
{
    A350UbReq *q = &j->req;
    bool link = q->status == A350_UB_ERR_RETRY ||
                q->status == A350_UB_ERR_ACK_TIMEOUT;
    A350UbResult r;

    trace_atlas350_ub_error(j->ub->card->index, j->id, at, q->status,
                            q->sub_status, q->reason);
    qemu_log_mask(LOG_GUEST_ERROR, "atlas350: card %u, jetty %u, entry %u: "
                  "UB status %u/%u: %s\n", j->ub->card->index, j->id,
                  (unsigned)at & 0xffff, q->status, q->sub_status, q->reason);
    result_init(&r, j, q->status, q->sub_status, at, q->reason);
    r.address = q->error_addr;
    r.length = q->error_len;
    r.peer_card = q->peer;
    j->status = q->status;
    j->sub_status = q->sub_status;
    fire_failed(j, at, &r, fire);
    if (link) {
        j->state = A350_JETTY_ERROR;
    } else if (!(j->flags & A350_JETTY_F_CONTINUE)) {
        j->state = A350_JETTY_SUSPEND;
    }
    if (jetty_stopped(j)) {
        trace_atlas350_ub_jetty_stopped(j->ub->card->index, j->id, j->state);
    }
}

static void jetty_complete(A350Jetty *j, A350UbWaiterList *fire)
{
    uint64_t at = j->ci;

    a350_seg_unpin(j->ub, j->local_pin);
    j->local_pin = -1;
    j->exec = A350_EXEC_NONE;
    j->resumable = false;
    jetty_set_ci(j, at + j->blocks);
    if (j->req.status != A350_UB_OK) {
        jetty_failed(j, at, fire);
    }
}

/* ---- fetching ---- */

static A350UbWaiter *direct_waiter(A350Jetty *j)
{
    A350UbWaiter *w;

    QTAILQ_FOREACH(w, &j->waiters, next) {
        if (w->start == j->ci) {
            return w;
        }
    }
    return NULL;
}

static void jetty_refuse(A350Jetty *j, const A350UbError *err)
{
    A350UbReq *q = &j->req;

    q->status = err->status;
    q->sub_status = err->sub_status;
    q->reason = err->reason;
    q->error_addr = err->addr;
    q->error_len = err->len;
    q->peer = A350_ID_NONE;
    j->exec = A350_EXEC_DONE;
}

/* Copies the next entry out of the ring, once. With the lock held. */
static void jetty_fetch(A350Jetty *j)
{
    A350UbError err = {
        A350_UB_ERR_LOCAL, A350_UB_SUB_LOCAL_LENGTH,
        "the producer index is inside a two-block entry", 0, 0,
    };
    A350UbWaiter *w;

    j->req.start = 0;
    j->req.bulk = j->pi - j->ci >= BULK_BLOCKS;
    j->exec = A350_EXEC_SUBMIT;
    if (j->flags & A350_JETTY_F_DIRECT) {
        w = direct_waiter(j);
        j->wqe = w->wqe;
        j->blocks = w->target - w->start;
        return;
    }
    memcpy(&j->wqe, j->ring + jetty_slot(j, j->ci) * A350_WQEBB_SIZE,
           A350_WQEBB_SIZE);
    j->blocks = a350_wqe_blocks(&j->wqe);
    if (j->blocks > j->pi - j->ci) {
        j->blocks = j->pi - j->ci;
        jetty_refuse(j, &err);
    } else if (j->blocks == 2) {
        memcpy((uint8_t *)&j->wqe + A350_WQEBB_SIZE,
               j->ring + jetty_slot(j, j->ci + 1) * A350_WQEBB_SIZE,
               A350_WQEBB_SIZE);
    }
}

/* A fault that was asked for; with the lock held. */
static bool jetty_injected(A350Jetty *j)
{
    A350Ub *ub = j->ub;
    A350UbError err = {
        ub->inject_status, 0,
        ub->inject_status == A350_UB_ERR_RETRY ?
            "transaction retry exceeded (injected)" : "ACK timeout (injected)",
        j->req.remote, j->req.len,
    };

    if (!ub->inject_count ||
        (ub->inject_jetty != A350_ID_ANY && ub->inject_jetty != j->id)) {
        return false;
    }
    ub->inject_count--;
    jetty_refuse(j, &err);
    j->req.peer = a350_eid_card(j->req.eid);
    return true;
}

/* ---- the pump ---- */

/*
 * Carries out j->wqe. Called with the lock and returns with it; true if the
 * request has ended, false if it will end in a350_ub_request_done.
 */
static bool jetty_execute(A350Jetty *j, uint64_t *bytes)
{
    A350Ub *ub = j->ub;
    A350UbReq *q = &j->req;
    A350UbError err = { 0 };

    if (a350_wqe_opcode(&j->wqe) == A350_UB_NOP) {
        q->status = A350_UB_OK;
        j->exec = A350_EXEC_DONE;
        return true;
    }
    /* Nobody else looks at the request in hand. */
    qemu_mutex_unlock(&ub->lock);
    if (!a350_wqe_decode(ub, &j->wqe, q, &j->local_pin, &err)) {
        qemu_mutex_lock(&ub->lock);
        jetty_refuse(j, &err);
        return true;
    }
    trace_atlas350_ub_exec(ub->card->index, j->id, j->ci,
                           a350_wqe_opcode(&j->wqe), q->remote, q->len);
    if (unlikely(qatomic_read(&ub->inject_count))) {
        qemu_mutex_lock(&ub->lock);
        if (jetty_injected(j)) {
            return true;
        }
        qemu_mutex_unlock(&ub->lock);
    }
    *bytes += q->len;
    j->exec = A350_EXEC_RUNNING;
    qatomic_set(&j->phase, A350_PHASE_SUBMITTING);
    a350_fabric_request(ub->card->fabric, q);
    /*
     * RETURNED is set with the lock, which is kept until this thread has left
     * the pump: only then a350_ub_request_done can take the jetty over.
     */
    qemu_mutex_lock(&ub->lock);
    if (qatomic_cmpxchg(&j->phase, A350_PHASE_SUBMITTING,
                        A350_PHASE_RETURNED) == A350_PHASE_ENDED) {
        j->exec = A350_EXEC_DONE;
        return true;
    }
    return false;
}

static void jetty_make_ready(A350Ub *ub, A350Jetty *j)
{
    j->in_ready = true;
    QTAILQ_INSERT_TAIL(&ub->ready, j, ready);
    qemu_bh_schedule(ub->bh);
}

static bool jetty_may_go_on(const A350Jetty *j)
{
    return !j->ub->paused && !j->stop;
}

/*
 * One step of the pump; false if there is no more for it to do now. The
 * request in hand is always seen to its end first.
 */
static bool jetty_step(A350Jetty *j, uint64_t *bytes, A350UbWaiterList *fire)
{
    if (j->exec == A350_EXEC_DONE) {
        jetty_complete(j, fire);
    }
    if (jetty_stopped(j)) {
        jetty_flush(j, fire);
    } else {
        fire_reached(j, fire);
    }
    if (!QTAILQ_EMPTY(fire)) {
        a350_ub_fire_all(j->ub, fire);
        return true;
    }
    if (j->exec == A350_EXEC_NONE) {
        if (j->ci == j->pi) {
            return false;
        }
        jetty_fetch(j);
    }
    return j->exec != A350_EXEC_SUBMIT || jetty_execute(j, bytes);
}

/* Runs @j, which the caller has made its own. Enters and leaves locked. */
static void jetty_pump(A350Jetty *j)
{
    A350Ub *ub = j->ub;
    A350UbWaiterList fire = QTAILQ_HEAD_INITIALIZER(fire);
    unsigned requests = 0;
    uint64_t bytes = 0;
    bool more = true, running = false;

    ub->active++;
    j->pumping = true;
    while (more && jetty_may_go_on(j) && requests++ < TURN_REQUESTS &&
           bytes < TURN_BYTES) {
        more = jetty_step(j, &bytes, &fire);
        running = !more && (j->exec == A350_EXEC_RUNNING);
    }
    ub->active--;
    j->pumping = false;
    if (!running) {
        j->owned = more && jetty_may_go_on(j);
        if (j->owned) {
            jetty_make_ready(ub, j);
        }
    }
    qemu_cond_broadcast(&ub->idle);
}

/* A request that the fabric had has ended; any thread. */
void a350_ub_request_done(A350UbReq *q)
{
    A350Jetty *j = q->opaque;
    A350Ub *ub = j->ub;

    if (qatomic_cmpxchg(&j->phase, A350_PHASE_SUBMITTING,
                        A350_PHASE_ENDED) == A350_PHASE_SUBMITTING) {
        return;                  /* its submitter goes on */
    }
    qemu_mutex_lock(&ub->lock);
    j->exec = A350_EXEC_DONE;
    if (jetty_may_go_on(j)) {
        jetty_pump(j);
    } else {
        j->owned = false;
        qemu_cond_broadcast(&ub->idle);
    }
    qemu_mutex_unlock(&ub->lock);
}

/* Takes @j if nobody has it and runs it. Enters and leaves locked. */
static void jetty_kick(A350Jetty *j)
{
    if (!j->owned && jetty_may_go_on(j)) {
        j->owned = true;
        jetty_pump(j);
    }
}

/* Jetties whose turn was over: each of them gets one more. */
void a350_ub_bh(void *opaque)
{
    A350Ub *ub = opaque;
    A350Jetty *j, *last;

    qemu_mutex_lock(&ub->lock);
    last = QTAILQ_LAST(&ub->ready);
    while (!ub->paused && (j = QTAILQ_FIRST(&ub->ready))) {
        QTAILQ_REMOVE(&ub->ready, j, ready);
        j->in_ready = false;
        jetty_pump(j);
        if (j == last) {
            break;
        }
    }
    if (!ub->paused && !QTAILQ_EMPTY(&ub->ready)) {
        qemu_bh_schedule(ub->bh);
    }
    qemu_mutex_unlock(&ub->lock);
}

/* ---- doorbells ---- */

/*
 * A doorbell for nothing new: of length 0, or another queue has rung for more
 * before. It is not told whose requests failed, so all of a jetty that has
 * stopped count as flushed.
 */
static void doorbell_behind(const A350Jetty *j, A350UbResult *r)
{
    if (jetty_stopped(j)) {
        result_init(r, j, A350_UB_ERR_FLUSHED, 0, j->ci, jetty_had_stopped);
    } else {
        result_init(r, j, A350_UB_OK, 0, j->ci, NULL);
    }
}

static A350UbWaiter *waiter_new(A350UbDone *done, void *opaque)
{
    A350UbWaiter *w = g_new(A350UbWaiter, 1);

    w->done = done;
    w->opaque = opaque;
    w->calling = false;
    return w;
}

/*
 * The first block that a doorbell up to @target rings for. Another queue may
 * have rung for more before: then all from the doorbell before this one.
 */
static uint64_t doorbell_start(const A350Jetty *j, uint64_t target)
{
    const A350UbWaiter *w;
    uint64_t start = j->ci;

    if (target > j->pi) {
        return j->pi;
    }
    QTAILQ_FOREACH(w, &j->waiters, next) {
        if (w->target < target) {
            start = MAX(start, w->target);
        }
    }
    return start;
}

bool a350_ub_doorbell(A350Card *c, uint32_t jetty, uint16_t pi,
                      A350UbDone *done, void *opaque, const char **reason)
{
    A350Ub *ub = c->ub;
    A350UbResult result;
    A350UbWaiter *w;
    A350Jetty *j;
    uint16_t ahead;

    qemu_mutex_lock(&ub->lock);
    j = jetty_find(ub, jetty);
    if (!j || (j->flags & A350_JETTY_F_DIRECT)) {
        qemu_mutex_unlock(&ub->lock);
        *reason = j ? "the jetty takes direct work requests only" :
                      "there is no such jetty";
        return false;
    }
    trace_atlas350_ub_doorbell(c->index, jetty, pi, j->ci);
    ahead = pi - (uint16_t)j->ci;
    if (ahead > j->depth && ahead <= A350_JETTY_DEPTH_MAX) {
        qemu_mutex_unlock(&ub->lock);
        *reason = "the producer index is further ahead than the ring is deep";
        return false;
    }
    if (ahead == 0 || ahead > A350_JETTY_DEPTH_MAX) {
        doorbell_behind(j, &result);
        qemu_mutex_unlock(&ub->lock);
        done(opaque, &result);
        return true;
    }
    w = waiter_new(done, opaque);
    w->target = j->ci + ahead;
    w->start = doorbell_start(j, w->target);
    j->pi = MAX(j->pi, w->target);
    QTAILQ_INSERT_TAIL(&j->waiters, w, next);
    jetty_kick(j);
    qemu_mutex_unlock(&ub->lock);
    return true;
}

static bool direct_in_hand(const A350Jetty *j, const a350_wqe *wqe)
{
    return a350_wqe_blocks(wqe) == j->blocks &&
           !memcmp(wqe, &j->wqe, j->blocks * A350_WQEBB_SIZE);
}

bool a350_ub_direct(A350Card *c, uint32_t jetty, const a350_wqe *wqe,
                    A350UbDone *done, void *opaque, const char **reason)
{
    A350Ub *ub = c->ub;
    A350UbWaiter *w;
    A350Jetty *j;

    qemu_mutex_lock(&ub->lock);
    j = jetty_find(ub, jetty);
    if (!j || !(j->flags & A350_JETTY_F_DIRECT)) {
        qemu_mutex_unlock(&ub->lock);
        *reason = j ? "the jetty takes doorbells only" :
                      "there is no such jetty";
        return false;
    }
    w = waiter_new(done, opaque);
    w->wqe = *wqe;
    w->start = j->pi;
    w->target = j->pi + a350_wqe_blocks(wqe);
    if (j->resumable && direct_in_hand(j, wqe)) {
        /* Loaded half done, or done: its task only asks for the result. */
        j->resumable = false;
        w->start = j->ci;
        w->target = j->ci + j->blocks;
    }
    j->pi = MAX(j->pi, w->target);
    trace_atlas350_ub_direct(c->index, jetty, j->pi);
    QTAILQ_INSERT_TAIL(&j->waiters, w, next);
    jetty_kick(j);
    qemu_mutex_unlock(&ub->lock);
    return true;
}

/*
 * Callbacks of @opaque that are due do not come; true if one is running in
 * another thread. With the lock held.
 */
static bool firing_forget(A350Ub *ub, void *opaque)
{
    A350UbWaiter *w;
    bool running = false;

    QTAILQ_FOREACH(w, &ub->firing, firing) {
        if (w->opaque != opaque) {
            continue;
        }
        if (!w->calling) {
            w->done = NULL;
        } else if (!pthread_equal(w->caller, pthread_self())) {
            running = true;
        }
    }
    return running;
}

static void jetty_forget(A350Jetty *j, void *opaque)
{
    A350UbWaiter *w, *following;

    QTAILQ_FOREACH_SAFE(w, &j->waiters, next, following) {
        if (w->opaque != opaque) {
            continue;
        }
        if (!(j->flags & A350_JETTY_F_DIRECT)) {
            QTAILQ_REMOVE(&j->waiters, w, next);
            g_free(w);
            continue;
        }
        /* Its blocks are counted, so its place stays; it does nothing. */
        w->done = NULL;
        if (w->start != j->ci || j->exec == A350_EXEC_NONE) {
            memset(&w->wqe, 0, sizeof(w->wqe));
            w->wqe.w[1] = A350_UB_NOP << A350_WQE_OPCODE_SHIFT;
        }
    }
}

void a350_ub_forget(A350Card *c, void *opaque)
{
    A350Ub *ub = c->ub;
    A350Jetty *j;

    qemu_mutex_lock(&ub->lock);
    QTAILQ_FOREACH(j, &ub->all, all) {
        jetty_forget(j, opaque);
    }
    while (firing_forget(ub, opaque)) {
        qemu_cond_wait(&ub->idle, &ub->lock);
    }
    qemu_mutex_unlock(&ub->lock);
}

bool a350_ub_inject(A350Card *c, uint32_t jetty, uint8_t status,
                    uint32_t count)
{
    A350Ub *ub = c->ub;

    if (status != A350_UB_ERR_RETRY && status != A350_UB_ERR_ACK_TIMEOUT) {
        return false;
    }
    QEMU_LOCK_GUARD(&ub->lock);
    if (jetty != A350_ID_ANY && !jetty_find(ub, jetty)) {
        return false;
    }
    trace_atlas350_ub_inject(c->index, jetty, status, count);
    ub->inject_jetty = jetty;
    ub->inject_status = status;
    qatomic_set(&ub->inject_count, count);
    return true;
}
