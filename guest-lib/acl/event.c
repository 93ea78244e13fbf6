/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events (spec/api/acl-runtime.md §11).
 *
 * SYNC and EXTERNAL events are one notify that stays set from a record to a
 * reset; a wait on them is always queued. Every other event gets a notify for
 * each record: a wait is for the record that was the latest when it was
 * submitted, so a later record must not share its flag. The notify is given
 * back when record and waits are through.
 */
#include "ipc_priv.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KIND_PLAIN      0xeu         /* what aclrtCreateEvent means */
#define F_STEADY        (ACL_EVENT_SYNC | ACL_EVENT_EXTERNAL)
#define F_ALL           0x7fu
#define F_RESETTABLE    (ACL_EVENT_SYNC | 0x4u | ACL_EVENT_DEVICE_USE_ONLY | \
                         ACL_EVENT_EXTERNAL)

typedef enum { EV_PLAIN, EV_FLAG, EV_EX } ev_kind;
typedef enum { REC_PENDING, REC_DONE, REC_FAILED } rec_state;

/* One record. The first word makes it a cookie. */
struct event_rec {
    uint32_t cookie;
    uint32_t refs;               /* event, its queue entry, each wait */
    rec_state state;
    bool own_notify;
    uint32_t notify;
    a350_card *card;
    uint32_t generation;         /* of the device */
    acl_dev *dev;
    uint64_t ts;                 /* ns of the card's clock */
    uint64_t seq;
    a350_stream *stream;
    uint32_t stream_id;
    bool captured;               /* recorded into a graph */
    const graph *graph;          /* that one; only compared */
};

typedef struct event {
    uint32_t magic;
    ev_kind kind;
    uint32_t flags, id;
    acl_dev *dev;
    uint32_t generation;         /* of the device */
    uint32_t notify;             /* F_STEADY: the event's own */
    bool set;                    /* F_STEADY: recorded and not reset */
    event_rec *last;
    /* the latest wait, for aclrtQueryEventWaitStatus */
    a350_stream *wait_stream;
    uint64_t wait_seq;
    ipc_event *ipc;              /* ACL_EVENT_IPC: everything is there */
    bool ipc_sync;               /* with SYNC: waits may come first */
} event;

/* Records and their references; taken in call-backs of queues. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static _Atomic uint32_t next_id;

/* ---- records ---- */

static void rec_put_locked(event_rec *r)
{
    if (--r->refs) {
        return;
    }
    /* After a reset of the device the notify is no longer ours. */
    if (r->own_notify && r->dev->generation == r->generation &&
        r->dev->card) {
        a350_notify_free(r->card, r->notify);
    }
    free(r);
}

static void rec_put(event_rec *r)
{
    pthread_mutex_lock(&lock);
    rec_put_locked(r);
    pthread_mutex_unlock(&lock);
}

void event_cqe(event_rec *r, uint64_t ts, bool failed)
{
    pthread_mutex_lock(&lock);
    r->ts = ts;
    r->state = failed ? REC_FAILED : REC_DONE;
    pthread_cond_broadcast(&cond);
    rec_put_locked(r);
    pthread_mutex_unlock(&lock);
}

void event_wait_done(event_rec *r)
{
    rec_put(r);
}

static rec_state rec_state_of(event_rec *r)
{
    rec_state s;

    pthread_mutex_lock(&lock);
    s = r->state;
    pthread_mutex_unlock(&lock);
    return s;
}

/* ---- life ---- */

/* What the event is made of; sets the error. @fd: another process's event. */
static aclError resources(const char *func, event *e, acl_dev *d, int fd)
{
    if (fd >= 0) {
        return ipc_event_open(func, fd, &e->ipc);
    }
    if (e->flags & ACL_EVENT_IPC) {
        return ipc_event_new(func, &e->ipc);
    }
    if (e->flags & F_STEADY && a350_notify_alloc(d->card, &e->notify)) {
        return acl_fail(func, ACL_ERROR_RT_NO_EVENT_RESOURCE, "%s",
                        a350_card_text());
    }
    return ACL_SUCCESS;
}

static aclError create(const char *func, aclrtEvent *out, ev_kind kind,
                       uint32_t flags, int fd)
{
    aclError rc;
    acl_ctx *c;
    event *e;

    if (!out) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "event is NULL");
    }
    c = ctx_need(func, &rc);
    if (!c) {
        return rc;
    }
    if (atomic_fetch_add(&c->dev->events, 1) >= EVENT_MAX) {
        atomic_fetch_sub(&c->dev->events, 1);
        return acl_fail(func, ACL_ERROR_RT_NO_EVENT_RESOURCE, "device %d has "
                        "%u events, the most there can be", c->dev->id,
                        EVENT_MAX);
    }
    e = handle_new(H_EVENT);
    if (e) {
        e->kind = kind;
        e->flags = flags;
        if (flags & ACL_EVENT_IPC) {
            e->ipc_sync = flags & ACL_EVENT_SYNC;
            e->flags &= ~ACL_EVENT_SYNC;
        }
        rc = resources(func, e, c->dev, fd);
    } else {
        rc = acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "too many "
                      "handles");
    }
    if (rc) {
        if (e) {
            handle_free(e);
        }
        atomic_fetch_sub(&c->dev->events, 1);
        return rc;
    }
    e->dev = c->dev;
    e->generation = c->dev->generation;
    e->id = next_id++;
    *out = e;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtCreateEvent(aclrtEvent *event)
{
    return create(__func__, event, EV_PLAIN, KIND_PLAIN, -1);
}

static aclError check_flags(const char *func, uint32_t flag)
{
    bool alone = (flag & ACL_EVENT_DEVICE_USE_ONLY &&
                  flag != ACL_EVENT_DEVICE_USE_ONLY) ||
                 (flag & ACL_EVENT_EXTERNAL && flag != ACL_EVENT_EXTERNAL);

    if (flag == 0 || flag & ~F_ALL || alone) {
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "flag 0x%x: bits of "
                        "0x%x, not 0; 0x10 and 0x20 only alone", flag, F_ALL);
    }
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag)
{
    aclError rc = check_flags(__func__, flag);

    return rc ? rc : create(__func__, event, EV_FLAG, flag, -1);
}

ACL_EXPORT aclError aclrtCreateEventExWithFlag(aclrtEvent *event,
                                               uint32_t flag)
{
    aclError rc = check_flags(__func__, flag);

    return rc ? rc : create(__func__, event, EV_EX, flag, -1);
}

static event *event_need(const char *func, const void *h, aclError *rc)
{
    if (!h) {
        *rc = acl_fail(func, ACL_ERROR_INVALID_PARAM, "event is NULL");
        return NULL;
    }
    if (!handle_is(h, H_EVENT)) {
        *rc = acl_fail(func, ACL_ERROR_RT_INVALID_HANDLE, "event %p is %s", h,
                       handle_what(h));
        return NULL;
    }
    return (event *)h;
}

ACL_EXPORT aclError aclrtDestroyEvent(aclrtEvent event_)
{
    aclError rc;
    event *e = event_need(__func__, event_, &rc);

    if (!e) {
        return rc;
    }
    if (e->last) {
        rec_put(e->last);
    }
    if (e->flags & F_STEADY && e->dev->card &&
        e->generation == e->dev->generation) {
        a350_notify_free(e->dev->card, e->notify);
    }
    if (e->ipc) {
        ipc_freed(IPC_EVENT, e->dev, e->id);
        ipc_event_put(e->ipc);
    }
    atomic_fetch_sub(&e->dev->events, 1);
    handle_free(e);
    return ACL_SUCCESS;
}

/* ---- record ---- */

static event_rec *rec_new(const char *func, event *e, a350_stream *s,
                          aclError *rc)
{
    event_rec *r = calloc(1, sizeof(*r));

    if (!r) {
        *rc = acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "out of host "
                       "memory");
        return NULL;
    }
    r->cookie = COOKIE_EVENT;
    r->refs = 2;                 /* the event and the queue entry */
    r->card = s->card;
    r->dev = s->ctx->dev;
    r->generation = r->dev->generation;
    r->stream = s;
    r->stream_id = s->id;
    r->notify = e->notify;
    if (s->capture) {
        r->captured = true;
        r->graph = s->capture;
        r->refs = 1;
    } else if (!(e->flags & F_STEADY)) {
        if (a350_notify_alloc(s->card, &r->notify)) {
            *rc = acl_fail(func, ACL_ERROR_RT_NO_EVENT_RESOURCE, "%s",
                           a350_card_text());
            free(r);
            return NULL;
        }
        r->own_notify = true;
    }
    return r;
}

static void rec_set_last(event *e, event_rec *r)
{
    event_rec *old;

    pthread_mutex_lock(&lock);
    old = e->last;
    e->last = r;
    e->set = true;
    if (old) {
        rec_put_locked(old);
    }
    pthread_mutex_unlock(&lock);
}

static aclError record(const char *func, aclrtEvent h, aclrtStream stream,
                       uint32_t flag)
{
    task_meta m = { .what = "event record" };
    event_rec *r;
    void *cookie;
    aclError rc;
    event *e = event_need(func, h, &rc);
    uint64_t seq = 0;
    a350_stream *s;
    a350_sqe q;

    if (!e) {
        return rc;
    }
    if (flag > ACL_EVENT_RECORD_EXTERNAL) {
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "flag %u: 0 or 1",
                        flag);
    }
    s = stream_need(func, stream, &rc);
    if (!s) {
        return rc;
    }
    if (e->dev != s->ctx->dev) {
        return acl_fail(func, ACL_ERROR_RT_STREAM_CONTEXT, "the event is of "
                        "device %d, the stream of device %d", e->dev->id,
                        s->ctx->dev->id);
    }
    if (e->ipc) {
        return ipc_event_record(func, e->ipc, s);
    }
    r = rec_new(func, e, s, &rc);
    if (!r) {
        return rc;
    }
    if (r->captured) {
        /* A graph runs in the order of submission: it needs no flag. */
        rec_set_last(e, r);
        return ACL_SUCCESS;
    }
    a350_sqe_notify_record(&q, 0, r->notify);
    q.w[3] = (q.w[3] & ~0xffffu) | A350_NSUB_EVENT_RECORD;
    cookie = r;
    rc = stream_submit(func, s, &q, 1, &cookie, &m, &seq);
    r->seq = seq;                /* nobody else knows it yet */
    if (rc) {
        r->refs = 1;
        rec_put(r);
        return rc;
    }
    rec_set_last(e, r);
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtRecordEvent(aclrtEvent event_, aclrtStream stream)
{
    return record(__func__, event_, stream, 0);
}

ACL_EXPORT aclError aclrtRecordEventWithFlag(aclrtEvent event_,
                                             aclrtStream stream, uint32_t flag)
{
    return record(__func__, event_, stream, flag);
}

ACL_EXPORT aclError aclrtResetEvent(aclrtEvent event_, aclrtStream stream)
{
    task_meta m = { .what = "event reset" };
    aclError rc;
    event *e = event_need(__func__, event_, &rc);
    a350_stream *s;
    a350_sqe q;

    if (!e) {
        return rc;
    }
    s = stream_need(__func__, stream, &rc);
    if (!s) {
        return rc;
    }
    if (e->ipc) {
        return FAIL(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "an IPC event cannot be "
                    "reset");
    }
    if (e->kind == EV_PLAIN) {
        return ACL_SUCCESS;      /* without effect */
    }
    if (e->kind == EV_EX || !(e->flags & F_RESETTABLE)) {
        return FAIL(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "an event with flags "
                    "0x%x%s cannot be reset", e->flags,
                    e->kind == EV_EX ? " (ExWithFlag)" : "");
    }
    if (!(e->flags & F_STEADY) || s->capture) {
        return ACL_SUCCESS;      /* each record has a flag of its own */
    }
    /* spec/hw/task-queues.md §3: a record with clrFlag, credit 255. */
    a350_sqe_init(&q, A350_SQE_NOTIFY_RECORD, 0, A350_CREDIT_NEVER);
    q.w[2] = (e->notify & A350_NOTIFY_ID_MASK) | A350_NOTIFY_CLR;
    q.w[3] |= A350_NSUB_EVENT_RESET;
    rc = stream_submit(__func__, s, &q, 1, NULL, &m, NULL);
    if (rc == ACL_SUCCESS) {
        e->set = false;
    }
    return rc;
}

/* ---- wait ---- */

static _Atomic uint32_t op_wait_timeout;  /* seconds, 0: for ever */

ACL_EXPORT aclError aclrtSetOpWaitTimeout(uint32_t timeout)
{
    op_wait_timeout = timeout;
    return ACL_SUCCESS;
}

/* A wait on what was never recorded: code, or -1 to queue it all the same. */
static int wait_unrecorded(const char *func, const event *e)
{
    if (e->kind == EV_EX) {
        return ACL_SUCCESS;
    }
    return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "the event was never "
                    "recorded, and only events with flag 0x1 (SYNC) or 0x20 "
                    "(EXTERNAL) may be waited for before their record");
}

static aclError wait_queue(const char *func, event *e, event_rec *r,
                           a350_stream *s, uint32_t seconds)
{
    task_meta m = { .what = "wait for an event", .wait = r };
    uint64_t seq = 0;
    aclError rc;
    a350_sqe q;

    a350_sqe_notify_wait(&q, 0, r ? r->notify : e->notify, seconds);
    q.w[2] &= ~A350_NOTIFY_CLR;
    q.w[3] = (q.w[3] & ~0xffffu) | A350_NSUB_EVENT_WAIT;
    rc = stream_submit(func, s, &q, 1, NULL, &m, &seq);
    if (rc == ACL_SUCCESS) {
        e->wait_stream = s;
        e->wait_seq = seq;
    } else if (r) {
        rec_put(r);
    }
    return rc;
}

static aclError wait_event(const char *func, aclrtStream stream, aclrtEvent h,
                           uint32_t seconds)
{
    aclError rc;
    event *e = event_need(func, h, &rc);
    event_rec *r = NULL;
    bool recorded, captured;
    const graph *g;
    a350_stream *s;

    if (!e) {
        return rc;
    }
    s = stream_need(func, stream, &rc);
    if (!s) {
        return rc;
    }
    if (e->dev != s->ctx->dev) {
        return acl_fail(func, ACL_ERROR_RT_STREAM_CONTEXT, "the event is of "
                        "device %d, the stream of device %d", e->dev->id,
                        s->ctx->dev->id);
    }
    if (e->ipc && e->kind == EV_EX && !ipc_event_last(e->ipc)) {
        return ACL_SUCCESS;
    }
    if (e->ipc) {
        rc = ipc_event_wait(func, e->ipc, e->ipc_sync, s, seconds,
                            &e->wait_seq);
        if (rc == ACL_SUCCESS) {
            e->wait_stream = s;
        }
        return rc;
    }
    /* Another thread may record the event: its record is held, or done with. */
    pthread_mutex_lock(&lock);
    recorded = e->last != NULL;
    captured = recorded && e->last->captured;
    g = captured ? e->last->graph : NULL;
    if (recorded && !captured && !s->capture &&
        !(e->flags & F_STEADY && e->kind != EV_EX) &&
        e->last->state == REC_PENDING) {
        r = e->last;
        r->refs++;
    }
    pthread_mutex_unlock(&lock);
    if (captured) {
        return graph_join(func, g, s);
    }
    if (s->capture) {
        return acl_fail(func, ACL_ERROR_RT_CAPTURE_DEPENDENCY, "the stream is "
                        "being captured, and the event was not recorded in "
                        "that capture");
    }
    if (e->flags & F_STEADY && e->kind != EV_EX) {
        return wait_queue(func, e, NULL, s, seconds);
    }
    if (!recorded) {
        return wait_unrecorded(func, e);
    }
    return r ? wait_queue(func, e, r, s, seconds) : ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event_)
{
    return wait_event(__func__, stream, event_, op_wait_timeout);
}

/* The card counts seconds: a part of one is rounded up. */
static uint32_t seconds_of(uint32_t ms)
{
    return ms ? ms / 1000 + (ms % 1000 != 0) : op_wait_timeout;
}

ACL_EXPORT aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream,
                                                    aclrtEvent event_,
                                                    int32_t timeout)
{
    if (timeout < 0) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "timeout %d ms: not negative",
                    timeout);
    }
    return wait_event(__func__, stream, event_, seconds_of((uint32_t)timeout));
}

ACL_EXPORT aclError aclrtStreamWaitEventWithFlag(aclrtStream stream,
                                                 aclrtEvent event_,
                                                 uint32_t timeout,
                                                 uint32_t flag)
{
    if (flag > ACL_EVENT_WAIT_EXTERNAL) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "flag %u: 0 or 1", flag);
    }
    return wait_event(__func__, stream, event_, seconds_of(timeout));
}

/* ---- host side ---- */

static aclError not_captured(const char *func, const event *e)
{
    bool captured;

    pthread_mutex_lock(&lock);
    captured = e->last && e->last->captured;
    pthread_mutex_unlock(&lock);
    if (captured) {
        return acl_fail(func, ACL_ERROR_RT_EVENT_CAPTURED, "the event was "
                        "recorded in a stream that was being captured");
    }
    return ACL_SUCCESS;
}

/* The CQE with the time stamp may come a moment after the head has moved. */
static rec_state rec_settle(event_rec *r, unsigned ms)
{
    struct timespec ts;
    rec_state st;

    clock_gettime(CLOCK_REALTIME, &ts);
    ts.tv_sec += ms / 1000;
    ts.tv_nsec += (long)(ms % 1000) * 1000000;
    if (ts.tv_nsec >= 1000000000) {
        ts.tv_sec++;
        ts.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&lock);
    while (r->state == REC_PENDING &&
           pthread_cond_timedwait(&cond, &lock, &ts) == 0) {
    }
    st = r->state;
    pthread_mutex_unlock(&lock);
    return st;
}

static aclError sync_event(const char *func, aclrtEvent h, int32_t timeout)
{
    aclError rc = ACL_SUCCESS;
    event *e = event_need(func, h, &rc);
    a350_stream *s;
    event_rec *r;

    if (!e || (rc = not_captured(func, e))) {
        return rc;
    }
    if (e->ipc) {
        return ipc_event_sync(func, e->ipc, timeout);
    }
    pthread_mutex_lock(&lock);
    r = e->last;
    if (r) {
        r->refs++;
    }
    pthread_mutex_unlock(&lock);
    if (!r) {
        return ACL_SUCCESS;      /* nothing was recorded: nothing to wait for */
    }
    s = r->stream;
    if (rec_state_of(r) == REC_PENDING && handle_is(s, H_STREAM) &&
        s->id == r->stream_id) {
        rc = stream_wait(func, s, r->seq, timeout);
        if (rc == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT) {
            rc = acl_fail_keep(func, ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
        }
    }
    if (rc == ACL_SUCCESS && rec_settle(r, 1000) == REC_FAILED) {
        rc = acl_fail(func, ACL_ERROR_RT_TS_ERROR, "the event's record was "
                      "dropped (its stream failed, was aborted or destroyed)");
    }
    rec_put(r);
    return rc;
}

ACL_EXPORT aclError aclrtSynchronizeEvent(aclrtEvent event_)
{
    return sync_event(__func__, event_, -1);
}

ACL_EXPORT aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event_,
                                                     int32_t timeout)
{
    if (timeout < -1) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "timeout %d ms: 0 (only "
                    "looks), more, or -1 (for ever)", timeout);
    }
    return sync_event(__func__, event_, timeout);
}

/*
 * Recorded and done? A record whose CQE is on its way counts as done. @ns: its
 * time, may be NULL.
 */
static bool recorded(event *e, uint64_t *ns)
{
    event_rec *r;
    bool done;

    if (e->ipc) {
        uint64_t last = ipc_event_last(e->ipc);

        return last && ipc_event_done(e->ipc, last);
    }
    pthread_mutex_lock(&lock);
    r = e->last;
    if (r) {
        r->refs++;
    }
    pthread_mutex_unlock(&lock);
    if (!r) {
        return false;
    }
    done = rec_state_of(r) == REC_DONE;
    if (!done && rec_state_of(r) == REC_PENDING &&
        handle_is(r->stream, H_STREAM) && r->stream->id == r->stream_id &&
        a350_sq_done(r->stream->sq) >= r->seq) {
        done = rec_settle(r, 100) == REC_DONE;
    }
    pthread_mutex_lock(&lock);
    if (ns) {
        *ns = r->ts;
    }
    rec_put_locked(r);
    pthread_mutex_unlock(&lock);
    return done;
}

/* Whether the event is recorded and its record through, for both queries. */
static aclError query(const char *func, aclrtEvent h, const void *status,
                      bool *done)
{
    aclError rc;
    event *e;

    if (!status) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "status is NULL");
    }
    e = event_need(func, h, &rc);
    if (!e || (rc = not_captured(func, e))) {
        return rc;
    }
    *done = recorded(e, NULL);
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtQueryEventStatus(aclrtEvent event_,
                                          aclrtEventRecordedStatus *status)
{
    bool done = false;
    aclError rc = query(__func__, event_, status, &done);

    if (rc == ACL_SUCCESS) {
        *status = done ? ACL_EVENT_RECORDED_STATUS_COMPLETE
                       : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    }
    return rc;
}

ACL_EXPORT aclError aclrtQueryEvent(aclrtEvent event_,
                                    aclrtEventStatus *status)
{
    bool done = false;
    aclError rc = query(__func__, event_, status, &done);

    if (rc == ACL_SUCCESS) {
        *status = done ? ACL_EVENT_STATUS_COMPLETE
                       : ACL_EVENT_STATUS_NOT_READY;
    }
    return rc;
}

ACL_EXPORT aclError aclrtQueryEventWaitStatus(aclrtEvent event_,
                                              aclrtEventWaitStatus *status)
{
    aclError rc;
    event *e;

    CHECK_PTR(status);
    e = event_need(__func__, event_, &rc);
    if (!e) {
        return rc;
    }
    *status = !e->wait_stream || !handle_is(e->wait_stream, H_STREAM) ||
              a350_sq_done(e->wait_stream->sq) >= e->wait_seq
              ? ACL_EVENT_WAIT_STATUS_COMPLETE
              : ACL_EVENT_WAIT_STATUS_NOT_READY;
    return ACL_SUCCESS;
}

/* ---- time ---- */

static aclError stamp(const char *func, event *e, const char *name,
                      uint64_t *ns)
{
    if (e->ipc) {
        return acl_fail(func, ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "the %s "
                        "event is an IPC event, which keeps no time", name);
    }
    if (!recorded(e, ns)) {
        return acl_fail(func, ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "the %s "
                        "event is not recorded, or its record is not complete",
                        name);
    }
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent,
                                          aclrtEvent endEvent)
{
    uint64_t from = 0, to = 0;
    aclError rc;
    event *a, *b;

    CHECK_PTR(ms);
    a = event_need(__func__, startEvent, &rc);
    b = a ? event_need(__func__, endEvent, &rc) : NULL;
    if (!b || (rc = stamp(__func__, a, "start", &from)) ||
        (rc = stamp(__func__, b, "end", &to))) {
        return rc;
    }
    if (to < from) {
        return FAIL(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "the end event is "
                    "%llu ns before the start event",
                    (unsigned long long)(from - to));
    }
    *ms = (float)((double)(to - from) / 1e6);
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtEventGetTimestamp(aclrtEvent event_,
                                           uint64_t *timestamp)
{
    uint64_t ns = 0;
    aclError rc;
    event *e;

    CHECK_PTR(timestamp);
    e = event_need(__func__, event_, &rc);
    if (!e || (rc = stamp(__func__, e, "given", &ns))) {
        return rc;
    }
    *timestamp = ns / 1000;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtGetEventId(aclrtEvent event_, uint32_t *eventId)
{
    aclError rc;
    event *e;

    CHECK_PTR(eventId);
    e = event_need(__func__, event_, &rc);
    if (!e) {
        return rc;
    }
    *eventId = e->id;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtGetEventAvailNum(uint32_t *eventCount)
{
    aclError rc;
    acl_ctx *c;
    uint32_t n;

    CHECK_PTR(eventCount);
    c = ctx_need(__func__, &rc);
    if (!c) {
        return rc;
    }
    n = atomic_load(&c->dev->events);
    *eventCount = n < EVENT_MAX ? EVENT_MAX - n : 0;
    return ACL_SUCCESS;
}

/* ---- sharing ---- */

ACL_EXPORT aclError aclrtIpcGetEventHandle(aclrtEvent event_,
                                           aclrtIpcEventHandle *handle)
{
    char key[IPC_KEY_SIZE];
    ipc_info info = { 0 };
    aclError rc;
    event *e;

    CHECK_PTR(handle);
    e = event_need(__func__, event_, &rc);
    if (!e) {
        return rc;
    }
    if (!e->ipc) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "the event was not created "
                    "with flag 0x40 (IPC)");
    }
    if (!e->dev->card || e->generation != e->dev->generation) {
        return FAIL(ACL_ERROR_RT_INVALID_HANDLE, "the event is of device %d "
                    "before its reset", e->dev->id);
    }
    info.id = e->id;
    info.size = e->ipc_sync;
    info.card = a350_card_number(e->dev->card);
    rc = ipc_export(__func__, IPC_EVENT, e->dev, &info, e->id, true,
                    ipc_event_fd(e->ipc), key, sizeof(key));
    if (rc == ACL_SUCCESS) {
        memset(handle->reserved, 0, sizeof(handle->reserved));
        memcpy(handle->reserved, key, strnlen(key, sizeof(handle->reserved)));
    }
    return rc;
}

ACL_EXPORT aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle,
                                            aclrtEvent *event_)
{
    char key[IPC_KEY_SIZE] = "";
    ipc_lease lease;
    uint32_t flags = ACL_EVENT_IPC;
    aclError rc;
    int fd;

    CHECK_PTR(event_);
    memcpy(key, handle.reserved, sizeof(handle.reserved));
    if (!ctx_need(__func__, &rc) ||
        (rc = ipc_import(__func__, IPC_EVENT, key, &lease))) {
        return rc;
    }
    /* The memory is all there is to it: no lease is needed. */
    fd = lease.mem_fd;
    lease.mem_fd = -1;
    ipc_lease_end(&lease);
    if (fd < 0) {
        return FAIL(ACL_ERROR_RT_INTERNAL_ERROR, "process %d sent no memory "
                    "along with its event", lease.pid);
    }
    if (lease.info.size) {
        flags |= ACL_EVENT_SYNC;
    }
    rc = create(__func__, event_, EV_FLAG, flags, fd);
    if (rc) {
        close(fd);
    }
    return rc;
}
