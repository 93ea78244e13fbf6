/*
 * Atlas 350 virtual card: errors of entries, and the first of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The first error of the card is kept (FIRST_ERROR) until it is cleared; what
 * follows is most often its consequence and only counted.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/host-utils.h"
#include "priv.h"
#include "../trace.h"

const char *ts_sq_name(const A350Sq *sq, char buf[96])
{
    if (sq->label.rank != A350_ID_NONE) {
        snprintf(buf, 96, "queue %u (rank %u, thread %u)", sq->id,
                 sq->label.rank, sq->label.thread);
    } else {
        snprintf(buf, 96, "queue %u", sq->id);
    }
    return buf;
}

void ts_error_begin(A350Sq *sq)
{
    sq->err = (TaskError) {
        .peer_card = A350_ID_NONE,
        .jetty = A350_ID_NONE,
        .notify = A350_ID_NONE,
    };
}

/* A guest that makes errors in a loop does not fill the host's log. */
static bool error_worth_a_line(uint32_t followers)
{
    return followers < 64 || is_power_of_2(followers);
}

/* The card that is meant: an address says it, too. */
static uint32_t error_peer(const A350Sq *sq)
{
    const TaskError *e = &sq->err;
    uint32_t card;

    if (e->peer_card != A350_ID_NONE || e->kind != A350_EK_ADDRESS ||
        a350_addr_is_host(e->address)) {
        return e->peer_card;
    }
    card = a350_addr_card(e->address);
    return card < A350_CARDS_MAX && card != sq->ts->card->index ? card :
           A350_ID_NONE;
}

static void error_latch(A350Sq *sq, const char *text)
{
    A350Ts *ts = sq->ts;
    TaskError *e = &sq->err;
    a350_first_error *f = &ts->first;

    if (f->kind != A350_EK_NONE) {
        f->followers++;
        return;
    }
    *f = (a350_first_error) {
        .kind = e->kind,
        .sq_id = sq->id,
        .sqe_index = sq->head,
        .sqe_type = a350_sqe_get_type(&sq->sqe),
        .task = a350_sqe_get_task(&sq->sqe),
        .error_bits = e->bits,
        .status = e->status,
        /* of the first doorbell that failed, as the status is */
        .sub_status = e->ub[0] ? e->ub[1] : e->ub[3],
        .address = e->address,
        .length = e->length,
        .time_ns = a350_clock_ns(),
        .peer_card = error_peer(sq),
        .jetty_id = e->jetty,
        .notify_id = e->notify,
    };
    pstrcpy(f->message, sizeof(f->message), text);
    ts->card->set_status(ts->card, A350_STATUS_FIRST_ERROR, 0);
}

TsResult ts_error(A350Sq *sq, uint32_t kind, uint32_t bits, uint32_t status,
                  const char *fmt, ...)
{
    bool follower = sq->ts->first.kind != A350_EK_NONE;
    char name[96], text[TS_TEXT];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    sq->err.kind = kind;
    sq->err.bits = bits;
    sq->err.status = status;
    sq->err.sqe_type = a350_sqe_get_type(&sq->sqe);
    sq->since = a350_clock_ns();
    ts_sq_name(sq, name);
    trace_atlas350_error(sq->ts->card->index, name, sq->head, kind, bits,
                         status, text);
    if (error_worth_a_line(sq->ts->first.followers)) {
        a350_log(sq->ts->card, "%s, entry %u, task %u: %s%s", name, sq->head,
                 a350_sqe_get_task(&sq->sqe), text,
                 follower ? " (after an earlier error of this card)" : "");
    }
    error_latch(sq, text);
    return TS_ERROR;
}

void a350_ts_first_error(A350Card *c, a350_first_error *rsp)
{
    *rsp = c->ts->first;
}

void a350_ts_clear_error(A350Card *c)
{
    ts_error_reset(c->ts);
    c->set_status(c, 0, A350_STATUS_FIRST_ERROR);
}

void ts_error_reset(A350Ts *ts)
{
    ts->first = (a350_first_error) {
        .kind = A350_EK_NONE,
        .sq_id = A350_ID_NONE,
        .peer_card = A350_ID_NONE,
        .jetty_id = A350_ID_NONE,
        .notify_id = A350_ID_NONE,
    };
}
