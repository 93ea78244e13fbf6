/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captured graphs: the entries that streams would have got, submitted again
 * at every execution.
 *
 * Entries are kept in the order of submission over all streams of a capture.
 * That order respects every event between those streams, so a graph runs in
 * one stream and its events need no entries.
 */
#include "acl_priv.h"

#include <stdlib.h>
#include <string.h>

typedef struct node {
    a350_sqe sqe;
    void *cookie;                /* prototype of a call-back */
    uint8_t follows;             /* must be submitted with the one before */
    const char *what;
} node;

typedef struct mem {
    struct mem *next;
    uint64_t dev;
} mem;

#define JOINED_MAX      32

struct graph {
    uint32_t magic;
    bool capturing, invalid;
    graph *next_capturing;
    aclmdlRICaptureMode mode;
    pthread_t thread;
    acl_dev *dev;
    uint32_t generation;
    a350_stream *origin;
    a350_stream *joined[JOINED_MAX];
    unsigned num_joined;
    node *nodes;
    size_t num, cap;
    mem *mems;
    /* arguments are cut from blocks */
    uint64_t block_dev;
    uint8_t *block_host;
    size_t block_used, block_size;
    struct run *runs;            /* the latest execution in each stream */
};

typedef struct run {
    struct run *next;
    a350_stream *stream;
    uint32_t id;
    uint64_t seq;
} run;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread aclmdlRICaptureMode thread_mode;
/* Captures under way that are not RELAXED. */
static graph *capturing;
static atomic_uint num_capturing;

/* ---- what captures forbid ---- */

/* Lock held. */
static void capturing_add(graph *g)
{
    if (g->mode != ACL_MODEL_RI_CAPTURE_MODE_RELAXED) {
        g->next_capturing = capturing;
        capturing = g;
        atomic_fetch_add(&num_capturing, 1);
    }
}

/* Lock held; once more does no harm. */
static void capturing_remove(graph *g)
{
    graph **p;

    for (p = &capturing; *p && *p != g; p = &(*p)->next_capturing) {
    }
    if (*p) {
        *p = g->next_capturing;
        atomic_fetch_sub(&num_capturing, 1);
    }
}

/* The capture that keeps the calling thread from waiting; NULL: none. */
static const graph *forbidding(void)
{
    const graph *g;

    for (g = capturing; g; g = g->next_capturing) {
        if (pthread_equal(g->thread, pthread_self()) ||
            (g->mode == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL &&
             thread_mode == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL)) {
            return g;
        }
    }
    return NULL;
}

aclError graph_forbids(const char *func, aclError code)
{
    aclError rc = ACL_SUCCESS;
    const graph *g;

    if (atomic_load(&num_capturing) == 0 ||
        thread_mode == ACL_MODEL_RI_CAPTURE_MODE_RELAXED) {
        return ACL_SUCCESS;
    }
    pthread_mutex_lock(&lock);
    g = forbidding();
    if (g) {
        rc = acl_fail(func, code, "a call that waits is not allowed while %s "
                      "captures stream %u in mode %s; "
                      "aclmdlRICaptureThreadExchangeMode(RELAXED) allows it",
                      pthread_equal(g->thread, pthread_self())
                      ? "this thread" : "another thread",
                      g->origin ? g->origin->id : 0,
                      g->mode == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL
                      ? "GLOBAL" : "THREAD_LOCAL");
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

/* ---- while capturing ---- */

aclError graph_append(const char *func, graph *g, const a350_sqe *sqe,
                      unsigned n, void *const *cookies, const char *what)
{
    aclError rc = ACL_SUCCESS;
    unsigned i;

    pthread_mutex_lock(&lock);
    if (g->num + n > g->cap) {
        size_t cap = (g->num + n) * 2;
        node *p = realloc(g->nodes, cap * sizeof(*p));

        if (p) {
            g->nodes = p;
            g->cap = cap;
        } else {
            g->invalid = true;
            rc = acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "out of host "
                          "memory");
        }
    }
    for (i = 0; i < n && rc == ACL_SUCCESS; i++) {
        node *x = &g->nodes[g->num++];

        x->sqe = sqe[i];
        x->cookie = cookies ? cookies[i] : NULL;
        x->follows = i > 0;
        x->what = what;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

static bool mem_keep(graph *g, uint64_t dev)
{
    mem *m = malloc(sizeof(*m));

    if (m) {
        m->dev = dev;
        m->next = g->mems;
        g->mems = m;
    }
    return m != NULL;
}

aclError graph_args(const char *func, graph *g, size_t size, uint64_t *dev,
                    void **host)
{
    aclError rc = ACL_SUCCESS;

    size = (size + 63) & ~(size_t)63;
    pthread_mutex_lock(&lock);
    if (!g->block_size || size > g->block_size - g->block_used) {
        size_t want = size > 65536 ? size : 65536;
        uint64_t block;

        if (a350_hbm_alloc(g->dev->card, want, A350_HBM_NORMAL, &block) ||
            !mem_keep(g, block)) {
            rc = acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "%s",
                          a350_card_text());
        } else {
            g->block_dev = block;
            g->block_host = a350_hbm_ptr(block, want);
            g->block_size = want;
            g->block_used = 0;
        }
    }
    if (rc == ACL_SUCCESS) {
        *dev = g->block_dev + g->block_used;
        *host = g->block_host + g->block_used;
        g->block_used += size;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

aclError graph_join(const char *func, const graph *cg, a350_stream *s)
{
    graph *g = (graph *)cg;
    aclError rc = ACL_SUCCESS;

    pthread_mutex_lock(&lock);
    if (!handle_is(g, H_GRAPH) || !g->capturing) {
        rc = acl_fail(func, ACL_ERROR_RT_EVENT_CAPTURED, "the event was "
                      "recorded in a capture that has ended");
    } else if (s->capture && s->capture != g) {
        rc = acl_fail(func, ACL_ERROR_STREAM_CAPTURE_CONFLICT, "the event "
                      "belongs to another capture than the stream");
    } else if (!s->capture && g->num_joined == JOINED_MAX) {
        rc = acl_fail(func, ACL_ERROR_RT_OVER_LIMIT, "%d streams are in the "
                      "capture, the most there can be", JOINED_MAX + 1);
    } else if (!s->capture) {
        g->joined[g->num_joined++] = s;
        s->capture = g;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

void graph_stream_gone(graph *g, a350_stream *s)
{
    unsigned i;

    pthread_mutex_lock(&lock);
    if (g->origin == s) {
        g->origin = NULL;
        g->invalid = true;
        capturing_remove(g);
    }
    for (i = 0; i < g->num_joined; i++) {
        if (g->joined[i] == s) {
            g->joined[i] = g->joined[--g->num_joined];
            break;
        }
    }
    s->capture = NULL;
    pthread_mutex_unlock(&lock);
}

static void graph_free(graph *g)
{
    mem *m;
    run *r;
    size_t i;

    while ((m = g->mems)) {
        g->mems = m->next;
        if (g->dev->card && g->dev->generation == g->generation) {
            a350_hbm_free(m->dev);
        }
        free(m);
    }
    while ((r = g->runs)) {
        g->runs = r->next;
        free(r);
    }
    for (i = 0; i < g->num; i++) {
        free(g->nodes[i].cookie);
    }
    free(g->nodes);
    handle_free(g);
}

/* ---- public ---- */

static bool mode_valid(aclmdlRICaptureMode mode)
{
    return (int)mode >= 0 && mode <= ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
}

ACL_EXPORT aclError aclmdlRICaptureBegin(aclrtStream stream,
                                         aclmdlRICaptureMode mode)
{
    a350_stream *s;
    aclError rc;
    graph *g;

    CHECK_PTR(stream);
    if (!mode_valid(mode)) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "mode %d: legal 0..2",
                    (int)mode);
    }
    s = stream_need(__func__, stream, &rc);
    if (!s) {
        return rc;
    }
    if (s->is_default) {
        return FAIL(ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT, "a default stream "
                    "cannot be captured");
    }
    if ((rc = stream_capturing(__func__, s))) {
        return rc;
    }
    g = handle_new(H_GRAPH);
    if (!g) {
        return FAIL(ACL_ERROR_RT_MEMORY_ALLOCATION, "too many handles");
    }
    g->capturing = true;
    g->mode = mode;
    g->thread = pthread_self();
    g->dev = s->ctx->dev;
    g->generation = g->dev->generation;
    g->origin = s;
    pthread_mutex_lock(&s->lock);
    s->capture = g;
    pthread_mutex_unlock(&s->lock);
    pthread_mutex_lock(&lock);
    capturing_add(g);
    pthread_mutex_unlock(&lock);
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI *modelRI)
{
    a350_stream *s;
    unsigned i;
    aclError rc;
    graph *g;

    CHECK_PTR(stream);
    CHECK_PTR(modelRI);
    s = stream_need(__func__, stream, &rc);
    if (!s) {
        return rc;
    }
    g = s->capture;
    if (!g) {
        return FAIL(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "the stream is not being "
                    "captured");
    }
    if (g->origin != s) {
        return FAIL(ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED, "the capture was "
                    "begun on another stream");
    }
    if (g->mode != ACL_MODEL_RI_CAPTURE_MODE_RELAXED &&
        !pthread_equal(g->thread, pthread_self())) {
        return FAIL(ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD, "the capture was "
                    "begun by another thread");
    }
    pthread_mutex_lock(&lock);
    g->capturing = false;
    capturing_remove(g);
    s->capture = NULL;
    for (i = 0; i < g->num_joined; i++) {
        g->joined[i]->capture = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (g->invalid) {
        graph_free(g);
        return FAIL(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, "the capture has "
                    "become invalid");
    }
    *modelRI = g;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclmdlRICaptureGetInfo(aclrtStream stream,
                                           aclmdlRICaptureStatus *status,
                                           aclmdlRI *modelRI)
{
    aclError rc;
    a350_stream *s = stream_need(__func__, stream, &rc);
    graph *g;

    if (!s) {
        return rc;
    }
    g = s->capture;
    if (status) {
        *status = !g ? ACL_MODEL_RI_CAPTURE_STATUS_NONE :
                  g->invalid ? ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED
                             : ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
    }
    if (modelRI) {
        *modelRI = g;
    }
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclmdlRICaptureThreadExchangeMode(
    aclmdlRICaptureMode *mode)
{
    aclmdlRICaptureMode old = thread_mode;

    CHECK_PTR(mode);
    if (!mode_valid(*mode)) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "mode %d: legal 0..2",
                    (int)*mode);
    }
    thread_mode = *mode;
    *mode = old;
    return ACL_SUCCESS;
}

static graph *graph_need(const char *func, const void *h, aclError *rc)
{
    graph *g = (graph *)h;

    if (!h) {
        *rc = acl_fail(func, ACL_ERROR_INVALID_PARAM, "modelRI is NULL");
        return NULL;
    }
    if (!handle_is(h, H_GRAPH)) {
        *rc = acl_fail(func, ACL_ERROR_RT_INVALID_HANDLE, "modelRI %p is %s",
                       h, handle_what(h));
        return NULL;
    }
    if (g->capturing) {
        *rc = acl_fail(func, ACL_ERROR_RT_MODEL_CAPTURED, "the graph is still "
                       "being captured");
        return NULL;
    }
    return g;
}

/* Entries that are submitted together: a call-back and its wait. */
static size_t run_length(const graph *g, size_t i)
{
    size_t n = 1;

    while (i + n < g->num && (g->nodes[i + n].follows || n < 1)) {
        n++;
    }
    return n;
}

/* The entry for @s; one of a stream that is gone is used again. */
static run *run_of(graph *g, a350_stream *s)
{
    run *r, *old = NULL;

    for (r = g->runs; r && r->stream != s; r = r->next) {
        if (!handle_is(r->stream, H_STREAM)) {
            old = r;
        }
    }
    r = r ? r : old;
    if (!r && (r = calloc(1, sizeof(*r)))) {
        r->next = g->runs;
        g->runs = r;
    }
    return r;
}

static aclError replay(const char *func, graph *g, a350_stream *s)
{
    aclError rc = ACL_SUCCESS;
    size_t i, k, n;
    uint64_t seq = 0;
    run *r;

    pthread_mutex_lock(&s->lock);
    for (i = 0; i < g->num && rc == ACL_SUCCESS; i += n) {
        task_meta m = { .what = g->nodes[i].what };
        void *cookies[8] = { NULL };
        bool any = false;
        a350_sqe e[8];

        n = run_length(g, i);
        n = n > 8 ? 8 : n;
        for (k = 0; k < n && rc == ACL_SUCCESS; k++) {
            e[k] = g->nodes[i + k].sqe;
            if (!g->nodes[i + k].cookie) {
                continue;
            }
            rc = callback_notify(func, s);
            if (rc == ACL_SUCCESS) {
                cookies[k] = callback_clone(g->nodes[i + k].cookie, s);
                any = cookies[k] != NULL;
            }
        }
        /* The wait behind a call-back is for this stream's notify. */
        for (k = 1; k < n && rc == ACL_SUCCESS; k++) {
            if (cookies[k - 1]) {
                e[k].w[2] = (e[k].w[2] & ~A350_NOTIFY_ID_MASK) | s->cb_notify;
            }
        }
        if (rc == ACL_SUCCESS) {
            rc = stream_submit_locked(func, s, e, (unsigned)n,
                                      any ? cookies : NULL, &m, &seq);
        }
        for (k = 0; rc && k < n; k++) {
            free(cookies[k]);
        }
    }
    pthread_mutex_lock(&lock);
    r = seq ? run_of(g, s) : NULL;
    if (r) {
        r->stream = s;
        r->id = s->id;
        r->seq = seq;
    }
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

static aclError execute(const char *func, aclmdlRI ri, a350_stream *s)
{
    aclError rc;
    graph *g = graph_need(func, ri, &rc);

    if (!g) {
        return rc;
    }
    if (g->dev != s->ctx->dev || g->generation != g->dev->generation) {
        return acl_fail(func, ACL_ERROR_RT_MODEL_CONTEXT, "the graph was "
                        "captured on device %d%s", g->dev->id,
                        g->dev == s->ctx->dev ? " before its reset" : "");
    }
    rc = stream_capturing(func, s);
    return rc ? rc : replay(func, g, s);
}

ACL_EXPORT aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream)
{
    aclError rc;
    a350_stream *s = stream_need(__func__, stream, &rc);

    return s ? execute(__func__, modelRI, s) : rc;
}

ACL_EXPORT aclError aclmdlRIExecute(aclmdlRI modelRI, int32_t timeout)
{
    a350_stream *s;
    aclError rc;

    if (timeout == 0 || timeout < -1) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "timeout %d ms: more than 0, "
                    "or -1 (for ever)", timeout);
    }
    s = stream_need(__func__, NULL, &rc);
    if (!s) {
        return rc;
    }
    rc = execute(__func__, modelRI, s);
    return rc ? rc : stream_wait(__func__, s, 0, timeout);
}

ACL_EXPORT aclError aclmdlRIDestroy(aclmdlRI modelRI)
{
    aclError rc;
    graph *g = graph_need(__func__, modelRI, &rc);
    run *r;

    if (!g) {
        return rc;
    }
    /* Its argument memory may be in use, in each stream where it ran. */
    for (r = g->runs; r; r = r->next) {
        if (handle_is(r->stream, H_STREAM) && r->stream->id == r->id &&
            a350_sq_error_count(r->stream->sq) == r->stream->errors_seen) {
            a350_sq_wait(r->stream->sq, r->seq, -1, r->stream->errors_seen);
        }
    }
    graph_free(g);
    return ACL_SUCCESS;
}
