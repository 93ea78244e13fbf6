/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notifies, jetties, segments.
 */
#include "card_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

/* ---- notifies ---- */

static bool bit_get(const uint64_t *map, uint32_t i)
{
    return map[i / 64] >> (i % 64) & 1;
}

static void bit_set(uint64_t *map, uint32_t i, bool v)
{
    if (v) {
        map[i / 64] |= 1ull << (i % 64);
    } else {
        map[i / 64] &= ~(1ull << (i % 64));
    }
}

static uint32_t notify_limit(const a350_card *c)
{
    return c->id.num_notify < A350_NOTIFY_MAX ? c->id.num_notify
                                              : A350_NOTIFY_MAX;
}

/* First of @n consecutive free ids in [from, to), or UINT32_MAX. */
static uint32_t run_find(const a350_card *c, uint32_t from, uint32_t to,
                         uint32_t n)
{
    uint32_t i, run = 0;

    for (i = from; i < to; i++) {
        if (i % 64 == 0 && c->notify_used[i / 64] == UINT64_MAX) {
            run = 0;
            i += 63;
            continue;
        }
        run = bit_get(c->notify_used, i) ? 0 : run + 1;
        if (run == n) {
            return i + 1 - n;
        }
    }
    return UINT32_MAX;
}

int a350_notify_alloc_n(a350_card *c, uint32_t n, uint32_t *first)
{
    uint32_t max = notify_limit(c), i, at = UINT32_MAX, live;

    pthread_mutex_lock(&c->ids_lock);
    if (n && n <= max) {
        at = run_find(c, c->notify_hint, max, n);
        if (at == UINT32_MAX) {
            at = run_find(c, 0, max, n);
        }
    }
    if (at != UINT32_MAX) {
        for (i = at; i < at + n; i++) {
            bit_set(c->notify_used, i, true);
        }
        c->notify_live += n;
        c->notify_hint = at + n < max ? at + n : 0;
    }
    live = c->notify_live;
    pthread_mutex_unlock(&c->ids_lock);
    if (at == UINT32_MAX) {
        return a350_fail(-ENOSPC, "card %u has no %u free notifies in a row "
                         "(%u of %u are in use)", c->number, n, live, max);
    }
    for (i = at; i < at + n; i++) {
        a350_notify_write(c, i, 0);
    }
    *first = at;
    return 0;
}

int a350_notify_alloc(a350_card *c, uint32_t *id)
{
    return a350_notify_alloc_n(c, 1, id);
}

void a350_notify_free(a350_card *c, uint32_t id)
{
    a350_notify_label none = { .notify_id = id, .rank = A350_ID_NONE,
                               .peer_rank = A350_ID_NONE,
                               .owner_sq = A350_ID_NONE };
    bool named = false;

    if (id >= A350_NOTIFY_MAX) {
        return;
    }
    pthread_mutex_lock(&c->ids_lock);
    if (bit_get(c->notify_used, id)) {
        named = bit_get(c->notify_named, id);
        bit_set(c->notify_named, id, false);
    }
    pthread_mutex_unlock(&c->ids_lock);
    if (named) {
        /* Before the id can be given to somebody else. */
        a350_admin(c, A350_ADM_NOTIFY_LABEL, &none, sizeof(none), NULL, 0,
                   NULL);
    }
    pthread_mutex_lock(&c->ids_lock);
    if (bit_get(c->notify_used, id)) {
        bit_set(c->notify_used, id, false);
        c->notify_live--;
    }
    pthread_mutex_unlock(&c->ids_lock);
}

int a350_notify_clear(a350_card *c, uint32_t first, uint32_t n)
{
    uint32_t i, max = notify_limit(c);

    if (first >= max || n > max - first) {
        return a350_fail(-EINVAL, "notifies %u..%u: legal 0..%u", first,
                         first + n - 1, max - 1);
    }
    for (i = 0; i < n; i++) {
        a350_notify_write(c, first + i, 0);
    }
    return 0;
}

int a350_notify_set_label(a350_card *c, const a350_notify_label *label)
{
    int rc = a350_admin(c, A350_ADM_NOTIFY_LABEL, label, sizeof(*label), NULL,
                        0, NULL);

    if (rc == 0 && label->notify_id < A350_NOTIFY_MAX) {
        pthread_mutex_lock(&c->ids_lock);
        bit_set(c->notify_named, label->notify_id, true);
        pthread_mutex_unlock(&c->ids_lock);
    }
    return rc;
}

uint64_t a350_notify_device_addr(a350_card *c, uint32_t id)
{
    return c->dev_base + A350_DEV_REG_OFFSET + c->win.notify +
           a350_notify_offset(id);
}

void a350_notify_write(a350_card *c, uint32_t id, uint32_t v)
{
    a350_card_write32(c, c->win.notify + a350_notify_offset(id), v);
}

uint32_t a350_notify_read(a350_card *c, uint32_t id)
{
    return a350_card_read32(c, c->win.notify + a350_notify_offset(id));
}

/* ---- counting notifies ---- */

int a350_cnt_notify_alloc(a350_card *c, uint32_t *id)
{
    uint32_t i, max = c->id.num_cnt_notify;

    if (max > A350_CNT_NOTIFY_MAX) {
        max = A350_CNT_NOTIFY_MAX;
    }
    pthread_mutex_lock(&c->ids_lock);
    for (i = 0; i < max && bit_get(c->cnt_used, i); i++) {
    }
    if (i < max) {
        bit_set(c->cnt_used, i, true);
        c->cnt_live++;
    }
    pthread_mutex_unlock(&c->ids_lock);
    if (i >= max) {
        return a350_fail(-ENOSPC, "card %u has no free counting notify (all "
                         "%u are in use)", c->number, max);
    }
    *id = i;
    return a350_cnt_notify_reset(c, i);
}

void a350_cnt_notify_free(a350_card *c, uint32_t id)
{
    if (id >= A350_CNT_NOTIFY_MAX) {
        return;
    }
    pthread_mutex_lock(&c->ids_lock);
    if (bit_get(c->cnt_used, id)) {
        bit_set(c->cnt_used, id, false);
        c->cnt_live--;
    }
    pthread_mutex_unlock(&c->ids_lock);
}

int a350_cnt_notify_reset(a350_card *c, uint32_t id)
{
    if (id >= A350_CNT_NOTIFY_MAX) {
        return a350_fail(-EINVAL, "counting notify %u: legal 0..%u", id,
                         A350_CNT_NOTIFY_MAX - 1);
    }
    a350_card_write32(c, c->win.cnt_notify + a350_cnt_notify_offset(id) +
                      A350_CNT_NOTIFY_STORE, 0);
    return 0;
}

/* ---- UB ---- */

int a350_jetty_new(a350_card *c, uint32_t depth, uint32_t flags,
                   uint32_t err_timeout, uint32_t rank, uint32_t peer_rank,
                   a350_jetty *jetty)
{
    a350_jetty_create q = {
        .jetty_id = A350_ID_ANY, .depth = depth, .flags = flags,
        .err_timeout = err_timeout, .rank = rank, .peer_rank = peer_rank,
    };
    uint64_t wq, ci;
    int rc;

    if (depth < A350_JETTY_DEPTH_MIN || depth > A350_JETTY_DEPTH_MAX ||
        (depth & (depth - 1))) {
        return a350_fail(-EINVAL, "jetty depth %u: a power of two of %u..%u",
                         depth, A350_JETTY_DEPTH_MIN, A350_JETTY_DEPTH_MAX);
    }
    rc = a350_hbm_new(c, NULL, (size_t)depth * A350_WQEBB_SIZE, &wq);
    if (rc) {
        return rc;
    }
    rc = a350_hbm_new(c, NULL, 64, &ci);
    if (rc) {
        a350_hbm_free(wq);
        return rc;
    }
    q.base = wq;
    q.ci_addr = ci;
    rc = a350_admin(c, A350_ADM_JETTY_CREATE, &q, sizeof(q), &q, sizeof(q),
                    NULL);
    if (rc) {
        a350_hbm_free(wq);
        a350_hbm_free(ci);
        return rc;
    }
    jetty->id = q.jetty_id;
    jetty->depth = depth;
    jetty->wq = wq;
    jetty->ci = ci;
    jetty->card = c;
    pthread_mutex_lock(&c->ids_lock);
    c->jetty_live++;
    pthread_mutex_unlock(&c->ids_lock);
    return 0;
}

void a350_jetty_free(a350_jetty *j)
{
    a350_id_req q = { .id = j->id };
    a350_card *c = j->card;

    if (!c) {
        return;
    }
    j->card = NULL;
    if (a350_admin(c, A350_ADM_JETTY_DESTROY, &q, sizeof(q), NULL, 0, NULL)) {
        return;                  /* the card may still use the ring */
    }
    a350_hbm_free(j->wq);
    a350_hbm_free(j->ci);
    pthread_mutex_lock(&c->ids_lock);
    c->jetty_live--;
    pthread_mutex_unlock(&c->ids_lock);
}

int a350_segment_register(a350_card *c, uint64_t base, uint64_t length,
                          uint32_t access, uint32_t *token_id,
                          uint32_t *token_value)
{
    a350_seg_register q = { .base = base, .length = length, .access = access,
                            .token_value = *token_value };
    int rc;

    while (q.token_value == 0) {
        if (getrandom(&q.token_value, sizeof(q.token_value), 0) < 0) {
            q.token_value = (uint32_t)a350_now_ns() | 1;
        }
    }
    *token_value = q.token_value;
    rc = a350_admin(c, A350_ADM_SEG_REGISTER, &q, sizeof(q), &q, sizeof(q),
                    NULL);
    if (rc == 0) {
        *token_id = q.token_id;
        pthread_mutex_lock(&c->ids_lock);
        c->segment_live++;
        pthread_mutex_unlock(&c->ids_lock);
    }
    return rc;
}

int a350_segment_unregister(a350_card *c, uint32_t token_id)
{
    a350_id_req q = { .id = token_id };
    uint32_t result = 0;
    int rc = a350_admin(c, A350_ADM_SEG_UNREGISTER, &q, sizeof(q), NULL, 0,
                        &result);

    if (rc == 0) {
        pthread_mutex_lock(&c->ids_lock);
        c->segment_live--;
        pthread_mutex_unlock(&c->ids_lock);
    }
    return rc == -EIO && result == A350_ADM_E_BUSY ? -EBUSY : rc;
}

/*
 * Made once a card. Two threads that come at the same time may both register
 * one; the loser's is as good and stays until the card is closed.
 */
int a350_local_token(a350_card *c, uint32_t *token_id)
{
    uint32_t value = 0, id;
    int rc;

    pthread_mutex_lock(&c->ids_lock);
    if (c->local_token_valid) {
        *token_id = c->local_token;
        pthread_mutex_unlock(&c->ids_lock);
        return 0;
    }
    pthread_mutex_unlock(&c->ids_lock);
    rc = a350_segment_register(c, c->dev_base, c->hbm_size,
                               A350_SEG_LOCAL_ONLY, &id, &value);
    if (rc) {
        return rc;
    }
    pthread_mutex_lock(&c->ids_lock);
    c->local_token = id;
    c->local_token_valid = true;
    pthread_mutex_unlock(&c->ids_lock);
    *token_id = id;
    return 0;
}
