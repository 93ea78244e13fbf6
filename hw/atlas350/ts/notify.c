/*
 * Atlas 350 virtual card: notifies, single and counting, and who waits.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * spec/hw/task-queues.md §3 (entries) and §5 (registers). A single notify is
 * one flag: set by a record, cleared by a passing clear-wait, two records
 * before a wait are one. Flags and counters are written by any thread.
 *
 * Waiters of a notify form a chain, oldest first, that only the card's
 * thread touches; the table holds the oldest, for those who record. A waiter
 * puts itself into the table, then looks at the flag again; who records sets
 * the flag, then looks into the table: one of the two sees the other.
 */
#include "qemu/osdep.h"
#include "priv.h"
#include "../trace.h"

#define SLICE_SIZE      0x200000u
#define SLICE_PAGES     256u
#define CNT_SLICE_SIZE  0x10000u
#define CNT_SLICE_PAGES 8u
#define PAGE_IDS        16u

/* ---- recording, any thread ---- */

/* The flag or counter was changed: lets the oldest waiter look. */
static void notify_wake(A350Ts *ts, const uint16_t *waiter)
{
    uint16_t w;

    /* Pairs with ts_wait_for: flag first, then the table. */
    smp_mb();
    w = qatomic_read(waiter);
    if (w) {
        ts_ready(ts, w - 1);
    }
}

static void notify_set(A350Ts *ts, uint32_t id, bool set)
{
    trace_atlas350_notify(ts->card->index, id, set);
    /* What was written before the record is seen by who passes the wait. */
    qatomic_store_release(&ts->notify[id], set);
    if (set) {
        notify_wake(ts, &ts->waiter[id]);
    }
}

static void cnt_notify_op(A350Ts *ts, uint32_t id, uint32_t op, uint32_t val)
{
    uint32_t *n = &ts->cnt_notify[id];

    switch (op) {
    case A350_NOTIFY_REC_STORE:
        qatomic_xchg(n, val);
        break;
    case A350_NOTIFY_REC_ADD:
        qatomic_add(n, val);
        break;
    case A350_NOTIFY_REC_OR:
        qatomic_or(n, val);
        break;
    default:
        qatomic_and(n, ~val);
        break;
    }
    trace_atlas350_cnt_notify(ts->card->index, id, op, val);
    notify_wake(ts, &ts->cnt_waiter[id]);
}

/* As a new one, and who waits for just that passes. */
void ts_notify_clear(A350Ts *ts, uint32_t id, bool cnt)
{
    if (cnt) {
        cnt_notify_op(ts, id, A350_NOTIFY_REC_STORE, 0);
    } else {
        notify_set(ts, id, false);
    }
}

/*
 * A slot is a flag word and a reserved word: 8-byte stores of {1, 0} set the
 * flag as 4-byte stores of 1 do.
 */
bool ts_notify_reg(A350Ts *ts, uint32_t offset, unsigned size, bool write,
                   uint64_t *val)
{
    uint32_t page = offset % SLICE_SIZE / 0x1000;
    uint32_t slot = offset % 0x1000 / 8;
    uint32_t id = offset / SLICE_SIZE * 4096 + page * PAGE_IDS + slot;

    if ((size != 4 && size != 8) || offset % size || page >= SLICE_PAGES ||
        slot >= PAGE_IDS || id >= ts->card->num_notify) {
        return false;
    }
    if (!write) {
        *val = offset % 8 ? 0 : qatomic_read(&ts->notify[id]);
    } else if (offset % 8 == 0) {
        notify_set(ts, id, *val & 1);
    }
    return true;
}

bool ts_cnt_notify_reg(A350Ts *ts, uint32_t offset, unsigned size, bool write,
                       uint64_t *val)
{
    static const uint32_t alias_op[] = {
        [A350_CNT_NOTIFY_STORE / 8] = A350_NOTIFY_REC_STORE,
        [A350_CNT_NOTIFY_ADD / 8] = A350_NOTIFY_REC_ADD,
        [A350_CNT_NOTIFY_OR / 8] = A350_NOTIFY_REC_OR,
        [A350_CNT_NOTIFY_CLEAR / 8] = A350_NOTIFY_REC_CLEAR,
    };
    uint32_t page = offset % CNT_SLICE_SIZE / 0x1000;
    uint32_t slot = offset % 0x1000 / 32;
    uint32_t id = offset / CNT_SLICE_SIZE * 128 + page * PAGE_IDS + slot;

    if ((size != 4 && size != 8) || offset % size || page >= CNT_SLICE_PAGES ||
        slot >= PAGE_IDS || id >= ts->card->num_cnt_notify) {
        return false;
    }
    if (!write) {
        *val = offset % 8 ? 0 : qatomic_read(&ts->cnt_notify[id]);
    } else if (offset % 8 == 0) {
        cnt_notify_op(ts, id, alias_op[offset % 32 / 8], *val);
    }
    return true;
}

/* ---- entries, the card's thread ---- */

static uint32_t sqe_notify_id(const A350Sq *sq)
{
    return sq->sqe.w[2] & A350_NOTIFY_ID_MASK;
}

static bool sqe_cnt(const A350Sq *sq)
{
    return sq->sqe.w[2] & A350_NOTIFY_CNT;
}

static bool sqe_clr(const A350Sq *sq)
{
    return sq->sqe.w[2] & A350_NOTIFY_CLR;
}

static TsResult notify_check_id(A350Sq *sq)
{
    uint32_t id = sqe_notify_id(sq);
    uint32_t num = sqe_cnt(sq) ? sq->ts->card->num_cnt_notify :
                   sq->ts->card->num_notify;

    if (id >= num) {
        sq->err.notify = id;
        return ts_error(sq, A350_EK_SQE, A350_ERR_SQE, 0, "%snotify %u is not "
                        "in 0..%u", sqe_cnt(sq) ? "counting " : "", id,
                        num - 1);
    }
    return TS_DONE;
}

TsResult ts_exec_record(A350Sq *sq)
{
    A350Ts *ts = sq->ts;
    uint32_t id = sqe_notify_id(sq);
    uint32_t mode = (sq->sqe.w[5] >> A350_NOTIFY_REC_SHIFT) & 7;

    if (notify_check_id(sq) == TS_ERROR) {
        return TS_ERROR;
    }
    if (!sqe_cnt(sq)) {
        /* With the clear flag a record is a reset (§3). */
        notify_set(ts, id, !sqe_clr(sq));
        return TS_DONE;
    }
    if (sqe_clr(sq)) {
        cnt_notify_op(ts, id, A350_NOTIFY_REC_STORE, 0);
        return TS_DONE;
    }
    if (mode > A350_NOTIFY_REC_OR && mode != A350_NOTIFY_REC_CLEAR) {
        return ts_error(sq, A350_EK_SQE, A350_ERR_SQE, 0, "record mode %u is "
                        "not 0, 1, 2 or 4", mode);
    }
    cnt_notify_op(ts, id, mode, sq->sqe.w[4]);
    return TS_DONE;
}

static bool take_single(A350Ts *ts, uint32_t id, bool clr)
{
    if (!qatomic_load_acquire(&ts->notify[id])) {
        return false;
    }
    return !clr || qatomic_xchg(&ts->notify[id], 0);
}

static bool cnt_passes(const a350_sqe *sqe, uint32_t v)
{
    uint32_t want = sqe->w[4];

    if (sqe->w[5] & A350_NOTIFY_BITMAP) {
        return (v & want) == want;
    }
    switch (sqe->w[5] & (A350_NOTIFY_WAIT_EQUAL | A350_NOTIFY_WAIT_BIGGER)) {
    case 0:
        return v < want;
    case A350_NOTIFY_WAIT_EQUAL:
        return v == want;
    case A350_NOTIFY_WAIT_BIGGER:
        return v > want;
    default:
        return v >= want;
    }
}

/*
 * A passing bitmap wait takes its own bits only: one store of a mask serves
 * several waiters, each with its bit.
 */
static bool take_cnt(A350Ts *ts, uint32_t id, const a350_sqe *sqe, bool clr)
{
    uint32_t *n = &ts->cnt_notify[id];
    uint32_t left, old, v = qatomic_load_acquire(n);

    for (;;) {
        if (!cnt_passes(sqe, v)) {
            return false;
        }
        left = sqe->w[5] & A350_NOTIFY_BITMAP ? v & ~sqe->w[4] : 0;
        if (!clr) {
            return true;
        }
        old = qatomic_cmpxchg(n, v, left);
        if (old == v) {
            /* Others may be waiting for what is left. */
            notify_wake(ts, &ts->cnt_waiter[id]);
            return true;
        }
        v = old;
    }
}

static bool wait_take(A350Sq *sq)
{
    if (sq->wait_cnt) {
        return take_cnt(sq->ts, sq->wait_id, &sq->sqe, sqe_clr(sq));
    }
    /* A blocking callback waits for its notify and takes it. */
    return take_single(sq->ts, sq->wait_id, sqe_clr(sq) ||
                       a350_sqe_get_type(&sq->sqe) != A350_SQE_NOTIFY_WAIT);
}

static uint16_t *wait_table(A350Sq *sq)
{
    return sq->wait_cnt ? &sq->ts->cnt_waiter[sq->wait_id] :
           &sq->ts->waiter[sq->wait_id];
}

bool ts_wait_oldest(A350Sq *sq)
{
    return *wait_table(sq) == sq->id + 1;
}

void ts_wait_link(A350Sq *sq)
{
    uint16_t *table = wait_table(sq);
    A350Sq *w;

    sq->next_waiter = NULL;
    if (!*table) {
        qatomic_set(table, sq->id + 1);
        return;
    }
    for (w = &sq->ts->sq[*table - 1]; w->next_waiter; w = w->next_waiter) {
        /* to the youngest */
    }
    w->next_waiter = sq;
}

void ts_wait_unlink(A350Sq *sq)
{
    A350Ts *ts = sq->ts;
    uint16_t *table = wait_table(sq);
    A350Sq *w;

    if (!*table) {
        return;
    }
    w = &ts->sq[*table - 1];
    if (w == sq) {
        qatomic_set(table, sq->next_waiter ? sq->next_waiter->id + 1 : 0);
        if (sq->next_waiter) {
            /* A record may have come for the one that is the oldest now. */
            ts_wake(ts, sq->next_waiter->id);
        }
    } else {
        while (w && w->next_waiter != sq) {
            w = w->next_waiter;
        }
        if (w) {
            w->next_waiter = sq->next_waiter;
        }
        if (sq->wait_cnt && sq->next_waiter) {
            ts_ready(ts, sq->next_waiter->id);
        }
    }
    sq->next_waiter = NULL;
}

TsResult ts_poll_wait(A350Sq *sq)
{
    if (!sq->wait_cnt && !ts_wait_oldest(sq)) {
        return TS_WAIT;
    }
    if (wait_take(sq)) {
        ts_wait_unlink(sq);
        return TS_DONE;
    }
    /* Another waiter of this counter may want another value. */
    if (sq->wait_cnt && sq->next_waiter) {
        ts_ready(sq->ts, sq->next_waiter->id);
    }
    return TS_WAIT;
}

/* In arrival order: who comes while others wait takes nothing from them. */
TsResult ts_wait_for(A350Sq *sq, uint32_t id)
{
    bool first;

    sq->wait_id = id;
    first = sq->wait_cnt || !*wait_table(sq);
    if (first && wait_take(sq)) {
        return TS_DONE;
    }
    ts_wait_link(sq);
    sq->state = SQ_NOTIFY;
    /* Pairs with notify_wake: table first, then the flag. */
    smp_mb();
    return ts_poll_wait(sq);
}

TsResult ts_exec_wait(A350Sq *sq)
{
    uint32_t w5 = sq->sqe.w[5];

    if (notify_check_id(sq) == TS_ERROR) {
        return TS_ERROR;
    }
    if ((w5 & A350_NOTIFY_BITMAP) && (w5 & 3)) {
        return ts_error(sq, A350_EK_SQE, A350_ERR_SQE, 0, "a bitmap wait has "
                        "wait mode %u, not 0", w5 & 3);
    }
    sq->wait_cnt = sqe_cnt(sq);
    return ts_wait_for(sq, sqe_notify_id(sq));
}
