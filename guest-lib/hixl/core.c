/*
 * HIXL: life of an engine and the calls of hixl_core.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "acl_internal.h"
#include "hx.h"

struct hixl_core {
    pthread_mutex_t mutex;
    pthread_cond_t left;         /* a call has left its engine */
    hx_engine *e;                /* NULL: not initialised */
    pid_t pid;                   /* of the process that made it */
};

/* ---- engine ---- */

static void engine_free(hx_engine *e)
{
    hx_heartbeat_stop(e);
    hx_pool_stop(e);
    hx_server_stop(e);
    hx_link_close_all(e);
    hx_requests_free(e);
    while (e->note_num) {
        free(e->notes[e->note_head].name);
        free(e->notes[e->note_head].msg);
        e->note_head = (e->note_head + 1) % HX_NOTIFY_QUEUE;
        e->note_num--;
    }
    if (e->card) {
        hx_mem_free_all(e);
        hx_queues_leave(e->card);
        a350_card_close(e->card);
    }
    pthread_mutex_destroy(&e->query);
    pthread_mutex_destroy(&e->registering);
    pthread_mutex_destroy(&e->mutex);
    pthread_cond_destroy(&e->linked);
    free(e);
}

/* The engine stays on @card, or that of the calling thread's device. */
static uint32_t take_card(hx_engine *e, a350_card *card)
{
    e->card = card ? card : a350_current_card();
    if (!e->card) {
        return hx_err(HX_FAILED, "Initialize: no device is set in this thread "
                      "(aclrtSetDevice)%s", a350_card_count() ? "" :
                      ": this machine has no card");
    }
    a350_card_ref(e->card);
    hx_queues_join(e->card);
    memcpy(e->eid, a350_card_id(e->card)->eid, sizeof(e->eid));
    return HX_OK;
}

static uint32_t engine_new(const char *name, const hixl_option *opt,
                           size_t num, a350_card *card, hx_engine **out)
{
    hx_engine *e = calloc(1, sizeof(*e));
    uint32_t ret = HX_OK;

    if (!e) {
        return hx_err(HX_FAILED, "Initialize: out of host memory");
    }
    pthread_mutex_init(&e->query, NULL);
    pthread_mutex_init(&e->registering, NULL);
    pthread_mutex_init(&e->mutex, NULL);
    pthread_cond_init(&e->linked, NULL);
    e->reqs_tail = &e->reqs;
    if (!hx_parse_name(name, &e->name)) {
        ret = hx_err(HX_PARAM_INVALID, "Initialize: local engine \"%.100s\" "
                     "is not \"ip\", \"ip:port\", \"[ipv6]\" or "
                     "\"[ipv6]:port\" with a port up to 65535", name);
    }
    if (ret == HX_OK) {
        ret = hx_options_parse(&e->opt, opt, num);
    }
    if (ret == HX_OK) {
        ret = take_card(e, card);
    }
    if (ret == HX_OK && e->name.port) {
        ret = hx_server_start(e);
    }
    if (ret == HX_OK && e->opt.auto_connect) {
        ret = hx_heartbeat_start(e);
    }
    if (ret != HX_OK) {
        engine_free(e);
        return ret;
    }
    *out = e;
    return HX_OK;
}

static void core_init(hixl_core *c)
{
    pthread_mutex_init(&c->mutex, NULL);
    pthread_cond_init(&c->left, NULL);
    c->e = NULL;
    c->pid = getpid();
}

hixl_core *hixl_core_new(void)
{
    hixl_core *c = calloc(1, sizeof(*c));

    if (c) {
        core_init(c);
    }
    return c;
}

void hixl_core_free(hixl_core *c)
{
    if (c) {
        hixl_core_finalize(c);
        pthread_mutex_destroy(&c->mutex);
        pthread_cond_destroy(&c->left);
        free(c);
    }
}

/*
 * A forked child has a copy of its parent's engine, whose threads, sockets and
 * card go on being the parent's: it must not end them, and locks may be as
 * another thread has left them.
 */
static bool forked(const hixl_core *c)
{
    return c->pid != getpid();
}

/* Takes the engine's place; calls that are inside the old one end first. */
static void replace(hixl_core *c, hx_engine *e)
{
    hx_engine *old;

    pthread_mutex_lock(&c->mutex);
    old = c->e;
    c->e = e;
    while (old && old->calls) {
        /* Again, as one of them may have been connecting until now. */
        hx_link_abandon_all(old);
        hx_wait_until(&c->left, &c->mutex, hx_now_ms() + 100);
    }
    pthread_mutex_unlock(&c->mutex);
    if (old) {
        engine_free(old);
    }
}

/* A second one replaces the engine only if it succeeds. */
static uint32_t init(hixl_core *c, const char *name, const hixl_option *opt,
                     size_t num, bool same_card)
{
    a350_card *card = NULL;
    hx_engine *e = NULL;
    uint32_t ret;

    if (!c) {
        return HX_FAILED;
    }
    if (forked(c)) {
        core_init(c);
    }
    if (same_card) {
        pthread_mutex_lock(&c->mutex);
        card = c->e ? c->e->card : NULL;
        pthread_mutex_unlock(&c->mutex);
    }
    ret = engine_new(name ? name : "", opt, num, card, &e);
    if (ret == HX_OK) {
        replace(c, e);
    }
    return ret;
}

uint32_t hixl_core_init(hixl_core *c, const char *name, const hixl_option *opt,
                        size_t num)
{
    return init(c, name, opt, num, false);
}

uint32_t hixl_core_rename(hixl_core *c, const char *name,
                          const hixl_option *opt, size_t num)
{
    return init(c, name, opt, num, true);
}

void hixl_core_finalize(hixl_core *c)
{
    if (c && forked(c)) {
        core_init(c);
    } else if (c) {
        replace(c, NULL);
    }
}

/* ---- calls: the engine is there until leave() ---- */

static hx_engine *enter(hixl_core *c, const char *call)
{
    hx_engine *e;

    if (!c) {
        return NULL;
    }
    if (forked(c)) {
        hx_err(HX_FAILED, "%s: the engine is process %d's: a child of fork() can "
               "not use it", call, (int)c->pid);
        return NULL;
    }
    pthread_mutex_lock(&c->mutex);
    e = c->e;
    if (e) {
        e->calls++;
    }
    pthread_mutex_unlock(&c->mutex);
    if (!e) {
        hx_err(HX_FAILED, "%s: the engine is not initialised", call);
    }
    return e;
}

static uint32_t leave(hixl_core *c, hx_engine *e, uint32_t ret)
{
    pthread_mutex_lock(&c->mutex);
    if (--e->calls == 0) {
        pthread_cond_broadcast(&c->left);
    }
    pthread_mutex_unlock(&c->mutex);
    return ret;
}

static uint32_t check_timeout(int32_t timeout_ms, const char *call)
{
    return timeout_ms > 0 ? HX_OK :
           hx_err(HX_PARAM_INVALID, "%s: timeout of %d ms: it has to be at "
                  "least 1", call, timeout_ms);
}

uint32_t hixl_core_register(hixl_core *c, uintptr_t addr, size_t len, int type,
                            const char *tag, void **handle)
{
    hx_engine *e = enter(c, "RegisterMem");

    return e ? leave(c, e, hx_mem_register(e, addr, len, type, tag, handle)) :
           HX_FAILED;
}

uint32_t hixl_core_deregister(hixl_core *c, void *handle)
{
    hx_engine *e = enter(c, "DeregisterMem");

    return e ? leave(c, e, hx_mem_deregister(e, handle)) : HX_FAILED;
}

uint32_t hixl_core_connect(hixl_core *c, const char *remote,
                           int32_t timeout_ms)
{
    uint64_t deadline = hx_now_ms() + (uint64_t)(timeout_ms > 0 ? timeout_ms :
                                                 0);
    hx_engine *e = enter(c, "Connect");
    uint32_t ret;
    hx_addr a;

    if (!e) {
        return HX_FAILED;
    }
    ret = check_timeout(timeout_ms, "Connect");
    if (ret == HX_OK) {
        ret = hx_remote_name(e, remote, &a);
    }
    if (ret == HX_OK) {
        ret = hx_link_connect(e, &a, deadline);
    }
    return leave(c, e, ret);
}

uint32_t hixl_core_disconnect(hixl_core *c, const char *remote,
                              int32_t timeout_ms)
{
    hx_engine *e = enter(c, "Disconnect");
    uint32_t ret;

    if (!e) {
        return HX_FAILED;
    }
    ret = check_timeout(timeout_ms, "Disconnect");
    if (ret == HX_OK) {
        ret = hx_link_disconnect(e, remote, hx_now_ms() +
                                 (uint64_t)timeout_ms);
    }
    return leave(c, e, ret);
}

static uint32_t submit(hixl_core *c, const char *remote, bool connect,
                       int32_t timeout_ms)
{
    const char *call = connect ? "ConnectAsync" : "DisconnectAsync";
    hx_engine *e = enter(c, call);
    uint32_t ret;
    hx_addr a;

    if (!e) {
        return HX_FAILED;
    }
    ret = check_timeout(timeout_ms, call);
    if (ret == HX_OK) {
        ret = hx_remote_name(e, remote, &a);
    }
    if (ret == HX_OK) {
        ret = hx_pool_submit(e, remote, connect, timeout_ms);
    }
    return leave(c, e, ret);
}

uint32_t hixl_core_connect_async(hixl_core *c, const char *remote,
                                 int32_t timeout_ms)
{
    return submit(c, remote, true, timeout_ms);
}

uint32_t hixl_core_disconnect_async(hixl_core *c, const char *remote,
                                    int32_t timeout_ms)
{
    return submit(c, remote, false, timeout_ms);
}

uint32_t hixl_core_async_status(hixl_core *c, const char *remote, int *status)
{
    hx_engine *e = enter(c, "GetAsyncConnectStatus");

    return e ? leave(c, e, hx_pool_status(e, remote, status)) : HX_FAILED;
}

uint32_t hixl_core_async_list(hixl_core *c, hixl_async_fn *fn, void *opaque)
{
    hx_engine *e = enter(c, "GetAsyncConnectStatus");

    return e ? leave(c, e, hx_pool_list(e, fn, opaque)) : HX_FAILED;
}

uint32_t hixl_core_transfer(hixl_core *c, const char *remote, int op,
                            const hixl_op *desc, size_t num,
                            int32_t timeout_ms)
{
    hx_job j = { remote, op, desc, num };
    hx_engine *e = enter(c, "TransferSync");
    uint32_t ret;

    if (!e) {
        return HX_FAILED;
    }
    ret = check_timeout(timeout_ms, "TransferSync");
    if (ret == HX_OK) {
        ret = hx_transfer_sync(e, &j, timeout_ms);
    }
    return leave(c, e, ret);
}

uint32_t hixl_core_transfer_async(hixl_core *c, const char *remote, int op,
                                  const hixl_op *desc, size_t num,
                                  const void *user_data, void **req)
{
    hx_job j = { remote, op, desc, num };
    hx_engine *e = enter(c, "TransferAsync");

    return e ? leave(c, e, hx_transfer_async(e, &j, user_data, req)) : HX_FAILED;
}

uint32_t hixl_core_status(hixl_core *c, void *req, int *status)
{
    hx_engine *e = enter(c, "GetTransferStatus");

    *status = HX_ST_FAILED;
    return e ? leave(c, e, hx_transfer_status(e, req, status)) : HX_FAILED;
}

uint32_t hixl_core_results(hixl_core *c, uint32_t max, bool skip_waiting,
                           hixl_result_fn *fn, void *opaque)
{
    hx_engine *e = enter(c, "GetTransferStatus");

    return e ? leave(c, e, hx_transfer_results(e, max, skip_waiting, fn,
                                            opaque)) : HX_FAILED;
}

/* ---- notifies ---- */

static uint32_t text_too_long(const char *what, size_t len)
{
    return hx_err(HX_PARAM_INVALID, "SendNotify: %s of %zu bytes: at most %u",
                  what, len, HX_NOTIFY_TEXT);
}

static uint32_t send_note(hx_engine *e, const char *remote, const hx_note *n,
                          uint64_t deadline)
{
    uint32_t ret;
    hx_link *l;

    ret = hx_link_get(e, "SendNotify", remote, deadline, &l);
    if (ret == HX_OK) {
        ret = hx_link_notify(l, n, deadline);
        hx_link_put(l);
    }
    return ret;
}

uint32_t hixl_core_notify(hixl_core *c, const char *remote, const char *name,
                          size_t name_len, const char *msg, size_t msg_len,
                          int32_t timeout_ms)
{
    hx_note n = { 0, (uint32_t)name_len, (uint32_t)msg_len, name, msg };
    hx_engine *e = enter(c, "SendNotify");
    uint32_t ret = HX_OK;

    if (!e) {
        return HX_FAILED;
    }
    if (name_len > HX_NOTIFY_TEXT) {
        ret = text_too_long("name", name_len);
    }
    if (ret == HX_OK) {
        ret = check_timeout(timeout_ms, "SendNotify");
    }
    if (ret == HX_OK && msg_len > HX_NOTIFY_TEXT) {
        ret = text_too_long("text", msg_len);
    }
    if (ret == HX_OK) {
        ret = send_note(e, remote, &n, hx_now_ms() + (uint64_t)timeout_ms);
    }
    return leave(c, e, ret);
}

uint32_t hixl_core_notifies(hixl_core *c, hixl_notify_fn *fn, void *opaque)
{
    hx_engine *e = enter(c, "GetNotifies");
    hx_text t;

    if (!e) {
        return HX_FAILED;
    }
    pthread_mutex_lock(&e->mutex);
    while (e->note_num) {
        t = e->notes[e->note_head];
        e->note_head = (e->note_head + 1) % HX_NOTIFY_QUEUE;
        e->note_num--;
        fn(opaque, t.name, t.name_len, t.msg, t.msg_len);
        free(t.name);
        free(t.msg);
    }
    pthread_mutex_unlock(&e->mutex);
    return leave(c, e, HX_OK);
}

uint32_t hixl_core_remote_mem(hixl_core *c, const char *remote,
                              hixl_mem_fn *fn, void *opaque)
{
    hx_engine *e = enter(c, "GetRemoteMem");
    uint32_t ret;
    hx_link *l;
    size_t i;

    if (!e) {
        return HX_FAILED;
    }
    ret = hx_link_get(e, "GetRemoteMem", remote, hx_now_ms(), &l);
    if (ret == HX_OK) {
        /* Nobody changes it after Connect. */
        for (i = 0; i < l->remote_mem.num; i++) {
            fn(opaque, l->remote_mem.mem[i].type, l->remote_mem.mem[i].addr,
               l->remote_mem.mem[i].len, l->remote_mem.mem[i].tag);
        }
        hx_link_put(l);
    }
    return leave(c, e, ret);
}
