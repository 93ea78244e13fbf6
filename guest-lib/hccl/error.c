/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors as users read them: the published number, then what, which value and
 * what is legal. spec/api/env-and-errors.md §2, §3.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "hccl_internal.h"

static HcclResult vfail(HcclResult rc, const char *code, const char *fmt,
                        va_list ap)
{
    char text[1024];

    vsnprintf(text, sizeof(text), fmt, ap);
    a350_set_error(code, "%s", text);    /* logs it too */
    return rc;
}

HcclResult hcl_fail(HcclResult rc, const char *code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vfail(rc, code, fmt, ap);
    va_end(ap);
    return rc;
}

HcclResult hcl_bad(HcclResult rc, const char *call, const char *param,
                   const char *expect, const char *value_fmt, ...)
{
    char value[256];
    va_list ap;

    va_start(ap, value_fmt);
    vsnprintf(value, sizeof(value), value_fmt, ap);
    va_end(ap);
    return hcl_fail(rc, "EI0003", "%s: value [%s] of parameter %s is invalid; "
                    "expected: %s", call, value, param, expect);
}

HcclResult hcl_null(const char *call, const char *param)
{
    return hcl_bad(HCCL_E_PTR, call, param, "non-null pointer", "nullptr");
}

HcclResult hcl_driver(int rc, const char *what)
{
    const char *text = a350_card_text();

    switch (rc) {
    case 0:
        return HCCL_SUCCESS;
    case -ENOSPC:
        return hcl_fail(HCCL_E_OOM, "EI0011", "%s: %s", what, text);
    case -ENOMEM:
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "%s: out of host memory: %s",
                        what, text);
    case -EBUSY:
        return hcl_fail(HCCL_E_AGAIN, "EI0007", "%s: %s", what, text);
    case -EINVAL:
        return hcl_fail(HCCL_E_PARA, "EI0003", "%s: %s", what, text);
    case -ETIMEDOUT:
        return hcl_fail(HCCL_E_TIMEOUT, "EI0009", "%s: %s", what, text);
    case -ENOTSUP:
        return hcl_fail(HCCL_E_NOT_SUPPORT, "EI0009", "%s: %s", what, text);
    default:
        return hcl_fail(HCCL_E_DRV, "EI0009", "%s: %s", what, text);
    }
}

HcclResult hcl_acl(aclError rc, const char *what)
{
    if (rc == ACL_SUCCESS) {
        return HCCL_SUCCESS;
    }
    a350_append_error("%s failed with acl error %d", what, rc);
    a350_log_host(3, "HCCL", "%s failed with acl error %d: %s", what, rc,
                  a350_peek_error());
    return HCCL_E_RUNTIME;
}

const char *hcl_engine_name(CommEngine engine)
{
    switch (engine) {
    case COMM_ENGINE_CPU:
        return "CPU";
    case COMM_ENGINE_CPU_TS:
        return "CPU_TS";
    case COMM_ENGINE_AICPU:
        return "AICPU";
    case COMM_ENGINE_AICPU_TS:
        return "AICPU_TS";
    case COMM_ENGINE_AIV:
        return "AIV";
    case COMM_ENGINE_CCU:
        return "CCU";
    default:
        return "unknown";
    }
}

const char *hcl_protocol_name(CommProtocol protocol)
{
    static const char *const name[] = {
        "HCCS", "ROCE", "PCIE", "SIO", "UB_CTP", "UBC_TP", "UB_MEM", "UBOE",
        "HCCS_ONLY", "UB_RTP",
    };

    if (protocol < 0 || (size_t)protocol >= sizeof(name) / sizeof(name[0])) {
        return "unknown";
    }
    return name[protocol];
}

void hcl_log(int level, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    a350_log_host(level, "HCCL", "%s", text);
}

const char *HcclGetErrorString(HcclResult code)
{
    static const char *const text[] = {
        "no error", "parameter error", "null pointer", "memory error",
        "internal error", "not supported", "not found", "not available",
        "system call error", "timeout", "cannot open file",
        "TCP connection failed", "RoCE connection failed",
        "TCP transfer failed", "RoCE transfer failed", "runtime error",
        "driver error", "profiling error", "CCE error", "network error",
        "try again", "remote error", "communicator is suspending",
        "operator retry failed", "out of memory",
    };

    if ((int)code < 0 || code >= HCCL_E_RESERVED) {
        return "unknown error";
    }
    if (code == HCCL_E_IN_STATUS) {
        return "error in status";
    }
    if ((size_t)code >= sizeof(text) / sizeof(text[0])) {
        return "unknown error code";
    }
    return text[code];
}
