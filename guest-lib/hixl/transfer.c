/*
 * HIXL: transfers.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Order of checks, codes and the latch after a failure: spec/api/hixl.md §3
 * TransferSync, TransferAsync, GetTransferStatus.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "hx.h"

#define AUTO_CONNECT_MS 3000     /* of TransferAsync */

static uint32_t check_null(const hx_job *j)
{
    size_t i;

    if (j->op != HX_READ && j->op != HX_WRITE) {
        return hx_err(HX_PARAM_INVALID, "transfer: operation %d is neither "
                      "READ (0) nor WRITE (1)", j->op);
    }
    for (i = 0; i < j->num; i++) {
        if (!j->desc[i].local || !j->desc[i].remote) {
            return hx_err(HX_PARAM_INVALID, "transfer: descriptor %zu: %s "
                          "address is null", i,
                          j->desc[i].local ? "remote" : "local");
        }
    }
    return HX_OK;
}

/*
 * The link of a transfer, connected if AutoConnect is on. A link that failed
 * is left failed, or with AutoConnect replaced.
 */
static uint32_t need_link(hx_engine *e, const hx_job *j, uint64_t deadline,
                          hx_link **link)
{
    hx_addr a;
    uint32_t ret;

    if (!e->opt.auto_connect) {
        return hx_link_get(e, "transfer", j->remote, deadline, link);
    }
    ret = hx_remote_name(e, j->remote, &a);
    while (ret == HX_OK) {
        ret = hx_link_find(e, &a, deadline, link);
        if (ret == HX_OK && !hx_link_failed(*link)) {
            return HX_OK;
        }
        if (ret == HX_OK) {
            /* Who saw it fail is about to disconnect it. */
            hx_link_break(*link);
            hx_link_put(*link);
        } else {
            ret = hx_link_connect(e, &a, deadline);
            ret = ret == HX_ALREADY_CONNECTED ? HX_OK : ret;
        }
    }
    return ret;
}

static uint32_t not_registered(const hx_link *l, const char *side, size_t i,
                               uint64_t addr, uint64_t len)
{
    return hx_err(HX_PARAM_INVALID, "transfer: descriptor %zu: %s range 0x%"
                  PRIx64 ", %" PRIu64 " bytes, is not inside memory that was "
                  "registered when %s was connected", i, side, addr, len,
                  l->remote);
}

static uint32_t check_ranges(const hx_link *l, const hx_job *j)
{
    const hx_mem *local = NULL, *remote = NULL;
    const hixl_op *d;
    size_t i;

    if (j->num == 0) {
        return hx_err(HX_PARAM_INVALID, "transfer: the list is empty");
    }
    for (i = 0; i < j->num; i++) {
        if (j->desc[i].len == 0) {
            return hx_err(HX_PARAM_INVALID, "transfer: descriptor %zu: "
                          "length is 0", i);
        }
    }
    for (i = 0; i < j->num; i++) {
        d = &j->desc[i];
        local = hx_table_near(&l->local, local, d->local, d->len);
        if (!local) {
            return not_registered(l, "local", i, d->local, d->len);
        }
        remote = hx_table_near(&l->remote_mem, remote, d->remote, d->len);
        if (!remote) {
            return not_registered(l, "remote", i, d->remote, d->len);
        }
    }
    return HX_OK;
}

static uint32_t link_usable(hx_link *l)
{
    if (hx_link_failed(l) || !l->open) {
        return hx_err(HX_FAILED, "transfer: the link to %s failed earlier: "
                      "disconnect and connect it again", l->remote);
    }
    if (hx_peer_gone(l->fd)) {
        hx_link_fail(l);
        return hx_err(HX_FAILED, "transfer: %s has closed the link or is gone",
                      l->remote);
    }
    return HX_OK;
}

static uint32_t take_slot(hx_engine *e)
{
    bool got;

    pthread_mutex_lock(&e->mutex);
    got = e->slots_used < e->opt.max_channels;
    e->slots_used += got;
    pthread_mutex_unlock(&e->mutex);
    return got ? HX_OK :
           hx_err(HX_EXHAUSTED, "transfer: %u transfers are outstanding "
                  "(comm_resource_config.max_active_channels); query their "
                  "status", e->opt.max_channels);
}

static void give_slot(hx_engine *e)
{
    pthread_mutex_lock(&e->mutex);
    e->slots_used--;
    pthread_mutex_unlock(&e->mutex);
}

/* A slot and a queue for a transfer whose arguments are right. */
static uint32_t take_resources(hx_link *l)
{
    uint32_t ret = take_slot(l->e);

    if (ret == HX_OK) {
        pthread_mutex_lock(&l->use);
        ret = hx_path_take(&l->path);
        pthread_mutex_unlock(&l->use);
        if (ret != HX_OK) {
            give_slot(l->e);
        }
    }
    return ret;
}

/*
 * Up to the doorbell; on success hx_link_done and give_slot are due. Link
 * mutex held. A failure latches the link, but not one of the arguments or for
 * want of resources: nothing was posted then.
 */
static uint32_t start(hx_link *l, const hx_job *j, uint64_t deadline,
                      uint64_t *seq)
{
    uint32_t ret = link_usable(l);

    if (ret == HX_OK) {
        ret = check_ranges(l, j);
        if (ret == HX_OK) {
            ret = take_resources(l);
        }
        if (ret != HX_OK) {
            return ret;
        }
        ret = hx_path_post(&l->path, j->op, j->desc, j->num, &l->local,
                           &l->remote_mem, deadline, seq);
        if (ret != HX_OK) {
            give_slot(l->e);
        }
    }
    if (ret != HX_OK) {
        hx_link_fail(l);
    }
    return ret;
}

/* A link that start() has failed, unlike one whose caller was wrong. */
static void after_failure(hx_link *l)
{
    if (hx_link_failed(l)) {
        hx_link_break(l);
    }
}

/*
 * Waits beside others that use the link. The read lock keeps the path; it is
 * taken before the link's mutex is given up.
 */
static uint32_t start_and_wait(hx_link *l, const hx_job *j, uint64_t deadline)
{
    uint64_t seq;
    uint32_t ret;

    if (!hx_lock_until(&l->mutex, deadline)) {
        hx_link_break(l);
        return HX_TIMEOUT;
    }
    ret = start(l, j, deadline, &seq);
    if (ret == HX_OK) {
        pthread_rwlock_rdlock(&l->path_lock);
    }
    pthread_mutex_unlock(&l->mutex);
    if (ret != HX_OK) {
        after_failure(l);
        return ret;
    }
    ret = hx_path_wait(&l->path, seq, deadline);
    pthread_rwlock_unlock(&l->path_lock);
    if (ret != HX_OK) {
        hx_link_break(l);
    }
    hx_link_done(l);
    give_slot(l->e);
    return ret;
}

uint32_t hx_transfer_sync(hx_engine *e, const hx_job *j, int32_t timeout_ms)
{
    uint64_t deadline = hx_now_ms() + (uint64_t)timeout_ms;
    uint32_t ret = check_null(j);
    hx_link *l;

    if (ret == HX_OK) {
        ret = need_link(e, j, deadline, &l);
    }
    if (ret != HX_OK) {
        return ret;
    }
    ret = start_and_wait(l, j, deadline);
    if (ret == HX_TIMEOUT) {
        hx_err(ret, "transfer with %s: not complete after %d ms; the link is "
               "failed until it is connected again", l->remote, timeout_ms);
    }
    hx_link_put(l);
    return ret;
}

/* ---- asynchronous ---- */

static uint32_t start_async(hx_engine *e, hx_link *l, const hx_job *j,
                            uint64_t deadline, hx_req *r, uint64_t *id)
{
    uint32_t ret;

    pthread_mutex_lock(&l->mutex);
    ret = start(l, j, deadline, &r->seq);
    if (ret == HX_OK) {
        r->link = l;
        pthread_mutex_lock(&e->mutex);
        r->id = *id = ++e->next_req;
        *e->reqs_tail = r;
        e->reqs_tail = &r->next;
        pthread_mutex_unlock(&e->mutex);
    }
    pthread_mutex_unlock(&l->mutex);
    return ret;
}

uint32_t hx_transfer_async(hx_engine *e, const hx_job *j,
                           const void *user_data, void **req)
{
    uint64_t deadline = hx_now_ms() + AUTO_CONNECT_MS;
    uint32_t ret = check_null(j);
    uint64_t id = 0;
    hx_req *r;
    hx_link *l;

    if (ret == HX_OK) {
        ret = need_link(e, j, deadline, &l);
    }
    if (ret != HX_OK) {
        return ret;
    }
    r = calloc(1, sizeof(*r));
    ret = r ? HX_OK : hx_err(HX_EXHAUSTED, "transfer: out of memory");
    if (ret == HX_OK) {
        r->user_data = user_data;
        /*
         * From the moment it is in the list, it may be gone. A list that is
         * longer than the ring waits for room, without a limit of its own.
         */
        ret = start_async(e, l, j, UINT64_MAX, r, &id);
    }
    if (ret == HX_OK) {
        *req = (void *)(uintptr_t)id;
        return ret;              /* the request keeps link and slot */
    }
    free(r);
    after_failure(l);
    hx_link_put(l);
    return ret;
}

void hx_requests_settle(hx_link *l)
{
    hx_req *r;

    pthread_mutex_lock(&l->e->mutex);
    for (r = l->e->reqs; r; r = r->next) {
        if (r->link == l && r->final == HX_WAITING) {
            r->final = hx_path_poll(&l->path, r->seq) == HX_COMPLETED ?
                       HX_COMPLETED : HX_ST_FAILED;
        }
    }
    pthread_mutex_unlock(&l->e->mutex);
}

static int final_of(hx_engine *e, const hx_req *r)
{
    int s;

    pthread_mutex_lock(&e->mutex);
    s = r->final;
    pthread_mutex_unlock(&e->mutex);
    return s;
}

/* State of a request; a failure latches its link. Query mutex held. */
static int look(hx_engine *e, hx_req *r)
{
    hx_link *l = r->link;
    int s = final_of(e, r);

    if (s != HX_WAITING) {
        return s;
    }
    pthread_rwlock_rdlock(&l->path_lock);
    if (l->open) {
        s = hx_path_poll(&l->path, r->seq);
        if (s == HX_ST_FAILED) {
            hx_path_explain(&l->path);
        } else if (s == HX_WAITING && hx_peer_gone(l->fd)) {
            hx_err(HX_FAILED, "transfer: %s is gone", l->remote);
            s = HX_ST_FAILED;
        }
    }
    pthread_rwlock_unlock(&l->path_lock);
    if (s == HX_ST_FAILED) {
        hx_link_break(l);        /* gives all its requests their final state */
    }
    return s == HX_WAITING ? final_of(e, r) : s;
}

/* Removes and frees a request whose final state is told. */
static void retire(hx_engine *e, hx_req *r)
{
    hx_req **p;

    pthread_mutex_lock(&e->mutex);
    for (p = &e->reqs; *p != r; p = &(*p)->next) {
        continue;
    }
    *p = r->next;
    if (!*p) {
        e->reqs_tail = p;
    }
    e->slots_used--;
    pthread_mutex_unlock(&e->mutex);
    hx_link_done(r->link);
    hx_link_put(r->link);
    free(r);
}

uint32_t hx_transfer_status(hx_engine *e, void *req, int *status)
{
    uint64_t id = (uintptr_t)req;
    uint32_t ret = HX_OK;
    hx_req *r;

    *status = HX_ST_FAILED;
    if (!req) {
        return hx_err(HX_FAILED, "GetTransferStatus: the request is null");
    }
    pthread_mutex_lock(&e->query);
    pthread_mutex_lock(&e->mutex);
    for (r = e->reqs; r && r->id != id; r = r->next) {
        continue;
    }
    pthread_mutex_unlock(&e->mutex);
    if (r) {
        *status = look(e, r);
        if (*status != HX_WAITING) {
            retire(e, r);
        }
    } else {
        ret = hx_err(HX_PARAM_INVALID, "GetTransferStatus: request %" PRIu64
                     " is not known, or its final status was given", id);
    }
    pthread_mutex_unlock(&e->query);
    return ret;
}

static hx_req *next_of(hx_engine *e, hx_req *r)
{
    pthread_mutex_lock(&e->mutex);
    r = r ? r->next : e->reqs;
    pthread_mutex_unlock(&e->mutex);
    return r;
}

uint32_t hx_transfer_results(hx_engine *e, uint32_t max, bool skip_waiting,
                             hixl_result_fn *fn, void *opaque)
{
    hx_req *r, *next;
    int s;

    pthread_mutex_lock(&e->query);
    for (r = next_of(e, NULL); r && max; r = next) {
        next = next_of(e, r);
        s = look(e, r);
        if (s == HX_WAITING && skip_waiting) {
            continue;
        }
        fn(opaque, (void *)(uintptr_t)r->id, r->user_data, s);
        max--;
        if (s != HX_WAITING) {
            retire(e, r);
        }
    }
    pthread_mutex_unlock(&e->query);
    return HX_OK;
}

void hx_requests_free(hx_engine *e)
{
    pthread_mutex_lock(&e->query);
    while (e->reqs) {
        retire(e, e->reqs);
    }
    pthread_mutex_unlock(&e->query);
}
