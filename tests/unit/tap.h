/*
 * What a unit test needs to speak TAP.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TAP_H
#define TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int tap_count, tap_failed;

__attribute__((format(printf, 2, 3)))
static inline bool ok(bool good, const char *fmt, ...)
{
    va_list ap;

    printf("%sok %d - ", good ? "" : "not ", ++tap_count);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
    tap_failed += !good;
    return good;
}

static inline bool is(uint64_t got, uint64_t want, const char *name)
{
    bool good = ok(got == want, "%s", name);

    if (!good) {
        printf("# got 0x%llx, want 0x%llx\n", (unsigned long long)got,
               (unsigned long long)want);
    }
    return good;
}

static inline bool is_bytes(const void *got, const void *want, size_t len,
                            const char *name)
{
    const uint8_t *g = (const uint8_t *)got, *w = (const uint8_t *)want;
    bool good = ok(memcmp(got, want, len) == 0, "%s", name);
    size_t i;

    for (i = 0; !good && i < len; i++) {
        if (g[i] != w[i]) {
            printf("# word %zu byte %zu: got %02x, want %02x\n", i / 4, i % 4,
                   g[i], w[i]);
        }
    }
    return good;
}

static inline int done_testing(void)
{
    printf("1..%d\n", tap_count);
    return tap_failed != 0;
}

#endif /* TAP_H */
