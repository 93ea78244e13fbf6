/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the launch tests, for the card's cores. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct add_args {
    uint32_t *out;
    uint32_t a, b;
} add_args;

unsigned int k_add(void *p)
{
    add_args *x = p;

    *x->out = x->a + x->b;
    return 0;
}

/* Adds all bytes of a large argument block. */
typedef struct big_args {
    uint64_t *out;
    uint32_t n;
    uint8_t data[];
} big_args;

unsigned int k_big(void *p)
{
    big_args *x = p;
    uint64_t s = 0;
    uint32_t i;

    for (i = 0; i < x->n; i++) {
        s += x->data[i];
    }
    *x->out += s;
    return 0;
}

/* Two blocks of bytes that the arguments point to. */
typedef struct holder_args {
    uint64_t *out;
    const uint8_t *one;
    uint32_t n;
    uint32_t factor;
    const uint8_t *two;
} holder_args;

unsigned int k_holder(void *p)
{
    holder_args *x = p;
    uint64_t s = 0;
    uint32_t i;

    for (i = 0; i < x->n; i++) {
        s += x->one[i] * 3u + x->two[i];
    }
    *x->out = s * x->factor;
    return 0;
}

unsigned int k_nothing(void *p)
{
    (void)p;
    return 0;
}

/* The card's clock at the first instruction. */
unsigned int k_clock(void *p)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    **(uint64_t **)p = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
    return 0;
}

/* Instructions that this core has executed, firmware and kernels. */
unsigned int k_instret(void *p)
{
    uint64_t n;

    __asm__ volatile("rdinstret %0" : "=r"(n));
    **(uint64_t **)p = n;
    return 0;
}

unsigned int k_fail(void *p)
{
    (void)p;
    return 7;
}

unsigned int k_crash(void *p)
{
    volatile uint32_t *wild;

    (void)p;
    __asm__("li %0, 8" : "=r"(wild));
    *wild = 1;
    return 0;
}

unsigned int k_abort(void *p)
{
    (void)p;
    abort();
}

unsigned int k_forever(void *p)
{
    (void)p;
    for (;;) {
        __asm__ volatile("");
    }
    return 0;
}

unsigned int k_sleep(void *p)
{
    usleep(*(uint32_t *)p);
    return 0;
}
