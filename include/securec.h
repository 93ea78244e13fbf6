/*
 * Bounds-checked string and memory functions, as programs of this card's
 * programming interface include them.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * hcomm_res_defs.h, hcomm_primitives.h and hccl_rank_graph.h include this
 * file; it brings <string.h> and <stdlib.h>, on which programs rely
 * (spec/api/examples.md §1). An implementation of our own, in libc_sec.so, for
 * the host and for kernels; same names, argument order and result codes as
 * the usual ones:
 *
 *  - the memory and string functions return EOK, or an errno_t; when the
 *    destination is known but the operation is refused they clear it (memcpy_s
 *    and memset_s all of destMax, string functions the first byte) and say so
 *    by one of the _AND_RESET codes;
 *  - the print functions return the number of characters written without the
 *    terminating zero, or -1 (bad argument, or the text did not fit), and
 *    leave an empty string after a failure. snprintf_s and vsnprintf_s cut
 *    the text at count characters and also return -1 then, but keep the cut
 *    text.
 *
 * All are safe to use from any thread on different destinations.
 */
#ifndef SECUREC_H
#define SECUREC_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int errno_t;

#ifndef EOK
#define EOK 0
#endif
#ifndef EINVAL
#define EINVAL 22
#endif
#ifndef EINVAL_AND_RESET
#define EINVAL_AND_RESET 150
#endif
#ifndef ERANGE
#define ERANGE 34
#endif
#ifndef ERANGE_AND_RESET
#define ERANGE_AND_RESET 162
#endif
#ifndef EOVERLAP_AND_RESET
#define EOVERLAP_AND_RESET 182
#endif

/* The largest destMax that is believed; a larger one is ERANGE. */
#define SECUREC_MEM_MAX_LEN    0x7fffffffUL
#define SECUREC_STRING_MAX_LEN 0x7fffffffUL

#define SECUREC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Memory: destMax is the size of the destination, count what is written. */
errno_t memset_s(void *dest, size_t destMax, int c, size_t count);
errno_t memcpy_s(void *dest, size_t destMax, const void *src, size_t count);
errno_t memmove_s(void *dest, size_t destMax, const void *src, size_t count);

/* Strings: destMax counts the terminating zero. */
errno_t strcpy_s(char *strDest, size_t destMax, const char *strSrc);
errno_t strncpy_s(char *strDest, size_t destMax, const char *strSrc,
                  size_t count);
errno_t strcat_s(char *strDest, size_t destMax, const char *strSrc);
errno_t strncat_s(char *strDest, size_t destMax, const char *strSrc,
                  size_t count);
char *strtok_s(char *strToken, const char *strDelimit, char **context);

int sprintf_s(char *strDest, size_t destMax, const char *format, ...)
    SECUREC_PRINTF(3, 4);
int vsprintf_s(char *strDest, size_t destMax, const char *format,
               va_list argList) SECUREC_PRINTF(3, 0);
int snprintf_s(char *strDest, size_t destMax, size_t count,
               const char *format, ...) SECUREC_PRINTF(4, 5);
int vsnprintf_s(char *strDest, size_t destMax, size_t count,
                const char *format, va_list argList) SECUREC_PRINTF(4, 0);

#ifdef __cplusplus
}
#endif

#endif /* SECUREC_H */
