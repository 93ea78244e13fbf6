/*
 * Device side of Hcomm: what depends on where it runs. The card's version is
 * platform.c; the unit tests bring their own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HC_PLATFORM_H
#define HC_PLATFORM_H

#include <stdint.h>

/*
 * Memory of this card that may hold objects: [lo, hi). Loads from it never
 * fault. Set before the first call.
 */
extern uint64_t hc_mem_lo, hc_mem_hi;

/* Monotonic clock, ns. */
uint64_t hc_plat_now(void);
void hc_plat_sleep(uint32_t ns);

/* One line for the card's log. */
void hc_plat_log(const char *line, uint32_t len);

/* Registers of a queue's page, 32 bits. The write comes after everything
   that was stored before it, as the scheduler sees it. */
uint32_t hc_plat_reg_read(uint64_t addr);
void hc_plat_doorbell(uint64_t addr, uint32_t value);

#endif /* HC_PLATFORM_H */
