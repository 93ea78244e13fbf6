/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Task queues and the completion queue.
 *
 * A queue's entries are numbered from 1 without end (sequence numbers); entry
 * n has the low 32 bits of n as its task number and lies, counted from the
 * last reset, at slot (n - base - 1) % depth. "done" follows the head
 * register, which moves when a task is complete (spec/hw/task-queues.md §1).
 *
 * All queues of a process on a card share one completion queue in host memory.
 * Its thread reads it after an interrupt. CQEs are needed only to wake a
 * sleeping waiter and for errors and time stamps: whoever waits looks at the
 * head register first, and only then queues a NOP that writes a CQE.
 */
#include "card_priv.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SPIN_NS             100000
#define RECHECK_NS          20000000ull

struct a350_sq {
    a350_card *card;
    uint32_t id, depth, flags, page;
    uint64_t ring;               /* device address */
    a350_sqe *slots;             /* the same through BAR4 */
    bool device_fills;
    a350_cqe_fn *on_cqe;
    void (*on_drop)(void *opaque, void *cookie);
    void *opaque;
    void **cookies;              /* one a slot; NULL array: none ever */

    pthread_mutex_t lock;
    pthread_cond_t cond;
    unsigned waiters;
    uint64_t base;               /* sequence number before slot 0 */
    uint64_t pushed, done;
    uint64_t marker;             /* newest entry that writes a CQE */
    uint32_t errors, resets;
    bool stopped;
    a350_sq_error error;         /* bits 0: none */
    a350_sq_error *log;          /* the latest; NULL: none yet */
};
#define LOG_NUM             64u

static uint32_t sq_reg(const a350_sq *q, uint32_t reg)
{
    return q->page + reg;
}

/* ---- head ---- */

/* Brings "done" up to the head register. Lock held. */
static void head_update(a350_sq *q)
{
    uint32_t head, at;

    if (q->done == q->pushed) {
        return;
    }
    head = *a350_reg(q->card, sq_reg(q, A350_SQ_HEAD)) & 0xffff;
    at = (uint32_t)((q->done - q->base) % q->depth);
    if (head < q->depth) {
        uint64_t d = q->done + (head + q->depth - at) % q->depth;

        if (d <= q->pushed) {
            q->done = d;
        }
    }
}

/* Sequence number of a task number; 0: none of the pending entries. */
static uint64_t seq_of_task(const a350_sq *q, uint32_t task)
{
    uint64_t seq = q->pushed - (uint32_t)((uint32_t)q->pushed - task);

    return seq > q->base && seq <= q->pushed ? seq : 0;
}

/* ---- pushing ---- */

static void ring_write(a350_sq *q, const a350_sqe *sqe, bool cqe)
{
    uint32_t slot = (uint32_t)((q->pushed - q->base) % q->depth);
    a350_sqe e = *sqe;

    e.w[1] = (uint32_t)++q->pushed;
    if (cqe) {
        e.w[0] |= A350_SQE_WR_CQE;
    }
    if (e.w[0] & A350_SQE_WR_CQE) {
        q->marker = q->pushed;
    }
    a350_copy(&q->slots[slot], &e, sizeof(e));
}

static void ring_doorbell(a350_sq *q)
{
    uint32_t tail = (uint32_t)((q->pushed - q->base) % q->depth);

    /* The entries must be in memory before the card hears of them. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    *a350_reg(q->card, sq_reg(q, A350_SQ_TAIL)) = tail;
}

/*
 * A slot whose CQE has not been read yet keeps its cookie: it is not reused,
 * although the card is through with it.
 */
static bool ring_has_room(a350_sq *q, unsigned n)
{
    unsigned i;

    if (q->depth - 1 - (q->pushed - q->done) < n) {
        return false;
    }
    for (i = 0; q->cookies && i < n; i++) {
        if (q->cookies[(q->pushed - q->base + i) % q->depth]) {
            return false;
        }
    }
    return true;
}

/*
 * A full ring is left to empty by an eighth before it is filled on: waking for
 * every single entry would cost the card more than its work. Whoever needs
 * room gets it after a few milliseconds at the latest. Lock held.
 */
static int ring_wait_room(a350_sq *q, unsigned n)
{
    uint32_t resets = q->resets;
    unsigned want = q->depth / 8 > n ? q->depth / 8 : n, turns = 0;

    if (ring_has_room(q, n) && !q->stopped) {
        return 0;
    }
    head_update(q);
    while (!q->stopped && !ring_has_room(q, turns < 8 ? want : n)) {
        a350_cond_wait_ns(&q->cond, &q->lock, 1000000);
        turns++;
        if (q->resets != resets) {
            return a350_fail(-ECANCELED, "queue %u was reset", q->id);
        }
        head_update(q);
    }
    if (q->stopped) {
        return a350_fail(-EIO, "queue %u has stopped on an error", q->id);
    }
    return 0;
}

int a350_sq_push_cookies(a350_sq *q, const a350_sqe *sqe, unsigned n,
                         void *const *cookie, uint64_t *seq)
{
    unsigned i;
    int rc;

    if (q->device_fills || n == 0 || n > q->depth - 1) {
        return a350_fail(-EINVAL, q->device_fills ?
                         "queue %u is filled by kernels" :
                         "queue %u: %u entries at once (1..%u)", q->id, n,
                         q->depth - 1);
    }
    pthread_mutex_lock(&q->lock);
    rc = ring_wait_room(q, n);
    if (rc == 0 && cookie && !q->cookies) {
        q->cookies = calloc(q->depth, sizeof(*q->cookies));
        if (!q->cookies) {
            rc = a350_fail(-ENOMEM, "out of host memory");
        }
    }
    if (rc == 0) {
        for (i = 0; i < n; i++) {
            if (cookie && cookie[i]) {
                q->cookies[(q->pushed - q->base) % q->depth] = cookie[i];
            }
            ring_write(q, &sqe[i], cookie && cookie[i]);
        }
        ring_doorbell(q);
        if (seq) {
            *seq = q->pushed;
        }
    }
    pthread_mutex_unlock(&q->lock);
    return rc;
}

int a350_sq_push(a350_sq *q, const a350_sqe *sqe, unsigned n, uint64_t *seq)
{
    return a350_sq_push_cookies(q, sqe, n, NULL, seq);
}

uint64_t a350_sq_pushed(a350_sq *q)
{
    uint64_t v;

    pthread_mutex_lock(&q->lock);
    v = q->pushed;
    pthread_mutex_unlock(&q->lock);
    return v;
}

uint64_t a350_sq_done(a350_sq *q)
{
    uint64_t v;

    pthread_mutex_lock(&q->lock);
    head_update(q);
    v = q->done;
    pthread_mutex_unlock(&q->lock);
    return v;
}

/* ---- waiting ---- */

/* Makes sure that a CQE will be written at or behind @seq. Lock held. */
static void marker_push(a350_sq *q, uint64_t seq)
{
    a350_sqe nop;

    if (q->marker >= seq || q->stopped || !ring_has_room(q, 1)) {
        return;
    }
    a350_sqe_nop(&nop, 0);
    ring_write(q, &nop, true);
    ring_doorbell(q);
}

/* 1: keep waiting. Lock held. */
static int wait_state(a350_sq *q, uint64_t seq, uint32_t errors,
                      uint32_t resets)
{
    head_update(q);
    if (q->errors != errors) {
        return a350_fail(-EIO, "queue %u: an entry failed", q->id);
    }
    /* A reset makes everything look done, so it comes first. */
    if (q->resets != resets) {
        return a350_fail(-ECANCELED, "queue %u was reset", q->id);
    }
    return q->done < seq;
}

static unsigned cq_drain(a350_card *c);

int a350_sq_wait(a350_sq *q, uint64_t seq, int timeout_ms,
                 uint32_t errors_seen)
{
    uint64_t start = a350_now_ns(), now = start, left;
    uint64_t limit = timeout_ms < 0 ? UINT64_MAX
                                    : (uint64_t)timeout_ms * 1000000ull;
    bool drained = false;
    uint32_t resets;
    int rc;

    pthread_mutex_lock(&q->lock);
    resets = q->resets;
again:
    while ((rc = wait_state(q, seq, errors_seen, resets)) == 1) {
        if (now - start >= limit) {
            rc = a350_fail(-ETIMEDOUT, "queue %u: entry %llu is not complete "
                           "after %d ms", q->id, (unsigned long long)seq,
                           timeout_ms);
            break;
        }
        if (now - start < SPIN_NS) {
            pthread_mutex_unlock(&q->lock);
            sched_yield();
            pthread_mutex_lock(&q->lock);
        } else {
            marker_push(q, seq);
            left = limit - (now - start);
            q->waiters++;
            a350_cond_wait_ns(&q->cond, &q->lock,
                              left < RECHECK_NS ? left : RECHECK_NS);
            q->waiters--;
        }
        now = a350_now_ns();
    }
    pthread_mutex_unlock(&q->lock);
    if (rc == 0 && !drained) {
        /* The head may be ahead of an error's CQE that nobody has read. */
        drained = true;
        cq_drain(q->card);
        pthread_mutex_lock(&q->lock);
        goto again;
    }
    return rc;
}

uint32_t a350_sq_error_count(a350_sq *q)
{
    return __atomic_load_n(&q->errors, __ATOMIC_ACQUIRE);
}

bool a350_sq_last_error(a350_sq *q, a350_sq_error *err)
{
    pthread_mutex_lock(&q->lock);
    *err = q->error;
    pthread_mutex_unlock(&q->lock);
    return err->bits != 0;
}

/* Out of memory or of the log's length, an error may be anybody's. */
bool a350_sq_error_of(a350_sq *q, uint64_t first, uint64_t last,
                      uint32_t errors_seen, a350_sq_error *err)
{
    bool found = false;
    uint32_t i, n;

    pthread_mutex_lock(&q->lock);
    n = q->errors - errors_seen;
    *err = q->error;
    if (n > LOG_NUM || (n && !q->log)) {
        found = true;
    }
    for (i = 0; i < n && !found; i++) {
        const a350_sq_error *e = &q->log[(errors_seen + i) % LOG_NUM];

        if (e->seq >= first && e->seq <= last) {
            *err = *e;
            found = true;
        }
    }
    pthread_mutex_unlock(&q->lock);
    return found;
}

/* Lock held. */
static void error_count(a350_sq *q)
{
    if (!q->log) {
        q->log = calloc(LOG_NUM, sizeof(*q->log));
    }
    if (q->log) {
        q->log[q->errors % LOG_NUM] = q->error;
    }
    __atomic_store_n(&q->errors, q->errors + 1, __ATOMIC_RELEASE);
}

void a350_sq_fail(a350_sq *q, uint32_t status)
{
    pthread_mutex_lock(&q->lock);
    memset(&q->error, 0, sizeof(q->error));
    q->error.bits = A350_ERR_SW_STATUS;
    q->error.sqe_type = A350_SQE_INVALID;
    q->error.status = status;
    q->stopped = true;
    error_count(q);
    pthread_cond_broadcast(&q->cond);
    pthread_mutex_unlock(&q->lock);
}

/* ---- cookies ---- */

static uint32_t cqe_task(const a350_cqe *e)
{
    return e->stream_id | (uint32_t)e->task_id << 16;
}

/* The slot of the entry that wrote @e, NULL if it has no cookie. Lock held. */
static void **cookie_slot(a350_sq *q, const a350_cqe *e)
{
    uint64_t seq = seq_of_task(q, cqe_task(e));

    if (!q->cookies || !seq || q->pushed - seq >= q->depth) {
        return NULL;
    }
    return &q->cookies[(seq - 1 - q->base) % q->depth];
}

void *a350_sq_cookie(a350_sq *q, const a350_cqe *e)
{
    void **slot, *v;

    pthread_mutex_lock(&q->lock);
    slot = cookie_slot(q, e);
    v = slot ? *slot : NULL;
    pthread_mutex_unlock(&q->lock);
    return v;
}

/* Gives @cookies back, which the queue has no more, and frees the array. */
static void cookies_drop(a350_sq *q, void **cookies)
{
    uint32_t i;

    for (i = 0; cookies && i < q->depth; i++) {
        if (cookies[i] && q->on_drop) {
            q->on_drop(q->opaque, cookies[i]);
        }
    }
    free(cookies);
}

/* ---- life ---- */

static int sq_command(a350_sq *q, uint32_t opcode)
{
    a350_id_req r = { .id = q->id };

    return a350_admin(q->card, opcode, &r, sizeof(r), NULL, 0, NULL);
}

static void sq_enable(a350_sq *q)
{
    *a350_reg(q->card, sq_reg(q, A350_SQ_STATUS)) = A350_SQ_STATUS_ENABLE;
}

static int sq_register(a350_card *c, a350_sq *q, const a350_sq_config *cfg)
{
    a350_sq_create r = {
        .sq_id = A350_ID_ANY, .depth = q->depth, .base = q->ring,
        .cq_id = cfg->no_cqe ? A350_ID_NONE : c->cq_id, .flags = cfg->flags,
    };
    a350_sq_label label = cfg->label;
    uint32_t result = 0;
    int rc = a350_admin(c, A350_ADM_SQ_CREATE, &r, sizeof(r), &r, sizeof(r),
                        &result);

    if (rc) {
        return rc == -EIO && result == A350_ADM_E_NO_RESOURCE ? -ENOSPC : rc;
    }
    if (r.sq_id > A350_SQ_ID_MASK ||
        (r.sq_id + 1ull) * A350_SQ_PAGE_SIZE > c->win.rtsq_size) {
        return a350_fail(-EIO, "card %u made queue %u, which has no register "
                         "page", c->number, r.sq_id);
    }
    q->id = r.sq_id;
    q->page = c->win.rtsq + q->id * A350_SQ_PAGE_SIZE;
    if (cfg->labelled) {
        label.sq_id = q->id;
        a350_admin(c, A350_ADM_SQ_LABEL, &label, sizeof(label), NULL, 0,
                   NULL);
    }
    return 0;
}

int a350_sq_new(a350_card *c, const a350_sq_config *cfg, a350_sq **out)
{
    uint32_t depth = cfg->depth ? cfg->depth : A350_SQ_DEPTH_MAX;
    a350_sq *q = calloc(1, sizeof(*q));
    int rc;

    if (!q) {
        return a350_fail(-ENOMEM, "out of host memory");
    }
    q->card = c;
    q->depth = depth;
    q->flags = cfg->flags;
    q->device_fills = cfg->device_fills;
    q->on_cqe = cfg->on_cqe;
    q->on_drop = cfg->on_drop;
    q->opaque = cfg->opaque;
    rc = a350_hbm_alloc(c, (size_t)depth * A350_SQE_SIZE, A350_HBM_NORMAL,
                        &q->ring);
    if (rc) {
        free(q);
        return rc;
    }
    q->slots = a350_hbm_ptr(q->ring, (size_t)depth * A350_SQE_SIZE);
    pthread_mutex_init(&q->lock, NULL);
    a350_cond_init(&q->cond);
    rc = sq_register(c, q, cfg);
    if (rc) {
        a350_hbm_free(q->ring);
        pthread_mutex_destroy(&q->lock);
        pthread_cond_destroy(&q->cond);
        free(q);
        return rc;
    }
    /* What an older queue of this number has completed is not this one's. */
    cq_drain(c);
    pthread_mutex_lock(&c->sq_lock);
    c->sqs[q->id] = q;
    c->sq_live++;
    pthread_mutex_unlock(&c->sq_lock);
    *out = q;
    return 0;
}

void a350_sq_destroy(a350_sq *q)
{
    a350_card *c = q->card;

    pthread_mutex_lock(&c->sq_lock);
    c->sqs[q->id] = NULL;
    c->sq_live--;
    pthread_mutex_unlock(&c->sq_lock);
    if (sq_command(q, A350_ADM_SQ_DESTROY) == 0) {
        a350_hbm_free(q->ring);
    }
    cookies_drop(q, q->cookies);
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->cond);
    free(q->log);
    free(q);
}

int a350_sq_reset(a350_sq *q)
{
    void **cookies = NULL;
    int rc;

    /* sq_lock keeps CQEs of this queue from being handled meanwhile. */
    pthread_mutex_lock(&q->card->sq_lock);
    pthread_mutex_lock(&q->lock);
    rc = sq_command(q, A350_ADM_SQ_RESET);
    if (rc == 0) {
        q->base = q->done = q->marker = q->pushed;
        q->stopped = false;
        memset(&q->error, 0, sizeof(q->error));
        q->resets++;
        cookies = q->cookies;    /* entries pushed from now on get new ones */
        q->cookies = NULL;
        sq_enable(q);
    }
    pthread_cond_broadcast(&q->cond);
    pthread_mutex_unlock(&q->lock);
    cookies_drop(q, cookies);
    pthread_mutex_unlock(&q->card->sq_lock);
    return rc;
}

uint32_t a350_card_queues_free(a350_card *c)
{
    uint32_t n;

    pthread_mutex_lock(&c->sq_lock);
    n = c->id.num_sq > c->sq_live ? c->id.num_sq - c->sq_live : 0;
    pthread_mutex_unlock(&c->sq_lock);
    return n;
}

uint32_t a350_sq_id(const a350_sq *q)
{
    return q->id;
}

uint32_t a350_sq_depth(const a350_sq *q)
{
    return q->depth;
}

uint64_t a350_sq_base(const a350_sq *q)
{
    return q->ring;
}

uint64_t a350_sq_page(const a350_sq *q)
{
    return q->card->dev_base + A350_DEV_REG_OFFSET + q->page;
}

a350_card *a350_sq_card(const a350_sq *q)
{
    return q->card;
}

/* ---- completion queue ---- */

static void sq_note_error(a350_sq *q, const a350_cqe *e, uint64_t seq)
{
    uint32_t task = cqe_task(e);

    q->error.bits = e->error_bits;
    q->error.sqe_type = e->flags_type >> 2;
    q->error.sqe_index = e->sqe_index;
    q->error.task = task;
    q->error.status = e->status;
    q->error.seq = seq;
    if (!(q->flags & A350_SQ_F_CONTINUE)) {
        q->stopped = true;
    }
    error_count(q);
}

/* sq_lock held. */
static void cqe_dispatch(a350_card *c, const a350_cqe *e)
{
    a350_sq *q = c->sqs[(e->h0 >> A350_CQE_SQ_SHIFT) & A350_SQ_ID_MASK];
    uint64_t seq = 0;
    void **slot;

    if (!q) {
        return;                  /* destroyed in the meantime */
    }
    pthread_mutex_lock(&q->lock);
    if (!q->device_fills) {
        seq = seq_of_task(q, cqe_task(e));
        if (!seq) {
            pthread_mutex_unlock(&q->lock);
            return;              /* of an entry that a reset has dropped */
        }
    }
    if (e->h0 & A350_CQE_ERROR) {
        sq_note_error(q, e, seq);
    } else if (seq > q->done) {
        q->done = seq;
    }
    pthread_mutex_unlock(&q->lock);
    if (q->on_cqe) {
        q->on_cqe(q->opaque, q, e);
    }
    pthread_mutex_lock(&q->lock);
    slot = cookie_slot(q, e);
    if (slot) {
        *slot = NULL;
    }
    pthread_cond_broadcast(&q->cond);
    pthread_mutex_unlock(&q->lock);
}

/* Handles what is in the completion queue; returns the number of CQEs. */
static unsigned cq_drain(a350_card *c)
{
    uint32_t page = c->win.rtsq + c->cq_id * A350_SQ_PAGE_SIZE;
    unsigned n = 0;
    a350_cqe e;

    pthread_mutex_lock(&c->cq_lock);
    for (;;) {
        volatile a350_cqe *slot = &c->cq[c->cq_head];
        uint16_t h0 = __atomic_load_n(&slot->h0, __ATOMIC_ACQUIRE);

        /* First pass: phase 1; it toggles with every wrap. */
        if ((h0 & A350_CQE_PHASE) == (c->cq_wraps & 1)) {
            break;
        }
        memcpy(&e, (const void *)slot, sizeof(e));
        if (++c->cq_head == A350_CQ_DEPTH) {
            c->cq_head = 0;
            c->cq_wraps++;
        }
        pthread_mutex_lock(&c->sq_lock);
        cqe_dispatch(c, &e);
        pthread_mutex_unlock(&c->sq_lock);
        if ((++n & 63) == 0) {
            *a350_reg(c, page + A350_CQ_HEAD) = c->cq_head;
        }
    }
    if (n & 63) {
        *a350_reg(c, page + A350_CQ_HEAD) = c->cq_head;
    }
    pthread_mutex_unlock(&c->cq_lock);
    return n;
}

/* spec/hw/task-queues.md §1, host CQ interrupt flow. */
static void cq_interrupt(a350_card *c)
{
    uint32_t g = c->cq_id / A350_CQS_PER_GROUP;
    uint32_t base = c->win.cqint + g * A350_CQINT_GROUP_STRIDE;
    uint32_t mid, l2;
    unsigned m;

    *a350_reg(c, base + A350_CQINT_L1_MASK) = 1;
    mid = *a350_reg(c, base + A350_CQINT_MID_STATUS);
    for (m = 0; m < A350_CQS_PER_GROUP / 32; m++) {
        if (mid >> m & 1) {
            l2 = *a350_reg(c, base + A350_CQINT_L2_STATUS + 4 * m);
            *a350_reg(c, base + A350_CQINT_L2_CTRL + 4 * m) = l2;
        }
    }
    cq_drain(c);
    *a350_reg(c, base + A350_CQINT_L1_CTRL) = 1;
    *a350_reg(c, base + A350_CQINT_L1_MASK) = 0;
}

static void admin_interrupt(a350_card *c)
{
    uint32_t off = A350_REG_CTRL + A350_CTRL_ADMIN_PENDING;

    *a350_reg(c, off) = *a350_reg(c, off);
    pthread_mutex_lock(&c->admin_lock);
    pthread_cond_broadcast(&c->admin_cond);
    pthread_mutex_unlock(&c->admin_lock);
}

static bool efd_take(int fd)
{
    uint64_t v;

    return read(fd, &v, sizeof(v)) == sizeof(v);
}

static void *completion_thread(void *opaque)
{
    a350_card *c = opaque;
    struct pollfd p[3] = {
        { .fd = c->vfio.cq_efd, .events = POLLIN },
        { .fd = c->vfio.admin_efd, .events = POLLIN },
        { .fd = c->stop_efd, .events = POLLIN },
    };

    for (;;) {
        int n = poll(p, 3, 500);

        if (p[2].revents) {
            return NULL;
        }
        if (p[1].revents && efd_take(p[1].fd)) {
            admin_interrupt(c);
        }
        if (p[0].revents && efd_take(p[0].fd)) {
            cq_interrupt(c);
        }
        if (n == 0 && c->cq_id != A350_ID_NONE) {
            cq_drain(c);         /* in case an interrupt was lost */
        }
    }
}

int a350_cq_start(a350_card *c)
{
    a350_cq_create q = { .cq_id = A350_ID_ANY, .depth = A350_CQ_DEPTH,
                         .irq = 1 };
    int rc;

    c->cq_id = A350_ID_NONE;
    c->cq_bytes = A350_CQ_DEPTH * sizeof(a350_cqe);
    c->cq = a350_dma_alloc(c->cq_bytes);
    if (!c->cq) {
        return -ENOMEM;
    }
    q.base = (uintptr_t)c->cq;
    rc = a350_admin(c, A350_ADM_CQ_CREATE, &q, sizeof(q), &q, sizeof(q), NULL);
    if (rc) {
        return rc;
    }
    if (q.cq_id >= A350_CQS_PER_GROUP * A350_CQINT_GROUPS) {
        return a350_fail(-EIO, "card %u made completion queue %u", c->number,
                         q.cq_id);
    }
    rc = a350_vfio_set_cq_vector(&c->vfio, q.vector);
    if (rc) {
        return rc;
    }
    c->cq_id = q.cq_id;
    c->stop_efd = eventfd(0, EFD_CLOEXEC);
    if (c->stop_efd < 0 ||
        (rc = a350_thread_create(&c->thread, NULL, completion_thread, c))) {
        return a350_fail(-ENOMEM, "the completion thread of card %u cannot be "
                         "started", c->number);
    }
    c->thread_on = true;
    return 0;
}

void a350_cq_stop(a350_card *c)
{
    uint64_t one = 1;
    a350_id_req q = { .id = c->cq_id };

    if (c->thread_on) {
        if (write(c->stop_efd, &one, sizeof(one)) == sizeof(one)) {
            pthread_join(c->thread, NULL);
        }
    }
    if (c->stop_efd >= 0) {
        close(c->stop_efd);
    }
    if (c->cq && c->thread_on) {
        a350_admin(c, A350_ADM_CQ_DESTROY, &q, sizeof(q), NULL, 0, NULL);
    }
    /* The device is closed, and with it stopped, before its memory goes. */
}
