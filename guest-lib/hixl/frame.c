/*
 * HIXL: frames over TCP.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hixl.md §4: packed { u32 magic, u64 body_size }, little-endian, then
 * the body: i32 type and payload. What comes from a peer is not trusted: the
 * size is checked before anything is kept, and every wait has an end.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "a350_tcp.h"
#include "hx.h"

bool hx_buf_add(hx_buf *b, const void *data, size_t len)
{
    size_t cap = b->cap ? b->cap : 256;
    uint8_t *p;

    if (len == 0) {
        return true;
    }
    while (cap - b->len < len) {
        cap *= 2;
    }
    if (cap != b->cap) {
        p = realloc(b->data, cap);
        if (!p) {
            return false;
        }
        b->data = p;
        b->cap = cap;
    }
    memcpy(b->data + b->len, data, len);
    b->len += len;
    return true;
}

void hx_buf_drop(hx_buf *b, size_t len)
{
    b->len -= len;
    memmove(b->data, b->data + len, b->len);
}

void hx_buf_free(hx_buf *b)
{
    free(b->data);
    memset(b, 0, sizeof(*b));
}

bool hx_frame_put(hx_buf *b, int32_t type, const void *payload, size_t len)
{
    uint8_t head[HX_HEADER + 4];

    hx_put_le(head, HX_MAGIC, 4);
    hx_put_le(head + 4, len + 4, 8);
    hx_put_le(head + 12, (uint32_t)type, 4);
    return hx_buf_add(b, head, sizeof(head)) && hx_buf_add(b, payload, len);
}

enum hx_parse hx_frame_get(const hx_buf *b, hx_frame *f)
{
    uint64_t body;

    f->why = NULL;
    /* A wrong magic is told from the first bytes, not after a timeout. */
    if (b->len >= 4 && hx_get_le(b->data, 4) != HX_MAGIC) {
        f->why = "wrong magic";
        return HX_FRAME_BAD;
    }
    if (b->len < HX_HEADER) {
        return HX_FRAME_MORE;
    }
    body = hx_get_le(b->data + 4, 8);
    if (body < 4 || body > HX_BODY_MAX) {
        f->why = body < 4 ? "body shorter than its type" :
                 "body of more than 4 MiB";
        return HX_FRAME_BAD;
    }
    if (b->len - HX_HEADER < body) {
        return HX_FRAME_MORE;
    }
    f->type = (int32_t)hx_get_le(b->data + HX_HEADER, 4);
    f->payload = b->data + HX_HEADER + 4;
    f->len = body - 4;
    f->used = HX_HEADER + body;
    return HX_FRAME_ONE;
}

/* ---- client side ---- */

static int wait_fd(int fd, short events, uint64_t deadline)
{
    struct pollfd p = { .fd = fd, .events = events };
    int n;

    do {
        n = poll(&p, 1, hx_left_ms(deadline));
    } while (n < 0 && errno == EINTR);
    return n > 0 ? 0 : n == 0 ? -ETIMEDOUT : -errno;
}

static void set_socket(int fd)
{
    int one = 1, idle = 60, interval = 10, count = 6;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

int hx_tcp_connect(const hx_addr *a, uint64_t deadline, int *fd)
{
    int s, rc, err = 0;
    socklen_t len = sizeof(err);

    s = socket(a->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s < 0) {
        return -errno;
    }
    set_socket(s);
    rc = connect(s, (const struct sockaddr *)&a->sa, a->len) ? -errno : 0;
    if (rc == -EINPROGRESS) {
        rc = wait_fd(s, POLLOUT, deadline);
        if (rc == 0 && getsockopt(s, SOL_SOCKET, SO_ERROR, &err, &len) == 0) {
            rc = -err;
        }
    }
    if (rc) {
        close(s);
        return rc;
    }
    if (a350_tcp_close_own(s)) {
        return -ECONNREFUSED;
    }
    *fd = s;
    return 0;
}

int hx_send(int fd, int32_t type, const void *payload, size_t len,
            uint64_t deadline)
{
    hx_buf b = { 0 };
    size_t pos = 0;
    ssize_t n;
    int rc = hx_frame_put(&b, type, payload, len) ? 0 : -ENOMEM;

    while (rc == 0 && pos < b.len) {
        n = send(fd, b.data + pos, b.len - pos, MSG_NOSIGNAL);
        if (n > 0) {
            pos += (size_t)n;
        } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            rc = wait_fd(fd, POLLOUT, deadline);
            rc = rc == -ETIMEDOUT && pos ? -EBADMSG : rc;
        } else if (n < 0 && errno != EINTR) {
            rc = -errno;
        }
    }
    hx_buf_free(&b);
    return rc;
}

int hx_recv(int fd, hx_buf *in, hx_frame *f, uint64_t deadline)
{
    uint8_t part[16384];
    ssize_t n = 0;
    int rc;

    for (;;) {
        switch (hx_frame_get(in, f)) {
        case HX_FRAME_ONE:
            return 0;
        case HX_FRAME_BAD:
            return -EPROTO;
        case HX_FRAME_MORE:
            break;
        }
        /* A peer that never stops talking buys no time with that. */
        if (n > 0 && hx_left_ms(deadline) == 0) {
            return -ETIMEDOUT;
        }
        n = recv(fd, part, sizeof(part), 0);
        if (n > 0) {
            if (!hx_buf_add(in, part, (size_t)n)) {
                return -ENOMEM;
            }
        } else if (n == 0) {
            return -ECONNRESET;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            rc = wait_fd(fd, POLLIN, deadline);
            if (rc) {
                return rc;
            }
        } else if (errno != EINTR) {
            return -errno;
        }
    }
}

/* Also behind answers that nobody has read, as of notifies that timed out. */
bool hx_peer_gone(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLRDHUP };

    return poll(&p, 1, 0) > 0;
}
