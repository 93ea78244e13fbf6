/*
 * Atlas 350 virtual card: the data mover.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Small jobs are done by whoever submits them: a copy of 64 bytes must not
 * cost a wake-up. Larger ones go to the card's worker threads, slice by slice
 * and by turns, so that a queue that copies 4 GiB does not hold up one that
 * copies 1 MiB. A worker owns a job for one slice; at the slice boundary the
 * job's position says all that is needed to go on, here or after a migration.
 *
 * The workers are started with the first large job and belong to the card.
 */
#include "qemu/osdep.h"
#include "qemu/units.h"
#include "block/aio.h"
#include "exec/memattrs.h"
#include "qemu/atomic.h"
#include "qemu/processor.h"
#include "qemu/queue.h"
#include "qemu/rcu.h"
#include "qemu/thread.h"
#include "migration/vmstate.h"
#include "bulk.h"
#include "fabric.h"
#include "mem.h"

#define MOVER_INLINE_MAX    (64 * KiB)
#define MOVER_SLICE         (1 * MiB)
#define MOVER_CHUNK         (64 * KiB)   /* bounce buffer, reduce lock */
#define MOVER_THREADS_MAX   4u
#define MOVER_SPINS         300u         /* some 10 us */

enum { MOVE_IDLE, MOVE_QUEUED, MOVE_RUNNING, MOVE_DROPPED };
#define ABORT_SILENT        (-1)

typedef struct MoverThread {
    A350Mover *mover;
    QemuThread thread;
    /* Under the mover's lock. In its callback the job is not ours to read. */
    A350Move *current;
    A350Card *dst_card, *src_card;
    bool in_done;
} MoverThread;

/* Jobs that a350_mover_drop_peer is ending. Under the mover's lock. */
typedef struct MoverDrop {
    A350Card *peer;
    QTAILQ_HEAD(, A350Move) jobs;
    A350Move *current;           /* its callback is running */
    QLIST_ENTRY(MoverDrop) next;
} MoverDrop;

struct A350Mover {
    A350Card *card;
    QemuMutex lock;
    QemuCond work;               /* the queue has a job, or state changed */
    QemuCond idle;               /* a worker has put its job down */
    QTAILQ_HEAD(, A350Move) queue;
    QLIST_HEAD(, MoverDrop) drops;
    MoverThread thread[MOVER_THREADS_MAX];
    unsigned num_threads, max_threads, num_idle;
    unsigned submitted;          /* jobs ever queued; atomic */
    bool paused, quit;
    /*
     * Held for a chunk of a reduction into this card's memory: several peers
     * may reduce into one buffer, and no contribution is lost.
     */
    QemuMutex reduce_lock;
};

/* ---- pieces of work ---- */

/* A piece of a job: what it reads and writes, already looked up. */
typedef struct Piece {
    A350Span dst, src;
    uint64_t len;
} Piece;

static void span_advance(A350Span *s, uint64_t n)
{
    s->addr += n;
    if (s->ptr) {
        s->ptr += n;
    }
}

/* From one host address to another: through a buffer, the order matters. */
static bool copy_host_host(Piece *p, bool backwards)
{
    g_autofree uint8_t *buf = g_malloc(MIN(p->len, MOVER_CHUNK));
    uint64_t done, n, at;
    A350Span dst, src;

    for (done = 0; done < p->len; done += n) {
        n = MIN(p->len - done, MOVER_CHUNK);
        at = backwards ? p->len - done - n : done;
        dst = p->dst;
        src = p->src;
        span_advance(&dst, at);
        span_advance(&src, at);
        if (!a350_span_read(&src, buf, n) || !a350_span_write(&dst, buf, n)) {
            return false;
        }
    }
    return true;
}

static bool piece_copy(Piece *p, bool backwards)
{
    uint64_t word;

    if (p->dst.kind == A350_SPAN_MEM && p->src.kind == A350_SPAN_MEM) {
        if (p->dst.bulk) {
            a350_bulk_copy(p->dst.ptr, p->src.ptr, p->len);
        } else {
            memmove(p->dst.ptr, p->src.ptr, p->len);
        }
        return true;
    }
    if (p->src.kind == A350_SPAN_REG || p->dst.kind == A350_SPAN_REG) {
        return a350_span_read(&p->src, &word, p->len) &&
               a350_span_write(&p->dst, &word, p->len);
    }
    if (p->dst.kind == A350_SPAN_MEM) {
        return a350_span_read(&p->src, p->dst.ptr, p->len);
    }
    if (p->src.kind == A350_SPAN_MEM) {
        return a350_span_write(&p->dst, p->src.ptr, p->len);
    }
    return copy_host_host(p, backwards);
}

static bool piece_fill(Piece *p, uint8_t value)
{
    g_autofree uint8_t *buf = NULL;
    A350Span dst = p->dst;
    uint64_t done, n;

    if (p->dst.kind == A350_SPAN_MEM) {
        memset(p->dst.ptr, value, p->len);
        return true;
    }
    buf = g_malloc(MIN(p->len, MOVER_CHUNK));
    memset(buf, value, MIN(p->len, MOVER_CHUNK));
    for (done = 0; done < p->len; done += n) {
        n = MIN(p->len - done, MOVER_CHUNK);
        if (!a350_span_write(&dst, buf, n)) {
            return false;
        }
        span_advance(&dst, n);
    }
    return true;
}

/* One chunk; @buf has room for two of them, for sides without a pointer. */
static bool reduce_chunk(A350Move *m, A350Span *dst, A350Span *src,
                         uint64_t len, uint8_t *buf)
{
    QemuMutex *lock = &dst->card->mover->reduce_lock;
    uint64_t count = len / a350_sdma_elem_size(m->opcode);
    const uint8_t *from = src->ptr;
    uint8_t *to = dst->ptr;
    bool ok = true;

    if (src->kind != A350_SPAN_MEM) {
        from = buf;
        ok = a350_span_read(src, buf, len);
    }
    qemu_mutex_lock(lock);
    if (ok && dst->kind != A350_SPAN_MEM) {
        to = buf + MOVER_CHUNK;
        ok = a350_span_read(dst, to, len);
    }
    if (ok) {
        a350_reduce(m->opcode, m->ub, m->bf16_sat, to, from, count);
        ok = dst->kind == A350_SPAN_MEM || a350_span_write(dst, to, len);
    }
    qemu_mutex_unlock(lock);
    return ok;
}

static bool piece_reduce(A350Move *m, Piece *p)
{
    g_autofree uint8_t *buf = NULL;
    uint64_t done, n, at;
    A350Span dst, src;

    if (p->dst.kind != A350_SPAN_MEM || p->src.kind != A350_SPAN_MEM) {
        buf = g_malloc(2 * MOVER_CHUNK);
    }
    for (done = 0; done < p->len; done += n) {
        n = MIN(p->len - done, MOVER_CHUNK);
        at = m->backwards ? p->len - done - n : done;
        dst = p->dst;
        src = p->src;
        span_advance(&dst, at);
        span_advance(&src, at);
        if (!reduce_chunk(m, &dst, &src, n, buf)) {
            return false;
        }
    }
    return true;
}

/* ---- jobs ---- */

static uint32_t move_op(const A350Move *m)
{
    return m->opcode & A350_SDMA_OP_MASK;
}

static bool move_has_src(const A350Move *m)
{
    return move_op(m) != A350_SDMA_MEMSET;
}

/* Looks up a piece of @m; says which address is wrong. */
static bool piece_open(A350Move *m, uint64_t at, uint64_t len, Piece *p)
{
    p->len = len;
    p->src.held = false;
    p->src.kind = A350_SPAN_NONE;
    p->src.ptr = NULL;
    p->dst.ptr = NULL;
    if (!a350_span_open(m->dst_card, m->dst + at, len, &p->dst)) {
        m->error_addr = m->dst + at;
        return false;
    }
    if (move_has_src(m) &&
        !a350_span_open(m->src_card, m->src + at, len, &p->src)) {
        m->error_addr = m->src + at;
        a350_span_close(m->dst_card, &p->dst);
        return false;
    }
    p->dst.bulk = p->src.bulk = m->bulk;
    return true;
}

static void piece_close(A350Move *m, Piece *p)
{
    a350_span_close(m->dst_card, &p->dst);
    a350_span_close(m->src_card, &p->src);
}

/* Moves the next @n bytes; returns a status. */
static uint32_t move_some(A350Move *m, uint64_t n)
{
    uint64_t at = m->backwards ? m->len - m->pos - n : m->pos;
    Piece p;
    bool ok;

    if (!piece_open(m, at, n, &p)) {
        return A350_SDMA_ST_ADDR;
    }
    switch (move_op(m)) {
    case A350_SDMA_CPY:
        ok = piece_copy(&p, m->backwards);
        break;
    case A350_SDMA_MEMSET:
        ok = piece_fill(&p, m->fill);
        break;
    default:
        ok = piece_reduce(m, &p);
        break;
    }
    piece_close(m, &p);
    if (!ok) {
        /* Only host memory and registers refuse an access half way. */
        m->error_addr = p.dst.kind == A350_SPAN_MEM ? m->src + at : m->dst + at;
        return A350_SDMA_ST_ADDR;
    }
    m->pos += n;
    return 0;
}

/* Before anything moves: operation, length and both ranges. */
static uint32_t move_check(A350Move *m)
{
    uint32_t op = move_op(m);
    Piece p;

    if (op != A350_SDMA_CPY && op != A350_SDMA_MEMSET) {
        if (!a350_reduce_supported(m->opcode, m->ub)) {
            return A350_SDMA_ST_OPCODE;
        }
        if (m->len % a350_sdma_elem_size(m->opcode)) {
            return A350_SDMA_ST_LENGTH;
        }
    }
    if (m->len == 0) {
        return 0;
    }
    if (!piece_open(m, 0, m->len, &p)) {
        return A350_SDMA_ST_ADDR;
    }
    piece_close(m, &p);
    if (op != A350_SDMA_CPY &&
        (p.dst.kind == A350_SPAN_REG || p.src.kind == A350_SPAN_REG)) {
        m->error_addr = p.dst.kind == A350_SPAN_REG ? m->dst : m->src;
        return A350_SDMA_ST_ADDR;
    }
    /*
     * memmove's result in slices: the destination begins inside the source.
     * IOVAs mean the same memory only on the same card's bus.
     */
    m->backwards = move_has_src(m) && m->dst - m->src - 1 < m->len - 1 &&
                   (m->dst_card == m->src_card || !a350_addr_is_host(m->dst));
    return 0;
}

/* ---- workers ---- */

/* One slice of @m, which is this worker's; under the lock, leaves it. */
static void mover_slice(A350Mover *v, MoverThread *t, A350Move *m)
{
    uint32_t status;

    t->current = m;
    t->dst_card = m->dst_card;
    t->src_card = m->src_card;
    m->state = MOVE_RUNNING;
    qemu_mutex_unlock(&v->lock);
    status = move_some(m, MIN(m->len - m->pos, MOVER_SLICE));
    qemu_mutex_lock(&v->lock);

    if (m->abort == ABORT_SILENT) {
        m->state = MOVE_IDLE;
    } else if (status || m->abort || m->pos == m->len) {
        status = m->abort ? m->abort : status;
        m->state = MOVE_IDLE;
        t->in_done = true;
        qemu_mutex_unlock(&v->lock);
        m->done(m, status);
        qemu_mutex_lock(&v->lock);
        t->in_done = false;
    } else {
        m->state = MOVE_QUEUED;
        QTAILQ_INSERT_TAIL(&v->queue, m, next);
    }
    t->current = NULL;
    qemu_cond_broadcast(&v->idle);
}

/*
 * A queue that copies block after block submits the next one as soon as it
 * learns of the end of this one: look for it a moment before going to sleep.
 */
static bool mover_spin(A350Mover *v)
{
    unsigned seen = v->submitted, i;

    qemu_mutex_unlock(&v->lock);
    for (i = 0; i < MOVER_SPINS && qatomic_read(&v->submitted) == seen; i++) {
        cpu_relax();
    }
    qemu_mutex_lock(&v->lock);
    return v->submitted != seen;
}

/* The mover that this thread is a worker of. */
static __thread A350Mover *mover_self;

static void *mover_thread(void *opaque)
{
    MoverThread *t = opaque;
    A350Mover *v = t->mover;
    bool worked = false;
    A350Move *m;

    mover_self = v;
    rcu_register_thread();
    qemu_mutex_lock(&v->lock);
    while (!v->quit) {
        m = v->paused ? NULL : QTAILQ_FIRST(&v->queue);
        if (m) {
            QTAILQ_REMOVE(&v->queue, m, next);
            mover_slice(v, t, m);
            worked = true;
        } else if (worked && !v->paused) {
            worked = mover_spin(v);
        } else {
            v->num_idle++;
            qemu_cond_wait(&v->work, &v->lock);
            v->num_idle--;
        }
    }
    qemu_mutex_unlock(&v->lock);
    rcu_unregister_thread();
    return NULL;
}

static void mover_start_thread(A350Mover *v)
{
    MoverThread *t = &v->thread[v->num_threads];
    g_autofree char *name = g_strdup_printf("a350-%u-mv%u", v->card->index,
                                            v->num_threads);

    t->mover = v;
    v->num_threads++;
    qemu_thread_create(&t->thread, name, mover_thread, t,
                       QEMU_THREAD_JOINABLE);
}

static void mover_enqueue(A350Mover *v, A350Move *m)
{
    bool wake;

    qemu_mutex_lock(&v->lock);
    /* A worker that ends a job and gets the next one needs no other for it. */
    wake = mover_self != v || !QTAILQ_EMPTY(&v->queue);
    m->state = MOVE_QUEUED;
    qatomic_set(&v->submitted, v->submitted + 1);
    QTAILQ_INSERT_TAIL(&v->queue, m, next);
    if (wake) {
        if (!v->num_idle && v->num_threads < v->max_threads) {
            mover_start_thread(v);
        }
        qemu_cond_signal(&v->work);
    }
    qemu_mutex_unlock(&v->lock);
}

void a350_mover_submit(A350Card *c, A350Move *m)
{
    A350Mover *v = c->mover;
    uint32_t status;
    void *dst, *src;

    /* The usual case first: a small copy inside the card. */
    if (m->opcode == A350_SDMA_CPY && m->len <= MOVER_INLINE_MAX &&
        m->len && !m->pos && !qatomic_read(&v->paused)) {
        dst = a350_hbm_ptr(m->dst_card, m->dst, m->len);
        src = a350_hbm_ptr(m->src_card, m->src, m->len);
        if (dst && src) {
            if (m->bulk) {
                a350_bulk_copy(dst, src, m->len);
            } else {
                memmove(dst, src, m->len);
            }
            m->pos = m->len;
            m->done(m, 0);
            return;
        }
    }
    m->abort = 0;
    m->error_addr = 0;
    status = move_check(m);
    if (!status && m->pos < m->len) {
        if (m->len - m->pos > MOVER_INLINE_MAX || qatomic_read(&v->paused)) {
            mover_enqueue(v, m);
            return;
        }
        status = move_some(m, m->len - m->pos);
    }
    m->done(m, status);
}

/* ---- control ---- */

/* Is somebody busy with @m (NULL: any), or with one that touches @peer? */
static bool mover_busy(A350Mover *v, const A350Move *m, const A350Card *peer)
{
    const MoverDrop *d;
    unsigned i;

    QLIST_FOREACH(d, &v->drops, next) {
        if (d->current && (!m || d->current == m) &&
            (!peer || d->peer == peer)) {
            return true;
        }
    }
    for (i = 0; i < v->num_threads; i++) {
        const MoverThread *t = &v->thread[i];

        if (t->current && (!m || t->current == m) &&
            (!peer || t->dst_card == peer || t->src_card == peer)) {
            return true;
        }
    }
    return false;
}

/* Jobs that workers have in hand (that touch @peer) end with their slice. */
static void mover_abort_running(A350Mover *v, const A350Card *peer, int how)
{
    unsigned i;

    for (i = 0; i < v->num_threads; i++) {
        MoverThread *t = &v->thread[i];

        if (t->current && !t->in_done &&
            (!peer || t->dst_card == peer || t->src_card == peer)) {
            t->current->abort = how;
        }
    }
}

/* Takes dropped jobs (or only @m) back; their callbacks do not come. */
static void mover_undrop(A350Mover *v, const A350Move *m)
{
    A350Move *job, *following;
    MoverDrop *d;

    QLIST_FOREACH(d, &v->drops, next) {
        QTAILQ_FOREACH_SAFE(job, &d->jobs, next, following) {
            if (!m || job == m) {
                QTAILQ_REMOVE(&d->jobs, job, next);
                job->state = MOVE_IDLE;
            }
        }
    }
}

void a350_mover_pause(A350Card *c)
{
    A350Mover *v = c->mover;

    qemu_mutex_lock(&v->lock);
    qatomic_set(&v->paused, true);
    while (mover_busy(v, NULL, NULL)) {
        qemu_cond_wait(&v->idle, &v->lock);
    }
    qemu_mutex_unlock(&v->lock);
}

void a350_mover_resume(A350Card *c)
{
    A350Mover *v = c->mover;

    qemu_mutex_lock(&v->lock);
    qatomic_set(&v->paused, false);
    qemu_cond_broadcast(&v->work);
    qemu_mutex_unlock(&v->lock);
}

void a350_mover_reset(A350Card *c)
{
    A350Mover *v = c->mover;
    A350Move *m;

    qemu_mutex_lock(&v->lock);
    while ((m = QTAILQ_FIRST(&v->queue))) {
        QTAILQ_REMOVE(&v->queue, m, next);
        m->state = MOVE_IDLE;
    }
    mover_undrop(v, NULL);
    mover_abort_running(v, NULL, ABORT_SILENT);
    while (mover_busy(v, NULL, NULL)) {
        qemu_cond_wait(&v->idle, &v->lock);
    }
    qemu_mutex_unlock(&v->lock);
}

bool a350_mover_cancel(A350Card *c, A350Move *m)
{
    A350Mover *v = c->mover;
    bool cancelled = false;

    qemu_mutex_lock(&v->lock);
    if (m->state == MOVE_QUEUED) {
        QTAILQ_REMOVE(&v->queue, m, next);
        m->state = MOVE_IDLE;
        cancelled = true;
    } else if (m->state == MOVE_RUNNING) {
        m->abort = ABORT_SILENT;
        cancelled = true;
    } else if (m->state == MOVE_DROPPED) {
        mover_undrop(v, m);
        cancelled = true;
    }
    while (mover_busy(v, m, NULL)) {
        qemu_cond_wait(&v->idle, &v->lock);
    }
    qemu_mutex_unlock(&v->lock);
    return cancelled;
}

void a350_mover_drop_peer(A350Card *c, A350Card *peer)
{
    A350Mover *v = c->mover;
    MoverDrop d = { .peer = peer };
    A350Move *m, *following;

    QTAILQ_INIT(&d.jobs);
    qemu_mutex_lock(&v->lock);
    QTAILQ_FOREACH_SAFE(m, &v->queue, next, following) {
        if (m->dst_card == peer || m->src_card == peer) {
            QTAILQ_REMOVE(&v->queue, m, next);
            QTAILQ_INSERT_TAIL(&d.jobs, m, next);
            m->state = MOVE_DROPPED;
        }
    }
    QLIST_INSERT_HEAD(&v->drops, &d, next);
    mover_abort_running(v, peer, A350_SDMA_ST_LINK);
    while (mover_busy(v, NULL, peer)) {
        qemu_cond_wait(&v->idle, &v->lock);
    }
    while ((m = QTAILQ_FIRST(&d.jobs))) {
        QTAILQ_REMOVE(&d.jobs, m, next);
        m->state = MOVE_IDLE;
        d.current = m;
        qemu_mutex_unlock(&v->lock);
        m->done(m, A350_SDMA_ST_LINK);
        qemu_mutex_lock(&v->lock);
        d.current = NULL;
        qemu_cond_broadcast(&v->idle);
    }
    QLIST_REMOVE(&d, next);
    qemu_mutex_unlock(&v->lock);
}

void a350_mover_init(A350Card *c)
{
    A350Mover *v = g_new0(A350Mover, 1);

    c->mover = v;
    v->card = c;
    v->max_threads = MIN(MAX(g_get_num_processors(), 2) - 1,
                         MOVER_THREADS_MAX);
#ifdef CONFIG_TSAN
    /* What only large hosts do is to be seen on small ones. */
    v->max_threads = MOVER_THREADS_MAX;
#endif
    QTAILQ_INIT(&v->queue);
    QLIST_INIT(&v->drops);
    qemu_mutex_init(&v->lock);
    qemu_mutex_init(&v->reduce_lock);
    qemu_cond_init(&v->work);
    qemu_cond_init(&v->idle);
}

void a350_mover_destroy(A350Card *c)
{
    A350Mover *v = c->mover;
    unsigned i;

    if (!v) {
        return;
    }
    a350_mover_reset(c);
    qemu_mutex_lock(&v->lock);
    v->quit = true;
    qemu_cond_broadcast(&v->work);
    qemu_mutex_unlock(&v->lock);
    for (i = 0; i < v->num_threads; i++) {
        qemu_thread_join(&v->thread[i].thread);
    }
    qemu_cond_destroy(&v->idle);
    qemu_cond_destroy(&v->work);
    qemu_mutex_destroy(&v->reduce_lock);
    qemu_mutex_destroy(&v->lock);
    g_free(v);
    c->mover = NULL;
}

/* ---- migration ---- */

static int move_post_load(void *opaque, int version_id)
{
    A350Move *m = opaque;

    m->state = MOVE_IDLE;
    return m->pos > m->len ? -EINVAL : 0;
}

const VMStateDescription vmstate_a350_move = {
    .name = "atlas350/move",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = move_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(opcode, A350Move),
        VMSTATE_UINT64(dst, A350Move),
        VMSTATE_UINT64(src, A350Move),
        VMSTATE_UINT64(len, A350Move),
        VMSTATE_UINT32(fill, A350Move),
        VMSTATE_UINT32(bf16_sat, A350Move),
        VMSTATE_BOOL(ub, A350Move),
        VMSTATE_UINT64(pos, A350Move),
        VMSTATE_END_OF_LIST()
    }
};

/* The mover itself keeps nothing: jobs are saved by those who submitted. */
const VMStateDescription vmstate_a350_mover = {
    .name = "atlas350/mover",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_END_OF_LIST()
    }
};
