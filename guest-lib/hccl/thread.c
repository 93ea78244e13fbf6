/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads: task queues that kernels fill, and streams of the host, each with
 * its notifies. spec/api/hccl-control-plane.md §5.
 *
 * A thread is one object with up to two handles: the device address of its
 * a350_thread_obj for kernels, a number of handle.c for the host.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hccl_internal.h"

/*
 * Held while a thread is looked up from outside its communicator. Taken
 * before hcl_comm.lock, never inside it.
 */
static pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER;

static void thread_destroy(hcl_thread *t);

/* ---- notifies ---- */

static uint32_t id_none(void)
{
    return A350_ID_NONE;
}

static void label_notify(const hcl_thread *t, uint32_t index)
{
    a350_notify_label l = {
        .notify_id = t->notify.ids[index], .kind = 1, .index = index,
        .rank = t->comm ? t->comm->rank : id_none(),
        .peer_rank = id_none(),
        .owner_sq = t->sq ? a350_sq_id(t->sq)
                          : t->s ? a350_stream_sq_id(t->s) : id_none(),
    };

    if (index >= HCL_CHANNEL_NOTIFY_MAX) {
        return;                  /* names cost a command each */
    }
    if (t->comm) {
        snprintf(l.comm, sizeof(l.comm), "%.63s", t->comm->name);
    }
    a350_notify_set_label(t->card, &l);
}

/* Gives back all but the first @keep. */
static void notifies_drop(hcl_thread *t, uint32_t keep)
{
    while (t->notify.num > keep) {
        a350_notify_free(t->card, t->notify.ids[--t->notify.num]);
    }
}

static HcclResult notifies_add(hcl_thread *t, uint32_t n)
{
    hcl_notifies *v = &t->notify;
    uint32_t *ids = realloc(v->ids, (v->num + n) * sizeof(*ids));
    uint32_t had = v->num, i;
    int rc;

    if (!ids && v->num + n) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    v->ids = ids;
    for (i = 0; i < n; i++) {
        rc = a350_notify_alloc(t->card, &ids[v->num]);
        if (rc) {
            HcclResult why = hcl_driver(rc, "notifies of a thread");

            notifies_drop(t, had);
            return why;
        }
        a350_notify_clear(t->card, ids[v->num], 1);
        v->num++;
    }
    return HCCL_SUCCESS;
}

static void notifies_free(hcl_thread *t)
{
    notifies_drop(t, 0);
    free(t->notify.ids);
    t->notify = (hcl_notifies){ 0 };
}

/* Kernel threads have one more notify than asked for, always the last one. */
static uint32_t hidden(const hcl_thread *t)
{
    return t->sq ? 1 : 0;
}

/* Puts the ids where kernels see them. */
static HcclResult publish_ids(hcl_thread *t)
{
    a350_thread_obj *o;
    uint64_t addr, old = t->ids_addr;
    int rc;

    if (!t->device) {
        return HCCL_SUCCESS;
    }
    rc = a350_hbm_new(t->card, t->notify.num ? t->notify.ids : NULL,
                      t->notify.num ? t->notify.num * sizeof(uint32_t) : 64,
                      &addr);
    if (rc) {
        return hcl_driver(rc, "notify table of a thread");
    }
    o = a350_hbm_ptr(t->device, sizeof(*o));
    o->notify_ids = addr;
    o->notify_num = t->notify.num;
    t->ids_addr = addr;
    if (old) {
        a350_hbm_free(old);
    }
    return HCCL_SUCCESS;
}

HcclResult hcl_thread_grow(hcl_thread *t, uint32_t notifies)
{
    uint32_t have = t->notify.num - hidden(t), last = 0, i;
    HcclResult rc;

    if (notifies <= have) {
        return HCCL_SUCCESS;
    }
    rc = notifies_add(t, notifies - have);
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    if (hidden(t)) {             /* stays the last */
        last = t->notify.ids[have];
        memmove(&t->notify.ids[have], &t->notify.ids[have + 1],
                (t->notify.num - have - 1) * sizeof(uint32_t));
        t->notify.ids[t->notify.num - 1] = last;
    }
    rc = publish_ids(t);
    if (rc != HCCL_SUCCESS) {    /* kernels have the old table: so have we */
        if (hidden(t)) {
            t->notify.ids[t->notify.num - 1] = t->notify.ids[have];
            t->notify.ids[have] = last;
        }
        notifies_drop(t, have + hidden(t));
        return rc;
    }
    for (i = have; i < t->notify.num; i++) {
        label_notify(t, i);
    }
    return HCCL_SUCCESS;
}

/* ---- failures of kernel threads ---- */

/*
 * A queue that kernels fill has nobody who waits for it. Its failure ends the
 * streams on which the host waits for its communicator, at once (README of
 * the fact sheets). The completion thread only notes it; a worker that may
 * issue commands does the rest.
 */
static pthread_mutex_t fail_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fail_cond = PTHREAD_COND_INITIALIZER;
static uint64_t fail_queue[256];
static unsigned fail_head, fail_tail;
static pthread_once_t fail_once = PTHREAD_ONCE_INIT;

static void fail_note(void *handle)
{
    pthread_mutex_lock(&fail_lock);
    if (fail_head - fail_tail < 256) {
        fail_queue[fail_head++ % 256] = (uint64_t)(uintptr_t)handle;
        pthread_cond_signal(&fail_cond);
    }
    pthread_mutex_unlock(&fail_lock);
}

static void on_cqe(void *opaque, a350_sq *sq, const a350_cqe *cqe)
{
    (void)sq;
    if (cqe->h0 & A350_CQE_ERROR) {
        fail_note(opaque);
    }
}

void hcl_unfold_failed(void *opaque, aclError code)
{
    (void)code;
    fail_note(opaque);
}

/* A host thread is in the queue when its operator's kernel has failed. */
static void report_host(hcl_thread *t)
{
    const hcl_env *env;
    char text[512];

    if (!t->s || hcl_env_get(&env) != HCCL_SUCCESS || !env->task_exception) {
        return;
    }
    snprintf(text, sizeof(text), "EI0012: %s: rank %d: the kernel of an "
             "operator failed on its unfold stream; synchronize that stream "
             "for the reason", t->comm ? t->comm->name : "",
             t->comm ? (int)t->comm->rank : -1);
    hcl_log(3, "%s", text);
    a350_stream_fail(t->s, ACL_ERROR_RT_AICPU_EXCEPTION, text);
}

/* Those of @c's host threads whose stream exists. */
static void each_stream(hcl_comm *c, void (*fn)(hcl_thread *t, aclError code,
                                                const char *text),
                        aclError code, const char *text)
{
    hcl_thread *lists[3], *t;
    int i;

    pthread_mutex_lock(&c->lock);
    lists[0] = c->stream_threads;
    lists[1] = c->host_threads;
    lists[2] = c->dedicated;
    for (i = 0; i < 3; i++) {
        for (t = lists[i]; t; t = t->next) {
            if (t->s) {
                fn(t, code, text);
            }
        }
    }
    pthread_mutex_unlock(&c->lock);
}

/* One that has waited, and is past it, goes on with other work. */
static void fail_one(hcl_thread *t, aclError code, const char *text)
{
    if (t->waits && !a350_stream_passed(t->s, &t->mark)) {
        a350_stream_fail(t->s, code, text);
    }
}

static void fail_streams(hcl_comm *c, aclError code, const char *text)
{
    each_stream(c, fail_one, code, text);
}

void hcl_thread_waits(hcl_thread *t)
{
    hcl_comm *c = t->comm;
    const hcl_env *env;

    if (!c || hcl_env_get(&env) != HCCL_SUCCESS || !env->task_exception) {
        return;
    }
    pthread_mutex_lock(&life);
    if (c->first_error[0] && t->s) {
        fail_one(t, c->first_code, c->first_error);
    }
    pthread_mutex_unlock(&life);
}

static void end_one(hcl_thread *t, aclError code, const char *text)
{
    if (!a350_stream_passed(t->s, &t->mark)) {
        hcl_log(2, "%s", text);
        a350_stream_end(t->s, code, text);
    }
}

void hcl_comm_leave_streams(hcl_comm *c)
{
    char text[256];

    snprintf(text, sizeof(text), "communicator %s (rank %u) was destroyed "
             "while its work was queued on the stream; synchronize the stream "
             "before HcclCommDestroy", c->name, c->rank);
    pthread_mutex_lock(&life);
    each_stream(c, end_one, ACL_ERROR_RT_TS_ERROR, text);
    pthread_mutex_unlock(&life);
    hcl_unfolds_end(c, ACL_ERROR_RT_TS_ERROR, text);
}

/* The first error stays the communicator's. Under the lock. */
static void set_failed(hcl_comm *c, aclError code, const char *text)
{
    if (!c->first_error[0]) {
        c->first_code = code;
        snprintf(c->first_error, sizeof(c->first_error), "%.511s", text);
        c->async_error = HCCL_E_REMOTE;
    }
}

void hcl_comm_fail(hcl_comm *c, aclError code, const char *text)
{
    pthread_mutex_lock(&life);
    hcl_log(3, "%s", text);
    set_failed(c, code, text);
    fail_streams(c, code, c->first_error);
    pthread_mutex_unlock(&life);
}

bool hcl_comm_failed(hcl_comm *c, char *text, size_t len)
{
    bool failed;

    pthread_mutex_lock(&life);
    failed = c->first_error[0] != '\0';
    snprintf(text, len, "%s", c->first_error);
    pthread_mutex_unlock(&life);
    return failed;
}

static const char *published(const a350_sq_error *e)
{
    if (e->sqe_type == A350_SQE_PLACE_HOLDER) {
        return "EI0002";
    }
    return e->sqe_type == A350_SQE_UBDMA ? "EI0018" : "EI0012";
}

/* "notify 1 of the channel to rank 3 (rank 3 records it)", or "". */
static void notify_text(hcl_thread *t, char *buf, size_t len)
{
    a350_first_error fe;
    const hcl_channel *ch;
    const hcl_thread *o;
    hcl_comm *c = t->comm;
    uint32_t i, id;

    buf[0] = '\0';
    if (!c || a350_first_error_get(t->card, &fe) ||
        fe.kind == A350_EK_NONE || fe.sq_id != a350_sq_id(t->sq) ||
        fe.notify_id == A350_ID_NONE) {
        return;
    }
    id = fe.notify_id;
    pthread_mutex_lock(&c->lock);
    for (ch = c->channels; ch; ch = ch->next) {
        if (id >= ch->notify_first && id - ch->notify_first < ch->notify_num) {
            snprintf(buf, len, "; that is notify %u of the channel to rank %u "
                     "(engine %s), which rank %u must record",
                     id - ch->notify_first, ch->peer,
                     hcl_engine_name(ch->engine), ch->peer);
        }
    }
    for (o = c->device_threads; o; o = o->next) {
        for (i = 0; i < o->notify.num; i++) {
            if (o->notify.ids[i] == id) {
                snprintf(buf, len, "; that is notify %u of thread %u of this "
                         "rank%s", i, o->index, i + 1 == o->notify.num
                         ? " (the host's)" : "");
            }
        }
    }
    pthread_mutex_unlock(&c->lock);
}

/* The channel whose jetty is @jetty, or whose notify is @notify. */
static uint64_t channel_of(hcl_comm *c, uint32_t jetty, uint32_t notify)
{
    uint64_t handle = 0;
    const hcl_channel *ch;

    pthread_mutex_lock(&c->lock);
    for (ch = c->channels; ch && !handle; ch = ch->next) {
        if (ch->jetty.id == jetty ||
            (notify != A350_ID_NONE && notify >= ch->notify_first &&
             notify - ch->notify_first < ch->notify_num)) {
            handle = ch->device;
        }
    }
    pthread_mutex_unlock(&c->lock);
    return handle;
}

/*
 * What callbacks get. The channel is named when the card's latch is about
 * this task: it has the jetty or the notify.
 */
static void describe(hcl_thread *t, const a350_sq_error *e,
                     HcommExceptionInfo *info)
{
    a350_first_error fe;

    memset(info, 0, sizeof(*info));
    info->header.version = 1;
    info->header.magicWord = HCL_EXCEPTION_MAGIC;
    info->header.size = sizeof(*info);
    info->thread = t->device;
    info->taskId = e->task;
    info->expandInfo.type = e->sqe_type == A350_SQE_UBDMA
                            ? HCOMM_EXCEPTION_EXPAND_URMA
                            : HCOMM_EXCEPTION_EXPAND_STARS;
    info->expandInfo.stars.starsErrcode = e->status;
    info->expandInfo.stars.sqeType = e->sqe_type;
    info->expandInfo.stars.statusMerged = e->bits;
    if (t->comm && !a350_first_error_get(t->card, &fe) &&
        fe.kind != A350_EK_NONE && fe.sq_id == a350_sq_id(t->sq)) {
        info->channel = channel_of(t->comm, e->sqe_type == A350_SQE_UBDMA
                                   ? fe.jetty_id : A350_ID_NONE,
                                   fe.notify_id);
    }
}

/* False: there is nothing to tell. Under the lock. */
static bool report(hcl_thread *t, HcommExceptionInfo *info)
{
    const hcl_env *env;
    char why[640], which[128], text[1024];
    hcl_comm *c = t->comm;
    a350_sq_error e;
    aclError code;

    if (!a350_sq_last_error(t->sq, &e)) {
        return false;
    }
    describe(t, &e, info);
    notify_text(t, which, sizeof(which));    /* explaining clears the latch */
    code = a350_explain_error(t->sq, &e, why, sizeof(why));
    if (code == ACL_ERROR_RT_TASK_TIMEOUT) {
        /* That code is for the host's own waits: env-and-errors.md §4. */
        code = ACL_ERROR_RT_TS_ERROR;
    }
    info->retCode = (uint32_t)code;
    snprintf(text, sizeof(text), "%s: %s%srank %d, thread %u: task %u: %s%s",
             published(&e), c ? c->name : "", c ? ": " : "",
             c ? (int)c->rank : -1, t->index, e.task, why, which);
    hcl_log(3, "%s%s", c && c->first_error[0] ? "(after the first error) " : "",
            text);
    if (!c) {
        return true;
    }
    set_failed(c, code, text);
    if (hcl_env_get(&env) == HCCL_SUCCESS && env->task_exception) {
        fail_streams(c, code, c->first_error);
    }
    return true;
}

static void *fail_worker(void *unused)
{
    HcommExceptionInfo info;
    hcl_thread *t;
    uint64_t handle;
    bool told;

    (void)unused;
    for (;;) {
        pthread_mutex_lock(&fail_lock);
        while (fail_head == fail_tail) {
            pthread_cond_wait(&fail_cond, &fail_lock);
        }
        handle = fail_queue[fail_tail++ % 256];
        pthread_mutex_unlock(&fail_lock);
        pthread_mutex_lock(&life);
        t = hcl_handle_get(handle, HCL_THREAD);
        told = t && t->sq && report(t, &info);
        if (t && !t->sq) {
            report_host(t);
        }
        pthread_mutex_unlock(&life);
        if (told) {
            hcl_exception_tell(&info);
        }
    }
    return NULL;
}

static void fail_start(void)
{
    pthread_attr_t attr;
    pthread_t id;

    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    a350_thread_create(&id, &attr, fail_worker, NULL);
    pthread_attr_destroy(&attr);
}

/* ---- kernel threads ---- */

static HcclResult make_object(hcl_thread *t, uint32_t kind)
{
    a350_thread_obj o = {
        .magic = A350_THREAD_MAGIC, .version = A350_HCOMM_ABI_VERSION,
        .size = sizeof(o), .kind = kind, .index = t->index,
        .rank = t->comm ? t->comm->rank : id_none(),
        .comm = t->comm ? t->comm->object : 0,
    };
    int rc;

    if (t->sq) {
        o.sq_id = a350_sq_id(t->sq);
        o.sq_depth = a350_sq_depth(t->sq);
        o.sq_base = a350_sq_base(t->sq);
        o.sq_page = a350_sq_page(t->sq);
    } else {
        o.sq_id = t->s ? a350_stream_sq_id(t->s) : id_none();
    }
    rc = a350_hbm_new(t->card, &o, sizeof(o), &t->device);
    if (rc) {
        t->device = 0;
        return hcl_driver(rc, "thread object");
    }
    if (hcl_handle_add(t->device, HCL_THREAD, t)) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    return publish_ids(t);
}

static void set_label(a350_sq_label *l, const hcl_comm *c, uint32_t index)
{
    l->rank = c ? c->rank : id_none();
    l->thread = index;
    l->kind = 1;
    if (c) {
        snprintf(l->comm, sizeof(l->comm), "%.63s", c->name);
    }
}

HcclResult hcl_thread_new_device(a350_card *card, hcl_comm *c,
                                 CommEngine engine, uint32_t index,
                                 uint32_t notifies, hcl_thread **out)
{
    hcl_thread *t = calloc(1, sizeof(*t));
    a350_sq_config cfg = { .device_fills = true, .on_cqe = on_cqe,
                           .labelled = true };
    HcclResult rc;
    uint64_t tag;
    uint32_t i;
    int err;

    if (!t) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    pthread_once(&fail_once, fail_start);
    t->card = card;
    t->comm = c;
    t->engine = engine;
    t->index = index;
    /* The host's handle exists from the start: failures are told by it. */
    tag = hcl_handle_new(HCL_THREAD, t);
    t->host = tag;
    cfg.opaque = (void *)(uintptr_t)tag;
    set_label(&cfg.label, c, index);
    err = a350_sq_new(card, &cfg, &t->sq);
    if (err) {
        t->sq = NULL;
        rc = hcl_driver(err, "task queue of a thread");
    } else {
        rc = notifies_add(t, notifies + 1);
    }
    if (rc == HCCL_SUCCESS) {
        rc = make_object(t, A350_THREAD_QUEUE);
    }
    if (rc != HCCL_SUCCESS) {
        thread_destroy(t);
        return rc == HCCL_E_OOM ? HCCL_E_UNAVAIL : rc;
    }
    for (i = 0; i < t->notify.num; i++) {
        label_notify(t, i);
    }
    *out = t;
    return HCCL_SUCCESS;
}

/* ---- host threads ---- */

static void stream_gone(void *opaque, aclrtStream stream)
{
    hcl_thread *t, **p;
    hcl_comm *c;

    (void)stream;
    pthread_mutex_lock(&life);
    t = hcl_handle_get((uint64_t)(uintptr_t)opaque, HCL_THREAD);
    if (t) {
        c = t->comm;
        t->s = NULL;
        t->stream = NULL;
        if (c) {
            pthread_mutex_lock(&c->lock);
            for (p = &c->stream_threads; *p && *p != t; p = &(*p)->next) {
            }
            if (*p) {
                *p = t->next;
                c->n_stream_threads--;
                c->n_notifies -= t->notify.num;
            } else {
                t = NULL;        /* not of the list: freed with its owner */
            }
            pthread_mutex_unlock(&c->lock);
        } else {
            t = NULL;
        }
    }
    pthread_mutex_unlock(&life);
    if (t) {
        hcl_thread_free(t);
    }
}

HcclResult hcl_thread_new_host(a350_card *card, hcl_comm *c, CommEngine engine,
                               aclrtStream stream, uint32_t index,
                               uint32_t notifies, hcl_thread **out)
{
    hcl_thread *t = calloc(1, sizeof(*t));
    HcclResult rc = HCCL_SUCCESS;
    uint32_t i;

    if (!t) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    t->card = card;
    t->comm = c;
    t->engine = engine;
    t->index = index;
    t->own_stream = stream == NULL;
    t->host = hcl_handle_new(HCL_THREAD, t);
    if (t->own_stream) {
        rc = hcl_acl(aclrtCreateStream(&stream), "aclrtCreateStream");
    }
    if (rc == HCCL_SUCCESS) {
        t->stream = stream;
        t->s = a350_stream_from_handle(stream);
        if (!t->s || a350_stream_card(t->s) != card) {
            rc = hcl_fail(HCCL_E_PARA, "EI0003", "stream %p is not a live "
                          "stream of device %d", stream,
                          c ? c->device : a350_current_device());
            t->s = NULL;
        }
    }
    if (rc == HCCL_SUCCESS) {
        rc = notifies_add(t, notifies);
    }
    if (rc != HCCL_SUCCESS) {
        thread_destroy(t);
        return rc;
    }
    for (i = 0; i < t->notify.num; i++) {
        label_notify(t, i);
    }
    *out = t;
    return HCCL_SUCCESS;
}

/* ---- both ---- */

HcclResult hcl_thread_export_device(hcl_thread *t)
{
    return t->device ? HCCL_SUCCESS
                     : make_object(t, A350_THREAD_EXPORTED);
}

hcl_thread *hcl_thread_get(uint64_t handle)
{
    return hcl_handle_get(handle, HCL_THREAD);
}

void hcl_thread_free(hcl_thread *t)
{
    pthread_mutex_lock(&life);
    hcl_handle_drop(t->host);
    if (t->device) {
        hcl_handle_drop(t->device);
    }
    pthread_mutex_unlock(&life);
    thread_destroy(t);
}

/* Also of a thread that nobody has seen yet. */
static void thread_destroy(hcl_thread *t)
{
    a350_thread_obj *o;

    hcl_handle_drop(t->host);
    if (t->device) {
        hcl_handle_drop(t->device);
    }
    if (t->s && !t->own_stream) {
        a350_stream_off_destroy(t->s, stream_gone,
                                (void *)(uintptr_t)t->host);
    }
    if (t->device) {
        o = a350_hbm_ptr(t->device, sizeof(*o));
        if (o) {
            o->magic = 0;
        }
    }
    if (t->sq) {
        a350_sq_destroy(t->sq);
    }
    if (t->stream && t->own_stream) {
        aclrtDestroyStream(t->stream);
    }
    notifies_free(t);
    if (t->ids_addr) {
        a350_hbm_free(t->ids_addr);
    }
    if (t->device) {
        a350_hbm_free(t->device);
    }
    free(t);
}

/* ---- the pools of a communicator ---- */

static HcclResult quota(const hcl_comm *c, const char *call, uint32_t threads,
                        uint64_t notifies)
{
    uint32_t have = c->n_device_threads + c->n_host_threads +
                    c->n_stream_threads;

    if (have + (uint64_t)threads > HCL_THREADS_MAX) {
        return hcl_fail(HCCL_E_UNAVAIL, "EI0007", "%s: communicator %s has %u "
                        "threads and would get %u more; at most %u", call,
                        c->name, have, threads, HCL_THREADS_MAX);
    }
    if (c->n_notifies + notifies > HCL_NOTIFIES_MAX) {
        return hcl_fail(HCCL_E_UNAVAIL, "EI0007", "%s: communicator %s has %u "
                        "thread notifies and would get %llu more; at most %u",
                        call, c->name, c->n_notifies,
                        (unsigned long long)notifies, HCL_NOTIFIES_MAX);
    }
    return HCCL_SUCCESS;
}

static bool is_device(CommEngine e)
{
    return e == COMM_ENGINE_AICPU || e == COMM_ENGINE_AICPU_TS;
}

/* What a request adds to the pool, for the quotas. */
static void request(const hcl_thread *pool, uint32_t num, uint32_t notifies,
                    bool device, uint32_t *threads, uint64_t *more)
{
    uint32_t i = 0;

    *more = 0;
    for (; pool && i < num; pool = pool->next, i++) {
        uint32_t have = pool->notify.num - hidden(pool);

        *more += notifies > have ? notifies - have : 0;
    }
    *threads = num - i;
    *more += (uint64_t)*threads * (notifies + (device ? 1 : 0));
}

static HcclResult acquire(hcl_comm *c, const char *call, CommEngine engine,
                          uint32_t num, uint32_t notifies, ThreadHandle *out)
{
    bool device = is_device(engine);
    hcl_thread **p = device ? &c->device_threads : &c->host_threads;
    uint32_t *count = device ? &c->n_device_threads : &c->n_host_threads;
    uint32_t i, threads;
    HcclResult rc;
    uint64_t more;

    request(*p, num, notifies, device, &threads, &more);
    rc = quota(c, call, threads, more);
    for (i = 0; i < num && rc == HCCL_SUCCESS; i++, p = &(*p)->next) {
        if (*p) {
            uint32_t before = (*p)->notify.num;

            rc = hcl_thread_grow(*p, notifies);
            c->n_notifies += (*p)->notify.num - before;
        } else {
            rc = device
                 ? hcl_thread_new_device(c->card, c, engine, i, notifies, p)
                 : hcl_thread_new_host(c->card, c, engine, NULL, i, notifies,
                                       p);
            if (rc == HCCL_SUCCESS) {
                *count += 1;
                c->n_notifies += (*p)->notify.num;
            }
        }
        if (rc == HCCL_SUCCESS) {
            out[i] = device ? (*p)->device : (*p)->host;
        } else if (!*p) {
            break;
        }
    }
    return rc;
}

static HcclResult thread_acquire(HcclComm comm, const char *call,
                                 CommEngine engine, uint32_t num,
                                 uint32_t notifies, ThreadHandle *threads)
{
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);

    if (!c) {
        return rc;
    }
    if (!threads) {
        rc = hcl_null(call, "threads");
    } else if (engine < COMM_ENGINE_CPU || engine > COMM_ENGINE_AICPU_TS) {
        rc = hcl_bad(HCCL_E_PARA, call, "engine", "CPU 0, CPU_TS 1, AICPU 2 "
                     "or AICPU_TS 3", "%d (%s)", (int)engine,
                     hcl_engine_name(engine));
    } else if (num == 0) {
        rc = hcl_bad(HCCL_E_PARA, call, "threadNum", "1 or more", "0");
    } else if (notifies > HCL_THREAD_NOTIFY_MAX) {
        rc = hcl_bad(HCCL_E_PARA, call, "notifyNumPerThread",
                     "0 to " HCL_TEXT(HCL_THREAD_NOTIFY_MAX),
                     "%u", notifies);
    } else if (num > HCL_THREADS_MAX) {
        rc = quota(c, call, num, 0);
    } else {
        pthread_mutex_lock(&c->lock);
        rc = acquire(c, call, engine, num, notifies, threads);
        pthread_mutex_unlock(&c->lock);
    }
    hcl_comm_put(c);
    return rc;
}

HcclResult HcclThreadAcquire(HcclComm comm, CommEngine engine,
                             uint32_t threadNum, uint32_t notifyNumPerThread,
                             ThreadHandle *threads)
{
    return thread_acquire(comm, "HcclThreadAcquire", engine, threadNum,
                          notifyNumPerThread, threads);
}

HcclResult HcclThreadAcquireWithConfig(HcclComm comm, CommEngine engine,
                                       uint32_t threadNum, ThreadType type,
                                       const ThreadConfig *config,
                                       ThreadHandle *threads)
{
    static const char call[] = "HcclThreadAcquireWithConfig";

    if (!config) {
        return hcl_null(call, "config");
    }
    if (config->header.magicWord != HCOMM_THREAD_CONFIG_MAGIC_WORD) {
        return hcl_bad(HCCL_E_PARA, call, "config", "a structure filled by "
                       "ThreadConfigInit", "magic 0x%x",
                       config->header.magicWord);
    }
    if (type != THREAD_TYPE_TS) {
        return hcl_bad(HCCL_E_PARA, call, "type", "THREAD_TYPE_TS (0)", "%d",
                       (int)type);
    }
    if (engine != COMM_ENGINE_CPU && engine != COMM_ENGINE_AICPU) {
        return hcl_bad(HCCL_E_PARA, call, "engine", "CPU 0 or AICPU 2",
                       "%d (%s)", (int)engine, hcl_engine_name(engine));
    }
    return thread_acquire(comm, call, engine, threadNum,
                          config->notifyNumPerThread, threads);
}

static HcclResult with_stream(hcl_comm *c, CommEngine engine,
                              aclrtStream stream, uint32_t notifies,
                              ThreadHandle *thread, hcl_thread **made)
{
    static const char call[] = "HcclThreadAcquireWithStream";
    hcl_thread *t;
    HcclResult rc;
    uint32_t before;

    for (t = c->stream_threads; t && t->stream != stream; t = t->next) {
    }
    if (t) {
        before = t->notify.num;
        rc = quota(c, call, 0, notifies > before ? notifies - before : 0);
        if (rc == HCCL_SUCCESS) {
            rc = hcl_thread_grow(t, notifies);
            c->n_notifies += t->notify.num - before;
        }
    } else {
        rc = quota(c, call, 1, notifies);
        if (rc == HCCL_SUCCESS) {
            rc = hcl_thread_new_host(c->card, c, engine, stream,
                                     c->n_stream_threads, notifies, &t);
        }
        if (rc == HCCL_SUCCESS) {
            t->next = c->stream_threads;
            c->stream_threads = t;
            c->n_stream_threads++;
            c->n_notifies += t->notify.num;
            *made = t;
        }
    }
    if (rc == HCCL_SUCCESS) {
        *thread = t->host;
    }
    return rc;
}

HcclResult HcclThreadAcquireWithStream(HcclComm comm, CommEngine engine,
                                       aclrtStream stream, uint32_t notifyNum,
                                       ThreadHandle *thread)
{
    static const char call[] = "HcclThreadAcquireWithStream";
    hcl_thread *made = NULL;
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);

    if (!c) {
        return rc;
    }
    if (!stream || !thread) {
        rc = hcl_null(call, stream ? "thread" : "stream");
    } else if (engine != COMM_ENGINE_CPU && engine != COMM_ENGINE_CPU_TS &&
               engine != COMM_ENGINE_CCU) {
        rc = hcl_bad(HCCL_E_PARA, call, "engine", "CPU 0, CPU_TS 1 or CCU 5",
                     "%d (%s)", (int)engine, hcl_engine_name(engine));
    } else if (notifyNum > HCL_THREAD_NOTIFY_MAX) {
        rc = hcl_bad(HCCL_E_PARA, call, "notifyNum",
                     "0 to " HCL_TEXT(HCL_THREAD_NOTIFY_MAX), "%u",
                     notifyNum);
    } else {
        pthread_mutex_lock(&c->lock);
        rc = with_stream(c, engine, stream, notifyNum, thread, &made);
        pthread_mutex_unlock(&c->lock);
        /* Outside the lock: the stream's side takes its own. */
        if (made) {
            a350_stream_on_destroy(made->s, stream_gone,
                                   (void *)(uintptr_t)made->host);
        }
    }
    hcl_comm_put(c);
    return rc;
}

HcclResult HcclDedicatedThreadAcquire(HcclComm comm,
                                      HcclDedicatedThreadType type,
                                      uint32_t notifyNumPerThread,
                                      ThreadHandle *thread)
{
    static const char call[] = "HcclDedicatedThreadAcquire";
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);

    if (!c) {
        return rc;
    }
    if (!thread) {
        rc = hcl_null(call, "thread");
    } else if (type < HCCL_DED_THREAD_TYPE_AICPU_LAUNCH ||
               type > HCCL_DED_THREAD_TYPE_AICPU_ORDER_LAUNCH_DEVICE) {
        rc = hcl_bad(HCCL_E_PARA, call, "type", "0 to 5", "%d", (int)type);
    } else if (notifyNumPerThread > HCL_DED_NOTIFY_MAX) {
        rc = hcl_bad(HCCL_E_PARA, call, "notifyNumPerThread",
                     "0 to " HCL_TEXT(HCL_DED_NOTIFY_MAX), "%u",
                     notifyNumPerThread);
    } else if (type != HCCL_DED_THREAD_TYPE_AICPU_LAUNCH) {
        *thread = 0;             /* launches need no common order here */
    } else {
        pthread_mutex_lock(&c->lock);
        if (!c->dedicated) {
            rc = hcl_thread_new_host(c->card, c, COMM_ENGINE_CPU_TS, NULL, 0,
                                     notifyNumPerThread, &c->dedicated);
        } else {
            rc = hcl_thread_grow(c->dedicated, notifyNumPerThread);
        }
        if (rc == HCCL_SUCCESS) {
            *thread = c->dedicated->host;
        }
        pthread_mutex_unlock(&c->lock);
    }
    hcl_comm_put(c);
    return rc;
}

/* ---- export, questions ---- */

static HcclResult export_one(hcl_comm *c, const char *call, ThreadHandle in,
                             bool to_device, ThreadHandle *out)
{
    hcl_thread *t = hcl_thread_get(in);
    HcclResult rc = HCCL_SUCCESS;

    if (!t || t->comm != c) {
        return hcl_bad(HCCL_E_PARA, call, "threads", "threads of this "
                       "communicator", "0x%llx", (unsigned long long)in);
    }
    if (to_device) {
        rc = hcl_thread_export_device(t);
    }
    if (rc == HCCL_SUCCESS) {
        *out = to_device ? t->device : t->host;
    }
    return rc;
}

HcclResult HcclThreadExportToCommEngine(HcclComm comm, uint32_t threadNum,
                                        const ThreadHandle *threads,
                                        CommEngine dstCommEngine,
                                        ThreadHandle *exportedThreads)
{
    static const char call[] = "HcclThreadExportToCommEngine";
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);
    uint32_t i;

    if (!c) {
        return rc;
    }
    if (!threads || !exportedThreads) {
        rc = hcl_null(call, threads ? "exportedThreads" : "threads");
    } else if (threadNum == 0 || threadNum > HCL_EXPORT_MAX) {
        rc = hcl_bad(HCCL_E_PARA, call, "threadNum",
                     "1 to " HCL_TEXT(HCL_EXPORT_MAX), "%u",
                     threadNum);
    } else if (dstCommEngine < COMM_ENGINE_CPU ||
               dstCommEngine > COMM_ENGINE_CCU ||
               dstCommEngine == COMM_ENGINE_AIV) {
        rc = hcl_bad(HCCL_E_PARA, call, "dstCommEngine", "CPU 0, CPU_TS 1, "
                     "AICPU 2, AICPU_TS 3 or CCU 5", "%d",
                     (int)dstCommEngine);
    } else {
        pthread_mutex_lock(&c->lock);
        for (i = 0; i < threadNum && rc == HCCL_SUCCESS; i++) {
            rc = export_one(c, call, threads[i], is_device(dstCommEngine),
                            &exportedThreads[i]);
        }
        pthread_mutex_unlock(&c->lock);
    }
    hcl_comm_put(c);
    return rc;
}

static HcclResult res_info(const char *call, ThreadHandle thread,
                           ThreadResType type, uint32_t infoLen, void **info)
{
    hcl_thread *t = hcl_thread_get(thread);

    if (!info) {
        return hcl_null(call, "info");
    }
    if (type != THREAD_RES_TYPE_STREAM || infoLen != sizeof(aclrtStream)) {
        return hcl_bad(HCCL_E_PARA, call, "type, infoLen",
                       "THREAD_RES_TYPE_STREAM (0) and 8", "%d, %u", (int)type,
                       infoLen);
    }
    if (!t || !t->stream) {
        return hcl_bad(HCCL_E_NOT_FOUND, call, "thread", "a host thread",
                       "0x%llx", (unsigned long long)thread);
    }
    *info = t->stream;
    return HCCL_SUCCESS;
}

HcclResult HcclThreadResGetInfo(HcclComm comm, ThreadHandle thread,
                                ThreadResType type, uint32_t infoLen,
                                void **info)
{
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, "HcclThreadResGetInfo", &rc);

    if (!c) {
        return rc;
    }
    rc = res_info("HcclThreadResGetInfo", thread, type, infoLen, info);
    hcl_comm_put(c);
    return rc;
}

HcclResult HcclGetNotifyNumInThread(HcclComm comm, ThreadHandle thread,
                                    CommEngine engine, uint32_t *notifyNum)
{
    static const char call[] = "HcclGetNotifyNumInThread";
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);
    hcl_thread *t;

    if (!c) {
        return rc;
    }
    (void)engine;
    t = hcl_thread_get(thread);
    if (!notifyNum) {
        rc = hcl_null(call, "notifyNum");
    } else if (!t || t->comm != c) {
        rc = hcl_bad(HCCL_E_NOT_FOUND, call, "thread", "a thread of this "
                     "communicator", "0x%llx", (unsigned long long)thread);
    } else {
        *notifyNum = t->notify.num;
    }
    hcl_comm_put(c);
    return rc;
}

/* ---- without a communicator ---- */

static bool lone_on(const void *object, const void *card)
{
    const hcl_thread *t = object;

    return !t->comm && t->card == card;
}

void hcl_threads_left(a350_card *card, int32_t device)
{
    unsigned n = 0;
    hcl_thread *t;

    while ((t = hcl_handle_find(HCL_THREAD, lone_on, card))) {
        hcl_thread_free(t);
        n++;
    }
    if (n) {
        hcl_log(2, "%u threads of HcommThreadAlloc were not freed before their "
                "device %d was reset", n, device);
    }
}

HcommResult HcommThreadAlloc(CommEngine engine, uint32_t threadNum,
                             const uint32_t *notifyNumPerThread,
                             ThreadHandle *threads)
{
    static const char call[] = "HcommThreadAlloc";
    a350_card *card = a350_current_card();
    HcclResult rc = HCCL_SUCCESS;
    hcl_thread *t;
    uint32_t i;

    if (!notifyNumPerThread || !threads) {
        return hcl_null(call, threads ? "notifyNumPerThread" : "threads");
    }
    if (engine < COMM_ENGINE_CPU || engine > COMM_ENGINE_AICPU_TS) {
        return hcl_bad(HCCL_E_PARA, call, "engine", "0 to 3", "%d",
                       (int)engine);
    }
    if (threadNum == 0 || threadNum > HCL_ALLOC_THREADS_MAX) {
        return hcl_bad(HCCL_E_PARA, call, "threadNum",
                       "1 to " HCL_TEXT(HCL_ALLOC_THREADS_MAX), "%u",
                       threadNum);
    }
    if (notifyNumPerThread[0] > HCL_DED_NOTIFY_MAX) {
        return hcl_bad(HCCL_E_PARA, call, "notifyNumPerThread",
                       "0 to " HCL_TEXT(HCL_DED_NOTIFY_MAX),
                       "%u", notifyNumPerThread[0]);
    }
    if (!card) {
        return hcl_fail(HCCL_E_RUNTIME, "EI0003", "%s: this thread has no "
                        "current device (aclrtSetDevice)", call);
    }
    hcl_watch_resets();
    for (i = 0; i < threadNum; i++) {
        rc = is_device(engine)
             ? hcl_thread_new_device(card, NULL, engine, i,
                                     notifyNumPerThread[0], &t)
             : hcl_thread_new_host(card, NULL, engine, NULL, i,
                                   notifyNumPerThread[0], &t);
        if (rc != HCCL_SUCCESS) {
            break;
        }
        threads[i] = t->sq ? t->device : t->host;
    }
    if (rc != HCCL_SUCCESS && i) {
        HcommThreadFree(threads, i);
    }
    return rc;
}

HcommResult HcommThreadFree(const ThreadHandle *threads, uint32_t threadNum)
{
    hcl_thread *t;
    uint32_t i;

    if (!threads) {
        return hcl_null("HcommThreadFree", "threads");
    }
    for (i = 0; i < threadNum; i++) {
        t = hcl_thread_get(threads[i]);
        if (!t || t->comm) {
            return hcl_bad(HCCL_E_NOT_FOUND, "HcommThreadFree", "threads",
                           "threads of HcommThreadAlloc", "0x%llx",
                           (unsigned long long)threads[i]);
        }
        hcl_thread_free(t);
    }
    return HCCL_SUCCESS;
}

HcommResult HcommThreadResGetInfo(ThreadHandle thread, ThreadResType type,
                                  uint32_t infoLen, void **info)
{
    return res_info("HcommThreadResGetInfo", thread, type, infoLen, info);
}
