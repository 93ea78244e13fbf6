/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Last error and recent text of a thread; the library's log.
 */
#include "acl_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TEXT_MAX        2048

static __thread char recent[TEXT_MAX];
static __thread char handed_out[TEXT_MAX];
static __thread aclError last_error;

/* ---- log ---- */

static int log_level(void)
{
    static _Atomic int level = -1;
    const char *e;

    if (level < 0) {
        e = getenv("ASCEND_GLOBAL_LOG_LEVEL");
        level = e && *e >= '0' && *e <= '4' ? *e - '0' : 3;
    }
    return level;
}

static FILE *log_stream(void)
{
    const char *e = getenv("ASCEND_SLOG_PRINT_TO_STDOUT");

    if (!e || *e != '1') {
        e = getenv("ASCEND_LOG_PRINT_TO_STDOUT");
    }
    return e && *e == '1' ? stdout : NULL;
}

static void log_v(int level, const char *module, const char *fmt, va_list ap)
{
    static const char *const names[] = { "DEBUG", "INFO", "WARNING", "ERROR" };
    FILE *f = log_stream();
    char buf[TEXT_MAX];
    struct timespec ts;

    if (!f || level < log_level() || level < 0 || level > 3) {
        return;
    }
    clock_gettime(CLOCK_REALTIME, &ts);
    vsnprintf(buf, sizeof(buf), fmt, ap);
    fprintf(f, "[%s] %s(%d,%ld):%lld.%06ld %s\n", names[level], module,
            (int)getpid(), (long)syscall(SYS_gettid), (long long)ts.tv_sec,
            ts.tv_nsec / 1000, buf);
    fflush(f);
}

void a350_log_host(int level, const char *module, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    log_v(level, module, fmt, ap);
    va_end(ap);
}

ACL_EXPORT void aclAppLog(aclLogLevel logLevel, const char *func,
                          const char *file, uint32_t line, const char *fmt,
                          ...)
{
    char buf[TEXT_MAX];
    va_list ap;

    if (!fmt) {
        return;
    }
    va_start(ap, fmt);
    vsnprintf(buf, sizeof(buf), fmt, ap);
    va_end(ap);
    a350_log_host((int)logLevel, "APP", "%s:%u %s: %s", file ? file : "?",
                  line, func ? func : "?", buf);
}

/* ---- text ---- */

/* Message numbers that users search for: spec/api/env-and-errors.md §3. */
static const char *code_prefix(aclError code)
{
    if (code == ACL_ERROR_RT_TASK_TIMEOUT) {
        return "EI0002";         /* a notify wait expired */
    }
    if (code == ACL_ERROR_RT_LINK_ERROR ||
        code == ACL_ERROR_RT_SUSPECT_REMOTE_ERROR) {
        return "EI0018";         /* a transfer to another card failed */
    }
    if (code < 107000 || code == ACL_ERROR_RT_PARAM_INVALID) {
        return "EE1003";         /* an argument */
    }
    if (code < 207000) {
        return "EE1001";         /* used in a wrong way */
    }
    return code < 300000 ? "EE1011" : "EE9999";
}

/* Length of a published number with its colon ("EI0002: ") at @p, or 0. */
static size_t number_at(const char *p)
{
    return p[0] == 'E' && strchr("EILJZ", p[1]) && p[1] &&
           strspn(p + 2, "0123456789") == 4 && p[6] == ':' && p[7] == ' ' ? 8
                                                                         : 0;
}

/*
 * A text made around that of a lower layer brings its number along. It stands
 * once, in front: the cause's own rather than the general one of this layer.
 */
static void lift_number(char *buf, const char **code, char number[8])
{
    char *p = buf;

    while (*p) {
        if ((p == buf || p[-1] == ' ' || p[-1] == '\n') && number_at(p)) {
            if (!number[0] && (!*code || (*code)[1] == 'E')) {
                memcpy(number, p, 6);
                number[6] = '\0';
                *code = number;
            }
            memmove(p, p + 8, strlen(p + 8) + 1);
        } else {
            p++;
        }
    }
}

void a350_set_error(const char *code, const char *fmt, ...)
{
    char buf[TEXT_MAX], number[8] = "";
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(buf, sizeof(buf), fmt, ap);
    va_end(ap);
    lift_number(buf, &code, number);
    if (code) {
        snprintf(recent, sizeof(recent), "%s: %.*s", code, TEXT_MAX - 32, buf);
    } else {
        memcpy(recent, buf, sizeof(recent));
    }
    a350_log_host(3, "RUNTIME", "%s", recent);
}

void a350_append_error(const char *fmt, ...)
{
    size_t n = strlen(recent);
    va_list ap;

    if (n && n + 2 < sizeof(recent)) {
        recent[n++] = '\n';
        recent[n] = '\0';
    }
    va_start(ap, fmt);
    vsnprintf(recent + n, sizeof(recent) - n, fmt, ap);
    va_end(ap);
}

const char *a350_peek_error(void)
{
    return recent;
}

aclError acl_code_only(aclError code)
{
    last_error = code;
    return code;
}

aclError acl_fail(const char *func, aclError code, const char *fmt, ...)
{
    char buf[TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(buf, sizeof(buf), fmt, ap);
    va_end(ap);
    a350_set_error(code_prefix(code), "%s: %.*s (%d)", func, TEXT_MAX - 128,
                   buf, code);
    return acl_code_only(code);
}

aclError acl_fail_keep(const char *func, aclError code)
{
    char buf[TEXT_MAX];

    if (!recent[0]) {
        return acl_fail(func, code, "failed");
    }
    memcpy(buf, recent, sizeof(buf));
    snprintf(recent, sizeof(recent), "%.*s [%s, %d]", TEXT_MAX - 128, buf,
             func, code);
    return acl_code_only(code);
}

aclError acl_code_of(int rc)
{
    switch (rc) {
    case 0:             return ACL_SUCCESS;
    case -ENODEV:       return ACL_ERROR_RT_NO_DEVICE;
    case -EBUSY:        return ACL_ERROR_RT_NO_PERMISSION;
    case -EACCES:
    case -EPERM:        return ACL_ERROR_RT_NO_PERMISSION;
    case -EINVAL:       return ACL_ERROR_RT_PARAM_INVALID;
    case -ENOMEM:       return ACL_ERROR_RT_MEMORY_ALLOCATION;
    case -ENOSPC:       return ACL_ERROR_RT_RESOURCE_ALLOC_FAIL;
    case -ENOTSUP:      return ACL_ERROR_RT_FEATURE_NOT_SUPPORT;
    case -ETIMEDOUT:    return ACL_ERROR_RT_REPORT_TIMEOUT;
    case -ECANCELED:    return ACL_ERROR_RT_STREAM_ABORT;
    }
    return ACL_ERROR_RT_DRV_INTERNAL_ERROR;
}

aclError acl_fail_card(const char *func, int rc)
{
    return acl_fail(func, acl_code_of(rc), "%s", a350_card_text());
}

/* ---- public ---- */

ACL_EXPORT const char *aclGetRecentErrMsg(void)
{
    if (!recent[0]) {
        return NULL;
    }
    memcpy(handed_out, recent, sizeof(handed_out));
    recent[0] = '\0';
    return handed_out;
}

ACL_EXPORT aclError aclrtPeekAtLastError(aclrtLastErrLevel level)
{
    if (level != ACL_RT_THREAD_LEVEL) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "level %d: only 0 (thread)",
                    (int)level);
    }
    return last_error;
}

ACL_EXPORT aclError aclrtGetLastError(aclrtLastErrLevel level)
{
    aclError e;

    if (level != ACL_RT_THREAD_LEVEL) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "level %d: only 0 (thread)",
                    (int)level);
    }
    e = last_error;
    last_error = ACL_SUCCESS;
    return e;
}
