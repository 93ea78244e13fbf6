/*
 * Atlas 350 virtual card: monitor commands.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * All of them come with the big lock. What belongs to the card's threads is
 * read while the cards stand still.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-atlas350.h"
#include "qapi/qapi-events-atlas350.h"
#include "monitor/hmp.h"
#include "monitor/monitor.h"
#include "shell.h"
#include "ts/ts.h"

static void all_still(bool on)
{
    Atlas350State *s;

    QTAILQ_FOREACH(s, &a350_cards, next) {
        if (on) {
            a350_shell_quiesce(s);
        } else {
            a350_shell_unquiesce(s);
        }
    }
}

static Atlas350Info *card_info(Atlas350State *s)
{
    A350Card *c = &s->card;
    Atlas350Info *i = g_new0(Atlas350Info, 1);
    g_autoptr(GString) eid = g_string_new(NULL);
    char version[64] = "";
    a350_first_error e;
    A350TsCounts n;
    unsigned k;

    a350_ts_counts(c, &n);
    a350_ts_first_error(c, &e);
    a350_aicpu_fw_version(c, version);
    for (k = 0; k < A350_EID_LEN; k++) {
        g_string_append_printf(eid, "%02x", c->eid[k]);
    }
    i->id = object_get_canonical_path(OBJECT(s));
    i->card = c->index;
    i->eid = g_strdup(eid->str);
    i->hbm_size = c->hbm_size;
    i->status = qatomic_read(&s->status);
    i->firmware_status = a350_aicpu_fw_status(c);
    i->firmware = g_strndup(version, sizeof(version));
    i->queues = n.queues;
    i->blocked = n.blocked;
    i->stopped = n.stopped;
    i->tasks = n.tasks;
    i->interrupts = n.irq_sent;
    i->merged = n.irq_merged;
    if (e.kind != A350_EK_NONE) {
        i->first_error = g_strdup_printf("queue %u, entry %u, task %u: %s",
                                         e.sq_id, e.sqe_index, e.task,
                                         e.message);
    }
    return i;
}

Atlas350InfoList *qmp_query_atlas350(Error **errp)
{
    Atlas350InfoList *head = NULL, **tail = &head;
    Atlas350State *s;

    all_still(true);
    QTAILQ_FOREACH(s, &a350_cards, next) {
        QAPI_LIST_APPEND(tail, card_info(s));
    }
    all_still(false);
    return head;
}

static Atlas350Wait *wait_info(A350Card *c, const a350_wait_entry *e)
{
    static const Atlas350WaitKind kind[] = {
        [A350_WAIT_NOTIFY] = ATLAS350_WAIT_KIND_NOTIFY,
        [A350_WAIT_CNT_NOTIFY] = ATLAS350_WAIT_KIND_COUNTING_NOTIFY,
        [A350_WAIT_AICPU] = ATLAS350_WAIT_KIND_AICPU,
        [A350_WAIT_COPY] = ATLAS350_WAIT_KIND_COPY,
        [A350_WAIT_UB] = ATLAS350_WAIT_KIND_UB,
        [A350_WAIT_STOPPED] = ATLAS350_WAIT_KIND_STOPPED,
        [A350_WAIT_PAUSED] = ATLAS350_WAIT_KIND_PAUSED,
    };
    static const Atlas350OwnerState owner[] = {
        [A350_OWNER_UNKNOWN] = ATLAS350_OWNER_STATE_UNKNOWN,
        [A350_OWNER_IDLE] = ATLAS350_OWNER_STATE_IDLE,
        [A350_OWNER_BLOCKED] = ATLAS350_OWNER_STATE_BLOCKED,
        [A350_OWNER_GONE] = ATLAS350_OWNER_STATE_GONE,
        [A350_OWNER_RUNNING] = ATLAS350_OWNER_STATE_RUNNING,
    };
    g_autoptr(GString) text = g_string_new(NULL);
    Atlas350Wait *w = g_new0(Atlas350Wait, 1);

    a350_ts_wait_text(c, e, text);
    w->card = c->index;
    w->queue = e->sq_id;
    w->entry = e->sqe_index;
    w->task = e->task;
    w->kind = kind[e->kind];
    w->has_notify = e->notify_id != A350_ID_NONE;
    w->notify = e->notify_id;
    w->waited_ns = a350_clock_ns() - (int64_t)e->since_ns;
    w->has_limit_ns = e->limit_ns;
    w->limit_ns = e->limit_ns;
    w->has_rank = w->has_thread = e->rank != A350_ID_NONE;
    w->rank = e->rank;
    w->thread = e->thread;
    w->has_peer_rank = e->peer_rank != A350_ID_NONE;
    w->peer_rank = e->peer_rank;
    w->owner_state = owner[e->owner_state];
    w->has_owner_card = e->owner_card != A350_ID_NONE;
    w->owner_card = e->owner_card;
    w->has_owner_queue = e->owner_sq != A350_ID_NONE;
    w->owner_queue = e->owner_sq;
    w->text = g_strdup(text->str);
    return w;
}

Atlas350WaitList *qmp_query_atlas350_waits(Error **errp)
{
    Atlas350WaitList *head = NULL, **tail = &head;
    a350_wait_entry *e;
    Atlas350State *s;
    uint32_t i, n;

    all_still(true);
    QTAILQ_FOREACH(s, &a350_cards, next) {
        n = a350_ts_waits(&s->card, &e);
        for (i = 0; i < n; i++) {
            QAPI_LIST_APPEND(tail, wait_info(&s->card, &e[i]));
        }
        g_free(e);
    }
    all_still(false);
    return head;
}

void qmp_atlas350_inject_link_error(const char *card, bool has_jetty,
                                    uint32_t jetty, Atlas350LinkError error,
                                    bool has_count, uint32_t count,
                                    Error **errp)
{
    Object *obj = object_resolve_path_type(card, TYPE_ATLAS350, NULL);

    if (!obj) {
        error_setg(errp, "'%s' is not an Atlas 350 card", card);
        return;
    }
    if (!a350_ub_inject(&ATLAS350(obj)->card, has_jetty ? jetty : A350_ID_ANY,
                        error == ATLAS350_LINK_ERROR_RETRY ?
                        A350_UB_ERR_RETRY : A350_UB_ERR_ACK_TIMEOUT,
                        has_count ? count : 1)) {
        error_setg(errp, "card '%s' has no jetty %u", card, jetty);
    }
}

void a350_qmp_stalled(A350Card *c, bool cycle, const char *text)
{
    qapi_event_send_atlas350_stall(c->index, cycle, text);
}

void hmp_info_atlas350(Monitor *mon, const QDict *qdict)
{
    g_autoptr(Atlas350InfoList) cards = qmp_query_atlas350(NULL);
    g_autoptr(Atlas350WaitList) waits = qmp_query_atlas350_waits(NULL);
    Atlas350InfoList *c;
    Atlas350WaitList *w;

    for (c = cards; c; c = c->next) {
        Atlas350Info *i = c->value;

        monitor_printf(mon, "card %u (%s): HBM %" PRIu64 " MiB, status 0x%x, "
                       "firmware 0x%x %s\n  %u queues, %u blocked, %u "
                       "stopped; %" PRIu64 " entries ended\n", i->card, i->id,
                       i->hbm_size >> 20, i->status, i->firmware_status,
                       i->firmware, i->queues, i->blocked, i->stopped,
                       i->tasks);
        if (i->first_error) {
            monitor_printf(mon, "  first error: %s\n", i->first_error);
        }
        for (w = waits; w; w = w->next) {
            if (w->value->card == i->card) {
                monitor_printf(mon, "  %s\n", w->value->text);
            }
        }
    }
}
