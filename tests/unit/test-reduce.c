/*
 * Unit test of the reduction arithmetic (hw/atlas350/reduce.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Expected values are computed here in double precision (or 64-bit integers)
 * from the numbers that the bit patterns stand for, and encoded by a rounding
 * routine of the test's own. A double has at least twice the digits of each
 * format plus two, so rounding its sum once more gives the correct result.
 */
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hw/atlas350/sqe.h"
#include "reduce.h"

static unsigned test_count, test_failures;

__attribute__((format(printf, 2, 3)))
static void report(bool ok, const char *fmt, ...)
{
    va_list ap;

    test_count++;
    test_failures += !ok;
    printf("%s %u - ", ok ? "ok" : "not ok", test_count);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
}

static uint32_t rng_state = 0x350350;

static uint32_t rng(void)
{
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 17;
    rng_state ^= rng_state << 5;
    return rng_state;
}

/* A format: @bits wide, @man explicit significand bits. */
typedef struct Format {
    const char *name;
    uint32_t type;
    int bits, man;
    bool is_float, is_signed, sat;
} Format;

static const Format formats[] = {
    { "int8", A350_SDMA_INT8, 8, 0, false, true, false },
    { "int16", A350_SDMA_INT16, 16, 0, false, true, false },
    { "int32", A350_SDMA_INT32, 32, 0, false, true, false },
    { "uint8", A350_SDMA_UINT8, 8, 0, false, false, false },
    { "uint16", A350_SDMA_UINT16, 16, 0, false, false, false },
    { "uint32", A350_SDMA_UINT32, 32, 0, false, false, false },
    { "fp16", A350_SDMA_FP16, 16, 10, true, true, false },
    { "fp32", A350_SDMA_FP32, 32, 23, true, true, false },
    { "bf16", A350_SDMA_BF16, 16, 7, true, true, false },
    { "bf16_sat", A350_SDMA_BF16, 16, 7, true, true, true },
};
#define NUM_FORMATS (sizeof(formats) / sizeof(formats[0]))

static const char *const op_names[] = { "copy", "add", "max", "min" };

static int exp_bits(const Format *f)
{
    return f->bits - 1 - f->man;
}

static double decode(const Format *f, uint32_t x)
{
    int bias = (1 << (exp_bits(f) - 1)) - 1;
    int e = (x >> f->man) & ((1 << exp_bits(f)) - 1);
    uint32_t m = x & ((1u << f->man) - 1);
    double v;

    if (e == (1 << exp_bits(f)) - 1) {
        v = m ? NAN : INFINITY;
    } else if (e == 0) {
        v = ldexp(m, 1 - bias - f->man);
    } else {
        v = ldexp(m | (1u << f->man), e - bias - f->man);
    }
    return x >> (f->bits - 1) ? -v : v;
}

static uint32_t canonical_nan(const Format *f)
{
    return (((1u << exp_bits(f)) - 1) << f->man) | (1u << (f->man - 1));
}

static uint32_t encode(const Format *f, double v)
{
    int bias = (1 << (exp_bits(f) - 1)) - 1;
    uint32_t inf = ((1u << exp_bits(f)) - 1) << f->man;
    uint32_t sign = signbit(v) ? 1u << (f->bits - 1) : 0;
    double a = fabs(v), n;
    int e;

    if (isnan(v)) {
        return canonical_nan(f);
    }
    if (isinf(v)) {
        return sign | inf;
    }
    if (a == 0) {
        return sign;
    }
    frexp(a, &e);
    e -= 1;                                  /* a = 1.xxx * 2^e */
    if (e < 1 - bias) {
        e = 1 - bias;
    }
    n = nearbyint(ldexp(a, f->man - e));     /* rounds to even */
    if (n >= (double)(2u << f->man)) {
        n /= 2;
        e++;
    }
    if (e > bias) {
        return sign | (f->sat ? inf - 1 : inf);
    }
    if (n < (double)(1u << f->man)) {
        return sign | (uint32_t)n;           /* denormal */
    }
    return sign | ((uint32_t)(e + bias) << f->man) |
           ((uint32_t)n - (1u << f->man));
}

static uint32_t expect_float(const Format *f, uint32_t op, uint32_t a,
                             uint32_t b)
{
    double x = decode(f, a), y = decode(f, b);
    bool first;

    if (isnan(x) || isnan(y)) {
        return canonical_nan(f);
    }
    if (op == A350_SDMA_ADD) {
        return encode(f, x + y);
    }
    if (x == y) {                            /* -0 is below +0 */
        first = signbit(x) ? op == A350_SDMA_MIN : op == A350_SDMA_MAX;
    } else {
        first = op == A350_SDMA_MAX ? x > y : x < y;
    }
    return first ? a : b;
}

static int64_t int_value(const Format *f, uint32_t x)
{
    int64_t v = x;

    if (f->is_signed && x >> (f->bits - 1)) {
        v -= (int64_t)1 << f->bits;
    }
    return v;
}

static uint32_t expect(const Format *f, uint32_t op, uint32_t a, uint32_t b)
{
    int64_t x, y;

    if (f->is_float) {
        return expect_float(f, op, a, b);
    }
    x = int_value(f, a);
    y = int_value(f, b);
    if (op == A350_SDMA_ADD) {
        x += y;
    } else if (op == A350_SDMA_MAX ? y > x : y < x) {
        x = y;
    }
    return (uint32_t)x & (uint32_t)((1ull << f->bits) - 1);
}

static void put(const Format *f, uint8_t *p, size_t i, uint32_t v)
{
    memcpy(p + i * (f->bits / 8), &v, f->bits / 8);
}

static uint32_t get(const Format *f, const uint8_t *p, size_t i)
{
    uint32_t v = 0;

    memcpy(&v, p + i * (f->bits / 8), f->bits / 8);
    return v;
}

static bool reduce(const Format *f, uint32_t op, void *dst, const void *src,
                   uint64_t n)
{
    return a350_reduce(op | f->type, true, f->sat, dst, src, n);
}

/* Runs @n pairs and compares each element; says the first that differs. */
static bool check_pairs(const Format *f, uint32_t op, const uint32_t *a,
                        const uint32_t *b, size_t n)
{
    static uint8_t dst[65536 * 4], src[65536 * 4];
    uint32_t got, want;
    size_t i;

    for (i = 0; i < n; i++) {
        put(f, dst, i, a[i]);
        put(f, src, i, b[i]);
    }
    if (!reduce(f, op, dst, src, n)) {
        printf("# %s %s refused\n", f->name, op_names[op]);
        return false;
    }
    for (i = 0; i < n; i++) {
        got = get(f, dst, i);
        want = expect(f, op, a[i], b[i]);
        if (got != want) {
            printf("# %s: 0x%x %s 0x%x = 0x%x, expected 0x%x\n", f->name,
                   a[i], op_names[op], b[i], got, want);
            return false;
        }
    }
    return true;
}

/* Interesting partners: zeroes, denormals, limits, one, NaNs, and a few. */
static size_t partners(const Format *f, uint32_t *p)
{
    uint32_t sign = 1u << (f->bits - 1), mask = sign | (sign - 1), inf, one;
    size_t n = 0, i, half;

    p[n++] = 0;
    p[n++] = 1;
    p[n++] = sign - 1;
    if (f->is_float) {
        inf = ((1u << exp_bits(f)) - 1) << f->man;
        one = (inf >> 1) & ~((1u << f->man) - 1);
        p[n++] = (1u << f->man) - 1;         /* largest denormal */
        p[n++] = 1u << f->man;               /* smallest normal */
        p[n++] = one;
        p[n++] = one + 1;
        p[n++] = one + (3u << f->man) + 1;
        p[n++] = inf - 1;                    /* largest finite */
        p[n++] = inf - (1u << f->man) * (f->man + 1); /* half its last place */
        p[n++] = inf;
        p[n++] = inf + 1;                    /* signalling NaN */
        p[n++] = canonical_nan(f) + 1;
    }
    for (i = 0; i < 6; i++) {
        p[n++] = rng() & (sign - 1);
    }
    half = n;
    for (i = 0; i < half; i++) {
        p[n++] = (p[i] | sign) & mask;
    }
    return n;
}

static bool check_exhaustive(const Format *f, uint32_t op)
{
    static uint32_t a[65536], b[65536];
    uint32_t p[64];
    size_t n = partners(f, p), i, k;
    bool ok = true;

    for (k = 0; k < n && ok; k++) {
        for (i = 0; i < 65536; i++) {
            a[i] = i;
            b[i] = p[k];
        }
        ok = check_pairs(f, op, a, b, 65536) && check_pairs(f, op, b, a, 65536);
    }
    return ok;
}

static bool check_int8(const Format *f, uint32_t op)
{
    static uint32_t a[65536], b[65536];
    size_t i;

    for (i = 0; i < 65536; i++) {
        a[i] = i >> 8;
        b[i] = i & 0xff;
    }
    return check_pairs(f, op, a, b, 65536);
}

/* 32-bit formats: all pairs of the partners, then random bit patterns. */
static bool check_random(const Format *f, uint32_t op)
{
    static uint32_t a[65536], b[65536];
    uint32_t p[64];
    size_t n = partners(f, p), i, round;
    bool ok = true;

    for (round = 0; round < 32 && ok; round++) {
        for (i = 0; i < 65536; i++) {
            if (round == 0) {
                a[i] = p[i / n % n];
                b[i] = p[i % n];
            } else if (round % 2) {
                a[i] = rng();
                b[i] = rng();
            } else {                         /* exponents that meet */
                a[i] = rng();
                b[i] = (a[i] ^ (rng() & 0x83ffffff));
            }
        }
        ok = check_pairs(f, op, a, b, 65536);
    }
    return ok;
}

static bool check_format(const Format *f, uint32_t op)
{
    return f->bits == 8 ? check_int8(f, op) :
           f->bits == 16 ? check_exhaustive(f, op) : check_random(f, op);
}

/* Counts 0 to 70 at all offsets of both sides; nothing else is touched. */
static bool check_tails(const Format *f, uint32_t op)
{
    uint8_t dst[512], src[512], want[512];
    size_t size = f->bits / 8, n, i, od, os;
    uint32_t v;

    for (n = 0; n <= 70; n++) {
        for (od = 0; od < 9; od++) {
            os = (od * 5 + n) % 11;
            for (i = 0; i < sizeof(dst); i++) {
                dst[i] = rng();
                src[i] = rng();
            }
            memcpy(want, dst, sizeof(want));
            for (i = 0; i < n; i++) {
                v = expect(f, op, get(f, dst + od, i), get(f, src + os, i));
                memcpy(want + od + i * size, &v, size);
            }
            reduce(f, op, dst + od, src + os, n);
            if (memcmp(dst, want, sizeof(want))) {
                printf("# %s %s: %zu elements at +%zu from +%zu\n", f->name,
                       op_names[op], n, od, os);
                return false;
            }
        }
    }
    return true;
}

/* Overlap in both directions and in place: as if the source was copied. */
static bool check_overlap(const Format *f, uint32_t op)
{
    static uint8_t buf[48000], src[48000], want[48000];
    static const int shift[] = {
        0, 1, -1, 2, -3, 4, 31, -31, 32, 33, -64, 4095, 4096, 4097, -5000,
        9000, 15000, 16000,
    };
    size_t size = f->bits / 8, n = 16000 / size, i, k;
    uint8_t *d;
    uint32_t v;

    for (k = 0; k < sizeof(shift) / sizeof(shift[0]); k++) {
        for (i = 0; i < sizeof(buf); i++) {
            buf[i] = rng();
        }
        memcpy(src, buf, sizeof(buf));
        memcpy(want, buf, sizeof(buf));
        d = buf + 10000 + shift[k];
        for (i = 0; i < n; i++) {
            v = expect(f, op, get(f, d, i), get(f, src + 10000, i));
            memcpy(want + (d - buf) + i * size, &v, size);
        }
        reduce(f, op, d, buf + 10000, n);
        if (memcmp(buf, want, sizeof(buf))) {
            printf("# %s %s: destination %d bytes above the source\n", f->name,
                   op_names[op], shift[k]);
            return false;
        }
    }
    return true;
}

/* The matrix of spec/api/hcomm-data-plane.md §3.8, over all opcodes. */
static bool matrix_allows(uint32_t opcode, bool ub)
{
    uint32_t op = opcode & 0xf, type = opcode & 0xf0;
    bool is_unsigned = type == 0x30 || type == 0x40 || type == 0x50;

    return (op == 1 || op == 2 || op == 3) && type <= 0x80 &&
           (ub || !is_unsigned);
}

static void test_matrix(void)
{
    uint8_t dst[64], src[64], before[64];
    bool ok = true, did;
    uint32_t opcode;
    int ub;

    memset(src, 0x11, sizeof(src));
    memset(before, 0x22, sizeof(before));
    for (ub = 0; ub < 2; ub++) {
        for (opcode = 0; opcode < 256; opcode++) {
            memcpy(dst, before, sizeof(dst));
            did = a350_reduce(opcode, ub, false, dst, src, 4);
            if (did != matrix_allows(opcode, ub) ||
                did != a350_reduce_supported(opcode, ub) ||
                (!did && memcmp(dst, before, sizeof(dst)))) {
                printf("# opcode 0x%02x %s\n", opcode, ub ? "UB" : "SDMA");
                ok = false;
            }
        }
    }
    report(ok, "matrix of operations and types");
}

static void test_elem_size(void)
{
    static const unsigned want[16] = { 1, 2, 4, 1, 2, 4, 2, 4, 2 };
    bool ok = true;
    uint32_t i;

    for (i = 0; i < 16; i++) {
        ok &= a350_sdma_elem_size(i << 4) == want[i];
    }
    report(ok, "element sizes");
}

/* A few results written down by hand, against a test that is wrong itself. */
static void test_by_hand(void)
{
    static const struct {
        size_t format;
        uint32_t op, a, b, want;
    } c[] = {
        { 0, 1, 0x7f, 0x01, 0x80 },                    /* 127 + 1 wraps */
        { 2, 1, 0x80000000, 0xffffffff, 0x7fffffff },
        { 5, 2, 0x80000000, 0x7fffffff, 0x80000000 },
        { 2, 2, 0x80000000, 0x7fffffff, 0x7fffffff },
        { 6, 1, 0x3c00, 0x3c00, 0x4000 },              /* 1 + 1 = 2 */
        { 6, 1, 0x7bff, 0x4c00, 0x7c00 },              /* 65504 + 16 = inf */
        { 6, 1, 0x7bff, 0x4bff, 0x7bff },              /* 65504 + 15.99 */
        { 6, 1, 0x0001, 0x0001, 0x0002 },              /* denormals */
        { 6, 1, 0x7c00, 0xfc00, 0x7e00 },              /* inf - inf = NaN */
        { 6, 1, 0x8000, 0x8000, 0x8000 },              /* -0 + -0 = -0 */
        { 6, 1, 0x8000, 0x0000, 0x0000 },
        { 7, 1, 0x3f800000, 0x33800000, 0x3f800000 },  /* 1 + 2^-24: even */
        { 7, 1, 0x3f800001, 0x33800000, 0x3f800002 },
        { 7, 2, 0xffc00000, 0x3f800000, 0x7fc00000 },  /* NaN wins */
        { 7, 3, 0x3f800000, 0x7f800001, 0x7fc00000 },
        { 7, 2, 0x80000000, 0x00000000, 0x00000000 },  /* max(-0, +0) */
        { 7, 3, 0x00000000, 0x80000000, 0x80000000 },
        { 8, 1, 0x3f80, 0x3b80, 0x3f80 },              /* 1 + 2^-8: even */
        { 8, 1, 0x3f81, 0x3b80, 0x3f82 },
        { 8, 1, 0x7f7f, 0x7f7f, 0x7f80 },
        { 9, 1, 0x7f7f, 0x7f7f, 0x7f7f },              /* saturates */
        { 9, 1, 0xff7f, 0xff7f, 0xff7f },
        { 9, 1, 0x7f80, 0x3f80, 0x7f80 },              /* inf stays inf */
        { 9, 1, 0x7f80, 0xff80, 0x7fc0 },
    };
    uint8_t dst[4], src[4];
    bool ok = true;
    size_t i;

    for (i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
        const Format *f = &formats[c[i].format];

        put(f, dst, 0, c[i].a);
        put(f, src, 0, c[i].b);
        reduce(f, c[i].op, dst, src, 1);
        if (get(f, dst, 0) != c[i].want) {
            printf("# %s: 0x%x %s 0x%x = 0x%x, expected 0x%x\n", f->name,
                   c[i].a, op_names[c[i].op], c[i].b, get(f, dst, 0),
                   c[i].want);
            ok = false;
        }
    }
    report(ok, "results written down by hand");
}

int main(void)
{
    uint32_t op;
    size_t i;

    test_elem_size();
    test_matrix();
    test_by_hand();
    for (i = 0; i < NUM_FORMATS; i++) {
        for (op = A350_SDMA_ADD; op <= A350_SDMA_MIN; op++) {
            report(check_format(&formats[i], op), "%s %s: values",
                   formats[i].name, op_names[op]);
            report(check_tails(&formats[i], op), "%s %s: tails, alignment",
                   formats[i].name, op_names[op]);
            report(check_overlap(&formats[i], op), "%s %s: overlap",
                   formats[i].name, op_names[op]);
        }
    }
    printf("1..%u\n", test_count);
    return test_failures ? 1 : 0;
}
