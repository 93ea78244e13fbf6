// SPDX-License-Identifier: Apache-2.0
/* Never ends. */
#include "bare.h"

int test_main(unsigned hart)
{
    for (;;) {
        __asm__ volatile("");
    }
}
