// SPDX-License-Identifier: Apache-2.0
/*
 * Two cores work for a second or two with integer and floating point state in
 * registers, SRAM and HBM, then log a checksum: for snapshots in the middle.
 */
#include "card.h"

#define ROUNDS 60000000ull

static uint64_t table[256];
static volatile uint64_t sums[8];
static volatile uint64_t done;

static void put_hex(char *to, uint64_t v)
{
    int i;

    for (i = 0; i < 16; i++) {
        to[15 - i] = "0123456789abcdef"[v & 15];
        v >>= 4;
    }
}

static uint64_t work(unsigned hart)
{
    volatile uint64_t *hbm = (volatile uint64_t *)
        (REG(A350_AM_DEV_BASE) + 65536 * (hart + 1));
    uint64_t x = hart + 1, i, sum = 0;
    double d = 1.0;

    for (i = 0; i < ROUNDS; i++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        sum ^= x >> 29;
        if ((i & 1023) == 0) {
            d = d * 1.0000001 + (double)(x >> 60);
            hbm[(x >> 40) & 1023] += x;
            table[((x >> 50) & 127) + 128 * (hart & 1)] += hbm[i & 1023];
        }
    }
    for (i = 0; i < 128; i++) {
        sum = sum * 31 + table[i + 128 * (hart & 1)];
    }
    return sum + (uint64_t)d;
}

int test_main(unsigned hart)
{
    static char text[] = "sum 0123456789abcdef 0123456789abcdef\n";

    if (hart == 0) {
        REG(A350_AM_FW_STATUS) = A350_FW_READY;
        log_line("started\n");
        REG(A350_AM_IPI) = 1;
    } else if (hart == 1) {
        CSR_WRITE(mie, MSI);
        while (!(CSR_READ(mip) & MSI)) {
            __asm__ volatile("wfi");
        }
        REG(A350_AM_IPI_CLEAR) = 1;
    }
    if (hart < 2) {
        sums[hart] = work(hart);
        __atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
    }
    if (hart == 0) {
        while (done < 2) {
            __asm__ volatile(".word 0x0100000f");
        }
        put_hex(text + 4, sums[0]);
        put_hex(text + 21, sums[1]);
        log_line(text);
    }
    for (;;) {
        __asm__ volatile("wfi");
    }
}
