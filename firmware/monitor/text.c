/*
 * Atlas 350 firmware monitor: memory and text helpers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mon.h"

void *memcpy(void *dst, const void *src, size_t len)
{
    uint8_t *d = dst;
    const uint8_t *s = src;

    /* The core does misaligned accesses itself: words whatever the address. */
    for (; len >= 32; len -= 32, d += 32, s += 32) {
        uint64_t a = *(const uint64_t *)s, b = *(const uint64_t *)(s + 8);
        uint64_t c = *(const uint64_t *)(s + 16);
        uint64_t e = *(const uint64_t *)(s + 24);

        *(uint64_t *)d = a;
        *(uint64_t *)(d + 8) = b;
        *(uint64_t *)(d + 16) = c;
        *(uint64_t *)(d + 24) = e;
    }
    while (len--) {
        *d++ = *s++;
    }
    return dst;
}

void *memset(void *dst, int c, size_t len)
{
    uint8_t *d = dst;
    uint64_t v = (uint8_t)c * 0x0101010101010101ull;

    for (; len && ((uintptr_t)d & 7); len--) {
        *d++ = (uint8_t)c;
    }
    for (; len >= 64; len -= 64, d += 64) {
        uint64_t *w = (uint64_t *)d;

        w[0] = v, w[1] = v, w[2] = v, w[3] = v;
        w[4] = v, w[5] = v, w[6] = v, w[7] = v;
    }
    while (len--) {
        *d++ = (uint8_t)c;
    }
    return dst;
}

int memcmp(const void *a, const void *b, size_t len)
{
    const uint8_t *p = a, *q = b;

    for (; len; len--, p++, q++) {
        if (*p != *q) {
            return *p - *q;
        }
    }
    return 0;
}

size_t strlen(const char *s)
{
    const char *e = s;

    while (*e) {
        e++;
    }
    return (size_t)(e - s);
}

int strcmp(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++, b++;
    }
    return (uint8_t)*a - (uint8_t)*b;
}

void str_copy(char *dst, size_t size, const char *src)
{
    size_t n = strlen(src);

    if (n >= size) {
        n = size - 1;
    }
    memcpy(dst, src, n);
    dst[n] = 0;
}

struct out {
    char *buf;
    size_t size, len;
};

static void put(struct out *o, char c)
{
    if (o->len + 1 < o->size) {
        o->buf[o->len++] = c;
    }
}

static void put_number(struct out *o, uint64_t v, unsigned base, int width,
                       char pad, bool negative)
{
    char digits[24];
    int n = 0;

    do {
        digits[n++] = "0123456789abcdef"[v % base];
        v /= base;
    } while (v);
    if (negative) {
        put(o, '-');
    }
    for (; width > n; width--) {
        put(o, pad);
    }
    while (n) {
        put(o, digits[--n]);
    }
}

static void put_arg(struct out *o, const char **fmt, va_list *ap)
{
    int width = 0, longs = 0;
    char pad = ' ';
    const char *f = *fmt;

    if (*f == '0') {
        pad = '0';
    }
    for (; *f >= '0' && *f <= '9'; f++) {
        width = width * 10 + (*f - '0');
    }
    for (; *f == 'l'; f++) {
        longs++;
    }
    *fmt = f + 1;
    switch (*f) {
    case 's': {
        const char *s = va_arg(*ap, const char *);

        while (*s) {
            put(o, *s++);
        }
        break;
    }
    case 'd': {
        int64_t v = longs ? va_arg(*ap, long) : va_arg(*ap, int);

        put_number(o, v < 0 ? -(uint64_t)v : (uint64_t)v, 10, width, pad,
                   v < 0);
        break;
    }
    case 'u':
    case 'x': {
        uint64_t v = longs ? va_arg(*ap, unsigned long)
                           : va_arg(*ap, unsigned);

        put_number(o, v, *f == 'x' ? 16 : 10, width, pad, false);
        break;
    }
    default:
        put(o, *f);
    }
}

/* Knows %s %d %u %x %ld %lu %lx, with zero or blank padding. */
int fmt_v(char *buf, size_t size, const char *f, va_list ap_in)
{
    struct out o = { buf, size, 0 };
    va_list ap;

    va_copy(ap, ap_in);
    while (*f) {
        if (*f != '%') {
            put(&o, *f++);
            continue;
        }
        f++;
        put_arg(&o, &f, &ap);
    }
    va_end(ap);
    buf[o.len] = 0;
    return (int)o.len;
}

int fmt(char *buf, size_t size, const char *f, ...)
{
    va_list ap;
    int n;

    va_start(ap, f);
    n = fmt_v(buf, size, f, ap);
    va_end(ap);
    return n;
}
