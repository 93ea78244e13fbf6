// SPDX-License-Identifier: Apache-2.0
/* Physical memory protection: what user mode, and a locked entry, may do. */
#include "bare.h"

#define R 1
#define W 2
#define X 4
#define TOR (1 << 3)
#define NA4 (2 << 3)
#define NAPOT (3 << 3)
#define L 0x80

static uint64_t page[1024] __attribute__((aligned(4096)));

static void user_load(uint64_t addr)
{
    __asm__ volatile("ld zero, 0(%0)\n ecall" : : "r"(addr));
}

static void user_store(uint64_t addr)
{
    __asm__ volatile("sd zero, 0(%0)\n ecall" : : "r"(addr));
}

static void user_amo(uint64_t addr)
{
    __asm__ volatile("amoadd.d zero, zero, (%0)\n ecall" : : "r"(addr));
}

static uint64_t napot(const void *p, uint64_t size)
{
    return (uint64_t)p >> 2 | (size / 8 - 1);
}

static uint64_t result(void (*fn)(uint64_t), const void *p)
{
    run_user(fn, (uint64_t)p);
    return trap_info.cause;
}

static void off(void)
{
    CSR_WRITE(pmpcfg0, 0);
    CSR_WRITE(pmpcfg2, 0);
}

/* Entry 15, lowest priority: all of memory. */
static void background(unsigned cfg)
{
    CSR_WRITE(pmpaddr15, -1);
    CSR_WRITE(pmpcfg2, (uint64_t)(cfg | NAPOT) << 56);
}

int test_main(unsigned hart)
{
    char *p = (char *)page;

    /* Nothing set: user mode cannot even fetch. */
    off();
    CHECK(result(user_load, p) == 1);
    CHECK(trap_info.tval == (uint64_t)user_load);
    background(R | W | X);
    CHECK(result(user_load, p) == 8 && result(user_store, p) == 8);
    background(R | X);
    CHECK(result(user_load, p) == 8 && result(user_store, p) == 7);
    CHECK(trap_info.tval == (uint64_t)p);
    CHECK(result(user_amo, p) == 7);
    background(R | W);
    CHECK(result(user_load, p) == 1);

    /* A hole of 64 bytes in a page. */
    background(R | W | X);
    CSR_WRITE(pmpaddr0, napot(p + 64, 64));
    CSR_WRITE(pmpcfg0, NAPOT);
    CHECK(result(user_load, p + 64) == 5 && result(user_load, p + 120) == 5);
    CHECK(result(user_load, p + 56) == 8 && result(user_load, p + 128) == 8);
    /* An access that is partly in it fails. */
    CHECK(result(user_load, p + 60) == 5 && result(user_load, p + 124) == 5);
    CHECK(result(user_store, p + 60) == 7);
    /* Machine mode is not bound by it. */
    *(volatile uint64_t *)(p + 64) = 5;
    CHECK(*(volatile uint64_t *)(p + 64) == 5);

    /* Top of range, with the entry below as its bottom. */
    CSR_WRITE(pmpaddr0, (uint64_t)(p + 512) >> 2);
    CSR_WRITE(pmpaddr1, (uint64_t)(p + 1024) >> 2);
    CSR_WRITE(pmpcfg0, (TOR | R) << 8);
    CHECK(result(user_store, p + 504) == 8 && result(user_store, p + 512) == 7);
    CHECK(result(user_load, p + 1016) == 8 && result(user_store, p + 1016) == 7);
    CHECK(result(user_store, p + 1024) == 8);
    /* An empty range matches nothing. */
    CSR_WRITE(pmpaddr1, (uint64_t)(p + 512) >> 2);
    CHECK(result(user_store, p + 512) == 8);

    /* Four bytes. */
    CSR_WRITE(pmpaddr0, (uint64_t)(p + 4) >> 2);
    CSR_WRITE(pmpcfg0, NA4);
    CHECK(result(user_load, p) == 5 && result(user_load, p + 8) == 8);

    /* What is partly in an entry fails, whatever it allows, in any mode. */
    CSR_WRITE(pmpcfg0, NA4 | R | W | X);
    CHECK(result(user_load, p) == 5 && result(user_store, p) == 7);
    EXPECT_TRAP(5, "ld zero, 0(%0)" : : "r"(p) : "memory");
    EXPECT_TRAP(7, "sd zero, 0(%0)" : : "r"(p) : "memory");
    EXPECT_TRAP(7, "amoadd.d zero, zero, (%0)" : : "r"(p) : "memory");
    CHECK(trap_info.tval == (uint64_t)p);
    *(volatile uint32_t *)(p + 4) = 5;
    CHECK(*(volatile uint32_t *)(p + 4) == 5);
    CHECK(result(user_load, p + 8) == 8 && result(user_store, p + 8) == 8);
    /* The same where two entries meet. */
    CSR_WRITE(pmpaddr0, (uint64_t)(p + 1028) >> 2);
    CSR_WRITE(pmpaddr1, (uint64_t)(p + 2048) >> 2);
    CSR_WRITE(pmpcfg0, (TOR | R | W) << 8);
    CHECK(result(user_load, p + 1024) == 5 && result(user_load, p + 1016) == 8);
    EXPECT_TRAP(5, "ld zero, 0(%0)" : : "r"(p + 1024) : "memory");
    CHECK(result(user_store, p + 2048) == 8);

    /* Eight bytes, the smallest power of two. */
    CSR_WRITE(pmpaddr0, napot(p + 16, 8));
    CSR_WRITE(pmpcfg0, NAPOT);
    CHECK(result(user_load, p + 16) == 5 && result(user_load, p + 8) == 8);
    CHECK(result(user_load, p + 24) == 8);

    /* The lower number wins. */
    CSR_WRITE(pmpaddr0, napot(p, 4096));
    CSR_WRITE(pmpaddr1, napot(p, 4096));
    CSR_WRITE(pmpcfg0, NAPOT << 8 | NAPOT | R | W);
    CHECK(result(user_store, p) == 8);
    CSR_WRITE(pmpcfg0, (NAPOT | R | W) << 8 | NAPOT);
    CHECK(result(user_store, p) == 7);

    /* W without R is reserved and not taken. */
    CSR_WRITE(pmpcfg0, NAPOT | R);
    CSR_WRITE(pmpcfg0, NAPOT | W);
    CHECK((CSR_READ(pmpcfg0) & 0xff) == (NAPOT | R));

    /* MPRV: machine mode's loads and stores with user permissions. */
    CSR_WRITE(pmpcfg0, NAPOT);
    CSR_CLEAR(mstatus, 3 << 11);
    uint64_t n = trap_info.count;
    CSR_SET(mstatus, 1 << 17);
    __asm__ volatile("ld zero, 0(%0)" : : "r"(p) : "memory");
    CSR_CLEAR(mstatus, 1 << 17);
    CHECK(trap_info.count == n + 1 && trap_info.cause == 5);

    /* Locked: machine mode too, and it stays so. */
    CSR_WRITE(pmpcfg0, L | NAPOT | R);
    EXPECT_TRAP(7, "sd zero, 0(%0)" : : "r"(p) : "memory");
    EXPECT_TRAP(7, "sd zero, 0(%0)" : : "r"(p + 4088) : "memory");
    CHECK(*(volatile uint64_t *)p == 0);
    CSR_WRITE(pmpcfg0, 0);
    CHECK((CSR_READ(pmpcfg0) & 0xff) == (L | NAPOT | R));
    CSR_WRITE(pmpaddr0, 0);
    CHECK(CSR_READ(pmpaddr0) == napot(p, 4096));
    return 0;
}
