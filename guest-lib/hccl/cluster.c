/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank tables, version 2.0. spec/api/hccl-control-plane.md §10.1.
 *
 * The addresses of a table are those of the cards' own network ports, which
 * the model has not. The ranks meet at rank 0 instead: at its "host_ip" (an
 * addition of ours; without it the address of the rank itself, all ranks in
 * one guest) and its "host_port", or the ports at which HCCL listens. The
 * digest of the table tells its communicator from others.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hccl_internal.h"

#define WORLD_NAME      "hccl_world_group"
#define PATH_LIMIT      4096u

typedef struct entry {
    uint32_t rank, device;
    uint32_t port;
    char ip[HCL_IP_LEN];         /* "": not given */
} entry;

typedef struct table {
    const char *path;
    json_t *root;
    uint32_t n;
    entry *ranks;
    uint8_t nonce[HCL_NONCE];
} table;

static HcclResult missing(const table *t, const char *item)
{
    return hcl_fail(HCCL_E_PARA, "EI0017", "rank table %s: item %s is missing",
                    t->path, item);
}

static HcclResult wrong(const table *t, const char *item, const char *expect,
                        const char *value)
{
    return hcl_fail(HCCL_E_PARA, "EI0014", "rank table %s: value %s of item "
                    "%s is invalid; expected: %s", t->path, value, item,
                    expect);
}

/* Numbers stand as numbers or, as in version 1, as text. */
static bool get_number(const json_t *o, const char *key, uint64_t *v)
{
    const json_t *j = json_object_get(o, key);
    const char *text = json_string_value(j);
    char *end;

    if (json_is_integer(j) && json_integer_value(j) >= 0) {
        *v = (uint64_t)json_integer_value(j);
        return true;
    }
    if (!text || !*text) {
        return false;
    }
    *v = strtoull(text, &end, 10);
    return *end == '\0' && *text != '-';
}

static HcclResult number(const table *t, const json_t *o, const char *key,
                         uint64_t max, bool needed, uint32_t *out)
{
    char range[48], value[32];
    uint64_t v;

    if (!json_object_get(o, key)) {
        return needed ? missing(t, key) : HCCL_SUCCESS;
    }
    snprintf(range, sizeof(range), "0 to %llu", (unsigned long long)max);
    if (!get_number(o, key, &v)) {
        const json_t *j = json_object_get(o, key);

        snprintf(value, sizeof(value), "%lld",
                 (long long)json_integer_value(j));
        return wrong(t, key, range, json_is_integer(j) ? value
                     : json_is_string(j) ? json_string_value(j)
                     : "(not a number)");
    }
    if (v > max) {
        snprintf(value, sizeof(value), "%llu", (unsigned long long)v);
        return wrong(t, key, range, value);
    }
    *out = (uint32_t)v;
    return HCCL_SUCCESS;
}

static HcclResult text_of(const table *t, const json_t *o, const char *key,
                          const char **out)
{
    const json_t *j = json_object_get(o, key);

    *out = json_string_value(j);
    return !j ? missing(t, key)
           : *out ? HCCL_SUCCESS : wrong(t, key, "a text", "(not a text)");
}

/* A list that may be missing. */
static HcclResult list_of(const table *t, const json_t *o, const char *key,
                          size_t max, const json_t **out)
{
    char expect[48], value[32];

    *out = json_object_get(o, key);
    if (!*out || (json_is_array(*out) && json_array_size(*out) <= max)) {
        return HCCL_SUCCESS;
    }
    snprintf(expect, sizeof(expect), "a list of at most %zu", max);
    snprintf(value, sizeof(value), "(%zu entries)", json_array_size(*out));
    return wrong(t, key, expect, json_is_array(*out) ? value : "(not a list)");
}

/* ---- levels: checked, not used ---- */

static HcclResult check_addr(const table *t, const json_t *a)
{
    const char *type, *addr;
    const json_t *ports;
    uint8_t bytes[16];
    HcclResult rc = text_of(t, a, "addr_type", &type);

    if (rc == HCCL_SUCCESS) {
        rc = text_of(t, a, "addr", &addr);
    }
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    if (strcmp(type, "EID") && strcmp(type, "IPV4") && strcmp(type, "IPV6")) {
        return wrong(t, "addr_type", "EID, IPV4 or IPV6", type);
    }
    if (strcmp(type, "EID") &&
        inet_pton(!strcmp(type, "IPV4") ? AF_INET : AF_INET6, addr, bytes) !=
        1) {
        return wrong(t, "addr", "an address of its addr_type", addr);
    }
    return list_of(t, a, "ports", HCL_TABLE_PORTS_MAX, &ports);
}

static HcclResult check_level(const table *t, const json_t *l,
                              uint32_t *number_of)
{
    const char *id, *type;
    const json_t *list, *a;
    uint32_t layer = 0;
    HcclResult rc;
    size_t i;

    rc = number(t, l, "net_layer", HCL_TABLE_LAYER_MAX, true, &layer);
    if (rc == HCCL_SUCCESS) {
        rc = text_of(t, l, "net_instance_id", &id);
    }
    if (rc == HCCL_SUCCESS) {
        rc = text_of(t, l, "net_type", &type);
    }
    if (rc == HCCL_SUCCESS) {
        rc = list_of(t, l, "rank_addr_list", HCL_TABLE_ADDRS_MAX, &list);
    }
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    *number_of = layer;
    if (strlen(id) > HCL_TABLE_INSTANCE_MAX) {
        return wrong(t, "net_instance_id", "at most "
                     HCL_TEXT(HCL_TABLE_INSTANCE_MAX) " characters",
                     "(longer)");
    }
    if (strcmp(type, "TOPO_FILE_DESC") && strcmp(type, "CLOS")) {
        return wrong(t, "net_type", "TOPO_FILE_DESC or CLOS", type);
    }
    if (layer == 0 && strcmp(type, "TOPO_FILE_DESC")) {
        return wrong(t, "net_type", "TOPO_FILE_DESC at net_layer 0", type);
    }
    json_array_foreach(list, i, a) {
        rc = check_addr(t, a);
        if (rc != HCCL_SUCCESS) {
            return rc;
        }
    }
    return HCCL_SUCCESS;
}

static HcclResult check_levels(const table *t, const json_t *r)
{
    const json_t *levels, *l;
    uint32_t layer = 0;
    bool have_first = false;
    HcclResult rc = list_of(t, r, "level_list", HCL_TABLE_LEVELS_MAX, &levels);
    size_t i;

    if (rc == HCCL_SUCCESS && !json_array_size(levels)) {
        rc = missing(t, "level_list");
    }
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    json_array_foreach(levels, i, l) {
        rc = check_level(t, l, &layer);
        if (rc != HCCL_SUCCESS) {
            return rc;
        }
        have_first |= layer == 0;
    }
    return have_first ? HCCL_SUCCESS
           : missing(t, "level_list with net_layer 0");
}

/* ---- ranks ---- */

/* As the system writes it, so that one address has one text. */
static HcclResult host_ip(const table *t, const json_t *r,
                          char ip[HCL_IP_LEN])
{
    const json_t *item = json_object_get(r, "host_ip");
    const char *text = json_string_value(item);
    unsigned char addr[sizeof(struct in6_addr)];

    ip[0] = '\0';
    if (!item) {
        return HCCL_SUCCESS;
    }
    if (!text || (inet_pton(AF_INET, text, addr) != 1 &&
                  inet_pton(AF_INET6, text, addr) != 1)) {
        return wrong(t, "host_ip", "an IPv4 or IPv6 address",
                     text ? text : "(not a text)");
    }
    inet_ntop(strchr(text, ':') ? AF_INET6 : AF_INET, addr, ip, HCL_IP_LEN);
    return HCCL_SUCCESS;
}

static HcclResult read_rank(table *t, const json_t *r, bool *seen)
{
    uint32_t rank = 0, local = 0, device = 0, port = 0, unused = 0;
    char ip[HCL_IP_LEN];
    HcclResult rc;

    rc = number(t, r, "rank_id", t->n - 1, true, &rank);
    if (rc == HCCL_SUCCESS) {
        rc = number(t, r, "local_id", HCL_TABLE_ID_MAX, true, &local);
    }
    if (rc == HCCL_SUCCESS) {
        rc = number(t, r, "device_id", HCL_TABLE_ID_MAX, true, &device);
    }
    if (rc == HCCL_SUCCESS) {
        rc = number(t, r, "device_port", 65535, false, &unused);
    }
    if (rc == HCCL_SUCCESS) {
        rc = number(t, r, "host_port", 65535, false, &port);
    }
    if (rc == HCCL_SUCCESS) {
        rc = host_ip(t, r, ip);
    }
    if (rc == HCCL_SUCCESS) {
        rc = check_levels(t, r);
    }
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    if (seen[rank]) {
        return wrong(t, "rank_id", "each rank once", "(twice)");
    }
    seen[rank] = true;
    t->ranks[rank] = (entry){ .rank = rank, .device = device, .port = port };
    memcpy(t->ranks[rank].ip, ip, HCL_IP_LEN);
    return HCCL_SUCCESS;
}

static HcclResult read_ranks(table *t)
{
    const json_t *list = json_object_get(t->root, "rank_list"), *r;
    HcclResult rc = HCCL_SUCCESS;
    bool *seen;
    size_t i;

    if (!json_is_array(list)) {
        return missing(t, "rank_list");
    }
    if (json_array_size(list) != t->n) {
        return wrong(t, "rank_count", "the length of rank_list",
                     "(another number)");
    }
    t->ranks = calloc(t->n, sizeof(*t->ranks));
    seen = calloc(t->n, sizeof(*seen));
    if (!t->ranks || !seen) {
        free(seen);
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    json_array_foreach(list, i, r) {
        rc = read_rank(t, r, seen);
        if (rc != HCCL_SUCCESS) {
            break;
        }
    }
    free(seen);
    return rc;
}

static HcclResult read_table(table *t)
{
    const char *status, *version;
    json_error_t err;
    HcclResult rc;
    uint32_t n = 0;

    t->root = json_load_file(t->path, 0, &err);
    if (!t->root && err.line < 0) {
        return hcl_fail(HCCL_E_OPEN_FILE_FAILURE, "EI0004", "rank table %s: "
                        "%s", t->path, err.text);
    }
    if (!json_is_object(t->root)) {
        return hcl_fail(HCCL_E_PARA, "EI0004", "rank table %s: line %d, "
                        "column %d: %s", t->path, err.line, err.column,
                        t->root ? "not an object" : err.text);
    }
    status = json_string_value(json_object_get(t->root, "status"));
    rc = text_of(t, t->root, "version", &version);
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    if (strcmp(version, "2.0")) {
        return wrong(t, "version", "2.0", version);
    }
    if (status && strcmp(status, "completed")) {
        return wrong(t, "status", "completed", status);
    }
    rc = number(t, t->root, "rank_count", HCL_RANKS_MAX, true, &n);
    if (rc == HCCL_SUCCESS && n == 0) {
        rc = wrong(t, "rank_count", "1 to " HCL_TEXT(HCL_RANKS_MAX), "0");
    }
    t->n = n;
    return rc == HCCL_SUCCESS ? read_ranks(t) : rc;
}

/* The same on all ranks, whatever the order of keys and the spaces. */
static void make_nonce(table *t)
{
    char *text = json_dumps(t->root, JSON_COMPACT | JSON_SORT_KEYS);
    uint64_t h[2] = { 1469598103934665603ull, 0x51ed270b7f4a7c15ull };
    const char *p;

    for (p = text; p && *p; p++) {
        h[0] = (h[0] ^ (uint8_t)*p) * 1099511628211ull;
        h[1] = (h[1] ^ (uint8_t)*p) * 1099511628211ull;
    }
    free(text);
    memcpy(t->nonce, h, HCL_NONCE);
}

/* Where rank 0 listens and the others look for it. */
static HcclResult meeting_place(const table *t, const hcl_rank_info *self,
                                hcl_where *w)
{
    const entry *root = &t->ranks[0];
    const hcl_env *env;
    HcclResult rc = hcl_env_get(&env);

    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    memset(w, 0, sizeof(*w));
    memcpy(w->ip, root->ip[0] ? root->ip : self->ip, HCL_IP_LEN);
    if (root->port) {
        w->ports[w->ranges++] = (hcl_ports){ (uint16_t)root->port,
                                             (uint16_t)root->port };
        return HCCL_SUCCESS;
    }
    if (!env->port_ranges) {
        return hcl_fail(HCCL_E_PARA, "EI0017", "rank table %s: host_port of "
                        "rank 0 is missing; expected with "
                        "HCCL_HOST_SOCKET_PORT_RANGE=auto, when nobody knows "
                        "where rank 0 listens", t->path);
    }
    w->ranges = env->port_ranges;
    memcpy(w->ports, env->ports, sizeof(w->ports));
    return HCCL_SUCCESS;
}

static HcclResult meet(const table *t, uint32_t rank, const hcl_settings *set,
                       const hcl_rank_info *self, hcl_rank_info **all)
{
    hcl_where w;
    HcclResult rc = meeting_place(t, self, &w);

    if (rc == HCCL_SUCCESS && rank == 0) {
        rc = hcl_server_also(&w);
        if (rc == HCCL_SUCCESS) {
            rc = hcl_root_open_as(t->nonce);
        }
        w = hcl_where_of(self->ip, self->port);
    }
    return rc == HCCL_SUCCESS ? hcl_root_join(&w, t->nonce, set, self, all,
                                              hcl_connect_deadline()) : rc;
}

static HcclResult join(const table *t, uint32_t rank,
                       const HcclCommConfig *config, HcclComm *comm,
                       const char *call)
{
    hcl_settings set;
    hcl_rank_info self, *all = NULL;
    a350_card *card;
    hcl_box *box;
    HcclResult rc;

    rc = hcl_comm_prepare(call, config, t->n, rank, WORLD_NAME, &set, &self,
                          &card);
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    if (self.device != t->ranks[rank].device) {
        return hcl_fail(HCCL_E_PARA, "EI0014", "%s: rank %u works on device "
                        "%u, rank table %s says device_id %u", call, rank,
                        self.device, t->path, t->ranks[rank].device);
    }
    box = hcl_box_new(t->nonce, rank);
    if (!box) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    rc = meet(t, rank, &set, &self, &all);
    if (rc != HCCL_SUCCESS) {
        hcl_box_free(box);
        return rc;
    }
    return hcl_comm_create(set.name, true, NULL, t->nonce, box, all, &set,
                           rank, config, comm);
}

HcclResult hcl_init_cluster(const char *path, uint32_t rank,
                            const HcclCommConfig *config, HcclComm *comm,
                            const char *call)
{
    table t = { .path = path };
    HcclResult rc;

    if (!path || !config || !comm) {
        return hcl_null(call, !path ? "clusterInfo" : config ? "comm"
                        : "config");
    }
    if (strnlen(path, PATH_LIMIT) == PATH_LIMIT) {
        return hcl_bad(HCCL_E_PARA, call, "clusterInfo", "a path of at most "
                       "4095 characters", "(longer)");
    }
    rc = read_table(&t);
    if (rc == HCCL_SUCCESS && rank >= t.n) {
        rc = hcl_bad(HCCL_E_PARA, call, "rank", "less than rank_count of the "
                     "table", "%u of %u", rank, t.n);
    }
    if (rc == HCCL_SUCCESS) {
        make_nonce(&t);
        rc = join(&t, rank, config, comm, call);
    }
    free(t.ranks);
    json_decref(t.root);
    return rc;
}
