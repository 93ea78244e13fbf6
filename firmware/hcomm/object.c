/*
 * Device side of Hcomm: handles, messages, locks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "hc.h"
#include "platform.h"

static _Thread_local hc_tls self = {
    .notify_timeout = HC_NOTIFY_TIMEOUT,
    .queue_timeout = HC_QUEUE_TIMEOUT,
};

hc_tls *hc_self(void)
{
    static uint32_t next;

    if (self.token == 0) {
        do {
            self.token = __atomic_add_fetch(&next, 1, __ATOMIC_RELAXED);
        } while (self.token == 0);
    }
    return &self;
}

void hc_log(enum hc_level level, const char *fmt, ...)
{
    char line[400];
    va_list ap;
    int n, m;

    n = snprintf(line, sizeof(line), "hcomm: %s",
                 level == HC_WARN ? "warning: " : "");
    va_start(ap, fmt);
    m = vsnprintf(line + n, sizeof(line) - n, fmt, ap);
    va_end(ap);
    if (level == HC_ERROR && m > 0) {
        snprintf(hc_self()->error, HC_ERROR_LEN, "%s", line + n);
    }
    n += m < 0 ? 0 : m;
    if (n > (int)sizeof(line) - 2) {
        n = sizeof(line) - 2;
    }
    line[n] = '\n';
    hc_plat_log(line, (uint32_t)n + 1);
}

/* Why @h can not be an object of @size bytes; NULL: it can. */
static const char *bad_address(uint64_t h, uint64_t size)
{
    if (h == 0) {
        return "is null";
    }
    if (h % 8 != 0 || !hc_in_card(h, size)) {
        return "is not an object of this card (a handle of the host side?)";
    }
    return NULL;
}

static const char *bad_object(uint32_t magic, uint32_t version, uint32_t want)
{
    if (magic != want) {
        return magic == A350_THREAD_MAGIC ? "is a thread" :
               magic == A350_CHANNEL_MAGIC ? "is a channel" :
               "is not a live object (freed, or never one)";
    }
    return version == A350_HCOMM_ABI_VERSION ? NULL :
           "has another version than this library";
}

a350_thread_obj *hc_thread(ThreadHandle h, const char *call, const char *what)
{
    a350_thread_obj *t = (a350_thread_obj *)(uintptr_t)h;
    const char *why = bad_address(h, sizeof(*t));

    if (!why) {
        why = bad_object(t->magic, t->version, A350_THREAD_MAGIC);
    }
    if (!why && t->notify_num != 0 &&
        (t->notify_num > A350_THREAD_NOTIFY_MAX || t->notify_ids % 4 != 0 ||
         !hc_in_card(t->notify_ids, (uint64_t)t->notify_num * 4))) {
        why = "has a notify table that is not in this card's memory";
    }
    if (why) {
        hc_log(HC_ERROR, "%s: %s 0x%" PRIx64 " %s", call, what, h, why);
        return NULL;
    }
    return t;
}

/* A thread that kernels may fill: it has a queue of this card. */
a350_thread_obj *hc_queue(ThreadHandle h, const char *call)
{
    a350_thread_obj *t = hc_thread(h, call, "thread");
    const char *why = NULL;

    if (!t) {
        return NULL;
    }
    if (t->kind != A350_THREAD_QUEUE) {
        why = "is an exported host thread: kernels may only record its "
              "notifies";
    } else if (t->sq_depth < A350_SQ_DEPTH_MIN ||
               t->sq_depth > A350_SQ_DEPTH_MAX || t->sq_base % 64 != 0 ||
               !hc_in_card(t->sq_base, (uint64_t)t->sq_depth * A350_SQE_SIZE) ||
               t->sq_tail >= t->sq_depth || t->sq_page == 0) {
        why = "has no queue in this card's memory";
    }
    if (why) {
        hc_log(HC_ERROR, "%s: thread 0x%" PRIx64 " %s", call, h, why);
        return NULL;
    }
    if (t->comm) {
        hc_comm_seen(t->comm);
    }
    return t;
}

/* An empty table needs no memory. */
static bool table_ok(uint64_t addr, uint32_t num)
{
    return num == 0 ||
           (addr % 8 == 0 &&
            hc_in_card(addr, (uint64_t)num * sizeof(a350_mem_token)));
}

static bool channel_tables_ok(const a350_channel_obj *c)
{
    uint32_t depth = c->jetty_depth;

    if (!table_ok(c->remote_mems, c->remote_mem_num) ||
        !table_ok(c->local_mems, c->local_mem_num) ||
        c->notify_num > A350_CHANNEL_NOTIFY_MAX) {
        return false;
    }
    if (c->proto == A350_PROTO_PCIE) {
        return true;
    }
    return c->proto == A350_PROTO_UB && depth >= A350_JETTY_DEPTH_MIN &&
           depth <= A350_JETTY_DEPTH_MAX && (depth & (depth - 1)) == 0 &&
           c->wq_base % A350_WQEBB_SIZE == 0 &&
           hc_in_card(c->wq_base, (uint64_t)depth * A350_WQEBB_SIZE) &&
           c->ci_addr % 4 == 0 && hc_in_card(c->ci_addr, 4) &&
           c->max_msg != 0;
}

a350_channel_obj *hc_channel(ChannelHandle h, const char *call)
{
    a350_channel_obj *c = (a350_channel_obj *)(uintptr_t)h;
    const char *why = bad_address(h, sizeof(*c));

    if (!why) {
        why = bad_object(c->magic, c->version, A350_CHANNEL_MAGIC);
    }
    if (!why && !channel_tables_ok(c)) {
        why = "has a ring or a table that is not in this card's memory";
    }
    if (why) {
        hc_log(HC_ERROR, "%s: channel 0x%" PRIx64 " %s", call, h, why);
        return NULL;
    }
    return c;
}

const char *hc_thread_name(const a350_thread_obj *t, char buf[HC_NAME_LEN])
{
    if (t->rank == A350_ID_NONE) {
        snprintf(buf, HC_NAME_LEN, "thread %u (queue %u)", t->index, t->sq_id);
    } else {
        snprintf(buf, HC_NAME_LEN, "rank %u, thread %u", t->rank, t->index);
    }
    return buf;
}

const char *hc_channel_name(const a350_channel_obj *c, char buf[HC_NAME_LEN])
{
    snprintf(buf, HC_NAME_LEN, "rank %u, channel to rank %u (jetty %u)",
             c->rank, c->peer_rank, c->jetty_id);
    return buf;
}

/*
 * Spin locks in HBM, taken by the cores of one card. Held for the time it
 * takes to write a few ring entries, never across a wait.
 */
void hc_lock(uint32_t *word)
{
    hc_tls *me = hc_self();
    uint32_t polls = 0, free;

    for (;;) {
        free = 0;
        if (__atomic_compare_exchange_n(word, &free, me->token, false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            break;
        }
        if (++polls > HC_SPIN_FAST) {
            hc_plat_sleep(HC_SLEEP_NS);
        }
    }
    if (me->held_num < 2) {
        me->held[me->held_num++] = word;
    }
}

void hc_unlock(uint32_t *word)
{
    hc_tls *me = hc_self();

    if (me->held_num > 0) {
        me->held_num--;
    }
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
}

void hc_wait_start(hc_wait *w, uint32_t seconds)
{
    w->polls = 0;
    w->limit_ns = (uint64_t)seconds * 1000000000u;
    w->start_ns = 0;
}

bool hc_wait_step(hc_wait *w)
{
    uint64_t now;

    if (++w->polls <= HC_SPIN_FAST) {
        return true;
    }
    now = hc_plat_now();
    if (w->start_ns == 0) {
        w->start_ns = now ? now : 1;
    }
    if (w->limit_ns && now - w->start_ns >= w->limit_ns) {
        return false;
    }
    hc_plat_sleep(HC_SLEEP_NS);
    return true;
}
