// SPDX-License-Identifier: Apache-2.0
/* Machine and user mode: traps, their values, CSRs. */
#include "bare.h"

static uint64_t word;

static void exceptions(void)
{
    uint64_t t, pc;

    EXPECT_TRAP(11, "ecall");
    CHECK(trap_info.tval == 0);
    CHECK((trap_info.status & 3 << 11) == 3 << 11);
    __asm__ volatile("1: auipc %0, 0\n .option push\n .option norvc\n ebreak\n"
                     ".option pop" : "=r"(pc));
    CHECK(trap_info.cause == 3 && trap_info.epc == pc + 4);
    EXPECT_TRAP(2, ".half 0");
    CHECK(trap_info.tval == 0);
    EXPECT_TRAP(2, ".word 0xffffffff");
    CHECK(trap_info.tval == 0xffffffff);
    EXPECT_TRAP(5, "ld %0, 0(%1)" : "=r"(t) : "r"(0x1238ull));
    CHECK(trap_info.tval == 0x1238);
    EXPECT_TRAP(7, "sd zero, -8(%0)" : : "r"(0x10ull) : "memory");
    CHECK(trap_info.tval == 8);
    EXPECT_TRAP(7, "amoadd.w %0, zero, (%1)" : "=r"(t) : "r"(0x1238ull));
    EXPECT_TRAP(6, "amoadd.w %0, zero, (%1)" : "=r"(t)
                : "r"((char *)&word + 2));
    EXPECT_TRAP(6, "sc.d %0, zero, (%1)" : "=r"(t) : "r"((char *)&word + 4));
    EXPECT_TRAP(4, "lr.d %0, (%1)" : "=r"(t) : "r"((char *)&word + 4));
    CHECK(trap_info.tval == (uint64_t)&word + 4);
    /* The last bytes below the end of the address space. */
    EXPECT_TRAP(5, "ld %0, -4(zero)" : "=r"(t));
}

/* A destination register keeps its value when the load faults. */
static void precise(void)
{
    uint64_t v = 77;

    __asm__ volatile("ld %0, 0(zero)" : "+r"(v));
    CHECK(v == 77 && trap_info.cause == 5);
}

static void user_ecall(uint64_t arg)
{
    __asm__ volatile("mv a5, %0\n ecall" : : "r"(arg) : "a5");
}

static void user_csr(uint64_t arg)
{
    CSR_READ(mstatus);
}

static void user_mret(uint64_t arg)
{
    __asm__ volatile("mret");
}

static void user_cycle(uint64_t arg)
{
    CSR_READ(cycle);
}

static void user_instret(uint64_t arg)
{
    CSR_READ(instret);
}

static void user_wfi(uint64_t arg)
{
    __asm__ volatile("wfi");
}

static void open_memory(void)
{
    CSR_WRITE(pmpaddr0, -1);
    CSR_WRITE(pmpcfg0, 0x1f);
}

static void user_mode(void)
{
    open_memory();
    run_user(user_ecall, 5);
    CHECK(trap_info.cause == 8 && !(trap_info.status & 3 << 11));
    run_user(user_csr, 0);
    CHECK(trap_info.cause == 2);
    run_user(user_mret, 0);
    CHECK(trap_info.cause == 2);
    CSR_WRITE(mcounteren, 0);
    run_user(user_cycle, 0);
    CHECK(trap_info.cause == 2);
    CSR_WRITE(mcounteren, 1);
    run_user(user_cycle, 0);
    CHECK(trap_info.cause == 8);
    run_user(user_instret, 0);
    CHECK(trap_info.cause == 2);
    CSR_SET(mstatus, 1 << 21);               /* TW */
    run_user(user_wfi, 0);
    CHECK(trap_info.cause == 2);
    CSR_CLEAR(mstatus, 1 << 21);
    /* A jump to where there is no memory. */
    run_user((void *)0x10, 0);
    CHECK(trap_info.cause == 1 && trap_info.tval == 0x10 &&
          trap_info.epc == 0x10);
}

/* Machine mode can fetch its handler, user mode cannot: its own fault. */
static void jump_to_handler(void)
{
    uint64_t handler = CSR_READ(mtvec);

    CSR_WRITE(pmpaddr0, handler >> 2);
    CSR_WRITE(pmpaddr1, -1);
    CSR_WRITE(pmpcfg0, 0x1f << 8 | 0x10);               /* NA4: nothing */
    run_user((void *)handler, 0);
    CHECK(trap_info.cause == 1 && trap_info.epc == handler &&
          trap_info.tval == handler && !(trap_info.status & 3 << 11));
    open_memory();
}

static void csrs(void)
{
    uint64_t a, b, t;

    CHECK(CSR_READ(misa) == (2ull << 62 | 0x10112d));
    CHECK(CSR_READ(mhartid) == 0);
    /* MPP cannot hold supervisor or the reserved mode. */
    CSR_SET(mstatus, 3 << 11);
    CSR_CLEAR(mstatus, 1 << 12);
    CHECK((CSR_READ(mstatus) & 3 << 11) != 1 << 11);
    CHECK((CSR_READ(mstatus) >> 32 & 3) == 2);          /* UXL */
    EXPECT_TRAP(2, "csrr %0, satp" : "=r"(t));
    EXPECT_TRAP(2, "csrw mhartid, zero");
    EXPECT_TRAP(2, "csrw cycle, zero");
    CSR_WRITE(mscratch, 0x1234567890abcdef);
    CHECK(CSR_READ(mscratch) == 0x1234567890abcdef);
    CSR_WRITE(mie, -1);
    CHECK(CSR_READ(mie) == 0x888);
    CSR_WRITE(mie, 0);
    __asm__ volatile(".option push\n .option norvc\n csrr %0, minstret\n nop\n"
                     "nop\n csrr %1, minstret\n .option pop"
                     : "=r"(a), "=r"(b));
    CHECK(b - a == 3);
    __asm__ volatile(".option push\n .option norvc\n csrw minstret, zero\n"
                     "nop\n csrr %0, minstret\n .option pop" : "=r"(a));
    CHECK(a == 1);
    __asm__ volatile(".option push\n .option norvc\n csrw mcycle, %1\n"
                     "nop\n csrr %0, mcycle\n .option pop" : "=r"(a)
                     : "r"(1000ull));
    CHECK(a == 1001);
    /* A trap does not retire its instruction, the handler's do. */
    __asm__ volatile("csrrwi %0, mscratch, 21\n csrrsi %1, mscratch, 10"
                     : "=r"(a), "=r"(b));
    CHECK(b == 21 && CSR_READ(mscratch) == 31);
    __asm__ volatile("csrrci %0, mscratch, 1" : "=r"(a));
    CHECK(CSR_READ(mscratch) == 30);
}

static int skip_wfi_hook(uint64_t cause)
{
    return 0;
}

static void trap_state(void)
{
    trap_hook = skip_wfi_hook;
    CSR_SET(mstatus, 1 << 3);
    EXPECT_TRAP(11, "ecall");
    CHECK((trap_info.status & 1 << 7) && !(trap_info.status & 1 << 3));
    CHECK(CSR_READ(mstatus) & 1 << 3);
    CHECK(CSR_READ(mstatus) & 1 << 7);                  /* mret sets MPIE */
    CHECK((CSR_READ(mstatus) & 3 << 11) == 0);          /* and MPP to user */
    CSR_CLEAR(mstatus, 1 << 3);
    EXPECT_TRAP(11, "ecall");
    CHECK(!(trap_info.status & 1 << 7));
    trap_hook = 0;
}

/* Encodings that the compressed set reserves. */
static void reserved_compressed(void)
{
    EXPECT_TRAP(2, ".half 0x0000");     /* all zero */
    EXPECT_TRAP(2, ".half 0x0004");     /* c.addi4spn, 0 */
    EXPECT_TRAP(2, ".half 0x2005");     /* c.addiw x0 */
    EXPECT_TRAP(2, ".half 0x6101");     /* c.addi16sp 0 */
    EXPECT_TRAP(2, ".half 0x6281");     /* c.lui 0 */
    EXPECT_TRAP(2, ".half 0x4002");     /* c.lwsp x0 */
    EXPECT_TRAP(2, ".half 0x6002");     /* c.ldsp x0 */
    EXPECT_TRAP(2, ".half 0x8002");     /* c.jr x0 */
    EXPECT_TRAP(2, ".half 0x8000");     /* quadrant 0, reserved */
    EXPECT_TRAP(2, ".half 0x9c41");     /* subw/addw group, reserved */
    __asm__ volatile(".half 0x0001");   /* c.nop is none of them */
}

int test_main(unsigned hart)
{
    exceptions();
    precise();
    user_mode();
    jump_to_handler();
    csrs();
    trap_state();
    reserved_compressed();
    return 0;
}
