// SPDX-License-Identifier: Apache-2.0
/* Several cores: atomics, order, interrupts, timer, protection, MMIO page. */
#include "card.h"

#define ROUNDS 20000

static uint64_t cores, arrived, generation;
static uint64_t amo_sum, lrsc_sum, locked_sum;
static uint32_t lock, amo32;
static uint64_t payload[8], flag;
static uint32_t code[4] __attribute__((aligned(64)));
static volatile uint64_t interrupts;

#define LOAD(p) __atomic_load_n(&(p), __ATOMIC_SEQ_CST)

static void barrier(void)
{
    uint64_t g = LOAD(generation);

    if (__atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST) == cores) {
        arrived = 0;
        __atomic_store_n(&generation, g + 1, __ATOMIC_SEQ_CST);
        return;
    }
    while (LOAD(generation) == g) {
        __asm__ volatile(".word 0x0100000f");       /* pause */
    }
}

static void atomics(unsigned hart)
{
    uint64_t t, s;
    unsigned i;

    for (i = 0; i < ROUNDS; i++) {
        __atomic_fetch_add(&amo_sum, hart + 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&amo32, 1, __ATOMIC_RELAXED);
        do {
            __asm__ volatile("lr.d %0, (%2)\n addi %0, %0, 1\n"
                             "sc.d %1, %0, (%2)" : "=&r"(t), "=&r"(s)
                             : "r"(&lrsc_sum) : "memory");
        } while (s);
    }
    for (i = 0; i < ROUNDS / 10; i++) {
        while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) {
            __asm__ volatile(".word 0x0100000f");
        }
        *(volatile uint64_t *)&locked_sum += 1;
        __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
    }
    barrier();
    CHECK(amo_sum == ROUNDS * cores * (cores + 1) / 2);
    CHECK(amo32 == ROUNDS * cores && lrsc_sum == ROUNDS * cores);
    CHECK(locked_sum == ROUNDS / 10 * cores);
}

/* Core 0 publishes, the others see all of it or nothing. */
static void messages(unsigned hart)
{
    uint64_t i, k;

    for (i = 1; i < 2000; i++) {
        if (hart == 0) {
            for (k = 0; k < 8; k++) {
                ((volatile uint64_t *)payload)[k] = i;
            }
            __atomic_store_n(&flag, i, __ATOMIC_RELEASE);
        } else {
            while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) < i) {
                __asm__ volatile(".word 0x0100000f");
            }
            for (k = 0; k < 8; k++) {
                CHECK(((volatile uint64_t *)payload)[k] >= i);
            }
        }
        if (i % 64 == 0) {
            barrier();
        }
    }
    barrier();
}

/* Code written by core 0 is run by all of them, old code is forgotten. */
static void new_code(unsigned hart)
{
    uint64_t (*fn)(void) = (void *)code;
    uint64_t i;

    for (i = 1; i < 50; i++) {
        if (hart == 0) {
            code[0] = 0x00000513 | i << 20;          /* li a0, i */
            code[1] = 0x00008067;                    /* ret */
            __asm__ volatile("fence rw, rw\n fence.i" : : : "memory");
        }
        barrier();
        __asm__ volatile("fence.i" : : : "memory");
        CHECK(fn() == i);
        barrier();
    }
}

static int on_interrupt(uint64_t cause)
{
    if (cause == (1ull << 63 | 7)) {
        REG(A350_AM_TIMECMP) = -1;
    } else if (cause == (1ull << 63 | 3)) {
        REG(A350_AM_IPI_CLEAR) = 1;
    } else {
        return 0;
    }
    interrupts++;
    return 1;
}

static void timer(void)
{
    uint64_t t = REG(A350_AM_TIME), due = t + 3000000;

    CHECK(!(CSR_READ(mip) & MTI));
    REG(A350_AM_TIMECMP) = due;
    CSR_WRITE(mie, MTI);
    /* Enabled in mie, disabled in mstatus: wfi wakes, nothing is taken. */
    while (!(CSR_READ(mip) & MTI)) {
        __asm__ volatile("wfi");
    }
    CHECK(REG(A350_AM_TIME) >= due && CSR_READ(time) >= due);
    CHECK(interrupts == 0);
    trap_hook = on_interrupt;
    CSR_SET(mstatus, 8);
    while (!interrupts) {
    }
    CHECK(!(CSR_READ(mip) & MTI));
    /* A time that has passed is due at once. */
    REG(A350_AM_TIMECMP) = 1;
    while (interrupts < 2) {
    }
    CSR_WRITE(mie, MSI);
    REG(A350_AM_IPI) = 0;
    while (interrupts < 3) {
    }
    CSR_CLEAR(mstatus, 8);
    CSR_WRITE(mie, 0);
    trap_hook = 0;
}

/*
 * A vector table. Each entry writes its digit behind those in vector_log and
 * takes its reason away: 3 and 7 are interrupts, f is an exception.
 */
volatile uint64_t vector_log;
extern const char vectors[];

#define VECTOR_ENTRY(digit) \
    "vector_" #digit ": addi sp, sp, -16\n sd t0, 0(sp)\n sd t1, 8(sp)\n" \
    "la t0, vector_log\n ld t1, 0(t0)\n slli t1, t1, 4\n" \
    "ori t1, t1, 0x" #digit "\n sd t1, 0(t0)\n li t0, 0x20000000\n"
#define VECTOR_EXIT "ld t0, 0(sp)\n ld t1, 8(sp)\n addi sp, sp, 16\n mret\n"

__asm__(".pushsection .text\n .option push\n .option norvc\n .balign 64\n"
        "vectors: j vector_f\n"
        ".rept 2\n j vectors_wrong\n .endr\n j vector_3\n"
        ".rept 3\n j vectors_wrong\n .endr\n j vector_7\n"
        ".rept 8\n j vectors_wrong\n .endr\n"
        "vectors_wrong: li a0, 8888\n j finish\n"
        VECTOR_ENTRY(3) "sd zero, 0x58(t0)\n" VECTOR_EXIT   /* IPI_CLEAR */
        VECTOR_ENTRY(7) "li t1, -1\n sd t1, 0x48(t0)\n" VECTOR_EXIT
        VECTOR_ENTRY(f) "csrr t0, mepc\n addi t0, t0, 4\n csrw mepc, t0\n"
        VECTOR_EXIT ".option pop\n .popsection");

/* Each interrupt has its entry, software's before the timer's. */
static void vectored(void)
{
    uint64_t old = CSR_READ(mtvec);

    A350_STATIC_ASSERT(A350_AM_IPI_CLEAR == 0x58 && A350_AM_TIMECMP == 0x48);
    CSR_WRITE(mtvec, (uint64_t)vectors | 1);
    REG(A350_AM_TIMECMP) = 1;
    REG(A350_AM_IPI) = 0;
    CSR_WRITE(mie, MSI | MTI);
    CHECK(vector_log == 0);
    CSR_SET(mstatus, 8);
    __asm__ volatile("nop");
    CSR_CLEAR(mstatus, 8);
    CHECK(vector_log == 0x37);
    __asm__ volatile(".option push\n .option norvc\n ecall\n .option pop"
                     : : : "memory");
    CHECK(vector_log == 0x37f);
    CSR_WRITE(mie, 0);
    CSR_WRITE(mtvec, old);
}

static void page(void)
{
    uint64_t t;

    CHECK(REG(A350_AM_NUM_CORES) == cores);
    CHECK(REG(A350_AM_DEV_BASE) == A350_DEV_BASE(0));
    CHECK(REG32(A350_AM_DEV_BASE + 4) == A350_DEV_BASE(0) >> 32);
    CHECK(REG(A350_AM_FW_BASE) + REG(A350_AM_FW_SIZE) ==
          REG(A350_AM_DEV_BASE) + REG(A350_AM_HBM_SIZE));
    CHECK(REG(A350_AM_RANDOM) != REG(A350_AM_RANDOM));
    CHECK(REG(A350_AM_WALL_TIME) > 1600000000ull * 1000000000);
    CHECK(REG(A350_AM_MSQ_STATUS) == 0 && REG(A350_AM_ABORT) == 0);
    EXPECT_TRAP(7, "sd zero, 0(%0)" : : "r"(A350_AICPU_MMIO));
    EXPECT_TRAP(5, "lb %0, 0(%1)" : "=r"(t) : "r"(A350_AICPU_MMIO));
    EXPECT_TRAP(4, "ld %0, 4(%1)" : "=r"(t) : "r"(A350_AICPU_MMIO));
    EXPECT_TRAP(5, "ld %0, 0(%1)" : "=r"(t) : "r"(A350_AICPU_MMIO + 0xff8));
    EXPECT_TRAP(7, "amoadd.d %0, zero, (%1)" : "=r"(t) : "r"(A350_AICPU_MMIO));
    EXPECT_TRAP(7, "sd %0, 0(%1)" : : "r"(0x123ull),
                "r"(A350_AICPU_MMIO + A350_AM_EXC_ADDR));
}

/* User code in HBM: position independent, copied there. */
static void user_code(uint64_t addr)
{
    __asm__ volatile("ld zero, 0(%0)\n sw zero, 0(%0)\n ecall" : : "r"(addr));
}

static void user_code_end(void)
{
    __asm__ volatile("");
}

static uint64_t user_access(uint64_t addr)
{
    uint8_t *to = (uint8_t *)A350_DEV_BASE(0) + 8192;
    const uint8_t *from = (const uint8_t *)user_code;
    unsigned i;

    for (i = 0; from + i < (const uint8_t *)user_code_end; i++) {
        to[i] = from[i];
    }
    __asm__ volatile("fence.i" : : : "memory");
    run_user(to, addr);
    return trap_info.cause;
}

static void protection(void)
{
    CSR_WRITE(pmpaddr0, -1);
    CSR_WRITE(pmpcfg0, 0x1f);
    CHECK(user_access(A350_DEV_BASE(0)) == 8);
    CHECK(user_access((uint64_t)&cores) == 5);
    CHECK(user_access(A350_AICPU_MMIO) == 5);
    CHECK(user_access(A350_AICPU_ROM) == 5);
    CHECK(user_access(A350_DEV_BASE(0) + REG(A350_AM_HBM_SIZE)) == 5);
    CHECK(user_access(A350_DEV_BASE(0) + REG(A350_AM_HBM_SIZE) - 4) == 5);
    CHECK(user_access(A350_DEV_BASE(1)) == 5);
    CHECK(user_access(a350_sq_page_addr(A350_DEV_BASE(0), 0)) == 8);
    /* Code in SRAM is not for user mode either. */
    run_user((void *)user_done, 0);
    CHECK(trap_info.cause == 1);
}

int test_main(unsigned hart)
{
    unsigned i;

    CHECK(CSR_READ(mhartid) == hart && REG(A350_AM_CORE_ID) == hart);
    if (hart == 0) {
        REG(A350_AM_FW_STATUS) = A350_FW_BOOTING;
        cores = REG(A350_AM_NUM_CORES);
        for (i = 1; i < cores; i++) {
            REG(A350_AM_IPI) = i;
        }
        REG(A350_AM_IPI) = 99;       /* nobody */
    } else {
        CSR_WRITE(mie, MSI);
        while (!(CSR_READ(mip) & MSI)) {
            __asm__ volatile("wfi");
        }
        REG(A350_AM_IPI_CLEAR) = 1;
        CHECK(!(CSR_READ(mip) & MSI));
        CSR_WRITE(mie, 0);
    }
    barrier();
    atomics(hart);
    messages(hart);
    new_code(hart);
    if (hart) {
        for (;;) {
            __asm__ volatile("wfi");
        }
    }
    timer();
    vectored();
    page();
    protection();
    log_line("all is well\n");
    return 0;
}
