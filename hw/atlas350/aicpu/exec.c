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
#include "exec-ops.h"

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

#define RESOLVE(name, slot, which, to)                                  \
    int a350_op_resolve_##name(OP_ARGS)                                 \
    {                                                                   \
        Op *end = (Op *)ip - slot;                                      \
        const Op *op = resolve(c, end[2].to, &end[1].which);            \
                                                                        \
        if (!op) {                                                      \
            c->left = left;                                             \
            return A350_EXIT_LOCKUP;                                    \
        }                                                               \
        GO(op);                                                         \
    }

RESOLVE(taken, 3, taken, taken_pc)
RESOLVE(fall, 4, fall, next_pc)

int a350_op_end(OP_ARGS)
{
    JUMP(next);
}

/*
 * Cause and value of a trap are in ex_cause and ex_tval: with more arguments
 * than fit into registers the call would not become a jump. The instruction
 * does not retire, but it uses up budget.
 */
static int take_trap(OP_ARGS)
{
    c->instret--;
    c->left = left;
    if (!a350_core_trap(c, c->ex_cause, c->ex_tval)) {
        return A350_EXIT_HALT;
    }
    return a350_exec_enter(OP_PASS);
}

/* Of the operation at @ip, which ends a block and is counted in its n. */
static int end_trap(OP_ARGS)
{
    c->pc = ip[2].taken_pc;
    left -= ip->n;
    return take_trap(OP_PASS);
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
    return take_trap(OP_PASS);
}

int a350_exec_illegal(OP_ARGS)
{
    const Block *b = (ip - ip->n)[-1].block;
    uint64_t pc = b->pc + 2 * b->pcoff[ip->n];

    c->ex_cause = EX_ILLEGAL;
    c->ex_tval = a350_core_fetch_insn(c, pc);
    return a350_exec_trap(OP_PASS);
}

int a350_op_illegal(OP_ARGS)
{
    c->ex_cause = EX_ILLEGAL;
    c->ex_tval = a350_core_fetch_insn(c, ip[2].taken_pc);
    return end_trap(OP_PASS);
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

/* ---- integer, memory ---- */

/* Plain handlers of what exec-ops.h does; fused ones are in pair.c. */
#define SIMPLE(name)                                                    \
    int a350_op_##name(OP_ARGS)                                         \
    {                                                                   \
        if (unlikely(!do_##name(DO_PASS))) {                            \
            return a350_slow_##name(OP_PASS);                           \
        }                                                               \
        NEXT;                                                           \
    }

#define ALU(name, expr) SIMPLE(name)
#define LOAD(name, type, dst, conv) SIMPLE(name)
#define STORE(name, type, src) SIMPLE(name)
#include "exec-ops.h.inc"
#undef ALU
#undef LOAD
#undef STORE

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

BRANCH(beq, COND_beq)
BRANCH(bne, COND_bne)
BRANCH(blt, COND_blt)
BRANCH(bge, COND_bge)
BRANCH(bltu, COND_bltu)
BRANCH(bgeu, COND_bgeu)

/* ---- memory outside the window ---- */

/*
 * Other regions, MMIO, watchpoints, faults. No handler may have a local
 * variable whose address is taken: the compiler would keep its frame and not
 * jump to the next one.
 */
#define SLOW(name, access, ...)                                         \
    int a350_slow_##name(OP_ARGS)                                       \
    {                                                                   \
        c->ex_tval = RS1 + ip->imm;                                     \
        c->ex_cause = access;                                           \
        if (c->ex_cause) {                                              \
            return a350_exec_trap(OP_PASS);                             \
        }                                                               \
        __VA_ARGS__;                                                    \
        NEXT;                                                           \
    }
#define ALU(name, expr)
#define LOAD(name, type, dst, conv)                                     \
    SLOW(name, a350_core_load(c, c->ex_tval, sizeof(type), &c->loaded), \
         dst = conv((type)c->loaded))
#define STORE(name, type, src)                                          \
    SLOW(name, a350_core_store(c, c->ex_tval, sizeof(type), (type)(src)))
#include "exec-ops.h.inc"
#undef ALU
#undef LOAD
#undef STORE

/* Floating point loads and stores: the same behind the check that it is on. */
#define FP_MEM(name)                                                    \
    int a350_op_f##name(OP_ARGS)                                        \
    {                                                                   \
        if (unlikely(!(c->mstatus & MS_FS))) {                          \
            return a350_exec_illegal(OP_PASS);                          \
        }                                                               \
        c->mstatus |= MS_FS;                                            \
        if (unlikely(!do_fp_##name(DO_PASS))) {                         \
            return a350_slow_fp_##name(OP_PASS);                        \
        }                                                               \
        NEXT;                                                           \
    }

FP_MEM(lw)
FP_MEM(ld)
FP_MEM(sw)
FP_MEM(sd)

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

#define WORDS(kind, name, ...)                                          \
    kind(name##_w, int32_t, ## __VA_ARGS__)                             \
    kind(name##_d, int64_t, ## __VA_ARGS__)
WORDS(LR, lr)
WORDS(SC, sc)
WORDS(AMO, amoswap, exchange_n)
WORDS(AMO, amoadd, fetch_add)
WORDS(AMO, amoxor, fetch_xor)
WORDS(AMO, amoand, fetch_and)
WORDS(AMO, amoor, fetch_or)
WORDS(AMO_MINMAX, amomin, <)
WORDS(AMO_MINMAX, amomax, >)
AMO_MINMAX(amominu_w, uint32_t, <)
AMO_MINMAX(amomaxu_w, uint32_t, >)
AMO_MINMAX(amominu_d, uint64_t, <)
AMO_MINMAX(amomaxu_d, uint64_t, >)

/* ---- order ---- */

int a350_op_fence(OP_ARGS)
{
    /* All kinds of FENCE are the strongest one. */
    smp_mb();
    NEXT;
}

/* A core that spins lets another host thread run. */
int a350_op_pause(OP_ARGS)
{
    sched_yield();
    NEXT;
}

int a350_op_fence_i(OP_ARGS)
{
    /* The program's stores are seen before instructions are fetched anew. */
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
        return a350_op_illegal(OP_PASS);
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
        return a350_op_illegal(OP_PASS);
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
csr_op(A350Core *c, const Op *ip, int64_t left, int how, uint64_t src)
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
            return a350_op_illegal(OP_PASS);                                \
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
