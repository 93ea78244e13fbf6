/*
 * RV64GC core: simple operations as inline functions, and jumps.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * do_NAME() executes the operation at @ip; false: memory outside the window,
 * nothing has happened yet, a350_slow_NAME() does it and goes on.
 */
#ifndef HW_ATLAS350_AICPU_EXEC_OPS_H
#define HW_ATLAS350_AICPU_EXEC_OPS_H

#define RD  c->x[ip->rd]
#define RS1 c->x[ip->rs1]
#define RS2 c->x[ip->rs2]
#define FD  c->f[ip->rd]
#define FS2 c->f[ip->rs2]
#define NANBOX(v) (0xffffffff00000000ull | (v))

#define DO_ARGS A350Core *c, const Op *ip, uint64_t base, uint64_t lim, \
                uint64_t bias
#define DO_PASS c, ip, base, lim, bias

/* Division by zero and overflow: unprivileged specification, M, table 1. */
static int64_t div64(int64_t a, int64_t b)
{
    return b == 0 ? -1 : b == -1 ? (int64_t)-(uint64_t)a : a / b;
}

static int64_t rem64(int64_t a, int64_t b)
{
    return b == 0 ? a : b == -1 ? 0 : a % b;
}

/* ALU operations have no use for a slow half. */
#define ALU(name, expr)                                                 \
    static inline int a350_slow_##name(OP_ARGS)                         \
    {                                                                   \
        g_assert_not_reached();                                         \
    }                                                                   \
    static inline bool do_##name(DO_ARGS)                               \
    {                                                                   \
        RD = expr;                                                      \
        return true;                                                    \
    }
#define LOAD(name, type, dst, conv)                                     \
    OpFn a350_slow_##name;                                              \
    static inline bool do_##name(DO_ARGS)                               \
    {                                                                   \
        uint64_t addr = RS1 + ip->imm;                                  \
        type val;                                                       \
                                                                        \
        if (unlikely(addr - base >= lim)) {                             \
            return false;                                               \
        }                                                               \
        GUEST_ACCESS(memcpy(&val, (void *)(addr + bias), sizeof(val))); \
        dst = conv(val);                                                \
        return true;                                                    \
    }
#define STORE(name, type, src)                                          \
    OpFn a350_slow_##name;                                              \
    static inline bool do_##name(DO_ARGS)                               \
    {                                                                   \
        uint64_t addr = RS1 + ip->imm;                                  \
        type val = (src);                                               \
                                                                        \
        if (unlikely(addr - base >= lim)) {                             \
            return false;                                               \
        }                                                               \
        GUEST_ACCESS(memcpy((void *)(addr + bias), &val, sizeof(val))); \
        return true;                                                    \
    }
#include "exec-ops.h.inc"
#undef ALU
#undef LOAD
#undef STORE

#define COND_beq  (RS1 == RS2)
#define COND_bne  (RS1 != RS2)
#define COND_blt  ((int64_t)RS1 < (int64_t)RS2)
#define COND_bge  ((int64_t)RS1 >= (int64_t)RS2)
#define COND_bltu (RS1 < RS2)
#define COND_bgeu (RS1 >= RS2)

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

#endif /* HW_ATLAS350_AICPU_EXEC_OPS_H */
