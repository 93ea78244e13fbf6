/*
 * Atlas 350 virtual card: the thread that runs the queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * All cards of one AioContext are run by one loop, so that a record from one
 * card to another on the same thread costs no bottom half: the loop goes
 * round the kicked cards until none is left, or until its time is over and
 * the AioContext's other users get their turn.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "block/aio-wait.h"
#include "priv.h"
#include "../trace.h"

#define LOOP_TURN_NS    (500 * SCALE_US)
#define LOOP_CHECK      4           /* rounds between looks at the clock */
#define RUN_TURN_NS     (200 * SCALE_US)

struct TsLoop {
    AioContext *ctx;
    QEMUBH *bh;
    unsigned users;
    QTAILQ_HEAD(, A350Ts) cards;    /* the loop's thread */
    QLIST_ENTRY(TsLoop) next;
};

/* Under the big lock. */
static QLIST_HEAD(, TsLoop) loops = QLIST_HEAD_INITIALIZER(loops);

/* The loop this thread is in the middle of. */
static __thread TsLoop *current_loop;

void ts_kick(A350Ts *ts)
{
    if (qatomic_read(&ts->kicked)) {
        /* Pairs with loop_card: the bit in ready is seen by who clears it. */
        smp_mb();
        if (qatomic_read(&ts->kicked)) {
            return;
        }
    }
    qatomic_set_mb(&ts->kicked, 1);
    if (current_loop != ts->loop) {
        qemu_bh_schedule(ts->loop->bh);
    }
}

static void ts_timer(void *opaque)
{
    A350Ts *ts = opaque;

    qatomic_set(&ts->timer_fired, 1);
    ts_kick(ts);
}

void ts_deadline(A350Sq *sq, int64_t deadline)
{
    A350Ts *ts = sq->ts;

    sq->deadline = deadline;
    if (deadline < ts->next_deadline) {
        ts->next_deadline = deadline;
        timer_mod_ns(ts->timer, deadline);
    }
}

/* Deadlines that have passed; and when the next one will. */
static void ts_expire(A350Ts *ts)
{
    int64_t now = a350_clock_ns();
    int64_t next = TS_NO_DEADLINE;
    uint32_t i;

    ts->next_deadline = TS_NO_DEADLINE;
    for (i = 0; i < ts->top; i++) {
        A350Sq *sq = &ts->sq[i];

        if (sq->deadline <= now) {
            ts_sq_timeout(sq, now);
            ts_ready(ts, i);
        }
        next = MIN(next, sq->deadline);
    }
    if (next != TS_NO_DEADLINE && next < ts->next_deadline) {
        ts->next_deadline = next;
        timer_mod_ns(ts->timer, next);
    }
}

static void ts_cq_room(A350Ts *ts)
{
    uint32_t i;

    for (i = 0; i < ts->top; i++) {
        if (sq_wants_room(ts->sq[i].state)) {
            ts_ready(ts, i);
        }
    }
}

/*
 * The ready bits of the word that is number @k from the cursor on; the
 * cursor's own word comes first with its upper, at last with its lower part.
 */
static uint64_t take_ready(A350Ts *ts, unsigned words, unsigned k, uint32_t *w)
{
    uint64_t upper = ~0ull << (ts->cursor % 64);
    uint64_t mask = k == 0 ? upper : k == words ? ~upper : ~0ull;

    *w = (ts->cursor / 64 + k) % words;
    if (!(qatomic_read(&ts->ready[*w]) & mask)) {
        return 0;
    }
    return qatomic_fetch_and(&ts->ready[*w], ~mask) & mask;
}

/* Is this turn over? Queues that used up their budget ask for the time. */
static bool turn_over(A350Ts *ts, bool used_up, int64_t *start)
{
    int64_t now;

    if (qatomic_read(&ts->paused)) {
        return true;
    }
    if (!used_up) {
        return false;
    }
    now = get_clock();
    *start = *start ?: now;
    return now - *start > RUN_TURN_NS;
}

/*
 * Queues that are ready have a turn each, from where the last one stopped;
 * true if some want another.
 */
static bool ts_queues(A350Ts *ts, bool *any)
{
    unsigned k, words = DIV_ROUND_UP(MAX(ts->top, 1), 64);
    bool used_up, more = false;
    int64_t start = 0;
    uint64_t bits;
    uint32_t id, w;

    if (ts->cursor >= ts->top) {
        ts->cursor = 0;
    }
    for (k = 0; k <= words; k++) {
        bits = take_ready(ts, words, k, &w);
        while (bits) {
            id = w * 64 + ctz64(bits);
            bits &= bits - 1;
            *any = true;
            used_up = ts_sq_run(&ts->sq[id], TS_SQ_BUDGET);
            if (used_up) {
                qatomic_or(&ts->ready[w], 1ull << (id % 64));
                more = true;
            }
            if (turn_over(ts, used_up, &start)) {
                qatomic_or(&ts->ready[w], bits);
                ts->cursor = id + 1;
                return true;
            }
        }
    }
    return more;
}

static bool ts_run(A350Ts *ts)
{
    bool more, any = false;

    QEMU_LOCK_GUARD(&ts->run_lock);
    if (qatomic_read(&ts->paused)) {
        return false;
    }
    if (qatomic_read(&ts->timer_fired)) {
        qatomic_set_mb(&ts->timer_fired, 0);
        ts_expire(ts);
    }
    if (qatomic_read(&ts->cq_moved)) {
        qatomic_set_mb(&ts->cq_moved, 0);
        ts_cq_room(ts);
    }
    more = ts_queues(ts, &any);
    if (any && !more) {
        ts_stall_idle(ts);
    }
    return more;
}

/*
 * A worker has ended the copy of @sq. It goes on with the queue itself, so that
 * one copy after the other costs no hand-over to the card's thread and back;
 * unless that one is at work, or the next entry is no copy: then the card's
 * thread has it as ever.
 */
void ts_continue(A350Sq *sq)
{
    A350Ts *ts = sq->ts;
    bool again = false;

    /* Never waited for: who has the lock may be waiting for this thread. */
    if (!qemu_mutex_trylock(&ts->run_lock)) {
        if (!qatomic_read(&ts->paused)) {
            again = !ts_sq_run(sq, TS_COPY_BUDGET) && sq->state == SQ_COPY;
        }
        qemu_mutex_unlock(&ts->run_lock);
    }
    if (!again) {
        ts_wake(ts, sq->id);
    }
}

static bool loop_card(A350Ts *ts)
{
    if (!qatomic_read(&ts->kicked)) {
        return false;
    }
    qatomic_set_mb(&ts->kicked, 0);
    if (ts_run(ts)) {
        qatomic_set(&ts->kicked, 1);
    }
    return true;
}

static void loop_run(void *opaque)
{
    TsLoop *loop = opaque;
    int64_t end = get_clock() + LOOP_TURN_NS;
    unsigned rounds = 0;
    bool busy;
    A350Ts *ts;

    current_loop = loop;
    do {
        busy = false;
        QTAILQ_FOREACH(ts, &loop->cards, next) {
            busy |= loop_card(ts);
        }
        if (busy && ++rounds % LOOP_CHECK == 0 && get_clock() > end) {
            qemu_bh_schedule(loop->bh);
            break;
        }
    } while (busy);
    current_loop = NULL;
}

/* ---- life ---- */

static void loop_add_bh(void *opaque)
{
    A350Ts *ts = opaque;

    QTAILQ_INSERT_TAIL(&ts->loop->cards, ts, next);
}

static void loop_remove_bh(void *opaque)
{
    A350Ts *ts = opaque;
    TsLoop *loop = ts->loop;

    QTAILQ_REMOVE(&loop->cards, ts, next);
    if (loop->users == 1) {
        qemu_bh_delete(loop->bh);
    }
}

static void loop_attach(A350Ts *ts, AioContext *ctx)
{
    TsLoop *loop;

    QLIST_FOREACH(loop, &loops, next) {
        if (loop->ctx == ctx) {
            break;
        }
    }
    if (!loop) {
        loop = g_new0(TsLoop, 1);
        loop->ctx = ctx;
        QTAILQ_INIT(&loop->cards);
        loop->bh = aio_bh_new(ctx, loop_run, loop);
        QLIST_INSERT_HEAD(&loops, loop, next);
    }
    loop->users++;
    ts->loop = loop;
    aio_wait_bh_oneshot(ctx, loop_add_bh, ts);
}

static void loop_detach(A350Ts *ts)
{
    TsLoop *loop = ts->loop;

    aio_wait_bh_oneshot(loop->ctx, loop_remove_bh, ts);
    if (--loop->users == 0) {
        QLIST_REMOVE(loop, next);
        g_free(loop);
    }
}

void a350_ts_init(A350Card *c)
{
    A350Ts *ts = g_new0(A350Ts, 1);
    uint32_t i;

    c->ts = ts;
    ts->card = c;
    qemu_mutex_init(&ts->run_lock);
    qemu_mutex_init(&ts->irq_lock);
    qemu_mutex_init(&ts->launch_lock);
    ts->num_sq = c->num_sq;
    ts->num_notify = c->num_notify;
    ts->num_cnt = c->num_cnt_notify;
    ts->sq = g_new0(A350Sq, c->num_sq);
    ts->cq = g_new0(A350Cq, c->num_sq);
    ts->notify = g_new0(uint8_t, c->num_notify);
    ts->waiter = g_new0(uint16_t, c->num_notify);
    ts->cnt_notify = g_new0(uint32_t, c->num_cnt_notify);
    ts->cnt_waiter = g_new0(uint16_t, c->num_cnt_notify);
    ts->labels = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    ts->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, ts_timer, ts);
    ts->next_deadline = TS_NO_DEADLINE;
    for (i = 0; i < c->num_sq; i++) {
        ts->sq[i].ts = ts;
        ts->sq[i].id = i;
        ts_sq_clear(&ts->sq[i]);
    }
    ts_error_reset(ts);
    ts_stall_init(ts);
    loop_attach(ts, c->ctx);
}

void a350_ts_destroy(A350Card *c)
{
    A350Ts *ts = c->ts;
    uint32_t i;

    loop_detach(ts);
    ts_stall_destroy(ts);
    timer_free(ts->timer);
    for (i = 0; i < c->num_sq; i++) {
        ts_sq_stop_work(&ts->sq[i]);
        g_free(ts->sq[i].job);
        g_free(ts->sq[i].exc);
    }
    g_hash_table_destroy(ts->labels);
    g_free(ts->cnt_waiter);
    g_free(ts->cnt_notify);
    g_free(ts->waiter);
    g_free(ts->notify);
    g_free(ts->cq);
    g_free(ts->sq);
    qemu_mutex_destroy(&ts->launch_lock);
    qemu_mutex_destroy(&ts->irq_lock);
    qemu_mutex_destroy(&ts->run_lock);
    g_free(ts);
    c->ts = NULL;
}

void a350_ts_reset(A350Card *c)
{
    A350Ts *ts = c->ts;
    uint32_t i;

    /* The lock hands all of this over to whoever runs the queues next. */
    QEMU_LOCK_GUARD(&ts->run_lock);
    for (i = 0; i < c->num_sq; i++) {
        ts_sq_stop_work(&ts->sq[i]);
        ts_sq_clear(&ts->sq[i]);
    }
    timer_del(ts->timer);
    ts->next_deadline = TS_NO_DEADLINE;
    ts->top = 0;
    /* Peers that record meanwhile look into these tables. */
    for (i = 0; i < c->num_notify; i++) {
        qatomic_set(&ts->notify[i], 0);
        qatomic_set(&ts->waiter[i], 0);
    }
    for (i = 0; i < c->num_cnt_notify; i++) {
        qatomic_set(&ts->cnt_notify[i], 0);
        qatomic_set(&ts->cnt_waiter[i], 0);
    }
    for (i = 0; i < TS_WORDS; i++) {
        qatomic_set(&ts->ready[i], 0);
    }
    qatomic_set(&ts->timer_fired, 0);
    qatomic_set(&ts->cq_moved, 0);
    ts_stall_reset(ts);
    ts_cq_reset(ts);
    ts_error_reset(ts);
    ts_waits_reset(ts);
}

/*
 * Holds the queues of @ts for a look at them by another thread, which may be
 * the one that the holder of the lock waits for: so it is not waited for,
 * unless the card stands still and the lock is free in a moment. False: its
 * queues are being run just now.
 */
bool ts_look(A350Ts *ts)
{
    if (qatomic_read(&ts->paused)) {
        qemu_mutex_lock(&ts->run_lock);
        return true;
    }
    return !qemu_mutex_trylock(&ts->run_lock);
}

void ts_look_end(A350Ts *ts)
{
    qemu_mutex_unlock(&ts->run_lock);
}

void a350_ts_lock(A350Card *c)
{
    qemu_mutex_lock(&c->ts->run_lock);
}

void a350_ts_unlock(A350Card *c)
{
    qemu_mutex_unlock(&c->ts->run_lock);
}

void a350_ts_pause(A350Card *c)
{
    qatomic_set_mb(&c->ts->paused, true);
    /* Whoever ran queues before that is out when the lock is free. */
    qemu_mutex_lock(&c->ts->run_lock);
    qemu_mutex_unlock(&c->ts->run_lock);
}

void a350_ts_resume(A350Card *c)
{
    A350Ts *ts = c->ts;
    uint32_t i;

    qatomic_set_mb(&ts->paused, false);
    for (i = 0; i < ts->top; i++) {
        qatomic_or(&ts->ready[i / 64], 1ull << (i % 64));
    }
    ts_kick(ts);
}

void a350_ts_set_other_sqe(A350Card *c, bool noop)
{
    c->ts->noop_others = noop;
}
