/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams: a task queue with what the runtime remembers of its entries.
 *
 * The argument ring holds the parameter blocks of launches until their entry
 * is complete. Entries are given back lazily, when room is needed or at a
 * synchronisation: that is one look at the head register.
 */
#include "ipc_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NO_SYNC_FLAGS (ACL_STREAM_PERSISTENT | ACL_STREAM_CPU_SCHEDULE | \
                       ACL_STREAM_DEVICE_USE_ONLY)
#define ALL_FLAGS     0x3fu

/* ---- completions ---- */

/* Runs on the completion thread or inside a wait; takes no stream lock. */
typedef struct error_hook {
    struct error_hook *next;
    a350_stream_error_fn *fn;
    void *opaque;
} error_hook;

static void tell_error(a350_stream *s, a350_sq *sq)
{
    error_hook *h = __atomic_load_n(&s->error_hooks, __ATOMIC_ACQUIRE);
    a350_sq_error e;

    if (h && a350_sq_last_error(sq, &e)) {
        aclError code = a350_error_code(&e);

        for (; h; h = h->next) {
            h->fn(h->opaque, code);
        }
    }
}

static void stream_cqe(void *opaque, a350_sq *sq, const a350_cqe *e)
{
    uint32_t *cookie = a350_sq_cookie(sq, e);
    bool failed = e->h0 & A350_CQE_ERROR;
    uint64_t ts = e->ts_low | (uint64_t)e->ts_high << 32;

    if (failed) {
        tell_error(opaque, sq);
    }
    if (!cookie) {
        return;
    }
    if (*cookie == COOKIE_EVENT) {
        event_cqe((event_rec *)cookie, ts, failed);
    } else if (failed) {
        callback_drop(cookie);
    } else {
        callback_cqe(cookie);
    }
}

static void stream_drop(void *opaque, void *cookie)
{
    (void)opaque;
    if (*(uint32_t *)cookie == COOKIE_EVENT) {
        event_cqe(cookie, 0, true);
    } else {
        callback_drop(cookie);
    }
}

/* ---- what entries hold ---- */

static void meta_release(a350_stream *s, task_meta *m)
{
    if (m->args_end) {
        s->args_r = m->args_end;
    }
    if (m->wait) {
        event_wait_done(m->wait);
    }
    if (m->free_dev) {
        a350_hbm_free((uintptr_t)m->free_dev);
    }
    if (m->ipc) {
        ipc_event_put(m->ipc);
    }
    memset(m, 0, sizeof(*m));
}

static void reclaim_to(a350_stream *s, uint64_t done)
{
    uint32_t depth = a350_sq_depth(s->sq);

    while (s->reclaimed < done) {
        task_meta *m = &s->meta[++s->reclaimed % depth];

        if (m->seq == s->reclaimed) {
            meta_release(s, m);
        }
    }
}

void stream_reclaim(a350_stream *s)
{
    reclaim_to(s, a350_sq_done(s->sq));
}

static aclError args_ring_new(const char *func, a350_stream *s)
{
    int rc = a350_hbm_alloc(s->card, STREAM_ARGS_RING, A350_HBM_NORMAL,
                            &s->args_base);

    if (rc == 0) {
        rc = a350_hbm_new(s->card, NULL, sizeof(a350_launch_result),
                          &s->result);
        if (rc) {
            a350_hbm_free(s->args_base);
            s->args_base = 0;
        }
    }
    if (rc) {
        return acl_fail_card(func, rc);
    }
    s->args_host = a350_hbm_ptr(s->args_base, STREAM_ARGS_RING);
    return ACL_SUCCESS;
}

/* Start position for @size bytes, UINT64_MAX if the ring has no room. */
static uint64_t args_place(const a350_stream *s, size_t size)
{
    uint64_t at = s->args_w, in = at % STREAM_ARGS_RING;

    if (in + size > STREAM_ARGS_RING) {
        at += STREAM_ARGS_RING - in;
    }
    return at + size - s->args_r <= STREAM_ARGS_RING ? at : UINT64_MAX;
}

aclError stream_args(const char *func, a350_stream *s, size_t size,
                     uint64_t *dev, void **host, uint64_t *end)
{
    uint32_t errors = a350_sq_error_count(s->sq);
    aclError rc;
    uint64_t at;

    if (s->capture) {
        *end = 0;
        return graph_args(func, s->capture, size, dev, host);
    }
    if (!s->args_base && (rc = args_ring_new(func, s))) {
        return rc;
    }
    size = (size + 63) & ~(size_t)63;
    if (s->reclaimed == a350_sq_pushed(s->sq)) {
        s->args_r = s->args_w;
    }
    while ((at = args_place(s, size)) == UINT64_MAX) {
        stream_reclaim(s);
        if (s->reclaimed == a350_sq_pushed(s->sq)) {
            s->args_r = s->args_w;
        }
        if (args_place(s, size) != UINT64_MAX) {
            continue;
        }
        if (s->stop_on_failure && a350_sq_error_count(s->sq) != errors) {
            return acl_fail(func, ACL_ERROR_RT_STREAM_TASK_FULL, "the stream "
                            "has stopped on an error");
        }
        usleep(100);
    }
    s->args_w = at + size;
    *end = s->args_w;
    *dev = s->args_base + at % STREAM_ARGS_RING;
    *host = s->args_host + at % STREAM_ARGS_RING;
    return ACL_SUCCESS;
}

/* ---- submitting ---- */

static aclError submit_failed(const char *func, a350_stream *s, int rc)
{
    if (rc == -EIO && s->ext_code) {
        return acl_fail(func, s->ext_code, "%s", s->ext_text ? s->ext_text
                                                             : "");
    }
    if (rc == -EIO) {
        a350_sq_error err;
        char text[1024];
        aclError code;

        if (a350_sq_last_error(s->sq, &err)) {
            code = explain(s->sq, &err, s->result, NULL, true, text,
                           sizeof(text));
            s->failed = code;
            free(s->failed_text);
            s->failed_text = strdup(text);
            return acl_fail(func, code, "%s", text);
        }
    }
    return acl_fail_card(func, rc);
}

aclError stream_submit_locked(const char *func, a350_stream *s,
                              const a350_sqe *sqe, unsigned n,
                              void *const *cookies, const task_meta *meta,
                              uint64_t *seq)
{
    uint32_t depth = a350_sq_depth(s->sq);
    uint64_t last;
    task_meta *m;
    int rc;

    if (s->failed) {
        return acl_fail(func, s->failed, "the stream has stopped: %s",
                        s->failed_text ? s->failed_text : "");
    }
    if (s->capture) {
        return graph_append(func, s->capture, sqe, n, cookies,
                            meta ? meta->what : NULL);
    }
    rc = a350_sq_push_cookies(s->sq, sqe, n, cookies, &last);
    if (rc) {
        return submit_failed(func, s, rc);
    }
    if (meta) {
        while (last - s->reclaimed >= depth - 64) {
            uint64_t before = s->reclaimed;

            stream_reclaim(s);
            if (s->reclaimed == before) {
                break;           /* all that is complete is given back */
            }
        }
        m = &s->meta[last % depth];
        if (m->seq) {
            meta_release(s, m);
        }
        *m = *meta;
        m->seq = last;
    }
    if (seq) {
        *seq = last;
    }
    return ACL_SUCCESS;
}

aclError stream_submit(const char *func, a350_stream *s, const a350_sqe *sqe,
                       unsigned n, void *const *cookies,
                       const task_meta *meta, uint64_t *seq)
{
    aclError rc;

    pthread_mutex_lock(&s->lock);
    rc = stream_submit_locked(func, s, sqe, n, cookies, meta, seq);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

aclError a350_stream_push(a350_stream *s, const a350_sqe *sqe, unsigned n,
                          const char *what, a350_stream_mark *mark)
{
    task_meta m = { .what = what };
    uint64_t seq = 0;
    aclError rc;

    pthread_mutex_lock(&s->lock);
    rc = stream_submit_locked(what, s, sqe, n, NULL, &m, &seq);
    if (mark && seq) {
        *mark = (a350_stream_mark){ s->sq, seq };
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

bool a350_stream_passed(a350_stream *s, const a350_stream_mark *mark)
{
    bool passed;

    /* A queue is made anew when it is empty (mode_stop). */
    pthread_mutex_lock(&s->ctx->lock);
    passed = s->sq != mark->queue || a350_sq_done(s->sq) >= mark->seq;
    pthread_mutex_unlock(&s->ctx->lock);
    return passed;
}

/* ---- waiting and errors ---- */

/* The name of what failed, while its memory is still there. */
static const char *what_failed(a350_stream *s, const a350_sq_error *e)
{
    task_meta *m = &s->meta[e->seq % a350_sq_depth(s->sq)];

    if (!e->seq || m->seq != e->seq) {
        return NULL;
    }
    return m->func ? func_name(m->func) : m->what;
}

/* The error that a waiter has met: code, text, and the stream's new state. */
static aclError take_error(const char *func, a350_stream *s)
{
    a350_sq_error err;
    char text[1500];
    aclError code;

    pthread_mutex_lock(&s->lock);
    if (s->failed && !s->ext_code) {
        code = acl_fail(func, s->failed, "%s",
                        s->failed_text ? s->failed_text : "");
        pthread_mutex_unlock(&s->lock);
        return code;
    }
    memset(&err, 0, sizeof(err));
    if (s->ext_code) {
        code = s->ext_code;
        snprintf(text, sizeof(text), "%s", s->ext_text ? s->ext_text : "");
        s->ext_code = ACL_SUCCESS;
        a350_sq_reset(s->sq);
    } else if (a350_sq_last_error(s->sq, &err)) {
        code = explain(s->sq, &err, s->result, what_failed(s, &err), true,
                       text, sizeof(text));
    } else {
        code = ACL_ERROR_RT_TS_ERROR;
        snprintf(text, sizeof(text), "queue %u failed",
                 a350_sq_id(s->sq));
    }
    if (s->stop_on_failure) {
        s->failed = code;
        free(s->failed_text);
        s->failed_text = strdup(text);
    } else {
        s->errors_seen = a350_sq_error_count(s->sq);
        s->told = a350_sq_pushed(s->sq);
    }
    pthread_mutex_unlock(&s->lock);
    exception_notify(err.task, s->id, s->ctx->dev->id, (uint32_t)code);
    return acl_fail(func, code, "%s", text);
}

aclError stream_capturing(const char *func, a350_stream *s)
{
    if (!s->capture) {
        return ACL_SUCCESS;
    }
    return acl_fail(func, ACL_ERROR_RT_STREAM_CAPTURED, "the stream is being "
                    "captured");
}

aclError stream_wait(const char *func, a350_stream *s, uint64_t seq,
                     int timeout_ms)
{
    char wait[512];
    uint32_t errors = s->errors_seen;
    int rc;

    /* Without the lock: a submitter holds it while the ring is full. */
    if (seq == 0) {
        seq = a350_sq_pushed(s->sq);
    }
    rc = a350_sq_wait(s->sq, seq, timeout_ms, errors);
    switch (rc) {
    case 0:
        if (pthread_mutex_trylock(&s->lock) == 0) {
            reclaim_to(s, seq);
            pthread_mutex_unlock(&s->lock);
        }
        return ACL_SUCCESS;
    case -EIO:
        return take_error(func, s);
    case -ECANCELED:
        return acl_fail(func, s->aborted ? s->aborted
                                         : ACL_ERROR_RT_STREAM_ABORT,
                        "the stream was aborted while it was waited for");
    case -ETIMEDOUT:
        explain_wait(s->sq, wait, sizeof(wait));
        return acl_fail(func, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "stream %u is "
                        "not through after %d ms%s", s->id, timeout_ms, wait);
    }
    return acl_fail_card(func, rc);
}

void a350_stream_fail(a350_stream *s, aclError code, const char *text)
{
    /*
     * May run on the completion thread, so it takes no stream lock: the first
     * one to come sets the text, then the code.
     */
    char *copy = strdup(text ? text : "");
    char *old = NULL;

    if (__atomic_load_n(&s->ext_code, __ATOMIC_ACQUIRE) == ACL_SUCCESS) {
        old = __atomic_exchange_n(&s->ext_text, copy, __ATOMIC_ACQ_REL);
        __atomic_store_n(&s->ext_code, code, __ATOMIC_RELEASE);
        copy = NULL;
    }
    a350_sq_fail(s->sq, (uint32_t)code);
    free(copy);
    free(old);
}

void a350_stream_end(a350_stream *s, aclError code, const char *text)
{
    a350_stream_fail(s, code, text);
    pthread_mutex_lock(&s->ctx->lock);
    a350_sq_reset(s->sq);
    pthread_mutex_unlock(&s->ctx->lock);
    a350_stream_fail(s, code, text);     /* takes nothing until it is told */
}

/* ---- life ---- */

static aclError sq_make(const char *func, a350_stream *s)
{
    a350_sq_config cfg = {
        .flags = s->stop_on_failure ? 0 : A350_SQ_F_CONTINUE,
        .on_cqe = stream_cqe, .on_drop = stream_drop, .opaque = s,
        .labelled = true, .label = { .rank = A350_ID_NONE, .kind = 0 },
    };
    int rc = a350_sq_new(s->card, &cfg, &s->sq);

    if (rc == -ENOSPC) {
        return acl_fail(func, ACL_ERROR_RT_NO_STREAM_RESOURCE, "%s",
                        a350_card_text());
    }
    return rc ? acl_fail_card(func, rc) : ACL_SUCCESS;
}

aclError stream_new(const char *func, acl_ctx *c, uint32_t priority,
                    uint32_t flags, a350_stream **out)
{
    acl_dev *d = c->dev;
    a350_stream *s;
    aclError rc;

    if (atomic_fetch_add(&d->streams, 1) >= STREAM_MAX) {
        atomic_fetch_sub(&d->streams, 1);
        return acl_fail(func, ACL_ERROR_RT_NO_STREAM_RESOURCE, "device %d has "
                        "%u streams, the most there can be", d->id,
                        STREAM_MAX);
    }
    s = handle_new(H_STREAM);
    rc = s ? ACL_SUCCESS : acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION,
                                    "too many handles");
    if (s) {
        s->card = d->card;
        s->ctx = c;
        s->priority = priority;
        s->flags = flags;
        s->cb_notify = A350_ID_NONE;
        pthread_mutex_init(&s->lock, NULL);
        rc = sq_make(func, s);
        if (rc == ACL_SUCCESS) {
            s->meta = calloc(a350_sq_depth(s->sq), sizeof(*s->meta));
            if (!s->meta) {
                a350_sq_destroy(s->sq);
                rc = acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "out of "
                              "host memory");
            }
        }
    }
    if (rc) {
        if (s) {
            handle_free(s);
        }
        atomic_fetch_sub(&d->streams, 1);
        return rc;
    }
    s->id = a350_sq_id(s->sq);
    pthread_mutex_lock(&c->lock);
    s->next = c->streams;
    c->streams = s;
    pthread_mutex_unlock(&c->lock);
    *out = s;
    return ACL_SUCCESS;
}

static void hooks_run(a350_stream *s)
{
    destroy_hook *h;

    pthread_mutex_lock(&s->lock);
    while ((h = s->hooks)) {
        s->hooks = h->next;
        pthread_mutex_unlock(&s->lock);
        h->fn(h->opaque, s);
        free(h);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
}

static void stream_unlink(a350_stream *s)
{
    a350_stream **p;

    pthread_mutex_lock(&s->ctx->lock);
    for (p = &s->ctx->streams; *p; p = &(*p)->next) {
        if (*p == s) {
            *p = s->next;
            break;
        }
    }
    pthread_mutex_unlock(&s->ctx->lock);
}

/*
 * After an error nobody waits for what had been queued with it, which may
 * never run; but for what was submitted after the error had been told.
 */
static bool delete_waits(const a350_stream *s)
{
    uint32_t errors = a350_sq_error_count(s->sq);

    return errors == 0 ||
           (errors == s->errors_seen && !s->stop_on_failure &&
            a350_sq_pushed(s->sq) > s->told);
}

/* Drops what is still queued, and stops what runs. */
static void stop_rest(a350_stream *s)
{
    pthread_mutex_lock(&s->lock);
    if (a350_sq_done(s->sq) != a350_sq_pushed(s->sq)) {
        a350_sq_reset(s->sq);
    }
    pthread_mutex_unlock(&s->lock);
}

void stream_delete(a350_stream *s, bool force)
{
    error_hook *h;

    stream_state_notify(s, ACL_RT_STREAM_STATE_DESTROY_PRE);
    if (!force && delete_waits(s)) {
        a350_sq_wait(s->sq, a350_sq_pushed(s->sq), -1, s->errors_seen);
    }
    /* Hooks take back what entries use: notifies that they wait for. */
    stop_rest(s);
    hooks_run(s);
    if (s->capture) {
        graph_stream_gone(s->capture, s);
    }
    stream_unlink(s);
    while (atomic_load(&s->users)) {
        usleep(100);             /* aclrtSynchronizeDevice of another thread */
    }
    stop_rest(s);                /* before memory goes */
    pthread_mutex_lock(&s->lock);
    reclaim_to(s, a350_sq_pushed(s->sq));
    pthread_mutex_unlock(&s->lock);
    a350_sq_destroy(s->sq);
    while ((h = s->error_hooks)) {
        s->error_hooks = h->next;
        free(h);
    }
    callback_purge(s);
    if (s->args_base) {
        a350_hbm_free(s->args_base);
        a350_hbm_free(s->result);
    }
    if (s->cb_notify != A350_ID_NONE) {
        a350_notify_free(s->card, s->cb_notify);
    }
    free(s->meta);
    free(s->failed_text);
    free(s->ext_text);
    atomic_fetch_sub(&s->ctx->dev->streams, 1);
    handle_free(s);
}

/* A card may have fewer queues than there can be streams (num-sq). */
uint32_t stream_available(acl_dev *d)
{
    uint32_t n = atomic_load(&d->streams), max = STREAM_MAX;
    uint32_t queues = a350_card_queues_free(d->card);

    n = n < max ? max - n : 0;
    return n < queues ? n : queues;
}

/* ---- handles ---- */

a350_stream *stream_need(const char *func, aclrtStream stream, aclError *code)
{
    acl_ctx *c = ctx_current();
    a350_stream *s = stream;

    if (!s) {
        c = ctx_need(func, code);
        return c ? c->def : NULL;
    }
    if (!handle_is(s, H_STREAM)) {
        *code = acl_fail(func, ACL_ERROR_RT_STREAM_CONTEXT, "stream %p is %s",
                         stream, handle_what(s));
        return NULL;
    }
    if (!c) {
        ctx_need(func, code);
        return NULL;
    }
    if (s->ctx != c) {
        *code = acl_fail(func, ACL_ERROR_RT_STREAM_CONTEXT, "stream %u belongs "
                         "to another context (device %d) than this thread's "
                         "current one (device %d)", s->id, s->ctx->dev->id,
                         c->dev->id);
        return NULL;
    }
    return s;
}

a350_stream *a350_stream_from_handle(aclrtStream stream)
{
    a350_stream *s = stream;
    aclError code;

    if (s && handle_is(s, H_STREAM)) {
        return s;
    }
    return stream_need("a350_stream_from_handle", stream, &code);
}

aclrtStream a350_stream_handle(a350_stream *s)
{
    return s;
}

a350_card *a350_stream_card(a350_stream *s)
{
    return s->card;
}

uint32_t a350_stream_sq_id(a350_stream *s)
{
    return a350_sq_id(s->sq);
}

int32_t a350_stream_device(a350_stream *s)
{
    return s->ctx->dev->id;
}

int a350_stream_on_error(a350_stream *s, a350_stream_error_fn *fn,
                         void *opaque)
{
    error_hook *h;

    pthread_mutex_lock(&s->lock);
    for (h = s->error_hooks; h && (h->fn != fn || h->opaque != opaque);
         h = h->next) {
    }
    if (!h && (h = malloc(sizeof(*h)))) {
        h->fn = fn;
        h->opaque = opaque;
        h->next = s->error_hooks;
        __atomic_store_n(&s->error_hooks, h, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&s->lock);
    return h ? 0 : a350_fail(-ENOMEM, "out of host memory");
}

int a350_stream_on_destroy(a350_stream *s, a350_stream_destroy_fn *fn,
                           void *opaque)
{
    destroy_hook *h = malloc(sizeof(*h));

    if (!h) {
        return a350_fail(-ENOMEM, "out of host memory");
    }
    h->fn = fn;
    h->opaque = opaque;
    pthread_mutex_lock(&s->lock);
    h->next = s->hooks;
    s->hooks = h;
    pthread_mutex_unlock(&s->lock);
    return 0;
}

void a350_stream_off_destroy(a350_stream *s, a350_stream_destroy_fn *fn,
                             void *opaque)
{
    destroy_hook **p, *h;

    pthread_mutex_lock(&s->lock);
    for (p = &s->hooks; (h = *p); p = &h->next) {
        if (h->fn == fn && h->opaque == opaque) {
            *p = h->next;
            free(h);
            break;
        }
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- public: life ---- */

static aclError check_priority(const char *func, uint32_t priority)
{
    return priority <= STREAM_PRIORITY_LEAST
           ? ACL_SUCCESS
           : acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "priority %u: legal 0 "
                      "(highest) to %u", priority, STREAM_PRIORITY_LEAST);
}

static aclError create(const char *func, aclrtStream *stream,
                       uint32_t priority, uint32_t flags)
{
    a350_stream *s;
    aclError rc;
    acl_ctx *c;

    if (!stream) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "stream is NULL");
    }
    if (flags & ~ALL_FLAGS) {
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "flags 0x%x: legal "
                        "bits 0x%x", flags, ALL_FLAGS);
    }
    rc = check_priority(func, priority);
    if (rc) {
        return rc;
    }
    c = ctx_need(func, &rc);
    if (!c) {
        return rc;
    }
    rc = stream_new(func, c, priority, flags, &s);
    if (rc == ACL_SUCCESS) {
        *stream = s;
        stream_state_notify(s, ACL_RT_STREAM_STATE_CREATE_POST);
    }
    return rc;
}

ACL_EXPORT aclError aclrtCreateStream(aclrtStream *stream)
{
    return create(__func__, stream, 0, 0);
}

ACL_EXPORT aclError aclrtCreateStreamWithConfig(aclrtStream *stream,
                                                uint32_t priority,
                                                uint32_t flag)
{
    return create(__func__, stream, priority, flag);
}

ACL_EXPORT aclError aclrtCreateStreamV2(aclrtStream *stream,
                                        const aclrtStreamConfigHandle *handle)
{
    CHECK_PTR(handle);
    return create(__func__, stream, handle->priority, (uint32_t)handle->flag);
}

static aclError destroy(const char *func, aclrtStream stream, bool force)
{
    a350_stream *s = stream;

    if (!s) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "stream is NULL");
    }
    if (!handle_is(s, H_STREAM)) {
        return acl_fail(func, ACL_ERROR_RT_STREAM_CONTEXT, "stream %p is %s",
                        stream, handle_what(s));
    }
    if (s->is_default) {
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "this is the default "
                        "stream of its context and goes with it");
    }
    stream_delete(s, force);
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtDestroyStream(aclrtStream stream)
{
    return destroy(__func__, stream, false);
}

ACL_EXPORT aclError aclrtDestroyStreamForce(aclrtStream stream)
{
    return destroy(__func__, stream, true);
}

/* ---- public: waiting ---- */

static uint64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static aclError sync_stream(const char *func, aclrtStream stream, int32_t timeout)
{
    aclError rc;
    a350_stream *s = stream_need(func, stream, &rc);

    if (!s || (rc = stream_capturing(func, s))) {
        return rc;
    }
    if (s->flags & NO_SYNC_FLAGS) {
        return ACL_SUCCESS;
    }
    return stream_wait(func, s, 0, timeout);
}

ACL_EXPORT aclError aclrtSynchronizeStream(aclrtStream stream)
{
    return sync_stream(__func__, stream, -1);
}

ACL_EXPORT aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream,
                                                      int32_t timeout)
{
    if (timeout == 0 || timeout < -1) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "timeout %d ms: more than 0, "
                    "or -1 (for ever)", timeout);
    }
    return sync_stream(__func__, stream, timeout);
}

/*
 * The streams of a context, none of which is deleted before streams_put; NULL
 * if there are none. Streams that come meanwhile are nobody's promise.
 */
static a350_stream **streams_get(acl_ctx *c, unsigned *n)
{
    a350_stream **list = NULL, *s;
    unsigned k = 0;

    *n = 0;
    pthread_mutex_lock(&c->lock);
    for (s = c->streams; s; s = s->next) {
        k++;
    }
    if (k) {
        list = malloc(k * sizeof(*list));
    }
    for (s = c->streams; s && list; s = s->next) {
        atomic_fetch_add(&s->users, 1);
        list[(*n)++] = s;
    }
    pthread_mutex_unlock(&c->lock);
    return list;
}

static void streams_put(a350_stream **list, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        atomic_fetch_sub(&list[i]->users, 1);
    }
    free(list);
}

/* The last pending entry that launches a matching function; 0: none. */
static uint64_t last_launch(a350_stream *s, bool (*match)(const void *func,
                                                          const void *arg),
                            const void *arg)
{
    uint32_t depth = a350_sq_depth(s->sq);
    uint64_t seq;

    pthread_mutex_lock(&s->lock);
    for (seq = a350_sq_pushed(s->sq); seq > s->reclaimed; seq--) {
        const task_meta *m = &s->meta[seq % depth];

        if (m->seq == seq && m->func && match(m->func, arg)) {
            break;
        }
    }
    seq = seq > s->reclaimed ? seq : 0;
    pthread_mutex_unlock(&s->lock);
    return seq;
}

void streams_finish(acl_dev *d, bool (*match)(const void *func,
                                              const void *arg),
                    const void *arg)
{
    struct {
        a350_stream **list;
        unsigned n;
    } *all = NULL;
    unsigned k = 0, i, n = 0;
    acl_ctx *c;

    pthread_mutex_lock(&d->lock);
    for (c = d->contexts; c; c = c->next) {
        n++;
    }
    all = n ? calloc(n, sizeof(*all)) : NULL;
    for (c = d->contexts, n = 0; c && all; c = c->next, n++) {
        all[n].list = streams_get(c, &all[n].n);
    }
    pthread_mutex_unlock(&d->lock);
    for (k = 0; k < n; k++) {
        for (i = 0; i < all[k].n; i++) {
            a350_stream *s = all[k].list[i];
            uint64_t seq = last_launch(s, match, arg);

            if (seq) {
                a350_sq_wait(s->sq, seq, -1, a350_sq_error_count(s->sq));
            }
        }
        streams_put(all[k].list, all[k].n);
    }
    free(all);
}

static aclError sync_device(const char *func, int32_t timeout)
{
    uint64_t now = now_ms(), end = now + (uint64_t)timeout;
    a350_stream **list;
    aclError rc;
    unsigned i, n;
    acl_ctx *c;

    c = ctx_need(func, &rc);
    if (!c || (rc = graph_forbids(func,
                                  ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT))) {
        return rc;
    }
    list = streams_get(c, &n);
    for (i = 0, rc = ACL_SUCCESS; i < n && rc == ACL_SUCCESS; i++) {
        int32_t left = -1;

        if (list[i]->flags & NO_SYNC_FLAGS || list[i]->capture) {
            continue;
        }
        if (timeout >= 0) {
            now = now_ms();
            left = now < end ? (int32_t)(end - now) : 0;
        }
        rc = stream_wait(func, list[i], 0, left);
    }
    streams_put(list, n);
    return rc;
}

ACL_EXPORT aclError aclrtSynchronizeDevice(void)
{
    return sync_device(__func__, -1);
}

ACL_EXPORT aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout)
{
    if (timeout == 0 || timeout < -1) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "timeout %d ms: more than 0, "
                    "or -1 (for ever)", timeout);
    }
    return sync_device(__func__, timeout);
}

ACL_EXPORT aclError aclrtStreamQuery(aclrtStream stream,
                                     aclrtStreamStatus *status)
{
    a350_stream *s;
    aclError rc;

    CHECK_PTR(status);
    s = stream_need(__func__, stream, &rc);
    if (!s || (rc = stream_capturing(__func__, s))) {
        return rc;
    }
    if (a350_sq_error_count(s->sq) != s->errors_seen) {
        return take_error(__func__, s);
    }
    *status = a350_sq_done(s->sq) == a350_sq_pushed(s->sq)
              ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    return ACL_SUCCESS;
}

/*
 * A submitter keeps the stream's lock while the ring is full, which may be for
 * ever: resets set it free. The context's lock keeps the queue from being made
 * anew (mode_stop) meanwhile.
 */
static void abort_lock(a350_stream *s)
{
    struct timespec ts;

    for (;;) {
        clock_gettime(CLOCK_REALTIME, &ts);
        ts.tv_nsec += 10000000;
        if (ts.tv_nsec >= 1000000000) {
            ts.tv_sec++;
            ts.tv_nsec -= 1000000000;
        }
        if (pthread_mutex_timedlock(&s->lock, &ts) == 0) {
            return;
        }
        pthread_mutex_lock(&s->ctx->lock);
        a350_sq_reset(s->sq);
        pthread_mutex_unlock(&s->ctx->lock);
    }
}

aclError stream_abort(const char *func, a350_stream *s, aclError code)
{
    int rc;

    s->aborted = code;
    abort_lock(s);
    rc = a350_sq_reset(s->sq);
    s->failed = ACL_SUCCESS;
    s->ext_code = ACL_SUCCESS;
    s->errors_seen = a350_sq_error_count(s->sq);
    reclaim_to(s, a350_sq_pushed(s->sq));
    /* Under the lock: what is submitted from here on keeps its call-backs. */
    callback_purge(s);
    if (s->cb_notify != A350_ID_NONE) {
        a350_notify_write(s->card, s->cb_notify, 0);
    }
    pthread_mutex_unlock(&s->lock);
    return rc ? acl_fail_card(func, rc) : ACL_SUCCESS;
}

aclError streams_abort(const char *func, acl_ctx *c, aclError code)
{
    aclError rc = ACL_SUCCESS;
    unsigned i, n;
    a350_stream **list = streams_get(c, &n);

    for (i = 0; i < n && rc == ACL_SUCCESS; i++) {
        rc = stream_abort(func, list[i], code);
    }
    streams_put(list, n);
    return rc;
}

static aclError abort_by_handle(const char *func, aclrtStream stream)
{
    aclError rc;
    a350_stream *s;

    if (!stream) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "stream is NULL");
    }
    s = stream_need(func, stream, &rc);
    return s ? stream_abort(func, s, ACL_ERROR_RT_STREAM_ABORT) : rc;
}

ACL_EXPORT aclError aclrtStreamAbort(aclrtStream stream)
{
    return abort_by_handle(__func__, stream);
}

ACL_EXPORT aclError aclrtStreamStop(aclrtStream stream)
{
    return abort_by_handle(__func__, stream);
}

/* ---- public: attributes ---- */

/* The stream of a question whose answer goes to @out. */
static a350_stream *asked(const char *func, aclrtStream stream,
                          const void *out, const char *name, aclError *rc)
{
    *rc = ACL_SUCCESS;
    if (!out) {
        *rc = acl_fail(func, ACL_ERROR_INVALID_PARAM, "%s is NULL", name);
        return NULL;
    }
    return stream_need(func, stream, rc);
}

ACL_EXPORT aclError aclrtStreamGetId(aclrtStream stream, int32_t *streamId)
{
    aclError rc;
    a350_stream *s = asked(__func__, stream, streamId, "streamId", &rc);

    if (s) {
        *streamId = (int32_t)s->id;
    }
    return rc;
}

ACL_EXPORT aclError aclrtStreamGetPriority(aclrtStream stream,
                                           uint32_t *priority)
{
    aclError rc;
    a350_stream *s = asked(__func__, stream, priority, "priority", &rc);

    if (s) {
        *priority = s->priority;
    }
    return rc;
}

ACL_EXPORT aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t *flags)
{
    aclError rc;
    a350_stream *s = asked(__func__, stream, flags, "flags", &rc);

    if (s) {
        *flags = s->flags;
    }
    return rc;
}

/*
 * The card knows the mode from the queue's creation, so the idle queue is made
 * anew; work that is queued is waited for first.
 */
static aclError mode_stop(const char *func, a350_stream *s)
{
    a350_sq *old;
    aclError rc = stream_wait(func, s, 0, -1);

    if (rc) {
        return rc;
    }
    pthread_mutex_lock(&s->lock);
    pthread_mutex_lock(&s->ctx->lock);
    reclaim_to(s, a350_sq_pushed(s->sq));
    old = s->sq;
    s->stop_on_failure = 1;
    rc = sq_make(func, s);
    if (rc) {
        s->sq = old;
        s->stop_on_failure = 0;
    } else {
        s->reclaimed = 0;
        s->errors_seen = 0;
        s->told = 0;
        s->id = a350_sq_id(s->sq);   /* the old number may be another's soon */
        memset(s->meta, 0, a350_sq_depth(s->sq) * sizeof(*s->meta));
        a350_sq_destroy(old);
    }
    pthread_mutex_unlock(&s->ctx->lock);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

ACL_EXPORT aclError aclrtSetStreamFailureMode(aclrtStream stream,
                                              uint64_t mode)
{
    aclError rc;
    a350_stream *s;

    if (mode > ACL_STOP_ON_FAILURE) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "mode %llu: 0 (continue) or 1 "
                    "(stop)", (unsigned long long)mode);
    }
    s = stream_need(__func__, stream, &rc);
    if (!s || (rc = stream_capturing(__func__, s))) {
        return rc;
    }
    if (s->mode_set) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "the failure mode of a stream "
                    "can be set once");
    }
    rc = mode == ACL_STOP_ON_FAILURE ? mode_stop(__func__, s) : ACL_SUCCESS;
    s->mode_set = rc == ACL_SUCCESS;
    return rc;
}

ACL_EXPORT aclError aclrtGetStreamAvailableNum(uint32_t *streamCount)
{
    aclError rc;
    acl_ctx *c;

    CHECK_PTR(streamCount);
    c = ctx_need(__func__, &rc);
    if (!c) {
        return rc;
    }
    *streamCount = stream_available(c->dev);
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtSetStreamAttribute(aclrtStream stream,
                                            aclrtStreamAttr stmAttrType,
                                            aclrtStreamAttrValue *value)
{
    aclError rc;
    a350_stream *s;

    CHECK_PTR(value);
    s = stream_need(__func__, stream, &rc);
    if (!s) {
        return rc;
    }
    switch (stmAttrType) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
        return aclrtSetStreamFailureMode(stream, value->failureMode);
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
        s->overflow = value->overflowSwitch;
        break;
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
        s->tag = value->userCustomTag;
        break;
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
        s->cache_op = value->cacheOpInfoSwitch;
        break;
    case ACL_STREAM_ATTR_PRIORITY:
        rc = check_priority(__func__, value->streamPriority);
        if (rc) {
            return rc;
        }
        s->priority = value->streamPriority;
        break;
    default:
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "attribute %d: legal 1..5",
                    (int)stmAttrType);
    }
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtGetStreamAttribute(aclrtStream stream,
                                            aclrtStreamAttr stmAttrType,
                                            aclrtStreamAttrValue *value)
{
    aclError rc;
    a350_stream *s;

    CHECK_PTR(value);
    s = stream_need(__func__, stream, &rc);
    if (!s) {
        return rc;
    }
    memset(value, 0, sizeof(*value));
    switch (stmAttrType) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
        value->failureMode = s->stop_on_failure;
        break;
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
        value->overflowSwitch = s->overflow;
        break;
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
        value->userCustomTag = s->tag;
        break;
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
        value->cacheOpInfoSwitch = s->cache_op;
        break;
    case ACL_STREAM_ATTR_PRIORITY:
        value->streamPriority = s->priority;
        break;
    default:
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "attribute %d: legal 1..5",
                    (int)stmAttrType);
    }
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtSetStreamOverflowSwitch(aclrtStream stream,
                                                 uint32_t flag)
{
    aclError rc;
    a350_stream *s = stream_need(__func__, stream, &rc);

    if (!s) {
        return rc;
    }
    if (flag > 1) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "flag %u: 0 or 1", flag);
    }
    s->overflow = flag;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtGetStreamOverflowSwitch(aclrtStream stream,
                                                 uint32_t *flag)
{
    aclError rc;
    a350_stream *s = asked(__func__, stream, flag, "flag", &rc);

    if (s) {
        *flag = s->overflow;
    }
    return rc;
}
