/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Root sessions: all ranks of a new communicator say hello to one of them,
 * which tells everybody who the others are - or, to everybody, why it failed:
 * a setting that differs, a rank that came twice, ranks that did not come.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "net.h"

typedef struct hello {
    uint8_t nonce[HCL_NONCE];
    hcl_settings set;
    hcl_rank_info info;
} hello;

typedef struct root {
    struct root *next;
    uint8_t nonce[HCL_NONCE];
    uint64_t deadline;           /* 0: nobody has come yet */
    hcl_settings set;            /* of the first that came */
    uint32_t first_rank, n_ranks, have;
    hcl_rank_info *table;
    hcl_conn **conn;             /* by rank, NULL: not here */
} root;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static root *roots;

HcclResult hcl_root_open_as(const uint8_t nonce[HCL_NONCE])
{
    root *r;

    pthread_mutex_lock(&lock);
    for (r = roots; r; r = r->next) {
        if (!memcmp(r->nonce, nonce, HCL_NONCE)) {
            break;
        }
    }
    if (!r) {
        r = calloc(1, sizeof(*r));
        if (r) {
            memcpy(r->nonce, nonce, HCL_NONCE);
            r->next = roots;
            roots = r;
        }
    }
    pthread_mutex_unlock(&lock);
    return r ? HCCL_SUCCESS
             : hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
}

HcclResult hcl_root_open(uint8_t nonce[HCL_NONCE])
{
    HcclResult rc = hcl_random(nonce, HCL_NONCE);

    return rc == HCCL_SUCCESS ? hcl_root_open_as(nonce) : rc;
}

/* ---- server thread, under the lock ---- */

static void root_end(root *r)
{
    root **p;
    uint32_t i;

    for (p = &roots; *p != r; p = &(*p)->next) {
    }
    *p = r->next;
    for (i = 0; r->conn && i < r->n_ranks; i++) {
        if (r->conn[i]) {
            hcl_conn_close_later(r->conn[i]);
        }
    }
    free(r->conn);
    free(r->table);
    free(r);
}

static void tell_failure(hcl_conn *c, uint32_t code, const char *text)
{
    char buf[1100];

    memcpy(buf, &code, sizeof(code));
    snprintf(buf + sizeof(code), sizeof(buf) - sizeof(code), "%s", text);
    hcl_conn_send(c, HCL_F_FAIL, buf,
                  (uint32_t)(sizeof(code) + strlen(buf + sizeof(code)) + 1));
}

/*
 * To all that came. This process's own ranks hear it last: they may end the
 * process, and the others would hear of a reset connection instead.
 */
static void tell_all(root *r, void (*tell)(root *r, uint32_t rank,
                                           const void *what),
                     const void *what)
{
    uint32_t own = (uint32_t)getpid(), i;
    int pass;

    for (pass = 0; pass < 2; pass++) {
        for (i = 0; i < r->n_ranks; i++) {
            if (r->conn[i] && (r->table[i].pid == own) == pass) {
                tell(r, i, what);
            }
        }
    }
    root_end(r);
}

typedef struct failure {
    uint32_t code;
    const char *text;
} failure;

static void tell_one_failure(root *r, uint32_t rank, const void *what)
{
    const failure *f = what;

    tell_failure(r->conn[rank], f->code, f->text);
}

static void root_fail(root *r, uint32_t code, const char *text)
{
    failure f = { code, text };

    tell_all(r, tell_one_failure, &f);
}

#define FIELD(code, label, member, fmt)                                     \
    if (a->member != b->member) {                                           \
        snprintf(text, len, code " communicator %s: " label " differs "     \
                 "between ranks: rank %u has " fmt ", rank %u has " fmt,    \
                 a->name, rank_a, a->member, rank_b, b->member);            \
        return true;                                                        \
    }
#define TEXT(code, label, member)                                           \
    if (strcmp(a->member, b->member)) {                                     \
        snprintf(text, len, code " communicator %s: " label " differs "     \
                 "between ranks: rank %u has \"%s\", rank %u has \"%s\"",   \
                 a->name, rank_a, a->member, rank_b, b->member);            \
        return true;                                                        \
    }

/* Values that are not set are shown as 4294967295, what the user gave. */
bool hcl_settings_differ(const hcl_settings *a, uint32_t rank_a,
                         const hcl_settings *b, uint32_t rank_b, char *text,
                         size_t len)
{
    FIELD("EI0005", "nRanks", n_ranks, "%u")
    TEXT("EI0008", "library version", version)
    TEXT("EI0005", "hcclCommName", name)
    FIELD("EI0005", "hcclBufferSize (HCCL_BUFFSIZE)", buffer_mib, "%u MiB")
    FIELD("EI0005", "hcclOpExpansionMode (HCCL_OP_EXPANSION_MODE)", expansion,
          "%u")
    FIELD("EI0005", "hcclChannelSqDepth", sq_depth, "%u")
    FIELD("EI0005", "hcclQos", qos, "%u")
    FIELD("EI0005", "hcclRdmaTrafficClass", traffic_class, "%u")
    FIELD("EI0005", "hcclRdmaServiceLevel", service_level, "%u")
    TEXT("EI0005", "hcclAlgo", algo)
    FIELD("EI0005", "hcclAlgo (behind its first 63 characters)", algo_digest,
          "digest 0x%x")
    return false;
}

static bool card_taken(const root *r, const hello *h, char *text, size_t len)
{
    uint32_t i;

    for (i = 0; i < r->n_ranks; i++) {
        if (r->conn[i] && r->table[i].fabric == h->info.fabric &&
            !memcmp(r->table[i].eid, h->info.eid, A350_EID_LEN)) {
            snprintf(text, len, "EI0015 communicator %s: ranks %u and %u both "
                     "use card %u of the fabric; one rank for each card",
                     r->set.name, i, h->info.rank, h->info.card_index);
            return true;
        }
    }
    return false;
}

static int root_first(root *r, const hello *h)
{
    uint32_t n = h->set.n_ranks;

    if (n == 0 || n > HCL_RANKS_MAX) {
        return -1;
    }
    r->table = calloc(n, sizeof(*r->table));
    r->conn = calloc(n, sizeof(*r->conn));
    if (!r->table || !r->conn) {
        free(r->table);
        free(r->conn);
        r->table = NULL;
        r->conn = NULL;
        return -1;
    }
    r->n_ranks = n;
    r->set = h->set;
    r->first_rank = h->info.rank;
    /* A little before the ranks' own limit, so that they hear the reason. */
    r->deadline = hcl_connect_deadline() - 300000000ull;
    return 0;
}

static void tell_one_table(root *r, uint32_t rank, const void *unused)
{
    (void)unused;
    hcl_conn_send(r->conn[rank], HCL_F_TABLE, r->table,
                  (uint32_t)(r->n_ranks * sizeof(*r->table)));
}

static int root_add(root *r, hcl_conn *conn, const hello *h)
{
    uint32_t rank = h->info.rank;
    char text[1024];

    if (!r->n_ranks && root_first(r, h)) {
        return -1;
    }
    if (hcl_settings_differ(&r->set, r->first_rank, &h->set, rank, text,
                            sizeof(text)) ||
        card_taken(r, h, text, sizeof(text))) {
        tell_failure(conn, HCCL_E_PARA, text);
        root_fail(r, HCCL_E_PARA, text);
        return -1;
    }
    if (rank >= r->n_ranks || r->conn[rank]) {
        snprintf(text, sizeof(text), "EI0015 communicator %s: rank %u %s",
                 r->set.name, rank, rank >= r->n_ranks ? "is out of range"
                                                       : "came twice");
        tell_failure(conn, HCCL_E_PARA, text);
        return -1;
    }
    r->table[rank] = h->info;
    r->conn[rank] = conn;
    if (++r->have == r->n_ranks) {
        tell_all(r, tell_one_table, NULL);
    }
    return 0;
}

int hcl_root_on_hello(hcl_conn *conn, const uint8_t *data, uint32_t len)
{
    hello h;
    root *r;
    int rc = -1;

    if (len != sizeof(h)) {
        return -1;
    }
    memcpy(&h, data, sizeof(h));
    h.set.name[sizeof(h.set.name) - 1] = '\0';
    h.set.version[sizeof(h.set.version) - 1] = '\0';
    h.set.algo[sizeof(h.set.algo) - 1] = '\0';
    h.info.ip[sizeof(h.info.ip) - 1] = '\0';
    pthread_mutex_lock(&lock);
    for (r = roots; r; r = r->next) {
        if (!memcmp(r->nonce, h.nonce, HCL_NONCE)) {
            break;
        }
    }
    if (r) {
        rc = root_add(r, conn, &h);
    } else {
        tell_failure(conn, HCCL_E_NOT_FOUND, "EI0015 this process does not "
                     "wait for ranks of this communicator (the root "
                     "information is used up or of another job)");
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

void hcl_root_on_gone(hcl_conn *conn)
{
    char text[256];
    root *r;
    uint32_t i;

    pthread_mutex_lock(&lock);
    for (r = roots; r; r = r->next) {
        for (i = 0; i < r->n_ranks; i++) {
            if (r->conn[i] == conn) {
                r->conn[i] = NULL;
                snprintf(text, sizeof(text), "EI0015 communicator %s: rank %u "
                         "left while the others were awaited", r->set.name, i);
                root_fail(r, HCCL_E_REMOTE, text);
                goto out;
            }
        }
    }
out:
    pthread_mutex_unlock(&lock);
}

bool hcl_root_holds(const hcl_conn *conn)
{
    bool holds = false;
    const root *r;
    uint32_t i;

    pthread_mutex_lock(&lock);
    for (r = roots; r && !holds; r = r->next) {
        for (i = 0; i < r->n_ranks && !holds; i++) {
            holds = r->conn[i] == conn;
        }
    }
    pthread_mutex_unlock(&lock);
    return holds;
}

static void missing_text(const root *r, char *text, size_t len)
{
    size_t n;
    uint32_t i, shown = 0;

    n = (size_t)snprintf(text, len, "EI0015 communicator %s: %u of %u ranks "
                         "came within %u s (HCCL_CONNECT_TIMEOUT); missing:",
                         r->set.name, r->have, r->n_ranks,
                         hcl_connect_limit());
    for (i = 0; i < r->n_ranks && n < len; i++) {
        if (!r->conn[i] && shown++ < 16) {
            n += (size_t)snprintf(text + n, len - n, " %u", i);
        }
    }
    if (shown > 16 && n < len) {
        snprintf(text + n, len - n, " and %u more", shown - 16);
    }
}

void hcl_root_tick(uint64_t now)
{
    char text[1024];
    root *r;

    pthread_mutex_lock(&lock);
    for (r = roots; r; r = r->next) {
        if (r->deadline && now >= r->deadline) {
            missing_text(r, text, sizeof(text));
            root_fail(r, HCCL_E_TIMEOUT, text);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
}

/* ---- ranks ---- */

/* What one port of a root that is looked for had to say. */
typedef struct answer {
    HcclResult code;
    char number[8];
    char text[1024];
} answer;

__attribute__((format(printf, 4, 5)))
static HcclResult answer_is(answer *a, HcclResult code, const char *number,
                            const char *fmt, ...)
{
    va_list ap;

    a->code = code;
    snprintf(a->number, sizeof(a->number), "%s", number);
    va_start(ap, fmt);
    vsnprintf(a->text, sizeof(a->text), fmt, ap);
    va_end(ap);
    return code;
}

/*
 * No answer. Of a root that is looked for, HCCL_E_AGAIN: nobody listens there
 * yet, or somebody else, who ends.
 */
static HcclResult no_answer(answer *a, const hcl_where *w, uint32_t port,
                            int err)
{
    bool again = !w->listens && (err == ECONNREFUSED || err == ECONNRESET ||
                                 err == EPIPE || err == EPROTO);

    if (again) {
        answer_is(a, HCCL_E_TCP_CONNECT, "EI0015", "port %u: %s", port,
                  strerror(err));
        return HCCL_E_AGAIN;
    }
    return answer_is(a, err == ETIMEDOUT ? HCCL_E_TIMEOUT : HCCL_E_TCP_CONNECT,
                     "EI0015", "the root at %s:%u: %s (limit %u s, "
                     "HCCL_CONNECT_TIMEOUT); it has ended, never called "
                     "HcclGetRootInfo, or the network does not lead there",
                     w->ip, port, strerror(err), hcl_connect_limit());
}

/* tell_failure()'s frame: a code, a message number, a space, a text. */
static HcclResult refusal(answer *a, const hcl_where *w, const char *reply,
                          uint32_t len)
{
    const char *text = reply + sizeof(uint32_t);
    uint32_t code = HCCL_SUCCESS;
    char number[8] = "";

    if (len > sizeof(code) + 7) {
        memcpy(&code, reply, sizeof(code));
        snprintf(number, sizeof(number), "%.6s", text);
    }
    if (code == HCCL_SUCCESS || code >= HCCL_E_RESERVED ||
        strncmp(number, "EI", 2) || strlen(number) != 6 || text[6] != ' ') {
        answer_is(a, HCCL_E_NETWORK, "EI0015", "the root refused this rank "
                  "without a legible reason (code %u, %u bytes)", code, len);
        return w->listens ? a->code : HCCL_E_AGAIN;
    }
    answer_is(a, (HcclResult)code, number, "%s", text + 7);
    return code == HCCL_E_NOT_FOUND && !w->listens ? HCCL_E_AGAIN : a->code;
}

/* Checks what the root sent: every entry is used as it is later. */
static HcclResult table_ok(answer *a, const hcl_rank_info *t, uint32_t len,
                           uint32_t n)
{
    uint32_t i;

    if (len != (uint64_t)n * sizeof(*t)) {
        return answer_is(a, HCCL_E_NETWORK, "EI0015", "the root sent a table "
                         "of %u bytes for %u ranks", len, n);
    }
    for (i = 0; i < n; i++) {
        if (t[i].rank != i || t[i].port > 65535 ||
            !memchr(t[i].ip, 0, HCL_IP_LEN)) {
            return answer_is(a, HCCL_E_NETWORK, "EI0015", "entry %u of the "
                             "root's table is broken", i);
        }
    }
    return HCCL_SUCCESS;
}

/* HCCL_E_AGAIN: it is not there, or not yet; else the end, with @a filled. */
static HcclResult join_once(const hcl_where *w, uint32_t port, const hello *h,
                            hcl_rank_info **table, uint64_t deadline,
                            answer *a)
{
    uint64_t grace = deadline + 1000000000ull;
    void *reply = NULL;
    uint16_t type = 0;
    uint32_t len = 0;
    HcclResult ret;
    int fd, err, rc;

    do {
        fd = hcl_net_connect(w->ip, port, deadline, &err);
    } while (fd < 0 && err == EINTR);
    if (fd < 0) {
        ret = no_answer(a, w, port, err);
        return err == ECONNREFUSED ? HCCL_E_AGAIN : ret;
    }
    rc = hcl_net_send(fd, HCL_F_HELLO, h, sizeof(*h), NULL, 0, deadline);
    if (!rc) {
        rc = hcl_net_recv(fd, &type, &reply, &len, grace);
    }
    close(fd);
    if (rc) {
        return no_answer(a, w, port, -rc);
    }
    if (type == HCL_F_TABLE) {
        ret = table_ok(a, reply, len, h->set.n_ranks);
        if (ret == HCCL_SUCCESS) {
            *table = reply;
            return ret;
        }
    } else if (type == HCL_F_FAIL) {
        ret = refusal(a, w, reply, len);
    } else {
        ret = answer_is(a, HCCL_E_NETWORK, "EI0015", "the root at %s:%u "
                        "answers with a frame of type %u; expected: %u "
                        "(table) or %u (refusal); no process of HCCL listens "
                        "there", w->ip, port, type, HCL_F_TABLE, HCL_F_FAIL);
        ret = w->listens ? ret : HCCL_E_AGAIN;
    }
    free(reply);
    return ret;
}

static HcclResult not_found(const hcl_where *w, const answer *last)
{
    char ports[32 * HCL_PORT_RANGES];

    if (w->listens) {
        return hcl_fail(last->code, last->number, "%s", last->text);
    }
    return hcl_fail(HCCL_E_TIMEOUT, "EI0015", "no process at %s, %s waits for "
                    "the ranks of this rank table within %u s "
                    "(HCCL_CONNECT_TIMEOUT); rank 0 did not come, or listens "
                    "elsewhere (its host_ip and host_port, "
                    "HCCL_HOST_SOCKET_PORT_RANGE, HCCL_IF_BASE_PORT); the last "
                    "answer: %s", w->ip,
                    hcl_ports_text(w, ports, sizeof(ports)),
                    hcl_connect_limit(), last->text);
}

HcclResult hcl_root_join(const hcl_where *w, const uint8_t nonce[HCL_NONCE],
                         const hcl_settings *set, const hcl_rank_info *self,
                         hcl_rank_info **table, uint64_t deadline)
{
    hello h = { .set = *set, .info = *self };
    /* A root that gave its information listens already. */
    uint64_t soon = hcl_now_ns() + 3000000000ull;
    uint64_t limit = w->listens && soon < deadline ? soon : deadline;
    answer last = { 0 };
    HcclResult rc;
    uint32_t port;
    unsigned r;

    memcpy(h.nonce, nonce, HCL_NONCE);
    for (;;) {
        for (r = 0; r < w->ranges; r++) {
            for (port = w->ports[r].first; port <= w->ports[r].last; port++) {
                rc = join_once(w, port, &h, table, deadline, &last);
                if (rc != HCCL_E_AGAIN) {
                    return rc == HCCL_SUCCESS ? rc
                           : hcl_fail(last.code, last.number, "%s",
                                      last.text);
                }
                if (hcl_now_ns() >= limit) {
                    return not_found(w, &last);
                }
            }
        }
        usleep(20000);
    }
}
