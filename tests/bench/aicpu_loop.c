/*
 * A fixed amount of integer, memory and floating point work; prints its time.
 * The same source runs on the card's core model, under QEMU's user emulation
 * and natively.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define WORDS (1u << 16)

static uint64_t table[WORDS];

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t integer_work(uint64_t x, unsigned rounds)
{
    while (rounds--) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x += x >> 63;
    }
    return x;
}

static uint64_t memory_work(uint64_t x, unsigned rounds)
{
    while (rounds--) {
        unsigned i = (unsigned)(x >> 40) % WORDS;

        table[i] += x;
        x = x * 6364136223846793005u + table[(i * 7) % WORDS];
    }
    return x;
}

static double float_work(double x, unsigned rounds)
{
    while (rounds--) {
        x = x * 1.0000001 + 0.5;
        x = x > 1e6 ? x / 3.0 : x;
    }
    return x;
}

int main(void)
{
    double t0 = seconds(), t1, t2, t3;
    uint64_t a = integer_work(88172645463325252u, 30000000);
    uint64_t b;
    double c;

    t1 = seconds();
    b = memory_work(a, 10000000);
    t2 = seconds();
    c = float_work((double)(b & 0xffff), 10000000);
    t3 = seconds();
    printf("integer %.6f memory %.6f float %.6f check %llx %llx %.3f\n",
           t1 - t0, t2 - t1, t3 - t2, (unsigned long long)a,
           (unsigned long long)b, c);
    return 0;
}
