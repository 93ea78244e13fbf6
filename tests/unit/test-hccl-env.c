/*
 * Environment variables of HCCL: what is a value, and what a wrong one gives.
 * Expected values are those of spec/api/env-and-errors.md §1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "env.c"

#include "tap.h"

static char code[8], text[600];

HcclResult hcl_fail(HcclResult rc, const char *number, const char *fmt, ...)
{
    va_list ap;

    snprintf(code, sizeof(code), "%s", number ? number : "");
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return rc;
}

/* As in a process that starts with @name=@value. */
static HcclResult start(const char *name, const char *value)
{
    const hcl_env *e;

    memset(&env, 0, sizeof(env));
    result = HCCL_SUCCESS;
    once = PTHREAD_ONCE_INIT;
    code[0] = text[0] = '\0';
    if (value) {
        setenv(name, value, 1);
    }
    hcl_env_get(&e);
    unsetenv(name);
    return result;
}

static void right(const char *name, const char *value)
{
    ok(start(name, value) == HCCL_SUCCESS, "%s=\"%s\"", name, value);
    if (result) {
        printf("# %s: %s\n", code, text);
    }
}

static void refused(const char *name, const char *value)
{
    ok(start(name, value) == HCCL_E_PARA && !strcmp(code, "EI0001") &&
       strstr(text, name) && strstr(text, value) &&
       strstr(text, "expected: "), "%s=\"%s\" is EI0001", name, value);
}

static void all(void (*fn)(const char *, const char *), const char *name,
                const char *const *value)
{
    for (; *value; value++) {
        fn(name, *value);
    }
}
#define RIGHT(name, ...) \
    all(right, name, (const char *const[]){ __VA_ARGS__, NULL })
#define WRONG(name, ...) \
    all(refused, name, (const char *const[]){ __VA_ARGS__, NULL })

static void test_numbers(void)
{
    RIGHT("HCCL_BUFFSIZE", "", "1", "200", "4096");
    WRONG("HCCL_BUFFSIZE", "0", "-1", "1.5", "0x10", "2 ", " 2", "many",
          "99999999999999999999999");
    RIGHT("HCCL_CONNECT_TIMEOUT", "", "120", "7200");
    WRONG("HCCL_CONNECT_TIMEOUT", "119", "7201", "120s", "-120");
    RIGHT("HCOMM_TA_CTP_UB_TIMEOUT", "0", "31");
    WRONG("HCOMM_TA_CTP_UB_TIMEOUT", "32", "x");
    RIGHT("HCCL_IF_BASE_PORT", "1024", "65520");
    WRONG("HCCL_IF_BASE_PORT", "1023", "65521");
}

static void test_exec_timeout(void)
{
    static const char name[] = "HCCL_EXEC_TIMEOUT";

    RIGHT(name, "", "0", "1836", "2147483647", "0.5", "12.34");
    WRONG(name, "-1", "1.234", "1e3", "0x10", "1.5e1", "nan", "inf", ".5",
          "4294967296", "10 ", "ten", "1..2");
    start(name, "12.25");
    ok(env.exec_timeout == 12.25f, "12.25 s");
    start(name, "");
    ok(env.exec_timeout == 1836.0f, "1836 s without it");
}

static void test_words(void)
{
    static const char mode[] = "HCCL_OP_EXPANSION_MODE";
    static const char dfs[] = "HCCL_DFS_CONFIG";

    RIGHT(mode, "AI_CPU", "AICPU_TS", "AICPU_CacheDisable", "AIV", "CCU_MS",
          "CCU_SCHED", "HOST", "HOST_TS");
    WRONG(mode, "AICPU", "aicpu_ts", "CCU", "2");
    RIGHT("HCCL_DETERMINISTIC", "true", "FALSE", "Strict");
    WRONG("HCCL_DETERMINISTIC", "yes", "1");
    RIGHT(dfs, "task_exception:on", "Task_Exception : OFF",
          "cluster_heartbeat:off, inconsistent_check:first",
          "stuck_detection:on,connection_fault_detection_time:0");
    WRONG(dfs, "task_exception", "task_exception:maybe", "a:b:c",
          "inconsistent_check:2", "unknown:on");
    start(dfs, "task_exception:off,inconsistent_check:off");
    ok(!env.task_exception && !env.inconsistent_check, "both are off");
    start(dfs, NULL);
    ok(env.task_exception && env.inconsistent_check, "both are on without it");
}

static void test_network(void)
{
    static const char range[] = "HCCL_HOST_SOCKET_PORT_RANGE";

    RIGHT(range, "auto", "1", "65535", "50000-50010,60000");
    WRONG(range, "0", "65536", "5-4", "a-b", "1-2-3");
    start(range, "50000-50010,60000");
    ok(env.port_ranges == 2 && env.ports[0].first == 50000 &&
       env.ports[0].last == 50010 && env.ports[1].first == 60000 &&
       env.ports[1].last == 60000, "a range and a port");
    RIGHT("HCCL_SOCKET_FAMILY", "AF_INET", "AF_INET6");
    WRONG("HCCL_SOCKET_FAMILY", "inet", "4");
    RIGHT("HCCL_IF_IP", "127.0.0.1", "::1");
    WRONG("HCCL_IF_IP", "1.2.3", "localhost");
}

/* Not read, or not for this chip: nothing of it fails. */
static void test_ignored(void)
{
    RIGHT("HCCL_OP_RETRY_ENABLE", "L0:0, L1:0, L2:0");
    RIGHT("HCCL_INTRA_ROCE_ENABLE", "1");
    RIGHT("HCCL_RDMA_TC", "132");
    RIGHT("HCCL_ALGO", "level0:NA;level1:NHR");
}

int main(void)
{
    test_numbers();
    test_exec_timeout();
    test_words();
    test_network();
    test_ignored();
    return done_testing();
}
