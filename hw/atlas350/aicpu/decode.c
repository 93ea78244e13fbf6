/*
 * RV64GC core: decoder and block builder.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Compressed instructions are expanded to their 32-bit form, so that one
 * table (insns.h.inc) serves both.
 */
#include "qemu/osdep.h"
#include "core-int.h"

enum {
    F_R, F_I, F_SH, F_S, F_B, F_U, F_AUIPC, F_J, F_JALR, F_SYS, F_CSR, F_NONE,
    F_FL, F_FF, F_FN, F_FX, F_NX, F_R4,
};

typedef struct Insn {
    uint32_t match, mask;
    OpFn *fn;
    uint8_t fmt;
} Insn;

static const Insn insns[] = {
#define I(name, match, mask, fmt) { match, mask, a350_op_##name, F_##fmt },
#include "insns.h.inc"
#undef I
};

/* Chains of table entries by major opcode, in the table's order. */
#define NO_INSN 0xff
static uint8_t first[32], next_of[ARRAY_SIZE(insns)];
QEMU_BUILD_BUG_ON(ARRAY_SIZE(insns) >= NO_INSN);

static void __attribute__((constructor)) index_insns(void)
{
    int i;

    memset(first, NO_INSN, sizeof(first));
    for (i = ARRAY_SIZE(insns) - 1; i >= 0; i--) {
        unsigned op = (insns[i].match >> 2) & 31;

        next_of[i] = first[op];
        first[op] = i;
    }
}

static const Insn *find_insn(uint32_t w)
{
    unsigned i;

    for (i = first[(w >> 2) & 31]; i != NO_INSN; i = next_of[i]) {
        if ((w & insns[i].mask) == insns[i].match) {
            return &insns[i];
        }
    }
    return NULL;
}

/* ---- compressed instructions ---- */

static uint32_t bits(uint32_t w, int hi, int lo)
{
    return (w >> lo) & ((1u << (hi - lo + 1)) - 1);
}

static uint32_t enc_i(uint32_t op, uint32_t rd, uint32_t rs1, int32_t imm)
{
    return op | rd << 7 | rs1 << 15 | (uint32_t)imm << 20;
}

static uint32_t enc_r(uint32_t op, uint32_t rd, uint32_t rs1, uint32_t rs2)
{
    return op | rd << 7 | rs1 << 15 | rs2 << 20;
}

static uint32_t enc_s(uint32_t op, uint32_t rs1, uint32_t rs2, uint32_t imm)
{
    return op | rs1 << 15 | rs2 << 20 | (imm & 31) << 7 | (imm >> 5) << 25;
}

static uint32_t enc_b(uint32_t op, uint32_t rs1, int32_t imm)
{
    return op | rs1 << 15 | bits(imm, 4, 1) << 8 | bits(imm, 10, 5) << 25 |
           bits(imm, 11, 11) << 7 | bits(imm, 12, 12) << 31;
}

static uint32_t enc_j(uint32_t rd, int32_t imm)
{
    return 0x6f | rd << 7 | bits(imm, 10, 1) << 21 | bits(imm, 11, 11) << 20 |
           bits(imm, 19, 12) << 12 | bits(imm, 20, 20) << 31;
}

static uint32_t rvc_q0(uint16_t h)
{
    uint32_t rs1 = 8 + bits(h, 9, 7), rd = 8 + bits(h, 4, 2);
    uint32_t w4 = bits(h, 12, 10) << 3 | bits(h, 6, 6) << 2 |
                  bits(h, 5, 5) << 6;
    uint32_t d8 = bits(h, 12, 10) << 3 | bits(h, 6, 5) << 6;
    uint32_t sp = bits(h, 12, 11) << 4 | bits(h, 10, 7) << 6 |
                  bits(h, 6, 6) << 2 | bits(h, 5, 5) << 3;

    switch (h >> 13) {
    case 0:
        return sp ? enc_i(0x13, rd, 2, sp) : 0;     /* c.addi4spn */
    case 1:
        return enc_i(0x3007, rd, rs1, d8);          /* c.fld */
    case 2:
        return enc_i(0x2003, rd, rs1, w4);          /* c.lw */
    case 3:
        return enc_i(0x3003, rd, rs1, d8);          /* c.ld */
    case 5:
        return enc_s(0x3027, rs1, rd, d8);          /* c.fsd */
    case 6:
        return enc_s(0x2023, rs1, rd, w4);          /* c.sw */
    case 7:
        return enc_s(0x3023, rs1, rd, d8);          /* c.sd */
    }
    return 0;
}

static uint32_t rvc_alu(uint16_t h, int32_t imm)
{
    static const uint32_t op[8] = {
        0x40000033, 0x4033, 0x6033, 0x7033,         /* sub xor or and */
        0x4000003b, 0x3b, 0, 0,                     /* subw addw */
    };
    uint32_t rd = 8 + bits(h, 9, 7), rs2 = 8 + bits(h, 4, 2), o;

    switch (bits(h, 11, 10)) {
    case 0:
        return enc_i(0x5013, rd, rd, imm & 63);     /* c.srli */
    case 1:
        return enc_i(0x40005013, rd, rd, imm & 63); /* c.srai */
    case 2:
        return enc_i(0x7013, rd, rd, imm);          /* c.andi */
    }
    o = op[bits(h, 12, 12) << 2 | bits(h, 6, 5)];
    return o ? enc_r(o, rd, rd, rs2) : 0;
}

static uint32_t rvc_q1(uint16_t h)
{
    uint32_t rd = bits(h, 11, 7), rs1 = 8 + bits(h, 9, 7);
    int32_t imm = sextract32(bits(h, 12, 12) << 5 | bits(h, 6, 2), 0, 6);
    int32_t sp = sextract32(bits(h, 12, 12) << 9 | bits(h, 6, 6) << 4 |
                            bits(h, 5, 5) << 6 | bits(h, 4, 3) << 7 |
                            bits(h, 2, 2) << 5, 0, 10);
    int32_t b = sextract32(bits(h, 12, 12) << 8 | bits(h, 11, 10) << 3 |
                           bits(h, 6, 5) << 6 | bits(h, 4, 3) << 1 |
                           bits(h, 2, 2) << 5, 0, 9);
    int32_t j = sextract32(bits(h, 12, 12) << 11 | bits(h, 11, 11) << 4 |
                           bits(h, 10, 9) << 8 | bits(h, 8, 8) << 10 |
                           bits(h, 7, 7) << 6 | bits(h, 6, 6) << 7 |
                           bits(h, 5, 3) << 1 | bits(h, 2, 2) << 5, 0, 12);

    switch (h >> 13) {
    case 0:
        return enc_i(0x13, rd, rd, imm);            /* c.addi, c.nop */
    case 1:
        return rd ? enc_i(0x1b, rd, rd, imm) : 0;   /* c.addiw */
    case 2:
        return enc_i(0x13, rd, 0, imm);             /* c.li */
    case 3:
        if (rd == 2) {
            return sp ? enc_i(0x13, 2, 2, sp) : 0;  /* c.addi16sp */
        }
        return imm ? (0x37 | rd << 7 | (uint32_t)imm << 12) : 0; /* c.lui */
    case 4:
        return rvc_alu(h, imm);
    case 5:
        return enc_j(0, j);                         /* c.j */
    case 6:
        return enc_b(0x63, rs1, b);                 /* c.beqz */
    }
    return enc_b(0x1063, rs1, b);                   /* c.bnez */
}

static uint32_t rvc_jr(uint32_t rd, uint32_t rs2, bool link)
{
    if (rs2) {                                      /* c.mv, c.add */
        return enc_r(0x33, rd, link ? rd : 0, rs2);
    }
    if (rd) {
        return enc_i(0x67, link, rd, 0);            /* c.jr, c.jalr */
    }
    return link ? 0x00100073 : 0;                   /* c.ebreak */
}

static uint32_t rvc_q2(uint16_t h)
{
    uint32_t rd = bits(h, 11, 7), rs2 = bits(h, 6, 2);
    uint32_t ld = bits(h, 12, 12) << 5 | bits(h, 6, 5) << 3 |
                  bits(h, 4, 2) << 6;
    uint32_t lw = bits(h, 12, 12) << 5 | bits(h, 6, 4) << 2 |
                  bits(h, 3, 2) << 6;
    uint32_t sd = bits(h, 12, 10) << 3 | bits(h, 9, 7) << 6;
    uint32_t sw = bits(h, 12, 9) << 2 | bits(h, 8, 7) << 6;

    switch (h >> 13) {
    case 0:
        return enc_i(0x1013, rd, rd, bits(h, 12, 12) << 5 | rs2); /* c.slli */
    case 1:
        return enc_i(0x3007, rd, 2, ld);            /* c.fldsp */
    case 2:
        return rd ? enc_i(0x2003, rd, 2, lw) : 0;   /* c.lwsp */
    case 3:
        return rd ? enc_i(0x3003, rd, 2, ld) : 0;   /* c.ldsp */
    case 4:
        return rvc_jr(rd, rs2, bits(h, 12, 12));
    case 5:
        return enc_s(0x3027, 2, rs2, sd);           /* c.fsdsp */
    case 6:
        return enc_s(0x2023, 2, rs2, sw);           /* c.swsp */
    }
    return enc_s(0x3023, 2, rs2, sd);               /* c.sdsp */
}

/* The 32-bit form of a compressed instruction, 0 if there is none. */
uint32_t a350_rvc_expand(uint16_t h)
{
    switch (h & 3) {
    case 0:
        return rvc_q0(h);
    case 1:
        return rvc_q1(h);
    case 2:
        return rvc_q2(h);
    }
    return 0;
}

/* ---- operands ---- */

static int32_t imm_s(uint32_t w)
{
    return (int32_t)(w & 0xfe000000) >> 20 | (int32_t)bits(w, 11, 7);
}

static int32_t imm_b(uint32_t w)
{
    return sextract32(bits(w, 31, 31) << 12 | bits(w, 7, 7) << 11 |
                      bits(w, 30, 25) << 5 | bits(w, 11, 8) << 1, 0, 13);
}

static int32_t imm_j(uint32_t w)
{
    return sextract32(bits(w, 31, 31) << 20 | bits(w, 19, 12) << 12 |
                      bits(w, 20, 20) << 11 | bits(w, 30, 21) << 1, 0, 21);
}

/* Block being built. */
typedef struct Builder {
    Op op[BLOCK_SLOTS];
    uint8_t pcoff[BLOCK_SLOTS], icnt[BLOCK_SLOTS];
    uint8_t insn[BLOCK_SLOTS];   /* A350_INSN_*, of operations only */
    unsigned slots, insns;
    uint64_t start, pc;          /* of the block, of the current instruction */
    bool ended;
} Builder;

static Op *add_op(Builder *b, OpFn *fn)
{
    Op *op = &b->op[b->slots];

    op->fn = fn;
    op->rd = REG_SINK;
    op->rs1 = op->rs2 = 0;
    op->n = b->slots;
    op->imm = 0;
    b->pcoff[b->slots] = (b->pc - b->start) / 2;
    b->icnt[b->slots] = b->insns;
    b->insn[b->slots] = A350_INSN_ecall;
    b->slots++;
    return op;
}

/* Adds the slots behind an operation that ends the block. */
static void end_block(Builder *b, uint64_t taken, uint64_t next, bool counts)
{
    Op *op = &b->op[b->slots - 1];

    op->n = b->insns + counts;
    op[1].taken = NULL;          /* links are made when the block is placed */
    op[1].fall = NULL;
    op[2].taken_pc = taken;
    op[2].next_pc = next;
    op[3].fn = a350_op_resolve_taken;
    op[4].fn = a350_op_resolve_fall;
    b->slots += END_SLOTS - 1;
    b->ended = true;
}

static bool valid_rm(uint32_t w)
{
    return bits(w, 14, 12) < 5 || bits(w, 14, 12) == 7;
}

/* Fills the operands that need no more than the instruction word. */
static void set_operands(Op *op, unsigned fmt, uint32_t w)
{
    unsigned rd = bits(w, 11, 7);

    op->rs1 = bits(w, 19, 15);
    op->rs2 = bits(w, 24, 20);
    op->imm = (int32_t)w >> 20;
    if (fmt != F_FL && fmt != F_FF && fmt != F_FN && fmt != F_R4 && !rd) {
        rd = REG_SINK;
    }
    op->rd = rd;
    switch (fmt) {
    case F_SH:
        op->imm = bits(w, 25, 20);
        break;
    case F_S:
        op->imm = imm_s(w);
        break;
    case F_U:
        op->imm = (int32_t)(w & 0xfffff000);
        break;
    case F_FF:
    case F_FX:
    case F_R4:
        op->imm = bits(w, 14, 12) | bits(w, 31, 27) << 8;
        break;
    case F_NONE:
        op->imm = w;
        break;
    }
}

static void add_insn(Builder *b, uint32_t w, unsigned len)
{
    const Insn *in = find_insn(w);
    uint64_t pc = b->pc, next = pc + len;
    Op *op;

    if (!in || ((in->fmt == F_FF || in->fmt == F_FX || in->fmt == F_R4) &&
                !valid_rm(w))) {
        add_op(b, a350_op_illegal);
        end_block(b, pc, next, true);
        return;
    }
    op = add_op(b, in->fn);
    b->insn[b->slots - 1] = in - insns;
    set_operands(op, in->fmt, w);
    switch (in->fmt) {
    case F_AUIPC:
        op[1].taken_pc = pc + (int32_t)(w & 0xfffff000);
        b->insn[b->slots++] = A350_INSN_ecall;
        break;
    case F_J:
        end_block(b, pc + imm_j(w), next, true);
        break;
    case F_B:
        end_block(b, pc + imm_b(w), next, true);
        break;
    case F_JALR:
    case F_SYS:
    case F_CSR:
        end_block(b, pc, next, true);
        break;
    }
    b->insns++;
    b->pc = next;
}

static bool is_break(A350Core *c, uint64_t pc)
{
    unsigned i;

    for (i = 0; i < c->num_brk; i++) {
        if (c->brk[i] == pc && c->skip_pc != pc) {
            return true;
        }
    }
    return false;
}

/* Reads one instruction; 0: cannot be fetched, *fault names the address. */
static unsigned fetch(A350Core *c, uint64_t pc, uint32_t *w, uint64_t *fault)
{
    uint16_t lo, hi;

    *fault = pc;
    if (!a350_core_fetch16(c, pc, &lo)) {
        return 0;
    }
    if ((lo & 3) != 3) {
        *w = a350_rvc_expand(lo);
        return 2;
    }
    *fault = pc + 2;
    if (!a350_core_fetch16(c, pc + 2, &hi)) {
        return 0;
    }
    *w = lo | (uint32_t)hi << 16;
    return 4;
}

static void fill_block(A350Core *c, Builder *b)
{
    unsigned max = c->single ? 1 : A350_BLOCK_INSNS;

    while (!b->ended) {
        uint64_t fault;
        unsigned len;
        uint32_t w;

        if (b->insns == max) {
            add_op(b, a350_op_end);
            end_block(b, b->pc, b->pc, false);
            return;
        }
        if (is_break(c, b->pc)) {
            add_op(b, a350_op_breakpoint);
            end_block(b, b->pc, b->pc, false);
            return;
        }
        len = fetch(c, b->pc, &w, &fault);
        if (!len) {
            /* The fault belongs to this instruction if it is ever reached. */
            c->fault_blocks = true;
            add_op(b, a350_op_fetch_fault);
            end_block(b, b->pc, fault, true);
            return;
        }
        add_insn(b, w, len);
    }
}

/* Fuses pairs, from the front; the last operation has END_SLOTS - 1 behind. */
static void fuse(Builder *b)
{
    unsigned i, last = b->slots - END_SLOTS;

    for (i = 0; i < last; i++) {
        OpFn *fn = a350_pair(b->insn[i], b->insn[i + 1]);

        if (fn) {
            b->op[i].fn = fn;
            i++;
        }
    }
}

/* Copies a finished block to the arena; the caller has made room. */
static Block *place_block(A350Core *c, const Builder *b)
{
    size_t meta = ROUND_UP(2 * b->slots, 16);
    uint8_t *p = c->arena + c->arena_used;
    Block *blk = (Block *)p;
    Op *ops = (Op *)(p + ROUND_UP(sizeof(Block), 16) + meta) + 1;
    Op *end = ops + b->slots - END_SLOTS;

    blk->pc = b->start;
    blk->key = b->start | c->user;
    blk->pcoff = p + ROUND_UP(sizeof(Block), 16);
    blk->icnt = blk->pcoff + b->slots;
    blk->ops = ops;
    blk->bytes = b->pc - b->start;
    memcpy(blk->pcoff, b->pcoff, b->slots);
    memcpy(blk->icnt, b->icnt, b->slots);
    memcpy(ops, b->op, b->slots * sizeof(Op));
    ops[-1].block = blk;
    end[1].taken = &end[3];
    end[1].fall = &end[4];
    c->arena_used += (uint8_t *)(ops + b->slots) - p;
    return blk;
}

Block *a350_decode_block(A350Core *c)
{
    Builder b;

    if (c->arena_used + sizeof(Block) + BLOCK_SLOTS * (sizeof(Op) + 2) + 64 >
        ARENA_SIZE) {
        a350_core_flush(c);
    }
    b.slots = b.insns = 0;
    b.start = b.pc = c->pc;
    b.ended = false;
    fill_block(c, &b);
    fuse(&b);
    return place_block(c, &b);
}
