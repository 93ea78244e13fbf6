// SPDX-License-Identifier: Apache-2.0
/*
 * Random RV64GC instruction streams that run themselves.
 *
 * A static Linux program: it generates a stream from a seed, executes it from
 * a buffer of its own and folds every register, the floating point state and
 * the data it touched into a hash. Run on two emulators with the same
 * arguments, the outputs must be equal (tests/aicpu/compare).
 *
 *   rvfuzz SEED STREAMS        one line per 50 streams
 *   rvfuzz SEED STREAMS LAST   also everything about stream number LAST
 *
 * Addresses are the same everywhere: the program is not relocatable and the
 * stack pointer of a stream points into the data buffer.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CODE_WORDS  4096
#define DATA_SIZE   4096
#define DATA_REG    9      /* s1: middle of the data buffer, never written */
#define SP_REG      2      /* a copy of it, for the stack forms */
#define LOOP_REG    30

struct state {
    uint64_t x[32];
    uint64_t f[32];
    uint64_t fcsr;
};

uint16_t code[CODE_WORDS * 2] __attribute__((aligned(4096)));
static uint8_t data[DATA_SIZE] __attribute__((aligned(4096)));
struct state st;          /* these three are named in assembler */
uint64_t host_regs[16];
static unsigned pos;        /* in halfwords */
static uint64_t rng;

/* splitmix64 */
static uint64_t rnd(void)
{
    uint64_t z = (rng += 0x9e3779b97f4a7c15ull);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static unsigned below(unsigned n)
{
    return rnd() % n;
}

/* ---- values worth trying ---- */

static uint64_t rnd_int(void)
{
    static const uint64_t special[] = {
        0, 1, 2, -1ull, -2ull, 0x7fffffff, 0x80000000, 0xffffffff,
        0xffffffff80000000, 0x7fffffffffffffff, 0x8000000000000000,
        0x0000000100000000, 63, 64, 31, 32,
    };

    switch (below(4)) {
    case 0:
        return special[below(sizeof(special) / sizeof(special[0]))];
    case 1:
        return (int64_t)(int32_t)rnd();
    case 2:
        return rnd() >> below(64);
    }
    return rnd();
}

static uint32_t rnd_f32(void)
{
    static const uint32_t special[] = {
        0, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
        0x7fc00000, 0xffc00000, 0x7f800001, 0x7fa00000, 0xff800001, 1,
        0x807fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x4f000000,
        0xcf000000, 0x4f800000, 0x5f000000, 0x5f800000, 0x3f7fffff,
        0x3effffff, 0x3f000000, 0xbf000000, 0x3fc00000, 0x4b000001,
    };

    switch (below(3)) {
    case 0:
        return special[below(sizeof(special) / sizeof(special[0]))];
    case 1:
        /* Near one, so that sums and products stay in range. */
        return (rnd() & 0x807fffff) | (uint32_t)(115 + below(24)) << 23;
    }
    return rnd();
}

static uint64_t rnd_f64(void)
{
    static const uint64_t special[] = {
        0, 1ull << 63, 0x3ff0000000000000, 0xbff0000000000000,
        0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
        0xfff8000000000000, 0x7ff0000000000001, 0xfff4000000000000, 1,
        0x800fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff,
        0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000200000,
        0x41f0000000000000, 0x43e0000000000000, 0xc3e0000000000000,
        0x43f0000000000000, 0x3fe0000000000000, 0xbfe0000000000000,
        0x47efffffe0000000, 0x47effffff0000000, 0x380fffffffffffff,
        0x36a0000000000000, 0x3690000000000000,
    };

    switch (below(3)) {
    case 0:
        return special[below(sizeof(special) / sizeof(special[0]))];
    case 1:
        return (rnd() & 0x800fffffffffffff) |
               (uint64_t)(1000 + below(48)) << 52;
    }
    return rnd();
}

static uint64_t rnd_freg(void)
{
    switch (below(8)) {
    case 0:
        return rnd();                       /* most likely not boxed */
    case 1:
        return 0xfffffffe00000000ull | rnd_f32();
    case 2:
    case 3:
    case 4:
        return 0xffffffff00000000ull | rnd_f32();
    }
    return rnd_f64();
}

/* ---- registers ---- */

static int is_fixed(unsigned r)
{
    return r == SP_REG || r == 3 || r == 4 || r == DATA_REG || r == LOOP_REG;
}

static unsigned dest(void)
{
    unsigned r;

    do {
        r = below(32);
    } while (is_fixed(r));
    return r;
}

/* gp and tp differ between emulators; everything else may be read. */
static unsigned source(void)
{
    unsigned r;

    do {
        r = below(32);
    } while (r == 3 || r == 4);
    return r;
}

/* x8..x15 but the data pointer */
static unsigned cdest(void)
{
    unsigned r;

    do {
        r = 8 + below(8);
    } while (is_fixed(r));
    return r;
}

/* ---- emission ---- */

static void emit16(unsigned h)
{
    code[pos++] = h;
}

static void emit32(uint32_t w)
{
    emit16(w & 0xffff);
    emit16(w >> 16);
}

static uint32_t r_type(uint32_t op, unsigned rd, unsigned rs1, unsigned rs2)
{
    return op | rd << 7 | rs1 << 15 | rs2 << 20;
}

static uint32_t i_type(uint32_t op, unsigned rd, unsigned rs1, int imm)
{
    return op | rd << 7 | rs1 << 15 | (uint32_t)imm << 20;
}

static uint32_t s_type(uint32_t op, unsigned rs1, unsigned rs2, int imm)
{
    return op | rs1 << 15 | rs2 << 20 | (imm & 31) << 7 |
           ((uint32_t)imm >> 5) << 25;
}

static uint32_t b_type(uint32_t op, unsigned rs1, unsigned rs2, int off)
{
    uint32_t o = off;

    return op | rs1 << 15 | rs2 << 20 | ((o >> 1) & 15) << 8 |
           ((o >> 5) & 63) << 25 | ((o >> 11) & 1) << 7 | ((o >> 12) & 1) << 31;
}

static uint32_t j_type(unsigned rd, int off)
{
    uint32_t o = off;

    return 0x6f | rd << 7 | ((o >> 1) & 0x3ff) << 21 | ((o >> 11) & 1) << 20 |
           ((o >> 12) & 0xff) << 12 | ((o >> 20) & 1) << 31;
}

#define PICK(...) ({ \
    static const uint32_t t_[] = { __VA_ARGS__ }; \
    t_[below(sizeof(t_) / sizeof(t_[0]))]; })

static void gen_alu(void)
{
    uint32_t op = PICK(
        0x33, 0x40000033, 0x1033, 0x2033, 0x3033, 0x4033, 0x5033, 0x40005033,
        0x6033, 0x7033, 0x3b, 0x4000003b, 0x103b, 0x503b, 0x4000503b,
        0x02000033, 0x02001033, 0x02002033, 0x02003033, 0x02004033, 0x02005033,
        0x02006033, 0x02007033, 0x0200003b, 0x0200403b, 0x0200503b, 0x0200603b,
        0x0200703b);

    emit32(r_type(op, dest(), source(), source()));
}

static void gen_imm(void)
{
    uint32_t op = PICK(0x13, 0x2013, 0x3013, 0x4013, 0x6013, 0x7013, 0x1b,
                       0x37, 0x17, 0x1013, 0x5013, 0x40005013, 0x101b, 0x501b,
                       0x4000501b);

    switch (op) {
    case 0x37:
    case 0x17:
        emit32(op | dest() << 7 | (rnd() & 0xfffff000));
        return;
    case 0x1013:
    case 0x5013:
    case 0x40005013:
        emit32(i_type(op, dest(), source(), below(64)));
        return;
    case 0x101b:
    case 0x501b:
    case 0x4000501b:
        emit32(i_type(op, dest(), source(), below(32)));
        return;
    }
    emit32(i_type(op, dest(), source(), (int)(rnd() & 0xfff)));
}

/* Any offset that keeps 8 bytes inside the buffer, so misaligned too. */
static int data_offset(void)
{
    return (int)below(4080) - 2040;
}

static void gen_mem(void)
{
    uint32_t op = PICK(0x03, 0x1003, 0x2003, 0x3003, 0x4003, 0x5003, 0x6003,
                       0x23, 0x1023, 0x2023, 0x3023, 0x2007, 0x3007, 0x2027,
                       0x3027);
    unsigned base = below(2) ? DATA_REG : SP_REG;

    if ((op & 0x7f) == 0x03) {
        emit32(i_type(op, dest(), base, data_offset()));
    } else if ((op & 0x7f) == 0x07) {
        emit32(i_type(op, below(32), base, data_offset()));
    } else {
        emit32(s_type(op, base, (op & 0x7f) == 0x27 ? below(32) : source(),
                      data_offset()));
    }
}

static void gen_atomic(void)
{
    uint32_t op = PICK(0x0800202f, 0x0000202f, 0x2000202f, 0x6000202f,
                       0x4000202f, 0x8000202f, 0xa000202f, 0xc000202f,
                       0xe000202f);
    uint32_t width = below(2) << 12, order = below(4) << 25;
    unsigned addr = dest(), rd;

    if (!addr) {
        return;
    }
    emit32(i_type(0x13, addr, DATA_REG, ((int)below(500) - 250) * 8));
    if (below(4)) {
        emit32(r_type(op | width | order, dest(), addr, source()));
        return;
    }
    do {
        rd = dest();
    } while (rd == addr);
    emit32(r_type(0x1000202f | width | order, rd, addr, 0));      /* lr */
    if (below(2)) {
        emit32(r_type(0x1800202f | width | order, dest(), addr, source()));
    }
}

static unsigned rnd_rm(void)
{
    static const unsigned rm[] = { 0, 1, 2, 3, 4, 7, 7, 7 };

    return rm[below(8)] << 12;
}

static void gen_float(void)
{
    uint32_t fmt = below(2) << 25;
    uint32_t op;

    switch (below(7)) {
    case 0:
    case 1:
        op = PICK(0x00000053, 0x08000053, 0x10000053, 0x18000053);
        emit32(r_type(op | fmt | rnd_rm(), below(32), below(32), below(32)));
        return;
    case 2:
        op = PICK(0x43, 0x47, 0x4b, 0x4f);
        emit32(r_type(op | fmt | rnd_rm(), below(32), below(32), below(32)) |
               below(32) << 27);
        return;
    case 3:
        op = PICK(0x20000053, 0x20001053, 0x20002053, 0x28000053, 0x28001053);
        emit32(r_type(op | fmt, below(32), below(32), below(32)));
        return;
    case 4:
        op = PICK(0xa0000053, 0xa0001053, 0xa0002053);
        emit32(r_type(op | fmt, dest(), below(32), below(32)));
        return;
    case 5:
        op = PICK(0xc0000053, 0xd0000053);
        op |= below(4) << 20 | fmt | rnd_rm();
        if (op & 0x10000000) {
            emit32(r_type(op, below(32), source(), 0));
        } else {
            emit32(r_type(op, dest(), below(32), 0));
        }
        return;
    }
    switch (below(5)) {
    case 0:
        emit32(r_type(0x58000053 | fmt | rnd_rm(), below(32), below(32), 0));
        return;
    case 1:
        emit32(r_type(PICK(0xe0000053, 0xe0001053) | fmt, dest(), below(32),
                      0));
        return;
    case 2:
        emit32(r_type(0xf0000053 | fmt, below(32), source(), 0));
        return;
    }
    op = fmt ? 0x42000053 : 0x40100053;         /* d <- s, s <- d */
    emit32(r_type(op | rnd_rm(), below(32), below(32), 0));
}

static void gen_csr(void)
{
    unsigned csr = 1 + below(3);
    uint32_t op = PICK(0x1073, 0x2073, 0x3073, 0x5073, 0x6073, 0x7073);

    if (csr != 1 && (op & 0x3000) != 0x2000) {
        /* Keep the rounding mode valid: an immediate 0..4 into frm. */
        emit32(i_type(0x5073, dest(), below(5), 2));
        return;
    }
    if (csr != 1) {
        emit32(i_type(0x2073, dest(), 0, csr));  /* read only */
        return;
    }
    emit32(i_type(op, dest(), op & 0x4000 ? below(32) : source(), csr));
}

static unsigned cbits(unsigned v, int hi, int lo, int at)
{
    return ((v >> lo) & ((1u << (hi - lo + 1)) - 1)) << at;
}

/* c.lw/c.ld/c.fld and stores, with base s1. */
static void gen_cmem(void)
{
    unsigned f3 = PICK(1, 2, 3, 5, 6, 7), base = DATA_REG - 8;
    unsigned off = below(32) * ((f3 & 3) == 2 ? 4 : 8);
    unsigned rd = (f3 == 2 || f3 == 3 ? cdest() : 8 + below(8)) - 8;
    unsigned h = f3 << 13 | base << 7 | rd << 2;

    if ((f3 & 3) == 2) {
        h |= cbits(off, 5, 3, 10) | cbits(off, 2, 2, 6) | cbits(off, 6, 6, 5);
    } else {
        h |= cbits(off, 5, 3, 10) | cbits(off, 7, 6, 5);
    }
    emit16(h);
}

/* c.lwsp and its like */
static void gen_csp(void)
{
    unsigned f3 = PICK(1, 2, 3, 5, 6, 7), reg, off = below(64);
    unsigned h = f3 << 13 | 2;

    if (f3 < 5) {
        reg = f3 == 1 ? below(32) : dest();
        if (!reg && f3 != 1) {
            return;
        }
        off *= f3 == 2 ? 4 : 8;
        h |= reg << 7 | cbits(off, 5, 5, 12);
        h |= f3 == 2 ? cbits(off, 4, 2, 4) | cbits(off, 7, 6, 2)
                     : cbits(off, 4, 3, 5) | cbits(off, 8, 6, 2);
    } else {
        reg = f3 == 5 ? below(32) : source();
        off *= f3 == 6 ? 4 : 8;
        h |= reg << 2;
        h |= f3 == 6 ? cbits(off, 5, 2, 9) | cbits(off, 7, 6, 7)
                     : cbits(off, 5, 3, 10) | cbits(off, 8, 6, 7);
    }
    emit16(h);
}

static void gen_compressed(void)
{
    unsigned imm = rnd() & 63, rd = dest(), c = cdest() - 8, n;

    switch (below(14)) {
    case 0:                                                 /* c.addi */
        emit16(0x0001 | rd << 7 | cbits(imm, 5, 5, 12) | cbits(imm, 4, 0, 2));
        return;
    case 1:                                                 /* c.addiw */
        rd += !rd;
        emit16(0x2001 | rd << 7 | cbits(imm, 5, 5, 12) | cbits(imm, 4, 0, 2));
        return;
    case 2:                                                 /* c.li */
        emit16(0x4001 | rd << 7 | cbits(imm, 5, 5, 12) | cbits(imm, 4, 0, 2));
        return;
    case 3:                                                 /* c.lui */
        imm += !imm;
        emit16(0x6001 | rd << 7 | cbits(imm, 5, 5, 12) | cbits(imm, 4, 0, 2));
        return;
    case 4:                                                 /* c.srli/srai */
        emit16(0x8001 | below(2) << 10 | c << 7 | cbits(imm, 5, 5, 12) |
               cbits(imm, 4, 0, 2));
        return;
    case 5:                                                 /* c.andi */
        emit16(0x8801 | c << 7 | cbits(imm, 5, 5, 12) | cbits(imm, 4, 0, 2));
        return;
    case 6:                                                 /* c.sub...and */
        emit16(0x8c01 | c << 7 | below(4) << 5 | below(8) << 2);
        return;
    case 7:                                                 /* c.subw/addw */
        emit16(0x9c01 | c << 7 | below(2) << 5 | below(8) << 2);
        return;
    case 8:                                                 /* c.slli */
        emit16(0x0002 | rd << 7 | cbits(imm, 5, 5, 12) | cbits(imm, 4, 0, 2));
        return;
    case 9:                                                 /* c.mv, c.add */
        n = source();
        if (n) {
            emit16(0x8002 | below(2) << 12 | rd << 7 | n << 2);
        }
        return;
    case 10:                                                /* c.addi4spn */
        n = 1 + below(255);
        emit16(cbits(n, 3, 2, 11) | cbits(n, 7, 4, 7) | cbits(n, 0, 0, 6) |
               cbits(n, 1, 1, 5) | c << 2);
        return;
    case 11:
        gen_csp();
        return;
    }
    gen_cmem();
}

static void gen_plain(void)
{
    switch (below(16)) {
    case 0:
    case 1:
    case 2:
        gen_alu();
        return;
    case 3:
    case 4:
        gen_imm();
        return;
    case 5:
    case 6:
        gen_mem();
        return;
    case 7:
        gen_atomic();
        return;
    case 8:
        gen_csr();
        return;
    case 9:
    case 10:
    case 11:
        gen_compressed();
        return;
    }
    gen_float();
}

/* A forward jump of any kind over a few instructions. */
static void gen_jump(void)
{
    unsigned at = pos, kind = below(5), n = below(4), i, a = source(),
             b = source(), link = dest(), c = 8 + below(8), f;
    int off;

    switch (kind) {
    case 3:
        emit16(0);                       /* c.beqz, c.bnez, c.j */
        break;
    case 4:
        emit32(0);                       /* auipc, jalr */
        emit32(0);
        break;
    default:
        emit32(0);
    }
    for (i = 0; i < n; i++) {
        gen_plain();
    }
    off = (int)(pos - at) * 2;
    switch (kind) {
    case 0:
        f = PICK(0, 1, 4, 5, 6, 7);
        i = b_type(0x63 | f << 12, a, b, off);
        break;
    case 1:
        i = j_type(link, off);
        break;
    case 2:
        i = b_type(0x63 | PICK(0, 1) << 12, a, a, off);
        break;
    case 3:
        f = PICK(5, 6, 7);
        if (f == 5) {
            code[at] = 0xa001 | cbits(off, 5, 5, 2) | cbits(off, 3, 1, 3) |
                       cbits(off, 7, 7, 6) | cbits(off, 6, 6, 7) |
                       cbits(off, 4, 4, 11);
        } else {
            code[at] = f << 13 | 1 | (c - 8) << 7 | cbits(off, 5, 5, 2) |
                       cbits(off, 2, 1, 3) | cbits(off, 7, 6, 5) |
                       cbits(off, 4, 3, 10);
        }
        return;
    default:
        link += !link;
        i = 0x17 | link << 7;
        code[at + 2] = i_type(0x67, link, link, off) & 0xffff;
        code[at + 3] = i_type(0x67, link, link, off) >> 16;
    }
    code[at] = i & 0xffff;
    code[at + 1] = i >> 16;
}

/* A counted loop. */
static void gen_loop(void)
{
    unsigned n = 1 + below(6), i, top;

    emit32(i_type(0x13, LOOP_REG, 0, 2 + below(30)));
    top = pos;
    for (i = 0; i < n; i++) {
        gen_plain();
    }
    emit32(i_type(0x13, LOOP_REG, LOOP_REG, -1 & 0xfff));
    emit32(b_type(0x1063, LOOP_REG, 0, ((int)top - (int)pos) * 2));
}

/* The streams end by a jump back to the trampoline, through mscratch-like
 * memory: the address of host_regs is rebuilt in t0 there. */
static void gen_stream(unsigned n)
{
    unsigned i;

    pos = 0;
    for (i = 0; i < n; i++) {
        switch (below(20)) {
        case 0:
            gen_loop();
            break;
        case 1:
        case 2:
            gen_jump();
            break;
        default:
            gen_plain();
        }
    }
}

extern void stream_return(void);

/* lui, addi, ... : jump to stream_return with x30 (low addresses only). */
static void gen_end(void)
{
    uint64_t target = (uint64_t)stream_return;

    emit32(0x37 | LOOP_REG << 7 | ((uint32_t)(target + 0x800) & 0xfffff000));
    emit32(i_type(0x67, 0, LOOP_REG, target & 0xfff));
}

/*
 * run_stream: saves what the ABI wants back, loads all registers from st,
 * jumps into code; stream_return stores them all (x30 is lost) and goes back.
 */
void run_stream(void);
#define XS(n) "sd x" #n ", " #n "*8(x30)\n"
#define XL(n) "ld x" #n ", " #n "*8(x30)\n"
#define FS(n) "fsd f" #n ", 256+" #n "*8(x30)\n"
#define FL(n) "fld f" #n ", 256+" #n "*8(x30)\n"
#define ALL(M) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15) \
    M(16) M(17) M(18) M(19) M(20) M(21) M(22) M(23) M(24) M(25) M(26) M(27) \
    M(28) M(29) M(31)
#define ALLF(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) \
    M(11) M(12) M(13) M(14) M(15) M(16) M(17) M(18) M(19) M(20) M(21) M(22) \
    M(23) M(24) M(25) M(26) M(27) M(28) M(29) M(30) M(31)
__asm__(
    ".option push\n.option norvc\n.option norelax\n"
    ".globl run_stream\n.type run_stream,@function\nrun_stream:\n"
    "la t0, host_regs\n"
    "sd ra, 0(t0)\nsd sp, 8(t0)\nsd s0, 16(t0)\nsd s1, 24(t0)\n"
    "sd s2, 32(t0)\nsd s3, 40(t0)\nsd s4, 48(t0)\nsd s5, 56(t0)\n"
    "sd s6, 64(t0)\nsd s7, 72(t0)\nsd s8, 80(t0)\nsd s9, 88(t0)\n"
    "sd s10, 96(t0)\nsd s11, 104(t0)\n"
    "la x30, st\n"
    "ld t0, 512(x30)\nfscsr t0\n"
    ALLF(FL) XL(1) XL(2) ALL(XL)
    "la x30, code\n"
    "jr x30\n"
    ".globl stream_return\nstream_return:\n"
    "la x30, st\n"
    XS(1) XS(2) ALL(XS) ALLF(FS)
    "frcsr t0\nsd t0, 512(x30)\n"
    "fscsr zero\n"
    "la t0, host_regs\n"
    "ld ra, 0(t0)\nld sp, 8(t0)\nld s0, 16(t0)\nld s1, 24(t0)\n"
    "ld s2, 32(t0)\nld s3, 40(t0)\nld s4, 48(t0)\nld s5, 56(t0)\n"
    "ld s6, 64(t0)\nld s7, 72(t0)\nld s8, 80(t0)\nld s9, 88(t0)\n"
    "ld s10, 96(t0)\nld s11, 104(t0)\n"
    "ret\n"
    ".option pop\n");

static void init_state(void)
{
    unsigned i;

    for (i = 1; i < 32; i++) {
        st.x[i] = rnd_int();
        st.f[i] = rnd_freg();
    }
    st.f[0] = rnd_freg();
    st.x[DATA_REG] = (uint64_t)data + DATA_SIZE / 2;
    st.x[SP_REG] = (uint64_t)data + DATA_SIZE / 2;
    st.fcsr = below(5) << 5 | below(32);
    for (i = 0; i < DATA_SIZE; i += 8) {
        uint64_t v = (i & 24) == 0 ? rnd_freg() : (i & 24) == 8 ? rnd_int()
                                                                : rnd();

        memcpy(data + i, &v, 8);
    }
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0xff51afd7ed558ccdull;
    return h ^ (h >> 32);
}

static uint64_t fold(uint64_t h)
{
    const uint64_t *p = (const uint64_t *)data;
    unsigned i;

    for (i = 1; i < 32; i++) {
        if (i != 3 && i != 4 && i != LOOP_REG) {
            h = mix(h, st.x[i]);
        }
        h = mix(h, st.f[i]);
    }
    h = mix(mix(h, st.f[0]), st.fcsr);
    for (i = 0; i < DATA_SIZE / 8; i++) {
        h = mix(h, p[i]);
    }
    return h;
}

static void print_stream(void)
{
    const uint64_t *p = (const uint64_t *)data;
    unsigned i;

    printf("code:");
    for (i = 0; i < pos; i += (code[i] & 3) == 3 ? 2 : 1) {
        if ((code[i] & 3) == 3) {
            printf(" %04x%04x", code[i + 1], code[i]);
        } else {
            printf(" %04x", code[i]);
        }
    }
    printf("\n");
    for (i = 0; i < 32; i++) {
        printf("x%-2u %016lx  f%-2u %016lx\n", i,
               i == 3 || i == 4 || i == LOOP_REG ? 0 : st.x[i], i, st.f[i]);
    }
    printf("fcsr %lx\n", st.fcsr);
    for (i = 0; i < DATA_SIZE / 8; i++) {
        printf("data+%u %016lx\n", i * 8, p[i]);
    }
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    long n = argc > 2 ? strtol(argv[2], NULL, 0) : 100, i;
    long show = argc > 3 ? strtol(argv[3], NULL, 0) : -1;
    uint64_t h = 0;

    if (mprotect(code, sizeof(code), PROT_READ | PROT_WRITE | PROT_EXEC)) {
        perror("mprotect");
        return 2;
    }
    for (i = 0; i < n; i++) {
        rng = seed * 0x2545f4914f6cdd1dull + i;
        init_state();
        gen_stream(20 + below(150));
        gen_end();
        __builtin___clear_cache((char *)code, (char *)(code + pos));
        if (i == show) {
            printf("before:\n");
            print_stream();
            fflush(stdout);
        }
        run_stream();
        if (i == show) {
            printf("after:\n");
            print_stream();
        }
        h = mix(h, fold(i));
        if (i % 50 == 49 || i == n - 1) {
            printf("%ld %016lx\n", i, h);
        }
    }
    return 0;
}
