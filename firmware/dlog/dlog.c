/*
 * libunified_dlog.so of the card: log calls and a kernel's questions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include "a350_fw.h"
#include "aicpu_api.h"
#include "dlog_pub.h"

#define API __attribute__((visibility("default")))

static long card_call(long nr, long a, long b, long c)
{
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a7 __asm__("a7") = nr;

    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7)
                     : "memory");
    return a0;
}

API int32_t CheckLogLevel(int32_t moduleId, int32_t logLevel)
{
    (void)moduleId;
    return logLevel == DLOG_EVENT ||
           (logLevel >= DLOG_INFO && logLevel <= DLOG_ERROR);
}

API int32_t dlog_getlevel(int32_t moduleId, int32_t *enableEvent)
{
    (void)moduleId;
    if (enableEvent) {
        *enableEvent = 1;
    }
    return DLOG_INFO;
}

API void DlogRecord(int32_t moduleId, int32_t level, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    int n;

    if (!CheckLogLevel(moduleId, level)) {
        return;
    }
    va_start(ap, fmt);
    n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (n < 0) {
        return;
    }
    n = n < (int)sizeof(text) ? n : (int)sizeof(text) - 1;
    card_call(A350_SYS_LOG, level == DLOG_EVENT ? DLOG_INFO : level,
              (long)text, n);
}

API uint32_t a350_block_idx(void)
{
    return (uint32_t)card_call(A350_SYS_BLOCK, 0, 0, 0);
}

API uint32_t a350_block_num(void)
{
    uint32_t n = (uint32_t)((uint64_t)card_call(A350_SYS_BLOCK, 0, 0, 0) >> 32);

    return n ? n : 1;
}

API uint32_t a350_core_id(void)
{
    int core = sched_getcpu();

    return core < 0 ? 0 : (uint32_t)core;
}
