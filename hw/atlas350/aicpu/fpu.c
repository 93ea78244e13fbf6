/*
 * RV64GC core: handlers of the F and D operations, on QEMU's softfloat.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "core-int.h"

#define RD  c->x[ip->rd]
#define RS1 c->x[ip->rs1]
#define FD  c->f[ip->rd]
#define D1  c->f[ip->rs1]
#define D2  c->f[ip->rs2]
#define D3  c->f[(ip->imm >> 8) & 31]
#define S1  unbox(D1)
#define S2  unbox(D2)
#define S3  unbox(D3)
#define ST  (&c->fp)

static inline uint64_t box(uint32_t v)
{
    return 0xffffffff00000000ull | v;
}

/* A single that is not NaN-boxed reads as the canonical NaN. */
static inline uint32_t unbox(uint64_t v)
{
    return v >> 32 == 0xffffffff ? (uint32_t)v : 0x7fc00000u;
}

/* Selects the rounding mode; false: unit off or mode reserved. */
static inline bool fp_begin(A350Core *c, unsigned rm)
{
    static const uint8_t soft[5] = {
        float_round_nearest_even, float_round_to_zero, float_round_down,
        float_round_up, float_round_ties_away,
    };

    rm = rm == 7 ? c->frm : rm;
    if (unlikely(!(c->mstatus & MS_FS) || rm > 4)) {
        return false;
    }
    c->mstatus |= MS_FS;
    c->fp.float_rounding_mode = soft[rm];
    return true;
}

#define HANDLER(name, rm, ...)                                          \
    int a350_op_##name(OP_ARGS)                                         \
    {                                                                   \
        if (unlikely(!fp_begin(c, rm))) {                               \
            return a350_exec_illegal(OP_PASS);                          \
        }                                                               \
        __VA_ARGS__;                                                    \
        NEXT;                                                           \
    }
/* Operations that round, and those that do not. */
#define FP(name, ...) HANDLER(name, ip->imm & 7, __VA_ARGS__)
#define FN(name, ...) HANDLER(name, 0, __VA_ARGS__)

/* The single and the double form, by softfloat's name of the operation. */
#define BINARY(OP, name, fn)                                            \
    OP(name##_s, FD = box(float32_##fn(S1, S2, ST)))                    \
    OP(name##_d, FD = float64_##fn(D1, D2, ST))
#define MULADD(name, flags)                                             \
    FP(name##_s, FD = box(float32_muladd(S1, S2, S3, flags, ST)))       \
    FP(name##_d, FD = float64_muladd(D1, D2, D3, flags, ST))
#define COMPARE(name, fn)                                               \
    FN(name##_s, RD = float32_##fn(S1, S2, ST))                         \
    FN(name##_d, RD = float64_##fn(D1, D2, ST))
/* To an integer; 32-bit results are sign-extended. */
#define TO_INT(name, type, to)                                          \
    FP(name##_s, RD = (type)float32_to_##to(S1, ST))                    \
    FP(name##_d, RD = (type)float64_to_##to(D1, ST))
#define FROM_INT(name, type, from)                                      \
    FP(fcvt_s_##name, FD = box(from##_to_float32((type)RS1, ST)))       \
    FP(fcvt_d_##name, FD = from##_to_float64((type)RS1, ST))
/* The sign of the result, from those of both operands. */
#define SIGN(name, sign)                                                \
    FN(name##_s, FD = box((S1 & INT32_MAX) | (sign(S1, S2) & ~INT32_MAX))) \
    FN(name##_d, FD = (D1 & INT64_MAX) | (sign(D1, D2) & ~INT64_MAX))

#define NEG_C   float_muladd_negate_c
#define NEG_P   float_muladd_negate_product

BINARY(FP, fadd, add)
BINARY(FP, fsub, sub)
BINARY(FP, fmul, mul)
BINARY(FP, fdiv, div)
FP(fsqrt_s, FD = box(float32_sqrt(S1, ST)))
FP(fsqrt_d, FD = float64_sqrt(D1, ST))
MULADD(fmadd, 0)
MULADD(fmsub, NEG_C)
MULADD(fnmsub, NEG_P)
MULADD(fnmadd, NEG_C | NEG_P)
TO_INT(fcvt_w, int32_t, int32)
TO_INT(fcvt_wu, int32_t, uint32)
TO_INT(fcvt_l, int64_t, int64)
TO_INT(fcvt_lu, int64_t, uint64)
FROM_INT(w, int32_t, int32)
FROM_INT(wu, uint32_t, uint32)
FROM_INT(l, int64_t, int64)
FROM_INT(lu, uint64_t, uint64)
FP(fcvt_s_d, FD = box(float64_to_float32(D1, ST)))
FP(fcvt_d_s, FD = float32_to_float64(S1, ST))

/* IEEE 754-2019 minimumNumber and maximumNumber. */
BINARY(FN, fmin, minimum_number)
BINARY(FN, fmax, maximum_number)
COMPARE(feq, eq_quiet)
COMPARE(flt, lt)
COMPARE(fle, le)

#define SIGN_2(a, b)    (b)
#define SIGN_NOT2(a, b) (~(b))
#define SIGN_XOR(a, b)  ((a) ^ (b))
SIGN(fsgnj, SIGN_2)
SIGN(fsgnjn, SIGN_NOT2)
SIGN(fsgnjx, SIGN_XOR)
FN(fmv_x_w, RD = (int32_t)D1)
FN(fmv_w_x, FD = box(RS1))
FN(fmv_x_d, RD = D1)
FN(fmv_d_x, FD = RS1)

/* Bits 0 -inf, 1 -normal, 2 -subnormal, 3 -0, 4..7 mirrored, 8, 9 NaNs. */
static unsigned fclass(uint64_t v, unsigned mant_bits, unsigned exp_bits)
{
    uint64_t mant = extract64(v, 0, mant_bits);
    unsigned exp = extract64(v, mant_bits, exp_bits), n;
    bool top = exp == (1u << exp_bits) - 1;

    if (top && mant) {
        return 1u << (mant >> (mant_bits - 1) ? 9 : 8);
    }
    n = top ? 0 : exp ? 1 : mant ? 2 : 3;
    return 1u << (extract64(v, mant_bits + exp_bits, 1) ? n : 7 - n);
}

FN(fclass_s, RD = fclass(S1, 23, 8))
FN(fclass_d, RD = fclass(D1, 52, 11))
