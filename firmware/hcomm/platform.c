/*
 * Device side of Hcomm on a core of the card.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <time.h>
#include <unistd.h>
#include "hc.h"
#include "platform.h"

uint64_t hc_mem_lo, hc_mem_hi;

/*
 * This library lies in the firmware's reserve at the top of HBM
 * (hw/atlas350/aicpu.h), so the address of its own data tells which card it
 * runs on, and all HBM below it is there to be read.
 */
__attribute__((constructor)) static void find_memory(void)
{
    uint64_t addr = (uint64_t)(uintptr_t)&hc_mem_lo;

    hc_mem_lo = A350_DEV_BASE(a350_addr_card(addr));
    hc_mem_hi = addr;
}

uint64_t hc_plat_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void hc_plat_sleep(uint32_t ns)
{
    struct timespec ts = { 0, (long)ns };

    nanosleep(&ts, NULL);
}

void hc_plat_log(const char *line, uint32_t len)
{
    /* One call a line, so that lines of two cores do not mix. */
    if (write(STDERR_FILENO, line, len) < 0) {
        return;                  /* nobody to tell */
    }
}

uint32_t hc_plat_reg_read(uint64_t addr)
{
    uint32_t v = *(volatile uint32_t *)(uintptr_t)addr;

    /* What the scheduler did before it moved the head is visible after it. */
    __asm__ volatile("fence i,r" ::: "memory");
    return v;
}

void hc_plat_doorbell(uint64_t addr, uint32_t value)
{
    /* Ring entries first, then the tail: spec/hw/task-queues.md §1. */
    __asm__ volatile("fence w,o" ::: "memory");
    *(volatile uint32_t *)(uintptr_t)addr = value;
}
