/*
 * Log of the card, for kernels: the calls and levels that kernels of the
 * card's own software use.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is logged goes to the card's log, a line per call, with card, core,
 * kernel and time in front: `atlas350-run --log`, or the log chardev of the
 * device. Any thread may call; text beyond 1 KiB is cut.
 */
#ifndef DLOG_PUB_H
#define DLOG_PUB_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DLOG_DEBUG 0
#define DLOG_INFO  1
#define DLOG_WARN  2
#define DLOG_ERROR 3
#define DLOG_NULL  4
#define DLOG_EVENT 0x10

/* @moduleId is printed where it is known, and otherwise of no effect. */
void DlogRecord(int32_t moduleId, int32_t level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* 1 if a record of this level would be kept. Debug records are not, unless
 * the environment says so: ASCEND_GLOBAL_LOG_LEVEL of the card is INFO. */
int32_t CheckLogLevel(int32_t moduleId, int32_t logLevel);
int32_t dlog_getlevel(int32_t moduleId, int32_t *enableEvent);

#define dlog_debug(module, ...) DlogRecord((module), DLOG_DEBUG, __VA_ARGS__)
#define dlog_info(module, ...)  DlogRecord((module), DLOG_INFO, __VA_ARGS__)
#define dlog_warn(module, ...)  DlogRecord((module), DLOG_WARN, __VA_ARGS__)
#define dlog_error(module, ...) DlogRecord((module), DLOG_ERROR, __VA_ARGS__)
#define dlog_event(module, ...) DlogRecord((module), DLOG_EVENT, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif /* DLOG_PUB_H */
