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
#include <time.h>
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

hx_link *hx_link_get(hx_engine *e, const char *remote)
{
    hx_link *l;

    pthread_mutex_lock(&e->mutex);
    l = find(e, remote);
    if (l) {
        l->refs++;
    }
    pthread_mutex_unlock(&e->mutex);
    return l;
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
    hx_buf_free(&l->in);
    hx_table_free(&l->local);
    hx_table_free(&l->remote_mem);
    pthread_mutex_destroy(&l->mutex);
    pthread_rwlock_destroy(&l->path_lock);
    free(l);
}

/* A link under construction: in the list, so that a second Connect to the
   same name meets it, and locked, so that it waits for the outcome. */
static hx_link *reserve(hx_engine *e, const char *remote, uint32_t *ret)
{
    hx_link *l = calloc(1, sizeof(*l));

    if (!l) {
        *ret = hx_err(HX_EXHAUSTED, "Connect: out of host memory");
        return NULL;
    }
    l->e = e;
    l->fd = -1;
    l->refs = 2;                 /* the list's and the caller's */
    strcpy(l->remote, remote);
    pthread_mutex_init(&l->mutex, NULL);
    pthread_rwlock_init(&l->path_lock, NULL);
    pthread_mutex_lock(&l->mutex);
    pthread_mutex_lock(&e->mutex);
    if (find(e, remote)) {
        pthread_mutex_unlock(&e->mutex);
        pthread_mutex_unlock(&l->mutex);
        pthread_mutex_destroy(&l->mutex);
        pthread_rwlock_destroy(&l->path_lock);
        free(l);
        *ret = hx_err(HX_ALREADY_CONNECTED, "Connect: %s is connected",
                      remote);
        return NULL;
    }
    l->listed = true;
    l->next = e->links;
    e->links = l;
    pthread_mutex_unlock(&e->mutex);
    return l;
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
    l->listed = false;
    pthread_mutex_unlock(&l->e->mutex);
    if (was) {
        hx_link_put(l);
    }
}

/* ---- handshake ---- */

static uint32_t tcp_error(const hx_link *l, const char *step, int rc,
                          const hx_frame *f)
{
    if (rc == -ETIMEDOUT) {
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
    hx_link *l = reserve(e, remote->text, &ret);

    if (!l) {
        return ret;
    }
    ret = establish(l, remote, deadline);
    if (ret != HX_OK) {
        __atomic_store_n(&l->failed, true, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&l->mutex);
        unlist(l);
    } else {
        pthread_mutex_unlock(&l->mutex);
    }
    hx_link_put(l);
    return ret;
}

/* ---- end of a link ---- */

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
    hx_path_wake(&l->path);
    pthread_rwlock_wrlock(&l->path_lock);
    l->open = false;
    hx_path_close(&l->path);
    pthread_rwlock_unlock(&l->path_lock);
}

void hx_link_done(hx_link *l)
{
    pthread_mutex_lock(&l->mutex);
    if (l->open) {
        hx_path_give(&l->path);
    }
    pthread_mutex_unlock(&l->mutex);
}

void hx_link_fail(hx_link *l)
{
    __atomic_store_n(&l->failed, true, __ATOMIC_RELEASE);
    stop_path(l);
}

static uint32_t shut(hx_link *l, uint64_t deadline)
{
    uint32_t ret = HX_OK;

    if (l->open && !hx_link_failed(l) && l->path.sq && l->path.seq) {
        ret = hx_path_wait(&l->path, l->path.seq, deadline);
        /* A failed transfer's status is told by its request. */
        ret = ret == HX_TIMEOUT ? ret : HX_OK;
    }
    stop_path(l);
    __atomic_store_n(&l->failed, true, __ATOMIC_RELEASE);
    if (l->fd >= 0) {
        hx_send(l->fd, HX_DESTROY_CHANNEL, NULL, 0, deadline);
        close(l->fd);
        l->fd = -1;
    }
    return ret;
}

/*
 * Whoever has the mutex may be waiting for the card, in the middle of a long
 * list, and need more time than there is. False: it was ended.
 */
static bool lock_until(hx_link *l, uint64_t deadline)
{
    struct timespec ts;
    int left = hx_left_ms(deadline);

    clock_gettime(CLOCK_REALTIME, &ts);
    ts.tv_sec += left / 1000;
    ts.tv_nsec += left % 1000 * 1000000l;
    if (ts.tv_nsec >= 1000000000) {
        ts.tv_nsec -= 1000000000;
        ts.tv_sec++;
    }
    if (pthread_mutex_timedlock(&l->mutex, &ts) == 0) {
        return true;
    }
    hx_path_abandon(&l->path);
    pthread_mutex_lock(&l->mutex);
    /* Unless it was a notify that took its time. */
    return !hx_link_failed(l);
}

uint32_t hx_link_disconnect(hx_engine *e, const char *remote,
                            uint64_t deadline)
{
    hx_link *l = hx_link_get(e, remote);
    uint32_t ret;
    bool in_time;

    if (!l) {
        return hx_err(HX_NOT_CONNECTED, "Disconnect: not connected to %s",
                      remote);
    }
    in_time = lock_until(l, deadline);
    if (l->fd < 0) {             /* another Disconnect was first */
        ret = HX_NOT_CONNECTED;
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

/* Who holds the mutex speaks with the peer and learns what is the matter. */
void hx_link_beat(hx_link *l)
{
    if (pthread_mutex_trylock(&l->mutex) != 0) {
        return;
    }
    if (l->open && !hx_link_failed(l) &&
        (hx_peer_gone(l->fd) ||
         hx_send(l->fd, HX_HEARTBEAT, NULL, 0, hx_now_ms()) != 0)) {
        hx_warn("heartbeat: %s has closed the link or is gone", l->remote);
        hx_link_fail(l);
    }
    pthread_mutex_unlock(&l->mutex);
}

/* ---- notifies ---- */

static uint32_t note_failed(hx_link *l, int rc, const char *why)
{
    if (rc == -ETIMEDOUT) {
        return hx_err(HX_TIMEOUT, "SendNotify to %s: not acknowledged in time",
                      l->remote);
    }
    hx_link_fail(l);
    return hx_err(HX_FAILED, "SendNotify to %s: %s", l->remote,
                  why ? why : strerror(-rc));
}

/* Acknowledgements of earlier notifies, that timed out, are passed over. */
uint32_t hx_link_notify(hx_link *l, const hx_note *n, uint64_t deadline)
{
    hx_note note = *n;
    uint32_t code = HX_OK;
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
            !hx_ack_decode(f.payload, f.len, &id, &code)) {
            return note_failed(l, -EPROTO, "malformed acknowledgement");
        }
        hx_buf_drop(&l->in, f.used);
    }
    if (rc) {
        return note_failed(l, rc, NULL);
    }
    return code == HX_EXHAUSTED ?
           hx_err(code, "SendNotify: %u notifies wait at %s", HX_NOTIFY_QUEUE,
                  l->remote) :
           code == HX_OK ? HX_OK :
           hx_err(HX_FAILED, "SendNotify: %s answered code %u", l->remote,
                  code);
}
