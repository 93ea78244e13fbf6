// SPDX-License-Identifier: Apache-2.0
/* Tests of the cores in a card: small firmware images on the MMIO page. */
#ifndef TESTS_AICPU_CARD_H
#define TESTS_AICPU_CARD_H

#include "hw/atlas350/aicpu.h"
#include "../bare/bare.h"

#define REG(off) (*(volatile uint64_t *)(A350_AICPU_MMIO + (off)))
#define REG32(off) (*(volatile uint32_t *)(A350_AICPU_MMIO + (off)))

#define MSI 8
#define MTI 128
#define MEI 2048

static inline void log_line(const char *s)
{
    uint64_t n = 0;

    while (s[n]) {
        n++;
    }
    REG(A350_AM_LOG_ADDR) = (uint64_t)s;
    REG(A350_AM_LOG_LEN) = n;
}

#endif
