/*
 * Bounds-checked string and memory functions: include/securec.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdint.h>
#include "securec.h"

static int overlaps(const void *a, size_t alen, const void *b, size_t blen)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;

    return x < y ? y - x < alen : x - y < blen;
}

errno_t memset_s(void *dest, size_t destMax, int c, size_t count)
{
    if (destMax == 0 || destMax > SECUREC_MEM_MAX_LEN) {
        return ERANGE;
    }
    if (!dest) {
        return EINVAL;
    }
    if (count > destMax) {
        memset(dest, c, destMax);
        return ERANGE_AND_RESET;
    }
    memset(dest, c, count);
    return EOK;
}

/* The checks that memcpy_s and memmove_s share; EOK to go on. */
static errno_t copy_check(void *dest, size_t dest_max, const void *src,
                          size_t count)
{
    if (dest_max == 0 || dest_max > SECUREC_MEM_MAX_LEN) {
        return ERANGE;
    }
    if (!dest) {
        return EINVAL;
    }
    if (!src) {
        memset(dest, 0, dest_max);
        return EINVAL_AND_RESET;
    }
    if (count > dest_max) {
        memset(dest, 0, dest_max);
        return ERANGE_AND_RESET;
    }
    return EOK;
}

errno_t memcpy_s(void *dest, size_t destMax, const void *src, size_t count)
{
    errno_t e = copy_check(dest, destMax, src, count);

    if (e != EOK || count == 0 || dest == src) {
        return e;
    }
    if (overlaps(dest, count, src, count)) {
        memset(dest, 0, destMax);
        return EOVERLAP_AND_RESET;
    }
    memcpy(dest, src, count);
    return EOK;
}

errno_t memmove_s(void *dest, size_t destMax, const void *src, size_t count)
{
    errno_t e = copy_check(dest, destMax, src, count);

    if (e == EOK && count != 0) {
        memmove(dest, src, count);
    }
    return e;
}

/*
 * Appends at most @limit characters of @src at dest[used]. @used is at most
 * dest_max; equal means that dest held no terminating zero.
 */
static errno_t append(char *dest, size_t dest_max, size_t used,
                      const char *src, size_t limit)
{
    size_t n;

    if (used >= dest_max) {
        dest[0] = '\0';
        return EINVAL_AND_RESET;
    }
    n = strnlen(src, limit < dest_max ? limit : dest_max);
    if (n >= dest_max - used) {
        dest[0] = '\0';
        return ERANGE_AND_RESET;
    }
    if (n != 0 && dest != src && overlaps(dest, used + n + 1, src, n)) {
        dest[0] = '\0';
        return EOVERLAP_AND_RESET;
    }
    memmove(dest + used, src, n);
    dest[used + n] = '\0';
    return EOK;
}

static errno_t string_check(char *dest, size_t dest_max, const char *src)
{
    if (dest_max == 0 || dest_max > SECUREC_STRING_MAX_LEN) {
        return ERANGE;
    }
    if (!dest) {
        return EINVAL;
    }
    if (!src) {
        dest[0] = '\0';
        return EINVAL_AND_RESET;
    }
    return EOK;
}

errno_t strcpy_s(char *strDest, size_t destMax, const char *strSrc)
{
    errno_t e = string_check(strDest, destMax, strSrc);

    return e != EOK ? e : append(strDest, destMax, 0, strSrc, SIZE_MAX);
}

errno_t strncpy_s(char *strDest, size_t destMax, const char *strSrc,
                  size_t count)
{
    errno_t e = string_check(strDest, destMax, strSrc);

    return e != EOK ? e : append(strDest, destMax, 0, strSrc, count);
}

errno_t strcat_s(char *strDest, size_t destMax, const char *strSrc)
{
    errno_t e = string_check(strDest, destMax, strSrc);

    return e != EOK ? e : append(strDest, destMax, strnlen(strDest, destMax),
                                 strSrc, SIZE_MAX);
}

errno_t strncat_s(char *strDest, size_t destMax, const char *strSrc,
                  size_t count)
{
    errno_t e = string_check(strDest, destMax, strSrc);

    return e != EOK ? e : append(strDest, destMax, strnlen(strDest, destMax),
                                 strSrc, count);
}

char *strtok_s(char *strToken, const char *strDelimit, char **context)
{
    if (!strDelimit || !context || (!strToken && !*context)) {
        return NULL;
    }
    return strtok_r(strToken, strDelimit, context);
}

int vsnprintf_s(char *strDest, size_t destMax, size_t count,
                const char *format, va_list argList)
{
    size_t room = count < destMax ? count + 1 : destMax;
    int n;

    if (!strDest || destMax == 0 || destMax > SECUREC_STRING_MAX_LEN) {
        return -1;
    }
    /* SIZE_MAX as count means: whatever fits, like destMax - 1. */
    if (!format || (count >= destMax && count != SIZE_MAX &&
                    count > SECUREC_STRING_MAX_LEN)) {
        strDest[0] = '\0';
        return -1;
    }
    n = vsnprintf(strDest, room, format, argList);
    if (n < 0) {
        strDest[0] = '\0';
        return -1;
    }
    if ((size_t)n < room) {
        return n;
    }
    /* Cut by count: the text stays. Cut because destMax is short: it does
       not, unless the caller asked for exactly what fits. */
    if (count >= destMax && count != SIZE_MAX) {
        strDest[0] = '\0';
    }
    return -1;
}

int snprintf_s(char *strDest, size_t destMax, size_t count,
               const char *format, ...)
{
    va_list ap;
    int n;

    va_start(ap, format);
    n = vsnprintf_s(strDest, destMax, count, format, ap);
    va_end(ap);
    return n;
}

int vsprintf_s(char *strDest, size_t destMax, const char *format,
               va_list argList)
{
    int n;

    if (!strDest || destMax == 0 || destMax > SECUREC_STRING_MAX_LEN) {
        return -1;
    }
    if (!format) {
        strDest[0] = '\0';
        return -1;
    }
    n = vsnprintf(strDest, destMax, format, argList);
    if (n < 0 || (size_t)n >= destMax) {
        strDest[0] = '\0';
        return -1;
    }
    return n;
}

int sprintf_s(char *strDest, size_t destMax, const char *format, ...)
{
    va_list ap;
    int n;

    va_start(ap, format);
    n = vsprintf_s(strDest, destMax, format, ap);
    va_end(ap);
    return n;
}
