/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's one TCP server, and the client side of its protocol.
 *
 * The server thread reads whole frames without blocking and hands them to the
 * root sessions (root.c) and the mailboxes (mail.c). It answers with short
 * frames only, except for the rank table.
 */
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "a350_tcp.h"
#include "net.h"

#define SEND_LIMIT_NS   (10ull * 1000000000ull)
#define IDLE_LIMIT_NS   (30ull * 1000000000ull)  /* no frame, or not all of it */

struct hcl_conn {
    int fd;
    bool closing;
    bool held;                   /* a root session answers it later */
    uint64_t since;              /* when it came, or its last frame began */
    size_t have, want;
    hcl_frame head;
    uint8_t *body;
    char peer[HCL_IP_LEN + 8];
};

#define LISTENERS_MAX   16u

typedef struct listener {
    int fd;
    char ip[HCL_IP_LEN];
    uint32_t port;
} listener;

static struct {
    pthread_mutex_t lock;        /* who starts it, or adds a listener */
    bool running;
    pid_t pid;
    unsigned listeners;          /* read by the server thread: only grows */
    listener at[LISTENERS_MAX];  /* the first is shown to other ranks */
    hcl_conn **conn;
    size_t n, cap;
} srv = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- sockets ---- */

static int poll_until(int fd, short events, uint64_t deadline)
{
    for (;;) {
        struct pollfd p = { .fd = fd, .events = events };
        uint64_t now = hcl_now_ns();
        uint64_t ms = now < deadline ? (deadline - now) / 1000000 + 1 : 0;
        int rc = poll(&p, 1, ms > 60000 ? 60000 : (int)ms);

        if (rc > 0) {
            return 0;
        }
        if (rc < 0 && errno != EINTR) {
            return -errno;
        }
        if (hcl_now_ns() >= deadline) {
            return -ETIMEDOUT;
        }
    }
}

static int write_all(int fd, const void *data, size_t len, uint64_t deadline)
{
    const char *p = data;

    while (len) {
        ssize_t n = send(fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        int rc;

        if (n > 0) {
            p += n;
            len -= (size_t)n;
            continue;
        }
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            return -errno;
        }
        rc = poll_until(fd, POLLOUT, deadline);
        if (rc) {
            return rc;
        }
    }
    return 0;
}

static int read_all(int fd, void *data, size_t len, uint64_t deadline)
{
    char *p = data;

    while (len) {
        ssize_t n = recv(fd, p, len, MSG_DONTWAIT);
        int rc;

        if (n > 0) {
            p += n;
            len -= (size_t)n;
            continue;
        }
        if (n == 0) {
            return -ECONNRESET;
        }
        if (errno != EAGAIN && errno != EINTR) {
            return -errno;
        }
        rc = poll_until(fd, POLLIN, deadline);
        if (rc) {
            return rc;
        }
    }
    return 0;
}

int hcl_net_send(int fd, uint16_t type, const void *head, uint32_t head_len,
                 const void *data, uint32_t len, uint64_t deadline)
{
    hcl_frame f = { HCL_FRAME_MAGIC, HCL_FRAME_VERSION, type, head_len + len,
                    0 };
    int rc = write_all(fd, &f, sizeof(f), deadline);

    if (!rc && head_len) {
        rc = write_all(fd, head, head_len, deadline);
    }
    if (!rc && len) {
        rc = write_all(fd, data, len, deadline);
    }
    return rc;
}

int hcl_net_recv(int fd, uint16_t *type, void **data, uint32_t *len,
                 uint64_t deadline)
{
    hcl_frame f;
    void *body;
    int rc = read_all(fd, &f, sizeof(f), deadline);

    if (rc) {
        return rc;
    }
    if (f.magic != HCL_FRAME_MAGIC || f.version != HCL_FRAME_VERSION ||
        f.length > HCL_FRAME_MAX) {
        return -EPROTO;
    }
    body = malloc(f.length + 1u);
    if (!body) {
        return -ENOMEM;
    }
    rc = read_all(fd, body, f.length, deadline);
    if (rc) {
        free(body);
        return rc;
    }
    ((char *)body)[f.length] = '\0';
    *type = f.type;
    *data = body;
    *len = f.length;
    return 0;
}

static socklen_t make_addr(const char *ip, uint32_t port,
                           struct sockaddr_storage *sa)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)sa;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)sa;

    memset(sa, 0, sizeof(*sa));
    if (inet_pton(AF_INET, ip, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        return sizeof(*v4);
    }
    if (inet_pton(AF_INET6, ip, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
        return sizeof(*v6);
    }
    return 0;
}

int hcl_net_connect(const char *ip, uint32_t port, uint64_t deadline, int *err)
{
    struct sockaddr_storage sa;
    socklen_t len = make_addr(ip, port, &sa), n = sizeof(*err);
    int fd, on = 1, rc;

    if (!len) {
        *err = EINVAL;
        return -1;
    }
    fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        *err = errno;
        return -1;
    }
    *err = 0;
    if (connect(fd, (struct sockaddr *)&sa, len) && errno != EINPROGRESS) {
        *err = errno;
    }
    if (!*err) {
        rc = poll_until(fd, POLLOUT, deadline);
        if (rc) {
            *err = -rc;
        } else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, err, &n)) {
            *err = errno;
        }
    }
    if (*err) {
        close(fd);
        return -1;
    }
    if (a350_tcp_close_own(fd)) {
        *err = ECONNREFUSED;
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

const char *hcl_ports_text(const hcl_where *w, char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "port%s", w->ranges > 1 ||
                                w->ports[0].first != w->ports[0].last ? "s"
                                                                      : "");
    unsigned i;

    for (i = 0; i < w->ranges && n < size; i++) {
        n += (size_t)snprintf(text + n, size - n, "%s %u", i ? "," : "",
                              w->ports[i].first);
        if (w->ports[i].first != w->ports[i].last && n < size) {
            n += (size_t)snprintf(text + n, size - n, "-%u",
                                  w->ports[i].last);
        }
    }
    return text;
}

/* ---- which address this host shows ---- */

/* HCCL_SOCKET_IFNAME: list of prefixes, ^ excludes, = exact. */
static bool name_matches(const char *rule, const char *name)
{
    bool exclude = rule[0] == '^', exact, hit = false;
    char list[256], *item, *save = NULL;

    rule += exclude;
    exact = rule[0] == '=';
    rule += exact;
    snprintf(list, sizeof(list), "%s", rule);
    for (item = strtok_r(list, ",", &save); item;
         item = strtok_r(NULL, ",", &save)) {
        hit |= exact ? !strcmp(item, name)
                     : !strncmp(item, name, strlen(item));
    }
    return hit != exclude;
}

/* Order without a rule: other interfaces by name, docker*, lo. */
static int rank_of(const char *name)
{
    if (!strcmp(name, "lo")) {
        return 2;
    }
    return strncmp(name, "docker", 6) ? 0 : 1;
}

static bool better(const char *a, const char *b)
{
    int ra = rank_of(a), rb = rank_of(b);

    return ra != rb ? ra < rb : strcmp(a, b) < 0;
}

static bool usable(const struct ifaddrs *i, const hcl_env *env)
{
    const struct sockaddr_in6 *v6 = (const void *)i->ifa_addr;

    if (!i->ifa_addr || i->ifa_addr->sa_family != env->family ||
        !(i->ifa_flags & IFF_UP)) {
        return false;
    }
    if (env->family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr)) {
        return false;
    }
    return !env->ifname[0] || name_matches(env->ifname, i->ifa_name);
}

static HcclResult choose_address(const hcl_env *env, char ip[HCL_IP_LEN])
{
    struct ifaddrs *all, *i, *best = NULL;

    if (env->if_ip[0]) {
        snprintf(ip, HCL_IP_LEN, "%.47s", env->if_ip);
        return HCCL_SUCCESS;
    }
    if (getifaddrs(&all)) {
        return hcl_fail(HCCL_E_SYSCALL, "EI0019",
                        "cannot list network interfaces: %s", strerror(errno));
    }
    for (i = all; i; i = i->ifa_next) {
        if (usable(i, env) && (!best || better(i->ifa_name, best->ifa_name))) {
            best = i;
        }
    }
    if (best && env->family == AF_INET) {
        inet_ntop(AF_INET, &((struct sockaddr_in *)best->ifa_addr)->sin_addr,
                  ip, HCL_IP_LEN);
    } else if (best) {
        inet_ntop(AF_INET6,
                  &((struct sockaddr_in6 *)best->ifa_addr)->sin6_addr, ip,
                  HCL_IP_LEN);
    }
    freeifaddrs(all);
    if (!best) {
        return hcl_fail(HCCL_E_NETWORK, "EI0019", "no network interface that "
                        "is up has an %s address%s%s; set HCCL_IF_IP or "
                        "HCCL_SOCKET_IFNAME, or bring up lo",
                        env->family == AF_INET ? "IPv4" : "IPv6",
                        env->ifname[0] ? " and matches HCCL_SOCKET_IFNAME="
                                       : "", env->ifname);
    }
    return HCCL_SUCCESS;
}

/* ---- server ---- */

static void conn_free(hcl_conn *c)
{
    hcl_root_on_gone(c);
    close(c->fd);
    free(c->body);
    free(c);
}

int hcl_conn_send(hcl_conn *c, uint16_t type, const void *data, uint32_t len)
{
    return hcl_net_send(c->fd, type, NULL, 0, data, len,
                        hcl_now_ns() + SEND_LIMIT_NS);
}

void hcl_conn_close_later(hcl_conn *c)
{
    c->closing = true;
}

static int dispatch(hcl_conn *c)
{
    switch (c->head.type) {
    case HCL_F_HELLO:
        return hcl_root_on_hello(c, c->body, c->head.length);
    case HCL_F_MAIL:
        return hcl_mail_on_frame(c, c->body, c->head.length);
    default:
        hcl_log(2, "%s sent a frame of unknown type %u", c->peer,
                c->head.type);
        return -1;
    }
}

static int head_complete(hcl_conn *c)
{
    if (c->head.magic != HCL_FRAME_MAGIC ||
        c->head.version != HCL_FRAME_VERSION ||
        c->head.length > HCL_FRAME_MAX) {
        hcl_log(2, "%s is not a rank (magic 0x%x, version %u, length %u)",
                c->peer, c->head.magic, c->head.version, c->head.length);
        return -1;
    }
    c->body = malloc(c->head.length + 1u);
    return c->body ? 0 : -1;
}

/* Reads what is there. Nonzero: the connection ends. */
static int conn_read(hcl_conn *c)
{
    for (;;) {
        size_t head = sizeof(c->head);
        bool in_head = c->have < head;
        uint8_t *to = in_head ? (uint8_t *)&c->head + c->have
                              : c->body + (c->have - head);
        size_t want = in_head ? head - c->have
                              : c->head.length - (c->have - head);
        ssize_t n = 0;

        if (want) {
            n = recv(c->fd, to, want, MSG_DONTWAIT);
            if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
                return 0;
            }
            if (n <= 0) {
                return -1;
            }
            if (!c->have) {
                c->since = hcl_now_ns();
            }
            c->have += (size_t)n;
        }
        if (in_head && c->have == head && head_complete(c)) {
            return -1;
        }
        if (c->have >= head && c->have == head + c->head.length) {
            int rc = dispatch(c);

            free(c->body);
            c->body = NULL;
            c->have = 0;
            c->since = hcl_now_ns();
            if (rc) {
                return rc;
            }
            c->held = hcl_root_holds(c);
        }
    }
}

static bool idle(const hcl_conn *c)
{
    return c->have || !c->held;
}

/* Ends the connection that nothing has come from for longest. */
static bool evict(void)
{
    size_t i, oldest = SIZE_MAX;

    for (i = 0; i < srv.n; i++) {
        if (idle(srv.conn[i]) &&
            (oldest == SIZE_MAX ||
             srv.conn[i]->since < srv.conn[oldest]->since)) {
            oldest = i;
        }
    }
    if (oldest == SIZE_MAX) {
        return false;
    }
    hcl_log(2, "no room for another connection; that of %s ends",
            srv.conn[oldest]->peer);
    conn_free(srv.conn[oldest]);
    srv.conn[oldest] = srv.conn[--srv.n];
    return true;
}

/* False: there is no room, and asking again at once would not help. */
static bool accept_one(int listen_fd)
{
    struct sockaddr_storage sa;
    socklen_t len = sizeof(sa);
    int fd = accept4(listen_fd, (struct sockaddr *)&sa, &len,
                     SOCK_CLOEXEC | SOCK_NONBLOCK), on = 1;
    hcl_conn *c;

    if (fd < 0) {
        return (errno != EMFILE && errno != ENFILE && errno != ENOMEM &&
                errno != ENOBUFS) || evict();
    }
    if (srv.n == HCL_CONNS_MAX && !evict()) {
        close(fd);
        return false;
    }
    if (srv.n == srv.cap) {
        size_t cap = srv.cap ? 2 * srv.cap : 64;
        void *p = realloc(srv.conn, cap * sizeof(*srv.conn));

        if (!p) {
            close(fd);
            return false;
        }
        srv.conn = p;
        srv.cap = cap;
    }
    c = calloc(1, sizeof(*c));
    if (!c) {
        close(fd);
        return false;
    }
    c->fd = fd;
    c->since = hcl_now_ns();
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (sa.ss_family == AF_INET) {
        inet_ntop(AF_INET, &((struct sockaddr_in *)&sa)->sin_addr, c->peer,
                  HCL_IP_LEN);
    } else {
        inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&sa)->sin6_addr, c->peer,
                  HCL_IP_LEN);
    }
    srv.conn[srv.n++] = c;
    return true;
}

static void sweep(uint64_t now)
{
    size_t i = 0;

    while (i < srv.n) {
        hcl_conn *c = srv.conn[i];

        if (c->closing || (idle(c) && now > c->since + IDLE_LIMIT_NS)) {
            srv.conn[i] = srv.conn[--srv.n];
            conn_free(c);
        } else {
            i++;
        }
    }
}

static void *serve(void *unused)
{
    struct pollfd *p = NULL;
    size_t cap = 0, i, n, k;
    bool room = true;

    (void)unused;
    for (;;) {
        if (cap < srv.n + LISTENERS_MAX) {
            void *q = realloc(p, (srv.n + 64) * sizeof(*p));

            if (q) {
                p = q;
                cap = srv.n + 64;
            }
        }
        if (!p) {
            usleep(100000);
            continue;
        }
        n = srv.n < cap - LISTENERS_MAX ? srv.n : cap - LISTENERS_MAX;
        k = __atomic_load_n(&srv.listeners, __ATOMIC_ACQUIRE);
        for (i = 0; i < n; i++) {
            p[i] = (struct pollfd){ .fd = srv.conn[i]->fd, .events = POLLIN };
        }
        /* Without room a waiting client is looked at only now and then. */
        for (i = 0; i < k; i++) {
            p[n + i] = (struct pollfd){ .fd = srv.at[i].fd,
                                        .events = room ? POLLIN : 0 };
        }
        room = true;
        if (poll(p, n + k, 100) > 0) {
            for (i = 0; i < n; i++) {
                if (p[i].revents && conn_read(srv.conn[i])) {
                    srv.conn[i]->closing = true;
                }
            }
            for (i = n; i < n + k && room; i++) {
                if (p[i].revents) {
                    room = accept_one(p[i].fd);
                }
            }
        }
        hcl_root_tick(hcl_now_ns());
        sweep(hcl_now_ns());
    }
    return NULL;
}

static int bind_one(const char *ip, uint32_t port)
{
    struct sockaddr_storage sa;
    socklen_t len = make_addr(ip, port, &sa);
    int fd, err, on = 1;

    if (!len) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    /* Ends of old connections do not keep a port from who listens next. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&sa, len) || listen(fd, 1024)) {
        err = errno;
        close(fd);
        errno = err;
        return -1;
    }
    return fd;
}

/* The first port that is free; -1 with errno. */
static int bind_first(const char *ip, const hcl_ports *ports, unsigned ranges)
{
    uint32_t port;
    unsigned r;
    int fd;

    errno = EADDRNOTAVAIL;
    for (r = 0; r < ranges; r++) {
        for (port = ports[r].first; port <= ports[r].last; port++) {
            fd = bind_one(ip, port);
            if (fd >= 0 || (errno != EADDRINUSE && errno != EACCES)) {
                return fd;
            }
        }
    }
    return -1;
}

/* Takes @fd over. */
static HcclResult add_listener(const char *ip, int fd)
{
    listener *l = &srv.at[srv.listeners];
    struct sockaddr_storage sa;
    socklen_t len = sizeof(sa);

    if (getsockname(fd, (struct sockaddr *)&sa, &len)) {
        close(fd);
        return hcl_fail(HCCL_E_SYSCALL, "EI0019", "getsockname: %s",
                        strerror(errno));
    }
    l->fd = fd;
    l->port = ntohs(sa.ss_family == AF_INET
                    ? ((struct sockaddr_in *)&sa)->sin_port
                    : ((struct sockaddr_in6 *)&sa)->sin6_port);
    snprintf(l->ip, sizeof(l->ip), "%s", ip);
    __atomic_store_n(&srv.listeners, srv.listeners + 1, __ATOMIC_RELEASE);
    return HCCL_SUCCESS;
}

static HcclResult open_listener(const hcl_env *env)
{
    char ip[HCL_IP_LEN];
    HcclResult rc = choose_address(env, ip);
    int fd;

    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    fd = bind_first(ip, env->ports, env->port_ranges);
    if (fd < 0 && !env->ports_by_user) {
        fd = bind_one(ip, 0);
    }
    if (fd < 0) {
        return hcl_fail(HCCL_E_NETWORK, "EI0019", "cannot listen at %s: %s; "
                        "ports come from HCCL_HOST_SOCKET_PORT_RANGE or "
                        "HCCL_IF_BASE_PORT, the address from HCCL_IF_IP or "
                        "HCCL_SOCKET_IFNAME", ip, strerror(errno));
    }
    return add_listener(ip, fd);
}

static bool listens_at(const listener *l, const hcl_where *w)
{
    unsigned r;

    for (r = 0; r < w->ranges; r++) {
        if (l->port >= w->ports[r].first && l->port <= w->ports[r].last) {
            return !strcmp(l->ip, w->ip);
        }
    }
    return false;
}

HcclResult hcl_server_also(const hcl_where *w)
{
    HcclResult rc = HCCL_SUCCESS;
    char ports[32 * HCL_PORT_RANGES];
    unsigned i;
    int fd = -1;

    pthread_mutex_lock(&srv.lock);
    for (i = 0; i < srv.listeners && !listens_at(&srv.at[i], w); i++) {
    }
    if (i == srv.listeners) {
        if (i < LISTENERS_MAX) {
            fd = bind_first(w->ip, w->ports, w->ranges);
        } else {
            errno = EMFILE;
        }
        if (fd < 0) {
            rc = hcl_fail(HCCL_E_NETWORK, "EI0019", "rank 0 of the rank table "
                          "cannot listen at %s, %s: %s (its host_ip and "
                          "host_port; without them HCCL_IF_IP and "
                          "HCCL_HOST_SOCKET_PORT_RANGE or HCCL_IF_BASE_PORT; "
                          "at most %u for each process)", w->ip,
                          hcl_ports_text(w, ports, sizeof(ports)),
                          strerror(errno), LISTENERS_MAX);
        } else {
            rc = add_listener(w->ip, fd);
        }
    }
    pthread_mutex_unlock(&srv.lock);
    return rc;
}

/* Under srv.lock. A forked child has no server thread: it starts its own. */
static HcclResult start(void)
{
    const hcl_env *env;
    pthread_attr_t attr;
    pthread_t t;
    HcclResult rc = hcl_env_get(&env);
    int err;

    srv.listeners = 0;
    if (rc == HCCL_SUCCESS) {
        rc = open_listener(env);
    }
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    srv.conn = NULL;
    srv.n = srv.cap = 0;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    err = a350_thread_create(&t, &attr, serve, NULL);
    pthread_attr_destroy(&attr);
    if (err) {
        close(srv.at[0].fd);
        return hcl_fail(HCCL_E_SYSCALL, "EI0007", "cannot start the server "
                        "thread: %s", strerror(err));
    }
    srv.running = true;
    srv.pid = getpid();
    return HCCL_SUCCESS;
}

HcclResult hcl_server_start(char ip[HCL_IP_LEN], uint32_t *port)
{
    HcclResult rc = HCCL_SUCCESS;

    pthread_mutex_lock(&srv.lock);
    if (!srv.running || srv.pid != getpid()) {
        rc = start();
    }
    if (rc == HCCL_SUCCESS) {
        memcpy(ip, srv.at[0].ip, HCL_IP_LEN);
        *port = srv.at[0].port;
    }
    pthread_mutex_unlock(&srv.lock);
    return rc;
}
