/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs of the operators' tests, and what reductions of them give: computed
 * here from the definitions of the types, without the product's code.
 */
#ifndef VALUES_H
#define VALUES_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
#include <hccl/hccl_types.h>

namespace values {

typedef std::vector<uint8_t> Bytes;

inline uint64_t Mix(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 29;
    x *= 0xc4ceb9fe1a85ec53ull;
    return x ^ x >> 32;
}

inline uint32_t Size(HcclDataType type)
{
    switch (type) {
    case HCCL_DATA_TYPE_INT16: case HCCL_DATA_TYPE_UINT16:
    case HCCL_DATA_TYPE_FP16: case HCCL_DATA_TYPE_BFP16:
        return 2;
    case HCCL_DATA_TYPE_INT32: case HCCL_DATA_TYPE_UINT32:
    case HCCL_DATA_TYPE_FP32:
        return 4;
    case HCCL_DATA_TYPE_INT64: case HCCL_DATA_TYPE_UINT64:
    case HCCL_DATA_TYPE_FP64:
        return 8;
    default:
        return 1;
    }
}

inline bool IsFloat(HcclDataType type)
{
    return type == HCCL_DATA_TYPE_FP16 || type == HCCL_DATA_TYPE_BFP16 ||
           type == HCCL_DATA_TYPE_FP32 || type == HCCL_DATA_TYPE_FP64;
}

/*
 * Any binary format by its number of fraction bits and lowest exponent.
 * Values are held as double, which has all of them exactly; so is the sum or
 * product of two of the smaller formats, up to one rounding that Round does.
 */
struct Format {
    int fraction, lowest, highest;
};

inline Format Of(HcclDataType type)
{
    if (type == HCCL_DATA_TYPE_FP16) {
        return { 10, -14, 15 };
    }
    if (type == HCCL_DATA_TYPE_BFP16) {
        return { 7, -126, 127 };
    }
    return { 23, -126, 127 };
}

inline double Round(double x, const Format &f)
{
    int e;

    if (x == 0 || std::isnan(x) || std::isinf(x)) {
        return x;
    }
    frexp(x, &e);                        /* x in [0.5, 1) 2^e */
    e = std::max(e - 1, f.lowest) - f.fraction;
    x = ldexp(nearbyint(ldexp(x, -e)), e);
    return fabs(x) >= ldexp(1, f.highest + 1) ? copysign(INFINITY, x) : x;
}

inline uint64_t Encode(double x, const Format &f)
{
    uint64_t sign = std::signbit(x) ? 1 : 0, expo, frac;
    int width = 32 - __builtin_clz(static_cast<uint32_t>(f.highest)), e;

    x = fabs(x);
    if (std::isinf(x)) {
        expo = (1u << (width + 1)) - 1;
        frac = 0;
    } else if (x < ldexp(1, f.lowest)) {
        expo = 0;
        frac = static_cast<uint64_t>(ldexp(x, f.fraction - f.lowest));
    } else {
        frexp(x, &e);
        e -= 1;
        expo = static_cast<uint64_t>(e + f.highest);
        frac = static_cast<uint64_t>(ldexp(x, f.fraction - e)) -
               (1ull << f.fraction);
    }
    return (sign << (width + 1) | expo) << f.fraction | frac;
}

inline double Decode(uint64_t bits, const Format &f)
{
    int width = 32 - __builtin_clz(static_cast<uint32_t>(f.highest));
    uint64_t frac = bits & ((1ull << f.fraction) - 1);
    int expo = static_cast<int>(bits >> f.fraction & ((2u << width) - 1));
    double x;

    if (expo == 0) {
        x = ldexp(static_cast<double>(frac), f.lowest - f.fraction);
    } else {
        x = ldexp(static_cast<double>(frac | 1ull << f.fraction),
                  expo - f.highest - f.fraction);
    }
    return bits >> (f.fraction + width + 1) & 1 ? -x : x;
}

/* Element @i of rank @rank's input, as bits of its type. */
inline uint64_t Element(HcclDataType type, uint64_t seed, uint32_t rank,
                        uint64_t i)
{
    uint64_t h = Mix(seed * 0x9e3779b97f4a7c15ull + rank * 0x1000003ull + i);
    double x;

    if (!IsFloat(type)) {
        return Size(type) == 8 ? h : h & ((1ull << 8 * Size(type)) - 1);
    }
    /* Of both signs, of some magnitudes, none so big that sums overflow. */
    x = ldexp(static_cast<double>(static_cast<int64_t>(h) >> 40),
              -22 - static_cast<int>(h & 7));
    if (type == HCCL_DATA_TYPE_FP64) {
        x += ldexp(static_cast<double>(h >> 20 & 0xfffff), -50);
        memcpy(&h, &x, 8);
        return h;
    }
    return Encode(Round(x, Of(type)), Of(type));
}

inline double Combine(HcclReduceOp op, double a, double b)
{
    switch (op) {
    case HCCL_REDUCE_SUM:
        return a + b;
    case HCCL_REDUCE_PROD:
        return a * b;
    case HCCL_REDUCE_MAX:
        return a > b || (a == b && std::signbit(b)) ? a : b;
    default:
        return a < b || (a == b && std::signbit(a)) ? a : b;
    }
}

inline uint64_t CombineInt(HcclDataType type, HcclReduceOp op, uint64_t a,
                           uint64_t b)
{
    unsigned spare = 64 - 8 * Size(type);
    int64_t x = static_cast<int64_t>(a << spare) >> spare;
    int64_t y = static_cast<int64_t>(b << spare) >> spare;
    bool less = type == HCCL_DATA_TYPE_UINT64 ? a < b : x < y;

    switch (op) {
    case HCCL_REDUCE_SUM:
        return (a + b) << spare >> spare;
    case HCCL_REDUCE_PROD:
        return (a * b) << spare >> spare;
    case HCCL_REDUCE_MAX:
        return less ? b : a;
    default:
        return less ? a : b;
    }
}

inline uint64_t Reduce(HcclDataType type, HcclReduceOp op, uint64_t a,
                       uint64_t b)
{
    double x, y;

    if (!IsFloat(type)) {
        return CombineInt(type, op, a, b);
    }
    if (type == HCCL_DATA_TYPE_FP64) {
        memcpy(&x, &a, 8);
        memcpy(&y, &b, 8);
        x = Combine(op, x, y);
        memcpy(&a, &x, 8);
        return a;
    }
    return Encode(Round(Combine(op, Decode(a, Of(type)), Decode(b, Of(type))),
                        Of(type)), Of(type));
}

inline void Append(Bytes *v, HcclDataType type, uint64_t bits)
{
    for (uint32_t k = 0; k < Size(type); k++) {
        v->push_back(static_cast<uint8_t>(bits >> 8 * k));
    }
}

/* Elements [first, first + n) of rank @rank. */
inline Bytes Input(HcclDataType type, uint64_t seed, uint32_t rank,
                   uint64_t first, uint64_t n)
{
    Bytes v;

    v.reserve(n * Size(type));
    for (uint64_t i = first; i < first + n; i++) {
        Append(&v, type, Element(type, seed, rank, i));
    }
    return v;
}

/* The same elements of all ranks, reduced from rank 0 upwards. */
inline Bytes Reduced(HcclDataType type, HcclReduceOp op, uint64_t seed,
                     uint32_t ranks, uint64_t first, uint64_t n)
{
    Bytes v;

    v.reserve(n * Size(type));
    for (uint64_t i = first; i < first + n; i++) {
        uint64_t x = Element(type, seed, 0, i);

        for (uint32_t r = 1; r < ranks; r++) {
            x = Reduce(type, op, x, Element(type, seed, r, i));
        }
        Append(&v, type, x);
    }
    return v;
}

} // namespace values

#endif /* VALUES_H */
