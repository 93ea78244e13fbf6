/*
 * Device side of Hcomm: the task cache.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hcomm-data-plane.md §3.11. Between Start and End everything that is
 * queued is kept as well, with the range of the caller's list in which each
 * address lies. Execute queues it again in the same order, addresses moved to
 * the ranges of this call, with the tokens of where they are now. The objects
 * behind it are checked again: they may be gone.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "hc.h"

#define TAG_MAX   256
#define BYTES_MAX (10u << 20)    /* of all entries together */
#define RANGE_MAX 4096u
#define NO_RANGE  0xffffu

enum kind { SQE, WQE, RING };

typedef struct record {
    uint16_t kind, dst, src;     /* ranges; of a WQE: remote, local */
    uint32_t queue, jetty;       /* ids, to know the objects again */
    a350_thread_obj *t;
    a350_channel_obj *c;         /* WQE, RING */
    union {
        a350_sqe sqe;
        a350_wqe wqe;
    } HC_ALIGNED;
} record;

typedef struct hc_cached {
    struct hc_cached *next;
    char tag[TAG_MAX];
    bool bad;
    uint64_t count;
    uint64_t *base, *size;       /* the ranges of Start */
    record *rec;
    uint32_t num, cap;
} entry;

enum state { IDLE, MISSED, HIT, STARTED };

static _Thread_local struct {
    enum state state;
    char tag[TAG_MAX];
    entry *e;
} ctx;

static uint32_t list_lock;
static entry *list;
static uint64_t bytes_used;

/* ---- entries ---- */

static bool reserve(uint64_t n)
{
    if (__atomic_add_fetch(&bytes_used, n, __ATOMIC_RELAXED) <= BYTES_MAX) {
        return true;
    }
    __atomic_sub_fetch(&bytes_used, n, __ATOMIC_RELAXED);
    return false;
}

static uint64_t fixed_bytes(uint64_t count)
{
    return sizeof(entry) + count * 2 * sizeof(uint64_t);
}

static void drop(entry *e)
{
    if (e) {
        __atomic_sub_fetch(&bytes_used, fixed_bytes(e->count) +
                           e->cap * sizeof(record), __ATOMIC_RELAXED);
        free(e->rec);
        free(e->base);
        free(e);
    }
}

/* NULL: it will not be cached, which harms nobody. */
static entry *create(void **addrs, const uint64_t *sizes, uint64_t count)
{
    entry *e;
    uint64_t i;

    if (count > RANGE_MAX || !reserve(fixed_bytes(count))) {
        return NULL;
    }
    e = calloc(1, sizeof(*e));
    if (e) {
        e->base = malloc(2 * count * sizeof(*e->base) + 1);
    }
    if (!e || !e->base) {
        free(e);
        __atomic_sub_fetch(&bytes_used, fixed_bytes(count), __ATOMIC_RELAXED);
        return NULL;
    }
    memcpy(e->tag, ctx.tag, TAG_MAX);
    e->count = count;
    e->size = e->base + count;
    for (i = 0; i < count; i++) {
        e->base[i] = (uintptr_t)addrs[i];
        e->size[i] = sizes[i];
    }
    return e;
}

static entry *find(const char *tag)
{
    entry *e;

    for (e = list; e && strncmp(tag, e->tag, TAG_MAX - 1) != 0; e = e->next) {
        continue;
    }
    return e;
}

/* Takes it out of the list. */
static entry *remove_tag(const char *tag)
{
    entry **p, *e;

    hc_lock(&list_lock);
    e = find(tag);
    for (p = &list; e && *p != e; p = &(*p)->next) {
        continue;
    }
    if (e) {
        *p = e->next;
    }
    hc_unlock(&list_lock);
    return e;
}

static void insert(entry *e)
{
    hc_lock(&list_lock);
    e->next = list;
    list = e;
    hc_unlock(&list_lock);
}

/* ---- capture ---- */

static uint16_t range_of(const entry *e, uint64_t addr)
{
    uint64_t i;

    for (i = 0; i < e->count; i++) {
        if (addr >= e->base[i] && addr - e->base[i] < e->size[i]) {
            return (uint16_t)i;
        }
    }
    return NO_RANGE;
}

static uint64_t get64(const uint32_t *w)
{
    return w[0] | (uint64_t)w[1] << 32;
}

static void set64(uint32_t *w, uint64_t v)
{
    w[0] = (uint32_t)v;
    w[1] = (uint32_t)(v >> 32);
}

/* The local operand of a WQE: length, token, address. NULL: none. */
static uint32_t *sge_of(a350_wqe *q)
{
    if ((q->w[0] & A350_WQE_INLINE) ||
        ((q->w[2] >> A350_WQE_SGE_NUM_SHIFT) & 0xff) == 0) {
        return NULL;
    }
    return &q->w[a350_wqe_blocks(q) == 2 ? 20 : 12];
}

static bool grow(entry *e)
{
    uint32_t cap = e->cap ? 2 * e->cap : 16;
    record *rec;

    if (!reserve((cap - e->cap) * sizeof(record))) {
        return false;
    }
    rec = realloc(e->rec, cap * sizeof(record));
    if (!rec) {
        __atomic_sub_fetch(&bytes_used, (cap - e->cap) * sizeof(record),
                           __ATOMIC_RELAXED);
        return false;
    }
    e->rec = rec;
    e->cap = cap;
    return true;
}

static record *add(enum kind kind, a350_thread_obj *t, a350_channel_obj *c)
{
    entry *e = hc_self()->capture;
    record *r;

    if (e->bad || (e->num == e->cap && !grow(e))) {
        e->bad = true;
        return NULL;
    }
    r = &e->rec[e->num++];
    r->kind = (uint16_t)kind;
    r->dst = NO_RANGE;
    r->src = NO_RANGE;
    r->t = t;
    r->c = c;
    r->queue = t->sq_id;
    r->jetty = c ? c->jetty_id : 0;
    return r;
}

void hc_cache_sqe(a350_thread_obj *t, const a350_sqe *sqe)
{
    record *r;

    if (a350_sqe_get_type(sqe) == A350_SQE_UBDMA) {
        return;                  /* hc_cache_ring has it */
    }
    r = add(SQE, t, NULL);
    if (r) {
        r->sqe = *sqe;
        if (a350_sqe_get_type(sqe) == A350_SQE_SDMA) {
            r->dst = range_of(hc_self()->capture, get64(&sqe->w[10]));
            r->src = range_of(hc_self()->capture, get64(&sqe->w[8]));
        }
    }
}

void hc_cache_wqe(const hc_burst *b, const a350_wqe *q)
{
    record *r = add(WQE, b->t, b->c);
    uint32_t *sge;

    if (!r) {
        return;
    }
    memcpy(&r->wqe, q, a350_wqe_blocks(q) * A350_WQEBB_SIZE);
    sge = sge_of(&r->wqe);
    if (sge) {
        r->dst = range_of(hc_self()->capture, get64(&q->w[10]));
        r->src = range_of(hc_self()->capture, get64(&sge[2]));
    }
}

/* What a doorbell waits for has to ask for completion; a ring that was full
   was rung before the last of an operation. */
void hc_cache_ring(const hc_burst *b)
{
    entry *e = hc_self()->capture;
    uint32_t i = e->num;

    while (i > 0 && !(e->rec[i - 1].kind == WQE && e->rec[i - 1].c == b->c)) {
        i--;
    }
    if (i) {
        e->rec[i - 1].wqe.w[0] |= A350_WQE_CQE;
    }
    add(RING, b->t, b->c);
}

void hc_cache_spoil(void)
{
    if (hc_self()->capture) {
        hc_self()->capture->bad = true;
    }
}

/* ---- execution ---- */

typedef struct replay {
    const entry *e;
    void **addrs;
    const char *call;
    hc_burst b;                  /* b.t, b.c: the last ones that were checked */
} replay;

static int32_t stale(const replay *p, const record *r)
{
    hc_log(HC_ERROR, "%s: \"%.255s\": queue %u or jetty %u of the cached "
           "tasks is not what it was", p->call, p->e->tag, r->queue,
           r->jetty);
    return HCCL_E_PTR;
}

static int32_t objects(replay *p, const record *r)
{
    if (p->b.t != r->t) {
        p->b.t = hc_queue((uintptr_t)r->t, p->call);
        if (!p->b.t || p->b.t->sq_id != r->queue) {
            return stale(p, r);
        }
    }
    if (r->c && p->b.c != r->c) {
        p->b.c = hc_channel((uintptr_t)r->c, p->call);
        p->b.blocks = 0;
        if (!p->b.c || p->b.c->jetty_id != r->jetty) {
            return stale(p, r);
        }
    }
    return HCCL_SUCCESS;
}

static void move(const replay *p, uint32_t *w, uint16_t range)
{
    if (range != NO_RANGE) {
        set64(w, get64(w) - p->e->base[range] + (uintptr_t)p->addrs[range]);
    }
}

static int32_t replay_wqe(replay *p, const record *r)
{
    a350_wqe q HC_ALIGNED = r->wqe;
    uint32_t *sge = sge_of(&q);
    hc_xfer x;
    int32_t ret;

    if (sge && (r->dst != NO_RANGE || r->src != NO_RANGE)) {
        move(p, &q.w[10], r->dst);
        move(p, &sge[2], r->src);
        x.remote = get64(&q.w[10]);
        x.local = get64(&sge[2]);
        x.len = sge[0];
        ret = hc_resolve(p->b.c, &x, p->call);
        if (ret != HCCL_SUCCESS) {
            return ret;
        }
        q.w[3] = x.mem->token_id & A350_TOKEN_ID_MASK;
        q.w[8] = x.mem->token_value;
        sge[1] = x.local_token & A350_TOKEN_ID_MASK;
    }
    return hc_put(&p->b, &q);
}

static int32_t replay_one(replay *p, const record *r)
{
    int32_t ret = objects(p, r);
    a350_sqe sqe HC_ALIGNED;

    if (ret != HCCL_SUCCESS) {
        return ret;
    }
    switch (r->kind) {
    case WQE:
        return replay_wqe(p, r);
    case RING:
        return hc_ring(&p->b);
    default:
        sqe = r->sqe;
        move(p, &sqe.w[10], r->dst);
        move(p, &sqe.w[8], r->src);
        return hc_push(r->t, &sqe, p->call);
    }
}

/* ---- calls ---- */

void hc_cache_kernel_enter(void)
{
    ctx.state = IDLE;
    drop(hc_self()->capture);    /* a kernel that did not come to End */
    hc_self()->capture = NULL;
}

/* The tag of the last lookup: HCCL_E_PTR null, HCCL_E_PARA another one. */
static int32_t check_tag(const char *tag, const char *call)
{
    if (!tag) {
        hc_log(HC_ERROR, "%s: tag is null", call);
        return HCCL_E_PTR;
    }
    if (ctx.state == IDLE || strncmp(tag, ctx.tag, TAG_MAX - 1) != 0) {
        hc_log(HC_ERROR, "%s: tag \"%.255s\" is not that of the last "
               "HcommAicpuTsTaskCacheLookup", call, tag);
        return HCCL_E_PARA;
    }
    return HCCL_SUCCESS;
}

static int32_t check_arrays(void **addrs, const uint64_t *sizes,
                            uint64_t count, const char *call)
{
    if (count && (!addrs || !sizes)) {
        hc_log(HC_ERROR, "%s: %s is null", call, addrs ? "sizes" : "addrs");
        return HCCL_E_PTR;
    }
    return HCCL_SUCCESS;
}

HC_API HcommResult HcommAicpuTsTaskCacheLookup(const char *tag, bool *isHit)
{
    if (!tag || !isHit) {
        hc_log(HC_ERROR, "%s: %s is null", __func__, tag ? "isHit" : "tag");
        return HCCL_E_PTR;
    }
    hc_cache_kernel_enter();     /* a Start without End is forgotten */
    strncpy(ctx.tag, tag, TAG_MAX - 1);
    hc_lock(&list_lock);
    ctx.e = find(tag);
    hc_unlock(&list_lock);
    ctx.state = ctx.e ? HIT : MISSED;
    *isHit = ctx.e != NULL;
    return HCCL_SUCCESS;
}

HC_API HcommResult HcommAicpuTsTaskCacheStart(const char *tag, void **addrs,
                                              uint64_t *sizes, uint64_t count)
{
    int32_t ret = check_tag(tag, __func__);

    if (ret == HCCL_SUCCESS) {
        ret = check_arrays(addrs, sizes, count, __func__);
    }
    if (ret != HCCL_SUCCESS) {
        return ret;
    }
    if (ctx.state != MISSED) {
        hc_log(HC_ERROR, "%s: \"%.255s\" %s", __func__, tag,
               ctx.state == HIT ? "was found: execute it" :
               "was started already");
        return HCCL_E_INTERNAL;
    }
    ctx.state = STARTED;
    hc_self()->capture = create(addrs, sizes, count);
    return HCCL_SUCCESS;
}

HC_API HcommResult HcommAicpuTsTaskCacheEnd(const char *tag)
{
    int32_t ret = check_tag(tag, __func__);
    entry *e = hc_self()->capture;

    if (ret != HCCL_SUCCESS) {
        return ret;
    }
    if (ctx.state != STARTED) {
        hc_log(HC_ERROR, "%s: \"%.255s\" was not started", __func__, tag);
        return HCCL_E_INTERNAL;
    }
    ctx.state = IDLE;
    hc_self()->capture = NULL;
    if (e && !e->bad) {
        drop(remove_tag(tag));
        insert(e);
    } else {
        drop(e);
    }
    return HCCL_SUCCESS;
}

/* Of the ranges only the addresses may differ from those of Start. */
static int32_t same_sizes(const entry *e, const uint64_t *sizes,
                          uint64_t count, const char *call)
{
    uint64_t i = 0;

    while (count == e->count && i < count && sizes[i] == e->size[i]) {
        i++;
    }
    if (count == e->count && i == count) {
        return HCCL_SUCCESS;
    }
    if (count != e->count) {
        hc_log(HC_ERROR, "%s: \"%.255s\" was recorded with %" PRIu64
               " ranges, not %" PRIu64, call, e->tag, e->count, count);
    } else {
        hc_log(HC_ERROR, "%s: \"%.255s\": range %" PRIu64 " had %" PRIu64
               " bytes, not %" PRIu64, call, e->tag, i, e->size[i], sizes[i]);
    }
    return HCCL_E_PARA;
}

HC_API HcommResult HcommAicpuTsTaskCacheExecute(const char *tag, void **addrs,
                                                uint64_t *sizes,
                                                uint64_t count)
{
    replay p = { .addrs = addrs, .call = __func__,
                 .b = { .call = __func__ } };
    int32_t ret = check_tag(tag, __func__);
    uint32_t i;

    if (ret == HCCL_SUCCESS) {
        ret = check_arrays(addrs, sizes, count, __func__);
    }
    if (ret != HCCL_SUCCESS) {
        return ret;
    }
    if (ctx.state != HIT) {
        hc_log(HC_ERROR, "%s: \"%.255s\" was not found by the last lookup",
               __func__, tag);
        return HCCL_E_INTERNAL;
    }
    ctx.state = IDLE;
    p.e = ctx.e;
    ret = same_sizes(p.e, sizes, count, __func__);
    for (i = 0; i < p.e->num && ret == HCCL_SUCCESS; i++) {
        ret = replay_one(&p, &p.e->rec[i]);
    }
    return ret;
}

HC_API HcommResult HcommAicpuTsTaskCacheClear(const char *tag)
{
    if (!tag) {
        hc_log(HC_ERROR, "%s: tag is null", __func__);
        return HCCL_E_PTR;
    }
    if (ctx.state == HIT && strncmp(tag, ctx.tag, TAG_MAX - 1) == 0) {
        ctx.state = IDLE;
    }
    drop(remove_tag(tag));
    return HCCL_SUCCESS;
}
