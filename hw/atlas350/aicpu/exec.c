/*
 * RV64GC core: handlers of the integer, memory, atomic and system operations.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A handler does its operation and calls the next one in tail position; the
 * compiler keeps the arguments in registers over a whole chain of blocks.
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include <sched.h>
#include "core-int.h"

#define RD  c->x[ip->rd]
#define RS1 c->x[ip->rs1]
#define RS2 c->x[ip->rs2]

/* ---- leaving the chain ---- */

/* Goes to c->pc: looks for reasons to stop, then for the block. */
int a350_exec_enter(OP_ARGS)
{
    const Op *op;
    uint32_t pend = qatomic_read(&c->pending);

    c->left = left;
    if (unlikely(pend)) {
        pend = qatomic_xchg(&c->pending, 0);
        if (pend & PEND_FLUSH) {
            a350_core_flush(c);
        }
        if (pend & (PEND_HALT | PEND_KICK)) {
            /* Lines are looked at again when the core runs next. */
            qatomic_or(&c->pending, PEND_IRQ);
            return pend & PEND_HALT ? A350_EXIT_HALT : A350_EXIT_KICK;
        }
        if (a350_core_irq_taken(c)) {
            left = --c->left;
            c->instret--;
        }
    }
    if (left < 0) {
        return A350_EXIT_BUDGET;
    }
    op = a350_core_lookup(c);
    if (!op) {
        return A350_EXIT_LOCKUP;
    }
    base = c->base;
    lim = c->lim;
    bias = c->bias;
    GO(op);
}

/* Goes to one of the two ends of a block. */
#define JUMP(which)                                                     \
    do {                                                                \
        left -= ip->n;                                                  \
        if (unlikely(left < 0 || qatomic_read(&c->pending))) {          \
            c->pc = ip[2].which##_pc;                                   \
            return a350_exec_enter(OP_PASS);                            \
        }                                                               \
        GO(ip[1].LINK_##which);                                         \
    } while (0)
#define LINK_taken taken
#define LINK_next  fall

static const Op *resolve(A350Core *c, uint64_t pc, const Op **link)
{
    uint64_t flushes = c->flushes;
    const Op *op;

    c->pc = pc;
    op = a350_core_lookup(c);
    /* The block that jumps is gone if the arena was emptied meanwhile. */
    if (op && flushes == c->flushes && !c->single) {
        *link = op;
    }
    return op;
}

int a350_op_resolve_taken(OP_ARGS)
{
    Op *end = (Op *)ip - 3;
    const Op *op = resolve(c, end[2].taken_pc, &end[1].taken);

    if (!op) {
        c->left = left;
        return A350_EXIT_LOCKUP;
    }
    GO(op);
}

int a350_op_resolve_fall(OP_ARGS)
{
    Op *end = (Op *)ip - 4;
    const Op *op = resolve(c, end[2].next_pc, &end[1].fall);

    if (!op) {
        c->left = left;
        return A350_EXIT_LOCKUP;
    }
    GO(op);
}

int a350_op_end(OP_ARGS)
{
    JUMP(next);
}

/*
 * Cause and value of a trap are in ex_cause and ex_tval: with more arguments
 * than fit into registers the call would not become a jump.
 *
 * A trap of the block-ending operation at @ip, whose own instruction is
 * counted in n; it does not retire, but it uses up budget.
 */
static int end_trap(OP_ARGS)
{
    c->pc = ip[2].taken_pc;
    left -= ip->n;
    c->instret--;
    c->left = left;
    if (!a350_core_trap(c, c->ex_cause, c->ex_tval)) {
        return A350_EXIT_HALT;
    }
    return a350_exec_enter(OP_PASS);
}

/* A trap of an operation inside a block. */
int a350_exec_trap(OP_ARGS)
{
    const Block *b = (ip - ip->n)[-1].block;

    c->pc = b->pc + 2 * b->pcoff[ip->n];
    left -= b->icnt[ip->n];
    if (c->ex_cause == EX_DEBUG) {
        c->left = left;
        return A350_EXIT_DEBUG;
    }
    left--;
    c->instret--;
    c->left = left;
    if (!a350_core_trap(c, c->ex_cause, c->ex_tval)) {
        return A350_EXIT_HALT;
    }
    return a350_exec_enter(OP_PASS);
}

int a350_exec_illegal(OP_ARGS)
{
    const Block *b = (ip - ip->n)[-1].block;
    uint64_t pc = b->pc + 2 * b->pcoff[ip->n];

    c->ex_cause = EX_ILLEGAL;
    c->ex_tval = a350_core_fetch_insn(c, pc);
    return a350_exec_trap(OP_PASS);
}

static int end_illegal(OP_ARGS)
{
    c->ex_cause = EX_ILLEGAL;
    c->ex_tval = a350_core_fetch_insn(c, ip[2].taken_pc);
    return end_trap(OP_PASS);
}

int a350_op_illegal(OP_ARGS)
{
    return end_illegal(OP_PASS);
}

int a350_op_fetch_fault(OP_ARGS)
{
    c->ex_cause = EX_FETCH;
    c->ex_tval = ip[2].next_pc;
    return end_trap(OP_PASS);
}

int a350_op_breakpoint(OP_ARGS)
{
    c->left = left - ip->n;
    c->pc = ip[2].taken_pc;
    c->debug.kind = A350_DEBUG_BREAK;
    c->debug.addr = c->pc;
    return A350_EXIT_DEBUG;
}

/* ---- integer ---- */

#define OP(name, ...)                                                   \
    int a350_op_##name(OP_ARGS)                                         \
    {                                                                   \
        __VA_ARGS__;                                                    \
        NEXT;                                                           \
    }

OP(lui, RD = (int64_t)ip->imm)
OP(addi, RD = RS1 + ip->imm)
OP(slti, RD = (int64_t)RS1 < ip->imm)
OP(sltiu, RD = RS1 < (uint64_t)(int64_t)ip->imm)
OP(xori, RD = RS1 ^ ip->imm)
OP(ori, RD = RS1 | ip->imm)
OP(andi, RD = RS1 & ip->imm)
OP(slli, RD = RS1 << ip->imm)
OP(srli, RD = RS1 >> ip->imm)
OP(srai, RD = (int64_t)RS1 >> ip->imm)
OP(addiw, RD = (int32_t)(RS1 + ip->imm))
OP(slliw, RD = (int32_t)((uint32_t)RS1 << ip->imm))
OP(srliw, RD = (int32_t)((uint32_t)RS1 >> ip->imm))
OP(sraiw, RD = (int32_t)RS1 >> ip->imm)
OP(add, RD = RS1 + RS2)
OP(sub, RD = RS1 - RS2)
OP(sll, RD = RS1 << (RS2 & 63))
OP(slt, RD = (int64_t)RS1 < (int64_t)RS2)
OP(sltu, RD = RS1 < RS2)
OP(xor, RD = RS1 ^ RS2)
OP(srl, RD = RS1 >> (RS2 & 63))
OP(sra, RD = (int64_t)RS1 >> (RS2 & 63))
OP(or, RD = RS1 | RS2)
OP(and, RD = RS1 & RS2)
OP(addw, RD = (int32_t)(RS1 + RS2))
OP(subw, RD = (int32_t)(RS1 - RS2))
OP(sllw, RD = (int32_t)((uint32_t)RS1 << (RS2 & 31)))
OP(srlw, RD = (int32_t)((uint32_t)RS1 >> (RS2 & 31)))
OP(sraw, RD = (int32_t)RS1 >> (RS2 & 31))
OP(mul, RD = RS1 * RS2)
OP(mulh, RD = ((__int128)(int64_t)RS1 * (int64_t)RS2) >> 64)
OP(mulhsu, RD = ((__int128)(int64_t)RS1 * (__int128)RS2) >> 64)
OP(mulhu, RD = ((unsigned __int128)RS1 * RS2) >> 64)
OP(mulw, RD = (int32_t)((uint32_t)RS1 * (uint32_t)RS2))

/* Division by zero and overflow: unprivileged specification, M, table 1. */
static int64_t div64(int64_t a, int64_t b)
{
    return b == 0 ? -1 : b == -1 ? (int64_t)-(uint64_t)a : a / b;
}

static int64_t rem64(int64_t a, int64_t b)
{
    return b == 0 ? a : b == -1 ? 0 : a % b;
}

OP(div, RD = div64(RS1, RS2))
OP(divu, RD = RS2 ? RS1 / RS2 : UINT64_MAX)
OP(rem, RD = rem64(RS1, RS2))
OP(remu, RD = RS2 ? RS1 % RS2 : RS1)
OP(divw, RD = (int32_t)div64((int32_t)RS1, (int32_t)RS2))
OP(divuw, RD = (uint32_t)RS2 ? (int32_t)((uint32_t)RS1 / (uint32_t)RS2) : -1)
OP(remw, RD = rem64((int32_t)RS1, (int32_t)RS2))
OP(remuw, RD = (int32_t)((uint32_t)RS2 ? (uint32_t)RS1 % (uint32_t)RS2
                                       : (uint32_t)RS1))

int a350_op_auipc(OP_ARGS)
{
    RD = ip[1].taken_pc;
    GO(ip + 2);
}

/* ---- control ---- */

int a350_op_jal(OP_ARGS)
{
    RD = ip[2].next_pc;
    JUMP(taken);
}

int a350_op_jalr(OP_ARGS)
{
    uint64_t pc = (RS1 + ip->imm) & ~1ull, key = pc | c->user;
    unsigned slot = (pc >> 1) & MAKE_64BIT_MASK(0, JC_BITS);

    RD = ip[2].next_pc;
    left -= ip->n;
    if (unlikely(left < 0 || qatomic_read(&c->pending) ||
                 c->jc[slot].key != key)) {
        c->pc = pc;
        return a350_exec_enter(OP_PASS);
    }
    GO(c->jc[slot].op);
}

#define BRANCH(name, cond)                                              \
    int a350_op_##name(OP_ARGS)                                         \
    {                                                                   \
        if (cond) {                                                     \
            JUMP(taken);                                                \
        }                                                               \
        JUMP(next);                                                     \
    }

BRANCH(beq, RS1 == RS2)
BRANCH(bne, RS1 != RS2)
BRANCH(blt, (int64_t)RS1 < (int64_t)RS2)
BRANCH(bge, (int64_t)RS1 >= (int64_t)RS2)
BRANCH(bltu, RS1 < RS2)
BRANCH(bgeu, RS1 >= RS2)

/* ---- memory ---- */

#define FP_ON                                                           \
    do {                                                                \
        if (unlikely(!(c->mstatus & MS_FS))) {                          \
            return a350_exec_illegal(OP_PASS);                          \
        }                                                               \
        c->mstatus |= MS_FS;                                            \
    } while (0)
#define NO_CHECK (void)0

/*
 * The slow half serves addresses outside the window: other regions, MMIO,
 * watchpoints, faults. It is a handler of its own so that the fast half needs
 * no stack frame. No handler may have a local variable whose address is
 * taken: the compiler would keep its frame and not jump to the next one.
 */
#define LOAD(name, check, type, dst, conv)                              \
    static int __attribute__((noinline)) name##_slow(OP_ARGS)           \
    {                                                                   \
        c->ex_tval = RS1 + ip->imm;                                     \
        c->ex_cause = a350_core_load(c, c->ex_tval, sizeof(type),       \
                                     &c->loaded);                       \
        if (c->ex_cause) {                                              \
            return a350_exec_trap(OP_PASS);                             \
        }                                                               \
        dst = conv((type)c->loaded);                                    \
        NEXT;                                                           \
    }                                                                   \
    int a350_op_##name(OP_ARGS)                                         \
    {                                                                   \
        uint64_t addr = RS1 + ip->imm;                                  \
        type val;                                                       \
                                                                        \
        check;                                                          \
        if (unlikely(addr - base >= lim)) {                             \
            return name##_slow(OP_PASS);                                \
        }                                                               \
        memcpy(&val, (void *)(uintptr_t)(addr + bias), sizeof(val));    \
        dst = conv(val);                                                \
        NEXT;                                                           \
    }

#define STORE(name, check, type, src)                                   \
    static int __attribute__((noinline)) name##_slow(OP_ARGS)           \
    {                                                                   \
        c->ex_tval = RS1 + ip->imm;                                     \
        c->ex_cause = a350_core_store(c, c->ex_tval, sizeof(type),      \
                                      (type)(src));                     \
        if (c->ex_cause) {                                              \
            return a350_exec_trap(OP_PASS);                             \
        }                                                               \
        NEXT;                                                           \
    }                                                                   \
    int a350_op_##name(OP_ARGS)                                         \
    {                                                                   \
        uint64_t addr = RS1 + ip->imm;                                  \
        type val = (src);                                               \
                                                                        \
        check;                                                          \
        if (unlikely(addr - base >= lim)) {                             \
            return name##_slow(OP_PASS);                                \
        }                                                               \
        memcpy((void *)(uintptr_t)(addr + bias), &val, sizeof(val));    \
        NEXT;                                                           \
    }

#define FD  c->f[ip->rd]
#define FS2 c->f[ip->rs2]
#define NANBOX(v) (0xffffffff00000000ull | (v))

LOAD(lb, NO_CHECK, int8_t, RD, (int64_t))
LOAD(lh, NO_CHECK, int16_t, RD, (int64_t))
LOAD(lw, NO_CHECK, int32_t, RD, (int64_t))
LOAD(ld, NO_CHECK, uint64_t, RD, )
LOAD(lbu, NO_CHECK, uint8_t, RD, )
LOAD(lhu, NO_CHECK, uint16_t, RD, )
LOAD(lwu, NO_CHECK, uint32_t, RD, )
LOAD(flw, FP_ON, uint32_t, FD, NANBOX)
LOAD(fld, FP_ON, uint64_t, FD, )
STORE(sb, NO_CHECK, uint8_t, RS2)
STORE(sh, NO_CHECK, uint16_t, RS2)
STORE(sw, NO_CHECK, uint32_t, RS2)
STORE(sd, NO_CHECK, uint64_t, RS2)
STORE(fsw, FP_ON, uint32_t, FS2)
STORE(fsd, FP_ON, uint64_t, FS2)

/* ---- atomics: on host memory, so they hold against every host thread ---- */

/* Host address of an atomic's operand, or NULL and the exception. */
static inline void *atomic_ptr(A350Core *c, uint64_t addr, unsigned size,
                               bool load)
{
    if (unlikely(addr & (size - 1))) {
        c->ex_cause = load ? EX_LOAD_MISALIGNED : EX_STORE_MISALIGNED;
        return NULL;
    }
    if (likely(addr - c->base < c->lim)) {
        return (void *)(uintptr_t)(addr + c->bias);
    }
    return a350_core_atomic(c, addr, size, load, &c->ex_cause);
}

#define ATOMIC(name, type, load, ...)                                   \
    int a350_op_##name(OP_ARGS)                                         \
    {                                                                   \
        uint64_t addr = RS1;                                            \
        type *p = atomic_ptr(c, addr, sizeof(type), load);              \
                                                                        \
        if (unlikely(!p)) {                                             \
            c->ex_tval = addr;                                          \
            return a350_exec_trap(OP_PASS);                             \
        }                                                               \
        __VA_ARGS__;                                                    \
        NEXT;                                                           \
    }

#define LR(name, type)                                                  \
    ATOMIC(name, type, true, {                                          \
        type val = __atomic_load_n(p, __ATOMIC_SEQ_CST);                \
        c->res_addr = addr;                                             \
        c->res_val = val;                                               \
        RD = val;                                                       \
    })

/*
 * SC compares the value LR saw: a write of the same value in between is not
 * noticed, as in every emulator that does so.
 */
#define SC(name, type)                                                  \
    ATOMIC(name, type, false, {                                         \
        type old = c->res_val;                                          \
        bool ok = c->res_addr == addr &&                                \
            __sync_val_compare_and_swap(p, old, (type)RS2) == old;      \
        c->res_addr = ~0ull;                                            \
        RD = !ok;                                                       \
    })

#define AMO(name, type, fn)                                             \
    ATOMIC(name, type, false, {                                         \
        RD = __atomic_##fn(p, (type)RS2, __ATOMIC_SEQ_CST);             \
    })

#define AMO_MINMAX(name, type, cmp)                                     \
    ATOMIC(name, type, false, {                                         \
        type src = RS2, old;                                            \
        do {                                                            \
            old = __atomic_load_n(p, __ATOMIC_RELAXED);                 \
        } while (__sync_val_compare_and_swap(p, old, old cmp src        \
                                             ? old : src) != old);      \
        RD = (sizeof(type) == 4 ? (int64_t)(int32_t)old : (int64_t)old); \
    })

LR(lr_w, int32_t)
LR(lr_d, int64_t)
SC(sc_w, int32_t)
SC(sc_d, int64_t)
AMO(amoswap_w, int32_t, exchange_n)
AMO(amoadd_w, int32_t, fetch_add)
AMO(amoxor_w, int32_t, fetch_xor)
AMO(amoand_w, int32_t, fetch_and)
AMO(amoor_w, int32_t, fetch_or)
AMO_MINMAX(amomin_w, int32_t, <)
AMO_MINMAX(amomax_w, int32_t, >)
AMO_MINMAX(amominu_w, uint32_t, <)
AMO_MINMAX(amomaxu_w, uint32_t, >)
AMO(amoswap_d, int64_t, exchange_n)
AMO(amoadd_d, int64_t, fetch_add)
AMO(amoxor_d, int64_t, fetch_xor)
AMO(amoand_d, int64_t, fetch_and)
AMO(amoor_d, int64_t, fetch_or)
AMO_MINMAX(amomin_d, int64_t, <)
AMO_MINMAX(amomax_d, int64_t, >)
AMO_MINMAX(amominu_d, uint64_t, <)
AMO_MINMAX(amomaxu_d, uint64_t, >)

/* ---- order ---- */

OP(fence, smp_mb())
/* A core that spins lets another host thread run. */
OP(pause, sched_yield())

int a350_op_fence_i(OP_ARGS)
{
    smp_mb();
    qatomic_or(&c->pending, PEND_FLUSH);
    if (c->ops->fence_i) {
        c->ops->fence_i(c->opaque);
    }
    JUMP(next);
}

/* ---- system ---- */

int a350_op_ecall(OP_ARGS)
{
    if (c->user && c->ops->ecall) {
        c->pc = ip[2].taken_pc;
        c->left = left - ip->n;
        if (c->ops->ecall(c->opaque)) {
            c->pc = c->pc == ip[2].taken_pc ? ip[2].next_pc : c->pc;
            left = c->left;
            return a350_exec_enter(OP_PASS);
        }
    }
    c->ex_cause = c->user ? EX_ECALL_U : EX_ECALL_M;
    c->ex_tval = 0;
    return end_trap(OP_PASS);
}

int a350_op_ebreak(OP_ARGS)
{
    c->ex_cause = EX_BREAK;
    c->ex_tval = ip[2].taken_pc;
    return end_trap(OP_PASS);
}

int a350_op_mret(OP_ARGS)
{
    uint64_t ms = c->mstatus;

    if (c->user) {
        return end_illegal(OP_PASS);
    }
    c->user = !(ms & MS_MPP);
    ms = (ms & ~(MS_MIE | MS_MPP)) | (ms & MS_MPIE ? MS_MIE : 0) | MS_MPIE;
    if (c->user) {
        ms &= ~MS_MPRV;
    }
    c->mstatus = ms;
    c->pc = c->mepc;
    left -= ip->n;
    a350_core_window(c);
    qatomic_or(&c->pending, PEND_IRQ);
    return a350_exec_enter(OP_PASS);
}

int a350_op_wfi(OP_ARGS)
{
    if (c->user && (c->mstatus & MS_TW)) {
        return end_illegal(OP_PASS);
    }
    c->pc = ip[2].next_pc;
    left -= ip->n;
    if (!(qatomic_read(&c->mip) & c->mie) &&
        !(qatomic_read(&c->pending) & ~PEND_IRQ)) {
        c->left = left;
        return A350_EXIT_WFI;
    }
    return a350_exec_enter(OP_PASS);
}

enum { CSR_WRITE, CSR_SET, CSR_CLEAR };

static bool __attribute__((noinline))
csr_op(A350Core *c, const Op *ip, int64_t left, int how,
                   uint64_t src)
{
    unsigned csr = ip->imm & 0xfff;
    bool write = how == CSR_WRITE || ip->rs1;
    uint64_t old = 0;

    if ((how != CSR_WRITE || ip->rd != REG_SINK) &&
        !a350_csr_read(c, csr, left, &old)) {
        return false;
    }
    if (write) {
        src = how == CSR_SET ? old | src : how == CSR_CLEAR ? old & ~src : src;
        if (!a350_csr_write(c, csr, left, src)) {
            return false;
        }
    }
    RD = old;
    return true;
}

#define CSR(name, how, src)                                             \
    int a350_op_##name(OP_ARGS)                                         \
    {                                                                   \
        if (!csr_op(c, ip, left - ip->n, how, src)) {                   \
            return end_illegal(OP_PASS);                                \
        }                                                               \
        c->pc = ip[2].next_pc;                                          \
        left -= ip->n;                                                  \
        return a350_exec_enter(OP_PASS);                                \
    }

CSR(csrrw, CSR_WRITE, RS1)
CSR(csrrs, CSR_SET, RS1)
CSR(csrrc, CSR_CLEAR, RS1)
CSR(csrrwi, CSR_WRITE, ip->rs1)
CSR(csrrsi, CSR_SET, ip->rs1)
CSR(csrrci, CSR_CLEAR, ip->rs1)
