/*
 * Atlas 350 firmware monitor: threads, futexes and the scheduler.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread belongs to one core and leaves it only by blocking: kernels own
 * their core. Spare threads wait unplaced (T_PARK) until a worker dies.
 */
#include "mon.h"

#define MSEC 1000000ull

void kick(int core)
{
    am_write(A350_AM_IPI, (uint64_t)core);
}

void kick_all(void)
{
    for (unsigned i = 0; i < mon.num_cores; i++) {
        kick((int)i);
    }
}

struct thread *thread_new(void)
{
    for (unsigned i = 0; i < MAX_THREADS; i++) {
        struct thread *t = &mon.thread[i];

        if (t->state == T_FREE) {
            memset(t, 0, sizeof(*t));
            /* Distinctive, so that a lock word naming it is no accident. */
            t->tid = 0x35000000u + (++mon.next_tid & 0xffffff);
            t->place = -1;
            return t;
        }
    }
    return NULL;
}

void thread_wake(struct thread *t, int64_t result)
{
    t->x[10] = (uint64_t)result;
    t->deadline = 0;
    t->state = T_READY;
    if (t->core >= 0) {
        kick(t->core);
    }
}

/* What Linux does for a thread's end: joiners wait for the word to clear. */
void thread_end(struct thread *t)
{
    uint32_t zero = 0;
    struct core *c = &mon.core[t->core];

    line_flush(t);
    file_close_owned(t);
    if (t->clear_tid && user_put(t->clear_tid, &zero, 4)) {
        futex_wake(t->clear_tid, 1, UINT32_MAX);
    }
    t->state = T_FREE;
    if (c->fp_owner == t) {
        c->fp_owner = NULL;
    }
    if (c->cur == t) {
        c->cur = NULL;
    }
}

/* Gives @c a worker from the spares, or has it wait for one. */
void worker_follow(struct core *c)
{
    c->worker = NULL;
    c->need_worker = true;
    worker_offer();
}

void worker_offer(void)
{
    for (unsigned i = 0; i < mon.num_cores; i++) {
        struct core *c = &mon.core[i];

        for (unsigned k = 0; k < MAX_THREADS && c->need_worker; k++) {
            struct thread *t = &mon.thread[k];

            if (t->state == T_PARK) {
                t->core = (int)i;
                c->worker = t;
                c->need_worker = false;
                thread_wake(t, (int64_t)i);
            }
        }
    }
}

bool any_launch(void)
{
    for (unsigned i = 0; i < MAX_THREADS; i++) {
        if (mon.thread[i].in_launch) {
            return true;
        }
    }
    return false;
}

/* No launch runs anywhere and no worker does anything else either. */
bool all_idle(void)
{
    for (unsigned i = 0; i < MAX_THREADS; i++) {
        enum thread_state s = mon.thread[i].state;

        if (s == T_RUN || s == T_READY || mon.thread[i].in_launch) {
            return false;
        }
    }
    return true;
}

#define CLONE_VM             0x100
#define CLONE_THREAD         0x10000
#define CLONE_SETTLS         0x80000
#define CLONE_PARENT_SETTID  0x100000
#define CLONE_CHILD_CLEARTID 0x200000
#define CLONE_CHILD_SETTID   0x1000000

/* Threads only, and only the runtime's: a kernel is one thread. */
int64_t sys_clone(struct thread *t, const uint64_t *a)
{
    uint64_t flags = a[0];
    struct thread *n;

    if (t->in_launch) {
        return -EAGAIN;
    }
    if ((flags & (CLONE_VM | CLONE_THREAD)) != (CLONE_VM | CLONE_THREAD)) {
        return -ENOSYS;
    }
    n = thread_new();
    if (!n) {
        return -EAGAIN;
    }
    memcpy(n->x, t->x, sizeof(n->x));
    fp_save(t);
    memcpy(n->f, t->f, sizeof(n->f));
    n->fcsr = t->fcsr;
    n->x[10] = 0;
    n->x[2] = a[1];
    if (flags & CLONE_SETTLS) {
        n->x[4] = a[3];
    }
    n->core = t->place >= 0 ? t->place : t->core;
    n->clear_tid = (flags & CLONE_CHILD_CLEARTID) ? a[4] : 0;
    if (flags & CLONE_PARENT_SETTID) {
        user_put(a[2], &n->tid, 4);
    }
    if (flags & CLONE_CHILD_SETTID) {
        user_put(a[4], &n->tid, 4);
    }
    find_guard(a[1], &n->guard_lo, &n->guard_hi);
    n->state = T_READY;
    kick(n->core);
    return (int64_t)n->tid;
}

static uint64_t clock_now(unsigned clock)
{
    return clock == 0 || clock == 5 ? am_read(A350_AM_WALL_TIME)
                                    : am_read(A350_AM_TIME);
}

/* A struct timespec, as a point of the card's clock; 0: bad, 1 at least. */
static uint64_t deadline_of(uint64_t addr, bool absolute, unsigned clock)
{
    uint64_t ts[2], ns, now = am_read(A350_AM_TIME);

    if (!user_get(ts, addr, 16) || ts[1] >= 1000000000 ||
        (int64_t)ts[0] < 0) {
        return 0;
    }
    ns = ts[0] > 1ull << 33 ? 1ull << 62 : ts[0] * 1000000000ull + ts[1];
    if (absolute) {
        uint64_t base = clock_now(clock);

        ns = ns > base ? ns - base : 0;
    }
    return now + ns + 1;
}

int64_t futex_wake(uint64_t addr, uint64_t max, uint32_t bits)
{
    int64_t n = 0;

    for (unsigned i = 0; i < MAX_THREADS && (uint64_t)n < max; i++) {
        struct thread *t = &mon.thread[i];

        if (t->state == T_FUTEX && t->futex == addr &&
            (t->futex_bits & bits)) {
            thread_wake(t, 0);
            n++;
        }
    }
    return n;
}

static int64_t futex_requeue(uint64_t from, uint64_t to, uint64_t max)
{
    int64_t n = 0;

    for (unsigned i = 0; i < MAX_THREADS && (uint64_t)n < max; i++) {
        struct thread *t = &mon.thread[i];

        if (t->state == T_FUTEX && t->futex == from) {
            t->futex = to;
            n++;
        }
    }
    return n;
}

static int64_t futex_wait(struct thread *t, const uint64_t *a, bool bitset)
{
    uint32_t val = *(volatile uint32_t *)a[0];

    if (val != (uint32_t)a[2]) {
        return -EAGAIN;
    }
    t->deadline = 0;
    if (a[3]) {
        /* FUTEX_CLOCK_REALTIME is bit 8; only the bit set form is absolute */
        t->deadline = deadline_of(a[3], bitset, (a[1] & 0x100) ? 0 : 1);
        if (!t->deadline) {
            return -EINVAL;
        }
    }
    t->futex = a[0];
    t->futex_bits = bitset ? (uint32_t)a[5] : UINT32_MAX;
    t->state = T_FUTEX;
    return 0;
}

int64_t sys_futex(struct thread *t, const uint64_t *a)
{
    unsigned op = a[1] & 0x7f;
    uint64_t max = (uint32_t)a[2] > 0x7fffffff ? 0 : (uint32_t)a[2];
    int64_t n;

    if ((a[0] & 3) || !user_range(a[0], 4)) {
        return a[0] & 3 ? -EINVAL : -EFAULT;
    }
    switch (op) {
    case 0:
    case 9:
        return futex_wait(t, a, op == 9);
    case 1:
        return futex_wake(a[0], max, UINT32_MAX);
    case 10:
        return futex_wake(a[0], max, (uint32_t)a[5]);
    case 3:
    case 4:
        if (op == 4 && *(volatile uint32_t *)a[0] != (uint32_t)a[5]) {
            return -EAGAIN;
        }
        n = futex_wake(a[0], max, UINT32_MAX);
        return n + futex_requeue(a[0], a[4], (uint32_t)a[3]);
    default:
        return -ENOSYS;
    }
}

int64_t sys_sleep(struct thread *t, unsigned clock, bool absolute,
                  uint64_t req)
{
    t->deadline = deadline_of(req, absolute, clock);
    if (!t->deadline) {
        return user_range(req, 16) ? -EINVAL : -EFAULT;
    }
    t->state = T_SLEEP;
    return 0;
}

/* Ends waits of @c's threads that are over; next one's time, 0 for none. */
static uint64_t expire(struct core *c)
{
    uint64_t now = am_read(A350_AM_TIME), next = 0;

    for (unsigned i = 0; i < MAX_THREADS; i++) {
        struct thread *t = &mon.thread[i];
        uint64_t at = 0;

        if (t->state == T_FREE || t->core != (int)c->id) {
            continue;
        }
        if (t->state == T_FUTEX || t->state == T_SLEEP) {
            at = t->deadline;
            if (at && at <= now) {
                thread_wake(t, t->state == T_FUTEX ? -ETIMEDOUT : 0);
                at = 0;
            }
        }
        if (at && (!next || at < next)) {
            next = at;
        }
        at = launch_deadline(t);
        if (at && (!next || at < next)) {
            next = at;
        }
    }
    return next;
}

/* Patience with a runtime that is to be restarted has an end. */
static void drop_busy(struct core *c)
{
    if (!mon.want_restart || any_launch() ||
        am_read(A350_AM_TIME) < mon.restart_by) {
        return;
    }
    for (unsigned i = 0; i < MAX_THREADS; i++) {
        struct thread *t = &mon.thread[i];

        if (t->core == (int)c->id && (t->state == T_RUN ||
                                      t->state == T_READY)) {
            t->state = T_FREE;
        }
    }
    c->cur = c->worker = c->fp_owner = NULL;
}

static struct thread *pick(struct core *c)
{
    drop_busy(c);
    if (c->cur && c->cur->state == T_RUN) {
        return c->cur;
    }
    c->cur = NULL;
    for (unsigned i = 0; i < MAX_THREADS; i++) {
        struct thread *t = &mon.thread[i];

        if (t->state == T_READY && t->core == (int)c->id) {
            return t;
        }
    }
    for (unsigned i = 0; i < MAX_THREADS; i++) {
        struct thread *t = &mon.thread[i];

        if (t->state == T_MBOX && t->core == (int)c->id && mbox_take(c, t)) {
            return t;
        }
    }
    return NULL;
}

/* Nothing to run: waits for an interrupt with the lock given up. */
static void idle(struct core *c)
{
    /* A mailbox that may not be taken must not keep the core awake. */
    bool mbox = c->worker && c->worker->state == T_MBOX && !mbox_closed();

    if (mon.want_restart && all_idle()) {
        if (c->id == 0) {
            runtime_restart();
            return;
        }
        kick(0);
    }
    csr_write(mie, MIP_MSIP | MIP_MTIP | (mbox ? MIP_MEIP : 0));
    mon_unlock();
    __asm__ volatile("wfi" ::: "memory");
    mon_lock();
    csr_write(mie, MIP_MSIP | MIP_MTIP);
    if (csr_read(mip) & MIP_MSIP) {
        am_write(A350_AM_IPI_CLEAR, 1);
    }
}

/* PMP entries 0 and 1: the running thread's stack guard. */
void set_guard(struct core *c, struct thread *t)
{
    if (c->guard_lo == t->guard_lo && c->guard_hi == t->guard_hi) {
        return;
    }
    c->guard_lo = t->guard_lo;
    c->guard_hi = t->guard_hi;
    csr_write(pmpaddr0, t->guard_lo >> 2);
    csr_write(pmpaddr1, t->guard_hi >> 2);
}

static void switch_to(struct core *c, struct thread *t)
{
    t->state = T_RUN;
    c->cur = t;
    if (c->fp_owner != t) {
        if (c->fp_owner) {
            fp_save(c->fp_owner);
        }
        fp_load(t);
        c->fp_owner = t;
    }
    set_guard(c, t);
}

/* Finds the thread to go on with; returns with the lock released. */
void schedule(struct core *c)
{
    for (;;) {
        uint64_t next;
        struct thread *t;

        launch_timer(c);
        next = expire(c);
        if (mon.want_restart && !any_launch() &&
            (!next || mon.restart_by < next)) {
            next = mon.restart_by;
        }
        am_write(A350_AM_TIMECMP, next ? next : UINT64_MAX);
        t = pick(c);
        if (t) {
            switch_to(c, t);
            break;
        }
        idle(c);
        launch_abort(c);
    }
    mon_unlock();
}
