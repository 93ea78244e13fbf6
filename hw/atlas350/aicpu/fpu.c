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

/* Operations that round. */
#define FP(name, ...)                                                   \
    int a350_op_##name(OP_ARGS)                                         \
    {                                                                   \
        if (unlikely(!fp_begin(c, ip->imm & 7))) {                      \
            return a350_exec_illegal(OP_PASS);                          \
        }                                                               \
        __VA_ARGS__;                                                    \
        NEXT;                                                           \
    }

/* Operations that do not. */
#define FN(name, ...)                                                   \
    int a350_op_##name(OP_ARGS)                                         \
    {                                                                   \
        if (unlikely(!fp_begin(c, 0))) {                                \
            return a350_exec_illegal(OP_PASS);                          \
        }                                                               \
        __VA_ARGS__;                                                    \
        NEXT;                                                           \
    }

#define NEG_C   float_muladd_negate_c
#define NEG_P   float_muladd_negate_product

FP(fadd_s, FD = box(float32_add(S1, S2, ST)))
FP(fsub_s, FD = box(float32_sub(S1, S2, ST)))
FP(fmul_s, FD = box(float32_mul(S1, S2, ST)))
FP(fdiv_s, FD = box(float32_div(S1, S2, ST)))
FP(fsqrt_s, FD = box(float32_sqrt(S1, ST)))
FP(fmadd_s, FD = box(float32_muladd(S1, S2, S3, 0, ST)))
FP(fmsub_s, FD = box(float32_muladd(S1, S2, S3, NEG_C, ST)))
FP(fnmsub_s, FD = box(float32_muladd(S1, S2, S3, NEG_P, ST)))
FP(fnmadd_s, FD = box(float32_muladd(S1, S2, S3, NEG_C | NEG_P, ST)))
FP(fadd_d, FD = float64_add(D1, D2, ST))
FP(fsub_d, FD = float64_sub(D1, D2, ST))
FP(fmul_d, FD = float64_mul(D1, D2, ST))
FP(fdiv_d, FD = float64_div(D1, D2, ST))
FP(fsqrt_d, FD = float64_sqrt(D1, ST))
FP(fmadd_d, FD = float64_muladd(D1, D2, D3, 0, ST))
FP(fmsub_d, FD = float64_muladd(D1, D2, D3, NEG_C, ST))
FP(fnmsub_d, FD = float64_muladd(D1, D2, D3, NEG_P, ST))
FP(fnmadd_d, FD = float64_muladd(D1, D2, D3, NEG_C | NEG_P, ST))

FP(fcvt_w_s, RD = (int32_t)float32_to_int32(S1, ST))
FP(fcvt_wu_s, RD = (int32_t)float32_to_uint32(S1, ST))
FP(fcvt_l_s, RD = float32_to_int64(S1, ST))
FP(fcvt_lu_s, RD = float32_to_uint64(S1, ST))
FP(fcvt_w_d, RD = (int32_t)float64_to_int32(D1, ST))
FP(fcvt_wu_d, RD = (int32_t)float64_to_uint32(D1, ST))
FP(fcvt_l_d, RD = float64_to_int64(D1, ST))
FP(fcvt_lu_d, RD = float64_to_uint64(D1, ST))
FP(fcvt_s_w, FD = box(int32_to_float32((int32_t)RS1, ST)))
FP(fcvt_s_wu, FD = box(uint32_to_float32((uint32_t)RS1, ST)))
FP(fcvt_s_l, FD = box(int64_to_float32(RS1, ST)))
FP(fcvt_s_lu, FD = box(uint64_to_float32(RS1, ST)))
FP(fcvt_d_w, FD = int32_to_float64((int32_t)RS1, ST))
FP(fcvt_d_wu, FD = uint32_to_float64((uint32_t)RS1, ST))
FP(fcvt_d_l, FD = int64_to_float64(RS1, ST))
FP(fcvt_d_lu, FD = uint64_to_float64(RS1, ST))
FP(fcvt_s_d, FD = box(float64_to_float32(D1, ST)))
FP(fcvt_d_s, FD = float32_to_float64(S1, ST))

/* IEEE 754-2019 minimumNumber and maximumNumber. */
FN(fmin_s, FD = box(float32_minimum_number(S1, S2, ST)))
FN(fmax_s, FD = box(float32_maximum_number(S1, S2, ST)))
FN(fmin_d, FD = float64_minimum_number(D1, D2, ST))
FN(fmax_d, FD = float64_maximum_number(D1, D2, ST))
FN(feq_s, RD = float32_eq_quiet(S1, S2, ST))
FN(flt_s, RD = float32_lt(S1, S2, ST))
FN(fle_s, RD = float32_le(S1, S2, ST))
FN(feq_d, RD = float64_eq_quiet(D1, D2, ST))
FN(flt_d, RD = float64_lt(D1, D2, ST))
FN(fle_d, RD = float64_le(D1, D2, ST))

#define SIGN32  0x80000000u
#define SIGN64  (1ull << 63)

FN(fsgnj_s, FD = box((S1 & ~SIGN32) | (S2 & SIGN32)))
FN(fsgnjn_s, FD = box((S1 & ~SIGN32) | (~S2 & SIGN32)))
FN(fsgnjx_s, FD = box(S1 ^ (S2 & SIGN32)))
FN(fsgnj_d, FD = (D1 & ~SIGN64) | (D2 & SIGN64))
FN(fsgnjn_d, FD = (D1 & ~SIGN64) | (~D2 & SIGN64))
FN(fsgnjx_d, FD = D1 ^ (D2 & SIGN64))
FN(fmv_x_w, RD = (int32_t)D1)
FN(fmv_w_x, FD = box(RS1))
FN(fmv_x_d, RD = D1)
FN(fmv_d_x, FD = RS1)

/* fclass: bits 0 -inf, 1 -normal, 2 -subnormal, 3 -0, 4..7 mirrored. */
static unsigned fclass(bool neg, bool zero, bool sub, bool inf)
{
    unsigned n = inf ? 0 : sub ? 2 : zero ? 3 : 1;

    return 1u << (neg ? n : 7 - n);
}

static unsigned fclass32(float32 f)
{
    if (float32_is_any_nan(f)) {
        return (f & 0x400000) ? 1u << 9 : 1u << 8;
    }
    return fclass(float32_is_neg(f), float32_is_zero(f),
                  float32_is_zero_or_denormal(f) && !float32_is_zero(f),
                  float32_is_infinity(f));
}

static unsigned fclass64(float64 f)
{
    if (float64_is_any_nan(f)) {
        return (f & (1ull << 51)) ? 1u << 9 : 1u << 8;
    }
    return fclass(float64_is_neg(f), float64_is_zero(f),
                  float64_is_zero_or_denormal(f) && !float64_is_zero(f),
                  float64_is_infinity(f));
}

FN(fclass_s, RD = fclass32(S1))
FN(fclass_d, RD = fclass64(D1))
