// SPDX-License-Identifier: Apache-2.0
/* RV64IM: results at the edges, from the unprivileged specification. */
#include "bare.h"

#define RR(op, a, b) ({ uint64_t r_; \
    __asm__ volatile(#op " %0, %1, %2" : "=r"(r_) \
                     : "r"((uint64_t)(a)), "r"((uint64_t)(b))); r_; })
#define RI(op, a, imm) ({ uint64_t r_; \
    __asm__ volatile(#op " %0, %1, " #imm : "=r"(r_) \
                     : "r"((uint64_t)(a))); r_; })
#define TAKEN(op, a, b) ({ uint64_t r_ = 1; \
    __asm__ volatile(#op " %1, %2, 1f\n li %0, 0\n1:" : "+r"(r_) \
                     : "r"((uint64_t)(a)), "r"((uint64_t)(b))); r_; })

#define MIN64 0x8000000000000000ull
#define MAX64 0x7fffffffffffffffull
#define M1    0xffffffffffffffffull
#define S32   0xffffffff80000000ull

static void integer(void)
{
    CHECK(RR(add, MAX64, 1) == MIN64);
    CHECK(RR(sub, 0, 1) == M1);
    CHECK(RR(addw, 0x7fffffff, 1) == S32);
    CHECK(RR(subw, S32, 1) == 0x7fffffff);
    CHECK(RI(addi, 0, -2048) == M1 - 2047);
    CHECK(RI(addiw, 0x17fffffff, 1) == S32);
    CHECK(RR(slt, M1, 0) == 1 && RR(slt, 0, M1) == 0);
    CHECK(RR(sltu, M1, 0) == 0 && RR(sltu, 0, M1) == 1);
    CHECK(RI(slti, MIN64, -1) == 1 && RI(sltiu, 5, -1) == 1);
    CHECK(RI(xori, 5, -1) == ~5ull && RI(ori, 5, -1) == M1);
    CHECK(RI(andi, M1, 0x7ff) == 0x7ff);
    CHECK(RR(sll, 1, 127) == MIN64 && RR(srl, MIN64, 63) == 1);
    CHECK(RR(sra, MIN64, 63) == M1 && RR(sra, MIN64, 64) == MIN64);
    CHECK(RR(sllw, 1, 31) == S32 && RR(sllw, 1, 32) == 1);
    CHECK(RR(srlw, S32, 0) == S32 && RR(srlw, S32, 31) == 1);
    CHECK(RR(sraw, 0x80000000, 31) == M1);
    CHECK(RI(slli, 1, 63) == MIN64 && RI(srli, M1, 63) == 1);
    CHECK(RI(srai, MIN64, 62) == M1 - 1);
    CHECK(RI(slliw, 3, 30) == 0xffffffffc0000000ull);
    CHECK(RI(srliw, S32, 4) == 0x08000000);
    CHECK(RI(sraiw, S32, 4) == 0xfffffffff8000000ull);
}

static void multiply(void)
{
    CHECK(RR(mul, M1, M1) == 1);
    CHECK(RR(mulh, M1, M1) == 0 && RR(mulh, MIN64, MIN64) == 1ull << 62);
    CHECK(RR(mulhu, M1, M1) == M1 - 1);
    CHECK(RR(mulhsu, M1, M1) == M1);
    CHECK(RR(mulhsu, MIN64, M1) == MIN64);
    CHECK(RR(mulw, 0x10001, 0x10001) == 0x20001);
    CHECK(RR(mulw, 0x7fffffff, 2) == 0xfffffffffffffffeull);
    CHECK(RR(div, 7, -2) == -3ull && RR(rem, 7, -2) == 1);
    CHECK(RR(div, -7, 2) == -3ull && RR(rem, -7, 2) == -1ull);
    CHECK(RR(div, 7, 0) == M1 && RR(rem, 7, 0) == 7);
    CHECK(RR(divu, 7, 0) == M1 && RR(remu, 7, 0) == 7);
    CHECK(RR(div, MIN64, -1) == MIN64 && RR(rem, MIN64, -1) == 0);
    CHECK(RR(divw, S32, -1) == S32 && RR(remw, S32, -1) == 0);
    CHECK(RR(divw, 7, 0x100000000) == M1);
    CHECK(RR(remw, 0x80000007, 0) == 0xffffffff80000007ull);
    CHECK(RR(divuw, 0xfffffffe, 1) == 0xfffffffffffffffeull);
    CHECK(RR(remuw, 0xfffffffe, 0) == 0xfffffffffffffffeull);
    CHECK(RR(divu, M1, 2) == MAX64);
}

static void branches(void)
{
    CHECK(TAKEN(beq, 3, 3) && !TAKEN(beq, 3, 4));
    CHECK(TAKEN(bne, 3, 4) && !TAKEN(bne, 3, 3));
    CHECK(TAKEN(blt, -1, 0) && !TAKEN(blt, 0, -1) && !TAKEN(blt, 1, 1));
    CHECK(TAKEN(bge, 0, -1) && TAKEN(bge, 1, 1) && !TAKEN(bge, -1, 0));
    CHECK(TAKEN(bltu, 0, -1) && !TAKEN(bltu, -1, 0));
    CHECK(TAKEN(bgeu, -1, 0) && TAKEN(bgeu, 1, 1));
}

static void jumps(void)
{
    uint64_t link, pc, odd;

    __asm__ volatile("auipc %1, 0\n .option push\n .option norvc\n"
                     "jal %0, 1f\n1:\n .option pop" : "=r"(link), "=r"(pc));
    CHECK(link == pc + 8);
    /* jalr clears bit 0 of the target and may use its source as the link. */
    __asm__ volatile(".option push\n .option norvc\n"
                     "la %0, 1f\n addi %0, %0, 1\n jalr %0, 0(%0)\n"
                     "li %0, 0\n1:\n .option pop" : "=&r"(odd));
    CHECK(odd != 0);
    __asm__ volatile("lui %0, 0x80000" : "=r"(link));
    CHECK(link == S32);
    /* Writes to x0 are lost. */
    __asm__ volatile("li t0, 5\n add x0, t0, t0\n mv %0, x0"
                     : "=r"(link) : : "t0");
    CHECK(link == 0);
}

static uint8_t buf[64] __attribute__((aligned(64)));

static void memory(void)
{
    uint64_t v;
    unsigned i;

    for (i = 0; i < 64; i++) {
        buf[i] = 0x80 + i;
    }
#define LD(op, off) ({ __asm__ volatile(#op " %0, " #off "(%1)" : "=r"(v) \
                                        : "r"(buf) : "memory"); v; })
    CHECK(LD(lb, 0) == 0xffffffffffffff80ull && LD(lbu, 0) == 0x80);
    CHECK(LD(lh, 1) == 0xffffffffffff8281ull && LD(lhu, 1) == 0x8281);
    CHECK(LD(lw, 3) == 0xffffffff86858483ull && LD(lwu, 3) == 0x86858483);
    CHECK(LD(ld, 5) == 0x8c8b8a8988878685ull);
    CHECK(LD(ld, 57 - 8) == 0xb8b7b6b5b4b3b2b1ull);
    v = 0x1122334455667788;
    __asm__ volatile("sd %0, 9(%1)\n sb %0, 20(%1)\n sh %0, 23(%1)\n"
                     "sw %0, 33(%1)" : : "r"(v), "r"(buf) : "memory");
    CHECK(buf[9] == 0x88 && buf[16] == 0x11 && buf[17] == 0x91);
    CHECK(buf[20] == 0x88 && buf[21] == 0x95);
    CHECK(buf[23] == 0x88 && buf[24] == 0x77 && buf[25] == 0x99);
    CHECK(buf[33] == 0x88 && buf[36] == 0x55 && buf[37] == 0xa5);
}

static void atomics(void)
{
    static uint64_t word;
    uint64_t r, s;

#define AMO(op, init, val, old, now) do { word = (init); \
    __asm__ volatile(#op " %0, %1, (%2)" : "=r"(r) \
                     : "r"((uint64_t)(val)), "r"(&word) : "memory"); \
    CHECK(r == (uint64_t)(old)); CHECK(word == (uint64_t)(now)); } while (0)
    AMO(amoadd.d, M1, 2, M1, 1);
    AMO(amoadd.w, 0x7fffffff, 1, 0x7fffffff, 0x80000000);
    AMO(amoswap.w, 0x180000000, 5, S32, 0x100000005);
    AMO(amoswap.d, 3, 9, 3, 9);
    AMO(amoand.d, 12, 10, 12, 8);
    AMO(amoor.d, 12, 10, 12, 14);
    AMO(amoxor.w, 12, 10, 12, 6);
    AMO(amomin.w, 0x80000000, 1, S32, 0x80000000);
    AMO(amominu.w, 0x80000000, 1, S32, 1);
    AMO(amomax.w, 0xffffffff, 1, M1, 1);
    AMO(amomaxu.w, 0xffffffff, 1, M1, 0xffffffff);
    AMO(amomin.d, 5, M1, 5, M1);
    AMO(amomax.d, M1, 5, M1, 5);
    AMO(amomaxu.d, M1, 5, M1, M1);
    word = 7;
    __asm__ volatile("lr.d %0, (%2)\n addi %0, %0, 1\n sc.d %1, %0, (%2)"
                     : "=&r"(r), "=&r"(s) : "r"(&word) : "memory");
    CHECK(s == 0 && word == 8);
    /* The reservation is used up. */
    __asm__ volatile("sc.d %0, %1, (%2)" : "=r"(s) : "r"(99ull), "r"(&word)
                     : "memory");
    CHECK(s != 0 && word == 8);
    /* A store in between, of another value. */
    __asm__ volatile("lr.w %0, (%2)\n sd %3, 0(%2)\n sc.w %1, %0, (%2)"
                     : "=&r"(r), "=&r"(s) : "r"(&word), "r"(42ull) : "memory");
    CHECK(s != 0 && word == 42);
}

static uint32_t code[16] __attribute__((aligned(64)));

/* Code written a moment ago, twice at the same place. */
static void self_modifying(void)
{
    uint64_t (*fn)(void) = (void *)code;
    unsigned i;

    for (i = 1; i < 6; i++) {
        code[0] = 0x00000513 | i << 20;      /* li a0, i */
        code[1] = 0x00008067;                /* ret */
        __asm__ volatile("fence.i" : : : "memory");
        CHECK(fn() == i);
    }
}

int test_main(unsigned hart)
{
    integer();
    multiply();
    branches();
    jumps();
    memory();
    atomics();
    self_modifying();
    return 0;
}
