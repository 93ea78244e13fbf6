/*
 * Atlas 350 virtual card: who waits for whom.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Software tells what its queues and notifies are (SQ_LABEL, NOTIFY_LABEL);
 * labels change no behaviour. With them, and with a look at what is queued,
 * the card can say for a blocked queue who owes it the record and what that
 * one is doing. Of other cards it is a snapshot for people, right when nothing
 * moves.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "../fabric.h"
#include "priv.h"

#define SCAN_MAX    65536u      /* entries looked at for one queue's report */
#define SCAN_ALL    (4u << 20)  /* and for one of all queues */

/* ---- labels and reset ---- */

uint32_t a350_ts_notify_reset(A350Card *c, const a350_notify_reset *arg,
                              char *msg)
{
    uint32_t num = arg->counting ? c->num_cnt_notify : c->num_notify;
    A350Ts *ts = c->ts;
    uint32_t i;

    if (arg->count < 1 || arg->count > num || arg->first > num - arg->count) {
        snprintf(msg, A350_ADMIN_MSG_SIZE, "%snotifies %u + %u are not in "
                 "0..%u", arg->counting ? "counting " : "", arg->first,
                 arg->count, num - 1);
        return A350_ADM_E_RANGE;
    }
    for (i = arg->first; i < arg->first + arg->count; i++) {
        ts_notify_clear(ts, i, arg->counting);
    }
    return A350_ADM_OK;
}

uint32_t a350_ts_notify_label(A350Card *c, const a350_notify_label *arg,
                              char *msg)
{
    a350_notify_label *l;

    if (arg->notify_id >= c->num_notify) {
        snprintf(msg, A350_ADMIN_MSG_SIZE, "notify %u is not in 0..%u",
                 arg->notify_id, c->num_notify - 1);
        return A350_ADM_E_RANGE;
    }
    if (!arg->kind) {
        g_hash_table_remove(c->ts->labels, GUINT_TO_POINTER(arg->notify_id));
        return A350_ADM_OK;
    }
    l = g_memdup2(arg, sizeof(*arg));
    l->comm[sizeof(l->comm) - 1] = 0;
    g_hash_table_replace(c->ts->labels, GUINT_TO_POINTER(arg->notify_id), l);
    return A350_ADM_OK;
}

const a350_notify_label *ts_notify_label(A350Ts *ts, uint32_t id, bool cnt)
{
    return cnt ? NULL : g_hash_table_lookup(ts->labels, GUINT_TO_POINTER(id));
}

void ts_waits_reset(A350Ts *ts)
{
    g_hash_table_remove_all(ts->labels);
}

/* ---- one blocked queue ---- */

static bool has_entries(A350Sq *sq)
{
    return sq->exists && sq->state != SQ_IDLE ? true :
           sq->exists && sq->depth && ts_used(sq);
}

/* enum a350_wait_kind, 0 if the queue is not blocked. */
static uint32_t wait_kind(A350Sq *sq)
{
    if (!sq->exists) {
        return 0;
    }
    switch (sq->state) {
    case SQ_NOTIFY:
        return sq->wait_cnt ? A350_WAIT_CNT_NOTIFY : A350_WAIT_NOTIFY;
    case SQ_COPY:
        return A350_WAIT_COPY;
    case SQ_UB:
        return A350_WAIT_UB;
    case SQ_AICPU:
        return A350_WAIT_AICPU;
    case SQ_IDLE:
        break;
    default:
        return A350_WAIT_STOPPED;
    }
    if (!qatomic_read(&sq->enabled)) {
        return sq->err.kind || has_entries(sq) ? A350_WAIT_STOPPED : 0;
    }
    return sq->paused && has_entries(sq) ? A350_WAIT_PAUSED : 0;
}

static uint32_t owner_of_queue(A350Sq *sq)
{
    uint32_t kind = wait_kind(sq);

    if (!sq->exists) {
        return A350_OWNER_GONE;
    }
    if (kind == A350_WAIT_AICPU || kind == A350_WAIT_COPY ||
        kind == A350_WAIT_UB) {
        return A350_OWNER_RUNNING;
    }
    return kind ? A350_OWNER_BLOCKED :
           has_entries(sq) ? A350_OWNER_RUNNING : A350_OWNER_IDLE;
}

/* One number for a notify of the card: its address, or what is no address. */
static uint64_t notify_key(A350Ts *ts, uint32_t id, bool cnt)
{
    return cnt ? 1ull << 63 | id : a350_notify_addr(ts->card->dev_base, id);
}

/* The notify that entry @at of @sq records, as above; 0: none. */
static uint64_t record_key(A350Sq *sq, uint32_t at)
{
    const a350_sqe *ring = (const a350_sqe *)sq->ring;
    a350_sqe s;

    /* As many words as are looked at. */
    memcpy(s.w, ring[at].w, 6 * sizeof(s.w[0]));
    switch (a350_sqe_get_type(&s)) {
    case A350_SQE_NOTIFY_RECORD:
        return notify_key(sq->ts, s.w[2] & A350_NOTIFY_ID_MASK,
                          s.w[2] & A350_NOTIFY_CNT);
    case A350_SQE_WRITE_VALUE:
        return ts_addr(sq, s.w[4], s.w[5] & 0x1ffff, 49);
    default:
        return 0;
    }
}

/* A queue of this card that has the record among its entries. */
static A350Sq *find_recorder(A350Ts *ts, A350Sq *who)
{
    uint64_t key = notify_key(ts, who->wait_id, who->wait_cnt);
    uint32_t i, k, seen = 0;

    for (i = 0; i < ts->top; i++) {
        A350Sq *sq = &ts->sq[i];

        if (sq == who || !sq->exists || !sq->ring) {
            continue;
        }
        for (k = 0; k < ts_used(sq) && seen < SCAN_MAX; k++, seen++) {
            if (record_key(sq, (sq->head + k) % sq->depth) == key) {
                return sq;
            }
        }
    }
    return NULL;
}

/* A notify that is waited for, and who will record it. */
typedef struct Awaited {
    uint64_t key;
    A350Sq *by[2];               /* two, for one may be the waiter itself */
} Awaited;

/* All notifies that are waited for, by one look at all entries. */
static GHashTable *find_awaited(A350Ts *ts)
{
    GHashTable *all = g_hash_table_new_full(g_int64_hash, g_int64_equal,
                                            g_free, NULL);
    uint32_t i, k, seen = 0;
    uint64_t key;
    Awaited *a;

    for (i = 0; i < ts->top; i++) {
        if (ts->sq[i].exists && ts->sq[i].state == SQ_NOTIFY) {
            a = g_new0(Awaited, 1);
            a->key = notify_key(ts, ts->sq[i].wait_id, ts->sq[i].wait_cnt);
            g_hash_table_add(all, a);
        }
    }
    for (i = 0; i < ts->top; i++) {
        A350Sq *sq = &ts->sq[i];

        if (!sq->exists || !sq->ring || !g_hash_table_size(all)) {
            continue;
        }
        for (k = 0; k < ts_used(sq) && seen < SCAN_ALL; k++, seen++) {
            key = record_key(sq, (sq->head + k) % sq->depth);
            a = key ? g_hash_table_lookup(all, &key) : NULL;
            if (a && !a->by[0]) {
                a->by[0] = sq;
            } else if (a && a->by[0] != sq && !a->by[1]) {
                a->by[1] = sq;
            }
        }
    }
    return all;
}

static A350Sq *awaited_by(GHashTable *all, A350Sq *who)
{
    uint64_t key = notify_key(who->ts, who->wait_id, who->wait_cnt);
    Awaited *a = g_hash_table_lookup(all, &key);

    return !a ? NULL : a->by[0] != who ? a->by[0] : a->by[1];
}

/* The queues of @rank on @ts: a blocked one is more telling than others. */
static void rank_state(A350Ts *ts, uint32_t rank, const A350Sq *but,
                       a350_wait_entry *e)
{
    uint32_t i, state;

    for (i = 0; i < ts->top; i++) {
        A350Sq *sq = &ts->sq[i];

        if (sq == but || !sq->exists || sq->label.rank != rank) {
            continue;
        }
        state = owner_of_queue(sq);
        if (e->owner_state == A350_OWNER_UNKNOWN ||
            e->owner_state == A350_OWNER_IDLE ||
            state == A350_OWNER_RUNNING) {
            e->owner_state = state;
            e->owner_sq = state == A350_OWNER_IDLE ? A350_ID_NONE : i;
        }
    }
}

static void owner_by_label(A350Sq *sq, const a350_notify_label *l,
                           a350_wait_entry *e)
{
    A350Card *c = sq->ts->card, *peer;
    uint32_t index;

    e->peer_rank = l->peer_rank;
    e->notify_index = l->index;
    if (l->kind != 2) {
        rank_state(sq->ts, l->peer_rank != A350_ID_NONE ? l->peer_rank :
                   l->rank, sq, e);
        e->owner_card = c->index;
        return;
    }
    index = a350_eid_card(l->peer_eid);
    e->owner_card = index;
    peer = a350_fabric_get(c->fabric, index);
    if (!peer) {
        e->owner_state = A350_OWNER_GONE;
        return;
    }
    if (peer == c) {
        rank_state(c->ts, l->peer_rank, NULL, e);
    } else if (ts_look(peer->ts)) {
        rank_state(peer->ts, l->peer_rank, NULL, e);
        ts_look_end(peer->ts);
    } else {
        e->owner_state = A350_OWNER_RUNNING;
    }
    if (e->owner_state == A350_OWNER_UNKNOWN) {
        /* No queue of that rank is left over there. */
        e->owner_state = A350_OWNER_GONE;
    }
    a350_fabric_put(c->fabric, index);
}

/* Of the entry at the head, which a queue that stands has not looked at. */
static uint32_t head_task(A350Sq *sq)
{
    bool known = sq->state != SQ_IDLE ||
                 (sq->err.kind && sq->err_index == sq->head);
    a350_sqe s;

    return known ? a350_sqe_get_task(&sq->sqe) :
           ts_fetch_slot(sq, sq->head, &s) ? a350_sqe_get_task(&s) : 0;
}

/* @all: from find_awaited, NULL where it is about one queue. */
static bool describe(A350Sq *sq, GHashTable *all, a350_wait_entry *e)
{
    uint32_t kind = wait_kind(sq);
    const a350_notify_label *l;
    A350Sq *by;

    if (!kind) {
        return false;
    }
    *e = (a350_wait_entry) {
        .sq_id = sq->id,
        .kind = kind,
        .sqe_index = sq->head,
        .task = head_task(sq),
        .notify_id = A350_ID_NONE,
        .owner_card = A350_ID_NONE,
        .owner_sq = A350_ID_NONE,
        .since_ns = sq->since,
        .limit_ns = sq->deadline == TS_NO_DEADLINE ? 0 :
                    sq->deadline - sq->since,
        .rank = sq->label.rank,
        .thread = sq->label.thread,
        .peer_rank = A350_ID_NONE,
        .notify_index = A350_ID_NONE,
    };
    if (sq->state != SQ_NOTIFY) {
        return true;
    }
    e->notify_id = sq->wait_id;
    l = ts_notify_label(sq->ts, sq->wait_id, sq->wait_cnt);
    by = all ? awaited_by(all, sq) : find_recorder(sq->ts, sq);
    if (by) {
        e->owner_card = sq->ts->card->index;
        e->owner_sq = by->id;
        e->owner_state = owner_of_queue(by);
        e->peer_rank = by->label.rank;
        e->notify_index = l ? l->index : A350_ID_NONE;
    } else if (l) {
        owner_by_label(sq, l, e);
    }
    return true;
}

bool ts_wait_describe(A350Sq *sq, a350_wait_entry *e)
{
    return describe(sq, NULL, e);
}

void a350_ts_wait_list(A350Card *c, uint32_t first, a350_wait_list_rsp *rsp)
{
    A350Ts *ts = c->ts;
    uint32_t i;

    rsp->count = 0;
    rsp->next_sq = A350_ID_NONE;
    for (i = first; i < ts->top; i++) {
        if (rsp->count == ARRAY_SIZE(rsp->entry)) {
            rsp->next_sq = i;
            return;
        }
        rsp->count += ts_wait_describe(&ts->sq[i], &rsp->entry[rsp->count]);
    }
}

/* ---- in words ---- */

static void text_who(GString *out, const a350_wait_entry *e, uint32_t card)
{
    if (e->rank != A350_ID_NONE) {
        g_string_append_printf(out, "rank %u, thread %u", e->rank, e->thread);
    } else {
        g_string_append_printf(out, "card %u, queue %u", card, e->sq_id);
    }
}

static void text_notify(GString *out, A350Ts *ts, const a350_wait_entry *e)
{
    bool cnt = e->kind == A350_WAIT_CNT_NOTIFY;
    const a350_notify_label *l = ts_notify_label(ts, e->notify_id, cnt);
    bool hcomm = l && l->kind == 2;

    if (l && l->kind == 2) {
        g_string_append_printf(out, "notify %u of its channel to rank %u",
                               l->index, l->peer_rank);
    } else if (l) {
        g_string_append_printf(out, "its notify %u", l->index);
    } else {
        g_string_append_printf(out, "%snotify %u", cnt ? "counting " : "",
                               e->notify_id);
    }
    if (e->limit_ns) {
        g_string_append_printf(out, " (limit %.0f s%s)", e->limit_ns / 1e9,
                               hcomm ? ", HcommSetNotifyWaitTimeOut" : "");
    }
}

/* What holds the owner, if that is not a wait; the cards stand still. */
static const char *text_held(A350Card *c, const a350_wait_entry *e)
{
    A350Card *peer = e->owner_card == A350_ID_NONE ? NULL :
                     a350_fabric_card(c->fabric, e->owner_card);
    A350Sq *sq;

    if (!peer || !peer->ts || e->owner_sq >= peer->num_sq) {
        return NULL;
    }
    sq = &peer->ts->sq[e->owner_sq];
    if (sq_wants_room(sq->state)) {
        return NULL;
    }
    switch (wait_kind(sq)) {
    case A350_WAIT_STOPPED:
        return sq->err.kind ? "was stopped by an error" : "is stopped";
    case A350_WAIT_PAUSED:
        return "is paused";
    default:
        return NULL;
    }
}

static void text_owner(GString *out, A350Card *c, const a350_wait_entry *e)
{
    static const char *const state[] = {
        [A350_OWNER_UNKNOWN] = "nobody on the cards is known to record it",
        [A350_OWNER_IDLE] = "is idle and has nothing queued that records it",
        [A350_OWNER_BLOCKED] = "waits itself",
        [A350_OWNER_GONE] = "is gone",
        [A350_OWNER_RUNNING] = "is running",
    };
    const char *does = state[e->owner_state];

    if (e->owner_state == A350_OWNER_BLOCKED) {
        does = text_held(c, e) ?: does;
    }
    if (e->owner_state == A350_OWNER_UNKNOWN) {
        g_string_append(out, does);
    } else if (e->peer_rank != A350_ID_NONE) {
        g_string_append_printf(out, "rank %u %s", e->peer_rank, does);
    } else if (e->owner_sq != A350_ID_NONE) {
        g_string_append_printf(out, "card %u, queue %u %s", e->owner_card,
                               e->owner_sq, does);
    } else {
        g_string_append_printf(out, "its owner on card %u %s", e->owner_card,
                               does);
    }
}

void a350_ts_wait_text(A350Card *c, const a350_wait_entry *e, GString *out)
{
    static const char *const other[] = {
        [A350_WAIT_AICPU] = "runs a kernel",
        [A350_WAIT_COPY] = "copies",
        [A350_WAIT_UB] = "waits for its jetty",
        [A350_WAIT_STOPPED] = "is stopped",
        [A350_WAIT_PAUSED] = "is paused",
    };
    double s = (a350_clock_ns() - (int64_t)e->since_ns) / 1e9;

    text_who(out, e, c->index);
    if (sq_wants_room(c->ts->sq[e->sq_id].state)) {
        g_string_append(out, ": waits for room in its completion queue");
        return;
    }
    if (e->kind == A350_WAIT_STOPPED && c->ts->sq[e->sq_id].err.kind) {
        g_string_append_printf(out, ": was stopped by an error of its task "
                               "%u", c->ts->sq[e->sq_id].err_task);
        return;
    }
    if (e->kind != A350_WAIT_NOTIFY && e->kind != A350_WAIT_CNT_NOTIFY) {
        g_string_append_printf(out, ": %s", other[e->kind]);
        return;
    }
    g_string_append_printf(out, ": waits %.1f s for ", s);
    text_notify(out, c->ts, e);
    g_string_append(out, "; ");
    text_owner(out, c, e);
}

uint32_t a350_ts_waits(A350Card *c, a350_wait_entry **out)
{
    A350Ts *ts = c->ts;
    g_autoptr(GHashTable) all = find_awaited(ts);
    uint32_t i, n = 0;

    *out = g_new(a350_wait_entry, ts->top);
    for (i = 0; i < ts->top; i++) {
        n += describe(&ts->sq[i], all, &(*out)[n]);
    }
    return n;
}

void a350_ts_counts(A350Card *c, A350TsCounts *out)
{
    A350Ts *ts = c->ts;
    uint32_t i, kind;

    *out = (A350TsCounts) {
        .tasks = qatomic_read(&ts->progress),
        .irq_sent = ts->irq_sent,
        .irq_merged = ts->irq_merged,
    };
    for (i = 0; i < ts->top; i++) {
        kind = wait_kind(&ts->sq[i]);
        out->queues += ts->sq[i].exists;
        out->stopped += kind == A350_WAIT_STOPPED;
        out->blocked += kind == A350_WAIT_NOTIFY ||
                        kind == A350_WAIT_CNT_NOTIFY;
    }
}
