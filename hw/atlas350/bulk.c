/*
 * Atlas 350 virtual card: copying many blocks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Stores that pass the processor's caches by: they save reading each line
 * before it is overwritten, a third of the memory traffic. That pays for
 * blocks of a long list, of which the first has left the caches anyway before
 * somebody looks at it; whoever waits for a single block wants to find it
 * there.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bulk.h"

#define LINE        64u
#define WORTH_IT    4096u        /* bytes; below, the caches are faster */
/* The processor's own prefetch starts anew with each block and 4 KiB. */
#define AHEAD       2048u

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

/* Whole lines to an aligned @dst. */
static __attribute__((target("avx2")))
void stream_lines(uint8_t *dst, const uint8_t *src, size_t len)
{
    __m256i a, b;
    size_t i;

    for (i = 0; i < len; i += LINE) {
        /* Of a line that is not there, nothing happens. */
        _mm_prefetch(src + i + AHEAD, _MM_HINT_T0);
        a = _mm256_loadu_si256((const __m256i *)(src + i));
        b = _mm256_loadu_si256((const __m256i *)(src + i + 32));
        _mm256_stream_si256((__m256i *)(dst + i), a);
        _mm256_stream_si256((__m256i *)(dst + i + 32), b);
    }
    /* Not ordered with other stores by themselves. */
    _mm_sfence();
}

static bool can_stream(void)
{
    return __builtin_cpu_supports("avx2");
}
#else
static void stream_lines(uint8_t *dst, const uint8_t *src, size_t len)
{
    memcpy(dst, src, len);
}

static bool can_stream(void)
{
    return false;
}
#endif

void a350_bulk_copy(void *dst, const void *src, size_t len)
{
    uint8_t *d = dst;
    const uint8_t *s = src;
    size_t head = -(uintptr_t)d & (LINE - 1), lines;

    if (len < WORTH_IT || (uintptr_t)d - (uintptr_t)s < len ||
        (uintptr_t)s - (uintptr_t)d < len || !can_stream()) {
        memmove(d, s, len);
        return;
    }
    lines = (len - head) & ~(size_t)(LINE - 1);
    memcpy(d, s, head);
    stream_lines(d + head, s + head, lines);
    memcpy(d + head + lines, s + head + lines, len - head - lines);
}
