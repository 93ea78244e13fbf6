/*
 * Atlas 350 virtual card: arithmetic of the reductions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One portable source for all instruction sets: generic vectors of the
 * compiler. On x86 with GCC the kernels are built a second time for AVX2 and
 * chosen at run time.
 */
#include <stddef.h>
#include <string.h>

#include "hw/atlas350/sqe.h"
#include "reduce.h"

/* Generic vectors wider than the target's change no ABI here: all static. */
#pragma GCC diagnostic ignored "-Wpsabi"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#error "the card's memory is little-endian and is used in place"
#endif

#define VECTOR __attribute__((vector_size(32)))
typedef uint8_t vu8 VECTOR;
typedef int8_t vs8 VECTOR;
typedef uint16_t vu16 VECTOR;
typedef int16_t vs16 VECTOR;
typedef uint32_t vu32 VECTOR;
typedef int32_t vs32 VECTOR;
typedef float vf32 VECTOR;

typedef void ReduceKernel(uint8_t *dst, const uint8_t *src, size_t len);

/* BF16_SAT is a row of its own; SDMA types have no number for it. */
#define REDUCE_TYPES    10
#define TYPE_UINT8      3
#define TYPE_UINT32     5
#define TYPE_BF16       8
#define TYPE_BF16_SAT   9

#define K(name) base_##name
#include "reduce-kernels.c.inc"
#undef K

/* A350_REDUCE_BASE: the test of what processors without AVX2 run. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(A350_REDUCE_BASE)
#define HAVE_AVX2_KERNELS
#pragma GCC push_options
#pragma GCC target("avx2")
#define K(name) avx2_##name
#include "reduce-kernels.c.inc"
#undef K
#pragma GCC pop_options
#endif

unsigned a350_sdma_elem_size(uint32_t opcode)
{
    static const uint8_t size[] = { 1, 2, 4, 1, 2, 4, 2, 4, 2 };
    uint32_t type = (opcode & A350_SDMA_TYPE_MASK) >> 4;

    return type < sizeof(size) ? size[type] : 0;
}

bool a350_reduce_supported(uint32_t opcode, bool ub)
{
    uint32_t op = opcode & A350_SDMA_OP_MASK;
    uint32_t type = (opcode & A350_SDMA_TYPE_MASK) >> 4;

    /* EQUAL has a number but no public meaning, and no row in the matrix. */
    if (op < A350_SDMA_ADD || op > A350_SDMA_MIN || type > TYPE_BF16) {
        return false;
    }
    return ub || type < TYPE_UINT8 || type > TYPE_UINT32;
}

static ReduceKernel *reduce_kernel(uint32_t op, uint32_t type)
{
#ifdef HAVE_AVX2_KERNELS
    if (__builtin_cpu_supports("avx2")) {
        return avx2_table[type][op - A350_SDMA_ADD];
    }
#endif
    return base_table[type][op - A350_SDMA_ADD];
}

/*
 * The source begins below the destination and reaches into it: from the end
 * backwards, each piece of the source copied out before it is overwritten.
 */
static void reduce_backwards(ReduceKernel *kernel, uint8_t *dst,
                             const uint8_t *src, size_t len)
{
    uint8_t copy[4096];
    size_t n;

    while (len) {
        n = len % sizeof(copy) ? len % sizeof(copy) : sizeof(copy);
        len -= n;
        memcpy(copy, src + len, n);
        kernel(dst + len, copy, n);
    }
}

bool a350_reduce(uint32_t opcode, bool ub, bool bf16_sat, void *dst,
                 const void *src, uint64_t count)
{
    uint32_t op = opcode & A350_SDMA_OP_MASK;
    uint32_t type = (opcode & A350_SDMA_TYPE_MASK) >> 4;
    size_t len = count * a350_sdma_elem_size(opcode);
    ReduceKernel *kernel;

    if (!a350_reduce_supported(opcode, ub)) {
        return false;
    }
    if (type == TYPE_BF16 && bf16_sat) {
        type = TYPE_BF16_SAT;
    }
    kernel = reduce_kernel(op, type);
    if ((uintptr_t)dst - (uintptr_t)src - 1 < len - 1) {
        reduce_backwards(kernel, dst, src, len);
    } else {
        kernel(dst, src, len);
    }
    return true;
}
