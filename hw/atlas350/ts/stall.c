/*
 * Atlas 350 virtual card: noticing that nothing moves any more.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A card that has gone idle with a blocked queue looks again a second later.
 * If then no card of the fabric has ended an entry for a whole second, none
 * is copying or running a kernel, and somebody waits for a notify, the wait
 * is reported once: the chain from the longest waiter to the one it ends
 * with, or the cycle.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "priv.h"
#include "../trace.h"

#define STALL_NS        NANOSECONDS_PER_SECOND
#define CHAIN_MAX       8

typedef struct StallScan {
    uint64_t progress;
    uint32_t waiting, busy;
    A350Sq *oldest;
} StallScan;

/*
 * Of running cards a first impression; what is reported is read again while
 * all stand still.
 */
static void scan_card(A350Ts *ts, StallScan *s)
{
    uint32_t i;

    s->progress += qatomic_read(&ts->progress);
    for (i = 0; i < ts->top; i++) {
        A350Sq *sq = &ts->sq[i];

        if (!sq->exists) {
            continue;
        }
        if (sq->state == SQ_NOTIFY) {
            s->waiting++;
            if (!s->oldest || sq->since < s->oldest->since) {
                s->oldest = sq;
            }
        } else if (sq_wants_room(sq->state)) {
            /* It is software's turn: nothing moves here. */
            continue;
        } else if (sq->state != SQ_IDLE) {
            s->busy++;
        } else if (qatomic_read(&sq->enabled) && !sq->paused &&
                   qatomic_read(&sq->head) != qatomic_read(&sq->tail)) {
            s->busy++;
        }
    }
}

static void scan_fabric(A350Card *c, StallScan *s)
{
    A350Card *peer;
    uint32_t i;

    memset(s, 0, sizeof(*s));
    for (i = 0; i < A350_CARDS_MAX; i++) {
        peer = a350_fabric_card(c->fabric, i);
        if (!peer || !peer->ts) {
            continue;
        }
        if (ts_look(peer->ts)) {
            scan_card(peer->ts, s);
            ts_look_end(peer->ts);
        } else {
            /* Looked at again when it has gone idle. */
            s->progress += qatomic_read(&peer->ts->progress);
            s->waiting++;
            s->busy++;
        }
    }
}

static void set_said(A350Card *c, bool said)
{
    A350Card *peer;
    uint32_t i;

    for (i = 0; i < A350_CARDS_MAX; i++) {
        peer = a350_fabric_card(c->fabric, i);
        if (peer && peer->ts && peer->ts->stall_said != said) {
            peer->ts->stall_said = said;
            peer->set_status(peer, said ? A350_STATUS_STALLED : 0,
                             said ? 0 : A350_STATUS_STALLED);
        }
    }
}

/* From the longest waiter along those who owe; true if it is a cycle. */
static bool chain_text(A350Sq *sq, GString *out)
{
    A350Sq *seen[CHAIN_MAX];
    unsigned n = 0, k;
    a350_wait_entry e;
    A350Card *next;

    while (sq && n < CHAIN_MAX && ts_wait_describe(sq, &e)) {
        if (n) {
            g_string_append(out, "; ");
        }
        a350_ts_wait_text(sq->ts->card, &e, out);
        seen[n++] = sq;
        if (e.owner_state != A350_OWNER_BLOCKED ||
            e.owner_sq == A350_ID_NONE) {
            return false;
        }
        next = a350_fabric_card(sq->ts->card->fabric, e.owner_card);
        sq = next && e.owner_sq < next->num_sq ? &next->ts->sq[e.owner_sq] :
             NULL;
        for (k = 0; k < n; k++) {
            if (seen[k] == sq) {
                return true;
            }
        }
    }
    return false;
}

static void stall_report(A350Card *c, StallScan *s)
{
    g_autoptr(GString) text = g_string_new(NULL);
    bool cycle;

    /* Still, so that what is read of all cards belongs together. */
    c->still(c, true);
    scan_fabric(c, s);
    if (!s->busy && s->oldest) {
        cycle = chain_text(s->oldest, text);
        trace_atlas350_stall(c->index, cycle, text->str);
        a350_log(c, "%s: %s", cycle ? "deadlock" : "all queues are blocked",
                 text->str);
        set_said(c, true);
        c->stalled(c, cycle, text->str);
    }
    c->still(c, false);
}

static void stall_timer(void *opaque)
{
    A350Ts *ts = opaque;
    A350Card *c = ts->card;
    StallScan s;

    if (qatomic_read(&ts->paused)) {
        qatomic_set(&ts->stall_armed, false);
        return;
    }
    scan_fabric(c, &s);
    if (s.progress != ts->stall_progress) {
        set_said(c, false);
        ts->stall_progress = s.progress;
        if (s.waiting) {
            timer_mod_ns(ts->stall_timer, a350_clock_ns() + STALL_NS);
            return;
        }
    } else if (s.waiting && s.busy) {
        timer_mod_ns(ts->stall_timer, a350_clock_ns() + STALL_NS);
        return;
    } else if (s.waiting && !ts->stall_said) {
        stall_report(c, &s);
    }
    qatomic_set(&ts->stall_armed, false);
}

/* The card's thread has nothing to do now. */
void ts_stall_idle(A350Ts *ts)
{
    if (!qatomic_read(&ts->stall_armed)) {
        qatomic_set(&ts->stall_armed, true);
        timer_mod_ns(ts->stall_timer, a350_clock_ns() + STALL_NS);
    }
}

void ts_stall_init(A350Ts *ts)
{
    ts->stall_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, stall_timer, ts);
}

void ts_stall_destroy(A350Ts *ts)
{
    timer_free(ts->stall_timer);
}

void ts_stall_reset(A350Ts *ts)
{
    timer_del(ts->stall_timer);
    qatomic_set(&ts->stall_armed, false);
    ts->stall_said = false;
}
