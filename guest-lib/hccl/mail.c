/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mailboxes: a rank of a communicator leaves a message in the box of another
 * and goes on; the other takes it when it comes to it. Works the same between
 * threads of a process, processes and guests.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "net.h"

#define BOX_BYTES_MAX   (256u << 20)
#define BOX_MAILS_MAX   (1u << 20)

struct hcl_box {
    hcl_box *next;
    uint8_t nonce[HCL_NONCE];
    uint32_t rank;
    hcl_mail *first, **last;
    size_t bytes, count;
    pthread_cond_t cond;
};

typedef struct mail_head {
    uint8_t nonce[HCL_NONCE];
    uint32_t to, from, kind, len;
    char key[HCL_KEY];
} mail_head;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hcl_box *boxes;

HcclResult hcl_random(void *buf, size_t len)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, buf, len);

    if (fd >= 0) {
        close(fd);
    }
    if (n != (ssize_t)len) {
        return hcl_fail(HCCL_E_SYSCALL, NULL, "cannot read /dev/urandom: %s",
                        strerror(errno));
    }
    return HCCL_SUCCESS;
}

/* All processes of a guest agree: the kernel's boot id. */
uint64_t hcl_host_id(void)
{
    uint64_t h = 1469598103934665603ull;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    char id[64];
    ssize_t n = fd < 0 ? 0 : read(fd, id, sizeof(id)), i;

    for (i = 0; i < n; i++) {
        h = (h ^ (uint8_t)id[i]) * 1099511628211ull;
    }
    if (fd >= 0) {
        close(fd);
    }
    return h;
}

hcl_box *hcl_box_new(const uint8_t nonce[HCL_NONCE], uint32_t rank)
{
    hcl_box *box = calloc(1, sizeof(*box));
    pthread_condattr_t attr;

    if (!box) {
        return NULL;
    }
    memcpy(box->nonce, nonce, HCL_NONCE);
    box->rank = rank;
    box->last = &box->first;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&box->cond, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_lock(&lock);
    box->next = boxes;
    boxes = box;
    pthread_mutex_unlock(&lock);
    return box;
}

void hcl_box_free(hcl_box *box)
{
    hcl_box **p;
    hcl_mail *m;

    if (!box) {
        return;
    }
    pthread_mutex_lock(&lock);
    for (p = &boxes; *p && *p != box; p = &(*p)->next) {
    }
    if (*p) {
        *p = box->next;
    }
    pthread_mutex_unlock(&lock);
    while ((m = box->first)) {
        box->first = m->next;
        free(m);
    }
    pthread_cond_destroy(&box->cond);
    free(box);
}

/* A newer message with the same key replaces the one not yet taken. */
static void replace_old(hcl_box *box, const hcl_mail *m)
{
    hcl_mail **p;

    for (p = &box->first; *p; p = &(*p)->next) {
        hcl_mail *old = *p;

        if (old->src == m->src && old->kind == m->kind &&
            !strcmp(old->key, m->key)) {
            *p = old->next;
            if (box->last == &old->next) {
                box->last = p;
            }
            box->bytes -= old->len;
            box->count--;
            free(old);
            return;
        }
    }
}

static HcclResult put(const mail_head *h, const uint8_t *data)
{
    hcl_mail *m = malloc(sizeof(*m) + h->len);
    HcclResult rc = HCCL_E_NOT_FOUND;
    hcl_box *box;

    if (!m) {
        return HCCL_E_MEMORY;
    }
    *m = (hcl_mail){ .src = h->from, .kind = h->kind, .len = h->len };
    memcpy(m->key, h->key, HCL_KEY);
    m->key[HCL_KEY - 1] = '\0';
    memcpy(m->data, data, h->len);
    pthread_mutex_lock(&lock);
    for (box = boxes; box; box = box->next) {
        if (box->rank == h->to && !memcmp(box->nonce, h->nonce, HCL_NONCE)) {
            break;
        }
    }
    if (box) {
        replace_old(box, m);
        rc = HCCL_E_UNAVAIL;
        if (box->count < BOX_MAILS_MAX &&
            box->bytes + m->len <= BOX_BYTES_MAX) {
            *box->last = m;
            box->last = &m->next;
            box->bytes += m->len;
            box->count++;
            m = NULL;
            rc = HCCL_SUCCESS;
            pthread_cond_broadcast(&box->cond);
        }
    }
    pthread_mutex_unlock(&lock);
    free(m);
    return rc;
}

int hcl_mail_on_frame(hcl_conn *conn, const uint8_t *data, uint32_t len)
{
    mail_head h;
    uint32_t code;

    if (len < sizeof(h)) {
        return -1;
    }
    memcpy(&h, data, sizeof(h));
    if (h.len != len - sizeof(h)) {
        return -1;
    }
    code = put(&h, data + sizeof(h));
    if (h.kind == HCL_MAIL_OPERATOR) {
        hcl_op_arrived(h.nonce, h.to, h.from);
    }
    return hcl_conn_send(conn, HCL_F_ACK, &code, sizeof(code));
}

static HcclResult send_failed(const hcl_rank_info *to, int err)
{
    return hcl_fail(err == ETIMEDOUT ? HCCL_E_TIMEOUT : HCCL_E_TCP_CONNECT,
                    "EI0006", "cannot reach rank %u at %s:%u: %s; its process "
                    "%u has ended or the network does not lead there",
                    to->rank, to->ip, to->port, strerror(err), to->pid);
}

static HcclResult ack_code(const hcl_rank_info *to, uint32_t code)
{
    switch (code) {
    case HCCL_SUCCESS:
        return HCCL_SUCCESS;
    case HCCL_E_NOT_FOUND:
        return hcl_fail(HCCL_E_REMOTE, "EI0006", "rank %u at %s:%u has left "
                        "the communicator (destroyed there)", to->rank,
                        to->ip, to->port);
    default:
        return hcl_fail(HCCL_E_REMOTE, "EI0006", "rank %u at %s:%u does not "
                        "take the message: code %u", to->rank, to->ip,
                        to->port, code);
    }
}

HcclResult hcl_mail_send(const hcl_rank_info *to, uint32_t from,
                         const uint8_t nonce[HCL_NONCE], uint32_t kind,
                         const char *key, const void *data, uint32_t len,
                         uint64_t deadline)
{
    mail_head h = { .to = to->rank, .from = from, .kind = kind, .len = len };
    uint32_t n = 0, code = HCCL_E_INTERNAL;
    uint16_t type = 0;
    void *reply = NULL;
    int fd, err, rc;

    memcpy(h.nonce, nonce, HCL_NONCE);
    snprintf(h.key, sizeof(h.key), "%s", key);
    fd = hcl_net_connect(to->ip, to->port, deadline, &err);
    if (fd < 0) {
        return send_failed(to, err);
    }
    rc = hcl_net_send(fd, HCL_F_MAIL, &h, sizeof(h), data, len, deadline);
    if (!rc) {
        rc = hcl_net_recv(fd, &type, &reply, &n, deadline);
    }
    close(fd);
    if (rc) {
        return send_failed(to, -rc);
    }
    if (type == HCL_F_ACK && n == sizeof(code)) {
        memcpy(&code, reply, sizeof(code));
    }
    free(reply);
    return ack_code(to, code);
}

static hcl_mail *find(hcl_box *box, uint32_t src, uint32_t kind,
                      const char *key)
{
    hcl_mail **p, *m;

    for (p = &box->first; (m = *p); p = &m->next) {
        if (m->src == src && m->kind == kind && !strcmp(m->key, key)) {
            *p = m->next;
            if (box->last == &m->next) {
                box->last = p;
            }
            box->bytes -= m->len;
            box->count--;
            m->next = NULL;
            return m;
        }
    }
    return NULL;
}

hcl_mail *hcl_mail_take(hcl_box *box, uint32_t src, uint32_t kind,
                        const char *key, uint64_t deadline)
{
    struct timespec ts = { (time_t)(deadline / 1000000000ull),
                           (long)(deadline % 1000000000ull) };
    hcl_mail *m;

    pthread_mutex_lock(&lock);
    while (!(m = find(box, src, kind, key))) {
        if (pthread_cond_timedwait(&box->cond, &lock, &ts)) {
            m = find(box, src, kind, key);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return m;
}

const char *hcl_peer_state(const hcl_rank_info *peer)
{
    int err = 0, fd = hcl_net_connect(peer->ip, peer->port,
                                      hcl_now_ns() + 1000000000ull, &err);

    if (fd >= 0) {
        close(fd);
        return ", which runs";
    }
    return err == ECONNREFUSED ? ", which has ended"
                               : ", which does not answer";
}

bool hcl_mail_other(hcl_box *box, uint32_t src, uint32_t kind,
                    char key[HCL_KEY])
{
    const hcl_mail *m;

    pthread_mutex_lock(&lock);
    for (m = box->first; m; m = m->next) {
        if (m->src == src && m->kind == kind) {
            memcpy(key, m->key, HCL_KEY);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return m != NULL;
}

/* ---- attempts ---- */

typedef struct hcl_attempt {
    struct hcl_attempt *next;
    uint32_t failed;
    char what[HCL_KEY];
} hcl_attempt;

/* The communicator's lock is held. */
static hcl_attempt *attempt_of(const hcl_comm *c, const char *what)
{
    hcl_attempt *a;

    for (a = c->attempts; a && strcmp(a->what, what); a = a->next) {
    }
    return a;
}

void hcl_attempt_key(hcl_comm *c, const char *what, char key[HCL_KEY])
{
    const hcl_attempt *a;

    pthread_mutex_lock(&c->lock);
    a = attempt_of(c, what);
    if (a) {
        snprintf(key, HCL_KEY, "%.108s, attempt %u", what, a->failed + 1);
    } else {
        snprintf(key, HCL_KEY, "%s", what);
    }
    pthread_mutex_unlock(&c->lock);
}

void hcl_attempt_differs(hcl_comm *c, const char *what)
{
    hcl_attempt *a;

    pthread_mutex_lock(&c->lock);
    a = attempt_of(c, what);
    if (!a && (a = calloc(1, sizeof(*a)))) {
        snprintf(a->what, sizeof(a->what), "%s", what);
        a->next = c->attempts;
        c->attempts = a;
    }
    if (a) {
        a->failed++;
    }
    pthread_mutex_unlock(&c->lock);
}

void hcl_attempts_free(hcl_comm *c)
{
    hcl_attempt *a;

    while ((a = c->attempts)) {
        c->attempts = a->next;
        free(a);
    }
}
