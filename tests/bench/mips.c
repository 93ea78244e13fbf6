// SPDX-License-Identifier: Apache-2.0
/*
 * Instruction mixes for `make bench`: the same static binary runs on the
 * card's core and on qemu-riscv64 (tests/bench/mips.sh).
 *
 *   mips int|chase|copy     prints the seconds it took and a check value
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- integer mix: hashing, sieve, sorting, calls and branches ---- */

static uint32_t crc_table[256];
static uint8_t text[65536];
static int32_t keys[4096];

static void make_table(void)
{
    uint32_t i, k, c;

    for (i = 0; i < 256; i++) {
        for (c = i, k = 0; k < 8; k++) {
            c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
        }
        crc_table[i] = c;
    }
}

static uint32_t crc(uint32_t c)
{
    size_t i;

    for (i = 0; i < sizeof(text); i++) {
        c = crc_table[(c ^ text[i]) & 255] ^ (c >> 8);
    }
    return c;
}

static unsigned sieve(void)
{
    unsigned i, j, n = 0;

    memset(text, 1, sizeof(text));
    for (i = 2; i < sizeof(text); i++) {
        if (text[i]) {
            n++;
            for (j = 2 * i; j < sizeof(text); j += i) {
                text[j] = 0;
            }
        }
    }
    return n;
}

static void sort(int32_t *a, int n)
{
    int i = 0, j = n - 1;
    int32_t pivot = a[n / 2], t;

    while (i <= j) {
        while (a[i] < pivot) {
            i++;
        }
        while (a[j] > pivot) {
            j--;
        }
        if (i <= j) {
            t = a[i];
            a[i++] = a[j];
            a[j--] = t;
        }
    }
    if (j > 0) {
        sort(a, j + 1);
    }
    if (i < n - 1) {
        sort(a + i, n - i);
    }
}

__attribute__((noinline)) static unsigned fib(unsigned n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static uint64_t integer(void)
{
    uint64_t sum = 0, x = 88172645463325252u;
    int round, i;

    make_table();
    for (round = 0; round < 120; round++) {
        sum += sieve();
        sum = sum * 31 + crc((uint32_t)sum);
        for (i = 0; i < 4096; i++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            keys[i] = (int32_t)x;
        }
        sort(keys, 4096);
        sum += (uint32_t)keys[100] + fib(20);
    }
    return sum;
}

/* ---- pointer chase: one dependent load an instruction or two ---- */

struct node {
    struct node *next;
    uint64_t value, pad[6];
};

static struct node nodes[4096];

static uint64_t chase(void)
{
    static uint16_t order[4096];
    struct node *n = nodes;
    uint64_t sum = 0, x = 1;
    unsigned i, j, t;

    for (i = 0; i < 4096; i++) {
        order[i] = (uint16_t)i;
    }
    for (i = 4095; i > 0; i--) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        j = (unsigned)(x >> 33) % (i + 1);
        t = order[i];
        order[i] = order[j];
        order[j] = (uint16_t)t;
    }
    for (i = 0; i < 4096; i++) {
        nodes[order[i]].next = &nodes[order[(i + 1) % 4096]];
        nodes[i].value = i;
    }
    for (i = 0; i < 60000000; i++) {
        sum += n->value;
        n = n->next;
    }
    return sum;
}

/* ---- copy: what memcpy's loop does ---- */

static uint64_t from[32768], to[32768];

static uint64_t copy(void)
{
    unsigned round, i;

    for (i = 0; i < 32768; i++) {
        from[i] = i * 0x9e3779b97f4a7c15u;
    }
    for (round = 0; round < 1500; round++) {
        for (i = 0; i < 32768; i += 4) {
            uint64_t a = from[i], b = from[i + 1], c = from[i + 2],
                     d = from[i + 3];

            to[i] = a;
            to[i + 1] = b;
            to[i + 2] = c;
            to[i + 3] = d;
        }
        __asm__ volatile("" : : "r"(to) : "memory");
        from[round] = to[32767 - round];
    }
    return to[7] + to[20000];
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    double t = seconds();
    uint64_t sum;

    if (!strcmp(what, "int")) {
        sum = integer();
    } else if (!strcmp(what, "chase")) {
        sum = chase();
    } else if (!strcmp(what, "copy")) {
        sum = copy();
    } else {
        fprintf(stderr, "usage: mips int|chase|copy\n");
        return 2;
    }
    printf("%.6f %016llx\n", seconds() - t, (unsigned long long)sum);
    return 0;
}
