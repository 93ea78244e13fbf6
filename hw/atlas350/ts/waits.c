/*
 * Atlas 350 virtual card: who waits for whom.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "priv.h"

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
        if (arg->counting) {
            qatomic_set(&ts->cnt_notify[i], 0);
        } else {
            qatomic_set(&ts->notify[i], 0);
        }
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

void a350_ts_wait_list(A350Card *c, uint32_t first, a350_wait_list_rsp *rsp)
{
    rsp->next_sq = A350_ID_NONE;
}

void ts_stall_idle(A350Ts *ts) { }
void ts_stall_init(A350Ts *ts) { }
void ts_stall_destroy(A350Ts *ts) { }
