/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control plane: ranks as threads, over real sockets, on mock cards.
 * Expected values: spec/api/hccl-control-plane.md §4 to §10.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "hccl_internal.h"
#include "hccl-mock.h"
#include "net.h"
#include "own-end.h"
#include "tap.h"

#define RANKS 3

typedef struct rank {
    uint32_t rank, n;
    const HcclRootInfo *info;
    HcclCommConfig config;
    HcclComm comm;
    HcclResult rc;
    char text[1024], code[16];
    ThreadHandle thread;
    ChannelHandle channel[RANKS];
    pthread_t id;
    void *(*then)(struct rank *);
    void *answer;
} rank;

static pthread_barrier_t barrier;

static void keep(rank *r)
{
    snprintf(r->text, sizeof(r->text), "%s", a350_peek_error());
    snprintf(r->code, sizeof(r->code), "%s", mock_error_code());
}

static void *rank_main(void *opaque)
{
    rank *r = opaque;

    mock_device((int)r->rank);
    r->rc = HcclCommInitRootInfoConfig(r->n, r->info, r->rank, &r->config,
                                       &r->comm);
    keep(r);
    if (r->rc == HCCL_SUCCESS && r->then) {
        r->answer = r->then(r);
    }
    return NULL;
}

static void run(rank *r, uint32_t n, uint32_t start, HcclRootInfo *info,
                void *(*then)(rank *))
{
    uint32_t i;

    mock_device(0);
    HcclGetRootInfo(info);
    pthread_barrier_init(&barrier, NULL, start);
    for (i = 0; i < start; i++) {
        r[i].rank = i;
        r[i].n = n;
        r[i].info = info;
        r[i].then = then;
        if (!r[i].config.reserved[0]) {
            HcclCommConfigInit(&r[i].config);
            r[i].config.hcclBufferSize = 1;
        }
        pthread_create(&r[i].id, NULL, rank_main, &r[i]);
    }
    for (i = 0; i < start; i++) {
        pthread_join(r[i].id, NULL);
    }
    pthread_barrier_destroy(&barrier);
}

static HcclChannelDesc desc_to(HcclComm comm, uint32_t me, uint32_t peer)
{
    HcclChannelDesc d;
    CommLink *l;
    uint32_t n;

    HcclChannelDescInit(&d, 1);
    HcclRankGraphGetLinks(comm, 0, me, peer, &l, &n);
    d.remoteRank = peer;
    d.channelProtocol = COMM_PROTOCOL_UB_CTP;
    d.notifyNum = 3;
    d.localEndpoint.protocol = l->srcEndpointDesc.protocol;
    d.localEndpoint.commAddr = l->srcEndpointDesc.commAddr;
    d.localEndpoint.loc = l->srcEndpointDesc.loc;
    d.remoteEndpoint.protocol = l->dstEndpointDesc.protocol;
    d.remoteEndpoint.commAddr = l->dstEndpointDesc.commAddr;
    d.remoteEndpoint.loc = l->dstEndpointDesc.loc;
    return d;
}

/* Channels to all others; then what the objects of both ends say. */
static void *channels(rank *r)
{
    HcclChannelDesc d[RANKS];
    ChannelHandle c[RANKS];
    uint32_t i, n = 0;

    for (i = 0; i < r->n; i++) {
        if (i != r->rank) {
            d[n++] = desc_to(r->comm, r->rank, i);
        }
    }
    r->rc = HcclChannelAcquire(r->comm, COMM_ENGINE_AICPU_TS, d, n, c);
    keep(r);
    for (i = n = 0; i < r->n; i++) {
        r->channel[i] = i != r->rank ? c[n++] : 0;
    }
    if (r->rc == HCCL_SUCCESS) {
        r->rc = HcclThreadAcquire(r->comm, COMM_ENGINE_AICPU_TS, 1, 2,
                                  &r->thread);
    }
    return NULL;
}

static const a350_channel_obj *object(const rank *r, uint32_t peer)
{
    return a350_hbm_ptr(r->channel[peer], sizeof(a350_channel_obj));
}

static void test_channels(rank *r)
{
    const a350_channel_obj *a = object(&r[0], 1), *b = object(&r[1], 0);
    const a350_mem_token *m;
    void *mine = NULL, *seen = NULL;
    uint64_t size = 0, size2 = 0;
    uint32_t n = 0;
    CommMem *mems;
    char **tags;
    HcclChannelDesc d;
    ChannelHandle again = 0;

    ok(a && b && a->magic == A350_CHANNEL_MAGIC && a->peer_rank == 1 &&
       b->peer_rank == 0 && a->notify_num == 3, "channel objects");
    ok(!memcmp(a->eid, b->peer_eid, 16) && !memcmp(b->eid, a->peer_eid, 16),
       "each knows the other's end point");
    ok(a->remote_notify[1].addr ==
       a350_notify_addr(A350_DEV_BASE(1), b->local_notify[1]) &&
       b->remote_notify[2].addr ==
       a350_notify_addr(A350_DEV_BASE(0), a->local_notify[2]),
       "notify addresses are the peer's registers");
    HcclGetHcclBuffer(r[1].comm, &mine, &size);
    ok(HcclChannelGetHcclBuffer(r[0].comm, r[0].channel[1], &seen, &size2) ==
       HCCL_SUCCESS && seen == mine && size == size2 && size == 2u << 20,
       "the peer's HCCL buffer, 2 x 1 MiB");
    m = a350_hbm_ptr(a->remote_mems, sizeof(*m));
    ok(m->addr == (uintptr_t)mine && m->len == size &&
       m->token_value == 4711, "its token in the table");
    ok(HcclChannelGetRemoteMems(r[0].comm, r[0].channel[1], &n, &mems, &tags)
       == HCCL_SUCCESS && n == 1 && !strcmp(tags[0], "HcclBuffer") &&
       mems[0].addr == mine, "remote memories");
    d = desc_to(r[0].comm, 0, 1);
    ok(HcclChannelQuery(r[0].comm, COMM_ENGINE_AICPU_TS, &d, 1, &again) ==
       HCCL_SUCCESS && again == r[0].channel[1], "query finds the channel");
    ok(HcclChannelAcquire(r[0].comm, COMM_ENGINE_AICPU_TS, &d, 1, &again) ==
       HCCL_SUCCESS && again == r[0].channel[1], "a second acquire too");
    ok(HcclChannelQuery(r[0].comm, COMM_ENGINE_AICPU, &d, 1, &again) ==
       HCCL_SUCCESS && again == 0, "engine AICPU is another key");
    d.notifyNum = 65;
    ok(HcclChannelAcquire(r[0].comm, COMM_ENGINE_AICPU_TS, &d, 1, &again) ==
       HCCL_E_PARA && strstr(a350_peek_error(), "notifyNum"),
       "65 notifies are refused by name");
    d = desc_to(r[0].comm, 0, 1);
    d.header.magicWord = 1;
    ok(HcclChannelAcquire(r[0].comm, COMM_ENGINE_AICPU_TS, &d, 1, &again) ==
       HCCL_E_PARA, "bad magic");
    d = desc_to(r[0].comm, 0, 1);
    ok(HcclChannelAcquire(r[0].comm, COMM_ENGINE_CPU_TS, &d, 1, &again) ==
       HCCL_E_NOT_SUPPORT, "engine CPU_TS has no channels");
    ok(HcclChannelDestroy(r[0].comm, &r[0].channel[1], 1) ==
       HCCL_E_NOT_SUPPORT, "channels are destroyed with the communicator");
}

static void test_threads(rank *r)
{
    ThreadHandle t[4], u[4], x, y;
    const a350_thread_obj *o;
    aclrtStream s;
    uint32_t n = 0;
    void *info = NULL;

    mock_device(0);
    ok(HcclThreadAcquire(r->comm, COMM_ENGINE_AICPU_TS, 3, 2, t) == 0 &&
       HcclThreadAcquire(r->comm, COMM_ENGINE_AICPU, 1, 5, u) == 0 &&
       t[0] == u[0] && t[0] == r->thread && t[1] != t[2],
       "one pool; the first is the same again");
    o = a350_hbm_ptr(t[0], sizeof(*o));
    ok(o->magic == A350_THREAD_MAGIC && o->notify_num == 6 && o->index == 0,
       "5 notifies and the hidden one");
    HcclGetNotifyNumInThread(r->comm, t[1], COMM_ENGINE_AICPU_TS, &n);
    ok(n == 3, "the others keep 2 and the hidden one");
    aclrtCreateStream(&s);
    ok(HcclThreadAcquireWithStream(r->comm, COMM_ENGINE_CPU_TS, s, 1, &x) == 0
       && HcclThreadAcquireWithStream(r->comm, COMM_ENGINE_CPU_TS, s, 2, &y)
       == 0 && x == y, "one thread for a stream");
    ok(HcclThreadExportToCommEngine(r->comm, 1, t, COMM_ENGINE_CPU_TS, u) == 0
       && u[0] != t[0], "export to the host");
    ok(HcommThreadNotifyRecordOnThread(x, u[0], 4) == 0 &&
       a350_sqe_get_type(mock_last(s)) == A350_SQE_NOTIFY_RECORD &&
       mock_last(s)->w[2] == ((uint32_t *)a350_hbm_ptr(o->notify_ids, 4))[4],
       "record of index 4 is a task with its id");
    ok(HcommThreadNotifyRecordOnThread(x, u[0], 6) == HCCL_E_PTR,
       "index 6 of 6 is refused");
    ok(HcommThreadNotifyRecordOnThread(x, t[0], 0) == HCCL_E_PARA &&
       strstr(a350_peek_error(), "AICPU"), "a kernel's handle is refused");
    ok(HcommThreadNotifyWaitOnThread(x, 1, 9) == 0 &&
       mock_last(s)->w[6] == 9 && (mock_last(s)->w[2] & A350_NOTIFY_CLR),
       "wait of 9 s");
    ok(HcommThreadNotifyWaitOnThreadWithDefaultTimeout(x, 0) == 0 &&
       mock_last(s)->w[6] == 1863, "default wait is 1836 + 27 s");
    ok(HcclThreadResGetInfo(r->comm, x, THREAD_RES_TYPE_STREAM, 8, &info) == 0
       && info == s, "stream of a thread");
    ok(HcclThreadExportToCommEngine(r->comm, 1, &x, COMM_ENGINE_AICPU_TS, &y)
       == 0 && y != x && ((a350_thread_obj *)a350_hbm_ptr(y, sizeof(*o)))->kind
       == A350_THREAD_EXPORTED, "export to kernels");
    aclrtDestroyStream(s);
    ok(HcommThreadNotifyWaitOnThread(x, 0, 1) == HCCL_E_PARA,
       "the thread ends with its stream");
    ok(HcclThreadAcquire(r->comm, COMM_ENGINE_AICPU_TS, 0, 1, t) ==
       HCCL_E_PARA && HcclThreadAcquire(r->comm, COMM_ENGINE_AICPU_TS, 1,
                                        65536, t) == HCCL_E_PARA &&
       HcclThreadAcquire(r->comm, COMM_ENGINE_AIV, 1, 1, t) == HCCL_E_PARA,
       "0 threads, 65536 notifies, engine AIV");
    ok(HcclThreadAcquire(r->comm, COMM_ENGINE_AICPU_TS, 201, 1, t) ==
       HCCL_E_UNAVAIL, "201 threads");
    ok(HcclThreadExportToCommEngine(r->comm, 41, t, COMM_ENGINE_CPU_TS, u) ==
       HCCL_E_PARA, "41 exports");
    x = 0x1234;
    ok(HcclThreadExportToCommEngine(r->comm, 1, &x, COMM_ENGINE_CPU_TS, u) ==
       HCCL_E_PARA, "export of an unknown handle");
}

static void test_contexts(rank *r)
{
    void *a = (void *)1, *b = NULL;
    uint64_t size = 5, v = 0x1122334455667788ull;
    char tag[300];

    ok(HcclEngineCtxGet(r->comm, "t", COMM_ENGINE_AICPU, &a, &size) ==
       HCCL_E_NOT_FOUND && a == (void *)1 && size == 5,
       "a missing context leaves the outputs");
    ok(HcclEngineCtxCreate(r->comm, "t", COMM_ENGINE_AICPU, 100, &a) == 0 &&
       !a350_addr_is_host((uintptr_t)a), "AICPU: card memory");
    ok(HcclEngineCtxCreate(r->comm, "t", COMM_ENGINE_CPU_TS, 100, &b) == 0 &&
       !memcmp(b, "\0\0\0", 4), "CPU_TS: host memory, zeroed, same tag");
    ok(HcclEngineCtxCreate(r->comm, "t", COMM_ENGINE_AICPU, 1, &b) ==
       HCCL_E_PARA, "twice");
    ok(HcclEngineCtxGet(r->comm, "t", COMM_ENGINE_AICPU, &b, &size) == 0 &&
       b == a && size == 100, "created size");
    ok(HcclEngineCtxCopy(r->comm, COMM_ENGINE_AICPU, "t", &v, 8, 92) == 0 &&
       !memcmp((char *)a350_hbm_ptr((uintptr_t)a, 100) + 92, &v, 8), "copy");
    ok(HcclEngineCtxCopy(r->comm, COMM_ENGINE_AICPU, "t", &v, 8, 93) ==
       HCCL_E_PARA, "copy beyond the end");
    memset(tag, 'x', sizeof(tag));
    tag[255] = '\0';
    ok(HcclEngineCtxCreate(r->comm, tag, COMM_ENGINE_CPU, 1, &b) == 0,
       "tag of 255");
    tag[255] = 'x';
    tag[256] = '\0';
    ok(HcclEngineCtxCreate(r->comm, tag, COMM_ENGINE_CPU, 1, &b) ==
       HCCL_E_PARA, "tag of 256");
    ok(HcclEngineCtxCreate(r->comm, NULL, COMM_ENGINE_CPU, 1, &b) == 0 &&
       HcclEngineCtxDestroy(r->comm, "", COMM_ENGINE_CPU) == 0 &&
       HcclEngineCtxDestroy(r->comm, "", COMM_ENGINE_CPU) == HCCL_E_PARA,
       "NULL is the empty tag");
}

static void test_graph(rank *r)
{
    uint32_t *v, n = 0, tail[3];
    CommLink *l;
    CommTopo topo = COMM_TOPO_RESERVED;
    EndpointDesc e;

    ok(HcclRankGraphGetLayers(r->comm, &v, &n) == 0 && n == 1 && v[0] == 0,
       "layer 0");
    ok(HcclRankGraphGetRanksByLayer(r->comm, 0, &v, &n) == 0 && n == RANKS &&
       v[2] == 2, "its ranks");
    ok(HcclRankGraphGetRanksByLayer(r->comm, 1, &v, &n) == HCCL_E_PARA,
       "no layer 1");
    ok(HcclRankGraphGetLinks(r->comm, 0, 0, 2, &l, &n) == 0 && n == 1 &&
       l->linkAttr.linkProtocol == COMM_PROTOCOL_UB_CTP &&
       l->srcEndpointDesc.protocol == COMM_PROTOCOL_UB_CTP &&
       l->srcEndpointDesc.commAddr.type == COMM_ADDR_TYPE_IP_V6 &&
       l->dstEndpointDesc.loc.device.devPhyId == 2 &&
       l->dstEndpointDesc.loc.device.serverIdx == 0xffffffff &&
       l->linkAttr.hop == 1, "a UB_CTP link");
    memcpy(tail, &l->srcEndpointDesc.loc.raws[48], 12);
    ok(tail[0] == 0x544f504f && tail[1] == 0 && tail[2] == 0, "tail of loc");
    ok(HcclRankGraphGetLinks(r->comm, 0, 1, 1, &l, &n) == HCCL_E_PARA,
       "src == dst");
    ok(HcclRankGraphGetTopoType(r->comm, 0, 0, &topo) == 0 &&
       topo == COMM_TOPO_1DMESH, "full mesh");
    n = 1;
    ok(HcclRankGraphGetEndpointDesc(r->comm, 0, 0, &n, &e) == 0 && n == 1 &&
       e.protocol == COMM_PROTOCOL_UB_CTP, "end point");
    ok(HcclRankGraphGetLinks(r->comm, 0, 0, 1, NULL, &n) == HCCL_E_PTR,
       "null");
}

static void test_settings(void)
{
    rank r[RANKS];
    HcclRootInfo info;

    memset(r, 0, sizeof(r));
    HcclCommConfigInit(&r[1].config);
    r[1].config.hcclBufferSize = 2;
    run(r, 2, 2, &info, NULL);
    ok(r[0].rc == HCCL_E_PARA && r[1].rc == HCCL_E_PARA &&
       !strcmp(r[0].code, "EI0005") && !strcmp(r[1].code, "EI0005") &&
       strstr(r[0].text, "hcclBufferSize") && strstr(r[0].text, "2 MiB"),
       "a differing buffer size fails both, by name");
    memset(r, 0, sizeof(r));
    run(r, 3, 2, &info, NULL);
    ok(r[0].rc == HCCL_E_TIMEOUT && !strcmp(r[0].code, "EI0015") &&
       strstr(r[0].text, "missing: 2"), "a missing rank is named");
    memset(r, 0, sizeof(r));
    HcclCommConfigInit(&r[0].config);
    r[0].config.hcclOpExpansionMode = 5;
    mock_device(0);
    ok(HcclCommInitRootInfoConfig(1, &info, 0, &r[0].config, &r[0].comm) ==
       HCCL_E_NOT_SUPPORT, "expansion mode CCU_MS");
    ok(HcclCommInitRootInfo(0, &info, 0, &r[0].comm) == HCCL_E_PARA &&
       HcclCommInitRootInfo(2, &info, 2, &r[0].comm) == HCCL_E_PARA &&
       HcclCommInitRootInfo(2, NULL, 0, &r[0].comm) == HCCL_E_PTR,
       "0 ranks, rank 2 of 2, null");
    mock_device(-1);
    ok(HcclGetRootInfo(&info) != HCCL_SUCCESS, "no device");
}

/* Strangers on the port do no harm. */
static void test_hostile(const HcclRootInfo *info)
{
    char ip[HCL_IP_LEN];
    uint32_t port, junk[64];
    struct sockaddr_in sa = { .sin_family = AF_INET };
    int i, fd;

    hcl_server_start(ip, &port);
    inet_pton(AF_INET, ip, &sa.sin_addr);
    sa.sin_port = htons((uint16_t)port);
    (void)info;
    for (i = 0; i < 20; i++) {
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&sa, sizeof(sa))) {
            break;
        }
        memset(junk, i, sizeof(junk));
        if (i % 4 == 1) {
            junk[0] = 0x43483341;            /* right magic, huge length */
            junk[1] = 0x00010001;
            junk[2] = 0xffffffff;
        } else if (i % 4 == 2) {
            junk[0] = 0x43483341;            /* short hello */
            junk[1] = 0x00010001;
            junk[2] = 16;
        } else if (i % 4 == 3) {
            junk[0] = 0x43483341;            /* mail with a wrong length */
            junk[1] = 0x00040001;
            junk[2] = 200;
        }
        if (send(fd, junk, i % 5 ? sizeof(junk) : 7, MSG_NOSIGNAL) < 0) {
            break;
        }
        close(fd);
    }
    ok(i == 20, "20 strangers");
}

static int reach(const char *ip, uint32_t port)
{
    struct sockaddr_in sa = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port) };
    struct timeval limit = { 5, 0 };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    inet_pton(AF_INET, ip, &sa.sin_addr);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return connect(fd, (struct sockaddr *)&sa, sizeof(sa)) ? -1 : fd;
}

/* Mail for nobody: 16 bytes of head, then the mail's, with no data. */
static bool mail_answered(int fd)
{
    uint32_t mail[4 + (16 + 16 + HCL_KEY) / 4] = {
        0x43483341, 0x00040001, 16 + 16 + HCL_KEY,
    }, answer[5];

    return send(fd, mail, sizeof(mail), MSG_NOSIGNAL) == sizeof(mail) &&
           recv(fd, answer, sizeof(answer), MSG_WAITALL) == sizeof(answer);
}

/* A peer keeps more connections open than the process may have. */
static void test_crowd(void)
{
    struct rlimit old, low;
    char ip[HCL_IP_LEN];
    int go[2], st = -1, i, fd;
    uint32_t port;
    pid_t pid;

    hcl_server_start(ip, &port);
    getrlimit(RLIMIT_NOFILE, &old);
    if (pipe(go)) {
        return;
    }
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        char c;

        close(go[1]);
        if (read(go[0], &c, 1) != 1) {
            _exit(1);
        }
        for (i = 0; i < 40; i++) {
            fd = reach(ip, port);
            if (fd < 0 || !mail_answered(fd)) {
                _exit(2);
            }
        }
        _exit(0);
    }
    close(go[0]);
    low = old;
    low.rlim_cur = (rlim_t)go[1] + 12;
    setrlimit(RLIMIT_NOFILE, &low);
    i = (int)write(go[1], "", 1);
    close(go[1]);
    waitpid(pid, &st, 0);
    setrlimit(RLIMIT_NOFILE, &old);
    ok(i == 1 && WIFEXITED(st) && WEXITSTATUS(st) == 0, "idle connections make "
       "room for new ones (%d)", st);
}

/* The dead port is refused and, right after it, free for a real server. */
static int dial_own_end(void)
{
    struct sockaddr_in sa = { .sin_family = AF_INET,
                              .sin_port = htons(OWN_END_PORT) };
    int err = 0, fd = hcl_net_connect("127.0.0.1", OWN_END_PORT,
                                      hcl_now_ns() + 2000000000ull, &err);

    if (fd >= 0 || err != ECONNREFUSED) {
        return 1;
    }
    inet_pton(AF_INET, "127.0.0.1", &sa.sin_addr);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    return bind(fd, (struct sockaddr *)&sa, sizeof(sa)) || listen(fd, 1) ? 2
                                                                         : 0;
}

static void test_own_end(void)
{
    int rc = own_end_run(dial_own_end);

    ok(rc <= 0, "a client does not take itself for the server%s (%d)",
       rc < 0 ? " # SKIP no right to make a network namespace" : "", rc);
}

/* A root of another kind: answers a hello with what it is told to. */
typedef struct false_root {
    int fd;
    uint16_t type;
    const char *body;
    uint32_t len;
} false_root;

static void *answer_falsely(void *opaque)
{
    const false_root *f = opaque;
    int fd = accept(f->fd, NULL, NULL);
    uint16_t type;
    uint32_t len;
    void *hello = NULL;

    if (!hcl_net_recv(fd, &type, &hello, &len, hcl_now_ns() + 5000000000ull)) {
        hcl_net_send(fd, f->type, NULL, 0, f->body, f->len,
                     hcl_now_ns() + 5000000000ull);
    }
    free(hello);
    close(fd);
    return NULL;
}

static int stranger(hcl_ports *at)
{
    struct sockaddr_in sa = { .sin_family = AF_INET };
    socklen_t len = sizeof(sa);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    inet_pton(AF_INET, "127.0.0.1", &sa.sin_addr);
    if (bind(fd, (struct sockaddr *)&sa, len) || listen(fd, 1) ||
        getsockname(fd, (struct sockaddr *)&sa, &len)) {
        ok(false, "a listener");
    }
    *at = (hcl_ports){ ntohs(sa.sin_port), ntohs(sa.sin_port) };
    return fd;
}

static void *hang_up(void *opaque)
{
    static const struct linger reset = { .l_onoff = 1 };
    int fd = accept(*(int *)opaque, NULL, NULL);
    char c;

    recv(fd, &c, 1, MSG_PEEK);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(fd);
    return NULL;
}

/* Who looks for the root passes what else is at its ports. */
static void test_search(void)
{
    static const uint8_t nonce[HCL_NONCE] = "looked for";
    hcl_settings set = { .n_ranks = 1 };
    hcl_rank_info self = { .rank = 0 }, *table = NULL;
    hcl_where w = { .ranges = 6 };
    false_root f[] = {
        { 0, HCL_F_HELLO, "\x8b\xbc\x03\x8a rubbish", 12 },
        { 0, HCL_F_FAIL, "\x8b\xbc\x03\x8a rubbish", 12 },
        { 0, HCL_F_FAIL, "\6\0\0\0EI0015 of another job", 25 },
    };
    pthread_t t[4];
    uint32_t port;
    int dead, resets, i;
    HcclResult rc;

    dead = stranger(&w.ports[0]);
    close(dead);
    resets = stranger(&w.ports[1]);
    pthread_create(&t[3], NULL, hang_up, &resets);
    for (i = 0; i < 3; i++) {
        f[i].fd = stranger(&w.ports[2 + i]);
        pthread_create(&t[i], NULL, answer_falsely, &f[i]);
    }
    hcl_server_start(w.ip, &port);
    w.ports[5] = (hcl_ports){ (uint16_t)port, (uint16_t)port };
    hcl_root_open_as(nonce);
    rc = hcl_root_join(&w, nonce, &set, &self, &table,
                       hcl_now_ns() + 20000000000ull);
    ok(rc == HCCL_SUCCESS && table, "the sixth port is the root's: %d %s", rc,
       a350_peek_error());
    for (i = 0; i < 4; i++) {
        pthread_join(t[i], NULL);
    }
    for (i = 0; i < 3; i++) {
        close(f[i].fd);
    }
    close(resets);
    free(table);
}

static void test_false_root(void)
{
    static const uint8_t nonce[HCL_NONCE];
    static const struct {
        uint16_t type;
        const char *body;
        uint32_t len;
        HcclResult rc;
        const char *code, *text;
    } c[] = {
#define BODY(text) text, sizeof(text)
        { HCL_F_HELLO, BODY("\x8b\xbc\x03\x8a rubbish of a stranger"),
          HCCL_E_NETWORK, "EI0015", "answers with a frame of type 1" },
        { HCL_F_ACK, BODY("\0\0\0"), HCCL_E_NETWORK, "EI0015",
          "answers with a frame of type 5" },
        { HCL_F_FAIL, BODY("\x8b\xbc\x03\x8a rubbish of a stranger"),
          HCCL_E_NETWORK, "EI0015", "without a legible reason" },
        { HCL_F_FAIL, BODY("\0\0\0\0EI0005 fine"), HCCL_E_NETWORK, "EI0015",
          "without a legible reason" },
        { HCL_F_FAIL, BODY("\1\0"), HCCL_E_NETWORK, "EI0015",
          "without a legible reason" },
        { HCL_F_FAIL, BODY("\1\0\0\0EI0005 nRanks differs"), HCCL_E_PARA,
          "EI0005", "nRanks differs" },
        { HCL_F_TABLE, "", 0, HCCL_E_NETWORK, "EI0015", "a table of 0 bytes" },
#undef BODY
    };
    hcl_settings set = { .n_ranks = 2 };
    hcl_rank_info self = { .rank = 1 }, *table = NULL;
    hcl_where w = { .ip = "127.0.0.1", .ranges = 1, .listens = true };
    int fd = stranger(&w.ports[0]);
    unsigned i;

    for (i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
        false_root f = { fd, c[i].type, c[i].body, c[i].len };
        HcclResult rc;
        pthread_t t;

        pthread_create(&t, NULL, answer_falsely, &f);
        rc = hcl_root_join(&w, nonce, &set, &self, &table,
                           hcl_now_ns() + 20000000000ull);
        pthread_join(t, NULL);
        ok(rc == c[i].rc && !strcmp(mock_error_code(), c[i].code) &&
           strstr(a350_peek_error(), c[i].text), "false root %u: %d %s %s", i,
           rc, mock_error_code(), a350_peek_error());
    }
    close(fd);
}

/* A window in the place of one that is gone is not another one's. */
static void *windows(rank *r)
{
    uint64_t addr[3];
    HcclCommSymWindow w[3];
    HcclChannelDesc d = desc_to(r->comm, r->rank, 1 - r->rank);
    uint64_t (*kept)[3] = calloc(1, sizeof(*kept));
    ChannelHandle c;
    int i;

    for (i = 0; i < 3 && r->rc == HCCL_SUCCESS; i++) {
        a350_hbm_alloc(a350_current_card(), 4096, 0, &addr[i]);
        r->rc = HcclCommSymWinRegister(r->comm, (void *)(uintptr_t)addr[i],
                                       4096, &w[i], 1);
        if (i == 1) {
            HcclCommSymWinDeregister(w[0]);
        }
    }
    if (r->rc == HCCL_SUCCESS) {
        r->rc = HcclChannelAcquire(r->comm, COMM_ENGINE_AICPU_TS, &d, 1, &c);
    }
    keep(r);
    for (i = 1; i < 3 && r->rc == HCCL_SUCCESS; i++) {
        const a350_symwin_obj *o = a350_hbm_ptr((uintptr_t)w[i], sizeof(*o));

        (*kept)[i] = ((uint64_t *)a350_hbm_ptr(o->peers, 16))[1 - r->rank];
    }
    pthread_barrier_wait(&barrier);
    for (i = 0; i < 3; i++) {
        a350_hbm_free(addr[i]);
    }
    r->thread = addr[1];
    r->channel[0] = addr[2];
    return kept;
}

static void test_windows(void)
{
    rank r[RANKS];
    HcclRootInfo info;
    uint64_t *seen[2];
    int i;

    memset(r, 0, sizeof(r));
    run(r, 2, 2, &info, windows);
    ok(!r[0].rc && !r[1].rc, "windows: %s", r[0].rc ? r[0].text : r[1].text);
    for (i = 0; i < 2; i++) {
        seen[i] = r[i].answer;
        ok(seen[i] && seen[i][1] == r[1 - i].thread &&
           seen[i][2] == r[1 - i].channel[0],
           "rank %d has the peer's address of each window", i);
        free(seen[i]);
        HcclCommDestroy(r[i].comm);
    }
}

/* What cannot be had in full leaves all as it was. */
static void test_shortage(void)
{
    const a350_thread_obj *o;
    ThreadHandle t, host;
    HcclRootInfo info;
    HcclCommConfig cfg;
    uint32_t n = 0, hidden;
    HcclComm c;
    int live;

    mock_device(0);
    HcclCommConfigInit(&cfg);
    HcclGetRootInfo(&info);
    HcclCommInitRootInfoConfig(1, &info, 0, &cfg, &c);
    HcclThreadAcquire(c, COMM_ENGINE_AICPU_TS, 1, 2, &t);
    o = a350_hbm_ptr(t, sizeof(*o));
    hidden = ((uint32_t *)a350_hbm_ptr(o->notify_ids, 12))[2];
    live = mock_live;
    mock_notifies = 3;
    ok(HcclThreadAcquire(c, COMM_ENGINE_AICPU_TS, 1, 10, &t) !=
       HCCL_SUCCESS && mock_live == live, "too few notifies");
    mock_notifies = 1 << 20;
    ok(HcclGetNotifyNumInThread(c, t, COMM_ENGINE_AICPU_TS, &n) == 0 &&
       n == 3, "the thread keeps those it had");
    ok(HcclThreadAcquire(c, COMM_ENGINE_AICPU_TS, 1, 4, &t) == 0 &&
       o->notify_num == 5 &&
       ((uint32_t *)a350_hbm_ptr(o->notify_ids, 20))[4] == hidden,
       "and the host's stays the last");
    live = mock_live;
    mock_device(1);
    ok(HcclThreadAcquire(c, COMM_ENGINE_CPU_TS, 1, 1, &host) != HCCL_SUCCESS &&
       mock_live == live, "a host thread of another device leaves no stream");
    mock_device(0);
    HcclCommDestroy(c);
}

static void *sub(rank *r)
{
    uint32_t ids[2] = { 0, 2 };
    HcclComm s = NULL;
    HcclCommConfig cfg;

    HcclCommConfigInit(&cfg);
    cfg.hcclBufferSize = 1;
    if (r->rank == 1) {
        r->rc = HcclCreateSubCommConfig(&r->comm, 2, NULL, 0xffffffff, 0, &cfg,
                                        &s);
    } else {
        r->rc = HcclCreateSubCommConfig(&r->comm, 2, ids, 7, r->rank / 2, &cfg,
                                        &s);
    }
    keep(r);
    return s;
}

static void test_sub(void)
{
    rank r[RANKS];
    HcclRootInfo info;
    char name[128] = "", parent[128] = "", want[300];
    uint32_t n = 0, me = 9, ids[2] = { 2, 0 };
    HcclComm x;
    HcclCommConfig cfg;
    int i;

    memset(r, 0, sizeof(r));
    run(r, RANKS, RANKS, &info, sub);
    ok(!r[0].rc && !r[1].rc && !r[2].rc && r[0].answer && r[2].answer &&
       !r[1].answer, "sub-communicator of ranks 0 and 2");
    HcclGetRankSize(r[2].answer, &n);
    HcclGetRankId(r[2].answer, &me);
    HcclGetCommName(r[2].answer, name);
    HcclGetCommName(r[2].comm, parent);
    snprintf(want, sizeof(want), "%s_sub_7", parent);
    ok(n == 2 && me == 1 && !strcmp(name, want), "size, rank, name");
    HcclCommConfigInit(&cfg);
    mock_device(0);
    ok(HcclCreateSubCommConfig(&r[0].comm, 2, ids, 8, 0, &cfg, &x) ==
       HCCL_E_PARA, "members out of order");
    ids[0] = 1;
    ids[1] = 2;
    ok(HcclCreateSubCommConfig(&r[0].comm, 2, ids, 8, 0, &cfg, &x) ==
       HCCL_E_NOT_FOUND, "self not a member");
    x = r[0].answer;
    ok(HcclCreateSubCommConfig(&x, 2, ids, 8, 0, &cfg, &x) ==
       HCCL_E_INTERNAL, "of a sub-communicator");
    for (i = 0; i < RANKS; i++) {
        HcclCommDestroy(r[i].answer);
        HcclCommDestroy(r[i].comm);
    }
}

/* ---- what the operators' library uses ---- */

/* Equal on all ranks, then different on the last, at the same time. */
static void *operators(rank *r)
{
    hcl_op same = { "HcclAllReduce", 4, 0, -1, 100, 0 };
    hcl_op other = { "HcclBroadcast", 4, -1, 0, r->rank == 2 ? 7 : 8, 0 };
    HcclChannelDesc d[2] = {
        desc_to(r->comm, r->rank, (r->rank + 1) % RANKS),
        desc_to(r->comm, r->rank, (r->rank + 2) % RANKS),
    };
    ChannelHandle c[2], own[2];
    uint32_t n = 2, notifies = 0;

    r->rc = HcclChannelAcquire(r->comm, COMM_ENGINE_AICPU_TS, d, n, c);
    d[0].notifyNum = d[1].notifyNum = 5;
    if (r->rc == HCCL_SUCCESS) {
        r->rc = hcl_channels_own(r->comm, d, n, own);
    }
    if (r->rc == HCCL_SUCCESS) {
        HcclChannelGetNotifyNum(r->comm, own[0], &notifies);
        r->channel[0] = c[0] != own[0] ? notifies : 0;
        r->rc = hcl_op_agree(r->comm, &same);
    }
    pthread_barrier_wait(&barrier);
    r->answer = NULL;
    if (r->rc == HCCL_SUCCESS && hcl_op_agree(r->comm, &other)) {
        keep(r);
    } else {
        strcpy(r->code, "none");
    }
    pthread_barrier_wait(&barrier);
    return r;
}

static hcl_comm *failing;

static void fails_now(void)
{
    hcl_comm_fail(failing, 507057, "EI0018: just now");
}

/* The communicator fails between a wait's check and its place in the queue. */
static void test_late_wait(HcclComm comm)
{
    aclrtStream stream;
    ThreadHandle host;
    HcclResult rc;

    aclrtCreateStream(&stream);
    HcclThreadAcquireWithStream(comm, COMM_ENGINE_CPU_TS, stream, 1, &host);
    failing = hcl_comm_get(comm, "test", &rc);
    failing->first_error[0] = '\0';      /* of the operators that differed */
    mock_on_push = fails_now;
    ok(HcommThreadNotifyWaitOnThread(host, 0, 9) == HCCL_SUCCESS &&
       mock_failed(stream) == 507057, "a wait that is late ends: %d",
       mock_failed(stream));
    mock_on_push = NULL;
    hcl_comm_put(failing);
    aclrtDestroyStream(stream);
}

static void test_operators(void)
{
    HcclRootInfo info;
    HcclResult rc;
    hcl_comm *c;
    uint32_t i, seconds = 1;
    rank r[RANKS];

    memset(r, 0, sizeof(r));
    r[0].n = RANKS;
    for (i = 0; i < RANKS; i++) {
        HcclCommConfigInit(&r[i].config);
        r[i].config.hcclBufferSize = 1;
        r[i].config.hcclExecTimeOut = 77;
    }
    run(r, RANKS, RANKS, &info, operators);
    ok(!r[0].rc && !r[1].rc && !r[2].rc, "the same operator on all ranks");
    ok(r[0].channel[0] == 5 && r[2].channel[0] == 5,
       "channels of their own, with their own notifies");
    for (i = 0; i < RANKS; i++) {
        c = hcl_comm_get(r[i].comm, "test", &rc);
        ok((!strcmp(r[i].code, "EI0005") &&
            strstr(r[i].text, "parameter count differs")) ||
           (!strcmp(r[i].code, "none") &&
            strstr(c->first_error, "EI0005: HcclBroadcast")),
           "rank %u learns of another count, %s", i, r[i].code);
        hcl_comm_put(c);
    }
    ok(hcl_exec_seconds(r[1].comm, &seconds) == 0 && seconds == 77,
       "the communicator's own time limit");
    mock_device(0);
    test_late_wait(r[0].comm);
    for (i = 0; i < RANKS; i++) {
        HcclCommDestroy(r[i].comm);
    }
}

/* One of two that wait for each other. */
static HcclResult both(void *arg)
{
    *(pthread_t *)arg = pthread_self();
    pthread_barrier_wait(&barrier);
    return HCCL_SUCCESS;
}

static HcclResult refuses(void *arg)
{
    (void)arg;
    return hcl_fail(HCCL_E_UNAVAIL, "EI0007", "not today");
}

static void test_group_calls(void)
{
    pthread_t who[2];
    uint64_t before;

    mock_device(0);
    pthread_barrier_init(&barrier, NULL, 2);
    HcclGroupStart();
    before = hcl_group_serial();
    HcclGroupStart();
    ok(hcl_group_call(both, &who[0]) == 0 &&
       hcl_group_call(both, &who[1]) == 0 && hcl_group_serial() == before,
       "two calls in a group");
    ok(HcclGroupEnd() == 0 && HcclGroupEnd() == 0 &&
       !pthread_equal(who[0], who[1]) &&
       !pthread_equal(who[0], pthread_self()),
       "they go on side by side when the outer one ends");
    pthread_barrier_destroy(&barrier);
    HcclGroupStart();
    ok(hcl_group_serial() != before, "another group");
    hcl_group_call(refuses, NULL);
    ok(HcclGroupEnd() == HCCL_E_UNAVAIL &&
       !strcmp(a350_peek_error(), "not today"), "a call that fails, its text");
}

static uint64_t phases;

static HcclResult phase(HcclComm comm, HcclCommStatePhase state, void *args)
{
    (void)comm;
    phases = phases * 10 + (uint64_t)state + 1 + (args ? 0 : 5);
    return HCCL_SUCCESS;
}

/* A second channel to rank 1, which does not come. */
static void *waits_in_vain(void *opaque)
{
    const rank *r = opaque;
    HcclChannelDesc d[2];
    ChannelHandle c[2];
    HcclResult rc;

    mock_device((int32_t)r->rank);
    d[0] = d[1] = desc_to(r->comm, r->rank, 1);
    rc = HcclChannelAcquire(r->comm, COMM_ENGINE_AICPU_TS, d, 2, c);
    return (void *)(intptr_t)rc;
}

static void test_in_use(rank *r)
{
    void *rc = NULL;
    pthread_t id;

    phases = 0;
    pthread_create(&id, NULL, waits_in_vain, r);
    usleep(300000);
    ok(HcclCommDestroy(r->comm) == HCCL_E_AGAIN &&
       strstr(a350_peek_error(), "in use"), "destroyed while used: %s",
       a350_peek_error());
    ok(phases == 0, "no callback hears of it");
    pthread_join(id, &rc);
    ok((intptr_t)rc == HCCL_E_TIMEOUT, "the other call goes on");
}

int main(void)
{
    rank r[RANKS];
    HcclRootInfo info;
    HcclComm all[2] = { NULL, NULL }, stale;
    int32_t devices[2] = { 0, 1 }, twice[2] = { 1, 1 };
    uint32_t i;
    char name[128];

    setenv("ATLAS350_CONNECT_TIMEOUT", "2", 1);
    setenv("HCCL_BUFFSIZE", "4", 1);
    setenv("HCCL_IF_IP", "127.0.0.1", 1);
    memset(r, 0, sizeof(r));
    run(r, RANKS, RANKS, &info, channels);
    ok(!r[0].rc && !r[1].rc && !r[2].rc, "3 ranks with channels: %s",
       r[0].text);
    ok(info.internal[0] == '1' && strlen(info.internal) < 64,
       "root information begins with the address");
    if (r[0].rc || r[1].rc || r[2].rc) {
        return done_testing();
    }
    test_channels(r);
    test_threads(r);
    test_contexts(r);
    test_graph(r);
    HcclGetCommName(r[0].comm, name);
    ok(strlen(name) > 8, "a default name");
    HcclCommRegCommStateCallback("test", phase, r);
    test_in_use(&r[0]);
    phases = 0;
    stale = r[1].comm;
    for (i = 0; i < RANKS; i++) {
        mock_segments_busy = 4;  /* peers' transfers use them */
        ok(HcclCommDestroy(r[(i + 1) % RANKS].comm) == 0 &&
           !mock_segments_busy, "destroy");
    }
    ok(phases == 121212, "callbacks before and after each");
    ok(HcclCommDestroy(stale) == HCCL_E_PARA && HcclCommDestroy(NULL) == 0,
       "destroyed twice; null");
    ok(mock_live == 0, "nothing is left: %d", mock_live);
    test_hostile(&info);
    test_own_end();
    test_false_root();
    test_search();
    test_crowd();
    test_windows();
    test_shortage();
    test_sub();
    test_operators();
    test_group_calls();
    ok(HcclCommInitAll(2, devices, all) == 0 && all[0] && all[1],
       "all devices of a process");
    HcclCommDestroy(all[1]);
    HcclCommDestroy(all[0]);
    ok(mock_sets[0] == 1 && mock_sets[1] == 1, "which stay set, once");
    ok(HcclCommInitAll(2, devices, all) == 0 && mock_sets[0] == 1 &&
       mock_sets[1] == 1, "or as often as they were");
    HcclCommDestroy(all[1]);
    HcclCommDestroy(all[0]);
    ok(HcclCommInitAll(2, twice, all) == HCCL_E_PARA &&
       HcclCommInitAll(0, devices, all) == HCCL_E_PARA, "a device twice");
    test_settings();
    ok(HcclGroupEnd() == HCCL_E_NOT_SUPPORT, "group end without start");
    ok(mock_live == 0, "nothing is left at the end: %d", mock_live);
    return done_testing();
}
