/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Half precision to single and back, rounding to nearest, ties to even.
 */
#ifndef HALF_H
#define HALF_H

#include <stdint.h>
#include <string.h>

static inline float half_value(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, mag = h & 0x7fffu, w;
    float f;

    if (mag >= 0x7c00u) {                /* infinite, NaN */
        w = sign | 0x7f800000u | (mag & 0x3ffu) << 13;
    } else if (mag >= 0x400u) {
        w = sign | ((mag << 13) + (112u << 23));
    } else {                             /* mag times 2^-24, exact */
        f = (float)mag * 0x1p-24f;
        memcpy(&w, &f, sizeof(w));
        w |= sign;
    }
    memcpy(&f, &w, sizeof(f));
    return f;
}

static inline uint16_t half_bits(float f)
{
    uint32_t w, sign, mag, lost;

    memcpy(&w, &f, sizeof(w));
    sign = w >> 16 & 0x8000u;
    mag = w & 0x7fffffffu;
    if (mag > 0x7f800000u) {
        return 0x7e00;                   /* the card's only NaN */
    }
    if (mag >= 0x477ff000u) {            /* 65520 and more round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    }
    if (mag < 0x38800000u) {
        /* Below 2^-14: adding 0.5 leaves the multiple of 2^-24, rounded. */
        memcpy(&f, &mag, sizeof(f));
        f += 0.5f;
        memcpy(&w, &f, sizeof(w));
        return (uint16_t)(sign | (w - 0x3f000000u));
    }
    lost = mag & 0x1fffu;
    mag = (mag - (112u << 23)) >> 13;
    mag += lost > 0x1000u || (lost == 0x1000u && (mag & 1));
    return (uint16_t)(sign | mag);
}

#endif /* HALF_H */
