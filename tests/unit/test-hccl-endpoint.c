/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints, their memory and channels (spec/api/hccl-control-plane.md §11),
 * rank tables (§10.1) and groups (§4.4), on mock cards.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "hccl_internal.h"
#include "hccl-mock.h"
#include "tap.h"

/* ---- endpoints ---- */

static EndpointHandle open_endpoint(int device, EndpointDesc *d)
{
    EndpointHandle h = NULL;
    uint32_t n = 0;

    mock_device(device);
    HcommEndpointGetDescNum(device, &n);
    ok(n == 1 && HcommEndpointGetDescs(device, &n, d) == 0 && n == 1 &&
       d->protocol == COMM_PROTOCOL_UBC_CTP &&
       d->commAddr.type == COMM_ADDR_TYPE_EID &&
       d->loc.locType == ENDPOINT_LOC_TYPE_DEVICE &&
       d->loc.device.devPhyId == (uint32_t)device, "end point of card %d",
       device);
    ok(HcommEndpointCreate(d, &h) == 0 && h, "created");
    return h;
}

static HcommChannelDesc channel_desc(const EndpointDesc *peer, bool server)
{
    HcommChannelDesc d;

    HcommChannelDescInit(&d, 1);
    d.remoteEndpoint = *peer;
    d.notifyNum = 2;
    d.exchangeAllMems = true;
    d.role = server ? HCOMM_SOCKET_ROLE_SERVER : HCOMM_SOCKET_ROLE_CLIENT;
    return d;
}

static void test_descs(void)
{
    EndpointDesc d;
    uint32_t n = 0;
    bool nda = true;

    mock_device(0);
    ok(HcommEndpointGetDescs(0, &n, &d) == HCCL_E_PARA && n == 0,
       "no room: the number stays");
    n = 7;
    ok(HcommEndpointGetDescNum(99, &n) != 0 && n == 0,
       "no such device: the number is 0");
    EndpointDescInit(&d, 1);
    d.protocol = COMM_PROTOCOL_ROCE;
    d.loc.locType = ENDPOINT_LOC_TYPE_HOST;
    ok(HcommEndpointCheckFeature(HCOMM_ENDPOINT_FEATURE_NDA, &d, &nda) == 0 &&
       nda, "NDA: ROCE on the host");
    d.protocol = COMM_PROTOCOL_UB_CTP;
    ok(HcommEndpointCheckFeature(HCOMM_ENDPOINT_FEATURE_NDA, &d, &nda) == 0 &&
       !nda, "and nothing else");
}

static void test_endpoints(void)
{
    EndpointDesc d[2];
    EndpointHandle e[2];
    HcommChannelDesc c[2];
    ChannelHandle h[2] = { 0, 0 };
    int32_t status[2] = { 1, 1 };
    const a350_channel_obj *a, *b;
    const a350_mem_token *m;
    HcommMemHandle mem, mem2;
    uint64_t addr, other;
    CommMem cm, imported = { 0 };
    void *blob = NULL;
    uint32_t len = 0, port = 0;
    char copy[1024];
    int i;

    e[0] = open_endpoint(0, &d[0]);
    e[1] = open_endpoint(1, &d[1]);
    ok(HcommEndpointGetListenPort(e[0], &port) == 0 && port, "listen port");
    a350_hbm_alloc(a350_device_card(1), 8192, 0, &addr);
    a350_hbm_alloc(a350_device_card(1), 8192, 0, &other);
    mock_device(1);
    cm = (CommMem){ COMM_MEM_TYPE_DEVICE, (void *)(uintptr_t)addr, 8192 };
    ok(HcommMemReg(e[1], "kv", &cm, &mem) == 0, "memory registered");
    cm.addr = (void *)(uintptr_t)other;
    ok(HcommMemReg(e[1], "late", &cm, &mem2) == 0 &&
       HcommMemExport(e[1], mem2, &blob, &len) == 0 && len <= sizeof(copy),
       "and another, exported");
    memcpy(copy, blob, len);
    mock_device(0);
    ok(HcommMemImport(e[0], copy, len, &imported) == 0 &&
       (uintptr_t)imported.addr == other && imported.size == 8192, "imported");
    copy[0] ^= 1;
    ok(HcommMemImport(e[0], copy, len, &imported) == HCCL_E_PARA,
       "a broken description");
    copy[0] ^= 1;
    c[0] = channel_desc(&d[1], false);
    ok(HcommChannelCreate(e[0], COMM_ENGINE_AICPU_TS, &c[0], 1, &h[0]) == 0 &&
       h[0], "client");
    ok(HcommChannelGetStatus(h, 1, status) == 0 && status[0] == 1,
       "connecting");
    mock_device(1);
    c[1] = channel_desc(&d[0], true);
    c[1].exchangeAllMems = false;
    c[1].memHandles = &mem;
    c[1].memHandleNum = 1;
    ok(HcommChannelCreate(e[1], COMM_ENGINE_AICPU_TS, &c[1], 1, &h[1]) == 0,
       "server");
    for (i = 0; i < 100 && (status[0] || status[1]); i++) {
        HcommChannelGetStatus(h, 2, status);
        usleep(1000);
    }
    ok(status[0] == 0 && status[1] == 0, "both ready");
    a = a350_hbm_ptr(h[0], sizeof(*a));
    b = a350_hbm_ptr(h[1], sizeof(*b));
    ok(a->magic == A350_CHANNEL_MAGIC && b->magic == A350_CHANNEL_MAGIC &&
       a->remote_notify[1].addr ==
       a350_notify_addr(A350_DEV_BASE(1), b->local_notify[1]),
       "objects of both ends");
    m = a350_hbm_ptr(a->remote_mems, 2 * sizeof(*m));
    ok(a->remote_mem_num == 2 && m[0].addr == addr && m[1].addr == other,
       "given and imported memory may be addressed");
    ok(HcommEndpointDestroy(e[0]) == HCCL_E_AGAIN, "an end point in use");
    ok(HcommChannelDestroy(h, 2) == 0 &&
       HcommChannelDestroy(h, 1) == HCCL_E_NOT_FOUND, "destroyed, once");
    ok(HcommMemUnimport(e[0], copy, len) == 0 &&
       HcommMemUnimport(e[0], copy, len) == HCCL_E_NOT_FOUND, "unimport");
    ok(HcommMemUnreg(e[1], mem) == 0 && HcommMemUnreg(e[1], mem) ==
       HCCL_E_NOT_FOUND, "unregister");
    c[0].remoteEndpoint.protocol = COMM_PROTOCOL_ROCE;
    ok(HcommChannelCreate(e[0], COMM_ENGINE_AICPU_TS, &c[0], 1, h) ==
       HCCL_E_NOT_SUPPORT, "ROCE");
    ok(HcommEndpointDestroy(e[0]) == 0 && HcommEndpointDestroy(e[1]) == 0 &&
       HcommEndpointDestroy(e[1]) == HCCL_E_NOT_FOUND, "end points");
    a350_hbm_free(addr);
    a350_hbm_free(other);
}

static void test_lonely(void)
{
    EndpointDesc d[2];
    EndpointHandle e = open_endpoint(0, &d[0]);
    HcommChannelDesc c;
    ChannelHandle h;
    int32_t status = 1;
    uint32_t n = 1;
    int i;

    HcommEndpointGetDescs(1, &n, &d[1]);
    c = channel_desc(&d[1], false);
    HcommChannelCreate(e, COMM_ENGINE_AICPU_TS, &c, 1, &h);
    for (i = 0; i < 400 && status == 1; i++) {
        HcommChannelGetStatus(&h, 1, &status);
        usleep(10000);
    }
    ok(status == 3 && !strcmp(mock_error_code(), "EI0006"),
       "nobody there: timed out");
    HcommChannelDestroy(&h, 1);
    HcommEndpointDestroy(e);
}

/* Asks all of them until they are through; true if all are ready. */
static bool all_ready(const ChannelHandle *h, uint32_t n)
{
    int32_t status[8];
    uint32_t k, ready = 0;
    int i;

    for (i = 0; i < 300 && ready < n; i++) {
        HcommChannelGetStatus(h, n, status);
        for (k = ready = 0; k < n; k++) {
            ready += status[k] == 0;
        }
        usleep(5000);
    }
    return ready == n;
}

static uint64_t make(EndpointHandle e, const EndpointDesc *peer, bool server,
                     uint32_t notifies, const char *name)
{
    HcommChannelDesc d = channel_desc(peer, server);
    ChannelHandle h = 0;

    d.notifyNum = notifies;
    d.channelName = name;
    HcommChannelCreate(e, COMM_ENGINE_AICPU_TS, &d, 1, &h);
    return h;
}

/* A client that gave up may come again. */
static void test_again(void)
{
    EndpointDesc d[2];
    EndpointHandle e[2] = { open_endpoint(0, &d[0]), NULL };
    ChannelHandle h[2];
    int32_t status = 1;
    uint32_t n = 1;

    HcommEndpointGetDescs(1, &n, &d[1]);
    h[0] = make(e[0], &d[1], false, 2, NULL);
    HcommChannelGetStatus(h, 1, &status);
    HcommChannelDestroy(h, 1);
    e[1] = open_endpoint(1, &d[1]);
    h[1] = make(e[1], &d[0], true, 2, NULL);
    mock_device(0);
    h[0] = make(e[0], &d[1], false, 2, NULL);
    ok(all_ready(h, 2), "a second try meets the peer's first");
    HcommChannelDestroy(h, 2);
    HcommEndpointDestroy(e[0]);
    HcommEndpointDestroy(e[1]);
}

/* Long names that begin alike, made in another order on each side. */
static void test_names(void)
{
    static const char *const name[2] = {
        "a-name-of-more-than-forty-characters-which-ends-in-one",
        "a-name-of-more-than-forty-characters-which-ends-in-two",
    };
    EndpointDesc d[2];
    EndpointHandle e[2] = { open_endpoint(0, &d[0]), open_endpoint(1, &d[1]) };
    ChannelHandle h[4];

    mock_device(0);
    h[0] = make(e[0], &d[1], false, 1, name[0]);
    h[1] = make(e[0], &d[1], false, 2, name[1]);
    mock_device(1);
    h[2] = make(e[1], &d[0], true, 2, name[1]);
    h[3] = make(e[1], &d[0], true, 1, name[0]);
    ok(all_ready(h, 4), "channels meet by the whole of their names");
    HcommChannelDestroy(h, 4);
    HcommEndpointDestroy(e[0]);
    HcommEndpointDestroy(e[1]);
}

/* Memory that is unregistered before its channel is through. */
static void test_unregister(void)
{
    EndpointDesc d[2];
    EndpointHandle e[2] = { open_endpoint(0, &d[0]), open_endpoint(1, &d[1]) };
    ChannelHandle h[2];
    HcommMemHandle mem;
    uint64_t addr;
    CommMem cm;

    a350_hbm_alloc(a350_device_card(1), 8192, 0, &addr);
    cm = (CommMem){ COMM_MEM_TYPE_DEVICE, (void *)(uintptr_t)addr, 8192 };
    HcommMemReg(e[1], "kv", &cm, &mem);
    h[1] = make(e[1], &d[0], true, 2, NULL);
    HcommMemUnreg(e[1], mem);
    mock_device(0);
    h[0] = make(e[0], &d[1], false, 2, NULL);
    ok(all_ready(h, 2), "a channel comes up without memory that is gone");
    HcommChannelDestroy(h, 2);
    HcommEndpointDestroy(e[0]);
    HcommEndpointDestroy(e[1]);
    a350_hbm_free(addr);
}

static void test_shared_card(void)
{
    EndpointDesc d[2];
    EndpointHandle e[3] = { open_endpoint(0, &d[0]), open_endpoint(0, &d[0]),
                            open_endpoint(1, &d[1]) };
    ChannelHandle h[4];

    h[0] = make(e[2], &d[0], true, 2, "one");
    h[1] = make(e[2], &d[0], true, 2, "two");
    mock_device(0);
    h[2] = make(e[0], &d[1], false, 2, "one");
    h[3] = make(e[1], &d[1], false, 2, "two");
    ok(all_ready(h, 4), "two end points of one card have channels");
    HcommChannelDestroy(h, 4);
    HcommEndpointDestroy(e[1]);
    h[0] = make(e[2], &d[0], true, 2, "one");
    h[1] = make(e[0], &d[1], false, 2, "one");
    ok(all_ready(h, 2), "and one goes on when the other is destroyed");
    HcommChannelDestroy(h, 2);
    HcommEndpointDestroy(e[0]);
    HcommEndpointDestroy(e[2]);
}

/* ---- rank tables ---- */

static const char good[] =
    "{\"status\":\"completed\",\"version\":\"2.0\",\"rank_count\":2,"
    "\"rank_list\":["
    "{\"rank_id\":0,\"local_id\":0,\"device_id\":0,\"level_list\":["
    "{\"net_layer\":0,\"net_instance_id\":\"az0-rack0\","
    "\"net_type\":\"TOPO_FILE_DESC\",\"net_attr\":\"\",\"rank_addr_list\":["
    "{\"addr_type\":\"IPV4\",\"addr\":\"223.0.0.10\",\"ports\":[\"0/0\"]}]}]},"
    "{\"rank_id\":1,\"local_id\":1,\"device_id\":1,\"level_list\":["
    "{\"net_layer\":0,\"net_instance_id\":\"az0-rack0\","
    "\"net_type\":\"TOPO_FILE_DESC\",\"net_attr\":\"\",\"rank_addr_list\":["
    "{\"addr_type\":\"IPV4\",\"addr\":\"223.0.0.28\",\"ports\":[\"0/1\"]}]}]}"
    "]}";

static char path[] = "/tmp/test-hccl-table-XXXXXX";

static void put(const char *text)
{
    FILE *f = fopen(path, "w");

    fputs(text, f);
    fclose(f);
}

typedef struct table_rank {
    pthread_t id;
    uint32_t rank;
    HcclComm comm;
    HcclResult rc;
} table_rank;

static void *table_main(void *opaque)
{
    table_rank *t = opaque;
    HcclCommConfig cfg;

    mock_device((int)t->rank);
    HcclCommConfigInit(&cfg);
    cfg.hcclBufferSize = 1;
    t->rc = HcclCommInitClusterInfoConfig(path, t->rank, &cfg, &t->comm);
    return NULL;
}

static void put_changed(const char *from, const char *to)
{
    char text[2048];
    const char *at = strstr(good, from);

    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, to,
             at + strlen(from));
    put(text);
}

static HcclResult try_table(const char *from, const char *to)
{
    HcclComm c;

    put_changed(from, to);
    mock_device(0);
    return HcclCommInitClusterInfo(path, 0, &c);
}

static bool two_ranks(table_rank t[2])
{
    int i;

    for (i = 1; i >= 0; i--) {
        t[i] = (table_rank){ .rank = (uint32_t)i };
        pthread_create(&t[i].id, NULL, table_main, &t[i]);
        usleep(50000);           /* rank 1 first: it waits for rank 0 */
    }
    for (i = 0; i < 2; i++) {
        pthread_join(t[i].id, NULL);
    }
    return t[0].rc == 0 && t[1].rc == 0;
}

/* A listener at @ip, at a port that was free. */
static int listen_at(const char *ip, uint32_t *port)
{
    struct sockaddr_in sa = { .sin_family = AF_INET };
    socklen_t len = sizeof(sa);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    inet_pton(AF_INET, ip, &sa.sin_addr);
    if (bind(fd, (struct sockaddr *)&sa, len) || listen(fd, 1) ||
        getsockname(fd, (struct sockaddr *)&sa, &len)) {
        return -1;
    }
    *port = ntohs(sa.sin_port);
    return fd;
}

/* Rank 0 of the table says where it is to be met. */
static void test_meeting_place(void)
{
    static const char *const ip[] = { NULL, "127.0.0.2" };
    table_rank t[2];
    char item[128], host[64] = "";
    uint32_t port = 0;
    HcclComm c;
    int i, fd;

    for (i = 0; i < 2; i++) {
        fd = listen_at(ip[i] ? ip[i] : "127.0.0.1", &port);
        if (ip[i]) {
            snprintf(host, sizeof(host), "\"host_ip\":\"%s\",", ip[i]);
        }
        snprintf(item, sizeof(item), "{%s\"host_port\":%u,\"rank_id\":0",
                 host, port);
        ok(try_table("{\"rank_id\":0", item) == HCCL_E_NETWORK &&
           !strcmp(mock_error_code(), "EI0019") &&
           strstr(a350_peek_error(), "host_port"), "taken: %s",
           a350_peek_error());
        close(fd);
        put_changed("{\"rank_id\":0", item);
        if (ok(two_ranks(t), "met at %s, port %u", ip[i] ? ip[i]
               : "its own address", port)) {
            HcclCommDestroy(t[0].comm);
            HcclCommDestroy(t[1].comm);
        }
    }
    for (i = 0; i < 2; i++) {
        ok(try_table("{\"rank_id\":0", i ? "{\"host_ip\":7,\"rank_id\":0"
                     : "{\"host_ip\":\"card0.example\",\"rank_id\":0") ==
           HCCL_E_PARA && !strcmp(mock_error_code(), "EI0014") &&
           strstr(a350_peek_error(), "host_ip"), "host_ip: %s",
           a350_peek_error());
    }
    put(good);
    mock_device(1);
    ok(HcclCommInitClusterInfo(path, 1, &c) == HCCL_E_TIMEOUT &&
       strstr(a350_peek_error(), "60000-60031") &&
       strstr(a350_peek_error(), "HCCL_CONNECT_TIMEOUT"), "no rank 0: %s",
       a350_peek_error());
}

static void test_tables(void)
{
    table_rank t[2];
    char name[128] = "";
    HcclComm c;

    put(good);
    ok(two_ranks(t), "two ranks of a table: %s", a350_peek_error());
    HcclGetCommName(t[0].comm, name);
    ok(!strcmp(name, "hccl_world_group"), "the fixed name");
    mock_device(0);
    ok(HcclCommInitClusterInfo(path, 0, &c) == HCCL_E_PARA,
       "twice on a device");
    HcclCommDestroy(t[0].comm);
    HcclCommDestroy(t[1].comm);
    ok(HcclCommInitClusterInfo("/nonexistent", 0, &c) ==
       HCCL_E_OPEN_FILE_FAILURE && !strcmp(mock_error_code(), "EI0004"),
       "no file");
    ok(try_table("{\"status\"", "{status") == HCCL_E_PARA &&
       !strcmp(mock_error_code(), "EI0004"), "broken JSON");
    ok(try_table("\"rank_count\":2,", "") == HCCL_E_PARA &&
       !strcmp(mock_error_code(), "EI0017") &&
       strstr(a350_peek_error(), "rank_count"), "no rank_count");
    ok(try_table("\"rank_count\":2", "\"rank_count\":3") == HCCL_E_PARA &&
       !strcmp(mock_error_code(), "EI0014"), "wrong rank_count");
    ok(try_table("\"rank_id\":1", "\"rank_id\":0") == HCCL_E_PARA,
       "a rank twice");
    ok(try_table("\"version\":\"2.0\"", "\"version\":\"1.0\"") ==
       HCCL_E_PARA, "version 1.0");
    ok(try_table("\"device_id\":0", "\"device_id\":3") == HCCL_E_PARA &&
       strstr(a350_peek_error(), "device_id 3"), "another device");
    ok(try_table("TOPO_FILE_DESC", "CLOS") == HCCL_E_PARA, "CLOS at layer 0");
    put(good);
    ok(HcclCommInitClusterInfo(path, 2, &c) == HCCL_E_PARA, "rank 2 of 2");
}

/* spec/api/hccl-control-plane.md §10.1, one wrong item after the other. */
static void test_odd_tables(void)
{
    static const struct {
        const char *from, *to, *number, *word;
    } odd[] = {
        { "\"rank_count\":2", "\"rank_count\":0", "EI0014", "rank_count" },
        { "\"rank_count\":2", "\"rank_count\":65537", "EI0014", "65537" },
        { "\"rank_count\":2", "\"rank_count\":-2", "EI0014", "-2" },
        { "\"rank_count\":2", "\"rank_count\":\"two\"", "EI0014", "two" },
        { "\"rank_count\":2", "\"rank_count\":[2]", "EI0014",
          "not a number" },
        { "\"version\":\"2.0\"", "\"version\":2.0", "EI0014", "version" },
        { "\"version\":\"2.0\",", "", "EI0017", "version" },
        { "\"completed\"", "\"initializing\"", "EI0014", "initializing" },
        { "\"rank_list\"", "\"rank_lists\"", "EI0017", "rank_list" },
        { "\"rank_id\":0,", "", "EI0017", "rank_id" },
        { "\"rank_id\":0", "\"rank_id\":2", "EI0014", "0 to 1" },
        { "\"local_id\":0,", "", "EI0017", "local_id" },
        { "\"local_id\":0", "\"local_id\":65", "EI0014", "0 to 64" },
        { "\"device_id\":0,", "", "EI0017", "device_id" },
        { "\"device_id\":0", "\"device_id\":65", "EI0014", "0 to 64" },
        { "\"level_list\"", "\"levels\"", "EI0017", "level_list" },
        { "\"net_layer\":0,", "", "EI0017", "net_layer" },
        { "\"net_layer\":0", "\"net_layer\":8", "EI0014", "0 to 7" },
        { "\"net_layer\":0", "\"net_layer\":1", "EI0017", "net_layer 0" },
        { "\"az0-rack0\"", "7", "EI0014", "net_instance_id" },
        { "\"TOPO_FILE_DESC\"", "\"MESH\"", "EI0014", "MESH" },
        { "\"net_type\":\"TOPO_FILE_DESC\",", "", "EI0017", "net_type" },
        { "\"rank_addr_list\":[{", "\"rank_addr_list\":{\"x\":[{", "EI0004",
          "line" },
        { "\"addr_type\":\"IPV4\",", "", "EI0017", "addr_type" },
        { "\"IPV4\"", "\"MAC\"", "EI0014", "MAC" },
        { "\"IPV4\"", "\"IPV6\"", "EI0014", "223.0.0.10" },
        { "\"223.0.0.10\"", "\"223.0.0\"", "EI0014", "223.0.0" },
        { "\"223.0.0.10\"", "223", "EI0014", "addr" },
        { "\"ports\":[\"0/0\"]", "\"ports\":\"0/0\"", "EI0014", "ports" },
        { "[\"0/0\"]", "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]", "EI0014",
          "17 entries" },
    };
    size_t i;

    for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        ok(try_table(odd[i].from, odd[i].to) == HCCL_E_PARA &&
           !strcmp(mock_error_code(), odd[i].number) &&
           strstr(a350_peek_error(), odd[i].word), "%s: %s %s", odd[i].to,
           mock_error_code(), a350_peek_error());
    }
}

/* ---- groups ---- */

static void test_group(void)
{
    HcclRootInfo info;
    HcclCommConfig cfg;
    HcclComm c[2] = { NULL, NULL };
    bool in = false;
    uint32_t n = 0;

    HcclCommConfigInit(&cfg);
    cfg.hcclBufferSize = 1;
    mock_device(0);
    HcclGetRootInfo(&info);
    HcclGroupStart();
    HcclGroupStatusGet(&in);
    ok(in, "in a group");
    ok(HcclCommInitRootInfoConfig(2, &info, 0, &cfg, &c[0]) == 0 && !c[0],
       "one thread, rank 0: noted");
    mock_device(1);
    HcclGroupStart();
    ok(HcclCommInitRootInfoConfig(2, &info, 1, &cfg, &c[1]) == 0, "rank 1");
    ok(HcclGroupEnd() == 0 && !c[0], "the inner end does nothing");
    ok(HcclGroupEnd() == 0 && c[0] && c[1], "the outer makes both");
    ok(!mock_sets[0] && !mock_sets[1], "and sets no device");
    ok(HcclGetRankSize(c[1], &n) == 0 && n == 2, "of two ranks");
    HcclGroupStart();
    HcclCommDestroy(c[0]);
    HcclCommDestroy(c[1]);
    ok(HcclGetRankSize(c[0], &n) == 0, "destroy waits for the end");
    ok(HcclGroupEnd() == 0 && HcclGetRankSize(c[0], &n) == HCCL_E_PARA,
       "and is done there");
}

/* ---- operators by HcclAicpuKernelLaunch ---- */

static void test_launch(void)
{
    HcclKernelFuncInfo f;
    HcclKernelLaunchCfg k;
    HcclCommConfig cfg;
    HcclRootInfo info;
    aclrtStream user, unfold;
    uint8_t args[16] = { 1 };
    ThreadHandle t;
    HcclOpDesc op;
    HcclComm c;

    mock_device(0);
    HcclCommConfigInit(&cfg);
    HcclGetRootInfo(&info);
    HcclCommInitRootInfoConfig(1, &info, 0, &cfg, &c);
    HcclThreadAcquire(c, COMM_ENGINE_AICPU_TS, 1, 2, &t);
    aclrtCreateStream(&user);
    aclrtCreateStream(&unfold);
    memset(&f, 0, sizeof(f));
    HcclOpDescInit(&op);
    HcclKernelLaunchCfgInit(&k);
    op.opDescType = 1;
    op.p2p.unfoldStream = unfold;
    strcpy(f.kernelSoName, "libany.so");
    strcpy(f.kernelFuncName, "Any");
    f.args = args;
    f.argSize = sizeof(args);
    ok(HcclAicpuKernelLaunch(c, &op, &f, t, user, &k) == 0 &&
       mock_pushed(user) == 2 && mock_pushed(unfold) == 3,
       "a record and a wait for the user, three kernels");
    HcclGroupStart();
    ok(HcclAicpuKernelLaunch(c, &op, &f, t, user, &k) == 0 &&
       mock_pushed(user) == 2, "noted in a group");
    args[0] = 2;                 /* copied already */
    ok(HcclGroupEnd() == 0 && mock_pushed(user) == 4 &&
       mock_pushed(unfold) == 6, "and launched at its end");
    f.args = NULL;
    ok(HcclAicpuKernelLaunch(c, &op, &f, t, user, &k) == HCCL_E_PTR,
       "arguments without a pointer");
    f.args = args;
    f.argSize = 8193;
    ok(HcclAicpuKernelLaunch(c, &op, &f, t, user, &k) == HCCL_E_PARA &&
       strstr(a350_peek_error(), "8192"), "too many");
    f.argSize = sizeof(args);
    ok(HcclAicpuKernelLaunch(c, &op, &f, t + 64, user, &k) == HCCL_E_PARA,
       "no thread of the communicator");
    op.opDescType = 2;
    ok(HcclAicpuKernelLaunch(c, &op, &f, t, user, &k) == HCCL_E_NOT_SUPPORT,
       "not point to point");
    ok(mock_pushed(user) == 4 && mock_pushed(unfold) == 6,
       "refused launches queue nothing");
    HcclCommDestroy(c);
    aclrtDestroyStream(user);
    aclrtDestroyStream(unfold);
}

int main(void)
{
    int fd = mkstemp(path);

    setenv("ATLAS350_CONNECT_TIMEOUT", "2", 1);
    setenv("HCCL_IF_IP", "127.0.0.1", 1);
    setenv("HCCL_BUFFSIZE", "1", 1);
    test_descs();
    test_endpoints();
    test_lonely();
    test_again();
    test_names();
    test_unregister();
    test_shared_card();
    test_tables();
    test_odd_tables();
    test_meeting_place();
    test_group();
    test_launch();
    ok(mock_live == 0, "nothing is left: %d", mock_live);
    close(fd);
    unlink(path);
    return done_testing();
}
