/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work of the host in a stream's order: call-backs and waits for a value in
 * memory. The queue gets a NOP that writes a CQE (its cookie is the item) and,
 * if the stream is to wait, a wait for the stream's own notify, which the host
 * records when it is through.
 */
#include "ipc_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct cb_item {
    uint32_t cookie;             /* COOKIE_CALL or COOKIE_POLL */
    cb_item *next;
    a350_stream *stream;
    a350_card *card;
    uint32_t notify;
    bool block, dead;
    uint64_t thread;             /* 0: the runtime's own */
    aclrtCallback fn;
    void *data;
    uint64_t addr, value;        /* COOKIE_POLL */
    uint32_t cond;
    ipc_event *event;            /* COOKIE_POLL: its record @value instead */
    uint32_t seconds;            /* limit, 0: none */
    uint64_t since, looks;
};

typedef struct queue {
    cb_item *first, *last;
} queue;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_cond = PTHREAD_COND_INITIALIZER;
static pthread_cond_t poll_cond = PTHREAD_COND_INITIALIZER;
static pthread_cond_t report_cond = PTHREAD_COND_INITIALIZER;
static queue work, reports, polls;
static cb_item *running[64];     /* what threads are in right now */
static unsigned workers, idle_workers;
static bool poller_on;
#define WORKERS_MAX     8
#define POLL_NS         50000

static void put(queue *q, cb_item *it)
{
    it->next = NULL;
    if (q->last) {
        q->last->next = it;
    } else {
        q->first = it;
    }
    q->last = it;
}

/* Takes the item behind @prev (NULL: the first). */
static cb_item *take_after(queue *q, cb_item *prev)
{
    cb_item *it = prev ? prev->next : q->first;

    if (it) {
        if (prev) {
            prev->next = it->next;
        } else {
            q->first = it->next;
        }
        if (q->last == it) {
            q->last = prev;
        }
    }
    return it;
}

static void item_free(cb_item *it)
{
    if (it->event) {
        ipc_event_put(it->event);
    }
    free(it);
}

/* Lock held. */
static void finish(cb_item *it)
{
    if (it->block && !it->dead) {
        a350_notify_write(it->card, it->notify, 1);
    }
    item_free(it);
}

/* Runs the item's function without the lock, which is held before and after. */
static void run(cb_item *it)
{
    unsigned i;

    for (i = 0; i < 64 && running[i]; i++) {
    }
    if (i < 64) {
        running[i] = it;
    }
    pthread_mutex_unlock(&lock);
    it->fn(it->data);
    pthread_mutex_lock(&lock);
    if (i < 64) {
        running[i] = NULL;
    }
    finish(it);
}

static void *worker(void *opaque)
{
    (void)opaque;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!work.first) {
            idle_workers++;
            pthread_cond_wait(&work_cond, &lock);
            idle_workers--;
        }
        run(take_after(&work, NULL));
    }
    return NULL;
}

static bool thread_start(void *(*fn)(void *))
{
    pthread_t t;

    if (a350_thread_create(&t, NULL, fn, NULL)) {
        return false;
    }
    pthread_detach(t);
    return true;
}

/*
 * A call-back may wait for another stream's, so they get threads of their own.
 * Idle ones count for one item each: they stay idle until they have woken up.
 */
static void work_add(cb_item *it)
{
    const cb_item *w;
    unsigned n = 0;

    put(&work, it);
    for (w = work.first; w && n <= idle_workers; w = w->next) {
        n++;
    }
    if (n > idle_workers && workers < WORKERS_MAX && thread_start(worker)) {
        workers++;
    }
    pthread_cond_signal(&work_cond);
}

/* ---- values ---- */

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static bool poll_true(const cb_item *it)
{
    volatile uint64_t *p;
    uint64_t v;

    if (it->event) {
        return ipc_event_done(it->event, it->value);
    }
    p = a350_hbm_ptr(it->addr, 8);
    v = p ? *p : 0;
    switch (it->cond) {
    case ACL_STREAM_WAIT_VALUE_GEQ:
        return (int64_t)(v - it->value) >= 0;
    case ACL_STREAM_WAIT_VALUE_EQ:
        return v == it->value;
    case ACL_STREAM_WAIT_VALUE_AND:
        return (v & it->value) != 0;
    }
    return ~(v | it->value) != 0;
}

/* A wait that will not end by itself fails its stream. Lock held. */
static bool poll_hopeless(cb_item *it)
{
    char text[160];
    int pid;

    if (!it->event || it->looks++ % 1024) {
        return false;
    }
    pid = ipc_event_orphan(it->event, it->value);
    if (pid) {
        snprintf(text, sizeof(text), "wait for an event: process %d, which was "
                 "to record it, has ended", pid);
        a350_stream_fail(it->stream, ACL_ERROR_RT_TS_ERROR, text);
        return true;
    }
    if (it->seconds && now_ns() - it->since > it->seconds * 1000000000ull) {
        snprintf(text, sizeof(text), "wait for an event of another process: no "
                 "record within %u s", it->seconds);
        a350_stream_fail(it->stream, ACL_ERROR_RT_TASK_TIMEOUT, text);
        return true;
    }
    return false;
}

static void *poller(void *opaque)
{
    const struct timespec pause = { 0, POLL_NS };
    cb_item *it, *prev;

    (void)opaque;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!polls.first) {
            pthread_cond_wait(&poll_cond, &lock);
        }
        for (prev = NULL, it = polls.first; it;
             it = prev ? prev->next : polls.first) {
            if (poll_true(it)) {
                finish(take_after(&polls, prev));
            } else if (poll_hopeless(it)) {
                item_free(take_after(&polls, prev));
            } else {
                prev = it;
            }
        }
        pthread_mutex_unlock(&lock);
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&lock);
    }
    return NULL;
}

/* ---- from queues ---- */

void callback_cqe(void *cookie)
{
    cb_item *it = cookie;

    pthread_mutex_lock(&lock);
    if (it->cookie == COOKIE_POLL) {
        it->since = now_ns();
        put(&polls, it);
        if (!poller_on) {
            poller_on = thread_start(poller);
        }
        pthread_cond_signal(&poll_cond);
    } else if (it->thread) {
        put(&reports, it);
        pthread_cond_broadcast(&report_cond);
    } else {
        work_add(it);
    }
    pthread_mutex_unlock(&lock);
}

void callback_drop(void *cookie)
{
    item_free(cookie);
}

void *callback_clone(const void *cookie, a350_stream *s)
{
    cb_item *it = malloc(sizeof(*it));

    if (it) {
        *it = *(const cb_item *)cookie;
        it->stream = s;
        it->card = s->card;
        it->notify = s->cb_notify;
        if (it->event) {
            ipc_event_ref(it->event);
        }
    }
    return it;
}

static void purge_queue(queue *q, const a350_stream *s)
{
    cb_item *it, *prev = NULL;

    for (it = q->first; it; it = prev ? prev->next : q->first) {
        if (it->stream == s) {
            item_free(take_after(q, prev));
        } else {
            prev = it;
        }
    }
}

void callback_purge(a350_stream *s)
{
    unsigned i;

    pthread_mutex_lock(&lock);
    purge_queue(&work, s);
    purge_queue(&reports, s);
    purge_queue(&polls, s);
    for (i = 0; i < 64; i++) {
        if (running[i] && running[i]->stream == s) {
            running[i]->dead = true;
        }
    }
    pthread_mutex_unlock(&lock);
}

/* ---- submitting ---- */

aclError callback_notify(const char *func, a350_stream *s)
{
    if (s->cb_notify == A350_ID_NONE &&
        a350_notify_alloc(s->card, &s->cb_notify)) {
        s->cb_notify = A350_ID_NONE;
        return acl_fail(func, ACL_ERROR_RT_NO_NOTIFY_RESOURCE, "%s",
                        a350_card_text());
    }
    return ACL_SUCCESS;
}

static aclError submit(const char *func, a350_stream *s, const cb_item *proto,
                       const char *what, uint64_t *seq)
{
    task_meta m = { .what = what };
    cb_item *it = malloc(sizeof(*it));
    void *cookies[2] = { it, NULL };
    a350_sqe e[2];
    aclError rc;

    if (!it) {
        return acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "out of host "
                        "memory");
    }
    *it = *proto;
    it->stream = s;
    it->card = s->card;
    pthread_mutex_lock(&s->lock);
    rc = it->block ? callback_notify(func, s) : ACL_SUCCESS;
    if (rc == ACL_SUCCESS) {
        it->notify = s->cb_notify;
        a350_sqe_nop(&e[0], 0);
        a350_sqe_notify_wait(&e[1], 0, it->notify, 0);
        rc = stream_submit_locked(func, s, e, it->block ? 2 : 1, cookies, &m,
                                  seq);
    }
    pthread_mutex_unlock(&s->lock);
    if (rc) {
        free(it);
    }
    return rc;
}

ACL_EXPORT aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn,
                                        void *args)
{
    cb_item it = { .cookie = COOKIE_CALL, .block = true, .fn = fn,
                   .data = args };
    a350_stream *s;
    aclError rc;

    CHECK_PTR(fn);
    s = stream_need(__func__, stream, &rc);
    if (!s) {
        return rc;
    }
    if (s->cb_thread) {
        return FAIL(ACL_ERROR_RT_STREAM_SUBSCRIBE, "the stream is subscribed "
                    "(aclrtSubscribeReport): the two styles of call-back do "
                    "not mix on one stream");
    }
    s->cb_simple = true;
    return submit(__func__, s, &it, "host function", NULL);
}

ACL_EXPORT aclError aclrtLaunchCallback(aclrtCallback fn, void *userData,
                                        aclrtCallbackBlockType blockType,
                                        aclrtStream stream)
{
    cb_item it = { .cookie = COOKIE_CALL, .fn = fn, .data = userData };
    a350_stream *s;
    aclError rc;

    CHECK_PTR(fn);
    if (blockType != ACL_CALLBACK_NO_BLOCK && blockType != ACL_CALLBACK_BLOCK) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "blockType %d: 0 or 1",
                    (int)blockType);
    }
    s = stream_need(__func__, stream, &rc);
    if (!s) {
        return rc;
    }
    if (!s->cb_thread) {
        return FAIL(ACL_ERROR_RT_STREAM_NO_CB_REG, "no thread is subscribed "
                    "to the stream: call aclrtSubscribeReport first");
    }
    it.block = blockType == ACL_CALLBACK_BLOCK;
    it.thread = s->cb_thread;
    return submit(__func__, s, &it, "call-back", NULL);
}

ACL_EXPORT aclError aclrtValueWait(void *devAddr, uint64_t value,
                                   uint32_t flag, aclrtStream stream)
{
    cb_item it = { .cookie = COOKIE_POLL, .block = true,
                   .addr = (uintptr_t)devAddr, .value = value, .cond = flag };
    a350_stream *s;
    aclError rc;

    CHECK_PTR(devAddr);
    if (flag > ACL_STREAM_WAIT_VALUE_NOR) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "flag %u: legal 0..3", flag);
    }
    s = stream_need(__func__, stream, &rc);
    if (!s) {
        return rc;
    }
    if (it.addr & 7 || !a350_hbm_ptr(it.addr, 8)) {
        return FAIL(it.addr & 7 ? ACL_ERROR_RT_ADDR_UNALIGNED
                                : ACL_ERROR_RT_PARAM_INVALID, "devAddr %p is "
                    "not 8 aligned bytes of device memory", devAddr);
    }
    return submit(__func__, s, &it, "wait for a value", NULL);
}

aclError callback_wait_event(const char *func, a350_stream *s, ipc_event *e,
                             uint64_t number, uint32_t seconds, uint64_t *seq)
{
    cb_item it = { .cookie = COOKIE_POLL, .block = true, .value = number,
                   .event = ipc_event_ref(e), .seconds = seconds };
    aclError rc = submit(func, s, &it, "wait for an event", seq);

    if (rc) {
        ipc_event_put(e);
    }
    return rc;
}

/* ---- subscribed threads ---- */

ACL_EXPORT aclError aclrtSubscribeReport(uint64_t threadId,
                                         aclrtStream stream)
{
    aclError rc;
    a350_stream *s = stream_need(__func__, stream, &rc);

    if (!s) {
        return rc;
    }
    if (threadId == 0) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "threadId is 0");
    }
    if (s->cb_thread || s->cb_simple) {
        return FAIL(ACL_ERROR_RT_STREAM_SUBSCRIBE, s->cb_thread ? "the stream "
                    "is subscribed already" : "the stream uses "
                    "aclrtLaunchHostFunc, which does not mix with "
                    "subscriptions");
    }
    s->cb_thread = threadId;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtUnSubscribeReport(uint64_t threadId,
                                           aclrtStream stream)
{
    aclError rc;
    a350_stream *s = stream_need(__func__, stream, &rc);

    if (!s) {
        return rc;
    }
    if (!s->cb_thread || s->cb_thread != threadId) {
        return FAIL(ACL_ERROR_RT_STREAM_SUBSCRIBE, "thread 0x%llx is not "
                    "subscribed to the stream", (unsigned long long)threadId);
    }
    s->cb_thread = 0;
    return ACL_SUCCESS;
}

static cb_item *report_for(uint64_t thread)
{
    cb_item *it, *prev = NULL;

    for (it = reports.first; it; prev = it, it = it->next) {
        if (it->thread == thread) {
            return take_after(&reports, prev);
        }
    }
    return NULL;
}

ACL_EXPORT aclError aclrtProcessReport(int32_t timeout)
{
    uint64_t self = (uint64_t)pthread_self();
    struct timespec ts;
    cb_item *it;
    int rc = 0;

    if (timeout == 0 || timeout < -1) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "timeout %d ms: more than 0, "
                    "or -1 (for ever)", timeout);
    }
    clock_gettime(CLOCK_REALTIME, &ts);
    if (timeout > 0) {
        ts.tv_sec += timeout / 1000;
        ts.tv_nsec += (long)(timeout % 1000) * 1000000;
        if (ts.tv_nsec >= 1000000000) {
            ts.tv_sec++;
            ts.tv_nsec -= 1000000000;
        }
    }
    pthread_mutex_lock(&lock);
    while (!(it = report_for(self)) && rc != ETIMEDOUT) {
        rc = timeout < 0 ? pthread_cond_wait(&report_cond, &lock)
                         : pthread_cond_timedwait(&report_cond, &lock, &ts);
    }
    if (it) {
        run(it);
    }
    pthread_mutex_unlock(&lock);
    /* Callers loop on this code: it leaves no text. */
    return it ? ACL_SUCCESS : acl_code_only(ACL_ERROR_RT_REPORT_TIMEOUT);
}

/* ---- exceptions ---- */

struct rtExceptionInfo {
    uint32_t task, stream, thread, device, code;
};

static pthread_mutex_t reg_lock = PTHREAD_MUTEX_INITIALIZER;
static aclrtExceptionInfoCallback exc_single, exc_list[EXC_CALLBACKS_MAX];

void exception_notify(uint32_t task, uint32_t stream, int32_t device,
                      uint32_t code)
{
    struct rtExceptionInfo info = { task, stream, 0, (uint32_t)device, code };
    aclrtExceptionInfoCallback list[EXC_CALLBACKS_MAX + 1];
    unsigned i;

    pthread_mutex_lock(&reg_lock);
    memcpy(list, exc_list, sizeof(exc_list));
    list[EXC_CALLBACKS_MAX] = exc_single;
    pthread_mutex_unlock(&reg_lock);
    for (i = 0; i <= EXC_CALLBACKS_MAX; i++) {
        if (list[i]) {
            list[i](&info);
        }
    }
}

ACL_EXPORT aclError aclrtSetExceptionInfoCallback(
    aclrtExceptionInfoCallback callback)
{
    pthread_mutex_lock(&reg_lock);
    exc_single = callback;       /* NULL takes it away */
    pthread_mutex_unlock(&reg_lock);
    return ACL_SUCCESS;
}

static bool exc_swap(aclrtExceptionInfoCallback from,
                     aclrtExceptionInfoCallback to)
{
    bool ok = false;
    unsigned i;

    pthread_mutex_lock(&reg_lock);
    for (i = 0; i < EXC_CALLBACKS_MAX && !ok; i++) {
        if (exc_list[i] == from) {
            exc_list[i] = to;
            ok = true;
        }
    }
    pthread_mutex_unlock(&reg_lock);
    return ok;
}

ACL_EXPORT aclError aclrtExceptionInfoCallbackRegister(
    aclrtExceptionInfoCallback callback)
{
    CHECK_PTR(callback);
    return exc_swap(NULL, callback)
           ? ACL_SUCCESS
           : FAIL(ACL_ERROR_RT_OVER_LIMIT, "%d call-backs are registered, the "
                  "most there can be", EXC_CALLBACKS_MAX);
}

ACL_EXPORT aclError aclrtExceptionInfoCallbackUnregister(
    aclrtExceptionInfoCallback callback)
{
    CHECK_PTR(callback);
    return exc_swap(callback, NULL)
           ? ACL_SUCCESS
           : FAIL(ACL_ERROR_RT_PARAM_INVALID, "the call-back is not "
                  "registered");
}

ACL_EXPORT uint32_t aclrtGetTaskIdFromExceptionInfo(
    const aclrtExceptionInfo *info)
{
    return info ? info->task : UINT32_MAX;
}

ACL_EXPORT uint32_t aclrtGetStreamIdFromExceptionInfo(
    const aclrtExceptionInfo *info)
{
    return info ? info->stream : UINT32_MAX;
}

ACL_EXPORT uint32_t aclrtGetThreadIdFromExceptionInfo(
    const aclrtExceptionInfo *info)
{
    return info ? info->thread : UINT32_MAX;
}

ACL_EXPORT uint32_t aclrtGetDeviceIdFromExceptionInfo(
    const aclrtExceptionInfo *info)
{
    return info ? info->device : UINT32_MAX;
}

ACL_EXPORT uint32_t aclrtGetErrorCodeFromExceptionInfo(
    const aclrtExceptionInfo *info)
{
    return info ? info->code : UINT32_MAX;
}

/* ---- state call-backs ---- */

typedef struct named {
    struct named *next;
    char *name;
    void (*fn)(void);            /* cast back by the list's owner */
    void *args;
} named;

static named *device_cbs, *stream_cbs, *abort_cbs;

/* A name registered again gets the new function; NULL takes it away. */
static aclError named_set(const char *func, named **list, const char *name,
                          void (*fn)(void), void *args)
{
    named **p, *n;

    if (!name) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "regName is NULL");
    }
    pthread_mutex_lock(&reg_lock);
    for (p = list; (n = *p) && strcmp(n->name, name); p = &n->next) {
    }
    if (n && !fn) {
        *p = n->next;            /* stays allocated: it may be running */
    } else if (n) {
        n->fn = fn;
        n->args = args;
    } else if (fn && (n = calloc(1, sizeof(*n)))) {
        n->name = strdup(name);
        n->fn = fn;
        n->args = args;
        n->next = *list;
        *list = n;
    }
    pthread_mutex_unlock(&reg_lock);
    return ACL_SUCCESS;
}

static named *named_first(named **list)
{
    named *n;

    pthread_mutex_lock(&reg_lock);
    n = *list;
    pthread_mutex_unlock(&reg_lock);
    return n;
}

void dev_state_notify(int32_t id, aclrtDeviceState state)
{
    named *n;

    for (n = named_first(&device_cbs); n; n = n->next) {
        ((aclrtDeviceStateCallback)n->fn)(id, state, n->args);
    }
}

void stream_state_notify(aclrtStream s, aclrtStreamState state)
{
    named *n;

    for (n = named_first(&stream_cbs); n; n = n->next) {
        ((aclrtStreamStateCallback)n->fn)(s, state, n->args);
    }
}

ACL_EXPORT aclError aclrtRegDeviceStateCallback(
    const char *regName, aclrtDeviceStateCallback callback, void *args)
{
    return named_set(__func__, &device_cbs, regName, (void (*)(void))callback,
                     args);
}

ACL_EXPORT aclError aclrtRegStreamStateCallback(
    const char *regName, aclrtStreamStateCallback callback, void *args)
{
    return named_set(__func__, &stream_cbs, regName, (void (*)(void))callback,
                     args);
}

ACL_EXPORT aclError aclrtSetDeviceTaskAbortCallback(
    const char *regName, aclrtDeviceTaskAbortCallback callback, void *args)
{
    return named_set(__func__, &abort_cbs, regName, (void (*)(void))callback,
                     args);
}

static aclError abort_stage(const char *func, int32_t id,
                            aclrtDeviceTaskAbortStage stage, uint32_t timeout)
{
    named *n;

    for (n = named_first(&abort_cbs); n; n = n->next) {
        if (((aclrtDeviceTaskAbortCallback)n->fn)(id, stage, timeout,
                                                  n->args)) {
            return acl_fail(func, ACL_ERROR_RT_DEVICE_TASK_ABORT, "call-back "
                            "%s failed", n->name);
        }
    }
    return ACL_SUCCESS;
}

/* Drops the work of all streams of the device; waiters get 107022. */
ACL_EXPORT aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout)
{
    acl_dev *d = dev_get(deviceId);
    aclError rc;
    acl_ctx *c;

    if (!d) {
        return dev_bad_id(__func__, deviceId);
    }
    rc = abort_stage(__func__, deviceId, ACL_RT_DEVICE_TASK_ABORT_PRE,
                     timeout);
    pthread_mutex_lock(&d->lock);
    for (c = d->contexts; c && rc == ACL_SUCCESS; c = c->next) {
        rc = streams_abort(__func__, c, ACL_ERROR_RT_DEVICE_TASK_ABORT);
    }
    pthread_mutex_unlock(&d->lock);
    return rc ? rc : abort_stage(__func__, deviceId,
                                 ACL_RT_DEVICE_TASK_ABORT_POST, timeout);
}
