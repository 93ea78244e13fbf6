/*
 * RV64GC core: handlers of two operations at once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What costs most in an interpreter is the jump from one handler to the next.
 * For the common pairs there is a handler that does both: it stands in the
 * slot of the first operation, the slot of the second one stays what it was.
 * So a fault, or a return from the slow half, is nothing special.
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "core-int.h"
#include "exec-ops.h"

/* All combinations of these are made: the commonest of compiled code. */
#define FIRSTS(M)                                                       \
    M(add) M(addi) M(addiw) M(addw) M(sub) M(slli) M(srli) M(srliw)     \
    M(andi) M(and) M(xor) M(or) M(mul) M(lui)                           \
    M(ld) M(lw) M(lbu) M(lhu) M(sd) M(sw) M(sb)
#define SECONDS(M, a)                                                   \
    M(a, add) M(a, addi) M(a, addiw) M(a, addw) M(a, sub) M(a, slli)    \
    M(a, srli) M(a, srliw) M(a, andi) M(a, and) M(a, xor) M(a, or)      \
    M(a, mul) M(a, sltu) M(a, ld) M(a, lw) M(a, lbu) M(a, lhu)          \
    M(a, sd) M(a, sw) M(a, sb)
#define BRANCHES(M, a)                                                  \
    M(a, beq) M(a, bne) M(a, blt) M(a, bge) M(a, bltu) M(a, bgeu)

#define DO_FIRST(a)                                                     \
    if (unlikely(!do_##a(DO_PASS))) {                                   \
        return a350_slow_##a(OP_PASS);                                  \
    }                                                                   \
    ip++

#define SIMPLE(a, b)                                                    \
    static int a##_##b(OP_ARGS)                                         \
    {                                                                   \
        DO_FIRST(a);                                                    \
        if (unlikely(!do_##b(DO_PASS))) {                               \
            return a350_slow_##b(OP_PASS);                              \
        }                                                               \
        NEXT;                                                           \
    }

#define BRANCH(a, b)                                                    \
    static int a##_##b(OP_ARGS)                                         \
    {                                                                   \
        DO_FIRST(a);                                                    \
        if (COND_##b) {                                                 \
            JUMP(taken);                                                \
        }                                                               \
        JUMP(next);                                                     \
    }

#define JAL(a)                                                          \
    static int a##_jal(OP_ARGS)                                         \
    {                                                                   \
        DO_FIRST(a);                                                    \
        RD = ip[2].next_pc;                                             \
        JUMP(taken);                                                    \
    }

#define DEFINE(a) SECONDS(SIMPLE, a) BRANCHES(BRANCH, a) JAL(a)
FIRSTS(DEFINE)

#define FIRST_ID(a) FIRST_##a,
enum { FIRST_none, FIRSTS(FIRST_ID) NUM_FIRSTS };

#define SECOND_ID(a, b) SECOND_##b,
enum {
    SECOND_none, SECONDS(SECOND_ID, ) BRANCHES(SECOND_ID, ) SECOND_jal,
    NUM_SECONDS
};

#define FIRST_OF(a) [A350_INSN_##a] = FIRST_##a,
static const uint8_t first_of[A350_NUM_INSNS] = { FIRSTS(FIRST_OF) };

#define SECOND_OF(a, b) [A350_INSN_##b] = SECOND_##b,
static const uint8_t second_of[A350_NUM_INSNS] = {
    SECONDS(SECOND_OF, ) BRANCHES(SECOND_OF, ) SECOND_OF(, jal)
};

#define ENTRY(a, b) [SECOND_##b] = a##_##b,
#define ROW(a) [FIRST_##a] = {                                          \
        SECONDS(ENTRY, a) BRANCHES(ENTRY, a) ENTRY(a, jal)              \
    },
static OpFn *const pairs[NUM_FIRSTS][NUM_SECONDS] = { FIRSTS(ROW) };

OpFn *a350_pair(unsigned first, unsigned second)
{
    return pairs[first_of[first]][second_of[second]];
}
