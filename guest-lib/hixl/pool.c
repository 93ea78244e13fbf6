/*
 * HIXL: asynchronous Connect and Disconnect.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hixl.md §3 ConnectAsync. A few threads take requests from a bounded
 * queue; those for one remote are done in order, one at a time.
 */
#include <stdlib.h>
#include <string.h>
#include "hx.h"

typedef struct task {
    char remote[128];            /* as the caller wrote it */
    bool connect;
    int32_t timeout_ms;
    struct task *next;
} task;

/* What is known of a remote that was asked for. */
typedef struct state {
    char remote[128];
    int status;
    bool busy;
    struct state *next;
} state;

struct hx_pool {
    hx_engine *e;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    task *tasks, **tail;
    uint32_t num;
    state *states;
    bool stop;
    pthread_t thread[64];
    uint32_t threads;
};

static state *state_of(hx_pool *p, const char *remote)
{
    state *s;

    for (s = p->states; s && strcmp(s->remote, remote) != 0; s = s->next) {
        continue;
    }
    return s;
}

/* The first task whose remote nobody works on. Mutex held. */
static task *take(hx_pool *p)
{
    task **t, *found;

    for (t = &p->tasks; *t; t = &(*t)->next) {
        if (!state_of(p, (*t)->remote)->busy) {
            break;
        }
    }
    found = *t;
    if (found) {
        *t = found->next;
        if (!*t) {
            p->tail = t;
        }
        p->num--;
    }
    return found;
}

static int run(hx_engine *e, const task *t)
{
    uint64_t deadline = hx_now_ms() + (uint64_t)t->timeout_ms;
    uint32_t ret;
    hx_addr a;

    ret = hx_remote_name(e, t->remote, &a);
    if (!t->connect) {
        if (ret == HX_OK) {
            hx_link_disconnect(e, a.text, deadline);
        }
        return HX_NOT_CONNECT;   /* whatever came of it */
    }
    if (ret == HX_OK) {
        ret = hx_link_connect(e, &a, deadline);
    }
    return ret == HX_OK || ret == HX_ALREADY_CONNECTED ? HX_CONNECTED :
           HX_CONNECT_FAILED;
}

/* A later request of the same remote has the last word on the status. */
static bool queued(const hx_pool *p, const char *remote)
{
    const task *t;

    for (t = p->tasks; t && strcmp(t->remote, remote) != 0; t = t->next) {
        continue;
    }
    return t != NULL;
}

static void *work(void *arg)
{
    hx_pool *p = arg;
    state *s;
    task *t;
    int result;

    pthread_mutex_lock(&p->mutex);
    while (!p->stop) {
        t = take(p);
        if (!t) {
            pthread_cond_wait(&p->cond, &p->mutex);
            continue;
        }
        s = state_of(p, t->remote);
        s->busy = true;
        s->status = t->connect ? HX_CONNECTING : HX_DISCONNECTING;
        pthread_mutex_unlock(&p->mutex);
        result = run(p->e, t);
        pthread_mutex_lock(&p->mutex);
        s->busy = false;
        if (!queued(p, s->remote)) {
            s->status = result;
        }
        free(t);
        pthread_cond_broadcast(&p->cond);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

static void pool_free(hx_pool *p)
{
    task *t;
    state *s;
    uint32_t i;

    pthread_mutex_lock(&p->mutex);
    p->stop = true;
    pthread_cond_broadcast(&p->cond);
    pthread_mutex_unlock(&p->mutex);
    for (i = 0; i < p->threads; i++) {
        pthread_join(p->thread[i], NULL);
    }
    while ((t = p->tasks)) {
        p->tasks = t->next;
        free(t);
    }
    while ((s = p->states)) {
        p->states = s->next;
        free(s);
    }
    pthread_mutex_destroy(&p->mutex);
    pthread_cond_destroy(&p->cond);
    free(p);
}

static hx_pool *pool_new(hx_engine *e)
{
    hx_pool *p = calloc(1, sizeof(*p));

    if (!p) {
        return NULL;
    }
    p->e = e;
    p->tail = &p->tasks;
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->cond, NULL);
    while (p->threads < e->opt.pool_threads &&
           a350_thread_create(&p->thread[p->threads], NULL, work, p) == 0) {
        p->threads++;
    }
    if (p->threads == 0) {
        pool_free(p);
        p = NULL;
    }
    return p;
}

static hx_pool *pool_of(hx_engine *e, bool create)
{
    hx_pool *p;

    pthread_mutex_lock(&e->mutex);
    if (!e->pool && create) {
        e->pool = pool_new(e);
    }
    p = e->pool;
    pthread_mutex_unlock(&e->mutex);
    return p;
}

/* Mutex held; takes @s and @t over on success. */
static bool enqueue(hx_pool *p, task *t, state **fresh)
{
    state *s = state_of(p, t->remote);

    if (p->num >= p->e->opt.pool_queue) {
        return false;
    }
    if (!s) {
        s = *fresh;
        *fresh = NULL;
        strcpy(s->remote, t->remote);
        s->next = p->states;
        p->states = s;
    }
    s->status = t->connect ? HX_CONNECT_PENDING : HX_DISCONNECT_PENDING;
    *p->tail = t;
    p->tail = &t->next;
    p->num++;
    pthread_cond_broadcast(&p->cond);
    return true;
}

uint32_t hx_pool_submit(hx_engine *e, const char *remote, bool connect,
                        int32_t timeout_ms)
{
    hx_pool *p = pool_of(e, true);
    task *t = calloc(1, sizeof(*t));
    state *s = calloc(1, sizeof(*s));
    bool good = false;

    if (p && t && s) {
        strcpy(t->remote, remote);       /* a checked name: it fits */
        t->connect = connect;
        t->timeout_ms = timeout_ms;
        pthread_mutex_lock(&p->mutex);
        good = enqueue(p, t, &s);
        pthread_mutex_unlock(&p->mutex);
    }
    free(s);
    if (!good) {
        free(t);
        return hx_err(HX_EXHAUSTED, "%s %s: %u requests are queued "
                      "(connect_pool.task_queue_capacity)", connect ?
                      "ConnectAsync" : "DisconnectAsync", remote,
                      e->opt.pool_queue);
    }
    return HX_OK;
}

uint32_t hx_pool_status(hx_engine *e, const char *remote, int *status)
{
    hx_pool *p = pool_of(e, false);
    state *s;

    *status = HX_NOT_CONNECT;
    if (p) {
        pthread_mutex_lock(&p->mutex);
        s = state_of(p, remote);
        *status = s ? s->status : HX_NOT_CONNECT;
        pthread_mutex_unlock(&p->mutex);
    }
    return HX_OK;
}

uint32_t hx_pool_list(hx_engine *e, hixl_async_fn *fn, void *opaque)
{
    hx_pool *p = pool_of(e, false);
    state *s;

    if (p) {
        pthread_mutex_lock(&p->mutex);
        for (s = p->states; s; s = s->next) {
            if (s->status != HX_NOT_CONNECT) {
                fn(opaque, s->remote, s->status);
            }
        }
        pthread_mutex_unlock(&p->mutex);
    }
    return HX_OK;
}

void hx_pool_stop(hx_engine *e)
{
    if (e->pool) {
        pool_free(e->pool);
        e->pool = NULL;
    }
}
