// SPDX-License-Identifier: Apache-2.0
/* The C half of crt.S. */
#include "bare.h"

volatile struct trap_info trap_info;
int (*volatile trap_hook)(uint64_t cause);

/* Non-zero: leave user mode for good. */
int trap_handler(void)
{
    uint64_t cause = CSR_READ(mcause), status = CSR_READ(mstatus);

    if (trap_hook && trap_hook(cause)) {
        return 0;
    }
    trap_info.count++;
    trap_info.cause = cause;
    trap_info.epc = CSR_READ(mepc);
    trap_info.tval = CSR_READ(mtval);
    trap_info.status = status;
    if (!(status & (3 << 11))) {
        return 1;
    }
    if (cause == 1) {
        /* A jump into nowhere: go back to where it came from. */
        __asm__ volatile("csrw mepc, %0" : : "r"(trap_info.epc & 1));
        finish(9999);
    }
    CSR_WRITE(mepc, trap_info.epc +
              ((*(volatile uint16_t *)trap_info.epc & 3) == 3 ? 4 : 2));
    return 0;
}
