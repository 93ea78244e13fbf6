/* SPDX-License-Identifier: Apache-2.0 */
/* What the acl test programs share: checks that go on after a failure. */
#ifndef ACL_TEST_H
#define ACL_TEST_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "acl/acl.h"

static int t_failed, t_passed;

#define CHECK(cond)                                                     \
    do {                                                                \
        if (cond) {                                                     \
            t_passed++;                                                 \
        } else {                                                        \
            t_failed++;                                                 \
            printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #cond);    \
        }                                                               \
    } while (0)

/* The call returns @want; its error text is shown when it does not. */
#define CODE(call, want)                                                \
    do {                                                                \
        int got_ = (call);                                              \
        const char *msg_ = aclGetRecentErrMsg();                        \
        if (got_ == (want)) {                                           \
            t_passed++;                                                 \
        } else {                                                        \
            t_failed++;                                                 \
            printf("FAILED %s:%d: %s returns %d, not %d: %s\n",         \
                   __FILE__, __LINE__, #call, got_, (int)(want),        \
                   msg_ ? msg_ : "(no text)");                          \
        }                                                               \
    } while (0)
#define OK(call)        CODE(call, ACL_SUCCESS)

/* Output comes line by line, so that a hang shows where it is. */
__attribute__((constructor)) static void t_start(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
}

static inline int t_end(const char *name)
{
    printf("%s: %d checks passed, %d failed\n", name, t_passed, t_failed);
    return t_failed != 0;
}

static inline double t_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* A pattern that depends on the offset and a seed. */
static inline void t_fill(uint8_t *p, size_t n, uint32_t seed)
{
    size_t i;

    for (i = 0; i < n; i++) {
        p[i] = (uint8_t)((i * 2654435761u + seed) >> 13);
    }
}

static inline size_t t_diff(const uint8_t *p, size_t n, uint32_t seed)
{
    size_t i;

    for (i = 0; i < n; i++) {
        if (p[i] != (uint8_t)((i * 2654435761u + seed) >> 13)) {
            return i;
        }
    }
    return SIZE_MAX;
}

#endif /* ACL_TEST_H */
