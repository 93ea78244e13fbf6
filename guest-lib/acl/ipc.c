/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exports, their server, and leases. See ipc_priv.h.
 *
 * An object that is freed while importers hold it stays until the last of them
 * lets go: their cards may still be writing to it. With the device's reset, or
 * the process, it ends for all.
 */
#define _GNU_SOURCE
#include "ipc_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MAGIC           0x49303533u
#define ANSWER_MS       5000
#define SILENT_MAX      64u      /* connections that have not asked */

typedef struct request {
    uint32_t magic;
    uint32_t kind;
    uint64_t nonce;
} request;

typedef struct reply {
    uint32_t magic;
    int32_t code;                /* aclError */
    ipc_info info;
    char text[160];
} reply;

/* Sent on a lease before it is cut. */
enum { END_RESET = 'R' };

typedef struct export {
    struct export *next;
    ipc_kind kind;
    uint64_t nonce;
    ipc_info info;
    uint64_t block;
    acl_dev *dev;
    bool any_pid;
    bool revoked;                /* no new imports */
    bool freed;                  /* goes with its last lease */
    unsigned leases;
    int mem_fd;
    int32_t *pids;
    size_t num_pids;
} export;

typedef struct conn {
    int fd;
    export *x;                   /* NULL: has not asked yet */
} conn;

/* All below; may be taken with a device's lock held. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static export *exports;
static conn *conns;
static struct pollfd *polls;     /* [0] listens, [i + 1] is conns[i] */
static size_t num_conns, room_conns;
static int listener = -1;
static pid_t owner;              /* of the listener and all the rest */

/* ---- keys ---- */

static socklen_t server_name(int pid, struct sockaddr_un *a)
{
    int n;

    memset(a, 0, sizeof(*a));
    a->sun_family = AF_UNIX;
    n = snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "atlas350-ipc-%d",
                 pid);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)n);
}

static bool key_parse(const char *key, ipc_kind *kind, int *pid,
                      uint64_t *nonce)
{
    unsigned long long v;
    int end = 0;
    char k;

    if (strnlen(key, IPC_KEY_SIZE) == IPC_KEY_SIZE ||
        sscanf(key, "atlas350:%c:%d:%16llx%n", &k, pid, &v, &end) != 3 ||
        key[end] || *pid <= 0) {
        return false;
    }
    *kind = (ipc_kind)k;
    *nonce = v;
    return true;
}

bool ipc_key_valid(ipc_kind kind, const char *key, int *pid)
{
    uint64_t nonce;
    ipc_kind k;

    return key_parse(key, &k, pid, &nonce) && k == kind;
}

static const char *kind_name(ipc_kind kind)
{
    return kind == IPC_MEM ? "aclrtIpcMemGetExportKey" :
           kind == IPC_NOTIFY ? "aclrtNotifyGetExportKey"
                              : "aclrtIpcGetEventHandle";
}

aclError ipc_bad_key(const char *func, ipc_kind kind, const char *key)
{
    return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "key \"%.64s\" is none "
                    "of %s", key, kind_name(kind));
}

/* ---- exports ---- */

/* The object behind an export that nobody has any more. Lock held. */
static void export_end(export *x)
{
    export **p;

    for (p = &exports; *p != x; p = &(*p)->next) {
    }
    *p = x->next;
    if (x->freed && x->kind == IPC_MEM) {
        a350_hbm_free(x->block);
    } else if (x->freed && x->kind == IPC_NOTIFY) {
        a350_notify_free(x->dev->card, (uint32_t)x->block);
    }
    if (x->mem_fd >= 0) {
        close(x->mem_fd);
    }
    free(x->pids);
    free(x);
}

static bool same_object(const export *x, ipc_kind kind, const acl_dev *d,
                        uint64_t block)
{
    return x->kind == kind && x->dev == d && x->block == block;
}

/* Another export of an object that is freed; it has leases then. Lock held. */
static bool held_elsewhere(const export *x)
{
    const export *o;

    for (o = exports; o; o = o->next) {
        if (o != x && o->freed && same_object(o, x->kind, x->dev, x->block)) {
            return true;
        }
    }
    return false;
}

/* Lock held. */
static void lease_gone(export *x)
{
    if (--x->leases || !(x->freed || x->revoked)) {
        return;
    }
    if (x->freed && held_elsewhere(x)) {
        x->freed = false;        /* that one's last lease frees it */
    }
    export_end(x);
}

static export *export_by_nonce(ipc_kind kind, uint64_t nonce)
{
    export *x;

    for (x = exports; x && (x->kind != kind || x->nonce != nonce);
         x = x->next) {
    }
    return x;
}

/* One of ours whose key is not closed. */
static export *export_by_key(const char *key)
{
    export *x;
    uint64_t nonce;
    ipc_kind kind;
    int pid;

    x = key_parse(key, &kind, &pid, &nonce) && pid == (int)getpid()
        ? export_by_nonce(kind, nonce) : NULL;
    return x && !x->revoked ? x : NULL;
}

static bool pid_allowed(const export *x, int pid)
{
    size_t i;

    if (x->any_pid || pid == (int)getpid()) {
        return true;
    }
    for (i = 0; i < x->num_pids; i++) {
        if (x->pids[i] == pid) {
            return true;
        }
    }
    return false;
}

/* ---- server ---- */

static void refuse(reply *r, aclError code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void refuse(reply *r, aclError code, const char *fmt, ...)
{
    va_list ap;

    r->code = code;
    va_start(ap, fmt);
    vsnprintf(r->text, sizeof(r->text), fmt, ap);
    va_end(ap);
}

/* What @q gets; NULL: a refusal. Lock held. */
static export *answer(int fd, const request *q, reply *r)
{
    struct ucred who = { 0, 0, 0 };
    socklen_t len = sizeof(who);
    export *x = export_by_nonce((ipc_kind)q->kind, q->nonce);

    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len);
    if (!x || x->freed) {
        refuse(r, ACL_ERROR_RT_PARAM_INVALID, "what the key stands for has "
               "been freed by process %d", (int)getpid());
    } else if (x->revoked) {
        refuse(r, ACL_ERROR_RT_PARAM_INVALID, "process %d has closed the key",
               (int)getpid());
    } else if (!pid_allowed(x, who.pid)) {
        refuse(r, ACL_ERROR_RT_NO_PERMISSION, "process %d may not import it: "
               "process %d has not named it (…SetImportPid), nor exported "
               "without validation of the process", (int)who.pid,
               (int)getpid());
    } else {
        r->info = x->info;
        return x;
    }
    return NULL;
}

/* With a descriptor, if @mem_fd is one. */
static bool send_reply(int fd, const reply *r, int mem_fd)
{
    union {
        struct cmsghdr h;
        char room[CMSG_SPACE(sizeof(int))];
    } c;
    struct iovec v = { (void *)r, sizeof(*r) };
    struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

    if (mem_fd >= 0) {
        memset(&c, 0, sizeof(c));
        m.msg_control = &c;
        m.msg_controllen = sizeof(c);
        c.h.cmsg_level = SOL_SOCKET;
        c.h.cmsg_type = SCM_RIGHTS;
        c.h.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&c.h), &mem_fd, sizeof(int));
    }
    return sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(*r);
}

/* False: the connection has ended. Lock held. */
static bool serve(conn *c)
{
    reply r = { .magic = MAGIC };
    request q;
    ssize_t n = recv(c->fd, &q, sizeof(q), MSG_DONTWAIT);
    export *x;

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return true;
    }
    if (n != (ssize_t)sizeof(q) || q.magic != MAGIC || c->x) {
        return false;
    }
    x = answer(c->fd, &q, &r);
    if (!send_reply(c->fd, &r, x ? x->mem_fd : -1) || !x) {
        return false;
    }
    x->leases++;
    c->x = x;
    return true;
}

static void conn_add(int fd)
{
    if (num_conns == room_conns) {
        size_t room = room_conns ? 2 * room_conns : 16;
        conn *c = realloc(conns, room * sizeof(*c));
        struct pollfd *p = c ? realloc(polls, (room + 1) * sizeof(*p)) : NULL;

        if (c) {
            conns = c;
        }
        if (!p) {
            close(fd);
            return;
        }
        polls = p;
        room_conns = room;
    }
    conns[num_conns].fd = fd;
    conns[num_conns].x = NULL;
    num_conns++;
}

static void conn_drop(size_t i)
{
    close(conns[i].fd);
    if (conns[i].x) {
        lease_gone(conns[i].x);
    }
    conns[i] = conns[--num_conns];
}

/* Lock held. False: there is no descriptor for who comes. */
static bool take_in(void)
{
    size_t silent = 0, oldest = 0, i;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    bool room = fd >= 0 || errno == EAGAIN || errno == EINTR ||
                errno == ECONNABORTED;

    for (i = num_conns; i-- > 0;) {
        if (!conns[i].x) {
            silent++;
            oldest = i;
        }
    }
    if (silent && (!room || silent > SILENT_MAX)) {
        conn_drop(oldest);
        room = true;
    }
    if (fd >= 0) {
        conn_add(fd);
    }
    return room;
}

static void *server(void *opaque)
{
    bool room = true;
    size_t i, n;

    (void)opaque;
    for (;;) {
        pthread_mutex_lock(&lock);
        polls[0].fd = listener;
        polls[0].events = POLLIN;
        for (i = 0; i < num_conns; i++) {
            polls[i + 1].fd = conns[i].fd;
            polls[i + 1].events = POLLIN;
        }
        n = num_conns;
        pthread_mutex_unlock(&lock);
        if (!room) {
            usleep(10000);       /* the caller will not go away */
        }
        if (poll(polls, n + 1, -1) < 0) {
            continue;
        }
        pthread_mutex_lock(&lock);
        for (i = n; i-- > 0;) {
            if (polls[i + 1].revents && !serve(&conns[i])) {
                conn_drop(i);
            }
        }
        room = !polls[0].revents || take_in();
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

/* A forked child has no server, and nothing of its parent's to serve. */
static void forget_parent(void)
{
    size_t i;

    close(listener);
    for (i = 0; i < num_conns; i++) {
        close(conns[i].fd);
    }
    num_conns = 0;
    exports = NULL;
    listener = -1;
}

/* Lock held. */
static aclError server_start(const char *func)
{
    struct sockaddr_un a;
    socklen_t len = server_name((int)getpid(), &a);
    pthread_t t;
    int fd;

    if (listener >= 0 && owner == getpid()) {
        return ACL_SUCCESS;
    }
    if (listener >= 0) {
        forget_parent();
    }
    polls = polls ? polls : malloc(sizeof(*polls));
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (!polls || fd < 0 || bind(fd, (struct sockaddr *)&a, len) ||
        listen(fd, 64)) {
        aclError rc = acl_fail(func, ACL_ERROR_RT_INTERNAL_ERROR, "the socket "
                               "for importers cannot be made: %s",
                               strerror(errno));

        if (fd >= 0) {
            close(fd);
        }
        return rc;
    }
    listener = fd;
    owner = getpid();
    if (a350_thread_create(&t, NULL, server, NULL)) {
        close(fd);
        listener = -1;
        return acl_fail(func, ACL_ERROR_RT_INTERNAL_ERROR, "the thread for "
                        "importers cannot be started");
    }
    pthread_detach(t);
    return ACL_SUCCESS;
}

aclError ipc_export(const char *func, ipc_kind kind, acl_dev *d,
                    const ipc_info *info, uint64_t block, bool any_pid,
                    int mem_fd, char *key, size_t size)
{
    export *x = calloc(1, sizeof(*x));
    aclError rc;

    if (!x || getrandom(&x->nonce, sizeof(x->nonce), 0) < 0) {
        free(x);
        return acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "out of host "
                        "memory");
    }
    x->kind = kind;
    x->dev = d;
    x->info = *info;
    x->block = block;
    x->any_pid = any_pid;
    x->mem_fd = mem_fd >= 0 ? fcntl(mem_fd, F_DUPFD_CLOEXEC, 0) : -1;
    pthread_mutex_lock(&lock);
    rc = server_start(func);
    if (rc == ACL_SUCCESS && mem_fd >= 0 && x->mem_fd < 0) {
        rc = acl_fail(func, ACL_ERROR_RT_INTERNAL_ERROR, "no file descriptor "
                      "for importers");
    }
    if (rc == ACL_SUCCESS && held_elsewhere(x)) {
        rc = acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "it is freed already; "
                      "only importers still have it");
    }
    if (rc == ACL_SUCCESS) {
        x->next = exports;
        exports = x;
        snprintf(key, size, "atlas350:%c:%d:%016llx", (char)kind,
                 (int)getpid(), (unsigned long long)x->nonce);
    }
    pthread_mutex_unlock(&lock);
    if (rc) {
        if (x->mem_fd >= 0) {
            close(x->mem_fd);
        }
        free(x);
    }
    return rc;
}

/* Lock held. */
static bool pids_add(export *x, const int32_t *pid, size_t num)
{
    int32_t *p = realloc(x->pids, (x->num_pids + num) * sizeof(*p));

    if (!p) {
        return false;
    }
    memcpy(p + x->num_pids, pid, num * sizeof(*p));
    x->pids = p;
    x->num_pids += num;
    return true;
}

aclError ipc_allow_key(const char *func, const char *key, const int32_t *pid,
                       size_t num)
{
    aclError rc = ACL_SUCCESS;
    export *x;

    pthread_mutex_lock(&lock);
    x = export_by_key(key);
    if (!x) {
        rc = acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "key \"%.64s\" is not "
                      "of this process", key);
    } else if (!pids_add(x, pid, num)) {
        rc = acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "out of host "
                      "memory");
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

aclError ipc_allow(const char *func, ipc_kind kind, const acl_dev *d,
                   uint64_t block, const int32_t *pid, size_t num)
{
    bool found = false, ok = true;
    export *x;

    pthread_mutex_lock(&lock);
    for (x = exports; x; x = x->next) {
        if (same_object(x, kind, d, block)) {
            found = true;
            ok = ok && pids_add(x, pid, num);
        }
    }
    pthread_mutex_unlock(&lock);
    if (!found) {
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "it has no key: call "
                        "%s first", kind_name(kind));
    }
    return ok ? ACL_SUCCESS
              : acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "out of host "
                         "memory");
}

bool ipc_revoke_key(const char *key)
{
    export *x;

    pthread_mutex_lock(&lock);
    x = export_by_key(key);
    if (x) {
        x->revoked = true;
        if (!x->leases && !x->freed) {
            export_end(x);
        }
    }
    pthread_mutex_unlock(&lock);
    return x != NULL;
}

bool ipc_key_ours(const char *key)
{
    bool ours;

    pthread_mutex_lock(&lock);
    ours = export_by_key(key) != NULL;
    pthread_mutex_unlock(&lock);
    return ours;
}

ipc_hold ipc_freed(ipc_kind kind, acl_dev *d, uint64_t block)
{
    export *x, *next;
    ipc_hold hold = IPC_FREE;

    pthread_mutex_lock(&lock);
    for (x = exports; x; x = next) {
        next = x->next;
        if (!same_object(x, kind, d, block)) {
            continue;
        }
        if (x->freed) {
            hold = IPC_HELD_BEFORE;
            break;
        }
        if (x->leases) {
            x->freed = true;
            hold = IPC_HELD;
        } else {
            export_end(x);
        }
    }
    pthread_mutex_unlock(&lock);
    return hold;
}

void ipc_device_gone(acl_dev *d)
{
    static const char why = END_RESET;
    export *x, *next;
    size_t i;

    pthread_mutex_lock(&lock);
    for (i = num_conns; i-- > 0;) {
        if (conns[i].x && conns[i].x->dev == d) {
            if (send(conns[i].fd, &why, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
                /* The importer sees the end of the connection. */
            }
            shutdown(conns[i].fd, SHUT_RDWR);
            conns[i].x = NULL;   /* the server drops what is left of it */
        }
    }
    for (x = exports; x; x = next) {
        next = x->next;
        if (x->dev == d) {
            x->freed = false;    /* its memory goes with the card */
            export_end(x);
        }
    }
    pthread_mutex_unlock(&lock);
}

/* ---- importing ---- */

/* Anybody may take the name of a process that has no server. */
static bool served_by(int fd, int pid)
{
    struct ucred who = { 0, 0, 0 };
    socklen_t len = sizeof(who);

    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) &&
           who.pid == pid;
}

static bool receive_reply(int fd, reply *r, int *mem_fd)
{
    union {
        struct cmsghdr h;
        char room[CMSG_SPACE(sizeof(int))];
    } c;
    struct iovec v = { r, sizeof(*r) };
    struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &c,
                        .msg_controllen = sizeof(c) };
    struct pollfd p = { .fd = fd, .events = POLLIN };
    struct cmsghdr *h;

    *mem_fd = -1;
    if (poll(&p, 1, ANSWER_MS) != 1 ||
        recvmsg(fd, &m, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*r)) {
        return false;
    }
    h = CMSG_FIRSTHDR(&m);
    if (h && h->cmsg_type == SCM_RIGHTS) {
        memcpy(mem_fd, CMSG_DATA(h), sizeof(int));
    }
    r->text[sizeof(r->text) - 1] = '\0';
    return r->magic == MAGIC;
}

aclError ipc_import(const char *func, ipc_kind kind, const char *key,
                    ipc_lease *lease)
{
    const struct timeval limit = { ANSWER_MS / 1000, 0 };
    request q = { .magic = MAGIC, .kind = (uint32_t)kind };
    struct sockaddr_un a;
    bool there;
    ipc_kind k;
    socklen_t len;
    reply r;
    int fd;

    if (!key_parse(key, &k, &lease->pid, &q.nonce) || k != kind) {
        return ipc_bad_key(func, kind, key);
    }
    len = server_name(lease->pid, &a);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return acl_fail(func, ACL_ERROR_RT_INTERNAL_ERROR, "socket: %s",
                        strerror(errno));
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    lease->fd = fd;
    lease->mem_fd = -1;
    there = !connect(fd, (struct sockaddr *)&a, len)
            ? served_by(fd, lease->pid) : errno == EAGAIN;
    if (!there) {
        ipc_lease_end(lease);
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "process %d, which "
                        "made the key, is not there any more", lease->pid);
    }
    if (send(fd, &q, sizeof(q), MSG_NOSIGNAL) != (ssize_t)sizeof(q) ||
        !receive_reply(fd, &r, &lease->mem_fd)) {
        ipc_lease_end(lease);
        return acl_fail(func, ACL_ERROR_RT_INTERNAL_ERROR, "process %d, which "
                        "made the key, does not answer", lease->pid);
    }
    if (r.code) {
        ipc_lease_end(lease);
        return acl_fail(func, r.code, "%s", r.text);
    }
    lease->info = r.info;
    return ACL_SUCCESS;
}

const char *ipc_lease_ended(const ipc_lease *lease)
{
    char why;
    ssize_t n = recv(lease->fd, &why, 1, MSG_DONTWAIT | MSG_PEEK);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return NULL;
    }
    return n == 1 && why == END_RESET ? "has reset its device" : "has ended";
}

void ipc_lease_end(ipc_lease *lease)
{
    close(lease->fd);
    if (lease->mem_fd >= 0) {
        close(lease->mem_fd);
    }
    lease->fd = lease->mem_fd = -1;
}
