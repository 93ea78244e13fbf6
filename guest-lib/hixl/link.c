/*
 * HIXL: links, the initiator's side.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hixl.md §3, §4. One TCP connection per link: end points, the peer's
 * memory, CreateChannel; then it stays for notifies and to tell when the peer
 * is gone. Data goes through the path, never through it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "hx.h"

/* ---- references ---- */

static hx_link *find(hx_engine *e, const char *remote)
{
    hx_link *l;

    for (l = e->links; l && strcmp(l->remote, remote) != 0; l = l->next) {
        continue;
    }
    return l;
}

/* Waits until a link that is being made is there or not. Mutex held. */
static uint32_t settled(hx_engine *e, const char *remote, uint64_t deadline,
                        hx_link **link)
{
    while ((*link = find(e, remote)) && (*link)->connecting) {
        if (!hx_wait_until(&e->linked, &e->mutex, deadline)) {
            return HX_TIMEOUT;
        }
    }
    return *link ? HX_OK : HX_NOT_CONNECTED;
}

static uint32_t still_connecting(const char *call, const char *remote)
{
    return hx_err(HX_TIMEOUT, "%s: another call is still connecting %s", call,
                  remote);
}

uint32_t hx_link_find(hx_engine *e, const hx_addr *remote, uint64_t deadline,
                      hx_link **link)
{
    uint32_t ret;

    pthread_mutex_lock(&e->mutex);
    ret = settled(e, remote->text, deadline, link);
    if (ret == HX_OK) {
        (*link)->refs++;
    }
    pthread_mutex_unlock(&e->mutex);
    return ret;
}

uint32_t hx_link_get(hx_engine *e, const char *call, const char *remote,
                     uint64_t deadline, hx_link **link)
{
    uint32_t ret = HX_NOT_CONNECTED;
    hx_addr a;

    if (hx_parse_name(remote, &a)) {
        ret = hx_link_find(e, &a, deadline, link);
    }
    return ret == HX_OK ? ret :
           ret == HX_TIMEOUT ? still_connecting(call, a.text) :
           hx_err(ret, "%s: not connected to %.100s", call, remote);
}

static void link_free(hx_link *l)
{
    hx_buf_free(&l->in);
    hx_table_free(&l->local);
    hx_table_free(&l->remote_mem);
    pthread_mutex_destroy(&l->mutex);
    pthread_mutex_destroy(&l->talk);
    pthread_mutex_destroy(&l->use);
    pthread_rwlock_destroy(&l->path_lock);
    free(l);
}

void hx_link_put(hx_link *l)
{
    bool last;

    pthread_mutex_lock(&l->e->mutex);
    last = --l->refs == 0;
    pthread_mutex_unlock(&l->e->mutex);
    if (!last) {
        return;
    }
    if (l->fd >= 0) {
        close(l->fd);
    }
    link_free(l);
}

/*
 * A link under construction is in the list, so that other calls to the same
 * name meet it and wait for the outcome: a second Connect makes its own if the
 * first one fails.
 */
static hx_link *reserve(hx_engine *e, const char *remote, uint64_t deadline,
                        uint32_t *ret)
{
    hx_link *l = calloc(1, sizeof(*l)), *other;

    if (!l) {
        *ret = hx_err(HX_EXHAUSTED, "Connect: out of host memory");
        return NULL;
    }
    l->e = e;
    l->fd = -1;
    l->refs = 2;                 /* the list's and the caller's */
    strcpy(l->remote, remote);
    pthread_mutex_init(&l->mutex, NULL);
    pthread_mutex_init(&l->talk, NULL);
    pthread_mutex_init(&l->use, NULL);
    pthread_rwlock_init(&l->path_lock, NULL);
    pthread_mutex_lock(&e->mutex);
    *ret = settled(e, remote, deadline, &other);
    if (*ret == HX_NOT_CONNECTED) {
        l->listed = l->connecting = true;
        l->next = e->links;
        e->links = l;
    }
    pthread_mutex_unlock(&e->mutex);
    if (*ret == HX_NOT_CONNECTED) {
        return l;
    }
    link_free(l);
    *ret = *ret == HX_TIMEOUT ? still_connecting("Connect", remote) :
           hx_err(HX_ALREADY_CONNECTED, "Connect: %s is connected", remote);
    return NULL;
}

static void connected(hx_link *l)
{
    pthread_mutex_lock(&l->e->mutex);
    l->connecting = false;
    pthread_cond_broadcast(&l->e->linked);
    pthread_mutex_unlock(&l->e->mutex);
}

static void unlist(hx_link *l)
{
    hx_link **p;
    bool was;

    pthread_mutex_lock(&l->e->mutex);
    was = l->listed;
    for (p = &l->e->links; *p && *p != l; p = &(*p)->next) {
        continue;
    }
    if (*p) {
        *p = l->next;
    }
    l->listed = l->connecting = false;
    pthread_cond_broadcast(&l->e->linked);
    pthread_mutex_unlock(&l->e->mutex);
    if (was) {
        hx_link_put(l);
    }
}

/* ---- handshake ---- */

static uint32_t tcp_error(const hx_link *l, const char *step, int rc,
                          const hx_frame *f)
{
    if (rc == -ETIMEDOUT || rc == -EBADMSG) {
        return hx_err(HX_TIMEOUT, "Connect to %s: no answer in time (%s)",
                      l->remote, step);
    }
    return hx_err(HX_FAILED, "Connect to %s: %s: %s", l->remote, step,
                  rc == -EPROTO && f && f->why ? f->why :
                  rc == -ECONNREFUSED ? "refused: nobody listens there" :
                  strerror(-rc));
}

/* Sends a request and receives its answer, which stays in l->in. */
static uint32_t ask(hx_link *l, int32_t type, char *body, int32_t answer,
                    hx_frame *f, uint64_t deadline)
{
    int rc;

    if (!body) {
        return hx_err(HX_EXHAUSTED, "Connect: out of host memory");
    }
    rc = hx_send(l->fd, type, body, strlen(body), deadline);
    free(body);
    if (rc == 0) {
        rc = hx_recv(l->fd, &l->in, f, deadline);
    }
    if (rc) {
        return tcp_error(l, "control message", rc, f);
    }
    if (f->type != answer) {
        return hx_err(HX_FAILED, "Connect to %s: answered message type %d "
                      "with type %d", l->remote, type, f->type);
    }
    return HX_OK;
}

static uint32_t malformed(const hx_link *l, const char *why)
{
    return hx_err(HX_FAILED, "Connect to %s: malformed answer: %s", l->remote,
                  why);
}

void hx_local_endpoints(const hx_engine *e, hx_endpoints *p)
{
    memset(p, 0, sizeof(*p));
    strcpy(p->engine, e->name.text);
    memcpy(p->proto, e->opt.proto, sizeof(p->proto));
    memcpy(p->eid, e->eid, sizeof(p->eid));
    strcpy(p->net_instance, e->opt.net_instance);
}

/* Do the two sides have a protocol in common? §4, step 2. */
static bool match(const hx_endpoints *a, const hx_endpoints *b)
{
    bool same_net = !a->net_instance[0] || !b->net_instance[0] ||
                    strcmp(a->net_instance, b->net_instance) == 0;
    int i;

    for (i = 0; i < HX_PROTO_NUM; i++) {
        if (a->proto[i] && b->proto[i] && (same_net || i != HX_UB_CTP)) {
            return true;
        }
    }
    return false;
}

static bool reachable(a350_card *card, const uint8_t eid[A350_EID_LEN])
{
    static const unsigned max = A350_CARDS_MAX;
    a350_peer *peers = calloc(max, sizeof(*peers));
    unsigned n = 0, i;
    bool found = false;

    if (peers && a350_peers(card, peers, max, &n) == 0) {
        for (i = 0; i < n && !found; i++) {
            found = memcmp(peers[i].eid, eid, A350_EID_LEN) == 0;
        }
    }
    free(peers);
    return found;
}

static uint32_t exchange_endpoints(hx_link *l, uint8_t eid[A350_EID_LEN],
                                   uint64_t deadline)
{
    hx_endpoints own, peer;
    const char *why;
    char text[33];
    hx_frame f;
    uint32_t ret;
    bool good;

    hx_local_endpoints(l->e, &own);
    ret = ask(l, HX_ENDPOINTS, hx_endpoints_encode(&own), HX_ENDPOINTS_RESP,
              &f, deadline);
    if (ret != HX_OK) {
        return ret;
    }
    good = hx_endpoints_decode(f.payload, f.len, &peer, &why);
    hx_buf_drop(&l->in, f.used);
    if (!good) {
        return malformed(l, why);
    }
    if (!match(&own, &peer)) {
        return hx_err(HX_FAILED, "Connect to %s: no common end point (check "
                      "protocol_desc and net_instance_id of both engines)",
                      l->remote);
    }
    if (!reachable(l->e->card, peer.eid)) {
        hx_eid_text(peer.eid, text);
        return hx_err(HX_FAILED, "Connect to %s: its card (EID %s) is not on "
                      "the fabric of card %u", l->remote, text,
                      a350_card_number(l->e->card));
    }
    memcpy(eid, peer.eid, A350_EID_LEN);
    return HX_OK;
}

static uint32_t fetch_memory(hx_link *l, uint64_t deadline)
{
    const char *why;
    hx_frame f;
    uint32_t ret = ask(l, HX_MEM_INFO, strdup("{}"), HX_MEM_INFO_RESP, &f,
                       deadline);
    bool good;

    if (ret != HX_OK) {
        return ret;
    }
    good = hx_mems_decode(f.payload, f.len, &l->remote_mem, &why);
    hx_buf_drop(&l->in, f.used);
    return good ? HX_OK : malformed(l, why);
}

static uint32_t create_channel(hx_link *l, uint64_t deadline)
{
    char reason[128];
    const char *why;
    uint32_t code;
    hx_frame f;
    uint32_t ret = ask(l, HX_CREATE_CHANNEL, hx_result_encode(0,
                       l->e->name.text), HX_CREATE_CHANNEL_RESP, &f, deadline);
    bool good;

    if (ret != HX_OK) {
        return ret;
    }
    good = hx_result_decode(f.payload, f.len, &code, reason, &why);
    hx_buf_drop(&l->in, f.used);
    if (!good) {
        return malformed(l, why);
    }
    return code == HX_OK ? HX_OK :
           hx_err(HX_FAILED, "Connect to %s: refused with code %u: %s",
                  l->remote, code, reason);
}

static uint32_t establish(hx_link *l, const hx_addr *remote,
                          uint64_t deadline)
{
    uint8_t eid[A350_EID_LEN];
    uint32_t ret;
    int rc = hx_tcp_connect(remote, deadline, &l->fd);

    if (rc) {
        return tcp_error(l, "TCP", rc, NULL);
    }
    ret = exchange_endpoints(l, eid, deadline);
    if (ret == HX_OK) {
        ret = fetch_memory(l, deadline);
    }
    if (ret == HX_OK) {
        ret = create_channel(l, deadline);
    }
    if (ret == HX_OK && !hx_mem_snapshot(l->e, &l->local)) {
        ret = hx_err(HX_EXHAUSTED, "Connect: out of host memory");
    }
    if (ret == HX_OK) {
        ret = hx_path_open(&l->path, l->e->card, eid);
        l->open = ret == HX_OK;
    }
    return ret;
}

uint32_t hx_remote_name(hx_engine *e, const char *remote, hx_addr *a)
{
    if (!hx_parse_name(remote, a) || a->port == 0) {
        return hx_err(HX_PARAM_INVALID, "remote engine \"%.100s\" is not "
                      "\"ip:port\" or \"[ipv6]:port\" with a port from 1 to "
                      "65535", remote ? remote : "(null)");
    }
    if (strcmp(a->text, e->name.text) == 0) {
        return hx_err(HX_PARAM_INVALID, "remote engine %s is this engine "
                      "itself", a->text);
    }
    return HX_OK;
}

uint32_t hx_link_connect(hx_engine *e, const hx_addr *remote,
                         uint64_t deadline)
{
    uint32_t ret = HX_OK;
    hx_link *l = reserve(e, remote->text, deadline, &ret);

    if (!l) {
        return ret;
    }
    ret = establish(l, remote, deadline);
    if (ret == HX_OK) {
        connected(l);
    } else {
        unlist(l);
    }
    hx_link_put(l);
    return ret;
}

/* ---- end of a link ---- */

static void wake(hx_link *l)
{
    pthread_mutex_lock(&l->use);
    if (l->open) {
        hx_path_wake(&l->path);
    }
    pthread_mutex_unlock(&l->use);
}

/*
 * Ends the path: requests get their final state, who waits is woken, and then
 * the card lets go of all memory.
 */
static void stop_path(hx_link *l)
{
    if (!l->open) {
        return;
    }
    hx_requests_settle(l);
    wake(l);
    pthread_rwlock_wrlock(&l->path_lock);
    pthread_mutex_lock(&l->use);
    l->open = false;
    hx_path_close(&l->path);
    pthread_mutex_unlock(&l->use);
    pthread_rwlock_unlock(&l->path_lock);
}

void hx_link_done(hx_link *l)
{
    pthread_mutex_lock(&l->use);
    if (l->open) {
        hx_path_give(&l->path);
    }
    pthread_mutex_unlock(&l->use);
}

/* Whoever has the mutex waits for the card only, and not any more. */
static void stop_waiting(hx_link *l)
{
    __atomic_store_n(&l->failed, true, __ATOMIC_RELEASE);
    hx_path_abandon(&l->path);
    wake(l);
}

void hx_link_fail(hx_link *l)
{
    __atomic_store_n(&l->failed, true, __ATOMIC_RELEASE);
    stop_path(l);
}

/* Lets transfers that are under way come to their end. */
static uint32_t drain(hx_link *l, uint64_t deadline)
{
    uint32_t ret = HX_OK;
    bool busy;

    pthread_mutex_lock(&l->use);
    busy = l->open && !hx_link_failed(l) && l->path.sq && l->path.seq;
    l->path.users += busy;
    pthread_mutex_unlock(&l->use);
    if (busy) {
        ret = hx_path_wait(&l->path, l->path.seq, deadline);
        hx_link_done(l);
    }
    /* A failed transfer's status is told by its request. */
    return ret == HX_TIMEOUT ? ret : HX_OK;
}

/* A notify that waits for its answer may do so until @deadline. */
static void hang_up(hx_link *l, uint64_t deadline)
{
    if (!hx_lock_until(&l->talk, deadline)) {
        shutdown(l->fd, SHUT_RDWR);
        pthread_mutex_lock(&l->talk);
    }
    hx_send(l->fd, HX_DESTROY_CHANNEL, NULL, 0, deadline);
    /* The peer shall hear of it, though a forked child has the file too. */
    shutdown(l->fd, SHUT_RDWR);
    close(l->fd);
    l->fd = -1;
    pthread_mutex_unlock(&l->talk);
}

static uint32_t shut(hx_link *l, uint64_t deadline)
{
    uint32_t ret = drain(l, deadline);

    stop_path(l);
    __atomic_store_n(&l->failed, true, __ATOMIC_RELEASE);
    if (l->fd >= 0) {
        hang_up(l, deadline);
    }
    return ret;
}

void hx_link_break(hx_link *l)
{
    const bool drop = l->e->opt.auto_connect;

    stop_waiting(l);
    pthread_mutex_lock(&l->mutex);
    hx_link_fail(l);
    if (drop) {
        shut(l, hx_now_ms());
    }
    pthread_mutex_unlock(&l->mutex);
    if (drop) {
        unlist(l);
    }
}

uint32_t hx_link_disconnect(hx_engine *e, const char *remote,
                            uint64_t deadline)
{
    uint32_t ret;
    bool in_time;
    hx_link *l;

    ret = hx_link_get(e, "Disconnect", remote, deadline, &l);
    if (ret != HX_OK) {
        return ret;
    }
    in_time = hx_lock_until(&l->mutex, deadline);
    if (!in_time) {
        stop_waiting(l);
        pthread_mutex_lock(&l->mutex);
    }
    if (l->fd < 0) {             /* another Disconnect was first */
        ret = hx_err(HX_NOT_CONNECTED, "Disconnect: not connected to %s",
                     remote);
    } else {
        ret = shut(l, deadline);
        ret = in_time ? ret : HX_TIMEOUT;
    }
    pthread_mutex_unlock(&l->mutex);
    unlist(l);
    hx_link_put(l);
    return ret == HX_TIMEOUT ?
           hx_err(ret, "Disconnect from %s: transfers were still running and "
                  "are ended", remote) : ret;
}

void hx_link_close_all(hx_engine *e)
{
    hx_link *l;

    for (;;) {
        pthread_mutex_lock(&e->mutex);
        l = e->links;
        if (l) {
            l->refs++;
        }
        pthread_mutex_unlock(&e->mutex);
        if (!l) {
            return;
        }
        pthread_mutex_lock(&l->mutex);
        shut(l, hx_now_ms());
        pthread_mutex_unlock(&l->mutex);
        unlist(l);
        hx_link_put(l);
    }
}

void hx_link_abandon_all(hx_engine *e)
{
    hx_link *l;

    pthread_mutex_lock(&e->mutex);
    for (l = e->links; l; l = l->next) {
        if (!l->connecting) {
            hx_path_abandon(&l->path);
        }
    }
    pthread_mutex_unlock(&e->mutex);
}

/* A peer that only reads nothing is there: its buffers are full. */
static bool heart_stopped(hx_link *l)
{
    int rc;

    if (hx_peer_gone(l->fd)) {
        return true;
    }
    rc = hx_send(l->fd, HX_HEARTBEAT, NULL, 0, hx_now_ms());
    return rc && rc != -ETIMEDOUT;
}

/* Who speaks with the peer learns what is the matter. */
void hx_link_beat(hx_link *l)
{
    bool gone;

    if (pthread_mutex_trylock(&l->talk) != 0) {
        return;
    }
    gone = l->fd >= 0 && !hx_link_failed(l) && heart_stopped(l);
    pthread_mutex_unlock(&l->talk);
    if (gone) {
        hx_warn("heartbeat: %s has closed the link or is gone", l->remote);
        hx_link_break(l);
    }
}

/* ---- notifies ---- */

static uint32_t earlier(const hx_link *l)
{
    return hx_err(HX_FAILED, "SendNotify: the link to %s failed earlier: "
                  "disconnect and connect it again", l->remote);
}

static uint32_t no_time(const hx_link *l)
{
    return hx_err(HX_TIMEOUT, "SendNotify to %s: not acknowledged in time",
                  l->remote);
}

/* HX_FAILED: the connection is of no use any more. */
static uint32_t note_failed(const hx_link *l, int rc, const char *why)
{
    if (rc == -ETIMEDOUT) {
        return no_time(l);
    }
    return hx_err(HX_FAILED, "SendNotify to %s: %s", l->remote,
                  hx_link_failed(l) ? "the link was ended by another call" :
                  why ? why : rc == -EBADMSG ? "time was over inside the "
                  "message: the peer does not read" : strerror(-rc));
}

/*
 * Acknowledgements of earlier notifies, that timed out, are passed over. Talk
 * held.
 */
static uint32_t exchange_note(hx_link *l, const hx_note *n, uint64_t deadline,
                              uint32_t *code)
{
    hx_note note = *n;
    uint64_t id = 0;
    hx_buf b = { 0 };
    hx_frame f;
    int rc;

    note.id = ++l->next_note;
    rc = hx_note_encode(&b, &note) ?
         hx_send(l->fd, HX_NOTIFY, b.data, b.len, deadline) : -ENOMEM;
    hx_buf_free(&b);
    while (rc == 0 && id != note.id) {
        rc = hx_recv(l->fd, &l->in, &f, deadline);
        if (rc) {
            return note_failed(l, rc, f.why);
        }
        if (f.type == HX_NOTIFY_ACK &&
            !hx_ack_decode(f.payload, f.len, &id, code)) {
            return note_failed(l, -EPROTO, "malformed acknowledgement");
        }
        hx_buf_drop(&l->in, f.used);
        if (id != note.id && hx_left_ms(deadline) == 0) {
            rc = -ETIMEDOUT;     /* whatever else it goes on saying */
        }
    }
    return rc ? note_failed(l, rc, NULL) : HX_OK;
}

uint32_t hx_link_notify(hx_link *l, const hx_note *n, uint64_t deadline)
{
    uint32_t code = HX_OK, ret;

    if (!hx_lock_until(&l->talk, deadline)) {
        return no_time(l);       /* others wait for their answers */
    }
    if (l->fd < 0 || hx_link_failed(l)) {
        pthread_mutex_unlock(&l->talk);
        return earlier(l);
    }
    ret = exchange_note(l, n, deadline, &code);
    pthread_mutex_unlock(&l->talk);
    if (ret == HX_FAILED) {
        hx_link_break(l);
    }
    return ret != HX_OK ? ret : code == HX_EXHAUSTED ?
           hx_err(code, "SendNotify: %u notifies wait at %s", HX_NOTIFY_QUEUE,
                  l->remote) :
           code == HX_OK ? HX_OK :
           hx_err(HX_FAILED, "SendNotify: %s answered code %u", l->remote,
                  code);
}
