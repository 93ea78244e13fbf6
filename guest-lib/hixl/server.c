/*
 * HIXL: the target's side.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One thread per engine serves all its sockets; nothing in it waits for a
 * peer. A peer that sends what is no frame, too much, or too slowly loses its
 * connection, which harms no other. The card is not touched: the memory that
 * peers get to know is registered already.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "hx.h"

#define BACKLOG      1024
#define CONN_MAX     1024
#define OUT_MAX      (2 * HX_BODY_MAX)
#define REST_MS      100

unsigned hx_patience_ms = 10000;

typedef struct conn {
    int fd;
    hx_buf in, out;
    uint64_t since;              /* first byte of a partial frame; 0: none */
    bool channel;                /* CreateChannel was accepted */
    char peer[HX_NAME_MAX];
    struct conn *next;
} conn;

struct hx_server {
    hx_engine *e;
    int listen_fd, epoll_fd, stop_fd;
    uint64_t rest;               /* no accept until then; 0: none */
    pthread_t thread;
    conn *conns;
    unsigned num;
};

static void conn_close(hx_server *s, conn *c)
{
    conn **p;

    for (p = &s->conns; *p != c; p = &(*p)->next) {
        continue;
    }
    *p = c->next;
    s->num--;
    /* The peer shall hear of it, though a forked child has the file too. */
    shutdown(c->fd, SHUT_RDWR);
    close(c->fd);
    hx_buf_free(&c->in);
    hx_buf_free(&c->out);
    free(c);
}

/* ---- requests; false: the connection ends, with the reason logged ---- */

static bool refuse(const conn *c, const char *why)
{
    hx_warn("connection of %s: %s: closed", c->peer[0] ? c->peer :
            "an unknown engine", why);
    return false;
}

static bool reply(conn *c, int32_t type, char *text)
{
    bool good = text && c->out.len < OUT_MAX &&
                strlen(text) + 4 <= HX_BODY_MAX &&
                hx_frame_put(&c->out, type, text, strlen(text));

    free(text);
    return good || refuse(c, "an answer is too long");
}

static bool on_endpoints(hx_server *s, conn *c, const hx_frame *f)
{
    hx_endpoints own, peer;
    const char *why;

    if (!hx_endpoints_decode(f->payload, f->len, &peer, &why)) {
        return refuse(c, why);
    }
    strcpy(c->peer, peer.engine);
    hx_local_endpoints(s->e, &own);
    return reply(c, HX_ENDPOINTS_RESP, hx_endpoints_encode(&own));
}

static bool on_mem_info(hx_server *s, conn *c)
{
    hx_table t = { 0 };
    bool good = hx_mem_snapshot(s->e, &t);

    good = good && reply(c, HX_MEM_INFO_RESP, hx_mems_encode(&t));
    hx_table_free(&t);
    return good;
}

static bool on_create(conn *c)
{
    c->channel = true;
    return reply(c, HX_CREATE_CHANNEL_RESP, hx_result_encode(HX_OK, ""));
}

static bool set_text(char **to, size_t *len, const char *from, size_t n)
{
    *to = malloc(n + 1);
    if (*to) {
        memcpy(*to, from, n);
        (*to)[n] = '\0';
        *len = n;
    }
    return *to != NULL;
}

static uint32_t keep_note(hx_engine *e, const hx_note *n)
{
    uint32_t ret = HX_EXHAUSTED;
    hx_text t = { 0 };

    pthread_mutex_lock(&e->mutex);
    if (e->note_num < HX_NOTIFY_QUEUE &&
        set_text(&t.name, &t.name_len, n->name, n->name_len) &&
        set_text(&t.msg, &t.msg_len, n->msg, n->msg_len)) {
        e->notes[(e->note_head + e->note_num++) % HX_NOTIFY_QUEUE] = t;
        ret = HX_OK;
    } else {
        free(t.name);
    }
    pthread_mutex_unlock(&e->mutex);
    return ret;
}

static bool on_notify(hx_server *s, conn *c, const hx_frame *f)
{
    uint8_t ack[12];
    hx_note n;

    if (!c->channel) {
        return refuse(c, "a notify before CreateChannel");
    }
    if (!hx_note_decode(f->payload, f->len, &n)) {
        return refuse(c, "a malformed notify");
    }
    hx_ack_encode(ack, n.id, keep_note(s->e, &n));
    return (c->out.len < OUT_MAX &&
            hx_frame_put(&c->out, HX_NOTIFY_ACK, ack, sizeof(ack))) ||
           refuse(c, "it does not read its answers");
}

static bool on_frame(hx_server *s, conn *c, const hx_frame *f)
{
    switch (f->type) {
    case HX_ENDPOINTS:
        return on_endpoints(s, c, f);
    case HX_MEM_INFO:
        return on_mem_info(s, c);
    case HX_CREATE_CHANNEL:
        return on_create(c);
    case HX_NOTIFY:
        return on_notify(s, c, f);
    case HX_HEARTBEAT:
        return true;
    case HX_DESTROY_CHANNEL:
        return false;
    default:
        return refuse(c, "an unknown message type");
    }
}

/* ---- sockets ---- */

static void watch(hx_server *s, conn *c, int op)
{
    struct epoll_event ev = {
        .events = EPOLLIN | (c->out.len ? EPOLLOUT : 0), .data.ptr = c,
    };

    epoll_ctl(s->epoll_fd, op, c->fd, &ev);
}

static bool would_block(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static bool flush_out(conn *c)
{
    ssize_t n;

    while (c->out.len) {
        n = send(c->fd, c->out.data, c->out.len, MSG_NOSIGNAL);
        if (n < 0) {
            return would_block();
        }
        hx_buf_drop(&c->out, (size_t)n);
    }
    return true;
}

static bool take_frames(hx_server *s, conn *c)
{
    hx_frame f;

    for (;;) {
        switch (hx_frame_get(&c->in, &f)) {
        case HX_FRAME_BAD:
            return refuse(c, f.why);
        case HX_FRAME_MORE:
            c->since = c->in.len ? c->since ? c->since : hx_now_ms() : 0;
            return true;
        case HX_FRAME_ONE:
            if (!on_frame(s, c, &f)) {
                return false;
            }
            hx_buf_drop(&c->in, f.used);
            c->since = 0;
            break;
        }
    }
}

/* A bounded amount at a time, so that one peer does not starve the others. */
static bool read_some(hx_server *s, conn *c)
{
    uint8_t part[65536];
    ssize_t n = recv(c->fd, part, sizeof(part), 0);

    if (n <= 0) {
        return n < 0 && would_block();
    }
    return hx_buf_add(&c->in, part, (size_t)n) && take_frames(s, c);
}

static void on_ready(hx_server *s, conn *c, uint32_t events)
{
    bool good = true;

    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        good = read_some(s, c);
    }
    good = good && flush_out(c);
    if (good) {
        watch(s, c, EPOLL_CTL_MOD);
    } else {
        conn_close(s, c);
    }
}

static void watch_listener(hx_server *s, uint32_t events)
{
    struct epoll_event ev = { .events = events, .data.ptr = &s->listen_fd };

    epoll_ctl(s->epoll_fd, EPOLL_CTL_MOD, s->listen_fd, &ev);
}

/*
 * Whom it has no file for stays in the queue of the socket, which goes on
 * saying so: it is not listened to for a moment.
 */
static void accept_later(hx_server *s)
{
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
        errno == ENOBUFS) {
        hx_warn("engine %s can not accept a connection: %s",
                s->e->name.text, strerror(errno));
        watch_listener(s, 0);
        s->rest = hx_now_ms() + REST_MS;
    }
}

static void end_rest(hx_server *s)
{
    if (s->rest && hx_now_ms() >= s->rest) {
        s->rest = 0;
        watch_listener(s, EPOLLIN);
    }
}

static void on_accept(hx_server *s)
{
    int fd = accept4(s->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    int one = 1;
    conn *c;

    if (fd < 0) {
        accept_later(s);
        return;
    }
    c = s->num < CONN_MAX ? calloc(1, sizeof(*c)) : NULL;
    if (!c) {
        hx_warn("engine %s has %u connections: another one is refused",
                s->e->name.text, s->num);
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    c->fd = fd;
    c->since = hx_now_ms();      /* the first frame has to come, too */
    c->next = s->conns;
    s->conns = c;
    s->num++;
    watch(s, c, EPOLL_CTL_ADD);
}

static void drop_slow(hx_server *s)
{
    uint64_t now = hx_now_ms();
    conn *c, *next;

    for (c = s->conns; c; c = next) {
        next = c->next;
        if (c->since && now - c->since > hx_patience_ms) {
            refuse(c, "it is too slow");
            conn_close(s, c);
        }
    }
}

static void *serve(void *arg)
{
    hx_server *s = arg;
    struct epoll_event ev[16];
    int i, n;

    for (;;) {
        n = epoll_wait(s->epoll_fd, ev, 16, s->rest ? REST_MS :
                       s->num ? 1000 : -1);
        for (i = 0; i < n; i++) {
            if (ev[i].data.ptr == &s->stop_fd) {
                return NULL;
            }
            if (ev[i].data.ptr == &s->listen_fd) {
                on_accept(s);
            } else {
                on_ready(s, ev[i].data.ptr, ev[i].events);
            }
        }
        drop_slow(s);
        end_rest(s);
    }
}

/* ---- life ---- */

static void release(hx_server *s)
{
    while (s->conns) {
        conn_close(s, s->conns);
    }
    if (s->listen_fd >= 0) {
        shutdown(s->listen_fd, SHUT_RDWR);
        close(s->listen_fd);
    }
    if (s->epoll_fd >= 0) {
        close(s->epoll_fd);
    }
    if (s->stop_fd >= 0) {
        close(s->stop_fd);
    }
    free(s);
}

static bool listen_on(hx_server *s)
{
    const hx_addr *a = &s->e->name;
    int one = 1;

    s->listen_fd = socket(a->sa.ss_family,
                          SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return s->listen_fd >= 0 &&
           setsockopt(s->listen_fd, SOL_SOCKET, SO_REUSEADDR, &one,
                      sizeof(one)) == 0 &&
           bind(s->listen_fd, (const struct sockaddr *)&a->sa, a->len) == 0 &&
           listen(s->listen_fd, BACKLOG) == 0;
}

static bool watch_own(hx_server *s, int *fd)
{
    struct epoll_event ev = { .events = EPOLLIN, .data.ptr = fd };

    return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, *fd, &ev) == 0;
}

uint32_t hx_server_start(hx_engine *e)
{
    hx_server *s = calloc(1, sizeof(*s));
    int err;

    if (!s) {
        return hx_err(HX_FAILED, "Initialize: out of host memory");
    }
    s->e = e;
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    s->stop_fd = eventfd(0, EFD_CLOEXEC);
    s->listen_fd = -1;
    if (listen_on(s) && s->epoll_fd >= 0 && s->stop_fd >= 0 &&
        watch_own(s, &s->listen_fd) && watch_own(s, &s->stop_fd)) {
        err = a350_thread_create(&s->thread, NULL, serve, s);
    } else {
        err = errno;
    }
    if (err) {
        release(s);
        return hx_err(HX_FAILED, "Initialize: can not listen on %s: %s%s",
                      e->name.text, strerror(err), err == EADDRINUSE ?
                      " (another engine has this name)" : "");
    }
    e->server = s;
    return HX_OK;
}

void hx_server_stop(hx_engine *e)
{
    uint64_t one = 1;

    if (e->server && write(e->server->stop_fd, &one, 8) == 8) {
        pthread_join(e->server->thread, NULL);
        release(e->server);
        e->server = NULL;
    }
}
