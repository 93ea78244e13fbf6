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

/*
 * Immediates of compressed instructions: fields of the halfword, each with
 * its lowest bit, its width and its place; the first one's sign is extended
 * if the immediate is signed.
 */
typedef struct RvcImm {
    uint8_t is_signed, field[8][3];
} RvcImm;

enum {
    IM_0, IM_SPN, IM_W, IM_D, IM_6, IM_SP16, IM_U, IM_SH, IM_J, IM_B, IM_LWSP,
    IM_LDSP, IM_SWSP, IM_SDSP,
};

static const RvcImm rvc_imm[] = {
    [IM_SPN]  = { 0, { { 11, 2, 4 }, { 7, 4, 6 }, { 6, 1, 2 }, { 5, 1, 3 } } },
    [IM_W]    = { 0, { { 10, 3, 3 }, { 6, 1, 2 }, { 5, 1, 6 } } },
    [IM_D]    = { 0, { { 10, 3, 3 }, { 5, 2, 6 } } },
    [IM_6]    = { 1, { { 12, 1, 5 }, { 2, 5, 0 } } },
    [IM_SP16] = { 1, { { 12, 1, 9 }, { 6, 1, 4 }, { 5, 1, 6 }, { 3, 2, 7 },
                       { 2, 1, 5 } } },
    [IM_U]    = { 1, { { 12, 1, 17 }, { 2, 5, 12 } } },
    [IM_SH]   = { 0, { { 12, 1, 5 }, { 2, 5, 0 } } },
    [IM_J]    = { 1, { { 12, 1, 11 }, { 11, 1, 4 }, { 9, 2, 8 }, { 8, 1, 10 },
                       { 7, 1, 6 }, { 6, 1, 7 }, { 3, 3, 1 }, { 2, 1, 5 } } },
    [IM_B]    = { 1, { { 12, 1, 8 }, { 10, 2, 3 }, { 5, 2, 6 }, { 3, 2, 1 },
                       { 2, 1, 5 } } },
    [IM_LWSP] = { 0, { { 12, 1, 5 }, { 4, 3, 2 }, { 2, 2, 6 } } },
    [IM_LDSP] = { 0, { { 12, 1, 5 }, { 5, 2, 3 }, { 2, 3, 6 } } },
    [IM_SWSP] = { 0, { { 9, 4, 2 }, { 7, 2, 6 } } },
    [IM_SDSP] = { 0, { { 10, 3, 3 }, { 7, 3, 6 } } },
};

/* Registers: x0 to x2, or a field: five bits, or three for x8 to x15. */
enum { X0, X1, X2, R11 = 32 + 7, R6 = 32 + 2, Q9 = 64 + 7, Q4 = 64 + 2 };
/* Reserved if rd is x0 (RD), if the immediate is 0 (IM). */
enum { NZ_RD = 1, NZ_IM = 2 };

/* The first that matches; @fmt says where the 32-bit form has @imm. */
static const struct {
    uint16_t match, mask;
    uint32_t base;
    uint8_t fmt, rd, rs1, rs2, imm, reserved;
} rvc[] = {
    { 0x0000, 0xe003, 0x13, F_I, Q4, X2, X0, IM_SPN, NZ_IM }, /* addi4spn */
    { 0x2000, 0xe003, 0x3007, F_I, Q4, Q9, X0, IM_D },        /* fld */
    { 0x4000, 0xe003, 0x2003, F_I, Q4, Q9, X0, IM_W },        /* lw */
    { 0x6000, 0xe003, 0x3003, F_I, Q4, Q9, X0, IM_D },        /* ld */
    { 0xa000, 0xe003, 0x3027, F_S, X0, Q9, Q4, IM_D },        /* fsd */
    { 0xc000, 0xe003, 0x2023, F_S, X0, Q9, Q4, IM_W },        /* sw */
    { 0xe000, 0xe003, 0x3023, F_S, X0, Q9, Q4, IM_D },        /* sd */
    { 0x0001, 0xe003, 0x13, F_I, R11, R11, X0, IM_6 },        /* addi, nop */
    { 0x2001, 0xe003, 0x1b, F_I, R11, R11, X0, IM_6, NZ_RD }, /* addiw */
    { 0x4001, 0xe003, 0x13, F_I, R11, X0, X0, IM_6 },         /* li */
    { 0x6101, 0xef83, 0x13, F_I, X2, X2, X0, IM_SP16, NZ_IM }, /* addi16sp */
    { 0x6001, 0xe003, 0x37, F_U, R11, X0, X0, IM_U, NZ_IM },  /* lui */
    { 0x8001, 0xec03, 0x5013, F_I, Q9, Q9, X0, IM_SH },       /* srli */
    { 0x8401, 0xec03, 0x40005013, F_I, Q9, Q9, X0, IM_SH },   /* srai */
    { 0x8801, 0xec03, 0x7013, F_I, Q9, Q9, X0, IM_6 },        /* andi */
    { 0x8c01, 0xfc63, 0x40000033, F_R, Q9, Q9, Q4, IM_0 },    /* sub */
    { 0x8c21, 0xfc63, 0x4033, F_R, Q9, Q9, Q4, IM_0 },        /* xor */
    { 0x8c41, 0xfc63, 0x6033, F_R, Q9, Q9, Q4, IM_0 },        /* or */
    { 0x8c61, 0xfc63, 0x7033, F_R, Q9, Q9, Q4, IM_0 },        /* and */
    { 0x9c01, 0xfc63, 0x4000003b, F_R, Q9, Q9, Q4, IM_0 },    /* subw */
    { 0x9c21, 0xfc63, 0x3b, F_R, Q9, Q9, Q4, IM_0 },          /* addw */
    { 0xa001, 0xe003, 0x6f, F_J, X0, X0, X0, IM_J },          /* j */
    { 0xc001, 0xe003, 0x63, F_B, X0, Q9, X0, IM_B },          /* beqz */
    { 0xe001, 0xe003, 0x1063, F_B, X0, Q9, X0, IM_B },        /* bnez */
    { 0x0002, 0xe003, 0x1013, F_I, R11, R11, X0, IM_SH },     /* slli */
    { 0x2002, 0xe003, 0x3007, F_I, R11, X2, X0, IM_LDSP },    /* fldsp */
    { 0x4002, 0xe003, 0x2003, F_I, R11, X2, X0, IM_LWSP, NZ_RD }, /* lwsp */
    { 0x6002, 0xe003, 0x3003, F_I, R11, X2, X0, IM_LDSP, NZ_RD }, /* ldsp */
    { 0x8002, 0xffff },                                       /* reserved */
    { 0x8002, 0xf07f, 0x67, F_R, X0, R11, X0, IM_0 },         /* jr */
    { 0x8002, 0xf003, 0x33, F_R, R11, X0, R6, IM_0 },         /* mv */
    { 0x9002, 0xffff, 0x00100073, F_R, X0, X0, X0, IM_0 },    /* ebreak */
    { 0x9002, 0xf07f, 0x67, F_R, X1, R11, X0, IM_0 },         /* jalr */
    { 0x9002, 0xf003, 0x33, F_R, R11, R11, R6, IM_0 },        /* add */
    { 0xa002, 0xe003, 0x3027, F_S, X0, X2, R6, IM_SDSP },     /* fsdsp */
    { 0xc002, 0xe003, 0x2023, F_S, X0, X2, R6, IM_SWSP },     /* swsp */
    { 0xe002, 0xe003, 0x3023, F_S, X0, X2, R6, IM_SDSP },     /* sdsp */
};

static uint32_t rvc_reg(uint16_t h, unsigned sel)
{
    return sel < 32 ? sel : sel < 64 ? bits(h, sel - 32 + 4, sel - 32) :
           8 + bits(h, sel - 64 + 2, sel - 64);
}

static uint32_t rvc_immediate(uint16_t h, const RvcImm *m)
{
    uint32_t imm = 0;
    unsigned i;

    for (i = 0; i < 8 && m->field[i][1]; i++) {
        const uint8_t *f = m->field[i];

        imm |= extract32(h, f[0], f[1]) << f[2];
    }
    return m->is_signed ? sextract32(imm, 0, m->field[0][2] + 1) : imm;
}

/* Puts @imm where instructions of @fmt have it. */
static uint32_t place_imm(unsigned fmt, uint32_t imm)
{
    switch (fmt) {
    case F_I:
        return imm << 20;
    case F_S:
        return (imm & 31) << 7 | (imm >> 5) << 25;
    case F_B:
        return bits(imm, 4, 1) << 8 | bits(imm, 10, 5) << 25 |
               bits(imm, 11, 11) << 7 | bits(imm, 12, 12) << 31;
    case F_J:
        return bits(imm, 10, 1) << 21 | bits(imm, 11, 11) << 20 |
               bits(imm, 19, 12) << 12 | bits(imm, 20, 20) << 31;
    }
    return imm;                  /* F_U; F_R has none */
}

/* The 32-bit form of a compressed instruction, 0 if there is none. */
uint32_t a350_rvc_expand(uint16_t h)
{
    uint32_t rd, imm;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(rvc); i++) {
        if ((h & rvc[i].mask) == rvc[i].match) {
            rd = rvc_reg(h, rvc[i].rd);
            imm = rvc_immediate(h, &rvc_imm[rvc[i].imm]);
            if ((!rd && (rvc[i].reserved & NZ_RD)) ||
                (!imm && (rvc[i].reserved & NZ_IM))) {
                return 0;
            }
            return rvc[i].base | rd << 7 | rvc_reg(h, rvc[i].rs1) << 15 |
                   rvc_reg(h, rvc[i].rs2) << 20 | place_imm(rvc[i].fmt, imm);
        }
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
        if (a350_is_break(c, b->pc)) {
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
