/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions that neither SDMA nor UB has (spec/api/hcomm-data-plane.md §3.8):
 * 64-bit types, and products. In memory of this card that holds all operands,
 * from left to right, rounded to the type after every step. Integers wrap; a
 * NaN wins, and -0 is below +0, as in the card's own reductions
 * (docs/specs/atlas350-ub.rst).
 */
#include <stddef.h>
#include "hccl/hccl_types.h"
#include "hw/atlas350/hccl_ops.h"
#include "half.h"

#define API __attribute__((visibility("default")))

#define SUM(a, b)       ((a) + (b))
#define PROD(a, b)      ((a) * (b))
#define MAX(a, b)       ((a) > (b) ? (a) : (b))
#define MIN(a, b)       ((a) < (b) ? (a) : (b))

static double fp64_nan(void)
{
    return __builtin_nan("");
}

static double fp64_canonical(double x)
{
    return x != x ? fp64_nan() : x;
}

static double fp64_max(double a, double b)
{
    if (a != a || b != b) {
        return fp64_nan();
    }
    return a > b || (a == b && !__builtin_signbit(a)) ? a : b;
}

static double fp64_min(double a, double b)
{
    if (a != a || b != b) {
        return fp64_nan();
    }
    return a < b || (a == b && __builtin_signbit(a)) ? a : b;
}

static float fp32_canonical(float x)
{
    return x != x ? __builtin_nanf("") : x;
}

static uint16_t fp16_prod(uint16_t a, uint16_t b)
{
    /* 22 bits hold the product, so it is rounded once. */
    return half_bits(half_value(a) * half_value(b));
}

#define FP64_SUM(a, b)  fp64_canonical((a) + (b))
#define FP64_PROD(a, b) fp64_canonical((a) * (b))
#define FP32_PROD(a, b) fp32_canonical((a) * (b))
/* Narrow operands would be promoted to a signed type. */
#define WRAP8_PROD(a, b) ((uint8_t)((uint32_t)(a) * (b)))

#define LOOP(name, T, COMBINE)                                  \
static void name(const a350_ops_reduce *r)                      \
{                                                               \
    T *dst = (T *)(uintptr_t)r->dst;                            \
    uint64_t i;                                                 \
    uint32_t k;                                                 \
                                                                \
    for (i = 0; i < r->count; i++) {                            \
        T x = ((const T *)(uintptr_t)r->src[0])[i];             \
                                                                \
        for (k = 1; k < r->num; k++) {                          \
            T y = ((const T *)(uintptr_t)r->src[k])[i];         \
                                                                \
            x = COMBINE(x, y);                                  \
        }                                                       \
        dst[i] = x;                                             \
    }                                                           \
}

/* Sums and products of two's complement are those of unsigned numbers. */
LOOP(i8_prod, uint8_t, WRAP8_PROD)
LOOP(i32_prod, uint32_t, PROD)
LOOP(i64_sum, uint64_t, SUM)
LOOP(i64_prod, uint64_t, PROD)
LOOP(s64_max, int64_t, MAX)
LOOP(s64_min, int64_t, MIN)
LOOP(u64_max, uint64_t, MAX)
LOOP(u64_min, uint64_t, MIN)
LOOP(f16_prod, uint16_t, fp16_prod)
LOOP(f32_prod, float, FP32_PROD)
LOOP(f64_sum, double, FP64_SUM)
LOOP(f64_prod, double, FP64_PROD)
LOOP(f64_max, double, fp64_max)
LOOP(f64_min, double, fp64_min)

typedef void reduce_fn(const a350_ops_reduce *r);

#define TYPES   12u              /* HcclDataType below INT128 */

/* By HcclReduceOp and HcclDataType; NULL: the card does it, or nobody. */
static reduce_fn *const table[4][TYPES] = {
    [HCCL_REDUCE_SUM] = {
        [HCCL_DATA_TYPE_INT64] = i64_sum,
        [HCCL_DATA_TYPE_UINT64] = i64_sum,
        [HCCL_DATA_TYPE_FP64] = f64_sum,
    },
    [HCCL_REDUCE_PROD] = {
        [HCCL_DATA_TYPE_INT8] = i8_prod,
        [HCCL_DATA_TYPE_INT32] = i32_prod,
        [HCCL_DATA_TYPE_INT64] = i64_prod,
        [HCCL_DATA_TYPE_UINT64] = i64_prod,
        [HCCL_DATA_TYPE_FP16] = f16_prod,
        [HCCL_DATA_TYPE_FP32] = f32_prod,
        [HCCL_DATA_TYPE_FP64] = f64_prod,
    },
    [HCCL_REDUCE_MAX] = {
        [HCCL_DATA_TYPE_INT64] = s64_max,
        [HCCL_DATA_TYPE_UINT64] = u64_max,
        [HCCL_DATA_TYPE_FP64] = f64_max,
    },
    [HCCL_REDUCE_MIN] = {
        [HCCL_DATA_TYPE_INT64] = s64_min,
        [HCCL_DATA_TYPE_UINT64] = u64_min,
        [HCCL_DATA_TYPE_FP64] = f64_min,
    },
};

API unsigned int HcclReduceLocal(const a350_ops_reduce *r);
API unsigned int HcclReduceLocal(const a350_ops_reduce *r)
{
    if (r->op >= 4 || r->type >= TYPES || !table[r->op][r->type]) {
        return HCCL_E_NOT_SUPPORT;
    }
    if (r->num == 0) {
        return HCCL_E_PARA;
    }
    table[r->op][r->type](r);
    return HCCL_SUCCESS;
}
