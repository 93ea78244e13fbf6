/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Environment variables: spec/api/env-and-errors.md §1. Read once; a wrong
 * value fails the first communicator call with EI0001 and every later one.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include "hccl_internal.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static hcl_env env;
static HcclResult result;
static char message[512];

static void wrong(const char *name, const char *value, const char *expect)
{
    if (result != HCCL_SUCCESS) {
        return;
    }
    result = HCCL_E_PARA;
    snprintf(message, sizeof(message), "value \"%.100s\" of environment "
             "variable %s is invalid; expected: %s", value, name, expect);
}

static bool whole(const char *text, uint64_t min, uint64_t max, uint64_t *v)
{
    char *end;

    if (!isdigit((unsigned char)*text)) {
        return false;
    }
    *v = strtoull(text, &end, 10);
    return *end == '\0' && *v >= min && *v <= max && strlen(text) < 20;
}

static void number(const char *name, uint64_t min, uint64_t max,
                   uint32_t *out)
{
    const char *text = getenv(name);
    char expect[96];
    uint64_t v;

    if (!text || !*text) {
        return;
    }
    if (!whole(text, min, max, &v)) {
        snprintf(expect, sizeof(expect), "a whole number from %llu to %llu",
                 (unsigned long long)min, (unsigned long long)max);
        wrong(name, text, expect);
        return;
    }
    *out = (uint32_t)v;
}

static void exec_timeout(void)
{
    const char *text = getenv("HCCL_EXEC_TIMEOUT");
    size_t n, decimals = 0;
    double v;

    if (!text || !*text) {
        return;
    }
    /* No exponents, no hexadecimal, which strtod() would take, too. */
    n = strspn(text, "0123456789");
    v = strtod(text, NULL);
    if (n && text[n] == '.') {
        decimals = strspn(text + n + 1, "0123456789");
        n += 1 + decimals;
    }
    if (!n || text[n] || decimals > 2 || v > UINT32_MAX) {
        wrong("HCCL_EXEC_TIMEOUT", text, "seconds from 0 to 2147483647");
        return;
    }
    env.exec_timeout = (float)v;
}

static void expansion(void)
{
    static const struct { const char *name; uint32_t mode; } modes[] = {
        { "AI_CPU", 2 }, { "AICPU_TS", 2 }, { "AICPU_CacheDisable", 2 },
        { "AIV", 3 }, { "CCU_MS", 5 }, { "CCU_SCHED", 6 }, { "HOST", 0 },
        { "HOST_TS", 0 },
    };
    const char *text = getenv("HCCL_OP_EXPANSION_MODE");
    size_t i;

    if (!text || !*text) {
        return;
    }
    for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (!strcmp(text, modes[i].name)) {
            env.expansion = modes[i].mode;
            return;
        }
    }
    wrong("HCCL_OP_EXPANSION_MODE", text, "AI_CPU, AICPU_TS, "
          "AICPU_CacheDisable, AIV, CCU_MS or CCU_SCHED");
}

static bool dfs_item(const char *item)
{
    const char *colon = strchr(item, ':');
    const char *v;
    bool on;

    if (!colon || strchr(colon + 1, ':')) {
        return false;
    }
    v = colon + 1;
    on = !strcmp(v, "on");
    if (!strncmp(item, "task_exception:", 15)) {
        env.task_exception = on;
        return on || !strcmp(v, "off");
    }
    if (!strncmp(item, "inconsistent_check:", 19)) {
        env.inconsistent_check = strcmp(v, "off") != 0;
        return on || !strcmp(v, "off") || !strcmp(v, "first");
    }
    if (!strncmp(item, "cluster_heartbeat:", 18) ||
        !strncmp(item, "stuck_detection:", 16)) {
        return on || !strcmp(v, "off");
    }
    return !strncmp(item, "connection_fault_detection_time:", 32) ||
           !strncmp(item, "task_monitor_interval:", 22);
}

static void dfs(void)
{
    const char *text = getenv("HCCL_DFS_CONFIG");
    char low[512], *item, *save = NULL;
    size_t n = 0;

    if (!text || !*text) {
        return;
    }
    for (; *text && n + 1 < sizeof(low); text++) {
        if (*text != ' ') {
            low[n++] = (char)tolower((unsigned char)*text);
        }
    }
    low[n] = '\0';
    for (item = strtok_r(low, ",", &save); item;
         item = strtok_r(NULL, ",", &save)) {
        if (!dfs_item(item)) {
            wrong("HCCL_DFS_CONFIG", item,
                  "a list of task_exception:on|off, "
                  "cluster_heartbeat:on|off, "
                  "inconsistent_check:on|first|off");
            return;
        }
    }
}

static bool port_range(char *item)
{
    char *dash = strchr(item, '-');
    uint64_t a, b;

    if (env.port_ranges == sizeof(env.ports) / sizeof(env.ports[0])) {
        return false;
    }
    if (dash) {
        *dash = '\0';
    }
    if (!whole(item, 1, 65535, &a)) {
        return false;
    }
    b = a;
    if (dash && (!whole(dash + 1, 1, 65535, &b) || b < a)) {
        return false;
    }
    env.ports[env.port_ranges].first = (uint16_t)a;
    env.ports[env.port_ranges].last = (uint16_t)b;
    env.port_ranges++;
    return true;
}

/* HCCL_HOST_SOCKET_PORT_RANGE, else HCCL_IF_BASE_PORT, else 60000..60031. */
static void ports(void)
{
    const char *range = getenv("HCCL_HOST_SOCKET_PORT_RANGE");
    const char *user = getenv("HCCL_IF_BASE_PORT");
    uint32_t base = 60000;
    char list[512], *item, *save = NULL;

    number("HCCL_IF_BASE_PORT", 1024, 65520, &base);
    env.ports_by_user = user && *user;
    if (range && *range && strcmp(range, "auto") != 0) {
        snprintf(list, sizeof(list), "%s", range);
        for (item = strtok_r(list, ",", &save); item;
             item = strtok_r(NULL, ",", &save)) {
            if (!port_range(item)) {
                wrong("HCCL_HOST_SOCKET_PORT_RANGE", range,
                      "auto, or at most 16 of port or first-last, 1..65535");
                return;
            }
        }
        env.ports_by_user = true;
        return;
    }
    if (range && !strcmp(range, "auto")) {
        env.ports_by_user = false;
        return;
    }
    env.ports[0].first = (uint16_t)base;
    env.ports[0].last = (uint16_t)(base + 31 > 65535 ? 65535 : base + 31);
    env.port_ranges = 1;
}

static void addresses(void)
{
    const char *ip = getenv("HCCL_IF_IP");
    const char *name = getenv("HCCL_SOCKET_IFNAME");
    const char *family = getenv("HCCL_SOCKET_FAMILY");
    unsigned char buf[sizeof(struct in6_addr)];

    env.family = AF_INET;
    if (family && *family) {
        if (!strcmp(family, "AF_INET6")) {
            env.family = AF_INET6;
        } else if (strcmp(family, "AF_INET") != 0) {
            wrong("HCCL_SOCKET_FAMILY", family, "AF_INET or AF_INET6");
        }
    }
    if (ip && *ip) {
        if (inet_pton(AF_INET, ip, buf) != 1 &&
            inet_pton(AF_INET6, ip, buf) != 1) {
            wrong("HCCL_IF_IP", ip, "an IPv4 or IPv6 address of this host");
        }
        snprintf(env.if_ip, sizeof(env.if_ip), "%.63s", ip);
    }
    snprintf(env.ifname, sizeof(env.ifname), "%s", name ? name : "");
}

static void read_all(void)
{
    const char *det = getenv("HCCL_DETERMINISTIC");
    uint32_t test = 0;

    env.buffer_mib = HCCL_COMM_DEFAULT_BUFFSIZE;
    env.connect_timeout = 120;
    env.exec_timeout = 1836;
    env.expansion = 2;
    env.ub_timeout = 8;
    env.task_exception = true;
    env.inconsistent_check = true;
    number("HCCL_BUFFSIZE", 1, UINT32_MAX / 2, &env.buffer_mib);
    number("HCCL_CONNECT_TIMEOUT", 120, 7200, &env.connect_timeout);
    number("HCOMM_TA_CTP_UB_TIMEOUT", 0, 31, &env.ub_timeout);
    /* Ours: set-up waits of a few seconds, for tests. */
    number("ATLAS350_CONNECT_TIMEOUT", 1, 7200, &test);
    if (test) {
        env.connect_timeout = test;
    }
    exec_timeout();
    expansion();
    dfs();
    ports();
    addresses();
    if (det && *det && strcasecmp(det, "true") && strcasecmp(det, "false") &&
        strcasecmp(det, "strict")) {
        wrong("HCCL_DETERMINISTIC", det, "false, true or strict");
    }
}

HcclResult hcl_env_get(const hcl_env **out)
{
    pthread_once(&once, read_all);
    *out = &env;
    if (result != HCCL_SUCCESS) {
        return hcl_fail(result, "EI0001", "%s", message);
    }
    return HCCL_SUCCESS;
}

uint64_t hcl_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* The published value plus 20 s; ours for tests is taken as it is. */
uint32_t hcl_connect_limit(void)
{
    pthread_once(&once, read_all);
    return env.connect_timeout + (env.connect_timeout >= 120 ? 20 : 0);
}

uint64_t hcl_connect_deadline(void)
{
    return hcl_now_ns() + hcl_connect_limit() * 1000000000ull;
}
