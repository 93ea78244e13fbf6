// SPDX-License-Identifier: Apache-2.0
/* A failed check of a card test is a firmware that fails, with the line. */
#include "card.h"

void finish(long number)
{
    static char text[] = "check failed at line 00000";
    unsigned i;

    if (number) {
        for (i = 0; i < 5; i++) {
            text[sizeof(text) - 2 - i] = '0' + number % 10;
            number /= 10;
        }
        REG(A350_AM_FW_ERROR) = (uint64_t)text;
        REG(A350_AM_FW_STATUS) = A350_FW_FAILED;
    } else {
        REG(A350_AM_FW_STATUS) = A350_FW_READY;
    }
    for (;;) {
        __asm__ volatile("wfi");
    }
}
